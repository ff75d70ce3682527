/* Measurements against simulated truth: every sample is right within the error it claims, starts are
   as common as the clocks allow, late starts are discarded everywhere, and the stopping rule stops for
   the reason it names. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#include "tests/test.h"
#include "tests/clock/simnet.h"

static double unit(void) { return (double)(test_rand() >> 11) / 9007199254740992.0; }

enum { RANKS = 6, CALLS = 4000 };
typedef struct job {
  simnet *net;
  nbc_measure_desc desc;
  double base_ns, noise_ns;
  int fail_rank, fail_call;
  nbc_measurement result[RANKS];
  double start_ns[CALLS][RANKS], end_ns[CALLS][RANKS];
  int calls[RANKS];
} job;
typedef struct worker {
  job *j;
  simnet_rank *r;
} worker;

/* The measured operation: takes a while on each rank; nobody waits for anybody. */
static nbc_status operation(void *user) {
  worker *w = (worker *)user;
  const int rank = w->r->t.rank, call = w->j->calls[rank]++;
  if (call == w->j->fail_call && rank == w->j->fail_rank) return NBC_E_CANCELLED;
  const double start_ns = w->r->t_ns;
  w->r->t_ns += w->j->base_ns * (1 + rank * 0.1) + w->j->noise_ns * unit();
  if (call < CALLS) {
    w->j->start_ns[call][rank] = start_ns;
    w->j->end_ns[call][rank] = w->r->t_ns + 20; /* reading the clock costs 20 */
  }
  return NBC_OK;
}

static nbc_status measure_all(nbc_transport *t, void *user) {
  job *j = (job *)user;
  worker w = {j, simnet_me(t->ctx)};
  nbc_sync *sync;
  nbc_error err;
  nbc_status status = nbc_sync_create(t, NULL, &sync, &err);
  if (status != NBC_OK) return status;
  w.r->t_ns += 1e7;
  status = nbc_sync_update(sync, &err);
  if (status == NBC_OK) status = nbc_measure(sync, &j->desc, operation, &w, &j->result[t->rank], &err);
  nbc_sync_destroy(sync);
  return status;
}

static job *job_of(nbc_start start) {
  job *j = (job *)calloc(1, sizeof *j);
  j->net = simnet_create(RANKS, test_rand());
  j->net->jitter_ns = 300;
  for (int i = 0; i < RANKS; i++) {
    j->net->ranks[i].clock.offset_ns = unit() * 1e9;
    j->net->ranks[i].clock.deviation = (unit() - 0.5) * 1e-4;
    j->net->ranks[i].t_ns = unit() * 1e5;
  }
  j->desc.start = start;
  j->desc.repeat.keep_samples = true;
  j->base_ns = 20000;
  j->noise_ns = 2000;
  j->fail_call = -1;
  return j;
}
static void job_free(job *j) {
  nbc_measurement_free(&j->result[0]);
  simnet_destroy(j->net);
  free(j);
}
static double truth_of(const job *j, int call) {
  double first = INFINITY, last = -INFINITY;
  for (int r = 0; r < RANKS; r++) first = fmin(first, j->start_ns[call][r]), last = fmax(last, j->end_ns[call][r]);
  return last - first;
}

static void every_sample_is_right_within_its_error(void) {
  for (int round = 0; round < 12; round++) {
    job *j = job_of(round % 2 ? NBC_START_BARRIER : NBC_START_WINDOW);
    j->desc.window_ns = round < 6 ? 1000 : 0; /* far too short at first */
    j->desc.repeat.warmup_count = round % 3 ? 5 : -1;
    CHECK(simnet_run(j->net, measure_all, j) == NBC_OK);
    const nbc_measurement *m = &j->result[0];
    const int warmup = round % 3 ? 5 : 0;
    CHECK(m->samples_ns && m->samples_count == m->time.count && m->samples_count >= 10);
    CHECK(j->calls[0] == (int)m->samples_count + (int)m->missed_count + warmup);
    for (int r = 1; r < RANKS; r++) { /* discarded everywhere, told everywhere */
      CHECK(j->calls[r] == j->calls[0] && j->result[r].time.median == m->time.median);
      CHECK(j->result[r].stop == m->stop && j->result[r].missed_count == m->missed_count && !j->result[r].samples_ns);
    }
    int call = round % 2 ? warmup : 0; /* kept samples appear in order among all calls */
    for (size_t i = 0; i < m->samples_count; i++) {
      while (call < j->calls[0] && fabs(truth_of(j, call) - m->samples_ns[i]) > m->err_ns + 2 + 1e-3 * truth_of(j, call)) call++;
      CHECK(call < j->calls[0]);
      if (round % 2) CHECK(call == warmup + (int)i);
      call++;
    }
    CHECK(round % 2 == 0 || m->missed_count == 0);
    CHECK(round != 0 || m->missed_count > 0); /* the short window was missed, and grew */
    CHECK(round % 2 || m->window_ns > 1200);
    CHECK(m->err_ns > 0 && m->err_ns < 20000);
    CHECK(m->slowest.median >= 30000 && m->time.median >= 30000 && m->time.median < 60000);
    job_free(j);
  }
}

static void a_window_starts_ranks_together_and_a_barrier_does_not(void) {
  job *w = job_of(NBC_START_WINDOW), *b = job_of(NBC_START_BARRIER);
  CHECK(simnet_run(w->net, measure_all, w) == NBC_OK && simnet_run(b->net, measure_all, b) == NBC_OK);
  printf("  skew at start: window %.0f ns, barrier %.0f ns\n", w->result[0].skew.median, b->result[0].skew.median);
  CHECK(w->result[0].skew.median <= w->result[0].err_ns + 100);
  CHECK(b->result[0].skew.median > 1000); /* the way down the tree */
  CHECK(b->result[0].time.median > w->result[0].time.median); /* and that is in its times */
  job_free(w);
  job_free(b);
}

static void it_stops_for_the_reason_it_names(void) {
  job *j = job_of(NBC_START_WINDOW);
  j->noise_ns = 0;
  CHECK(simnet_run(j->net, measure_all, j) == NBC_OK && j->result[0].stop == NBC_STOP_SURE);
  const nbc_summary *s = &j->result[0].time;
  CHECK((s->median_hi - s->median_lo) / 2 <= 0.02 * s->median && s->covered_ratio >= 0.95);
  job_free(j);
  j = job_of(NBC_START_WINDOW);
  j->noise_ns = 1e6;
  j->desc.repeat.max_count = 37;
  CHECK(simnet_run(j->net, measure_all, j) == NBC_OK && j->result[0].stop == NBC_STOP_COUNT);
  CHECK(j->result[0].time.count == 37);
  job_free(j);
  j = job_of(NBC_START_WINDOW);
  j->base_ns = 1e7;
  j->noise_ns = 1e8;
  j->desc.repeat.time_limit_ns = 1000000000;
  CHECK(simnet_run(j->net, measure_all, j) == NBC_OK && j->result[0].stop == NBC_STOP_TIME);
  CHECK(j->result[0].time.count > 2 && j->result[0].time.count < 30);
  job_free(j);
  j = job_of(NBC_START_WINDOW);
  j->desc.window_max_ns = 2000; /* news of a start need longer than that */
  CHECK(simnet_run(j->net, measure_all, j) == NBC_OK && j->result[0].stop == NBC_STOP_LATE);
  CHECK(j->result[0].time.count == 0 && j->result[0].missed_count > 200 && j->result[0].window_ns == 2000);
  job_free(j);
  CHECK_STR(nbc_stop_name(NBC_STOP_SURE), "sure");
  CHECK_STR(nbc_stop_name(NBC_STOP_LATE), "late");
}

static void an_error_ends_it_everywhere(void) {
  for (int call = 0; call < 20; call += 7) {
    job *j = job_of(call % 2 ? NBC_START_BARRIER : NBC_START_WINDOW);
    j->fail_rank = call % RANKS;
    j->fail_call = call;
    j->desc.repeat.min_count = 50;
    CHECK(simnet_run(j->net, measure_all, j) == NBC_E_CANCELLED);
    for (int r = 0; r < RANKS; r++) CHECK(j->net->ranks[r].status == NBC_E_CANCELLED && j->calls[r] == call + 1);
    job_free(j);
  }
}

static nbc_status bad_descs(nbc_transport *t, void *user) {
  const nbc_measure_desc bad[] = {{.window_ns = -1}, {.window_ns = 2, .window_max_ns = 1}, {.limit_ns = -1}, {.start = (nbc_start)2}, {.repeat = {.min_count = -1}},
                                  {.repeat = {.min_count = 5, .max_count = 4}}, {.repeat = {.ci_ratio = -1}},
                                  {.repeat = {.confidence_ratio = 1}}, {.repeat = {.time_limit_ns = -1}},
                                  {.repeat = {.max_count = 20000000}}};
  nbc_sync *sync;
  nbc_measurement m;
  nbc_error err;
  (void)user;
  CHECK(nbc_sync_create(t, NULL, &sync, NULL) == NBC_OK);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    CHECK(nbc_measure(sync, &bad[i], operation, NULL, &m, &err) == NBC_E_INVAL && err.text[0]);
  CHECK(nbc_measure(sync, NULL, NULL, NULL, &m, NULL) == NBC_E_INVAL);
  nbc_sync_destroy(sync);
  return NBC_OK;
}
static void bad_descs_are_refused(void) {
  simnet *net = simnet_create(1, 1);
  CHECK(simnet_run(net, bad_descs, NULL) == NBC_OK);
  simnet_destroy(net);
}

/* ---- one process: a clock that counts its readings, so that every number is exact ----------------- */
static int64_t ticking_ns;
static int64_t ticking_now(void *user) {
  (void)user;
  return ticking_ns += 10;
}
static nbc_status work(void *user) {
  ticking_ns += 1000;
  return ++*(int *)user > 100000 ? NBC_E_FULL : NBC_OK;
}

static void the_timer_inside_costs_what_it_costs(void) {
  nbc_clock_desc desc = {0};
  nbc_clock clock;
  nbc_measurement m;
  nbc_repeat repeat = {0};
  int calls = 0;
  desc.source = NBC_CLOCK_USER;
  desc.now_ns = ticking_now;
  CHECK(nbc_clock_create(&desc, &clock) == NBC_OK);
  CHECK(nbc_measure_loop(&clock, NULL, NBC_TIMING_LOOP, 100, 0, work, &calls, &m) == NBC_OK);
  CHECK_NEAR(m.time.median, 1000.1, 1e-9); /* one reading per 100 calls */
  CHECK(m.stop == NBC_STOP_SURE && m.time.count == 10 && !m.samples_ns && calls == 100 * (3 + 10));
  CHECK(nbc_measure_loop(&clock, NULL, NBC_TIMING_EACH, 100, 0, work, &calls, &m) == NBC_OK);
  CHECK_NEAR(m.time.median, 1010, 1e-9); /* one per call */
  CHECK(nbc_measure_loop(&clock, NULL, NBC_TIMING_LOOP, 100, 300, work, &calls, &m) == NBC_OK);
  CHECK_NEAR(m.time.median, 700.1, 1e-9); /* subtraction */
  repeat.warmup_count = -1;
  repeat.min_count = repeat.max_count = 12;
  repeat.keep_samples = true;
  calls = 0;
  CHECK(nbc_measure_loop(&clock, &repeat, NBC_TIMING_LOOP, 0, 0, work, &calls, &m) == NBC_OK);
  CHECK(m.samples_count == 12 && m.stop == NBC_STOP_COUNT && calls == 12 * 32 + 1 + 2 + 4 + 8 + 16 + 32); /* 20 us */
  nbc_measurement_free(&m);
  nbc_measurement_free(NULL);
  calls = 99990;
  CHECK(nbc_measure_loop(&clock, NULL, NBC_TIMING_LOOP, 1, 0, work, &calls, &m) == NBC_E_FULL);
  CHECK(nbc_measure_loop(&clock, NULL, NBC_TIMING_LOOP, -1, 0, work, &calls, &m) == NBC_E_INVAL);
  CHECK(nbc_measure_loop(&clock, NULL, NBC_TIMING_LOOP, 1, (double)NAN, work, &calls, &m) == NBC_E_INVAL);
}

/* The same samples in every run: a test of chance must not fail by chance. */
static void outliers_and_changes_are_found(void) {
  int false_alarms = 0, misplaced = 0;
  test_state = 1979;
  for (int round = 0; round < 300; round++) {
    double v[200];
    nbc_sample_check c;
    const size_t n = 60 + test_below(140), at = n / 4 + test_below(n / 2);
    for (size_t i = 0; i < n; i++) v[i] = 100 + 10 * unit();
    CHECK(nbc_samples_check(v, n, &c) == NBC_OK && c.outlier_count == 0);
    false_alarms += c.changed;
    const size_t far = test_below(n);
    const double was = v[far];
    v[far] = 500;
    CHECK(nbc_samples_check(v, n, &c) == NBC_OK && c.outlier_count == 1);
    v[far] = was;
    for (size_t i = at; i < n; i++) v[i] += 20; /* a second job has started */
    CHECK(nbc_samples_check(v, n, &c) == NBC_OK && c.changed);
    misplaced += c.change_index + 6 < at || c.change_index > at + 6;
  }
  CHECK(false_alarms < 20); /* p < 0.01, conservative */
  CHECK(misplaced < 10);
  const double same[12] = {0};
  nbc_sample_check c;
  CHECK(nbc_samples_check(same, 12, &c) == NBC_OK && !c.changed && c.outlier_count == 0);
  CHECK(nbc_samples_check(same, 0, &c) == NBC_E_INVAL);
  const double bad[2] = {1, (double)NAN};
  CHECK(nbc_samples_check(bad, 2, &c) == NBC_E_INVAL);
}

static void shuffling_is_a_permutation_of_equal_chances(void) {
  int order[5], first[5] = {0};
  for (uint64_t seed = 0; seed < 5000; seed++) {
    int seen = 0;
    nbc_shuffle(order, 5, seed * 77);
    for (int i = 0; i < 5; i++) seen |= 1 << order[i];
    CHECK(seen == 31);
    first[order[0]]++;
  }
  for (int i = 0; i < 5; i++) CHECK_NEAR(first[i], 1000, 150); /* 5 sigma; the seeds are fixed */
}

/* Real threads: whatever the times are, all ranks agree on them. */
static nbc_status real_work(void *user) {
  (void)user;
  return NBC_OK;
}
static nbc_status on_threads(nbc_transport *t, void *user) {
  nbc_sync *sync;
  nbc_error err;
  nbc_measurement *m = (nbc_measurement *)user + t->rank;
  nbc_measure_desc desc = {0};
  desc.repeat.max_count = 20;
  desc.window_ns = 1000000;
  nbc_status status = nbc_sync_create(t, NULL, &sync, &err);
  if (status == NBC_OK) status = nbc_measure(sync, &desc, real_work, NULL, m, &err);
  if (sync) nbc_sync_destroy(sync);
  return status;
}
static void works_on_threads(void) {
  nbc_threads *threads;
  nbc_measurement m[2];
  memset(m, 0, sizeof m);
  CHECK(nbc_threads_create(NULL, &threads) == NBC_OK);
  CHECK(nbc_threads_run(threads, on_threads, m) == NBC_OK);
  CHECK(m[0].time.count == m[1].time.count && m[0].time.median == m[1].time.median && m[0].err_ns == 0);
  nbc_threads_destroy(threads);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(every_sample_is_right_within_its_error);
  RUN(a_window_starts_ranks_together_and_a_barrier_does_not);
  RUN(it_stops_for_the_reason_it_names);
  RUN(an_error_ends_it_everywhere);
  RUN(bad_descs_are_refused);
  RUN(the_timer_inside_costs_what_it_costs);
  RUN(outliers_and_changes_are_found);
  RUN(shuffling_is_a_permutation_of_equal_chances);
  RUN(works_on_threads);
  return TEST_END();
}
