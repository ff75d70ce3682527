#include "ptl_objects.h"
/* ---- handles: kind (3 bits), interface (2), generation (11), slot (16) ------------------------- */

PM__PRIVATE uint32_t pm__handle(int kind, int ni, uint32_t generation, uint32_t slot) {
  return (uint32_t)kind << 29 | (uint32_t)ni << 27 | (generation & 0x7FFu) << 16 | slot;
}
/* Chunk k of a pool holds 1 << k objects and never moves: objects may be pointed at. */
static uint32_t pm__chunk_of(uint32_t slot) {
#ifdef __GNUC__
  return 31u - (uint32_t)__builtin_clz(slot + 1);
#else
  uint32_t k = 0;
  while ((slot + 1) >> (k + 1)) k++;
  return k;
#endif
}
PM__INLINE pm__object *pm__pool_at(const pm__pool *pool, uint32_t slot) {
  const uint32_t k = pm__chunk_of(slot);
  return (pm__object *)(void *)(pool->chunk[k] + (size_t)(slot + 1 - (1u << k)) * pool->item_bytes);
}
/* A new object, zeroed but for its handle; NULL: limit reached or out of memory. */
PM__PRIVATE pm__object *pm__pool_new(pm__ni *ni, int kind) {
  pm__pool *pool = PM__POOL(ni, kind);
  pm__object *o;
  uint32_t slot, generation;
  if (pool->used >= pool->limit) return NULL;
  if (pool->free_head)
    slot = pool->free_head - 1;
  else {
    const uint32_t k = pm__chunk_of(pool->made);
    slot = pool->made;
    if (!pool->chunk[k]) {
      const size_t bytes = ((size_t)1 << k) * pool->item_bytes;
      pool->chunk[k] = (char *)pm__zalloc(bytes);
      if (!pool->chunk[k]) return NULL;
      ni->proc->world->stats.memory_bytes += bytes;
    }
    pool->made++;
  }
  o = pm__pool_at(pool, slot);
  if (pool->free_head) pool->free_head = o->next_free;
  generation = (o->handle >> 16) + 1;
  memset(o, 0, pool->item_bytes);
  o->handle = pm__handle(kind, ni->index, generation, slot);
  o->live = 1;
  pool->used++;
  return o;
}
PM__PRIVATE void pm__pool_free(pm__ni *ni, pm__object *o) {
  pm__pool *pool = PM__POOL(ni, o->handle >> 29);
  o->live = 0;
  o->next_free = pool->free_head & 0xFFFFFFu;
  pool->free_head = (o->handle & 0xFFFFu) + 1;
  pool->used--;
}

/* The running process, when it has called PtlInit. */
PM__PRIVATE pm_process *pm__inited(void) {
  pm_thread *const t = pm__current;
  if (!t) return NULL;
  if ((t->has_steps && !t->defers) || t->proc->world->desc.compute_ratio > 0)
    pm_compute_measured(); /* else it has nothing to do */
  return t->proc->init_count ? t->proc : NULL;
}
PM__PRIVATE pm__ni *pm__ni_of(const pm_process *p, ptl_handle_any_t h) {
  pm__ni *ni = p->ni[h >> 27 & 3];
  return h >> 29 == PM__H_NI && ni && ni->refs && !(h & 0x7FFFFFF) ? ni : NULL;
}
/* Any object of an interface by its handle; NULL when it is none, or no more. */
PM__INLINE pm__object *pm__find(const pm__ni *ni, int kind, ptl_handle_any_t h) {
  const pm__pool *pool = PM__POOL(ni, kind);
  pm__object *o;
  if (h >> 29 != (uint32_t)kind || (int)(h >> 27 & 3) != ni->index || (h & 0xFFFFu) >= pool->made)
    return NULL;
  o = pm__pool_at(pool, h & 0xFFFFu);
  return o->live == 1 && o->handle == h ? o : NULL;
}
PM__INLINE pm__object *pm__find_any(const pm_process *p, int kind, ptl_handle_any_t h,
                                    pm__ni **ni) {
  *ni = p->ni[h >> 27 & 3];
  return *ni && (*ni)->refs ? pm__find(*ni, kind, h) : NULL;
}

/* ---- library and interfaces -------------------------------------------------------------------- */
PM__INLINE bool pm__is_matching(const pm__ni *ni) { return ni->index & 1; }
PM__INLINE bool pm__is_logical(const pm__ni *ni) { return ni->index >> 1; }
PM__INLINE_HERE ptl_process_t pm__phys_id(const pm_process *p) {
  ptl_process_t id;
  id.phys.nid = (ptl_nid_t)p->node;
  id.phys.pid = p->pid;
  return id;
}
/* As others see it: by rank or physically, after the kind of interface. */
PM__INLINE ptl_process_t pm__own_id(const pm__ni *ni) {
  ptl_process_t id = pm__phys_id(ni->proc);
  if (!pm__is_logical(ni)) return id;
  memset(&id, 0, sizeof id);
  id.rank = ni->rank;
  return id;
}

PM__PRIVATE void pm__pid_is(pm__node *node, uint32_t pid, pm_process *p) {
  *(pid ? &node->by_pid[pid] : &node->pid_0) = p;
}
/* Processes of a node by pid. 0: out of memory. */
PM__PRIVATE int pm__pid_take(pm_world *w, pm_process *p, uint32_t pid) {
  pm__node *node = &w->nodes[p->node];
  void *array = node->by_pid;
  const int before = node->pids_max;
  if (pid && !pm__grow(&array, &node->pids_max, (int)pid + 1, sizeof p)) return 0;
  node->by_pid = (pm_process **)array;
  if (node->pids_max > before)
    memset(node->by_pid + before, 0, (size_t)(node->pids_max - before) * sizeof p);
  w->stats.memory_bytes += (size_t)(node->pids_max - before) * sizeof p;
  pm__pid_is(node, pid, p);
  if (p->pid != pid) p->pid = pid; /* other threads of the host may ask for it */
  p->has_pid = 1;
  return 1;
}
PM__PRIVATE pm_process *pm__process_by_pid(const pm_world *w, uint32_t nid, uint32_t pid) {
  const pm__node *node;
  if ((int64_t)nid >= w->plat.node_count) return NULL;
  node = &w->nodes[nid];
  if (!pid) return node->pid_0;
  return pid < (uint32_t)node->pids_max ? node->by_pid[pid] : NULL;
}

/* ---- identity ---------------------------------------------------------------------------------- */
PM_API ptl_process_t pm_process_id(int rank) {
  const pm_process *self = pm_self();
  ptl_process_t nobody;
  memset(&nobody, 0xFF, sizeof nobody);
  return self && rank >= 0 && rank < self->world->proc_count ? pm__phys_id(self->world->procs[rank])
                                                             : nobody;
}
/* Every process sets the same map: one copy serves all. */
static pm__map *pm__map_share(pm_world *w, ptl_size_t count, const ptl_process_t *id) {
  pm__map *map;
  for (map = w->maps; map; map = map->next)
    if (map->count == count && memcmp(map->id, id, (size_t)count * sizeof *id) == 0) return map;
  map = (pm__map *)pm__zalloc(sizeof *map);
  if (!map) return NULL;
  map->id = (ptl_process_t *)PM_MALLOC((size_t)count * sizeof *id);
  if (!map->id) {
    PM_FREE(map);
    return NULL;
  }
  memcpy(map->id, id, (size_t)count * sizeof *id);
  map->count = count;
  map->next = w->maps;
  w->maps = map;
  w->stats.memory_bytes += (size_t)count * sizeof *id + sizeof *map;
  return map;
}
PM_API int PtlSetMap(ptl_handle_ni_t ni_handle, ptl_size_t map_size, const ptl_process_t *mapping) {
  PM__NI(p, ni, ni_handle);
  const pm_semantics *s = &p->world->desc.semantics;
  ptl_size_t i, rank = PTL_RANK_ANY;
  pm__map *map;
  if (!pm__is_logical(ni) || !mapping || !map_size || map_size > (1u << 26)) return PTL_ARG_INVALID;
  if (ni->map && s->setmap_again != 2) return s->setmap_again ? PTL_IN_USE : PTL_IGNORED;
  for (i = 0; i < map_size && rank == PTL_RANK_ANY; i++)
    if (mapping[i].phys.nid == (ptl_nid_t)p->node && mapping[i].phys.pid == p->pid) rank = i;
  if (rank == PTL_RANK_ANY) return PTL_ARG_INVALID;
  map = pm__map_share(p->world, map_size, mapping);
  if (!map) return PTL_NO_SPACE;
  ni->map = map;
  ni->rank = (ptl_rank_t)rank;
  return PTL_OK;
}
PM_API int PtlGetMap(ptl_handle_ni_t ni_handle, ptl_size_t map_size, ptl_process_t *mapping,
                     ptl_size_t *actual_size) {
  PM__NI(p, ni, ni_handle);
  if (!pm__is_logical(ni) || (!mapping && map_size)) return PTL_ARG_INVALID;
  if (!ni->map) return PTL_NO_SPACE;
  if (map_size > ni->map->count) map_size = ni->map->count;
  if (map_size) memcpy(mapping, ni->map->id, (size_t)map_size * sizeof *mapping);
  if (actual_size) *actual_size = ni->map->count;
  return PTL_OK;
}
PM_API int PtlGetUid(ptl_handle_ni_t ni_handle, ptl_uid_t *uid) {
  PM__NI(p, ni, ni_handle);
  (void)ni;
  if (!uid) return PTL_ARG_INVALID;
  *uid = p->uid;
  return PTL_OK;
}
PM_API int PtlGetPhysId(ptl_handle_ni_t ni_handle, ptl_process_t *id) {
  PM__NI(p, ni, ni_handle);
  (void)ni;
  if (!id) return PTL_ARG_INVALID;
  *id = pm__phys_id(p);
  return PTL_OK;
}
PM_API int PtlGetId(ptl_handle_ni_t ni_handle, ptl_process_t *id) {
  PM__NI(p, ni, ni_handle);
  if (!id) return PTL_ARG_INVALID;
  *id = pm__own_id(ni);
  return PTL_OK;
}
PM_API int PtlHandleIsEqual(ptl_handle_any_t handle1, ptl_handle_any_t handle2) {
  return handle1 == handle2;
}
PM_API int PtlAtomicSync(void) { return pm__inited() ? PTL_OK : PTL_NO_INIT; }
PM_API int PtlNIAtomicSync(ptl_handle_ni_t ni_handle) {
  PM__NI(p, ni, ni_handle);
  (void)ni;
  return PTL_OK;
}
PM_API int PtlGetHwid(ptl_handle_ni_t ni_handle, uint64_t *hw_id, uint64_t *capabilities_id) {
  PM__NI(p, ni, ni_handle);
  (void)ni;
  if (!hw_id || !capabilities_id) return PTL_ARG_INVALID;
  *hw_id = (uint64_t)p->node;
  *capabilities_id = 0;
  return PTL_OK;
}
PM_API int PtlActivateHookAdd(void (*callback)(void *arg, unsigned int nic, int what), void *arg,
                              ptl_activate_hook_t *hook) {
  PM__PROCESS(p);
  int i = 0;
  if (!callback || !hook) return PTL_ARG_INVALID;
  while (i < PM__HOOKS && p->hooks[i].is_used) i++;
  if (i == PM__HOOKS) return PTL_NO_SPACE;
  p->hooks[i].is_used = 1;
  *hook = &p->hooks[i];
  callback(arg, 0, 1);
  return PTL_OK;
}
PM_API int PtlActivateHookRemove(ptl_activate_hook_t hook) {
  PM__PROCESS(p);
  int i = 0;
  while (i < PM__HOOKS && hook != &p->hooks[i]) i++;
  if (i == PM__HOOKS || !hook->is_used) return PTL_ARG_INVALID;
  hook->is_used = 0;
  return PTL_OK;
}
PM_API int PtlStartBundle(ptl_handle_ni_t ni_handle) {
  PM__NI(p, ni, ni_handle);
  ni->bundles++;
  return PTL_OK;
}
/* Nothing is deferred, so nothing is to be flushed: only the pairing is checked. */
PM_API int PtlEndBundle(ptl_handle_ni_t ni_handle) {
  PM__NI(p, ni, ni_handle);
  if (!ni->bundles) return PTL_ARG_INVALID;
  ni->bundles--;
  return PTL_OK;
}
PM_API const char *pm_ptl_status_name(int status) {
  switch (status) {
#define PM__X(name, value)                                                                         \
  case value: return #name;
    PTL_STATUS_LIST(PM__X)
#undef PM__X
  default: return "PTL_?";
  }
}
PM_API const char *pm_ptl_event_name(int event_kind) {
  static const char *const names[] = {
#define PM__X(name) #name,
      PTL_EVENT_LIST(PM__X)
#undef PM__X
  };
  return event_kind >= 0 && event_kind < PTL_EVENT_LAST ? names[event_kind] : "?";
}
PM_API const char *pm_ptl_fail_name(int ni_fail_type) {
  static const char *const names[] = {
#define PM__X(name) #name,
      PTL_NI_FAIL_LIST(PM__X)
#undef PM__X
  };
  return ni_fail_type >= 0 && ni_fail_type < PTL_NI_FAIL_LAST ? names[ni_fail_type] : "?";
}
PM_API const char *PtlToStr(int value, enum ptl_str_type type) {
  return type == PTL_STR_EVENT       ? pm_ptl_event_name(value)
         : type == PTL_STR_FAIL_TYPE ? pm_ptl_fail_name(value)
                                     : pm_ptl_status_name(value);
}

PM_API int PtlEvToStr(unsigned int ni_options, const ptl_event_t *event, char *text) {
  char from[32];
  if (!event || !text) return PTL_ARG_INVALID;
  const bool is_put = event->type == PTL_EVENT_PUT || event->type == PTL_EVENT_PUT_OVERFLOW,
             is_atomic =
                 event->type >= PTL_EVENT_ATOMIC && event->type <= PTL_EVENT_FETCH_ATOMIC_OVERFLOW,
             is_get = event->type == PTL_EVENT_GET || event->type == PTL_EVENT_GET_OVERFLOW;
  int n = snprintf(text, PTL_EV_STR_SIZE, "%s %s", pm_ptl_event_name(event->type),
                   pm_ptl_fail_name(event->ni_fail_type));
  if (is_put || is_atomic || is_get || event->type == PTL_EVENT_SEARCH) {
    if (ni_options & PTL_NI_LOGICAL)
      snprintf(from, sizeof from, "%u", (unsigned)event->initiator.rank);
    else
      snprintf(from, sizeof from, "%u:%u", (unsigned)event->initiator.phys.nid,
               (unsigned)event->initiator.phys.pid);
    n += snprintf(text + n, PTL_EV_STR_SIZE - (size_t)n, " mlength %llu pt %u from %s",
                  (unsigned long long)event->mlength, (unsigned)event->pt_index, from);
    if (event->mlength != event->rlength)
      snprintf(text + n, PTL_EV_STR_SIZE - (size_t)n, " rlength %llu",
               (unsigned long long)event->rlength);
  } else if (event->type == PTL_EVENT_REPLY || event->type == PTL_EVENT_ACK ||
             event->type == PTL_EVENT_SEND)
    snprintf(text + n, PTL_EV_STR_SIZE - (size_t)n, " mlength %llu",
             (unsigned long long)event->mlength);
  else
    snprintf(text + n, PTL_EV_STR_SIZE - (size_t)n, " pt %u", (unsigned)event->pt_index);
  return PTL_OK;
}

PM__PRIVATE pm__message *pm__message_new(pm_world *w) {
  pm__message *m = w->free_messages;
  if (m)
    w->free_messages = m->next;
  else {
    m = (pm__message *)pm__lines_take(w, sizeof *m);
    if (!m) return NULL;
    w->stats.memory_bytes += sizeof *m;
    m->next_made = w->messages_made;
    w->messages_made = m;
  }
  pm__clear(m, offsetof(pm__message, what.copy));
  return m;
}
/* An operation begins and ends to need its descriptors; the last one frees what was released. */
PM__INLINE void pm__hold(pm__md *md) {
  md->in_flight++;
  md->unsent++;
}
PM__INLINE void pm__let_go(pm__ni *ni, pm__md *md) {
  if (--md->in_flight == 0 && md->o.live == PM__RELEASED) pm__pool_free(ni, &md->o);
}
PM__PRIVATE void pm__message_free(pm_world *w, pm__message *m) {
  if (m->what.kept) PM_FREE(m->what.kept);
  m->what.kept = NULL;
  if (w->whole && m->what.from->proc->world != w) {
    pm__message_back(w, m);
    return;
  }
  m->next = w->free_messages;
  w->free_messages = m;
}
