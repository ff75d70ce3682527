/* guest_must.h: of programs that run under pm_run: what is not so ends the process with its line, and what time it is. */
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int rank;
#define MUST(good) ((good) ? (void)0 : fail(#good, __LINE__))
static inline void fail(const char *what, int line) {
  fprintf(stderr, "guest %d, line %d: %s\n", rank, line, what);
  exit(9);
}
static inline long now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000 + t.tv_nsec;
}
