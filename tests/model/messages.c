/* The two-sided layer: every byte to the right receive, in order, early or late, eager or by each of the
   protocols of long messages, with progress in calls or by a simulated worker; the times that arithmetic
   says; and the model as a transport of nbc_overlap.h whose NIC knows the truth. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#include <stdlib.h>
static long block_count; /* of the model: what it has and has not given back */
static void *counted(void *block, bool is_new) {
  block_count += block && is_new;
  return block;
}
#define PM_MALLOC(size_bytes)       counted(malloc(size_bytes), true)
#define PM_REALLOC(old, size_bytes) counted(realloc(old, size_bytes), !(old))
#define PM_FREE(block)              (block_count -= (block) != NULL, free(block))
#define PM_WITH_NBC
#include "tests/model/ptl.h"

/* ---- random traffic: many sizes, tags, orders ---------------------------------------------------- */
enum { MESSAGES = 40, MOST_BYTES = 30000, TAGS = 3 };
static unsigned char pattern_of(int from, int to, int number, size_t at) {
  return (unsigned char)(from * 31 + to * 17 + number * 7 + (int)at);
}
static size_t size_of(int from, int to, int number) { /* both sides know */
  const uint32_t r = (uint32_t)(from * 7919 + to * 104729 + number * 1299709) * 2654435761u >> 8;
  return number % 4 == 0   ? 0
         : number % 4 == 1 ? r % 64
         : number % 4 == 2 ? r % 4096
                           : r % MOST_BYTES;
}
static pm_msg_desc layer; /* of the present run */
static const char *layer_text(void) {
  static const char *const large[] = {"get", "put", "pipelined"}, *const by[] = {"in calls",
                                                                                 "dedicated",
                                                                                 "timer"};
  static char text[64];
  snprintf(text, sizeof text, "%s, %s", large[layer.large], by[layer.by]);
  return text;
}
static void traffic_body(void *unused) {
  pm_msg *msg;
  const int me = pm_rank(), n = pm_size();
  (void)unused;
  CHECK(pm_msg_open(&layer, &msg) == PM_OK);
  pm_msg_op *op = calloc((size_t)(2 * n * MESSAGES), sizeof *op);
  unsigned char *memory = malloc((size_t)(2 * n * MESSAGES) * MOST_BYTES);
  for (int half = 0; half < 2; half++) /* even ranks send first: their messages come unexpected */
    for (int k = 0; k < MESSAGES; k++)
      for (int peer = 0; peer < n; peer++) {
        const int sends = half == (me % 2), slot = (sends * n + peer) * MESSAGES + k;
        unsigned char *buffer = memory + (size_t)slot * MOST_BYTES;
        if (pm_random(pm_world_of(pm_self())) % 8 == 0) pm_compute_ns(2000);
        if (sends) {
          for (size_t i = 0; i < size_of(me, peer, k); i++) buffer[i] = pattern_of(me, peer, k, i);
          CHECK(pm_msg_isend(msg, buffer, size_of(me, peer, k), peer, (uint64_t)(k % TAGS),
                             &op[slot]) == PM_OK);
        } else
          CHECK(pm_msg_irecv(msg, buffer, MOST_BYTES, peer, (uint64_t)(k % TAGS), &op[slot]) ==
                PM_OK);
      }
  for (int i = 0; i < 2 * n * MESSAGES; i++) CHECK(pm_msg_wait(msg, &op[i]) == PM_OK);
  for (int k = 0; k < MESSAGES; k++)
    for (int peer = 0; peer < n; peer++) {
      const int slot = peer * MESSAGES + k;
      size_t bad = 0;
      CHECK(op[slot].size_bytes == size_of(peer, me, k) && op[slot].peer == peer);
      for (size_t i = 0; i < size_of(peer, me, k); i++)
        bad += memory[(size_t)slot * MOST_BYTES + i] != pattern_of(peer, me, k, i);
      CHECK(bad == 0);
    }
  pm_barrier();
  pm_msg_close(msg);
  free(op);
  free(memory);
}
/* Nine ways: three protocols, three kinds of progress. */
static void layer_is(int way) {
  memset(&layer, 0, sizeof layer);
  layer.large = (pm_msg_large)(way % 3);
  layer.by = (pm_msg_progress_by)(way / 3);
  layer.worker_period_ns = 20000;
  layer.fragment_bytes = 5000;
  layer.inflight_count = 2;
}
static uint64_t last_hash;
static void run_layer(int nodes, int per_node, pm_link_model link, double loss_ratio, uint64_t seed,
                      void (*body)(void *)) {
  pm_platform p = pm_platform_bxi2(nodes);
  pm_world_desc desc = {0};
  pm_world *world;
  desc.platform = &p;
  desc.seed = seed;
  desc.link = link;
  p.procs_per_node_count = per_node;
  if (loss_ratio > 0)
    desc.faults.loss_ratio = loss_ratio, desc.faults.delay_ratio = 0.1, desc.faults.delay_ns = 3000,
    p.e2e_retry_ns = 30000, p.e2e_retry_count = 50;
  CHECK(pm_world_create(&desc, &world) == PM_OK && pm_spawn_all(world, body, NULL) == PM_OK);
  const pm_status status = pm_world_run(world);
  CHECK(status == PM_OK);
  if (status) printf("  %s: %s\n", layer_text(), pm_world_error(world));
  CHECK(pm_world_stats(world).sent_bytes == pm_world_stats(world).delivered_bytes);
  last_hash = pm_world_stats(world).hash_id;
  pm_world_destroy(world);
}
static void every_message_reaches_its_receive(void) {
  for (int way = 0; way < 9; way++) {
    layer_is(way);
    run_layer(way % 2 ? 3 : 5, way % 2 ? 2 : 1, way % 4 == 3 ? PM_LINK_LOGGP : PM_LINK_FLOW,
              way % 3 == 1 ? 0.02 : 0, test_rand(), traffic_body);
  }
}
static void the_same_seed_the_same_run(void) {
  for (int way = 0; way < 9; way++) {
    const uint64_t seed = test_rand();
    layer_is(way);
    run_layer(3, 1, PM_LINK_FLOW, 0.02, seed, traffic_body);
    const uint64_t first_hash = last_hash;
    run_layer(3, 1, PM_LINK_FLOW, 0.02, seed, traffic_body);
    CHECK(last_hash == first_hash);
    run_layer(3, 1, PM_LINK_FLOW, 0.02, seed + 1, traffic_body);
    CHECK(last_hash != first_hash);
  }
}

/* ---- every size, expected and unexpected, whole and truncated; what the observer is told -------------- */
typedef struct watched {
  int began[16], ended[16], came[16], on_wire[16], under_way, most_under_way;
  uint64_t ended_bytes;
} watched;
static void watch_transfer(void *user, const pm_msg_transfer *x) {
  watched *w = &((watched *)user)[x->op->is_send];
  if (x->index >= 16) return;
  CHECK(x->index < x->count && x->t_begin_ns <= x->t_end_ns);
  if (x->step == PM_MSG_BEGAN) w->began[x->index]++, w->under_way++;
  if (x->step == PM_MSG_ENDED) w->ended[x->index]++, w->under_way--;
  if (x->step == PM_MSG_CAME) w->came[x->index]++;
  if (x->step == PM_MSG_ENDED || x->step == PM_MSG_CAME) w->ended_bytes += x->size_bytes;
  if (x->step == PM_MSG_ON_WIRE) {
    w->on_wire[x->index]++;
    CHECK(w->began[x->index] == 1 && w->ended[x->index] == 0);
  }
  if (w->under_way > w->most_under_way) w->most_under_way = w->under_way;
}
static const uint64_t edges[] = {0,    1,    4095, 4096,  4097,  4999,
                                 5000, 5001, 9999, 10000, 10001, 27500};
enum { EDGES = sizeof edges / sizeof *edges };
static void check_watched(const watched *w, uint64_t size, int is_send) {
  const int in_pieces = size > 4096 && layer.large == PM_MSG_PIPELINED,
            count = in_pieces ? (int)((size + 4999) / 5000) : 1,
            unseen = !is_send && (size <= 4096 || in_pieces); /* the first comes by itself */
  for (int i = 0; i < 16; i++) {
    CHECK(w->began[i] == (i < count && !(unseen && i == 0)) && w->ended[i] == w->began[i]);
    CHECK(w->came[i] == (unseen && i == 0));
    CHECK(w->on_wire[i] == (size > 0 && w->began[i]));
  }
  CHECK(w->ended_bytes == size && w->under_way == 0);
  if (is_send && in_pieces) CHECK(w->most_under_way == (count < 3 ? 1 : 2)); /* the limit */
}
static void sizes_body(void *unused) {
  static unsigned char out[32768], in[32768];
  pm_msg *msg;
  watched w[2];
  pm_msg_desc desc = layer;
  (void)unused;
  desc.observe = watch_transfer;
  desc.user = w;
  CHECK(pm_msg_open(&desc, &msg) == PM_OK);
  for (int e = 0; e < EDGES; e++)
    for (int late = 0; late < 3;
         late++) { /* sender late, receiver late, receiver late and too small */
      const uint64_t size = edges[e], room = late == 2 ? size / 3 : size;
      pm_msg_op op = {0};
      memset(w, 0, sizeof w);
      pm_barrier();
      if (pm_rank() == !late) pm_compute_ns(30000);
      if (pm_rank() == 1) {
        for (uint64_t i = 0; i < size; i++) out[i] = (unsigned char)(i * 7 + size + (uint64_t)late);
        CHECK(pm_msg_isend(msg, out, size, 0, 1, &op) == PM_OK && pm_msg_wait(msg, &op) == PM_OK);
        if (late < 2) check_watched(&w[1], size, 1);
      } else {
        uint64_t bad = 0;
        memset(in, 0, sizeof in);
        CHECK(pm_msg_irecv(msg, in, room, 1, 1, &op) == PM_OK);
        CHECK(pm_msg_wait(msg, &op) == (room < size ? PM_E_TRUNCATED : PM_OK));
        for (uint64_t i = 0; i < room; i++)
          bad += in[i] != (unsigned char)(i * 7 + size + (uint64_t)late);
        CHECK(bad == 0 && in[room] == 0 && op.size_bytes == room && op.peer == 1);
        if (late < 2) check_watched(&w[0], size, 0);
      }
    }
  pm_barrier();
  pm_msg_close(msg);
}
static void every_size_by_every_protocol(void) {
  for (int way = 0; way < 18; way++) {
    layer_is(way % 9);
    run_layer(2, 1, way < 9 ? PM_LINK_FLOW : PM_LINK_LOGGP, 0, 1, sizes_body);
  }
}

/* More than one Portals operation can move: in pieces, without a byte of data in this run. */
static void huge_body(void *unused) {
  const uint64_t limit = 67108864, size = 2 * limit + 5000;
  char *memory = malloc(size);
  pm_msg *msg;
  pm_msg_op op = {0};
  watched w[2];
  pm_msg_desc desc = layer;
  const int me = pm_rank();
  (void)unused;
  desc.observe = watch_transfer;
  desc.user = w;
  desc.fragment_bytes = desc.overflow_bytes = limit;
  CHECK(pm_msg_open(&desc, &msg) == PM_OK);
  for (int small = 0; small < 2; small++) { /* once into too small a buffer */
    const uint64_t room = small ? limit + 1 : size;
    memset(w, 0, sizeof w);
    pm_barrier();
    const pm_status expected = small && !me ? PM_E_TRUNCATED : PM_OK;
    CHECK((me ? pm_msg_isend(msg, memory, size, 0, 1, &op)
              : pm_msg_irecv(msg, memory, room, 1, 1, &op)) == PM_OK);
    CHECK(pm_msg_wait(msg, &op) == expected && op.size_bytes == (me ? size : room));
    if (small) continue;
    for (int i = 0; i < 3; i++) {
      const int first = i == 0 && !me && layer.large == PM_MSG_PIPELINED;
      CHECK(w[me].began[i] + w[me].came[i] == 1 && w[me].ended[i] + w[me].came[i] == 1);
      CHECK(w[me].came[i] == first && w[me].on_wire[i] == !first);
    }
    CHECK(w[me].ended_bytes == size && w[me].began[3] == 0);
  }
  pm_barrier();
  pm_msg_close(msg);
  free(memory);
}
static void huge_messages_go_in_pieces(void) {
  for (int way = 0; way < 9; way++) {
    pm_platform p = pm_platform_bxi2(2);
    pm_world_desc desc = {0};
    desc.platform = &p;
    desc.no_data = 1;
    layer_is(way);
    run_world(0, huge_body, &desc);
  }
}

/* ---- times that arithmetic says ------------------------------------------------------------------------ */
/* LogGP with L = 5000, o = 300, g = 0, G = 1 ns per byte; a call of the lists takes 100, an event 40, a look
   20. The receiver posts early and waits, the sender starts at 10,000 and waits: when does each return? */
static int64_t returned_ns[2];
static uint64_t truth_bytes;
static void truth_body(void *unused) {
  static char buffer[2][32768];
  pm_msg *msg;
  pm_msg_op op = {0};
  (void)unused;
  CHECK(pm_msg_open(&layer, &msg) == PM_OK);
  const int64_t t0_ns = pm_now_ns();
  if (pm_rank() == 1) {
    CHECK(pm_msg_irecv(msg, buffer[1], truth_bytes, 0, 1, &op) == PM_OK);
  } else {
    pm_compute_ns(10000);
    CHECK(pm_msg_isend(msg, buffer[0], truth_bytes, 1, 1, &op) == PM_OK);
  }
  CHECK(pm_msg_wait(msg, &op) == PM_OK);
  returned_ns[pm_rank()] = pm_now_ns() - t0_ns;
  pm_barrier();
  pm_msg_close(msg);
}
static void run_truth(pm_msg_large large, uint64_t bytes, uint64_t fragment_bytes, int inflight) {
  pm_platform p = pm_platform_bxi2(2);
  pm_world_desc desc = {0};
  p.loggp_latency_ns = 5000;
  p.loggp_overhead_ns = 300;
  p.loggp_gap_ns = 0;
  p.loggp_bytes_per_s = 1e9;
  p.cpu_append_ns = 100;
  p.cpu_event_ns = 40;
  p.cpu_poll_ns = 20;
  desc.platform = &p;
  desc.link = PM_LINK_LOGGP;
  layer_is((int)large);
  layer.fragment_bytes = fragment_bytes;
  layer.inflight_count = inflight;
  truth_bytes = bytes;
  run_world(0, truth_body, &desc);
}
static void loggp_times_are_those_of_the_formulas(void) {
  const int64_t L = 5000, o = 300, append = 100, event = 40, start = 10000;
  const int64_t acked = 2 * event; /* SEND and ACK come together */
  int64_t t_ns;
  run_truth(PM_MSG_GET, 1001, 5000, 1); /* eager: o, then L and 1000 G; the ack takes L */
  CHECK_NEAR(returned_ns[1], start + o + L + 1000 + event, 1);
  CHECK_NEAR(returned_ns[0], start + o + L + 1000 + L + acked, 1);
  /* get: the sender shows its buffer and announces; event, o, L there, L and 20000 G back */
  run_truth(PM_MSG_GET, 20001, 5000, 1);
  t_ns = start + append + o + L + event + o + L;
  CHECK_NEAR(returned_ns[1], t_ns + L + 20000 + event, 1);
  CHECK_NEAR(returned_ns[0], t_ns + L + 20000 + L + event, 1); /* acknowledged */
  /* put: announced; the receiver shows its buffer and answers; the sender puts */
  run_truth(PM_MSG_PUT, 20001, 5000, 1);
  t_ns = start + append + o + L + event + append + o + L + event + o + L + 20000;
  CHECK_NEAR(returned_ns[1], t_ns + event + append, 1);
  CHECK_NEAR(returned_ns[0], t_ns + L + acked, 1);
  /* pipelined, one at a time: 5001 with the announcement, two more of 5001, each waits for an ack */
  run_truth(PM_MSG_PIPELINED, 15003, 5001, 1);
  t_ns = start + append + o + L + 5000 + event + append + o +
         L; /* the answer is here; the ack was before */
  t_ns += event + o + L + 5000 + L;
  t_ns += acked + o + L + 5000;
  CHECK_NEAR(returned_ns[1], t_ns + event + append, 1);
  CHECK_NEAR(returned_ns[0], t_ns + L + acked, 1);
  /* two at once: the third follows the second as soon as the link is free */
  run_truth(PM_MSG_PIPELINED, 15003, 5001, 2);
  t_ns = start + append + o + L + 5000 + event + append + o + L + event + o;
  CHECK_NEAR(returned_ns[1], t_ns + 5001 + L + 5000 + event + append, 1);
}

/* ---- the worker ---------------------------------------------------------------------------------------- */
/* Process 0 sends, 1 receives, both compute without a call and then wait. */
static struct { int64_t compute_ns, computed_ns[2], waited_ns[2]; } beside;
static void beside_body(void *unused) {
  static char buffer[2][1000000];
  pm_msg *msg;
  pm_msg_op op = {0};
  const int me = pm_rank();
  (void)unused;
  CHECK(pm_msg_open(&layer, &msg) == PM_OK);
  CHECK((me ? pm_msg_irecv(msg, buffer[1], sizeof buffer[1], 0, 1, &op)
            : pm_msg_isend(msg, buffer[0], sizeof buffer[0], 1, 1, &op)) == PM_OK);
  const int64_t t1_ns = pm_now_ns();
  pm_msg_compute_ns(msg, beside.compute_ns);
  const int64_t t2_ns = pm_now_ns();
  CHECK(pm_msg_wait(msg, &op) == PM_OK);
  beside.computed_ns[me] = t2_ns - t1_ns;
  beside.waited_ns[me] = pm_now_ns() - t2_ns;
  pm_barrier();
  pm_msg_close(msg);
}
static pm_status run_beside(int by, int large, int64_t compute_ns, int64_t period_ns, int cores) {
  pm_platform p = pm_platform_bxi2(2);
  pm_world_desc desc = {0};
  pm_world *world;
  desc.platform = &p;
  p.cores_per_node_count = cores;
  memset(&layer, 0, sizeof layer);
  layer.by = (pm_msg_progress_by)by;
  layer.large = (pm_msg_large)large;
  layer.worker_period_ns = period_ns;
  beside.compute_ns = compute_ns;
  desc.seed = test_rand();
  CHECK(pm_world_create(&desc, &world) == PM_OK && pm_spawn_all(world, beside_body, NULL) == PM_OK);
  const pm_status status = pm_world_run(world);
  CHECK(status == PM_OK);
  pm_world_destroy(world);
  return status;
}
static void a_worker_moves_messages_while_the_process_computes(void) {
  /* 1 MB takes about 90 us, 200 us of computation hide it, if somebody looks */
  for (int large = 0; large < 3; large++) {
    run_beside(PM_MSG_IN_CALLS, large, 200000, 0, 8);
    CHECK(beside.computed_ns[0] == 200000 && beside.computed_ns[1] == 200000);
    CHECK(beside.waited_ns[1] > 80000);
    run_beside(PM_MSG_DEDICATED, large, 200000, 0, 8); /* computes with 7 of 8 cores */
    CHECK_NEAR(beside.computed_ns[0], 200000 * 8 / 7.0, 1);
    CHECK(beside.computed_ns[0] == beside.computed_ns[1]);
    CHECK(beside.waited_ns[0] <= 20 && beside.waited_ns[1] <= 20);
    run_beside(PM_MSG_TIMER, large, 400000, 5000, 8);
    CHECK(beside.waited_ns[0] <= 20 && beside.waited_ns[1] <= 20);
  }
}
static void a_timer_steals_what_its_looks_cost(void) {
  /* Nothing to do after the first moments: a look per 18 us + 2 us + 20 ns takes 2.02 us from 10 ms. */
  run_beside(PM_MSG_TIMER, PM_MSG_GET, 10000000, 18000, 8);
  const double look_count = 10000000 / 18000.0;
  for (int i = 0; i < 2; i++)
    CHECK_NEAR(beside.computed_ns[i], 10000000 + look_count * 2020, 10000);
  /* a long period: the message waits for the first look, at a random moment within it */
  run_beside(PM_MSG_TIMER, PM_MSG_GET, 3000000, 2000000, 8);
  for (int i = 0; i < 2; i++)
    CHECK(beside.computed_ns[i] > 3002000 && beside.computed_ns[i] < 3015000);
}
static void one_core_body(void *unused) {
  pm_msg *msg;
  pm_msg_desc desc = {0};
  (void)unused;
  desc.by = PM_MSG_DEDICATED;
  CHECK(pm_msg_open(&desc, &msg) == PM_E_INVAL && msg == NULL);
  desc.by = PM_MSG_TIMER;
  desc.large = PM_MSG_PIPELINED;
  desc.fragment_bytes = 300000; /* more than an overflow block */
  CHECK(pm_msg_open(&desc, &msg) == PM_E_INVAL && msg == NULL);
  desc.fragment_bytes = 4096;
  CHECK(pm_msg_open(&desc, &msg) == PM_OK);
  const pm_msg_desc now = pm_msg_desc_of(msg);
  CHECK(now.worker_period_ns == 2000000 && now.inflight_count == 4 && now.eager_bytes == 4096);
  pm_msg_op op = {0};
  char byte;
  CHECK(pm_msg_irecv(msg, &byte, 1, PM_MSG_ANY_PEER, 3, &op) == PM_OK);
  CHECK(pm_msg_cancel(msg, &op) == PM_OK); /* still with us */
  pm_barrier();
  pm_msg_close(msg);
}
static void a_layer_that_cannot_be_is_refused(void) {
  pm_platform p = pm_platform_bxi2(2);
  pm_world_desc desc = {0};
  desc.platform = &p;
  p.cores_per_node_count = 1;
  run_world(0, one_core_body, &desc);
}

static void small_things_body(void *unused) {
  pm_msg *msg;
  pm_msg_op a = {0}, b = {0};
  char text[8] = "abcdefg", in[8] = "";
  static char big[20000], big_in[20000];
  (void)unused;
  CHECK(pm_msg_open(NULL, &msg) == PM_OK);
  CHECK(pm_msg_isend(msg, text, 8, 7, 0, &a) == PM_E_INVAL &&
        pm_msg_irecv(msg, NULL, 8, 0, 0, &a) == PM_E_INVAL);
  if (pm_rank() == 0) {
    CHECK(pm_msg_isend(msg, text, 8, 1, 1, &a) == PM_OK && pm_msg_wait(msg, &a) == PM_OK);
    memset(big, 'b', sizeof big);
    CHECK(pm_msg_isend(msg, big, sizeof big, 1, 2, &a) == PM_OK && pm_msg_wait(msg, &a) == PM_OK);
  } else {
    CHECK(pm_msg_irecv(msg, in, 8, 0, 9, &b) == PM_OK &&
          pm_msg_cancel(msg, &b) == PM_OK); /* withdrawn */
    CHECK(pm_msg_irecv(msg, in, 3, PM_MSG_ANY_PEER, 1, &a) == PM_OK &&
          pm_msg_wait(msg, &a) == PM_E_TRUNCATED);
    CHECK(a.size_bytes == 3 && a.peer == 0 && memcmp(in, "abc\0", 4) == 0 &&
          pm_msg_cancel(msg, &a) == PM_E_STATE);
    CHECK(pm_msg_irecv(msg, big_in, 5000, 0, 2, &a) == PM_OK &&
          pm_msg_wait(msg, &a) == PM_E_TRUNCATED);
    CHECK(a.size_bytes == 5000 && big_in[4999] == 'b' && big_in[5000] == 0);
  }
  pm_barrier();
  pm_msg_close(msg);
}
static void truncation_any_peer_and_cancel(void) { run_world(2, small_things_body, NULL); }

/* ---- the adapter ----------------------------------------------------------------------------------- */
/* A ring exchange with computation; the exact overlap must lie between the bounds, and be what the
   stamps and the computation say. */
static struct {
  size_t bytes;
  int64_t compute_ns;
  int polls, large, by;
  nbc_totals total;
  int64_t comp_ns;
  uint64_t send_count; /* with stamps, all ranks */
} overlap;
static void overlap_body(void *unused) {
  pm_nbc *endpoint;
  nbc_clock clock;
  nbc_monitor_desc monitor_desc = {0};
  nbc_nic_watch_desc watch_desc = {0};
  nbc_monitor *monitor;
  nbc_nic_watch *watch;
  nbc_report *report;
  nbc_table *table;
  (void)unused;
  pm_nbc_desc desc = {0};
  desc.msg.large = (pm_msg_large)overlap.large;
  desc.msg.by = (pm_msg_progress_by)overlap.by;
  desc.msg.worker_period_ns = 30000;
  CHECK(pm_nbc_create(&desc, &endpoint) == NBC_OK && pm_nbc_clock(&clock) == NBC_OK);
  nbc_transport *t = pm_nbc_transport(endpoint);
  /* The table says what the model does: packets on the wire up to 512 B, above the link's rate. */
  const uint64_t sizes_bytes[] = {0, overlap.bytes};
  const double latency_s = 430e-9, rate = 12.5e9;
  const double times_s[] = {
      latency_s, latency_s + (overlap.bytes <= 512 ? (double)((overlap.bytes + 63) / 64 * 72) / rate
                                                   : (double)overlap.bytes / (rate * 64 / 72))};
  nbc_error err;
  CHECK(nbc_table_create(sizes_bytes, times_s, 2, "the model's link", &table, &err) == NBC_OK);
  monitor_desc.clock = &clock;
  monitor_desc.table_other_node = monitor_desc.table_same_node = table;
  monitor_desc.history_calls = 4096;
  CHECK(nbc_monitor_create(&monitor_desc, &monitor) == NBC_OK &&
        nbc_recorder_attach(monitor, &t->recorder) == NBC_OK);
  watch_desc.nic = pm_nbc_nic(endpoint);
  watch_desc.recorder = t->recorder;
  watch_desc.relation = pm_nbc_relation();
  CHECK(nbc_nic_watch_create(&watch_desc, &watch) == NBC_OK);
  char *out = calloc(1, overlap.bytes + 1), *in = calloc(1, overlap.bytes + 1);
  for (int i = 0; i < 10; i++) {
    nbc_op send = {0}, recv = {0};
    out[0] = (char)(i + t->rank);
    CHECK(nbc_irecv(t, in, overlap.bytes, (t->rank + t->size - 1) % t->size, 5, &recv) == NBC_OK);
    CHECK(nbc_isend(t, out, overlap.bytes, (t->rank + 1) % t->size, 5, &send) == NBC_OK);
    for (int k = 0; k <= overlap.polls; k++) {
      pm_msg_compute_ns(pm_nbc_msg(endpoint), overlap.compute_ns / (overlap.polls + 1));
      if (k < overlap.polls) nbc_test(t, &recv);
    }
    CHECK(nbc_wait(t, &recv, 0) == NBC_OK && nbc_wait(t, &send, 0) == NBC_OK);
    CHECK(recv.size_bytes == overlap.bytes &&
          (!overlap.bytes || in[0] == (char)(i + (t->rank + t->size - 1) % t->size)));
    CHECK(nbc_nic_poll(watch) == NBC_OK);
  }
  pm_barrier();
  pm_sleep_ns(100000);
  CHECK(nbc_nic_poll(watch) == NBC_OK && nbc_monitor_report(monitor, &report) == NBC_OK);
  const nbc_nic_counts counts = nbc_nic_watch_counts(watch);
  CHECK(counts.lost_count == 0 && counts.unplaced_count == 0);
  if (t->rank == 0) overlap.total = report->total, overlap.comp_ns = report->comp_ns;
  for (size_t i = 0; i < report->cell_count; i++) {
    const nbc_totals *c = &report->cells[i].t;
    if (c->exact_count != c->count) continue;
    /* Stamps are placed to 4 ns, the table rounds to 1 and knows nothing of the acknowledgements, 3 ns
       each, that leave between the packets. */
    const int64_t slack_ns = (5 + 3 * (1 + (int64_t)overlap.bytes / 16384)) * (int64_t)c->count;
    CHECK(c->exact_lo_ns >= c->min_overlap_ns - slack_ns &&
          c->exact_hi_ns <= c->max_overlap_ns + slack_ns);
    if (c->exact_lo_ns < c->min_overlap_ns - slack_ns ||
        c->exact_hi_ns > c->max_overlap_ns + slack_ns)
      printf("  %d B, kind %d: min %lld exact %lld..%lld max %lld xfer %lld exact xfer %lld\n",
             (int)overlap.bytes, (int)report->cells[i].kind, (long long)c->min_overlap_ns,
             (long long)c->exact_lo_ns, (long long)c->exact_hi_ns, (long long)c->max_overlap_ns,
             (long long)c->xfer_ns, (long long)c->exact_xfer_ns);
    CHECK(c->exact_hi_ns - c->exact_lo_ns <= (int64_t)c->count * 8);
    if (report->cells[i].kind == NBC_KIND_ISEND) overlap.send_count += c->count;
  }
  nbc_report_free(report);
  nbc_nic_watch_destroy(watch);
  nbc_monitor_destroy(monitor);
  nbc_table_free(table);
  pm_nbc_destroy(endpoint);
  free(out);
  free(in);
}
static nbc_totals overlap_of(size_t bytes, int64_t compute_ns, int polls) {
  overlap.bytes = bytes;
  overlap.compute_ns = compute_ns;
  overlap.polls = polls;
  run_world(3, overlap_body, NULL);
  return overlap.total;
}
static void exact_overlap_lies_between_the_bounds(void) {
  static const size_t sizes[] = {8, 1000, 5000, 100000, 1000000};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
    for (int polls = 0; polls < 8; polls += 7)
      for (int64_t compute_ns = 1000; compute_ns <= 1000000; compute_ns *= 10)
        for (int way = 0; way < (s < 2 ? 7 : 9); way += s < 2 ? 3 : 1) { /* eager: one protocol */
          overlap.large = way % 3;
          overlap.by = way / 3;
          overlap.send_count = 0;
          const nbc_totals t = overlap_of(sizes[s], compute_ns, polls);
          CHECK(t.count >= 20 && t.exact_count >= t.count / 2 && t.exact_lo_ns >= 0);
          CHECK(overlap.send_count >= 30); /* every send has its truth */
        }
  overlap.large = overlap.by = 0;
}
static void rendezvous_needs_a_look_to_overlap(void) {
  /* 1 MB takes 94 us; without a look during 1 ms of computation the fetch starts in the wait. A look
     lets the NIC fetch while the program computes: then all of it is hidden. */
  const nbc_totals blind = overlap_of(1000000, 1000000, 0),
                   looking = overlap_of(1000000, 1000000, 9);
  CHECK(blind.exact_hi_ns < blind.exact_xfer_ns / 20);
  CHECK(looking.exact_lo_ns > looking.exact_xfer_ns * 95 / 100);
}

/* Collectives of the library run unchanged on the model. */
static void collective_body(void *unused) {
  pm_nbc *endpoint;
  (void)unused;
  CHECK(pm_nbc_create(NULL, &endpoint) == NBC_OK);
  nbc_transport *t = pm_nbc_transport(endpoint);
  for (uint64_t bytes = 8; bytes <= 65536; bytes *= 16) { /* binomial broadcast by hand */
    char *data = calloc(1, bytes);
    if (t->rank == 0) memset(data, 42, bytes);
    int have = t->rank == 0;
    for (int bit = 1; bit < t->size; bit <<= 1) {
      if (have && t->rank < bit && t->rank + bit < t->size)
        CHECK(nbc_send(t, data, bytes, t->rank + bit, 1) == NBC_OK);
      else if (!have && t->rank < 2 * bit) {
        CHECK(nbc_recv(t, data, bytes, t->rank - bit, 1) == NBC_OK);
        have = 1;
      }
    }
    CHECK(data[0] == 42 && data[bytes - 1] == 42);
    free(data);
  }
  pm_barrier();
  pm_nbc_destroy(endpoint);
}
static void blocking_calls_work_on_the_transport(void) { run_world(9, collective_body, NULL); }

/* ---- a layer that closes with messages under way ---------------------------------------------------- */
enum { FORGOTTEN_BYTES = 4 << 20 };
static struct {
  pm_msg_op old[2], op[2];
  bool is_second[2]; /* the process has opened its second layer */
  int told_count, wrong_count;
} closing;
static void hears_of_own_operations_only(void *user, const pm_msg_transfer *x) {
  const bool *is_second = (const bool *)user;
  closing.told_count += *is_second;
  closing.wrong_count += *is_second && (x->op == &closing.old[0] || x->op == &closing.old[1]);
}
static void exchange_between_two(pm_msg *msg, pm_msg_op *op, void *buffer, size_t bytes) {
  const int me = pm_rank();
  CHECK((me ? pm_msg_irecv(msg, buffer, bytes, 0, 1, &op[1])
            : pm_msg_isend(msg, buffer, bytes, 1, 1, &op[0])) == PM_OK);
}
static void two_layers_body(void *unused) {
  const int me = pm_rank();
  pm_msg_desc desc = layer;
  pm_msg *msg;
  char *big = calloc(1, FORGOTTEN_BYTES), small[64] = "";
  (void)unused;
  desc.observe = hears_of_own_operations_only;
  desc.user = &closing.is_second[me];
  CHECK(pm_msg_open(&desc, &msg) == PM_OK);
  exchange_between_two(msg, closing.old, big, FORGOTTEN_BYTES);
  for (int i = 0; i < 20; i++) { /* its data is on the way: 4 MiB take 0.4 ms */
    pm_msg_progress(msg);
    pm_sleep_ns(1000);
  }
  CHECK(!closing.old[me].finished);
  pm_msg_close(msg);
  closing.is_second[me] = true;
  CHECK(pm_msg_open(&desc, &msg) == PM_OK);
  exchange_between_two(msg, closing.op, small, sizeof small);
  CHECK(pm_msg_wait(msg, &closing.op[me]) == PM_OK);
  pm_sleep_ns(2000000);
  pm_barrier();
  pm_msg_close(msg);
  free(big);
}
static void a_layer_hears_nothing_of_what_an_earlier_one_forgot(void) {
  for (int way = 0; way < 3; way++) {
    memset(&closing, 0, sizeof closing);
    layer_is(way);
    run_world(2, two_layers_body, NULL);
    CHECK(closing.told_count > 0 && closing.wrong_count == 0);
    if (closing.wrong_count) printf("  %s: %d\n", layer_text(), closing.wrong_count);
  }
}
static void forgetful_body(void *unused) {
  static char buffer[2][100];
  pm_nbc *endpoint;
  nbc_op op[2];
  (void)unused;
  CHECK(pm_nbc_create(NULL, &endpoint) == NBC_OK);
  const nbc_transport *t = pm_nbc_transport(endpoint);
  CHECK(nbc_irecv(t, buffer[t->rank], 100, 1 - t->rank, 7, &op[0]) == NBC_OK); /* never sent */
  CHECK(nbc_irecv(t, buffer[t->rank], 100, 1 - t->rank, 8, &op[1]) == NBC_OK);
  pm_barrier();
  pm_nbc_destroy(endpoint);
}
static void an_endpoint_leaves_no_memory_behind(void) {
  block_count = 0;
  run_world(2, forgetful_body, NULL);
  CHECK(block_count == 0);
}

/* ---- LogGP in, LogGP out: measured through the transport, written, and read by the model again ------ */
static pm_platform given;
static nbc_model_loggp measured;
static uint64_t most_bytes = 32768;
static void let_pass(void *user, int64_t d_ns) {
  (void)user;
  pm_compute_ns(d_ns);
}
static void loggp_body(void *unused) {
  pm_nbc *endpoint;
  nbc_model_loggp_desc desc = {0};
  nbc_model_loggp m;
  nbc_error err;
  (void)unused;
  CHECK(pm_nbc_create(NULL, &endpoint) == NBC_OK);
  nbc_transport *t = pm_nbc_transport(endpoint);
  desc.compute = let_pass;
  desc.max_bytes = most_bytes;
  desc.round_count = 1;
  if (nbc_model_measure(t, 1 - t->rank, &desc, &m, &err) != NBC_OK) {
    printf("  %s\n", err.text);
    CHECK(!"measured");
    return;
  }
  CHECK((m.time_samples.count > 0) == (t->rank == 0) && m.range_count >= 1);
  if (t->rank == 0) measured = m;
  pm_barrier();
  CHECK(m.ranges[0].latency_ns == measured.ranges[0].latency_ns); /* both ranks have the result */
  if (t->rank > 0) nbc_model_free(&m);
  pm_nbc_destroy(endpoint);
}
static void loggp_parameters_come_back(void) {
  for (int round = 0; round < 4; round++) {
    pm_world_desc desc = {0};
    char text[4096] = "", why[128];
    pm_platform again;
    given = pm_platform_bxi2(2);
    given.loggp_overhead_ns = given.cpu_event_ns = 20 + (int64_t)test_below(200);
    given.loggp_gap_ns = 3 * given.loggp_overhead_ns + (int64_t)test_below(500);
    given.loggp_latency_ns = 500 + (int64_t)test_below(3000);
    given.loggp_bytes_per_s = 1e9 + (double)test_below(5000000) * 1e3;
    given.cpu_append_ns = 0; /* LogGP knows no such costs, nor polls that grow */
    given.cpu_poll_max_ns = given.cpu_poll_ns;
    desc.platform = &given;
    desc.link = PM_LINK_LOGGP;
    run_world(2, loggp_body, &desc);
    const nbc_model_loggp_range *low = &measured.ranges[0];
    CHECK_NEAR(low->send_overhead_ns, given.loggp_overhead_ns, 1);
    CHECK_NEAR(low->recv_overhead_ns, given.cpu_event_ns, 1);
    CHECK_NEAR(low->latency_ns, given.loggp_latency_ns, 2);
    CHECK_NEAR(low->gap_ns, given.loggp_gap_ns, 1);
    CHECK_NEAR(measured.ranges[measured.range_count - 1].per_byte_ns * given.loggp_bytes_per_s, 1e9,
               3e7); /* steps of 1 ns */
    CHECK_NEAR(measured.min_test_ns, given.cpu_poll_ns, 1);
    /* the switch to rendezvous at 4096 B was not told */
    bool found = false;
    for (int r = 0; r < measured.range_count; r++)
      found = found || measured.ranges[r].last_bytes == 4096;
    CHECK(found);
    FILE *file = fmemopen(text, sizeof text, "w");
    CHECK(nbc_model_write_platform(&measured, file) == NBC_OK);
    fclose(file);
    CHECK(pm_platform_read(text, strlen(text), &again, why, sizeof why) == PM_OK);
    CHECK_NEAR(again.loggp_latency_ns, given.loggp_latency_ns, 2);
    CHECK_NEAR(again.loggp_bytes_per_s / given.loggp_bytes_per_s, 1, 0.03);
    CHECK(again.loggp_range_count == measured.range_count && again.cpu_event_ns == given.cpu_event_ns);
    CHECK_NEAR((double)again.loggp_range[0].latency_ns, (double)given.loggp_latency_ns, 6);
    CHECK_NEAR(again.loggp_range[0].ns_per_byte * given.loggp_bytes_per_s, 1e9, 5e7);
    pm_platform_free(&again);
    nbc_dedicated_input input;
    memset(text, 0, sizeof text);
    file = fmemopen(text, sizeof text, "w");
    CHECK(nbc_model_write_dedicated(&measured, file) == NBC_OK);
    fclose(file);
    CHECK(nbc_dedicated_parse(text, strlen(text), "measured", &input, NULL) == NBC_OK);
    CHECK_NEAR(input.min_nb_s * 1e9, given.loggp_overhead_ns, 1);
    CHECK_NEAR(input.min_test_s * 1e9, given.cpu_poll_ns, 1);
    nbc_model_free(&measured);
  }
}

/* What fit_model writes of a machine with ranges makes the model a machine that it measures like that one. */
static void loggp_ranges_come_back(void) {
  char text[4096] = "", why[128];
  nbc_model_loggp first;
  pm_platform again;
  const pm_world_desc desc = {.platform = &given, .link = PM_LINK_LOGGP};
  given = pm_platform_bxi2(2);
  given.cpu_event_ns = 50 + (int64_t)test_below(100);
  given.cpu_append_ns = 0;
  given.cpu_poll_max_ns = given.cpu_poll_ns;
  given.loggp_range_count = 2;
  given.loggp_range[0] = (pm_loggp_range){.latency_ns = 800 + (int64_t)test_below(2000), .overhead_ns = 40 + (int64_t)test_below(200), .gap_ns = 600, .ns_per_byte = 0.5, .gap_ns_per_byte = 0.3};
  given.loggp_range[1] = (pm_loggp_range){.first_bytes = 512, .latency_ns = 9000, .overhead_ns = 70, .gap_ns = 900, .ns_per_byte = 0.2, .gap_ns_per_byte = 0.2};
  most_bytes = 4096; /* one protocol */
  run_world(2, loggp_body, &desc);
  first = measured;
  FILE *file = fmemopen(text, sizeof text, "w");
  CHECK(first.range_count >= 2 && nbc_model_write_platform(&first, file) == NBC_OK);
  fclose(file);
  CHECK(pm_platform_read(text, strlen(text), &again, why, sizeof why) == PM_OK);
  given = again;
  given.cpu_append_ns = 0;
  given.cpu_poll_max_ns = given.cpu_poll_ns;
  run_world(2, loggp_body, &desc);
  for (uint64_t bytes = 1; bytes <= most_bytes; bytes = bytes * 5 / 4 + 1) {
    CHECK_NEAR(nbc_model_time_ns(&measured.time, bytes) / nbc_model_time_ns(&first.time, bytes), 1, 0.01);
    CHECK_NEAR(nbc_model_time_ns(&measured.gap, bytes) / nbc_model_time_ns(&first.gap, bytes), 1, 0.05);
  }
  CHECK_NEAR(measured.ranges[0].send_overhead_ns, first.ranges[0].send_overhead_ns, 1);
  CHECK_NEAR(measured.ranges[0].recv_overhead_ns, first.ranges[0].recv_overhead_ns, 1);
  most_bytes = 32768;
  nbc_model_free(&first);
  nbc_model_free(&measured);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(every_message_reaches_its_receive);
  RUN(the_same_seed_the_same_run);
  RUN(every_size_by_every_protocol);
  RUN(huge_messages_go_in_pieces);
  RUN(loggp_times_are_those_of_the_formulas);
  RUN(a_worker_moves_messages_while_the_process_computes);
  RUN(a_timer_steals_what_its_looks_cost);
  RUN(a_layer_that_cannot_be_is_refused);
  RUN(truncation_any_peer_and_cancel);
  RUN(exact_overlap_lies_between_the_bounds);
  RUN(rendezvous_needs_a_look_to_overlap);
  RUN(blocking_calls_work_on_the_transport);
  RUN(a_layer_hears_nothing_of_what_an_earlier_one_forgot);
  RUN(an_endpoint_leaves_no_memory_behind);
  RUN(loggp_parameters_come_back);
  RUN(loggp_ranges_come_back);
  return TEST_END();
}
