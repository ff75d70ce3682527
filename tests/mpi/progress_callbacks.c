/* progress_callbacks.c: what functions of the program wait for and free while the MPI calls them (attributes of a communicator
   that goes) has ended and is gone: its handles, which the MPI gives to others, mean those others. */
#include <mpi.h>
#include <stdio.h>
#include "tools/mpi_h.h"

enum { TRIES = 32, MANY = 6, MAX_SIZE = 16 };
typedef struct cached { /* what a library keeps with a communicator */
  MPI_Comm comm, comm_was;
  MPI_Request sum;
  int given, summed, started;
} cached;
static int rank, size, failed, same_comm;

static void good(int is_true, const char *what, int got) {
  if (!is_true && failed++ < 5) printf("  rank %d: %s: %d\n", rank, what, got);
}
static int forget(MPI_Comm comm, int key, void *value, void *extra) {
  cached *const c = value;
  (void)comm, (void)key, (void)extra;
  if (c->started) {
    MPI_Wait(&c->sum, MPI_STATUS_IGNORE);
    good(c->summed == size, "sum by a persistent request, waited for by a callback", c->summed);
  }
  if (c->sum != MPI_REQUEST_NULL) MPI_Request_free(&c->sum);
  return MPI_Comm_free(&c->comm);
}

/* Communicators whose collectives stay the MPI's, and persistent messages: some get the handles. */
static void reuse(MPI_Comm comm) {
  MPI_Comm next[MANY];
  MPI_Request copying, requests[2 * MANY];
  int got[MANY], from = (rank + size - 1) % size, ranks[MAX_SIZE];
  for (int i = 0; i < MANY; i++) {
    MPI_Comm_idup(MPI_COMM_WORLD, &next[i], &copying);
    MPI_Wait(&copying, MPI_STATUS_IGNORE);
    same_comm += next[i] == comm;
    MPI_Iallgather(&rank, 1, MPI_INT, ranks, 1, MPI_INT, next[i], &copying);
    MPI_Wait(&copying, MPI_STATUS_IGNORE);
    for (int k = 0; k < size; k++) good(ranks[k] == k, "allgather on a communicator that got the handle of another", ranks[k]);
  }
  for (int i = 0; i < MANY; i++) {
    got[i] = -1;
    MPI_Send_init(&rank, 1, MPI_INT, (rank + 1) % size, i, MPI_COMM_WORLD, &requests[2 * i]);
    MPI_Recv_init(&got[i], 1, MPI_INT, from, i, MPI_COMM_WORLD, &requests[2 * i + 1]);
  }
  MPI_Startall(2 * MANY, requests);
  MPI_Waitall(2 * MANY, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < MANY; i++) good(got[i] == from, "message by a persistent request that got the handle of another", got[i]);
  for (int i = 0; i < 2 * MANY; i++) MPI_Request_free(&requests[i]);
  for (int i = 0; i < MANY; i++) MPI_Comm_free(&next[i]);
}

int main(int argc, char **argv) {
  int key, all = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &key, NULL);
  for (int i = 0; i < TRIES; i++) {
    MPI_Comm outer;
    cached c = {.given = 1, .started = i % 4 == 3, .sum = MPI_REQUEST_NULL};
    MPI_Comm_dup(MPI_COMM_WORLD, &outer);
    MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &c.comm); /* the last is the first */
    if (i % 2) INIT_OF(Allreduce)(&c.given, &c.summed, 1, MPI_INT, MPI_SUM, c.comm, MPI_INFO_NULL, &c.sum);
    if (c.started) MPI_Start(&c.sum);
    c.comm_was = c.comm;
    MPI_Comm_set_attr(outer, key, &c);
    MPI_Comm_free(&outer);
    reuse(c.comm_was);
  }
  if (rank == 0 && !same_comm) printf("no handle was given to another: nothing was tested\n");
  MPI_Comm_free_keyval(&key);
  MPI_Reduce(&failed, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d processes checked, %d checks failed\n", size, all);
  MPI_Finalize();
  return failed != 0;
}
