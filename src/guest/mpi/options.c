/* The options of MPI in pm_run. */
#include "gm.h"
#include "guest.h"
#include <errno.h>

static void set_progress(const char *option, const char *value) {
  static const char *const names[] = {"calls", "dedicated", "timer"};
  for (int i = 0; i < 3; i++)
    if (strcmp(value, names[i]) == 0) {
      gm_set.progress = (gm_progress)i;
      return;
    }
  guest_refuse("%s: calls, dedicated or timer expected", option);
}
static const char *period; /* the option, when it was given */
static void set_period(const char *option, const char *value) {
  period = option;
  gm_set.period_ns = guest_number(option, value, 1, 1000000) * 1000;
}
static void set_eager(const char *option, const char *value) {
  gm_set.eager_bytes = (uint64_t)guest_number(option, value, 0, 1 << 20);
}
static void set_early(const char *option, const char *value) {
  gm_set.early_mb = guest_number(option, value, 8, 1 << 20);
}
static void set_report(const char *option, const char *value) {
  guest_is_of_all(option, value);
  gm_set.report = value;
}
static void set_costs(const char *option, const char *value) { (void)option, gm_costs_read(value); }
static void set_io_bandwidth(const char *option, const char *value) {
  gm_set.io_bytes_per_s = guest_ratio(option, value) * 1e6;
  if (gm_set.io_bytes_per_s <= 0) guest_refuse("%s: more than 0 expected", option);
}
static void set_io_latency(const char *option, const char *value) {
  gm_set.io_latency_ns = guest_number(option, value, 0, 1000000000) * 1000;
}
static const guest_option options[] = {
    {"--progress", "HOW",
     "who goes on with MPI's messages while a process computes: calls (nobody), dedicated (a core "
     "of its own), timer (calls)",
     set_progress},
    {"--progress-period", "US", "how often a timer looks (2000)", set_period},
    {"--eager", "BYTES",
     "MPI messages up to this size are sent at once, longer ones are fetched by the receiver "
     "(4096; at most 1048576)",
     set_eager},
    {"--early", "MB",
     "MPI messages before their receives: the room of a process in MiB; a run that needs more ends "
     "(8192, less with many processes; at least 8)",
     set_early},
    {"--report", "DIR",
     "MPI: overlap reports of all processes, bounds and the exact overlap that the wire saw, by "
     "section "
     "(MPI_Pcontrol), line and partner; "
     "overlap_report reads the folder",
     set_report},
    {"--lib-cost", "FILE",
     "what MPI calls take by themselves: lines \"MPI_Isend 250\" (nanoseconds), \"MPI_* 80\" for "
     "the others",
     set_costs},
    {"--io-bandwidth", "MB", "MPI files: megabytes per second and process (2000)",
     set_io_bandwidth},
    {"--io-latency", "US", "MPI files: microseconds per call (20)", set_io_latency},
    {NULL, NULL, NULL, NULL}};
/* A core of its own for communication is missing in the computation. */
static void settings(pm_world_desc *desc, pm_platform *platform) {
  const int64_t cores = platform->cores_per_node_count / guest_per_node();
  gm_set.computes = desc->compute_ratio > 0;
  gm_set.is_fixed = guest_has_fixed();
  gm_set.is_traced = desc->trace != 0;
  if (period && gm_set.progress != GM_TIMER && !guest_is_sweep())
    guest_refuse("%s: only with --progress timer", period);
  if (gm_set.progress != GM_DEDICATED) return;
  if (cores < 2)
    guest_refuse("--progress dedicated: a process has %lld core here, it needs two",
                 (long long)cores);
  desc->compute_ratio *= (double)cores / (double)(cores - 1);
}
static void begin(pm_world *world) {
  (void)world;
  gm_set.program = guest_at(0)->argv[0];
  if (gm_set.report && !gm_record_folder())
    guest_refuse("--report: %s: %s", gm_set.report, strerror(errno));
}
static void process_end(guest *g, int status) {
  (void)status;
  gm_record_rescue(gm_proc_at(pm_rank()), g, pm_now_ns());
}
static int finish(pm_world *world, int result) {
  for (int i = 0; gm_set.report && i < guest_count(); i++)
    gm_record_rescue(gm_proc_at(i), guest_at(i), pm_world_now_ns(world));
  if (gm_record_rescued())
    fprintf(
        stderr,
        "pm_run: --report: reports of %d of %d processes, which did not come to MPI_Finalize, tell "
        "what there was when the run ended\n",
        gm_record_rescued(), guest_count());
  return gm_record_failed() && !result ? 2 : result;
}
static guest_part part = {.process_end = process_end,
                          .begin = begin,
                          .finish = finish,
                          .name = "mpi",
                          .options = options,
                          .settings = settings};
__attribute__((constructor)) static void add(void) { guest_part_add(&part); }
