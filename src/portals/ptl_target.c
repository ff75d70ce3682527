/* Portals at the target: see ptl_target.h. */
#include "ptl_target.h"
static void pm__fill_target_event(const pm__message *m, ptl_event_t *e);
static void pm__header_done(pm__ni *ni, pm__pt *pt, pm__message *m);
/* ---- at the target ----------------------------------------------------------------------------- */
static bool pm__is_get(const pm__message *m) { return m->what.kind == PM__GET; }
PM__INLINE bool pm__is_fetch(const pm__message *m) { return m->what.kind >= PM__FETCH; }
static int pm__target_event(const pm__message *m) {
  static const unsigned char events[] = {PTL_EVENT_PUT, PTL_EVENT_ATOMIC, PTL_EVENT_GET,
                                         PTL_EVENT_FETCH_ATOMIC, PTL_EVENT_FETCH_ATOMIC};
  return events[m->what.kind];
}
/* Where a message goes; NULL: nobody there. */
static const pm_process *pm__target_process_of(const pm_world *w, const pm__message *m) {
  return pm__process_by_pid(w, m->what.target.phys.nid, m->what.target.phys.pid);
}
PM__INLINE bool pm__from_is_alive(const pm__message *m) {
  return m->what.from->epoch == m->what.from_epoch;
}
PM__INLINE bool pm__has_payload(const pm_world *w, const pm__message *m) {
  return w->desc.no_data || m->what.has_copy || m->what.kept || m->cargo.wire ||
         pm__from_is_alive(m);
}
/* The interface of the same kind in the process that is meant; NULL: there is none. */
static pm__ni *pm__target_ni(pm_world *w, const pm__message *m) {
  const pm_process *p = pm__target_process_of(w, m);
  pm__ni *ni = p ? p->ni[m->what.from_index] : NULL;
  return ni && ni->refs ? ni : NULL;
}
/* The first entry that fits, in the order of appending: this order is what programs rely on. An
   entry with NO_TRUNCATE that has too little room is passed over, as one whose bits differ. Entries
   looked at are counted: the NIC's engine is busy for each of them. */
PM__INLINE_HERE pm__me *pm__find_entry(const pm__ni *ni, const pm__pt *pt, pm__message *m,
                                       int list) {
  pm__me *me;
  for (me = pt->head[list]; me; me = me->next) {
    m->what.looked_at++;
    if (!pm__matches(ni, &me->me, m->what.initiator, m->what.uid, m->what.match_bits)) continue;
    if (pm__is_matching(ni) && (me->me.options & PTL_ME_NO_TRUNCATE) &&
        !pm__has_room(&me->me,
                      me->me.options & PTL_ME_MANAGE_LOCAL ? me->offset : m->what.remote_offset,
                      m->what.length))
      continue;
    return me;
  }
  return NULL;
}
/* PT_DISABLED goes out when the last running message has finished. */
static void pm__pt_tell_disabled(pm__ni *ni, ptl_pt_index_t index) {
  pm__pt *pt = pm__pt_of(ni, index);
  ptl_event_t e;
  if (!pt->disabling || pt->in_flight) return;
  pt->disabling = 0;
  memset(&e, 0, sizeof e);
  e.type = PTL_EVENT_PT_DISABLED;
  e.ni_fail_type = PTL_NI_PT_DISABLED;
  e.pt_index = index;
  pm__eq_post(ni, pt->eq_handle, &e);
}
static int pm__refuse(pm__ni *ni, pm__message *m, int fail) {
  const int status = fail == PTL_NI_PERM_VIOLATION ? PTL_SR_PERMISSION_VIOLATIONS
                     : fail == PTL_NI_OP_VIOLATION ? PTL_SR_OPERATION_VIOLATIONS
                                                   : PTL_SR_DROP_COUNT;
  m->what.fail = (unsigned char)fail;
  ni->status[status]++;
  return 0;
}
/* No entry, no header, no room in the queue: flow control switches the portal off, else a drop. */
static int pm__no_resource(pm__ni *ni, pm__pt *pt, pm__message *m, const pm__me *me) {
  if (!(pt->options & PTL_PT_FLOWCTRL)) return pm__refuse(ni, m, PTL_NI_DROPPED);
  pt->enabled = 0;
  if (!me || !(me->me.options & PTL_ME_EVENT_FLOWCTRL_DISABLE)) pt->disabling = 1;
  pm__pt_tell_disabled(ni, m->what.pt);
  return pm__refuse(ni, m, PTL_NI_PT_DISABLED);
}
/* Where in the entry the message begins, and how much of it fits there. */
PM__INLINE_HERE uint64_t pm__place(const pm__me *me, const pm__message *m, uint64_t *mlength) {
  const uint64_t room = pm__capacity(me->me.start, me->me.length, me->me.options),
                 offset = me->me.options & PTL_ME_MANAGE_LOCAL ? me->offset : m->what.remote_offset,
                 left = offset > room ? 0 : room - offset;
  *mlength = m->what.length < left ? m->what.length : left;
  return offset;
}
static int pm__events_of_comm(const pm__me *me, const pm_semantics *s) {
  return !(me->me.options & PTL_ME_EVENT_COMM_DISABLE) &&
         (!(me->me.options & PTL_ME_EVENT_SUCCESS_DISABLE) || s->offset_beyond_is_segv);
}
/* How many events the message brings at once when it takes this entry. With flow control the queue
   must have room for all of them before the message is let in: an event that found no room later
   would be lost, although its data is in the memory already, and the initiator has been told that
   all went well. */
PM__INLINE_HERE unsigned char pm__events_due(const pm__me *me, const pm__message *m,
                                             const pm_semantics *s) {
  const unsigned int o = me->me.options;
  uint64_t mlength = 0;
  int n = pm__events_of_comm(me, s);
  if (!(o & (PTL_ME_USE_ONCE | PTL_ME_MANAGE_LOCAL)) || (o & PTL_ME_EVENT_UNLINK_DISABLE))
    return (unsigned char)n;
  (void)pm__place(me, m, &mlength);
  if (!(o & PTL_ME_USE_ONCE) && !pm__is_used_up(me, mlength)) return (unsigned char)n;
  n++; /* AUTO_UNLINK, and AUTO_FREE when no header keeps the buffer */
  if (me->list == PTL_OVERFLOW_LIST && (o & PTL_ME_UNEXPECTED_HDR_DISABLE) && !me->headers) n++;
  return (unsigned char)n;
}
/* Whether they have room, beside those promised to messages that are being written: those have
   matched, and their events come when the data is in. */
static bool pm__eq_has_room(const pm__pt *pt, const pm__message *m) {
  const pm__eq *eq = pm__eq_if(pt->eq, pt->eq_handle);
  return !eq || eq->used + eq->promised + m->what.promised <= eq->count;
}
static void pm__promise(const pm__pt *pt, uint32_t n, bool is_kept) {
  pm__eq *eq = pm__eq_if(pt->eq, pt->eq_handle);
  if (!eq) return;
  if (!is_kept)
    eq->promised += n;
  else
    eq->promised -= n < eq->promised ? n : eq->promised;
}
/* 1: m->what.me is the entry. 0: m->what.fail says why not. Portal, entry, permission, room: in
   this order, since what is refused for an earlier reason must leave no trace of a later one (a
   portal that flow control has switched off, a header). */
PM__INLINE_HERE int pm__match(pm__ni *ni, pm__message *m) {
  const pm_semantics *s = &ni->proc->world->desc.semantics;
  pm__pt *pt = pm__pt_at(ni, m->what.pt);
  pm__me *me;
  unsigned int needs = 0;
  if (!pt)
    return pm__refuse(ni, m, s->pt_missing_undeliverable ? PTL_NI_UNDELIVERABLE : PTL_NI_DROPPED);
  if (!pt->enabled) return pm__refuse(ni, m, PTL_NI_PT_DISABLED);
  me = pm__find_entry(ni, pt, m, PTL_PRIORITY_LIST);
  if (!me) me = pm__find_entry(ni, pt, m, PTL_OVERFLOW_LIST);
  if (!me) return pm__no_resource(ni, pt, m, NULL);
  /* who may not do this needs no room either */
  if (me->me.uid != PTL_UID_ANY && me->me.uid != m->what.uid)
    return pm__refuse(ni, m, PTL_NI_PERM_VIOLATION);
  if (!pm__is_get(m)) needs |= PTL_ME_OP_PUT;
  if (m->what.kind >= PM__GET) needs |= PTL_ME_OP_GET;
  if ((me->me.options & needs) != needs) return pm__refuse(ni, m, PTL_NI_OP_VIOLATION);
  if (me->list == PTL_OVERFLOW_LIST && !(me->me.options & PTL_ME_UNEXPECTED_HDR_DISABLE) &&
      ni->header_count >= ni->limits.max_unexpected_headers)
    return pm__no_resource(ni, pt, m, me);
  m->what.promised = pm__events_due(me, m, s);
  if ((pt->options & PTL_PT_FLOWCTRL) && !pm__eq_has_room(pt, m))
    return pm__no_resource(ni, pt, m, me);
  m->what.me = me;
  return 1;
}
/* An unexpected message leaves its header, findable from now on. It names its message while the
   data is on the way: who finds the header meanwhile claims it, and is told when the data is in
   (pm__header_done). Headers stand in the order of arrival, which is the order in which appended
   entries find them. */
static void pm__leave_header(pm__ni *ni, pm__pt *pt, pm__message *m) {
  pm_world *w = ni->proc->world;
  pm__header *h = w->free_headers;
  if (h)
    w->free_headers = h->next;
  else
    h = (pm__header *)PM_MALLOC(sizeof *h);
  if (!h) {
    pm_world_fail(w, PM_E_NOMEM, "out of memory: unexpected header");
    return;
  }
  memset(h, 0, sizeof *h);
  h->me = m->what.me;
  h->message = m;
  m->what.header = h;
  pm__fill_target_event(m, &h->event);
  h->event.type = (ptl_event_kind_t)pm__overflow_kind(h->event.type);
  pm__header_add(ni, pt, h);
}
/* An entry may name memory that is not there (PTL_TARGET_BIND_INACCESSIBLE): who meets it is told, and nothing moves.
   Asked where a crash would be caught too, unless the entry promises that its memory is there. */
static bool pm__hits_nothing(pm_world *w, const pm__message *m) {
  return w->desc.catch_crashes && !w->desc.no_data && m->what.mlength &&
         !(m->what.me->me.options & PTL_ME_IS_ACCESSIBLE) &&
         !pm__is_accessible(w, pm__me_cursor(m), m->what.mlength, !pm__is_get(m));
}
/* Takes the message's part of the entry and unlinks what is used up: the next message must not find
   it any more. The entry itself, and the AUTO_UNLINK that its owner may read as "the buffer is mine
   again", wait until the data is in. */
static void pm__take_entry(pm__ni *ni, pm__message *m) {
  pm__me *me = m->what.me;
  pm__pt *pt = pm__pt_of(ni, m->what.pt);
  m->what.offset_used = pm__place(me, m, &m->what.mlength);
  if (ni->proc->world->desc.semantics.offset_beyond_is_segv &&
      m->what.offset_used > pm__capacity(me->me.start, me->me.length, me->me.options))
    m->what.fail = PTL_NI_SEGV;
  if (pm__hits_nothing(ni->proc->world, m)) {
    m->what.fail = PTL_NI_SEGV;
    m->what.mlength = 0;
  }
  m->what.list = me->list;
  m->what.is_ack_muted = (me->me.options & PTL_ME_ACK_DISABLE) != 0;
  m->what.start = m->what.mlength ? pm__cursor_start(pm__me_cursor(m))
                  : me->me.options & PTL_IOVEC
                      ? NULL
                      : (void *)((uintptr_t)me->me.start + (uintptr_t)m->what.offset_used);
  if (me->me.options & PTL_ME_MANAGE_LOCAL) me->offset += m->what.mlength;
  me->in_flight++;
  pt->in_flight++;
  pm__promise(pt, m->what.promised, 0);
  if (me->list == PTL_OVERFLOW_LIST && !(me->me.options & PTL_ME_UNEXPECTED_HDR_DISABLE))
    pm__leave_header(ni, pt, m);
  if ((me->me.options & PTL_ME_USE_ONCE) || pm__is_used_up(me, 0)) {
    me->auto_unlinked = 1;
    pm__me_unlink(ni, me);
    m->what.unlinks = 1;
  }
}
static void pm__fill_target_event(const pm__message *m, ptl_event_t *e) {
  memset(e, 0, sizeof *e);
  e->type = (ptl_event_kind_t)pm__target_event(m);
  e->start = m->what.start;
  e->user_ptr = m->what.me->user_ptr;
  e->hdr_data = pm__is_get(m) ? 0 : m->what.hdr_data;
  e->match_bits = m->what.match_bits;
  e->rlength = m->what.length;
  e->mlength = m->what.mlength;
  e->remote_offset = m->what.remote_offset;
  e->initiator = m->what.initiator;
  e->uid = m->what.uid;
  e->pt_index = m->what.pt;
  e->ptl_list = m->what.list;
  e->ni_fail_type = m->what.fail;
  e->atomic_operation = m->what.op;
  e->atomic_type = m->what.type;
}
/* One step of a message. */
PM__APART PM__PRIVATE void pm__trace_it(pm_world *w, int kind, const pm__message *m,
                                        int64_t t_begin_ps, int64_t t_end_ps, int from_nic,
                                        int to_nic, uint64_t bytes) {
  const pm_process *to = pm__target_process_of(w, m);
  pm__record(w, kind, m->what.id, m->what.from->proc->rank, to ? to->rank : -1, t_begin_ps,
             t_end_ps, pm__nic_node(w, from_nic), pm__nic_node(w, to_nic), bytes);
}
/* ---- data on its way to memory ----------------------------------------------------------------- */
/* A NIC's reads do not pass its writes (on PCI a read pushes them ahead), so what is matched later sees what was matched
   before it, though that is still being written: puts and gets of a pair are ordered so as well as atomics on one
   word, whoever they are of. */
PM__PRIVATE void pm__target_waits(pm__message *m) {
  pm__ni *ni = m->what.to;
  if (m->what.kind >= PM__GET || !m->what.mlength) return;
  m->what.next_write = NULL;
  if (ni->writes)
    ni->writes_last->what.next_write = m;
  else
    ni->writes = m;
  ni->writes_last = m;
}
/* Mostly the first one: the writes of a NIC end in order, those of several rails do not. */
static void pm__waits_no_more(pm__ni *ni, const pm__message *m) {
  pm__message **at = &ni->writes, *previous = NULL;
  for (; *at && *at != m; at = &previous->what.next_write) previous = *at;
  if (!*at) return;
  *at = m->what.next_write;
  if (ni->writes_last == m) ni->writes_last = previous;
}
/* Its memory, or the initiator's, was there once and is no more. What was moved until then stays. */
PM__PRIVATE void pm__lost_memory(pm__message *m) {
  m->what.fail = PTL_NI_SEGV;
  m->what.mlength = 0;
  if (m->what.header)
    m->what.header->event.ni_fail_type = PTL_NI_SEGV, m->what.header->event.mlength = 0;
}
static void pm__write(pm_world *w, pm__message *m) {
  bool is_there;
  if (m->what.kind >= PM__GET) return; /* its initiator may be gone, in another thread */
  if (m->what.is_written || !m->what.mlength || !pm__has_payload(w, m)) return;
  is_there = m->what.fail != PTL_NI_SEGV; /* a carrier may have missed the payload */
  if (m->what.kind == PM__PUT) {
    if (is_there && !w->desc.no_data)
      is_there = pm__move_bytes(w, pm__me_cursor(m), pm__payload(m), m->what.mlength);
  } else if (m->what.kind == PM__ATOMIC && !m->cargo.is_computed) {
    unsigned char operand[PM__ATOMIC_BYTES];
    is_there = is_there && pm__copied(w, pm__flat(operand), pm__payload(m), m->what.mlength) &&
               pm__atomic(w, m, operand, m->what.mlength);
  }
  m->what.is_written = true;
  if (!is_there) pm__lost_memory(m);
}
static bool pm__may_overlap(const pm__message *a, const pm__message *b) {
  const uintptr_t at_a = (uintptr_t)a->what.start, at_b = (uintptr_t)b->what.start;
  if ((a->what.me->me.options | b->what.me->me.options) & PTL_IOVEC) return true;
  return at_a < at_b + b->what.mlength && at_b < at_a + a->what.mlength;
}
/* Before m reads. Up to the last one that m must see all are written, as they may overlap each other. */
static void pm__writes_before(pm_world *w, const pm__ni *ni, const pm__message *m) {
  const pm__message *last = NULL;
  pm__message *i;
  for (i = ni->writes; i; i = i->what.next_write)
    if (pm__may_overlap(i, m)) last = i;
  for (i = ni->writes; last; i = i->what.next_write) {
    pm__write(w, i);
    if (i == last) last = NULL;
  }
}
/* The request is at the target's list engines. Matches it, works out what it takes and, for what
   sends something back, reads it; the writing ends at pm__target_finish. ret 1: an entry took it */
PM__PRIVATE int pm__target_start(pm_world *w, pm__message *m) {
  pm__ni *ni = pm__target_ni(w, m);
  m->what.me = NULL;
  m->what.mlength = 0;
  if (!ni) {
    m->what.fail = PTL_NI_UNDELIVERABLE;
    return 0;
  }
  if (m->what.length && !pm__is_get(m) && !pm__has_payload(w, m)) { /* its memory is gone */
    m->what.fail = PTL_NI_UNDELIVERABLE;
    return 0;
  }
  m->what.to = ni;
  m->what.to_epoch = ni->epoch;
  if (!pm__match(ni, m)) return 0;
  pm__take_entry(ni, m);
  if (pm__is_get(m) && m->way.link == PM_LINK_CARRIER) return 1; /* which reads by itself */
  if (ni->writes && m->what.kind >= PM__GET) pm__writes_before(w, ni, m);
  /* Bytes of a get are moved here, when they are read, although they arrive later: the initiator
     may not look at them before its REPLY. So what the target's owner changes after this time does
     not travel. */
  if (pm__is_get(m) && m->what.mlength && pm__from_is_alive(m) && !w->desc.no_data) {
    if (!pm__move_bytes(w, pm__md_cursor(m->what.md, m->what.local_offset), pm__me_cursor(m),
                        m->what.mlength))
      pm__lost_memory(m);
  } else if (pm__is_fetch(m) && m->what.mlength) {
    /* Reading and writing are one step of the simulation, which is what makes it atomic. what.copy
       holds a small operand on the way here and the old value on the way back, so the operand is
       taken out first. */
    unsigned char operand[PM__COPY_BYTES];
    if (m->what.fail == PTL_NI_SEGV ||
        (pm__has_payload(w, m) &&
         !pm__copied(w, pm__flat(operand), pm__payload(m), m->what.mlength)) ||
        !pm__copied(w, pm__flat(m->what.copy), pm__me_cursor(m), m->what.mlength) ||
        (!m->cargo.is_computed && !pm__atomic(w, m, operand, m->what.mlength)))
      pm__lost_memory(m);
  }
  return 1;
}
/* Bytes came, perhaps without an event: for threads that look at memory. */
static void pm__wake_memory_waiters(pm_process *p) {
  for (pm_thread *t = p->threads; t; t = t->next_in_proc)
    if (t->polling && t->waits_for_memory) pm__resume(p->world, t);
}
static void pm__tell_target(pm__ni *ni, pm__eq *eq, const pm__message *m) {
  ptl_event_t *place = eq ? pm__eq_place(ni, eq, false) : NULL;
  if (!place) return;
  pm__fill_target_event(m, place);
  pm__eq_tell(ni, eq);
}
/* Behind the events of all that the entry took: a get that came before the last message may be read after it, and the
   owner takes AUTO_UNLINK for the end. */
static void pm__tell_unlinked(pm__ni *ni, pm__me *me) {
  const pm__pt *pt = pm__pt_of(ni, me->pt);
  if (!me->unlink_is_due || me->in_flight) return;
  me->unlink_is_due = false;
  pm__promise(pt, me->owed, 1);
  pm__me_event(ni, pt->eq_handle, me->pt, me->list, me->user_ptr, PTL_EVENT_AUTO_UNLINK);
}
/* Data and events reach the target's memory. */
PM__PRIVATE void pm__target_finish(pm_world *w, pm__message *m) {
  pm__ni *ni = m->what.to;
  pm__me *me = m->what.me;
  pm__pt *pt;
  bool was_firing;
  /* An interface that was closed and opened again is another one, at the same address: epochs tell
     them apart. */
  if (ni->epoch != m->what.to_epoch) return; /* closed meanwhile */
  pm__write(w, m);
  if (ni->writes) pm__waits_no_more(ni, m);
  if (ni->proc->memory_waiters && m->what.mlength) pm__wake_memory_waiters(ni->proc);
  was_firing = pm__fires_hold(w);
  pt = pm__pt_of(ni, m->what.pt);
  if (pt->in_flight) pt->in_flight--;
  me->in_flight--;
  pm__promise(pt, m->what.promised, 1);
  if (!(me->me.options & PTL_ME_EVENT_COMM_DISABLE) &&
      (!(me->me.options & PTL_ME_EVENT_SUCCESS_DISABLE) || m->what.fail))
    pm__tell_target(ni, pm__eq_if(pt->eq, pt->eq_handle), m);
  if (m->what.unlinks && !(me->me.options & PTL_ME_EVENT_UNLINK_DISABLE)) {
    me->unlink_is_due = true;
    me->owed = (unsigned char)(m->what.promised - pm__events_of_comm(me, &w->desc.semantics));
    pm__promise(pt, me->owed, 0);
  }
  pm__tell_unlinked(ni, me);
  if (me->me.options & PTL_ME_EVENT_CT_COMM)
    pm__ct_count(ni, me->me.ct_handle, m->what.fail != 0,
                 me->me.options & PTL_ME_EVENT_CT_BYTES ? m->what.mlength : 1);
  pm__header_done(ni, pt, m);
  pm__pt_tell_disabled(ni, m->what.pt);
  pm__fires_go(w, was_firing);
}
/* A header that was claimed goes with its data. Claimed ones stay in the list until then, so that those who search
   find nothing twice and the order is kept. */
PM__APART static void pm__claim_done(pm__ni *ni, pm__pt *pt, pm__message *m, pm__header *h) {
  const pm__header told = *h;
  pm__header_unlink(ni, pt, h);
  pm__header_drop(ni, h);
  pm__tell_overflow(ni, &told);
  pm__me_free_if_empty(ni, m->what.me);
  if (told.unlink_after)
    pm__me_event(ni, told.eq_handle, m->what.pt, PTL_PRIORITY_LIST, told.event.user_ptr,
                 PTL_EVENT_AUTO_UNLINK);
  if (!told.claimer) return;
  told.claimer->in_flight--;
  pm__tell_unlinked(ni, told.claimer);
  pm__me_free_if_empty(ni, told.claimer);
}
/* The data is in: the message's header may be taken, or was claimed already, and its entry may go. */
static void pm__header_done(pm__ni *ni, pm__pt *pt, pm__message *m) {
  pm__header *h = m->what.header;
  m->what.header = NULL;
  if (h) h->message = NULL;
  if (h && h->is_claimed)
    pm__claim_done(ni, pt, m, h);
  else
    pm__me_free_if_empty(ni, m->what.me);
}
