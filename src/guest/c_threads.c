/* C11's threads of the processes: the functions of pthread.c by other names. libc's would begin threads of the
   host, which know nothing of simulated time. Its objects have the sizes of those of pthreads. */
#include "guest.h"
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <threads.h>

typedef char mutex_fits[sizeof(pthread_mutex_t) <= sizeof(mtx_t) ? 1 : -1];
typedef char cond_fits[sizeof(pthread_cond_t) <= sizeof(cnd_t) ? 1 : -1];
static pthread_mutex_t *mutex_of(mtx_t *mutex) { return (pthread_mutex_t *)(void *)mutex; }
static pthread_cond_t *cond_of(cnd_t *cond) { return (pthread_cond_t *)(void *)cond; }
static int result_of(int code) {
  return code == 0                          ? thrd_success
         : code == EBUSY                    ? thrd_busy
         : code == ETIMEDOUT                ? thrd_timedout
         : code == EAGAIN || code == ENOMEM ? thrd_nomem
                                            : thrd_error;
}

typedef struct beginning {
  thrd_start_t start;
  void *arg;
} beginning;
static void *begin(void *arg) {
  const beginning b = *(beginning *)arg;
  free(arg);
  return (void *)(intptr_t)b.start(b.arg);
}
static int c_create(thrd_t *thread, thrd_start_t start, void *arg) {
  beginning *b = (beginning *)malloc(sizeof *b);
  if (!b) return thrd_nomem;
  *b = (beginning){start, arg};
  const int code = pthread_create(thread, NULL, begin, b);
  if (code) free(b);
  return result_of(code);
}
static int c_join(thrd_t thread, int *result) {
  void *value = NULL;
  const int code = pthread_join(thread, &value);
  if (result) *result = (int)(intptr_t)value;
  return result_of(code);
}
static void c_exit(int result) { pthread_exit((void *)(intptr_t)result); }
static int c_detach(thrd_t thread) { return result_of(pthread_detach(thread)); }
static void c_yield(void) { sched_yield(); }

static int c_mutex_init(mtx_t *mutex, int type) {
  pthread_mutexattr_t kind;
  pthread_mutexattr_init(&kind);
  if (type & mtx_recursive) pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
  return result_of(pthread_mutex_init(mutex_of(mutex), &kind));
}
static int c_lock(mtx_t *mutex) { return result_of(pthread_mutex_lock(mutex_of(mutex))); }
static int c_trylock(mtx_t *mutex) { return result_of(pthread_mutex_trylock(mutex_of(mutex))); }
static int c_timedlock(mtx_t *mutex, const struct timespec *t) {
  return result_of(pthread_mutex_timedlock(mutex_of(mutex), t));
}
static int c_unlock(mtx_t *mutex) { return result_of(pthread_mutex_unlock(mutex_of(mutex))); }
static void c_mutex_destroy(mtx_t *mutex) { pthread_mutex_destroy(mutex_of(mutex)); }

static int c_cond_init(cnd_t *cond) { return result_of(pthread_cond_init(cond_of(cond), NULL)); }
static int c_signal(cnd_t *cond) { return result_of(pthread_cond_signal(cond_of(cond))); }
static int c_broadcast(cnd_t *cond) { return result_of(pthread_cond_broadcast(cond_of(cond))); }
static int c_wait(cnd_t *cond, mtx_t *mutex) {
  return result_of(pthread_cond_wait(cond_of(cond), mutex_of(mutex)));
}
static int c_timedwait(cnd_t *cond, mtx_t *mutex, const struct timespec *t) {
  return result_of(pthread_cond_timedwait(cond_of(cond), mutex_of(mutex), t));
}
static void c_cond_destroy(cnd_t *cond) { pthread_cond_destroy(cond_of(cond)); }

static int c_key(tss_t *key, tss_dtor_t destructor) {
  return result_of(pthread_key_create(key, destructor));
}
static int c_set(tss_t key, void *value) { return result_of(pthread_setspecific(key, value)); }

__attribute__((constructor)) static void add(void) {
  GUEST_REPLACE("thrd_create", c_create);
  GUEST_REPLACE("thrd_join", c_join);
  GUEST_REPLACE("thrd_exit", c_exit);
  GUEST_REPLACE("thrd_detach", c_detach);
  GUEST_REPLACE("thrd_current", pthread_self);
  GUEST_REPLACE("thrd_equal", pthread_equal);
  GUEST_REPLACE("thrd_sleep", nanosleep);
  GUEST_REPLACE("thrd_yield", c_yield);
  GUEST_REPLACE("mtx_init", c_mutex_init);
  GUEST_REPLACE("mtx_lock", c_lock);
  GUEST_REPLACE("mtx_trylock", c_trylock);
  GUEST_REPLACE("mtx_timedlock", c_timedlock);
  GUEST_REPLACE("mtx_unlock", c_unlock);
  GUEST_REPLACE("mtx_destroy", c_mutex_destroy);
  GUEST_REPLACE("cnd_init", c_cond_init);
  GUEST_REPLACE("cnd_signal", c_signal);
  GUEST_REPLACE("cnd_broadcast", c_broadcast);
  GUEST_REPLACE("cnd_wait", c_wait);
  GUEST_REPLACE("cnd_timedwait", c_timedwait);
  GUEST_REPLACE("cnd_destroy", c_cond_destroy);
  GUEST_REPLACE("tss_create", c_key);
  GUEST_REPLACE("tss_get", pthread_getspecific);
  GUEST_REPLACE("tss_set", c_set);
  GUEST_REPLACE("tss_delete", pthread_key_delete);
  GUEST_REPLACE("call_once", pthread_once);
}
