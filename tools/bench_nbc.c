/* Question: do nonblocking collectives really overlap with computation here, who pays for it, and which
   implementation and progress policy should a program use?

   The benchmark of [R §4]: t1, start the collective, t2, compute, t3, wait, t4, with no test calls in
   between. Both axes are times: message sizes and computations are calibrated to them, references are
   measured in the same layout, and the ratios use what was measured, not the targets.

   Run:      build/bench_nbc [options]; --help lists them. Ranks are threads, messages are copied by whoever
             progresses, or with --link-mb-s by a DMA thread that stands in for the NIC. No MPI needed.
             build/bench_nbc --mpi mpich (or openmpi): side by side the MPI's own nonblocking collectives
             without and with its asynchronous thread, this library's on that MPI, this library's on
             threads. Each MPI column is measured by mpirun and build/bench_nbc.mpich, a program of its
             own. The computation's references come from the command itself, which never initialises
             MPI: the MPI impact ratio is what the idle MPI library costs.
             --mpirun "srun -n 2 ./bench_nbc.mpich": another way to start it, on this machine.
             mpirun -n 4 build/bench_nbc.mpich runs alone, also on several machines; its references are
             measured beside the idle MPI, so it has no MPI impact ratio.
             build/bench_nbc --sim nodes=64,cores=16: the same collectives, policies and page on a simulated
             machine, in simulated time: the same numbers everywhere (tools/bench_nbc_sim.h).
             --point COLL COMM_US COMP_US: one case, in full.
   Expected: one sentence of verdict per collective, a table that compares the columns, a table of overhead
             ratios each; the same as JSON and as one HTML page with heat maps (--json, --html). Overhead
             ratio 0: all that can be hidden is; 1: as if one came after the other. Without an engine
             ("none") a collective of several steps stands still while the program computes; a dedicated
             core hides it. */
#ifdef NBC_WITH_MPI
#  include <mpi.h>
#endif
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#include "tools/options.h"
#include "tools/output.h"
#ifdef BENCH_WITH_SIM
#  define PORTALS_MODEL_IMPLEMENTATION
#  define PM_WITH_NBC
#  include "portals_model.h"
#endif
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
  MAX_AXIS = 16,
  MAX_LIST = 16,
  MAX_COLUMNS = 16,
  MAX_REPS = 99,
  MAX_THREADS = 64,
  MAX_RANKS = 1024,
  GEMM = 32
};
enum { CALL, COMP, WAIT, PARTS }; /* of a measured case */
static const char *const part_names[] = {"call", "computation", "wait"};

/* Who carries out collectives. A further source of numbers is one more line of `backends`. */
typedef struct backend {
  const char *name, *what;
  bool policies; /* a column for every policy of --policy; otherwise one */
  bool computes; /* needs the references of the computation */
  /* column p: all points of `results` that are not done() yet, each with keep(). NULL: not here */
  void (*measure)(int p);
} backend;

typedef struct column {
  const backend *by;
  nbc_policy policy;
  double polls, posts, busy; /* of its engines; 0 = no engine */
  char about[64];            /* the MPI's version, the link */
} column;

typedef struct settings {
  nbc_coll colls[MAX_LIST];
  nbc_policy policies[MAX_LIST];
  const backend *impls[MAX_LIST];
  column columns[MAX_COLUMNS];
  int coll_count, policy_count, impl_count, column_count, rank_count, reps, oversample;
  double budget_s, min_us, max_us, point_comm_us, point_comp_us, link_mb_per_s, latency_us, max_mib,
      spread_ratio;
  cpu_set_t compute;
  int worker_core, part; /* part: the one column that this process measures, for another; or -1 */
  bool share, turns, realtime, point, mpi, show;
  bool beside_mpi; /* references */
  char layout[128], layout_cores[512];
  const char *json, *html, *resume, *mpirun, *tune, *sim;
} settings;

/* One measured case. Times in ns, of all ranks together (see span); medians over the repetitions. All
   members are double: `fields` names them. */
typedef struct result {
  double count, comm_ref, comp_ref,
      passive; /* passive: computation beside the idle runtime; 0 = unknown */
  double measured, measured_lo, measured_hi, part[PARTS];
  double ranks[PARTS][3]; /* the least, the middle, the most of the ranks */
} result;
static const struct field {
  const char *name;
  size_t offset;
} fields[] = {{"count", offsetof(result, count)},
              {"comm_ref_ns", offsetof(result, comm_ref)},
              {"comp_ref_ns", offsetof(result, comp_ref)},
              {"comp_passive_ns", offsetof(result, passive)},
              {"measured_ns", offsetof(result, measured)},
              {"measured_lo_ns", offsetof(result, measured_lo)},
              {"measured_hi_ns", offsetof(result, measured_hi)},
              {"call_ns", offsetof(result, part[CALL])},
              {"comp_ns", offsetof(result, part[COMP])},
              {"wait_ns", offsetof(result, part[WAIT])},
              {"call_rank_min_ns", offsetof(result, ranks[CALL][0])},
              {"call_rank_median_ns", offsetof(result, ranks[CALL][1])},
              {"call_rank_max_ns", offsetof(result, ranks[CALL][2])},
              {"comp_rank_min_ns", offsetof(result, ranks[COMP][0])},
              {"comp_rank_median_ns", offsetof(result, ranks[COMP][1])},
              {"comp_rank_max_ns", offsetof(result, ranks[COMP][2])},
              {"wait_rank_min_ns", offsetof(result, ranks[WAIT][0])},
              {"wait_rank_median_ns", offsetof(result, ranks[WAIT][1])},
              {"wait_rank_max_ns", offsetof(result, ranks[WAIT][2])}};
enum { FIELDS = sizeof fields / sizeof *fields };

static settings set;
static double axis_us[MAX_AXIS];
static int axis_count;
static result results[MAX_LIST][MAX_COLUMNS][MAX_AXIS][MAX_AXIS]; /* coll, column, comm, comp */
static double comp_refs[MAX_AXIS]; /* computation alone, per point of the axis */
static long gemm_counts[MAX_AXIS]; /* 0 = not calibrated */
static bool incomplete;            /* a column could not be measured, or an output was lost */
static FILE *kept; /* finished points: --resume, and between programs of one sweep */
static nbc_clock wall;
static int64_t t_begin_ns;
static double core_ns, used_ns; /* in references: time of the cores, time we got */

static double *field_of(result *x, int k) {
  return (double *)(void *)((char *)x + fields[k].offset);
}
static bool done(const result *x) { return x->measured > 0; }

/* "mpi", "ours-threads:none"; for people "ours-threads, policy none" */
static const char *column_name(int p, const char *between, char text[64]) {
  const column *const col = &set.columns[p];
  snprintf(text, 64, "%s%s%s", col->by->name, col->by->policies ? between : "",
           col->by->policies ? nbc_policy_name(col->policy) : "");
  return text;
}

static const char *policy_of(int p) {
  return set.columns[p].by->policies ? nbc_policy_name(set.columns[p].policy) : "own";
}

static void fail(const char *what, const char *value) {
  fprintf(stderr, "bench_nbc: %s%s%s\n", what, value ? ": " : "", value ? value : "");
  exit(2);
}

static void close_kept(void) {
  if (kept && !output_close(kept, set.resume)) incomplete = true;
  kept = NULL;
}

/* A finished point; any backend calls this. */
static void keep(int c, int p, int i, int j) {
  if (!kept) return;
  fprintf(kept, "point %d %d %d %d", c, p, i, j);
  for (int k = 0; k < FIELDS; k++) fprintf(kept, " %.9g", *field_of(&results[c][p][i][j], k));
  fprintf(kept, " end\n");
  if (fflush(kept)) close_kept(); /* said once; what is measured from here on is not kept */
}

static void note_reference(int j, long gemms, double took_ns) {
  if (!gemm_counts[j] || took_ns < comp_refs[j]) comp_refs[j] = took_ns;
  gemm_counts[j] = gemms;
}

static void show_progress(int c, int p, int n) {
  char name[64];
  if (set.show)
    fprintf(stderr, "\r%s %s %d/%d   ", nbc_coll_name(set.colls[c]), column_name(p, " ", name), n,
            axis_count * axis_count);
}

/* ---- computation: small matrix products, cache-resident -------------------------------------- */
typedef struct matrices {
  double a[GEMM][GEMM], b[GEMM][GEMM], c[GEMM][GEMM];
} matrices;

static void compute(matrices *m, long count) {
  for (long n = 0; n < count; n++)
    for (int i = 0; i < GEMM; i++)
      for (int k = 0; k < GEMM; k++)
        for (int j = 0; j < GEMM; j++) m->c[i][j] = 0.5 * m->c[i][j] + m->a[i][k] * m->b[k][j];
}

/* ---- one rank -------------------------------------------------------------------------------- */
typedef struct bench_rank {
  nbc_transport *t;
  nbc_comm *work, *control;
  nbc_sync *sync;
  matrices *m;
  char *send, *recv;
  uint64_t counts[MAX_RANKS];
  int int_counts[MAX_RANKS], int_displs[MAX_RANKS];
  double gathered[MAX_RANKS][5]; /* of every rank, at rank 0: t1 ... t4 in global time, processor
                                    time of the computation */
} bench_rank;

/* A collective that can be started again and again: ours, or the MPI's own. */
typedef struct operation {
  nbc_request *ours;
  nbc_coll_args args;
#ifdef NBC_WITH_MPI
  MPI_Request theirs;
#endif
} operation;

static void stop_on(nbc_status status, const nbc_error *err, const char *what) {
  if (status == NBC_OK) return;
  fprintf(stderr, "bench_nbc: %s: %s\n", what,
          err && err->text[0] ? err->text : nbc_status_text(status));
  exit(1);
}

static int64_t now(const bench_rank *r) { return r->t->now_ns(r->t->ctx); }

static void control(bench_rank *r, nbc_coll coll, const void *send, void *recv, uint64_t count) {
  const nbc_coll_args args = {.coll = coll, .send = send, .recv = recv, .count = count};
  stop_on(nbc_coll_run(r->control, &args), nbc_comm_error(r->control), "control");
}

/* All ranks leave at the same moment of the synchronised clocks: a barrier alone lets them go one by one. */
static void start_together(bench_rank *r) {
  int64_t t_start_ns = 0, t_local_ns;
  control(r, NBC_COLL_BARRIER, NULL, NULL, 0);
  if (r->t->rank == 0) t_start_ns = nbc_sync_now(r->sync).t_ns + 50000 + 20000 * r->t->size;
  control(r, NBC_COLL_BCAST, NULL, &t_start_ns, sizeof t_start_ns);
  stop_on(nbc_sync_local(r->sync, t_start_ns, &t_local_ns), NULL, "synchronised start");
  while (now(r) < t_local_ns) sched_yield();
}

#ifdef NBC_WITH_MPI
static void start_mpi(bench_rank *r, operation *o) {
  const int n = (int)o->args.count, *const counts = r->int_counts, *const displs = r->int_displs;
  const MPI_Comm world = MPI_COMM_WORLD;
  const MPI_Datatype d = MPI_DOUBLE;
  void *const in = r->send, *const out = r->recv;
  switch (o->args.coll) {
  case NBC_COLL_BCAST: MPI_Ibcast(out, n, d, 0, world, &o->theirs); break;
  case NBC_COLL_REDUCE: MPI_Ireduce(in, out, n, d, MPI_SUM, 0, world, &o->theirs); break;
  case NBC_COLL_ALLREDUCE: MPI_Iallreduce(in, out, n, d, MPI_SUM, world, &o->theirs); break;
  case NBC_COLL_REDUCE_SCATTER_BLOCK:
    MPI_Ireduce_scatter_block(in, out, n, d, MPI_SUM, world, &o->theirs);
    break;
  case NBC_COLL_REDUCE_SCATTER:
    MPI_Ireduce_scatter(in, out, counts, d, MPI_SUM, world, &o->theirs);
    break;
  case NBC_COLL_GATHER: MPI_Igather(in, n, d, out, n, d, 0, world, &o->theirs); break;
  case NBC_COLL_GATHERV:
    MPI_Igatherv(in, n, d, out, counts, displs, d, 0, world, &o->theirs);
    break;
  case NBC_COLL_SCATTER: MPI_Iscatter(in, n, d, out, n, d, 0, world, &o->theirs); break;
  case NBC_COLL_SCATTERV:
    MPI_Iscatterv(in, counts, displs, d, out, n, d, 0, world, &o->theirs);
    break;
  case NBC_COLL_ALLGATHER: MPI_Iallgather(in, n, d, out, n, d, world, &o->theirs); break;
  case NBC_COLL_ALLGATHERV:
    MPI_Iallgatherv(in, counts[r->t->rank], d, out, counts, displs, d, world, &o->theirs);
    break;
  case NBC_COLL_ALLTOALL: MPI_Ialltoall(in, n, d, out, n, d, world, &o->theirs); break;
  case NBC_COLL_ALLTOALLV:
    MPI_Ialltoallv(in, counts, displs, d, out, counts, displs, d, world, &o->theirs);
    break;
  case NBC_COLL_SCAN: MPI_Iscan(in, out, n, d, MPI_SUM, world, &o->theirs); break;
  case NBC_COLL_EXSCAN: MPI_Iexscan(in, out, n, d, MPI_SUM, world, &o->theirs); break;
  case NBC_COLL_BARRIER:
  case NBC_COLL_NEIGHBOR_ALLGATHER:
  case NBC_COLL_NEIGHBOR_ALLTOALL:
  case NBC_COLL_COUNT: break;
  }
}

/* As ours waits: polls, and offers the core now and then, because ranks may take turns on it. */
static void wait_mpi(operation *o) {
  int over = 0;
  for (unsigned poll_count = 1; !over; poll_count++) {
    MPI_Test(&o->theirs, &over, MPI_STATUS_IGNORE);
    if (!over && poll_count > 64) sched_yield();
  }
}
#endif

static void start(bench_rank *r, operation *o) {
#ifdef NBC_WITH_MPI
  if (!o->ours) {
    start_mpi(r, o);
    return;
  }
#endif
  stop_on(nbc_coll_start(o->ours), nbc_comm_error(r->work), "start");
}

static void wait_for(bench_rank *r, operation *o) {
#ifdef NBC_WITH_MPI
  if (!o->ours) {
    wait_mpi(o);
    return;
  }
#endif
  stop_on(nbc_coll_wait(&o->ours, 0), nbc_comm_error(r->work), "wait");
}

/* Rank 0 gets everybody's t1 ... t4. o NULL: computation alone. */
static void measure(bench_rank *r, operation *o, long gemms) {
  double mine[5];
  struct timespec cpu[2];
  int64_t t[4];
  start_together(r);
  t[0] = now(r);
  if (o) start(r, o);
  t[1] = now(r);
  if (set.turns) sched_yield(); /* on one core: let the others post before this rank computes */
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu[0]);
  compute(r->m, gemms);
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu[1]);
  t[2] = now(r);
  if (o) wait_for(r, o);
  t[3] = now(r);
  for (int k = 0; k < 4; k++) {
    nbc_time global = {0, 0};
    stop_on(nbc_sync_global(r->sync, t[k], &global), NULL, "clock");
    mine[k] = (double)global.t_ns;
  }
  mine[4] =
      (double)(cpu[1].tv_sec - cpu[0].tv_sec) * 1e9 + (double)(cpu[1].tv_nsec - cpu[0].tv_nsec);
  control(r, NBC_COLL_GATHER, mine, r->gathered, sizeof mine);
}

/* Over all ranks, from the first t_from to the last t_to. So it stays right where ranks take turns on a
   core: there each rank's own t3 - t2 depends on the scheduler's time slices, their sum does not. */
static double span(const bench_rank *r, int from, int to) {
  double low = r->gathered[0][from], high = r->gathered[0][to];
  for (int i = 1; i < r->t->size; i++)
    low = fmin(low, r->gathered[i][from]), high = fmax(high, r->gathered[i][to]);
  return high - low;
}

static int order(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *values, int count) {
  nbc_summary s;
  stop_on(nbc_summarize(values, (size_t)count, 0, &s), NULL, "statistics");
  return s.median;
}

/* One part of every rank's time: the least, the middle, the most. */
static void over_ranks(const bench_rank *r, int part, double low_mid_high[3]) {
  double values[MAX_RANKS];
  for (int i = 0; i < r->t->size; i++) values[i] = r->gathered[i][part + 1] - r->gathered[i][part];
  qsort(values, (size_t)r->t->size, sizeof *values, order);
  for (int k = 0; k < 3; k++) low_mid_high[k] = nbc_quantile(values, (size_t)r->t->size, 0.5 * k);
}

/* Computation alone: what of the cores' time went to other programs. */
static void note_disturbance(const bench_rank *r) {
  double used = 0;
  for (int i = 0; i < r->t->size; i++) used += r->gathered[i][4];
  core_ns += span(r, 1, 2) * (set.turns ? CPU_COUNT(&set.compute) : set.rank_count);
  used_ns += used;
}

/* Median time of everything on all ranks, the same number on all ranks; of the least disturbed ones. */
static double median_of(bench_rank *r, operation *o, long gemms, int reps) {
  double values[MAX_REPS], all = 0;
  measure(r, o, gemms); /* warm: pages, caches, schedule */
  for (int i = 0; i < reps * set.oversample; i++) {
    measure(r, o, gemms);
    if (!o && r->t->rank == 0) note_disturbance(r);
    values[i] = span(r, 0, o ? 3 : 2);
  }
  if (r->t->rank == 0) {
    qsort(values, (size_t)(reps * set.oversample), sizeof *values, order);
    all = median(values, reps);
  }
  control(r, NBC_COLL_BCAST, NULL, &all, sizeof all);
  return all;
}

static bool blocks(nbc_coll coll) { /* the buffers hold one block per rank */
  return coll != NBC_COLL_BCAST && coll != NBC_COLL_REDUCE && coll != NBC_COLL_ALLREDUCE &&
         coll < NBC_COLL_SCAN;
}

/* v-variants: lengths spread around `count` by up to spread_ratio, the same on all ranks. */
static operation operation_of(bench_rank *r, bool ours, nbc_coll coll, uint64_t count) {
  operation o = {.args = {.coll = coll,
                          .send = r->send,
                          .recv = r->recv,
                          .count = count,
                          .type = NBC_TYPE_DOUBLE,
                          .reduce = NBC_REDUCE_SUM}};
  int displ = 0;
  const bool v = coll == NBC_COLL_ALLGATHERV || coll == NBC_COLL_ALLTOALLV ||
                 coll == NBC_COLL_REDUCE_SCATTER || coll == NBC_COLL_GATHERV ||
                 coll == NBC_COLL_SCATTERV;
  for (int i = 0; i < r->t->size && v; i++) {
    const int from = coll == NBC_COLL_ALLTOALLV ? i + r->t->rank : i; /* alltoallv: symmetric */
    r->counts[i] = (uint64_t)((double)count * (1 + set.spread_ratio * (from * 7 % 5 - 2) / 2.0));
    r->int_counts[i] = (int)r->counts[i], r->int_displs[i] = displ;
    displ += r->int_counts[i];
  }
  if (v) o.args.recv_counts = o.args.send_counts = r->counts;
  if (coll == NBC_COLL_GATHERV || coll == NBC_COLL_SCATTERV) o.args.count = r->counts[r->t->rank];
  if (ours)
    stop_on(nbc_coll_init(r->work, &o.args, &o.ours), nbc_comm_error(r->work), nbc_coll_name(coll));
  return o;
}

static uint64_t most_count(nbc_coll coll, int rank_count) {
  return (uint64_t)(set.max_mib * 1048576 / 8 / (blocks(coll) ? 2 * rank_count : 1));
}

/* The number of elements, at most `most`, beginning with a guess (0 = none), whose collective takes target_ns, to 10 %; what it took is
   measured, not assumed. */
static uint64_t search_count(uint64_t most, uint64_t guess_count, double target_ns,
                             double (*took_ns)(void *ctx, uint64_t count), void *ctx,
                             double *comm_ref) {
  uint64_t low = 1, high = most, count = guess_count ? guess_count : most / 64 + 1, best = 1;
  double best_ns = 0;
  for (int tries = 0; tries < 14 && low <= high; tries++) {
    const double ns = took_ns(ctx, count);
    if (tries == 0 || fabs(ns - target_ns) < fabs(best_ns - target_ns)) best = count, best_ns = ns;
    if (fabs(ns - target_ns) <= 0.1 * target_ns) break;
    if (ns < target_ns)
      low = count + 1;
    else
      high = count - 1;
    double guess = (double)count * target_ns / ns; /* time grows about linearly */
    if (guess <= (double)low || guess >= (double)high) guess = 0.5 * ((double)low + (double)high);
    count = (uint64_t)guess;
    if (count < 1) count = 1;
  }
  *comm_ref = best_ns;
  return best;
}

typedef struct one_size {
  bench_rank *r;
  bool ours;
  nbc_coll coll;
} one_size;

static double size_took_ns(void *ctx, uint64_t count) {
  const one_size *const one = ctx;
  operation o = operation_of(one->r, one->ours, one->coll, count);
  const double ns = median_of(one->r, &o, 0, 3);
  nbc_coll_free(o.ours);
  return ns;
}

typedef struct repetition {
  double measured, part[PARTS], ranks[PARTS][3];
} repetition;

static int shorter(const void *a, const void *b) {
  return order(&((const repetition *)a)->measured, &((const repetition *)b)->measured);
}

static double median_field(const repetition *reps, const void *member) { /* of reps[0] */
  const size_t offset = (size_t)((const char *)member - (const char *)reps);
  double values[MAX_REPS];
  for (int i = 0; i < set.reps; i++)
    memcpy(&values[i], (const char *)&reps[i] + offset, sizeof *values);
  return median(values, set.reps);
}

static void take_repetition(const bench_rank *r, repetition *one) {
  for (int k = 0; k < PARTS; k++) over_ranks(r, k, one->ranks[k]);
  one->measured = span(r, 0, 3), one->part[COMP] = span(r, 1, 2);
  one->part[CALL] = one->ranks[CALL][2];
  one->part[WAIT] = fmax(0, one->measured - one->part[COMP] - one->part[CALL]); /* the rest */
}

static void summarize_repetitions(repetition *reps, result *x) {
  double measured[MAX_REPS];
  nbc_summary summary;
  qsort(reps, (size_t)(set.reps * set.oversample), sizeof *reps, shorter);
  for (int n = 0; n < set.reps; n++) measured[n] = reps[n].measured;
  stop_on(nbc_summarize(measured, (size_t)set.reps, 0, &summary), NULL, "statistics");
  x->measured = summary.median, x->measured_lo = summary.median_lo,
  x->measured_hi = summary.median_hi;
  for (int k = 0; k < PARTS; k++) {
    x->part[k] = median_field(reps, &reps->part[k]);
    for (int m = 0; m < 3; m++) x->ranks[k][m] = median_field(reps, &reps->ranks[k][m]);
  }
}

/* One point of the grid. Results are kept by rank 0. */
static void run_point(bench_rank *r, operation *o, result *x, long gemms) {
  repetition reps[MAX_REPS];
  for (int n = 0; n < set.reps * set.oversample; n++) {
    measure(r, o, gemms);
    take_repetition(r, &reps[n]);
  }
  if (r->t->rank == 0) summarize_repetitions(reps, x);
}

/* What the computation takes where nothing else runs, and, the first time, how many products make up each
   time of the axis. Other programs only make it longer: of several measurements the shortest counts. */
static void find_references(bench_rank *r) {
  const double ns = gemm_counts[0] ? 0 : median_of(r, NULL, 200, 7) / 200;
  for (int j = 0; j < axis_count; j++) {
    const double target_ns = 1e3 * (set.point ? set.point_comp_us : axis_us[j]);
    long gemms = gemm_counts[j] ? gemm_counts[j] : (long)(target_ns / ns) + 1;
    double took = median_of(r, NULL, gemms, set.reps);
    for (int tries = 0; !gemm_counts[j] && tries < 3 && fabs(took - target_ns) > 0.1 * target_ns;
         tries++) {
      gemms = (long)((double)gemms * target_ns / took) + 1;
      took = median_of(r, NULL, gemms, set.reps);
    }
    control(r, NBC_COLL_BARRIER, NULL, NULL, 0); /* threads share what is set now */
    if (r->t->rank == 0 || set.mpi) note_reference(j, gemms, took);
    if (r->t->rank == 0 && kept) fprintf(kept, "reference %d %ld %.9g end\n", j, gemms, took);
    control(r, NBC_COLL_BARRIER, NULL, NULL, 0);
  }
}

/* One size of message beside every computation. */
static void run_row(bench_rank *r, int c, int p, int i) {
  const bool ours = set.columns[p].by->policies;
  const double target_us = set.point ? set.point_comm_us : axis_us[i];
  one_size one = {r, ours, set.colls[c]};
  double comm_ref;
  const uint64_t count = search_count(most_count(set.colls[c], r->t->size), 0, target_us * 1e3,
                                      size_took_ns, &one, &comm_ref);
  operation o = operation_of(r, ours, set.colls[c], count);
  comm_ref = median_of(r, &o, 0, set.reps);
  for (int j = 0; j < axis_count; j++) {
    result *const x = &results[c][p][i][j];
    const double passive =
        median_of(r, NULL, gemm_counts[j], set.reps); /* beside an idle engine or MPI */
    run_point(r, &o, x, gemm_counts[j]);
    if (r->t->rank) continue;
    x->count = (double)count, x->comm_ref = comm_ref, x->comp_ref = comp_refs[j];
    x->passive = set.beside_mpi ? 0 : passive;
    keep(c, p, i, j);
    show_progress(c, p, i * axis_count + j + 1);
  }
  nbc_coll_free(o.ours);
}

static void run_column(bench_rank *r, int p) {
  const int first = set.part < 0 ? p : 0, columns = set.part < 0 ? set.column_count : 1;
  for (int c = 0; c < set.coll_count; c++)
    for (int i = 0; i < axis_count; i++) {
      const double share = (double)((first * set.coll_count + c) * axis_count + i) /
                           (set.coll_count * axis_count * columns);
      const double used_s = (double)(nbc_clock_now_ns(&wall) - t_begin_ns) * 1e-9;
      char todo = 0;
      for (int j = 0; j < axis_count && r->t->rank == 0; j++) todo |= !done(&results[c][p][i][j]);
      if (set.budget_s > 0 && used_s > set.budget_s * (share + 0.5))
        todo = 0; /* rank 0 decides for all */
      control(r, NBC_COLL_BCAST, NULL, &todo, 1);
      if (todo) run_row(r, c, p, i); /* otherwise resumed, or out of time */
    }
}

typedef struct phase {
  int column; /* -1: references */
  nbc_progress *progress;
} phase;

static nbc_status rank_main(nbc_transport *t, void *user) {
  const phase *const ph = user;
  bench_rank *r = calloc(1, sizeof *r);
  const size_t bytes = (size_t)(set.max_mib * 1048576) + 64;
  nbc_error err = {0};
  pthread_setaffinity_np(pthread_self(), sizeof set.compute, &set.compute);
  if (!r || !(r->m = calloc(1, sizeof *r->m)) || !(r->send = calloc(1, bytes)) ||
      !(r->recv = calloc(1, bytes)))
    stop_on(NBC_E_NOMEM, NULL, "buffers");
  for (int i = 0; i < GEMM * GEMM; i++)
    r->m->a[i / GEMM][i % GEMM] = 1e-3 * i, r->m->b[i / GEMM][i % GEMM] = 1e-3;
  r->t = t;
  stop_on(nbc_sync_create(t, &(nbc_sync_desc){0}, &r->sync, &err), &err, "synchronised clock");
  const nbc_comm_desc work = {.transport = t, .id = 1, .progress = ph->progress},
                      ctl = {.transport = t, .id = 2, .progress = ph->progress};
  stop_on(nbc_comm_create(&work, &r->work, &err), &err, "communicator"),
      stop_on(nbc_comm_create(&ctl, &r->control, &err), &err, "communicator");
  if (set.part >= 0) { /* what the command that started us has found */
    control(r, NBC_COLL_BCAST, NULL, gemm_counts, sizeof gemm_counts);
    control(r, NBC_COLL_BCAST, NULL, comp_refs, sizeof comp_refs);
  }
  if (ph->column < 0)
    find_references(r);
  else
    run_column(r, ph->column);
  control(r, NBC_COLL_BARRIER, NULL, NULL, 0);
  nbc_comm_destroy(r->work), nbc_comm_destroy(r->control);
  nbc_sync_destroy(r->sync);
  free(r->m), free(r->send), free(r->recv), free(r);
  return NBC_OK;
}

static nbc_progress *engine_of(int p) {
  const bool shared = set.share || set.link_mb_per_s > 0 || (set.mpi && set.rank_count > 1);
  if (p < 0 || !set.columns[p].by->policies || set.columns[p].policy == NBC_POLICY_NONE)
    return NULL;
  const nbc_progress_desc desc = {
      .policy = set.columns[p].policy, .core = set.worker_core, .share_core = shared};
  nbc_progress *progress = NULL;
  nbc_error err = {0};
  stop_on(nbc_progress_create(&desc, &progress, &err), &err, "progress engine");
  return progress;
}

static void close_engine(nbc_progress *progress, int p) {
  nbc_progress_stats stats;
  if (!progress) return;
  nbc_progress_get_stats(progress, &stats);
  nbc_progress_destroy(progress);
  set.columns[p].polls = (double)stats.poll_count, set.columns[p].posts = (double)stats.post_count;
  set.columns[p].busy = stats.busy_ratio;
  if (kept)
    fprintf(kept, "engine %d %.9g %.9g %.9g end\n", p, set.columns[p].polls, set.columns[p].posts,
            set.columns[p].busy);
}

static void about(int p, const char *text) {
  char *const to = set.columns[p].about;
  snprintf(to, sizeof set.columns[p].about, "%.60s", text);
  for (char *at = to; *at; at++)
    if (*at < ' ' || strchr("\"\\<>&,", *at)) *at = ' '; /* it goes to JSON and HTML as it is */
  if (kept) fprintf(kept, "about %d %s\n", p, to);
}

/* ---- backends: threads, MPI in this process, an MPI program started from here ------------------ */
static void open_kept(void);
static char **own_args;
static cpu_set_t own_cores;

#ifdef NBC_WITH_MPI
static nbc_transport *mpi_transport;

static int mpi_threads; /* that MPI_Init started */

static int thread_count(void) {
  int count = 0;
  DIR *const folder = opendir("/proc/self/task");
  while (folder && readdir(folder)) count++;
  if (folder) closedir(folder);
  return count;
}

static void run_mpi(int p) { /* p -1: references */
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(version, &length);
  version[strcspn(version, ",\n")] = 0;
  if (p >= 0) about(p, version);
  if (p >= 0 && strcmp(set.columns[p].by->name, "mpi-async") == 0 &&
      (mpi_threads < 1 || strstr(version, "Open MPI")))
    fail("mpi-async: MPI_Init started no asynchronous thread", version);
  pthread_setaffinity_np(pthread_self(), sizeof set.compute, &set.compute);
  phase ph = {p, engine_of(p)};
  stop_on(rank_main(mpi_transport, &ph), NULL, "rank");
  close_engine(ph.progress, p);
}

#  define RUN_MPI     run_mpi
#  define RUN_THREADS NULL /* beside an MPI it would be measured under other conditions */
static void run_references(void) { run_mpi(-1); }
#else
/* A world of threads and, for a policy, an engine. What stands for the NIC and the engine lives on the
   worker's core. p -1: references */
static void run_threads(int p) {
  phase ph = {p, NULL};
  nbc_threads_desc desc = {.size = set.rank_count,
                           .dma = set.link_mb_per_s > 0,
                           .link_bytes_per_s = set.link_mb_per_s * 1e6,
                           .link_latency_ns = (int64_t)(set.latency_us * 1e3)};
  nbc_threads *world;
  cpu_set_t worker;
  char link[64] = "messages are copied by who progresses";
  if (desc.dma)
    snprintf(link, sizeof link, "a DMA thread is the NIC: %.4g MB/s %.3g us", set.link_mb_per_s,
             set.latency_us);
  if (p >= 0) about(p, link);
  CPU_ZERO(&worker);
  CPU_SET((size_t)set.worker_core, &worker);
  pthread_setaffinity_np(pthread_self(), sizeof worker, &worker); /* inherited by the DMA thread */
  stop_on(nbc_threads_create(&desc, &world), NULL, "threads transport");
  pthread_setaffinity_np(pthread_self(), sizeof set.compute, &set.compute);
  ph.progress = engine_of(p);
  stop_on(nbc_threads_run(world, rank_main, &ph), NULL, "ranks");
  close_engine(ph.progress, p);
  nbc_threads_destroy(world);
}

/* The process that becomes mpirun: this command line, then what overrules it. */
static void become_column(int p) {
  char command[1024], impls[512] = "", budget[32], part[16], ranks[16], *args[256];
  const bool async = strcmp(set.columns[p].by->name, "mpi-async") == 0;
  int n = 0;
  snprintf(command, sizeof command, "%s", set.mpirun);
  for (char *word = strtok(command, " "); word && n < 100; word = strtok(NULL, " "))
    args[n++] = word;
  for (char **arg = own_args + 1; *arg && n < 230; arg++) args[n++] = *arg;
  for (int i = 0; i < set.impl_count; i++) strcat(strcat(impls, i ? "," : ""), set.impls[i]->name);
  snprintf(budget, sizeof budget, "%.3g", fmax(1, set.budget_s / set.column_count));
  snprintf(part, sizeof part, "%d", p), snprintf(ranks, sizeof ranks, "%d", set.rank_count);
  const char *const over[] = {"--impl", impls,      "--layout", set.layout_cores, "--ranks",
                              ranks,    "--resume", set.resume, "--part",         part};
  for (size_t i = 0; i < sizeof over / sizeof *over; i++) args[n++] = (char *)(uintptr_t)over[i];
  if (set.budget_s > 0) args[n++] = (char *)"--budget-s", args[n++] = budget;
  if (set.show) args[n++] = (char *)"--show";
  args[n] = NULL;
  setenv("MPICH_ASYNC_PROGRESS", async ? "1" : "0", 1);    /* read by MPI_Init */
  setenv("OMPI_MCA_hwloc_base_binding_policy", "none", 0); /* --layout binds */
  setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 0);
  setenv("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe", 0); /* Open MPI 5 */
  if (!freopen("/dev/null", "r", stdin) || sched_setaffinity(0, sizeof own_cores, &own_cores))
    _exit(127);
  signal(SIGPIPE, SIG_DFL);
  execvp(args[0], args);
  fprintf(stderr, "bench_nbc: --mpirun: %s: %s\n", args[0], strerror(errno));
  _exit(127);
}

/* What it measures comes back through the file of finished points. */
static void run_program(int p) {
  char name[64];
  int status = 0;
  close_kept();
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) become_column(p);
  if (child < 0) fail("fork", strerror(errno));
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  open_kept();
  if (status == 0) return;
  incomplete = true;
  fprintf(stderr, "bench_nbc: %s could not be measured: %s ended with status %d\n",
          column_name(p, ":", name), set.mpirun, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

static double number(const char *name, const char *text, double low, double high);
#  ifdef BENCH_WITH_SIM
#    include "bench_nbc_sim.h"
#    define RUN_SIM run_simulated
#  endif
#  define RUN_MPI     run_program
#  define RUN_THREADS run_threads
static void run_references(void) { run_threads(-1); }
#endif

#ifndef RUN_SIM /* needs portals_model.h, and is not for each process of an MPI program */
#  define RUN_SIM NULL
static void parse_sim(const char *text) { fail("--sim: not in this program", text); }
static void describe_sim(char *text, size_t text_bytes) { snprintf(text, text_bytes, "-"); }
#endif

static const backend backends[] = {
    {"mpi", "the MPI's own nonblocking collective", false, true, RUN_MPI},
    {"mpi-async", "the same with the MPI's asynchronous thread (MPICH_ASYNC_PROGRESS=1)", false,
     true, RUN_MPI},
    {"ours-mpi", "this library on that MPI, with each --policy", true, true, RUN_MPI},
    {"ours-threads", "this library, ranks are threads, with each --policy", true, true,
     RUN_THREADS},
    {"simulated", "this library on the machine of --sim, with each --policy", true, false,
     RUN_SIM}};
enum { BACKENDS = sizeof backends / sizeof *backends };

/* ---- reports: text, JSON, page --------------------------------------------------------------- */
#include "bench_nbc_report.h"

/* ---- command line ---------------------------------------------------------------------------- */
static double number(const char *name, const char *text, double low, double high) {
  double v = low;
  if (!number_real(text, low, high, &v))
    options_refuse(name, "must be a number from %.16g to %.16g, not '%s'", low, high, text);
  return v;
}

static const backend *impl_of(const char *name) {
  for (size_t k = 0; k < BACKENDS; k++)
    if (strcmp(backends[k].name, name) == 0) return &backends[k];
  fail("--impl: no such implementation", name);
  return NULL;
}

enum list { COLLS, POLICIES, IMPLS };

static void parse_list(const char *text, enum list kind) {
  char copy[1024];
  int n = 0;
  snprintf(copy, sizeof copy, "%s", text);
  for (char *item = strtok(copy, ","); item; item = strtok(NULL, ","), n++) {
    if (n == MAX_LIST) fail("too many names in a list", NULL);
    if (kind == IMPLS) set.impls[n] = impl_of(item);
    if (kind == POLICIES && nbc_policy_parse(item, &set.policies[n])) fail("no such policy", item);
    if (kind == COLLS && nbc_coll_parse(item, &set.colls[n])) fail("no such collective", item);
    if (kind == COLLS && set.colls[n] == NBC_COLL_BARRIER)
      fail("a barrier has no size to calibrate", NULL);
  }
  if (n == 0) fail("empty list", NULL);
  *(kind == IMPLS ? &set.impl_count : kind == POLICIES ? &set.policy_count : &set.coll_count) = n;
}

static void make_columns(void) {
  for (int k = 0; k < set.impl_count; k++)
    for (int q = 0; q < (set.impls[k]->policies ? set.policy_count : 1); q++) {
      if (set.column_count == MAX_COLUMNS)
        fail("--impl times --policy: more than 16 columns", NULL);
      const nbc_policy policy = set.impls[k]->policies ? set.policies[q] : NBC_POLICY_NONE;
      set.columns[set.column_count++] = (column){.by = set.impls[k], .policy = policy};
    }
}

/* "0-2/3", "0,2/1": compute cores / worker core. One core for both is said, not refused. */
static void parse_layout(const char *text) {
  const char *at = text;
  CPU_ZERO(&set.compute);
  while (*at && *at != '/') {
    char *end;
    long from = strtol(at, &end, 10), to = from;
    if (end == at) fail("--layout: cores wanted, as in 0-2/3", text);
    if (*end == '-') {
      at = end + 1;
      to = strtol(at, &end, 10);
      if (end == at) fail("--layout: cores wanted, as in 0-2/3", text);
    }
    for (long i = from; i <= to; i++) {
      if (i < 0 || i >= CPU_SETSIZE || !CPU_ISSET((size_t)i, &own_cores))
        fail("--layout: a core that this process may not use", text);
      CPU_SET((size_t)i, &set.compute);
    }
    at = *end == ',' ? end + 1 : end;
  }
  int64_t worker;
  if (*at != '/' || !CPU_COUNT(&set.compute) || !number_whole(at + 1, 0, CPU_SETSIZE - 1, &worker))
    fail("--layout: cores wanted, as in 0-2/3", text);
  set.worker_core = (int)worker;
  if (!CPU_ISSET((size_t)set.worker_core, &own_cores))
    fail("--layout: a core that this process may not use", text);
}

static void describe_layout(void) {
  set.turns = CPU_COUNT(&set.compute) < set.rank_count;
  set.share = CPU_ISSET((size_t)set.worker_core, &set.compute);
  int n = 0;
  for (int i = 0; i < CPU_SETSIZE && n < 500; i++)
    if (CPU_ISSET((size_t)i, &set.compute))
      n += snprintf(set.layout_cores + n, sizeof set.layout_cores - (size_t)n, "%s%d", n ? "," : "",
                    i);
  snprintf(set.layout_cores + n, sizeof set.layout_cores - (size_t)n, "/%d", set.worker_core);
  snprintf(set.layout, sizeof set.layout, "%d core%s for %d ranks%s, %s on core %d%s",
           CPU_COUNT(&set.compute), CPU_COUNT(&set.compute) > 1 ? "s" : "", set.rank_count,
           set.turns ? " (they take turns)" : "",
           set.link_mb_per_s > 0 ? "engine and DMA" : "engine", set.worker_core,
           set.share ? " (shared)" : "");
}

static void default_layout(void) {
  for (int i = 0; i < CPU_SETSIZE; i++)
    if (CPU_ISSET((size_t)i, &own_cores)) set.worker_core = i;
  set.compute = own_cores;
  if (CPU_COUNT(&own_cores) > 1) CPU_CLR((size_t)set.worker_core, &set.compute);
}

/* Of one column or of all: who can measure it here? */
static void check_columns(void) {
  if (!set.impl_count && set.sim) parse_list("simulated", IMPLS);
  if (!set.impl_count && set.mpi) parse_list("mpi,ours-mpi", IMPLS);
  if (!set.impl_count && !set.mpirun) parse_list("ours-threads", IMPLS);
  if (!set.impl_count) /* only MPICH and its relatives have such a thread */
    parse_list(strstr(set.mpirun, "mpich") ? "mpi,mpi-async,ours-mpi,ours-threads"
                                           : "mpi,ours-mpi,ours-threads",
               IMPLS);
  make_columns();
  if (set.part >= set.column_count) fail("--part: no such column", NULL);
  for (int p = 0; p < set.column_count; p++) {
    const char *const name = set.columns[p].by->name;
    if (set.part >= 0 && p != set.part) continue;
    if (strcmp(name, "simulated") != 0 ? set.sim != NULL : !set.sim)
      fail("--sim: its columns are \"simulated\", and only those", name);
    if (!set.columns[p].by->measure)
      fail("not inside an MPI program; start build/bench_nbc --mpi", name);
    if (!set.mpi && strstr(name, "mpi") && !set.mpirun) fail("needs --mpi or --mpirun", name);
    if (strstr(name, "mpi") && set.realtime)
      fail("--realtime: not with MPI, whose own waits may never give the core away", NULL);
  }
}

/* --mpi mpich: the program of that name beside this one. */
static void parse_mpi(const char *mpi, char command[640]) {
  char folder[512];
  const ssize_t n = readlink("/proc/self/exe", folder, sizeof folder - 1);
  if (strcmp(mpi, "mpich") != 0 && strcmp(mpi, "openmpi") != 0)
    fail("--mpi: must be mpich or openmpi (another: --mpirun)", mpi);
  if (n <= 0) fail("/proc/self/exe", strerror(errno));
  folder[n] = 0;
  *strrchr(folder, '/') = 0;
  snprintf(command, 640, "%s/bench_nbc.%s", folder, mpi);
  if (!set.mpi && access(command, X_OK))
    fail("--mpi: no such program, make examples builds it", command);
  snprintf(command, 640, "mpirun.%s -n %d %s/bench_nbc.%s", mpi, set.rank_count, folder, mpi);
  set.mpirun = command;
}

static uint64_t rank_count, reps, oversample = 1, part = MAX_COLUMNS;
static const char *layout, *mpi;
static bool has_policies;
static const char *take_colls(const char *text) { return parse_list(text, COLLS), NULL; }
static const char *take_impls(const char *text) { return parse_list(text, IMPLS), NULL; }
static const char *take_policies(const char *text) {
  has_policies = true;
  return parse_list(text, POLICIES), NULL;
}
static const char *take_point(const char *text) {
  set.point = true;
  return take_colls(text);
}
static const option options[] = {
    {"--coll", "LIST",
     "collectives, with commas: bcast reduce allreduce reduce_scatter(_block) gather(v) scatter(v) "
     "allgather(v) alltoall(v) scan exscan (allreduce)",
     .take = take_colls},
    {"--impl", "LIST", "implementations, with commas: those below", .take = take_impls},
    {"--policy", "LIST",
     "of progress, with commas: none dedicated timer idle (none,dedicated; --sim: "
     "none,timer,dedicated)",
     .take = take_policies},
    {"--ranks", "N", "processes or threads (2)", .whole = &rank_count, .range = {2, MAX_THREADS}},
    {"--mpi", "mpich|openmpi",
     "columns measured by mpirun.mpich -n RANKS and bench_nbc.mpich beside this program",
     .text = &mpi},
    {"--mpirun", "COMMAND", "the same with another command, as in \"srun -n 2 ./bench_nbc.mpich\"",
     .text = &set.mpirun},
    {"--sim", "KEY=VALUE,...",
     "nodes=64,cores=16: on a simulated machine, a process per node; seed=N, "
     "level=flow|loggp|packet, noise=RATIO (of the computation), period-us=T (policy timer), "
     "platform=FILE, or any key of it",
     .text = &set.sim},
    {"--min-us", "T", "shortest computation (500)", .real = &set.min_us, .range = {10, 1e7}},
    {"--max-us", "T", "longest computation (1e6)", .real = &set.max_us, .range = {10, 1e7}},
    {"--max-mib", "N", "largest message (64; --sim: 8192; --tune: 1)", .real = &set.max_mib,
     .range = {1, 1 << 16}},
    {"--reps", "N", "repetitions (7; --sim: 1)", .whole = &reps, .range = {1, MAX_REPS}},
    {"--oversample", "K",
     "measures K times as often and keeps the shortest, on a machine with other work (1)",
     .whole = &oversample, .range = {1, 20}},
    {"--point", "COLL COMM_US COMP_US", "one case, in full", .take = take_point},
    {"--part", "N", "this column alone", .whole = &part, .range = {0, MAX_COLUMNS - 1}},
    {"--layout", "COMPUTE/WORKER",
     "0-2/3: ranks compute on cores 0 to 2, engine and DMA thread have core 3", .text = &layout},
    {"--link-mb-s", "X", "ranks are threads: a DMA thread moves messages at this pace",
     .real = &set.link_mb_per_s, .range = {0, 1e6}},
    {"--latency-us", "X", "of that thread (10)", .real = &set.latency_us, .range = {0, 1e5}},
    {"--spread", "R", "0.5: lengths of v-collectives lie within +-50 % of their mean",
     .real = &set.spread_ratio, .range = {0, 1}},
    {"--budget-s", "T", "leaves points out rather than to take much longer than that",
     .real = &set.budget_s, .range = {1, 1e6}},
    {"--realtime", NULL,
     "other programs wait meanwhile (SCHED_FIFO; needs the right to; not with MPI)",
     .flag = &set.realtime},
    {"--json", "FILE", "the results", .text = &set.json},
    {"--html", "FILE", "heat maps, a page", .text = &set.html},
    {"--resume", "FILE", "keeps finished points there and continues an interrupted sweep",
     .text = &set.resume},
    {"--show", NULL, "progress on stderr also where that is not a terminal", .flag = &set.show},
    {"--tune", "FILE",
     "measures which algorithm is fastest for this number of ranks (at most 1 MiB and 20 s without "
     "--max-mib, --budget-s) and writes the choice table; NBC_CHOICE=FILE makes programs follow "
     "it. For an MPI: mpirun.mpich -n N bench_nbc.mpich --tune FILE",
     .text = &set.tune},
    {0}};

static void read_options(int argc, char **argv) {
  static char implementations[2048];
  int n = snprintf(implementations, sizeof implementations,
                   "Implementations, with this program's default:\n");
  for (size_t k = 0; k < BACKENDS; k++)
    n += snprintf(implementations + n, sizeof implementations - (size_t)n, "  %-14s %s\n",
                  backends[k].name, backends[k].what);
  const command_line command = {
      "usage: bench_nbc [options]\n"
      "       bench_nbc --sim nodes=N,cores=N,KEY=VALUE... [options]   simulated\n"
      "       bench_nbc --tune FILE [--ranks N] [--reps N] [--max-mib N] [--budget-s T]\n",
      options, implementations};
  const int count = options_read(&command, argc, argv);
  if (set.point && count == 2) {
    set.point_comm_us = number("--point: COMM_US", argv[1], 10, 1e7);
    set.point_comp_us = number("--point: COMP_US", argv[2], 10, 1e7);
  } else if (set.point || count)
    fail(set.point ? "--point: COLL COMM_US COMP_US wanted" : "no option (--help)",
         count ? argv[1] : NULL);
  if (set.sim && !has_policies) parse_list("none,timer,dedicated", POLICIES); /* all that it can */
  if (rank_count) set.rank_count = (int)rank_count;
  set.reps = (int)reps, set.oversample = (int)oversample;
  set.part = part < MAX_COLUMNS ? (int)part : -1;
}

static void parse_args(int argc, char **argv) {
  static char command[640];
  const int process_count = set.rank_count; /* of the MPI */
  if (!set.mpi) set.rank_count = 2;
  set.min_us = 500, set.max_us = 1e6, set.latency_us = 10, set.show = isatty(2);
  parse_list("allreduce", COLLS), parse_list("none,dedicated", POLICIES);
  read_options(argc, argv);
  if (mpi) parse_mpi(mpi, command);
  if (set.mpi && set.rank_count != process_count)
    fail("--ranks: mpirun started another number", NULL);
  if (layout)
    parse_layout(layout);
  else
    default_layout();
  describe_layout();
  if (set.sim) parse_sim(set.sim), describe_sim(set.layout, sizeof set.layout);
  if (set.point)
    axis_count = 1;
  else
    for (double us = set.min_us; us <= set.max_us * 1.001 && axis_count < MAX_AXIS; us *= 2)
      axis_us[axis_count++] = us;
  if (!axis_count) fail("--max-us: less than --min-us", NULL);
  if (set.reps == 0) set.reps = set.sim ? 1 : 7;
  if (set.reps * set.oversample > MAX_REPS) fail("--reps times --oversample: more than 99", NULL);
  if (!set.tune) check_columns();
  if (set.max_mib == 0) set.max_mib = set.tune ? 1 : set.sim ? 8192 : 64;
}

/* ---- finished points: kept for another run of the same sweep, and between its programs ---------- */
static const char *kept_head(void) {
  static char head[2048];
  char name[64];
  int n = snprintf(head, sizeof head,
                   "bench_nbc/2 ranks %d reps %d of %d%s grid %g %g point %g %g link %g %g mib %g "
                   "spread %g layout %s%s%s;",
                   set.rank_count, set.reps, set.reps * set.oversample,
                   set.realtime ? " realtime" : "", set.min_us, set.max_us, set.point_comm_us,
                   set.point_comp_us, set.link_mb_per_s, set.latency_us, set.max_mib,
                   set.spread_ratio, set.layout, set.sim ? " sim " : "", set.sim ? set.sim : "");
  for (int c = 0; c < set.coll_count; c++)
    n += snprintf(head + n, sizeof head - (size_t)n, " %s", nbc_coll_name(set.colls[c]));
  for (int p = 0; p < set.column_count; p++)
    n += snprintf(head + n, sizeof head - (size_t)n, " %s", column_name(p, ":", name));
  return head;
}

static bool ends_here(const char *at) { return strcmp(at, " end\n") == 0; }

/* One line after the first; false: not as this program writes it. */
static bool read_kept_line(const char *line) {
  int c, p, i, j, used = 0;
  long gemms;
  double v[3];
  if (sscanf(line, "point %d %d %d %d%n", &c, &p, &i, &j, &used) == 4) {
    const char *at = line + used;
    result x;
    if (c < 0 || c >= set.coll_count || p < 0 || p >= set.column_count || i < 0 ||
        i >= axis_count || j < 0 || j >= axis_count)
      return false;
    for (int k = 0; k < FIELDS; k++) {
      char *end;
      *field_of(&x, k) = strtod(at, &end);
      if (end == at || !isfinite(*field_of(&x, k)) || *field_of(&x, k) < 0) return false;
      at = end;
    }
    if (!ends_here(at) || !(x.comm_ref > 0) || !(x.comp_ref > 0) || !done(&x)) return false;
    results[c][p][i][j] = x;
    return true;
  }
  if (sscanf(line, "reference %d %ld %lf%n", &j, &gemms, &v[0], &used) == 3) {
    if (!ends_here(line + used) || j < 0 || j >= axis_count || gemms < 1 || !(v[0] > 0))
      return false;
    if (gemm_counts[j] && gemm_counts[j] != gemms) return false;
    note_reference(j, gemms, v[0]);
    return true;
  }
  if (sscanf(line, "engine %d %lf %lf %lf%n", &p, &v[0], &v[1], &v[2], &used) == 4) {
    if (!ends_here(line + used) || p < 0 || p >= set.column_count) return false;
    set.columns[p].polls = v[0], set.columns[p].posts = v[1], set.columns[p].busy = v[2];
    return true;
  }
  if (sscanf(line, "about %d %n", &p, &used) != 1 || p < 0 || p >= set.column_count) return false;
  snprintf(set.columns[p].about, sizeof set.columns[p].about, "%.*s",
           (int)strcspn(line + used, "\n\"\\<>&"), line + used);
  return true;
}

/* First line: the settings. Then one line per point; a last line that was cut off is dropped. */
static void open_kept(void) {
  char line[1024];
  FILE *in = fopen(set.resume, "r");
  int line_number = 1;
  long good_bytes = 0;
  if (in && fgets(line, sizeof line, in)) {
    line[strcspn(line, "\n")] = 0;
    if (strncmp(line, kept_head(), sizeof line - 1) != 0)
      fail("--resume: the file was made with other settings", set.resume);
    good_bytes = ftell(in);
    while (fgets(line, sizeof line, in)) {
      line_number++;
      if (!strchr(line, '\n') && feof(in)) break; /* cut off while it was written */
      if (!read_kept_line(line)) {
        fprintf(stderr, "bench_nbc: %s:%d: damaged line; delete it to measure its point again\n",
                set.resume, line_number);
        exit(2);
      }
      good_bytes = ftell(in);
    }
  }
  if (in) fclose(in);
  if (good_bytes && truncate(set.resume, good_bytes))
    fail("--resume: cannot be written", set.resume);
  kept = fopen(set.resume, "a");
  if (!kept) fail("--resume: cannot be written", set.resume);
  if (!good_bytes) fprintf(kept, "%s\n", kept_head());
  if (fflush(kept)) close_kept();
}

static void write_file(const char *path, void (*print)(FILE *)) {
  FILE *out = path ? output_create(path) : NULL;
  if (!path) return;
  if (out) print(out);
  if (!out || !output_close(out, path)) incomplete = true;
}

static bool can_write_all(void) {
  return output_can_create(set.tune) && output_can_create(set.json) && output_can_create(set.html);
}

/* ---- tuning ---------------------------------------------------------------------------------- */
static nbc_status tune_rank(nbc_transport *t, void *user) {
  const nbc_comm_desc work = {.transport = t};
  const nbc_tune_desc desc = {.max_bytes = (uint64_t)(set.max_mib * 1048576),
                              .reps = set.reps,
                              .limit_ns = (int64_t)(set.budget_s * 1e9)};
  nbc_choice *const table = calloc(1, sizeof *table);
  nbc_comm *comm;
  nbc_error err = {0};
  (void)user;
  if (!table) stop_on(NBC_E_NOMEM, NULL, "--tune");
  pthread_setaffinity_np(pthread_self(), sizeof set.compute, &set.compute);
  stop_on(nbc_comm_create(&work, &comm, &err), &err, "communicator");
  stop_on(nbc_tune(comm, &desc, table, &err), &err, "--tune");
  nbc_comm_destroy(comm);
  if (t->rank == 0) {
    FILE *out = output_create(set.tune);
    if (out) (void)nbc_choice_write(table, out); /* its failure is the file's */
    if (!out || !output_close(out, set.tune)) exit(1);
    printf("%zu rules for %d ranks in %s; NBC_CHOICE=%s makes programs follow them\n",
           table->rule_count, t->size, set.tune, set.tune);
  }
  free(table);
  return NBC_OK;
}

static void tune(void) {
#ifdef NBC_WITH_MPI
  stop_on(tune_rank(mpi_transport, NULL), NULL, "--tune");
#else
  nbc_threads *world;
  const nbc_threads_desc desc = {.size = set.rank_count};
  if (set.mpirun)
    fail("--tune: start the MPI's program itself, as in mpirun.mpich -n 2 bench_nbc.mpich --tune",
         set.tune);
  stop_on(nbc_threads_create(&desc, &world), NULL, "threads transport");
  stop_on(nbc_threads_run(world, tune_rank, NULL), NULL, "--tune");
  nbc_threads_destroy(world);
#endif
}

/* ---- main ------------------------------------------------------------------------------------ */
static bool finished(int p) {
  for (int c = 0; c < set.coll_count; c++)
    for (int i = 0; i < axis_count * axis_count; i++)
      if (!done(&results[c][p][i / axis_count][i % axis_count])) return false;
  return true;
}

static void measure_all(bool speaks) {
  char temporary[512];
  if (!set.resume && set.mpirun && !set.mpi) { /* its programs need one */
    snprintf(temporary, sizeof temporary, "%.400s/bench_nbc.XXXXXX",
             getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    const int fd = mkstemp(temporary);
    if (fd < 0) fail(temporary, strerror(errno));
    close(fd);
    set.resume = temporary;
  }
  if (set.resume && speaks) open_kept();
  set.beside_mpi = set.mpi && set.part < 0;
  for (int p = 0; p < set.column_count; p++) {
    const backend *const by = set.columns[p].by;
    if (set.part >= 0 ? set.part != p : !set.mpi && finished(p)) continue;
    if (by->computes && set.part < 0)
      run_references(); /* before each column: the machine may change */
    by->measure(p);
  }
  for (int c = 0; c < set.coll_count; c++)
    for (int p = 0; p < set.column_count; p++)
      for (int i = 0; i < axis_count * axis_count && set.columns[p].by->computes; i++)
        results[c][p][i / axis_count][i % axis_count].comp_ref = comp_refs[i % axis_count];
  close_kept();
  if (set.resume == temporary) unlink(temporary);
  if (set.show && speaks) fprintf(stderr, "\r%50s\r", "");
}

int main(int argc, char **argv) {
  bool speaks = true; /* rank 0 does */
  own_args = argv;
  output_begin("bench_nbc");
  output_version(argc, argv, NBC_VERSION_STRING); /* before MPI_Init */
  if (sched_getaffinity(0, sizeof own_cores, &own_cores))
    fail("sched_getaffinity", strerror(errno));
#ifdef NBC_WITH_MPI
  int provided, rank;
  nbc_error err = {0};
  const int threads = thread_count();
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  mpi_threads = thread_count() - threads;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank), MPI_Comm_size(MPI_COMM_WORLD, &set.rank_count);
  set.mpi = true, speaks = rank == 0;
  if (set.rank_count > MAX_THREADS) fail("more than 64 processes", NULL);
  const nbc_mpi_desc desc = {.thread_level = provided};
  stop_on(nbc_mpi_create(MPI_COMM_WORLD, &desc, &mpi_transport, &err), &err, "MPI transport");
#endif
  parse_args(argc, argv);
  if (nbc_clock_create(NULL, &wall)) fail("no clock", NULL);
  t_begin_ns = nbc_clock_now_ns(&wall);
  const struct sched_param priority = {.sched_priority = 1};
  if (set.realtime && sched_setscheduler(0, SCHED_FIFO, &priority))
    fail("--realtime", strerror(errno));
  if (speaks && set.part < 0 && !can_write_all()) exit(1);
  if (set.tune)
    tune();
  else
    measure_all(speaks);
  if (speaks && !set.tune && set.part < 0) {
    if (set.point)
      print_point(stdout);
    else
      print_text(stdout);
    write_file(set.json, print_json);
    write_file(set.html, print_html);
  }
#ifdef NBC_WITH_MPI
  nbc_mpi_destroy(mpi_transport);
  MPI_Finalize();
#endif
  return incomplete;
}
