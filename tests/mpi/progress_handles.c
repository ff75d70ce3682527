/* progress_handles.c: one thread completes a persistent collective and messages in one array, again and again, while another
   one makes, starts, completes and frees persistent collectives, whose handles are often those that messages just had.
   Argument: rounds (40). */
#include "tools/mpi_h.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MESSAGES = 8, COLLECTIVES = 4 };
static int rank, size, rounds;
static MPI_Comm comms[2];
static int failed[2]; /* of each thread */

static void good(int thread, int is_true, int round, int i) {
  if (!is_true && !failed[thread]++) printf("  rank %d: thread %d, round %d: %d is wrong\n", rank, thread, round, i);
}

static void messages(void) { /* 0: the persistent collective; then receives and sends, to oneself */
  int in[MESSAGES], out[MESSAGES], mine = rank, sum;
  MPI_Request requests[1 + 2 * MESSAGES];
  INIT_OF(Allreduce)(&mine, &sum, 1, MPI_INT, MPI_SUM, comms[0], MPI_INFO_NULL, &requests[0]);
  for (int round = 0; round < rounds; round++) {
    mine = rank + round, sum = -1;
    MPI_Start(&requests[0]);
    for (int i = 0; i < MESSAGES; i++) {
      in[i] = -1, out[i] = round + i;
      MPI_Irecv(&in[i], 1, MPI_INT, rank, i, comms[0], &requests[1 + 2 * i]);
      MPI_Isend(&out[i], 1, MPI_INT, rank, i, comms[0], &requests[2 + 2 * i]);
    }
    MPI_Waitall(1 + 2 * MESSAGES, requests, MPI_STATUSES_IGNORE);
    good(0, requests[0] != MPI_REQUEST_NULL && sum == size * (size - 1) / 2 + size * round, round, -1);
    for (int i = 0; i < MESSAGES; i++) good(0, in[i] == round + i, round, i);
    for (int i = 1; i <= 2 * MESSAGES; i++) good(0, requests[i] == MPI_REQUEST_NULL, round, 100 + i);
  }
  MPI_Request_free(&requests[0]);
}

static void *collectives(void *nothing) {
  (void)nothing;
  for (int round = 0; round < 4 * rounds; round++) {
    int mine[COLLECTIVES], sum[COLLECTIVES];
    MPI_Request requests[COLLECTIVES];
    for (int i = 0; i < COLLECTIVES; i++) {
      mine[i] = rank + i, sum[i] = -1;
      INIT_OF(Allreduce)(&mine[i], &sum[i], 1, MPI_INT, MPI_SUM, comms[1], MPI_INFO_NULL, &requests[i]);
    }
    MPI_Startall(COLLECTIVES, requests);
    for (int i = 0; i < COLLECTIVES; i++) {
      MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
      good(1, sum[i] == size * (size - 1) / 2 + size * i, round, i);
      MPI_Request_free(&requests[i]);
    }
  }
  return NULL;
}

int main(int argc, char **argv) {
  int provided, mine, all = 0;
  pthread_t thread;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  rounds = argc > 1 ? atoi(argv[1]) : 40;
  for (int i = 0; i < 2; i++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  if (provided < MPI_THREAD_MULTIPLE || pthread_create(&thread, NULL, collectives, NULL) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
  messages();
  pthread_join(thread, NULL);
  for (int i = 0; i < 2; i++) MPI_Comm_free(&comms[i]);
  mine = failed[0] + failed[1];
  MPI_Reduce(&mine, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d processes checked, %d checks failed\n", size, all);
  MPI_Finalize();
  return mine != 0;
}
