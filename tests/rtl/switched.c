/* NICs in RTL behind switches in RTL: Portals programs on a fat tree and on a network from a file get the same bytes as
   on the ideal crossbar and at the flow level, later by what the way takes; also when the last metre loses, breaks,
   doubles and delays packets, and where ways close rings. The tables of random networks let no packets wait for each other
   in a ring. What such switches cannot do is refused by name. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#define PM_WITH_NBC
#include "rtl/nic_cosim.h"
#include "tests/model/ptl.h"
#include "rtl/pm_rtl.h"

enum { NODES = 16, SHARE = 4096, ROUNDS = 3 };
static pm_rtl *rtl;
static struct {
  unsigned char entry[NODES][NODES * SHARE], own[NODES][2 * SHARE];
  uint64_t count[NODES]; /* all add to these */
  uint64_t seed, drops;
  int nodes, bad, ends;
  int64_t d_moves_ns, d_put_ns[NODES]; /* of all together; of one put */
} W;

static uint64_t mix(uint64_t z) {
  z = (z + 0x9E3779B97F4A7C15u) * 0xBF58476D1CE4E5B9u;
  return z ^ (z >> 29);
}
static pm_platform platform_of(pm_topology_kind kind, int nodes, const char *topo) {
  pm_platform p = pm_platform_bxi2(nodes);
  char *end;
  p.topology = kind;
  for (int i = 0; topo && *topo; i++, topo = end) p.topo[i] = strtol(topo, &end, 10);
  return p;
}
/* 4 leaves of 4 nodes and 2 roots: half of the leaves' cables lead up */
static pm_platform fat_tree(void) { return platform_of(PM_TOPO_FATTREE, 16, "2 4 4 1 2"); }

static void port_open(side *s) {
  const int me = pm_rank();
  side_open(s, PTL_NI_MATCHING, 0, 0);
  ptl_me_t m = entry(W.entry[me], sizeof W.entry[me], 1, PTL_ME_OP_PUT | PTL_ME_OP_GET),
           words = entry(W.count, sizeof W.count, 2, PTL_ME_OP_PUT | PTL_ME_OP_GET);
  ptl_md_t md = {W.own[me], sizeof W.own[me], 0, s->eq, PTL_CT_NONE};
  m.options |= PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_LINK_DISABLE;
  words.options = m.options;
  append(s, m, PTL_PRIORITY_LIST, NULL), append(s, words, PTL_PRIORITY_LIST, NULL);
  CHECK(PtlMDBind(s->ni, &md, &s->md) == PTL_OK);
  pm_barrier();
}
static void wait_for(side *s, int kind) {
  ptl_event_t e;
  do {
    CHECK(PtlEQWait(s->eq, &e) == PTL_OK);
    W.bad += e.ni_fail_type != PTL_NI_OK;
  } while (e.type != kind);
}
/* Each process puts into its share of others' memory, reads it back, and adds to a word of another. */
static void moves_body(void *unused) {
  const int me = pm_rank();
  side s;
  uint64_t x = mix(W.seed + (uint64_t)me);
  (void)unused;
  port_open(&s);
  const int64_t t_ns = pm_now_ns();
  for (int i = 0; i < ROUNDS; i++) {
    static const size_t sizes[] = {0, 1, 8, 17, 64, 65, 408, 513, 1000, 3000, 4096};
    const size_t n = sizes[(x = mix(x)) % 11];
    const int to = (int)((x >> 20) % (uint64_t)W.nodes);
    const uint64_t add = 1 + (x >> 8) % 9;
    for (size_t k = 0; k < n; k++) W.own[me][k] = (unsigned char)((x >> (k % 7 * 8)) + k);
    CHECK(PtlPut(s.md, 0, n, PTL_ACK_REQ, pm_process_id(to), 3, 1, (size_t)me * SHARE, NULL, 0) ==
          PTL_OK);
    wait_for(&s, PTL_EVENT_ACK);
    memset(W.own[me] + SHARE, 0, n);
    CHECK(PtlGet(s.md, SHARE, n, pm_process_id(to), 3, 1, (size_t)me * SHARE, NULL) == PTL_OK);
    wait_for(&s, PTL_EVENT_REPLY);
    W.bad += memcmp(W.own[me], W.own[me] + SHARE, n) != 0;
    memcpy(W.own[me], &add, sizeof add);
    CHECK(PtlAtomic(s.md, 0, 8, PTL_ACK_REQ, pm_process_id(0), 3, 2, 8 * (size_t)to, NULL, 0,
                    PTL_SUM, PTL_UINT64_T) == PTL_OK);
    wait_for(&s, PTL_EVENT_ACK);
  }
  W.d_moves_ns += pm_now_ns() - t_ns;
  pm_barrier();
  W.ends++;
  side_close(&s);
}
/* A hash of everybody's memory at the end */
static uint64_t run_on(pm_platform *platform, pm_link_model link, void (*body)(void *),
                       const pm_faults *faults) {
  const uint64_t seed = W.seed;
  const unsigned char *at = (const unsigned char *)W.entry;
  pm_world_desc desc = {0};
  pm_world *w = NULL;
  uint64_t hash = 0;
  memset(&W, 0, sizeof W);
  W.seed = seed, W.nodes = (int)platform->node_count;
  desc.platform = platform, desc.link = link, desc.carrier = pm_rtl_carrier(rtl);
  desc.seed = seed, desc.stack_bytes = 65536;
  if (faults) desc.faults = *faults;
  CHECK(pm_world_create(&desc, &w) == PM_OK);
  if (!w) {
    printf("  %s\n", pm_rtl_error(rtl));
    return 0;
  }
  CHECK(pm_spawn_all(w, body, NULL) == PM_OK && pm_world_run(w) == PM_OK);
  if (link == PM_LINK_CARRIER) CHECK(cosim_switch_drops(pm_rtl_cosim(rtl)) == 0);
  pm_world_destroy(w);
  CHECK(W.bad == 0 && W.ends == W.nodes);
  for (size_t i = 0; i < sizeof W.entry; i++) hash = mix(hash ^ at[i]);
  for (int i = 0; i < NODES; i++) hash = mix(hash ^ W.count[i]);
  return hash;
}
static void contents_are_those_of_the_crossbar_later(void) {
  pm_platform crossbar = pm_platform_bxi2(16), tree = fat_tree();
  uint64_t flow, ideal, switched;
  int64_t d_ideal_ns;
  W.seed = test_rand();
  flow = run_on(&tree, PM_LINK_FLOW, moves_body, NULL);
  ideal = run_on(&crossbar, PM_LINK_CARRIER, moves_body, NULL);
  d_ideal_ns = W.d_moves_ns;
  switched = run_on(&tree, PM_LINK_CARRIER, moves_body, NULL);
  printf("  16 NICs: %d ns on a crossbar, %d ns on 6 switches\n", (int)(d_ideal_ns / 16),
         (int)(W.d_moves_ns / 16));
  CHECK(flow == ideal && ideal == switched && flow);
  CHECK(W.d_moves_ns > d_ideal_ns);
}
static void faults_behind_switches_are_repaired(void) {
  pm_platform tree = fat_tree();
  pm_faults faults = {0};
  uint64_t calm;
  W.seed = test_rand();
  calm = run_on(&tree, PM_LINK_FLOW, moves_body, NULL);
  faults.loss_ratio = faults.corrupt_ratio = faults.duplicate_ratio = 0.05;
  faults.delay_ratio = 0.02, faults.delay_ns = 2000;
  tree.e2e_retry_ns = 10000, tree.e2e_retry_count = 15;
  CHECK(run_on(&tree, PM_LINK_CARRIER, moves_body, &faults) == calm);
}

/* From node 0 to itself and to each other one, nothing else under way */
static void lone_body(void *unused) {
  side s;
  (void)unused;
  port_open(&s);
  for (int to = 0; pm_rank() == 0 && to < W.nodes; to++) {
    const int64_t t_ns = pm_now_ns();
    CHECK(PtlPut(s.md, 0, 8, PTL_ACK_REQ, pm_process_id(to), 3, 1, 0, NULL, 0) == PTL_OK);
    wait_for(&s, PTL_EVENT_ACK);
    W.d_put_ns[to] = pm_now_ns() - t_ns;
  }
  pm_barrier();
  W.ends++;
  side_close(&s);
}
static void a_way_takes_what_its_platform_says(
    void) { /* there and back, in whole cycles of each cable */
  static const pm_link links[] = {{"h0", "a", 12.5e9, 100, PM_LINK_EACH_WAY}, {"h1", "a", 12.5e9, 100, PM_LINK_EACH_WAY},
                                  {"a", "b", 12.5e9, 400, PM_LINK_EACH_WAY},  {"b", "h2", 12.5e9, 150, PM_LINK_EACH_WAY},
                                  {"b", "c", 12.5e9, 1000, PM_LINK_EACH_WAY}, {"c", "h3", 12.5e9, 50, PM_LINK_EACH_WAY}};
  pm_platform crossbar = pm_platform_bxi2(16), tree = fat_tree(),
              file = platform_of(PM_TOPO_FILE, 4, NULL);
  int64_t d_ideal_ns[NODES];
  file.links = links, file.link_count = 6;
  crossbar.intra_uses_nic = tree.intra_uses_nic = file.intra_uses_nic =
      1; /* to the switch and back */
  run_on(&crossbar, PM_LINK_CARRIER, lone_body, NULL);
  memcpy(d_ideal_ns, W.d_put_ns, sizeof d_ideal_ns);
  run_on(&tree, PM_LINK_CARRIER, lone_body, NULL);
  for (int to = 0; to < 16; to++) /* one switch, or three */
    CHECK_NEAR((double)(W.d_put_ns[to] - d_ideal_ns[to]), to < 4 ? 0. : 4. * 130,
               2. * 4 * 2.88 + 25);
  printf("  8 B and its acknowledgement: %d ns on a crossbar, %d and %d ns over 1 and 3 switches\n",
         (int)d_ideal_ns[1], (int)W.d_put_ns[1], (int)W.d_put_ns[15]);
  run_on(&file, PM_LINK_CARRIER, lone_body, NULL);
  static const int ways_ns[] = {200, 200, 650, 1550};
  for (int to = 0; to < 4; to++)
    CHECK_NEAR((double)(W.d_put_ns[to] - d_ideal_ns[to]), 2. * (ways_ns[to] - 430),
               2. * 4 * 2.88 + 25);
}

/* The first half sends to the second one, all at once */
static void across_body(void *unused) {
  const int me = pm_rank(), to = me + W.nodes / 2;
  side s;
  (void)unused;
  port_open(&s);
  const int64_t t_ns = pm_now_ns();
  for (int i = 0; i < 12 && me < W.nodes / 2; i++)
    CHECK(PtlPut(s.md, 0, SHARE, PTL_ACK_REQ, pm_process_id(to), 3, 1, (size_t)me * SHARE, NULL,
                 0) == PTL_OK);
  for (int i = 0; i < 12 && me < W.nodes / 2; i++) wait_for(&s, PTL_EVENT_ACK);
  W.d_put_ns[me] = pm_now_ns() - t_ns;
  pm_barrier();
  W.ends++;
  side_close(&s);
}
static void a_thin_root_is_shared(void) {
  static const char *const topo[] = {"2 4 2 1 4", "2 4 2 1 2"};
  int64_t least[2] = {1 << 30, 1 << 30}, most[2] = {0, 0};
  for (int thin = 0; thin < 2; thin++) {
    pm_platform tree = platform_of(PM_TOPO_FATTREE, 8, topo[thin]);
    run_on(&tree, PM_LINK_CARRIER, across_body, NULL);
    for (int i = 0; i < 4; i++) {
      if (W.d_put_ns[i] < least[thin]) least[thin] = W.d_put_ns[i];
      if (W.d_put_ns[i] > most[thin]) most[thin] = W.d_put_ns[i];
    }
  }
  printf("  12 puts of 4 KiB by each of 4: %d ns with 4 cables at the root, %d ns with 2\n",
         (int)most[0], (int)most[1]);
  const double alone_ns = 12. * SHARE / 64 * 72 / 12.5; /* on a wire that nobody shares */
  CHECK((double)most[0] < 2 * alone_ns);
  CHECK_NEAR((double)(most[1] - most[0]), alone_ns, 0.1 * alone_ns);
  CHECK((double)least[1] > 1.8 * alone_ns); /* both have their turn */
}

/* Everybody sends to the third next, more than all buffers of a ring of switches hold */
static void around_body(void *unused) {
  const int me = pm_rank(), to = (me + 3) % W.nodes;
  side s;
  (void)unused;
  port_open(&s);
  for (size_t k = 0; k < SHARE; k++) W.own[me][k] = (unsigned char)(k * 7 + (size_t)me);
  for (int i = 0; i < 24; i++)
    CHECK(PtlPut(s.md, 0, SHARE, PTL_ACK_REQ, pm_process_id(to), 3, 1, (size_t)me * SHARE, NULL,
                 0) == PTL_OK);
  for (int i = 0; i < 24; i++) wait_for(&s, PTL_EVENT_ACK);
  pm_barrier();
  W.ends++;
  side_close(&s);
}
static void rings_never_block_themselves(void) {
  pm_platform crossbar = pm_platform_bxi2(8), torus = platform_of(PM_TOPO_TORUS, 8, "1 8");
  CHECK(run_on(&torus, PM_LINK_CARRIER, around_body, NULL) ==
        run_on(&crossbar, PM_LINK_FLOW, around_body, NULL));
}
static void contents_on_rings_are_those_of_flows(void) {
  pm_platform rings[] = {platform_of(PM_TOPO_TORUS, 16, "2 4 4"),
                         platform_of(PM_TOPO_DRAGONFLY, 6, "3 2 1 1")};
  for (int i = 0; i < 2; i++) {
    W.seed = test_rand();
    CHECK(run_on(&rings[i], PM_LINK_CARRIER, moves_body, NULL) ==
          run_on(&rings[i], PM_LINK_FLOW, moves_body, NULL));
  }
}

/* Which lanes wait for which, by the tables alone: cables, routes and turns are followed from every NIC to every other
   one. Packets of one virtual network block each other for good only where waiting lanes close a ring. */
enum { LANES = COSIM_CHANNELS * (COSIM_SWITCHES_MAX * COSIM_SWITCH_PORTS + 64) };
static struct {
  bool waits[LANES][LANES];
  short next_of[COSIM_SWITCHES_MAX][COSIM_SWITCH_PORTS]; /* the cable that leaves there */
  int count;
} G;
static void lanes_of(const cosim_net *net, int nics) {
  int first[64];
  memset(&G, 0, sizeof G);
  memset(G.next_of, -1, sizeof G.next_of);
  G.count = COSIM_CHANNELS * net->cable_count;
  for (int i = 0; i < net->cable_count; i++) {
    const cosim_cable *c = &net->cables[i];
    if (c->from_switch < 0)
      first[c->from] = i;
    else
      G.next_of[c->from_switch][c->from] = (short)i;
  }
  for (int way = 0; way < nics * nics; way++) {
    const int to = way % nics;
    int cable = first[way / nics], channel = 0, steps = 0;
    if (way / nics == to) continue;
    while (net->cables[cable].to_switch >= 0 && steps++ < COSIM_SWITCHES_MAX) {
      const cosim_cable *c = &net->cables[cable];
      const int port = net->routes[64 * c->to_switch + to];
      const int turn = net->turns[64 * c->to_switch + COSIM_SWITCH_PORTS * c->to + port];
      const int next = port < 0 ? -1 : G.next_of[c->to_switch][port];
      const int lane = COSIM_CHANNELS * cable + channel;
      if (next < 0) break;
      channel = turn < 0 ? channel : turn, cable = next;
      G.waits[lane][COSIM_CHANNELS * cable + channel] = 1;
    }
    CHECK(net->cables[cable].to_switch < 0 && net->cables[cable].to == to && channel == 0);
  }
}
/* Lanes that wait for none are taken away, until none is left, or a ring is. */
static bool lanes_close_a_ring(void) {
  static int waits_for[LANES], free_lane[LANES];
  int free_count = 0, taken = 0;
  for (int a = 0; a < G.count; a++) {
    waits_for[a] = 0;
    for (int b = 0; b < G.count; b++) waits_for[a] += G.waits[a][b];
    if (!waits_for[a]) free_lane[free_count++] = a;
  }
  for (; taken < free_count; taken++)
    for (int a = 0; a < G.count; a++)
      if (G.waits[a][free_lane[taken]] && !--waits_for[a]) free_lane[free_count++] = a;
  return taken < G.count;
}
/* The switches of the platform that messages go through, by where its links begin and end */
static int switches_under_way(const pm_world *w, int nodes) {
  static bool is_used[8192];
  uint32_t way[64];
  int count = 0, ends[2];
  memset(is_used, 0, sizeof is_used);
  for (int pair = 0; pair < nodes * nodes; pair++) {
    const int from = pair / nodes, to = pair % nodes;
    const int n = from == to ? 0 : pm_route((pm_world *)w, from, to, way, 64, NULL);
    for (int k = 0; k + 1 < n; k++) {
      pm__link_ends(w, way[k], ends);
      CHECK(ends[1] >= nodes && ends[1] < 8192);
      count += !is_used[ends[1]], is_used[ends[1]] = true;
    }
  }
  return count;
}
/* NULL, or why no tables are made */
static const char *tables_are_sound(const pm_platform *platform, int *ring_count) {
  pm_world_desc desc = {0};
  pm_world *w = NULL;
  pm_rtl r;
  static char why[PM_RTL__WHY];
  char text[PM_RTL__WHY];
  pm_rtl__net *n;
  desc.platform = platform;
  CHECK(pm_world_create(&desc, &w) == PM_OK);
  if (!w) return "no world";
  memset(&r, 0, sizeof r);
  r.nic_count = (int)platform->node_count, r.period_ps = 2880;
  n = pm_rtl__net_new(&r, &desc, w, why);
  const int switch_count = switches_under_way(w, r.nic_count);
  pm_world_destroy(w);
  if (!n && strstr(why, "more than 64 switches")) CHECK(switch_count > 64);
  if (!n) return *why ? why : "no memory";
  CHECK(n->net.switch_count == switch_count);
  lanes_of(&n->net, r.nic_count);
  CHECK(!lanes_close_a_ring());
  memset(n->turns, 0, sizeof n->turns);
  lanes_of(&n->net, r.nic_count);
  const bool is_ring = lanes_close_a_ring();
  CHECK(is_ring == (cosim_net_error(&n->net, r.nic_count, text, sizeof text) != NULL));
  *ring_count += is_ring;
  pm_rtl__net_free(n);
  return NULL;
}
static int between(int least, int most) {
  return least + (int)test_below((uint64_t)(most - least + 1));
}
/* Networks that fit: at most 64 nodes, 8 cables at a switch */
static pm_platform random_torus(void) {
  pm_platform p = platform_of(PM_TOPO_TORUS, 1, NULL);
  do {
    const int dimensions = between(1, 3);
    p.topo[0] = dimensions, p.node_count = 1;
    for (int i = 1; i <= dimensions; i++)
      p.node_count *= p.topo[i] = between(1, dimensions == 1 ? 64 : 12);
  } while (p.node_count > 64 || p.node_count < 2);
  return p;
}
static pm_platform random_dragonfly(void) {
  pm_platform p = platform_of(PM_TOPO_DRAGONFLY, 1, NULL);
  do {
    p.topo[0] = between(2, 12), p.topo[1] = between(1, 6);
    p.topo[2] = between(1, 4), p.topo[3] = between(1, 4);
    p.node_count = p.topo[0] * p.topo[1] * p.topo[2];
  } while (p.node_count > 64 || p.topo[2] + p.topo[1] - 1 + p.topo[3] > 8 ||
           p.topo[1] * p.topo[3] < p.topo[0] - 1);
  return p;
}
static pm_platform random_tree(void) {
  pm_platform p = platform_of(PM_TOPO_FATTREE, 1, NULL);
  bool fits;
  do {
    const int levels = between(1, 3);
    fits = 1, p.topo[0] = levels, p.node_count = 1;
    for (int i = 1; i <= levels; i++) {
      p.node_count *= p.topo[i] = between(2, 6);
      p.topo[levels + i] = i > 1 ? between(1, 4) : 1;
      fits = fits && (i == 1 || p.topo[i - 1] + p.topo[levels + i] <= 8);
    }
  } while (p.node_count > 64 || !fits);
  return p;
}
/* Switches in a tree, and as many cables more; a node at each */
static pm_platform random_file(void) {
  static pm_link links[64];
  const int switches = between(3, 16);
  int degree[16] = {0}, n = 0;
  pm_platform p = platform_of(PM_TOPO_FILE, switches, NULL);
  for (int i = 0; i < 3 * switches; i++) {
    const int kind = i / switches, a = i % switches;
    int b = kind == 1 && a ? between(0, a - 1) : between(0, switches - 1);
    if (kind == 1 && degree[b] == 7) b = a - 1; /* that one has no others yet */
    if (kind && (a == b || degree[a] == 7 || degree[b] == 7)) continue;
    links[n] = (pm_link){"", "", 12.5e9, 100, PM_LINK_EACH_WAY};
    snprintf(links[n].from, sizeof links[n].from, kind ? "s%d" : "h%d", a);
    snprintf(links[n++].to, sizeof links[n].to, "s%d", kind ? b : a);
    degree[a] += kind > 0, degree[b] += kind > 0;
  }
  p.links = links, p.link_count = n;
  return p;
}
static void no_tables_let_packets_block_each_other_for_good(void) {
  static pm_platform (*const random[])(void) = {random_torus, random_dragonfly, random_tree,
                                                random_file};
  int made[4] = {0}, ring_count[4] = {0};
  for (int i = 0; i < 100; i++) {
    const int kind = i % 4;
    const pm_platform p = random[kind]();
    const char *why = tables_are_sound(&p, &ring_count[kind]);
    made[kind] += !why;
    if (why && !strstr(why, "more than 64 switches") &&
        !(kind == 3 && strstr(why, "packets can wait for each other in a ring: switch "))) {
      printf("  %s: topo %d %d %d %d %d %d\n", why, (int)p.topo[0], (int)p.topo[1], (int)p.topo[2],
             (int)p.topo[3], (int)p.topo[4], (int)p.topo[5]);
      CHECK(!why);
    }
  }
  printf(
      "  rings of one channel that two open: %d of %d tori, %d of %d dragonflies, %d of %d files\n",
      ring_count[0], made[0], ring_count[1], made[1], ring_count[3], made[3]);
  CHECK(made[0] == 25 && made[1] > 10 && made[2] > 10 && made[3] > 10);
  CHECK(ring_count[0] > 5 && ring_count[1] > 0 && ring_count[2] == 0 && ring_count[3] > 0);
}

static void dragonflies_of_60_routers_fit(void) {
  static const char *const topo[] = {"10 5 1 3", "12 5 1 3", "10 6 1 2", "16 4 1 4", "2 1 1 1"};
  for (int i = 0; i < 5; i++) {
    pm_platform p = platform_of(PM_TOPO_DRAGONFLY, 1, topo[i]);
    int ring_count = 0;
    p.node_count = p.topo[0] * p.topo[1] * p.topo[2];
    const char *why = tables_are_sound(&p, &ring_count);
    if (why) printf("  %s: %s\n", topo[i], why);
    CHECK(!why);
  }
}

static void refused(pm_platform platform, const char *what) {
  pm_world_desc desc = {0};
  pm_world *world;
  desc.platform = &platform, desc.carrier = pm_rtl_carrier(rtl), desc.link = PM_LINK_CARRIER;
  CHECK(pm_world_create(&desc, &world) == PM_E_INVAL && !world);
  if (!strstr(pm_rtl_error(rtl), what)) printf("  %s\n", pm_rtl_error(rtl));
  CHECK(strstr(pm_rtl_error(rtl), what) != NULL);
}
static void what_these_switches_cannot_do_is_refused_by_name(void) {
  static const pm_link slow[] = {{"h0", "a", 12.5e9, 100, PM_LINK_EACH_WAY}, {"h1", "a", 6e9, 100, PM_LINK_EACH_WAY}},
                       lone[] = {{"h0", "h1", 12.5e9, 100, PM_LINK_EACH_WAY}},
                       through[] = {{"h0", "a", 12.5e9, 100, PM_LINK_EACH_WAY},
                                    {"a", "h1", 12.5e9, 100, PM_LINK_EACH_WAY},
                                    {"h1", "b", 12.5e9, 100, PM_LINK_EACH_WAY},
                                    {"b", "h2", 12.5e9, 100, PM_LINK_EACH_WAY}};
  pm_platform file = platform_of(PM_TOPO_FILE, 2, NULL);
  refused(platform_of(PM_TOPO_FATTREE, 16, "2 8 2 1 4"), "topology: a switch has at most 8 ports");
  refused(platform_of(PM_TOPO_FATTREE, 16, "2 4 4 2 2"), "topology: a NIC has one cable");
  file.links = slow, file.link_count = 2;
  refused(file, "topology: a link is not as fast as a NIC's");
  file.links = lone, file.link_count = 1;
  refused(file, "topology: a way without a switch");
  file.links = through, file.link_count = 4, file.node_count = 3;
  refused(file, "topology: ");
  const pm_link shared[] = {{"h0", "a", 12.5e9, 100, PM_LINK_SHARED}, {"h1", "a", 12.5e9, 100, PM_LINK_EACH_WAY}},
                within[] = {{"h0", "a", 12.5e9, 100, PM_LINK_EACH_WAY}, {"h1", "a", 12.5e9, 100, PM_LINK_EACH_WAY}, {"a", "a", 12.5e9, 0, PM_LINK_EACH_WAY}};
  for (int t = 0; t < 2; t++) {
    pm_world_desc desc = {.platform = &file, .link = PM_LINK_CARRIER};
    pm_world *world = NULL;
    file.links = t ? within : shared, file.link_count = t ? 3 : 2, file.node_count = 2;
    desc.carrier = pm_rtl_carrier(rtl);
    CHECK(pm_world_create(&desc, &world) == PM_E_PLATFORM && !world);
  }
}
static int no_memory(void *ctx, int nic, uint64_t addr, void *to, size_t n) {
  (void)ctx, (void)nic, (void)addr, (void)to, (void)n;
  return -1;
}
static int nothing_written(void *ctx, int nic, uint64_t addr, const void *from, size_t n) {
  (void)ctx, (void)nic, (void)addr, (void)from, (void)n;
  return -1;
}
static void networks_that_are_none_are_refused(void) {
  cosim_cable cables[4] = {
      {-1, 0, 0, 0, 1000}, {0, 0, -1, 0, 1000}, {-1, 1, 0, 1, 1000}, {0, 1, -1, 1, 1000}};
  signed char routes[64] = {0, 1};
  signed char turns[64] = {0};
  cosim_net net = {1, 4, cables, routes, turns};
  cosim_desc desc = cosim_default();
  cosim *sim;
  desc.host.read = no_memory, desc.host.write = nothing_written;
  desc.net = &net;
  CHECK((sim = cosim_create(&desc)) != NULL);
  cosim_destroy(sim);
  routes[0] = 2; /* no cable there */
  CHECK(cosim_create(&desc) == NULL);
  routes[0] = 0, turns[1] = 1; /* a NIC's cable has one channel */
  CHECK(cosim_create(&desc) == NULL);
  turns[1] = 0, turns[63] = 2;
  CHECK(cosim_create(&desc) == NULL);
  turns[63] = -2;
  CHECK(cosim_create(&desc) == NULL);
  turns[63] = -1, net.cable_count = 3; /* NIC 1 hears nobody */
  CHECK(cosim_create(&desc) == NULL);
  net.cable_count = 4, cables[3].from = 0; /* one port twice */
  CHECK(cosim_create(&desc) == NULL);
  cables[3].from = 8;
  CHECK(cosim_create(&desc) == NULL);
  cables[3].from = 1, net.switch_count = 65;
  CHECK(cosim_create(&desc) == NULL);
}
/* Three switches one after the other, round and round: who goes on closes a ring, unless a channel changes */
static void what_is_wrong_with_a_network_is_named(void) {
  cosim_cable cables[9];
  signed char routes[3 * 64], turns[3 * 64];
  cosim_net net = {3, 9, cables, routes, NULL};
  cosim_desc desc = cosim_default();
  cosim *sim;
  char text[200], cut[30];
  memset(turns, 0, sizeof turns);
  for (int k = 0; k < 3; k++) {
    cables[3 * k] = (cosim_cable){-1, k, k, 0, 1000};
    cables[3 * k + 1] = (cosim_cable){k, 0, -1, k, 1000};
    cables[3 * k + 2] = (cosim_cable){k, 1, (k + 1) % 3, 2, 1000};
    for (int to = 0; to < 3; to++) routes[64 * k + to] = to == k ? 0 : 1;
  }
  desc.nic_count = 3, desc.net = &net;
  desc.host.read = no_memory, desc.host.write = nothing_written;
  CHECK(cosim_net_error(&net, 3, text, sizeof text) == text);
  CHECK(!strcmp(text, "packets can wait for each other in a ring: switch 0 port 1 channel 0, "
                      "switch 1 port 1 channel 0, switch 2 port 1 channel 0"));
  CHECK(cosim_net_error(&net, 3, cut, sizeof cut) && !strncmp(cut, text, 29) && !cut[29]);
  CHECK(!cosim_create(&desc));
  net.turns = turns,
  turns[64 * 1 + 8 * 2 + 1] = -1; /* the same: 0 is the channel that all come in */
  CHECK(cosim_net_error(&net, 3, text, sizeof text) && strstr(text, "in a ring: switch 0 port 1"));
  turns[64 * 0 + 8 * 2 + 1] = 1;
  CHECK(!cosim_net_error(&net, 3, text, sizeof text));
  CHECK((sim = cosim_create(&desc)) != NULL);
  cosim_destroy(sim);
  routes[64 * 1 + 2] = -1; /* nobody sends from there: no ring, even with one channel */
  net.turns = NULL;
  CHECK(!cosim_net_error(&net, 3, text, sizeof text));
  routes[64 * 1 + 2] = 0;
  CHECK(cosim_net_error(&net, 3, text, sizeof text) &&
        !strcmp(text, "the way from NIC 0 to NIC 2 ends at NIC 1"));
  routes[64 * 1 + 2] = 3;
  CHECK(cosim_net_error(&net, 3, text, sizeof text) && strstr(text, "switch 1: no cable"));
  CHECK(cosim_net_error(&net, 4, text, sizeof text) && strstr(text, "begins at NIC 3"));
  CHECK(cosim_net_error(NULL, 3, text, sizeof text) && cosim_net_error(&net, 65, text, 99));
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  rtl = pm_rtl_create();
  RUN(contents_are_those_of_the_crossbar_later);
  RUN(faults_behind_switches_are_repaired);
  RUN(a_way_takes_what_its_platform_says);
  RUN(a_thin_root_is_shared);
  RUN(rings_never_block_themselves);
  RUN(contents_on_rings_are_those_of_flows);
  RUN(no_tables_let_packets_block_each_other_for_good);
  RUN(dragonflies_of_60_routers_fit);
  RUN(what_these_switches_cannot_do_is_refused_by_name);
  RUN(networks_that_are_none_are_refused);
  RUN(what_is_wrong_with_a_network_is_named);
  pm_rtl_destroy(rtl);
  return TEST_END();
}
