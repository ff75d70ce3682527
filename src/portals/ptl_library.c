#include "ptl_library.h"
/* ---- library and interfaces -------------------------------------------------------------------- */
PM_API int PtlInit(void) {
  if (!pm__current) return PTL_FAIL;
  if (!pm__current->proc->init_count++) pm__current->proc->aborted = 0; /* it begins anew */
  return PTL_OK;
}

/* What an interface of this world offers: default and largest. */
static ptl_ni_limits_t pm__limits_of(const pm_world *w) {
  const pm_semantics *s = &w->desc.semantics;
  ptl_ni_limits_t most = pm__limits;
#define PM__OFFERED(field)                                                                         \
  if (s->field > 0) most.field = s->field < 0xFFFF ? s->field : 0xFFFF
  PM__OFFERED(max_entries);
  PM__OFFERED(max_cts);
  PM__OFFERED(max_mds);
  PM__OFFERED(max_eqs);
  PM__OFFERED(max_unexpected_headers);
  PM__OFFERED(max_list_size);
  PM__OFFERED(max_triggered_ops);
#undef PM__OFFERED
  if (s->max_volatile_size > 0) most.max_volatile_size = (ptl_size_t)s->max_volatile_size;
  return most;
}
/* 0 or negative: no wish, the default. Above what there is: that. Below the least that the specification
   demands: that. */
static void pm__clamp_limits(const pm_world *w, ptl_ni_limits_t *l) {
  const ptl_ni_limits_t most = pm__limits_of(w);
#define PM__CLAMP(type, field, least)                                                              \
  if (l->field <= (type)0) l->field = most.field;                                                  \
  if (l->field > most.field) l->field = most.field;                                                \
  if (l->field < (type)(least)) l->field = (type)(least)
  PM__CLAMP(int, max_entries, 1);
  PM__CLAMP(int, max_unexpected_headers, 1);
  PM__CLAMP(int, max_mds, 1);
  PM__CLAMP(int, max_cts, 1);
  PM__CLAMP(int, max_eqs, 1);
  PM__CLAMP(int, max_pt_index, 63);
  PM__CLAMP(int, max_iovecs, 1);
  PM__CLAMP(int, max_list_size, 1);
  PM__CLAMP(int, max_triggered_ops, 1);
  PM__CLAMP(ptl_size_t, max_msg_size, 64);
  PM__CLAMP(ptl_size_t, max_atomic_size, 8);
  PM__CLAMP(ptl_size_t, max_fetch_atomic_size, 8);
  PM__CLAMP(ptl_size_t, max_waw_ordered_size, 64);
  PM__CLAMP(ptl_size_t, max_war_ordered_size, 8);
#undef PM__CLAMP
  if (!l->max_volatile_size) l->max_volatile_size = most.max_volatile_size;
  /* Who wants all there is takes every volatile message for one that may be an atomic too. */
  if (l->max_volatile_size > l->max_msg_size) {
    l->max_volatile_size =
        w->desc.semantics.max_volatile_size > 0 ? most.max_volatile_size : l->max_atomic_size;
    if (l->max_volatile_size > l->max_msg_size) l->max_volatile_size = l->max_msg_size;
  }
  l->features = most.features;
}

static bool pm__is_open(const pm_process *p) {
  for (int i = 0; i < 4; i++)
    if (p->ni[i] && p->ni[i]->refs) return true;
  return false;
}
/* All interfaces of a process share one, and it stays when the last of them closes: whoever opens one again with
   PTL_PID_ANY is found where it was. Until then another process of the node may ask for it, and the process for another. */
static int pm__choose_pid(pm_world *w, pm_process *p, ptl_pid_t wanted) {
  const bool had_pid = p->has_pid;
  const uint32_t before = p->pid;
  pm_process *holder;
  uint32_t pid = wanted;
  if (wanted != PTL_PID_ANY && wanted > PTL_PID_MAX) return PTL_ARG_INVALID;
  if (had_pid && (wanted == PTL_PID_ANY || wanted == before)) return PTL_OK;
  if (had_pid && pm__is_open(p)) return PTL_ARG_INVALID;
  if (wanted == PTL_PID_ANY)
    for (pid = p->local_index; pm__process_by_pid(w, (uint32_t)p->node, pid);) pid++;
  holder = pm__process_by_pid(w, (uint32_t)p->node, pid);
  if (holder && pm__is_open(holder)) return PTL_PID_IN_USE;
  if (!pm__pid_take(w, p, pid)) return PTL_NO_SPACE;
  if (holder) {
    holder->has_pid = false;
    holder->pid = holder->local_index;
  }
  if (had_pid) pm__pid_is(&w->nodes[p->node], before, NULL);
  return PTL_OK;
}

static pm__ni *pm__ni_new(pm_process *p, int index, const ptl_ni_limits_t *desired) {
  static const uint32_t bytes[] = {
      0, 0, sizeof(pm__eq), sizeof(pm__ct), sizeof(pm__md), sizeof(pm__me)};
  pm__ni *ni = (pm__ni *)pm__lines_take(p->world, sizeof *ni);
  int i;
  if (!ni) return NULL;
  PM__POOL(ni, PM__H_EQ)->chunk[0] = (char *)&ni->first_eq;
  PM__POOL(ni, PM__H_CT)->chunk[0] = (char *)&ni->first_ct;
  PM__POOL(ni, PM__H_MD)->chunk[0] = (char *)&ni->first_md;
  PM__POOL(ni, PM__H_ME)->chunk[0] = (char *)&ni->first_me;
  p->world->stats.memory_bytes += sizeof *ni;
  ni->proc = p;
  ni->index = index;
  ni->rank = PTL_RANK_ANY;
  ni->handle = pm__handle(PM__H_NI, index, 0, 0);
  ni->limits = desired ? *desired : pm__limits_of(p->world);
  pm__clamp_limits(p->world, &ni->limits);
  for (i = PM__H_EQ; i <= PM__H_ME; i++) PM__POOL(ni, i)->item_bytes = bytes[i];
  PM__POOL(ni, PM__H_EQ)->limit = (uint32_t)ni->limits.max_eqs;
  PM__POOL(ni, PM__H_CT)->limit = (uint32_t)ni->limits.max_cts;
  PM__POOL(ni, PM__H_MD)->limit = (uint32_t)ni->limits.max_mds;
  PM__POOL(ni, PM__H_ME)->limit = (uint32_t)ni->limits.max_entries;
  return ni;
}

/* What is under way when its interface closes still goes out, with the bytes of now. */
static void pm__keep_all(pm__ni *ni) {
  pm__message *m = ni->proc->world->messages_made;
  for (; m && ni->uncopied_count; m = m->next_made)
    if (m->way.pending && m->what.from == ni && pm__from_is_alive(m) && pm__is_uncopied(m)) {
      ni->uncopied_count--;
      pm__keep(m);
    }
  ni->uncopied_count = 0;
}
static void pm__pool_close(pm__ni *ni, int kind) {
  pm__pool *pool = PM__POOL(ni, kind);
  uint32_t slot;
  for (slot = 0; slot < pool->made; slot++) {
    pm__object *o = pm__pool_at(pool, slot);
    if (!o->live) continue;
    if (kind == PM__H_CT) {
      pm__ct_drop_triggers((pm__ct *)(void *)o);
      pm__carrier_count_end((pm__ct *)(void *)o);
    }
    if (kind == PM__H_EQ) pm__eq_forget(ni->proc, (pm__eq *)(void *)o);
    pm__pool_free(ni, o);
  }
}

/* Objects vanish, their memory stays: threads that wait on them must still find out. Messages on
   their way see another epoch. */
static void pm__ni_close(pm__ni *ni) {
  pm_thread *t;
  pm__me *me;
  int i, kind, list;
  if (!ni->refs) return;
  pm__keep_all(ni);
  pm__list_ops_drop(ni);
  pm__shelves_free(ni);
  for (i = 0; i < PM__PTS * PM__PT_GROUPS; i++) {
    pm__pt *pt = ni->pt[i / PM__PTS] ? &ni->pt[i / PM__PTS][i % PM__PTS] : NULL;
    if (!pt) continue;
    while (pt->headers) {
      pm__header *h = pt->headers;
      pt->headers = h->next;
      pm__header_drop(ni, h);
    }
    for (list = 0; list < 2; list++)
      for (me = pt->head[list]; me; me = me->next) pm__carrier_unlink(ni, me);
    memset(pt, 0, sizeof *pt);
  }
  pm__pool_close(ni, PM__H_CT); /* before the descriptors that its triggers use */
  PM_FREE(ni->splits);
  ni->splits = NULL;
  for (kind = PM__H_EQ; kind <= PM__H_ME; kind++)
    if (kind != PM__H_CT) pm__pool_close(ni, kind);
  ni->refs = ni->bundles = 0;
  if (ni->event_fd) close(ni->event_fd - 1);
  ni->event_fd = 0;
  ni->pt_last = 0;
  ni->map = NULL;
  ni->rank = PTL_RANK_ANY;
  ni->writes = ni->writes_last = NULL;
  ni->epoch++;
  for (t = ni->proc->threads; t; t = t->next_in_proc)
    if (t->waits_for_ptl) pm__resume(ni->proc->world, t);
}

static void pm__ni_reopen(pm__ni *ni, const ptl_ni_limits_t *desired) {
  ni->limits = desired ? *desired : pm__limits_of(ni->proc->world);
  pm__clamp_limits(ni->proc->world, &ni->limits);
  PM__POOL(ni, PM__H_EQ)->limit = (uint32_t)ni->limits.max_eqs;
  PM__POOL(ni, PM__H_CT)->limit = (uint32_t)ni->limits.max_cts;
  PM__POOL(ni, PM__H_MD)->limit = (uint32_t)ni->limits.max_mds;
  PM__POOL(ni, PM__H_ME)->limit = (uint32_t)ni->limits.max_entries;
  memset(ni->status, 0, sizeof ni->status);
}

/* A process ends: as if it had called PtlFini. */
PM__PRIVATE void pm__ptl_process_ended(pm_process *p) {
  int i;
  for (i = 0; i < 4; i++)
    if (p->ni[i]) pm__ni_close(p->ni[i]);
}

PM__PRIVATE void pm__ptl_process_free(pm_process *p) {
  int i, kind, k;
  for (i = 0; i < 4; i++) {
    pm__ni *ni = p->ni[i];
    if (!ni) continue;
    pm__ni_close(ni);
    for (kind = 0; kind < PM__KINDS; kind++)
      for (k = 1; k < PM__CHUNKS; k++) PM_FREE(ni->pool[kind].chunk[k]);
  }
}

PM__PRIVATE void pm__ptl_world_free(pm_world *w) {
  PM_FREE(w->pages);
  while (w->maps) {
    pm__map *map = w->maps;
    w->maps = map->next;
    PM_FREE(map->id);
    PM_FREE(map);
  }
  while (w->messages_made) {
    pm__message *m = w->messages_made;
    w->messages_made = m->next_made;
    PM_FREE(m->what.kept);
  }
  while (w->free_triggers) {
    pm__trigger *t = w->free_triggers;
    w->free_triggers = t->next;
    PM_FREE(t);
  }
  while (w->free_headers) {
    pm__header *h = w->free_headers;
    w->free_headers = h->next;
    PM_FREE(h);
  }
}

PM_API void PtlFini(void) {
  pm_process *p = pm__inited();
  int i;
  if (p && p->init_count == 1) pm__come_home();
  if (!p || --p->init_count) return;
  for (i = 0; i < 4; i++)
    if (p->ni[i]) pm__ni_close(p->ni[i]);
}

/* 4.3: every wait and poll of the process returns PTL_ABORTED. */
PM_API void PtlAbort(void) {
  pm_process *p = pm__inited();
  pm_thread *t;
  if (!p) return;
  p->aborted = 1;
  for (t = p->threads; t; t = t->next_in_proc)
    if (t->waits_for_ptl) pm__resume(p->world, t);
}

PM_API int PtlNIInit(ptl_interface_t iface, unsigned int options, ptl_pid_t pid,
                     const ptl_ni_limits_t *desired, ptl_ni_limits_t *actual,
                     ptl_handle_ni_t *ni_handle) {
  PM__PROCESS(p);
  const int matching = (options & PTL_NI_MATCHING) != 0, logical = (options & PTL_NI_LOGICAL) != 0;
  const int index = matching | logical << 1;
  int code;
  if (!ni_handle || (iface != PTL_IFACE_DEFAULT && iface != 0) ||
      (options & ~PTL_NI_INIT_OPTIONS_MASK))
    return PTL_ARG_INVALID;
  if (matching == ((options & PTL_NI_NO_MATCHING) != 0) ||
      logical == ((options & PTL_NI_PHYSICAL) != 0))
    return PTL_ARG_INVALID;
  if (!p->ni[index] || !p->ni[index]->refs) {
    code = pm__choose_pid(p->world, p, pid);
    if (code) return code;
    if (p->ni[index]) { /* closed before, perhaps with messages still on their way to it */
      pm__ni_reopen(p->ni[index], desired);
    } else if (!(p->ni[index] = pm__ni_new(p, index, desired)))
      return PTL_NO_SPACE;
  }
  p->ni[index]->refs++;
  if (actual) *actual = p->ni[index]->limits;
  *ni_handle = p->ni[index]->handle;
  return PTL_OK;
}

PM_API int PtlNIFini(ptl_handle_ni_t ni_handle) {
  PM__NI(p, ni, ni_handle);
  if (ni->refs == 1) pm__come_home();
  if (ni->refs > 1)
    ni->refs--;
  else
    pm__ni_close(ni);
  return PTL_OK;
}

PM_API int PtlNIStatus(ptl_handle_ni_t ni_handle, ptl_sr_index_t index, ptl_sr_value_t *value) {
  PM__NI(p, ni, ni_handle);
  if (!value || (unsigned)index >= PTL_SR_LAST) return PTL_ARG_INVALID;
  *value = ni->status[index];
  return PTL_OK;
}

PM_API int PtlNIHandle(ptl_handle_any_t handle, ptl_handle_ni_t *ni_handle) {
  PM__PROCESS(p);
  pm__ni *ni;
  const int kind = (int)(handle >> 29);
  if (!ni_handle) return PTL_ARG_INVALID;
  if (kind == PM__H_NI) {
    ni = pm__ni_of(p, handle);
    if (!ni) return PTL_ARG_INVALID;
  } else if (kind < PM__H_EQ || kind > PM__H_ME || !pm__find_any(p, kind, handle, &ni))
    return PTL_ARG_INVALID;
  *ni_handle = ni->handle;
  return PTL_OK;
}
