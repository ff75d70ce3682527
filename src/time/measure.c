/* measure.c: measuring: common starts, repeats until sure, changes on the way. */
#include "measure.h"
#include "../base/sums.h"
#include "../overlap/relation.h"
#include "../transport/contract.h"

/* ============================================================================================== */
/* [MEASURE] 20. Measuring                                                                        */
/* ============================================================================================== */
typedef struct nbc__measure_ranked {
  double value;
  size_t index;
} nbc__measure_ranked;

static int nbc__measure_order(const void *a, const void *b) {
  const double x = ((const nbc__measure_ranked *)a)->value,
               y = ((const nbc__measure_ranked *)b)->value;
  return (x > y) - (x < y);
}

/* Pettitt (1979): U = 2 sum of the first t ranks - t (n + 1), K = max |U|, p as below. The
   place is where U is most improbable: its variance goes with t (n - t). */
/* A test of ranks, so one outlier, however far, counts as one rank. It needs no model of the noise.
   Of fewer than 16 values even a clean step, K = n n / 4, gives no p below 0.01. */
static void nbc__measure_change(const double *rank, size_t n, nbc_sample_check *out) {
  double sum = 0, most = 0, rarest = 0;
  for (size_t t = 1; t < n; t++) {
    sum += rank[t - 1];
    const double u = fabs(2 * sum - (double)t * ((double)n + 1));
    const double rare = u * u / ((double)t * (double)(n - t));
    if (u > most) most = u;
    if (rare > rarest) rarest = rare, out->change_index = t;
  }
  const double cube = (double)n * (double)n * ((double)n + 1);
  out->change_p_ratio = fmin(1, 2 * exp(-6 * most * most / cube));
  out->changed = n >= 10 && out->change_p_ratio < 0.01;
}

NBC_API nbc_status nbc_samples_check(const double *values, size_t count, nbc_sample_check *out) {
  if (!values || !out) return NBC_E_INVAL;
  memset(out, 0, sizeof *out);
  out->change_p_ratio = 1;
  if (count == 0) return NBC_E_INVAL;
  for (size_t i = 0; i < count; i++)
    if (!isfinite(values[i])) return NBC_E_INVAL;
  nbc__measure_ranked *sorted =
      (nbc__measure_ranked *)NBC_MALLOC(count * (sizeof *sorted + 2 * sizeof(double)));
  if (!sorted) return NBC_E_NOMEM;
  double *rank = (double *)(void *)(sorted + count), *ascending = rank + count;
  for (size_t i = 0; i < count; i++) sorted[i].value = values[i], sorted[i].index = i;
  qsort(sorted, count, sizeof *sorted, nbc__measure_order);
  for (size_t i = 0, k; i < count; i = k) { /* equal values share the middle of their ranks */
    for (k = i; k < count && sorted[k].value <= sorted[i].value; k++)
      ascending[k] = sorted[k].value;
    for (size_t j = i; j < k; j++) rank[sorted[j].index] = 0.5 * (double)(i + 1 + k);
  }
  /* Tukey's fences: the quartiles do not move with the values that lie beyond them. */
  const double q1 = nbc_quantile(ascending, count, 0.25), q3 = nbc_quantile(ascending, count, 0.75);
  for (size_t i = 0; i < count; i++)
    out->outlier_count += values[i] < q1 - 1.5 * (q3 - q1) || values[i] > q3 + 1.5 * (q3 - q1);
  nbc__measure_change(rank, count, out);
  NBC_FREE(sorted);
  return NBC_OK;
}

/* How many independent samples say as much about the median: count / (1 + 2 sum of the
   autocorrelations of "above or below it"), summed until six times what they add up to (Sokal's
   window), and that sum's own standard error taken on top. Correlation that chance makes is
   none. */
/* Signs and not values: the interval of the median counts how many samples lie below it, so only
   their resemblance matters, and an outlier has no more weight than any other sample.
   1.65 / sqrt(n) is what the first autocorrelation of independent samples exceeds one time in 20.
   The standard error of the sum over M lags is sqrt(2 (2 M + 1) / n) of it [Madras and Sokal 1988].
   A negative sum would make more of the samples than there are: it is not used. */
static double nbc__measure_independent(const double *values, size_t count, double median) {
  double mean = 0, power = 0, times = 1;
  const double n = (double)count;
  for (size_t i = 0; i < count; i++) mean += ((values[i] > median) - (values[i] < median)) / n;
  for (size_t i = 0; i < count; i++) {
    const double d = (values[i] > median) - (values[i] < median) - mean;
    power += d * d;
  }
  if (count < 8 || !(power > 0)) return n;
  for (size_t lag = 1; lag <= count / 4; lag++) {
    double sum = 0;
    for (size_t i = lag; i < count; i++)
      sum += ((values[i] > median) - (values[i] < median) - mean) *
             ((values[i - lag] > median) - (values[i - lag] < median) - mean);
    if (lag == 1 && !(sum / power * sqrt(n) > 1.65)) return n;
    times += 2 * sum / power;
    if (times <= 1) return n;
    if ((double)lag >= 3 * times || lag == count / 4) {
      times *= 1 + sqrt(2 * (2 * (double)lag + 1) / n);
      break;
    }
  }
  return fmax(1, n / times);
}

/* Sorts scratch, which holds the same values. */
static nbc_status nbc__measure_summarize(const double *values, double *scratch, size_t count,
                                         double confidence_ratio, nbc_summary *out,
                                         double *independent_count) {
  nbc_status status = nbc_summarize(scratch, count, confidence_ratio, out);
  if (status != NBC_OK) return status;
  const double independent = nbc__measure_independent(values, count, out->median);
  if (independent_count) *independent_count = independent;
  if (independent >= (double)count) return NBC_OK;
  /* The rank that holds for so few independent samples, as a share of them, is looked up among all
     samples: these give the quantiles, those only say how sure they are. covered_ratio is then that
     of the few, so nbc__measure_enough cannot be sure before they are enough. */
  const size_t fewer = (size_t)independent;
  const size_t rank = nbc__stats_rank(fewer, out->confidence_ratio, &out->covered_ratio);
  size_t below = (size_t)((double)(rank - 1) / independent * (double)count);
  if (below > (count - 1) / 2) below = (count - 1) / 2;
  out->median_lo = scratch[below];
  out->median_hi = scratch[count - 1 - below];
  return NBC_OK;
}

NBC_API nbc_status nbc_samples_summarize(const double *values, size_t count,
                                         double confidence_ratio, nbc_summary *out,
                                         double *independent_count) {
  if (!out || !values || count == 0) return NBC_E_INVAL;
  double *scratch = count < SIZE_MAX / 32 ? (double *)NBC_MALLOC(count * sizeof *scratch) : NULL;
  if (!scratch) return NBC_E_NOMEM;
  memcpy(scratch, values, count * sizeof *scratch);
  const nbc_status status =
      nbc__measure_summarize(values, scratch, count, confidence_ratio, out, independent_count);
  NBC_FREE(scratch);
  return status;
}

NBC_API void nbc_shuffle(int *order, int count, uint64_t seed) {
  if (!order) return;
  /* Fisher and Yates, from the inside out: order needs no values before. */
  for (int i = 0; i < count; i++) {
    const int k = (int)(nbc__random(&seed) % (uint64_t)(i + 1));
    order[i] = order[k];
    order[k] = i;
  }
}

NBC_API const char *nbc_stop_name(nbc_stop stop) {
  switch (stop) {
  case NBC_STOP_SURE: return "sure";
  case NBC_STOP_COUNT: return "count";
  case NBC_STOP_TIME: return "time";
  case NBC_STOP_LATE: return "late";
  }
  return "?";
}

NBC_API void nbc_measurement_free(nbc_measurement *m) {
  if (!m) return;
  NBC_FREE(m->samples_ns);
  m->samples_ns = NULL;
  m->sample_count = 0;
}

/* ---- repeating ----------------------------------------------------------------------------- */
enum { NBC__MEASURE_COLUMNS = 3 }; /* time, skew, slowest */

typedef struct nbc__measure_run {
  nbc_repeat repeat; /* values in force */
  double *column[NBC__MEASURE_COLUMNS], *scratch;
  size_t count, next_check;
  int64_t t_begin_ns;
} nbc__measure_run;

/* All memory for max_count samples is taken here: keeping a sample cannot fail, and no sample pays
   for an array that grows. */
static nbc_status nbc__measure_begin(nbc__measure_run *run, const nbc_repeat *repeat,
                                     int64_t t_now_ns) {
  memset(run, 0, sizeof *run);
  nbc_repeat *r = &run->repeat;
  if (repeat) *r = *repeat;
  if (r->warmup_count == 0) r->warmup_count = 3;
  if (r->warmup_count < 0) r->warmup_count = 0;
  if (r->max_count == 0) r->max_count = r->min_count > 1000 ? r->min_count : 1000;
  if (r->min_count == 0) r->min_count = r->max_count < 10 ? r->max_count : 10;
  if (r->ci_ratio == 0) r->ci_ratio = 0.02;
  if (r->confidence_ratio == 0) r->confidence_ratio = 0.95;
  if (r->time_limit_ns == 0) r->time_limit_ns = INT64_C(10000000000);
  if (r->min_time_ns == 0) r->min_time_ns = 50000000;
  if (r->min_time_ns > r->time_limit_ns / 2) r->min_time_ns = r->time_limit_ns / 2;
  if (r->min_time_ns < 0) r->min_time_ns = 0;
  if (r->min_count < 1 || r->max_count < r->min_count || r->max_count > 10000000 ||
      !(r->ci_ratio > 0) || !(r->confidence_ratio > 0 && r->confidence_ratio < 1) ||
      r->time_limit_ns < 0)
    return NBC_E_INVAL;
  const size_t max = (size_t)r->max_count;
  run->column[0] = (double *)NBC_MALLOC(max * (NBC__MEASURE_COLUMNS + 1) * sizeof(double));
  if (!run->column[0]) return NBC_E_NOMEM;
  for (int i = 1; i < NBC__MEASURE_COLUMNS; i++) run->column[i] = run->column[0] + (size_t)i * max;
  run->scratch = run->column[0] + NBC__MEASURE_COLUMNS * max;
  run->next_check = (size_t)r->min_count;
  run->t_begin_ns = t_now_ns;
  return NBC_OK;
}

static nbc_status nbc__measure_summary(nbc__measure_run *run, int column, nbc_summary *out,
                                       double *independent_count) {
  memcpy(run->scratch, run->column[column], run->count * sizeof *run->scratch);
  return nbc__measure_summarize(run->column[column], run->scratch, run->count,
                                run->repeat.confidence_ratio, out, independent_count);
}

/* Enough? Checked at counts that grow by a tenth, so that checking stays cheap. */
/* The order of the questions is that of the reasons told: a measurement that was cut short says so,
   even when it was narrow by then. Only the median's interval counts, not the spread: more samples
   make the interval narrower, and leave the spread as it is. */
static bool nbc__measure_enough(nbc__measure_run *run, int64_t t_now_ns, nbc_stop *stop) {
  nbc_summary s;
  const nbc_repeat *r = &run->repeat;
  *stop = NBC_STOP_TIME;
  if (t_now_ns - run->t_begin_ns > r->time_limit_ns) return true;
  *stop = NBC_STOP_COUNT;
  if (run->count >= (size_t)r->max_count) return true;
  if (run->count < run->next_check || t_now_ns - run->t_begin_ns < r->min_time_ns) return false;
  run->next_check = run->count + 1 + run->count / 10;
  *stop = NBC_STOP_SURE;
  return nbc__measure_summary(run, 0, &s, NULL) == NBC_OK &&
         s.covered_ratio >= r->confidence_ratio &&
         (s.median_hi - s.median_lo) / 2 <= r->ci_ratio * fabs(s.median);
}

/* Takes the memory with it: run->column[0] is NULL from here on. nbc_measure frees it only of a run
   that never came here. */
static nbc_status nbc__measure_end(nbc__measure_run *run, nbc_measurement *out, bool all_columns) {
  nbc_status status = NBC_OK;
  if (run->count > 0) {
    status = nbc__measure_summary(run, 0, &out->time, &out->independent_count);
    if (status == NBC_OK && all_columns) status = nbc__measure_summary(run, 1, &out->skew, NULL);
    if (status == NBC_OK && all_columns) status = nbc__measure_summary(run, 2, &out->slowest, NULL);
    if (status == NBC_OK) status = nbc_samples_check(run->column[0], run->count, &out->check);
  }
  if (status == NBC_OK && run->repeat.keep_samples && run->count > 0) {
    out->samples_ns = (double *)NBC_MALLOC(run->count * sizeof(double));
    if (!out->samples_ns)
      status = NBC_E_NOMEM;
    else
      memcpy(out->samples_ns, run->column[0], run->count * sizeof(double));
    out->sample_count = out->samples_ns ? run->count : 0;
  }
  NBC_FREE(run->column[0]);
  run->column[0] = NULL;
  return status;
}

/* ---- one process --------------------------------------------------------------------------- */
/* A reading of the clock can take as long as a small put. So the loop reads it outside, once, as
   SKaMPI does; NBC_TIMING_EACH is there to show what happens otherwise. */
static nbc_status nbc__measure_calls(const nbc_clock *clock, nbc_timing timing, int count,
                                     nbc_measure_fn fn, void *user, double *mean_ns) {
  nbc_status status = NBC_OK;
  int64_t sum_ns = 0, start_ns = nbc_clock_now_ns(clock);
  for (int i = 0; i < count && status == NBC_OK; i++) {
    if (timing == NBC_TIMING_EACH) start_ns = nbc_clock_now_ns(clock);
    status = fn(user);
    if (timing == NBC_TIMING_LOOP) continue;
    const int64_t d_ns = nbc_clock_now_ns(clock) - start_ns;
    if (d_ns < 0 && status == NBC_OK) status = NBC_E_CLOCK;
    sum_ns += d_ns;
  }
  if (timing == NBC_TIMING_LOOP) sum_ns = nbc_clock_now_ns(clock) - start_ns;
  *mean_ns = (double)sum_ns / count;
  return status == NBC_OK && sum_ns < 0 ? NBC_E_CLOCK : status;
}

NBC_API nbc_status nbc_measure_loop(const nbc_clock *clock, const nbc_repeat *repeat,
                                    nbc_timing timing, int batch_count, double subtract_ns,
                                    nbc_measure_fn fn, void *user, nbc_measurement *out) {
  if (!out) return NBC_E_INVAL;
  nbc__measure_run run;
  memset(out, 0, sizeof *out);
  if (!clock || !fn || batch_count < 0 || batch_count > 1 << 30 || !isfinite(subtract_ns))
    return NBC_E_INVAL;
  nbc_status status = nbc__measure_begin(&run, repeat, nbc_clock_now_ns(clock));
  if (status != NBC_OK) return status;
  double mean_ns = 0;
  for (int i = 0; i < run.repeat.warmup_count && status == NBC_OK; i++)
    status = nbc__measure_calls(clock, timing, batch_count ? batch_count : 1, fn, user, &mean_ns);
  if (batch_count == 0) /* doubled until the clock's resolution does not matter */
    for (batch_count = 1; status == NBC_OK && batch_count < 1 << 24; batch_count *= 2) {
      status = nbc__measure_calls(clock, timing, batch_count, fn, user, &mean_ns);
      if (mean_ns * batch_count >= 20000 &&
          mean_ns * batch_count * run.repeat.max_count >= (double)run.repeat.min_time_ns)
        break;
    }
  while (status == NBC_OK && !nbc__measure_enough(&run, nbc_clock_now_ns(clock), &out->stop)) {
    status = nbc__measure_calls(clock, timing, batch_count, fn, user, &mean_ns);
    run.column[0][run.count++] = mean_ns - subtract_ns;
  }
  const nbc_status ended = nbc__measure_end(&run, out, false);
  return status == NBC_OK ? ended : status;
}

/* ---- all ranks ----------------------------------------------------------------------------- */
/* tags, after those of [SYNC]; the result follows the last order at once, so it has its own */
enum { NBC__MEASURE_DOWN = 3, NBC__MEASURE_UP, NBC__MEASURE_RESULT };

typedef struct nbc__measure_order_msg { /* rank 0 -> all */
  int64_t t_start_ns;
  int32_t go, status, failed_rank, unused; /* not go: the result follows */
} nbc__measure_order_msg;

typedef struct nbc__measure_seen { /* all -> rank 0, combined on the way */
  int64_t t_first_start_ns, t_last_start_ns, t_last_end_ns, start_err_ns, end_err_ns;
  int64_t slowest_ns, latest_by_ns;
  int32_t late_count, status, failed_rank, unused;
} nbc__measure_seen;

static nbc_status nbc__measure_receive(nbc_sync *s, void *to, size_t bytes, int peer, uint64_t tag,
                                       int64_t limit_ns, nbc_error *err) {
  nbc__sync_mail *mail;
  nbc_status status = nbc__sync_post(s, &mail, peer, tag, bytes);
  if (status == NBC_OK) status = nbc_wait(s->t, &mail->op, limit_ns);
  if (status == NBC_OK && mail->op.size_bytes != bytes) status = NBC_E_MISMATCH;
  if (status == NBC_OK) memcpy(to, &mail->u, bytes);
  nbc__sync_drop(s, mail);
  if (status == NBC_E_TIMEOUT)
    return nbc__status_fail(err, status, 0, "rank %d: rank %d did not answer within %.3g s",
                            s->t->rank, peer, (double)limit_ns * 1e-9);
  return status == NBC_OK ? NBC_OK : nbc__sync_named(err, status, peer, s);
}

/* Children of a rank in a binomial tree are rank + 1, + 2, + 4 ... below its lowest bit. */
/* The parent is the rank without its lowest bit, rank & (rank - 1); rank 0 has no parent.

     0 -+- 1              Down, the child with most below it is told first, since its news has the
        +- 2 --- 3        longest way. Up, the child with fewest below it is heard first: it is the
        +- 4 -+- 5        first to be ready. Both take log2(size) messages in a row.
              +- 6 --- 7  */
static int nbc__measure_weight(const nbc_sync *s) {
  int weight = 1;
  while (weight < s->t->size && (s->t->rank & weight) == 0) weight *= 2;
  return weight;
}

static nbc_status nbc__measure_down(nbc_sync *s, void *m, size_t bytes, uint64_t tag,
                                    int64_t limit_ns, nbc_error *err) {
  const int rank = s->t->rank;
  nbc_status status = NBC_OK;
  if (rank > 0) status = nbc__measure_receive(s, m, bytes, rank & (rank - 1), tag, limit_ns, err);
  for (int w = nbc__measure_weight(s) / 2; w > 0 && status == NBC_OK; w /= 2) {
    if (w >= s->t->size - rank) continue;
    status = nbc_send(s->t, m, bytes, rank + w, s->desc.tag + tag);
    if (status != NBC_OK) return nbc__sync_named(err, status, rank + w, s);
  }
  return status;
}

/* All but the one error that is kept are minima, maxima and sums, so it does not matter how the
   tree puts the ranks together. The maxima of err_ns bound the error of each difference. */
static void nbc__measure_combine(nbc__measure_seen *a, const nbc__measure_seen *b) {
  if (b->t_first_start_ns < a->t_first_start_ns) a->t_first_start_ns = b->t_first_start_ns;
  if (b->t_last_start_ns > a->t_last_start_ns) a->t_last_start_ns = b->t_last_start_ns;
  if (b->t_last_end_ns > a->t_last_end_ns) a->t_last_end_ns = b->t_last_end_ns;
  if (b->start_err_ns > a->start_err_ns) a->start_err_ns = b->start_err_ns;
  if (b->end_err_ns > a->end_err_ns) a->end_err_ns = b->end_err_ns;
  if (b->slowest_ns > a->slowest_ns) a->slowest_ns = b->slowest_ns;
  if (b->latest_by_ns > a->latest_by_ns) a->latest_by_ns = b->latest_by_ns;
  a->late_count += b->late_count;
  if (a->status == NBC_OK) a->status = b->status, a->failed_rank = b->failed_rank;
}

static nbc_status nbc__measure_up(nbc_sync *s, nbc__measure_seen *seen, int64_t limit_ns,
                                  nbc_error *err) {
  const int rank = s->t->rank;
  nbc__measure_seen other;
  nbc_status status = NBC_OK;
  for (int w = 1; w < nbc__measure_weight(s) && w < s->t->size - rank && status == NBC_OK; w *= 2) {
    status =
        nbc__measure_receive(s, &other, sizeof other, rank + w, NBC__MEASURE_UP, limit_ns, err);
    if (status == NBC_OK) nbc__measure_combine(seen, &other);
  }
  if (status != NBC_OK || rank == 0) return status;
  status = nbc_send(s->t, seen, sizeof *seen, rank & (rank - 1), s->desc.tag + NBC__MEASURE_UP);
  return status == NBC_OK ? NBC_OK : nbc__sync_named(err, status, rank & (rank - 1), s);
}

/* The most probable global time, with an error that still holds the truth. */
/* nbc_sync_global gives the middle of what is possible, not what is probable. The interval of the
   result holds all of that interval: whoever subtracts two of them still has a bound. */
static nbc_time nbc__measure_global(const nbc_sync *s, int64_t t_local_ns) {
  nbc_time time;
  int64_t t_ns;
  if (nbc_sync_global(s, t_local_ns, &time) != NBC_OK) return time;
  nbc_sync_estimate(s, t_local_ns, &t_ns);
  time.err_ns += t_ns > time.t_ns ? t_ns - time.t_ns : time.t_ns - t_ns;
  time.t_ns = t_ns;
  return time;
}

/* One sample on this rank, started as told. */
/* A barrier makes no common start: its last messages leave one after the other, down the tree, and
   each rank goes on when its own has come. That is what the skew of NBC_START_BARRIER shows. */
static nbc_status nbc__measure_one(nbc_sync *s, const nbc_measure_desc *d, int64_t t_start_ns,
                                   nbc_measure_fn fn, void *user, nbc__measure_seen *seen,
                                   nbc_error *err) {
  memset(seen, 0, sizeof *seen);
  int64_t t_local_ns = 0, t_now_ns = nbc__sync_local_now(s);
  if (d->start == NBC_START_BARRIER) { /* nobody leaves before all have come */
    nbc__measure_order_msg leave;
    memset(&leave, 0, sizeof leave);
    nbc_status status = nbc__measure_up(s, seen, d->limit_ns, err);
    if (status == NBC_OK)
      status = nbc__measure_down(s, &leave, sizeof leave, NBC__MEASURE_DOWN, d->limit_ns, err);
    if (status != NBC_OK) return status;
    memset(seen, 0, sizeof *seen);
    t_now_ns = nbc__sync_local_now(s);
  } else {
    /* Only this rank knows that it is late. That travels up, and rank 0 discards the sample. */
    const bool known = nbc_sync_local(s, t_start_ns, &t_local_ns) == NBC_OK;
    seen->late_count = !known || t_now_ns > t_local_ns;
    seen->latest_by_ns = known ? t_now_ns - t_local_ns : 0;
    while (known && t_now_ns < t_local_ns) t_now_ns = nbc__sync_local_now(s);
  }
  seen->status = fn(user); /* a late rank calls it too: the others wait for it there */
  const int64_t t_end_ns = nbc__sync_local_now(s);
  const nbc_time begin = nbc__measure_global(s, t_now_ns), end = nbc__measure_global(s, t_end_ns);
  seen->t_first_start_ns = seen->t_last_start_ns = begin.t_ns;
  seen->t_last_end_ns = end.t_ns;
  seen->start_err_ns = begin.err_ns;
  seen->end_err_ns = end.err_ns;
  seen->slowest_ns = t_end_ns - t_now_ns;
  if (seen->status == NBC_OK && t_end_ns < t_now_ns) seen->status = NBC_E_CLOCK;
  seen->failed_rank = s->t->rank;
  return NBC_OK;
}

typedef struct nbc__measure_window { /* how far ahead rank 0 sets the common start */
  int64_t window_ns, max_ns, needed_ns;
  int late_in_a_row;
} nbc__measure_window;

/* Twice what the slowest rank needed to be there; that is forgotten by an eighth per sample, so
   that one rank that was once interrupted does not make all later samples wait. */
static void nbc__measure_adapt(nbc__measure_window *w, const nbc__measure_seen *seen) {
  const int64_t needed_ns = w->window_ns + seen->latest_by_ns;
  w->needed_ns -= w->needed_ns / 8;
  if (needed_ns > w->needed_ns) w->needed_ns = needed_ns;
  w->window_ns = w->needed_ns < w->max_ns / 2 ? 2 * w->needed_ns + 1000 : w->max_ns;
  if (w->window_ns > w->max_ns) w->window_ns = w->max_ns;
  w->late_in_a_row = seen->late_count > 0 ? w->late_in_a_row + 1 : 0;
}

/* Rank 0 only: takes one combined sample, or discards it. */
static void nbc__measure_take(nbc__measure_run *run, const nbc__measure_seen *seen,
                              int *warmup_count, nbc_measurement *out) {
  if (seen->late_count > 0) {
    out->missed_count++;
    return;
  }
  if (*warmup_count > 0) {
    --*warmup_count;
    return;
  }
  run->column[0][run->count] = (double)(seen->t_last_end_ns - seen->t_first_start_ns);
  run->column[1][run->count] = (double)(seen->t_last_start_ns - seen->t_first_start_ns);
  run->column[2][run->count] = (double)seen->slowest_ns;
  run->count++;
  out->err_ns = fmax(out->err_ns, (double)seen->start_err_ns + (double)seen->end_err_ns);
}

/* Ranks leave the loop only by an order of rank 0 or by an error of the transport, never because
   their own fn failed: that goes up with the sample and comes back in the next order. So no rank
   waits in the tree for one that has left.

     rank 0   order ->          <- seen       order ->       ...   order: do not go ->  result ->
     others          -> start, fn -> seen ->        -> start ...                             */
static nbc_status nbc__measure_rounds(nbc_sync *s, const nbc_measure_desc *d, nbc_measure_fn fn,
                                      void *user, nbc__measure_run *run, nbc_measurement *out,
                                      nbc_error *err) {
  nbc__measure_order_msg order;
  nbc__measure_seen seen;
  nbc__measure_window window = {d->window_ns, d->window_max_ns, 0, 0};
  int warmup_count = run->repeat.warmup_count;
  nbc_status status = NBC_OK;
  memset(&order, 0, sizeof order);
  for (;;) {
    if (s->t->rank == 0) {
      order.go =
          order.status == NBC_OK && !nbc__measure_enough(run, nbc__sync_local_now(s), &out->stop);
      /* The window has grown by then: so many late starts in a row will not end by themselves. */
      if (order.go && window.late_in_a_row > 200) order.go = 0, out->stop = NBC_STOP_LATE;
      order.t_start_ns = nbc__sync_local_now(s) + window.window_ns;
      out->window_ns = window.window_ns;
      if (!order.go && order.status == NBC_OK) order.status = nbc__measure_end(run, out, true);
    }
    status = nbc__measure_down(s, &order, sizeof order, NBC__MEASURE_DOWN, d->limit_ns, err);
    if (status != NBC_OK || !order.go) break;
    status = nbc__measure_one(s, d, order.t_start_ns, fn, user, &seen, err);
    if (status == NBC_OK) status = nbc__measure_up(s, &seen, d->limit_ns, err);
    if (status != NBC_OK) break;
    if (s->t->rank > 0) continue;
    order.status = seen.status, order.failed_rank = seen.failed_rank;
    if (d->start == NBC_START_WINDOW) nbc__measure_adapt(&window, &seen);
    if (seen.status == NBC_OK) nbc__measure_take(run, &seen, &warmup_count, out);
  }
  nbc_measurement result = *out;
  if (status == NBC_OK)
    status = nbc__measure_down(s, &result, sizeof result, NBC__MEASURE_RESULT, d->limit_ns, err);
  if (status != NBC_OK) return status;
  if (s->t->rank > 0) {
    *out = result;
    out->samples_ns = NULL; /* of rank 0 only */
    out->sample_count = 0;
  }
  if (order.status != NBC_OK)
    nbc__status_fail(err, (nbc_status)order.status, 0, "rank %d: %s: %s", (int)order.failed_rank,
                     order.status == NBC_E_CLOCK ? "the clock stepped backwards"
                                                 : "the measured operation failed",
                     nbc_status_text((nbc_status)order.status));
  return (nbc_status)order.status;
}

NBC_API nbc_status nbc_measure(nbc_sync *sync, const nbc_measure_desc *desc, nbc_measure_fn fn,
                               void *user, nbc_measurement *out, nbc_error *err) {
  if (!out) return nbc__status_fail(err, NBC_E_INVAL, 0, "out: must not be NULL");
  nbc__measure_run run;
  nbc_measure_desc d;
  memset(out, 0, sizeof *out);
  memset(&d, 0, sizeof d);
  if (desc) d = *desc;
  if (d.window_max_ns == 0) d.window_max_ns = d.window_ns > 1000000000 ? d.window_ns : 1000000000;
  if (d.window_ns == 0) d.window_ns = d.window_max_ns < 50000 ? d.window_max_ns : 50000;
  if (d.limit_ns == 0) d.limit_ns = INT64_C(30000000000);
  if (!sync || !fn || d.window_ns < 0 || d.window_max_ns < d.window_ns ||
      d.window_max_ns > INT64_C(3600000000000) || d.limit_ns < 0 || (int)d.start < 0 ||
      d.start > NBC_START_BARRIER)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "a field of desc is out of its range");
  nbc_status status = nbc__measure_begin(&run, &d.repeat, nbc__sync_local_now(sync));
  if (status != NBC_OK)
    return nbc__status_fail(err, status, 0, "field repeat: %s", nbc_status_text(status));
  double *memory = run.column[0];
  status = nbc__measure_rounds(sync, &d, fn, user, &run, out, err);
  if (run.column[0]) NBC_FREE(memory); /* nbc__measure_end frees it on the rank that summarised */
  return status;
}
