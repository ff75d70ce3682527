/* Exact overlap on loopback from the kernel's stamps: every transfer is stamped or counted as not;
   the stamps lie between what both sides saw; a transfer that the kernel makes while its owner
   computes is found overlapped; one inside a call is not. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#define NIC_HW_IMPLEMENTATION
#define NIC_WITH_NBC
#include "hw/nic_hw.h"
#include "tests/test.h"
#include "tests/hw/world.h"

#define LIMIT_NS 20000000000
static volatile int received; /* by rank 1; read by rank 0 while it computes */

static void compute_until_received(const world_rank *r) {
  const nbc_clock *clock = nbc_monitor_clock(r->monitor);
  const int64_t start_ns = nbc_clock_now_ns(clock);
  while (!__atomic_load_n(&received, __ATOMIC_ACQUIRE) &&
         nbc_clock_now_ns(clock) - start_ns < LIMIT_NS)
    sched_yield();
}

/* Rank 0 sends one long message and computes until rank 1 has it. */
enum { LONG_BYTES = 200000 };
static void send_and_compute(world_rank *r) {
  static char out[LONG_BYTES], in[LONG_BYTES];
  char go = 0;
  nbc_op op;
  memset(&op, 0, sizeof op);
  for (int i = 0; i < 12; i++) /* the kernel does not pace the first ten packets of a stream */
    CHECK(r->t->rank == 0 ? nbc_send(r->t, &go, 1, 1, 0) == NBC_OK
                          : nbc_recv(r->t, &go, 1, 0, 0) == NBC_OK);
  if (r->t->rank == 0) {
    CHECK(nbc_recv(r->t, &go, 1, 1, 1) == NBC_OK);
    CHECK(nbc_isend(r->t, out, LONG_BYTES, 1, 2, &op) == NBC_OK);
    for (int i = 0; i < 1000 && !op.finished; i++)
      nbc_test(r->t, &op); /* until the kernel has it all */
    if (!op.finished) CHECK(nbc_wait(r->t, &op, LIMIT_NS) == NBC_OK);
    nbc_section_begin(r->me, "compute");
    compute_until_received(r);
    nbc_section_end(r->me, "compute");
  } else {
    CHECK(nbc_irecv(r->t, in, LONG_BYTES, 0, 2, &op) == NBC_OK);
    CHECK(nbc_send(r->t, &go, 1, 0, 1) == NBC_OK);
    CHECK(nbc_wait(r->t, &op, LIMIT_NS) == NBC_OK);
    __atomic_store_n(&received, 1, __ATOMIC_RELEASE);
  }
  CHECK(nic_tcp_drain(r->t, LIMIT_NS) == NBC_OK);
}

static void check_report(const world_rank *r, uint64_t transfers) {
  const nbc_totals *total = &r->report->total;
  CHECK(total->exact_count <= transfers);
  CHECK(total->exact_lo_ns >= 0 && total->exact_lo_ns <= total->exact_hi_ns);
  CHECK(r->report->problems[NBC_PROBLEM_stamp_invalid] == 0);
}

/* The kernel paces the stream at 10 MB/s, so the transfer takes 20 ms and goes on by itself. Only
   when this thread was stopped during the whole of it would nothing overlap: so a few tries. */
static void a_paced_transfer_overlaps(void) {
  const nic_tcp_desc paced = {.pace_bytes_per_s = 10e6};
  double best = 0;
  for (int attempt = 0; attempt < 10 && best < 0.5; attempt++) {
    world_rank ranks[2];
    received = 0;
    if (!world_run(ranks, 2, paced, true, send_and_compute)) SKIP("no loopback interface");
    const nbc_totals *total = &ranks[0].report->total;
    check_report(&ranks[0], 14);
    check_report(&ranks[1], 14);
    CHECK(total->exact_count >= 1);
    best = total->exact_xfer_ns ? (double)total->exact_lo_ns / (double)total->exact_xfer_ns : 0;
    printf("  %.1f to %.1f %% of %.3f ms hidden; receiver %llu stamped\n", 100 * best,
           100.0 * (double)total->exact_hi_ns / (double)total->exact_xfer_ns,
           (double)total->exact_xfer_ns * 1e-6,
           (unsigned long long)ranks[1].report->total.exact_count);
    world_free(ranks, 2);
  }
  CHECK(best >= 0.5);
}

/* Random messages both ways with computation between; what is stamped adds up. */
static uint64_t mix_seed;
static bool as_if_remote;
static void random_traffic(world_rank *r) {
  enum { ROUNDS = 60, BYTES = 200000 };
  char *out = calloc(1, BYTES), *in = calloc(1, BYTES);
  uint64_t seed = mix_seed; /* the same on both sides */
  const int peer = 1 - r->t->rank;
  if (as_if_remote) ((nic__tcp *)r->t)->peers[peer].same_host = false;
  for (int i = 0; i < ROUNDS; i++) {
    nbc_op a, b;
    memset(&a, 0, sizeof a);
    memset(&b, 0, sizeof b);
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    const uint64_t size = (seed >> 33) % (seed >> 63 ? BYTES : 3000);
    CHECK(nbc_irecv(r->t, in, size, peer, 1, &b) == NBC_OK &&
          nbc_isend(r->t, out, size, peer, 1, &a) == NBC_OK);
    nbc_spin_ns(nbc_monitor_clock(r->monitor), (int64_t)(seed >> 40) % 50000);
    CHECK(nbc_wait(r->t, &b, LIMIT_NS) == NBC_OK && nbc_wait(r->t, &a, LIMIT_NS) == NBC_OK);
  }
  CHECK(nic_tcp_drain(r->t, LIMIT_NS) == NBC_OK);
  const nic_tcp_stats s = nic_tcp_stats_of(r->t);
  CHECK(s.sent_count == ROUNDS && s.received_count == ROUNDS);
  /* a send is stamped or not; a receive too, or it was posted too late to have a begin */
  CHECK(s.stamped_count + s.unstamped_count <= 2 * ROUNDS);
  CHECK(s.stamped_count + s.unstamped_count + s.early_count >= 2 * ROUNDS);
  CHECK(s.stamped_count >= ROUNDS - s.unstamped_count);
  *(uint64_t *)r->user = s.stamped_count;
  free(out);
  free(in);
}
static void traffic(void) {
  for (int remote = 0; remote < 2; remote++) {
    world_rank ranks[2];
    static uint64_t stamped[2];
    mix_seed = test_rand();
    as_if_remote = remote != 0;
    world_users[0] = &stamped[0];
    world_users[1] = &stamped[1];
    if (!world_run(ranks, 2, (nic_tcp_desc){0}, true, random_traffic))
      SKIP("no loopback interface");
    for (int i = 0; i < 2; i++) {
      const nbc_report *p = ranks[i].report;
      CHECK(p->total.exact_count + p->problems[NBC_PROBLEM_stamp_lost] >= stamped[i]);
      CHECK(p->total.exact_count <= stamped[i] && p->problems[NBC_PROBLEM_stamp_invalid] == 0);
      CHECK(p->total.exact_lo_ns >= 0 && p->total.exact_lo_ns <= p->total.exact_hi_ns);
      CHECK(p->problems[NBC_PROBLEM_ended_twice] == 0);
      printf("  rank %d%s: %llu transfers, %llu stamped, %.1f to %.1f us of %.1f us hidden\n", i,
             remote ? ", as if on two hosts" : "", (unsigned long long)p->total.count,
             (unsigned long long)p->total.exact_count, (double)p->total.exact_lo_ns * 1e-3,
             (double)p->total.exact_hi_ns * 1e-3, (double)p->total.exact_xfer_ns * 1e-3);
    }
    world_free(ranks, 2);
  }
}

/* Sender and receiver talk inside calls only: what little is hidden cannot exceed what was
 * computed. */
static void ping_pong(world_rank *r) {
  static char data[2][30000];
  for (int i = 0; i < 30; i++)
    for (int who = 0; who < 2; who++)
      CHECK((who == r->t->rank
                 ? nbc_send(r->t, data[r->t->rank], 30000, 1 - r->t->rank, 1)
                 : nbc_recv(r->t, data[r->t->rank], 30000, 1 - r->t->rank, 1)) == NBC_OK);
  CHECK(nic_tcp_drain(r->t, LIMIT_NS) == NBC_OK);
}
static void blocking_calls_hide_nothing(void) {
  world_rank ranks[2];
  if (!world_run(ranks, 2, (nic_tcp_desc){0}, true, ping_pong)) SKIP("no loopback interface");
  for (int i = 0; i < 2; i++) {
    CHECK(ranks[i].report->total.exact_count > 0);
    CHECK(ranks[i].report->total.exact_lo_ns <=
          ranks[i].report->comp_ns); /* one transfer at a time each way */
    CHECK(ranks[i].report->total.max_overlap_ns <= ranks[i].report->total.xfer_ns);
  }
  world_free(ranks, 2);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(a_paced_transfer_overlaps);
  RUN(traffic);
  RUN(blocking_calls_hide_nothing);
  return TEST_END();
}
