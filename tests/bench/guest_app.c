/* What benches of simulated MPI run: "ring N": N rounds of 1 KiB to the right neighbour; "allreduce N": N
   sums of 128 doubles. An ordinary program, for pm_run and for SMPI. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
  static char out[1024], in[1024];
  double a[128] = {0}, b[128];
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int rounds = argc > 2 ? atoi(argv[2]) : 1, is_ring = argc > 1 && strcmp(argv[1], "ring") == 0;
  for (int i = 0; i < rounds; i++) {
    MPI_Request r[2];
    MPI_Status s[2];
    if (!is_ring) {
      MPI_Allreduce(a, b, 128, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
      continue;
    }
    MPI_Irecv(in, sizeof in, MPI_CHAR, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &r[0]);
    MPI_Isend(out, sizeof out, MPI_CHAR, (rank + 1) % size, 0, MPI_COMM_WORLD, &r[1]);
    MPI_Waitall(2, r, s);
  }
  MPI_Finalize();
  return 0;
}
