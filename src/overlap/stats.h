/* Medians, quantiles, confidence intervals; the four ratios and the diagnosis. */
#pragma once
#include "../base/config.h"
#include "../base/status.h"

/* ============================================================================================== */
/* [STATS] 4. Medians, quantiles, confidence intervals; the four ratios and the diagnosis         */
/* ============================================================================================== */
typedef struct nbc_summary {
  size_t count;
  double min, q1, median, q3, max, mean;
  double median_lo, median_hi; /* nonparametric confidence interval of the median */
  double confidence_ratio;     /* the one asked for; few samples cover less: see covered_ratio */
  double covered_ratio;        /* coverage the interval really has (binomial), <= 1 */
} nbc_summary;

/* Sorts values in place and summarises. confidence_ratio 0 = 0.95. Quantiles interpolate linearly
   between order statistics; the interval uses order statistics l, n+1-l with binomial coverage.
   ret NBC_OK | NBC_E_INVAL (count 0, NaN or infinite values, confidence not in 0..1) */
NBC_API nbc_status nbc_summarize(double *values, size_t count, double confidence_ratio,
                                 nbc_summary *out);
/* Quantile q (0..1) of ascending values; of none: 0. */
NBC_API double nbc_quantile(const double *sorted, size_t count, double q);

/* One measurement t1 Icollective t2 Compute t3 Wait t4 and its references [R §4.1]. All in ns. */
typedef struct nbc_overlap_times {
  double call_ns, comp_ns, wait_ns; /* t2-t1, t3-t2, t4-t3 */
  double measured_ns;               /* t4-t1; 0 = sum of the three */
  double comp_ref_ns;               /* computation alone */
  double comm_ref_ns;               /* nonblocking call + wait at once */
  double comp_passive_mpi_ns;       /* computation beside an idle runtime; 0 = not measured */
  double ref_err_ratio;             /* relative uncertainty of the references; 0 = 0.05 */
} nbc_overlap_times;

/* The four ratios of [R §4.1]; NaN where an input is missing. */
typedef struct nbc_metrics {
  double overhead_ratio;   /* (measured - max(comp_ref, comm_ref)) / min(comp_ref, comm_ref) */
  double mpi_impact_ratio; /* comp_passive_mpi / comp_ref */
  double slowdown_ratio;   /* comp / comp_ref */
  double comm_ratio;       /* (call + wait) / comm_ref */
} nbc_metrics;

#define NBC_DIAGNOSIS_LIST(X)                                                                      \
  X(FINE, "fine: the communication is hidden and the computation undisturbed")                     \
  X(NO_PROGRESSION, "no progression: nothing moves while the application computes")                \
  X(CORE_STOLEN, "core stolen: the transfer is hidden but slows the computation down")             \
  X(CONTENTION, "contention: both slow down and little is hidden")                                 \
  X(TOO_LITTLE_COMPUTATION, "not enough computation to hide this communication")                   \
  X(REFERENCE_IMPRECISE, "reference imprecise: measured faster than the references allow")         \
  X(PARTIAL, "partial: some of the communication is hidden")

typedef enum nbc_diagnosis {
#define NBC__X(name, text) NBC_DIAGNOSIS_##name,
  NBC_DIAGNOSIS_LIST(NBC__X)
#undef NBC__X
      NBC_DIAGNOSIS_COUNT
} nbc_diagnosis;

/* ret NBC_OK | NBC_E_INVAL (a reference is not positive, a time is negative or NaN) */
NBC_API nbc_status nbc_metrics_compute(const nbc_overlap_times *times, nbc_metrics *out);
/* The diagnosis [R §4.1.3] and, in text (may be NULL), one sentence with the numbers behind it.
   With e = ref_err_ratio, h = min(1, comp_ref / comm_ref) the share that computation can hide at
   best, hidden = (1 - comm_ratio) / h, slowed = slowdown_ratio > 1 + 2e; the first that applies:
     measured < (1 - e) max(comp_ref, comm_ref)  REFERENCE_IMPRECISE
     h < 2e                                      TOO_LITTLE_COMPUTATION
     hidden <= 0.2                               CONTENTION when slowed, else NO_PROGRESSION
     hidden < 0.8                                PARTIAL
     slowed                                      CORE_STOLEN
     h < 1 - e                                   TOO_LITTLE_COMPUTATION, else FINE */
NBC_API nbc_diagnosis nbc_diagnose(const nbc_overlap_times *times, const nbc_metrics *metrics,
                                   char *text, size_t text_bytes);
NBC_API const char *nbc_diagnosis_text(nbc_diagnosis diagnosis);

/* ---- for later pieces ---- */
NBC__PRIVATE int nbc__stats_order(const void *a, const void *b);
NBC__PRIVATE size_t nbc__stats_rank(size_t n, double confidence_ratio, double *covered_ratio);
