/* Threads that run ahead: the same times, steps and payload as without, whatever the program, machine and
   level; fewer changes of context; what cannot be a step takes place at once. */
#include "tests/model/pieces.h"
#include "tests/model/ptl.h"

enum { MOST = 9, ROUNDS = 24, ROOM = 20000, CHAIN = 3 };
typedef struct peer {
  ptl_handle_ni_t ni;
  ptl_handle_eq_t eq;
  ptl_handle_md_t md;
  ptl_pt_index_t pt;
  unsigned char in[CHAIN][ROOM], out[ROOM], early[4 * CHAIN * ROOM];
  int round, posted, events; /* of this round */
  bool is_over;
  uint64_t told;                      /* what it saw and when, as a number */
} peer;
static peer *peers;
static bool is_ahead;
static uint64_t plan;       /* what all processes do, drawn from it */
static unsigned left_every; /* each so many events are left to the caller */
static int ahead_count;     /* processes that could */

static uint64_t drawn(int round, int k, int what) {
  uint64_t state = plan ^ ((uint64_t)round << 32 | (uint64_t)k << 16 | (uint64_t)what);
  return nbc__random(&state);
}
static void tell(peer *s, uint64_t value) { s->told = (s->told ^ value) * 0x100000001B3u; }
static uint64_t bytes_of(int round, int k) {
  const uint64_t most[] = {64, 600, 3000, ROOM};
  return drawn(round, k, 1) % most[drawn(round, k, 2) % 4];
}
/* Message k of the round: its receive and its send, in one order or the other. */
static void post(peer *s, int k) {
  const int n = pm_size(), step = (int)(drawn(s->round, k, 3) % (uint64_t)n), me = pm_rank();
  const bool was_ahead = is_ahead && pm_run_ahead(true);
  ptl_handle_me_t h;
  ptl_me_t me_in = entry(s->in[k], ROOM, (uint64_t)s->round << 8 | (uint64_t)k,
                         PTL_ME_OP_PUT | PTL_ME_USE_ONCE | PTL_ME_EVENT_LINK_DISABLE | PTL_ME_EVENT_UNLINK_DISABLE);
  for (int i = 0; i < 2; i++) {
    if ((drawn(s->round, k, 4) ^ (uint64_t)i) & 1)
      CHECK(PtlMEAppend(s->ni, s->pt, &me_in, PTL_PRIORITY_LIST, s, &h) == PTL_OK);
    else
      CHECK(PtlPut(s->md, 0, bytes_of(s->round, k), PTL_NO_ACK_REQ, pm_process_id((me + step) % n), s->pt,
                   (uint64_t)s->round << 8 | (uint64_t)k, 0, s, (uint64_t)me) == PTL_OK);
    if (drawn(s->round, k, 5 + i) % 3 == 0) pm_sleep_ns((int64_t)(drawn(s->round, k, 7 + i) % 2000));
  }
  if (is_ahead) pm_run_ahead(was_ahead);
}
/* A message of the round is there or gone: the next one is posted, at the end it is over. */
static int take(peer *s, const ptl_event_t *e) {
  tell(s, (uint64_t)e->type << 32 | e->mlength);
  if (e->type == PTL_EVENT_PUT_OVERFLOW) {
    memcpy(s->in[e->match_bits & 0xFF], e->start, e->mlength);
    pm_sleep_ns((int64_t)(e->mlength / 10));
  }
  if (e->type == PTL_EVENT_PUT || e->type == PTL_EVENT_PUT_OVERFLOW) tell(s, s->in[e->match_bits & 0xFF][0]);
  s->events++;
  if (s->events % 2 == 0 && s->posted < CHAIN) post(s, s->posted++);
  if (s->events == 2 * CHAIN) s->is_over = 1;
  return 1;
}
static int handle(void *arg, const ptl_event_t *e) {
  peer *s = (peer *)arg;
  if (left_every && (unsigned)s->events % left_every == 0) return 0;
  return take(s, e);
}
static void body(void *unused) {
  peer *s = &peers[pm_rank()];
  ptl_event_t e;
  ptl_handle_me_t h;
  (void)unused;
  memset(s, 0, sizeof *s);
  CHECK(PtlInit() == PTL_OK);
  CHECK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &s->ni) == PTL_OK);
  CHECK(PtlEQAlloc(s->ni, 1000, &s->eq) == PTL_OK && PtlPTAlloc(s->ni, 0, s->eq, 0, &s->pt) == PTL_OK);
  const ptl_md_t md = {s->out, ROOM, 0, s->eq, PTL_CT_NONE};
  CHECK(PtlMDBind(s->ni, &md, &s->md) == PTL_OK);
  ptl_me_t early = entry(s->early, sizeof s->early, 0, PTL_ME_OP_PUT | PTL_ME_MANAGE_LOCAL | PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_LINK_DISABLE);
  early.ignore_bits = ~(ptl_match_bits_t)0;
  CHECK(PtlMEAppend(s->ni, s->pt, &early, PTL_OVERFLOW_LIST, NULL, &h) == PTL_OK);
  if (is_ahead) {
    ahead_count += !pm_run_ahead(true);
    ahead_count -= !pm_run_ahead(false);
  }
  pm_barrier();
  for (s->round = 0; s->round < ROUNDS; s->round++) {
    s->events = 0, s->is_over = false;
    s->posted = 1;
    memset(s->out, s->round + pm_rank(), sizeof s->out);
    post(s, 0);
    while (!s->is_over) {
      const int code = is_ahead ? pm_eq_serve(s->eq, &s->is_over, handle, s, &e) : PtlEQWait(s->eq, &e);
      CHECK(code == (s->is_over && is_ahead ? PTL_EQ_EMPTY : PTL_OK));
      if (code == PTL_OK) take(s, &e);
    }
    tell(s, (uint64_t)pm_now_ns());
    pm_barrier();
  }
  PtlFini();
}
typedef struct outcome {
  uint64_t told, hash_id, switch_count, event_count;
} outcome;
static outcome play(int n, bool with, const pm_world_desc *base) {
  outcome o = {0};
  is_ahead = with;
  ahead_count = 0;
  const pm_stats stats = run_world(n, body, base);
  o.hash_id = stats.hash_id;
  o.switch_count = stats.switch_count;
  o.event_count = stats.event_count;
  for (int i = 0; i < n; i++) o.told = (o.told ^ peers[i].told) * 0x100000001B3u;
  return o;
}
static bool same(int n, const pm_world_desc *base) {
  const outcome without = play(n, false, base), with = play(n, true, base);
  CHECK(with.told == without.told);
  CHECK(with.hash_id == without.hash_id);
  CHECK(with.event_count == without.event_count);
  return with.told == without.told && with.hash_id == without.hash_id;
}
static void random_programs_do_the_same(void) {
  const pm_link_model levels[] = {PM_LINK_FLOW, PM_LINK_LOGGP, PM_LINK_PACKET};
  for (int i = 0; i < test_rounds(40); i++) {
    const int n = 1 + (int)test_below(MOST);
    pm_platform p = pm_platform_bxi2(n);
    pm_world_desc desc = {0};
    desc.platform = &p;
    desc.link = levels[test_below(3)];
    desc.seed = test_rand();
    plan = test_rand();
    left_every = test_below(2) ? 1 + (unsigned)test_below(4) : 0;
    if (test_below(3) == 0) p.command_queue_count = 1, p.nic_pipeline_count = 1; /* commands wait for room */
    if (test_below(3) == 0) p.pio_bytes = 1000, p.pio_needs_volatile = 0, p.pio_is_posted = (int64_t)test_below(2);
    if (test_below(3) == 0) p.cpu_event_ns = 0;
    if (test_below(3) == 0) desc.call_noise_ns = 300;
    if (test_below(3) == 0) p.loggp_range_count = 1, p.loggp_range[0] = (pm_loggp_range){100, 700, 80, 60, 0.2, 0.1, 1, {{1, 1, 0.3}}};
    if (test_below(4) == 0) desc.faults.loss_ratio = desc.faults.delay_ratio = 0.05, desc.faults.delay_ns = 2000;
    if (!same(n, &desc))
      printf("  %d processes, level %d, plan %llu, left %u\n", n, (int)desc.link, (unsigned long long)plan, left_every);
    CHECK(ahead_count == n);
  }
}
static void context_changes_less_often(void) {
  plan = 1, left_every = 0;
  const outcome without = play(8, false, NULL), with = play(8, true, NULL);
  CHECK(with.switch_count * 2 < without.switch_count);
}
static void nothing(void *unused) { (void)unused; }
static int never(void *unused, const ptl_event_t *e) {
  (void)unused, (void)e;
  CHECK(0);
  return 0;
}
static int leaves_all(void *unused, const ptl_event_t *e) {
  (void)unused, (void)e;
  return 0;
}
static void limits_body(void *unused) {
  const bool over = true, not_yet = false;
  ptl_handle_me_t h;
  ptl_event_t e;
  side s;
  (void)unused;
  side_open(&s, PTL_NI_MATCHING, 0, 0);
  const int room = pm_append_room(s.ni, s.pt);
  const int64_t t_ns = pm_now_ns();
  CHECK(room > 0 && pm_append_room(s.ni, 99) == 0 && pm_append_room(PTL_INVALID_HANDLE, s.pt) == 0);
  CHECK(!pm_run_ahead(true));
  CHECK(pm_run_ahead(true)); /* it was so before */
  ptl_me_t me = entry(s.memory, 8, 1, PTL_ME_OP_PUT | PTL_ME_EVENT_LINK_DISABLE);
  for (int i = 0; i < 200; i++) CHECK(PtlMEAppend(s.ni, s.pt, &me, PTL_PRIORITY_LIST, NULL, &h) == PTL_OK); /* more than are kept */
  CHECK(pm_append_room(s.ni, s.pt) <= room - 200);
  me.options = ~0u;
  CHECK(PtlMEAppend(s.ni, s.pt, &me, PTL_PRIORITY_LIST, NULL, &h) == PTL_ARG_INVALID);
  pm_sleep_ns(500);
  CHECK(pm_run_ahead(false));
  pm_catch_up();
  CHECK(pm_now_ns() == t_ns + 500 + 200 * pm_platform_bxi2(1).cpu_append_ns);
  CHECK(pm_append_room(s.ni, s.pt) == room - 200);
  CHECK(pm_eq_serve(s.eq, &over, never, NULL, &e) == PTL_EQ_EMPTY);
  CHECK(pm_eq_serve(PTL_INVALID_HANDLE, &over, never, NULL, &e) == PTL_ARG_INVALID);
  pm_thread *t = pm_thread_create(nothing, NULL, 0);
  pm_run_ahead(true); /* with two threads nobody does */
  const int64_t t_two_ns = pm_now_ns();
  pm_sleep_ns(100);
  CHECK(pm_world_now_ns(pm_world_of(pm_self())) == t_two_ns + 100);
  pm_run_ahead(false);
  pm_thread_join(t);
  const ptl_hdr_data_t hdr = 7;
  me = entry(s.memory, 8, 2, PTL_ME_OP_PUT);
  CHECK(PtlMEAppend(s.ni, s.pt, &me, PTL_PRIORITY_LIST, NULL, &h) == PTL_OK);
  CHECK(put(&s, pm_rank(), 8, PTL_NO_ACK_REQ, 2, 0, hdr) == PTL_OK);
  for (int code = PTL_OK, seen = 0; !seen && code == PTL_OK; seen = e.type == PTL_EVENT_PUT) {
    code = pm_eq_serve(s.eq, &not_yet, leaves_all, NULL, &e);
    CHECK(code == PTL_OK);
  }
  CHECK(e.hdr_data == hdr);
  side_close(&s);
}
static void limits_are_kept_and_errors_told(void) {
  CHECK(!pm_run_ahead(true)); /* nobody runs */
  pm_catch_up();
  run_world(1, limits_body, NULL);
}
/* Appends ahead have their places: what a counter triggers before they take place finds no room. */
static void full_list_body(void *unused) {
  const ptl_ni_limits_t wanted = {.max_list_size = 3};
  ptl_ni_limits_t got;
  ptl_handle_me_t first, late, h;
  unsigned char memory[64];
  ptl_handle_ct_t ct;
  ptl_handle_ni_t ni;
  ptl_pt_index_t pt;
  (void)unused;
  CHECK(PtlInit() == PTL_OK && PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, &wanted, &got, &ni) == PTL_OK);
  CHECK(PtlCTAlloc(ni, &ct) == PTL_OK && PtlPTAlloc(ni, 0, PTL_EQ_NONE, 3, &pt) == PTL_OK && got.max_list_size == 3);
  ptl_me_t me = entry(memory, 8, 1, PTL_ME_OP_PUT | PTL_ME_EVENT_LINK_DISABLE | PTL_ME_EVENT_CT_COMM);
  me.ct_handle = ct;
  if (pm_rank() == 0) {
    CHECK(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, NULL, &first) == PTL_OK);
    CHECK(PtlTriggeredMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, NULL, &late, ct, 1) == PTL_OK);
  }
  pm_barrier();
  if (pm_rank() == 1) {
    const ptl_md_t d = {memory, 8, 0, PTL_EQ_NONE, PTL_CT_NONE};
    ptl_handle_md_t md;
    CHECK(PtlMDBind(ni, &d, &md) == PTL_OK);
    CHECK(PtlPut(md, 0, 8, PTL_NO_ACK_REQ, pm_process_id(0), pt, 1, 0, NULL, 0) == PTL_OK);
  } else {
    pm_run_ahead(true);
    pm_sleep_ns(100000); /* the put comes meanwhile */
    for (int i = 0; i < 2; i++) CHECK(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, NULL, &h) == PTL_OK);
    CHECK(pm_append_room(ni, pt) == 0);
    pm_run_ahead(false);
    pm_catch_up();
    CHECK(pm_append_room(ni, pt) == 0 && PtlMEUnlink(first) == PTL_OK);
    CHECK(pm_append_room(ni, pt) == 1); /* three were in it, not four */
  }
  pm_barrier();
  CHECK(PtlNIFini(ni) == PTL_OK);
  PtlFini();
}
static void appends_ahead_keep_their_places(void) { run_world(2, full_list_body, NULL); }
static void ends_body(void *unused) {
  static side sides[2]; /* what is put later is read later */
  side *s = &sides[pm_rank()];
  (void)unused;
  side_open(s, PTL_NI_MATCHING, 0, 0);
  pm_run_ahead(true);
  pm_sleep_ns(1000);
  put(s, 1 - pm_rank(), 8, PTL_NO_ACK_REQ, 2, 0, 0);
  pm_run_ahead(false); /* and returns, or leaves */
  if (pm_rank()) pm_exit(0);
}
static void what_is_ahead_of_the_end_takes_place(void) {
  const pm_stats stats = run_world(2, ends_body, NULL);
  CHECK(stats.message_count == 2);
}
/* A descriptor with PTL_MD_VOLATILE is read before PtlPut returns: what changes then does not travel. */
static void volatile_body(void *unused) {
  unsigned char word[64];
  ptl_handle_md_t h;
  ptl_event_t e;
  side s;
  (void)unused;
  side_open(&s, PTL_NI_MATCHING, 0, 0);
  append(&s, entry(s.memory, sizeof word, 2, PTL_ME_OP_PUT | PTL_ME_EVENT_LINK_DISABLE), PTL_PRIORITY_LIST, NULL);
  const ptl_md_t md = {word, sizeof word, PTL_MD_VOLATILE | PTL_MD_EVENT_SEND_DISABLE, s.eq, PTL_CT_NONE};
  CHECK(PtlMDBind(s.ni, &md, &h) == PTL_OK);
  pm_barrier();
  memset(word, 1, sizeof word);
  pm_run_ahead(true);
  pm_sleep_ns(1000);
  CHECK(PtlPut(h, 0, sizeof word, PTL_NO_ACK_REQ, pm_process_id(1 - pm_rank()), s.pt, 2, 0, NULL, 0) == PTL_OK);
  memset(word, 2, sizeof word);
  pm_run_ahead(false);
  do CHECK(PtlEQWait(s.eq, &e) == PTL_OK); while (e.type != PTL_EVENT_PUT);
  CHECK(s.memory[0] == 1 && s.memory[sizeof word - 1] == 1);
  pm_barrier();
  side_close(&s);
}
static void what_is_volatile_is_read_at_once(void) { run_world(2, volatile_body, NULL); }
static int exits_in_handler(void *unused, const ptl_event_t *e) {
  (void)unused, (void)e;
  pm_exit(3);
  return 1;
}
static void exits_body(void *unused) {
  const bool not_yet = false;
  ptl_event_t e;
  side s;
  (void)unused;
  side_open(&s, PTL_NI_MATCHING, 0, 0);
  pm_run_ahead(true);
  put(&s, 1 - pm_rank(), 8, PTL_NO_ACK_REQ, 2, 0, 0);
  pm_run_ahead(false);
  pm_eq_serve(s.eq, &not_yet, exits_in_handler, NULL, &e);
}
static void a_handler_that_ends_the_process_ends_the_run(void) {
#ifdef PM__ASAN
  SKIP("the address sanitizer reports crashes itself");
#endif
  pm_platform p = pm_platform_bxi2(2);
  pm_world_desc desc = {0};
  pm_world *w = NULL;
  desc.platform = &p;
  desc.catch_crashes = 1;
  CHECK(pm_world_create(&desc, &w) == PM_OK && pm_spawn_all(w, exits_body, NULL) == PM_OK);
  CHECK(pm_world_run(w) == PM_E_STATE && strstr(pm_world_error(w), "pm_exit"));
  pm_world_destroy(w);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  peers = (peer *)calloc(MOST, sizeof *peers);
  RUN(random_programs_do_the_same);
  RUN(context_changes_less_often);
  RUN(limits_are_kept_and_errors_told);
  RUN(appends_ahead_keep_their_places);
  RUN(what_is_ahead_of_the_end_takes_place);
  RUN(what_is_volatile_is_read_at_once);
  RUN(a_handler_that_ends_the_process_ends_the_run);
  free(peers);
  return TEST_END();
}
