/* Events to come, in the order of their times. */
#pragma once
#include "machine.h"

/* ---- for later pieces ---- */
/* Events that are far, see pm__far_put. */
enum { PM__FAR_BITS = 6, PM__FAR_LEVELS = 8, PM__FAR_FIRST = 16, PM__FAR_CELLS = 10 };
typedef struct pm__cells { /* of a bin, one after the other */
  uint32_t next, count;
  pm__slot slot[PM__FAR_CELLS];
} pm__cells;
typedef struct pm__bin {
  uint32_t first, last; /* of its cells; 0: none */
} pm__bin;
struct pm__far {
  int64_t t_begin_ps;
  uint32_t levels;               /* those with bins that are not empty, a bit each */
  uint64_t used[PM__FAR_LEVELS]; /* and which these are */
  pm__bin bin[PM__FAR_LEVELS][1 << PM__FAR_BITS];
  pm__cells *cells; /* from 1 on */
  uint32_t made, max, free;
};
PM__PRIVATE void pm__schedule(pm_world *w, pm__event *event, int64_t t_ps);
PM__PRIVATE void pm__future_drop(pm_world *w);    /* nothing of it will happen */
PM__PRIVATE pm__event *pm__far_take(pm_world *w); /* any that lies in a bin leaves it; NULL: none */
PM__PRIVATE void pm__far_free(pm_world *w);
PM__PRIVATE void pm__unschedule_it(pm_world *w, pm__event *event);
static inline void pm__unschedule(pm_world *w, pm__event *event) {
  if (event->pos) pm__unschedule_it(w, event);
}
PM__PRIVATE void pm__flow_end_at(pm_world *w, int64_t t_ps); /* PM__FOREVER: no flow ends */
PM__PRIVATE bool pm__is_carrying(const pm_world *w);
PM__PRIVATE int pm__carry(pm_world *w);
PM__PRIVATE bool pm__step(pm_world *w, int64_t t_last_ps);
/* Steps up to the limit, until a thread may run or all that is to come are pauses of threads that look in vain. ret whether
   there was one */
PM__PRIVATE bool pm__steps(pm_world *w);
/* When nothing else happens until then, time just passes: a thread that computes alone goes on
   without an event and two switches of stacks.
   Strictly before the next event: one at the same time was scheduled earlier, so it comes first. A
   carrier has events that the future does not know. At the end of time the loop must say why the
   run ends. ret whether it did */
static inline bool pm__time_passes(pm_world *w, int64_t t_ps) {
  if (w->ready_head || pm__next_ps(w) <= t_ps) return false;
  if (w->stopped || t_ps >= w->t_limit_ps || pm__is_carrying(w)) return false;
  w->now_ps = t_ps;
  return true;
}
/* The last thing that an event does: this one follows. Where it is the next one of all it happens at once, and stands
   nowhere meanwhile. Among hundreds of processes it hardly ever is. */
static inline void pm__goes_on(pm_world *w, pm__event *event, int64_t t_ps) {
  if (w->is_large || !pm__time_passes(w, t_ps)) {
    pm__schedule(w, event, t_ps);
    return;
  }
  w->order++;
  w->stats.event_count++;
  event->fn(w, event);
}
