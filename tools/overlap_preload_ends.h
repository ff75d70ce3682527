/* overlap_preload_ends.h: ends without MPI_Finalize: exit, deadly signals, children of fork. */
/* Another thread may be writing the report just now: it has five seconds to end. */
static void finish_or_wait(void) {
  const struct timespec nap = {0, 1000000};
  finish();
  for (int i = 0; i < 5000 && __atomic_load_n(&run.written, __ATOMIC_ACQUIRE) == 1; i++)
    nanosleep(&nap, NULL);
}

/* ---- the other processes of the node ------------------------------------------------------------ */
/* Launchers kill all processes of a node, by SIGKILL, when the first one has ended by itself or by a signal that was
   sent to all: MPICH's at once, and so does Open MPI's, for its sleep before SIGKILL ends with the first SIGCHLD. So
   who ends asks the others for what they have until now, and waits for those who write. What it asks by is a signal
   that nobody hears who has not asked for it. */
#define ASKING SIGURG
enum { SILENT_MS = 100, ANSWERS_MS = 1000 };

static uint64_t own_pid_space(void) {
  struct stat space;
  return stat("/proc/self/ns/pid", &space) == 0 ? space.st_ino : 0;
}
static bool is_near(const neighbour *x, uint64_t pid_space) {
  return pid_space && x->pid_space == pid_space;
}
/* This process is counted, and can be asked. Simulated processes cannot. */
static void join_node(void) {
  neighbours *const node = run.neighbours;
  if (!node) return;
  run.own_place = __atomic_fetch_add(&node->measured_count, 1, __ATOMIC_ACQ_REL);
  if (is_simulated()) stay_silent();
  if (run.own_place >= MOST_ASKED || node->of[run.own_place].is_silent) return;
  neighbour *const own = &node->of[run.own_place];
  own->thread = (pid_t)syscall(SYS_gettid);
  own->pid_space = own_pid_space();
  __atomic_store_n(&own->process, run.pid, __ATOMIC_RELEASE);
}
static uint32_t asked_count(void) {
  const uint32_t count = __atomic_load_n(&run.neighbours->measured_count, __ATOMIC_ACQUIRE);
  return count < MOST_ASKED ? count : MOST_ASKED;
}

static void ask_node(void) {
  const uint64_t pid_space = own_pid_space();
  siginfo_t question;
  memset(&question, 0, sizeof question);
  question.si_signo = ASKING;
  question.si_code = SI_QUEUE;
  question.si_pid = run.pid;
  question.si_uid = getuid();
  question.si_value.sival_int = (int)run.own_place;
  for (uint32_t i = 0; i < asked_count(); i++) {
    const neighbour *const x = &run.neighbours->of[i];
    const pid_t process = __atomic_load_n(&x->process, __ATOMIC_ACQUIRE);
    if (process && process != run.pid && is_near(x, pid_space) &&
        !__atomic_load_n(&x->is_done, __ATOMIC_ACQUIRE))
      syscall(SYS_rt_tgsigqueueinfo, process, x->thread, ASKING, &question);
  }
}
static bool is_question(const siginfo_t *info, int number) {
  const uint32_t from = (uint32_t)info->si_value.sival_int;
  return number == ASKING && info->si_code == SI_QUEUE && run.neighbours && from < MOST_ASKED &&
         run.neighbours->of[from].process == info->si_pid;
}

static bool node_is_done(void) {
  return __atomic_load_n(&run.neighbours->done_count, __ATOMIC_ACQUIRE) >=
         __atomic_load_n(&run.neighbours->measured_count, __ATOMIC_ACQUIRE);
}
static bool all_have_answered(void) {
  const uint64_t pid_space = own_pid_space();
  bool all = true;
  for (uint32_t i = 0; i < asked_count() && all; i++) {
    const neighbour *const x = &run.neighbours->of[i];
    all = __atomic_load_n(&x->is_done, __ATOMIC_ACQUIRE) ||
          __atomic_load_n(&x->is_silent, __ATOMIC_RELAXED) || !is_near(x, pid_space);
  }
  return all;
}
/* `alone`: nobody was sent a signal, so who is not asked writes nothing. */
static void wait_for_node(bool alone) {
  const struct timespec nap = {0, 1000000};
  if (!run.neighbours || __atomic_load_n(&run.written, __ATOMIC_ACQUIRE) != 2 ||
      getpid() != run.pid)
    return;
  ask_node();
  const int64_t start_ns = nbc_clock_now_ns(run.clock);
  while (!node_is_done()) {
    const int64_t d_ns = nbc_clock_now_ns(run.clock) - start_ns;
    if (d_ns > ANSWERS_MS * INT64_C(1000000) ||
        (alone && d_ns > SILENT_MS * INT64_C(1000000) && all_have_answered()))
      return;
    nanosleep(&nap, NULL);
  }
}

/* Without MPI_Finalize. Not in a child of fork or vfork: another process id. */
static void finish_before_end(void) {
  if (me.busy && !__atomic_load_n(&gather_waits, __ATOMIC_ACQUIRE)) return; /* our locks are held */
  if (__atomic_load_n(&run.written, __ATOMIC_ACQUIRE) == 2 || getpid() != run.pid) return;
  finish_or_wait();
  wait_for_node(true);
}

/* Also of a process whose own report MPI_Finalize has written: others may be before theirs. */
static void finish_before_abort(void) {
  const bool is_written = __atomic_load_n(&run.written, __ATOMIC_ACQUIRE) == 2;
  finish_before_end();
  if (is_written) wait_for_node(true);
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
#define DEADLY         (sizeof deadly / sizeof *deadly)
#define BIT_OF(number) (UINT64_C(1) << ((number)-1))

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
static void give_back(int number) {
  run.watched[number] = false;
  sigaction_of_libc(number, &run.old_action[number], NULL);
}

/* A fault comes again by itself, with its address, when the handler returns. */
static bool is_fault(const siginfo_t *info, int number) {
  return info->si_code > 0 &&
         (number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL);
}

/* Nobody sent it to all processes: a fault, an abort, a signal of the process to itself. */
static bool is_own(const siginfo_t *info, int number) {
  return is_fault(info, number) || (info->si_code <= 0 && info->si_pid == run.pid);
}

/* While our own tables are half changed there can be no report, and a handler of the program might not return:
   the signal is noted, and comes again when they are whole (busy_end); until then the kernel holds back others. */
static bool comes_later(int number, const siginfo_t *info, void *context) {
  ucontext_t *const interrupted = context;
  if (!me.busy || me.pending || __atomic_load_n(&gather_waits, __ATOMIC_ACQUIRE)) return false;
  me.pending = number;
  me.pending_info = *info;
  memcpy(&me.pending_mask, &interrupted->uc_sigmask, sizeof me.pending_mask);
  const uint64_t all_but_faults =
      ~(BIT_OF(SIGSEGV) | BIT_OF(SIGBUS) | BIT_OF(SIGFPE) | BIT_OF(SIGILL) | BIT_OF(SIGABRT));
  const uint64_t mask = me.pending_mask | all_but_faults;
  memcpy(&interrupted->uc_sigmask, &mask, sizeof mask);
  return true;
}

/* Sent again, as it came, to this thread: it arrives with the mask. */
APART static void take_pending(void) {
  const int number = me.pending;
  me.pending = 0;
  if (syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), number, &me.pending_info) != 0)
    raise(number);
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &me.pending_mask, NULL, sizeof me.pending_mask);
}

/* The report, then the signal. While others are waited for to gather, what there is of it. Only what cannot wait, a
   fault in our own code or the abort there, ends without. */
static void on_deadly_signal(int number, siginfo_t *info, void *context) {
  const int saved_errno = errno;
  const bool waits = !is_fault(info, number) && number != SIGABRT;
  if (waits && comes_later(number, info, context)) return;
  if (!me.busy || __atomic_load_n(&gather_waits, __ATOMIC_ACQUIRE)) {
    finish_or_wait();
    wait_for_node(is_own(info, number));
  }
  give_back(number);
  if (!is_fault(info, number)) raise(number);
  errno = saved_errno;
}

/* ---- what the program does with signals ------------------------------------------------------- */
/* Faults cannot wait; profilers want the place that was interrupted. */
static bool can_wait(int number) {
  const uint64_t cannot = BIT_OF(SIGSEGV) | BIT_OF(SIGBUS) | BIT_OF(SIGFPE) | BIT_OF(SIGILL) |
                          BIT_OF(SIGABRT) | BIT_OF(SIGTRAP) | BIT_OF(SIGSYS) | BIT_OF(SIGPROF) |
                          BIT_OF(SIGVTALRM);
  return number < 32 && !(BIT_OF(number) & cannot);
}
static bool is_deadly(int number) {
  for (size_t i = 0; i < DEADLY; i++)
    if (deadly[i] == number) return true;
  return false;
}
static void on_handled_signal(int number, siginfo_t *info, void *context);
static bool is_ours(const struct sigaction *action) {
  return (action->sa_flags & SA_SIGINFO) &&
         (action->sa_sigaction == on_deadly_signal || action->sa_sigaction == on_handled_signal);
}
/* What the program wants, as siginterrupt may have changed it since, in ours. */
static struct sigaction as_wanted(const struct sigaction *wanted, const struct sigaction *ours) {
  struct sigaction now = *wanted;
  if (wanted->sa_handler == SIG_DFL && ours->sa_sigaction == on_handled_signal)
    return now; /* see ASKING */
  now.sa_flags = (wanted->sa_flags & ~SA_RESTART) | (ours->sa_flags & SA_RESTART);
  return now;
}

/* What the kernel is given in place of what the program wants; true: ours. A deadly signal's default action, asked for
   in or after a handler, too, is ours; a handler of the program is called by ours, when our tables are whole. */
static bool replaced(int number, const struct sigaction *wanted, struct sigaction *given) {
  *given = *wanted;
  const bool by_default = wanted->sa_handler == SIG_DFL, asks = number == ASKING && run.neighbours;
  if (wanted->sa_handler == SIG_IGN) return false;
  if (by_default ? !is_deadly(number) && !asks : !can_wait(number)) return false;
  given->sa_sigaction = by_default && !asks ? on_deadly_signal : on_handled_signal;
  given->sa_flags = (wanted->sa_flags | SA_SIGINFO) & ~(int)SA_RESETHAND;
  if (by_default && asks) given->sa_flags |= SA_RESTART; /* as if nothing had come */
  return true;
}
static void watch(int number) {
  struct sigaction given;
  run.watched[number] = replaced(number, &run.old_action[number], &given);
  if (run.watched[number]) sigaction_of_libc(number, &given, NULL);
}

static void on_handled_signal(int number, siginfo_t *info, void *context) {
  const struct sigaction wanted = run.old_action[number];
  if (comes_later(number, info, context)) return;
  if (is_question(info, number)) {
    const int saved_errno = errno;
    write_meanwhile(info->si_pid);
    errno = saved_errno;
    return;
  }
  if (wanted.sa_handler == SIG_IGN) return;
  if (wanted.sa_handler == SIG_DFL) { /* since another thread changed it */
    if (is_deadly(number)) on_deadly_signal(number, info, context);
    return;
  }
  if ((wanted.sa_flags & (int)SA_RESETHAND) && getpid() == run.pid) {
    run.old_action[number].sa_handler = SIG_DFL;
    watch(number);
    if (!run.watched[number]) give_back(number);
  }
  if (wanted.sa_flags & SA_SIGINFO)
    wanted.sa_sigaction(number, info, context);
  else
    wanted.sa_handler(number);
}

#ifdef __GLIBC__
static bool may_watch(int number) {
  return number > 0 && number < NSIG &&
         (__atomic_load_n(&run.recording, __ATOMIC_ACQUIRE) || run.watched[number]) &&
         getpid() == run.pid;
}
VISIBLE int sigaction(int number, const struct sigaction *action, struct sigaction *old) {
  static int (*real_sigaction)(int, const struct sigaction *, struct sigaction *);
  struct sigaction given;
  if (!may_watch(number)) return REAL_OF(, sigaction)(number, action, old);
  const struct sigaction stood = run.old_action[number];
  const bool was_watched = run.watched[number];
  if (action) {
    run.watched[number] = replaced(number, action, &given);
    run.old_action[number] = *action;
  }
  const int rc = REAL_OF(, sigaction)(number, action ? &given : NULL, old);
  if (rc != 0) run.old_action[number] = stood, run.watched[number] = was_watched;
  if (rc == 0 && old && was_watched && is_ours(old)) *old = as_wanted(&stood, old);
  return rc;
}

/* The libc's sets what it means by it (siginterrupt changes that), then ours is put before. */
typedef __sighandler_t signal_function(int number, __sighandler_t handler);
static __sighandler_t signal_by(signal_function *real, int number, __sighandler_t handler) {
  if (!may_watch(number)) return real(number, handler);
  const struct sigaction stood = run.old_action[number];
  const struct sigaction before = {.sa_handler = real(number, handler), .sa_flags = SA_SIGINFO};
  if (before.sa_handler == SIG_ERR) return SIG_ERR;
  sigaction_of_libc(number, NULL, &run.old_action[number]);
  watch(number);
  return is_ours(&before) ? stood.sa_handler : before.sa_handler;
}
#  define SIGNAL(name)                                                                             \
    VISIBLE __sighandler_t name(int number, __sighandler_t handler) {                              \
      static signal_function *real_##name;                                                         \
      return signal_by(REAL_OF(, name), number, handler);                                          \
    }
SIGNAL(signal)
SIGNAL(bsd_signal)
SIGNAL(ssignal)
SIGNAL(sysv_signal)
SIGNAL(__sysv_signal)
#  undef SIGNAL
#endif

/* Those that the program, or the MPI to print a stack, handles now, and the deadly ones. */
static void watch_signals(void) {
  for (int number = 1; number < 32; number++) {
    struct sigaction *const old = &run.old_action[number];
    if (sigaction_of_libc(number, NULL, old) != 0) continue;
    if (is_deadly(number) && is_free(number)) {
      struct sigaction action;
      memset(&action, 0, sizeof action);
      action.sa_sigaction = on_deadly_signal;
      action.sa_flags = SA_SIGINFO;
      run.watched[number] = sigaction_of_libc(number, &action, NULL) == 0;
    } else if (number == ASKING || (old->sa_handler != SIG_DFL && !is_free(number))) {
      watch(number);
    }
  }
}

static void stop_watching(void) { /* after the report the signals are as they were */
  struct sigaction now;
  for (int number = 1; number < NSIG; number++)
    if (run.watched[number] && sigaction_of_libc(number, NULL, &now) == 0 && is_ours(&now)) {
      run.old_action[number] = as_wanted(&run.old_action[number], &now);
      give_back(number);
    } else {
      run.watched[number] = false; /* the program went past us */
    }
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
