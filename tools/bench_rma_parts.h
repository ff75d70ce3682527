/* bench_rma_parts.h: calls that cannot be repeated without another one (destroying a context, giving a lock back), or
   whose time is one part of a sequence. Readings of the clock stand around each part, and what two readings take by
   themselves is subtracted. Included by bench_rma_more.h. */
#ifndef BENCH_RMA_PARTS_H_INCLUDED
#define BENCH_RMA_PARTS_H_INCLUDED

enum {
  PART_CALLS = 20,
  PART_SAMPLES = 101,
  PART_LEAST = 5
}; /* sequences per sample; samples, at least */

typedef struct parts_row {
  const char *names[2]; /* NULL: that part has a line of its own elsewhere, or there is none */
  bool together;        /* all ranks run the sequence, else rank 0 alone */
  bool sized;
  nbc_measure_fn fn; /* adds what its parts took to part_ns[0] and [1] */
  bool each;         /* its part is done once for each other rank */
  int calls;         /* sequences per sample; 0 = PART_CALLS */
} parts_row;

static int64_t part_now(const bench *b) { return nbc_clock_now_ns(&b->clock); }
static void part_done(bench *b, int part, int64_t t_begin_ns) {
  b->part_ns[part] += (double)(part_now(b) - t_begin_ns);
}
/* What a part takes in which nothing is done. */
static double part_nothing_ns(bench *b) {
  double least_ns = INFINITY;
  for (int k = 0; k < 50; k++) {
    b->part_ns[0] = 0;
    for (int i = 0; i < PART_CALLS; i++) part_done(b, 0, part_now(b));
    least_ns = fmin(least_ns, b->part_ns[0] / PART_CALLS);
  }
  return least_ns;
}

/* How many samples all ranks take: by the time that rank 0 saw a first one take. */
static int part_samples(bench *b, int64_t took_ns) {
  int count = PART_SAMPLES;
  if (took_ns > b->repeat.time_limit_ns / PART_SAMPLES)
    count = (int)(b->repeat.time_limit_ns / (took_ns + 1));
  if (count < PART_LEAST) count = PART_LEAST;
  return (int)rank0_says(b, count);
}

static void part_print(const bench *b, const char *name, uint64_t bytes, double *ns, int count) {
  nbc_measurement m = none;
  double sorted[PART_SAMPLES];
  memcpy(sorted, ns, (size_t)count * sizeof *ns);
  if (nbc_samples_check(ns, (size_t)count, &m.check) != NBC_OK ||
      nbc_summarize(sorted, (size_t)count, 0, &m.time) != NBC_OK)
    fail("a clock that steps");
  m.stop = count < PART_SAMPLES ? NBC_STOP_TIME : NBC_STOP_COUNT;
  m.samples_ns = ns;
  m.sample_count = (size_t)count;
  print(b, name, bytes, &m, m.time.median, 1);
}

static void measure_parts(bench *b, const parts_row *row) {
  double ns[2][PART_SAMPLES];
  const bool works = row->together || rank == 0;
  const double less_ns = part_nothing_ns(b), times = row->each ? size - 1 : 1;
  const int calls = row->calls ? row->calls : PART_CALLS;
  int count = 1;
  rma_barrier();
  for (int i = -1; i < count; i++) { /* -1: warm-up */
    b->part_ns[0] = b->part_ns[1] = 0;
    const int64_t t_begin_ns = part_now(b);
    for (int k = 0; works && k < calls; k++) row->fn(b);
    if (i < 0) count = part_samples(b, part_now(b) - t_begin_ns);
    for (int part = 0; part < 2 && i >= 0; part++)
      ns[part][i] = b->part_ns[part] / calls / times - less_ns;
  }
  rma_barrier();
  for (int part = 0; part < 2 && rank == 0; part++)
    if (row->names[part])
      part_print(b, row->names[part], row->sized ? b->bytes : 0, ns[part], count);
}

/* ---- locks ------------------------------------------------------------------------------------ */
/* Nobody else wants it. */
static nbc_status do_lock_parts(void *arg) {
  bench *b = (bench *)arg;
  int64_t t_begin_ns = part_now(b);
  rma_lock();
  part_done(b, 0, t_begin_ns);
  t_begin_ns = part_now(b);
  rma_unlock();
  part_done(b, 1, t_begin_ns);
  return NBC_OK;
}
/* One rank after the other asks for the lock that `holder` has; rank 0's time counts. */
static void ask_in_turns(bench *b, int holder) {
  for (int asks = 0; asks < size; asks++) {
    rma_barrier();
    if (asks != rank || asks == holder) continue;
    const int64_t t_begin_ns = part_now(b);
    const bool taken = rma_test_lock();
    part_done(b, 0, t_begin_ns);
    if (taken) fail("a lock that another rank holds was given");
  }
  rma_barrier();
}
static nbc_status do_test_turns(void *b) { return ask_in_turns((bench *)b, size - 1), NBC_OK; }
/* The same with each of the others as the holder. */
static nbc_status do_test_round(void *b) {
  for (int holder = 1; holder < size; holder++) {
    if (rank == holder) rma_lock();
    ask_in_turns((bench *)b, holder);
    if (rank == holder) rma_unlock();
    rma_barrier();
  }
  return NBC_OK;
}
static const parts_row lock_parts = {
    {"lock set", "lock clear"}, false, false, do_lock_parts, false, 0};
static const parts_row test_turns = {
    {"lock test busy turns"}, true, false, do_test_turns, false, 4};
static const parts_row test_round = {{"lock test busy round"}, true, false, do_test_round, true, 1};
#endif
