/* Clocks and sleeps of the processes: in simulated time. The date begins in the year 2000, the same in every run:
   programs draw their random numbers from it, and 0 is a bad seed. Libraries of the launcher
   find these functions too, outside of any process: then they are libc's. */
#include "guest.h"
#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

enum { DATE_S = 946684800 }; /* seconds since 1970 when a run begins */
/* Of a time that a program waits for. No run lasts for years: so late a time is one of the date, by whatever clock
   it is meant, and may lie before the run. */
int64_t guest_ns_of(const struct timespec *t) {
  const int64_t begin_s = t->tv_sec >= DATE_S / 2 ? DATE_S : 0;
  return ((int64_t)t->tv_sec - begin_s) * 1000000000 + t->tv_nsec;
}
enum { LOOKS_MAX = 8, DOUBLINGS_MAX = 10 };
/* With nothing under way it may compute, or wait for a time: that is no deadlock, however long it takes. */
void guest_look_at_clock(void) {
  guest *g = guest_now();
  const int64_t before_ns = pm_now_ns();
  pm_catch_up();
  const pm_stats s = pm_world_stats(pm_world_of(g->process));
  g->look_count = s.hash_id == g->looked_id ? g->look_count + 1 : 0;
  g->looked_id = s.hash_id;
  const int more = g->look_count - LOOKS_MAX;
  if (more > 0 && s.pending_count)
    pm_yield();
  else
    pm_sleep_ns(guest_platform()->cpu_poll_ns << (more < 0               ? 0
                                                  : more < DOUBLINGS_MAX ? more
                                                                         : DOUBLINGS_MAX));
  guest_context_now()->vain.looks_ns += pm_now_ns() - before_ns;
  guest_signals_come();
}
/* The kernel's, and those of the CPU time of threads and processes, which are negative. */
static bool is_clock(clockid_t clock) { return clock <= CLOCK_TAI; }
/* Linux's number of a thread's clock of CPU time; a time of this kind is that since the thread began. */
enum { OF_THREAD = 6, KINDS = 8 };
clockid_t guest_clock_of(pid_t thread) { return (clockid_t)(~thread * KINDS | OF_THREAD); }
void guest_falls_asleep(void) {
  guest_context *c = guest_context_now();
  if (!c->asleep_at_ns) c->asleep_at_ns = pm_now_ns() + 1;
}
/* Threads of OpenMP share a context: the first that wakes is awake for all. */
void guest_wakes(void) {
  guest_context *c = guest_context_now();
  if (c->asleep_at_ns) c->slept_ns += pm_now_ns() + 1 - c->asleep_at_ns;
  c->asleep_at_ns = 0;
}
/* A simulated thread has its core to itself: what it does not sleep it computes, or looks. */
int64_t guest_cpu_ns(const guest_context *c) {
  const int64_t until_ns = c->asleep_at_ns ? c->asleep_at_ns - 1 : pm_now_ns();
  return until_ns - c->began_ns - c->slept_ns;
}
static int64_t cpu_of_all_ns(void) {
  const guest *g = guest_now();
  int64_t sum_ns = g->cpu_ended_ns;
  for (const guest_context *c = &g->first; c; c = c->next) sum_ns += guest_cpu_ns(c);
  return sum_ns;
}
/* ret -1: there is no such clock */
static int64_t time_by(clockid_t clock) {
  if (!is_clock(clock)) return -1;
  if (clock == CLOCK_THREAD_CPUTIME_ID) return guest_cpu_ns(guest_context_now());
  if (clock == CLOCK_PROCESS_CPUTIME_ID) return cpu_of_all_ns();
  if (clock >= 0) return pm_now_ns();
  if ((clock & (KINDS - 1)) != OF_THREAD) return cpu_of_all_ns();
  const guest_context *c = guest_context_numbered(~(pid_t)(clock >> 3));
  return c ? guest_cpu_ns(c) : -1;
}
bool guest_is_time(const struct timespec *t) { return t->tv_nsec >= 0 && t->tv_nsec < 1000000000; }
int clock_gettime(clockid_t clock, struct timespec *t) {
  if (!pm_self()) return (int)syscall(SYS_clock_gettime, clock, t);
  pm_compute_measured();
  const int64_t t_ns = time_by(clock);
  if (t_ns < 0) return errno = EINVAL, -1;
  t->tv_sec = t_ns / 1000000000;
  t->tv_nsec = t_ns % 1000000000;
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI)
    t->tv_sec += DATE_S;
  guest_look_at_clock();
  return 0;
}
int gettimeofday(struct timeval *t, void *zone) {
  struct timespec now;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &now);
  t->tv_sec = now.tv_sec;
  t->tv_usec = now.tv_nsec / 1000;
  return 0;
}
time_t time(time_t *t) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (t) *t = now.tv_sec;
  return now.tv_sec;
}
int nanosleep(const struct timespec *d, struct timespec *rest) {
  int64_t left_ns;
  if (!pm_self()) return (int)syscall(SYS_nanosleep, d, rest);
  if (!guest_is_time(d) || d->tv_sec < 0) return errno = EINVAL, -1;
  guest_now()->look_count = 0;
  if (!guest_sleep((int64_t)d->tv_sec * 1000000000 + d->tv_nsec, &left_ns)) return 0;
  if (rest) *rest = (struct timespec){left_ns / 1000000000, left_ns % 1000000000};
  return errno = EINTR, -1;
}
int usleep(useconds_t us) {
  const struct timespec d = {(time_t)(us / 1000000), (long)(us % 1000000) * 1000};
  return nanosleep(&d, NULL);
}
unsigned sleep(unsigned s) {
  const struct timespec d = {(time_t)s, 0};
  struct timespec rest = {0, 0};
  return nanosleep(&d, &rest) ? (unsigned)rest.tv_sec : 0;
}
int clock_nanosleep(clockid_t clock, int flags, const struct timespec *d, struct timespec *rest) {
  struct timespec left = *d;
  int64_t now_ns = pm_now_ns();
  if (!pm_self()) return (int)syscall(SYS_clock_nanosleep, clock, flags, d, rest);
  if (!is_clock(clock) || clock == CLOCK_THREAD_CPUTIME_ID || !guest_is_time(d) || d->tv_sec < 0)
    return EINVAL;
  if (flags & TIMER_ABSTIME) {
    const int64_t d_ns = guest_ns_of(d) - now_ns;
    left.tv_sec = d_ns > 0 ? d_ns / 1000000000 : 0;
    left.tv_nsec = d_ns > 0 ? d_ns % 1000000000 : 0;
  }
  return nanosleep(&left, flags & TIMER_ABSTIME ? NULL : rest) ? errno : 0;
}
/* A thread that yields and looks at the clock by turns, and takes time for nothing else, waits for another one, or for a time:
   the workers of OpenBLAS do so for 67 ms before they sleep. After a while each turn takes a 32nd of what it has waited,
   so that the end is seen so much late at most, and all of it takes some hundred turns instead of a million. */
enum { VAIN_YIELDS = 32 };
int sched_yield(void) {
  if (!pm_self()) return (int)syscall(SYS_sched_yield);
  guest_context *c = guest_context_now();
  const int64_t now_ns = pm_now_ns(), d_ns = now_ns - c->vain.yielded_at_ns;
  const bool is_vain = c->vain.looks_ns > 0 && d_ns == c->vain.looks_ns;
  c->vain.yields = is_vain ? c->vain.yields + 1 : 0;
  if (!is_vain) c->vain.since_ns = now_ns;
  if (c->vain.yields < VAIN_YIELDS)
    pm_yield();
  else
    pm_sleep_ns((now_ns - c->vain.since_ns) / VAIN_YIELDS);
  c->vain.yielded_at_ns = pm_now_ns();
  c->vain.looks_ns = 0;
  guest_signals_come();
  return 0;
}

static clock_t guest_clock(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec * CLOCKS_PER_SEC + now.tv_nsec / (1000000000 / CLOCKS_PER_SEC);
}
static clock_t guest_times(struct tms *t) {
  const clock_t ticks_per_s = sysconf(_SC_CLK_TCK);
  if (t) *t = (struct tms){guest_clock() / (CLOCKS_PER_SEC / ticks_per_s), 0, 0, 0};
  return (clock_t)(pm_now_ns() / (1000000000 / ticks_per_s));
}
static int guest_getrusage(__rusage_who_t who, struct rusage *u) {
  const int code = getrusage(who, u);
  struct timespec t;
  clock_gettime(who == RUSAGE_THREAD ? CLOCK_THREAD_CPUTIME_ID : CLOCK_PROCESS_CPUTIME_ID, &t);
  struct timeval now = {t.tv_sec, t.tv_nsec / 1000};
  if (who == RUSAGE_CHILDREN) now = (struct timeval){0, 0};
  u->ru_utime = now;
  u->ru_stime = (struct timeval){0, 0};
  return code;
}
static int guest_timespec_get(struct timespec *t, int base) {
  return base == TIME_UTC && !clock_gettime(CLOCK_REALTIME, t) ? base : 0;
}
__attribute__((constructor)) static void add(void) {
  GUEST_REPLACE("clock", guest_clock);
  GUEST_REPLACE("times", guest_times);
  GUEST_REPLACE("getrusage", guest_getrusage);
  GUEST_REPLACE("timespec_get", guest_timespec_get);
}
