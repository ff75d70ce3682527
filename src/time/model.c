/* model.c: models of what was measured: ranges of sizes, noise, LogGP. */
#include "model.h"
#include "../base/locale.h"
#include "../overlap/stats.h"
#include "measure.h"

/* ============================================================================================== */
/* [MODEL] 21. Models of what was measured                                                        */
/* ============================================================================================== */
typedef struct nbc__model_sample {
  uint64_t size_bytes;
  double time_ns;
} nbc__model_sample;

typedef struct nbc__model_line {
  double base_ns, per_byte_ns, cost;
} nbc__model_line;

typedef struct nbc__model_work {
  int n;                                                 /* different sizes */
  double x[NBC_MODEL_MAX_SIZES], y[NBC_MODEL_MAX_SIZES]; /* size, median time */
  size_t first[NBC_MODEL_MAX_SIZES + 1];                 /* its first sample, sorted */
  double sigma_ratio;
  double best[NBC_MODEL_MAX_RANGES + 1][NBC_MODEL_MAX_SIZES + 1];
  int from[NBC_MODEL_MAX_RANGES + 1][NBC_MODEL_MAX_SIZES + 1];
} nbc__model_work;

static int nbc__model_order(const void *a, const void *b) {
  const nbc__model_sample *x = (const nbc__model_sample *)a, *y = (const nbc__model_sample *)b;
  if (x->size_bytes != y->size_bytes) return x->size_bytes < y->size_bytes ? -1 : 1;
  return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

/* Weighted least squares of relative distances (a division by y[p]): a model is used from bytes to
   megabytes, and absolute ones would fit the largest sizes alone. A line that falls is levelled:
   more bytes never take less time. */
static void nbc__model_solve(const nbc__model_work *w, int i, int k, const double *weight,
                             nbc__model_line *line) {
  double s = 0, sx = 0, sy = 0, xx = 0, xy = 0;
  for (int p = i; p < k; p++) {
    const double u = weight[p] / (w->y[p] * w->y[p]);
    s += u, sx += u * w->x[p], sy += u * w->y[p];
  }
  if (!(s > 0)) return; /* all rejected: keep the line */
  sx /= s, sy /= s;
  for (int p = i; p < k; p++) {
    const double u = weight[p] / (w->y[p] * w->y[p]), d = w->x[p] - sx;
    xx += u * d * d, xy += u * d * (w->y[p] - sy);
  }
  line->per_byte_ns = xx > 0 ? fmax(0, xy / xx) : 0;
  line->base_ns = sy - line->per_byte_ns * sx;
}

/* Distance of a size from a line, in units of what its median scatters by. */
static double nbc__model_off(const nbc__model_work *w, int p, const nbc__model_line *line) {
  return fabs(w->y[p] - line->base_ns - line->per_byte_ns * w->x[p]) / (w->y[p] * w->sigma_ratio);
}

/* The line through sizes i ... k - 1: first nearly the least sum of distances, which a few wild
   sizes cannot bend, then least squares without those. cost: squares, none counted as more than
   9. */
static nbc__model_line nbc__model_line_of(const nbc__model_work *w, int i, int k) {
  double weight[NBC_MODEL_MAX_SIZES];
  nbc__model_line line = {w->y[i], 0, 0};
  for (int p = i; p < k; p++) weight[p] = 1;
  for (int round = 0; round < 10; round++) {
    nbc__model_solve(w, i, k, weight, &line);
    bool same = true;
    for (int p = i; p < k; p++) {
      const double off = nbc__model_off(w, p, &line);
      /* Weights 1 / off make the squares sums of distances (iteratively reweighted least squares);
         the last three rounds take sizes within three sigmas as they are and leave the others
         out. */
      const double next = round < 7 ? 1 / fmax(1, off) : off <= 3;
      same = same && fabs(next - weight[p]) < 1e-3;
      weight[p] = next;
    }
    if (same && round < 7) break; /* nothing is far off */
  }
  for (int p = i; p < k; p++) {
    const double off = nbc__model_off(w, p, &line);
    line.cost += fmin(9, off * off);
  }
  return line;
}

/* How far sizes are from the line between their neighbours: the noise of the medians, known before
   any range is. The lower quartile tells it even when half of the sizes are beside a disturbed
   one. */
static nbc_status nbc__model_scatter(nbc__model_work *w, double tolerance_ratio) {
  double off[NBC_MODEL_MAX_SIZES];
  nbc_summary s;
  w->sigma_ratio = tolerance_ratio;
  if (w->n < 6) return NBC_OK;
  for (int p = 1; p + 1 < w->n; p++) {
    const double a = (w->x[p] - w->x[p - 1]) / (w->x[p + 1] - w->x[p - 1]);
    const double between_ns = (1 - a) * w->y[p - 1] + a * w->y[p + 1];
    /* Three medians that scatter alike are in this distance: the point with factor 1, its
       neighbours with these. The square root makes the distance one of a single median. */
    const double before = (1 - a) * w->y[p - 1] / w->y[p], after = a * w->y[p + 1] / w->y[p];
    off[p - 1] = fabs(w->y[p] - between_ns) / w->y[p] / sqrt(1 + before * before + after * after);
  }
  const nbc_status status = nbc_summarize(off, (size_t)w->n - 2, 0, &s);
  w->sigma_ratio = fmax(tolerance_ratio, s.q1 / 0.3186); /* a quarter of a normal is nearer */
  return status;
}

/* best[r][k]: the least cost of covering the first k sizes with r ranges of three sizes or more:
   the last range begins somewhere, and what is before it is covered best by r - 1 (dynamic
   programming, as in Bellman and Roth's segmented line). */
static int nbc__model_cut(nbc__model_work *w, int max_ranges) {
  enum { LEAST = 3 };
  const int n = w->n;
  if (max_ranges > n / LEAST) max_ranges = n / LEAST > 0 ? n / LEAST : 1;
  for (int r = 0; r <= max_ranges; r++)
    for (int k = 0; k <= n; k++) w->best[r][k] = r == 0 && k == 0 ? 0 : INFINITY;
  for (int i = 0; i < n; i++)
    for (int k = i + 1; k <= n; k++) {
      if (k - i < LEAST && !(i == 0 && k == n)) continue;
      const nbc__model_line line = nbc__model_line_of(w, i, k);
      for (int r = 1; r <= max_ranges; r++) {
        /* best[r - 1][i] is final: i ascends */
        if (!(w->best[r - 1][i] + line.cost < w->best[r][k])) continue;
        w->best[r][k] = w->best[r - 1][i] + line.cost;
        w->from[r][k] = i;
      }
    }
  /* a range costs three parameters, its place included; more, as places are chosen among many */
  const double penalty = 4 * log((double)n) + 6;
  int chosen = 1;
  for (int r = 2; r <= max_ranges; r++)
    if (w->best[r][n] + penalty * r < w->best[chosen][n] + penalty * chosen) chosen = r;
  return chosen;
}

/* One range as the user gets it: its line, how far the medians are from it, and the noise of single
   calls as ratios to the line, so that calls of all sizes of the range can be taken together; sizes
   beside the line are counted, and leave no trace in the noise. */
static nbc_status nbc__model_describe(const nbc__model_work *w, const nbc__model_sample *sample,
                                      double *scratch, int i, int k, nbc_model_range *range) {
  const nbc__model_line line = nbc__model_line_of(w, i, k);
  double off[NBC_MODEL_MAX_SIZES];
  nbc_summary s;
  size_t count = 0;
  range->first_bytes = sample[w->first[i]].size_bytes;
  range->last_bytes = sample[w->first[k - 1]].size_bytes;
  range->base_ns = line.base_ns;
  range->per_byte_ns = line.per_byte_ns;
  range->size_count = (size_t)(k - i);
  for (int p = i; p < k; p++) {
    const double at_ns = line.base_ns + line.per_byte_ns * w->x[p];
    off[p - i] = fabs(w->y[p] / at_ns - 1);
    if (nbc__model_off(w, p, &line) > 3 || !(at_ns > 0)) {
      range->outlier_count++;
      continue;
    }
    for (size_t q = w->first[p]; q < w->first[p + 1]; q++)
      scratch[count++] = sample[q].time_ns / at_ns;
  }
  nbc_status status = nbc_summarize(off, (size_t)(k - i), 0, &s);
  range->residual_ratio = s.median;
  if (status == NBC_OK && count > 0) status = nbc_model_fit_noise(scratch, count, &range->noise);
  return status;
}

/* Sorted samples become one point per size: the median, which a disturbed call does not move. */
static nbc_status nbc__model_group(nbc__model_work *w, const nbc__model_sample *sample,
                                   size_t count, nbc_error *err) {
  w->n = 0;
  for (size_t i = 0, k; i < count; i = k) {
    for (k = i; k < count && sample[k].size_bytes == sample[i].size_bytes;) k++;
    if (w->n == NBC_MODEL_MAX_SIZES)
      return nbc__status_fail(err, NBC_E_FULL, 0, "more than %d different sizes",
                              NBC_MODEL_MAX_SIZES);
    w->x[w->n] = (double)sample[i].size_bytes;
    w->y[w->n] = 0.5 * (sample[i + (k - i - 1) / 2].time_ns + sample[i + (k - i) / 2].time_ns);
    w->first[w->n++] = i;
  }
  w->first[w->n] = count;
  return NBC_OK;
}

NBC_API nbc_status nbc_model_fit(const uint64_t *size_bytes, const double *time_ns, size_t count,
                                 const nbc_model_desc *desc, nbc_model *model, nbc_error *err) {
  if (!size_bytes || !time_ns || !model)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "size_bytes, time_ns and model: must not be NULL");
  /* Relative accuracy that is asked for: noise smaller than this is not looked at, or one range
     would be cut at every irregularity of a quiet machine. */
  const int max_ranges = desc && desc->max_ranges ? desc->max_ranges : (int)NBC_MODEL_MAX_RANGES;
  const double tolerance = desc && !(desc->tolerance_ratio == 0) ? desc->tolerance_ratio : 0.01;
  memset(model, 0, sizeof *model);
  if (count == 0) return nbc__status_fail(err, NBC_E_INVAL, 0, "no samples");
  if (max_ranges < 1 || max_ranges > NBC_MODEL_MAX_RANGES)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "field max_ranges: must be 1 ... %d",
                            NBC_MODEL_MAX_RANGES);
  if (!(tolerance > 0 && tolerance < 1))
    return nbc__status_fail(err, NBC_E_INVAL, 0, "field tolerance_ratio: must be in 0 ... 1");
  for (size_t i = 0; i < count; i++)
    if (!(time_ns[i] > 0 && time_ns[i] < 1e18))
      return nbc__status_fail(err, NBC_E_INVAL, 0, "sample %zu: %g ns is not a time", i,
                              time_ns[i]);
  /* Samples and room for as many ratios are one block: the second half is scratch for the noise of
     each range. */
  nbc__model_work *w = (nbc__model_work *)NBC_MALLOC(sizeof *w);
  nbc__model_sample *sample =
      count < SIZE_MAX / 32 /* no overflow */
          ? (nbc__model_sample *)NBC_MALLOC(count * (sizeof *sample + sizeof(double)))
          : NULL;
  nbc_status status = w && sample ? NBC_OK : nbc__status_fail(err, NBC_E_NOMEM, 0, "out of memory");
  if (status == NBC_OK) {
    for (size_t i = 0; i < count; i++)
      sample[i].size_bytes = size_bytes[i], sample[i].time_ns = time_ns[i];
    qsort(sample, count, sizeof *sample, nbc__model_order);
    status = nbc__model_group(w, sample, count, err);
  }
  if (status == NBC_OK) status = nbc__model_scatter(w, tolerance);
  if (status == NBC_OK) {
    model->range_count = nbc__model_cut(w, max_ranges);
    for (int r = model->range_count, k = w->n; r > 0 && status == NBC_OK; k = w->from[r--][k])
      status = nbc__model_describe(w, sample, (double *)(void *)(sample + count), w->from[r][k], k,
                                   &model->ranges[r - 1]);
  }
  NBC_FREE(sample);
  NBC_FREE(w);
  return status;
}

NBC_API const nbc_model_range *nbc_model_range_of(const nbc_model *model, uint64_t size_bytes) {
  if (!model || model->range_count < 1 || model->range_count > NBC_MODEL_MAX_RANGES) return NULL;
  int r = model->range_count - 1;
  while (r > 0 && size_bytes < model->ranges[r].first_bytes) r--;
  return &model->ranges[r];
}

NBC_API double nbc_model_time_ns(const nbc_model *model, uint64_t size_bytes) {
  const nbc_model_range *range = nbc_model_range_of(model, size_bytes);
  if (!range) return 0;
  return range->base_ns + range->per_byte_ns * (double)size_bytes;
}

/* ---- noise: a mixture of normal distributions ---------------------------------------------- */
/* One step of expectation-maximisation (Dempster, Laird and Rubin 1977): each value belongs to each
   mode by the share of its density there, then each mode gets the mean and spread of what belongs
   to it; returns the log-likelihood of the mixture before it. */
static double nbc__model_em(const double *v, size_t n, int modes, double least_sigma,
                            nbc_model_mode *m) {
  double sum[NBC_MODEL_MAX_MODES] = {0}, mean[NBC_MODEL_MAX_MODES] = {0},
         square[NBC_MODEL_MAX_MODES] = {0}, likelihood = 0;
  double height[NBC_MODEL_MAX_MODES];
  for (int k = 0; k < modes; k++)
    height[k] = log(m[k].weight_ratio / m[k].sigma_ratio) - 0.918938533204672742; /* ln sqrt 2 pi */
  const double centre = v[n / 2]; /* squares of small differences, not of large values */
  for (size_t i = 0; i < n; i++) {
    /* Shares by differences to the largest exponent: far from all modes, the densities themselves
       are 0. */
    double p[NBC_MODEL_MAX_MODES], most = -INFINITY, all = 0;
    for (int k = 0; k < modes; k++) {
      const double d = (v[i] - m[k].mean_ratio) / m[k].sigma_ratio;
      p[k] = height[k] - 0.5 * d * d;
      most = fmax(most, p[k]);
    }
    for (int k = 0; k < modes; k++) all += p[k] = exp(p[k] - most);
    likelihood += most + log(all);
    for (int k = 0; k < modes; k++) {
      const double share = p[k] / all, d = v[i] - centre;
      sum[k] += share, mean[k] += share * d, square[k] += share * d * d;
    }
  }
  for (int k = 0; k < modes; k++) {
    if (!(sum[k] > 1e-9 * (double)n)) continue; /* dying out: BIC will not choose it */
    const double d = mean[k] / sum[k];
    m[k].weight_ratio = sum[k] / (double)n;
    m[k].mean_ratio = centre + d;
    m[k].sigma_ratio = fmax(least_sigma, sqrt(fmax(0, square[k] / sum[k] - d * d)));
  }
  return likelihood;
}

/* A start: sorted values cut at two quantiles. */
static void nbc__model_start(const double *v, size_t n, int modes, const double *cuts,
                             double least_sigma, nbc_model_mode *m) {
  for (int k = 0; k < modes; k++) {
    const size_t lo = k == 0 ? 0 : (size_t)(cuts[k - 1] * (double)n);
    const size_t hi = k + 1 == modes ? n : (size_t)(cuts[k] * (double)n);
    const double count = hi > lo ? (double)(hi - lo) : 1;
    double sum = 0, square = 0;
    for (size_t i = lo; i < hi; i++) {
      sum += v[i] - v[lo];
      square += (v[i] - v[lo]) * (v[i] - v[lo]);
    }
    m[k].weight_ratio = count / (double)n;
    m[k].mean_ratio = v[lo < n ? lo : n - 1] + sum / count;
    m[k].sigma_ratio = fmax(least_sigma, sqrt(fmax(0, square / count - sum / count * sum / count)));
  }
}

/* The best of several starts, which a few steps tell, then to the end. Rare slow modes need late
   cuts. */
static double nbc__model_mixture(const double *v, size_t n, int modes, double least_sigma,
                                 nbc_model_mode *best) {
  static const double cuts[][2] = {{0.5, 0.8},  {0.33, 0.67}, {0.8, 0.95}, {0.2, 0.6},
                                   {0.9, 0.98}, {0.1, 0.9},   {0.65, 0.97}};
  /* Expectation-maximisation only climbs to the hill that it starts on, so there are several
     starts. */
  double most = -INFINITY, was = -INFINITY;
  for (size_t c = 0; c < (modes > 1 ? sizeof cuts / sizeof *cuts : 1); c++) {
    nbc_model_mode m[NBC_MODEL_MAX_MODES];
    double now = 0;
    nbc__model_start(v, n, modes, cuts[c], least_sigma, m);
    for (int i = 0; i < 12; i++) now = nbc__model_em(v, n, modes, least_sigma, m);
    if (!(now > most)) continue;
    most = now;
    memcpy(best, m, (size_t)modes * sizeof *m);
  }
  for (int i = 0; i < 200 && most - was > 1e-6 * (double)n; i++)
    was = most, most = nbc__model_em(v, n, modes, least_sigma, best);
  return most;
}

/* The number of modes by Schwarz's criterion (BIC): a mode costs three parameters, and must gain
   more likelihood than that. */
NBC_API nbc_status nbc_model_fit_noise(const double *values, size_t count, nbc_model_noise *noise) {
  if (!values || !noise) return NBC_E_INVAL;
  enum { MOST = 1000 }; /* more are thinned out in sorted order: that keeps the distribution */
  memset(noise, 0, sizeof *noise);
  if (count == 0) return NBC_E_INVAL;
  for (size_t i = 0; i < count; i++)
    if (!isfinite(values[i])) return NBC_E_INVAL;
  double *v = count < SIZE_MAX / 32 ? (double *)NBC_MALLOC(count * sizeof *v) : NULL;
  if (!v) return NBC_E_NOMEM;
  memcpy(v, values, count * sizeof *v);
  qsort(v, count, sizeof *v, nbc__stats_order);
  const size_t n = count < MOST ? count : (size_t)MOST;
  for (size_t i = 0; i < n; i++) v[i] = v[(size_t)((double)i * (double)count / (double)n)];
  /* a mode may be narrow, not a point: then likelihood has no limit */
  const double spread = v[n - 1] - v[0], half = v[3 * n / 4] - v[n / 4];
  const double least_sigma = fmax(fmax(half / 50, spread * 1e-5), 1e-9 * fabs(v[n / 2]) + 1e-300);
  double least = INFINITY;
  noise->sample_count = count;
  for (int modes = 1; modes <= NBC_MODEL_MAX_MODES && n >= 10 * (size_t)modes * (modes > 1);
       modes++) {
    nbc_model_mode m[NBC_MODEL_MAX_MODES];
    const double likelihood = nbc__model_mixture(v, n, modes, least_sigma, m);
    /* n modes have n means, n spreads and n - 1 free weights. Twice the likelihood, as Schwarz's
       criterion is written. */
    const double criterion = (3 * modes - 1) * log((double)n) - 2 * likelihood;
    if (!(criterion < least)) continue;
    least = criterion;
    noise->mode_count = modes;
    memcpy(noise->modes, m, (size_t)modes * sizeof *m);
  }
  NBC_FREE(v);
  for (int i = 1; i < noise->mode_count; i++) /* ascending means */
    for (int k = i; k > 0 && noise->modes[k].mean_ratio < noise->modes[k - 1].mean_ratio; k--) {
      const nbc_model_mode m = noise->modes[k];
      noise->modes[k] = noise->modes[k - 1];
      noise->modes[k - 1] = m;
    }
  return NBC_OK;
}

/* ---- LogGP --------------------------------------------------------------------------------- */
enum {
  NBC__MODEL_BATCH = 16,
  NBC__MODEL_PINGS = 4,
  NBC__MODEL_TESTS = 32,
  NBC__MODEL_OPEN = NBC__MODEL_BATCH + 2
};
enum { NBC__MODEL_PING = 1, NBC__MODEL_STREAM, NBC__MODEL_ONE, NBC__MODEL_END };
/* The highest tags: the program's own messages have others. */
static const uint64_t nbc__model_tag = UINT64_MAX - 15;

typedef struct nbc__model_order_msg { /* what the lower rank wants the other to do */
  uint64_t what, size_bytes, count;
} nbc__model_order_msg;

typedef struct nbc__model_probe {
  nbc_transport t; /* a copy that records no calls */
  int peer;
  uint64_t tag;
  nbc_model_loggp_desc desc;
  nbc_op op[NBC__MODEL_OPEN];
  bool posted[NBC__MODEL_OPEN];
  nbc__model_order_msg order;
  nbc_model_loggp result;
  char *out, *in;
  uint64_t *visit_bytes; /* per visit */
  double *post_ns, *wait_ns, *late_ns;
  size_t visit_count;
  double clock_ns; /* what two readings in a row are apart */
} nbc__model_probe;

static int64_t nbc__model_now(const nbc__model_probe *m) { return m->t.now_ns(m->t.ctx); }

static nbc_status nbc__model_post(nbc__model_probe *m, int slot, bool send, void *data,
                                  uint64_t size_bytes) {
  memset(&m->op[slot], 0, sizeof m->op[slot]);
  const nbc_status status = send
                                ? nbc_isend(&m->t, data, size_bytes, m->peer, m->tag, &m->op[slot])
                                : nbc_irecv(&m->t, data, size_bytes, m->peer, m->tag, &m->op[slot]);
  m->posted[slot] = status == NBC_OK;
  return status;
}
static nbc_status nbc__model_finish(nbc__model_probe *m, int slot) {
  const nbc_status status = nbc_wait(&m->t, &m->op[slot], m->desc.limit_ns);
  if (m->op[slot].finished) m->posted[slot] = false;
  return status;
}
static nbc_status nbc__model_move(nbc__model_probe *m, bool send, void *data, uint64_t size_bytes) {
  const nbc_status status = nbc__model_post(m, NBC__MODEL_BATCH, send, data, size_bytes);
  return status == NBC_OK ? nbc__model_finish(m, NBC__MODEL_BATCH) : status;
}
static nbc_status nbc__model_command(nbc__model_probe *m, uint64_t what, uint64_t size_bytes,
                                     uint64_t count) {
  m->order.what = what, m->order.size_bytes = size_bytes, m->order.count = count;
  return nbc__model_move(m, true, &m->order, sizeof m->order);
}
static void nbc__model_compute(const nbc__model_probe *m, double d_ns) {
  const int64_t t_end_ns = nbc__model_now(m) + (int64_t)d_ns;
  if (m->desc.compute)
    m->desc.compute(m->desc.user, (int64_t)d_ns);
  else
    while (nbc__model_now(m) < t_end_ns) sched_yield(); /* the other rank may need this core */
}

/* ---- the higher rank: does what it is told ------------------------------------------------- */
static nbc_status nbc__model_answer(nbc__model_probe *m) {
  const uint64_t n = m->order.size_bytes;
  nbc_status status = NBC_OK;
  switch (m->order.what) {
  case NBC__MODEL_PING:
    for (uint64_t i = 0; i < m->order.count && status == NBC_OK; i++) {
      status = nbc__model_move(m, false, m->in, n);
      if (status == NBC_OK) status = nbc__model_move(m, true, m->out, n);
    }
    return status;
  /* So no message of the stream waits for its receive: the gap is that of the network and of the
     sender. */
  case NBC__MODEL_STREAM: /* receives first, then "ready", then "all here" */
    for (int i = 0; i < (int)m->order.count && status == NBC_OK; i++)
      status = nbc__model_post(m, i, false, m->in + (uint64_t)i * n, n);
    if (status == NBC_OK) status = nbc__model_move(m, true, m->out, 1);
    for (int i = 0; i < (int)m->order.count && status == NBC_OK; i++)
      status = nbc__model_finish(m, i);
    return status == NBC_OK ? nbc__model_move(m, true, m->out, 1) : status;
  case NBC__MODEL_ONE: return nbc__model_move(m, true, m->out, n);
  default: return NBC_E_MISMATCH;
  }
}

static nbc_status nbc__model_follow(nbc__model_probe *m) {
  for (;;) {
    nbc_status status = nbc__model_move(m, false, &m->order, sizeof m->order);
    if (status != NBC_OK) return status;
    if (m->order.what == NBC__MODEL_END) break;
    if (m->order.size_bytes > m->desc.max_bytes || m->order.count > NBC__MODEL_BATCH)
      return NBC_E_MISMATCH;
    status = nbc__model_answer(m);
    if (status != NBC_OK) return status;
  }
  m->tag++;
  const nbc_status status = nbc__model_move(m, false, &m->result, sizeof m->result);
  /* pointers of another process */
  memset(&m->result.time_samples, 0, sizeof m->result.time_samples);
  memset(&m->result.gap_samples, 0, sizeof m->result.gap_samples);
  return status == NBC_OK && m->result.range_count == 0 ? NBC_E_CANCELLED : status;
}

/* ---- the lower rank: measures -------------------------------------------------------------- */
/* count messages until the answer; the posting calls' own time in *post_ns (the shortest of them is
   theirs alone, the others may have waited for the NIC). */
static nbc_status nbc__model_stream(nbc__model_probe *m, uint64_t n, int count, double *d_ns,
                                    double *post_ns) {
  /* The clock starts when the other side is ready and stops with its answer. One answer is in the
     time of one message as in the time of many: the difference of the two times is free of it. */
  nbc_status status = nbc__model_command(m, NBC__MODEL_STREAM, n, (uint64_t)count);
  if (status == NBC_OK) status = nbc__model_move(m, false, m->in, 1);
  const int64_t t_begin_ns = nbc__model_now(m);
  int64_t t_before_ns = t_begin_ns;
  *post_ns = INFINITY;
  for (int i = 0; i < count && status == NBC_OK; i++) {
    status = nbc__model_post(m, i, true, m->out, n);
    const int64_t t_after_ns = nbc__model_now(m);
    *post_ns = fmin(*post_ns, fmax(0, (double)(t_after_ns - t_before_ns) - m->clock_ns));
    t_before_ns = t_after_ns;
  }
  for (int i = 0; i < count && status == NBC_OK; i++) status = nbc__model_finish(m, i);
  if (status == NBC_OK) status = nbc__model_move(m, false, m->in, 1);
  *d_ns = (double)(nbc__model_now(m) - t_begin_ns);
  return status;
}

/* Receives a message that has been here for long. post: its receive was posted before it came. */
static nbc_status nbc__model_late(nbc__model_probe *m, uint64_t n, double delay_ns, bool posted,
                                  double *d_ns) {
  nbc_status status = posted ? nbc__model_post(m, 0, false, m->in, n) : NBC_OK;
  if (posted && status == NBC_OK) { /* nothing can have come yet: tests in vain */
    const int64_t t_begin_ns = nbc__model_now(m);
    for (int i = 0; i < NBC__MODEL_TESTS && status == NBC_OK; i++)
      if (nbc_test(&m->t, &m->op[0]) != NBC_PENDING) status = NBC_E_MISMATCH;
    const double d_test_ns =
        ((double)(nbc__model_now(m) - t_begin_ns) - m->clock_ns) / (int)NBC__MODEL_TESTS;
    m->result.min_test_ns = fmin(m->result.min_test_ns, fmax(0, d_test_ns));
  }
  /* The other side sends at once; `delay_ns` of computation later the message has been here for
     long, so what the receive still costs is overhead and no waiting. */
  if (status == NBC_OK) status = nbc__model_command(m, NBC__MODEL_ONE, n, 1);
  if (status != NBC_OK) return status;
  nbc__model_compute(m, delay_ns);
  const int64_t t_begin_ns = nbc__model_now(m);
  if (!posted) status = nbc__model_post(m, 0, false, m->in, n);
  if (status == NBC_OK) status = nbc__model_finish(m, 0);
  *d_ns = fmax(0, (double)(nbc__model_now(m) - t_begin_ns) - m->clock_ns);
  return status;
}

static void nbc__model_keep(nbc_model_series *series, uint64_t n, double d_ns) {
  series->size_bytes[series->count] = n;
  series->time_ns[series->count++] = fmax(d_ns, 0.1);
}

static nbc_status nbc__model_visit(nbc__model_probe *m, uint64_t n) {
  double one_ns, batch_ns, late_ns, wait_ns, post_ns, longest_ns = 0;
  nbc_status status = nbc__model_command(m, NBC__MODEL_PING, n, NBC__MODEL_PINGS);
  for (int i = 0; i < NBC__MODEL_PINGS && status == NBC_OK; i++) {
    const int64_t t_begin_ns = nbc__model_now(m);
    status = nbc__model_move(m, true, m->out, n);
    if (status == NBC_OK) status = nbc__model_move(m, false, m->in, n);
    const double d_ns = 0.5 * (double)(nbc__model_now(m) - t_begin_ns);
    longest_ns = fmax(longest_ns, d_ns);
    if (d_ns < 0 && status == NBC_OK) status = NBC_E_CLOCK;
    if (i > 0 && status == NBC_OK)
      nbc__model_keep(&m->result.time_samples, n, d_ns); /* 0: warm-up */
  }
  if (status == NBC_OK) status = nbc__model_stream(m, n, 1, &one_ns, &post_ns);
  if (status == NBC_OK) status = nbc__model_stream(m, n, NBC__MODEL_BATCH, &batch_ns, &post_ns);
  /* Posted before the message came: o_r. Posted after it: what an unexpected message costs more (a
     copy, or the round trip of a rendezvous). */
  if (status == NBC_OK) status = nbc__model_late(m, n, 2 * longest_ns + 2000, true, &wait_ns);
  if (status == NBC_OK) status = nbc__model_late(m, n, 2 * longest_ns + 2000, false, &late_ns);
  if (status != NBC_OK) return status;
  /* Of a stream of k messages only the gaps between them, k - 1 of them, are what one message alone
     does not have. */
  nbc__model_keep(&m->result.gap_samples, n, (batch_ns - one_ns) / (NBC__MODEL_BATCH - 1));
  m->result.min_post_ns = fmin(m->result.min_post_ns, post_ns);
  m->result.min_wait_ns = fmin(m->result.min_wait_ns, wait_ns);
  m->visit_bytes[m->visit_count] = n;
  m->post_ns[m->visit_count] = post_ns;
  m->wait_ns[m->visit_count] = wait_ns;
  m->late_ns[m->visit_count++] = late_ns;
  return NBC_OK;
}

/* 1, 2, 3, ... and so many per doubling. */
static int nbc__model_sizes(const nbc_model_loggp_desc *d, uint64_t *sizes) {
  int count = 0;
  for (int i = 0; count < NBC_MODEL_MAX_SIZES; i++) {
    const double exact = pow(2, (double)i / d->sizes_per_octave);
    const uint64_t n = exact < (double)d->max_bytes ? (uint64_t)(exact + 0.5) : d->max_bytes;
    if (count == 0 || n > sizes[count - 1]) sizes[count++] = n;
    if (n == d->max_bytes) break;
  }
  return count;
}

/* Disturbances only lengthen a call: the lower quartile of those of some sizes. */
static double nbc__model_usual(const nbc__model_probe *m, const double *values,
                               uint64_t first_bytes, uint64_t last_bytes, double *scratch) {
  nbc_summary s;
  size_t count = 0;
  for (size_t i = 0; i < m->visit_count; i++)
    if (m->visit_bytes[i] >= first_bytes && m->visit_bytes[i] <= last_bytes)
      scratch[count++] = values[i];
  return count > 0 && nbc_summarize(scratch, count, 0, &s) == NBC_OK ? s.q1 : 0;
}

/* Fits, and the parameters of each range: overheads at its smallest sizes, where they are
   overheads. */
static nbc_status nbc__model_conclude(nbc__model_probe *m, double *scratch, nbc_error *err) {
  nbc_model_loggp *l = &m->result;
  nbc_status status = nbc_model_fit(l->time_samples.size_bytes, l->time_samples.time_ns,
                                    l->time_samples.count, &m->desc.fit, &l->time, err);
  if (status == NBC_OK)
    status = nbc_model_fit(l->gap_samples.size_bytes, l->gap_samples.time_ns, l->gap_samples.count,
                           &m->desc.fit, &l->gap, err);
  if (status != NBC_OK) return status;
  l->range_count = l->time.range_count;
  for (int r = 0; r < l->range_count; r++) {
    nbc_model_loggp_range *g = &l->ranges[r];
    g->first_bytes = l->time.ranges[r].first_bytes;
    g->last_bytes = l->time.ranges[r].last_bytes;
    /* Up to four times the smallest size: overheads grow with the size where the call copies. */
    const uint64_t upto = g->first_bytes > g->last_bytes / 4 ? g->last_bytes : 4 * g->first_bytes;
    g->send_overhead_ns = nbc__model_usual(m, m->post_ns, g->first_bytes, upto, scratch);
    g->recv_overhead_ns = nbc__model_usual(m, m->wait_ns, g->first_bytes, upto, scratch);
    g->late_recv_ns = nbc__model_usual(m, m->late_ns, g->first_bytes, upto, scratch);
    /* G is what a byte more costs in a stream, where the network is full; a byte of a lone message
       also passes the copies at both its ends, one after the other. g is the gap of the range's
       smallest messages. */
    g->per_byte_ns = nbc_model_range_of(&l->gap, g->last_bytes)->per_byte_ns;
    g->gap_ns = nbc_model_time_ns(&l->gap, g->first_bytes);
    /* Half of a round trip of one byte is o_s + L + o_r [Culler et al. 1993; Alexandrov et al.
       1995]: what is left of it without the two overheads is L. */
    g->latency_ns = fmax(0, l->time.ranges[r].base_ns + l->time.ranges[r].per_byte_ns -
                                g->send_overhead_ns - g->recv_overhead_ns);
  }
  return NBC_OK;
}

/* Whichever ends it first: all rounds, or the time. */
static void nbc__model_tell(nbc__model_probe *m, double visited_ratio, int64_t t_begin_ns) {
  if (!m->desc.on_progress) return;
  const double time_ratio =
      (double)(nbc__model_now(m) - t_begin_ns) / (double)m->desc.time_limit_ns;
  const double done_ratio = fmax(visited_ratio, time_ratio);
  m->desc.on_progress(m->desc.progress_user, done_ratio < 1 ? done_ratio : 1);
}

static nbc_status nbc__model_rounds(nbc__model_probe *m, nbc_error *err) {
  uint64_t sizes[NBC_MODEL_MAX_SIZES];
  int order[NBC_MODEL_MAX_SIZES];
  nbc_model_loggp *l = &m->result;
  const int count = nbc__model_sizes(&m->desc, sizes);
  const size_t visits = (size_t)count * (size_t)m->desc.round_count, pings = NBC__MODEL_PINGS - 1;
  /* one block for the visits and scratch; two more for the samples */
  m->visit_bytes = (uint64_t *)NBC_MALLOC(visits * 5 * sizeof(double));
  l->time_samples.size_bytes = (uint64_t *)NBC_MALLOC(visits * pings * 2 * sizeof(double));
  l->gap_samples.size_bytes = (uint64_t *)NBC_MALLOC(visits * 2 * sizeof(double));
  if (!m->visit_bytes || !l->time_samples.size_bytes || !l->gap_samples.size_bytes)
    return NBC_E_NOMEM;
  m->post_ns = (double *)(void *)(m->visit_bytes + visits);
  m->wait_ns = m->post_ns + visits;
  m->late_ns = m->wait_ns + visits;
  l->time_samples.time_ns = (double *)(void *)(l->time_samples.size_bytes + visits * pings);
  l->gap_samples.time_ns = (double *)(void *)(l->gap_samples.size_bytes + visits);
  l->min_post_ns = l->min_test_ns = l->min_wait_ns = INFINITY;
  /* What two readings of the clock are apart at least is taken from every short call: it is no part
     of the call. */
  m->clock_ns = INFINITY;
  for (int i = 0; i < 100; i++) {
    const int64_t t_ns = nbc__model_now(m);
    m->clock_ns = fmin(m->clock_ns, (double)(nbc__model_now(m) - t_ns));
  }
  nbc_status status = NBC_OK;
  const int64_t t_begin_ns = nbc__model_now(m);
  for (int round = 0; round < m->desc.round_count && status == NBC_OK; round++) {
    if (round >= 2 && nbc__model_now(m) - t_begin_ns > m->desc.time_limit_ns) break;
    /* Each round in an order of its own: what disturbs the machine for a while spreads over sizes,
       instead of looking like a range. */
    nbc_shuffle(order, count, m->desc.seed + (uint64_t)round);
    for (int i = 0; i < count && status == NBC_OK; i++) {
      status = nbc__model_visit(m, sizes[order[i]]);
      nbc__model_tell(m, (double)(round * count + i + 1) / (double)visits, t_begin_ns);
    }
    l->round_count = round + 1;
  }
  return status == NBC_OK ? nbc__model_conclude(m, m->late_ns + visits, err) : status;
}

/* The other rank is told the result, or that there is none: range_count 0. */
static nbc_status nbc__model_lead(nbc__model_probe *m, nbc_error *err) {
  const nbc_status failed = nbc__model_rounds(m, err);
  if (failed <= NBC_E_TRANSPORT) return failed; /* it cannot be told */
  if (failed != NBC_OK) m->result.range_count = 0;
  nbc_status status = nbc__model_command(m, NBC__MODEL_END, 0, 0);
  m->tag++; /* follows that order at once */
  if (status == NBC_OK) status = nbc__model_move(m, true, &m->result, sizeof m->result);
  return failed == NBC_OK ? status : failed;
}

static nbc_status nbc__model_defaults(nbc_model_loggp_desc *d, nbc_error *err) {
  if (d->max_bytes == 0) d->max_bytes = 1 << 20;
  if (d->sizes_per_octave == 0) d->sizes_per_octave = 4;
  if (d->round_count == 0) d->round_count = 8;
  if (d->time_limit_ns == 0) d->time_limit_ns = INT64_C(10000000000);
  if (d->limit_ns == 0) d->limit_ns = INT64_C(30000000000);
  const char *bad = d->max_bytes > (uint64_t)1 << 30                     ? "max_bytes"
                    : d->sizes_per_octave < 0 || d->sizes_per_octave > 8 ? "sizes_per_octave"
                    : d->round_count < 0 || d->round_count > 10000       ? "round_count"
                    : d->time_limit_ns < 0                               ? "time_limit_ns"
                    : d->limit_ns < 0                                    ? "limit_ns"
                                                                         : NULL;
  return bad ? nbc__status_fail(err, NBC_E_INVAL, 0, "field %s: out of range", bad) : NBC_OK;
}

/* An operation that did not finish still points into the probe: rather lost than overwritten. */
static bool nbc__model_stuck(nbc__model_probe *m) {
  bool stuck = false;
  for (int i = 0; i < NBC__MODEL_OPEN; i++) {
    if (!m->posted[i]) continue;
    if (m->t.cancel) m->t.cancel(m->t.ctx, &m->op[i]);
    for (int k = 0; k < 8 && !m->op[i].finished; k++) m->t.progress(m->t.ctx);
    stuck = stuck || !m->op[i].finished;
  }
  return stuck;
}

NBC_API nbc_status nbc_model_measure(const nbc_transport *t, int peer,
                                     const nbc_model_loggp_desc *desc, nbc_model_loggp *loggp,
                                     nbc_error *err) {
  if (!loggp) return nbc__status_fail(err, NBC_E_INVAL, 0, "loggp is NULL");
  memset(loggp, 0, sizeof *loggp);
  if (!t || peer < 0 || peer >= t->size || peer == t->rank)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "peer must be another rank of the transport");
  nbc__model_probe *m = (nbc__model_probe *)NBC_MALLOC(sizeof *m);
  if (!m) return nbc__status_fail(err, NBC_E_NOMEM, 0, "out of memory");
  memset(m, 0, sizeof *m);
  m->t = *t;
  /* The copy has no recorder: the measurement is none of the program's calls. */
  m->t.recorder = NULL;
  m->peer = peer;
  m->tag = nbc__model_tag;
  if (desc) m->desc = *desc;
  nbc_status status = nbc__model_defaults(&m->desc, err);
  const size_t bytes = (size_t)m->desc.max_bytes;
  if (status != NBC_OK) {
    NBC_FREE(m);
    return status;
  }
  m->out = (char *)NBC_MALLOC(bytes);
  m->in = (char *)NBC_MALLOC(bytes * (t->rank < peer ? 1 : NBC__MODEL_BATCH));
  if (!m->out || !m->in)
    status = nbc__status_fail(err, NBC_E_NOMEM, 0, "out of memory");
  else { /* pages there before the clock runs */
    memset(m->out, 1, bytes);
    memset(m->in, 1, bytes * (t->rank < peer ? 1 : NBC__MODEL_BATCH));
    if (err) err->status = NBC_OK;
    status = t->rank < peer ? nbc__model_lead(m, err) : nbc__model_follow(m);
    if (status == NBC_E_TIMEOUT)
      nbc__status_fail(err, status, 0, "rank %d: rank %d did not answer within %.3g s", t->rank,
                       peer, (double)m->desc.limit_ns * 1e-9);
    else if (status != NBC_OK && err && err->status == NBC_OK)
      nbc__status_fail(err, status, 0, "rank %d: with rank %d: %s", t->rank, peer,
                       nbc_status_text(status));
  }
  if (status == NBC_OK)
    *loggp = m->result;
  else
    nbc_model_free(&m->result);
  NBC_FREE(m->visit_bytes);
  if (!nbc__model_stuck(m)) {
    NBC_FREE(m->out);
    NBC_FREE(m->in);
    NBC_FREE(m);
  }
  return status;
}

NBC_API void nbc_model_free(nbc_model_loggp *loggp) {
  if (!loggp) return;
  NBC_FREE(loggp->time_samples.size_bytes);
  NBC_FREE(loggp->gap_samples.size_bytes);
  memset(&loggp->time_samples, 0, sizeof loggp->time_samples);
  memset(&loggp->gap_samples, 0, sizeof loggp->gap_samples);
}

/* What portals_model.h draws messages from: o, a way and event_ns are the fitted line together. */
static void nbc__model_write_range(uint64_t first_bytes, const nbc_model_loggp_range *g,
                                   const nbc_model_range *time, double event_ns, FILE *out) {
  const double overhead_ns = round(fmax(g->send_overhead_ns, 0)),
               per_byte_ns = fmax(time->per_byte_ns, 0);
  fprintf(out, "loggp_range %llu %.0f %.0f %.0f %.6g %.6g", (unsigned long long)first_bytes,
          time->base_ns - overhead_ns - event_ns + per_byte_ns, overhead_ns, fmax(g->gap_ns, 0),
          per_byte_ns, fmax(g->per_byte_ns, 0));
  for (int k = 0; k < time->noise.mode_count; k++) {
    const nbc_model_mode *mode = &time->noise.modes[k];
    if (mode->weight_ratio > 1e-6 && mode->mean_ratio > 1e-6 && mode->mean_ratio < 1e6)
      fprintf(out, " %.6g %.6g %.6g", mode->weight_ratio, mode->mean_ratio,
              fmin(mode->sigma_ratio, 1e6));
  }
  fputc('\n', out);
}
NBC_API nbc_status nbc_model_write_platform(const nbc_model_loggp *l, FILE *out) {
  if (!l || !out || l->range_count < 1 || l->range_count > NBC_MODEL_MAX_RANGES) return NBC_E_INVAL;
  const locale_t before = nbc__locale_begin();
  const nbc_model_loggp_range *low = &l->ranges[0], *high = &l->ranges[l->range_count - 1];
  fprintf(out, "# LogGP as measured: o_s %.1f ns, o_r %.1f ns\n", low->send_overhead_ns,
          low->recv_overhead_ns);
  fprintf(out, "loggp_latency_ns %.0f\nloggp_overhead_ns %.0f\nloggp_gap_ns %.0f\n",
          low->latency_ns, 0.5 * (low->send_overhead_ns + low->recv_overhead_ns), low->gap_ns);
  if (high->per_byte_ns > 0) fprintf(out, "loggp_bytes_per_s %.6g\n", 1e9 / high->per_byte_ns);
  const double event_ns = round(fmax(low->recv_overhead_ns, 0));
  fprintf(out, "cpu_event_ns %.0f\n", event_ns);
  const uint64_t most_eager = 1 << 20; /* that pm_run takes */
  fprintf(
      out,
      "# In the ranges is what messages took with the library's own protocols: pm_run --eager %llu "
      "keeps the simulated ones out%s.\n",
      (unsigned long long)(high->last_bytes < most_eager ? high->last_bytes : most_eager),
      high->last_bytes > most_eager ? " up to there" : "");
  for (int r = 0; r < l->range_count; r++) {
    const nbc_model_loggp_range *g = &l->ranges[r];
    const nbc_model_range *time = &l->time.ranges[r];
    fprintf(
        out,
        "# %llu ... %llu B: %.1f ns + %.5g ns/B; o_s %.1f o_r %.1f L %.1f g %.1f ns, G %.5g ns/B\n",
        (unsigned long long)g->first_bytes, (unsigned long long)g->last_bytes, time->base_ns,
        time->per_byte_ns, g->send_overhead_ns, g->recv_overhead_ns, g->latency_ns, g->gap_ns,
        g->per_byte_ns);
    nbc__model_write_range(r ? g->first_bytes : 0, g, time, event_ns, out);
  }
  nbc__locale_end(before);
  return ferror(out) ? NBC_E_IO : NBC_OK;
}

NBC_API nbc_status nbc_model_write_dedicated(const nbc_model_loggp *l, FILE *out) {
  if (!l || !out || l->range_count < 1 || l->range_count > NBC_MODEL_MAX_RANGES) return NBC_E_INVAL;
  const locale_t before = nbc__locale_begin();
  fprintf(
      out,
      "# the shortest calls as measured; times and counts of the application are to be added\n");
  fprintf(out, "min_nb_s %.4e\nmin_test_s %.4e\nmin_wait_s %.4e\n", l->min_post_ns * 1e-9,
          l->min_test_ns * 1e-9, l->min_wait_ns * 1e-9);
  nbc__locale_end(before);
  return ferror(out) ? NBC_E_IO : NBC_OK;
}
