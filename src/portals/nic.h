/* The NIC: commands, payload, lanes, receiving. */
#pragma once
#include "wire.h"

/* ---- for later pieces ---- */
/* The NIC's end of the packet level: all of a job has left; all of it is there (an event of its message);
   observers and trace, where there are some, are told when. */
PM__PRIVATE void pm__job_gone(pm_world *w, pm__message *m);
PM__PRIVATE void pm__rx(pm_world *w, pm__event *event);
PM__PRIVATE void pm__job_tell(pm_world *w, const pm__message *m, int64_t t_there_ps);
static inline void pm__job_told(pm_world *w, const pm__message *m, int64_t t_there_ps) {
  if (w->stamp || w->desc.trace) pm__job_tell(w, m, t_there_ps);
}
PM__PRIVATE pm_link_model pm__link_now(pm_world *w);
PM__PRIVATE bool pm__is_inline(const pm_world *w, const pm__message *m);
PM__PRIVATE bool pm__is_pio(const pm_world *w, const pm__message *m);
PM__PRIVATE void pm__slot_release(pm_world *w, pm__message *m, int64_t t_ps);
PM__PRIVATE void pm__slot_take(pm_world *w, pm__message *m);
