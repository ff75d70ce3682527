/* bench_nbc_sim.h: the column "simulated" of bench_nbc, included by bench_nbc.c and by nothing else.

   One process per simulated node runs this library's collectives, unchanged, on the NIC and network of
   portals_model.h; no byte of payload is moved, copies and reductions take their time. The node's cores
   compute together; a dedicated worker takes one of them, a timer's worker interrupts them. As only the
   time is simulated, the references are exact, and the same seed gives the same file. */
#include <sys/mman.h>

static struct {
  pm_platform platform;
  uint64_t seed;
  double noise_ratio, period_us;
  pm_link_model link;
  char *buffers[2]; /* all processes': nobody reads or writes them */
} sim;

/* One simulation: the same case again and again. */
typedef struct sim_case {
  nbc_coll coll;
  bool alone; /* computation without a collective */
  nbc_policy policy;
  uint64_t count;
  double compute_ns;
  int reps;
  double (*times)[5]; /* of repetition n, rank r: times[n * ranks + r], as bench_rank.gathered */
} sim_case;

static void sim_compute(const sim_case *s, pm_nbc *endpoint) {
  pm_kernel kernel = {0};
  kernel.one_s = s->compute_ns * 1e-9;
  kernel.sigma_ratio = sim.noise_ratio;
  const double took_s = pm_kernel_draw_s(&kernel, pm_world_of(pm_self()), 0, 0, 0);
  pm_msg_compute_ns(pm_nbc_msg(endpoint), (int64_t)(took_s * 1e9 + 0.5));
}

static void sim_process(void *arg) {
  const sim_case *const s = arg;
  const int rank = pm_rank();
  bench_rank *const r = calloc(1, sizeof *r);
  pm_nbc_desc desc = {0};
  pm_nbc *endpoint;
  operation o = {0};
  nbc_error err = {0};
  desc.msg.by = s->policy == NBC_POLICY_DEDICATED ? PM_MSG_DEDICATED
                : s->policy == NBC_POLICY_TIMER   ? PM_MSG_TIMER
                                                  : PM_MSG_IN_CALLS;
  desc.msg.worker_period_ns = (int64_t)(sim.period_us * 1e3);
  if (!r) stop_on(NBC_E_NOMEM, NULL, "simulated process");
  stop_on(pm_nbc_create(&desc, &endpoint), NULL, "simulated process");
  r->t = pm_nbc_transport(endpoint), r->send = sim.buffers[0], r->recv = sim.buffers[1];
  const nbc_comm_desc work = {.transport = r->t};
  stop_on(nbc_comm_create(&work, &r->work, &err), &err, "communicator");
  if (!s->alone) o = operation_of(r, true, s->coll, s->count);
  for (int n = 0; n < s->reps; n++) {
    double *const t = s->times[n * set.rank_count + rank];
    pm_barrier();
    if (s->policy == NBC_POLICY_TIMER) /* wherever the timers are */
      pm_sleep_ns(1 + (int64_t)(pm_random(pm_world_of(pm_self())) % 1000));
    t[0] = (double)pm_now_ns();
    if (!s->alone) start(r, &o);
    t[1] = (double)pm_now_ns();
    if (s->compute_ns > 0) sim_compute(s, endpoint);
    t[2] = (double)pm_now_ns();
    nbc_status status = s->alone ? NBC_OK : NBC_PENDING;
    while (status == NBC_PENDING) /* as nbc_coll_wait, but many polls in one step */
      if ((status = nbc_coll_test(&o.ours)) == NBC_PENDING)
        (void)pm_msg_wait(pm_nbc_msg(endpoint), NULL);
    stop_on(status, nbc_comm_error(r->work), "wait");
    t[3] = (double)pm_now_ns();
  }
  pm_barrier();
  nbc_coll_free(o.ours);
  nbc_comm_destroy(r->work);
  pm_nbc_destroy(endpoint);
  free(r);
}

/* Without noise and timers every repetition is like the first: it counts for all. */
static void sim_run(sim_case *s) {
  pm_world_desc desc = {0};
  pm_world *world;
  const int wanted = s->reps;
  const bool varies =
      sim.noise_ratio > 0 || sim.platform.noise_count > 0 || s->policy == NBC_POLICY_TIMER;
  if (!varies) s->reps = 1;
  desc.platform = &sim.platform;
  desc.link = sim.link;
  desc.no_data = 1;
  desc.seed = sim.seed;
  desc.stack_bytes = 262144;
  pm_status status = pm_world_create(&desc, &world);
  if (status) fail("--sim", pm_status_text(status));
  if (!(status = pm_spawn_all(world, sim_process, s))) status = pm_world_run(world);
  if (status) fail("--sim", pm_world_error(world));
  pm_world_destroy(world);
  for (int n = s->reps; n < wanted; n++)
    memcpy(s->times[n * set.rank_count], s->times[0], sizeof *s->times * (size_t)set.rank_count);
  s->reps = wanted;
}

/* A rank 0 that knows what all others did, for the functions that look at repetitions. */
typedef struct sim_view {
  bench_rank rank;
  nbc_transport t;
} sim_view;
static const bench_rank *sim_repetition(sim_view *v, const sim_case *s, int n) {
  v->t.size = set.rank_count;
  v->rank.t = &v->t;
  memcpy(v->rank.gathered, s->times[n * set.rank_count], sizeof *s->times * (size_t)set.rank_count);
  return &v->rank;
}
static double sim_median(sim_view *v, sim_case *s) {
  double values[MAX_REPS];
  sim_run(s);
  for (int n = 0; n < s->reps; n++) values[n] = span(sim_repetition(v, s, n), 0, s->alone ? 2 : 3);
  return median(values, s->reps);
}

typedef struct sim_search {
  sim_view *view;
  sim_case *s;
} sim_search;
static double sim_took(void *ctx, uint64_t count) {
  const sim_search *const find = ctx;
  find->s->count = count;
  return sim_median(find->view, find->s);
}

static void sim_row(sim_view *v, sim_case *s, int c, int p, int i) {
  const result *const before = &results[c][p][i ? i - 1 : 0][0];
  repetition reps[MAX_REPS];
  sim_search find = {v, s};
  const double target_us = set.point ? set.point_comm_us : axis_us[i];
  double comm_ref;
  s->alone = false, s->compute_ns = 0;
  const uint64_t most = most_count(s->coll, set.rank_count);
  uint64_t guess =
      i && done(before) ? (uint64_t)(before->count * target_us * 1e3 / before->comm_ref) : 0;
  if (guess > most) guess = most;
  const uint64_t count = search_count(most, guess, target_us * 1e3, sim_took, &find, &comm_ref);
  s->count = count;
  for (int j = 0; j < axis_count; j++) {
    result *const x = &results[c][p][i][j];
    s->compute_ns = 1e3 * (set.point ? set.point_comp_us : axis_us[j]);
    s->alone = true;
    const nbc_policy policy = s->policy;
    s->policy = NBC_POLICY_NONE;
    comp_refs[j] = x->comp_ref = sim_median(v, s);
    s->policy = policy;
    x->passive = sim_median(v, s);
    s->alone = false;
    sim_run(s);
    for (int n = 0; n < s->reps; n++) take_repetition(sim_repetition(v, s, n), &reps[n]);
    summarize_repetitions(reps, x);
    x->count = (double)count, x->comm_ref = comm_ref;
    keep(c, p, i, j);
    show_progress(c, p, i * axis_count + j + 1);
  }
}

static void run_simulated(int p) {
  const size_t bytes = (size_t)(set.max_mib * 1048576) + 64;
  sim_case s = {.policy = set.columns[p].policy, .reps = set.reps * set.oversample};
  sim_view *const v = calloc(1, sizeof *v);
  char text[64];
  if (s.policy == NBC_POLICY_IDLE) fail("--sim: not simulated", "policy idle");
  if (s.policy == NBC_POLICY_DEDICATED && sim.platform.cores_per_node_count < 2)
    fail("--sim cores: a dedicated worker needs a second one", NULL);
  s.times = calloc((size_t)(s.reps * set.rank_count), sizeof *s.times);
  if (!v || !s.times) stop_on(NBC_E_NOMEM, NULL, "--sim");
  for (int k = 0; k < 2; k++) {
    sim.buffers[k] = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (sim.buffers[k] == MAP_FAILED) fail("--max-mib", strerror(errno));
  }
  snprintf(text, sizeof text, "level %s; seed %llu%s",
           sim.link == PM_LINK_FLOW    ? "flow"
           : sim.link == PM_LINK_LOGGP ? "loggp"
                                       : "packet",
           (unsigned long long)sim.seed,
           sim.noise_ratio > 0 || sim.platform.noise_count ? "; noise" : "");
  about(p, text);
  for (int c = 0; c < set.coll_count; c++)
    for (int i = 0; i < axis_count; i++) {
      const double used_s = (double)(nbc_clock_now_ns(&wall) - t_begin_ns) * 1e-9;
      bool todo = false;
      for (int j = 0; j < axis_count; j++) todo |= !done(&results[c][p][i][j]);
      s.coll = set.colls[c];
      if (todo && (set.budget_s <= 0 || used_s < set.budget_s)) sim_row(v, &s, c, p, i);
    }
  for (int k = 0; k < 2; k++) munmap(sim.buffers[k], bytes);
  free(s.times), free(v);
}

/* "nodes=64,cores=16": what is not named here is a key of the platform, as pm_platform_read has them. What is said here
   holds, wherever platform=FILE stands: of a key that stands twice the later value counts. */
static void parse_sim(const char *text) {
  static char copy[1024], lines[65536], keys[8192];
  int key_bytes = 0;
  char error[256];
  int n = snprintf(lines, sizeof lines, "cpu_poll_max_ns 100000000\n");
  sim.seed = 1, sim.period_us = 2000;
  if (snprintf(copy, sizeof copy, "%s", text) >= (int)sizeof copy) fail("--sim: too long", NULL);
  for (char *key = strtok(copy, ","); key; key = strtok(NULL, ",")) {
    char *const value = strchr(key, '=');
    if (!value || n > (int)sizeof lines - 256 - (int)sizeof keys ||
        key_bytes > (int)sizeof keys - 256)
      fail("--sim: KEY=VALUE,... wanted", text);
    *value = 0;
    if (strcmp(key, "seed") == 0)
      sim.seed = (uint64_t)number("--sim seed", value + 1, 0, 1e15);
    else if (strcmp(key, "noise") == 0)
      sim.noise_ratio = number("--sim noise", value + 1, 0, 1);
    else if (strcmp(key, "period-us") == 0)
      sim.period_us = number("--sim period-us", value + 1, 1, 1e6);
    else if (strcmp(key, "level") == 0) {
      sim.link = strcmp(value + 1, "loggp") == 0    ? PM_LINK_LOGGP
                 : strcmp(value + 1, "packet") == 0 ? PM_LINK_PACKET
                                                    : PM_LINK_FLOW;
      if (sim.link == PM_LINK_FLOW && strcmp(value + 1, "flow") != 0)
        fail("--sim level: flow, loggp or packet", value + 1);
    } else if (strcmp(key, "platform") == 0) {
      FILE *const in = fopen(value + 1, "r");
      if (!in) fail(value + 1, strerror(errno));
      const size_t room = sizeof lines - 512 - sizeof keys - (size_t)n;
      const size_t bytes = fread(lines + n, 1, room, in);
      if (ferror(in) || bytes == room) fail(value + 1, ferror(in) ? strerror(errno) : "too long");
      fclose(in);
      n += (int)bytes;
      n += snprintf(lines + n, sizeof lines - (size_t)n, "\n");
    } else
      key_bytes += snprintf(keys + key_bytes, sizeof keys - (size_t)key_bytes, "%.40s %.200s\n",
                            strcmp(key, "nodes") == 0   ? "node_count"
                            : strcmp(key, "cores") == 0 ? "cores_per_node_count"
                                                        : key,
                            value + 1);
  }
  snprintf(lines + n, sizeof lines - (size_t)n, "%s", keys);
  if (pm_platform_read(lines, strlen(lines), &sim.platform, error, sizeof error)) {
    /* not the number of a line that nobody wrote */
    const char *const rest = strncmp(error, "line ", 5) == 0 ? strchr(error, ':') : NULL;
    fail("--sim", rest ? rest + 2 : error);
  }
  if (sim.platform.node_count * sim.platform.procs_per_node_count < 2 ||
      sim.platform.node_count * sim.platform.procs_per_node_count > MAX_RANKS)
    fail("--sim nodes: must be 2 to 1024 processes", NULL);
  set.rank_count = (int)(sim.platform.node_count * sim.platform.procs_per_node_count);
}
static void describe_sim(char *text, size_t text_bytes) {
  static const char *const topologies[] = {"crossbar", "fat tree", "torus", "dragonfly",
                                           "links from a file"};
  snprintf(text, text_bytes, "simulated: %d nodes of %d cores, %s", (int)sim.platform.node_count,
           (int)sim.platform.cores_per_node_count, topologies[sim.platform.topology]);
}
