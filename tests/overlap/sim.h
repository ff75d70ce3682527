/* A monitor on simulated time: the tests below give every time themselves (_at twins), so that they
   are exact and repeatable. */
#ifndef OVERLAP_SIM_H_INCLUDED
#define OVERLAP_SIM_H_INCLUDED
#ifdef NBC_PIECES
#  include "tests/pieces.h"
#else
#  define NBC_OVERLAP_IMPLEMENTATION
#  include "nbc_overlap.h"
#endif
#include "tests/test.h"

static int64_t sim_now_ns;
static int64_t sim_clock(void *user) { (void)user; return sim_now_ns; }

/* Transfer time = latency + bytes * per_byte (in ns), in both tables. */
typedef struct sim {
  nbc_monitor *monitor;
  nbc_recorder *me;
  nbc_table *table;
} sim;

__attribute__((unused)) static sim sim_create(double latency_ns, double ns_per_byte, nbc_monitor_desc desc) {
  sim s;
  nbc_clock clock;
  nbc_clock_desc clock_desc;
  memset(&s, 0, sizeof s);
  memset(&clock_desc, 0, sizeof clock_desc);
  clock_desc.source = NBC_CLOCK_USER;
  clock_desc.now_ns = sim_clock;
  sim_now_ns = 0;
  CHECK(nbc_clock_create(&clock_desc, &clock) == NBC_OK);
  CHECK(nbc_table_create_linear(latency_ns, 1e9 / ns_per_byte, "simulated", &s.table) == NBC_OK);
  desc.clock = &clock;
  desc.table_same_node = desc.table_other_node = s.table;
  CHECK(nbc_monitor_create(&desc, &s.monitor) == NBC_OK);
  CHECK(nbc_recorder_attach_at(s.monitor, 0, &s.me) == NBC_OK);
  return s;
}

__attribute__((unused)) static nbc_report *sim_report(sim *s, int64_t t_ns) {
  nbc_report *report = NULL;
  CHECK(nbc_monitor_report_at(s->monitor, t_ns, &report) == NBC_OK);
  return report;
}

__attribute__((unused)) static void sim_destroy(sim *s) {
  nbc_monitor_destroy(s->monitor);
  nbc_table_free(s->table);
}
#endif
