/* Descriptors 0, 1 and 2 of each process (others: owners.c). The host's process has one of each, so they follow who runs, as the
   working directory does. Who puts a file in their place (dup2; close and open) has them for itself from then
   on; all others share pm_run's, and a switch between them costs nothing. What is given to pm_run is the first
   process's input: the others have /dev/null, as Open MPI's mpiexec gives it (under MPICH's they wait for ever). */
#include "guest.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <termios.h>
#include <unistd.h>

enum { COUNT = 3, CLOSED = -1, SHARED = -2 };
static int pm_runs[COUNT] = {SHARED, SHARED, SHARED}; /* copies of its own, once they are needed */
static int *now; /* which the host's process has; NULL: pm_run's */

static int copy_of(int fd) { return guest_descriptor_kept(fcntl(fd, F_DUPFD_CLOEXEC, COUNT)); }
static void release(int fd) {
  if (fd != guest_output_nothing()) guest_descriptor_drop(fd);
}
void guest_descriptors_switch(const guest *g) {
  int *const to = g ? g->descriptors : NULL;
  if (to == now) return;
  for (int k = 0; k < COUNT; k++) {
    /* what was opened while the number was free is its, and stays */
    if (now && now[k] == CLOSED) now[k] = copy_of(k);
    const int was = now ? now[k] : SHARED, is = to ? to[k] : SHARED,
              fd = is == SHARED ? pm_runs[k] : is;
    if (was == is) continue;
    if (fd >= 0)
      dup2(fd, k);
    else
      close(k);
  }
  now = to;
}
/* The running process has them for itself from here on. ret NULL: there is no memory, errno is set */
static int *own(void) {
  guest *g = guest_now();
  if (g->descriptors) return g->descriptors;
  for (int k = 0; k < COUNT; k++)
    if (pm_runs[k] == SHARED) pm_runs[k] = copy_of(k); /* or CLOSED */
  int *d = (int *)malloc(COUNT * sizeof *d);
  if (!d) return errno = ENOMEM, NULL;
  d[0] = pm_process_rank(g->process) ? guest_output_nothing() : SHARED;
  d[1] = d[2] = SHARED;
  g->descriptors = d;
  guest_descriptors_switch(g);
  return d;
}
bool guest_has_own(const guest *g, int fd) {
  return g && g->descriptors && fd >= 0 && fd < COUNT && g->descriptors[fd] != SHARED;
}
void guest_own_input(int fd) {
  if (fd == 0 && pm_process_rank(guest_now()->process)) own();
}
int guest_input(int fd) {
  const guest *g = guest_now();
  const bool is_another_s = fd == 0 && g && !g->descriptors && pm_process_rank(g->process);
  return is_another_s ? guest_output_nothing() : fd;
}
void guest_descriptors_end(guest *g) {
  int *const d = g->descriptors;
  g->descriptors = NULL;
  guest_descriptors_switch(g);
  for (int k = 0; d && k < COUNT; k++) release(d[k]);
  free(d);
  guest_descriptors_close(g);
  guest_locks_end(g);
}
/* Copies of one descriptor: who puts back what was there has pm_run's again. */
static bool is_same(int a, int b) {
  struct stat s, t;
  return fstat(a, &s) == 0 && fstat(b, &t) == 0 && s.st_dev == t.st_dev && s.st_ino == t.st_ino &&
         lseek(a, 0, SEEK_CUR) == lseek(b, 0, SEEK_CUR);
}

/* ---- what a process puts in their place ------------------------------------------------------------------------- */
int guest_descriptors_put(int from, int to) {
  const int copy = copy_of(guest_input(from));
  int *d = copy < 0 ? NULL : own();
  if (!d) return release(copy), -1;
  guest_output_line(guest_now(), to);
  dup2(copy, to);
  release(d[to]);
  const bool is_back = is_same(copy, pm_runs[to]);
  d[to] = is_back ? SHARED : copy;
  if (is_back) release(copy);
  if (to == 0) guest_output_input();
  return to;
}
/* A number from 3 on is the whole run's. */
static int put_anywhere(int from, int to, int flags) {
  if (from != to && to >= COUNT && guest_descriptor_whose(to) != GUEST_MAY_CLOSE) {
    guest_say_once("dup2", "dup2: to a number that another process has; refused (EBUSY)");
    return errno = EBUSY, -1;
  }
  const int fd = dup3(guest_input(from), to, flags);
  return from == to ? fd : guest_descriptor_opened(fd);
}
static int guest_dup2(int from, int to) {
  if (from == to) return dup2(guest_input(from), to);
  return to < 0 || to >= COUNT ? put_anywhere(from, to, 0) : guest_descriptors_put(from, to);
}
static int guest_dup3(int from, int to, int flags) {
  if (from == to || to < 0 || to >= COUNT) return put_anywhere(from, to, flags);
  return guest_descriptors_put(from, to);
}
int guest_descriptors_leave(int fd) {
  int *d = fd >= 0 && fd < COUNT ? own() : NULL;
  if (!d) return fd >= 0 && fd < COUNT ? -1 : 0;
  guest_output_line(guest_now(), fd);
  release(d[fd]);
  d[fd] = CLOSED;
  return 0;
}
/* ---- questions and reads: of /dev/null, where the input is not the process's ------------------------------------- */
static int guest_dup(int fd) { return guest_descriptor_opened(dup(guest_input(fd))); }
static int guest_isatty(int fd) { return isatty(guest_input(fd)); }
static int guest_fstat(int fd, struct stat *s) { return fstat(guest_input(fd), s); }
static off_t guest_lseek(int fd, off_t by, int from) { return lseek(guest_input(fd), by, from); }
static int guest_tcgetattr(int fd, struct termios *t) { return tcgetattr(guest_input(fd), t); }
static ssize_t guest_pread(int fd, void *to, size_t bytes, off_t at) {
  return pread(guest_input(fd), to, bytes, at);
}
static int guest_fxstat(int version, int fd, struct stat *s) {
  (void)version;
  return guest_fstat(fd, s);
}
static int guest_ioctl(int fd, unsigned long request, ...) {
  va_list args;
  va_start(args, request);
  void *arg = va_arg(args, void *);
  va_end(args);
  return ioctl(guest_input(fd), request, arg);
}
static int guest_fcntl(int fd, int request, ...) {
  va_list args;
  va_start(args, request);
  void *arg = va_arg(args, void *);
  va_end(args);
  if (guest_is_lock(request)) return guest_lock(fd, request, (struct flock *)arg);
  const int code = fcntl(guest_input(fd), request, arg);
  return request == F_DUPFD || request == F_DUPFD_CLOEXEC ? guest_descriptor_opened(code) : code;
}

__attribute__((constructor)) static void add(void) {
  GUEST_REPLACE("dup", guest_dup);
  GUEST_REPLACE("dup2", guest_dup2);
  GUEST_REPLACE("dup3", guest_dup3);
  GUEST_REPLACE("isatty", guest_isatty);
  GUEST_REPLACE("fstat", guest_fstat);
  GUEST_REPLACE("fstat64", guest_fstat);
  GUEST_REPLACE("__fxstat", guest_fxstat);
  GUEST_REPLACE("__fxstat64", guest_fxstat);
  GUEST_REPLACE("lseek", guest_lseek);
  GUEST_REPLACE("lseek64", guest_lseek);
  GUEST_REPLACE("tcgetattr", guest_tcgetattr);
  GUEST_REPLACE("pread", guest_pread);
  GUEST_REPLACE("pread64", guest_pread);
  GUEST_REPLACE("ioctl", guest_ioctl);
  GUEST_REPLACE("fcntl", guest_fcntl);
  GUEST_REPLACE("fcntl64", guest_fcntl);
}
