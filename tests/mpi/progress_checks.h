/* progress_checks.h: what fails in a process is said with its rank and line, ten times at most; the last line counts over
   all processes. The MPI's header comes before. */
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size; /* in the communicator that is looked at */
static int check_count, failed_count;

static void check(int good, const char *what, int line) {
  check_count++;
  if (good) return;
  if (failed_count++ < 10) fprintf(stderr, "rank %d of %d, line %d: failed: %s\n", rank, size, line, what);
}
#define CHECK(condition) check((condition) != 0, #condition, __LINE__)

static inline int is_empty(const MPI_Status *s) {
  int count = -1, cancelled = -1;
  MPI_Get_count(s, MPI_INT, &count);
  MPI_Test_cancelled(s, &cancelled);
  return s->MPI_SOURCE == MPI_ANY_SOURCE && s->MPI_TAG == MPI_ANY_TAG && count == 0 && !cancelled;
}
/* ret the exit status */
static int all_checked(void) {
  int counts[2] = {check_count > 0, failed_count}, totals[2], me;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Allreduce(counts, totals, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (me == 0) printf("%d processes checked, %d checks failed\n", totals[0], totals[1]);
  return totals[1] != 0;
}
