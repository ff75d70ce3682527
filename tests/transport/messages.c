/* Every message arrives, whole, once, in order: all protocols, any size, any number of ranks, with and
   without the DMA thread, between threads and between processes. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#include "tests/test.h"
#include <sched.h>
#include <signal.h>
#include <unistd.h>

static nbc_clock clock_of_tests;

static nbc_threads *world_of(int size, nbc_protocol protocol, bool dma) {
  nbc_threads_desc desc = {0};
  nbc_threads *world = NULL;
  desc.size = size;
  desc.protocol = protocol;
  desc.dma = dma;
  desc.clock = &clock_of_tests;
  CHECK(nbc_threads_create(&desc, &world) == NBC_OK);
  return world;
}

static unsigned char byte_of(uint64_t seed, uint64_t i) {
  uint64_t z = (seed + i) * 0x9E3779B97F4A7C15u;
  return (unsigned char)(z >> 56);
}

static void fill(unsigned char *data, uint64_t bytes, uint64_t seed) {
  for (uint64_t i = 0; i < bytes; i++) data[i] = byte_of(seed, i);
}

static bool filled(const unsigned char *data, uint64_t bytes, uint64_t seed) {
  for (uint64_t i = 0; i < bytes; i++)
    if (data[i] != byte_of(seed, i)) return false;
  return true;
}

/* Drives several ranks from one thread until op is finished. */
static nbc_status drive(nbc_threads *world, nbc_op *op) {
  int size = nbc_threads_desc_of(world).size;
  for (long i = 0; i < 200000000 && !op->finished; i++) {
    for (int r = 0; r < size; r++) {
      nbc_transport *t = nbc_threads_rank(world, r);
      nbc_status status = t->progress(t->ctx);
      if (status < 0) return status;
    }
    if (i > 1000) sched_yield();
  }
  return op->finished ? op->status : NBC_E_TIMEOUT;
}

static const nbc_protocol protocols[] = {NBC_PROTOCOL_AUTO, NBC_PROTOCOL_EAGER, NBC_PROTOCOL_PIPELINED,
                                         NBC_PROTOCOL_DIRECT_READ};

/* ---- one thread drives all ranks: exact, repeatable ------------------------------------------------ */
static void every_size_arrives_whole(void) {
  static const uint64_t sizes[] = {0, 1, 7, 8191, 8192, 8193, 65535, 65536, 65537, 131072, 300001, 3000000};
  unsigned char *out = malloc(3000000), *in = malloc(3000001);
  for (int k = 0; k < 8; k++) {
    nbc_threads *world = world_of(2, protocols[k / 2], k % 2);
    nbc_transport *a = nbc_threads_rank(world, 0), *b = nbc_threads_rank(world, 1);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
      for (int late = 0; late < 2; late++) { /* receive posted before, or after the message came */
        nbc_op send = {0}, recv = {0};
        fill(out, sizes[i], i + 1);
        memset(in, 0x5A, sizes[i] + 1);
        if (!late) CHECK(nbc_irecv(b, in, sizes[i], 0, 9, &recv) == NBC_OK);
        CHECK(nbc_isend(a, out, sizes[i], 1, 9, &send) == NBC_OK);
        if (late) {
          for (int n = 0; n < 50; n++) b->progress(b->ctx);
          CHECK(nbc_irecv(b, in, sizes[i], 0, 9, &recv) == NBC_OK);
        }
        CHECK(!send.finished && !recv.finished); /* completion only from progress */
        CHECK(drive(world, &recv) == NBC_OK && drive(world, &send) == NBC_OK);
        CHECK(recv.size_bytes == sizes[i] && recv.peer == 0 && send.size_bytes == sizes[i]);
        CHECK(filled(in, sizes[i], i + 1) && in[sizes[i]] == 0x5A);
      }
    nbc_threads_destroy(world);
  }
  free(out), free(in);
}

static void same_tag_matches_in_posting_order(void) {
  enum { COUNT = 300 }; /* more than a ring of packets and a ring of jobs hold */
  static nbc_op send[COUNT], recv[COUNT];
  static uint64_t out[COUNT], in[COUNT];
  for (int k = 0; k < 8; k++) {
    nbc_threads *world = world_of(2, protocols[k / 2], k % 2);
    nbc_transport *a = nbc_threads_rank(world, 0), *b = nbc_threads_rank(world, 1);
    memset(send, 0, sizeof send), memset(recv, 0, sizeof recv);
    for (int i = 0; i < COUNT; i++) {
      out[i] = (uint64_t)i;
      CHECK(nbc_isend(a, &out[i], sizeof out[i], 1, 3, &send[i]) == NBC_OK);
      if (i % 3 == 0) b->progress(b->ctx);
      if (i >= COUNT / 2)
        CHECK(nbc_irecv(b, &in[i - COUNT / 2], sizeof in[0], 0, 3, &recv[i - COUNT / 2]) == NBC_OK);
    }
    for (int i = COUNT / 2; i < COUNT; i++) CHECK(nbc_irecv(b, &in[i], sizeof in[0], 0, 3, &recv[i]) == NBC_OK);
    for (int i = 0; i < COUNT; i++) CHECK(drive(world, &recv[i]) == NBC_OK && in[i] == (uint64_t)i);
    for (int i = 0; i < COUNT; i++) CHECK(drive(world, &send[i]) == NBC_OK);
    nbc_threads_destroy(world);
  }
}

/* A receive for a later message must not wait for those in front of it that nobody asked for. */
static void other_tags_do_not_block(void) {
  enum { COUNT = 100 };
  static nbc_op send[COUNT + 1], recv[COUNT];
  static char out[20000], in[20000];
  for (int k = 0; k < 8; k++) {
    nbc_threads *world = world_of(2, protocols[k / 2], k % 2);
    nbc_transport *a = nbc_threads_rank(world, 0), *b = nbc_threads_rank(world, 1);
    nbc_op wanted = {0};
    memset(send, 0, sizeof send), memset(recv, 0, sizeof recv);
    CHECK(nbc_irecv(b, in, sizeof in, 0, 2, &wanted) == NBC_OK);
    for (int i = 0; i < COUNT; i++) CHECK(nbc_isend(a, out, sizeof out, 1, 1, &send[i]) == NBC_OK);
    CHECK(nbc_isend(a, out, sizeof out, 1, 2, &send[COUNT]) == NBC_OK);
    CHECK(drive(world, &wanted) == NBC_OK);
    for (int i = 0; i < COUNT; i++) CHECK(nbc_irecv(b, in, sizeof in, 0, 1, &recv[i]) == NBC_OK);
    for (int i = 0; i < COUNT; i++) CHECK(drive(world, &recv[i]) == NBC_OK);
    for (int i = 0; i <= COUNT; i++) CHECK(drive(world, &send[i]) == NBC_OK);
    nbc_threads_destroy(world);
  }
}

static void any_peer_takes_the_oldest(void) {
  nbc_threads *world = world_of(3, NBC_PROTOCOL_AUTO, false);
  nbc_transport *t[3];
  nbc_op send[4] = {{0}}, recv[4] = {{0}};
  int out[4] = {10, 11, 12, 13}, in[4] = {0};
  for (int i = 0; i < 3; i++) t[i] = nbc_threads_rank(world, i);
  CHECK(nbc_isend(t[2], &out[0], sizeof(int), 0, 5, &send[0]) == NBC_OK);
  t[0]->progress(t[0]->ctx); /* 2's message is here before 1's */
  CHECK(nbc_isend(t[1], &out[1], sizeof(int), 0, 5, &send[1]) == NBC_OK);
  t[0]->progress(t[0]->ctx);
  CHECK(nbc_irecv(t[0], &in[0], sizeof(int), NBC_ANY_PEER, 5, &recv[0]) == NBC_OK);
  CHECK(nbc_irecv(t[0], &in[1], sizeof(int), NBC_ANY_PEER, 5, &recv[1]) == NBC_OK);
  CHECK(drive(world, &recv[0]) == NBC_OK && recv[0].peer == 2 && in[0] == 10);
  CHECK(drive(world, &recv[1]) == NBC_OK && recv[1].peer == 1 && in[1] == 11);
  /* posted first: an any-peer receive, then one for peer 1; peer 1's first message is for the first */
  CHECK(nbc_irecv(t[0], &in[2], sizeof(int), NBC_ANY_PEER, 5, &recv[2]) == NBC_OK);
  CHECK(nbc_irecv(t[0], &in[3], sizeof(int), 1, 5, &recv[3]) == NBC_OK);
  CHECK(nbc_isend(t[1], &out[2], sizeof(int), 0, 5, &send[2]) == NBC_OK);
  CHECK(nbc_isend(t[1], &out[3], sizeof(int), 0, 5, &send[3]) == NBC_OK);
  CHECK(drive(world, &recv[2]) == NBC_OK && in[2] == 12 && drive(world, &recv[3]) == NBC_OK && in[3] == 13);
  for (int i = 0; i < 4; i++) CHECK(drive(world, &send[i]) == NBC_OK);
  nbc_threads_destroy(world);
}

static void short_receive_is_truncated(void) {
  static const uint64_t rooms[] = {0, 1, 1000, 65536, 65537, 199999};
  unsigned char *out = malloc(200000), *in = malloc(200000);
  fill(out, 200000, 77);
  for (int k = 0; k < 8; k++) {
    nbc_threads *world = world_of(2, protocols[k / 2], k % 2);
    nbc_transport *a = nbc_threads_rank(world, 0), *b = nbc_threads_rank(world, 1);
    for (size_t i = 0; i < 2 * sizeof rooms / sizeof *rooms; i++) {
      uint64_t room = rooms[i / 2];
      nbc_op send = {0}, recv = {0};
      memset(in, 0x5A, 200000);
      if (i % 2) CHECK(nbc_irecv(b, in, room, 0, 1, &recv) == NBC_OK);
      CHECK(nbc_isend(a, out, 200000, 1, 1, &send) == NBC_OK);
      for (int n = 0; n < 20; n++) b->progress(b->ctx);
      if (!(i % 2)) CHECK(nbc_irecv(b, in, room, 0, 1, &recv) == NBC_OK);
      CHECK(drive(world, &recv) == NBC_E_TRUNCATED);
      CHECK(drive(world, &send) == NBC_OK);
      CHECK(recv.size_bytes == room && filled(in, room, 77) && in[room] == 0x5A);
    }
    nbc_threads_destroy(world);
  }
  free(out), free(in);
}

static void only_unmatched_receives_cancel(void) {
  nbc_threads *world = world_of(2, NBC_PROTOCOL_DIRECT_READ, false);
  nbc_transport *a = nbc_threads_rank(world, 0), *b = nbc_threads_rank(world, 1);
  nbc_op send = {0}, r1 = {0}, r2 = {0}, r3 = {0};
  int out = 42, in1 = 0, in2 = 0, in3 = 0;
  CHECK(nbc_irecv(b, &in1, sizeof in1, 0, 1, &r1) == NBC_OK);
  CHECK(nbc_irecv(b, &in2, sizeof in2, 0, 1, &r2) == NBC_OK);
  CHECK(nbc_irecv(b, &in3, sizeof in3, NBC_ANY_PEER, 8, &r3) == NBC_OK);
  CHECK(b->cancel(b->ctx, &r1) == NBC_OK && !r1.finished);
  CHECK(b->cancel(b->ctx, &r3) == NBC_OK);
  CHECK(b->cancel(b->ctx, &r1) == NBC_E_STATE); /* once is enough */
  CHECK(drive(world, &r1) == NBC_E_CANCELLED && drive(world, &r3) == NBC_E_CANCELLED);
  CHECK(nbc_isend(a, &out, sizeof out, 1, 1, &send) == NBC_OK);
  CHECK(a->cancel(a->ctx, &send) == NBC_E_STATE);
  b->progress(b->ctx); /* the message goes to the second receive */
  CHECK(b->cancel(b->ctx, &r2) == NBC_E_STATE);
  CHECK(drive(world, &r2) == NBC_OK && in2 == 42 && in1 == 0);
  CHECK(drive(world, &send) == NBC_OK);
  nbc_threads_destroy(world);
}

static void bad_arguments_are_refused(void) {
  nbc_threads *world = world_of(2, NBC_PROTOCOL_AUTO, false);
  nbc_transport *t = nbc_threads_rank(world, 0);
  nbc_op op = {0};
  char c = 0;
  CHECK(nbc_isend(NULL, &c, 1, 1, 0, &op) == NBC_E_INVAL);
  CHECK(nbc_isend(t, &c, 1, 1, 0, NULL) == NBC_E_INVAL);
  CHECK(nbc_isend(t, NULL, 1, 1, 0, &op) == NBC_E_INVAL);
  CHECK(nbc_isend(t, &c, 1, 2, 0, &op) == NBC_E_PEER);
  CHECK(nbc_isend(t, &c, 1, NBC_ANY_PEER, 0, &op) == NBC_E_PEER);
  CHECK(nbc_irecv(t, &c, 1, -2, 0, &op) == NBC_E_PEER);
  CHECK(nbc_send(t, &c, 1, 9, 0) == NBC_E_PEER);
  CHECK(nbc_recv(t, NULL, 1, 0, 0) == NBC_E_INVAL);
  CHECK(nbc_test(t, NULL) == NBC_E_INVAL && nbc_wait(t, NULL, 0) == NBC_E_INVAL);
  CHECK(nbc_threads_rank(world, 2) == NULL && nbc_threads_rank(world, -1) == NULL);
  nbc_threads_destroy(world);
  for (int i = 0; i < 7; i++) {
    nbc_threads_desc desc = {0};
    desc.clock = &clock_of_tests;
    if (i == 0) desc.size = -1;
    if (i == 1) desc.size = 1 << 20;
    if (i == 2) desc.protocol = (nbc_protocol)9;
    if (i == 3) desc.link_bytes_per_s = -1;
    if (i == 4) desc.link_latency_ns = -1;
    if (i == 5) desc.link_bytes_per_s = NAN;
    if (i == 6) desc.pipeline_depth = -3;
    world = (nbc_threads *)&desc;
    CHECK(nbc_threads_create(&desc, &world) == NBC_E_INVAL && world == NULL);
  }
  nbc_threads_destroy(NULL);
}

static void wait_gives_up_when_told(void) {
  nbc_threads *world = world_of(2, NBC_PROTOCOL_AUTO, false);
  nbc_transport *a = nbc_threads_rank(world, 0), *b = nbc_threads_rank(world, 1);
  nbc_op recv = {0}, send = {0};
  int in = 0, out = 5;
  CHECK(nbc_irecv(b, &in, sizeof in, 0, 1, &recv) == NBC_OK);
  CHECK(nbc_test(b, &recv) == NBC_PENDING);
  CHECK(nbc_wait(b, &recv, 2000000) == NBC_E_TIMEOUT && !recv.finished);
  CHECK(nbc_isend(a, &out, sizeof out, 1, 1, &send) == NBC_OK); /* the receive is still posted */
  CHECK(nbc_wait(b, &recv, 0) == NBC_OK && in == 5 && nbc_test(b, &recv) == NBC_OK);
  CHECK(nbc_wait(a, &send, 0) == NBC_OK);
  nbc_threads_destroy(world);
}

/* A completion may post the next operation: a chain of messages that nobody else drives. */
typedef struct chain { nbc_transport *t; nbc_op op; uint64_t value; int left; bool in_post; } chain;
static void chain_next(nbc_op *op) {
  chain *c = op->user;
  CHECK(!c->in_post);
  if (--c->left <= 0) return;
  c->in_post = true;
  if (c->t->rank == 0) CHECK(nbc_isend(c->t, &c->value, sizeof c->value, 1, 1, op) == NBC_OK);
  else CHECK(nbc_irecv(c->t, &c->value, sizeof c->value, 0, 1, op) == NBC_OK);
  c->in_post = false;
}
static void completions_may_post(void) {
  for (int k = 0; k < 8; k++) {
    nbc_threads *world = world_of(2, protocols[k / 2], k % 2);
    static chain c[2];
    memset(c, 0, sizeof c);
    for (int i = 0; i < 2; i++) {
      c[i].t = nbc_threads_rank(world, i);
      c[i].left = 1001;
      c[i].op.done = chain_next;
      c[i].op.user = &c[i];
      chain_next(&c[i].op);
    }
    for (long n = 0; n < 100000000 && (c[0].left || c[1].left); n++)
      for (int i = 0; i < 2; i++) c[i].t->progress(c[i].t->ctx);
    CHECK(c[0].left == 0 && c[1].left == 0);
    nbc_threads_destroy(world);
  }
}

/* ---- one thread per rank --------------------------------------------------------------------------- */
/* Every rank sends random messages to every rank (itself too), receives posted in the sender's order
   per (peer, tag), waits in another order. Sizes and tags follow from (seed, src, dst, index). */
enum { TRAFFIC_COUNT = 24, TRAFFIC_TAGS = 3 };
typedef struct traffic { uint64_t seed; int bad[16]; uint64_t max_bytes; } traffic;

static uint64_t draw(uint64_t seed, int src, int dst, int index, int what) {
  uint64_t z = seed ^ ((uint64_t)src << 48) ^ ((uint64_t)dst << 32) ^ ((uint64_t)index << 8) ^ (uint64_t)what;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}
static uint64_t draw_size(const traffic *tr, int src, int dst, int index) {
  uint64_t z = draw(tr->seed, src, dst, index, 1), bits = z % 19;
  return bits == 0 ? 0 : (z >> 20) % ((uint64_t)1 << bits) % (tr->max_bytes + 1);
}

static nbc_status traffic_rank(nbc_transport *t, void *user) {
  traffic *tr = user;
  int total = t->size * TRAFFIC_COUNT, me = t->rank;
  nbc_op *send = calloc((size_t)total, sizeof *send), *recv = calloc((size_t)total, sizeof *recv);
  unsigned char **out = calloc((size_t)total, sizeof *out), **in = calloc((size_t)total, sizeof *in);
  for (int i = 0; i < TRAFFIC_COUNT; i++)
    for (int peer = 0; peer < t->size; peer++) {
      int k = peer * TRAFFIC_COUNT + i;
      uint64_t s = draw_size(tr, me, peer, i), n = draw_size(tr, peer, me, i);
      out[k] = malloc(s + 1), in[k] = malloc(n + 1);
      fill(out[k], s, draw(tr->seed, me, peer, i, 2));
      if (i % 2) nbc_irecv(t, in[k], n, peer, draw(tr->seed, peer, me, i, 3) % TRAFFIC_TAGS, &recv[k]);
      nbc_isend(t, out[k], s, peer, draw(tr->seed, me, peer, i, 3) % TRAFFIC_TAGS, &send[k]);
      if (!(i % 2)) nbc_irecv(t, in[k], n, peer, draw(tr->seed, peer, me, i, 3) % TRAFFIC_TAGS, &recv[k]);
    }
  for (int k = total; k-- > 0;) {
    int peer = k / TRAFFIC_COUNT, i = k % TRAFFIC_COUNT;
    uint64_t n = draw_size(tr, peer, me, i);
    if (nbc_wait(t, &recv[k], 0) != NBC_OK || recv[k].size_bytes != n || recv[k].peer != peer ||
        !filled(in[k], n, draw(tr->seed, peer, me, i, 2)))
      tr->bad[me]++;
  }
  for (int k = 0; k < total; k++)
    if (nbc_wait(t, &send[k], 0) != NBC_OK) tr->bad[me]++;
  for (int k = 0; k < total; k++) free(out[k]), free(in[k]);
  free(out), free(in), free(send), free(recv);
  return NBC_OK;
}

static void random_traffic(int size, int k, uint64_t fragment_bytes) {
  nbc_threads_desc desc = {0};
  nbc_threads *world = NULL;
  traffic tr = {0};
  desc.size = size;
  desc.protocol = protocols[k / 2];
  desc.large = test_below(2) ? NBC_PROTOCOL_PIPELINED : NBC_PROTOCOL_DIRECT_READ;
  desc.dma = k % 2;
  desc.fragment_bytes = fragment_bytes;
  desc.pipeline_depth = (int)test_below(4);
  desc.link_latency_ns = test_below(2) ? 2000 : 0;
  desc.clock = &clock_of_tests;
  tr.seed = test_rand();
  tr.max_bytes = 200000;
  CHECK(nbc_threads_create(&desc, &world) == NBC_OK);
  CHECK(nbc_threads_run(world, traffic_rank, &tr) == NBC_OK);
  for (int i = 0; i < size; i++) CHECK(tr.bad[i] == 0);
  nbc_threads_destroy(world);
}

static void random_traffic_of_1_to_4_ranks(void) {
  for (int size = 1; size <= 4; size++)
    for (int k = 0; k < 8; k++) random_traffic(size, k, 0);
}
static void random_traffic_of_5_to_8_ranks(void) {
  for (int size = 5; size <= 8; size++) {
    const int first = (int)test_below(8); /* of fewer rounds */
    for (int k = 0; k < test_rounds(8); k++) random_traffic(size, (first + k) % 8, 0);
  }
}
static void random_traffic_in_small_fragments(void) {
  for (int k = 0; k < 8; k++) random_traffic(3, k, 1 + test_below(999));
}

static nbc_status rank_that_fails(nbc_transport *t, void *user) {
  (void)user;
  char c;
  return t->rank == 1 ? NBC_E_RANGE : nbc_recv(t, &c, 1, 1, 1); /* from the one that never sends */
}
static void failing_rank_leaves_nobody_waiting(void) {
  nbc_threads *world = world_of(3, NBC_PROTOCOL_AUTO, false);
  CHECK(nbc_threads_run(world, rank_that_fails, NULL) == NBC_E_RANGE);
  nbc_threads_destroy(world);
}

/* ---- one process per rank --------------------------------------------------------------------------- */
static nbc_threads *processes_of(int size, nbc_protocol protocol, uint64_t fragment_bytes) {
  nbc_threads_desc desc = {0};
  nbc_threads *world = NULL;
  desc.size = size;
  desc.protocol = protocol;
  desc.fragment_bytes = fragment_bytes;
  desc.processes = true;
  desc.clock = &clock_of_tests;
  CHECK(nbc_threads_create(&desc, &world) == NBC_OK);
  return world;
}

static nbc_status traffic_process(nbc_transport *t, void *user) {
  traffic *tr = user; /* a copy: the verdict goes back as the status */
  traffic_rank(t, user);
  return tr->bad[t->rank] == 0 ? NBC_OK : NBC_E_MISMATCH;
}
static void random_traffic_of_processes(void) {
  for (int size = 1; size <= 5; size++)
    for (int round = 0, first = (int)test_below(3); round < test_rounds(3); round++) {
      const int k = (first + round) % 3;
      nbc_threads *world = processes_of(size, protocols[k], k == 2 ? 1 + test_below(70000) : 0);
      traffic tr = {0};
      tr.max_bytes = 200000;
      for (int run = 0; run < 2; run++) {
        tr.seed = test_rand();
        CHECK(nbc_threads_run(world, traffic_process, &tr) == NBC_OK);
      }
      nbc_threads_destroy(world);
    }
}

static nbc_status process_that_dies(nbc_transport *t, void *user) {
  char c;
  if (t->rank == 1) {
    if (*(int *)user == 0) raise(SIGKILL);
    else _exit(0); /* without having done its part */
  }
  return nbc_recv(t, &c, 1, 1, 1);
}
static void dying_process_leaves_nobody_waiting(void) {
  for (int how = 0; how < 2; how++) {
    nbc_threads *world = processes_of(3, NBC_PROTOCOL_AUTO, 0);
    CHECK(nbc_threads_run(world, process_that_dies, &how) == NBC_E_PEER);
    CHECK(nbc_threads_run(world, rank_that_fails, NULL) == NBC_E_RANGE); /* as new */
    nbc_threads_destroy(world);
  }
}

static nbc_status leave_a_message(nbc_transport *t, void *user) {
  int out = *(int *)user, in = -1;
  nbc_op op = {0};
  if (t->rank == 1) return nbc_recv(t, &in, sizeof in, 0, 2) || in != 77 ? NBC_E_MISMATCH : NBC_OK;
  nbc_isend(t, &out, sizeof out, 1, 1, &op); /* never received */
  out = 77;
  return nbc_send(t, &out, sizeof out, 1, 2);
}
static void leftovers_do_not_reach_the_next_run(void) {
  nbc_threads *world = processes_of(2, NBC_PROTOCOL_AUTO, 0);
  for (int i = 0; i < 20; i++) CHECK(nbc_threads_run(world, leave_a_message, &i) == NBC_OK);
  nbc_threads_destroy(world);
}

static void processes_refuse_what_they_cannot_do(void) {
  nbc_threads_desc desc = {0};
  nbc_threads *world;
  desc.processes = desc.dma = true;
  CHECK(nbc_threads_create(&desc, &world) == NBC_E_INVAL);
  desc.dma = false;
  desc.protocol = NBC_PROTOCOL_DIRECT_READ;
  CHECK(nbc_threads_create(&desc, &world) == NBC_E_INVAL);
  desc.protocol = NBC_PROTOCOL_AUTO;
  CHECK(nbc_threads_create(&desc, &world) == NBC_OK);
  CHECK(nbc_threads_desc_of(world).large == NBC_PROTOCOL_PIPELINED);
  CHECK_STR(nbc_threads_rank(world, 0)->name, "processes");
  nbc_threads_destroy(world);
}

int main(int argc, char **argv) {
  nbc_clock_desc desc = {0};
  desc.source = NBC_CLOCK_RAW;
  TEST_INIT(argc, argv);
  if (nbc_clock_create(&desc, &clock_of_tests)) return 1;
  RUN(every_size_arrives_whole);
  RUN(same_tag_matches_in_posting_order);
  RUN(other_tags_do_not_block);
  RUN(any_peer_takes_the_oldest);
  RUN(short_receive_is_truncated);
  RUN(only_unmatched_receives_cancel);
  RUN(bad_arguments_are_refused);
  RUN(wait_gives_up_when_told);
  RUN(completions_may_post);
  RUN(random_traffic_of_1_to_4_ranks);
  RUN(random_traffic_of_5_to_8_ranks);
  RUN(random_traffic_in_small_fragments);
  RUN(failing_rank_leaves_nobody_waiting);
  RUN(random_traffic_of_processes);
  RUN(dying_process_leaves_nobody_waiting);
  RUN(leftovers_do_not_reach_the_next_run);
  RUN(processes_refuse_what_they_cannot_do);
  return TEST_END();
}
