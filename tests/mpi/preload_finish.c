/* Programs whose transfers end in another way than by a wait of the thread that began them: cancelled, freed,
   matched by a probe, ended in another thread or while measuring is off. What moved when is known, because the
   other rank tells or holds back. One scene per argument, two ranks:
     cancel HOW    receives that are cancelled: HOW 0 by the same thread, 1 completed by another thread,
                   2 while another thread waits, 3 and then freed, 4 from any source and never completed
     left          a receive from any source that nobody completes
     freed HOW     a send of 1 MiB freed while active, received much later; HOW 1: measuring is off when it is freed
     matched HOW   messages to oneself, matched by Mprobe while another one is matched: HOW 0 one thread, 1 received
                   by another thread than the one that probed
     any           a receive from any source in a communicator that is freed before the message, to oneself, is
                   complete
     pass HOW      a large send begun in a thread that ends, completed by another one that computed meanwhile:
                   HOW 1: another thread has come in place of the ended one
     off           a large receive under way while measuring is off and the program computes
     mixed HOW     arrays of receives, sends, persistent and null requests, ended by HOW: 0 Waitany, 1 Waitsome,
                   2 Testsome, 3 Testany; what rank 0 receives was there before it posted
     startall      persistent receives and sends, started together; data was there before
     replace       MPI_Sendrecv_replace of data that was there before
     between HOW   two groups: HOW 0 messages, 1 collectives; data was there before
     around        persistent collectives, of neighbours too; data was there before */
#ifndef _GNU_SOURCE
#  define _GNU_SOURCE
#endif
#include "tools/mpi_h.h"
#include "tests/mpi/preload_flags.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { ROUNDS = 10, SMALL = 3000, MUCH = 1 << 20, NAP_NS = 5000000 };
static int how;
/* Runs it in a thread of its own, which has ended then. */
static void in_thread(void *(*body)(void *), void *user) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, body, user)) MPI_Abort(MPI_COMM_WORLD, 1);
  pthread_join(thread, NULL);
}
static void *wait_for(void *request) {
  MPI_Wait(request, MPI_STATUS_IGNORE);
  return NULL;
}

static void cancel(void) {
  char *data = memory(MUCH);
  for (int i = 0; rank == 0 && i < ROUNDS; i++) {
    MPI_Request r;
    MPI_Irecv(data, MUCH, MPI_CHAR, how == 4 ? MPI_ANY_SOURCE : 1, 77, MPI_COMM_WORLD, &r);
    if (how == 2) {
      const struct timespec nap = {0, 20000000};
      MPI_Request same = r;
      pthread_t thread;
      if (pthread_create(&thread, NULL, wait_for, &r)) MPI_Abort(MPI_COMM_WORLD, 1);
      nanosleep(&nap, NULL); /* it waits by now, mostly */
      MPI_Cancel(&same);
      pthread_join(thread, NULL);
      continue;
    }
    compute(NAP_NS / 5);
    MPI_Cancel(&r);
    if (how == 0) MPI_Wait(&r, MPI_STATUS_IGNORE);
    if (how == 1) in_thread(wait_for, &r);
    if (how == 3) MPI_Request_free(&r);
  }
  if (how < 3) free(data);
}
static void left(void) {
  MPI_Request r;
  char out = 0, in;
  if (rank == 0) MPI_Irecv(memory(MUCH), MUCH, MPI_CHAR, MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &r);
  MPI_Sendrecv(&out, 1, MPI_CHAR, 1 - rank, 1, &in, 1, MPI_CHAR, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void freed(void) {
  char *data = memory(MUCH), go = 0;
  for (int i = 0; i < ROUNDS; i++) {
    MPI_Request r;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      MPI_Isend(data, MUCH, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &r);
      compute(NAP_NS);
      if (how == 1) MPI_Pcontrol(0);
      MPI_Request_free(&r);
      if (how == 1) MPI_Pcontrol(1);
      MPI_Send(&go, 1, MPI_CHAR, 1, 2, MPI_COMM_WORLD); /* only now a receive is posted */
    } else {
      MPI_Recv(&go, 1, MPI_CHAR, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Recv(data, MUCH, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  free(data);
}

typedef struct matched_one {
  MPI_Message message;
  MPI_Request request;
  char *data;
} matched_one;
static void *receive_matched(void *user) {
  matched_one *m = user;
  MPI_Imrecv(m->data, MUCH, MPI_CHAR, &m->message, &m->request);
  return NULL;
}
static void matched(void) {
  char *out = memory(MUCH), small = 0;
  for (int i = 0; i < ROUNDS; i++) {
    MPI_Request sent[2];
    matched_one m = {.data = memory(MUCH)};
    MPI_Message other;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Isend(out, MUCH, MPI_CHAR, rank, 1, MPI_COMM_WORLD, &sent[0]);
    MPI_Isend(&small, 1, MPI_CHAR, 1 - rank, 2, MPI_COMM_WORLD, &sent[1]);
    MPI_Mprobe(rank, 1, MPI_COMM_WORLD, &m.message, MPI_STATUS_IGNORE);
    MPI_Mprobe(1 - rank, 2, MPI_COMM_WORLD, &other, MPI_STATUS_IGNORE);
    if (how == 0) receive_matched(&m);
    if (how == 1) in_thread(receive_matched, &m);
    compute(NAP_NS); /* nothing moves: messages to oneself are copied in calls */
    MPI_Wait(&m.request, MPI_STATUS_IGNORE);
    MPI_Mrecv(&small, 1, MPI_CHAR, &other, MPI_STATUS_IGNORE);
    MPI_Waitall(2, sent, MPI_STATUSES_IGNORE);
    free(m.data);
  }
  free(out);
}

static void any(void) {
  char *in = memory(MUCH), *out = memory(MUCH);
  for (int i = 0; i < ROUNDS; i++) {
    MPI_Comm comm;
    MPI_Request r[2];
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Irecv(in, MUCH, MPI_CHAR, MPI_ANY_SOURCE, 1, comm, &r[0]);
    MPI_Isend(out, MUCH, MPI_CHAR, rank, 1, comm, &r[1]);
    MPI_Comm_free(&comm);
    compute(NAP_NS);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
  }
  free(in);
  free(out);
}

typedef struct passed_one {
  MPI_Request request;
  char *data;
} passed_one;
static void *begin_send(void *user) {
  passed_one *x = user;
  MPI_Isend(x->data, MUCH, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &x->request);
  return NULL;
}
static void *look_around(void *user) {
  int there;
  MPI_Iprobe(1, 99, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
  return user;
}
static void pass(void) {
  passed_one x = {.data = memory(MUCH)};
  for (int i = 0; i < ROUNDS; i++) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      in_thread(begin_send, &x);
      compute(NAP_NS);
      if (how == 1) in_thread(look_around, NULL);
      compute(NAP_NS);
      MPI_Wait(&x.request, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(x.data, MUCH, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
  free(x.data);
}

static void off(void) {
  char *data = memory(MUCH);
  for (int i = 0; i < ROUNDS; i++) {
    MPI_Request r;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      MPI_Irecv(data, MUCH, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &r);
      MPI_Pcontrol(0);
      compute(2 * NAP_NS);
      MPI_Pcontrol(1);
    } else {
      MPI_Isend(data, MUCH, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &r);
    }
    MPI_Wait(&r, MPI_STATUS_IGNORE);
  }
  free(data);
}

/* Ends all of an array by one call after the other, and computes between them. */
static void end_mixed(int count, MPI_Request requests[]) {
  int which[8], done = 0, at, flag = 0;
  for (int left = count; left > 0;) {
    if (how == 0) MPI_Waitany(count, requests, &at, MPI_STATUS_IGNORE), done = 1;
    if (how == 1) MPI_Waitsome(count, requests, &done, which, MPI_STATUSES_IGNORE);
    if (how == 2) MPI_Testsome(count, requests, &done, which, MPI_STATUSES_IGNORE);
    if (how == 3) MPI_Testany(count, requests, &at, &flag, MPI_STATUS_IGNORE), done = flag;
    if (done == MPI_UNDEFINED || ((how == 0 || (how == 3 && flag)) && at == MPI_UNDEFINED)) break;
    left -= done;
    compute(NAP_NS / 50);
  }
}
static void mixed(void) {
  static char in[3][SMALL], out[SMALL];
  MPI_Request kept = MPI_REQUEST_NULL;
  if (rank == 0) MPI_Recv_init(in[2], SMALL, MPI_CHAR, 1, 3, MPI_COMM_WORLD, &kept);
  for (int i = 1; i <= ROUNDS; i++) {
    MPI_Request r[6] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL,
                        MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      compute_until(0, i);
      MPI_Irecv(in[0], SMALL, MPI_CHAR, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &r[1]);
      MPI_Irecv(in[1], SMALL, MPI_CHAR, 1, 2, MPI_COMM_WORLD, &r[4]);
      MPI_Start(&kept);
      r[3] = kept;
      MPI_Isend(out, SMALL, MPI_CHAR, 1, 4, MPI_COMM_WORLD, &r[0]);
      compute(NAP_NS / 10);
      end_mixed(6, r);
      MPI_Wait(&kept, MPI_STATUS_IGNORE);
    } else {
      for (int k = 0; k < 3; k++) MPI_Isend(out, SMALL, MPI_CHAR, 0, k + 1, MPI_COMM_WORLD, &r[k]);
      tell(0, i);
      MPI_Irecv(in[0], SMALL, MPI_CHAR, 0, 4, MPI_COMM_WORLD, &r[3]);
      MPI_Waitall(6, r, MPI_STATUSES_IGNORE);
    }
  }
  if (kept != MPI_REQUEST_NULL) MPI_Request_free(&kept);
}

static void startall(void) {
  static char in[2][SMALL], out[2][SMALL];
  MPI_Request r[4];
  for (int k = 0; k < 2; k++) {
    MPI_Recv_init(in[k], SMALL, MPI_CHAR, 1 - rank, k, MPI_COMM_WORLD, &r[k]);
    MPI_Send_init(out[k], SMALL, MPI_CHAR, 1 - rank, k, MPI_COMM_WORLD, &r[2 + k]);
  }
  for (int i = 1; i <= ROUNDS; i++) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) compute_until(0, i);
    MPI_Startall(4, r);
    if (rank == 1) tell(0, i);
    compute(NAP_NS / 10);
    MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
  }
  for (int k = 0; k < 4; k++) MPI_Request_free(&r[k]);
}

static void replace(void) {
  static char data[SMALL];
  for (int i = 1; i <= ROUNDS; i++) {
    MPI_Request r;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      compute_until(0, i);
      MPI_Sendrecv_replace(data, SMALL, MPI_CHAR, 1, 1, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      compute(NAP_NS / 10); /* what it sent may be on its way */
    } else {
      MPI_Isend(data, SMALL, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &r);
      tell(0, i);
      MPI_Wait(&r, MPI_STATUS_IGNORE);
      MPI_Recv(data, SMALL, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
}

static void between(void) {
  static char data[SMALL], more[SMALL];
  MPI_Comm inter;
  MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 1 - rank, 9, &inter);
  for (int i = 1; i <= ROUNDS; i++) {
    MPI_Request r[2];
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) compute_until(0, i);
    if (how == 0) {
      MPI_Irecv(data, SMALL, MPI_CHAR, 0, 1, inter, &r[0]);
      MPI_Isend(more, SMALL, MPI_CHAR, 0, 1, inter, &r[1]);
    } else {
      MPI_Ibcast(data, SMALL, MPI_CHAR, rank == 1 ? MPI_ROOT : 0, inter, &r[0]);
      MPI_Iallgather(more, SMALL, MPI_CHAR, data, SMALL, MPI_CHAR, inter, &r[1]);
    }
    if (rank == 1) tell(0, i);
    compute(NAP_NS / 10);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
  }
  MPI_Comm_free(&inter);
}

static void around(void) {
#ifdef INIT_OF
  static char in[3][2 * SMALL], out[3][2 * SMALL];
  const int dims[1] = {2}, periods[1] = {1};
  MPI_Comm ring;
  MPI_Request r[3];
  MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &ring);
  INIT_OF(Bcast)(in[0], SMALL, MPI_CHAR, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]);
  INIT_OF(Alltoall)(out[1], SMALL, MPI_CHAR, in[1], SMALL, MPI_CHAR, MPI_COMM_WORLD, MPI_INFO_NULL, &r[1]);
  INIT_OF(Neighbor_alltoall)(out[2], SMALL, MPI_CHAR, in[2], SMALL, MPI_CHAR, ring, MPI_INFO_NULL, &r[2]);
  for (int i = 1; i <= ROUNDS; i++) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) compute_until(0, i);
    MPI_Startall(3, r);
    if (rank == 1) tell(0, i);
    compute(NAP_NS / 10);
    MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
  }
  for (int k = 0; k < 3; k++) MPI_Request_free(&r[k]);
  MPI_Comm_free(&ring);
#endif
}

int main(int argc, char **argv) {
  const struct {
    const char *name;
    void (*run)(void);
  } scenes[] = {{"cancel", cancel}, {"left", left}, {"freed", freed}, {"matched", matched}, {"any", any}, {"pass", pass},
                {"off", off}, {"mixed", mixed}, {"startall", startall}, {"replace", replace},
                {"between", between}, {"around", around},};
  int level;
  how = argc > 2 ? atoi(argv[2]) : 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  if (level < MPI_THREAD_MULTIPLE) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  share_flags();
  for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
    if (argc > 1 && strcmp(argv[1], scenes[i].name) == 0) scenes[i].run();
  free_flags();
  MPI_Finalize();
  return 0;
}
