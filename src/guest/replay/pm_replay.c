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
#include <errno.h>
#include "../../tools/output.h"

enum { FROM_CALLS, FROM_TI, FROM_GOAL };
static struct {
  int form, per_node;
  const char *platform, *map, *goal_out;
  double flops_per_s;
  pm_world_desc desc;
  rp_options run;
} s = {FROM_CALLS, 1, NULL, NULL, NULL, 1e9, {0}, {1, 0}};
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
static int64_t number(const char *option, const char *text, int64_t least, int64_t most) {
  char *end;
  errno = 0;
  const long long n = strtoll(text, &end, 10);
  if (!*text || *end || errno || n < least || n > most)
    rp_refuse("%s: a number of %lld ... %lld expected", option, (long long)least, (long long)most);
  return n;
}
static double real(const char *option, const char *text, double least, double most) {
  char *end;
  const double x = strtod(text, &end);
  if (!*text || *end || !(x >= least && x <= most))
    rp_refuse("%s: a number of %g ... %g expected", option, least, most);
  return x;
}
static int one_of(const char *option, const char *text, const char *const *names) {
  for (int i = 0; names[i]; i++)
    if (strcmp(names[i], text) == 0) return i;
  rp_refuse("%s: \"%s\" is not known; --help lists what is", option, text);
}
static void usage(void) {
  puts(
      "usage: pm_replay [options] TRACE...\n"
      "       pm_replay --version\n"
      "Runs a trace of an MPI program on a simulated machine. TRACE: the files of all processes "
      "that the overlap\n"
      "preload wrote with NBC_TRACE=calls.\n"
      "  --ti               TRACE is one of SimGrid's time-independent traces\n"
      "  --goal             TRACE is a schedule in GOAL\n"
      "  --goal-out FILE    writes the trace as GOAL, collectives as their messages, and does not "
      "run it\n"
      "  --platform FILE    the machine (a bxi2 with as many nodes as needed)\n"
      "  --per-node N       ranks per node, one node after the other (1)\n"
      "  --map FILE         the node of each rank, a number per line\n"
      "  --level L          how messages move: flow, loggp or packet (flow)\n"
      "  --progress HOW     who goes on with messages while a rank computes: calls (nobody), "
      "dedicated, timer\n"
      "  --progress-period US   how often a timer looks (2000)\n"
      "  --eager BYTES      messages up to this size are sent at once (4096; at most 1048576)\n"
      "  --compute RATIO    computations take so many times as long as in the trace (1)\n"
      "  --flops F          of --ti: floating-point operations per second (1e9)\n"
      "  --seed N           of noise and faults (0)\n"
      "  --threads N        with --level loggp: over so many threads of the host; the same for any "
      "number from 1 on, and by\n"
      "                     up to some latencies of the wire another time than without (0)\n"
      "  --time-limit S     simulated seconds, 1e-9 ... 1e6");
}
/* ret 0: no such option */
static int set(const char *o, const char *v) {
  static const char *const levels[] = {"flow", "loggp", "packet", NULL}, *const progress[] = {
                                                                             "calls", "dedicated",
                                                                             "timer", NULL};
  static const pm_link_model links[] = {PM_LINK_FLOW, PM_LINK_LOGGP, PM_LINK_PACKET};
  if (strcmp(o, "--goal-out") == 0)
    s.goal_out = v;
  else if (strcmp(o, "--platform") == 0)
    s.platform = v;
  else if (strcmp(o, "--per-node") == 0)
    s.per_node = (int)number(o, v, 1, 65535);
  else if (strcmp(o, "--map") == 0)
    s.map = v;
  else if (strcmp(o, "--level") == 0)
    s.desc.link = links[one_of(o, v, levels)];
  else if (strcmp(o, "--progress") == 0)
    gm_set.progress = (gm_progress)one_of(o, v, progress);
  else if (strcmp(o, "--progress-period") == 0)
    gm_set.period_ns = number(o, v, 1, 1000000) * 1000;
  else if (strcmp(o, "--eager") == 0)
    gm_set.eager_bytes = (uint64_t)number(o, v, 0, 1 << 20);
  else if (strcmp(o, "--compute") == 0)
    s.run.compute_ratio = real(o, v, 0, 1e18);
  else if (strcmp(o, "--flops") == 0)
    s.flops_per_s = real(o, v, 1e-9, 1e18);
  else if (strcmp(o, "--seed") == 0)
    s.desc.seed = (uint64_t)number(o, v, 0, INT64_MAX);
  else if (strcmp(o, "--threads") == 0)
    s.desc.threads = s.run.threads = (int)number(o, v, 0, 1024);
  else if (strcmp(o, "--time-limit") == 0)
    s.desc.d_limit_ns = (int64_t)(real(o, v, 1e-9, 1e6) * 1e9 + 0.5);
  else
    return 0;
  return 1;
}
/* ret index of the first file */
static int options(int argc, char **argv) {
  int i;
  for (i = 1; i < argc && argv[i][0] == '-'; i++) {
    const char *o = argv[i];
    if (strcmp(o, "--help") == 0) {
      usage();
      exit(0);
    }
    if (strcmp(o, "--version") == 0) {
      puts("pm_replay of nbc_overlap " NBC_VERSION_STRING);
      exit(0);
    }
    if (strcmp(o, "--ti") == 0 || strcmp(o, "--goal") == 0)
      s.form = o[2] == 't' ? FROM_TI : FROM_GOAL;
    else if (i + 1 == argc)
      rp_refuse("%s: no option, or its value and the trace are missing; --help lists them", o);
    else if (!set(o, argv[++i]))
      rp_refuse("%s: unknown option; --help lists them", o);
  }
  if (i == argc) rp_refuse("no trace; --help lists the options");
  for (int k = i; k < argc; k++)
    if (argv[k][0] == '-') rp_refuse("%s: options come before the traces", argv[k]);
  if (s.desc.threads && s.desc.link != PM_LINK_LOGGP)
    rp_refuse("--threads: only with --level loggp");
  if (s.form != FROM_CALLS && argc - i > 1)
    rp_refuse("%s: one trace, not %d", argv[i + 1], argc - i);
  return i;
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
      node[i] = i / s.per_node;
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
  const int first = options(argc, argv);
  gm_nowhere_open();
  gm_set.first_pt = 0; /* nobody else uses Portals here */
  read_traces(argc - first, argv + first);
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
