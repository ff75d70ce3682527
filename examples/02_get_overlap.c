/* Question: how do I get my collectives to go on while my program computes?

   Run:      make examples && build/02_get_overlap
   Expected: two lines. Without an engine the allreduce waits for nbc_coll_wait; with a worker on a core of
             its own most of it is over by then. On a single core the worker has to share, and says so.

   Three steps: an engine per process, a communicator on your transport (here: ranks as threads; over MPI:
   nbc_mpi_create) that uses it, and nonblocking collectives between whose start and wait you compute. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#include <sched.h>
#include <stdlib.h>

enum { COUNT = 1 << 20, ROUNDS = 7 };
static double wait_ms[2]; /* per rank: median of the rounds */

static nbc_status rank_main(nbc_transport *t, void *user) {
  const nbc_comm_desc desc = {.transport = t, .progress = user}; /* NULL: no engine */
  double waits[ROUNDS], *in = calloc(COUNT, sizeof *in), *out = calloc(COUNT, sizeof *out);
  volatile double sum = 0;
  nbc_comm *comm;
  nbc_summary summary;
  nbc_error err = {0};
  nbc_status status = in && out ? nbc_comm_create(&desc, &comm, &err) : NBC_E_NOMEM;
  if (status) return status;
  for (int round = 0; round < ROUNDS && !status; round++) {
    nbc_request *request;
    status = nbc_iallreduce(comm, in, out, COUNT, NBC_TYPE_DOUBLE, NBC_REDUCE_SUM, &request);
    for (int i = 0; i < 10000000; i++) sum = sum + 1e-9 * i; /* the program's own work: no calls */
    const int64_t t_ns = t->now_ns(t->ctx);
    if (!status) status = nbc_coll_wait(&request, 0);
    waits[round] = (double)(t->now_ns(t->ctx) - t_ns) * 1e-6;
  }
  if (!status) status = nbc_summarize(waits, ROUNDS, 0, &summary);
  if (!status) wait_ms[t->rank] = summary.median;
  nbc_comm_destroy(comm);
  free(in), free(out);
  return status;
}

/* The last core this process may use is the engine's; the ranks keep off it. */
static nbc_status engine(nbc_progress **progress, nbc_error *err) {
  nbc_progress_desc desc = {.policy = NBC_POLICY_DEDICATED};
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores)) return NBC_E_SYSTEM;
  for (int i = 0; i < CPU_SETSIZE; i++)
    if (CPU_ISSET((size_t)i, &cores)) desc.core = i;
  CPU_CLR((size_t)desc.core, &cores);
  if (CPU_COUNT(&cores) == 0 || sched_setaffinity(0, sizeof cores, &cores)) {
    desc.share_core = true;
    printf("one core only: the engine shares it\n");
  }
  return nbc_progress_create(&desc, progress, err);
}

int main(void) {
  const nbc_threads_desc desc = {.size = 2};
  for (int dedicated = 0; dedicated < 2; dedicated++) {
    nbc_threads *world;
    nbc_progress *progress = NULL;
    nbc_error err = {0};
    nbc_status status = nbc_threads_create(&desc, &world);
    if (!status && dedicated) status = engine(&progress, &err);
    if (!status) status = nbc_threads_run(world, rank_main, progress);
    if (status) return fprintf(stderr, "%s %s\n", nbc_status_text(status), err.text), 1;
    printf("%-14s allreduce of %d MiB, then computation, then wait: %.2f and %.2f ms in wait\n",
           dedicated ? "dedicated core" : "no engine", COUNT * 8 >> 20, wait_ms[0], wait_ms[1]);
    nbc_progress_destroy(progress);
    nbc_threads_destroy(world);
  }
  return 0;
}
