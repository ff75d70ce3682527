/* The monitor's sums equal those of a plain reference that keeps the whole history and computes each
   transfer from it in quadratic time, on random event streams with every oddity: reused ids, ends
   twice, ends unknown, ends before begins, nested calls, sections, switching off and on. */
static int yields(void); /* who drains yields while it waits */
#define sched_yield yields
#include "src/overlap/monitor.c"
#include "tests/pieces.h"
#include "tests/overlap/sim.h"

enum { MAX_EVENTS = 4000 };
typedef struct span { int64_t t_ns; bool in_call, on; int call; } span; /* state from t_ns on */
typedef struct begun { uint64_t id, bytes; int64_t t_ns; int call; bool open; int kind, section; bool out_of_sight; } begun;

typedef struct reference {
  span spans[3 * MAX_EVENTS];
  int span_count;
  begun begun[MAX_EVENTS];
  int begun_count;
  double latency_ns, ns_per_byte;
  nbc_totals total, by_section[8], by_class[NBC_MAX_CLASSES];
  uint64_t problems[NBC_PROBLEM_COUNT];
} reference;

static const uint64_t edges[] = {100, 1000, 50000};

/* Computation in [a, b): walks all spans. */
static int64_t ref_comp(const reference *ref, int64_t a, int64_t b) {
  int64_t sum = 0;
  for (int i = 0; i < ref->span_count; i++) {
    int64_t from = ref->spans[i].t_ns, to = i + 1 < ref->span_count ? ref->spans[i + 1].t_ns : INT64_MAX;
    if (ref->spans[i].in_call || !ref->spans[i].on) continue;
    if (from < a) from = a;
    if (to > b) to = b;
    if (to > from) sum += to - from;
  }
  return sum;
}

static void ref_add(nbc_totals *t, uint64_t bytes, int64_t x, int64_t lo, int64_t hi, int which) {
  t->count++;
  t->size_bytes += bytes;
  t->xfer_ns += x;
  t->min_overlap_ns += lo;
  t->max_overlap_ns += hi;
  t->case_count[which - 1]++;
}

static void ref_account(reference *ref, const begun *b, int64_t end_ns, int end_call, uint64_t bytes, int section, bool both) {
  int64_t x = (int64_t)llround(ref->latency_ns + (double)bytes * ref->ns_per_byte), lo = 0, hi = x;
  int which = 3, c = 0;
  if (both && end_ns < b->t_ns) ref->problems[NBC_PROBLEM_ended_before_begin]++;
  else if (both) {
    const int64_t window = end_ns - b->t_ns, comp = ref_comp(ref, b->t_ns, end_ns);
    const bool faster = x > window; /* than the table: no minimum */
    if (faster) x = window, ref->problems[NBC_PROBLEM_table_too_slow]++;
    if (b->call && b->call == end_call) which = 1, hi = 0;
    else {
      which = 2;
      lo = !faster && x - (window - comp) > 0 ? x - (window - comp) : 0;
      hi = comp < x && !(faster && comp > 0) ? comp : x;
    }
  }
  while (c < 3 && bytes > edges[c]) c++;
  ref_add(&ref->total, bytes, x, lo, hi, which);
  ref_add(&ref->by_section[section], bytes, x, lo, hi, which);
  ref_add(&ref->by_class[c], bytes, x, lo, hi, which);
}

static begun *ref_find(reference *ref, uint64_t id) {
  for (int i = 0; i < ref->begun_count; i++)
    if (ref->begun[i].open && ref->begun[i].id == id) return &ref->begun[i];
  return NULL;
}

static void compare(const nbc_totals *a, const nbc_totals *b) {
  CHECK(a->count == b->count);
  CHECK(a->size_bytes == b->size_bytes);
  CHECK(a->xfer_ns == b->xfer_ns);
  CHECK(a->min_overlap_ns == b->min_overlap_ns);
  CHECK(a->max_overlap_ns == b->max_overlap_ns);
  CHECK(a->min_overlap_ns <= a->max_overlap_ns && a->max_overlap_ns <= a->xfer_ns);
  for (int i = 0; i < 3; i++) CHECK(a->case_count[i] == b->case_count[i]);
}

static void compare_report(sim *s, reference *ref, int64_t t_ns) {
  for (int i = 0; i < ref->begun_count; i++)
    if (ref->begun[i].open) {
      ref_account(ref, &ref->begun[i], 0, 0, ref->begun[i].bytes, ref->begun[i].section, false);
      ref->problems[NBC_PROBLEM_never_ended]++;
    }
  nbc_report *report = sim_report(s, t_ns);
  nbc_totals section[8], class_sum[NBC_MAX_CLASSES];
  memset(section, 0, sizeof section);
  memset(class_sum, 0, sizeof class_sum);
  compare(&report->total, &ref->total);
  for (size_t i = 0; i < report->cell_count; i++) {
    const nbc_cell *c = &report->cells[i];
    const char *path = report->sections[c->section_index].path;
    nbc__rep_add_totals(&section[path[0] ? path[0] - 'a' + 1 : 0], &c->t);
    nbc__rep_add_totals(&class_sum[c->class_index], &c->t);
  }
  for (int i = 0; i < 8; i++) compare(&section[i], &ref->by_section[i]);
  for (int i = 0; i < 4; i++) compare(&class_sum[i], &ref->by_class[i]);
  for (int p = 0; p < NBC_PROBLEM_COUNT; p++) {
    if (report->problems[p] != ref->problems[p]) printf("  problem %s\n", nbc_problem_name((nbc_problem)p));
    CHECK(report->problems[p] == ref->problems[p]);
  }
  const int64_t comp = ref_comp(ref, 0, t_ns);
  CHECK(report->comp_ns == comp);
  CHECK(report->comp_ns + report->call_ns + report->off_ns == t_ns);
  nbc_report_free(report);
}

static void random_stream(void) {
  static reference ref;
  static const char *const names[] = {"", "a", "b", "c", "d", "e", "f", "g"};
  nbc_monitor_desc desc;
  memset(&desc, 0, sizeof desc);
  memset(&ref, 0, sizeof ref);
  desc.class_edges_bytes = edges;
  desc.class_edge_count = 3;
  desc.ring_events = 16;
  ref.latency_ns = (double)test_below(500);
  ref.ns_per_byte = 0.5 * (double)(1 + test_below(4));
  sim s = sim_create(ref.latency_ns, ref.ns_per_byte, desc);
  int64_t t = 0;
  int depth = 0, calls = 0, section = 0;
  bool on = true;
  ref.spans[ref.span_count++] = (span){0, false, true, 0};
  const int events = 200 + (int)test_below(MAX_EVENTS - 300);
  for (int i = 0; i < events; i++) {
    t += (int64_t)(test_below(3) ? test_below(2000) : 0);
    const int call_now = depth ? calls : 0;
    const uint64_t id = test_below(40);
    begun *b;
    switch (test_below(12)) {
    case 0: case 1: case 2:
      nbc_call_enter_at(s.me, NBC_KIND_WAIT, t);
      if (depth++ == 0) ref.spans[ref.span_count++] = (span){t, true, on, ++calls};
      break;
    case 3: case 4: case 5:
      nbc_call_exit_at(s.me, t);
      if (depth == 0) ref.problems[NBC_PROBLEM_exit_without_enter]++;
      else if (--depth == 0) ref.spans[ref.span_count++] = (span){t, false, on, 0};
      break;
    case 6: case 7: {
      const uint64_t bytes = test_below(4) ? test_below(2000) : test_below(100000);
      nbc_xfer_begin_at(s.me, id, bytes, NBC_KIND_ISEND, NBC_PEER_SAME_NODE, t);
      if (!on) break;
      if ((b = ref_find(&ref, id))) {
        ref.problems[NBC_PROBLEM_id_reused]++;
        ref_account(&ref, b, 0, 0, b->bytes, b->section, false);
        b->open = false;
      }
      ref.begun[ref.begun_count++] = (begun){id, bytes, t, call_now, true, 0, section, false};
      break;
    }
    case 8: case 9: {
      const bool sized = test_below(3) == 0;
      const uint64_t bytes = test_below(3000);
      b = ref_find(&ref, id);
      const bool back = b && test_below(50) == 0; /* a clock step: the end lies before the begin */
      const int64_t end = back ? b->t_ns - 1 - (int64_t)test_below(5000) : t;
      if (sized) nbc_xfer_end_sized_at(s.me, id, bytes, NBC_PEER_UNKNOWN, end);
      else nbc_xfer_end_at(s.me, id, end);
      if (b) ref_account(&ref, b, end, call_now, sized ? bytes : b->bytes, b->section, !b->out_of_sight), b->open = false;
      else ref.problems[NBC_PROBLEM_end_unknown]++; /* or ended_twice: see below */
      break;
    }
    case 10:
      if (test_below(2)) {
        nbc_xfer_end_only_at(s.me, 777, NBC_KIND_IRECV, NBC_PEER_SAME_NODE, t);
        if (on) ref_account(&ref, NULL, t, 0, 777, section, false);
      } else if (section == 0) {
        section = 1 + (int)test_below(7);
        nbc_section_begin_at(s.me, names[section], t);
      } else {
        nbc_section_end_at(s.me, names[section], t);
        section = 0;
      }
      break;
    default:
      if (test_below(6)) break;
      on = !on;
      nbc_recorder_switch_at(s.me, on, t);
      for (int k = 0; !on && k < ref.begun_count; k++) ref.begun[k].out_of_sight = true;
      ref.spans[ref.span_count++] = (span){t, depth > 0, on, depth ? calls : 0};
    }
  }
  /* the reference does not tell a second end from an unknown one: compare the sum */
  nbc__mon_drain(s.me);
  s.me->problems[NBC_PROBLEM_end_unknown] += s.me->problems[NBC_PROBLEM_ended_twice];
  s.me->problems[NBC_PROBLEM_ended_twice] = 0;
  compare_report(&s, &ref, t);
  sim_destroy(&s);
}

static void sums_equal_a_quadratic_reference_on_random_streams(void) {
  for (int i = 0; i < 60 && !test_bad; i++) random_stream();
}

/* [O §2.2], by hand: x = 1000 ns. */
static void golden_cases_of_the_paper(void) {
  static const struct { int64_t enter_wait, end; int64_t lo, hi; } c[] = {
      {2000, 2100, 800, 1000},  /* call exits at 100: comp 1900, noncomp 200 */
      {600, 1700, 0, 500},      /* comp 500, noncomp 1200 */
      {600, 1200, 300, 500},    /* comp 500, noncomp 700: at least 300 of 1000 */
  };
  for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
    nbc_monitor_desc desc;
    memset(&desc, 0, sizeof desc);
    sim s = sim_create(1000, 1e-9, desc);
    nbc_call_enter_at(s.me, NBC_KIND_ISEND, 0);
    nbc_xfer_begin_at(s.me, 7, 10, NBC_KIND_ISEND, NBC_PEER_OTHER_NODE, 0);
    nbc_call_exit_at(s.me, 100);
    nbc_call_enter_at(s.me, NBC_KIND_WAIT, c[i].enter_wait);
    nbc_xfer_end_at(s.me, 7, c[i].end);
    nbc_call_exit_at(s.me, c[i].end);
    nbc_report *r = sim_report(&s, c[i].end);
    CHECK(r->total.min_overlap_ns == c[i].lo);
    CHECK(r->total.max_overlap_ns == c[i].hi);
    CHECK(r->total.case_count[1] == 1);
    CHECK(r->cells[0].available_ns == c[i].enter_wait - 100);
    nbc_report_free(r);
    sim_destroy(&s);
  }
}

/* Another thread has taken a place in the inbox and writes its event there for so many yields. */
static nbc__mon_slot *written;
static uint64_t turn;
static int yields_left;
static int yields(void) {
  if (written && --yields_left == 0) __atomic_store_n(&written->turn, turn, __ATOMIC_RELEASE);
  return 0;
}
static void a_report_waits_for_a_stamp_that_is_being_written(void) {
  for (int wait = 1; wait < 200; wait += 99) { /* 1, 100: waited for; 199: longer than patience */
    nbc_monitor_desc desc;
    memset(&desc, 0, sizeof desc);
    sim s = sim_create(1000, 1e-9, desc);
    nbc_call_enter_at(s.me, NBC_KIND_ISEND, 0);
    nbc_xfer_begin_at(s.me, 7, 10, NBC_KIND_ISEND, NBC_PEER_OTHER_NODE, 10);
    nbc_call_exit_at(s.me, 20);
    written = &s.me->inbox[s.me->inbox_tail & s.me->inbox_mask];
    nbc_foreign_end_at(s.me, 7, 500);
    turn = written->turn--;
    yields_left = wait;
    nbc_report *r = sim_report(&s, 2000);
    CHECK(r->total.case_count[1] == (wait <= 100) && (wait <= 100) == (yields_left == 0));
    nbc_report_free(r);
    written->turn = turn;
    written = NULL;
    r = sim_report(&s, 3000);
    CHECK(r->total.count == 1 && r->total.case_count[1] == 1);
    nbc_report_free(r);
    sim_destroy(&s);
  }
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(a_report_waits_for_a_stamp_that_is_being_written);
  RUN(golden_cases_of_the_paper);
  RUN(sums_equal_a_quadratic_reference_on_random_streams);
  return TEST_END();
}
