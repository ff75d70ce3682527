/* stats.c: medians, quantiles, confidence intervals; the four ratios and the diagnosis. */
#include "stats.h"
#include "../base/locale.h"

/* ============================================================================================== */
/* [STATS] 4. Statistics, ratios, diagnosis                                                       */
/* ============================================================================================== */
NBC__PRIVATE int nbc__stats_order(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

NBC_API double nbc_quantile(const double *sorted, size_t count, double q) {
  if (!sorted || count == 0) return 0;
  if (!(q > 0)) return sorted[0];
  if (q >= 1) return sorted[count - 1];
  const double place = q * (double)(count - 1);
  const size_t below = (size_t)place;
  if (below + 1 >= count) return sorted[count - 1];
  return sorted[below] + (place - (double)below) * (sorted[below + 1] - sorted[below]);
}

/* C(2m, m) / 4^m, the middle of the binomial distribution of 2m fair coins: the product of (2i - 1)
   / 2i. For m = 500 and more, Stirling's series: 1 / sqrt(pi m) (1 - 1/8m + 1/128m^2 + 5/1024m^3 -
   21/32768m^4), exact to double precision there. */
static double nbc__stats_middle(size_t m) {
  if (m < 500) {
    double p = 1;
    for (size_t i = 1; i <= m; i++) p *= (double)(2 * i - 1) / (double)(2 * i);
    return p;
  }
  const double r = 1 / (double)m;
  return sqrt(r / 3.14159265358979323846) *
         (1 + r * (-1 / 8.0 + r * (1 / 128.0 + r * (5 / 1024.0 - r * 21 / 32768.0))));
}

/* The order statistics X(l), X(n+1-l) cover the median with probability P(l <= B <= n-l), where B
   counts heads of n fair coins: whatever the distribution of the values is, each lies below the
   median with probability 1/2. Sums outwards from the middle until that is enough: B and n - B are
   alike, so each step adds its term twice. Returns the largest such l, or 1 when even [min, max]
   covers less. O(sqrt(n)), any n: the terms that matter are within some sqrt(n) of the middle. */
NBC__PRIVATE size_t nbc__stats_rank(size_t n, double confidence_ratio, double *covered_ratio) {
  const size_t m = n / 2;
  size_t l = n % 2 ? m + 1 : m;    /* now l..n-l holds nothing (odd n) or the one middle value */
  double p = nbc__stats_middle(m); /* P(B = l), or of the value next outside for odd n */
  double covered = n % 2 ? 0 : p;
  if (n % 2) p *= (double)(2 * m + 1) / (double)(2 * m + 2);
  while (l > 1 && covered < confidence_ratio) {
    l--;
    if (n % 2 == 0 || l < m) p *= (double)(l + 1) / (double)(n - l);
    covered += 2 * p;
  }
  if (n < 2) covered = 0;
  *covered_ratio = covered < 1 ? covered : 1;
  return l > 0 ? l : 1;
}

NBC_API nbc_status nbc_summarize(double *values, size_t count, double confidence_ratio,
                                 nbc_summary *out) {
  if (!values || !out) return NBC_E_INVAL;
  double sum = 0;
  memset(out, 0, sizeof *out);
  if (confidence_ratio == 0) confidence_ratio = 0.95;
  if (count == 0 || !(confidence_ratio > 0 && confidence_ratio < 1)) return NBC_E_INVAL;
  for (size_t i = 0; i < count; i++)
    if (!isfinite(values[i])) return NBC_E_INVAL;
  qsort(values, count, sizeof *values, nbc__stats_order);
  for (size_t i = 0; i < count; i++) sum += values[i] / (double)count; /* cannot overflow */
  const size_t l = nbc__stats_rank(count, confidence_ratio, &out->covered_ratio);
  out->count = count;
  out->min = values[0];
  out->q1 = nbc_quantile(values, count, 0.25);
  out->median = nbc_quantile(values, count, 0.5);
  out->q3 = nbc_quantile(values, count, 0.75);
  out->max = values[count - 1];
  out->mean = sum;
  out->median_lo = values[l - 1];
  out->median_hi = values[count - l];
  out->confidence_ratio = confidence_ratio;
  return NBC_OK;
}

/* ---- the four ratios and what they say ----------------------------------------------------- */
static double nbc__stats_measured_ns(const nbc_overlap_times *t) {
  return t->measured_ns > 0 ? t->measured_ns : t->call_ns + t->comp_ns + t->wait_ns;
}

NBC_API nbc_status nbc_metrics_compute(const nbc_overlap_times *t, nbc_metrics *out) {
  if (!t || !out) return NBC_E_INVAL;
  const double given[] = {
      t->call_ns, t->comp_ns, t->wait_ns, t->measured_ns, t->comp_passive_mpi_ns, t->ref_err_ratio};
  /* The best that overlap can reach is the longer of the two alone, the worst both one after the
     other: 0 and 1 of the overhead ratio. */
  const double longer_ns = fmax(t->comp_ref_ns, t->comm_ref_ns),
               shorter_ns = fmin(t->comp_ref_ns, t->comm_ref_ns);
  out->overhead_ratio = out->mpi_impact_ratio = out->slowdown_ratio = out->comm_ratio = NAN;
  for (size_t i = 0; i < sizeof given / sizeof *given; i++)
    if (!(given[i] >= 0) || !isfinite(given[i])) return NBC_E_INVAL;
  /* fmin and fmax pass over a NaN: each reference is looked at itself */
  if (!(t->comp_ref_ns > 0) || !(t->comm_ref_ns > 0) || !isfinite(longer_ns)) return NBC_E_INVAL;
  out->overhead_ratio = (nbc__stats_measured_ns(t) - longer_ns) / shorter_ns; /* [R eq. 4.1] */
  if (t->comp_passive_mpi_ns > 0) out->mpi_impact_ratio = t->comp_passive_mpi_ns / t->comp_ref_ns;
  if (t->comp_ns > 0) out->slowdown_ratio = t->comp_ns / t->comp_ref_ns;
  out->comm_ratio = (t->call_ns + t->wait_ns) / t->comm_ref_ns;
  return NBC_OK;
}

/* The order is that of doubt: a reference that cannot be right makes all that follows meaningless,
   too little computation makes "how much was hidden" meaningless. Only then ratios speak. Errors of
   the references widen each limit. */
static nbc_diagnosis nbc__stats_decide(const nbc_overlap_times *t, const nbc_metrics *m,
                                       double *hidden_ratio) {
  const double err = t->ref_err_ratio > 0 ? t->ref_err_ratio : 0.05;
  const double hideable =
      fmin(1, t->comp_ref_ns / t->comm_ref_ns); /* at best this share disappears */
  const bool slowed = m->slowdown_ratio > 1 + 2 * err;
  *hidden_ratio = (1 - m->comm_ratio) / hideable;
  if (nbc__stats_measured_ns(t) < fmax(t->comp_ref_ns, t->comm_ref_ns) * (1 - err))
    return NBC_DIAGNOSIS_REFERENCE_IMPRECISE;
  if (hideable < 2 * err) return NBC_DIAGNOSIS_TOO_LITTLE_COMPUTATION;
  if (*hidden_ratio <= 0.2) return slowed ? NBC_DIAGNOSIS_CONTENTION : NBC_DIAGNOSIS_NO_PROGRESSION;
  if (*hidden_ratio < 0.8) return NBC_DIAGNOSIS_PARTIAL;
  if (slowed) return NBC_DIAGNOSIS_CORE_STOLEN;
  return hideable < 1 - err ? NBC_DIAGNOSIS_TOO_LITTLE_COMPUTATION : NBC_DIAGNOSIS_FINE;
}

NBC_API nbc_diagnosis nbc_diagnose(const nbc_overlap_times *t, const nbc_metrics *m, char *text,
                                   size_t text_bytes) {
  if (!t || !m) return NBC_DIAGNOSIS_REFERENCE_IMPRECISE;
  double hidden_ratio;
  const nbc_diagnosis d = nbc__stats_decide(t, m, &hidden_ratio);
  if (!text || text_bytes == 0) return d;
  const char *name = nbc_diagnosis_text(d);
  const int head = (int)strcspn(name, ":");
  const locale_t before = nbc__locale_begin();
  if (d == NBC_DIAGNOSIS_REFERENCE_IMPRECISE)
    snprintf(text, text_bytes,
             "%.*s: measured %.4g us, less than the longer reference alone (computation %.4g us, "
             "communication %.4g us)",
             head, name, nbc__stats_measured_ns(t) / 1e3, t->comp_ref_ns / 1e3,
             t->comm_ref_ns / 1e3);
  else
    snprintf(text, text_bytes,
             "%.*s: %.0f %% of what %.4g us of computation can hide of %.4g us of communication "
             "was hidden "
             "(communication ratio %.2f), the computation took %.2f times its reference, overhead "
             "ratio %.2f "
             "(0 perfect, 1 as serialized)",
             head, name, fmax(0, hidden_ratio) * 100, t->comp_ref_ns / 1e3, t->comm_ref_ns / 1e3,
             m->comm_ratio, m->slowdown_ratio, m->overhead_ratio);
  nbc__locale_end(before);
  return d;
}

NBC_API const char *nbc_diagnosis_text(nbc_diagnosis diagnosis) {
  static const char *const texts[] = {
#define NBC__X(name, text) text,
      NBC_DIAGNOSIS_LIST(NBC__X)
#undef NBC__X
  };
  return (unsigned)diagnosis < NBC_DIAGNOSIS_COUNT ? texts[diagnosis] : "?";
}
