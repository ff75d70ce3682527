/* The dedicated-core model: the thesis's own cases [R tables 6.1, 6.2], the refined mode, the
 * readers. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#include "tests/test.h"

/* "printed" is the thesis's own prediction; applying its equation to its printed inputs gives
   "formula". They differ; the equation is what the library promises. */
typedef struct golden {
  const char *name;
  double noprog, comp, n_nb, min_nb, n_test, min_test, n_wait, min_wait, blocking, other, printed,
      formula;
} golden;
static const golden rows[] = {
    {"Kripke 1", 147, 73.6, 480000, 2.14e-5, 1119810, 2.05e-5, 10000, 3.2e-5, 11.7, 0.0, 119.82,
     123.755},
    {"Kripke 2", 155, 145.7, 96, 2.16e-5, 109679, 2.2e-5, 2, 7.19e-5, 4.98, 0.34, 156.75, 163.148},
    {"MiniMD 1", 112, 94.55, 0, 2.50e-5, 0, 0, 5862, 5.33e-6, 19.16, 2.20, 98, 122.245},
    {"MiniMD 2", 17.9, 9.73, 0, 7.49e-5, 0, 0, 5862, 5.47e-6, 4.99, 1.42, 12.61, 16.821},
    {"MiniMD 3", 57.3, 34.9, 0, 1.03e-5, 0, 0, 5862, 5.59e-6, 0.41, 17.8, 54.9, 55.469}};

static nbc_dedicated_input in;
static nbc_dedicated_result out;
static nbc_error err;

static void fill(const golden *g) {
  memset(&in, 0, sizeof in);
  in.noprog_s = g->noprog, in.comp_s = g->comp, in.core_count = 16;
  in.nb_count = g->n_nb, in.min_nb_s = g->min_nb, in.test_count = g->n_test,
  in.min_test_s = g->min_test;
  in.wait_count = g->n_wait, in.min_wait_s = g->min_wait, in.blocking_s = g->blocking,
  in.other_s = g->other;
  in.progressed_ratio = -1;
}

static void thesis_cases(void) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    fill(&rows[i]);
    CHECK(nbc_dedicated_predict(&in, false, &out, &err) == NBC_OK);
    CHECK_NEAR(out.total_s, rows[i].formula, 0.0006);
    CHECK(fabs(out.total_s - rows[i].printed) > 0.5); /* that column is another */
    CHECK_NEAR(out.speedup_ratio, rows[i].noprog / rows[i].formula, 1e-4);
    CHECK_NEAR(out.comp_s + out.nb_s + out.test_s + out.wait_s + out.turned_s + out.blocking_s +
                   out.other_s,
               out.total_s, 1e-9);
    for (int h = 0; h < 3; h++) CHECK(out.holds[h] == NBC_DEDICATED_UNKNOWN && out.evidence[h][0]);
    nbc_dedicated_result refined;
    CHECK(nbc_dedicated_predict(&in, true, &refined, &err) == NBC_OK);
    CHECK_NEAR(refined.total_s, out.total_s, 1e-12); /* nothing was measured */
  }
}

static void alpha_turns_blocking_calls(void) {
  fill(&rows[2]);
  in.blocking_count = 5863;
  in.alpha_ratio = 0.25;
  CHECK(nbc_dedicated_predict(&in, false, &out, &err) == NBC_OK);
  CHECK_NEAR(out.turned_s, 0.25 * 5863 * (2.50e-5 + 5.33e-6), 1e-12);
  CHECK_NEAR(out.blocking_s, 0.75 * 19.16, 1e-12);
}

static void refined_mode_uses_measurements(void) {
  fill(&rows[0]);
  in.request_size = 3;
  in.requests[0] = (nbc_dedicated_request){1000, 1e-3, 5e-3}; /* hidden */
  in.requests[1] = (nbc_dedicated_request){1000, 3e-3, 1e-3}; /* 2 ms stay visible */
  in.requests[2] =
      (nbc_dedicated_request){1000, 2e-5, 1e-5}; /* 10 us: less than a wait costs anyway */
  in.scaling_size = 2;
  in.scaling_threads[0] = 14, in.scaling_threads[1] = 16;
  in.scaling_s[0] = 1.0, in.scaling_s[1] = 0.99; /* memory-bound: the 15th core brings little */
  in.progressed_ratio = 0.5;
  CHECK(nbc_dedicated_predict(&in, true, &out, &err) == NBC_OK);
  CHECK_NEAR(out.wait_s, 10000 * 3.2e-5 + 1000 * (2e-3 - 3.2e-5), 1e-9);
  CHECK_NEAR(out.comp_s, 73.6 / (0.5 * (1.0 + 0.99)) * 1.0,
             0.01); /* harmonic mean of the two times / T(16) */
  CHECK(out.holds[0] == NBC_DEDICATED_FAILS && out.holds[1] == NBC_DEDICATED_FAILS &&
        out.holds[2] == NBC_DEDICATED_FAILS);
  CHECK(strstr(out.evidence[0], "2e+03 of 3e+03 transfers") && strstr(out.evidence[1], "50.0 %"));
  CHECK(nbc_dedicated_predict(&in, false, &out, &err) == NBC_OK);
  CHECK_NEAR(out.total_s, rows[0].formula, 0.0006); /* the formula does not look at them */
  in.requests[1].comp_s = 4e-3;
  in.scaling_s[0] = 16.0 / 14, in.scaling_s[1] = 1.0;
  in.progressed_ratio = 0;
  CHECK(nbc_dedicated_predict(&in, true, &out, &err) == NBC_OK);
  CHECK(out.holds[0] == NBC_DEDICATED_HOLDS && out.holds[1] == NBC_DEDICATED_HOLDS &&
        out.holds[2] == NBC_DEDICATED_HOLDS);
}

static void bad_values_are_named(void) {
  fill(&rows[0]), in.core_count = 1;
  CHECK(nbc_dedicated_predict(&in, false, &out, &err) == NBC_E_RANGE &&
        strstr(err.text, "core_count"));
  fill(&rows[0]), in.comp_s = -1;
  CHECK(nbc_dedicated_predict(&in, false, &out, &err) == NBC_E_RANGE && strstr(err.text, "comp_s"));
  fill(&rows[0]), in.min_nb_s = NAN;
  CHECK(nbc_dedicated_predict(&in, false, &out, &err) == NBC_E_RANGE &&
        strstr(err.text, "min_nb_s"));
  fill(&rows[0]), in.alpha_ratio = 1.5;
  CHECK(nbc_dedicated_predict(&in, false, &out, &err) == NBC_E_RANGE &&
        strstr(err.text, "alpha_ratio"));
  fill(&rows[0]), in.scaling_size = 1, in.scaling_threads[0] = 0;
  CHECK(nbc_dedicated_predict(&in, false, &out, &err) == NBC_E_RANGE &&
        strstr(err.text, "scaling"));
}

static nbc_status parse(const char *text) {
  return nbc_dedicated_parse(text, strlen(text), "f", &in, &err);
}

static void parameter_files_are_read(void) {
  CHECK(parse("# comment\nname My run\r\ncomp_s 10\ncore_count 8 # cores\n\nscaling 7 2.5\nscaling "
              "8 2\nrequest 5 0.1 0.2\n"
              "progressed_ratio 0.25") == NBC_OK);
  CHECK_STR(in.name, "My run");
  CHECK(in.core_count == 8 && in.scaling_size == 2 && in.scaling_threads[0] == 7 &&
        in.request_size == 1);
  CHECK_NEAR(in.comp_s, 10, 0);
  CHECK_NEAR(in.requests[0].comp_s, 0.2, 0);
  CHECK_NEAR(in.progressed_ratio, 0.25, 0);
  static const struct {
    const char *text, *says;
    int line;
  } bad[] = {{"comp_s", "comp_s: number", 1},  {"comp_s -1", "number >= 0", 1},
             {"\n\033[2J 1", ":2: a line begins with a field", 2},
             {"\ncomp 5", "no such field", 2}, {"comp_s 1 2", "more than", 1},
             {"comp_s inf", "number", 1},      {"comp_s 1e999", "number", 1},
             {"comp_s 5x", "number", 1},       {"core_count 1", ">= 2", 1},
             {"scaling 4", "number", 1},       {"request 1 2", "number", 1},
             {"scaling 0 1", "threads", 1}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    CHECK(parse(bad[i].text) == NBC_E_PARSE && strstr(err.text, bad[i].says) &&
          err.line == bad[i].line);
}

static const char mpip[] =
    "@ mpiP\n@ Command : ./a.out\n"
    "---------------------------------------------------------------------------\n"
    "@--- MPI Time (seconds) ---------------------------------------------------\n"
    "---------------------------------------------------------------------------\n"
    "Task    AppTime    MPITime     MPI%\n"
    "   0         10          2    20.00\n"
    "   1         10          4    40.00\n"
    "   *         20          6    30.00\n"
    "---------------------------------------------------------------------------\n"
    "@--- Callsite Time statistics (all, milliseconds): 12 ---------------------\n"
    "---------------------------------------------------------------------------\n"
    "Name              Site Rank  Count      Max     Mean      Min   App%   MPI%\n"
    "Isend                1    0    100      0.2     0.02     0.01   0.20   1.00\n"
    "Isend                1    1    300      0.3     0.02    0.005   0.20   1.00\n"
    "Isend                1    *    400      0.3     0.02    0.005   0.20   1.00\n"
    "Waitall              2    0     50       30       20      0.1   10.0   50.0\n"
    "Waitall              2    1     30       90       60      0.2   30.0   75.0\n"
    "Waitany              6    1     20       90       60      0.3   30.0   75.0\n"
    "Allreduce            3    0     10      100       50        1    5.0   25.0\n"
    "Allreduce            3    1     10      100       60        1    5.0   25.0\n"
    "Test                 4    0   1000     0.01    0.002    0.001   0.02   0.10\n"
    "Comm_dup             5    0      1        8        8        8   0.08   0.40\n"
    "---------------------------------------------------------------------------\n"
    "@--- Callsite Message Sent statistics (all, sent bytes) -------------------\n"
    "Isend                1    0    100     1000     1000     1000  1e+05\n"
    "@--- End of Report --------------------------------------------------------\n";

static void mpip_reports_are_read(void) {
  CHECK(nbc_dedicated_parse_mpip(mpip, sizeof mpip - 1, "m", &in, &err) == NBC_OK);
  CHECK_NEAR(in.noprog_s, 10, 1e-12);
  CHECK_NEAR(in.comp_s, 7, 1e-12);
  CHECK_NEAR(in.nb_count, 200, 1e-12);
  CHECK_NEAR(in.min_nb_s, 5e-6, 1e-15);
  CHECK_NEAR(in.wait_count, 50, 1e-12);
  CHECK_NEAR(in.min_wait_s, 1e-4, 1e-15);
  CHECK_NEAR(in.test_count, 500, 1e-12);
  CHECK_NEAR(in.min_test_s, 1e-6, 1e-15);
  CHECK_NEAR(in.blocking_count, 10, 1e-12);
  CHECK_NEAR(in.blocking_s, 0.55, 1e-12);
  CHECK_NEAR(in.other_s, 0.004, 1e-12);
  for (size_t cut = 0; cut < sizeof mpip - 1;
       cut += 7) { /* a damaged one is an error or a shorter one */
    const nbc_status status = nbc_dedicated_parse_mpip(mpip, cut, "m", &in, &err);
    CHECK(status == NBC_OK || (status == NBC_E_PARSE && strstr(err.text, "section")));
  }
}

static void reports_of_this_library_are_read(void) {
  nbc_monitor *monitor;
  nbc_recorder *me;
  nbc_report *report;
  const int64_t us = 1000;
  nbc_clock clock;
  const nbc_clock_desc clock_desc = {0};
  CHECK(nbc_clock_create(&clock_desc, &clock) == NBC_OK);
  const uint64_t bytes[] = {1000};
  const double seconds[] = {100e-6};
  nbc_table *table;
  CHECK(nbc_table_create(bytes, seconds, 1, "t", &table, &err) == NBC_OK);
  nbc_monitor_desc desc = {0};
  desc.clock = &clock;
  desc.table_same_node = desc.table_other_node = table;
  CHECK(nbc_monitor_create(&desc, &monitor) == NBC_OK);
  const int64_t t0 = nbc_clock_now_ns(&clock);
  CHECK(nbc_recorder_attach_at(monitor, t0, &me) == NBC_OK);
  int64_t t = t0;
  for (uint64_t i = 0; i < 10;
       i++) { /* 5 us post, 30 us computation, 80 us wait; the transfer takes 100 us */
    nbc_call_enter_at(me, NBC_KIND_ISEND, t);
    nbc_xfer_begin_at(me, i + 1, 1000, NBC_KIND_ISEND, NBC_PEER_OTHER_NODE, t);
    nbc_call_exit_at(me, t + 5 * us);
    nbc_call_enter_at(me, NBC_KIND_WAIT, t + 35 * us);
    nbc_xfer_end_at(me, i + 1, t + 115 * us);
    nbc_call_exit_at(me, t + 115 * us);
    t += 200 * us;
  }
  CHECK(nbc_monitor_report_at(monitor, t, &report) == NBC_OK);
  nbc_dedicated_from_report(report, &in);
  CHECK_NEAR(in.noprog_s, 2e-3, 1e-12);
  CHECK_NEAR(in.comp_s, 10 * 115e-6, 1e-12);
  CHECK_NEAR(in.nb_count, 10, 0);
  CHECK_NEAR(in.min_nb_s, 5e-6, 1e-12);
  CHECK_NEAR(in.wait_count, 10, 0);
  CHECK_NEAR(in.min_wait_s, 80e-6, 1e-12);
  CHECK(in.request_size == 1);
  CHECK_NEAR(in.requests[0].request_count, 10, 0);
  CHECK_NEAR(in.requests[0].xfer_s, 100e-6, 1e-12);
  CHECK_NEAR(in.waited_s, 10 * 80e-6, 1e-12);
  CHECK_NEAR(in.visible_s, 10 * 85e-6, 1e-12); /* 15 of 100 us are certainly hidden */
  CHECK(in.requests[0].comp_s > 15e-6 &&
        in.requests[0].comp_s < 60e-6); /* 30 us, to a factor of 2 */
  nbc_report_free(report);
  nbc_monitor_destroy(monitor);
  nbc_table_free(table);
}

/* Between two measured numbers of threads, the speed is interpolated, not the time. */
static void scaling_is_interpolated_in_speeds(void) {
  fill(&rows[0]); /* 16 cores */
  in.scaling_size = 2;
  in.scaling_threads[0] = 14, in.scaling_threads[1] = 16;
  in.scaling_s[0] = 3, in.scaling_s[1] = 1;
  CHECK(nbc_dedicated_predict(&in, true, &out, &err) == NBC_OK);
  CHECK_NEAR(out.comp_s, in.comp_s * 1.5, 1e-9); /* 1 / mean(1/3, 1) = 1.5; mean(3, 1) = 2 */
}

/* A wait longer than its transfers can explain is for others: it may stay. */
static void waits_for_others_widen_the_prediction(void) {
  fill(&rows[0]);
  in.core_count = 16;
  CHECK(nbc_dedicated_predict(&in, true, &out, &err) == NBC_OK);
  CHECK(out.others_s == 0 && out.least_speedup_ratio == out.speedup_ratio);
  in.waited_s = 30 + in.wait_count * in.min_wait_s + in.test_count * in.min_test_s, in.visible_s = 12;
  CHECK(nbc_dedicated_predict(&in, true, &out, &err) == NBC_OK);
  CHECK_NEAR(out.others_s, 18, 1e-9);
  CHECK_NEAR(out.least_speedup_ratio, in.noprog_s / (out.total_s + 18), 1e-9);
  in.visible_s = 100; /* the transfers explain all of it */
  CHECK(nbc_dedicated_predict(&in, true, &out, &err) == NBC_OK && out.others_s == 0);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(thesis_cases);
  RUN(alpha_turns_blocking_calls);
  RUN(refined_mode_uses_measurements);
  RUN(bad_values_are_named);
  RUN(parameter_files_are_read);
  RUN(mpip_reports_are_read);
  RUN(reports_of_this_library_are_read);
  RUN(scaling_is_interpolated_in_speeds);
  RUN(waits_for_others_widen_the_prediction);
  return TEST_END();
}
