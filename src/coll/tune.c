/* tune.c: which algorithm is fastest here. */
#include "tune.h"
#include "schedule.h"
#include "catalogue.h"

/* ---- tuning -------------------------------------------------------------------------------- */
typedef struct nbc__tune {
  nbc_comm *comm;
  nbc_tune_desc desc;
  unsigned char *send, *recv;
  int64_t t_begin_ns;
} nbc__tune;

static int64_t nbc__tune_now(const nbc__tune *u) { return u->comm->t->now_ns(u->comm->t->ctx); }

static int nbc__tune_order(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The slowest rank's median and elapsed time, the same on all ranks. That they are the same is what
   tuning rests on: every decision taken from them (which algorithm is the best, whether time is
   over) falls alike on all ranks. A decision by a rank's own clock would let one rank start a
   collective that another never starts. */
static nbc_status nbc__tune_measure(const nbc__tune *u, const nbc_coll_args *args, double *d_ns,
                                    double *elapsed_ns) {
  double times_ns[99], agreed[2];
  nbc_request *request;
  nbc_status status = nbc_coll_init(u->comm, args, &request);
  for (int i = -1; i < u->desc.reps && !status; i++) { /* the first is warm-up */
    const int64_t t_ns = nbc__tune_now(u);
    status = nbc_coll_start(request);
    if (!status) status = nbc_coll_wait(&request, 0);
    if (i >= 0) times_ns[i] = (double)(nbc__tune_now(u) - t_ns);
  }
  if (status) return status;
  nbc_coll_free(request);
  qsort(times_ns, (size_t)u->desc.reps, sizeof *times_ns, nbc__tune_order);
  agreed[0] = times_ns[u->desc.reps / 2];
  agreed[1] = (double)(nbc__tune_now(u) - u->t_begin_ns);
  nbc_coll_args agree;
  memset(&agree, 0, sizeof agree);
  /* A fixed algorithm: the one that is being measured may be slow, and the table that would choose
     is not there yet. */
  agree.coll = NBC_COLL_ALLREDUCE, agree.algo = NBC_ALGO_RECURSIVE_DOUBLING;
  agree.send = NBC_IN_PLACE, agree.recv = agreed, agree.count = 2;
  agree.type = NBC_TYPE_DOUBLE, agree.reduce = NBC_REDUCE_MAX;
  status = nbc_coll_run(u->comm, &agree);
  *d_ns = agreed[0], *elapsed_ns = agreed[1];
  return status;
}

/* All algorithms at one size; variants that differ in segment or radix are algorithms too. */
static nbc_status nbc__tune_size(const nbc__tune *u, nbc_coll_args *args, nbc_choice_rule *best,
                                 bool *late) {
  static const struct {
    nbc_algo algo;
    uint64_t segment_bytes;
    int radix;
  } variants[] = {{NBC_ALGO_CHAIN, 16 * 1024, 0},
                  {NBC_ALGO_CHAIN, 256 * 1024, 0},
                  {NBC_ALGO_BINARY, 16 * 1024, 0},
                  {NBC_ALGO_KNOMIAL, 0, 8}};
  /* From 1: 0 is NBC_ALGO_AUTO, no algorithm of its own. */
  const int algos = NBC_ALGO_COUNT, variant_count = (int)(sizeof variants / sizeof *variants);
  double best_ns = 0, d_ns, elapsed_ns;
  best->algo = NBC_ALGO_AUTO;
  for (int i = 1; i < algos + variant_count; i++) {
    const int v = i - algos;
    args->algo = v < 0 ? (nbc_algo)i : variants[v].algo;
    args->segment_bytes = v < 0 ? 0 : variants[v].segment_bytes;
    args->radix = v < 0 ? 0 : variants[v].radix;
    if (!nbc_schedule_supports(args->coll, args->algo, u->comm->t->size, false)) continue;
    if (args->algo == NBC_ALGO_TWO_LEVEL &&
        !nbc__sched_has_levels(u->comm->t->nodes, u->comm->t->size))
      continue;
    const nbc_status status = nbc__tune_measure(u, args, &d_ns, &elapsed_ns);
    if (status) return status;
    if (best->algo == NBC_ALGO_AUTO || d_ns < best_ns) {
      /* Strictly less: of algorithms that are as fast, the first in the list stays, on every
         rank. */
      best_ns = d_ns;
      best->algo = args->algo, best->segment_bytes = args->segment_bytes, best->radix = args->radix;
    }
    /* The best so far is not kept: what was not tried might be better, and the built-in rules know
       this size too. */
    if (elapsed_ns > (double)u->desc.limit_ns) return *late = true, NBC_OK;
  }
  return NBC_OK;
}

static bool nbc__tune_blocks(nbc_coll coll) { /* the whole is a block for each rank */
  const nbc__coll_row *const about = nbc__coll_about(coll);
  return about->gives >= NBC__COLL_OWN_BLOCK || about->gets >= NBC__COLL_OWN_BLOCK;
}

/* v-variants: lengths between 0.5 and 1.5 of the mean, on both sides of each pair the same: 7 has
   no factor in common with 5, so i * 7 % 5 walks through all five lengths, and i + rank is the same
   seen from either end. */
static nbc_coll_args nbc__tune_args(const nbc__tune *u, nbc_coll coll, uint64_t bytes,
                                    uint64_t counts[1024]) {
  const uint64_t size = (uint64_t)u->comm->t->size, rank = (uint64_t)u->comm->t->rank;
  nbc_coll_args args;
  memset(&args, 0, sizeof args);
  args.coll = coll, args.send = u->send, args.recv = u->recv;
  args.count = bytes / 4, args.type = NBC_TYPE_INT32, args.reduce = NBC_REDUCE_SUM;
  for (uint64_t i = 0; i < size; i++) {
    const uint64_t k = coll == NBC_COLL_ALLTOALLV ? i + rank : i;
    counts[i] = bytes / 4 * (2 + k * 7 % 5) / 4;
  }
  if (coll == NBC_COLL_ALLTOALLV) args.send_counts = counts;
  if (coll == NBC_COLL_REDUCE_SCATTER || coll == NBC_COLL_ALLGATHERV || coll == NBC_COLL_ALLTOALLV)
    args.recv_counts = counts;
  return args;
}

/* One collective: sizes four times apart; a rule reaches to twice its size, the last one to
 * infinity. */
static nbc_status nbc__tune_coll(const nbc__tune *u, nbc_coll coll, nbc_choice *table, bool *late) {
  const uint64_t size = (uint64_t)u->comm->t->size,
                 most = u->desc.max_bytes / (nbc__tune_blocks(coll) ? size : 1);
  const size_t first = table->rule_count;
  uint64_t counts[1024];
  nbc_status status = NBC_OK;
  for (uint64_t bytes = coll == NBC_COLL_BARRIER ? most : 64; bytes <= most && !status && !*late;
       bytes *= 4) {
    nbc_coll_args args = nbc__tune_args(u, coll, bytes, counts);
    nbc_choice_rule best;
    memset(&best, 0, sizeof best);
    best.coll = coll, best.max_size = (int)size, best.max_bytes = bytes * 2;
    status = nbc__tune_size(u, &args, &best, late);
    if (status || *late || best.algo == NBC_ALGO_AUTO) break;
    nbc_choice_rule *const last =
        table->rule_count > first ? &table->rules[table->rule_count - 1] : NULL;
    /* Neighbouring sizes with the same answer share a rule: a table has room for
       NBC_CHOICE_MAX_RULES. */
    if (last && last->algo == best.algo && last->segment_bytes == best.segment_bytes &&
        last->radix == best.radix)
      last->max_bytes = best.max_bytes;
    else if (table->rule_count < NBC_CHOICE_MAX_RULES)
      table->rules[table->rule_count++] = best;
  }
  /* Only a sweep that came to its end may speak for longer messages than it measured. */
  if (!status && !*late && table->rule_count > first)
    table->rules[table->rule_count - 1].max_bytes = 0;
  return status;
}

/* One rule for all sizes: the algorithm that is least often far behind the best one. An alltoallv
   has no size that all ranks know: a rule by size would let ranks choose differently. Ratios are
   added, not times, so that long messages do not outvote short ones. */
static nbc_status nbc__tune_unsized(const nbc__tune *u, nbc_coll coll, nbc_choice *table,
                                    bool *late) {
  const uint64_t most = u->desc.max_bytes / (uint64_t)u->comm->t->size;
  double behind[NBC_ALGO_COUNT] = {0}, d_ns[NBC_ALGO_COUNT] = {0}, elapsed_ns;
  uint64_t counts[1024];
  nbc_choice_rule best;
  memset(&best, 0, sizeof best);
  best.coll = coll, best.max_size = u->comm->t->size;
  for (uint64_t bytes = 64; bytes <= most; bytes *= 4) {
    nbc_coll_args args = nbc__tune_args(u, coll, bytes, counts);
    double best_ns = 0;
    for (int i = 1; i < NBC_ALGO_COUNT; i++) {
      args.algo = (nbc_algo)i;
      if (!nbc_schedule_supports(coll, args.algo, u->comm->t->size, false)) continue;
      const nbc_status status = nbc__tune_measure(u, &args, &d_ns[i], &elapsed_ns);
      if (status) return status;
      if (elapsed_ns > (double)u->desc.limit_ns) return *late = true, NBC_OK;
      if (d_ns[i] < 1) d_ns[i] = 1;
      if (best_ns == 0 || d_ns[i] < best_ns) best_ns = d_ns[i];
    }
    for (int i = 1; i < NBC_ALGO_COUNT; i++)
      if (d_ns[i] > 0) behind[i] += d_ns[i] / best_ns;
  }
  for (int i = 1; i < NBC_ALGO_COUNT; i++)
    if (behind[i] > 0 && (best.algo == NBC_ALGO_AUTO || behind[i] < behind[best.algo]))
      best.algo = (nbc_algo)i;
  if (best.algo && table->rule_count < NBC_CHOICE_MAX_RULES)
    table->rules[table->rule_count++] = best;
  return NBC_OK;
}

NBC_API nbc_status nbc_tune(nbc_comm *comm, const nbc_tune_desc *desc, nbc_choice *table,
                            nbc_error *err) {
  if (!comm || !table)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "comm and table: must not be NULL");
  nbc__tune u;
  nbc_choice built_in;
  bool late = false;
  memset(&u, 0, sizeof u);
  table->rule_count = 0;
  u.comm = comm;
  if (desc) u.desc = *desc;
  if (!u.desc.max_bytes) u.desc.max_bytes = 1 << 20;
  if (!u.desc.reps) u.desc.reps = 5;
  if (u.desc.limit_ns <= 0) u.desc.limit_ns = 20000000000;
  if (u.desc.reps < 1 || u.desc.reps > 99 || u.desc.max_bytes > SIZE_MAX / 4)
    return nbc__status_fail(err, NBC_E_RANGE, 0,
                            "tune: reps must be in 1..99, max_bytes less than the memory");
  if (comm->t->size > 1024)
    return nbc__status_fail(err, NBC_E_RANGE, 0, "tune: more than 1024 ranks");
  u.t_begin_ns = nbc__tune_now(&u);
  /* lengths that differ may add up to more than their mean, by half a block */
  u.send = (unsigned char *)NBC_MALLOC(2 * (size_t)u.desc.max_bytes + 64 * (size_t)comm->t->size);
  u.recv = (unsigned char *)NBC_MALLOC(2 * (size_t)u.desc.max_bytes + 64 * (size_t)comm->t->size);
  nbc_status status =
      u.send && u.recv ? NBC_OK : nbc__status_fail(err, NBC_E_NOMEM, 0, "tune: out of memory");
  if (!status) memset(u.send, 1, 2 * (size_t)u.desc.max_bytes);
  for (int coll = 0; coll < NBC_COLL_COUNT && !status && !late; coll++) {
    if (coll == NBC_COLL_GATHERV || coll == NBC_COLL_SCATTERV)
      continue; /* by lengths that nobody knows */
    if (nbc__coll_about((nbc_coll)coll)->has & NBC_HAS_NEIGHBORS) continue;
    status = coll == NBC_COLL_ALLTOALLV ? nbc__tune_unsized(&u, (nbc_coll)coll, table, &late)
                                        : nbc__tune_coll(&u, (nbc_coll)coll, table, &late);
    if (status && err) *err = comm->err;
  }
  NBC_FREE(u.send);
  NBC_FREE(u.recv);
  nbc_choice_default(
      &built_in); /* for other sizes, and operators that the measured ones do not serve */
  for (size_t i = 0; i < built_in.rule_count && table->rule_count < NBC_CHOICE_MAX_RULES; i++)
    table->rules[table->rule_count++] = built_in.rules[i];
  return status;
}
