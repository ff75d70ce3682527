/* Transfers that begin at known lines, two processes, also under pm_run: what a report says of each place. Each line is
   named by the function that it stands in: hidden() posts a large exchange before it computes, bare() waits at once, in section
   "waits"; unseen() is not measured; told() is a broadcast; laid() puts before it computes, taken()
   gets and waits at once, both with a second argument; lent() starts a persistent one; layer() passes on for upper(); any() receives from anybody; both send with MPI_Send from sender(); as
   many threads as the first argument says call in_thread(), which is a place of its own. */
#ifndef _GNU_SOURCE
#  define _GNU_SOURCE
#endif
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define PLACE __attribute__((noinline, noclone)) static
enum { LARGE = 1 << 19, ROUNDS = 8 };
static char in[LARGE], out[LARGE];
static int rank, size, other, sum;
static volatile int done; /* keeps calls from being the last thing a function does */

static void compute(void) {
  const double until = MPI_Wtime() + 0.002;
  while (MPI_Wtime() < until) done++;
}
PLACE void hidden(void) {
  MPI_Request q[2];
  MPI_Irecv(in, LARGE, MPI_BYTE, other, 1, MPI_COMM_WORLD, &q[0]);
  MPI_Isend(out, LARGE, MPI_BYTE, other, 1, MPI_COMM_WORLD, &q[1]);
  compute();
  MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
}
PLACE void bare(void) {
  MPI_Request q[2];
  MPI_Irecv(in, LARGE, MPI_BYTE, other, 1, MPI_COMM_WORLD, &q[0]);
  MPI_Isend(out, LARGE, MPI_BYTE, other, 1, MPI_COMM_WORLD, &q[1]);
  MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
  compute();
}
PLACE void unseen(void) {
  MPI_Sendrecv(out, 9, MPI_BYTE, other, 9, in, 9, MPI_BYTE, other, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  done++;
}
PLACE void told(void) {
  MPI_Bcast(in, 200, MPI_BYTE, 0, MPI_COMM_WORLD);
  done++;
}
PLACE void laid(MPI_Win win) {
  MPI_Put(out, LARGE, MPI_BYTE, other, 0, LARGE, MPI_BYTE, win);
  compute();
  MPI_Win_flush(other, win);
}
PLACE void taken(MPI_Win win) {
  MPI_Get(in, LARGE, MPI_BYTE, other, 0, LARGE, MPI_BYTE, win);
  MPI_Win_flush(other, win);
  compute();
}
PLACE void lent(MPI_Request *q) {
  MPI_Start(q);
  MPI_Wait(q, MPI_STATUS_IGNORE);
}
PLACE void layer(MPI_Request *q) {
  MPI_Isend(out, 100, MPI_BYTE, other, 3, MPI_COMM_WORLD, q);
  done++;
}
PLACE void upper(void) {
  MPI_Request q;
  char small[100];
  layer(&q);
  MPI_Recv(small, 100, MPI_BYTE, other, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Wait(&q, MPI_STATUS_IGNORE);
}
PLACE void any(MPI_Comm *comm) { /* whose handle is gone before it is known who sent */
  MPI_Request q;
  MPI_Irecv(in, 3000, MPI_BYTE, MPI_ANY_SOURCE, 4, *comm, &q);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* begins elsewhere */
  MPI_Comm_free(comm);
  MPI_Wait(&q, MPI_STATUS_IGNORE);
}
PLACE void sender(MPI_Comm *comm) {
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Send(out, 3000, MPI_BYTE, other, 4, *comm);
  MPI_Comm_free(comm);
  done++;
}
PLACE void *in_thread(void *number) {
  int token = 0;
  MPI_Sendrecv(&rank, 1, MPI_INT, other, 10 + *(int *)number, &token, 1, MPI_INT, other, 10 + *(int *)number, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  return token == other ? NULL : "wrong";
}

int main(int argc, char **argv) {
  const int threads = argc > 1 ? atoi(argv[1]) : 0;
  int has, numbers[16];
  void *wrong, *memory;
  MPI_Win win;
  MPI_Comm comm[ROUNDS];
  pthread_t thread[16];
  MPI_Request q[2];
  MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &has);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size != 2 || threads > 16) return 2;
  other = 1 - rank;
  for (int i = 0; i < ROUNDS; i++) hidden();
  MPI_Pcontrol(2, "waits");
  for (int i = 0; i < ROUNDS; i++) bare();
  MPI_Pcontrol(-2);
  MPI_Pcontrol(0);
  unseen();
  MPI_Pcontrol(1);
  MPI_Send_init(out, 50, MPI_BYTE, other, 2, MPI_COMM_WORLD, &q[0]);
  MPI_Recv_init(in, 50, MPI_BYTE, other, 2, MPI_COMM_WORLD, &q[1]);
  for (int i = 0; i < ROUNDS; i++) lent(&q[rank]), lent(&q[other]);
  MPI_Request_free(&q[0]), MPI_Request_free(&q[1]);
  for (int i = 0; i < ROUNDS; i++) upper();
  for (int i = 0; i < ROUNDS; i++) told();
  if (argc > 2) {
    MPI_Win_allocate(LARGE, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < ROUNDS; i++) laid(win);
    for (int i = 0; i < ROUNDS; i++) taken(win);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
  }
  for (int i = 0; i < ROUNDS; i++) MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]);
  for (int i = 0; i < ROUNDS; i++) rank ? any(&comm[i]) : sender(&comm[i]);
  for (int i = 0; has == MPI_THREAD_MULTIPLE && i < threads; i++) numbers[i] = i, pthread_create(&thread[i], NULL, in_thread, &numbers[i]);
  for (int i = 0; has == MPI_THREAD_MULTIPLE && i < threads; i++) {
    pthread_join(thread[i], &wrong);
    if (wrong) puts("wrong");
  }
  MPI_Finalize();
  if (rank == 0) puts("done");
  return 0;
}
