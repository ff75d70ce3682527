/* Interfaces, descriptors, events, counters, atomics, triggered operations: what calls return and
   what memory holds afterwards. */
#include "tests/model/ptl.h"
#include <complex.h>

enum { PUT_GET = PTL_ME_OP_PUT | PTL_ME_OP_GET, QUIET = PTL_ME_EVENT_LINK_DISABLE };
static void alone(void (*body)(void *arg)) { run_world(1, body, NULL); }

/* ---- library and interfaces -------------------------------------------------------------------- */
static void interfaces_body(void *unused) {
  ptl_handle_ni_t ni[4], again, h;
  ptl_ni_limits_t wish, got;
  ptl_process_t id, id2;
  (void)unused;
  CHECK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &ni[0]) == PTL_NO_INIT);
  CHECK(PtlAtomicSync() == PTL_NO_INIT && PtlCTFree(0) == PTL_NO_INIT);
  CHECK(PtlInit() == PTL_OK && PtlInit() == PTL_OK);
  CHECK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_NO_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &ni[0]) == PTL_ARG_INVALID);
  CHECK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING, PTL_PID_ANY, NULL, NULL, &ni[0]) == PTL_ARG_INVALID);
  CHECK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL | 0x100, PTL_PID_ANY, NULL, NULL, &ni[0]) == PTL_ARG_INVALID);
  memset(&wish, 0xA5, sizeof wish); /* garbage is clamped */
  wish.max_cts = 3;                 /* a small wish is honoured */
  CHECK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, &wish, &got, &ni[0]) == PTL_OK);
  CHECK(got.max_cts == 3 && got.max_mds > 0 && got.max_msg_size > 0 && got.max_volatile_size >= 32);
  CHECK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, 17, NULL, &got, &again) == PTL_OK && again == ni[0] && got.max_cts == 3);
  CHECK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_NO_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &ni[1]) == PTL_OK);
  CHECK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_LOGICAL, PTL_PID_ANY, NULL, NULL, &ni[2]) == PTL_OK);
  CHECK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_NO_MATCHING | PTL_NI_LOGICAL, PTL_PID_ANY, NULL, NULL, &ni[3]) == PTL_OK);
  CHECK(PtlGetPhysId(ni[0], &id) == PTL_OK && PtlGetPhysId(ni[3], &id2) == PTL_OK);
  CHECK(id.phys.nid == id2.phys.nid && id.phys.pid == id2.phys.pid); /* four interfaces, one id */
  CHECK(PtlGetId(ni[2], &id2) == PTL_OK && id2.rank == PTL_RANK_ANY);
  ptl_process_t map[2] = {{.phys = {0, 99}}, id}, back[2];
  ptl_size_t n = 0;
  CHECK(PtlGetMap(ni[2], 2, back, &n) == PTL_NO_SPACE && PtlSetMap(ni[0], 2, map) == PTL_ARG_INVALID);
  CHECK(PtlSetMap(ni[2], 1, map) == PTL_ARG_INVALID); /* we are not in it */
  CHECK(PtlSetMap(ni[2], 2, map) == PTL_OK && PtlSetMap(ni[2], 2, map) == PTL_IGNORED);
  CHECK(PtlGetId(ni[2], &id2) == PTL_OK && id2.rank == 1);
  CHECK(PtlGetMap(ni[2], 1, back, &n) == PTL_OK && n == 2 && back[0].phys.pid == 99);
  ptl_handle_ct_t ct[4];
  for (int i = 0; i < 3; i++) CHECK(PtlCTAlloc(ni[0], &ct[i]) == PTL_OK);
  CHECK(PtlCTAlloc(ni[0], &ct[3]) == PTL_NO_SPACE);
  CHECK(PtlNIHandle(ct[0], &h) == PTL_OK && h == ni[0] && PtlNIHandle(PTL_INVALID_HANDLE, &h) == PTL_ARG_INVALID);
  CHECK(PtlCTFree(ct[0]) == PTL_OK && PtlCTFree(ct[0]) == PTL_ARG_INVALID);
  CHECK(PtlCTAlloc(ni[0], &ct[3]) == PTL_OK && ct[3] != ct[0]); /* same slot, another generation */
  ptl_sr_value_t v;
  CHECK(PtlNIStatus(ni[0], PTL_SR_LAST, &v) == PTL_ARG_INVALID);
  CHECK(PtlNIFini(ni[0]) == PTL_OK && PtlCTFree(ct[1]) == PTL_OK); /* opened twice: still there */
  CHECK(PtlNIFini(ni[0]) == PTL_OK && PtlNIFini(ni[0]) == PTL_ARG_INVALID && PtlCTFree(ct[2]) == PTL_ARG_INVALID);
  PtlFini();
  CHECK(PtlNIFini(ni[1]) == PTL_OK); /* initialised twice: still there */
  PtlFini();
  CHECK(PtlNIFini(ni[2]) == PTL_NO_INIT);
}
static void interfaces_count_and_clamp(void) { alone(interfaces_body); }

static void portals_body(void *unused) {
  side s_, *s = &s_;
  ptl_pt_index_t pt, first;
  ptl_handle_me_t h;
  (void)unused;
  side_open(s, PTL_NI_MATCHING, 0, 0);
  CHECK(PtlPTAlloc(s->ni, 0, s->eq, 3, &pt) == PTL_PT_IN_USE);
  CHECK(PtlPTAlloc(s->ni, PTL_PT_FLOWCTRL, PTL_EQ_NONE, PTL_PT_ANY, &pt) == PTL_PT_EQ_NEEDED);
  CHECK(PtlPTAlloc(s->ni, 0, s->eq, 4000, &pt) == PTL_ARG_INVALID && PtlPTAlloc(s->ni, 0x100, s->eq, 5, &pt) == PTL_ARG_INVALID);
  CHECK(PtlPTAlloc(s->ni, 0, PTL_EQ_NONE, PTL_PT_ANY, &first) == PTL_OK && first == 4);
  int count = 2;
  while (PtlPTAlloc(s->ni, 0, PTL_EQ_NONE, PTL_PT_ANY, &pt) == PTL_OK) count++;
  CHECK(count == 256 && PtlPTAlloc(s->ni, 0, PTL_EQ_NONE, PTL_PT_ANY, &pt) == PTL_PT_FULL);
  ptl_me_t me = entry(s->memory, 8, 0, PUT_GET | QUIET);
  CHECK(PtlMEAppend(s->ni, first, &me, PTL_PRIORITY_LIST, NULL, &h) == PTL_OK && PtlPTFree(s->ni, first) == PTL_PT_IN_USE);
  CHECK(PtlMEUnlink(h) == PTL_OK && PtlPTFree(s->ni, first) == PTL_OK && PtlPTFree(s->ni, first) == PTL_ARG_INVALID);
  me.options |= 1u << 31;
  CHECK(PtlMEAppend(s->ni, 3, &me, PTL_PRIORITY_LIST, NULL, &h) == PTL_ARG_INVALID);
  ptl_md_t md = {s->memory, 8, 1u << 31, s->eq, PTL_CT_NONE};
  ptl_handle_md_t mh;
  CHECK(PtlMDBind(s->ni, &md, &mh) == PTL_ARG_INVALID);
  const ptl_process_t self = pm_process_id(0);
  CHECK(PtlPut(s->md, 4090, 10, PTL_NO_ACK_REQ, self, 3, 0, 0, NULL, 0) == PTL_ARG_INVALID);
  CHECK(PtlPut(s->md, UINT64_MAX, 2, PTL_NO_ACK_REQ, self, 3, 0, 0, NULL, 0) == PTL_ARG_INVALID);
  CHECK(PtlPut(s->md, 0, 1, 9, self, 3, 0, 0, NULL, 0) == PTL_ARG_INVALID);
  CHECK(PtlPut(PTL_INVALID_HANDLE, 0, 1, PTL_NO_ACK_REQ, self, 3, 0, 0, NULL, 0) == PTL_ARG_INVALID);
  CHECK(PtlPut(s->eq, 0, 1, PTL_NO_ACK_REQ, self, 3, 0, 0, NULL, 0) == PTL_ARG_INVALID);
  ptl_process_t nowhere = self;
  nowhere.phys.pid = 77; /* the node is there, the process is not */
  CHECK(PtlPut(s->md, 0, 100, PTL_ACK_REQ, nowhere, 3, 0, 0, NULL, 0) == PTL_OK);
  EXPECT(s, SEND);
  CHECK(EXPECT(s, ACK).ni_fail_type == PTL_NI_UNDELIVERABLE);
  md = (ptl_md_t){s->memory, 8, 0, PTL_EQ_NONE, PTL_CT_NONE};
  CHECK(PtlMDBind(s->ni, &md, &mh) == PTL_OK);
  CHECK(PtlPut(mh, 0, 1, PTL_ACK_REQ, self, 3, 0, 0, NULL, 0) == PTL_ARG_INVALID && PtlPut(mh, 0, 1, PTL_CT_ACK_REQ, self, 3, 0, 0, NULL, 0) == PTL_ARG_INVALID);
  CHECK(PtlPut(mh, 0, 1, PTL_OC_ACK_REQ, self, 3, 0, 0, NULL, 0) == PTL_OK && PtlGet(mh, 0, 1, self, 3, 0, 0, NULL) == PTL_OK);
  CHECK(PtlMDRelease(mh) == PTL_ARG_INVALID); /* the get is under way */
  pm_sleep_ns(100000);
  CHECK(PtlMDRelease(mh) == PTL_OK && PtlMDRelease(mh) == PTL_ARG_INVALID);
  CHECK(PtlEQFree(s->eq) == PTL_OK && PtlCTFree(s->ct) == PTL_OK && PtlMDRelease(s->md) == PTL_OK && PtlPTFree(s->ni, 3) == PTL_OK);
  side_close(s);
}
static void bad_calls_get_their_codes(void) { alone(portals_body); }

/* ---- queues and counters ------------------------------------------------------------------------ */
static void overflow_body(void *arg) {
  side s_, *s = &s_;
  const int newest = *(int *)arg;
  ptl_handle_eq_t small;
  ptl_event_t e;
  side_open(s, PTL_NI_MATCHING, 0, 0);
  CHECK(PtlEQAlloc(s->ni, 4, &small) == PTL_OK && PtlEQGet(small, &e) == PTL_EQ_EMPTY);
  ptl_md_t md = {s->memory, 8, 0, small, PTL_CT_NONE};
  ptl_handle_md_t mh;
  CHECK(PtlMDBind(s->ni, &md, &mh) == PTL_OK);
  for (uintptr_t i = 0; i < 6; i++) CHECK(PtlPut(mh, 0, 1, PTL_NO_ACK_REQ, pm_process_id(0), 3, 0, 0, (void *)i, 0) == PTL_OK);
  pm_sleep_ns(100000);
  CHECK(PtlEQGet(small, &e) == PTL_EQ_DROPPED && e.user_ptr == (void *)(uintptr_t)(newest ? 0 : 2));
  for (uintptr_t i = 1; i < 4; i++) CHECK(PtlEQGet(small, &e) == PTL_OK && e.user_ptr == (void *)(i + (newest ? 0 : 2)));
  CHECK(PtlEQGet(small, &e) == PTL_EQ_EMPTY);
  side_close(s);
}
static void full_queue_loses_and_says_so(void) {
  pm_platform p = pm_platform_bxi2(1);
  for (int newest = 0; newest < 2; newest++) {
    pm_world_desc desc = {0};
    pm_world *w;
    desc.platform = &p;
    desc.semantics.eq_drops_newest = newest;
    CHECK(pm_world_create(&desc, &w) == PM_OK && pm_spawn_all(w, overflow_body, &newest) == PM_OK && pm_world_run(w) == PM_OK);
    pm_world_destroy(w);
  }
}
static void frees_eq(void *arg) { pm_sleep_ns(500); CHECK(PtlEQFree(((side *)arg)->eq) == PTL_OK); }
static void raises(void *arg) { pm_sleep_ns(500); PtlCTInc(((side *)arg)->ct, (ptl_ct_event_t){0, 1}); }
static void aborts_all(void *arg) { (void)arg; pm_sleep_ns(500); PtlAbort(); }
static void waits_body(void *unused) {
  side s_, *s = &s_;
  ptl_event_t e;
  ptl_ct_event_t v;
  unsigned int which = 9;
  (void)unused;
  side_open(s, PTL_NI_MATCHING, 0, 0);
  ptl_handle_ct_t ct2;
  CHECK(PtlCTAlloc(s->ni, &ct2) == PTL_OK);
  const ptl_handle_ct_t both[] = {s->ct, ct2};
  const ptl_size_t tests[] = {5, 7};
  CHECK(PtlEQPoll(&s->eq, 0, 0, &e, &which) == PTL_ARG_INVALID && PtlCTPoll(both, tests, 0, 0, &v, &which) == PTL_ARG_INVALID);
  int64_t t_ns = pm_now_ns();
  CHECK(PtlEQPoll(&s->eq, 1, 3, &e, &which) == PTL_EQ_EMPTY && pm_now_ns() == t_ns + 3000000);
  t_ns = pm_now_ns();
  CHECK(PtlCTPoll(both, tests, 2, 2, &v, &which) == PTL_CT_NONE_REACHED && pm_now_ns() == t_ns + 2000000);
  CHECK(PtlCTPoll(both, tests, 2, 0, &v, &which) == PTL_CT_NONE_REACHED);
  CHECK(PtlCTInc(ct2, (ptl_ct_event_t){7, 0}) == PTL_OK && PtlCTPoll(both, tests, 2, PTL_TIME_FOREVER, &v, &which) == PTL_OK && which == 1 && v.success == 7);
  CHECK(PtlCTInc(ct2, (ptl_ct_event_t){1, 1}) == PTL_ARG_INVALID);
  CHECK(PtlCTInc(ct2, (ptl_ct_event_t){(ptl_size_t)-5, 0}) == PTL_OK && count_of(ct2).success == 2); /* wraps on purpose */
  CHECK(PtlCTSet(ct2, (ptl_ct_event_t){3, 4}) == PTL_OK && count_of(ct2).success == 3 && count_of(ct2).failure == 4);
  CHECK(PtlCTWait(ct2, 100, &v) == PTL_OK && v.failure == 4 && PtlCTWait(s->ct, 0, &v) == PTL_OK);
  pm_thread *t = pm_thread_create(raises, s, 0);
  CHECK(PtlCTWait(s->ct, 1, &v) == PTL_OK && v.success == 0 && v.failure == 1);
  pm_thread_join(t);
  t = pm_thread_create(frees_eq, s, 0);
  CHECK(PtlEQWait(s->eq, &e) == PTL_ARG_INVALID);
  pm_thread_join(t);
  t = pm_thread_create(aborts_all, s, 0);
  CHECK(PtlCTWait(s->ct, 1, &v) == PTL_OK); /* a failure is there already */
  CHECK(PtlCTSet(s->ct, (ptl_ct_event_t){0, 0}) == PTL_OK && PtlCTWait(s->ct, 1, &v) == PTL_ABORTED);
  pm_thread_join(t);
  side_close(s);
}
static void waits_end_as_they_should(void) { alone(waits_body); }
static void waits_for_nothing(void *unused) {
  side s_, *s = &s_;
  ptl_ct_event_t v;
  (void)unused;
  side_open(s, PTL_NI_MATCHING, 0, 0);
  PtlCTWait(s->ct, 3, &v);
}
static void deadlock_tells_the_counter(void) {
  pm_platform p = pm_platform_bxi2(1);
  pm_world_desc desc = {0};
  pm_world *w;
  desc.platform = &p;
  CHECK(pm_world_create(&desc, &w) == PM_OK && pm_spawn_all(w, waits_for_nothing, NULL) == PM_OK && pm_world_run(w) == PM_E_DEADLOCK);
  CHECK(strstr(pm_world_error(w), "process 0 (node 0) waits: PtlCTWait: counter 68010000 to reach 3 (it has 0, 0 failures)") != NULL);
  pm_world_destroy(w);
}

/* ---- data ----------------------------------------------------------------------------------------- */
static void options_body(void *unused) {
  side s_, *s = &s_;
  ptl_handle_md_t mh;
  (void)unused;
  side_open(s, PTL_NI_MATCHING, 0, 0);
  append(s, entry(s->memory, 100, 0, PUT_GET | QUIET | PTL_ME_EVENT_COMM_DISABLE), PTL_PRIORITY_LIST, NULL);
  ptl_md_t md = {s->memory + 1000, 200, PTL_MD_EVENT_CT_SEND | PTL_MD_EVENT_CT_ACK | PTL_MD_EVENT_CT_BYTES | PTL_MD_EVENT_SEND_DISABLE, s->eq, s->ct};
  CHECK(PtlMDBind(s->ni, &md, &mh) == PTL_OK);
  CHECK(PtlPut(mh, 0, 150, PTL_ACK_REQ, pm_process_id(0), 3, 0, 0, NULL, 0) == PTL_OK);
  CHECK(EXPECT(s, ACK).mlength == 100);
  CHECK(count_of(s->ct).success == 250); /* SEND counts what was asked for, ACK what was moved */
  CHECK(PtlPut(mh, 0, 150, PTL_ACK_REQ, pm_process_id(0), 3, 5, 0, NULL, 0) == PTL_OK);
  CHECK(EXPECT(s, ACK).ni_fail_type == PTL_NI_DROPPED && count_of(s->ct).success == 400 && count_of(s->ct).failure == 1);
  PtlCTSet(s->ct, (ptl_ct_event_t){0, 0});
  md.options = PTL_MD_EVENT_CT_ACK | PTL_MD_EVENT_SUCCESS_DISABLE;
  ptl_handle_md_t quiet;
  CHECK(PtlMDBind(s->ni, &md, &quiet) == PTL_OK);
  CHECK(PtlPut(quiet, 0, 8, PTL_CT_ACK_REQ, pm_process_id(0), 3, 0, 0, NULL, 0) == PTL_OK);
  CHECK(PtlPut(quiet, 0, 8, PTL_OC_ACK_REQ, pm_process_id(0), 3, 0, 0, NULL, 0) == PTL_OK);
  CHECK(PtlPut(quiet, 0, 8, PTL_NO_ACK_REQ, pm_process_id(0), 3, 0, 0, NULL, 0) == PTL_OK);
  pm_sleep_ns(100000);
  CHECK(count_of(s->ct).success == 2);
  CHECK(PtlPut(quiet, 0, 8, PTL_ACK_REQ, pm_process_id(0), 3, 5, 0, NULL, 0) == PTL_OK);
  CHECK(EXPECT(s, ACK).ni_fail_type == PTL_NI_DROPPED); /* failures are not muted */
  md.options = PTL_MD_VOLATILE;
  CHECK(PtlMDBind(s->ni, &md, &quiet) == PTL_OK);
  CHECK(PtlPut(quiet, 0, 65, PTL_NO_ACK_REQ, pm_process_id(0), 3, 0, 0, NULL, 0) == PTL_ARG_INVALID);
  memset(s->memory + 1000, 7, 64);
  CHECK(PtlPut(quiet, 0, 64, PTL_NO_ACK_REQ, pm_process_id(0), 3, 0, 0, NULL, 0) == PTL_OK);
  memset(s->memory + 1000, 8, 64); /* may change at once */
  EXPECT(s, SEND);
  pm_sleep_ns(100000);
  CHECK(s->memory[0] == 7 && s->memory[63] == 7);
  EXPECT_NOTHING(s);
  side_close(s);
}
static void descriptor_options_choose_events_and_counts(void) { alone(options_body); }

static void pieces_body(void *unused) {
  side s_, *s = &s_;
  static unsigned char from[5000], to[5000], back[5000];
  (void)unused;
  side_open(s, PTL_NI_MATCHING, 0, PTL_MD_EVENT_SUCCESS_DISABLE | PTL_MD_EVENT_CT_ACK | PTL_MD_EVENT_CT_REPLY);
  for (int round = 0; round < 60; round++) {
    ptl_iovec_t a[8], b[8], c[8];
    size_t at_a = 0, at_b = 0, at_c = 0;
    for (int i = 0; i < 8; i++) { /* gaps of one byte between pieces; empty pieces too */
      const size_t x = i == 3 ? 0 : test_below(400), y = test_below(300), z = i == 7 ? 4000 - at_c : test_below(300);
      a[i] = (ptl_iovec_t){from + at_a, x}, at_a += x + 1;
      b[i] = (ptl_iovec_t){to + at_b, y}, at_b += y + 1;
      c[i] = (ptl_iovec_t){back + at_c, z}, at_c += z + 1;
    }
    const size_t have = at_a - 8, room = at_b - 8;
    const size_t offset = test_below(have + 1), bytes = test_below(have - offset + 1), remote = test_below(room + 1);
    const size_t moved = bytes < room - remote ? bytes : room - remote;
    for (size_t i = 0; i < sizeof from; i++) from[i] = (unsigned char)test_rand(), to[i] = 0xEE, back[i] = 0xDD;
    ptl_md_t md = {a, 8, PTL_IOVEC | PTL_MD_EVENT_CT_ACK | PTL_MD_EVENT_SUCCESS_DISABLE, s->eq, s->ct}, md_back = {c, 8, PTL_IOVEC | PTL_MD_EVENT_CT_REPLY | PTL_MD_EVENT_SUCCESS_DISABLE, s->eq, s->ct};
    ptl_handle_md_t h, h_back;
    ptl_ct_event_t v;
    ptl_me_t me = entry(b, 8, 0, PUT_GET | QUIET | PTL_IOVEC | PTL_ME_EVENT_COMM_DISABLE);
    CHECK(PtlMDBind(s->ni, &md, &h) == PTL_OK && PtlMDBind(s->ni, &md_back, &h_back) == PTL_OK);
    const ptl_handle_me_t mh = append(s, me, PTL_PRIORITY_LIST, NULL);
    PtlCTSet(s->ct, (ptl_ct_event_t){0, 0});
    CHECK(PtlPut(h, offset, bytes, PTL_CT_ACK_REQ, pm_process_id(0), 3, 0, remote, NULL, 0) == PTL_OK && PtlCTWait(s->ct, 1, &v) == PTL_OK);
    CHECK(PtlGet(h_back, 0, moved, pm_process_id(0), 3, 0, remote, NULL) == PTL_OK && PtlCTWait(s->ct, 2, &v) == PTL_OK && !v.failure);
    unsigned char flat[3300], flat_back[5000];
    size_t n = 0;
    for (int i = 0; i < 8; i++) memcpy(flat + n, a[i].iov_base, a[i].iov_len), n += a[i].iov_len;
    n = 0;
    for (int i = 0; i < 8; i++) memcpy(flat_back + n, c[i].iov_base, c[i].iov_len), n += c[i].iov_len;
    CHECK(memcmp(flat + offset, flat_back, moved) == 0);
    for (int i = 0; i < 7; i++) CHECK(((unsigned char *)b[i].iov_base)[b[i].iov_len] == 0xEE); /* the gaps */
    CHECK(PtlMEUnlink(mh) == PTL_OK && PtlMDRelease(h) == PTL_OK && PtlMDRelease(h_back) == PTL_OK);
  }
  side_close(s);
}
static void pieces_of_different_sizes_fit_together(void) { alone(pieces_body); }

static void all_memory_body(void *unused) {
  static uint64_t words[2][4];
  side s_, *s = &s_;
  (void)unused;
  side_open(s, PTL_NI_NO_MATCHING, 0, 0);
  ptl_md_t md = {NULL, PTL_SIZE_MAX, 0, s->eq, PTL_CT_NONE};
  ptl_le_t le = {NULL, PTL_SIZE_MAX, PTL_CT_NONE, PTL_UID_ANY, PTL_LE_OP_PUT | PTL_LE_EVENT_LINK_DISABLE | PTL_LE_EVENT_COMM_DISABLE};
  ptl_handle_md_t h;
  ptl_handle_le_t lh;
  CHECK(PtlMDBind(s->ni, &md, &h) == PTL_OK && PtlLEAppend(s->ni, s->pt, &le, PTL_PRIORITY_LIST, NULL, &lh) == PTL_OK);
  words[pm_rank()][0] = 4711;
  pm_barrier();
  if (pm_rank() == 0) {
    CHECK(PtlPut(h, (ptl_size_t)(uintptr_t)&words[0][0], 8, PTL_ACK_REQ, pm_process_id(1), 3, 0, (ptl_size_t)(uintptr_t)&words[1][3], NULL, 0) == PTL_OK);
    EXPECT(s, SEND);
    CHECK(EXPECT(s, ACK).mlength == 8 && words[1][3] == 4711);
  }
  pm_barrier();
  side_close(s);
}
static void all_memory_is_addressed_absolutely(void) { run_world(2, all_memory_body, NULL); }

static void logical_body(void *unused) {
  side s_, *s = &s_;
  ptl_process_t map[3], target;
  ptl_handle_ni_t ni;
  (void)unused;
  memset(s, 0, sizeof *s);
  CHECK(PtlInit() == PTL_OK && PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_LOGICAL, PTL_PID_ANY, NULL, NULL, &ni) == PTL_OK);
  s->ni = ni;
  CHECK(PtlEQAlloc(ni, 64, &s->eq) == PTL_OK && PtlPTAlloc(ni, 0, s->eq, 3, &s->pt) == PTL_OK);
  ptl_md_t md = {s->memory, 100, 0, s->eq, PTL_CT_NONE};
  CHECK(PtlMDBind(ni, &md, &s->md) == PTL_OK);
  target.rank = 0;
  CHECK(PtlPut(s->md, 0, 1, PTL_NO_ACK_REQ, target, 3, 0, 0, NULL, 0) == PTL_ARG_INVALID); /* no map yet */
  for (int i = 0; i < 3; i++) map[i] = pm_process_id(2 - i); /* ranks turned round */
  pm_barrier();
  CHECK(PtlSetMap(ni, 3, map) == PTL_OK);
  ptl_me_t me = entry(s->memory, 100, 0, PUT_GET | QUIET);
  me.match_id.rank = 2;
  append(s, me, PTL_PRIORITY_LIST, NULL);
  pm_barrier();
  target.rank = 3;
  CHECK(PtlPut(s->md, 0, 1, PTL_NO_ACK_REQ, target, 3, 0, 0, NULL, 0) == PTL_ARG_INVALID);
  target.rank = 1;
  if (pm_rank() == 0) { /* rank 2 */
    CHECK(PtlPut(s->md, 0, 1, PTL_ACK_REQ, target, 3, 0, 0, NULL, 0) == PTL_OK);
    EXPECT(s, SEND);
    CHECK(EXPECT(s, ACK).ni_fail_type == PTL_NI_OK);
  }
  if (pm_rank() == 1) CHECK(EXPECT(s, PUT).initiator.rank == 2);
  pm_barrier();
  side_close(s);
}
static void logical_interfaces_speak_of_ranks(void) { run_world(3, logical_body, NULL); }

/* ---- atomics --------------------------------------------------------------------------------------- */
#define DO(bytes, op, type)                                                                        \
  do {                                                                                             \
    PtlCTSet(s->ct, (ptl_ct_event_t){0, 0});                                                       \
    CHECK(PtlAtomic(h, 0, bytes, PTL_CT_ACK_REQ, self, 3, 0, 0, NULL, 0, op, type) == PTL_OK);     \
    CHECK(PtlCTWait(s->ct, 1, &v) == PTL_OK && v.failure == 0);                                    \
  } while (0)
#define FETCH(bytes, op, type)                                                                     \
  do {                                                                                             \
    PtlCTSet(s->ct, (ptl_ct_event_t){0, 0});                                                       \
    CHECK(PtlFetchAtomic(hr, 0, h, 0, bytes, self, 3, 0, 0, NULL, 0, op, type) == PTL_OK);         \
    CHECK(PtlCTWait(s->ct, 1, &v) == PTL_OK && v.failure == 0);                                    \
  } while (0)
#define SWAP(bytes, operand, op, type)                                                             \
  do {                                                                                             \
    PtlCTSet(s->ct, (ptl_ct_event_t){0, 0});                                                       \
    CHECK(PtlSwap(hr, 0, h, 0, bytes, self, 3, 0, 0, NULL, 0, operand, op, type) == PTL_OK);       \
    CHECK(PtlCTWait(s->ct, 1, &v) == PTL_OK && v.failure == 0);                                    \
  } while (0)
static void atomics_body(void *unused) {
  side s_, *s = &s_;
  static union { int8_t i8[8]; uint16_t u16[4]; int32_t i32[4]; uint64_t u64[8]; double d[8]; float f[8]; long double ld[2]; double _Complex z[2]; } t, o, r;
  (void)unused;
  side_open(s, PTL_NI_MATCHING, 0, 0);
  const ptl_process_t self = pm_process_id(0);
  ptl_md_t md = {&o, sizeof o, PTL_MD_EVENT_SUCCESS_DISABLE | PTL_MD_EVENT_CT_ACK, s->eq, s->ct}, md_r = {&r, sizeof r, PTL_MD_EVENT_SUCCESS_DISABLE | PTL_MD_EVENT_CT_REPLY, s->eq, s->ct};
  ptl_handle_md_t h, hr;
  ptl_ct_event_t v;
  CHECK(PtlMDBind(s->ni, &md, &h) == PTL_OK && PtlMDBind(s->ni, &md_r, &hr) == PTL_OK);
  append(s, entry(&t, sizeof t, 0, PUT_GET | QUIET | PTL_ME_EVENT_COMM_DISABLE), PTL_PRIORITY_LIST, NULL);
  for (int i = 0; i < 8; i++) t.i8[i] = (int8_t)(i * 20), o.i8[i] = 100;
  DO(8, PTL_SUM, PTL_INT8_T);
  for (int i = 0; i < 8; i++) CHECK(t.i8[i] == (int8_t)(i * 20 + 100)); /* wraps */
  t.u16[0] = 0xFFFF, o.u16[0] = 0xFFFF;
  DO(2, PTL_PROD, PTL_UINT16_T);
  CHECK(t.u16[0] == 1);
  t.i32[0] = -5, t.i32[1] = 7, o.i32[0] = 3, o.i32[1] = -3;
  DO(8, PTL_MIN, PTL_INT32_T);
  CHECK(t.i32[0] == -5 && t.i32[1] == -3);
  DO(8, PTL_MAX, PTL_INT32_T);
  CHECK(t.i32[0] == 3 && t.i32[1] == -3);
  static const struct { int op; uint64_t a, b, result; } logic[] = {
      {PTL_LOR, 0, 9, 1}, {PTL_LOR, 0, 0, 0}, {PTL_LAND, 5, 9, 1}, {PTL_LAND, 5, 0, 0}, {PTL_LXOR, 5, 9, 0}, {PTL_LXOR, 0, 9, 1},
      {PTL_BOR, 12, 10, 14}, {PTL_BAND, 12, 10, 8}, {PTL_BXOR, 12, 10, 6}};
  for (size_t i = 0; i < sizeof logic / sizeof *logic; i++) {
    t.u64[0] = logic[i].a, o.u64[0] = logic[i].b;
    FETCH(8, (ptl_op_t)logic[i].op, PTL_UINT64_T);
    CHECK(t.u64[0] == logic[i].result && r.u64[0] == logic[i].a);
  }
  t.d[0] = 1.5, t.d[1] = -2, o.d[0] = 4, o.d[1] = 0.5;
  DO(16, PTL_PROD, PTL_DOUBLE);
  CHECK(t.d[0] == 6 && t.d[1] == -1);
  t.ld[0] = 1, o.ld[0] = 0x1p-60L;
  DO(sizeof(long double), PTL_SUM, PTL_LONG_DOUBLE);
  CHECK(t.ld[0] == 1 + 0x1p-60L);
  ((double *)&t)[0] = 1, ((double *)&t)[1] = 2, ((double *)&o)[0] = 3, ((double *)&o)[1] = 4;
  DO(16, PTL_PROD, PTL_DOUBLE_COMPLEX);
  CHECK(t.d[0] == 1 * 3 - 2 * 4 && t.d[1] == 1 * 4 + 2 * 3);
  for (uint64_t i = 0; i < 8; i++) { /* of two that are no numbers the target's stays, one alone is kept */
    const uint64_t no_number = 0x7FF8000000000001 + i, other = i & 1 ? 0xFFF8000000000011 : 0x3FF0000000000000;
    t.u64[0] = i & 4 ? other : no_number, o.u64[0] = i & 4 ? no_number : other;
    const uint64_t kept = i & 4 && !(i & 1) ? no_number : t.u64[0];
    DO(8, i & 2 ? PTL_PROD : PTL_SUM, PTL_DOUBLE);
    CHECK(t.u64[0] == kept);
  }
  /* swaps: the reply is the old value; the operand decides */
  t.u64[0] = 1, t.u64[1] = 2, o.u64[0] = 8, o.u64[1] = 9;
  SWAP(16, NULL, PTL_SWAP, PTL_UINT64_T);
  CHECK(t.u64[0] == 8 && t.u64[1] == 9 && r.u64[0] == 1 && r.u64[1] == 2);
  static const struct { int op; int32_t operand, target; int swaps; } conditions[] = {
      {PTL_CSWAP, 5, 5, 1}, {PTL_CSWAP, 4, 5, 0}, {PTL_CSWAP_NE, 4, 5, 1}, {PTL_CSWAP_NE, 5, 5, 0}, {PTL_CSWAP_LE, 5, 5, 1}, {PTL_CSWAP_LE, 6, 5, 0},
      {PTL_CSWAP_LT, 4, 5, 1}, {PTL_CSWAP_LT, 5, 5, 0}, {PTL_CSWAP_GE, 5, 5, 1}, {PTL_CSWAP_GE, 4, 5, 0}, {PTL_CSWAP_GT, 6, 5, 1}, {PTL_CSWAP_GT, 5, 5, 0}};
  for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++) {
    t.i32[0] = conditions[i].target, o.i32[0] = 77;
    SWAP(4, &conditions[i].operand, (ptl_op_t)conditions[i].op, PTL_INT32_T);
    CHECK(t.i32[0] == (conditions[i].swaps ? 77 : conditions[i].target) && r.i32[0] == conditions[i].target);
    const double operand = conditions[i].operand;
    t.d[0] = conditions[i].target, o.d[0] = 77;
    SWAP(8, &operand, (ptl_op_t)conditions[i].op, PTL_DOUBLE);
    CHECK(t.d[0] == (conditions[i].swaps ? 77 : conditions[i].target) && r.d[0] == conditions[i].target);
  }
  const uint64_t mask = 0x00FF00FF;
  t.u64[0] = 0x12345678, o.u64[0] = 0xAABBCCDD;
  SWAP(8, &mask, PTL_MSWAP, PTL_UINT64_T);
  CHECK(t.u64[0] == 0x12BB56DD && r.u64[0] == 0x12345678);
  /* get and put side may be the same memory */
  PtlCTSet(s->ct, (ptl_ct_event_t){0, 0});
  t.u64[0] = 40, r.u64[0] = 2;
  CHECK(PtlFetchAtomic(hr, 0, hr, 0, 8, self, 3, 0, 0, NULL, 0, PTL_SUM, PTL_UINT64_T) == PTL_OK && PtlCTWait(s->ct, 1, &v) == PTL_OK);
  CHECK(t.u64[0] == 42 && r.u64[0] == 40);
  /* legality */
  CHECK(PtlAtomic(h, 0, 8, PTL_NO_ACK_REQ, self, 3, 0, 0, NULL, 0, PTL_SWAP, PTL_UINT64_T) == PTL_ARG_INVALID);
  CHECK(PtlAtomic(h, 0, 8, PTL_NO_ACK_REQ, self, 3, 0, 0, NULL, 0, PTL_BOR, PTL_DOUBLE) == PTL_ARG_INVALID);
  CHECK(PtlAtomic(h, 0, 7, PTL_NO_ACK_REQ, self, 3, 0, 0, NULL, 0, PTL_SUM, PTL_DOUBLE) == PTL_ARG_INVALID);
  CHECK(PtlAtomic(h, 0, 8, PTL_NO_ACK_REQ, self, 3, 0, 0, NULL, 0, PTL_MIN, PTL_FLOAT_COMPLEX) == PTL_ARG_INVALID);
  CHECK(PtlAtomic(h, 0, 8, PTL_NO_ACK_REQ, self, 3, 0, 0, NULL, 0, PTL_OP_LAST, PTL_INT8_T) == PTL_ARG_INVALID);
  CHECK(PtlAtomic(h, 0, 8, PTL_NO_ACK_REQ, self, 3, 0, 0, NULL, 0, PTL_SUM, PTL_DATATYPE_LAST) == PTL_ARG_INVALID);
  CHECK(PtlFetchAtomic(hr, 0, h, 0, 8, self, 3, 0, 0, NULL, 0, PTL_CSWAP, PTL_UINT64_T) == PTL_ARG_INVALID);
  CHECK(PtlSwap(hr, 0, h, 0, 8, self, 3, 0, 0, NULL, 0, NULL, PTL_SUM, PTL_UINT64_T) == PTL_ARG_INVALID);
  CHECK(PtlSwap(hr, 0, h, 0, 16, self, 3, 0, 0, NULL, 0, &mask, PTL_CSWAP, PTL_UINT64_T) == PTL_ARG_INVALID);
  for (int op = PTL_CSWAP; op <= PTL_MSWAP; op++) /* conditional: one item, not none */
    CHECK(PtlSwap(hr, 0, h, 0, 0, self, 3, 0, 0, NULL, 0, &mask, (ptl_op_t)op, PTL_UINT64_T) == PTL_ARG_INVALID);
  CHECK(PtlTriggeredSwap(hr, 0, h, 0, 0, self, 3, 0, 0, NULL, 0, &mask, PTL_MSWAP, PTL_UINT64_T, s->ct, 1) == PTL_ARG_INVALID);
  int legal = 0;
  for (int op = 0; op < PTL_OP_LAST; op++)
    for (int type = 0; type < PTL_DATATYPE_LAST; type++) legal += pm__op_is_legal(op, type);
  CHECK(legal == 10 * 8 + 4 * 3 + 2 * 3 /* plain */ + 3 * 14 + 4 * 11 + 8 /* swaps */);
  side_close(s);
}
static void atomics_compute_what_they_should(void) { alone(atomics_body); }

/* ---- order of data ----------------------------------------------------------------------------- */
/* What a process puts, adds and reads back at the last one, without waiting in between: reads see what was sent before. */
enum { ROOM = 512, AT_WORD = 448 };
static unsigned char held[4][ROOM];
typedef struct reader {
  side s;
  ptl_handle_md_t out, back;
  ptl_process_t to;
  ptl_size_t base, count; /* replies so far */
  unsigned char sent[ROOM], came[ROOM];
} reader;
static void reader_get(reader *r, ptl_size_t at, ptl_size_t bytes) {
  CHECK(!PtlGet(r->back, at, bytes, r->to, 3, 0, r->base + at, NULL));
}
static void reader_put(reader *r, ptl_size_t at, ptl_size_t bytes) {
  CHECK(!PtlPut(r->out, at, bytes, PTL_NO_ACK_REQ, r->to, 3, 0, r->base + at, NULL, 0));
}
static void reader_wait(reader *r) {
  ptl_ct_event_t v;
  CHECK(!PtlCTWait(r->s.ct, ++r->count, &v) && !v.failure);
}
static void reader_word(reader *r, uint64_t first, uint64_t second, int kind) {
  uint64_t was, is, five = 5, hundred = 100;
  memset(r->sent + AT_WORD, 0, 8);
  reader_put(r, AT_WORD, 8);
  reader_get(r, AT_WORD, 8);
  reader_wait(r);
  memcpy(r->sent + AT_WORD, &five, 8);
  memcpy(r->sent + AT_WORD + 8, &hundred, 8);
  const ptl_size_t at = r->base + AT_WORD;
  if (kind & 1)
    reader_put(r, AT_WORD, 8);
  else
    CHECK(!PtlAtomic(r->out, AT_WORD, 8, PTL_NO_ACK_REQ, r->to, 3, 0, at, NULL, 0, PTL_SUM, PTL_UINT64_T));
  if (kind & 2)
    CHECK(!PtlSwap(r->back, AT_WORD, r->out, AT_WORD + 8, 8, r->to, 3, 0, at, NULL, 0, NULL, PTL_SWAP, PTL_UINT64_T));
  else
    CHECK(!PtlFetchAtomic(r->back, AT_WORD, r->out, AT_WORD + 8, 8, r->to, 3, 0, at, NULL, 0, PTL_SUM, PTL_UINT64_T));
  reader_wait(r);
  memcpy(&was, r->came + AT_WORD, 8);
  reader_get(r, AT_WORD, 8);
  reader_wait(r);
  memcpy(&is, r->came + AT_WORD, 8);
  CHECK(was == first && is == second);
  if (was != first || is != second) printf("  kind %d: was %d, is %d\n", kind, (int)was, (int)is);
}
static void reader_overlaps(reader *r) { /* the second put's first bytes stay, though only its last ones are read at once */
  unsigned char wanted[16];
  memset(r->sent, 1, 12);
  reader_put(r, 0, 12);
  memset(r->sent + 64, 2, 8);
  CHECK(!PtlPut(r->out, 64, 8, PTL_NO_ACK_REQ, r->to, 3, 0, r->base + 8, NULL, 0));
  reader_get(r, 12, 4);
  reader_wait(r);
  CHECK(r->came[12] == 2 && r->came[15] == 2);
  pm_sleep_ns(100000);
  reader_get(r, 0, 16);
  reader_wait(r);
  memset(wanted, 1, 8);
  memset(wanted + 8, 2, 8);
  CHECK(!memcmp(r->came, wanted, 16));
}
static void readers_body(void *unused) {
  static reader readers[4];
  const int last = pm_size() - 1;
  reader *r = &readers[pm_rank()];
  (void)unused;
  memset(r, 0, sizeof *r);
  side_open(&r->s, PTL_NI_MATCHING, 0, 0);
  append(&r->s, entry(held, sizeof held, 0, PUT_GET | QUIET | PTL_ME_EVENT_COMM_DISABLE), PTL_PRIORITY_LIST, NULL);
  ptl_md_t out = {r->sent, ROOM, PTL_MD_EVENT_SUCCESS_DISABLE, r->s.eq, PTL_CT_NONE},
           back = {r->came, ROOM, PTL_MD_EVENT_SUCCESS_DISABLE | PTL_MD_EVENT_CT_REPLY, r->s.eq, r->s.ct};
  CHECK(!PtlMDBind(r->s.ni, &out, &r->out) && !PtlMDBind(r->s.ni, &back, &r->back));
  r->to = pm_process_id(last);
  r->base = (ptl_size_t)pm_rank() * ROOM;
  pm_barrier();
  for (int round = 0; round < (IS_ON_RTL ? 4 : 40) && pm_rank() < last; round++) {
    const ptl_size_t bytes = 1 + test_below(AT_WORD);
    for (ptl_size_t i = 0; i < bytes; i++) r->sent[i] = (unsigned char)test_below(256);
    reader_put(r, 0, bytes);
    reader_get(r, 0, bytes);
    reader_wait(r);
    CHECK(!memcmp(r->sent, r->came, bytes));
    reader_word(r, 5, round & 2 ? 100 : 105, round & 3);
    reader_overlaps(r);
  }
  pm_barrier();
  side_close(&r->s);
}
static void reads_see_what_was_sent_before(void) {
  pm_platform p = pm_platform_bxi2(2);
  pm_world_desc desc = {.platform = &p};
  run_world(2, readers_body, &desc);
  if (IS_ON_RTL) return;
  p.nic_count = 2, p.procs_per_node_count = 2; /* two rails, whose writes end in any order */
  run_world(4, readers_body, &desc);
  p.nic_count = 1, p.nic_match_ns = 50;
  run_world(4, readers_body, &desc);
}

static uint64_t counter_word;
static void counters_body(void *unused) {
  side s_, *s = &s_;
  uint64_t one = 1, old[50];
  (void)unused;
  side_open(s, PTL_NI_MATCHING, 0, 0);
  ptl_md_t md = {&one, 8, PTL_MD_EVENT_SUCCESS_DISABLE, s->eq, s->ct}, md_old = {old, sizeof old, PTL_MD_EVENT_SUCCESS_DISABLE | PTL_MD_EVENT_CT_REPLY, s->eq, s->ct};
  ptl_handle_md_t h, ho;
  ptl_ct_event_t v;
  CHECK(PtlMDBind(s->ni, &md, &h) == PTL_OK && PtlMDBind(s->ni, &md_old, &ho) == PTL_OK);
  if (pm_rank() == 0) append(s, entry(&counter_word, 8, 0, PUT_GET | QUIET | PTL_ME_EVENT_COMM_DISABLE), PTL_PRIORITY_LIST, NULL);
  pm_barrier();
  for (ptl_size_t i = 0; i < 50; i++) CHECK(PtlFetchAtomic(ho, 8 * i, h, 0, 8, pm_process_id(0), 3, 0, 0, NULL, 0, PTL_SUM, PTL_UINT64_T) == PTL_OK);
  CHECK(PtlCTWait(s->ct, 50, &v) == PTL_OK);
  for (int i = 1; i < 50; i++) CHECK(old[i] > old[i - 1]); /* nobody saw a value twice */
  pm_barrier();
  side_close(s);
}
static void concurrent_fetch_adds_lose_nothing(void) {
  counter_word = 0;
  run_world(6, counters_body, NULL);
  CHECK(counter_word == 300);
}

/* ---- triggered operations -------------------------------------------------------------------------- */
static void triggered_body(void *unused) {
  side s_, *s = &s_;
  (void)unused;
  side_open(s, PTL_NI_MATCHING, 0, PTL_MD_EVENT_SUCCESS_DISABLE);
  const ptl_process_t self = pm_process_id(0);
  append(s, entry(s->memory, 1000, 0, PUT_GET | QUIET), PTL_PRIORITY_LIST, NULL);
  ptl_handle_ct_t a, b;
  CHECK(PtlCTAlloc(s->ni, &a) == PTL_OK && PtlCTAlloc(s->ni, &b) == PTL_OK);
  /* thresholds fire in order, equal ones in order of posting */
  static const ptl_size_t thresholds[] = {3, 1, 3, 2, 1};
  for (ptl_hdr_data_t i = 0; i < 5; i++) CHECK(PtlTriggeredPut(s->md, 0, 4, PTL_NO_ACK_REQ, self, 3, 0, 0, NULL, i, a, thresholds[i]) == PTL_OK);
  CHECK(PtlMDRelease(s->md) == PTL_ARG_INVALID); /* pending operations keep it */
  EXPECT_NOTHING(s);
  CHECK(PtlCTInc(a, (ptl_ct_event_t){2, 0}) == PTL_OK);
  CHECK(EXPECT(s, PUT).hdr_data == 1 && EXPECT(s, PUT).hdr_data == 4 && EXPECT(s, PUT).hdr_data == 3);
  EXPECT_NOTHING(s);
  CHECK(PtlCTInc(a, (ptl_ct_event_t){0, 1}) == PTL_OK); /* success + failure */
  CHECK(EXPECT(s, PUT).hdr_data == 0 && EXPECT(s, PUT).hdr_data == 2);
  /* reached already: fires at once; data is read when it fires */
  CHECK(PtlTriggeredPut(s->md, 0, 4, PTL_NO_ACK_REQ, self, 3, 0, 100, NULL, 9, b, 1) == PTL_OK);
  s->memory[0] = 55;
  CHECK(PtlTriggeredCTInc(b, (ptl_ct_event_t){1, 0}, a, 3) == PTL_OK);
  CHECK(EXPECT(s, PUT).hdr_data == 9 && s->memory[100] == 55 && count_of(b).success == 1);
  /* chains, also onto the same counter: each step raises what triggers the next */
  PtlCTSet(a, (ptl_ct_event_t){0, 0});
  PtlCTSet(b, (ptl_ct_event_t){0, 0});
  for (ptl_size_t i = 1; i < 2000; i++) CHECK(PtlTriggeredCTInc(a, (ptl_ct_event_t){1, 0}, a, i) == PTL_OK);
  CHECK(PtlTriggeredCTSet(b, (ptl_ct_event_t){77, 0}, a, 2000) == PTL_OK && count_of(b).success == 0);
  PtlCTInc(a, (ptl_ct_event_t){1, 0});
  CHECK(count_of(a).success == 2000 && count_of(b).success == 77);
  /* cancelled ones never fire, the counter lives on */
  PtlCTSet(a, (ptl_ct_event_t){0, 0});
  CHECK(PtlTriggeredPut(s->md, 0, 4, PTL_NO_ACK_REQ, self, 3, 0, 0, NULL, 5, a, 1) == PTL_OK && PtlCTCancelTriggered(a) == PTL_OK);
  PtlCTInc(a, (ptl_ct_event_t){4, 0});
  EXPECT_NOTHING(s);
  CHECK(count_of(a).success == 4 && PtlMDRelease(s->md) == PTL_OK);
  CHECK(PtlTriggeredCTInc(b, (ptl_ct_event_t){1, 0}, PTL_INVALID_HANDLE, 3) == PTL_ARG_INVALID);
  CHECK(PtlTriggeredCTInc(b, (ptl_ct_event_t){1, 1}, a, 3) == PTL_ARG_INVALID);
  CHECK(PtlTriggeredCTInc(b, (ptl_ct_event_t){1, 0}, a, 100) == PTL_OK && PtlCTFree(a) == PTL_OK); /* dropped with it */
  side_close(s);
}
static void triggered_operations_fire_in_order(void) { alone(triggered_body); }

/* All kinds of moves, triggered: the same memory and events as the plain ones. */
static void triggered_kinds_body(void *unused) {
  side s_, *s = &s_;
  static uint64_t t[4], local[4];
  (void)unused;
  side_open(s, PTL_NI_MATCHING, 0, 0);
  const ptl_process_t self = pm_process_id(0);
  ptl_md_t md = {local, sizeof local, 0, s->eq, PTL_CT_NONE};
  ptl_handle_md_t h;
  CHECK(PtlMDBind(s->ni, &md, &h) == PTL_OK);
  append(s, entry(t, sizeof t, 0, PUT_GET | QUIET | PTL_ME_EVENT_COMM_DISABLE), PTL_PRIORITY_LIST, NULL);
  t[0] = 10, local[0] = 5;
  CHECK(PtlTriggeredAtomic(h, 0, 8, PTL_ACK_REQ, self, 3, 0, 0, NULL, 0, PTL_SUM, PTL_UINT64_T, s->ct, 1) == PTL_OK);
  PtlCTInc(s->ct, (ptl_ct_event_t){1, 0});
  EXPECT(s, SEND);
  EXPECT(s, ACK);
  CHECK(t[0] == 15);
  CHECK(PtlTriggeredFetchAtomic(h, 8, h, 0, 8, self, 3, 0, 0, NULL, 0, PTL_SUM, PTL_UINT64_T, s->ct, 2) == PTL_OK);
  PtlCTInc(s->ct, (ptl_ct_event_t){1, 0});
  EXPECT(s, SEND);
  EXPECT(s, REPLY);
  CHECK(t[0] == 20 && local[1] == 15);
  const uint64_t operand = 20;
  CHECK(PtlTriggeredSwap(h, 8, h, 0, 8, self, 3, 0, 0, NULL, 0, &operand, PTL_CSWAP, PTL_UINT64_T, s->ct, 2) == PTL_OK);
  EXPECT(s, SEND);
  EXPECT(s, REPLY);
  CHECK(t[0] == 5 && local[1] == 20);
  t[1] = 33;
  CHECK(PtlTriggeredGet(h, 16, 8, self, 3, 0, 8, NULL, s->ct, 2) == PTL_OK);
  EXPECT(s, REPLY);
  CHECK(local[2] == 33);
  ptl_me_t me = entry(t, 8, 9, PUT_GET);
  ptl_handle_me_t mh;
  CHECK(PtlTriggeredMEAppend(s->ni, 3, &me, PTL_PRIORITY_LIST, NULL, &mh, s->ct, 3) == PTL_OK);
  EXPECT_NOTHING(s);
  PtlCTInc(s->ct, (ptl_ct_event_t){1, 0});
  EXPECT(s, LINK);
  side_close(s);
}
static void every_move_can_be_triggered(void) { alone(triggered_kinds_body); }

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(interfaces_count_and_clamp);
  RUN(bad_calls_get_their_codes);
  RUN(full_queue_loses_and_says_so);
  RUN(waits_end_as_they_should);
  RUN(deadlock_tells_the_counter);
  RUN(descriptor_options_choose_events_and_counts);
  RUN(pieces_of_different_sizes_fit_together);
  RUN(all_memory_is_addressed_absolutely);
  RUN(logical_interfaces_speak_of_ranks);
  RUN(atomics_compute_what_they_should);
  RUN(reads_see_what_was_sent_before);
  RUN(concurrent_fetch_adds_lose_nothing);
  RUN(triggered_operations_fire_in_order);
  RUN(every_move_can_be_triggered);
  return TEST_END();
}
