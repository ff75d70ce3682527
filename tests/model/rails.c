/* Several NICs in a node, each on a network of its own, and PCI roots that they share: known bandwidths, order,
   faults, names, and what does not know rails says so. */
#include "tests/model/ptl.h"

enum { MESSAGES = 8, BYTES = 4 << 20 };
static double stream_gb_per_s, bytes_each;
static int64_t t_first_ns, t_last_ns;
static unsigned char *memory;

/* Every process of node 0 streams to its like on node 1. */
static void stream_body(void *unused) {
  const int half = pm_size() / 2, me = pm_rank();
  mover m;
  (void)unused;
  mover_open(&m, memory, BYTES);
  pm_barrier();
  if (me < half) {
    for (int i = 0; i < MESSAGES; i++) mover_put(&m, half + me, (ptl_size_t)bytes_each);
    mover_wait(&m, MESSAGES);
    if (pm_now_ns() < t_first_ns) t_first_ns = pm_now_ns();
    if (pm_now_ns() > t_last_ns) t_last_ns = pm_now_ns();
  }
  pm_barrier();
  CHECK(!PtlNIFini(m.ni));
  PtlFini();
}
/* GB/s of all together, of `bytes` each. */
static double stream(pm_link_model link, int processes, int nics, int roots, int64_t split_bytes, double bytes) {
  pm_platform p = pm_platform_bxi2(2);
  pm_world_desc desc = {0};
  p.procs_per_node_count = processes;
  p.nic_count = nics, p.pci_root_count = roots, p.rail_split_bytes = split_bytes;
  desc.platform = &p, desc.link = link;
  desc.no_data = true;
  t_last_ns = 0, bytes_each = bytes;
  run_world(2, stream_body, &desc);
  stream_gb_per_s = processes * MESSAGES * bytes / (double)t_last_ns;
  return stream_gb_per_s;
}
static void two_rails_carry_twice_as_much(void) {
  const double wire = 12.5 * 64 / 72; /* what headers leave of a link */
  const pm_link_model levels[] = {PM_LINK_FLOW, PM_LINK_LOGGP, PM_LINK_PACKET};
  for (int k = 0; k < 3; k++) {
    const pm_link_model l = levels[k];
    CHECK_NEAR(stream(l, 1, 1, 1, 0, BYTES), wire, 0.02 * wire);
    CHECK_NEAR(stream(l, 2, 1, 1, 0, BYTES), wire, 0.02 * wire);
    CHECK_NEAR(stream(l, 2, 2, 2, 0, BYTES), 2 * wire, 0.02 * 2 * wire);      /* a process each */
    CHECK_NEAR(stream(l, 1, 2, 2, 0, BYTES), wire, 0.02 * wire);              /* one process: its own rail */
    CHECK_NEAR(stream(l, 1, 2, 2, 65536, BYTES), 2 * wire, 0.02 * 2 * wire);  /* and both when split */
    CHECK_NEAR(stream(l, 1, 4, 4, 65536, BYTES), 4 * wire, 0.03 * 4 * wire);
    CHECK_NEAR(stream(l, 1, 2, 2, BYTES + 1, BYTES), wire, 0.02 * wire);
    CHECK_NEAR(stream(l, 3, 2, 2, 0, BYTES), 1.5 * wire, 0.03 * wire); /* two share a rail, and end last */
    CHECK_NEAR(stream(l, 2, 2, 2, 65536, BYTES), 2 * wire, 0.03 * wire);
  }
}
static void a_shared_pci_root_limits_its_nics(void) {
  const pm_link_model levels[] = {PM_LINK_FLOW, PM_LINK_PACKET};
  for (int k = 0; k < 2; k++) {
    const pm_link_model l = levels[k];
    CHECK_NEAR(stream(l, 2, 2, 1, 0, BYTES), 15.75, 0.02 * 15.75);
    CHECK_NEAR(stream(l, 1, 2, 1, 65536, BYTES), 15.75, 0.02 * 15.75);
    CHECK_NEAR(stream(l, 4, 4, 2, 0, BYTES), 31.5, 0.02 * 31.5);
    CHECK_NEAR(stream(l, 4, 4, 4, 0, BYTES), 44.44, 0.02 * 44.44);
  }
}
/* The cable of one rail fails for a while: its process is held up, the other one is not; split payload arrives
   as well. */
static void a_cable_fails_on_its_rail_alone(void) {
  const pm_link_model levels[] = {PM_LINK_FLOW, PM_LINK_LOGGP, PM_LINK_PACKET};
  for (int k = 0; k < 3; k++)
    for (int split = 0; split < 2; split++) {
      pm_platform p = pm_platform_bxi2(2);
      pm_world_desc desc = {0};
      const pm_outage outage = {0, 4, 0, 1000000, PM_OUTAGE_CUT}; /* node 0 up, rail 1 */
      p.procs_per_node_count = p.nic_count = p.pci_root_count = 2;
      p.e2e_retry_ns = 300000, p.rail_split_bytes = split * 65536;
      desc.platform = &p, desc.link = levels[k], desc.no_data = true;
      desc.faults.outages = &outage, desc.faults.outage_count = 1;
      t_last_ns = 0, t_first_ns = INT64_MAX, bytes_each = split ? 100000 : 8;
      const pm_stats s = run_world(2, stream_body, &desc);
      CHECK(t_last_ns >= 1000000 && t_last_ns < 1900000 && s.delivered_bytes == (uint64_t)(2 * MESSAGES * bytes_each));
      if (!split) CHECK(t_first_ns < 300000 && s.lost_count >= MESSAGES && s.lost_count <= 5 * MESSAGES);
    }
}

/* Short messages: each NIC has a gap of its own. */
static void gaps_are_of_a_nic(void) {
  const double one = stream(PM_LINK_LOGGP, 2, 1, 1, 0, 8), two = stream(PM_LINK_LOGGP, 2, 2, 2, 0, 8);
  CHECK(two > 1.2 * one);
  CHECK_NEAR(two, 2 * stream(PM_LINK_LOGGP, 1, 1, 1, 0, 8), 1e-9); /* as if alone */
}

/* Split or not, messages of a process match and end in order, and bring their bytes. */
enum { ORDERED = 60, ROOM = 20000 };
static unsigned char out[8][ORDERED][ROOM], in[8][ORDERED][ROOM];
static int sizes[8][ORDERED];
static void order_body(void *unused) {
  const int me = pm_rank(), half = pm_size() / 2, peer = (me + half) % pm_size();
  ptl_handle_ni_t ni;
  ptl_handle_eq_t eq, told;
  ptl_handle_md_t md;
  ptl_handle_me_t h;
  ptl_pt_index_t pt;
  ptl_event_t e;
  (void)unused;
  CHECK(!PtlInit() && !PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &ni));
  CHECK(!PtlEQAlloc(ni, 4 * ORDERED, &eq) && !PtlEQAlloc(ni, 4 * ORDERED, &told) && !PtlPTAlloc(ni, 0, told, 3, &pt));
  const ptl_md_t d = {out[me], sizeof out[me], 0, eq, PTL_CT_NONE};
  CHECK(!PtlMDBind(ni, &d, &md));
  for (int i = 0; i < ORDERED; i++) {
    const ptl_me_t m = entry(in[me][i], ROOM, 0, PTL_ME_OP_PUT | PTL_ME_USE_ONCE | PTL_ME_EVENT_LINK_DISABLE | PTL_ME_EVENT_UNLINK_DISABLE);
    CHECK(!PtlMEAppend(ni, pt, &m, PTL_PRIORITY_LIST, (void *)(uintptr_t)(i + 1), &h));
  }
  pm_barrier();
  for (int i = 0; i < ORDERED; i++) CHECK(!PtlPut(md, (ptl_size_t)i * ROOM, (ptl_size_t)sizes[me][i], PTL_ACK_REQ, pm_process_id(peer), 3, 0, 0, NULL, (ptl_hdr_data_t)i));
  for (int i = 0; i < ORDERED; i++) {
    CHECK(!PtlEQWait(told, &e) && e.type == PTL_EVENT_PUT && e.hdr_data == (ptl_hdr_data_t)i && e.user_ptr == (void *)(uintptr_t)(i + 1));
    CHECK(e.mlength == (ptl_size_t)sizes[peer][i] && memcmp(in[me][i], out[peer][i], (size_t)sizes[peer][i]) == 0);
  }
  for (int i = 0; i < 2 * ORDERED; i++) CHECK(!PtlEQWait(eq, &e) && !e.ni_fail_type);
  pm_barrier();
  CHECK(!PtlNIFini(ni));
  PtlFini();
}
static void rails_keep_the_order_of_a_process(void) {
  for (int round = 0; round < 12; round++) {
    pm_platform p = pm_platform_bxi2(2);
    pm_world_desc desc = {0};
    p.procs_per_node_count = 1 + (int64_t)test_below(4);
    if (round % 5 == 4) p.node_count = 1, p.procs_per_node_count *= 2, p.intra_uses_nic = 1;
    p.nic_count = 1 + (int64_t)test_below(5);
    p.pci_root_count = 1 + (int64_t)test_below((uint64_t)p.nic_count);
    p.rail_split_bytes = test_below(3) ? 1 + (int64_t)test_below(9000) : 0;
    desc.platform = &p, desc.link = round % 4 == 3 ? PM_LINK_PACKET : round % 2 ? PM_LINK_LOGGP : PM_LINK_FLOW;
    desc.seed = test_rand();
    if (round % 3 == 2) desc.faults.loss_ratio = 0.05, p.e2e_retry_ns = 20000, p.e2e_retry_count = 20;
    for (int k = 0; k < 8; k++)
      for (int i = 0; i < ORDERED; i++) {
        sizes[k][i] = (int)test_below(test_below(2) ? 600 : ROOM);
        for (int b = 0; b < sizes[k][i]; b += 7) out[k][i][b] = (unsigned char)test_rand();
      }
    const pm_stats a = run_world(0, order_body, &desc), b = run_world(0, order_body, &desc);
    CHECK(a.hash_id == b.hash_id && a.sent_bytes == a.delivered_bytes);
  }
}

/* Ways by load, in a dragonfly, a fat tree, a torus and a network from a file: each rail keeps to its own links. */
static void packets_keep_to_their_rail(void) {
  static const char *const machines[] = {"node_count 24\ntopology dragonfly\ntopo 3 4 2 2\n", "node_count 16\ntopology fattree\ntopo 2 4 4 1 2\n", "node_count 18\ntopology torus\ntopo 3 3 3 2\n",
                                         "node_count 3\ntopology file\nlink h0 a 1e10 90\nlink h1 a 3e9 10\nlink h2 b 1e10 50\nlink a b 2e9 400\n"};
  for (int k = 0; k < 12; k++) {
    pm_platform p;
    pm_world_desc desc = {0};
    pm_world *w = NULL;
    pm_link_bin bins[PM_LINK_BINS];
    char error[200] = "";
    CHECK(!pm_platform_read(machines[k % 4], strlen(machines[k % 4]), &p, error, sizeof error));
    p.procs_per_node_count = 2, p.nic_count = 3, p.packet_routing = k / 4;
    desc.platform = &p, desc.link = PM_LINK_PACKET, desc.link_use = true, desc.no_data = true;
    bytes_each = 50000;
    CHECK(pm_world_create(&desc, &w) == PM_OK && pm_spawn_all(w, stream_body, NULL) == PM_OK && pm_world_run(w) == PM_OK);
    const int each = pm_link_count(w) / 3;
    for (int rail = 0; rail < 3; rail++) {
      double used = 0;
      for (int link = rail * each; link < (rail + 1) * each; link++)
        for (int i = pm_link_use(w, link, bins, PM_LINK_BINS) - 1; i >= 0; i--) used += bins[i].use_ratio;
      CHECK(rail < 2 ? used > 0 : used <= 0); /* two processes of a node: two rails */
    }
    pm_world_destroy(w);
    pm_platform_free(&p);
  }
}
/* A node that is down is down on all its rails; a process on the second one is held up as on the first. */
static void a_node_fails_on_all_rails(void) {
  const pm_link_model levels[] = {PM_LINK_FLOW, PM_LINK_LOGGP, PM_LINK_PACKET};
  for (int k = 0; k < 3; k++) {
    pm_platform p = pm_platform_bxi2(2);
    pm_world_desc desc = {0};
    const pm_outage outage = {2, 0, 0, 1000000, PM_OUTAGE_CUT};
    p.procs_per_node_count = p.nic_count = 2;
    p.e2e_retry_ns = 300000;
    desc.platform = &p, desc.link = levels[k], desc.no_data = true;
    desc.faults.outages = &outage, desc.faults.outage_count = 1;
    t_last_ns = 0, bytes_each = 8;
    const pm_stats s = run_world(2, stream_body, &desc);
    CHECK(t_last_ns >= 1000000 && t_last_ns < 1400000 && s.lost_count >= 2 * MESSAGES);
  }
}

static void links_are_named_by_rail(void) {
  pm_platform p = pm_platform_bxi2(2);
  pm_world_desc desc = {0};
  pm_world *w = NULL;
  char name[80];
  pm_link_bin bins[PM_LINK_BINS];
  double used[8] = {0};
  p.procs_per_node_count = p.nic_count = p.pci_root_count = 2;
  desc.platform = &p, desc.link_use = true, desc.no_data = true;
  bytes_each = BYTES;
  CHECK(pm_world_create(&desc, &w) == PM_OK && pm_link_count(w) == 8);
  CHECK(pm_link_name(w, 1, name, sizeof name) == 1);
  CHECK_STR(name, "node 0 down, rail 0");
  CHECK(pm_link_name(w, 6, name, sizeof name) == 0);
  CHECK_STR(name, "node 1 up, rail 1");
  CHECK(pm_link_bytes_per_s(w, 6) > 0 && pm_link_name(w, 8, name, sizeof name) < 0);
  CHECK(pm_spawn_all(w, stream_body, NULL) == PM_OK && pm_world_run(w) == PM_OK);
  for (int link = 0; link < 8; link++)
    for (int i = pm_link_use(w, link, bins, PM_LINK_BINS) - 1; i >= 0; i--) used[link] += bins[i].use_ratio * (double)(bins[i].t_end_ns - bins[i].t_begin_ns);
  CHECK(used[0] > 0 && used[3] > 0); /* node 0 up, node 1 down, of rail 0 */
  CHECK_NEAR(used[4], used[0], 1e-3 * used[0]);
  CHECK_NEAR(used[7], used[3], 1e-3 * used[3]);
  pm_world_destroy(w);
}

static void change_body(void *unused) {
  (void)unused;
  pm_world_set_link(pm_world_of(pm_self()), PM_LINK_CARRIER);
  pm_sleep_ns(10);
}
static void idle_body(void *unused) { (void)unused; }
static const char *refusal(pm_world_desc *desc, void (*body)(void *arg)) {
  static char text[5000];
  pm_world *w = NULL;
  text[0] = 0;
  if (pm_world_create(desc, &w) != PM_OK) return "not made";
  CHECK(pm_spawn_all(w, body, NULL) == PM_OK);
  CHECK(pm_world_run(w) == PM_E_PLATFORM);
  snprintf(text, sizeof text, "%s", pm_world_error(w));
  pm_world_destroy(w);
  return text;
}
static pm_status carrier_open(void *ctx, pm_world *world) { (void)ctx, (void)world; return PM_OK; }
static void carrier_close(void *ctx) { (void)ctx; }
static pm_status carrier_submit(void *ctx, int64_t t_ps, const pm_cargo *cargo) { (void)ctx, (void)t_ps, (void)cargo; return PM_E_INVAL; }
static int carrier_advance(void *ctx, int64_t until_ps) { (void)ctx, (void)until_ps; return 0; }
static bool carrier_is_busy(const void *ctx) { (void)ctx; return false; }
static int64_t carrier_now(const void *ctx) { (void)ctx; return 0; }
static void what_does_not_know_rails_says_so(void) {
  pm_platform p = pm_platform_bxi2(2);
  const pm_link_phase phase = {1000, PM_LINK_CARRIER};
  const pm_carrier carrier = {.name = "none", .open = carrier_open, .close = carrier_close, .submit = carrier_submit, .advance = carrier_advance, .is_busy = carrier_is_busy, .now_ps = carrier_now};
  pm_world_desc desc = {0};
  const char *one = "the level rtl knows one NIC of a node: nic_count must be 1";
  p.nic_count = 2;
  desc.platform = &p, desc.link = PM_LINK_CARRIER, desc.carrier = &carrier;
  CHECK_STR(refusal(&desc, idle_body), one);
  desc.link = PM_LINK_FLOW;
  CHECK_STR(refusal(&desc, change_body), one);
  desc.link_phases = &phase, desc.link_phase_count = 1;
  CHECK_STR(refusal(&desc, idle_body), one);
}
static void platforms_say_what_rails_they_have(void) {
  const struct { const char *text, *error; } rows[] = {
      {"pci_root_count 2\nnic_count 4\nrail_split_bytes 16384\n", ""},
      {"nic_count 0\n", "nic_count: value out of range"},
      {"nic_count 17\n", "nic_count: value out of range"},
      {"pci_root_count 0\n", "pci_root_count: value out of range"},
      {"nic_count 2\npci_root_count 3\n", "pci_root_count: 3 roots for 2 NICs"},
      {"nic_count 2\ninflight_per_node_count 3\n", "inflight_per_node_count: not with several NICs"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    pm_platform p;
    char error[200] = "";
    const pm_status status = pm_platform_read(rows[i].text, strlen(rows[i].text), &p, error, sizeof error);
    CHECK((status == PM_OK) == !rows[i].error[0] && strstr(error, rows[i].error));
    if (!strstr(error, rows[i].error)) printf("  %s\n", error);
    if (status) continue;
    CHECK(p.nic_count == 4 && p.pci_root_count == 2 && p.rail_split_bytes == 16384);
    pm_platform_free(&p);
  }
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  memory = (unsigned char *)malloc(BYTES);
  RUN(two_rails_carry_twice_as_much);
  RUN(a_shared_pci_root_limits_its_nics);
  RUN(a_cable_fails_on_its_rail_alone);
  RUN(gaps_are_of_a_nic);
  RUN(rails_keep_the_order_of_a_process);
  RUN(packets_keep_to_their_rail);
  RUN(a_node_fails_on_all_rails);
  RUN(links_are_named_by_rail);
  RUN(what_does_not_know_rails_says_so);
  RUN(platforms_say_what_rails_they_have);
  free(memory);
  return TEST_END();
}
