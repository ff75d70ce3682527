#include "ptl_lists.h"
/* ---- portal table and memory descriptors ------------------------------------------------------- */
PM__INLINE pm__pt *pm__pt_at(const pm__ni *ni, ptl_pt_index_t index) {
  pm__pt *group = index < PM__PTS * PM__PT_GROUPS ? ni->pt[index / PM__PTS] : NULL;
  return group && group[index % PM__PTS].allocated ? &group[index % PM__PTS] : NULL;
}
/* Implementations differ in what PTL_PT_ANY takes. From the last one on, as in the reference, a
   portal that was freed is not soon somebody else's, while messages for it are still under way. */
static int pm__pt_free_index(const pm__ni *ni, int last, int lowest) {
  const int n = ni->limits.max_pt_index + 1;
  int i, k;
  for (k = 0; k < n; k++) {
    i = lowest ? k : (last + k) % n;
    if (!pm__pt_at(ni, (ptl_pt_index_t)i)) return i;
  }
  return -1;
}
PM_API int PtlPTAlloc(ptl_handle_ni_t ni_handle, unsigned int options, ptl_handle_eq_t eq_handle,
                      ptl_pt_index_t index_req, ptl_pt_index_t *index) {
  PM__NI(p, ni, ni_handle);
  pm__eq *eq = NULL;
  pm__pt **group, *pt;
  int i;
  if (!index || (options & ~PTL_PT_ALLOC_OPTIONS_MASK)) return PTL_ARG_INVALID;
  if (eq_handle != PTL_EQ_NONE && !(eq = pm__eq_at(ni, eq_handle))) return PTL_ARG_INVALID;
  if ((options & PTL_PT_FLOWCTRL) && !eq) return PTL_PT_EQ_NEEDED;
  if (index_req == PTL_PT_ANY) {
    i = pm__pt_free_index(ni, ni->pt_last, p->world->desc.semantics.pt_any_lowest);
    if (i < 0) return PTL_PT_FULL;
  } else {
    if (index_req > (ptl_pt_index_t)ni->limits.max_pt_index) return PTL_ARG_INVALID;
    i = (int)index_req;
    if (pm__pt_at(ni, index_req)) return PTL_PT_IN_USE;
  }
  group = &ni->pt[i / PM__PTS];
  if (!*group) {
    *group = (pm__pt *)pm__lines_take(p->world, PM__PTS * sizeof **group);
    if (!*group) return PTL_NO_SPACE;
    p->world->stats.memory_bytes += PM__PTS * sizeof **group;
  }
  pt = &(*group)[i % PM__PTS];
  memset(pt, 0, sizeof *pt);
  pt->allocated = 1;
  pt->enabled = !(options & PTL_PT_ALLOC_DISABLED);
  pt->options = options;
  pt->eq_handle = eq_handle;
  pt->eq = eq;
  if (options & PTL_PT_FLOWCTRL) eq->reserved++;
  ni->pt_last = i + 1;
  pm__carrier_portal(ni, (ptl_pt_index_t)i);
  *index = (ptl_pt_index_t)i;
  return PTL_OK;
}
/* The first of what waits for the carrier's lists, of a portal or (NULL) of all: where it is in the list, or the
   list's end. */
static pm__list_op **pm__list_op_of(const pm__ni *ni, const pm__pt *pt) {
  pm__list_op **at = &ni->proc->world->list_ops;
  while (*at && ((*at)->ni != ni || (pt && pm__pt_of(ni, (*at)->pt) != pt))) at = &(*at)->next;
  return at;
}
/* Who receives very many messages that wait, backwards say, must not walk over all the others each time. So where many
   wait they stand on shelves, too: all with the same bits and sender on one, and few others there. Entries of any
   sender, or that ignore bits, look on shelves of their own. */
enum { PM__SHELVES_LEAST = 64 };
static pm__shelf *pm__shelf_of(const pm__ni *ni, int way, uint64_t bits, ptl_process_t id) {
  const uint64_t from = pm__is_logical(ni) ? id.rank : (uint64_t)id.phys.nid << 16 ^ id.phys.pid;
  const uint64_t mixed =
      ((way == PM__BY_SENDER ? 0 : bits) ^ (way == PM__BY_BITS ? 0 : from * 0xD6E8FEB86659FD93u)) *
      0x9E3779B97F4A7C15u;
  return &ni->shelves[way * ni->shelf_count + (int)(mixed >> 32 & (uint64_t)(ni->shelf_count - 1))];
}
static pm__shelf *pm__shelf_of_header(const pm__ni *ni, int way, const pm__header *h) {
  return pm__shelf_of(ni, way, h->event.match_bits, h->event.initiator);
}
static void pm__shelve(const pm__ni *ni, pm__header *h) {
  int way;
  for (way = 0; way < PM__WAYS; way++) {
    pm__shelf *const s = pm__shelf_of_header(ni, way, h);
    h->next_alike[way] = NULL;
    h->prev_alike[way] = s->last;
    if (s->last)
      s->last->next_alike[way] = h;
    else
      s->first = h;
    s->last = h;
  }
}
static void pm__unshelve(const pm__ni *ni, const pm__header *h) {
  int way;
  for (way = 0; way < PM__WAYS; way++) {
    pm__shelf *const s = pm__shelf_of_header(ni, way, h);
    pm__header *const next = h->next_alike[way], *const prev = h->prev_alike[way];
    if (prev)
      prev->next_alike[way] = next;
    else
      s->first = next;
    if (next)
      next->prev_alike[way] = prev;
    else
      s->last = prev;
  }
}
PM__PRIVATE void pm__shelves_free(pm__ni *ni) {
  PM_FREE(ni->shelves);
  ni->shelves = NULL;
  ni->shelf_count = 0;
}
/* Without memory for more those that there are become fuller. */
PM__APART static void pm__shelves_grow(pm__ni *ni) {
  const int count = ni->shelf_count ? 4 * ni->shelf_count : 4 * PM__SHELVES_LEAST;
  pm__shelf *const more = (pm__shelf *)pm__zalloc(PM__WAYS * (size_t)count * sizeof *more);
  int i;
  if (!more) return;
  pm__shelves_free(ni);
  ni->shelves = more;
  ni->shelf_count = count;
  for (i = 0; i <= ni->limits.max_pt_index; i++) {
    const pm__pt *pt = pm__pt_at(ni, (ptl_pt_index_t)i);
    pm__header *h = pt ? pt->headers : NULL;
    for (; h; h = h->next) pm__shelve(ni, h);
  }
}
PM__PRIVATE void pm__header_add(pm__ni *ni, pm__pt *pt, pm__header *h) {
  h->prev = pt->headers_tail;
  if (h->prev)
    h->prev->next = h;
  else
    pt->headers = h;
  pt->headers_tail = h;
  h->me->headers++;
  ni->header_count++;
  if (ni->shelves) pm__shelve(ni, h);
  if (ni->header_count > (ni->shelves ? ni->shelf_count : PM__SHELVES_LEAST) && pm__is_matching(ni))
    pm__shelves_grow(ni);
}
PM__PRIVATE void pm__header_unlink(pm__ni *ni, pm__pt *pt, pm__header *h) {
  if (ni->shelves) pm__unshelve(ni, h);
  if (h->prev)
    h->prev->next = h->next;
  else
    pt->headers = h->next;
  if (h->next)
    h->next->prev = h->prev;
  else
    pt->headers_tail = h->prev;
}
/* A message whose data are still on the way forgets the header, and tells nobody when they are
   in. */
PM__PRIVATE void pm__header_drop(pm__ni *ni, pm__header *h) {
  pm_world *w = ni->proc->world;
  h->me->headers--;
  ni->header_count--;
  if (h->message) h->message->what.header = NULL;
  h->next = w->free_headers;
  w->free_headers = h;
}
static void pm__pt_purge(pm__ni *ni, pm__pt *pt) {
  int list;
  /* Headers first: each of them holds its overflow entry, which can go with its last header. */
  while (pt->headers) {
    pm__header *h = pt->headers;
    pm__me *me = h->me;
    pm__header_unlink(ni, pt, h);
    pm__header_drop(ni, h);
    if (!me->linked && !me->headers && !me->in_flight) pm__pool_free(ni, &me->o);
  }
  for (list = 0; list < 2; list++)
    while (pt->head[list]) {
      pm__me *me = pt->head[list];
      pm__me_unlink(ni, me);
      if (!me->in_flight) pm__pool_free(ni, &me->o);
    }
}
/* Nothing new is let in, and what runs may finish.
   PtlPTDisable returns when no message that has matched is being written any more, and all that a carrier's lists
   are asked for has been told. Each of these ends by itself, so this does; another thread may close the interface
   meanwhile (refs). */
static void pm__pt_settle(pm__ni *ni, ptl_pt_index_t index) {
  pm__pt *pt = pm__pt_of(ni, index);
  pt->enabled = 0;
  pm__carrier_portal(ni, index);
  while (ni->refs && (pt->in_flight || *pm__list_op_of(ni, pt))) pm__poll_pause();
}
/* With entries in its lists a portal is in use, says Portals; BXI's library drops them instead.
   Headers that are left do not count: nobody will ask for them. */
PM_API int PtlPTFree(ptl_handle_ni_t ni_handle, ptl_pt_index_t index) {
  PM__NI(p, ni, ni_handle);
  pm__pt *pt = pm__pt_at(ni, index);
  pm__eq *eq;
  if (!pt) return PTL_ARG_INVALID;
  while (ni->refs && *pm__list_op_of(ni, pt)) pm__poll_pause();
  if (!ni->refs || !pt->allocated) return PTL_ARG_INVALID;
  if (!p->world->desc.semantics.pt_free_purges && (pt->head[0] || pt->head[1]))
    return PTL_PT_IN_USE;
  /* what is being written here is told here, and to nobody who gets this index next */
  pm__pt_settle(ni, index);
  pt = pm__pt_at(ni, index);
  if (!ni->refs || !pt) return PTL_ARG_INVALID; /* closed, or freed by another thread */
  pm__pt_purge(ni, pt);
  eq = pm__eq_if(pt->eq, pt->eq_handle);
  if (eq && (pt->options & PTL_PT_FLOWCTRL)) eq->reserved--;
  pt->allocated = 0;
  return PTL_OK;
}
PM_API int PtlPTDisable(ptl_handle_ni_t ni_handle, ptl_pt_index_t index) {
  PM__NI(p, ni, ni_handle);
  if (!pm__pt_at(ni, index)) return PTL_ARG_INVALID;
  pm__pt_settle(ni, index);
  return PTL_OK;
}
PM_API int PtlPTEnable(ptl_handle_ni_t ni_handle, ptl_pt_index_t index) {
  PM__NI(p, ni, ni_handle);
  if (!pm__pt_at(ni, index)) return PTL_ARG_INVALID;
  pm__pt_of(ni, index)->enabled = 1;
  pm__carrier_portal(ni, index);
  return PTL_OK;
}

static bool pm__iovec_is_bad(const pm__ni *ni, const void *start, ptl_size_t length,
                             unsigned int options) {
  return (options & PTL_IOVEC) &&
         (length > (ptl_size_t)ni->limits.max_iovecs || (length && !start));
}
/* PTL_INVALID_HANDLE says "none" too, as existing libraries write it, where no option counts. */
static bool pm__ct_is_bad(const pm__ni *ni, ptl_handle_ct_t h, unsigned int counting_options) {
  if (h == PTL_CT_NONE || (h == PTL_INVALID_HANDLE && !counting_options)) return 0;
  return !pm__ct_at(ni, h);
}
PM_API int PtlMDBind(ptl_handle_ni_t ni_handle, const ptl_md_t *md, ptl_handle_md_t *md_handle) {
  PM__NI(p, ni, ni_handle);
  pm__md *o;
  if (!md || !md_handle || (md->options & ~PTL_MD_OPTIONS_MASK) ||
      pm__iovec_is_bad(ni, md->start, md->length, md->options))
    return PTL_ARG_INVALID;
  if (md->eq_handle != PTL_EQ_NONE && !pm__eq_at(ni, md->eq_handle)) return PTL_ARG_INVALID;
  if (pm__ct_is_bad(ni, md->ct_handle,
                    md->options &
                        (PTL_MD_EVENT_CT_SEND | PTL_MD_EVENT_CT_REPLY | PTL_MD_EVENT_CT_ACK)))
    return PTL_ARG_INVALID;
  o = (pm__md *)pm__pool_new(ni, PM__H_MD);
  if (!o) return PTL_NO_SPACE;
  o->md = *md;
  o->whose = p->world->desc.memory_at ? p : NULL;
  o->md.start = pm__table(o->whose, md->start, md->options);
  o->eq = pm__eq_at(ni, md->eq_handle);
  *md_handle = o->o.handle;
  return PTL_OK;
}
/* Who has seen SEND or REPLY of all operations may release the descriptor at once, although
   acknowledgements are still to come: it stays, without being found, until the last has come
   (pm__let_go). */
PM_API int PtlMDRelease(ptl_handle_md_t md_handle) {
  PM__PROCESS(p);
  pm__ni *ni;
  pm__md *md = (pm__md *)pm__find_any(p, PM__H_MD, md_handle, &ni);
  if (!md) return PTL_ARG_INVALID;
  if (md->unsent) return p->world->desc.semantics.md_release_in_use ? PTL_IN_USE : PTL_ARG_INVALID;
  if (md->in_flight)
    md->o.live = PM__RELEASED;
  else
    pm__pool_free(ni, &md->o);
  return PTL_OK;
}

/* ---- list entries ------------------------------------------------------------------------------ */
/* At the tail: messages take the first entry that fits, in the order of appending. Linked in both
   directions, so that the one in the middle of thousands is unlinked at once. list_count is that of
   both lists, which max_list_size limits together. */
static void pm__me_link(pm__ni *ni, pm__me *me) {
  pm__pt *pt = pm__pt_of(ni, me->pt);
  me->prev = pt->tail[me->list];
  me->next = NULL;
  if (me->prev)
    me->prev->next = me;
  else
    pt->head[me->list] = me;
  pt->tail[me->list] = me;
  me->linked = 1;
  pt->list_count++;
  pm__carrier_link(ni, me);
}
PM__PRIVATE void pm__me_unlink(pm__ni *ni, pm__me *me) {
  pm__pt *pt = pm__pt_of(ni, me->pt);
  if (me->prev)
    me->prev->next = me->next;
  else
    pt->head[me->list] = me->next;
  if (me->next)
    me->next->prev = me->prev;
  else
    pt->tail[me->list] = me->prev;
  me->linked = 0;
  pt->list_count--;
  pm__carrier_unlink(ni, me);
}
/* LINK, AUTO_UNLINK and AUTO_FREE of an entry. */
PM__PRIVATE void pm__me_event(pm__ni *ni, ptl_handle_eq_t eq_handle, ptl_pt_index_t pt,
                              unsigned char list, void *user_ptr, int type) {
  ptl_event_t e;
  memset(&e, 0, sizeof e);
  e.type = (ptl_event_kind_t)type;
  e.pt_index = pt;
  e.ptl_list = list;
  e.user_ptr = user_ptr;
  e.ni_fail_type = PTL_NI_OK;
  pm__eq_post(ni, eq_handle, &e);
}
/* An overflow entry that unlinked itself and has no header left.
   Headers point into its buffer: only AUTO_FREE says that the buffer may be used again. It is for
   entries that unlinked themselves; PtlMEUnlink says PTL_IN_USE while there are headers, and the
   caller knows when it has succeeded. */
PM__PRIVATE void pm__me_free_if_empty(pm__ni *ni, pm__me *me) {
  if (me->linked || me->headers || me->in_flight) return;
  if (me->auto_unlinked && me->list == PTL_OVERFLOW_LIST &&
      !(me->me.options & PTL_ME_EVENT_UNLINK_DISABLE))
    pm__me_event(ni, pm__pt_of(ni, me->pt)->eq_handle, me->pt, me->list, me->user_ptr,
                 PTL_EVENT_AUTO_FREE);
  pm__pool_free(ni, &me->o);
}

/* Bytes an entry or descriptor covers. */
PM__INLINE uint64_t pm__capacity(const void *start, ptl_size_t length, unsigned int options) {
  const ptl_iovec_t *v = (const ptl_iovec_t *)start;
  uint64_t sum = 0;
  ptl_size_t i;
  if (!(options & PTL_IOVEC)) return length;
  for (i = 0; i < length; i++) sum += v[i].iov_len;
  return sum;
}
/* Whether so many bytes fit behind the offset, which is any number: the sum may wrap. */
PM__INLINE bool pm__has_room(const ptl_me_t *me, uint64_t offset, uint64_t bytes) {
  const uint64_t room = pm__capacity(me->start, me->length, me->options);
  return offset <= room && bytes <= room - offset;
}
PM__INLINE_HERE int pm__id_matches(const pm__ni *ni, ptl_process_t wanted, ptl_process_t id) {
  if (pm__is_logical(ni)) return wanted.rank == PTL_RANK_ANY || wanted.rank == id.rank;
  return (wanted.phys.nid == PTL_NID_ANY || wanted.phys.nid == id.phys.nid) &&
         (wanted.phys.pid == PTL_PID_ANY || wanted.phys.pid == id.phys.pid);
}
/* Portals refuses another user after the match, and looks no further (pm__match). Bull's library
   passes the entry over instead (uid_is_matched). Interfaces without matching take the first
   one. */
PM__INLINE int pm__matches(const pm__ni *ni, const ptl_me_t *me, ptl_process_t id, ptl_uid_t uid,
                           uint64_t bits) {
  if (ni->proc->world->desc.semantics.uid_is_matched && me->uid != PTL_UID_ANY && me->uid != uid)
    return 0;
  return !pm__is_matching(ni) || (pm__id_matches(ni, me->match_id, id) &&
                                  ((bits ^ me->match_bits) & ~me->ignore_bits) == 0);
}
PM__PRIVATE int pm__overflow_kind(int kind) { return kind + 1; } /* PUT -> PUT_OVERFLOW ... */

/* Tells the owner of an entry (or a search) about a header, as far as the options say.
   Counters count what is muted too: they stand in place of the events. Libraries differ in whether
   SUCCESS_DISABLE mutes overflow events. SEARCH obeys COMM_DISABLE, as in the reference. */
PM__PRIVATE void pm__tell_overflow(pm__ni *ni, const pm__header *h) {
  const uint64_t bytes = h->options & PTL_ME_EVENT_CT_BYTES ? h->event.mlength : 1;
  const int mutes = h->options & PTL_ME_EVENT_OVER_DISABLE ||
                    (h->options & PTL_ME_EVENT_SUCCESS_DISABLE &&
                     ni->proc->world->desc.semantics.success_disable_overflow);
  if (h->event.type == PTL_EVENT_SEARCH) {
    if (!(h->options & PTL_ME_EVENT_COMM_DISABLE)) pm__eq_post(ni, h->eq_handle, &h->event);
  } else if (!mutes)
    pm__eq_post(ni, h->eq_handle, &h->event);
  if (h->options & PTL_ME_EVENT_CT_OVERFLOW) pm__ct_count(ni, h->ct_handle, 0, bytes);
}
/* A claimed header is told to somebody else as soon as its data are in. NO_TRUNCATE is judged by
   the room in the new entry, although the data stay in the overflow buffer: had the message come
   later, it would have passed this entry over. local_offset: of an entry that manages its own. */
static int pm__header_matches(const pm__ni *ni, const ptl_me_t *me, uint64_t local_offset,
                              const pm__header *h) {
  if (h->is_claimed || !pm__matches(ni, me, h->event.initiator, h->event.uid, h->event.match_bits))
    return 0;
  return !pm__is_matching(ni) || !(me->options & PTL_ME_NO_TRUNCATE) ||
         pm__has_room(me, me->options & PTL_ME_MANAGE_LOCAL ? local_offset : h->event.remote_offset,
                      h->event.rlength);
}
/* A header with what its finder is to be told. While the header's data is still on the way into the
   buffer it is claimed, and told when the data is in. Else it goes.
   The order is that of Portals: the overflow event, AUTO_FREE of the overflow entry with its last
   header, then (by the callers) AUTO_UNLINK of the entry that was appended. */
static void pm__take_header(pm__ni *ni, pm__pt *pt, pm__header *h, pm__header *told) {
  pm__me *overflow = h->me;
  if (h->message) {
    told->is_claimed = 1;
    *h = *told;
    return;
  }
  pm__header_unlink(ni, pt, h);
  pm__header_drop(ni, h);
  pm__tell_overflow(ni, told);
  pm__me_free_if_empty(ni, overflow);
}
/* Locally managed, and too little is left when so many bytes more are taken.
   Strictly less than min_free: with exactly so much the entry stays. 0 means no such limit, and
   programs leave the field as it was where it does not count (no MANAGE_LOCAL). */
PM__INLINE bool pm__is_used_up(const pm__me *me, uint64_t more_bytes) {
  uint64_t room, offset;
  if (!(me->me.options & PTL_ME_MANAGE_LOCAL) || !me->me.min_free) return 0;
  room = pm__capacity(me->me.start, me->me.length, me->me.options);
  offset = me->offset + more_bytes;
  return offset > room || room - offset < me->me.min_free;
}
/* The way whose shelf has all that an entry takes; PM__WAYS: none. */
static int pm__shelf_way(const pm__ni *ni, const ptl_me_t *me) {
  bool any_sender;
  if (!ni->shelves || !pm__is_matching(ni)) return PM__WAYS;
  any_sender = pm__is_logical(ni)
                   ? me->match_id.rank == PTL_RANK_ANY
                   : me->match_id.phys.nid == PTL_NID_ANY || me->match_id.phys.pid == PTL_PID_ANY;
  if (me->ignore_bits) return any_sender ? PM__WAYS : PM__BY_SENDER;
  return any_sender ? PM__BY_BITS : PM__BY_BOTH;
}
/* Searches the unexpected headers for an entry that is being appended (op < 0) or searched for.
   Returns how many were found; stops when the entry is used up. An append takes the header out and
   is told as a message would be (PUT_OVERFLOW); a search that deletes does the same for nobody's
   buffer; one that only looks (PTL_SEARCH_ONLY) leaves all as it was. An entry that counts the
   lengths of headers (LOCAL_INC_UH_RLENGTH) moves its offset by what they announce, so it may be
   used up by messages whose data never comes into it. */
static int pm__match_headers(pm__ni *ni, ptl_pt_index_t index, ptl_me_t *me, void *user_ptr, int op,
                             pm__me *appended) {
  pm__pt *pt = pm__pt_of(ni, index);
  const int way = pm__shelf_way(ni, me);
  pm__header *h = way < PM__WAYS ? pm__shelf_of(ni, way, me->match_bits, me->match_id)->first
                                 : pt->headers,
             *next;
  const int counts_lengths = appended && (me->options & PTL_ME_LOCAL_INC_UH_RLENGTH) &&
                             (me->options & PTL_ME_MANAGE_LOCAL);
  int found = 0;
  bool is_last = false;
  for (; h && !is_last; h = next) {
    pm__header told; /* what a search tells leaves the header as it is */
    next = way < PM__WAYS ? h->next_alike[way] : h->next;
    if (h->event.pt_index != index ||
        !pm__header_matches(ni, me, appended ? appended->offset : 0, h))
      continue;
    found++;
    told = *h;
    told.event.user_ptr = user_ptr;
    told.event.ptl_list = PTL_OVERFLOW_LIST;
    told.eq_handle = pt->eq_handle;
    told.ct_handle = me->ct_handle;
    told.options = me->options;
    if (counts_lengths) appended->offset += h->event.rlength;
    is_last = (me->options & PTL_ME_USE_ONCE) || (counts_lengths && pm__is_used_up(appended, 0));
    if (op == PTL_SEARCH_ONLY) {
      told.event.type = PTL_EVENT_SEARCH;
      pm__tell_overflow(ni, &told);
      continue;
    }
    if (h->message && appended) {
      told.claimer = appended;
      appended->in_flight++;
      if (is_last && !(me->options & PTL_ME_EVENT_UNLINK_DISABLE))
        told.unlink_after = appended->auto_unlinked = 1; /* after the event that is to come */
    }
    pm__take_header(ni, pt, h, &told);
  }
  return found;
}

/* ONLY_USE_ONCE and ONLY_TRUNCATE are hints of the portal's owner, by which a NIC may do with simpler lists. Programs
   give them and do not keep them (MPICH's overflow blocks serve many messages and are not truncated), so an entry
   that breaks one is taken, unless the semantics say that it is refused in the priority list. */
static bool pm__breaks_a_hint(const pm__pt *pt, const ptl_me_t *me) {
  return ((pt->options & PTL_PT_ONLY_USE_ONCE) && !(me->options & PTL_ME_USE_ONCE)) ||
         ((pt->options & PTL_PT_ONLY_TRUNCATE) && (me->options & PTL_ME_NO_TRUNCATE));
}
PM__PRIVATE bool pm__append_is_bad(const pm__ni *ni, ptl_pt_index_t index, const ptl_me_t *me,
                                   ptl_list_t list) {
  const unsigned int mask =
      pm__is_matching(ni) ? PTL_ME_APPEND_OPTIONS_MASK : PTL_LE_APPEND_OPTIONS_MASK;
  const pm__pt *pt = pm__pt_at(ni, index);
  if (!pt || (me->options & ~mask) || list > PTL_OVERFLOW_LIST) return 1;
  if (pm__iovec_is_bad(ni, me->start, me->length, me->options)) return 1;
  if ((me->options & PTL_ME_MAY_ALIGN) && !(me->options & PTL_ME_MANAGE_LOCAL)) return 1;
  if (ni->proc->world->desc.semantics.pt_hints_bind && list == PTL_PRIORITY_LIST &&
      pm__breaks_a_hint(pt, me))
    return 1;
  return pm__ct_is_bad(ni, me->ct_handle,
                       me->options & (PTL_ME_EVENT_CT_COMM | PTL_ME_EVENT_CT_OVERFLOW));
}
/* An entry that is in no list yet; NULL: none is left. */
PM__PRIVATE pm__me *pm__me_new(pm__ni *ni, ptl_pt_index_t index, const ptl_me_t *entry,
                               ptl_list_t list, void *user_ptr) {
  pm__me *me = (pm__me *)pm__pool_new(ni, PM__H_ME);
  if (!me) return NULL;
  me->me = *entry;
  me->whose = ni->proc->world->desc.memory_at ? ni->proc : NULL;
  me->me.start = pm__table(me->whose, entry->start, entry->options);
  me->pt = index;
  me->list = list;
  me->user_ptr = user_ptr;
  return me;
}
/* Finds what came too early, then links the entry, unless that has used it up. Both are one step:
   between them no message may arrive that would find neither the entry in the list nor its header
   in the other. What is told meanwhile fires nothing (pm__fires_hold), since what fires may append
   and unlink in the lists that are being walked through. */
static void pm__me_enter(pm__ni *ni, pm__me *me) {
  const pm__pt *pt = pm__pt_of(ni, me->pt);
  const unsigned int options = me->me.options;
  const bool was_firing = pm__fires_hold(ni->proc->world);
  if (me->list == PTL_PRIORITY_LIST && pt->headers) {
    const int found = pm__match_headers(ni, me->pt, &me->me, me->user_ptr, -1, me);
    if (found && ((options & PTL_ME_USE_ONCE) ||
                  ((options & PTL_ME_LOCAL_INC_UH_RLENGTH) && pm__is_used_up(me, 0)))) {
      /* consumed: never linked, no LINK event */
      if (!(options & PTL_ME_EVENT_UNLINK_DISABLE) && !me->auto_unlinked)
        pm__me_event(ni, pt->eq_handle, me->pt, me->list, me->user_ptr, PTL_EVENT_AUTO_UNLINK);
      pm__carrier_unlink(ni, me);
      pm__me_free_if_empty(ni, me);
      pm__fires_go(ni->proc->world, was_firing);
      return;
    }
  }
  pm__me_link(ni, me);
  if (!(options & PTL_ME_EVENT_LINK_DISABLE))
    pm__me_event(ni, pt->eq_handle, me->pt, me->list, me->user_ptr, PTL_EVENT_LINK);
  pm__fires_go(ni->proc->world, was_firing);
}
static bool pm__list_is_full(const pm__ni *ni, const pm__pt *pt) {
  return pt->list_count + pt->later_count + pt->asked_count >= ni->limits.max_list_size;
}
/* LE and ME alike; an LE has been widened to an ME that matches all. There may be room once what waits for the
   carrier's lists has taken place: headers use entries up. */
static int pm__append(pm__ni *ni, ptl_pt_index_t index, const ptl_me_t *entry, ptl_list_t list,
                      void *user_ptr, ptl_handle_any_t *handle) {
  pm__me *me = NULL;
  for (;;) {
    bool is_full;
    if (!ni->refs || pm__append_is_bad(ni, index, entry, list)) return PTL_ARG_INVALID;
    is_full = pm__list_is_full(ni, pm__pt_of(ni, index));
    if (!is_full && (me = pm__me_new(ni, index, entry, list, user_ptr))) break;
    if (!*pm__list_op_of(ni, NULL)) return is_full ? PTL_LIST_TOO_LONG : PTL_NO_SPACE;
    pm__poll_pause();
  }
  /* Written first: an entry that is used up at once has a handle too, which PtlMEUnlink then
     refuses. */
  *handle = me->o.handle;
  pm__me_append(ni, me);
  return PTL_OK;
}
/* Each header found is told as SEARCH or, when it is deleted, as its overflow event. A closing
   SEARCH with NO_MATCH says that there was none; some libraries end a search for all so in any
   case. A search counts since 4.3: a success for each, one failure where a search for all has
   ended, or one for a single header found none. */
static void pm__search_now(pm__ni *ni, ptl_pt_index_t index, ptl_me_t *me, ptl_search_op_t op,
                           void *user_ptr) {
  pm_world *w = ni->proc->world;
  const int once = (me->options & PTL_ME_USE_ONCE) != 0;
  const bool was_firing = pm__fires_hold(w);
  int found;
  found = pm__match_headers(ni, index, me, user_ptr, op, NULL);
  if (!found || (!once && w->desc.semantics.search_closing_event)) {
    ptl_event_t e;
    memset(&e, 0, sizeof e);
    e.type = PTL_EVENT_SEARCH;
    e.pt_index = index;
    e.user_ptr = user_ptr;
    e.match_bits = me->match_bits;
    e.ni_fail_type = PTL_NI_NO_MATCH;
    e.ptl_list = PTL_OVERFLOW_LIST;
    pm__eq_post(ni, pm__pt_of(ni, index)->eq_handle, &e);
  }
  if ((me->options & PTL_ME_EVENT_CT_OVERFLOW) && (!once || !found))
    pm__ct_count(ni, me->ct_handle, 1, 0); /* 4.3 */
  pm__fires_go(w, was_firing);
}

/* PTL_IN_USE: a message that has matched is still writing into the entry, or headers point into it.
   The caller tries again. */
static int pm__unlink(pm_process *p, ptl_handle_any_t handle) {
  pm__ni *ni;
  pm__me *me = (pm__me *)pm__find_any(p, PM__H_ME, handle, &ni);
  if (!me || !me->linked)
    return PTL_ARG_INVALID; /* auto-unlinked ones wait for their headers only */
  if (me->in_flight || me->headers) return PTL_IN_USE;
  pm__me_unlink(ni, me);
  pm__pool_free(ni, &me->o);
  return PTL_OK;
}

/* ---- appends and searches that the carrier's lists do first -------------------------------------- */
/* A carrier's NIC looks through its own headers, which takes it time, and says when it is done: only then the model
   does the same, and tells. Those of an interface take place in the order of the calls, whatever the NIC tells first
   (it tells later of an entry that has claimed a header), and one that the carrier does not take waits for those
   before it. An append that cannot find anything does not wait: then it takes the NIC no time either. */
static pm__list_op *pm__list_op_new(pm__ni *ni, ptl_pt_index_t index, bool is_told) {
  pm_world *w = ni->proc->world;
  pm__list_op *o = (pm__list_op *)pm__zalloc(sizeof *o), **end = &w->list_ops;
  if (!o) {
    pm_world_fail(w, PM_E_NOMEM, "out of memory: appends and searches that wait for a carrier");
    return NULL;
  }
  o->number = ++w->list_op_count;
  o->ni = ni;
  o->pt = index;
  o->leaves = PTL_INVALID_HANDLE;
  o->is_told = is_told;
  while (*end) end = &(*end)->next;
  *end = o;
  return o;
}
static bool pm__list_op_waits(pm__ni *ni, ptl_pt_index_t index, pm__me *entry,
                              const ptl_me_t *wanted, ptl_search_op_t op, void *user_ptr) {
  pm__pt *pt = pm__pt_of(ni, index);
  const bool is_first = !*pm__list_op_of(ni, NULL);
  pm__list_op *o;
  bool is_asked;
  if (is_first && entry && (entry->list == PTL_OVERFLOW_LIST || !pt->headers)) return 0;
  is_asked = pm__carrier_ask(ni, index, entry, wanted, op, ni->proc->world->list_op_count + 1);
  if (is_first && !is_asked) return 0;
  o = pm__list_op_new(ni, index, !is_asked);
  if (!o) return 0;
  o->entry = entry;
  if (entry) {
    entry->is_asked = 1;
    pt->asked_count++;
  } else {
    o->wanted = *wanted;
    o->op = op;
    o->user_ptr = user_ptr;
  }
  return 1;
}
/* What a counter released behind others finds the list full only now; nobody is left who could be told. */
static void pm__list_op_append(pm__ni *ni, pm__me *me) {
  pm__pt *pt = pm__pt_of(ni, me->pt);
  me->is_asked = 0;
  pt->asked_count--;
  if (pt->list_count + pt->later_count < ni->limits.max_list_size) {
    pm__me_enter(ni, me);
    return;
  }
  pm__carrier_unlink(ni, me);
  pm__pool_free(ni, &me->o);
}
static void pm__list_op_go(pm__ni *ni, pm__list_op *o) {
  if (o->entry)
    pm__list_op_append(ni, o->entry);
  else if (o->leaves != PTL_INVALID_HANDLE)
    pm__unlink(ni->proc, o->leaves);
  else
    pm__search_now(ni, o->pt, &o->wanted, o->op, o->user_ptr);
  PM_FREE(o);
}
/* Unknown: its interface was closed. */
PM__PRIVATE void pm__list_told(pm_world *w, uint64_t number) {
  pm__list_op *o = w->list_ops, **first;
  pm__ni *ni;
  while (o && o->number != number) o = o->next;
  if (!o) return;
  o->is_told = 1;
  ni = o->ni;
  while (*(first = pm__list_op_of(ni, NULL)) && (*first)->is_told) {
    o = *first;
    *first = o->next;
    pm__list_op_go(ni, o); /* which may ask for others */
  }
}
/* The interface is closed, and its entries with it. */
PM__PRIVATE void pm__list_ops_drop(pm__ni *ni) {
  pm__list_op **at;
  while (*(at = pm__list_op_of(ni, NULL))) {
    pm__list_op *o = *at;
    *at = o->next;
    if (o->entry) pm__carrier_unlink(ni, o->entry);
    PM_FREE(o);
  }
}
PM__PRIVATE void pm__me_append(pm__ni *ni, pm__me *me) {
  if (!pm__list_op_waits(ni, me->pt, me, &me->me, PTL_SEARCH_ONLY, NULL)) pm__me_enter(ni, me);
}
static int pm__search(pm__ni *ni, ptl_pt_index_t index, ptl_me_t *me, ptl_search_op_t op,
                      void *user_ptr) {
  if (op > PTL_SEARCH_DELETE || pm__append_is_bad(ni, index, me, PTL_OVERFLOW_LIST))
    return PTL_ARG_INVALID;
  if (!pm__list_op_waits(ni, index, NULL, me, op, user_ptr))
    pm__search_now(ni, index, me, op, user_ptr);
  return PTL_OK;
}
/* What counters release is done in the lists behind what waits there: an entry may be in use until then by headers that
   an append before takes, or not be in its list yet, and a list may be full. Nobody is left who could be told. */
PM__PRIVATE void pm__append_released(pm__ni *ni, pm__me *me) {
  if (pm__append_is_bad(ni, me->pt, &me->me, me->list) ||
      (!*pm__list_op_of(ni, NULL) && pm__list_is_full(ni, pm__pt_of(ni, me->pt))))
    pm__pool_free(ni, &me->o);
  else
    pm__me_append(ni, me);
}
PM__PRIVATE void pm__unlink_released(pm_process *p, ptl_handle_any_t handle) {
  pm__ni *ni;
  const pm__me *me = (const pm__me *)pm__find_any(p, PM__H_ME, handle, &ni);
  pm__list_op *o;
  if (!me) return;
  if (!*pm__list_op_of(ni, NULL))
    pm__unlink(p, handle);
  else if ((o = pm__list_op_new(ni, me->pt, 1)))
    o->leaves = handle;
}
/* A list entry is one that matches any initiator and all bits: one path serves both kinds. */
static ptl_me_t pm__widen(const ptl_le_t *le) {
  ptl_me_t me;
  memset(&me, 0, sizeof me);
  me.start = le->start;
  me.length = le->length;
  me.ct_handle = le->ct_handle;
  me.uid = le->uid;
  me.options = le->options;
  me.match_id.rank = PTL_RANK_ANY;
  me.ignore_bits = ~(ptl_match_bits_t)0;
  return me;
}

/* Here and below: time passes in pm__cpu, and the interface may be closed meanwhile (refs). */
PM_API int PtlLEAppend(ptl_handle_ni_t ni_handle, ptl_pt_index_t index, const ptl_le_t *le,
                       ptl_list_t list, void *user_ptr, ptl_handle_le_t *le_handle) {
  PM__NI(p, ni, ni_handle);
  ptl_me_t me;
  if (!le || !le_handle || pm__is_matching(ni)) return PTL_ARG_INVALID;
  me = pm__widen(le);
  pm__cpu(p->world->plat.cpu_append_ns);
  return ni->refs ? pm__append(ni, index, &me, list, user_ptr, le_handle) : PTL_ARG_INVALID;
}
PM_API int PtlMEAppend(ptl_handle_ni_t ni_handle, ptl_pt_index_t index, const ptl_me_t *me,
                       ptl_list_t list, void *user_ptr, ptl_handle_me_t *me_handle) {
  PM__NI(p, ni, ni_handle);
  if (!me || !me_handle || !pm__is_matching(ni)) return PTL_ARG_INVALID;
  /* Arguments and room are judged now: a step has nobody who could be told. Without room the steps
     must take place first, so that the answer is that of a call which waits; a handler cannot. */
  if (pm__current->defers) {
    if (pm__append_is_bad(ni, index, me, list)) return PTL_ARG_INVALID;
    if (pm__append_room(ni, index)) {
      pm__me *later = pm__me_new(ni, index, me, list, user_ptr);
      if (!later) return PTL_NO_SPACE;
      *me_handle = later->o.handle;
      return pm__append_later(pm__current, ni, later);
    }
    if (pm__current->is_handling) return PTL_NO_SPACE;
    pm__catch_up();
  }
  pm__cpu(p->world->plat.cpu_append_ns);
  return ni->refs ? pm__append(ni, index, me, list, user_ptr, me_handle) : PTL_ARG_INVALID;
}
PM_API int PtlLESearch(ptl_handle_ni_t ni_handle, ptl_pt_index_t index, const ptl_le_t *le,
                       ptl_search_op_t search_op, void *user_ptr) {
  PM__NI(p, ni, ni_handle);
  ptl_me_t me;
  if (!le || pm__is_matching(ni)) return PTL_ARG_INVALID;
  me = pm__widen(le);
  pm__cpu(p->world->plat.cpu_append_ns);
  return ni->refs ? pm__search(ni, index, &me, search_op, user_ptr) : PTL_ARG_INVALID;
}
PM_API int PtlMESearch(ptl_handle_ni_t ni_handle, ptl_pt_index_t index, const ptl_me_t *me,
                       ptl_search_op_t search_op, void *user_ptr) {
  PM__NI(p, ni, ni_handle);
  ptl_me_t copy;
  if (!me || !pm__is_matching(ni)) return PTL_ARG_INVALID;
  copy = *me;
  pm__cpu(p->world->plat.cpu_append_ns);
  return ni->refs ? pm__search(ni, index, &copy, search_op, user_ptr) : PTL_ARG_INVALID;
}
/* Entries of both kinds of interface have one kind of handle. */
static int pm__unlink_of(ptl_handle_any_t handle, bool is_matching) {
  PM__PROCESS(p);
  pm__ni *ni;
  const pm__me *me;
  pm__cpu(p->world->plat.cpu_append_ns);
  while ((me = (const pm__me *)pm__find_any(p, PM__H_ME, handle, &ni)) && me->is_asked)
    pm__poll_pause();
  if (me && pm__is_matching(ni) != is_matching) return PTL_ARG_INVALID;
  return pm__unlink(p, handle);
}
PM_API int PtlLEUnlink(ptl_handle_le_t le_handle) { return pm__unlink_of(le_handle, false); }
PM_API int PtlMEUnlink(ptl_handle_me_t me_handle) { return pm__unlink_of(me_handle, true); }
