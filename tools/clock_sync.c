/* Question: how far apart are the clocks of my ranks, how fast do they drift, and how sure is that?

   Run:      build/clock_sync [-n RANKS] [-t SECONDS] [-i SECONDS] [-w PPM] [-d]   ranks are threads
             mpirun -n 4 build/clock_sync_mpi [-t SECONDS] [-i SECONDS] ...     ranks are processes
             --help says what they are; what every bound assumes is -w
   Expected: one line per rank: offset to rank 0, drift, the guaranteed bound, the residual. Then, at each
             look, the bound as it had grown until then, what a new burst of round trips says, and whether
             the two agree ("held"). Last, what the bounds assume, and how much rates were seen to change:
             the bound a second later if that is all they ever do. Threads share one clock, and processes of
             a node, where that is proved: the truth there is offset 0, drift 0. */
#ifdef NBC_WITH_MPI
#  include <mpi.h>
#endif
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#include "tools/options.h"
#include "tools/output.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct settings {
  uint64_t ranks;
  double watch_s, interval_s, wander_ppm_per_s;
  bool doubt;
} settings;

typedef struct line { /* what rank 0 prints of every rank */
  nbc_sync_info now;
  nbc_time grown; /* offset and bound before the last burst */
  nbc_time later,
      seen; /* a second from now, as assumed and as wander was seen (err_ns -1: not yet) */
} line;

static void print_header(void) {
  printf("%5s %6s %16s %12s %11s %13s %12s %10s\n", "rank", "asks", "offset ns", "bound ns",
         "drift ppm", "+- ppm", "residual ns", "trip ns");
}

static void print_line(int rank, const line *l) {
  printf("%5d %6d %16lld %12lld %11.4f %13.4f %12lld %10lld\n", rank, l->now.parent_rank,
         (long long)l->now.offset.t_ns, (long long)l->now.offset.err_ns, l->now.rate_ppm,
         l->now.rate_err_ppm, (long long)l->now.residual_ns, (long long)l->now.rtt_min_ns);
}

/* Do the grown bound and the new one have a time in common? If not, one of them was wrong. */
static bool held(const line *l) {
  const int64_t apart_ns = l->grown.t_ns - l->now.offset.t_ns;
  return (apart_ns < 0 ? -apart_ns : apart_ns) <= l->grown.err_ns + l->now.offset.err_ns;
}

static nbc_status gather(const nbc_transport *t, const line *mine, line *all) {
  nbc_status status = NBC_OK;
  if (t->rank > 0) return nbc_send(t, mine, sizeof *mine, 0, 1000);
  all[0] = *mine;
  for (int r = 1; r < t->size && status == NBC_OK; r++)
    status = nbc_recv(t, &all[r], sizeof *all, r, 1000);
  return status;
}

static nbc_status look(nbc_sync *sync, bool first, double t_s, line *all, long *broken,
                       nbc_error *err) {
  const nbc_transport *t = nbc_sync_transport(sync);
  line mine;
  mine.grown = nbc_sync_info_of(sync).offset;
  nbc_status status = first ? NBC_OK : nbc_sync_update(sync, err);
  mine.now = nbc_sync_info_of(sync);
  const int64_t t_later_ns = t->now_ns(t->ctx) + 1000000000;
  if (status == NBC_OK) status = nbc_sync_global(sync, t_later_ns, &mine.later);
  if (nbc_sync_global_if(sync, mine.now.wander_seen_ppm_per_s, t_later_ns, &mine.seen) != NBC_OK)
    mine.seen.err_ns = -1;
  if (status == NBC_OK) status = gather(t, &mine, all);
  if (status != NBC_OK || t->rank > 0) return status;
  if (first) print_header();
  for (int r = 0; r < t->size; r++) {
    if (first)
      print_line(r, &all[r]);
    else if (r > 0) {
      printf("%6.2f s  rank %d: bound had grown to %lld ns, now %lld ns, drift %.4f +- %.4f ppm, "
             "%llu steps: %s\n",
             t_s, r, (long long)all[r].grown.err_ns, (long long)all[r].now.offset.err_ns,
             all[r].now.rate_ppm, all[r].now.rate_err_ppm,
             (unsigned long long)all[r].now.step_count, held(&all[r]) ? "held" : "BROKEN");
      *broken += !held(&all[r]);
    }
  }
  return output_flush() ? NBC_OK : NBC_E_IO;
}

/* What every bound rests on, and what it would be on what was seen. */
static void print_assumed(const nbc_transport *t, const nbc_sync_desc *desc, const line *all) {
  int alike = 0;
  for (int r = 1; r < t->size; r++)
    if (all[r].now.trip_count == 0)
      alike++;
    else if (all[r].seen.err_ns >= 0)
      printf("rank %d: its rate changed by at most %.4f ppm/s while watched; bound after a second "
             "%lld ns "
             "if that is all it ever does, %lld ns as assumed\n",
             r, all[r].now.wander_seen_ppm_per_s, (long long)all[r].seen.err_ns,
             (long long)all[r].later.err_ns);
    else
      printf(
          "rank %d: watched for too short to say how its rate changes; bound after a second %lld "
          "ns as assumed\n",
          r, (long long)all[r].later.err_ns);
  if (alike)
    printf("%d rank%s read%s rank 0's counter: no offset, no drift (one kernel, a counter that it "
           "trusts on all "
           "cores, no message before it was sent)\n",
           alike, alike > 1 ? "s" : "", alike > 1 ? "" : "s");
  if (alike < t->size - 1)
    printf("assumed: no rate differs from rank 0's by more than %g ppm, or changes by more than %g "
           "ppm per second (-w)\n",
           desc->rate_limit_ppm, desc->wander_ppm_per_s);
}

static nbc_status watch(nbc_transport *transport, void *user) {
  const settings *o = (const settings *)user;
  nbc_transport t = *transport;
  nbc_sync *sync = NULL;
  nbc_error err = {NBC_OK, 0, ""};
  line *all = (line *)calloc((size_t)t.size, sizeof *all);
  long broken = 0;
  if (!all) return NBC_E_NOMEM;
  if (o->doubt) t.same_clock = NULL;
  nbc_sync_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.wander_ppm_per_s = o->wander_ppm_per_s > 0 ? o->wander_ppm_per_s : -1;
  nbc_status status = nbc_sync_create(&t, &desc, &sync, &err);
  if (status == NBC_OK) status = look(sync, true, 0, all, &broken, &err);
  for (double t_s = o->interval_s; status == NBC_OK && t_s <= o->watch_s + 1e-9;
       t_s += o->interval_s) {
    const struct timespec pause = {(time_t)o->interval_s,
                                   (long)((o->interval_s - floor(o->interval_s)) * 1e9)};
    nanosleep(&pause, NULL);
    status = look(sync, false, t_s, all, &broken, &err);
  }
  if (status != NBC_OK)
    fprintf(stderr, "clock_sync: %s\n", err.text[0] ? err.text : nbc_status_text(status));
  else if (t.rank == 0) {
    print_header();
    for (int r = 0; r < t.size; r++) print_line(r, &all[r]);
    desc = nbc_sync_desc_of(sync);
    print_assumed(&t, &desc, all);
    if (broken)
      printf("%ld bounds were broken: a clock stepped, or drifts beyond its limits\n", broken);
  }
  nbc_sync_destroy(sync);
  free(all);
  return status != NBC_OK ? status : broken ? NBC_E_CLOCK : NBC_OK;
}

static settings o = {2, 3, 0.5, 1, false};
static const option options[] = {
    {"-n", "RANKS", "threads, 1 to 256 (2); with an MPI, its processes", .whole = &o.ranks,
     .range = {1, 256}},
    {"-t", "SECONDS", "how long to watch (3)", .real = &o.watch_s, .range = {0, 1e6}},
    {"-i", "SECONDS", "between two looks (0.5)", .real = &o.interval_s, .range = {1e-3, 1e5}},
    {"-w", "PPM", "how much a rate may change per second (1)", .real = &o.wander_ppm_per_s,
     .range = {0, 1e4}},
    {"-d", NULL, "doubt that ranks of one node read one counter", .flag = &o.doubt},
    {0}};
static const command_line command = {
    "usage: clock_sync [-n RANKS] [-t SECONDS] [-i SECONDS] [-w PPM] [-d]\n"
    "How far apart clocks of ranks are, how fast they drift, and how sure that is.\n",
    options, NULL};

int main(int argc, char **argv) {
  nbc_status status;
  output_begin("clock_sync");
  if (options_read(&command, argc, argv)) options_refuse(argv[1], "no option (--help)");
#ifdef NBC_WITH_MPI
  nbc_transport *t;
  nbc_error err;
  MPI_Init(&argc, &argv);
  status = nbc_mpi_create(MPI_COMM_WORLD, NULL, &t, &err);
  if (status == NBC_OK)
    status = watch(t, &o);
  else
    fprintf(stderr, "clock_sync: %s\n", err.text);
  if (status != NBC_OK) MPI_Abort(MPI_COMM_WORLD, 1);
  nbc_mpi_destroy(t);
  MPI_Finalize();
#else
  nbc_threads_desc desc;
  nbc_threads *world;
  memset(&desc, 0, sizeof desc);
  desc.size = (int)o.ranks;
  status = nbc_threads_create(&desc, &world);
  if (status == NBC_OK) status = nbc_threads_run(world, watch, &o);
  if (status != NBC_OK)
    fprintf(stderr, "clock_sync: %s\n", nbc_status_text(status));
  else
    nbc_threads_destroy(world);
#endif
  return status == NBC_OK ? 0 : 1;
}
