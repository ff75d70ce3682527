/* Signals of the processes and their threads: handlers and pending signals of a process, masks and pending signals of each
   thread. None comes from outside. One for another thread ends its wait, and its handler is called where that thread goes on:
   in waits of pthreads and for files, sleeps, looks at the clock and waits for memory; in a call of MPI, behind it. */
#include "guest.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SIGNALS = 65 };
typedef struct pending { /* the oldest first; of those that are no real-time signals one each */
  struct pending *next;
  siginfo_t info;
} pending;
/* A signalfd: an eventfd that can be read while one of its signals is pending, so that poll, select and epoll know. */
typedef struct signal_file {
  struct signal_file *next;
  int fd;
  bool is_ready;
  sigset_t set;
} signal_file;
typedef struct process_signals { /* of a process that uses any */
  struct sigaction actions[SIGNALS];
  pending *pending; /* that no thread takes */
  signal_file *files;
} process_signals;
struct guest_signals { /* of a thread that uses any */
  sigset_t blocked;
  const sigset_t *awaited; /* by sigwait and the like; NULL: none */
  pending *pending;
  sigset_t
      before_handlers; /* what was blocked when the first of the handlers was called that run */
  int handler_count;
  stack_t stack; /* as sigaltstack was told; of no bytes: none */
};
static guest_part part = {.name = "signals", .state_bytes = sizeof(process_signals *)};
bool guest_signals_may_come; /* to any thread but the sender's own: most programs send none */

static void *zeroed(size_t bytes) {
  void *memory = calloc(1, bytes);
  if (!memory) guest_abort(100, "out of memory");
  return memory;
}
static process_signals *state(void) {
  process_signals **s = (process_signals **)guest_state(&part);
  if (!*s) *s = (process_signals *)zeroed(sizeof **s);
  return *s;
}
static struct guest_signals *of(guest_context *c) {
  if (!c->signals) c->signals = (struct guest_signals *)zeroed(sizeof *c->signals);
  return c->signals;
}
static struct guest_signals *mine(void) { return of(guest_context_now()); }
static void drop(pending **list) {
  while (*list) {
    pending *gone = *list;
    *list = gone->next;
    free(gone);
  }
}
void guest_signals_inherit(guest_context *c) {
  const guest_context *from = guest_context_now();
  if (from && from->signals) of(c)->blocked = from->signals->blocked;
}
void guest_signals_end(guest_context *c) {
  if (c->signals) drop(&c->signals->pending);
  free(c->signals);
  c->signals = NULL;
}

/* ---- what is pending ------------------------------------------------------------------------------------------ */
static bool has(const pending *list, const sigset_t *set) {
  while (list && sigismember(set, list->info.si_signo) != 1) list = list->next;
  return list != NULL;
}
static void tell_files(void) {
  for (signal_file *f = state()->files; f; f = f->next) {
    bool is_ready = has(state()->pending, &f->set);
    uint64_t one = 1;
    for (guest_context *c = &guest_now()->first; c && !is_ready; c = c->next)
      is_ready = c->signals && has(c->signals->pending, &f->set);
    if (is_ready != f->is_ready &&
        (is_ready ? write(f->fd, &one, sizeof one) : read(f->fd, &one, sizeof one)) == sizeof one)
      f->is_ready = is_ready;
  }
}
static void put(pending **list, const siginfo_t *info) {
  for (; *list; list = &(*list)->next)
    if ((*list)->info.si_signo == info->si_signo && info->si_signo < SIGRTMIN) return;
  *list = (pending *)zeroed(sizeof **list);
  (*list)->info = *info;
  tell_files();
}
/* Of the signals that are wanted (or not unwanted) the one with the lowest number, the oldest of it. ret false: none */
static bool take(pending **list, const sigset_t *wanted, const sigset_t *unwanted,
                 siginfo_t *info) {
  pending **best = NULL;
  for (pending **at = list; *at; at = &(*at)->next) {
    const int number = (*at)->info.si_signo;
    if ((wanted && sigismember(wanted, number) != 1) ||
        (unwanted && sigismember(unwanted, number) == 1))
      continue;
    if (!best || number < (*best)->info.si_signo) best = at;
  }
  if (!best) return false;
  pending *gone = *best;
  *info = gone->info;
  *best = gone->next;
  free(gone);
  tell_files();
  return true;
}

/* ---- handlers ------------------------------------------------------------------------------------------------- */
static bool is_ignored(int number) {
  const sighandler_t handler = state()->actions[number].sa_handler;
  return handler == SIG_IGN || (handler == SIG_DFL && (number == SIGCHLD || number == SIGCONT ||
                                                       number == SIGURG || number == SIGWINCH));
}
__attribute__((noreturn)) static void die(int number) {
  char text[96];
  snprintf(text, sizeof text, "process %d ended by signal %d (%s)", pm_rank(), number,
           strsignal(number));
  fprintf(stderr, "pm_run: %s\n", text);
  guest_output_end(guest_now());
  for (;;) pm_exit(128 + number);
}
__attribute__((noinline)) static void call(void (*handler)(int, siginfo_t *, void *),
                                           siginfo_t *info, const sigset_t *before) {
  ucontext_t here;
  getcontext(&here);
  here.uc_sigmask = *before;
  handler(info->si_signo, info, &here);
}
/* By the running thread; at: where a fault interrupted it, NULL: in a call. */
static int handle(siginfo_t *info, ucontext_t *at) {
  const int number = info->si_signo;
  struct guest_signals *s = mine();
  struct sigaction *a = &state()->actions[number];
  const struct sigaction now = *a;
  if (is_ignored(number)) return GUEST_NO_SIGNAL;
  if (now.sa_handler == SIG_DFL) die(number);
  if (now.sa_flags & (int)SA_RESETHAND) a->sa_handler = SIG_DFL;
  const sigset_t before = s->blocked;
  if (!s->handler_count++) s->before_handlers = before;
  sigorset(&s->blocked, &s->blocked, &now.sa_mask);
  if (!(now.sa_flags & SA_NODEFER)) sigaddset(&s->blocked, number);
  if (!(now.sa_flags & SA_SIGINFO))
    now.sa_handler(number);
  else if (at)
    now.sa_sigaction(number, info, at);
  else
    call(now.sa_sigaction, info, &before);
  s->handler_count--;
  s->blocked = before;
  return now.sa_flags & SA_RESTART ? GUEST_RESTARTS : GUEST_INTERRUPTS;
}
static int handle_pending(void) {
  struct guest_signals *s = mine();
  siginfo_t info;
  int came = GUEST_NO_SIGNAL;
  for (;;) {
    sigset_t unwanted = s->blocked;
    if (s->awaited) sigorset(&unwanted, &unwanted, s->awaited);
    if (!take(&s->pending, NULL, &unwanted, &info) &&
        !take(&state()->pending, NULL, &unwanted, &info))
      return came;
    const int one = handle(&info, NULL);
    if (one > came) came = one;
  }
}
int guest_signals_come(void) {
  if (!guest_signals_may_come) return GUEST_NO_SIGNAL;
  const int rang = guest_alarms_ring();
  const int came = guest_context_now()->signals || state()->pending ? handle_pending() : rang;
  return came > rang ? came : rang;
}
/* A jump with a mask leaves the handlers that run; not from one of them to another. */
static void leave_handlers(const struct __jmp_buf_tag *to) {
  guest_context *c = pm_self() ? guest_context_now() : NULL;
  if (!c || !c->signals || !c->signals->handler_count || !to->__mask_was_saved) return;
  c->signals->handler_count = 0;
  c->signals->blocked = c->signals->before_handlers;
}
__attribute__((noreturn)) static void guest_siglongjmp(sigjmp_buf to, int value) {
  leave_handlers(to);
  siglongjmp(to, value);
}

/* ---- sending -------------------------------------------------------------------------------------------------- */
static siginfo_t made(int number, int code, union sigval value) {
  siginfo_t info;
  memset(&info, 0, sizeof info);
  info.si_signo = number;
  info.si_code = code;
  info.si_pid = guest_getpid();
  info.si_uid = getuid();
  info.si_value = value;
  return info;
}
static bool is_to_take(const guest_context *c, int number, bool is_waiting) {
  if (!c->thread) return false; /* has left */
  if (c->signals && c->signals->awaited && sigismember(c->signals->awaited, number) == 1)
    return true;
  return !is_waiting && (!c->signals || sigismember(&c->signals->blocked, number) == 0);
}
/* Who takes one of the process: who waits for it; else the first thread that does not block it; NULL: none now. */
static guest_context *taker(int number) {
  for (int any = 0; any < 2; any++)
    for (guest_context *c = &guest_now()->first; c; c = c->next)
      if (is_to_take(c, number, !any)) return c;
  return NULL;
}
static int give(guest_context *c, siginfo_t *info) {
  const int number = info->si_signo;
  const bool is_handled = is_to_take(c, number, false) && !is_to_take(c, number, true);
  if (is_handled && is_ignored(number)) return GUEST_NO_SIGNAL;
  if (is_handled && c == guest_context_now()) {
    const int came = handle(info, NULL);
    handle_pending(); /* what the handler raised again comes when it has returned */
    return came;
  }
  put(&of(c)->pending, info);
  guest_signals_may_come = true;
  c->mpi = NULL;
  if (c != guest_context_now()) pm_thread_wake(c->thread);
  return GUEST_NO_SIGNAL;
}
static int give_any(siginfo_t *info) {
  guest_context *c = taker(info->si_signo);
  if (c) return give(c, info);
  put(&state()->pending, info);
  return GUEST_NO_SIGNAL;
}
static bool is_number(int number) { return number >= 1 && number < SIGNALS; }
int guest_signal_thread(guest_context *c, int number, int code, union sigval value) {
  siginfo_t info = made(number, code, value);
  if (number && !is_number(number)) return EINVAL;
  if (number) give(c, &info);
  return 0;
}
int guest_signal_timer(int number, int code, union sigval value, pid_t thread) {
  siginfo_t info = made(number, code, value);
  guest_context *c = thread ? guest_context_numbered(thread) : NULL;
  return c ? give(c, &info) : give_any(&info);
}
static int send_to(int number, int code, union sigval value) {
  siginfo_t info = made(number, code, value);
  if (!is_number(number)) return errno = EINVAL, -1;
  give_any(&info);
  return 0;
}
int guest_raise(int number) {
  const int code = is_number(number) ? guest_signal_thread(guest_context_now(), number, SI_TKILL,
                                                           (union sigval){0})
                                     : EINVAL;
  return code ? (errno = code, -1) : 0;
}
pid_t guest_pid_of(const guest *g) { return getpid() + 1 + pm_process_rank(g->process); }
pid_t guest_getpid(void) { return getpid() + 1 + pm_rank(); }
static pid_t guest_getppid(void) { return getpid(); }
/* Those of threads other than the first come behind all processes'. */
pid_t guest_tid_of(guest_context *c) {
  static int last;
  if (!c->number)
    c->number = c == &guest_now()->first ? guest_getpid() : getpid() + 1 + guest_count() + last++;
  return c->number;
}
pid_t guest_gettid(void) { return guest_tid_of(guest_context_now()); }
guest_context *guest_context_numbered(pid_t thread) {
  if (!thread) return guest_context_now();
  for (guest_context *c = &guest_now()->first; c; c = c->next)
    if (c->thread && guest_tid_of(c) == thread) return c;
  return NULL;
}
int guest_tgkill(pid_t process, pid_t thread, int number) {
  if (process > 0 && process != guest_getpid()) return errno = ESRCH, -1;
  guest_context *c = thread > 0 ? guest_context_numbered(thread) : NULL;
  const int code = c ? guest_signal_thread(c, number, SI_TKILL, (union sigval){0}) : ESRCH;
  return code ? (errno = code, -1) : 0;
}
static int guest_sigqueue(pid_t pid, int number, const union sigval value) {
  if (pid != guest_getpid()) return errno = pid == getpid() ? EPERM : ESRCH, -1;
  return number ? send_to(number, SI_QUEUE, value) : 0;
}
static int guest_kill(pid_t pid, int number) {
  if (pid == guest_getpid() || pid == 0)
    return number ? send_to(number, SI_USER, (union sigval){0}) : 0;
  return errno = pid == getpid() ? EPERM : ESRCH, -1;
}
static void guest_abort_call(void) {
  const process_signals *s = *(process_signals **)guest_state(&part);
  if (s && s->actions[SIGABRT].sa_handler != SIG_DFL && s->actions[SIGABRT].sa_handler != SIG_IGN) {
    sigdelset(&mine()->blocked, SIGABRT);
    guest_raise(SIGABRT);
  }
  abort();
}

/* ---- masks ---------------------------------------------------------------------------------------------------- */
static void set_mask(struct guest_signals *s, sigset_t blocked) {
  sigdelset(&blocked, SIGKILL), sigdelset(&blocked, SIGSTOP);
  s->blocked = blocked;
}
sigset_t guest_mask(const sigset_t *next, bool *is_interrupted) {
  struct guest_signals *s = mine();
  const sigset_t before = s->blocked;
  set_mask(s, *next);
  *is_interrupted = handle_pending() != GUEST_NO_SIGNAL;
  return before;
}
static int guest_sigprocmask(int how, const sigset_t *set, sigset_t *before) {
  struct guest_signals *s = mine();
  if (before) *before = s->blocked;
  if (!set) return 0;
  if (how != SIG_BLOCK && how != SIG_SETMASK && how != SIG_UNBLOCK) return errno = EINVAL, -1;
  sigset_t next = how == SIG_SETMASK ? *set : s->blocked;
  if (how == SIG_BLOCK) sigorset(&next, &next, set);
  for (int i = 1; how == SIG_UNBLOCK && i < SIGNALS; i++)
    if (sigismember(set, i) == 1) sigdelset(&next, i);
  set_mask(s, next);
  handle_pending();
  return 0;
}
static int guest_pthread_sigmask(int how, const sigset_t *set, sigset_t *before) {
  return guest_sigprocmask(how, set, before) ? errno : 0;
}
static int guest_sigpending(sigset_t *set) {
  sigemptyset(set);
  for (const pending *p = mine()->pending; p; p = p->next) sigaddset(set, p->info.si_signo);
  for (const pending *p = state()->pending; p; p = p->next) sigaddset(set, p->info.si_signo);
  return 0;
}

/* ---- waits for signals ---------------------------------------------------------------------------------------- */
/* d_ns < 0: for ever. ret its number; 0: time over; -1: a handler was called */
static int wait_for(const sigset_t *set, siginfo_t *info, int64_t d_ns) {
  struct guest_signals *s = mine();
  const int64_t t_end_ns = pm_now_ns() + d_ns;
  int came = GUEST_NO_SIGNAL;
  s->awaited = set;
  while (!take(&s->pending, set, NULL, info) && !take(&state()->pending, set, NULL, info)) {
    const int64_t left_ns = d_ns < 0 ? -1 : t_end_ns - pm_now_ns();
    if (came || guest_is_cancelled() || (d_ns >= 0 && left_ns <= 0)) {
      s->awaited = NULL;
      guest_cancel_point();
      return came ? -1 : 0;
    }
    pm_thread_wait("sigwait", guest_alarm_in_ns(left_ns));
    came = guest_signals_come();
  }
  s->awaited = NULL;
  return info->si_signo;
}
static int guest_sigwait(const sigset_t *set, int *number) {
  siginfo_t info;
  do *number = wait_for(set, &info, -1);
  while (*number < 1);
  return 0;
}
static int guest_sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *d) {
  siginfo_t unwanted;
  const int64_t d_ns = d ? (int64_t)d->tv_sec * 1000000000 + d->tv_nsec : -1;
  const int number = wait_for(set, info ? info : &unwanted, d_ns);
  return number > 0 ? number : (errno = number ? EINTR : EAGAIN, -1);
}
static int guest_sigwaitinfo(const sigset_t *set, siginfo_t *info) {
  return guest_sigtimedwait(set, info, NULL);
}

/* ---- signalfd --------------------------------------------------------------------------------------------------- */
static signal_file *file_of(int fd) {
  const process_signals *s = pm_self() ? *(process_signals **)guest_state(&part) : NULL;
  signal_file *f = s ? s->files : NULL;
  while (f && f->fd != fd) f = f->next;
  return f;
}
static int guest_signalfd(int fd, const sigset_t *set, int flags) {
  if (flags & ~(SFD_NONBLOCK | SFD_CLOEXEC)) return errno = EINVAL, -1;
  signal_file *f = fd < 0 ? NULL : file_of(fd);
  if (fd >= 0 && !f) return errno = fcntl(fd, F_GETFD) < 0 ? EBADF : EINVAL, -1;
  if (!f) {
    fd = eventfd(0, (flags & SFD_NONBLOCK ? EFD_NONBLOCK : 0) |
                        (flags & SFD_CLOEXEC ? EFD_CLOEXEC : 0));
    if (guest_descriptor_opened(fd) < 0) return -1;
    f = (signal_file *)zeroed(sizeof *f);
    f->fd = fd;
    f->next = state()->files;
    state()->files = f;
  }
  f->set = *set;
  sigdelset(&f->set, SIGKILL), sigdelset(&f->set, SIGSTOP);
  tell_files();
  return fd;
}
void guest_signal_file_close(int fd) {
  signal_file *gone = file_of(fd), **at = gone ? &state()->files : NULL;
  while (at && *at != gone) at = &(*at)->next;
  if (at) *at = gone->next;
  free(gone);
}
static struct signalfd_siginfo told(const siginfo_t *info) {
  struct signalfd_siginfo s;
  memset(&s, 0, sizeof s);
  s.ssi_signo = (uint32_t)info->si_signo;
  s.ssi_code = info->si_code;
  if (info->si_code <= 0 && info->si_code != SI_TIMER) { /* somebody sent it */
    s.ssi_pid = (uint32_t)info->si_pid;
    s.ssi_uid = info->si_uid;
  }
  if (info->si_code == SI_TIMER || info->si_code == SI_QUEUE) {
    s.ssi_int = info->si_value.sival_int;
    s.ssi_ptr = (uint64_t)(uintptr_t)info->si_value.sival_ptr;
  }
  return s;
}
bool guest_signal_file_read(int fd, void *to, size_t bytes, ssize_t *n) {
  struct signalfd_siginfo *s = (struct signalfd_siginfo *)to;
  const size_t room = bytes / sizeof *s;
  size_t count = 0;
  siginfo_t info;
  if (!file_of(fd)) return false;
  *n = -1;
  if (!room) return errno = EINVAL, true;
  while (count < room) {
    const signal_file *f = file_of(fd); /* it may be closed meanwhile */
    if (f && (take(&mine()->pending, &f->set, NULL, &info) ||
              take(&state()->pending, &f->set, NULL, &info))) {
      s[count++] = told(&info);
      continue;
    }
    if (count) break;
    if (!f || !guest_may_wait(fd)) return errno = f ? EAGAIN : EBADF, true;
    pm_yield(); /* it may be another thread's, to which alone it was sent */
    if (!guest_wait_for_file(fd, POLLIN, -1)) return true;
  }
  *n = (ssize_t)(count * sizeof *s);
  return true;
}

/* ---- faults: the host sends them, and the program's handler is called. It may return, jump, wait or end the process. What
   crashes there, or has no handler, ends the run as the model says. All threads have one stack of the model's for signals of
   the host, where nobody may wait: others would come, and write over it. So it sends the program to a breakpoint of ours, as
   counter.c does, whose signal comes on the thread's own stack. Where there is no room for that, and not on x86-64, the
   handler is called at once. ------- */
static struct sigaction models[65];
static const char *handling_at; /* a frame of the handler that runs at once, or has jumped away */
#if defined(__x86_64__)
enum { ROOM_BYTES = 32768 }; /* for the host's frame and a handler */
static struct {
  siginfo_t info;
  greg_t at, error, trap, address;
} sent; /* to the breakpoint: nobody else runs before it comes */
__asm__(".text\nguest__fault_stop: int3\n");
extern const unsigned char guest__fault_stop[];
static bool send_to_own_stack(const siginfo_t *info, ucontext_t *c) {
  greg_t *is = c->uc_mcontext.gregs;
  size_t bytes;
  const uintptr_t low = (uintptr_t)guest_stack(&bytes), at = (uintptr_t)is[REG_RSP];
  guest_steps_end(c);
  if (at < low + ROOM_BYTES || at >= low + bytes) return false;
  sent.info = *info;
  sent.at = is[REG_RIP];
  sent.error = is[REG_ERR], sent.trap = is[REG_TRAPNO], sent.address = is[REG_CR2];
  is[REG_RIP] = (greg_t)(uintptr_t)guest__fault_stop;
  return true;
}
/* A trap: ret 0: it was another one */
bool guest_fault_stopped(ucontext_t *c) {
  greg_t *is = c->uc_mcontext.gregs;
  if (is[REG_RIP] != (greg_t)(uintptr_t)guest__fault_stop + 1) return false;
  siginfo_t info = sent.info;
  is[REG_RIP] = sent.at;
  is[REG_ERR] = sent.error, is[REG_TRAPNO] = sent.trap, is[REG_CR2] = sent.address;
  handle(&info, c);
  return true;
}
#else
static bool send_to_own_stack(const siginfo_t *info, ucontext_t *c) {
  return (void)info, (void)c, false;
}
#endif
/* Of the handler itself: it is blocked there, or lies deeper on the model's stack; after a jump from that one the next one
   lies where the last one lay. */
static bool is_nested(int number, const char *here) {
  const guest_context *c = guest_context_now();
  const bool is_blocked = c->signals && sigismember(&c->signals->blocked, number) == 1;
  return is_blocked || (handling_at && (uintptr_t)here < (uintptr_t)handling_at);
}
static void faulted(int number, siginfo_t *info, void *context) {
  const char here = 0;
  if (number == SIGSEGV && guest_counter_faulted(info, (ucontext_t *)context)) return;
  process_signals **s = guest_now() ? (process_signals **)guest_state(&part) : NULL;
  struct sigaction *a = s && *s ? &(*s)->actions[number] : NULL;
  if (!a || a->sa_handler == SIG_DFL || a->sa_handler == SIG_IGN || is_nested(number, &here)) {
    if (models[number].sa_flags & SA_SIGINFO)
      models[number].sa_sigaction(number, info, context);
    else
      sigaction(number, &models[number], NULL); /* and it comes again */
    return;
  }
  if (send_to_own_stack(info, (ucontext_t *)context)) return;
  handling_at = &here;
  handle(info, (ucontext_t *)context);
  handling_at = NULL;
}
void guest_catch_faults(int number) {
  struct sigaction ours;
  const bool is_fault =
      number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL;
  if (!is_fault || (sigaction(number, NULL, &ours) == 0 && ours.sa_sigaction == faulted)) return;
  memset(&ours, 0, sizeof ours);
  ours.sa_sigaction = faulted;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigaction(number, &ours, &models[number]);
}
/* The host's is the model's, which says on it who crashed. Handlers do not run on this one. */
static int guest_sigaltstack(const stack_t *now, stack_t *before) {
  static const stack_t none = {.ss_flags = SS_DISABLE};
  stack_t *own = &mine()->stack;
  const stack_t was = own->ss_size ? *own : none;
  const int mode = now ? now->ss_flags & ~(int)(1u << 31) : 0; /* but SS_AUTODISARM */
  if (now && mode != 0 && mode != SS_ONSTACK && mode != SS_DISABLE) return errno = EINVAL, -1;
  if (now && mode != SS_DISABLE && now->ss_size < 2048) return errno = ENOMEM, -1;
  if (now) *own = (stack_t){.ss_sp = now->ss_sp, .ss_size = mode == SS_DISABLE ? 0 : now->ss_size};
  if (before) *before = was;
  return 0;
}
static int guest_sigaction(int number, const struct sigaction *now, struct sigaction *before) {
  if (number < 1 || number > 64 || (now && (number == SIGKILL || number == SIGSTOP)))
    return errno = EINVAL, -1;
  struct sigaction *a = &state()->actions[number];
  const struct sigaction old = *a;
  if (now) {
    *a = *now;
    if (now->sa_handler != SIG_DFL && now->sa_handler != SIG_IGN) guest_catch_faults(number);
  }
  if (before) *before = old;
  return 0;
}
static sighandler_t guest_signal(int number, sighandler_t handler) {
  struct sigaction now, before;
  memset(&now, 0, sizeof now);
  now.sa_handler = handler;
  now.sa_flags = SA_RESTART;
  return guest_sigaction(number, &now, &before) ? SIG_ERR : before.sa_handler;
}
static int guest_siginterrupt(int number, int ends) {
  struct sigaction a;
  if (guest_sigaction(number, NULL, &a)) return -1;
  a.sa_flags = ends ? a.sa_flags & ~SA_RESTART : a.sa_flags | SA_RESTART;
  return guest_sigaction(number, &a, NULL);
}

__attribute__((constructor)) static void add(void) {
  guest_part_add(&part);
  GUEST_REPLACE("raise", guest_raise);
  GUEST_REPLACE("gsignal", guest_raise);
  GUEST_REPLACE("sigaction", guest_sigaction);
  /* the overlap preload goes around those who watch sigaction */
  GUEST_REPLACE("__sigaction", guest_sigaction);
  GUEST_REPLACE("signal", guest_signal);
  GUEST_REPLACE("sysv_signal", guest_signal);
  GUEST_REPLACE("__sysv_signal", guest_signal);
  GUEST_REPLACE("bsd_signal", guest_signal);
  GUEST_REPLACE("sigaltstack", guest_sigaltstack);
  GUEST_REPLACE("siginterrupt", guest_siginterrupt);
  GUEST_REPLACE("sigprocmask", guest_sigprocmask);
  GUEST_REPLACE("pthread_sigmask", guest_pthread_sigmask);
  GUEST_REPLACE("sigpending", guest_sigpending);
  GUEST_REPLACE("sigwait", guest_sigwait);
  GUEST_REPLACE("sigwaitinfo", guest_sigwaitinfo);
  GUEST_REPLACE("sigtimedwait", guest_sigtimedwait);
  GUEST_REPLACE("signalfd", guest_signalfd);
  GUEST_REPLACE("siglongjmp", guest_siglongjmp);
  GUEST_REPLACE("longjmp", guest_siglongjmp);
  GUEST_REPLACE("_longjmp", guest_siglongjmp);
  GUEST_REPLACE("__longjmp_chk", guest_siglongjmp);
  GUEST_REPLACE("getpid", guest_getpid);
  GUEST_REPLACE("getppid", guest_getppid);
  GUEST_REPLACE("gettid", guest_gettid);
  GUEST_REPLACE("tgkill", guest_tgkill);
  GUEST_REPLACE("kill", guest_kill);
  GUEST_REPLACE("sigqueue", guest_sigqueue);
  GUEST_REPLACE("abort", guest_abort_call);
}
