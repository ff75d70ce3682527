/* What happens at the target of an operation. */
#pragma once
#include "ptl_lists.h"

/* ---- for later pieces ---- */
PM__PRIVATE bool pm__is_fetch(const pm__message *m);
/* The initiator's interface is still open. What it sends is still to be had. */
PM__PRIVATE bool pm__from_is_alive(const pm__message *m);
PM__PRIVATE bool pm__has_payload(const pm_world *w, const pm__message *m);
PM__PRIVATE void pm__lost_memory(pm__message *m);
PM__PRIVATE void pm__trace_it(pm_world *w, int kind, const pm__message *m, int64_t t_begin_ps,
                              int64_t t_end_ps, int from_nic, int to_nic, uint64_t bytes);
static inline void pm__trace(pm_world *w, int kind, const pm__message *m, int64_t t_begin_ps,
                             int64_t t_end_ps, int from_nic, int to_nic, uint64_t bytes) {
  if (w->desc.trace) pm__trace_it(w, kind, m, t_begin_ps, t_end_ps, from_nic, to_nic, bytes);
}
