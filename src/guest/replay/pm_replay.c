/* pm_replay: what a run would take on another machine, from a trace of it.

   Question: how long would this program take on that network, with other places of its processes, with another
             policy of progress?
   Command:  NBC_TRACE=calls mpirun.mpich -n 64 -genv LD_PRELOAD $PWD/build/libnbc_overlap_mpich.so ./program
             build/pm_replay --platform dragonfly.txt nbc_calls.program.*.calls
             build/pm_replay --goal schedule.goal          LogGOPSim's format
             build/pm_replay --ti trace.ti                 SimGrid's (smpirun -trace-ti)
   Output:   one line with the simulated time on standard output:
             pm_replay: 64 ranks, 1234.567 us simulated, 12345 messages

   A trace is read whole (40 bytes per line that is not in a loop) and no program is loaded: a rank takes some
   kilobytes of memory. Messages and collectives are those of pm_run, and so are their times; data is not moved.
   Computation takes the time that the trace says, times --compute.
   Exit status: 0; 1 output was lost; 2 bad call or trace; 100 deadlock or time limit, with the lines of the trace where ranks are. */
#include "replay.h"
#include "tools/options.h"
#include "tools/output.h"

enum { FROM_CALLS, FROM_TI, FROM_GOAL };
static struct {
  int form;
  const char *platform, *map, *goal_out;
  double flops_per_s;
  pm_world_desc desc;
  rp_options run;
} s = {FROM_CALLS, NULL, NULL, NULL, 1e9, {0}, {1, 0}};
static pm_platform platform;

/* What record.c of MPI asks of pm_run. */
void guest_on_stamp(pm_world *world, void (*fn)(void *unused, const pm_stamp *stamp));
nbc_recorder **gm_recorder_now(void) { return &gm_self()->recorder; }
gm_place **gm_place_now(void) { /* a trace has no places */
  static gm_place *none;
  return &none;
}
int64_t *gm_place_since(void) {
  static int64_t never_ns;
  return &never_ns;
}
const pm_platform *guest_platform(void);
const pm_platform *guest_platform(void) { return &platform; }
void guest_on_stamp(pm_world *world, void (*fn)(void *unused, const pm_stamp *stamp)) {
  pm_on_stamp(world, fn, NULL);
}

static const char *const level_names[] = {"flow", "loggp", "packet", NULL};
static const pm_link_model links[] = {PM_LINK_FLOW, PM_LINK_LOGGP, PM_LINK_PACKET};
static const char *const progress_names[] = {"calls", "dedicated", "timer", NULL};
static struct {
  bool is_ti, is_goal;
  uint64_t per_node, level, progress, period_us, eager_bytes, threads;
  double limit_s;
} given = {.per_node = 1, .eager_bytes = 4096}; /* period_us: 0, not given */
static const option options[] = {
    {"--ti", NULL, "TRACE is one of SimGrid's time-independent traces", .flag = &given.is_ti},
    {"--goal", NULL, "TRACE is a schedule in GOAL", .flag = &given.is_goal},
    {"--goal-out", "FILE",
     "writes the trace as GOAL, collectives as their messages, and does not run it",
     .text = &s.goal_out},
    {"--platform", "FILE", "the machine (a bxi2 with as many nodes as needed)",
     .text = &s.platform},
    {"--per-node", "N", "ranks per node, one node after the other (1)", .whole = &given.per_node,
     .range = {1, 65535}},
    {"--map", "FILE", "the node of each rank, a number per line", .text = &s.map},
    {"--level", "L", "how messages move: flow, loggp or packet (flow)", .whole = &given.level,
     .words = level_names},
    {"--progress", "HOW",
     "who goes on with messages while a rank computes: calls (nobody), dedicated, timer",
     .whole = &given.progress, .words = progress_names},
    {"--progress-period", "US", "how often a timer looks (2000)", .whole = &given.period_us,
     .range = {1, 1e6}},
    {"--eager", "BYTES", "messages up to this size are sent at once (4096; at most 1048576)",
     .whole = &given.eager_bytes, .range = {0, 1 << 20}},
    {"--compute", "RATIO", "computations take so many times as long as in the trace (1)",
     .real = &s.run.compute_ratio, .range = {0, 1e18}},
    {"--flops", "F", "of --ti: floating-point operations per second (1e9)", .real = &s.flops_per_s,
     .range = {1e-9, 1e18}},
    {"--seed", "N", "of noise and faults (0)", .whole = &s.desc.seed, .range = {0, 9e15}},
    {"--threads", "N",
     "with --level loggp: over so many threads of the host; the same for any number from 1 on, and "
     "by up to some latencies of the wire another time than without (0)",
     .whole = &given.threads, .range = {0, 1024}},
    {"--time-limit", "S", "simulated seconds, 1e-9 ... 1e6", .real = &given.limit_s,
     .range = {1e-9, 1e6}},
    {0}};
static const command_line command = {
    "usage: pm_replay [options] TRACE...\n"
    "       pm_replay --version\n"
    "Runs a trace of an MPI program on a simulated machine. TRACE: the files of all processes "
    "that the overlap\n"
    "preload wrote with NBC_TRACE=calls.\n",
    options, NULL};
/* ret how many traces, from argv[1] on */
static int read_options(int argc, char **argv) {
  const int count = options_read(&command, argc, argv);
  s.form = given.is_ti ? FROM_TI : given.is_goal ? FROM_GOAL : FROM_CALLS;
  s.desc.link = links[given.level];
  s.desc.threads = s.run.threads = (int)given.threads;
  s.desc.d_limit_ns = (int64_t)(given.limit_s * 1e9 + 0.5);
  gm_set.progress = (gm_progress)given.progress;
  if (given.period_us) gm_set.period_ns = (int64_t)given.period_us * 1000;
  gm_set.eager_bytes = given.eager_bytes;
  if (!count) rp_refuse("no trace; --help lists the options");
  if (given.threads && s.desc.link != PM_LINK_LOGGP)
    rp_refuse("--threads: only with --level loggp");
  if (given.period_us && gm_set.progress != GM_TIMER)
    rp_refuse("--progress-period: only with --progress timer");
  if (s.form != FROM_CALLS && count > 1) rp_refuse("%s: one trace, not %d", argv[2], count);
  return count;
}
static void read_traces(int count, char **paths) {
  if (s.form == FROM_TI)
    rp_ti_read(paths[0], s.flops_per_s);
  else if (s.form == FROM_GOAL)
    rp_goal_read(paths[0]);
  else
    rp_calls_read(count, paths);
  rp_comms_agree();
}
/* most: nodes of the machine */
static int *places(int most, int *node_count) {
  int *node = gm_alloc((size_t)rp_size * sizeof *node);
  rp_text t;
  *node_count = 0;
  if (s.map) rp_open(&t, s.map);
  for (int i = 0; i < rp_size; i++) {
    if (!s.map)
      node[i] = i / (int)given.per_node;
    else if (!rp_line(&t))
      rp_refuse("%s: the node of rank %d is missing", s.map, i);
    else {
      node[i] = (int)rp_number(&t, "node", 0, most - 1);
      rp_end_of_line(&t);
    }
    if (node[i] >= *node_count) *node_count = node[i] + 1;
  }
  if (s.map && rp_line(&t)) rp_bad(&t, "more lines than ranks");
  if (s.map) rp_close(&t);
  return node;
}
/* A core of its own for communication is missing in the computation; the least that a node has counts. */
static void settle_cores(const int *node, int node_count) {
  int *ranks = gm_alloc((size_t)node_count * sizeof *ranks), most = 1;
  for (int i = 0; i < rp_size; i++)
    if (++ranks[node[i]] > most) most = ranks[node[i]];
  const int64_t cores = platform.cores_per_node_count / most;
  free(ranks);
  if (gm_set.progress != GM_DEDICATED) return;
  if (cores < 2)
    rp_refuse("--progress dedicated: a rank has %lld core here, it needs two", (long long)cores);
  s.run.compute_ratio *= (double)cores / (double)(cores - 1);
}
static pm_world *make_world(void) {
  char error[256];
  pm_world *world;
  enum { NODES_MOST = 4000000 }; /* that a platform may have */
  int node_count;
  if (s.platform && pm_platform_load(s.platform, &platform, error, sizeof error))
    rp_refuse("%s", error);
  int *node = places(s.platform ? (int)platform.node_count : NODES_MOST, &node_count);
  if (!s.platform) platform = pm_platform_bxi2(node_count > 2 ? node_count : 2);
  if (platform.node_count < node_count)
    rp_refuse("the platform has %d nodes, %d are needed", (int)platform.node_count, node_count);
  if (s.desc.link == PM_LINK_LOGGP && pm_platform_lacks_loggp(&platform))
    fputs("pm_replay: --level loggp: the platform has no keys loggp_...: messages take a BXI's "
          "times, "
          "whatever its links say\n",
          stderr);
  settle_cores(node, node_count);
  s.desc.platform = &platform;
  s.desc.no_data = 1;
  s.desc.stack_bytes = 32768;
  if (pm_world_create(&s.desc, &world)) rp_refuse("out of memory");
  for (int i = 0; i < rp_size; i++)
    if (pm_spawn(world, node[i], rp_rank_main, &s.run, NULL))
      rp_refuse("rank %d: out of memory", i);
  free(node);
  return world;
}
int main(int argc, char **argv) {
  output_begin("pm_replay");
  const int count = read_options(argc, argv);
  gm_nowhere_open();
  gm_set.first_pt = 0; /* nobody else uses Portals here */
  read_traces(count, argv + 1);
  if (s.goal_out) {
    FILE *out = output_create(s.goal_out);
    if (out) rp_goal_write(out);
    return out && output_close(out, s.goal_out) ? 0 : 1;
  }
  pm_world *world = make_world();
  rp_begin();
  const pm_status status = pm_world_run(world);
  if (status) {
    fprintf(stderr, "pm_replay: %s: %.*s\n", pm_status_text(status),
            (int)strcspn(pm_world_error(world), "\n"), pm_world_error(world));
    rp_where(8);
  } else
    printf("pm_replay: %d ranks, %.3f us simulated, %llu messages\n", rp_size,
           (double)pm_world_now_ns(world) / 1e3,
           (unsigned long long)pm_world_stats(world).message_count);
  pm_world_destroy(world);
  pm_platform_free(&platform);
  return status ? 100 : 0;
}
