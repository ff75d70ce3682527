/* Handles, library and interfaces, identity. */
#pragma once
#include "message.h"

/* ---- for later pieces ---- */
PM__PRIVATE uint32_t pm__handle(int kind, int ni, uint32_t generation, uint32_t slot);
PM__PRIVATE pm__object *pm__pool_at(const pm__pool *pool, uint32_t slot);
PM__PRIVATE pm__object *pm__pool_new(pm__ni *ni, int kind);
PM__PRIVATE void pm__pool_free(pm__ni *ni, pm__object *o);
PM__PRIVATE pm_process *pm__inited(void);
PM__PRIVATE pm__ni *pm__ni_of(const pm_process *p, ptl_handle_any_t h);
PM__PRIVATE pm__object *pm__find(const pm__ni *ni, int kind, ptl_handle_any_t h);
PM__PRIVATE pm__object *pm__find_any(const pm_process *p, int kind, ptl_handle_any_t h,
                                     pm__ni **ni);
PM__PRIVATE bool pm__is_matching(const pm__ni *ni);
PM__PRIVATE bool pm__is_logical(const pm__ni *ni);
PM__PRIVATE ptl_process_t pm__own_id(const pm__ni *ni);
PM__PRIVATE void pm__pid_is(pm__node *node, uint32_t pid, pm_process *p);
PM__PRIVATE int pm__pid_take(pm_world *w, pm_process *p, uint32_t pid);
PM__PRIVATE pm_process *pm__process_by_pid(const pm_world *w, uint32_t nid, uint32_t pid);
PM__PRIVATE void pm__hold(pm__md *md);
PM__PRIVATE void pm__let_go(pm__ni *ni, pm__md *md);
PM__PRIVATE pm__message *pm__message_new(pm_world *w);
