/* Timers that send a signal to their process: alarm, ualarm, setitimer. They ring in simulated time, where the process is
   when it next lets time pass or looks at it: a sleep, pause, sigsuspend, poll, select, epoll_wait, a look at the clock, or a
   wait for memory ends then, at that time; a call of MPI ends as it would, and the handler runs behind it. CPU time is the
   time since the beginning, so SIGVTALRM and SIGPROF come as SIGALRM does. */
#include "guest.h"
#include <errno.h>
#include <signal.h>
#include <sys/time.h>

enum { TIMERS = 3, NEVER = -1 };
typedef struct timer {
  bool is_set;
  int64_t t_ns, every_ns; /* when it rings next, and how often from then on; 0: once */
} timer;
static guest_part part = {.name = "alarms", .state_bytes = TIMERS * sizeof(timer)};
static bool is_any; /* of any process, ever: most programs set none */

static timer *timers(void) { return (timer *)guest_state(&part); }
bool guest_alarms_are_set(void) {
  const timer *t = is_any ? timers() : NULL;
  return t && (t[0].is_set || t[1].is_set || t[2].is_set);
}
int64_t guest_alarm_in_ns(int64_t d_ns) {
  const timer *t = is_any ? timers() : NULL;
  for (int k = 0; t && k < TIMERS; k++) {
    const int64_t left_ns = t[k].t_ns - pm_now_ns();
    if (t[k].is_set && (d_ns < 0 || left_ns < d_ns)) d_ns = left_ns < 0 ? 0 : left_ns;
  }
  return d_ns;
}
bool guest_alarms_ring(void) {
  static const int signals[TIMERS] = {SIGALRM, SIGVTALRM, SIGPROF};
  timer *t = is_any ? timers() : NULL;
  bool is_interrupted = false;
  for (int k = 0; t && k < TIMERS; k++) {
    if (!t[k].is_set || t[k].t_ns > pm_now_ns()) continue;
    t[k].is_set = t[k].every_ns > 0;
    /* those that were missed meanwhile are one, as on any system */
    if (t[k].is_set) t[k].t_ns += ((pm_now_ns() - t[k].t_ns) / t[k].every_ns + 1) * t[k].every_ns;
    is_interrupted |= guest_interrupt(signals[k]);
  }
  return is_interrupted;
}
bool guest_sleep(int64_t d_ns, int64_t *left_ns) {
  const int64_t t_end_ns = pm_now_ns() + d_ns;
  bool is_interrupted = false;
  do {
    pm_sleep_ns(guest_alarm_in_ns(t_end_ns - pm_now_ns()));
    is_interrupted = guest_alarms_ring();
  } while (!is_interrupted && pm_now_ns() < t_end_ns);
  *left_ns = pm_now_ns() < t_end_ns ? t_end_ns - pm_now_ns() : 0;
  return is_interrupted;
}

static int64_t ns_of(const struct timeval *t) {
  return (int64_t)t->tv_sec * 1000000000 + (int64_t)t->tv_usec * 1000;
}
static struct timeval of_ns(int64_t d_ns) {
  return (struct timeval){d_ns / 1000000000, d_ns % 1000000000 / 1000};
}
static int guest_getitimer(int which, struct itimerval *now) {
  if (which < 0 || which >= TIMERS) return errno = EINVAL, -1;
  const timer *t = &timers()[which];
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
    timers()[which] = (timer){ns_of(v) > 0, pm_now_ns() + ns_of(v), ns_of(every)};
    is_any = true;
    for (guest_context *c = &guest_now()->first; c; c = c->next) c->mpi = NULL;
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
static int guest_pause(void) {
  do pm_thread_wait("pause", guest_alarm_in_ns(NEVER));
  while (!guest_alarms_ring());
  return errno = EINTR, -1;
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
  GUEST_REPLACE("pause", guest_pause);
  GUEST_REPLACE("sigsuspend", guest_sigsuspend);
}
