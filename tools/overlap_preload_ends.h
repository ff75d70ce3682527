/* overlap_preload_ends.h: ends without MPI_Finalize: exit, deadly signals, children of fork. */
/* Another thread may be writing the report just now: it has five seconds to end. */
static void finish_or_wait(void) {
  const struct timespec nap = {0, 1000000};
  finish();
  for (int i = 0; i < 5000 && __atomic_load_n(&run.written, __ATOMIC_ACQUIRE) == 1; i++)
    nanosleep(&nap, NULL);
}

/* Launchers kill all processes of a node, by SIGKILL, when the first one has ended by itself or by a signal that was
   sent to all: MPICH's at once, and so does Open MPI's, for its sleep before SIGKILL ends with the first SIGCHLD. So
   who has written waits for those who may be writing just now. */
enum { ENDS_ALONE_MS = 100, ENDS_WITH_ALL_MS = 1000 };
static void wait_for_node(int most_ms) {
  const struct timespec nap = {0, 1000000};
  if (!run.neighbours || __atomic_load_n(&run.written, __ATOMIC_ACQUIRE) != 2 ||
      getpid() != run.pid)
    return;
  const int64_t until_ns = nbc_clock_now_ns(run.clock) + (int64_t)most_ms * 1000000;
  while (__atomic_load_n(&run.neighbours->done_count, __ATOMIC_ACQUIRE) <
             __atomic_load_n(&run.neighbours->measured_count, __ATOMIC_ACQUIRE) &&
         nbc_clock_now_ns(run.clock) < until_ns)
    nanosleep(&nap, NULL);
}

/* Without MPI_Finalize. Not in a child of fork or vfork: another process id. */
static void finish_before_end(void) {
  if (__atomic_load_n(&run.written, __ATOMIC_ACQUIRE) == 2 || getpid() != run.pid) return;
  finish_or_wait();
  wait_for_node(ENDS_ALONE_MS);
}

__attribute__((destructor)) static void at_exit(void) { finish_before_end(); }

VISIBLE void _exit(int status) {
  finish_before_end();
  syscall(SYS_exit_group, status);
  __builtin_unreachable();
}
VISIBLE void _Exit(int status) __attribute__((alias("_exit"), noreturn));
VISIBLE void quick_exit(int status) {
  static void (*real_quick_exit)(int);
  finish_before_end();
  REAL_OF(, quick_exit)(status);
  __builtin_unreachable();
}

/* Batch systems send SIGXCPU and SIGHUP. SIGUSR1 and SIGUSR2 are left to NBC_SIGNAL. */
static const int deadly[] = {SIGABRT, SIGTERM, SIGINT,  SIGSEGV, SIGBUS,  SIGFPE,
                             SIGILL,  SIGHUP,  SIGQUIT, SIGXCPU, SIGXFSZ, SIGALRM};
#define DEADLY (sizeof deadly / sizeof *deadly)

/* UCX, below both MPIs, keeps others from setting handlers by its own sigaction: ask the libc. */
#ifdef __GLIBC__
extern int __sigaction(int number, const struct sigaction *action, struct sigaction *old);
#  define sigaction_of_libc __sigaction
#else
#  define sigaction_of_libc sigaction
#endif

/* Nobody handles the signal, or the MPI does, to print a stack. */
static bool is_free(int number) {
  static const char *const libraries[] = {"libucs", "libopen-", "libmpi", "libpsm"};
  struct sigaction action;
  Dl_info where;
  if (sigaction_of_libc(number, NULL, &action) != 0) return false;
  void *handler;
  memcpy(&handler,
         action.sa_flags & SA_SIGINFO ? (void *)&action.sa_sigaction : (void *)&action.sa_handler,
         sizeof handler);
  if (action.sa_handler == SIG_DFL) return true;
  if (action.sa_handler == SIG_IGN || !dladdr(handler, &where) || !where.dli_fname) return false;
  for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
    if (strstr(where.dli_fname, libraries[i])) return true;
  return false;
}

/* What would have happened without us: the action we replaced gets the signal. */
static void give_back(int number) { sigaction_of_libc(number, &run.old_action[number], NULL); }

/* A fault comes again by itself, with its address, when the handler returns. */
static bool is_fault(const siginfo_t *info, int number) {
  return info->si_code > 0 &&
         (number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL);
}

/* Nobody sent it to all processes: a fault, an abort, a signal of the process to itself. */
static bool is_own(const siginfo_t *info, int number) {
  return is_fault(info, number) || (info->si_code <= 0 && info->si_pid == run.pid);
}

/* The report, then the signal. While others are waited for to gather, what there is of it. While our
   own tables are half changed there can be no report: then the signal is noted, and comes again when
   they are whole (busy_end). Only what cannot wait, a fault in our own code or the abort there, ends
   without. */
static void on_deadly_signal(int number, siginfo_t *info, void *context) {
  const int saved_errno = errno;
  const bool gathers = __atomic_load_n(&gather_waits, __ATOMIC_ACQUIRE) != NULL;
  (void)context;
  if (me.busy && !gathers && !is_fault(info, number) && number != SIGABRT) {
    me.pending = number;
    return;
  }
  if (!me.busy || gathers) {
    finish_or_wait();
    wait_for_node(is_own(info, number) ? ENDS_ALONE_MS : ENDS_WITH_ALL_MS);
  }
  give_back(number);
  if (!is_fault(info, number)) raise(number);
  errno = saved_errno;
}

/* Raised again, not sent: it comes to this thread before raise returns. */
APART static void die_of_pending(void) {
  const int number = me.pending;
  me.pending = 0;
  finish_or_wait();
  wait_for_node(ENDS_WITH_ALL_MS);
  give_back(number);
  raise(number);
}

/* Only signals that the program left alone. */
static void watch_signals(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = on_deadly_signal;
  action.sa_flags = SA_SIGINFO;
  for (size_t i = 0; i < DEADLY; i++)
    if (is_free(deadly[i]) && sigaction_of_libc(deadly[i], NULL, &run.old_action[deadly[i]]) == 0)
      sigaction_of_libc(deadly[i], &action, NULL);
}

static void stop_watching(void) { /* after the report the signals are as they were */
  struct sigaction now;
  for (size_t i = 0; i < DEADLY; i++)
    if (sigaction_of_libc(deadly[i], NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) &&
        now.sa_sigaction == on_deadly_signal)
      sigaction_of_libc(deadly[i], &run.old_action[deadly[i]], NULL);
}

/* NBC_SIGNAL: measuring off, and on again; each thread follows at its next call. It stays watched to the end: its
   default action would end the program. */
static void on_switch_signal(int number) {
  (void)number;
  __atomic_store_n(&run.switched_on, !__atomic_load_n(&run.switched_on, __ATOMIC_RELAXED),
                   __ATOMIC_RELAXED);
  __atomic_add_fetch(&run.epoch, 1, __ATOMIC_RELEASE);
}
static void watch_switch_signal(void) {
  static const char *const names[] = {"none", "USR1", "USR2"};
  static const int numbers[] = {0, SIGUSR1, SIGUSR2};
  const int number = numbers[setting_choice("NBC_SIGNAL", names, 3, 0)];
  struct sigaction action, old;
  if (!number) return;
  if (sigaction_of_libc(number, NULL, &old) != 0 ||
      (old.sa_handler != SIG_DFL && old.sa_handler != SIG_IGN)) {
    complain("NBC_SIGNAL=%s: the program handles that signal itself: not watched",
             setting("NBC_SIGNAL"));
    return;
  }
  memset(&action, 0, sizeof action);
  action.sa_handler = on_switch_signal;
  action.sa_flags = SA_RESTART;
  sigaction_of_libc(number, &action, NULL);
}

/* A child of fork is not a process of the MPI program. */
static void in_child(void) {
  run.recording = false;
  me.inside = false;
  me.pending = 0;
  me.busy = 0;
  stop_watching();
}
