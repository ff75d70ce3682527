/* progress_moves.c: does data arrive while no process is inside the MPI? Each way is started, then the receivers
   look at their memory, without any call, until it is there or 100 seconds are over. Argument: number of ways. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BYTES = 4 << 20, INTS = BYTES / 4 };

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Until the word is `wanted`; the processes may have to share cores. */
static int arrives(const int *word, int wanted) {
  const struct timespec pause = {0, 100000};
  const double end = seconds() + 100;
  while (*(const volatile int *)word != wanted) {
    if (seconds() > end) return 0;
    nanosleep(&pause, NULL);
  }
  return 1;
}

static int rank, size;
static int *a, *b;

static void say(const char *what, int arrived) {
  int all = 0;
  MPI_Reduce(&arrived, &all, 1, MPI_INT, MPI_MIN, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%s: %s\n", what, all ? "arrived" : "did not arrive");
}

static void fresh(void) {
  for (int i = 0; i < INTS; i++) a[i] = rank + 1, b[i] = -1;
  MPI_Barrier(MPI_COMM_WORLD);
}

static void rendezvous(void) {
  MPI_Request requests[2];
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  fresh();
  MPI_Irecv(b, INTS, MPI_INT, left, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(a, INTS, MPI_INT, right, 1, MPI_COMM_WORLD, &requests[1]);
  const int arrived = arrives(&b[INTS - 1], left + 1);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  say("a long message", arrived);
}

static void persistent(void) {
  MPI_Request requests[2];
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  int arrived = 1;
  MPI_Recv_init(b, INTS, MPI_INT, left, 2, MPI_COMM_WORLD, &requests[0]);
  MPI_Send_init(a, INTS, MPI_INT, right, 2, MPI_COMM_WORLD, &requests[1]);
  for (int round = 0; round < 3; round++) {
    fresh();
    MPI_Startall(2, requests);
    arrived = arrived && arrives(&b[INTS - 1], left + 1);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  say("persistent requests", arrived);
}

static void given_away(void) {
  MPI_Request request;
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  fresh();
  MPI_Irecv(b, INTS, MPI_INT, left, 3, MPI_COMM_WORLD, &request);
  MPI_Request_free(&request);
  MPI_Isend(a, INTS, MPI_INT, right, 3, MPI_COMM_WORLD, &request);
  MPI_Request_free(&request);
  const int arrived = arrives(&b[INTS - 1], left + 1);
  say("requests freed while active", arrived);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void collective(void) {
  MPI_Request request;
  fresh();
  MPI_Iallreduce(a, b, INTS, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  const int arrived = arrives(&b[INTS - 1], size * (size + 1) / 2);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  say("a nonblocking collective", arrived);
}

/* Rank 0 locks the others' windows; they are the targets and make no call. */
static void one_sided(void) {
  MPI_Win win;
  int arrived = 1;
  MPI_Win_create(b, BYTES, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  fresh();
  if (rank == 0 && size > 1) {
    for (int r = 1; r < size; r++) {
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, r, 0, win);
      MPI_Accumulate(a, INTS, MPI_INT, r, 0, INTS, MPI_INT, MPI_SUM, win);
      MPI_Win_unlock(r, win);
    }
  } else if (rank) {
    arrived = arrives(&b[INTS - 1], 0);
  }
  MPI_Win_free(&win);
  say("an accumulate", arrived);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  a = malloc(BYTES);
  b = malloc(BYTES);
  if (!a || !b) MPI_Abort(MPI_COMM_WORLD, 1);
  rendezvous();
  persistent();
  given_away();
  collective();
  if (argc < 2 || atoi(argv[1]) > 4) one_sided();
  free(a);
  free(b);
  MPI_Finalize();
  return 0;
}
