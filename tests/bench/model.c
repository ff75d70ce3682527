/* How fast the model runs.
     model_put_ack      puts of 64 sizes (0 B to 4 MiB), each waited for, full NIC model: simulated
                        operations per second of CPU time, payload not copied
     _copied_to_N       sizes up to N, copied once from buffer to buffer; beside it the host's
                        memmove of the same
     model_loggp_2      the same puts at the LogGP level: events per second
     model_flows_P      random permutation traffic of P hosts of a fat tree; _simulated: how long the
                        traffic takes, both simulators should agree
     model_puts_P       the same traffic, 0.5 to 1.5 MB each, put by a process per host over the full NIC model
                        and acknowledged; beside it SimGrid's mailboxes
     model_dense_HxF    F flows of each of H hosts at once, of up to 2 MB, to random others
     model_small_flows  many flows of up to 1000 bytes at once: how the time grows with their number
     model_allreduce_P  8 bytes among P processes at the LogGP level (recursive doubling over puts):
                        CPU time, and the memory of a process without its stack
     model_windows_T    200 rounds of 8 bytes from each of 4096 processes to another over T threads of the host: CPU time of all, beside it the run
                        without threads; _wall: time on the wall, the same */
#define PM_THREADS
#define PORTALS_MODEL_IMPLEMENTATION
#include "portals_model.h"
#include "bench.h"
#include "permutation.h"
#include <time.h>

static double now_s(void) { /* of this process's one core: others on the machine do not count */
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
static void must(int good, const char *what) {
  if (good) return;
  fprintf(stderr, "bench/model: %s failed\n", what);
  exit(1);
}

/* ---- SimGrid beside us: the same work, counted the same way ---------------------------------------- */
typedef struct rival {
  double operations, d_s, simulated_s; /* operations 0: not there */
} rival;
#ifdef SIMGRID_PEER
static rival rival_run(const char *arguments) {
  char command[2048];
  rival p = {0, 0, 0};
  snprintf(command, sizeof command, SIMGRID_PEER " %s 2>/dev/null", arguments);
  FILE *f = popen(command, "r");
  if (f && fscanf(f, "%lf %lf %lf", &p.operations, &p.d_s, &p.simulated_s) != 3) p.operations = 0;
  if (!f || pclose(f) || p.operations <= 0) {
    fprintf(stderr, "bench/model: SimGrid failed: %s\n", command);
    p.operations = 0;
  }
  return p;
}
#else
static rival rival_run(const char *arguments) { return (void)arguments, (rival){0, 0, 0}; }
#endif
static void print_rate(const char *name, double per_s, const char *unit, rival p) {
  if (p.operations > 0)
    bench_print_peer(name, per_s, unit, "SimGrid S4U", p.operations / p.d_s);
  else
    bench_print(name, per_s, unit);
}

/* ---- puts ---------------------------------------------------------------------------------------- */
enum { SIZES = 64, BIG = 1 << 22 };
static unsigned char buffer[2][BIG];
static int puts_per_size;
static size_t sizes[SIZES];
/* A process that takes puts and counts the acknowledgements of its own. */
typedef struct side {
  ptl_handle_any_t md;
  ptl_handle_ct_t ct;
  ptl_pt_index_t pt;
} side;
static side side_open(unsigned char *from) {
  side s;
  ptl_handle_ni_t ni;
  ptl_handle_any_t entry;
  must(!PtlInit() && !PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY,
                                NULL, NULL, &ni),
       "PtlNIInit");
  must(!PtlCTAlloc(ni, &s.ct) && !PtlPTAlloc(ni, 0, PTL_EQ_NONE, 0, &s.pt), "PtlPTAlloc");
  ptl_me_t me = {.start = buffer[1],
                 .length = BIG,
                 .ct_handle = PTL_CT_NONE,
                 .uid = PTL_UID_ANY,
                 .options = PTL_ME_OP_PUT};
  me.match_id.phys.nid = PTL_NID_ANY;
  me.match_id.phys.pid = PTL_PID_ANY;
  ptl_md_t md = {from, BIG, PTL_MD_EVENT_CT_ACK, PTL_EQ_NONE, s.ct};
  must(!PtlMEAppend(ni, s.pt, &me, PTL_PRIORITY_LIST, NULL, &entry) && !PtlMDBind(ni, &md, &s.md),
       "PtlMEAppend");
  pm_barrier();
  return s;
}
static void pairs(void *unused) {
  (void)unused;
  const side me = side_open(buffer[pm_rank()]);
  ptl_ct_event_t v;
  const ptl_process_t peer = pm_process_id(1);
  for (int s = 0; s < SIZES && pm_rank() == 0; s++)
    for (int i = 1; i <= puts_per_size; i++)
      must(!PtlPut(me.md, 0, sizes[s], PTL_CT_ACK_REQ, peer, me.pt, 0, 0, NULL, 0) &&
               !PtlCTWait(me.ct, (ptl_size_t)(s * puts_per_size + i), &v),
           "PtlPut");
  pm_barrier();
}
static int threads; /* of the host */
static pm_stats run(const pm_platform *p, pm_link_model link, void (*body)(void *),
                    size_t stack_bytes, int no_data) {
  pm_world_desc desc = {0};
  pm_world *w;
  desc.platform = p;
  desc.link = link;
  desc.stack_bytes = stack_bytes;
  desc.no_data = no_data;
  desc.threads = threads;
  must(!pm_world_create(&desc, &w) && !pm_spawn_all(w, body, NULL), "world");
  if (pm_world_run(w)) fprintf(stderr, "%s\n", pm_world_error(w)), exit(1);
  const pm_stats stats = pm_world_stats(w);
  pm_world_destroy(w);
  return stats;
}
static pm_stats timed_puts(pm_link_model link, int count, int no_data, double *d_s) {
  const pm_platform p = pm_platform_bxi2(2);
  const double start_s = now_s();
  puts_per_size = count;
  const pm_stats stats = run(&p, link, pairs, 0, no_data);
  *d_s = now_s() - start_s;
  return stats;
}
/* The special sizes, then evenly spaced logarithms up to max_bytes. */
static void sizes_up_to(double max_bytes) {
  static const size_t special[] = {0, 1, 8, 9, 16, 17, 64, 65, 408, 409, 416, 417, 512, 513};
  for (int i = 0; i < SIZES; i++)
    sizes[i] = i < 14 ? special[i] : (size_t)(2 * pow(max_bytes / 2, (i - 14) / 49.0) + 1e-6);
}
/* What the host needs for the same copies alone, from the same memory to the same. */
static double copies_per_s(int count) {
  const double start_s = now_s();
  for (int s = 0; s < SIZES; s++)
    for (int i = 0; i < count; i++) {
      memmove(buffer[1], buffer[0], sizes[s]);
      __asm__ volatile("" : : "r"(buffer) : "memory");
    }
  return SIZES * count / (now_s() - start_s);
}
static void put_ack(void) {
  char command[2048];
  double d_s;
  int at = snprintf(command, sizeof command, "put_ack 200 <<'E'\n");
  sizes_up_to(BIG);
  for (int i = 0; i < SIZES; i++)
    at += snprintf(command + at, sizeof command - (size_t)at, "%zu\n", sizes[i]);
  memset(buffer, 1, sizeof buffer);
  pm_stats stats = timed_puts(PM_LINK_FLOW, 10000, 1, &d_s);
  print_rate("model_put_ack", (double)stats.message_count / d_s, "puts/s", rival_run(command));
  bench_print("model_put_ack_events", (double)stats.event_count / d_s, "events/s");
  stats = timed_puts(PM_LINK_FLOW, 200, 0, &d_s);
  bench_print_peer("model_put_ack_copied_to_4MiB", (double)stats.message_count / d_s, "puts/s",
                   "memmove alone", copies_per_s(200));
  sizes_up_to(65536);
  stats = timed_puts(PM_LINK_FLOW, 4000, 0, &d_s);
  bench_print_peer("model_put_ack_copied_to_64KiB", (double)stats.message_count / d_s, "puts/s",
                   "memmove alone", copies_per_s(4000));
  stats = timed_puts(PM_LINK_LOGGP, 10000, 1, &d_s);
  bench_print("model_loggp_2", (double)stats.event_count / d_s, "events/s");
}

/* ---- flows --------------------------------------------------------------------------------------- */
typedef struct source {
  pm_world *w;
  int from, left;
  int hosts;
  const int *to;
} source;
static void next_flow(void *arg) {
  source *s = (source *)arg;
  if (s->left-- > 0)
    must(!pm_flow_start(s->w, s->from, s->to[s->left * s->hosts + s->from], 1e6, next_flow, s),
         "pm_flow_start");
}
static pm_platform tree(int64_t k) {
  pm_platform p = pm_platform_bxi2((int)(k * k));
  p.topology = PM_TOPO_FATTREE;
  p.topo[0] = 2;
  p.topo[1] = p.topo[2] = k;
  p.topo[3] = 1;
  p.topo[4] = k;
  return p;
}
/* ---- messages ------------------------------------------------------------------------------------ */
static struct {
  const int *to;
  int hosts, rounds;
} traffic;
static void puts_of_host(void *unused) {
  (void)unused;
  const side me = side_open(buffer[0]);
  ptl_ct_event_t v;
  for (int r = traffic.rounds - 1, i = pm_rank(), n = 0; r >= 0; r--)
    must(!PtlPut(me.md, 0, (ptl_size_t)message_bytes(i, r), PTL_CT_ACK_REQ,
                 pm_process_id(traffic.to[r * traffic.hosts + i]), me.pt, 0, 0, NULL, 0) &&
             !PtlCTWait(me.ct, (ptl_size_t)++n, &v),
         "PtlPut");
  pm_barrier();
}
static void puts_between(int64_t k, int rounds) {
  const pm_platform p = tree(k);
  const int hosts = (int)(k * k);
  pm_world_desc desc = {0};
  pm_world *w;
  char name[64], command[64];
  int *to = malloc((size_t)(rounds * hosts) * sizeof *to);
  must(to != NULL, "malloc");
  desc.platform = &p;
  desc.no_data = 1;
  permutations(to, hosts, rounds);
  traffic.to = to;
  traffic.hosts = hosts;
  traffic.rounds = rounds;
  must(!pm_world_create(&desc, &w) && !pm_spawn_all(w, puts_of_host, NULL), "world");
  const double start_s = now_s();
  must(!pm_world_run(w), "run");
  const double d_s = now_s() - start_s, simulated_s = (double)pm_world_now_ns(w) * 1e-9;
  snprintf(command, sizeof command, "puts %d %d", (int)k, rounds);
  const rival p_run = rival_run(command);
  snprintf(name, sizeof name, "model_puts_%d", hosts);
  print_rate(name, (double)hosts * rounds / d_s, "puts/s", p_run);
  snprintf(name, sizeof name, "model_puts_%d_simulated", hosts);
  if (p_run.operations > 0)
    bench_print_peer(name, simulated_s, "s", "SimGrid S4U", p_run.simulated_s);
  else
    bench_print(name, simulated_s, "s");
  pm_world_destroy(w);
  free(to);
}
/* count flows of each host at once, 1 to most bytes. ret seconds of CPU time */
static double dense(int64_t k, int count, double most, int has_peer) {
  enum { ALL = 65536 };
  static int to[ALL];
  static double bytes[ALL];
  const int hosts = (int)(k * k);
  const pm_platform p = tree(k);
  pm_world_desc desc = {0};
  pm_world *w;
  char name[64], command[64];
  must(hosts * count <= ALL, "size");
  desc.platform = &p;
  must(!pm_world_create(&desc, &w), "world");
  dense_traffic(to, bytes, hosts, count, most);
  const double start_s = now_s();
  for (int i = 0; i < hosts * count; i++)
    must(!pm_flow_start(w, i % hosts, to[i], bytes[i], NULL, NULL), "pm_flow_start");
  must(!pm_world_run(w), "run");
  const double d_s = now_s() - start_s, simulated_s = (double)pm_world_now_ns(w) * 1e-9;
  if (has_peer) {
    snprintf(command, sizeof command, "dense %d %d %.0f", (int)k, count, most);
    const rival p_run = rival_run(command);
    snprintf(name, sizeof name, "model_dense_%dx%d", hosts, count);
    print_rate(name, hosts * count / d_s, "flows/s", p_run);
    snprintf(name, sizeof name, "model_dense_%dx%d_simulated", hosts, count);
    if (p_run.operations > 0)
      bench_print_peer(name, simulated_s, "s", "SimGrid S4U", p_run.simulated_s);
  }
  pm_world_destroy(w);
  return d_s;
}
/* How the time grows with the number of small flows at once: the exponent, wanted below 1.3. While the flows of 64 hosts are
   few (1,024 to 8,192), each more of them ties more links to each other, and a change reaches more of them; then all
   are tied (8,192 to 65,536). */
static void small_flows(void) {
  const double few_s = dense(8, 16, 1000, 0), many_s = dense(8, 128, 1000, 0), most_s = dense(8, 1024, 1000, 0);
  bench_print("model_small_flows_8192", many_s, "s");
  bench_print("model_small_flows_exponent", log(many_s / few_s) / log(8), "");
  bench_print("model_small_flows_65536", most_s, "s");
  bench_print("model_small_flows_65536_exponent", log(most_s / many_s) / log(8), "");
}
static void flows(int64_t k, int rounds) {
  enum { HOSTS = 4096, ALL = 1 << 18 };
  static int to[ALL];
  static source sources[HOSTS];
  const int hosts = (int)(k * k);
  const pm_platform p = tree(k);
  pm_world_desc desc = {0};
  pm_world *w;
  char name[64], command[64];
  must(hosts <= HOSTS && hosts * rounds <= ALL, "size");
  desc.platform = &p;
  must(!pm_world_create(&desc, &w), "world");
  permutations(to, hosts, rounds);
  const double start_s = now_s();
  for (int i = 0; i < hosts; i++) {
    sources[i] = (source){w, i, rounds, hosts, to};
    next_flow(&sources[i]);
  }
  must(!pm_world_run(w), "run");
  const double d_s = now_s() - start_s, simulated_s = (double)pm_world_now_ns(w) * 1e-9;
  snprintf(command, sizeof command, "flows %d %d", (int)k, rounds);
  const rival p_run = rival_run(command);
  snprintf(name, sizeof name, "model_flows_%d", hosts);
  print_rate(name, (double)pm_world_stats(w).flow_count / d_s, "flows/s", p_run);
  snprintf(name, sizeof name, "model_flows_%d_simulated", hosts);
  if (p_run.operations > 0)
    bench_print_peer(name, simulated_s, "s", "SimGrid S4U", p_run.simulated_s);
  pm_world_destroy(w);
}

/* ---- allreduce ------------------------------------------------------------------------------------ */
static void allreduce(void *unused) {
  ptl_handle_ni_t ni;
  ptl_handle_ct_t ct;
  ptl_handle_any_t h, entry;
  ptl_pt_index_t pt;
  ptl_ct_event_t v;
  const int n = pm_size(), me = pm_rank();
  uint64_t mine = (uint64_t)me + 1, inbox[24] = {0}, rounds = 0;
  (void)unused;
  must(!PtlInit() && !PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_NO_MATCHING | PTL_NI_PHYSICAL,
                                PTL_PID_ANY, NULL, NULL, &ni),
       "PtlNIInit");
  must(!PtlCTAlloc(ni, &ct) && !PtlPTAlloc(ni, 0, PTL_EQ_NONE, 0, &pt), "PtlPTAlloc");
  ptl_le_t le = {inbox, sizeof inbox, ct, PTL_UID_ANY, PTL_LE_OP_PUT | PTL_LE_EVENT_CT_COMM};
  ptl_md_t md = {&mine, 8, 0, PTL_EQ_NONE, PTL_CT_NONE};
  must(!PtlLEAppend(ni, pt, &le, PTL_PRIORITY_LIST, NULL, &entry) && !PtlMDBind(ni, &md, &h),
       "PtlLEAppend");
  pm_barrier();
  for (int bit = 1; bit < n; bit <<= 1, rounds++) {
    must(!PtlPut(h, 0, 8, PTL_NO_ACK_REQ, pm_process_id(me ^ bit), pt, 0, 8 * rounds, NULL, 0),
         "PtlPut");
    v.success = 0;
    while (!inbox[rounds])
      must(!PtlCTWait(ct, v.success + 1, &v), "PtlCTWait"); /* others may be a round ahead */
    mine += inbox[rounds];
  }
  must(mine == (uint64_t)n * (uint64_t)(n + 1) / 2, "sum");
}
static void reduce(int processes) {
  const pm_platform p = pm_platform_bxi2(processes);
  char name[64];
  const double start_s = now_s();
  const pm_stats s = run(&p, PM_LINK_LOGGP, allreduce, 16384, 0);
  const double d_s = now_s() - start_s;
  snprintf(name, sizeof name, "model_allreduce_%d", processes);
  bench_print(name, d_s, "s");
  snprintf(name, sizeof name, "model_allreduce_%d_memory", processes);
  bench_print(name, (double)s.memory_bytes / processes, "B/process");
}

/* Rounds in which each process sends to one and waits for one message. */
static void shifts(void *unused) {
  (void)unused;
  ptl_handle_ni_t ni;
  ptl_handle_ct_t ct;
  ptl_handle_any_t h, entry;
  ptl_pt_index_t pt;
  ptl_ct_event_t v;
  uint64_t word = 1, inbox = 0;
  const int n = pm_size(), me = pm_rank();
  must(!PtlInit() && !PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_NO_MATCHING | PTL_NI_PHYSICAL,
                                PTL_PID_ANY, NULL, NULL, &ni) &&
           !PtlCTAlloc(ni, &ct) && !PtlPTAlloc(ni, 0, PTL_EQ_NONE, 0, &pt),
       "PtlNIInit");
  ptl_le_t le = {&inbox, 8, ct, PTL_UID_ANY, PTL_LE_OP_PUT | PTL_LE_EVENT_CT_COMM};
  ptl_md_t md = {&word, 8, 0, PTL_EQ_NONE, PTL_CT_NONE};
  must(!PtlLEAppend(ni, pt, &le, PTL_PRIORITY_LIST, NULL, &entry) && !PtlMDBind(ni, &md, &h),
       "PtlLEAppend");
  pm_barrier();
  for (int i = 1; i <= 200; i++)
    must(!PtlPut(h, 0, 8, PTL_NO_ACK_REQ, pm_process_id((me + i) % n), pt, 0, 0, NULL, 0) &&
             !PtlCTWait(ct, (ptl_size_t)i, &v),
         "PtlPut");
}
static void windows(void) {
  const pm_platform p = pm_platform_bxi2(4096);
  double cpu_s[5], wall_s[5];
  for (threads = 0; threads <= 4; threads += 1 + threads / 2) {
    struct timespec begin, end;
    char name[64];
    const double start_s = now_s();
    clock_gettime(CLOCK_MONOTONIC, &begin);
    run(&p, PM_LINK_LOGGP, shifts, 16384, 0);
    clock_gettime(CLOCK_MONOTONIC, &end);
    cpu_s[threads] = now_s() - start_s;
    wall_s[threads] = (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) * 1e-9;
    if (!threads) continue;
    snprintf(name, sizeof name, "model_windows_%d", threads);
    bench_print_peer(name, cpu_s[threads], "s", "without threads", cpu_s[0]);
    snprintf(name, sizeof name, "model_windows_%d_wall", threads);
    bench_print_peer(name, wall_s[threads], "s", "without threads", wall_s[0]);
  }
  threads = 0;
}

/* Whether one of the lines NAME_SIZE and NAME_SIZE_REST is asked for */
static int asked(int argc, char **argv, const char *name, const char *size, const char *rest) {
  char line[96], longer[96];
  snprintf(line, sizeof line, "%s_%s", name, size);
  snprintf(longer, sizeof longer, "%s_%s_%s", name, size, rest);
  return bench_wanted(argc, argv, line) || bench_wanted(argc, argv, longer);
}
int main(int argc, char **argv) {
  static const char *const put_lines[] = {"model_put_ack", "model_put_ack_events", "model_put_ack_copied_to_4MiB",
                                          "model_put_ack_copied_to_64KiB", "model_loggp_2"};
  static const struct { const char *size; unsigned k; int rounds; } trees[] = {
    {"16", 4, 1000}, {"64", 8, 500}, {"256", 16, 200}, {"1024", 32, 50}, {"4096", 64, 4}};
  int puts_asked = 0;
  for (size_t i = 0; i < sizeof put_lines / sizeof *put_lines; i++) puts_asked |= bench_wanted(argc, argv, put_lines[i]);
  if (puts_asked) put_ack();
  for (size_t i = 0; i < sizeof trees / sizeof *trees; i++)
    if (asked(argc, argv, "model_flows", trees[i].size, "simulated")) flows(trees[i].k, trees[i].rounds);
  for (size_t i = 0; i < sizeof trees / sizeof *trees; i++)
    if (asked(argc, argv, "model_puts", trees[i].size, "simulated")) puts_between(trees[i].k, trees[i].rounds);
  if (asked(argc, argv, "model_dense", "64x16", "simulated")) dense(8, 16, 2e6, 1);
  if (asked(argc, argv, "model_dense", "64x64", "simulated")) dense(8, 64, 2e6, 1);
  if (asked(argc, argv, "model_dense", "256x16", "simulated")) dense(16, 16, 2e6, 1);
  if (asked(argc, argv, "model_small_flows", "8192", "") || bench_wanted(argc, argv, "model_small_flows_exponent") ||
      asked(argc, argv, "model_small_flows", "65536", "") || bench_wanted(argc, argv, "model_small_flows_65536_exponent"))
    small_flows();
  if (asked(argc, argv, "model_allreduce", "1024", "memory")) reduce(1024);
  if (asked(argc, argv, "model_allreduce", "65536", "memory")) reduce(65536);
  if (asked(argc, argv, "model_windows", "1", "wall") || asked(argc, argv, "model_windows", "2", "wall") || asked(argc, argv, "model_windows", "4", "wall"))
    windows();
  return 0;
}
