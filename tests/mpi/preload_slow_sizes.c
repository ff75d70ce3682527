/* A library to be loaded before a program: some messages wait before they leave, so what xfer_table must make
   of slow ones is known. MPI_Send of a round trip (tag 0) waits 1 ms but for one byte; MPI_Recv of exactly 1 MiB waits 2.5 ms more, of 16 KiB
   and more 1 ms at rank 0, and elsewhere if what came was written ever, or does not go to where a large page begins.
   With SLOW_NETWORK any MPI_Recv takes 4 ns per byte longer, and nothing else; with SLOW_WAITS=N any MPI_Waitall of N
   requests or more 600 ms. With SLOW_ANSWERS rank 1 sleeps 40 ms before it asks whether a send is eager, once for each
   of them, and nothing else takes longer. */
#ifndef _GNU_SOURCE
#  define _GNU_SOURCE
#endif
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static void nap(long d_ns) {
  const struct timespec d = {0, d_ns};
  nanosleep(&d, NULL);
}
static bool sleeps_in_rounds(void) { return !getenv("SLOW_NETWORK") && !getenv("SLOW_ANSWERS"); }
int MPI_Send(const void *data, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  if (tag == 0 && count > 1 && sleeps_in_rounds()) nap(1000000);
  return PMPI_Send(data, count, type, dest, tag, comm);
}
int MPI_Recv(void *data, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
             MPI_Status *status) {
  static int rank = -1, last_tag;
  if (rank < 0) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (!sleeps_in_rounds()) {
    if (getenv("SLOW_NETWORK"))
      nap(4L * count);
    else if (rank == 1 && tag == 3 && last_tag != 3)
      nap(40000000);
    last_tag = tag;
    return PMPI_Recv(data, count, type, source, tag, comm, status);
  }
  if (count == 1 << 20) nap(2500000);
  const int status_of_all = PMPI_Recv(data, count, type, source, tag, comm, status);
  if (count >= 16384 && (rank == 0 || *(char *)data || (uintptr_t)data % (1 << 21))) nap(1000000);
  return status_of_all;
}
int MPI_Waitall(int count, MPI_Request requests[], MPI_Status *statuses) {
  const char *slow = getenv("SLOW_WAITS");
  if (slow && count >= atoi(slow)) nap(600000000);
  return PMPI_Waitall(count, requests, statuses);
}
