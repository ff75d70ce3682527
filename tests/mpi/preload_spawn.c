/* Spawns two copies of itself; parent and children exchange through the intercommunicator. */
#include <mpi.h>
#include <stdio.h>

static void child(MPI_Comm parents) {
  int rank, value = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Recv(&value, 1, MPI_INT, 0, 1, parents, MPI_STATUS_IGNORE);
  value += rank;
  MPI_Send(&value, 1, MPI_INT, 0, 2, parents);
}

static void parent(char *program) {
  MPI_Comm children;
  int in[2], rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_spawn(program, MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                 MPI_ERRCODES_IGNORE);
  for (int i = 0; rank == 0 && i < 2; i++) {
    const int out = 40 + i;
    MPI_Send(&out, 1, MPI_INT, i, 1, children);
    MPI_Recv(&in[i], 1, MPI_INT, i, 2, children, MPI_STATUS_IGNORE);
    printf("child %d answers %d\n", i, in[i]);
  }
  MPI_Comm_free(&children);
}

int main(int argc, char **argv) {
  MPI_Comm parents;
  MPI_Init(&argc, &argv);
  MPI_Comm_get_parent(&parents);
  if (parents == MPI_COMM_NULL)
    parent(argv[0]);
  else
    child(parents);
  MPI_Finalize();
  return 0;
}
