/* What one monitor event costs, draining included, against one bare reading of the same clock, in CPU time.
   The stream is an application's: isend (enter, begin, exit), wait (enter, end, exit). */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#include "tests/bench/bench.h"

enum { BATCH = 1000, REPEATS = 1001 };

static double one_batch_of_events(nbc_recorder *r, uint64_t *id) {
  const double start = bench_cpu_ns();
  for (int i = 0; i < BATCH; i++) {
    nbc_call_enter(r, NBC_KIND_ISEND);
    nbc_xfer_begin(r, *id, 1024, NBC_KIND_ISEND, NBC_PEER_OTHER_NODE);
    nbc_call_exit(r);
    nbc_call_enter(r, NBC_KIND_WAIT);
    nbc_xfer_end(r, (*id)++);
    nbc_call_exit(r);
  }
  return (bench_cpu_ns() - start) / (6.0 * BATCH);
}

static double one_batch_of_readings(const nbc_clock *clock) {
  volatile uint64_t sink = 0;
  const double start = bench_cpu_ns();
  for (int i = 0; i < BATCH; i++) sink = nbc_clock_ticks(clock);
  (void)sink;
  return (bench_cpu_ns() - start) / BATCH;
}

int main(int argc, char **argv) {
  static double events[REPEATS], readings[REPEATS];
  nbc_monitor *monitor;
  nbc_recorder *r;
  uint64_t id = 0;
  if (!bench_wanted(argc, argv, "monitor_event")) return 0;
  if (nbc_monitor_create(NULL, &monitor) != NBC_OK || nbc_recorder_attach(monitor, &r) != NBC_OK) return 1;
  const nbc_clock *clock = nbc_monitor_clock(monitor);
  one_batch_of_events(r, &id);
  for (int i = 0; i < REPEATS; i++) { /* interleaved, so that both see the same machine */
    readings[i] = one_batch_of_readings(clock);
    events[i] = one_batch_of_events(r, &id);
  }
  bench_print_peer("monitor_event", bench_median(events, REPEATS), "ns", "one bare clock reading",
                   bench_median(readings, REPEATS));
  nbc_monitor_destroy(monitor);
  return 0;
}
