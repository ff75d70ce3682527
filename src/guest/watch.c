/* Watches the run from outside: a process that blocks the host (in a lock of a library that pm_run does
   not know, in a read of the terminal) blocks all, and nothing in this program could say so. A child
   process looks twice a second whether the launcher uses CPU time or switches; after a second without,
   it names the simulated process, once per block.
   Who sends SIGQUIT (Ctrl-\) is told who waits for what, and the run goes on. SIGINT (Ctrl-C) and SIGTERM end it, with
   all that is written at its end; a second one, or two seconds without an end, end it at once.
   It also shows on a terminal how far the simulation is, where the program's output goes elsewhere. What
   remains, nobody knows: programs end when they do. */
#include "guest.h"
#include "tools/progress_line.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile struct {
  long switches;
  int rank; /* who runs; -1: none */
  int64_t simulated_ns;
  int shown; /* characters of the line on the terminal */
} * shared;
enum { END_S = 2 };
static const pm_world *watched;
static pid_t watcher;
static int off;
static pm_world *running;
static volatile sig_atomic_t is_asked, ends_by; /* a signal; 0: it goes on */
volatile sig_atomic_t guest_watch_asked;

static long field(const char *text,
                  int number) { /* of /proc/PID/stat, behind the name in brackets */
  const char *at = strrchr(text, ')');
  for (int i = 2; at && i < number; i++) at = strchr(at + 1, ' ');
  long n = 0;
  if (at && sscanf(at, "%ld", &n) != 1) n = 0;
  return n;
}
static int read_text(const char *path, char *text, size_t bytes) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t n = fd < 0 ? -1 : read(fd, text, bytes - 1);
  if (fd >= 0) close(fd);
  text[n > 0 ? n : 0] = 0;
  return n > 0;
}
static const char *call_name(long number) {
  static const struct {
    long number;
    const char *name;
  } known[] = {{SYS_futex, "futex (a lock that pm_run does not know)"},
               {SYS_read, "read"},
               {SYS_recvfrom, "recv"},
               {SYS_recvmsg, "recvmsg"},
               {SYS_accept, "accept"},
               {SYS_connect, "connect"},
               {SYS_wait4, "wait"},
               {SYS_ppoll, "poll"},
               {SYS_epoll_pwait, "epoll"},
               {SYS_clock_nanosleep, "nanosleep"},
               {SYS_nanosleep, "nanosleep"},
               {SYS_fcntl, "fcntl (a lock of a file?)"},
               {SYS_rt_sigsuspend, "sigsuspend"},
               {SYS_write, "write"}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (known[i].number == number) return known[i].name;
  return "a system call";
}
/* How far the simulation is. */
static void show(progress_line *progress) {
  char text[120];
  const int64_t past_ns = progress_due_ns(progress), t_ns = shared->simulated_ns;
  if (!past_ns || shared->rank < 0) return;
  snprintf(text, sizeof text, "pm_run: %lld.%03d ms simulated in %lld s",
           (long long)(t_ns / 1000000), (int)(t_ns / 1000 % 1000),
           (long long)(past_ns / 1000000000));
  progress_say(progress, text);
  shared->shown = (int)progress->length;
}
static void watch(pid_t launcher, progress_line *progress) {
  char path[64], text[1024], line[512];
  long switches = -1, cpu = -1;
  int still = 0;
  for (;;) {
    nanosleep(&(struct timespec){0, 400000000}, NULL);
    if (getppid() != launcher) _exit(0);
    show(progress);
    snprintf(path, sizeof path, "/proc/%d/stat", (int)launcher);
    const long cpu_now =
        read_text(path, text, sizeof text) ? field(text, 14) + field(text, 15) : -2;
    const char *state = strrchr(text, ')');
    if (cpu_now != cpu || shared->switches != switches || shared->rank < 0 || !state ||
        (state[2] != 'S' && state[2] != 'D')) {
      still = 0;
    } else if (++still == 2) {
      snprintf(path, sizeof path, "/proc/%d/syscall", (int)launcher);
      long number = -1;
      if (read_text(path, text, sizeof text)) sscanf(text, "%ld", &number);
      const int n =
          snprintf(line, sizeof line,
                   "pm_run: process %d blocks the whole run, and has for a second, in %s\n",
                   shared->rank, call_name(number));
      if (write(2, line, (size_t)n) < 0) _exit(1);
    }
    cpu = cpu_now;
    switches = shared->switches;
  }
}
/* ---- who waits for what -------------------------------------------------------------------------------------------- */
/* The model's lists may be changing when the signal comes: the answer is given at the next switch, at the next call of
   MPI (of one process there is no switch), or when the clock of the host ticks in the program's own code. */
static void asked(int number) {
  (void)number;
  is_asked = guest_watch_asked = 1;
}
static void end_is_late(
    int number) { /* or an alarm of who started this program, which ends it as ever */
  const int by = ends_by ? ends_by : number;
  signal(by, SIG_DFL);
  raise(by);
}
/* Once more, half a second later or more: at once. `timeout` and launchers send it twice, one right behind the other. */
static void end_asked(int number) {
  static int64_t asked_ns;
  struct timespec now; /* the host's: clock_gettime is the programs' */
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  const int64_t now_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
  guest_watch_asked = 1;
  if (!ends_by) {
    ends_by = number;
    asked_ns = now_ns;
    alarm(END_S);
  } else if (now_ns - asked_ns >= 500000000) {
    end_is_late(number);
  }
}
static void end_now(bool is_inside) {
  char text[80];
  snprintf(text, sizeof text, "ended by %s at %.3f us", ends_by == SIGINT ? "SIGINT" : "SIGTERM",
           (double)pm_world_now_ns(watched) / 1e3);
  alarm(0);
  guest_end_run(running, 128 + ends_by, text);
  if (is_inside) pm_exit(128 + ends_by);
}
static char runs_in[160];
static void answer_one(int rank, int node, const char *does, const char *in, const char *more,
                       double t_ran_us) {
  fprintf(stderr, "  process %d (node %d) %s", rank, node, does ? "waits" : "runs");
  if (*in) fprintf(stderr, " in %s", in);
  fprintf(stderr, "%s%s%s%s", does ? ": " : "", does ? does : runs_in, *more ? " " : "", more);
  if (t_ran_us >= 0) fprintf(stderr, ", ran last at %.3f us", t_ran_us);
  fputc('\n', stderr);
}
void guest_watch_answer(const void *at) {
  if (ends_by) end_now(at != NULL);
  if (!is_asked) return;
  is_asked = 0;
  guest_watch_asked = ends_by != 0;
  memcpy(runs_in, " in ", 5);
  if (!at || !guest_describe_address(at, runs_in + 4, sizeof runs_in - 4)) *runs_in = 0;
  fprintf(stderr, "pm_run: at %.3f us:\n", (double)pm_world_now_ns(watched) / 1e3);
  guest_each_thread(watched, answer_one);
}
void guest_watch_switch(int rank) {
  guest_watch_answer(NULL);
  if (!shared) return;
  shared->switches++;
  shared->rank = rank;
  shared->simulated_ns = pm_world_now_ns(watched);
}
static void end_on(int number,
                   const struct sigaction *act) { /* unless nohup or a shell has it ignored */
  struct sigaction was;
  if (sigaction(number, NULL, &was) == 0 && was.sa_handler != SIG_IGN) sigaction(number, act, NULL);
}
static void begin_run(pm_world *world) {
  struct sigaction act;
  memset(&act, 0, sizeof act);
  act.sa_handler = asked;
  act.sa_flags = SA_RESTART;
  watched = world;
  sigaction(SIGQUIT, &act, NULL);
  act.sa_handler = end_is_late;
  sigaction(SIGALRM, &act, NULL);
  act.sa_handler = end_asked;
  sigaddset(&act.sa_mask, SIGINT); /* one after the other */
  sigaddset(&act.sa_mask, SIGTERM);
  running = world;
  end_on(SIGINT, &act);
  end_on(SIGTERM, &act);
}
/* Before anything is loaded: a child shares the launcher's memory as it is at its birth. */
static void begin(pm_world_desc *desc, pm_platform *platform) {
  (void)desc, (void)platform;
  if (off) return;
  void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return;
  const pid_t launcher = getpid();
  *(void **)(void *)&shared = page;
  shared->rank = -1;
  watcher = fork();
  if (watcher) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_NAME, "pm_run watch");
  signal(SIGINT, SIG_IGN);
  signal(SIGQUIT, SIG_IGN);
  progress_line progress; /* a program that prints on the terminal shows itself how far it is */
  progress_begin(&progress, "pm_run", !isatty(1));
  close(0), close(1);
  watch(launcher, &progress);
}
static int finish(pm_world *world, int result) {
  (void)world;
  if (shared) shared->rank = -1;
  if (watcher > 0) {
    kill(watcher, SIGKILL);
    waitpid(watcher, NULL, 0);
    if (shared->shown) fprintf(stderr, "\r%*s\r", shared->shown, "");
  }
  return result;
}
static void set_off(const char *option, const char *value) { (void)option, (void)value, off = 1; }
static const guest_option options[] = {
    {"--no-watch", NULL, "no second process that names who blocks the run", set_off},
    {NULL, NULL, NULL, NULL}};
static guest_part part = {
    .name = "watch", .options = options, .settings = begin, .begin = begin_run, .finish = finish};
__attribute__((constructor)) static void add(void) { guest_part_add(&part); }
