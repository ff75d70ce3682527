/* Programs whose truth is known, because both ranks read one clock or because the data can be looked at;
   one scene per argument, two ranks:
     eager     MPI_Send of 64 B to a receiver that waits: prints how many had arrived only after the send
               had returned, and at least how much of their time the sender computed meanwhile
     self      messages to oneself: prints in how many rounds data moved while the program computed
     progress  a large send is posted before the sender computes for long; the receiver waits
     stalled   the same with a message of few fragments: on a busy machine each may wait for a core
     regions   regions that are marked for Caliper and NVTX, where these are there
     beside    the same, while the receiver also sends itself messages; beside_any: received from any source
     late      a small send comes late; the receiver waits
     behind    the same while a large send is posted, which nobody waits for
     tail      a large send whose receiver looks rarely: prints how much of the data arrived only after the
               send was complete, while the sender computed; the receiver reads the bytes in its buffer
     tail_sync the same with MPI_Issend; tail_strided, tail_permuted: with data that has gaps, or another order;
               tail_to_strided, tail_to_permuted: such data where it is received, not where it is sent
     ways      1000 bytes by each way to send, each received in another way: prints how many
     nulls     a late message among null requests and those with nobody; a probe for another; an exchange
     last      collectives of four, each with someone who is late
     both      calls that end a message and a collective at once, of four
     lasts     ... that are nonblocking, need the data of some only, or of lower ranks
     merged    ... in communicators that their members alone made: of two groups, twice, and of some
     looks     two late messages, looked for in vain by probes and tests; short computation; a short MPI_Ssend
     slow      a large message to a receiver that is late
     bridge    10 messages of 1000 bytes each way over an intercommunicator, and a broadcast
     many N    N calls of MPI_Wait that wait for nothing, then a barrier
     comms     exchanges in communicators with names, one of which comes late, and without
     signal    1000 calls of MPI_Iprobe, SIGUSR2, 200 of them, SIGUSR2, 30 of them
     workers   exchanges of one thread, while another computes for 0.3 s and calls no MPI
     hangs     a receive of what nobody sends, until a signal comes
     leaves    an error handler that leaves a call by longjmp while a receive is open, then 10 exchanges
     together  what ends in one call waited equally: puts of two lines at a fence, an exchange beside a receive
     come      nonblocking collectives, four ranks: what rank 0 receives was there before it posted */
#ifndef _GNU_SOURCE
#  define _GNU_SOURCE
#endif
#include "tools/mpi_h.h"
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "tests/mpi/one_clock.h"

void wait_here(MPI_Request *request);
/* of other tools, which need not be there */
extern void cali_begin_region(const char *name) __attribute__((weak));
extern void cali_end_region(const char *name) __attribute__((weak));
extern int nvtxRangePushA(const char *name) __attribute__((weak));
extern int nvtxRangePop(void) __attribute__((weak));

static int rank;

/* A function of its own, for the place in the report. */
__attribute__((noinline)) void wait_here(MPI_Request *request) {
  MPI_Wait(request, MPI_STATUS_IGNORE);
  __asm__ volatile("" ::: "memory");
}

enum { MESSAGES = 1000, SHORTEST_NS = 500 }; /* no table says less than that for a message between processes */
static void eager(void) {
  static int64_t mine[MESSAGES], other[MESSAGES];
  char data[64] = "", go = 0;
  int after = 0;
  int64_t hidden_ns = 0;
  for (int i = 0; i < MESSAGES; i++) {
    if (rank == 0) {
      MPI_Recv(&go, 1, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      compute(20000); /* the receive is posted by now */
      MPI_Send(data, sizeof data, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
      mine[i] = now_ns();
      compute(20000);
    } else {
      MPI_Send(&go, 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
      MPI_Recv(data, sizeof data, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      mine[i] = now_ns();
    }
  }
  MPI_Sendrecv(mine, sizeof mine, MPI_BYTE, 1 - rank, 2, other, sizeof other, MPI_BYTE, 1 - rank, 2, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  for (int i = 0; rank == 0 && i < MESSAGES; i++)
    if (other[i] > mine[i]) {
      const int64_t late_ns = other[i] - mine[i];
      after++;
      hidden_ns += late_ns < SHORTEST_NS ? late_ns : SHORTEST_NS;
    }
  if (rank == 0) printf("after %d of %d hidden_ns %lld\n", after, MESSAGES, (long long)hidden_ns);
}

static void self(void) {
  enum { BYTES = 1 << 20, ROUNDS = 50 };
  char *in = calloc(1, BYTES), *out = calloc(1, BYTES);
  int moved = 0;
  if (!in || !out) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int i = 1; i <= ROUNDS; i++) {
    MPI_Request r[2];
    memset(out, i, BYTES);
    MPI_Irecv(in, BYTES, MPI_CHAR, rank, 0, MPI_COMM_WORLD, &r[0]);
    MPI_Isend(out, BYTES, MPI_CHAR, rank, 0, MPI_COMM_WORLD, &r[1]);
    const char before = ((volatile char *)in)[BYTES - 1];
    compute(300000);
    if (((volatile char *)in)[BYTES - 1] != before) moved++;
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
  }
  printf("moved while computing: %d\n", moved);
  free(in);
  free(out);
}

enum { MUCH_NS = 200000000 }; /* much beside what ranks wait for a core on a busy machine */
static void waiting(int bytes, int posts_early) {
  char *data = calloc(1, (size_t)bytes);
  if (!data) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int i = 0; i < 5; i++) {
    MPI_Request request;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0 && !posts_early) compute(MUCH_NS);
    if (rank == 0) MPI_Isend(data, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &request);
    else MPI_Irecv(data, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &request);
    if (rank == 0 && posts_early) compute(MUCH_NS);
    wait_here(&request);
  }
  free(data);
}

static void beside(int from) {
  enum { BYTES = 128 << 10 };
  static char data[BYTES], own[2][8];
  for (int i = 0; i < 5; i++) {
    MPI_Request r[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      MPI_Isend(data, BYTES, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &r[0]);
      compute(MUCH_NS);
    } else {
      MPI_Irecv(data, BYTES, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &r[0]);
      MPI_Irecv(own[0], 8, MPI_CHAR, from, 1, MPI_COMM_WORLD, &r[1]);
      MPI_Isend(own[1], 8, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &r[2]);
    }
    MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
  }
}

/* A function of its own, for the place in the report. */
__attribute__((noinline)) void hang_here(void);
__attribute__((noinline)) void hang_here(void) {
  char data[8];
  alarm(1);
  MPI_Recv(data, 8, MPI_CHAR, 1 - rank, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  __asm__ volatile("" ::: "memory");
}

/* What the call that fails was longer than is not known, so nothing is of the receive; what follows is measured as ever. */
static jmp_buf before_it;
static void leave_it(MPI_Comm *comm, int *code, ...) {
  (void)comm, (void)code;
  longjmp(before_it, 1);
}
__attribute__((noinline)) static void go_on(char *out, char *in, MPI_Request *r) {
#ifdef __x86_64__ /* else calls are seen again where the stack is as short as it was */
  volatile char deep[20000];
  for (size_t i = 0; i < sizeof deep; i++) deep[i] = 1;
#endif
  compute(MUCH_NS / 4);
  MPI_Send(out, 1 << 20, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD);
  MPI_Wait(r, MPI_STATUS_IGNORE);
  for (int i = 0; i < 10; i++)
    MPI_Sendrecv(out, 8, MPI_CHAR, 1 - rank, 0, in, 8, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static int look_within(MPI_Comm comm, int key, void *extra, void *value, void *copied, int *flag) {
  (void)key, (void)extra, (void)value, (void)copied;
  *flag = 0;
  return MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &key, MPI_STATUS_IGNORE);
}
static void leaves(void) {
  static char out[1 << 20], in[1 << 20];
  MPI_Comm copy;
  int key;
  MPI_Errhandler handler;
  MPI_Request r;
  MPI_Comm_create_errhandler(leave_it, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Irecv(in, sizeof in, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, &r);
  if (!setjmp(before_it)) MPI_Send(out, 1, MPI_CHAR, 99, 0, MPI_COMM_WORLD);
  go_on(out, in, &r);
  MPI_Comm_create_keyval(look_within, MPI_COMM_NULL_DELETE_FN, &key, NULL); /* a call within one is none of the program's, as ever */
  MPI_Comm_set_attr(MPI_COMM_WORLD, key, NULL);
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_free(&copy);
  if (!setjmp(before_it)) MPI_Send(out, 1, MPI_CHAR, 99, 0, MPI_COMM_WORLD);
}

/* Rank 1 comes late to a fence that ends two puts to it and one of rank 0 to itself; then to an exchange beside a message; then to a message beside
   short sends and receives to and from nobody, and such a send to it: each may share one handle of its kind. */
static void together(void) {
  enum { BYTES = 4096 };
  static char data[BYTES], in[2][BYTES], memory[3 * BYTES];
  MPI_Request both[2], halo[6];
  MPI_Win win;
  MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_fence(0, win);
  if (rank == 0) {
    MPI_Put(data, BYTES, MPI_CHAR, 0, 0, BYTES, MPI_CHAR, win);
    MPI_Put(data, BYTES, MPI_CHAR, 1, BYTES, BYTES, MPI_CHAR, win);
    MPI_Accumulate(data, BYTES, MPI_CHAR, 1, 0, BYTES, MPI_CHAR, MPI_REPLACE, win);
  } else
    compute(MUCH_NS / 4);
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
  MPI_Irecv(in[0], BYTES, MPI_CHAR, 1 - rank, 1, MPI_COMM_WORLD, &both[0]);
  if (rank == 1) compute(MUCH_NS / 4);
#if MPI_VERSION >= 4
  MPI_Isendrecv(data, BYTES, MPI_CHAR, 1 - rank, 2, in[1], BYTES, MPI_CHAR, 1 - rank, 2, MPI_COMM_WORLD, &both[1]);
#else
  MPI_Irecv(in[1], BYTES, MPI_CHAR, 1 - rank, 2, MPI_COMM_WORLD, &both[1]);
  MPI_Send(data, BYTES, MPI_CHAR, 1 - rank, 2, MPI_COMM_WORLD);
#endif
  MPI_Send(data, BYTES, MPI_CHAR, 1 - rank, 1, MPI_COMM_WORLD);
  MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
  if (rank == 1) compute(MUCH_NS / 4);
  for (int k = 0; k < 3; k++) {
    const int other = k < 2 ? MPI_PROC_NULL : 1 - rank;
    MPI_Irecv(in[0], 8, MPI_CHAR, other, 3, MPI_COMM_WORLD, &halo[2 * k]);
    MPI_Isend(data, 8, MPI_CHAR, other, 3, MPI_COMM_WORLD, &halo[2 * k + 1]);
  }
  MPI_Waitall(6, halo, MPI_STATUSES_IGNORE);
}

/* Rank 1 looks for late messages, for the third right after the second; then rank 0 waits in MPI_Ssend for a receiver that is late, half as long. */
static void looks(void) {
  char data[8] = "", later[8];
  int there;
  MPI_Request both[2], none = MPI_REQUEST_NULL;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    for (int i = 0; i < 2; i++) {
      compute(MUCH_NS / 4);
      MPI_Send(data, 8, MPI_CHAR, 1, i, MPI_COMM_WORLD);
    }
    compute(MUCH_NS / 40);
    MPI_Send(data, 8, MPI_CHAR, 1, 3, MPI_COMM_WORLD);
    MPI_Ssend(data, 8, MPI_CHAR, 1, 2, MPI_COMM_WORLD);
    compute(MUCH_NS / 40);
    MPI_Send(data, 8, MPI_CHAR, 1, 4, MPI_COMM_WORLD);
    return;
  }
  for (there = 0; !there;) MPI_Iprobe(0, 0, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
  MPI_Recv(data, 8, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Irecv(data, 8, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &both[0]);
  MPI_Irecv(later, 8, MPI_CHAR, 0, 3, MPI_COMM_WORLD, &both[1]);
  for (int i = 0; i < 8; i++) { /* computation between looks, then other calls */
    if (i < 4) compute(MUCH_NS / 400);
    else MPI_Wait(&none, MPI_STATUS_IGNORE);
    MPI_Test(&both[0], &there, MPI_STATUS_IGNORE);
  }
  for (int i = 0; i < 2; i += there) MPI_Test(&both[i], &there, MPI_STATUS_IGNORE);
  compute(MUCH_NS / 4);
  MPI_Recv(data, 8, MPI_CHAR, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Irecv(data, 8, MPI_CHAR, 0, 4, MPI_COMM_WORLD, &both[0]);
  for (there = 0; !there;) { /* who computes between two looks does not wait */
    compute(MUCH_NS / 400);
    MPI_Test(&both[0], &there, MPI_STATUS_IGNORE);
  }
}
/* Four processes; who is last, and by how much, in the world and in two communicators that are split at once, after many
   others. A broadcast waits for its root alone, a collective with counts perhaps for nobody. */
static void last(void) {
  static char large[8 << 20];
  const int64_t part_ns = MUCH_NS / 4;
  int all[4] = {0}, one = rank, counts[4] = {0}, at[4] = {0};
  MPI_Comm alone, copies[300], part;
  MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &alone);
  for (int i = 0; i < 300; i++) MPI_Comm_dup(alone, &copies[i]);
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &part);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 2; i++) {
    if (rank == 1) compute(2 * part_ns);
    MPI_Allreduce(&one, all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) compute(part_ns);
    if (rank == 3) compute(3 * part_ns);
    MPI_Bcast(all, 4, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank == 1) compute(part_ns);
    MPI_Barrier(part);
  }
  if (rank == 0) compute(part_ns); /* 3 comes while the others' data is on its way */
  if (rank == 3) compute(part_ns / 100);
  MPI_Bcast(large, (int)sizeof large, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (rank == 3) compute(part_ns);
  MPI_Allgatherv(&one, 0, MPI_INT, all, counts, at, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < 300; i++) MPI_Comm_free(&copies[i]);
  MPI_Comm_free(&alone);
  MPI_Comm_free(&part);
}
enum { MUCH = 8 << 20 };
/* All are at the same place, by messages alone. */
static void meet(void) {
  char token = 0;
  for (int i = 1; i < 4 && !rank; i++) MPI_Recv(&token, 1, MPI_CHAR, i, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank) MPI_Send(&token, 1, MPI_CHAR, 0, 9, MPI_COMM_WORLD);
  for (int i = 1; i < 4 && !rank; i++) MPI_Send(&token, 1, MPI_CHAR, i, 9, MPI_COMM_WORLD);
  if (rank) MPI_Recv(&token, 1, MPI_CHAR, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
/* Then some are so many parts late. */
static void meet_late(int of_0, int of_1, int of_2, int of_3) {
  const int late[4] = {of_0, of_1, of_2, of_3};
  meet();
  if (late[rank]) compute(late[rank] * (MUCH_NS / 4));
}
/* 0 waits in one call for a late message of 1 and for 2, which is later still; so does 3 for a small one. */
static void both(void) {
  static char data[1 << 20];
  for (int i = 0; i < 3; i++) {
    const int has_message = rank != 2;
    MPI_Request all[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    meet_late(0, 1, 2, 0);
    if (rank == 0) MPI_Irecv(data, sizeof data, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &all[0]);
    if (rank == 1) MPI_Isend(data, sizeof data, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &all[0]);
    if (rank == 1) MPI_Isend(data, 8, MPI_CHAR, 3, 1, MPI_COMM_WORLD, &all[1]);
    if (rank == 3) MPI_Irecv(data, 8, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &all[0]);
    MPI_Ibarrier(MPI_COMM_WORLD, &all[2]);
    if (has_message) MPI_Waitall(3, all, MPI_STATUSES_IGNORE);
    else MPI_Wait(&all[2], MPI_STATUS_IGNORE);
  }
}
/* Counts of one each; some receive from some alone. */
static void lasts_of_counts(MPI_Comm line) {
  int out[4] = {1, 2, 3, 4}, in[4] = {0};
  int one[4] = {1, 1, 1, 1}, at[4] = {0, 1, 2, 3}, to[4] = {0}, from[4] = {0}, not_1[4] = {1, 0, 1, 1}, not_0[4] = {0, 1, 1, 1};
  const int bytes_at[4] = {0, 4, 8, 12};
  MPI_Datatype types[4] = {MPI_INT, MPI_INT, MPI_INT, MPI_INT};
  static char large[MUCH], there[MUCH];
  const int none[4] = {0};
  to[(rank + 1) % 4] = from[(rank + 3) % 4] = 1;
  meet_late(0, 1, 0, 2); /* of 1 for 2 alone, of 3 for 0 */
  MPI_Alltoallv(out, to, at, MPI_INT, in, from, at, MPI_INT, MPI_COMM_WORLD);
  meet_late(1, 2, 0, 0); /* of 0 for the root 3, which gets nothing of 1 */
  MPI_Gatherv(out, rank != 1, MPI_INT, in, not_1, at, MPI_INT, 3, MPI_COMM_WORLD);
  meet_late(0, 0, 1, 0);
  MPI_Allgatherv(out, 1, MPI_INT, in, one, at, MPI_INT, MPI_COMM_WORLD);
  meet_late(1, 0, 0, 0); /* not for 2 */
  MPI_Alltoallw(out, rank == 0 ? (int[]){1, 1, 0, 1} : one, bytes_at, types, in, rank == 2 ? not_0 : one, bytes_at, types, MPI_COMM_WORLD);
  meet_late(0, 0, 0, 1); /* 0 receives nothing */
  MPI_Reduce_scatter(out, in, not_0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  meet_late(0, 1, 0, 0); /* 0 comes while 2 gets what it needs of 1 */
  if (rank == 0) compute(MUCH_NS / 4 + MUCH_NS / 400);
  MPI_Alltoallv(large, rank == 1 ? (int[]){0, 0, MUCH, 0} : none, at, MPI_CHAR, there, rank == 2 ? (int[]){0, MUCH, 0, 0} : none, at, MPI_CHAR, MPI_COMM_WORLD);
  meet_late(1, 0, 0, 0); /* for its neighbour 1 */
  MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, line);
}
static void lasts(void) {
  int out[4] = {1, 2, 3, 4}, in[4] = {0}, others[4] = {0}, over = 0, there, size = 4, open = 0;
  static double more[2][MUCH / 8];
  MPI_Request r[2];
  MPI_Comm line;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &open, 0, &line);
  meet_late(0, 1, 0, 0); /* for 2 and 3 */
  MPI_Scan(out, in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  meet_late(0, 1, 0, 0); /* 3 comes while 2 gets what it needs of 1 */
  if (rank == 3) compute(MUCH_NS / 4 + MUCH_NS / 400);
  MPI_Scan(more[0], more[1], MUCH / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  meet_late(0, 0, 1, 0); /* for 3 */
  MPI_Exscan(out, in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  meet_late(0, 0, 2, 0);
  MPI_Iallreduce(out, in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, r);
  if (rank != 2) compute(MUCH_NS / 4); /* a part of it is hidden */
  MPI_Wait(r, MPI_STATUS_IGNORE);
  meet_late(0, 0, 0, 1);
  MPI_Ibarrier(MPI_COMM_WORLD, r);
  for (over = 0; !over;) { /* as who does not know how many messages come */
    MPI_Iprobe(MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    MPI_Test(r, &over, MPI_STATUS_IGNORE);
  }
  meet_late(1, 0, 0, 0);
  MPI_Ibarrier(MPI_COMM_WORLD, r);
  MPI_Wait(r, MPI_STATUS_IGNORE);
  meet_late(0, 0, 1, 0);
  MPI_Ibcast(in, 4, MPI_INT, 2, MPI_COMM_WORLD, r);
  MPI_Wait(r, MPI_STATUS_IGNORE);
  lasts_of_counts(line);
  meet_late(0, 1, 0, 0); /* once, however many wait */
  MPI_Ialltoall(out, 1, MPI_INT, in, 1, MPI_INT, line, &r[0]);
  MPI_Iallreduce(out, others, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r[1]);
  MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
  meet();
  MPI_Comm_free(&line);
}
/* The evens and the odds, these first, then the other way; 3 and 0. */
static void merged(void) {
  int one = 1, sum = 0;
  const int some[2] = {3, 0};
  MPI_Comm half, two, all[2], copy, pair;
  MPI_Group world, group;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 7, &two);
  for (int i = 0; i < 2; i++) MPI_Intercomm_merge(two, rank % 2 == i, &all[i]);
  MPI_Comm_dup(all[1], &copy);
  meet_late(0, 2, 0, 0);
  MPI_Barrier(all[0]);
  meet_late(1, 0, 0, 0);
  MPI_Bcast(&one, 1, MPI_INT, 2, all[0]); /* 0 is the third there */
  meet_late(0, 0, 0, 1);
  MPI_Scan(&one, &sum, 1, MPI_INT, MPI_SUM, all[0]);
  meet_late(0, 0, 1, 0);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, copy);
  meet();
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 2, some, &group);
  if (rank % 3 == 0) {
    MPI_Comm_create_group(MPI_COMM_WORLD, group, 3, &pair);
    if (rank) compute(MUCH_NS / 4);
    MPI_Barrier(pair);
    MPI_Comm_free(&pair);
  }
  meet();
  MPI_Group_free(&group), MPI_Group_free(&world);
  MPI_Comm_free(&copy), MPI_Comm_free(&all[1]), MPI_Comm_free(&all[0]), MPI_Comm_free(&two), MPI_Comm_free(&half);
}
/* Persistent ones, also when they are started in another order than others start them. */
static void lasts_prepared(void) {
#ifdef INIT_OF
  int out[4] = {1, 2, 3, 4}, in[2][4] = {{0}}, told = 7;
  MPI_Request sum[2], all, root;
  for (int i = 0; i < 2; i++) INIT_OF(Allreduce)(out, in[i], 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &sum[i]);
  INIT_OF(Barrier)(MPI_COMM_WORLD, MPI_INFO_NULL, &all);
  INIT_OF(Bcast)(&told, 1, MPI_INT, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &root);
  for (int i = 0; i < 2; i++) {
    meet_late(0, 1, 0, 0);
    MPI_Start(&sum[0]);
    MPI_Wait(&sum[0], MPI_STATUS_IGNORE);
    meet_late(0, 0, 1, 0);
    MPI_Start(&all);
    MPI_Wait(&all, MPI_STATUS_IGNORE);
    meet_late(0, 0, 0, 1);
    MPI_Start(&root);
    MPI_Wait(&root, MPI_STATUS_IGNORE);
  }
  meet();
  if (rank == 0) MPI_Start(&sum[1]);
  MPI_Start(&sum[0]);
  if (rank > 1) MPI_Start(&sum[1]);
  MPI_Wait(&sum[0], MPI_STATUS_IGNORE);
  if (rank == 1) compute(MUCH_NS / 4);
  if (rank == 1) MPI_Start(&sum[1]);
  MPI_Wait(&sum[1], MPI_STATUS_IGNORE);
  meet();
  for (int i = 0; i < 2; i++) MPI_Request_free(&sum[i]);
  MPI_Request_free(&all);
  MPI_Request_free(&root);
#else
  puts("no persistent collectives");
#endif
}
/* All that rank 0 waits is for rank 1. */
static void slow(void) {
  static char large[256 << 10];
  for (int i = 0; i < 4; i++) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) compute(MUCH_NS / 4);
    if (rank == 0) MPI_Send(large, (int)sizeof large, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    else MPI_Recv(large, (int)sizeof large, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}
/* All that rank 1 waits is for rank 0. */
static void nulls(void) {
  char data[8] = "", out[8] = "";
  MPI_Request r[6];
  MPI_Status status;
  for (int i = 0; i < 4; i++) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      compute(MUCH_NS / 4);
      MPI_Send(data, 8, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
      compute(MUCH_NS / 4);
      MPI_Send(data, 8, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
      compute(MUCH_NS / 4);
      MPI_Sendrecv(out, 8, MPI_CHAR, 1, 2, data, 8, MPI_CHAR, 1, 2, MPI_COMM_WORLD, &status);
      continue;
    }
    for (int k = 0; k < 6; k++) r[k] = MPI_REQUEST_NULL;
    MPI_Irecv(data, 8, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &r[3]);
    for (int k = 4; k < 6; k++) MPI_Irecv(data, 8, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &r[k]);
    MPI_Waitall(6, r, MPI_STATUSES_IGNORE);
    MPI_Probe(0, 1, MPI_COMM_WORLD, &status);
    MPI_Recv(data, 8, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &status);
    MPI_Sendrecv(out, 8, MPI_CHAR, 0, 2, data, 8, MPI_CHAR, 0, 2, MPI_COMM_WORLD, &status);
  }
}

/* The receiver waits for small messages that come late, and only then wants the large one, whose send was posted
   all the while. */
static void behind(void) {
  static char large[128 << 10], small[8];
  MPI_Request request;
  if (rank == 0) MPI_Isend(large, (int)sizeof large, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &request);
  for (int i = 0; i < 2; i++) {
    if (rank == 0) compute(MUCH_NS);
    if (rank == 0) MPI_Send(small, (int)sizeof small, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    else MPI_Recv(small, (int)sizeof small, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (rank == 1) MPI_Irecv(large, (int)sizeof large, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Of `bytes` that go to `span` bytes of memory, how many have arrived? One byte of each KiB is looked at, the first
   of eight, which no type leaves out. */
static int arrived(const volatile char *data, int span, int bytes) {
  int n = 0;
  for (int i = 0; i < span; i += 1024) n += data[i + 1016] != 0;
  return (int)((int64_t)bytes * n / (span / 1024));
}
enum { LOOKS = 2000 };
typedef struct look { int64_t t_ns, bytes; } look;
/* What had arrived at t_ns, at most: bytes come only while the receiver is in a call, after a look. */
static int64_t at_most(const look *looks, int64_t t_ns, int64_t bytes) {
  for (int k = 0; k < LOOKS && looks[k].t_ns; k++)
    if (looks[k].t_ns > t_ns) return looks[k].bytes;
  return bytes;
}
enum { TAIL = 1 << 20 };
/* One of TAIL bytes with gaps; or without, of blocks that lie in another order than they are sent in. */
static MPI_Datatype strided(void) {
  MPI_Datatype t;
  MPI_Type_vector(TAIL / 4, 4, 8, MPI_CHAR, &t);
  return t;
}
static MPI_Datatype permuted(void) {
  MPI_Datatype pair, t;
  MPI_Type_create_hindexed(2, (int[]){4, 4}, (MPI_Aint[]){4, 0}, MPI_CHAR, &pair);
  MPI_Type_contiguous(TAIL / 8, pair, &t);
  MPI_Type_free(&pair);
  return t;
}
/* The types: MPI_CHAR, or one of its own, then freed; spread: what is received has gaps. */
static void tail(int is_synchronous, MPI_Datatype type, MPI_Datatype received, int spread) {
  enum { BYTES = TAIL, ROUNDS = 10 };
  static look looks[LOOKS];
  char *data = malloc(2 * BYTES), go = 0;
  int64_t after = 0;
  if (type != MPI_CHAR) MPI_Type_commit(&type);
  if (received != MPI_CHAR) MPI_Type_commit(&received);
  if (!data) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int i = 0; i < ROUNDS; i++) {
    MPI_Request request;
    int over = 0;
    memset(data, rank == 0, 2 * BYTES);
    memset(looks, 0, sizeof looks);
    if (rank == 1) MPI_Irecv(data, received == MPI_CHAR ? BYTES : 1, received, 0, 7, MPI_COMM_WORLD, &request);
    MPI_Sendrecv(&go, 1, MPI_CHAR, 1 - rank, 8, &go, 1, MPI_CHAR, 1 - rank, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 0) {
      if (type != MPI_CHAR) MPI_Isend(data, 1, type, 1, 7, MPI_COMM_WORLD, &request);
      else if (is_synchronous) MPI_Issend(data, BYTES, MPI_CHAR, 1, 7, MPI_COMM_WORLD, &request);
      else MPI_Isend(data, BYTES, MPI_CHAR, 1, 7, MPI_COMM_WORLD, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      const int64_t end_ns = now_ns();
      compute(20000000);
      MPI_Recv(looks, sizeof looks, MPI_BYTE, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      after += BYTES - at_most(looks, end_ns, BYTES);
    } else {
      for (int k = 0; !over; k++) {
        const struct timespec nap = {0, 4000000};
        nanosleep(&nap, NULL);
        if (k < LOOKS) looks[k] = (look){now_ns(), arrived(data, spread ? 2 * BYTES : BYTES, BYTES)};
        MPI_Test(&request, &over, MPI_STATUS_IGNORE);
      }
      MPI_Send(looks, sizeof looks, MPI_BYTE, 0, 9, MPI_COMM_WORLD);
    }
  }
  if (rank == 0) printf("after permille %lld\n", (long long)(after * 1000 / ((int64_t)BYTES * ROUNDS)));
  if (type != MPI_CHAR) MPI_Type_free(&type);
  if (received != MPI_CHAR) MPI_Type_free(&received);
  free(data);
}

/* Small messages of the others wait for rank 0 in its memory: nothing comes while it computes after posting. */
static void come(void) {
  static char data[4][3000], got[4][3000];
  for (int i = 0; i < 10; i++) {
    MPI_Request request;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int k = 0; k < 2; k++) {
      if (rank == 0) compute(20000000);
      if (k == 0) MPI_Ibcast(data, 64, MPI_CHAR, 1, MPI_COMM_WORLD, &request);
      else MPI_Ialltoall(data, sizeof data[0], MPI_CHAR, got, sizeof data[0], MPI_CHAR, MPI_COMM_WORLD, &request);
      if (rank == 0) compute(5000000);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
  }
}

static void regions(void) {
  double in = 1, out;
  for (int i = 0; i < 3; i++) {
    if (cali_begin_region) cali_begin_region("solve");
    if (nvtxRangePushA) nvtxRangePushA("sum");
    MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (nvtxRangePop) nvtxRangePop();
    if (cali_end_region) cali_end_region("solve");
  }
  /* names that are long, of other letters, cut between letters; and what is none */
  static const char *const names[] = {"Solver<double>::apply_the_preconditioner_to_a_block_of_columns_1", "L\xc3\xb6ser",
                                      "a name of sixty-two bytes and then a letter that has two more \xc3\xb6", "\xff\xfe\xfd", "a\tb", "\xed\xa0\x80 half", "\xe0\x80\xa1 long"};
  for (int i = 0; i < 7; i++) {
    MPI_Pcontrol(2, names[i]);
    MPI_Bcast(&in, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Pcontrol(-2);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/* By each way to send, all in one communicator. */
enum { BYTES = 1000, SEND_WAYS = 12, RECEIVE_WAYS = 8, PARTS = 10 };
static char way_out[BYTES], way_in[BYTES];
static void send_by(int way, MPI_Comm comm, MPI_Request persistent[2]) {
  MPI_Request r = MPI_REQUEST_NULL;
  int done = 0;
  switch (way) {
  case 0: MPI_Send(way_out, BYTES, MPI_CHAR, 1, 0, comm); break;
  case 1: MPI_Ssend(way_out, BYTES, MPI_CHAR, 1, 0, comm); break;
  case 2: MPI_Bsend(way_out, BYTES, MPI_CHAR, 1, 0, comm); break;
  case 3: MPI_Isend(way_out, BYTES, MPI_CHAR, 1, 0, comm, &r); break;
  case 4: MPI_Issend(way_out, BYTES, MPI_CHAR, 1, 0, comm, &r); break;
  case 5: MPI_Ibsend(way_out, BYTES, MPI_CHAR, 1, 0, comm, &r); break;
  case 6: MPI_Isend(way_out, BYTES, MPI_CHAR, 1, 0, comm, &r), MPI_Request_free(&r); break;
  case 7:
    MPI_Isend(way_out, BYTES, MPI_CHAR, 1, 0, comm, &r);
    while (!done) MPI_Test(&r, &done, MPI_STATUS_IGNORE);
    break;
  case 8: MPI_Start(&persistent[0]), MPI_Wait(&persistent[0], MPI_STATUS_IGNORE); break;
  case 9: MPI_Startall(2, persistent), MPI_Waitall(2, persistent, MPI_STATUSES_IGNORE); break;
  case 10: MPI_Sendrecv(way_out, BYTES, MPI_CHAR, 1, 0, way_in, 0, MPI_CHAR, MPI_PROC_NULL, 0, comm, MPI_STATUS_IGNORE); break;
  default: MPI_Sendrecv_replace(way_out, BYTES, MPI_CHAR, 1, 0, MPI_PROC_NULL, 0, comm, MPI_STATUS_IGNORE);
  }
  if (r != MPI_REQUEST_NULL) MPI_Wait(&r, MPI_STATUS_IGNORE);
}
static void receive_by(int way, MPI_Comm comm, MPI_Request *persistent) {
  MPI_Request r = MPI_REQUEST_NULL;
  MPI_Message message;
  MPI_Status status;
  int there = 0;
  switch (way) {
  case 0: MPI_Recv(way_in, BYTES, MPI_CHAR, 0, 0, comm, MPI_STATUS_IGNORE); break;
  case 1: MPI_Recv(way_in, BYTES, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE); break;
  case 2: MPI_Irecv(way_in, BYTES, MPI_CHAR, MPI_ANY_SOURCE, 0, comm, &r); break;
  case 3: MPI_Start(persistent), MPI_Wait(persistent, MPI_STATUS_IGNORE); break;
  case 4: MPI_Mprobe(0, 0, comm, &message, MPI_STATUS_IGNORE), MPI_Mrecv(way_in, BYTES, MPI_CHAR, &message, MPI_STATUS_IGNORE); break;
  case 5: MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &message, &status), MPI_Imrecv(way_in, BYTES, MPI_CHAR, &message, &r); break;
  case 6:
    while (!there) MPI_Improbe(0, 0, comm, &there, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(way_in, BYTES, MPI_CHAR, &message, &status);
    break;
  default: MPI_Sendrecv(way_out, 0, MPI_CHAR, MPI_PROC_NULL, 0, way_in, BYTES, MPI_CHAR, 0, 0, comm, MPI_STATUS_IGNORE);
  }
  if (r != MPI_REQUEST_NULL) MPI_Wait(&r, MPI_STATUS_IGNORE);
}
static int in_parts(MPI_Comm comm) { /* partitioned, 100 bytes each */
#if MPI_VERSION >= 4
  MPI_Request r;
  if (rank == 0)
    MPI_Psend_init(way_out, PARTS, BYTES / PARTS, MPI_CHAR, 1, 0, comm, MPI_INFO_NULL, &r);
  else
    MPI_Precv_init(way_in, PARTS, BYTES / PARTS, MPI_CHAR, 0, 0, comm, MPI_INFO_NULL, &r);
  MPI_Start(&r);
  if (rank == 0) MPI_Pready_range(0, PARTS - 1, r);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  MPI_Request_free(&r);
  return 1;
#else
  (void)comm;
  return 0;
#endif
}
static void ways(void) {
  static char buffer[4 * BYTES + 4 * MPI_BSEND_OVERHEAD];
  enum { ROUNDS = RECEIVE_WAYS, STARTED = 13 };
  MPI_Request persistent[2];
  MPI_Comm comm;
  void *old;
  int bytes;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_name(comm, "ways");
  MPI_Buffer_attach(buffer, sizeof buffer);
  if (rank == 0) {
    MPI_Send_init(way_out, BYTES, MPI_CHAR, 1, 0, comm, &persistent[0]);
    MPI_Ssend_init(way_out, BYTES, MPI_CHAR, 1, 0, comm, &persistent[1]);
  } else {
    MPI_Recv_init(way_in, BYTES, MPI_CHAR, MPI_ANY_SOURCE, 0, comm, &persistent[0]);
  }
  for (int i = 0; i < ROUNDS; i++) {
    for (int k = 0; rank == 0 && k < SEND_WAYS; k++) send_by(k, comm, persistent);
    for (int k = 0; rank == 1 && k < STARTED; k++) receive_by((i + k) % RECEIVE_WAYS, comm, persistent);
  }
  const int messages = ROUNDS * STARTED + in_parts(comm);
  if (rank == 0) {
    MPI_Start(&persistent[0]);
    MPI_Request_free(&persistent[0]); /* while active */
    MPI_Request_free(&persistent[1]);
  } else {
    receive_by(0, comm, persistent);
    MPI_Request_free(&persistent[0]);
  }
  MPI_Buffer_detach(&old, &bytes);
  MPI_Comm_free(&comm);
  if (rank == 0) printf("messages %d\n", messages + 1);
}

static void bridge(void) {
  MPI_Comm own, between, copy;
  MPI_Request r[2];
  MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &own);
  MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, 1 - rank, 5, &between);
  MPI_Comm_set_name(between, "bridge");
  MPI_Comm_dup(between, &copy);
  for (int i = 0; i < 10; i++) {
    MPI_Comm over = i % 2 ? copy : between;
    MPI_Irecv(way_in, BYTES, MPI_CHAR, MPI_ANY_SOURCE, 3, over, &r[0]);
    MPI_Isend(way_out, BYTES, MPI_CHAR, 0, 3, over, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
  }
  MPI_Bcast(way_in, BYTES, MPI_CHAR, rank ? 0 : MPI_ROOT, between);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&between);
  MPI_Comm_free(&own);
}

/* Communicators are freed while messages and a message that a probe matched are under way in them; others with the same
   handles, and with the ranks turned, are used before these end. */
static void freed(void) {
  MPI_Comm over, probed, next; /* of those over which nothing is probed no partner is known before */
  MPI_Request r[4];
  MPI_Message matched;
  for (int i = 0; i < 10; i++) {
    MPI_Pcontrol(2, "begin");
    MPI_Comm_dup(MPI_COMM_WORLD, &over);
    MPI_Comm_set_name(over, "over");
    MPI_Comm_dup(MPI_COMM_WORLD, &probed);
    MPI_Comm_set_name(probed, "over");
    MPI_Irecv(way_in, BYTES, MPI_CHAR, MPI_ANY_SOURCE, 3, over, &r[0]);
    MPI_Isend(way_out, BYTES, MPI_CHAR, 1 - rank, 3, over, &r[1]);
    MPI_Send_init(way_out, BYTES, MPI_CHAR, 1 - rank, 4, probed, &r[2]);
    MPI_Start(&r[2]);
    MPI_Mprobe(1 - rank, 4, probed, &matched, MPI_STATUS_IGNORE);
    MPI_Comm_free(&over);
    MPI_Comm_free(&probed);
    MPI_Imrecv(way_in + BYTES, BYTES, MPI_CHAR, &matched, &r[3]);
    MPI_Pcontrol(-2);
    MPI_Pcontrol(2, "end");
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &next);
    MPI_Barrier(next);
    MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
    MPI_Request_free(&r[2]);
    MPI_Comm_free(&next);
    MPI_Pcontrol(-2);
  }
}

/* A megabyte is written while 50 ms are computed, half of it is read and waited for at once, ten times each; then a message
   that came long ago and a write end in one call. A thread of its own waits for the last one. Argument: the file. */
enum { LARGE = 1 << 20 };
static char large_out[LARGE], large_in[LARGE];
static void *wait_for_it(void *request) {
  MPI_Wait(request, MPI_STATUS_IGNORE);
  return NULL;
}
static void files(const char *name) {
  MPI_File file;
  MPI_Request r[2];
  pthread_t waiter;
  char in;
  int level;
  MPI_Query_thread(&level);
  if (MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file)) return;
  for (int i = 0; i < 10; i++) {
    MPI_File_iwrite_at(file, 0, large_out, LARGE, MPI_CHAR, &r[0]);
    compute(50000000);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    MPI_File_iread_at(file, 0, large_in, LARGE / 2, MPI_CHAR, &r[0]);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
  }
  MPI_Irecv(&in, 1, MPI_CHAR, 1 - rank, 3, MPI_COMM_WORLD, &r[0]);
  MPI_Send(&in, 1, MPI_CHAR, 1 - rank, 3, MPI_COMM_WORLD);
  MPI_File_iwrite(file, large_out, LARGE, MPI_CHAR, &r[1]);
  MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
  MPI_File_iwrite(file, large_out, LARGE, MPI_CHAR, &r[1]);
  if (level == MPI_THREAD_MULTIPLE) {
    pthread_create(&waiter, NULL, wait_for_it, &r[1]);
    pthread_join(waiter, NULL);
  } else {
    wait_for_it(&r[1]);
  }
  MPI_File_close(&file);
}

/* Sections within sections; the i-th message has i bytes. */
static void steps(int count) {
  static char out[1000], in[1000];
  for (int i = 1; i <= count; i++) {
    MPI_Request r[2];
    MPI_Pcontrol(2, "step");
    MPI_Irecv(in, (int)sizeof in, MPI_CHAR, 1 - rank, 1, MPI_COMM_WORLD, &r[0]);
    MPI_Pcontrol(2, "halo");
    MPI_Isend(out, i, MPI_CHAR, 1 - rank, 1, MPI_COMM_WORLD, &r[1]);
    MPI_Pcontrol(-2);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    MPI_Pcontrol(-2);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

static void *worker(void *none) {
  struct timespec t;
  do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  while (t.tv_sec == 0 && t.tv_nsec < 300000000);
  return none;
}
/* Whatever the machine does, each worker has its 0.3 s, and who waits for it has none. */
static void workers(void) {
  char out[100] = "", in[100];
  pthread_t thread;
  pthread_create(&thread, NULL, worker, NULL);
  for (int i = 0; i < 10; i++)
    MPI_Sendrecv(out, sizeof out, MPI_CHAR, 1 - rank, 0, in, sizeof in, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  pthread_join(thread, NULL);
}

int main(int argc, char **argv) {
  const char *scene = argc > 1 ? argv[1] : "";
  int level;
  MPI_Init_thread(&argc, &argv, strcmp(scene, "files") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (strcmp(scene, "eager") == 0) eager();
  if (strcmp(scene, "self") == 0) self();
  if (strcmp(scene, "regions") == 0) regions();
  if (strcmp(scene, "progress") == 0) waiting(4 << 20, 1);
  if (strcmp(scene, "stalled") == 0) waiting(128 << 10, 1);
  if (strcmp(scene, "beside") == 0) beside(1);
  if (strcmp(scene, "beside_any") == 0) beside(MPI_ANY_SOURCE);
  if (strcmp(scene, "hangs") == 0) hang_here();
  if (strcmp(scene, "leaves") == 0) leaves();
  if (strcmp(scene, "together") == 0) together();
  if (strcmp(scene, "late") == 0) waiting(64, 0);
  if (strcmp(scene, "behind") == 0) behind();
  if (strcmp(scene, "nulls") == 0) nulls();
  if (strcmp(scene, "slow") == 0) slow();
  if (strcmp(scene, "looks") == 0) looks();
  if (strcmp(scene, "last") == 0) last();
  if (strcmp(scene, "both") == 0) both();
  if (strcmp(scene, "lasts") == 0) lasts();
  if (strcmp(scene, "merged") == 0) merged();
  if (strcmp(scene, "lasts_prepared") == 0) lasts_prepared();
  if (strcmp(scene, "tail") == 0) tail(0, MPI_CHAR, MPI_CHAR, 0);
  if (strcmp(scene, "tail_sync") == 0) tail(1, MPI_CHAR, MPI_CHAR, 0);
  if (strcmp(scene, "tail_strided") == 0) tail(0, strided(), MPI_CHAR, 0);
  if (strcmp(scene, "tail_permuted") == 0) tail(0, permuted(), MPI_CHAR, 0);
  if (strcmp(scene, "tail_to_strided") == 0) tail(0, MPI_CHAR, strided(), 1);
  if (strcmp(scene, "tail_to_permuted") == 0) tail(0, MPI_CHAR, permuted(), 0);
  if (strcmp(scene, "come") == 0) come();
  if (strcmp(scene, "ways") == 0) ways();
  if (strcmp(scene, "bridge") == 0) bridge();
  if (strcmp(scene, "freed") == 0) freed();
  if (strcmp(scene, "files") == 0) files(argv[2]);
  if (strcmp(scene, "workers") == 0) workers();
  if (strcmp(scene, "comms") == 0) {
    static char out[1000], in[1000];
    MPI_Comm comm[3];
    for (int k = 0; k < 3; k++) MPI_Comm_dup(MPI_COMM_WORLD, &comm[k]);
    MPI_Comm_set_name(comm[0], "halo");
    for (int k = 0; k < 3; k++)
      for (int i = 0; i <= k; i++)
        MPI_Sendrecv(out, sizeof out, MPI_CHAR, 1 - rank, 0, in, sizeof in, MPI_CHAR, 1 - rank, 0, comm[k], MPI_STATUS_IGNORE);
    MPI_Comm_set_name(comm[2], "late");
    MPI_Allreduce(out, in, 10, MPI_CHAR, MPI_MAX, comm[2]);
    for (int k = 0; k < 3; k++) MPI_Comm_free(&comm[k]);
    MPI_Bcast(out, sizeof out, MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_Win shared;
    MPI_Win_create(in, sizeof in, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &shared);
    MPI_Win_set_name(shared, "shared");
    MPI_Win_fence(0, shared);
    if (rank == 1) MPI_Put(out, 10, MPI_CHAR, 0, 0, 10, MPI_CHAR, shared);
    MPI_Win_fence(0, shared);
    MPI_Win_free(&shared);
    MPI_Win freed;
    MPI_Win_create(in, sizeof in, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &freed);
    MPI_Win_set_name(freed, "freed");
    if (rank == 1) nanosleep(&(struct timespec){0, 200000000}, NULL);
    MPI_Win_free(&freed);
  }
  if (strcmp(scene, "signal") == 0) {
    static const int rounds[] = {1000, 200, 30};
    int there;
    for (int k = 0; k < 3; k++) {
      if (k > 0) raise(SIGUSR2);
      for (int i = 0; i < rounds[k]; i++) MPI_Iprobe(rank, 99, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    }
  }
  if (strcmp(scene, "steps") == 0) steps(atoi(argv[2]));
  if (strcmp(scene, "many") == 0) {
    MPI_Request none = MPI_REQUEST_NULL;
    for (int i = 0; i < atoi(argv[2]); i++) MPI_Wait(&none, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
