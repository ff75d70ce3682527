/* progress_comms.c: threads make communicators at the same time, and run collectives on them: no message of one meets
   another's. Argument: rounds (8). */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, LONG = 64 };
static MPI_Comm parents[THREADS];
static int rank, size, rounds = 8, failed;

static void good(int is_true, int thread, int round) {
  if (!is_true && !__atomic_fetch_add(&failed, 1, __ATOMIC_RELAXED)) printf("  rank %d: thread %d, round %d is wrong\n", rank, thread, round);
}

static void *makes(void *arg) {
  const int me = (int)((MPI_Comm *)arg - parents);
  for (int round = 0; round < rounds; round++) {
    MPI_Comm comms[2];
    MPI_Request requests[4];
    int sums[2], spread[2][LONG];
    const int given = rank + me + round, root = (me + round) % size, n = 1 + 15 * me;
    for (int i = 0; i < 2; i++) MPI_Comm_dup(*(MPI_Comm *)arg, &comms[i]);
    for (int i = 0; i < 2; i++) {
      for (int k = 0; k < LONG; k++) spread[i][k] = rank == root ? 1000 * me + round + k + i : -1;
      MPI_Iallreduce(&given, &sums[i], 1, MPI_INT, MPI_SUM, comms[i], &requests[i]);
      MPI_Ibcast(spread[i], n, MPI_INT, root, comms[i], &requests[2 + i]);
    }
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 2; i++) {
      good(sums[i] == size * (size - 1) / 2 + size * (me + round), me, round);
      for (int k = 0; k < LONG; k++) good(spread[i][k] == (k < n || rank == root ? 1000 * me + round + k + i : -1), me, round);
      MPI_Comm_free(&comms[i]);
    }
  }
  return NULL;
}

int main(int argc, char **argv) {
  int provided, all = 0;
  pthread_t threads[THREADS];
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc > 1) rounds = atoi(argv[1]);
  for (int i = 0; i < THREADS; i++) MPI_Comm_dup(MPI_COMM_WORLD, &parents[i]);
  for (int i = 0; i < THREADS; i++)
    if (pthread_create(&threads[i], NULL, makes, &parents[i])) abort();
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < THREADS; i++) MPI_Comm_free(&parents[i]);
  MPI_Reduce(&failed, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d processes checked, %d checks failed\n", size, all);
  MPI_Finalize();
  return failed != 0;
}
