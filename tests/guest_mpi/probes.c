/* Process 0 looks for messages in loops; process 1 sends them late. What is printed: how many looks were in vain, and
   how many nanoseconds a message was there before it was seen, counted from when a process that waits for it
   would have seen it. */
#define _DEFAULT_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

static double looks(int source, int tag, int is_matched, int *count) {
  MPI_Message message;
  MPI_Status s;
  int there = 0, value;
  *count = 0;
  while (!there) {
    if (is_matched)
      MPI_Improbe(source, tag, MPI_COMM_WORLD, &there, &message, &s);
    else
      MPI_Iprobe(source, tag, MPI_COMM_WORLD, &there, &s);
    *count += !there;
  }
  const double t_s = MPI_Wtime();
  if (is_matched)
    MPI_Mrecv(&value, 1, MPI_INT, &message, &s);
  else
    MPI_Recv(&value, 1, MPI_INT, source, tag, MPI_COMM_WORLD, &s);
  if (value != 7 || s.MPI_SOURCE != 1 || s.MPI_TAG != 5) printf("wrong\n");
  return t_s;
}
int main(int argc, char **argv) {
  int rank, count = 0, value = 7;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);

  for (int how = -1; how < 4; how++) { /* -1: the first times are longer */
    double t_s[2] = {0, 0};
    for (int is_waiting = 0; is_waiting < 2; is_waiting++) {
      MPI_Barrier(MPI_COMM_WORLD);
      const double t_begin_s = MPI_Wtime();
      if (rank == 1) {
        usleep(1000);
        MPI_Send(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
      } else if (is_waiting) {
        MPI_Probe(1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        t_s[1] = MPI_Wtime() - t_begin_s;
        MPI_Recv(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      } else
        t_s[0] = looks(how & 1 ? MPI_ANY_SOURCE : 1, how & 1 ? 5 : MPI_ANY_TAG, how > 1, &count) - t_begin_s;
    }
    if (rank == 0 && how >= 0) printf("%d looks, %.0f ns later\n", count, (t_s[0] - t_s[1]) * 1e9);
  }
  MPI_Finalize();
  return 0;
}
