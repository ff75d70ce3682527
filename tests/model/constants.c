/* Every constant of a platform does something, also at each level that the manual does not except it from, and nothing
   elsewhere: worlds that together use all that the model has run with the defaults and with one constant changed, and at
   least one of them must go another way. */
#include "tests/model/ptl.h"

enum { WORLDS = 8 };
static unsigned char memory[64][3][80000];
static uint64_t noted;
static void note(uint64_t value) { noted = (noted ^ value) * 0x9E3779B97F4A7C15u; }

/* Puts, gets and atomics of all sizes, polls and waits, near and far, short and long streams. */
static void mixed_body(void *unused) {
  ptl_handle_ni_t ni;
  ptl_handle_eq_t eq;
  ptl_handle_ct_t ct;
  ptl_handle_any_t h, md, quiet;
  ptl_pt_index_t pt;
  ptl_ct_event_t v;
  ptl_event_t e;
  const int me = pm_rank(), n = pm_size();
  (void)unused;
  CHECK(PtlInit() == PTL_OK && PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &ni) == PTL_OK);
  CHECK(PtlEQAlloc(ni, 4096, &eq) == PTL_OK && PtlCTAlloc(ni, &ct) == PTL_OK && PtlPTAlloc(ni, 0, PTL_EQ_NONE, 0, &pt) == PTL_OK);
  ptl_me_t other = entry(memory[me][2], 8, 77, PTL_ME_OP_PUT), all = entry(memory[me][0], 80000, 0, PTL_ME_OP_PUT | PTL_ME_OP_GET);
  all.ignore_bits = 0xFF;
  ptl_md_t d = {memory[me][1], 80000, PTL_MD_EVENT_CT_ACK | PTL_MD_EVENT_CT_REPLY, eq, ct}, q = {memory[me][1], 80000, 0, PTL_EQ_NONE, PTL_CT_NONE};
  other.ignore_bits = 0;
  CHECK(PtlMEAppend(ni, pt, &other, PTL_PRIORITY_LIST, NULL, &h) == PTL_OK && PtlMEAppend(ni, pt, &all, PTL_PRIORITY_LIST, NULL, &h) == PTL_OK);
  CHECK(PtlMDBind(ni, &d, &md) == PTL_OK && PtlMDBind(ni, &q, &quiet) == PTL_OK);
  pm_barrier();
  static const ptl_size_t sizes[] = {1, 8, 9, 40, 64, 65, 300, 408, 409, 500, 600, 5000, 70000};
  ptl_size_t done = 0;
  for (int i = 0; i < 13; i++) {
    const ptl_process_t peer = pm_process_id((me + 1 + i) % n), root = pm_process_id(0);
    CHECK(PtlPut(md, 0, sizes[i], PTL_CT_ACK_REQ, peer, pt, 1, 0, NULL, 0) == PTL_OK);
    CHECK(PtlGet(md, 0, sizes[i], peer, pt, 2, 0, NULL) == PTL_OK);
    CHECK(PtlPut(md, 0, sizes[i], PTL_CT_ACK_REQ, root, pt, 3, 0, NULL, 0) == PTL_OK);
    CHECK(PtlFetchAtomic(md, 0, md, 64, 8, peer, pt, 4, 0, NULL, 0, PTL_SUM, PTL_UINT64_T) == PTL_OK);
    done += 4;
    if (i % 4 == 0) CHECK(PtlCTWait(ct, done, &v) == PTL_OK);
    while (PtlEQGet(eq, &e) == PTL_OK) note((uint64_t)pm_now_ns());
  }
  CHECK(PtlCTWait(ct, done, &v) == PTL_OK);
  while (PtlEQGet(eq, &e) == PTL_OK) note((uint64_t)pm_now_ns());
  CHECK(PtlPut(md, 0, 40, PTL_CT_ACK_REQ, pm_process_id((me + 1) % n), pt, 1, 0, NULL, 0) == PTL_OK);
  do CHECK(PtlEQWait(eq, &e) == PTL_OK); /* told before it is acknowledged, where it may be */
  while (e.type != PTL_EVENT_SEND);
  note((uint64_t)pm_now_ns());
  CHECK(PtlCTWait(ct, done + 1, &v) == PTL_OK);
  for (int i = 0; i < 120 && me < n / 2; i++) CHECK(PtlPut(quiet, 0, 8, PTL_NO_ACK_REQ, pm_process_id(me + n / 2), pt, 0, 0, NULL, 0) == PTL_OK);
  note((uint64_t)pm_now_ns());
  pm_barrier();
  for (int i = 0; i < 12; i++) CHECK(PtlEQGet(eq, &e) == PTL_OK || 1);
  for (int i = 0; i < 12; i++) pm_yield();
  note((uint64_t)pm_now_ns());
  pm_barrier();
  PtlFini();
}
/* Messages of two sides beside a timer's worker, which takes from the cores; computation with noise. */
static void messages_body(void *unused) {
  const pm_kernel kernel = {.one_s = 1e-5};
  const int me = pm_rank(), n = pm_size(), peer = n - 1 - me;
  const pm_msg_desc desc = {.by = PM_MSG_TIMER, .worker_period_ns = 30000};
  pm_msg *msg;
  (void)unused;
  CHECK(pm_msg_open(&desc, &msg) == PM_OK);
  for (int i = 0; i < 4; i++) {
    pm_msg_op in = {0}, out = {0};
    CHECK(pm_msg_isend(msg, memory[me][0], i & 1 ? 60000 : 600, peer, 0, &out) == PM_OK);
    if (i == 2) pm_msg_compute_ns(msg, 300000);
    CHECK(pm_msg_irecv(msg, memory[me][1], 60000, peer, 0, &in) == PM_OK);
    pm_msg_compute_ns(msg, 200000);
    pm_compute_kernel(&kernel, 1, 1, 1);
    CHECK(pm_msg_wait(msg, &in) == PM_OK && pm_msg_wait(msg, &out) == PM_OK);
    note((uint64_t)pm_now_ns());
  }
  pm_msg_compute_ns(msg, 0);
  note((uint64_t)pm_msg_desc_of(msg).worker_period_ns);
  pm_msg_close(msg);
}
static void dedicated_body(void *unused) {
  const pm_msg_desc desc = {.by = PM_MSG_DEDICATED};
  pm_msg *msg;
  (void)unused;
  CHECK(pm_msg_open(&desc, &msg) == PM_OK);
  pm_msg_compute_ns(msg, 1000000);
  note((uint64_t)pm_now_ns());
  pm_msg_close(msg);
}
/* More threads than cores. */
static void crowd_main(void *unused) {
  (void)unused;
  pm_compute_ns(1000);
}
static void crowd_body(void *unused) {
  pm_thread *t[100];
  (void)unused;
  for (int i = 0; i < 100; i++) t[i] = pm_thread_create(crowd_main, NULL, 0);
  for (int i = 0; i < 100; i++) pm_thread_join(t[i]);
  note((uint64_t)pm_now_ns());
}
static int level; /* of all worlds; -1: each has its own */
/* ret 0: the platform is refused */
static int play(pm_platform p, int which, uint64_t *hash) {
  static void (*const bodies[WORLDS])(void *) = {mixed_body, mixed_body, mixed_body, mixed_body, messages_body, dedicated_body, mixed_body, crowd_body};
  static const pm_link_model links[WORLDS] = {PM_LINK_FLOW, PM_LINK_LOGGP, PM_LINK_PACKET, PM_LINK_FLOW, PM_LINK_FLOW, PM_LINK_FLOW, PM_LINK_FLOW, PM_LINK_FLOW};
  pm_world_desc desc = {.platform = &p, .link = level < 0 ? links[which] : (pm_link_model)level, .seed = 3};
  pm_world *w;
  if (which == 2) p.topology = PM_TOPO_FATTREE, p.topo[0] = 2, p.topo[1] = 2, p.topo[2] = 2, p.topo[3] = 1, p.topo[4] = 2;
  if (which == 6) p.nic_count += 3, p.inflight_per_node_count = 0;
  else p.pci_root_count = 1;
  if (which == 3) desc.faults = (pm_faults){.loss_ratio = 0.2, .duplicate_ratio = 0.2};
  noted = 1;
  if (pm_world_create(&desc, &w)) return 0;
  CHECK(pm_spawn_all(w, bodies[which], NULL) == PM_OK);
  note(pm_world_run(w));
  const pm_stats s = pm_world_stats(w);
  note(s.hash_id), note(s.message_count), note((uint64_t)pm_world_now_ns(w));
  pm_world_destroy(w);
  *hash = noted;
  return 1;
}
static pm_platform usual(void) {
  pm_platform p = pm_platform_bxi2(4);
  p.procs_per_node_count = 2;
  return p;
}
static uint64_t as_usual[WORLDS];
static bool matters(const pm_platform *p) {
  for (int i = 0; i < WORLDS; i++) {
    uint64_t hash;
    if (!play(*p, i, &hash) || hash != as_usual[i]) return true;
  }
  return false;
}
/* Limits of 0 are none; the switches are 0 or 1; what is large by default is made small. */
static int64_t another(const char *name, int64_t value) {
  static const struct {
    const char *name;
    int64_t value;
  } special[] = {{"link_credit_bytes", 100}, {"inflight_per_process_count", 1}, {"inflight_per_node_count", 1}, {"e2e_entry_count", 2},
                 {"e2e_retry_count", 0}, {"command_queue_count", 1}, {"nic_pipeline_count", 2}, {"nic_engine_count", 1}, {"cores_per_node_count", 4},
                 {"cpu_poll_max_ns", 30}, {"nic_count", 2}, {"pci_root_count", 2}, {"rail_split_bytes", 4000}, {"nic_match_ns", 40}, {"procs_per_node_count", 1}, {"packet_bytes", 700}, {"packet_input_bytes", 700}, {"packet_output_bytes", 1}, {"early_send_bytes", 8}};
  for (size_t i = 0; i < sizeof special / sizeof *special; i++)
    if (strcmp(special[i].name, name) == 0) return special[i].value;
  return value <= 1 ? 1 - value : value / 2 + 1;
}
/* As the platform's manual has it, see LEVELS AND CONSTANTS. */
static bool begins_with_one_of(const char *name, const char *const *words) {
  while (*words && strncmp(name, *words, strlen(*words)) != 0) words++;
  return *words != NULL;
}
static bool has_a_meaning(const char *name) {
  static const char *const of_loggp[] = {"loggp_", NULL}, *const of_packets[] = {"packet_", NULL};
  static const char *const all_of_loggp[] = {"loggp_", "node_count", "procs_", "cores_", "nic_count", "rail_split_bytes", "early_send_bytes", "e2e_", "inflight_",
                                             "intra_uses_nic", "intra_bytes_per_s", "cpu_append_ns", "cpu_event_ns", "cpu_poll_", "cpu_switch_ns", NULL};
  return level == PM_LINK_LOGGP    ? begins_with_one_of(name, all_of_loggp)
         : level == PM_LINK_PACKET ? !begins_with_one_of(name, of_loggp)
         : level == PM_LINK_FLOW   ? !begins_with_one_of(name, of_loggp) && !begins_with_one_of(name, of_packets)
                                   : true;
}
static void check_constant(const pm_platform *changed, const char *name) {
  const bool does = matters(changed), should = has_a_meaning(name);
  CHECK(does == should);
  if (does != should) printf("  level %d: %s %s\n", level, name, does ? "has a meaning" : "changes nothing");
}
static void constants_matter_where_they_have_a_meaning(void) {
  const pm_platform defaults = usual();
  int count = 0;
  for (int i = 0; i < WORLDS; i++) {
    uint64_t again;
    CHECK(play(defaults, i, &as_usual[i]) && play(defaults, i, &again) && again == as_usual[i]);
  }
#define PM__X(field, value, text)                                                                  \
  do {                                                                                             \
    pm_platform p = defaults;                                                                      \
    p.field = another(#field, p.field);                                                            \
    check_constant(&p, #field);                                                                    \
    count++;                                                                                       \
  } while (0);
  PM_PLATFORM_INT_LIST(PM__X)
#undef PM__X
#define PM__X(field, value, text)                                                                  \
  do {                                                                                             \
    pm_platform p = defaults;                                                                      \
    p.field /= 10;                                                                                 \
    check_constant(&p, #field);                                                                    \
    count++;                                                                                       \
  } while (0);
  PM_PLATFORM_REAL_LIST(PM__X)
#undef PM__X
  pm_platform p = defaults;
  p.noise_count = 1, p.noise[0] = (pm_mode){1, 1, 0.1};
  CHECK(matters(&p));
  CHECK(count > 50);
}

static void every_constant_matters(void) {
  level = -1;
  constants_matter_where_they_have_a_meaning();
}
static void each_level_takes_the_constants_it_says(void) {
  static const pm_link_model levels[] = {PM_LINK_FLOW, PM_LINK_LOGGP, PM_LINK_PACKET};
  for (int i = 0; i < 3; i++) {
    level = levels[i];
    constants_matter_where_they_have_a_meaning();
  }
}
int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(every_constant_matters);
  RUN(each_level_takes_the_constants_it_says);
  return TEST_END();
}
