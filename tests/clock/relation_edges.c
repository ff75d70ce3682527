/* The relation of two clocks at its edges: of two readings at one tick the stricter counts; the limit of the
   rate bounds what is far away, to both sides; the true rate lies within rate_ppm +- rate_err_ppm, also when
   delays are one-sided, so that the truth lies at a corner of what is possible. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#include "tests/test.h"

static double unit(void) { return (double)(test_rand() >> 11) * 0x1p-53; }

static void the_stricter_of_two_readings_counts(void) {
  for (int order = 0; order < 2; order++) {
    nbc_relation r;
    nbc_time t;
    nbc_relation_desc d = nbc_relation_crystal(1e9);
    CHECK(nbc_relation_init(&r, &d) == NBC_OK);
    CHECK(nbc_relation_add(&r, order ? 1000 : 1490, 5000, order ? 2000 : 1510) == NBC_OK);
    CHECK(nbc_relation_add(&r, order ? 1490 : 1000, 5000, order ? 1510 : 2000) == NBC_OK);
    CHECK(nbc_relation_time(&r, 5000, &t) == NBC_OK);
    CHECK(t.err_ns <= 12 && t.t_ns - t.err_ns <= 1490 && t.t_ns + t.err_ns >= 1510);
  }
}

static void far_away_the_limit_of_the_rate_bounds(void) {
  const int64_t far_ns = 100000000000; /* 100 s: wander alone would allow 2,500 ppm */
  nbc_relation r;
  nbc_time t;
  nbc_relation_desc d = nbc_relation_crystal(1e9);
  d.rate_limit_ppm = 50, d.wander_ppm_per_s = 50;
  CHECK(nbc_relation_init(&r, &d) == NBC_OK);
  CHECK(nbc_relation_add(&r, 990, 1000, 1010) == NBC_OK);
  for (int side = -1; side <= 1; side += 2) {
    CHECK(nbc_relation_time(&r, (uint64_t)(1000 + side * far_ns), &t) == NBC_OK);
    CHECK_NEAR((double)t.t_ns, (double)(1000 + side * far_ns), 20);
    CHECK_NEAR((double)t.err_ns, 50e-6 * (double)far_ns + 11, 1000);
  }
}

static void the_true_rate_lies_inside(void) {
  for (int round = 0; round < test_rounds(400); round++) {
    const double limit_ppm = 200, rate = (2 * unit() - 1) * limit_ppm * 1e-6, start_ns = unit() * 1e9;
    const int early = round % 3; /* 0: asked late, answered at once; 1: the other way; 2: by chance */
    nbc_relation r;
    nbc_relation_desc d = nbc_relation_crystal(1e9);
    d.wander_ppm_per_s = -0.0;
    CHECK(nbc_relation_init(&r, &d) == NBC_OK);
    for (int k = 0; k < 12; k++) {
      const double ticks = 1000 + k * (1e6 + 1e8 * unit() * unit()), before = unit() * 500, after = unit() * 500;
      const double t_ns = start_ns + ticks * (1 + rate);
      const double b = early == 0 ? 0 : before, a = early == 1 ? 0 : after;
      const uint64_t shown = (uint64_t)floor(ticks); /* counter shows whole ticks: step 1 */
      const nbc_status status = nbc_relation_add(&r, (int64_t)floor(t_ns - b), shown, (int64_t)ceil(t_ns + a));
      CHECK(status == NBC_OK);
      CHECK(fabs(rate * 1e6 - r.rate_ppm) <= r.rate_err_ppm);
      if (k == 0) CHECK_NEAR(r.rate_err_ppm, limit_ppm, 1e-6);
    }
    CHECK(r.rate_err_ppm < limit_ppm);
  }
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(the_stricter_of_two_readings_counts);
  RUN(far_away_the_limit_of_the_rate_bounds);
  RUN(the_true_rate_lies_inside);
  return TEST_END();
}
