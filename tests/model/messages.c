/* The two-sided layer: every byte to the right receive, in order, early or late, eager or fetched; and
   the model as a transport of nbc_overlap.h whose NIC knows the truth. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
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
static void traffic_body(void *unused) {
  pm_msg *msg;
  const int me = pm_rank(), n = pm_size();
  (void)unused;
  CHECK(pm_msg_open(NULL, &msg) == PM_OK);
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
static void every_message_reaches_its_receive(void) {
  for (int round = 0; round < 6; round++) {
    pm_platform p = pm_platform_bxi2(round % 2 ? 3 : 6);
    pm_world_desc desc = {0};
    desc.platform = &p;
    desc.seed = test_rand();
    desc.link = round < 4 ? PM_LINK_FLOW : PM_LINK_LOGGP;
    if (round % 2) p.procs_per_node_count = 2;
    if (round == 2 || round == 3)
      desc.faults.loss_ratio = 0.02, desc.faults.delay_ratio = 0.1, desc.faults.delay_ns = 3000,
      p.e2e_retry_ns = 30000, p.e2e_retries_count = 50;
    run_world(0, traffic_body, &desc);
  }
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
  int polls;
  nbc_totals total;
  int64_t comp_ns;
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
  CHECK(pm_nbc_create(NULL, &endpoint) == NBC_OK && pm_nbc_clock(&clock) == NBC_OK);
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
      pm_compute_ns(overlap.compute_ns / (overlap.polls + 1));
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
    const int64_t slack_ns =
        5 * (int64_t)c->count; /* stamps are placed to 4 ns, the table rounds to 1 */
    CHECK(c->exact_lo_ns >= c->min_overlap_ns - slack_ns &&
          c->exact_hi_ns <= c->max_overlap_ns + slack_ns);
    if (c->exact_lo_ns < c->min_overlap_ns - slack_ns ||
        c->exact_hi_ns > c->max_overlap_ns + slack_ns)
      printf("  %d B, kind %d: min %lld exact %lld..%lld max %lld xfer %lld exact xfer %lld\n",
             (int)overlap.bytes, (int)report->cells[i].kind, (long long)c->min_overlap_ns,
             (long long)c->exact_lo_ns, (long long)c->exact_hi_ns, (long long)c->max_overlap_ns,
             (long long)c->xfer_ns, (long long)c->exact_xfer_ns);
    CHECK(c->exact_hi_ns - c->exact_lo_ns <= (int64_t)c->count * 8);
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
      for (int64_t compute_ns = 1000; compute_ns <= 1000000; compute_ns *= 10) {
        const nbc_totals t = overlap_of(sizes[s], compute_ns, polls);
        CHECK(t.count == 20 && t.exact_count >= 10 && t.exact_lo_ns >= 0);
      }
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

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(every_message_reaches_its_receive);
  RUN(truncation_any_peer_and_cancel);
  RUN(exact_overlap_lies_between_the_bounds);
  RUN(rendezvous_needs_a_look_to_overlap);
  RUN(blocking_calls_work_on_the_transport);
  return TEST_END();
}
