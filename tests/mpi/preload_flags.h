/* For programs of two ranks whose truth is known: computation for so long, and words that both see. */
#ifndef PRELOAD_FLAGS_H
#define PRELOAD_FLAGS_H
#ifndef _GNU_SOURCE
#  define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <mpi.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "tests/mpi/one_clock.h"

static int rank;
static char *memory(size_t bytes) {
  char *p = calloc(1, bytes);
  if (!p) MPI_Abort(MPI_COMM_WORLD, 1);
  return p;
}
/* Words that both see without a call of MPI; in a file where the two are on nodes, by name only, of one machine. */
static volatile int *flags;
static MPI_Win flags_window = MPI_WIN_NULL;
static void share_file(const char *name) {
  const int fd = open(name, O_RDWR | O_CREAT, 0600);
  flags = ftruncate(fd, 64) == 0 ? mmap(NULL, 64, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
  if (flags == MAP_FAILED) MPI_Abort(MPI_COMM_WORLD, 1);
  close(fd);
  MPI_Barrier(MPI_COMM_WORLD);
}
static void share_flags(void) {
  const char *file = getenv("FLAGS_FILE");
  if (file) {
    share_file(file);
    return;
  }
  MPI_Aint size;
  int unit;
  int *mine;
  MPI_Win_allocate_shared(rank == 0 ? 64 : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &flags_window);
  MPI_Win_shared_query(flags_window, 0, &size, &unit, &mine);
  flags = mine;
  if (rank == 0) flags[0] = flags[1] = 0;
  MPI_Barrier(MPI_COMM_WORLD);
}
static void free_flags(void) {
  if (flags_window != MPI_WIN_NULL) MPI_Win_free(&flags_window);
}
static void tell(int which, int i) { __atomic_store_n(&flags[which], i, __ATOMIC_RELEASE); }
static void compute_until(int which, int i) {
  while (__atomic_load_n(&flags[which], __ATOMIC_ACQUIRE) < i) {}
}
#endif
