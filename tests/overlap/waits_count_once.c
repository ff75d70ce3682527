/* Where the time in calls went: of random waits for each other, at the same time and for several, each moment of a process
   counts once, for one who was waited for then. */
#include "tests/overlap/timelines.h"
#include "tools/trace_last.h"
#include "tools/trace_why.h"

enum { RANKS = 4, TIMES = 60, SPANS = 40 };
static bool waited[2][RANKS][RANKS][TIMES]; /* [is_last][rank][partner][moment] */

static void note_random(void) {
  memset(waited, 0, sizeof waited);
  for (int i = (int)test_below(SPANS); i > 0; i--) {
    const int rank = (int)test_below(RANKS), partner = (int)test_below(RANKS);
    const bool is_last = test_below(2);
    const int64_t since_ns = (int64_t)test_below(TIMES), until_ns = (int64_t)test_below(TIMES + 1);
    wait_note((wait_span){rank, partner, is_last, since_ns, until_ns});
    for (int64_t t = since_ns; t < until_ns; t++) waited[is_last][rank][partner][t] = true;
  }
}
/* Moments in which somebody waited for this one; RANKS: for anybody, each process's once. */
static int64_t most_for(int kind, int partner) {
  int64_t sum_ns = 0;
  for (int r = 0; r < RANKS; r++)
    for (int t = 0; t < TIMES; t++) {
      bool any = false;
      for (int p = 0; p < RANKS; p++)
        for (int k = 0; k < 2; k++) any = any || ((kind == 2 || k == kind) && (partner == RANKS || p == partner) && waited[k][r][p][t]);
      sum_ns += any;
    }
  return sum_ns;
}
static void holds(const why_one *ones, size_t count, int kind, int64_t all_ns) {
  int64_t sum_ns = 0;
  for (size_t i = 0; i < count; i++) {
    CHECK(ones[i].waited_ns <= most_for(kind, ones[i].partner));
    CHECK(!i || ones[i].waited_ns <= ones[i - 1].waited_ns);
    sum_ns += ones[i].waited_ns;
  }
  CHECK(sum_ns == all_ns);
}
static void each_moment_counts_once(void) {
  for (int round = 0; round < 500; round++) {
    note_random();
    const why_sums w = why_add_all();
    CHECK(w.late_ns + w.last_ns == most_for(2, RANKS));
    CHECK(w.late_ns <= most_for(0, RANKS) && w.last_ns <= most_for(1, RANKS));
    holds(w.late, w.late_count, 0, w.late_ns);
    holds(w.last, w.last_count, 1, w.last_ns);
    CHECK(!wait_list.count && !wait_list.spans);
    free(w.late), free(w.last);
  }
}
static void the_longest_of_one_begin_has_it(void) {
  wait_note((wait_span){0, 1, false, 10, 20});
  wait_note((wait_span){0, 2, false, 10, 30});
  wait_note((wait_span){3, 1, true, 10, 15});
  const why_sums w = why_add_all();
  CHECK(w.late_ns == 20 && w.late_count == 1 && w.late[0].partner == 2);
  CHECK(w.last_ns == 5 && w.last_count == 1 && w.last[0].partner == 1);
  free(w.late), free(w.last);
}
/* A call of 100 ns, and three looks in 50 with 20 of computation between them. */
static void what_is_computed_between_looks_is_no_call(void) {
  match_call calls[] = {{.begin_ns = 0, .end_ns = 100, .comp_before_ns = 7, .comp_ns = 7}, {.begin_ns = 200, .end_ns = 250, .comp_before_ns = 107, .comp_ns = 127, .count = 3}};
  match_call *of[] = {calls};
  size_t count[] = {2};
  traces.count = 1;
  matches.calls = of, matches.call_count = count;
  const why_sums w = why_add_all();
  CHECK(w.held_ns == 100 + 50 - 20);
  free(w.late), free(w.last);
  traces.count = 0;
}
int main(int argc, char **argv) {
  (void)trace_sort, (void)trace_add_file, (void)match_messages, (void)wait_add_all, (void)last_add_all; /* the rest of the files */
  test_init(argc, argv);
  RUN(each_moment_counts_once);
  RUN(the_longest_of_one_begin_has_it);
  RUN(what_is_computed_between_looks_is_no_call);
  return test_end();
}
