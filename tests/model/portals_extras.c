/* BXI's extras: queues that call, descriptors to poll() for, activation hooks, events in words. */
#include "tests/model/ptl.h"
#include <poll.h>

enum { PUT_GET = PTL_ME_OP_PUT | PTL_ME_OP_GET };

/* ---- queues that call ------------------------------------------------------------------------------ */
enum { PUTS = 40 };
static struct seen {
  int calls, events, inside, dies;
  ptl_handle_eq_t eq;
  int64_t t_last_ns;
} seen;
static void take_all(void *arg, ptl_handle_eq_t eq) {
  struct seen *s = (struct seen *)arg;
  ptl_event_t e;
  s->calls++;
  CHECK(s->inside++ == 0 && eq == s->eq && pm_rank() == 1);
  while (PtlEQGet(eq, &e) == PTL_OK) {
    CHECK(e.type == PTL_EVENT_PUT && (int)e.hdr_data == s->events);
    s->events++;
    s->t_last_ns = pm_now_ns();
    if (s->events % 5 == 0) pm_sleep_ns(3000); /* more come meanwhile */
    if (s->events == s->dies) {
      CHECK(PtlEQFree(eq) == PTL_OK);
      break;
    }
  }
  s->inside--;
}
/* Rank 0 sends in bursts; rank 1 computes, and never looks. dies: the queue frees itself then. */
static void calls_body(void *unused) {
  side s;
  (void)unused;
  const ptl_me_t me = entry(s.memory, 8, 0, PUT_GET | PTL_ME_EVENT_LINK_DISABLE | PTL_ME_EVENT_UNLINK_DISABLE);
  side_open(&s, PTL_NI_MATCHING, 0, PTL_MD_EVENT_SEND_DISABLE);
  if (pm_rank() == 1) {
    CHECK(PtlPTFree(s.ni, s.pt) == PTL_OK);
    CHECK(PtlEQAllocAsync(s.ni, 64, &seen.eq, NULL, NULL, 0) == PTL_ARG_INVALID);
    CHECK(PtlEQAllocAsync(s.ni, 64, NULL, take_all, NULL, 0) == PTL_ARG_INVALID);
    CHECK(PtlEQAllocAsync(s.ni, 64, &seen.eq, take_all, &seen, 0) == PTL_OK);
    CHECK(PtlPTAlloc(s.ni, 0, seen.eq, 3, &s.pt) == PTL_OK);
    append(&s, me, PTL_PRIORITY_LIST, NULL);
  }
  pm_barrier();
  for (int i = 0; pm_rank() == 0 && i < PUTS; i++) {
    CHECK(put(&s, 1, 8, PTL_NO_ACK_REQ, 0, 0, (ptl_hdr_data_t)i) == PTL_OK);
    if (i % 8 == 7) pm_sleep_ns(100000);
  }
  if (pm_rank() == 1) {
    pm_compute_ns(10000000);
    CHECK(seen.inside == 0);
  }
  pm_barrier();
  if (pm_rank() == 0) side_close(&s);
  /* rank 1 just ends: neither the queue nor its thread keep it */
}
static void callbacks_take_every_event(void) {
  memset(&seen, 0, sizeof seen);
  run_world(2, calls_body, NULL);
  CHECK(seen.events == PUTS && seen.calls >= PUTS / 8 && seen.calls <= PUTS && seen.t_last_ns < 1000000);
}
/* Work is handed to the callback's thread without an event: at once, in its own time. */
static void counts_calls(void *arg, ptl_handle_eq_t eq) {
  ptl_event_t e;
  CHECK(PtlEQGet(eq, &e) == PTL_EQ_EMPTY);
  pm_sleep_ns(5000);
  ++*(int *)arg;
}
static void hands_over(void *unused) {
  side s;
  ptl_handle_eq_t eq;
  int calls = 0;
  (void)unused;
  CHECK(pm_eq_call(PTL_EQ_NONE) == PTL_NO_INIT);
  side_open(&s, PTL_NI_MATCHING, 0, PTL_MD_EVENT_SEND_DISABLE);
  CHECK(pm_eq_call(s.eq) == PTL_ARG_INVALID && pm_eq_call(PTL_EQ_NONE) == PTL_ARG_INVALID);
  CHECK(PtlEQAllocAsync(s.ni, 8, &eq, counts_calls, &calls, 0) == PTL_OK);
  const int64_t t_ns = pm_now_ns();
  CHECK(pm_eq_call(eq) == PTL_OK && pm_now_ns() - t_ns < 5000 && calls == 0);
  pm_compute_ns(10000);
  CHECK(calls == 1);
  CHECK(pm_eq_call(eq) == PTL_OK && pm_eq_call(eq) == PTL_OK); /* the second before the first is taken up */
  pm_compute_ns(20000);
  CHECK(calls >= 2 && calls <= 3);
  const int before = calls;
  CHECK(PtlEQFree(eq) == PTL_OK && pm_eq_call(eq) == PTL_ARG_INVALID);
  pm_compute_ns(20000);
  CHECK(calls == before);
  side_close(&s);
}
static void work_is_handed_to_a_callback(void) { run_world(1, hands_over, NULL); }
static void callback_may_free_its_queue(void) {
  for (int dies = 1; dies <= PUTS; dies += 6) {
    memset(&seen, 0, sizeof seen);
    seen.dies = dies;
    run_world(2, calls_body, NULL);
    CHECK(seen.events == dies);
  }
}
/* Many queues of one interface: each event is told once, to its own queue. */
enum { QUEUES = 12 };
static int told[QUEUES];
static ptl_handle_eq_t queues[QUEUES];
static void take_one(void *arg, ptl_handle_eq_t eq) {
  const int k = *(int *)arg;
  ptl_event_t e;
  CHECK(eq == queues[k] && PtlEQGet(eq, &e) == PTL_OK && (int)e.hdr_data == k);
  told[k]++;
  if (PtlEQGet(eq, &e) == PTL_OK) told[k]++;
}
static void many_body(void *unused) {
  static int number[QUEUES];
  side s;
  (void)unused;
  side_open(&s, PTL_NI_MATCHING, 0, PTL_MD_EVENT_SEND_DISABLE);
  for (int k = 0; pm_rank() == 1 && k < QUEUES; k++) {
    ptl_pt_index_t pt;
    ptl_me_t me = entry(s.memory, 8, 0, PUT_GET | PTL_ME_EVENT_LINK_DISABLE);
    ptl_handle_me_t h;
    number[k] = k;
    CHECK(PtlEQAllocAsync(s.ni, 8, &queues[k], take_one, &number[k], 1) == PTL_OK);
    CHECK(PtlPTAlloc(s.ni, 0, queues[k], (ptl_pt_index_t)(10 + k), &pt) == PTL_OK);
    CHECK(PtlMEAppend(s.ni, pt, &me, PTL_PRIORITY_LIST, NULL, &h) == PTL_OK);
  }
  pm_barrier();
  for (int i = 0; pm_rank() == 0 && i < 2 * QUEUES; i++)
    CHECK(PtlPut(s.md, 0, 8, PTL_NO_ACK_REQ, pm_process_id(1), (ptl_pt_index_t)(10 + i * 5 % QUEUES), 0, 0, NULL, (ptl_hdr_data_t)(i * 5 % QUEUES)) == PTL_OK);
  pm_sleep_ns(1000000);
  pm_barrier();
  side_close(&s);
}
static void queues_are_told_apart(void) {
  memset(told, 0, sizeof told);
  run_world(2, many_body, NULL);
  for (int k = 0; k < QUEUES; k++) CHECK(told[k] == 2);
}

/* ---- descriptors ------------------------------------------------------------------------------------- */
static void polls_body(void *unused) {
  side s;
  struct pollfd fds[2] = {{-1, 0, 0}, {-1, 0, 0}};
  (void)unused;
  side_open(&s, PTL_NI_MATCHING, 0, PTL_MD_EVENT_SEND_DISABLE);
  if (pm_rank() == 1) {
    append(&s, entry(s.memory, 8, 0, PUT_GET), PTL_PRIORITY_LIST, NULL); /* makes an event at once */
    CHECK(PtlNFDs(s.eq) == -1 && PtlPollFDs(s.eq, fds, POLLIN) == -1 && PtlPollFDs(s.ni, NULL, POLLIN) == -1 && PtlPollEvents(s.ni, fds) == 0);
    CHECK(PtlNFDs(s.ni) == 1 && PtlPollFDs(s.ni, fds, POLLIN | POLLOUT) == 1 && fds[0].fd >= 0 && fds[0].events == POLLIN && fds[1].fd == -1);
    CHECK(poll(fds, 1, 0) == 1 && PtlPollEvents(s.ni, fds) == POLLIN); /* the event was there before */
    EXPECT(&s, LINK);
    CHECK(PtlPollEvents(s.ni, fds) == 0 && poll(fds, 1, 0) == 0);
  }
  pm_barrier();
  for (int i = 0; pm_rank() == 0 && i < 3; i++) CHECK(put(&s, 1, 8, PTL_NO_ACK_REQ, 0, 0, (ptl_hdr_data_t)i) == PTL_OK);
  for (int i = 0; pm_rank() == 1 && i < 3; i++) {
    while (poll(fds, 1, 0) == 0) pm_yield();
    CHECK(PtlPollEvents(s.ni, fds) == POLLIN);
    CHECK((int)EXPECT(&s, PUT).hdr_data == i);
  }
  if (pm_rank() == 1) CHECK(PtlPollEvents(s.ni, fds) == 0 && poll(fds, 1, 0) == 0);
  pm_barrier();
  side_close(&s);
  if (pm_rank() == 1) CHECK(poll(fds, 1, 0) == 1 && (fds[0].revents & POLLNVAL)); /* closed with its interface */
}
static void descriptor_is_readable_while_there_are_events(void) { run_world(2, polls_body, NULL); }

/* ---- hooks, words ------------------------------------------------------------------------------------- */
static void activated(void *arg, unsigned int nic, int what) {
  CHECK(nic == 0 && what == 1);
  ++*(int *)arg;
}
static void words_body(void *unused) {
  side s;
  int activations = 0;
  char text[PTL_EV_STR_SIZE];
  ptl_activate_hook_t hooks[9];
  (void)unused;
  CHECK(PtlActivateHookAdd(activated, &activations, &hooks[0]) == PTL_NO_INIT && PtlNFDs(0) == -1);
  side_open(&s, PTL_NI_MATCHING, 0, 0);
  CHECK(PtlActivateHookAdd(NULL, NULL, &hooks[0]) == PTL_ARG_INVALID && PtlActivateHookAdd(activated, NULL, NULL) == PTL_ARG_INVALID);
  for (int i = 0; i < 8; i++) CHECK(PtlActivateHookAdd(activated, &activations, &hooks[i]) == PTL_OK && activations == i + 1);
  CHECK(PtlActivateHookAdd(activated, &activations, &hooks[8]) == PTL_NO_SPACE);
  CHECK(PtlActivateHookRemove(hooks[3]) == PTL_OK && PtlActivateHookRemove(hooks[3]) == PTL_ARG_INVALID && PtlActivateHookRemove(NULL) == PTL_ARG_INVALID);
  CHECK(PtlActivateHookAdd(activated, &activations, &hooks[8]) == PTL_OK && hooks[8] == hooks[3]);

  append(&s, entry(s.memory, 8, 0, PUT_GET), PTL_PRIORITY_LIST, NULL);
  CHECK(put(&s, 0, 100, PTL_ACK_REQ, 0, 0, 0) == PTL_OK);
  static const char *const words[] = {"LINK OK pt 3", "SEND OK mlength 100", "PUT OK mlength 8 pt 3 from 0:1 rlength 100", "ACK OK mlength 8"};
  int found = 0;
  for (int i = 0; i < 4; i++) {
    ptl_event_t e;
    CHECK(PtlEQWait(s.eq, &e) == PTL_OK && PtlEvToStr(PTL_NI_PHYSICAL, &e, text) == PTL_OK);
    for (int k = 0; k < 4; k++)
      if (!strncmp(text, words[k], strcspn(words[k], ":"))) found |= 1 << k;
  }
  CHECK(found == 15);
  ptl_event_t e;
  memset(&e, 0xFF, sizeof e); /* nonsense is cut, not followed */
  CHECK(PtlEvToStr(0, &e, text) == PTL_OK && strlen(text) < PTL_EV_STR_SIZE && strstr(text, "?"));
  memset(&e, 0, sizeof e);
  e.type = PTL_EVENT_GET, e.ni_fail_type = PTL_NI_NO_MATCH, e.initiator.rank = 7;
  CHECK(PtlEvToStr(PTL_NI_MATCHING | PTL_NI_LOGICAL, &e, text) == PTL_OK);
  CHECK_STR(text, "GET NO_MATCH mlength 0 pt 0 from 7");
  CHECK(PtlEvToStr(0, NULL, text) == PTL_ARG_INVALID && PtlEvToStr(0, &e, NULL) == PTL_ARG_INVALID);
  side_close(&s);
}
static void events_become_words_and_hooks_are_called_once(void) { run_world(1, words_body, NULL); }

/* ---- what a wait costs -------------------------------------------------------------------------- */
static int64_t t_end_ns[2];
static void waits_body(void *unused) {
  (void)unused;
  static side sides[3];
  side *s = &sides[pm_rank()];
  ptl_ct_event_t v;
  side_open(s, PTL_NI_MATCHING, 0, PTL_MD_EVENT_SEND_DISABLE);
  ptl_me_t me = entry(s->memory, 64, 0, PTL_ME_OP_PUT | PTL_ME_EVENT_LINK_DISABLE | PTL_ME_EVENT_CT_COMM);
  me.ct_handle = s->ct;
  append(s, me, PTL_PRIORITY_LIST, NULL);
  pm_barrier();
  if (pm_rank() == 0) {
    CHECK(put(s, 1, 8, PTL_NO_ACK_REQ, 0, 0, 1) == PTL_OK);
    pm_sleep_ns(100000);
    CHECK(put(s, 1, 8, PTL_NO_ACK_REQ, 0, 0, 2) == PTL_OK);
  } else if (pm_rank() == 1) {
    EXPECT(s, PUT);
    t_end_ns[0] = pm_now_ns();
    CHECK(PtlCTWait(s->ct, 2, &v) == PTL_OK && v.success == 2);
    t_end_ns[1] = pm_now_ns();
  } else /* meanwhile something happens all the time */
    for (int i = 0; i < 20000; i++) pm_sleep_ns(7);
  pm_barrier();
  side_close(s);
}
static void each_wait_pays_once_for_its_event(void) {
  int64_t first_ns[2];
  for (int i = 0; i < 2; i++) {
    pm_platform p = pm_platform_bxi2(3);
    pm_world_desc desc = {0};
    desc.platform = &p;
    p.cpu_event_ns += 1000 * i;
    run_world(3, waits_body, &desc);
    if (i == 0) memcpy(first_ns, t_end_ns, sizeof first_ns);
  }
  for (int i = 0; i < 2; i++) CHECK(t_end_ns[i] - first_ns[i] == 1000);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(callbacks_take_every_event);
  RUN(work_is_handed_to_a_callback);
  RUN(callback_may_free_its_queue);
  RUN(queues_are_told_apart);
  RUN(descriptor_is_readable_while_there_are_events);
  RUN(events_become_words_and_hooks_are_called_once);
  RUN(each_wait_pays_once_for_its_event);
  return TEST_END();
}
