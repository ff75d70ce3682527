/* Measuring: common starts, repeats until sure, changes on the way. */
#pragma once
#include "../base/config.h"
#include "../base/status.h"
#include "../overlap/clock.h"
#include "../overlap/stats.h"
#include "sync.h"

/* ============================================================================================== */
/* [MEASURE] 20. Measuring: common starts, repeats until sure, changes on the way                 */
/* ============================================================================================== */
/* ---- samples: what a list of measured times says ------------------------------------------- */
typedef struct nbc_sample_check {
  size_t outlier_count; /* beyond 1.5 interquartile ranges from the quartiles */
  bool changed;         /* the level changed on the way (Pettitt's test, p < 0.01) ... */
  size_t change_index;  /* ... most likely from this sample on */
  double change_p_ratio;
} nbc_sample_check;
/* Looks at samples in the order they were taken. O(n log n). ret NBC_OK | NBC_E_INVAL (no sample,
   not finite) | NBC_E_NOMEM */
NBC_API nbc_status nbc_samples_check(const double *values, size_t count, nbc_sample_check *out);
/* nbc_summarize of samples in the order they were taken, which stay as they are. The interval of
   the median assumes no independence: neighbours that resemble each other (one scheduler's slice,
   one frequency) count for fewer samples, as many as independent ones would be as sure. That is
   estimated from how long it takes until a sample says nothing of a later one being above the
   median; about 30 samples show it, fewer do not. independent_count may be NULL. ret as
   nbc_summarize | NBC_E_NOMEM */
NBC_API nbc_status nbc_samples_summarize(const double *values, size_t count,
                                         double confidence_ratio, nbc_summary *out,
                                         double *independent_count);
/* A random order of 0 ... count - 1, the same on all ranks for the same seed: sizes are measured in
   random order, so that slow changes of the machine do not look like an effect of size. */
NBC_API void nbc_shuffle(int *order, int count, uint64_t seed);

/* ---- why a measurement ended --------------------------------------------------------------- */
typedef enum nbc_stop {
  NBC_STOP_SURE = 0, /* the confidence interval of the median is as narrow as asked for */
  NBC_STOP_COUNT,    /* max_count samples */
  NBC_STOP_TIME,     /* time_limit_ns */
  NBC_STOP_LATE      /* no start was on time for too long: see missed_count */
} nbc_stop;
NBC_API const char *nbc_stop_name(nbc_stop stop); /* "sure", "count", "time", "late" */

typedef struct nbc_measurement {
  nbc_summary time;    /* ns */
  nbc_summary skew;    /* latest start - earliest start, ns; one process: empty */
  nbc_summary slowest; /* the longest time any single rank saw, ns; one process: empty */
  double err_ns;       /* guaranteed bound on the clocks' part in any sample of time */
  nbc_stop stop;
  int64_t missed_count;     /* starts with a late rank: discarded everywhere */
  int64_t window_ns;        /* the last window */
  double independent_count; /* samples of time are as sure as so many independent ones */
  nbc_sample_check check;
  double *samples_ns; /* in order, when asked for (rank 0); nbc_measurement_free */
  size_t sample_count;
} nbc_measurement;
NBC_API void nbc_measurement_free(nbc_measurement *m); /* the samples only; NULL allowed */

typedef struct nbc_repeat { /* when to stop; zeroed = defaults */
  int warmup_count;         /* not counted; 0 = 3, < 0 = none */
  int min_count, max_count; /* samples; 0 = 10, 1000 */
  double ci_ratio;          /* half the interval of the median / median; 0 = 0.02 */
  double confidence_ratio;  /* 0 = 0.95 */
  int64_t time_limit_ns;    /* 0 = 10 s */
  int64_t min_time_ns;      /* not sure before this, so that more than one state of the machine is
                               seen; 0 = 50 ms or half the limit, < 0 = none */
  bool keep_samples;
} nbc_repeat;

/* ---- one process: a loop around an operation ----------------------------------------------- */
typedef enum nbc_timing {
  NBC_TIMING_LOOP = 0, /* one reading before and after batch_count calls */
  NBC_TIMING_EACH      /* readings around every single call: adds them to the result. To show it. */
} nbc_timing;
typedef nbc_status (*nbc_measure_fn)(void *user);

/* Time of one call of fn: each sample is the mean of a batch, minus subtract_ns (the time, measured
   before, of what else the loop has to do). batch_count 0 = so many that a batch takes 20 us, and
   max_count of them the least time. repeat NULL = as all 0.
   ret NBC_OK | NBC_E_INVAL | NBC_E_NOMEM | NBC_E_CLOCK (it stepped backwards) | what fn returned */
NBC_API nbc_status nbc_measure_loop(const nbc_clock *clock, const nbc_repeat *repeat,
                                    nbc_timing timing, int batch_count, double subtract_ns,
                                    nbc_measure_fn fn, void *user, nbc_measurement *out);

/* ---- all ranks: max(end) - min(start) on synchronised clocks ------------------------------- */
typedef enum nbc_start {
  NBC_START_WINDOW = 0, /* all start at one global time; a sample with a late rank is discarded */
  NBC_START_BARRIER     /* all start when they leave a barrier: for comparison, see the skew */
} nbc_start;
typedef struct nbc_measure_desc {
  nbc_repeat repeat;
  nbc_start start;
  int64_t window_ns;     /* the first one; then twice what the slowest rank needs; 0 = 50 us */
  int64_t window_max_ns; /* 0 = 1 s; at most one hour */
  int64_t limit_ns;      /* a rank that never answers; 0 = 30 s */
} nbc_measure_desc;

/* Collective: fn is called once per sample on all ranks; desc NULL = as all 0. Rank 0 decides; all
   ranks get the result (samples: rank 0). ret NBC_OK | NBC_E_INVAL | NBC_E_NOMEM | NBC_E_TIMEOUT
   (err names the rank) | transport errors | the first error that fn returned anywhere, or
   NBC_E_CLOCK where a clock stepped backwards, on all ranks (err names the rank) */
NBC_API nbc_status nbc_measure(nbc_sync *sync, const nbc_measure_desc *desc, nbc_measure_fn fn,
                               void *user, nbc_measurement *out, nbc_error *err);
