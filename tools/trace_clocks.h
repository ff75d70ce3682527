/* trace_clocks.h: a moment of one process on the clock of another, also of another node, from what the timelines
   themselves tell. For overlap_trace and overlap_report, after trace_read.h.

   Processes of one boot share CLOCK_MONOTONIC_RAW. Those of two nodes share nothing but this: a message is received
   after it was sent. Each message bounds the difference of the two clocks from one side at one moment, messages the
   other way bound it from the other side, and between two moments it changes no faster than two crystals run apart:
   by the rate limit of [SYNC], or, when the wander of [SYNC] over the time from the first message to the last makes
   that less, by the mean rate in between and so much. So at each moment the difference lies in an interval, about as
   wide as the fastest messages both ways took together [after Duda et al., ICDCS 1987]. A collective that nobody leaves
   before all have called (trace_members.h) is worth messages of all to all. Where no message went the
   other way nothing is known, and where the bounds contradict each other nothing is believed. Nor are processes of one
   boot believed to share a clock when one received before another sent: a virtual machine's copies have
   one boot. */
/* Of boots a < b: the raw clock of b less that of a, when that of a stands at t_ns. */
typedef struct clock_fact {
  size_t a, b;
  int64_t t_ns, most_ns, least_ns; /* INT64_MAX, INT64_MIN: nothing */
  double most, least;              /* once solved: beside the pair's line */
} clock_fact;
typedef struct clock_pair {
  size_t a, b, first, count;
  int64_t base_ns;
  double rate, slack; /* the line, and how fast the difference may leave it */
  bool is_good, is_contradicted;
} clock_pair;

static struct {
  size_t *
      boot; /* of each timeline: the first timeline of the same boot; its own: it has no clock of a boot */
  clock_fact *facts;
  size_t count, room;
  clock_pair *pairs;
  size_t pair_count, contradicted_count, torn_count; /* torn: boots */
} clocks;

/* As overlap_report says beside what rests on them (take_partners, partner_caption). */
static const double clock_rate_limit = 400e-6, clock_wander = 1e-6 / 1e9; /* per ns */
static const int64_t clock_worst_ns = (int64_t)1e15; /* who knows no better knows nothing */

static void clocks_begin(void) {
  clocks.boot = (size_t *)must(malloc((traces.count + 1) * sizeof *clocks.boot));
  size_t *const seen = (size_t *)must(malloc((traces.count + 1) * sizeof *seen)), seen_count = 0;
  for (size_t i = 0; i < traces.count; i++) {
    size_t k = 0;
    while (k < seen_count && !trace_is_one_boot(&traces.of[seen[k]], &traces.of[i])) k++;
    if (k == seen_count) seen[seen_count++] = i;
    clocks.boot[i] = seen[k];
  }
  free(seen);
}

/* What `from` did at from_ns had happened when `to` came to to_ns, each by its own clock. */
static void clocks_add(size_t from, int64_t from_ns, size_t to, int64_t to_ns) {
  const timeline *f = &traces.of[from], *t = &traces.of[to];
  if (clocks.boot[from] == clocks.boot[to] || !trace_has_raw(f) || !trace_has_raw(t) ||
      from_ns == INT64_MIN || to_ns == INT64_MIN)
    return;
  const int64_t from_raw_ns = trace_raw_ns(f, from_ns), to_raw_ns = trace_raw_ns(t, to_ns),
                err_ns = trace_err_ns(f) + trace_err_ns(t);
  if (!trace_is_time(from_raw_ns) || !trace_is_time(to_raw_ns) || err_ns > clock_worst_ns) return;
  if (clocks.count == clocks.room) {
    clocks.room = 2 * clocks.room + 1024;
    clocks.facts = (clock_fact *)must(realloc(clocks.facts, clocks.room * sizeof *clocks.facts));
  }
  clock_fact *x = &clocks.facts[clocks.count++];
  *x = (clock_fact){clocks.boot[from], clocks.boot[to], from_raw_ns, INT64_MAX, INT64_MIN, 0, 0};
  if (x->a < x->b) {
    x->most_ns = to_raw_ns - from_raw_ns + err_ns;
  } else {
    x->a = clocks.boot[to], x->b = clocks.boot[from], x->t_ns = to_raw_ns;
    x->least_ns = from_raw_ns - to_raw_ns - err_ns;
  }
}
/* The same of two of one boot: if that cannot be, none of this boot share a clock. Before anything is added. */
static void clocks_check(size_t from, int64_t from_ns, size_t to, int64_t to_ns) {
  const size_t boot = clocks.boot[from];
  const timeline *f = &traces.of[from], *t = &traces.of[to];
  if (from == to || boot != clocks.boot[to] || from_ns == INT64_MIN || to_ns == INT64_MIN ||
      trace_raw_ns(f, from_ns) - trace_raw_ns(t, to_ns) <= trace_err_ns(f) + trace_err_ns(t))
    return;
  for (size_t i = 0; i < traces.count; i++)
    if (clocks.boot[i] == boot) clocks.boot[i] = i;
  clocks.torn_count++;
}
static int clock_by_pair(const void *a, const void *b) {
  const clock_fact *x = (const clock_fact *)a, *y = (const clock_fact *)b;
  if (x->a != y->a) return x->a < y->a ? -1 : 1;
  if (x->b != y->b) return x->b < y->b ? -1 : 1;
  if (x->t_ns != y->t_ns) return x->t_ns < y->t_ns ? -1 : 1;
  if (x->most_ns != y->most_ns) return x->most_ns < y->most_ns ? -1 : 1;
  return (x->least_ns > y->least_ns) - (x->least_ns < y->least_ns);
}

static void clock_carry(clock_fact *to, const clock_fact *from, double slack) {
  const double d = slack * fabs((double)(to->t_ns - from->t_ns));
  if (from->most + d < to->most) to->most = from->most + d;
  if (from->least - d > to->least) to->least = from->least - d;
}
/* What all messages of a pair tell at the moment of each, beside a line. False: not bounded, or a contradiction. */
static bool clock_envelope(clock_pair *p, double rate, double slack) {
  clock_fact *const f = &clocks.facts[p->first];
  bool good = true;
  p->rate = rate, p->slack = slack;
  for (size_t k = 0; k < p->count; k++) {
    const double line = rate * (double)(f[k].t_ns - f[0].t_ns);
    f[k].most = f[k].most_ns == INT64_MAX ? INFINITY : (double)(f[k].most_ns - p->base_ns) - line;
    f[k].least =
        f[k].least_ns == INT64_MIN ? -INFINITY : (double)(f[k].least_ns - p->base_ns) - line;
  }
  for (size_t k = 1; k < p->count; k++) clock_carry(&f[k], &f[k - 1], slack);
  for (size_t k = p->count - 1; k-- > 0;) clock_carry(&f[k], &f[k + 1], slack);
  for (size_t k = 0; k < p->count; k++) good = good && f[k].least <= f[k].most;
  return good && isfinite(f[0].most) && isfinite(f[0].least);
}
static void clock_solve_pair(clock_pair *p) {
  const clock_fact *const f = &clocks.facts[p->first], *const last = &f[p->count - 1];
  const double time_ns = (double)(last->t_ns - f[0].t_ns);
  p->base_ns = f[0].most_ns != INT64_MAX ? f[0].most_ns : f[0].least_ns;
  p->is_good = clock_envelope(p, 0, clock_rate_limit);
  p->is_contradicted = !p->is_good && isfinite(f[0].most) && isfinite(f[0].least);
  clocks.contradicted_count += p->is_contradicted;
  if (!p->is_good || time_ns <= 0) return;
  const double rate = ((last->most + last->least) - (f[0].most + f[0].least)) / 2 / time_ns,
               slack = ((last->most - last->least) + (f[0].most - f[0].least)) / 2 / time_ns +
                       clock_wander * time_ns / 2;
  if (slack < clock_rate_limit && !clock_envelope(p, rate, slack)) /* they wander more than that */
    clock_envelope(p, 0, clock_rate_limit);
}
/* When all has been added. */
static void clocks_solve(void) {
  if (clocks.count) qsort(clocks.facts, clocks.count, sizeof *clocks.facts, clock_by_pair);
  clocks.pairs = (clock_pair *)must(calloc(clocks.count + 1, sizeof *clocks.pairs));
  for (size_t i = 0, end; i < clocks.count; i = end) {
    const clock_fact *x = &clocks.facts[i];
    for (end = i + 1;
         end < clocks.count && clocks.facts[end].a == x->a && clocks.facts[end].b == x->b;)
      end++;
    clock_pair *p = &clocks.pairs[clocks.pair_count++];
    *p = (clock_pair){x->a, x->b, i, end - i, 0, 0, 0, false, false};
    clock_solve_pair(p);
  }
}

static const clock_pair *clock_find(size_t from, size_t to) {
  const size_t a = from < to ? from : to, b = from < to ? to : from;
  size_t low = 0, high = clocks.pair_count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    const clock_pair *p = &clocks.pairs[middle];
    if (p->a < a || (p->a == a && p->b < b))
      low = middle + 1;
    else
      high = middle;
  }
  const clock_pair *p = &clocks.pairs[low];
  return low < clocks.pair_count && p->a == a && p->b == b ? p : NULL;
}
/* The difference when the clock of a stands at t_ns: the middle, and how far it may be from that. */
static double clock_difference(const clock_pair *p, int64_t t_ns, double *half) {
  const clock_fact *const f = &clocks.facts[p->first];
  size_t low = 0, high = p->count; /* the first after t_ns */
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (f[middle].t_ns <= t_ns)
      low = middle + 1;
    else
      high = middle;
  }
  const bool is_outside = !low || low == p->count;
  const double slack = is_outside ? clock_rate_limit + fabs(p->rate) : p->slack;
  clock_fact x = {0, 0, t_ns, 0, 0, INFINITY, -INFINITY};
  if (low) clock_carry(&x, &f[low - 1], slack);
  if (low < p->count) clock_carry(&x, &f[low], slack);
  *half = (x.most - x.least) / 2;
  return (x.most + x.least) / 2 + p->rate * (double)(t_ns - f[0].t_ns);
}

/* A raw time of one boot on the raw clock of another, by what is known of these two. False: nothing. */
static bool clock_shift(size_t from, size_t to, int64_t *raw_ns, double *half) {
  const clock_pair *p = clock_find(from, to);
  if (!p || !p->is_good || !trace_is_time(*raw_ns)) return false;
  int64_t a_ns = *raw_ns;
  if (from < to) {
    *raw_ns += p->base_ns + (int64_t)clock_difference(p, a_ns, half);
  } else { /* the difference is known by the clock that is asked for: it changes little where that is sought */
    a_ns -= p->base_ns;
    for (int i = 0; i < 3; i++)
      a_ns = *raw_ns - p->base_ns - (int64_t)clock_difference(p, a_ns, half);
    *raw_ns = a_ns;
  }
  *half = *half * 1.001 + 2;
  return *half < (double)clock_worst_ns;
}
/* The same, also by way of the first boot, which collectives of all hold together with each other one; not where their own
   messages contradict each other: one of the two clocks has jumped, and by that way nobody would see it. */
static bool clock_between(size_t from, size_t to, int64_t *raw_ns, double *half) {
  const clock_pair *const own = clock_find(from, to);
  if (own && own->is_contradicted) return false;
  int64_t direct_ns = *raw_ns, by_way_ns = *raw_ns;
  double direct_half = 0, half_there = 0, half_back = 0;
  const bool is_direct = clock_shift(from, to, &direct_ns, &direct_half),
             is_by_way = from != clocks.boot[0] && to != clocks.boot[0] &&
                         clock_shift(from, clocks.boot[0], &by_way_ns, &half_there) &&
                         clock_shift(clocks.boot[0], to, &by_way_ns, &half_back);
  const double by_way_half = (half_there + half_back) * 1.001,
               apart = (double)(by_way_ns - direct_ns);
  *raw_ns = is_direct ? direct_ns : by_way_ns;
  *half = is_direct ? direct_half : by_way_half;
  if (!is_direct || !is_by_way) return is_direct || is_by_way;
  const double most = fmin(direct_half, apart + by_way_half),
               least = fmax(-direct_half, apart - by_way_half);
  *raw_ns += (int64_t)((most + least) / 2);
  *half = (most - least) / 2 + 1;
  return most >= least;
}
/* A moment of `other` on the clock of `own`, +- err_ns. False: nobody knows. */
static bool clocks_meet(size_t own, size_t other, int64_t t_ns, int64_t *own_ns, int64_t *err_ns) {
  const timeline *mine = &traces.of[own], *theirs = &traces.of[other];
  if (!trace_has_raw(mine) || !trace_has_raw(theirs)) return false;
  int64_t raw_ns = trace_raw_ns(theirs, t_ns);
  double half = 0;
  if (clocks.boot[own] != clocks.boot[other] &&
      !clock_between(clocks.boot[other], clocks.boot[own], &raw_ns, &half))
    return false;
  *own_ns = trace_own_ns(mine, raw_ns);
  *err_ns = trace_err_ns(mine) + trace_err_ns(theirs) + (int64_t)half;
  return true;
}
