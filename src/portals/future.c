#include "future.h"
/* ---- the future: a heap of moments, of four children per node ---------------------------------- */
static int pm__before(const pm_world *w, pm__slot a, pm__slot b) {
  return a.t_ps != b.t_ps ? a.t_ps < b.t_ps
                          : w->moments[a.moment].order < w->moments[b.moment].order;
}
static void pm__heap_put(pm_world *w, uint32_t pos, pm__slot slot) {
  w->heap[pos] = slot;
  w->moments[slot.moment].pos = pos;
}
static void pm__heap_up(pm_world *w, uint32_t pos, pm__slot slot) {
  while (pos > 1) {
    uint32_t parent = (pos + 2) / 4;
    if (!pm__before(w, slot, w->heap[parent])) break;
    pm__heap_put(w, pos, w->heap[parent]);
    pos = parent;
  }
  pm__heap_put(w, pos, slot);
}
static void pm__heap_down(pm_world *w, uint32_t pos, pm__slot slot) {
  for (;;) {
    uint32_t child = 4 * pos - 2, last = child + 3, best, i;
    if (child > w->heap_count) break;
    if (last > w->heap_count) last = w->heap_count;
    for (best = child, i = child + 1; i <= last; i++)
      if (pm__before(w, w->heap[i], w->heap[best])) best = i;
    if (!pm__before(w, w->heap[best], slot)) break;
    pm__heap_put(w, pos, w->heap[best]);
    pos = best;
  }
  pm__heap_put(w, pos, slot);
}
static void pm__heap_move(pm_world *w, uint32_t pos, pm__slot slot) {
  if (pos > 1 && pm__before(w, slot, w->heap[(pos + 2) / 4]))
    pm__heap_up(w, pos, slot);
  else
    pm__heap_down(w, pos, slot);
}

/* ---- moments ------------------------------------------------------------------------------------ */
/* Where the youngest moment of that time would be known. A moment that has lost its place to another time
   gets no more events: a younger one follows it. */
static uint32_t *pm__recent_of(pm_world *w, int64_t t_ps) {
  return &w->recent[((uint64_t)t_ps * 0x9E3779B97F4A7C15u) >> (64 - PM__RECENT_BITS)];
}
static void pm__moment_forget(pm_world *w, uint32_t moment) {
  uint32_t *recent = pm__recent_of(w, w->moments[moment].t_ps);
  if (*recent == moment) *recent = 0;
}
/* ret 0: out of memory */
static int pm__moments_grow(pm_world *w) {
  const uint32_t max = w->moments_max ? 2 * w->moments_max : 64;
  pm__moment *moments = (pm__moment *)PM_REALLOC(w->moments, max * sizeof *moments);
  pm__slot *heap;
  if (!moments) return 0;
  w->moments = moments;
  heap = (pm__slot *)PM_REALLOC(w->heap, max * sizeof *heap);
  if (!heap) return 0;
  w->heap = heap;
  w->moments_max = max;
  return 1;
}
/* An empty one; 0: out of memory */
static uint32_t pm__moment_new(pm_world *w) {
  uint32_t moment = w->free_moment;
  if (moment)
    w->free_moment = w->moments[moment].next_free;
  else {
    if (w->moments_made + 1 >= w->moments_max && !pm__moments_grow(w)) {
      pm_world_fail(w, PM_E_NOMEM, "out of memory: queue of events");
      return 0;
    }
    moment = ++w->moments_made;
  }
  w->moments[moment].first = w->moments[moment].last = NULL;
  w->moments[moment].pos = ++w->heap_count;
  return moment;
}
static void pm__moment_at(pm_world *w, uint32_t moment, int64_t t_ps) {
  const pm__slot slot = {t_ps, moment};
  w->moments[moment].t_ps = t_ps;
  w->moments[moment].order = w->moment_order++;
  pm__heap_move(w, w->moments[moment].pos, slot);
}
static void pm__moment_free(pm_world *w, uint32_t moment) {
  const uint32_t pos = w->moments[moment].pos;
  const pm__slot last = w->heap[w->heap_count--];
  pm__moment_forget(w, moment);
  w->moments[moment].next_free = w->free_moment;
  w->free_moment = moment;
  if (last.moment != moment) pm__heap_move(w, pos, last);
}

/* Puts the event into the future, or moves it there. Not before now. */
PM__PRIVATE void pm__schedule(pm_world *w, pm__event *event, int64_t t_ps) {
  uint32_t *recent, moment;
  PM_ASSERT(t_ps >= w->now_ps);
  if (t_ps > PM__END) t_ps = PM__END;
  recent = pm__recent_of(w, t_ps);
  moment = *recent;
  if (!moment || w->moments[moment].t_ps != t_ps) {
    if (event->moment && !event->previous && !event->next) { /* alone: its moment moves with it */
      pm__moment_forget(w, event->moment);
      *recent = event->moment;
      pm__moment_at(w, event->moment, t_ps);
      return;
    }
    moment = pm__moment_new(w);
    if (!moment) return;
    *recent = moment;
    pm__moment_at(w, moment, t_ps);
  }
  if (event->moment == moment && !event->next) return; /* the last one already */
  pm__unschedule(w, event);
  event->moment = moment;
  event->previous = w->moments[moment].last;
  event->next = NULL;
  if (event->previous)
    event->previous->next = event;
  else
    w->moments[moment].first = event;
  w->moments[moment].last = event;
  w->future_count++;
}
PM__PRIVATE void pm__unschedule(pm_world *w, pm__event *event) {
  const uint32_t moment = event->moment;
  if (!moment) return;
  event->moment = 0;
  w->future_count--;
  if (event->previous)
    event->previous->next = event->next;
  else
    w->moments[moment].first = event->next;
  if (event->next)
    event->next->previous = event->previous;
  else
    w->moments[moment].last = event->previous;
  if (!w->moments[moment].first) pm__moment_free(w, moment);
}
/* A carrier has messages under way: time may only pass through it. */
PM__PRIVATE bool pm__is_carrying(const pm_world *w) {
  return w->is_carrying && pm__carrier_is_busy(w);
}
/* Lets the carrier go on until the next step of the simulation. 1: it told something, so look again
   what comes next. */
PM__PRIVATE int pm__carry(pm_world *w) {
  const int64_t until_ps = pm__next_ps(w);
  const int64_t limit_ps = w->desc.d_limit_ns ? pm__ps(w->desc.d_limit_ns) : PM__END;
  if (w->stopped || !pm__is_carrying(w)) return 0;
  if (pm__carrier_advance(w, until_ps < limit_ps ? until_ps : limit_ps)) return 1;
  if (until_ps > limit_ps && pm__is_carrying(w))
    pm_world_fail(w, PM_E_TIME_LIMIT, "simulated time limit reached: messages are under way");
  return 0;
}
/* The next step of the simulation: time jumps to it. */
PM__PRIVATE void pm__step(pm_world *w) {
  pm__event *event = w->moments[w->heap[1].moment].first;
  w->now_ps = w->heap[1].t_ps;
  w->stats.event_count++;
  pm__unschedule(w, event);
  event->fn(w, event);
}
