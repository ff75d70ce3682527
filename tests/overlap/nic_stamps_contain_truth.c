/* A simulated NIC whose clock runs at another rate, in steps, with wraps, and is read with delays of
   any kind: every stamp placed contains the true time, exact overlap contains the true overlap, and
   what cannot be placed is counted. */
#include "tests/overlap/sim.h"

enum { STAMPS = 64 };
typedef struct fake {
  double hz, ppm, phase_ticks;
  int bits;
  uint64_t step_ticks;
  nbc_nic_stamp queue[STAMPS];
  size_t queued, taken;
  uint64_t lost;
  nbc_status clock_status;
} fake;

static uint64_t fake_ticks(const fake *f, int64_t t_ns) {
  double ticks = f->phase_ticks + (double)t_ns * 1e-9 * f->hz * (1 + f->ppm * 1e-6);
  uint64_t whole = (uint64_t)ticks;
  whole -= whole % (f->step_ticks ? f->step_ticks : 1);
  return f->bits && f->bits < 64 ? whole & (((uint64_t)1 << f->bits) - 1) : whole;
}
static nbc_status fake_read_clock(void *ctx, int64_t *before_ns, uint64_t *ticks, int64_t *after_ns) {
  fake *f = (fake *)ctx;
  if (f->clock_status != NBC_OK) return f->clock_status;
  *before_ns = sim_now_ns;
  sim_now_ns += 200 + (int64_t)test_below(test_below(10) ? 300 : 20000); /* sometimes interrupted */
  *ticks = fake_ticks(f, sim_now_ns);
  sim_now_ns += 200 + (int64_t)test_below(test_below(10) ? 300 : 20000);
  *after_ns = sim_now_ns;
  return NBC_OK;
}
static nbc_status fake_next_stamp(void *ctx, nbc_nic_stamp *stamp) {
  fake *f = (fake *)ctx;
  if (f->taken == f->queued) return NBC_PENDING;
  *stamp = f->queue[f->taken++];
  return NBC_OK;
}
static uint64_t fake_lost(void *ctx) { return ((fake *)ctx)->lost; }
static nbc_nic fake_nic(fake *f) {
  nbc_nic nic;
  memset(&nic, 0, sizeof nic);
  nic.ctx = f;
  nic.name = "fake0";
  nic.nominal_hz = f->hz;
  nic.counter_bits = f->bits;
  nic.step_ticks = f->step_ticks;
  nic.read_clock = fake_read_clock;
  nic.next_stamp = fake_next_stamp;
  nic.lost_count = fake_lost;
  return nic;
}
static void fake_transfer(fake *f, uint64_t id, int64_t t_begin_ns, int64_t t_end_ns) {
  nbc_nic_stamp *s = &f->queue[f->queued++];
  memset(s, 0, sizeof *s);
  s->xfer_id = id;
  s->begin_ticks = fake_ticks(f, t_begin_ns);
  s->end_ticks = fake_ticks(f, t_end_ns);
  s->flags = NBC_NIC_SENT;
}
static sim start(void) {
  nbc_monitor_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.history_calls = 64;
  return sim_create(100, 1, desc);
}
static nbc_nic_watch *watch_of(const nbc_nic *nic, nbc_recorder *me, size_t batch) {
  nbc_nic_watch *w = NULL;
  nbc_nic_watch_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.nic = nic;
  desc.recorder = me;
  desc.batch_stamps = batch;
  CHECK(nbc_nic_watch_create(&desc, &w) == NBC_OK);
  return w;
}

/* One exchange: post, compute, wait; the wire is busy from b to e. Returns the true overlap. */
static int64_t exchange(sim *s, fake *f, uint64_t id) {
  const int64_t t0 = sim_now_ns, post_ns = 1 + (int64_t)test_below(5000), comp_ns = 1 + (int64_t)test_below(200000);
  nbc_call_enter_at(s->me, NBC_KIND_ISEND, t0);
  nbc_xfer_begin_at(s->me, id, 1000, NBC_KIND_ISEND, NBC_PEER_OTHER_NODE, t0);
  nbc_call_exit_at(s->me, t0 + post_ns);
  const int64_t b = t0 + (int64_t)test_below((uint64_t)(post_ns + comp_ns)), e = b + (int64_t)test_below(250000);
  const int64_t t1 = t0 + post_ns + comp_ns, t2 = (e > t1 ? e : t1) + 100;
  nbc_call_enter_at(s->me, NBC_KIND_WAIT, t1);
  nbc_xfer_end_at(s->me, id, t2);
  nbc_call_exit_at(s->me, t2 + 10);
  fake_transfer(f, id, b, e);
  sim_now_ns = t2 + 10 + (int64_t)test_below(1000000);
  const int64_t from = b > t0 + post_ns ? b : t0 + post_ns, to = e < t1 ? e : t1;
  return to > from ? to - from : 0;
}

static void truth_is_inside(void) {
  for (int run = 0; run < 300; run++) {
    fake f;
    memset(&f, 0, sizeof f);
    const double hz[] = {1e9, 156.25e6, 125e6, 1e6};
    f.hz = hz[test_below(4)];
    f.ppm = (double)test_below(200) - 100;
    f.bits = test_below(2) ? 0 : f.hz > 2e8 ? 34 : 32; /* some wrap during the run */
    f.step_ticks = test_below(2) ? 0 : 1 + test_below(16);
    f.phase_ticks = (double)test_below((uint64_t)1 << 34);
    sim s = start();
    sim_now_ns = 1000;
    const nbc_nic nic = fake_nic(&f);
    nbc_nic_watch *w = watch_of(&nic, s.me, 1 + test_below(8));
    int64_t truth_ns = 0;
    const int rounds = 1 + (int)test_below(STAMPS);
    for (int i = 0; i < rounds; i++) {
      truth_ns += exchange(&s, &f, (uint64_t)i);
      if (test_below(3) == 0) CHECK(nbc_nic_poll(w) == NBC_OK);
    }
    CHECK(nbc_nic_poll(w) == NBC_OK);
    nbc_report *r = sim_report(&s, sim_now_ns);
    const nbc_nic_counts c = nbc_nic_watch_counts(w);
    CHECK(c.placed_count == (uint64_t)rounds && c.unplaced_count == 0 && c.step_count == 0);
    CHECK(r->total.exact_count + r->problems[NBC_PROBLEM_stamp_lost] == (uint64_t)rounds);
    if (r->total.exact_count == (uint64_t)rounds)
      CHECK(r->total.exact_lo_ns <= truth_ns && truth_ns <= r->total.exact_hi_ns);
    CHECK(r->total.exact_hi_ns - r->total.exact_lo_ns <= 4 * rounds * c.max_err_ns);
    nbc_report_free(r);
    nbc_nic_watch_destroy(w);
    sim_destroy(&s);
  }
}

static void a_clock_step_leaves_stamps_unplaced_and_counted(void) {
  fake f;
  memset(&f, 0, sizeof f);
  f.hz = 1e9;
  f.phase_ticks = 1e12;
  sim s = start();
  sim_now_ns = 1000;
  const nbc_nic nic = fake_nic(&f);
  nbc_nic_watch *w = watch_of(&nic, s.me, 0);
  exchange(&s, &f, 1);
  CHECK(nbc_nic_poll(w) == NBC_OK);
  exchange(&s, &f, 2);
  f.phase_ticks += 5e9; /* someone set the clock */
  CHECK(nbc_nic_poll(w) == NBC_OK);
  exchange(&s, &f, 3);
  CHECK(nbc_nic_poll(w) == NBC_OK);
  const nbc_nic_counts c = nbc_nic_watch_counts(w);
  CHECK(c.placed_count == 2 && c.unplaced_count == 1 && c.step_count == 1);
  nbc_nic_watch_destroy(w);
  sim_destroy(&s);
}

static nbc_recorder *only_even(void *user, nbc_nic_stamp *stamp) {
  stamp->xfer_id /= 2;
  return stamp->xfer_id % 2 ? NULL : (nbc_recorder *)user;
}
static void owners_losses_and_errors_are_counted_and_reported(void) {
  fake f;
  memset(&f, 0, sizeof f);
  f.hz = 1e9;
  f.lost = 5; /* before the watch */
  sim s = start();
  sim_now_ns = 1000;
  const nbc_nic nic = fake_nic(&f);
  nbc_nic_watch *w = NULL;
  nbc_nic_watch_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.nic = &nic;
  CHECK(nbc_nic_watch_create(&desc, &w) == NBC_E_INVAL); /* no owner */
  desc.owner_of = only_even;
  desc.user = s.me;
  CHECK(nbc_nic_watch_create(&desc, &w) == NBC_OK);
  f.lost += 2;
  exchange(&s, &f, 4);
  f.queue[0].xfer_id = 8;
  fake_transfer(&f, 2, sim_now_ns - 10, sim_now_ns - 5);
  CHECK(nbc_nic_poll(w) == NBC_OK);
  f.clock_status = NBC_E_IO; /* the device is gone */
  CHECK(nbc_nic_poll(w) == NBC_E_IO);
  const nbc_nic_counts c = nbc_nic_watch_counts(w);
  CHECK(c.placed_count == 1 && c.unowned_count == 1 && c.lost_count == 2);
  nbc_report *r = sim_report(&s, sim_now_ns);
  CHECK(r->total.exact_count == 1);
  CHECK(nbc_nic_watch_report(w, r) == NBC_OK);
  CHECK(r->note_count == 1 && strstr(r->notes[0], "fake0: 1 stamps") != NULL);
  CHECK(r->counter_count == 3);
  CHECK_STR(r->counters[1].name, "fake0 stamps lost by the NIC");
  CHECK(r->counters[1].value == 2);
  nbc_report_free(r);
  nbc_nic_watch_destroy(w);
  sim_destroy(&s);
}

/* Of a message that came before its receive only the end is seen; stamps still give its true overlap. */
static void a_transfer_noticed_late_takes_stamps(void) {
  sim s = start();
  nbc_call_enter_at(s.me, NBC_KIND_IRECV, 1000); /* computing since 0 */
  nbc_xfer_begun_at(s.me, 7, 400, NBC_KIND_IRECV, NBC_PEER_OTHER_NODE, 1000);
  nbc_call_exit_at(s.me, 1010);
  nbc_call_enter_at(s.me, NBC_KIND_WAIT, 3010);
  nbc_xfer_end_at(s.me, 7, 3500);
  nbc_call_exit_at(s.me, 3600);
  nbc_xfer_stamp(s.me, 7, 600, 2010, 0);
  nbc_xfer_stamp(s.me, 8, 600, 2010, 0);
  nbc_report *r = sim_report(&s, 4000);
  CHECK(r->total.count == 1 && r->total.case_count[2] == 1 && r->total.size_bytes == 400);
  CHECK(r->total.xfer_ns == 500 && r->total.min_overlap_ns == 0 && r->total.max_overlap_ns == 500);
  CHECK(r->total.exact_count == 1 && r->total.exact_lo_ns == 1400 && r->total.exact_hi_ns == 1400);
  CHECK(r->problems[NBC_PROBLEM_stamp_lost] == 1 && r->problems[NBC_PROBLEM_end_unknown] == 0);
  nbc_report_free(r);
  sim_destroy(&s);
}

/* Stamps that are all off by one shift: their total contains the truth, and is as narrow as that shift and
   each stamp's own error allow, not as wide as the worst shift for each. */
static nbc_totals shifted_total(bool is_shared, uint64_t seed, int64_t *truth_ns) {
  enum { REACH = 300, OWN = 3 };
  test_state = seed;
  sim s = start();
  fake f;
  memset(&f, 0, sizeof f);
  f.hz = 1e9;
  sim_now_ns = 10000;
  const int64_t shift_ns = (int64_t)test_below(2 * REACH + 1) - REACH;
  const int rounds = 20 + (int)test_below(40);
  *truth_ns = 0;
  for (int i = 0; i < rounds; i++) {
    const uint64_t id = (uint64_t)i + 1;
    f.queued = 0;
    *truth_ns += exchange(&s, &f, id);
    const int64_t b = (int64_t)f.queue[0].begin_ticks - shift_ns + (int64_t)test_below(2 * OWN + 1) - OWN,
                  e = (int64_t)f.queue[0].end_ticks - shift_ns + (int64_t)test_below(2 * OWN + 1) - OWN;
    const int64_t later = e > b ? e : b;
    if (is_shared) /* now and then the clock steps: another group */
      nbc_xfer_stamp_shared(s.me, id, b, later, OWN + (later - e), 2 * OWN + (later - e), REACH, 1 + (uint32_t)i / 30);
    else
      nbc_xfer_stamp_length(s.me, id, b, later, REACH + OWN + (later - e), 2 * OWN + (later - e));
  }
  nbc_report *r = sim_report(&s, sim_now_ns + 2000);
  const nbc_totals t = r->total;
  CHECK(t.exact_count == (uint64_t)rounds);
  nbc_report_free(r);
  sim_destroy(&s);
  return t;
}
static void one_shift_moves_all_stamps(void) {
  int64_t shared_ns = 0, single_ns = 0, truth_ns;
  for (int run = 0; run < 200; run++) {
    const uint64_t seed = test_rand(), after = test_state;
    const nbc_totals one = shifted_total(false, seed, &truth_ns);
    CHECK(one.exact_lo_ns <= truth_ns && truth_ns <= one.exact_hi_ns);
    const nbc_totals all = shifted_total(true, seed, &truth_ns);
    CHECK(all.exact_lo_ns <= truth_ns && truth_ns <= all.exact_hi_ns);
    CHECK(all.exact_lo_ns >= one.exact_lo_ns && all.exact_hi_ns <= one.exact_hi_ns);
    shared_ns += all.exact_hi_ns - all.exact_lo_ns, single_ns += one.exact_hi_ns - one.exact_lo_ns;
    test_state = after;
  }
  printf("  width %.3f of that of each for itself\n", (double)shared_ns / (double)single_ns);
  CHECK(shared_ns * 4 < single_ns * 3);
}

/* A report in the middle: what the owner may still compute until the stamp's last time widens the exact
   overlap upwards only. The transfer may have lain in 800 ... 1300, of which 80 ns are computed so far. */
static void what_may_still_be_computed_is_not_promised(void) {
  nbc_monitor_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.history_calls = 256;
  sim s = sim_create(1000, 1e-9, desc);
  nbc_call_enter_at(s.me, NBC_KIND_ISEND, 0);
  nbc_xfer_begin_at(s.me, 1, 8, NBC_KIND_ISEND, NBC_PEER_SAME_NODE, 10);
  nbc_call_exit_at(s.me, 20);
  nbc_call_enter_at(s.me, NBC_KIND_WAIT, 840);
  nbc_xfer_end_at(s.me, 1, 850);
  nbc_call_exit_at(s.me, 860);
  nbc_xfer_stamp_length(s.me, 1, 500, 1000, 300, 0);
  nbc_report *r = sim_report(&s, 900);
  CHECK(r->total.exact_count == 1 && r->total.exact_xfer_ns == 500);
  CHECK(r->total.exact_lo_ns <= 80 && r->total.exact_hi_ns >= 480);
  nbc_report_free(r);
  sim_destroy(&s);
}

/* Data that came while its receiver computed, and was over before the receive was posted: all of it was hidden, whoever tells
   of the stamp when. */
static void what_came_before_its_receive_was_hidden(void) {
  for (int order = 0; order < 3; order++) {
    nbc_monitor_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.history_calls = 64;
    sim s = sim_create(300, 1, desc);
    for (uint64_t id = 1; id <= 5; id++) {
      const int64_t t_ns = (int64_t)id * 100000;
      if (order == 0) nbc_xfer_stamp(s.me, id, t_ns - 5000, t_ns - 3000, 0); /* a NIC is ahead of who posts */
      nbc_call_enter_at(s.me, NBC_KIND_RECV, t_ns);
      nbc_xfer_begin_at(s.me, id, 1700, NBC_KIND_RECV, NBC_PEER_OTHER_NODE, t_ns);
      if (order == 1) nbc_xfer_stamp(s.me, id, t_ns - 5000, t_ns - 3000, 0);
      nbc_xfer_end_early_at(s.me, id, 1700, NBC_PEER_OTHER_NODE, t_ns + 50);
      if (order == 2) nbc_xfer_stamp(s.me, id, t_ns - 5000, t_ns - 3000, 0);
      nbc_call_exit_at(s.me, t_ns + 100);
    }
    nbc_report *r = sim_report(&s, 600000);
    CHECK(r->total.exact_count == 5 && r->problems[NBC_PROBLEM_stamp_lost] == 0);
    CHECK(r->total.exact_lo_ns == 5 * 2000 && r->total.exact_hi_ns == 5 * 2000);
    nbc_report_free(r);
    sim_destroy(&s);
  }
}

/* Whatever large error a length is said to have, it tells no more than none: the transfer of 500 may be anywhere
   in 200 ... 1300, of which 900 ... 1300 was no computation. */
static nbc_totals length_total(int64_t d_err_ns) {
  nbc_monitor_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.history_calls = 256;
  sim s = sim_create(1000, 1e-9, desc);
  nbc_call_enter_at(s.me, NBC_KIND_ISEND, 0);
  nbc_xfer_begin_at(s.me, 1, 8, NBC_KIND_ISEND, NBC_PEER_SAME_NODE, 10);
  nbc_call_exit_at(s.me, 20);
  nbc_call_enter_at(s.me, NBC_KIND_WAIT, 900);
  nbc_xfer_end_at(s.me, 1, 1300);
  nbc_call_exit_at(s.me, 1300);
  nbc_xfer_stamp_length(s.me, 1, 500, 1000, 300, d_err_ns);
  nbc_report *r = sim_report(&s, 2000);
  const nbc_totals t = r->total;
  nbc_report_free(r);
  sim_destroy(&s);
  return t;
}
static void a_length_of_any_error_promises_nothing(void) {
  const nbc_totals exact = length_total(0), none = length_total(UINT32_MAX);
  CHECK(exact.exact_count == 1 && none.exact_count == 1 && exact.exact_lo_ns > none.exact_lo_ns);
  for (int bit = 32; bit < 63; bit++)
    for (int more = -1; more <= 1; more++) {
      const nbc_totals t = length_total(((int64_t)1 << bit) + more);
      CHECK(t.exact_lo_ns == none.exact_lo_ns && t.exact_hi_ns == none.exact_hi_ns);
    }
  CHECK(length_total(-1).exact_lo_ns == none.exact_lo_ns && length_total(INT64_MIN).exact_lo_ns == none.exact_lo_ns);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(a_length_of_any_error_promises_nothing);
  RUN(truth_is_inside);
  RUN(what_came_before_its_receive_was_hidden);
  RUN(one_shift_moves_all_stamps);
  RUN(a_transfer_noticed_late_takes_stamps);
  RUN(a_clock_step_leaves_stamps_unplaced_and_counted);
  RUN(owners_losses_and_errors_are_counted_and_reported);
  RUN(what_may_still_be_computed_is_not_promised);
  return TEST_END();
}
