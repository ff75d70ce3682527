#include "threads.h"
static void pm__thread_main(void);
/* ---- contexts ---------------------------------------------------------------------------------- */
/* pm__context_switch saves the running context in *save and continues in load. The assembly keeps
   what a compiler may not list as clobbered (frame and base pointer, control words of the
   floating-point units) and tells it that all else is gone; so the compiler saves what is alive
   around the switch, and nothing else. A new context starts like a saved one whose resume address
   is pm__thread_main.

   A saved context of x86-64, from its stack pointer upwards: the address to go on at, mxcsr and the
   x87 control word, rbx, rbp, then 128 bytes of red zone, which the code before may still use below
   its own stack pointer. aarch64: x9 (the address) and x19, x29 and x30, fpcr; it has no red
   zone. */
/* ThreadSanitizer is told right before each switch, in the same function: it keeps count of functions that were
   entered, per fibre. */
#ifdef PM__TSAN
#  define PM__FIBER_ENTERS(w, t)                                                                   \
    ((w)->tsan_fiber = __tsan_get_current_fiber(), __tsan_switch_to_fiber((t)->tsan_fiber, 0))
#  define PM__FIBER_LEAVES(w) __tsan_switch_to_fiber((w)->tsan_fiber, 0)
#else
#  define PM__FIBER_ENTERS(w, t) ((void)0)
#  define PM__FIBER_LEAVES(w)    ((void)0)
#endif
#if defined(PM_USE_UCONTEXT)
static void pm__context_make(pm_world *w, pm_thread *t) {
  getcontext(&t->uc);
  t->uc.uc_stack.ss_sp = t->stack;
  t->uc.uc_stack.ss_size = t->stack_bytes - PM__STACK_TOP;
  t->uc.uc_link = &w->uc;
  makecontext(&t->uc, pm__thread_main, 0);
}
PM__PRIVATE void pm__context_enter(pm_world *w, pm_thread *t) {
  PM__FIBER_ENTERS(w, t);
  swapcontext(&w->uc, &t->uc);
}
static void pm__context_leave(pm_world *w, pm_thread *t) {
  PM__FIBER_LEAVES(w);
  swapcontext(&t->uc, &w->uc);
}
#else
#  if defined(__x86_64__)
#    ifdef __AVX512F__
#      define PM__AVX512_CLOBBERS                                                                  \
        "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25",  \
            "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k1", "k2", "k3", "k4", "k5",    \
            "k6", "k7",
#    else
#      define PM__AVX512_CLOBBERS
#    endif
PM__PRIVATE __attribute__((noinline)) void pm__context_switch(void **save, void *load) {
  __asm__ volatile("leaq -128(%%rsp), %%rsp\n\t" /* past the red zone */
                   "pushq %%rbp\n\t"
                   "pushq %%rbx\n\t"
                   "subq $8, %%rsp\n\t"
                   "stmxcsr (%%rsp)\n\t"
                   "fnstcw 4(%%rsp)\n\t"
                   "leaq 1f(%%rip), %%rax\n\t"
                   "pushq %%rax\n\t"
                   "movq %%rsp, (%%rdi)\n\t"
                   "movq %%rsi, %%rsp\n\t"
                   "popq %%rax\n\t"
                   "ldmxcsr (%%rsp)\n\t"
                   "fldcw 4(%%rsp)\n\t"
                   "addq $8, %%rsp\n\t"
                   "popq %%rbx\n\t"
                   "popq %%rbp\n\t"
                   "leaq 128(%%rsp), %%rsp\n\t"
                   "jmpq *%%rax\n"
                   "1:\n"
                   : "+D"(save), "+S"(load)
                   :
                   : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
                     "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
                     "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", PM__AVX512_CLOBBERS "st",
                     "st(1)", "st(2)", "st(3)", "st(4)", "st(5)", "st(6)", "st(7)", "memory", "cc");
}
/* A stack as pm__context_switch leaves one, to be gone on with at pm__thread_main:

     top - 248  address, mxcsr and x87 control word, rbx, rbp, 128 bytes taken for a red zone
     top -  88  0: the return address of pm__thread_main, where walks over the stack end

   mxcsr and control word are those with which System V's ABI of x86-64 begins a process. */
static void *pm__context_first(char *top) {
  uint64_t *frame = (uint64_t *)(void *)(top - 248); /* pm__thread_main starts at 8 modulo 16 */
  uint32_t mxcsr = 0x1F80, x87 = 0x037F;
  memset(frame, 0, 248);
  frame[0] = (uint64_t)(uintptr_t)pm__thread_main;
  memcpy(&frame[1], &mxcsr, 4);
  memcpy((char *)&frame[1] + 4, &x87, 4);
  return frame;
}
#  else /* aarch64 */
PM__PRIVATE __attribute__((noinline)) void pm__context_switch(void **save, void *load) {
  register void **x0 __asm__("x0") = save;
  register void *x1 __asm__("x1") = load;
  __asm__ volatile("adr x9, 1f\n\t"
                   "sub sp, sp, #48\n\t"
                   "stp x9, x19, [sp]\n\t"
                   "stp x29, x30, [sp, #16]\n\t"
                   "mrs x9, fpcr\n\t"
                   "str x9, [sp, #32]\n\t"
                   "mov x9, sp\n\t"
                   "str x9, [x0]\n\t"
                   "mov sp, x1\n\t"
                   "ldr x9, [sp, #32]\n\t"
                   "msr fpcr, x9\n\t"
                   "ldp x29, x30, [sp, #16]\n\t"
                   "ldp x9, x19, [sp]\n\t"
                   "add sp, sp, #48\n\t"
                   "br x9\n"
                   "1:\n"
                   : "+r"(x0), "+r"(x1)
                   :
                   : "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13",
                     "x14", "x15", "x16", "x17", "x20", "x21", "x22", "x23", "x24", "x25", "x26",
                     "x27", "x28", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9",
                     "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20",
                     "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31",
                     "memory", "cc");
}
/* x29 and x30 are 0, where walks over the stack end; fpcr 0 rounds to nearest. */
static void *pm__context_first(char *top) {
  uint64_t *frame = (uint64_t *)(void *)(top - 64);
  memset(frame, 0, 64);
  frame[0] = (uint64_t)(uintptr_t)pm__thread_main;
  return frame;
}
#  endif
static void pm__context_make(pm_world *w, pm_thread *t) {
  (void)w;
  t->sp = pm__context_first(t->stack + t->stack_bytes - PM__STACK_TOP);
}
/* Called through a pointer that no compiler can follow: else it might keep variables of this file, or
   of a guest in the same file, in registers because no code it sees could change them. */
PM__PRIVATE void pm__context_enter(pm_world *w, pm_thread *t) {
  PM__FIBER_ENTERS(w, t);
  w->context_switch(&w->scheduler_sp, t->sp);
}
static void pm__context_leave(pm_world *w, pm_thread *t) {
  PM__FIBER_LEAVES(w);
  w->context_switch(&t->sp, w->scheduler_sp);
}
#endif

/* Stacks are cut from slabs with a page that may not be touched below each, and used again. The
   kernel limits the number of such pages (two mappings each): later stacks go without, and rely on
   the word below that page, at the top of the stack before, that every switch looks at. It lies in a page
   that is in use anyhow. */

PM__PRIVATE uint64_t *pm__stack_canary(const pm_thread *t) {
  return (uint64_t *)(void *)(t->stack - PM__PAGE - PM__STACK_TOP);
}
/* One slab, from its lowest address upwards:

     | page, word 0 | guard 0 | stack 0, word 1 | guard 1 | stack 1, word 2 | guard 2 | ...

   Stacks grow to the left: what leaves stack 1 meets guard 1, and where that page may be touched,
   it reaches word 1, which lies above all frames of stack 0 (PM__STACK_TOP). */
static char *pm__stack_map(pm_world *w, size_t stack_bytes, int count) {
  const size_t each = stack_bytes + PM__PAGE,
               bytes = PM__PAGE + each * (size_t)count; /* the first page: for the first canary */
  pm__slab *slab = (pm__slab *)PM_MALLOC(sizeof *slab);
  void *base =
      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (!slab || base == MAP_FAILED) {
    if (base != MAP_FAILED) munmap(base, bytes);
    PM_FREE(slab);
    return NULL;
  }
  slab->next = w->slabs;
  slab->base = (char *)base;
  slab->bytes = bytes;
  w->slabs = slab;
  return slab->base + 2 * PM__PAGE;
}
/* A stack that nobody had before. Its guard is made, and its pages are touched, when it is handed out: most
   worlds are small, and a slab costs them one call of the kernel. */
static char *pm__stack_untaken(pm_world *w, size_t stack_bytes) {
  char *stack = NULL;
  if (stack_bytes != w->desc.stack_bytes)
    stack = pm__stack_map(w, stack_bytes, 1);
  else {
    if (w->untaken_count == 0 && (w->untaken = pm__stack_map(w, stack_bytes, PM__STACKS_PER_SLAB)))
      w->untaken_count = PM__STACKS_PER_SLAB;
    if (w->untaken_count > 0) {
      stack = w->untaken;
      w->untaken += stack_bytes + PM__PAGE;
      w->untaken_count--;
    }
  }
  if (stack && (w->stats.stack_count >= PM__GUARDED_MAX ||
                mprotect(stack - PM__PAGE, PM__PAGE, PROT_NONE) != 0))
    w->has_unguarded = true;
  return stack;
}
/* Stacks of the default size are cut from slabs and used again; others are made alone. The link of the list of
   free stacks lies in the topmost page, which their threads have touched. */
static char *pm__stack_get(pm_world *w, size_t stack_bytes) {
  char *stack;
  if (stack_bytes == w->desc.stack_bytes && w->free_stacks) {
    stack = (char *)w->free_stacks + PM__PAGE - stack_bytes;
    w->free_stacks = w->free_stacks->next;
  } else
    stack = pm__stack_untaken(w, stack_bytes);
  if (stack) w->stats.stack_count++;
  return stack;
}
static void pm__stack_put(pm_world *w, char *stack, size_t stack_bytes) {
  pm__stack *s;
#ifdef PM__ASAN
  ASAN_UNPOISON_MEMORY_REGION(stack, stack_bytes); /* frames that were left for good */
#endif
  if (stack_bytes != w->desc.stack_bytes) return; /* odd sizes stay until the world ends */
  s = (pm__stack *)(void *)(stack + stack_bytes - PM__PAGE);
  s->next = w->free_stacks;
  w->free_stacks = s;
}

/* ---- threads ----------------------------------------------------------------------------------- */
/* Threads that may run at one time run in the order in which they became ready: first in, first
   out. */
static void pm__make_ready(pm_world *w, pm_thread *t) {
  t->state = PM__READY;
  t->next_ready = NULL;
  if (w->ready_tail)
    w->ready_tail->next_ready = t;
  else
    w->ready_head = t;
  w->ready_tail = t;
}
/* The thread goes on at the present time.
   Whoever resumes need not know what the thread does: one that runs, is ready or has ended stays
   so. The timer goes too: it would end a later wait of this thread. */
PM__PRIVATE void pm__resume(pm_world *w, pm_thread *t) {
  if (t->state != PM__BLOCKED) return;
  pm__unschedule(w, &t->timer);
  w->idle_count -= t->counts_idle;
  t->polling = t->counts_idle = 0;
  pm__make_ready(w, t);
}
/* A thread that is ahead needs no turn of its own where nobody else has one: whatever the loop would do
   first is done. */
static void pm__timer_fired(pm_world *w, pm__event *event) {
  pm_thread *t = (pm_thread *)event;
  t->timed_out = 1;
  if (!t->is_ahead || !w->is_plain || w->ready_head || w->stopped) {
    pm__resume(w, t);
    return;
  }
  w->idle_count -= t->counts_idle;
  t->polling = t->counts_idle = 0;
  t->state = PM__READY;
  if (!pm__goes_ahead(w, t)) pm__make_ready(w, t);
}
/* Sleepers that are idle count apart (idle_count): when the future holds nothing but timers of
   threads that only look for messages, nothing can come any more, and the world can tell a
   deadlock. */
PM__PRIVATE void pm__sleeps(pm_world *w, pm_thread *t, int64_t t_ps, const char *what) {
  t->state = PM__BLOCKED;
  t->what = what;
  t->t_ran_ps = w->now_ps;
  t->timed_out = 0;
  t->takes_cpu = false;
  if (t_ps != PM__FOREVER) {
    t->t_wake_ps = t_ps;
    pm__schedule(w, &t->timer, t_ps);
    t->counts_idle = t->is_idle;
    w->idle_count += t->is_idle;
  }
}
/* Leaves the running thread, which sleeps, until it is resumed. */
PM__PRIVATE void pm__leave(pm_thread *t) {
  pm_world *w = t->proc->world;
#ifdef PM__ASAN
  __sanitizer_start_switch_fiber(&t->asan_fake, w->asan_bottom, w->asan_bytes);
#endif
  pm__context_leave(w, t);
#ifdef PM__ASAN
  __sanitizer_finish_switch_fiber(t->asan_fake, &w->asan_bottom, &w->asan_bytes);
#endif
}
/* The same until pm__resume. t_ps PM__FOREVER: no timer. */
PM__INLINE void pm__block(int64_t t_ps, const char *what) {
  pm__sleeps(pm__current->proc->world, pm__current, t_ps, what);
  pm__leave(pm__current);
}
/* A thread is busy for so long. ret whether it sleeps now; else that time has passed */
PM__INLINE bool pm__is_put_off(pm_world *w, pm_thread *t, int64_t d_ps, const char *what) {
  const int64_t t_ps = pm__later(w->now_ps, d_ps);
  if (d_ps <= 0) return false;
  t->poll_streak = 0;
  if (pm__time_passes(w, t_ps)) return false;
  pm__sleeps(w, t, t_ps, what);
  t->takes_cpu = true;
  return true;
}
PM__INLINE void pm__busy(int64_t d_ps, const char *what) {
  pm_thread *t = pm__current;
  if (pm__is_put_off(t->proc->world, t, d_ps, what)) pm__leave(t);
}
/* A thread that would run now just to find that its event is there and to pay for it: it pays without
   running.
   This saves one of two switches per event: the thread would see its event, sleep for the cost, and
   run again (is_over is set). The same is looked at and slept for, at the same time and in the same order, so
   results do not change. When the thread was woken in vain it runs, and asks for this anew.
   ret whether it sleeps now */
PM__PRIVATE bool pm__pays(pm_world *w, pm_thread *t) {
  const int64_t d_ns = w->plat.cpu_event_ns, t_ps = pm__later(w->now_ps, w->d_look_ps);
  const bool is_over = t->is_over(t);
  t->is_over = NULL;
  if (!is_over) return false;
  t->has_paid = true;
  t->waits_for_ptl = 0;
  t->describe = NULL;
  if (d_ns <= 0) return false;
  t->poll_streak = 0;
  if (pm__time_passes(w, t_ps)) return false;
  t->is_idle = d_ns <= w->plat.cpu_poll_max_ns;
  if (w->is_large) pm__ask_for(t->sp, 6);
  pm__sleeps(w, t, t_ps, "a Portals call");
  return true;
}
PM__PRIVATE void pm__cpu(int64_t d_ns) {
  pm__current->is_idle = d_ns <= pm__current->proc->world->plat.cpu_poll_max_ns;
  pm__busy(pm__ps(d_ns), "a Portals call");
  pm__current->is_idle = 0;
}

/* Before the last thread of a process ends, or an interface closes: see windows.c. */
PM__PRIVATE void pm__come_home(void) {
  const pm_process *p = pm__current ? pm__current->proc : NULL;
  while (p && p->world->whole && p->under_way)
    pm__busy(p->world->d_loggp_none_ps, "operations under way");
}
static void pm__cores_leave(pm_world *w, pm_thread *t);
/* Only the scheduler's side may free a stack that was just run on. */
PM__PRIVATE void pm__thread_bury(pm_world *w, pm_thread *t) {
  if (!t->stack) return;
#ifdef PM_WITH_VALGRIND
  VALGRIND_STACK_DEREGISTER(t->valgrind_id);
#endif
#ifdef PM__TSAN
  __tsan_destroy_fiber(t->tsan_fiber);
#endif
  pm__stack_put(w, t->stack, t->stack_bytes);
  t->stack = NULL;
}
/* A process ends with its last thread. pm_exit has set `ended` and counted the process before it
   ends the threads, so that it is counted once. */
PM__PRIVATE void pm__thread_ended(pm_world *w, pm_thread *t) {
  t->state = PM__ENDED;
  if (t->is_computing) pm__cores_leave(w, t);
  w->live_threads--;
  if (t->joiner) pm__resume(w, t->joiner);
  if (--t->proc->live_threads == 0 && !t->proc->ended) {
    t->proc->ended = 1;
    w->live_processes--;
    pm__ptl_process_ended(t->proc);
  }
}
PM__PRIVATE void pm__leave_for_good(pm_world *w, pm_thread *t) {
#ifdef PM__ASAN
  __sanitizer_start_switch_fiber(NULL, w->asan_bottom, w->asan_bytes);
#endif
  pm__context_leave(w, t);
}
static void pm__thread_main(void) {
  pm_thread *t = pm__current;
  pm_world *w = t->proc->world;
#ifdef PM__ASAN
  __sanitizer_finish_switch_fiber(NULL, &w->asan_bottom, &w->asan_bytes);
#endif
  t->entry(t->arg);
  if (t->has_steps) pm__catch_up();
  if (t->proc->live_threads == 1) pm__come_home();
  pm__thread_ended(w, t);
  pm__leave_for_good(w, t);
}
/* A new thread, or one that has ended, from its entry on.
   The place in the list of the process stays: a thread that is started again is in it already.
   ret 0: out of memory */
PM__PRIVATE int pm__thread_start(pm_thread *t) {
  pm_world *w = t->proc->world;
  t->stack = pm__stack_get(w, t->stack_bytes);
  if (!t->stack) return 0;
  *pm__stack_canary(t) = PM__CANARY;
  t->asan_fake = NULL;
  t->proc->live_threads++;
  w->live_threads++;
#ifdef PM_WITH_VALGRIND
  t->valgrind_id = VALGRIND_STACK_REGISTER(t->stack, t->stack + t->stack_bytes);
#endif
#ifdef PM__TSAN
  t->tsan_fiber = __tsan_create_fiber(0);
#endif
  pm__context_make(w, t);
  pm__make_ready(w, t);
  return 1;
}
PM__PRIVATE pm_thread *pm__thread_new(pm_process *proc, void (*entry)(void *arg), void *arg,
                                      size_t stack_bytes) {
  pm_world *w = proc->world;
  pm_thread *t = stack_bytes > SIZE_MAX / 2 ? NULL : (pm_thread *)pm__lines_take(w, sizeof *t);
  if (!t) return NULL;
  t->stack_bytes =
      stack_bytes ? (stack_bytes + PM__PAGE - 1) / PM__PAGE * PM__PAGE : w->desc.stack_bytes;
  if (t->stack_bytes < 4 * PM__PAGE) t->stack_bytes = 4 * PM__PAGE;
  t->timer.fn = pm__timer_fired;
  t->proc = proc;
  t->entry = entry;
  t->arg = arg;
  if (!pm__thread_start(t)) return NULL;
  t->next_in_proc = proc->threads;
  proc->threads = t;
  w->stats.memory_bytes += sizeof *t;
  return t;
}

PM_API pm_thread *pm_thread_create(void (*entry)(void *arg), void *arg, size_t stack_bytes) {
  if (!pm__current || !entry) return NULL;
  /* Only the one thread of a process may run ahead: see ahead.c. */
  if (pm__current->has_steps) pm__catch_up();
  return pm__thread_new(pm__current->proc, entry, arg, stack_bytes);
}
PM_API pm_thread *pm_thread_self(void) { return pm__current; }
/* ---- shared cores: processor sharing, a heap of threads and one event per node ------------------------ */
/* a * b / c for b, c that are numbers of threads and cores; rounded up if asked for. In whole
   numbers, since sums of these times must come out the same in every run: a = q c + r, so a b / c =
   q b + r b / c, and neither product leaves 64 bits for times below PM__END. */
static int64_t pm__share_ps(int64_t a_ps, int64_t b, int64_t c, bool is_up) {
  const int64_t whole = a_ps / c, rest = a_ps % c * b;
  if (whole > PM__END / b) return PM__END;
  return pm__later(whole * b, (rest + (is_up ? c - 1 : 0)) / c);
}
static bool pm__cores_are_short(const pm_world *w, const pm__cores *c) {
  return c->count > w->plat.cores_per_node_count;
}
/* Up to now. v_ps is virtual time: it grows by what each computing thread gets, which is the same
   for all, so one number serves for all. A thread ends when v reaches what v was at its begin plus
   its own time. The order of these ends never changes: who comes later only makes v slower.
   [Processor sharing by virtual time, as in fair queueing: Demers, Keshav and Shenker, SIGCOMM
   1989.] */
static void pm__cores_advance(const pm_world *w, pm__cores *c) {
  const int64_t d_ps = w->now_ps - c->t_ps;
  c->v_ps = pm__later(c->v_ps, pm__cores_are_short(w, c)
                                   ? pm__share_ps(d_ps, w->plat.cores_per_node_count, c->count, 0)
                                   : d_ps);
  c->t_ps = w->now_ps;
}
static void pm__cores_next(pm_world *w, pm__cores *c) {
  int64_t d_ps;
  pm__unschedule(w, &c->event);
  if (!c->count) return;
  /* Rounded up: at that time v has reached the end, not nearly. */
  d_ps = pm__max_ps(c->heap[0]->v_end_ps - c->v_ps, 0);
  if (pm__cores_are_short(w, c))
    d_ps = pm__share_ps(d_ps, c->count, w->plat.cores_per_node_count, 1);
  pm__schedule(w, &c->event, pm__later(w->now_ps, d_ps));
}
static bool pm__cores_before(const pm_thread *a, const pm_thread *b) {
  return a->v_end_ps != b->v_end_ps ? a->v_end_ps < b->v_end_ps : a->cores_order < b->cores_order;
}
static void pm__cores_put(pm__cores *c, int i, pm_thread *t) {
  c->heap[i] = t;
  t->cores_place = i;
}
static void pm__cores_up(pm__cores *c, int i, pm_thread *t) {
  for (; i && pm__cores_before(t, c->heap[(i - 1) / 2]); i = (i - 1) / 2)
    pm__cores_put(c, i, c->heap[(i - 1) / 2]);
  pm__cores_put(c, i, t);
}
static void pm__cores_remove(pm__cores *c, pm_thread *t) {
  pm_thread *last = c->heap[--c->count];
  int i = t->cores_place, child;
  t->is_computing = 0;
  if (last == t) return;
  /* All the way down first: the last one belongs near the bottom, so this takes about half the
     comparisons. From there it may rise above the gap, since it can come from another branch. */
  while ((child = 2 * i + 1) < c->count) { /* the gap goes down, then the last one up from there */
    if (child + 1 < c->count && pm__cores_before(c->heap[child + 1], c->heap[child])) child++;
    pm__cores_put(c, i, c->heap[child]);
    i = child;
  }
  pm__cores_up(c, i, last);
}
static void pm__cores_event(pm_world *w, pm__event *event) {
  pm__cores *c = (pm__cores *)event;
  pm__cores_advance(w, c);
  while (c->count && c->heap[0]->v_end_ps <= c->v_ps) {
    pm_thread *t = c->heap[0];
    pm__cores_remove(c, t);
    pm__resume(w, t);
  }
  pm__cores_next(w, c);
}
/* The node stands still, or goes on. */
PM__PRIVATE void pm__cores_stop(pm_world *w, int node, bool stands_still) {
  pm__cores *c = w->nodes[node].cores;
  if (!c) return;
  if (stands_still) {
    pm__cores_advance(w, c);
    pm__unschedule(w, &c->event);
  } else {
    c->t_ps = w->now_ps;
    pm__cores_next(w, c);
  }
}
/* One that computes is ended by another thread of its process. */
static void pm__cores_leave(pm_world *w, pm_thread *t) {
  pm__cores *c = w->nodes[t->proc->node].cores;
  pm__cores_advance(w, c);
  pm__cores_remove(c, t);
  pm__cores_next(w, c);
}
/* The running thread computes beside those that do. */
static void pm__cores_compute(pm_world *w, int64_t d_ps) {
  pm_thread *t = pm__current;
  pm__node *n = &w->nodes[t->proc->node];
  pm__cores *c = n->cores;
  void *array;
  if (!c) {
    c = n->cores = (pm__cores *)pm__zalloc(sizeof *c);
    if (!c) {
      pm_world_fail(w, PM_E_NOMEM, "out of memory: cores");
      return;
    }
    c->event.fn = pm__cores_event;
    w->stats.memory_bytes += sizeof *c;
  }
  array = c->heap;
  if (!pm__grow(&array, &c->max, c->count + 1, sizeof *c->heap)) {
    pm_world_fail(w, PM_E_NOMEM, "out of memory: cores");
    return;
  }
  c->heap = (pm_thread **)array;
  pm__cores_advance(w, c);
  /* From idle, v starts anew, so that it never grows without an end. */
  if (!c->count) c->v_ps = 0;
  t->v_end_ps = pm__later(c->v_ps, d_ps);
  t->cores_order = c->order++;
  t->is_computing = 1;
  t->poll_streak = 0;
  pm__cores_up(c, c->count++, t);
  pm__cores_next(w, c);
  pm__block(PM__FOREVER, "computation");
}
static void pm__compute(int64_t d_ns) {
  pm_world *w = pm__current->proc->world;
  const int64_t t_ps = w->now_ps;
  pm__current->is_vain = 0;
  if (w->plat.cores_are_shared && d_ns > 0) {
    pm__cores_compute(w, pm__ps(d_ns));
    pm__trace_compute(w, t_ps, w->now_ps);
    return;
  }
  pm__trace_compute(w, t_ps, pm__later(t_ps, pm__ps(d_ns)));
  pm__busy(pm__ps(d_ns), "computation");
}
PM_API void pm_compute_ns(int64_t d_ns) {
  if (!pm__current) return;
  pm_compute_measured();
  if (d_ns > 0) pm__compute(d_ns);
}
PM_API void pm_compute_measured(void) {
  const pm_world_desc *desc;
  int64_t d_ns;
  if (!pm__current) return;
  if (pm__current->has_steps && !pm__current->defers) pm__catch_up();
  desc = &pm__current->proc->world->desc;
  if (!(desc->compute_ratio > 0)) return;
  if (pm__current->is_unmeasured) return;
  /* pm__enter set the mark anew: what others computed meanwhile is not in it. Short times are left
     out, not saved up: they are mostly the cost of being measured. */
  d_ns = PM_HOST_CPU_NS() - pm__current->mark_ns;
  if (d_ns >= desc->compute_min_ns) pm__compute((int64_t)((double)d_ns * desc->compute_ratio));
  pm__current->mark_ns = PM_HOST_CPU_NS();
}
PM_API bool pm_compute_unmeasured(bool is_unmeasured) {
  if (!pm__current) return false;
  const bool before = pm__current->is_unmeasured;
  if (before == is_unmeasured) return before;
  pm_compute_measured();
  pm__current->is_unmeasured = is_unmeasured;
  if (pm__current->proc->world->desc.compute_ratio > 0) pm__current->mark_ns = PM_HOST_CPU_NS();
  return before;
}
/* What belongs to another part of the world must be left alone. */
static bool pm__is_elsewhere(const pm_thread *thread, const char *text) {
  if (!pm__running || !pm__running->whole ||
      (pm__current && pm__current->proc->node == thread->proc->node))
    return false;
  pm_world_fail(pm__running, PM_E_STATE, text);
  return true;
}
PM_API void pm_thread_join(pm_thread *thread) {
  if (!thread || !pm__current || thread == pm__current) return;
  if (pm__is_elsewhere(thread, "threads: a thread of another node is to be joined")) return;
  if (thread->joiner) return;
  pm_compute_measured();
  thread->joiner = pm__current;
  while (thread->state != PM__ENDED) pm__block(PM__FOREVER, "thread to join");
}
PM_API bool pm_thread_wait(const char *what, int64_t d_ns) {
  pm_thread *t = pm__current;
  pm_world *w;
  bool was_woken;
  if (!t) return false;
  pm_compute_measured();
  w = t->proc->world;
  t->is_idle = t->is_vain;
  t->waits_for_wake = 1;
  /* A wake that came before the wait is not lost: woken is looked at first and cleared after. */
  if (!t->woken) pm__block(d_ns < 0 ? PM__FOREVER : pm__later(w->now_ps, pm__ps(d_ns)), what);
  t->waits_for_wake = 0;
  t->is_idle = 0;
  was_woken = t->woken;
  t->woken = 0;
  return was_woken;
}
PM_API void pm_thread_wake(pm_thread *thread) {
  if (!thread || pm__is_elsewhere(thread, "threads: a thread of another node was woken")) return;
  if (thread->state == PM__ENDED) return;
  if (pm__current && pm__current->has_steps) pm__catch_up();
  thread->woken = 1;
  if (thread->waits_for_wake) pm__resume(thread->proc->world, thread);
}
