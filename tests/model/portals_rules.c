/* The finer rules of Portals, one test each; tests/model/rules.list says which test shows which rule. */
#include "tests/model/pieces.h"
#include "tests/model/ptl.h"

enum { PUT_GET = PTL_ME_OP_PUT | PTL_ME_OP_GET, QUIET = PTL_ME_EVENT_LINK_DISABLE };
static void alone(void (*body)(void *arg)) { run_world(1, body, NULL); }
static void alone_with(void (*body)(void *arg), pm_semantics semantics) {
  pm_world_desc desc = {0};
  desc.semantics = semantics;
  run_world(1, body, &desc);
}
/* A put, atomic or get to oneself; what the call returns. */
static int put_self(side *s, size_t bytes, ptl_ack_req_t ack, ptl_match_bits_t bits, size_t remote) {
  return put(s, 0, bytes, ack, bits, remote, 0);
}
static int disabled_seen, put_fail; /* PT_DISABLED events, fail type of the last PUT, on the way to ... */
static ptl_event_t ack_of_put(side *s, size_t bytes, ptl_match_bits_t bits, size_t remote) {
  CHECK(put_self(s, bytes, PTL_ACK_REQ, bits, remote) == PTL_OK);
  for (;;) {
    ptl_event_t e;
    CHECK(PtlEQWait(s->eq, &e) == PTL_OK);
    if (e.type == PTL_EVENT_ACK) return e;
    disabled_seen += e.type == PTL_EVENT_PT_DISABLED;
    if (e.type == PTL_EVENT_PUT) put_fail = e.ni_fail_type;
  }
}
static void drain(side *s) {
  ptl_event_t e;
  pm_sleep_ns(100000);
  while (PtlEQGet(s->eq, &e) == PTL_OK) {}
}

/* ---- names --------------------------------------------------------------------------------------- */
#define ALL_CALLS(X)                                                                               \
  X(PtlInit) X(PtlNIInit) X(PtlNIFini) X(PtlNIStatus) X(PtlNIHandle) X(PtlSetMap) X(PtlGetMap)     \
  X(PtlGetUid) X(PtlGetId) X(PtlGetPhysId) X(PtlPTAlloc) X(PtlPTFree) X(PtlPTDisable)              \
  X(PtlPTEnable) X(PtlMDBind) X(PtlMDRelease) X(PtlLEAppend) X(PtlMEAppend) X(PtlLEUnlink)         \
  X(PtlMEUnlink) X(PtlLESearch) X(PtlMESearch) X(PtlEQAlloc) X(PtlEQFree) X(PtlEQGet) X(PtlEQWait) \
  X(PtlEQPoll) X(PtlCTAlloc) X(PtlCTFree) X(PtlCTCancelTriggered) X(PtlCTGet) X(PtlCTWait)         \
  X(PtlCTPoll) X(PtlCTSet) X(PtlCTInc) X(PtlPut) X(PtlGet) X(PtlAtomic) X(PtlFetchAtomic)          \
  X(PtlSwap) X(PtlAtomicSync) X(PtlTriggeredPut) X(PtlTriggeredGet) X(PtlTriggeredAtomic)          \
  X(PtlTriggeredFetchAtomic) X(PtlTriggeredSwap) X(PtlTriggeredCTInc) X(PtlTriggeredCTSet)         \
  X(PtlTriggeredMEAppend) X(PtlTriggeredMEUnlink) X(PtlStartBundle) X(PtlEndBundle)                \
  X(PtlHandleIsEqual) X(PtlPutNB) X(PtlGetNB) X(PtlAtomicNB) X(PtlFetchAtomicNB) X(PtlSwapNB)      \
  X(PtlPTDisableNB) X(PtlPTEnableNB) X(PtlMDBindNB) X(PtlLEAppendNB) X(PtlLESearchNB)              \
  X(PtlMEAppendNB) X(PtlMESearchNB) X(PtlTriggeredPutNB) X(PtlTriggeredGetNB)                      \
  X(PtlTriggeredAtomicNB) X(PtlTriggeredFetchAtomicNB) X(PtlTriggeredSwapNB)                       \
  X(PtlTriggeredCTIncNB) X(PtlTriggeredCTSetNB) X(PtlNIAtomicSync) X(PtlGetHwid)         \
  X(PtlToStr) X(PtlEvToStr) X(PtlEQAllocAsync) X(PtlNFDs) X(PtlPollFDs) X(PtlPollEvents)           \
  X(PtlActivateHookAdd) X(PtlActivateHookRemove)
/* Within a group no value twice: a switch could not tell them apart. */
static void all_differ(const unsigned *value, size_t count, const char *group) {
  for (size_t i = 0; i < count; i++)
    for (size_t k = 0; k < i; k++)
      if (value[i] == value[k]) {
        printf("  %s: numbers %d and %d are equal\n", group, (int)k, (int)i);
        CHECK(value[i] != value[k]);
      }
}
#define ALL_DIFFER(...)                                                                            \
  do {                                                                                             \
    const unsigned group[] = {__VA_ARGS__};                                                        \
    all_differ(group, sizeof group / sizeof *group, #__VA_ARGS__);                                 \
  } while (0)
static void every_name_is_there(void) {
  typedef void (*call)(void);
  const call calls[] = {
#define X(name) (call)name,
      ALL_CALLS(X)
#undef X
  };
  const call procedures[] = {PtlFini, PtlAbort};
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) CHECK(calls[i] != NULL);
  CHECK(procedures[0] != procedures[1]);
  ALL_DIFFER(PTL_OK, PTL_ARG_INVALID, PTL_CT_NONE_REACHED, PTL_EQ_DROPPED, PTL_EQ_EMPTY, PTL_FAIL, PTL_IGNORED, PTL_IN_USE, PTL_INTERRUPTED,
             PTL_LIST_TOO_LONG, PTL_NO_INIT, PTL_NO_SPACE, PTL_PID_IN_USE, PTL_PT_FULL, PTL_PT_EQ_NEEDED, PTL_PT_IN_USE, PTL_ABORTED, PTL_TRY_AGAIN,
             PTL_SIZE_INVALID, PTL_STATUS_LAST);
  ALL_DIFFER(PTL_INVALID_HANDLE, PTL_EQ_NONE, PTL_CT_NONE);
  ALL_DIFFER(PTL_NI_MATCHING, PTL_NI_NO_MATCHING, PTL_NI_LOGICAL, PTL_NI_PHYSICAL);
  ALL_DIFFER(PTL_TARGET_BIND_INACCESSIBLE, PTL_TOTAL_DATA_ORDERING, PTL_COHERENT_ATOMICS);
  ALL_DIFFER(PTL_SR_DROP_COUNT, PTL_SR_PERMISSION_VIOLATIONS, PTL_SR_OPERATION_VIOLATIONS, PTL_SR_LAST);
  ALL_DIFFER(PTL_NI_OK, PTL_NI_UNDELIVERABLE, PTL_NI_DROPPED, PTL_NI_PT_DISABLED, PTL_NI_PERM_VIOLATION, PTL_NI_OP_VIOLATION, PTL_NI_NO_MATCH,
             PTL_NI_SEGV, PTL_NI_TARGET_INVALID);
  ALL_DIFFER(PTL_PT_ONLY_USE_ONCE, PTL_PT_FLOWCTRL, PTL_PT_ONLY_TRUNCATE, PTL_PT_MATCH_UNORDERED, PTL_PT_ALLOC_DISABLED);
  ALL_DIFFER(PTL_IOVEC, PTL_MD_EVENT_SUCCESS_DISABLE, PTL_MD_EVENT_SEND_DISABLE, PTL_MD_EVENT_CT_SEND, PTL_MD_EVENT_CT_REPLY, PTL_MD_EVENT_CT_ACK,
             PTL_MD_EVENT_CT_BYTES, PTL_MD_UNORDERED, PTL_MD_VOLATILE, PTL_MD_UNRELIABLE);
  ALL_DIFFER(PTL_IOVEC, PTL_LE_OP_PUT, PTL_LE_OP_GET, PTL_LE_USE_ONCE, PTL_LE_ACK_DISABLE, PTL_LE_UNEXPECTED_HDR_DISABLE, PTL_LE_IS_ACCESSIBLE,
             PTL_LE_EVENT_LINK_DISABLE, PTL_LE_EVENT_COMM_DISABLE, PTL_LE_EVENT_FLOWCTRL_DISABLE, PTL_LE_EVENT_SUCCESS_DISABLE,
             PTL_LE_EVENT_OVER_DISABLE, PTL_LE_EVENT_UNLINK_DISABLE, PTL_LE_EVENT_CT_COMM, PTL_LE_EVENT_CT_OVERFLOW, PTL_LE_EVENT_CT_BYTES);
  ALL_DIFFER(PTL_IOVEC, PTL_ME_OP_PUT, PTL_ME_OP_GET, PTL_ME_USE_ONCE, PTL_ME_ACK_DISABLE, PTL_ME_UNEXPECTED_HDR_DISABLE, PTL_ME_IS_ACCESSIBLE,
             PTL_ME_EVENT_LINK_DISABLE, PTL_ME_EVENT_COMM_DISABLE, PTL_ME_EVENT_FLOWCTRL_DISABLE, PTL_ME_EVENT_SUCCESS_DISABLE,
             PTL_ME_EVENT_OVER_DISABLE, PTL_ME_EVENT_UNLINK_DISABLE, PTL_ME_EVENT_CT_COMM, PTL_ME_EVENT_CT_OVERFLOW, PTL_ME_EVENT_CT_BYTES,
             PTL_ME_MANAGE_LOCAL, PTL_ME_NO_TRUNCATE, PTL_ME_MAY_ALIGN, PTL_ME_LOCAL_INC_UH_RLENGTH);
  ALL_DIFFER(PTL_PRIORITY_LIST, PTL_OVERFLOW_LIST);
  ALL_DIFFER(PTL_SEARCH_ONLY, PTL_SEARCH_DELETE);
  ALL_DIFFER(PTL_NO_ACK_REQ, PTL_ACK_REQ, PTL_CT_ACK_REQ, PTL_OC_ACK_REQ);
  ALL_DIFFER(PTL_EVENT_GET, PTL_EVENT_GET_OVERFLOW, PTL_EVENT_PUT, PTL_EVENT_PUT_OVERFLOW, PTL_EVENT_ATOMIC, PTL_EVENT_ATOMIC_OVERFLOW,
             PTL_EVENT_FETCH_ATOMIC, PTL_EVENT_FETCH_ATOMIC_OVERFLOW, PTL_EVENT_REPLY, PTL_EVENT_SEND, PTL_EVENT_ACK, PTL_EVENT_PT_DISABLED,
             PTL_EVENT_LINK, PTL_EVENT_AUTO_UNLINK, PTL_EVENT_AUTO_FREE, PTL_EVENT_SEARCH);
  ALL_DIFFER(PTL_MIN, PTL_MAX, PTL_SUM, PTL_PROD, PTL_LOR, PTL_LAND, PTL_BOR, PTL_BAND, PTL_LXOR, PTL_BXOR, PTL_SWAP, PTL_CSWAP, PTL_CSWAP_NE,
             PTL_CSWAP_LE, PTL_CSWAP_LT, PTL_CSWAP_GE, PTL_CSWAP_GT, PTL_MSWAP);
  ALL_DIFFER(PTL_INT8_T, PTL_UINT8_T, PTL_INT16_T, PTL_UINT16_T, PTL_INT32_T, PTL_UINT32_T, PTL_FLOAT, PTL_INT64_T, PTL_UINT64_T, PTL_DOUBLE,
             PTL_FLOAT_COMPLEX, PTL_DOUBLE_COMPLEX, PTL_LONG_DOUBLE, PTL_LONG_DOUBLE_COMPLEX);
  CHECK(PTL_OK == 0 && PTL_NI_OK == 0 && PTL_OP_LAST == 18 && PTL_DATATYPE_LAST == 14 && PTL_PT_ONLY_USE_ONCE == 1 && PTL_SIZE_MAX == UINT64_MAX);
  CHECK((PTL_NI_INIT_OPTIONS_MASK & PTL_PT_ALLOC_OPTIONS_MASK & PTL_MD_OPTIONS_MASK & PTL_LE_APPEND_OPTIONS_MASK & PTL_ME_APPEND_OPTIONS_MASK) != 0);
  /* wildcards and types: assigned to what programs assign them to */
  const ptl_interface_t iface = PTL_IFACE_DEFAULT;
  const ptl_process_t anyone = {.phys = {PTL_NID_ANY, PTL_PID_ANY}};
  const ptl_rank_t rank = PTL_RANK_ANY;
  const ptl_uid_t uid = PTL_UID_ANY;
  const ptl_pt_index_t pt = PTL_PT_ANY;
  const ptl_time_t for_ever = PTL_TIME_FOREVER;
  const ptl_pid_t largest = PTL_PID_MAX;
  const ptl_ct_type_t unused = PTL_CT_OPERATION;
  CHECK(iface && anyone.phys.nid == PTL_NID_ANY && rank && uid && pt && for_ever && largest && unused == 0);
  CHECK(sizeof(ptl_size_t) == 8 && sizeof(ptl_match_bits_t) == 8 && sizeof(ptl_hdr_data_t) == 8 && sizeof(ptl_handle_any_t) == 4 &&
        sizeof(ptl_list_t) == 1 && sizeof(ptl_event_kind_t) == 1 && sizeof(ptl_ni_fail_t) == 1 && sizeof(ptl_process_t) == 8);
  CHECK_STR(PtlToStr(PTL_PT_IN_USE, PTL_STR_ERROR), "PTL_PT_IN_USE");
  CHECK_STR(PtlToStr(PTL_EVENT_AUTO_FREE, PTL_STR_EVENT), "AUTO_FREE");
  CHECK_STR(PtlToStr(PTL_NI_SEGV, PTL_STR_FAIL_TYPE), "SEGV");
}
static void before_init_body(void *unused) {
  ptl_handle_any_t h = 0;
  ptl_process_t id = {0};
  ptl_ni_limits_t limits;
  ptl_sr_value_t value;
  ptl_size_t n = 0;
  ptl_uid_t uid;
  ptl_pt_index_t pt;
  ptl_md_t md = {0};
  ptl_le_t le = {0};
  ptl_me_t me = {0};
  ptl_event_t e;
  ptl_ct_event_t v = {0, 0};
  unsigned int which;
  uint64_t hwid, capabilities;
  (void)unused;
  const int codes[] = {
      PtlNIInit(PTL_IFACE_DEFAULT, 9, PTL_PID_ANY, NULL, &limits, &h), PtlNIFini(h), PtlNIStatus(h, PTL_SR_DROP_COUNT, &value), PtlNIHandle(h, &h),
      PtlSetMap(h, 1, &id), PtlGetMap(h, 1, &id, &n), PtlGetUid(h, &uid), PtlGetId(h, &id), PtlGetPhysId(h, &id),
      PtlPTAlloc(h, 0, PTL_EQ_NONE, 0, &pt), PtlPTFree(h, 0), PtlPTDisable(h, 0), PtlPTEnable(h, 0), PtlMDBind(h, &md, &h), PtlMDRelease(h),
      PtlLEAppend(h, 0, &le, PTL_PRIORITY_LIST, NULL, &h), PtlMEAppend(h, 0, &me, PTL_PRIORITY_LIST, NULL, &h), PtlLEUnlink(h), PtlMEUnlink(h),
      PtlLESearch(h, 0, &le, PTL_SEARCH_ONLY, NULL), PtlMESearch(h, 0, &me, PTL_SEARCH_ONLY, NULL), PtlEQAlloc(h, 1, &h), PtlEQFree(h), PtlEQGet(h, &e),
      PtlEQWait(h, &e), PtlEQPoll(&h, 1, 0, &e, &which), PtlCTAlloc(h, &h), PtlCTFree(h), PtlCTCancelTriggered(h), PtlCTGet(h, &v), PtlCTWait(h, 1, &v),
      PtlCTPoll(&h, &n, 1, 0, &v, &which), PtlCTSet(h, v), PtlCTInc(h, v), PtlPut(h, 0, 0, PTL_NO_ACK_REQ, id, 0, 0, 0, NULL, 0),
      PtlGet(h, 0, 0, id, 0, 0, 0, NULL), PtlAtomic(h, 0, 0, PTL_NO_ACK_REQ, id, 0, 0, 0, NULL, 0, PTL_SUM, PTL_INT8_T),
      PtlFetchAtomic(h, 0, h, 0, 0, id, 0, 0, 0, NULL, 0, PTL_SUM, PTL_INT8_T), PtlSwap(h, 0, h, 0, 0, id, 0, 0, 0, NULL, 0, NULL, PTL_SWAP, PTL_INT8_T),
      PtlAtomicSync(), PtlTriggeredPut(h, 0, 0, PTL_NO_ACK_REQ, id, 0, 0, 0, NULL, 0, h, 1), PtlTriggeredGet(h, 0, 0, id, 0, 0, 0, NULL, h, 1),
      PtlTriggeredAtomic(h, 0, 0, PTL_NO_ACK_REQ, id, 0, 0, 0, NULL, 0, PTL_SUM, PTL_INT8_T, h, 1),
      PtlTriggeredFetchAtomic(h, 0, h, 0, 0, id, 0, 0, 0, NULL, 0, PTL_SUM, PTL_INT8_T, h, 1),
      PtlTriggeredSwap(h, 0, h, 0, 0, id, 0, 0, 0, NULL, 0, NULL, PTL_SWAP, PTL_INT8_T, h, 1), PtlTriggeredCTInc(h, v, h, 1), PtlTriggeredCTSet(h, v, h, 1),
      PtlTriggeredMEAppend(h, 0, &me, PTL_PRIORITY_LIST, NULL, &h, h, 1), PtlTriggeredMEUnlink(h, h, 1), PtlStartBundle(h), PtlEndBundle(h),
      PtlPutNB(h, 0, 0, PTL_NO_ACK_REQ, id, 0, 0, 0, NULL, 0), PtlNIAtomicSync(h), PtlGetHwid(h, &hwid, &capabilities)};
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
    if (codes[i] != PTL_NO_INIT) {
      printf("  call %d: %s\n", (int)i, pm_ptl_status_name(codes[i]));
      CHECK(codes[i] == PTL_NO_INIT);
    }
  PtlFini(); /* nothing to end, nothing happens */
  PtlAbort();
}
static void every_call_needs_init(void) { alone(before_init_body); }

/* ---- interfaces ----------------------------------------------------------------------------------- */
static ptl_handle_any_t first_handles[3][6];
static void handles_body(void *unused) {
  side s;
  (void)unused;
  if (pm_rank() == 1) pm_sleep_ns(777);
  side_open(&s, PTL_NI_MATCHING, 0, 0);
  ptl_handle_any_t *h = first_handles[pm_rank()];
  h[0] = s.ni, h[1] = s.eq, h[2] = s.ct, h[3] = s.md;
  h[4] = append(&s, entry(s.memory, 8, 0, PUT_GET | QUIET), PTL_PRIORITY_LIST, NULL);
  CHECK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_NO_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &h[5]) == PTL_OK);
  /* what belongs to one interface is nothing to the other */
  ptl_handle_ct_t ct2;
  ptl_handle_eq_t eq2;
  ptl_handle_md_t md;
  ptl_pt_index_t pt;
  ptl_event_t e;
  ptl_ct_event_t v;
  unsigned int which;
  CHECK(PtlCTAlloc(h[5], &ct2) == PTL_OK && PtlEQAlloc(h[5], 4, &eq2) == PTL_OK);
  ptl_md_t foreign = {s.memory, 8, PTL_MD_EVENT_CT_ACK, PTL_EQ_NONE, ct2};
  CHECK(PtlMDBind(s.ni, &foreign, &md) == PTL_ARG_INVALID);
  foreign.ct_handle = PTL_CT_NONE, foreign.eq_handle = eq2;
  CHECK(PtlMDBind(s.ni, &foreign, &md) == PTL_ARG_INVALID);
  ptl_me_t me = entry(s.memory, 8, 0, PUT_GET | PTL_ME_EVENT_CT_COMM);
  me.ct_handle = ct2;
  CHECK(PtlMEAppend(s.ni, s.pt, &me, PTL_PRIORITY_LIST, NULL, &md) == PTL_ARG_INVALID);
  CHECK(PtlPTAlloc(s.ni, 0, eq2, PTL_PT_ANY, &pt) == PTL_ARG_INVALID);
  const ptl_handle_eq_t eqs[] = {s.eq, eq2};
  const ptl_handle_ct_t cts[] = {s.ct, ct2};
  const ptl_size_t tests[] = {0, 0};
  CHECK(PtlEQPoll(eqs, 2, 0, &e, &which) == PTL_ARG_INVALID && PtlCTPoll(cts, tests, 2, 0, &v, &which) == PTL_ARG_INVALID);
  CHECK(PtlTriggeredCTInc(s.ct, (ptl_ct_event_t){1, 0}, ct2, 1) == PTL_ARG_INVALID);
  CHECK(PtlHandleIsEqual(s.ct, s.ct) != 0 && PtlHandleIsEqual(s.ct, ct2) == 0);
  CHECK(PtlStartBundle(s.ni) == PTL_OK && PtlStartBundle(s.ni) == PTL_OK && PtlEndBundle(s.ni) == PTL_OK && PtlEndBundle(s.ni) == PTL_OK &&
        PtlEndBundle(s.ni) == PTL_ARG_INVALID && PtlStartBundle(s.md) == PTL_ARG_INVALID);
  uint64_t hwid = 9, capabilities = 9;
  CHECK(PtlGetHwid(s.ni, &hwid, &capabilities) == PTL_OK && hwid == (uint64_t)pm_rank() && PtlNIAtomicSync(s.ni) == PTL_OK && PtlAtomicSync() == PTL_OK);
  side_close(&s);
}
static void handles_are_the_same_everywhere_and_bound_to_one_interface(void) {
  run_world(3, handles_body, NULL);
  CHECK(memcmp(first_handles[0], first_handles[1], sizeof first_handles[0]) == 0 && memcmp(first_handles[0], first_handles[2], sizeof first_handles[0]) == 0);
}
static int map_again;
static void map_body(void *unused) {
  ptl_handle_ni_t physical, logical;
  ptl_process_t id, map[2];
  ptl_size_t n;
  (void)unused;
  CHECK(PtlInit() == PTL_OK);
  CHECK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &physical) == PTL_OK);
  CHECK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_LOGICAL, PTL_PID_ANY, NULL, NULL, &logical) == PTL_OK);
  CHECK(PtlGetMap(physical, 1, map, &n) == PTL_ARG_INVALID && PtlGetPhysId(logical, &id) == PTL_OK);
  map[0] = map[1] = id;
  map[0].phys.pid = 44;
  CHECK(PtlSetMap(logical, 2, map) == PTL_OK);
  map_again = PtlSetMap(logical, 1, &map[1]);
  CHECK(PtlGetId(logical, &id) == PTL_OK && id.rank == (map_again == PTL_OK ? 0u : 1u));
  PtlFini();
}
static void second_map_follows_the_option(void) {
  static const int expected[] = {PTL_IGNORED, PTL_IN_USE, PTL_OK};
  for (int i = 0; i < 3; i++) {
    alone_with(map_body, (pm_semantics){.setmap_again = i});
    CHECK(map_again == expected[i]);
  }
}

/* ---- portal table and flow control --------------------------------------------------------------- */
static int lowest_first, purges, hints_bind;
static void table_body(void *unused) {
  side s_, *s = &s_;
  ptl_pt_index_t pt, again;
  ptl_handle_me_t h;
  (void)unused;
  side_open(s, PTL_NI_MATCHING, 0, 0); /* index 3 */
  CHECK(PtlPTAlloc(s->ni, 0, s->eq, PTL_PT_ANY, &pt) == PTL_OK && pt == (lowest_first ? 0u : 4u));
  ptl_me_t me = entry(s->memory, 100, 0, PUT_GET | QUIET);
  CHECK(PtlMEAppend(s->ni, pt, &me, PTL_OVERFLOW_LIST, NULL, &h) == PTL_OK && PtlPTFree(s->ni, pt) == (purges ? PTL_OK : PTL_PT_IN_USE));
  if (purges) CHECK(PtlMEUnlink(h) == PTL_ARG_INVALID);
  /* a header alone holds nobody up */
  me.options |= PTL_ME_USE_ONCE;
  CHECK(PtlPTAlloc(s->ni, 0, s->eq, 9, &again) == PTL_OK && PtlMEAppend(s->ni, 9, &me, PTL_OVERFLOW_LIST, NULL, &h) == PTL_OK);
  CHECK(PtlPut(s->md, 0, 8, PTL_NO_ACK_REQ, pm_process_id(0), 9, 0, 0, NULL, 0) == PTL_OK);
  drain(s);
  CHECK(PtlPTFree(s->ni, 9) == PTL_OK);
  CHECK(PtlPTAlloc(s->ni, 0, s->eq, 9, &again) == PTL_OK && PtlMEAppend(s->ni, 9, &me, PTL_PRIORITY_LIST, NULL, &h) == PTL_OK);
  CHECK(PtlMEUnlink(h) == PTL_OK && PtlPTFree(s->ni, 9) == PTL_OK); /* linked: the header is gone */
  /* options of an entry of the table */
  CHECK(PtlPTAlloc(s->ni, PTL_PT_ONLY_USE_ONCE | PTL_PT_ONLY_TRUNCATE | PTL_PT_MATCH_UNORDERED, s->eq, 9, &again) == PTL_OK);
  me = entry(s->memory, 100, 0, PUT_GET | QUIET);
  const int refused = hints_bind ? PTL_ARG_INVALID : PTL_OK; /* never in the overflow list */
  CHECK(PtlMEAppend(s->ni, 9, &me, PTL_OVERFLOW_LIST, NULL, &h) == PTL_OK && PtlMEUnlink(h) == PTL_OK);
  CHECK(PtlMEAppend(s->ni, 9, &me, PTL_PRIORITY_LIST, NULL, &h) == refused);
  me.options |= PTL_ME_USE_ONCE | PTL_ME_NO_TRUNCATE;
  CHECK(PtlMEAppend(s->ni, 9, &me, PTL_OVERFLOW_LIST, NULL, &h) == PTL_OK && PtlMEUnlink(h) == PTL_OK);
  CHECK(PtlMEAppend(s->ni, 9, &me, PTL_PRIORITY_LIST, NULL, &h) == refused);
  me.options &= ~(unsigned)PTL_ME_NO_TRUNCATE;
  CHECK(PtlMEAppend(s->ni, 9, &me, PTL_PRIORITY_LIST, NULL, &h) == PTL_OK);
  me.options |= PTL_ME_MAY_ALIGN;
  CHECK(PtlMEAppend(s->ni, 9, &me, PTL_PRIORITY_LIST, NULL, &h) == PTL_ARG_INVALID); /* without MANAGE_LOCAL */
  me.options |= PTL_ME_MANAGE_LOCAL;
  me.min_free = 0;
  CHECK(PtlMEAppend(s->ni, 9, &me, PTL_PRIORITY_LIST, NULL, &h) == PTL_OK);
  CHECK(PtlPTAlloc(s->ni, PTL_PT_ALLOC_DISABLED, s->eq, 11, &again) == PTL_OK);
  CHECK(PtlPut(s->md, 0, 8, PTL_ACK_REQ, pm_process_id(0), 11, 0, 0, NULL, 0) == PTL_OK);
  EXPECT(s, SEND);
  CHECK(EXPECT(s, ACK).ni_fail_type == PTL_NI_PT_DISABLED);
  side_close(s);
}
static void table_follows_its_options(void) {
  for (int i = 0; i < 2; i++) {
    lowest_first = purges = hints_bind = i;
    alone_with(table_body, (pm_semantics){.pt_any_lowest = i, .pt_free_purges = i, .pt_hints_bind = i});
  }
}
/* The portal closes while a long message is being written: the call waits for it, later ones are
   refused, answers to one's own requests still arrive. */
static unsigned char long_data[2][200000];
static void disable_body(void *unused) {
  side s_, *s = &s_;
  ptl_event_t e;
  (void)unused;
  side_open(s, PTL_NI_MATCHING, 0, 0);
  ptl_md_t md = {long_data[pm_rank()], sizeof long_data[0], 0, s->eq, PTL_CT_NONE};
  ptl_handle_md_t h;
  CHECK(PtlMDBind(s->ni, &md, &h) == PTL_OK);
  append(s, entry(long_data[pm_rank()], sizeof long_data[0], 0, PUT_GET | QUIET), PTL_PRIORITY_LIST, NULL);
  memset(long_data[pm_rank()], pm_rank() + 1, sizeof long_data[0]);
  pm_barrier();
  if (pm_rank() == 0) {
    CHECK(PtlPut(h, 0, sizeof long_data[0], PTL_ACK_REQ, pm_process_id(1), 3, 0, 0, NULL, 0) == PTL_OK);
    EXPECT(s, SEND);
    CHECK(EXPECT(s, ACK).ni_fail_type == PTL_NI_OK);
    pm_barrier();
    CHECK(put(s, 1, 8, PTL_ACK_REQ, 0, 0, 0) == PTL_OK);
    EXPECT(s, SEND);
    CHECK(EXPECT(s, ACK).ni_fail_type == PTL_NI_PT_DISABLED);
  } else {
    while (!s_.ni || !pm__pt_of(pm__current->proc->ni[1], 3)->in_flight) pm_sleep_ns(50); /* it has matched */
    CHECK(PtlPTDisable(s->ni, 3) == PTL_OK);
    CHECK(PtlEQGet(s->eq, &e) == PTL_OK && e.type == PTL_EVENT_PUT && long_data[1][sizeof long_data[1] - 1] == 1);
    pm_barrier();
    CHECK(PtlGet(s->md, 0, 8, pm_process_id(0), 3, 0, 0, NULL) == PTL_OK);
    CHECK(EXPECT(s, REPLY).ni_fail_type == PTL_NI_OK);
  }
  pm_barrier();
  side_close(s);
}
/* A carrier tells of a message when all of it is there: then none is ever found running. */
static void disabling_waits_for_what_runs(void) {
  if (!IS_ON_RTL) run_world(2, disable_body, NULL);
}

/* Searches that a carrier's lists are still at are over when the call returns, and told of. */
static void search_and_disable_body(void *unused) {
  enum { SEARCHES = 6 };
  side s_, *s = &s_;
  ptl_event_t e;
  (void)unused;
  side_open(s, PTL_NI_MATCHING, 0, PTL_MD_EVENT_SEND_DISABLE);
  append(s, entry(s->memory, 1000, 1, PUT_GET | QUIET), PTL_OVERFLOW_LIST, NULL);
  pm_barrier();
  put(s, 1 - pm_rank(), 8, PTL_NO_ACK_REQ, 1, 0, 0);
  EXPECT(s, PUT);
  const ptl_me_t me = entry(s->memory, 8, 1, PUT_GET | PTL_ME_USE_ONCE);
  for (int i = 0; i < SEARCHES; i++) CHECK(PtlMESearch(s->ni, s->pt, &me, PTL_SEARCH_ONLY, NULL) == PTL_OK);
  CHECK(PtlPTDisable(s->ni, s->pt) == PTL_OK);
  for (int i = 0; i < SEARCHES; i++) CHECK(PtlEQGet(s->eq, &e) == PTL_OK && e.type == PTL_EVENT_SEARCH);
  CHECK(PtlEQGet(s->eq, &e) == PTL_EQ_EMPTY);
  side_close(s);
}
static void disabling_waits_for_searches(void) { run_world(2, search_and_disable_body, NULL); }

static int flow_control, muted;
static void no_slot_body(void *unused) {
  side s_, *s = &s_;
  ptl_ni_limits_t wish;
  ptl_event_t e;
  (void)unused;
  memset(s, 0, sizeof *s);
  memset(&wish, 0x7F, sizeof wish);
  wish.max_unexpected_headers = 1;
  CHECK(PtlInit() == PTL_OK && PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, &wish, NULL, &s->ni) == PTL_OK);
  CHECK(PtlEQAlloc(s->ni, 64, &s->eq) == PTL_OK && PtlPTAlloc(s->ni, flow_control ? PTL_PT_FLOWCTRL : 0, s->eq, 3, &s->pt) == PTL_OK);
  ptl_md_t md = {s->memory, sizeof s->memory, 0, s->eq, PTL_CT_NONE};
  CHECK(PtlMDBind(s->ni, &md, &s->md) == PTL_OK);
  append(s, entry(s->memory + 100, 100, 0, PUT_GET | QUIET | PTL_ME_EVENT_COMM_DISABLE | (muted ? PTL_ME_EVENT_FLOWCTRL_DISABLE : 0u)),
         PTL_OVERFLOW_LIST, NULL);
  disabled_seen = 0;
  CHECK(ack_of_put(s, 8, 0, 0).ni_fail_type == PTL_NI_OK);
  CHECK(ack_of_put(s, 8, 0, 0).ni_fail_type == (flow_control ? PTL_NI_PT_DISABLED : PTL_NI_DROPPED));
  pm_sleep_ns(100000);
  while (PtlEQGet(s->eq, &e) == PTL_OK) disabled_seen += e.type == PTL_EVENT_PT_DISABLED;
  CHECK(disabled_seen == (flow_control && !muted));
  ptl_sr_value_t drops = 0;
  CHECK(PtlNIStatus(s->ni, PTL_SR_DROP_COUNT, &drops) == PTL_OK && drops == 1);
  side_close(s);
}
static void no_room_for_a_header_drops_or_disables(void) {
  for (flow_control = 0; flow_control < 2; flow_control++)
    for (muted = 0; muted < 2; muted++) alone(no_slot_body);
}
static void forks_body(void *unused) {
  side s_, *s = &s_;
  (void)unused;
  side_open(s, PTL_NI_MATCHING, 0, 0);
  ptl_me_t me = entry(s->memory + 1000, 100, 1, PUT_GET | QUIET);
  me.uid = 5; /* ours is 0 */
  append(s, me, PTL_PRIORITY_LIST, NULL);
  append(s, entry(s->memory + 2000, 100, 1, PUT_GET | QUIET), PTL_PRIORITY_LIST, NULL);
  CHECK(ack_of_put(s, 8, 1, 0).ni_fail_type == PTL_NI_OK); /* the next entry */
  CHECK(ack_of_put(s, 8, 1, 200).ni_fail_type == PTL_NI_SEGV && put_fail == PTL_NI_SEGV);
  CHECK(PtlPut(s->md, 0, 8, PTL_ACK_REQ, pm_process_id(0), 77, 1, 0, NULL, 0) == PTL_OK);
  EXPECT(s, SEND);
  CHECK(EXPECT(s, ACK).ni_fail_type == PTL_NI_UNDELIVERABLE);
  CHECK(PtlPut(s->md, 0, 8, PTL_NO_ACK_REQ, pm_process_id(0), 3, 1, 0, NULL, 0) == PTL_OK && PtlMDRelease(s->md) == PTL_IN_USE);
  drain(s);
  ptl_me_t all = entry(s->memory, 100, 2, PUT_GET | PTL_ME_EVENT_LINK_DISABLE | PTL_ME_EVENT_SUCCESS_DISABLE);
  append(s, entry(s->memory + 3000, 100, 2, PUT_GET | QUIET | PTL_ME_EVENT_COMM_DISABLE), PTL_OVERFLOW_LIST, NULL);
  CHECK(ack_of_put(s, 8, 2, 0).ni_fail_type == PTL_NI_OK);
  CHECK(PtlMESearch(s->ni, s->pt, &all, PTL_SEARCH_ONLY, NULL) == PTL_OK);
  CHECK(EXPECT(s, SEARCH).ni_fail_type == PTL_NI_OK && EXPECT(s, SEARCH).ni_fail_type == PTL_NI_NO_MATCH); /* closing event */
  append(s, all, PTL_PRIORITY_LIST, NULL);
  EXPECT_NOTHING(s); /* SUCCESS_DISABLE mutes PUT_OVERFLOW too */
  /* an OC ack of a refused message is a success */
  ptl_md_t md = {s->memory, 8, PTL_MD_EVENT_CT_ACK, PTL_EQ_NONE, s->ct};
  ptl_handle_md_t h;
  CHECK(PtlMDBind(s->ni, &md, &h) == PTL_OK && PtlPut(h, 0, 8, PTL_OC_ACK_REQ, pm_process_id(0), 3, 99, 0, NULL, 0) == PTL_OK);
  pm_sleep_ns(100000);
  CHECK(count_of(s->ct).success == 1 && count_of(s->ct).failure == 0);
  /* thresholds compare success alone */
  ptl_handle_ct_t a;
  CHECK(PtlCTAlloc(s->ni, &a) == PTL_OK && PtlTriggeredCTInc(s->ct, (ptl_ct_event_t){10, 0}, a, 2) == PTL_OK);
  CHECK(PtlCTSet(a, (ptl_ct_event_t){1, 5}) == PTL_OK && count_of(s->ct).success == 1);
  CHECK(PtlCTSet(a, (ptl_ct_event_t){2, 5}) == PTL_OK && count_of(s->ct).success == 11);
  side_close(s);
}
static void other_implementations_are_options(void) {
  alone_with(forks_body, (pm_semantics){.uid_is_matched = 1, .offset_beyond_is_segv = 1, .pt_missing_undeliverable = 1, .md_release_in_use = 1,
                                        .search_closing_event = 1, .success_disable_overflow = 1, .oc_ack_counts_success = 1, .trigger_success_only = 1});
}
static void frees_ct(void *arg) { pm_sleep_ns(500); CHECK(PtlCTFree(((side *)arg)->ct) == PTL_OK && PtlEQFree(((side *)arg)->eq) == PTL_OK); }
static void closes_ni(void *arg) { pm_sleep_ns(500); CHECK(PtlNIFini(((side *)arg)->ni) == PTL_OK); }
static void interrupted_body(void *unused) {
  side s_, *s = &s_;
  ptl_ct_event_t v;
  ptl_event_t e;
  unsigned int which;
  (void)unused;
  side_open(s, PTL_NI_MATCHING, 0, 0);
  pm_thread *t = pm_thread_create(frees_ct, s, 0);
  CHECK(PtlCTWait(s->ct, 1, &v) == PTL_INTERRUPTED);
  pm_thread_join(t);
  CHECK(PtlEQAlloc(s->ni, 4, &s->eq) == PTL_OK);
  t = pm_thread_create(closes_ni, s, 0);
  CHECK(PtlEQPoll(&s->eq, 1, PTL_TIME_FOREVER, &e, &which) == PTL_INTERRUPTED);
  pm_thread_join(t);
  PtlFini();
}
static int counters_most;
static void counters_body(void *unused) {
  const int most = counters_most;
  (void)unused;
  ptl_ni_limits_t wished = {0}, actual;
  ptl_handle_ni_t ni;
  ptl_handle_ct_t ct;
  wished.max_cts = wished.max_entries = 1 << 30;
  wished.max_volatile_size = PTL_SIZE_MAX;
  CHECK(PtlInit() == PTL_OK && PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, &wished, &actual, &ni) == PTL_OK);
  CHECK(actual.max_cts == most && actual.max_entries == (most == 1024 ? 4080 : 65535));
  CHECK(actual.max_volatile_size == (most == 1024 ? actual.max_atomic_size : 1 << 20));
  for (int i = 0; i < most; i++) CHECK(PtlCTAlloc(ni, &ct) == PTL_OK);
  CHECK(PtlCTAlloc(ni, &ct) == PTL_NO_SPACE);
}
static void interfaces_offer_what_is_set(void) {
  counters_most = 1024;
  alone(counters_body);
  counters_most = 5000;
  alone_with(counters_body, (pm_semantics){.max_cts = 5000, .max_entries = 100000, .max_volatile_size = 1 << 20});
}
static void frees_interrupt_waiters_when_told_to(void) { alone_with(interrupted_body, (pm_semantics){.frees_interrupt = 1}); }

/* ---- entries -------------------------------------------------------------------------------------- */
static void local_body(void *unused) {
  side s_, *s = &s_;
  const ptl_process_t self = pm_process_id(0);
  uint64_t *words = (uint64_t *)(void *)(s->memory + 2048);
  ptl_event_t e;
  (void)unused;
  side_open(s, PTL_NI_MATCHING, 0, PTL_MD_EVENT_SUCCESS_DISABLE);
  /* put, get and atomic advance it alike; min_free 0 never unlinks */
  ptl_me_t me = entry(s->memory + 2048, 32, 1, PUT_GET | QUIET | PTL_ME_MANAGE_LOCAL | PTL_ME_MAY_ALIGN);
  append(s, me, PTL_PRIORITY_LIST, NULL);
  words[1] = 7, words[2] = 30;
  *(uint64_t *)(void *)s->memory = 5;
  CHECK(put_self(s, 8, PTL_NO_ACK_REQ, 1, 500) == PTL_OK);
  e = EXPECT(s, PUT);
  CHECK(e.start == (void *)words && e.remote_offset == 500 && words[0] == 5);
  CHECK(PtlGet(s->md, 8, 8, self, 3, 1, 500, NULL) == PTL_OK);
  CHECK(EXPECT(s, GET).start == (void *)(words + 1));
  pm_sleep_ns(10000);
  CHECK(*(uint64_t *)(void *)(s->memory + 8) == 7);
  CHECK(PtlAtomic(s->md, 0, 8, PTL_NO_ACK_REQ, self, 3, 1, 500, NULL, 0, PTL_SUM, PTL_UINT64_T) == PTL_OK);
  e = EXPECT(s, ATOMIC);
  CHECK(e.start == (void *)(words + 2) && e.atomic_operation == PTL_SUM && e.atomic_type == PTL_UINT64_T && words[2] == 35);
  CHECK(PtlFetchAtomic(s->md, 16, s->md, 0, 8, self, 3, 1, 0, NULL, 9, PTL_SUM, PTL_UINT64_T) == PTL_OK);
  e = EXPECT(s, FETCH_ATOMIC);
  CHECK(e.start == (void *)(words + 3) && e.hdr_data == 9);
  CHECK(put_self(s, 8, PTL_NO_ACK_REQ, 1, 0) == PTL_OK); /* full: nothing moves, still a success, still linked */
  CHECK(EXPECT(s, PUT).mlength == 0);
  EXPECT_NOTHING(s);
  /* USE_ONCE goes with its first message even when that moves nothing */
  append(s, entry(s->memory + 3000, 8, 2, PUT_GET | QUIET | PTL_ME_USE_ONCE), PTL_PRIORITY_LIST, NULL);
  CHECK(put_self(s, 8, PTL_NO_ACK_REQ, 2, 50) == PTL_OK);
  CHECK(EXPECT(s, PUT).mlength == 0);
  EXPECT(s, AUTO_UNLINK);
  side_close(s);
}
static void local_offset_serves_every_kind(void) { alone(local_body); }

static void overflow_kinds_body(void *unused) {
  side s_, *s = &s_;
  const ptl_process_t self = pm_process_id(0);
  (void)unused;
  side_open(s, PTL_NI_MATCHING, 0, PTL_MD_EVENT_SUCCESS_DISABLE);
  append(s, entry(s->memory + 2048, 64, 0, PUT_GET | QUIET), PTL_OVERFLOW_LIST, (void *)1);
  CHECK(PtlGet(s->md, 0, 8, self, 3, 0, 0, NULL) == PTL_OK);
  ptl_event_t e = EXPECT(s, GET);
  CHECK(e.ptl_list == PTL_OVERFLOW_LIST && e.user_ptr == (void *)1);
  CHECK(PtlAtomic(s->md, 0, 8, PTL_NO_ACK_REQ, self, 3, 0, 0, NULL, 0, PTL_SUM, PTL_UINT64_T) == PTL_OK);
  EXPECT(s, ATOMIC);
  CHECK(PtlFetchAtomic(s->md, 0, s->md, 0, 8, self, 3, 0, 16, NULL, 0, PTL_SUM, PTL_UINT64_T) == PTL_OK);
  EXPECT(s, FETCH_ATOMIC);
  /* another entry of the overflow list takes no header; the LINK event is in the queue at once */
  append(s, entry(s->memory + 3000, 64, 5, PUT_GET), PTL_OVERFLOW_LIST, NULL);
  CHECK(PtlEQGet(s->eq, &e) == PTL_OK && e.type == PTL_EVENT_LINK);
  /* no permission is asked when headers are taken: this entry allows puts only and belongs to another */
  ptl_me_t me = entry(s->memory + 3000, 64, 0, PTL_ME_OP_PUT);
  me.uid = 12;
  append(s, me, PTL_PRIORITY_LIST, (void *)9);
  CHECK(EXPECT(s, GET_OVERFLOW).user_ptr == (void *)9);
  e = EXPECT(s, ATOMIC_OVERFLOW);
  CHECK(e.start == s->memory + 2048 && e.atomic_operation == PTL_SUM && e.atomic_type == PTL_UINT64_T);
  e = EXPECT(s, FETCH_ATOMIC_OVERFLOW);
  CHECK(e.start == s->memory + 2064 && e.remote_offset == 16);
  EXPECT(s, LINK);
  EXPECT_NOTHING(s);
  side_close(s);
}
static void every_kind_can_be_unexpected(void) { alone(overflow_kinds_body); }

static void rlength_body(void *unused) {
  side s_, *s = &s_;
  (void)unused;
  side_open(s, PTL_NI_MATCHING, 0, PTL_MD_EVENT_SUCCESS_DISABLE);
  append(s, entry(s->memory + 2048, 64, 0, PUT_GET | QUIET | PTL_ME_EVENT_COMM_DISABLE), PTL_OVERFLOW_LIST, NULL);
  for (int with = 0; with < 2; with++) {
    CHECK(put_self(s, 24, PTL_NO_ACK_REQ, 0, 0) == PTL_OK);
    drain(s);
    ptl_me_t me = entry(s->memory + 3000, 100, 0, PUT_GET | QUIET | PTL_ME_MANAGE_LOCAL | (with ? PTL_ME_LOCAL_INC_UH_RLENGTH : 0u));
    const ptl_handle_me_t h = append(s, me, PTL_PRIORITY_LIST, NULL);
    EXPECT(s, PUT_OVERFLOW);
    CHECK(put_self(s, 8, PTL_NO_ACK_REQ, 0, 0) == PTL_OK);
    CHECK(EXPECT(s, PUT).start == s->memory + 3000 + (with ? 24 : 0));
    CHECK(PtlMEUnlink(h) == PTL_OK);
  }
  /* so used up by headers that it is never linked */
  CHECK(put_self(s, 24, PTL_NO_ACK_REQ, 0, 0) == PTL_OK);
  drain(s);
  ptl_me_t me = entry(s->memory + 3000, 30, 0, PUT_GET | PTL_ME_MANAGE_LOCAL | PTL_ME_LOCAL_INC_UH_RLENGTH);
  me.min_free = 10;
  const ptl_handle_me_t h = append(s, me, PTL_PRIORITY_LIST, NULL);
  EXPECT(s, PUT_OVERFLOW);
  EXPECT(s, AUTO_UNLINK);
  EXPECT_NOTHING(s);
  CHECK(PtlMEUnlink(h) == PTL_ARG_INVALID);
  side_close(s);
}
static void headers_may_move_the_local_offset(void) { alone(rlength_body); }

static void muting_body(void *unused) {
  side s_, *s = &s_;
  ptl_event_t e;
  (void)unused;
  side_open(s, PTL_NI_MATCHING, 0, PTL_MD_EVENT_SUCCESS_DISABLE);
  /* UNLINK_DISABLE mutes AUTO_UNLINK and AUTO_FREE */
  append(s, entry(s->memory + 2048, 64, 0, PUT_GET | QUIET | PTL_ME_USE_ONCE | PTL_ME_EVENT_UNLINK_DISABLE), PTL_OVERFLOW_LIST, NULL);
  CHECK(put_self(s, 8, PTL_NO_ACK_REQ, 0, 0) == PTL_OK);
  EXPECT(s, PUT);
  /* OVER_DISABLE mutes PUT_OVERFLOW, not its counter; CT_BYTES counts what was moved */
  ptl_me_t me = entry(s->memory, 64, 0, PUT_GET | QUIET | PTL_ME_USE_ONCE | PTL_ME_EVENT_OVER_DISABLE | PTL_ME_EVENT_UNLINK_DISABLE |
                                           PTL_ME_EVENT_CT_OVERFLOW | PTL_ME_EVENT_CT_BYTES);
  me.ct_handle = s->ct;
  append(s, me, PTL_PRIORITY_LIST, NULL);
  EXPECT_NOTHING(s);
  CHECK(count_of(s->ct).success == 8);
  /* COMM_DISABLE: no comm event, but CT_COMM counts overflow deliveries; nor SEARCH of what was found */
  me = entry(s->memory + 2048, 64, 0, PUT_GET | QUIET | PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_CT_COMM);
  me.ct_handle = s->ct;
  append(s, me, PTL_OVERFLOW_LIST, NULL);
  CHECK(put_self(s, 8, PTL_NO_ACK_REQ, 0, 0) == PTL_OK);
  EXPECT_NOTHING(s);
  CHECK(count_of(s->ct).success == 9);
  me = entry(NULL, 64, 0, PUT_GET | PTL_ME_USE_ONCE | PTL_ME_EVENT_COMM_DISABLE);
  CHECK(PtlMESearch(s->ni, s->pt, &me, PTL_SEARCH_ONLY, NULL) == PTL_OK);
  EXPECT_NOTHING(s);
  /* a portal without queue counts all the same */
  ptl_pt_index_t pt;
  ptl_handle_me_t h;
  ptl_ct_event_t count;
  CHECK(PtlPTAlloc(s->ni, 0, PTL_EQ_NONE, 9, &pt) == PTL_OK);
  me = entry(s->memory + 2048, 64, 0, PUT_GET);
  CHECK(PtlMEAppend(s->ni, 9, &me, PTL_OVERFLOW_LIST, NULL, &h) == PTL_OK && PtlPut(s->md, 0, 8, PTL_NO_ACK_REQ, pm_process_id(0), 9, 0, 0, NULL, 0) == PTL_OK);
  pm_sleep_ns(100000);
  me.options |= PTL_ME_EVENT_CT_OVERFLOW;
  me.ct_handle = s->ct;
  CHECK(PtlMEAppend(s->ni, 9, &me, PTL_PRIORITY_LIST, NULL, &h) == PTL_OK);
  CHECK(PtlCTWait(s->ct, 10, &count) == PTL_OK && count.success == 10);
  CHECK(PtlEQGet(s->eq, &e) == PTL_EQ_EMPTY);
  side_close(s);
}
static void events_are_muted_counters_are_not(void) { alone(muting_body); }

static void search_frees_body(void *unused) {
  side s_, *s = &s_;
  (void)unused;
  side_open(s, PTL_NI_MATCHING, 0, PTL_MD_EVENT_SUCCESS_DISABLE);
  append(s, entry(s->memory + 2048, 64, 0, PUT_GET | QUIET | PTL_ME_USE_ONCE), PTL_OVERFLOW_LIST, (void *)4);
  CHECK(put_self(s, 8, PTL_NO_ACK_REQ, 0, 0) == PTL_OK);
  EXPECT(s, PUT);
  EXPECT(s, AUTO_UNLINK);
  ptl_me_t me = entry(NULL, 64, 0, PUT_GET);
  CHECK(PtlMESearch(s->ni, s->pt, &me, PTL_SEARCH_DELETE, (void *)5) == PTL_OK);
  CHECK(EXPECT(s, PUT_OVERFLOW).user_ptr == (void *)5 && EXPECT(s, AUTO_FREE).user_ptr == (void *)4);
  EXPECT_NOTHING(s); /* never a LINK */
  side_close(s);
}
static void deleting_search_frees_the_buffer(void) { alone(search_frees_body); }

/* A long unexpected message: at every moment an entry that is appended finds the header, or becomes
   the one that takes the message; when it is told, all data is there; and nobody may take the
   overflow buffer away before. */
static int d_wait_ns, taken_early;
static void running_body(void *unused) {
  side s_, *s = &s_;
  ptl_event_t e;
  (void)unused;
  side_open(s, PTL_NI_MATCHING, 0, 0);
  ptl_md_t md = {long_data[0], 20000, 0, s->eq, PTL_CT_NONE};
  ptl_handle_md_t h;
  ptl_handle_me_t overflow = 0;
  CHECK(PtlMDBind(s->ni, &md, &h) == PTL_OK);
  memset(long_data[0], 1, 20000);
  memset(long_data[1], 0, 200000);
  if (pm_rank() == 1) overflow = append(s, entry(long_data[1], 20000, 0, PUT_GET | QUIET | PTL_ME_EVENT_COMM_DISABLE), PTL_OVERFLOW_LIST, NULL);
  pm_barrier();
  if (pm_rank() == 0) {
    CHECK(PtlPut(h, 0, 20000, PTL_NO_ACK_REQ, pm_process_id(1), 3, 0, 0, NULL, 0) == PTL_OK);
    EXPECT(s, SEND);
  } else {
    pm_sleep_ns(d_wait_ns);
    const ptl_handle_me_t mine = append(s, entry(long_data[1] + 100000, 20000, 0, PUT_GET | QUIET | PTL_ME_USE_ONCE), PTL_PRIORITY_LIST, NULL);
    CHECK(PtlEQWait(s->eq, &e) == PTL_OK && (e.type == PTL_EVENT_PUT_OVERFLOW || e.type == PTL_EVENT_PUT));
    taken_early += e.type == PTL_EVENT_PUT;
    const unsigned char *data = e.start;
    CHECK(data == long_data[1] + (e.type == PTL_EVENT_PUT ? 100000 : 0) && data[0] == 1 && data[19999] == 1);
    EXPECT(s, AUTO_UNLINK);
    CHECK(PtlMEUnlink(mine) == PTL_ARG_INVALID && PtlMEUnlink(overflow) == PTL_OK);
  }
  side_close(s);
}
static void running_headers_are_found_and_told_when_complete(void) {
  taken_early = 0;
  for (d_wait_ns = 0; d_wait_ns < 6000; d_wait_ns += 61) run_world(2, running_body, NULL);
  CHECK(taken_early > 5 && taken_early < 95); /* both sides of the moment were tried */
}
/* IN_USE while a message is in an entry, never after its event was seen. */
static void unlink_body(void *unused) {
  side s_, *s = &s_;
  (void)unused;
  side_open(s, PTL_NI_MATCHING, 0, 0);
  ptl_md_t md = {long_data[0], sizeof long_data[0], PTL_MD_EVENT_SUCCESS_DISABLE, s->eq, PTL_CT_NONE};
  ptl_handle_md_t h;
  CHECK(PtlMDBind(s->ni, &md, &h) == PTL_OK);
  int in_use = 0;
  ptl_event_t e;
  if (pm_rank() == 1)
    for (int round = 0; round < 60; round++) {
      const ptl_handle_me_t mine = append(s, entry(long_data[1], sizeof long_data[1], 0, PUT_GET | QUIET), PTL_PRIORITY_LIST, NULL);
      pm_barrier();
      int code, seen = 0;
      pm_sleep_ns(18500 + 50 * round);
      while ((code = PtlMEUnlink(mine)) == PTL_IN_USE) {
        in_use++;
        seen = PtlEQGet(s->eq, &e) == PTL_OK;
        if (seen) CHECK(PtlMEUnlink(mine) == PTL_OK); /* visible: free */
        if (seen) break;
      }
      CHECK(seen || code == PTL_OK);
      pm_barrier();
      while (PtlEQGet(s->eq, &e) == PTL_OK) {}
    }
  else
    for (int round = 0; round < 60; round++) {
      pm_barrier();
      CHECK(PtlPut(h, 0, sizeof long_data[0], PTL_NO_ACK_REQ, pm_process_id(1), 3, 0, 0, NULL, 0) == PTL_OK);
      pm_sleep_ns(100000);
      pm_barrier();
    }
  if (pm_rank() == 1) CHECK(in_use > 0);
  side_close(s);
}
static void entries_in_use_stay_until_their_event(void) {
  if (!IS_ON_RTL) run_world(2, unlink_body, NULL);
}

/* ---- events and counters at the initiator --------------------------------------------------------- */
static void acks_body(void *unused) {
  side s_, *s = &s_;
  const ptl_process_t self = pm_process_id(0);
  ptl_handle_eq_t replies;
  ptl_handle_md_t h, reply_md, quiet;
  ptl_event_t e;
  (void)unused;
  side_open(s, PTL_NI_MATCHING, 0, 0);
  append(s, entry(s->memory + 2048, 64, 0, PUT_GET | QUIET | PTL_ME_EVENT_COMM_DISABLE), PTL_PRIORITY_LIST, NULL);
  append(s, entry(s->memory + 2048, 64, 1, PUT_GET | QUIET | PTL_ME_EVENT_COMM_DISABLE | PTL_ME_ACK_DISABLE), PTL_PRIORITY_LIST, NULL);
  /* any of the three kinds of ack counts; only ACK_REQ makes an event */
  ptl_md_t md = {s->memory, 1024, PTL_MD_EVENT_CT_ACK | PTL_MD_EVENT_SEND_DISABLE, s->eq, s->ct};
  CHECK(PtlMDBind(s->ni, &md, &h) == PTL_OK);
  for (int ack = PTL_ACK_REQ; ack <= PTL_OC_ACK_REQ; ack++)
    CHECK(PtlPut(h, 0, 8, (ptl_ack_req_t)ack, self, 3, 0, 0, NULL, 0) == PTL_OK);
  EXPECT(s, ACK);
  EXPECT_NOTHING(s);
  CHECK(count_of(s->ct).success == 3);
  CHECK(PtlPut(h, 0, 8, PTL_CT_ACK_REQ, self, 3, 1, 0, NULL, 0) == PTL_OK); /* muted by the entry */
  EXPECT_NOTHING(s);
  CHECK(count_of(s->ct).success == 3 && PtlMDRelease(h) == PTL_OK);
  md.options = PTL_MD_EVENT_SEND_DISABLE; /* not asked to count acks */
  CHECK(PtlMDBind(s->ni, &md, &h) == PTL_OK && PtlPut(h, 0, 8, PTL_CT_ACK_REQ, self, 3, 0, 0, NULL, 0) == PTL_OK);
  pm_sleep_ns(100000);
  CHECK(count_of(s->ct).success == 3);
  /* SEND of a fetch goes to the put side's queue, REPLY to the get side's; replies count bytes moved */
  CHECK(PtlEQAlloc(s->ni, 8, &replies) == PTL_OK);
  ptl_md_t get = {s->memory + 1024, 512, PTL_MD_EVENT_CT_REPLY | PTL_MD_EVENT_CT_BYTES, replies, s->ct};
  CHECK(PtlMDBind(s->ni, &get, &reply_md) == PTL_OK);
  CHECK(PtlFetchAtomic(reply_md, 0, s->md, 0, 8, self, 3, 0, 0, (void *)6, 0, PTL_SUM, PTL_UINT64_T) == PTL_OK);
  CHECK(PtlEQWait(replies, &e) == PTL_OK && e.type == PTL_EVENT_REPLY && e.user_ptr == (void *)6 && e.mlength == 8);
  CHECK(EXPECT(s, SEND).user_ptr == (void *)6);
  EXPECT_NOTHING(s);
  CHECK(PtlGet(reply_md, 0, 100, self, 3, 0, 24, NULL) == PTL_OK && PtlEQWait(replies, &e) == PTL_OK);
  CHECK(e.mlength == 40 && e.remote_offset == 24 && count_of(s->ct).success == 3 + 8 + 40);
  CHECK(PtlMDRelease(reply_md) == PTL_OK); /* right after its event */
  /* SEND_DISABLE mutes failures too; SUCCESS_DISABLE does not */
  ptl_process_t nobody = self;
  nobody.phys.pid = 99;
  CHECK(PtlPut(h, 0, 100, PTL_ACK_REQ, nobody, 3, 0, 0, NULL, 0) == PTL_OK);
  CHECK(EXPECT(s, ACK).ni_fail_type == PTL_NI_UNDELIVERABLE);
  EXPECT_NOTHING(s);
  md.options = PTL_MD_EVENT_SUCCESS_DISABLE;
  CHECK(PtlMDBind(s->ni, &md, &quiet) == PTL_OK && PtlPut(quiet, 0, 100, PTL_ACK_REQ, nobody, 3, 0, 0, NULL, 0) == PTL_OK);
  CHECK(EXPECT(s, SEND).ni_fail_type == PTL_NI_UNDELIVERABLE && EXPECT(s, ACK).ni_fail_type == PTL_NI_UNDELIVERABLE);
  /* unreliable: no answer can be asked for */
  md.options = PTL_MD_UNRELIABLE;
  CHECK(PtlMDBind(s->ni, &md, &quiet) == PTL_OK && PtlPut(quiet, 0, 8, PTL_ACK_REQ, self, 3, 0, 0, NULL, 0) == PTL_ARG_INVALID);
  CHECK(PtlPut(quiet, 0, 8, PTL_NO_ACK_REQ, self, 3, 0, 0, NULL, 0) == PTL_OK);
  side_close(s);
}
static void acks_and_replies_go_where_they_should(void) { alone(acks_body); }

static void iovec_body(void *unused) {
  side s_, *s = &s_;
  (void)unused;
  side_open(s, PTL_NI_MATCHING, 0, PTL_MD_EVENT_SUCCESS_DISABLE);
  uint64_t *words = (uint64_t *)(void *)(s->memory + 2048);
  ptl_iovec_t pieces[3] = {{words, 8}, {words + 10, 16}, {words + 20, 8}};
  append(s, entry(pieces, 3, 0, PUT_GET | QUIET | PTL_IOVEC), PTL_PRIORITY_LIST, NULL);
  words[11] = 4, words[20] = 5;
  ((uint64_t *)(void *)s->memory)[0] = 100;
  ((uint64_t *)(void *)s->memory)[1] = 200;
  CHECK(PtlAtomic(s->md, 0, 16, PTL_NO_ACK_REQ, pm_process_id(0), 3, 0, 16, NULL, 0, PTL_SUM, PTL_UINT64_T) == PTL_OK);
  const ptl_event_t e = EXPECT(s, ATOMIC);
  CHECK(e.start == (void *)(words + 11) && e.remote_offset == 16 && e.mlength == 16 && words[11] == 104 && words[20] == 205);
  ptl_md_t md = {pieces, 1025, PTL_IOVEC, PTL_EQ_NONE, PTL_CT_NONE};
  ptl_handle_md_t h;
  CHECK(PtlMDBind(s->ni, &md, &h) == PTL_ARG_INVALID); /* max_iovecs */
  side_close(s);
}
static void atomics_reach_into_pieces(void) { alone(iovec_body); }

static void limits_body(void *unused) {
  side s_, *s = &s_;
  ptl_ni_limits_t wish;
  const ptl_process_t self = pm_process_id(0);
  ptl_handle_any_t h[3];
  (void)unused;
  memset(s, 0, sizeof *s);
  memset(&wish, 0x7F, sizeof wish);
  wish.max_msg_size = 1000;
  wish.max_atomic_size = 64;
  wish.max_fetch_atomic_size = 32;
  wish.max_volatile_size = 16;
  wish.max_triggered_ops = 2;
  wish.max_entries = 2;
  wish.max_mds = 3;
  wish.max_eqs = 1;
  CHECK(PtlInit() == PTL_OK && PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, &wish, NULL, &s->ni) == PTL_OK);
  CHECK(PtlEQAlloc(s->ni, 64, &s->eq) == PTL_OK && PtlEQAlloc(s->ni, 64, &h[0]) == PTL_NO_SPACE && PtlCTAlloc(s->ni, &s->ct) == PTL_OK);
  CHECK(PtlPTAlloc(s->ni, 0, s->eq, 3, &s->pt) == PTL_OK);
  ptl_md_t md = {s->memory, sizeof s->memory, 0, s->eq, PTL_CT_NONE};
  CHECK(PtlMDBind(s->ni, &md, &s->md) == PTL_OK && PtlMDBind(s->ni, &md, &h[0]) == PTL_OK);
  md.options = PTL_MD_VOLATILE;
  CHECK(PtlMDBind(s->ni, &md, &h[1]) == PTL_OK && PtlMDBind(s->ni, &md, &h[2]) == PTL_NO_SPACE);
  CHECK(put_self(s, 1001, PTL_NO_ACK_REQ, 0, 0) == PTL_ARG_INVALID && put_self(s, 1000, PTL_NO_ACK_REQ, 0, 0) == PTL_OK);
  CHECK(PtlGet(s->md, 0, 1001, self, 3, 0, 0, NULL) == PTL_ARG_INVALID);
  CHECK(PtlPut(h[1], 0, 17, PTL_NO_ACK_REQ, self, 3, 0, 0, NULL, 0) == PTL_ARG_INVALID && PtlPut(h[1], 0, 16, PTL_NO_ACK_REQ, self, 3, 0, 0, NULL, 0) == PTL_OK);
  CHECK(PtlAtomic(s->md, 0, 72, PTL_NO_ACK_REQ, self, 3, 0, 0, NULL, 0, PTL_SUM, PTL_UINT64_T) == PTL_ARG_INVALID);
  CHECK(PtlAtomic(s->md, 0, 64, PTL_NO_ACK_REQ, self, 3, 0, 0, NULL, 0, PTL_SUM, PTL_UINT64_T) == PTL_OK);
  CHECK(PtlFetchAtomic(s->md, 0, s->md, 0, 40, self, 3, 0, 0, NULL, 0, PTL_SUM, PTL_UINT64_T) == PTL_ARG_INVALID);
  CHECK(PtlFetchAtomic(s->md, 0, s->md, 0, 32, self, 3, 0, 0, NULL, 0, PTL_SUM, PTL_UINT64_T) == PTL_OK);
  for (int i = 0; i < 3; i++) CHECK(PtlTriggeredCTInc(s->ct, (ptl_ct_event_t){1, 0}, s->ct, 50) == (i < 2 ? PTL_OK : PTL_NO_SPACE));
  CHECK(PtlCTCancelTriggered(s->ct) == PTL_OK && PtlTriggeredCTInc(s->ct, (ptl_ct_event_t){1, 0}, s->ct, 50) == PTL_OK);
  ptl_me_t me = entry(s->memory, 8, 0, PUT_GET | QUIET);
  for (int i = 0; i < 3; i++) CHECK(PtlMEAppend(s->ni, 3, &me, PTL_PRIORITY_LIST, NULL, &h[i]) == (i < 2 ? PTL_OK : PTL_NO_SPACE));
  CHECK(PtlTriggeredMEUnlink(h[0], s->ct, 60) == PTL_OK && PtlCTSet(s->ct, (ptl_ct_event_t){100, 0}) == PTL_OK);
  CHECK(PtlMEUnlink(h[0]) == PTL_ARG_INVALID && PtlMEAppend(s->ni, 3, &me, PTL_PRIORITY_LIST, NULL, &h[0]) == PTL_OK);
  side_close(s);
}
static void limits_are_kept_exactly(void) { alone(limits_body); }

/* A command that would have to wait is refused, and nothing of it happens. */
static void try_again_body(void *unused) {
  side s_, *s = &s_;
  ptl_ct_event_t v;
  (void)unused;
  side_open(s, PTL_NI_MATCHING, 0, PTL_MD_EVENT_CT_ACK | PTL_MD_EVENT_SUCCESS_DISABLE);
  append(s, entry(s->memory + 2048, 64, 0, PUT_GET | QUIET | PTL_ME_EVENT_COMM_DISABLE), PTL_PRIORITY_LIST, NULL);
  pm_barrier();
  if (pm_rank() == 0) {
    int sent = 0, code = PTL_OK;
    while (sent < 1000 && (code = PtlPutNB(s->md, 0, 64, PTL_CT_ACK_REQ, pm_process_id(1), 3, 0, 0, NULL, 0)) == PTL_OK) sent++;
    CHECK(code == PTL_TRY_AGAIN && sent >= 16 && sent < 1000);
    const int64_t t_ns = pm_now_ns();
    CHECK(PtlGetNB(s->md, 0, 8, pm_process_id(1), 3, 0, 0, NULL) == PTL_TRY_AGAIN && pm_now_ns() == t_ns);
    CHECK(PtlCTWait(s->ct, (ptl_size_t)sent, &v) == PTL_OK && v.success == (ptl_size_t)sent);
    CHECK(PtlPutNB(s->md, 0, 64, PTL_CT_ACK_REQ, pm_process_id(1), 3, 0, 0, NULL, 0) == PTL_OK); /* room again */
    CHECK(PtlCTWait(s->ct, (ptl_size_t)sent + 1, &v) == PTL_OK && PtlMDRelease(s->md) == PTL_OK);
  }
  pm_barrier();
  side_close(s);
}
static void calls_that_never_wait_say_try_again(void) { run_world(2, try_again_body, NULL); }

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(every_name_is_there);
  RUN(every_call_needs_init);
  RUN(handles_are_the_same_everywhere_and_bound_to_one_interface);
  RUN(second_map_follows_the_option);
  RUN(table_follows_its_options);
  RUN(disabling_waits_for_what_runs);
  RUN(disabling_waits_for_searches);
  RUN(no_room_for_a_header_drops_or_disables);
  RUN(other_implementations_are_options);
  RUN(frees_interrupt_waiters_when_told_to);
  RUN(interfaces_offer_what_is_set);
  RUN(local_offset_serves_every_kind);
  RUN(every_kind_can_be_unexpected);
  RUN(headers_may_move_the_local_offset);
  RUN(events_are_muted_counters_are_not);
  RUN(deleting_search_frees_the_buffer);
  RUN(running_headers_are_found_and_told_when_complete);
  RUN(entries_in_use_stay_until_their_event);
  RUN(acks_and_replies_go_where_they_should);
  RUN(atomics_reach_into_pieces);
  RUN(limits_are_kept_exactly);
  RUN(calls_that_never_wait_say_try_again);
  return TEST_END();
}
