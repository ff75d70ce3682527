/* A large receive that nothing hides: its data is fetched when MPI_Wait is called, after a computation. With an
   argument: one whose receive is posted late, so that data that goes at once comes during the computation. */
#include <mpi.h>
#include <unistd.h>

static char data[1 << 20];
int main(int argc, char **argv) {
  int rank;
  MPI_Request r;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 4; i++) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0 && argc > 1) usleep(40);
    if (rank == 0) MPI_Irecv(data, sizeof data, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &r);
    if (rank == 1) MPI_Isend(data, sizeof data, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &r);
    if (rank == 0 && argc == 1) usleep(1000);
    if (rank < 2) MPI_Wait(&r, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  return 0;
}
