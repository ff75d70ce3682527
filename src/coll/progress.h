/* Who drives collectives while the program computes. */
#pragma once
#include "../base/config.h"
#include "../base/status.h"
#include "../overlap/cells.h"
#include "../transport/contract.h"

/* ============================================================================================== */
/* [PROGRESS] 17. Who drives collectives while the program computes                               */
/* ============================================================================================== */
/* Without an engine, collectives go on only while the program is inside nbc_coll_test or
   nbc_coll_wait. An engine is one worker thread that serves any number of communicators:
     DEDICATED  polls all the time on a core of its own; the program's calls never enter the transport
     TIMER      polls every few milliseconds, on the program's cores; waiting threads help
     IDLE       polls when nothing else wants a core (SCHED_IDLE); waiting threads help
   Starting a collective hands it over without a lock; the worker holds a spin lock while it polls.
   On a busy machine an IDLE worker may lose its core while it holds that lock: what needs the lock
   (freeing a running request, checking mode, destroying a communicator) then waits for it.
   What the worker uses, the program must leave alone: no nbc_isend, nbc_wait, ... on a transport
   that any_thread does not allow. What it moves is recorded as foreign stamps for the thread that
   attached the transport's recorder: set it before the communicators are created, and leave it
   until they are destroyed. */
typedef struct nbc_progress nbc_progress;
typedef enum nbc_policy {
  NBC_POLICY_NONE = 0,
  NBC_POLICY_DEDICATED,
  NBC_POLICY_TIMER,
  NBC_POLICY_IDLE,
  NBC_POLICY_COUNT
} nbc_policy;
NBC_API const char *nbc_policy_name(nbc_policy policy); /* "dedicated"; "?" */
NBC_API nbc_status nbc_policy_parse(const char *name, nbc_policy *policy);

typedef struct nbc_progress_desc {
  nbc_policy policy; /* not NONE */
  int core;          /* DEDICATED: the worker's core; what you write is what you get */
  bool share_core;   /* the creating thread may run on that core too; otherwise this is refused */
  int64_t period_ns; /* TIMER; 0 = 2 ms */
} nbc_progress_desc;

typedef struct nbc_progress_stats {
  uint64_t poll_count, submit_count;
  int64_t wall_ns, busy_ns; /* since creation; in polls that moved something on */
  double busy_ratio;
  uint64_t post_count;                /* posts that a completion released, */
  uint64_t hist_count[NBC_HIST_BINS]; /* by time from completion to post, bins as in nbc_cell */
} nbc_progress_stats;

/* DEDICATED: the creating thread's affinity mask stands for the program's cores, since its threads
   inherit it: bind the program first. The worker may use any core that the system allows.
   ret NBC_OK | NBC_E_INVAL | NBC_E_RANGE (no such core) | NBC_E_STATE (core shared with the
   program: err says what to set) | NBC_E_THREAD | NBC_E_NOMEM */
NBC_API nbc_status nbc_progress_create(const nbc_progress_desc *desc, nbc_progress **progress,
                                       nbc_error *err);
/* Stops the worker, also with requests in flight: they go on as without an engine. Idempotent. */
NBC_API void nbc_progress_stop(nbc_progress *progress);
/* Stops. NBC_E_STATE: communicators still use it. NULL allowed. */
NBC_API nbc_status nbc_progress_destroy(nbc_progress *progress);
NBC_API void nbc_progress_get_stats(const nbc_progress *progress, nbc_progress_stats *stats);
/* Shell lines that keep OpenMP off `core` on a machine or share of core_count cores (0 = those this
   process may use): OMP_NUM_THREADS, OMP_PLACES, OMP_PROC_BIND. ret NBC_OK | NBC_E_RANGE |
   NBC_E_IO */
NBC_API nbc_status nbc_progress_env(int core, int core_count, FILE *out);

/* ---- for later pieces ---- */
/* What is handed to an engine: a request is one. launch is called once, under the lock. */
typedef struct nbc__prog_work {
  struct nbc__prog_work *next; /* the engine's */
  void (*launch)(struct nbc__prog_work *work);
} nbc__prog_work;

NBC__PRIVATE void nbc__prog_lock(nbc_progress *p);
NBC__PRIVATE void nbc__prog_unlock(nbc_progress *p);
NBC__PRIVATE nbc_status nbc__prog_attach(nbc_progress *p, nbc_transport *t, nbc_error *err);
NBC__PRIVATE void nbc__prog_detach(nbc_progress *p, const nbc_transport *t);
NBC__PRIVATE nbc_status nbc__prog_failed(const nbc_progress *p, const nbc_transport *t);
NBC__PRIVATE void nbc__prog_submit(nbc_progress *p, nbc__prog_work *work);
NBC__PRIVATE void nbc__prog_take(nbc_progress *p);
NBC__PRIVATE void nbc__prog_note_done(nbc_progress *p);
NBC__PRIVATE bool nbc__prog_any_failed(const nbc_progress *p);
NBC__PRIVATE void nbc__prog_note_post(nbc_progress *p, int64_t d_ns);
NBC__PRIVATE void nbc__prog_help(nbc_progress *p);
