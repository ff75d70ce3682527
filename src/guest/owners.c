/* Whose each descriptor from 3 on is. All processes share the host's table, and a number is the whole run's; but a
   process can close, or put another file in the place of, only what it has opened itself, and at its end that is closed:
   who reads from it sees the end. What pm_run has open is nobody's to close. */
#include "guest.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LEAST = 3, NONE = -1 };
/* A file is named, too: libc may have closed it, and the number may be another file's by now. */
typedef struct owned {
  guest *owner; /* NULL: not known, or nobody's */
  bool is_pm_runs;
  int before, next; /* of the same owner; NONE */
  dev_t device;
  ino_t file;
} owned;
static owned *all;
static int count;

static owned *at(int fd) { return fd >= LEAST && fd < count ? &all[fd] : NULL; }
static bool make_room(int fd) {
  if (fd < count) return true;
  const int more = fd + 64 < 2 * count ? 2 * count : fd + 64;
  owned *const table = (owned *)realloc(all, (size_t)more * sizeof *table);
  if (!table) return false; /* as if nobody had opened it */
  memset(table + count, 0, (size_t)(more - count) * sizeof *table);
  all = table;
  count = more;
  return true;
}
void guest_descriptor_forget(int fd) {
  owned *const o = at(fd);
  if (!o) return;
  o->is_pm_runs = false;
  if (!o->owner) return;
  if (o->before != NONE) all[o->before].next = o->next;
  if (o->next != NONE) all[o->next].before = o->before;
  if (o->owner->opened == fd) o->owner->opened = o->next;
  o->owner = NULL;
}
int guest_descriptor_opened(int fd) {
  guest *const g = guest_now();
  struct stat s;
  const int error_number = errno;
  if (fd < LEAST || !g || !make_room(fd) || fstat(fd, &s)) return errno = error_number, fd;
  guest_descriptor_forget(fd);
  all[fd] = (owned){g, false, NONE, g->opened, s.st_dev, s.st_ino};
  if (g->opened != NONE) all[g->opened].before = fd;
  g->opened = fd;
  return fd;
}
int guest_descriptor_kept(int fd) {
  if (fd < LEAST || !make_room(fd)) return fd;
  guest_descriptor_forget(fd);
  all[fd].is_pm_runs = true;
  return fd;
}
static bool is_still(const owned *o, int fd) {
  struct stat s;
  return fstat(fd, &s) == 0 && s.st_dev == o->device && s.st_ino == o->file;
}
void guest_descriptor_drop(int fd) {
  guest_descriptor_forget(fd);
  if (fd >= 0) close(fd);
}
enum whose guest_descriptor_whose(int fd) {
  const owned *const o = at(fd);
  if (!o || (!o->is_pm_runs && !o->owner)) return GUEST_MAY_CLOSE;
  if (o->is_pm_runs) return GUEST_PM_RUNS;
  return o->owner == guest_now() || !is_still(o, fd) ? GUEST_MAY_CLOSE : GUEST_ANOTHERS;
}
void guest_descriptors_close(guest *g) {
  for (int fd = g->opened; fd != NONE; fd = g->opened) {
    const bool is_its = is_still(&all[fd], fd);
    guest_descriptor_forget(fd);
    if (is_its) close(fd);
  }
}
static void keep_those_open(pm_world *world) {
  DIR *const folder = opendir("/proc/self/fd");
  (void)world;
  for (struct dirent *e; folder && (e = readdir(folder));) {
    const int fd = atoi(e->d_name);
    if (fd != dirfd(folder)) guest_descriptor_kept(fd);
  }
  if (folder) closedir(folder);
}

/* ---- what opens them, beside open, streams and copies ------------------------------------------------------------ */
static int both(int code, const int *pair) {
  for (int k = 0; k < 2 && !code; k++) guest_descriptor_opened(pair[k]);
  return code;
}
static int guest_pipe(int *pair) { return both(pipe(pair), pair); }
static int guest_pipe2(int *pair, int flags) { return both(pipe2(pair, flags), pair); }
static int guest_socketpair(int family, int type, int protocol, int *pair) {
  return both(socketpair(family, type, protocol, pair), pair);
}
static int guest_socket(int family, int type, int protocol) {
  return guest_descriptor_opened(socket(family, type, protocol));
}
static int guest_epoll_create(int size) { return guest_descriptor_opened(epoll_create(size)); }
static int guest_epoll_create1(int flags) { return guest_descriptor_opened(epoll_create1(flags)); }
static int guest_eventfd(unsigned value, int flags) {
  return guest_descriptor_opened(eventfd(value, flags));
}
static int guest_inotify_init(void) { return guest_descriptor_opened(inotify_init()); }
static int guest_inotify_init1(int flags) { return guest_descriptor_opened(inotify_init1(flags)); }
static int guest_memfd_create(const char *name, unsigned flags) {
  return guest_descriptor_opened(memfd_create(name, flags));
}
static int guest_shm_open(const char *name, int flags, mode_t mode) {
  return guest_descriptor_opened(shm_open(name, flags, mode));
}
static int guest_mkstemp(char *name) { return guest_descriptor_opened(mkstemp(name)); }
static int guest_mkstemps(char *name, int end) {
  return guest_descriptor_opened(mkstemps(name, end));
}
static int guest_mkostemp(char *name, int flags) {
  return guest_descriptor_opened(mkostemp(name, flags));
}
static int guest_mkostemps(char *name, int end, int flags) {
  return guest_descriptor_opened(mkostemps(name, end, flags));
}
static int guest_openpt(int flags) { return guest_descriptor_opened(posix_openpt(flags)); }
static DIR *guest_opendir(const char *path) {
  DIR *const folder = opendir(path);
  if (folder) guest_descriptor_opened(dirfd(folder));
  return folder;
}
static int guest_closedir(DIR *folder) {
  if (folder) guest_descriptor_forget(dirfd(folder));
  return closedir(folder);
}

/* ---- what closes many ------------------------------------------------------------------------------------------- */
/* Of those that are open: a process has far fewer than there may be. */
static int close_from_to(unsigned first, unsigned last) {
  const int most = (int)(last < (unsigned)INT32_MAX ? last : (unsigned)INT32_MAX);
  DIR *const folder = opendir("/proc/self/fd");
  if (!folder) return -1;
  for (struct dirent *e; (e = readdir(folder));) {
    const int fd = e->d_name[0] == '.' ? -1 : atoi(e->d_name);
    if (fd >= 0 && (unsigned)fd >= first && fd <= most && fd != dirfd(folder)) guest_close(fd);
  }
  return closedir(folder);
}
static int guest_close_range(unsigned first, unsigned last, int flags) {
  const int later = (int)CLOSE_RANGE_CLOEXEC; /* at exec, which there is not */
  if (first > last || flags & ~((int)CLOSE_RANGE_UNSHARE | later)) return errno = EINVAL, -1;
  return flags & later ? 0 : close_from_to(first, last);
}
static void guest_closefrom(int first) {
  close_from_to(first < 0 ? 0U : (unsigned)first, UINT32_MAX);
}

static guest_part part = {.name = "owners", .begin = keep_those_open};
__attribute__((constructor)) static void add(void) {
  guest_part_add(&part);
  GUEST_REPLACE("pipe", guest_pipe);
  GUEST_REPLACE("pipe2", guest_pipe2);
  GUEST_REPLACE("socketpair", guest_socketpair);
  GUEST_REPLACE("socket", guest_socket);
  GUEST_REPLACE("epoll_create", guest_epoll_create);
  GUEST_REPLACE("epoll_create1", guest_epoll_create1);
  GUEST_REPLACE("eventfd", guest_eventfd);
  GUEST_REPLACE("inotify_init", guest_inotify_init);
  GUEST_REPLACE("inotify_init1", guest_inotify_init1);
  GUEST_REPLACE("memfd_create", guest_memfd_create);
  GUEST_REPLACE("shm_open", guest_shm_open);
  GUEST_REPLACE("posix_openpt", guest_openpt);
  GUEST_REPLACE("opendir", guest_opendir);
  GUEST_REPLACE("closedir", guest_closedir);
  GUEST_REPLACE("close_range", guest_close_range);
  GUEST_REPLACE("closefrom", guest_closefrom);
  GUEST_REPLACE("mkstemp", guest_mkstemp);
  GUEST_REPLACE("mkstemp64", guest_mkstemp);
  GUEST_REPLACE("mkstemps", guest_mkstemps);
  GUEST_REPLACE("mkstemps64", guest_mkstemps);
  GUEST_REPLACE("mkostemp", guest_mkostemp);
  GUEST_REPLACE("mkostemp64", guest_mkostemp);
  GUEST_REPLACE("mkostemps", guest_mkostemps);
  GUEST_REPLACE("mkostemps64", guest_mkostemps);
}
