/* The TCP transport against a hostile network and dying peers: drain and close tell the truth, early
   messages block nobody, strangers neither stop a start nor become ranks, connections that are cut at
   any byte and peers that are killed at any moment end in errors, not in silence and not in a hang. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#define NIC_HW_IMPLEMENTATION
#define NIC_WITH_NBC
#include "hw/nic_hw.h"
#include "hw/nic_meet.h"
#include "hw/nic_tcp.h"
#include "tests/test.h"
#include "tests/hw/world.h"
#include "tests/hw/mad_peer.h"
#include "tests/hw/pattern.h"
#include "tests/hw/cut.h"
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

#define LIMIT_NS 20000000000
static const nic_tcp_desc plain;
enum { LARGE_BYTES = 4 << 20 };
static unsigned char large_out[LARGE_BYTES], large_in[LARGE_BYTES];

static void pause_ms(long ms) {
  const struct timespec t = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&t, NULL);
}

/* ---- drain ------------------------------------------------------------------------------------- */
/* A child that is rank 1 and does as told; ret its pid. The parent's end is sockets[1]. */
static pid_t child(int sockets[2], const nic_tcp_desc *like, void (*run)(nbc_transport *t)) {
  const pid_t pid = fork_second_rank(sockets);
  if (pid) return pid;
  nic_tcp_desc desc = *like;
  nbc_transport *t;
  desc.rank = 1;
  desc.size = 2;
  desc.sockets = sockets;
  if (nic_tcp_create(&desc, &t, NULL) != NBC_OK) _exit(2);
  run(t);
  _exit(0);
}
static void never_again(nbc_transport *t) {
  (void)t;
  pause();
}
static void drain_waits_for_acknowledgements(void) {
  const nic_tcp_desc like = {.max_early_bytes = 64 << 20};
  nbc_transport *t;
  nbc_op op;
  nbc_error error;
  int sockets[2];
  nic_tcp_desc desc = like;
  const pid_t pid = child(sockets, &like, never_again);
  if (pid < 0) SKIP("no loopback interface");
  desc.size = 2;
  desc.sockets = sockets;
  CHECK(nic_tcp_create(&desc, &t, NULL) == NBC_OK);
  fill(large_out, LARGE_BYTES, 1);
  /* as much as the kernel takes while the other side reads nothing */
  size_t taken = 0;
  for (nbc_status status = NBC_OK; status == NBC_OK && taken < 64; taken++) {
    memset(&op, 0, sizeof op);
    CHECK(nbc_isend(t, large_out, 1 << 18, 1, 1, &op) == NBC_OK);
    status = nbc_wait(t, &op, 200000000);
  }
  CHECK(taken > 1 && taken < 64);
  CHECK(nic_tcp_drain(t, 100000000) == NBC_E_TIMEOUT);
  CHECK(nic_tcp_confirm(t, 1000000) == NBC_E_TIMEOUT);
  kill(pid, SIGKILL);
  waitpid(pid, NULL, 0);
  CHECK(nic_tcp_drain(t, LIMIT_NS) == NBC_E_PEER);
  CHECK(nic_tcp_confirm(t, LIMIT_NS) == NBC_E_PEER);
  const nbc_status last = nbc_wait(t, &op, LIMIT_NS); /* of which a part was taken, or by now all */
  CHECK(last == NBC_E_PEER || last == NBC_OK);
  CHECK(nic_tcp_close(t, LIMIT_NS, &error) == NBC_E_PEER && strstr(error.text, "lost"));
  CHECK(nic_tcp_destroy(t) == NBC_OK); /* it was said */
}

static void confirm_means_read(world_rank *r) {
  if (r->t->rank == 0) {
    CHECK(nbc_send(r->t, large_out, 1000, 1, 1) == NBC_OK);
    CHECK(nic_tcp_confirm(r->t, LIMIT_NS) == NBC_OK);
    CHECK(nbc_send(r->t, large_out, 1, 1, 2) == NBC_OK);
  } else {
    unsigned char word;
    CHECK(nbc_recv(r->t, &word, 1, 0, 2) == NBC_OK);
    CHECK(nbc_recv(r->t, large_in, 1000, 0, 1) == NBC_OK);
  }
}
static void a_peer_says_what_it_has_read(void) {
  world_rank ranks[2];
  if (!world_run(ranks, 2, plain, false, confirm_means_read)) SKIP("no loopback interface");
}

/* ---- close ------------------------------------------------------------------------------------- */
static nbc_status early_end;
static void leave_early(world_rank *r) {
  if (r->t->rank == 0) {
    nbc_op op;
    memset(&op, 0, sizeof op);
    fill(large_out, LARGE_BYTES, 2);
    CHECK(nbc_isend(r->t, large_out, LARGE_BYTES, 1, 1, &op) == NBC_OK);
    CHECK(nbc_wait(r->t, &op, LIMIT_NS) == NBC_OK);
    early_end = nic_tcp_destroy(r->t); /* at once */
    r->t = NULL;
  } else {
    unsigned char word[64] = {0};
    pause_ms(300);
    nbc_send(r->t, word, sizeof word, 0, 9); /* to a rank that is leaving: its kernel may reset */
    CHECK(nbc_recv(r->t, large_in, LARGE_BYTES, 0, 1) == NBC_OK);
    CHECK(is_filled(large_in, LARGE_BYTES, 2));
  }
}
static void what_was_sent_arrives_after_the_senders_end(void) {
  world_rank ranks[2];
  if (!world_run(ranks, 2, plain, false, leave_early)) SKIP("no loopback interface");
  CHECK(early_end == NBC_OK);
}

static void end_in_order(world_rank *r) {
  nbc_error error;
  if (r->t->rank == 0) {
    for (int i = 0; i < 3; i++) CHECK(nbc_send(r->t, large_out, 100, 1, (uint64_t)i) == NBC_OK);
    CHECK(nic_tcp_close(r->t, LIMIT_NS, &error) == NBC_E_PEER);
    CHECK_STR(error.text, "rank 1 closed without receiving 2 of 3 messages");
    CHECK(nbc_send(r->t, large_out, 1, 1, 0) == NBC_E_STATE);
  } else {
    CHECK(nbc_recv(r->t, large_in, 100, 0, 1) == NBC_OK);
    pause_ms(50);
    CHECK(nic_tcp_close(r->t, LIMIT_NS, &error) == NBC_OK);
  }
}
static atomic_bool has_given_up; /* rank 1 is late, however long rank 0 waits for a core */
static int64_t close_limit_ns;   /* in which rank 1's kernel acknowledges all, or a longer one is tried */
static bool is_acknowledged;
static void end_late(world_rank *r) {
  nbc_error error;
  if (r->t->rank == 0) {
    CHECK(nbc_send(r->t, large_out, 100, 1, 0) == NBC_OK);
    CHECK(nic_tcp_close(r->t, close_limit_ns, &error) == NBC_E_TIMEOUT);
    is_acknowledged = strstr(error.text, "did not close");
    atomic_store(&has_given_up, true);
  } else {
    while (!atomic_load(&has_given_up)) pause_ms(1);
    CHECK(nbc_recv(r->t, large_in, 100, 0, 0) == NBC_OK);
  }
}
static void close_says_what_was_not_received(void) {
  world_rank ranks[2];
  if (!world_run(ranks, 2, plain, false, end_in_order)) SKIP("no loopback interface");
  for (close_limit_ns = 50000000; close_limit_ns < LIMIT_NS && !is_acknowledged; close_limit_ns *= 10) {
    atomic_store(&has_given_up, false);
    CHECK(world_run(ranks, 2, plain, false, end_late));
  }
  CHECK(is_acknowledged);
}

/* ---- early messages ----------------------------------------------------------------------------- */
static void early_then_wanted(world_rank *r) {
  enum { EARLY = 65 };
  static nbc_op ops[EARLY];
  static unsigned char word;
  if (r->t->rank == 0) {
    memset(ops, 0, sizeof ops);
    fill(large_out, LARGE_BYTES, 3);
    for (int i = 0; i < EARLY; i++)
      CHECK(nbc_isend(r->t, large_out, 1 << 20, 1, 1, &ops[i]) == NBC_OK);
    CHECK(nbc_send(r->t, large_out, 1, 1, 2) == NBC_OK);
    for (int i = 0; i < EARLY; i++) CHECK(nbc_wait(r->t, &ops[i], LIMIT_NS) == NBC_OK);
    CHECK(nbc_recv(r->t, &word, 1, 1, 3) == NBC_OK);
  } else {
    CHECK(nbc_recv(r->t, &word, 1, 0, 2) == NBC_OK && word == pattern(0, 3));
    for (int i = 0; i < EARLY; i++) {
      CHECK(nbc_recv(r->t, large_in, 1 << 20, 0, 1) == NBC_OK && is_filled(large_in, 1 << 20, 3));
      memset(large_in, 0, 1 << 20);
    }
    CHECK(nbc_send(r->t, &word, 1, 0, 3) == NBC_OK);
  }
}
static void early_messages_block_no_wanted_one(void) {
  world_rank ranks[2];
  const nic_tcp_desc little = {.max_early_bytes = 4096};
  if (!world_run(ranks, 2, plain, false, early_then_wanted)) SKIP("no loopback interface");
  CHECK(world_run(ranks, 2, little, true, early_then_wanted));
  world_free(ranks, 2);
}

/* Announced messages: in order with others of their tag, cut, granted nothing, received late. */
static void announced(world_rank *r) {
  enum { COUNT = 60 };
  static nbc_op ops[COUNT];
  static unsigned char in[20000];
  nbc_op op;
  memset(&op, 0, sizeof op);
  if (r->t->rank == 0) {
    memset(ops, 0, sizeof ops);
    fill(large_out, 20000, 5);
    for (int i = 0; i < COUNT; i++)
      CHECK(nbc_isend(r->t, large_out, i % 3 ? (uint64_t)i : 20000, 1, (uint64_t)i % 2, &ops[i]) ==
            NBC_OK);
    for (int i = 0; i < COUNT; i++)
      CHECK(nbc_wait(r->t, &ops[i], LIMIT_NS) == NBC_OK &&
            ops[i].size_bytes == (i % 3 ? (uint64_t)i : 20000));
    return;
  }
  for (int tag = 1; tag >= 0; tag--)
    for (int i = tag; i < COUNT; i += 2) {
      const uint64_t size = i % 3 ? (uint64_t)i : 20000, room = i % 4 == 0   ? 0
                                                                : i % 5 == 0 ? 7
                                                                             : 20000;
      memset(in, 0, sizeof in);
      CHECK(nbc_irecv(r->t, in, room, 0, (uint64_t)tag, &op) == NBC_OK);
      CHECK(nbc_wait(r->t, &op, LIMIT_NS) == (size > room ? NBC_E_TRUNCATED : NBC_OK));
      const uint64_t got = size < room ? size : room;
      CHECK(op.size_bytes == got && is_filled(in, (size_t)got, 5));
    }
}
static void announced_messages_keep_the_contract(void) {
  world_rank ranks[2];
  const nic_tcp_desc little = {.max_early_bytes = 4096};
  if (!world_run(ranks, 2, little, true, announced)) SKIP("no loopback interface");
  for (int i = 0; i < 2; i++) CHECK(ranks[i].report && ranks[i].report->total.count >= 60);
  world_free(ranks, 2);
}

static void to_oneself(world_rank *r) {
  static nbc_op ops[4], in;
  memset(ops, 0, sizeof ops);
  memset(&in, 0, sizeof in);
  fill(large_out, 40000, 6);
  for (int i = 0; i < 4; i++) CHECK(nbc_isend(r->t, large_out + i, 10000, 0, 1, &ops[i]) == NBC_OK);
  for (int i = 0; i < 4; i++) {
    CHECK(nbc_irecv(r->t, large_in, 10000, 0, 1, &in) == NBC_OK &&
          nbc_wait(r->t, &in, LIMIT_NS) == NBC_OK && memcmp(large_in, large_out + i, 10000) == 0);
    CHECK(nbc_wait(r->t, &ops[i], LIMIT_NS) == NBC_OK);
  }
}
static void long_messages_to_oneself_wait_in_their_buffer(void) {
  world_rank ranks[1];
  const nic_tcp_desc little = {.max_early_bytes = 4096};
  CHECK(world_run(ranks, 1, little, false, to_oneself));
}

static void full_then_dead(nbc_transport *t) {
  static nbc_op op;
  static unsigned char *data;
  data = (unsigned char *)calloc(1, 65 << 20);
  if (!data || nbc_isend(t, data, 65 << 20, 0, 1, &op) != NBC_OK) _exit(3);
  for (;;) nbc_test(t, &op);
}
static void a_dead_peer_is_noticed_behind_early_data(void) {
  nbc_transport *t;
  nbc_op op;
  int sockets[2];
  const pid_t pid = child(sockets, &plain, full_then_dead);
  if (pid < 0) SKIP("no loopback interface");
  const nic_tcp_desc desc = {.size = 2, .sockets = sockets};
  CHECK(nic_tcp_create(&desc, &t, NULL) == NBC_OK);
  memset(&op, 0, sizeof op);
  CHECK(nbc_irecv(t, large_in, 1, 1, 2, &op) == NBC_OK);
  CHECK(nbc_wait(t, &op, 200000000) == NBC_E_TIMEOUT);
  kill(pid, SIGKILL);
  waitpid(pid, NULL, 0);
  CHECK(nbc_wait(t, &op, LIMIT_NS) == NBC_E_PEER);
  nic_tcp_destroy(t);
}

/* ---- nonsense times ----------------------------------------------------------------------------- */
static void write_times(mad_peer *m) {
  static const int64_t odd[] = {INT64_MIN,     INT64_MIN / 2, -1,       0, 1,
                                INT64_MAX / 2, INT64_MAX - 1, INT64_MAX};
  uint64_t seed = 1;
  char rest[512];
  if (recv(m->fd, rest, 1, 0) != 1) return; /* the receives are posted */
  for (uint64_t i = 1; i <= 100; i++) {
    const nic__tcp_head data = mad_head(NIC__TCP_DATA | NIC__TCP_NOTED, 0, 0, i);
    const nic__tcp_head note =
        mad_head(NIC__TCP_NOTE | (i % 4 ? 0u : NIC__TCP_ARRIVED), 0, sizeof(nic__tcp_times), i);
    nic__tcp_times times;
    int64_t *values[3] = {&times.begin_ns, &times.end_lo_ns, &times.end_hi_ns};
    for (int k = 0; k < 3; k++)
      *values[k] = odd[(seed = seed * 6364136223846793005u + 1442695040888963407u) >> 61];
    if (send(m->fd, &data, sizeof data, MSG_NOSIGNAL) < 0 ||
        send(m->fd, &note, sizeof note, MSG_NOSIGNAL) < 0 ||
        send(m->fd, &times, sizeof times, MSG_NOSIGNAL) < 0)
      return;
  }
  shutdown(m->fd, SHUT_WR);
  while (recv(m->fd, rest, sizeof rest, 0) > 0) {
  }
}
static void times_of_a_mad_peer_are_refused(void) {
  mad_peer mad = {.early_bytes = 1 << 20};
  int sockets[2];
  nbc_monitor *monitor;
  nbc_recorder *me;
  nbc_report *report;
  nbc_transport *t;
  const nbc_monitor_desc history = {.history_calls = 4096};
  if (!mad_start(&mad, sockets, write_times)) SKIP("no loopback interface");
  CHECK(nbc_monitor_create(&history, &monitor) == NBC_OK &&
        nbc_recorder_attach(monitor, &me) == NBC_OK);
  const nic_tcp_desc desc = {.size = 2, .sockets = sockets, .clock = nbc_monitor_clock(monitor)};
  CHECK(nic_tcp_create(&desc, &t, NULL) == NBC_OK);
  t->recorder = me;
  static nbc_op ops[100], op;
  memset(ops, 0, sizeof ops);
  memset(&op, 0, sizeof op);
  for (int i = 0; i < 100; i++) CHECK(nbc_irecv(t, large_in, 1, 1, 0, &ops[i]) == NBC_OK);
  CHECK(nbc_isend(t, large_out, 1, 1, 0, &op) == NBC_OK);
  for (int i = 0; i < 100; i++) CHECK(nbc_wait(t, &ops[i], LIMIT_NS) == NBC_OK);
  CHECK(nbc_recv(t, large_in, 1, 1, 0) == NBC_E_PEER);
  CHECK(nic_tcp_stats_of(t).unstamped_count >= 75);
  CHECK(nbc_monitor_report(monitor, &report) == NBC_OK);
  CHECK(report->total.exact_count == nic_tcp_stats_of(t).stamped_count);
  nbc_report_free(report);
  nic_tcp_destroy(t);
  nbc_recorder_detach(me);
  nbc_monitor_destroy(monitor);
  pthread_join(mad.thread, NULL);
}

/* ---- frames of a mad peer ----------------------------------------------------------------------- */
/* Right frames and odd ones, each perhaps with wrong numbers, perhaps cut short. */
static uint64_t mad_seed;
static uint64_t mad_draw(uint64_t below) {
  mad_seed = mad_seed * 6364136223846793005u + 1442695040888963407u;
  return (mad_seed >> 33) % below;
}
static uint64_t mad_value(void) {
  static const uint64_t odd[] = {0,           1,          255,       4096,       (uint64_t)1 << 31,
                                 UINT32_MAX,  1u << 20,   INT64_MAX, UINT64_MAX, (uint64_t)1 << 48,
                                 UINT64_MAX - 127};
  return mad_draw(3) ? mad_draw(6) : odd[mad_draw(11)];
}
static void write_frames(mad_peer *m) {
  char data[400], rest[4096];
  memset(data, 7, sizeof data);
  uint64_t sequence = 0;
  nic__tcp_head theirs = {0};
  for (uint64_t i = mad_draw(60); i-- > 0;) {
    const ssize_t k = recv(m->fd, rest, sizeof rest, MSG_DONTWAIT);
    for (ssize_t at = 0; at + (ssize_t)sizeof theirs <= k && theirs.kind != NIC__TCP_ANNOUNCE; at += 8)
      memcpy(&theirs, rest + at, sizeof theirs); /* where it asks for a grant, if it does */
    static const uint32_t likely[] = {NIC__TCP_DATA, NIC__TCP_DATA,  NIC__TCP_ANNOUNCE, NIC__TCP_NOTE,
                                      NIC__TCP_ASK,  NIC__TCP_CREDIT};
    nic__tcp_head h = mad_head(likely[mad_draw(6)], mad_draw(3), mad_draw(300), ++sequence);
    if (theirs.kind == NIC__TCP_ANNOUNCE && mad_draw(2)) { /* a right grant, or nearly */
      h = mad_head(NIC__TCP_GRANT, 0, mad_draw(theirs.size_bytes + 2), theirs.sequence);
      h.slot = theirs.slot;
      theirs.kind = 0;
    }
    if (h.kind == NIC__TCP_NOTE) h.size_bytes = sizeof(nic__tcp_times);
    if (mad_draw(40) == 0) h.size_bytes = mad_value();
    if (mad_draw(40) == 0) h.consumed_bytes = mad_value();
    if (mad_draw(40) == 0) h.kind = (uint32_t)mad_value(), h.slot = (uint32_t)mad_value();
    if (mad_draw(40) == 0) h.sequence = mad_value();
    if (mad_draw(4) == 0) h.kind |= (uint32_t)mad_draw(8) << 8;
    const size_t head_bytes = mad_draw(30) ? sizeof h : mad_draw(sizeof h);
    const bool has_data = (h.kind & 0xff) == NIC__TCP_DATA || (h.kind & 0xff) == NIC__TCP_NOTE;
    if (send(m->fd, &h, head_bytes, MSG_NOSIGNAL) < 0) return;
    if ((has_data ? mad_draw(40) != 0 : mad_draw(100) == 0) && h.size_bytes <= sizeof data &&
        send(m->fd, data, h.size_bytes, MSG_NOSIGNAL) < 0)
      return;
  }
  if (mad_draw(2)) cut_hard(m->fd);
}
static void a_mad_peer_breaks_only_its_own_messages(void) {
  const int rounds = test_rounds(150);
  long ended = 0;
  for (int round = 0; round < rounds; round++) {
    enum { OPS = 40 };
    static nbc_op ops[OPS];
    mad_seed = test_rand();
    mad_peer mad = {.early_bytes = mad_draw(3) * 4096};
    nic_tcp_desc desc = {.size = 2, .max_early_bytes = round % 2 ? 4096 : 0};
    nbc_transport *t;
    int sockets[2];
    if (!mad_start(&mad, sockets, write_frames)) SKIP("no loopback interface");
    desc.sockets = sockets;
    CHECK(nic_tcp_create(&desc, &t, NULL) == NBC_OK);
    memset(ops, 0, sizeof ops);
    for (int i = 0; i < OPS; i++) {
      unsigned char *data = large_in + i * 20000;
      const nbc_status status =
          i % 2 ? nbc_isend(t, data, (uint64_t)i * 500, 1, (uint64_t)i % 3, &ops[i])
                : nbc_irecv(t, data, (uint64_t)i * 10, 1, (uint64_t)i % 3, &ops[i]);
      if (status != NBC_OK) ops[i].finished = true, ops[i].status = status;
    }
    for (int i = 0; i < OPS; i++) { /* whatever the mad one said: an end, and within the room */
      const nbc_status status = ops[i].finished ? ops[i].status : nbc_wait(t, &ops[i], LIMIT_NS);
      CHECK(status == NBC_OK || status == NBC_E_PEER || (i % 2 == 0 && status == NBC_E_TRUNCATED));
      CHECK(i % 2 || ops[i].size_bytes <= (uint64_t)i * 10);
      ended += status != NBC_E_PEER;
    }
    const nbc_status end = nic_tcp_destroy(t);
    CHECK(end == NBC_OK || end == NBC_E_PEER);
    pthread_join(mad.thread, NULL);
    CHECK(mad.met);
  }
  printf("  %ld of %d operations ended well beside nonsense\n", ended, rounds * 40);
  CHECK(ended > 0);
}

/* ---- a connection that is cut ------------------------------------------------------------------- */
/* What a rank was told must fit what the other one was told. */
typedef struct talk {
  nic_tcp_desc desc;
  nbc_status created, sent, received, closed;
  bool right;
  pthread_t thread;
} talk;
static void *talk_main(void *arg) {
  talk *k = (talk *)arg;
  nbc_transport *t;
  nbc_op out, in;
  unsigned char mine[20], theirs[20];
  memset(&out, 0, sizeof out);
  memset(&in, 0, sizeof in);
  fill(mine, sizeof mine, (unsigned)k->desc.rank);
  k->sent = k->received = k->closed = NBC_E_STATE;
  k->created = nic_tcp_create(&k->desc, &t, NULL);
  if (k->created != NBC_OK) return NULL;
  k->sent = nbc_isend(t, mine, sizeof mine, 1 - k->desc.rank, 1, &out);
  k->received = nbc_irecv(t, theirs, sizeof theirs, 1 - k->desc.rank, 1, &in);
  if (k->received == NBC_OK) k->received = nbc_wait(t, &in, LIMIT_NS);
  if (k->sent == NBC_OK) k->sent = nbc_wait(t, &out, LIMIT_NS);
  k->right = is_filled(theirs, sizeof theirs, (unsigned)(1 - k->desc.rank));
  k->closed = nic_tcp_close(t, LIMIT_NS, NULL);
  nic_tcp_destroy(t);
  return NULL;
}
static void a_connection_may_break_at_any_byte(void) {
  const long whole = 2 * (long)sizeof(nic__hello); /* more than all of it */
  long good = 0, bad = 0;
  for (long at = 0; at <= whole + 200; at++) {
    int ends[2];
    cut r;
    if (!cut_start(&r, at, ends)) SKIP("no loopback interface");
    const int at_0[2] = {-1, ends[0]}, at_1[2] = {ends[1], -1};
    talk k[2] = {{.desc = {.rank = 0, .size = 2, .sockets = at_0, .connect_limit_ns = LIMIT_NS}},
                 {.desc = {.rank = 1, .size = 2, .sockets = at_1, .connect_limit_ns = LIMIT_NS}}};
    for (int i = 0; i < 2; i++) pthread_create(&k[i].thread, NULL, talk_main, &k[i]);
    for (int i = 0; i < 2; i++) pthread_join(k[i].thread, NULL);
    pthread_join(r.thread, NULL);
    for (int i = 0; i < 2; i++) {
      CHECK(k[i].created != NBC_E_TIMEOUT && k[i].sent != NBC_E_TIMEOUT &&
            k[i].received != NBC_E_TIMEOUT && k[i].closed != NBC_E_TIMEOUT);
      if (k[i].received == NBC_OK) CHECK(k[i].right);
      if (k[i].sent == NBC_OK && k[i].closed == NBC_OK) /* then it arrived */
        CHECK(k[1 - i].received == NBC_OK);
    }
    if (k[0].closed == NBC_OK && k[1].closed == NBC_OK)
      good++;
    else
      bad++;
  }
  printf("  cut at %ld places: noticed at %ld, behind the end %ld\n", good + bad, bad, good);
  CHECK(good > 0 && bad > 150);
}

/* ---- killed ------------------------------------------------------------------------------------- */
enum { KILL_BYTES = 30000 };
static void talk_for_ever(nbc_transport *t) {
  static unsigned char out[KILL_BYTES], in[KILL_BYTES];
  nbc_op a, b;
  memset(&a, 0, sizeof a);
  memset(&b, 0, sizeof b);
  for (unsigned i = 0;; i++) {
    const size_t size = (i * 7919u) % KILL_BYTES;
    fill(out, size, i + (unsigned)t->rank);
    if (nbc_irecv(t, in, KILL_BYTES, 1 - t->rank, 1, &b) ||
        nbc_isend(t, out, size, 1 - t->rank, 1, &a) || nbc_wait(t, &b, LIMIT_NS) ||
        nbc_wait(t, &a, LIMIT_NS))
      return;
    if (!is_filled(in, size, i + (unsigned)(1 - t->rank))) _exit(4);
  }
}
static void peers_killed_at_any_moment(void) {
  long rounds = 0, in_meeting = 0, unsent = 0;
  for (int i = 0; i < 200; i++) {
    static unsigned char out[KILL_BYTES], in[KILL_BYTES];
    int sockets[2];
    nbc_transport *t;
    nbc_op a, b;
    nbc_status status = NBC_OK;
    pid_t killer = 0;
    const nic_tcp_desc like = {.max_early_bytes = i % 2 ? 8192 : 0};
    const pid_t pid = child(sockets, &like, talk_for_ever);
    if (pid < 0) SKIP("no loopback interface"); /* and kill(-1) would end all processes there are */
    /* every fourth while it starts and meets, the others while they talk */
    if (i % 4 == 0) killer = kill_later(pid, 40000000);
    nic_tcp_desc desc = like;
    desc.size = 2;
    desc.sockets = sockets;
    desc.connect_limit_ns = LIMIT_NS;
    memset(&a, 0, sizeof a);
    memset(&b, 0, sizeof b);
    const nbc_status created = nic_tcp_create(&desc, &t, NULL);
    if (created != NBC_OK) {
      CHECK(created == NBC_E_PEER);
      in_meeting++;
    }
    if (i % 4) killer = kill_later(pid, 8000000);
    for (unsigned k = 0; created == NBC_OK && status == NBC_OK; k++, rounds++) {
      const size_t size = (k * 7919u) % KILL_BYTES;
      fill(out, size, k);
      status = nbc_irecv(t, in, KILL_BYTES, 1, 1, &b);
      if (!status && (status = nbc_isend(t, out, size, 1, 1, &a)) != NBC_OK) break;
      if (!status) status = nbc_wait(t, &b, LIMIT_NS);
      if (!status) status = nbc_wait(t, &a, LIMIT_NS);
      if (!status) CHECK(b.size_bytes == size && is_filled(in, size, k + 1));
    }
    if (created == NBC_OK) {
      CHECK(status == NBC_E_PEER);
      const nbc_status closed = nic_tcp_close(t, LIMIT_NS, NULL);
      /* of a first message, part may have been sent and is lost: that is said, too */
      CHECK(closed == NBC_E_PEER || (closed == NBC_OK && nic_tcp_stats_of(t).sent_count == 0));
      if (closed != NBC_E_PEER) unsent++;
      nic_tcp_destroy(t);
    }
    waitpid(pid, NULL, 0);
    waitpid(killer, NULL, 0);
  }
  printf("  200 peers killed: %ld while meeting, %ld before anything was sent, after %ld rounds in all\n", in_meeting, unsent, rounds);
  CHECK(rounds > 200);
}

/* ---- a slow reader ------------------------------------------------------------------------------ */
static void read_slowly(mad_peer *m) {
  char data[1000];
  for (int i = 0;; i++) {
    if (i < 20) pause_ms(5);
    if (recv(m->fd, data, sizeof data, 0) <= 0) return;
  }
}
static void a_slow_reader_is_waited_for(void) {
  mad_peer mad = {.early_bytes = 64 << 20};
  int sockets[2];
  nbc_transport *t;
  nbc_op op;
  if (!mad_start(&mad, sockets, read_slowly)) SKIP("no loopback interface");
  const nic_tcp_desc desc = {.size = 2, .sockets = sockets};
  memset(&op, 0, sizeof op);
  CHECK(nic_tcp_create(&desc, &t, NULL) == NBC_OK);
  CHECK(nbc_isend(t, large_out, LARGE_BYTES, 1, 1, &op) == NBC_OK);
  CHECK(nic_tcp_drain(t, 10000000) == NBC_E_TIMEOUT);
  CHECK(nic_tcp_drain(t, LIMIT_NS) == NBC_OK && nbc_wait(t, &op, LIMIT_NS) == NBC_OK);
  CHECK(nic_tcp_destroy(t) == NBC_E_PEER); /* it ended without a word of what it read */
  pthread_join(mad.thread, NULL);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(drain_waits_for_acknowledgements);
  RUN(a_peer_says_what_it_has_read);
  RUN(what_was_sent_arrives_after_the_senders_end);
  RUN(close_says_what_was_not_received);
  RUN(early_messages_block_no_wanted_one);
  RUN(announced_messages_keep_the_contract);
  RUN(long_messages_to_oneself_wait_in_their_buffer);
  RUN(a_dead_peer_is_noticed_behind_early_data);
  RUN(times_of_a_mad_peer_are_refused);
  RUN(a_mad_peer_breaks_only_its_own_messages);
  RUN(a_connection_may_break_at_any_byte);
  RUN(peers_killed_at_any_moment);
  RUN(a_slow_reader_is_waited_for);
  return TEST_END();
}
