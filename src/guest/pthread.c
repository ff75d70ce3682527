/* pthreads and semaphores of the processes, in simulated time. Guests find these functions instead
   of libc's. The objects keep libc's sizes and static initialisers: our state lies in their memory,
   the kind of a mutex where glibc has it. Threads are switched only where they wait, so none of this
   needs an atomic operation. */
#include "guest.h"
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

/* ---- queues of waiting threads --------------------------------------------------------------------- */
typedef struct waiter { /* a thread in a queue */
  pm_thread *thread;
  struct waiter *next;
  const void *place; /* futexes, where all places share a queue; else NULL */
  bool is_woken;
} waiter;
static void queue_add(waiter **queue, waiter *self) {
  self->thread = pm_thread_self();
  self->next = NULL;
  self->is_woken = 0;
  while (*queue) queue = &(*queue)->next;
  *queue = self;
}
static int queue_wake_at(waiter **queue, const void *place) { /* the one that waits longest */
  while (*queue && (*queue)->place != place) queue = &(*queue)->next;
  waiter *first = *queue;
  if (!first) return 0;
  *queue = first->next;
  first->is_woken = 1;
  pm_thread_wake(first->thread);
  return 1;
}
static int queue_wake(waiter **queue) { return queue_wake_at(queue, NULL); }
/* What beside a wake and its time may end a wait. */
enum { BY_NOTHING = 0, BY_CANCEL = 1, BY_SIGNAL = 2 };
/* d_ns < 0: for ever. ret 0 woken, ETIMEDOUT, EINTR, ECANCELED: the caller goes to guest_cancel_point */
static int queue_wait_at(waiter **queue, const void *place, const char *what, int64_t d_ns,
                         int ends) {
  waiter self = {.place = place}, **at;
  const int64_t t_end_ns = pm_now_ns() + d_ns;
  queue_add(queue, &self);
  int code = 0;
  while (!self.is_woken && !code) {
    const int64_t left_ns = d_ns < 0 ? -1 : t_end_ns - pm_now_ns();
    if (d_ns >= 0 && left_ns <= 0) code = ETIMEDOUT;
    if (ends & BY_CANCEL && guest_is_cancelled()) code = ECANCELED;
    if (code) break;
    guest_falls_asleep();
    pm_thread_wait(what, guest_alarm_in_ns(left_ns));
    guest_wakes();
    if (guest_signals_come() == GUEST_INTERRUPTS && ends & BY_SIGNAL) code = EINTR;
  }
  if (self.is_woken) return 0;
  for (at = queue; *at != &self; at = &(*at)->next) {
  }
  *at = self.next;
  return code;
}
static int queue_wait(waiter **queue, const char *what, int64_t d_ns) {
  return queue_wait_at(queue, NULL, what, d_ns, BY_NOTHING);
}
/* ... where a thread may be cancelled */
static int queue_wait_point(waiter **queue, const char *what, int64_t d_ns) {
  const int code = queue_wait_at(queue, NULL, what, d_ns, BY_CANCEL);
  if (code == ECANCELED) guest_cancel_point();
  return code;
}
/* A point in time of the guest, as a duration from now. */
static int64_t until_ns(const struct timespec *t) {
  const int64_t d_ns = guest_ns_of(t) - pm_now_ns();
  return d_ns > 0 ? d_ns : 0;
}

/* ---- threads --------------------------------------------------------------------------------------- */
typedef struct guest_thread {
  pm_thread *thread; /* NULL: has ended */
  void *(*start)(void *arg);
  void *arg, *result;
  jmp_buf end;
  waiter *joiners;
  guest_context context;
  bool is_detached;
  bool is_cancelled, is_leaving; /* asked to end; does so */
  int cancel_state, cancel_type;
  struct guest_mutex *held; /* robust ones */
  int can_exit;
  char name[16]; /* as Linux keeps it; empty: the program's */
  /* pthread_cleanup_push of C, the last first; __pad[0]: the one before */
  __pthread_unwind_buf_t *cleanups;
  struct _Unwind_Exception leaving;
} guest_thread;
/* Values by (thread, key): a table that grows, since a thread has no room for them. */
typedef struct specific {
  struct specific *next;
  const pm_thread *thread;
  pthread_key_t key;
  uintptr_t value;
} specific;
enum { KEYS = 65536, BUCKETS = 4096 }; /* of all processes together */
static specific *specifics[BUCKETS];
static void (*key_destructors[KEYS])(void *);
static char key_is_used[KEYS]; /* key 0 is ours: the guest_thread of a thread */
static pthread_key_t keys_end = 1;

static specific **specific_at(const pm_thread *thread, pthread_key_t key) {
  specific **at = &specifics[((uintptr_t)thread / 16 * 31 + key) % BUCKETS];
  while (*at && ((*at)->thread != thread || (*at)->key != key)) at = &(*at)->next;
  return at;
}
static int specific_of(const pm_thread *thread, pthread_key_t key, uintptr_t value) {
  specific **at = specific_at(thread, key), *gone = *at;
  if (!value) {
    if (gone) *at = gone->next, free(gone);
    return 0;
  }
  if (!gone) {
    gone = *at = (specific *)calloc(1, sizeof **at);
    if (!gone) return ENOMEM;
    gone->thread = thread;
    gone->key = key;
  }
  gone->value = value;
  return 0;
}
static int specific_set(pthread_key_t key, uintptr_t value) {
  return specific_of(pm_thread_self(), key, value);
}
int pthread_setspecific(pthread_key_t key, const void *value) {
  return key && key < KEYS && key_is_used[key] ? specific_set(key, (uintptr_t)value) : EINVAL;
}
void *pthread_getspecific(pthread_key_t key) {
  const specific *s = *specific_at(pm_thread_self(), key);
  return s ? (void *)s->value : NULL;
}
int pthread_key_create(pthread_key_t *key, void (*destructor)(void *)) {
  for (*key = 1; *key < KEYS && key_is_used[*key]; ++*key) {
  }
  if (*key == KEYS) return EAGAIN;
  if (*key >= keys_end) keys_end = *key + 1;
  key_is_used[*key] = 1;
  key_destructors[*key] = destructor;
  return 0;
}
int pthread_key_delete(pthread_key_t key) {
  if (!key || key >= KEYS || !key_is_used[key]) return EINVAL;
  for (int b = 0; b < BUCKETS; b++)
    for (specific **at = &specifics[b]; *at;)
      if ((*at)->key == key) {
        specific *gone = *at;
        *at = gone->next;
        free(gone);
      } else
        at = &(*at)->next;
  key_is_used[key] = 0;
  return 0;
}
static void specifics_end(
    void) { /* destructors may set values again: a few rounds, as POSIX says */
  for (int round = 0, found = 1; found && round < 4; round++) {
    found = 0;
    for (pthread_key_t key = 1; key < keys_end; key++) {
      void *value = key_is_used[key] ? pthread_getspecific(key) : NULL;
      if (!value) continue;
      specific_set(key, 0);
      found = 1;
      if (key_destructors[key]) key_destructors[key](value);
    }
  }
}
/* The running thread's own record; of a process's first thread made when it is asked for. */
static guest_thread *guest_self(void) {
  const specific *s = *specific_at(pm_thread_self(), 0);
  guest_thread *g = s ? (guest_thread *)s->value : NULL;
  if (g) return g;
  g = (guest_thread *)calloc(1, sizeof *g);
  if (!g || specific_set(0, (uintptr_t)g)) abort();
  g->thread = pm_thread_self();
  return g;
}
guest_context *guest_context_of(const guest *g, const pm_thread *thread) {
  const specific *s = *specific_at(thread, 0);
  guest_thread *t = s ? (guest_thread *)s->value : NULL;
  return t && t->can_exit ? &t->context : (guest_context *)(uintptr_t)&g->first;
}
static void robust_end(guest_thread *g);
static void guest_thread_end(guest_thread *g) {
  guest_context_leaves(&g->context);
  specifics_end();
  guest_context_end(&g->context);
  robust_end(g);
  specific_set(0, 0);
  g->thread = NULL;
  while (queue_wake(&g->joiners)) {
  }
  if (--guest_now()->thread_count == 0) queue_wake(&guest_now()->last);
  if (g->is_detached) free(g);
}
static void guest_thread_run(void *arg) {
  guest_thread *const g = (guest_thread *)arg;
  for (pthread_key_t key = 1; key < keys_end; key++)
    specific_set(key, 0); /* of one that was here */
  if (setjmp(g->end) == 0) g->result = g->start(g->arg);
  guest_thread_end(g);
}
static size_t default_stack_bytes(void) {
  pthread_attr_t libcs;
  size_t bytes = 0;
  if (pthread_getattr_default_np(&libcs)) return 0;
  pthread_attr_getstacksize(&libcs, &bytes);
  pthread_attr_destroy(&libcs);
  return bytes;
}
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                   void *arg) {
  guest_thread *g = (guest_thread *)calloc(1, sizeof *g);
  size_t stack_bytes = 0;
  int detached = PTHREAD_CREATE_JOINABLE;
  if (!g) return EAGAIN;
  if (attributes) {
    pthread_attr_getdetachstate(attributes, &detached);
    pthread_attr_getstacksize(attributes, &stack_bytes);
    if (stack_bytes == default_stack_bytes()) stack_bytes = 0; /* what --stack says will do */
  }
  g->start = start;
  g->arg = arg;
  g->is_detached = detached == PTHREAD_CREATE_DETACHED;
  g->thread = pm_thread_create(guest_thread_run, g, stack_bytes);
  if (!g->thread) return free(g), EAGAIN;
  if (specific_of(g->thread, 0, (uintptr_t)g)) abort();
  guest_context_begin(guest_now(), &g->context);
  g->context.thread = g->thread;
  g->context.began_ns = pm_now_ns();
  guest_signals_inherit(&g->context);
  guest_cores_inherit(&g->context);
  g->can_exit = 1;
  guest_now()->thread_count++;
  *thread = (pthread_t)(uintptr_t)g;
  return 0;
}
pthread_t pthread_self(void) {
  static pthread_t (*real)(void);
  if (pm_self()) return (pthread_t)(uintptr_t)guest_self();
  if (!real) *(void **)(void *)&real = dlsym(RTLD_NEXT, "pthread_self");
  return real();
}
int pthread_equal(pthread_t a, pthread_t b) { return a == b; }
int pthread_join(pthread_t thread, void **result) {
  guest_thread *g = (guest_thread *)(uintptr_t)thread;
  if (g == guest_self()) return EDEADLK;
  if (g->is_detached) return EINVAL;
  if (g->thread) queue_wait_point(&g->joiners, "pthread_join", -1);
  if (result) *result = g->result;
  free(g);
  return 0;
}
int pthread_tryjoin_np(pthread_t thread, void **result) {
  return ((guest_thread *)(uintptr_t)thread)->thread ? EBUSY : pthread_join(thread, result);
}
int pthread_timedjoin_np(pthread_t thread, void **result, const struct timespec *t) {
  guest_thread *g = (guest_thread *)(uintptr_t)thread;
  if (!guest_is_time(t)) return EINVAL;
  if (g == guest_self()) return EDEADLK;
  if (g->thread && queue_wait_point(&g->joiners, "pthread_timedjoin_np", until_ns(t)))
    return ETIMEDOUT;
  return pthread_join(thread, result);
}
int pthread_clockjoin_np(pthread_t thread, void **result, clockid_t clock,
                         const struct timespec *t) {
  (void)clock; /* all are the simulated one */
  return pthread_timedjoin_np(thread, result, t);
}
int pthread_detach(pthread_t thread) {
  guest_thread *g = (guest_thread *)(uintptr_t)thread;
  if (g->is_detached) return EINVAL;
  g->is_detached = 1;
  if (!g->thread) free(g);
  return 0;
}
/* Of a process's first thread: the others go on, the process ends with the last of them. */
__attribute__((noreturn)) static void thread_left(guest_thread *g) {
  if (g->can_exit) longjmp(g->end, 1);
  guest_now()->first.thread = NULL; /* takes no signals any more */
  specifics_end();
  if (guest_recorder_end) guest_recorder_end(&guest_now()->first);
  guest_openmp_end(guest_now()->first.openmp);
  guest_now()->first.openmp = NULL;
  while (guest_now()->thread_count) queue_wait(&guest_now()->last, "pthread_exit", -1);
  guest_exit(0);
}
/* Into the frame that pushed it, which calls it, then cleanup_next. */
__attribute__((noreturn)) static void run_cleanup(const guest_thread *g) {
  jmp_buf at;
  memcpy(at, g->cleanups->__cancel_jmp_buf, sizeof g->cleanups->__cancel_jmp_buf);
  longjmp(at, 1);
}
/* pthread_exit goes back through the functions that were called, as an exception does that nobody may catch: the
   unwinder runs destructors, and here is what C notes of its handlers. A frame is behind us when the stack of who called
   it begins above something that lies in it. */
static _Unwind_Reason_Code leave_frame(int version, _Unwind_Action actions, uint64_t class,
                                       struct _Unwind_Exception *leaving,
                                       struct _Unwind_Context *context, void *thread) {
  guest_thread *g = (guest_thread *)thread;
  const char *const low = (const char *)_Unwind_GetCFA(context);
  const bool is_last = actions & _UA_END_OF_STACK;
  (void)version, (void)class, (void)leaving;
  if (g->cleanups && (is_last || low > (const char *)g->cleanups)) run_cleanup(g);
  if (is_last) thread_left(g);
  return _URC_NO_REASON;
}
static void was_caught(_Unwind_Reason_Code reason, struct _Unwind_Exception *leaving) {
  (void)reason, (void)leaving;
  fputs("FATAL: exception not rethrown\n", stderr); /* as glibc says it */
  abort();
}
__attribute__((noreturn)) static void leave(guest_thread *g) {
  g->is_leaving = 1;
  memset(&g->leaving, 0, sizeof g->leaving);
  g->leaving.exception_cleanup = was_caught;
  _Unwind_ForcedUnwind(&g->leaving, leave_frame, g);
  /* A frame without tables: nobody knows what called it. */
  if (g->cleanups) run_cleanup(g);
  thread_left(g);
}
void pthread_exit(void *result) {
  guest_thread *g = guest_self();
  g->result = result;
  leave(g);
}
static void cleanup_push(__pthread_unwind_buf_t *c) {
  guest_thread *g = guest_self();
  c->__pad[0] = g->cleanups;
  g->cleanups = c;
}
static void cleanup_pop(const __pthread_unwind_buf_t *c) {
  guest_self()->cleanups = (__pthread_unwind_buf_t *)c->__pad[0];
}
__attribute__((noreturn)) static void cleanup_next(const __pthread_unwind_buf_t *c) {
  cleanup_pop(c);
  leave(guest_self());
}
/* Whatever takes a pthread_t must be here: libc would read its own record of a thread where ours is. */
int pthread_setname_np(pthread_t thread, const char *name) {
  guest_thread *g = (guest_thread *)(uintptr_t)thread;
  if (strlen(name) >= sizeof g->name) return ERANGE;
  strcpy(g->name, name);
  return 0;
}
int pthread_getname_np(pthread_t thread, char *name, size_t bytes) {
  const guest_thread *g = (const guest_thread *)(uintptr_t)thread;
  const char *program = *(char **)guest_variable_at(guest_now(), GUEST_PROGNAME_SHORT);
  if (bytes < sizeof g->name) return ERANGE;
  snprintf(name, bytes, "%.15s", *g->name ? g->name : program);
  return 0;
}
int pthread_getattr_np(pthread_t thread, pthread_attr_t *attributes) {
  const guest_thread *g = (const guest_thread *)(uintptr_t)thread;
  if (!g->thread) return ESRCH;
  size_t bytes;
  void *const low = guest_stack_of(g->thread, &bytes);
  pthread_attr_init(attributes);
  if (g->is_detached) pthread_attr_setdetachstate(attributes, PTHREAD_CREATE_DETACHED);
  return pthread_attr_setstack(attributes, low, bytes);
}
int pthread_getschedparam(pthread_t thread, int *policy, struct sched_param *p) {
  (void)thread;
  *policy = SCHED_OTHER;
  p->sched_priority = 0;
  return 0;
}
int pthread_setschedparam(pthread_t thread, int policy, const struct sched_param *p) {
  (void)thread;
  return policy != SCHED_OTHER ? EPERM : p->sched_priority ? EINVAL : 0;
}
int pthread_setschedprio(pthread_t thread, int priority) {
  return (void)thread, priority ? EINVAL : 0;
}
static guest_context *context_of(pthread_t thread) {
  const guest_thread *g = (const guest_thread *)(uintptr_t)thread;
  return g->thread ? guest_context_of(guest_now(), g->thread) : NULL;
}
int pthread_getcpuclockid(pthread_t thread, clockid_t *clock) {
  guest_context *c = context_of(thread);
  return c ? (*clock = guest_clock_of(guest_tid_of(c)), 0) : ESRCH;
}
int pthread_setaffinity_np(pthread_t thread, size_t bytes, const cpu_set_t *set) {
  guest_context *c = context_of(thread);
  return c ? guest_cores_set(c, bytes, set) : ESRCH;
}
int pthread_getaffinity_np(pthread_t thread, size_t bytes, cpu_set_t *set) {
  const guest_context *c = context_of(thread);
  return c ? guest_cores_get(c, bytes, set) : ESRCH;
}

/* ---- cancellation: where a thread waits, asks (pthread_testcancel), or is found waiting for memory ---------------- */
static bool is_any_cancelled; /* ever: most programs cancel none */
static int set_cancel(int *now, int next, int *old) {
  if (next != 0 && next != 1) return EINVAL;
  if (old) *old = *now;
  *now = next;
  return 0;
}
int pthread_setcancelstate(int state, int *old) {
  return set_cancel(&guest_self()->cancel_state, state, old);
}
int pthread_setcanceltype(int type, int *old) {
  return set_cancel(&guest_self()->cancel_type, type, old);
}
bool guest_is_cancelled(void) {
  const guest_thread *g = is_any_cancelled ? guest_self() : NULL;
  return g && g->is_cancelled && !g->is_leaving && g->cancel_state == PTHREAD_CANCEL_ENABLE;
}
void guest_cancel_point(void) {
  if (guest_is_cancelled()) pthread_exit(PTHREAD_CANCELED);
}
void guest_cancel_at_once(void) {
  if (guest_is_cancelled() && guest_self()->cancel_type == PTHREAD_CANCEL_ASYNCHRONOUS)
    guest_cancel_point();
}
static void count_lock(void);
void pthread_testcancel(void) {
  count_lock(); /* who asks and asks lets time pass */
  guest_cancel_point();
}
int pthread_cancel(pthread_t thread) {
  guest_thread *g = (guest_thread *)(uintptr_t)thread;
  if (!g->thread) return 0; /* has ended */
  g->is_cancelled = is_any_cancelled = guest_signals_may_come = true;
  if (g == guest_self())
    guest_cancel_at_once();
  else
    pm_thread_wake(g->thread);
  return 0;
}
static int send_to(pthread_t thread, int signal, int code, union sigval value) {
  guest_context *c = context_of(thread);
  return c ? guest_signal_thread(c, signal, code, value) : ESRCH;
}
int pthread_kill(pthread_t thread, int signal) {
  return send_to(thread, signal, SI_TKILL, (union sigval){0});
}
int pthread_sigqueue(pthread_t thread, int signal, const union sigval value) {
  return send_to(thread, signal, SI_QUEUE, value);
}

/* ---- mutexes: glibc's first word is 0 when free, its kind lies at byte 16 -------------------------- */
typedef struct guest_mutex {
  int depth;
  enum { NOT_ROBUST, ROBUST, OWNER_DIED, NOT_RECOVERABLE } robust;
  const pm_thread *owner;
  int kind, unused;
  waiter *waiters;
  struct guest_mutex *next; /* robust: of those that the owner holds */
} guest_mutex;
typedef char mutex_fits[sizeof(guest_mutex) <= sizeof(pthread_mutex_t) ? 1 : -1];
int pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes) {
  guest_mutex *m = (guest_mutex *)(void *)mutex;
  memset(mutex, 0, sizeof *mutex);
  if (!attributes) return 0;
  int robust = PTHREAD_MUTEX_STALLED;
  pthread_mutexattr_gettype(attributes, &m->kind);
  pthread_mutexattr_getrobust(attributes, &robust);
  m->robust = robust == PTHREAD_MUTEX_ROBUST ? ROBUST : NOT_ROBUST;
  return 0;
}
/* Robust ones: whose owner ended goes to the next, who is told; one that he did not make consistent goes to nobody. */
static int robust_taken(guest_mutex *m) {
  guest_thread *g = guest_self();
  if (m->robust == NOT_RECOVERABLE) {
    if (!queue_wake(&m->waiters)) m->depth = 0;
    return ENOTRECOVERABLE;
  }
  m->next = g->held;
  g->held = m;
  return m->robust == OWNER_DIED ? EOWNERDEAD : 0;
}
static void robust_left(guest_mutex *m) {
  guest_mutex **at = &guest_self()->held;
  while (*at && *at != m) at = &(*at)->next;
  if (*at) *at = m->next;
  if (m->robust == OWNER_DIED) m->robust = NOT_RECOVERABLE;
}
static void robust_end(guest_thread *g) {
  for (guest_mutex *m = g->held, *next; m; m = next) {
    next = m->next;
    m->robust = OWNER_DIED;
    m->owner = NULL;
    m->depth = queue_wake(&m->waiters);
  }
  g->held = NULL;
}
int pthread_mutex_consistent(pthread_mutex_t *mutex) {
  guest_mutex *m = (guest_mutex *)(void *)mutex;
  return m->robust == OWNER_DIED ? (m->robust = ROBUST, 0) : EINVAL;
}
/* A lock takes no time. Threads that look for something under a lock, again and again, let time pass; not always in
   the same place of their loop, where others might never find what they wait for. */
enum { LOCKS_MAX = 256 };
static void count_lock(void) {
  guest *g = guest_now();
  if (!g) return;
  g->lock_count = g->locked_at_ns == pm_now_ns() ? g->lock_count + 1 : 0;
  g->locked_at_ns = pm_now_ns();
  if (g->lock_count < LOCKS_MAX + (int)(g->lock_random >> 26)) return;
  g->lock_count = 0;
  g->lock_random = g->lock_random * 1664525u + 1013904223u;
  pm_yield();
}
static int mutex_lock(pthread_mutex_t *mutex, int64_t d_ns) {
  guest_mutex *m = (guest_mutex *)(void *)mutex;
  if (m->depth && m->owner == pm_thread_self()) {
    if (m->kind == PTHREAD_MUTEX_RECURSIVE) return m->depth++, 0;
    if (m->kind == PTHREAD_MUTEX_ERRORCHECK) return EDEADLK;
  }
  if (m->depth) { /* who unlocks hands it over */
    const int code = d_ns ? queue_wait(&m->waiters, "pthread_mutex_lock", d_ns) : EBUSY;
    if (code) return code;
  }
  m->depth = 1;
  m->owner = pm_thread_self();
  return m->robust ? robust_taken(m) : 0;
}
int pthread_mutex_lock(pthread_mutex_t *mutex) {
  count_lock();
  return mutex_lock(mutex, -1);
}
int pthread_mutex_trylock(pthread_mutex_t *mutex) {
  const int code = mutex_lock(mutex, 0);
  if (code == EBUSY) sched_yield(); /* who only tries lets time pass */
  return code == EDEADLK ? EBUSY : code;
}
int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *t) {
  const int code = mutex_lock(mutex, guest_is_time(t) ? until_ns(t) : 0);
  if (code == EBUSY && !guest_is_time(t)) return EINVAL;
  return code == EBUSY ? ETIMEDOUT : code;
}
int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *t) {
  (void)clock; /* all are the simulated one; so are those of the functions below */
  return pthread_mutex_timedlock(mutex, t);
}
int pthread_mutex_unlock(pthread_mutex_t *mutex) {
  guest_mutex *m = (guest_mutex *)(void *)mutex;
  if ((m->kind == PTHREAD_MUTEX_RECURSIVE || m->kind == PTHREAD_MUTEX_ERRORCHECK) &&
      (!m->depth || m->owner != pm_thread_self()))
    return EPERM;
  if (m->depth > 1) return m->depth--, 0;
  if (m->robust) robust_left(m);
  if (!queue_wake(&m->waiters)) m->depth = 0;
  m->owner = NULL;
  return 0;
}
int pthread_mutex_destroy(pthread_mutex_t *mutex) {
  return ((guest_mutex *)(void *)mutex)->depth ? EBUSY : 0;
}

/* ---- what is built of queues ------------------------------------------------------------------------ */
int pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attributes) {
  (void)attributes; /* all clocks are the simulated one */
  memset(cond, 0, sizeof *cond);
  return 0;
}
int pthread_cond_destroy(pthread_cond_t *cond) { return *(waiter **)(void *)cond ? EBUSY : 0; }
static int cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t d_ns) {
  int code = pthread_mutex_unlock(mutex), again;
  if (code) return code;
  code = queue_wait_at((waiter **)(void *)cond, NULL, "pthread_cond_wait", d_ns, BY_CANCEL);
  again = pthread_mutex_lock(mutex);
  if (code == ECANCELED) guest_cancel_point();
  return again ? again : code;
}
int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex) {
  return cond_wait(cond, mutex, -1);
}
int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *t) {
  return guest_is_time(t) ? cond_wait(cond, mutex, until_ns(t)) : EINVAL;
}
int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
                           const struct timespec *t) {
  (void)clock;
  return pthread_cond_timedwait(cond, mutex, t);
}
int pthread_cond_signal(pthread_cond_t *cond) {
  queue_wake((waiter **)(void *)cond);
  return 0;
}
int pthread_cond_broadcast(pthread_cond_t *cond) {
  while (queue_wake((waiter **)(void *)cond)) {
  }
  return 0;
}

typedef struct guest_barrier {
  unsigned count, arrived;
  waiter *waiters;
} guest_barrier;
int pthread_barrier_init(pthread_barrier_t *barrier, const pthread_barrierattr_t *attributes,
                         unsigned count) {
  guest_barrier *b = (guest_barrier *)(void *)barrier;
  (void)attributes;
  if (!count) return EINVAL;
  memset(barrier, 0, sizeof *barrier);
  b->count = count;
  return 0;
}
int pthread_barrier_destroy(pthread_barrier_t *barrier) {
  return ((guest_barrier *)(void *)barrier)->arrived ? EBUSY : 0;
}
int pthread_barrier_wait(pthread_barrier_t *barrier) {
  guest_barrier *b = (guest_barrier *)(void *)barrier;
  if (++b->arrived < b->count) return queue_wait(&b->waiters, "pthread_barrier_wait", -1);
  b->arrived = 0;
  while (queue_wake(&b->waiters)) {
  }
  return PTHREAD_BARRIER_SERIAL_THREAD;
}

/* Readers -1 means written. Who wakes looks again: no order between readers and writers. */
typedef struct guest_rwlock {
  int readers, unused;
  waiter *waiters;
  const pm_thread *writer;
} guest_rwlock;
int pthread_rwlock_init(pthread_rwlock_t *lock, const pthread_rwlockattr_t *attributes) {
  (void)attributes;
  memset(lock, 0, sizeof *lock);
  return 0;
}
int pthread_rwlock_destroy(pthread_rwlock_t *lock) {
  return ((guest_rwlock *)(void *)lock)->readers ? EBUSY : 0;
}
/* d_ns: 0 only tries, < 0 for ever */
static int rwlock_take(pthread_rwlock_t *lock, int write, int64_t d_ns) {
  guest_rwlock *l = (guest_rwlock *)(void *)lock;
  const int64_t t_end_ns = pm_now_ns() + d_ns;
  while (write ? l->readers != 0 : l->readers < 0) {
    const int64_t left_ns = d_ns < 0 ? -1 : t_end_ns - pm_now_ns();
    if (d_ns >= 0 && left_ns <= 0) return EBUSY;
    if (l->writer == pm_thread_self()) return EDEADLK;
    const int code = queue_wait(&l->waiters, "pthread_rwlock", left_ns);
    if (code) return code;
  }
  l->readers = write ? -1 : l->readers + 1;
  l->writer = write ? pm_thread_self() : NULL;
  return 0;
}
static int rwlock_take_until(pthread_rwlock_t *lock, int write, const struct timespec *t) {
  const int code = rwlock_take(lock, write, guest_is_time(t) ? until_ns(t) : 0);
  if (code == EBUSY && !guest_is_time(t)) return EINVAL;
  return code == EBUSY ? ETIMEDOUT : code;
}
int pthread_rwlock_rdlock(pthread_rwlock_t *lock) { return rwlock_take(lock, 0, -1); }
int pthread_rwlock_tryrdlock(pthread_rwlock_t *lock) { return rwlock_take(lock, 0, 0); }
int pthread_rwlock_wrlock(pthread_rwlock_t *lock) { return rwlock_take(lock, 1, -1); }
int pthread_rwlock_trywrlock(pthread_rwlock_t *lock) { return rwlock_take(lock, 1, 0); }
int pthread_rwlock_timedrdlock(pthread_rwlock_t *lock, const struct timespec *t) {
  return rwlock_take_until(lock, 0, t);
}
int pthread_rwlock_timedwrlock(pthread_rwlock_t *lock, const struct timespec *t) {
  return rwlock_take_until(lock, 1, t);
}
int pthread_rwlock_clockrdlock(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *t) {
  return (void)clock, rwlock_take_until(lock, 0, t);
}
int pthread_rwlock_clockwrlock(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *t) {
  return (void)clock, rwlock_take_until(lock, 1, t);
}
int pthread_rwlock_unlock(pthread_rwlock_t *lock) {
  guest_rwlock *l = (guest_rwlock *)(void *)lock;
  l->readers = l->readers > 0 ? l->readers - 1 : 0;
  l->writer = NULL;
  if (!l->readers)
    while (queue_wake(&l->waiters)) {
    }
  return 0;
}

int pthread_spin_init(pthread_spinlock_t *lock, int shared) { return (void)shared, *lock = 0, 0; }
int pthread_spin_destroy(pthread_spinlock_t *lock) { return (void)lock, 0; }
int pthread_spin_trylock(pthread_spinlock_t *lock) {
  return *lock ? (sched_yield(), EBUSY) : (*lock = 1, 0);
}
int pthread_spin_lock(pthread_spinlock_t *lock) {
  while (pthread_spin_trylock(lock)) {
  }
  return 0;
}
int pthread_spin_unlock(pthread_spinlock_t *lock) { return *lock = 0, 0; }

/* An exception, or pthread_exit, leaves the function: the next caller tries again. */
static void once_left(pthread_once_t **once) {
  if (**once == 1) **once = 0;
}
int pthread_once(pthread_once_t *once, void (*fn)(void)) { /* 0 not yet, 1 runs, 2 done */
  while (*once == 1) sched_yield();
  if (*once == 2) return 0;
  __attribute__((cleanup(once_left))) pthread_once_t *runs = once;
  *once = 1;
  fn();
  *runs = 2;
  return 0;
}

typedef struct guest_sem {
  unsigned value, unused;
  waiter *waiters;
} guest_sem;
static int failed(int code) { return code ? (errno = code, -1) : 0; }
int sem_init(sem_t *sem, int shared, unsigned value) {
  (void)shared;
  if (value > SEM_VALUE_MAX) return failed(EINVAL);
  memset(sem, 0, sizeof *sem);
  ((guest_sem *)(void *)sem)->value = value;
  return 0;
}
int sem_destroy(sem_t *sem) { return (void)sem, 0; }
static int sem_take(sem_t *sem, int64_t d_ns) {
  guest_sem *s = (guest_sem *)(void *)sem;
  if (d_ns) guest_cancel_point();
  if (s->value) return s->value--, 0;
  if (!d_ns) return EAGAIN;
  const int code = /* who posts hands it over */
      queue_wait_at(&s->waiters, NULL, "sem_wait", d_ns, BY_CANCEL | BY_SIGNAL);
  if (code == ECANCELED) guest_cancel_point();
  return code;
}
int sem_wait(sem_t *sem) { return failed(sem_take(sem, -1)); }
int sem_trywait(sem_t *sem) {
  const int code = sem_take(sem, 0);
  if (code) sched_yield();
  return failed(code);
}
int sem_timedwait(sem_t *sem, const struct timespec *t) {
  if (!guest_is_time(t)) return failed(EINVAL);
  const int code = sem_take(sem, until_ns(t));
  return failed(code == EAGAIN ? ETIMEDOUT : code);
}
int sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *t) {
  return (void)clock, sem_timedwait(sem, t);
}
int sem_post(sem_t *sem) {
  guest_sem *s = (guest_sem *)(void *)sem;
  if (queue_wake(&s->waiters)) return 0;
  if (s->value == SEM_VALUE_MAX) return failed(EOVERFLOW);
  s->value++;
  return 0;
}
int sem_getvalue(sem_t *sem, int *value) {
  return *value = (int)((guest_sem *)(void *)sem)->value, 0;
}

/* ---- futexes: libstdc++'s futures, C++20's atomics and others wait by the system call itself ------------------ */
/* One queue for all places of a process: it goes with the process, whose threads may wait for ever. ret -1 with
   errno set, or what the system call returns */
static long futex(const uint32_t *word, int what, uint32_t value, const struct timespec *t,
                  uint32_t mask) {
  waiter **queue = &guest_now()->futexes;
  if (what == FUTEX_WAKE || what == FUTEX_WAKE_BITSET) {
    const bool is_for_all = what == FUTEX_WAKE_BITSET && mask != FUTEX_BITSET_MATCH_ANY;
    long count = 0; /* who was not meant sees that nothing has changed, and waits again */
    while ((is_for_all || count < (int)value) && queue_wake_at(queue, word)) count++;
    return count;
  }
  const int64_t d_ns = !t                   ? -1
                       : what == FUTEX_WAIT ? (int64_t)t->tv_sec * 1000000000 + t->tv_nsec
                                            : until_ns(t);
  return failed(*(const volatile uint32_t *)word != value
                    ? EAGAIN
                    : queue_wait_at(queue, word, "futex", d_ns, BY_SIGNAL));
}
/* All arguments of a system call are words: the others go on to the host as they are. */
static long guest_syscall(long number, long a, long b, long c, long d, long e, long f) {
  const int what = (int)b & ~(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME);
  if (number == SYS_gettid) return guest_gettid();
  if (number == SYS_getpid) return guest_getpid();
  if (number == SYS_tgkill) return guest_tgkill((pid_t)a, (pid_t)b, (int)c);
  if (number == SYS_tkill) return guest_tgkill(0, (pid_t)a, (int)b);
  if (number != SYS_futex || (what != FUTEX_WAIT && what != FUTEX_WAKE &&
                              what != FUTEX_WAIT_BITSET && what != FUTEX_WAKE_BITSET))
    return guest_is_of_host(number) ? -1 : syscall(number, a, b, c, d, e, f);
  return futex((const uint32_t *)a, what, (uint32_t)c, (const struct timespec *)d, (uint32_t)f);
}
/* libc's says that there is one thread, as it knows of no others: C++ libraries then count references without atomic
   operations, and wake nobody who waits for the end of a std::stop_callback. */
static char single_threaded = 0;
__attribute__((constructor)) static void add(void) {
  guest_replace("__libc_single_threaded", &single_threaded);
  GUEST_REPLACE("syscall", guest_syscall);
  GUEST_REPLACE("__pthread_register_cancel", cleanup_push);
  GUEST_REPLACE("__pthread_unregister_cancel", cleanup_pop);
  GUEST_REPLACE("__pthread_unwind_next", cleanup_next);
}
