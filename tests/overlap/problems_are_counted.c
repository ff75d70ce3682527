/* What the monitor cannot use as told is counted, named and never fatal: one test per problem. */
#include "tests/overlap/sim.h"

#define ISEND NBC_KIND_ISEND, NBC_PEER_SAME_NODE
static nbc_monitor_desc plain;

/* Exactly the given problem, n times, and nothing else. */
static void only(nbc_report *r, nbc_problem problem, uint64_t n) {
  for (int p = 0; p < NBC_PROBLEM_COUNT; p++) CHECK(r->problems[p] == (p == (int)problem ? n : 0));
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  CHECK(nbc_report_write_text(r, out) == NBC_OK);
  fclose(out);
  CHECK(strstr(text, nbc_problem_text(problem)) != NULL);
  free(text);
  nbc_report_free(r);
}

static void id_reused_counts_the_older_as_case_3(void) {
  sim s = sim_create(10, 1, plain);
  nbc_xfer_begin_at(s.me, 5, 100, ISEND, 0);
  nbc_xfer_begin_at(s.me, 5, 100, ISEND, 1000);
  nbc_xfer_end_at(s.me, 5, 2000);
  nbc_report *r = sim_report(&s, 3000);
  CHECK(r->total.count == 2 && r->total.case_count[2] == 1 && r->total.case_count[1] == 1);
  only(r, NBC_PROBLEM_id_reused, 1);
  sim_destroy(&s);
}

static void ended_twice_and_end_unknown_are_told_apart(void) {
  sim s = sim_create(10, 1, plain);
  nbc_xfer_begin_at(s.me, 5, 100, ISEND, 0);
  nbc_xfer_end_at(s.me, 5, 500);
  nbc_xfer_end_at(s.me, 5, 600);
  only(sim_report(&s, 700), NBC_PROBLEM_ended_twice, 1);
  sim_destroy(&s);
  s = sim_create(10, 1, plain);
  nbc_xfer_end_at(s.me, 6, 600);
  only(sim_report(&s, 700), NBC_PROBLEM_end_unknown, 1);
  sim_destroy(&s);
}

static void never_ended_is_case_3_in_each_report_and_still_ends_later(void) {
  sim s = sim_create(10, 1, plain);
  nbc_xfer_begin_at(s.me, 5, 100, ISEND, 0);
  for (int i = 0; i < 2; i++) {
    nbc_report *r = sim_report(&s, 700);
    CHECK(r->total.case_count[2] == 1 && r->total.max_overlap_ns == 110);
    only(r, NBC_PROBLEM_never_ended, 1);
  }
  nbc_xfer_end_at(s.me, 5, 800);
  nbc_report *r = sim_report(&s, 900);
  CHECK(r->total.count == 1 && r->total.case_count[1] == 1 && r->problems[NBC_PROBLEM_never_ended] == 0);
  nbc_report_free(r);
  sim_destroy(&s);
}

static void ended_before_begin_is_case_3(void) {
  sim s = sim_create(10, 1, plain);
  nbc_xfer_begin_at(s.me, 5, 100, ISEND, 1000);
  nbc_xfer_end_at(s.me, 5, 900);
  nbc_report *r = sim_report(&s, 2000);
  CHECK(r->total.case_count[2] == 1 && r->total.min_overlap_ns == 0 && r->total.max_overlap_ns == 110);
  only(r, NBC_PROBLEM_ended_before_begin, 1);
  sim_destroy(&s);
}

static void clock_backward_keeps_sums_consistent(void) {
  sim s = sim_create(10, 1, plain);
  nbc_call_enter_at(s.me, NBC_KIND_SEND, 1000);
  nbc_call_exit_at(s.me, 900);
  nbc_report *r = sim_report(&s, 2000);
  CHECK(r->comp_ns == 2000 && r->call_ns == 0);
  only(r, NBC_PROBLEM_clock_backward, 1);
  sim_destroy(&s);
}

static void exit_without_enter_is_ignored(void) {
  sim s = sim_create(10, 1, plain);
  nbc_call_exit_at(s.me, 100);
  nbc_report *r = sim_report(&s, 1000);
  CHECK(r->comp_ns == 1000);
  only(r, NBC_PROBLEM_exit_without_enter, 1);
  sim_destroy(&s);
}

static void table_too_slow_is_clamped_to_the_window(void) {
  sim s = sim_create(1000000, 1, plain);
  nbc_xfer_begin_at(s.me, 5, 100, ISEND, 0);
  nbc_xfer_end_at(s.me, 5, 400);
  nbc_report *r = sim_report(&s, 700);
  CHECK(r->total.xfer_ns == 400 && r->total.min_overlap_ns == 0 && r->total.max_overlap_ns == 400);
  only(r, NBC_PROBLEM_table_too_slow, 1);
  sim_destroy(&s);
}

static void transfers_overflow_counts_as_case_3(void) {
  nbc_monitor_desc desc = plain;
  desc.max_transfers = 16;
  sim s = sim_create(10, 1, desc);
  for (uint64_t i = 0; i < 20; i++) nbc_xfer_begin_at(s.me, i, 100, ISEND, 0);
  nbc_report_free(sim_report(&s, 500)); /* what ends before it is looked at takes no place */
  for (uint64_t i = 0; i < 16; i++) nbc_xfer_end_at(s.me, i, 1000);
  nbc_report *r = sim_report(&s, 1000);
  CHECK(r->total.count == 20 && r->total.case_count[1] == 16 && r->total.case_count[2] == 4);
  only(r, NBC_PROBLEM_transfers_overflow, 4);
  sim_destroy(&s);
}

static void cells_overflow_loses_no_transfer(void) {
  nbc_monitor_desc desc = plain;
  desc.max_cells = 3;
  sim s = sim_create(10, 1, desc);
  for (uint64_t i = 0; i < 10; i++) nbc_xfer_end_only_at(s.me, 1ull << (2 * i), ISEND, 100);
  for (int i = 0; i < 2; i++) nbc_xfer_end_only_at(s.me, 1ull << 18, ISEND, 100);
  nbc_report *r = sim_report(&s, 1000);
  CHECK(r->total.count == 12);
  only(r, NBC_PROBLEM_cells_overflow, 3); /* those of 256 KiB, the fourth class */
  sim_destroy(&s);
}

static void sections_too_many_too_deep_or_unbalanced(void) {
  nbc_monitor_desc desc = plain;
  desc.max_sections = 3; /* the root and two more */
  sim s = sim_create(10, 1, desc);
  char name[16];
  for (int i = 0; i < 4; i++) {
    snprintf(name, sizeof name, "s%d", i);
    nbc_section_begin_at(s.me, name, 100 * i);
    nbc_section_end_at(s.me, NULL, 100 * i + 50);
  }
  nbc_report *r = sim_report(&s, 1000);
  CHECK(r->section_count == 3);
  CHECK(r->sections[1].comp_ns == 50 && r->comp_ns == 1000);
  only(r, NBC_PROBLEM_sections_overflow, 2);
  sim_destroy(&s);
  s = sim_create(10, 1, plain);
  for (int i = 0; i < NBC_MAX_DEPTH + 3; i++) nbc_section_begin_at(s.me, "deep", i);
  for (int i = 0; i < NBC_MAX_DEPTH + 3; i++) nbc_section_end_at(s.me, "deep", 100 + i);
  only(sim_report(&s, 1000), NBC_PROBLEM_sections_overflow, 3);
  sim_destroy(&s);
  s = sim_create(10, 1, plain);
  nbc_section_end_at(s.me, "never begun", 10);
  nbc_section_begin_at(s.me, "a", 20);
  nbc_section_end_at(s.me, "b", 30);
  only(sim_report(&s, 1000), NBC_PROBLEM_section_unbalanced, 2);
  sim_destroy(&s);
}

static void cancelled_transfers_do_not_count(void) {
  sim s = sim_create(10, 1, plain);
  nbc_xfer_begin_at(s.me, 5, 100, ISEND, 0);
  nbc_xfer_cancel(s.me, 5);
  nbc_report *r = sim_report(&s, 700);
  CHECK(r->total.count == 0);
  only(r, NBC_PROBLEM_cancelled, 1);
  sim_destroy(&s);
}

static void bad_descs_are_refused(void) {
  static const uint64_t down[] = {100, 50};
  nbc_monitor *m;
  nbc_monitor_desc desc = plain;
  desc.class_edges_bytes = down;
  desc.class_edge_count = 2;
  CHECK(nbc_monitor_create(&desc, &m) == NBC_E_INVAL && m == NULL);
  desc.class_edge_count = NBC_MAX_CLASSES;
  CHECK(nbc_monitor_create(&desc, &m) == NBC_E_INVAL);
  desc.class_edges_bytes = NULL;
  CHECK(nbc_monitor_create(&desc, &m) == NBC_E_INVAL);
  CHECK(nbc_monitor_create(&plain, NULL) == NBC_E_INVAL);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(id_reused_counts_the_older_as_case_3);
  RUN(ended_twice_and_end_unknown_are_told_apart);
  RUN(never_ended_is_case_3_in_each_report_and_still_ends_later);
  RUN(ended_before_begin_is_case_3);
  RUN(clock_backward_keeps_sums_consistent);
  RUN(exit_without_enter_is_ignored);
  RUN(table_too_slow_is_clamped_to_the_window);
  RUN(transfers_overflow_counts_as_case_3);
  RUN(cells_overflow_loses_no_transfer);
  RUN(sections_too_many_too_deep_or_unbalanced);
  RUN(cancelled_transfers_do_not_count);
  RUN(bad_descs_are_refused);
  return TEST_END();
}
