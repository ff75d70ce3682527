/* Semaphores with a name (sem_open): all processes of the run find the same one. They are pm_run's own, as waiting in
   simulated time is: programs outside do not see them, and they end with the run. */
#include "guest.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

typedef struct named {
  struct named *next;
  sem_t sem;  /* what programs have of it */
  char *name; /* NULL: unlinked, and there for those who have it open */
  int opens;
} named;
static named *all;

/* libc takes one without the slash, too. ret NULL: it is none */
static const char *name_of(const char *path) {
  while (*path == '/') path++;
  const bool is_one = *path && !strchr(path, '/') && strlen(path) <= NAME_MAX - strlen("sem.");
  return is_one ? path : NULL;
}
static named *find(const char *name) {
  named *n = all;
  while (n && (!n->name || strcmp(n->name, name) != 0)) n = n->next;
  return n;
}
static void drop_unused(named *gone) {
  named **at = &all;
  if (gone->name || gone->opens) return;
  while (*at != gone) at = &(*at)->next;
  *at = gone->next;
  sem_destroy(&gone->sem);
  free(gone);
}
static named *make(const char *name, unsigned value) {
  named *const n = (named *)calloc(1, sizeof *n);
  if (n && sem_init(&n->sem, 1, value)) return free(n), NULL;
  if (n) n->name = strdup(name);
  if (!n || !n->name) return free(n), errno = ENOMEM, NULL;
  n->next = all;
  return all = n;
}
static sem_t *guest_sem_open(const char *path, int flags, ...) {
  const char *const name = name_of(path);
  named *n = name ? find(name) : NULL;
  if (!name) return errno = EINVAL, SEM_FAILED;
  if (n && flags & O_CREAT && flags & O_EXCL) return errno = EEXIST, SEM_FAILED;
  if (!n && !(flags & O_CREAT)) return errno = ENOENT, SEM_FAILED;
  if (!n) {
    va_list args;
    va_start(args, flags);
    (void)va_arg(args, mode_t);
    n = make(name, va_arg(args, unsigned));
    va_end(args);
  }
  if (!n) return SEM_FAILED;
  n->opens++;
  return &n->sem;
}
static int guest_sem_close(sem_t *sem) {
  named *n = all;
  while (n && &n->sem != sem) n = n->next;
  if (!n || !n->opens) return errno = EINVAL, -1;
  n->opens--;
  return drop_unused(n), 0;
}
static int guest_sem_unlink(const char *path) {
  const char *const name = name_of(path);
  named *const n = name ? find(name) : NULL;
  if (!n) return errno = ENOENT, -1;
  free(n->name);
  n->name = NULL;
  return drop_unused(n), 0;
}

__attribute__((constructor)) static void add(void) {
  GUEST_REPLACE("sem_open", guest_sem_open);
  GUEST_REPLACE("sem_close", guest_sem_close);
  GUEST_REPLACE("sem_unlink", guest_sem_unlink);
}
