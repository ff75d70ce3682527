/* levels.c: blocking and nonblocking broadcasts, reductions and barriers of MPI, results checked, over the world and over its
   processes dealt to two communicators. Prints "NAME BYTES MICROSECONDS" of the world's: the mean from the last process that comes
   to the last that goes, since simulated processes have one clock. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 3, MOST = 16384 }; /* integers */
static const int counts[] = {1, 16, 256, 1000, 4096, MOST};
static int rank, size, failed, in[MOST], out[MOST];

static void good(int is_true, const char *what, int count, int at) {
  if (!is_true && failed++ < 5) printf("  rank %d: %s of %d integers: wrong at %d\n", rank, what, count, at);
}
static void bcast(MPI_Comm comm, int me, int root, int n) {
  for (int i = 0; i < n; i++) out[i] = me == root ? 7 * root + i : -1;
  MPI_Bcast(out, n, MPI_INT, root, comm);
  for (int i = 0; i < n; i++) good(out[i] == 7 * root + i, "bcast", n, i);
}
static void reduce(MPI_Comm comm, int me, int all, int root, int n) {
  for (int i = 0; i < n; i++) in[i] = me + i, out[i] = -1;
  MPI_Reduce(in, out, n, MPI_INT, MPI_SUM, root, comm);
  for (int i = 0; me == root && i < n; i++) good(out[i] == all * (all - 1) / 2 + all * i, "reduce", n, i);
}
static void allreduce(MPI_Comm comm, int me, int all, int n) {
  MPI_Request request;
  for (int i = 0; i < n; i++) in[i] = me + i, out[i] = -1;
  MPI_Iallreduce(in, out, n, MPI_INT, MPI_SUM, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < n; i++) good(out[i] == all * (all - 1) / 2 + all * i, "allreduce", n, i);
}
static void one(int what, MPI_Comm comm, int me, int all, int root, int n) {
  if (what == 0) bcast(comm, me, root, n);
  if (what == 1) reduce(comm, me, all, root, n);
  if (what == 2) allreduce(comm, me, all, n);
  if (what == 3) MPI_Barrier(comm);
}

int main(int argc, char **argv) {
  static const char *const names[] = {"bcast", "reduce", "allreduce", "barrier"};
  MPI_Comm half;
  int me, all, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 3 == 1, size - rank, &half);
  MPI_Comm_rank(half, &me);
  MPI_Comm_size(half, &all);
  for (int what = 0; what < 4; what++)
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
      double mean = 0;
      if (what == 3 && k) break;
      for (int root = 0; root < all; root++) one(what, half, me, all, root, counts[k] < 1000 ? counts[k] : 1);
      for (int round = 0; round < ROUNDS; round++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double times[2] = {MPI_Wtime(), 0}, last[2];
        one(what, MPI_COMM_WORLD, rank, size, round * 5 % size, counts[k]);
        times[1] = MPI_Wtime();
        MPI_Allreduce(times, last, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        mean += (last[1] - last[0]) / ROUNDS;
      }
      if (rank == 0) printf("%s %d %.3f\n", names[what], what == 3 ? 0 : 4 * counts[k], 1e6 * mean);
    }
  MPI_Comm_free(&half);
  MPI_Reduce(&failed, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d processes checked, %d checks failed\n", size, sum);
  MPI_Finalize();
  return failed != 0;
}
