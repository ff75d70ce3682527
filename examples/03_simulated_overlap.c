/* Question: how much of an exchange would a BXI-like NIC hide behind computation, and how close do the
   bounds that any machine can measure come to the truth that only the simulated NIC knows?

   Run:      make examples && build/03_simulated_overlap [bytes]
   Expected (the same on every machine, time is simulated; 1 MB takes 90.4 us on the wire):

     1000000 B, percent of the transfer time hidden: bounds, and the truth between them
     compute us   receiver never looks     receiver looks 10 times
                     min exact  max           min exact  max
            0.0        0     0    0             0     0    0
           30.0        0     0    0            27    28   30
           60.0        0     0    0            58    58   60
           90.0        0     0    0            88    88   90
          120.0        0     0    0           100   100  100
          150.0        0     0    0           100   100  100

   Two simulated processes swap messages through the transport of the library, on the model's NIC. A long
   message is announced and then fetched by its receiver; who never looks before the wait starts the
   fetch too late to hide anything. */
#define NBC_OVERLAP_IMPLEMENTATION
#include <stdlib.h>
#include "nbc_overlap.h"
#define PORTALS_MODEL_IMPLEMENTATION
#define PM_WITH_NBC
#include "portals_model.h"

enum { ROUNDS = 20, LINES = 6 };
static uint64_t size_bytes = 1000000;
typedef struct run {
  int64_t compute_ns;
  int looks;
  nbc_totals received; /* of process 0 */
} run;

static void exchange(nbc_transport *t, const run *r) {
  char *in = (char *)malloc(size_bytes), *out = (char *)calloc(1, size_bytes);
  for (int i = 0; i < ROUNDS; i++) {
    nbc_op send = {0}, recv = {0};
    nbc_irecv(t, in, size_bytes, 1 - t->rank, 0, &recv);
    nbc_isend(t, out, size_bytes, 1 - t->rank, 0, &send);
    for (int look = 0; look < r->looks; look++) {
      pm_compute_ns(r->compute_ns / (r->looks + 1));
      nbc_test(t, &recv);
    }
    pm_compute_ns(r->compute_ns / (r->looks + 1));
    nbc_wait(t, &recv, 0);
    nbc_wait(t, &send, 0);
  }
  free(in);
  free(out);
}

/* One simulated process: an endpoint, a monitor on simulated time, a watch on the endpoint's NIC. */
static void process(void *arg) {
  run *r = (run *)arg;
  pm_nbc *endpoint;
  nbc_monitor *monitor;
  nbc_nic_watch *watch;
  nbc_report *report;
  nbc_table *table;
  nbc_clock clock;
  nbc_monitor_desc desc = {0};
  nbc_nic_watch_desc watch_desc = {0};
  if (pm_nbc_create(NULL, &endpoint) || pm_nbc_clock(&clock)) pm_exit(1);
  if (nbc_table_create_linear(430, 12.5e9 * 64 / 72, "the model's link", &table)) pm_exit(1);
  desc.clock = &clock;
  desc.table_other_node = table;
  desc.history_calls = 4096;
  if (nbc_monitor_create(&desc, &monitor)) pm_exit(1);
  nbc_transport *t = pm_nbc_transport(endpoint);
  if (nbc_recorder_attach(monitor, &t->recorder)) pm_exit(1);
  watch_desc.nic = pm_nbc_nic(endpoint);
  watch_desc.recorder = t->recorder;
  watch_desc.relation = pm_nbc_relation();
  if (nbc_nic_watch_create(&watch_desc, &watch)) pm_exit(1);
  exchange(t, r);
  pm_barrier();
  pm_sleep_ns(100000);
  if (nbc_nic_poll(watch) || nbc_monitor_report(monitor, &report)) pm_exit(1);
  for (size_t i = 0; i < report->cell_count && t->rank == 0; i++)
    if (report->cells[i].kind == NBC_KIND_IRECV) r->received = report->cells[i].t;
  nbc_report_free(report);
  nbc_nic_watch_destroy(watch);
  nbc_monitor_destroy(monitor);
  nbc_table_free(table);
  pm_nbc_destroy(endpoint);
}

static int simulate(run *r) {
  pm_platform platform = pm_platform_bxi2(2);
  pm_world_desc desc = {0};
  pm_world *world;
  desc.platform = &platform;
  if (pm_world_create(&desc, &world)) return 1;
  pm_status status = pm_spawn_all(world, process, r);
  if (!status) status = pm_world_run(world);
  for (int i = 0; i < 2; i++)
    status = status ? status : pm_process_status(pm_process_at(world, i)) ? PM_E_STATE : PM_OK;
  if (status)
    fprintf(stderr, "03_simulated_overlap: %s: %s\n", pm_status_text(status),
            pm_world_error(world));
  pm_world_destroy(world);
  return status != PM_OK;
}
static double percent(int64_t part_ns, const nbc_totals *t) {
  return t->xfer_ns ? 100.0 * (double)part_ns / (double)t->xfer_ns : 0;
}

int main(int argc, char **argv) {
  if (argc > 1) size_bytes = strtoull(argv[1], NULL, 10);
  if (size_bytes <= 4096 || size_bytes > 60000000)
    return fprintf(stderr, "bytes: 4097 ... 60000000\n"), 2;
  printf("%llu B, percent of the transfer time hidden: bounds, and the truth between them\n",
         (unsigned long long)size_bytes);
  printf("compute us   receiver never looks     receiver looks 10 times\n                min exact "
         " max           min exact  max\n");
  for (int line = 0; line < LINES; line++) {
    run r[2] = {{0}, {0}};
    const int64_t step_ns = (int64_t)size_bytes * 3 / 100;
    for (int k = 0; k < 2; k++) {
      r[k].compute_ns = line * step_ns;
      r[k].looks = 10 * k;
      if (simulate(&r[k])) return 1;
    }
    printf("%10.1f", (double)(line * step_ns) / 1e3);
    for (int k = 0; k < 2; k++)
      printf("%*.0f%6.0f%5.0f", k ? 14 : 9, percent(r[k].received.min_overlap_ns, &r[k].received),
             percent((r[k].received.exact_lo_ns + r[k].received.exact_hi_ns) / 2, &r[k].received),
             percent(r[k].received.max_overlap_ns, &r[k].received));
    printf("\n");
  }
  return 0;
}
