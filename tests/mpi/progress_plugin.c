/* progress_plugin.c: what progress_host.c loads. Asks the MPI something before it begins, then reduces. */
#include <mpi.h>
#include <stdio.h>

int run_plugin(void);
int run_plugin(void) {
  int rank, size, begun = 1, sum = -1;
  MPI_Request r;
  MPI_Initialized(&begun);
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  const int failed = begun || sum != size * (size - 1) / 2;
  MPI_Finalize();
  if (rank == 0) printf("%d processes checked, %d checks failed\n", size, failed);
  return failed;
}
