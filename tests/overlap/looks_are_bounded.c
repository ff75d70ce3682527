/* What a timeline says of a process's computation at any time holds, whichever of its looks in vain are one record, and is
   exact where none are; and who looks in vain, one look right after the other, waits. */
#include "tests/overlap/timelines.h"

enum { CALLS = 200 };
static match_call alone[CALLS], joined[CALLS];
/* Of calls one by one. */
static int64_t computed_ns(int64_t t_ns) {
  int64_t sum_ns = 0;
  for (int i = 0; i < CALLS && alone[i].begin_ns <= t_ns; i++) sum_ns = alone[i].comp_ns;
  return sum_ns;
}
static void comp_at(match_call *calls, size_t count, int64_t t_ns, int64_t *least_ns, int64_t *most_ns) {
  matches.calls = &calls;
  matches.call_count = &count;
  match_comp(0, t_ns, least_ns, most_ns);
}
/* All that is between two calls is computed: so much is true at the most and the least alike. */
static void true_at(int64_t t_ns, int64_t *true_ns) {
  int last = 0;
  while (last + 1 < CALLS && alone[last + 1].begin_ns <= t_ns) last++;
  *true_ns = computed_ns(t_ns);
  if (t_ns > alone[last].end_ns) *true_ns += t_ns - alone[last].end_ns;
}
static void what_was_computed_lies_between_the_bounds(void) {
  for (int round = 0; round < 200; round++) {
    int64_t t_ns = 0, comp_ns = 0, least_ns, most_ns, least_alone_ns, most_alone_ns, true_ns;
    size_t count = 0, merged = 0;
    for (int i = 0; i < CALLS; i++) {
      const int64_t gap_ns = 1 + (int64_t)test_below(30);
      comp_ns += gap_ns;
      alone[i] = (match_call){t_ns + gap_ns, t_ns + gap_ns + (int64_t)test_below(31), comp_ns, comp_ns, 1, MATCH_TEST, 0};
      t_ns = alone[i].end_ns;
      if (i && test_below(3)) {
        joined[count - 1].end_ns = t_ns;
        joined[count - 1].comp_ns = comp_ns;
        joined[count - 1].count++;
        merged++;
      } else
        joined[count++] = alone[i];
    }
    CHECK(merged > 50 && count > 20);
    for (int64_t at_ns = alone[0].begin_ns; at_ns <= t_ns; at_ns++) {
      true_at(at_ns, &true_ns);
      comp_at(joined, count, at_ns, &least_ns, &most_ns);
      comp_at(alone, CALLS, at_ns, &least_alone_ns, &most_alone_ns);
      if (least_ns > true_ns || most_ns < true_ns) CHECK(!"within the bounds");
      if (least_alone_ns != true_ns || most_alone_ns != true_ns) CHECK(!"exact");
      if (least_ns > least_alone_ns || most_ns < most_alone_ns) CHECK(!"joined knows no more");
    }
  }
}
static void records_of_calls_are_looked_at(void) {
  trace_record r = {.begin_ns = 100, .end_ns = 200, .xfer_ns = 50, .what = TRACE_CALL};
  CHECK(trace_tidy_looks(&r) && r.min_overlap_ns == 50 && r.max_overlap_ns == 1); /* an earlier version's */
  r.max_overlap_ns = 7;
  r.min_overlap_ns = 20;
  CHECK(trace_tidy_looks(&r) && r.min_overlap_ns == 20 && r.max_overlap_ns == 7);
  r.min_overlap_ns = 60;
  CHECK(!trace_tidy_looks(&r));
  r.min_overlap_ns = -1;
  CHECK(!trace_tidy_looks(&r));
  r.min_overlap_ns = 20;
  r.xfer_ns = 121; /* more than there is time */
  CHECK(!trace_tidy_looks(&r));
  r.xfer_ns = r.min_overlap_ns = INT64_MAX; /* so that sums of a few are times */
  CHECK(!trace_tidy_looks(&r));
}
/* Looks of look_ns each, what is computed between them gap_ns, and of the `late` last ones late_gap_ns: since when it is waited
   in the test after them, counted from the first look's begin. */
static int64_t waits_since(int64_t look_ns, int64_t gap_ns, int late, int64_t late_gap_ns) {
  enum { LOOKS = 20 };
  int64_t t_ns = 1000, comp_ns = 0;
  match_call *calls = alone;
  size_t count = LOOKS + 1;
  const trace_record own = {.begin_ns = 1000};
  for (int i = 0; i <= LOOKS; i++) {
    alone[i] = (match_call){t_ns, t_ns + look_ns, comp_ns, comp_ns, 1, MATCH_TEST, 0};
    const int64_t next_ns = LOOKS - i > late ? gap_ns : late_gap_ns;
    t_ns += look_ns + next_ns, comp_ns += next_ns;
  }
  matches.calls = &calls;
  matches.call_count = &count;
  const wait_side x = {.call = &alone[LOOKS], .own = &own, .receives = true};
  return wait_since_ns(&x) - 1000;
}
static void who_looks_one_after_the_other_waits(void) {
  CHECK(waits_since(100, 900, 0, 0) == 0);
  CHECK(waits_since(5000000, 5000, 0, 0) == 0); /* a busy machine gives the core to others in each look */
  CHECK(waits_since(5000000, 5000, 1, 60000) == 0);
  CHECK(waits_since(5000000, 60000, 0, 0) == 20 * 5060000);
}
static void who_computes_between_looks_does_not_wait(void) {
  CHECK(waits_since(100, 1100, 0, 0) == 20 * 1200);
  CHECK(waits_since(100, 50000, 4, 500) == 16 * 50100); /* but then he did not compute any more */
  CHECK(waits_since(5000000, 500000, 4, 5000) == 16 * 5500000);
}
int main(int argc, char **argv) {
  (void)match_messages, (void)trace_sort, (void)trace_add_file, (void)wait_add_all; /* the rest of the files */
  test_init(argc, argv);
  RUN(what_was_computed_lies_between_the_bounds);
  RUN(records_of_calls_are_looked_at);
  RUN(who_looks_one_after_the_other_waits);
  RUN(who_computes_between_looks_does_not_wait);
  return test_end();
}
