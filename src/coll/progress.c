/* progress.c: who drives collectives while the program computes. */
#include "progress.h"
#include "../overlap/clock.h"

/* ============================================================================================== */
/* [PROGRESS] 17. Who drives collectives                                                          */
/* ============================================================================================== */
/* Everything that runs a request or a transport of an engine happens under its ticket lock: fair,
   so that a worker that polls all the time lets others in. New requests come by a stack that needs
   no lock: pushed by any thread, taken whole by the lock's holder. */
enum { NBC__PROG_MAX_TRANSPORTS = 256 };

struct nbc_progress {
  nbc_progress_desc desc;
  nbc_clock clock;
  uint32_t next_ticket, served_ticket; /* atomic */
  uint32_t stop, any_failed;           /* atomic */
  uint32_t comm_count;                 /* under the lock, as all that follows */
  nbc_transport *transports[NBC__PROG_MAX_TRANSPORTS];
  uint32_t users[NBC__PROG_MAX_TRANSPORTS];
  nbc_status failed[NBC__PROG_MAX_TRANSPORTS]; /* what progress of it ended with; 0 = it works */
  int transport_count;
  uint64_t moved_count;      /* completions and launches: what makes a poll busy */
  nbc__prog_work *submitted; /* atomic: a stack, the newest first */
  uint64_t poll_count, submit_count, post_count; /* atomic: read while the worker runs */
  int64_t busy_ns;
  uint64_t post_hist[NBC_HIST_BINS];
  int64_t t_start_ns, t_stop_ns;
  pthread_t thread;
  bool running;
};

NBC_API const char *nbc_policy_name(nbc_policy policy) {
  static const char *const names[] = {"none", "dedicated", "timer", "idle"};
  return (unsigned)policy < NBC_POLICY_COUNT ? names[policy] : "?";
}

NBC_API nbc_status nbc_policy_parse(const char *name, nbc_policy *policy) {
  if (!name || !policy) return NBC_E_INVAL;
  for (int i = 0; i < NBC_POLICY_COUNT; i++)
    if (strcmp(name, nbc_policy_name((nbc_policy)i)) == 0) return *policy = (nbc_policy)i, NBC_OK;
  return NBC_E_NOT_FOUND;
}

/* A ticket lock, since the worker takes the lock again and again: with a lock that whoever comes
   first gets, a worker on a core of its own would always be first. acquire and release of
   served_ticket carry all that is written under the lock. */
NBC__PRIVATE void nbc__prog_lock(nbc_progress *p) {
  const uint32_t ticket = __atomic_fetch_add(&p->next_ticket, 1, __ATOMIC_RELAXED);
  for (unsigned spin_count = 0; __atomic_load_n(&p->served_ticket, __ATOMIC_ACQUIRE) != ticket;
       spin_count++)
    if (spin_count > 32) sched_yield(); /* the holder may share this core */
}

/* Takes a ticket only when it would be served at once: next_ticket is still the one that is
   served. */
static bool nbc__prog_try_lock(nbc_progress *p) {
  uint32_t ticket = __atomic_load_n(&p->served_ticket, __ATOMIC_ACQUIRE);
  return __atomic_compare_exchange_n(&p->next_ticket, &ticket, ticket + 1, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED);
}

NBC__PRIVATE void nbc__prog_unlock(nbc_progress *p) {
  __atomic_store_n(&p->served_ticket, __atomic_load_n(&p->served_ticket, __ATOMIC_RELAXED) + 1,
                   __ATOMIC_RELEASE);
}

/* ---- what communicators and requests call -------------------------------------------------- */
NBC__PRIVATE nbc_status nbc__prog_attach(nbc_progress *p, nbc_transport *t, nbc_error *err) {
  nbc_status status = NBC_OK;
  if (t->main_thread_only)
    return nbc__status_fail(err, NBC_E_THREAD, 0,
                            "progress: a worker may not call the transport %s (MPI: start with "
                            "MPI_THREAD_SERIALIZED or more)",
                            t->name);
  nbc__prog_lock(p);
  int i = 0;
  while (i < p->transport_count && p->transports[i] != t) i++;
  if (i == NBC__PROG_MAX_TRANSPORTS)
    status = nbc__status_fail(err, NBC_E_FULL, 0, "progress: more than %d transports", i);
  else {
    if (i == p->transport_count)
      p->transports[p->transport_count++] = t, p->users[i] = 0, p->failed[i] = NBC_OK;
    p->users[i]++;
    p->comm_count++;
  }
  nbc__prog_unlock(p);
  return status;
}

/* The last user's transport leaves its place to the last transport: the order of transports means
   nothing. */
NBC__PRIVATE void nbc__prog_detach(nbc_progress *p, const nbc_transport *t) { /* under the lock */
  int i = 0;
  while (i < p->transport_count && p->transports[i] != t) i++;
  p->comm_count--;
  if (i == p->transport_count || --p->users[i]) return;
  p->transports[i] = p->transports[--p->transport_count];
  p->users[i] = p->users[p->transport_count];
  p->failed[i] = p->failed[p->transport_count];
}

/* Under the lock. */
NBC__PRIVATE nbc_status nbc__prog_failed(const nbc_progress *p, const nbc_transport *t) {
  for (int i = 0; i < p->transport_count; i++)
    if (p->transports[i] == t) return p->failed[i];
  return NBC_OK;
}

NBC__PRIVATE void nbc__prog_submit(nbc_progress *p, nbc__prog_work *work) {
  nbc__prog_work *first = __atomic_load_n(&p->submitted, __ATOMIC_RELAXED);
  do work->next = first;
  while (!__atomic_compare_exchange_n(&p->submitted, &first, work, true, __ATOMIC_RELEASE,
                                      __ATOMIC_RELAXED));
}

/* The stack holds the newest first; they are launched in the order in which they came, because two
   collectives of one communicator must begin in the same order on all ranks. Taken whole by an
   exchange, so nothing of it is ever popped while others push (no ABA). */
NBC__PRIVATE void nbc__prog_take(nbc_progress *p) {
  nbc__prog_work *newest = NULL, *oldest = NULL;
  if (__atomic_load_n(&p->submitted, __ATOMIC_RELAXED))
    newest = __atomic_exchange_n(&p->submitted, NULL, __ATOMIC_ACQUIRE);
  while (newest) {
    nbc__prog_work *const next = newest->next;
    newest->next = oldest;
    oldest = newest;
    newest = next;
  }
  while (oldest) {
    nbc__prog_work *const next = oldest->next; /* read before: what is launched may end and go */
    p->moved_count++;
    __atomic_fetch_add(&p->submit_count, 1, __ATOMIC_RELAXED);
    oldest->launch(oldest);
    oldest = next;
  }
}

/* One round over everything, under the lock. A transport that fails is left alone; who waits sees
   it. Only rounds in which something moved count as busy: the share of the worker's time that was
   work, which its price is weighed against. */
static void nbc__prog_poll(nbc_progress *p) {
  const uint64_t moved_count = p->moved_count;
  const int64_t t_begin_ns = nbc_clock_now_ns(&p->clock);
  nbc__prog_take(p);
  for (int i = 0; i < p->transport_count; i++) {
    const nbc_status status =
        p->failed[i] ? NBC_OK : p->transports[i]->progress(p->transports[i]->ctx);
    if (status < 0) {
      p->failed[i] = status;
      __atomic_store_n(&p->any_failed, 1, __ATOMIC_RELEASE);
    }
  }
  __atomic_fetch_add(&p->poll_count, 1, __ATOMIC_RELAXED);
  if (p->moved_count != moved_count)
    __atomic_fetch_add(&p->busy_ns, nbc_clock_now_ns(&p->clock) - t_begin_ns, __ATOMIC_RELAXED);
}

NBC__PRIVATE void nbc__prog_note_done(nbc_progress *p) { p->moved_count++; }

NBC__PRIVATE bool nbc__prog_any_failed(const nbc_progress *p) {
  return __atomic_load_n(&p->any_failed, __ATOMIC_ACQUIRE) != 0;
}

NBC__PRIVATE void nbc__prog_note_post(nbc_progress *p, int64_t d_ns) {
  __atomic_fetch_add(&p->post_hist[nbc__bin(d_ns)], 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&p->post_count, 1, __ATOMIC_RELAXED);
}

/* A thread waits for a request: a dedicated worker is left alone, since it polls faster than anyone
   could take the lock from it; the others may sleep or have no core, and are helped. Without
   waiting for the lock: who holds it polls anyhow. */
NBC__PRIVATE void nbc__prog_help(nbc_progress *p) {
  const bool alone =
      p->desc.policy == NBC_POLICY_DEDICATED && !__atomic_load_n(&p->stop, __ATOMIC_ACQUIRE);
  if (alone || !nbc__prog_try_lock(p)) return;
  nbc__prog_poll(p);
  nbc__prog_unlock(p);
}

/* ---- the worker ---------------------------------------------------------------------------- */
/* A dedicated worker never yields: its core is its own, and a yield would cost a system call per
   round. With share_core and under the policy of idle cores others may need the core at any time.
   The timer sleeps whole periods, whatever came. */
static void *nbc__prog_main(void *arg) {
  nbc_progress *const p = (nbc_progress *)arg;
  while (!__atomic_load_n(&p->stop, __ATOMIC_ACQUIRE)) {
    nbc__prog_lock(p);
    nbc__prog_poll(p);
    nbc__prog_unlock(p);
    if (p->desc.policy == NBC_POLICY_TIMER) {
      struct timespec pause;
      pause.tv_sec = (time_t)(p->desc.period_ns / 1000000000);
      pause.tv_nsec = (long)(p->desc.period_ns % 1000000000);
      nanosleep(&pause, NULL);
    } else if (p->desc.policy == NBC_POLICY_IDLE || p->desc.share_core) {
      sched_yield();
    }
  }
  return NULL;
}

/* A dedicated core on which the program may run too is worse than none: the worker would take half
   of it. */
static nbc_status nbc__prog_check_core(const nbc_progress_desc *d, nbc_error *err) {
  cpu_set_t mine;
  if (d->core < 0 || d->core >= CPU_SETSIZE)
    return nbc__status_fail(err, NBC_E_RANGE, 0, "core: there is no core %d", d->core);
  CPU_ZERO(&mine);
  if (sched_getaffinity(0, sizeof mine, &mine))
    return nbc__status_fail(err, NBC_E_SYSTEM, 0, "core: sched_getaffinity: %s", strerror(errno));
  if (d->share_core || !CPU_ISSET((size_t)d->core, &mine)) return NBC_OK;
  return nbc__status_fail(
      err, NBC_E_STATE, 0,
      "core: the program may run on core %d too. Bind it to the others (OMP_NUM_THREADS=%d, "
      "OMP_PLACES and "
      "OMP_PROC_BIND=true as nbc_progress_env prints, or taskset), or set share_core",
      d->core, CPU_COUNT(&mine) > 1 ? CPU_COUNT(&mine) - 1 : 1);
}

static nbc_status nbc__prog_start(nbc_progress *p, nbc_error *err) {
  const int failed = pthread_create(&p->thread, NULL, nbc__prog_main, p);
  if (failed) return nbc__status_fail(err, NBC_E_THREAD, 0, "worker: %s", strerror(failed));
  p->running = true;
  if (p->desc.policy == NBC_POLICY_DEDICATED) {
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET((size_t)p->desc.core, &only);
    if (pthread_setaffinity_np(p->thread, sizeof only, &only))
      return nbc__status_fail(err, NBC_E_RANGE, 0,
                              "core: there is no core %d, or this process may not use it",
                              p->desc.core);
  }
  if (p->desc.policy == NBC_POLICY_IDLE) {
    struct sched_param param;
    memset(&param, 0, sizeof param);
    const int refused = pthread_setschedparam(p->thread, SCHED_IDLE, &param);
    if (refused)
      return nbc__status_fail(err, NBC_E_THREAD, 0, "worker: SCHED_IDLE: %s", strerror(refused));
  }
  return NBC_OK;
}

NBC_API nbc_status nbc_progress_create(const nbc_progress_desc *desc, nbc_progress **progress,
                                       nbc_error *err) {
  if (!progress) return NBC_E_INVAL;
  *progress = NULL;
  if (!desc || desc->policy <= NBC_POLICY_NONE || desc->policy >= NBC_POLICY_COUNT)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "policy: must be dedicated, timer or idle");
  if (desc->period_ns < 0) return nbc__status_fail(err, NBC_E_RANGE, 0, "period_ns: must be >= 0");
  nbc_status status =
      desc->policy == NBC_POLICY_DEDICATED ? nbc__prog_check_core(desc, err) : NBC_OK;
  if (status) return status;
  nbc_progress *const p = (nbc_progress *)NBC_MALLOC(sizeof *p);
  if (!p) return nbc__status_fail(err, NBC_E_NOMEM, 0, "progress: out of memory");
  memset(p, 0, sizeof *p);
  p->desc = *desc;
  if (!p->desc.period_ns) p->desc.period_ns = 2000000;
  status = nbc_clock_create(NULL, &p->clock);
  if (!status) {
    p->t_start_ns = nbc_clock_now_ns(&p->clock);
    status = nbc__prog_start(p, err);
  }
  if (status)
    (void)nbc_progress_destroy(p);
  else
    *progress = p;
  return status;
}

NBC_API void nbc_progress_stop(nbc_progress *progress) {
  if (!progress || !progress->running) return;
  __atomic_store_n(&progress->stop, 1, __ATOMIC_RELEASE);
  pthread_join(progress->thread, NULL);
  progress->running = false;
  progress->t_stop_ns = nbc_clock_now_ns(&progress->clock);
}

NBC_API nbc_status nbc_progress_destroy(nbc_progress *progress) {
  if (!progress) return NBC_OK;
  nbc_progress_stop(progress);
  if (progress->comm_count) return NBC_E_STATE;
  NBC_FREE(progress);
  return NBC_OK;
}

NBC_API void nbc_progress_get_stats(const nbc_progress *progress, nbc_progress_stats *stats) {
  if (!progress || !stats) return;
  memset(stats, 0, sizeof *stats);
  stats->poll_count = __atomic_load_n(&progress->poll_count, __ATOMIC_RELAXED);
  stats->submit_count = __atomic_load_n(&progress->submit_count, __ATOMIC_RELAXED);
  stats->post_count = __atomic_load_n(&progress->post_count, __ATOMIC_RELAXED);
  stats->busy_ns = __atomic_load_n(&progress->busy_ns, __ATOMIC_RELAXED);
  for (int i = 0; i < NBC_HIST_BINS; i++)
    stats->hist_count[i] = __atomic_load_n(&progress->post_hist[i], __ATOMIC_RELAXED);
  stats->wall_ns = (progress->running ? nbc_clock_now_ns(&progress->clock) : progress->t_stop_ns) -
                   progress->t_start_ns;
  if (stats->wall_ns > 0) stats->busy_ratio = (double)stats->busy_ns / (double)stats->wall_ns;
}

NBC_API nbc_status nbc_progress_env(int core, int core_count, FILE *out) {
  if (!out) return NBC_E_INVAL;
  cpu_set_t mine;
  CPU_ZERO(&mine);
  if (core_count > 0 && core_count <= CPU_SETSIZE)
    for (int i = 0; i < core_count; i++) CPU_SET((size_t)i, &mine);
  else if (core_count || sched_getaffinity(0, sizeof mine, &mine))
    return NBC_E_RANGE;
  if (core < 0 || core >= CPU_SETSIZE || !CPU_ISSET((size_t)core, &mine) || CPU_COUNT(&mine) < 2)
    return NBC_E_RANGE;
  fprintf(out, "export OMP_NUM_THREADS=%d\nexport OMP_PLACES=", CPU_COUNT(&mine) - 1);
  bool first = true;
  for (int i = 0; i < CPU_SETSIZE; i++) {
    if (!CPU_ISSET((size_t)i, &mine) || i == core) continue;
    fprintf(out, "%s{%d}", first ? "" : ",", i);
    first = false;
  }
  fprintf(out, "\nexport OMP_PROC_BIND=true\n");
  return ferror(out) ? NBC_E_IO : NBC_OK;
}
