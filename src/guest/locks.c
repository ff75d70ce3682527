/* Locks of files. Whole ones (flock) and those of an open file (F_OFD_SETLK) are the host's: each process has opened
   the file for itself. Locks of parts (fcntl, lockf) are a process's, and the host has one for all: they are kept here,
   and the host's is taken, too, for programs outside. Who waits does so in simulated time. */
#include "guest.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- flock ----------------------------------------------------------------------------------------------------- */
typedef struct flock_args {
  int fd, how;
} flock_args;
static int look_flock(void *arg, int ms) {
  const flock_args *a = (const flock_args *)arg;
  if (flock(a->fd, a->how | LOCK_NB) == 0) return 1;
  if (errno != EWOULDBLOCK) return -1;
  return guest_pass(ms);
}
static int guest_flock(int fd, int how) {
  flock_args a = {fd, how};
  return how & (LOCK_NB | LOCK_UN) ? flock(fd, how) : guest_wait_for(look_flock, &a, -1, true);
}

/* ---- locks of parts ---------------------------------------------------------------------------------------------- */
typedef struct part_lock {
  struct part_lock *next;
  guest *owner;
  dev_t device;
  ino_t file;
  off_t from, to; /* both are in it */
  short type;     /* F_RDLCK or F_WRLCK */
} part_lock;
static part_lock *locks;

static const off_t END = (off_t)INT64_MAX;
/* What is asked for, with places in the file. ret 0 or what is wrong */
static int read_lock(int fd, const struct flock *asked, part_lock *l) {
  struct stat s;
  if (fstat(fd, &s)) return EBADF;
  const off_t base = asked->l_whence == SEEK_SET   ? 0
                     : asked->l_whence == SEEK_CUR ? lseek(fd, 0, SEEK_CUR)
                     : asked->l_whence == SEEK_END ? s.st_size
                                                   : -1;
  off_t from, to;
  if (base < 0 || __builtin_add_overflow(base, asked->l_start, &from)) return EINVAL;
  if (asked->l_type != F_RDLCK && asked->l_type != F_WRLCK && asked->l_type != F_UNLCK)
    return EINVAL;
  to = END;
  if (asked->l_len && __builtin_add_overflow(from, asked->l_len, &to)) return EOVERFLOW;
  if (asked->l_len > 0) to--;
  if (asked->l_len < 0) { /* the bytes before */
    const off_t before = from;
    from = to, to = before - 1;
  }
  if (from < 0) return EINVAL;
  *l = (part_lock){NULL, guest_now(), s.st_dev, s.st_ino, from, to, asked->l_type};
  return 0;
}
static bool is_over(const part_lock *a, const part_lock *b) {
  return a->device == b->device && a->file == b->file && a->from <= b->to && b->from <= a->to;
}
static const part_lock *another_s(const part_lock *l) {
  for (const part_lock *o = locks; o; o = o->next)
    if (o->owner != l->owner && is_over(o, l) && (l->type == F_WRLCK || o->type == F_WRLCK))
      return o;
  return NULL;
}
static bool add_lock(part_lock like, off_t from, off_t to) {
  part_lock *l = (part_lock *)malloc(sizeof *l);
  if (!l) return false;
  *l = like;
  l->from = from, l->to = to;
  l->next = locks;
  return locks = l, true;
}
/* What the process has of the part until now goes; what was around it stays. ret false: no memory, nothing has changed */
static bool put_lock(const part_lock *l) {
  part_lock *const before = locks;
  bool is_done = l->type == F_UNLCK || add_lock(*l, l->from, l->to);
  for (const part_lock *o = before; o && is_done; o = o->next) {
    if (o->owner != l->owner || !is_over(o, l)) continue;
    if (o->from < l->from) is_done = add_lock(*o, o->from, l->from - 1);
    if (o->to > l->to && is_done) is_done = add_lock(*o, l->to + 1, o->to);
  }
  while (!is_done && locks != before) {
    part_lock *const gone = locks;
    locks = gone->next;
    free(gone);
  }
  if (!is_done) return false;
  part_lock **next = &locks;
  while (*next != before) next = &(*next)->next;
  while (*next) {
    part_lock *const o = *next;
    if (o->owner != l->owner || !is_over(o, l)) {
      next = &o->next;
      continue;
    }
    *next = o->next;
    free(o);
  }
  return true;
}
/* The host's, which is all processes': taken when one wants it, given back when nobody has any of it. */
static int host_lock(int fd, const part_lock *l) {
  struct flock all = {.l_type = l->type, .l_whence = SEEK_SET, .l_start = l->from};
  all.l_len = l->to == END ? 0 : l->to - l->from + 1;
  for (const part_lock *o = locks; o; o = o->next) {
    if (o->owner == l->owner || !is_over(o, l)) continue;
    if (l->type == F_UNLCK) return 0;
    break; /* both only read */
  }
  return fcntl(fd, F_SETLK, &all);
}

/* ---- waiting for them -------------------------------------------------------------------------------------------- */
static int try_lock(int fd, const part_lock *l) {
  const part_lock *o = l->type == F_UNLCK ? NULL : another_s(l);
  l->owner->waits_for = o ? o->owner : NULL;
  if (o) return errno = EAGAIN, -1;
  if (host_lock(fd, l)) return -1;
  return put_lock(l) ? 0 : (errno = ENOLCK, -1);
}
typedef struct lock_args {
  int fd;
  const part_lock *wanted;
} lock_args;
static int look_lock(void *arg, int ms) {
  const lock_args *a = (const lock_args *)arg;
  const guest *const me = a->wanted->owner, *g = me;
  if (try_lock(a->fd, a->wanted) == 0) return 1;
  if (errno != EAGAIN && errno != EACCES) return -1;
  for (int steps = 0; (g = g->waits_for) && steps < guest_count(); steps++)
    if (g == me) return errno = EDEADLK, -1; /* whom it waits for waits, in the end, for it */
  return guest_pass(ms);
}
static int wait_for_lock(int fd, const part_lock *l) {
  const int code = guest_wait_for(look_lock, &(lock_args){fd, l}, -1, true);
  l->owner->waits_for = NULL;
  return code;
}
static int ask(int fd, const part_lock *l, struct flock *answer) {
  const part_lock *const o = another_s(l);
  if (!o) return fcntl(fd, F_GETLK, answer);
  *answer = (struct flock){.l_type = o->type,
                           .l_whence = SEEK_SET,
                           .l_start = o->from,
                           .l_len = o->to == END ? 0 : o->to - o->from + 1,
                           .l_pid = guest_pid_of(o->owner)};
  return 0;
}
typedef struct open_lock {
  int fd;
  struct flock *lock;
} open_lock;
static int look_open_lock(void *arg, int ms) {
  const open_lock *a = (const open_lock *)arg;
  if (fcntl(a->fd, F_OFD_SETLK, a->lock) == 0) return 1;
  if (errno != EAGAIN && errno != EACCES) return -1;
  return guest_pass(ms);
}
bool guest_is_lock(int request) {
  return request == F_SETLK || request == F_SETLKW || request == F_GETLK || request == F_OFD_SETLKW;
}
int guest_lock(int fd, int request, struct flock *asked) {
  part_lock l;
  if (request == F_OFD_SETLKW)
    return guest_wait_for(look_open_lock, &(open_lock){fd, asked}, -1, true);
  const int wrong = asked ? read_lock(fd, asked, &l) : EFAULT;
  const int access = fcntl(fd, F_GETFL);
  if (wrong || access < 0) return errno = wrong ? wrong : EBADF, -1;
  if (request == F_GETLK) return l.type == F_UNLCK ? (errno = EINVAL, -1) : ask(fd, &l, asked);
  const bool may_read = (access & O_ACCMODE) != O_WRONLY,
             may_write = (access & O_ACCMODE) != O_RDONLY;
  if ((l.type == F_RDLCK && !may_read) || (l.type == F_WRLCK && !may_write))
    return errno = EBADF, -1;
  if (request == F_SETLKW) return wait_for_lock(fd, &l);
  const int code = try_lock(fd, &l);
  l.owner->waits_for = NULL;
  return code;
}
static int guest_lockf(int fd, int request, off_t bytes) {
  struct flock part = {.l_type = F_WRLCK, .l_whence = SEEK_CUR, .l_len = bytes};
  if (request == F_TEST) {
    if (guest_lock(fd, F_GETLK, &part)) return -1;
    return part.l_type == F_UNLCK ? 0 : (errno = EAGAIN, -1);
  }
  if (request == F_ULOCK) part.l_type = F_UNLCK;
  if (request != F_ULOCK && request != F_LOCK && request != F_TLOCK) return errno = EINVAL, -1;
  return guest_lock(fd, request == F_LOCK ? F_SETLKW : F_SETLK, &part);
}
/* A process that closes any descriptor of a file has no locks of it any more. */
static void leave(const guest *g, const struct stat *file) {
  for (part_lock **next = &locks; *next;) {
    part_lock *const o = *next;
    if (o->owner != g || (file && (o->device != file->st_dev || o->file != file->st_ino))) {
      next = &o->next;
      continue;
    }
    *next = o->next;
    free(o);
  }
}
void guest_locks_leave(int fd) {
  struct stat file;
  if (locks && guest_now() && fstat(fd, &file) == 0) leave(guest_now(), &file);
}
void guest_locks_end(const guest *g) { leave(g, NULL); }

__attribute__((constructor)) static void add(void) {
  GUEST_REPLACE("flock", guest_flock);
  GUEST_REPLACE("lockf", guest_lockf);
  GUEST_REPLACE("lockf64", guest_lockf);
}
