/* How good is a synchronised clock? clock_bound: between two threads of this process, which share a
   clock, so that the truth is 0. clock_residual: the same, our estimate from the trips against the published
   ones. sync_time: simulated, by number of ranks. timer_inside: what a reading per call adds. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#include "tests/bench/bench.h"
#define SIMNET_STACK 32
#include "tests/clock/simnet.h"

enum { BURSTS = 11, REPEATS = 25 };

typedef struct found {
  double bound_ns, error_ns[NBC_SYNC_METHOD_COUNT];
} found;

/* Ten bursts in one second: the bound that remains one second later. */
static nbc_status find_bound(nbc_transport *transport, void *user) {
  found *f = (found *)user;
  nbc_transport t = *transport;
  nbc_sync *sync;
  nbc_time g;
  t.same_clock = NULL; /* it is one clock, but we pretend not to know */
  nbc_status status = nbc_sync_create(&t, NULL, &sync, NULL);
  if (status != NBC_OK) return status;
  for (int i = 1; i < BURSTS && status == NBC_OK; i++) {
    const struct timespec pause = {0, 100000000};
    nanosleep(&pause, NULL);
    status = nbc_sync_update(sync, NULL);
  }
  if (status == NBC_OK) status = nbc_sync_global(sync, t.now_ns(t.ctx) + 1000000000, &g);
  if (status == NBC_OK && t.rank == 1) f->bound_ns = (double)g.err_ns;
  nbc_sync_destroy(sync);
  return status;
}

/* The error of each method, 20 ms after three bursts. */
static nbc_status find_error(nbc_transport *transport, void *user) {
  found *f = (found *)user;
  nbc_transport t = *transport;
  nbc_status status = NBC_OK;
  t.same_clock = NULL;
  for (int m = 0; m < NBC_SYNC_METHOD_COUNT && status == NBC_OK; m++) {
    nbc_sync_desc desc;
    nbc_sync *sync;
    nbc_time g;
    memset(&desc, 0, sizeof desc);
    desc.method = (nbc_sync_method)m;
    status = nbc_sync_create(&t, &desc, &sync, NULL);
    if (status != NBC_OK) return status;
    for (int i = 0; i < 3 && status == NBC_OK; i++) {
      const struct timespec pause = {0, 20000000};
      nanosleep(&pause, NULL);
      if (i < 2) status = nbc_sync_update(sync, NULL);
    }
    const int64_t local_ns = t.now_ns(t.ctx);
    if (status == NBC_OK) status = nbc_sync_global(sync, local_ns, &g);
    if (m == NBC_SYNC_MIDDLE && status == NBC_OK) status = nbc_sync_estimate(sync, local_ns, &g.t_ns);
    if (status == NBC_OK && t.rank == 1) f->error_ns[m] = fabs((double)(g.t_ns - local_ns));
    nbc_sync_destroy(sync);
  }
  return status;
}

static nbc_status synchronise(nbc_transport *t, void *user) {
  nbc_sync *sync;
  const nbc_status status = nbc_sync_create(t, NULL, &sync, NULL);
  double *latest_ns = (double *)user;
  latest_ns[0] = fmax(latest_ns[0], simnet_me(t->ctx)->t_ns);
  if (status == NBC_OK) {
    latest_ns[1] = fmax(latest_ns[1], (double)nbc_sync_now(sync).err_ns);
    nbc_sync_destroy(sync);
  }
  return status;
}

static void bench_sync_time(int ranks) {
  char name[64];
  double latest_ns[2] = {0, 0};
  simnet *net = simnet_create(ranks, 1);
  net->jitter_ns = 200;
  net->per_node = 16;
  for (int i = 0; i < ranks; i++) net->ranks[i].clock.offset_ns = 1e6 * i, net->ranks[i].clock.deviation = (i % 100 - 50) * 1e-6;
  if (simnet_run(net, synchronise, latest_ns) != NBC_OK) exit(1);
  snprintf(name, sizeof name, "sync_time_%d", ranks);
  bench_print(name, latest_ns[0] * 1e-6, "ms, simulated, 16 ranks per clock, 1 us latency");
  snprintf(name, sizeof name, "sync_bound_%d", ranks);
  bench_print(name, latest_ns[1], "ns, simulated, worst rank");
  simnet_destroy(net);
}

static nbc_status one_byte_put(void *user) { /* what a put to a rank of the same node ends in */
  *(volatile char *)user = 1;
  return NBC_OK;
}

static void bench_timer(void) {
  nbc_clock clock;
  nbc_measurement inside, outside;
  char target = 0;
  if (nbc_clock_create(NULL, &clock) != NBC_OK) exit(1);
  if (nbc_measure_loop(&clock, NULL, NBC_TIMING_EACH, 1000, 0, one_byte_put, &target, &inside) != NBC_OK) exit(1);
  if (nbc_measure_loop(&clock, NULL, NBC_TIMING_LOOP, 1000, 0, one_byte_put, &target, &outside) != NBC_OK) exit(1);
  bench_print_peer("timer_inside_vs_outside", inside.time.median, "ns per one-byte put", "timer outside the loop",
                   outside.time.median);
}

int main(int argc, char **argv) {
  found f;
  nbc_threads *world;
  memset(&f, 0, sizeof f);
  if (nbc_threads_create(NULL, &world) != NBC_OK) return 1;
  if (bench_wanted(argc, argv, "clock_bound")) {
    if (nbc_threads_run(world, find_bound, &f) != NBC_OK) return 1;
    bench_print("clock_bound", f.bound_ns, "ns, guaranteed, one second after the last burst");
  }
  if (bench_wanted(argc, argv, "clock_residual")) {
    double error_ns[NBC_SYNC_METHOD_COUNT][REPEATS];
    for (int i = 0; i < REPEATS; i++) {
      if (nbc_threads_run(world, find_error, &f) != NBC_OK) return 1;
      for (int m = 0; m < NBC_SYNC_METHOD_COUNT; m++) error_ns[m][i] = f.error_ns[m];
    }
    const double ours_ns = bench_median(error_ns[0], REPEATS);
    for (int m = 1; m < NBC_SYNC_METHOD_COUNT; m++)
      bench_print_peer("clock_residual", ours_ns, "ns", nbc_sync_method_name((nbc_sync_method)m),
                       bench_median(error_ns[m], REPEATS));
  }
  nbc_threads_destroy(world);
  if (bench_wanted(argc, argv, "sync_time"))
    for (int ranks = 16; ranks <= 65536; ranks *= 16) bench_sync_time(ranks);
  if (bench_wanted(argc, argv, "timer_inside")) bench_timer();
  return 0;
}
