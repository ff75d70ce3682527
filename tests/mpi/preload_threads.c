/* MPI_THREAD_MULTIPLE: four threads exchange at once, each with its own tag; the last round of each
   is completed by the main thread, from requests that the others posted. One thread lives only for
   a moment. Prints what arrived. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { THREADS = 4, ROUNDS = 50, COUNT = 64, LATE = 20000 };
static int rank, size;
static MPI_Request late[THREADS][2];
static int late_in[THREADS][LATE], late_out[THREADS][LATE];

static void *exchange(void *arg) {
  const int tag = (int)(long)arg;
  int in[COUNT], out[COUNT];
  unsigned sum = 0;
  MPI_Request q[2];
  for (int round = 0; round < ROUNDS; round++) {
    for (int i = 0; i < COUNT; i++) out[i] = rank * 1000 + tag * 100 + round + i;
    MPI_Irecv(in, COUNT, MPI_INT, (rank + size - 1) % size, tag, MPI_COMM_WORLD, &q[0]);
    MPI_Isend(out, COUNT, MPI_INT, (rank + 1) % size, tag, MPI_COMM_WORLD, &q[1]);
    if (round % 2) {
      MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
    } else {
      int flag = 0;
      while (!flag) MPI_Test(&q[0], &flag, MPI_STATUS_IGNORE);
      MPI_Wait(&q[1], MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < COUNT; i++) sum = sum * 31 + (unsigned)in[i];
  }
  printf("%d thread %d %u\n", rank, tag, sum);
  for (int i = 0; i < LATE; i++) late_out[tag][i] = rank + tag + i;
  MPI_Irecv(late_in[tag], LATE, MPI_INT, (rank + size - 1) % size, 100 + tag, MPI_COMM_WORLD,
            &late[tag][0]);
  MPI_Isend(late_out[tag], LATE, MPI_INT, (rank + 1) % size, 100 + tag, MPI_COMM_WORLD,
            &late[tag][1]);
  return NULL;
}

static void *once(void *arg) {
  MPI_Barrier(MPI_COMM_WORLD);
  return arg;
}

int main(int argc, char **argv) {
  pthread_t threads[THREADS], moment;
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (provided < MPI_THREAD_MULTIPLE) {
    printf("no MPI_THREAD_MULTIPLE\n");
    MPI_Finalize();
    return 0;
  }
  pthread_create(&moment, NULL, once, NULL);
  pthread_join(moment, NULL);
  for (long t = 0; t < THREADS; t++) pthread_create(&threads[t], NULL, exchange, (void *)t);
  for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
  MPI_Waitall(2 * THREADS, late[0], MPI_STATUSES_IGNORE);
  unsigned sum = 0;
  for (int t = 0; t < THREADS; t++)
    for (int i = 0; i < LATE; i++) sum = sum * 31 + (unsigned)late_in[t][i];
  printf("%d late %u\n", rank, sum);
  MPI_Finalize();
  return 0;
}
