/* Events to come, in the order of their times. */
#pragma once
#include "machine.h"

/* ---- for later pieces ---- */
PM__PRIVATE void pm__schedule(pm_world *w, pm__event *event, int64_t t_ps);
PM__PRIVATE void pm__future_drop(pm_world *w); /* nothing of it will happen */
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
