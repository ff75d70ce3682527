/* The relation of a device's clock to host time, against simulated truth: any rate within the limits,
   changing as fast as allowed, counters that are coarse or short, delays of any kind. The truth is
   always inside; the interval is no wider than the mathematics of all readings allows; steps are seen. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#include "tests/test.h"

typedef struct device {
  long double t_ns, ticks; /* true time, true counter */
  double hz, deviation, slope; /* rate = hz * (1 + deviation); slope per ns */
  double most, steepest;       /* limits of both */
  uint64_t first_ticks, step_ticks;
  int bits;
} device;

static double unit(void) { return (double)(test_rand() >> 11) / 9007199254740992.0; }
static double within(double most) { return (2 * unit() - 1) * most; }

/* Time passes; now and then the rate turns, never beyond its limits. */
static void pass(device *d, double d_ns) {
  while (d_ns > 0) {
    double part_ns = fmin(d_ns, 1e6 + unit() * 2e9);
    if (test_below(3) == 0) d->slope = test_below(2) ? within(d->steepest) : unit() < 0.5 ? d->steepest : -d->steepest;
    if (fabs(d->deviation + d->slope * part_ns) > d->most) d->slope = 0;
    d->ticks += (long double)d->hz * 1e-9L * ((long double)part_ns * (1 + (long double)d->deviation) +
                                             (long double)d->slope * part_ns * part_ns / 2);
    d->deviation += d->slope * part_ns;
    d->t_ns += part_ns;
    d_ns -= part_ns;
  }
}
static uint64_t stamp(const device *d) {
  uint64_t ticks = d->first_ticks + (uint64_t)d->ticks;
  ticks -= ticks % d->step_ticks;
  return d->bits < 64 ? ticks & (((uint64_t)1 << d->bits) - 1) : ticks;
}
/* delay_ns: how long each half of a reading takes */
static nbc_status read_device(device *d, nbc_relation *r, double delay_1_ns, double delay_2_ns) {
  const int64_t before_ns = (int64_t)floorl(d->t_ns);
  pass(d, delay_1_ns);
  const uint64_t ticks = stamp(d);
  pass(d, delay_2_ns);
  return nbc_relation_add(r, before_ns, ticks, (int64_t)ceill(d->t_ns));
}
static device device_of(double hz, double most_ppm, double wander_ppm_per_s) {
  device d;
  memset(&d, 0, sizeof d);
  d.t_ns = (long double)(test_rand() >> 8) / 2;
  d.hz = hz;
  /* The limits are those of the host's time per the device's, which is the inverse: the second
     derivative of an inverse has the third power of the rate below it. */
  d.most = most_ppm * 0.99e-6;
  d.steepest = wander_ppm_per_s * 0.99e-15 * pow(1 - d.most, 3);
  d.deviation = within(d.most);
  d.first_ticks = test_rand() >> (1 + test_below(40));
  d.step_ticks = 1;
  d.bits = 64;
  return d;
}
static nbc_relation relation_of(const device *d, double limit_ppm, double wander_ppm_per_s) {
  nbc_relation r;
  nbc_relation_desc desc = nbc_relation_crystal(d->hz);
  desc.rate_limit_ppm = limit_ppm;
  desc.wander_ppm_per_s = wander_ppm_per_s;
  desc.counter_bits = d->bits;
  desc.step_ticks = d->step_ticks;
  CHECK(nbc_relation_init(&r, &desc) == NBC_OK);
  return r;
}
static double delay_of(int style) { /* one-sided, heavy-tailed, alternating, exact */
  switch (style % 5) {
  case 0: return 0;
  case 1: return unit() * 1000;
  case 2: return 300 / (1e-4 + unit());
  case 3: return test_below(2) ? 5000 : 5;
  default: return 50 + (test_below(20) == 0 ? 1e6 * unit() : 0);
  }
}

static int cases;
static void truth_is_inside(void) {
  static const double pauses_ns[] = {1e3, 1e6, 3e7, 1e9, 2e10};
  for (int round = 0; round < test_rounds(2600); round++) {
    const double limit_ppm = round % 7 ? 100 : 5 + unit() * 5000, wander = round % 3 ? unit() * 2 : 0;
    device d = device_of(pow(10, 6 + 3.5 * unit()), limit_ppm, wander);
    if (round % 4 == 1) d.step_ticks = 1 + test_below(1000);
    if (round % 5 == 2) d.bits = 32, d.hz = 1e8;
    nbc_relation r = relation_of(&d, limit_ppm, wander), before = r;
    const double pause_ns = pauses_ns[round % 5 == 2 ? test_below(4) : test_below(5)];
    const int style_1 = (int)test_below(5), style_2 = (int)test_below(5);
    for (int k = 0; k < 40; k++) {
      nbc_time t;
      pass(&d, pause_ns * unit());
      const long double t_event_ns = d.t_ns;
      const uint64_t event = stamp(&d);
      if (r.corner_count > 0) { /* live: extrapolated */
        CHECK(nbc_relation_time(&r, event, &t) == NBC_OK);
        CHECK(fabsl(t_event_ns - t.t_ns) <= t.err_ns);
      }
      pass(&d, pause_ns * unit());
      before = r;
      CHECK(read_device(&d, &r, delay_of(style_1), delay_of(style_2)) == NBC_OK);
      CHECK(nbc_relation_time(&r, event, &t) == NBC_OK); /* looked at later */
      CHECK(fabsl(t_event_ns - t.t_ns) <= t.err_ns);
      if (before.corner_count > 0) {
        nbc_time one;
        nbc_relation_time(&before, event, &one);
        CHECK(nbc_relation_time_between(&before, &r, event, &t) == NBC_OK);
        CHECK(fabsl(t_event_ns - t.t_ns) <= t.err_ns && t.err_ns <= one.err_ns + 1);
      }
      cases++;
    }
    CHECK(r.step_count == 0 && r.gap_count == 0 && r.late_count == 0 && r.reading_count == 40);
    CHECK(r.rate_err_ppm <= limit_ppm * 1.001 && r.rate_surely_moved_ppm <= 2 * limit_ppm);
  }
  CHECK(cases >= test_rounds(100000));
}

/* The exact range at x for a constant rate, from every pair of readings: by trying all rates at which
   one of the bounds changes its reading. A reading x means x <= counter < x + 1, so the lower bounds
   stand at x + 1. O(n^3), for few readings. */
static void exact_range(const double *x, const double *low, const double *high, int n, double limit, double at,
                        double *least, double *most) {
  double rates[4000];
  int count = 0;
  rates[count++] = -limit, rates[count++] = limit;
  for (int i = 0; i < n; i++)
    for (int k = 0; k < i; k++) {
      const double dx = x[i] - x[k];
      const double pairs[4] = {(high[i] - high[k]) / dx, (low[i] - low[k]) / dx, (high[i] - low[k]) / (dx - 1),
                               (low[i] - high[k]) / (dx + 1)};
      for (int p = 0; p < 4; p++)
        if (fabs(pairs[p] - 1) <= limit && count < 3999) rates[count++] = pairs[p] - 1;
    }
  *least = INFINITY, *most = -INFINITY;
  for (int c = 0; c < count; c++) {
    double low_at = -INFINITY, high_at = INFINITY;
    for (int i = 0; i < n; i++) {
      low_at = fmax(low_at, low[i] + (at - x[i] - 1) * (1 + rates[c]));
      high_at = fmin(high_at, high[i] + (at - x[i]) * (1 + rates[c]));
    }
    if (low_at > high_at + 1e-3) continue;
    *least = fmin(*least, low_at), *most = fmax(*most, high_at + 1 + rates[c]);
  }
}

static void interval_is_as_narrow_as_all_readings_allow(void) {
  int wide = 0, answers = 0;
  for (int round = 0; round < test_rounds(300); round++) {
    enum { N = 20 };
    double x[N], low[N], high[N], least, most;
    nbc_relation_desc desc = nbc_relation_crystal(1e9);
    nbc_relation r;
    desc.rate_limit_ppm = 100;
    desc.wander_ppm_per_s = 0;
    nbc_relation_init(&r, &desc);
    const double rate = within(99e-6), spread_ns = pow(10, 4 + 5 * unit());
    int64_t at = 0;
    for (int i = 0; i < N; i++) {
      at += 10 + (int64_t)(unit() * spread_ns);
      const double t_ns = 1e6 + (double)at * (1 + rate);
      const int64_t before_ns = (int64_t)floor(t_ns - delay_of(round)), after_ns = (int64_t)ceil(t_ns + delay_of(round / 5));
      CHECK(nbc_relation_add(&r, before_ns, (uint64_t)at, after_ns) == NBC_OK);
      x[i] = (double)at, low[i] = (double)before_ns, high[i] = (double)after_ns;
    }
    for (int k = -3; k < 10; k++) {
      const uint64_t query = (uint64_t)(at + k * (int64_t)spread_ns / 4);
      nbc_time t;
      answers++;
      CHECK(nbc_relation_time(&r, query, &t) == NBC_OK);
      exact_range(x, low, high, N, 100e-6, (double)query, &least, &most);
      CHECK((double)(t.t_ns - t.err_ns) <= least + 0.01 && (double)(t.t_ns + t.err_ns) >= most - 0.01);
      /* slack against rounding is 0.1 ns, extrapolated from what may be a short baseline */
      wide += (double)t.err_ns > (most - least) / 2 + 2 + 2.5 * (double)abs(k);
      CHECK((double)t.err_ns <= 1.1 * (most - least) / 2 + 200);
    }
  }
  CHECK(wide * 100 < answers);
}

/* Delays that keep every point on the hull: memory stays bounded, the truth inside, and what is
   forgotten costs little. */
static void adversary_cannot_exhaust_the_memory(void) {
  for (int round = 0; round < 40; round++) {
    const double wander = round % 2 ? 1 : 0;
    device d = device_of(1e9, 100, wander);
    nbc_relation r = relation_of(&d, 100, wander);
    for (int k = 0; k < 400; k++) {
      const double bend_ns = 1 + (double)(k - 200) * (k - 200) * (round % 3 ? 0.05 : 0.5); /* convex over time */
      pass(&d, 1e6);
      CHECK(read_device(&d, &r, bend_ns, bend_ns) == NBC_OK);
      nbc_time t;
      pass(&d, 1e5);
      CHECK(nbc_relation_time(&r, stamp(&d), &t) == NBC_OK && fabsl(d.t_ns - t.t_ns) <= t.err_ns);
    }
    CHECK(r.upper_count <= NBC_RELATION_POINTS && r.lower_count <= NBC_RELATION_POINTS);
    CHECK(r.corner_count <= NBC_RELATION_CORNERS);
  }
}

static void bound_shrinks_with_the_baseline(void) {
  device d = device_of(1e9, 100, 0);
  nbc_relation r = relation_of(&d, 100, 0);
  nbc_time t;
  read_device(&d, &r, 500, 500);
  CHECK(nbc_relation_time(&r, stamp(&d) + 1000000000, &t) == NBC_OK);
  CHECK_NEAR(t.err_ns, 100000 + 500, 30); /* one reading: the limit of 100 ppm over one second */
  for (int k = 0; k < 100; k++) {
    pass(&d, 1e8);
    read_device(&d, &r, 500, 500);
  }
  CHECK(nbc_relation_time(&r, stamp(&d) + 1000000000, &t) == NBC_OK);
  CHECK(t.err_ns < 700); /* ten seconds: 0.1 ppm */
  CHECK(r.rate_err_ppm < 0.2 && fabs(r.rate_ppm + d.deviation * 1e6) <= r.rate_err_ppm);
}

static void steps_are_seen(void) {
  for (int round = 0; round < test_rounds(500); round++) {
    device d = device_of(1e9, 100, 0.1);
    nbc_relation r = relation_of(&d, 100, 0.1);
    for (int k = 0; k < 20; k++) {
      pass(&d, 1e7);
      CHECK(read_device(&d, &r, 100 + delay_of(1), 100) == NBC_OK);
    }
    const uint64_t old = stamp(&d);
    const double jump = pow(10, 4 + 5 * unit()) * (test_below(2) ? 1 : -1), t_step_ns = (double)d.t_ns;
    d.first_ticks += (uint64_t)(int64_t)jump;
    pass(&d, 1e7);
    nbc_time t;
    CHECK(read_device(&d, &r, 100, 100) == NBC_E_CLOCK);
    CHECK(r.step_count == 1 && r.gap_count == 0);
    CHECK((double)r.step_lo_ns <= t_step_ns && (double)r.step_hi_ns >= t_step_ns);
    CHECK(jump > 0 ? r.d_step_ns < 0 : r.d_step_ns > 0); /* counter ahead: the host comes too early */
    CHECK(fabs(fabs((double)r.d_step_ns) - fabs(jump)) < 3000 + 2e-4 * fabs(jump));
    const nbc_status status = nbc_relation_time(&r, old - 20000000000u, &t);
    CHECK(status == NBC_E_RANGE && t.err_ns == INT64_MAX); /* what was before is not known */
    for (int k = 0; k < 5; k++) { /* and the truth is inside again */
      pass(&d, 1e7);
      CHECK(nbc_relation_time(&r, stamp(&d), &t) == NBC_OK && fabsl(d.t_ns - t.t_ns) <= t.err_ns);
      CHECK(read_device(&d, &r, 100, 100) == NBC_OK);
    }
  }
}

/* A rate beyond the limits is a contradiction too: silence would break the promise. */
static void broken_limits_are_seen(void) {
  device d = device_of(1e9, 100, 0);
  d.deviation = 300e-6;
  d.most = 1;
  nbc_relation r = relation_of(&d, 100, 0);
  for (int k = 0; k < 50; k++) pass(&d, 1e8), read_device(&d, &r, 100, 100);
  CHECK(r.step_count > 40);
  d = device_of(1e9, 100, 0); /* constant, they say, but it moves by 1 ppm in ten seconds */
  d.deviation = 0;
  r = relation_of(&d, 100, 0);
  nbc_relation wandering = relation_of(&d, 100, 1);
  for (int k = 0; k < 200; k++) {
    d.slope = 0, d.deviation += 1e-8;
    d.steepest = 0;
    pass(&d, 1e8);
    const int64_t t_ns = (int64_t)d.t_ns;
    nbc_relation_add(&r, t_ns - 100, stamp(&d), t_ns + 100);
    CHECK(nbc_relation_add(&wandering, t_ns - 100, stamp(&d), t_ns + 100) == NBC_OK);
  }
  CHECK(r.step_count > 0);
  CHECK(wandering.step_count == 0 && wandering.rate_surely_moved_ppm > 0.3); /* drift watch */
  CHECK(wandering.rate_max_ppm - wandering.rate_min_ppm > 0.5 && wandering.rate_surely_moved_ppm <= 2.01);
}

static void short_counters_wrap(void) {
  for (int round = 0; round < test_rounds(200); round++) {
    device d = device_of(1e9, 100, 0.1);
    d.bits = 24 + (int)test_below(16); /* 17 ms ... 9 minutes */
    nbc_relation r = relation_of(&d, 100, 0.1);
    const double period_ns = pow(2, d.bits);
    int silent = 0;
    nbc_time t;
    for (int k = 0; k < 60; k++) {
      const double rest_ns = period_ns * (k % 10 == 9 ? 100 : 2 * unit()); /* also many wraps at once */
      pass(&d, rest_ns);
      silent = read_device(&d, &r, 100, 100) != NBC_OK;
      CHECK(!silent);
      pass(&d, period_ns * 0.45 * unit());
      CHECK(nbc_relation_time(&r, stamp(&d), &t) == NBC_OK && fabsl(d.t_ns - t.t_ns) <= t.err_ns);
    }
    CHECK(r.gap_count == 0 && r.step_count == 0);
    pass(&d, period_ns * 20000); /* 100 ppm of this is four wraps: nobody can know how many it were */
    CHECK(read_device(&d, &r, 100, 100) == NBC_E_CLOCK && r.gap_count == 1 && r.step_count == 0);
    pass(&d, period_ns * 0.3);
    CHECK(nbc_relation_time(&r, stamp(&d), &t) == NBC_OK && fabsl(d.t_ns - t.t_ns) <= t.err_ns);
  }
}

static void ticks_are_the_inverse(void) {
  for (int round = 0; round < test_rounds(500); round++) {
    device d = device_of(pow(10, 7 + 2 * unit()), 1000, 0.1);
    nbc_relation r = relation_of(&d, 1000, 0.1);
    for (int k = 0; k < 10; k++) pass(&d, 1e8), read_device(&d, &r, 50, 50);
    const int64_t t_ns = (int64_t)d.t_ns + (int64_t)within(1e10);
    uint64_t ticks;
    nbc_time t;
    CHECK(nbc_relation_ticks(&r, t_ns, &ticks) == NBC_OK);
    CHECK(nbc_relation_time(&r, ticks, &t) == NBC_OK);
    CHECK(fabs((double)(t.t_ns - t_ns)) <= 1e9 / d.hz + 1);
  }
}

/* Round trips whose far side answers with two stamps of its own: each half is a bound. */
static void half_readings_contain_truth(void) {
  for (int round = 0; round < test_rounds(300); round++) {
    device d = device_of(1e9, 100, 0.2);
    nbc_relation r = relation_of(&d, 100, 0.2);
    nbc_time t;
    uint64_t ticks = stamp(&d);
    CHECK(nbc_relation_time(&r, ticks, &t) == NBC_E_STATE);
    for (int k = 0; k < 60; k++) {
      pass(&d, unit() * 1e8);
      ticks = stamp(&d); /* device sends, host receives later */
      pass(&d, 100 + delay_of(round));
      if (k % 3) CHECK(nbc_relation_add_not_after(&r, ticks, (int64_t)ceill(d.t_ns)) == NBC_OK);
      const int64_t before_ns = (int64_t)floorl(d.t_ns); /* host sends, device receives later; some lost */
      pass(&d, 100 + delay_of(round / 5));
      if (k % 2) CHECK(nbc_relation_add_not_before(&r, before_ns, stamp(&d)) == NBC_OK);
      if (k < 3) continue;
      pass(&d, unit() * 1e7);
      CHECK(nbc_relation_time(&r, stamp(&d), &t) == NBC_OK && fabsl(d.t_ns - t.t_ns) <= t.err_ns);
    }
    CHECK(r.step_count == 0);
  }
}

static void late_readings_are_ignored(void) {
  device d = device_of(1e9, 100, 0);
  nbc_relation r = relation_of(&d, 100, 0), same;
  pass(&d, 1e9);
  const int64_t early_ns = (int64_t)d.t_ns;
  const uint64_t early = stamp(&d);
  for (int k = 0; k < 5; k++) pass(&d, 1e7), read_device(&d, &r, 100, 100);
  same = r;
  CHECK(nbc_relation_add(&r, early_ns - 50, early, early_ns + 50) == NBC_OK && r.late_count == 1);
  same.late_count = 1;
  CHECK(memcmp(&same, &r, sizeof r) == 0);
  CHECK(nbc_relation_add(&r, early_ns + 10000000, early, early_ns + 10000050) == NBC_E_CLOCK); /* not late: wrong */
}

static void bad_arguments_are_refused(void) {
  const nbc_relation_desc good = nbc_relation_crystal(1e9);
  nbc_relation_desc d;
  nbc_relation r;
  nbc_time t;
  uint64_t ticks;
  d = good, d.hz = 0;
  CHECK(nbc_relation_init(&r, &d) == NBC_E_INVAL);
  d = good, d.hz = (double)NAN;
  CHECK(nbc_relation_init(&r, &d) == NBC_E_INVAL);
  d = good, d.rate_limit_ppm = 0;
  CHECK(nbc_relation_init(&r, &d) == NBC_E_INVAL);
  d = good, d.rate_limit_ppm = 2e5;
  CHECK(nbc_relation_init(&r, &d) == NBC_E_INVAL);
  d = good, d.wander_ppm_per_s = -1;
  CHECK(nbc_relation_init(&r, &d) == NBC_E_INVAL);
  d = good, d.counter_bits = 65;
  CHECK(nbc_relation_init(&r, &d) == NBC_E_INVAL && nbc_relation_init(&r, NULL) == NBC_E_INVAL);
  d = good, d.counter_bits = 0, d.step_ticks = 0;
  CHECK(nbc_relation_init(&r, &d) == NBC_OK && r.desc.counter_bits == 64 && r.desc.step_ticks == 1);
  CHECK(nbc_relation_time(&r, 5, &t) == NBC_E_STATE && nbc_relation_ticks(&r, 5, &ticks) == NBC_E_STATE);
  CHECK(nbc_relation_add(&r, 2, 5, 1) == NBC_E_INVAL && nbc_relation_add(&r, INT64_MIN, 5, 1) == NBC_E_INVAL);
  CHECK(nbc_relation_add(&r, 0, 5, INT64_MAX) == NBC_E_INVAL && r.reading_count == 0);
  CHECK(nbc_relation_add(&r, 0, 5, 10) == NBC_OK);
  CHECK(nbc_relation_time(&r, (uint64_t)1 << 63, &t) == NBC_E_INVAL);
  CHECK(nbc_relation_ticks(&r, INT64_MAX, &ticks) == NBC_E_INVAL);
  d = good, d.counter_bits = 32;
  CHECK(nbc_relation_init(&r, &d) == NBC_OK && nbc_relation_add_not_after(&r, 1, 1) == NBC_E_INVAL);
}

/* Nonsense readings in any order: no crash, no endless loop, and the last one is usable. */
static void nonsense_is_survived(void) {
  for (int round = 0; round < test_rounds(3000); round++) {
    nbc_relation_desc d = nbc_relation_crystal(pow(10, 12 * unit()));
    nbc_relation r;
    nbc_time t;
    d.counter_bits = 1 + (int)test_below(64);
    d.step_ticks = test_below((uint64_t)1 << test_below(33));
    d.wander_ppm_per_s = round % 2 ? 0 : pow(10, 9 * unit());
    CHECK(nbc_relation_init(&r, &d) == NBC_OK);
    for (int k = 0; k < 60; k++) {
      const int64_t before_ns = (int64_t)test_rand() >> (3 + test_below(60));
      const int64_t after_ns = before_ns + (int64_t)(test_rand() >> (3 + test_below(60)));
      const uint64_t ticks = test_rand() >> test_below(64);
      const nbc_status status = k % 5 == 1 ? nbc_relation_add_not_before(&r, before_ns, ticks)
                                : k % 5 == 2 ? nbc_relation_add_not_after(&r, ticks, after_ns)
                                             : nbc_relation_add(&r, before_ns, ticks, after_ns);
      CHECK(status == NBC_OK || status == NBC_E_CLOCK || status == NBC_E_INVAL);
      const nbc_status said = nbc_relation_time(&r, test_rand() >> test_below(64), &t);
      CHECK(said == NBC_OK || said == NBC_E_STATE || said == NBC_E_INVAL || said == NBC_E_RANGE);
      if (said == NBC_OK) CHECK(t.err_ns >= 0);
      uint64_t back;
      nbc_relation_ticks(&r, before_ns, &back);
    }
  }
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(truth_is_inside);
  RUN(interval_is_as_narrow_as_all_readings_allow);
  RUN(adversary_cannot_exhaust_the_memory);
  RUN(bound_shrinks_with_the_baseline);
  RUN(steps_are_seen);
  RUN(broken_limits_are_seen);
  RUN(short_counters_wrap);
  RUN(ticks_are_the_inverse);
  RUN(half_readings_contain_truth);
  RUN(late_readings_are_ignored);
  RUN(bad_arguments_are_refused);
  RUN(nonsense_is_survived);
  return TEST_END();
}
