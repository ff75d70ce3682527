/* Threads of a node that compute at once share its cores: ends that are known by hand, random ones beside an own
   reckoning in steps, ends of processes on the way, and nothing of it when it is not asked for. */
#include "tests/model/ptl.h"

enum { MOST = 40 };
typedef struct job {
  int64_t t_begin_ns, d_ns, t_end_ns; /* t_end_ns: what came out */
} job;
static job jobs[MOST];
static int job_count;
static void job_main(void *arg) {
  job *j = (job *)arg;
  pm_sleep_ns(j->t_begin_ns);
  pm_compute_ns(j->d_ns);
  j->t_end_ns = pm_now_ns();
}
static void threads_body(void *unused) {
  pm_thread *t[MOST];
  (void)unused;
  for (int i = 0; i < job_count; i++) CHECK((t[i] = pm_thread_create(job_main, &jobs[i], 0)) != NULL);
  for (int i = 0; i < job_count; i++) pm_thread_join(t[i]);
}
static void processes_body(void *unused) {
  (void)unused;
  job_main(&jobs[pm_rank()]);
}
static pm_platform machine(int nodes, int64_t cores) {
  pm_platform p = pm_platform_bxi2(nodes);
  p.cores_per_node_count = cores;
  p.cores_are_shared = 1;
  return p;
}
static void play(int64_t cores, int n, const job *these) {
  pm_platform p = machine(1, cores);
  pm_world_desc desc = {0};
  desc.platform = &p;
  memcpy(jobs, these, (size_t)n * sizeof *these);
  job_count = n;
  run_world(1, threads_body, &desc);
}
static void ends_are_those_of_fair_shares(void) {
  const job two[] = {{0, 1000, 0}, {0, 1000, 0}};
  play(1, 2, two);
  CHECK(jobs[0].t_end_ns == 2000 && jobs[1].t_end_ns == 2000);
  play(2, 2, two);
  CHECK(jobs[0].t_end_ns == 1000 && jobs[1].t_end_ns == 1000);
  const job late[] = {{0, 1000, 0}, {500, 1000, 0}};
  play(1, 2, late); /* alone to 500, half each to 1500, alone to 2000 */
  CHECK(jobs[0].t_end_ns == 1500 && jobs[1].t_end_ns == 2000);
  const job three[] = {{0, 900, 0}, {0, 900, 0}, {0, 900, 0}};
  play(2, 3, three); /* two thirds each */
  for (int i = 0; i < 3; i++) CHECK(jobs[i].t_end_ns == 1350);
  const job mixed[] = {{0, 300, 0}, {0, 600, 0}, {0, 900, 0}};
  play(1, 3, mixed); /* a third each to 900, halves to 1500, alone to 1800 */
  CHECK(jobs[0].t_end_ns == 900 && jobs[1].t_end_ns == 1500 && jobs[2].t_end_ns == 1800);
  const job apart[] = {{0, 100, 0}, {100, 100, 0}, {200, 0, 0}};
  play(1, 3, apart);
  CHECK(jobs[0].t_end_ns == 100 && jobs[1].t_end_ns == 200 && jobs[2].t_end_ns == 200);
}
/* The same by an own reckoning: from change to change, everybody's rest is made less. */
static void reckon(int64_t cores, int n, const job *these, long double *t_end_ns) {
  long double t = 0, rest[MOST];
  bool is_done[MOST] = {0};
  for (int i = 0; i < n; i++) rest[i] = (long double)these[i].d_ns;
  for (int left = n; left > 0;) {
    int active = 0;
    long double next = 1e30L, rate;
    for (int i = 0; i < n; i++) active += !is_done[i] && (long double)these[i].t_begin_ns <= t;
    rate = active > cores ? (long double)cores / active : 1;
    for (int i = 0; i < n; i++) {
      if (is_done[i]) continue;
      const long double at = (long double)these[i].t_begin_ns > t ? (long double)these[i].t_begin_ns : t + rest[i] / rate;
      if (at < next) next = at;
    }
    for (int i = 0; i < n; i++) {
      if (is_done[i] || (long double)these[i].t_begin_ns > t) continue;
      rest[i] -= (next - t) * rate;
      if (rest[i] > 1e-9L) continue;
      is_done[i] = 1;
      t_end_ns[i] = next;
      left--;
    }
    t = next;
  }
}
static void random_work_ends_as_reckoned(void) {
  for (int round = 0; round < 300; round++) {
    const int n = 1 + (int)test_below(MOST);
    const int64_t cores = 1 + (int64_t)test_below(8);
    job these[MOST];
    long double t_end_ns[MOST];
    int64_t work = 0;
    memset(these, 0, sizeof these);
    for (int i = 0; i < n; i++) {
      these[i].t_begin_ns = (int64_t)test_below(round % 2 ? 20000 : 10);
      these[i].d_ns = 1 + (int64_t)test_below(round % 3 ? 50000 : 1000000);
      work += these[i].d_ns;
    }
    if (round % 4) {
      pm_platform p = machine(1, cores);
      pm_world_desc desc = {0};
      p.procs_per_node_count = n;
      desc.platform = &p;
      memcpy(jobs, these, sizeof these);
      run_world(0, processes_body, &desc);
    } else
      play(cores, n, these);
    reckon(cores, n, these, t_end_ns);
    for (int i = 0; i < n; i++) CHECK_NEAR((double)jobs[i].t_end_ns, (double)t_end_ns[i], 1.01);
  }
}

/* Other nodes have their own; what sleeps or waits takes none; without the key nobody is slowed down. */
static int64_t t_end_ns[4];
static void apart_body(void *unused) {
  const int me = pm_rank();
  (void)unused;
  if (me == 1) pm_sleep_ns(1000); /* beside process 0 on node 0 */
  else pm_compute_ns(1000);
  t_end_ns[me] = pm_now_ns();
  pm_barrier();
}
static void only_those_who_compute_share(void) {
  pm_platform p = machine(2, 1);
  pm_world_desc desc = {0};
  p.procs_per_node_count = 2;
  desc.platform = &p;
  run_world(0, apart_body, &desc);
  CHECK(t_end_ns[0] == 1000 && t_end_ns[1] == 1000 && t_end_ns[2] == 2000 && t_end_ns[3] == 2000);
  p.cores_are_shared = 0;
  run_world(0, apart_body, &desc);
  for (int i = 0; i < 4; i++) CHECK(t_end_ns[i] == 1000);
}

/* A process that ends gives its share back at that moment. */
static void leaving_main(void *unused) {
  (void)unused;
  pm_compute_ns(1000000);
}
static void leaving_body(void *unused) {
  (void)unused;
  if (pm_rank() == 0) {
    CHECK(pm_thread_create(leaving_main, NULL, 0) && pm_thread_create(leaving_main, NULL, 0));
    pm_sleep_ns(600);
    pm_exit(0);
  }
  pm_compute_ns(1000);
  CHECK(pm_now_ns() == 1400); /* a third of a core to 600, then all of it */
}
static void who_leaves_gives_its_share_back(void) {
  pm_platform p = machine(1, 1);
  pm_world_desc desc = {0};
  p.procs_per_node_count = 2;
  desc.platform = &p;
  run_world(0, leaving_body, &desc);
}

/* Messages go on beside it, and a computation is in the trace for as long as it took. */
static void beside_body(void *unused) {
  side s_, *s = &s_;
  (void)unused;
  side_open(s, PTL_NI_MATCHING, 0, 0);
  append(s, entry(s->memory + 2048, 8, 0, PTL_ME_OP_PUT | PTL_ME_EVENT_LINK_DISABLE), PTL_PRIORITY_LIST, NULL);
  pm_barrier();
  if (pm_rank() == 0) CHECK(put(s, 3, 8, PTL_NO_ACK_REQ, 0, 0, 0) == PTL_OK);
  if (pm_rank() < 3) {
    const int64_t t_ns = pm_now_ns();
    pm_compute_ns(100000);
    if (pm_rank() < 2) CHECK(pm_now_ns() - t_ns >= 199000 && pm_now_ns() - t_ns <= 200000);
    else CHECK(pm_now_ns() - t_ns == 100000);
  } else {
    EXPECT(s, PUT);
    CHECK(pm_now_ns() < 10000);
  }
  pm_barrier();
  side_close(s);
}
static void messages_go_on_beside_it(void) {
  pm_platform p = machine(2, 1);
  pm_world_desc desc = {0};
  pm_world *w = NULL;
  size_t count;
  int computations = 0;
  p.procs_per_node_count = 2;
  desc.platform = &p, desc.trace = true;
  CHECK(pm_world_create(&desc, &w) == PM_OK && pm_spawn_all(w, beside_body, NULL) == PM_OK && pm_world_run(w) == PM_OK);
  const pm_trace_record *r = pm_trace_records(w, &count);
  for (; count > 0; count--, r++) {
    const int64_t d_ns = r->t_end_ns - r->t_begin_ns, least_ns = r->from_rank < 2 ? 199000 : 100000;
    if (r->kind != PM_TRACE_COMPUTE) continue;
    computations++;
    CHECK(d_ns >= least_ns && d_ns <= (r->from_rank < 2 ? 200000 : 100001));
  }
  CHECK(computations == 3);
  pm_world_destroy(w);
}

static void forever_body(void *unused) {
  (void)unused;
  pm_compute_ns(INT64_MAX);
}
static void the_end_of_time_is_an_error_here_too(void) {
  pm_platform p = machine(1, 1);
  pm_world_desc desc = {0};
  pm_world *w = NULL;
  p.procs_per_node_count = 3;
  desc.platform = &p;
  CHECK(pm_world_create(&desc, &w) == PM_OK && pm_spawn_all(w, forever_body, NULL) == PM_OK && pm_world_run(w) == PM_E_TIME_LIMIT);
  pm_world_destroy(w);
  desc.d_limit_ns = 5000;
  CHECK(pm_world_create(&desc, &w) == PM_OK && pm_spawn_all(w, forever_body, NULL) == PM_OK && pm_world_run(w) == PM_E_TIME_LIMIT);
  CHECK(pm_world_now_ns(w) <= 5000);
  pm_world_destroy(w);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(ends_are_those_of_fair_shares);
  RUN(random_work_ends_as_reckoned);
  RUN(only_those_who_compute_share);
  RUN(who_leaves_gives_its_share_back);
  RUN(messages_go_on_beside_it);
  RUN(the_end_of_time_is_an_error_here_too);
  return TEST_END();
}
