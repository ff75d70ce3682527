/* The UDP transport keeps the contract of nbc_transport and loses no byte where datagrams are lost,
   doubled, reordered, damaged or forged; its exact overlap stays within its bounds; a peer that dies
   fails its operations. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#define NIC_HW_IMPLEMENTATION
#define NIC_WITH_NBC
#include "hw/nic_hw.h"
#include "hw/nic_meet.h"
#include "hw/nic_udp.h"
#include "tests/test.h"
#include "tests/hw/udp_world.h"
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

enum { MOST_BYTES = 1 << 20 };

/* ---- messages ----------------------------------------------------------------------------------- */
static const uint64_t sizes[] = {0, 1, 63, 1323, 1324, 1325, 5000, 65536, 300001, MOST_BYTES};
enum { SIZES = sizeof sizes / sizeof sizes[0] };
static void exchange(rank *r) {
  static unsigned char out[2][MOST_BYTES], in[2][SIZES][MOST_BYTES];
  const int me = r->t->rank, peer = 1 - me;
  nbc_op send[SIZES], receive[SIZES];
  memset(send, 0, sizeof send);
  memset(receive, 0, sizeof receive);
  fill(out[me], MOST_BYTES, (unsigned)me);
  for (int i = 0; i < SIZES; i++)
    CHECK(nbc_isend(r->t, out[me], sizes[i], peer, (uint64_t)i, &send[i]) == NBC_OK);
  for (int i = SIZES; i-- > 0;) /* the last first: the others are early */
    CHECK(nbc_irecv(r->t, in[me][i], sizes[i], peer, (uint64_t)i, &receive[i]) == NBC_OK);
  for (int i = 0; i < SIZES; i++) {
    CHECK(nbc_wait(r->t, &receive[i], LIMIT_NS) == NBC_OK && receive[i].size_bytes == sizes[i]);
    CHECK(is_filled(in[me][i], sizes[i], (unsigned)peer));
  }
  for (int i = 0; i < SIZES; i++) CHECK(nbc_wait(r->t, &send[i], LIMIT_NS) == NBC_OK);
  CHECK(nic_udp_drain(r->t, LIMIT_NS) == NBC_OK);
}
static void messages_of_all_sizes_cross(void) {
  rank ranks[2];
  const nic_udp_desc plain = {.rank = 0}, small = {.datagram_bytes = 256},
                     large = {.datagram_bytes = 65000};
  if (!run_both(ranks, plain, NULL, false, exchange)) SKIP("no loopback interface");
  CHECK(run_both(ranks, small, NULL, false, exchange));
  CHECK(run_both(ranks, large, NULL, false, exchange));
  CHECK(run_both(ranks, plain, NULL, true, exchange));
  free_both(ranks);
}
static void nothing_is_lost_where_datagrams_are(void) {
  rank ranks[2];
  const nic_udp_desc plain = {.rank = 0};
  for (int i = 0; i < 4; i++) {
    relay bad = {.mad = i > 0, .seed = test_rand()};
    if (!run_both(ranks, plain, &bad, i == 2, exchange)) SKIP("no loopback interface");
    printf("  %llu datagrams lost of %llu, %llu sent again, %llu refused\n",
           (unsigned long long)bad.lost, (unsigned long long)(bad.lost + bad.passed),
           (unsigned long long)(ranks[0].stats.again_count + ranks[1].stats.again_count),
           (unsigned long long)(ranks[0].stats.refused_count + ranks[1].stats.refused_count));
    CHECK(bad.lost > 50 && ranks[0].stats.again_count > 20);
    free_both(ranks);
  }
}

static void contract(rank *r) {
  unsigned char data[100] = {0}, small[64] = {0};
  nbc_op op;
  memset(&op, 0, sizeof op);
  nbc_op first; /* both speak first, so that the relay knows both */
  memset(&first, 0, sizeof first);
  CHECK(nbc_isend(r->t, data, 1, 1 - r->t->rank, 4, &first) == NBC_OK &&
        nbc_recv(r->t, small, 1, 1 - r->t->rank, 4) == NBC_OK &&
        nbc_wait(r->t, &first, LIMIT_NS) == NBC_OK);
  fill(data, sizeof data, 3);
  memset(small, 0, sizeof small);
  for (int i = 0; i < 30; i++) { /* in order per tag */
    unsigned char value = (unsigned char)i, got = 255;
    if (r->t->rank == 0)
      CHECK(nbc_send(r->t, &value, 1, 1, 5) == NBC_OK);
    else
      CHECK(nbc_recv(r->t, &got, 1, 0, 5) == NBC_OK && got == i);
  }
  if (r->t->rank == 0) {
    CHECK(nbc_send(r->t, data, sizeof data, 1, 7) == NBC_OK);
    CHECK(nbc_recv(r->t, data, 1, 1, 9) == NBC_OK);
  } else {
    CHECK(nbc_irecv(r->t, small, 60, 0, 7, &op) == NBC_OK &&
          nbc_wait(r->t, &op, LIMIT_NS) == NBC_E_TRUNCATED);
    CHECK(op.size_bytes == 60 && is_filled(small, 60, 3) && small[60] == 0);
    CHECK(nbc_irecv(r->t, small, 60, 0, 99, &op) == NBC_OK &&
          r->t->cancel(r->t->ctx, &op) == NBC_OK);
    CHECK(nbc_wait(r->t, &op, LIMIT_NS) == NBC_E_CANCELLED);
    CHECK(nbc_send(r->t, data, 1, 0, 9) == NBC_OK);
  }
  nbc_op own[2]; /* to oneself */
  memset(own, 0, sizeof own);
  CHECK(nbc_isend(r->t, data, 10, r->t->rank, 1, &own[0]) == NBC_OK &&
        nbc_irecv(r->t, small, 10, r->t->rank, 1, &own[1]) == NBC_OK);
  CHECK(nbc_wait(r->t, &own[0], LIMIT_NS) == NBC_OK && nbc_wait(r->t, &own[1], LIMIT_NS) == NBC_OK);
  CHECK(memcmp(small, data, 10) == 0);
}
static void the_contract_is_kept(void) {
  rank ranks[2];
  const nic_udp_desc plain = {.rank = 0};
  relay bad = {.mad = true, .seed = test_rand()};
  if (!run_both(ranks, plain, &bad, false, contract)) SKIP("no loopback interface");
}

/* ---- overlap ------------------------------------------------------------------------------------ */
static void compute_beside(rank *r) {
  static unsigned char data[2][2][60000];
  const int me = r->t->rank;
  for (int i = 0; i < 40; i++) {
    nbc_op in, out;
    memset(&in, 0, sizeof in);
    memset(&out, 0, sizeof out);
    CHECK(nbc_irecv(r->t, data[me][0], 60000, 1 - me, 1, &in) == NBC_OK);
    CHECK(nbc_isend(r->t, data[me][1], 60000, 1 - me, 1, &out) == NBC_OK);
    if (i % 2) nbc_spin_ns(r->desc.clock, 100000);
    CHECK(nbc_wait(r->t, &in, LIMIT_NS) == NBC_OK && nbc_wait(r->t, &out, LIMIT_NS) == NBC_OK);
  }
}
static void exact_overlap_is_within_its_bounds(void) {
  rank ranks[2];
  const nic_udp_desc plain = {.rank = 0};
  if (!run_both(ranks, plain, NULL, true, compute_beside)) SKIP("no loopback interface");
  for (int i = 0; i < 2; i++) {
    const nbc_report *p = ranks[i].report;
    const nic_udp_stats *s = &ranks[i].stats;
    if (!p) continue;
    printf("  rank %d: %llu transfers, stamped %llu, not %llu; %lld to %lld of %lld us hidden\n", i,
           (unsigned long long)p->total.count, (unsigned long long)s->stamped_count,
           (unsigned long long)s->unstamped_count, (long long)p->total.exact_lo_ns / 1000,
           (long long)p->total.exact_hi_ns / 1000, (long long)p->total.exact_xfer_ns / 1000);
    CHECK(p->total.count == 80 && s->stamped_count > 0 && p->total.exact_count == s->stamped_count);
    CHECK(p->total.exact_lo_ns <= p->total.exact_hi_ns &&
          p->problems[NBC_PROBLEM_stamp_invalid] == 0);
  }
  free_both(ranks);
}

/* ---- a dead peer -------------------------------------------------------------------------------- */
static void a_dead_peer_fails_its_operations(void) {
  int sockets[2];
  static unsigned char data[MOST_BYTES];
  nbc_transport *t;
  nbc_error error;
  nbc_op ops[2];
  const pid_t pid = fork_second_rank(sockets);
  if (pid < 0) SKIP("no loopback interface");
  const nic_udp_desc desc = {.rank = pid == 0, .size = 2, .sockets = sockets};
  const nbc_status status = nic_udp_create(&desc, &t, &error);
  if (!pid) {
    if (status == NBC_OK) pause();
    _exit(1);
  }
  CHECK(status == NBC_OK);
  memset(ops, 0, sizeof ops);
  CHECK(nbc_isend(t, data, sizeof data, 1, 1, &ops[0]) == NBC_OK &&
        nbc_irecv(t, data, 1, 1, 1, &ops[1]) == NBC_OK);
  CHECK(nbc_wait(t, &ops[0], 50000000) == NBC_E_TIMEOUT); /* nobody makes progress there */
  CHECK(nic_udp_drain(t, 1000000) == NBC_E_TIMEOUT);
  kill(pid, SIGKILL);
  waitpid(pid, NULL, 0);
  for (int i = 0; i < 2; i++) CHECK(nbc_wait(t, &ops[i], LIMIT_NS) == NBC_E_PEER);
  CHECK(nbc_send(t, data, 1, 1, 1) == NBC_E_PEER);
  CHECK(nic_udp_drain(t, LIMIT_NS) == NBC_E_PEER && nic_udp_destroy(t) == NBC_E_PEER);
}

/* Own datagrams come back, as over a wrong route: they are no messages of the peer. Signals come all the
   time, as a profiler sends them. */
static void nothing(int number) { (void)number; }
static void echoes_and_signals_change_nothing(void) {
  rank ranks[2];
  const nic_udp_desc plain_desc = {.rank = 0};
  const struct sigaction interrupt = {.sa_handler = nothing};
  const struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
  relay bad = {.mad = true, .echoes = true, .seed = test_rand()};
  sigaction(SIGALRM, &interrupt, NULL);
  setitimer(ITIMER_REAL, &often, NULL);
  const bool ran = run_both(ranks, plain_desc, &bad, false, exchange);
  setitimer(ITIMER_REAL, &never, NULL);
  if (!ran) SKIP("no loopback interface");
}

/* A transport of another kind, whatever is done with it. */
static void others_are_refused(void) {
  nbc_transport *other;
  CHECK(nbc_null_create(0, 2, &other) == NBC_OK);
  CHECK(nic_udp_drain(other, 1) == NBC_E_INVAL && nic_udp_close(other, 1) == NBC_E_INVAL);
  CHECK(nic_udp_stats_of(other).sent_count == 0 && nic_udp_destroy(other) == NBC_E_INVAL);
  CHECK(nbc_send(other, "", 1, 1, 1) == NBC_OK); /* it is still there */
  nbc_transport_destroy(other);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(messages_of_all_sizes_cross);
  RUN(nothing_is_lost_where_datagrams_are);
  RUN(the_contract_is_kept);
  RUN(exact_overlap_is_within_its_bounds);
  RUN(others_are_refused);
  RUN(a_dead_peer_fails_its_operations);
  RUN(echoes_and_signals_change_nothing);
  return TEST_END();
}
