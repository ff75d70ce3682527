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
    wait_note((nbc_wait_span){rank, partner, is_last ? NBC_WAIT_LAST : NBC_WAIT_LATE, since_ns, until_ns, 0});
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
static void each_moment_counts_once(void) {
  for (int round = 0; round < 500; round++) {
    note_random();
    const nbc_waits w = why_add_all();
    int64_t late_ns = 0, last_ns = 0;
    CHECK(w.late_ns + w.last_ns == most_for(2, RANKS) && !w.moving_ns);
    CHECK(w.late_ns <= most_for(0, RANKS) && w.last_ns <= most_for(1, RANKS));
    for (size_t i = 0; i < w.of_count; i++) {
      CHECK(!i || w.of[i].partner > w.of[i - 1].partner);
      CHECK(w.of[i].late_ns <= most_for(0, w.of[i].partner) && w.of[i].last_ns <= most_for(1, w.of[i].partner));
      late_ns += w.of[i].late_ns, last_ns += w.of[i].last_ns;
    }
    CHECK(late_ns == w.late_ns && last_ns == w.last_ns);
    CHECK(!wait_list.count && !wait_list.waits);
    free(w.of);
  }
}
static void the_longest_of_one_begin_has_it(void) {
  wait_note((nbc_wait_span){0, 1, NBC_WAIT_LATE, 10, 20, 0});
  wait_note((nbc_wait_span){0, 2, NBC_WAIT_LATE, 10, 30, 0});
  wait_note((nbc_wait_span){3, 1, NBC_WAIT_LAST, 10, 15, 0});
  const nbc_waits w = why_add_all();
  CHECK(w.late_ns == 20 && w.of_count == 2 && w.of[1].partner == 2 && w.of[1].late_ns == 20);
  CHECK(w.last_ns == 5 && w.of[0].partner == 1 && w.of[0].last_ns == 5 && !w.of[0].late_ns);
  free(w.of);
}
/* A call ends a message, whose sender had called after 3, and a collective, whose last had after 10; it is over after 20. What
   the sender computed in the 17 may have been in the 7 that count otherwise. */
static void what_moves_while_the_last_is_missing_counts_once(void) {
  wait_note((nbc_wait_span){0, 1, NBC_WAIT_LATE, 0, 3, 0});
  wait_note((nbc_wait_span){0, 0, NBC_WAIT_MOVING, 3, 20, 9});
  wait_note((nbc_wait_span){0, 2, NBC_WAIT_LAST, 0, 10, 0});
  const nbc_waits w = why_add_all();
  CHECK(!w.late_ns && w.last_ns == 10 && w.moving_ns == 10 && w.computing_ns == 2 && w.of_count == 1);
  free(w.of);
}
static void what_is_no_wait_is_refused(void) {
  nbc_waits w = {0};
  nbc_wait_span wait = {0, 1, (nbc_wait_kind)3, 0, 1, 0};
  CHECK(nbc_waits_add(&w, &wait, 1) == NBC_E_INVAL && nbc_waits_add(&w, NULL, 1) == NBC_E_INVAL && nbc_waits_add(NULL, &wait, 1) == NBC_E_INVAL);
  wait = (nbc_wait_span){0, 1, NBC_WAIT_LATE, INT64_MIN, INT64_MAX, 0};
  CHECK(nbc_waits_add(&w, &wait, 1) == NBC_OK && !w.late_ns && !w.of);
}
/* A call of 100 ns, and three looks in 50 with 20 of computation between them. */
static void what_is_computed_between_looks_is_no_call(void) {
  match_call calls[] = {{.begin_ns = 0, .end_ns = 100, .comp_before_ns = 7, .comp_ns = 7}, {.begin_ns = 200, .end_ns = 250, .comp_before_ns = 107, .comp_ns = 127, .count = 3}};
  match_call *of[] = {calls};
  size_t count[] = {2};
  traces.count = 1;
  matches.calls = of, matches.call_count = count;
  const nbc_waits w = why_add_all();
  CHECK(w.held_ns == 100 + 50 - 20 && !w.of);
  traces.count = 0;
}
int main(int argc, char **argv) {
  (void)trace_sort, (void)trace_add_file, (void)match_messages, (void)wait_add_all, (void)last_add_all; /* the rest of the files */
  test_init(argc, argv);
  RUN(each_moment_counts_once);
  RUN(the_longest_of_one_begin_has_it);
  RUN(what_moves_while_the_last_is_missing_counts_once);
  RUN(what_is_no_wait_is_refused);
  RUN(what_is_computed_between_looks_is_no_call);
  return test_end();
}
