/* The UDP transport against a hostile network and dying peers: no message stands in the way of another
   one, whatever is lost on the way; what a receive takes is what was sent, in its order; a peer that knows
   the secrets and writes what it likes, one that is killed at any moment and one that closes without
   receiving end in errors, not in silence and not in a hang. */
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* A peer that dies when it was met and before its datagrams are known, with data that it has not read: the connection
   is reset. The second look at who is there is the first one after the meeting. */
static pid_t Dies_when_looked_at;
static int Looks;
static int looks_again(int fd, struct sockaddr *peer, socklen_t *peer_bytes) {
  if (Dies_when_looked_at && ++Looks == 2) {
    struct pollfd reset = {fd, 0, 0};
    kill(Dies_when_looked_at, SIGSTOP);
    waitpid(Dies_when_looked_at, NULL, WUNTRACED);
    if (send(fd, "unread", 6, MSG_NOSIGNAL) == 6) kill(Dies_when_looked_at, SIGKILL);
    poll(&reset, 1, 10000);
  }
  return getpeername(fd, peer, peer_bytes);
}
#define getpeername looks_again
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#define NIC_HW_IMPLEMENTATION
#define NIC_WITH_NBC
#include "hw/nic_hw.h"
#include "hw/nic_meet.h"
#include "hw/nic_udp.h"
#include "tests/test.h"
#include "tests/hw/udp_world.h"
#include "tests/hw/cut.h"

static const nic_udp_desc plain, little = {.max_early_bytes = 4096};

/* ---- early messages ----------------------------------------------------------------------------- */
enum { EARLY_BYTES = 1 << 20 };
static int early_count;
static void early_then_wanted(rank *r) {
  static nbc_op ops[65];
  static unsigned char out[EARLY_BYTES], in[EARLY_BYTES], word;
  if (r->t->rank == 0) {
    memset(ops, 0, sizeof ops);
    fill(out, EARLY_BYTES, 3);
    for (int i = 0; i < early_count; i++)
      CHECK(nbc_isend(r->t, out, EARLY_BYTES, 1, 1, &ops[i]) == NBC_OK);
    CHECK(nbc_send(r->t, out, 1, 1, 2) == NBC_OK);
    for (int i = 0; i < early_count; i++)
      CHECK(nbc_wait(r->t, &ops[i], LIMIT_NS) == NBC_OK && ops[i].size_bytes == EARLY_BYTES);
    CHECK(nbc_recv(r->t, &word, 1, 1, 3) == NBC_OK);
    return;
  }
  nbc_op wanted;
  memset(&wanted, 0, sizeof wanted);
  CHECK(nbc_irecv(r->t, in, 1, 0, 2, &wanted) == NBC_OK);
  CHECK(nbc_wait(r->t, &wanted, LIMIT_NS) == NBC_OK && in[0] == pattern(0, 3));
  for (int i = 0; i < early_count; i++) {
    CHECK(nbc_recv(r->t, in, EARLY_BYTES, 0, 1) == NBC_OK && is_filled(in, EARLY_BYTES, 3));
    memset(in, 0, EARLY_BYTES);
  }
  CHECK(nbc_send(r->t, &word, 1, 0, 3) == NBC_OK);
}
static void early_messages_block_no_wanted_one(void) {
  rank ranks[2];
  early_count = 65; /* more than the 64 MiB that a rank keeps */
  if (!run_both(ranks, plain, NULL, false, early_then_wanted)) SKIP("no loopback interface");
  early_count = 3;
  CHECK(run_both(ranks, little, NULL, true, early_then_wanted));
  free_both(ranks);
}

/* Any order of sends and receives over a few tags, both ways at once: each receive gets the next message
   of its tag, cut to its room. */
enum { SOUP = 60, SOUP_BYTES = 20000 };
typedef struct soup_item {
  uint64_t size, room, tag;
} soup_item;
static soup_item soup[2][SOUP]; /* of the sends of each rank, and their receives at the other one */
static int soup_order[2][SOUP]; /* in which they are received */
static void soup_draw(void) {
  static const uint64_t sizes[] = {0, 1, 100, 1300, 1400, 4000, SOUP_BYTES};
  for (int side = 0; side < 2; side++)
    for (int i = 0; i < SOUP; i++) {
      soup_item *s = &soup[side][i];
      s->size = sizes[test_below(7)];
      s->room = test_below(4) ? SOUP_BYTES : test_below(SOUP_BYTES);
      s->tag = test_below(3);
      if (test_below(8) == 0) s->room = 0;
    }
  for (int side = 0; side < 2; side++) { /* in order within each tag, anyhow between them */
    int next[3] = {0, 0, 0};
    for (int i = 0; i < SOUP;) {
      const uint64_t tag = test_below(3);
      while (next[tag] < SOUP && soup[side][next[tag]].tag != tag) next[tag]++;
      if (next[tag] < SOUP) soup_order[side][i++] = next[tag]++;
    }
  }
}
static void soup_exchange(rank *r) {
  static unsigned char out[2][SOUP][SOUP_BYTES], in[2][SOUP][SOUP_BYTES];
  static nbc_op sends[2][SOUP], receives[2][SOUP];
  const int me = r->t->rank, peer = 1 - me;
  nbc_op first;
  unsigned char word = 0;
  memset(&first, 0, sizeof first); /* both speak first, so that the relay knows both */
  CHECK(nbc_isend(r->t, &word, 1, peer, 9, &first) == NBC_OK &&
        nbc_recv(r->t, &word, 1, peer, 9) == NBC_OK &&
        nbc_wait(r->t, &first, LIMIT_NS) == NBC_OK);
  memset(sends[me], 0, sizeof sends[me]);
  memset(receives[me], 0, sizeof receives[me]);
  memset(in[me], 0, sizeof in[me]);
  for (int i = 0; i < SOUP; i++) fill(out[me][i], SOUP_BYTES, (unsigned)(i + 100 * me));
  for (int i = 0; i < SOUP; i++) {
    const soup_item *s = &soup[me][i];
    CHECK(nbc_isend(r->t, out[me][i], s->size, peer, s->tag, &sends[me][i]) == NBC_OK);
    const int k = soup_order[peer][i];
    const soup_item *theirs = &soup[peer][k];
    CHECK(nbc_irecv(r->t, in[me][k], theirs->room, peer, theirs->tag, &receives[me][k]) == NBC_OK);
    if (i % 8 == 0) r->t->progress(r->t->ctx);
  }
  for (int i = 0; i < SOUP; i++) {
    const int k = soup_order[peer][i];
    const soup_item *s = &soup[peer][k];
    const uint64_t got = s->size < s->room ? s->size : s->room;
    CHECK(nbc_wait(r->t, &receives[me][k], LIMIT_NS) ==
          (s->size > s->room ? NBC_E_TRUNCATED : NBC_OK));
    CHECK(receives[me][k].size_bytes == got &&
          is_filled(in[me][k], (size_t)got, (unsigned)(k + 100 * peer)));
    CHECK(got == SOUP_BYTES || in[me][k][got] == 0);
  }
  for (int i = 0; i < SOUP; i++)
    CHECK(nbc_wait(r->t, &sends[me][i], LIMIT_NS) == NBC_OK &&
          sends[me][i].size_bytes == soup[me][i].size);
}
static void any_order_over_a_bad_network(void) {
  const int rounds = test_rounds(12);
  for (int i = 0; i < rounds; i++) {
    rank ranks[2];
    nic_udp_desc desc = i % 2 ? little : plain;
    relay bad = {.mad = true, .seed = test_rand()};
    if (i % 3 == 0) desc.max_early_bytes = 1 + test_below(60000);
    if (i % 4 == 0) desc.datagram_bytes = (uint32_t)(256 + test_below(3000));
    soup_draw();
    if (!run_both(ranks, desc, i % 3 ? &bad : NULL, i % 2, soup_exchange))
      SKIP("no loopback interface");
    free_both(ranks);
  }
}

/* ---- the end ------------------------------------------------------------------------------------ */
static void leave_unreceived(rank *r) {
  static unsigned char data[8000];
  static nbc_op ops[2];
  unsigned char word = 0;
  if (r->t->rank == 0) {
    memset(ops, 0, sizeof ops);
    CHECK(nbc_isend(r->t, data, sizeof data, 1, 1, &ops[0]) == NBC_OK);
    CHECK(nbc_send(r->t, &word, 1, 1, 2) == NBC_OK);
    CHECK(nbc_wait(r->t, &ops[0], LIMIT_NS) == NBC_E_PEER); /* as soon as the other one closes */
    CHECK(nbc_isend(r->t, data, sizeof data, 1, 1, &ops[1]) == NBC_OK &&
          nbc_wait(r->t, &ops[1], LIMIT_NS) == NBC_E_PEER);
    CHECK(nic_udp_close(r->t, LIMIT_NS) == NBC_E_PEER);
  } else {
    CHECK(nbc_recv(r->t, &word, 1, 0, 2) == NBC_OK);
    CHECK(nic_udp_close(r->t, LIMIT_NS) == NBC_OK);
  }
}
static void a_close_fails_what_waits_for_a_receive(void) {
  rank ranks[2];
  if (!run_ranks(ranks, little, NULL, false, leave_unreceived)) SKIP("no loopback interface");
}

/* ---- a peer that knows the secrets -------------------------------------------------------------- */
/* Rank 1 of 2: meets, says its port, and then sends datagrams with the right key and random heads. */
typedef struct mad {
  int control;
  uint64_t seed;
  bool met;
  pthread_t thread;
} mad;
static uint64_t mad_draw(mad *m, uint64_t below) {
  m->seed = m->seed * 6364136223846793005u + 1442695040888963407u;
  return (m->seed >> 33) % below;
}
static uint64_t mad_value(mad *m) {
  static const uint64_t odd[] = {0,          1,          2,         255,       256,
                                 257,        4096,       1 << 20,   1u << 31,  UINT32_MAX,
                                 1ull << 47, 1ull << 48, INT64_MAX, 1ull << 63, UINT64_MAX};
  const uint64_t value = mad_draw(m, 3) ? mad_draw(m, 6) : odd[mad_draw(m, 15)];
  return value;
}
static int mad_socket(mad *m) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t bytes = sizeof at;
  uint16_t port = 0;
  const int fd = socket(AF_INET, SOCK_DGRAM, 0);
  if (bind(fd, (struct sockaddr *)&at, sizeof at) != 0 ||
      getsockname(fd, (struct sockaddr *)&at, &bytes) != 0 ||
      send(m->control, &at.sin_port, 2, MSG_NOSIGNAL) != 2 ||
      recv(m->control, &port, 2, MSG_WAITALL) != 2)
    return -1;
  at.sin_port = port;
  connect(fd, (struct sockaddr *)&at, sizeof at);
  return fd;
}
static void *mad_main(void *arg) {
  mad *m = (mad *)arg;
  const int sockets[2] = {m->control, -1};
  const nic_meet_desc desc = {.rank = 1,
                              .size = 2,
                              .sockets = sockets,
                              .limit_ns = LIMIT_NS,
                              .mine = {0, (uint8_t)mad_draw(m, 40)}};
  static const uint32_t kinds[] = {NIC__UDP_DATA, NIC__UDP_ACK, NIC__UDP_ANNOUNCE, NIC__UDP_GRANT,
                                   NIC__UDP_GRANTED};
  nic_meet_peer found[2];
  m->met = nic_meet(&desc, found, NULL) == NBC_OK;
  const int fd = m->met ? mad_socket(m) : -1;
  char data[sizeof(nic__udp_head) + 300] = {0}, answer[2000];
  nic__udp_head theirs;
  memset(&theirs, 0, sizeof theirs);
  for (uint64_t i = 0, number = 0, message = 0; fd >= 0 && i < 4000; i++) {
    const ssize_t k = recv(fd, answer, sizeof answer, MSG_DONTWAIT);
    if (k > 0) memcpy(&theirs, answer, (size_t)k < sizeof theirs ? (size_t)k : sizeof theirs);
    nic__udp_head h;
    memset(&h, 0, sizeof h);
    h.magic = NIC__UDP_MAGIC;
    h.kind = kinds[mad_draw(m, 5)] + NIC__UDP_FROM_ABOVE;
    memcpy(h.key, found[0].key, sizeof h.key);
    const bool apt = mad_draw(m, 4) != 0; /* so that it is taken */
    h.number = h.kind == NIC__UDP_ACK + NIC__UDP_FROM_ABOVE ? theirs.number + mad_draw(m, 3)
               : apt                                        ? number++
                                                            : mad_value(m);
    h.message = apt ? message : mad_value(m);
    message += mad_draw(m, 2);
    h.tag = mad_draw(m, 3);
    h.size_bytes = mad_draw(m, 3) ? mad_draw(m, 300) : mad_value(m);
    h.offset_bytes = mad_draw(m, 3) ? 0 : mad_value(m);
    h.consumed_bytes = mad_draw(m, 3) ? 0 : mad_value(m);
    h.place = (uint32_t)mad_value(m);
    h.reply = (uint32_t)mad_value(m);
    if (mad_draw(m, 2)) h.message = theirs.message, h.place = theirs.place, h.reply = theirs.reply;
    for (int w = 0; w < 4; w++) h.taken[w] = mad_draw(m, 4) ? 0 : mad_value(m) * m->seed;
    memcpy(data, &h, sizeof h);
    const uint64_t bytes = h.kind == NIC__UDP_ACK + NIC__UDP_FROM_ABOVE
                               ? sizeof h
                               : (uint64_t)NIC__UDP_DATA_HEAD +
                                     (h.size_bytes < 300 && mad_draw(m, 3) ? h.size_bytes
                                                                           : mad_draw(m, 300));
    send(fd, data, (size_t)bytes, MSG_NOSIGNAL);
  }
  if (fd >= 0) close(fd);
  close(m->control);
  return NULL;
}
static void a_mad_peer_breaks_only_its_own_messages(void) {
  const int rounds = test_rounds(20);
  for (int round = 0; round < rounds; round++) {
    enum { OPS = 40 };
    static unsigned char data[OPS][SOUP_BYTES];
    static nbc_op ops[OPS];
    int pair[2];
    nbc_transport *t;
    if (!sockets_pair(SOCK_STREAM, pair)) SKIP("no loopback interface");
    mad m = {.control = pair[1], .seed = test_rand()};
    const int sockets[2] = {-1, pair[0]};
    nic_udp_desc desc = round % 2 ? little : plain;
    desc.size = 2;
    desc.sockets = sockets;
    pthread_create(&m.thread, NULL, mad_main, &m);
    CHECK(nic_udp_create(&desc, &t, NULL) == NBC_OK);
    memset(ops, 0, sizeof ops);
    for (int i = 0; i < OPS; i++)
      if (i % 2)
        CHECK(nbc_isend(t, data[i], (uint64_t)i * 500, 1, (uint64_t)i % 3, &ops[i]) == NBC_OK);
      else
        CHECK(nbc_irecv(t, data[i], (uint64_t)i * 10, 1, (uint64_t)i % 3, &ops[i]) == NBC_OK);
    for (int i = 0; i < OPS; i++) { /* whatever the mad one said: an end, and within the room */
      const nbc_status status = nbc_wait(t, &ops[i], LIMIT_NS);
      CHECK(status == NBC_OK || status == NBC_E_PEER || (i % 2 == 0 && status == NBC_E_TRUNCATED));
      CHECK(i % 2 || ops[i].size_bytes <= (uint64_t)i * 10);
    }
    const nbc_status end = nic_udp_destroy(t);
    CHECK(end == NBC_OK || end == NBC_E_PEER);
    pthread_join(m.thread, NULL);
    CHECK(m.met);
  }
}

/* ---- a stream that is cut ----------------------------------------------------------------------- */
static void talk_once(rank *r) {
  const int me = r->t->rank;
  unsigned char mine[3000], theirs[3000] = {0};
  nbc_op out;
  memset(&out, 0, sizeof out);
  fill(mine, sizeof mine, (unsigned)me);
  nbc_status *got = &((nbc_status *)r->user)[0], *sent = got + 1;
  *sent = nbc_isend(r->t, mine, sizeof mine, 1 - me, 1, &out);
  *got = nbc_recv(r->t, theirs, sizeof theirs, 1 - me, 1);
  if (*sent == NBC_OK) *sent = nbc_wait(r->t, &out, LIMIT_NS);
  CHECK(*got != NBC_OK || is_filled(theirs, sizeof theirs, (unsigned)(1 - me)));
}
static void the_stream_may_break_at_any_byte(void) {
  long good = 0, bad = 0;
  const long whole = (long)sizeof(nic__hello) + 16 + (long)sizeof nic__meet_welcome + 2 + 1;
  for (long at = 0; at <= whole + 3; at++) {
    rank ranks[2];
    nbc_status said[2][2] = {{NBC_E_STATE, NBC_E_STATE}, {NBC_E_STATE, NBC_E_STATE}};
    int ends[2];
    cut r;
    if (!cut_start(&r, at, ends)) SKIP("no loopback interface");
    memset(ranks, 0, sizeof ranks);
    for (int i = 0; i < 2; i++) {
      rank *k = &ranks[i];
      k->sockets[i] = -1;
      k->sockets[1 - i] = ends[i];
      k->desc = (nic_udp_desc){
          .rank = i, .size = 2, .sockets = k->sockets, .connect_limit_ns = 20000000000};
      k->run = talk_once;
      k->user = said[i];
      k->closed = NBC_E_STATE;
    }
    for (int i = 0; i < 2; i++) pthread_create(&ranks[i].thread, NULL, rank_main, &ranks[i]);
    for (int i = 0; i < 2; i++) pthread_join(ranks[i].thread, NULL);
    pthread_join(r.thread, NULL);
    for (int i = 0; i < 2; i++) {
      CHECK(ranks[i].created != NBC_E_TIMEOUT && ranks[i].closed != NBC_E_TIMEOUT);
      CHECK(said[i][0] != NBC_E_TIMEOUT && said[i][1] != NBC_E_TIMEOUT);
      if (said[i][1] == NBC_OK && ranks[i].closed == NBC_OK) /* then it arrived */
        CHECK(said[1 - i][0] == NBC_OK);
    }
    if (ranks[0].closed == NBC_OK && ranks[1].closed == NBC_OK)
      good++;
    else
      bad++;
  }
  printf("  cut at %ld places: noticed at %ld, behind the end %ld\n", good + bad, bad, good);
  CHECK(good > 0 && bad > 100);
}

/* ---- killed ------------------------------------------------------------------------------------- */
enum { KILL_BYTES = 30000 };
static void talk_for_ever(nbc_transport *t, nbc_status *status, long *rounds) {
  static unsigned char out[KILL_BYTES], in[KILL_BYTES];
  const int peer = 1 - t->rank;
  nbc_op a, b;
  memset(&a, 0, sizeof a);
  memset(&b, 0, sizeof b);
  for (unsigned i = 0; *status == NBC_OK; i++, ++*rounds) {
    const size_t size = (i * 7919u) % KILL_BYTES;
    fill(out, size, i + (unsigned)t->rank);
    if ((*status = nbc_isend(t, out, size, peer, 1, &a)) != NBC_OK) return;
    *status = nbc_irecv(t, in, KILL_BYTES, peer, 1, &b);
    if (!*status) *status = nbc_wait(t, &b, LIMIT_NS);
    if (!*status) *status = nbc_wait(t, &a, LIMIT_NS);
    if (!*status) CHECK(b.size_bytes == size && is_filled(in, size, i + (unsigned)peer));
  }
}
static void peers_killed_at_any_moment(void) {
  long rounds = 0, in_meeting = 0;
  const int kills = test_rounds(100);
  for (int i = 0; i < kills; i++) {
    int sockets[2];
    nbc_transport *t;
    nbc_status status = NBC_OK;
    nic_udp_desc desc = i % 2 ? little : plain;
    const pid_t pid = fork_second_rank(sockets);
    if (pid < 0) SKIP("no loopback interface");
    desc.rank = pid == 0;
    desc.size = 2;
    desc.sockets = sockets;
    if (!pid) {
      if (nic_udp_create(&desc, &t, NULL) == NBC_OK) talk_for_ever(t, &status, &rounds);
      _exit(0);
    }
    /* every fourth while it starts and meets, the others while they talk */
    pid_t killer = i % 4 ? 0 : kill_later(pid, 20000000);
    const nbc_status created = nic_udp_create(&desc, &t, NULL);
    if (i % 4) killer = kill_later(pid, 8000000);
    CHECK(created == NBC_OK || created == NBC_E_PEER);
    in_meeting += created != NBC_OK;
    if (created == NBC_OK) {
      talk_for_ever(t, &status, &rounds);
      CHECK(status == NBC_E_PEER);
      const nbc_status end = nic_udp_destroy(t);
      CHECK(end == NBC_OK || end == NBC_E_PEER);
    }
    waitpid(pid, NULL, 0);
    waitpid(killer, NULL, 0);
  }
  printf("  %d peers killed: %ld while meeting, after %ld rounds in all\n", kills, in_meeting, rounds);
}
static void a_peer_killed_between_meeting_and_datagrams(void) {
  int sockets[2];
  nbc_transport *t;
  nbc_error why;
  const pid_t pid = fork_second_rank(sockets);
  if (pid < 0) SKIP("no loopback interface");
  const nic_udp_desc desc = {.rank = pid == 0, .size = 2, .sockets = sockets};
  Dies_when_looked_at = pid;
  const nbc_status created = nic_udp_create(&desc, &t, &why);
  if (!pid) _exit(0);
  Dies_when_looked_at = 0;
  CHECK(Looks == 2 && created == NBC_E_PEER);
  if (created) printf("  %s\n", why.text);
  waitpid(pid, NULL, 0);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(early_messages_block_no_wanted_one);
  RUN(any_order_over_a_bad_network);
  RUN(a_close_fails_what_waits_for_a_receive);
  RUN(a_mad_peer_breaks_only_its_own_messages);
  RUN(the_stream_may_break_at_any_byte);
  RUN(a_peer_killed_between_meeting_and_datagrams);
  RUN(peers_killed_at_any_moment);
  return TEST_END();
}
