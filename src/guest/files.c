/* Waits for files (poll, select, epoll; opens of FIFOs; reads and writes of pipes, eventfds and streams on them) and timerfds, in
   simulated time: a process looks again and again, while time passes, until something is ready. */
#include "guest.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

/* Somebody outside of the simulation may answer, and no simulated time passes until he does. So looks take time of the
   host when all wait: now and then more of it, some ten seconds in all, before the model calls it a deadlock. */
static int host_ms(int64_t d_ns) {
  enum { MOST_MS = 1000 };
  static unsigned looks;
  if (d_ns >= 0) return 0;
  looks = guest_all_wait() ? looks + 1 : 0;
  return looks & (looks - 1) ? 0 : looks / 4 < MOST_MS ? (int)looks / 4 : MOST_MS;
}
/* look: ret > 0 ready, 0 not yet, < 0 error. d_ns < 0: for ever, 0: one look. */
static bool was_restarted; /* the last wait that a handler ended: by one of SA_RESTART */
static int wait_for(int (*look)(void *arg, int ms), void *arg, int64_t d_ns) {
  const int64_t t_end_ns = pm_now_ns() + d_ns;
  for (;;) {
    const int ready = look(arg, host_ms(d_ns));
    if (ready || (d_ns > 0 && pm_now_ns() >= t_end_ns)) return ready;
    guest_falls_asleep();
    pm_yield();
    guest_wakes();
    guest_cancel_point();
    const int came = guest_signals_come();
    was_restarted = came == GUEST_RESTARTS;
    if (came) return errno = EINTR, -1;
    if (d_ns == 0) return 0;
  }
}
int guest_wait_for(int (*look)(void *arg, int ms), void *arg, int64_t d_ns, bool restarts) {
  const int64_t t_end_ns = pm_now_ns() + d_ns;
  int got;
  do got = wait_for(look, arg, d_ns > 0 ? t_end_ns - pm_now_ns() : d_ns);
  while (got < 0 && errno == EINTR && restarts && was_restarted &&
         (d_ns <= 0 || pm_now_ns() < t_end_ns));
  return got > 0 ? 0 : got < 0 ? -1 : (errno = EAGAIN, -1);
}
static int sleep_for(int64_t d_ns) {
  int64_t left_ns;
  return guest_sleep(d_ns, &left_ns) ? (errno = EINTR, -1) : 0;
}
static int64_t ns_of(const struct timespec *t) {
  return t ? (int64_t)t->tv_sec * 1000000000 + t->tv_nsec : -1;
}
static struct timespec of_ms(int ms) {
  return (struct timespec){ms / 1000, (long)(ms % 1000) * 1000000};
}
int guest_pass(int ms) {
  const struct timespec d = of_ms(ms);
  if (ms) syscall(SYS_nanosleep, &d, NULL); /* the host's: nanosleep is the simulated one */
  return 0;
}

/* ---- poll ------------------------------------------------------------------------------------------------- */
typedef struct poll_args {
  struct pollfd *files;
  nfds_t count;
} poll_args;
static int look_poll(void *arg, int ms) {
  const poll_args *a = (const poll_args *)arg;
  const struct timespec d = of_ms(ms);
  return (int)syscall(SYS_ppoll, a->files, a->count, &d, NULL, 0);
}
static int poll_ns(struct pollfd *files, nfds_t count, int64_t d_ns) {
  poll_args a = {files, count};
  for (nfds_t i = 0; i < count; i++) guest_own_input(files[i].fd);
  if (!count && d_ns) return sleep_for(d_ns);
  return wait_for(look_poll, &a, d_ns);
}
int poll(struct pollfd *files, nfds_t count, int ms) {
  const struct timespec d = of_ms(ms);
  if (!pm_self()) return (int)syscall(SYS_ppoll, files, count, ms < 0 ? NULL : &d, NULL, 0);
  return poll_ns(files, count, ms < 0 ? -1 : (int64_t)ms * 1000000);
}
/* With another mask meanwhile: what it lets through at once has ended the wait. */
typedef struct masked {
  sigset_t before;
  bool is_set, is_interrupted;
} masked;
static masked mask(const sigset_t *set) {
  masked m = {.is_set = set != NULL};
  if (set) m.before = guest_mask(set, &m.is_interrupted);
  return m;
}
static void unmask(const masked *m) {
  bool is_later;
  const int error_number = errno;
  if (m->is_set) guest_mask(&m->before, &is_later);
  errno = m->is_interrupted ? EINTR : error_number;
}
static int guest_ppoll(struct pollfd *files, nfds_t count, const struct timespec *d,
                       const sigset_t *set) {
  const masked m = mask(set);
  const int ready = m.is_interrupted ? -1 : poll_ns(files, count, ns_of(d));
  unmask(&m);
  return ready;
}

static int guest_poll_chk(struct pollfd *files, nfds_t count, int ms, size_t room) {
  if (count > room / sizeof *files) abort();
  return poll(files, count, ms);
}
static int guest_ppoll_chk(struct pollfd *files, nfds_t count, const struct timespec *d,
                           const sigset_t *set, size_t room) {
  if (count > room / sizeof *files) abort();
  return guest_ppoll(files, count, d, set);
}

/* ---- select ----------------------------------------------------------------------------------------------- */
typedef struct select_args {
  int count;
  fd_set *asked[3], wanted[3];
} select_args;
static int look_select(void *arg, int ms) {
  select_args *a = (select_args *)arg;
  struct timespec d = of_ms(ms);
  for (int k = 0; k < 3; k++)
    if (a->asked[k]) *a->asked[k] = a->wanted[k];
  return (int)syscall(SYS_pselect6, a->count, a->asked[0], a->asked[1], a->asked[2], &d, NULL);
}
static int select_ns(int count, fd_set *in, fd_set *out, fd_set *other, int64_t d_ns) {
  select_args a = {count, {in, out, other}, {{{0}}, {{0}}, {{0}}}};
  if (!count && d_ns) return sleep_for(d_ns);
  if (in && count > 0 && FD_ISSET(0, in)) guest_own_input(0);
  for (int k = 0; k < 3; k++)
    if (a.asked[k]) a.wanted[k] = *a.asked[k];
  return wait_for(look_select, &a, d_ns);
}
int select(int count, fd_set *in, fd_set *out, fd_set *other, struct timeval *d) {
  struct timespec t = {d ? d->tv_sec : 0, d ? d->tv_usec * 1000 : 0};
  if (!pm_self()) return (int)syscall(SYS_pselect6, count, in, out, other, d ? &t : NULL, NULL);
  return select_ns(count, in, out, other, d ? ns_of(&t) : -1);
}
static int guest_pselect(int count, fd_set *in, fd_set *out, fd_set *other,
                         const struct timespec *d, const sigset_t *set) {
  const masked m = mask(set);
  const int ready = m.is_interrupted ? -1 : select_ns(count, in, out, other, ns_of(d));
  unmask(&m);
  return ready;
}

/* ---- epoll ------------------------------------------------------------------------------------------------ */
typedef struct epoll_args {
  int fd, max;
  struct epoll_event *events;
} epoll_args;
static int look_epoll(void *arg, int ms) {
  const epoll_args *a = (const epoll_args *)arg;
  return (int)syscall(SYS_epoll_pwait, a->fd, a->events, a->max, ms, NULL, 0);
}
static int guest_epoll_wait(int fd, struct epoll_event *events, int max, int ms) {
  epoll_args a = {fd, max, events};
  return wait_for(look_epoll, &a, ms < 0 ? -1 : (int64_t)ms * 1000000);
}
static int guest_epoll_pwait(int fd, struct epoll_event *events, int max, int ms,
                             const sigset_t *set) {
  const masked m = mask(set);
  const int ready = m.is_interrupted ? -1 : guest_epoll_wait(fd, events, max, ms);
  unmask(&m);
  return ready;
}
static int guest_epoll_pwait2(int fd, struct epoll_event *events, int max, const struct timespec *d,
                              const sigset_t *set) {
  epoll_args a = {fd, max, events};
  const masked m = mask(set);
  const int ready = m.is_interrupted ? -1 : wait_for(look_epoll, &a, ns_of(d));
  unmask(&m);
  return ready;
}

/* ---- what may have to wait: pipes, sockets, eventfds; not the terminal's or a file's ---------------------------- */
bool guest_may_wait(int fd) {
  struct stat s;
  const int flags = fcntl(fd, F_GETFL);
  return (fd > 2 || guest_has_own(guest_now(), fd)) && flags >= 0 && !(flags & O_NONBLOCK) &&
         fstat(fd, &s) == 0 && !S_ISREG(s.st_mode) && !S_ISDIR(s.st_mode) && !S_ISCHR(s.st_mode) &&
         !S_ISBLK(s.st_mode);
}
bool guest_wait_for_file(int fd, short events, int64_t d_ns) {
  struct pollfd file = {fd, events, 0};
  /* what it is not open for never comes: the host refuses it at once */
  if ((fcntl(fd, F_GETFL) & O_ACCMODE) == (events == POLLIN ? O_WRONLY : O_RDONLY)) return true;
  const int64_t t_end_ns = pm_now_ns() + d_ns;
  int ready;
  do ready = poll_ns(&file, 1, d_ns > 0 ? t_end_ns - pm_now_ns() : d_ns);
  while (ready < 0 && errno == EINTR && was_restarted && (d_ns < 0 || pm_now_ns() < t_end_ns));
  if (ready < 0 && errno == EINTR) return false;
  return ready != 0 || (errno = EAGAIN, false);
}
static int look_again(void *unused, int ms) {
  (void)unused;
  return guest_pass(ms);
}
ssize_t guest_looked(ssize_t n) {
  if (n >= 0 || errno != EAGAIN || !pm_self()) return n;
  wait_for(look_again, NULL, 0);
  return errno = EAGAIN, n;
}
static bool wait_to_read(int fd) {
  return !guest_may_wait(fd) || guest_wait_for_file(fd, POLLIN, -1);
}
static ssize_t guest_read(int fd, void *to, size_t bytes) {
  ssize_t n;
  if (guest_signal_file_read(fd, to, bytes, &n)) return n;
  return wait_to_read(fd) ? guest_looked(read(guest_input(fd), to, bytes)) : -1;
}
static ssize_t guest_readv(int fd, const struct iovec *to, int count) {
  return wait_to_read(fd) ? guest_looked(readv(guest_input(fd), to, count)) : -1;
}
static ssize_t guest_read_chk(int fd, void *to, size_t bytes, size_t room) {
  if (bytes > room) abort();
  return guest_read(fd, to, bytes);
}
/* ---- FIFOs: who opens one waits until the other side has opened it, too -------------------------------------------- */
static bool is_fifo(int folder, const char *path, int flags) {
  struct stat s;
  struct statfs of;
  if (!path || fstatat(folder, path, &s, flags & O_NOFOLLOW ? AT_SYMLINK_NOFOLLOW : 0) != 0 ||
      !S_ISFIFO(s.st_mode))
    return false;
  const int fd = openat(folder, path, O_PATH | O_CLOEXEC);
  const bool is_pipe = fstatfs(fd, &of) == 0 && of.f_type == PIPEFS_MAGIC; /* /dev/stdin: is open */
  if (fd >= 0) close(fd);
  return fd >= 0 && !is_pipe;
}
typedef struct fifo_args {
  int folder, flags, fd, scratch[2];
  const char *path;
} fifo_args;
/* Opens for writing fail until somebody reads. */
static int look_for_reader(void *arg, int ms) {
  fifo_args *a = (fifo_args *)arg;
  a->fd = openat(a->folder, a->path, a->flags | O_NONBLOCK);
  if (a->fd >= 0) return 1;
  return errno == ENXIO ? guest_pass(ms) : -1;
}
/* A writer may be there, have gone, or have left something. What is there is not read: without a writer a copy of it
   has no bytes, with one there is nothing yet. */
static int look_for_writer(void *arg, int ms) {
  const fifo_args *a = (const fifo_args *)arg;
  poll_args file = {&(struct pollfd){a->fd, POLLIN, 0}, 1};
  if (tee(a->fd, a->scratch[1], 1, SPLICE_F_NONBLOCK) != 0) return 1;
  return look_poll(&file, ms);
}
int guest_open_waiting(int folder, const char *path, int flags, mode_t mode) {
  fifo_args a = {folder, flags & ~(O_CREAT | O_EXCL), -1, {-1, -1}, path};
  const int access = flags & O_ACCMODE;
  if (flags & (O_NONBLOCK | O_PATH | O_EXCL) || access == O_RDWR || !pm_self() ||
      !is_fifo(folder, path, flags))
    return guest_descriptor_opened(openat(folder, path, flags, mode));
  if (access == O_WRONLY) {
    if (wait_for(look_for_reader, &a, -1) < 0) return -1;
  } else {
    if (pipe2(a.scratch, O_CLOEXEC) != 0) return -1;
    a.fd = openat(folder, path, a.flags | O_NONBLOCK);
    const int error_number = errno;
    while (a.fd >= 0 && wait_for(look_for_writer, &a, -1) < 0 && errno == EINTR) {
    }
    close(a.scratch[0]), close(a.scratch[1]);
    errno = error_number;
    if (a.fd < 0) return -1;
  }
  fcntl(a.fd, F_SETFL, fcntl(a.fd, F_GETFL) & ~O_NONBLOCK);
  return guest_descriptor_opened(a.fd);
}
/* A pipe that is ready for one byte takes PIPE_BUF at once. */
ssize_t guest_write_waiting(int fd, const void *from, size_t bytes) {
  const struct iovec all = {(void *)(uintptr_t)from, bytes};
  struct stat s;
  size_t sum = 0;
  if (fstat(fd, &s) == 0 && S_ISSOCK(s.st_mode)) return guest_socket_write(fd, &all, 1);
  do {
    const size_t part = bytes - sum < PIPE_BUF ? bytes - sum : PIPE_BUF;
    const bool is_ready = guest_wait_for_file(fd, POLLOUT, -1);
    const ssize_t n = is_ready ? write(fd, (const char *)from + sum, part) : -1;
    if (n < 0) return sum ? (ssize_t)sum : n;
    sum += (size_t)n;
  } while (sum < bytes);
  return (ssize_t)sum;
}
/* The host would wait for room, and nobody could make any: as much as goes at once, until all has gone. */
static ssize_t guest_sendfile(int to, int from, off_t *at, size_t bytes) {
  size_t sum = 0;
  ssize_t n;
  if (!bytes || !guest_may_wait(to)) return sendfile(to, guest_input(from), at, bytes);
  do {
    if (!guest_wait_for_file(to, POLLOUT, -1)) return sum ? (ssize_t)sum : -1;
    const int flags = fcntl(to, F_GETFL);
    fcntl(to, F_SETFL, flags | O_NONBLOCK);
    n = sendfile(to, guest_input(from), at, bytes - sum);
    const int error_number = errno;
    fcntl(to, F_SETFL, flags);
    errno = error_number;
    if (n > 0) sum += (size_t)n;
  } while (n > 0 ? sum < bytes : n < 0 && errno == EAGAIN);
  return sum ? (ssize_t)sum : n;
}
static int guest_eventfd_read(int fd, eventfd_t *value) {
  return guest_read(fd, value, sizeof *value) == sizeof *value ? 0 : -1;
}

/* ---- timerfd: an eventfd to which the model writes at the simulated time -------------------------------------- */
typedef struct timer {
  struct timer *next;
  const guest *owner;
  int fd, event_count; /* scheduled, and not yet come */
  int64_t t_next_ns, d_interval_ns;
  bool is_closed;
} timer;
static timer *timers;
static timer *timer_of(int fd) {
  timer *t = timers;
  while (t && (t->fd != fd || t->is_closed)) t = t->next;
  return t;
}
static void drop(timer *gone) {
  timer **at = &timers;
  while (*at != gone) at = &(*at)->next;
  *at = gone->next;
  free(gone);
}
static void schedule(timer *t);
static void fired(void *arg) {
  timer *t = (timer *)arg;
  const uint64_t one = 1;
  t->event_count--;
  if (t->is_closed || t->owner->end == HAS_ENDED) {
    if (t->is_closed && !t->event_count) drop(t);
    return;
  }
  /* an event of an earlier setting comes before the time */
  if (!t->t_next_ns || pm_world_now_ns(pm_world_of(t->owner->process)) < t->t_next_ns) return;
  if (write(t->fd, &one, sizeof one) < 0)
    t->d_interval_ns = 0; /* only when 2^64 - 2 were not read */
  t->t_next_ns = t->d_interval_ns ? t->t_next_ns + t->d_interval_ns : 0;
  schedule(t);
}
static void schedule(timer *t) {
  if (t->t_next_ns && pm_call_at(pm_world_of(t->owner->process), t->t_next_ns, fired, t) == PM_OK)
    t->event_count++;
}
static int guest_timerfd_create(int clock, int flags) {
  timer *t = (timer *)calloc(1, sizeof *t);
  (void)clock; /* all are the simulated one */
  if (!t) return errno = ENOMEM, -1;
  t->fd = eventfd(0, (flags & TFD_NONBLOCK ? EFD_NONBLOCK : 0) |
                         (flags & TFD_CLOEXEC ? EFD_CLOEXEC : 0));
  if (t->fd < 0) return free(t), -1;
  t->owner = guest_now();
  t->next = timers;
  timers = t;
  return guest_descriptor_opened(t->fd);
}
static int guest_timerfd_gettime(int fd, struct itimerspec *now) {
  const timer *t = timer_of(fd);
  if (!t) return errno = EBADF, -1;
  const int64_t left_ns = t->t_next_ns ? t->t_next_ns - pm_now_ns() : 0;
  now->it_value = (struct timespec){left_ns / 1000000000, left_ns % 1000000000};
  now->it_interval =
      (struct timespec){t->d_interval_ns / 1000000000, t->d_interval_ns % 1000000000};
  return 0;
}
static int guest_timerfd_settime(int fd, int flags, const struct itimerspec *now,
                                 struct itimerspec *before) {
  timer *t = timer_of(fd);
  uint64_t expired;
  struct pollfd file = {fd, POLLIN, 0};
  if (!t || !now) return errno = t ? EFAULT : EBADF, -1;
  if (before) guest_timerfd_gettime(fd, before);
  if (look_poll(&(poll_args){&file, 1}, 0) > 0 && read(fd, &expired, sizeof expired) < 0)
    return -1; /* forgotten */
  const int64_t d_ns = ns_of(&now->it_value);
  t->d_interval_ns = ns_of(&now->it_interval);
  t->t_next_ns = !d_ns                       ? 0
                 : flags & TFD_TIMER_ABSTIME ? guest_ns_of(&now->it_value)
                                             : pm_now_ns() + d_ns;
  if (t->t_next_ns && t->t_next_ns < pm_now_ns()) t->t_next_ns = pm_now_ns();
  schedule(t);
  return 0;
}
int guest_close(int fd) {
  const enum whose whose = guest_descriptor_whose(fd);
  if (whose == GUEST_ANOTHERS) return errno = EBADF, -1;
  if (whose == GUEST_PM_RUNS) return 0; /* it had it, as a child of the shell has */
  timer *t = timer_of(fd);
  if (t) {
    t->is_closed = 1;
    if (!t->event_count) drop(t);
  }
  guest_signal_file_close(fd);
  guest_locks_leave(fd);
  guest_descriptor_forget(fd);
  return guest_descriptors_leave(fd) ? -1 : close(fd);
}
/* ---- streams: libc's own reads and writes would wait on the host --------------------------------------------------- */
static int descriptor_of(void *cookie) { return (int)(intptr_t)cookie; }
static ssize_t stream_read(void *cookie, char *to, size_t bytes) {
  return guest_read(descriptor_of(cookie), to, bytes);
}
static ssize_t stream_write(void *cookie, const char *from, size_t bytes) {
  const ssize_t n = guest_write_waiting(descriptor_of(cookie), from, bytes);
  return n < 0 ? 0 : n; /* how libc wants to be told */
}
static int stream_seek(void *cookie, off64_t *by, int from) {
  (void)cookie, (void)by, (void)from;
  return errno = ESPIPE, -1;
}
static int stream_close(void *cookie) { return guest_close(descriptor_of(cookie)); }
FILE *guest_stream_waiting(int fd, const char *mode) {
  const cookie_io_functions_t io = {stream_read, stream_write, stream_seek, stream_close};
  const bool is_for_both = strchr(mode, '+') != NULL;
  const int access = fcntl(fd, F_GETFL) & O_ACCMODE;
  if (access != O_RDWR && (is_for_both || access != (*mode == 'r' ? O_RDONLY : O_WRONLY)))
    return errno = EINVAL, NULL;
  if (strchr(mode, 'e')) fcntl(fd, F_SETFD, FD_CLOEXEC);
  FILE *stream = fopencookie((void *)(intptr_t)fd, mode, io);
  if (stream) stream->_fileno = fd; /* fileno() says so */
  return stream;
}

__attribute__((constructor)) static void add(void) {
  GUEST_REPLACE("__poll_chk", guest_poll_chk);
  GUEST_REPLACE("__ppoll_chk", guest_ppoll_chk);
  GUEST_REPLACE("ppoll", guest_ppoll);
  GUEST_REPLACE("pselect", guest_pselect);
  GUEST_REPLACE("epoll_wait", guest_epoll_wait);
  GUEST_REPLACE("epoll_pwait", guest_epoll_pwait);
  GUEST_REPLACE("epoll_pwait2", guest_epoll_pwait2);
  GUEST_REPLACE("read", guest_read);
  GUEST_REPLACE("readv", guest_readv);
  GUEST_REPLACE("sendfile", guest_sendfile);
  GUEST_REPLACE("sendfile64", guest_sendfile);
  GUEST_REPLACE("__read_chk", guest_read_chk);
  GUEST_REPLACE("eventfd_read", guest_eventfd_read);
  GUEST_REPLACE("timerfd_create", guest_timerfd_create);
  GUEST_REPLACE("timerfd_settime", guest_timerfd_settime);
  GUEST_REPLACE("timerfd_gettime", guest_timerfd_gettime);
  GUEST_REPLACE("close", guest_close);
}
