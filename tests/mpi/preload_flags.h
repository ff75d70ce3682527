/* For programs of two ranks whose truth is known: computation for so long, and words that both see. */
#ifndef PRELOAD_FLAGS_H
#define PRELOAD_FLAGS_H
#include <mpi.h>
#include <stdlib.h>
#include "tests/mpi/one_clock.h"

static int rank;
static char *memory(size_t bytes) {
  char *p = calloc(1, bytes);
  if (!p) MPI_Abort(MPI_COMM_WORLD, 1);
  return p;
}
/* Words that both see without a call of MPI. */
static volatile int *flags;
static MPI_Win flags_window;
static void share_flags(void) {
  MPI_Aint size;
  int unit;
  int *mine;
  MPI_Win_allocate_shared(rank == 0 ? 64 : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &flags_window);
  MPI_Win_shared_query(flags_window, 0, &size, &unit, &mine);
  flags = mine;
  if (rank == 0) flags[0] = flags[1] = 0;
  MPI_Barrier(MPI_COMM_WORLD);
}
static void tell(int which, int i) { __atomic_store_n(&flags[which], i, __ATOMIC_RELEASE); }
static void compute_until(int which, int i) {
  while (__atomic_load_n(&flags[which], __ATOMIC_ACQUIRE) < i) {}
}
#endif
