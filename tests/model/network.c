/* The NIC and the network: times worked out by hand, order (fair sharing: fair.c),
   conservation, faults, and the five request patterns with their steps. */
#include "tests/model/pieces.h"
#include "tests/model/ptl.h"

/* ---- fair sharing ----------------------------------------------------------------------------- */
static pm_world *world_with(pm_topology_kind kind, int nodes, const int64_t *topo, int count) {
  pm_platform p = pm_platform_bxi2(nodes);
  pm_world_desc desc = {0};
  pm_world *w = NULL;
  p.topology = kind;
  memcpy(p.topo, topo, (size_t)count * sizeof *topo);
  desc.platform = &p;
  CHECK(pm_world_create(&desc, &w) == PM_OK);
  return w;
}
static int64_t t_done_ns[3];
static pm_world *flow_world;
/* Links given one by one: a table of next links for each node that is sent to, as many as there is memory for. */
static void ways_over_links_one_by_one_are_bounded(void) {
  static const char star[] = "topology file\nnode_count 4\nlink h0 s 1e9 5\nlink h1 s 1e9 5\nlink h2 s 1e9 5\nlink h3 s 1e9 5\n";
  pm_platform p;
  char error[200];
  pm_world *w = NULL;
  CHECK(pm_platform_read(star, strlen(star), &p, error, sizeof error) == PM_OK);
  CHECK(pm_world_create(&(pm_world_desc){.platform = &p}, &w) == PM_OK);
  CHECK(w->graph->bytes_left == (size_t)1 << 30);
  w->graph->bytes_left = 2 * 5 * sizeof(int); /* 5: four nodes and a switch */
  CHECK(pm_flow_start(w, 0, 1, 1, NULL, NULL) == PM_OK && pm_flow_start(w, 0, 2, 1, NULL, NULL) == PM_OK);
  CHECK(pm_flow_start(w, 3, 2, 1, NULL, NULL) == PM_OK && pm_flow_start(w, 0, 3, 1, NULL, NULL) == PM_E_NOMEM);
  CHECK(pm_world_run(w) != PM_OK && strstr(pm_world_error(w), "1 GiB") != NULL);
  pm_world_destroy(w);
  pm_platform_free(&p);
}
/* Every global cable of a dragonfly carries its part: 16 pairs across two groups. */
static int64_t dragonfly_end_ns;
static void dragonfly_ended(void *world) { dragonfly_end_ns = pm_world_now_ns((const pm_world *)world); }
static void dragonfly_uses_all_its_cables(void) {
  for (int h = 1; h <= 8; h *= 2) {
    pm_platform p = pm_platform_bxi2(32);
    pm_world_desc desc = {.platform = &p};
    pm_world *w;
    p.topology = PM_TOPO_DRAGONFLY;
    p.topo[0] = 2, p.topo[1] = 4, p.topo[2] = 4, p.topo[3] = h;
    CHECK(pm_world_create(&desc, &w) == PM_OK);
    for (int i = 0; i < 16; i++) CHECK(pm_flow_start(w, i, 16 + i, 1e9, dragonfly_ended, w) == PM_OK);
    CHECK(pm_world_run(w) == PM_OK);
    const double cables = h < 4 ? 4 * h : 16; /* no more than there are pairs */
    CHECK_NEAR(16e9 / (double)dragonfly_end_ns, cables * 12.5 * 64 / 72, 1e-3 * cables);
    pm_world_destroy(w);
  }
}
static void note_0(void *a) {
  (void)a;
  t_done_ns[0] = pm_world_now_ns(flow_world);
}
static void note_1(void *a) {
  (void)a;
  t_done_ns[1] = pm_world_now_ns(flow_world);
}
static void start_second(void *a) {
  (void)a;
  CHECK(pm_flow_start(flow_world, 2, 1, 1e6, note_1, NULL) == PM_OK);
}
static void completion_times_are_exact(void) {
  const int64_t none[8] = {0};
  flow_world = world_with(PM_TOPO_CROSSBAR, 3, none, 8);
  const double rate = 12.5e9 * 64 / 72; /* payload of a link */
  CHECK(pm_flow_start(flow_world, 0, 1, 1e6, note_0, NULL) == PM_OK);
  CHECK(pm_call_at(flow_world, 30000, start_second, NULL) == PM_OK);
  CHECK(pm_world_run(flow_world) == PM_OK);
  /* alone for 30 us, then half: the first has 1e6 - rate * 30e-6 left */
  const double left = 1e6 - rate * 30e-6, t0 = 30e-6 + left / (rate / 2),
               t1 = t0 + (1e6 - left) / rate;
  CHECK_NEAR(t_done_ns[0], t0 * 1e9, 1);
  CHECK_NEAR(t_done_ns[1], t1 * 1e9, 1);
  pm_world_destroy(flow_world);
}

/* Flows of four nodes into one, that begin one after another, share its link: the one that joins two others ends when
   its own bytes are through, and so do those. */
static int64_t joined_ns[4];
static void note_joined(void *end_ns) { *(int64_t *)end_ns = pm_world_now_ns(flow_world); }
static void start_joined(void *end_ns) {
  const int i = (int)((int64_t *)end_ns - joined_ns);
  CHECK(pm_flow_start(flow_world, i + 1, 0, 1e6 * (4 - i), note_joined, end_ns) == PM_OK);
}
static void flows_that_join_end_when_their_bytes_are_through(void) {
  enum { N = 4 };
  const int64_t none[8] = {0};
  const double rate = 12.5e9 * 64 / 72; /* payload of a link */
  double left[N], t_s = 0;
  int ended = 0;
  flow_world = world_with(PM_TOPO_CROSSBAR, N + 1, none, 8);
  for (int i = 0; i < N; i++) {
    CHECK(pm_call_at(flow_world, 40000 * i, start_joined, &joined_ns[i]) == PM_OK);
    left[i] = 1e6 * (N - i);
  }
  CHECK(pm_world_run(flow_world) == PM_OK);
  while (ended < N) { /* from one begin or end to the next */
    int first = -1, active = 0;
    double until_s = 1;
    for (int i = 0; i < N; i++) {
      const double begin_s = 40e-6 * i;
      if (begin_s > t_s && begin_s < until_s) until_s = begin_s;
      if (begin_s <= t_s && left[i] > 0) active++;
    }
    for (int i = 0; i < N && active; i++)
      if (40e-6 * i <= t_s && left[i] > 0 && t_s + left[i] * active / rate < until_s)
        until_s = t_s + left[i] * active / rate, first = i;
    for (int i = 0; i < N && active; i++)
      if (40e-6 * i <= t_s && left[i] > 0) left[i] -= rate / active * (until_s - t_s);
    t_s = until_s;
    if (first < 0) continue;
    left[first] = 0, ended++;
    CHECK_NEAR(joined_ns[first], t_s * 1e9, 2);
  }
  pm_world_destroy(flow_world);
}

/* ---- times of single operations --------------------------------------------------------------- */
typedef struct timing {
  double send_ns, ack_ns, put_ns;
} timing;
static struct {
  size_t bytes;
  unsigned int ni;
  timing t;
  int get;
} probe;
static void probe_body(void *unused) {
  side s_, *s = &s_;
  (void)unused;
  side_open(s, probe.ni, 0, PTL_MD_EVENT_SUCCESS_DISABLE);
  static unsigned char big[2][1 << 20];
  ptl_md_t md = {big[pm_rank()], sizeof big[0], 0, s->eq, PTL_CT_NONE};
  ptl_handle_md_t h;
  CHECK(PtlMDBind(s->ni, &md, &h) == PTL_OK);
  if (probe.ni & PTL_NI_MATCHING)
    append(
        s,
        entry(big[1], sizeof big[1], 0, PTL_ME_OP_PUT | PTL_ME_OP_GET | PTL_ME_EVENT_LINK_DISABLE),
        PTL_PRIORITY_LIST, NULL);
  else {
    ptl_le_t le = {big[1], sizeof big[1], PTL_CT_NONE, PTL_UID_ANY,
                   PTL_LE_OP_PUT | PTL_LE_OP_GET | PTL_LE_EVENT_LINK_DISABLE};
    ptl_handle_le_t lh;
    CHECK(PtlLEAppend(s->ni, s->pt, &le, PTL_PRIORITY_LIST, NULL, &lh) == PTL_OK);
  }
  pm_barrier();
  const double t_ns = (double)pm__current->proc->world->now_ps / 1000;
#define SINCE                                                                                      \
  ((double)pm__current->proc->world->now_ps / 1000 - t_ns - 30) /* 30: taking the event */
  if (pm_rank() == 0 && probe.get) {
    CHECK(PtlGet(h, 0, probe.bytes, pm_process_id(1), 3, 0, 0, NULL) == PTL_OK);
    EXPECT(s, REPLY);
    probe.t.ack_ns = SINCE;
  } else if (pm_rank() == 0) {
    CHECK(PtlPut(h, 0, probe.bytes, PTL_ACK_REQ, pm_process_id(1), 3, 0, 0, NULL, 0) == PTL_OK);
    EXPECT(s, SEND);
    probe.t.send_ns = SINCE;
    EXPECT(s, ACK);
    probe.t.ack_ns = SINCE - (probe.bytes > 64 ? 30 : 0);
  } else if (!probe.get) {
    EXPECT(s, PUT);
    probe.t.put_ns = SINCE;
  } else {
    EXPECT(s, GET);
    probe.t.put_ns = SINCE;
  }
  pm_barrier();
  side_close(s);
}
static timing time_of(size_t bytes, unsigned int ni, int get, const pm_world_desc *desc) {
  probe.bytes = bytes;
  probe.ni = ni;
  probe.get = get;
  run_world(2, probe_body, desc);
  return probe.t;
}
/* The steps of an inline put with the constants of the preset, added up by hand. */
static void small_put_takes_the_sum_of_its_steps(void) {
  const double command = 50 + 200 + 64 / 12.5, leaves = command + 200 + 72 / 12.5,
               there = leaves + 300 + 130 + 200;
  const double written = there + 200 + (8 + 96) / 12.5;
  const double ack = there + 200 + 32 / 12.5 + 430 + 200 + 200 + 96 / 12.5;
  const timing t = time_of(8, PTL_NI_MATCHING, 0, NULL);
  CHECK_NEAR(t.put_ns, written, 0.01);
  CHECK_NEAR(t.ack_ns, ack, 0.01);
  CHECK_NEAR(t.send_ns, command + 200 + 200 + 96 / 12.5, 0.01);
}
static void long_put_runs_at_the_rate_of_the_link(void) {
  const timing small = time_of(1 << 19, PTL_NI_MATCHING, 0, NULL),
               large = time_of(1 << 20, PTL_NI_MATCHING, 0, NULL);
  CHECK_NEAR((1 << 19) / (large.put_ns - small.put_ns), 12.5 * 64 / 72, 0.001);
}
/* [S 4.6.1] where the plateaus end: latency jumps when the path of the payload changes. */
static double step_ns(size_t bytes,
                      unsigned int ni) { /* cost of one byte more, beyond its own transfer */
  return time_of(bytes + 1, ni, 0, NULL).ack_ns - time_of(bytes, ni, 0, NULL).ack_ns;
}
static void payload_paths_change_where_they_should(void) {
  CHECK(step_ns(8, PTL_NI_MATCHING) > 50 && step_ns(16, PTL_NI_MATCHING) < 5);
  CHECK(step_ns(16, PTL_NI_NO_MATCHING) > 50 && step_ns(8, PTL_NI_NO_MATCHING) < 5);
  CHECK(step_ns(408, PTL_NI_MATCHING) > 200 && step_ns(416, PTL_NI_MATCHING) < 10);
  CHECK(step_ns(416, PTL_NI_NO_MATCHING) > 200 && step_ns(408, PTL_NI_NO_MATCHING) < 10);
  CHECK(fabs(step_ns(1024, PTL_NI_MATCHING)) < 10);
  const timing early = time_of(64, PTL_NI_MATCHING, 0, NULL),
               late = time_of(65, PTL_NI_MATCHING, 0, NULL);
  CHECK(early.send_ns < early.ack_ns / 2); /* the NIC keeps the payload */
  CHECK_NEAR(late.send_ns, late.ack_ns, 0.01);
}
/* The NIC that waits until payload is in memory tells of it one crossing of PCI later, both the host and the
   other side. A get's target is told by the acknowledgement of what came back, at all levels alike. */
static void targets_are_told_of_payload_in_memory(void) {
  for (int level = PM_LINK_FLOW; level <= PM_LINK_PACKET; level++) {
    if (level != PM_LINK_FLOW && level != PM_LINK_PACKET) continue;
    for (int is_get = 0; is_get < 2; is_get++)
      for (size_t bytes = 0; bytes <= 4096; bytes = 8 * bytes + 8) {
        pm_platform p = pm_platform_bxi2(2);
        const pm_world_desc desc = {.platform = &p, .link = (pm_link_model)level};
        const timing sooner = time_of(bytes, PTL_NI_MATCHING, is_get, &desc);
        p.ack_after_write = 1;
        const timing later = time_of(bytes, PTL_NI_MATCHING, is_get, &desc);
        CHECK_NEAR(later.ack_ns - sooner.ack_ns, bytes ? 200 : 0, 0.01);
        if (is_get)
          CHECK_NEAR(later.put_ns - later.ack_ns, 430 + 200 + 96 / 12.5, 0.01);
        else
          CHECK_NEAR(later.put_ns - sooner.put_ns, bytes ? 200 : 0, 0.01);
        if (is_get) CHECK(sooner.put_ns > sooner.ack_ns);
      }
  }
}
static void performance_switches_take_their_part_away(void) {
  pm_platform p = pm_platform_bxi2(2);
  pm_world_desc desc = {0};
  desc.platform = &p;
  const double full = time_of(8, PTL_NI_MATCHING, 0, &desc).ack_ns;
  p.quick_ack = 1;
  CHECK_NEAR(full - time_of(8, PTL_NI_MATCHING, 0, &desc).ack_ns, 200 + 32 / 12.5 + 200,
             0.01); /* TX, wire, RX of the ack */
  p.quick_ack = 0;
  p.no_pci_commands = 1;
  CHECK_NEAR(full - time_of(8, PTL_NI_MATCHING, 0, &desc).ack_ns, 2 * 200 + (64 + 96) / 12.5, 0.01);
  p.no_pci = 1;
  CHECK_NEAR(time_of(8, PTL_NI_MATCHING, 0, &desc).put_ns, 50 + 200 + 72 / 12.5 + 430 + 200, 0.01);
}
static void loggp_is_its_formula(void) {
  pm_platform p = pm_platform_bxi2(2);
  pm_world_desc desc = {0};
  desc.platform = &p;
  desc.link = PM_LINK_LOGGP;
  const timing t = time_of(1000, PTL_NI_MATCHING, 0, &desc);
  CHECK_NEAR(t.put_ns, 100 + 1000 + 999 / (12.5 * 64 / 72), 0.01); /* o + L + (n - 1) G */
  CHECK_NEAR(t.ack_ns, 100 + 1000 + 999 / (12.5 * 64 / 72) + 1000, 0.01);
  CHECK_NEAR(time_of(1000, PTL_NI_MATCHING, 1, &desc).ack_ns, 100 + 1000 + 1000 + 999 / (12.5 * 64 / 72), 0.01);
}

/* ---- the five request patterns [S 4.6.1] -------------------------------------------------------- */
static struct {
  int mode;
  size_t bytes;
  int count;
  double per_ns;
} pattern;
enum { PUT_ACK, PUT_NOWAIT, PUT_SEND, GET_REPLY, GET_NOWAIT };
static void pattern_body(void *unused) {
  side s_, *s = &s_;
  static unsigned char big[2][1 << 20];
  ptl_ct_event_t value;
  (void)unused;
  side_open(s, PTL_NI_MATCHING, 0, 0);
  const unsigned int option = pattern.mode == PUT_SEND    ? PTL_MD_EVENT_CT_SEND
                              : pattern.mode >= GET_REPLY ? PTL_MD_EVENT_CT_REPLY
                                                          : PTL_MD_EVENT_CT_ACK;
  ptl_md_t md = {big[pm_rank()], sizeof big[0], option, PTL_EQ_NONE, s->ct};
  ptl_handle_md_t h;
  CHECK(PtlMDBind(s->ni, &md, &h) == PTL_OK);
  append(
      s,
      entry(big[1], sizeof big[1], 0,
            PTL_ME_OP_PUT | PTL_ME_OP_GET | PTL_ME_EVENT_LINK_DISABLE | PTL_ME_EVENT_COMM_DISABLE),
      PTL_PRIORITY_LIST, NULL);
  pm_barrier();
  if (pm_rank() == 0) {
    const int64_t t_ns = pm_now_ns();
    for (int i = 1; i <= pattern.count; i++) {
      if (pattern.mode >= GET_REPLY)
        CHECK(PtlGet(h, 0, pattern.bytes, pm_process_id(1), 3, 0, 0, NULL) == PTL_OK);
      else
        CHECK(PtlPut(h, 0, pattern.bytes, PTL_CT_ACK_REQ, pm_process_id(1), 3, 0, 0, NULL, 0) ==
              PTL_OK);
      if (pattern.mode != PUT_NOWAIT && pattern.mode != GET_NOWAIT)
        CHECK(PtlCTWait(s->ct, (ptl_size_t)i, &value) == PTL_OK);
    }
    CHECK(PtlCTWait(s->ct, (ptl_size_t)pattern.count, &value) == PTL_OK && value.failure == 0);
    pattern.per_ns = (double)(pm_now_ns() - t_ns) / pattern.count;
  }
  pm_barrier();
  side_close(s);
}
static double per_request_ns(int mode, size_t bytes) {
  pattern.mode = mode;
  pattern.bytes = bytes;
  pattern.count = 300;
  run_world(2, pattern_body, NULL);
  return pattern.per_ns;
}
static void five_patterns_have_their_shape(void) {
  const double ack_8 = per_request_ns(PUT_ACK, 8), send_64 = per_request_ns(PUT_SEND, 64),
               send_65 = per_request_ns(PUT_SEND, 65);
  CHECK(per_request_ns(PUT_NOWAIT, 8) < ack_8 / 5);    /* pipelined */
  CHECK(send_64 < per_request_ns(PUT_ACK, 64) * 0.6);  /* up to 64 B SEND lets the next one go */
  CHECK_NEAR(send_65, per_request_ns(PUT_ACK, 65), 1); /* above, it is as late as the ACK */
  CHECK(per_request_ns(PUT_ACK, 9) > ack_8 + 50);      /* inline ends at 8 */
  CHECK(per_request_ns(PUT_ACK, 409) > per_request_ns(PUT_ACK, 408) + 200); /* PIO ends at 408 */
  CHECK(per_request_ns(GET_REPLY, 8) > ack_8);                              /* responses are DMA */
  CHECK(per_request_ns(GET_NOWAIT, 8) < per_request_ns(GET_REPLY, 8) / 3);
  for (int mode = 0; mode <= GET_NOWAIT; mode++) { /* above 64 KiB all come near the link's rate */
    const double ns = per_request_ns(mode, 1 << 20), rate = (1 << 20) / ns;
    CHECK(rate > 0.93 * 12.5 * 64 / 72 && rate <= 12.5 * 64 / 72 + 0.01);
  }
}

/* ---- order, conservation, determinism ----------------------------------------------------------- */
enum { SENDS = 60, MOST = 20000 };
static unsigned char source[8][MOST], target_area[8][MOST];
static void traffic_body(void *unused) {
  side s_, *s = &s_;
  (void)unused;
  const int me = pm_rank(), n = pm_size();
  uint64_t next[8] = {0};
  pm_world *w = pm_world_of(pm_self());
  CHECK(PtlInit() == PTL_OK);
  memset(s, 0, sizeof *s);
  CHECK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL,
                  &s->ni) == PTL_OK);
  CHECK(PtlEQAlloc(s->ni, 2000, &s->eq) == PTL_OK && PtlCTAlloc(s->ni, &s->ct) == PTL_OK);
  CHECK(PtlPTAlloc(s->ni, 0, s->eq, 3, &s->pt) == PTL_OK);
  ptl_md_t md = {source[me], MOST, PTL_MD_EVENT_CT_ACK, PTL_EQ_NONE, s->ct};
  CHECK(PtlMDBind(s->ni, &md, &s->md) == PTL_OK);
  append(s, entry(target_area[me], MOST, 0, PTL_ME_OP_PUT | PTL_ME_EVENT_LINK_DISABLE),
         PTL_PRIORITY_LIST, NULL);
  pm_barrier();
  for (uint64_t i = 0; i < SENDS; i++) { /* to both neighbours, all sizes */
    const uint64_t r = pm_random(w);
    const size_t bytes = r % 3 == 0   ? (size_t)(r >> 8) % 64
                         : r % 3 == 1 ? (size_t)(r >> 8) % 512
                                      : (size_t)(r >> 8) % MOST;
    const int to = (me + (i % 2 ? 1 : n - 1)) % n;
    CHECK(PtlPut(s->md, 0, bytes, PTL_CT_ACK_REQ, pm_process_id(to), 3, 0, 0, NULL,
                 (uint64_t)me << 32 | i) == PTL_OK);
  }
  for (int i = 0; i < SENDS; i++) {
    const ptl_event_t e = EXPECT(s, PUT);
    const int from = (int)(e.hdr_data >> 32);
    const uint64_t number = e.hdr_data & 0xFFFFFFFF;
    CHECK(e.ni_fail_type == PTL_NI_OK && number + 1 > next[from]); /* issue order */
    next[from] = number + 1;
  }
  ptl_ct_event_t value;
  CHECK(PtlCTWait(s->ct, SENDS, &value) == PTL_OK && value.success == SENDS && value.failure == 0);
  EXPECT_NOTHING(s); /* exactly once */
  pm_barrier();
  side_close(s);
}
static pm_stats traffic(pm_platform *p, pm_world_desc *desc) {
  desc->platform = p;
  return run_world(0, traffic_body, desc);
}
/* Puts and gets of all sizes to anybody, some of them one after the other. */
enum { CALLS = 12 };
static unsigned char anybodys[MOST];
static void calls_to_anybody(void *unused) {
  (void)unused;
  pm_world *w = pm_world_of(pm_self());
  side s_, *s = &s_;
  ptl_ct_event_t value;
  CHECK(PtlInit() == PTL_OK);
  CHECK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &s->ni) == PTL_OK);
  CHECK(PtlCTAlloc(s->ni, &s->ct) == PTL_OK && PtlPTAlloc(s->ni, 0, PTL_EQ_NONE, 3, &s->pt) == PTL_OK);
  ptl_md_t md = {anybodys, MOST, PTL_MD_EVENT_CT_ACK | PTL_MD_EVENT_CT_REPLY, PTL_EQ_NONE, s->ct};
  CHECK(PtlMDBind(s->ni, &md, &s->md) == PTL_OK);
  append(s, entry(anybodys, MOST, 0, PTL_ME_OP_PUT | PTL_ME_OP_GET), PTL_PRIORITY_LIST, NULL);
  pm_barrier();
  for (int i = 1; i <= CALLS; i++) {
    const uint64_t r = pm_random(w);
    const size_t bytes = (size_t)(r >> 8) % (r % 2 ? 600 : MOST);
    const ptl_process_t to = pm_process_id((int)((r >> 32) % (uint64_t)pm_size()));
    CHECK((r % 5 ? PtlPut(s->md, 0, bytes, PTL_CT_ACK_REQ, to, 3, 0, 0, NULL, 0)
                 : PtlGet(s->md, 0, bytes, to, 3, 0, 0, NULL)) == PTL_OK);
    if (r % 3 || i == CALLS) CHECK(PtlCTWait(s->ct, (ptl_size_t)i, &value) == PTL_OK && value.failure == 0);
  }
  pm_barrier();
  side_close(s);
}
static void ways_that_messages_keep_are_those_of_the_world(void) {
  static const int64_t shapes[][9] = {{2, 12, 12, 1, 12}, {2, 16, 9, 2, 4}, {3, 4, 4, 9, 1, 2, 4}, {4, 3, 3, 4, 4, 1, 1, 2, 2}};
  for (int i = 0; i < 4; i++) {
    pm_platform p = pm_platform_bxi2(144);
    pm_world_desc desc = {.platform = &p, .no_data = true, .seed = test_rand()};
    pm_stats stats[2];
    int64_t t_ns[2];
    p.topology = PM_TOPO_FATTREE;
    memcpy(p.topo, shapes[i], sizeof shapes[i]);
    for (int k = 0; k < 2; k++) {
      pm_world *w;
      CHECK(pm_world_create(&desc, &w) == PM_OK && w->has_own_ways);
      if (k) w->has_own_ways = false;
      CHECK(pm_spawn_all(w, calls_to_anybody, NULL) == PM_OK && pm_world_run(w) == PM_OK);
      stats[k] = pm_world_stats(w);
      t_ns[k] = pm_world_now_ns(w);
      pm_world_destroy(w);
    }
    CHECK(stats[0].hash_id == stats[1].hash_id && stats[0].event_count == stats[1].event_count && t_ns[0] == t_ns[1]);
    CHECK(stats[0].message_count == 144 * CALLS && stats[0].flow_count > 144);
  }
}
static void bytes_arrive_once_in_order_and_reproducibly(void) {
  for (int round = 0; round < 12; round++) {
    pm_platform p = pm_platform_bxi2(8);
    pm_world_desc desc = {0};
    const int64_t tree[] = {2, 4, 2, 1, 2}, torus[] = {3, 2, 2, 2};
    desc.seed = test_rand();
    desc.link = round % 2 ? PM_LINK_LOGGP : PM_LINK_FLOW;
    if (round / 2 % 3 == 1) p.topology = PM_TOPO_FATTREE, memcpy(p.topo, tree, sizeof tree);
    if (round / 2 % 3 == 2) p.topology = PM_TOPO_TORUS, memcpy(p.topo, torus, sizeof torus);
    if (round >= 6)
      p.node_count = 2, p.procs_per_node_count = 4,
      p.topology = PM_TOPO_CROSSBAR; /* neighbours inside a node too */
    const pm_stats a = traffic(&p, &desc), b = traffic(&p, &desc);
    CHECK(a.sent_bytes > 0 && a.sent_bytes == a.delivered_bytes && a.hash_id == b.hash_id &&
          a.message_count == 8 * SENDS);
    desc.seed++;
    CHECK(traffic(&p, &desc).hash_id != a.hash_id);
  }
}

/* ---- limits ------------------------------------------------------------------------------------- */
static void few_messages_in_flight_make_a_flood_slower(void) {
  pm_platform p = pm_platform_bxi2(2);
  pm_world_desc desc = {0};
  desc.platform = &p;
  double per_ns[3];
  for (int i = 0; i < 3; i++) {
    p.inflight_per_process_count = i == 0 ? 0 : i == 1 ? 4 : 1;
    pattern.mode = PUT_NOWAIT, pattern.bytes = 8, pattern.count = 300;
    run_world(2, pattern_body, &desc);
    per_ns[i] = pattern.per_ns;
  }
  CHECK(per_ns[1] > 1.5 * per_ns[0] && per_ns[2] > 3 * per_ns[1]);
  p.inflight_per_process_count = 0;
  p.inflight_per_node_count = 1;
  run_world(2, pattern_body, &desc);
  CHECK_NEAR(pattern.per_ns, per_ns[2], 1);
}
/* ---- streams: what many messages get of a link ------------------------------------------------------ */
enum { STREAM = 400 };
static size_t stream_bytes;
static double stream_end_s;
static void stream_body(void *pairs) {
  static unsigned char memory[64][4096];
  ptl_handle_ni_t ni;
  ptl_handle_ct_t ct;
  ptl_handle_any_t h, md;
  ptl_pt_index_t pt;
  ptl_ct_event_t v;
  const int me = pm_rank(), n = pm_size();
  CHECK(PtlInit() == PTL_OK && PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &ni) == PTL_OK);
  CHECK(PtlCTAlloc(ni, &ct) == PTL_OK && PtlPTAlloc(ni, 0, PTL_EQ_NONE, 0, &pt) == PTL_OK);
  ptl_me_t me_all = entry(memory[me], 4096, 0, PTL_ME_OP_PUT | PTL_ME_EVENT_CT_COMM);
  me_all.ct_handle = ct;
  ptl_md_t d = {memory[me], 4096, 0, PTL_EQ_NONE, PTL_CT_NONE};
  CHECK(PtlMEAppend(ni, pt, &me_all, PTL_PRIORITY_LIST, NULL, &h) == PTL_OK && PtlMDBind(ni, &d, &md) == PTL_OK);
  pm_barrier();
  if (me < n / 2)
    for (int i = 0; i < STREAM; i++)
      CHECK(PtlPut(md, 0, stream_bytes, PTL_NO_ACK_REQ, pm_process_id(*(const int *)pairs ? n / 2 + me : n / 2), pt, 0, 0, NULL, 0) == PTL_OK);
  else if (*(const int *)pairs || me == n / 2)
    CHECK(PtlCTWait(ct, (ptl_size_t)STREAM * (ptl_size_t)(*(const int *)pairs ? 1 : n / 2), &v) == PTL_OK);
  if (me == n / 2) stream_end_s = (double)pm_now_ns() * 1e-9;
  pm_barrier();
  PtlFini();
}
/* GB/s of payload: pairs over one uplink, or (pairs 0) all to one. */
static double stream_rate(const pm_platform *p, size_t bytes, int pairs, pm_link_model link) {
  stream_bytes = bytes;
  pm_world_desc desc = {.platform = p, .link = link};
  pm_world *w;
  CHECK(pm_world_create(&desc, &w) == PM_OK && pm_spawn_all(w, stream_body, &pairs) == PM_OK);
  CHECK(pm_world_run(w) == PM_OK);
  const double bytes_all = (double)(p->node_count / 2 * STREAM) * (double)bytes;
  pm_world_destroy(w);
  return bytes_all / stream_end_s * 1e-9;
}
static void small_messages_share_links(void) {
  pm_platform p = pm_platform_bxi2(32);
  p.topology = PM_TOPO_FATTREE;
  p.topo[0] = 2, p.topo[1] = 16, p.topo[2] = 2, p.topo[3] = 1, p.topo[4] = 1; /* 16 nodes over one uplink */
  static const size_t sizes[] = {8, 64, 256, 408, 512};
  for (int i = 0; i < 5; i++) {
    const double wire = 12.5 * (double)sizes[i] / (72.0 * (double)((sizes[i] + 63) / 64));
    const double over_uplink = stream_rate(&p, sizes[i], 1, PM_LINK_FLOW),
                 by_nics = 16 * (double)sizes[i] / (200 + (double)sizes[i] / 11);
    CHECK(over_uplink <= wire * 1.001 && over_uplink > 0.93 * (wire < by_nics ? wire : by_nics));
  }
  pm_platform star = pm_platform_bxi2(32);
  const double to_one = stream_rate(&star, 512, 0, PM_LINK_FLOW);
  CHECK(to_one <= 12.5 * 64 / 72 * 1.001 && to_one > 8);
}
/* Each of them takes 200 ns for a put. */
static void engines_take_messages_side_by_side(void) {
  pm_platform star = pm_platform_bxi2(32);
  for (int engines = 1; engines <= 4; engines++) {
    star.nic_engine_count = engines;
    CHECK_NEAR(stream_rate(&star, 8, 0, PM_LINK_FLOW), 8 * engines / 200.0, 0.004);
  }
}
static void payload_is_fetched_ahead(void) {
  pm_platform p = pm_platform_bxi2(2);
  const double inside = stream_rate(&p, 408, 1, PM_LINK_FLOW), above = stream_rate(&p, 409, 1, PM_LINK_FLOW);
  CHECK(above > 0.95 * inside && above < 1.1 * inside); /* no step where the NIC begins to read */
  CHECK_NEAR(1e3 / (above / 0.409), 200 + 7 * 72 / 12.5, 10); /* ns: the NIC's and the wire's */
  CHECK_NEAR(stream_rate(&p, 4096, 1, PM_LINK_FLOW), 4096 / (200 + 64 * 72 / 12.5), 0.2);
  p.dma_ahead = 0;
  CHECK_NEAR(stream_rate(&p, 409, 1, PM_LINK_FLOW) / 0.409, 1.46, 0.03);
}
/* Posted: the CPU's next call overlaps the way of what it wrote; one put alone takes as long as ever. */
static void written_payload_may_be_posted(void) {
  pm_platform p = pm_platform_bxi2(2);
  pm_world_desc desc = {.platform = &p};
  double alone_ns[2];
  p.pio_bytes_per_s = 1e9;
  for (int i = 0; i < 2; i++) {
    p.pio_is_posted = i;
    pattern.mode = PUT_ACK, pattern.bytes = 300, pattern.count = 5;
    run_world(2, pattern_body, &desc);
    alone_ns[i] = pattern.per_ns;
    const double per_put_ns = 300 / stream_rate(&p, 300, 1, PM_LINK_FLOW);
    if (i)
      CHECK_NEAR(per_put_ns, 300 + 64 / 12.5, 10); /* its payload and its command */
    else
      CHECK_NEAR(per_put_ns, 50 + 60 + 300, 10); /* the call, the fence, the payload */
  }
  if (!IS_ON_RTL) CHECK_NEAR(alone_ns[0], alone_ns[1], 0.01);
}
/* Long puts both ways at once: what acknowledgements take of a NIC's wire its flows do not have. */
enum { BOTH = 64 };
static void both_ways_body(void *per_ns) {
  side s_, *s = &s_;
  ptl_ct_event_t value;
  side_open(s, PTL_NI_MATCHING, 0, PTL_MD_EVENT_CT_ACK | PTL_MD_EVENT_SUCCESS_DISABLE);
  append(s, entry(s->memory, sizeof s->memory, 0, PTL_ME_OP_PUT | PTL_ME_EVENT_LINK_DISABLE | PTL_ME_EVENT_COMM_DISABLE),
         PTL_PRIORITY_LIST, NULL);
  pm_barrier();
  const int64_t t_ns = pm_now_ns();
  for (int i = 0; i < BOTH; i++) CHECK(put(s, 1 - pm_rank(), 4096, PTL_CT_ACK_REQ, 0, 0, 0) == PTL_OK);
  CHECK(PtlCTWait(s->ct, BOTH, &value) == PTL_OK && !value.failure);
  if (pm_rank() == 0) *(double *)per_ns = (double)(pm_now_ns() - t_ns) / BOTH;
  pm_barrier();
  side_close(s);
}
static void acknowledgements_take_wire_from_flows(void) {
  pm_platform p = pm_platform_bxi2(2);
  double per_ns[2];
  for (int i = 0; i < 2; i++) {
    pm_world_desc desc = {.platform = &p};
    pm_world *w;
    p.ack_bytes = i ? 2032 : 32;
    CHECK(pm_world_create(&desc, &w) == PM_OK && pm_spawn_all(w, both_ways_body, &per_ns[i]) == PM_OK);
    CHECK(pm_world_run(w) == PM_OK);
    pm_world_destroy(w);
  }
  const double more_ns = per_ns[1] - per_ns[0], ack_ns = 2000 / 12.5;
  CHECK(more_ns > 0.6 * ack_ns && more_ns < 1.1 * ack_ns);
}
/* Pieces by size at the LogGP level, each with a line and a mixture of its own, as fit_model writes them. */
static const char ranges_text[] = "node_count 2\nloggp_range 0 1000 40 50 0.5 0.25\nloggp_range 1000 3000 70 500 0.1 0.2 0.75 1 0 0.25 2 0\n";
static void loggp_ranges_are_their_lines(void) {
  pm_platform p, q;
  char error[256], text[16384];
  CHECK(pm_platform_read(ranges_text, strlen(ranges_text), &p, error, sizeof error) == PM_OK && p.loggp_range_count == 2);
  p.loggp_range[1].noise_count = 0;
  const pm_world_desc desc = {.platform = &p, .link = PM_LINK_LOGGP};
  CHECK_NEAR(time_of(1, PTL_NI_MATCHING, 0, &desc).put_ns, 40 + 1000, 0.01);
  CHECK_NEAR(time_of(999, PTL_NI_MATCHING, 0, &desc).put_ns, 40 + 1000 + 998 * 0.5, 0.01);
  CHECK_NEAR(time_of(1000, PTL_NI_MATCHING, 0, &desc).put_ns, 70 + 3000 + 999 * 0.1, 0.01);
  CHECK_NEAR(stream_rate(&p, 100, 1, PM_LINK_LOGGP), 100 / 50.0, 0.15);
  CHECK_NEAR(stream_rate(&p, 4096, 1, PM_LINK_LOGGP), 1 / 0.2, 0.3);
  FILE *file = tmpfile();
  CHECK(file && pm_platform_read(ranges_text, strlen(ranges_text), &p, NULL, 0) == PM_OK && pm_platform_write(&p, file) == PM_OK);
  rewind(file);
  const size_t bytes = fread(text, 1, sizeof text, file);
  fclose(file);
  CHECK(pm_platform_read(text, bytes, &q, error, sizeof error) == PM_OK && memcmp(p.loggp_range, q.loggp_range, sizeof p.loggp_range) == 0);
  static const char longs_text[] = "loggp_range 0 100 0 0 0 0\nloggp_range 1000 -400 0 0 0.5 0\nloggp_range 2000 -4000 0 0 1 0";
  CHECK(pm_platform_read(longs_text, strlen(longs_text), &p, error, sizeof error) == PM_OK);
  CHECK_NEAR(time_of(1000, PTL_NI_MATCHING, 0, &desc).put_ns, 99.5, 0.01);
  CHECK_NEAR(time_of(2000, PTL_NI_MATCHING, 0, &desc).put_ns, 0, 0.01); /* -2001 */
  static const char *const bad[] = {"loggp_range 0 1 1 1 1", "loggp_range 0 1 1 1 1 1 1", "loggp_range -1 1 1 1 1 1", "loggp_range 0 1 1 1 -1 1", "loggp_range 0 1 1 1 1 nan",
                                    "loggp_range 5 1 1 1 1 1\nloggp_range 5 1 1 1 1 1", "loggp_range 0 1 1 1 1 1 0 1 1", "loggp_range 0 x 1 1 1 1"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) CHECK(pm_platform_read(bad[i], strlen(bad[i]), &q, error, sizeof error) == PM_E_PLATFORM && strstr(error, "line ") && strstr(error, ": loggp_range: "));
  CHECK(pm_platform_read("loggp_range 0 1 x 1 1 1", 23, &q, error, sizeof error) == PM_E_PLATFORM && strstr(error, "O_NS"));
}
static void short_after_long_body(void *unused) {
  side s_, *s = &s_;
  (void)unused;
  side_open(s, PTL_NI_MATCHING, 0, PTL_MD_EVENT_SUCCESS_DISABLE);
  append(s, entry(s->memory, sizeof s->memory, 0, PTL_ME_OP_PUT | PTL_ME_EVENT_LINK_DISABLE), PTL_PRIORITY_LIST, NULL);
  pm_barrier();
  for (int i = 0; i < 20 && pm_rank() == 0; i++) CHECK(PtlPut(s->md, 0, i % 2 ? 1 : 1000, PTL_NO_ACK_REQ, pm_process_id(1), 3, 0, 0, NULL, (ptl_hdr_data_t)i) == PTL_OK);
  for (int i = 0; i < 20 && pm_rank() == 1; i++) {
    ptl_event_t e;
    CHECK(PtlEQWait(s->eq, &e) == PTL_OK && e.type == PTL_EVENT_PUT && e.hdr_data == (ptl_hdr_data_t)i);
  }
  pm_barrier();
  side_close(s);
}
/* A message of the range with the shorter way overtakes no longer one of its pair. */
static void loggp_ranges_keep_the_order(void) {
  pm_platform p;
  CHECK(pm_platform_read(ranges_text, strlen(ranges_text), &p, NULL, 0) == PM_OK);
  p.loggp_range[1].noise_count = 0;
  run_world(2, short_after_long_body, &(pm_world_desc){.platform = &p, .link = PM_LINK_LOGGP});
}
static void noisy_body(void *count) { /* one after the other: how many took twice the way; then many at once */
  side s_, *s = &s_;
  side_open(s, PTL_NI_MATCHING, 0, PTL_MD_EVENT_SUCCESS_DISABLE);
  append(s, entry(s->memory, sizeof s->memory, 0, PTL_ME_OP_PUT | PTL_ME_EVENT_LINK_DISABLE), PTL_PRIORITY_LIST, NULL);
  for (int i = 0; i < 400; i++) {
    pm_barrier();
    const int64_t t_ns = pm_now_ns();
    if (pm_rank() == 0)
      CHECK(put(s, 1, 1000, PTL_NO_ACK_REQ, 0, 0, 0) == PTL_OK);
    else {
      EXPECT(s, PUT);
      const double d_ns = (double)(pm_now_ns() - t_ns) - 30 - 70;
      CHECK(fabs(d_ns - 3099.9) < 2 || fabs(d_ns - 2 * 3099.9 - 100) < 2); /* twice the overheads too */
      *(int *)count += d_ns > 4000;
    }
  }
  pm_barrier();
  for (int i = 0; i < 100 && pm_rank() == 0; i++) CHECK(PtlPut(s->md, 0, 1000, PTL_NO_ACK_REQ, pm_process_id(1), 3, 0, 0, NULL, (ptl_hdr_data_t)i) == PTL_OK);
  for (int i = 0; i < 100 && pm_rank() == 1; i++) {
    ptl_event_t e;
    CHECK(PtlEQWait(s->eq, &e) == PTL_OK && e.type == PTL_EVENT_PUT && e.hdr_data == (ptl_hdr_data_t)i);
  }
  pm_barrier();
  side_close(s);
}
static void loggp_noise_is_its_mixture(void) { /* and puts no message before another of its pair */
  pm_platform p;
  int count = 0;
  CHECK(pm_platform_read(ranges_text, strlen(ranges_text), &p, NULL, 0) == PM_OK);
  pm_world_desc desc = {.platform = &p, .link = PM_LINK_LOGGP, .seed = test_seed};
  pm_world *w;
  CHECK(pm_world_create(&desc, &w) == PM_OK && pm_spawn_all(w, noisy_body, &count) == PM_OK && pm_world_run(w) == PM_OK);
  pm_world_destroy(w);
  CHECK(count > 40 && count < 170); /* of 400 a quarter: 100, give or take 8.7 */
}
static void loggp_streams_keep_to_the_wire(void) {
  pm_platform p = pm_platform_bxi2(2);
  CHECK_NEAR(stream_rate(&p, 4096, 1, PM_LINK_LOGGP), 12.5 * 64 / 72, 0.2);
}

static int64_t t_put_ns[200];
static void burst_body(void *unused) {
  side s_, *s = &s_;
  (void)unused;
  side_open(s, PTL_NI_MATCHING, 0, PTL_MD_EVENT_CT_SEND | PTL_MD_EVENT_SUCCESS_DISABLE);
  append(s,
         entry(s->memory, sizeof s->memory, 0,
               PTL_ME_OP_PUT | PTL_ME_EVENT_LINK_DISABLE | PTL_ME_EVENT_COMM_DISABLE),
         PTL_PRIORITY_LIST, NULL);
  pm_barrier();
  ptl_ct_event_t value;
  if (pm_rank() == 0) {
    for (int i = 0; i < 200; i++) {
      CHECK(put(s, 1, 8, PTL_NO_ACK_REQ, 0, 0, 0) == PTL_OK);
      t_put_ns[i] = pm_now_ns();
    }
    CHECK(PtlCTWait(s->ct, 200, &value) == PTL_OK);
  }
  pm_barrier();
  side_close(s);
}
/* 50 ns per call until 16 + 73 commands fill the way; then the NIC's 200 ns and the wire set the pace. */
static void command_queue_holds_the_cpu_back(void) {
  run_world(2, burst_body, NULL);
  CHECK(t_put_ns[50] - t_put_ns[49] == 50);
  CHECK_NEAR((double)(t_put_ns[199] - t_put_ns[150]) / 49, 200 + 72 / 12.5, 1.1);
}

/* ---- faults ------------------------------------------------------------------------------------- */
static void lost_messages_are_sent_again_and_arrive_once_in_order(void) {
  for (int round = 0; round < 6; round++) {
    pm_platform p = pm_platform_bxi2(8);
    pm_world_desc desc = {0};
    desc.link = round % 2 ? PM_LINK_LOGGP : PM_LINK_FLOW;
    desc.seed = test_rand();
    p.e2e_retry_ns = 20000;
    p.e2e_retry_count = 40;
    desc.faults.loss_ratio = 0.05;
    desc.faults.corrupt_ratio = 0.02;
    desc.faults.duplicate_ratio = 0.05;
    desc.faults.delay_ratio = 0.1;
    desc.faults.delay_ns = 5000;
    const pm_stats s = traffic(&p, &desc), again = traffic(&p, &desc);
    CHECK(s.lost_count > 0 && s.resent_count == s.lost_count && s.duplicate_count > 0 &&
          s.undeliverable_count == 0);
    CHECK(s.sent_bytes == s.delivered_bytes && s.hash_id == again.hash_id);
  }
}
static void down_body(void *unused) {
  side s_, *s = &s_;
  (void)unused;
  side_open(s, PTL_NI_MATCHING, 0, 0);
  append(s, entry(s->memory, sizeof s->memory, 0, PTL_ME_OP_PUT | PTL_ME_EVENT_LINK_DISABLE),
         PTL_PRIORITY_LIST, NULL);
  pm_barrier();
  if (pm_rank() == 0) {
    put(s, 1, 100, PTL_ACK_REQ, 0, 0, 0);
    CHECK(EXPECT(s, SEND).ni_fail_type == PTL_NI_UNDELIVERABLE);
    CHECK(EXPECT(s, ACK).ni_fail_type == PTL_NI_UNDELIVERABLE);
    CHECK(pm_now_ns() > 60000 && pm_now_ns() < 70000); /* 1 + 5 tries, 10 us each */
    pm_sleep_ns(1000000);
    put(s, 1, 100, PTL_ACK_REQ, 0, 0, 0); /* up again */
    EXPECT(s, SEND);
    CHECK(EXPECT(s, ACK).ni_fail_type == PTL_NI_OK);
    CHECK(PtlMDRelease(s->md) == PTL_OK);
  }
  pm_barrier();
  if (pm_rank() == 1) EXPECT(s, PUT);
  EXPECT_NOTHING(s);
  side_close(s);
}
static void dead_link_is_reported_not_waited_for(void) {
  pm_platform p = pm_platform_bxi2(2);
  pm_world_desc desc = {0};
  desc.platform = &p;
  p.e2e_retry_ns = 10000;
  desc.faults.down_node = 2;
  desc.faults.d_down_ns = 500000;
  const pm_stats s = run_world(2, down_body, &desc);
  CHECK(s.undeliverable_count == 1 && s.lost_count == 6);
}
static void slow_node_is_slow(void) {
  pm_platform p = pm_platform_bxi2(2);
  pm_world_desc desc = {0};
  desc.platform = &p;
  const double before = time_of(8, PTL_NI_MATCHING, 0, &desc).ack_ns;
  desc.faults.slow_node = 2;
  desc.faults.slow_ratio = 3;
  CHECK_NEAR(time_of(8, PTL_NI_MATCHING, 0, &desc).ack_ns - before, 2 * 2 * 200,
             0.01); /* RX and TX of node 1 */
}

/* ---- traces ------------------------------------------------------------------------------------- */
static void traces_hold_every_step(void) {
  pm_platform p = pm_platform_bxi2(2);
  pm_world_desc desc = {0};
  pm_world *w = NULL;
  desc.platform = &p;
  desc.trace = 1;
  probe.bytes = 8, probe.ni = PTL_NI_MATCHING, probe.get = 0;
  CHECK(pm_world_create(&desc, &w) == PM_OK && pm_spawn_all(w, probe_body, NULL) == PM_OK &&
        pm_world_run(w) == PM_OK);
  size_t count = 0;
  const pm_trace_record *r = pm_trace_records(w, &count);
  static const pm_trace_kind kinds[] = {PM_TRACE_COMMAND, PM_TRACE_PUT, PM_TRACE_PAYLOAD_WRITE,
                                        PM_TRACE_PORTALS_ACK, PM_TRACE_EVENT};
  CHECK(count == 5);
  for (size_t i = 0; i < count && i < 5; i++) {
    CHECK(r[i].kind == kinds[i] && r[i].id == r[0].id && r[i].t_end_ns >= r[i].t_begin_ns &&
          r[i].from_rank == 0 && r[i].to_rank == 1);
    if (i) CHECK(r[i].t_end_ns >= r[i - 1].t_begin_ns);
  }
  char *text = NULL;
  size_t bytes = 0;
  FILE *out = open_memstream(&text, &bytes);
  CHECK(pm_trace_write_csv(w, out) == PM_OK);
  fclose(out);
  size_t lines = 0;
  for (size_t i = 0; i < bytes; i++) lines += text[i] == '\n';
  CHECK(lines == 6 && strncmp(text, "kind,id,from_node,", 18) == 0 &&
        strstr(text, "\nPUT,1,0,1,0,1,8,") != NULL);
  free(text);
  out = open_memstream(&text, &bytes);
  CHECK(pm_trace_write_json(w, out) == PM_OK);
  fclose(out);
  int depth = 0, deepest = 0;
  for (size_t i = 0; i < bytes; i++) {
    depth += (text[i] == '{' || text[i] == '[') - (text[i] == '}' || text[i] == ']');
    deepest = depth > deepest ? depth : deepest;
  }
  CHECK(depth == 0 && deepest == 4 && strstr(text, "\"name\":\"PORTALS_ACK\"") != NULL &&
        strstr(text, ",\n]") == NULL);
  free(text);
  pm_world_destroy(w);
}
static int times_in(const char *text, const char *part) {
  int n = 0;
  for (; (text = strstr(text, part)) != NULL; text += strlen(part)) n++;
  return n;
}
/* Both levels tell the same kinds of steps in the same order, but for LogGP's payload that nobody reads,
   and times that hang together. */
static void logp_traces_have_the_same_kinds(void) {
  for (int get = 0; get < 2; get++) {
    pm_trace_kind kinds[2][16];
    size_t counts[2] = {0, 0};
    for (int link = 0; link < 2; link++) {
      pm_platform p = pm_platform_bxi2(2);
      pm_world_desc desc = {0};
      pm_world *w = NULL;
      desc.platform = &p;
      desc.trace = 1;
      desc.link = link ? PM_LINK_LOGGP : PM_LINK_FLOW;
      probe.bytes = 8, probe.ni = PTL_NI_MATCHING, probe.get = get;
      CHECK(pm_world_create(&desc, &w) == PM_OK && pm_spawn_all(w, probe_body, NULL) == PM_OK &&
            pm_world_run(w) == PM_OK);
      const pm_trace_record *r = pm_trace_records(w, &counts[link]);
      size_t n = 0;
      for (size_t i = 0; i < counts[link] && n < 16; i++) {
        if (!link && (r[i].kind == PM_TRACE_DMA_REQUEST || r[i].kind == PM_TRACE_DMA_PAYLOAD)) continue;
        kinds[link][n++] = r[i].kind;
        CHECK(r[i].t_end_ns >= r[i].t_begin_ns && r[i].id == r[0].id);
        if (r[i].kind == PM_TRACE_PUT && link)
          CHECK(r[i].t_end_ns - r[i].t_begin_ns == p.loggp_latency_ns &&
                r[i].from_node == 0 && r[i].to_node == 1 && r[i].size_bytes == 8);
        if (r[i].kind == PM_TRACE_GET_RESPONSE)
          CHECK(r[i].from_node == 1 && r[i].to_node == 0 && r[i].size_bytes == 8);
      }
      counts[link] = n;
      pm_world_destroy(w);
    }
    CHECK(counts[0] == 5 && counts[1] == 5 && memcmp(kinds[0], kinds[1], 5 * sizeof kinds[0][0]) == 0);
  }
}
/* A put without acknowledgement, or a get, of so many bytes. */
static void quiet_body(void *unused) {
  static unsigned char memory[1 << 20];
  side s;
  ptl_md_t md = {memory, sizeof memory, 0, PTL_EQ_NONE, PTL_CT_NONE};
  ptl_handle_md_t h;
  (void)unused;
  side_open(&s, PTL_NI_MATCHING, 0, 0);
  md.eq_handle = s.eq;
  CHECK(PtlMDBind(s.ni, &md, &h) == PTL_OK);
  append(&s, entry(memory, sizeof memory, 0, PTL_ME_OP_PUT | PTL_ME_OP_GET | PTL_ME_EVENT_LINK_DISABLE), PTL_PRIORITY_LIST, NULL);
  pm_barrier();
  if (pm_rank() == 0 && probe.get) CHECK(PtlGet(h, 0, probe.bytes, pm_process_id(1), 3, 0, 0, NULL) == PTL_OK);
  else if (pm_rank() == 0) CHECK(PtlPut(h, 0, probe.bytes, PTL_NO_ACK_REQ, pm_process_id(1), 3, 0, 0, NULL, 0) == PTL_OK);
  pm_sleep_ns(1000000);
  pm_barrier();
  side_close(&s);
}
/* Inline: not at all; PIO: by the CPU, before the command; DMA: asked for, read, then (a long one
   meanwhile) on the wire. A get's is read at the target. */
static void traces_show_how_payload_is_read(void) {
  static const size_t sizes[] = {8, 300, 4000, 1 << 20};
  for (int get = 0; get < 2; get++)
    for (int i = 0; i < 4; i++) {
      pm_platform p = pm_platform_bxi2(2);
      pm_world_desc desc = {0};
      pm_world *w = NULL;
      size_t count = 0;
      const pm_trace_record *at[PM_TRACE_LAST] = {NULL};
      desc.platform = &p;
      desc.trace = 1;
      probe.bytes = sizes[i], probe.get = get;
      CHECK(pm_world_create(&desc, &w) == PM_OK && pm_spawn_all(w, quiet_body, NULL) == PM_OK && pm_world_run(w) == PM_OK);
      const pm_trace_record *r = pm_trace_records(w, &count);
      for (size_t k = 0; k < count; k++) {
        CHECK(r[k].id == 1 && (!at[r[k].kind] || r[k].kind == PM_TRACE_EVENT));
        at[r[k].kind] = &r[k];
      }
      const pm_trace_record *moves = at[get ? PM_TRACE_GET_RESPONSE : PM_TRACE_PUT], *asks = at[PM_TRACE_DMA_REQUEST], *reads = at[PM_TRACE_DMA_PAYLOAD],
                            *writes = at[PM_TRACE_PIO_PAYLOAD];
      CHECK(moves && !at[PM_TRACE_PORTALS_ACK] && (at[PM_TRACE_E2E_ACK] != NULL) == !get);
      CHECK((writes != NULL) == (!get && i == 1) && (asks != NULL) == (get || i > 1) && (reads != NULL) == (asks != NULL));
      if (writes) CHECK(writes->t_end_ns > writes->t_begin_ns && writes->t_end_ns <= at[PM_TRACE_COMMAND]->t_begin_ns && writes->size_bytes == sizes[i] && writes->from_node == 0);
      if (reads && moves)
        CHECK(asks->t_begin_ns + p.pci_latency_ns == asks->t_end_ns && asks->t_end_ns == reads->t_begin_ns && reads->from_node == get && asks->from_node == get &&
              reads->size_bytes == sizes[i] && reads->t_begin_ns < moves->t_begin_ns && (i < 3 ? reads->t_end_ns == moves->t_begin_ns || sizes[i] > (size_t)p.pci_packet_bytes : reads->t_end_ns > moves->t_begin_ns) &&
              reads->t_end_ns <= moves->t_end_ns);
      char *text = NULL;
      size_t bytes = 0;
      FILE *out = open_memstream(&text, &bytes);
      CHECK(pm_trace_write_html(w, out) == PM_OK);
      fclose(out);
      CHECK(times_in(text, "<g class=\"m ") == (int)count && times_in(text, "<g class=\"m DMA_PAYLOAD\"") == (reads != NULL));
      free(text);
      pm_world_destroy(w);
    }
}
/* One arrow per message and answer, a bar per step on a node, every one with its text; well-formed. */
static void page_shows_every_step(void) {
  pm_platform p = pm_platform_bxi2(2);
  pm_world_desc desc = {0};
  pm_world *w = NULL;
  char *text = NULL;
  size_t bytes = 0;
  desc.platform = &p;
  desc.trace = 1;
  probe.bytes = 8, probe.ni = PTL_NI_MATCHING, probe.get = 0;
  CHECK(pm_world_create(&desc, &w) == PM_OK);
  FILE *out = open_memstream(&text, &bytes);
  CHECK(pm_trace_write_html(w, out) == PM_OK); /* nothing happened yet: an empty page */
  fclose(out);
  CHECK(times_in(text, "0 of 0 steps") == 1 && times_in(text, "</html>") == 1);
  free(text);
  CHECK(pm_spawn_all(w, probe_body, NULL) == PM_OK && pm_world_run(w) == PM_OK);
  out = open_memstream(&text, &bytes);
  CHECK(pm_trace_write_html(w, out) == PM_OK);
  fclose(out);
  CHECK(times_in(text, "5 of 5 steps") == 1 && times_in(text, "<g class=\"m ") == 5 &&
        times_in(text, "<title>") == 6 && times_in(text, "<polygon") == 2 && times_in(text, "<rect") == 3);
  CHECK(times_in(text, "<title>PUT of message 1, process 0 to 1, 8 bytes, ") == 1 &&
        times_in(text, "<title>PORTALS_ACK of message 1, process 1 to 0, 0 bytes, ") == 1);
  CHECK(times_in(text, ">process 0 (node 0)<") == 1 && times_in(text, ">process 1 (node 1)<") == 1);
  CHECK(!strstr(text, "<script") && !strstr(text, "src=") && !strstr(text, "@import") &&
        times_in(text, "http") == 1); /* the name of SVG itself */
  /* every element is closed: by itself or by its end */
  int open = 0, closed = 0;
  for (const char *s = text; (s = strchr(s, '<')) != NULL; s++) {
    const char *end = strchr(s, '>');
    if (!end) break;
    if (s[1] == '/') closed++;
    else if (end[-1] != '/' && s[1] != '!' && strncmp(s, "<meta", 5) != 0) open++;
  }
  CHECK(open == closed && open > 20);
  free(text);
  pm_world_destroy(w);
}

/* Lists are searched for one message after the other: so many to the n-th entry need the sum of their searches,
   and others that come meanwhile wait, in order. */
enum { SEARCHES = 16, LIST = 100 };
static void searches_body(void *unused) {
  static side sides[3];
  side *s = &sides[pm_rank()];
  int64_t t_first_ns = 0;
  (void)unused;
  side_open(s, PTL_NI_MATCHING, 0, PTL_MD_EVENT_SEND_DISABLE);
  for (int i = 1; i <= LIST && pm_rank() == 1; i++)
    append(s, entry(s->memory, 8, (ptl_match_bits_t)i, PTL_ME_OP_PUT | PTL_ME_EVENT_LINK_DISABLE | PTL_ME_EVENT_SUCCESS_DISABLE), PTL_PRIORITY_LIST, NULL);
  pm_sleep_ns(100000);
  pm_barrier();
  if (pm_rank() == 0) {
    for (int i = 0; i < SEARCHES; i++) CHECK(put(s, 1, 8, PTL_ACK_REQ, LIST, 0, 0) == PTL_OK);
    for (int i = 0; i < SEARCHES; i++) {
      EXPECT(s, ACK);
      if (!i) t_first_ns = pm_now_ns();
    }
    CHECK_NEAR((double)(pm_now_ns() - t_first_ns), (SEARCHES - 1) * (LIST * 10 + 7), 100);
  }
  if (pm_rank() == 2) { /* its own search is short, but comes after those before it */
    const int64_t t_ns = pm_now_ns();
    pm_sleep_ns(5000);
    CHECK(put(s, 1, 8, PTL_ACK_REQ, 1, 0, 0) == PTL_OK);
    EXPECT(s, ACK);
    CHECK(pm_now_ns() - t_ns > 5000 + 7000);
  }
  pm_barrier();
  side_close(s);
}
static void searches_go_one_after_another(void) {
  pm_platform p = pm_platform_bxi2(3);
  pm_world_desc desc = {0};
  p.nic_match_ns = 10, p.nic_search_ns = 7;
  desc.platform = &p;
  run_world(3, searches_body, &desc);
  desc.link = PM_LINK_PACKET;
  run_world(3, searches_body, &desc);
}
int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(completion_times_are_exact);
  RUN(flows_that_join_end_when_their_bytes_are_through);
  RUN(searches_go_one_after_another);
  RUN(ways_over_links_one_by_one_are_bounded);
  RUN(dragonfly_uses_all_its_cables);
  RUN(small_put_takes_the_sum_of_its_steps);
  RUN(long_put_runs_at_the_rate_of_the_link);
  RUN(payload_paths_change_where_they_should);
  RUN(targets_are_told_of_payload_in_memory);
  RUN(performance_switches_take_their_part_away);
  RUN(loggp_is_its_formula);
  RUN(five_patterns_have_their_shape);
  RUN(ways_that_messages_keep_are_those_of_the_world);
  RUN(bytes_arrive_once_in_order_and_reproducibly);
  RUN(few_messages_in_flight_make_a_flood_slower);
  RUN(command_queue_holds_the_cpu_back);
  RUN(small_messages_share_links);
  RUN(engines_take_messages_side_by_side);
  RUN(payload_is_fetched_ahead);
  RUN(written_payload_may_be_posted);
  RUN(acknowledgements_take_wire_from_flows);
  RUN(loggp_ranges_are_their_lines);
  RUN(loggp_ranges_keep_the_order);
  RUN(loggp_noise_is_its_mixture);
  RUN(loggp_streams_keep_to_the_wire);
  RUN(lost_messages_are_sent_again_and_arrive_once_in_order);
  RUN(dead_link_is_reported_not_waited_for);
  RUN(slow_node_is_slow);
  RUN(traces_hold_every_step);
  RUN(logp_traces_have_the_same_kinds);
  RUN(traces_show_how_payload_is_read);
  RUN(page_shows_every_step);
  return TEST_END();
}
