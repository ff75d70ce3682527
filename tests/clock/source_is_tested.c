/* A clock is taken only if it proves itself: the bound on host time holds on every simulated machine
   whose counter keeps its rate, and every kind of bad counter is refused and named. */
#include "src/overlap/clock.c"
#include "tests/pieces.h"
#include "tests/test.h"

enum { CORES = 4 };

/* A machine with simulated time: reading costs time, sometimes an interruption. */
typedef struct machine {
  double t_ns;            /* true time = RAW */
  double hz, hz_asleep;   /* rate of the counter, running and while the core sleeps */
  double ticks;           /* of core 0 */
  double step_at_ns, step_ticks; /* one step of the counter; 0 = none */
  double offset_ticks[CORES];
  double raw_broken_at_ns; /* RAW unreadable from here on; 0 = never */
  double raw_step_at_ns;   /* RAW steps back by 1 us; 0 = never */
  int core, cores;
  bool rough; /* reading takes up to 2 us now and then */
} machine;

static void pass(machine *m, double d_ns, double hz) {
  m->t_ns += d_ns;
  m->ticks += d_ns * hz * 1e-9;
}
static double jitter_ns(machine *m) {
  return 15 + (double)test_below(20) + (m->rough && test_below(8) == 0 ? (double)test_below(2000) : 0);
}
static uint64_t counter_now(const machine *m) {
  const double step = m->step_at_ns > 0 && m->t_ns >= m->step_at_ns ? m->step_ticks : 0;
  return (uint64_t)(1e12 + m->ticks + step + m->offset_ticks[m->core]);
}
static int64_t raw_now(const machine *m) {
  return (int64_t)m->t_ns - (m->raw_step_at_ns > 0 && m->t_ns >= m->raw_step_at_ns ? 1000 : 0);
}
static uint64_t sim_ticks(void *user) {
  machine *m = (machine *)user;
  pass(m, jitter_ns(m), m->hz);
  const uint64_t ticks = counter_now(m);
  pass(m, jitter_ns(m), m->hz);
  return ticks;
}
static int64_t sim_raw(void *user) {
  machine *m = (machine *)user;
  pass(m, jitter_ns(m), m->hz);
  const int64_t t_ns = raw_now(m);
  pass(m, jitter_ns(m), m->hz);
  return m->raw_broken_at_ns > 0 && m->t_ns >= m->raw_broken_at_ns ? -1 : t_ns;
}
static void sim_wait(void *user, int64_t d_ns) {
  machine *m = (machine *)user;
  pass(m, (double)d_ns + (double)test_below(50000), m->hz_asleep);
}
static bool sim_visit(void *user, int index) {
  machine *m = (machine *)user;
  pass(m, 3000, m->hz);
  if (index >= m->cores) return false;
  m->core = index < 0 ? 0 : index;
  return true;
}
static machine good_machine(void) {
  machine m;
  memset(&m, 0, sizeof m);
  m.t_ns = 1e9 + (double)test_below(1000000000000);
  m.hz = m.hz_asleep = 5e8 + (double)test_below(4000000000u);
  m.cores = CORES;
  return m;
}
static nbc__clock_probe probe_of(machine *m) {
  nbc__clock_probe p;
  memset(&p, 0, sizeof p);
  p.source = NBC__CLOCK_COUNTER;
  p.invariant = true;
  p.tick_ns = 1 + (int64_t)(1e9 / m->hz);
  p.ticks = sim_ticks;
  p.raw_ns = sim_raw;
  p.wait = sim_wait;
  p.visit = sim_visit;
  p.user = m;
  return p;
}

#define NEEDS_COUNTER() if (NBC__CLOCK_COUNTER == NBC_CLOCK_AUTO) SKIP("no counter on this processor")

/* Any machine, any rate, any interruptions: |host time - RAW| <= err, the true rate in its bound. */
static void bound_holds_on_any_good_machine(void) {
  NEEDS_COUNTER();
  for (int round = 0; round < 400; round++) {
    machine m = good_machine();
    nbc__clock_probe p = probe_of(&m);
    nbc_clock_desc desc = {0};
    nbc_clock clock;
    m.rough = round % 2;
    desc.calibrate_ns = round % 5 ? 0 : 1 + (int64_t)test_below(100000000);
    CHECK(nbc__clock_create_on(&desc, &p, &clock) == NBC_OK && clock.source == NBC__CLOCK_COUNTER);
    CHECK(clock.cpus_checked_count == CORES && clock.max_backstep_ns == 0 && clock.invariant);
    CHECK(fabs(clock.hz / m.hz - 1) * 1e6 <= clock.rate_err_ppm * 1.001 + 1e-3);
    double last_ppm = clock.rate_err_ppm;
    for (int k = 0; k < 60; k++) {
      pass(&m, (double)test_below((uint64_t)1 << (k / 2 + 4)), m.hz);
      const int64_t t_ns = nbc_clock_ticks_to_ns(&clock, counter_now(&m));
      const int64_t err_ns = nbc_clock_err_ns(&clock, t_ns);
      CHECK(fabs((double)t_ns - m.t_ns) <= (double)err_ns);
      CHECK(err_ns >= clock.base_err_ns);
      if (k % 16 == 15) {
        CHECK(nbc__clock_recalibrate_on(&clock, &p) == NBC_OK);
        CHECK(clock.rate_err_ppm <= last_ppm);
        last_ppm = clock.rate_err_ppm;
      }
    }
    CHECK(clock.rate_err_ppm < 20); /* recalibration pays: seconds have passed */
    /* times before the calibration have a bound too */
    const int64_t early_ns = clock.base_ns - 1000000000;
    CHECK(nbc_clock_err_ns(&clock, early_ns) >= clock.fit_err_ns + (int64_t)(clock.rate_err_ppm * 1000));
  }
}

/* Runs the automatic choice on a bad machine: falls back to RAW and says why. */
static nbc_clock refused(machine *m, nbc__clock_probe p, const char *reason) {
  nbc_clock_desc desc = {0};
  nbc_clock clock, forced;
  machine again = *m;
  CHECK(nbc__clock_create_on(&desc, &p, &clock) == NBC_OK);
  CHECK(clock.source == NBC_CLOCK_RAW);
  CHECK(strstr(clock.why, reason) != NULL);
  if (!strstr(clock.why, reason)) printf("  said: %s\n", clock.why);
  CHECK(clock.mult == (uint64_t)1 << 32 && nbc_clock_err_ns(&clock, 1) == 0);
  desc.source = NBC__CLOCK_COUNTER; /* asked for explicitly: an error */
  p.user = &again;
  CHECK(nbc__clock_create_on(&desc, &p, &forced) == NBC_E_CLOCK);
  CHECK(strstr(forced.why, reason) != NULL);
  return clock;
}

static void bad_counters_are_named(void) {
  NEEDS_COUNTER();
  machine m = good_machine();
  nbc__clock_probe p = probe_of(&m);
  p.invariant = false;
  refused(&m, p, "does not promise");

  m = good_machine(), p = probe_of(&m), p.refused = true;
  refused(&m, p, "kernel does not trust");

  m = good_machine(), m.hz_asleep = m.hz * 0.9, p = probe_of(&m); /* stops in a power state */
  refused(&m, p, "rate is not constant");
  m = good_machine(), m.hz_asleep = 0, p = probe_of(&m);
  refused(&m, p, "rate is not constant");

  m = good_machine(), m.step_at_ns = m.t_ns + 4e6, m.step_ticks = 5e4, p = probe_of(&m);
  refused(&m, p, "rate is not constant");
  m = good_machine(), m.step_at_ns = m.t_ns + 4e6, m.step_ticks = -m.hz, p = probe_of(&m);
  refused(&m, p, "stepped back");

  m = good_machine(), m.hz = m.hz_asleep = 0, p = probe_of(&m), p.tick_ns = 1;
  refused(&m, p, "does not move");

  m = good_machine(), p = probe_of(&m), p.source = NBC_CLOCK_AUTO;
  nbc_clock clock;
  CHECK(nbc__clock_create_on(NULL, &p, &clock) == NBC_OK && clock.source == NBC_CLOCK_RAW);
  CHECK(strstr(clock.why, "no counter known") != NULL);
}

static void cores_that_differ_are_named(void) {
  NEEDS_COUNTER();
  for (int core = 1; core < CORES; core++) {
    machine m = good_machine();
    m.hz = m.hz_asleep = 2e9;
    m.offset_ticks[core] = -2e5; /* 100 us behind */
    nbc__clock_probe p = probe_of(&m);
    nbc_clock clock = refused(&m, p, "steps back");
    CHECK(clock.max_backstep_ns > 90000 && clock.max_backstep_ns <= 100000);
    CHECK(strstr(clock.why, core == 1 ? "core 1" : core == 2 ? "core 2" : "core 3") != NULL);
    m = good_machine(), m.hz = m.hz_asleep = 2e9, m.offset_ticks[core] = 2e4, p = probe_of(&m); /* 10 us ahead */
    clock = refused(&m, p, "is off by more than");
    CHECK(clock.max_backstep_ns == 0);
    m = good_machine(), m.hz = m.hz_asleep = 2e9, m.offset_ticks[core] = -2e5, p = probe_of(&m);
    nbc_clock_desc desc = {0};
    desc.trust_counter = true;
    CHECK(nbc__clock_create_on(&desc, &p, &clock) == NBC_OK && clock.source == NBC__CLOCK_COUNTER);
    CHECK(clock.cpus_checked_count == 0);
  }
}

static void bad_raw_is_an_error(void) {
  nbc_clock clock;
  machine m = good_machine();
  m.raw_broken_at_ns = m.t_ns;
  nbc__clock_probe p = probe_of(&m);
  CHECK(nbc__clock_create_on(NULL, &p, &clock) == NBC_E_CLOCK && strstr(clock.why, "cannot be read"));
  m = good_machine(), m.raw_broken_at_ns = m.t_ns + 3e6, p = probe_of(&m); /* in the middle */
  CHECK(nbc__clock_create_on(NULL, &p, &clock) == NBC_E_CLOCK);
  if (NBC__CLOCK_COUNTER == NBC_CLOCK_AUTO) return;
  m = good_machine(), m.raw_step_at_ns = m.t_ns + 1000, p = probe_of(&m);
  nbc_clock_desc desc = {0};
  desc.source = NBC__CLOCK_COUNTER;
  CHECK(nbc__clock_create_on(&desc, &p, &clock) == NBC_E_CLOCK && strstr(clock.why, "RAW stepped back"));
}

static void recalibration_sees_a_changed_rate(void) {
  NEEDS_COUNTER();
  for (int round = 0; round < 50; round++) {
    machine m = good_machine();
    nbc__clock_probe p = probe_of(&m);
    nbc_clock clock;
    CHECK(nbc__clock_create_on(NULL, &p, &clock) == NBC_OK);
    const nbc_clock before = clock;
    pass(&m, 1e9, m.hz * (round % 2 ? 1.01 : 0.99));
    CHECK(nbc__clock_recalibrate_on(&clock, &p) == NBC_E_CLOCK);
    CHECK(strstr(clock.why, "disagree") != NULL);
    CHECK(clock.mult == before.mult && clock.base_ns == before.base_ns); /* unchanged, usable with care */
  }
}

static int64_t user_now(void *user) { return ++*(int64_t *)user; }

static void user_clock_is_used_as_it_is(void) {
  int64_t t_ns = 100;
  nbc_clock_desc desc = {0};
  nbc_clock clock;
  desc.source = NBC_CLOCK_USER;
  CHECK(nbc_clock_create(&desc, &clock) == NBC_E_INVAL);
  desc.now_ns = user_now;
  desc.user = &t_ns;
  CHECK(nbc_clock_create(&desc, &clock) == NBC_OK && t_ns == 100); /* not read at creation */
  CHECK(nbc_clock_now_ns(&clock) == 101 && nbc_clock_ticks(&clock) == 102);
  CHECK(nbc_clock_ticks_to_ns(&clock, 77) == 77 && nbc_clock_err_ns(&clock, 5) == 0);
  CHECK(nbc_clock_recalibrate(&clock) == NBC_OK);
  nbc_spin_ns(&clock, 50); /* start at 103, ends with the reading that is 50 later */
  CHECK(t_ns == 153);
  nbc_spin_ns(&clock, 0);
  CHECK(t_ns == 155);
}

static void bad_descs_are_refused(void) {
  nbc_clock clock;
  nbc_clock_desc desc = {0};
  desc.calibrate_ns = -1;
  CHECK(nbc_clock_create(&desc, &clock) == NBC_E_INVAL);
  desc.calibrate_ns = 0;
  desc.source = (nbc_clock_source)17;
  CHECK(nbc_clock_create(&desc, &clock) == NBC_E_INVAL);
  desc.source = NBC__CLOCK_COUNTER == NBC_CLOCK_TSC ? NBC_CLOCK_CNTVCT : NBC_CLOCK_TSC;
  CHECK(nbc_clock_create(&desc, &clock) == NBC_E_CLOCK && strstr(clock.why, "no such counter"));
  CHECK_STR(nbc_clock_source_name(NBC_CLOCK_TSC), "tsc");
  CHECK_STR(nbc_clock_source_name(NBC_CLOCK_CNTVCT), "cntvct");
  CHECK_STR(nbc_clock_source_name(NBC_CLOCK_RAW), "raw");
  CHECK_STR(nbc_clock_source_name(NBC_CLOCK_USER), "user");
}

/* The real machine, whatever it is: a clock exists, goes forward, follows RAW, and the thread may run
   where it could before. The slack is for virtual machines whose RAW is itself corrected. */
static void real_clock_works(void) {
  cpu_set_t before, after;
  nbc_clock clock;
  CHECK(sched_getaffinity(0, sizeof before, &before) == 0);
  CHECK(nbc_clock_create(NULL, &clock) == NBC_OK && clock.why[0]);
  printf("  %s, %.6f GHz +- %.2f ppm, %s\n", nbc_clock_source_name(clock.source), clock.hz * 1e-9, clock.rate_err_ppm, clock.why);
  CHECK(sched_getaffinity(0, sizeof after, &after) == 0 && CPU_EQUAL(&before, &after));
  int64_t last_ns = nbc_clock_now_ns(&clock);
  for (int i = 0; i < 10000; i++) {
    const int64_t raw_before_ns = nbc__clock_raw_ns(NULL), t_ns = nbc_clock_now_ns(&clock);
    const int64_t raw_after_ns = nbc__clock_raw_ns(NULL), slack_ns = nbc_clock_err_ns(&clock, t_ns) + 100000;
    CHECK(t_ns >= raw_before_ns - slack_ns && t_ns <= raw_after_ns + slack_ns);
    CHECK(t_ns >= last_ns || clock.source == NBC__CLOCK_COUNTER); /* plain counter reads may swap by ns */
    CHECK(t_ns >= last_ns - 1000);
    last_ns = t_ns;
  }
  nbc_spin_ns(&clock, 100000);
  CHECK(nbc_clock_now_ns(&clock) >= last_ns + 100000);
  CHECK(clock.read_cost_ns > 0);
  nbc_clock_desc desc = {0};
  desc.source = NBC_CLOCK_RAW;
  CHECK(nbc_clock_create(&desc, &clock) == NBC_OK && clock.source == NBC_CLOCK_RAW && clock.resolution_ns >= 1);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(bound_holds_on_any_good_machine);
  RUN(bad_counters_are_named);
  RUN(cores_that_differ_are_named);
  RUN(bad_raw_is_an_error);
  RUN(recalibration_sees_a_changed_rate);
  RUN(user_clock_is_used_as_it_is);
  RUN(bad_descs_are_refused);
  RUN(real_clock_works);
  return TEST_END();
}
