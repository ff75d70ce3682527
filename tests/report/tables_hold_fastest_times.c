/* A table's times after keep_fastest, whatever was measured: random times and links, some sizes with few repeats. */
#include "tests/test.h"
#include "tools/table_fastest.h"

enum { ROUNDS = 20000 };
static uint64_t size_bytes[SIZES];
static double measured_s[SIZES], time_s[SIZES], link_bytes_per_s;
static bool few[SIZES];
static int64_t eager_bytes;

/* A latency and a rate, each size disturbed by up to a hundred times; the eager size between two sizes, or none. */
static void measure(void) {
  const double latency_s = 1e-7 * (double)(1 + test_below(1000)),
               byte_s = 1e-11 * (double)(1 + test_below(10000));
  for (int i = 0; i < SIZES; i++) {
    size_bytes[i] = (uint64_t)1 << i;
    measured_s[i] = (latency_s + (double)size_bytes[i] * byte_s) *
                    (test_below(2) ? 1 : 1 + 1e-2 * (double)test_below(10000));
    time_s[i] = measured_s[i];
    few[i] = test_below(4) == 0;
  }
  eager_bytes = test_below(8) ? (int64_t)test_below(1 << 18) : 0;
  link_bytes_per_s = 1 / byte_s * (0.5 + 1e-3 * (double)test_below(1000));
  keep_fastest(size_bytes, time_s, few, eager_bytes, &link_bytes_per_s);
}
#define LITTLE 1.000000001 /* rounding */

static void no_size_is_slower_than_twice_its_half(void) {
  for (int k = 0; k < test_rounds(ROUNDS); k++) {
    measure();
    for (int i = 1; i < SIZES; i++) CHECK(time_s[i] <= LITTLE * 2 * time_s[i - 1]);
  }
}
static void no_size_is_slower_than_the_next(void) {
  for (int k = 0; k < test_rounds(ROUNDS); k++) {
    measure();
    for (int i = 0; i + 1 < SIZES; i++) {
      const bool eager_ends =
          size_bytes[i] <= (uint64_t)eager_bytes && (uint64_t)eager_bytes < size_bytes[i + 1];
      CHECK(time_s[i] <= LITTLE * time_s[i + 1] / (eager_ends ? 2 : 1));
    }
  }
}
static void no_size_is_faster_than_the_link(void) {
  for (int k = 0; k < test_rounds(ROUNDS); k++) {
    measure();
    for (int i = 0; i < SIZES; i++) {
      CHECK((double)size_bytes[i] <= LITTLE * link_bytes_per_s * time_s[i]);
      if (few[i] && size_bytes[i] > (uint64_t)eager_bytes)
        CHECK(time_s[i] * link_bytes_per_s <= LITTLE * (double)size_bytes[i]);
    }
  }
}
static void no_time_grows(void) {
  for (int k = 0; k < test_rounds(ROUNDS); k++) {
    measure();
    for (int i = 0; i < SIZES; i++) CHECK(0 < time_s[i] && time_s[i] <= measured_s[i]);
  }
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(no_size_is_slower_than_twice_its_half);
  RUN(no_size_is_slower_than_the_next);
  RUN(no_size_is_faster_than_the_link);
  RUN(no_time_grows);
  return TEST_END();
}
