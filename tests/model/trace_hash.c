/* Runs worlds of every topology and level, with noise, faults and atomics, and prints a number that any bit
   of their traces, payload and statistics would change. traces_are_equal.sh compares builds. */
#ifndef IN_LIBRARY
#  define PORTALS_MODEL_IMPLEMENTATION
#endif
#include "portals_model.h"
#include <stdlib.h>

static uint64_t hash;
static void mix(const void *data, size_t bytes) {
  const unsigned char *p = (const unsigned char *)data;
  for (size_t i = 0; i < bytes; i++) hash = (hash ^ p[i]) * 0x100000001B3u;
}
static void mix_number(uint64_t value) { mix(&value, sizeof value); }

enum { ROUNDS = 12 };
static void body(void *unused) {
  static double numbers[64][64];
  static unsigned char buffer[64][40000];
  const pm_kernel kernel = {.mnk_s = 1.0e-11, .mn_s = 3e-10, .one_s = 1e-7, .sigma_ratio = 0.03};
  const int me = pm_rank(), n = pm_size();
  pm_world *w = pm_world_of(pm_self());
  ptl_handle_ni_t ni;
  ptl_handle_ct_t ct;
  ptl_handle_any_t h, md;
  ptl_pt_index_t pt;
  ptl_ct_event_t v;
  (void)unused;
  for (int i = 0; i < 32; i++) { /* of length 1, so that products stay numbers */
    float *single = (float *)&numbers[me][32];
    numbers[me][i] = i & 1 ? 0.8 : 0.6;
    single[2 * i] = 0.28f, single[2 * i + 1] = 0.96f;
  }
  if (PtlInit() || PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_NO_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &ni) ||
      PtlCTAlloc(ni, &ct) || PtlPTAlloc(ni, 0, PTL_EQ_NONE, 0, &pt) || PtlPTAlloc(ni, 0, PTL_EQ_NONE, 1, &pt))
    return pm_exit(1);
  ptl_le_t le = {buffer[me], sizeof buffer[me], PTL_CT_NONE, PTL_UID_ANY, PTL_LE_OP_PUT | PTL_LE_OP_GET};
  ptl_md_t d = {buffer[me], sizeof buffer[me], PTL_MD_EVENT_CT_ACK | PTL_MD_EVENT_CT_REPLY, PTL_EQ_NONE, ct};
  PtlLEAppend(ni, 0, &le, PTL_PRIORITY_LIST, NULL, &h);
  le.start = numbers[me], le.length = sizeof numbers[me];
  PtlLEAppend(ni, 1, &le, PTL_PRIORITY_LIST, NULL, &h);
  PtlMDBind(ni, &d, &md);
  ptl_handle_md_t md_numbers;
  d.start = numbers[me], d.length = sizeof numbers[me];
  PtlMDBind(ni, &d, &md_numbers);
  pm_barrier();
  for (int i = 0; i < ROUNDS; i++) {
    const ptl_process_t peer = pm_process_id((int)((uint64_t)(me + 1) + pm_random(w) % (uint64_t)(n - 1)) % n);
    const ptl_size_t bytes = pm_random(w) % sizeof buffer[me];
    if (i % 3) PtlPut(md, 0, bytes, PTL_CT_ACK_REQ, peer, 0, 0, 0, NULL, 0);
    else PtlGet(md, 0, bytes, peer, 0, 0, 0, NULL);
    if (i & 1) PtlAtomic(md_numbers, 0, 32, PTL_CT_ACK_REQ, peer, 1, 0, 64, NULL, 0, PTL_PROD, PTL_DOUBLE_COMPLEX);
    else PtlAtomic(md_numbers, 256, 32, PTL_CT_ACK_REQ, peer, 1, 0, 320, NULL, 0, PTL_PROD, PTL_FLOAT_COMPLEX);
    pm_compute_kernel(&kernel, 50 + i, 60, 70);
    PtlCTWait(ct, (ptl_size_t)(2 * i), &v);
  }
  PtlCTWait(ct, 2 * ROUNDS, &v);
  pm_barrier();
  mix(numbers[me], sizeof numbers[me]);
  PtlFini();
}
static void run(pm_platform p, pm_link_model link, uint64_t seed, int faulty) {
  pm_world_desc desc = {0};
  pm_world *w;
  size_t count = 0;
  desc.platform = &p;
  desc.link = link;
  desc.seed = seed;
  desc.trace = 1;
  if (faulty) desc.faults = (pm_faults){.loss_ratio = 0.02, .delay_ratio = 0.3, .delay_ns = 3333, .slow_node = 2, .slow_ratio = 1.7};
  p.noise_count = 2;
  p.noise[0] = (pm_mode){0.7, 1.0, 0.02}, p.noise[1] = (pm_mode){0.3, 1.4, 0.1};
  if (pm_world_create(&desc, &w) || pm_spawn_all(w, body, NULL) || pm_world_run(w)) exit(1);
  const pm_trace_record *r = pm_trace_records(w, &count);
  for (size_t i = 0; i < count; i++) {
    mix_number((uint64_t)r[i].t_begin_ns), mix_number((uint64_t)r[i].t_begin_ps), mix_number((uint64_t)r[i].t_end_ns);
    mix_number((uint64_t)r[i].t_end_ps), mix_number(r[i].id), mix_number(r[i].size_bytes), mix_number((uint64_t)r[i].kind);
  }
  mix_number(pm_world_stats(w).hash_id);
  pm_world_destroy(w);
}
static void run_topology(const char *text, uint64_t seed) {
  pm_platform p;
  char error[256];
  if (pm_platform_read(text, strlen(text), &p, error, sizeof error)) {
    fprintf(stderr, "%s\n", error);
    exit(1);
  }
  run(p, PM_LINK_FLOW, seed, 0);
  run(p, PM_LINK_FLOW, seed + 1, 1);
  run(p, PM_LINK_LOGGP, seed, 1);
  p.loggp_range_count = 2;
  p.loggp_range[0] = (pm_loggp_range){0, 700, 80, 60, 0.21, 0.13, 2, {{0.6, 1, 0.03}, {0.4, 1.3, 0.11}}};
  p.loggp_range[1] = (pm_loggp_range){9000, -500, 90, 800, 0.17, 0.11, 1, {{1, 1.1, 0.07}}};
  run(p, PM_LINK_LOGGP, seed, 0);
  for (p.packet_routing = 0; p.packet_routing < 3; p.packet_routing++) run(p, PM_LINK_PACKET, seed, p.packet_routing == 1);
  pm_platform_free(&p);
}
int main(void) {
  hash = 0xCBF29CE484222325u;
  for (uint64_t seed = 1; seed <= 4; seed++) {
    run_topology("node_count 6\n", seed);
    run_topology("node_count 16\ntopology fattree\ntopo 2 4 4 2 3\nlink_bytes_per_s 1.1e10\n", seed);
    run_topology("node_count 18\ntopology torus\ntopo 3 3 3 2\npci_half_duplex 1\nlink_credit_bytes 3000\n", seed);
    run_topology("node_count 24\ntopology dragonfly\ntopo 3 4 2 2\nprocs_per_node_count 2\nlink_bytes_per_s 7.3e9\n", seed);
    run_topology("node_count 4\ntopology file\nlink h0 a 1.3e10 100\nlink h1 a 9.7e9 110\nlink h2 b 1e10 50\nlink h3 b 1e10 70\nlink a b 1.7e10 200\n", seed);
  }
  printf("%016llx\n", (unsigned long long)hash);
  return 0;
}
