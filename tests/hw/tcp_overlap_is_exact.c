/* Exact overlap on loopback from the kernel's stamps: every transfer is stamped or counted as not;
   the stamps lie between what both sides saw; a transfer that the kernel makes while its owner
   computes is found overlapped; one inside a call is not. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#define NIC_HW_IMPLEMENTATION
#define NIC_WITH_NBC
#include "hw/nic_hw.h"
#include "hw/nic_meet.h"
#include "hw/nic_tcp.h"
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
  CHECK(s.stamped_count + s.unstamped_count == 2 * ROUNDS && s.early_count <= ROUNDS);
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

/* Rank 1 sends a short and a long message; rank 0 posts its receives when all of the one and half of the
   other has come, which it makes sure of by looking into the transport; rank 1 stands still until told.
   So of the short one nothing is left to overlap after its receive was posted; of the long one the
   3 ms computed while nothing moved surely do, the 10 ms before its post surely do not. */
enum { HALF_BYTES = 16 << 20 };
static volatile int half_is_there;
static void spin_in(world_rank *r, const char *section, int64_t d_ns) {
  nbc_section_begin(r->me, section);
  nbc_spin_ns(nbc_monitor_clock(r->monitor), d_ns);
  nbc_section_end(r->me, section);
}
static void late_receives(world_rank *r) {
  static char out[HALF_BYTES], in[HALF_BYTES];
  nic__tcp_peer *peer = &((nic__tcp *)r->t)->peers[1 - r->t->rank];
  const int64_t end_ns = nic_host_now_ns(NULL) + LIMIT_NS;
  nbc_op op;
  memset(&op, 0, sizeof op);
  const int few_bytes = 1 << 18; /* the kernel takes a small part only */
  setsockopt(peer->fd, SOL_SOCKET, r->t->rank ? SO_SNDBUF : SO_RCVBUF, &few_bytes,
             sizeof few_bytes);
  if (as_if_remote) peer->same_host = false;
  if (r->t->rank == 1) {
    CHECK(nbc_send(r->t, out, 1000, 0, 1) == NBC_OK);
    CHECK(nbc_isend(r->t, out, HALF_BYTES, 0, 2, &op) == NBC_OK); /* as much as the kernel takes */
    while (!__atomic_load_n(&half_is_there, __ATOMIC_ACQUIRE) && nic_host_now_ns(NULL) < end_ns)
      sched_yield();
    CHECK(nbc_wait(r->t, &op, LIMIT_NS) == NBC_OK);
  } else {
    while (!peer->in_early || !peer->in_early->got_bytes || peer->in_early->head.tag != 2) {
      CHECK(r->t->progress(r->t->ctx) == NBC_OK);
      if (nic_host_now_ns(NULL) > end_ns) break;
    }
    CHECK(peer->in_early && peer->in_early->got_bytes < HALF_BYTES);
    spin_in(r, "before", 10000000);
    nbc_section_begin(r->me, "short");
    CHECK(nbc_recv(r->t, in, 1000, 1, 1) == NBC_OK);
    nbc_section_end(r->me, "short");
    CHECK(nbc_irecv(r->t, in, HALF_BYTES, 1, 2, &op) == NBC_OK);
    spin_in(r, "after", 3000000);
    __atomic_store_n(&half_is_there, 1, __ATOMIC_RELEASE);
    CHECK(nbc_wait(r->t, &op, LIMIT_NS) == NBC_OK && op.size_bytes == HALF_BYTES);
  }
  CHECK(nic_tcp_drain(r->t, LIMIT_NS) == NBC_OK);
  if (r->t->rank == 0) CHECK(nic_tcp_stats_of(r->t).early_count == 2);
}
static const nbc_section *section_of(const nbc_report *report, const char *path, int *index) {
  for (*index = 0; (size_t)*index < report->section_count; ++*index)
    if (strcmp(report->sections[*index].path, path) == 0) return &report->sections[*index];
  return NULL;
}
static void receives_posted_late_count_from_their_post(void) {
  for (int remote = 0; remote < 2; remote++) {
    bool done = false;
    for (int attempt = 0; attempt < 10 && !done; attempt++) { /* the kernel may lose reports */
      world_rank ranks[2];
      int in_short, unused;
      half_is_there = 0;
      as_if_remote = remote != 0;
      if (!world_run(ranks, 2, (nic_tcp_desc){0}, true, late_receives))
        SKIP("no loopback interface");
      const nbc_report *p = ranks[0].report;
      const nbc_section *before = section_of(p, "before", &unused),
                        *after = section_of(p, "after", &unused);
      CHECK(section_of(p, "short", &in_short) && before && after);
      nbc_totals small, large = p->total;
      memset(&small, 0, sizeof small);
      for (size_t i = 0; i < p->cell_count; i++)
        if (p->cells[i].section_index == in_short) small = p->cells[i].t;
      CHECK(small.count == 1 && small.exact_count == 1 && small.exact_xfer_ns == 0 &&
            small.exact_hi_ns == 0);
      CHECK(small.case_count[2] == 1 && large.case_count[2] == 2); /* only their ends were seen */
      done = large.exact_count == 2;
      if (done) {
        CHECK(large.exact_hi_ns >= after->comp_ns && after->comp_ns >= 2900000);
        CHECK(large.exact_lo_ns <= p->comp_ns - before->comp_ns);
        CHECK(large.exact_xfer_ns >= after->comp_ns / 2); /* t +- err: its middle */
        printf("  posted late%s: %.3f to %.3f ms of %.3f ms hidden, %.3f ms surely\n",
               remote ? ", as if on two hosts" : "", (double)large.exact_lo_ns * 1e-6,
               (double)large.exact_hi_ns * 1e-6, (double)large.exact_xfer_ns * 1e-6,
               (double)after->comp_ns * 1e-6);
      }
      world_free(ranks, 2);
    }
    CHECK(done);
  }
  as_if_remote = false;
}

/* A NIC's clock and its stamps, made up for real packets: the clock runs 37 ppm fast; to each report of
   the kernel that a packet was sent a control message is added as a NIC's driver would cause it. The
   wire time is known: where the kernel's interval ends. Every fifth stamp is lost, every seventh
   shifted; acknowledgements are told as late as they are read. */
enum { WIRES = 4096 };
static struct {
  const nbc_clock *clock;
  nic_stamping *stamping;
  int64_t wire_ns[WIRES]; /* of the stamps that came right */
  int wire_count, lost_count, shifted_count, sent_count;
  uint32_t pending_key;
  int64_t pending_ns; /* NIC's time of the next report; 0 = none */
} sim;
static int64_t sim_ticks(int64_t t_ns) { return 5000000000 + t_ns + t_ns * 37 / 1000000; }
static int sim_control(void *user, int fd, unsigned long request, void *argument) {
  (void)user, (void)fd, (void)argument;
  return request == PTP_CLOCK_GETCAPS ? 0 : (errno = EOPNOTSUPP, -1);
}
static int64_t sim_clock_ns(void *user, int clock_id) {
  (void)user, (void)clock_id;
  return sim.clock ? sim_ticks(nbc_clock_now_ns(sim.clock)) : 1; /* it is tried when opened */
}
static void sim_put(struct msghdr *m, int level, int type, const void *data, size_t data_bytes) {
  struct cmsghdr *c = (struct cmsghdr *)((char *)m->msg_control + m->msg_controllen);
  c->cmsg_level = level;
  c->cmsg_type = type;
  c->cmsg_len = CMSG_LEN(data_bytes);
  memcpy(CMSG_DATA(c), data, data_bytes);
  m->msg_controllen += CMSG_SPACE(data_bytes);
}
static void sim_report(struct msghdr *m, uint32_t key, int64_t nic_ns) {
  struct timespec t[3];
  struct sock_extended_err e;
  memset(t, 0, sizeof t);
  memset(&e, 0, sizeof e);
  t[2].tv_sec = nic_ns / 1000000000;
  t[2].tv_nsec = nic_ns % 1000000000;
  e.ee_errno = ENOMSG;
  e.ee_origin = SO_EE_ORIGIN_TIMESTAMPING;
  e.ee_data = key;
  m->msg_controllen = 0;
  sim_put(m, SOL_SOCKET, SO_TIMESTAMPING, t, sizeof t);
  sim_put(m, SOL_IP, IP_RECVERR, &e, sizeof e);
}
static ssize_t sim_receive(int fd, struct msghdr *m, int flags) {
  int64_t before_ns, after_ns;
  if (flags & MSG_ERRQUEUE && sim.pending_ns) {
    sim_report(m, sim.pending_key, sim.pending_ns);
    sim.pending_ns = 0;
    return 0;
  }
  const ssize_t n = recvmsg(fd, m, flags);
  if (n < 0 || !(flags & MSG_ERRQUEUE)) return n;
  const nic__seen seen = nic__seen_of(m);
  if (seen.is_report && seen.what == SCM_TSTAMP_ACK)
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
      if (c->cmsg_type == SO_TIMESTAMPING)
        clock_gettime(CLOCK_REALTIME, (struct timespec *)(void *)CMSG_DATA(c));
  if (!seen.is_report || seen.what != SCM_TSTAMP_SND || sim.wire_count == WIRES) return n;
  if (!nic_stamping_to_host(sim.stamping, seen.kernel_ns, &before_ns, &after_ns)) return n;
  sim.pending_key = seen.key;
  sim.pending_ns = sim_ticks(after_ns);
  if (++sim.sent_count % 5 == 0)
    sim.pending_ns = 0, sim.lost_count++;
  else if (sim.sent_count % 7 == 0)
    sim.pending_ns += 900000000, sim.shifted_count++;
  else
    sim.wire_ns[sim.wire_count++] = after_ns;
  return n;
}
/* Made-up transfers with known times on the wire: whatever stamps are lost, the intervals hold them. */
static void wire_times_are_enclosed(void) {
  for (int run = 0; run < 2000; run++) {
    nic__tcp n;
    nic__tcp_flight f;
    const double rate = 1 + 1e-6 * ((double)test_below(1800) - 900);
    const nbc_relation_desc limits = {.hz = 1e9,
                                      .rate_limit_ppm = 1000,
                                      .wander_ppm_per_s = 1,
                                      .counter_bits = 64,
                                      .step_ticks = 1};
    int64_t t = 1000000000;
    memset(&n, 0, sizeof n);
    memset(&f, 0, sizeof f);
    n.has_nic = true;
    CHECK(nbc_relation_init(&n.nic_relation, &limits) == NBC_OK);
    for (int i = 0; i < 5; i++) {
      const int64_t before = t, at = t + (int64_t)test_below(2000);
      t = at + (int64_t)test_below(2000);
      CHECK(nbc_relation_add(&n.nic_relation, before, (uint64_t)((double)at * rate), t) == NBC_OK);
      t += (int64_t)test_below(3000000);
    }
    /* handed to the driver, first frame, last frame, over: in this order */
    const int64_t handed = t - (int64_t)test_below(5000000),
                  first = handed + (int64_t)test_below(20000),
                  last = first + (int64_t)test_below(2) * (int64_t)test_below(500000),
                  over = last + (int64_t)test_below(30000);
    if (test_below(3)) f.nic_first_ticks = (uint64_t)((double)first * rate);
    if (test_below(3)) f.nic_last_ticks = (uint64_t)((double)last * rate);
    int64_t b_lo = handed - (int64_t)test_below(300), b_hi = handed + (int64_t)test_below(300);
    const int64_t e_hi = over + (int64_t)test_below(1000);
    int64_t e_lo = handed + (last - first) / 2 - (int64_t)test_below(300);
    nic__tcp_by_nic(&n, &f, &b_lo, &b_hi, &e_lo, e_hi);
    CHECK(b_lo <= first + 1 && first <= b_hi + 1); /* ticks are whole */
    CHECK(e_lo <= over + 1 && over <= e_hi);
    CHECK(n.stats.by_nic_count + n.stats.nic_lost_count == 1 && n.stats.nic_refused_count == 0);
    CHECK((n.stats.by_nic_count == 1) == (f.nic_first_ticks != 0));
    if (f.nic_first_ticks) CHECK(b_hi - b_lo < 40000); /* sharper than "anywhere until the end" */
  }
}

static int nic_bytes; /* of a message */
static nic_clock *nic_of_rank_0;
static void nic_sends(world_rank *r) {
  enum { ROUNDS = 100 };
  char *data = calloc(1, (size_t)nic_bytes);
  nic__tcp *n = (nic__tcp *)r->t;
  nic__tcp_peer *peer = &n->peers[1 - r->t->rank];
  peer->same_host = false;
  if (r->t->rank == 0) { /* as nic_tcp_create does with desc.clock_of_nic, on the clock of this rank */
    sim.clock = &n->clock;
    sim.stamping = peer->stamping;
    peer->stamping->receive = sim_receive;
    n->desc.clock_of_nic = nic_of_rank_0;
    CHECK(nic__tcp_open_nic(n, &r->error) == NBC_OK);
  }
  for (int i = 0; i < ROUNDS; i++) {
    CHECK((r->t->rank == 0 ? nbc_send(r->t, data, (uint64_t)nic_bytes, 1, 1)
                           : nbc_recv(r->t, data, (uint64_t)nic_bytes, 0, 1)) == NBC_OK);
    if (i % 10 == 0) CHECK(nic_tcp_drain(r->t, LIMIT_NS) == NBC_OK); /* reports do not pile up */
  }
  CHECK(nic_tcp_drain(r->t, LIMIT_NS) == NBC_OK);
  const nic_tcp_stats s = nic_tcp_stats_of(r->t);
  if (r->t->rank == 0) {
    const uint64_t known = s.by_nic_count + s.nic_lost_count + s.nic_refused_count;
    CHECK(s.stamped_count + s.unstamped_count == ROUNDS);
    CHECK(s.by_nic_count > 0 && s.nic_lost_count > 0 && s.nic_refused_count > 0 && n->has_nic);
    if (nic_bytes <= NIC__TCP_JOIN_BYTES) { /* one packet, one stamp: each is accounted for */
      CHECK(known == s.stamped_count && s.by_nic_count <= (uint64_t)sim.wire_count);
      CHECK(s.nic_refused_count <= (uint64_t)sim.shifted_count);
      CHECK(s.nic_lost_count <= (uint64_t)sim.lost_count + s.unstamped_count);
    } else
      CHECK(known >= s.stamped_count);         /* the last packet's may be refused besides */
    for (int i = 0; i < sim.wire_count; i++) { /* the relation of today holds for all of them */
      int64_t lo_ns, hi_ns;
      CHECK(nic__tcp_nic_time(n, (uint64_t)sim_ticks(sim.wire_ns[i]), &lo_ns, &hi_ns) &&
            lo_ns <= sim.wire_ns[i] + 1 && sim.wire_ns[i] - 1 <= hi_ns);
    }
    printf("  %d bytes: %llu sends stamped, begin by the NIC %llu, lost %llu, refused %llu\n",
           nic_bytes, (unsigned long long)s.stamped_count, (unsigned long long)s.by_nic_count,
           (unsigned long long)s.nic_lost_count, (unsigned long long)s.nic_refused_count);
  } else
    CHECK(s.by_nic_count == 0);
  free(data);
}
static void stamps_of_a_nic_are_fed(void) {
  const nic_system kernel = {sim_control, sim_clock_ns, NULL};
  const nic_clock_desc desc = {.device_path = "/dev/null", .kernel = &kernel};
  static const int bytes[] = {100, 30000};
  for (int i = 0; i < 2; i++) {
    world_rank ranks[2];
    memset(&sim, 0, sizeof sim);
    nic_bytes = bytes[i];
    CHECK(nic_clock_open(NULL, NULL, &desc, NULL, &nic_of_rank_0, NULL) == NIC_OK);
    if (!world_run(ranks, 2, (nic_tcp_desc){0}, true, nic_sends)) SKIP("no loopback interface");
    CHECK(ranks[0].report->total.exact_lo_ns <= ranks[0].report->total.exact_hi_ns);
    CHECK(ranks[0].report->problems[NBC_PROBLEM_stamp_invalid] == 0);
    world_free(ranks, 2);
    nic_clock_close(nic_of_rank_0);
  }
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(a_paced_transfer_overlaps);
  RUN(traffic);
  RUN(blocking_calls_hide_nothing);
  RUN(receives_posted_late_count_from_their_post);
  RUN(wire_times_are_enclosed);
  RUN(stamps_of_a_nic_are_fed);
  return TEST_END();
}
