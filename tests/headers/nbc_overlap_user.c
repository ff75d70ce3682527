/* A user of nbc_overlap.h in any language and mode: a transfer with 100 ns of computation between
   its stamps, on simulated time, must come out with the bounds worked out by hand. */
#include "nbc_overlap.h"
#include <string.h>

#ifdef __cplusplus
extern "C"
#endif
int use_nbc_overlap(void);

static int64_t stopped_ns(void *user) { return *(int64_t *)user; }

static int transfer(nbc_monitor *monitor) {
  nbc_recorder *me;
  nbc_report *report;
  if (nbc_recorder_attach_at(monitor, 0, &me) != NBC_OK) return 10;
  nbc_call_enter_at(me, NBC_KIND_ISEND, 0);
  nbc_xfer_begin_at(me, 1, 150, NBC_KIND_ISEND, NBC_PEER_OTHER_NODE, 0);
  nbc_call_exit_at(me, 0);
  nbc_call_enter_at(me, NBC_KIND_WAIT, 100);
  nbc_xfer_end_at(me, 1, 170);
  nbc_call_exit_at(me, 170);
  if (nbc_monitor_report_at(monitor, 170, &report) != NBC_OK) return 11;
  const nbc_totals t = report->total; /* x = 150, comp = 100, noncomp = 70 */
  const int bad = t.count != 1 || t.xfer_ns != 150 || t.min_overlap_ns != 80 || t.max_overlap_ns != 100;
  nbc_report_free(report);
  nbc_recorder_detach_at(me, 170);
  return bad ? 12 : 0;
}

int use_nbc_overlap(void) {
  static const uint64_t sizes_bytes[] = {0, 1000};
  static const double times_s[] = {0, 1e-6}; /* 1 ns per byte */
  int64_t now_ns = 7;
  double values[] = {3, 1, 2};
  nbc_clock clock;
  nbc_clock_desc clock_desc;
  nbc_monitor_desc desc;
  nbc_monitor *monitor;
  nbc_table *table;
  nbc_summary summary;
  nbc_error err;
  memset(&clock_desc, 0, sizeof clock_desc);
  memset(&desc, 0, sizeof desc);
  clock_desc.source = NBC_CLOCK_USER;
  clock_desc.now_ns = stopped_ns;
  clock_desc.user = &now_ns;
  if (strcmp(nbc_status_name(NBC_E_RANGE), "NBC_E_RANGE") != 0) return 1;
  if (nbc_clock_create(&clock_desc, &clock) != NBC_OK || nbc_clock_now_ns(&clock) != 7) return 2;
  if (nbc_summarize(values, 3, 0, &summary) != NBC_OK || !(summary.median > 1.99 && summary.median < 2.01)) return 3;
  if (nbc_table_create(sizes_bytes, times_s, 2, "user", &table, &err) != NBC_OK) return 4;
  desc.clock = &clock;
  desc.table_other_node = table;
  if (nbc_monitor_create(&desc, &monitor) != NBC_OK) return 5;
  const int bad = transfer(monitor);
  nbc_monitor_destroy(monitor);
  nbc_table_free(table);
  return bad;
}
