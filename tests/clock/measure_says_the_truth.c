/* Measurements against simulated truth: every sample is right within the error it claims, starts are
   as common as the clocks allow, late starts are discarded everywhere, and the stopping rule stops for
   the reason it names. */
#include "tests/pieces.h"
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
  j->desc.repeat.min_time_ns = -1; /* what is tested is not how long */
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
    CHECK(m->samples_ns && m->sample_count == m->time.count && m->sample_count >= 10);
    CHECK(j->calls[0] == (int)m->sample_count + (int)m->missed_count + warmup);
    for (int r = 1; r < RANKS; r++) { /* discarded everywhere, told everywhere */
      CHECK(j->calls[r] == j->calls[0] && j->result[r].time.median == m->time.median);
      CHECK(j->result[r].stop == m->stop && j->result[r].missed_count == m->missed_count && !j->result[r].samples_ns);
    }
    int call = round % 2 ? warmup : 0; /* kept samples appear in order among all calls */
    for (size_t i = 0; i < m->sample_count; i++) {
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
  j->desc.repeat.ci_ratio = 1e-9; /* else a few samples may lie together by chance */
  j->desc.repeat.max_count = 37;
  CHECK(simnet_run(j->net, measure_all, j) == NBC_OK && j->result[0].stop == NBC_STOP_COUNT);
  CHECK(j->result[0].time.count == 37);
  job_free(j);
  j = job_of(NBC_START_WINDOW);
  j->base_ns = 1e7;
  j->noise_ns = 1e8;
  j->desc.repeat.ci_ratio = 1e-9;
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
  const nbc_measure_desc bad[] = {{.window_ns = -1}, {.window_ns = INT64_MAX}, {.window_max_ns = INT64_MAX}, {.window_ns = 2, .window_max_ns = 1}, {.limit_ns = -1}, {.start = (nbc_start)2}, {.repeat = {.min_count = -1}},
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
static nbc_status longer_work(void *user) {
  ticking_ns += 1000;
  return ++*(int *)user > 10000000 ? NBC_E_FULL : NBC_OK;
}
static void not_sure_before_the_least_time(void) {
  const nbc_clock_desc desc = {.source = NBC_CLOCK_USER, .now_ns = ticking_now};
  nbc_clock clock;
  nbc_measurement m;
  nbc_repeat repeat = {0};
  CHECK(nbc_clock_create(&desc, &clock) == NBC_OK);
  for (int i = 0; i < 4; i++) { /* 50 ms; 2 ms; half the limit; with batches so long that 1000 fill it */
    int64_t least_ns = 50000000;
    if (i == 1) repeat.min_time_ns = least_ns = 2000000;
    if (i == 2) repeat.min_time_ns = 0, repeat.time_limit_ns = 1000000, least_ns = 500000;
    if (i == 3) repeat.min_time_ns = least_ns = 100000000, repeat.max_count = 500, repeat.time_limit_ns = 0;
    if (i == 0) repeat.max_count = 10000;
    int calls = 0;
    const int64_t t_begin_ns = ticking_ns;
    CHECK(nbc_measure_loop(&clock, &repeat, NBC_TIMING_LOOP, i == 3 ? 0 : 10, 0, longer_work, &calls, &m) == NBC_OK);
    const int64_t took_ns = ticking_ns - t_begin_ns;
    CHECK(took_ns >= least_ns && took_ns < (i == 3 ? 5 : 2) * least_ns && (i == 3 || m.stop == NBC_STOP_SURE));
  }
}

/* Samples whose truth is known, each like the one before by `like`: is it within the interval? */
static double gauss(void) {
  const double u = ((double)(test_rand() >> 11) + 1) / 9007199254740993.0, v = (double)(test_rand() >> 11) / 9007199254740992.0;
  return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}
typedef struct like {
  double like, now;
} like;
static nbc_status like_the_last(void *user) {
  like *l = (like *)user;
  l->now = l->like * l->now + sqrt(1 - l->like * l->like) * gauss();
  ticking_ns += (int64_t)floor(100000 + 10000 * l->now + 0.5);
  return NBC_OK;
}
static void intervals_hold_when_samples_depend(void) {
  static const double likes[] = {0, 0.5, 0.9};
  enum { TIMES = 1500 };
  const nbc_clock_desc desc = {.source = NBC_CLOCK_USER, .now_ns = ticking_now};
  nbc_clock clock;
  CHECK(nbc_clock_create(&desc, &clock) == NBC_OK);
  for (int k = 0; k < 3; k++) {
    int held = 0;
    double samples = 0, independent = 0;
    for (int i = 0; i < TIMES; i++) {
      nbc_measurement m;
      like l = {likes[k], gauss()};
      CHECK(nbc_measure_loop(&clock, NULL, NBC_TIMING_LOOP, 1, 0, like_the_last, &l, &m) == NBC_OK);
      held += m.time.median_lo <= 100010 && m.time.median_hi >= 100010; /* a reading costs 10 */
      samples += (double)m.time.count / TIMES;
      independent += m.independent_count / TIMES;
    }
    printf("  each %.1f like the last: truth within %.1f %% of the intervals; %.0f samples count for %.0f\n", likes[k],
           100.0 * held / TIMES, samples, independent);
    CHECK(held >= 0.93 * TIMES);
    CHECK(k == 0 ? independent > 0.9 * samples : independent < 0.5 * samples);
  }
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
  repeat.min_time_ns = -1;
  CHECK(nbc_measure_loop(&clock, &repeat, NBC_TIMING_LOOP, 100, 0, work, &calls, &m) == NBC_OK);
  CHECK_NEAR(m.time.median, 1000.1, 1e-9); /* one reading per 100 calls */
  CHECK(m.stop == NBC_STOP_SURE && m.time.count == 10 && !m.samples_ns && calls == 100 * (3 + 10));
  CHECK(nbc_measure_loop(&clock, &repeat, NBC_TIMING_EACH, 100, 0, work, &calls, &m) == NBC_OK);
  CHECK_NEAR(m.time.median, 1010, 1e-9); /* one per call */
  CHECK(nbc_measure_loop(&clock, &repeat, NBC_TIMING_LOOP, 100, 300, work, &calls, &m) == NBC_OK);
  CHECK_NEAR(m.time.median, 700.1, 1e-9); /* subtraction */
  repeat.warmup_count = -1;
  repeat.min_count = repeat.max_count = 12;
  repeat.keep_samples = true;
  calls = 0;
  CHECK(nbc_measure_loop(&clock, &repeat, NBC_TIMING_LOOP, 0, 0, work, &calls, &m) == NBC_OK);
  CHECK(m.sample_count == 12 && m.stop == NBC_STOP_COUNT && calls == 12 * 32 + 1 + 2 + 4 + 8 + 16 + 32); /* 20 us */
  nbc_measurement_free(&m);
  nbc_measurement_free(NULL);
  calls = 99990;
  CHECK(nbc_measure_loop(&clock, NULL, NBC_TIMING_LOOP, 1, 0, work, &calls, &m) == NBC_E_FULL);
  CHECK(nbc_measure_loop(&clock, NULL, NBC_TIMING_LOOP, -1, 0, work, &calls, &m) == NBC_E_INVAL);
  CHECK(nbc_measure_loop(&clock, NULL, NBC_TIMING_LOOP, 1, (double)NAN, work, &calls, &m) == NBC_E_INVAL);
}

/* ---- bad input: a rank that falls silent, messages out of order, clocks that step back ---------------- */
typedef struct trouble {
  int silent_rank;   /* from the measurement on; -1 = nobody */
  double step_ns;    /* of rank 2's clock, in the middle of the operation */
  nbc_status status[RANKS];
  char text[RANKS][256];
} trouble;
static nbc_status stepping_operation(void *user) {
  worker *w = (worker *)user;
  if (w->r->t.rank == 2 && w->j->calls[2] == 7) w->r->clock.offset_ns -= 1e6;
  return operation(user);
}
static nbc_status measure_troubled(nbc_transport *t, void *user) {
  job *j = ((job **)user)[0];
  trouble *what = ((trouble **)user)[1];
  worker w = {j, simnet_me(t->ctx)};
  nbc_sync *sync;
  nbc_error err;
  nbc_status status = nbc_sync_create(t, NULL, &sync, &err);
  if (status != NBC_OK) return status;
  err.text[0] = 0;
  w.r->t_ns += 1e7;
  if (t->rank == what->silent_rank) { /* its last message is behind it */
    j->net->mute_rank_set = true;
    j->net->mute_rank = t->rank;
  }
  what->status[t->rank] = nbc_measure(sync, &j->desc, what->step_ns > 0 ? stepping_operation : operation, &w, &j->result[t->rank], &err);
  snprintf(what->text[t->rank], sizeof what->text[0], "%s", err.text);
  nbc_sync_destroy(sync);
  return NBC_OK;
}
static void a_silent_rank_is_named(void) {
  job *j = job_of(NBC_START_WINDOW);
  trouble what = {.silent_rank = 5};
  void *both[] = {j, &what};
  j->desc.limit_ns = 300000000;
  CHECK(simnet_run(j->net, measure_troubled, both) == NBC_OK);
  CHECK(what.status[4] == NBC_E_TIMEOUT && strstr(what.text[4], "rank 4: rank 5 did not answer within 0.3 s"));
  for (int r = 0; r < RANKS; r++) CHECK(what.status[r] == NBC_E_TIMEOUT); /* nobody waits for ever */
  job_free(j);
}
static void messages_out_of_order_change_nothing(void) {
  for (int round = 0; round < 8; round++) {
    job *j = job_of(round % 2 ? NBC_START_BARRIER : NBC_START_WINDOW);
    j->net->reorder = true;
    j->net->jitter_ns = 20000;
    j->desc.repeat.max_count = 200; /* estimated clocks drift apart: that may never be sure */
    j->noise_ns = 0;
    CHECK(simnet_run(j->net, measure_all, j) == NBC_OK && (j->result[0].stop == NBC_STOP_SURE || j->result[0].stop == NBC_STOP_COUNT));
    CHECK(j->result[5].time.count == j->result[0].time.count);
    job_free(j);
  }
}
static int64_t backward_ns;
static int64_t backward_now(void *user) {
  (void)user;
  return backward_ns -= 10;
}
static void clocks_that_step_back_are_named(void) {
  job *j = job_of(NBC_START_WINDOW);
  trouble what = {.silent_rank = -1, .step_ns = 1e6};
  void *both[] = {j, &what};
  CHECK(simnet_run(j->net, measure_troubled, both) == NBC_OK);
  for (int r = 0; r < RANKS; r++)
    CHECK(what.status[r] == NBC_E_CLOCK && strstr(what.text[r], "rank 2: the clock stepped backwards"));
  job_free(j);
  nbc_clock_desc desc = {.source = NBC_CLOCK_USER, .now_ns = backward_now};
  nbc_clock clock;
  nbc_measurement m;
  int calls = 0;
  CHECK(nbc_clock_create(&desc, &clock) == NBC_OK);
  for (int timing = 0; timing < 2; timing++)
    CHECK(nbc_measure_loop(&clock, NULL, (nbc_timing)timing, 5, 0, work, &calls, &m) == NBC_E_CLOCK);
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

/* ---- models: synthetic measurements whose ranges, lines and noise are known ------------------------- */
static double normal(void) { /* Box and Muller */
  return sqrt(-2 * log(1 - unit())) * cos(6.283185307179586 * unit());
}
static double drawn(const nbc_model_mode *modes, int count) {
  double u = unit();
  int k = 0;
  while (k + 1 < count && u > modes[k].weight_ratio) u -= modes[k++].weight_ratio;
  return modes[k].mean_ratio + modes[k].sigma_ratio * normal();
}
enum { MODEL_SIZES = 72, MODEL_REPEATS = 40 };
typedef struct made {
  uint64_t sizes[MODEL_SIZES], size_bytes[MODEL_SIZES * MODEL_REPEATS];
  double time_ns[MODEL_SIZES * MODEL_REPEATS];
  int count, ranges, first[4]; /* ranges: index of their first size */
  size_t wild[4];              /* how many of its sizes are disturbed */
  double base_ns[4], per_byte_ns[4];
} made;

/* Sizes of four per octave; 1 to 4 ranges of ten sizes or more; each line 20 % or more off the last
   where it begins, as protocols are; three sizes of a range at most disturbed altogether. */
static void make(made *m, int ranges, const nbc_model_mode *modes, int mode_count, bool disturbed) {
  m->count = 0;
  m->ranges = ranges;
  for (int i = 0; m->count < MODEL_SIZES; i++) {
    const uint64_t n = (uint64_t)(pow(2, i / 4.0) + 0.5);
    if (m->count == 0 || n > m->sizes[m->count - 1]) m->sizes[m->count++] = n;
  }
  for (int r = 0; r < ranges; r++)
    m->first[r] = r == 0 ? 0 : r * MODEL_SIZES / ranges - 3 + (int)test_below(7);
  size_t at = 0;
  for (int r = 0, i = 0; r < ranges; r++) {
    const double from = (double)m->sizes[m->first[r]];
    const double was_ns = r == 0 ? 1000 : m->base_ns[r - 1] + m->per_byte_ns[r - 1] * from;
    const double to_ns = was_ns * (test_below(2) ? 1.2 + unit() : 1 / (1.2 + unit()));
    m->per_byte_ns[r] = to_ns / from * (r == 0 ? 0.01 + 0.02 * unit() : 0.2 + 0.6 * unit());
    m->base_ns[r] = to_ns - m->per_byte_ns[r] * from;
    m->wild[r] = 0;
    for (const int end = r + 1 < ranges ? m->first[r + 1] : MODEL_SIZES; i < end; i++) {
      const bool wild = disturbed && (i - m->first[r]) % 7 == 3 && i - m->first[r] < 20;
      m->wild[r] += wild;
      const double factor = wild ? 1.5 + 3 * unit() : 1;
      for (int k = 0; k < MODEL_REPEATS; k++, at++) {
        m->size_bytes[at] = m->sizes[i];
        m->time_ns[at] =
            factor * (m->base_ns[r] + m->per_byte_ns[r] * (double)m->sizes[i]) * drawn(modes, mode_count);
      }
    }
  }
  for (size_t i = at - 1; i > 0; i--) { /* in any order */
    const size_t k = test_below(i + 1);
    const uint64_t n = m->size_bytes[i];
    const double ns = m->time_ns[i];
    m->size_bytes[i] = m->size_bytes[k], m->size_bytes[k] = n;
    m->time_ns[i] = m->time_ns[k], m->time_ns[k] = ns;
  }
}

/* Every range where it was, its line within 3 % at both ends. */
static bool found_ranges(const made *m, const nbc_model *f) {
  bool good = f->range_count == m->ranges;
  for (int r = 0; r < m->ranges && good; r++) {
    const nbc_model_range *range = &f->ranges[r];
    const uint64_t first = m->sizes[m->first[r]];
    const uint64_t last = m->sizes[(r + 1 < m->ranges ? m->first[r + 1] : MODEL_SIZES) - 1];
    good = range->first_bytes == first && range->last_bytes == last;
    for (int end = 0; end < 2; end++) {
      const double n = (double)(end ? last : first), is_ns = m->base_ns[r] + m->per_byte_ns[r] * n;
      good = good && fabs(range->base_ns + range->per_byte_ns * n - is_ns) < 0.03 * is_ns;
    }
  }
  return good;
}

static const nbc_model_mode quiet[1] = {{1, 1, 0.01}};
static const nbc_model_mode noisy[3] = {{0.7, 1, 0.02}, {0.2, 1.25, 0.02}, {0.1, 1.8, 0.1}};

/* The same samples in every run: a test of chance must not fail by chance. */
static void ranges_are_found_where_they_are(void) {
  made *m = (made *)malloc(sizeof *m);
  nbc_model f;
  int missed = 0;
  test_state = 42;
  for (int round = 0; round < 24; round++) {
    make(m, 1 + round % 4, round % 3 == 2 ? noisy : quiet, round % 3 == 2 ? 3 : 1, round % 2);
    CHECK(nbc_model_fit(m->size_bytes, m->time_ns, MODEL_SIZES * MODEL_REPEATS, NULL, &f, NULL) == NBC_OK);
    missed += !found_ranges(m, &f);
    for (int r = 0; r < f.range_count && round % 3 < 2; r++) {
      CHECK(f.ranges[r].residual_ratio < 0.01 && f.ranges[r].noise.mode_count == 1);
      CHECK_NEAR(f.ranges[r].noise.modes[0].sigma_ratio, 0.01, 0.002);
      CHECK(f.ranges[r].outlier_count == m->wild[r]);
    }
  }
  printf("  %d of 24 not as they were\n", missed);
  CHECK(missed <= 1);
  free(m);
}

static void mixtures_are_told_apart(void) {
  double v[600];
  nbc_model_noise noise;
  test_state = 7;
  for (int round = 0; round < 12; round++) {
    const nbc_model_mode *modes = round % 3 == 0 ? quiet : noisy;
    const int count = 1 + round % 3;
    nbc_model_mode two[2] = {noisy[0], noisy[1]};
    two[0].weight_ratio = 0.8;
    for (size_t i = 0; i < 600; i++) v[i] = drawn(count == 2 ? two : modes, count);
    CHECK(nbc_model_fit_noise(v, 600, &noise) == NBC_OK && noise.mode_count == count && noise.sample_count == 600);
    for (int k = 0; k < count && noise.mode_count == count; k++) {
      const nbc_model_mode *is = count == 2 ? &two[k] : &modes[k], *was = &noise.modes[k];
      CHECK_NEAR(was->weight_ratio, is->weight_ratio, 0.06);
      CHECK_NEAR(was->mean_ratio, is->mean_ratio, is->sigma_ratio / 2);
      CHECK_NEAR(was->sigma_ratio, is->sigma_ratio, is->sigma_ratio / 3);
    }
  }
  for (size_t i = 0; i < 600; i++) v[i] = 3; /* a clock that ticks slowly: all the same */
  CHECK(nbc_model_fit_noise(v, 600, &noise) == NBC_OK && noise.mode_count == 1 && noise.modes[0].mean_ratio == 3);
  CHECK(nbc_model_fit_noise(v, 1, &noise) == NBC_OK && noise.mode_count == 1);
  v[3] = (double)NAN;
  CHECK(nbc_model_fit_noise(v, 600, &noise) == NBC_E_INVAL && nbc_model_fit_noise(v, 0, &noise) == NBC_E_INVAL);
}

static void bad_samples_are_named(void) {
  uint64_t sizes[300];
  double ns[300];
  nbc_model f;
  nbc_error err;
  for (int i = 0; i < 300; i++) sizes[i] = (uint64_t)i + 1, ns[i] = 100;
  const nbc_model_desc bad[] = {{.max_ranges = -1}, {.max_ranges = 9}, {.tolerance_ratio = 1}, {.tolerance_ratio = (double)NAN}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    CHECK(nbc_model_fit(sizes, ns, 10, &bad[i], &f, &err) == NBC_E_INVAL && strstr(err.text, i < 2 ? "max_ranges" : "tolerance_ratio"));
  CHECK(nbc_model_fit(sizes, ns, 0, NULL, &f, &err) == NBC_E_INVAL && strstr(err.text, "no samples"));
  CHECK(nbc_model_fit(sizes, ns, 300, NULL, &f, &err) == NBC_E_FULL && strstr(err.text, "256"));
  for (int n = 1; n < 8; n++) { /* too few for more than one range */
    CHECK(nbc_model_fit(sizes, ns, (size_t)n, NULL, &f, &err) == NBC_OK && f.range_count == 1);
    CHECK_NEAR(nbc_model_time_ns(&f, 1000), 100, 1e-6);
  }
  const double wrong[] = {0, -1, (double)NAN, (double)INFINITY};
  for (size_t i = 0; i < 4; i++) {
    ns[7] = wrong[i];
    CHECK(nbc_model_fit(sizes, ns, 10, NULL, &f, &err) == NBC_E_INVAL && strstr(err.text, "sample 7"));
  }
  f.range_count = 0; /* what a failed fit leaves */
  CHECK(!nbc_model_range_of(&f, 1) && nbc_model_time_ns(&f, 1) == 0);
  f.range_count = NBC_MODEL_MAX_RANGES + 1;
  CHECK(!nbc_model_range_of(&f, 1) && nbc_model_time_ns(&f, 1) == 0);
  ns[7] = 100;
  sizes[9] = UINT64_MAX; /* a size of any magnitude */
  CHECK(nbc_model_fit(sizes, ns, 10, NULL, &f, &err) == NBC_OK && isfinite(nbc_model_time_ns(&f, UINT64_MAX)));
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

/* How much is done only grows, and comes to all of it. */
static void goes_on(void *user, double done_ratio) {
  double *done = user;
  CHECK(done_ratio >= *done && done_ratio <= 1);
  *done = done_ratio;
}

/* A transport that answers, and one whose other rank does not. */
static nbc_status answers_or_not(nbc_transport *t, void *user) {
  nbc_model_loggp_desc desc = {.max_bytes = 20000, .round_count = 2, .sizes_per_octave = 1};
  const nbc_model_loggp_desc bad[] = {{.max_bytes = UINT64_MAX}, {.sizes_per_octave = 9}, {.round_count = -1},
                                      {.time_limit_ns = -1}, {.limit_ns = -1}};
  static const char *const names[] = {"max_bytes", "sizes_per_octave", "round_count", "time_limit_ns", "limit_ns"};
  nbc_model_loggp m;
  nbc_error err;
  for (int i = 0; i < 5; i++)
    CHECK(nbc_model_measure(t, 1 - t->rank, &bad[i], &m, &err) == NBC_E_INVAL && strstr(err.text, names[i]));
  CHECK(nbc_model_measure(t, t->rank, NULL, &m, &err) == NBC_E_INVAL && nbc_model_measure(t, 2, NULL, &m, &err) == NBC_E_INVAL);
  CHECK(nbc_model_write_platform(&m, stdout) == NBC_E_INVAL); /* nothing in it */
  if (*(bool *)user) {
    double done = 0;
    desc.on_progress = goes_on;
    desc.progress_user = &done;
    const nbc_status status = nbc_model_measure(t, 1 - t->rank, &desc, &m, &err);
    CHECK(done == (t->rank == 0 ? 1 : 0));
    CHECK(status == NBC_OK && m.range_count >= 1 && m.ranges[0].first_bytes == 1 && m.min_test_ns >= 0);
    CHECK(t->rank > 0 || (m.round_count == 2 && m.gap_samples.count == 2 * m.time_samples.count / 6));
    nbc_model_free(&m);
    return status;
  }
  if (t->rank > 0) return NBC_OK;
  desc.limit_ns = 20000000;
  CHECK(nbc_model_measure(t, 1, &desc, &m, &err) == NBC_E_TIMEOUT);
  CHECK(strstr(err.text, "rank 0: rank 1 did not answer within 0.02 s"));
  return NBC_OK;
}
static void a_transport_is_measured_or_named(void) {
  for (int i = 0; i < 2; i++) {
    bool answers = i == 0;
    nbc_threads *threads;
    CHECK(nbc_threads_create(NULL, &threads) == NBC_OK);
    CHECK(nbc_threads_run(threads, answers_or_not, &answers) == NBC_OK);
    nbc_threads_destroy(threads);
  }
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(every_sample_is_right_within_its_error);
  RUN(a_window_starts_ranks_together_and_a_barrier_does_not);
  RUN(it_stops_for_the_reason_it_names);
  RUN(an_error_ends_it_everywhere);
  RUN(bad_descs_are_refused);
  RUN(a_silent_rank_is_named);
  RUN(messages_out_of_order_change_nothing);
  RUN(clocks_that_step_back_are_named);
  RUN(the_timer_inside_costs_what_it_costs);
  RUN(not_sure_before_the_least_time);
  RUN(intervals_hold_when_samples_depend);
  RUN(outliers_and_changes_are_found);
  RUN(shuffling_is_a_permutation_of_equal_chances);
  RUN(ranges_are_found_where_they_are);
  RUN(mixtures_are_told_apart);
  RUN(bad_samples_are_named);
  RUN(a_transport_is_measured_or_named);
  RUN(works_on_threads);
  return TEST_END();
}
