/* progress_finalize.c: MPI_Finalize while something is still in flight, or made and not freed. The argument says what;
   without the preload both MPIs end such a program, so they must with it. */
#include "tools/mpi_h.h"
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
  int rank, size, one = 1, sum = 0;
  const char *const what = argc > 1 ? argv[1] : "";
  MPI_Request r;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  if (strcmp(what, "receive") == 0) MPI_Irecv(&sum, 1, MPI_INT, before, 9, MPI_COMM_WORLD, &r); /* that nobody sends to */
  if (strcmp(what, "send") == 0) {
    MPI_Isend(&one, 1, MPI_INT, next, 1, MPI_COMM_WORLD, &r);
    MPI_Recv(&sum, 1, MPI_INT, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (strcmp(what, "collective") == 0) MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r);
  if (strcmp(what, "barrier") == 0) MPI_Ibarrier(MPI_COMM_WORLD, &r);
  if (strncmp(what, "persistent", 10) == 0) {
    INIT_OF(Allreduce)(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
    MPI_Start(&r);
    if (strcmp(what, "persistent") == 0) MPI_Wait(&r, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  if (rank == 0) puts("end");
  return 0;
}
