/* A random program of large messages that compute while they move: bounds SEED ROUNDS. Under pm_run the report's exact
   overlap says whether its bounds hold. On a real MPI of one node each message has a section of its own, and at the end
   every process prints for its side of each message
       SECTION RANK KIND NS
   the most that can have been hidden there: data moves inside of calls only, of one side or the other, once both have
   posted. So it is the time in which this process computed while the other one was in a call. (Time that a process waits
   for its core between this program's clock and the call counts as in the call: what looks false once may be that.) */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/mpi/one_clock.h"

enum { AT_ONCE = 4, MESSAGES = 60, ROOM = 8 << 20, CALLS = 1 << 17, COMMS = 3 };
typedef struct message {
  int from, to, bytes, send, recv, send_type, recv_type, comm, longer, any;
} message;
enum { ISEND, ISSEND, SEND_INIT, SEND };
enum { IRECV, RECV_INIT, IMRECV, RECV };
static int rank, size, message_count;
static uint64_t state[2]; /* what all draw alike, and each for itself */
static char *out[AT_ONCE], *in[AT_ONCE];
static MPI_Comm comms[COMMS];
static message messages[MESSAGES];
static int64_t posted_ns[MESSAGES][2], ended_ns[MESSAGES][2]; /* of the send, of the receive */

static int draw(int own, int below) {
  uint64_t z = state[own] += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return (int)((z ^ z >> 31) % (uint64_t)below);
}

/* ---- calls ---- */
static struct { int64_t begin_ns, end_ns; } calls[CALLS];
static int call_count;
static void called(int64_t begin_ns) {
  if (call_count == CALLS) { /* MPICH 4.2 comes back from MPI_Abort */
    fprintf(stderr, "bounds: process %d has made more than %d calls\n", rank, CALLS);
    MPI_Abort(MPI_COMM_WORLD, 1);
    _Exit(1);
  }
  calls[call_count].begin_ns = begin_ns;
  calls[call_count++].end_ns = now_ns();
}
#define CALL(what)                                                                                 \
  do {                                                                                             \
    const int64_t begin_ns_ = now_ns();                                                            \
    what;                                                                                          \
    called(begin_ns_);                                                                             \
  } while (0)
static int64_t last_begin_ns(void) { return calls[call_count - 1].begin_ns; }
static int64_t last_end_ns(void) { return calls[call_count - 1].end_ns; }

/* ---- requests ---- */
static MPI_Request requests[2 * AT_ONCE];
static int of[2 * AT_ONCE], request_count; /* 2 * message, and 1 for a receive; -1: over */
static void over(int i) {
  if (of[i] < 0) return;
  ended_ns[of[i] / 2][of[i] % 2] = last_end_ns();
  if (requests[i] != MPI_REQUEST_NULL) CALL(MPI_Request_free(&requests[i])); /* it was persistent */
  of[i] = -1;
}
/* MPICH 4.2.1 ends a persistent request when its status is asked for: who waits for one of several waits for ever then. */
static int may_ask(int i) {
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 40100000
  const message *m = &messages[of[i] < 0 ? 0 : of[i] / 2];
  if (of[i] >= 0 && (of[i] % 2 ? m->recv == RECV_INIT : m->send == SEND_INIT)) return 0;
#endif
  return requests[i] != MPI_REQUEST_NULL;
}
static void look(void) {
  int there, which, done[2 * AT_ONCE], n;
  const int i = request_count ? draw(1, request_count) : 0;
  switch (request_count ? draw(1, 5) : 0) {
  case 0: CALL(MPI_Iprobe(MPI_ANY_SOURCE, 999, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE)); break;
  case 1:
    if (requests[i] == MPI_REQUEST_NULL) break;
    CALL(MPI_Test(&requests[i], &there, MPI_STATUS_IGNORE));
    if (there) over(i);
    break;
  case 2:
    CALL(MPI_Testany(request_count, requests, &which, &there, MPI_STATUS_IGNORE));
    if (there && which != MPI_UNDEFINED) over(which);
    break;
  case 3:
    if (may_ask(i))
      CALL(MPI_Request_get_status(requests[i], &there, MPI_STATUS_IGNORE));
    break;
  default:
    CALL(MPI_Testsome(request_count, requests, &n, done, MPI_STATUSES_IGNORE));
    for (int k = 0; n != MPI_UNDEFINED && k < n; k++) over(done[k]);
  }
}
static int is_active(void) {
  int n = 0;
  for (int i = 0; i < request_count; i++) n += of[i] >= 0;
  return n;
}
static void finish(void) {
  const int how = draw(1, 5);
  int which, done[2 * AT_ONCE], n;
  while (is_active()) {
    const int i = draw(1, request_count);
    if (how == 0) {
      CALL(MPI_Waitall(request_count, requests, MPI_STATUSES_IGNORE));
      for (int k = 0; k < request_count; k++) over(k);
    } else if (how == 1) {
      CALL(MPI_Waitany(request_count, requests, &which, MPI_STATUS_IGNORE));
      if (which != MPI_UNDEFINED) over(which);
    } else if (how == 2) {
      CALL(MPI_Waitsome(request_count, requests, &n, done, MPI_STATUSES_IGNORE));
      for (int k = 0; n != MPI_UNDEFINED && k < n; k++) over(done[k]);
    } else if (how == 3 && call_count < CALLS / 2) { /* who has no core looks for long: room for the rest */
      look();
      compute(20000);
    } else if (of[i] >= 0) {
      CALL(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
      over(i);
    }
  }
}

/* ---- messages ---- */
/* Contiguous; with gaps; in another order. */
static MPI_Datatype type_of(int how, int bytes, int *count) {
  MPI_Datatype t, pair;
  *count = how ? 1 : bytes;
  if (how == 0) return MPI_BYTE;
  if (how == 1) MPI_Type_vector(bytes / 8, 8, 16, MPI_BYTE, &t);
  if (how == 2) {
    MPI_Type_create_hindexed(2, (int[]){4, 4}, (MPI_Aint[]){4, 0}, MPI_BYTE, &pair);
    MPI_Type_contiguous(bytes / 8, pair, &t);
    MPI_Type_free(&pair);
  }
  MPI_Type_commit(&t);
  return t;
}
static int rank_in(int comm, int who) { return comm == 2 ? size - 1 - who : who; }
static void post(int k, int first, int receives) {
  const message *m = &messages[k];
  const int tag = k - first, bytes = m->bytes + (receives && m->longer ? m->bytes / 16 * 8 : 0);
  const MPI_Comm c = comms[m->comm];
  int n;
  MPI_Datatype t = type_of(receives ? m->recv_type : m->send_type, bytes, &n);
  MPI_Request r = MPI_REQUEST_NULL;
  MPI_Message matched;
  char name[16], *at = receives ? in[tag] : out[tag];
  const int other =
      receives && m->any ? MPI_ANY_SOURCE : rank_in(m->comm, receives ? m->from : m->to);
  snprintf(name, sizeof name, "m%d", k);
  MPI_Pcontrol(2, name);
  if (receives && m->recv == RECV_INIT) CALL(MPI_Recv_init(at, n, t, other, tag, c, &r));
  if (!receives && m->send == SEND_INIT) CALL(MPI_Send_init(at, n, t, other, tag, c, &r));
  if (r != MPI_REQUEST_NULL)
    CALL(MPI_Start(&r));
  else if (receives && m->recv == IRECV)
    CALL(MPI_Irecv(at, n, t, other, tag, c, &r));
  else if (receives && m->recv == RECV)
    CALL(MPI_Recv(at, n, t, other, tag, c, MPI_STATUS_IGNORE));
  else if (receives) {
    CALL(MPI_Mprobe(other, tag, c, &matched, MPI_STATUS_IGNORE));
    CALL(MPI_Imrecv(at, n, t, &matched, &r));
  } else if (m->send == ISEND)
    CALL(MPI_Isend(at, n, t, other, tag, c, &r));
  else if (m->send == ISSEND)
    CALL(MPI_Issend(at, n, t, other, tag, c, &r));
  else
    CALL(MPI_Send(at, n, t, other, tag, c));
  posted_ns[k][receives] = last_begin_ns();
  MPI_Pcontrol(-2);
  if (t != MPI_BYTE) MPI_Type_free(&t);
  if (r == MPI_REQUEST_NULL) {
    ended_ns[k][receives] = last_end_ns();
    return;
  }
  requests[request_count] = r;
  of[request_count++] = 2 * k + receives;
}
static void plan(message *m) {
  const int few = draw(0, 2), lg = few ? 14 + draw(0, 8) : 19 + draw(0, 3);
  m->from = draw(0, size);
  m->to = (m->from + 1 + draw(0, size - 1)) % size;
  m->bytes = ((1 << lg) + draw(0, 1 << lg)) & ~7;
  m->send = draw(0, 2) ? ISEND : draw(0, 4);
  m->recv = draw(0, 2) ? IRECV : draw(0, 4);
  m->send_type = draw(0, 6) ? 0 : draw(0, 3);
  m->recv_type = draw(0, 6) ? 0 : draw(0, 3);
  m->comm = draw(0, COMMS);
  m->longer = draw(0, 4) == 0 && m->recv_type != 1;
  m->any = draw(0, 6) == 0;
}
/* Rounds in which one process computes for long and the others wait for it, and others in which all do as they like. */
static void act(int quiet) {
  static const int most_ns[] = {3000, 30000, 200000, 1000000, 4000000};
  if (quiet == 1) return;
  for (int k = quiet ? 1 : draw(1, 4); k > 0; k--)
    if (quiet || draw(1, 2))
      compute(draw(1, most_ns[quiet ? 2 + draw(1, 3) : draw(1, 5)]));
    else
      look();
}
static void do_round(int count) {
  const int first = message_count, alike = draw(0, 2), one = draw(0, size),
            quiet = !alike        ? 0
                    : one == rank ? 2
                                  : 1;
  int events[2 * AT_ONCE], n = 0;
  message_count += count;
  request_count = 0;
  for (int k = first; k < message_count; k++) {
    plan(&messages[k]);
    if (messages[k].from == rank && messages[k].send != SEND) events[n++] = 2 * k;
    if (messages[k].to == rank && messages[k].recv < IMRECV) events[n++] = 2 * k + 1;
  }
  CALL(MPI_Barrier(MPI_COMM_WORLD));
  for (; n > 0; n--) { /* in any order: none of these waits */
    const int k = draw(1, n), event = events[k];
    events[k] = events[n - 1];
    act(quiet);
    post(event / 2, first, event % 2);
  }
  for (int k = first; k < message_count; k++) { /* in one order for all: these do */
    if (messages[k].from == rank && messages[k].send == SEND) act(quiet), post(k, first, 0);
    if (messages[k].to == rank && messages[k].recv >= IMRECV) act(quiet), post(k, first, 1);
  }
  act(quiet);
  if (quiet == 2) compute(3000000);
  finish();
}

/* ---- what can have been hidden ---- */
typedef struct span {
  int64_t begin_ns, end_ns;
} span;
/* How much of the time in which this process computed, from `from` to `to`, the other one was in a call. */
static int64_t computed_beside(const span *other, int count, int64_t from, int64_t to) {
  int64_t sum = 0, begin = from;
  for (int i = 0, k = 0; i <= call_count && begin < to; i++) { /* before call i */
    const int64_t end = i < call_count && calls[i].begin_ns < to ? calls[i].begin_ns : to;
    for (; k < count && other[k].end_ns <= begin; k++) {
    }
    for (int j = k; j < count && other[j].begin_ns < end; j++) {
      const int64_t a = other[j].begin_ns > begin ? other[j].begin_ns : begin,
                    b = other[j].end_ns < end ? other[j].end_ns : end;
      if (b > a) sum += b - a;
    }
    if (i < call_count && calls[i].end_ns > begin) begin = calls[i].end_ns;
  }
  return sum;
}
static void tell(void) {
  static span other[CALLS];
  MPI_Allreduce(MPI_IN_PLACE, posted_ns, 2 * MESSAGES, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, ended_ns, 2 * MESSAGES, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
  for (int who = 0; who < size; who++) {
    int count = call_count;
    MPI_Bcast(&count, 1, MPI_INT, who, MPI_COMM_WORLD);
    if (who == rank) memcpy(other, calls, (size_t)count * sizeof *other);
    MPI_Bcast(other, 2 * count, MPI_INT64_T, who, MPI_COMM_WORLD);
    for (int k = 0; k < message_count; k++)
      for (int receives = 0; receives < 2; receives++) {
        const message *m = &messages[k];
        if ((receives ? m->to : m->from) != rank || (receives ? m->from : m->to) != who) continue;
        const int64_t both = posted_ns[k][0] > posted_ns[k][1] ? posted_ns[k][0] : posted_ns[k][1];
        static const char *const kinds[2][4] = {{"isend", "isend", "start", "send"},
                                                {"irecv", "start", "irecv", "recv"}};
        printf("m%d %d %s %lld\n", k, rank, kinds[receives][receives ? m->recv : m->send],
               (long long)computed_beside(other, count, both, ended_ns[k][1]));
      }
  }
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
  const int rounds = argc > 2 ? atoi(argv[2]) : 10;
  state[0] = seed;
  state[1] = ~seed * 0x9E3779B97F4A7C15u + (uint64_t)rank;
  for (int i = 0; i < AT_ONCE; i++) {
    out[i] = malloc(2 * ROOM);
    in[i] = malloc(2 * ROOM);
    if (!out[i] || !in[i]) MPI_Abort(MPI_COMM_WORLD, 1);
    memset(out[i], 1, 2 * ROOM);
  }
  comms[0] = MPI_COMM_WORLD;
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[2]);
  for (int i = 0; i < rounds && message_count + AT_ONCE <= MESSAGES; i++)
    do_round(1 + draw(0, AT_ONCE));
  CALL(MPI_Barrier(MPI_COMM_WORLD));
  tell();
  MPI_Finalize();
  return 0;
}
