/* Matching, lists, unexpected headers, searches: who gets a message and which events tell of it. */
#include "tests/model/ptl.h"

enum { PUT_GET = PTL_ME_OP_PUT | PTL_ME_OP_GET, QUIET = PTL_ME_EVENT_LINK_DISABLE };

/* Process 1 prepares, then process 0 sends, then process 1 looks. */
static struct {
  unsigned int pt_options;
  void (*prepare)(side *s), (*send)(side *s), (*look)(side *s);
} plan;
static void two_sides_body(void *unused) {
  side s;
  (void)unused;
  side_open(&s, PTL_NI_MATCHING, plan.pt_options, 0);
  if (pm_rank() == 1) plan.prepare(&s);
  pm_barrier();
  if (pm_rank() == 0) plan.send(&s);
  pm_sleep_ns(100000);
  pm_barrier();
  if (pm_rank() == 1) plan.look(&s);
  side_close(&s);
}
#define TWO_SIDES(name, options)                                                                   \
  static void name(void) {                                                                         \
    plan.pt_options = options;                                                                     \
    plan.prepare = name##_prepare;                                                                 \
    plan.send = name##_send;                                                                       \
    plan.look = name##_look;                                                                       \
    run_world(2, two_sides_body, NULL);                                                            \
  }

static void priority_list_is_searched_first_then_overflow_prepare(side *s) {
  append(s, entry(s->memory, 100, 7, PUT_GET | QUIET), PTL_OVERFLOW_LIST, (void *)1);
  append(s, entry(s->memory + 100, 100, 8, PUT_GET | QUIET), PTL_PRIORITY_LIST, (void *)2);
  append(s, entry(s->memory + 200, 100, 7, PUT_GET | QUIET), PTL_PRIORITY_LIST, (void *)3);
  append(s, entry(s->memory + 300, 100, 7, PUT_GET | QUIET), PTL_PRIORITY_LIST, (void *)4);
}
static void priority_list_is_searched_first_then_overflow_send(side *s) {
  memset(s->memory, 'x', 10);
  CHECK(put(s, 1, 10, PTL_ACK_REQ, 7, 5, 99) == PTL_OK);
  EXPECT(s, SEND);
  const ptl_event_t ack = EXPECT(s, ACK);
  CHECK(ack.mlength == 10 && ack.remote_offset == 5 && ack.ni_fail_type == PTL_NI_OK &&
        ack.user_ptr == s && ack.ptl_list == PTL_PRIORITY_LIST);
}
static void priority_list_is_searched_first_then_overflow_look(side *s) {
  const ptl_event_t e = EXPECT(s, PUT);
  CHECK(e.user_ptr == (void *)3 && e.start == s->memory + 205 && e.mlength == 10 &&
        e.rlength == 10 && e.remote_offset == 5);
  CHECK(e.hdr_data == 99 && e.match_bits == 7 && e.initiator.phys.nid == 0 && e.uid == 0 &&
        e.pt_index == 3 && e.ptl_list == PTL_PRIORITY_LIST);
  CHECK(memcmp(s->memory + 205, "xxxxxxxxxx", 10) == 0 && s->memory[204] == 0 &&
        s->memory[215] == 0);
  EXPECT_NOTHING(s);
}
TWO_SIDES(priority_list_is_searched_first_then_overflow, 0)

static void ignore_bits_and_ids_select_prepare(side *s) {
  ptl_me_t me = entry(s->memory, 100, 0xF0, PUT_GET | QUIET);
  me.match_id.phys.nid = 1; /* not process 0 */
  append(s, me, PTL_PRIORITY_LIST, (void *)1);
  me.match_id.phys.nid = 0;
  me.match_id.phys.pid = 5;
  append(s, me, PTL_PRIORITY_LIST, (void *)2);
  me.match_id.phys.pid = PTL_PID_ANY;
  me.ignore_bits = 0x0F;
  append(s, me, PTL_PRIORITY_LIST, (void *)3);
}
static void ignore_bits_and_ids_select_send(side *s) {
  put(s, 1, 4, PTL_NO_ACK_REQ, 0xF7, 0, 0);
  EXPECT(s, SEND);
}
static void ignore_bits_and_ids_select_look(side *s) {
  CHECK(EXPECT(s, PUT).user_ptr == (void *)3);
}
TWO_SIDES(ignore_bits_and_ids_select, 0)

static void truncation_is_a_success_and_no_truncate_passes_on_prepare(side *s) {
  append(s, entry(s->memory, 8, 1, PUT_GET | QUIET | PTL_ME_NO_TRUNCATE), PTL_PRIORITY_LIST,
         (void *)1);
  append(s, entry(s->memory, 8, 1, PUT_GET | QUIET), PTL_PRIORITY_LIST, (void *)2);
}
static void truncation_is_a_success_and_no_truncate_passes_on_send(side *s) {
  put(s, 1, 100, PTL_ACK_REQ, 1, 0, 0);
  EXPECT(s, SEND);
  CHECK(EXPECT(s, ACK).mlength == 8);
  put(s, 1, 100, PTL_ACK_REQ, 1, 9, 0); /* beyond the end: nothing moves, still a success */
  EXPECT(s, SEND);
  const ptl_event_t e = EXPECT(s, ACK);
  CHECK(e.mlength == 0 && e.ni_fail_type == PTL_NI_OK);
}
static void truncation_is_a_success_and_no_truncate_passes_on_look(side *s) {
  const ptl_event_t e = EXPECT(s, PUT);
  CHECK(e.user_ptr == (void *)2 && e.rlength == 100 && e.mlength == 8);
  CHECK(EXPECT(s, PUT).mlength == 0);
}
TWO_SIDES(truncation_is_a_success_and_no_truncate_passes_on, 0)

static void local_offset_advances_and_min_free_unlinks_prepare(side *s) {
  ptl_me_t me = entry(s->memory, 100, 1, PUT_GET | QUIET | PTL_ME_MANAGE_LOCAL);
  me.min_free = 40;
  append(s, me, PTL_PRIORITY_LIST, (void *)1);
}
static void local_offset_advances_and_min_free_unlinks_send(side *s) {
  for (int i = 0; i < 3; i++) put(s, 1, 30, PTL_NO_ACK_REQ, 1, 1000, 0), EXPECT(s, SEND);
}
static void local_offset_advances_and_min_free_unlinks_look(side *s) {
  CHECK(EXPECT(s, PUT).start == s->memory);
  CHECK(EXPECT(s, PUT).start == s->memory + 30); /* 40 left: equal to min_free, stays */
  CHECK(EXPECT(s, PUT).start == s->memory + 60); /* 10 left */
  EXPECT(s, AUTO_UNLINK);
}
TWO_SIDES(local_offset_advances_and_min_free_unlinks, 0)

static void use_once_serves_one_message_prepare(side *s) {
  append(s, entry(s->memory, 100, 1, PUT_GET | PTL_ME_USE_ONCE), PTL_PRIORITY_LIST, (void *)1);
  const ptl_event_t e = EXPECT(s, LINK);
  CHECK(e.user_ptr == (void *)1 && e.pt_index == 3 && e.ni_fail_type == PTL_NI_OK);
}
static void use_once_serves_one_message_send(side *s) {
  put(s, 1, 4, PTL_ACK_REQ, 1, 0, 0);
  put(s, 1, 4, PTL_ACK_REQ, 1, 0, 0);
  EXPECT(s, SEND);
  EXPECT(s, SEND);
  CHECK(EXPECT(s, ACK).ni_fail_type == PTL_NI_OK);
  CHECK(EXPECT(s, ACK).ni_fail_type == PTL_NI_DROPPED); /* no match, no flow control */
}
static void use_once_serves_one_message_look(side *s) {
  EXPECT(s, PUT);
  CHECK(EXPECT(s, AUTO_UNLINK).user_ptr == (void *)1);
  EXPECT_NOTHING(s);
  ptl_sr_value_t drops = 0;
  CHECK(PtlNIStatus(s->ni, PTL_SR_DROP_COUNT, &drops) == PTL_OK && drops == 1);
}
TWO_SIDES(use_once_serves_one_message, 0)

static void permissions_refuse_without_a_second_try_prepare(side *s) {
  ptl_me_t me = entry(s->memory, 100, 1, PTL_ME_OP_GET | QUIET | PTL_ME_USE_ONCE);
  append(s, me, PTL_PRIORITY_LIST, (void *)1);
  append(s, entry(s->memory, 100, 1, PUT_GET | QUIET), PTL_PRIORITY_LIST, (void *)2);
  me = entry(s->memory, 100, 2, PUT_GET | QUIET);
  me.uid = 77;
  append(s, me, PTL_PRIORITY_LIST, (void *)3);
}
static void permissions_refuse_without_a_second_try_send(side *s) {
  put(s, 1, 4, PTL_ACK_REQ, 1, 0, 0);
  EXPECT(s, SEND);
  CHECK(EXPECT(s, ACK).ni_fail_type == PTL_NI_OP_VIOLATION);
  put(s, 1, 4, PTL_ACK_REQ, 2, 0, 0);
  EXPECT(s, SEND);
  CHECK(EXPECT(s, ACK).ni_fail_type == PTL_NI_PERM_VIOLATION);
  CHECK(PtlGet(s->md, 0, 4, pm_process_id(1), 3, 1, 0, NULL) ==
        PTL_OK); /* the entry was not consumed */
  CHECK(EXPECT(s, REPLY).ni_fail_type == PTL_NI_OK);
}
static void permissions_refuse_without_a_second_try_look(side *s) {
  CHECK(EXPECT(s, GET).user_ptr == (void *)1);
  EXPECT(s, AUTO_UNLINK);
  EXPECT_NOTHING(s);
  ptl_sr_value_t op = 0, perm = 0, drops = 0;
  PtlNIStatus(s->ni, PTL_SR_OPERATION_VIOLATIONS, &op);
  PtlNIStatus(s->ni, PTL_SR_PERMISSION_VIOLATIONS, &perm);
  PtlNIStatus(s->ni, PTL_SR_DROP_COUNT, &drops);
  CHECK(op == 1 && perm == 1 && drops == 0);
}
TWO_SIDES(permissions_refuse_without_a_second_try, 0)

/* ---- unexpected messages ---------------------------------------------------------------------- */
static void unexpected_message_waits_for_its_entry_prepare(side *s) {
  append(s, entry(s->memory, 1000, 0, PUT_GET | QUIET | PTL_ME_MANAGE_LOCAL), PTL_OVERFLOW_LIST,
         (void *)1);
}
static void unexpected_message_waits_for_its_entry_send(side *s) {
  memcpy(s->memory, "abcdefgh", 8);
  put(s, 1, 8, PTL_ACK_REQ, 0, 0, 5);
  EXPECT(s, SEND);
  CHECK(EXPECT(s, ACK).ptl_list == PTL_OVERFLOW_LIST);
}
static void unexpected_message_waits_for_its_entry_look(side *s) {
  ptl_event_t e = EXPECT(s, PUT);
  CHECK(e.user_ptr == (void *)1 && e.ptl_list == PTL_OVERFLOW_LIST);
  const ptl_handle_me_t h = append(s, entry(s->memory + 2000, 100, 0, PUT_GET | PTL_ME_USE_ONCE),
                                   PTL_PRIORITY_LIST, (void *)9);
  e = EXPECT(s, PUT_OVERFLOW);
  CHECK(e.user_ptr == (void *)9 && e.start == s->memory && e.mlength == 8 && e.hdr_data == 5 &&
        e.initiator.phys.nid == 0);
  CHECK(memcmp(e.start, "abcdefgh", 8) == 0 && s->memory[2000] == 0); /* Portals copies nothing */
  CHECK(EXPECT(s, AUTO_UNLINK).user_ptr == (void *)9);
  EXPECT_NOTHING(s);                        /* no LINK */
  CHECK(PtlMEUnlink(h) == PTL_ARG_INVALID); /* consumed at append */
}
TWO_SIDES(unexpected_message_waits_for_its_entry, 0)

static void persistent_entry_takes_all_headers_then_links_prepare(side *s) {
  append(
      s,
      entry(s->memory, 1000, 0, PUT_GET | QUIET | PTL_ME_MANAGE_LOCAL | PTL_ME_EVENT_COMM_DISABLE),
      PTL_OVERFLOW_LIST, NULL);
}
static void persistent_entry_takes_all_headers_then_links_send(side *s) {
  for (ptl_hdr_data_t i = 0; i < 3; i++) put(s, 1, 8, PTL_NO_ACK_REQ, 0, 0, i), EXPECT(s, SEND);
}
static void persistent_entry_takes_all_headers_then_links_look(side *s) {
  ptl_handle_me_t h = append(s, entry(s->memory + 2000, 100, 0, PUT_GET), PTL_PRIORITY_LIST, NULL);
  for (ptl_hdr_data_t i = 0; i < 3; i++)
    CHECK(EXPECT(s, PUT_OVERFLOW).hdr_data == i); /* order of arrival */
  EXPECT(s, LINK);
  CHECK(PtlMEUnlink(h) == PTL_OK && PtlMEUnlink(h) == PTL_ARG_INVALID);
  EXPECT_NOTHING(s);
}
TWO_SIDES(persistent_entry_takes_all_headers_then_links, 0)

static void auto_free_follows_the_last_header_prepare(side *s) {
  ptl_me_t me = entry(s->memory, 16, 0, PUT_GET | QUIET | PTL_ME_MANAGE_LOCAL);
  me.min_free = 1;
  append(s, me, PTL_OVERFLOW_LIST, (void *)1);
}
static void auto_free_follows_the_last_header_send(side *s) {
  for (int i = 0; i < 2; i++) put(s, 1, 8, PTL_NO_ACK_REQ, 0, 0, 0), EXPECT(s, SEND);
}
static void auto_free_follows_the_last_header_look(side *s) {
  EXPECT(s, PUT);
  EXPECT(s, PUT);
  EXPECT(s, AUTO_UNLINK);
  append(s, entry(s->memory + 2000, 100, 0, PUT_GET | PTL_ME_USE_ONCE), PTL_PRIORITY_LIST,
         (void *)9);
  EXPECT(s, PUT_OVERFLOW);
  EXPECT(s, AUTO_UNLINK);
  append(s, entry(s->memory + 2000, 100, 0, PUT_GET | PTL_ME_USE_ONCE), PTL_PRIORITY_LIST,
         (void *)9);
  EXPECT(s, PUT_OVERFLOW);
  CHECK(EXPECT(s, AUTO_FREE).user_ptr == (void *)1);
  CHECK(EXPECT(s, AUTO_UNLINK).user_ptr == (void *)9);
}
TWO_SIDES(auto_free_follows_the_last_header, 0)

static void entry_with_headers_is_in_use_prepare(side *s) {
  s->memory[4000] = 0;
  *(ptl_handle_me_t *)(void *)(s->memory + 4000) =
      append(s, entry(s->memory, 16, 0, PUT_GET | QUIET), PTL_OVERFLOW_LIST, NULL);
}
static void entry_with_headers_is_in_use_send(side *s) {
  put(s, 1, 8, PTL_NO_ACK_REQ, 0, 0, 0);
  EXPECT(s, SEND);
}
static void entry_with_headers_is_in_use_look(side *s) {
  const ptl_handle_me_t h = *(ptl_handle_me_t *)(void *)(s->memory + 4000);
  EXPECT(s, PUT);
  CHECK(PtlMEUnlink(h) == PTL_IN_USE);
  append(s, entry(s->memory, 16, 0, PUT_GET | PTL_ME_USE_ONCE), PTL_PRIORITY_LIST, NULL);
  EXPECT(s, PUT_OVERFLOW);
  EXPECT(s, AUTO_UNLINK);
  CHECK(PtlMEUnlink(h) == PTL_OK);
  EXPECT_NOTHING(s); /* no AUTO_FREE after Unlink */
}
TWO_SIDES(entry_with_headers_is_in_use, 0)

static void headers_can_be_left_out_prepare(side *s) {
  append(s, entry(s->memory, 16, 0, PUT_GET | QUIET | PTL_ME_UNEXPECTED_HDR_DISABLE),
         PTL_OVERFLOW_LIST, NULL);
}
static void headers_can_be_left_out_send(side *s) {
  put(s, 1, 8, PTL_NO_ACK_REQ, 0, 0, 0);
  EXPECT(s, SEND);
}
static void headers_can_be_left_out_look(side *s) {
  EXPECT(s, PUT);
  append(s, entry(s->memory, 16, 0, PUT_GET | PTL_ME_USE_ONCE), PTL_PRIORITY_LIST, NULL);
  EXPECT(s, LINK);
  EXPECT_NOTHING(s);
}
TWO_SIDES(headers_can_be_left_out, 0)

static void searches_look_or_take_prepare(side *s) {
  append(
      s,
      entry(s->memory, 1000, 0, PUT_GET | QUIET | PTL_ME_MANAGE_LOCAL | PTL_ME_EVENT_COMM_DISABLE),
      PTL_OVERFLOW_LIST, NULL);
}
static void searches_look_or_take_send(side *s) {
  for (ptl_hdr_data_t i = 0; i < 3; i++) put(s, 1, 8, PTL_NO_ACK_REQ, 0, 0, i), EXPECT(s, SEND);
}
static void searches_look_or_take_look(side *s) {
  ptl_me_t once = entry(NULL, 100, 0, PUT_GET | PTL_ME_USE_ONCE),
           all = entry(NULL, 100, 0, PUT_GET), none = entry(NULL, 100, 1, PUT_GET);
  CHECK(PtlMESearch(s->ni, s->pt, &once, PTL_SEARCH_ONLY, (void *)4) == PTL_OK);
  ptl_event_t e = EXPECT(s, SEARCH);
  CHECK(e.ni_fail_type == PTL_NI_OK && e.user_ptr == (void *)4 && e.hdr_data == 0 &&
        e.mlength == 8 && e.ptl_list == PTL_OVERFLOW_LIST);
  CHECK(PtlMESearch(s->ni, s->pt, &all, PTL_SEARCH_ONLY, NULL) == PTL_OK);
  for (ptl_hdr_data_t i = 0; i < 3; i++) CHECK(EXPECT(s, SEARCH).hdr_data == i);
  CHECK(PtlMESearch(s->ni, s->pt, &once, PTL_SEARCH_DELETE, (void *)5) == PTL_OK);
  e = EXPECT(s, PUT_OVERFLOW);
  CHECK(e.hdr_data == 0 && e.user_ptr == (void *)5);
  CHECK(PtlMESearch(s->ni, s->pt, &none, PTL_SEARCH_DELETE, (void *)6) == PTL_OK);
  e = EXPECT(s, SEARCH);
  CHECK(e.ni_fail_type == PTL_NI_NO_MATCH && e.user_ptr == (void *)6);
  CHECK(PtlMESearch(s->ni, s->pt, &all, PTL_SEARCH_DELETE, NULL) == PTL_OK);
  CHECK(EXPECT(s, PUT_OVERFLOW).hdr_data == 1);
  CHECK(EXPECT(s, PUT_OVERFLOW).hdr_data == 2);
  CHECK(PtlMESearch(s->ni, s->pt, &once, PTL_SEARCH_ONLY, NULL) == PTL_OK);
  CHECK(EXPECT(s, SEARCH).ni_fail_type == PTL_NI_NO_MATCH);
  ptl_sr_value_t drops = 1;
  CHECK(PtlNIStatus(s->ni, PTL_SR_DROP_COUNT, &drops) == PTL_OK && drops == 0);
  EXPECT_NOTHING(s);
}
TWO_SIDES(searches_look_or_take, 0)

static void searches_count_prepare(side *s) {
  append(
      s,
      entry(s->memory, 1000, 0, PUT_GET | QUIET | PTL_ME_MANAGE_LOCAL | PTL_ME_EVENT_COMM_DISABLE),
      PTL_OVERFLOW_LIST, NULL);
}
static void searches_count_send(side *s) {
  for (int i = 0; i < 3; i++) put(s, 1, 8, PTL_NO_ACK_REQ, 0, 0, 0), EXPECT(s, SEND);
}
static void searches_count_look(side *s) {
  ptl_me_t me = entry(NULL, 100, 0, PUT_GET | PTL_ME_EVENT_CT_OVERFLOW | PTL_ME_USE_ONCE);
  ptl_ct_event_t count;
  me.ct_handle = s->ct;
  PtlMESearch(s->ni, s->pt, &me, PTL_SEARCH_DELETE, NULL); /* one found: success 1 */
  CHECK(PtlCTWait(s->ct, 1, &count) == PTL_OK && count.success == 1 && count.failure == 0);
  me.options &= ~PTL_ME_USE_ONCE;
  PtlMESearch(s->ni, s->pt, &me, PTL_SEARCH_DELETE, NULL); /* two found, then the end */
  CHECK(PtlCTWait(s->ct, 3, &count) == PTL_OK && count.success == 3 && count.failure == 1);
}
TWO_SIDES(searches_count, 0)

/* ---- flow control ----------------------------------------------------------------------------- */
static void flow_control_disables_the_portal_once_prepare(side *s) {
  append(s, entry(s->memory, 100, 1, PUT_GET | QUIET | PTL_ME_USE_ONCE), PTL_PRIORITY_LIST, NULL);
}
static void flow_control_disables_the_portal_once_send(side *s) {
  for (int i = 0; i < 3; i++) put(s, 1, 8, PTL_ACK_REQ, 1, 0, 0);
  int fails[8] = {0}, sends = 0;
  for (int i = 0; i < 6; i++) {
    ptl_event_t e;
    CHECK(PtlEQWait(s->eq, &e) == PTL_OK);
    if (e.type == PTL_EVENT_ACK)
      fails[e.ni_fail_type]++;
    else
      sends += e.type == PTL_EVENT_SEND && e.ni_fail_type == PTL_NI_OK;
  }
  CHECK(sends == 3 && fails[PTL_NI_OK] == 1 && fails[PTL_NI_PT_DISABLED] == 2);
}
static void flow_control_disables_the_portal_once_look(side *s) {
  EXPECT(s, PUT);
  EXPECT(s, AUTO_UNLINK);
  const ptl_event_t e = EXPECT(s, PT_DISABLED);
  CHECK(e.ni_fail_type == PTL_NI_PT_DISABLED && e.pt_index == 3);
  EXPECT_NOTHING(s);
  CHECK(PtlPTEnable(s->ni, s->pt) == PTL_OK && PtlPTEnable(s->ni, 9) == PTL_ARG_INVALID);
}
TWO_SIDES(flow_control_disables_the_portal_once, PTL_PT_FLOWCTRL)

static void full_queue_body(void *unused) {
  side s_, *s = &s_;
  (void)unused;
  side_open(s, PTL_NI_MATCHING, 0, PTL_MD_EVENT_SEND_DISABLE);
  ptl_handle_eq_t small = PTL_EQ_NONE;
  ptl_pt_index_t pt = 0;
  if (pm_rank() == 1) {
    ptl_me_t me = entry(s->memory, 100, 1, PUT_GET | QUIET);
    ptl_handle_me_t h;
    CHECK(PtlEQAlloc(s->ni, 4, &small) == PTL_OK);
    CHECK(PtlPTAlloc(s->ni, PTL_PT_FLOWCTRL, small, 8, &pt) == PTL_OK);
    CHECK(PtlMEAppend(s->ni, pt, &me, PTL_PRIORITY_LIST, NULL, &h) == PTL_OK);
  }
  pm_barrier();
  if (pm_rank() == 0)
    for (int i = 0; i < 10; i++)
      CHECK(PtlPut(s->md, 0, 8, PTL_NO_ACK_REQ, pm_process_id(1), 8, 1, 0, NULL, 0) == PTL_OK);
  pm_sleep_ns(100000);
  pm_barrier();
  if (pm_rank() == 1) {
    ptl_event_t e;
    int puts = 0, code;
    while ((code = PtlEQGet(small, &e)) == PTL_OK && e.type == PTL_EVENT_PUT) puts++;
    CHECK(code == PTL_OK && e.type == PTL_EVENT_PT_DISABLED && puts >= 1 &&
          puts <= 4); /* nothing was lost */
    CHECK(PtlEQGet(small, &e) == PTL_EQ_EMPTY);
  }
  side_close(s);
}
static void full_queue_triggers_flow_control_and_loses_nothing(void) {
  run_world(2, full_queue_body, NULL);
}

static void disabled_portal_refuses_prepare(side *s) {
  append(s, entry(s->memory, 100, 1, PUT_GET | QUIET), PTL_PRIORITY_LIST, NULL);
  CHECK(PtlPTDisable(s->ni, s->pt) == PTL_OK);
}
static void disabled_portal_refuses_send(side *s) {
  put(s, 1, 8, PTL_ACK_REQ, 1, 0, 0);
  EXPECT(s, SEND);
  CHECK(EXPECT(s, ACK).ni_fail_type == PTL_NI_PT_DISABLED);
  CHECK(PtlPut(s->md, 0, 8, PTL_ACK_REQ, pm_process_id(1), 77, 1, 0, NULL, 0) ==
        PTL_OK); /* no such portal */
  EXPECT(s, SEND);
  CHECK(EXPECT(s, ACK).ni_fail_type == PTL_NI_DROPPED);
}
static void disabled_portal_refuses_look(side *s) { EXPECT_NOTHING(s); }
TWO_SIDES(disabled_portal_refuses, 0)

/* ---- options that mute ------------------------------------------------------------------------ */
static void options_of_entries_mute_events_not_counters_prepare(side *s) {
  ptl_me_t me = entry(s->memory, 100, 1,
                      PUT_GET | PTL_ME_EVENT_LINK_DISABLE | PTL_ME_EVENT_SUCCESS_DISABLE |
                          PTL_ME_EVENT_CT_COMM | PTL_ME_EVENT_CT_BYTES | PTL_ME_USE_ONCE);
  me.ct_handle = s->ct;
  append(s, me, PTL_PRIORITY_LIST, NULL);
}
static void options_of_entries_mute_events_not_counters_send(side *s) {
  put(s, 1, 8, PTL_NO_ACK_REQ, 1, 96, 0);
  EXPECT(s, SEND);
}
static void options_of_entries_mute_events_not_counters_look(side *s) {
  EXPECT(s, AUTO_UNLINK);
  EXPECT_NOTHING(s);
  CHECK(count_of(s->ct).success == 4); /* mlength */
}
TWO_SIDES(options_of_entries_mute_events_not_counters, 0)
static void ack_can_be_switched_off_at_the_target_prepare(side *s) {
  append(s, entry(s->memory, 100, 1, PUT_GET | QUIET | PTL_ME_ACK_DISABLE), PTL_PRIORITY_LIST,
         NULL);
}
static void ack_can_be_switched_off_at_the_target_send(side *s) {
  put(s, 1, 8, PTL_ACK_REQ, 1, 0, 0);
  EXPECT(s, SEND);
  EXPECT_NOTHING(s);
  CHECK(PtlMDRelease(s->md) == PTL_OK);
}
static void ack_can_be_switched_off_at_the_target_look(side *s) { EXPECT(s, PUT); }
TWO_SIDES(ack_can_be_switched_off_at_the_target, 0)

static void nonmatching_body(void *unused) {
  static unsigned char heap[2][64];
  side s_, *s = &s_;
  (void)unused;
  side_open(s, PTL_NI_NO_MATCHING, 0, 0);
  ptl_le_t le = {heap[pm_rank()], 64, PTL_CT_NONE, PTL_UID_ANY, PTL_LE_OP_PUT | PTL_LE_OP_GET};
  ptl_handle_le_t h;
  ptl_me_t me = entry(s->memory, 8, 0, PUT_GET);
  CHECK(PtlMEAppend(s->ni, s->pt, &me, PTL_PRIORITY_LIST, NULL, &h) == PTL_ARG_INVALID);
  CHECK(PtlLEAppend(s->ni, s->pt, &le, PTL_PRIORITY_LIST, NULL, &h) == PTL_OK);
  EXPECT(s, LINK);
  pm_barrier();
  if (pm_rank() == 0) {
    s->memory[0] = 9;
    put(s, 1, 1, PTL_ACK_REQ, 12345, 63, 0); /* match bits mean nothing */
    EXPECT(s, SEND);
    EXPECT(s, ACK);
    CHECK(heap[1][63] == 9);
  }
  pm_sleep_ns(10000);
  pm_barrier();
  CHECK(PtlLEUnlink(h) == PTL_OK);
  side_close(s);
}
static void first_entry_serves_all_on_a_nonmatching_interface(void) {
  run_world(2, nonmatching_body, NULL);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(priority_list_is_searched_first_then_overflow);
  RUN(ignore_bits_and_ids_select);
  RUN(truncation_is_a_success_and_no_truncate_passes_on);
  RUN(local_offset_advances_and_min_free_unlinks);
  RUN(use_once_serves_one_message);
  RUN(permissions_refuse_without_a_second_try);
  RUN(unexpected_message_waits_for_its_entry);
  RUN(persistent_entry_takes_all_headers_then_links);
  RUN(auto_free_follows_the_last_header);
  RUN(entry_with_headers_is_in_use);
  RUN(headers_can_be_left_out);
  RUN(searches_look_or_take);
  RUN(searches_count);
  RUN(flow_control_disables_the_portal_once);
  RUN(full_queue_triggers_flow_control_and_loses_nothing);
  RUN(disabled_portal_refuses);
  RUN(options_of_entries_mute_events_not_counters);
  RUN(ack_can_be_switched_off_at_the_target);
  RUN(first_entry_serves_all_on_a_nonmatching_interface);
  return TEST_END();
}
