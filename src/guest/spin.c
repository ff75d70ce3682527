/* Spins: a process that runs on and on in its own code is made to yield. */
#include "guest.h"
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>

static int spin_ticks_max;
enum { TICK_MS = 10 };
static const void *code_at(const ucontext_t *c) {
#if defined(__x86_64__)
  return (const void *)(uintptr_t)c->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
  return (const void *)(uintptr_t)c->uc_mcontext.pc;
#else
  return (void)c, NULL;
#endif
}
/* Inside of a library it may hold a lock: then not now. The signal's frame lies on the guest's own
   stack, so the guest may be left here and come back. */
static void tick(int signal, siginfo_t *info, void *context) {
  static uint64_t seen;
  static int ticks;
  const int error = errno;
  (void)signal;
  (void)info;
  if (!pm_self()) return;
  const pm_world *world = pm_world_of(pm_self());
  pm_stats s = pm_world_stats(world);
  const uint64_t now = s.switches_count + s.events_count + (uint64_t)pm_now_ns();
  ticks = now == seen ? ticks + 1 : 0;
  seen = now;
  if (ticks < spin_ticks_max || !guest_is_code(code_at((const ucontext_t *)context))) return;
  for (int i = 0; i < 1000 && pm_world_stats(world).hash_id == s.hash_id; i++) pm_yield();
  s = pm_world_stats(world);
  seen = s.switches_count + s.events_count + (uint64_t)pm_now_ns();
  ticks = spin_ticks_max - 1; /* found spinning once: at once the next time */
  errno = error;
}
void guest_spin_begin(int spin_ms) {
  struct sigaction act;
  const struct itimerval every = {{0, TICK_MS * 1000}, {0, TICK_MS * 1000}};
  memset(&act, 0, sizeof act);
  spin_ticks_max = spin_ms / TICK_MS > 1 ? spin_ms / TICK_MS : 1;
  act.sa_sigaction = tick;
  act.sa_flags = SA_SIGINFO | SA_RESTART | SA_NODEFER;
  sigaction(SIGVTALRM, &act, NULL);
  setitimer(ITIMER_VIRTUAL, &every, NULL);
}
void guest_spin_end(void) { setitimer(ITIMER_VIRTUAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL); }
