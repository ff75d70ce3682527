/* Nodes whose processes stand still, die and begin anew: what happens to them, and to the operations of others, at all
   levels that know outages. */
#include "tests/model/pieces.h"
#include "tests/model/ptl.h"

static const pm_link_model levels[] = {PM_LINK_FLOW, PM_LINK_LOGGP, PM_LINK_PACKET};
enum { LEVELS = 3, RETRY_NS = 10000, RETRIES = 5 };
static pm_platform two_nodes(void) {
  pm_platform p = pm_platform_bxi2(2);
  p.e2e_retry_ns = RETRY_NS, p.e2e_retry_count = RETRIES;
  return p;
}
static pm_world *world;
static pm_status run(const pm_platform *p, const pm_outage *o, int count, pm_link_model link, void (*body)(void *), void (*died)(void *, pm_process *)) {
  const pm_world_desc desc = {.platform = p, .link = link, .faults = {.outages = o, .outage_count = count}, .died = died};
  CHECK(pm_world_create(&desc, &world) == PM_OK && pm_spawn_all(world, body, NULL) == PM_OK);
  return pm_world_run(world);
}
/* ---- standing still ------------------------------------------------------------------------------ */
static int64_t t_computed_ns, t_slept_ns, t_ack_ns;
static unsigned char room[2][200000];
typedef struct place {
  ptl_handle_ni_t ni;
  ptl_handle_eq_t eq;
  ptl_handle_md_t md;
  ptl_pt_index_t pt;
} place;
static void open_place(place *s) {
  ptl_handle_me_t h;
  CHECK(!PtlInit() && !PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &s->ni));
  CHECK(!PtlEQAlloc(s->ni, 1000, &s->eq) && !PtlPTAlloc(s->ni, 0, PTL_EQ_NONE, 0, &s->pt));
  ptl_me_t m = entry(room[1], sizeof room[1], 0, PTL_ME_OP_PUT | PTL_ME_OP_GET | PTL_ME_EVENT_LINK_DISABLE);
  CHECK(!PtlMEAppend(s->ni, s->pt, &m, PTL_PRIORITY_LIST, NULL, &h));
  const ptl_md_t d = {room[0], sizeof room[0], PTL_MD_EVENT_SEND_DISABLE, s->eq, PTL_CT_NONE};
  CHECK(!PtlMDBind(s->ni, &d, &s->md));
}
/* One put that is acknowledged: how it ends. */
static int put_ends(const place *s, size_t bytes) {
  ptl_event_t e;
  memset(&e, 0, sizeof e);
  CHECK(!PtlPut(s->md, 0, bytes, PTL_ACK_REQ, pm_process_id(1), s->pt, 0, 0, NULL, 0));
  CHECK(!PtlEQWait(s->eq, &e) && e.type == PTL_EVENT_ACK);
  t_ack_ns = pm_now_ns();
  return e.ni_fail_type;
}
static void stands_still(void *unused) {
  place s;
  (void)unused;
  open_place(&s);
  pm_barrier();
  const int64_t t_ns = pm_now_ns();
  if (pm_rank() == 0) {
    pm_sleep_ns(50000 - t_ns);
    CHECK(put_ends(&s, 100) == PTL_NI_OK);
    return;
  }
  pm_sleep_ns(30000 - t_ns);
  pm_compute_ns(20000); /* it stands still from 40 to 140 us */
  t_computed_ns = pm_now_ns();
  pm_sleep_ns(200000 - t_computed_ns);
  t_slept_ns = pm_now_ns();
  pm_sleep_ns(50000); /* over it a second time */
  CHECK(pm_now_ns() == 300000);
}
static void what_stands_still_goes_on_later(void) {
  for (int level = 0; level < LEVELS; level++)
    for (int shared = 0; shared < 2; shared++)
      for (int kind = PM_OUTAGE_STOP; kind <= PM_OUTAGE_FREEZE; kind++) {
        pm_platform p = two_nodes();
        const pm_outage o[] = {{2, 0, 40000, 100000, (pm_outage_kind)kind}, {2, 0, 220000, 80000, (pm_outage_kind)kind}};
        p.cores_are_shared = shared, p.e2e_retry_count = 20;
        CHECK(run(&p, o, 2, levels[level], stands_still, NULL) == PM_OK);
        CHECK(t_computed_ns == 150000 && t_slept_ns == 200000);
        if (kind == PM_OUTAGE_STOP) CHECK(t_ack_ns < 60000); /* the NIC goes on */
        else CHECK(t_ack_ns > 140000 && t_ack_ns < 155000 && pm_world_stats(world).lost_count == 9); /* from 50 us on, each 10 us */
        pm_world_destroy(world);
      }
}
/* ---- dying --------------------------------------------------------------------------------------- */
static int died_count, ends[2], lives_seen;
static void one_died(void *unused, pm_process *p) {
  (void)unused;
  died_count++;
  CHECK(pm_process_rank(p) == 1 && pm_process_is_dead(p) && pm_process_status(p) == PM_STATUS_DIED && !pm_self());
}
static size_t put_bytes;
static int64_t t_second_ns;
static void dies(void *unused) {
  place s;
  (void)unused;
  open_place(&s);
  if (pm_rank() == 1) {
    lives_seen |= 1 << pm_process_restart_count(pm_self());
    pm_sleep_ns(pm_process_restart_count(pm_self()) ? 10 : 1000000000);
    if (pm_process_restart_count(pm_self())) pm_sleep_ns(1000000); /* its interface stays open */
    return;
  }
  pm_sleep_ns(39000 - pm_now_ns()); /* it dies at 40 us */
  ends[0] = put_ends(&s, put_bytes);
  t_second_ns = t_ack_ns;
  ends[1] = put_ends(&s, 8);
}
static void messages_to_the_dead_end_as_stated(void) {
  for (int level = 0; level < LEVELS; level++)
    for (put_bytes = 100; put_bytes <= 100000; put_bytes *= 1000) {
      pm_platform p = two_nodes();
      /* 1000 ns of latency: at 40 us the message is on the way */
      pm_outage o = {2, 0, 39300, 0, PM_OUTAGE_CRASH};
      died_count = lives_seen = 0;
      CHECK(run(&p, &o, 1, levels[level], dies, one_died) == PM_OK);
      CHECK(died_count == 1 && lives_seen == 1 && ends[0] == PTL_NI_UNDELIVERABLE && ends[1] == PTL_NI_UNDELIVERABLE);
      /* each is sent once, and five times more */
      CHECK(t_second_ns > 39000 + RETRIES * RETRY_NS && t_second_ns < 39000 + (RETRIES + 3) * RETRY_NS);
      CHECK(t_ack_ns - t_second_ns >= (RETRIES + 1) * RETRY_NS && t_ack_ns - t_second_ns < (RETRIES + 2) * RETRY_NS);
      CHECK(pm_process_is_dead(pm_process_at(world, 1)) && pm_process_status(pm_process_at(world, 1)) == 137);
      pm_world_destroy(world);
      /* there again after 25 us, without the process: refused by the NIC, which knows no interface */
      o.d_down_ns = 25000;
      CHECK(run(&p, &o, 1, levels[level], dies, one_died) == PM_OK);
      CHECK(ends[0] == PTL_NI_UNDELIVERABLE && ends[1] == PTL_NI_UNDELIVERABLE && died_count == 2 && lives_seen == 1);
      CHECK(t_second_ns > 64300 && t_second_ns < 90000 && t_ack_ns - t_second_ns < 5000);
      pm_world_destroy(world);
      /* with the process: what was issued before is refused all the same, what comes later arrives */
      o.kind = PM_OUTAGE_RESTART;
      room[0][50] = 7, room[1][50] = 0;
      CHECK(run(&p, &o, 1, levels[level], dies, one_died) == PM_OK);
      CHECK(ends[0] == PTL_NI_UNDELIVERABLE && ends[1] == PTL_NI_OK && died_count == 3 && lives_seen == 3 && !room[1][50]);
      CHECK(!pm_process_is_dead(pm_process_at(world, 1)) && pm_process_status(pm_process_at(world, 1)) == 0);
      pm_world_destroy(world);
    }
}
static void waits_for_ever(void *unused) {
  (void)unused;
  if (pm_rank() == 0) pm_thread_wait("what never comes", -1);
  if (pm_process_restart_count(pm_self())) return;
  pm_barrier();
}
static void the_dead_are_named(void) {
  pm_platform p = two_nodes();
  const pm_outage dead = {2, 0, 500, 0, PM_OUTAGE_CRASH}, still = {1, 0, 0, 0, PM_OUTAGE_FREEZE},
                  both[] = {{1, 0, 500, 0, PM_OUTAGE_CRASH}, {2, 0, 700, 100, PM_OUTAGE_RESTART}},
                  from_begin = {1, 0, 0, 900, PM_OUTAGE_RESTART};
  CHECK(run(&p, &dead, 1, PM_LINK_FLOW, waits_for_ever, NULL) == PM_E_DEADLOCK);
  CHECK(strstr(pm_world_error(world), "process 1 (node 1) has died, with status 137"));
  pm_world_destroy(world);
  CHECK(run(&p, &still, 1, PM_LINK_FLOW, waits_for_ever, NULL) == PM_E_DEADLOCK);
  CHECK(strstr(pm_world_error(world), "process 0 (node 0, which stands still) waits"));
  pm_world_destroy(world);
  CHECK(run(&p, both, 2, PM_LINK_FLOW, waits_for_ever, NULL) == PM_OK && pm_world_now_ns(world) == 800);
  pm_world_destroy(world);
  CHECK(run(&p, &from_begin, 1, PM_LINK_FLOW, waits_for_ever, NULL) == PM_E_DEADLOCK && pm_world_now_ns(world) == 900);
  pm_world_destroy(world);
}
/* ---- all at random ------------------------------------------------------------------------------- */
enum { NODES = 6, EACH = 15, MOST = 8 };
static uint64_t outcomes[2], begun;
static void crowd(void *unused) {
  place s;
  ptl_event_t e;
  const int me = pm_rank();
  uint64_t x = (uint64_t)me * 77 + (uint64_t)pm_process_restart_count(pm_self());
  (void)unused;
  begun++;
  open_place(&s);
  for (int i = 0; i < EACH; i++) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    const size_t bytes = x >> 60 < 8 ? x >> 33 & 511 : x >> 33 & 65535;
    if (x >> 40 & 1)
      CHECK(!PtlPut(s.md, 0, bytes, PTL_ACK_REQ, pm_process_id((int)(x >> 20 & 255) % pm_size()), s.pt, 0, 0, NULL, 0));
    else
      CHECK(!PtlGet(s.md, 0, bytes, pm_process_id((int)(x >> 20 & 255) % pm_size()), s.pt, 0, 0, NULL));
    if (x >> 41 & 1) pm_compute_ns((int64_t)(x >> 50 & 4095));
  }
  for (int i = 0; i < EACH; i++) {
    CHECK(!PtlEQWait(s.eq, &e) && (e.type == PTL_EVENT_ACK || e.type == PTL_EVENT_REPLY));
    CHECK(e.ni_fail_type == PTL_NI_OK || e.ni_fail_type == PTL_NI_UNDELIVERABLE || e.ni_fail_type == PTL_NI_DROPPED);
    outcomes[e.ni_fail_type != PTL_NI_OK]++;
  }
  CHECK(PtlEQGet(s.eq, &e) == PTL_EQ_EMPTY);
}
static void every_operation_ends_once(void) {
  uint64_t all[2] = {0}, restarts = 0;
  for (int round = 0; round < test_rounds(120); round++) {
    pm_platform p = pm_platform_bxi2(NODES);
    pm_outage o[MOST];
    const int count = 1 + (int)test_below(MOST);
    pm_stats s[2];
    p.nic_count = 1 + (int64_t)test_below(2), p.rail_split_bytes = test_below(2) ? 5000 : 0;
    p.procs_per_node_count = 1 + (int64_t)test_below(3), p.cores_are_shared = (int)test_below(2), p.cores_per_node_count = p.cores_are_shared ? 2 : 3;
    p.e2e_retry_ns = 1000 + (int64_t)test_below(20000), p.e2e_retry_count = 1 + (int64_t)test_below(10);
    p.nic_match_ns = (int64_t)test_below(2) * 50, p.inflight_per_node_count = p.nic_count == 1 ? (int64_t)test_below(2) * 3 : 0;
    for (int i = 0; i < count; i++) { /* one after another on each node; none at 0, where a life ends that has not begun (from_begin above) */
      o[i] = (pm_outage){1 + (int)test_below(NODES), 0, 20000 * i + 1 + (int64_t)test_below(15000), 1 + (int64_t)test_below(5000), (pm_outage_kind)test_below(5)};
      if (test_below(4) == 0 && i == count - 1) o[i].d_down_ns = o[i].kind == PM_OUTAGE_STOP || o[i].kind == PM_OUTAGE_FREEZE ? 30000 : 0;
    }
    for (int k = 0; k < 2; k++) {
      begun = outcomes[0] = outcomes[1] = 0;
      const pm_status status = run(&p, o, count, levels[round % LEVELS], crowd, NULL);
      if (status) printf("  %s\n", pm_world_error(world));
      CHECK(status == PM_OK);
      s[k] = pm_world_stats(world);
      uint64_t ended = 0, lives = 0;
      for (int r = 0; r < NODES * (int)p.procs_per_node_count; r++) {
        const pm_process *q = pm_process_at(world, r);
        lives += 1 + (uint64_t)pm_process_restart_count(q);
        ended += pm_process_status(q) == 0;
      }
      CHECK(begun == lives && outcomes[0] + outcomes[1] >= EACH * ended);
      if (!k) all[0] += outcomes[0], all[1] += outcomes[1], restarts += lives - (uint64_t)(NODES * p.procs_per_node_count);
      pm_world_destroy(world);
    }
    CHECK(s[0].hash_id == s[1].hash_id && s[0].event_count == s[1].event_count);
  }
  CHECK(all[0] > all[1] && all[1] > 0 && restarts > 0);
}
static void bad_ones_are_refused(void) {
  pm_platform p = two_nodes();
  const pm_outage bad[][2] = {{{0, 0, 0, 5, PM_OUTAGE_STOP}, {1, 0, 0, 5, PM_OUTAGE_CUT}},
                              {{1, 0, 0, 5, (pm_outage_kind)5}, {1, 0, 0, 5, PM_OUTAGE_CUT}},
                              {{1, 0, 3, 5, PM_OUTAGE_STOP}, {1, 0, 7, 5, PM_OUTAGE_CRASH}},
                              {{1, 0, 7, 5, PM_OUTAGE_STOP}, {1, 0, 3, 5, PM_OUTAGE_CRASH}},
                              {{1, 0, 3, 0, PM_OUTAGE_CRASH}, {1, 0, 70, 5, PM_OUTAGE_CRASH}},
                              {{1, 0, 3, INT64_MAX, PM_OUTAGE_STOP}, {1, 0, INT64_MAX, 5, PM_OUTAGE_CRASH}}},
                  good[][2] = {{{1, 0, 3, 5, PM_OUTAGE_STOP}, {1, 0, 8, 5, PM_OUTAGE_CRASH}},
                               {{1, 0, 3, 5, PM_OUTAGE_STOP}, {1, 0, 3, 5, PM_OUTAGE_CUT}},
                               {{1, 0, 3, 5, PM_OUTAGE_STOP}, {2, 0, 3, 5, PM_OUTAGE_STOP}}};
  for (int i = 0; i < 9; i++) {
    const pm_world_desc desc = {.platform = &p, .faults = {.outages = i < 6 ? bad[i] : good[i - 6], .outage_count = 2}};
    pm_world *w = NULL;
    CHECK(pm_world_create(&desc, &w) == (i < 6 ? PM_E_INVAL : PM_OK));
    pm_world_destroy(w);
  }
}
int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(what_stands_still_goes_on_later);
  RUN(messages_to_the_dead_end_as_stated);
  RUN(the_dead_are_named);
  RUN(every_operation_ends_once);
  RUN(bad_ones_are_refused);
  return TEST_END();
}
