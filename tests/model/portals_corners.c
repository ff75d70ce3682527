/* Corners of the specification that programs seldom reach: every argument that may be wrong, the forms of all moves on
   interfaces without matching, pieces that an entry manages itself, interfaces of all kinds at once, ids of processes
   that close and open again. */
#include "tests/model/ptl.h"

enum { QUIET = PTL_ME_EVENT_LINK_DISABLE, PUT_GET = PTL_ME_OP_PUT | PTL_ME_OP_GET };
static void on_each_level(int n, void (*body)(void *arg)) {
  static const int levels[] = {PM_LINK_FLOW, PM_LINK_LOGGP, PM_LINK_PACKET};
  for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
    pm_world_desc desc = {0};
    desc.link = levels[i];
    run_world(n, body, &desc);
  }
}
/* What is sent to oneself is told at both sides in no certain order: the initiator gets a queue of its own. */
static void part_queues(side *s, side *i, unsigned int md_options) {
  i->ni = s->ni;
  CHECK(PtlEQAlloc(s->ni, 16, &i->eq) == PTL_OK && PtlMDRelease(s->md) == PTL_OK);
  const ptl_md_t md = {s->memory, sizeof s->memory, md_options, i->eq, s->ct};
  CHECK(PtlMDBind(s->ni, &md, &s->md) == PTL_OK);
}

/* ---- ids ---------------------------------------------------------------------------------------- */
static void puts_to_itself(side *s, side *i) {
  ptl_process_t self;
  CHECK(PtlGetPhysId(s->ni, &self) == PTL_OK);
  append(s, entry(s->memory + 64, 8, 0, PTL_ME_OP_PUT | PTL_ME_USE_ONCE | QUIET), PTL_PRIORITY_LIST,
         NULL);
  CHECK(PtlPut(s->md, 0, 8, PTL_NO_ACK_REQ, self, 3, 0, 0, NULL, 0) == PTL_OK);
  EXPECT(i, SEND);
  const ptl_event_t e = EXPECT(s, PUT);
  CHECK(e.initiator.phys.nid == self.phys.nid && e.initiator.phys.pid == self.phys.pid);
  EXPECT(s, AUTO_UNLINK);
}
static void again_body(void *unused) {
  side s_, *s = &s_, i_, *i = &i_;
  ptl_process_t id;
  ptl_handle_ni_t ni;
  (void)unused;
  for (ptl_pid_t pid = 40; pid < 46; pid++) {
    const ptl_pid_t wanted = pid == 45 ? PTL_PID_ANY : pid;
    CHECK(PtlInit() == PTL_OK && PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL,
                                           PTL_PID_MAX + 1, NULL, NULL, &ni) == PTL_ARG_INVALID);
    CHECK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, wanted, NULL, NULL,
                    &ni) == PTL_OK);
    CHECK(PtlGetPhysId(ni, &id) == PTL_OK && id.phys.nid == 0 &&
          id.phys.pid == (pid == 45 ? 44 : pid));
    side_open(s, PTL_NI_MATCHING, 0, 0);
    CHECK(s->ni == ni && PtlGetPhysId(ni, &id) == PTL_OK && id.phys.pid == (pid == 45 ? 44 : pid));
    part_queues(s, i, 0);
    puts_to_itself(s, i);
    if (pid > 40) { /* where it was nobody is */
      id.phys.pid = 39;
      CHECK(PtlPut(s->md, 0, 8, PTL_ACK_REQ, id, 3, 0, 0, NULL, 0) == PTL_OK);
      EXPECT(i, SEND);
      CHECK(EXPECT(i, ACK).ni_fail_type == PTL_NI_UNDELIVERABLE);
      id.phys.pid = pid == 45 ? 43 : pid - 1;
      CHECK(PtlPut(s->md, 0, 8, PTL_ACK_REQ, id, 3, 0, 0, NULL, 0) == PTL_OK);
      EXPECT(i, SEND);
      CHECK(EXPECT(i, ACK).ni_fail_type == PTL_NI_UNDELIVERABLE);
    }
    CHECK(PtlNIFini(ni) == PTL_OK);
    side_close(s);
    PtlFini();
  }
}
static void shared_body(void *unused) {
  const unsigned int kinds[] = {PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_NI_NO_MATCHING | PTL_NI_PHYSICAL,
                                PTL_NI_MATCHING | PTL_NI_LOGICAL, PTL_NI_NO_MATCHING | PTL_NI_LOGICAL};
  ptl_handle_ni_t ni[4], other;
  ptl_process_t id;
  (void)unused;
  CHECK(PtlInit() == PTL_OK && PtlNIInit(PTL_IFACE_DEFAULT, kinds[0], 40, NULL, NULL, &ni[0]) == PTL_OK);
  CHECK(PtlNIInit(PTL_IFACE_DEFAULT, kinds[0], 41, NULL, NULL, &other) == PTL_OK && other == ni[0]); /* asks for nothing new */
  for (int k = 1; k < 4; k++) {
    CHECK(PtlNIInit(PTL_IFACE_DEFAULT, kinds[k], 41, NULL, NULL, &ni[k]) == PTL_ARG_INVALID);
    CHECK(PtlNIInit(PTL_IFACE_DEFAULT, kinds[k], k % 2 ? PTL_PID_ANY : 40, NULL, NULL, &ni[k]) == PTL_OK);
    CHECK(PtlGetPhysId(ni[k], &id) == PTL_OK && id.phys.pid == 40);
  }
  for (int k = 3; k >= 0; k--) CHECK(PtlNIFini(ni[k]) == PTL_OK);
  PtlFini();
}
static void another_id_beside_an_open_interface_is_refused(void) { on_each_level(1, shared_body); }
static void unlink_body(void *unused) {
  side m_, *m = &m_, n_, *n = &n_;
  ptl_handle_me_t mh;
  ptl_handle_le_t lh;
  (void)unused;
  side_open(m, PTL_NI_MATCHING, 0, 0), side_open(n, PTL_NI_NO_MATCHING, 0, 0);
  const ptl_me_t me = entry(m->memory, 8, 0, PTL_ME_OP_PUT);
  const ptl_le_t le = {n->memory, 8, PTL_CT_NONE, PTL_UID_ANY, PTL_LE_OP_PUT};
  CHECK(PtlMEAppend(m->ni, m->pt, &me, PTL_PRIORITY_LIST, NULL, &mh) == PTL_OK &&
        PtlLEAppend(n->ni, n->pt, &le, PTL_PRIORITY_LIST, NULL, &lh) == PTL_OK);
  EXPECT(m, LINK), EXPECT(n, LINK);
  CHECK(PtlLEUnlink(mh) == PTL_ARG_INVALID && PtlMEUnlink(lh) == PTL_ARG_INVALID);
  CHECK(PtlMEUnlink(mh) == PTL_OK && PtlLEUnlink(lh) == PTL_OK);
  side_close(n), side_close(m);
}
static void entries_of_the_other_kind_are_not_unlinked(void) { on_each_level(1, unlink_body); }
static void who_opens_again_may_have_another_id(void) { on_each_level(1, again_body); }
static void handed_on_body(void *unused) {
  ptl_handle_ni_t ni;
  ptl_process_t id;
  (void)unused;
  const unsigned options = PTL_NI_MATCHING | PTL_NI_PHYSICAL;
  CHECK(PtlInit() == PTL_OK);
  CHECK(pm_process_id(1).phys.pid == 1); /* that it will have, if it asks for none */
  if (pm_rank() == 0) CHECK(PtlNIInit(PTL_IFACE_DEFAULT, options, 7, NULL, NULL, &ni) == PTL_OK);
  pm_barrier();
  if (pm_rank() == 1)
    CHECK(PtlNIInit(PTL_IFACE_DEFAULT, options, 7, NULL, NULL, &ni) == PTL_PID_IN_USE);
  pm_barrier();
  if (pm_rank() == 0) CHECK(PtlNIFini(ni) == PTL_OK);
  pm_barrier();
  if (pm_rank() == 1) CHECK(PtlNIInit(PTL_IFACE_DEFAULT, options, 7, NULL, NULL, &ni) == PTL_OK && pm_process_id(0).phys.pid == 0);
  pm_barrier();
  if (pm_rank() == 0) { /* its id is another's now */
    CHECK(PtlNIInit(PTL_IFACE_DEFAULT, options, 7, NULL, NULL, &ni) == PTL_PID_IN_USE);
    CHECK(PtlNIInit(PTL_IFACE_DEFAULT, options, PTL_PID_ANY, NULL, NULL, &ni) == PTL_OK);
  }
  CHECK(PtlGetPhysId(ni, &id) == PTL_OK && (id.phys.pid == 7) == (pm_rank() == 1));
  CHECK(pm_process_id(1).phys.pid == 7 && pm_process_id(0).phys.pid != 7);
  pm_barrier();
  CHECK(PtlNIFini(ni) == PTL_OK);
  PtlFini();
}
static void an_id_is_free_when_its_owner_has_closed(void) {
  pm_platform p = pm_platform_bxi2(1);
  pm_world_desc desc = {0};
  p.procs_per_node_count = 2;
  desc.platform = &p;
  run_world(1, handed_on_body, &desc);
}

/* ---- arguments ---------------------------------------------------------------------------------- */
static void all_moves_refuse(side *s, ptl_process_t to, ptl_pt_index_t pt) {
  const ptl_handle_md_t h = s->md;
  const uint64_t operand = 1;
  CHECK(PtlPut(h, 0, 8, PTL_NO_ACK_REQ, to, pt, 0, 0, NULL, 0) == PTL_ARG_INVALID);
  CHECK(PtlPutNB(h, 0, 8, PTL_NO_ACK_REQ, to, pt, 0, 0, NULL, 0) == PTL_ARG_INVALID);
  CHECK(PtlGet(h, 0, 8, to, pt, 0, 0, NULL) == PTL_ARG_INVALID);
  CHECK(PtlAtomic(h, 0, 8, PTL_NO_ACK_REQ, to, pt, 0, 0, NULL, 0, PTL_SUM, PTL_UINT64_T) ==
        PTL_ARG_INVALID);
  CHECK(PtlFetchAtomic(h, 0, h, 8, 8, to, pt, 0, 0, NULL, 0, PTL_SUM, PTL_UINT64_T) ==
        PTL_ARG_INVALID);
  CHECK(PtlSwap(h, 0, h, 8, 8, to, pt, 0, 0, NULL, 0, &operand, PTL_CSWAP, PTL_UINT64_T) ==
        PTL_ARG_INVALID);
  CHECK(PtlTriggeredPut(h, 0, 8, PTL_NO_ACK_REQ, to, pt, 0, 0, NULL, 0, s->ct, 1) ==
        PTL_ARG_INVALID);
  CHECK(PtlTriggeredGet(h, 0, 8, to, pt, 0, 0, NULL, s->ct, 1) == PTL_ARG_INVALID);
  CHECK(PtlTriggeredAtomic(h, 0, 8, PTL_NO_ACK_REQ, to, pt, 0, 0, NULL, 0, PTL_SUM, PTL_UINT64_T,
                           s->ct, 1) == PTL_ARG_INVALID);
  CHECK(PtlTriggeredFetchAtomic(h, 0, h, 8, 8, to, pt, 0, 0, NULL, 0, PTL_SUM, PTL_UINT64_T, s->ct,
                                1) == PTL_ARG_INVALID);
  CHECK(PtlTriggeredSwap(h, 0, h, 8, 8, to, pt, 0, 0, NULL, 0, &operand, PTL_CSWAP, PTL_UINT64_T,
                         s->ct, 1) == PTL_ARG_INVALID);
}
static void targets_body(void *unused) {
  side s_, *s = &s_;
  ptl_process_t to = pm_process_id(0);
  (void)unused;
  side_open(s, PTL_NI_MATCHING, 0, 0);
  all_moves_refuse(s, (ptl_process_t){.phys = {0, PTL_PID_ANY}}, 3);
  all_moves_refuse(s, (ptl_process_t){.phys = {0, PTL_PID_MAX + 1}}, 3);
  all_moves_refuse(s, (ptl_process_t){.phys = {PTL_NID_ANY, 0}}, 3);
  all_moves_refuse(s, to, PTL_PT_ANY);
  EXPECT_NOTHING(s);
  /* an acknowledgement that counts needs a counter, whatever says that there is none */
  ptl_md_t md = {s->memory, 64, 0, s->eq, PTL_INVALID_HANDLE};
  CHECK(PtlMDBind(s->ni, &md, &s->md) == PTL_OK &&
        PtlPut(s->md, 0, 8, PTL_CT_ACK_REQ, to, 3, 0, 0, NULL, 0) == PTL_ARG_INVALID);
  CHECK(PtlAtomic(s->md, 0, 8, PTL_CT_ACK_REQ, to, 3, 0, 0, NULL, 0, PTL_SUM, PTL_UINT64_T) ==
        PTL_ARG_INVALID);
  CHECK(PtlPut(s->md, 0, 8, PTL_OC_ACK_REQ, to, 3, 0, 0, NULL, 0) == PTL_OK);
  EXPECT(s, SEND);
  pm_sleep_ns(100000);
  CHECK(PtlMDRelease(s->md) == PTL_OK);
  side_close(s);
}
/* A node that the machine does not have: the message is issued and cannot be delivered, as to a process that is not there. */
static void absent_body(void *options) {
  side s_, *s = &s_;
  const uint64_t operand = 1;
  const ptl_process_t absent[] = {{.phys = {1, 0}}, {.phys = {0xFFFFFFF0u, PTL_PID_MAX}}, {.phys = {0, 77}}};
  (void)options;
  side_open(s, PTL_NI_MATCHING, 0, 0);
  for (int i = 0; i < 3; i++) {
    const ptl_process_t to = absent[i];
    ptl_event_t e;
    CHECK(PtlPut(s->md, 0, 300, PTL_ACK_REQ, to, 3, 0, 0, NULL, 0) == PTL_OK);
    CHECK(PtlEQWait(s->eq, &e) == PTL_OK && e.type == PTL_EVENT_SEND);
    CHECK(PtlEQWait(s->eq, &e) == PTL_OK && e.type == PTL_EVENT_ACK && e.ni_fail_type == PTL_NI_UNDELIVERABLE);
    CHECK(PtlGet(s->md, 0, 8, to, 3, 0, 0, NULL) == PTL_OK);
    CHECK(PtlEQWait(s->eq, &e) == PTL_OK && e.type == PTL_EVENT_REPLY && e.ni_fail_type == PTL_NI_UNDELIVERABLE);
    CHECK(PtlSwap(s->md, 0, s->md, 8, 8, to, 3, 0, 0, NULL, 0, &operand, PTL_CSWAP, PTL_UINT64_T) == PTL_OK);
    CHECK(PtlEQWait(s->eq, &e) == PTL_OK && e.type == PTL_EVENT_SEND);
    CHECK(PtlEQWait(s->eq, &e) == PTL_OK && e.type == PTL_EVENT_REPLY && e.ni_fail_type == PTL_NI_UNDELIVERABLE);
  }
  side_close(s);
}
static void nodes_that_are_not_there_get_nothing(void) {
  pm_platform p = pm_platform_bxi2(1);
  for (int level = 0; level < 6; level++) {
    const pm_link_model levels[] = {PM_LINK_FLOW, PM_LINK_LOGGP, PM_LINK_PACKET};
    p.intra_uses_nic = level >= 3;
    run_world(1, absent_body, &(pm_world_desc){.link = levels[level % 3], .platform = &p});
  }
}
static void one_body(void *unused) {
  side s_, *s = &s_;
  ptl_event_t e;
  ptl_ct_event_t v;
  const ptl_size_t test = 0;
  (void)unused;
  side_open(s, PTL_NI_MATCHING, 0, 0);
  CHECK(PtlEQPoll(&s->eq, 1, 0, &e, NULL) == PTL_EQ_EMPTY);
  CHECK(PtlPut(s->md, 0, 8, PTL_NO_ACK_REQ, pm_process_id(0), 3, 0, 0, NULL, 0) == PTL_OK);
  CHECK(PtlEQPoll(&s->eq, 1, PTL_TIME_FOREVER, &e, NULL) == PTL_OK && e.type == PTL_EVENT_SEND);
  CHECK(PtlCTPoll(&s->ct, &test, 1, 0, &v, NULL) == PTL_OK);
  pm_sleep_ns(100000);
  side_close(s);
}
static void polls_of_one_need_not_say_which(void) { run_world(1, one_body, NULL); }
static void targets_that_cannot_be_are_refused(void) { run_world(1, targets_body, NULL); }
static void bad_at(int code, int line) {
  if (code == PTL_ARG_INVALID) return;
  printf("  line %d: %s\n", line, pm_ptl_status_name(code));
  CHECK(0);
}
#define BAD(call) bad_at((call), __LINE__)
static void arguments_body(void *unused) {
  side s_, *s = &s_;
  ptl_handle_any_t h;
  ptl_process_t id;
  ptl_pt_index_t pt;
  ptl_event_t e;
  ptl_ct_event_t v = {1, 0};
  ptl_sr_value_t value;
  ptl_uid_t uid;
  unsigned int which;
  const ptl_size_t tests[] = {0, 0};
  (void)unused;
  side_open(s, PTL_NI_MATCHING, 0, 0);
  const ptl_handle_any_t wrong[] = {PTL_INVALID_HANDLE, PTL_EQ_NONE,    PTL_CT_NONE, 0,
                                    s->ni + 1,          s->eq ^ 0x10000};
  ptl_md_t md = {s->memory, 8, 0, s->eq, s->ct};
  ptl_me_t me = entry(s->memory, 8, 0, PUT_GET);
  ptl_le_t le = {s->memory, 8, PTL_CT_NONE, PTL_UID_ANY, PTL_LE_OP_PUT};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    const ptl_handle_any_t w = wrong[i];
    BAD(PtlNIFini(w)), BAD(PtlNIStatus(w, PTL_SR_DROP_COUNT, &value)), BAD(PtlNIHandle(w, &h));
    BAD(PtlGetUid(w, &uid)), BAD(PtlGetId(w, &id)), BAD(PtlGetPhysId(w, &id)),
        BAD(PtlSetMap(w, 1, &id)), BAD(PtlGetMap(w, 1, &id, NULL));
    BAD(PtlPTAlloc(w, 0, PTL_EQ_NONE, PTL_PT_ANY, &pt)), BAD(PtlPTFree(w, 3)),
        BAD(PtlPTDisable(w, 3)), BAD(PtlPTEnable(w, 3));
    BAD(PtlMDBind(w, &md, &h)), BAD(PtlMDRelease(w)),
        BAD(PtlMEAppend(w, 3, &me, PTL_PRIORITY_LIST, NULL, &h));
    BAD(PtlLEAppend(w, 3, &le, PTL_PRIORITY_LIST, NULL, &h)),
        BAD(PtlMESearch(w, 3, &me, PTL_SEARCH_ONLY, NULL));
    BAD(PtlLESearch(w, 3, &le, PTL_SEARCH_ONLY, NULL)), BAD(PtlMEUnlink(w)), BAD(PtlLEUnlink(w));
    BAD(PtlEQAlloc(w, 1, &h)), BAD(PtlEQFree(w)), BAD(PtlEQGet(w, &e)), BAD(PtlEQWait(w, &e)),
        BAD(PtlEQPoll(&w, 1, 0, &e, &which));
    BAD(PtlCTAlloc(w, &h)), BAD(PtlCTFree(w)), BAD(PtlCTGet(w, &v)), BAD(PtlCTWait(w, 0, &v)),
        BAD(PtlCTPoll(&w, tests, 1, 0, &v, &which));
    BAD(PtlCTSet(w, v)), BAD(PtlCTInc(w, v)), BAD(PtlCTCancelTriggered(w)),
        BAD(PtlTriggeredCTInc(w, v, s->ct, 1));
    BAD(PtlTriggeredCTInc(s->ct, v, w, 1)), BAD(PtlTriggeredCTSet(w, v, s->ct, 1)),
        BAD(PtlTriggeredCTSet(s->ct, v, w, 1));
    BAD(PtlStartBundle(w)), BAD(PtlEndBundle(w)),
        BAD(PtlPut(w, 0, 0, PTL_NO_ACK_REQ, pm_process_id(0), 3, 0, 0, NULL, 0));
    BAD(PtlTriggeredPut(s->md, 0, 0, PTL_NO_ACK_REQ, pm_process_id(0), 3, 0, 0, NULL, 0, w, 0));
    BAD(PtlFetchAtomic(w, 0, s->md, 0, 8, pm_process_id(0), 3, 0, 0, NULL, 0, PTL_SUM, PTL_INT8_T));
    BAD(PtlFetchAtomic(s->md, 0, w, 0, 8, pm_process_id(0), 3, 0, 0, NULL, 0, PTL_SUM, PTL_INT8_T));
  }
  BAD(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL,
                NULL));
  BAD(PtlNIInit(1, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &h));
  BAD(PtlNIStatus(s->ni, PTL_SR_DROP_COUNT, NULL)), BAD(PtlNIHandle(s->eq, NULL)),
      BAD(PtlGetUid(s->ni, NULL)), BAD(PtlGetId(s->ni, NULL));
  BAD(PtlGetPhysId(s->ni, NULL)), BAD(PtlPTAlloc(s->ni, 0, PTL_EQ_NONE, PTL_PT_ANY, NULL)),
      BAD(PtlPTAlloc(s->ni, 0, s->ct, PTL_PT_ANY, &pt));
  BAD(PtlPTAlloc(s->ni, 0x20, PTL_EQ_NONE, PTL_PT_ANY, &pt)), BAD(PtlPTFree(s->ni, 4)),
      BAD(PtlPTDisable(s->ni, 4)), BAD(PtlPTEnable(s->ni, 100000));
  BAD(PtlMDBind(s->ni, NULL, &h)), BAD(PtlMDBind(s->ni, &md, NULL)),
      BAD(PtlMEAppend(s->ni, 3, NULL, PTL_PRIORITY_LIST, NULL, &h));
  BAD(PtlMEAppend(s->ni, 3, &me, PTL_PRIORITY_LIST, NULL, NULL)),
      BAD(PtlMEAppend(s->ni, 4, &me, PTL_PRIORITY_LIST, NULL, &h));
  BAD(PtlMEAppend(s->ni, 3, &me, (ptl_list_t)2, NULL, &h)),
      BAD(PtlMESearch(s->ni, 3, &me, (ptl_search_op_t)2, NULL));
  BAD(PtlMESearch(s->ni, 3, NULL, PTL_SEARCH_ONLY, NULL)), BAD(PtlEQAlloc(s->ni, 1, NULL)),
      BAD(PtlEQGet(s->eq, NULL)), BAD(PtlEQWait(s->eq, NULL));
  CHECK(PtlEQAlloc(s->ni, (ptl_size_t)1 << 40, &h) == PTL_NO_SPACE);
  BAD(PtlEQPoll(NULL, 1, 0, &e, &which)), BAD(PtlEQPoll(&s->eq, 1, 0, NULL, &which)),
      BAD(PtlEQPoll((ptl_handle_eq_t[]){s->eq, s->eq}, 2, 0, &e, NULL));
  BAD(PtlCTAlloc(s->ni, NULL)), BAD(PtlCTGet(s->ct, NULL)), BAD(PtlCTWait(s->ct, 0, NULL)),
      BAD(PtlCTPoll(NULL, tests, 1, 0, &v, &which));
  BAD(PtlCTPoll(&s->ct, NULL, 1, 0, &v, &which)), BAD(PtlCTPoll(&s->ct, tests, 1, 0, NULL, &which)),
      BAD(PtlCTPoll((ptl_handle_ct_t[]){s->ct, s->ct}, tests, 2, 0, &v, NULL));
  BAD(PtlPut(s->md, 0, 0, (ptl_ack_req_t)4, pm_process_id(0), 3, 0, 0, NULL, 0)),
      BAD(PtlPut(s->md, 4097, 0, PTL_NO_ACK_REQ, pm_process_id(0), 3, 0, 0, NULL, 0));
  BAD(PtlPut(s->md, PTL_SIZE_MAX, 2, PTL_NO_ACK_REQ, pm_process_id(0), 3, 0, 0, NULL, 0));
  md.options = 1u << 31, me.options = 1u << 31;
  BAD(PtlMDBind(s->ni, &md, &h)), BAD(PtlMEAppend(s->ni, 3, &me, PTL_PRIORITY_LIST, NULL, &h)),
      BAD(PtlMESearch(s->ni, 3, &me, PTL_SEARCH_ONLY, NULL));
  md.options = 0, md.eq_handle = s->ct;
  BAD(PtlMDBind(s->ni, &md, &h));
  md.eq_handle = PTL_EQ_NONE, md.ct_handle = s->eq;
  BAD(PtlMDBind(s->ni, &md, &h));
  EXPECT_NOTHING(s); /* and nothing of all this left a trace */
  CHECK(PtlPTFree(s->ni, 3) == PTL_OK && count_of(s->ct).success == 0);
  for (int i = 0; i < PTL_SR_LAST; i++)
    CHECK(PtlNIStatus(s->ni, (ptl_sr_index_t)i, &value) == PTL_OK && value == 0);
  side_close(s);
}
static void every_bad_argument_is_refused(void) { run_world(1, arguments_body, NULL); }

/* ---- interfaces without matching ---------------------------------------------------------------- */
static void moves_body(void *unused) {
  side s_, *s = &s_, i_, *i = &i_;
  _Alignas(16) unsigned char heap[96] = {0};
  const ptl_process_t to = pm_process_id(0);
  (void)unused;
  side_open(s, PTL_NI_NO_MATCHING, 0, 0);
  part_queues(s, i, 0);
  ptl_iovec_t pieces[] = {{heap, 5}, {heap + 8, 0}, {heap + 16, 11}, {heap + 32, 48}};
  ptl_le_t le = {pieces, 4, s->ct, PTL_UID_ANY,
                 PTL_IOVEC | PTL_LE_OP_PUT | PTL_LE_OP_GET | PTL_LE_EVENT_CT_COMM |
                     PTL_LE_EVENT_CT_BYTES};
  ptl_handle_le_t h;
  CHECK(PtlLEAppend(s->ni, s->pt, &le, PTL_PRIORITY_LIST, heap, &h) == PTL_OK &&
        EXPECT(s, LINK).user_ptr == heap);
  for (int k = 0; k < 64; k++) s->memory[k] = (unsigned char)(k + 1);
  CHECK(PtlPut(s->md, 0, 9, PTL_ACK_REQ, to, 3, 99, 3, NULL, 55) == PTL_OK);
  EXPECT(i, SEND);
  ptl_event_t e = EXPECT(s, PUT);
  CHECK(e.start == heap + 3 && e.rlength == 9 && e.mlength == 9 && e.remote_offset == 3 &&
        e.hdr_data == 55 && e.user_ptr == heap && e.ptl_list == PTL_PRIORITY_LIST);
  EXPECT(i, ACK);
  CHECK(heap[3] == 1 && heap[4] == 2 && heap[5] == 0 && heap[8] == 0 && heap[16] == 3 &&
        heap[22] == 9 && heap[23] == 0);
  CHECK(PtlGet(s->md, 100, 64, to, 3, 0, 5, NULL) == PTL_OK); /* of more than there is */
  CHECK(EXPECT(s, GET).mlength == 59 && EXPECT(i, REPLY).mlength == 59 && s->memory[100] == 3 &&
        s->memory[106] == 9 && s->memory[159] == 0);
  CHECK(PtlAtomic(s->md, 0, 16, PTL_NO_ACK_REQ, to, 3, 0, 16, NULL, 0, PTL_SUM, PTL_UINT8_T) ==
        PTL_OK);
  EXPECT(i, SEND);
  e = EXPECT(s, ATOMIC);
  CHECK(e.start == heap + 32 && e.mlength == 16 && e.atomic_operation == PTL_SUM &&
        e.atomic_type == PTL_UINT8_T && heap[47] == 16);
  CHECK(PtlFetchAtomic(s->md, 200, s->md, 0, 8, to, 3, 0, 16, NULL, 0, PTL_BXOR, PTL_UINT64_T) ==
        PTL_OK);
  e = EXPECT(s, FETCH_ATOMIC);
  EXPECT(i, SEND), EXPECT(i, REPLY);
  CHECK(e.atomic_operation == PTL_BXOR && s->memory[200] == 1 && s->memory[207] == 8 &&
        heap[32] == 0 && heap[39] == 0 && heap[40] == 9);
  CHECK(PtlSwap(s->md, 208, s->md, 0, 8, to, 3, 0, 16, NULL, 0, &(uint64_t){1}, PTL_CSWAP_NE,
                PTL_UINT64_T) == PTL_OK);
  EXPECT(s, FETCH_ATOMIC), EXPECT(i, SEND), EXPECT(i, REPLY);
  CHECK(s->memory[208] == 0 && heap[32] == 1 && heap[39] == 8);
  CHECK(count_of(s->ct).success == 9 + 59 + 16 + 8 + 8);
  CHECK(PtlLEUnlink(h) == PTL_OK && PtlLEUnlink(h) == PTL_ARG_INVALID);
  side_close(s);
}
static void all_moves_reach_pieces_without_matching(void) { on_each_level(1, moves_body); }
static void unexpected_body(void *unused) {
  side s_, *s = &s_;
  unsigned char buffer[16];
  const ptl_process_t to = pm_process_id(0);
  ptl_handle_le_t h, mine;
  ptl_event_t e;
  (void)unused;
  side_open(s, PTL_NI_NO_MATCHING, 0, PTL_MD_EVENT_SUCCESS_DISABLE);
  ptl_le_t over = {buffer, 16, s->ct, PTL_UID_ANY, PTL_LE_OP_PUT | PTL_LE_USE_ONCE},
           le = {s->memory, 8, s->ct, PTL_UID_ANY,
                 PTL_LE_OP_PUT | PTL_LE_USE_ONCE | PTL_LE_EVENT_CT_OVERFLOW};
  CHECK(PtlLESearch(s->ni, s->pt, &le, PTL_SEARCH_ONLY, s) == PTL_OK &&
        EXPECT(s, SEARCH).ni_fail_type == PTL_NI_NO_MATCH);
  CHECK(count_of(s->ct).failure == 1 && PtlCTSet(s->ct, (ptl_ct_event_t){0, 0}) == PTL_OK);
  CHECK(PtlLEAppend(s->ni, s->pt, &over, PTL_OVERFLOW_LIST, &over, &h) == PTL_OK);
  EXPECT(s, LINK);
  CHECK(PtlPut(s->md, 0, 8, PTL_NO_ACK_REQ, to, 3, 0, 4, NULL, 77) == PTL_OK);
  e = EXPECT(s, PUT);
  CHECK(e.user_ptr == &over && e.start == buffer + 4 && e.ptl_list == PTL_OVERFLOW_LIST);
  EXPECT(s, AUTO_UNLINK);
  CHECK(PtlLESearch(s->ni, s->pt, &le, PTL_SEARCH_ONLY, s) == PTL_OK);
  e = EXPECT(s, SEARCH);
  CHECK(e.ni_fail_type == PTL_NI_OK && e.user_ptr == s && e.start == buffer + 4 &&
        e.hdr_data == 77 && e.remote_offset == 4);
  CHECK(PtlLEAppend(s->ni, s->pt, &le, PTL_PRIORITY_LIST, &mine, &mine) == PTL_OK);
  e = EXPECT(s, PUT_OVERFLOW);
  CHECK(e.user_ptr == &mine && e.start == buffer + 4 && e.mlength == 8 && e.hdr_data == 77);
  CHECK(EXPECT(s, AUTO_FREE).user_ptr == &over && EXPECT(s, AUTO_UNLINK).user_ptr == &mine);
  CHECK(PtlLEUnlink(mine) == PTL_ARG_INVALID && PtlLEUnlink(h) == PTL_ARG_INVALID &&
        count_of(s->ct).success == 2 && !count_of(s->ct).failure);
  EXPECT_NOTHING(s);
  side_close(s);
}
static void headers_are_found_without_matching(void) { on_each_level(1, unexpected_body); }

/* ---- pieces that an entry manages itself --------------------------------------------------------- */
static void managed_body(void *unused) {
  side s_, *s = &s_, i_, *i = &i_;
  unsigned char a[40] = {0};
  const ptl_process_t to = pm_process_id(0);
  (void)unused;
  side_open(s, PTL_NI_MATCHING, 0, PTL_MD_EVENT_SEND_DISABLE);
  part_queues(s, i, PTL_MD_EVENT_SEND_DISABLE);
  ptl_iovec_t pieces[] = {{a, 0}, {a + 1, 6}, {a + 10, 0}, {a + 12, 4}, {a + 20, 10}};
  ptl_me_t me =
      entry(pieces, 5, 0, PTL_IOVEC | PTL_ME_MANAGE_LOCAL | PTL_ME_MAY_ALIGN | PUT_GET | QUIET);
  me.min_free = 3;
  const ptl_handle_me_t h = append(s, me, PTL_PRIORITY_LIST, &me);
  for (int k = 0; k < 40; k++) s->memory[k] = (unsigned char)(k + 1);
  CHECK(PtlPut(s->md, 0, 6, PTL_NO_ACK_REQ, to, 3, 0, 1000, NULL, 0) ==
        PTL_OK); /* the offset means nothing */
  ptl_event_t e = EXPECT(s, PUT);
  CHECK(e.start == a + 1 && e.mlength == 6 && e.remote_offset == 1000 && a[6] == 6 && a[7] == 0);
  CHECK(PtlPut(s->md, 10, 5, PTL_ACK_REQ, to, 3, 0, 0, NULL, 0) == PTL_OK);
  CHECK(EXPECT(s, PUT).start == a + 12 && EXPECT(i, ACK).remote_offset == 6 && a[12] == 11 &&
        a[15] == 14 && a[20] == 15 && !a[16]);
  CHECK(PtlGet(s->md, 100, 6, to, 3, 0, 0, NULL) ==
        PTL_OK); /* to the last 3 bytes: with exactly min_free it stays */
  CHECK(EXPECT(s, GET).start == a + 21 && EXPECT(i, REPLY).mlength == 6);
  CHECK(PtlPut(s->md, 0, 30, PTL_NO_ACK_REQ, to, 3, 0, 0, NULL, 0) ==
        PTL_OK); /* no room is left for all of it */
  e = EXPECT(s, PUT);
  CHECK(e.start == a + 27 && e.rlength == 30 && e.mlength == 3 && a[29] == 3 && a[30] == 0);
  CHECK(EXPECT(s, AUTO_UNLINK).user_ptr == &me && PtlMEUnlink(h) == PTL_ARG_INVALID);
  EXPECT_NOTHING(s);
  side_close(s);
}
static void pieces_are_filled_one_after_the_other(void) { on_each_level(1, managed_body); }

/* ---- several interfaces, counters that several triggers change ----------------------------------- */
static void kinds_body(void *unused) {
  ptl_handle_ni_t ni[4], h;
  ptl_handle_eq_t eq[4];
  ptl_handle_md_t md[4];
  ptl_process_t phys, other = pm_process_id(1 - pm_rank()),
                      map[2] = {pm_process_id(0), pm_process_id(1)}, id;
  unsigned char from[4][8], to[4][8] = {{0}};
  ptl_event_t e;
  ptl_uid_t uid[4];
  (void)unused;
  CHECK(PtlInit() == PTL_OK);
  for (int i = 0; i < 4; i++) {
    const unsigned int options =
        (i & 1 ? PTL_NI_MATCHING : PTL_NI_NO_MATCHING) | (i & 2 ? PTL_NI_LOGICAL : PTL_NI_PHYSICAL);
    ptl_pt_index_t pt;
    CHECK(PtlNIInit(PTL_IFACE_DEFAULT, options, PTL_PID_ANY, NULL, NULL, &ni[i]) == PTL_OK &&
          PtlGetPhysId(ni[i], &phys) == PTL_OK);
    CHECK(phys.phys.nid == pm_process_id(pm_rank()).phys.nid &&
          phys.phys.pid == pm_process_id(pm_rank()).phys.pid);
    if (i & 2)
      CHECK(PtlSetMap(ni[i], 2, map) == PTL_OK && PtlGetId(ni[i], &id) == PTL_OK &&
            id.rank == (ptl_rank_t)pm_rank());
    CHECK(PtlEQAlloc(ni[i], 8, &eq[i]) == PTL_OK && PtlPTAlloc(ni[i], 0, eq[i], 5, &pt) == PTL_OK &&
          PtlGetUid(ni[i], &uid[i]) == PTL_OK && uid[i] == uid[0]);
    ptl_md_t d = {from[i], 8, PTL_MD_EVENT_SUCCESS_DISABLE, eq[i], PTL_CT_NONE};
    memset(from[i], i + 1, 8);
    CHECK(PtlMDBind(ni[i], &d, &md[i]) == PTL_OK && PtlNIHandle(md[i], &h) == PTL_OK &&
          PtlHandleIsEqual(h, ni[i]) && !PtlHandleIsEqual(md[i], ni[i]));
    ptl_le_t le = {to[i], 8, PTL_CT_NONE, PTL_UID_ANY, PTL_LE_OP_PUT | PTL_LE_EVENT_LINK_DISABLE};
    ptl_me_t me = entry(to[i], 8, 7, PTL_ME_OP_PUT | QUIET);
    if (i & 2) me.match_id.rank = (ptl_rank_t)(1 - pm_rank());
    CHECK((i & 1 ? PtlMEAppend(ni[i], 5, &me, PTL_PRIORITY_LIST, NULL, &h)
                 : PtlLEAppend(ni[i], 5, &le, PTL_PRIORITY_LIST, NULL, &h)) == PTL_OK);
  }
  pm_barrier();
  for (int i = 3; i >= 0; i--) {
    id.rank = (ptl_rank_t)(1 - pm_rank());
    CHECK(PtlPut(md[i], 0, 8, PTL_NO_ACK_REQ, i & 2 ? id : other, 5, 7, 0, NULL,
                 (ptl_hdr_data_t)i) == PTL_OK);
  }
  for (int i = 0; i < 4; i++) {
    CHECK(PtlEQWait(eq[i], &e) == PTL_OK && e.type == PTL_EVENT_PUT &&
          e.hdr_data == (ptl_hdr_data_t)i && to[i][0] == i + 1 && e.uid == uid[0]);
    CHECK(i & 2 ? e.initiator.rank == (ptl_rank_t)(1 - pm_rank())
                : e.initiator.phys.nid == other.phys.nid && e.initiator.phys.pid == other.phys.pid);
    CHECK(PtlEQGet(eq[i], &e) == PTL_EQ_EMPTY);
  }
  const ptl_handle_eq_t two[] = {eq[0], eq[1]}; /* of different interfaces */
  unsigned int which;
  CHECK(PtlEQPoll(two, 2, 0, &e, &which) == PTL_ARG_INVALID);
  pm_barrier();
  PtlFini();
}
static void messages_stay_among_interfaces_of_a_kind(void) { on_each_level(2, kinds_body); }
static void order_body(void *unused) {
  side s_, *s = &s_;
  ptl_handle_ct_t trigger, sum;
  (void)unused;
  side_open(s, PTL_NI_MATCHING, 0, 0);
  CHECK(PtlCTAlloc(s->ni, &trigger) == PTL_OK && PtlCTAlloc(s->ni, &sum) == PTL_OK);
  for (int k = 0; k < 2; k++) { /* what was posted first of one threshold happens first */
    CHECK(PtlCTSet(trigger, (ptl_ct_event_t){0, 0}) == PTL_OK &&
          PtlCTSet(sum, (ptl_ct_event_t){0, 0}) == PTL_OK);
    if (k) CHECK(PtlTriggeredCTInc(sum, (ptl_ct_event_t){2, 0}, trigger, 4) == PTL_OK);
    CHECK(PtlTriggeredCTSet(sum, (ptl_ct_event_t){50, 1}, trigger, 4) == PTL_OK);
    if (!k) CHECK(PtlTriggeredCTInc(sum, (ptl_ct_event_t){2, 0}, trigger, 4) == PTL_OK);
    CHECK(PtlTriggeredCTInc(trigger, (ptl_ct_event_t){1, 0}, trigger, 3) ==
          PTL_OK); /* its own: 3 makes 4 */
    CHECK(PtlCTInc(trigger, (ptl_ct_event_t){2, 0}) == PTL_OK && count_of(sum).success == 0);
    CHECK(PtlCTInc(trigger, (ptl_ct_event_t){1, 0}) == PTL_OK);
    pm_sleep_ns(100000);
    CHECK(count_of(trigger).success == 4 && count_of(sum).success == (k ? 50 : 52) &&
          count_of(sum).failure == 1);
  }
  CHECK(PtlTriggeredCTInc(sum, (ptl_ct_event_t){1, 1}, trigger, 0) == PTL_ARG_INVALID);
  CHECK(PtlTriggeredCTInc(sum, (ptl_ct_event_t){0, 5}, trigger, 0) == PTL_OK &&
        count_of(sum).failure == 6);
  CHECK(PtlTriggeredCTInc(sum, (ptl_ct_event_t){9, 0}, trigger, 100) == PTL_OK &&
        PtlCTCancelTriggered(trigger) == PTL_OK);
  CHECK(PtlCTSet(trigger, (ptl_ct_event_t){200, 0}) == PTL_OK && count_of(sum).success == 50 &&
        PtlCTFree(trigger) == PTL_OK);
  side_close(s);
}
static void triggers_of_one_threshold_happen_as_posted(void) { on_each_level(1, order_body); }

/* ---- every operation on every type, in small numbers that all types have ---------------------------- */
typedef struct number {
  int re, im;
} number;
static void number_put(void *at, int type, number n) {
#define ONE(T)     memcpy(at, &(T){(T)n.re}, sizeof(T))
#define COMPLEX(T) memcpy(at, (T[2]){(T)n.re, (T)n.im}, 2 * sizeof(T))
  switch (type) {
  case PTL_INT8_T:
  case PTL_UINT8_T: ONE(uint8_t); break;
  case PTL_INT16_T:
  case PTL_UINT16_T: ONE(uint16_t); break;
  case PTL_INT32_T:
  case PTL_UINT32_T: ONE(uint32_t); break;
  case PTL_INT64_T:
  case PTL_UINT64_T: ONE(uint64_t); break;
  case PTL_FLOAT: ONE(float); break;
  case PTL_DOUBLE: ONE(double); break;
  case PTL_LONG_DOUBLE: ONE(long double); break;
  case PTL_FLOAT_COMPLEX: COMPLEX(float); break;
  case PTL_DOUBLE_COMPLEX: COMPLEX(double); break;
  default: COMPLEX(long double); break;
  }
}
static bool number_is(const void *at, int type, number n, size_t bytes) {
  unsigned char wanted[32] = {0};
  memcpy(wanted, at, bytes); /* what a long double leaves out is its own */
  number_put(wanted, type, n);
  if (type != PTL_LONG_DOUBLE && type != PTL_LONG_DOUBLE_COMPLEX)
    return memcmp(wanted, at, bytes) == 0;
  long double is[2] = {0}, wants[2] = {0};
  memcpy(is, at, bytes), memcpy(wants, wanted, bytes);
  return is[0] >= wants[0] && is[0] <= wants[0] && is[1] >= wants[1] && is[1] <= wants[1];
}
static number result_of(int op, number t, number o, number c) {
  const bool same = c.re == t.re && c.im == t.im;
  switch (op) {
  case PTL_MIN: return o.re < t.re ? o : t;
  case PTL_MAX: return o.re > t.re ? o : t;
  case PTL_SUM: return (number){t.re + o.re, t.im + o.im};
  case PTL_PROD: return (number){t.re * o.re - t.im * o.im, t.re * o.im + t.im * o.re};
  case PTL_LOR: return (number){t.re || o.re, 0};
  case PTL_LAND: return (number){t.re && o.re, 0};
  case PTL_BOR: return (number){t.re | o.re, 0};
  case PTL_BAND: return (number){t.re & o.re, 0};
  case PTL_LXOR: return (number){!t.re != !o.re, 0};
  case PTL_BXOR: return (number){t.re ^ o.re, 0};
  case PTL_SWAP: return o;
  case PTL_CSWAP: return same ? o : t;
  case PTL_CSWAP_NE: return same ? t : o;
  case PTL_CSWAP_LE: return c.re <= t.re ? o : t;
  case PTL_CSWAP_LT: return c.re < t.re ? o : t;
  case PTL_CSWAP_GE: return c.re >= t.re ? o : t;
  case PTL_CSWAP_GT: return c.re > t.re ? o : t;
  default: return (number){(t.re & ~c.re) | (o.re & c.re), 0};
  }
}
static void types_body(void *unused) {
  side s_, *s = &s_, i_, *i = &i_;
  static const size_t width[] = {
      1, 1, 2, 2, 4, 4, 4, 8, 8, 8, 8, 16, sizeof(long double), 2 * sizeof(long double)};
  (void)unused;
  side_open(s, PTL_NI_MATCHING, 0, 0);
  part_queues(s, i, PTL_MD_EVENT_SEND_DISABLE);
  append(s, entry(s->memory, 64, 0, PUT_GET | QUIET | PTL_ME_EVENT_COMM_DISABLE), PTL_PRIORITY_LIST,
         NULL);
  for (int type = 0; type < PTL_DATATYPE_LAST; type++)
    for (int op = 0; op < PTL_OP_LAST; op++) {
      const bool is_complex = type == PTL_FLOAT_COMPLEX || type == PTL_DOUBLE_COMPLEX ||
                              type == PTL_LONG_DOUBLE_COMPLEX;
      const size_t item = width[type], items = op > PTL_SWAP ? 1 : 64 / item;
      number t[64], o[64], c = {1 + (int)test_below(3), is_complex ? (int)test_below(2) : 0};
      unsigned char operand[32] = {0};
      for (size_t k = 0; k < items; k++) {
        t[k] = (number){(int)test_below(4), is_complex ? (int)test_below(2) : 0},
        o[k] = (number){(int)test_below(11), is_complex ? (int)test_below(9) : 0};
        number_put(s->memory + k * item, type, t[k]),
            number_put(s->memory + 1024 + k * item, type, o[k]);
      }
      number_put(operand, type, c);
      const int code =
          op < PTL_SWAP ? PtlFetchAtomic(s->md, 2048, s->md, 1024, items * item, pm_process_id(0),
                                         3, 0, 0, NULL, 0, (ptl_op_t)op, (ptl_datatype_t)type)
                        : PtlSwap(s->md, 2048, s->md, 1024, items * item, pm_process_id(0), 3, 0, 0,
                                  NULL, 0, operand, (ptl_op_t)op, (ptl_datatype_t)type);
      const bool is_real =
          is_complex || type == PTL_FLOAT || type == PTL_DOUBLE || type == PTL_LONG_DOUBLE;
      const bool is_logic = (op >= PTL_LOR && op <= PTL_BXOR) || op == PTL_MSWAP,
                 has_order =
                     op == PTL_MIN || op == PTL_MAX || (op > PTL_CSWAP_NE && op < PTL_MSWAP);
      CHECK(code ==
            ((is_real && is_logic) || (is_complex && has_order) ? PTL_ARG_INVALID : PTL_OK));
      if (code) continue;
      CHECK(EXPECT(i, REPLY).mlength == items * item);
      for (size_t k = 0; k < items; k++)
        CHECK(number_is(s->memory + 2048 + k * item, type, t[k], item) &&
              number_is(s->memory + k * item, type, result_of(op, t[k], o[k], c), item));
    }
  side_close(s);
}
static void every_operation_is_right_on_every_type(void) { on_each_level(1, types_body); }

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(who_opens_again_may_have_another_id);
  RUN(another_id_beside_an_open_interface_is_refused);
  RUN(entries_of_the_other_kind_are_not_unlinked);
  RUN(an_id_is_free_when_its_owner_has_closed);
  RUN(targets_that_cannot_be_are_refused);
  RUN(nodes_that_are_not_there_get_nothing);
  RUN(polls_of_one_need_not_say_which);
  RUN(every_bad_argument_is_refused);
  RUN(all_moves_reach_pieces_without_matching);
  RUN(headers_are_found_without_matching);
  RUN(pieces_are_filled_one_after_the_other);
  RUN(messages_stay_among_interfaces_of_a_kind);
  RUN(triggers_of_one_threshold_happen_as_posted);
  RUN(every_operation_is_right_on_every_type);
  return TEST_END();
}
