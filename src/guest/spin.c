/* Spins: a process that waits for a word in memory calls nothing, so no time would pass. A tick of the
   host's clock finds one that runs on and on in its own code. At the next jump a trap is put into
   its text: when it comes by again with all registers as they were some rounds before (a loop around
   loops passes the place in the inner one several times), one more round is run instruction by
   instruction. When all that it wrote is as it was then, too, it waits for memory and yields; so it does after every such
   round from then on. A computation changes something, and its trap is taken away. So the first wait at
   a place costs a tick and later ones microseconds, and the simulated time does not depend on the
   host's clock. Where traps cannot be had (not x86-64), or
   something changes in every round, a process that called nothing for --spin of CPU time is made to
   yield at each tick. */
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

enum { TICK_MS = 2, SILENT_S = 10, PLACES_MAX = 64, TRIED_MAX = 1024 };
enum {
  ROUNDS_MAX = 128,
  VISITS_IN_VAIN = 4 * ROUNDS_MAX,
  WAIT_PARTS = 1024,
  WAIT_MAX_NS = 1000000,
  SEARCH_MAX = 256,
  REPEATED_MAX = 4096,
  KNOWN_WAIT_NS = 20 * TICK_MS * 1000,
  PROOF_MAX = 50000,
  WORDS_MAX = 512, /* that one round writes */
  RED_ZONE = 128,
  STACK_MAX = 16384 /* that one round uses: a program's own threads have stacks of their own */
};
static int spin_ticks_max;

static uint64_t progress(const pm_world *world) {
  const pm_stats s = pm_world_stats(world);
  return s.switch_count + s.event_count + (uint64_t)pm_world_now_ns(world);
}
/* It may wait for what is under way: time passes until something happens, or for long. With nothing
   under way it can only wait for somebody who is ready to run, or computes: then the others have a turn,
   and what a long computation pays for it is a nanosecond, or where the process has other threads, which may be in a
   pause between looks, as long as the longest of these. Who was found at this place before
   (is_known) waits for what is delivered to itself, though no longer than some per cent of the CPU time that
   it took until now: so a computation pays less than it would if computing took time. */
static void let_others_run(const pm_world *world, bool is_known) {
  const uint64_t hash_id = pm_world_stats(world).hash_id;
  const int64_t t_ns = is_known ? pm_now_ns() + KNOWN_WAIT_NS : 0;
  int i = 0;
  bool is_delivered = false;
  while (i < 1000 && pm_world_stats(world).pending_count && !is_delivered &&
         (pm_world_stats(world).hash_id == hash_id || pm_now_ns() < t_ns)) {
    is_delivered = pm_yield_for(0);
    i++;
  }
  if (!i) pm_compute_ns(guest_now()->thread_count ? guest_platform()->cpu_poll_max_ns : 1);
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
typedef struct registers {
  greg_t general[16];
  uint32_t flags;
  char old[128], vectors[256], high[256]; /* x87 and MMX; XMM; the upper halves of YMM */
} registers;
typedef struct visit { /* of a process at a place: how it was at one time */
  registers then;
  int64_t t_ns;
  bool is_placed;
  int since, rounds; /* visits since then, at most */
} visit;
typedef struct place {
  size_t offset; /* in the image of a process; 0: unused */
  unsigned char byte;
  bool is_spin;
  long other_count, same_count; /* visits */
  visit **visits;               /* by rank, NULL: none yet */
} place;
static place places[PLACES_MAX];
static int next_place, memory_fd = -1;
static unsigned tried[TRIED_MAX]; /* how often a place, by its offset, was taken for a spin */
static int searching;             /* a jump: so many instructions more are run one by one */
static uintptr_t searched_at;     /* the last of them, which has run so often */
static int searched_count;

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
  if (!p && *at == 0xCC) return;
  if (!p) {
    const unsigned n = ++tried[offset * 0x9E3779B1u / 64 % TRIED_MAX];
    if (n & (n - 1)) return; /* a computation that was tried before: ever less often */
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
static void read_registers(const ucontext_t *c, registers *r) {
  enum {
    SIZES = 464,
    STATE = 512,
    HIGH = 576,
    MAGIC = 0x46505853
  }; /* of the kernel's XSAVE area */
  const char *area = (const char *)c->uc_mcontext.fpregs;
  uint32_t magic;
  uint64_t saved;
  memset(r, 0, sizeof *r);
  memcpy(r->general, c->uc_mcontext.gregs, sizeof r->general);
  r->flags = (uint32_t)c->uc_mcontext.gregs[REG_EFL] & 0xCD5; /* of arithmetic, and the direction */
  memcpy(r->old, c->uc_mcontext.fpregs->_st, sizeof r->old);
  memcpy(r->vectors, c->uc_mcontext.fpregs->_xmm, sizeof r->vectors);
  memcpy(&magic, area + SIZES, sizeof magic);
  if (magic != MAGIC) return;
  memcpy(&saved, area + STATE, sizeof saved);
  if (saved & 4) memcpy(r->high, area + HIGH, sizeof r->high);
}
/* How the process is, and how it was at one time: kept until it was so again, or until it was not so
   for too many visits; then it is kept anew, for twice as many, so that rounds of any length up to
   ROUNDS_MAX are found. ret 1: it was just so */
static int looks_the_same(visit *v, const ucontext_t *c) {
  registers now;
  read_registers(c, &now);
  if (v->rounds && memcmp(&now, &v->then, sizeof now) == 0) {
    v->rounds = v->since + 1; /* the next wait here has rounds as long */
    v->since = 0;
    return 1;
  }
  if (v->since++ < v->rounds) return 0;
  v->then = now;
  v->rounds = v->rounds == 0 ? 1 : v->rounds < ROUNDS_MAX ? 2 * v->rounds : ROUNDS_MAX;
  v->since = 0;
  v->t_ns = pm_now_ns();
  return 0;
}
/* One round of a process at a place, instruction by instruction: is all that it wrote as it was? */
static struct {
  place *of; /* NULL: none */
  const pm_thread *thread;
  int steps, word_count;
  uintptr_t top; /* of the stack where it began */
  uintptr_t low; /* ... in this round: between it and the top at its end is nobody's */
  struct {
    uintptr_t at; /* 0: unused */
    uint64_t was;
  } words[2 * WORDS_MAX];
} proof;
static void stop_proof(ucontext_t *c, bool is_vain) {
  if (is_vain) proof.of->other_count += VISITS_IN_VAIN * (2 + proof.of->same_count);
  proof.of = NULL;
  c->uc_mcontext.gregs[REG_EFL] &= ~0x100L;
}
static void begin_proof(place *p, ucontext_t *c) {
  memset(&proof, 0, sizeof proof);
  proof.of = p;
  proof.thread = pm_thread_self();
  proof.low = proof.top = (uintptr_t)c->uc_mcontext.gregs[REG_RSP];
  c->uc_mcontext.gregs[REG_EFL] |= 0x100; /* the processor's trap flag: prove_on before each one */
}
/* A word of the program's, or, where its round goes through pm_run's functions and these were made with a sanitizer, of the
   sanitizer's own: it must not look at that. */
typedef uint64_t __attribute__((may_alias)) any_word;
__attribute__((no_sanitize_address)) static uint64_t word_at(uintptr_t at) {
  return *(const any_word *)at;
}
/* ret 0: these are too many */
static int keep_word(uintptr_t at, bool is_mapped) {
  size_t i = at / 8 * 0x9E3779B97F4A7C15u >> 54;
  while (proof.words[i %= 2 * WORDS_MAX].at && proof.words[i].at != at) i++;
  if (proof.words[i].at) return 1;
  if (++proof.word_count > WORDS_MAX) return 0;
  if (is_mapped)
    proof.words[i].was = word_at(at);
  else if (pread(memory_fd, &proof.words[i].was, 8, (off_t)at) != 8)
    return --proof.word_count, 1; /* the instruction does not reach as far, or ends in a crash */
  proof.words[i].at = at;
  return 1;
}
static int keep_words(uintptr_t where, size_t bytes) {
  for (uintptr_t at = where & ~(uintptr_t)7; at < where + bytes; at += 8)
    if (!keep_word(at, at / 4096 == where / 4096)) return 0;
  return 1;
}
static bool is_all_as_it_was(const ucontext_t *c) {
  const uintptr_t dead_to = (uintptr_t)c->uc_mcontext.gregs[REG_RSP] - RED_ZONE;
  for (int i = 0; i < 2 * WORDS_MAX; i++) {
    const uintptr_t at = proof.words[i].at;
    if (at && (at < proof.low - RED_ZONE || at >= dead_to) && word_at(at) != proof.words[i].was)
      return 0;
  }
  return 1;
}
/* Before the instruction at c's place. */
static void prove_on(ucontext_t *c) {
  const unsigned char *at = (unsigned char *)(uintptr_t)c->uc_mcontext.gregs[REG_RIP];
  const uintptr_t stack = (uintptr_t)c->uc_mcontext.gregs[REG_RSP];
  uintptr_t where = 0;
  size_t bytes;
  if (pm_thread_self() != proof.thread || ++proof.steps > PROOF_MAX ||
      stack - (proof.top - STACK_MAX) > 2 * (uintptr_t)STACK_MAX) {
    stop_proof(c, 1);
    return;
  }
  if (stack < proof.low) proof.low = stack;
  if (*at == 0xCC && place_at((size_t)((const char *)at - guest_now()->image))) return;
  if (!guest_stores(at, c, &where, &bytes) || !keep_words(where, bytes)) stop_proof(c, 1);
}
/* What is delivered to the process ends the wait at once; what another thread of it, or a process on its node,
   writes is seen after a small part of the time that it has waited already. */
static void wait_at(place *p, const visit *v) {
  const int64_t d_ns = (pm_now_ns() - v->t_ns) / WAIT_PARTS;
  p->same_count++;
  if (!p->is_spin) {
    p->is_spin = 1;
    for (int rank = 0; rank < guest_count() && guest_count() <= 4096; rank++) put_trap(p, rank);
  }
  pm_yield_for(d_ns < 1 ? 1 : d_ns < WAIT_MAX_NS ? d_ns : WAIT_MAX_NS);
  guest_signals_come();
  guest_cancel_at_once();
}
/* All registers are as they were some visits ago. One more round is run instruction by instruction: only
   when all that it writes is as it was, too, can nothing but somebody else end the loop. What others wrote while it
   waited may have made a computation of it, so each wait has its proof. */
static void visited(place *p, ucontext_t *c) {
  visit *v = p->visits[pm_rank()];
  const bool is_same = looks_the_same(v, c), is_mine = proof.of == p;
  p->other_count += !is_same;
  if (proof.of && !is_mine) return; /* another place's round */
  if (is_mine && is_same) {
    const bool is_wait = proof.thread == pm_thread_self() && is_all_as_it_was(c);
    stop_proof(c, !is_wait);
    if (is_wait) wait_at(p, v);
  } else if (is_mine && !v->since)
    stop_proof(c, 0); /* kept anew: it was something else */
  else if (is_same)
    begin_proof(p, c);
}
/* Every loop has a jump, and a trap there costs least: what it hides need not run. Where none comes soon, the next
   tick searches again. An instruction that repeats itself (rep stos) is one, up to as many times. */
static void search_on(ucontext_t *c) {
  unsigned char *at = (unsigned char *)(uintptr_t)c->uc_mcontext.gregs[REG_RIP];
  const bool is_inside = pm_self() && guest_is_own_code(at); /* another's would have the trap */
  const bool is_repeated = (uintptr_t)at == searched_at && ++searched_count < REPEATED_MAX;
  const bool is_found = is_inside && (guest_goes_to(at, *at, 0) || *at == 0xCC);
  searched_at = (uintptr_t)at;
  if (is_inside && !is_found && (is_repeated || --searching)) return;
  searching = 0;
  c->uc_mcontext.gregs[REG_EFL] &= ~0x100L;
  if (is_found) trap_place(at);
}
static void search(ucontext_t *c) {
  if (memory_fd < 0) return;
  searching = SEARCH_MAX;
  searched_count = 0;
  c->uc_mcontext.gregs[REG_EFL] |=
      0x100; /* the processor's trap flag: search_on after each instruction */
}
/* Linux says SI_KERNEL of a trap in the text, TRAP_TRACE after an instruction that is run alone, and TRAP_BRKPT where the
   processor does not say why it stopped, as when a virtual machine loses the reason: such an instruction, too. */
static bool is_step(const siginfo_t *info) {
  return info->si_code == TRAP_TRACE || info->si_code == TRAP_BRKPT;
}
/* At a trap, which hides a jump: it is made here. Or after an instruction that is run alone. */
static void trapped(int number, siginfo_t *info, void *context) {
  ucontext_t *c = (ucontext_t *)context;
  const int error = errno;
  unsigned char *const at = (unsigned char *)(uintptr_t)c->uc_mcontext.gregs[REG_RIP] - 1;
  if (guest_counter_stopped(c) || guest_fault_stopped(c)) {
    errno = error;
    return;
  }
  if (is_step(info)) {
    if (searching)
      search_on(c);
    else if (proof.of)
      prove_on(c);
    else /* a step that nobody waits for any more */
      c->uc_mcontext.gregs[REG_EFL] &= ~0x100L;
    errno = error;
    return;
  }
  const size_t offset = pm_self() ? (size_t)((char *)at - guest_now()->image) : 0;
  place *p = place_at(offset);
  if (!p || !p->visits[pm_rank()]) {
    /* Taken away by a tick that came between the trap and here: what stood there is run. Else a breakpoint of the program's own. */
    if (*at != 0xCC)
      c->uc_mcontext.gregs[REG_RIP]--;
    else
      signal(number, SIG_DFL);
    errno = error;
    return;
  }
  c->uc_mcontext.gregs[REG_RIP]--;
  visited(p, c);
  p = place_at(
      offset); /* it may have yielded to one who took the trap away: then the jump stands there again */
  if (p && p->other_count > VISITS_IN_VAIN * (1 + p->same_count)) {
    /* a computation, or a place where many pass */
    if (proof.of) stop_proof(c, proof.of != p);
    remove_place(p);
  } else if (p) {
    c->uc_mcontext.gregs[REG_RIP] =
        (greg_t)(uintptr_t)guest_goes_to(at, p->byte, (unsigned long)c->uc_mcontext.gregs[REG_EFL]);
    if (proof.of) prove_on(c);
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
static bool is_trapped(void) { return searching || proof.of; }
/* A handler of the program runs next, whose steps are not the round's. */
void guest_steps_end(ucontext_t *c) {
  if (proof.of) stop_proof(c, 1);
  searching = 0;
  c->uc_mcontext.gregs[REG_EFL] &= ~0x100L;
}
static unsigned char *code_at(const ucontext_t *c) {
  return (unsigned char *)(uintptr_t)c->uc_mcontext.gregs[REG_RIP];
}
#else
static void traps_begin(void) {}
static void search(ucontext_t *c) { (void)c; }
static bool is_trapped(void) { return 0; }
static unsigned char *code_at(const ucontext_t *c) {
  return (unsigned char *)(uintptr_t)c->uc_mcontext.pc;
}
#endif

/* ---- ticks ---------------------------------------------------------------------------------------------- */
/* Inside of a library it may hold a lock: then not now. The signal's frame lies on the guest's own
   stack, so the guest may be left here and come back. */
enum { SPUN_MAX = 256, SPUN_BYTES = 4096 };
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
  /* Libraries that were opened later lie elsewhere in each process: they have no traps, but yield. */
  if (!guest_is_its(at)) return;
  guest_watch_answer(at);
  pm_catch_up();
  say_if_silent(world, at);
  if (!ticks) return;
  const size_t where = (size_t)((char *)at - guest_now()->image) / SPUN_BYTES + 1;
  size_t *known = &spun[where % SPUN_MAX];
  if (ticks >= spin_ticks_max || (*known == where && ticks > 1)) {
    let_others_run(world, *known == where);
    guest_signals_come();
    guest_cancel_at_once();
    seen = progress(world);
    *known = where; /* found spinning once: at once the next time */
  }
  search((ucontext_t *)context);
  errno = error;
}
void guest_spin_begin(int spin_ms) {
  struct sigaction act;
  const struct itimerval every = {{0, TICK_MS * 1000}, {0, TICK_MS * 1000}};
  memset(&act, 0, sizeof act);
  spin_ticks_max = spin_ms / TICK_MS > 2 ? spin_ms / TICK_MS : 2;
  traps_begin();
  if (!spin_ms) return;
  act.sa_sigaction = tick;
  act.sa_flags = SA_SIGINFO | SA_RESTART | SA_NODEFER;
  sigaction(SIGVTALRM, &act, NULL);
  setitimer(ITIMER_VIRTUAL, &every, NULL);
}
void guest_spin_end(void) { setitimer(ITIMER_VIRTUAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL); }
