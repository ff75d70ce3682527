/* Question: at what time, on one clock for all, did something happen on another rank, and how sure is that?

   Run:      make examples && build/05_one_time
   Expected: a line per rank: its clock's offset to rank 0's, the error that is guaranteed, now and after half
             a second of drift, and that the truth (these ranks are threads, so there is one) was inside.

   A time without its error is worth nothing when two ranks' stamps are compared: an nbc_time always carries
   both. Over MPI the same lines run with nbc_mpi_create in place of the threads. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#include <time.h>

static _Thread_local int64_t (*true_now_ns)(void *ctx); /* the threads share one clock: the truth */
static _Thread_local const nbc_transport *me;           /* of this rank */

/* Clocks that differ as those of real nodes do: rank r is r * 3 ms ahead and r * 5 ppm fast. */
static int64_t skewed(const nbc_transport *t, int64_t t_ns) {
  return t_ns + t->rank * (INT64_C(3000000) + t_ns / 200000);
}
static int64_t skewed_now_ns(void *ctx) { return skewed(me, true_now_ns(ctx)); }

static nbc_status rank_main(nbc_transport *real, void *user) {
  nbc_transport t = *real; /* the same messages, a clock of its own */
  const nbc_sync_desc desc = {.rate_limit_ppm = 100};
  nbc_sync *sync;
  nbc_error err = {0};
  (void)user;
  me = real;
  true_now_ns = real->now_ns;
  t.now_ns = skewed_now_ns;
  t.same_clock = NULL;
  nbc_status status = nbc_sync_create(&t, &desc, &sync, &err);
  if (status)
    return fprintf(stderr, "rank %d: %s %s\n", t.rank, nbc_status_text(status), err.text), status;
  for (int later = 0; later < 2 && !status; later++) {
    const int64_t truth_ns = true_now_ns(real->ctx), local_ns = skewed(real, truth_ns);
    nbc_time global;
    status = nbc_sync_global(sync, local_ns, &global);
    if (status) break;
    const int64_t off_ns = global.t_ns - truth_ns;
    printf("rank %d %s: its clock says %9lld ns more than rank 0's; global time +- %6lld ns: truth "
           "inside: %s\n",
           t.rank, later ? "0.5 s later" : "at once    ", (long long)(local_ns - global.t_ns),
           (long long)global.err_ns,
           off_ns <= global.err_ns && -off_ns <= global.err_ns ? "yes" : "NO");
    if (!later)
      status = nanosleep(&(struct timespec){0, 500000000}, NULL) ? NBC_E_SYSTEM
                                                                 : nbc_sync_update(sync, &err);
  }
  nbc_sync_destroy(sync);
  return status;
}

int main(void) {
  const nbc_threads_desc desc = {.size = 3};
  nbc_threads *world;
  nbc_status status = nbc_threads_create(&desc, &world);
  if (!status) status = nbc_threads_run(world, rank_main, NULL);
  if (status) fprintf(stderr, "05_one_time: %s\n", nbc_status_text(status));
  nbc_threads_destroy(world);
  return status != NBC_OK;
}
