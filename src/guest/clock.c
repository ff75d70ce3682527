/* Clocks, sleeps and waits for files of the processes: in simulated time. Libraries of the launcher
   find these functions too, outside of any process: then they are libc's. */
#include "guest.h"
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *t) {
  if (!pm_self()) return (int)syscall(SYS_clock_gettime, clock, t);
  pm_compute_measured();
  t->tv_sec = pm_now_ns() / 1000000000;
  t->tv_nsec = pm_now_ns() % 1000000000;
  pm_yield(); /* who only looks at the clock lets time pass */
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
  if (!pm_self()) return (int)syscall(SYS_nanosleep, d, rest);
  pm_sleep_ns((int64_t)d->tv_sec * 1000000000 + d->tv_nsec);
  return 0;
}
int usleep(useconds_t us) {
  const struct timespec d = {(time_t)(us / 1000000), (long)(us % 1000000) * 1000};
  return nanosleep(&d, NULL);
}
unsigned sleep(unsigned s) {
  const struct timespec d = {(time_t)s, 0};
  nanosleep(&d, NULL);
  return 0;
}
int clock_nanosleep(clockid_t clock, int flags, const struct timespec *d, struct timespec *rest) {
  struct timespec left = *d;
  int64_t now_ns = pm_now_ns();
  if (!pm_self()) return (int)syscall(SYS_clock_nanosleep, clock, flags, d, rest);
  if (flags & TIMER_ABSTIME) {
    const int64_t d_ns = (int64_t)d->tv_sec * 1000000000 + d->tv_nsec - now_ns;
    left.tv_sec = d_ns > 0 ? d_ns / 1000000000 : 0;
    left.tv_nsec = d_ns > 0 ? d_ns % 1000000000 : 0;
  }
  return nanosleep(&left, NULL);
}
/* Looks again and again, while time passes, until something is ready or the time is over. */
int poll(struct pollfd *files, nfds_t count, int ms) {
  const struct timespec none = {0, 0}, d = {ms / 1000, (long)(ms % 1000) * 1000000};
  if (!pm_self()) return (int)syscall(SYS_ppoll, files, count, ms < 0 ? NULL : &d, NULL, 0);
  const int64_t t_end_ns = pm_now_ns() + (int64_t)ms * 1000000;
  if (!count && ms > 0) return nanosleep(&d, NULL);
  for (;;) {
    const int ready = (int)syscall(SYS_ppoll, files, count, &none, NULL, 0);
    if (ready || (ms > 0 && pm_now_ns() >= t_end_ns)) return ready;
    pm_yield();
    if (ms == 0) return 0;
  }
}
int select(int count, fd_set *in, fd_set *out, fd_set *other, struct timeval *d) {
  struct timespec t = {d ? d->tv_sec : 0, d ? d->tv_usec * 1000 : 0}, none = {0, 0};
  if (!pm_self()) return (int)syscall(SYS_pselect6, count, in, out, other, d ? &t : NULL, NULL);
  const int64_t d_ns = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec, t_end_ns = pm_now_ns() + d_ns;
  fd_set sets[3], *asked[3] = {in, out, other};
  if (!count && d_ns) return nanosleep(&t, NULL);
  for (int k = 0; k < 3; k++)
    if (asked[k]) sets[k] = *asked[k];
  for (;;) {
    const int ready = (int)syscall(SYS_pselect6, count, in, out, other, &none, NULL);
    if (ready || (d_ns && pm_now_ns() >= t_end_ns)) return ready;
    pm_yield();
    if (d && !d_ns) return 0;
    for (int k = 0; k < 3; k++)
      if (asked[k]) *asked[k] = sets[k];
  }
}
int sched_yield(void) {
  if (!pm_self()) return (int)syscall(SYS_sched_yield);
  pm_yield();
  return 0;
}
