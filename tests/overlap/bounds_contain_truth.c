/* A simulated library whose real transfer intervals are known: min <= true overlap <= max, for every
   transfer alone and for sums, whatever the library sees of it and whenever it sees it. */
#include "src/overlap/monitor.c"
#include "tests/pieces.h"
#include "tests/overlap/sim.h"

typedef struct world {
  int64_t t_ns;
  struct { int64_t from_ns, to_ns; } comp[600]; /* computation intervals */
  int comp_count;
} world;

static int64_t true_overlap(const world *w, int64_t a, int64_t b) {
  int64_t sum = 0;
  for (int i = 0; i < w->comp_count; i++) {
    const int64_t from = w->comp[i].from_ns > a ? w->comp[i].from_ns : a, to = w->comp[i].to_ns < b ? w->comp[i].to_ns : b;
    if (to > from) sum += to - from;
  }
  return sum;
}

static void compute(world *w, int64_t d_ns) {
  w->comp[w->comp_count].from_ns = w->t_ns;
  w->t_ns += d_ns;
  w->comp[w->comp_count++].to_ns = w->t_ns;
}

typedef struct transfer {
  uint64_t bytes;
  int64_t posted_ns, begin_ns, end_ns; /* truth */
  bool begin_seen, begun_seen, end_seen, active;
} transfer;

/* n transfers posted, carried and noticed at random over `steps` calls; -> sums. */
static void run(int n, int steps) {
  enum { LATENCY = 300 };
  nbc_monitor_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.ring_events = 16;
  sim s = sim_create(LATENCY, 1, desc);
  static world w;
  transfer x[32];
  memset(&w, 0, sizeof w);
  memset(x, 0, sizeof x);
  int posted = 0;
  for (int step = 0; step < steps; step++) {
    compute(&w, (int64_t)(test_below(4) ? test_below(5000) : 0));
    nbc_call_enter_at(s.me, NBC_KIND_WAIT, w.t_ns);
    const int events = 1 + (int)test_below(4);
    for (int e = 0; e < events; e++) {
      w.t_ns += (int64_t)test_below(1500);
      if (posted < n && test_below(2)) {
        transfer *p = &x[posted];
        p->bytes = test_below(6000);
        p->posted_ns = w.t_ns;
        p->begin_ns = w.t_ns + (int64_t)(test_below(2) ? test_below(3000) : 0);
        p->end_ns = p->begin_ns + LATENCY + (int64_t)p->bytes;
        p->active = true;
        p->begin_seen = test_below(5) != 0;
        if (p->begin_seen) nbc_xfer_begin_at(s.me, (uint64_t)posted, p->bytes, NBC_KIND_ISEND, NBC_PEER_SAME_NODE, w.t_ns);
        posted++;
      }
      for (int i = 0; i < posted; i++) /* noticed on its way */
        if (x[i].active && !x[i].begin_seen && !x[i].begun_seen && x[i].begin_ns <= w.t_ns && test_below(2)) {
          x[i].begun_seen = true;
          nbc_xfer_begun_at(s.me, (uint64_t)i, x[i].bytes, NBC_KIND_IRECV, NBC_PEER_SAME_NODE, w.t_ns);
        }
      for (int i = 0; i < posted; i++)
        if (x[i].active && x[i].end_ns <= w.t_ns && test_below(2)) {
          x[i].active = false;
          x[i].end_seen = true;
          if (x[i].begin_seen || x[i].begun_seen) nbc_xfer_end_at(s.me, (uint64_t)i, w.t_ns);
          else nbc_xfer_end_only_at(s.me, x[i].bytes, NBC_KIND_IRECV, NBC_PEER_SAME_NODE, w.t_ns);
        }
    }
    w.t_ns += (int64_t)test_below(100);
    nbc_call_exit_at(s.me, w.t_ns);
  }
  int64_t truth = 0, xfer = 0, counted = 0;
  for (int i = 0; i < posted; i++) {
    if (!x[i].begin_seen && !x[i].begun_seen && !x[i].end_seen) continue; /* the monitor never heard of it */
    if (x[i].end_ns > w.t_ns) w.t_ns = x[i].end_ns;   /* let it finish before the report */
    truth += true_overlap(&w, x[i].begin_ns, x[i].end_ns);
    xfer += LATENCY + (int64_t)x[i].bytes;
    counted++;
  }
  nbc_report *r = sim_report(&s, w.t_ns);
  CHECK((int64_t)r->total.count == counted);
  CHECK(r->total.xfer_ns == xfer);
  CHECK(r->total.min_overlap_ns <= truth);
  CHECK(truth <= r->total.max_overlap_ns);
  CHECK(r->problems[NBC_PROBLEM_table_too_slow] == 0);
  CHECK(r->comp_ns + r->call_ns == w.t_ns);
  nbc_report_free(r);
  sim_destroy(&s);
}

static void give(nbc_recorder *me, uint64_t id, int64_t b_ns, int64_t e_ns, int64_t err_ns, int64_t d_err_ns) {
  if (d_err_ns < 0) nbc_xfer_stamp(me, id, b_ns, e_ns, err_ns);
  else nbc_xfer_stamp_length(me, id, b_ns, e_ns, err_ns, d_err_ns);
}
/* The same with stamps of the true interval, off by at most err: exact interval contains the truth,
   and without error it is the truth. Both stamps are off by nearly the same, and with_length the monitor
   is told so. Returns the interval's width. */
static int64_t stamps(int64_t err_ns, int64_t d_err_ns, bool with_length) {
  nbc_monitor_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.history_calls = 64;
  sim s = sim_create(300, 1, desc);
  static world w;
  memset(&w, 0, sizeof w);
  int64_t truth = 0, wide = 0;
  uint64_t count = 0;
  for (uint64_t id = 0; id < 40; id++) {
    const uint64_t bytes = test_below(6000);
    compute(&w, 1 + (int64_t)test_below(300));
    nbc_call_enter_at(s.me, NBC_KIND_ISEND, w.t_ns);
    nbc_xfer_begin_at(s.me, id, bytes, NBC_KIND_ISEND, NBC_PEER_SAME_NODE, w.t_ns);
    const int64_t begin = w.t_ns + (int64_t)test_below(2000), end = begin + 300 + (int64_t)bytes;
    w.t_ns += 50;
    nbc_call_exit_at(s.me, w.t_ns);
    while (w.t_ns < end + err_ns) {
      compute(&w, 1 + (int64_t)test_below(2500));
      nbc_call_enter_at(s.me, NBC_KIND_TEST, w.t_ns);
      w.t_ns += (int64_t)test_below(800);
      nbc_call_exit_at(s.me, w.t_ns);
    }
    compute(&w, 10);
    nbc_call_enter_at(s.me, NBC_KIND_WAIT, w.t_ns);
    const int64_t off_b = err_ns ? (int64_t)test_below(2 * (uint64_t)err_ns) - err_ns : 0;
    int64_t off_e = err_ns ? (int64_t)test_below(2 * (uint64_t)err_ns) - err_ns : 0;
    if (d_err_ns >= 0) {
      off_e = off_b + (int64_t)test_below(2 * (uint64_t)d_err_ns + 1) - d_err_ns;
      off_e = off_e > err_ns ? err_ns : off_e < -err_ns ? -err_ns : off_e;
    }
    const bool early = test_below(2), inverted = end + off_e < begin + off_b;
    if (early) give(s.me, id, begin + off_b, end + off_e, err_ns, with_length ? d_err_ns : -1);
    nbc_xfer_end_at(s.me, id, w.t_ns);
    if (!early) give(s.me, id, begin + off_b, end + off_e, err_ns, with_length ? d_err_ns : -1);
    nbc_call_exit_at(s.me, w.t_ns);
    CHECK(!inverted);
    nbc__mon_drain(s.me);
    truth += true_overlap(&w, begin, end);
    wide += 4 * err_ns;
    count++;
    if (w.comp_count > 500) w.comp_count = 0; /* old intervals do not matter any more */
  }
  nbc_report *r = sim_report(&s, w.t_ns);
  CHECK(r->total.exact_count == count);
  CHECK(r->total.exact_lo_ns <= truth && truth <= r->total.exact_hi_ns);
  CHECK(r->total.exact_hi_ns - r->total.exact_lo_ns <= wide);
  if (err_ns == 0) CHECK(r->total.exact_lo_ns == truth && r->total.exact_hi_ns == truth);
  CHECK(r->total.min_overlap_ns <= r->total.exact_lo_ns + wide && r->total.exact_hi_ns <= r->total.max_overlap_ns + wide);
  const int64_t width_ns = r->total.exact_hi_ns - r->total.exact_lo_ns;
  nbc_report_free(r);
  sim_destroy(&s);
  return width_ns;
}
static void exact_overlap_is_the_truth_when_stamps_are_exact(void) {
  for (int i = 0; i < 300 && !test_bad; i++) stamps(0, -1, false);
}
static void exact_interval_contains_truth_within_the_error_of_stamps(void) {
  for (int i = 0; i < 300 && !test_bad; i++) stamps(1 + (int64_t)test_below(100), -1, false);
}
/* The same stamps with and without: the truth stays inside, the interval is never wider, often narrower. */
static void a_known_length_narrows_and_never_lies(void) {
  int64_t with_ns = 0, without_ns = 0;
  for (int i = 0; i < 300 && !test_bad; i++) {
    const int64_t err_ns = 1 + (int64_t)test_below(100), d_err_ns = (int64_t)test_below(1 + (uint64_t)err_ns / 4);
    const uint64_t state = test_state;
    const int64_t without = stamps(err_ns, d_err_ns, false);
    test_state = state;
    const int64_t with = stamps(err_ns, d_err_ns, true);
    CHECK(with <= without);
    with_ns += with, without_ns += without;
  }
  CHECK(with_ns < without_ns);
}
/* Computing all the time but for 10 ns: what is hidden is known to these 10 and to the length's error. */
static void a_transfer_in_the_middle_of_computing_is_known_by_its_length(void) {
  nbc_monitor_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.history_calls = 64;
  sim s = sim_create(300, 1, desc);
  nbc_call_enter_at(s.me, NBC_KIND_ISEND, 1000);
  nbc_xfer_begin_at(s.me, 1, 10, NBC_KIND_ISEND, NBC_PEER_SAME_NODE, 1000);
  nbc_call_exit_at(s.me, 1010);
  nbc_call_enter_at(s.me, NBC_KIND_WAIT, 9000);
  nbc_xfer_end_at(s.me, 1, 9000);
  nbc_xfer_stamp_length(s.me, 1, 1100, 6100, 200, 3);
  nbc_call_exit_at(s.me, 9100);
  nbc_report *r = sim_report(&s, 9200);
  CHECK(r->total.exact_lo_ns == 5000 - 3 - 10 && r->total.exact_hi_ns == 5000 + 3);
  nbc_report_free(r);
  sim_destroy(&s);
}
/* The stamp of a transfer that has not ended, or that ends with another size, is in every report. */
static void stamps_of_active_transfers_are_in_the_report(void) {
  nbc_monitor_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.history_calls = 64;
  sim s = sim_create(300, 1, desc);
  nbc_call_enter_at(s.me, NBC_KIND_IRECV, 1000);
  nbc_xfer_begin_at(s.me, 1, 100000, NBC_KIND_IRECV, NBC_PEER_SAME_NODE, 1000);
  nbc_call_exit_at(s.me, 1010);
  nbc_xfer_stamp(s.me, 1, 2000, 2500, 0);
  nbc_report *r = sim_report(&s, 4000);
  CHECK(r->total.count == 1 && r->problems[NBC_PROBLEM_never_ended] == 1);
  CHECK(r->total.exact_count == 1 && r->total.exact_lo_ns == 500 && r->total.exact_hi_ns == 500);
  CHECK(r->problems[NBC_PROBLEM_stamp_lost] == 0);
  nbc_report_free(r);
  nbc_call_enter_at(s.me, NBC_KIND_WAIT, 9000);
  nbc_xfer_end_sized_at(s.me, 1, 10, NBC_PEER_SAME_NODE, 9000);
  nbc_call_exit_at(s.me, 9100);
  r = sim_report(&s, 9200);
  CHECK(r->total.count == 1 && r->total.exact_count == 1 && r->total.exact_lo_ns == 500);
  nbc_report_free(r);
  sim_destroy(&s);
}
/* A receive for more than comes, from anybody: what its stamps say stands in the row of what came. Many at once: the
   table of transfers grows meanwhile. */
static void stamps_stand_in_the_row_of_their_transfer(void) {
  enum { MANY = 40 };
  nbc_monitor_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.history_calls = 64;
  desc.max_transfers = 8;
  desc.grow_transfers = true;
  sim s = sim_create(300, 1, desc);
  for (int64_t t = 0; t < 20000; t += 10000) { /* the second time in places that were used before */
    nbc_call_enter_at(s.me, NBC_KIND_IRECV, t + 1000);
    for (uint64_t i = 0; i < MANY; i++) {
      nbc_xfer_begin_at(s.me, i, 100000, NBC_KIND_IRECV, NBC_PEER_UNKNOWN, i > 3 ? t + 3000 : t + 1000);
      if (i != 3) continue;
      nbc_call_exit_at(s.me, t + 1010);
      nbc_xfer_stamp(s.me, 3, t + 2000, t + 2700, 0);
      nbc_call_enter_at(s.me, NBC_KIND_IRECV, t + 3000);
    }
    nbc_call_exit_at(s.me, t + 3010);
    for (uint64_t i = 0; i < MANY; i++)
      if (i != 3) nbc_xfer_stamp(s.me, i, t + 4000, t + 4700, 0);
    nbc_call_enter_at(s.me, NBC_KIND_WAIT, t + 9000);
    for (uint64_t i = 0; i < MANY; i++) {
      if (i % 4 == 0) nbc_xfer_end_at(s.me, i, t + 9000);
      if (i % 4 == 1) nbc_xfer_end_sized_at(s.me, i, 200000, NBC_PEER_SAME_NODE, t + 9000);
      if (i % 4 > 1) nbc_xfer_end_sized_at(s.me, i, 400, NBC_PEER_SAME_NODE, t + 9000);
    }
    nbc_call_exit_at(s.me, t + 9100);
  }
  nbc_report *r = sim_report(&s, 19200);
  CHECK(r->total.count == 2 * MANY && r->total.exact_count == 2 * MANY && r->cell_count == 3);
  for (size_t i = 0; i < r->cell_count; i++) {
    const nbc_totals *t = &r->cells[i].t;
    CHECK(t->exact_count == t->count && t->exact_lo_ns == 700 * (int64_t)t->count && t->exact_hi_ns == t->exact_lo_ns);
    CHECK(t->min_overlap_ns <= t->exact_hi_ns && t->exact_xfer_ns == t->exact_lo_ns);
  }
  nbc_report_free(r);
  sim_destroy(&s);
}
static void stamps_that_cannot_be_used_are_counted(void) {
  nbc_monitor_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.history_calls = 8;
  sim s = sim_create(10, 1, desc);
  nbc_xfer_stamp(s.me, 99, 10, 20, 0); /* unknown */
  nbc_xfer_begin_at(s.me, 1, 10, NBC_KIND_ISEND, NBC_PEER_SAME_NODE, 100);
  for (int i = 0; i < 40; i++) {
    nbc_call_enter_at(s.me, NBC_KIND_TEST, 1000 + 10 * i);
    nbc_call_exit_at(s.me, 1005 + 10 * i);
  }
  nbc_xfer_end_at(s.me, 1, 2000);
  nbc_xfer_stamp(s.me, 1, 150, 180, 0);   /* older than the history */
  nbc_xfer_stamp(s.me, 1, 1900, 1890, 0); /* inverted */
  nbc_xfer_stamp(s.me, 1, 1900, 1950, 0); /* good */
  nbc_report *r = sim_report(&s, 2000);
  CHECK(r->problems[NBC_PROBLEM_stamp_lost] == 2 && r->problems[NBC_PROBLEM_stamp_invalid] == 1);
  CHECK(r->total.exact_count == 1 && r->total.exact_lo_ns == 50 && r->total.exact_hi_ns == 50);
  nbc_report_free(r);
  sim_destroy(&s);
}

/* ---- told late ---------------------------------------------------------------------------------
   The owner reads its clock and is interrupted before it tells; other threads stamp meanwhile, or stamp
   what was long ago; somebody drains at any moment. When all is told, the bounds are those of who saw
   everything in time. */
enum { LATE_EVENTS = 300, LATE_TRANSFERS = 40 };
typedef struct late {
  enum { ENTER, EXIT, OWN_BEGIN, OWN_END, FOREIGN_BEGIN, FOREIGN_END, NIC } what;
  int64_t t_ns, told_ns; /* when it was, when the monitor hears of it */
  int64_t from_ns, err_ns; /* of a NIC's stamp */
  uint64_t id, bytes;
  int order;
} late;
static int by_telling(const void *a, const void *b) {
  const late *x = (const late *)a, *y = (const late *)b;
  return x->told_ns != y->told_ns ? (x->told_ns > y->told_ns) - (x->told_ns < y->told_ns) : x->order - y->order;
}
static void tell(sim *s, const late *e) {
  switch (e->what) {
  case ENTER: nbc_call_enter_at(s->me, NBC_KIND_WAIT, e->t_ns); break;
  case EXIT: nbc_call_exit_at(s->me, e->t_ns); break;
  case OWN_BEGIN: nbc_xfer_begin_at(s->me, e->id, e->bytes, NBC_KIND_ISEND, NBC_PEER_SAME_NODE, e->t_ns); break;
  case OWN_END: nbc_xfer_end_at(s->me, e->id, e->t_ns); break;
  case FOREIGN_BEGIN: nbc_foreign_begin_at(s->me, e->id, e->bytes, NBC_KIND_ISEND, NBC_PEER_SAME_NODE, e->t_ns); break;
  case FOREIGN_END: nbc_foreign_end_at(s->me, e->id, e->t_ns); break;
  case NIC: nbc_xfer_stamp(s->me, e->id, e->from_ns, e->t_ns, e->err_ns); break;
  }
}
static int64_t up_to(int64_t n) { return (int64_t)test_below((uint64_t)n); }

/* Calls of the owner from 0 on, into w and, as events, into list; -> their number. */
static int owner_calls(world *w, late *list, int calls) {
  int n = 0;
  for (int i = 0; i < calls; i++) {
    compute(w, 1 + up_to(3000));
    list[n].what = ENTER;
    list[n++].t_ns = w->t_ns;
    w->t_ns += up_to(2000);
    list[n].what = EXIT;
    list[n++].t_ns = w->t_ns;
  }
  return n;
}

static void told_late(bool nic) {
  static world w;
  static late list[LATE_EVENTS];
  enum { LATENCY = 300 };
  nbc_monitor_desc desc;
  memset(&desc, 0, sizeof desc);
  memset(&w, 0, sizeof w);
  memset(list, 0, sizeof list);
  desc.ring_events = 16;
  desc.history_calls = nic ? 256 : 0;
  sim s = sim_create(LATENCY, 1, desc);
  int n = owner_calls(&w, list, 2 + (int)test_below(60)), transfers = 1 + (int)test_below(LATE_TRANSFERS);
  const int owners = n;
  const int64_t end_of_all = w.t_ns;
  int64_t lo = 0, hi = 0, truth = 0, xfer = 0;
  for (int i = 0; i < owners; i++) { /* in order, each up to 4 us after it happened */
    const int64_t before = i ? list[i - 1].told_ns : 0;
    list[i].told_ns = list[i].t_ns + (test_below(3) ? 0 : up_to(4000));
    if (list[i].told_ns < before) list[i].told_ns = before;
  }
  for (int i = 0; i < transfers; i++) {
    const uint64_t bytes = test_below(3000);
    const int64_t x = LATENCY + (int64_t)bytes, begin = up_to(end_of_all), end = begin + x + up_to(9000), moved = begin + up_to(end - begin - x + 1);
    if (end > end_of_all) continue;
    late *b = &list[n++], *e = &list[n++];
    b->id = e->id = (uint64_t)i;
    b->bytes = bytes;
    b->t_ns = begin, e->t_ns = end;
    b->what = FOREIGN_BEGIN, e->what = FOREIGN_END;
    b->told_ns = begin + (test_below(2) ? 0 : up_to(3000));
    e->told_ns = (end > b->told_ns ? end : b->told_ns) + (test_below(2) ? 0 : up_to(6000));
    const int64_t comp = true_overlap(&w, begin, end), noncomp = end - begin - comp;
    lo += x > noncomp ? x - noncomp : 0;
    hi += comp < x ? comp : x;
    xfer += x;
    truth += true_overlap(&w, moved, moved + x);
    if (!nic) continue;
    late *c = &list[n++]; /* the NIC is off by up to err; it tells at once, or late */
    c->what = NIC;
    c->id = (uint64_t)i;
    c->err_ns = up_to(3000);
    c->from_ns = moved + up_to(2 * c->err_ns + 1) - c->err_ns;
    c->t_ns = moved + x + up_to(2 * c->err_ns + 1) - c->err_ns;
    if (c->t_ns < c->from_ns) c->t_ns = c->from_ns, c->err_ns += x + 6000;
    c->told_ns = (c->t_ns > b->told_ns ? c->t_ns : b->told_ns) + (test_below(2) ? 0 : up_to(3000));
  }
  for (int i = 0; i < n; i++) list[i].order = i;
  qsort(list, (size_t)n, sizeof *list, by_telling);
  for (int i = 0; i < n; i++) {
    tell(&s, &list[i]);
    if (test_below(3) == 0) nbc__mon_drain(s.me);
  }
  if (test_below(2)) nbc_recorder_detach_at(s.me, w.t_ns);
  nbc_report *r = sim_report(&s, w.t_ns);
  CHECK(r->problems[NBC_PROBLEM_unplaced] == 0 && r->problems[NBC_PROBLEM_end_unknown] == 0 && r->problems[NBC_PROBLEM_never_ended] == 0);
  CHECK(r->total.xfer_ns == xfer);
  CHECK(r->total.min_overlap_ns == lo && lo <= truth);
  CHECK(r->total.max_overlap_ns == hi && truth <= hi);
  if (nic) CHECK(r->total.exact_count == r->total.count && r->total.exact_lo_ns <= truth && truth <= r->total.exact_hi_ns);
  nbc_report_free(r);
  sim_destroy(&s);
}
static void bounds_hold_when_the_owner_tells_late_and_others_stamp_meanwhile(void) {
  for (int i = 0; i < 1500 && !test_bad; i++) told_late(false);
}
static void exact_overlap_waits_until_the_owner_has_passed_the_error(void) {
  for (int i = 0; i < 1500 && !test_bad; i++) told_late(true);
}

/* The owner stamps its own transfers with times before its last calls, as far back as the history. */
static void own_stamps_of_the_past_are_placed_or_counted(void) {
  for (int round = 0; round < 300 && !test_bad; round++) {
    static world w;
    static late list[LATE_EVENTS];
    nbc_monitor_desc desc;
    memset(&desc, 0, sizeof desc);
    memset(&w, 0, sizeof w);
    if (round % 2) desc.history_calls = 8; /* then some are too old */
    sim s = sim_create(300, 1, desc);
    const int n = owner_calls(&w, list, 30);
    int64_t lo = 0, hi = 0, truth = 0, x = 300 + up_to(2000);
    for (int i = 0; i < n; i++) tell(&s, &list[i]);
    for (uint64_t id = 0; id < 20; id++) {
      const int64_t begin = up_to(w.t_ns / 2), end = begin + x + up_to(w.t_ns / 2 - x), moved = begin + up_to(end - begin - x + 1);
      const int64_t comp = true_overlap(&w, begin, end), noncomp = end - begin - comp;
      nbc_xfer_begin_at(s.me, id, (uint64_t)x - 300, NBC_KIND_ISEND, NBC_PEER_SAME_NODE, begin);
      nbc_xfer_end_at(s.me, id, end);
      lo += x > noncomp ? x - noncomp : 0;
      hi += comp < x ? comp : x;
      truth += true_overlap(&w, moved, moved + x);
    }
    nbc_report *r = sim_report(&s, w.t_ns);
    CHECK(r->total.count == 20 && r->total.min_overlap_ns <= truth && truth <= r->total.max_overlap_ns);
    CHECK(r->problems[NBC_PROBLEM_unplaced] == r->total.case_count[2]);
    if (round % 2 == 0) CHECK(r->total.case_count[2] == 0 && r->total.min_overlap_ns == lo && r->total.max_overlap_ns == hi);
    nbc_report_free(r);
    sim_destroy(&s);
  }
}

/* Somebody else asks, or fills the inbox, while the owner is silent: nothing is known of it yet. */
static void *report_by_another(void *arg) { return sim_report((sim *)arg, 5000); }
static void *fill_inbox(void *arg) {
  for (uint64_t id = 0; id < 3000; id++) {
    nbc_foreign_begin_at(((sim *)arg)->me, id, 10, NBC_KIND_ISEND, NBC_PEER_SAME_NODE, 100 + (int64_t)id);
    nbc_foreign_end_at(((sim *)arg)->me, id, 120 + (int64_t)id);
  }
  return NULL;
}
static void a_silent_owner_is_not_guessed_at(void) {
  pthread_t other;
  void *seen = NULL;
  nbc_monitor_desc desc;
  memset(&desc, 0, sizeof desc);
  sim s = sim_create(1000, 1e-9, desc);
  nbc_xfer_begin_at(s.me, 1, 8, NBC_KIND_ISEND, NBC_PEER_SAME_NODE, 0);
  nbc_foreign_end_at(s.me, 1, 4000);
  CHECK(pthread_create(&other, NULL, report_by_another, &s) == 0 && pthread_join(other, &seen) == 0);
  nbc_report *r = (nbc_report *)seen;
  CHECK(r->total.case_count[2] == 1 && r->total.min_overlap_ns == 0 && r->total.max_overlap_ns == 1000);
  nbc_report_free(r);
  nbc_call_enter_at(s.me, NBC_KIND_WAIT, 500); /* told after 5000 */
  nbc_call_exit_at(s.me, 4500);
  r = sim_report(&s, 6000);
  CHECK(r->total.case_count[1] == 1 && r->total.min_overlap_ns == 0 && r->total.max_overlap_ns == 500);
  nbc_report_free(r);
  sim_destroy(&s);
  s = sim_create(10, 1, desc);
  CHECK(pthread_create(&other, NULL, fill_inbox, &s) == 0 && pthread_join(other, NULL) == 0);
  nbc_call_enter_at(s.me, NBC_KIND_WAIT, 50); /* it never computed beside them */
  nbc_call_exit_at(s.me, 10000);
  r = sim_report(&s, 10000);
  CHECK(r->total.count == 3000 && r->total.min_overlap_ns == 0);
  CHECK(r->problems[NBC_PROBLEM_unplaced] > 0 && r->problems[NBC_PROBLEM_foreign_lost] == 0);
  nbc_report_free(r);
  sim_destroy(&s);
}

static void each_transfer_alone(void) {
  for (int i = 0; i < 3000 && !test_bad; i++) run(1, 1 + (int)test_below(12));
}
static void sums_of_many_transfers(void) {
  for (int i = 0; i < 2000 && !test_bad; i++) run(32, 8 + (int)test_below(200));
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(each_transfer_alone);
  RUN(sums_of_many_transfers);
  RUN(exact_overlap_is_the_truth_when_stamps_are_exact);
  RUN(exact_interval_contains_truth_within_the_error_of_stamps);
  RUN(a_known_length_narrows_and_never_lies);
  RUN(a_transfer_in_the_middle_of_computing_is_known_by_its_length);
  RUN(stamps_of_active_transfers_are_in_the_report);
  RUN(stamps_stand_in_the_row_of_their_transfer);
  RUN(stamps_that_cannot_be_used_are_counted);
  RUN(bounds_hold_when_the_owner_tells_late_and_others_stamp_meanwhile);
  RUN(exact_overlap_waits_until_the_owner_has_passed_the_error);
  RUN(own_stamps_of_the_past_are_placed_or_counted);
  RUN(a_silent_owner_is_not_guessed_at);
  return TEST_END();
}
