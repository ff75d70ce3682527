/* Clock synchronisations beside each other over this MPI, in one run, each with as many trips in as much time: a
   hundred times ten within a second; SKaMPI's thousand, which knows no drift, all at once. Ranks share one
   counter, of which each is told its own offset and rate, so that the truth is known at any time ahead. Prints
   the median over 8 runs of the last rank's error after 0, 1, 10 and 60 s, ours against each of the papers',
   and how often the truth was outside our interval (clock_beside_outside: must be 0); clock_beside_node_bound:
   the bound where ranks share a clock and say so. */
#define NBC_WITH_MPI
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#include "tests/bench/bench.h"
#include <math.h>
#include <sched.h>
#include "tests/clock/peers.h"

enum { AHEADS = 4, RUNS = 8, OURS = PEER_COUNT, WAYS, POINTS = 100, TRIPS = 10 };
static const int ahead_s[AHEADS] = {0, 1, 10, 60};
static double err_ns[WAYS][AHEADS][RUNS];
static int outside;
static nbc_transport *shared; /* whose clock all read */

/* Rank r's clock: an offset, and 7 ppm times r too fast. */
static int64_t told(int64_t t_ns, int rank) { return t_ns + 1000000007 * (int64_t)rank + t_ns / 142857 * rank; }
static int64_t told_now(void *ctx) { return told(shared->now_ns(ctx), shared->rank); }
static void wait_ns(void *ctx, int64_t d_ns) {
  const int64_t t_end_ns = shared->now_ns(ctx) + d_ns;
  while (shared->now_ns(ctx) < t_end_ns) {
    shared->progress(ctx);
    sched_yield();
  }
}

static void judge(int way, int run, int64_t t_ns, int64_t (*global_ns)(const void *how, int64_t t_local_ns), const void *how) {
  for (int i = 0; i < AHEADS; i++) {
    const int64_t t_true_ns = t_ns + ahead_s[i] * INT64_C(1000000000);
    err_ns[way][i][run] = fabs((double)(global_ns(how, told(t_true_ns, shared->rank)) - told(t_true_ns, 0)));
  }
}
static int64_t global_of_peer(const void *how, int64_t t_local_ns) { return peer_global_ns((const peer_model *)how, t_local_ns); }
static int64_t global_of_ours(const void *how, int64_t t_local_ns) {
  int64_t t_ns = 0;
  nbc_sync_estimate((const nbc_sync *)how, t_local_ns, &t_ns);
  return t_ns;
}

/* As they are, without tales of other clocks: the bound one second after synchronising. */
static nbc_status bound_of_node(double *bound_ns) {
  nbc_sync *sync = NULL;
  nbc_time time;
  nbc_status status = nbc_sync_create(shared, NULL, &sync, NULL);
  if (status == NBC_OK) status = nbc_sync_global(sync, shared->now_ns(shared->ctx) + 1000000000, &time);
  if (status == NBC_OK) *bound_ns = (double)time.err_ns;
  nbc_sync_destroy(sync);
  return status;
}

static nbc_status run_ours(const nbc_transport *t, int run) {
  const nbc_sync_desc desc = {.trip_count = TRIPS};
  nbc_sync *sync = NULL;
  nbc_status status = nbc_sync_create(t, &desc, &sync, NULL);
  for (int i = 1; i < POINTS && status == NBC_OK; i++) {
    wait_ns(t->ctx, 10000000);
    status = nbc_sync_update(sync, NULL);
  }
  const int64_t t_ns = shared->now_ns(t->ctx);
  if (status == NBC_OK) judge(OURS, run, t_ns, global_of_ours, sync);
  for (int i = 0; i < AHEADS && status == NBC_OK; i++) {
    nbc_time time;
    const int64_t t_true_ns = t_ns + ahead_s[i] * INT64_C(1000000000);
    status = nbc_sync_global(sync, told(t_true_ns, t->rank), &time);
    const int64_t apart_ns = time.t_ns - told(t_true_ns, 0);
    outside += (apart_ns < 0 ? -apart_ns : apart_ns) > time.err_ns + 1;
  }
  nbc_sync_destroy(sync);
  return status;
}

int main(int argc, char **argv) {
  const char *mpi = argc > 2 ? argv[2] : "mpi";
  nbc_error err = {NBC_OK, 0, ""};
  nbc_status status = NBC_OK;
  char name[64];
  MPI_Init(NULL, NULL);
  if (nbc_mpi_create(MPI_COMM_WORLD, NULL, &shared, &err) != NBC_OK || !shared->same_clock(shared->ctx, 0)) {
    fprintf(stderr, "clock_beside: the ranks must share a clock: %s\n", err.text);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  double bound_ns = 0;
  status = bound_of_node(&bound_ns);
  nbc_transport t = *shared;
  t.now_ns = told_now;
  t.same_clock = NULL;
  for (int run = 0; run < RUNS && status == NBC_OK; run++)
    for (int k = 0; k < WAYS && status == NBC_OK; k++) {
      const int way = (k + run) % WAYS; /* none is always first */
      const peer_desc d = {POINTS, way == PEER_SKAMPI ? POINTS * TRIPS : TRIPS, wait_ns, 10000000};
      peer_model model;
      MPI_Barrier(MPI_COMM_WORLD);
      if (way == OURS) status = run_ours(&t, run);
      else if ((status = peer_sync(&t, (peer_method)way, &d, &model)) == NBC_OK)
        judge(way, run, shared->now_ns(t.ctx), global_of_peer, &model);
    }
  if (status != NBC_OK) {
    fprintf(stderr, "clock_beside: %s\n", nbc_status_text(status));
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Allreduce(MPI_IN_PLACE, &outside, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (t.rank == t.size - 1) {
    for (int i = 0; i < AHEADS; i++) {
      const double ours_ns = bench_median(err_ns[OURS][i], RUNS);
      snprintf(name, sizeof name, "clock_beside_%d_%s", ahead_s[i], mpi);
      for (int m = 0; m < PEER_COUNT; m++)
        bench_print_peer(name, ours_ns, "ns", peer_names[m], bench_median(err_ns[m][i], RUNS));
    }
    snprintf(name, sizeof name, "clock_beside_node_bound_%s", mpi);
    bench_print(name, bound_ns, "ns, ranks of this node as they are, one second later");
    snprintf(name, sizeof name, "clock_beside_outside_%s", mpi);
    bench_print(name, outside, "of the checks, all ranks");
  }
  nbc_mpi_destroy(shared);
  MPI_Finalize();
  return 0;
}
