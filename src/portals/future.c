#include "future.h"
/* ---- the future: a heap of four children per node, which knows where each event lies ---------- */
/* Places are read and written member by member: a copy of a whole one would wait for the members
   that were just written. `order` counts calls of pm__schedule: events of one time happen in the
   order in which they were put there. */
static int pm__before(const pm__slot *a, int64_t t_ps, uint64_t order) {
  return a->t_ps != t_ps ? a->t_ps < t_ps : a->order < order;
}
/* The root is at 1; children of place p are 4 p - 2 .. 4 p + 1, so the parent of c is (c + 2) / 4.
   Four children make the tree half as high as two, and a node's children lie side by side. Place 0
   means that an event is not in the future. */
static void pm__heap_put(pm__slot *heap, uint32_t pos, int64_t t_ps, uint64_t order,
                         pm__event *event) {
  heap[pos].t_ps = t_ps;
  heap[pos].order = order;
  heap[pos].event = event;
  event->pos = pos;
}
static void pm__heap_copy(pm__slot *heap, uint32_t to, uint32_t from) {
  pm__heap_put(heap, to, heap[from].t_ps, heap[from].order, heap[from].event);
}
PM__APART static void pm__heap_up(pm_world *w, uint32_t pos, int64_t t_ps, uint64_t order,
                                  pm__event *event) {
  pm__slot *const heap = w->heap;
  while (pos > 1) {
    const uint32_t parent = (pos + 2) / 4;
    if (pm__before(&heap[parent], t_ps, order)) break;
    pm__heap_copy(heap, pos, parent);
    pos = parent;
  }
  pm__heap_put(heap, pos, t_ps, order, event);
}
PM__APART static void pm__heap_down(pm_world *w, uint32_t pos, int64_t t_ps, uint64_t order,
                                    pm__event *event) {
  pm__slot *const heap = w->heap;
  const uint32_t count = w->heap_count;
  for (;;) {
    uint32_t child = 4 * pos - 2, last = child + 3, best, i;
    if (child > count) break;
    if (last > count) last = count;
    for (best = child, i = child + 1; i <= last; i++)
      if (pm__before(&heap[i], heap[best].t_ps, heap[best].order)) best = i;
    if (!pm__before(&heap[best], t_ps, order)) break;
    pm__heap_copy(heap, pos, best);
    pos = best;
  }
  pm__heap_put(heap, pos, t_ps, order, event);
}
static void pm__heap_move(pm_world *w, uint32_t pos, int64_t t_ps, uint64_t order,
                          pm__event *event) {
  if (pos > 1 && !pm__before(&w->heap[(pos + 2) / 4], t_ps, order))
    pm__heap_up(w, pos, t_ps, order, event);
  else
    pm__heap_down(w, pos, t_ps, order, event);
}
/* ret 0: out of memory */
static int pm__heap_has_room(pm_world *w) {
  const uint32_t max = w->heap_max ? 2 * w->heap_max : 64;
  pm__slot *heap;
  if (w->heap_count + 1 < w->heap_max) return 1;
  heap = (pm__slot *)PM_REALLOC(w->heap, max * sizeof *heap);
  if (!heap) {
    pm_world_fail(w, PM_E_NOMEM, "out of memory: queue of events");
    return 0;
  }
  w->heap = heap;
  w->heap_max = max;
  return 1;
}
/* The event that happened last has left its place to the next new one, if there was none: to the last. Until
   then the place keeps its time, which is that of now: nothing comes before it. */
PM__APART PM__PRIVATE void pm__gap_close(pm_world *w) {
  const pm__slot *last;
  w->has_gap = false;
  last = &w->heap[w->heap_count--];
  if (w->heap_count) pm__heap_down(w, 1, last->t_ps, last->order, last->event);
}
/* Where the last event of the youngest ring of that time would be known. A ring that has lost its place to another time gets
   no more events: a younger one follows it. Not worth it in worlds that never have more than a few events,
   or where few of them have the same time: that is tried again now and then. */
enum { PM__FEW_EVENTS = 16, PM__RINGS_TRY = 1 << 10, PM__RINGS_PAUSE = 1 << 15 };
PM__APART static void pm__rings_begin(pm_world *w) {
  if (w->order < w->rings_again) return;
  w->shares_times = true;
  w->rings_found = PM__RINGS_TRY; /* the first time is short */
}
PM__APART static void pm__rings_judge(pm_world *w) { /* after each PM__RINGS_TRY events */
  if (w->shares_times && w->rings_found < PM__RINGS_TRY / 32) {
    w->shares_times = false;
    w->rings_again = w->order + PM__RINGS_PAUSE;
    memset(w->recent, 0, sizeof w->recent);
  }
  w->rings_found = 0;
}
static inline pm__recent *pm__recent_of(pm_world *w, int64_t t_ps) {
  return &w->recent[((uint64_t)t_ps * 0x9E3779B97F4A7C15u) >> (64 - PM__RECENT_BITS)];
}
/* Events of one time form a ring; its first stands in the heap, the others are PM__BEHIND it. When
   the first one goes, the next takes its place with the order of the first: older than that of
   every ring of this time made later. At the time of the end of flows that stands beside the heap each event is
   alone, or one that came after it would go before it with the order of the first. */
static inline pm__event *pm__ring_at(pm_world *w, int64_t t_ps) {
  const pm__recent *recent = pm__recent_of(w, t_ps);
  return w->shares_times && recent->last && recent->t_ps == t_ps && t_ps != w->t_aside_ps
             ? recent->last->next
             : NULL;
}
/* A ring is known by its last event: that stays when the first one goes, as it does each time. Now it is another
   one; NULL: the ring is gone, or elsewhere. */
static void pm__ring_ends_with(pm_world *w, int64_t t_ps, const pm__event *last, pm__event *now) {
  pm__recent *recent = pm__recent_of(w, t_ps);
  if (recent->last == last) recent->last = now;
}
static inline void pm__ring_join(pm_world *w, pm__event *first, pm__event *event, int64_t t_ps) {
  event->pos = PM__BEHIND;
  event->previous = first->previous;
  event->next = first;
  first->previous->next = event;
  first->previous = event;
  pm__recent_of(w, t_ps)->last = event;
  w->future_count++;
  w->rings_found++;
}
static inline bool pm__is_in_heap(const pm__event *event) { /* or behind one that is */
  return event->pos < PM__FAR || event->pos == PM__BEHIND;
}
/* Into the heap: one that is not in the future. ret false: out of memory */
static bool pm__schedule_new(pm_world *w, pm__event *event, int64_t t_ps, uint64_t order) {
  if (!w->has_gap && !pm__heap_has_room(w)) return false;
  event->previous = event->next = event;
  w->future_count++;
  if (w->has_gap) {
    w->has_gap = false;
    pm__heap_down(w, 1, t_ps, order, event);
  } else
    pm__heap_up(w, ++w->heap_count, t_ps, order, event);
  if (w->heap_count > PM__FEW_EVENTS && !w->shares_times) pm__rings_begin(w);
  return true;
}
/* Nothing of that time is known, or the event is to be moved. */
PM__APART static void pm__schedule_alone(pm_world *w, pm__event *event, int64_t t_ps,
                                         uint64_t order) {
  pm__event *first = pm__ring_at(w, t_ps);
  if (first && first->previous == event) return; /* the last one already */
  if (event->pos && (first || event->next != event)) {
    pm__unschedule(w, event);
    first = pm__ring_at(w, t_ps); /* it may have been the event itself */
  }
  if (first) {
    pm__ring_join(w, first, event, t_ps);
    return;
  }
  if (event->pos) { /* alone: it moves with its place in the heap */
    if (w->shares_times) pm__ring_ends_with(w, w->heap[event->pos].t_ps, event, NULL);
    pm__heap_move(w, event->pos, t_ps, order, event);
  } else if (!pm__schedule_new(w, event, t_ps, order))
    return;
  if (!w->shares_times) return;
  const pm__recent mine = {t_ps, event};
  *pm__recent_of(w, t_ps) = mine;
}
/* ---- the next few events: a row, the next one last ------------------------------------------------ */
/* Most events cause others that follow soon: these come and go at the end of the row, and the heap sees only those
   that are not among the next few. An event that comes later than what is in the heap, or at its time, is none of
   them; so none in the row is after any in the heap. */
static inline bool pm__is_soon(const pm_world *w, int64_t t_ps) {
  return !w->has_gap && (!w->heap_count || t_ps < w->heap[1].t_ps);
}
/* The latest of the row goes into the heap, where it stands alone: a ring has the order of its first event, and the
   end of flows may stand between that and what would join it. */
PM__APART static bool pm__soon_spill(pm_world *w) {
  const pm__slot latest = w->soon[0];
  if (!pm__heap_has_room(w)) return false;
  memmove(&w->soon[0], &w->soon[1], --w->soon_count * sizeof *w->soon);
  latest.event->previous = latest.event->next = latest.event;
  pm__heap_up(w, ++w->heap_count, latest.t_ps, latest.order, latest.event);
  return true;
}
static inline void pm__soon_put(pm_world *w, pm__event *event, int64_t t_ps, uint64_t order) {
  pm__slot *at = &w->soon[w->soon_count++];
  for (; at > w->soon && at[-1].t_ps <= t_ps; at--) {
    at->t_ps = at[-1].t_ps;
    at->order = at[-1].order;
    at->event = at[-1].event;
  }
  at->t_ps = t_ps;
  at->order = order;
  at->event = event;
  event->pos = PM__SOON;
  w->future_count++;
}
static void pm__soon_drop(pm_world *w, pm__event *event) {
  uint32_t i = w->soon_count - 1;
  while (w->soon[i].event != event) i--;
  memmove(&w->soon[i], &w->soon[i + 1], (--w->soon_count - i) * sizeof *w->soon);
  event->pos = 0;
  w->future_count--;
}
/* Into the row or the heap: one that is not in the future, and not far. */
static void pm__near_put(pm_world *w, pm__event *event, int64_t t_ps, uint64_t order) {
  if (pm__is_soon(w, t_ps) && (w->soon_count < PM__SOON_MOST || t_ps < w->soon[0].t_ps)) {
    if (w->soon_count < PM__SOON_MOST || pm__soon_spill(w)) pm__soon_put(w, event, t_ps, order);
  } else if (!w->shares_times && w->heap_count < PM__FEW_EVENTS)
    (void)pm__schedule_new(w, event, t_ps, order); /* no ring is looked for */
  else {
    pm__event *const first = pm__ring_at(w, t_ps);
    if (first)
      pm__ring_join(w, first, event, t_ps);
    else
      pm__schedule_alone(w, event, t_ps, order);
  }
}
/* ---- what is far: bins ----------------------------------------------------------------------------- */
/* Where many events wait a heap is high, and each that moves in it is written to, which by then is in no cache. So what is
   not due soon lies in bins by its time, in the order in which it came, and nobody looks at it before all that is
   earlier has happened [Varghese and Lauck, Hashed and Hierarchical Timing Wheels, SOSP 1987]. A bin of the first level
   is 66 ns wide; one of the next ones as wide as all of the level before. An event lies on the level of the first bits
   in which its time differs from where bins are counted from, so what lies on a level is before all that lies on
   the next ones:

     t_begin_ps  ...010011|000100|110010|xxx   x: within a bin
     level 0     ...010011|000100|111001|xxx
     level 1     ...010011|010000|......|xxx

   The first bin of all is opened when nothing stands before it: what it holds goes into the row and the heap, or, if that
   is much and there are narrower bins, into these. Bins are counted from its beginning then. The heap may hold events
   that are later than that: they were there before the bins were begun with, and are older than what came to lie
   there since. */
/* More cells for a bin. ret false: out of memory */
PM__APART static bool pm__bin_grow(pm_world *w, pm__bin *bin) {
  struct pm__far *f = w->far;
  uint32_t at = f->free;
  if (at)
    f->free = f->cells[at].next;
  else {
    const uint32_t max = f->max ? 2 * f->max : 128;
    if (f->made + 1 >= f->max) {
      pm__cells *cells = (pm__cells *)PM_REALLOC(f->cells, max * sizeof *cells);
      if (!cells) {
        pm_world_fail(w, PM_E_NOMEM, "out of memory: queue of events");
        return false;
      }
      w->stats.memory_bytes += (max - f->max) * sizeof *cells;
      f->cells = cells;
      f->max = max;
    }
    at = ++f->made;
  }
  f->cells[at].next = f->cells[at].count = 0;
  *(bin->last ? &f->cells[bin->last].next : &bin->first) = at;
  bin->last = at;
  return true;
}
static void pm__far_put(pm_world *w, pm__event *event, int64_t t_ps, uint64_t order) {
  struct pm__far *f = w->far;
  const uint64_t apart = (uint64_t)(t_ps ^ f->t_begin_ps) >> PM__FAR_FIRST;
  const int level = (63 - __builtin_clzll(apart | 1)) / PM__FAR_BITS;
  const uint32_t place =
      (uint32_t)(t_ps >> (PM__FAR_FIRST + PM__FAR_BITS * level)) % (1 << PM__FAR_BITS);
  pm__bin *const bin = &f->bin[level][place];
  pm__cells *c;
  if ((!bin->last || f->cells[bin->last].count == PM__FAR_CELLS) && !pm__bin_grow(w, bin)) return;
  c = &f->cells[bin->last];
  event->pos = PM__FAR | bin->last << 4 | c->count;
  c->slot[c->count].t_ps = t_ps;
  c->slot[c->count].order = order;
  c->slot[c->count++].event = event;
  f->used[level] |= (uint64_t)1 << place;
  f->levels |= 1u << level;
  w->future_count++;
}
/* What lies there is another event's place soon: it is left empty. */
static void pm__far_drop(pm_world *w, pm__event *event) {
  const uint32_t place = event->pos & ~PM__FAR;
  w->far->cells[place >> 4].slot[place & 15].event = NULL;
  event->pos = 0;
  w->future_count--;
}
/* The first bin, which is not empty. */
static pm__bin *pm__far_first(struct pm__far *f, int *level, int *place) {
  *level = __builtin_ctz(f->levels);
  *place = __builtin_ctzll(f->used[*level]);
  return &f->bin[*level][*place];
}
/* Its first cells are free again. ret those that follow */
static uint32_t pm__cells_free(struct pm__far *f, int level, int place) {
  pm__bin *const bin = &f->bin[level][place];
  const uint32_t at = bin->first, next = f->cells[at].next;
  f->cells[at].next = f->free;
  f->free = at;
  bin->first = next;
  if (next) return next;
  bin->last = 0;
  f->used[level] &= ~((uint64_t)1 << place);
  if (!f->used[level]) f->levels &= ~(1u << level);
  return 0;
}
/* The first bin is opened. */
PM__APART static void pm__far_open(pm_world *w) {
  struct pm__far *f = w->far;
  int level, place;
  const pm__bin *const bin = pm__far_first(f, &level, &place);
  const int shift = PM__FAR_FIRST + PM__FAR_BITS * level;
  const int64_t d_all_ps = shift + PM__FAR_BITS < 63 ? (int64_t)1 << (shift + PM__FAR_BITS) : 0;
  const bool is_last = !level || bin->first == bin->last;
  uint32_t at, i;
  f->t_begin_ps = (d_all_ps ? f->t_begin_ps & -d_all_ps : 0) | (int64_t)place << shift;
  w->t_far_ps = is_last ? pm__later(f->t_begin_ps, (int64_t)1 << shift) : f->t_begin_ps;
  for (at = bin->first; at; at = pm__cells_free(f, level, place)) {
    /* Cells move when there are more of them. */
    for (i = 0; i < f->cells[at].count; i++) {
      const pm__slot s = f->cells[at].slot[i];
      if (!s.event) continue;
      s.event->pos = 0;
      w->future_count--;
      if (is_last)
        pm__near_put(w, s.event, s.t_ps, s.order);
      else
        pm__far_put(w, s.event, s.t_ps, s.order);
    }
  }
}
enum { PM__HEAP_LARGE = 32 };
/* The heap has become large, though each time stands there once: what comes after the row is far from now on. Where events
   share their times rings keep the heap low, and take less. */
PM__APART static void pm__far_begin(pm_world *w) {
  struct pm__far *f = w->far;
  const int64_t d_ps = (int64_t)1 << PM__FAR_FIRST;
  int64_t t_ps = w->soon_count ? w->soon[0].t_ps : w->now_ps;
  if (!f) {
    f = w->far = (struct pm__far *)pm__zalloc(sizeof *f);
    if (!f) return; /* a large heap is only slow */
    w->stats.memory_bytes += sizeof *f;
  }
  /* Within the bin that was opened last bins may be counted from anywhere: narrower ones are empty. */
  if (w->t_far_ps != PM__FOREVER) t_ps = pm__max_ps(t_ps, f->t_begin_ps);
  if (t_ps >= w->t_far_ps - d_ps || t_ps >= PM__END - d_ps) return;
  f->t_begin_ps = t_ps & -d_ps;
  w->t_far_ps = f->t_begin_ps + d_ps;
}
PM__APART PM__PRIVATE const pm__slot *pm__first_any(pm_world *w) {
  if (w->has_gap) pm__gap_close(w);
  while (!w->soon_count && w->t_far_ps != PM__FOREVER &&
         (!w->heap_count || w->heap[1].t_ps >= w->t_far_ps)) {
    if (w->far->levels)
      pm__far_open(w);
    else
      w->t_far_ps = PM__FOREVER;
  }
  return w->soon_count ? &w->soon[w->soon_count - 1] : w->heap_count ? &w->heap[1] : NULL;
}
PM__PRIVATE pm__event *pm__far_take(pm_world *w) {
  struct pm__far *f = w->far;
  int level, place;
  while (f && f->levels) {
    pm__cells *const c = &f->cells[pm__far_first(f, &level, &place)->first];
    pm__event *const event = c->count ? c->slot[--c->count].event : NULL;
    if (!c->count) (void)pm__cells_free(f, level, place);
    if (!event) continue;
    event->pos = 0;
    w->future_count--;
    return event;
  }
  w->t_far_ps = PM__FOREVER;
  return NULL;
}
PM__PRIVATE void pm__far_free(pm_world *w) {
  if (w->far) PM_FREE(w->far->cells);
  PM_FREE(w->far);
  w->far = NULL;
}
/* ---- all together ---------------------------------------------------------------------------------- */
PM__APART static void pm__schedule_any(pm_world *w, pm__event *event, int64_t t_ps,
                                       uint64_t order) {
  if (order % PM__RINGS_TRY == 0) pm__rings_judge(w);
  if (event->pos &&
      (!pm__is_in_heap(event) || t_ps >= w->t_far_ps || (w->soon_count && t_ps < w->soon[0].t_ps)))
    pm__unschedule(w, event);
  if (event->pos)
    pm__schedule_alone(w, event, t_ps, order);
  else if (t_ps >= w->t_far_ps)
    pm__far_put(w, event, t_ps, order);
  else {
    pm__near_put(w, event, t_ps, order);
    if (w->heap_count > PM__HEAP_LARGE && !w->shares_times) pm__far_begin(w);
  }
}
/* Puts the event into the future, or moves it there. Not before now. */
PM__PRIVATE void pm__schedule(pm_world *w, pm__event *event, int64_t t_ps) {
  const uint64_t order = w->order++;
  PM_ASSERT(t_ps >= w->now_ps);
  if (t_ps > PM__END) t_ps = PM__END;
  if (!event->pos && order % PM__RINGS_TRY) { /* what is usual, without a call */
    if (t_ps >= w->t_far_ps) {
      pm__far_put(w, event, t_ps, order);
      return;
    }
    const bool is_soon = pm__is_soon(w, t_ps);
    pm__event *const first = is_soon ? NULL : pm__ring_at(w, t_ps);
    if (is_soon && w->soon_count < PM__SOON_MOST) {
      pm__soon_put(w, event, t_ps, order);
      return;
    }
    if (first) {
      pm__ring_join(w, first, event, t_ps);
      return;
    }
  }
  pm__schedule_any(w, event, t_ps, order);
}
PM__PRIVATE void pm__unschedule_it(pm_world *w, pm__event *event) {
  const uint32_t pos = event->pos;
  pm__event *next = event->next;
  if (pos == PM__SOON) {
    pm__soon_drop(w, event);
    return;
  }
  if (!pm__is_in_heap(event)) {
    pm__far_drop(w, event);
    return;
  }
  w->future_count--;
  if (w->shares_times && next->pos != PM__BEHIND) /* it was the last */
    pm__ring_ends_with(w, w->heap[next->pos].t_ps, event, next == event ? NULL : event->previous);
  event->pos = 0;
  /* Alone at its time: the last of the heap takes its place. Of a ring the rest stays, the next one
     first. */
  if (next == event) {
    const pm__slot *last = &w->heap[w->heap_count--];
    if (last->event != event) pm__heap_move(w, pos, last->t_ps, last->order, last->event);
    return;
  }
  event->previous->next = next;
  next->previous = event->previous;
  if (pos == PM__BEHIND) return;
  w->heap[pos].event = next;
  next->pos = pos;
}
PM__PRIVATE void pm__future_drop(pm_world *w) {
  uint32_t i;
  if (w->has_gap) pm__gap_close(w);
  while (pm__far_take(w)) {
  }
  for (i = 0; i < w->soon_count; i++) w->soon[i].event->pos = 0;
  for (i = 1; i <= w->heap_count; i++) {
    pm__event *event = w->heap[i].event;
    for (; event->pos; event = event->next) event->pos = 0;
  }
  w->soon_count = w->heap_count = w->future_count = 0;
}
/* The end of the flows that end first is another time with nearly every flow that comes or goes. So it stands
   beside the heap, with an order as if it stood there. Where events of one time share a place in the heap that
   place has the order of the oldest of them: the end of flows stands among them then. */
PM__PRIVATE void pm__flow_end_at(pm_world *w, int64_t t_ps) {
  if (t_ps == w->t_flow_end_ps) return;
  w->t_flow_end_ps = t_ps;
  pm__unschedule(w, &w->flow_end);
  w->future_count -= w->t_aside_ps != PM__FOREVER;
  w->t_aside_ps = PM__FOREVER;
  if (w->shares_times && t_ps != PM__FOREVER)
    pm__schedule(w, &w->flow_end, t_ps);
  else if (t_ps != PM__FOREVER) {
    w->t_aside_ps = t_ps;
    w->aside_order = w->order++;
    w->future_count++;
  }
  pm__usual_until(w);
}
/* A carrier has messages under way: time may only pass through it. */
PM__INLINE bool pm__is_carrying(const pm_world *w) {
  return w->is_carrying && pm__carrier_is_busy(w);
}
/* Lets the carrier go on until the next step of the simulation. 1: it told something, so look again
   what comes next. */
PM__PRIVATE int pm__carry(pm_world *w) {
  const int64_t until_ps = pm__next_ps(w);
  const int64_t limit_ps = w->t_limit_ps;
  if (w->stopped || !pm__is_carrying(w)) return 0;
  if (pm__carrier_advance(w, until_ps < limit_ps ? until_ps : limit_ps)) return 1;
  if (until_ps > limit_ps && pm__is_carrying(w))
    pm_world_fail(w, PM_E_TIME_LIMIT, "simulated time limit reached: messages are under way");
  return 0;
}
/* In a large world what the next events of this time stand in is in no cache any more: it is asked for
   while this one happens. */
static void pm__step_comes(const pm__event *next) {
  __builtin_prefetch((const char *)next + 64);
  __builtin_prefetch(next->next);
}
/* The first of a ring leaves it, and the next one takes its place in the heap. */
static inline pm__event *pm__ring_take(pm_world *w) {
  pm__event *const event = w->heap[1].event, *const next = event->next;
  event->previous->next = next;
  next->previous = event->previous;
  w->heap[1].event = next;
  next->pos = 1;
  pm__step_comes(next);
  return event;
}
/* The next event of the heap leaves it, at its time. */
static pm__event *pm__heap_take(pm_world *w) {
  pm__event *const event = w->heap[1].event;
  if (event->next != event) return pm__ring_take(w);
  if (w->shares_times) pm__ring_ends_with(w, w->now_ps, event, NULL);
  if (w->heap_count > 1)
    w->has_gap = true;
  else
    w->heap_count = 0;
  return event;
}
/* Rates are found once for all that happens at one time, however many flows came and went. */
static void pm__solve_step(pm_world *w) {
  w->stats.event_count++;
  w->solve_is_due = false;
  pm__usual_until(w);
  w->future_count--;
  pm__solve_now(w);
}
/* Flows end; mostly nothing else happens at this time, so that rates are to be found next. */
static void pm__ends_step(pm_world *w) {
  const pm__slot *first;
  w->t_aside_ps = PM__FOREVER;
  pm__usual_until(w);
  pm__flows_end(w, &w->flow_end);
  if (!w->solve_is_due || !w->is_plain || w->ready_head || w->stopped) return;
  first = pm__first(w);
  if (!first || first->t_ps > w->now_ps) pm__solve_step(w);
}
/* Whatever comes next. */
PM__APART static bool pm__step_any(pm_world *w, int64_t t_last_ps) {
  const pm__slot *first = pm__first(w);
  const bool is_event = first && pm__before(first, w->t_aside_ps, w->aside_order);
  const int64_t t_ps = is_event ? first->t_ps : w->t_aside_ps;
  pm__event *event;
  if (w->solve_is_due && t_ps > w->now_ps) { /* before time moves */
    pm__solve_step(w);
    return true;
  }
  if (t_ps > t_last_ps) return false;
  w->stats.event_count++;
  w->future_count--;
  w->now_ps = t_ps;
  if (!is_event) {
    pm__ends_step(w);
    return true;
  }
  if (w->soon_count)
    event = w->soon[--w->soon_count].event;
  else
    event = pm__heap_take(w);
  event->pos = 0;
  event->fn(w, event);
  return true;
}
/* The event that comes next, if it is the next of the row, or of a ring that has begun: these take no more than they
   need. NULL: another step has to be taken */
static inline pm__event *pm__usual_take(pm_world *w) {
  if (w->soon_count) {
    const pm__slot *const first = &w->soon[w->soon_count - 1];
    if (first->t_ps >= w->t_unusual_ps) return NULL;
    w->now_ps = first->t_ps;
    w->soon_count--;
    return first->event;
  }
  /* An end of flows that is before the ring was before its beginning too. */
  if (w->has_gap || !w->heap_count || w->heap[1].t_ps != w->now_ps ||
      w->heap[1].event->next == w->heap[1].event)
    return NULL;
  return pm__ring_take(w);
}
static inline bool pm__step_now(pm_world *w, int64_t t_last_ps) {
  pm__event *const event = pm__usual_take(w);
  if (!event) return pm__step_any(w, t_last_ps);
  w->stats.event_count++;
  w->future_count--;
  event->pos = 0;
  event->fn(w, event);
  return true;
}
/* The next step of the simulation: time jumps to it. ret false: it would be after t_last_ps. (What is usual
   does not look at that.) */
PM__PRIVATE bool pm__step(pm_world *w, int64_t t_last_ps) {
  return t_last_ps < w->t_over_ps - 1 ? pm__step_any(w, t_last_ps) : pm__step_now(w, t_last_ps);
}
PM__PRIVATE bool pm__steps(pm_world *w) {
  const int64_t t_last_ps = w->t_over_ps - 1;
  bool has_stepped = false;
  while (!w->ready_head && !w->stopped && w->future_count > (uint32_t)w->idle_count &&
         pm__step_now(w, t_last_ps))
    has_stepped = true;
  return has_stepped;
}
