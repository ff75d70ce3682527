#include "ptl_events.h"
/* ---- event queues ------------------------------------------------------------------------------ */
/* Something changed that a thread of this process may wait for, or poll in vain. Only who waits for
   this object is woken, and by a counter only when it has reached the value: a thread that is woken
   for nothing would pay for a look that no real processor makes.
   is_final ends every wait for the object: a queue has an event, a counter has failures (a wait of
   Portals ends when success reaches the test or failure is not 0), or the object is gone. */
PM__PRIVATE void pm__wake_waiters(pm_process *p, const void *object, uint64_t value,
                                  bool is_final) {
  pm_thread *t;
  for (t = p->threads; t; t = t->next_in_proc) {
    if (t->state != PM__BLOCKED) continue;
    if (t->polling)
      pm__resume(p->world, t);
    else if (t->waits_for_ptl &&
             (!t->wait_on || (t->wait_on == object && (is_final || value >= t->wait_value))))
      pm__resume(p->world, t);
  }
}
PM__PRIVATE pm__eq *pm__eq_at(const pm__ni *ni, ptl_handle_eq_t h) {
  return (pm__eq *)pm__find(ni, PM__H_EQ, h);
}
PM__INLINE pm__ct *pm__ct_at(const pm__ni *ni, ptl_handle_ct_t h) {
  return (pm__ct *)pm__find(ni, PM__H_CT, h);
}

/* Room for one more event; grows up to the size asked for at PtlEQAlloc. */
PM__APART static int pm__eq_grow(pm__ni *ni, pm__eq *eq) {
  uint32_t max = eq->ring_max ? 2 * eq->ring_max : 4, i;
  ptl_event_t *ring;
  /* `reserved` places, one per portal with flow control, take nothing but PT_DISABLED: the event
     that says that others were refused must not be refused. */
  if (max > eq->count + eq->reserved) max = eq->count + eq->reserved;
  ring = (ptl_event_t *)PM_MALLOC(max * sizeof *ring);
  if (!ring) return 0;
  for (i = 0; i < eq->used; i++) ring[i] = eq->ring[(eq->first + i) % eq->ring_max];
  PM_FREE(eq->ring);
  ni->proc->world->stats.memory_bytes += (max - eq->ring_max) * sizeof *ring;
  eq->ring = ring;
  eq->ring_max = max;
  eq->first = 0;
  return 1;
}
/* ---- queues that call, queues to poll() for ---- */
/* Callbacks of a process run one after the other, in a thread of their own. A queue is in `news`
   once, however many events came: the callback is to empty the queue. has_news goes before the
   call, so that an event that comes while the callback runs calls again. The thread ends with the
   list and is started again: one that waited for news would keep its process from ending. */
static void pm__calls(void *process) {
  pm_process *p = (pm_process *)process;
  while (p->news) {
    pm__eq *eq = p->news;
    p->news = eq->next_news;
    eq->has_news = 0;
    eq->callback(eq->callback_arg, eq->o.handle);
  }
}
PM__APART static void pm__eq_alert(pm_process *p, pm__eq *eq) {
  if (eq->has_news || p->ended) return;
  eq->has_news = 1;
  eq->next_news = NULL;
  if (p->news)
    p->news_last->next_news = eq;
  else
    p->news = eq;
  p->news_last = eq;
  if (p->caller ? p->caller->state != PM__ENDED || pm__thread_start(p->caller)
                : (p->caller = pm__thread_new(p, pm__calls, p, 0)) != NULL)
    return;
  pm_world_fail(p->world, PM_E_NOMEM, "no stack for a queue's callback");
}
/* A queue goes: nobody calls for it any more.
   The list has one direction only: queues rarely go, and few have news then. */
PM__PRIVATE void pm__eq_forget(pm_process *p, pm__eq *eq) {
  pm__eq *before = NULL, *at = p->news;
  PM_FREE(eq->ring);
  eq->ring = NULL;
  if (!eq->has_news) return;
  while (at != eq) before = at, at = at->next_news;
  if (before)
    before->next_news = eq->next_news;
  else
    p->news = eq->next_news;
  if (p->news_last == eq) p->news_last = before;
}
/* One descriptor for all queues of an interface, made when it is first asked for: it is readable
   while any of them has events. event_fd is the descriptor + 1, so that 0 means none. */
static bool pm__ni_has_events(const pm__ni *ni) {
  const pm__pool *pool = PM__POOL(ni, PM__H_EQ);
  uint32_t slot;
  for (slot = 0; slot < pool->made; slot++) {
    const pm__eq *eq = (const pm__eq *)(const void *)pm__pool_at(pool, slot);
    if (eq->o.live && eq->used) return 1;
  }
  return 0;
}
PM__APART static void pm__event_fd_tell(const pm__ni *ni) {
  const uint64_t one = 1;
  if (write(ni->event_fd - 1, &one, sizeof one) < 0) return; /* full: readable all the same */
}
/* Events went: the descriptor stays readable only while there are others. */
PM__APART static void pm__event_fd_settle(const pm__ni *ni) {
  uint64_t told;
  if (!ni->event_fd || pm__ni_has_events(ni)) return;
  if (read(ni->event_fd - 1, &told, sizeof told) < 0) return; /* it was not readable */
}
PM_API int PtlNFDs(ptl_handle_ni_t ni_handle) {
  const pm_process *p = pm__inited();
  return p && pm__ni_of(p, ni_handle) ? 1 : -1;
}
PM_API int PtlPollFDs(ptl_handle_ni_t ni_handle, struct pollfd *fds, int events) {
  const pm_process *p = pm__inited();
  pm__ni *ni = p ? pm__ni_of(p, ni_handle) : NULL;
  if (!ni || !fds) return -1;
  if (!ni->event_fd) {
    ni->event_fd = 1 + eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (ni->event_fd && pm__ni_has_events(ni)) pm__event_fd_tell(ni);
  }
  if (!ni->event_fd) return -1;
  fds->fd = ni->event_fd - 1;
  fds->events = (short)(events & POLLIN);
  fds->revents = 0;
  return 1;
}
PM_API int PtlPollEvents(ptl_handle_ni_t ni_handle, struct pollfd *fds) {
  const pm_process *p = pm__inited();
  const pm__ni *ni = p ? pm__ni_of(p, ni_handle) : NULL;
  return ni && fds && ni->event_fd && pm__ni_has_events(ni) ? POLLIN : 0;
}
/* Makes room in a full queue: the oldest event goes, but never one that tells that a portal is off.
   A portal that is off stays off until its owner enables it, and only this event makes the owner do
   so: without it every later message would be refused. ret whether there was another */
PM__APART static bool pm__eq_lose(pm__eq *eq) {
  uint32_t k = 0;
  while (k < eq->used && eq->ring[(eq->first + k) % eq->ring_max].type == PTL_EVENT_PT_DISABLED)
    k++;
  if (k == eq->used) return 0;
  for (; k; k--) /* those before it move up */
    eq->ring[(eq->first + k) % eq->ring_max] = eq->ring[(eq->first + k - 1) % eq->ring_max];
  eq->first = pm__round(eq->first + 1, eq->ring_max);
  eq->used--;
  return 1;
}
/* Only PT_DISABLED may take a reserved place. A full queue loses its oldest event or, when that is
   how the implementation to be modelled does it, the new one.
   Data come before their event (pm__target_finish): whoever sees the event may read them. A ring
   that cannot grow ends the run: no event may be lost for a reason that Portals does not know. */
PM__PRIVATE void pm__eq_post(pm__ni *ni, ptl_handle_eq_t h, const ptl_event_t *event) {
  pm__eq_give(ni, pm__eq_at(ni, h), event);
}
PM__PRIVATE void pm__eq_give(pm__ni *ni, pm__eq *eq, const ptl_event_t *event) {
  ptl_event_t *place = eq ? pm__eq_place(ni, eq, event->type == PTL_EVENT_PT_DISABLED) : NULL;
  if (!place) return;
  *place = *event;
  pm__eq_tell(ni, eq);
}
/* Events of messages are written where they are to lie: a copy would wait for members that were just
   written. */
PM__PRIVATE ptl_event_t *pm__eq_place(pm__ni *ni, pm__eq *eq, bool is_reserved) {
  if (eq->used >= eq->count && (!is_reserved || eq->used >= eq->count + eq->reserved)) {
    eq->dropped = 1;
    if (ni->proc->world->desc.semantics.eq_drops_newest || !pm__eq_lose(eq)) return NULL;
  }
  if (eq->used == eq->ring_max &&
      !pm__eq_grow(ni, eq)) { /* the host's memory, not Portals' limit */
    pm_world_fail(ni->proc->world, PM_E_NOMEM, "out of memory: an event queue");
    return NULL;
  }
  return &eq->ring[pm__round(eq->first + eq->used, eq->ring_max)];
}
PM__PRIVATE void pm__eq_tell(pm__ni *ni, pm__eq *eq) {
  eq->used++;
  if (eq->callback) pm__eq_alert(ni->proc, eq);
  if (ni->event_fd) pm__event_fd_tell(ni);
  pm__wake_waiters(ni->proc, eq, 0, 1);
}
/* PTL_EQ_DROPPED is said once, with an event that is valid: others were lost since the last one was
   taken. */
PM__PRIVATE int pm__eq_take(const pm__ni *ni, pm__eq *eq, ptl_event_t *event) {
  const int dropped = eq->dropped;
  if (!eq->used) return PTL_EQ_EMPTY;
  *event = eq->ring[eq->first];
  eq->first = pm__round(eq->first + 1, eq->ring_max);
  eq->used--;
  eq->dropped = 0;
  if (!eq->used && ni->event_fd) pm__event_fd_settle(ni);
  return dropped ? PTL_EQ_DROPPED : PTL_OK;
}

/* The size asked for is a limit: the ring grows with use (pm__eq_grow), since programs ask for far
   more than they ever need. */
PM_API int PtlEQAlloc(ptl_handle_ni_t ni_handle, ptl_size_t count, ptl_handle_eq_t *eq_handle) {
  PM__NI(p, ni, ni_handle);
  pm__eq *eq;
  if (!eq_handle) return PTL_ARG_INVALID;
  if (count > (1u << 26)) return PTL_NO_SPACE;
  eq = (pm__eq *)pm__pool_new(ni, PM__H_EQ);
  if (!eq) return PTL_NO_SPACE;
  eq->count = count ? (uint32_t)count : 1;
  *eq_handle = eq->o.handle;
  return PTL_OK;
}
PM_API int PtlEQAllocAsync(ptl_handle_ni_t ni_handle, ptl_size_t count, ptl_handle_eq_t *eq_handle,
                           void (*callback)(void *arg, ptl_handle_eq_t eq_handle), void *arg,
                           int hint) {
  PM__NI(p, ni, ni_handle);
  (void)hint;
  const int code = callback ? PtlEQAlloc(ni_handle, count, eq_handle) : PTL_ARG_INVALID;
  if (code != PTL_OK) return code;
  pm__eq *eq = pm__eq_at(ni, *eq_handle);
  eq->callback = callback;
  eq->callback_arg = arg;
  return PTL_OK;
}
PM_API int pm_eq_call(ptl_handle_eq_t eq_handle) {
  PM__PROCESS(p);
  pm__ni *ni;
  const pm__eq *const given = (pm__eq *)pm__find_any(p, PM__H_EQ, eq_handle, &ni);
  if (!given || !given->callback) return PTL_ARG_INVALID;
  pm__cpu(p->world->plat.cpu_command_ns);
  pm__eq *const eq = pm__eq_at(ni, eq_handle); /* it may have gone meanwhile */
  if (eq) pm__eq_alert(p, eq);
  return PTL_OK;
}
/* Whoever waits is woken and finds that the handle is not this queue's any more. Nothing is written
   into the queue later: events find it by its handle (pm__eq_at), whose generation differs. */
PM_API int PtlEQFree(ptl_handle_eq_t eq_handle) {
  PM__PROCESS(p);
  pm__ni *ni;
  pm__eq *eq = (pm__eq *)pm__find_any(p, PM__H_EQ, eq_handle, &ni);
  if (!eq) return PTL_ARG_INVALID;
  p->world->stats.memory_bytes -= eq->ring_max * sizeof *eq->ring;
  pm__eq_forget(p, eq);
  pm__pool_free(ni, &eq->o);
  pm__event_fd_settle(ni);
  pm__wake_waiters(p, eq, 0, 1);
  return PTL_OK;
}

/* What a waiter gets when its object vanished. 4.2 says PTL_INTERRUPTED; 4.3 has no such code, and
   PtlAbort to end waits. */
PM__PRIVATE int pm__gone(const pm_process *p) {
  return p->aborted                                 ? PTL_ABORTED
         : p->world->desc.semantics.frees_interrupt ? PTL_INTERRUPTED
                                                    : PTL_ARG_INVALID;
}
/* For reports of deadlocks: the counter may be gone, so it is looked up by its handle. */
static void pm__describe_wait(const pm_thread *t, char *text, size_t text_bytes) {
  if (t->wait_handle >> 29 == PM__H_CT) {
    pm__ni *ni;
    const pm__ct *ct = (const pm__ct *)pm__find_any(t->proc, PM__H_CT, t->wait_handle, &ni);
    snprintf(text, text_bytes, "counter %08x to reach %llu (it has %llu, %llu failures)",
             t->wait_handle, (unsigned long long)t->wait_value,
             ct ? (unsigned long long)ct->value.success : 0,
             ct ? (unsigned long long)ct->value.failure : 0);
  } else
    snprintf(text, text_bytes, "an event in queue %08x", t->wait_handle);
}
PM__INLINE void pm__waits_ptl(pm_thread *t, const void *object, ptl_handle_any_t handle,
                              uint64_t value) {
  t->wait_on = object;
  t->wait_handle = handle;
  t->wait_value = value;
  t->waits_for_ptl = 1;
  t->describe = pm__describe_wait;
  t->has_paid = false;
  t->is_idle = 1; /* without a time limit there is no timer that could be taken for activity */
}
/* Blocks until something changes: object NULL means anything of the process.
   timed_out is set by the pause of a payment too (pm__pays). Without a payment the wait itself has
   come to its end: a look in vain. */
PM__INLINE void pm__wait_ptl(const void *object, ptl_handle_any_t handle, uint64_t value,
                             int64_t t_ps, const char *what) {
  pm_thread *t = pm__current;
  pm__waits_ptl(t, object, handle, value);
  pm__block(t_ps, what);
  t->is_idle = 0;
  t->is_vain = t->timed_out && !t->has_paid;
  t->waits_for_ptl = 0;
  t->describe = NULL;
  t->is_over = NULL;
  t->poll_streak = 0;
}
/* The same for what pm__pays can do. ret whether it did */
PM__INLINE_HERE bool pm__wait_to_pay(const void *object, ptl_handle_any_t handle, uint64_t value,
                                     const char *what, bool (*is_over)(const pm_thread *thread)) {
  pm__current->is_over = is_over;
  pm__wait_ptl(object, handle, value, PM__FOREVER, what);
  return pm__current->has_paid;
}

/* Here and below: time passes in every pause and in pm__cpu. After each the queue may be gone, or
   another thread may have taken the event, so both are looked at again. */
PM_API int PtlEQGet(ptl_handle_eq_t eq_handle, ptl_event_t *event) {
  PM__PROCESS(p);
  pm__ni *ni;
  pm__eq *eq = (pm__eq *)pm__find_any(p, PM__H_EQ, eq_handle, &ni);
  if (!eq || !event) return PTL_ARG_INVALID;
  if (!eq->used) { /* a look in vain takes its time; what arrives meanwhile is seen */
    pm__poll_pause();
    if (!eq->o.live || eq->o.handle != eq_handle) return pm__gone(p);
    if (!eq->used) return PTL_EQ_EMPTY;
  }
  pm__cpu(p->world->plat.cpu_event_ns);
  return eq->o.live && eq->o.handle == eq_handle ? pm__eq_take(ni, eq, event) : pm__gone(p);
}
static bool pm__eq_has(const pm_thread *t) {
  const pm__eq *eq = (const pm__eq *)t->wait_on;
  return eq->o.live && eq->o.handle == t->wait_handle && eq->used && !t->proc->aborted;
}
PM_API int PtlEQWait(ptl_handle_eq_t eq_handle, ptl_event_t *event) {
  PM__PROCESS(p);
  pm__ni *ni;
  pm__eq *eq = (pm__eq *)pm__find_any(p, PM__H_EQ, eq_handle, &ni);
  if (p->aborted) return PTL_ABORTED; /* whatever the arguments are */
  if (!eq || !event) return PTL_ARG_INVALID;
  for (;;) {
    bool has_paid = false;
    while (!eq->used && !p->aborted && !has_paid) {
      has_paid = pm__wait_to_pay(eq, eq_handle, 0, "PtlEQWait:", pm__eq_has);
      if (!eq->o.live || eq->o.handle != eq_handle) return pm__gone(p);
    }
    if (!has_paid) {
      if (p->aborted) return PTL_ABORTED;
      pm__cpu(p->world->plat.cpu_event_ns);
      if (!eq->o.live || eq->o.handle != eq_handle) return pm__gone(p);
    }
    if (eq->used) return pm__eq_take(ni, eq, event); /* else another thread was faster */
  }
}
/* Milliseconds of simulated time; all handles of one interface, as Portals asks for. Of several
   queues with events the first in the array is served. A wait for any of them is one for anything
   of the process (object NULL): who is woken for another queue looks and waits again, until the
   same end. A look without a wait takes the time of a poll, or a loop around it would never end.
   Of one queue nobody needs to be told which: existing programs give NULL there. */
PM_API int PtlEQPoll(const ptl_handle_eq_t *eq_handles, unsigned int size, ptl_time_t timeout,
                     ptl_event_t *event, unsigned int *which) {
  PM__PROCESS(p);
  pm__ni *ni, *first = NULL;
  unsigned int i;
  pm__eq *eq;
  const int64_t t_end_ps = timeout == PTL_TIME_FOREVER
                               ? PM__FOREVER
                               : pm__later(p->world->now_ps, pm__ps((int64_t)timeout * 1000000));
  if (p->aborted) return PTL_ABORTED;
  if (!eq_handles || !size || !event || (!which && size > 1)) return PTL_ARG_INVALID;
  for (i = 0; i < size; i++) {
    if (!pm__find_any(p, PM__H_EQ, eq_handles[i], &ni) || (first && ni != first))
      return PTL_ARG_INVALID;
    first = ni;
  }
  for (;;) {
    if (p->aborted) return PTL_ABORTED;
    for (i = 0; i < size; i++) {
      eq = pm__eq_at(first, eq_handles[i]);
      if (!eq) return pm__gone(p);
      if (!eq->used) continue;
      pm__cpu(p->world->plat.cpu_event_ns);
      if (pm__eq_at(first, eq_handles[i]) != eq || !eq->used)
        break; /* gone meanwhile: look again */
      if (which) *which = i;
      return pm__eq_take(first, eq, event);
    }
    if (i < size) continue;
    if (timeout == 0) {
      pm__poll_pause();
      timeout = 1; /* one more look, then the end, which has come */
      continue;
    }
    if (p->world->now_ps >= t_end_ps) return PTL_EQ_EMPTY;
    pm__wait_ptl(NULL, eq_handles[0], 0, t_end_ps, "PtlEQPoll:");
  }
}

/* ---- counters and what they trigger ------------------------------------------------------------ */
/* Implementations differ: the reference compares the sum, BXI's library success alone. */
static uint64_t pm__trigger_value(const pm__ct *ct) {
  return ct->value.success +
         (ct->ni->proc->world->desc.semantics.trigger_success_only ? 0 : ct->value.failure);
}

/* Triggers of a counter: a pairing heap, so that posting takes O(1) and firing O(log n) amortised
   [Fredman, Sedgewick, Sleator and Tarjan, The Pairing Heap, Algorithmica 1, 1986]. Of equal
   thresholds the one posted first fires first (number), which Portals asks for. */
static pm__trigger *pm__trigger_meld(pm__trigger *a, pm__trigger *b) {
  pm__trigger *first = a, *second = b;
  if (!a || !b) return a ? a : b;
  if (b->threshold < a->threshold || (b->threshold == a->threshold && b->number < a->number))
    first = b, second = a;
  second->next = first->child;
  first->child = second;
  return first;
}
PM__PRIVATE void pm__trigger_put(pm__ct *ct, pm__trigger *t) {
  t->number = ct->posted_count++;
  t->next = t->child = NULL;
  ct->triggers = pm__trigger_meld(ct->triggers, t);
}
/* child is the first of those below, next the next beside. The root goes: its children are melded
   in pairs from the first on, then these from the last pair back to the first (`pairs` is a stack).
   The bound rests on this order: melding all into one in a row can cost O(n) each time. Triggers
   leave by the root only, so they need no way back up. */
static pm__trigger *pm__trigger_take(pm__ct *ct) {
  pm__trigger *first = ct->triggers, *rest = first->child, *pairs = NULL, *root = NULL;
  while (rest) { /* in pairs, then all pairs together */
    pm__trigger *a = rest, *b = a->next;
    rest = b ? b->next : NULL;
    a->next = NULL;
    if (b) b->next = NULL;
    a = pm__trigger_meld(a, b);
    a->next = pairs;
    pairs = a;
  }
  while (pairs) {
    pm__trigger *next = pairs->next;
    pairs->next = NULL;
    root = pm__trigger_meld(root, pairs);
    pairs = next;
  }
  ct->triggers = root;
  return first;
}

PM__INLINE pm__split *pm__split_of(const pm__ct *ct) {
  return &ct->ni->splits[ct->o.handle & 0xFFFFu];
}
PM__PRIVATE void pm__triggers_take_back(pm__ct *ct) {
  pm__split *const s = pm__split_of(ct);
  pm__trigger *all = NULL;
  while (ct->triggers) {
    pm__trigger *t = pm__trigger_take(ct);
    t->next = all;
    all = t;
  }
  while (all) {
    pm__trigger *t = all;
    all = t->next;
    t->next = t->child = NULL;
    if (t->carried && t->message)
      t->message->cargo.is_triggered = 0, t->message->cargo.trigger = NULL;
    if (t->carried) t->carried = 0, t->is_held = 1, s->held_count++;
    if (t->is_held && t->threshold < s->held_least) s->held_least = t->threshold;
    ct->triggers = pm__trigger_meld(ct->triggers, t);
  }
  s->carried_count = 0;
}

/* A list of counters instead of recursion: what fires may raise counters, its own too, and a chain
   of triggers may be as long as a collective has steps. A counter stands in the list once (to_fire)
   and is looked at until nothing of it is due; the value is read anew each time, because what fired
   may have set it.
   The list is empty whenever a thread runs, as nothing here waits: PtlCTFree cannot take away a
   counter that is in it. is_firing: what fires comes back here through pm__ct_changed, and only
   adds to the list. */
PM__APART static void pm__fire_them(pm_world *w) {
  w->is_firing = 1;
  while (w->fire_head) {
    pm__ct *ct = w->fire_head;
    w->fire_head = ct->next_to_fire;
    if (!w->fire_head) w->fire_tail = NULL;
    ct->to_fire = 0;
    while (ct->triggers && ct->triggers->threshold <= pm__trigger_value(ct)) {
      pm__fire(w, pm__trigger_take(ct));
    }
  }
  w->is_firing = 0;
}
static inline void pm__fire_all(pm_world *w) {
  if (w->fire_head && !w->is_firing) pm__fire_them(w);
}
/* Between these two nothing fires: what fires could take away the entries and headers that are being
   walked through. Then all that was due fires. */
PM__PRIVATE bool pm__fires_hold(pm_world *w) {
  const bool was_firing = w->is_firing;
  w->is_firing = 1;
  return was_firing;
}
PM__PRIVATE void pm__fires_go(pm_world *w, bool was_firing) {
  w->is_firing = was_firing;
  pm__fire_all(w);
}
/* Every change of a counter comes here, whoever makes it: the network, PtlCTInc and PtlCTSet, or a
   trigger. Behind the others in the list: counters fire in the order in which they changed. */
PM__PRIVATE void pm__ct_changed(pm__ct *ct) {
  pm_world *w = ct->ni->proc->world;
  pm__carrier_count(ct);
  pm__wake_waiters(ct->ni->proc, ct, ct->value.success, ct->value.failure != 0);
  if (!ct->triggers || ct->to_fire) return;
  ct->to_fire = 1;
  ct->next_to_fire = NULL;
  if (w->fire_tail)
    w->fire_tail->next_to_fire = ct;
  else
    w->fire_head = ct;
  w->fire_tail = ct;
  pm__fire_all(w);
}
PM__PRIVATE void pm__ct_count(const pm__ni *ni, ptl_handle_ct_t h, bool is_failure,
                              uint64_t value) {
  pm__ct *ct = pm__ct_at(ni, h);
  if (!ct) return;
  if (is_failure)
    ct->value.failure++;
  else
    ct->value.success += value;
  pm__ct_changed(ct);
}
/* A message or an entry that is still here was never used (pm__fire takes it out): the descriptors
   that were held for it since it was posted are free again, and PtlMDRelease may have them. */
PM__PRIVATE void pm__trigger_free(pm_world *w, pm__trigger *t) {
  t->ni->trigger_count--;
  if (t->is_held) pm__split_of(t->ct)->held_count--;
  if (t->carried) pm__split_of(t->ct)->carried_count--;
  if (t->message) {
    pm__message *m = t->message;
    if (m->what.get_md) m->what.get_md->unsent--, pm__let_go(t->ni, m->what.get_md);
    m->what.md->unsent--;
    pm__let_go(t->ni, m->what.md);
    pm__message_free(w, t->message);
    t->message = NULL; /* whoever posts it just now sees that it is gone */
  }
  if (t->entry) pm__pool_free(t->ni, &t->entry->o);
  t->next = w->free_triggers;
  w->free_triggers = t;
}
/* PtlCTCancelTriggered keeps the counter and its value: it may be used again. */
PM__PRIVATE void pm__ct_drop_triggers(pm__ct *ct) {
  if (ct->triggers) pm__carrier_cancel(ct);
  while (ct->triggers) {
    pm__trigger_free(ct->ni->proc->world, pm__trigger_take(ct));
  }
}

PM_API int PtlCTAlloc(ptl_handle_ni_t ni_handle, ptl_handle_ct_t *ct_handle) {
  PM__NI(p, ni, ni_handle);
  pm__ct *ct;
  if (!ct_handle) return PTL_ARG_INVALID;
  ct = (pm__ct *)pm__pool_new(ni, PM__H_CT);
  if (!ct) return PTL_NO_SPACE;
  ct->ni = ni;
  *ct_handle = ct->o.handle;
  return PTL_OK;
}

PM_API int PtlCTFree(ptl_handle_ct_t ct_handle) {
  PM__CT(p, ni, ct, ct_handle);
  pm__ct_drop_triggers(ct);
  pm__carrier_count_end(ct);
  pm__pool_free(ni, &ct->o);
  pm__wake_waiters(p, ct, 0, 1);
  return PTL_OK;
}
PM_API int PtlCTCancelTriggered(ptl_handle_ct_t ct_handle) {
  PM__CT(p, ni, ct, ct_handle);
  pm__ct_drop_triggers(ct);
  return PTL_OK;
}
/* Always succeeds; who reads the same value again is polling, and pays for it. */
PM_API int PtlCTGet(ptl_handle_ct_t ct_handle, ptl_ct_event_t *event) {
  PM__CT(p, ni, ct, ct_handle);
  pm_thread *t = pm__current;
  if (!event) return PTL_ARG_INVALID;
  if (t->last_ct == ct_handle && t->last_count == ct->value.success + ct->value.failure) {
    pm__poll_pause();
    if (!ct->o.live || ct->o.handle != ct_handle) return pm__gone(p);
  }
  *event = ct->value;
  t->last_ct = ct_handle;
  t->last_count = ct->value.success + ct->value.failure;
  return PTL_OK;
}
/* The value is copied before it is paid for, as PtlCTWait does: the counter may be set again while
   that takes its time. */
PM__INLINE_HERE bool pm__ct_has(const pm_thread *t) {
  const pm__ct *ct = (const pm__ct *)t->wait_on;
  const bool has = ct->o.live && ct->o.handle == t->wait_handle && !t->proc->aborted &&
                   (ct->value.success >= t->wait_value || ct->value.failure);
  if (has) *(ptl_ct_event_t *)t->wait_out = ct->value;
  return has;
}
PM_API int PtlCTWait(ptl_handle_ct_t ct_handle, ptl_size_t test, ptl_ct_event_t *event) {
  PM__PROCESS(p);
  pm__ni *ni;
  pm__ct *ct = (pm__ct *)pm__find_any(p, PM__H_CT, ct_handle, &ni);
  if (p->aborted) return PTL_ABORTED; /* whatever the arguments are */
  if (!ct || !event) return PTL_ARG_INVALID;
  pm__current->wait_out = event;
  while (ct->value.success < test && !ct->value.failure && !p->aborted) {
    if (pm__wait_to_pay(ct, ct_handle, test, "PtlCTWait:", pm__ct_has)) return PTL_OK;
    if (!ct->o.live || ct->o.handle != ct_handle) return pm__gone(p);
  }
  if (p->aborted) return PTL_ABORTED;
  *event = ct->value;
  pm__cpu(p->world->plat.cpu_event_ns);
  return PTL_OK;
}
/* As PtlEQPoll, but nothing is taken: a counter that has reached its test is found again. */
PM_API int PtlCTPoll(const ptl_handle_ct_t *ct_handles, const ptl_size_t *tests, unsigned int size,
                     ptl_time_t timeout, ptl_ct_event_t *event, unsigned int *which) {
  PM__PROCESS(p);
  pm__ni *ni, *first = NULL;
  unsigned int i;
  const int64_t t_end_ps = timeout == PTL_TIME_FOREVER
                               ? PM__FOREVER
                               : pm__later(p->world->now_ps, pm__ps((int64_t)timeout * 1000000));
  if (p->aborted) return PTL_ABORTED;
  if (!ct_handles || !tests || !size || !event || (!which && size > 1)) return PTL_ARG_INVALID;
  for (i = 0; i < size; i++) {
    if (!pm__find_any(p, PM__H_CT, ct_handles[i], &ni) || (first && ni != first))
      return PTL_ARG_INVALID;
    first = ni;
  }
  for (;;) {
    if (p->aborted) return PTL_ABORTED;
    for (i = 0; i < size; i++) {
      const pm__ct *ct = pm__ct_at(first, ct_handles[i]);
      if (!ct) return pm__gone(p);
      if (ct->value.success < tests[i] && !ct->value.failure) continue;
      *event = ct->value;
      if (which) *which = i;
      pm__cpu(p->world->plat.cpu_event_ns);
      return PTL_OK;
    }
    if (timeout == 0) {
      pm__poll_pause();
      timeout = 1;
      continue;
    }
    if (p->world->now_ps >= t_end_ps) return PTL_CT_NONE_REACHED;
    pm__wait_ptl(NULL, ct_handles[0], tests[0], t_end_ps, "PtlCTPoll:");
  }
}
PM_API int PtlCTSet(ptl_handle_ct_t ct_handle, ptl_ct_event_t new_ct) {
  PM__CT(p, ni, ct, ct_handle);
  ct->value = new_ct;
  pm__ct_changed(ct);
  return PTL_OK;
}
/* Portals lets one of the two be raised at a time. Sums wrap at 64 bits: programs add -n. */
PM_API int PtlCTInc(ptl_handle_ct_t ct_handle, ptl_ct_event_t increment) {
  PM__CT(p, ni, ct, ct_handle);
  if (increment.success && increment.failure) return PTL_ARG_INVALID;
  ct->value.success += increment.success;
  ct->value.failure += increment.failure;
  pm__ct_changed(ct);
  return PTL_OK;
}
