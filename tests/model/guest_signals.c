/* Signals and cancellation of threads and timers, as on any system: prints what Linux prints (guest_signals.txt). */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static pthread_t threads[4], first;
static volatile sig_atomic_t count, by, code, value;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t sem;
static volatile int is_there, is_over;

static int who(void) {
  for (int i = 0; i < 4; i++)
    if (threads[i] && pthread_equal(threads[i], pthread_self())) return i + 1;
  return pthread_equal(first, pthread_self()) ? 0 : -1;
}
static void note(int number) { count++, by = who(); (void)number; }
static void tell(int number, siginfo_t *info, void *context) {
  count++, by = who(), code = info->si_code, value = info->si_value.sival_int;
  if (!context || info->si_signo != number) value = -1;
}
static void handle(int number, int flags) {
  struct sigaction a;
  memset(&a, 0, sizeof a);
  a.sa_flags = flags;
  if (flags & SA_SIGINFO) a.sa_sigaction = tell;
  else a.sa_handler = note;
  sigaction(number, &a, NULL);
}
static void ms(int n) {
  const struct timespec d = {n / 1000, n % 1000 * 1000000L};
  nanosleep(&d, NULL);
}
/* Runs fn in thread 1, gives it time to wait, then signals it; says how it ended. */
static void signalled(const char *what, void *(*fn)(void *), int flags) {
  void *result;
  handle(SIGUSR1, flags);
  count = 0, by = -1;
  pthread_create(&threads[0], NULL, fn, NULL);
  ms(20);
  const int sent = pthread_kill(threads[0], SIGUSR1);
  ms(20);
  printf("%s: sent %d, handlers %d by %d", what, sent, (int)count, (int)by);
  is_over = 1;
  pthread_mutex_lock(&mutex);
  pthread_cond_broadcast(&cond);
  pthread_mutex_unlock(&mutex);
  sem_post(&sem);
  pthread_join(threads[0], &result);
  printf(", result %ld\n", (long)(intptr_t)result);
  is_over = 0, threads[0] = 0;
  while (sem_trywait(&sem) == 0) {
  }
}
static void *sleeps(void *x) { struct timespec d = {0, 200000000}; (void)x; return (void *)(intptr_t)(nanosleep(&d, &d) ? errno * 10 + (d.tv_nsec > 100000000) : 0); }
static void *waits_sem(void *x) { (void)x; return (void *)(intptr_t)(sem_wait(&sem) ? errno : 0); }
static void *waits_cond(void *x) {
  (void)x;
  pthread_mutex_lock(&mutex);
  while (!is_over) pthread_cond_wait(&cond, &mutex);
  pthread_mutex_unlock(&mutex);
  return NULL;
}
static void *pauses(void *x) { (void)x; return (void *)(intptr_t)(pause() ? errno : 0); }
static void *polls(void *x) { (void)x; return (void *)(intptr_t)(poll(NULL, 0, 300) ? errno : 0); }
static int pipes[2];
static void *reads(void *x) { char c; (void)x; const ssize_t n = read(pipes[0], &c, 1); return (void *)(intptr_t)(n < 0 ? errno : n); }
static void *spins(void *x) { (void)x; while (!count) { } return (void *)5; }
static void *looks(void *x) { struct timespec t; (void)x; while (!count) clock_gettime(CLOCK_MONOTONIC, &t); return (void *)6; }
static void *yields(void *x) { (void)x; while (!count) sched_yield(); return (void *)7; }
static void *blocks(void *x) {
  sigset_t set, old;
  (void)x;
  sigemptyset(&set), sigaddset(&set, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &set, &old);
  ms(30);
  const int before = count;
  sigpending(&set);
  const int pending = sigismember(&set, SIGUSR1);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  return (void *)(intptr_t)(100 * before + 10 * count + pending);
}
static void *last;
static void *joins(void *x) { (void)x; pthread_join(threads[1], &last); return (void *)8; }
static void *naps(void *x) { ms(60); return x; }
static void *waits_barrier(void *x) { (void)x; pthread_barrier_wait(&barrier); return (void *)9; }
static void *meets_barrier(void *x) { ms(60); pthread_barrier_wait(&barrier); return x; }
static void *locks(void *x) { (void)x; pthread_mutex_lock(&mutex); pthread_mutex_unlock(&mutex); return (void *)10; }

/* ---- waits for signals ---- */
static void *waits_signal(void *x) {
  sigset_t set;
  int number = 0;
  sigemptyset(&set), sigaddset(&set, SIGUSR2), sigaddset(&set, SIGTERM), sigaddset(&set, SIGALRM);
  const int failed = sigwait(&set, &number);
  return (void)x, (void *)(intptr_t)(failed ? -failed : number);
}
static void *waits_info(void *x) {
  sigset_t set;
  siginfo_t info;
  sigemptyset(&set), sigaddset(&set, SIGRTMIN), sigaddset(&set, SIGRTMIN + 1);
  for (int i = 0; i < 4; i++) {
    const int number = sigwaitinfo(&set, &info);
    printf("  info: %d of %d, code %d, value %d\n", number - SIGRTMIN, info.si_signo - SIGRTMIN, info.si_code, info.si_value.sival_int);
  }
  const struct timespec d = {0, 30000000};
  const int number = sigtimedwait(&set, &info, &d);
  printf("  then %d %d\n", number, errno == EAGAIN);
  return x;
}
static void waits_for_signals(void) {
  sigset_t set, old;
  void *result;
  sigemptyset(&set), sigaddset(&set, SIGUSR2), sigaddset(&set, SIGTERM), sigaddset(&set, SIGALRM), sigaddset(&set, SIGRTMIN), sigaddset(&set, SIGRTMIN + 1);
  pthread_sigmask(SIG_BLOCK, &set, &old);
  pthread_create(&threads[0], NULL, waits_signal, NULL);
  ms(10);
  kill(getpid(), SIGTERM);
  pthread_join(threads[0], &result);
  printf("sigwait %d\n", (int)(intptr_t)result == SIGTERM);
  pthread_create(&threads[0], NULL, waits_signal, NULL);
  ms(10);
  pthread_kill(threads[0], SIGUSR2);
  pthread_join(threads[0], &result);
  printf("sigwait of one's own %d\n", (int)(intptr_t)result == SIGUSR2);
  pthread_kill(pthread_self(), SIGUSR2);
  printf("sigwait of what is there %d\n", (int)(intptr_t)waits_signal(NULL) == SIGUSR2);
  const struct itimerval t = {{0, 0}, {0, 30000}};
  setitimer(ITIMER_REAL, &t, NULL);
  printf("sigwait of a timer %d\n", (int)(intptr_t)waits_signal(NULL) == SIGALRM);
  setitimer(ITIMER_REAL, &t, NULL);
  pthread_create(&threads[0], NULL, waits_signal, NULL);
  pthread_join(threads[0], &result);
  printf("sigwait of a timer, joined %d\n", (int)(intptr_t)result == SIGALRM);
  pthread_create(&threads[0], NULL, waits_info, NULL);
  const union sigval v = {.sival_int = 7}, w = {.sival_int = 8};
  sigqueue(getpid(), SIGRTMIN + 1, v);
  sigqueue(getpid(), SIGRTMIN, v);
  sigqueue(getpid(), SIGRTMIN, w);
  pthread_sigqueue(threads[0], SIGRTMIN + 1, w);
  pthread_join(threads[0], &result);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  threads[0] = 0;
}
/* ---- to the process ---- */
static void *blocks_all(void *x) { sigset_t set; sigfillset(&set); pthread_sigmask(SIG_SETMASK, &set, NULL); ms(60); return x; }
static void to_the_process(void) {
  sigset_t set, old;
  handle(SIGUSR1, SA_SIGINFO);
  pthread_create(&threads[0], NULL, blocks_all, NULL);
  count = 0;
  ms(10);
  kill(getpid(), SIGUSR1);
  printf("to the process: %d by %d code %d\n", (int)count, (int)by, (int)code == SI_USER);
  pthread_join(threads[0], NULL);
  sigemptyset(&set), sigaddset(&set, SIGUSR1);
  pthread_create(&threads[0], NULL, naps, NULL);
  pthread_sigmask(SIG_BLOCK, &set, &old);
  count = 0;
  ms(10);
  kill(getpid(), SIGUSR1);
  ms(20);
  printf("to another thread: %d by %d\n", (int)count, (int)by);
  pthread_join(threads[0], NULL);
  threads[0] = 0;
  count = 0;
  kill(getpid(), SIGUSR1);
  printf("to none %d, ", (int)count);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  printf("later %d by %d\n", (int)count, (int)by);
  raise(SIGUSR1);
  printf("raise %d code %d\n", (int)count, (int)code == SI_TKILL);
}
/* a mask is inherited */
static void *inherits(void *x) { sigset_t set; (void)x; pthread_sigmask(SIG_BLOCK, NULL, &set); return (void *)(intptr_t)sigismember(&set, SIGUSR2); }

/* ---- cancellation ---- */
static volatile int cleaned;
static void clean(void *x) { cleaned += (int)(intptr_t)x; }
static void unlock(void *x) { cleaned += 100; pthread_mutex_unlock(x); }
static void *cancelled_sleep(void *x) { pthread_cleanup_push(clean, (void *)1); sleep(100); pthread_cleanup_pop(0); return x; }
static void *cancelled_cond(void *x) {
  pthread_mutex_lock(&mutex);
  pthread_cleanup_push(unlock, &mutex);
  for (;;) pthread_cond_wait(&cond, &mutex);
  pthread_cleanup_pop(0);
  return x;
}
static void *cancelled_sem(void *x) { pthread_cleanup_push(clean, (void *)2); sem_wait(&sem); pthread_cleanup_pop(0); return x; }
static void *cancelled_read(void *x) { char c; pthread_cleanup_push(clean, (void *)3); if (read(pipes[0], &c, 1)) clean((void *)50); pthread_cleanup_pop(0); return x; }
static void *cancelled_pause(void *x) { pthread_cleanup_push(clean, (void *)4); pause(); pthread_cleanup_pop(0); return x; }
static void *cancelled_poll(void *x) { pthread_cleanup_push(clean, (void *)5); poll(NULL, 0, -1); pthread_cleanup_pop(0); return x; }
static void *cancelled_join(void *x) { pthread_cleanup_push(clean, (void *)6); pthread_join(threads[1], NULL); pthread_cleanup_pop(0); return x; }
static void *cancelled_test(void *x) { pthread_cleanup_push(clean, (void *)7); for (;;) pthread_testcancel(); pthread_cleanup_pop(0); return x; }
static void *cancelled_async(void *x) {
  int old;
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
  cleaned += old == PTHREAD_CANCEL_DEFERRED;
  for (;;) {
  }
  return x;
}
static void *cancelled_wait(void *x) { sigset_t set; int n; sigemptyset(&set), sigaddset(&set, SIGHUP); pthread_sigmask(SIG_BLOCK, &set, NULL); pthread_cleanup_push(clean, (void *)8); sigwait(&set, &n); pthread_cleanup_pop(0); return x; }
static void *not_cancelled(void *x) {
  int old, was;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
  ms(40);
  pthread_testcancel();
  cleaned += 10;
  pthread_setcancelstate(old, &was);
  cleaned += old == PTHREAD_CANCEL_ENABLE && was == PTHREAD_CANCEL_DISABLE;
  pthread_testcancel();
  cleaned += 1000;
  return x;
}
static void *cancels_itself(void *x) { pthread_cleanup_push(clean, (void *)9); pthread_cancel(pthread_self()); clean((void *)20); pthread_testcancel(); pthread_cleanup_pop(0); return x; }
static pthread_key_t key;
static void key_ends(void *x) { cleaned += (int)(intptr_t)x; }
static void *with_key(void *x) { pthread_setspecific(key, (void *)300); pause(); return x; }
static void cancelled(const char *what, void *(*fn)(void *)) {
  void *result = NULL;
  cleaned = 0;
  pthread_create(&threads[0], NULL, fn, NULL);
  ms(20);
  const int c = pthread_cancel(threads[0]), joined = pthread_join(threads[0], &result);
  printf("cancelled %s: %d %d %d, cleaned %d, mutex %d\n", what, c, joined, result == PTHREAD_CANCELED, cleaned, pthread_mutex_trylock(&mutex));
  pthread_mutex_unlock(&mutex);
}
/* ---- timers ---- */
static void on_timer(union sigval v) { value = v.sival_int, is_there++; }
static void timer(void) {
  timer_t t;
  struct sigevent e;
  struct itimerspec s = {{0, 10000000}, {0, 20000000}}, now;
  handle(SIGRTMIN + 2, SA_SIGINFO);
  memset(&e, 0, sizeof e);
  e.sigev_notify = SIGEV_SIGNAL, e.sigev_signo = SIGRTMIN + 2, e.sigev_value.sival_int = 77;
  count = 0;
  printf("timer_create %d\n", timer_create(CLOCK_MONOTONIC, &e, &t));
  printf("timer_settime %d\n", timer_settime(t, 0, &s, NULL));
  while (count < 3) pause();
  printf("timer %d code %d value %d\n", (int)count, code == SI_TIMER, (int)value);
  timer_gettime(t, &now);
  printf("every %ld, in time %d, overrun %d\n", now.it_interval.tv_nsec, now.it_value.tv_nsec > 0 && now.it_value.tv_nsec <= 10000000, timer_getoverrun(t));
  memset(&s, 0, sizeof s);
  timer_settime(t, 0, &s, &now);
  clock_gettime(CLOCK_MONOTONIC, &s.it_value);
  s.it_value.tv_nsec += 30000000;
  if (s.it_value.tv_nsec >= 1000000000) s.it_value.tv_sec++, s.it_value.tv_nsec -= 1000000000;
  count = 0;
  timer_settime(t, TIMER_ABSTIME, &s, NULL);
  printf("before %d, ", (int)count);
  while (!count) ms(10);
  timer_gettime(t, &now);
  printf("after %d, left %ld, delete %d\n", (int)count, (long)now.it_value.tv_nsec, timer_delete(t));
  e.sigev_notify = SIGEV_THREAD, e.sigev_notify_function = on_timer, e.sigev_notify_attributes = NULL, e.sigev_value.sival_int = 78;
  s = (struct itimerspec){{0, 0}, {0, 20000000}};
  is_there = 0;
  printf("timer_create %d", timer_create(CLOCK_REALTIME, &e, &t));
  printf(" %d\n", timer_settime(t, 0, &s, NULL));
  ms(60);
  printf("thread %d value %d\n", is_there, (int)value);
  timer_delete(t);
  e.sigev_notify = SIGEV_NONE;
  printf("none %d", timer_create(CLOCK_REALTIME, &e, &t));
  printf(" %d ", timer_settime(t, 0, &s, NULL));
  timer_gettime(t, &now);
  printf("%d\n", now.it_value.tv_nsec > 10000000);
  e.sigev_notify = 99;
  printf("wrong %d", timer_create(CLOCK_REALTIME, &e, &t));
  printf(" %d, ", errno == EINVAL);
  s.it_value.tv_nsec = 1000000000;
  e.sigev_notify = SIGEV_NONE;
  timer_create(CLOCK_REALTIME, NULL, &t);
  printf("%d", timer_settime(t, 0, &s, NULL));
  printf(" %d\n", errno == EINVAL);
}

/* Signals as a file: blocked ones are read, in the order of their numbers. */
static void told_by(int fd) {
  struct signalfd_siginfo s[4];
  const ssize_t n = read(fd, s, sizeof s);
  printf("signalfd %ld:", (long)(n < 0 ? -errno : n / (ssize_t)sizeof *s));
  for (ssize_t i = 0; i < n / (ssize_t)sizeof *s; i++)
    printf(" %d code %d value %d%s", (int)s[i].ssi_signo - (s[i].ssi_signo >= 34 ? SIGRTMIN - 34 : 0), s[i].ssi_code, s[i].ssi_int, s[i].ssi_code == SI_TIMER || s[i].ssi_pid == (uint32_t)getpid() ? "" : " of another");
  puts("");
}
static void *sends_later(void *unused) {
  ms(30);
  const int sent = kill(getpid(), SIGUSR2);
  return (void *)(intptr_t)(sent + (unused != NULL));
}
static int is_ready(int fd) {
  struct pollfd file = {fd, POLLIN, 0};
  return poll(&file, 1, 0);
}
static void signals_as_files(void) {
  sigset_t set, before, now;
  struct itimerval rings = {{0, 10000}, {0, 10000}};
  const struct itimerval never = {{0, 0}, {0, 0}};
  struct epoll_event event = {.events = EPOLLIN}, got;
  char small[8];
  sigemptyset(&set), sigaddset(&set, SIGUSR1), sigaddset(&set, SIGUSR2), sigaddset(&set, SIGRTMIN), sigaddset(&set, SIGALRM);
  pthread_sigmask(SIG_BLOCK, &set, &before);
  handle(SIGUSR2, 0);
  handle(SIGALRM, 0);
  count = 0;
  const int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC), epoll = epoll_create1(0);
  printf("signalfd %d, ready %d\n", fd >= 0, is_ready(fd));
  told_by(fd);
  kill(getpid(), SIGUSR2);
  sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = 7});
  sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = 8});
  raise(SIGUSR1);
  printf("ready %d, small %ld\n", is_ready(fd), (long)read(fd, small, sizeof small));
  told_by(fd);
  printf("ready %d\n", is_ready(fd));
  sigpending(&now);
  printf("pending %d, handlers %d\n", sigismember(&now, SIGUSR2), (int)count);
  epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
  pthread_create(&threads[0], NULL, sends_later, NULL);
  printf("epoll %d", epoll_wait(epoll, &got, 1, 1000));
  pthread_join(threads[0], NULL);
  puts("");
  sigdelset(&set, SIGUSR2);
  printf("other signals %d, ready %d\n", signalfd(fd, &set, 0) == fd, is_ready(fd));
  sigaddset(&set, SIGUSR2);
  signalfd(fd, &set, 0);
  told_by(fd);
  const int waits = signalfd(-1, &set, 0);
  pthread_create(&threads[0], NULL, sends_later, NULL);
  told_by(waits);
  pthread_join(threads[0], NULL);
  setitimer(ITIMER_REAL, &rings, NULL);
  told_by(waits);
  told_by(waits);
  setitimer(ITIMER_REAL, &never, NULL);
  kill(getpid(), SIGUSR2);
  printf("taken by sigwait %d", sigtimedwait(&set, NULL, &(struct timespec){1, 0}) == SIGUSR2);
  printf(", ready %d\n", is_ready(waits));
  kill(getpid(), SIGUSR2);
  close(fd), close(waits), close(epoll);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  printf("then handled %d\n", (int)count);
  const int flags = signalfd(-1, &set, 1 << 30), by_flags = errno, input = signalfd(0, &set, 0), by_input = errno, none = signalfd(999, &set, 0);
  printf("no such %d %d, %d %d, %d %d\n", flags, by_flags == EINVAL, input, by_input == EINVAL, none, errno == EBADF);
  threads[0] = 0;
}
/* A lock of a file, opened twice. */
static char locked[] = "/tmp/guest_signals_XXXXXX";
static void *holds(void *unused) {
  const int fd = open(locked, O_RDWR);
  const int mine = flock(fd, LOCK_EX | LOCK_NB);
  (void)unused;
  ms(60);
  is_over = 1;
  return (void *)(intptr_t)(mine + flock(fd, LOCK_UN) + close(fd));
}
static void locks_of_files(void) {
  const int fd = mkstemp(locked);
  void *result;
  is_over = 0;
  pthread_create(&threads[0], NULL, holds, NULL);
  ms(20);
  const int at_once = flock(fd, LOCK_EX | LOCK_NB), by_other = errno, later = flock(fd, LOCK_SH);
  printf("locked %d %d, then %d, waited %d", at_once, by_other == EWOULDBLOCK, later, is_over);
  pthread_join(threads[0], &result);
  printf(", %ld\n", (long)(intptr_t)result);
  close(fd);
  unlink(locked);
  threads[0] = 0;
}
/* Stacks that handlers may run on: each thread's own. */
static int is_without(void) { stack_t s; return sigaltstack(NULL, &s) == 0 && s.ss_flags == SS_DISABLE; }
static void *is_new_without(void *unused) { (void)unused; return (void *)(intptr_t)is_without(); }
static int is_refused(const stack_t *s, int why) { return sigaltstack(s, NULL) == -1 && errno == why; }
static void other_stacks(void) {
  static char room[65536];
  stack_t before, s = {.ss_sp = room, .ss_size = sizeof room};
  void *result;
  printf("no other stack %d", is_without());
  printf(", set %d", sigaltstack(&s, &before) == 0 && before.ss_flags == SS_DISABLE);
  printf(", it %d", sigaltstack(NULL, &before) == 0 && before.ss_sp == room && before.ss_size == sizeof room && before.ss_flags == 0);
  pthread_create(&threads[0], NULL, is_new_without, NULL);
  pthread_join(threads[0], &result);
  printf(", none of a new thread %ld", (long)(intptr_t)result);
  s.ss_size = 100;
  printf(", too small %d", is_refused(&s, ENOMEM));
  s.ss_flags = 77;
  printf(", unknown %d", is_refused(&s, EINVAL));
  s.ss_flags = SS_DISABLE;
  printf(", off %d", sigaltstack(&s, &before) == 0 && before.ss_sp == room);
  printf(", none %d\n", is_without());
}
int main(void) {
  void *result;
  setvbuf(stdout, NULL, _IOLBF, 0);
  first = pthread_self();
  sem_init(&sem, 0, 0);
  if (pipe(pipes)) return 1;
  signalled("nanosleep", sleeps, SA_RESTART);
  signalled("sem_wait", waits_sem, 0);
  signalled("sem_wait, restarted", waits_sem, SA_RESTART);
  signalled("pthread_cond_wait", waits_cond, 0);
  signalled("pause", pauses, SA_RESTART);
  signalled("poll", polls, SA_RESTART);
  signalled("read", reads, 0);
  handle(SIGUSR1, SA_RESTART);
  count = 0;
  pthread_create(&threads[0], NULL, reads, NULL);
  ms(20);
  pthread_kill(threads[0], SIGUSR1);
  ms(20);
  printf("read goes on after %d, ", (int)count);
  if (write(pipes[1], "x", 1) != 1) return 2;
  pthread_join(threads[0], &result);
  printf("%ld\n", (long)(intptr_t)result);
  signalled("a wait for memory", spins, 0);
  signalled("looks at the clock", looks, 0);
  signalled("yields", yields, 0);
  signalled("blocked", blocks, 0);
  pthread_create(&threads[1], NULL, naps, NULL);
  signalled("pthread_join", joins, 0);
  pthread_barrier_init(&barrier, NULL, 2);
  pthread_create(&threads[1], NULL, meets_barrier, NULL);
  signalled("barrier", waits_barrier, 0);
  pthread_join(threads[1], NULL);
  pthread_mutex_lock(&mutex);
  handle(SIGUSR1, 0);
  count = 0;
  pthread_create(&threads[0], NULL, locks, NULL);
  ms(20);
  pthread_kill(threads[0], SIGUSR1);
  ms(20);
  printf("mutex: %d by %d\n", (int)count, (int)by);
  pthread_mutex_unlock(&mutex);
  pthread_join(threads[0], NULL);
  threads[0] = threads[1] = 0;
  waits_for_signals();
  to_the_process();
  sigset_t set;
  sigemptyset(&set), sigaddset(&set, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  pthread_create(&threads[0], NULL, inherits, NULL);
  pthread_join(threads[0], &result);
  printf("inherited %ld\n", (long)(intptr_t)result);
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
  cancelled("sleep", cancelled_sleep);
  cancelled("pthread_cond_wait", cancelled_cond);
  cancelled("sem_wait", cancelled_sem);
  cancelled("read", cancelled_read);
  cancelled("pause", cancelled_pause);
  cancelled("poll", cancelled_poll);
  pthread_create(&threads[1], NULL, naps, NULL);
  cancelled("pthread_join", cancelled_join);
  pthread_join(threads[1], NULL);
  cancelled("test", cancelled_test);
  cancelled("async", cancelled_async);
  cancelled("sigwait", cancelled_wait);
  cancelled("not before", not_cancelled);
  cancelled("by itself", cancels_itself);
  pthread_key_create(&key, key_ends);
  cancelled("with a key", with_key);
  timer();
  signals_as_files();
  locks_of_files();
  printf("bad %d %d %d\n", pthread_kill(first, 99), pthread_sigmask(77, &set, NULL), pthread_kill(first, 0));
  other_stacks();
  return 0;
}
