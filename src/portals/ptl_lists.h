/* Portal table, memory descriptors, list entries and unexpected headers. */
#pragma once
#include "ptl_events.h"
#include "ptl_memory.h"

/* ---- for later pieces ---- */
/* NULL: not allocated. Of an allocated one; it never moves. */
PM__PRIVATE pm__pt *pm__pt_at(const pm__ni *ni, ptl_pt_index_t index);
static inline pm__pt *pm__pt_of(const pm__ni *ni, ptl_pt_index_t index) {
  return &ni->pt[index / PM__PTS][index % PM__PTS];
}
PM__PRIVATE void pm__header_add(pm__ni *ni, pm__pt *pt, pm__header *h);
PM__PRIVATE void pm__header_unlink(pm__ni *ni, pm__pt *pt, pm__header *h);
PM__PRIVATE void pm__header_drop(pm__ni *ni, pm__header *h);
PM__PRIVATE void pm__shelves_free(pm__ni *ni);
PM__PRIVATE void pm__me_unlink(pm__ni *ni, pm__me *me);
PM__PRIVATE void pm__me_event(pm__ni *ni, ptl_handle_eq_t eq_handle, ptl_pt_index_t pt,
                              unsigned char list, void *user_ptr, int type);
PM__PRIVATE void pm__me_free_if_empty(pm__ni *ni, pm__me *me);
PM__PRIVATE uint64_t pm__capacity(const void *start, ptl_size_t length, unsigned int options);
PM__PRIVATE bool pm__has_room(const ptl_me_t *me, uint64_t offset, uint64_t bytes);
PM__PRIVATE int pm__matches(const pm__ni *ni, const ptl_me_t *me, ptl_process_t id, ptl_uid_t uid,
                            uint64_t bits);
PM__PRIVATE int pm__overflow_kind(int kind);
PM__PRIVATE void pm__tell_overflow(pm__ni *ni, const pm__header *h);
PM__PRIVATE bool pm__is_used_up(const pm__me *me, uint64_t more_bytes);
PM__PRIVATE bool pm__append_is_bad(const pm__ni *ni, ptl_pt_index_t index, const ptl_me_t *me,
                                   ptl_list_t list);
PM__PRIVATE pm__me *pm__me_new(pm__ni *ni, ptl_pt_index_t index, const ptl_me_t *entry,
                               ptl_list_t list, void *user_ptr);
PM__PRIVATE void pm__me_append(pm__ni *ni, pm__me *me);
PM__PRIVATE void pm__list_told(pm_world *w, uint64_t number);
PM__PRIVATE void pm__list_ops_drop(pm__ni *ni);
PM__PRIVATE void pm__append_released(pm__ni *ni, pm__me *me);
PM__PRIVATE void pm__unlink_released(pm_process *p, ptl_handle_any_t handle);
