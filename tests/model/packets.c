/* The packet level: what it costs where nobody stands in the way, what queues, back pressure and adaptive
   routing do where somebody does, and that nothing is lost, overtaken or stuck. */
#include "tests/model/ptl.h"

/* One put from each node to target[node] (itself: none), so many messages of so many bytes, with payload that
   is looked at; rates are payload in GB/s until the last message of all, or of one node. */
enum { NODES = 72 };
static struct {
  int target[NODES], messages, checks;
  size_t bytes;
  unsigned char *memory[NODES];
  double t_s[NODES]; /* when the last message for a node was there */
  int expected[NODES];
} run;
static void traffic_body(void *unused) {
  ptl_handle_ni_t ni;
  ptl_handle_eq_t eq;
  ptl_handle_any_t h, md;
  ptl_pt_index_t pt;
  const int me = pm_rank(), n = pm_size();
  uint64_t next[NODES] = {0};
  (void)unused;
  CHECK(PtlInit() == PTL_OK && PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &ni) == PTL_OK);
  CHECK(PtlEQAlloc(ni, 1 << 16, &eq) == PTL_OK && PtlPTAlloc(ni, 0, eq, 0, &pt) == PTL_OK);
  ptl_me_t all = entry(run.memory[me], (size_t)n * run.bytes, 0, PTL_ME_OP_PUT | PTL_ME_EVENT_LINK_DISABLE);
  unsigned char *const mine = run.memory[me] + (size_t)n * run.bytes;
  ptl_md_t d = {mine, run.bytes, PTL_MD_EVENT_SUCCESS_DISABLE, eq, PTL_CT_NONE};
  CHECK(PtlMEAppend(ni, pt, &all, PTL_PRIORITY_LIST, NULL, &h) == PTL_OK && PtlMDBind(ni, &d, &md) == PTL_OK);
  for (size_t k = 0; k < run.bytes; k++) mine[k] = (unsigned char)((size_t)me * 31 + k);
  pm_barrier();
  if (run.target[me] != me)
    for (int i = 0; i < run.messages; i++)
      CHECK(PtlPut(md, 0, run.bytes, PTL_NO_ACK_REQ, pm_process_id(run.target[me] < 0 ? (me + 1 + i % (n - 1)) % n : run.target[me]), pt, 0, (ptl_size_t)me * run.bytes, NULL, (ptl_hdr_data_t)i) == PTL_OK);
  for (int i = 0; i < run.expected[me]; i++) {
    ptl_event_t e;
    CHECK(PtlEQWait(eq, &e) == PTL_OK && e.type == PTL_EVENT_PUT && e.mlength == run.bytes);
    const int from = (int)e.initiator.phys.nid;
    CHECK(e.hdr_data + 1 > next[from]); /* in order */
    next[from] = e.hdr_data + 1;
    if (run.checks)
      for (size_t k = 0; k < run.bytes; k += 509) CHECK(run.memory[me][(size_t)from * run.bytes + k] == (unsigned char)((size_t)from * 31 + k));
  }
  run.t_s[me] = (double)pm_now_ns() * 1e-9;
  pm_barrier();
  PtlFini();
}
static uint64_t last_hash;
static int64_t first_ns, last_ns; /* on the wire */
static void on_stamp(void *unused, const pm_stamp *s) {
  (void)unused;
  if (s->t_begin_ns < first_ns) first_ns = s->t_begin_ns;
  if (s->t_end_ns > last_ns) last_ns = s->t_end_ns;
}
static const pm_outage *cable_down; /* NULL: none */
static double traffic(const pm_platform *p, pm_link_model link, const int *target, int messages, size_t bytes, int one) {
  const int n = (int)p->node_count;
  pm_world_desc desc = {.platform = p, .link = link, .seed = 5, .stack_bytes = 131072};
  pm_world *w = NULL;
  double last_s = 0, sum = 0;
  desc.faults.outages = cable_down, desc.faults.outage_count = cable_down != NULL;
  memset(run.expected, 0, sizeof run.expected);
  run.messages = messages, run.bytes = bytes;
  for (int i = 0; i < n; i++) {
    run.target[i] = target ? target[i] : -1;
    run.memory[i] = (unsigned char *)calloc((size_t)n + 1, bytes);
    for (int k = 0; run.target[i] != i && k < messages; k++) run.expected[run.target[i] < 0 ? (i + 1 + k % (n - 1)) % n : run.target[i]]++;
  }
  CHECK(pm_world_create(&desc, &w) == PM_OK && pm_spawn_all(w, traffic_body, NULL) == PM_OK);
  first_ns = INT64_MAX, last_ns = 0;
  pm_on_stamp(w, on_stamp, NULL);
  const pm_status status = pm_world_run(w);
  CHECK(status == PM_OK);
  if (status) printf("  %s\n", pm_world_error(w));
  const pm_stats stats = pm_world_stats(w);
  CHECK(stats.sent_bytes == stats.delivered_bytes);
  last_hash = stats.hash_id;
  pm_world_destroy(w);
  for (int i = 0; i < n; i++) {
    if (run.expected[i] && run.t_s[i] > last_s) last_s = run.t_s[i];
    sum += run.expected[i] * (double)bytes;
    free(run.memory[i]);
  }
  return one >= 0 ? run.expected[one] * (double)bytes / run.t_s[one] * 1e-9 : sum / last_s * 1e-9;
}
static pm_platform tree_of(int down, int leaves, int up) { /* two levels */
  pm_platform p = pm_platform_bxi2(down * leaves);
  p.topology = PM_TOPO_FATTREE;
  p.topo[0] = 2, p.topo[1] = down, p.topo[2] = leaves, p.topo[3] = 1, p.topo[4] = up;
  return p;
}
static pm_platform dragonfly(void) { /* 9 groups of 4 routers, 2 nodes and 2 global links each: one cable per pair */
  pm_platform p = pm_platform_bxi2(72);
  p.topology = PM_TOPO_DRAGONFLY;
  p.topo[0] = 9, p.topo[1] = 4, p.topo[2] = 2, p.topo[3] = 2;
  return p;
}

static void alone_it_is_as_fast_as_a_flow(void) {
  static const size_t sizes[] = {1, 64, 408, 512, 513, 4096, 65536, 1048576};
  pm_platform p[3] = {pm_platform_bxi2(16), tree_of(4, 4, 2), dragonfly()};
  int target[NODES];
  for (int t = 0; t < 3; t++)
    for (int i = 0; i < 8; i++) {
      for (int k = 0; k < NODES; k++) target[k] = k;
      target[0] = (int)p[t].node_count - 1;
      const double flow = traffic(&p[t], PM_LINK_FLOW, target, 1, sizes[i], -1), packet = traffic(&p[t], PM_LINK_PACKET, target, 1, sizes[i], -1);
      CHECK_NEAR(packet / flow, 1, 0.05);
    }
}
/* A window of payload per round trip, whatever the packets: 860 ns on a crossbar, where 9,556 bytes cover it. */
static void credits_hold_a_message_back_as_a_flow(void) {
  static const int64_t credits[] = {300, 1000, 2048, 3000, 5000, 9000, 12000, 100000};
  static const size_t sizes[] = {30000, 1048576}; /* the shorter, the more whole packets count */
  pm_platform p[2] = {pm_platform_bxi2(4), tree_of(2, 2, 1)};
  int target[NODES] = {3, 1, 2, 3};
  for (int t = 0; t < 2; t++)
    for (int i = 0; i < 2; i++)
      for (int c = 0; c < 8; c++) {
        p[t].link_credit_bytes = credits[c];
        const double flow = traffic(&p[t], PM_LINK_FLOW, target, 1, sizes[i], -1), packet = traffic(&p[t], PM_LINK_PACKET, target, 1, sizes[i], -1);
        CHECK_NEAR(packet / flow, 1, i ? 0.03 : 0.1);
      }
}
static void one_target_gets_its_link(void) {
  pm_platform p = pm_platform_bxi2(16);
  int target[NODES] = {0};
  const double rate = traffic(&p, PM_LINK_PACKET, target, 8, 65536, -1);
  CHECK(rate < 12.5 * 64 / 72 && rate > 0.9 * 12.5 * 64 / 72);
}
/* Two leaves send to one node; a node of the first sends to another leaf, over the same uplink. A fair
   share would leave it half of the uplink, but packets of the many stand before its own. */
static void a_victim_waits_behind_the_congestion(void) {
  pm_platform p = tree_of(8, 4, 1);
  int target[NODES];
  for (int k = 0; k < 32; k++) target[k] = k < 16 ? 16 : k;
  target[0] = 24; /* the victim: another leaf */
  const double fair = traffic(&p, PM_LINK_FLOW, target, 16, 65536, 24), blocked = traffic(&p, PM_LINK_PACKET, target, 16, 65536, 24);
  for (int k = 1; k < 16; k++) target[k] = k;
  const double alone = traffic(&p, PM_LINK_PACKET, target, 16, 65536, 24);
  printf("  victim, GB/s: alone %.2f, flow level %.2f, packet level %.2f\n", alone, fair, blocked);
  CHECK(alone > 10 && fair > 5 && blocked < 0.4 * fair);
}
/* All of leaf 0 to nodes whose numbers fixed routing sends up the same cable. */
static void load_spreads_up_a_fat_tree(void) {
  pm_platform p = tree_of(4, 5, 4);
  int target[NODES];
  for (int k = 0; k < 20; k++) target[k] = k;
  for (int k = 0; k < 4; k++) target[k] = 4 * (k + 1); /* 4, 8, 12, 16: all 0 modulo 4 */
  const double fixed = traffic(&p, PM_LINK_PACKET, target, 8, 65536, -1);
  p.packet_routing = 1;
  const double by_load = traffic(&p, PM_LINK_PACKET, target, 8, 65536, -1);
  CHECK(fixed < 11.2 && by_load > 3.5 * fixed);
}
/* The same with the cable that fixed routing takes down, up or down again: what is left of the ways carries all. */
static void load_spreads_beside_a_cable_that_is_down(void) {
  pm_platform p = tree_of(4, 5, 4);
  pm_world_desc desc = {.platform = &p};
  pm_world *w = NULL;
  uint32_t way[8];
  int target[NODES];
  p.packet_routing = 1;
  for (int k = 0; k < 20; k++) target[k] = k < 4 ? 4 * (k + 1) : k;
  CHECK(pm_world_create(&desc, &w) == PM_OK && pm_route(w, 0, 4, way, 8, NULL) == 4);
  pm_world_destroy(w);
  for (int hop = 1; hop < 3; hop++) {
    const pm_outage o = {0, (int)way[hop], 0, 0, PM_OUTAGE_CUT};
    cable_down = &o;
    const double rate = traffic(&p, PM_LINK_PACKET, target, 8, 65536, -1);
    cable_down = NULL;
    printf("  GB/s beside a cable that is down: %.1f\n", rate);
    CHECK(rate > (hop == 1 ? 2.5 : 3.5) * 11);
  }
}
static void detours_help_a_dragonfly_when_groups_face_groups(void) {
  pm_platform p = dragonfly();
  int next_group[NODES], random_node[NODES];
  double rate[2][3];
  for (int k = 0; k < NODES; k++) next_group[k] = (k + 8) % 72;
  for (int k = 0; k < NODES; k++) random_node[k] = (k * 29 + 17) % 72; /* a permutation without a pattern */
  for (int r = 0; r < 3; r++) {
    p.packet_routing = r;
    rate[0][r] = traffic(&p, PM_LINK_PACKET, next_group, 6, 65536, -1);
    rate[1][r] = traffic(&p, PM_LINK_PACKET, random_node, 6, 65536, -1);
  }
  traffic(&p, PM_LINK_PACKET, next_group, 60, 1000, -1); /* many short ones by ways of all lengths, in order */
  CHECK(rate[0][0] < 9 * 11.2); /* one cable between neighbours */
  CHECK(rate[0][1] > 2 * rate[0][0] && rate[0][2] > 2 * rate[0][0]);
  CHECK(rate[1][1] > 0.85 * rate[1][0] && rate[1][1] > rate[1][2]); /* UGAL keeps to short ways where they do */
  printf("  dragonfly, GB/s: groups to groups %.0f, UGAL %.0f, Valiant %.0f; permutation %.0f, %.0f, %.0f\n", rate[0][0], rate[0][1], rate[0][2], rate[1][0], rate[1][1], rate[1][2]);
}
/* Everybody to everybody through buffers of hardly a packet, over rings, detours and links of a file. */
static void nothing_is_lost_overtaken_or_stuck(void) {
  run.checks = 1;
  for (int t = 0; t < 6; t++) {
    static const pm_link ring[] = {{"h0", "a", 12.5e9, 50, PM_LINK_EACH_WAY}, {"h1", "b", 12.5e9, 50, PM_LINK_EACH_WAY}, {"h2", "c", 12.5e9, 50, PM_LINK_EACH_WAY}, {"h3", "d", 12.5e9, 50, PM_LINK_EACH_WAY},
                                   {"a", "b", 5e9, 100, PM_LINK_EACH_WAY}, {"b", "c", 12.5e9, 100, PM_LINK_EACH_WAY}, {"c", "d", 12.5e9, 100, PM_LINK_EACH_WAY}, {"d", "a", 12.5e9, 100, PM_LINK_EACH_WAY}};
    pm_platform p = t == 0 ? pm_platform_bxi2(8) : t == 1 ? tree_of(3, 4, 2) : t < 4 ? dragonfly() : pm_platform_bxi2(t == 4 ? 20 : 4);
    if (t == 4) p.topology = PM_TOPO_TORUS, p.topo[0] = 2, p.topo[1] = 5, p.topo[2] = 4;
    if (t == 5) p.topology = PM_TOPO_FILE, p.links = ring, p.link_count = 8;
    p.packet_routing = t == 0 || t > 3 ? 0 : t == 3 ? 2 : 1;
    p.packet_input_bytes = 2500, p.packet_output_bytes = 2048;
    traffic(&p, PM_LINK_PACKET, NULL, 2 * ((int)p.node_count - 1), 5000, -1);
    const uint64_t hash = last_hash;
    traffic(&p, PM_LINK_PACKET, NULL, 2 * ((int)p.node_count - 1), 5000, -1);
    CHECK(hash == last_hash); /* and the same again */
  }
  run.checks = 0;
}
/* Long ways of a file close rings of waiting in any one channel: rings of switches, meshes, with their cables in an order
   that makes ways of stairs too, through buffers of a packet; and what is short takes as long as ever. */
enum { CABLES = 260 };
static pm_platform grid(pm_link *links, int wide, int high, int is_closed, int is_mixed) {
  pm_platform p = pm_platform_bxi2(wide * high);
  int n = 0;
  for (int at = 0; at < wide * high; at++) {
    const int x = at % wide, y = at / wide, to[3] = {-1, y + 1 < high || (is_closed && high > 2) ? (y + 1) % high * wide + x : -1, x + 1 < wide || (is_closed && wide > 2) ? y * wide + (x + 1) % wide : -1};
    for (int k = 0; k < 3; k++) {
      if (k && to[k] < 0) continue;
      pm_link *l = &links[n++];
      *l = (pm_link){"", "", 12.5e9, k ? 130 : 300, PM_LINK_EACH_WAY};
      snprintf(l->from, sizeof l->from, "%c%d", k ? 's' : 'h', at);
      snprintf(l->to, sizeof l->to, "s%d", k ? to[k] : at);
    }
  }
  for (int i = n - 1; i > 0 && is_mixed; i--) {
    const int k = (int)test_below((uint64_t)i + 1);
    const pm_link l = links[i];
    links[i] = links[k], links[k] = l;
  }
  p.topology = PM_TOPO_FILE, p.links = links, p.link_count = n;
  return p;
}
static void long_ways_of_a_file_are_never_stuck(void) {
  static const int sizes[][3] = {{12, 1, 1}, {11, 1, 1}, {25, 1, 1}, {8, 8, 0}, {6, 6, 1}, {3, 12, 1}};
  static pm_link links[CABLES];
  run.checks = 1;
  for (int t = 0; t < 12; t++) {
    const int *const of = sizes[t / 2];
    pm_platform p = grid(links, of[0], of[1], of[2], t % 2);
    if (t % 2) p.packet_input_bytes = 2500, p.packet_output_bytes = 2048;
    traffic(&p, PM_LINK_PACKET, NULL, (int)p.node_count - 1, t % 2 ? 5000 : 20000, -1);
  }
  for (int round = 0; round < test_rounds(20); round++) { /* chains with branches and a few cables across; nodes are on the way too */
    pm_platform p = pm_platform_bxi2(6 + (int)test_below(20));
    const int all = (int)p.node_count + (int)test_below(20), cables = all - 1 + (int)test_below(8);
    int count = cables;
    for (int i = 0; i < cables; i++) {
      const int a = i < all - 1 ? i + 1 : (int)test_below((uint64_t)all), b = i < all - 1 ? i - (int)test_below(i ? 2 : 1) : (a + 1 + (int)test_below((uint64_t)all - 1)) % all;
      pm_link *l = &links[i];
      *l = (pm_link){"", "", 12.5e9, 130, (pm_link_sharing)test_below(3)};
      snprintf(l->from, sizeof l->from, a % 2 || a / 2 >= p.node_count ? "s%d" : "h%d", a % 2 || a / 2 >= p.node_count ? a : a / 2);
      snprintf(l->to, sizeof l->to, b % 2 || b / 2 >= p.node_count ? "s%d" : "h%d", b % 2 || b / 2 >= p.node_count ? b : b / 2);
    }
    for (int i = 0; i < cables && round % 2; i += 3) { /* what a vertex shares */
      links[count] = links[i];
      strcpy(links[count].to, links[count].from);
      for (int k = cables; k <= count; k++)
        if (k == count || strcmp(links[k].from, links[count].from) == 0) { count += k == count; break; }
    }
    p.node_count = (all + 1) / 2 < p.node_count ? (all + 1) / 2 : p.node_count;
    p.topology = PM_TOPO_FILE, p.links = links, p.link_count = count;
    p.packet_input_bytes = 2500, p.packet_output_bytes = 2048;
    char why[200] = "";
    if (pm_platform_check(&p, why, sizeof why) != PM_OK) { /* some are longer than ways may be */
      CHECK(strstr(why, "a longer one than") != NULL);
      continue;
    }
    traffic(&p, PM_LINK_PACKET, NULL, 2 * (int)p.node_count, 5000, -1);
  }
  run.checks = 0;
}
/* Both ways together over a cable that is shared, or through a switch: half as fast each, in long messages and in streams
   of short ones, at both levels; who sends alone has all of it, and so has each over a fatpipe (in queues it is a cable). */
static void what_is_shared_is_shared_at_both_levels(void) {
  static const pm_link_sharing of[] = {PM_LINK_EACH_WAY, PM_LINK_SHARED, PM_LINK_FATPIPE};
  static const size_t sizes[] = {256, 100000};
  int both[NODES] = {1, 0}, alone[NODES] = {1, 1};
  for (int t = 0; t < 16; t++) {
    const bool is_inner = t % 4 == 3, is_packet = t / 4 % 2;
    const pm_link links[] = {{"h0", "a", 12.5e9, 100, PM_LINK_EACH_WAY}, {"h1", "b", 12.5e9, 100, PM_LINK_EACH_WAY}, {"a", "b", is_inner ? 12.5e9 : 1e9, 100, is_inner ? PM_LINK_EACH_WAY : of[t % 4]}, {"a", "a", 1e9, 0, PM_LINK_EACH_WAY}};
    pm_platform p = pm_platform_bxi2(2);
    p.topology = PM_TOPO_FILE, p.links = links, p.link_count = is_inner ? 4 : 3, p.ack_bytes = 1;
    const int messages = t / 8 ? 40 : 2000;
    const double bytes = (double)sizes[t / 8] * messages;
    traffic(&p, is_packet ? PM_LINK_PACKET : PM_LINK_FLOW, alone, messages, sizes[t / 8], -1);
    const double one = bytes / (double)(last_ns - first_ns);
    traffic(&p, is_packet ? PM_LINK_PACKET : PM_LINK_FLOW, both, messages, sizes[t / 8], -1);
    const double two = 2 * bytes / (double)(last_ns - first_ns);
    CHECK_NEAR(one, t == 2 ? 256. / 223 : 64. / 72, 0.05); /* a NIC takes 223 ns for a short one, which waits for no other */
    CHECK_NEAR(two / one, t % 4 == 0 || t % 4 == 2 ? 2 : 1, 0.05);
  }
}
/* Everybody to the one so many places on, all around a ring: however long it is, its links stay busy to the end, as the
   topology torus and link by link. */
static void rings_carry_as_much_as_their_links(void) {
  static const int rings[][2] = {{8, 3}, {16, 3}, {32, 3}, {32, 6}, {32, 10}, {16, 7}};
  static pm_link links[CABLES];
  for (int t = 0; t < 12; t++) {
    const int nodes = rings[t / 2][0];
    pm_platform p = pm_platform_bxi2(nodes);
    int target[NODES];
    if (t % 2)
      p = grid(links, nodes, 1, 1, 0);
    else
      p.topology = PM_TOPO_TORUS, p.topo[0] = 1, p.topo[1] = nodes;
    for (int k = 0; k < nodes; k++) target[k] = (k + rings[t / 2][1]) % nodes;
    const double flow = traffic(&p, PM_LINK_FLOW, target, 16, 65536, -1), packet = traffic(&p, PM_LINK_PACKET, target, 16, 65536, -1);
    CHECK(packet > 0.9 * flow && packet < 1.02 * flow);
  }
}
/* All kinds of operations, faults, and a change of level on the way. */
static void mixed_body(void *unused) {
  side s_, *s = &s_;
  (void)unused;
  side_open(s, PTL_NI_MATCHING, 0, PTL_MD_EVENT_SUCCESS_DISABLE | PTL_MD_EVENT_CT_ACK | PTL_MD_EVENT_CT_REPLY);
  append(s, entry(s->memory, 2048, 0, PTL_ME_OP_PUT | PTL_ME_OP_GET | PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_LINK_DISABLE), PTL_PRIORITY_LIST, NULL);
  pm_barrier();
  ptl_ct_event_t v;
  for (int i = 0; i < 40; i++) {
    const ptl_process_t peer = pm_process_id((pm_rank() + i) % pm_size());
    CHECK(PtlPut(s->md, 2048, 1 + (ptl_size_t)i * 50, PTL_CT_ACK_REQ, peer, 3, 0, 0, NULL, 0) == PTL_OK);
    CHECK(PtlGet(s->md, 2048, 1 + (ptl_size_t)i * 50, peer, 3, 0, 0, NULL) == PTL_OK);
    CHECK(PtlFetchAtomic(s->md, 2048, s->md, 3000, 8, peer, 3, 0, 0, NULL, 0, PTL_SUM, PTL_UINT64_T) == PTL_OK);
  }
  CHECK(PtlCTWait(s->ct, 120, &v) == PTL_OK && v.failure == 0);
  pm_barrier();
  side_close(s);
}
static void all_operations_go_by_packets(void) {
  static const pm_link_phase phases[] = {{5000, PM_LINK_FLOW}, {9000, PM_LINK_PACKET}, {12000, PM_LINK_LOGGP}, {14000, PM_LINK_PACKET}};
  for (int k = 0; k < 8; k++) {
    pm_platform p = tree_of(2, 2, 2);
    pm_world_desc desc = {.platform = &p, .link = PM_LINK_PACKET, .seed = (uint64_t)k};
    p.packet_routing = k & 1;
    p.intra_uses_nic = (k & 2) / 2;
    if (k & 4) desc.faults = (pm_faults){.loss_ratio = 0.02, .delay_ratio = 0.2, .delay_ns = 5000, .duplicate_ratio = 0.1};
    if (k == 3) desc.link_phases = phases, desc.link_phase_count = 4;
    const pm_stats stats = run_world(4, mixed_body, &desc);
    CHECK(stats.sent_bytes == stats.delivered_bytes && stats.message_count == 480);
  }
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(alone_it_is_as_fast_as_a_flow);
  RUN(credits_hold_a_message_back_as_a_flow);
  RUN(one_target_gets_its_link);
  RUN(a_victim_waits_behind_the_congestion);
  RUN(load_spreads_up_a_fat_tree);
  RUN(load_spreads_beside_a_cable_that_is_down);
  RUN(detours_help_a_dragonfly_when_groups_face_groups);
  RUN(nothing_is_lost_overtaken_or_stuck);
  RUN(long_ways_of_a_file_are_never_stuck);
  RUN(what_is_shared_is_shared_at_both_levels);
  RUN(rings_carry_as_much_as_their_links);
  RUN(all_operations_go_by_packets);
  return TEST_END();
}
