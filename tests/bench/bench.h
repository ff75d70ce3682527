/* bench.h: one JSON object per line, as `make bench` promises. A bench program gets one argument, a
   regular expression; it measures only what matches. */
#ifndef BENCH_H_INCLUDED
#define BENCH_H_INCLUDED
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

__attribute__((unused)) static int bench_wanted(int argc, char **argv, const char *name) {
  regex_t re;
  if (argc < 2) return 1;
  if (regcomp(&re, argv[1], REG_EXTENDED | REG_NOSUB) != 0) {
    fprintf(stderr, "%s: bad regular expression: %s\n", argv[0], argv[1]);
    exit(2);
  }
  const int match = regexec(&re, name, 0, NULL, 0) == 0;
  regfree(&re);
  return match;
}
__attribute__((unused)) static int bench_order(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}
__attribute__((unused)) static double bench_median(double *values, size_t count) {
  qsort(values, count, sizeof *values, bench_order);
  return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}
/* What this thread had of a core: on a busy machine the time on the wall holds what others did. */
__attribute__((unused)) static double bench_cpu_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}
__attribute__((unused)) static void bench_print(const char *name, double value, const char *unit) {
  printf("{\"bench\":\"%s\",\"value\":%.6g,\"unit\":\"%s\"}\n", name, value, unit);
  fflush(stdout);
}
/* peer: the same quantity measured in the same run for what we compare with. */
__attribute__((unused)) static void bench_print_peer(const char *name, double value, const char *unit,
                                                     const char *peer_name, double peer) {
  printf("{\"bench\":\"%s\",\"value\":%.6g,\"unit\":\"%s\",\"peer\":%.6g,\"ratio\":%.6g,\"peer_name\":\"%s\"}\n",
         name, value, unit, peer, value / peer, peer_name);
  fflush(stdout);
}
#endif
