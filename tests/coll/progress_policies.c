/* Every policy of the progress engine finishes collectives while the program does not test: from threads,
   with several communicators on one worker, with check and persistent requests; wrong layouts are refused;
   stopping with requests in flight loses nothing. Made to be run under the thread sanitizer too. */
#include "src/coll/request.c"
#include "tests/pieces.h"
#include "tests/test.h"

enum { SIZE = 4, COUNT = 3000 };
static nbc_threads *world;

/* An engine; dedicated ones share a core, because a test may not ask for one of its own. */
static nbc_progress *engine(nbc_policy policy) {
  nbc_progress_desc d = {0};
  nbc_progress *progress = NULL;
  nbc_error err = {0};
  cpu_set_t mine;
  CPU_ZERO(&mine);
  CHECK(sched_getaffinity(0, sizeof mine, &mine) == 0);
  d.policy = policy, d.share_core = true, d.period_ns = 200000;
  while (!CPU_ISSET((size_t)d.core, &mine)) d.core++;
  const nbc_status status = nbc_progress_create(&d, &progress, &err);
  if (status) printf("  %s\n", err.text);
  CHECK(status == NBC_OK);
  return progress;
}

static void open_world(void) {
  nbc_threads_desc desc = {0};
  desc.size = SIZE;
  CHECK(nbc_threads_create(&desc, &world) == NBC_OK);
}

typedef struct work {
  nbc_progress *progress;
  bool check;
  nbc_monitor *monitor; /* NULL: nothing is recorded */
} work;

/* One rank's program: persistent and one-shot collectives, several in flight, results checked. */
static nbc_status rank_main(nbc_transport *t, void *user) {
  const work *const w = user;
  nbc_comm *comms[2];
  nbc_request *sum, *requests[3];
  int64_t *const in = malloc(COUNT * sizeof *in), *const out = malloc(COUNT * sizeof *out),
                 *const all = malloc(SIZE * COUNT * sizeof *all);
  int64_t one = t->rank, below = -1;
  int wrong = 0;
  nbc_status status = w->monitor ? nbc_recorder_attach(w->monitor, &t->recorder) : NBC_OK;
  for (uint32_t i = 0; i < 2 && !status; i++) {
    nbc_comm_desc d = {0};
    d.transport = t, d.id = i, d.check = w->check, d.progress = w->progress;
    status = nbc_comm_create(&d, &comms[i], NULL);
  }
  const nbc_coll_args args = {.coll = NBC_COLL_ALLREDUCE,
                              .send = in,
                              .recv = out,
                              .count = COUNT,
                              .type = NBC_TYPE_INT64,
                              .reduce = NBC_REDUCE_SUM};
  if (!status) status = nbc_coll_init(comms[0], &args, &sum);
  for (int round = 0; round < 20 && !status; round++) {
    for (int i = 0; i < COUNT; i++) in[i] = t->rank * 1000 + i + round, out[i] = -1;
    status = nbc_coll_start(sum);
    if (!status) status = nbc_iallgather(comms[1], in, all, COUNT, NBC_TYPE_INT64, &requests[0]);
    if (!status)
      status = nbc_iexscan(comms[0], &one, &below, 1, NBC_TYPE_INT64, NBC_REDUCE_SUM, &requests[1]);
    if (!status) status = nbc_ibarrier(comms[1], &requests[2]);
    if (round % 4 == 3) sched_yield();
    if (!status) status = nbc_coll_wait(&sum, 0);
    for (int k = 0; k < 3 && !status; k++) {
      while (k == 1 && (status = nbc_coll_test(&requests[k])) == NBC_PENDING) sched_yield();
      if (!status) status = nbc_coll_wait(&requests[k], 0);
    }
    for (int i = 0; i < COUNT; i++)
      wrong += out[i] != SIZE * (SIZE - 1) / 2 * 1000 + SIZE * (i + round);
    for (int i = 0; i < SIZE * COUNT; i++) wrong += all[i] != i / COUNT * 1000 + i % COUNT + round;
    wrong += t->rank > 0 && below != t->rank * (t->rank - 1) / 2;
  }
  if (!status) nbc_coll_free(sum);
  nbc_comm_destroy(comms[0]), nbc_comm_destroy(comms[1]);
  if (t->recorder) nbc_recorder_detach(t->recorder), t->recorder = NULL;
  free(in), free(out), free(all);
  return status ? status : wrong ? NBC_E_MISMATCH : NBC_OK;
}

static void run_policy(nbc_policy policy, bool check) {
  work w = {policy ? engine(policy) : NULL, check, NULL};
  open_world();
  CHECK(nbc_threads_run(world, rank_main, &w) == NBC_OK);
  if (w.progress) {
    nbc_progress_stats stats;
    nbc_progress_get_stats(w.progress, &stats);
    CHECK(stats.submit_count == SIZE * 20 * 4 && stats.poll_count > 0 && stats.post_count > 0);
    CHECK(stats.busy_ns > 0 && stats.busy_ns <= stats.wall_ns && stats.busy_ratio > 0 &&
          stats.busy_ratio <= 1);
    uint64_t posts = 0;
    for (int i = 0; i < NBC_HIST_BINS; i++) posts += stats.hist_count[i];
    CHECK(posts == stats.post_count);
  }
  CHECK(nbc_progress_destroy(w.progress) == NBC_OK);
  nbc_threads_destroy(world);
}

static void policy_none(void) { run_policy(NBC_POLICY_NONE, false); }
static void policy_dedicated(void) { run_policy(NBC_POLICY_DEDICATED, false); }
static void policy_timer(void) { run_policy(NBC_POLICY_TIMER, false); }
static void policy_idle(void) { run_policy(NBC_POLICY_IDLE, false); }
static void policy_dedicated_checked(void) { run_policy(NBC_POLICY_DEDICATED, true); }

/* One thread starts a collective on all ranks and never tests: the worker alone finishes it. */
static void work_goes_on_without_tests(void) {
  static const nbc_policy policies[] = {NBC_POLICY_DEDICATED, NBC_POLICY_TIMER, NBC_POLICY_IDLE};
  for (int k = 0; k < 3; k++) {
    nbc_progress *progress = engine(policies[k]);
    nbc_comm *comms[SIZE];
    nbc_request *requests[SIZE];
    static int64_t in[SIZE][COUNT], out[SIZE][COUNT];
    open_world();
    for (int r = 0; r < SIZE; r++) {
      nbc_comm_desc d = {0};
      d.transport = nbc_threads_rank(world, r), d.progress = progress;
      CHECK(nbc_comm_create(&d, &comms[r], NULL) == NBC_OK);
      for (int i = 0; i < COUNT; i++) in[r][i] = r + i;
    }
    for (int r = 0; r < SIZE; r++)
      CHECK(nbc_iallreduce(comms[r], in[r], out[r], COUNT, NBC_TYPE_INT64, NBC_REDUCE_MAX,
                           &requests[r]) == NBC_OK);
    const struct timespec pause = {0, 1000000};
    for (int r = 0, i = 0; r < SIZE && i < 60000;
         i++) { /* looks at the state only: up to a minute */
      if (nbc__coll_over(requests[r]))
        r++;
      else
        nanosleep(&pause, NULL);
    }
    for (int r = 0; r < SIZE; r++) {
      CHECK(nbc__coll_over(requests[r]));
      CHECK(nbc_coll_wait(&requests[r], 0) == NBC_OK && out[r][COUNT - 1] == SIZE - 1 + COUNT - 1);
    }
    CHECK(nbc_progress_destroy(progress) == NBC_E_STATE); /* communicators still use it */
    for (int r = 0; r < SIZE; r++) nbc_comm_destroy(comms[r]);
    CHECK(nbc_progress_destroy(progress) == NBC_OK);
    nbc_threads_destroy(world);
  }
}

/* The worker stops in the middle: what is in flight goes on inside waits. */
static void stopping_loses_nothing(void) {
  for (int round = 0; round < 20; round++) {
    nbc_progress *progress = engine(round % 2 ? NBC_POLICY_DEDICATED : NBC_POLICY_TIMER);
    nbc_comm *comms[SIZE];
    nbc_request *requests[SIZE][8];
    static int32_t data[SIZE][8][64];
    open_world();
    for (int r = 0; r < SIZE; r++) {
      nbc_comm_desc d = {0};
      d.transport = nbc_threads_rank(world, r), d.progress = progress;
      CHECK(nbc_comm_create(&d, &comms[r], NULL) == NBC_OK);
    }
    for (int k = 0; k < 8; k++)
      for (int r = 0; r < SIZE; r++) {
        data[r][k][63] = r == k % SIZE ? k : -1;
        CHECK(nbc_ibcast(comms[r], data[r][k], 64, NBC_TYPE_INT32, k % SIZE, &requests[r][k]) ==
              NBC_OK);
      }
    nbc_progress_stop(progress);
    nbc_progress_stop(progress); /* again does nothing */
    for (int k = 0; k < 8; k++)
      for (int r = 0; r < SIZE; r++) {
        for (long i = 0; r == 0 && i < 100000 && nbc_coll_test(&requests[r][k]) == NBC_PENDING; i++)
          continue;
        CHECK(nbc_coll_wait(&requests[r][k], 0) == NBC_OK && data[r][k][63] == k);
      }
    nbc_request *left; /* one more that nobody finishes */
    CHECK(nbc_ibarrier(comms[0], &left) == NBC_OK);
    for (int r = 0; r < SIZE; r++) nbc_comm_destroy(comms[r]);
    CHECK(nbc_progress_destroy(progress) == NBC_OK);
    nbc_threads_destroy(world);
  }
}

static void layouts_are_checked(void) {
  nbc_progress_desc d = {0};
  nbc_progress *progress;
  nbc_error err;
  cpu_set_t mine;
  CPU_ZERO(&mine);
  CHECK(sched_getaffinity(0, sizeof mine, &mine) == 0);
  CHECK(nbc_progress_create(&d, &progress, &err) == NBC_E_INVAL && strstr(err.text, "policy"));
  d.policy = NBC_POLICY_DEDICATED;
  while (!CPU_ISSET((size_t)d.core, &mine)) d.core++;
  CHECK(nbc_progress_create(&d, &progress, &err) == NBC_E_STATE && !progress);
  CHECK(strstr(err.text, "OMP_NUM_THREADS=") && strstr(err.text, "share_core"));
  d.core = -1;
  CHECK(nbc_progress_create(&d, &progress, &err) == NBC_E_RANGE);
  d.core = CPU_SETSIZE - 1;
  CHECK(nbc_progress_create(&d, &progress, &err) == NBC_E_RANGE &&
        strstr(err.text, "no core 1023"));
  d.policy = NBC_POLICY_TIMER, d.period_ns = -1;
  CHECK(nbc_progress_create(&d, &progress, &err) == NBC_E_RANGE && strstr(err.text, "period_ns"));
  char *text = NULL;
  size_t bytes;
  FILE *out = open_memstream(&text, &bytes);
  CHECK(nbc_progress_env(0, 4, out) == NBC_OK);
  CHECK(nbc_progress_env(4, 4, out) == NBC_E_RANGE && nbc_progress_env(0, 1, out) == NBC_E_RANGE);
  fclose(out);
  CHECK_STR(text,
            "export OMP_NUM_THREADS=3\nexport OMP_PLACES={1},{2},{3}\nexport OMP_PROC_BIND=true\n");
  free(text);
  nbc_policy policy;
  CHECK(nbc_policy_parse("idle", &policy) == NBC_OK && policy == NBC_POLICY_IDLE);
  CHECK(nbc_policy_parse("fast", &policy) == NBC_E_NOT_FOUND);
}

/* What a worker moves is booked for the rank's own thread: nothing is lost, nothing counts twice. */
static void recorders_hear_workers(void) {
  static const nbc_policy policies[] = {NBC_POLICY_NONE, NBC_POLICY_DEDICATED, NBC_POLICY_TIMER,
                                        NBC_POLICY_IDLE};
  nbc_totals alone = {0};
  for (int k = 0; k < 4; k++) {
    work w = {policies[k] ? engine(policies[k]) : NULL, false, NULL};
    const nbc_monitor_desc desc = {.ring_events = 64};
    nbc_report *report;
    CHECK(nbc_monitor_create(&desc, &w.monitor) == NBC_OK);
    open_world();
    CHECK(nbc_threads_run(world, rank_main, &w) == NBC_OK);
    CHECK(nbc_progress_destroy(w.progress) == NBC_OK);
    nbc_threads_destroy(world);
    CHECK(nbc_monitor_report(w.monitor, &report) == NBC_OK);
    const nbc_totals *const t = &report->total;
    if (k == 0) alone = *t;
    CHECK(t->count > 0 && t->count == alone.count && t->size_bytes == alone.size_bytes);
    CHECK(t->min_overlap_ns <= t->max_overlap_ns && t->max_overlap_ns <= t->xfer_ns);
    for (int p = 0; p < NBC_PROBLEM_COUNT; p++)
      /* a worker interrupted in the middle of a stamp may find that its place is forgotten */
      if (p != NBC_PROBLEM_table_too_slow && p != NBC_PROBLEM_unplaced && report->problems[p]) {
        printf("  %s\n", nbc_problem_name((nbc_problem)p));
        CHECK(!"no problem");
      }
    nbc_report_free(report);
    nbc_monitor_destroy(w.monitor);
  }
}

/* The worker is held until every rank computes: then all it moves is hidden, and both bounds say so. */
static void hidden_work_is_seen_as_hidden(void) {
  nbc_progress *progress = engine(NBC_POLICY_DEDICATED);
  const nbc_threads_desc desc = {.size = SIZE, .protocol = NBC_PROTOCOL_DIRECT_READ};
  nbc_table *table = NULL; /* a minimum is claimed only where there is a table, and no transfer faster than it */
  CHECK(nbc_table_create_linear(1, 1e15, "threads", &table) == NBC_OK);
  const nbc_monitor_desc monitor_desc = {.table_same_node = table, .table_other_node = table};
  nbc_monitor *monitor;
  nbc_recorder *recorders[SIZE];
  nbc_report *report;
  nbc_comm *comms[SIZE];
  nbc_request *requests[SIZE];
  static int64_t in[SIZE][COUNT], out[SIZE][COUNT];
  CHECK(nbc_threads_create(&desc, &world) == NBC_OK);
  CHECK(nbc_monitor_create(&monitor_desc, &monitor) == NBC_OK);
  for (int r = 0; r < SIZE; r++) {
    const nbc_comm_desc d = {.transport = nbc_threads_rank(world, r), .progress = progress};
    CHECK(nbc_recorder_attach(monitor, &recorders[r]) == NBC_OK);
    nbc_threads_rank(world, r)->recorder = recorders[r];
    CHECK(nbc_comm_create(&d, &comms[r], NULL) == NBC_OK);
  }
  nbc__prog_lock(progress);
  for (int r = 0; r < SIZE; r++)
    CHECK(nbc_iallreduce(comms[r], in[r], out[r], COUNT, NBC_TYPE_INT64, NBC_REDUCE_SUM, &requests[r]) ==
          NBC_OK);
  nbc__prog_unlock(progress);
  const struct timespec pause = {0, 1000000};
  for (int r = 0; r < SIZE; r++)
    while (!nbc__coll_over(requests[r])) nanosleep(&pause, NULL);
  for (int r = 0; r < SIZE; r++) {
    CHECK(nbc_coll_wait(&requests[r], 0) == NBC_OK);
    nbc_comm_destroy(comms[r]);
    nbc_recorder_detach(recorders[r]);
  }
  CHECK(nbc_monitor_report(monitor, &report) == NBC_OK);
  CHECK(report->total.count >= SIZE && report->total.case_count[1] == report->total.count);
  CHECK(report->total.min_overlap_ns == report->total.xfer_ns && report->total.xfer_ns > 0);
  CHECK(report->total.max_overlap_ns == report->total.xfer_ns);
  uint64_t starts = 0;
  for (size_t i = 0; i < report->call_count; i++)
    if (report->calls[i].kind == NBC_KIND_IALLREDUCE) starts += report->calls[i].count;
  CHECK(starts == SIZE);
  nbc_report_free(report);
  nbc_monitor_destroy(monitor);
  nbc_table_free(table);
  CHECK(nbc_progress_destroy(progress) == NBC_OK);
  nbc_threads_destroy(world);
}

/* An engine serves a transport as long as one communicator is left on it. */
static void a_transport_is_kept_until_its_last_communicator_goes(void) {
  nbc_progress *const progress = engine(NBC_POLICY_TIMER);
  const nbc_threads_desc desc = {.size = 2};
  nbc_comm *comms[2][2];
  nbc_request *requests[2];
  CHECK(nbc_threads_create(&desc, &world) == NBC_OK);
  for (int r = 0; r < 2; r++)
    for (uint32_t i = 0; i < 2; i++) {
      const nbc_comm_desc d = {.transport = nbc_threads_rank(world, r), .id = i, .progress = progress};
      CHECK(nbc_comm_create(&d, &comms[r][i], NULL) == NBC_OK);
    }
  for (int r = 0; r < 2; r++) nbc_comm_destroy(comms[r][0]);
  for (int r = 0; r < 2; r++) CHECK(nbc_ibarrier(comms[r][1], &requests[r]) == NBC_OK);
  for (int r = 0; r < 2; r++) CHECK(nbc_coll_wait(&requests[r], 20000000000) == NBC_OK);
  for (int r = 0; r < 2; r++) nbc_comm_destroy(comms[r][1]);
  CHECK(nbc_progress_destroy(progress) == NBC_OK);
  nbc_threads_destroy(world);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(policy_none);
  RUN(policy_dedicated);
  RUN(policy_timer);
  RUN(policy_idle);
  RUN(policy_dedicated_checked);
  RUN(work_goes_on_without_tests);
  RUN(stopping_loses_nothing);
  RUN(layouts_are_checked);
  RUN(recorders_hear_workers);
  RUN(hidden_work_is_seen_as_hidden);
  RUN(a_transport_is_kept_until_its_last_communicator_goes);
  return TEST_END();
}
