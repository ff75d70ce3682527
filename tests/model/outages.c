/* Cables and nodes that fail for a while: ways go around them, what was lost comes once, nothing else changes. */
#include "src/portals/outages.c"
#include "tests/model/pieces.h"
#include "tests/model/ptl.h"

static const char *const machines[] = {
    "node_count 6\n", "node_count 16\ntopology fattree\ntopo 2 4 4 1 2\n", "node_count 24\ntopology fattree\ntopo 3 2 3 4 2 2 3\n",
    "node_count 18\ntopology torus\ntopo 3 3 3 2\n", "node_count 5\ntopology torus\ntopo 1 5\n", "node_count 24\ntopology dragonfly\ntopo 3 4 2 2\n",
    "node_count 16\ntopology dragonfly\ntopo 2 4 2 3\n", "node_count 6\ntopology dragonfly\ntopo 3 2 1 1\n", "node_count 3\ntopology file\nlink h0 a 1e10 90\nlink h1 a 3e9 10\nlink h2 b 1e10 50\nlink a b 2e9 400\nlink a b 2e9 400\n"};
enum { MACHINES = 9 };
static pm_platform machine(int k) {
  pm_platform p;
  char error[200] = "";
  CHECK(!pm_platform_read(machines[k], strlen(machines[k]), &p, error, sizeof error));
  return p;
}
static pm_world *world(const pm_platform *p, const pm_outage *outages, int count) {
  pm_world_desc desc = {0};
  pm_world *w = NULL;
  desc.platform = p;
  desc.faults.outages = outages;
  desc.faults.outage_count = count;
  CHECK(pm_world_create(&desc, &w) == PM_OK);
  return w;
}
static void ways_are_chains_of_links(void) {
  for (int k = 0; k < MACHINES; k++) {
    pm_platform p = machine(k);
    pm_world *w = world(&p, NULL, 0);
    uint32_t way[64];
    int ends[2], back[2];
    for (int a = 0; a < p.node_count; a++)
      for (int b = 0; b < p.node_count; b++) {
        int at = a;
        const int n = pm_route(w, a, b, way, 64, NULL);
        for (int i = 0; i < n; i++) {
          pm__link_ends(w, way[i], ends);
          CHECK(ends[0] == at);
          at = ends[1];
        }
        CHECK(at == b);
      }
    for (int i = 0; i < pm_link_count(w); i++) {
      const uint32_t other = pm__link_back(w, (uint32_t)i);
      pm__link_ends(w, i, ends), pm__link_ends(w, other, back);
      CHECK(ends[0] != ends[1] || ends[0] >= p.node_count); /* what is no cable is at no node */
      CHECK(ends[0] == back[1] && ends[1] == back[0] && pm__link_back(w, other) == (uint32_t)i);
    }
    pm_world_destroy(w);
    pm_platform_free(&p);
  }
}
static int64_t t_done_ns;
static void done(void *w) { t_done_ns = pm_world_now_ns((pm_world *)w); }
static int64_t flow_ns(const pm_platform *p, const pm_outage *outages, int count, int from, int to) {
  pm_world *w = world(p, outages, count);
  t_done_ns = -1;
  CHECK(pm_flow_start(w, from, to, 1e7, done, w) == PM_OK && pm_world_run(w) == PM_OK);
  pm_world_destroy(w);
  return t_done_ns;
}
/* 10 MB take 900 us; each cable of the way fails at 300 us for 5 ms: around it, or after it. */
static void flows_go_on_over_another_way(void) {
  for (int k = 0; k < MACHINES - 1; k++) {
    pm_platform p = machine(k);
    pm_world *w = world(&p, NULL, 0);
    const int from = 0, to = (int)p.node_count - 1;
    uint32_t way[64];
    const int n = pm_route(w, from, to, way, 64, NULL);
    pm_world_destroy(w);
    CHECK(flow_ns(&p, NULL, 0, from, to) == 900000);
    for (int i = 0; i < n; i++) {
      const int is_end = i == 0 || i == n - 1, has_one = p.topology != PM_TOPO_FATTREE || p.topo[p.topo[0] + 1] == 1;
      pm_outage o = {0, (int)(test_below(2) ? way[i] : way[i] ^ (way[i] < 2 * p.node_count)), 300000, 5000000, PM_OUTAGE_CUT};
      CHECK(flow_ns(&p, &o, 1, from, to) == (is_end && has_one ? 5900000 : 900000));
      o.t_down_ns = 0;
      CHECK(flow_ns(&p, &o, 1, from, to) == (is_end && has_one ? 5900000 : 900000));
      o.d_down_ns = 0;
      CHECK(flow_ns(&p, &o, 1, from, to) == (is_end && has_one ? -1 : 900000));
      o.t_down_ns = 900001;
      CHECK(flow_ns(&p, &o, 1, from, to) == 900000);
    }
  }
}
/* What pm_route says is the way of now: without the cable that is down, nothing where there is none, and the old
   one after the repair. */
static void compare_ways(void *world_) {
  pm_world *w = (pm_world *)world_;
  const pm_outage o = w->desc.faults.outages[0];
  const int is_down = pm_world_now_ns(w) >= o.t_down_ns && pm_world_now_ns(w) < o.t_down_ns + o.d_down_ns;
  uint32_t way[64], fixed[64];
  int64_t latency_ns, fixed_ns;
  pm_world *calm = world(&w->plat, NULL, 0);
  for (int a = 0; a < (int)w->plat.node_count; a++)
    for (int b = 0; b < (int)w->plat.node_count; b++) {
      if (a == b) continue;
      const int n = pm_route(w, a, b, way, 64, &latency_ns), m = pm_route(calm, a, b, fixed, 64, &fixed_ns);
      int hit = 0;
      for (int i = 0; i < m; i++) hit |= (int)fixed[i] == o.link || pm__link_back(w, fixed[i]) == (uint32_t)o.link;
      if (!is_down || !hit) CHECK(n == m && !memcmp(way, fixed, (size_t)m * sizeof *way) && latency_ns == fixed_ns);
      if (is_down && hit && n < 0) CHECK(pm__is_cut(w, a, b, w->now_ps));
      for (int i = 0, at = a, ends[2]; i < n && is_down; i++) {
        CHECK((int)way[i] != o.link && pm__link_back(w, way[i]) != (uint32_t)o.link);
        pm__link_ends(w, way[i], ends);
        CHECK(ends[0] == at);
        at = ends[1];
        if (i == n - 1) CHECK(at == b);
      }
    }
  pm_world_destroy(calm);
}
static void ways_that_are_told_are_those_of_now(void) {
  for (int k = 0; k < MACHINES - 1; k++) {
    pm_platform p = machine(k);
    pm_outage o = {0, 0, 1000, 1000, PM_OUTAGE_CUT};
    pm_world *w = world(&p, NULL, 0);
    o.link = (int)test_below((uint64_t)pm_link_count(w));
    pm_world_destroy(w);
    w = world(&p, &o, 1);
    for (int64_t t_ns = 500; t_ns < 3000; t_ns += 1000) CHECK(pm_call_at(w, t_ns, compare_ways, w) == PM_OK);
    CHECK(pm_world_run(w) == PM_OK);
    pm_world_destroy(w);
    pm_platform_free(&p);
  }
}
static int64_t t_ack_ns[4];
static size_t put_bytes;
static void puts_in_order(void *unused) {
  static unsigned char memory[2][2000000];
  ptl_handle_ni_t ni;
  ptl_handle_eq_t eq;
  ptl_handle_md_t md;
  ptl_handle_me_t h;
  ptl_pt_index_t pt;
  ptl_event_t e;
  (void)unused;
  CHECK(!PtlInit() && !PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &ni));
  CHECK(!PtlEQAlloc(ni, 64, &eq) && !PtlPTAlloc(ni, 0, eq, 0, &pt));
  if (pm_rank() == 1) {
    ptl_me_t m = entry(memory[1], sizeof memory[1], 0, PTL_ME_OP_PUT | PTL_ME_EVENT_LINK_DISABLE);
    CHECK(!PtlMEAppend(ni, pt, &m, PTL_PRIORITY_LIST, NULL, &h));
  }
  ptl_md_t d = {memory[0], sizeof memory[0], PTL_MD_EVENT_SEND_DISABLE, eq, PTL_CT_NONE};
  CHECK(!PtlMDBind(ni, &d, &md));
  pm_barrier();
  for (int i = 0; i < 4 && pm_rank() == 0; i++) CHECK(!PtlPut(md, 0, i == 3 ? 8 : put_bytes, PTL_ACK_REQ, pm_process_id(1), 0, 0, 0, NULL, (ptl_hdr_data_t)i));
  for (int i = 0; i < 4 && pm_rank() < 2; i++) {
    CHECK(!PtlEQWait(eq, &e) && e.ni_fail_type == PTL_NI_OK && e.type == (pm_rank() ? PTL_EVENT_PUT : PTL_EVENT_ACK));
    CHECK(pm_rank() ? e.hdr_data == (ptl_hdr_data_t)i : 1);
    if (!pm_rank()) t_ack_ns[i] = pm_now_ns();
  }
  pm_barrier();
  PtlFini();
}
/* Three puts of 1 MB, 90 us each, and a small one behind; the cable of a crossbar fails during the second. */
static void lost_messages_come_once_and_in_order(void) {
  for (int level = 0; level < 3; level++) {
    pm_platform p = pm_platform_bxi2(2);
    const pm_outage o = {0, 0, 150000, 1000000, PM_OUTAGE_CUT};
    pm_world_desc desc = {0};
    desc.platform = &p;
    desc.link = level == 2 ? PM_LINK_PACKET : level ? PM_LINK_LOGGP : PM_LINK_FLOW;
    p.e2e_retry_ns = 400000;
    put_bytes = 1000000;
    pm_stats s = run_world(0, puts_in_order, &desc);
    CHECK(s.lost_count == 0 && t_ack_ns[3] < 300000);
    desc.faults.outages = &o;
    desc.faults.outage_count = 1;
    s = run_world(0, puts_in_order, &desc);
    CHECK(s.lost_count >= 2 && s.resent_count == s.lost_count && s.undeliverable_count == 0);
    CHECK(t_ack_ns[0] < 150000 && t_ack_ns[1] > 1150000 && t_ack_ns[3] < 1700000 && s.delivered_bytes == 3000008);
  }
}
static void sleeps(void *unused) { (void)unused, pm_sleep_ns(1000); }
static void waits(void *unused) {
  (void)unused;
  pm_sleep_ns(1000);
  pm_thread_wait("what never comes", -1);
}
static void later_outages_keep_nothing_alive(void) {
  pm_platform p = pm_platform_bxi2(2);
  const pm_outage o[2] = {{0, 0, 1000000000, 1000, PM_OUTAGE_CUT}, {0, 2, 500, 0, PM_OUTAGE_CUT}};
  pm_world *w = world(&p, o, 2);
  CHECK(pm_spawn_all(w, sleeps, NULL) == PM_OK && pm_world_run(w) == PM_OK && pm_world_now_ns(w) == 1000);
  pm_world_destroy(w);
  w = world(&p, o, 2);
  CHECK(pm_spawn_all(w, waits, NULL) == PM_OK && pm_world_run(w) == PM_E_DEADLOCK && pm_world_now_ns(w) == 1000);
  pm_world_destroy(w);
}
static void bad_outages_are_refused(void) {
  pm_platform p = pm_platform_bxi2(2);
  const pm_outage bad[] = {{.link = -1}, {.link = 4}, {.node = 3}, {.node = -1}, {.t_down_ns = -1}, {.d_down_ns = -1}};
  const pm_outage good = {0, 3, 5, 5, PM_OUTAGE_CUT};
  for (int i = 0; i < 9; i++) {
    pm_world_desc desc = {0};
    pm_world *w = NULL;
    desc.platform = &p;
    desc.faults.outages = i < 6 ? &bad[i] : i == 6 ? NULL : &good;
    desc.faults.outage_count = 1;
    if (i == 7) desc.link = PM_LINK_CARRIER;
    CHECK(pm_world_create(&desc, &w) == (i == 8 ? PM_OK : PM_E_INVAL));
    if (i == 8) {
      pm_world_set_link(w, PM_LINK_CARRIER);
      CHECK(strstr(pm_world_error(w), "outages"));
    }
    pm_world_destroy(w);
  }
}
/* One put from node 0 to node 1 at 2 us: when it is there, and how often it was lost. */
static int64_t t_there_ns;
static void one_put(void *unused) {
  static unsigned char memory[2][1000000];
  ptl_handle_ni_t ni;
  ptl_handle_ct_t ct;
  ptl_handle_md_t md;
  ptl_handle_le_t h;
  ptl_pt_index_t pt;
  ptl_ct_event_t v;
  (void)unused;
  CHECK(!PtlInit() && !PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_NO_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &ni));
  CHECK(!PtlCTAlloc(ni, &ct) && !PtlPTAlloc(ni, 0, PTL_EQ_NONE, 0, &pt));
  ptl_le_t l = {memory[1], put_bytes, ct, PTL_UID_ANY, PTL_LE_OP_PUT | PTL_LE_EVENT_CT_COMM};
  const ptl_md_t d = {memory[0], put_bytes, PTL_MD_EVENT_CT_ACK, PTL_EQ_NONE, ct};
  CHECK(!PtlLEAppend(ni, pt, &l, PTL_PRIORITY_LIST, NULL, &h) && !PtlMDBind(ni, &d, &md));
  pm_sleep_ns(2000 - pm_now_ns());
  if (pm_rank() < 2) {
    if (!pm_rank()) CHECK(!PtlPut(md, 0, put_bytes, PTL_CT_ACK_REQ, pm_process_id(1), pt, 0, 0, NULL, 0));
    CHECK(!PtlCTWait(ct, 1, &v) && v.failure == 0);
    if (pm_rank()) t_there_ns = pm_now_ns();
  }
  pm_barrier();
  PtlFini();
}
enum { RETRY_NS = 10000 };
static uint64_t one_lost_count;
static int64_t there_ns(pm_link_model link, const pm_faults *faults, uint64_t seed, size_t bytes) {
  static const char text[] = "node_count 2\ntopology file\nlink h0 a 12.5e9 300\nlink h1 a 12.5e9 300\n";
  pm_platform p;
  pm_world *w = NULL;
  CHECK(!pm_platform_read(text, sizeof text - 1, &p, NULL, 0));
  p.e2e_retry_ns = RETRY_NS, p.e2e_retry_count = 50, p.loggp_latency_ns = 600;
  pm_world_desc desc = {.platform = &p, .link = link, .seed = seed};
  if (faults) desc.faults = *faults;
  put_bytes = bytes, t_there_ns = -1;
  CHECK(pm_world_create(&desc, &w) == PM_OK && pm_spawn_all(w, one_put, NULL) == PM_OK);
  CHECK(pm_world_run(w) == PM_OK);
  const pm_stats s = pm_world_stats(w);
  CHECK(s.lost_count == s.resent_count && s.undeliverable_count == 0 && s.sent_bytes == bytes && s.delivered_bytes == bytes);
  one_lost_count = s.lost_count;
  pm_world_destroy(w);
  pm_platform_free(&p);
  return t_there_ns;
}
static const pm_link_model three_levels[] = {PM_LINK_FLOW, PM_LINK_PACKET, PM_LINK_LOGGP};
/* 1 MB takes 90 us. Whatever fails for a while: what was under way is lost, is tried again each 10 us from then on, and
   takes its time again when the way is up. At all levels, to a microsecond. */
static void what_fails_on_the_way_is_sent_again_in_its_time(void) {
  static const int64_t times[][3] = {{5000, 85000, 95000}, {5000, 12000, 25000}, {50000, 30000, 80000}, {50000, 95000, 150000}, {80000, 2000, 90000}, {0, 11000, 12000}, {100000, 50000, 0}};
  for (int l = 0; l < 3; l++) {
    const int64_t t_calm_ns = there_ns(three_levels[l], NULL, 0, 1000000);
    CHECK_NEAR((double)t_calm_ns, 93000, 1500);
    for (int i = 0; i < 7; i++)
      for (int k = 0; k < 6; k++) {
        const pm_outage o = {k < 2 ? 0 : 1 + k % 2, k < 2 ? 3 * k : 0, times[i][0], times[i][1], k == 4 ? PM_OUTAGE_FREEZE : PM_OUTAGE_CUT};
        const pm_faults f = k == 5 ? (pm_faults){.down_node = 2, .t_down_ns = o.t_down_ns, .d_down_ns = o.d_down_ns} : (pm_faults){.outages = &o, .outage_count = 1};
        const int64_t t_ns = there_ns(three_levels[l], &f, 0, 1000000), t_again_ns = times[i][2] ? times[i][2] + t_calm_ns - 2000 : t_calm_ns;
        if (k == 4 && i == 5) continue; /* who sends stands still until then */
        CHECK_NEAR((double)t_ns, (double)t_again_ns, 1000);
      }
  }
}
/* Short ones are on the way for 600 ns: what fails in these loses them too. (Their own node has sent them in 11 ns; at
   the packet level what is on a cable arrives.) */
static void what_is_short_is_lost_on_its_way_too(void) {
  for (int l = 0; l < 3; l++) {
    const int64_t t_calm_ns = there_ns(three_levels[l], NULL, 0, 100);
    for (int node = 0; node < 3; node++) {
      int lost = 0;
      for (int64_t t_ns = 2000; t_ns < t_calm_ns; t_ns += 50) {
        const pm_outage o = {node, 2, t_ns, l == 1 ? 50 : 10, PM_OUTAGE_CUT};
        const pm_faults f = {.outages = &o, .outage_count = 1};
        const int64_t there = there_ns(three_levels[l], &f, 0, 100);
        CHECK(there == t_calm_ns || (there >= t_calm_ns + RETRY_NS && there < t_calm_ns + RETRY_NS + 620 && one_lost_count == 1));
        lost += there > t_calm_ns;
      }
      if (l == 1) CHECK(lost == 1 + (node == 2)); /* where it sets out; at the NIC that is cut off, too */
      else if (node == 1) CHECK(lost <= 1);
      else CHECK(lost >= 11 && lost <= 13);
    }
  }
}
/* What is lost by chance took its time, and takes it again. */
static void what_is_lost_by_chance_takes_its_time_again(void) {
  for (int l = 0; l < 3; l++) {
    const int64_t t_calm_ns = there_ns(three_levels[l], NULL, 0, 1000000);
    double most = 0;
    for (uint64_t seed = 1; seed < 12; seed++) {
      const pm_faults f = {.loss_ratio = 0.5};
      const double again = (double)(there_ns(three_levels[l], &f, seed, 1000000) - t_calm_ns) / (90000 + RETRY_NS);
      CHECK_NEAR(again, floor(again + 0.5), 0.02 * (1 + again));
      CHECK(again < (double)one_lost_count + 0.5); /* the acknowledgement may be lost too */
      if (again > most) most = again;
    }
    CHECK(most > 1.5);
  }
}
/* A node of a file that is a router too takes what goes through it down with it; pm_flow_start knows nodes as well. */
static void a_node_takes_its_cables_with_it(void) {
  static const char text[] = "node_count 3\ntopology file\nlink h0 h1 12.5e9 100\nlink h1 h2 12.5e9 100\nlink h0 a 12.5e9 100\nlink a b 12.5e9 100\nlink b h2 12.5e9 100\n";
  pm_platform p;
  CHECK(!pm_platform_read(text, sizeof text - 1, &p, NULL, 0));
  const pm_outage o[] = {{2, 0, 300000, 100000, PM_OUTAGE_CUT}, {2, 0, 0, 0, PM_OUTAGE_FREEZE}, {2, 0, 300000, 0, PM_OUTAGE_CRASH}, {2, 0, 300000, 0, PM_OUTAGE_STOP}};
  static const int64_t t_done[][2] = {{900000, 1000000}, {900000, -1}, {900000, -1}, {900000, 900000}};
  for (int i = 0; i < 4; i++)
    for (int to = 1; to < 3; to++) {
      const pm_outage both[] = {{0, 4, 5000000, 1, PM_OUTAGE_CUT}, o[i]};
      CHECK(flow_ns(&p, both, 2, 0, to) == t_done[i][to == 1]);
    }
  pm_world *w = world(&p, &o[1], 1);
  uint32_t way[64];
  int64_t latency_ns;
  CHECK(pm_route(w, 0, 2, way, 64, &latency_ns) == 3 && latency_ns == 300 && pm_route(w, 0, 1, way, 64, NULL) < 0);
  pm_world_destroy(w);
  pm_platform_free(&p);
}
/* Everybody sends to everybody while cables fail and are repaired: each message once, in order, whole. */
enum { EACH = 12, MOST_NODES = 24, LONGEST = 30000 };
static int sizes[MOST_NODES][EACH], peers[MOST_NODES][EACH];
static unsigned char letters[LONGEST + 256];
static void crowd_body(void *unused) {
  const int me = pm_rank(), n = pm_size();
  int coming = 0, acks = 0, last[MOST_NODES];
  ptl_handle_ni_t ni;
  ptl_handle_eq_t eq, told;
  ptl_handle_md_t md;
  ptl_handle_me_t h;
  ptl_pt_index_t pt;
  ptl_event_t e;
  (void)unused;
  CHECK(!PtlInit() && !PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &ni));
  CHECK(!PtlEQAlloc(ni, 4 * EACH, &eq) && !PtlEQAlloc(ni, MOST_NODES * EACH, &told) && !PtlPTAlloc(ni, 0, told, 0, &pt));
  ptl_me_t m = entry(NULL, 0, 0, PTL_ME_OP_PUT | PTL_ME_EVENT_LINK_DISABLE);
  CHECK(!PtlMEAppend(ni, pt, &m, PTL_PRIORITY_LIST, NULL, &h));
  const ptl_md_t d = {letters, sizeof letters, PTL_MD_EVENT_SEND_DISABLE, eq, PTL_CT_NONE};
  CHECK(!PtlMDBind(ni, &d, &md));
  for (int p = 0; p < n; p++) {
    last[p] = -1;
    for (int i = 0; i < EACH; i++) coming += peers[p][i] == me;
  }
  pm_barrier();
  for (int i = 0; i < EACH; i++) CHECK(!PtlPut(md, 0, (ptl_size_t)sizes[me][i], PTL_ACK_REQ, pm_process_id(peers[me][i]), 0, 0, 0, NULL, (ptl_hdr_data_t)(me * EACH + i)));
  for (; acks < EACH; acks++) CHECK(!PtlEQWait(eq, &e) && e.type == PTL_EVENT_ACK && e.ni_fail_type == PTL_NI_OK);
  for (; coming > 0; coming--) {
    CHECK(!PtlEQWait(told, &e) && e.type == PTL_EVENT_PUT);
    const int p = (int)e.hdr_data / EACH, i = (int)e.hdr_data % EACH;
    CHECK(p < n && peers[p][i] == me && i > last[p] && e.rlength == (ptl_size_t)sizes[p][i]);
    last[p] = i;
  }
  pm_barrier();
  CHECK(PtlEQGet(told, &e) == PTL_EQ_EMPTY && PtlEQGet(eq, &e) == PTL_EQ_EMPTY);
  PtlFini();
}
static void every_level_brings_all_through_outages(void) {
  uint64_t lost = 0, level_lost[3] = {0};
  for (int round = 0; round < test_rounds(90); round++) {
    static const pm_link_model levels[] = {PM_LINK_PACKET, PM_LINK_FLOW, PM_LINK_LOGGP};
    const int level = round % 5 < 3 ? 0 : round % 5 - 2;
    pm_platform p = machine(round % MACHINES);
    pm_outage outages[6];
    pm_world_desc desc = {0};
    p.nic_count = round % 2 ? 1 : 1 + (int64_t)test_below(3);
    p.pci_root_count = 1 + (int64_t)test_below((uint64_t)p.nic_count);
    p.rail_split_bytes = test_below(2) ? 5000 : 0;
    pm_world *w = world(&p, NULL, 0);
    const int links = pm_link_count(w), n = (int)p.node_count;
    pm_world_destroy(w);
    p.e2e_retry_ns = 1000 + (int64_t)test_below(20000), p.e2e_retry_count = 200;
    p.packet_bytes = 256 + (int64_t)test_below(4000);
    p.packet_routing = (int64_t)test_below(3);
    for (int i = 0; i < 6; i++) {
      outages[i] = (pm_outage){0, (int)test_below((uint64_t)links), (int64_t)test_below(30000), 1 + (int64_t)test_below(60000), PM_OUTAGE_CUT};
      if (test_below(8) == 0) outages[i].node = 1 + (int)test_below((uint64_t)n);
    }
    for (int k = 0; k < n; k++)
      for (int i = 0; i < EACH; i++) sizes[k][i] = (int)test_below(test_below(2) ? 700 : LONGEST), peers[k][i] = (int)test_below((uint64_t)n);
    desc.platform = &p, desc.link = levels[level], desc.seed = test_rand();
    desc.faults.outages = outages, desc.faults.outage_count = 1 + (int)test_below(6);
    const pm_stats a = run_world(0, crowd_body, &desc), b = run_world(0, crowd_body, &desc);
    CHECK(a.hash_id == b.hash_id && a.undeliverable_count == 0 && a.lost_count == a.resent_count);
    lost += a.lost_count;
    level_lost[level] += a.lost_count;
    pm_platform_free(&p);
  }
  CHECK(lost > 0 && level_lost[0] > 0);
}
/* A fat tree with two ways up: when the cable of one fails in the middle of a stream, packets turn to the other,
   nothing is lost, and a stream alone takes no longer. */
static void packets_turn_where_their_cable_is_down(void) {
  for (int64_t routing = 0; routing < 2; routing++) {
    pm_platform p;
    char error[200] = "";
    const char text[] = "node_count 2\ntopology fattree\ntopo 2 1 2 1 2\n"; /* each node has a switch of its own */
    pm_world_desc desc = {0};
    uint32_t way[64];
    CHECK(!pm_platform_read(text, sizeof text - 1, &p, error, sizeof error));
    p.packet_routing = routing;
    p.wire_latency_ns = 20000, p.packet_input_bytes = 1 << 22; /* a hundred packets have set out when it fails */
    desc.platform = &p, desc.link = PM_LINK_PACKET;
    pm_world *w = world(&p, NULL, 0);
    CHECK(pm_route(w, 0, 1, way, 64, NULL) == 4);
    pm_world_destroy(w);
    put_bytes = 1000000;
    run_world(0, puts_in_order, &desc);
    const int64_t t_calm_ns = t_ack_ns[3];
    for (int hop = 1; hop < 3; hop++) { /* up and down between the switches */
      const pm_outage o = {0, (int)way[hop], 150000, 0, PM_OUTAGE_CUT};
      desc.faults.outages = &o, desc.faults.outage_count = 1;
      pm_link_bin bins[PM_LINK_BINS];
      desc.link_use = true;
      CHECK(pm_world_create(&desc, &w) == PM_OK && pm_spawn_all(w, puts_in_order, NULL) == PM_OK && pm_world_run(w) == PM_OK);
      const pm_stats s = pm_world_stats(w);
      CHECK(s.delivered_bytes == 3000008 && s.undeliverable_count == 0 && s.lost_count == 0);
      double before = 0, after = 0;
      for (int i = pm_link_use(w, (int)way[hop], bins, PM_LINK_BINS) - 1; i >= 0; i--)
        *(bins[i].t_begin_ns < 151000 ? &before : &after) += bins[i].use_ratio; /* one packet may be on it */
      CHECK(before > 0 && after <= 0);
      pm_world_destroy(w);
      CHECK_NEAR((double)t_ack_ns[3], (double)t_calm_ns, 0.01 * (double)t_calm_ns);
    }
  }
}
/* Where the cable behind the switch is down, a packet's head is dropped while its tail still leaves the NIC: what
   follows it comes all the same. */
static void what_is_dropped_has_left_its_nic(void) {
  pm_platform p = pm_platform_bxi2(2);
  const pm_outage o = {0, 2, 0, 200000, PM_OUTAGE_CUT};
  pm_world_desc desc = {0};
  p.packet_bytes = 16384, p.wire_latency_ns = 10, p.switch_latency_ns = 10, p.e2e_retry_ns = 50000;
  desc.platform = &p, desc.link = PM_LINK_PACKET;
  desc.faults.outages = &o, desc.faults.outage_count = 1;
  put_bytes = 16000;
  const pm_stats s = run_world(0, puts_in_order, &desc);
  CHECK(s.delivered_bytes == 3 * 16000 + 8 && s.lost_count > 0);
  CHECK(t_ack_ns[0] >= 200000 && t_ack_ns[3] < 300000);
}
/* What all ways through a switch share stands in their ways; while it is down they lead around the switch. */
static int switch_way[8], switch_way_count;
static void look_at_way(void *w) {
  uint32_t way[64];
  int64_t latency_ns = 0;
  switch_way_count = pm_route((pm_world *)w, 0, 1, way, 64, &latency_ns);
  for (int i = 0; i < switch_way_count && i < 8; i++) switch_way[i] = (int)way[i] / 2;
  CHECK(latency_ns == (switch_way_count == 3 ? 27 : 45));
}
static void a_switch_that_is_down_is_gone_around(void) {
  static const char text[] = "node_count 2\ntopology file\nlink h0 a 1e9 10\nlink h1 a 1e9 10\nlink a a 1e9 7\nlink h0 b 1e9 10\nlink b c 1e9 20\nlink c h1 1e9 10\nlink c c 1e9 5\n";
  static const int first[] = {0, 2, 1}, around[] = {3, 4, 6, 5};
  const pm_outage o = {.link = 4, .t_down_ns = 100, .d_down_ns = 100};
  pm_platform p;
  CHECK(pm_platform_read(text, sizeof text - 1, &p, NULL, 0) == PM_OK);
  pm_world *w = world(&p, &o, 1);
  for (int t_ns = 50; t_ns < 300; t_ns += 100) {
    const bool is_down = t_ns == 150;
    CHECK(!pm_call_at(w, t_ns, look_at_way, w) && pm_world_run(w) == PM_OK);
    CHECK(switch_way_count == (is_down ? 4 : 3) && memcmp(switch_way, is_down ? around : first, (size_t)switch_way_count * sizeof(int)) == 0);
  }
  pm_world_destroy(w);
  pm_platform_free(&p);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(ways_are_chains_of_links);
  RUN(flows_go_on_over_another_way);
  RUN(a_switch_that_is_down_is_gone_around);
  RUN(ways_that_are_told_are_those_of_now);
  RUN(lost_messages_come_once_and_in_order);
  RUN(what_fails_on_the_way_is_sent_again_in_its_time);
  RUN(what_is_short_is_lost_on_its_way_too);
  RUN(what_is_lost_by_chance_takes_its_time_again);
  RUN(a_node_takes_its_cables_with_it);
  RUN(later_outages_keep_nothing_alive);
  RUN(bad_outages_are_refused);
  RUN(every_level_brings_all_through_outages);
  RUN(packets_turn_where_their_cable_is_down);
  RUN(what_is_dropped_has_left_its_nic);
  return TEST_END();
}
