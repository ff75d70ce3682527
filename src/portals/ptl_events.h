/* Event queues and counters. */
#pragma once
#include "ptl_objects.h"

/* ---- for later pieces ---- */
PM__PRIVATE void pm__wake_waiters(pm_process *p, const void *object, uint64_t value, bool is_final);
PM__PRIVATE pm__eq *pm__eq_at(const pm__ni *ni, ptl_handle_eq_t h);
PM__PRIVATE pm__ct *pm__ct_at(const pm__ni *ni, ptl_handle_ct_t h);
PM__PRIVATE void pm__eq_forget(pm_process *p, pm__eq *eq);
/* The queue that lies there, if it still has this handle. Objects never move and their memory stays,
   so who remembers a place need not look the handle up. */
static inline pm__eq *pm__eq_if(pm__eq *eq, ptl_handle_eq_t h) {
  return eq && eq->o.live == 1 && eq->o.handle == h ? eq : NULL;
}
/* eq NULL: to nobody */
PM__PRIVATE void pm__eq_give(pm__ni *ni, pm__eq *eq, const ptl_event_t *event);
/* The same in two steps: where the event is to be written (NULL: it is lost; is_reserved: it may take a place kept for
   PT_DISABLED), and that it is there. */
PM__PRIVATE ptl_event_t *pm__eq_place(pm__ni *ni, pm__eq *eq, bool is_reserved);
PM__PRIVATE void pm__eq_tell(pm__ni *ni, pm__eq *eq);
PM__PRIVATE void pm__eq_post(pm__ni *ni, ptl_handle_eq_t h, const ptl_event_t *event);
PM__PRIVATE int pm__eq_take(const pm__ni *ni, pm__eq *eq, ptl_event_t *event);
PM__PRIVATE int pm__gone(const pm_process *p);
PM__PRIVATE void pm__waits_ptl(pm_thread *t, const void *object, ptl_handle_any_t handle,
                               uint64_t value);
/* Of threads that run ahead: the step is to come. How many more entries there is room for. */
PM__PRIVATE int pm__append_later(pm_thread *t, pm__ni *ni, pm__me *me);
PM__PRIVATE int pm__move_later(pm_thread *t, pm__message *m);
PM__PRIVATE int pm__append_room(const pm__ni *ni, ptl_pt_index_t index);
PM__PRIVATE void pm__wait_ptl(const void *object, ptl_handle_any_t handle, uint64_t value,
                              int64_t t_ps, const char *what);
PM__PRIVATE void pm__ct_changed(pm__ct *ct);
PM__PRIVATE void pm__ct_count(const pm__ni *ni, ptl_handle_ct_t h, bool is_failure, uint64_t value);
PM__PRIVATE bool pm__fires_hold(pm_world *w);
PM__PRIVATE void pm__fires_go(pm_world *w, bool was_firing);
PM__PRIVATE void pm__trigger_free(pm_world *w, pm__trigger *t);
PM__PRIVATE void pm__ct_drop_triggers(pm__ct *ct);
PM__PRIVATE void pm__trigger_put(pm__ct *ct, pm__trigger *t);
/* The carrier has let all go that waited for the counter: they are the model's again. */
PM__PRIVATE void pm__triggers_take_back(pm__ct *ct);
PM__PRIVATE pm__split *pm__split_of(const pm__ct *ct);
/* Does what a trigger is for, and frees it: in ptl_moves. */
PM__PRIVATE void pm__fire(pm_world *w, pm__trigger *t);
