/* progress_merge.c: spawns a copy of itself, which is not preloaded, and makes one communicator of both worlds: its collectives
   are the MPI's, and nobody waits there for messages that only this library sends. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
  MPI_Comm other, both;
  MPI_Request r;
  int size, sum = 0, one = 1, rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_get_parent(&other);
  const int is_parent = other == MPI_COMM_NULL;
  if (is_parent) MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other, MPI_ERRCODES_IGNORE);
  MPI_Intercomm_merge(other, !is_parent, &both);
  MPI_Comm_size(both, &size);
  MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, both, &r);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  MPI_Comm_free(&both);
  MPI_Comm_disconnect(&other);
  if (is_parent && rank == 0) printf("%d processes checked, %d checks failed\n", size, sum != size);
  MPI_Finalize();
  return 0;
}
