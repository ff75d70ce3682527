/* Medians with an interval that covers what it says, the four ratios on the definitions' own cases,
   and a diagnosis for every pattern. */
#include "tests/pieces.h"
#include "tests/test.h"

/* P(B = k) for n fair coins, straight from logarithms of factorials */
static double binomial(int n, int k) {
  return exp(lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0) - n * log(2.0));
}

/* Published one-sample tables: the ranks (l, n+1-l) of the 95 % and 99 % interval of the median. */
static void ranks_match_published_tables(void) {
  static const struct { size_t n; double confidence_ratio; size_t rank; double covered_ratio; } golden[] = {
      {6, 0.95, 1, 0.96875},  {7, 0.95, 1, 0.984375}, {8, 0.95, 1, 0.9921875}, {9, 0.95, 2, 0.9609375},
      {10, 0.95, 2, 0.978515625}, {12, 0.95, 3, 0.9614257812}, {15, 0.95, 4, 0.9648437500},
      {17, 0.95, 5, 0.9509582520}, {20, 0.95, 6, 0.9586105347}, {25, 0.95, 8, 0.9567147493},
      {8, 0.99, 1, 0.9921875}, {11, 0.99, 1, 0.9990234375}, {12, 0.99, 2, 0.9936523438}, {20, 0.99, 4, 0.9974231720}};
  for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
    double covered;
    CHECK(nbc__stats_rank(golden[i].n, golden[i].confidence_ratio, &covered) == golden[i].rank);
    CHECK_NEAR(covered, golden[i].covered_ratio, 1e-9);
  }
}

static void ranks_match_the_binomial_sum(void) {
  static const double wanted[] = {0.5, 0.8, 0.9, 0.95, 0.99, 0.999};
  for (int n = 1; n <= 1500; n += n < 200 ? 1 : 61)
    for (size_t w = 0; w < sizeof wanted / sizeof *wanted; w++) {
      double covered, reference = 0, inner = 0;
      const int l = (int)nbc__stats_rank((size_t)n, wanted[w], &covered);
      for (int k = l; k <= n - l; k++) reference += binomial(n, k);
      for (int k = l + 1; k <= n - l - 1; k++) inner += binomial(n, k);
      CHECK_NEAR(covered, reference, 1e-9);
      CHECK(covered >= wanted[w] || l == 1);
      CHECK(inner < wanted[w] + 1e-12 || 2 * (l + 1) > n + 1); /* the narrowest that covers enough */
    }
  double covered; /* huge counts cost O(sqrt n) and agree with the normal limit */
  const size_t n = 1000000, l = nbc__stats_rank(n, 0.95, &covered);
  CHECK_NEAR((double)l, 500000 - 1.95996 * 500, 2);
  CHECK(covered >= 0.95 && covered < 0.9502);
}

static void quantiles_interpolate(void) {
  const double v[] = {1, 2, 4, 8, 16};
  CHECK_NEAR(nbc_quantile(v, 5, 0), 1, 0);
  CHECK_NEAR(nbc_quantile(v, 5, 1), 16, 0);
  CHECK_NEAR(nbc_quantile(v, 5, 0.5), 4, 0);
  CHECK_NEAR(nbc_quantile(v, 5, 0.25), 2, 0);
  CHECK_NEAR(nbc_quantile(v, 5, 0.1), 1.4, 1e-12);
  CHECK_NEAR(nbc_quantile(v, 5, 0.9), 12.8, 1e-12);
  CHECK_NEAR(nbc_quantile(v, 4, 0.5), 3, 1e-12);
  CHECK_NEAR(nbc_quantile(v, 1, 0.7), 1, 0);
  CHECK_NEAR(nbc_quantile(v, 5, -1), 1, 0);
  CHECK_NEAR(nbc_quantile(v, 0, 1), 0, 0);
  CHECK_NEAR(nbc_quantile(v, 5, 2), 16, 0);
  CHECK_NEAR(nbc_quantile(v, 5, (double)NAN), 1, 0);
}

static void summary_of_known_samples(void) {
  double v[21];
  nbc_summary s;
  for (int i = 0; i < 21; i++) v[i] = (i * 8) % 21 + 1; /* 1..21 shuffled */
  CHECK(nbc_summarize(v, 21, 0, &s) == NBC_OK && s.count == 21 && s.confidence_ratio == 0.95);
  CHECK(s.min == 1 && s.max == 21 && s.median == 11 && s.q1 == 6 && s.q3 == 16);
  CHECK_NEAR(s.mean, 11, 1e-12);
  CHECK(s.median_lo == 6 && s.median_hi == 16); /* ranks 6 and 16 of 21 cover 97.3 % */
  CHECK_NEAR(s.covered_ratio, 0.9733963013, 1e-9);
  double one = 5, big[2] = {1.7e308, 1.7e308};
  CHECK(nbc_summarize(&one, 1, 0.9, &s) == NBC_OK && s.median == 5 && s.median_lo == 5 && s.median_hi == 5);
  CHECK(s.covered_ratio == 0); /* one sample says nothing about the median's spread */
  CHECK(nbc_summarize(big, 2, 0.9, &s) == NBC_OK && isfinite(s.mean) && s.covered_ratio == 0.5);
  v[3] = (double)NAN;
  CHECK(nbc_summarize(v, 21, 0, &s) == NBC_E_INVAL);
  v[3] = (double)INFINITY;
  CHECK(nbc_summarize(v, 21, 0, &s) == NBC_E_INVAL);
  v[3] = 0;
  CHECK(nbc_summarize(v, 0, 0, &s) == NBC_E_INVAL && nbc_summarize(v, 5, 1, &s) == NBC_E_INVAL);
  CHECK(nbc_summarize(v, 5, -0.5, &s) == NBC_E_INVAL && nbc_summarize(v, 5, (double)NAN, &s) == NBC_E_INVAL);
}

/* The interval must cover the median of skewed samples as often as it says. */
static void interval_covers_the_true_median(void) {
  enum { ROUNDS = 4000, N = 31 };
  int hit = 0;
  double covered = 0;
  for (int round = 0; round < ROUNDS; round++) {
    double v[N];
    nbc_summary s;
    for (int i = 0; i < N; i++) v[i] = -log(((double)(test_rand() >> 11) + 0.5) / 9007199254740992.0);
    nbc_summarize(v, N, 0.9, &s);
    hit += s.median_lo <= log(2.0) && log(2.0) <= s.median_hi;
    covered = s.covered_ratio;
  }
  CHECK(covered >= 0.9);
  CHECK_NEAR((double)hit / ROUNDS, covered, 6 * sqrt(covered * (1 - covered) / ROUNDS)); /* 6 sigma */
}

/* ---- ratios: golden cases from the definitions ---------------------------------------------------- */
static nbc_overlap_times times_of(double call, double comp, double wait, double comp_ref, double comm_ref) {
  nbc_overlap_times t;
  memset(&t, 0, sizeof t);
  t.call_ns = call, t.comp_ns = comp, t.wait_ns = wait;
  t.comp_ref_ns = comp_ref, t.comm_ref_ns = comm_ref;
  return t;
}
static nbc_metrics metrics_of(const nbc_overlap_times *t) {
  nbc_metrics m;
  CHECK(nbc_metrics_compute(t, &m) == NBC_OK);
  return m;
}

static void ratios_match_their_definitions(void) {
  nbc_overlap_times t = times_of(0, 1e6, 0, 1e6, 1e6); /* perfect: as long as the longer one */
  nbc_metrics m = metrics_of(&t);
  CHECK_NEAR(m.overhead_ratio, 0, 1e-12);
  CHECK_NEAR(m.slowdown_ratio, 1, 1e-12);
  CHECK_NEAR(m.comm_ratio, 0, 1e-12);
  CHECK(isnan(m.mpi_impact_ratio));
  t = times_of(5e4, 1e6, 9.5e5, 1e6, 1e6); /* serialized: computation + communication */
  m = metrics_of(&t);
  CHECK_NEAR(m.overhead_ratio, 1, 1e-12);
  CHECK_NEAR(m.comm_ratio, 1, 1e-12);
  t = times_of(1e5, 3e6, 1e6, 2e6, 5e5); /* (4.1 - 2) / 0.5, 3 / 2, 1.1 / 0.5 */
  t.comp_passive_mpi_ns = 2.5e6;
  m = metrics_of(&t);
  CHECK_NEAR(m.overhead_ratio, 4.2, 1e-12);
  CHECK_NEAR(m.slowdown_ratio, 1.5, 1e-12);
  CHECK_NEAR(m.comm_ratio, 2.2, 1e-12);
  CHECK_NEAR(m.mpi_impact_ratio, 1.25, 1e-12);
  t.measured_ns = 4.5e6; /* t4 - t1 measured, not the sum */
  m = metrics_of(&t);
  CHECK_NEAR(m.overhead_ratio, 5, 1e-12);
  t = times_of(0, 9e5, 0, 1e6, 1e6); /* faster than possible: negative */
  m = metrics_of(&t);
  CHECK_NEAR(m.overhead_ratio, -0.1, 1e-12);
  /* the published 10.96: communication and computation of 1 ms each, 11.96 ms measured */
  t = times_of(1e5, 1.186e7 - 1e6, 1e6, 1e6, 1e6);
  m = metrics_of(&t);
  CHECK_NEAR(m.overhead_ratio, 10.96, 1e-9);
}

static void bad_times_are_refused(void) {
  nbc_metrics m;
  nbc_overlap_times t = times_of(1, 1, 1, 0, 1);
  CHECK(nbc_metrics_compute(&t, &m) == NBC_E_INVAL && isnan(m.overhead_ratio));
  t = times_of(1, 1, 1, 1, -1);
  CHECK(nbc_metrics_compute(&t, &m) == NBC_E_INVAL);
  t = times_of(-1, 1, 1, 1, 1);
  CHECK(nbc_metrics_compute(&t, &m) == NBC_E_INVAL);
  t = times_of(1, (double)NAN, 1, 1, 1);
  CHECK(nbc_metrics_compute(&t, &m) == NBC_E_INVAL);
  t = times_of(1, 1, 1, (double)INFINITY, 1);
  CHECK(nbc_metrics_compute(&t, &m) == NBC_E_INVAL);
  t = times_of(1, 1, 1, (double)NAN, 1);
  CHECK(nbc_metrics_compute(&t, &m) == NBC_E_INVAL);
}

static void every_pattern_has_its_diagnosis(void) {
  static const struct { nbc_diagnosis diagnosis; double call, comp, wait, comp_ref, comm_ref; } golden[] = {
      {NBC_DIAGNOSIS_FINE, 10, 1000, 20, 1000, 800},
      {NBC_DIAGNOSIS_NO_PROGRESSION, 10, 1000, 790, 1000, 800},
      {NBC_DIAGNOSIS_CORE_STOLEN, 10, 1500, 20, 1000, 800},
      {NBC_DIAGNOSIS_CONTENTION, 10, 1500, 900, 1000, 800},
      {NBC_DIAGNOSIS_TOO_LITTLE_COMPUTATION, 10, 400, 400, 400, 800},
      {NBC_DIAGNOSIS_TOO_LITTLE_COMPUTATION, 10, 10, 790, 10, 800},
      {NBC_DIAGNOSIS_REFERENCE_IMPRECISE, 10, 700, 20, 1000, 800},
      {NBC_DIAGNOSIS_PARTIAL, 10, 1000, 390, 1000, 800}};
  bool seen[NBC_DIAGNOSIS_COUNT] = {false};
  for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
    const nbc_overlap_times t =
        times_of(golden[i].call, golden[i].comp, golden[i].wait, golden[i].comp_ref, golden[i].comm_ref);
    const nbc_metrics m = metrics_of(&t);
    char text[300], small[8];
    const nbc_diagnosis d = nbc_diagnose(&t, &m, text, sizeof text);
    CHECK(d == golden[i].diagnosis);
    seen[d] = true;
    CHECK(strncmp(text, nbc_diagnosis_text(d), strcspn(nbc_diagnosis_text(d), ":")) == 0);
    CHECK(strpbrk(text, "0123456789") != NULL); /* the numbers that led to it */
    CHECK(nbc_diagnose(&t, &m, NULL, 0) == d);
    memset(small, 'x', sizeof small);
    nbc_diagnose(&t, &m, small, 4);
    CHECK(small[3] == 0 && small[4] == 'x');
  }
  for (int d = 0; d < NBC_DIAGNOSIS_COUNT; d++) CHECK(seen[d]);
  CHECK(nbc_diagnosis_text((nbc_diagnosis)99) != NULL);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(ranks_match_published_tables);
  RUN(ranks_match_the_binomial_sum);
  RUN(quantiles_interpolate);
  RUN(summary_of_known_samples);
  RUN(interval_covers_the_true_median);
  RUN(ratios_match_their_definitions);
  RUN(bad_times_are_refused);
  RUN(every_pattern_has_its_diagnosis);
  return TEST_END();
}
