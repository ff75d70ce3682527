#include "ptl_moves.h"
/* ---- at the initiator -------------------------------------------------------------------------- */
PM__INLINE_HERE void pm__initiator_event(const pm__message *m, const pm__md *md, int type,
                                         int fail) {
  pm__ni *ni = m->what.from;
  pm__eq *eq = pm__eq_if(md->eq, md->md.eq_handle);
  ptl_event_t *e;
  const unsigned int o = md->md.options;
  if ((o & PTL_MD_EVENT_SUCCESS_DISABLE) && !fail) return;
  if (type == PTL_EVENT_SEND && (o & PTL_MD_EVENT_SEND_DISABLE)) return;
  e = eq ? pm__eq_place(ni, eq, false) : NULL;
  if (!e) return;
  memset(e, 0, sizeof *e);
  e->type = (ptl_event_kind_t)type;
  e->user_ptr = m->what.user_ptr;
  e->ni_fail_type = (ptl_ni_fail_t)fail;
  e->rlength = m->what.length;
  e->mlength = type == PTL_EVENT_SEND ? m->what.length : m->what.mlength;
  e->remote_offset = m->what.offset_used;
  e->ptl_list = m->what.list;
  e->pt_index = m->what.pt;
  e->match_bits = m->what.match_bits;
  e->hdr_data = m->what.hdr_data;
  e->atomic_operation = m->what.op;
  e->atomic_type = m->what.type;
  pm__eq_tell(ni, eq);
}
PM__INLINE_HERE void pm__initiator_count(const pm__message *m, const pm__md *md,
                                         unsigned int option, int fail, uint64_t bytes) {
  if (md->md.options & option)
    pm__ct_count(m->what.from, md->md.ct_handle, fail,
                 md->md.options & PTL_MD_EVENT_CT_BYTES ? bytes : 1);
}

/* The buffer may be written again. */
PM__INLINE void pm__initiator_sent(pm__message *m) {
  const int fail = m->what.fail == PTL_NI_UNDELIVERABLE && !m->what.is_early_send
                       ? PTL_NI_UNDELIVERABLE
                       : PTL_NI_OK;
  if (!pm__from_is_alive(m)) return;
  if (!m->what.is_unheld) m->what.md->unsent--;
  pm__initiator_event(m, m->what.md, PTL_EVENT_SEND, fail);
  pm__initiator_count(m, m->what.md, PTL_MD_EVENT_CT_SEND, fail, m->what.length);
}
/* The acknowledgement or the reply is here: the operation is over. */
PM__PRIVATE void pm__initiator_finish(pm_world *w, pm__message *m) {
  const pm_semantics *s = &w->desc.semantics;
  pm__md *md = m->what.md;
  if (!pm__from_is_alive(m)) return;
  m->what.from->uncopied_count -= pm__is_uncopied(m);
  if (m->what.get_md) m->what.get_md->unsent--;
  if (m->what.kind == PM__GET) md->unsent--;
  if (m->what.kind != PM__GET && !m->what.is_early_send) pm__initiator_sent(m);
  if (m->what.kind >= PM__GET) {
    if (m->what.get_md) md = m->what.get_md;
    if (m->what.get_md && !m->what.fail &&
        !pm__copied(w, pm__md_cursor(md, m->what.get_offset), pm__flat(m->what.copy),
                    m->what.mlength))
      m->what.fail = PTL_NI_SEGV, m->what.mlength = 0;
    if (!m->what.fail) w->stats.delivered_bytes += m->what.mlength;
    pm__initiator_event(m, md, PTL_EVENT_REPLY, m->what.fail);
    pm__initiator_count(m, md, PTL_MD_EVENT_CT_REPLY, m->what.fail, m->what.mlength);
  } else if (m->what.ack_req != PTL_NO_ACK_REQ && !(m->what.is_ack_muted && !m->what.fail)) {
    const int counts =
        m->what.fail && !(m->what.ack_req == PTL_OC_ACK_REQ && s->oc_ack_counts_success &&
                          m->what.fail != PTL_NI_UNDELIVERABLE);
    if (m->what.ack_req == PTL_ACK_REQ) pm__initiator_event(m, md, PTL_EVENT_ACK, m->what.fail);
    pm__initiator_count(m, md, PTL_MD_EVENT_CT_ACK, counts, m->what.mlength);
  }
  if (m->what.get_md) pm__let_go(m->what.from, m->what.get_md);
  pm__let_go(m->what.from, m->what.md);
}
/* It can never arrive, or its answer cannot. */
PM__PRIVATE void pm__undeliverable(pm_world *w, pm__message *m) {
  w->stats.undeliverable_count++;
  m->what.fail = PTL_NI_UNDELIVERABLE;
}

PM__INLINE_HERE bool pm__target_is_bad(const pm__ni *ni, ptl_process_t id, ptl_pt_index_t pt) {
  if (pt > (ptl_pt_index_t)pm__limits.max_pt_index) return 1;
  if (pm__is_logical(ni)) {
    if (!ni->map || id.rank >= ni->map->count) return 1;
    id = ni->map->id[id.rank];
  }
  return id.phys.pid > PTL_PID_MAX || id.phys.nid == PTL_NID_ANY;
}
/* Physically. A caller cannot know which nodes there are, so a message to one that is not there is issued: it finds
   nobody, at an id of the own node that no process has, and ends as one that could not be delivered. */
PM__INLINE_HERE ptl_process_t pm__target_of(const pm_process *p, const pm__ni *ni,
                                            ptl_process_t target) {
  if (pm__is_logical(ni)) target = ni->map->id[target.rank];
  if ((int64_t)target.phys.nid >= p->world->plat.node_count) {
    target.phys.nid = (ptl_nid_t)p->node;
    target.phys.pid = PTL_PID_ANY;
  }
  return target;
}
PM__INLINE_HERE bool pm__range_is_bad(const pm__ni *ni, const pm__md *md, ptl_size_t offset,
                                      ptl_size_t length) {
  const uint64_t room = pm__capacity(md->md.start, md->md.length, md->md.options);
  return length > ni->limits.max_msg_size || offset > room || length > room - offset;
}
/* A message that has all but what its kind adds. ret PTL_OK | PTL_ARG_INVALID | PTL_NO_SPACE */
PM__INLINE_HERE int pm__message_make(pm_process *p, int kind, ptl_handle_md_t md_handle,
                                     ptl_size_t offset, ptl_size_t length, ptl_process_t target,
                                     ptl_pt_index_t pt, ptl_match_bits_t bits,
                                     ptl_size_t remote_offset, void *user_ptr,
                                     pm__message **message) {
  pm__ni *ni;
  pm__md *md = (pm__md *)pm__find_any(p, PM__H_MD, md_handle, &ni);
  pm__message *m;
  if (!md || pm__range_is_bad(ni, md, offset, length) || pm__target_is_bad(ni, target, pt))
    return PTL_ARG_INVALID;
  m = *message = pm__message_new(p->world);
  if (!m) return PTL_NO_SPACE;
  m->what.kind = (unsigned char)kind;
  m->what.from = ni;
  m->what.from_index = (unsigned char)ni->index;
  m->what.from_epoch = ni->epoch;
  m->what.md = md;
  m->what.local_offset = offset;
  m->what.length = length;
  m->what.target = pm__target_of(p, ni, target);
  m->what.initiator = pm__own_id(ni);
  m->what.from_nic = p->nic;
  m->what.to_nic = p->nic - p->node + pm__to_node(m);
  m->what.initiator_nic = p->its_nic;
  m->what.target_nic = p->its_nic + (pm__to_node(m) - p->node);
  m->what.is_inside = pm__to_node(m) == p->node && !p->world->plat.intra_uses_nic;
  m->what.uid = p->uid;
  m->what.pt = (unsigned char)pt;
  m->what.match_bits = bits;
  m->what.remote_offset = remote_offset;
  m->what.user_ptr = user_ptr;
  return PTL_OK;
}
PM__INLINE_HERE bool pm__ack_is_bad(const pm__message *m, ptl_ack_req_t ack) {
  const ptl_md_t *md = &m->what.md->md;
  if (ack > PTL_OC_ACK_REQ || ((md->options & PTL_MD_UNRELIABLE) && ack != PTL_NO_ACK_REQ))
    return 1;
  if ((md->options & PTL_MD_VOLATILE) && m->what.length > m->what.from->limits.max_volatile_size)
    return 1;
  return (ack == PTL_ACK_REQ && md->eq_handle == PTL_EQ_NONE) ||
         (ack == PTL_CT_ACK_REQ &&
          (md->ct_handle == PTL_CT_NONE || md->ct_handle == PTL_INVALID_HANDLE));
}
PM__INLINE_HERE int pm__put_make(pm_process *p, PM__PTL_PUT_ARGS, pm__message **m) {
  const int code = pm__message_make(p, PM__PUT, md_handle, local_offset, length, target_id,
                                    pt_index, match_bits, remote_offset, user_ptr, m);
  if (code) return code;
  (*m)->what.ack_req = ack_req;
  (*m)->what.hdr_data = hdr_data;
  if (!pm__ack_is_bad(*m, ack_req)) return PTL_OK;
  pm__message_free(p->world, *m);
  return PTL_ARG_INVALID;
}
static int pm__atomic_make(pm_process *p, PM__PTL_PUT_ARGS, ptl_op_t operation,
                           ptl_datatype_t datatype, pm__message **m) {
  int code;
  if (!pm__op_is_legal(operation, datatype) || operation >= PTL_SWAP ||
      length % pm__type_bytes(datatype))
    return PTL_ARG_INVALID;
  code = pm__put_make(p, md_handle, local_offset, length, ack_req, target_id, pt_index, match_bits,
                      remote_offset, user_ptr, hdr_data, m);
  if (code) return code;
  (*m)->what.kind = PM__ATOMIC;
  (*m)->what.op = operation;
  (*m)->what.type = datatype;
  if (length <= (*m)->what.from->limits.max_atomic_size) return PTL_OK;
  pm__message_free(p->world, *m);
  return PTL_ARG_INVALID;
}
static int pm__fetch_make(pm_process *p, int kind, PM__PTL_FETCH_ARGS, const void *operand,
                          ptl_op_t operation, ptl_datatype_t datatype, pm__message **m) {
  pm__ni *ni;
  pm__md *get_md = (pm__md *)pm__find_any(p, PM__H_MD, get_md_handle, &ni);
  const int conditional = operation > PTL_SWAP;
  int code;
  if (!pm__op_is_legal(operation, datatype) || (kind == PM__SWAP) != (operation >= PTL_SWAP) ||
      length % pm__type_bytes(datatype))
    return PTL_ARG_INVALID;
  if (!get_md || (conditional && (!operand || length != pm__type_bytes(datatype))))
    return PTL_ARG_INVALID;
  code = pm__message_make(p, kind, put_md_handle, local_put_offset, length, target_id, pt_index,
                          match_bits, remote_offset, user_ptr, m);
  if (code) return code;
  (*m)->what.get_md = get_md;
  (*m)->what.get_offset = local_get_offset;
  (*m)->what.hdr_data = hdr_data;
  (*m)->what.op = operation;
  (*m)->what.type = datatype;
  if (conditional) memcpy((*m)->what.operand, operand, pm__type_bytes(datatype));
  if ((*m)->what.from == ni && length <= ni->limits.max_fetch_atomic_size &&
      !pm__range_is_bad(ni, get_md, local_get_offset, length) &&
      !pm__ack_is_bad(*m, PTL_NO_ACK_REQ))
    return PTL_OK;
  pm__message_free(p->world, *m);
  return PTL_ARG_INVALID;
}

/* It is still to be read from the initiator's memory. */
PM__PRIVATE bool pm__is_uncopied(const pm__message *m) {
  return m->what.kind != PM__GET && m->what.length && !m->what.has_copy && !m->what.kept;
}
/* From now on the initiator may change its memory, or lose it. */
PM__PRIVATE void pm__keep(pm__message *m) {
  if (m->what.from->proc->world->desc.no_data || !m->what.length) return;
  m->what.kept = (unsigned char *)PM_MALLOC((size_t)m->what.length);
  if (m->what.kept) {
    if (!pm__copied(m->what.from->proc->world, pm__flat(m->what.kept),
                    pm__md_cursor(m->what.md, m->what.local_offset), m->what.length))
      m->what.fail = PTL_NI_SEGV;
  } else
    pm_world_fail(m->what.from->proc->world, PM_E_NOMEM, "out of memory: payload");
}
/* Of a descriptor that tells nobody of anything no program can know when it may be released: as soon as the payload
   has been read, or there is none. GASNet's barriers release theirs right after puts of no bytes. */
static void pm__give_back(pm__message *m) {
  const unsigned int counted = PTL_MD_EVENT_CT_SEND | PTL_MD_EVENT_CT_ACK | PTL_MD_EVENT_CT_REPLY;
  const ptl_md_t *md = &m->what.md->md;
  if (m->what.kind == PM__GET || md->eq_handle != PTL_EQ_NONE || (md->options & counted)) return;
  if (m->what.length && !m->what.is_early_send && !m->what.kept) return;
  m->what.is_unheld = 1;
  m->what.md->unsent--;
}
/* An operation starts: from a call, or from a counter. */
PM__PRIVATE void pm__message_start(pm_world *w, pm__message *m) {
  if (!m->what.id) m->what.id = pm__id_next(m->what.from->proc);
  m->way.pending = 1;
  m->what.t_issue_ps = w->now_ps;
  if (m->what.kind != PM__GET && m->what.length <= (uint64_t)w->plat.early_send_bytes &&
      m->what.length <= sizeof m->what.copy) {
    if (!pm__copied(w, pm__flat(m->what.copy), pm__md_cursor(m->what.md, m->what.local_offset),
                    m->what.length))
      m->what.fail = PTL_NI_SEGV;
    m->what.has_copy = 1;
    /* A fetch brings its answer back in the same place; a carrier reads what it releases itself until
       that is over. */
    m->what.is_early_send = !pm__is_fetch(m) && !m->cargo.is_triggered;
  } else if (m->what.kind != PM__GET && (m->what.md->md.options & PTL_MD_VOLATILE))
    pm__keep(m);
  pm__give_back(m);
  m->what.from->uncopied_count += pm__is_uncopied(m);
  if (m->what.kind != PM__GET) w->stats.sent_bytes += m->what.length;
  w->stats.message_count++;
  pm__nic_send(w, m);
}
static int pm__move(pm_process *p, pm__message *m, int may_wait) {
  pm__call_step call;
  if (!may_wait && pm__slots_are_taken(p, m)) {
    pm__message_free(p->world, m);
    return PTL_TRY_AGAIN;
  }
  pm__hold(m->what.md); /* from now on nobody may release it */
  if (m->what.get_md) pm__hold(m->what.get_md);
  if (pm__current->defers && may_wait) {
    /* What the caller may change at once is read before the call returns. */
    const bool is_volatile =
        m->what.kind != PM__GET && (m->what.md->md.options & PTL_MD_VOLATILE) != 0;
    if (!is_volatile || pm__current->is_handling) return pm__move_later(pm__current, m);
    pm__catch_up();
  }
  m->what.id = pm__id_next(p);
  memset(&call, 0, sizeof call);
  while (pm__nic_call(p, m, &call)) {
    if (call.d_ps == PM__FOREVER)
      pm__block(PM__FOREVER, call.what);
    else
      pm__busy(call.d_ps, call.what);
  }
  if (!pm__from_is_alive(m)) {
    pm__message_free(p->world, m);
    return PTL_ARG_INVALID;
  }
  pm__message_start(p->world, m);
  return PTL_OK;
}
/* Each move twice: waiting for a command slot, or giving up. */
#define PM__MOVE_TWICE(name, arguments, make)                                                      \
  PM_API int name arguments {                                                                      \
    PM__PROCESS(p);                                                                                \
    pm__message *m;                                                                                \
    const int code = make;                                                                         \
    return code ? code : pm__move(p, m, 1);                                                        \
  }                                                                                                \
  PM_API int name##NB arguments {                                                                  \
    PM__PROCESS(p);                                                                                \
    pm__message *m;                                                                                \
    const int code = make;                                                                         \
    return code ? code : pm__move(p, m, 0);                                                        \
  }
#define PM__PUT_NAMES                                                                              \
  md_handle, local_offset, length, ack_req, target_id, pt_index, match_bits, remote_offset,        \
      user_ptr, hdr_data
#define PM__FETCH_NAMES                                                                            \
  get_md_handle, local_get_offset, put_md_handle, local_put_offset, length, target_id, pt_index,   \
      match_bits, remote_offset, user_ptr, hdr_data
PM__MOVE_TWICE(PtlPut, (PM__PTL_PUT_ARGS), pm__put_make(p, PM__PUT_NAMES, &m))
PM__MOVE_TWICE(PtlGet, (PM__PTL_GET_ARGS),
               pm__message_make(p, PM__GET, md_handle, local_offset, length, target_id, pt_index,
                                match_bits, remote_offset, user_ptr, &m))
PM__MOVE_TWICE(PtlAtomic, (PM__PTL_PUT_ARGS, ptl_op_t operation, ptl_datatype_t datatype),
               pm__atomic_make(p, PM__PUT_NAMES, operation, datatype, &m))
PM__MOVE_TWICE(PtlFetchAtomic, (PM__PTL_FETCH_ARGS, ptl_op_t operation, ptl_datatype_t datatype),
               pm__fetch_make(p, PM__FETCH, PM__FETCH_NAMES, NULL, operation, datatype, &m))
PM__MOVE_TWICE(PtlSwap,
               (PM__PTL_FETCH_ARGS, const void *operand, ptl_op_t operation,
                ptl_datatype_t datatype),
               pm__fetch_make(p, PM__SWAP, PM__FETCH_NAMES, operand, operation, datatype, &m))

/* ---- triggered operations ---------------------------------------------------------------------- */
PM__PRIVATE void pm__fire(pm_world *w, pm__trigger *t) {
  pm__ct *ct;
  switch (t->kind) {
  case PM__TRIG_MOVE:
    if (t->carried) pm__carrier_due(t);
    if (t->message) { /* a carrier may have sent it already */
      t->message->cargo.trigger = NULL;
      t->message->cargo.behind = t->carried ? 0 : t->ct->carried;
      pm__message_start(w, t->message);
    }
    t->message = NULL;
    break;
  case PM__TRIG_INC:
  case PM__TRIG_SET:
    if (t->carried) pm__carrier_due(t);
    ct = pm__ct_at(t->ni, t->handle);
    if (!ct) break;
    if (t->kind == PM__TRIG_SET)
      ct->value = t->value;
    else {
      ct->value.success += t->value.success;
      ct->value.failure += t->value.failure;
    }
    pm__ct_changed(ct);
    break;
  case PM__TRIG_APPEND:
    pm__append_released(t->ni, t->entry);
    t->entry = NULL;
    break;
  default: pm__unlink_released(t->ni->proc, t->handle); break;
  }
  pm__trigger_free(w, t);
}
/* Queues behind what has the same threshold; fires at once when that is reached already. */
static int pm__trigger_post(pm_process *p, pm__ni *ni, pm__message *m, ptl_handle_ct_t trig_ct,
                            ptl_size_t threshold, pm__trigger **made) {
  pm_world *w = p->world;
  pm__ni *ct_ni;
  pm__ct *ct = (pm__ct *)pm__find_any(p, PM__H_CT, trig_ct, &ct_ni);
  pm__trigger *t;
  if (!ct || ct_ni != ni) return PTL_ARG_INVALID;
  if (ni->trigger_count >= ni->limits.max_triggered_ops) return PTL_NO_SPACE;
  t = w->free_triggers;
  if (t)
    w->free_triggers = t->next;
  else
    t = (pm__trigger *)PM_MALLOC(sizeof *t);
  if (!t) return PTL_NO_SPACE;
  memset(t, 0, sizeof *t);
  t->threshold = threshold;
  t->ni = ni;
  t->message = m;
  t->ct = ct;
  ni->trigger_count++;
  if (m) {
    pm__hold(m->what.md);
    if (m->what.get_md) pm__hold(m->what.get_md);
  }
  pm__trigger_put(ct, t);
  *made = t;
  return PTL_OK;
}
/* After the trigger is complete: it may fire now. */
static int pm__trigger_arm(pm_process *p, ptl_handle_ct_t trig_ct) {
  pm__ni *ni;
  pm__ct *ct = (pm__ct *)pm__find_any(p, PM__H_CT, trig_ct, &ni);
  if (ct) pm__ct_changed(ct);
  return PTL_OK;
}
static int pm__trigger_move(pm_process *p, int code, pm__message *m, ptl_handle_ct_t trig_ct,
                            ptl_size_t threshold) {
  pm__trigger *t;
  if (code) return code;
  code = pm__trigger_post(p, m->what.from, m, trig_ct, threshold, &t);
  if (code) {
    pm__message_free(p->world, m);
    return code;
  }
  t->kind = PM__TRIG_MOVE;
  pm__cpu(p->world->plat.cpu_command_ns);
  if (t->message == m && !t->carried) pm__carrier_trigger(t); /* it waits still */
  return pm__trigger_arm(p, trig_ct);
}
PM_API int PtlTriggeredPut(PM__PTL_PUT_ARGS, PM__PTL_TRIG_ARGS) {
  PM__PROCESS(p);
  pm__message *m = NULL;
  const int code = pm__put_make(p, md_handle, local_offset, length, ack_req, target_id, pt_index,
                                match_bits, remote_offset, user_ptr, hdr_data, &m);
  return pm__trigger_move(p, code, m, trig_ct_handle, threshold);
}
PM_API int PtlTriggeredGet(PM__PTL_GET_ARGS, PM__PTL_TRIG_ARGS) {
  PM__PROCESS(p);
  pm__message *m = NULL;
  const int code = pm__message_make(p, PM__GET, md_handle, local_offset, length, target_id,
                                    pt_index, match_bits, remote_offset, user_ptr, &m);
  return pm__trigger_move(p, code, m, trig_ct_handle, threshold);
}
PM_API int PtlTriggeredAtomic(PM__PTL_PUT_ARGS, ptl_op_t operation, ptl_datatype_t datatype,
                              PM__PTL_TRIG_ARGS) {
  PM__PROCESS(p);
  pm__message *m = NULL;
  const int code =
      pm__atomic_make(p, md_handle, local_offset, length, ack_req, target_id, pt_index, match_bits,
                      remote_offset, user_ptr, hdr_data, operation, datatype, &m);
  return pm__trigger_move(p, code, m, trig_ct_handle, threshold);
}
PM_API int PtlTriggeredFetchAtomic(PM__PTL_FETCH_ARGS, ptl_op_t operation, ptl_datatype_t datatype,
                                   PM__PTL_TRIG_ARGS) {
  PM__PROCESS(p);
  pm__message *m = NULL;
  const int code = pm__fetch_make(p, PM__FETCH, PM__FETCH_NAMES, NULL, operation, datatype, &m);
  return pm__trigger_move(p, code, m, trig_ct_handle, threshold);
}
PM_API int PtlTriggeredSwap(PM__PTL_FETCH_ARGS, const void *operand, ptl_op_t operation,
                            ptl_datatype_t datatype, PM__PTL_TRIG_ARGS) {
  PM__PROCESS(p);
  pm__message *m = NULL;
  const int code = pm__fetch_make(p, PM__SWAP, PM__FETCH_NAMES, operand, operation, datatype, &m);
  return pm__trigger_move(p, code, m, trig_ct_handle, threshold);
}
static int pm__trigger_ct(ptl_handle_ct_t ct_handle, ptl_ct_event_t value, int kind,
                          ptl_handle_ct_t trig_ct, ptl_size_t threshold) {
  PM__PROCESS(p);
  pm__ni *ni;
  pm__trigger *t;
  int code;
  if (!pm__find_any(p, PM__H_CT, ct_handle, &ni) ||
      (kind == PM__TRIG_INC && value.success && value.failure))
    return PTL_ARG_INVALID;
  code = pm__trigger_post(p, ni, NULL, trig_ct, threshold, &t);
  if (code) return code;
  t->kind = kind;
  t->handle = ct_handle;
  t->value = value;
  pm__carrier_trigger(t);
  return pm__trigger_arm(p, trig_ct);
}
PM_API int PtlTriggeredCTInc(ptl_handle_ct_t ct_handle, ptl_ct_event_t increment,
                             PM__PTL_TRIG_ARGS) {
  return pm__trigger_ct(ct_handle, increment, PM__TRIG_INC, trig_ct_handle, threshold);
}
PM_API int PtlTriggeredCTSet(ptl_handle_ct_t ct_handle, ptl_ct_event_t new_ct, PM__PTL_TRIG_ARGS) {
  return pm__trigger_ct(ct_handle, new_ct, PM__TRIG_SET, trig_ct_handle, threshold);
}

PM_API int PtlTriggeredMEAppend(ptl_handle_ni_t ni_handle, ptl_pt_index_t index, const ptl_me_t *me,
                                ptl_list_t list, void *user_ptr, ptl_handle_me_t *me_handle,
                                PM__PTL_TRIG_ARGS) {
  PM__NI(p, ni, ni_handle);
  pm__me *entry;
  pm__trigger *t;
  int code;
  if (!me || !me_handle || !pm__is_matching(ni) || pm__append_is_bad(ni, index, me, list))
    return PTL_ARG_INVALID;
  entry = pm__me_new(ni, index, me, list, user_ptr);
  if (!entry) return PTL_NO_SPACE;
  code = pm__trigger_post(p, ni, NULL, trig_ct_handle, threshold, &t);
  if (code) {
    pm__pool_free(ni, &entry->o);
    return code;
  }
  t->kind = PM__TRIG_APPEND;
  t->entry = entry;
  *me_handle = entry->o.handle;
  pm__carrier_trigger(t);
  return pm__trigger_arm(p, trig_ct_handle);
}
PM_API int PtlTriggeredMEUnlink(ptl_handle_me_t me_handle, PM__PTL_TRIG_ARGS) {
  PM__PROCESS(p);
  pm__ni *ni;
  pm__trigger *t;
  int code;
  if (!pm__find_any(p, PM__H_ME, me_handle, &ni)) return PTL_ARG_INVALID;
  code = pm__trigger_post(p, ni, NULL, trig_ct_handle, threshold, &t);
  if (code) return code;
  t->kind = PM__TRIG_UNLINK;
  t->handle = me_handle;
  pm__carrier_trigger(t);
  return pm__trigger_arm(p, trig_ct_handle);
}
