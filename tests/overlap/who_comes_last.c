/* What timelines say of who was waited for at collectives is what a search of all pairs says that knows the truth: random
   communicators and collectives, blocking, nonblocking and looked for, that need all, the root, lower ranks, some or nobody. */
#include "tests/overlap/timelines.h"
#include <time.h>
#include "tools/trace_last.h"
#include "tools/trace_why.h"

enum { RANKS = 5, COMMS = 3, STEPS = 40, RECORDS = 20000 };
/* A process: what it has recorded, and the time. `skew_ns`: its clock is so much ahead. */
static struct {
  trace_record records[RECORDS];
  uint64_t count, next_id;
  int64_t now_ns, comp_ns, skew_ns;
} of[RANKS];
/* What must be told: of who looks, since when it looked. */
static struct {
  int64_t ns[RANKS][RANKS];
  int64_t told_ns[RANKS][RANKS];
  int64_t all_ns[RANKS]; /* also what is waited for several at once */
  uint64_t count[RANKS][RANKS];
} truth, told;
static int64_t both_err_ns; /* of two clocks */
static int of_other_node;   /* so many processes, the last ones */
static char path[] = "run.trace", boot[][6] = {"boot", "other"}, world[] = "program", host[] = "here";
static trace_place places[] = {{.call = (char *)"MPI_Wait"}, {.call = (char *)"MPI_Test"}};

/* Times are whole hundreds, those of calls ten more for each rank, so that a nanosecond of rounding between two clocks
   changes no order, and the error of both ends in 4, so that it makes no wait of none. */
static int64_t below(uint64_t hundreds) { return 100 * (int64_t)test_below(hundreds); }
static trace_record *record(int rank, int what) {
  CHECK(of[rank].count < RECORDS);
  trace_record *r = &of[rank].records[of[rank].count++];
  *r = (trace_record){.partner = -1, .what = (uint8_t)what};
  return r;
}
static void called(int rank, int place, int64_t begin_ns, int64_t end_ns, int64_t looks) {
  trace_record *r = record(rank, TRACE_CALL);
  r->begin_ns = begin_ns + of[rank].skew_ns;
  r->end_ns = end_ns + of[rank].skew_ns;
  r->id = (uint64_t)place;
  r->min_overlap_ns = r->xfer_ns = of[rank].comp_ns;
  r->max_overlap_ns = looks;
  r->case_of = looks > 1 ? TRACE_LOOKS_TEST | TRACE_LOOKS_PROBE : 0;
}
static void compute(int rank, int64_t ns) {
  of[rank].now_ns += ns;
  of[rank].comp_ns += ns;
}
/* One collective: who is in it, in the order of the communicator; how each waits, and for whom. */
typedef struct step {
  int rank[RANKS], size;
  int how; /* 0: blocking, 1: MPI_Wait, 2: MPI_Test */
  uint64_t comm;
  int needs[RANKS];
  uint64_t mask[RANKS];
  int root;
  int64_t called_ns[RANKS];
} step;
static bool needs(const step *s, int i, int k) {
  switch (s->needs[i]) {
  case TRACE_OF_ALL: return i != k;
  case TRACE_OF_PARTNER: return k == s->root && i != k;
  case TRACE_OF_LOWER: return k < i;
  case TRACE_OF_SOME: return i != k && s->mask[i] >> k & 1;
  default: return false;
  }
}
static void must_tell(int rank, int partner, int64_t since_ns, int64_t until_ns) {
  if (until_ns > since_ns) truth.all_ns[rank] += until_ns - since_ns;
  if (since_ns < truth.told_ns[rank][partner]) since_ns = truth.told_ns[rank][partner];
  if (until_ns <= since_ns) return;
  truth.ns[rank][partner] += until_ns - since_ns;
  truth.told_ns[rank][partner] = until_ns;
  truth.count[rank][partner]++;
}
/* The last of those that one needs; -1: it needs nobody. */
static int needed(const step *s, int i) {
  int last = -1;
  for (int k = 0; k < s->size; k++)
    if (needs(s, i, k) && (last < 0 || s->called_ns[k] > s->called_ns[last])) last = k;
  return last;
}
static int64_t until_ns(const step *s, int last, int64_t over_ns) {
  return s->called_ns[last] - both_err_ns < over_ns ? s->called_ns[last] - both_err_ns : over_ns;
}
/* All have called; it is over for one when all that it needs have, and perhaps later: the call that finds it takes longer. */
static int64_t over(const step *s, int i, int64_t since_ns, int64_t until_end_ns) {
  const int last = needed(s, i);
  int64_t over_ns = since_ns;
  if (last >= 0 && s->called_ns[last] > over_ns) over_ns = s->called_ns[last];
  if (!of_other_node && !test_below(8)) over_ns = since_ns; /* whatever it needed */
  over_ns += below(20);
  if (last >= 0) must_tell(s->rank[i], s->rank[last], since_ns, until_ns(s, last, over_ns + until_end_ns));
  return over_ns;
}
static void start(step *s, int i) {
  const int rank = s->rank[i];
  compute(rank, 100 + below(test_below(4) ? 50 : 3000));
  of[rank].now_ns += 100 - of[rank].now_ns % 100 + 10 * rank; /* in no call, and nothing is computed */
  s->called_ns[i] = of[rank].now_ns;
}
static trace_record *collective(const step *s, int i, int64_t end_ns) {
  trace_record *r = record(s->rank[i], TRACE_COLLECTIVE);
  r->begin_ns = s->called_ns[i] + of[s->rank[i]].skew_ns;
  r->end_ns = end_ns + of[s->rank[i]].skew_ns;
  r->id = s->comm;
  r->min_overlap_ns = i + 1;
  r->max_overlap_ns = (int64_t)s->mask[i];
  r->case_of = (uint8_t)s->needs[i];
  if (s->needs[i] == TRACE_OF_PARTNER) r->partner = s->rank[s->root];
  return r;
}
static void blocking(step *s, int i) {
  const int64_t over_ns = over(s, i, s->called_ns[i], 0);
  of[s->rank[i]].now_ns = over_ns;
  called(s->rank[i], 0, s->called_ns[i], over_ns, 1);
  collective(s, i, over_ns);
}
/* It looks in vain as one record, then finds it; or waits. */
static void nonblocking(step *s, int i) {
  const int rank = s->rank[i];
  const uint64_t id = ++of[rank].next_id;
  of[rank].now_ns += below(6);
  collective(s, i, of[rank].now_ns)->xfer_ns = (int64_t)id;
  called(rank, 0, s->called_ns[i], of[rank].now_ns, 1);
  compute(rank, 100 + below(2000));
  if (!test_below(8)) return; /* its end is not seen */
  const int64_t since_ns = of[rank].now_ns;
  const int64_t over_ns = over(s, i, since_ns, 100);
  of[rank].now_ns = over_ns + 100;
  if (s->how == 2 && over_ns > since_ns) called(rank, 1, since_ns, over_ns, 7);
  called(rank, s->how == 2, s->how == 2 ? over_ns : since_ns, of[rank].now_ns, 1);
  trace_record *x = record(rank, TRACE_TRANSFER);
  x->begin_ns = s->called_ns[i] + of[rank].skew_ns;
  x->end_ns = of[rank].now_ns + of[rank].skew_ns;
  x->id = id;
}
/* One call ends two: whoever is waited for in both, is once. */
static void waitall(step s[2], int i) {
  const int rank = s->rank[i], last[2] = {needed(&s[0], i), needed(&s[1], i)};
  uint64_t id[2];
  for (int k = 0; k < 2; k++) {
    id[k] = ++of[rank].next_id;
    collective(&s[k], i, s[k].called_ns[i])->xfer_ns = (int64_t)id[k];
    called(rank, 0, s[k].called_ns[i], s[k].called_ns[i], 1);
  }
  const int64_t since_ns = of[rank].now_ns += 100;
  for (int k = 0; k < 2; k++)
    if (last[k] >= 0 && s[k].called_ns[last[k]] > of[rank].now_ns)
      of[rank].now_ns = s[k].called_ns[last[k]];
  of[rank].now_ns += 100;
  called(rank, 0, since_ns, of[rank].now_ns, 1);
  const int later = last[0] >= 0 && last[1] >= 0 && s[1].called_ns[last[1]] > s[0].called_ns[last[0]];
  for (int n = 0; n < 2; n++) { /* the longer wait first */
    const int k = n ? !later : later;
    if (last[k] >= 0)
      must_tell(rank, s->rank[last[k]], since_ns, until_ns(&s[k], last[k], of[rank].now_ns));
    trace_record *x = record(rank, TRACE_TRANSFER);
    x->begin_ns = s[k].called_ns[i] + of[rank].skew_ns;
    x->end_ns = of[rank].now_ns + of[rank].skew_ns;
    x->id = id[k];
  }
}
static step step_of(uint64_t comm) {
  step s;
  memset(&s, 0, sizeof s);
  s.comm = comm;
  const int kind = (int)test_below(5);
  for (int i = 0; i < RANKS; i++) { /* backwards in the third */
    const int rank = s.comm == 3 ? RANKS - 1 - i : i;
    if (s.comm == 1 || rank != 2) s.rank[s.size++] = rank;
  }
  s.root = (int)test_below((uint64_t)s.size);
  for (int i = 0; i < s.size; i++) {
    s.needs[i] = kind == TRACE_OF_PARTNER && i == s.root ? TRACE_OF_NOBODY : kind;
    if (kind == TRACE_OF_SOME) s.mask[i] = test_below(1u << s.size) | (i == 0);
  }
  return s;
}
static void one_step(void) {
  const uint64_t comm = 1 + test_below(COMMS);
  const int how = (int)test_below(4);
  step s[2] = {step_of(comm), step_of(comm)};
  s->how = how;
  for (int i = 0; i < s->size; i++) {
    start(&s[0], i);
    if (how == 3) start(&s[1], i);
  }
  for (int i = 0; i < s->size; i++)
    if (how == 3)
      waitall(s, i);
    else if (how)
      nonblocking(s, i);
    else
      blocking(s, i);
}
static void begin(int64_t err_ns) {
  both_err_ns = 2 * (err_ns + 1);
  memset(&truth, 0, sizeof truth);
  memset(&told, 0, sizeof told);
  memset(&matches, 0, sizeof matches);
  traces.count = 0;
  traces.of = (timeline *)must(calloc(RANKS, sizeof *traces.of));
  for (int i = 0; i < RANKS; i++) {
    of[i].count = of[i].next_id = 0;
    of[i].now_ns = 100 + below(100);
    of[i].comp_ns = 0;
    of[i].skew_ns = below(100000);
  }
}
static void add(void *unused, int rank, int partner, uint64_t count, int64_t waited_ns) {
  (void)unused;
  told.ns[rank][partner] += waited_ns;
  told.count[rank][partner] += count;
}
/* Of all together each moment counts once, and somebody's longest wait is there. */
static void count_once(void) {
  int64_t sum_ns = 0, most_ns = 0;
  const nbc_waits w = why_add_all();
  for (int i = 0; i < RANKS; i++)
    for (int k = 0; k < RANKS; k++) {
      sum_ns += told.ns[i][k];
      if (told.ns[i][k] > most_ns) most_ns = told.ns[i][k];
    }
  CHECK(w.last_ns <= sum_ns && w.last_ns >= most_ns && !w.late_ns);
  free(w.of);
}
static void read_all(int64_t err_ns) {
  for (int i = 0; i < RANKS; i++) {
    timeline *t = &traces.of[traces.count++];
    t->rank = i;
    t->size = RANKS;
    t->program = world;
    t->host = host;
    t->boot = boot[i < RANKS - of_other_node ? 0 : 1];
    t->path = path;
    t->every = 1;
    t->records = of[i].records;
    t->record_count = t->seen_count = of[i].count;
    t->places = places;
    t->place_count = 2;
    t->cut_in = t->cut_out = UINT64_MAX;
    t->raw_clock_ns[0] = of[i].skew_ns;
    t->raw_clock_ns[1] = of[i].skew_ns + of[i].now_ns;
    t->raw_ns[1] = of[i].now_ns;
    if (i >= RANKS - of_other_node) t->raw_ns[0] += 123456789, t->raw_ns[1] += 123456789;
    t->raw_count = 2;
    t->raw_err_ns[0] = t->raw_err_ns[1] = err_ns;
  }
  match_messages();
  last_add_all(add, NULL);
  count_once();
}
static void release(void) {
  for (int i = 0; i < RANKS; i++) {
    free(matches.bounds[i]);
    free(matches.transfers[i]);
    free(matches.calls[i]);
    free(matches.messages[i]);
    free(matches.collectives[i]);
  }
  free(matches.bounds);
  free(matches.transfers);
  free(matches.transfer_count);
  free(matches.calls);
  free(matches.call_count);
  free(matches.messages);
  free(matches.messages_of);
  free(matches.collectives);
  free(matches.collectives_of);
  free(clocks.boot), free(clocks.facts), free(clocks.pairs), free(member_list.of);
  memset(&clocks, 0, sizeof clocks);
  free(matches.sent);
  free(matches.received);
  free(traces.of);
}
static void who_was_waited_for_is_told(void) {
  int64_t sum_ns = 0;
  for (int round = 0; round < 300; round++) {
    const int64_t err_ns = 1 + (round % 3 ? 0 : 5 * (int64_t)test_below(20));
    begin(err_ns);
    for (int i = 0; i < STEPS; i++) one_step();
    read_all(err_ns);
    for (int i = 0; i < RANKS; i++)
      for (int k = 0; k < RANKS; k++) {
        const int64_t off_ns = told.ns[i][k] - truth.ns[i][k], most_ns = 2 * (int64_t)truth.count[i][k];
        const bool is_right = off_ns >= -most_ns && off_ns <= most_ns && told.count[i][k] == truth.count[i][k];
        if (!is_right)
          printf("%d for %d: %lld ns in %llu, not %lld in %llu\n", i, k, (long long)told.ns[i][k],
                 (unsigned long long)told.count[i][k], (long long)truth.ns[i][k],
                 (unsigned long long)truth.count[i][k]);
        CHECK(is_right);
        sum_ns += truth.ns[i][k];
      }
    release();
  }
  CHECK(sum_ns > 1000000);
}
/* Nothing but the collectives holds the clocks of two nodes together: less is known, and nothing false. */
static void who_was_waited_for_on_other_nodes(void) {
  int64_t sum_ns = 0, told_ns = 0, far_ns = 0;
  for (int round = 0; round < 300; round++) {
    of_other_node = 1 + round % 2;
    begin(1);
    for (int i = 0; i < STEPS; i++) one_step();
    read_all(1);
    for (int i = 0; i < RANKS; i++) {
      int64_t own_ns = 0;
      for (int k = 0; k < RANKS; k++) {
        own_ns += told.ns[i][k];
        if ((i < RANKS - of_other_node) != (k < RANKS - of_other_node)) far_ns += told.ns[i][k];
      }
      if (own_ns > truth.all_ns[i]) CHECK(!"no more than the truth");
      told_ns += own_ns;
      sum_ns += truth.all_ns[i];
    }
    CHECK(!clocks.contradicted_count);
    release();
  }
  of_other_node = 0;
  CHECK(told_ns > 0.75 * (double)sum_ns && far_ns > 0.25 * (double)sum_ns);
}
/* Of each node it is the last to call and the first to return of those that needed it that tell most of its clock. */
static void collectives_hold_clocks(void) {
  static const int64_t begin_ns[] = {300, 100, 200, 250}, end_ns[] = {1000, 900, 800, 950};
  static const struct { int how, root, facts; int64_t most_ns, least_ns; } cases[] = {
      {TRACE_OF_ALL, -1, 2, 800 - 300 + 2, 250 - 900 - 2}, {TRACE_OF_PARTNER, 1, 1, 800 - 100 + 2, INT64_MIN},
      {TRACE_OF_PARTNER, 3, 1, INT64_MAX, 250 - 900 - 2}, {TRACE_OF_PARTNER, 7, 0, 0, 0}, {TRACE_OF_NOBODY, -1, 0, 0, 0}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    trace_record r[4];
    match_member m[4];
    traces.count = 4;
    traces.of = (timeline *)must(calloc(4, sizeof *traces.of));
    for (int i = 0; i < 4; i++) {
      timeline *t = &traces.of[i];
      t->rank = i, t->raw_count = 2, t->boot = boot[i / 2], t->raw_clock_ns[1] = t->raw_ns[1] = 2000;
      r[i] = (trace_record){.begin_ns = begin_ns[i], .end_ns = end_ns[i], .case_of = (uint8_t)cases[c].how, .partner = cases[c].root};
      m[i] = (match_member){&r[i], (size_t)i, 0};
    }
    clocks_begin();
    members_clocks_of(m, 4);
    int64_t most_ns = INT64_MAX, least_ns = INT64_MIN;
    for (size_t k = 0; k < clocks.count; k++) {
      CHECK(clocks.facts[k].a == 0 && clocks.facts[k].b == 2);
      if (clocks.facts[k].most_ns < most_ns) most_ns = clocks.facts[k].most_ns;
      if (clocks.facts[k].least_ns > least_ns) least_ns = clocks.facts[k].least_ns;
    }
    CHECK(clocks.count == (size_t)cases[c].facts);
    if (cases[c].facts) CHECK(most_ns == cases[c].most_ns && least_ns == cases[c].least_ns);
    free(traces.of), free(clocks.boot), free(clocks.facts);
    memset(&clocks, 0, sizeof clocks);
  }
}
/* Of damaged files: who has no rank is lower than nobody, nor is who has the same. */
static void only_lower_ranks_are_lower(void) {
  enum { ALL = 4 };
  static const struct { int rank_plus1, called_ns; } of_all[ALL] = {{0, 3000}, {1, 2500}, {2, 2800}, {2, 2000}};
  trace_record r[ALL];
  last_member m[ALL];
  last_wait waits[ALL];
  traces.of = (timeline *)must(calloc(ALL, sizeof *traces.of));
  for (int i = 0; i < ALL; i++) {
    timeline *t = &traces.of[i];
    t->rank = i;
    t->raw_clock_ns[1] = t->raw_ns[1] = 10000, t->raw_count = 2, t->boot = boot[0];
    r[i] = (trace_record){.begin_ns = of_all[i].called_ns, .end_ns = 9000, .case_of = TRACE_OF_LOWER};
    r[i].min_overlap_ns = of_all[i].rank_plus1;
    m[i] = (last_member){{&r[i], (size_t)i, 0}, r[i].begin_ns, r[i].end_ns};
  }
  traces.count = ALL;
  clocks_begin();
  CHECK(last_of_group(m, ALL, waits) == 1);
  CHECK(waits[0].rank == 3 && waits[0].partner == 1 && waits[0].until_ns == 2500 - 2);
  free(traces.of);
  free(clocks.boot);
}
/* Backwards, so that the last to call has the lowest rank. */
static void many_take_no_time(void) {
  enum { MANY = 20000 };
  static trace_record r[MANY];
  static last_member m[MANY];
  static last_wait waits[MANY];
  const clock_t begin = clock();
  traces.of = (timeline *)must(calloc(MANY, sizeof *traces.of));
  for (int how = TRACE_OF_ALL; how <= TRACE_OF_SOME; how++) {
    for (int i = 0; i < MANY; i++) {
      timeline *t = &traces.of[i];
      t->rank = i;
      t->raw_clock_ns[1] = t->raw_ns[1] = 1000 * MANY, t->raw_count = 2, t->boot = boot[0];
      r[i] = (trace_record){.begin_ns = 100 * (MANY - i), .end_ns = 1000 * MANY, .case_of = (uint8_t)how};
      r[i].min_overlap_ns = i + 1;
      r[i].max_overlap_ns = 2;
      r[i].partner = 5;
      m[i] = (last_member){{&r[i], (size_t)i, 0}, r[i].begin_ns, r[i].end_ns};
    }
    traces.count = MANY;
    clocks_begin();
    const size_t noted = last_of_group(m, MANY, waits);
    free(clocks.boot);
    const int first = how == TRACE_OF_PARTNER ? 5 : how == TRACE_OF_SOME; /* who is waited for by all behind it */
    CHECK(noted == (size_t)(MANY - 1 - first));
    for (size_t i = 0; i < noted; i++)
      CHECK(waits[i].rank == first + 1 + (int)i && waits[i].partner == first);
  }
  free(traces.of);
  CHECK((double)(clock() - begin) / CLOCKS_PER_SEC < 1);
}
int main(int argc, char **argv) {
  (void)trace_sort, (void)trace_add_file, (void)wait_add_all; /* the rest of the files */
  test_init(argc, argv);
  RUN(who_was_waited_for_is_told);
  RUN(who_was_waited_for_on_other_nodes);
  RUN(collectives_hold_clocks);
  RUN(only_lower_ranks_are_lower);
  RUN(many_take_no_time);
  return test_end();
}
