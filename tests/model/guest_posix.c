/* Threads, locks, clocks and cores with their ways to go wrong: prints what Linux prints (guest_posix.txt). */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#define P(x) printf("%s = %ld\n", #x, (long)(x))
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static struct timespec in(clockid_t k, int ms) { struct timespec t; clock_gettime(k, &t); t.tv_nsec += ms * 1000000L; t.tv_sec += t.tv_nsec / 1000000000; t.tv_nsec %= 1000000000; return t; }
static long since(const struct timespec *t) { struct timespec n; clock_gettime(CLOCK_MONOTONIC, &n); return ((n.tv_sec - t->tv_sec) * 1000000000 + n.tv_nsec - t->tv_nsec) / 1000000; }
static void took(const char *what, int code, const struct timespec *t0, long ms) { const long d = since(t0); printf("%s: %d, in time %d\n", what, code, d >= ms - 1 && d <= ms + 1); }
static void *nothing(void *x) { return x; }
static void *holds(void *x) { pthread_mutex_lock(&m); usleep(20000); pthread_mutex_unlock(&m); return x; }
static void *dies(void *x) { pthread_mutex_lock(x); return NULL; }
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static void *reads(void *x) { P(pthread_rwlock_tryrdlock(&rw)); P(pthread_rwlock_trywrlock(&rw)); return x; }
static void *clocks(void *x) { usleep(30000); return x; }
static pthread_t self_seen;
static void *selfs(void *x) { self_seen = pthread_self(); *(pid_t *)x = gettid(); usleep(1000); return NULL; }
static sigjmp_buf at;
static volatile sig_atomic_t n;
static void jump(int s) { n++; siglongjmp(at, s); }
static int count;
static void *enters(void *x) { pthread_mutex_lock(&m); count++; pthread_mutex_unlock(&m); return x; }
static void child(void) { n += 1; }
#define T0 clock_gettime(CLOCK_MONOTONIC, &t0)
static struct timespec t0, t, r;
static pthread_t a, b;
static void *res;
static clockid_t k;
static void waits(void) {
  T0;
  t = in(CLOCK_REALTIME, 20);
  pthread_mutex_lock(&m);
  took("cond realtime", pthread_cond_timedwait(&c, &m, &t), &t0, 20);
  pthread_mutex_unlock(&m);
  pthread_condattr_t ca;
  pthread_cond_t cm;
  pthread_condattr_init(&ca);
  P(pthread_condattr_setclock(&ca, CLOCK_MONOTONIC));
  P(pthread_condattr_getclock(&ca, &k));
  P(k == CLOCK_MONOTONIC);
  P(pthread_condattr_setclock(&ca, CLOCK_PROCESS_CPUTIME_ID));
  P(pthread_cond_init(&cm, &ca));
  T0;
  t = in(CLOCK_MONOTONIC, 20);
  pthread_mutex_lock(&m);
  took("cond monotonic", pthread_cond_timedwait(&cm, &m, &t), &t0, 20);
  pthread_mutex_unlock(&m);
  T0;
  t = in(CLOCK_MONOTONIC, 20);
  pthread_mutex_lock(&m);
  took("clockwait", pthread_cond_clockwait(&c, &m, CLOCK_MONOTONIC, &t), &t0, 20);
  pthread_mutex_unlock(&m);
  t.tv_nsec = 1000000000;
  pthread_mutex_lock(&m);
  P(pthread_cond_timedwait(&c, &m, &t));
  pthread_mutex_unlock(&m);
  t.tv_nsec = 0, t.tv_sec = 1;
  pthread_mutex_lock(&m);
  P(pthread_cond_timedwait(&c, &m, &t));
  pthread_mutex_unlock(&m);
  sem_t s;
  sem_init(&s, 0, 0);
  T0;
  t = in(CLOCK_REALTIME, 20);
  took("sem_timedwait", sem_timedwait(&s, &t), &t0, 20);
  P(errno);
  T0;
  t = in(CLOCK_MONOTONIC, 20);
  took("sem_clockwait", sem_clockwait(&s, CLOCK_MONOTONIC, &t), &t0, 20);
  t.tv_nsec = -1;
  P(sem_timedwait(&s, &t));
  P(errno == EINVAL);
  sem_post(&s);
  P(sem_timedwait(&s, &t));
  P(sem_trywait(&s));
  P(errno == EAGAIN);
  P(sem_init(&s, 0, (unsigned)SEM_VALUE_MAX + 1));
  P(errno == EINVAL);
  P(sem_init(&s, 0, SEM_VALUE_MAX));
  P(sem_post(&s));
  P(errno == EOVERFLOW);
  int v;
  sem_getvalue(&s, &v);
  P(v == SEM_VALUE_MAX);
  /* named */
  char name[64];
  snprintf(name, sizeof name, "/pm_test_%d", (int)getpid());
  sem_t *ns = sem_open(name, O_CREAT | O_EXCL, 0600, 2);
  P(ns != SEM_FAILED);
  P(sem_wait(ns));
  sem_getvalue(ns, &v);
  P(v);
  sem_t *ns2 = sem_open(name, 0);
  P(ns2 == ns);
  P(sem_open(name, O_CREAT | O_EXCL, 0600, 2) == SEM_FAILED);
  P(errno == EEXIST);
  P(sem_close(ns2));
  P(sem_close(ns));
  P(sem_unlink(name));
  P(sem_unlink(name));
  P(errno == ENOENT);
}
static void sleeps(void) {
  T0;
  t = in(CLOCK_MONOTONIC, 20);
  took("clock_nanosleep abs", clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL), &t0, 20);
  T0;
  t = in(CLOCK_REALTIME, 20);
  took("clock_nanosleep abs real", clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &t, NULL), &t0, 20);
  T0;
  t = (struct timespec){0, 20000000};
  took("clock_nanosleep", clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &r), &t0, 20);
  T0;
  t = (struct timespec){1, 0};
  took("clock_nanosleep past", clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, &r), &t0, 0);
  t = (struct timespec){0, 1000000000};
  P(clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &r));
  P(nanosleep(&t, &r));
  P(errno == EINVAL);
  t.tv_sec = -1;
  t.tv_nsec = 0;
  P(nanosleep(&t, &r));
  P(errno == EINVAL);
  t = (struct timespec){0, 1000};
  P(clock_nanosleep(CLOCK_THREAD_CPUTIME_ID, 0, &t, &r));
  P(clock_nanosleep(999, 0, &t, &r));
  P(clock_gettime(999, &t));
  P(errno == EINVAL);
  P(clock_getres(CLOCK_MONOTONIC, &t));
  P(t.tv_sec == 0 && t.tv_nsec > 0);
}
static void mutexes(void) {
  pthread_mutexattr_t ma;
  pthread_mutex_t rm;
  pthread_mutexattr_init(&ma);
  P(pthread_mutexattr_settype(&ma, PTHREAD_MUTEX_ERRORCHECK));
  pthread_mutex_init(&rm, &ma);
  P(pthread_mutex_unlock(&rm));
  P(pthread_mutex_lock(&rm));
  P(pthread_mutex_lock(&rm));
  P(pthread_mutex_trylock(&rm));
  P(pthread_mutex_destroy(&rm));
  P(pthread_mutex_unlock(&rm));
  P(pthread_mutex_destroy(&rm));
  t = in(CLOCK_REALTIME, 10);
  P(pthread_mutexattr_settype(&ma, PTHREAD_MUTEX_RECURSIVE));
  pthread_mutex_init(&rm, &ma);
  P(pthread_mutex_lock(&rm));
  P(pthread_mutex_trylock(&rm));
  P(pthread_mutex_timedlock(&rm, &t));
  P(pthread_mutex_unlock(&rm));
  P(pthread_mutex_unlock(&rm));
  P(pthread_mutex_unlock(&rm));
  P(pthread_mutex_unlock(&rm));
  pthread_mutexattr_settype(&ma, PTHREAD_MUTEX_NORMAL);
  pthread_mutexattr_setrobust(&ma, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&rm, &ma);
  pthread_create(&a, NULL, dies, &rm);
  pthread_join(a, NULL);
  P(pthread_mutex_lock(&rm));
  P(pthread_mutex_consistent(&rm));
  P(pthread_mutex_unlock(&rm));
  P(pthread_mutex_lock(&rm));
  P(pthread_mutex_unlock(&rm));
  pthread_create(&a, NULL, dies, &rm);
  pthread_join(a, NULL);
  P(pthread_mutex_trylock(&rm));
  P(pthread_mutex_unlock(&rm));
  P(pthread_mutex_lock(&rm));
  pthread_create(&a, NULL, holds, NULL);
  usleep(1000);
  T0;
  t = in(CLOCK_REALTIME, 5);
  took("timedlock", pthread_mutex_timedlock(&m, &t), &t0, 5);
  P(pthread_mutex_trylock(&m));
  pthread_join(a, NULL);
  pthread_mutexattr_init(&ma);
  pthread_mutexattr_setprotocol(&ma, PTHREAD_PRIO_INHERIT);
  pthread_mutexattr_setpshared(&ma, PTHREAD_PROCESS_SHARED);
  P(pthread_mutex_init(&rm, &ma));
  P(pthread_mutex_lock(&rm));
  P(pthread_mutex_unlock(&rm));
  int ceiling;
  P(pthread_mutex_getprioceiling(&rm, &ceiling));
  pthread_t q[5];
  pthread_mutex_lock(&m);
  for (int i = 0; i < 5; i++) {
    pthread_create(&q[i], NULL, enters, (void *)(intptr_t)i);
    usleep(2000);
  }
  pthread_mutex_unlock(&m);
  for (int i = 0; i < 5; i++) pthread_join(q[i], NULL);
  P(count);
}
static void other_locks(void) {
  pthread_rwlock_rdlock(&rw);
  pthread_create(&a, NULL, reads, NULL);
  pthread_join(a, NULL);
  P(pthread_rwlock_unlock(&rw));
  P(pthread_rwlock_unlock(&rw));
  P(pthread_rwlock_wrlock(&rw));
  P(pthread_rwlock_wrlock(&rw));
  P(pthread_rwlock_rdlock(&rw));
  pthread_create(&a, NULL, reads, NULL);
  pthread_join(a, NULL);
  P(pthread_rwlock_unlock(&rw));
  t = in(CLOCK_REALTIME, 5);
  P(pthread_rwlock_timedwrlock(&rw, &t));
  P(pthread_rwlock_unlock(&rw));
  pthread_barrier_t ba;
  P(pthread_barrier_init(&ba, NULL, 0));
  P(pthread_barrier_init(&ba, NULL, 1));
  P(pthread_barrier_wait(&ba));
  P(pthread_barrier_destroy(&ba));
  pthread_spinlock_t sp;
  pthread_spin_init(&sp, 0);
  P(pthread_spin_lock(&sp));
  P(pthread_spin_trylock(&sp));
  P(pthread_spin_unlock(&sp));
}
static void threads(void) {
  pthread_attr_t at_;
  size_t bytes;
  int x;
  pthread_attr_init(&at_);
  P(pthread_attr_setstacksize(&at_, 1));
  P(pthread_attr_setstacksize(&at_, 1 << 20));
  P(pthread_attr_getstacksize(&at_, &bytes));
  P(bytes);
  P(pthread_attr_setdetachstate(&at_, PTHREAD_CREATE_DETACHED));
  P(pthread_create(&a, &at_, nothing, NULL));
  usleep(5000);
  pthread_attr_setdetachstate(&at_, PTHREAD_CREATE_JOINABLE);
  P(pthread_create(&a, &at_, clocks, NULL));
  P(pthread_getcpuclockid(a, &k));
  P(clock_gettime(k, &t));
  P(t.tv_sec);
  P(pthread_getcpuclockid(pthread_self(), &k));
  P(clock_gettime(k, &t));
  P(clock_getcpuclockid(0, &k));
  P(clock_gettime(k, &t));
  pthread_attr_t ga;
  P(pthread_getattr_np(a, &ga));
  P(pthread_attr_getstacksize(&ga, &bytes));
  P(bytes);
  pthread_attr_getdetachstate(&ga, &x);
  P(x);
  void *low;
  P(pthread_attr_getstack(&ga, &low, &bytes));
  P(low != NULL);
  P(pthread_join(a, &res));
  P(pthread_join(pthread_self(), &res) == EDEADLK);
  char nm[16];
  P(pthread_setname_np(pthread_self(), "worker"));
  P(pthread_getname_np(pthread_self(), nm, sizeof nm));
  puts(nm);
  pid_t tid = 0;
  pthread_create(&b, NULL, selfs, &tid);
  usleep(500);
  P(pthread_equal(b, self_seen));
  P(tid != getpid());
  P(gettid() == getpid());
  P(syscall(SYS_gettid) == getpid());
  P(tgkill(getpid(), tid, 0));
  pthread_join(b, NULL);
  P(tgkill(getpid(), tid, 0));
  P(errno == ESRCH);
  P(pthread_setconcurrency(2));
  P(pthread_getconcurrency());
  P(pthread_atfork(NULL, NULL, child));
  pthread_create(&a, NULL, clocks, NULL);
  t = in(CLOCK_REALTIME, 3);
  P(pthread_timedjoin_np(a, &res, &t));
  P(pthread_tryjoin_np(a, &res));
  P(pthread_detach(a));
  P(pthread_detach(a));
  P(pthread_join(a, NULL));
  usleep(50000);
}
static void cores(void) {
  cpu_set_t set;
  CPU_ZERO(&set);
  P(sched_getaffinity(0, sizeof set, &set));
  P(CPU_COUNT(&set) == sysconf(_SC_NPROCESSORS_ONLN));
  P(sched_getcpu() >= 0 && CPU_ISSET((size_t)sched_getcpu(), &set));
  P(sched_setaffinity(0, sizeof set, &set));
  CPU_ZERO(&set);
  P(sched_setaffinity(0, sizeof set, &set));
  P(errno == EINVAL);
  P(sched_getaffinity(0, 1, &set));
  P(sched_get_priority_max(SCHED_FIFO));
  P(sched_getscheduler(0));
  struct sched_param sch = {0};
  P(sched_getparam(0, &sch));
  P(sch.sched_priority);
  P(sched_rr_get_interval(0, &t));
  unsigned cpu, node;
  P(getcpu(&cpu, &node));
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  size_t one = 0;
  while (!CPU_ISSET(one, &set)) one++;
  CPU_ZERO(&set);
  CPU_SET(one, &set);
  P(pthread_setaffinity_np(pthread_self(), sizeof set, &set));
  CPU_ZERO(&set);
  P(pthread_getaffinity_np(pthread_self(), sizeof set, &set));
  P(CPU_COUNT(&set));
  P(sched_getcpu() == (int)one);
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  P(CPU_COUNT(&set));
}
static void jumps(void) {
  signal(SIGUSR1, jump); for (volatile int i = 0; i < 3; i++) if (!sigsetjmp(at, 1)) raise(SIGUSR1); P(n);
  n = 0; signal(SIGALRM, jump); for (volatile int i = 0; i < 2; i++) if (!sigsetjmp(at, 1)) { struct itimerval iv = {{0, 0}, {0, 5000}}; setitimer(ITIMER_REAL, &iv, NULL); for (;;) pause(); } P(n);
  sigset_t now;
  pthread_sigmask(SIG_BLOCK, NULL, &now);
  P(sigismember(&now, SIGUSR1));
  P(sigismember(&now, SIGALRM));
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  P(siginterrupt(SIGUSR1, 1));
  struct sigaction sa;
  sigaction(SIGUSR1, NULL, &sa);
  P((sa.sa_flags & SA_RESTART) != 0);
}
/* A wait for what never comes would not end. */
static void wrong_ends(void) {
  int ends[2], got;
  char byte = 0;
  P(pipe(ends));
  got = (int)write(ends[0], &byte, 1), P(got < 0 ? errno == EBADF : -1);
  got = (int)read(ends[1], &byte, 1), P(got < 0 ? errno == EBADF : -1);
  close(ends[0]), close(ends[1]);
}
int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  waits();
  sleeps();
  mutexes();
  other_locks();
  threads();
  cores();
  jumps();
  wrong_ends();
  pthread_exit(NULL);
}
