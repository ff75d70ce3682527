/* The TCP transport keeps the contract of nbc_transport: messages whole and in order per tag, early
   and late receives, truncation, cancelling, completion only from progress, peers that vanish or
   talk nonsense; connected by sockets or by addresses. */
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

#define LIMIT_NS 20000000000 /* a hang becomes a failure */
static const nic_tcp_desc plain;

static void fill(unsigned char *data, size_t size, unsigned seed) {
  for (size_t i = 0; i < size; i++) data[i] = (unsigned char)(i * 31 + (i >> 8) + seed);
}
static bool is_filled(const unsigned char *data, size_t size, unsigned seed) {
  for (size_t i = 0; i < size; i++)
    if (data[i] != (unsigned char)(i * 31 + (i >> 8) + seed)) return false;
  return true;
}

static const size_t sizes[] = {0, 1, 7, 984, 1024, 1025, 4096, 65537, 300000, 3000000};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

/* All sizes both ways at once, tags in reverse order on the receiving side. */
static void exchange(world_rank *r) {
  const int peer = 1 - r->t->rank;
  nbc_op out[SIZES], in[SIZES];
  unsigned char *out_data[SIZES], *in_data[SIZES];
  memset(out, 0, sizeof out);
  memset(in, 0, sizeof in);
  for (int i = 0; i < SIZES; i++) {
    out_data[i] = malloc(sizes[i] + 1);
    in_data[i] = malloc(sizes[i] + 1);
    fill(out_data[i], sizes[i], (unsigned)(i + r->t->rank));
    CHECK(nbc_isend(r->t, out_data[i], sizes[i], peer, (uint64_t)i << 40, &out[i]) == NBC_OK);
  }
  for (int i = SIZES - 1; i >= 0; i--)
    CHECK(nbc_irecv(r->t, in_data[i], sizes[i], peer, (uint64_t)i << 40, &in[i]) == NBC_OK);
  for (int i = 0; i < SIZES; i++) {
    CHECK(nbc_wait(r->t, &in[i], LIMIT_NS) == NBC_OK && in[i].size_bytes == sizes[i] &&
          in[i].peer == peer);
    CHECK(is_filled(in_data[i], sizes[i], (unsigned)(i + peer)));
  }
  for (int i = 0; i < SIZES; i++) {
    CHECK(nbc_wait(r->t, &out[i], LIMIT_NS) == NBC_OK && out[i].size_bytes == sizes[i]);
    free(out_data[i]);
    free(in_data[i]);
  }
  CHECK(nic_tcp_drain(r->t, LIMIT_NS) == NBC_OK);
  const nic_tcp_stats s = nic_tcp_stats_of(r->t);
  CHECK(s.sent_count == SIZES && s.received_count == SIZES);
}
static void messages_of_all_sizes_cross(void) {
  world_rank ranks[2];
  nic_tcp_desc no_stamps = {.no_stamps = true};
  if (!world_run(ranks, 2, plain, false, exchange)) SKIP("no loopback interface");
  CHECK(world_run(ranks, 2, no_stamps, false, exchange));
  CHECK(world_run(ranks, 2, plain, true, exchange));
  world_free(ranks, 2);
}

static void order(world_rank *r) {
  const int peer = 1 - r->t->rank;
  for (int i = 0; i < 500; i++) {
    uint32_t value = (uint32_t)i, got = 0;
    if (r->t->rank == 0)
      CHECK(nbc_send(r->t, &value, sizeof value, peer, i % 3 == 0) == NBC_OK);
    else if (i % 3 == 0)
      CHECK(nbc_recv(r->t, &got, sizeof got, peer, 1) == NBC_OK && got == value);
  }
  for (int i = 0; r->t->rank == 1 && i < 500; i++) {
    uint32_t got = 0;
    if (i % 3 != 0)
      CHECK(nbc_recv(r->t, &got, sizeof got, peer, 0) == NBC_OK && got == (uint32_t)i);
  }
  uint32_t end = 0;
  CHECK(r->t->rank ? nbc_send(r->t, &end, 4, peer, 2) == NBC_OK
                   : nbc_recv(r->t, &end, 4, peer, 2) == NBC_OK);
}
static void messages_stay_in_order_per_tag(void) {
  world_rank ranks[2];
  if (!world_run(ranks, 2, plain, false, order)) SKIP("no loopback interface");
}

static void truncate_and_cancel(world_rank *r) {
  unsigned char data[5000], small[100];
  nbc_op op;
  memset(&op, 0, sizeof op);
  fill(data, sizeof data, 3);
  if (r->t->rank == 0) {
    CHECK(nbc_send(r->t, data, sizeof data, 1, 7) == NBC_OK);
    CHECK(nbc_send(r->t, data, sizeof data, 1, 8) == NBC_OK);
    CHECK(nbc_recv(r->t, data, sizeof data, 1, 9) == NBC_OK);
    return;
  }
  memset(small, 0, sizeof small);
  CHECK(nbc_irecv(r->t, small, 60, 0, 7, &op) == NBC_OK &&
        nbc_wait(r->t, &op, LIMIT_NS) == NBC_E_TRUNCATED);
  CHECK(op.size_bytes == 60 && is_filled(small, 60, 3) && small[60] == 0);
  CHECK(nbc_recv(r->t, data, sizeof data, 0, 8) == NBC_OK &&
        is_filled(data, sizeof data, 3)); /* the stream is still in step */
  CHECK(nbc_irecv(r->t, small, 60, 0, 99, &op) == NBC_OK && r->t->cancel(r->t->ctx, &op) == NBC_OK);
  CHECK(!op.finished && nbc_wait(r->t, &op, LIMIT_NS) == NBC_E_CANCELLED &&
        r->t->cancel(r->t->ctx, &op) == NBC_E_STATE);
  CHECK(nbc_send(r->t, data, 1, 0, 9) == NBC_OK);
}
static void long_messages_are_cut_and_receives_cancelled(void) {
  world_rank ranks[2];
  if (!world_run(ranks, 2, plain, true, truncate_and_cancel)) SKIP("no loopback interface");
  world_free(ranks, 2);
}

static int in_post, told_in_post;
static void on_done(nbc_op *op) { (void)op, told_in_post += in_post; }
static void self(world_rank *r) {
  char a[4] = "abc", b[4] = "", c[4] = "";
  nbc_op ops[4];
  memset(ops, 0, sizeof ops);
  for (int i = 0; i < 4; i++) ops[i].done = on_done;
  in_post = 1;
  CHECK(nbc_isend(r->t, a, 4, 0, 1, &ops[0]) == NBC_OK &&
        nbc_irecv(r->t, b, 4, 0, 1, &ops[1]) == NBC_OK); /* early */
  CHECK(nbc_irecv(r->t, c, 4, 0, 2, &ops[2]) == NBC_OK &&
        nbc_isend(r->t, a, 4, 0, 2, &ops[3]) == NBC_OK); /* posted */
  in_post = 0;
  for (int i = 0; i < 4; i++) CHECK(!ops[i].finished);
  for (int i = 0; i < 4; i++)
    CHECK(nbc_wait(r->t, &ops[i], LIMIT_NS) == NBC_OK && ops[i].size_bytes == 4);
  CHECK(told_in_post == 0);
  CHECK_STR(b, "abc");
  CHECK_STR(c, "abc");
}
static void a_rank_sends_to_itself(void) {
  world_rank ranks[1];
  told_in_post = 0;
  CHECK(world_run(ranks, 1, plain, false, self));
}

static void vanish(world_rank *r) {
  char data[16] = {0};
  nbc_op op;
  memset(&op, 0, sizeof op);
  if (r->t->rank == 1) {
    CHECK(nbc_send(r->t, data, 1, 0, 1) == NBC_OK);
    return; /* and is gone */
  }
  const nbc_status posted =
      nbc_irecv(r->t, data, sizeof data, 1, 2, &op); /* it may be gone already */
  CHECK(posted == NBC_E_PEER || (posted == NBC_OK && nbc_wait(r->t, &op, LIMIT_NS) == NBC_E_PEER));
  CHECK(nbc_recv(r->t, data, sizeof data, 1, 1) == NBC_OK); /* had come whole */
  CHECK(nbc_recv(r->t, data, sizeof data, 1, 1) == NBC_E_PEER);
  CHECK(nbc_send(r->t, data, 1, 1, 1) == NBC_E_PEER);
}
static void a_peer_that_vanishes_fails_its_operations(void) {
  world_rank ranks[2];
  if (!world_run(ranks, 2, plain, true, vanish)) SKIP("no loopback interface");
  world_free(ranks, 2);
}

/* A peer that knows the job's secrets and sends frames that no rank would. */
static void write_nonsense(mad_peer *m) {
  const nic__tcp_head *head = (const nic__tcp_head *)m->user;
  char rest[256];
  CHECK(send(m->fd, head, sizeof *head, MSG_NOSIGNAL) == sizeof *head);
  while (recv(m->fd, rest, sizeof rest, 0) > 0) { /* until it is thrown out */
  }
}
static void nonsense_is_survived(void) {
  enum { KINDS = 12 };
  for (int kind = 0; kind < KINDS; kind++) {
    int sockets[2];
    nic__tcp_head head = mad_head(NIC__TCP_DATA, 0, 100, 1);
    mad_peer mad = {.early_bytes = 1 << 20, .user = &head};
    nbc_transport *t;
    nbc_error error;
    nbc_op op;
    char data[16];
    memset(&op, 0, sizeof op);
    if (kind == 0) head.magic++;
    if (kind == 1) head.size_bytes = UINT64_MAX;
    if (kind == 2) head.kind = NIC__TCP_NOTE;
    if (kind == 3) head.kind = 0;
    if (kind == 4) head.kind = NIC__TCP_KINDS;
    if (kind == 5) head.consumed_bytes = 1;               /* frees what was never spent */
    if (kind == 6) head.kind = NIC__TCP_GRANT;            /* nothing was announced */
    if (kind == 7) head.kind = NIC__TCP_GRANT, head.slot = UINT32_MAX;
    if (kind == 8) head.kind = NIC__TCP_GRANTED;          /* nothing was granted */
    if (kind == 9) head.tag = 1, head.size_bytes = 60000; /* beyond what was granted */
    if (kind == 10) head.magic = 0;
    if (kind == 11) head.kind = NIC__TCP_NOTE | NIC__TCP_ARRIVED, head.size_bytes = 0;
    if (!mad_start(&mad, sockets, write_nonsense)) SKIP("no loopback interface");
    const nic_tcp_desc desc = {.rank = 0, .size = 2, .sockets = sockets, .max_early_bytes = 50000};
    CHECK(nic_tcp_create(&desc, &t, &error) == NBC_OK);
    const nbc_status posted = nbc_irecv(t, data, sizeof data, 1, 0, &op);
    CHECK(posted == NBC_E_PEER || (posted == NBC_OK && nbc_wait(t, &op, LIMIT_NS) == NBC_E_PEER));
    CHECK(nic_tcp_destroy(t) == NBC_OK);
    pthread_join(mad.thread, NULL);
  }
}

/* Somebody at the other end who is not of the job: hellos that are wrong, or none. */
static void strangers_are_no_peers(void) {
  for (int kind = 0; kind < 5; kind++) {
    int pair[2];
    if (!sockets_pair(SOCK_STREAM, pair)) SKIP("no loopback interface");
    const int sockets[2] = {-1, pair[0]};
    const nic_tcp_desc desc = {
        .rank = 0, .size = 2, .sockets = sockets, .connect_limit_ns = 50000000};
    nic__hello hello;
    nbc_transport *t;
    nbc_error error;
    memset(&hello, 0, sizeof hello);
    hello.magic = kind == 0 ? 0 : NIC__MEET_MAGIC;
    hello.rank = kind == 1 ? 5 : 1;
    hello.size = kind == 2 ? 3 : 2;
    if (kind != 3) memset(hello.job, 0, sizeof hello.job); /* another job */
    if (kind < 4) CHECK(send(pair[1], &hello, sizeof hello, 0) == sizeof hello);
    const nbc_status status = nic_tcp_create(&desc, &t, &error);
    CHECK(status == (kind < 4 ? NBC_E_PEER : NBC_E_TIMEOUT) && t == NULL);
    if (kind == 4) CHECK(strstr(error.text, "no hello") != NULL);
    close(pair[1]);
  }
  const nic_tcp_desc bad = {.rank = 3, .size = 2};
  nbc_transport *t;
  nbc_error error;
  CHECK(nic_tcp_create(&bad, &t, &error) == NBC_E_INVAL &&
        nic_tcp_create(NULL, &t, NULL) == NBC_E_INVAL);
  CHECK(nic_tcp_stats_of(NULL).sent_count == 0 && nic_tcp_drain(NULL, 1) == NBC_E_INVAL);
}

/* A transport of another kind is refused, whatever is done with it; one of this kind that somebody wraps is not. */
static void others_are_refused(void) {
  const nic_tcp_desc alone = {.size = 1};
  nbc_transport *other, *t, wrapped;
  nbc_error error;
  CHECK(nbc_null_create(0, 2, &other) == NBC_OK);
  CHECK(nic_tcp_drain(other, 1) == NBC_E_INVAL && nic_tcp_confirm(other, 1) == NBC_E_INVAL);
  CHECK(nic_tcp_close(other, 1, &error) == NBC_E_INVAL && strstr(error.text, "nic_tcp_create") != NULL);
  CHECK(nic_tcp_stats_of(other).sent_count == 0 && nic_tcp_destroy(other) == NBC_E_INVAL);
  CHECK(nbc_send(other, "", 1, 1, 1) == NBC_OK); /* it is still there */
  nbc_transport_destroy(other);
  CHECK(nic_tcp_create(&alone, &t, &error) == NBC_OK);
  wrapped = *t;
  CHECK(nic_tcp_drain(&wrapped, 1) == NBC_OK && nic_tcp_destroy(&wrapped) == NBC_OK);
}

/* Early messages above the limit wait at their sender, and are not lost. */
static void late(world_rank *r) {
  enum { COUNT = 40, BYTES = 50000 };
  static unsigned char out[BYTES], in[BYTES];
  char word = 0;
  if (r->t->rank == 0) {
    fill(out, BYTES, 1);
    for (int i = 0; i < COUNT; i++) CHECK(nbc_send(r->t, out, BYTES, 1, (uint64_t)i) == NBC_OK);
    CHECK(nbc_recv(r->t, &word, 1, 1, 0) == NBC_OK);
  } else {
    for (int i = 0; i < COUNT; i++)
      CHECK(nbc_recv(r->t, in, BYTES, 0, (uint64_t)i) == NBC_OK && is_filled(in, BYTES, 1));
    CHECK(nbc_send(r->t, &word, 1, 0, 0) == NBC_OK);
  }
}
static void early_messages_have_a_limit(void) {
  world_rank ranks[2];
  const nic_tcp_desc desc = {.max_early_bytes = 60000};
  if (!world_run(ranks, 2, desc, false, late)) SKIP("no loopback interface");
}

static void ring(world_rank *r) {
  const int next = (r->t->rank + 1) % r->t->size, last = (r->t->rank + r->t->size - 1) % r->t->size;
  uint64_t token = (uint64_t)r->t->rank, got = 99;
  for (int i = 0; i < r->t->size; i++) {
    nbc_op op;
    memset(&op, 0, sizeof op);
    CHECK(nbc_irecv(r->t, &got, sizeof got, last, 5, &op) == NBC_OK);
    CHECK(nbc_send(r->t, &token, sizeof token, next, 5) == NBC_OK &&
          nbc_wait(r->t, &op, LIMIT_NS) == NBC_OK);
    token = got;
  }
  CHECK(token == (uint64_t)r->t->rank); /* went round */
}
static void *ring_main(void *arg) {
  world_rank *r = (world_rank *)arg;
  r->status = nic_tcp_create(&r->desc, &r->t, &r->error);
  if (r->status == NBC_OK) ring(r);
  nic_tcp_destroy(r->t);
  return NULL;
}
/* Ports that were free a moment ago; another program may take one, so a few tries. */
static void ranks_meet_by_address(void) {
  int pair[2];
  if (!sockets_pair(SOCK_STREAM, pair)) SKIP("no loopback interface");
  close(pair[0]), close(pair[1]);
  for (int attempt = 0; attempt < 5; attempt++) {
    static char text[3][32];
    const char *addresses[3] = {text[0], text[1], text[2]};
    pthread_t threads[3];
    world_rank ranks[3];
    memset(ranks, 0, sizeof ranks);
    for (int i = 0; i < 3; i++) {
      struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
      socklen_t at_bytes = sizeof at;
      const int fd = socket(AF_INET, SOCK_STREAM, 0);
      if (bind(fd, (struct sockaddr *)&at, sizeof at) != 0 ||
          getsockname(fd, (struct sockaddr *)&at, &at_bytes) != 0)
        SKIP("no loopback interface");
      close(fd);
      snprintf(text[i], sizeof text[i], i == 1 ? "localhost:%d" : "127.0.0.1:%d",
               ntohs(at.sin_port));
      const nic_tcp_desc desc = {
          .rank = i, .size = 3, .addresses = addresses, .connect_limit_ns = 10000000000};
      ranks[i].desc = desc;
    }
    for (int i = 2; i >= 0; i--) pthread_create(&threads[i], NULL, ring_main, &ranks[i]);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    if (ranks[0].status == NBC_OK && ranks[1].status == NBC_OK && ranks[2].status == NBC_OK) return;
    for (int i = 0; i < 3; i++)
      printf("  attempt %d, rank %d: %s\n", attempt, i, ranks[i].error.text);
  }
  CHECK(!"ranks met");
}
static void addresses_are_checked(void) {
  const char *const bad[2] = {"nowhere", "127.0.0.1:x"}, *const own[2] = {"127.0.0.1:0",
                                                                          "no-such-host.invalid:1"};
  nic_tcp_desc desc = {.rank = 0, .size = 2, .addresses = bad, .connect_limit_ns = 1000000};
  nbc_transport *t;
  nbc_error error;
  CHECK(nic_tcp_create(&desc, &t, &error) == NBC_E_INVAL && strstr(error.text, "host:port"));
  desc.rank = 1;
  CHECK(nic_tcp_create(&desc, &t, &error) == NBC_E_INVAL && strstr(error.text, "127.0.0.1:x"));
  const char *const beyond[2] = {"127.0.0.1:65537", "127.0.0.1:-1"};
  desc.addresses = beyond;
  for (desc.rank = 0; desc.rank < 2; desc.rank++)
    CHECK(nic_tcp_create(&desc, &t, &error) == NBC_E_INVAL && strstr(error.text, "port: 0 to 65535"));
  desc.rank = 0;
  desc.addresses = own;
  CHECK(nic_tcp_create(&desc, &t, &error) == NBC_E_TIMEOUT &&
        strstr(error.text, "did not connect"));
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(messages_of_all_sizes_cross);
  RUN(messages_stay_in_order_per_tag);
  RUN(long_messages_are_cut_and_receives_cancelled);
  RUN(a_rank_sends_to_itself);
  RUN(a_peer_that_vanishes_fails_its_operations);
  RUN(nonsense_is_survived);
  RUN(strangers_are_no_peers);
  RUN(others_are_refused);
  RUN(early_messages_have_a_limit);
  RUN(ranks_meet_by_address);
  RUN(addresses_are_checked);
  return TEST_END();
}
