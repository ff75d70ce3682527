/* What outlives its owner, what ends early, and the least and the most of limits: rules of Portals that
   programs written for other libraries depend on, at 2, 3, 4 and 16 processes. */
#include "tests/model/ptl.h"

enum { PUT_GET = PTL_ME_OP_PUT | PTL_ME_OP_GET, QUIET = PTL_ME_EVENT_LINK_DISABLE };
static const int process_counts[] = {2, 3, 4, 16};
static void at_every_count(void (*body)(void *arg)) {
  for (int level = PM_LINK_FLOW; level <= PM_LINK_LOGGP; level++)
    for (size_t i = 0; i < sizeof process_counts / sizeof *process_counts; i++) {
      pm_world_desc desc = {0};
      desc.link = (pm_link_model)level;
      run_world(process_counts[i], body, &desc);
    }
}

/* A logical interface of all processes, rank = node. */
static void logical_open(side *s) {
  ptl_process_t map[16];
  memset(s, 0, sizeof *s);
  CHECK(PtlInit() == PTL_OK);
  CHECK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_LOGICAL, PTL_PID_ANY, NULL, NULL, &s->ni) == PTL_OK);
  for (int i = 0; i < pm_size(); i++) map[i].phys.nid = (ptl_nid_t)i, map[i].phys.pid = 0;
  CHECK(PtlSetMap(s->ni, (ptl_size_t)pm_size(), map) == PTL_OK);
  CHECK(PtlEQAlloc(s->ni, 256, &s->eq) == PTL_OK && PtlCTAlloc(s->ni, &s->ct) == PTL_OK);
  CHECK(PtlPTAlloc(s->ni, 0, s->eq, 3, &s->pt) == PTL_OK);
  ptl_md_t md = {NULL, PTL_SIZE_MAX, 0, s->eq, s->ct};
  CHECK(PtlMDBind(s->ni, &md, &s->md) == PTL_OK);
}
static ptl_me_t logical_entry(void *start, size_t bytes, ptl_match_bits_t bits, unsigned int options) {
  ptl_me_t me = entry(start, bytes, bits, options);
  me.match_id.rank = PTL_RANK_ANY;
  return me;
}

/* ---- interfaces close with messages under way ----------------------------------------------------- */
enum { BIG = 1 << 20, SENDERS = 15 };
static const size_t sizes[] = {8, 100, 4096, BIG};
static unsigned char *arrived;
static void leaving_body(void *unused) {
  static unsigned char source[SENDERS + 1][BIG];
  side s_, *s = &s_;
  const int me = pm_rank();
  (void)unused;
  logical_open(s);
  if (me == 0) append(s, logical_entry(arrived, (size_t)(SENDERS + 1) * 4 * BIG, 0, PUT_GET | QUIET), PTL_PRIORITY_LIST, NULL);
  pm_barrier();
  if (me == 0) {
    int seen[SENDERS + 1] = {0};
    for (int n = 0; n < 4 * (pm_size() - 1); n++) {
      const ptl_event_t e = EXPECT(s, PUT);
      CHECK(e.ni_fail_type == PTL_NI_OK && e.initiator.rank > 0 && e.initiator.rank < (ptl_rank_t)pm_size() && e.initiator.rank == e.hdr_data);
      if (e.initiator.rank > SENDERS) continue;
      seen[e.initiator.rank]++;
      for (ptl_size_t k = 0; k < e.mlength; k += 97)
        if (((unsigned char *)e.start)[k] != (unsigned char)(e.hdr_data * 7 + k)) {
          CHECK(!"the bytes that were put");
          break;
        }
    }
    for (int r = 1; r < pm_size(); r++) CHECK(seen[r] == 4);
    side_close(s);
    return;
  }
  for (size_t k = 0; k < BIG; k++) source[me][k] = (unsigned char)((size_t)me * 7 + k);
  for (size_t i = 0; i < 4; i++)
    CHECK(PtlPut(s->md, (ptl_size_t)(uintptr_t)source[me], sizes[i], PTL_NO_ACK_REQ, (ptl_process_t){.rank = 0}, 3, 0,
                 ((size_t)me * 4 + i) * BIG, NULL, (ptl_hdr_data_t)me) == PTL_OK);
  if (!(me & 1)) return; /* an end is a close too */
  side_close(s);
  memset(source[me], 0, BIG);
}
static void what_was_put_arrives_after_its_initiator_left(void) {
  arrived = (unsigned char *)malloc((size_t)(SENDERS + 1) * 4 * BIG);
  CHECK(arrived != NULL);
  if (arrived) at_every_count(leaving_body);
  free(arrived);
}
static void left_get_body(void *unused) {
  side s_, *s = &s_;
  unsigned char got[512];
  (void)unused;
  logical_open(s);
  if (pm_rank() == 0) append(s, logical_entry(s->memory, sizeof s->memory, 0, PUT_GET | QUIET), PTL_PRIORITY_LIST, NULL);
  pm_barrier();
  if (pm_rank() != 0) {
    CHECK(PtlGet(s->md, (ptl_size_t)(uintptr_t)got, sizeof got, (ptl_process_t){.rank = 0}, 3, 0, 0, NULL) == PTL_OK);
    side_close(s);
    return;
  }
  for (int n = 1; n < pm_size(); n++) {
    const ptl_event_t e = EXPECT(s, GET);
    CHECK(e.initiator.rank > 0 && e.initiator.rank < (ptl_rank_t)pm_size());
  }
  side_close(s);
}
static void initiators_are_known_after_they_left(void) { at_every_count(left_get_body); }

/* Large worlds ask memory early for what later steps look at, also of processes that have gone by then. */
static int whole_count;
static void crowd_body(void *unused) {
  static const size_t bytes[] = {8, 100, 10000};
  static unsigned char source[10000], sink[10000];
  ptl_handle_any_t ni, h, entry_h, ct;
  ptl_pt_index_t pt;
  ptl_ct_event_t v;
  const int me = pm_rank();
  (void)unused;
  CHECK(!PtlInit() && !PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &ni));
  CHECK(!PtlCTAlloc(ni, &ct) && !PtlPTAlloc(ni, 0, PTL_EQ_NONE, 40, &pt));
  ptl_me_t le = entry(sink, sizeof sink, 0, PTL_ME_OP_PUT | PTL_ME_EVENT_CT_COMM | QUIET);
  le.ct_handle = ct;
  ptl_md_t md = {source, sizeof source, 0, PTL_EQ_NONE, PTL_CT_NONE};
  CHECK(!PtlMEAppend(ni, 40, &le, PTL_PRIORITY_LIST, NULL, &entry_h) && !PtlMDBind(ni, &md, &h));
  pm_barrier();
  for (int i = 0; i < 3; i++)
    CHECK(!PtlPut(h, 0, bytes[i], PTL_NO_ACK_REQ, pm_process_id((me + 1) % pm_size()), 40, 0, 0, NULL, 0));
  if (me & 1) return;
  CHECK(!PtlCTWait(ct, 3, &v) && v.success == 3 && v.failure == 0);
  whole_count++;
}
static void a_large_world_bears_that_half_of_it_leaves(void) {
  pm_world_desc desc = {0};
  whole_count = 0;
  run_world(600, crowd_body, &desc);
  CHECK(whole_count == 300);
}

/* ---- limits --------------------------------------------------------------------------------------- */
static void least_body(void *unused) {
  ptl_ni_limits_t wish, got;
  ptl_handle_ni_t ni;
  (void)unused;
  memset(&wish, 0, sizeof wish); /* 0: no wish */
  CHECK(PtlInit() == PTL_OK && PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, &wish, &got, &ni) == PTL_OK);
  CHECK(got.max_entries > 0 && got.max_unexpected_headers > 0 && got.max_mds > 0 && got.max_cts > 0 && got.max_eqs > 0 && got.max_pt_index > 0);
  CHECK(got.max_iovecs > 0 && got.max_list_size > 0 && got.max_triggered_ops > 0 && got.max_msg_size > 0 && got.max_atomic_size > 0);
  CHECK(got.max_fetch_atomic_size > 0 && got.max_waw_ordered_size > 0 && got.max_war_ordered_size > 0 && got.max_volatile_size > 0);
  CHECK(got.features == (PTL_TARGET_BIND_INACCESSIBLE | PTL_TOTAL_DATA_ORDERING | PTL_COHERENT_ATOMICS));
  CHECK(PtlNIFini(ni) == PTL_OK);
  wish.max_waw_ordered_size = wish.max_war_ordered_size = wish.max_atomic_size = wish.max_fetch_atomic_size = 1;
  wish.max_pt_index = 1;
  wish.max_cts = 5;
  CHECK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, &wish, &got, &ni) == PTL_OK);
  CHECK(got.max_waw_ordered_size == 64 && got.max_war_ordered_size == 8 && got.max_atomic_size == 8 && got.max_fetch_atomic_size == 8);
  CHECK(got.max_pt_index == 63 && got.max_cts == 5);
  CHECK(PtlNIFini(ni) == PTL_OK);
  wish.max_list_size = 3;
  wish.max_volatile_size = 5000;
  CHECK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, &wish, &got, &ni) == PTL_OK);
  CHECK(got.max_list_size == 3 && got.max_volatile_size == 5000);
  ptl_pt_index_t pt[2];
  ptl_handle_me_t h;
  const ptl_me_t me = entry(&wish, 8, 0, PUT_GET | QUIET);
  for (int i = 0; i < 2; i++) {
    CHECK(PtlPTAlloc(ni, 0, PTL_EQ_NONE, (ptl_pt_index_t)i, &pt[i]) == PTL_OK);
    for (int k = 0; k < 4; k++)
      CHECK(PtlMEAppend(ni, pt[i], &me, k & 1 ? PTL_OVERFLOW_LIST : PTL_PRIORITY_LIST, NULL, &h) == (k < 3 ? PTL_OK : PTL_LIST_TOO_LONG));
  }
  PtlFini();
}
static void limits_have_least_values(void) { run_world(1, least_body, NULL); }

/* A volatile buffer may change right after the call, however long it is. */
static void volatile_body(void *unused) {
  static unsigned char there[4096];
  side s_, *s = &s_;
  ptl_ni_limits_t wish;
  (void)unused;
  memset(s, 0, sizeof *s);
  memset(&wish, 0, sizeof wish);
  wish.max_volatile_size = 4096;
  CHECK(PtlInit() == PTL_OK && PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, &wish, NULL, &s->ni) == PTL_OK);
  CHECK(PtlEQAlloc(s->ni, 64, &s->eq) == PTL_OK && PtlPTAlloc(s->ni, 0, s->eq, 3, &s->pt) == PTL_OK);
  ptl_md_t md = {s->memory, sizeof s->memory, PTL_MD_VOLATILE | PTL_MD_EVENT_SUCCESS_DISABLE, s->eq, PTL_CT_NONE};
  CHECK(PtlMDBind(s->ni, &md, &s->md) == PTL_OK);
  append(s, entry(there, sizeof there, 0, PUT_GET | QUIET), PTL_PRIORITY_LIST, NULL);
  pm_barrier();
  if (pm_rank() == 0) {
    memset(s->memory, 5, sizeof s->memory);
    CHECK(put(s, 1, 4096, PTL_NO_ACK_REQ, 0, 0, 0) == PTL_OK);
    memset(s->memory, 9, sizeof s->memory);
  } else if (pm_rank() == 1) {
    EXPECT(s, PUT);
    CHECK(there[0] == 5 && there[64] == 5 && there[4095] == 5);
  }
  pm_barrier();
  side_close(s);
}
static void volatile_payload_is_copied_whatever_its_size(void) { at_every_count(volatile_body); }

/* ---- descriptors and counters --------------------------------------------------------------------- */
static void release_body(void *unused) {
  side s_, *s = &s_;
  ptl_handle_md_t again;
  (void)unused;
  side_open(s, PTL_NI_MATCHING, 0, 0);
  append(s, entry(s->memory + 2048, 1024, 0, PUT_GET | QUIET), PTL_PRIORITY_LIST, NULL);
  pm_barrier();
  if (pm_rank() == 0) {
    memset(s->memory, 3, 64);
    CHECK(put(s, pm_size() - 1, 64, PTL_ACK_REQ, 0, 0, 0) == PTL_OK);
    CHECK(PtlMDRelease(s->md) == PTL_ARG_INVALID); /* SEND is to come */
    EXPECT(s, SEND);
    CHECK(PtlMDRelease(s->md) == PTL_OK && PtlMDRelease(s->md) == PTL_ARG_INVALID);
    CHECK(put(s, pm_size() - 1, 8, PTL_NO_ACK_REQ, 0, 0, 0) == PTL_ARG_INVALID);
    ptl_md_t md = {s->memory, 8, 0, s->eq, PTL_CT_NONE};
    CHECK(PtlMDBind(s->ni, &md, &again) == PTL_OK && again != s->md); /* its place is not taken yet */
    const ptl_event_t e = EXPECT(s, ACK); /* of the descriptor that is gone */
    CHECK(e.ni_fail_type == PTL_NI_OK && e.mlength == 64);
    md.options = PTL_MD_EVENT_CT_ACK; /* to be counted on its end */
    md.ct_handle = s->ct;
    for (int i = 0; i < 1100; i++) { /* and its place comes back: there are 1,024 */
      CHECK(PtlMDBind(s->ni, &md, &s->md) == PTL_OK && put(s, pm_size() - 1, 8, PTL_CT_ACK_REQ, 0, 0, 0) == PTL_OK);
      EXPECT(s, SEND);
      CHECK(PtlMDRelease(s->md) == PTL_OK);
    }
    ptl_ct_event_t v;
    CHECK(PtlCTWait(s->ct, 1100, &v) == PTL_OK && v.failure == 0);
  } else if (pm_rank() == pm_size() - 1) {
    EXPECT(s, PUT);
    CHECK(s->memory[2048] == 3 && s->memory[2048 + 63] == 3);
  }
  pm_barrier();
  side_close(s);
}
static void release_after_send_waits_for_the_last_use(void) { at_every_count(release_body); }

/* A descriptor without queue and counter: who put nothing, or so little that it has been read, may release it at once. */
static void mute_release_body(void *unused) {
  static const ptl_size_t lengths[] = {0, 8, 64};
  static unsigned char there[4096];
  side s_, *s = &s_;
  (void)unused;
  side_open(s, PTL_NI_MATCHING, 0, 0);
  append(s, entry(there, 4096, 0, PUT_GET | QUIET), PTL_PRIORITY_LIST, NULL);
  pm_barrier();
  if (pm_rank() == 0)
    for (int k = 0; k < 3; k++) {
      ptl_md_t md = {s->memory, 4096, 0, PTL_EQ_NONE, PTL_CT_NONE};
      ptl_handle_md_t h;
      memset(s->memory, 7 + k, sizeof s->memory);
      CHECK(PtlMDBind(s->ni, &md, &h) == PTL_OK && PtlPut(h, 0, lengths[k], PTL_NO_ACK_REQ, pm_process_id(pm_size() - 1), 3, 0, 0, NULL, 0) == PTL_OK);
      CHECK(PtlMDRelease(h) == PTL_OK && PtlMDRelease(h) == PTL_ARG_INVALID);
      memset(s->memory, 1, sizeof s->memory);
      pm_sleep_ns(100000);
    }
  if (pm_rank() == pm_size() - 1)
    for (int k = 0; k < 3; k++) {
      CHECK(EXPECT(s, PUT).mlength == lengths[k] && (!k || there[lengths[k] - 1] == 7 + k));
    }
  pm_barrier();
  side_close(s);
}
static void mute_descriptors_go_when_they_have_been_read(void) { at_every_count(mute_release_body); }

static void handles_body(void *unused) {
  side s_, *s = &s_;
  ptl_handle_ni_t other;
  ptl_handle_ct_t ct;
  ptl_handle_any_t h;
  (void)unused;
  side_open(s, PTL_NI_MATCHING, 0, 0);
  CHECK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_NO_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &other) == PTL_OK);
  CHECK(PtlCTAlloc(other, &ct) == PTL_OK);
  const ptl_handle_ct_t bad[] = {ct, 0, s->ct + 1, s->eq};
  for (int i = 0; i < 4; i++)
    for (int counts = 0; counts < 2; counts++) {
      ptl_md_t md = {s->memory, 8, counts ? PTL_MD_EVENT_CT_SEND : 0, PTL_EQ_NONE, bad[i]};
      ptl_me_t me = entry(s->memory, 8, 0, PUT_GET | QUIET | (counts ? PTL_ME_EVENT_CT_COMM : 0));
      me.ct_handle = bad[i];
      CHECK(PtlMDBind(s->ni, &md, &h) == PTL_ARG_INVALID);
      CHECK(PtlMEAppend(s->ni, s->pt, &me, PTL_PRIORITY_LIST, NULL, &h) == PTL_ARG_INVALID);
      CHECK(PtlMESearch(s->ni, s->pt, &me, PTL_SEARCH_ONLY, NULL) == PTL_ARG_INVALID);
      CHECK(PtlTriggeredCTInc(s->ct, (ptl_ct_event_t){1, 0}, bad[i], 1) == PTL_ARG_INVALID);
      CHECK(PtlTriggeredCTInc(bad[i], (ptl_ct_event_t){1, 0}, s->ct, 1) == PTL_ARG_INVALID);
    }
  side_close(s);
}
static void counters_of_others_are_refused(void) { run_world(1, handles_body, NULL); }

/* ---- unexpected headers move the offset ------------------------------------------------------------ */
static void min_free_body(void *unused) {
  side s_, *s = &s_;
  (void)unused;
  side_open(s, PTL_NI_MATCHING, 0, PTL_MD_EVENT_SUCCESS_DISABLE);
  append(s, entry(s->memory + 1024, 1024, 0, PTL_ME_OP_PUT | PTL_ME_MANAGE_LOCAL | QUIET | PTL_ME_EVENT_COMM_DISABLE), PTL_OVERFLOW_LIST, NULL);
  pm_barrier();
  if (pm_rank() == 0)
    for (int i = 0; i < 5; i++) CHECK(put(s, 1, 8, PTL_NO_ACK_REQ, 0, 0, 0) == PTL_OK);
  pm_sleep_ns(100000);
  if (pm_rank() == 1) {
    ptl_me_t me = entry(s->memory, 48, 0, PTL_ME_OP_PUT | PTL_ME_MANAGE_LOCAL | PTL_ME_LOCAL_INC_UH_RLENGTH);
    me.min_free = 30;
    append(s, me, PTL_PRIORITY_LIST, s);
    for (int i = 0; i < 3; i++) EXPECT(s, PUT_OVERFLOW);
    EXPECT(s, AUTO_UNLINK);
    EXPECT_NOTHING(s); /* and no LINK */
    append(s, me, PTL_PRIORITY_LIST, s);
    for (int i = 0; i < 2; i++) EXPECT(s, PUT_OVERFLOW);
    EXPECT(s, LINK);
  }
  pm_barrier();
  side_close(s);
}
static void headers_are_taken_until_min_free(void) { at_every_count(min_free_body); }

/* ---- abort ----------------------------------------------------------------------------------------- */
static void abort_body(void *unused) {
  side s_, *s = &s_;
  ptl_event_t e;
  ptl_ct_event_t v;
  unsigned int which;
  const ptl_size_t test = 1;
  (void)unused;
  side_open(s, PTL_NI_MATCHING, 0, 0);
  CHECK(PtlEQFree(s->eq) == PTL_OK && PtlCTFree(s->ct) == PTL_OK); /* stale from now on */
  CHECK(PtlEQWait(s->eq, &e) == PTL_ARG_INVALID && PtlCTWait(s->ct, 1, &v) == PTL_ARG_INVALID);
  PtlAbort();
  CHECK(PtlEQWait(s->eq, &e) == PTL_ABORTED && PtlEQPoll(&s->eq, 1, 0, &e, &which) == PTL_ABORTED);
  CHECK(PtlCTWait(s->ct, 1, &v) == PTL_ABORTED && PtlCTPoll(&s->ct, &test, 1, 0, &v, &which) == PTL_ABORTED);
  PtlFini();
  side_open(s, PTL_NI_MATCHING, 0, 0); /* a new beginning */
  CHECK(PtlCTInc(s->ct, (ptl_ct_event_t){2, 0}) == PTL_OK && PtlCTWait(s->ct, 1, &v) == PTL_OK && v.success == 2);
  CHECK(PtlEQPoll(&s->eq, 1, 0, &e, &which) == PTL_EQ_EMPTY);
  side_close(s);
}
static void after_abort_stale_handles_say_so_too(void) { run_world(1, abort_body, NULL); }

/* ---- triggered operations -------------------------------------------------------------------------- */
static void unfired_body(void *unused) {
  side s_, *s = &s_;
  ptl_handle_me_t h;
  (void)unused;
  side_open(s, PTL_NI_MATCHING, 0, 0);
  ptl_me_t me = entry(s->memory, 64, 0, PUT_GET);
  CHECK(PtlTriggeredMEAppend(s->ni, s->pt, &me, PTL_PRIORITY_LIST, s, &h, s->ct, 5) == PTL_OK);
  CHECK(PtlTriggeredMEUnlink(h, s->ct, 6) == PTL_OK);
  CHECK(PtlMEUnlink(h) == PTL_ARG_INVALID); /* it is in no list yet */
  CHECK(PtlCTSet(s->ct, (ptl_ct_event_t){5, 0}) == PTL_OK);
  EXPECT(s, LINK);
  CHECK(PtlCTInc(s->ct, (ptl_ct_event_t){1, 0}) == PTL_OK && PtlMEUnlink(h) == PTL_ARG_INVALID);
  CHECK(PtlTriggeredMEAppend(s->ni, s->pt, &me, PTL_PRIORITY_LIST, s, &h, s->ct, 50) == PTL_OK);
  CHECK(PtlCTCancelTriggered(s->ct) == PTL_OK && PtlTriggeredMEUnlink(h, s->ct, 60) == PTL_ARG_INVALID);
  EXPECT_NOTHING(s);
  side_close(s);
}
static void triggered_unlink_may_name_an_entry_to_come(void) { run_world(1, unfired_body, NULL); }

enum { MANY = 16378 };
static void many_body(void *unused) {
  side s_, *s = &s_;
  ptl_handle_ct_t sum;
  (void)unused;
  side_open(s, PTL_NI_MATCHING, 0, 0);
  CHECK(PtlCTAlloc(s->ni, &sum) == PTL_OK);
  for (int round = 0; round < 2; round++) { /* thresholds that fall and rise; each fires when it is reached */
    CHECK(PtlCTSet(s->ct, (ptl_ct_event_t){0, 0}) == PTL_OK && PtlCTSet(sum, (ptl_ct_event_t){0, 0}) == PTL_OK);
    for (int i = 0; i < MANY; i++)
      CHECK(PtlTriggeredCTInc(sum, (ptl_ct_event_t){1, 0}, s->ct, (ptl_size_t)(round ? MANY - i : i + 1)) == PTL_OK);
    for (ptl_size_t at = 0; at <= MANY; at += 1489) {
      CHECK(PtlCTSet(s->ct, (ptl_ct_event_t){at, 0}) == PTL_OK);
      CHECK(count_of(sum).success == at);
    }
    CHECK(PtlCTSet(s->ct, (ptl_ct_event_t){MANY, 0}) == PTL_OK && count_of(sum).success == MANY);
  }
  /* equal thresholds in the order of their posting: the last setting stays */
  CHECK(PtlCTSet(s->ct, (ptl_ct_event_t){0, 0}) == PTL_OK);
  for (int i = 0; i < 100; i++)
    CHECK(PtlTriggeredCTSet(sum, (ptl_ct_event_t){(ptl_size_t)i, 0}, s->ct, (ptl_size_t)(i % 7 == 3 ? 1 : 2)) == PTL_OK);
  CHECK(PtlCTSet(s->ct, (ptl_ct_event_t){1, 0}) == PTL_OK && count_of(sum).success == 94);
  CHECK(PtlCTSet(s->ct, (ptl_ct_event_t){2, 0}) == PTL_OK && count_of(sum).success == 99);
  side_close(s);
}
static void triggers_fire_in_order_of_thresholds(void) { run_world(1, many_body, NULL); }

/* ---- what fires in the middle of something ----------------------------------------------------------- */
static void firing_body(void *unused) {
  side s_, *s = &s_;
  ptl_handle_me_t h;
  (void)unused;
  side_open(s, PTL_NI_MATCHING, 0, PTL_MD_EVENT_SUCCESS_DISABLE);
  const unsigned int counted = PUT_GET | PTL_ME_EVENT_LINK_DISABLE | PTL_ME_EVENT_CT_COMM | PTL_ME_EVENT_CT_OVERFLOW;
  if (pm_rank() == 0) {
    /* the message that an entry's counter counts takes the entry out */
    ptl_me_t me = entry(s->memory + 2048, 100, 1, counted);
    me.ct_handle = s->ct;
    h = append(s, me, PTL_PRIORITY_LIST, s);
    CHECK(PtlTriggeredMEUnlink(h, s->ct, 1) == PTL_OK);
    CHECK(put(s, 0, 8, PTL_NO_ACK_REQ, 1, 0, 1) == PTL_OK);
    EXPECT(s, PUT);
    CHECK(PtlMEUnlink(h) == PTL_ARG_INVALID && count_of(s->ct).success == 1);
    /* and its place is given once, not twice */
    const ptl_handle_me_t first = append(s, entry(s->memory + 2048, 8, 2, PUT_GET | QUIET), PTL_PRIORITY_LIST, s);
    const ptl_handle_me_t second = append(s, entry(s->memory + 2056, 8, 3, PUT_GET | QUIET), PTL_PRIORITY_LIST, s);
    CHECK((first & 0xFFFFu) != (second & 0xFFFFu) && PtlMEUnlink(first) == PTL_OK && PtlMEUnlink(second) == PTL_OK);
    /* three early messages; the entry that finds them lets another go for the same ones */
    append(s, entry(s->memory + 2048, 1000, 0, PUT_GET | QUIET | PTL_ME_MANAGE_LOCAL | PTL_ME_EVENT_COMM_DISABLE), PTL_OVERFLOW_LIST, NULL);
    for (ptl_hdr_data_t k = 1; k <= 3; k++) CHECK(put(s, 0, 8, PTL_NO_ACK_REQ, 0, 0, k) == PTL_OK);
    pm_sleep_ns(1000000);
    CHECK(PtlTriggeredMEAppend(s->ni, s->pt, &me, PTL_PRIORITY_LIST, NULL, &h, s->ct, 2) == PTL_OK);
    me = entry(s->memory, 100, 0, counted);
    me.ct_handle = s->ct;
    append(s, me, PTL_PRIORITY_LIST, s);
    for (ptl_hdr_data_t k = 1; k <= 3; k++) {
      const ptl_event_t e = EXPECT(s, PUT_OVERFLOW);
      CHECK(e.hdr_data == k && e.user_ptr == s);
    }
    CHECK(count_of(s->ct).success == 4);
    EXPECT_NOTHING(s);
  }
  pm_barrier();
  side_close(s);
}
static void what_fires_does_not_change_what_is_under_way(void) {
  run_world(1, firing_body, NULL);
}
/* A portal is freed when what is being written through it is there; its index serves another queue then. */
static void freed_body(void *unused) {
  side s_, *s = &s_;
  static unsigned char there[65536], here[65536];
  (void)unused;
  side_open(s, PTL_NI_MATCHING, 0, PTL_MD_EVENT_SUCCESS_DISABLE);
  const ptl_md_t md = {here, sizeof here, 0, s->eq, PTL_CT_NONE};
  ptl_handle_eq_t other;
  ptl_event_t e;
  CHECK(PtlMDBind(s->ni, &md, &s->md) == PTL_OK && PtlEQAlloc(s->ni, 8, &other) == PTL_OK);
  append(s, entry(there, sizeof there, 0, PUT_GET | QUIET | PTL_ME_USE_ONCE | PTL_ME_UNEXPECTED_HDR_DISABLE), PTL_OVERFLOW_LIST, s);
  pm_barrier();
  if (pm_rank() == 0) {
    CHECK(put(s, 1, sizeof here, PTL_NO_ACK_REQ, 0, 0, 7) == PTL_OK);
  } else {
    int code = PTL_PT_IN_USE; /* until the message has matched, its entry is in the list */
    while ((code = PtlPTFree(s->ni, s->pt)) == PTL_PT_IN_USE) pm_sleep_ns(10);
    CHECK(code == PTL_OK && PtlPTAlloc(s->ni, 0, other, s->pt, &s->pt) == PTL_OK);
    CHECK(PtlEQGet(s->eq, &e) == PTL_OK && e.type == PTL_EVENT_PUT && e.hdr_data == 7);
    pm_sleep_ns(1000000);
    CHECK(PtlEQGet(other, &e) == PTL_EQ_EMPTY);
  }
  pm_barrier();
  side_close(s);
}
static void a_freed_portal_tells_its_own_queue(void) {
  run_world(2, freed_body, NULL);
}

/* A get that came first is read last: the put behind it has used the entry up. The queue has room for three events, so
   with flow control the third message, for another entry, may be refused, but nothing may be lost. */
static void last_event_body(void *unused) {
  side s_, *s = &s_;
  ptl_handle_eq_t eq;
  ptl_pt_index_t pt;
  ptl_handle_me_t h;
  ptl_event_t e;
  (void)unused;
  side_open(s, PTL_NI_MATCHING, 0, PTL_MD_EVENT_SUCCESS_DISABLE);
  CHECK(PtlEQAlloc(s->ni, 3, &eq) == PTL_OK && PtlPTAlloc(s->ni, PTL_PT_FLOWCTRL, eq, 9, &pt) == PTL_OK);
  ptl_me_t used_up = entry(s->memory, 4000, 1, PUT_GET | QUIET | PTL_ME_MANAGE_LOCAL);
  const ptl_me_t other = entry(s->memory, 8, 2, PUT_GET | QUIET);
  used_up.min_free = 100;
  CHECK(PtlMEAppend(s->ni, pt, &used_up, PTL_PRIORITY_LIST, NULL, &h) == PTL_OK);
  CHECK(PtlMEAppend(s->ni, pt, &other, PTL_PRIORITY_LIST, NULL, &h) == PTL_OK);
  pm_barrier();
  if (pm_rank() == 0) {
    const ptl_process_t there = pm_process_id(pm_size() - 1);
    CHECK(PtlGet(s->md, 0, 3000, there, pt, 1, 0, NULL) == PTL_OK);
    CHECK(PtlPut(s->md, 0, 950, PTL_NO_ACK_REQ, there, pt, 1, 0, NULL, 0) == PTL_OK);
    CHECK(PtlPut(s->md, 0, 0, PTL_NO_ACK_REQ, there, pt, 2, 0, NULL, 0) == PTL_OK);
  }
  pm_sleep_ns(1000000);
  pm_barrier();
  if (pm_rank() == pm_size() - 1) {
    int seen[PTL_EVENT_LAST] = {0}, code;
    while ((code = PtlEQGet(eq, &e)) == PTL_OK) {
      seen[e.type]++;
      if (e.match_bits == 1) CHECK(!seen[PTL_EVENT_AUTO_UNLINK]);
    }
    CHECK(code == PTL_EQ_EMPTY && seen[PTL_EVENT_GET] == 1 && seen[PTL_EVENT_AUTO_UNLINK] == 1);
    CHECK(seen[PTL_EVENT_PUT] + seen[PTL_EVENT_PT_DISABLED] == 2);
  }
  pm_barrier();
  side_close(s);
}
static void auto_unlink_is_the_last_event_of_an_entry(void) { at_every_count(last_event_body); }

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(what_was_put_arrives_after_its_initiator_left);
  RUN(initiators_are_known_after_they_left);
  RUN(a_large_world_bears_that_half_of_it_leaves);
  RUN(limits_have_least_values);
  RUN(volatile_payload_is_copied_whatever_its_size);
  RUN(release_after_send_waits_for_the_last_use);
  RUN(mute_descriptors_go_when_they_have_been_read);
  RUN(counters_of_others_are_refused);
  RUN(headers_are_taken_until_min_free);
  RUN(auto_unlink_is_the_last_event_of_an_entry);
  RUN(after_abort_stale_handles_say_so_too);
  RUN(triggered_unlink_may_name_an_entry_to_come);
  RUN(triggers_fire_in_order_of_thresholds);
  RUN(what_fires_does_not_change_what_is_under_way);
  RUN(a_freed_portal_tells_its_own_queue);
  return TEST_END();
}
