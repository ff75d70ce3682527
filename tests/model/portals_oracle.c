/* Random sequences of Portals calls beside an interpreter of the specification that knows nothing of the
   model's code: three processes, one call at a time; codes, every field of every event, counters, status
   registers and memory are compared. Entries, headers, searches, flow control, full queues, pieces of memory,
   integer atomics, triggered operations. */
#include "tests/model/ptl.h"

enum { RANKS = 3, PTS = 2, EQS = 3, CTS = 3, AREA = 1024, MOST = 64, STEPS = 250 };
enum { LIMIT_LIST = 5, LIMIT_ENTRIES = 9, LIMIT_HEADERS = 4, LIMIT_TRIGGERS = 5 };
enum { T_MOVE, T_INC, T_SET, T_APPEND, T_UNLINK };
typedef struct o_entry {
  ptl_me_t me;
  int number, pt, list, headers; /* number: its user_ptr */
  bool is_linked, is_auto, is_pending;
  uint64_t offset;
  ptl_handle_me_t h;
  ptl_iovec_t pieces[3];
} o_entry;
typedef struct o_header {
  o_entry *e;
  ptl_event_t event;
} o_header;
typedef struct o_pt {
  bool is_there, is_on;
  unsigned int options;
  int eq; /* -1: none */
  o_entry *list[2][MOST];
  int count[2];
  o_header header[MOST];
  int headers;
} o_pt;
typedef struct o_eq {
  ptl_handle_eq_t h;
  ptl_event_t ring[4 * MOST];
  int used, count, reserved;
  bool lost;
} o_eq;
typedef struct o_move { /* a message, as its call says it */
  int kind, from, to, md, get_md, pt;
  ptl_size_t offset, get_offset, length, remote_offset;
  ptl_ack_req_t ack;
  uint64_t bits, hdr;
  int number;
  ptl_op_t op;
  ptl_datatype_t type;
  unsigned char operand[32];
  bool is_triggered;
} o_move;
enum { PUT, GET, ATOMIC, FETCH, SWAP };
typedef struct o_trigger {
  int kind, ct, target, number; /* number: of the entry; it may be another's place by then */
  uint64_t threshold, order;
  ptl_ct_event_t value;
  o_entry *e;
  o_move move;
} o_trigger;
typedef struct o_md {
  ptl_handle_md_t h;
  ptl_md_t md;
  int eq, ct;
  ptl_iovec_t pieces[3];
} o_md;
typedef struct o_rank {
  ptl_handle_ni_t ni;
  ptl_process_t id;
  o_pt pt[PTS];
  o_eq eq[EQS];
  ptl_handle_ct_t ct[CTS];
  ptl_ct_event_t value[CTS];
  o_md md[3];
  o_entry entry[4 * MOST];
  int entries, headers;
  o_trigger trigger[MOST];
  int triggers;
  uint64_t orders;
  int status[PTL_SR_LAST];
  bool to_fire[CTS];
  _Alignas(16) unsigned char real[2 * AREA], shadow[2 * AREA]; /* entries in the first half, descriptors in the second */
} o_rank;
static o_rank *O;
static pm_semantics S;
static int at_turn;
static bool is_matching, is_logical, has_move_trigger, local_triggers, is_one_node, is_inside_by_nic;
static int events_seen[PTL_EVENT_LAST], numbers, fire_queue[64][2], fire_first, fire_last, fired_moves;
static char last_call[200], step_call[200]; /* what is compared; what this step called */

static void o_fire(void);
/* ---- the interpreter -------------------------------------------------------------------------- */
static void o_post(int r, int q, ptl_event_t e) {
  if (q < 0) return;
  o_eq *eq = &O[r].eq[q];
  if (eq->used >= eq->count && (e.type != PTL_EVENT_PT_DISABLED || eq->used >= eq->count + eq->reserved)) {
    int k = 0; /* the oldest goes, but never what tells that a portal is off */
    eq->lost = 1;
    if (S.eq_drops_newest) return;
    while (k < eq->used && eq->ring[k].type == PTL_EVENT_PT_DISABLED) k++;
    if (k == eq->used) return;
    memmove(eq->ring + k, eq->ring + k + 1, (size_t)(--eq->used - k) * sizeof e);
  }
  eq->ring[eq->used++] = e;
}
static ptl_event_t o_event(int type, int pt, int list, int number) {
  ptl_event_t e;
  memset(&e, 0, sizeof e);
  e.type = (ptl_event_kind_t)type;
  e.pt_index = (ptl_pt_index_t)pt;
  e.ptl_list = (ptl_list_t)list;
  e.user_ptr = (void *)(uintptr_t)number;
  return e;
}
static uint64_t o_room(const void *start, ptl_size_t length, unsigned int options) {
  uint64_t sum = 0;
  if (!(options & PTL_IOVEC)) return length;
  for (ptl_size_t i = 0; i < length; i++) sum += ((const ptl_iovec_t *)start)[i].iov_len;
  return sum;
}
/* Byte k of a region in the shadow of rank r. */
static unsigned char *o_byte(int r, const void *start, unsigned int options, uint64_t k) {
  const ptl_iovec_t *v = (const ptl_iovec_t *)start;
  if (!(options & PTL_IOVEC)) return O[r].shadow + ((const unsigned char *)start - O[r].real) + k;
  for (; k >= v->iov_len; v++) k -= v->iov_len;
  return O[r].shadow + ((unsigned char *)v->iov_base - O[r].real) + k;
}
static void o_changed(int r, int c) {
  if (c < 0 || O[r].to_fire[c]) return;
  O[r].to_fire[c] = 1;
  fire_queue[fire_last % 64][0] = r;
  fire_queue[fire_last++ % 64][1] = c;
}
static void o_count(int r, int c, bool fails, uint64_t n) {
  if (c < 0) return;
  if (fails)
    O[r].value[c].failure++;
  else
    O[r].value[c].success += n;
  o_changed(r, c);
}
static int o_ct_of(int r, ptl_handle_ct_t h) {
  for (int c = 0; c < CTS; c++)
    if (O[r].ct[c] == h) return c;
  return -1;
}
static void o_freed(int r, o_entry *e) {
  if (e->is_linked || e->headers || e->is_pending) return;
  if (e->is_auto && e->list == PTL_OVERFLOW_LIST && !(e->me.options & PTL_ME_EVENT_UNLINK_DISABLE))
    o_post(r, O[r].pt[e->pt].eq, o_event(PTL_EVENT_AUTO_FREE, e->pt, e->list, e->number));
  O[r].entries--;
}
static void o_unlink(int r, o_entry *e) {
  o_pt *pt = &O[r].pt[e->pt];
  int k = 0;
  while (pt->list[e->list][k] != e) k++;
  memmove(&pt->list[e->list][k], &pt->list[e->list][k + 1], (size_t)(--pt->count[e->list] - k) * sizeof e);
  e->is_linked = 0;
}
static bool o_matches(const ptl_me_t *me, ptl_process_t id, uint64_t bits) {
  if (S.uid_is_matched && me->uid != PTL_UID_ANY && me->uid != 0) return 0; /* all are user 0 */
  if (!is_matching) return 1;
  if (is_logical ? me->match_id.rank != PTL_RANK_ANY && me->match_id.rank != id.rank
                 : (me->match_id.phys.nid != PTL_NID_ANY && me->match_id.phys.nid != id.phys.nid) ||
                       (me->match_id.phys.pid != PTL_PID_ANY && me->match_id.phys.pid != id.phys.pid))
    return 0;
  return ((bits ^ me->match_bits) & ~me->ignore_bits) == 0;
}
static bool o_fits(const ptl_me_t *me, uint64_t offset, uint64_t length) {
  const uint64_t room = o_room(me->start, me->length, me->options);
  return !is_matching || !(me->options & PTL_ME_NO_TRUNCATE) || (offset <= room && length <= room - offset);
}
static bool o_is_low(const o_entry *e) {
  const uint64_t room = o_room(e->me.start, e->me.length, e->me.options);
  return (e->me.options & PTL_ME_MANAGE_LOCAL) && e->me.min_free && (e->offset > room || room - e->offset < e->me.min_free);
}
/* Headers for an entry (op -1) or a search. ret how many */
static int o_headers(int r, int p, o_entry *e, int op) {
  o_pt *pt = &O[r].pt[p];
  const unsigned int o = e->me.options;
  int found = 0, k = 0;
  while (k < pt->headers) {
    o_header *h = &pt->header[k];
    ptl_event_t told = h->event;
    o_entry *over = h->e;
    bool stop;
    if (!o_matches(&e->me, told.initiator, told.match_bits) ||
        !o_fits(&e->me, o & PTL_ME_MANAGE_LOCAL ? e->offset : told.remote_offset, told.rlength)) {
      k++;
      continue;
    }
    found++;
    told.user_ptr = (void *)(uintptr_t)e->number;
    told.ptl_list = PTL_OVERFLOW_LIST;
    if (op < 0 && (o & PTL_ME_LOCAL_INC_UH_RLENGTH) && (o & PTL_ME_MANAGE_LOCAL)) e->offset += told.rlength;
    stop = (o & PTL_ME_USE_ONCE) || (op < 0 && (o & PTL_ME_LOCAL_INC_UH_RLENGTH) && o_is_low(e));
    if (op == PTL_SEARCH_ONLY) {
      told.type = PTL_EVENT_SEARCH;
      if (!(o & PTL_ME_EVENT_COMM_DISABLE)) o_post(r, pt->eq, told);
      k++;
    } else {
      memmove(h, h + 1, (size_t)(--pt->headers - k) * sizeof *h);
      O[r].headers--;
      over->headers--;
      if (!(o & PTL_ME_EVENT_OVER_DISABLE) && !(S.success_disable_overflow && (o & PTL_ME_EVENT_SUCCESS_DISABLE))) o_post(r, pt->eq, told);
    }
    if (o & PTL_ME_EVENT_CT_OVERFLOW) o_count(r, o_ct_of(r, e->me.ct_handle), 0, o & PTL_ME_EVENT_CT_BYTES ? told.mlength : 1);
    if (op != PTL_SEARCH_ONLY) o_freed(r, over);
    if (stop) break;
  }
  return found;
}
static void o_append(int r, o_entry *e) {
  o_pt *pt = &O[r].pt[e->pt];
  if (e->list == PTL_PRIORITY_LIST) {
    const int found = o_headers(r, e->pt, e, -1);
    if (found && ((e->me.options & PTL_ME_USE_ONCE) || ((e->me.options & PTL_ME_LOCAL_INC_UH_RLENGTH) && o_is_low(e)))) {
      if (!(e->me.options & PTL_ME_EVENT_UNLINK_DISABLE)) o_post(r, pt->eq, o_event(PTL_EVENT_AUTO_UNLINK, e->pt, e->list, e->number));
      O[r].entries--;
      return;
    }
  }
  pt->list[e->list][pt->count[e->list]++] = e;
  e->is_linked = 1;
  if (!(e->me.options & PTL_ME_EVENT_LINK_DISABLE)) o_post(r, pt->eq, o_event(PTL_EVENT_LINK, e->pt, e->list, e->number));
}
static int o_call_append(int r, o_entry *e) {
  o_pt *pt = &O[r].pt[e->pt];
  const unsigned int o = e->me.options;
  if (!pt->is_there || (!is_matching && (o & ~PTL_LE_APPEND_OPTIONS_MASK))) return PTL_ARG_INVALID;
  if ((o & PTL_ME_MAY_ALIGN) && !(o & PTL_ME_MANAGE_LOCAL)) return PTL_ARG_INVALID;
  if (S.pt_hints_bind && e->list == PTL_PRIORITY_LIST && (pt->options & PTL_PT_ONLY_USE_ONCE) && !(o & PTL_ME_USE_ONCE)) return PTL_ARG_INVALID;
  if (S.pt_hints_bind && e->list == PTL_PRIORITY_LIST && (pt->options & PTL_PT_ONLY_TRUNCATE) && (o & PTL_ME_NO_TRUNCATE)) return PTL_ARG_INVALID;
  return PTL_OK;
}
#define O_INTEGER(T)                                                                                                    \
  {                                                                                                                     \
    T t, s, c;                                                                                                          \
    memcpy(&t, target, sizeof t), memcpy(&s, source, sizeof s), memcpy(&c, operand, sizeof c);                          \
    const bool swaps = op == PTL_SWAP || (op == PTL_CSWAP && c == t) || (op == PTL_CSWAP_NE && c != t) ||               \
                       (op == PTL_CSWAP_LE && c <= t) || (op == PTL_CSWAP_LT && c < t) || (op == PTL_CSWAP_GE && c >= t) || \
                       (op == PTL_CSWAP_GT && c > t);                                                                   \
    const T all[] = {s < t ? s : t, s > t ? s : t, (T)((uint64_t)s + (uint64_t)t), (T)((uint64_t)s * (uint64_t)t),      \
                     (T)(t || s), (T)(t && s),                                                                          \
                     (T)(t | s), (T)(t & s), (T)(!t ^ !s), (T)(t ^ s)};                                                 \
    if (op < PTL_SWAP) t = all[op];                                                                                     \
    if (op == PTL_MSWAP) t = (T)((s & c) | (t & ~c));                                                                   \
    if (op != PTL_MSWAP && swaps) t = s;                                                                                \
    memcpy(target, &t, sizeof t);                                                                                       \
  }
static void o_atomic(int op, int type, unsigned char *target, const unsigned char *source, const unsigned char *operand) {
  switch (type) {
  case PTL_INT8_T: O_INTEGER(int8_t) break;
  case PTL_UINT8_T: O_INTEGER(uint8_t) break;
  case PTL_INT16_T: O_INTEGER(int16_t) break;
  case PTL_UINT16_T: O_INTEGER(uint16_t) break;
  case PTL_INT32_T: O_INTEGER(int32_t) break;
  case PTL_UINT32_T: O_INTEGER(uint32_t) break;
  case PTL_INT64_T: O_INTEGER(int64_t) break;
  default: O_INTEGER(uint64_t) break;
  }
}
static const unsigned char type_bytes[] = {1, 1, 2, 2, 4, 4, 4, 8, 8, 8};
/* What the target says: PTL_NI_*; *found the entry. */
static int o_match(const o_move *m, o_entry **found) {
  o_rank *t = &O[m->to];
  o_pt *pt = &t->pt[m->pt];
  unsigned int needs = (m->kind == GET ? 0 : PTL_ME_OP_PUT) | (m->kind == GET || m->kind >= FETCH ? PTL_ME_OP_GET : 0);
  o_entry *e = NULL;
  int events;
  if (!pt->is_there) return S.pt_missing_undeliverable ? PTL_NI_UNDELIVERABLE : PTL_NI_DROPPED;
  if (!pt->is_on) return PTL_NI_PT_DISABLED;
  for (int list = 0; list < 2 && !e; list++)
    for (int k = 0; k < pt->count[list] && !e; k++) {
      o_entry *i = pt->list[list][k];
      if (o_matches(&i->me, O[m->from].id, m->bits) &&
          o_fits(&i->me, i->me.options & PTL_ME_MANAGE_LOCAL ? i->offset : m->remote_offset, m->length))
        e = i;
    }
  *found = e;
  if (e && e->me.uid != PTL_UID_ANY && e->me.uid != 0) return PTL_NI_PERM_VIOLATION;
  if (e && (e->me.options & needs) != needs) return PTL_NI_OP_VIOLATION;
  if (e) { /* room for its header and its events? */
    const unsigned int o = e->me.options;
    const bool leaves = e->list == PTL_OVERFLOW_LIST && !(o & PTL_ME_UNEXPECTED_HDR_DISABLE);
    const o_eq *eq = pt->eq < 0 ? NULL : &t->eq[pt->eq];
    o_entry after = *e;
    bool goes;
    const uint64_t room = o_room(e->me.start, e->me.length, o), at = o & PTL_ME_MANAGE_LOCAL ? e->offset : m->remote_offset;
    if (o & PTL_ME_MANAGE_LOCAL) after.offset += at > room ? 0 : m->length < room - at ? m->length : room - at;
    goes = (o & PTL_ME_USE_ONCE) || o_is_low(&after);
    events = !(o & PTL_ME_EVENT_COMM_DISABLE) && (S.offset_beyond_is_segv || !(o & PTL_ME_EVENT_SUCCESS_DISABLE));
    if (goes && !(o & PTL_ME_EVENT_UNLINK_DISABLE)) events += 1 + (e->list == PTL_OVERFLOW_LIST && !leaves && !e->headers);
    if (!(leaves && t->headers >= LIMIT_HEADERS) && !((pt->options & PTL_PT_FLOWCTRL) && eq->used + events > eq->count)) return PTL_NI_OK;
  }
  if (!(pt->options & PTL_PT_FLOWCTRL)) return PTL_NI_DROPPED;
  pt->is_on = 0;
  if (!e || !(e->me.options & PTL_ME_EVENT_FLOWCTRL_DISABLE)) {
    ptl_event_t off = o_event(PTL_EVENT_PT_DISABLED, m->pt, 0, 0);
    off.ni_fail_type = PTL_NI_PT_DISABLED;
    o_post(m->to, pt->eq, off);
  }
  return PTL_NI_PT_DISABLED;
}
static void o_answer(const o_move *m, int md_index, int type, int fail, uint64_t mlength, uint64_t offset, int list, unsigned int option) {
  const o_md *md = &O[m->from].md[md_index];
  ptl_event_t e = o_event(type, 0, list, m->number);
  const unsigned int o = md->md.options;
  e.ni_fail_type = (ptl_ni_fail_t)fail;
  e.mlength = mlength;
  e.remote_offset = offset;
  if (!((o & PTL_MD_EVENT_SUCCESS_DISABLE) && !fail) && !(type == PTL_EVENT_SEND && (o & PTL_MD_EVENT_SEND_DISABLE)) &&
      !(type == PTL_EVENT_ACK && m->ack != PTL_ACK_REQ))
    o_post(m->from, md->eq, e);
  const bool fails = fail && !(S.oc_ack_counts_success && type == PTL_EVENT_ACK && m->ack == PTL_OC_ACK_REQ && fail != PTL_NI_UNDELIVERABLE);
  if (o & option) o_count(m->from, md->ct, fails, o & PTL_MD_EVENT_CT_BYTES ? mlength : 1);
  o_fire();
}
static void o_send(const o_move *m) {
  o_rank *from = &O[m->from], *to = &O[m->to];
  o_entry *e = NULL;
  int fail = o_match(m, &e);
  uint64_t mlength = 0, offset = 0;
  int list = 0;
  bool is_muted = 0;
  if (fail) {
    const int status = fail == PTL_NI_PERM_VIOLATION ? PTL_SR_PERMISSION_VIOLATIONS : fail == PTL_NI_OP_VIOLATION ? PTL_SR_OPERATION_VIOLATIONS : PTL_SR_DROP_COUNT;
    to->status[status]++;
  } else {
    const ptl_me_t *me = &e->me;
    const unsigned int o = me->options;
    const uint64_t room = o_room(me->start, me->length, o);
    const o_md *md = &from->md[m->md], *get = &from->md[m->get_md];
    ptl_event_t t = o_event(m->kind == PUT ? PTL_EVENT_PUT : m->kind == GET ? PTL_EVENT_GET : m->kind == ATOMIC ? PTL_EVENT_ATOMIC : PTL_EVENT_FETCH_ATOMIC, m->pt, e->list, e->number);
    bool leaves = e->list == PTL_OVERFLOW_LIST && !(o & PTL_ME_UNEXPECTED_HDR_DISABLE), goes;
    unsigned char bytes[4 * AREA], old[4 * AREA];
    offset = o & PTL_ME_MANAGE_LOCAL ? e->offset : m->remote_offset;
    mlength = offset > room ? 0 : m->length < room - offset ? m->length : room - offset;
    if (S.offset_beyond_is_segv && offset > room) t.ni_fail_type = PTL_NI_SEGV, fail = PTL_NI_SEGV;
    list = e->list;
    is_muted = (o & PTL_ME_ACK_DISABLE) != 0;
    for (uint64_t k = 0; k < mlength; k++) old[k] = *o_byte(m->to, me->start, o, offset + k);
    if (m->kind != GET)
      for (uint64_t k = 0; k < mlength; k++) bytes[k] = *o_byte(m->from, md->md.start, md->md.options, m->offset + k);
    t.start = mlength ? O[m->to].real + (o_byte(m->to, me->start, o, offset) - O[m->to].shadow) : NULL;
    if (m->kind >= ATOMIC) { /* whole items */
      unsigned char items[4 * AREA];
      const uint64_t item = type_bytes[m->type];
      memcpy(items, old, (size_t)mlength);
      for (uint64_t k = 0; k + item <= mlength; k += item) o_atomic(m->op, m->type, items + k, bytes + k, m->operand);
      memcpy(bytes, items, (size_t)mlength);
    }
    if (m->kind != GET)
      for (uint64_t k = 0; k < mlength; k++) *o_byte(m->to, me->start, o, offset + k) = bytes[k];
    if (m->kind == GET)
      for (uint64_t k = 0; k < mlength; k++) *o_byte(m->from, md->md.start, md->md.options, m->offset + k) = old[k];
    if (m->kind >= FETCH)
      for (uint64_t k = 0; k < mlength; k++) *o_byte(m->from, get->md.start, get->md.options, m->get_offset + k) = old[k];
    t.hdr_data = m->kind == GET ? 0 : m->hdr;
    t.match_bits = m->bits;
    t.rlength = m->length;
    t.mlength = mlength;
    t.remote_offset = m->remote_offset;
    t.initiator = from->id;
    if (m->kind >= ATOMIC) t.atomic_operation = m->op, t.atomic_type = m->type;
    if (o & PTL_ME_MANAGE_LOCAL) e->offset += mlength;
    goes = (o & PTL_ME_USE_ONCE) || o_is_low(e);
    if (!(o & PTL_ME_EVENT_COMM_DISABLE) && (fail || !(o & PTL_ME_EVENT_SUCCESS_DISABLE))) o_post(m->to, to->pt[m->pt].eq, t);
    if (leaves) {
      o_header *h = &to->pt[m->pt].header[to->pt[m->pt].headers++];
      to->headers++, e->headers++;
      h->e = e;
      h->event = t;
      h->event.type++;
    }
    if (goes) {
      o_unlink(m->to, e);
      e->is_auto = 1;
      if (!(o & PTL_ME_EVENT_UNLINK_DISABLE)) o_post(m->to, to->pt[m->pt].eq, o_event(PTL_EVENT_AUTO_UNLINK, m->pt, e->list, e->number));
    }
    if (goes) o_freed(m->to, e);
    if (o & PTL_ME_EVENT_CT_COMM) o_count(m->to, o_ct_of(m->to, me->ct_handle), fail != 0, o & PTL_ME_EVENT_CT_BYTES ? mlength : 1);
    o_fire();
  }
  /* A NIC that releases it reads its payload until it is over. */
  const bool is_released = IS_ON_RTL && m->is_triggered && !S.trigger_success_only && (is_inside_by_nic || (m->from != m->to && !is_one_node));
  const bool is_early = (m->kind == PUT || m->kind == ATOMIC) && m->length <= 64 && !is_released; /* SEND came before anybody knew */
  if (m->kind != GET) o_answer(m, m->md, PTL_EVENT_SEND, fail == PTL_NI_UNDELIVERABLE && !is_early ? fail : PTL_NI_OK, m->length, 0, 0, PTL_MD_EVENT_CT_SEND);
  if (m->kind == GET || m->kind >= FETCH)
    o_answer(m, m->kind == GET ? m->md : m->get_md, PTL_EVENT_REPLY, fail, mlength, offset, list, PTL_MD_EVENT_CT_REPLY);
  else if (m->ack != PTL_NO_ACK_REQ && !(is_muted && !fail))
    o_answer(m, m->md, PTL_EVENT_ACK, fail, mlength, offset, list, PTL_MD_EVENT_CT_ACK);
}
static int o_call_move(const o_move *m) {
  const o_rank *r = &O[m->from];
  const o_md *md = &r->md[m->md], *get = &r->md[m->get_md];
  const uint64_t room = o_room(md->md.start, md->md.length, md->md.options);
  if (m->offset > room || m->length > room - m->offset) return PTL_ARG_INVALID;
  if ((m->kind == PUT || m->kind == ATOMIC) &&
      ((m->ack == PTL_ACK_REQ && md->eq < 0) || (m->ack == PTL_CT_ACK_REQ && md->ct < 0) ||
       ((md->md.options & PTL_MD_UNRELIABLE) && m->ack != PTL_NO_ACK_REQ)))
    return PTL_ARG_INVALID;
  if (m->kind != GET && (md->md.options & PTL_MD_VOLATILE) && m->length > 64) return PTL_ARG_INVALID;
  if (m->kind >= ATOMIC && m->length % type_bytes[m->type]) return PTL_ARG_INVALID;
  if (m->kind >= FETCH) {
    const uint64_t back = o_room(get->md.start, get->md.length, get->md.options);
    if (m->length > 64 || m->get_offset > back || m->length > back - m->get_offset) return PTL_ARG_INVALID;
    if (m->kind == SWAP && m->op > PTL_SWAP && m->length != type_bytes[m->type]) return PTL_ARG_INVALID;
  }
  return PTL_OK;
}
/* What counters let go, in the order of thresholds, equal ones as they were posted. */
static void o_fire(void) {
  static bool is_firing;
  if (is_firing) return;
  is_firing = 1;
  while (fire_first < fire_last) {
    const int r = fire_queue[fire_first % 64][0], c = fire_queue[fire_first % 64][1];
    o_rank *o = &O[r];
    fire_first++;
    o->to_fire[c] = 0;
    for (;;) {
      int best = -1;
      o_trigger t;
      for (int k = 0; k < o->triggers; k++)
        if (o->trigger[k].ct == c && o->trigger[k].threshold <= o->value[c].success + (S.trigger_success_only ? 0 : o->value[c].failure) &&
            (best < 0 || o->trigger[k].threshold < o->trigger[best].threshold ||
             (o->trigger[k].threshold == o->trigger[best].threshold && o->trigger[k].order < o->trigger[best].order)))
          best = k;
      if (best < 0) break;
      t = o->trigger[best];
      memmove(&o->trigger[best], &o->trigger[best + 1], (size_t)(--o->triggers - best) * sizeof t);
      if (t.kind == T_MOVE) {
        has_move_trigger = 0;
        fired_moves++;
        o_send(&t.move);
      } else if (t.kind == T_INC) {
        o->value[t.target].success += t.value.success;
        o->value[t.target].failure += t.value.failure;
        o_changed(r, t.target);
      } else if (t.kind == T_SET) {
        o->value[t.target] = t.value;
        o_changed(r, t.target);
      } else if (t.kind == T_APPEND) {
        t.e->is_pending = 0;
        if (o_call_append(r, t.e) || o->pt[t.e->pt].count[0] + o->pt[t.e->pt].count[1] >= LIMIT_LIST)
          o->entries--;
        else
          o_append(r, t.e);
      } else if (t.e->number == t.number && t.e->is_linked && !t.e->headers) {
        o_unlink(r, t.e);
        t.e->is_auto = 0;
        o->entries--;
      }
    }
  }
  is_firing = 0;
}

/* ---- random calls ------------------------------------------------------------------------------- */
static uint64_t below(uint64_t n) { return test_below(n); }
static void code_is(int line, int code, int wanted) {
  if (code != wanted) printf("  line %d, %s: %s, expected %s\n", line, last_call, pm_ptl_status_name(code), pm_ptl_status_name(wanted));
  CHECK(code == wanted);
}
#define CODE(code, wanted) code_is(__LINE__, code, wanted)
static void *region(int r, bool is_entry, unsigned int options, ptl_iovec_t *pieces, ptl_size_t *length) {
  unsigned char *base = O[r].real + (is_entry ? 0 : AREA);
  if (!(options & PTL_IOVEC)) {
    *length = below(6) ? 20 + below(180) : 0;
    return base + below(AREA - 200);
  }
  *length = 1 + below(3);
  for (int i = 0; i < 3; i++) pieces[i] = (ptl_iovec_t){base + 300 * i + below(100), below(4) ? below(80) : 0};
  return pieces;
}
static o_entry *new_entry(int r) {
  o_rank *o = &O[r];
  for (int k = 0; k < 4 * MOST; k++) {
    o_entry *e = &o->entry[k];
    if (e->is_linked || e->headers || e->is_pending) continue;
    memset(e, 0, sizeof *e);
    return e;
  }
  return NULL;
}
static o_entry *random_entry(int r) {
  o_entry *e = new_entry(r);
  unsigned int o = 0;
  ptl_process_t anyone;
  for (int bit = 0; bit < 16; bit++)
    if (below(9) == 0) o |= 1u << bit;
  o = (o & ~(PTL_ME_OP_PUT | PTL_ME_OP_GET)) | (below(20) ? PTL_ME_OP_PUT : 0) | (below(20) ? PTL_ME_OP_GET : 0);
  if (below(3)) o &= ~(unsigned int)PTL_ME_UNEXPECTED_HDR_DISABLE;
  if (is_matching || below(30) == 0) o |= (below(2) ? PTL_ME_MANAGE_LOCAL : 0) | (below(8) ? 0 : PTL_ME_NO_TRUNCATE) | (below(4) ? 0 : PTL_ME_LOCAL_INC_UH_RLENGTH);
  if (below(8) == 0) o |= is_matching ? PTL_ME_MAY_ALIGN : 0;
  anyone.phys.nid = PTL_NID_ANY, anyone.phys.pid = PTL_PID_ANY;
  e->me.options = o;
  e->me.start = region(r, 1, o, e->pieces, &e->me.length);
  e->me.ct_handle = below(4) ? O[r].ct[1 + below(CTS - 1)] : PTL_CT_NONE;
  e->me.uid = below(30) ? PTL_UID_ANY : below(2) ? 0 : 7;
  e->me.match_id = below(5) ? anyone : O[below(RANKS)].id;
  e->me.match_bits = below(2);
  e->me.ignore_bits = below(2) ? below(4) : 0;
  e->me.min_free = below(3) ? below(120) : 0;
  e->number = ++numbers;
  e->pt = (int)below(PTS);
  e->list = (int)below(2);
  return e;
}
static ptl_le_t as_le(const o_entry *e) {
  const ptl_le_t le = {e->me.start, e->me.length, e->me.ct_handle, e->me.uid, e->me.options};
  return le;
}
static void call_append(int r) {
  o_rank *o = &O[r];
  o_entry *e = random_entry(r);
  void *user = (void *)(uintptr_t)e->number;
  const ptl_le_t le = as_le(e);
  int wanted = o_call_append(r, e), code;
  if (!wanted && o->pt[e->pt].count[0] + o->pt[e->pt].count[1] >= LIMIT_LIST) wanted = PTL_LIST_TOO_LONG;
  if (!wanted && o->entries >= LIMIT_ENTRIES) wanted = PTL_NO_SPACE;
  snprintf(last_call, sizeof last_call, "append options %x list %d", e->me.options, e->list);
  code = is_matching ? PtlMEAppend(o->ni, (ptl_pt_index_t)e->pt, &e->me, (ptl_list_t)e->list, user, &e->h)
                     : PtlLEAppend(o->ni, (ptl_pt_index_t)e->pt, &le, (ptl_list_t)e->list, user, &e->h);
  CODE(code, wanted);
  if (wanted) return;
  o->entries++;
  o_append(r, e);
}
static void call_search(int r) {
  o_rank *o = &O[r];
  o_entry *e = random_entry(r), copy = *e;
  const int op = (int)below(2), list = PTL_OVERFLOW_LIST;
  const ptl_le_t le = as_le(e);
  void *user = (void *)(uintptr_t)e->number;
  copy.list = list;
  const int wanted = o_call_append(r, &copy);
  snprintf(last_call, sizeof last_call, "search %d options %x", op, e->me.options);
  CODE(is_matching ? PtlMESearch(o->ni, (ptl_pt_index_t)e->pt, &e->me, (ptl_search_op_t)op, user)
                   : PtlLESearch(o->ni, (ptl_pt_index_t)e->pt, &le, (ptl_search_op_t)op, user), wanted);
  if (wanted) return;
  const int found = o_headers(r, e->pt, e, op);
  if (!found || (S.search_closing_event && !(e->me.options & PTL_ME_USE_ONCE))) {
    ptl_event_t no = o_event(PTL_EVENT_SEARCH, e->pt, 0, e->number);
    no.ni_fail_type = PTL_NI_NO_MATCH;
    o_post(r, o->pt[e->pt].eq, no);
  }
  if ((e->me.options & PTL_ME_EVENT_CT_OVERFLOW) && (!(e->me.options & PTL_ME_USE_ONCE) || !found)) o_count(r, o_ct_of(r, e->me.ct_handle), 1, 0);
}
static o_entry *old_entry(int r) { /* one that has a handle */
  for (int tries = 0; tries < 20; tries++) {
    o_entry *e = &O[r].entry[below(24)];
    if (e->h) return e;
  }
  return NULL;
}
static void call_unlink(int r) {
  o_entry *e = old_entry(r);
  if (!e) return;
  const int wanted = !e->is_linked ? PTL_ARG_INVALID : e->headers ? PTL_IN_USE : PTL_OK;
  snprintf(last_call, sizeof last_call, "unlink");
  CODE(is_matching ? PtlMEUnlink(e->h) : PtlLEUnlink(e->h), wanted);
  if (wanted) return;
  o_unlink(r, e);
  O[r].entries--;
}
static o_move random_move(int r, bool is_alone) {
  o_move m;
  memset(&m, 0, sizeof m);
  m.kind = is_alone ? (int)below(5) : below(2) ? PUT : ATOMIC;
  m.from = r;
  m.to = (int)below(RANKS);
  if (local_triggers && m.to == r) m.to = (r + 1) % RANKS;
  m.md = below(2) ? 0 : (int)below(3), m.get_md = below(2) ? 0 : (int)below(3);
  m.pt = (int)below(PTS);
  m.offset = below(40), m.get_offset = below(40);
  m.length = below(5) ? below(70) : below(170);
  m.remote_offset = below(3) ? below(60) : below(20) ? below(260) : 0 - below(100);
  m.ack = (ptl_ack_req_t)below(4);
  m.bits = below(8) ? below(2) : below(4), m.hdr = test_rand();
  m.number = ++numbers;
  if (m.kind < ATOMIC) return m;
  do m.type = (ptl_datatype_t)below(9); while (m.type == PTL_FLOAT);
  m.op = (ptl_op_t)(m.kind == SWAP ? PTL_SWAP + below(8) : below(10));
  if (below(10)) m.length -= m.length % type_bytes[m.type];
  if (m.kind == SWAP && below(10)) m.length = type_bytes[m.type];
  for (int i = 0; i < 8; i++) m.operand[i] = below(3) ? O[m.to].shadow[i] : (unsigned char)test_rand();
  return m;
}
static ptl_process_t target_of(const o_move *m) {
  return O[m->to].id;
}
static int do_move(const o_move *m) {
  const o_rank *o = &O[m->from];
  const ptl_handle_md_t md = o->md[m->md].h, get = o->md[m->get_md].h;
  void *user = (void *)(uintptr_t)m->number;
  const ptl_pt_index_t pt = (ptl_pt_index_t)m->pt;
  switch (m->kind) {
  case PUT: return PtlPut(md, m->offset, m->length, m->ack, target_of(m), pt, m->bits, m->remote_offset, user, m->hdr);
  case GET: return PtlGet(md, m->offset, m->length, target_of(m), pt, m->bits, m->remote_offset, user);
  case ATOMIC: return PtlAtomic(md, m->offset, m->length, m->ack, target_of(m), pt, m->bits, m->remote_offset, user, m->hdr, m->op, m->type);
  case FETCH: return PtlFetchAtomic(get, m->get_offset, md, m->offset, m->length, target_of(m), pt, m->bits, m->remote_offset, user, m->hdr, m->op, m->type);
  default: return PtlSwap(get, m->get_offset, md, m->offset, m->length, target_of(m), pt, m->bits, m->remote_offset, user, m->hdr, m->operand, m->op, m->type);
  }
}
static int do_triggered_move(const o_move *m, ptl_handle_ct_t ct, uint64_t threshold) {
  const o_rank *o = &O[m->from];
  const ptl_handle_md_t md = o->md[m->md].h, get = o->md[m->get_md].h;
  void *user = (void *)(uintptr_t)m->number;
  const ptl_pt_index_t pt = (ptl_pt_index_t)m->pt;
  switch (m->kind) {
  case PUT: return PtlTriggeredPut(md, m->offset, m->length, m->ack, target_of(m), pt, m->bits, m->remote_offset, user, m->hdr, ct, threshold);
  case GET: return PtlTriggeredGet(md, m->offset, m->length, target_of(m), pt, m->bits, m->remote_offset, user, ct, threshold);
  case ATOMIC: return PtlTriggeredAtomic(md, m->offset, m->length, m->ack, target_of(m), pt, m->bits, m->remote_offset, user, m->hdr, m->op, m->type, ct, threshold);
  case FETCH: return PtlTriggeredFetchAtomic(get, m->get_offset, md, m->offset, m->length, target_of(m), pt, m->bits, m->remote_offset, user, m->hdr, m->op, m->type, ct, threshold);
  default: return PtlTriggeredSwap(get, m->get_offset, md, m->offset, m->length, target_of(m), pt, m->bits, m->remote_offset, user, m->hdr, m->operand, m->op, m->type, ct, threshold);
  }
}
static void call_move(int r) {
  const o_move m = random_move(r, !has_move_trigger);
  const int wanted = o_call_move(&m);
  snprintf(last_call, sizeof last_call, "move kind %d, %d bytes, op %d, type %d, ack %d", m.kind, (int)m.length, m.op, m.type, m.ack);
  CODE(do_move(&m), wanted);
  if (!wanted) o_send(&m);
}
static void call_trigger(int r) {
  o_rank *o = &O[r];
  o_trigger t;
  const int trig = (int)below(CTS);
  int wanted = PTL_OK, code;
  memset(&t, 0, sizeof t);
  t.ct = trig;
  t.target = (int)below(CTS);
  t.threshold = o->value[trig].success + o->value[trig].failure + below(4);
  t.value = (ptl_ct_event_t){below(3), below(6) == 0};
  if (below(20) == 0) t.threshold = below(4);
  t.kind = local_triggers ? (int)(T_INC + below(is_matching ? 4 : 2)) : T_MOVE;
  if (t.kind == T_MOVE && has_move_trigger) return;
  snprintf(last_call, sizeof last_call, "trigger kind %d threshold %d", t.kind, (int)t.threshold);
  if (t.kind == T_MOVE) {
    t.move = random_move(r, 1);
    t.move.is_triggered = 1;
    wanted = o_call_move(&t.move);
  } else if (t.kind == T_INC && t.value.success && t.value.failure)
    wanted = PTL_ARG_INVALID;
  else if (t.kind == T_APPEND) {
    t.e = random_entry(r);
    wanted = o_call_append(r, t.e);
    if (!wanted && o->entries >= LIMIT_ENTRIES) wanted = PTL_NO_SPACE;
  } else if (t.kind == T_UNLINK) {
    t.e = old_entry(r);
    if (!t.e) return;
    if (!t.e->is_linked && !t.e->headers && !t.e->is_pending) wanted = PTL_ARG_INVALID;
  }
  if (!wanted && o->triggers >= LIMIT_TRIGGERS) wanted = PTL_NO_SPACE;
  if (t.kind == T_MOVE) code = do_triggered_move(&t.move, o->ct[trig], t.threshold);
  else if (t.kind == T_INC) code = PtlTriggeredCTInc(o->ct[t.target], t.value, o->ct[trig], t.threshold);
  else if (t.kind == T_SET) code = PtlTriggeredCTSet(o->ct[t.target], t.value, o->ct[trig], t.threshold);
  else if (t.kind == T_UNLINK) code = PtlTriggeredMEUnlink(t.e->h, o->ct[trig], t.threshold);
  else code = PtlTriggeredMEAppend(o->ni, (ptl_pt_index_t)t.e->pt, &t.e->me, (ptl_list_t)t.e->list, (void *)(uintptr_t)t.e->number, &t.e->h, o->ct[trig], t.threshold);
  CODE(code, wanted);
  if (wanted) return;
  if (t.kind == T_APPEND) o->entries++, t.e->is_pending = 1;
  if (t.kind == T_MOVE) has_move_trigger = 1;
  if (t.e) t.number = t.e->number;
  t.order = o->orders++;
  o->trigger[o->triggers++] = t;
  o_changed(r, trig);
}
static void call_count(int r) {
  o_rank *o = &O[r];
  const int c = (int)below(CTS);
  const ptl_ct_event_t v = {below(3), below(5) == 0};
  snprintf(last_call, sizeof last_call, "count");
  switch (below(6)) {
  case 0:
    CODE(PtlCTSet(o->ct[c], v), PTL_OK);
    o->value[c] = v;
    o_changed(r, c);
    break;
  case 1:
    CODE(PtlCTCancelTriggered(o->ct[c]), PTL_OK);
    for (int k = 0; k < o->triggers;)
      if (o->trigger[k].ct == c) {
        if (o->trigger[k].kind == T_MOVE) has_move_trigger = 0;
        if (o->trigger[k].kind == T_APPEND) o->trigger[k].e->is_pending = 0, o->entries--;
        memmove(&o->trigger[k], &o->trigger[k + 1], (size_t)(--o->triggers - k) * sizeof o->trigger[0]);
      } else
        k++;
    break;
  default:
    CODE(PtlCTInc(o->ct[c], v), v.success && v.failure ? PTL_ARG_INVALID : PTL_OK);
    if (v.success && v.failure) return;
    o->value[c].success += v.success, o->value[c].failure += v.failure;
    o_changed(r, c);
  }
}
static void call_pt(int r) {
  o_rank *o = &O[r];
  const int p = (int)below(PTS);
  o_pt *pt = &o->pt[p];
  snprintf(last_call, sizeof last_call, "portal %d", p);
  switch (pt->is_there ? below(7) : 2) {
  case 0:
    CODE(PtlPTDisable(o->ni, (ptl_pt_index_t)p), pt->is_there ? PTL_OK : PTL_ARG_INVALID);
    pt->is_on = 0;
    break;
  case 1: {
    const int wanted = !pt->is_there ? PTL_ARG_INVALID : pt->count[0] + pt->count[1] && !S.pt_free_purges ? PTL_PT_IN_USE : PTL_OK;
    CODE(PtlPTFree(o->ni, (ptl_pt_index_t)p), wanted);
    if (wanted) return;
    if (pt->options & PTL_PT_FLOWCTRL) o->eq[pt->eq].reserved--;
    for (int k = 0; k < pt->headers; k++) {
      o_entry *e = pt->header[k].e;
      o->headers--;
      if (--e->headers == 0 && !e->is_linked) o->entries--;
    }
    for (int list = 0; list < 2; list++)
      for (int k = 0; k < pt->count[list]; k++) pt->list[list][k]->is_linked = 0, o->entries--;
    memset(pt, 0, sizeof *pt);
    break;
  }
  case 2:
  case 3: {
    const int eq = (int)below(EQS + 1) - 1;
    const unsigned int options = below(3) == 0 ? PTL_PT_FLOWCTRL : below(8) ? 0 : (unsigned int)below(32);
    ptl_pt_index_t got = 99;
    if (eq == 0) return; /* that of the descriptors */
    const int wanted = (options & PTL_PT_FLOWCTRL) && eq < 0 ? PTL_PT_EQ_NEEDED : pt->is_there ? PTL_PT_IN_USE : PTL_OK;
    CODE(PtlPTAlloc(o->ni, options, eq < 0 ? PTL_EQ_NONE : o->eq[eq].h, (ptl_pt_index_t)p, &got), wanted);
    if (wanted) return;
    CHECK(got == (ptl_pt_index_t)p);
    pt->is_there = 1, pt->is_on = !(options & PTL_PT_ALLOC_DISABLED), pt->options = options, pt->eq = eq;
    if (options & PTL_PT_FLOWCTRL) o->eq[eq].reserved++;
    break;
  }
  default:
    CODE(PtlPTEnable(o->ni, (ptl_pt_index_t)p), pt->is_there ? PTL_OK : PTL_ARG_INVALID);
    pt->is_on = pt->is_there;
  }
}

/* ---- comparison ----------------------------------------------------------------------------------- */
static bool events_agree(const ptl_event_t *a, const ptl_event_t *b) {
  if (a->type != b->type || a->user_ptr != b->user_ptr || a->ni_fail_type != b->ni_fail_type) return 0;
  if (a->type == PTL_EVENT_SEND) return a->mlength == b->mlength;
  if (a->type == PTL_EVENT_ACK || a->type == PTL_EVENT_REPLY)
    return a->mlength == b->mlength && (a->ni_fail_type || (a->remote_offset == b->remote_offset && a->ptl_list == b->ptl_list));
  if (a->pt_index != b->pt_index) return 0;
  if (a->type >= PTL_EVENT_PT_DISABLED && !(a->type == PTL_EVENT_SEARCH && !a->ni_fail_type)) return 1;
  return a->mlength == b->mlength && a->rlength == b->rlength && a->remote_offset == b->remote_offset && a->hdr_data == b->hdr_data &&
         (!is_matching || a->match_bits == b->match_bits) && a->uid == b->uid && a->ptl_list == b->ptl_list &&
         (!a->mlength || a->start == b->start) && a->atomic_operation == b->atomic_operation && a->atomic_type == b->atomic_type &&
         (is_logical ? a->initiator.rank == b->initiator.rank : memcmp(&a->initiator, &b->initiator, sizeof a->initiator) == 0);
}
static void drain(int r, int q) {
  o_eq *eq = &O[r].eq[q];
  ptl_event_t e;
  int code;
  snprintf(last_call, sizeof last_call, "rank %d queue %d", r, q);
  while (eq->used) {
    int k = 0;
    code = PtlEQGet(eq->h, &e);
    CODE(code, eq->lost ? PTL_EQ_DROPPED : PTL_OK);
    eq->lost = 0;
    if (code != PTL_OK && code != PTL_EQ_DROPPED) break;
    if (q == 0) /* SEND may come early, so answers of two operations may stand in any order */
      while (k < eq->used - 1 && !events_agree(&e, &eq->ring[k])) k++;
    if (!events_agree(&e, &eq->ring[k])) {
      printf("  rank %d queue %d: %s %s of %d, mlength %d, expected %s %s of %d, mlength %d\n", r, q, pm_ptl_event_name(e.type), pm_ptl_fail_name(e.ni_fail_type), (int)(uintptr_t)e.user_ptr, (int)e.mlength,
             pm_ptl_event_name(eq->ring[k].type), pm_ptl_fail_name(eq->ring[k].ni_fail_type), (int)(uintptr_t)eq->ring[k].user_ptr, (int)eq->ring[k].mlength);
      CHECK(0);
    }
    events_seen[e.type]++;
    memmove(eq->ring + k, eq->ring + k + 1, (size_t)(--eq->used - k) * sizeof e);
  }
  CODE(PtlEQGet(eq->h, &e), PTL_EQ_EMPTY);
  eq->used = 0;
}
static void compare(int r) {
  o_rank *o = &O[r];
  for (int c = 0; c < CTS; c++) {
    const ptl_ct_event_t v = count_of(o->ct[c]);
    if (v.success != o->value[c].success || v.failure != o->value[c].failure)
      printf("  rank %d counter %d: %d, %d failures, expected %d, %d, after %s of rank %d\n", r, c, (int)v.success, (int)v.failure, (int)o->value[c].success, (int)o->value[c].failure, step_call, at_turn);
    CHECK(v.success == o->value[c].success && v.failure == o->value[c].failure);
  }
  for (int s = 0; s < PTL_SR_LAST; s++) {
    ptl_sr_value_t v = -1;
    CHECK(PtlNIStatus(o->ni, (ptl_sr_index_t)s, &v) == PTL_OK);
    if (v != o->status[s])
      printf("  rank %d status register %d: %d, expected %d, after %s of rank %d\n", r, s, (int)v, (int)o->status[s], step_call, at_turn);
    CHECK(v == o->status[s]);
  }
  CHECK(memcmp(o->real, o->shadow, sizeof o->real) == 0);
}


static void open_rank(int r) {
  o_rank *o = &O[r];
  ptl_ni_limits_t wish = {0}, got;
  ptl_process_t map[RANKS];
  CHECK(PtlInit() == PTL_OK);
  wish.max_list_size = LIMIT_LIST, wish.max_entries = LIMIT_ENTRIES, wish.max_unexpected_headers = LIMIT_HEADERS, wish.max_triggered_ops = LIMIT_TRIGGERS;
  CHECK(PtlNIInit(PTL_IFACE_DEFAULT, (is_matching ? PTL_NI_MATCHING : PTL_NI_NO_MATCHING) | (is_logical ? PTL_NI_LOGICAL : PTL_NI_PHYSICAL), PTL_PID_ANY, &wish, &got, &o->ni) == PTL_OK);
  CHECK(got.max_list_size == LIMIT_LIST && got.max_unexpected_headers == LIMIT_HEADERS);
  for (int i = 0; i < RANKS; i++) map[i] = pm_process_id(i);
  o->id = map[r];
  if (is_logical) {
    CHECK(PtlSetMap(o->ni, RANKS, map) == PTL_OK);
    memset(&o->id, 0, sizeof o->id);
    o->id.rank = (ptl_rank_t)r;
  }
  for (int i = 0; i < EQS; i++) {
    o->eq[i].count = i ? 1 + (int)below(20) : 2 * MOST;
    CHECK(PtlEQAlloc(o->ni, (ptl_size_t)o->eq[i].count, &o->eq[i].h) == PTL_OK);
  }
  for (int i = 0; i < CTS; i++) CHECK(PtlCTAlloc(o->ni, &o->ct[i]) == PTL_OK);
  for (int i = 0; i < 3; i++) {
    o_md *d = &o->md[i];
    d->md.options = (unsigned int)below(PTL_MD_OPTIONS_MASK + 1);
    if (i == 0) d->md.options &= ~(unsigned int)(PTL_MD_VOLATILE | PTL_MD_UNRELIABLE | PTL_IOVEC);
    d->md.start = region(r, 0, d->md.options, d->pieces, &d->md.length);
    if (i == 0) d->md.start = o->real + AREA, d->md.length = 300;
    d->eq = i == 2 && below(2) ? -1 : 0, d->ct = i == 1 && below(2) ? -1 : 0;
    d->md.eq_handle = d->eq < 0 ? PTL_EQ_NONE : o->eq[0].h;
    d->md.ct_handle = d->ct < 0 ? PTL_CT_NONE : o->ct[0];
    CHECK(PtlMDBind(o->ni, &d->md, &d->h) == PTL_OK);
  }
  for (size_t k = 0; k < sizeof o->real; k++) o->real[k] = o->shadow[k] = (unsigned char)(below(3) ? test_rand() : below(2) ? 0 : 255);
}
static void body(void *unused) {
  const int me = pm_rank();
  (void)unused;
  for (int r = 0; r < RANKS; r++) { /* one after the other: they share the numbers */
    if (r == me) open_rank(me);
    pm_barrier();
  }
  for (int step = 0; step < STEPS && !test_bad; step++) {
    if (me == 0) at_turn = (int)below(RANKS);
    pm_barrier();
    if (me == at_turn) {
      switch (below(15)) {
      case 0: case 1: call_pt(me); break;
      case 2: case 3: case 4: call_append(me); break;
      case 5: call_unlink(me); break;
      case 6: call_search(me); break;
      case 7: call_count(me); break;
      case 8: case 9: call_trigger(me); break;
      default: call_move(me);
      }
      o_fire();
      memcpy(step_call, last_call, sizeof step_call);
    }
    pm_sleep_ns(1000000);
    pm_barrier();
    for (int r = 0; r < RANKS; r++) {
      if (r == me) {
        drain(me, 0);
        for (int q = 1; q < EQS; q++)
          if (below(3) == 0) drain(me, q);
        compare(me);
      }
      pm_barrier();
    }
  }
  CHECK(PtlNIFini(O[me].ni) == PTL_OK);
  PtlFini();
}
static void calls_do_what_the_specification_says(void) {
  for (int round = 0; round < test_rounds(IS_ON_RTL ? 14 : 400) && !test_bad; round++) {
    pm_platform p = pm_platform_bxi2(RANKS);
    pm_world_desc desc = {0};
    desc.platform = &p;
    desc.link = round % 3 == 1 ? PM_LINK_LOGGP : round % 3 == 2 ? PM_LINK_PACKET : PM_LINK_FLOW;
    is_one_node = round % 7 == 6, is_inside_by_nic = 0;
    if (is_one_node) p.node_count = 1, p.procs_per_node_count = RANKS, p.intra_uses_nic = (int64_t)below(2), is_inside_by_nic = p.intra_uses_nic;
    p.nic_count = 1 + (int64_t)below(3);
    if (below(2)) p.rail_split_bytes = (int64_t)below(150);
    if (IS_ON_RTL) desc.link = PM_LINK_FLOW, p.nic_count = 1, p.rail_split_bytes = 0; /* what NICs in RTL can */
    is_matching = below(4) != 0, is_logical = below(2), local_triggers = below(2);
    memset(&S, 0, sizeof S);
    if (round % 2) { /* as other implementations do */
      S.pt_free_purges = (int)below(2), S.eq_drops_newest = (int)below(2), S.trigger_success_only = (int)below(2), S.search_closing_event = (int)below(2);
      S.uid_is_matched = (int)below(2), S.offset_beyond_is_segv = (int)below(2), S.pt_missing_undeliverable = (int)below(2);
      S.success_disable_overflow = (int)below(2), S.oc_ack_counts_success = (int)below(2), S.pt_hints_bind = (int)below(2);
    }
    desc.semantics = S;
    has_move_trigger = 0;
    numbers = fire_first = fire_last = 0;
    O = (o_rank *)calloc(RANKS, sizeof *O);
    run_world(0, body, &desc);
    free(O);
    if (test_bad) printf("  round %d: %s, %s, level %d\n", round, is_matching ? "matching" : "not matching", is_logical ? "logical" : "physical", (int)desc.link);
  }
  if (IS_ON_RTL) return;
  CHECK(fired_moves > 20);
  for (int k = 0; k < PTL_EVENT_LAST; k++) /* none went untried */
    CHECK(events_seen[k] > 0);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(calls_do_what_the_specification_says);
  return TEST_END();
}
