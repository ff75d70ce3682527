/* Signals of timers, as on any system. With an argument "die": of who has no handler. Prints what the host prints; "exact":
   and how long it took, in simulated time. */
#include "guest_must.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/select.h>
#include <sys/time.h>
#include <unistd.h>

static volatile sig_atomic_t rings;
static void ring(int number) { rings += number == SIGALRM; }
static void every(int first_ms, int then_ms) {
  const struct itimerval t = {{then_ms / 1000, then_ms % 1000 * 1000}, {first_ms / 1000, first_ms % 1000 * 1000}};
  if (setitimer(ITIMER_REAL, &t, NULL)) perror("setitimer");
  rings = 0;
}
static void took(const char *what, int64_t since_ns, int is_exact) {
  if (is_exact) printf("%s took %lld ms\n", what, (long long)(now_ns() - since_ns) / 1000000);
}

int main(int argc, char **argv) {
  const int is_exact = argc > 1 && !strcmp(argv[1], "exact");
  struct sigaction action;
  struct itimerval t = {{0, 0}, {0, 1000000}};
  int pipes[2], n, code;
  sigset_t alarms, none;
  memset(&action, 0, sizeof action);
  action.sa_handler = ring;
  sigemptyset(&none);
  sigemptyset(&alarms);
  sigaddset(&alarms, SIGALRM);
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (argc > 1 && !strcmp(argv[1], "die")) return alarm(1), pause(), 0;
  sigaction(SIGALRM, &action, NULL);

  int64_t since = now_ns();
  alarm(1);
  const unsigned left = sleep(5);
  printf("sleep %d, %d\n", left == 3 || left == 4, (int)rings);
  took("sleep", since, is_exact);
  alarm(3);
  n = (int)alarm(0);
  printf("alarm %d %u\n", n, alarm(0));
  code = setitimer(ITIMER_REAL, &t, NULL);
  printf("wrong %d %d\n", code, errno == EINVAL);

  since = now_ns();
  every(30, 20);
  for (n = 0; n < 5; n++) pause();
  getitimer(ITIMER_REAL, &t);
  printf("every %d, %ld %d\n", (int)rings >= 5, (long)t.it_interval.tv_usec, t.it_value.tv_usec > 0 && t.it_value.tv_usec <= 20000);
  took("every", since, is_exact);
  every(0, 0);
  getitimer(ITIMER_REAL, &t);
  printf("none %d\n", t.it_value.tv_sec == 0 && t.it_value.tv_usec == 0);

  if (pipe(pipes)) return 1;
  struct pollfd file = {pipes[0], POLLIN, 0};
  fd_set set;
  FD_ZERO(&set);
  FD_SET(pipes[0], &set);
  struct timespec d = {60, 0}, rest = {0, 0};
  since = now_ns();
  every(20, 0);
  code = poll(&file, 1, -1);
  printf("poll %d %d %d\n", code, errno == EINTR, (int)rings);
  every(20, 0);
  code = poll(NULL, 0, 60000);
  printf("poll of none %d %d\n", code, (int)rings);
  every(20, 0);
  code = select(pipes[0] + 1, &set, NULL, NULL, NULL);
  printf("select %d %d\n", code, (int)rings);
  every(20, 0);
  code = nanosleep(&d, &rest);
  printf("nanosleep %d %d %ld\n", code, (int)rings, (long)rest.tv_sec);
  every(20, 0);
  d.tv_sec = 60;
  code = clock_nanosleep(CLOCK_MONOTONIC, 0, &d, NULL);
  printf("clock_nanosleep %d %d\n", code == EINTR, (int)rings);
  took("waits", since, is_exact);

  since = now_ns();
  sigprocmask(SIG_BLOCK, &alarms, NULL);
  every(20, 0);
  usleep(50000);
  printf("blocked %d\n", (int)rings);
  code = sigsuspend(&none);
  printf("sigsuspend %d %d\n", code, (int)rings);
  every(20, 0);
  sigsuspend(&none);
  sigprocmask(SIG_UNBLOCK, &alarms, NULL);
  printf("once more %d\n", (int)rings);
  took("blocked", since, is_exact);

  since = now_ns();
  every(20, 0);
  while (!rings) {
  }
  every(20, 0);
  while (!rings) now_ns();
  printf("waits for memory and a clock\n");
  signal(SIGALRM, SIG_IGN);
  every(20, 0);
  usleep(50000);
  printf("ignored %d\n", (int)rings);
  if (is_exact && now_ns() - since > 100000000) printf("late: %lld us\n", (long long)(now_ns() - since) / 1000);
  return 0;
}
