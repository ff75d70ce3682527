/* Spins: a process that waits for a word in memory calls nothing, so no time would pass. A tick of the
   host's clock finds one that runs on and on in its own code. Where it was found, a trap is put into
   its text: when it comes by again with all registers and its stack as they were the last time, it
   waits for memory and yields, at every round from then on; a computation changes something, and its
   trap is taken away. So the first wait at a place costs a tick and later ones microseconds, and the
   simulated time does not depend on the host's clock. Where traps cannot be had (not x86-64), or
   registers change in the loop, a process that called nothing for --spin of CPU time is made to yield
   at each tick. */
#include "guest.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

enum { TICK_MS = 2, SILENT_S = 10, PLACES_MAX = 64, STACK_BYTES = 512 };
static int spin_ticks_max;

static uint64_t progress(const pm_world *world) {
  const pm_stats s = pm_world_stats(world);
  return s.switch_count + s.event_count + (uint64_t)pm_world_now_ns(world);
}
/* It may wait for what is under way: time passes until something happens, or for long. With nothing
   under way it can only wait for somebody who is ready to run, or computes: then the others have a turn,
   and what a long computation pays for it is a nanosecond. */
static void let_others_run(const pm_world *world) {
  const uint64_t hash_id = pm_world_stats(world).hash_id;
  int i = 0;
  while (i < 1000 && pm_world_stats(world).hash_id == hash_id &&
         pm_world_stats(world).pending_count) {
    pm_yield();
    i++;
  }
  if (!i) pm_compute_ns(1);
}
/* Nobody has called anything for long: a computation, or a wait without an end. */
static void say_if_silent(const pm_world *world, const unsigned char *at) {
  static uint64_t seen;
  static int ticks;
  const pm_stats s = pm_world_stats(world);
  const uint64_t now = s.hash_id + s.message_count;
  char where[160], text[400];
  ticks = now == seen ? ticks + 1 : 0;
  seen = now;
  if (ticks != SILENT_S * 1000 / TICK_MS || !guest_describe_address(at, where, sizeof where))
    return;
  snprintf(text, sizeof text,
           "for %d s of CPU time no process has sent anything, and nothing is under way: this one "
           "computes, or "
           "waits for ever, in %s",
           SILENT_S, where);
  guest_say_once("silent", text);
}

#if defined(__x86_64__)
/* ---- traps: at places of the program's text, once found in all processes ---------------------------------- */
typedef struct visit { /* of a process at a place: how it was */
  greg_t registers[16];
  char vectors[256], stack[STACK_BYTES];
  int is_placed, count, is_same; /* is_same: in a row */
} visit;
typedef struct place {
  size_t offset; /* in the image of a process; 0: unused */
  unsigned char byte;
  int is_spin;
  long other_count, same_count; /* visits */
  visit **visits;               /* by rank, NULL: none yet */
} place;
static place places[PLACES_MAX];
static int next_place, memory_fd = -1;
static place *stepping; /* its instruction runs now, once */
static unsigned char *stepping_at;

/* Text is shared with the file and may not be written: this way makes a page private. */
static int poke(unsigned char *at, unsigned char byte) {
  return pwrite(memory_fd, &byte, 1, (off_t)(uintptr_t)at) == 1;
}
static place *place_at(size_t offset) {
  for (int i = 0; i < PLACES_MAX; i++)
    if (offset && places[i].offset == offset) return &places[i];
  return NULL;
}
static void remove_place(place *p) {
  for (int rank = 0; p->offset && rank < guest_count(); rank++) {
    if (p->visits[rank] && p->visits[rank]->is_placed)
      poke((unsigned char *)guest_at(rank)->image + p->offset, p->byte);
    free(p->visits[rank]);
  }
  free(p->visits);
  memset(p, 0, sizeof *p);
}
static void put_trap(place *p, int rank) {
  if (!p->visits[rank]) p->visits[rank] = (visit *)calloc(1, sizeof(visit));
  if (p->visits[rank] && !p->visits[rank]->is_placed)
    p->visits[rank]->is_placed = poke((unsigned char *)guest_at(rank)->image + p->offset, 0xCC);
}
static void trap_place(const unsigned char *at) {
  const size_t offset = (size_t)((const char *)at - guest_now()->image);
  place *p = place_at(offset);
  if (memory_fd < 0 || stepping || (!p && *at == 0xCC)) return;
  if (!p) {
    for (int i = 0; i < PLACES_MAX && (p = &places[next_place])->is_spin; i++)
      next_place = (next_place + 1) % PLACES_MAX;
    next_place = (next_place + 1) % PLACES_MAX;
    remove_place(p);
    p->visits = (visit **)calloc((size_t)guest_count(), sizeof *p->visits);
    if (!p->visits) return;
    p->offset = offset;
    p->byte = *at;
  }
  put_trap(p, pm_rank());
}
/* Notes where the process is; ret how often in a row it was just so. */
static int looks_the_same(visit *v, const ucontext_t *c) {
  const size_t to_page_end =
      4096 - (size_t)c->uc_mcontext.gregs[REG_RSP] % 4096 + 128; /* the stack may end there */
  const size_t stack_bytes = to_page_end < STACK_BYTES ? to_page_end : STACK_BYTES;
  const char *stack = (const char *)(uintptr_t)c->uc_mcontext.gregs[REG_RSP] - 128;
  const char *vectors =
      (const char *)c->uc_mcontext.fpregs->_xmm; /* and all registers but flags and rip */
  const int same = v->count++ &&
                   memcmp(c->uc_mcontext.gregs, v->registers, sizeof v->registers) == 0 &&
                   memcmp(vectors, v->vectors, sizeof v->vectors) == 0 &&
                   memcmp(stack, v->stack, stack_bytes) == 0;
  memcpy(v->registers, c->uc_mcontext.gregs, sizeof v->registers);
  memcpy(v->vectors, vectors, sizeof v->vectors);
  memcpy(v->stack, stack, stack_bytes);
  return v->is_same = same ? v->is_same + 1 : 0;
}
/* Three times the same in a row (same > 1): once may be chance, as a loop that counts in memory
   looks the same to registers and to the top of the stack for one round. */
static void visited(place *p, const ucontext_t *c) {
  const int same = looks_the_same(p->visits[pm_rank()], c);
  if (same > 1) {
    p->same_count++;
    if (!p->is_spin) {
      p->is_spin = 1;
      for (int rank = 0; rank < guest_count() && guest_count() <= 4096; rank++) put_trap(p, rank);
    }
    pm_yield();
  } else
    p->other_count++;
}
/* Comes twice: at the trap, and after the one instruction that it hid. */
static void trapped(int number, siginfo_t *info, void *context) {
  ucontext_t *c = (ucontext_t *)context;
  const int error = errno;
  unsigned char *at = (unsigned char *)(uintptr_t)c->uc_mcontext.gregs[REG_RIP] - 1;
  (void)info;
  if (stepping) {
    c->uc_mcontext.gregs[REG_EFL] &= ~0x100L;
    poke(stepping_at, 0xCC);
    stepping = NULL;
    errno = error;
    return;
  }
  place *p = pm_self() ? place_at((size_t)((char *)at - guest_now()->image)) : NULL;
  if (!p || !p->visits[pm_rank()]) { /* a breakpoint of the program's own */
    signal(number, SIG_DFL);
    return;
  }
  /* The trap's byte was one long and has run: back to where it stands. Then the instruction that it
     hides is run alone (0x100 is the processor's trap flag), after which this function is called
     again and puts the trap back. */
  c->uc_mcontext.gregs[REG_RIP]--;
  visited(p, c);
  if (p->other_count > 64 + 100 * p->same_count) { /* a computation, or a place where many pass */
    remove_place(p);
  } else if (p->offset) {
    poke(at, p->byte);
    stepping = p;
    stepping_at = at;
    c->uc_mcontext.gregs[REG_EFL] |= 0x100;
  }
  errno = error;
}
static void traps_begin(void) {
  struct sigaction act;
  memset(&act, 0, sizeof act);
  memory_fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
  act.sa_sigaction = trapped;
  act.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGTRAP, &act, NULL);
}
static int is_trapped(void) { return stepping != NULL; }
static unsigned char *code_at(const ucontext_t *c) {
  return (unsigned char *)(uintptr_t)c->uc_mcontext.gregs[REG_RIP];
}
#else
static void traps_begin(void) {}
static void trap_place(const unsigned char *at) { (void)at; }
static int is_trapped(void) { return 0; }
static unsigned char *code_at(const ucontext_t *c) {
  return (unsigned char *)(uintptr_t)c->uc_mcontext.pc;
}
#endif

/* ---- ticks ---------------------------------------------------------------------------------------------- */
/* Inside of a library it may hold a lock: then not now. The signal's frame lies on the guest's own
   stack, so the guest may be left here and come back. */
enum { SPUN_MAX = 64 };
static size_t spun[SPUN_MAX]; /* pieces of the program's text where --spin was reached */
static void tick(int number, siginfo_t *info, void *context) {
  static uint64_t seen;
  static int ticks;
  const int error = errno;
  (void)number;
  (void)info;
  if (!pm_self() || is_trapped()) return;
  const pm_world *world = pm_world_of(pm_self());
  const uint64_t now = progress(world);
  unsigned char *at = code_at((const ucontext_t *)context);
  ticks = now == seen ? ticks + 1 : 0;
  seen = now;
  if (!guest_is_code(at)) return;
  pm_catch_up();
  say_if_silent(world, at);
  if (!ticks) return;
  trap_place(at);
  const size_t where = (size_t)((char *)at - guest_now()->image) / 256 + 1;
  size_t *known = &spun[where % SPUN_MAX];
  if (ticks >= spin_ticks_max || (*known == where && ticks > 1)) {
    let_others_run(world);
    seen = progress(world);
    *known = where; /* found spinning once: at once the next time */
  }
  errno = error;
}
void guest_spin_begin(int spin_ms) {
  struct sigaction act;
  const struct itimerval every = {{0, TICK_MS * 1000}, {0, TICK_MS * 1000}};
  memset(&act, 0, sizeof act);
  spin_ticks_max = spin_ms / TICK_MS > 2 ? spin_ms / TICK_MS : 2;
  traps_begin();
  act.sa_sigaction = tick;
  act.sa_flags = SA_SIGINFO | SA_RESTART | SA_NODEFER;
  sigaction(SIGVTALRM, &act, NULL);
  setitimer(ITIMER_VIRTUAL, &every, NULL);
}
void guest_spin_end(void) { setitimer(ITIMER_VIRTUAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL); }
