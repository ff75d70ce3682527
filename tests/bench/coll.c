/* What collectives cost besides moving data: building a schedule, handing a collective over to an engine,
   starting and finishing one over a transport that does nothing, reducing. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#include "tests/bench/bench.h"

enum { RUNS = 21 };
static nbc_clock wall;

static double build_ns(nbc_coll coll, nbc_algo algo, int size, uint64_t count) {
  double values[RUNS];
  for (int k = 0; k < RUNS; k++) {
    const int64_t t_ns = nbc_clock_now_ns(&wall);
    for (int i = 0; i < 100; i++) {
      nbc_schedule_desc d = {.coll = coll,
                             .algo = algo,
                             .size = size,
                             .rank = i % size,
                             .count = count,
                             .elem_bytes = 8};
      nbc_schedule *s = NULL;
      if (nbc_schedule_build(&d, &s, NULL)) exit(1);
      nbc_schedule_free(s);
    }
    values[k] = (double)(nbc_clock_now_ns(&wall) - t_ns) / 100;
  }
  return bench_median(values, RUNS);
}

/* Persistent barrier of 2 ranks over the null transport; with an engine only nbc_coll_start is timed. */
static double start_ns(bool engine) {
  double values[RUNS];
  nbc_transport *null;
  nbc_comm *comm;
  nbc_progress *progress = NULL;
  const nbc_progress_desc pd = {.policy = NBC_POLICY_TIMER, .period_ns = 100000};
  if (engine && nbc_progress_create(&pd, &progress, NULL)) exit(1);
  if (nbc_null_create(0, 2, &null)) exit(1);
  const nbc_comm_desc d = {.transport = null, .progress = progress};
  if (nbc_comm_create(&d, &comm, NULL)) exit(1);
  const nbc_coll_args args = {.coll = NBC_COLL_BARRIER};
  nbc_request *requests[200];
  for (int i = 0; i < 200; i++)
    if (nbc_coll_init(comm, &args, &requests[i])) exit(1);
  for (int k = 0; k < RUNS; k++) {
    const int64_t t_ns = nbc_clock_now_ns(&wall);
    int64_t t_started_ns = 0;
    for (int i = 0; i < 200; i++) {
      if (nbc_coll_start(requests[i])) exit(1);
      if (!engine && nbc_coll_wait(&requests[i], 0)) exit(1);
    }
    t_started_ns = nbc_clock_now_ns(&wall);
    for (int i = 0; i < 200; i++)
      if (nbc_coll_wait(&requests[i], 0)) exit(1);
    values[k] = (double)(t_started_ns - t_ns) / 200;
  }
  for (int i = 0; i < 200; i++) nbc_coll_free(requests[i]);
  nbc_comm_destroy(comm);
  nbc_progress_destroy(progress);
  nbc_transport_destroy(null);
  return bench_median(values, RUNS);
}

static double reduce_bytes_per_s(nbc_type type, uint64_t bytes) {
  double values[RUNS];
  char *a = calloc(1, bytes), *b = calloc(1, bytes);
  if (!a || !b) exit(1);
  for (int k = 0; k < RUNS; k++) {
    const int64_t t_ns = nbc_clock_now_ns(&wall);
    for (int i = 0; i < 100; i++)
      if (nbc_reduce_local(NBC_REDUCE_SUM, type, a, a, b, bytes / nbc_type_bytes(type))) exit(1);
    values[k] = 100 * (double)bytes / ((double)(nbc_clock_now_ns(&wall) - t_ns) * 1e-9);
  }
  free(a), free(b);
  return bench_median(values, RUNS);
}

int main(int argc, char **argv) {
  if (nbc_clock_create(NULL, &wall)) return 1;
  if (bench_wanted(argc, argv, "schedule_build_allreduce_64"))
    bench_print("schedule_build_allreduce_64",
                build_ns(NBC_COLL_ALLREDUCE, NBC_ALGO_RECURSIVE_DOUBLING, 64, 1), "ns");
  if (bench_wanted(argc, argv, "schedule_build_alltoall_64"))
    bench_print("schedule_build_alltoall_64", build_ns(NBC_COLL_ALLTOALL, NBC_ALGO_LINEAR, 64, 1),
                "ns");
  if (bench_wanted(argc, argv, "schedule_build_bcast_chain_1000"))
    bench_print("schedule_build_bcast_chain_1000",
                build_ns(NBC_COLL_BCAST, NBC_ALGO_CHAIN, 64, 8192 * 1000), "ns");
  if (bench_wanted(argc, argv, "submit")) bench_print("submit", start_ns(true), "ns");
  if (bench_wanted(argc, argv, "start_and_wait_null"))
    bench_print("start_and_wait_null", start_ns(false), "ns");
  if (bench_wanted(argc, argv, "reduce_sum_float"))
    bench_print("reduce_sum_float", reduce_bytes_per_s(NBC_TYPE_FLOAT, 16384), "bytes/s");
  if (bench_wanted(argc, argv, "reduce_sum_double"))
    bench_print("reduce_sum_double", reduce_bytes_per_s(NBC_TYPE_DOUBLE, 16384), "bytes/s");
  return 0;
}
