#include "future.h"
/* ---- the future: a heap of four children per node, which knows where each event lies ---------- */
static int pm__before(const pm__slot *a, const pm__slot *b) {
  return a->t_ps != b->t_ps ? a->t_ps < b->t_ps : a->order < b->order;
}
static void pm__heap_put(pm_world *w, uint32_t pos, pm__slot slot) {
  w->heap[pos] = slot;
  slot.event->pos = pos;
}
static void pm__heap_up(pm_world *w, uint32_t pos, pm__slot slot) {
  while (pos > 1) {
    uint32_t parent = (pos + 2) / 4;
    if (!pm__before(&slot, &w->heap[parent])) break;
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
      if (pm__before(&w->heap[i], &w->heap[best])) best = i;
    if (!pm__before(&w->heap[best], &slot)) break;
    pm__heap_put(w, pos, w->heap[best]);
    pos = best;
  }
  pm__heap_put(w, pos, slot);
}

/* Puts the event into the future, or moves it there. Not before now. */
PM__PRIVATE void pm__schedule(pm_world *w, pm__event *event, int64_t t_ps) {
  pm__slot slot;
  PM_ASSERT(t_ps >= w->now_ps);
  slot.t_ps = t_ps < PM__END ? t_ps : PM__END;
  slot.order = w->order++;
  slot.event = event;
  if (event->pos) { /* later order: it can only stay or sink unless its time is sooner */
    if (pm__before(&slot, &w->heap[event->pos]))
      pm__heap_up(w, event->pos, slot);
    else
      pm__heap_down(w, event->pos, slot);
    return;
  }
  if (w->heap_count + 1 >= w->heap_max) {
    uint32_t max = w->heap_max ? 2 * w->heap_max : 64;
    pm__slot *heap = (pm__slot *)PM_REALLOC(w->heap, max * sizeof *heap);
    if (!heap) {
      pm_world_fail(w, PM_E_NOMEM, "out of memory: queue of events");
      return;
    }
    w->heap = heap;
    w->heap_max = max;
  }
  pm__heap_up(w, ++w->heap_count, slot);
}
PM__PRIVATE void pm__unschedule(pm_world *w, pm__event *event) {
  uint32_t pos = event->pos;
  pm__slot last;
  if (!pos) return;
  event->pos = 0;
  last = w->heap[w->heap_count--];
  if (last.event == event) return;
  if (pos > 1 && pm__before(&last, &w->heap[(pos + 2) / 4]))
    pm__heap_up(w, pos, last);
  else
    pm__heap_down(w, pos, last);
}
/* A carrier has messages under way: time may only pass through it. */
PM__PRIVATE bool pm__is_carrying(const pm_world *w) {
  return w->is_carrying && pm__carrier_is_busy(w);
}
/* Lets the carrier go on until the next step of the simulation. 1: it told something, so look again
   what comes next. */
PM__PRIVATE int pm__carry(pm_world *w) {
  int64_t until_ps = w->heap_count ? w->heap[1].t_ps : PM__FOREVER;
  const int64_t limit_ps = w->desc.d_limit_ns ? pm__ps(w->desc.d_limit_ns) : PM__END;
  if (w->stopped || !pm__is_carrying(w)) return 0;
  if (pm__carrier_advance(w, until_ps < limit_ps ? until_ps : limit_ps)) return 1;
  if (until_ps > limit_ps && pm__is_carrying(w))
    pm_world_fail(w, PM_E_TIME_LIMIT, "simulated time limit reached: messages are under way");
  return 0;
}
/* The next step of the simulation: time jumps to it. */
PM__PRIVATE void pm__step(pm_world *w) {
  pm__event *event = w->heap[1].event;
  w->now_ps = w->heap[1].t_ps;
  w->stats.event_count++;
  pm__unschedule(w, event);
  event->fn(w, event);
}
