#include "carrier.h"
/* ---- carriers ------------------------------------------------------------------------------------- */
PM__PRIVATE pm_status pm__carrier_open(pm_world *w) {
  return w->desc.carrier->open(w->desc.carrier->ctx, w);
}
PM__PRIVATE void pm__carrier_close(pm_world *w) { w->desc.carrier->close(w->desc.carrier->ctx); }
PM__PRIVATE bool pm__carrier_is_busy(const pm_world *w) {
  return w->desc.carrier->is_busy(w->desc.carrier->ctx);
}
PM__PRIVATE int pm__carrier_advance(pm_world *w, int64_t until_ps) {
  return w->desc.carrier->advance(w->desc.carrier->ctx, until_ps);
}
static pm__message *pm__cargo_open(const pm_cargo *cargo) { /* the present is the carrier's */
  pm__message *m = (pm__message *)cargo->message;
  pm_world *w = m->what.from->proc->world;
  pm__trigger *t = m->cargo.trigger;
  w->now_ps = pm__max_ps(w->now_ps, w->desc.carrier->now_ps(w->desc.carrier->ctx));
  if (t) { /* released there before its counter was told of here */
    m->cargo.trigger = NULL;
    t->message = NULL;
    pm__message_start(w, m);
  }
  return m;
}

/* ---- counters that the carrier keeps too ---- */
/* From the level's time on: triggers may be posted, entries appended before the first message goes. */
static bool pm__carries_now(pm_world *w) {
  return w->is_carrying && pm__link_now(w) == PM_LINK_CARRIER;
}
static bool pm__keeps_counters(pm_world *w) {
  return pm__carries_now(w) && w->desc.carrier->counter_new &&
         !w->desc.semantics.trigger_success_only; /* a NIC compares the sum */
}
/* 1 + its number; it gets one when it is first used for something that NICs count. 0: they do not. */
static int pm__counter_number(pm__ct *ct) {
  pm_world *w;
  if (!ct) return 0;
  w = ct->ni->proc->world;
  if (!ct->carried && pm__keeps_counters(w)) {
    ct->carried =
        1 + w->desc.carrier->counter_new(w->desc.carrier->ctx, w->now_ps, ct->ni->proc->node);
    pm__carrier_count(ct);
  }
  return ct->carried;
}
PM__INLINE void pm__carrier_count(pm__ct *ct) {
  pm_world *w = ct->ni->proc->world;
  if (ct->carried && w->is_carrying)
    w->desc.carrier->counter_is(w->desc.carrier->ctx, w->now_ps, ct->ni->proc->node,
                                ct->carried - 1, ct->value);
}
PM__PRIVATE void pm__carrier_count_end(pm__ct *ct) {
  pm_world *w = ct->ni->proc->world;
  if (ct->carried && w->is_carrying)
    w->desc.carrier->counter_free(w->desc.carrier->ctx, w->now_ps, ct->ni->proc->node,
                                  ct->carried - 1);
  ct->carried = 0;
}
/* Numbers as a NIC computes them: none of long doubles. The operands of what it releases itself it reads then, with nothing
   to compare behind them. */
static bool pm__is_computed(const pm__message *m) {
  return (m->what.kind == PM__ATOMIC ||
          (pm__is_fetch(m) && (!m->cargo.is_triggered || m->what.op <= PTL_SWAP))) &&
         m->what.type != PTL_LONG_DOUBLE && m->what.type != PTL_LONG_DOUBLE_COMPLEX &&
         m->what.length && m->what.length % pm__type_bytes(m->what.type) == 0;
}
/* Which counter of the carrier grows by one when the answer is there. 0: none, or by something else: then the model
   tells its value. Where entries give no acknowledgements, the carrier's answer may be none. */
static int pm__counter_of_answer(pm__message *m) {
  const bool is_back = m->what.kind == PM__GET || pm__is_fetch(m);
  const pm__md *md = m->what.get_md ? m->what.get_md : m->what.md;
  if (!(md->md.options & (is_back ? PTL_MD_EVENT_CT_REPLY : PTL_MD_EVENT_CT_ACK)) ||
      (md->md.options & PTL_MD_EVENT_CT_BYTES) ||
      (!is_back && m->what.from->proc->world->has_mute_entries) ||
      (!is_back && m->what.ack_req != PTL_ACK_REQ && m->what.ack_req != PTL_CT_ACK_REQ))
    return 0;
  return pm__counter_number(pm__ct_at(m->what.from, md->md.ct_handle));
}
static pm_cargo pm__cargo_of(pm_world *w, pm__message *m) {
  pm_cargo c;
  memset(&c, 0, sizeof c);
  m->cargo.is_computed = pm__is_computed(m);
  c.message = m;
  c.kind = m->what.kind == PM__GET ? PM_CARGO_GET
           : !m->cargo.is_computed ? pm__is_fetch(m) ? PM_CARGO_EXCHANGE : PM_CARGO_PUT
           : pm__is_fetch(m)       ? PM_CARGO_FETCH
                                   : PM_CARGO_ATOMIC;
  c.from_node = m->what.from->proc->node;
  c.to_node = pm__to_node(m);
  c.from_pid = m->what.from->proc->pid;
  c.to_pid = m->what.target.phys.pid;
  c.from_uid = m->what.from->proc->uid;
  c.interface_index = m->what.from->index;
  c.pt_index = m->what.pt;
  c.match_bits = m->what.match_bits;
  c.remote_offset_bytes = m->what.remote_offset;
  c.is_service = w->desc.service_uid && m->what.from->proc->uid == w->desc.service_uid;
  c.payload = m->cargo.is_triggered                 ? m->what.length ? 2 : 0
              : pm__is_inline(w, m)                 ? 0
              : pm__is_pio(w, m) || pm__is_fetch(m) ? 1
                                                    : 2;
  c.tells_sent = m->what.is_early_send;
  c.size_bytes = m->what.length;
  c.counter = c.kind == PM_CARGO_EXCHANGE ? 0 : pm__counter_of_answer(m);
  c.behind = m->cargo.behind;
  if (m->cargo.is_computed) {
    c.operation = m->what.op;
    c.element_bytes = (int)pm__type_bytes(m->what.type);
    c.is_signed = m->what.type == PTL_INT8_T || m->what.type == PTL_INT16_T ||
                  m->what.type == PTL_INT32_T || m->what.type == PTL_INT64_T;
    c.is_complex = m->what.type == PTL_FLOAT_COMPLEX || m->what.type == PTL_DOUBLE_COMPLEX;
    c.is_float = c.is_complex || m->what.type == PTL_FLOAT || m->what.type == PTL_DOUBLE;
    memcpy(c.compare, m->what.operand, sizeof c.compare);
  }
  return c;
}
PM__PRIVATE void pm__carrier_send(pm_world *w, pm__message *m) {
  const pm_carrier *carrier = w->desc.carrier;
  pm_cargo c;
  pm_status status;
  if (m->cargo.is_triggered) return; /* it was given when it was posted */
  c = pm__cargo_of(w, m);
  pm__slot_take(w, m);
  if (c.tells_sent) m->way.pending++;
  status = carrier->submit(carrier->ctx, w->now_ps, &c);
  if (status) pm_world_fail(w, status, "the carrier does not take a message");
}
/* The carrier gets it, if it takes it. */
static void pm__carrier_post(pm__trigger *t) {
  pm_world *w = t->ni->proc->world;
  pm__message *m = t->message;
  pm_carrier_trigger x;
  pm_cargo c;
  memset(&x, 0, sizeof x);
  x.node = t->ni->proc->node;
  x.counter = pm__keeps_counters(w) ? pm__counter_number(t->ct) - 1 : -1;
  if (x.counter < 0) return;
  x.threshold = t->threshold;
  if (t->kind == PM__TRIG_MOVE) {
    if (pm__is_inside(w, m)) return;
    m->cargo.is_triggered = 1;
    c = pm__cargo_of(w, m);
    x.cargo = &c;
  } else {
    x.target = pm__counter_number(pm__ct_at(t->ni, t->handle)) - 1;
    x.is_set = t->kind == PM__TRIG_SET;
    x.value = t->value;
    if (x.target < 0) return;
  }
  t->carried = 1 + w->desc.carrier->trigger_posted(w->desc.carrier->ctx, w->now_ps, &x);
  if (!m) return;
  m->cargo.is_triggered = t->carried != 0;
  m->cargo.trigger = t->carried ? t : NULL;
}
static bool pm__splits_are_there(pm__ni *ni) {
  if (!ni->splits)
    ni->splits = (pm__split *)pm__zalloc((size_t)ni->limits.max_cts * sizeof *ni->splits);
  if (!ni->splits) pm_world_fail(ni->proc->world, PM_E_NOMEM, "out of memory: triggers");
  return ni->splits != NULL;
}
/* Those of one counter go in the order of thresholds, and the carrier's go before the model hears of what released them:
   so it gets none that is to go behind one of the model's, and where the model has one that is to go before some of the
   carrier's, it takes these back. */
PM__PRIVATE void pm__carrier_trigger(pm__trigger *t) {
  pm__split *s;
  if (!t->ni->proc->world->desc.carrier || !pm__splits_are_there(t->ni)) return;
  s = pm__split_of(t->ct);
  if (t->kind <= PM__TRIG_SET && !(s->held_count && t->threshold >= s->held_least))
    pm__carrier_post(t);
  if (t->carried) {
    if (!s->carried_count++ || t->threshold > s->carried_most) s->carried_most = t->threshold;
    return;
  }
  t->is_held = 1;
  if (!s->held_count++ || t->threshold < s->held_least) s->held_least = t->threshold;
  if (!s->carried_count || t->threshold >= s->carried_most) return;
  pm__carrier_cancel(t->ct);
  pm__triggers_take_back(t->ct);
}
PM__PRIVATE void pm__carrier_due(pm__trigger *t) {
  pm_world *w = t->ni->proc->world;
  w->desc.carrier->trigger_due(w->desc.carrier->ctx, w->now_ps, t->ni->proc->node, t->carried - 1);
}
PM__PRIVATE void pm__carrier_cancel(pm__ct *ct) {
  pm_world *w = ct->ni->proc->world;
  if (ct->carried && w->is_carrying)
    w->desc.carrier->triggers_cancelled(w->desc.carrier->ctx, w->now_ps, ct->ni->proc->node,
                                        ct->carried - 1);
}
PM_API void pm_cargo_payload(const pm_cargo *cargo, uint64_t offset_bytes, void *buffer,
                             size_t size_bytes) {
  pm__message *m = (pm__message *)cargo->message;
  const uint64_t left = offset_bytes < m->what.length ? m->what.length - offset_bytes : 0;
  memset(buffer, 0, size_bytes);
  if (!left || (!m->what.has_copy && !m->what.kept &&
                (!pm__from_is_alive(m) || m->what.from->proc->world->desc.no_data)))
    return;
  if (!pm__copied(m->what.from->proc->world, pm__flat(buffer),
                  m->what.kept ? pm__flat(m->what.kept + offset_bytes)
                  : m->what.has_copy
                      ? pm__flat(m->what.copy + offset_bytes)
                      : pm__md_cursor(m->what.md, m->what.local_offset + offset_bytes),
                  left < size_bytes ? left : size_bytes))
    m->what.fail = PTL_NI_SEGV;
}
PM_API void pm_cargo_sent(const pm_cargo *cargo) {
  pm__message *m = pm__cargo_open(cargo);
  pm__slot_release(m->what.from->proc->world, m, m->what.from->proc->world->now_ps);
  m->way.has_slot = 0;
  pm__initiator_sent(m);
  pm__message_release(m->what.from->proc->world, m);
}
PM_API void pm_cargo_match(const pm_cargo *cargo, void *data) {
  pm__message *m = pm__cargo_open(cargo);
  pm_world *w = m->what.from->proc->world;
  m->cargo.lookup = pm__arrive(w, m) ? PM__LOOKUP_FOUND : PM__LOOKUP_REFUSED;
  if (!data) return;
  memset(data, 0, (size_t)cargo->size_bytes);
  if (m->cargo.lookup == PM__LOOKUP_FOUND && m->what.mlength &&
      !(m->what.kind == PM__GET && w->desc.no_data) &&
      !pm__copied(w, pm__flat(data), pm__me_cursor(m), m->what.mlength))
    pm__lost_memory(m);
}
PM_API int pm_cargo_entry(const pm_cargo *cargo) {
  const pm__message *m = (const pm__message *)cargo->message;
  return m->cargo.lookup >= PM__LOOKUP_FOUND && m->what.me ? m->what.me->carried - 1 : -1;
}
PM_API void pm_cargo_store(const pm_cargo *cargo, const void *operand, const void *was,
                           const void *value) {
  pm__message *m = pm__cargo_open(cargo);
  const size_t length = (size_t)m->what.length;
  pm_world *w = m->what.from->proc->world;
  unsigned char now[PM__ATOMIC_BYTES];
  bool is_there;
  if (m->cargo.lookup != PM__LOOKUP_FOUND || !m->what.mlength) return;
  is_there = pm__copied(w, pm__flat(now), pm__me_cursor(m), m->what.mlength);
  if (is_there && m->what.mlength == length && memcmp(now, was, length) == 0) {
    memcpy(now, value, length);
    is_there = pm__copied(w, pm__me_cursor(m), pm__flat(now), length);
  } else if (is_there) { /* truncated, or changed meanwhile by what is not the carrier's */
    if (pm__is_fetch(m)) memcpy(m->what.copy, now, (size_t)m->what.mlength);
    is_there = pm__atomic(w, m, (const unsigned char *)operand, m->what.mlength);
    m->cargo.lookup = PM__LOOKUP_COMPUTED;
  }
  if (!is_there) pm__lost_memory(m);
}
PM_API void pm_cargo_arrived(const pm_cargo *cargo, int64_t t_begin_ps, int64_t t_end_ps,
                             void *data) {
  pm__message *m = pm__cargo_open(cargo);
  pm_world *w = m->what.from->proc->world;
  if (m->cargo.lookup == PM__LOOKUP_NOT_YET) {
    m->cargo.wire = (unsigned char *)data;
    pm_cargo_match(cargo, NULL);
  }
  if (m->what.kind != PM__GET && m->what.length) pm__stamp(w, m, 0, t_begin_ps, t_end_ps);
  pm__trace(w, pm__travel_kind(m), m, t_begin_ps, t_end_ps, cargo->from_node, cargo->to_node,
            m->what.kind == PM__GET ? 0 : m->what.length);
  if (m->cargo.lookup >= PM__LOOKUP_FOUND) {
    if (m->what.kind != PM__GET) pm__written(w, m);
    if (pm__brings_data(m)) w->stats.sent_bytes += m->what.mlength;
    if (cargo->kind == PM_CARGO_EXCHANGE && data)
      memcpy(data, m->what.copy, (size_t)m->what.mlength);
  }
  m->cargo.wire = NULL;
  m->way.is_reply = 1;
}
PM_API void pm_cargo_returned(const pm_cargo *cargo, bool is_delivered, int64_t t_begin_ps,
                              int64_t t_end_ps, void *data) {
  pm__message *m = pm__cargo_open(cargo);
  pm_world *w = m->what.from->proc->world;
  if (!is_delivered) {
    pm__undeliverable(w, m);
  } else {
    const uint64_t bytes = pm__brings_data(m) ? m->what.mlength : 0;
    if (bytes && data && !m->what.fail && pm__from_is_alive(m) && !w->desc.no_data) {
      if (m->what.kind == PM__GET) {
        if (!pm__copied(w, pm__md_cursor(m->what.md, m->what.local_offset), pm__flat(data), bytes))
          pm__lost_memory(m);
      } else if (m->cargo.lookup == PM__LOOKUP_FOUND)
        memcpy(m->what.copy, data, (size_t)bytes);
    }
    if (bytes) pm__stamp(w, m, 1, t_begin_ps, t_end_ps);
    pm__trace(w, pm__travel_kind(m), m, t_begin_ps, t_end_ps, cargo->to_node, cargo->from_node,
              bytes);
  }
  if (m->cargo.lookup >= PM__LOOKUP_FOUND &&
      m->what.kind == PM__GET) { /* its target hears of it by the confirmation */
    pm__fetched(w, m, w->now_ps);
  } else if (m->cargo.lookup >= PM__LOOKUP_FOUND && !m->way.is_reply)
    pm__written(w, m); /* given up on the way: the entry is free again */
  pm__slot_release(w, m, w->now_ps);
  pm__come_back(w, m);
}

/* ---- lists that the carrier keeps too ------------------------------------------------------------- */
/* Whose messages an entry takes, as NICs know senders. */
static void pm__entry_from(const pm__ni *ni, ptl_process_t wanted, pm_carrier_entry *e) {
  e->from_node_id = e->from_process_id = -1;
  if (!pm__is_matching(ni)) return;
  if (pm__is_logical(ni)) {
    if (wanted.rank == PTL_RANK_ANY) return;
    e->from_node_id = e->from_process_id = -2;
    if (!ni->map || wanted.rank >= ni->map->count) return;
    wanted = ni->map->id[wanted.rank];
  }
  e->from_node_id = wanted.phys.nid == PTL_NID_ANY ? -1 : (int64_t)wanted.phys.nid;
  e->from_process_id = wanted.phys.pid == PTL_PID_ANY ? -1 : (int64_t)wanted.phys.pid;
}
static bool pm__keeps_lists(pm_world *w) {
  return pm__carries_now(w) && w->desc.carrier->entry_linked;
}
static pm_carrier_entry pm__entry_of(const pm__ni *ni, ptl_pt_index_t index, const ptl_me_t *me) {
  pm_carrier_entry e;
  memset(&e, 0, sizeof e);
  e.node = ni->proc->node;
  e.pid = ni->proc->pid;
  e.interface_index = ni->index;
  e.pt_index = index;
  e.is_use_once = (me->options & PTL_ME_USE_ONCE) != 0;
  e.is_untold = (me->options & PTL_ME_EVENT_OVER_DISABLE) != 0;
  e.never_cuts = pm__is_matching(ni) && me->options & PTL_ME_NO_TRUNCATE;
  e.is_local = (me->options & PTL_ME_MANAGE_LOCAL) != 0;
  e.adds_lengths = (me->options & PTL_ME_LOCAL_INC_UH_RLENGTH) != 0;
  e.takes_puts = (me->options & PTL_ME_OP_PUT) != 0;
  e.takes_gets = (me->options & PTL_ME_OP_GET) != 0;
  e.is_mute = (me->options & PTL_ME_ACK_DISABLE) != 0;
  /* where another user's entry is passed over only the model knows */
  e.uid = me->uid == PTL_UID_ANY || ni->proc->world->desc.semantics.uid_is_matched
              ? -1
              : (int64_t)me->uid;
  e.min_free_bytes = me->min_free;
  e.size_bytes = pm__capacity(me->start, me->length, me->options);
  e.match_bits = me->match_bits;
  e.ignore_bits = pm__is_matching(ni) ? me->ignore_bits : ~(ptl_match_bits_t)0;
  pm__entry_from(ni, me->match_id, &e);
  return e;
}
/* A NIC counts what it lets in, and what waits for that goes at once. So an entry counts there if nothing that only the
   model knows can refuse its messages or pass it over: too little room in headers or queue. Gets and
   fetches are refused by an entry for puts, and are not counted there; one that takes them too tells of a get later than
   the NIC, and one that counts bytes knows how many were moved. */
static bool pm__counts_apart(const pm__pt *pt, const pm__me *me) {
  const unsigned int o = me->me.options;
  const bool leaves_headers = me->list == PTL_OVERFLOW_LIST && !(o & PTL_ME_UNEXPECTED_HDR_DISABLE);
  return (o & (PTL_ME_OP_PUT | PTL_ME_OP_GET)) != PTL_ME_OP_PUT || leaves_headers ||
         (o & PTL_ME_EVENT_CT_BYTES) || (pt->options & PTL_PT_FLOWCTRL);
}
PM__PRIVATE void pm__carrier_portal(const pm__ni *ni, ptl_pt_index_t index) {
  pm_world *w = ni->proc->world;
  if (pm__keeps_lists(w) && w->desc.carrier->portal_is)
    w->desc.carrier->portal_is(w->desc.carrier->ctx, w->now_ps, ni->proc->node, ni->proc->pid,
                               ni->index, index, pm__pt_of(ni, index)->enabled != 0);
}
/* number: 0, or by which the carrier tells that it has been appended */
static void pm__carrier_append(pm__ni *ni, pm__me *me, uint64_t number) {
  pm_world *w = ni->proc->world;
  pm_carrier_entry e = pm__entry_of(ni, me->pt, &me->me);
  const unsigned int options = me->me.options;
  if (options & PTL_ME_ACK_DISABLE) w->has_mute_entries = true;
  e.is_overflow = me->list == PTL_OVERFLOW_LIST;
  e.keeps_headers = e.is_overflow && !(options & PTL_ME_UNEXPECTED_HDR_DISABLE);
  e.op_id = number;
  if ((options & PTL_ME_EVENT_CT_COMM) && !pm__counts_apart(pm__pt_of(ni, me->pt), me) &&
      (e.uid >= 0 || me->me.uid == PTL_UID_ANY))
    e.counter = pm__counter_number(pm__ct_at(ni, me->me.ct_handle));
  me->carried = 1 + w->desc.carrier->entry_linked(w->desc.carrier->ctx, w->now_ps, &e);
  if (!pm__pt_of(ni, me->pt)->enabled) pm__carrier_portal(ni, me->pt);
}
PM__PRIVATE void pm__carrier_link(pm__ni *ni, pm__me *me) {
  if (pm__keeps_lists(ni->proc->world) && !me->carried) pm__carrier_append(ni, me, 0);
}
PM__PRIVATE bool pm__carrier_ask(pm__ni *ni, ptl_pt_index_t index, pm__me *me,
                                 const ptl_me_t *wanted, ptl_search_op_t op, uint64_t number) {
  pm_world *w = ni->proc->world;
  pm_carrier_entry e;
  if (!pm__keeps_lists(w)) return 0;
  if (me) {
    pm__carrier_append(ni, me, number);
    return me->carried != 0;
  }
  e = pm__entry_of(ni, index, wanted);
  e.search = op == PTL_SEARCH_DELETE ? 2 : 1;
  e.op_id = number;
  return w->desc.carrier->entry_linked(w->desc.carrier->ctx, w->now_ps, &e) >= 0;
}
PM_API void pm_list_told(pm_world *world, uint64_t op_id) {
  if (!world) return;
  world->now_ps = pm__max_ps(world->now_ps, world->desc.carrier->now_ps(world->desc.carrier->ctx));
  pm__list_told(world, op_id);
}
PM__PRIVATE void pm__carrier_unlink(pm__ni *ni, pm__me *me) {
  pm_world *w = ni->proc->world;
  const pm_carrier *carrier = w->desc.carrier;
  if (me->carried && w->is_carrying)
    carrier->entry_unlinked(carrier->ctx, w->now_ps, ni->proc->node, me->carried - 1,
                            me->auto_unlinked);
  me->carried = 0;
}
PM__PRIVATE void pm__carrier_link_all(pm_world *w) {
  int p, i, pt, list;
  pm__me *me;
  for (p = 0; p < w->proc_count; p++)
    for (i = 0; i < 4; i++) {
      pm__ni *ni = w->procs[p]->ni[i];
      for (pt = 0; ni && ni->refs && pt < PM__PTS * PM__PT_GROUPS; pt++)
        for (list = 0; list < 2 && ni->pt[pt / PM__PTS]; list++)
          for (me = ni->pt[pt / PM__PTS][pt % PM__PTS].head[list]; me; me = me->next)
            pm__carrier_link(ni, me);
    }
}
