/* Question: what do one-sided operations and collectives cost here, and how was that measured?

   Run:      mpirun -n 2 build/bench_rma_mpi [-s BYTES] [-t SECONDS] [-l SECONDS] [-m each] [-r SEED]
                                             [--raw FILE] [--figure FILE]
             oshrun -n 2 build/bench_rma_shmem ...
             build/bench_rma_mpi --merge RAW... | --pictures FILE RAW...
               -s largest message (1 MiB)   -t limit per line (0.5 s)   -l least time per line (0.05 s,
               or half the limit)   -r order of the sizes
               -m each   reads the clock around every call: to see what that does to small messages
               --raw     every sample, less what its line subtracts: "bytes seconds routine", in the order
                         taken; build/fit_model --routine put FILE fits it
               --figure  instead: the elements of a nonblocking put and its overlap, each timed in three
                         ways, as text and as a page with two charts (below)
               --merge   the raw files of several runs: what they say together, with an interval from how
                         they differ. Three runs or more.
               --pictures  a page with figures 6 to 9 of the paper below: parts of a put and a get, their
                         overlap, six broadcasts, locks by number of ranks (a run for each)
             No flags are needed where Open MPI or its OpenSHMEM crash by themselves: that is found out by
             two processes beforehand, the cure is set, and a line says so.
   Expected: one line per routine and size: median, confidence interval, how many samples and why no
             more, how many starts were missed and how far apart the others were. Rank 0 measures against
             the last rank; collectives run on synchronised clocks.

   What the lines mean:
     put          from the call to the return of quiet, minus quiet
     quiet        after a put of one byte, minus that put
     get, fetching atomics   the call;  other atomics as put
     *_nbi full   call + quiet;  post: the call alone (from a batch of 16);  quiet: the rest;
     *_nbi overlap   call, computation of twice the full time, quiet, minus the computation
     bcast barrier: with a barrier after each, minus the barrier;  window: synchronised start, max(end)
           - min(start);  barrier start: for comparison;  rounds: the root goes round;  acknowledged: rank by rank, each broadcast
           answered by an atomic on the root, minus that atomic; the slowest rank;  ours: the event-driven
           broadcast of nbc_overlap.h over the same library's messages, synchronised start
     set ... fetch_xor, ctx ...: the other atomics, and all of them on a context of their own, on 8 and on 4
     bytes;  compare_swap: never equal;  compare_swap yes: always equal
     p, g, iput, iget: one word, and every second word;  put ping-pong: put, flag, wait for the answer; half
     ... round: all ranks at once, each with its right neighbour;  alltoall: so many bytes to all together
     lock turns: one rank after the other takes it;  lock test busy: while another rank holds it (all:
     all others ask at once; turns: one after the other; round: and each of the others has it in turn)
     ... of half: the lower half of the ranks, the others do nothing
     ctx create and destroy, malloc, calloc, align, realloc, free, lock set and clear (nobody else wants it), lock test
     busy turns and round: readings around that part alone of up to 20 sequences per sample, less what
     readings take; over MPI, the begin and end of an exclusive MPI_Win_lock, which may be put off
     lock free: nobody else wants it;  taken: all ranks want it, per acquisition and release
   With --figure [figures 4 and 5 of Coti and Malony, SKaMPI for OpenSHMEM]:
     global loop    two readings around many calls: full; 16 posts and a quiet, / 16; overlap, minus the
                    computation it was asked for
     per iteration  readings around each part of each call
     subtraction    of two global loops: post = (loop of 16 posts and a quiet - full) / 15, quiet = full -
                    post, overlap = its loop - a loop of the computation alone */
#define NBC_OVERLAP_IMPLEMENTATION
#if !defined(NBC_WITH_SHMEM) && !defined(NBC_WITH_MPI)
#  define NBC_WITH_MPI
#endif
#include "nbc_overlap.h"
#include "tools/options.h"
#include "tools/progress_line.h"
#include "output.h"
#include "plot.h"
#include <stdlib.h>
#include <string.h>
#include "bench_rma_merge.h"
#include "bench_rma_probe.h"

enum { POSTS = 16, ACKS = 8, ROUNDS = 4 }; /* calls per sample */
static int rank, size;
static int nbi_target; /* of the nonblocking: the last rank, or in rounds the right neighbour */
static uint64_t largest_bytes = 1 << 20;
static char *local; /* private memory of largest_bytes */

/* ---- one-sided operations and collectives of OpenSHMEM or MPI, all against the last rank ----------- */
#if defined(NBC_WITH_SHMEM)
static char *remote; /* symmetric: data; then two collective buffers */
static long long *counter;
static long *mutex, *sync_area;
static int sync_turn;

static nbc_status open_all(nbc_transport **t, nbc_error *err) {
  shmem_init();
  rank = shmem_my_pe();
  size = shmem_n_pes();
  return nbc_shmem_create(NULL, t, err);
}
static bool open_memory(void) {
  const size_t all = (size_t)(largest_bytes + 8) * (size_t)(2 + size);
  const size_t areas = (size_t)2 * (ROUNDS * (size_t)size + ACKS) * SHMEM_BCAST_SYNC_SIZE +
                       2 * (SHMEM_REDUCE_SYNC_SIZE + SHMEM_COLLECT_SYNC_SIZE);
  remote = (char *)shmem_calloc(all, 1);
  counter = (long long *)shmem_calloc(2 + SHMEM_REDUCE_MIN_WRKDATA_SIZE + (size_t)largest_bytes / 8,
                                      sizeof *counter);
  mutex = (long *)shmem_calloc(1, sizeof *mutex);
  sync_area = (long *)shmem_calloc(areas, sizeof *sync_area);
  for (size_t i = 0; sync_area && i < areas; i++) sync_area[i] = SHMEM_SYNC_VALUE;
  shmem_barrier_all();
  return remote && counter && mutex && sync_area;
}
static void close_all(nbc_transport *t) {
  nbc_shmem_destroy(t);
  shmem_finalize();
}
static void give_up(void) { shmem_global_exit(1); }
static void rma_quiet(void) { shmem_quiet(); }
static void rma_put(uint64_t n) { shmem_putmem(remote, local, n, size - 1); }
static void rma_put_nbi(uint64_t n) { shmem_putmem_nbi(remote, local, n, nbi_target); }
static void rma_get(uint64_t n) { shmem_getmem(local, remote, n, size - 1); }
static void rma_get_nbi(uint64_t n) { shmem_getmem_nbi(local, remote, n, nbi_target); }
static long long rma_fetch_add(int peer) {
  return shmem_longlong_atomic_fetch_add(counter, 1, peer);
}
static long long rma_own_counter(void) { return shmem_longlong_atomic_fetch(counter, rank); }
static void rma_barrier(void) { shmem_barrier_all(); }
static void rma_lock(void) { shmem_set_lock(mutex); }
static void rma_unlock(void) { shmem_clear_lock(mutex); }
static bool rma_test_lock(void) { return shmem_test_lock(mutex) == 0; }
static bool has_test_lock(void) { return true; }
/* Areas in turn: a rank may be ahead of another by all calls of one sample, not more. */
static long *area(size_t first, size_t each, int count) {
  return sync_area + first + (size_t)(sync_turn++ % count) * each;
}
static int bcast_areas(void) { return 2 * (ROUNDS * size + ACKS); }
static size_t after_bcast(void) { return (size_t)bcast_areas() * SHMEM_BCAST_SYNC_SIZE; }
static void coll_bcast(uint64_t n, int root) {
  shmem_broadcast64(remote + largest_bytes + 8, remote, (n + 7) / 8, root, 0, 0, size,
                    area(0, SHMEM_BCAST_SYNC_SIZE, bcast_areas()));
}
static void coll_reduce(uint64_t n) {
  shmem_longlong_sum_to_all((long long *)(void *)(remote + largest_bytes + 8),
                            (long long *)(void *)remote, (int)((n + 7) / 8), 0, 0, size,
                            counter + 2, area(after_bcast(), SHMEM_REDUCE_SYNC_SIZE, 2));
}
static void coll_collect(uint64_t n) {
  shmem_fcollect64(remote + largest_bytes + 8, remote, (n + 7) / 8, 0, 0, size,
                   area(after_bcast() + 2 * SHMEM_REDUCE_SYNC_SIZE, SHMEM_COLLECT_SYNC_SIZE, 2));
}
#else
static char *remote, *gathered;
static long long *counter;
static MPI_Win data_win, counter_win, lock_win;

static nbc_status open_all(nbc_transport **t, nbc_error *err) {
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return nbc_mpi_create(MPI_COMM_WORLD, NULL, t, err);
}
static bool open_memory(void) {
  char *unused;
  gathered = (char *)calloc((size_t)size, (size_t)largest_bytes + 8);
  MPI_Win_allocate((MPI_Aint)largest_bytes + 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &remote,
                   &data_win);
  MPI_Win_allocate(6 * sizeof *counter, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &counter, &counter_win);
  MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &unused, &lock_win);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, data_win);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, counter_win);
  memset(counter, 0, 6 * sizeof *counter);
  MPI_Win_sync(counter_win);
  MPI_Barrier(MPI_COMM_WORLD);
  return gathered != NULL;
}
static void close_all(nbc_transport *t) {
  MPI_Win_unlock_all(counter_win);
  MPI_Win_unlock_all(data_win);
  MPI_Win_free(&lock_win);
  MPI_Win_free(&counter_win);
  MPI_Win_free(&data_win);
  free(gathered);
  nbc_mpi_destroy(t);
  MPI_Finalize();
}
static void give_up(void) { MPI_Abort(MPI_COMM_WORLD, 1); }
static void rma_quiet(void) {
  MPI_Win_flush(nbi_target, data_win);
  MPI_Win_flush(nbi_target, counter_win);
}
static void rma_put_nbi(uint64_t n) {
  MPI_Put(local, (int)n, MPI_BYTE, nbi_target, 0, (int)n, MPI_BYTE, data_win);
}
static void rma_put(uint64_t n) {
  rma_put_nbi(n);
  MPI_Win_flush_local(size - 1, data_win);
}
static void rma_get_nbi(uint64_t n) {
  MPI_Get(local, (int)n, MPI_BYTE, nbi_target, 0, (int)n, MPI_BYTE, data_win);
}
static void rma_get(uint64_t n) {
  rma_get_nbi(n);
  MPI_Win_flush(size - 1, data_win);
}
static long long rma_fetch_add(int peer) {
  const long long one = 1;
  long long was = 0;
  MPI_Fetch_and_op(&one, &was, MPI_LONG_LONG, peer, 0, MPI_SUM, counter_win);
  MPI_Win_flush(peer, counter_win);
  return was;
}
static long long rma_own_counter(void) {
  long long now = 0;
  MPI_Fetch_and_op(NULL, &now, MPI_LONG_LONG, rank, 0, MPI_NO_OP, counter_win);
  MPI_Win_flush(rank, counter_win);
  return now;
}
static void rma_barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }
static void rma_lock(void) { MPI_Win_lock(MPI_LOCK_EXCLUSIVE, size - 1, 0, lock_win); }
static void rma_unlock(void) { MPI_Win_unlock(size - 1, lock_win); }
static bool rma_test_lock(void) { return false; }
static bool has_test_lock(void) { return false; }
static void coll_bcast(uint64_t n, int root) {
  MPI_Bcast(local, (int)n, MPI_BYTE, root, MPI_COMM_WORLD);
}
static void coll_reduce(uint64_t n) {
  MPI_Allreduce(local, gathered, (int)((n + 7) / 8), MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
}
static void coll_collect(uint64_t n) {
  MPI_Allgather(local, (int)n, MPI_BYTE, gathered, (int)n, MPI_BYTE, MPI_COMM_WORLD);
}
#endif

/* ---- what is measured ---------------------------------------------------------------------------- */
typedef struct bench {
  nbc_clock clock;
  nbc_sync *sync;
  nbc_repeat repeat;
  nbc_timing timing;
  uint64_t bytes, seed;
  int root, task;
  double compute_ns;
  nbc_comm *comm;
  nbc_request *bcast; /* ours, of this size */
  FILE *raw;
  double part_ns[3]; /* of one call with readings around its parts: post, computation, quiet */
  nbc_error err;
} bench;

static nbc_status do_put_quiet(void *b) {
  return rma_put(((bench *)b)->bytes), rma_quiet(), NBC_OK;
}
static nbc_status do_put_one(void *b) { return (void)b, rma_put(1), NBC_OK; }
static nbc_status do_put_one_quiet(void *b) { return (void)b, rma_put(1), rma_quiet(), NBC_OK; }
static nbc_status do_get(void *b) { return rma_get(((bench *)b)->bytes), NBC_OK; }
static nbc_status do_lock(void *b) { return (void)b, rma_lock(), rma_unlock(), NBC_OK; }
static nbc_status do_test_lock(void *b) {
  (void)b;
  if (rma_test_lock()) rma_unlock();
  return NBC_OK;
}
static void nbi(const bench *b, bool get) {
  if (get)
    rma_get_nbi(b->bytes);
  else
    rma_put_nbi(b->bytes);
}
static nbc_status full(bench *b, bool get) { return nbi(b, get), rma_quiet(), NBC_OK; }
static nbc_status posts(bench *b, bool get) {
  for (int i = 0; i < POSTS; i++) nbi(b, get);
  return rma_quiet(), NBC_OK;
}
static nbc_status overlap(bench *b, bool get) {
  nbi(b, get);
  nbc_spin_ns(&b->clock, (int64_t)b->compute_ns);
  return rma_quiet(), NBC_OK;
}
static nbc_status do_put_full(void *b) { return full((bench *)b, false); }
static nbc_status do_get_full(void *b) { return full((bench *)b, true); }
static nbc_status do_put_posts(void *b) { return posts((bench *)b, false); }
static nbc_status do_get_posts(void *b) { return posts((bench *)b, true); }
static nbc_status do_put_overlap(void *b) { return overlap((bench *)b, false); }
static nbc_status do_get_overlap(void *b) { return overlap((bench *)b, true); }
static nbc_status do_barrier(void *b) { return (void)b, rma_barrier(), NBC_OK; }
static nbc_status do_bcast(void *b) { return coll_bcast(((bench *)b)->bytes, 0), NBC_OK; }
static nbc_status do_bcast_barrier(void *b) {
  return coll_bcast(((bench *)b)->bytes, 0), rma_barrier(), NBC_OK;
}
static nbc_status do_bcast_rounds(void *b) {
  for (int i = 0; i < ROUNDS * size; i++) coll_bcast(((bench *)b)->bytes, i % size);
  return NBC_OK;
}
static nbc_status do_bcast_ours(void *arg) {
  bench *b = (bench *)arg;
  const nbc_status status = nbc_coll_start(b->bcast);
  return status == NBC_OK ? nbc_coll_wait(&b->bcast, INT64_C(30000000000)) : status;
}
/* At most one acknowledgement is on its way: the root waits for it before the next broadcast. */
static nbc_status do_bcast_acknowledged(void *arg) {
  const bench *b = (const bench *)arg;
  long long seen = rank == 0 ? rma_own_counter() : 0;
  for (int i = 0; i < ACKS; i++) {
    coll_bcast(b->bytes, 0);
    if (rank == b->task) rma_fetch_add(0);
    if (rank == 0)
      for (seen++; rma_own_counter() < seen;) continue;
  }
  return NBC_OK;
}
static nbc_status do_acknowledgement(void *b) { return (void)b, (void)rma_fetch_add(0), NBC_OK; }
static nbc_status do_reduce(void *b) { return coll_reduce(((bench *)b)->bytes), NBC_OK; }
static nbc_status do_collect(void *b) { return coll_collect(((bench *)b)->bytes), NBC_OK; }

/* ---- measuring and printing ------------------------------------------------------------------------ */
static const nbc_measurement none;   /* all zero */
static void fail(const char *what) { /* one rank cannot go on alone: the job ends */
  fprintf(stderr, "bench_rma: rank %d: %s\n", rank, what);
  give_up();
}
/* ns: what the line says; samples are of `scale` calls and of what the line subtracts. */
static void print(const bench *b, const char *routine, uint64_t bytes, const nbc_measurement *m,
                  double ns, double scale) {
  if (rank > 0) return;
  for (size_t i = 0; b->raw && i < m->sample_count; i++)
    fprintf(b->raw, "%llu %.9e %s\n", (unsigned long long)bytes,
            (ns + (m->samples_ns[i] - m->time.median) / scale) * 1e-9, routine);
  char skew[32] = "-"; /* of starts: only where all ranks start together */
  if (m->skew.count > 0) snprintf(skew, sizeof skew, "%.3f", m->skew.median * 1e-3);
  if (m->time.count == 0) {
    printf("%-24s %9llu %12s %9s %7d %5s %8s %7lld %9s\n", routine, (unsigned long long)bytes, "-",
           "-", 0, nbc_stop_name(m->stop), "-", (long long)m->missed_count, skew);
    return;
  }
  const double half_ns = (m->time.median_hi - m->time.median_lo) / 2 / scale;
  printf("%-24s %9llu %12.3f %9.3f %7zu %5s %8zu %7lld %9s %s\n", routine,
         (unsigned long long)bytes, ns * 1e-3, half_ns * 1e-3, m->time.count,
         nbc_stop_name(m->stop), m->check.outlier_count, (long long)m->missed_count, skew,
         m->check.changed ? "changed on the way" : "");
  fflush(stdout);
}

/* The number of rank 0, in all. */
static double rank0_says(bench *b, double number) {
  nbc_request *request = NULL;
  rma_barrier(); /* the library's own: what rank 0 does alone before may need the others inside of it */
  if (nbc_ibcast(b->comm, &number, 1, NBC_TYPE_DOUBLE, 0, &request) != NBC_OK ||
      nbc_coll_wait(&request, INT64_C(300000000000)) != NBC_OK)
    fail(nbc_comm_error(b->comm)->text);
  return number;
}

/* Rank 0 measures, the others wait in a barrier (and so make progress). */
static double alone(bench *b, nbc_measure_fn fn, nbc_measurement *m) {
  nbc_measurement_free(m);
  rma_barrier();
  if (rank == 0 && nbc_measure_loop(&b->clock, &b->repeat, b->timing, 0, 0, fn, b, m) != NBC_OK)
    fail("a routine cannot be measured");
  rma_barrier();
  return m->time.median;
}
/* All ranks, on synchronised clocks. */
static double together(bench *b, nbc_start start, nbc_measure_fn fn, nbc_measurement *m) {
  nbc_measure_desc desc;
  memset(&desc, 0, sizeof desc);
  nbc_measurement_free(m);
  desc.repeat = b->repeat;
  desc.start = start;
  if (nbc_sync_update(b->sync, &b->err) != NBC_OK ||
      nbc_measure(b->sync, &desc, fn, b, m, &b->err) != NBC_OK)
    fail(b->err.text);
  return m->time.median;
}

/* In rounds all ranks do the same at once, each with its right neighbour; else rank 0 alone with the last. */
static double one_or_all(bench *b, bool round, nbc_measure_fn fn, nbc_measurement *m) {
  return round ? together(b, NBC_START_WINDOW, fn, m) : alone(b, fn, m);
}
static void measure_nbi(bench *b, bool get, bool round) {
  static const char *const names[4][4] = {
      {"put_nbi full", "put_nbi post", "put_nbi quiet", "put_nbi overlap"},
      {"get_nbi full", "get_nbi post", "get_nbi quiet", "get_nbi overlap"},
      {"put_nbi full round", "put_nbi post round", "put_nbi quiet round", "put_nbi overlap round"},
      {"get_nbi full round", "get_nbi post round", "get_nbi quiet round", "get_nbi overlap round"}};
  const char *const *const name = names[2 * round + get];
  nbc_measurement m = none, many = none, over = none;
  nbi_target = round ? (rank + 1) % size : size - 1;
  const double full_ns = one_or_all(b, round, get ? do_get_full : do_put_full, &m);
  const double post_ns =
      (one_or_all(b, round, get ? do_get_posts : do_put_posts, &many) - full_ns) / (POSTS - 1);
  b->compute_ns = rank0_says(b, 2 * full_ns);
  const double overlap_ns =
      one_or_all(b, round, get ? do_get_overlap : do_put_overlap, &over) - b->compute_ns;
  print(b, name[0], b->bytes, &m, full_ns, 1);
  print(b, name[1], b->bytes, &many, post_ns, POSTS);
  print(b, name[2], b->bytes, &m, full_ns - post_ns, 1);
  print(b, name[3], b->bytes, &over, overlap_ns, 1);
  nbi_target = size - 1;
  nbc_measurement_free(&m);
  nbc_measurement_free(&many);
  nbc_measurement_free(&over);
}

static void measure_ours(bench *b, nbc_measurement *m) {
  nbc_coll_args args;
  memset(&args, 0, sizeof args);
  args.coll = NBC_COLL_BCAST;
  args.recv = local;
  args.count = b->bytes;
  args.type = NBC_TYPE_BYTE;
  if (nbc_coll_init(b->comm, &args, &b->bcast) != NBC_OK) fail(nbc_comm_error(b->comm)->text);
  print(b, "bcast ours", b->bytes, m, together(b, NBC_START_WINDOW, do_bcast_ours, m), 1);
  nbc_coll_free(b->bcast);
}

static void measure_bcast(bench *b) {
  nbc_measurement m = none, worst = none;
  const double barrier_ns = together(b, NBC_START_WINDOW, do_barrier, &m);
  const double both_ns = together(b, NBC_START_WINDOW, do_bcast_barrier, &m);
  print(b, "bcast barrier", b->bytes, &m, both_ns - barrier_ns, 1);
  print(b, "bcast window", b->bytes, &m, together(b, NBC_START_WINDOW, do_bcast, &m), 1);
  print(b, "bcast barrier start", b->bytes, &m, together(b, NBC_START_BARRIER, do_bcast, &m), 1);
  const double rounds_ns = together(b, NBC_START_WINDOW, do_bcast_rounds, &m);
  print(b, "bcast rounds", b->bytes, &m, rounds_ns / (ROUNDS * size), ROUNDS * size);
  double slowest_ns = 0;
  const double ack_ns = size > 1 ? alone(b, do_acknowledgement, &m) : 0;
  for (b->task = 1; b->task < size; b->task++) {
    const double ns = together(b, NBC_START_WINDOW, do_bcast_acknowledged, &m) / ACKS - ack_ns;
    if (b->task > 1 && ns <= slowest_ns) continue;
    slowest_ns = ns;
    nbc_measurement_free(&worst);
    worst = m;
    m = none; /* its samples are worst's now */
  }
  if (size > 1) print(b, "bcast acknowledged", b->bytes, &worst, slowest_ns, ACKS);
  measure_ours(b, &m);
  nbc_measurement_free(&worst);
  nbc_measurement_free(&m);
}

static void measure_size(bench *b) {
  nbc_measurement m = none;
  const double one_ns = alone(b, do_put_one, &m);
  const double quiet_ns = alone(b, do_put_one_quiet, &m) - one_ns;
  print(b, "put", b->bytes, &m, alone(b, do_put_quiet, &m) - quiet_ns, 1);
  print(b, "get", b->bytes, &m, alone(b, do_get, &m), 1);
  for (int i = 0; i < 4; i++) measure_nbi(b, i & 1, i & 2);
  measure_bcast(b);
  print(b, "reduce to all", b->bytes, &m, together(b, NBC_START_WINDOW, do_reduce, &m), 1);
  print(b, "collect", b->bytes, &m, together(b, NBC_START_WINDOW, do_collect, &m), 1);
  nbc_measurement_free(&m);
}

static void measure_fixed(bench *b) {
  nbc_measurement m = none;
  const double one_ns = alone(b, do_put_one, &m);
  const double quiet_ns = alone(b, do_put_one_quiet, &m) - one_ns;
  print(b, "quiet", 0, &m, quiet_ns, 1);
  print(b, "lock free", 0, &m, alone(b, do_lock, &m), 1);
  print(b, "lock taken", 0, &m, together(b, NBC_START_WINDOW, do_lock, &m) / size, size);
  if (has_test_lock()) print(b, "lock test", 0, &m, alone(b, do_test_lock, &m), 1);
  print(b, "barrier", 0, &m, together(b, NBC_START_WINDOW, do_barrier, &m), 1);
  nbc_measurement_free(&m);
}

#include "bench_rma_more.h"

/* ---- three ways to time the same calls ------------------------------------------------------------- */
enum { LOOP = 0, EACH, SUBTRACTED, WAYS, FULL = 0, POST, QUIET, OVERLAP, PARTS, MOST_SIZES = 30 };
static const char *const way_names[WAYS] = {"global loop", "per iteration", "subtraction"};
static const char *const part_names[PARTS] = {"full", "post", "quiet", "overlap"};
typedef struct figure {
  int count;
  double size_bytes[MOST_SIZES], ns[PARTS][WAYS][MOST_SIZES]; /* NaN: this way cannot tell it */
} figure;

static nbc_status do_compute(void *b) {
  return nbc_spin_ns(&((bench *)b)->clock, (int64_t)((bench *)b)->compute_ns), NBC_OK;
}
/* Readings around each part; with computation four of them per call, as in the paper. */
static nbc_status do_put_each(void *arg) {
  bench *b = (bench *)arg;
  const int64_t t_begin_ns = nbc_clock_now_ns(&b->clock);
  rma_put_nbi(b->bytes);
  const int64_t t_posted_ns = nbc_clock_now_ns(&b->clock);
  int64_t t_computed_ns = t_posted_ns;
  if (b->compute_ns > 0) {
    nbc_spin_ns(&b->clock, (int64_t)b->compute_ns);
    t_computed_ns = nbc_clock_now_ns(&b->clock);
  }
  rma_quiet();
  b->part_ns[0] += (double)(t_posted_ns - t_begin_ns);
  b->part_ns[1] += (double)(t_computed_ns - t_posted_ns);
  b->part_ns[2] += (double)(nbc_clock_now_ns(&b->clock) - t_computed_ns);
  return NBC_OK;
}
/* Medians over batches of the mean post and quiet. */
static void each_ns(bench *b, double *post_ns, double *quiet_ns) {
  enum { BATCHES = 101, CALLS = 20 };
  double post[BATCHES] = {1}, quiet[BATCHES] = {1};
  rma_barrier();
  for (int i = -1; i < BATCHES && rank == 0; i++) { /* -1: warm-up */
    b->part_ns[0] = b->part_ns[1] = b->part_ns[2] = 0;
    for (int k = 0; k < CALLS; k++) do_put_each(b);
    post[i < 0 ? 0 : i] = b->part_ns[0] / CALLS;
    quiet[i < 0 ? 0 : i] = b->part_ns[2] / CALLS;
  }
  rma_barrier();
  nbc_summary p, q;
  if (nbc_summarize(post, BATCHES, 0, &p) != NBC_OK ||
      nbc_summarize(quiet, BATCHES, 0, &q) != NBC_OK)
    fail("a clock that steps");
  *post_ns = p.median;
  *quiet_ns = q.median;
}

static void measure_ways(bench *b, figure *f, int at) {
  nbc_measurement m = none;
  double full_ns, many_ns, post_ns, quiet_ns;
  for (int i = 0; i < PARTS * WAYS; i++) f->ns[i / WAYS][i % WAYS][at] = (double)NAN;
  f->size_bytes[at] = (double)b->bytes;
  f->ns[FULL][LOOP][at] = full_ns = alone(b, do_put_full, &m);
  many_ns = alone(b, do_put_posts, &m);
  f->ns[POST][LOOP][at] = many_ns / POSTS;
  f->ns[POST][SUBTRACTED][at] = (many_ns - full_ns) / (POSTS - 1);
  f->ns[QUIET][SUBTRACTED][at] = full_ns - f->ns[POST][SUBTRACTED][at];
  b->compute_ns = 0;
  each_ns(b, &post_ns, &quiet_ns);
  f->ns[FULL][EACH][at] = post_ns + quiet_ns;
  f->ns[POST][EACH][at] = post_ns;
  f->ns[QUIET][EACH][at] = quiet_ns;
  b->compute_ns = fmax(1, 2 * full_ns);
  const double overlap_ns = alone(b, do_put_overlap, &m);
  f->ns[OVERLAP][LOOP][at] = overlap_ns - b->compute_ns;
  f->ns[OVERLAP][SUBTRACTED][at] = overlap_ns - alone(b, do_compute, &m);
  each_ns(b, &post_ns, &quiet_ns);
  f->ns[OVERLAP][EACH][at] = post_ns + quiet_ns;
  nbc_measurement_free(&m);
}

static void draw_chart(FILE *out, const figure *f, double left, const char *title, const int *parts,
                       int part_count) {
  static const char *const dashes[WAYS] = {"", "2 3", "8 3"};
  plot p = {out,      left, 40,         370,         300, 1, fmax(2, f->size_bytes[f->count - 1]),
            INFINITY, 0,    PLOT_BYTES, PLOT_DECADES};
  for (int i = 0; i < part_count * WAYS * f->count; i++) {
    const double us = f->ns[parts[i / f->count / WAYS]][i / f->count % WAYS][i % f->count] * 1e-3;
    if (us > 0) p.y_lo = fmin(p.y_lo, us * 0.8), p.y_hi = fmax(p.y_hi, us * 8);
  }
  p.y_lo = fmax(p.y_lo, p.y_hi * 1e-6); /* a difference near 0 is at the border */
  plot_axes(&p, title, "bytes", "us");
  for (int i = 0, row = 0; i < part_count * WAYS; i++) {
    const int part = parts[i / WAYS], way = i % WAYS;
    double us[MOST_SIZES];
    char name[64];
    if (isnan(f->ns[part][way][0])) continue;
    for (int k = 0; k < f->count; k++) us[k] = f->ns[part][way][k] * 1e-3;
    plot_line(&p, f->size_bytes, us, f->count, plot_colours[part], dashes[way]);
    snprintf(name, sizeof name, "%s, %s", part_names[part], way_names[way]);
    plot_key(&p, row++, plot_colours[part], dashes[way], name);
  }
}

static void print_ways(FILE *out, const figure *f) {
  fprintf(out, "%-10s %9s %14s %14s %14s   (put_nbi, us)\n", "# element", "bytes", way_names[0],
          way_names[1], way_names[2]);
  for (int part = 0; part < PARTS; part++)
    for (int k = 0; k < f->count; k++) {
      fprintf(out, "%-10s %9.0f", part_names[part], f->size_bytes[k]);
      for (int way = 0; way < WAYS; way++)
        if (isnan(f->ns[part][way][k]))
          fprintf(out, " %14s", "-");
        else
          fprintf(out, " %14.4f", f->ns[part][way][k] * 1e-3);
      fprintf(out, "\n");
    }
}

static void measure_figure(bench *b, const int *order, int count, FILE *out) {
  static figure f;
  static const int elements[] = {FULL, POST, QUIET}, overlapped[] = {FULL, OVERLAP};
  f.count = count;
  progress_line line;
  progress_begin(&line, "bench_rma", rank == 0);
  for (int i = 0; i < count; i++) {
    b->bytes = (uint64_t)1 << 2 * order[i];
    progress_show(&line, "sizes", i, count);
    measure_ways(b, &f, order[i]);
  }
  progress_end(&line);
  if (rank > 0) return;
  print_ways(stdout, &f);
  plot_begin(out, "Where the timer stands: a nonblocking put", 920, 390);
  draw_chart(out, &f, 60, "elements of a nonblocking put", elements, 3);
  draw_chart(out, &f, 520, "its overlap with computation of twice its time", overlapped, 2);
  plot_end_chart(out);
  fprintf(out, "<pre>\n");
  print_ways(out, &f);
  fprintf(out, "</pre>\n");
  plot_end(out);
}

typedef struct settings {
  double limit_s, least_s; /* least -1: not given */
  uint64_t seed;
  const char *raw, *figure, *pictures;
  bool is_each, is_merge;
} settings;
static settings given = {.limit_s = 0.5, .least_s = -1, .seed = 1};
static const char *take_timing(const char *text) {
  given.is_each = strcmp(text, "each") == 0;
  return given.is_each ? NULL : "must be each";
}
static const option options[] = {
    {"-s", "BYTES", "largest message (1048576)", .whole = &largest_bytes, .range = {1, 1 << 28}},
    {"-t", "SECONDS", "limit per line (0.5)", .real = &given.limit_s, .range = {1e-3, 1e4}},
    {"-l", "SECONDS", "least time per line (0.05, or half the limit)", .real = &given.least_s,
     .range = {0, 1e4}},
    {"-m", "each", "reads the clock around every call", .take = take_timing},
    {"-r", "SEED", "order of the sizes (1)", .whole = &given.seed, .range = {0, 1e9}},
    {"--raw", "FILE", "every sample: lines \"bytes seconds routine\", for fit_nic and fit_model",
     .text = &given.raw},
    {"--figure", "FILE",
     "instead: parts of a nonblocking put and its overlap, timed in three ways; a page",
     .text = &given.figure},
    {"--merge", NULL, "raw files of several runs: what they say together, three runs or more",
     .flag = &given.is_merge},
    {"--pictures", "FILE",
     "of raw files a page: parts of puts and gets, overlap, broadcasts, locks",
     .text = &given.pictures},
    {0}};
static const command_line command = {
    "usage: mpirun -n N bench_rma_mpi [-s BYTES] [-t SECONDS] [-l SECONDS] [-m each] [-r SEED]\n"
    "                                 [--raw FILE] [--figure FILE]\n"
    "       oshrun -n N bench_rma_shmem ...\n"
    "       bench_rma_mpi --merge RAW...\n"
    "       bench_rma_mpi --pictures FILE RAW...\n"
    "What one-sided operations and collectives cost between rank 0 and the last rank: a line "
    "each.\n",
    options, NULL};

static FILE *create(const char *path) {
  FILE *file = rank == 0 && path ? output_create(path) : NULL;
  if (rank == 0 && path && !file) give_up();
  return file;
}

int main(int argc, char **argv) {
  bench b;
  nbc_transport *t = NULL;
  const settings *const o = &given;
  memset(&b, 0, sizeof b);
  output_begin("bench_rma");
  if (argc == 2 && strcmp(argv[1], "--probe") == 0) return probe_body();
  const int raw_count = options_read(&command, argc, argv);
  if (raw_count && !o->is_merge && !o->pictures) options_refuse(argv[1], "no option (--help)");
  if (!raw_count && (o->is_merge || o->pictures)) options_refuse("RAW", "no file (--help)");
  if (o->is_merge) return merge(raw_count, argv + 1);
  if (o->pictures) return merge_pictures(o->pictures, raw_count, argv + 1);
  probe_and_cure();
  if (open_all(&t, &b.err) != NBC_OK) fail(b.err.text);
  nbi_target = size - 1;
  rma_barrier();
  probe_done();
  if (o->is_each) b.timing = NBC_TIMING_EACH;
  b.repeat.time_limit_ns = (int64_t)(o->limit_s * 1e9);
  if (o->least_s >= 0) b.repeat.min_time_ns = o->least_s > 0 ? (int64_t)(o->least_s * 1e9) : -1;
  b.repeat.keep_samples = o->raw != NULL;
  b.raw = create(o->raw);
  FILE *page = create(o->figure);
  nbc_comm_desc comm;
  memset(&comm, 0, sizeof comm);
  comm.transport = t;
  comm.id = 1;
  local = (char *)calloc(1, (size_t)largest_bytes + 8);
  if (!local || !open_memory() || !open_more() || nbc_clock_create(NULL, &b.clock) != NBC_OK)
    fail("no memory");
  if (nbc_sync_create(t, NULL, &b.sync, &b.err) != NBC_OK) fail(b.err.text);
  if (nbc_comm_create(&comm, &b.comm, &b.err) != NBC_OK) fail(b.err.text);
  int order[MOST_SIZES], count = 0;
  while (count < MOST_SIZES && (uint64_t)1 << 2 * count <= largest_bytes)
    count++; /* 1, 4, 16, ... */
  nbc_shuffle(order, count, o->seed);
  if (rank == 0 && probe_said[0]) puts(probe_said);
  if (rank == 0 && !o->figure)
    printf("# first 3 samples of each line (warm-up) not counted; sizes in the order of seed %lld\n"
           "%-24s %9s %12s %9s %7s %5s %8s %7s %9s\n",
           (long long)o->seed, "# routine", "bytes", "median us", "+- us", "samples", "stop",
           "outliers", "missed", "skew us");
  if (rank == 0 && b.raw) fprintf(b.raw, "# bytes seconds routine\n# ranks %d\n", size);
  if (o->figure) measure_figure(&b, order, count, page);
  progress_line line; /* its rows are progress enough where they can be seen */
  progress_begin(&line, "bench_rma", rank == 0 && !isatty(1));
  if (!o->figure) measure_fixed(&b), measure_locks(&b), measure_more(&b, false);
  for (int i = 0; i < count && !o->figure; i++) {
    b.bytes = (uint64_t)1 << 2 * order[i];
    progress_show(&line, "sizes", i + 1, count + 1);
    measure_size(&b);
    measure_more(&b, true);
  }
  progress_end(&line);
  bool kept = !b.raw || output_close(b.raw, o->raw);
  if (page && !output_close(page, o->figure)) kept = false;
  rma_barrier();
  nbc_comm_destroy(b.comm);
  nbc_sync_destroy(b.sync);
  free(local);
  close_more();
  close_all(t);
  return !kept;
}
