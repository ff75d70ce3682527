/* The clocks of two nodes, held together by nothing but messages: the truth lies within what is said of them, which is as
   good as the messages are fast; clocks that jump are not believed, and what a file claims breaks nothing. */
#include "tests/overlap/timelines.h"

enum { NODES = 3, TIMELINES = 5 };
static const double second_ns = 1e9;
/* The truth: raw clocks of nodes, whose rates change slowly. */
static struct {
  double rate, swing, period_ns, phase; /* how far off the rate is, and how it goes up and down */
  double jump_ns, jump_at_ns, bend, bend_at_ns;
  int64_t start_ns;
} nodes[NODES];
static struct {
  int node;
  int64_t start_ns, err_ns[2], off_ns[2]; /* the process's clock; how far its file is from the raw clock, at its two points */
} made[TIMELINES];
static int64_t run_ns; /* how long it takes */

static int64_t raw_ns_of(int node, int64_t t_ns) {
  const double t = (double)t_ns, turn = 6.283185307179586 / nodes[node].period_ns;
  double more = nodes[node].rate * t;
  more += nodes[node].swing / turn * (cos(nodes[node].phase) - cos(turn * t + nodes[node].phase));
  if (t > nodes[node].jump_at_ns) more += nodes[node].jump_ns;
  if (t > nodes[node].bend_at_ns) more += nodes[node].bend * (t - nodes[node].bend_at_ns);
  return nodes[node].start_ns + t_ns + llround(more);
}
static int64_t own_ns_of(int timeline_index, int64_t t_ns) {
  const int node = made[timeline_index].node;
  return made[timeline_index].start_ns + raw_ns_of(node, t_ns) - nodes[node].start_ns;
}
static double within(double low, double high) { return low + (high - low) * (double)test_below(1000001) / 1e6; }
/* Rates differ by up to 350 ppm; two change by up to 0.95 ppm per second against each other. */
static void make_clocks(double seconds) {
  static char boots[NODES][8];
  static timeline lines[TIMELINES];
  memset(&clocks, 0, sizeof clocks);
  memset(lines, 0, sizeof lines);
  run_ns = (int64_t)(seconds * second_ns);
  for (int k = 0; k < NODES; k++) {
    snprintf(boots[k], sizeof boots[k], "boot%d", k);
    nodes[k].rate = within(-175e-6, 175e-6);
    nodes[k].period_ns = within(5, 100) * second_ns;
    nodes[k].swing = 0.47e-6 * nodes[k].period_ns / second_ns / 6.283185307179586;
    if (nodes[k].swing > 20e-6) nodes[k].swing = 20e-6;
    nodes[k].phase = within(0, 6.28);
    nodes[k].jump_at_ns = nodes[k].bend_at_ns = INFINITY;
    nodes[k].start_ns = (int64_t)test_below((uint64_t)1 << (20 + test_below(36)));
  }
  for (int i = 0; i < TIMELINES; i++) {
    made[i].node = i < NODES ? i : (int)test_below(NODES);
    made[i].start_ns = (int64_t)test_below((uint64_t)1 << 50);
    lines[i].boot = boots[made[i].node];
    lines[i].raw_count = 2;
    for (int e = 0; e < 2; e++) {
      made[i].err_ns[e] = (int64_t)test_below(60);
      made[i].off_ns[e] = made[i].err_ns[e] - (int64_t)test_below(2 * (uint64_t)made[i].err_ns[e] + 1);
      lines[i].raw_clock_ns[e] = own_ns_of(i, e ? run_ns : 0);
      lines[i].raw_ns[e] = raw_ns_of(made[i].node, e ? run_ns : 0) + made[i].off_ns[e];
      lines[i].raw_err_ns[e] = made[i].err_ns[e];
    }
  }
  traces.of = lines;
  traces.count = TIMELINES;
  clocks_begin();
}
static void forget_clocks(void) {
  free(clocks.boot), free(clocks.facts), free(clocks.pairs);
  memset(&clocks, 0, sizeof clocks);
}
/* A message that leaves at t_ns and takes so long. */
static void send(int from, int to, int64_t t_ns, int64_t takes_ns) {
  if (t_ns + takes_ns <= run_ns)
    clocks_add((size_t)from, own_ns_of(from, t_ns), (size_t)to, own_ns_of(to, t_ns + takes_ns));
}
/* So many at random, none faster than least_ns, most not much slower. */
static void send_many(int count, int64_t least_ns) {
  for (int i = 0; i < count; i++) {
    const int from = (int)test_below(TIMELINES), to = (int)test_below(TIMELINES);
    const uint64_t more = (uint64_t)least_ns / 10 + 1 + (test_below(4) ? 0 : test_below((uint64_t)run_ns / 20));
    send(from, to, (int64_t)test_below((uint64_t)run_ns), least_ns + (int64_t)test_below(more));
  }
  clocks_solve();
}
/* At random moments: is the truth within? How far off at most may it be, at most? -1: not known at all. */
static int64_t worst_err_ns(int queries, bool *truth_is_within) {
  int64_t worst_ns = -1;
  for (int i = 0; i < queries; i++) {
    const int own = (int)test_below(TIMELINES), other = (int)test_below(TIMELINES);
    const int64_t t_ns = (int64_t)test_below((uint64_t)run_ns);
    int64_t at_ns, err_ns;
    if (!clocks_meet((size_t)own, (size_t)other, own_ns_of(other, t_ns), &at_ns, &err_ns)) continue;
    const int64_t off_ns = at_ns - own_ns_of(own, t_ns);
    if (off_ns > err_ns || off_ns < -err_ns) *truth_is_within = false;
    if (made[own].node != made[other].node && err_ns > worst_ns) worst_ns = err_ns;
  }
  return worst_ns;
}

static void truth_lies_within(void) {
  for (int round = test_rounds(300); round > 0; round--) {
    bool good = true;
    make_clocks(within(0.01, 1) * (test_below(2) ? 1 : 100));
    send_many((int)(1 << (2 + test_below(10))), (int64_t)(1 << test_below(16)));
    worst_err_ns(300, &good);
    if (!good) CHECK(!"the truth is within");
    if (clocks.contradicted_count) CHECK(!"no contradiction");
    forget_clocks();
  }
}
/* 2 us each way, a message each way and millisecond: of these, and of little more, consists the error: twice 400 ppm of the
   millisecond, and what both processes know their own clocks to. */
static void fast_messages_make_good_clocks(void) {
  for (int round = 0; round < 20; round++) {
    bool good = true;
    make_clocks(within(0.1, 3));
    for (int64_t t_ns = 0; t_ns < run_ns; t_ns += 1000000)
      for (int a = 0; a < NODES; a++)
        for (int b = 0; b < NODES; b++)
          if (a != b) send(a, b, t_ns + (int64_t)test_below(1000), 2000);
    clocks_solve();
    const int64_t worst_ns = worst_err_ns(1000, &good);
    CHECK(good && worst_ns > 1900 && worst_ns < 2000 + 400 + 400 + 2 * 60);
    forget_clocks();
  }
}
/* Two that send each other nothing both know the first one's; what they know besides makes it better. */
static void by_way_of_the_first(void) {
  for (int more = 0; more < 2; more++) {
    bool good = true;
    int64_t at_ns, err_ns[2] = {0, 0};
    make_clocks(1);
    for (int i = 0; i < 1000; i++)
      for (int k = 1; k < 3; k++) send(i % 2 ? 0 : k, i % 2 ? k : 0, i * 1000000, 3000);
    for (int i = 0; more && i < 1000; i++) send(1 + i % 2, 2 - i % 2, i * 1000000, 1000);
    clocks_solve();
    CHECK(clocks_meet(1, 2, own_ns_of(2, run_ns / 2), &at_ns, &err_ns[0]) && clocks_meet(2, 1, own_ns_of(1, run_ns / 2), &at_ns, &err_ns[1]));
    for (int k = 0; k < 2; k++) CHECK(more ? err_ns[k] < 2500 : err_ns[k] > 5000 && err_ns[k] < 8000);
    worst_err_ns(2000, &good);
    CHECK(good);
    forget_clocks();
  }
}
static void one_way_tells_nothing(void) {
  bool good = true;
  make_clocks(1);
  for (int i = 0; i < 1000; i++) send(0, 1, i * 1000000, 1000);
  clocks_solve();
  int64_t at_ns, err_ns;
  CHECK(!clocks_meet(0, 1, own_ns_of(1, 5000), &at_ns, &err_ns) && !clocks_meet(1, 0, own_ns_of(0, 5000), &at_ns, &err_ns));
  CHECK(!clocks_meet(1, 2, own_ns_of(2, 5000), &at_ns, &err_ns) && clocks_meet(1, 1, own_ns_of(1, 5000), &at_ns, &err_ns));
  CHECK(!clocks.contradicted_count && worst_err_ns(100, &good) == -1 && good);
  forget_clocks();
}
static void clocks_that_jump_are_not_believed(void) {
  make_clocks(1);
  nodes[1].jump_ns = -2e6, nodes[1].jump_at_ns = 0.4 * second_ns;
  for (int i = 0; i < 1000; i++) send(i % 2, 1 - i % 2, i * 1000000, 1000), send(0, 2, i * 1000000, 1000), send(2, 0, i * 1000000, 1000);
  clocks_solve();
  int64_t at_ns, err_ns;
  CHECK(clocks.contradicted_count == 1 && !clocks_meet(0, 1, own_ns_of(1, 5000), &at_ns, &err_ns));
  CHECK(clocks_meet(0, 2, own_ns_of(2, 5000), &at_ns, &err_ns));
  CHECK(!clocks_meet(1, 2, own_ns_of(2, 5000), &at_ns, &err_ns)); /* nor as a part of a way */
  forget_clocks();
}
/* What two clocks' own messages contradict is not known by way of the first node's either, whose messages came before the
   jump. */
static void clocks_that_jump_are_not_believed_by_a_way(void) {
  make_clocks(1);
  nodes[1].jump_ns = -2e6, nodes[1].jump_at_ns = 0.4 * second_ns;
  for (int i = 0; i < 1000; i++) send(1 + i % 2, 2 - i % 2, i * 1000000, 1000), send(i % 2 * 2, 2 - i % 2 * 2, i * 1000000, 1000);
  for (int i = 0; i < 300; i++) send(i % 2, 1 - i % 2, i * 1000000, 1000);
  clocks_solve();
  int64_t at_ns, err_ns;
  CHECK(clocks.contradicted_count == 1 && clocks_meet(0, 1, own_ns_of(1, 5000), &at_ns, &err_ns) && clocks_meet(0, 2, own_ns_of(2, 5000), &at_ns, &err_ns));
  CHECK(!clocks_meet(1, 2, own_ns_of(2, run_ns - 5000), &at_ns, &err_ns) && !clocks_meet(2, 1, own_ns_of(1, 5000), &at_ns, &err_ns));
  forget_clocks();
}
/* Faster than crystals wander, but within the limit of rates: known less well, and true. */
static void clocks_that_wander_faster(void) {
  bool good = true;
  make_clocks(4);
  for (int k = 0; k < NODES; k++) nodes[k].rate = 0, nodes[k].swing = 0;
  nodes[1].bend = 100e-6, nodes[1].bend_at_ns = 2 * second_ns;
  for (int i = 0; i < TIMELINES; i++) /* of another rate than when they were made */
    for (int e = 0; e < 2; e++) {
      traces.of[i].raw_clock_ns[e] = own_ns_of(i, e ? run_ns : 0);
      traces.of[i].raw_ns[e] = raw_ns_of(made[i].node, e ? run_ns : 0);
    }
  for (int i = 0; i < 2000; i++) send(i % 2, 1 - i % 2, (int64_t)i * 2000000, 1000);
  clocks_solve();
  CHECK(worst_err_ns(5000, &good) < 4000 && !clocks.contradicted_count);
  CHECK(good);
  forget_clocks();
}
/* Any numbers that a file may hold. */
static void nothing_overflows(void) {
  for (int round = test_rounds(2000); round > 0; round--) {
    make_clocks(1);
    for (int i = 0; i < TIMELINES; i++)
      for (int e = 0; e < 2; e++) {
        traces.of[i].raw_clock_ns[e] = (int64_t)(test_rand() >> (3 + test_below(60)));
        traces.of[i].raw_ns[e] = (int64_t)(test_rand() >> (3 + test_below(60)));
        traces.of[i].raw_err_ns[e] = (int64_t)(test_rand() >> (4 + test_below(59)));
      }
    forget_clocks();
    clocks_begin();
    for (int i = 0; i < 20; i++)
      clocks_add(test_below(TIMELINES), (int64_t)(test_rand() >> (3 + test_below(60))), test_below(TIMELINES),
                 (int64_t)(test_rand() >> (3 + test_below(60))));
    clocks_solve();
    for (int i = 0; i < 20; i++) {
      int64_t at_ns, err_ns;
      if (clocks_meet(test_below(TIMELINES), test_below(TIMELINES), (int64_t)(test_rand() >> (3 + test_below(60))), &at_ns, &err_ns))
        CHECK(err_ns >= 0 && err_ns <= INT64_MAX / 4);
    }
    forget_clocks();
  }
}
/* ---- messages between two nodes -------------------------------------------------------------------------- */
enum { MESSAGES = 200, X_NS = 40000 };
static trace_record written[2][4 * MESSAGES];
static size_t record_count[2];
static int64_t comp_ns[2], called_ns[2]; /* computed so far, up to the end of the last call; of the truth */
static int64_t true_ns[2][MESSAGES];     /* how long a transfer went on while this side computed */
static trace_record *record(int i, int what) {
  trace_record *r = &written[i][record_count[i]++];
  memset(r, 0, sizeof *r);
  r->what = (uint8_t)what;
  return r;
}
static void call(int i, int64_t begin_ns, int64_t end_ns) {
  trace_record *r = record(i, TRACE_CALL);
  r->begin_ns = own_ns_of(i, begin_ns), r->end_ns = own_ns_of(i, end_ns);
  comp_ns[i] += r->begin_ns - own_ns_of(i, called_ns[i]);
  r->xfer_ns = r->min_overlap_ns = comp_ns[i];
  r->max_overlap_ns = 1;
  called_ns[i] = end_ns;
}
/* What moves within [from, to] and in the call [begin, end]. */
static int64_t bare_ns(int64_t from_ns, int64_t to_ns, int64_t begin_ns, int64_t end_ns) {
  const int64_t a = begin_ns > from_ns ? begin_ns : from_ns, b = end_ns < to_ns ? end_ns : to_ns;
  return b > a ? b - a : 0;
}
/* Posts at both sides, computation, waits; it moves when both have posted, at once or later, and both waits end after it. */
static void message(int n, int64_t t_ns, int sender, uint8_t flags) {
  const int64_t posts_ns[2] = {t_ns + 1000 + (int64_t)test_below(100000), t_ns + 1000 + (int64_t)test_below(100000)};
  const int64_t both_ns = flags & TRACE_EAGER || posts_ns[sender] > posts_ns[!sender] ? posts_ns[sender] : posts_ns[!sender];
  const int64_t starts_ns = both_ns + 500 + (test_below(2) ? 0 : (int64_t)test_below(100000)), over_ns = starts_ns + X_NS;
  for (int i = 0; i < 2; i++) {
    int64_t wait_ns = posts_ns[i] + 200 + (int64_t)test_below(2) * 300000, end_ns = wait_ns > over_ns ? wait_ns : over_ns;
    if (wait_ns < called_ns[i]) wait_ns = called_ns[i];
    end_ns += 100 + (int64_t)test_below(300);
    call(i, posts_ns[i], posts_ns[i] + 100);
    call(i, wait_ns, end_ns);
    true_ns[i][n] = X_NS - bare_ns(starts_ns, over_ns, posts_ns[i], posts_ns[i] + 100) - bare_ns(starts_ns, over_ns, wait_ns, end_ns);
    trace_record *x = record(i, TRACE_TRANSFER), *m = record(i, TRACE_MESSAGE);
    x->begin_ns = own_ns_of(i, posts_ns[i]), x->end_ns = own_ns_of(i, end_ns);
    x->id = (uint64_t)n + 1, x->size_bytes = 1 << 20, x->xfer_ns = x->max_overlap_ns = X_NS;
    x->partner = m->partner = !i;
    m->id = x->id, m->size_bytes = x->size_bytes, m->xfer_ns = X_NS, m->begin_ns = 7, m->max_overlap_ns = 1;
    m->kind = i != sender, m->case_of = flags;
  }
}
/* Sent by both or by one, such that the send's end tells that all has arrived or not; is_one: both say that they are of one boot. */
static void make_messages(bool by_both, uint8_t flags, bool is_one) {
  static char path[2][40] = {"nbc_overlap.p.1-1.0.trace", "nbc_overlap.p.1-1.1.trace"}, name[] = "MPI_Wait";
  static trace_place places[1];
  make_clocks(0.001 * (MESSAGES + 2));
  places[0].call = name;
  memset(&matches, 0, sizeof matches);
  traces.count = 2;
  for (int i = 0; i < 2; i++) record_count[i] = 0, comp_ns[i] = called_ns[i] = 0;
  for (int n = 0; n < MESSAGES; n++) message(n, (n + 1) * 1000000, by_both ? n % 2 : 0, flags);
  for (int i = 0; i < 2; i++) {
    timeline *t = &traces.of[i];
    t->rank = i, t->size = 2, t->path = path[i], t->records = written[i], t->places = places, t->place_count = 1;
    t->seen_count = t->record_count = record_count[i];
    t->cut_in = t->cut_out = UINT64_MAX;
    if (is_one) t->boot = traces.of[0].boot;
  }
  forget_clocks();
  match_messages();
}
static void forget_messages(void) {
  for (int i = 0; i < 2; i++) free(matches.bounds[i]), free(matches.transfers[i]), free(matches.calls[i]), free(matches.messages[i]), free(matches.collectives[i]);
  free(matches.bounds), free(matches.transfers), free(matches.transfer_count), free(matches.calls), free(matches.call_count);
  free(matches.messages), free(matches.messages_of), free(matches.collectives), free(matches.collectives_of);
  free(matches.sent), free(matches.received), free(member_list.of);
  forget_clocks();
}
/* How much narrower than all or nothing, of all; 0: nothing is known. */
static double known_share(void) {
  const int64_t slack_ns = 20 + X_NS / 2500; /* a process's clock is not the truth's */
  double known = 0;
  for (int i = 0; i < 2; i++)
    for (int n = 0; n < MESSAGES; n++) {
      const match_bounds *b = &matches.bounds[i][n];
      CHECK(b->is_matched && b->is_far == b->has_window);
      if (b->min_ns > true_ns[i][n] + slack_ns || b->max_ns < true_ns[i][n] - slack_ns) CHECK(!"the truth is within");
      known += (double)(X_NS - (b->max_ns - b->min_ns)) / X_NS / (2 * MESSAGES);
    }
  CHECK(!matches.contradicted_count);
  return known;
}
static void messages_between_nodes_have_bounds(void) {
  for (int round = 0; round < 10; round++) {
    make_messages(true, TRACE_MEASURED | TRACE_NO_TAIL, false);
    CHECK(known_share() > 0.3 && matches.err_ns > 0 && matches.err_ns < 2 * X_NS);
    forget_messages();
    make_messages(true, TRACE_MEASURED | TRACE_EAGER, false);
    CHECK(known_share() > 0.1);
    forget_messages();
    make_messages(false, TRACE_MEASURED | TRACE_NO_TAIL, false); /* the ends of sends come back */
    CHECK(known_share() > 0.3);
    forget_messages();
    make_messages(false, TRACE_MEASURED | TRACE_EAGER, false);
    CHECK(known_share() == 0);
    forget_messages();
  }
}
/* A copy of a virtual machine has the same boot, and another clock. */
static void one_boot_is_not_believed_against_messages(void) {
  for (int round = 0; round < 15; round++) {
    make_messages(round % 3 > 0, round % 3 > 1 ? TRACE_MEASURED | TRACE_EAGER : TRACE_MEASURED | TRACE_NO_TAIL, true);
    const int64_t apart_ns = nodes[0].start_ns - nodes[1].start_ns;
    if (apart_ns > run_ns || apart_ns < -run_ns) /* else nobody might see it */
      CHECK(clocks.torn_count == 1 && known_share() > 0.1 && matches.err_ns < 2 * X_NS);
    forget_messages();
  }
}
int main(int argc, char **argv) {
  (void)trace_sort, (void)trace_add_file, (void)match_messages, (void)wait_add_all;
  TEST_INIT(argc, argv);
  RUN(truth_lies_within);
  RUN(fast_messages_make_good_clocks);
  RUN(by_way_of_the_first);
  RUN(one_way_tells_nothing);
  RUN(clocks_that_jump_are_not_believed);
  RUN(clocks_that_jump_are_not_believed_by_a_way);
  RUN(clocks_that_wander_faster);
  RUN(nothing_overflows);
  RUN(messages_between_nodes_have_bounds);
  RUN(one_boot_is_not_believed_against_messages);
  return TEST_END();
}
