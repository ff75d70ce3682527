/* Waits with an end and waits of other kinds than pthreads', as a guest of pm_run: each takes the simulated time that it
   says. Argument: which. */
#include "guest_must.h"
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

static struct timespec later(clockid_t clock, int ms) {
  struct timespec t;
  clock_gettime(clock, &t);
  t.tv_nsec += ms * 1000000L;
  t.tv_sec += t.tv_nsec / 1000000000;
  t.tv_nsec %= 1000000000;
  return t;
}
/* What is waited for does not come: 5 ms pass, by the simulated clock. */
static int64_t began_ns;
static const struct timespec *in_5_ms(clockid_t clock) {
  static struct timespec t;
  t = later(clock, 5);
  began_ns = now_ns();
  return &t;
}
static bool has_taken_5_ms(void) {
  const int64_t d_ns = now_ns() - began_ns;
  return d_ns > 4900000 && d_ns < 5100000;
}

/* ---- with an end, by either clock: what C++'s wait_for and try_lock_for call ---------------------------------- */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static bool is_done;
static void *locked_out(void *x) {
  MUST(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, in_5_ms(CLOCK_MONOTONIC)) == ETIMEDOUT && has_taken_5_ms());
  MUST(pthread_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, in_5_ms(CLOCK_MONOTONIC)) == ETIMEDOUT && has_taken_5_ms());
  MUST(pthread_rwlock_clockwrlock(&lock, CLOCK_REALTIME, in_5_ms(CLOCK_REALTIME)) == ETIMEDOUT && has_taken_5_ms());
  MUST(pthread_rwlock_timedrdlock(&lock, in_5_ms(CLOCK_REALTIME)) == ETIMEDOUT && has_taken_5_ms());
  MUST(pthread_rwlock_timedwrlock(&lock, in_5_ms(CLOCK_REALTIME)) == ETIMEDOUT && has_taken_5_ms());
  return x;
}
static void *signals(void *x) {
  usleep(2000);
  pthread_mutex_lock(&mutex);
  is_done = true;
  pthread_cond_signal(&cond);
  pthread_mutex_unlock(&mutex);
  return x;
}
static void timed(void) {
  pthread_t other;
  struct timespec t;
  sem_t sem;
  pthread_mutex_lock(&mutex);
  MUST(pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, in_5_ms(CLOCK_MONOTONIC)) == ETIMEDOUT && has_taken_5_ms());
  MUST(pthread_create(&other, NULL, signals, NULL) == 0);
  t = later(CLOCK_MONOTONIC, 1000);
  while (!is_done) MUST(pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &t) == 0);
  MUST(now_ns() - began_ns < 100000000 && pthread_join(other, NULL) == 0);
  MUST(sem_init(&sem, 0, 0) == 0 && sem_clockwait(&sem, CLOCK_MONOTONIC, in_5_ms(CLOCK_MONOTONIC)) == -1 && errno == ETIMEDOUT && has_taken_5_ms());
  MUST(pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, in_5_ms(CLOCK_MONOTONIC)) == 0); /* it is free */
  MUST(pthread_create(&other, NULL, locked_out, NULL) == 0 && pthread_join(other, NULL) == 0);
  MUST(pthread_rwlock_unlock(&lock) == 0 && pthread_rwlock_timedrdlock(&lock, in_5_ms(CLOCK_REALTIME)) == 0);
}

/* ---- C11's threads ---------------------------------------------------------------------------------------------- */
static mtx_t c_mutex;
static cnd_t c_cond;
static tss_t key;
static once_flag once = ONCE_FLAG_INIT;
static int once_count, destroyed_count, go;
static void count_once(void) { once_count++; }
static void count_destroyed(void *x) { destroyed_count += x != NULL; }
static int c_thread(void *x) {
  call_once(&once, count_once);
  mtx_lock(&c_mutex);
  while (!go) cnd_wait(&c_cond, &c_mutex);
  mtx_unlock(&c_mutex);
  tss_set(key, x);
  thrd_yield();
  const int64_t t_ns = now_ns();
  const struct timespec d = {0, 3000000};
  MUST(thrd_sleep(&d, NULL) == 0 && now_ns() - t_ns >= 3000000 && now_ns() - t_ns < 3100000);
  if (tss_get(key) == x) thrd_exit(42);
  return 0;
}
static int c_locked_out(void *x) {
  (void)x;
  MUST(mtx_timedlock(&c_mutex, in_5_ms(CLOCK_REALTIME)) == thrd_timedout && has_taken_5_ms());
  return mtx_trylock(&c_mutex);
}
static void c11(void) {
  thrd_t thread[2];
  int result[2] = {0, 0};
  MUST(mtx_init(&c_mutex, mtx_timed | mtx_recursive) == thrd_success && cnd_init(&c_cond) == thrd_success && tss_create(&key, count_destroyed) == thrd_success);
  for (int i = 0; i < 2; i++) MUST(thrd_create(&thread[i], c_thread, &result[i]) == thrd_success);
  thrd_yield();
  mtx_lock(&c_mutex);
  go = 1;
  cnd_broadcast(&c_cond);
  MUST(cnd_timedwait(&c_cond, &c_mutex, in_5_ms(CLOCK_REALTIME)) == thrd_timedout && has_taken_5_ms());
  mtx_unlock(&c_mutex);
  for (int i = 0; i < 2; i++) MUST(thrd_join(thread[i], &result[i]) == thrd_success && result[i] == 42);
  MUST(once_count == 1 && destroyed_count == 2 && thrd_equal(thrd_current(), thrd_current()) && !thrd_equal(thrd_current(), thread[0]));
  MUST(mtx_lock(&c_mutex) == thrd_success && mtx_lock(&c_mutex) == thrd_success);
  MUST(thrd_create(&thread[0], c_locked_out, NULL) == thrd_success && thrd_join(thread[0], &result[0]) == thrd_success && result[0] == thrd_busy);
  MUST(mtx_unlock(&c_mutex) == thrd_success && mtx_unlock(&c_mutex) == thrd_success);
}

/* ---- futexes, by the system call --------------------------------------------------------------------------------- */
static uint32_t words[65 * 256]; /* words so far apart are in one queue, by whatever divisor */
static int woken[4], woken_count;
static long futex(uint32_t *word, int what, uint32_t value, const struct timespec *t, uint32_t mask) {
  return syscall(SYS_futex, word, what, value, t, NULL, mask);
}
static void *waits(void *arg) {
  const int i = (int)(intptr_t)arg;
  MUST(futex(&words[i < 2 ? 0 : 64 * 256], i % 2 ? FUTEX_WAIT_PRIVATE : FUTEX_WAIT_BITSET, 0, NULL, FUTEX_BITSET_MATCH_ANY) == 0);
  woken[woken_count++] = i;
  return NULL;
}
static void futexes(void) {
  pthread_t thread[3];
  const struct timespec d = {0, 5000000};
  MUST(futex(words, FUTEX_WAIT, 1, NULL, 0) == -1 && errno == EAGAIN && futex(words, FUTEX_WAKE, 1, NULL, 0) == 0);
  in_5_ms(CLOCK_MONOTONIC);
  MUST(futex(words, FUTEX_WAIT_PRIVATE, 0, &d, 0) == -1 && errno == ETIMEDOUT && has_taken_5_ms());
  MUST(futex(words, FUTEX_WAIT_BITSET, 0, in_5_ms(CLOCK_MONOTONIC), 1) == -1 && errno == ETIMEDOUT && has_taken_5_ms());
  for (int i = 0; i < 3; i++) {
    MUST(pthread_create(&thread[i], NULL, waits, (void *)(intptr_t)i) == 0);
    usleep(1000);
  }
  MUST(futex(&words[64 * 256], FUTEX_WAKE_PRIVATE, 1000, NULL, 0) == 1); /* who waits there only */
  usleep(1000);
  MUST(futex(words, FUTEX_WAKE_BITSET, 1, NULL, FUTEX_BITSET_MATCH_ANY) == 1);
  usleep(1000);
  MUST(futex(words, FUTEX_WAKE, INT32_MAX, NULL, 0) == 1);
  for (int i = 0; i < 3; i++) MUST(pthread_join(thread[i], NULL) == 0);
  MUST(woken_count == 3 && woken[0] == 2 && woken[1] == 0 && woken[2] == 1);
  MUST(syscall(SYS_getppid) > 0); /* others are the host's */
}
/* Threads that wait for ever end with their process, and are in no later one's way. */
static void *waits_for_ever(void *x) {
  futex(words, FUTEX_WAIT, 0, NULL, 0);
  return x;
}
static void left(void) {
  pthread_t thread;
  usleep(20000 * (unsigned)atoi(getenv("PMI_RANK")));
  for (int i = 0; i < 8; i++) MUST(pthread_create(&thread, NULL, waits_for_ever, NULL) == 0);
  usleep(5000);
}
int main(int argc, char **argv) {
  const char *which = argc > 1 ? argv[1] : "";
  if (strcmp(which, "timed") == 0) timed();
  if (strcmp(which, "c11") == 0) c11();
  if (strcmp(which, "futex") == 0) futexes();
  if (strcmp(which, "left") == 0) left();
  printf("%s: right\n", which);
  return 0;
}
