/* NBC_MALLOC and NBC_FREE carry every allocation, each block is freed once, and running out of memory
   at the n-th allocation is an error, never a crash or a leak. */
#include "tests/failing_malloc.h"
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#include "tests/test.h"

static int64_t stopped_ns(void *user) { return *(int64_t *)user; }

/* Measures, reports, writes, reads back, adds. Returns the first error. */
static nbc_status whole_way(void) {
  int64_t now_ns = 0;
  nbc_clock clock;
  nbc_clock_desc clock_desc = {NBC_CLOCK_USER, 0, stopped_ns, &now_ns, false};
  nbc_monitor_desc desc;
  nbc_monitor *monitor = NULL;
  nbc_recorder *me;
  nbc_report *report = NULL, *back = NULL, *sum = NULL;
  nbc_table *table = NULL;
  char *text = NULL;
  size_t size_bytes = 0;
  memset(&desc, 0, sizeof desc);
  nbc_status status = nbc_clock_create(&clock_desc, &clock);
  if (status == NBC_OK) status = nbc_table_parse("1 1e-6\n1000 2e-6\n", 17, "t", &table, NULL);
  desc.clock = &clock;
  desc.table_other_node = table;
  if (status == NBC_OK) status = nbc_monitor_create(&desc, &monitor);
  if (status == NBC_OK) status = nbc_recorder_attach_at(monitor, 0, &me);
  if (status == NBC_OK) {
    nbc_section_begin_at(me, "s", 0);
    nbc_call_enter_at(me, NBC_KIND_SEND, 10);
    nbc_xfer_begin_at(me, 1, 100, NBC_KIND_SEND, NBC_PEER_OTHER_NODE, 10);
    nbc_xfer_end_at(me, 1, 20);
    nbc_call_exit_at(me, 20);
    status = nbc_monitor_report_at(monitor, 30, &report);
  }
  if (status == NBC_OK) status = nbc_report_note(report, "a note");
  if (status == NBC_OK) status = nbc_report_counter(report, 0, "c", 1);
  FILE *out = status == NBC_OK ? open_memstream(&text, &size_bytes) : NULL;
  if (out) status = nbc_report_write_json(report, out);
  if (out && status == NBC_OK) status = nbc_report_write_text(report, out);
  if (out && status == NBC_OK) status = nbc_report_write_diff(report, report, out);
  if (out) fclose(out);
  if (status == NBC_OK) status = nbc_report_parse_json(text, (size_t)(strstr(text, "]}\n") + 3 - text), "x", &back, NULL);
  if (status == NBC_OK) status = nbc_report_create(&sum);
  if (status == NBC_OK) status = nbc_report_add(sum, report, NULL);
  if (status == NBC_OK) status = nbc_report_add(sum, back, NULL);
  if (status == NBC_OK) CHECK(sum->total.count == 2 && sum->section_count == 2);
  free(text);
  nbc_report_free(sum);
  nbc_report_free(back);
  nbc_report_free(report);
  nbc_monitor_destroy(monitor);
  nbc_table_free(table);
  return status;
}

static void every_block_is_freed(void) {
  until_failure_count = -1;
  CHECK(whole_way() == NBC_OK);
  CHECK(block_count == 0);
}

static void running_out_of_memory_anywhere(void) {
  int failures = 0;
  for (long n = 0; n < 1000; n++) {
    until_failure_count = n;
    const nbc_status status = whole_way();
    CHECK(block_count == 0);
    if (status == NBC_OK) break; /* n allocations were enough */
    CHECK(status == NBC_E_NOMEM);
    failures++;
  }
  CHECK(failures > 20 && failures < 1000);
}

static void ranks_without_memory_choose_as_the_others(void) {
  static const int several[] = {0, 0, 2, 2}, alone[] = {0, 1, 2, 3}, one[] = {0, 0, 0, 0};
  static const int *const layouts[] = {several, alone, one, NULL};
  for (int i = 0; i < 4; i++) {
    nbc_schedule_desc with = {.coll = NBC_COLL_BCAST, .size = 4, .count = 64, .elem_bytes = 1, .nodes = layouts[i]}, without = with;
    until_failure_count = -1;
    nbc_choose(NULL, &with);
    until_failure_count = 0;
    nbc_choose(NULL, &without);
    until_failure_count = -1;
    CHECK(with.algo == without.algo && (with.algo == NBC_ALGO_TWO_LEVEL) == (i == 0));
  }
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(every_block_is_freed);
  RUN(running_out_of_memory_anywhere);
  RUN(ranks_without_memory_choose_as_the_others);
  return TEST_END();
}
