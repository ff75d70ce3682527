/* Timers that send a signal to their process: alarm, ualarm, setitimer, timer_create. They ring in simulated time, where the
   process is when it next lets time pass or looks at it (signals.c says where); a call of MPI ends as it would, and the handler
   runs behind it. CPU time is the time since the beginning, so SIGVTALRM and SIGPROF come as SIGALRM does. */
#include "guest.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

enum { INTERVALS = 3, NEVER = -1 };
typedef struct timer {
  bool is_set, is_made;   /* is_made: by timer_create */
  int64_t t_ns, every_ns; /* when it rings next, and how often from then on; 0: once */
  struct sigevent event;  /* what it does then */
  int overrun;            /* how often it would have rung since, beside the last time */
  struct timer *next;     /* of those that were made */
} timer;
typedef struct process_timers {
  timer interval[INTERVALS], *made;
} process_timers;
static guest_part part = {.name = "alarms", .state_bytes = sizeof(process_timers)};
static bool is_any; /* of any process, ever: most programs set none */

static process_timers *timers(void) { return (process_timers *)guest_state(&part); }
static timer *after(process_timers *s, timer *t) {
  return !t                                ? s->interval
         : t->is_made                      ? t->next
         : t < s->interval + INTERVALS - 1 ? t + 1
                                           : s->made;
}
bool guest_alarms_are_set(void) {
  process_timers *s = is_any ? timers() : NULL;
  for (timer *t = s ? after(s, NULL) : NULL; t; t = after(s, t))
    if (t->is_set) return true;
  return false;
}
int64_t guest_alarm_in_ns(int64_t d_ns) {
  process_timers *s = is_any ? timers() : NULL;
  for (timer *t = s ? after(s, NULL) : NULL; t; t = after(s, t)) {
    const int64_t left_ns = t->t_ns - pm_now_ns();
    if (t->is_set && t->event.sigev_notify != SIGEV_NONE && (d_ns < 0 || left_ns < d_ns))
      d_ns = left_ns < 0 ? 0 : left_ns;
  }
  return d_ns;
}
static void *called(void *arg) {
  const struct sigevent event = *(const struct sigevent *)arg;
  free(arg);
  event.sigev_notify_function(event.sigev_value);
  return NULL;
}
static void call_in_thread(const struct sigevent *event) {
  pthread_t thread;
  struct sigevent *arg = (struct sigevent *)malloc(sizeof *arg);
  if (!arg) return;
  *arg = *event;
  if (pthread_create(&thread, event->sigev_notify_attributes, called, arg))
    free(arg);
  else
    pthread_detach(thread);
}
static int ring(timer *t) {
  static const int signals[INTERVALS] = {SIGALRM, SIGVTALRM, SIGPROF};
  const struct sigevent *e = &t->event;
  const int64_t missed = t->every_ns > 0 ? (pm_now_ns() - t->t_ns) / t->every_ns : 0;
  t->is_set = t->every_ns > 0;
  /* those that were missed meanwhile are one, as on any system */
  if (t->is_set) t->t_ns += (missed + 1) * t->every_ns;
  t->overrun = missed < INT32_MAX ? (int)missed : INT32_MAX;
  if (!t->is_made)
    return guest_signal_timer(signals[t - timers()->interval], SI_KERNEL, (union sigval){0}, 0);
  if (e->sigev_notify == SIGEV_THREAD) call_in_thread(e);
  if (e->sigev_notify == SIGEV_THREAD || e->sigev_notify == SIGEV_NONE) return GUEST_NO_SIGNAL;
  return guest_signal_timer(e->sigev_signo, SI_TIMER, e->sigev_value,
                            e->sigev_notify == SIGEV_THREAD_ID ? e->_sigev_un._tid : 0);
}
/* A handler may delete any of them: after each that rings the list is looked at anew. */
int guest_alarms_ring(void) {
  process_timers *s = is_any ? timers() : NULL;
  int came = GUEST_NO_SIGNAL;
  for (timer *t = s ? after(s, NULL) : NULL; t;) {
    const bool rings = t->is_set && t->t_ns <= pm_now_ns();
    const int one = rings ? ring(t) : GUEST_NO_SIGNAL;
    if (one > came) came = one;
    t = after(s, rings ? NULL : t);
  }
  return came;
}
/* Another thread of the process may end it by a signal, or cancel it. */
bool guest_sleep(int64_t d_ns, int64_t *left_ns) {
  const int64_t t_end_ns = pm_now_ns() + d_ns;
  int came = GUEST_NO_SIGNAL;
  guest_cancel_point();
  do {
    const int64_t next_ns = guest_alarm_in_ns(d_ns < 0 ? NEVER : t_end_ns - pm_now_ns());
    guest_falls_asleep();
    if (d_ns < 0 || guest_now()->thread_count)
      pm_thread_wait(d_ns < 0 ? "pause" : "sleep", next_ns);
    else
      pm_sleep_ns(next_ns);
    guest_wakes();
    guest_cancel_point();
    came = guest_signals_come();
  } while (!came && (d_ns < 0 || pm_now_ns() < t_end_ns));
  *left_ns = pm_now_ns() < t_end_ns ? t_end_ns - pm_now_ns() : 0;
  return came != GUEST_NO_SIGNAL;
}

static int64_t ns_of(const struct timeval *t) {
  return (int64_t)t->tv_sec * 1000000000 + (int64_t)t->tv_usec * 1000;
}
static struct timeval of_ns(int64_t d_ns) {
  return (struct timeval){d_ns / 1000000000, d_ns % 1000000000 / 1000};
}
static void set(timer *t, int64_t d_ns, int64_t t_ns, int64_t every_ns) {
  t->is_set = d_ns > 0;
  t->t_ns = t_ns;
  t->every_ns = every_ns;
  t->overrun = 0;
  is_any = guest_signals_may_come = true;
  for (guest_context *c = &guest_now()->first; c; c = c->next) c->mpi = NULL;
}
static int guest_getitimer(int which, struct itimerval *now) {
  if (which < 0 || which >= INTERVALS) return errno = EINVAL, -1;
  const timer *t = &timers()->interval[which];
  const int64_t left_ns = t->t_ns - pm_now_ns();
  now->it_interval = of_ns(t->every_ns);
  now->it_value = of_ns(!t->is_set ? 0 : left_ns < 1000 ? 1000 : left_ns);
  return 0;
}
static int guest_setitimer(int which, const struct itimerval *next, struct itimerval *before) {
  struct itimerval was;
  pm_catch_up();
  if (guest_getitimer(which, &was)) return -1;
  if (next) {
    const struct timeval *const v = &next->it_value, *const every = &next->it_interval;
    if (v->tv_usec < 0 || v->tv_usec > 999999 || every->tv_usec < 0 || every->tv_usec > 999999)
      return errno = EINVAL, -1;
    set(&timers()->interval[which], ns_of(v), pm_now_ns() + ns_of(v), ns_of(every));
  }
  if (before) *before = was;
  return 0;
}
static unsigned guest_alarm(unsigned s) {
  struct itimerval next = {{0, 0}, {(time_t)s, 0}}, was;
  guest_setitimer(ITIMER_REAL, &next, &was);
  return (unsigned)was.it_value.tv_sec +
         (was.it_value.tv_usec >= 500000 || (!was.it_value.tv_sec && was.it_value.tv_usec));
}
static useconds_t guest_ualarm(useconds_t us, useconds_t every_us) {
  struct itimerval next = {of_ns((int64_t)every_us * 1000), of_ns((int64_t)us * 1000)}, was;
  guest_setitimer(ITIMER_REAL, &next, &was);
  return (useconds_t)(ns_of(&was.it_value) / 1000);
}

/* ---- timer_create: its timer_t is ours; all clocks are the simulated one ------------------------------------------ */
static int guest_timer_create(clockid_t clock, struct sigevent *event, timer_t *made) {
  const struct sigevent alarm = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
  struct timespec t;
  const int how = event ? event->sigev_notify : SIGEV_SIGNAL;
  if (clock_getres(clock, &t)) return -1;
  if ((how != SIGEV_SIGNAL && how != SIGEV_THREAD && how != SIGEV_NONE && how != SIGEV_THREAD_ID) ||
      (event && (how & ~SIGEV_THREAD_ID) == SIGEV_SIGNAL &&
       (event->sigev_signo < 1 || event->sigev_signo > 64)))
    return errno = EINVAL, -1;
  timer *new = (timer *)calloc(1, sizeof *new);
  if (!new) return errno = EAGAIN, -1;
  new->is_made = true;
  new->event = event ? *event : alarm;
  if (!event) new->event.sigev_value.sival_ptr = new;
  new->next = timers()->made;
  timers()->made = new;
  *made = (timer_t) new;
  return 0;
}
static timer **place_of(timer_t which) {
  timer **at = &timers()->made;
  while (*at && (timer_t)*at != which) at = &(*at)->next;
  return at;
}
static int guest_timer_delete(timer_t which) {
  timer **at = place_of(which), *gone = *at;
  if (!gone) return errno = EINVAL, -1;
  *at = gone->next;
  free(gone);
  return 0;
}
static int guest_timer_gettime(timer_t which, struct itimerspec *now) {
  timer *t = *place_of(which);
  if (!t) return errno = EINVAL, -1;
  pm_catch_up();
  if (t->event.sigev_notify == SIGEV_NONE && t->is_set && t->t_ns <= pm_now_ns()) ring(t);
  const int64_t left_ns = !t->is_set ? 0 : t->t_ns > pm_now_ns() ? t->t_ns - pm_now_ns() : 1;
  now->it_value = (struct timespec){left_ns / 1000000000, left_ns % 1000000000};
  now->it_interval = (struct timespec){t->every_ns / 1000000000, t->every_ns % 1000000000};
  return 0;
}
static int guest_timer_settime(timer_t which, int flags, const struct itimerspec *next,
                               struct itimerspec *before) {
  timer *t = *place_of(which);
  const struct timespec *const v = next ? &next->it_value : NULL, *const e = &next->it_interval;
  if (!t || !next || v->tv_nsec < 0 || v->tv_nsec > 999999999 || e->tv_nsec < 0 ||
      e->tv_nsec > 999999999)
    return errno = EINVAL, -1;
  if (before) guest_timer_gettime(which, before);
  pm_catch_up();
  const int64_t d_ns = (int64_t)v->tv_sec * 1000000000 + v->tv_nsec;
  set(t, d_ns, flags & TIMER_ABSTIME ? guest_ns_of(v) : pm_now_ns() + d_ns,
      (int64_t)e->tv_sec * 1000000000 + e->tv_nsec);
  return 0;
}
static int guest_timer_getoverrun(timer_t which) {
  const timer *t = *place_of(which);
  return t ? t->overrun : (errno = EINVAL, -1);
}

static int guest_pause(void) {
  int64_t left_ns;
  return guest_sleep(NEVER, &left_ns), errno = EINTR, -1;
}
static int guest_sigsuspend(const sigset_t *set) {
  bool is_interrupted, is_later;
  const sigset_t before = guest_mask(set, &is_interrupted);
  if (!is_interrupted) guest_pause(); /* or one that was pending has come */
  guest_mask(&before, &is_later);
  return errno = EINTR, -1;
}
__attribute__((constructor)) static void add(void) {
  guest_part_add(&part);
  GUEST_REPLACE("alarm", guest_alarm);
  GUEST_REPLACE("ualarm", guest_ualarm);
  GUEST_REPLACE("setitimer", guest_setitimer);
  GUEST_REPLACE("getitimer", guest_getitimer);
  GUEST_REPLACE("timer_create", guest_timer_create);
  GUEST_REPLACE("timer_delete", guest_timer_delete);
  GUEST_REPLACE("timer_gettime", guest_timer_gettime);
  GUEST_REPLACE("timer_settime", guest_timer_settime);
  GUEST_REPLACE("timer_getoverrun", guest_timer_getoverrun);
  GUEST_REPLACE("pause", guest_pause);
  GUEST_REPLACE("sigsuspend", guest_sigsuspend);
}
