/* What tests/guest_mpi/replay.ti says, as a program without arguments: messages of all sizes and all collectives of such traces. */
#include <mpi.h>

enum { MOST = 200000 };
static double a[MOST], b[MOST];
int main(int argc, char **argv) {
  int rank, size, counts[4] = {1, 2, 3, 4}, displs[4] = {0, 1, 3, 6}, own[4], to[4] = {0, 100, 200, 300};
  MPI_Request q[2];
  MPI_Status s[2];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int left = (rank + 3) % 4, right = (rank + 1) % 4;
  if (size != 4) return 1;
  for (int i = 0; i < 4; i++) own[i] = rank + 1;
  for (int n = 1; n <= MOST; n *= 10) {
    MPI_Irecv(a, n, MPI_DOUBLE, left, 3, MPI_COMM_WORLD, &q[0]);
    MPI_Isend(b, n, MPI_DOUBLE, right, 3, MPI_COMM_WORLD, &q[1]);
    MPI_Waitall(2, q, s);
  }
  MPI_Irecv(a, 10, MPI_INT, left, 4, MPI_COMM_WORLD, &q[0]);
  MPI_Send(b, 10, MPI_INT, right, 4, MPI_COMM_WORLD);
  MPI_Wait(&q[0], s);
  MPI_Sendrecv(b, 100, MPI_CHAR, right, 0, a, 100, MPI_CHAR, left, 0, MPI_COMM_WORLD, s);
  MPI_Bcast(a, 1000, MPI_DOUBLE, 1, MPI_COMM_WORLD);
  MPI_Reduce(a, b, 100, MPI_DOUBLE, MPI_SUM, 1, MPI_COMM_WORLD);
  MPI_Allreduce(a, b, 100, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Alltoall(a, 10, MPI_FLOAT, b, 10, MPI_FLOAT, MPI_COMM_WORLD);
  MPI_Gather(a, 10, MPI_LONG, b, 10, MPI_LONG, 2, MPI_COMM_WORLD);
  MPI_Scatter(a, 10, MPI_SHORT, b, 10, MPI_SHORT, 2, MPI_COMM_WORLD);
  MPI_Allgather(a, 10, MPI_BYTE, b, 10, MPI_BYTE, MPI_COMM_WORLD);
  MPI_Allgatherv(a, rank + 1, MPI_INT, b, counts, displs, MPI_INT, MPI_COMM_WORLD);
  MPI_Gatherv(a, rank + 1, MPI_INT, b, counts, displs, MPI_INT, 2, MPI_COMM_WORLD);
  MPI_Reduce_scatter(a, b, counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Scan(a, b, 5, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Alltoallv(a, own, to, MPI_INT, b, counts, displs, MPI_INT, MPI_COMM_WORLD);
  for (int i = argc > 1 ? 2000 : 0; i > 0; i--) { /* with an argument: rounds of the same */
    MPI_Irecv(a, 10, MPI_INT, left, 4, MPI_COMM_WORLD, &q[0]);
    MPI_Isend(b, 10, MPI_INT, right, 4, MPI_COMM_WORLD, &q[1]);
    MPI_Waitall(2, q, s);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize(); /* once more a barrier */
  return 0;
}
