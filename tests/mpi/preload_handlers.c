/* preload_handlers.c: what a program asks and hears of its own signal handlers, set in all ways that libc has, before
   MPI_Init, between and after MPI_Finalize: the same with the preload and without. */
#include <mpi.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* sigset, siginterrupt */

static sigjmp_buf back;
static void one(int number) { printf("  one(%d)\n", number); }
static void two(int number) { printf("  two(%d)\n", number); }
static void jumps(int number) { siglongjmp(back, number); }
static void tells(int number, siginfo_t *info, void *context) {
  printf("  tells(%d) code %d from %s, %s\n", number, info->si_code, info->si_pid == getpid() ? "itself" : "others",
         context ? "with a context" : "without");
}

static const char *name_of(__sighandler_t handler) {
  return handler == SIG_DFL   ? "default"
         : handler == SIG_IGN ? "ignored"
         : handler == SIG_ERR ? "error"
         : handler == one     ? "one"
         : handler == two     ? "two"
         : handler == jumps   ? "jumps"
                              : "another";
}
static void show(int number) {
  struct sigaction a;
  int blocked = 0;
  sigaction(number, NULL, &a);
  for (int i = 1; i < 32; i++) blocked += sigismember(&a.sa_mask, i);
  if (a.sa_flags & SA_SIGINFO) printf("  %d: %s", number, a.sa_sigaction == tells ? "tells" : "another with siginfo");
  else printf("  %d: %s", number, name_of(a.sa_handler));
  printf(", flags %x, blocks %d\n", (unsigned)a.sa_flags & ~0x04000000u, blocked); /* without SA_RESTORER */
}
static void set(int number, void (*handler)(int, siginfo_t *, void *), int flags) {
  struct sigaction a, old;
  memset(&a, 0, sizeof a);
  a.sa_sigaction = handler;
  a.sa_flags = flags | SA_SIGINFO;
  sigaddset(&a.sa_mask, SIGCHLD);
  printf("  sigaction %d\n", sigaction(number, &a, &old));
  show(number);
}

static void ways(const char *when) {
  printf("%s\n", when);
  printf("  signal: was %s\n", name_of(signal(SIGUSR1, one)));
  show(SIGUSR1), raise(SIGUSR1);
  siginterrupt(SIGUSR1, 1);
  show(SIGUSR1);
  printf("  signal: was %s\n", name_of(signal(SIGUSR1, two)));
  show(SIGUSR1), raise(SIGUSR1);
  siginterrupt(SIGUSR1, 0);
  signal(SIGTERM, SIG_DFL);
  set(SIGTERM, tells, (int)SA_RESETHAND);
  raise(SIGTERM), show(SIGTERM);
  printf("  signal: was %s\n", name_of(signal(SIGTERM, SIG_IGN)));
  raise(SIGTERM), show(SIGTERM);
  set(SIGTERM, tells, SA_NODEFER | SA_RESTART), raise(SIGTERM);
  signal(SIGTERM, one), show(SIGTERM);
  printf("  sigset: was %s\n", name_of(sigset(SIGUSR2, one)));
  show(SIGUSR2), raise(SIGUSR2);
  printf("  signal: was %s\n", name_of(signal(SIGUSR2, two)));
  show(SIGUSR2), raise(SIGUSR2);
  printf("  sysv_signal: was %s\n", name_of(sysv_signal(SIGUSR2, one)));
  show(SIGUSR2), raise(SIGUSR2), show(SIGUSR2);
  show(SIGURG), raise(SIGURG); /* by which the preload asks: ignored */
  printf("  signal: was %s\n", name_of(signal(SIGURG, one)));
  show(SIGURG), raise(SIGURG);
  printf("  signal: was %s\n", name_of(signal(SIGURG, SIG_DFL)));
  show(SIGURG), raise(SIGURG);
  sigaction(SIGURG, &(struct sigaction){.sa_handler = SIG_DFL}, NULL), show(SIGURG);
  signal(SIGHUP, jumps);
  if (!sigsetjmp(back, 1)) raise(SIGHUP);
  else printf("  came back\n");
  printf("  refused: %s", name_of(signal(SIGKILL, one)));
  printf(", %s", name_of(signal(99, one)));
  printf(", %s\n", name_of(signal(SIGUSR1, SIG_ERR)));
  printf("  sigaction of SIGKILL: %d\n", sigaction(SIGKILL, &(struct sigaction){.sa_handler = one}, NULL));
  show(SIGUSR1);
  signal(SIGFPE, one), show(SIGFPE), raise(SIGFPE);
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    printf("  in a child:\n");
    show(SIGTERM), raise(SIGTERM), show(SIGUSR2);
    printf("  signal: was %s\n", name_of(signal(SIGTERM, two)));
    show(SIGTERM), raise(SIGTERM);
    fflush(stdout);
    _exit(0);
  }
  waitpid(child, NULL, 0);
  signal(SIGFPE, SIG_DFL);
  sigset(SIGTERM, two); /* past signal and sigaction */
}

int main(int argc, char **argv) {
  ways("before");
  MPI_Init(&argc, &argv);
  show(SIGTERM), show(SIGUSR1);
  raise(SIGTERM);
  ways("between");
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  printf("after\n");
  show(SIGTERM), show(SIGUSR1), show(SIGUSR2), show(SIGHUP);
  raise(SIGTERM), raise(SIGUSR1);
  ways("after");
  return 0;
}
