/* What both sides of a message know together; the truth is known, because each rank waits for the other's word.
   One scene per argument, two ranks:
     receiver_late   a large send, and computation; its receive is posted only when the sender waits: nothing was hidden
     sender_late     a large receive, and computation; it is sent only when the receiver waits: nothing was hidden
     freed_send      the request of a large send is freed, which is no end of it; received only later: nothing was hidden
                     at the receiver
     in_call         a small message is sent when its receiver is in a wait: nothing was hidden there
     faster          large messages at once, of which the table says that they take longer
     order           messages of all sizes, with wildcards, persistent and nonblocking requests, finished in another order
     tags            the same tag in two communicators, and in two whose number is not known (of two groups); messages that a
                     probe matched; of tag 7, and of tag 9 in one that its members alone made, as they should be
     long            many messages one after the other, as in the next ones: each is sent when the one before was received
     probed          one in the middle is received by a matched probe
     freed           of one in the middle the request of the receive is freed
     nested          one in the middle is sent by a callback of the MPI
     truncated       one in the middle is longer than its receive
     off             messages while measuring is off at one rank, and others at the other
     overtaking      communicators whose messages may overtake others: so from the start, by a duplicate of such, and said
                     later; and tag 9 where they may not
     self            messages to oneself, and computation: they are copied in calls, nothing was hidden */
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
static void freed_send(void) {
  char *data = memory(MUCH), there = 0;
  for (int i = 1; i <= ROUNDS; i++) {
    MPI_Request r;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      MPI_Isend(data, MUCH, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &r);
      compute(NAP_NS);
      MPI_Request_free(&r);
      tell(0, i);
      compute(NAP_NS);
      MPI_Recv(&there, 1, MPI_CHAR, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Irecv(data, MUCH, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &r);
      compute_until(0, i);
      MPI_Wait(&r, MPI_STATUS_IGNORE);
      MPI_Send(&there, 1, MPI_CHAR, 0, 2, MPI_COMM_WORLD);
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
  MPI_Comm other, alone, unknown[2];
  MPI_Group all;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Comm_create_group(MPI_COMM_WORLD, all, 3, &alone);
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  for (int k = 0; k < 2; k++) MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 1 - rank, k, &unknown[k]);
  for (int i = 0; i < ROUNDS; i++)
    for (int k = 0; k < 7; k++) {
      MPI_Comm comm = k == 1 ? other : k < 4 ? MPI_COMM_WORLD : k < 6 ? unknown[k - 4] : alone;
      const int tag = k < 2 ? 5 : k < 4 ? k + 4 : k < 6 ? 8 : 9; /* 5, 5, 6, 7, 8, 8, 9 */
      MPI_Message message;
      if (rank == 0) MPI_Send(data, 100 + k, MPI_CHAR, k < 4 || k > 5, tag, comm);
      if (rank == 1 && k == 2) {
        MPI_Mprobe(0, tag, comm, &message, MPI_STATUS_IGNORE);
        MPI_Mrecv(data, 1000, MPI_CHAR, &message, MPI_STATUS_IGNORE);
      } else if (rank == 1) {
        MPI_Recv(data, 1000, MPI_CHAR, 0, tag, comm, MPI_STATUS_IGNORE);
      }
    }
  MPI_Comm_free(&other);
  MPI_Comm_free(&alone);
  for (int k = 0; k < 2; k++) MPI_Comm_free(&unknown[k]);
  MPI_Group_free(&all);
}

/* Message i of `count` is sent when the one before was received; the middle one in another way. */
static char letter[64];
static void in_turn(int count, void (*middle)(int i)) {
  for (int i = 1; i <= count; i++) {
    if (rank == 0) compute_until(1, i - 1); /* the other one has the last one */
    if (i == count / 2 && middle)
      middle(i);
    else if (rank == 0)
      MPI_Send(letter, 64, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
    else
      MPI_Recv(letter, 64, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) tell(1, i);
  }
}
static void middle_waits(int i) { /* calls without messages fill the timeline, too */
  MPI_Request none = MPI_REQUEST_NULL;
  for (int k = 0; k < 12000; k++) MPI_Wait(&none, MPI_STATUS_IGNORE);
  if (rank == 0)
    MPI_Send(letter, 64, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
  else
    MPI_Recv(letter, 64, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  (void)i;
}
static void in_order(void) { in_turn(2600, middle_waits); }
static void middle_probed(int i) {
  MPI_Message message;
  (void)i;
  if (rank == 0) {
    MPI_Send(letter, 64, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
    return;
  }
  MPI_Mprobe(0, 1, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
  MPI_Mrecv(letter, 64, MPI_CHAR, &message, MPI_STATUS_IGNORE);
}
static void probed(void) { in_turn(40, middle_probed); }
static void middle_freed(int i) {
  static volatile char there[64];
  MPI_Request r;
  int flag;
  if (rank == 0) {
    letter[63] = 1;
    MPI_Send(letter, 64, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
    return;
  }
  MPI_Irecv((void *)(uintptr_t)there, 64, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &r);
  MPI_Request_free(&r);
  for (const struct timespec nap = {0, 1000000}; !there[63]; nanosleep(&nap, NULL)) /* few calls: a timeline is small */
    MPI_Iprobe(0, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  (void)i;
}
static void freed(void) { in_turn(40, middle_freed); }
static int send_in_callback(MPI_Comm comm, int key, void *value, void *state) {
  (void)comm, (void)key, (void)value, (void)state;
  return MPI_Send(letter, 64, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
}
static void middle_nested(int i) {
  (void)i;
  if (rank == 0) {
    int key;
    MPI_Comm own;
    MPI_Comm_dup(MPI_COMM_SELF, &own);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, send_in_callback, &key, NULL);
    MPI_Comm_set_attr(own, key, letter);
    MPI_Comm_free(&own);
    MPI_Comm_free_keyval(&key);
  } else {
    MPI_Recv(letter, 64, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}
static void nested(void) { in_turn(40, middle_nested); }
static void middle_truncated(int i) {
  static char more[128];
  (void)i;
  if (rank == 0)
    MPI_Send(more, 128, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
  else
    MPI_Recv(letter, 64, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void truncated(void) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  in_turn(40, middle_truncated);
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
static void overtaking(void) {
  static char data[100];
  MPI_Comm all[4];
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_assert_allow_overtaking", "true");
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &all[0]);
  MPI_Send(data, 1, MPI_CHAR, MPI_PROC_NULL, 0, all[0]); /* it is known before it is duplicated */
  MPI_Comm_dup_with_info(all[0], info, &all[1]);
  MPI_Comm_dup(MPI_COMM_WORLD, &all[2]);
  all[3] = MPI_COMM_WORLD;
  for (int i = 0; i < 2 * ROUNDS; i++)
    for (int k = 0; k < 4; k++) {
      if (k == 2 && i == ROUNDS) {
        MPI_Barrier(MPI_COMM_WORLD); /* Open MPI 4.1.4 never receives a message that was sent after the sender's
                                        MPI_Comm_set_info and came before the receiver's: docs/mpi_errors.md */
        MPI_Comm_set_info(all[2], info);
        MPI_Barrier(MPI_COMM_WORLD);
      }
      if (rank == 0)
        MPI_Send(data, 100, MPI_CHAR, 1, k == 3 ? 9 : k, all[k]);
      else
        MPI_Recv(data, 100, MPI_CHAR, 0, k == 3 ? 9 : k, all[k], MPI_STATUS_IGNORE);
    }
  MPI_Info_free(&info);
  for (int k = 0; k < 3; k++) MPI_Comm_free(&all[k]);
}
static void self(void) {
  static char in[20000], out[20000];
  for (int i = 0; i < 20 * ROUNDS; i++) {
    MPI_Request r[2];
    MPI_Irecv(in, sizeof in, MPI_CHAR, rank, 1, MPI_COMM_WORLD, &r[0]);
    MPI_Isend(out, sizeof out, MPI_CHAR, rank, 1, MPI_COMM_WORLD, &r[1]);
    compute(NAP_NS / 50);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
  }
}

int main(int argc, char **argv) {
  const struct {
    const char *name;
    void (*run)(void);
  } scenes[] = {{"receiver_late", receiver_late}, {"sender_late", sender_late}, {"freed_send", freed_send}, {"in_call", in_call},
                {"faster", faster}, {"order", order}, {"tags", tags}, {"off", off},
                {"long", in_order}, {"probed", probed}, {"freed", freed}, {"nested", nested}, {"truncated", truncated},
                {"overtaking", overtaking}, {"self", self},
                {"alone", order}}; /* several threads might call MPI, one does */
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, argc > 1 && strcmp(argv[1], "alone") == 0 ? MPI_THREAD_MULTIPLE : level, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  share_flags();
  for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
    if (argc > 1 && strcmp(argv[1], scenes[i].name) == 0) scenes[i].run();
  free_flags();
  MPI_Finalize();
  return 0;
}
