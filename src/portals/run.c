/* Processes, the loop, worlds: see run.h and world.h. */
#include "run.h"
#include "../base/locale.h"
#include "outages.h"
/* ---- processes --------------------------------------------------------------------------------- */
PM_API pm_process *pm_self(void) { return pm__current ? pm__current->proc : NULL; }
PM_API int pm_rank(void) { return pm__current ? pm__current->proc->rank : -1; }
PM_API int pm_size(void) { return pm__current ? pm__current->proc->world->proc_count : 0; }
PM_API pm_world *pm_world_of(const pm_process *process) {
  if (!process) return NULL;
  return process->world->whole ? process->world->whole : process->world;
}
PM_API int pm_process_rank(const pm_process *process) { return process ? process->rank : -1; }
PM_API int pm_process_node(const pm_process *process) { return process ? process->node : -1; }
PM_API int pm_process_status(const pm_process *process) { return process ? process->status : -1; }
PM_API int pm_process_restart_count(const pm_process *process) {
  return process ? process->restart_count : 0;
}
PM_API bool pm_process_is_dead(const pm_process *process) { return process && process->is_dead; }
PM_API void pm_process_set_uid(pm_process *process, uint32_t uid) {
  if (process) process->uid = uid;
}
PM_API void pm_process_set_user(pm_process *process, void *user) {
  if (process) process->user = user;
}
PM_API void *pm_process_user(const pm_process *process) { return process ? process->user : NULL; }
PM_API pm_process *pm_process_at(pm_world *world, int rank) {
  return world && rank >= 0 && rank < world->proc_count ? world->procs[rank] : NULL;
}
PM_API int64_t pm_now_ns(void) {
  if (!pm__current) return 0;
  if (pm__current->has_steps) pm__catch_up();
  return pm__current->proc->world->now_ps / PM__PS;
}
PM_API void pm_sleep_ns(int64_t d_ns) {
  if (!pm__current) return;
  pm_compute_measured();
  if (pm__current->defers) {
    pm__sleep_later(pm__current, pm__ps(d_ns));
    return;
  }
  pm__current->is_idle = pm__current->is_vain;
  if (pm__is_put_off(pm__current->proc->world, pm__current, pm__ps(d_ns), "sleep")) {
    pm__current->takes_cpu = false;
    pm__leave(pm__current);
  }
  pm__current->is_idle = 0;
}
/* One look in vain. Idle looks in a row double the pause: a spinning guest lets time pass and costs
   few events; what is delivered to the process ends the pause at once. While nobody in the world does
   anything else, nothing can come but from who computes between its looks, and no time tells that. So pauses stay as they
   are for as many looks of all as take some seconds of the host (16 million in the 20 s that d_poll_deadlock_ns is by itself);
   only then do they grow with the time since, and the end is found soon. */
enum { PM__IDLE_STEPS = 256, PM__PATIENCE_NS = 1250 };
/* Who looks at memory again and again does nothing else, and a look takes a guest's host as long as so many others. */
enum { PM__MEMORY_LOOKS = 64 };
PM__PRIVATE bool pm__is_out_of_patience(const pm_world *w) {
  return w->idle_steps > w->desc.d_poll_deadlock_ns / PM__PATIENCE_NS;
}
static bool pm__poll_pause_of(int64_t d_least_ps) {
  pm_thread *t = pm__current;
  pm_world *w = t->proc->world;
  int64_t d_ns = w->plat.cpu_poll_ns, d_ps;
  if (t->poll_streak > 3) { /* the first looks cost what they cost */
    unsigned doublings = t->poll_streak - 3 < 30 ? t->poll_streak - 3 : 30;
    d_ns <<= doublings;
    if (d_ns > w->plat.cpu_poll_max_ns) d_ns = w->plat.cpu_poll_max_ns;
    if (d_ns < w->plat.cpu_poll_ns) d_ns = w->plat.cpu_poll_ns;
  }
  t->poll_streak++;
  t->is_vain = 1;
  d_ps = pm__max_ps(d_ns * PM__PS, d_least_ps);
  /* Over threads the whole world's idleness counts, as it was when the window began: what else a part does depends on
     which nodes are in it. */
  if (w->t_idle_since_ps >= 0 && pm__is_out_of_patience(w) &&
      (w->whole || w->future_count == (uint32_t)w->idle_count) && !pm__is_carrying(w))
    d_ps = pm__max_ps(d_ps, (w->now_ps - w->t_idle_since_ps) / PM__IDLE_STEPS);
  if (!w->ready_head && !w->stopped && w->future_count > (uint32_t)w->idle_count &&
      pm__next_ps(w) > w->now_ps + d_ps && !pm__is_carrying(w) &&
      !(w->whole && w->now_ps + d_ps >= w->t_limit_ps)) {
    w->now_ps += d_ps; /* something is under way, but later */
    return false;
  }
  t->polling = t->is_idle = 1;
  pm__block(pm__later(w->now_ps, d_ps), "polling: nothing ever arrives");
  t->is_idle = 0;
  if (!t->timed_out) t->poll_streak = 0, t->is_vain = 0;
  return !t->timed_out;
}
PM__PRIVATE void pm__poll_pause(void) { (void)pm__poll_pause_of(0); }
PM_API bool pm_yield_for(int64_t d_ns) {
  if (!pm__current) return false;
  pm_compute_measured();
  pm_thread *const t = pm__current;
  t->waits_for_memory = d_ns > 0;
  t->proc->memory_waiters += t->waits_for_memory;
  if (d_ns > 0 && !t->proc->world->whole) t->proc->world->idle_steps += PM__MEMORY_LOOKS - 1;
  const bool is_delivered = pm__poll_pause_of(pm__ps(d_ns));
  t->proc->memory_waiters -= t->waits_for_memory;
  t->waits_for_memory = false;
  return is_delivered;
}
PM_API void pm_yield(void) { (void)pm_yield_for(0); }
PM__PRIVATE void pm__barrier_opens(pm_world *w) {
  pm_thread *list = NULL, *next;
  w->barrier_count = 0;
  for (; w->barrier_waiters;
       w->barrier_waiters = next) { /* last come first in the list: turn it round */
    next = w->barrier_waiters->next_waiter;
    w->barrier_waiters->next_waiter = list;
    list = w->barrier_waiters;
  }
  for (; list; list = next) {
    next = list->next_waiter;
    pm__resume(w, list);
  }
}
PM_API void pm_barrier(void) {
  pm_thread *t = pm__current;
  pm_world *w;
  if (!t) return;
  pm_compute_measured();
  w = t->proc->world;
  if (++w->barrier_count == w->proc_count && !w->whole) {
    pm__barrier_opens(w);
    return;
  }
  t->next_waiter = w->barrier_waiters;
  w->barrier_waiters = t;
  pm__block(PM__FOREVER, "pm_barrier");
}
enum { PM__CRASHED = 1, PM__FAILED }; /* why the loop is left */
/* Out of a handler of the loop there is no way but the end of the run. */
static void pm__loop_fails(pm_world *w) {
  pm_world_fail(w, PM_E_STATE, "pm_exit was called in a handler of events");
  pm__current = NULL;
#ifndef PM__ASAN
  if (w->desc.catch_crashes) siglongjmp(w->crash_jump, PM__FAILED);
#endif
  fprintf(stderr, "%s\n", w->error);
  abort();
}
PM__PRIVATE void pm__process_ends(pm_process *p, int status) {
  pm_world *w = p->world;
  pm_thread *t;
  p->status = status;
  p->ended = 1;
  w->live_processes--;
  pm__ptl_process_ended(p);
  for (t = p->threads; t; t = t->next_in_proc) {
    if (t == pm__current || t->state == PM__ENDED) continue;
    pm__unschedule(w, &t->timer);
    w->idle_count -= t->counts_idle;
    t->polling = t->counts_idle = 0;
    pm__thread_ended(w, t); /* a place in the ready list is skipped there */
    pm__thread_bury(w, t);
  }
}
PM__PRIVATE void pm__barrier_left(pm_world *w) {
  pm_thread **at = &w->barrier_waiters;
  while (*at)
    if ((*at)->state == PM__ENDED) {
      *at = (*at)->next_waiter;
      w->barrier_count--;
    } else
      at = &(*at)->next_waiter;
}
PM_API void pm_exit(int status) {
  pm_thread *self = pm__current;
  pm_world *w;
  if (!self) return;
  pm_compute_measured();
  w = self->proc->world;
  if (self->is_handling) pm__loop_fails(w);
  pm__come_home();
  pm__process_ends(self->proc, status);
  pm__thread_ended(w, self);
  pm__leave_for_good(w, self);
}

/* ---- the run ----------------------------------------------------------------------------------- */
static void pm__world_error(pm_world *w, pm_status status, const char *format, ...) {
  locale_t before;
  va_list args;
  if (w->status) return;
  w->status = status;
  w->stopped = 1;
  before = nbc__locale_begin();
  va_start(args, format);
  vsnprintf(w->error, sizeof w->error, format, args);
  va_end(args);
  nbc__locale_end(before);
}
PM_API void pm_world_fail(pm_world *world, pm_status status, const char *text) {
  if (world) pm__world_error(pm__here(world), status, "%s", text ? text : pm_status_text(status));
}
PM_API const char *pm_world_error(const pm_world *world) {
  return world ? world->error : "no world";
}

/* "process 3 on node 1 waits for ..." for all that live, as far as the text has room. */
PM__PRIVATE void pm__deadlock(pm_world *w) {
  size_t n = 0;
  int i, silent = 0;
  const pm_thread *t;
  char more[160], in[160];
  pm__world_error(w, PM_E_DEADLOCK, "deadlock at %.3f us:", (double)w->now_ps * 1e-6);
  n = strlen(w->error);
  for (i = 0; i < w->proc_count; i++)
    for (t = w->procs[i]->threads; t; t = t->next_in_proc) {
      if (t->state == PM__ENDED) continue;
      if (sizeof w->error - n < 600) {
        silent++;
        continue;
      }
      more[0] = in[0] = 0;
      if (w->desc.waits_in) w->desc.waits_in(w->desc.user, w->procs[i], t, in, sizeof in);
      if (t->describe) t->describe(t, more, sizeof more);
      n += (size_t)snprintf(
          w->error + n, sizeof w->error - n, "\n  process %d (node %d%s) waits%s%s: %s%s%s", i,
          w->procs[i]->node, w->procs[i]->stands_still ? ", which stands still" : "",
          in[0] ? " in " : "", in, t->what ? t->what : "its beginning", more[0] ? " " : "", more);
    }
  if (silent) n += (size_t)snprintf(w->error + n, sizeof w->error - n, "\n  and %d more", silent);
  if (w->stats.undeliverable_count)
    n += (size_t)snprintf(w->error + n, sizeof w->error - n,
                          "\n  messages that could not be delivered: %llu",
                          (unsigned long long)w->stats.undeliverable_count);
  for (i = 0; i < w->proc_count && sizeof w->error - n > 200; i++)
    if (w->procs[i]->ended && w->procs[i]->status)
      n += (size_t)snprintf(w->error + n, sizeof w->error - n,
                            "\n  process %d (node %d) has %s, with status %d", i, w->procs[i]->node,
                            w->procs[i]->is_dead ? "died" : "ended", w->procs[i]->status);
}
static void pm__enter(pm_world *w, pm_thread *t) {
  w->stats.switch_count++;
  t->state = PM__RUNNING;
  pm__current = t;
  if (w->last_run != t && w->desc.switched) w->desc.switched(w->desc.user, t->proc);
  w->last_run = t;
  if (w->desc.compute_ratio > 0) t->mark_ns = PM_HOST_CPU_NS();
#ifdef PM__ASAN
  __sanitizer_start_switch_fiber(&w->asan_fake, t->stack, t->stack_bytes);
#endif
  pm__context_enter(w, t);
#ifdef PM__ASAN
  __sanitizer_finish_switch_fiber(w->asan_fake, NULL, NULL);
#endif
  pm__current = NULL;
  if (t->state == PM__ENDED)
    pm__thread_bury(w, t);
  else if (w->has_unguarded && *pm__stack_canary(t) != PM__CANARY)
    pm__world_error(w, PM_E_STACK,
                    "process %d (node %d) overflowed its stack of %d bytes at %.3f us",
                    t->proc->rank, t->proc->node, (int)t->stack_bytes, (double)w->now_ps * 1e-6);
}
/* A cable will fail or be repaired, a node die or come back, and nobody sees it. */
static bool pm__only_outages_come(const pm_world *w) {
  const uint32_t cables = w->net && w->net->change.pos,
                 nodes = w->life_change.pos && !w->live_threads && !w->returning_count;
  return w->future_count == cables + nodes && !w->stranded && !pm__is_carrying(w);
}
PM__PRIVATE void pm__time_is_over(pm_world *w, bool is_end) {
  if (is_end)
    pm__world_error(w, PM_E_TIME_LIMIT,
                    "simulated time ends after 104 days (64 bits of picoseconds)");
  else
    pm__world_error(w, PM_E_TIME_LIMIT, "simulated time limit of %.9g s reached",
                    (double)w->desc.d_limit_ns * 1e-9);
}
/* 1: go on. Every event a pause of a poller: nothing can happen any more, only time pass. */
static int pm__may_go_on(pm_world *w) {
  if (w->stopped || !w->future_count) return 0;
  if ((w->net || w->has_lives) && pm__only_outages_come(w)) return 0;
  const bool is_at_limit = w->desc.d_limit_ns && pm__next_ps(w) > w->t_limit_ps;
  if (is_at_limit || pm__next_ps(w) >= PM__END) {
    pm__time_is_over(w, !is_at_limit);
    return 0;
  }
  if (w->future_count > (uint32_t)w->idle_count || pm__is_carrying(w))
    w->t_idle_since_ps = -1;
  else if (w->t_idle_since_ps < 0)
    w->t_idle_since_ps = w->now_ps, w->idle_steps = 0;
  else {
    w->idle_steps++;
    return !pm__is_out_of_patience(w) ||
           w->now_ps - w->t_idle_since_ps <= pm__ps(w->desc.d_poll_deadlock_ns);
  }
  return 1;
}
/* The turn of a thread that is ready. */
static inline void pm__takes_turn(pm_world *w, pm_thread *t) {
  w->ready_head = t->next_ready;
  if (!w->ready_head) w->ready_tail = NULL;
  if (w->has_lives && t->proc->stands_still && t->state == PM__READY) {
    t->state = PM__BLOCKED;
    t->is_parked = true;
    return;
  }
  if (t->state == PM__READY && !(t->is_over && pm__pays(w, t)) &&
      !(t->is_ahead && pm__goes_ahead(w, t)))
    pm__enter(w, t);
}
/* The limit keeps threads that let time pass by themselves within the window. */
PM__PRIVATE void pm__window(pm_world *w, int64_t t_ps) {
  w->t_over_ps = w->t_limit_ps = t_ps;
  pm__usual_until(w);
  while (!w->stopped) {
    if (w->ready_head)
      pm__takes_turn(w, w->ready_head);
    else if (!w->future_count || (!pm__steps(w) && !pm__step(w, t_ps - 1)))
      break;
  }
}
static void pm__loop(pm_world *w) {
  for (;;) {
    pm_thread *t = w->ready_head;
    if (t && !w->stopped) {
      pm__takes_turn(w, t);
    } else if (w->is_plain && pm__steps(w)) { /* the usual case of pm__may_go_on */
      w->t_idle_since_ps = -1;
      continue;
    } else if (w->is_carrying && pm__carry(w)) {
      continue;
    } else if (!pm__may_go_on(w) || !pm__step(w, PM__FOREVER))
      break;
  }
  if (!w->stopped && w->live_threads) pm__deadlock(w);
}

#ifndef PM__ASAN /* which reports crashes better than we could */
/* Signals of a guest that crashed. The handler runs on a stack of its own (the guest's may be full)
   and leaves to the scheduler; the guest's stack is abandoned. */
static const int pm__crash_signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
enum { PM__CRASH_SIGNALS = 5, PM__CRASH_STACK = 65536 };
static void pm__crashed(int number, siginfo_t *info, void *context) {
  pm_world *w = pm__running;
  (void)context;
  if (!w) { /* another thread of the host: its own business */
    signal(number, SIG_DFL);
    return;
  }
  if (w->is_copying && (number == SIGSEGV || number == SIGBUS)) {
    sigset_t it;
    w->is_copying = 0;
    sigemptyset(&it), sigaddset(&it, number);
    pthread_sigmask(SIG_UNBLOCK, &it, NULL);
    siglongjmp(w->copy_jump, 1);
  }
  w->crash_signal = number;
  w->crash_address = number == SIGABRT ? NULL : (char *)info->si_addr;
  siglongjmp(w->crash_jump, PM__CRASHED);
}
static void pm__crash_report(pm_world *w) {
  pm_thread *t = pm__current;
  const char *const names[] = {"SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGABRT"};
  const double us = (double)w->now_ps * 1e-6;
  int i = 0;
  while (i < PM__CRASH_SIGNALS - 1 && pm__crash_signals[i] != w->crash_signal) i++;
  pm__current = NULL;
  if (!t)
    pm__world_error(w, PM_E_CRASH, "%s at address %p while a message was delivered, at %.3f us",
                    names[i], (void *)w->crash_address, us);
  else if (w->crash_address && w->crash_address >= t->stack - PM__PAGE &&
           w->crash_address < t->stack)
    pm__world_error(w, PM_E_STACK,
                    "process %d (node %d) overflowed its stack of %d bytes at %.3f us",
                    t->proc->rank, t->proc->node, (int)t->stack_bytes, us);
  else
    pm__world_error(w, PM_E_CRASH, "process %d (node %d): %s at address %p, at %.3f us",
                    t->proc->rank, t->proc->node, names[i], (void *)w->crash_address, us);
}
static void pm__run_caught(pm_world *w) {
  struct sigaction action, before[PM__CRASH_SIGNALS];
  stack_t ours, theirs;
  int i;
  memset(&action, 0, sizeof action);
  memset(&ours, 0, sizeof ours);
  ours.ss_sp = PM_MALLOC(PM__CRASH_STACK);
  ours.ss_size = PM__CRASH_STACK;
  if (!ours.ss_sp || sigaltstack(&ours, &theirs)) {
    PM_FREE(ours.ss_sp);
    pm__world_error(w, PM_E_NOMEM, "no stack for signals");
    return;
  }
  action.sa_sigaction = pm__crashed;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (i = 0; i < PM__CRASH_SIGNALS; i++) sigaction(pm__crash_signals[i], &action, &before[i]);
  i = sigsetjmp(w->crash_jump, 1);
  if (i == 0)
    pm__loop(w);
  else if (i != PM__FAILED)
    pm__crash_report(w);
  for (i = 0; i < PM__CRASH_SIGNALS; i++) sigaction(pm__crash_signals[i], &before[i], NULL);
  sigaltstack(&theirs, NULL);
  PM_FREE(ours.ss_sp);
}
#endif
static bool pm__network_fails(const pm_world *w) {
  const pm_faults *f = &w->desc.faults;
  int i = 0;
  while (i < f->outage_count && f->outages[i].node && f->outages[i].kind == PM_OUTAGE_STOP) i++;
  return i < f->outage_count || (f->down_node && f->d_down_ns > 0);
}
/* Levels that know one NIC of a node only: the run fails and says why. */
static void pm__rails_check(pm_world *w) {
  const pm_world_desc *desc = &w->desc;
  int i;
  if (w->plat.nic_count == 1) return;
  for (i = -1; i < desc->link_phase_count; i++) {
    const pm_link_model link = i < 0 ? desc->link : desc->link_phases[i].link;
    if (link == PM_LINK_CARRIER) pm_world_fail(w, PM_E_PLATFORM, PM__ONE_NIC);
  }
}
/* It has some of what few worlds have. So most messages ask for all of that at once, in each of their steps. */
static bool pm__is_unusual(const pm_world *w) {
  const pm_platform *p = &w->plat;
  return w->is_faulty || w->has_lives || w->net || w->graph || w->uses || w->stamp || w->whole ||
         w->desc.trace || w->desc.faults.slow_node || p->nic_count > 1 || p->nic_match_ns ||
         p->nic_search_ns || p->quick_ack || p->ack_after_write || p->no_pci ||
         p->no_pci_commands || !w->d_switch_ps || p->inflight_per_node_count ||
         p->inflight_per_process_count;
}
PM_API pm_status pm_world_run(pm_world *world) {
  if (!world) return PM_E_INVAL;
  if (pm__running || world->status) return PM_E_STATE;
  pm__rails_check(world);
  world->running = 1;
  world->t_idle_since_ps = -1;
  world->is_plain = !world->net && !world->has_lives && !world->is_carrying;
  world->is_large = world->plat.node_count + world->proc_count > PM__LARGE;
  world->is_unusual = pm__is_unusual(world);
  if (world->desc.threads) {
    pm__windows_run(world);
    world->running = 0;
    return world->status;
  }
  pm__running = world;
  if (world->has_lives) pm__lives_begin(world);
#ifndef PM__ASAN
  if (world->desc.catch_crashes)
    pm__run_caught(world);
  else
#endif
    pm__loop(world);
  pm__running = NULL;
  world->running = 0;
  return world->status;
}

typedef struct pm__call {
  pm__event event; /* first */
  void (*fn)(void *arg);
  void *arg;
} pm__call;
static void pm__call_now(pm_world *w, pm__event *event) {
  pm__call call = *(pm__call *)event;
  (void)w;
  PM_FREE(event);
  call.fn(call.arg);
}
static void pm__calls_free(pm_world *w) { /* that never came */
  pm__event *far;
  uint32_t i;
  while ((far = pm__far_take(w)) != NULL)
    if (far->fn == pm__call_now) PM_FREE(far);
  for (i = 0; i < w->soon_count; i++)
    if (w->soon[i].event->fn == pm__call_now) PM_FREE(w->soon[i].event);
  if (w->has_gap) pm__gap_close(w);
  for (i = 1; i <= w->heap_count; i++) {
    pm__event *first = w->heap[i].event, *event = first, *next;
    do {
      next = event->next;
      if (event->fn == pm__call_now) PM_FREE(event);
    } while ((event = next) != first);
  }
}
PM_API pm_status pm_call_at(pm_world *world, int64_t t_ns, void (*fn)(void *arg), void *arg) {
  pm__call *call;
  if (world && world->desc.threads) return PM_E_STATE;
  if (!world || !fn || t_ns > PM__END / PM__PS || pm__ps(t_ns) < world->now_ps) return PM_E_INVAL;
  call = (pm__call *)pm__zalloc(sizeof *call);
  if (!call) return PM_E_NOMEM;
  call->event.fn = pm__call_now;
  call->fn = fn;
  call->arg = arg;
  pm__schedule(world, &call->event, pm__ps(t_ns));
  if (call->event.pos) return PM_OK;
  PM_FREE(call);
  return PM_E_NOMEM;
}

/* ---- making and ending ------------------------------------------------------------------------- */
static int pm__faults_are_bad(const pm_faults *f) {
  const double ratios[] = {f->loss_ratio, f->corrupt_ratio, f->duplicate_ratio, f->delay_ratio};
  int i;
  for (i = 0; i < 4; i++)
    if (!(ratios[i] >= 0 && ratios[i] <= 1)) return 1;
  return f->loss_ratio + f->corrupt_ratio > 1 || f->delay_ns < 0 || !(f->slow_ratio >= 0) ||
         f->t_down_ns < 0 || f->d_down_ns < 0;
}
static bool pm__node_is_bad(const pm_world_desc *desc, int node) { /* 1 + its number, or 0 */
  return node < 0 || node > desc->platform->node_count;
}
static int pm__links_are_bad(const pm_world_desc *desc) {
  pm_link_model link = desc->link;
  int i;
  if (desc->link_phase_count < 0 || (desc->link_phase_count && !desc->link_phases)) return 1;
  for (i = 0;; i++) {
    if (link < 0 || link > PM_LINK_PACKET || (link == PM_LINK_CARRIER && !desc->carrier)) return 1;
    if (i == desc->link_phase_count) return 0;
    if (desc->link_phases[i].t_ns < (i ? desc->link_phases[i - 1].t_ns : 0)) return 1;
    link = desc->link_phases[i].link;
  }
}
/* The processes of a node are in one outage at a time. */
static bool pm__lives_overlap(const pm_faults *f, int i) {
  const pm_outage *a = &f->outages[i], *b = f->outages;
  if (!a->node || !a->kind) return false;
  for (; b < a; b++) {
    const pm_outage *first = a->t_down_ns < b->t_down_ns ? a : b, *second = first == a ? b : a;
    if (b->node == a->node && b->kind &&
        (!first->d_down_ns || second->t_down_ns - first->t_down_ns < first->d_down_ns))
      return true;
  }
  return false;
}
static bool pm__outages_are_bad(const pm_world_desc *desc) {
  const pm_faults *f = &desc->faults;
  int i;
  if (f->outage_count < 0 || (f->outage_count && !f->outages)) return true;
  for (i = 0; i < f->outage_count; i++) {
    const pm_outage *o = &f->outages[i];
    if (o->node < 0 || o->node > desc->platform->node_count || o->t_down_ns < 0 ||
        o->d_down_ns < 0 || o->kind < PM_OUTAGE_CUT || o->kind > PM_OUTAGE_RESTART ||
        (!o->node && o->kind) || pm__lives_overlap(f, i) ||
        (!o->node && (o->link < 0 ||
                      o->link >= pm__topology_links(desc->platform) * desc->platform->nic_count)))
      return true;
  }
  for (i = -1; f->outage_count && i < desc->link_phase_count; i++) {
    const pm_link_model link = i < 0 ? desc->link : desc->link_phases[i].link;
    if (link == PM_LINK_CARRIER) return true;
  }
  return false;
}
PM_API pm_status pm_world_create(const pm_world_desc *desc, pm_world **world) {
  pm_world *w;
  pm_status status;
  char error[256];
  if (!world) return PM_E_INVAL;
  *world = NULL;
  if (!desc || !desc->platform || desc->d_limit_ns < 0 || desc->threads < 0 ||
      desc->d_poll_deadlock_ns < 0 || !(desc->compute_ratio >= 0 && desc->compute_ratio <= 1e9) ||
      desc->compute_min_ns < 0 || desc->call_noise_ns < 0 || desc->stack_bytes > SIZE_MAX / 2)
    return PM_E_INVAL;
  if (pm__faults_are_bad(&desc->faults) || pm__links_are_bad(desc)) return PM_E_INVAL;
  status = pm_platform_check(desc->platform, error, sizeof error);
  if (status) return status;
  if (pm__outages_are_bad(desc) || pm__node_is_bad(desc, desc->faults.slow_node) ||
      pm__node_is_bad(desc, desc->faults.down_node))
    return PM_E_INVAL;
  w = (pm_world *)pm__zalloc(sizeof *w);
  if (!w) return PM_E_NOMEM;
  w->desc = *desc;
  w->plat = *desc->platform;
  w->desc.platform = &w->plat;
  w->plat.links = NULL; /* the graph holds what they said */
  w->plat.ways = NULL;
  w->plat.link_count = desc->platform->link_count;
  if (!w->desc.stack_bytes) w->desc.stack_bytes = 65536;
  w->desc.stack_bytes = (w->desc.stack_bytes + PM__PAGE - 1) / PM__PAGE * PM__PAGE;
  if (w->desc.stack_bytes < 4 * PM__PAGE) w->desc.stack_bytes = 4 * PM__PAGE;
  if (!w->desc.compute_min_ns) w->desc.compute_min_ns = 1000;
  if (!w->desc.d_poll_deadlock_ns) w->desc.d_poll_deadlock_ns = 20000000000;
  w->t_limit_ps = desc->d_limit_ns ? pm__ps(desc->d_limit_ns) : PM__END;
  w->rng = desc->seed;
  if (!(w->desc.faults.slow_ratio > 0)) w->desc.faults.slow_ratio = 1;
  w->is_faulty = desc->faults.loss_ratio > 0 || desc->faults.corrupt_ratio > 0 ||
                 desc->faults.duplicate_ratio > 0 || desc->faults.delay_ratio > 0 ||
                 desc->faults.down_node > 0 || desc->faults.outage_count > 0 ||
                 desc->platform->loggp_range_count > 0;
#ifndef PM_USE_UCONTEXT
  w->context_switch = pm__context_switch;
#endif
  w->nodes = (pm__node *)pm__lines_take(w, (size_t)(w->plat.node_count * w->plat.nic_count) *
                                               sizeof *w->nodes);
  if (w->plat.topology == PM_TOPO_FILE)
    w->graph = pm__graph_make(desc->platform, error, sizeof error);
  w->flow_end.fn = pm__flows_end;
  w->t_flow_end_ps = w->t_aside_ps = w->t_far_ps = PM__FOREVER;
  w->t_over_ps = w->t_limit_ps < PM__END ? w->t_limit_ps + 1 : PM__END;
  pm__usual_until(w);
  if (!w->nodes || !pm__ways_make(w) || (w->plat.topology == PM_TOPO_FILE && !w->graph) ||
      !pm__links_make(w) || (desc->link_use && !pm__uses_make(w)) ||
      (pm__network_fails(w) && !pm__net_make(w))) {
    pm_world_destroy(w);
    return PM_E_NOMEM;
  }
  w->stats.memory_bytes +=
      sizeof *w + (size_t)(w->plat.node_count * w->plat.nic_count) * sizeof *w->nodes;
  if (desc->carrier) { /* it knows cables alone, and shortest ways */
    const bool has_cables =
        !w->graph || (!w->graph->shares && !w->graph->has_inner && !w->graph->given_count);
    status = has_cables ? pm__carrier_open(w) : PM_E_PLATFORM;
    w->is_carrying = status == PM_OK;
    if (status) {
      pm_world_destroy(w);
      return status;
    }
  }
  pm__wire_constants(w);
  pm__lives_make(w);
  *world = w;
  return PM_OK;
}
PM_API void pm_world_destroy(pm_world *world) {
  pm_world *w = world;
  int i;
  if (!w || w->running) return;
  if (w->is_carrying) pm__carrier_close(w);
  w->is_carrying = 0;
  pm__calls_free(w);
  for (i = 0; i < w->proc_count; i++) {
    pm_thread *t = w->procs[i]->threads, *next;
    pm__ptl_process_free(w->procs[i]);
    if (w->procs[i]->msg) w->procs[i]->msg_free(w->procs[i]->msg);
    for (; t; t = next) {
      next = t->next_in_proc;
      pm__thread_bury(w, t);
      pm__ahead_free(t);
    }
    w->ready_head = w->ready_tail = NULL; /* closing interfaces made its threads ready */
  }
  pm__ptl_world_free(w);
  pm__flows_free(w);
  pm__packets_free(w);
  while (w->slabs) {
    pm__slab *slab = w->slabs;
    w->slabs = slab->next;
    munmap(slab->base, slab->bytes);
    PM_FREE(slab);
  }
  pm__graph_free(w->graph, (int)w->plat.node_count);
  for (i = 0; w->nodes && i < (int)(w->plat.node_count * w->plat.nic_count); i++) {
    PM_FREE(w->nodes[i].by_pid);
    PM_FREE(w->nodes[i].slots);
    if (w->nodes[i].cores) PM_FREE(w->nodes[i].cores->heap);
    PM_FREE(w->nodes[i].cores);
  }
  pm__uses_free(w);
  pm__net_free(w);
  pm__ways_free(w);
  PM_FREE(w->streams);
  PM_FREE(w->records);
  PM_FREE(w->procs);
  PM_FREE(w->heap);
  pm__far_free(w);
  pm__stores_free(w);
  PM_FREE(w);
}
PM_API pm_world_desc pm_world_desc_of(const pm_world *world) {
  pm_world_desc none;
  memset(&none, 0, sizeof none);
  return world ? world->desc : none;
}
PM_API pm_stats pm_world_stats(const pm_world *world) {
  pm_stats s;
  memset(&s, 0, sizeof s);
  if (!world) return s;
  world = pm__here(world);
  s = world->stats;
  s.pending_count =
      world->future_count - (uint64_t)world->idle_count + (uint64_t)pm__is_carrying(world);
  return s;
}
PM_API int64_t pm_world_now_ns(const pm_world *world) {
  return world ? pm__here(world)->now_ps / PM__PS : 0;
}

static pm_status pm__spawn_without_memory(pm_world *w) {
  if (!w->status) snprintf(w->error, sizeof w->error, "process %d: out of memory", w->proc_count);
  return PM_E_NOMEM;
}
PM_API pm_status pm_spawn(pm_world *world, int node_index, void (*entry)(void *arg), void *arg,
                          pm_process **process) {
  pm_process *p;
  void *array;
  if (!world || !entry || node_index < 0 || node_index >= world->plat.node_count) return PM_E_INVAL;
  if (world->running) return PM_E_STATE;
  array = world->procs;
  if (!pm__grow(&array, &world->procs_max, world->proc_count + 1, sizeof p))
    return pm__spawn_without_memory(world);
  world->procs = (pm_process **)array;
  p = (pm_process *)pm__lines_take(world, sizeof *p);
  if (!p) return pm__spawn_without_memory(world);
  p->world = world;
  p->rank = world->proc_count;
  p->node = node_index;
  p->pid = p->local_index = (uint32_t)world->nodes[node_index].process_count;
  p->nic = (int)(p->local_index % world->plat.nic_count * world->plat.node_count) + node_index;
  p->its_nic = &world->nodes[p->nic];
  if (!pm__thread_new(p, entry, arg, 0)) return pm__spawn_without_memory(world);
  p->next_on_node = world->nodes[node_index].processes;
  world->nodes[node_index].processes = p;
  world->nodes[node_index].process_count++;
  world->procs[world->proc_count++] = p;
  world->live_processes++;
  world->stats.memory_bytes += sizeof *p + sizeof p;
  if (process) *process = p;
  return PM_OK;
}
PM_API pm_status pm_spawn_all(pm_world *world, void (*entry)(void *arg), void *arg) {
  int64_t i;
  if (!world) return PM_E_INVAL;
  for (i = 0; i < world->plat.node_count * world->plat.procs_per_node_count; i++) {
    pm_status status =
        pm_spawn(world, (int)(i / world->plat.procs_per_node_count), entry, arg, NULL);
    if (status) return status;
  }
  return PM_OK;
}

/* Over threads each process draws from its own generator: from nobody's, where none runs. */
PM_API uint64_t pm_random(pm_world *world) {
  pm_process *p = pm_self();
  if (!world || !world->desc.threads || !p) return world ? nbc__random(&world->rng) : 0;
  if (!p->rng) {
    p->rng = world->desc.seed ^ (uint64_t)(p->rank + 1) << 40;
    p->rng = nbc__random(&p->rng) | 1;
  }
  return nbc__random(&p->rng);
}
PM__PRIVATE double pm__ratio(pm_world *w) {
  return (double)(pm_random(w) >> 11) * (1.0 / 9007199254740992.0);
}
PM_API int pm_link_count(const pm_world *world) { return world ? world->net_link_count : 0; }
PM_API int pm_route(pm_world *world, int from_node, int to_node, uint32_t *links, int max,
                    int64_t *latency_ns) {
  uint32_t link[PM__ROUTE_MAX + 2]; /* room for the longest way: nothing is allocated */
  pm__known_way way;
  int i;
  if (!world || from_node < 0 || to_node < 0 || from_node >= world->plat.node_count ||
      to_node >= world->plat.node_count)
    return -1;
  way.link = link;
  way.from = from_node;
  way.to = to_node;
  way.latency_ps = 0;
  way.link_count = pm__route(world, from_node, to_node, way.link, &way.latency_ps);
  if (world->net && pm__is_cut(world, from_node, to_node, world->now_ps)) return -1;
  if (world->net) pm__way_now(world, &way);
  for (i = 0; i < way.link_count && i < max && links; i++) links[i] = way.link[i];
  if (latency_ns) *latency_ns = way.latency_ps / PM__PS;
  return way.link_count;
}
PM_API int64_t pm_link_latency_ns(const pm_world *world, int link) {
  const pm_platform *p = world ? &world->plat : NULL;
  int64_t cables; /* between nodes and switches */
  if (!world || link < 0 || link >= world->net_link_count) return 0;
  link %= world->net_link_count / (int)p->nic_count;
  if (p->topology == PM_TOPO_FILE) return world->graph->latency_ns[link / 2];
  cables = p->node_count * (p->topology == PM_TOPO_FATTREE ? p->topo[1 + p->topo[0]] : 1);
  return link < 2 * cables && link % 2 == 0 ? p->wire_latency_ns : p->switch_latency_ns;
}
