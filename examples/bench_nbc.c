/* Question: do nonblocking collectives really overlap with computation here, who pays for it, and which
   progress policy should a program use?

   The benchmark of [R §4]: t1, start the collective, t2, compute, t3, wait, t4, with no test calls in
   between. Both axes are times: message sizes and computations are calibrated to them, references are
   measured in the same layout, and the ratios use what was measured, not the targets.

   Run:      build/bench_nbc [options]; --help lists them. Ranks are threads, messages are copied by whoever
             progresses, or with --link-mb-s by a DMA thread that stands in for the NIC. No MPI needed.
             --point COLL COMM_US COMP_US: one case, in full.
             The same program built with an MPI wrapper and -DNBC_WITH_MPI (build/bench_nbc.openmpi, .mpich)
             runs under mpirun, one process per rank; the policy "mpi" is then the MPI's own nonblocking
             collective, the others this library's on that MPI. MPICH's asynchronous thread: set
             MPICH_ASYNC_PROGRESS=1 and look at "mpi". References are measured beside the idle MPI.
   Expected: a table per collective and policy, one sentence of verdict each, the same as JSON and as one
             HTML page with heat maps (--json, --html). Overhead ratio 0: all that can be hidden is; 1: as
             if one came after the other. Without an engine ("none") a collective of several steps stands
             still while the program computes; a dedicated core hides it. */
#ifdef NBC_WITH_MPI
#  include <mpi.h>
#endif
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"

enum { OWN_OF_MPI = NBC_POLICY_COUNT }; /* among the policies */
enum { MAX_AXIS = 16, MAX_LIST = 16, MAX_REPS = 99, MAX_RANKS = 64, GEMM = 32 };

typedef struct settings {
  nbc_coll colls[MAX_LIST];
  int policies[MAX_LIST]; /* nbc_policy, or OWN_OF_MPI */
  int coll_count, policy_count, rank_count, reps, oversample;
  double budget_s, min_us, max_us, point_comm_us, point_comp_us, link_mb_per_s, latency_us, max_mib,
      spread_ratio;
  cpu_set_t compute;
  int worker_core;
  bool share, turns, realtime, point, mpi;
  char layout[128];
  const char *json, *html, *resume;
} settings;

/* One measured case. Times in ns, over the ranks of one repetition: the slowest; then medians. */
typedef struct result {
  bool done;
  double target_comm_us, target_comp_us, count, comm_ref, comp_ref, passive;
  nbc_summary measured;
  double call, comp, wait;
  double rank_min[3],
      rank_max[3]; /* call, comp, wait: medians of the least and the most delayed rank */
} result;

static settings set;

static const char *policy_name(int policy) {
  return policy == OWN_OF_MPI ? "mpi" : nbc_policy_name((nbc_policy)policy);
}

static double axis_us[MAX_AXIS];
static int axis_count;
static result results[MAX_LIST][MAX_LIST][MAX_AXIS][MAX_AXIS]; /* coll, policy, comm, comp */
static nbc_progress_stats engine_stats[MAX_LIST];
static double comp_refs[MAX_AXIS]; /* computation alone, per point of the axis */
static long gemm_counts[MAX_AXIS];
static FILE *resume_out;
static nbc_clock wall;
static int64_t t_begin_ns;
static double core_ns, used_ns; /* in references: time of the cores, time we got */

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

static double extreme(const bench_rank *r, int part,
                      bool most) { /* of one rank: call, comp, wait */
  double value = r->gathered[0][part + 1] - r->gathered[0][part];
  for (int i = 1; i < r->t->size; i++) {
    const double other = r->gathered[i][part + 1] - r->gathered[i][part];
    value = most ? fmax(value, other) : fmin(value, other);
  }
  return value;
}

static double median(double *values, int count) {
  nbc_summary s;
  stop_on(nbc_summarize(values, (size_t)count, 0, &s), NULL, "statistics");
  return s.median;
}

/* Computation alone: what of the cores' time went to other programs. */
static void note_disturbance(const bench_rank *r) {
  double used = 0;
  for (int i = 0; i < r->t->size; i++) used += r->gathered[i][4];
  core_ns += span(r, 1, 2) * (set.turns ? CPU_COUNT(&set.compute) : set.rank_count);
  used_ns += used;
}

static int order(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
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
static operation operation_of(bench_rank *r, int policy, nbc_coll coll, uint64_t count) {
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
  if (policy != OWN_OF_MPI)
    stop_on(nbc_coll_init(r->work, &o.args, &o.ours), nbc_comm_error(r->work), nbc_coll_name(coll));
  return o;
}

/* The number of elements whose collective takes target_ns, to 10 %; what it took is measured, not assumed. */
static uint64_t calibrate(bench_rank *r, int policy, nbc_coll coll, double target_ns,
                          double *comm_ref) {
  const uint64_t most = (uint64_t)(set.max_mib * 1048576 / 8 / (blocks(coll) ? 2 * r->t->size : 1));
  uint64_t low = 1, high = most, count = most / 64 + 1, best = 1;
  double best_ns = 0;
  for (int tries = 0; tries < 14 && low <= high; tries++) {
    operation o = operation_of(r, policy, coll, count);
    const double ns = median_of(r, &o, 0, 3);
    nbc_coll_free(o.ours);
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

static void save(int c, int p, int i, int j) {
  const result *x = &results[c][p][i][j];
  if (!resume_out) return;
  fprintf(resume_out, "%d %d %d %d %.9g %.9g %.9g %.9g", c, p, i, j, x->count, x->comm_ref,
          x->comp_ref, x->passive);
  fprintf(resume_out, " %.9g %.9g %.9g %.9g %.9g %.9g", x->measured.median, x->measured.median_lo,
          x->measured.median_hi, x->call, x->comp, x->wait);
  for (int k = 0; k < 3; k++) fprintf(resume_out, " %.9g %.9g", x->rank_min[k], x->rank_max[k]);
  fprintf(resume_out, " end\n");
  fflush(resume_out);
}

typedef struct repetition {
  double measured, call, comp, wait, low[3], high[3];
} repetition;

static int shorter(const void *a, const void *b) {
  return order(&((const repetition *)a)->measured, &((const repetition *)b)->measured);
}

static double median_field(const repetition *reps, size_t offset) {
  double values[MAX_REPS];
  for (int i = 0; i < set.reps; i++)
    memcpy(&values[i], (const char *)&reps[i] + offset, sizeof *values);
  return median(values, set.reps);
}

/* One point of the grid. Results are kept by rank 0. */
static void run_point(bench_rank *r, operation *o, int c, int p, int i, int j) {
  repetition reps[MAX_REPS];
  double measured[MAX_REPS];
  result *const x = &results[c][p][i][j];
  for (int n = 0; n < set.reps * set.oversample; n++) {
    repetition *const one = &reps[n];
    measure(r, o, gemm_counts[j]);
    one->measured = span(r, 0, 3), one->comp = span(r, 1, 2), one->call = extreme(r, 0, true);
    one->wait = fmax(0, one->measured - one->comp -
                            one->call); /* what neither computing nor posting took */
    for (int k = 0; k < 3; k++)
      one->low[k] = extreme(r, k, false), one->high[k] = extreme(r, k, true);
  }
  if (r->t->rank) return;
  qsort(reps, (size_t)(set.reps * set.oversample), sizeof *reps, shorter);
  for (int n = 0; n < set.reps; n++) measured[n] = reps[n].measured;
  stop_on(nbc_summarize(measured, (size_t)set.reps, 0, &x->measured), NULL, "statistics");
  x->call = median_field(reps, offsetof(repetition, call)),
  x->comp = median_field(reps, offsetof(repetition, comp));
  x->wait = median_field(reps, offsetof(repetition, wait));
  for (int k = 0; k < 3; k++) {
    x->rank_min[k] = median_field(reps, offsetof(repetition, low) + (size_t)k * sizeof(double));
    x->rank_max[k] = median_field(reps, offsetof(repetition, high) + (size_t)k * sizeof(double));
  }
  x->comp_ref = comp_refs[j];
  x->done = true;
  save(c, p, i, j);
}

typedef struct phase {
  int policy_index;
  nbc_progress *progress;
  bool references;
} phase;

static nbc_status rank_main(nbc_transport *t, void *user) {
  const phase *const ph = user;
  const int p = ph->policy_index;
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
  if (ph->references) { /* without an engine: what the computation takes where nothing else runs */
    const double ns = median_of(r, NULL, 200, 7) / 200;
    for (int j = 0; j < axis_count; j++) {
      const double target_us = set.point ? set.point_comp_us : axis_us[j];
      long gemms = (long)(target_us * 1e3 / ns) + 1;
      double took = median_of(r, NULL, gemms, set.reps);
      for (int tries = 0; tries < 3 && fabs(took - target_us * 1e3) > 0.1 * target_us * 1e3;
           tries++) {
        gemms = (long)((double)gemms * target_us * 1e3 / took) + 1;
        took = median_of(r, NULL, gemms, set.reps);
      }
      if (t->rank == 0 || set.mpi)
        gemm_counts[j] = gemms, comp_refs[j] = took; /* threads share them */
      control(r, NBC_COLL_BARRIER, NULL, NULL, 0);
    }
  }
  for (int c = 0; c < set.coll_count && !ph->references; c++)
    for (int i = 0; i < axis_count; i++) {
      const double share = (double)(c * axis_count + i + p * set.coll_count * axis_count) /
                           (set.coll_count * axis_count * set.policy_count);
      const double used_s = (double)(nbc_clock_now_ns(&wall) - t_begin_ns) * 1e-9;
      char todo = 0;
      for (int j = 0; j < axis_count && t->rank == 0; j++) todo |= !results[c][p][i][j].done;
      if (set.budget_s > 0 && used_s > set.budget_s * (share + 0.5))
        todo = 0; /* rank 0 decides for all */
      control(r, NBC_COLL_BCAST, NULL, &todo, 1);
      if (!todo) continue; /* resumed, or out of time */
      double comm_ref, target_us = set.point ? set.point_comm_us : axis_us[i];
      const uint64_t count =
          calibrate(r, set.policies[p], set.colls[c], target_us * 1e3, &comm_ref);
      operation o = operation_of(r, set.policies[p], set.colls[c], count);
      comm_ref = median_of(r, &o, 0, set.reps);
      for (int j = 0; j < axis_count; j++) {
        result *x = &results[c][p][i][j];
        const double passive = median_of(r, NULL, gemm_counts[j], 3); /* beside an idle engine */
        if (t->rank == 0) x->count = (double)count, x->comm_ref = comm_ref, x->passive = passive;
        run_point(r, &o, c, p, i, j);
        if (t->rank == 0 && isatty(2))
          fprintf(stderr, "\r%s %s %d/%d   ", nbc_coll_name(set.colls[c]),
                  policy_name(set.policies[p]), i * axis_count + j + 1, axis_count * axis_count);
      }
      nbc_coll_free(o.ours);
    }
  control(r, NBC_COLL_BARRIER, NULL, NULL, 0);
  nbc_comm_destroy(r->work), nbc_comm_destroy(r->control);
  nbc_sync_destroy(r->sync);
  free(r->m), free(r->send), free(r->recv), free(r);
  return NBC_OK;
}

static nbc_progress *engine_of(int policy) {
  const bool shared = set.share || set.link_mb_per_s > 0 || (set.mpi && set.rank_count > 1);
  const nbc_progress_desc desc = {
      .policy = (nbc_policy)policy, .core = set.worker_core, .share_core = shared};
  nbc_progress *progress = NULL;
  nbc_error err = {0};
  if (policy != NBC_POLICY_NONE && policy != OWN_OF_MPI)
    stop_on(nbc_progress_create(&desc, &progress, &err), &err, "progress engine");
  return progress;
}

static void close_engine(nbc_progress *progress, int policy_index) {
  if (progress) nbc_progress_get_stats(progress, &engine_stats[policy_index]);
  nbc_progress_destroy(progress);
}

#ifdef NBC_WITH_MPI
static nbc_transport *mpi_transport;
static void run_phase(int policy_index, bool references) {
  pthread_setaffinity_np(pthread_self(), sizeof set.compute, &set.compute);
  phase ph = {policy_index, engine_of(references ? NBC_POLICY_NONE : set.policies[policy_index]),
              references};
  stop_on(rank_main(mpi_transport, &ph), NULL, "rank");
  close_engine(ph.progress, policy_index);
}
#else
/* A world and, for a policy, an engine. What stands for the NIC and the engine lives on the worker's core. */
static void run_phase(int policy_index, bool references) {
  phase ph = {policy_index, NULL, references};
  nbc_threads_desc desc = {.size = set.rank_count,
                           .dma = set.link_mb_per_s > 0,
                           .link_bytes_per_s = set.link_mb_per_s * 1e6,
                           .link_latency_ns = (int64_t)(set.latency_us * 1e3)};
  nbc_threads *world;
  cpu_set_t worker;
  CPU_ZERO(&worker);
  CPU_SET((size_t)set.worker_core, &worker);
  pthread_setaffinity_np(pthread_self(), sizeof worker, &worker); /* inherited by the DMA thread */
  stop_on(nbc_threads_create(&desc, &world), NULL, "threads transport");
  pthread_setaffinity_np(pthread_self(), sizeof set.compute, &set.compute);
  ph.progress = engine_of(references ? NBC_POLICY_NONE : set.policies[policy_index]);
  stop_on(nbc_threads_run(world, rank_main, &ph), NULL, "ranks");
  close_engine(ph.progress, policy_index);
  nbc_threads_destroy(world);
}
#endif

/* ---- reports --------------------------------------------------------------------------------- */
static nbc_overlap_times times_of(const result *x) {
  const nbc_overlap_times t = {x->call,     x->comp,     x->wait,    x->measured.median,
                               x->comp_ref, x->comm_ref, x->passive, 0.1};
  return t;
}

static nbc_metrics metrics_of(const result *x) {
  const nbc_overlap_times t = times_of(x);
  nbc_metrics m;
  if (!x->done || nbc_metrics_compute(&t, &m))
    m.overhead_ratio = m.mpi_impact_ratio = m.slowdown_ratio = m.comm_ratio = NAN;
  return m;
}

static int diagonal(void) { return axis_count / 2; }

/* Over the points where communication is between 0.5 and 2 times computation: there overlap matters most. */
static double typical_overhead(int c, int p) {
  double values[MAX_AXIS * MAX_AXIS];
  int n = 0;
  for (int i = 0; i < axis_count; i++)
    for (int j = 0; j < axis_count; j++) {
      const result *x = &results[c][p][i][j];
      const double v = metrics_of(x).overhead_ratio;
      if (x->comm_ref >= 0.45 * x->comp_ref && x->comm_ref <= 2.2 * x->comp_ref && isfinite(v))
        values[n++] = v;
    }
  return n ? median(values, n) : NAN;
}

static void verdict(FILE *out, int c) {
  fprintf(out, "%s:", nbc_coll_name(set.colls[c]));
  for (int p = 0; p < set.policy_count; p++) {
    const double v = typical_overhead(c, p);
    fprintf(out, "%s with policy %s, overlapping costs %.2f of the shorter part (%s)", p ? ";" : "",
            policy_name(set.policies[p]), v,
            !isfinite(v) ? "nothing comparable"
            : v < 0.25   ? "hidden"
            : v < 0.75   ? "partly hidden"
            : v < 1.25   ? "as if one after the other"
                         : "worse than one after the other");
  }
  fprintf(out, ".\n");
}

static void print_disturbance(FILE *out) {
  const double taken = core_ns > 0 ? 1 - used_ns / core_ns : 0;
  if (taken > 0.1)
    fprintf(out, "Other programs took %.0f %% of the cores while references were measured: %s.\n",
            100 * taken, taken > 0.3 ? "these numbers say little; try --realtime" : "expect noise");
}

static const char *link_text(char text[64]) {
#ifdef NBC_WITH_MPI
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(version, &length);
  version[strcspn(version, ",\n")] = 0;
  for (char *at = version; *at; at++)
    if (*at == '\t') *at = ' ';
  snprintf(text, 64, "%.40s%s", version, getenv("MPICH_ASYNC_PROGRESS") ? ", async progress" : "");
  return text;
#endif
  if (set.link_mb_per_s > 0)
    snprintf(text, 64, "a DMA thread is the NIC: %.4g MB/s, %.3g us", set.link_mb_per_s,
             set.latency_us);
  else
    snprintf(text, 64, "messages are copied by who progresses");
  return text;
}

static void print_text(FILE *out) {
  for (int c = 0; c < set.coll_count; c++) verdict(out, c);
  print_disturbance(out);
  char link[64];
  fprintf(out, "%d ranks (%s), %s; %s\n", set.rank_count, set.mpi ? "processes" : "threads",
          link_text(link), set.layout);
  for (int c = 0; c < set.coll_count; c++)
    for (int p = 0; p < set.policy_count; p++) {
      fprintf(out,
              "\n%s, policy %s: overhead ratio by communication (down) and computation (right) "
              "[us]\n%9s",
              nbc_coll_name(set.colls[c]), policy_name(set.policies[p]), "");
      for (int j = 0; j < axis_count; j++) fprintf(out, " %8.0f", comp_refs[j] * 1e-3);
      for (int i = 0; i < axis_count; i++) {
        fprintf(out, "\n%9.0f", results[c][p][i][0].comm_ref * 1e-3);
        for (int j = 0; j < axis_count; j++) {
          const double v = metrics_of(&results[c][p][i][j]).overhead_ratio;
          if (isfinite(v))
            fprintf(out, " %8.2f", v);
          else
            fprintf(out, " %8s", "-"); /* time was up */
        }
      }
      char text[400];
      const result *x = &results[c][p][diagonal()][diagonal()];
      const nbc_overlap_times t = times_of(x);
      const nbc_metrics m = metrics_of(x);
      if (x->done) (void)nbc_diagnose(&t, &m, text, sizeof text);
      fprintf(out, "\nmiddle: %s\n", x->done ? text : "not measured (time was up)");
      if (engine_stats[p].poll_count)
        fprintf(out, "engine: %.1f %% of its time moved something\n",
                100 * engine_stats[p].busy_ratio);
    }
}

static void print_point(FILE *out) {
  for (int p = 0; p < set.policy_count; p++) {
    const result *x = &results[0][p][0][0];
    const nbc_metrics m = metrics_of(x);
    if (!x->done) continue;
    fprintf(out,
            "\n%s, policy %s: %.0f doubles, %d repetitions\n  references: communication %.1f us, "
            "computation %.1f us, beside an idle engine %.1f us\n",
            nbc_coll_name(set.colls[0]), policy_name(set.policies[p]), x->count, set.reps,
            x->comm_ref * 1e-3, x->comp_ref * 1e-3, x->passive * 1e-3);
    fprintf(out,
            "  measured:   %.1f us [%.1f, %.1f]; call %.1f, computation %.1f, wait %.1f us (all "
            "ranks)\n",
            x->measured.median * 1e-3, x->measured.median_lo * 1e-3, x->measured.median_hi * 1e-3,
            x->call * 1e-3, x->comp * 1e-3, x->wait * 1e-3);
    fprintf(out, "  ratios:     overhead %.3f, impact %.3f, slowdown %.3f, communication %.3f\n",
            m.overhead_ratio, m.mpi_impact_ratio, m.slowdown_ratio, m.comm_ratio);
  }
}

static void json_number(FILE *out, const char *name, double v, const char *end) {
  if (isfinite(v))
    fprintf(out, "\"%s\": %.9g%s", name, v, end);
  else
    fprintf(out, "\"%s\": null%s", name, end);
}

static void print_json(FILE *out) {
  bool first = true;
  fprintf(
      out,
      "{\"schema\": \"nbc-overlap-bench/1\", \"ranks\": %d, \"reps\": %d, \"link_bytes_per_s\": "
      "%.9g, \"link_latency_ns\": %.9g,\n \"layout\": \"%s\", \"points\": [",
      set.rank_count, set.reps, set.link_mb_per_s * 1e6, set.latency_us * 1e3, set.layout);
  for (int c = 0; c < set.coll_count; c++)
    for (int p = 0; p < set.policy_count; p++)
      for (int i = 0; i < axis_count; i++)
        for (int j = 0; j < axis_count; j++, first = false) {
          const result *x = &results[c][p][i][j];
          const nbc_metrics m = metrics_of(x);
          fprintf(out, "%s\n  {\"coll\": \"%s\", \"policy\": \"%s\", ", first ? "" : ",",
                  nbc_coll_name(set.colls[c]), policy_name(set.policies[p]));
          json_number(out, "count", x->count, ", "),
              json_number(out, "comm_ref_ns", x->comm_ref, ", "),
              json_number(out, "comp_ref_ns", x->comp_ref, ", ");
          json_number(out, "comp_passive_ns", x->passive, ", "),
              json_number(out, "measured_ns", x->measured.median, ", ");
          json_number(out, "measured_lo_ns", x->measured.median_lo, ", "),
              json_number(out, "measured_hi_ns", x->measured.median_hi, ", ");
          json_number(out, "call_ns", x->call, ", "), json_number(out, "comp_ns", x->comp, ", "),
              json_number(out, "wait_ns", x->wait, ", ");
          json_number(out, "overhead_ratio", m.overhead_ratio, ", "),
              json_number(out, "mpi_impact_ratio", m.mpi_impact_ratio, ", ");
          json_number(out, "slowdown_ratio", m.slowdown_ratio, ", "),
              json_number(out, "comm_ratio", m.comm_ratio, "}");
        }
  fprintf(out, "]}\n");
}

static void mix(char text[8], const int a[3], const int b[3], double x) {
  x = !(x > 0) ? 0 : x > 1 ? 1 : x;
  snprintf(text, 8, "#%02x%02x%02x", (unsigned)(a[0] + (b[0] - a[0]) * x),
           (unsigned)(a[1] + (b[1] - a[1]) * x), (unsigned)(a[2] + (b[2] - a[2]) * x));
}

/* kind 0: overhead, green 0, yellow 1, red above, blue below; 1: slowdown - 1; 2: communication, blue to red */
static void map(FILE *out, int c, int p, int kind, int x0, const char *title) {
  static const int green[] = {46, 160, 67}, yellow[] = {250, 220, 70}, red[] = {200, 40, 40},
                   blue[] = {50, 110, 220}, white[] = {240, 245, 255};
  const int cell = 46;
  fprintf(out,
          "<g transform='translate(%d,40)'><text x='0' y='-24' font-weight='bold'>%s</text><text "
          "x='0' y='-8' font-size='10'>down: communication, right: computation [ms]</text>",
          x0, title);
  for (int i = 0; i < axis_count; i++)
    for (int j = 0; j < axis_count; j++) {
      const nbc_metrics m = metrics_of(&results[c][p][i][j]);
      const double v = kind == 0   ? m.overhead_ratio
                       : kind == 1 ? m.slowdown_ratio - 1
                                   : m.comm_ratio;
      char color[8];
      if (kind)
        mix(color, blue, red, v);
      else if (v < -0.05)
        mix(color, white, blue, -v);
      else if (v <= 1)
        mix(color, green, yellow, v);
      else
        mix(color, yellow, red, (v - 1) / 2);
      fprintf(out,
              "<rect x='%d' y='%d' width='%d' height='%d' fill='%s'/><text x='%d' y='%d' "
              "text-anchor='middle' font-size='11'>%.2f</text>",
              40 + j * cell, i * cell, cell - 1, cell - 1, isfinite(v) ? color : "#888888",
              40 + j * cell + cell / 2, i * cell + cell / 2 + 4, kind == 1 ? v + 1 : v);
    }
  for (int i = 0; i < axis_count; i++)
    fprintf(out,
            "<text x='34' y='%d' text-anchor='end' font-size='10'>%.3g</text><text x='%d' y='%d' "
            "text-anchor='middle' font-size='10'>%.3g</text>",
            i * cell + cell / 2 + 4, results[c][p][i][0].comm_ref * 1e-6, 40 + i * cell + cell / 2,
            axis_count * cell + 12, comp_refs[i] * 1e-6);
  fprintf(out, "</g>\n");
}

/* On the diagonal, over all ranks: call, computation, wait; the tick marks the least delayed rank's sum. */
static void bars(FILE *out, int c, int p, int x0) {
  static const char *const colors[] = {"#7d3c98", "#5b9bd5", "#c0392b"}, *const names[] = {
                                                                             "call", "computation",
                                                                             "wait"};
  double most = 1;
  for (int i = 0; i < axis_count; i++)
    most =
        fmax(most, results[c][p][i][i].call + results[c][p][i][i].comp + results[c][p][i][i].wait);
  fprintf(out,
          "<g transform='translate(%d,40)'><text x='0' y='-24' font-weight='bold'>all ranks, equal "
          "times</text>",
          x0);
  for (int k = 0; k < 3; k++)
    fprintf(out, "<text x='%d' y='-8' font-size='10' fill='%s'>%s</text>", k * 70, colors[k],
            names[k]);
  for (int i = 0; i < axis_count; i++) {
    const result *x = &results[c][p][i][i];
    const double parts[] = {x->call, x->comp, x->wait};
    double at = 0;
    for (int k = 0; k < 3; at += parts[k++])
      fprintf(out, "<rect x='%.1f' y='%d' width='%.1f' height='20' fill='%s'/>", 220 * at / most,
              i * 30, 220 * parts[k] / most, colors[k]);
    const double least = 220 * (x->rank_min[0] + x->rank_min[1] + x->rank_min[2]) / most;
    fprintf(
        out,
        "<path d='M%.1f %dv24' stroke='black'/><text x='%.1f' y='%d' font-size='10'>%.3g ms</text>",
        least, i * 30 - 2, 224 * at / most + 2, i * 30 + 14, at * 1e-6);
  }
  fprintf(out, "</g>\n");
}

static void print_html(FILE *out) {
  char link[64];
  fprintf(out, "<!doctype html><meta charset='utf-8'><title>bench_nbc</title><style>body{font:15px "
               "sans-serif;margin:2em;max-width:1200px}svg{font-family:sans-serif}</style>\n<h1>Do "
               "nonblocking collectives overlap?</h1>\n");
  for (int c = 0; c < set.coll_count; c++)
    fprintf(out, "<p><b>"), verdict(out, c), fprintf(out, "</b></p>\n");
  fprintf(out, "<p>"), print_disturbance(out), fprintf(out, "</p>\n");
  fprintf(out,
          "<p>%d ranks as %s; %s. Layout: %s. References were measured in the same layout. "
          "Overhead ratio: 0 = all that can be hidden is, 1 = as if one came after the other, "
          "below 0 = imprecise reference. Medians of %d repetitions, the shortest of %d.</p>\n",
          set.rank_count, set.mpi ? "processes" : "threads", link_text(link), set.layout, set.reps,
          set.reps * set.oversample);
  for (int c = 0; c < set.coll_count; c++)
    for (int p = 0; p < set.policy_count; p++) {
      const int wide = 70 + axis_count * 46, high = axis_count * 46 + 80;
      char text[400];
      const result *x = &results[c][p][diagonal()][diagonal()];
      const nbc_overlap_times t = times_of(x);
      const nbc_metrics m = metrics_of(x);
      if (x->done)
        (void)nbc_diagnose(&t, &m, text, sizeof text);
      else
        snprintf(text, sizeof text, "not measured (time was up)");
      fprintf(out, "<h2>%s, policy %s</h2><p>In the middle: %s</p>\n<svg width='%d' height='%d'>\n",
              nbc_coll_name(set.colls[c]), policy_name(set.policies[p]), text, 3 * wide + 330,
              high);
      map(out, c, p, 0, 0, "overhead ratio");
      map(out, c, p, 1, wide, "computation slowdown");
      map(out, c, p, 2, 2 * wide, "communication ratio");
      bars(out, c, p, 3 * wide + 10);
      fprintf(out, "</svg>\n");
      if (engine_stats[p].poll_count)
        fprintf(out,
                "<p>The engine moved something during %.1f %% of its time; %llu posts followed a "
                "completion.</p>\n",
                100 * engine_stats[p].busy_ratio, (unsigned long long)engine_stats[p].post_count);
    }
}

/* ---- command line, resume -------------------------------------------------------------------- */
static const char usage[] =
    "usage: bench_nbc [--coll LIST] [--policy LIST] [--ranks N] [--min-us T] [--max-us T] [--reps "
    "N]\n"
    "                 [--point COLL COMM_US COMP_US] [--layout COMPUTE/WORKER] [--link-mb-s X] "
    "[--latency-us X]\n"
    "                 [--spread R] [--max-mib N] [--oversample K] [--budget-s T] [--realtime] "
    "[--json FILE] [--html FILE] [--resume FILE]\n"
    "  lists have commas; collectives: bcast reduce allreduce reduce_scatter(_block) gather(v) "
    "scatter(v)\n"
    "  allgather(v) alltoall(v) scan exscan; policies: none dedicated timer idle\n"
    "  --layout 0-2/3: ranks compute on cores 0 to 2, engine and DMA thread have core 3\n"
    "  --spread 0.5: lengths of v-collectives lie within +-50 % of their mean\n"
    "  --oversample K: measures K times as often and keeps the shortest, on a machine with other "
    "work\n"
    "  --budget-s T: leaves points out rather than to take much longer than that\n"
    "  --realtime: other programs wait meanwhile (SCHED_FIFO; needs the right to)\n"
    "  --resume FILE: keeps finished points there and continues an interrupted sweep\n";

static void fail(const char *what, const char *value) {
  fprintf(stderr, "bench_nbc: %s%s%s\n", what, value ? ": " : "", value ? value : "");
  exit(2);
}

static double number(const char *name, const char *text, double low, double high) {
  char *end;
  const double v = strtod(text ? text : "", &end);
  if (!text || end == text || *end || !(v >= low && v <= high)) {
    fprintf(stderr, "bench_nbc: %s: must be a number in %g..%g, got \"%s\"\n", name, low, high,
            text ? text : "");
    exit(2);
  }
  return v;
}

static void parse_list(char *text, bool policies) {
  int n = 0;
  for (char *item = strtok(text, ","); item; item = strtok(NULL, ","), n++) {
    if (n == MAX_LIST) fail("too many names in a list", NULL);
    nbc_policy policy = NBC_POLICY_NONE;
    const bool own = policies && set.mpi && strcmp(item, "mpi") == 0;
    if (policies ? !own && nbc_policy_parse(item, &policy) : nbc_coll_parse(item, &set.colls[n]))
      fail(policies ? "no such policy" : "no such collective", item);
    if (policies) set.policies[n] = own ? OWN_OF_MPI : (int)policy;
    if (!policies && set.colls[n] == NBC_COLL_BARRIER)
      fail("a barrier has no size to calibrate", NULL);
  }
  if (n == 0) fail("empty list", NULL);
  *(policies ? &set.policy_count : &set.coll_count) = n;
}

/* "0-2/3", "0,2/1": compute cores / worker core. One core for both is said, not refused. */
static void parse_layout(const char *text) {
  const char *at = text;
  cpu_set_t mine;
  CPU_ZERO(&set.compute);
  if (sched_getaffinity(0, sizeof mine, &mine)) fail("sched_getaffinity", strerror(errno));
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
      if (i < 0 || i >= CPU_SETSIZE || !CPU_ISSET((size_t)i, &mine))
        fail("--layout: a core that this process may not use", text);
      CPU_SET((size_t)i, &set.compute);
    }
    at = *end == ',' ? end + 1 : end;
  }
  if (*at != '/' || !CPU_COUNT(&set.compute)) fail("--layout: cores wanted, as in 0-2/3", text);
  set.worker_core = (int)number("--layout: worker core", at + 1, 0, CPU_SETSIZE - 1);
  if (!CPU_ISSET((size_t)set.worker_core, &mine))
    fail("--layout: a core that this process may not use", text);
}

static void describe_layout(void) {
  set.turns = CPU_COUNT(&set.compute) < set.rank_count;
  set.share = CPU_ISSET((size_t)set.worker_core, &set.compute);
  snprintf(set.layout, sizeof set.layout, "%d core%s for %d ranks%s, %s on core %d%s",
           CPU_COUNT(&set.compute), CPU_COUNT(&set.compute) > 1 ? "s" : "", set.rank_count,
           set.turns ? " (they take turns)" : "",
           set.link_mb_per_s > 0 ? "engine and DMA" : "engine", set.worker_core,
           set.share ? " (shared)" : "");
}

static void default_layout(void) {
  cpu_set_t mine;
  if (sched_getaffinity(0, sizeof mine, &mine)) fail("sched_getaffinity", strerror(errno));
  for (int i = 0; i < CPU_SETSIZE; i++)
    if (CPU_ISSET((size_t)i, &mine)) set.worker_core = i;
  set.compute = mine;
  if (CPU_COUNT(&mine) > 1) CPU_CLR((size_t)set.worker_core, &set.compute);
}

/* First line: the settings. Then one line per point; a last line that was cut off is dropped. */
static void open_resume(void) {
  char head[512], line[1024];
  int n = snprintf(
      head, sizeof head,
      "bench_nbc/1 ranks %d reps %d of %d%s grid %g %g link %g %g mib %g spread %g layout %s;",
      set.rank_count, set.reps, set.reps * set.oversample, set.realtime ? " realtime" : "",
      set.min_us, set.max_us, set.link_mb_per_s, set.latency_us, set.max_mib, set.spread_ratio,
      set.layout);
  for (int c = 0; c < set.coll_count; c++)
    n += snprintf(head + n, sizeof head - (size_t)n, " %s", nbc_coll_name(set.colls[c]));
  for (int p = 0; p < set.policy_count; p++)
    n += snprintf(head + n, sizeof head - (size_t)n, " %s", policy_name(set.policies[p]));
  FILE *in = fopen(set.resume, "r");
  int line_number = 1;
  long good_bytes = 0;
  if (in && fgets(line, sizeof line, in)) {
    line[strcspn(line, "\n")] = 0;
    if (strcmp(line, head)) fail("--resume: the file was made with other settings", set.resume);
    good_bytes = ftell(in);
    while (fgets(line, sizeof line, in)) {
      int c, p, i, j, used = 0;
      result x = {.done = true};
      line_number++;
      if (!strchr(line, '\n')) break; /* cut off while it was written */
      const int got = sscanf(
          line, "%d %d %d %d %lf %lf %lf %lf %lf %lf %lf %lf %lf %lf %lf %lf %lf %lf %lf %lf end%n",
          &c, &p, &i, &j, &x.count, &x.comm_ref, &x.comp_ref, &x.passive, &x.measured.median,
          &x.measured.median_lo, &x.measured.median_hi, &x.call, &x.comp, &x.wait, &x.rank_min[0],
          &x.rank_max[0], &x.rank_min[1], &x.rank_max[1], &x.rank_min[2], &x.rank_max[2], &used);
      if (got != 20 || !used || c < 0 || c >= set.coll_count || p < 0 || p >= set.policy_count ||
          i < 0 || i >= axis_count || j < 0 || j >= axis_count || !(x.comm_ref > 0) ||
          !(x.comp_ref > 0)) {
        fprintf(stderr, "bench_nbc: %s:%d: damaged line; delete it to measure its point again\n",
                set.resume, line_number);
        exit(2);
      }
      results[c][p][i][j] = x;
      good_bytes = ftell(in);
    }
  }
  if (in) fclose(in);
  if (good_bytes && truncate(set.resume, good_bytes))
    fail("--resume: cannot be written", set.resume);
  resume_out = fopen(set.resume, "a");
  if (!resume_out) fail("--resume: cannot be written", set.resume);
  if (!good_bytes) fprintf(resume_out, "%s\n", head), fflush(resume_out);
}

static void parse_args(int argc, char **argv) {
  const char *layout = NULL;
  char coll[] = "allreduce", policy[] = "none,dedicated", with_mpi[] = "mpi,none,dedicated";
  if (!set.mpi) set.rank_count = 2;
  set.reps = 7, set.oversample = 1, set.min_us = 500, set.max_us = 1e6, set.latency_us = 10,
  set.max_mib = 64;
  parse_list(coll, false), parse_list(set.mpi ? with_mpi : policy, true);
  for (int i = 1; i < argc; i++) {
    char *const name = argv[i], *const value = i + 1 < argc ? argv[i + 1] : NULL;
    if (strcmp(name, "--help") == 0) {
      fputs(usage, stdout);
      exit(0);
    }
    if (strcmp(name, "--realtime") == 0) {
      if (set.mpi) fail("--realtime: not under MPI, whose own waits may never give the core away", NULL);
      set.realtime = true;
      continue;
    }
    if (!value) fail("unknown option, or without its value", name);
    if (strcmp(name, "--coll") == 0)
      parse_list(value, false);
    else if (strcmp(name, "--policy") == 0)
      parse_list(value, true);
    else if (strcmp(name, "--ranks") == 0 && !set.mpi)
      set.rank_count = (int)number(name, value, 2, MAX_RANKS);
    else if (strcmp(name, "--reps") == 0)
      set.reps = (int)number(name, value, 1, MAX_REPS);
    else if (strcmp(name, "--budget-s") == 0)
      set.budget_s = number(name, value, 1, 1e6);
    else if (strcmp(name, "--oversample") == 0)
      set.oversample = (int)number(name, value, 1, 20);
    else if (strcmp(name, "--min-us") == 0)
      set.min_us = number(name, value, 10, 1e7);
    else if (strcmp(name, "--max-us") == 0)
      set.max_us = number(name, value, 10, 1e7);
    else if (strcmp(name, "--link-mb-s") == 0 && !set.mpi)
      set.link_mb_per_s = number(name, value, 0, 1e6);
    else if (strcmp(name, "--latency-us") == 0)
      set.latency_us = number(name, value, 0, 1e5);
    else if (strcmp(name, "--max-mib") == 0)
      set.max_mib = number(name, value, 1, 1 << 16);
    else if (strcmp(name, "--spread") == 0)
      set.spread_ratio = number(name, value, 0, 1);
    else if (strcmp(name, "--layout") == 0)
      layout = value;
    else if (strcmp(name, "--json") == 0)
      set.json = value;
    else if (strcmp(name, "--html") == 0)
      set.html = value;
    else if (strcmp(name, "--resume") == 0)
      set.resume = value;
    else if (strcmp(name, "--point") == 0 && i + 3 < argc) {
      set.point = true;
      parse_list(value, false);
      set.point_comm_us = number("--point: COMM_US", argv[i + 2], 10, 1e7),
      set.point_comp_us = number("--point: COMP_US", argv[i + 3], 10, 1e7);
      i += 2;
    } else
      fail("unknown option, or without its value", name);
    i++;
  }
  if (set.reps * set.oversample > MAX_REPS) fail("--reps times --oversample: more than 99", NULL);
  if (layout)
    parse_layout(layout);
  else
    default_layout();
  describe_layout();
  if (set.point)
    axis_count = 1;
  else
    for (double us = set.min_us; us <= set.max_us * 1.001 && axis_count < MAX_AXIS; us *= 2)
      axis_us[axis_count++] = us;
  if (!axis_count) fail("--max-us: less than --min-us", NULL);
}

static void write_file(const char *path, void (*print)(FILE *)) {
  FILE *out = path ? fopen(path, "w") : NULL;
  if (!path) return;
  if (!out) fail("cannot be written", path);
  print(out);
  if (fclose(out)) fail("cannot be written", path);
}

int main(int argc, char **argv) {
  bool speaks = true; /* rank 0 does */
#ifdef NBC_WITH_MPI
  int provided, rank;
  nbc_error err = {0};
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank), MPI_Comm_size(MPI_COMM_WORLD, &set.rank_count);
  set.mpi = true, speaks = rank == 0;
  if (set.rank_count > MAX_RANKS) fail("more than 64 processes", NULL);
  const nbc_mpi_desc desc = {.thread_level = provided};
  stop_on(nbc_mpi_create(MPI_COMM_WORLD, &desc, &mpi_transport, &err), &err, "MPI transport");
#endif
  parse_args(argc, argv);
  if (nbc_clock_create(NULL, &wall)) fail("no clock", NULL);
  t_begin_ns = nbc_clock_now_ns(&wall);
  if (set.resume && speaks) open_resume();
  const struct sched_param priority = {.sched_priority = 1};
  if (set.realtime && sched_setscheduler(0, SCHED_FIFO, &priority))
    fail("--realtime", strerror(errno));
  run_phase(0, true);
  for (int p = 0; p < set.policy_count; p++) run_phase(p, false);
  if (isatty(2) && speaks) fprintf(stderr, "\r%40s\r", "");
  if (speaks) {
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
  return 0;
}
