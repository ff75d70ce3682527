/* Memory that --fold folds, with a part that stays its process's own: messages bring that part and nothing else. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 8 << 20, AT = 3000000, OWN = 5000 };
void pm_fold_own(void *memory, size_t bytes) __attribute__((weak));
static int wrong(const char *p, int value) {
  for (int i = 0; i < OWN; i++)
    if (p[AT + i] != value) return 1;
  return 0;
}
int main(int argc, char **argv) {
  int rank, bad = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int life = 0; life < 3; life++) { /* memory that was freed is used again, and is folded again */
    char *p = malloc(BYTES), *small = malloc(OWN);
    if (!p || !small) return 1;
    pm_fold_own(p + AT, OWN);
    memset(p + AT, 1 + rank, OWN);
    memset(p, 7, 100);
    MPI_Barrier(MPI_COMM_WORLD);
    bad += wrong(p, 1 + rank);
    if (rank == 0)
      MPI_Send(p, BYTES, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    else if (rank == 1)
      MPI_Recv(p, BYTES, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    bad += wrong(p, rank == 1 ? 1 : 1 + rank);
    if (rank == 0) /* from folded memory to memory of its own, and back */
      MPI_Send(p + AT, OWN, MPI_CHAR, 1, 1, MPI_COMM_WORLD), MPI_Recv(p + AT, OWN, MPI_CHAR, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else if (rank == 1) {
      MPI_Recv(small, OWN, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      for (int i = 0; i < OWN; i++) bad += small[i] != 1, small[i] = 9;
      MPI_Send(small, OWN, MPI_CHAR, 0, 2, MPI_COMM_WORLD);
    }
    if (rank == 0) bad += wrong(p, 9);
    free(small), free(p);
    p = malloc(BYTES);
    if (!p) return 1;
    memset(p + AT, rank, OWN);
    MPI_Barrier(MPI_COMM_WORLD);
    int same = 0, others = 0;
    for (int i = 0; i < OWN; i++) same += p[AT + i] == p[AT];
    MPI_Allreduce(&(int){p[AT]}, &others, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    bad += same != OWN || others != p[AT]; /* all see what the last one wrote */
    free(p);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  printf("%d: %d wrong\n", rank, bad);
  MPI_Finalize();
  return 0;
}
