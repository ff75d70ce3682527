/* Included before a test's own text, or preloaded as patient.so, where MPICH runs on UCX (as Debian's
   does): a rank that finds nothing to do sleeps a moment instead of spinning on. MPICH never yields a
   core, so with more ranks than cores nine tenths of the CPU time of such tests was waiting. Where
   MPICH has another device, nobody calls this.
   Open MPI yields, which on a machine in use gives away a whole turn for each look: hpcc on two ranks took 256 s
   beside 30 others, and 3 s with a yield that sleeps. That is in patient.so alone, as tests yield, too. */
#pragma once
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

unsigned ucp_worker_progress(void *worker); /* UCX's own: libmpich finds this one first */
unsigned ucp_worker_progress(void *worker) {
  static unsigned (*real)(void *);
  static _Thread_local int idle_count;
  unsigned (*next)(void *) = __atomic_load_n(&real, __ATOMIC_RELAXED);
  if (!next) {
    void *found = dlsym(RTLD_NEXT, "ucp_worker_progress");
    memcpy(&next, &found, sizeof next);
    __atomic_store_n(&real, next, __ATOMIC_RELAXED);
  }
  unsigned done = next(worker);
  if (done) idle_count = 0;
  else if (++idle_count > 1000) {
    nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
    idle_count = 900;
  }
  return done;
}

#ifdef PATIENT_YIELD
int sched_yield(void);
int sched_yield(void) {
  static _Thread_local int yield_count;
  if (++yield_count > 100) {
    nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
    yield_count = 90;
  }
  return 0;
}
#endif
