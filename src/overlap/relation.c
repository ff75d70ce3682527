/* relation.c: two clocks: how one relates to the other, with a guaranteed error. */
#include "relation.h"

/* ============================================================================================== */
/* [RELATION] 9. Two clocks                                                                       */
/* ============================================================================================== */
static double nbc__sync_quadratic_ns(const nbc_relation_desc *d, double x_ns) {
  return 0.5e-15 * d->wander_ppm_per_s * x_ns * x_ns;
}

static double nbc__sync_wander_ns(const nbc_relation_desc *d, double x_ns) {
  return fmin(nbc__sync_quadratic_ns(d, x_ns), 2e-6 * d->rate_limit_ppm * fabs(x_ns));
}

/* More than the rounding errors of a sum of terms of the size of x: no rounding may exclude
   truth. */
static double nbc__sync_slack_ns(double x_ns) { return 0.1 + 2e-15 * fabs(x_ns); }

static double nbc__sync_x_ns(const nbc_relation *r, int64_t at_ticks) {
  return (double)(at_ticks - r->newest_ticks) * (1e9 / r->desc.hz);
}

NBC_API nbc_relation_desc nbc_relation_crystal(double hz) {
  nbc_relation_desc d;
  memset(&d, 0, sizeof d);
  d.hz = hz;
  d.rate_limit_ppm = 200;
  d.wander_ppm_per_s = 0.5;
  d.counter_bits = 64;
  d.step_ticks = 1;
  return d;
}

/* Forgets all: the next reading is the first. */
static void nbc__sync_restart(nbc_relation *r) {
  r->upper_count = r->lower_count = r->corner_count = 0;
  r->newest_ticks = 0;
  r->rate_surely_moved_ppm = 0;
  r->rate_min_ppm = r->rate_upper_min_ppm = INFINITY;
  r->rate_max_ppm = r->rate_lower_max_ppm = -INFINITY;
}

NBC_API nbc_status nbc_relation_init(nbc_relation *relation, const nbc_relation_desc *desc) {
  if (!relation || !desc || !(desc->hz >= 1 && desc->hz <= 1e12) ||
      !(desc->rate_limit_ppm > 0 && desc->rate_limit_ppm <= 1e5) ||
      !(desc->wander_ppm_per_s >= 0 && desc->wander_ppm_per_s <= 1e9) || desc->counter_bits < 0 ||
      desc->counter_bits > 64 || desc->step_ticks > (uint64_t)1 << 32)
    return NBC_E_INVAL;
  memset(relation, 0, sizeof *relation);
  relation->desc = *desc;
  if (desc->counter_bits == 0) relation->desc.counter_bits = 64;
  if (desc->step_ticks == 0) relation->desc.step_ticks = 1;
  nbc__sync_restart(relation);
  return NBC_OK;
}

/* ---- why the truth is never cut off ---------------------------------------------------------
   Seen from the newest reading, x is the nominal device time since then (x <= 0 for what is known)
   and y the host time since then, minus x. The truth is a curve y = o + r x + w(x): o and r are the
   offset and the rate now, and w is how the rate has wandered, |w(x)| <= q(x) = wander x^2 / 2. A
   reading gives a point U that is not below the curve (not after) and one L that is not above it.

        y |   U                   U
          |    '-.            .-'        lower hull of the U + q(x): from above
          |       '---- U ---'
          |  - - - - - - - - - - - o + r x
          |      .--- L ---.
          |  L--'           '-----L      upper hull of the L - q(x): from below
          +------------------------- 0   the newest reading

   1. Lifted by q(x), every U is not below the *straight line* o + r x, every L lowered is not above.
   2. A line that is not above the two ends of a chord is not above any point over it. So a point
      that lies on or over the chord of its neighbours excludes no line that they do not exclude:
      leaving it out changes nothing (insert), leaving out any other point only lets more lines
      through (forget). Moving the newest reading changes q by a linear function of x, which keeps
      every chord where it is: a point left out would never have come back.
   3. Each point leaves a half plane of lines, side (o + r x) <= side bound. The truth is in all of
      them, so in what they have in common, a convex polygon in the plane of (o, r); a cut that finds
      no room for its corner is not made (cut). Slack is more than what rounding may take.
   4. An answer is the range of o + r x over the corners, which is that over the polygon, widened by
      how far the rate may wander until x. So it holds the truth; an empty polygon means that the
      clock has stepped or broken its limits.
   ------------------------------------------------------------------------------------------- */

/* ---- the two hulls: side +1 keeps h <= t_ns (lower hull), -1 keeps h >= t_ns (upper hull) -- */
/* The point as seen from the newest reading, lifted, and mirrored for side -1. */
static double nbc__sync_height_ns(const nbc_relation *r, const nbc_relation_point *p, int side) {
  const double x_ns = nbc__sync_x_ns(r, p->at_ticks);
  return side * ((double)(p->t_ns - r->newest_ns) - x_ns) + nbc__sync_quadratic_ns(&r->desc, x_ns);
}

/* How far b lies below the chord from a to c; <= 0: b says nothing that a and c do not say. */
static double nbc__sync_depth_ns(const nbc_relation *r, const nbc_relation_point *a,
                                 const nbc_relation_point *b, const nbc_relation_point *c,
                                 int side) {
  const double share = (double)(b->at_ticks - a->at_ticks) / (double)(c->at_ticks - a->at_ticks);
  const double ya_ns = nbc__sync_height_ns(r, a, side), yc_ns = nbc__sync_height_ns(r, c, side);
  return ya_ns + share * (yc_ns - ya_ns) - nbc__sync_height_ns(r, b, side);
}

/* Makes room by forgetting what matters least: the oldest point once its wander exceeds what is
   known of the offset, else the shallowest corner. */
static int nbc__sync_forget(const nbc_relation *r, nbc_relation_point *hull, int count, int side) {
  int victim = 0;
  double least_ns = INFINITY;
  const double oldest_ns = nbc__sync_quadratic_ns(&r->desc, nbc__sync_x_ns(r, hull[0].at_ticks));
  double known_ns = 0;
  for (int i = 0; i < r->corner_count; i++)
    known_ns = fmax(known_ns, fabs(r->corner_offset_ns[i] - r->corner_offset_ns[0]));
  for (int i = 1; i + 1 < count && !(oldest_ns > known_ns); i++) {
    const double depth_ns = nbc__sync_depth_ns(r, &hull[i - 1], &hull[i], &hull[i + 1], side);
    if (depth_ns < least_ns) least_ns = depth_ns, victim = i;
  }
  memmove(&hull[victim], &hull[victim + 1], (size_t)(count - victim - 1) * sizeof *hull);
  return count - 1;
}

/* Points come in ascending order of ticks; of two at one tick the stricter one stays. */
static int nbc__sync_insert(const nbc_relation *r, nbc_relation_point *hull, int count,
                            int64_t at_ticks, int64_t t_ns, int side) {
  const nbc_relation_point p = {at_ticks, t_ns};
  if (count > 0 && hull[count - 1].at_ticks == at_ticks) {
    if (side * t_ns >= side * hull[count - 1].t_ns) return count;
    count--;
  }
  while (count >= 2 && !(nbc__sync_depth_ns(r, &hull[count - 2], &hull[count - 1], &p, side) > 0))
    count--;
  if (count == NBC_RELATION_POINTS) count = nbc__sync_forget(r, hull, count, side);
  hull[count] = p;
  return count + 1;
}

/* ---- the polygon of all (o, r) that no reading excludes ------------------------------------ */
/* side * (o + r x) <= side * bound, cut off from the polygon. Returns false when nothing is
   left. */
static bool nbc__sync_cut(nbc_relation *r, double x_ns, double bound_ns, int side) {
  double offset_ns[NBC_RELATION_CORNERS], rate[NBC_RELATION_CORNERS];
  const int n = r->corner_count;
  int kept = 0;
  for (int i = 0; i < n; i++) {
    const int k = i + 1 < n ? i + 1 : 0;
    const double out_i =
        side * (r->corner_offset_ns[i] + r->corner_rate_ratio[i] * x_ns - bound_ns);
    const double out_k =
        side * (r->corner_offset_ns[k] + r->corner_rate_ratio[k] * x_ns - bound_ns);
    if (kept + 2 > NBC_RELATION_CORNERS) return true; /* no room for more corners: leave it uncut */
    if (out_i <= 0)
      offset_ns[kept] = r->corner_offset_ns[i], rate[kept++] = r->corner_rate_ratio[i];
    if ((out_i <= 0) == (out_k <= 0)) continue;
    const double share = out_i / (out_i - out_k); /* where the edge crosses */
    offset_ns[kept] =
        r->corner_offset_ns[i] + share * (r->corner_offset_ns[k] - r->corner_offset_ns[i]);
    rate[kept++] =
        r->corner_rate_ratio[i] + share * (r->corner_rate_ratio[k] - r->corner_rate_ratio[i]);
  }
  r->corner_count = kept;
  memcpy(r->corner_offset_ns, offset_ns, (size_t)kept * sizeof *offset_ns);
  memcpy(r->corner_rate_ratio, rate, (size_t)kept * sizeof *rate);
  return kept > 0;
}

/* The bound on o + r x that a point of a hull gives, and x. */
NBC__PRIVATE double nbc__sync_bound_ns(const nbc_relation *r, const nbc_relation_point *p, int side,
                                       double *x_ns) {
  *x_ns = nbc__sync_x_ns(r, p->at_ticks);
  return (double)(p->t_ns - r->newest_ns) - *x_ns +
         side * (nbc__sync_wander_ns(&r->desc, *x_ns) + nbc__sync_slack_ns(*x_ns));
}

NBC__PRIVATE bool nbc__sync_polygon(nbc_relation *r) {
  const double limit = r->desc.rate_limit_ppm * 1e-6;
  double low_ns = -INFINITY, high_ns = INFINITY, x_ns;
  r->corner_count = 0;
  if (r->upper_count == 0 || r->lower_count == 0) return true; /* one half only: not bounded yet */
  for (int i = 0; i < r->upper_count; i++)
    high_ns = fmin(high_ns, nbc__sync_bound_ns(r, &r->upper[i], 1, &x_ns) + limit * fabs(x_ns));
  for (int i = 0; i < r->lower_count; i++)
    low_ns = fmax(low_ns, nbc__sync_bound_ns(r, &r->lower[i], -1, &x_ns) - limit * fabs(x_ns));
  if (!(low_ns <= high_ns)) return false;
  r->corner_count = 4;
  for (int i = 0; i < 4; i++) { /* counter-clockwise */
    r->corner_offset_ns[i] = i == 0 || i == 3 ? low_ns : high_ns;
    r->corner_rate_ratio[i] = i < 2 ? -limit : limit;
  }
  for (int i = r->upper_count - 1; i >= 0; i--) {
    const double bound_ns = nbc__sync_bound_ns(r, &r->upper[i], 1, &x_ns);
    if (!nbc__sync_cut(r, x_ns, bound_ns, 1)) return false;
  }
  for (int i = r->lower_count - 1; i >= 0; i--) {
    const double bound_ns = nbc__sync_bound_ns(r, &r->lower[i], -1, &x_ns);
    if (!nbc__sync_cut(r, x_ns, bound_ns, -1)) return false;
  }
  return true;
}

/* Range of h at a tick, relative to newest_ns. */
static void nbc__sync_range(const nbc_relation *r, int64_t at_ticks, double *low_ns,
                            double *high_ns) {
  const double x_ns = nbc__sync_x_ns(r, at_ticks),
               limit_ns = r->desc.rate_limit_ppm * 1e-6 * fabs(x_ns);
  const double wander_ns = nbc__sync_quadratic_ns(&r->desc, x_ns);
  double low = INFINITY, high = -INFINITY;
  for (int i = 0; i < r->corner_count; i++) {
    const double o_ns = r->corner_offset_ns[i], drift_ns = r->corner_rate_ratio[i] * x_ns;
    low = fmin(low, o_ns + fmax(drift_ns - wander_ns, -limit_ns));
    high = fmax(high, o_ns + fmin(drift_ns + wander_ns, limit_ns));
  }
  *low_ns = x_ns + low - nbc__sync_slack_ns(x_ns);
  *high_ns = x_ns + high + nbc__sync_slack_ns(x_ns);
}

/* What the newest polygon says about the rate. */
static void nbc__sync_watch(nbc_relation *r) {
  double low = INFINITY, high = -INFINITY;
  if (r->corner_count == 0) return;
  for (int i = 0; i < r->corner_count; i++) {
    low = fmin(low, r->corner_rate_ratio[i]);
    high = fmax(high, r->corner_rate_ratio[i]);
  }
  r->rate_ppm = (low + high) * 0.5e6;
  r->rate_err_ppm = (high - low) * 0.5e6 + 1e-9;
  r->rate_min_ppm = fmin(r->rate_min_ppm, r->rate_ppm);
  r->rate_max_ppm = fmax(r->rate_max_ppm, r->rate_ppm);
  r->rate_upper_min_ppm = fmin(r->rate_upper_min_ppm, high * 1e6);
  r->rate_lower_max_ppm = fmax(r->rate_lower_max_ppm, low * 1e6);
  r->rate_surely_moved_ppm = fmax(0, r->rate_lower_max_ppm - r->rate_upper_min_ppm);
}

/* ---- readings ------------------------------------------------------------------------------ */
static int64_t nbc__sync_signed(const nbc_relation *r,
                                uint64_t raw_ticks) { /* nearest to the newest */
  const int unused_bits = 64 - r->desc.counter_bits;
  return (int64_t)((raw_ticks - r->newest_raw_ticks) << unused_bits) >> unused_bits;
}

typedef enum nbc__sync_verdict {
  NBC__SYNC_FITS,
  NBC__SYNC_WRAPPED,
  NBC__SYNC_STEPPED
} nbc__sync_verdict;

/* Ticks since the newest reading. Of a short counter's candidates the host's clock decides, as far
   as it can. */
static nbc__sync_verdict nbc__sync_unwrap(const nbc_relation *r, int64_t before_ns,
                                          uint64_t raw_ticks, int64_t after_ns, int64_t *d_ticks) {
  const double limit = r->desc.rate_limit_ppm * 1e-6, ticks_per_ns = r->desc.hz * 1e-9;
  *d_ticks = nbc__sync_signed(r, raw_ticks);
  if (r->desc.counter_bits >= 56) { /* wraps after years, if ever */
    const int64_t limit_ticks = INT64_C(1) << 61;
    const bool sane = *d_ticks > -limit_ticks && *d_ticks < limit_ticks - r->newest_ticks;
    return sane ? NBC__SYNC_FITS : NBC__SYNC_STEPPED;
  }
  const double period = (double)((uint64_t)1 << r->desc.counter_bits);
  const double step = (double)r->desc.step_ticks, at = (double)*d_ticks;
  const double shortest_ns = (double)(before_ns - r->newest_after_ns);
  const double longest_ns = (double)(after_ns - r->newest_before_ns);
  const double fewest =
      shortest_ns * ticks_per_ns * (shortest_ns > 0 ? 1 - limit : 1 + 2 * limit) - step;
  const double most =
      longest_ns * ticks_per_ns * (longest_ns > 0 ? 1 + 2 * limit : 1 - limit) + step;
  const double first = ceil((fewest - at) / period), last = floor((most - at) / period);
  if (last < first) return NBC__SYNC_STEPPED;
  if (last > first || !(fabs(at + first * period) < 1e18)) return NBC__SYNC_WRAPPED;
  *d_ticks += (int64_t)(first * period);
  return NBC__SYNC_FITS;
}

/* before_ns <= h(ticks + step), h(ticks) <= after_ns; a half reading has only one of the two. */
typedef struct nbc__sync_reading {
  int64_t before_ns, after_ns;
  uint64_t raw_ticks;
  bool has_before, has_after;
} nbc__sync_reading;

/* By how much at least the reading misses what the polygon allows; 0: it fits. */
static int64_t nbc__sync_misfit_ns(const nbc_relation *r, const nbc__sync_reading *n,
                                   int64_t d_ticks) {
  const int64_t at_ticks = r->newest_ticks + d_ticks;
  double low_ns, high_ns;
  int64_t d_ns = 0;
  if (r->corner_count == 0) return 0;
  nbc__sync_range(r, at_ticks, &low_ns, &high_ns);
  if (n->has_after && (double)(n->after_ns - r->newest_ns) < low_ns)
    d_ns = (int64_t)fmax((double)(n->after_ns - r->newest_ns) - low_ns, -9e18);
  nbc__sync_range(r, at_ticks + (int64_t)r->desc.step_ticks, &low_ns, &high_ns);
  if (n->has_before && (double)(n->before_ns - r->newest_ns) > high_ns)
    d_ns = (int64_t)fmin((double)(n->before_ns - r->newest_ns) - high_ns, 9e18);
  return d_ns;
}

/* The reading becomes the newest. false: no line passes all readings any more. */
static bool nbc__sync_take(nbc_relation *r, const nbc__sync_reading *n, int64_t d_ticks) {
  const int64_t step_ticks = (int64_t)r->desc.step_ticks;
  r->newest_ticks += d_ticks;
  r->newest_raw_ticks = n->raw_ticks;
  r->newest_ns = n->before_ns + (n->after_ns - n->before_ns) / 2;
  r->newest_before_ns = n->before_ns;
  r->newest_after_ns = n->after_ns;
  if (n->has_after)
    r->upper_count = nbc__sync_insert(r, r->upper, r->upper_count, r->newest_ticks, n->after_ns, 1);
  if (n->has_before)
    r->lower_count = nbc__sync_insert(r, r->lower, r->lower_count, r->newest_ticks + step_ticks,
                                      n->before_ns, -1);
  return nbc__sync_polygon(r);
}

/* A reading that contradicts all before it starts anew; a reading alone always fits. */
static void nbc__sync_start_anew(nbc_relation *r, const nbc__sync_reading *n) {
  nbc__sync_restart(r);
  (void)nbc__sync_take(r, n, 0);
}

static nbc_status nbc__sync_add(nbc_relation *r, int64_t before_ns, uint64_t raw_ticks,
                                int64_t after_ns, bool has_before, bool has_after) {
  const bool first = r->upper_count + r->lower_count == 0;
  const int64_t last_before_ns = r->newest_before_ns;
  nbc__sync_verdict verdict = NBC__SYNC_FITS;
  int64_t d_ticks = 0, d_step_ns = 0;
  if (r->desc.counter_bits < 64) raw_ticks &= ((uint64_t)1 << r->desc.counter_bits) - 1;
  const nbc__sync_reading n = {before_ns, after_ns, raw_ticks, has_before, has_after};
  if (first)
    nbc__sync_start_anew(r, &n);
  else {
    verdict = nbc__sync_unwrap(r, before_ns, raw_ticks, after_ns, &d_ticks);
    if (verdict == NBC__SYNC_FITS && (d_step_ns = nbc__sync_misfit_ns(r, &n, d_ticks)) != 0)
      verdict = NBC__SYNC_STEPPED;
    if (verdict == NBC__SYNC_FITS && d_ticks < 0) {
      r->late_count++;
      return NBC_OK;
    }
    if (verdict == NBC__SYNC_FITS && !nbc__sync_take(r, &n, d_ticks)) verdict = NBC__SYNC_STEPPED;
    if (verdict != NBC__SYNC_FITS) nbc__sync_start_anew(r, &n);
  }
  r->reading_count++;
  nbc__sync_watch(r);
  if (verdict == NBC__SYNC_FITS) return NBC_OK;
  if (verdict == NBC__SYNC_STEPPED)
    r->step_count++;
  else
    r->gap_count++;
  r->step_lo_ns = last_before_ns;
  r->step_hi_ns = after_ns;
  r->d_step_ns = d_step_ns;
  return NBC_E_CLOCK;
}

static bool nbc__sync_sane(int64_t t_ns) {
  return t_ns > -NBC__SYNC_MAX_NS && t_ns < NBC__SYNC_MAX_NS;
}

NBC_API nbc_status nbc_relation_add(nbc_relation *relation, int64_t before_ns, uint64_t ticks,
                                    int64_t after_ns) {
  if (!relation) return NBC_E_INVAL;
  if (before_ns > after_ns || !nbc__sync_sane(before_ns) || !nbc__sync_sane(after_ns))
    return NBC_E_INVAL;
  return nbc__sync_add(relation, before_ns, ticks, after_ns, true, true);
}

NBC_API nbc_status nbc_relation_add_not_before(nbc_relation *relation, int64_t before_ns,
                                               uint64_t ticks) {
  if (!relation) return NBC_E_INVAL;
  if (!nbc__sync_sane(before_ns) || relation->desc.counter_bits < 56) return NBC_E_INVAL;
  return nbc__sync_add(relation, before_ns, ticks, before_ns, true, false);
}

NBC_API nbc_status nbc_relation_add_not_after(nbc_relation *relation, uint64_t ticks,
                                              int64_t after_ns) {
  if (!relation) return NBC_E_INVAL;
  if (!nbc__sync_sane(after_ns) || relation->desc.counter_bits < 56) return NBC_E_INVAL;
  return nbc__sync_add(relation, after_ns, ticks, after_ns, false, true);
}

/* ---- answers ------------------------------------------------------------------------------- */
/* The smallest nbc_time that holds low ... high, both relative to base_ns. */
static nbc_time nbc__sync_time(int64_t base_ns, double low_ns, double high_ns) {
  nbc_time out;
  const double middle_ns = floor(0.5 * (low_ns + high_ns) + 0.5);
  out.t_ns = base_ns + (int64_t)middle_ns;
  out.err_ns = (int64_t)ceil(fmax(high_ns - middle_ns, middle_ns - low_ns));
  return out;
}

static nbc_status nbc__sync_answer(const nbc_relation *r, uint64_t raw_ticks, double *low_ns,
                                   double *high_ns) {
  double unused_ns;
  if (r->corner_count == 0) return NBC_E_STATE;
  const int64_t d_ticks = nbc__sync_signed(r, raw_ticks), limit_ticks = INT64_C(1) << 61;
  if (d_ticks > limit_ticks || d_ticks < -limit_ticks) return NBC_E_INVAL;
  const int64_t at_ticks = r->newest_ticks + d_ticks;
  nbc__sync_range(r, at_ticks, low_ns, &unused_ns);
  nbc__sync_range(r, at_ticks + (int64_t)r->desc.step_ticks, &unused_ns, high_ns);
  if (!(fabs(*low_ns) < 4e18 && fabs(*high_ns) < 4e18)) return NBC_E_INVAL;
  return at_ticks < 0 && r->step_count + r->gap_count > 0 ? NBC_E_RANGE : NBC_OK;
}

NBC_API nbc_status nbc_relation_time(const nbc_relation *relation, uint64_t ticks, nbc_time *out) {
  if (!relation || !out) return NBC_E_INVAL;
  double low_ns, high_ns;
  const nbc_status status = nbc__sync_answer(relation, ticks, &low_ns, &high_ns);
  if (status == NBC_E_STATE || status == NBC_E_INVAL) return status;
  *out = nbc__sync_time(relation->newest_ns, low_ns, high_ns);
  if (status != NBC_OK) out->err_ns = INT64_MAX;
  return status;
}

NBC_API nbc_status nbc_relation_time_between(const nbc_relation *before, const nbc_relation *after,
                                             uint64_t ticks, nbc_time *out) {
  if (!before || !after || !out) return NBC_E_INVAL;
  double low_ns, high_ns, other_low_ns, other_high_ns;
  nbc_status status = nbc__sync_answer(before, ticks, &low_ns, &high_ns);
  if (status != NBC_OK)
    return status == NBC_E_RANGE ? nbc_relation_time(before, ticks, out) : status;
  status = nbc__sync_answer(after, ticks, &other_low_ns, &other_high_ns);
  if (status == NBC_E_STATE || status == NBC_E_INVAL) return status;
  const double d_ns = (double)(after->newest_ns - before->newest_ns);
  if (status == NBC_E_RANGE || low_ns > other_high_ns + d_ns || high_ns < other_low_ns + d_ns)
    return NBC_E_MISMATCH;
  *out = nbc__sync_time(before->newest_ns, fmax(low_ns, other_low_ns + d_ns),
                        fmin(high_ns, other_high_ns + d_ns));
  return NBC_OK;
}

NBC_API nbc_status nbc_relation_ticks(const nbc_relation *relation, int64_t t_ns, uint64_t *ticks) {
  if (!relation || !ticks) return NBC_E_INVAL;
  const double ns_per_tick = 1e9 / relation->desc.hz;
  nbc_time at;
  if (relation->corner_count == 0) return NBC_E_STATE;
  if (!nbc__sync_sane(t_ns)) return NBC_E_INVAL;
  double guess = (double)(t_ns - relation->newest_ns) / ns_per_tick;
  for (int i = 0; i < 8; i++) { /* each round divides the error by 1 / rate limit or more */
    double low_ns, high_ns;
    if (!(fabs(guess) < 1e18)) return NBC_E_RANGE;
    const int64_t at_ticks = relation->newest_ticks + (int64_t)floor(guess + 0.5);
    nbc__sync_range(relation, at_ticks, &low_ns, &high_ns);
    if (!(fabs(low_ns) < 4e18 && fabs(high_ns) < 4e18)) return NBC_E_RANGE;
    at = nbc__sync_time(relation->newest_ns, low_ns, high_ns);
    const double d = (double)(t_ns - at.t_ns) / ns_per_tick;
    if (fabs(d) < 0.5) break;
    guess = floor(guess + 0.5) + d;
  }
  *ticks = relation->newest_raw_ticks + (uint64_t)(int64_t)floor(guess + 0.5);
  if (relation->desc.counter_bits < 64) *ticks &= ((uint64_t)1 << relation->desc.counter_bits) - 1;
  return NBC_OK;
}
