/* What both sides of a message know together; the truth is known, because each rank waits for the other's word.
   One scene per argument, two ranks:
     receiver_late   a large send, and computation; its receive is posted only when the sender waits: nothing was hidden
     sender_late     a large receive, and computation; it is sent only when the receiver waits: nothing was hidden
     in_call         a small message is sent when its receiver is in a wait: nothing was hidden there
     faster          large messages at once, of which the table says that they take longer
     order           messages of all sizes, with wildcards, persistent and nonblocking requests, finished in another order
     tags            the same tag in two communicators; messages that a probe matched; of tag 7 as they should be
     off             messages while measuring is off at one rank, and others at the other */
#ifndef _GNU_SOURCE
#  define _GNU_SOURCE
#endif
#include "tests/mpi/preload_flags.h"
#include <string.h>

enum { ROUNDS = 10, MUCH = 1 << 20, NAP_NS = 5000000 };

static void receiver_late(void) {
  char *data = memory(MUCH);
  for (int i = 1; i <= ROUNDS; i++) {
    MPI_Request r;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      MPI_Isend(data, MUCH, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &r);
      compute(NAP_NS);
      tell(0, i);
      MPI_Wait(&r, MPI_STATUS_IGNORE);
    } else {
      compute_until(0, i);
      MPI_Recv(data, MUCH, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
  free(data);
}
static void sender_late(void) {
  char *data = memory(MUCH);
  for (int i = 1; i <= ROUNDS; i++) {
    MPI_Request r;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      MPI_Irecv(data, MUCH, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &r);
      compute(NAP_NS);
      tell(0, i);
      MPI_Wait(&r, MPI_STATUS_IGNORE);
    } else {
      compute_until(0, i);
      MPI_Send(data, MUCH, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
    }
  }
  free(data);
}
static void in_call(void) {
  static char data[3000];
  for (int i = 1; i <= ROUNDS; i++) {
    MPI_Request r[2];
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      MPI_Irecv(data, sizeof data, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &r[0]);
      MPI_Irecv(data, 0, MPI_CHAR, 1, 2, MPI_COMM_WORLD, &r[1]);
      compute(NAP_NS);
      tell(0, i);
      MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    } else {
      compute_until(0, i);
      compute(NAP_NS); /* the other one is in its call by now */
      MPI_Send(data, sizeof data, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
      MPI_Send(data, 0, MPI_CHAR, 0, 2, MPI_COMM_WORLD);
    }
  }
}
static void faster(void) {
  char *data = memory(MUCH);
  for (int i = 0; i < ROUNDS; i++) {
    MPI_Request r;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
      MPI_Isend(data, 100000, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &r);
    else
      MPI_Irecv(data, 100000, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
  }
  free(data);
}
static void order(void) {
  enum { COUNT = 24 };
  char *data = memory(MUCH);
  MPI_Request r[COUNT], kept;
  MPI_Recv_init(data, MUCH, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &kept);
  for (int round = 0; round < 4; round++) {
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < COUNT; i++)
      if (rank == 0)
        MPI_Isend(data, 1000 + 500 * i * (round + 1), MPI_CHAR, 1, i % 3, MPI_COMM_WORLD, &r[i]);
      else if (i == 5)
        MPI_Start(&kept), r[i] = kept;
      else
        MPI_Irecv(data, MUCH, MPI_CHAR, i % 2 ? 0 : MPI_ANY_SOURCE, i % 4 == 0 ? MPI_ANY_TAG : i % 3, MPI_COMM_WORLD,
                  &r[i]);
    for (int i = COUNT - 1; i >= 0; i--) MPI_Wait(&r[i], MPI_STATUS_IGNORE); /* the last one first */
  }
  MPI_Request_free(&kept);
  free(data);
}
static void tags(void) {
  static char data[1000];
  MPI_Comm other;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  for (int i = 0; i < ROUNDS; i++)
    for (int k = 0; k < 4; k++) {
      MPI_Comm comm = k == 1 ? other : MPI_COMM_WORLD;
      const int tag = k < 2 ? 5 : k + 4; /* 5, 5, 6, 7 */
      MPI_Message message;
      if (rank == 0) MPI_Send(data, 100 + k, MPI_CHAR, 1, tag, comm);
      if (rank == 1 && k == 2) {
        MPI_Mprobe(0, tag, comm, &message, MPI_STATUS_IGNORE);
        MPI_Mrecv(data, 1000, MPI_CHAR, &message, MPI_STATUS_IGNORE);
      } else if (rank == 1) {
        MPI_Recv(data, 1000, MPI_CHAR, 0, tag, comm, MPI_STATUS_IGNORE);
      }
    }
  MPI_Comm_free(&other);
}
static void off(void) {
  static char data[100];
  for (int i = 0; i < 2 * ROUNDS; i++) {
    if (i == 0) MPI_Pcontrol(rank == 0 ? 0 : 1);
    if (i == ROUNDS) MPI_Pcontrol(rank == 0 ? 1 : 0);
    if (rank == 0)
      MPI_Send(data, 100, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
    else
      MPI_Recv(data, 100, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Pcontrol(1);
}

int main(int argc, char **argv) {
  const struct {
    const char *name;
    void (*run)(void);
  } scenes[] = {{"receiver_late", receiver_late}, {"sender_late", sender_late}, {"in_call", in_call},
                {"faster", faster}, {"order", order}, {"tags", tags}, {"off", off}};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  share_flags();
  for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
    if (argc > 1 && strcmp(argv[1], scenes[i].name) == 0) scenes[i].run();
  MPI_Win_free(&flags_window);
  MPI_Finalize();
  return 0;
}
