/* test.h: the smallest harness that names what failed. A test file lists its tests in main:

     static void bounds_contain_truth(void) { CHECK(lo <= t && t <= hi); CHECK_NEAR(x, 2.5, 1e-9); }
     int main(int argc, char **argv) { TEST_INIT(argc, argv); RUN(bounds_contain_truth); return TEST_END(); }

   Arguments: --list names the tests; any other word runs the tests whose name contains it.
   TEST_SEED=n repeats a random run: random tests draw from test_rand(). TEST_LOCALE=name: in a program that
   writes numbers as this locale does (tests/report/comma_locale.sh). Last line, always:
   "N passed, N failed, N skipped". */
#ifndef TEST_H_INCLUDED
#define TEST_H_INCLUDED
#include <locale.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int test_passed, test_failed, test_skipped, test_bad, test_list;
static const char *test_skip_reason, *test_filter;
static uint64_t test_seed, test_state;

/* splitmix64: small, seedable, good enough to pick cases */
__attribute__((unused)) static uint64_t test_rand(void) {
  uint64_t z = (test_state += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}
__attribute__((unused)) static uint64_t test_below(uint64_t n) { return n ? test_rand() % n : 0; }
__attribute__((unused)) static int test_rounds(int n) { /* of n random cases TEST_EFFORT percent; default all */
  const char *effort = getenv("TEST_EFFORT");
  return effort && atoi(effort) > 0 ? (n * atoi(effort) + 99) / 100 : n;
}

#define CHECK(cond)                                                                                \
  do {                                                                                             \
    if (!(cond) && ++test_bad <= 20)                                                               \
      printf("  %s:%d: not true: %s\n", __FILE__, __LINE__, #cond);                                \
  } while (0)
#define CHECK_NEAR(value, expected, err)                                                           \
  do {                                                                                             \
    double test_v = (double)(value), test_e = (double)(expected);                                  \
    if (!(fabs(test_v - test_e) <= (err)) && ++test_bad <= 20)                                     \
      printf("  %s:%d: %s = %.12g, expected %.12g +- %g\n", __FILE__, __LINE__, #value, test_v,    \
             test_e, (double)(err));                                                               \
  } while (0)
#define CHECK_STR(value, expected)                                                                 \
  do {                                                                                             \
    const char *test_v = (value), *test_e = (expected);                                            \
    if (strcmp(test_v, test_e) != 0 && ++test_bad <= 20)                                           \
      printf("  %s:%d: %s = \"%s\", expected \"%s\"\n", __FILE__, __LINE__, #value, test_v, test_e); \
  } while (0)
#define SKIP(reason) do { test_skip_reason = (reason); return; } while (0)
#define RUN(test) test_run(#test, test)

static void test_run(const char *name, void (*test)(void)) {
  if (test_list) { puts(name); return; }
  if (test_filter && !strstr(name, test_filter)) return;
  test_bad = 0;
  test_skip_reason = NULL;
  test_state = test_seed;
  test();
  if (test_bad) test_failed++, printf("FAILED  %s (%d checks; TEST_SEED=%llu)\n", name, test_bad, (unsigned long long)test_seed);
  else if (test_skip_reason) test_skipped++, printf("skipped %s: %s\n", name, test_skip_reason);
  else test_passed++, printf("ok      %s\n", name);
  fflush(stdout);
}
static void test_init(int argc, char **argv) {
  const char *seed = getenv("TEST_SEED");
  test_seed = seed ? strtoull(seed, NULL, 0) : (uint64_t)time(NULL);
  if (argc > 1) { if (strcmp(argv[1], "--list") == 0) test_list = 1; else test_filter = argv[1]; }
  const char *locale = getenv("TEST_LOCALE");
  if (locale && !setlocale(LC_NUMERIC, locale)) printf("no locale %s\n", locale), exit(1);
  if (!test_list) printf("%s: TEST_SEED=%llu\n", argv[0], (unsigned long long)test_seed);
}
static int test_end(void) {
  if (!test_list) printf("%d passed, %d failed, %d skipped\n", test_passed, test_failed, test_skipped);
  return test_failed != 0;
}
#define TEST_INIT(argc, argv) test_init(argc, argv)
#define TEST_END() test_end()
#endif
