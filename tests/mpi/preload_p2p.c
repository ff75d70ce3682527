/* Point-to-point in all modes, all forms of completion, and collectives, with known counts. Prints
   what it received: with the preload these lines must be the same. `r` sends to the right, receives
   from the left, so every number of processes >= 2 works. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BIG = 1 << 18 }; /* ints: beyond any eager limit */
static int rank, size, right, left;
static int *out, *in;

static void fill(int count, int salt) {
  for (int i = 0; i < count; i++) out[i] = salt + rank * 1000 + i;
  memset(in, 0xff, (size_t)BIG * sizeof *in);
}
static void show(const char *what, int count, const MPI_Status *s) {
  unsigned sum = 0;
  int got = -1;
  for (int i = 0; i < count; i++) sum = sum * 31 + (unsigned)in[i];
  if (s) MPI_Get_count(s, MPI_INT, &got);
  printf("%d %s %u source %d tag %d count %d\n", rank, what, sum, s ? s->MPI_SOURCE : -9,
         s ? s->MPI_TAG : -9, got);
}

static void blocking_modes(int count) {
  MPI_Status s;
  const int bytes = 2 * (count * (int)sizeof(int) + MPI_BSEND_OVERHEAD);
  void *space = malloc((size_t)bytes);
  MPI_Request q;
  fill(count, 1);
  if (rank % 2 == 0) MPI_Send(out, count, MPI_INT, right, 1, MPI_COMM_WORLD);
  MPI_Recv(in, count, MPI_INT, left, 1, MPI_COMM_WORLD, &s);
  if (rank % 2) MPI_Send(out, count, MPI_INT, right, 1, MPI_COMM_WORLD);
  show("send", count, &s);
  fill(count, 2);
  if (rank % 2 == 0) MPI_Ssend(out, count, MPI_INT, right, 2, MPI_COMM_WORLD);
  MPI_Recv(in, count + 5, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank % 2) MPI_Ssend(out, count, MPI_INT, right, 2, MPI_COMM_WORLD);
  show("ssend", count, NULL);
  fill(count, 3);
  MPI_Buffer_attach(space, bytes);
  MPI_Bsend(out, count, MPI_INT, right, 3, MPI_COMM_WORLD);
  MPI_Recv(in, count, MPI_INT, left, 3, MPI_COMM_WORLD, &s);
  int detached;
  void *address;
  MPI_Buffer_detach(&address, &detached);
  show("bsend", count, &s);
  fill(count, 4);
  MPI_Irecv(in, count, MPI_INT, left, 4, MPI_COMM_WORLD, &q);
  MPI_Barrier(MPI_COMM_WORLD); /* ready mode: the receives are posted */
  MPI_Rsend(out, count, MPI_INT, right, 4, MPI_COMM_WORLD);
  MPI_Wait(&q, &s);
  show("rsend", count, &s);
  free(space);
}

static void nonblocking_modes(int count) {
  MPI_Request q[2];
  MPI_Status s[2];
  int flag = 0, index, done, which[2];
  fill(count, 5);
  MPI_Irecv(in, BIG, MPI_INT, left, 5, MPI_COMM_WORLD, &q[0]); /* longer than what comes */
  MPI_Isend(out, count, MPI_INT, right, 5, MPI_COMM_WORLD, &q[1]);
  MPI_Waitall(2, q, s);
  show("isend waitall", count, &s[0]);
  fill(count, 6);
  MPI_Irecv(in, count, MPI_INT, left, 6, MPI_COMM_WORLD, &q[0]);
  MPI_Issend(out, count, MPI_INT, right, 6, MPI_COMM_WORLD, &q[1]);
  MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
  show("issend waitall ignore", count, NULL);
  fill(count, 7);
  MPI_Irecv(in, count, MPI_INT, left, 7, MPI_COMM_WORLD, &q[0]);
  MPI_Isend(out, count, MPI_INT, right, 7, MPI_COMM_WORLD, &q[1]);
  for (int left_over = 2; left_over;) {
    MPI_Testsome(2, q, &done, which, s);
    for (int i = 0; i < done; i++)
      if (which[i] == 0) show("testsome", count, &s[i]);
    left_over -= done;
  }
  fill(count, 8);
  MPI_Irecv(in, count, MPI_INT, left, 8, MPI_COMM_WORLD, &q[0]);
  MPI_Isend(out, count, MPI_INT, right, 8, MPI_COMM_WORLD, &q[1]);
  for (int i = 0; i < 3; i++) {
    MPI_Waitany(2, q, &index, &s[0]);
    if (index == 0) show("waitany", count, &s[0]);
    if (index == MPI_UNDEFINED)
      printf("%d waitany none %d\n", rank, q[0] == MPI_REQUEST_NULL && q[1] == MPI_REQUEST_NULL);
  }
  fill(count, 9);
  MPI_Irecv(in, count, MPI_INT, left, 9, MPI_COMM_WORLD, &q[0]);
  MPI_Isend(out, count, MPI_INT, right, 9, MPI_COMM_WORLD, &q[1]);
  while (!flag) MPI_Testall(2, q, &flag, MPI_STATUSES_IGNORE);
  show("testall", count, NULL);
  fill(count, 10);
  MPI_Irecv(in, count, MPI_INT, left, 10, MPI_COMM_WORLD, &q[0]);
  MPI_Isend(out, count, MPI_INT, right, 10, MPI_COMM_WORLD, &q[1]);
  for (flag = 0; !flag;) MPI_Test(&q[0], &flag, &s[0]);
  MPI_Request_get_status(q[1], &flag, &s[1]);
  for (flag = 0; !flag;) MPI_Testany(1, &q[1], &index, &flag, &s[1]);
  MPI_Waitsome(2, q, &done, which, s); /* nothing is left */
  printf("%d waitsome none %d\n", rank, done == MPI_UNDEFINED);
  show("test", count, NULL);
}

static void persistent_and_both_ways(int count) {
  MPI_Request q[2];
  MPI_Status s;
  MPI_Send_init(out, count, MPI_INT, right, 11, MPI_COMM_WORLD, &q[0]);
  MPI_Recv_init(in, count, MPI_INT, left, 11, MPI_COMM_WORLD, &q[1]);
  MPI_Waitall(2, q, MPI_STATUSES_IGNORE); /* inactive: returns at once */
  for (int i = 0; i < 3; i++) {
    fill(count, 11 + i);
    if (i == 1)
      MPI_Start(&q[1]), MPI_Start(&q[0]);
    else
      MPI_Startall(2, q);
    MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
    show("persistent", count, NULL);
  }
  MPI_Request_free(&q[0]);
  MPI_Request_free(&q[1]);
  fill(count, 20);
  MPI_Sendrecv(out, count, MPI_INT, right, 12, in, count, MPI_INT, left, 12, MPI_COMM_WORLD, &s);
  show("sendrecv", count, &s);
  fill(count, 21);
  memcpy(in, out, (size_t)count * sizeof *in);
  MPI_Sendrecv_replace(in, count, MPI_INT, right, 13, left, 13, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  show("sendrecv_replace", count, NULL);
  MPI_Sendrecv(out, count, MPI_INT, MPI_PROC_NULL, 0, in, count, MPI_INT, MPI_PROC_NULL, 0,
               MPI_COMM_WORLD, &s);
  show("proc null", 0, &s);
}

static void collectives(int count) {
  MPI_Request q;
  fill(count, 30);
  if (rank == 0) memcpy(in, out, (size_t)count * sizeof *in);
  MPI_Bcast(in, count, MPI_INT, 0, MPI_COMM_WORLD);
  show("bcast", count, NULL);
  MPI_Allreduce(out, in, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  show("allreduce", count, NULL);
  MPI_Reduce(rank ? out : MPI_IN_PLACE, rank ? NULL : out, count, MPI_INT, MPI_MAX, 0,
             MPI_COMM_WORLD);
  MPI_Gather(out, count, MPI_INT, in, count, MPI_INT, 0, MPI_COMM_WORLD);
  show("gather", rank ? 0 : count * size, NULL);
  MPI_Allgather(out, count, MPI_INT, in, count, MPI_INT, MPI_COMM_WORLD);
  show("allgather", count * size, NULL);
  MPI_Alltoall(in, count, MPI_INT, out, count, MPI_INT, MPI_COMM_WORLD);
  MPI_Iallreduce(MPI_IN_PLACE, out, count, MPI_INT, MPI_MIN, MPI_COMM_WORLD, &q);
  MPI_Wait(&q, MPI_STATUS_IGNORE);
  MPI_Ibcast(out, count, MPI_INT, 1, MPI_COMM_WORLD, &q);
  MPI_Wait(&q, MPI_STATUS_IGNORE);
  MPI_Ialltoall(out, count, MPI_INT, in, count, MPI_INT, MPI_COMM_WORLD, &q);
  MPI_Wait(&q, MPI_STATUS_IGNORE);
  show("nonblocking", count * size, NULL);
  MPI_Ibarrier(MPI_COMM_WORLD, &q);
  MPI_Wait(&q, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  right = (rank + 1) % size;
  left = (rank + size - 1) % size;
  out = calloc(BIG, sizeof *out);
  in = calloc(BIG, sizeof *in);
  for (int big = 0; big < 2; big++) {
    blocking_modes(big ? BIG - 5 : 10);
    nonblocking_modes(big ? BIG : 10);
    persistent_and_both_ways(big ? BIG : 10);
    collectives(big ? BIG / size : 10);
  }
  free(out);
  free(in);
  MPI_Finalize();
  return 0;
}
