/* Unexpected headers and searches of the whole NIC: random calls, event for event as the model tells them; headers whose
 * message is still under way; all places in use; and the cycles that an append takes to look through them. */
#include "tests/model/ptl.h"
#include "tests/rtl/cosim.h"

enum {
  STEPS = 300,
  RECORDS = 4000,
  AREA = 0x8000,
  LONG_BYTES = 0x10000,
  BASE = 0x10000,
  LONG_BASE = 0x40000
};
enum { SEND, SEND_LONG, APPEND, SEARCH, UNLINK };
typedef struct step {
  int what, kind, pt, from, is_delete, target; /* target: of UNLINK, the step of the append */
  cosim_entry e;
  bool mutes_unlink,
      is_quick; /* is_quick: the next step follows at once, what is told is told there */
  uint64_t match, hdr_data;
  uint32_t bytes, offset;
} step;
typedef struct record {
  int step, type, pt, peer, status, list;
  uint64_t user, start, match, hdr_data, success, failure;
  uint32_t rlength, mlength;
} record;
static step Plan[STEPS];
static record Log[2][RECORDS]; /* of the model, of the NIC */
static int Count[2];
enum { UNLINKED = 100, COUNTED }; /* types beside Portals' */
/* By the step of an append, on the NIC: the event of a header says that the entry is not linked; AUTO_UNLINK says so */
static bool Header_says[STEPS], Host_is_told[STEPS];

static void note(int whose, record r) {
  CHECK(Count[whose] < RECORDS);
  if (Count[whose] < RECORDS) Log[whose][Count[whose]++] = r;
}
static void plan_entry(step *s, int i) {
  cosim_entry *e = &s->e;
  e->pt = 3 + 2 * (int)test_below(2), s->pt = e->pt;
  e->src = test_below(8) ? -1 : (int)test_below(2), e->pid = -1, e->uid = -1, e->ct = -1;
  e->match = test_below(6), e->ignore_bits = test_below(4) ? 0 : test_below(3) ? 3 : ~0ull;
  e->op_put = e->op_get = 1;
  e->use_once = test_below(8) != 0, e->manage_local = test_below(3) == 0;
  e->no_truncate = test_below(6) == 0;
  e->size_bytes = 8 * test_below(60), e->min_free = 8 * (uint32_t)test_below(20);
  e->user = 1000 + (uint64_t)i, e->start = BASE + 8 * test_below(AREA / 8 - 64);
  e->no_over = test_below(8) == 0, e->count_over = test_below(3) == 0;
  e->ct_bytes = test_below(3) == 0;
  e->overflow = s->what == APPEND && test_below(3) == 0;
  if (e->overflow) {
    e->keep_headers = test_below(8) != 0;
    e->ignore_bits = test_below(4) ? ~0ull : 0;
    if (test_below(3)) e->use_once = 0, e->manage_local = 1, e->size_bytes += 200;
  } else if (s->what == APPEND)
    e->add_lengths = e->manage_local && !e->use_once && test_below(2);
  s->mutes_unlink = (e->overflow && !e->keep_headers) || test_below(8) == 0;
  e->no_events = test_below(6) == 0, e->quiet = test_below(4) == 0;
  e->tell_left = !s->mutes_unlink;
  e->tell_free = e->overflow && !s->mutes_unlink;
}
/* A long message to an overflow entry, at a portal index of their own; what comes then finds it under way. No entry there
   is without room, as a message that is not written ends at once. */
static void plan_long(int i) {
  cosim_entry *e = &Plan[i].e, *finds = &Plan[i + 2].e;
  Plan[i].what = APPEND, Plan[i + 1].what = SEND_LONG;
  Plan[i + 2].what = test_below(3) ? APPEND : SEARCH, Plan[i + 2].is_delete = test_below(3) != 0;
  plan_entry(&Plan[i], i), plan_entry(&Plan[i + 2], i + 2);
  e->overflow = e->keep_headers = e->use_once = e->tell_free = e->tell_left = 1;
  finds->overflow = finds->keep_headers = finds->tell_free = 0;
  e->add_lengths = e->no_events = e->manage_local = e->no_truncate = 0;
  finds->add_lengths = finds->no_events = finds->manage_local = 0;
  e->src = -1, e->match = 40 + test_below(2), e->ignore_bits = 0;
  e->size_bytes = LONG_BYTES, e->start = LONG_BASE, finds->size_bytes = 64;
  if (test_below(4)) finds->match = e->match, finds->no_truncate = 0, finds->src = -1;
  Plan[i].mutes_unlink = 0;
  for (int k = 0; k < 3; k++) Plan[i + k].pt = Plan[i + k].e.pt = 7;
  Plan[i + 1].match = e->match, Plan[i + 1].bytes = LONG_BYTES, Plan[i + 1].hdr_data = (uint64_t)i;
}
/* Entries that take what carries match alone, at the portal index of plan_long() */
static cosim_entry *plan_for(int i, uint64_t match, uint32_t size_bytes) {
  step *s = &Plan[i];
  cosim_entry *e = &s->e;
  memset(s, 0, sizeof *s);
  s->what = APPEND, s->pt = e->pt = 7;
  e->src = e->pid = e->ct = -1, e->uid = -1, e->op_put = e->op_get = 1;
  e->tell_left = 1;
  e->match = match, e->user = 1000 + (uint64_t)i, e->start = BASE + 1024 * test_below(16);
  e->size_bytes = size_bytes;
  return e;
}
static void plan_send(int i, uint64_t match, uint32_t bytes, uint32_t offset) {
  memset(&Plan[i], 0, sizeof Plan[i]);
  Plan[i].what = SEND, Plan[i].kind = COSIM_KIND_PUT, Plan[i].pt = 7;
  Plan[i].match = match, Plan[i].bytes = bytes, Plan[i].offset = offset,
  Plan[i].hdr_data = (uint64_t)i;
}
static void plan_overflow(int i, uint64_t match) {
  cosim_entry *e = plan_for(i, match, 1024);
  e->overflow = e->keep_headers = e->tell_free = 1;
}
/* Three messages wait; an entry that counts their lengths has room for a fourth at the offset that they left, has just
   as much left as it must have, or less and so is used up by the third. Returns how many steps it takes. */
enum { GROWTH_STEPS = 6, FIT_STEPS = 3, OWN_STEPS = 5, EMPTY_STEPS = 3, CLAIM_STEPS = 4 };
static void plan_growth(int i, int left_more) {
  const uint64_t match = 1000 + (uint64_t)i;
  const uint32_t min_free = 8 + 8 * (uint32_t)test_below(4);
  uint32_t bytes = 0;
  plan_overflow(i, match);
  for (int k = 1; k <= 3; k++) {
    if (k == 2) /* cut short by the overflow entry: what was sent counts */
      plan_send(i + k, match, 16 + 8 * (uint32_t)test_below(4), 1016);
    else
      plan_send(i + k, match, 8 + 8 * (uint32_t)test_below(4), 0);
    bytes += Plan[i + k].bytes;
  }
  cosim_entry *e = plan_for(i + 4, match, bytes + min_free + (uint32_t)(8 * left_more));
  e->manage_local = e->add_lengths = 1, e->min_free = min_free;
  plan_send(i + 5, match, 8, 0);
}
/* A message that ends where the entry ends, one byte behind or one before: for an entry that cuts none short */
static void plan_fit(int i, int more) {
  const uint64_t match = 1000 + (uint64_t)i;
  const uint32_t bytes = 8 + 8 * (uint32_t)test_below(6), offset = 8 * (uint32_t)test_below(6);
  plan_overflow(i, match);
  plan_send(i + 1, match, bytes, offset);
  plan_for(i + 2, match, bytes + offset + (uint32_t)more)->no_truncate = 1;
  Plan[i + 2].e.use_once = 1;
}
/* The same for an entry, and a search, that manage their offset: not the message's one counts, but what messages before
   have left, which a search does not add up */
static void plan_own_room(int i, int more) {
  const uint64_t match = 1000 + (uint64_t)i;
  const uint32_t bytes[] = {8 + 8 * (uint32_t)test_below(6), 8 + 8 * (uint32_t)test_below(6)};
  plan_overflow(i, match);
  for (int k = 0; k < 2; k++) plan_send(i + 1 + k, match, bytes[k], 64);
  cosim_entry *e = plan_for(i + 3, match, bytes[0] + (uint32_t)more);
  Plan[i + 3].what = SEARCH;
  e->no_truncate = e->manage_local = 1;
  e = plan_for(i + 4, match, bytes[0] + bytes[1] + (uint32_t)more);
  e->no_truncate = e->manage_local = e->add_lengths = 1;
}
/* A message without data that begins behind the end of such an entry is not for it; one that begins at its end is */
static void plan_empty(int i, int more) {
  const uint64_t match = 1000 + (uint64_t)i;
  const uint32_t bytes = 8 * (uint32_t)test_below(6);
  plan_overflow(i, match);
  plan_for(i + 1, match, bytes)->no_truncate = 1;
  Plan[i + 1].e.use_once = 1;
  plan_send(i + 2, match, 0, bytes + (uint32_t)more);
}
/* While its message is under way, a header that an append has claimed is not there for the next one */
static void plan_claim(int i) {
  const uint64_t match = 1000 + (uint64_t)i;
  plan_overflow(i, match);
  Plan[i].e.size_bytes = LONG_BYTES, Plan[i].e.start = LONG_BASE;
  plan_send(i + 1, match, LONG_BYTES, 0);
  Plan[i + 1].what = SEND_LONG;
  plan_for(i + 2, match, 64)->use_once = 1;
  plan_for(i + 3, match, 64)->use_once = 1;
  Plan[i + 2].is_quick = 1;
}
/* Each of them once; ret: how many steps */
static int plan_hard_cases(void) {
  int i = 0, k;
  for (k = -1; k <= 1; k++, i += GROWTH_STEPS) plan_growth(i, k);
  for (k = -1; k <= 1; k++, i += FIT_STEPS) plan_fit(i, k);
  for (k = -1; k <= 1; k++, i += OWN_STEPS) plan_own_room(i, k);
  for (k = 0; k <= 1; k++, i += EMPTY_STEPS) plan_empty(i, k);
  plan_claim(i);
  return i + CLAIM_STEPS;
}
static void plan(void) {
  static const int kinds[] = {COSIM_KIND_PUT, COSIM_KIND_PUT,    COSIM_KIND_PUT,
                              COSIM_KIND_GET, COSIM_KIND_ATOMIC, COSIM_KIND_FETCH};
  memset(Plan, 0, sizeof Plan);
  for (int i = plan_hard_cases(); i < STEPS; i++) {
    step *s = &Plan[i];
    const int draw = (int)test_below(100);
    if (draw < 4 && i + 3 < STEPS) {
      plan_long(i);
      i += 2;
      continue;
    }
    s->what = draw < 46 ? SEND : draw < 80 || !i ? APPEND : draw < 92 ? SEARCH : UNLINK;
    s->pt = 3 + 2 * (int)test_below(2), s->kind = kinds[test_below(6)];
    s->match = test_below(6), s->hdr_data = test_rand(), s->offset = 8 * (uint32_t)test_below(8);
    s->bytes = s->kind == COSIM_KIND_ATOMIC || s->kind == COSIM_KIND_FETCH
                   ? 8
                   : 8 * (uint32_t)test_below(12);
    s->is_delete = test_below(2) == 0, s->target = i ? (int)test_below((uint64_t)i) : 0;
    if (s->what == APPEND || s->what == SEARCH) plan_entry(s, i);
  }
}

/* ---- on the model ---- */
static unsigned char Area[LONG_BASE + LONG_BYTES];
static ptl_me_t me_of(const side *s, const cosim_entry *e, bool mutes_unlink) {
  ptl_me_t me = entry(Area + e->start, e->size_bytes, e->match, PTL_ME_OP_PUT | PTL_ME_OP_GET);
  me.ignore_bits = e->ignore_bits, me.ct_handle = s->ct, me.min_free = e->min_free;
  if (e->src >= 0) me.match_id.phys.nid = (ptl_nid_t)e->src;
  if (e->use_once) me.options |= PTL_ME_USE_ONCE;
  if (e->manage_local) me.options |= PTL_ME_MANAGE_LOCAL;
  if (e->no_truncate) me.options |= PTL_ME_NO_TRUNCATE;
  if (e->no_events) me.options |= PTL_ME_EVENT_COMM_DISABLE;
  if (e->quiet) me.options |= PTL_ME_EVENT_SUCCESS_DISABLE;
  if (e->overflow && !e->keep_headers) me.options |= PTL_ME_UNEXPECTED_HDR_DISABLE;
  if (e->no_over) me.options |= PTL_ME_EVENT_OVER_DISABLE;
  if (e->count_over) me.options |= PTL_ME_EVENT_CT_OVERFLOW;
  if (e->ct_bytes) me.options |= PTL_ME_EVENT_CT_BYTES;
  if (e->add_lengths) me.options |= PTL_ME_LOCAL_INC_UH_RLENGTH;
  if (mutes_unlink) me.options |= PTL_ME_EVENT_UNLINK_DISABLE;
  return me;
}
static void model_sends(const side *s, const step *x) {
  const ptl_process_t to = pm_process_id(1);
  const ptl_pt_index_t pt = (ptl_pt_index_t)x->pt;
  int code;
  if (x->what == SEND_LONG || x->kind == COSIM_KIND_PUT)
    code =
        PtlPut(s->md, 0, x->bytes, PTL_NO_ACK_REQ, to, pt, x->match, x->offset, NULL, x->hdr_data);
  else if (x->kind == COSIM_KIND_GET)
    code = PtlGet(s->md, 0, x->bytes, to, pt, x->match, x->offset, NULL);
  else if (x->kind == COSIM_KIND_ATOMIC)
    code = PtlAtomic(s->md, 0, 8, PTL_NO_ACK_REQ, to, pt, x->match, x->offset, NULL, x->hdr_data,
                     PTL_SUM, PTL_INT64_T);
  else
    code = PtlFetchAtomic(s->md, 64, s->md, 0, 8, to, pt, x->match, x->offset, NULL, x->hdr_data,
                          PTL_SUM, PTL_INT64_T);
  CHECK(code == PTL_OK);
}
static void model_acts(side *s, int i, ptl_handle_me_t *handles) {
  const step *x = &Plan[i];
  ptl_me_t me = me_of(s, &x->e, x->mutes_unlink);
  void *user = (void *)(uintptr_t)x->e.user;
  if (x->what == APPEND)
    CHECK(PtlMEAppend(s->ni, (ptl_pt_index_t)x->pt, &me,
                      x->e.overflow ? PTL_OVERFLOW_LIST : PTL_PRIORITY_LIST, user,
                      &handles[i]) == PTL_OK);
  if (x->what == SEARCH)
    CHECK(PtlMESearch(s->ni, (ptl_pt_index_t)x->pt, &me,
                      x->is_delete ? PTL_SEARCH_DELETE : PTL_SEARCH_ONLY, user) == PTL_OK);
  if (x->what == UNLINK && Plan[x->target].what == APPEND)
    note(0, (record){
                .step = i, .type = UNLINKED, .status = PtlMEUnlink(handles[x->target]) == PTL_OK});
}
static void model_tells(const side *s, int i) {
  ptl_event_t e;
  ptl_ct_event_t count = count_of(s->ct);
  while (PtlEQGet(s->eq, &e) == PTL_OK) {
    record r = {.step = i, .type = e.type, .pt = (int)e.pt_index, .user = (uintptr_t)e.user_ptr};
    const bool has_message = e.type <= PTL_EVENT_FETCH_ATOMIC_OVERFLOW ||
                             (e.type == PTL_EVENT_SEARCH && e.ni_fail_type == PTL_NI_OK);
    r.status = e.ni_fail_type != PTL_NI_OK, r.match = e.match_bits;
    if (has_message) {
      r.start = (uint64_t)((unsigned char *)e.start - Area), r.hdr_data = e.hdr_data;
      r.rlength = (uint32_t)e.rlength, r.mlength = (uint32_t)e.mlength, r.list = e.ptl_list;
      r.peer = (int)e.initiator.phys.nid;
    }
    note(0, r);
  }
  note(0, (record){.step = i, .type = COUNTED, .success = count.success, .failure = count.failure});
}
/* A message is under way between its match and the end of the last write over PCI: slow PCI makes that long. How long
   after a long put the middle of it is, is measured first. */
enum { PCI_NS = 20000 };
static int64_t long_ns;
static void measure_body(void *unused) {
  side s;
  ptl_event_t e;
  (void)unused;
  side_open(&s, PTL_NI_MATCHING, 0, 0);
  ptl_md_t md = {Area, LONG_BYTES, 0, PTL_EQ_NONE, PTL_CT_NONE};
  CHECK(PtlMDBind(s.ni, &md, &s.md) == PTL_OK);
  if (pm_rank() == 1)
    append(&s, entry(Area + LONG_BASE, LONG_BYTES, 1, PTL_ME_OP_PUT | PTL_ME_EVENT_LINK_DISABLE),
           PTL_PRIORITY_LIST, NULL);
  pm_barrier();
  if (pm_rank() == 1) {
    const int64_t t_ns = pm_now_ns();
    CHECK(PtlEQWait(s.eq, &e) == PTL_OK && e.type == PTL_EVENT_PUT);
    long_ns = pm_now_ns() - t_ns - PCI_NS / 2;
  } else
    CHECK(PtlPut(s.md, 0, LONG_BYTES, PTL_NO_ACK_REQ, pm_process_id(1), 3, 1, 0, NULL, 0) ==
          PTL_OK);
  pm_sleep_ns(400000);
  side_close(&s);
}
static void model_body(void *unused) {
  static ptl_handle_me_t handles[STEPS];
  side s;
  (void)unused;
  side_open(&s, PTL_NI_MATCHING, 0, 0);
  CHECK(PtlPTAlloc(s.ni, 0, s.eq, 5, &s.pt) == PTL_OK);
  CHECK(PtlPTAlloc(s.ni, 0, s.eq, 7, &s.pt) == PTL_OK);
  ptl_md_t md = {Area, LONG_BYTES, 0, PTL_EQ_NONE, PTL_CT_NONE};
  CHECK(PtlMDBind(s.ni, &md, &s.md) == PTL_OK);
  for (int i = 0; i < STEPS; i++) {
    const step *x = &Plan[i];
    pm_barrier();
    if (pm_rank() == 0 && x->what <= SEND_LONG) model_sends(&s, x);
    if (x->what == SEND_LONG) pm_sleep_ns(long_ns);
    if (pm_rank() == 1) model_acts(&s, i, handles);
    if (x->is_quick) continue;
    if (x->what != SEND_LONG) pm_sleep_ns(400000);
    if (pm_rank() == 1) model_tells(&s, i);
  }
  pm_barrier();
  side_close(&s);
}

/* ---- on the NIC ---- */
static const int type_of[] = {[COSIM_EV_GET] = PTL_EVENT_GET,
                              [COSIM_EV_PUT] = PTL_EVENT_PUT,
                              [COSIM_EV_ATOMIC] = PTL_EVENT_ATOMIC,
                              [COSIM_EV_FETCH] = PTL_EVENT_FETCH_ATOMIC,
                              [COSIM_EV_GET + COSIM_EV_OVERFLOW] = PTL_EVENT_GET_OVERFLOW,
                              [COSIM_EV_PUT + COSIM_EV_OVERFLOW] = PTL_EVENT_PUT_OVERFLOW,
                              [COSIM_EV_ATOMIC + COSIM_EV_OVERFLOW] = PTL_EVENT_ATOMIC_OVERFLOW,
                              [COSIM_EV_FETCH + COSIM_EV_OVERFLOW] =
                                  PTL_EVENT_FETCH_ATOMIC_OVERFLOW,
                              [COSIM_EV_LINK] = PTL_EVENT_LINK,
                              [COSIM_EV_AUTO_UNLINK] = PTL_EVENT_AUTO_UNLINK,
                              [COSIM_EV_AUTO_FREE] = PTL_EVENT_AUTO_FREE,
                              [COSIM_EV_SEARCH] = PTL_EVENT_SEARCH};
static void nic_sends(cosim *sim, const step *x) {
  cosim_command c =
      host_command(x->what == SEND_LONG ? COSIM_KIND_PUT : x->kind, 1, x->match, 0x1000, x->bytes);
  c.pt = x->pt, c.offset = x->offset, c.hdr_data = x->kind == COSIM_KIND_GET ? 0 : x->hdr_data;
  if (x->what == SEND_LONG) c.hdr_data = x->hdr_data;
  c.op = COSIM_OP_SUM, c.size_log2 = 3, c.is_signed = 1;
  cosim_submit(sim, 0, (int)test_below(2), &c, NULL);
}
/* What the model tells of an entry by two events is one event with a bit here; and the host asked to be told of each
   append, whether the entry wants AUTO_UNLINK or not. */
static void nic_told(int i, const cosim_event *e) {
  const step *of = e->user >= 1000 ? &Plan[e->user - 1000] : NULL;
  record r = {.step = i, .type = type_of[e->type], .pt = e->pt & 15, .user = e->user};
  const bool has_message =
      e->type <= COSIM_EV_FETCH + COSIM_EV_OVERFLOW || (e->type == COSIM_EV_SEARCH && !e->status);
  if (e->type == COSIM_EV_UNLINK) {
    note(1, (record){.step = i, .type = UNLINKED, .status = e->status == COSIM_OK});
    return;
  }
  if (e->type == COSIM_EV_AUTO_UNLINK && !e->unlinked) /* not by a message that nothing tells of */
    Host_is_told[e->user - 1000] = 1;
  else if (e->type & COSIM_EV_OVERFLOW && e->type <= COSIM_EV_FETCH + COSIM_EV_OVERFLOW)
    Header_says[e->user - 1000] |= e->unlinked;
  r.status = e->status != COSIM_OK;
  if (e->type == COSIM_EV_SEARCH) r.match = e->match;
  if (has_message) {
    r.start = e->start, r.match = e->match, r.hdr_data = e->hdr_data,
    r.rlength = e->requested_bytes;
    r.mlength = e->moved_bytes, r.list = e->overflow, r.peer = e->peer;
  }
  if (e->type != COSIM_EV_AUTO_UNLINK || !of->mutes_unlink) note(1, r);
  if (has_message && e->unlinked && !(e->type & COSIM_EV_OVERFLOW) && !of->mutes_unlink)
    note(1, (record){.step = i, .type = PTL_EVENT_AUTO_UNLINK, .pt = r.pt, .user = e->user});
}
static void nic_tells(cosim *sim, int i) {
  cosim_event e;
  while (host_event(sim, 1, &e)) nic_told(i, &e);
  while (host_event(sim, 0, &e)) {
  }
  note(1, (record){.step = i,
                   .type = COUNTED,
                   .success = cosim_read(sim, 1, COSIM_CT + COSIM_CT_SUCCESS_LO),
                   .failure = cosim_read(sim, 1, COSIM_CT + COSIM_CT_FAILURE_LO)});
}
static void nic_settles(cosim *sim) {
  cosim_cycles(sim, 150);
  for (int k = 0; k < 400 && !cosim_idle(sim); k++) cosim_cycles(sim, 20);
  CHECK(cosim_idle(sim));
  cosim_cycles(sim, 150);
}
static void nic_does(cosim *sim, int i) {
  const step *x = &Plan[i];
  if (x->what <= SEND_LONG) nic_sends(sim, x);
  if (x->what == APPEND) cosim_append(sim, 1, (int)((uint32_t)i | COSIM_ME_TELL), &x->e);
  if (x->what == SEARCH)
    cosim_search(sim, 1, (uint32_t)i | (x->is_delete ? COSIM_ME_DELETE : 0), &x->e);
  if (x->what == UNLINK && Plan[x->target].what == APPEND)
    cosim_write(sim, 1, COSIM_ME_UNLINK, (uint32_t)x->target | COSIM_ME_TELL);
  if (x->what == SEND_LONG)
    cosim_cycles(sim, 700);
  else if (x->is_quick)
    cosim_cycles(sim, 150);
  else
    nic_settles(sim);
}
static void random_calls_tell_what_the_model_tells(void) {
  cosim_desc d = host_desc(2);
  int seen[128] = {0};
  pm_platform platform = pm_platform_bxi2(2);
  const pm_world_desc world = {.platform = &platform};
  platform.pci_latency_ns = PCI_NS;
  plan();
  memset(Count, 0, sizeof Count);
  memset(Header_says, 0, sizeof Header_says), memset(Host_is_told, 0, sizeof Host_is_told);
  run_world(2, measure_body, &world);
  run_world(2, model_body, &world);
  cosim *sim = host_start(&d);
  for (int i = 0; i < STEPS; i++) {
    nic_does(sim, i);
    if (!Plan[i].is_quick) nic_tells(sim, i);
  }
  CHECK(Count[0] == Count[1]);
  for (int i = 0; i < STEPS; i++) /* in the same words, wherever the header tells anything */
    CHECK(Header_says[i] == (Host_is_told[i] && !Plan[i].e.no_over));
  for (int k = 0; k < Count[0] && k < Count[1]; k++) {
    const record a = Log[0][k], b = Log[1][k];
    seen[a.type]++;
    if (memcmp(&a, &b, sizeof a) == 0) continue;
    for (int w = 0; w < 2; w++) {
      const record *r = &Log[w][k];
      printf("  %s, step %d (%d): type %d pt %d peer %d status %d list %d user %d start %x match "
             "%d, %u of %u bytes, %d %d\n",
             w ? "NIC" : "model", r->step, Plan[r->step].what, r->type, r->pt, r->peer, r->status,
             r->list, (int)r->user, (unsigned)r->start, (int)r->match, r->mlength, r->rlength,
             (int)r->success, (int)r->failure);
    }
    CHECK(0);
    break;
  }
  printf(
      "  %d records alike: %d PUT_OVERFLOW, %d others', %d SEARCH, %d AUTO_FREE, %d AUTO_UNLINK\n",
      Count[0], seen[PTL_EVENT_PUT_OVERFLOW],
      seen[PTL_EVENT_GET_OVERFLOW] + seen[PTL_EVENT_ATOMIC_OVERFLOW] +
          seen[PTL_EVENT_FETCH_ATOMIC_OVERFLOW],
      seen[PTL_EVENT_SEARCH], seen[PTL_EVENT_AUTO_FREE], seen[PTL_EVENT_AUTO_UNLINK]);
  CHECK(seen[PTL_EVENT_PUT_OVERFLOW] && seen[PTL_EVENT_SEARCH] && seen[PTL_EVENT_AUTO_FREE]);
  cosim_destroy(sim);
}

/* As many as there are; one more is refused and switches its portal index off. Then an append looks through all: a cycle
   for each that it is not for. */
static void fill(cosim *sim, int count, uint64_t match) {
  cosim_command c = host_command(COSIM_KIND_PUT, 1, match, 0x1000, 0);
  c.payload = COSIM_PAY_INLINE, c.ct = -1, c.want_ack = 0;
  for (int n = 0; n < count; n++) {
    cosim_submit(sim, 0, 0, &c, NULL);
    if (n % 16 == 15) cosim_cycles(sim, 1200);
  }
  nic_settles(sim);
}
static int64_t cycles_of_append(cosim *sim, int n, const cosim_entry *e) {
  int64_t begin;
  nic_settles(sim);
  cosim_append(sim, 1, n, e);
  begin = cosim_cycle(sim);
  do cosim_cycles(sim, 1);
  while (!cosim_idle(sim));
  return cosim_cycle(sim) - begin;
}
/* Entry 9 leaves them at its portal index: it is not in use, and goes while they stay. */
static void loose_headers_hold_nothing(cosim *sim, const cosim_command *put, cosim_entry *find) {
  cosim_event ev;
  for (int n = 0; n < 2; n++) {
    cosim_submit(sim, 0, 0, put, NULL);
    CHECK(host_event_wait(sim, 0, &ev, 5000) && ev.status == COSIM_OK);
  }
  CHECK(cosim_read(sim, 1, COSIM_HEADERS) == 2 && cosim_read(sim, 1, COSIM_ME_IN_USE) == 0);
  cosim_write(sim, 1, COSIM_ME_UNLINK, 9);
  nic_settles(sim);
  CHECK(!(cosim_read(sim, 1, COSIM_ME_VALID) >> 9 & 1) && cosim_read(sim, 1, COSIM_HEADERS) == 2);
  find->pt = put->pt;
  cosim_search(sim, 1, COSIM_ME_DELETE, find);
  find->pt = 0;
  nic_settles(sim);
  CHECK(cosim_read(sim, 1, COSIM_HEADERS) == 0 && cosim_read(sim, 1, COSIM_ME_IN_USE) == 0);
  CHECK(!host_event(sim, 1, &ev)); /* nor AUTO_FREE */
}
static void all_places_are_used_and_come_back(void) {
  cosim_desc d = host_desc(2);
  d.stall = COSIM_STALL_NONE;
  cosim *sim = host_start(&d);
  cosim_entry e = host_entry(BASE, 64, 0), find = host_entry(BASE, 64, 9), loose;
  cosim_event ev;
  find.pid = find.src = e.pid = e.src = -1, find.uid = e.uid = -1;
  e.overflow = e.keep_headers = e.no_events = 1, e.ignore_bits = ~0ull;
  find.use_once = 1;
  cosim_append(sim, 1, 5, &e);
  cosim_write(sim, 1, COSIM_PT_AUTO, 1);
  const int64_t none = cycles_of_append(sim, 6, &find);
  fill(sim, 1, 1);
  const int64_t one = cycles_of_append(sim, 7, &find);
  fill(sim, COSIM_HEADERS_MAX - 1, 1);
  CHECK(cosim_read(sim, 1, COSIM_HEADERS) == COSIM_HEADERS_MAX);
  const int64_t most = cycles_of_append(sim, 8, &find);
  printf("  an append takes %d cycles more with %d headers than with one, and that %d more than "
         "without\n",
         (int)(most - one), COSIM_HEADERS_MAX, (int)(one - none));
  CHECK(most - one == COSIM_HEADERS_MAX - 1);
  cosim_command c = host_command(COSIM_KIND_PUT, 1, 1, 0x1000, 0);
  c.payload = COSIM_PAY_INLINE;
  cosim_submit(sim, 0, 0, &c, NULL);
  CHECK(host_event_wait(sim, 0, &ev, 5000) && ev.status == COSIM_DROPPED);
  cosim_submit(sim, 0, 0, &c, NULL);
  CHECK(host_event_wait(sim, 0, &ev, 5000) && ev.status == COSIM_PT_DISABLED);
  loose = e, loose.loose_headers = loose.tell_free = 1, loose.pt = c.pt = 1;
  cosim_append(sim, 1, 9, &loose);
  cosim_submit(sim, 0, 0, &c, NULL); /* taken, without a header */
  CHECK(host_event_wait(sim, 0, &ev, 5000) && ev.status == COSIM_OK);
  CHECK(cosim_read(sim, 1, COSIM_HEADERS) == COSIM_HEADERS_MAX);
  cosim_write(sim, 1, COSIM_ME_UNLINK, 5); /* refused: headers use it */
  cosim_cycles(sim, 200);
  CHECK(cosim_counter(sim, 1, COSIM_COUNT_BAD_CMD) == 1);
  CHECK(cosim_read(sim, 1, COSIM_ME_IN_USE) == 1u << 5);
  find.ignore_bits = ~0ull, find.no_over = 1, find.use_once = 0;
  cosim_search(sim, 1, COSIM_ME_DELETE | COSIM_ME_TELL | 2000, &find);
  nic_settles(sim);
  for (int k = 0; k < 100 && cosim_read(sim, 1, COSIM_ME_BUSY); k++) cosim_cycles(sim, 500);
  CHECK(cosim_read(sim, 1, COSIM_HEADERS) == 0 && cosim_read(sim, 1, COSIM_ME_IN_USE) == 0);
  CHECK(host_event(sim, 1, &ev) && ev.type == COSIM_EV_LINK && ev.slot == 2000); /* it is over */
  CHECK(!host_event(sim, 1, &ev)); /* a search for all that finds some closes with none */
  loose_headers_hold_nothing(sim, &c, &find);
  cosim_write(sim, 1, COSIM_PT_ENABLE, 0xFFFF);
  fill(sim, 20, 9); /* places that were used before; three entries wait for them */
  CHECK(cosim_read(sim, 1, COSIM_HEADERS) == 17);
  cosim_write(sim, 1, COSIM_ME_UNLINK, 5 | COSIM_ME_FORCE);
  cosim_append(sim, 1, (int)(5 | COSIM_ME_FORCE), &e); /* waits until the headers are gone */
  cosim_cycles(sim, 300);
  CHECK(cosim_read(sim, 1, COSIM_ME_BUSY) == 1 && cosim_read(sim, 1, COSIM_ME_VALID) == 0);
  cosim_destroy(sim);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(random_calls_tell_what_the_model_tells);
  RUN(all_places_are_used_and_come_back);
  return TEST_END();
}
