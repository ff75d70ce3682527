/* The clock that all ranks of a host read, and computation for so long. */
#ifndef ONE_CLOCK_H
#define ONE_CLOCK_H
#include <stdint.h>
#include <time.h>

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}
static void compute(int64_t d_ns) {
  const int64_t end_ns = now_ns() + d_ns;
  while (now_ns() < end_ns) {}
}
#endif
