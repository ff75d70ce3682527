/* Two clocks: how one relates to the other, with a guaranteed error. */
#pragma once
#include "../base/config.h"
#include "../base/status.h"

/* ============================================================================================== */
/* [RELATION] 9. Two clocks: how one relates to the other, with a guaranteed error                */
/* ============================================================================================== */
/* A point in time whose truth is known to lie in t_ns - err_ns ... t_ns + err_ns. */
typedef struct nbc_time {
  int64_t t_ns, err_ns;
} nbc_time;

/* Feeds on bracketed readings: the host's time before, the device's counter, the host's time after.
   Nothing is assumed about how long a reading takes or where in the bracket the counter was read,
   so delays of any kind make the answer wider, never wrong. Each reading is two half-planes for the
   line (offset, rate) through the newest reading; the lines that pass all of them form a convex
   polygon, and every answer is the range of that polygon. What is assumed is in the desc: a limit
   for the rate's deviation and for how fast the rate may change. Readings that contradict these are
   seen: the clock stepped. Cost: O(1) per reading (at most NBC_RELATION_POINTS points of either
   convex hull are kept; forgetting one only widens), O(1) per answer, no allocation, no system
   call. Plain data: may be copied, also to another process. One thread at a time may add; any
   number may ask meanwhile only on a copy. */
#define NBC_RELATION_POINTS  24
#define NBC_RELATION_CORNERS 32

typedef struct nbc_relation_desc {
  double hz;               /* nominal frequency of the counter; 1e9 when it counts nanoseconds */
  double rate_limit_ppm;   /* the true rate is always within this of hz; > 0, <= 100,000 */
  double wander_ppm_per_s; /* the true rate changes by at most this per second; 0 = not at all */
  int counter_bits;        /* after so many the counter wraps; 0 = 64 */
  uint64_t step_ticks;     /* a reading x means x <= counter < x + step_ticks; 0 = 1 */
} nbc_relation_desc;
/* A quartz oscillator without compensation: 200 ppm, 0.5 ppm per second, 64 bits, steps of 1. */
NBC_API nbc_relation_desc nbc_relation_crystal(double hz);

typedef struct nbc_relation_point {
  int64_t at_ticks, t_ns; /* ticks without wraps, counted from the first reading */
} nbc_relation_point;

/* Treat the fields as read-only. */
typedef struct nbc_relation {
  nbc_relation_desc desc; /* values in force */
  /* answers about the rate: host nanoseconds per nominal device nanosecond, minus 1 */
  double rate_ppm, rate_err_ppm;     /* at the newest reading: truth in rate_ppm +- rate_err_ppm */
  double rate_min_ppm, rate_max_ppm; /* drift watch: extremes of rate_ppm since the last step ... */
  double rate_surely_moved_ppm;      /* ... and by how much the rate changed at least */
  double rate_upper_min_ppm, rate_lower_max_ppm;
  uint64_t reading_count;         /* used */
  uint64_t late_count;            /* older than one used already: ignored */
  uint64_t step_count;            /* contradictions: the clock stepped or broke its limits */
  uint64_t gap_count;             /* silences in which a short counter may have wrapped unseen */
  int64_t step_lo_ns, step_hi_ns; /* the last step or gap happened between these host times */
  int64_t d_step_ns;              /* by how much at least the last reading was off; 0 for a gap */
  /* the newest reading: where the polygon stands */
  uint64_t newest_raw_ticks;
  int64_t newest_ticks, newest_ns, newest_before_ns, newest_after_ns;
  int upper_count, lower_count, corner_count;
  nbc_relation_point upper[NBC_RELATION_POINTS], lower[NBC_RELATION_POINTS];
  double corner_offset_ns[NBC_RELATION_CORNERS], corner_rate_ratio[NBC_RELATION_CORNERS];
} nbc_relation;

/* ret NBC_OK | NBC_E_INVAL (a field of desc out of its range) */
NBC_API nbc_status nbc_relation_init(nbc_relation *relation, const nbc_relation_desc *desc);
/* One bracketed reading. ret NBC_OK | NBC_E_INVAL (before_ns > after_ns, or beyond +-73 years) |
   NBC_E_CLOCK: the reading contradicts all before, so the clock stepped (step_lo_ns ...
   step_hi_ns); the relation has begun anew with this reading and is usable */
NBC_API nbc_status nbc_relation_add(nbc_relation *relation, int64_t before_ns, uint64_t ticks,
                                    int64_t after_ns);
/* Half a reading, for round trips in which the other side answers with readings of its own: the
   counter showed `ticks` not before (not after) this host time. Counters of 56 bits and more only.
   ret as above */
NBC_API nbc_status nbc_relation_add_not_before(nbc_relation *relation, int64_t before_ns,
                                               uint64_t ticks);
NBC_API nbc_status nbc_relation_add_not_after(nbc_relation *relation, uint64_t ticks,
                                              int64_t after_ns);
/* When did an event stamped `ticks` happen? A short counter's stamp is taken nearest to the newest
   reading. ret NBC_OK | NBC_E_STATE (no reading yet) | NBC_E_RANGE (before the last step or gap:
   t_ns is by the relation of today, its error unknown, err_ns INT64_MAX) | NBC_E_INVAL (further
   from the newest reading than 73 years) */
NBC_API nbc_status nbc_relation_time(const nbc_relation *relation, uint64_t ticks, nbc_time *out);
/* The same between two states of one relation, for stamps looked at later: the intersection of both
   answers. ret as above | NBC_E_MISMATCH (they contradict each other: a step between them) */
NBC_API nbc_status nbc_relation_time_between(const nbc_relation *before, const nbc_relation *after,
                                             uint64_t ticks, nbc_time *out);
/* The reading at which the middle of the answer is nearest t_ns. ret NBC_OK | NBC_E_STATE |
   NBC_E_INVAL, NBC_E_RANGE (t_ns too far away) */
NBC_API nbc_status nbc_relation_ticks(const nbc_relation *relation, int64_t t_ns, uint64_t *ticks);

/* ---- for later pieces ---- */
/* With x = nominal device time since the newest reading, host time is
       h(x) = newest_ns + x + o + r x + w(x),   |w(x)| <= min(wander x^2 / 2, 2 limit |x|),
   where (o, r) is unknown. A reading at x says h(x) <= after and h(x + step) >= before: with the
   largest w, two half-planes for (o, r). Adding wander x^2 / 2 to all points of a hull keeps its
   corners when the origin moves (the difference is linear in x), so hulls grow at one end only. */
#define NBC__SYNC_MAX_NS (INT64_C(1) << 61)

NBC__PRIVATE bool nbc__sync_polygon(nbc_relation *r);
NBC__PRIVATE double nbc__sync_bound_ns(const nbc_relation *r, const nbc_relation_point *p, int side,
                                       double *x_ns);
