/* The library's collectives on the model, unchanged: right results for every algorithm of allreduce and
   for the other operations, on both link models, the same simulated time in every run. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#define PM_WITH_NBC
#include "tests/model/ptl.h"

enum { MOST = 20000 };
static struct {
  uint64_t count;
  int algo, ran;
  int64_t t_end_ns;
} plan;
static nbc_comm *open_comm(pm_nbc **endpoint) {
  nbc_comm_desc desc = {0};
  nbc_comm *comm = NULL;
  nbc_error err;
  CHECK(pm_nbc_create(NULL, endpoint) == NBC_OK);
  desc.transport = pm_nbc_transport(*endpoint);
  CHECK(nbc_comm_create(&desc, &comm, &err) == NBC_OK);
  return comm;
}
static void close_comm(nbc_comm *comm, pm_nbc *endpoint) {
  pm_barrier();
  nbc_comm_destroy(comm);
  pm_nbc_destroy(endpoint);
}

static void allreduce_body(void *unused) {
  pm_nbc *endpoint;
  nbc_comm *comm = open_comm(&endpoint);
  const uint64_t me = (uint64_t)pm_rank(), n = (uint64_t)pm_size();
  uint64_t *in = malloc(MOST * 8), *out = malloc(MOST * 8);
  (void)unused;
  for (uint64_t i = 0; i < plan.count; i++) in[i] = i * 1000 + me, out[i] = 0;
  nbc_coll_args args;
  memset(&args, 0, sizeof args);
  args.coll = NBC_COLL_ALLREDUCE;
  args.send = in;
  args.recv = out;
  args.count = plan.count;
  args.type = NBC_TYPE_UINT64;
  args.reduce = NBC_REDUCE_SUM;
  args.algo = (nbc_algo)plan.algo;
  const nbc_status status = nbc_coll_run(comm, &args);
  if (status == NBC_OK) {
    uint64_t bad = 0;
    for (uint64_t i = 0; i < plan.count; i++) bad += out[i] != n * i * 1000 + n * (n - 1) / 2;
    CHECK(bad == 0);
    if (me == 0) plan.ran++;
  } else
    CHECK(status == NBC_E_RANGE || status == NBC_E_INVAL); /* an algorithm of other collectives */
  if (me == 0) plan.t_end_ns = pm_now_ns();
  free(in);
  free(out);
  close_comm(comm, endpoint);
}
static void run_on(int nodes, int per_node, pm_link_model link, void (*body)(void *)) {
  pm_platform p = pm_platform_bxi2(nodes);
  pm_world_desc desc = {0};
  p.procs_per_node_count = per_node;
  desc.platform = &p;
  desc.link = link;
  desc.stack_bytes = 262144;
  run_world(0, body, &desc);
}
static void every_allreduce_is_right_and_reproducible(void) {
  static const uint64_t counts[] = {1, 300, 10000};
  for (int algo = 0; algo < NBC_ALGO_COUNT; algo++) {
    plan.algo = algo;
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
      plan.count = counts[c];
      run_on(c ? 5 : 8, c == 1 ? 2 : 1, c == 2 ? PM_LINK_LOGGP : PM_LINK_FLOW, allreduce_body);
      const int64_t first_ns = plan.t_end_ns;
      run_on(c ? 5 : 8, c == 1 ? 2 : 1, c == 2 ? PM_LINK_LOGGP : PM_LINK_FLOW, allreduce_body);
      CHECK(plan.t_end_ns == first_ns);
    }
  }
  CHECK(plan.ran >= 3 * 2 * 3); /* automatic and at least two named ones */
}

static void others_body(void *unused) {
  pm_nbc *endpoint;
  nbc_comm *comm = open_comm(&endpoint);
  const int me = pm_rank(), n = pm_size();
  const uint64_t count = plan.count;
  int32_t *a = malloc(sizeof *a * count * (uint64_t)n),
          *b = malloc(sizeof *b * count * (uint64_t)n);
  nbc_request *request[3] = {NULL, NULL, NULL};
  uint64_t bad = 0;
  (void)unused;
  for (uint64_t i = 0; i < count; i++) a[i] = me == 2 ? (int32_t)i : -1;
  CHECK(nbc_ibcast(comm, a, count, NBC_TYPE_INT32, 2, &request[0]) == NBC_OK &&
        nbc_coll_wait(&request[0], 0) == NBC_OK);
  for (uint64_t i = 0; i < count; i++) bad += a[i] != (int32_t)i;
  for (uint64_t i = 0; i < count * (uint64_t)n; i++) a[i] = (int32_t)(i / count) + 100 * me;
  CHECK(nbc_ialltoall(comm, a, b, count, NBC_TYPE_INT32, &request[0]) == NBC_OK &&
        nbc_coll_wait(&request[0], 0) == NBC_OK);
  for (uint64_t i = 0; i < count * (uint64_t)n; i++) bad += b[i] != me + 100 * (int32_t)(i / count);
  for (uint64_t i = 0; i < count; i++) a[i] = me;
  CHECK(nbc_iallgather(comm, a, b, count, NBC_TYPE_INT32, &request[0]) == NBC_OK);
  pm_compute_ns(5000); /* something to overlap with, and another collective in flight */
  CHECK(nbc_ibarrier(comm, &request[1]) == NBC_OK);
  CHECK(nbc_coll_wait(&request[0], 0) == NBC_OK && nbc_coll_wait(&request[1], 0) == NBC_OK);
  for (uint64_t i = 0; i < count * (uint64_t)n; i++) bad += b[i] != (int32_t)(i / count);
  CHECK(nbc_ireduce(comm, a, b, count, NBC_TYPE_INT32, NBC_REDUCE_MAX, 1, &request[0]) == NBC_OK &&
        nbc_coll_wait(&request[0], 0) == NBC_OK);
  for (uint64_t i = 0; i < count && me == 1; i++) bad += b[i] != n - 1;
  CHECK(bad == 0);
  free(a);
  free(b);
  close_comm(comm, endpoint);
}
static void the_others_too(void) {
  for (plan.count = 1; plan.count <= 10000; plan.count *= 100) {
    run_on(7, 1, PM_LINK_FLOW, others_body);
    run_on(3, 3, PM_LINK_FLOW, others_body);
    run_on(7, 1, PM_LINK_LOGGP, others_body);
  }
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(every_allreduce_is_right_and_reproducible);
  RUN(the_others_too);
  return TEST_END();
}
