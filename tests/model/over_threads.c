/* Worlds over threads of the host: what happens, when, and its hash are the same for any number of threads, in random
   worlds with everything that works there; what does not is refused with its reason; ends of all kinds are the same. */
#include "tests/model/ptl.h"

enum { RANKS = 24, AREA = 4096, LANDINGS = 64, STEPS = 48, NODES = 8 };
typedef struct rank_state {
  uint64_t sum;
  int landing;
  unsigned char source[AREA], home[AREA], land[LANDINGS][AREA];
} rank_state;
static rank_state ranks[RANKS];
static uint64_t of_node[NODES]; /* by processes of one node alone: no locks */
static struct { pm_msg_large large; pm_msg_progress_by by; uint64_t seed; int fails_at; } plan;

static uint64_t next(uint64_t *seed) { /* as all draw it */
  uint64_t z = *seed += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  return z ^ z >> 29;
}
static rank_state *self(void) { return &ranks[pm_rank()]; }
static uint64_t below(uint64_t n) { return pm_random(pm_world_of(pm_self())) % n; }
static void mix(uint64_t x) { self()->sum = (self()->sum ^ x) * 0x9E3779B97F4A7C15u; }
static void mix_time(void) { mix((uint64_t)pm_now_ns()), of_node[pm_process_node(pm_self())] += (uint64_t)pm_now_ns(); }
static void mix_event(const ptl_event_t *e) {
  mix(e->type), mix(e->mlength), mix(e->ni_fail_type), mix(e->remote_offset), mix_time();
}
static void open_side(side *s, ptl_handle_md_t *landing) {
  ptl_handle_me_t h;
  PtlInit();
  PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &s->ni);
  PtlEQAlloc(s->ni, 8192, &s->eq), PtlCTAlloc(s->ni, &s->ct), PtlPTAlloc(s->ni, 0, s->eq, 3, &s->pt);
  ptl_md_t out = {self()->source, AREA, 0, s->eq, s->ct}, in = {self()->land, sizeof self()->land, PTL_MD_EVENT_CT_REPLY, s->eq, s->ct};
  PtlMDBind(s->ni, &out, &s->md), PtlMDBind(s->ni, &in, landing);
  ptl_me_t m = entry(self()->home, AREA, 7, PTL_ME_OP_PUT | PTL_ME_OP_GET | PTL_ME_EVENT_CT_COMM);
  m.ct_handle = s->ct;
  PtlMEAppend(s->ni, 3, &m, PTL_PRIORITY_LIST, NULL, &h);
}
static void one_operation(const side *s, ptl_handle_md_t landing) {
  const ptl_process_t to = pm_process_id((int)below((uint64_t)pm_size()));
  const ptl_size_t bytes = below(3) ? below(65) : below(AREA / 2), word = 8 * (1 + below(4));
  const ptl_size_t land = (ptl_size_t)(self()->landing++ % LANDINGS) * AREA;
  const ptl_ack_req_t ack = below(2) ? PTL_ACK_REQ : below(2) ? PTL_NO_ACK_REQ : PTL_OC_ACK_REQ;
  switch (below(6)) {
  case 0: PtlGet(landing, land, bytes, to, 3, 7, below(AREA), NULL); break;
  case 1: PtlAtomic(s->md, 8 * below(9), word, ack, to, 3, 7, 8 * below(99), NULL, 0, PTL_SUM, PTL_UINT64_T); break;
  case 2: PtlFetchAtomic(landing, land, s->md, 0, 8, to, 3, 7, 8 * below(9), NULL, 0, PTL_MAX, PTL_INT64_T); break;
  case 3: PtlTriggeredPut(s->md, 0, bytes, ack, to, 3, 7, below(AREA), NULL, 0, s->ct, 1 + below(30)); break;
  default: PtlPut(s->md, below(AREA / 2), bytes, ack, to, 3, 7 + (below(9) == 0), below(AREA), NULL, below(9));
  }
}
static void random_body(void *unused) {
  static const ptl_size_t far[] = {4, 9};
  side s;
  ptl_handle_md_t landing;
  ptl_event_t e;
  ptl_ct_event_t c;
  unsigned int which;
  (void)unused;
  memset(&s, 0, offsetof(side, memory));
  memset(self()->source, pm_rank(), AREA);
  open_side(&s, &landing);
  const ptl_handle_ct_t counts[] = {s.ct, s.ct};
  for (int i = 0; i < STEPS; i++) {
    if (i % 12 == 0) pm_barrier(), mix_time();
    if (plan.fails_at == i && pm_rank() == 1) pm_world_fail(pm_world_of(pm_self()), PM_E_CRASH, "as planned");
    switch (below(8)) {
    case 0: pm_compute_ns((int64_t)below(5000)); break;
    case 1: pm_sleep_ns((int64_t)below(3000)); break;
    case 2: while (PtlEQGet(s.eq, &e) == PTL_OK) mix_event(&e); break;
    case 3: if (PtlEQPoll(&s.eq, 1, (ptl_time_t)below(3), &e, &which) == PTL_OK) mix_event(&e); break;
    case 4: PtlCTPoll(counts, far, 2, 1, &c, &which), mix(c.success); break;
    default: one_operation(&s, landing);
    }
    mix_time();
  }
  if (below(2)) PtlCTGet(s.ct, &c), mix(c.success);
  if (below(3)) PtlFini(); /* else the process just ends, with messages on their way */
  mix_time();
}
/* Two-sided: shifts that all know, then one that takes from anybody. */
static void messages_body(void *unused) {
  const pm_msg_desc desc = {.large = plan.large, .by = plan.by, .eager_bytes = 512, .worker_period_ns = 3000, .fragment_bytes = 700};
  uint64_t seed = plan.seed;
  pm_msg *msg;
  (void)unused;
  CHECK(pm_msg_open(&desc, &msg) == PM_OK);
  const int n = pm_size(), me = pm_rank();
  for (int round = 0; round < 12; round++) {
    const uint64_t r = next(&seed);
    const int shift = (int)(r % (uint64_t)n);
    const uint64_t bytes = r >> 40 & 1 ? r >> 20 & 63 : r >> 20 & 4095;
    pm_msg_op out = {0}, in = {0};
    CHECK(pm_msg_irecv(msg, self()->land[0], bytes, (me - shift + n) % n, 5, &in) == PM_OK);
    CHECK(pm_msg_isend(msg, self()->source, bytes, (me + shift) % n, 5, &out) == PM_OK);
    if (r >> 50 & 1) pm_compute_ns((int64_t)(r >> 51));
    if (r >> 49 & 1) pm_msg_progress(msg);
    mix((uint64_t)pm_msg_wait(msg, &in)), mix((uint64_t)pm_msg_wait(msg, &out)), mix(in.size_bytes), mix_time();
  }
  for (int from = 1; me == 0 && from < n; from++) {
    pm_msg_op in = {0};
    CHECK(pm_msg_irecv(msg, self()->land[1], 64, PM_MSG_ANY_PEER, 6, &in) == PM_OK);
    CHECK(pm_msg_wait(msg, &in) == PM_OK);
    mix((uint64_t)in.peer), mix_time();
  }
  if (me) {
    pm_msg_op out = {0};
    CHECK(pm_msg_isend(msg, self()->source, 64, 0, 6, &out) == PM_OK && pm_msg_wait(msg, &out) == PM_OK);
  }
  pm_barrier();
  pm_msg_close(msg);
}
static void other_thread(void *first) {
  for (int i = 0; i < 5; i++) {
    pm_compute_ns(700 + (int64_t)below(50)), mix_time();
    pm_thread_wake((pm_thread *)first);
  }
}
static void threads_body(void *unused) { /* of simulated processes: each has two */
  pm_thread *other = pm_thread_create(other_thread, pm_thread_self(), 0);
  CHECK(other != NULL);
  for (int i = 0; i < 5; i++) mix((uint64_t)pm_thread_wait("the other one", (int64_t)below(2000))), mix_time();
  random_body(unused);
  pm_thread_join(other);
  mix_time();
}

typedef struct outcome {
  pm_stats stats;
  pm_status status;
  int64_t now_ns;
  uint64_t sum, memory, nodes;
  char error[4096];
} outcome;
static outcome run(const pm_world_desc *base, void (*body)(void *arg), int threads) {
  pm_world_desc desc = *base;
  outcome o = {0};
  pm_world *w;
  memset(ranks, 0, sizeof ranks), memset(of_node, 0, sizeof of_node);
  desc.threads = threads;
  CHECK(pm_world_create(&desc, &w) == PM_OK && pm_spawn_all(w, body, NULL) == PM_OK);
  o.status = pm_world_run(w);
  o.stats = pm_world_stats(w);
  o.now_ns = pm_world_now_ns(w);
  snprintf(o.error, sizeof o.error, "%s", pm_world_error(w));
  pm_world_destroy(w);
  for (int i = 0; i < RANKS; i++) {
    o.sum = o.sum * 31 + ranks[i].sum;
    for (size_t k = 0; k < AREA; k++) o.memory = o.memory * 31 + ranks[i].home[k] + ranks[i].land[k % LANDINGS][k];
  }
  for (int i = 0; i < NODES; i++) o.nodes = o.nodes * 31 + of_node[i];
  return o;
}
static bool same(const outcome *a, const outcome *b) {
  return a->stats.hash_id == b->stats.hash_id && a->stats.message_count == b->stats.message_count && a->stats.sent_bytes == b->stats.sent_bytes &&
         a->stats.delivered_bytes == b->stats.delivered_bytes && a->stats.undeliverable_count == b->stats.undeliverable_count &&
         a->stats.stack_count == b->stats.stack_count && a->stats.pending_count == b->stats.pending_count && a->status == b->status && a->now_ns == b->now_ns && a->sum == b->sum &&
         a->memory == b->memory && a->nodes == b->nodes && strcmp(a->error, b->error) == 0;
}
static pm_platform random_platform(void) {
  pm_platform p = pm_platform_bxi2(2 + (int)test_below(NODES - 1));
  p.procs_per_node_count = 1 + (int64_t)test_below(RANKS / NODES);
  p.loggp_latency_ns = 1 + (int64_t)test_below(test_below(2) ? 5 : 3000);
  p.loggp_overhead_ns = (int64_t)test_below(300), p.loggp_gap_ns = (int64_t)test_below(200);
  p.cores_are_shared = test_below(3) == 0;
  if (test_below(3) == 0) p.nic_count = 2, p.rail_split_bytes = 1024;
  if (test_below(3) == 0) p.e2e_entry_count = 1 + (int64_t)test_below(4);
  if (test_below(3) == 0) p.inflight_per_process_count = 1 + (int64_t)test_below(3);
  p.intra_uses_nic = test_below(4) == 0;
  p.cores_per_node_count = 2 * p.procs_per_node_count;
  return p;
}
static pm_world_desc random_world(const pm_platform *p) {
  pm_world_desc d = {0};
  d.platform = p, d.link = PM_LINK_LOGGP, d.seed = test_rand();
  if (test_below(3) == 0) d.call_noise_ns = (int64_t)test_below(500);
  if (test_below(4) == 0) d.faults.slow_node = 1, d.faults.slow_ratio = 3;
  return d;
}
/* Against one thread; the last count may be larger than that of the nodes. */
static void agree(const pm_world_desc *d, void (*body)(void *arg), pm_status expected) {
  const outcome one = run(d, body, 1);
  CHECK(one.status == expected && (one.stats.message_count || expected == PM_E_TIME_LIMIT));
  if (one.status != expected) printf("  %s\n", one.error);
  for (int threads = 2; threads <= 4; threads++) {
    const outcome more = run(d, body, threads == 4 ? NODES + 3 : threads);
    CHECK(same(&one, &more));
    if (!same(&one, &more)) printf("  %d threads: %s, %s\n", threads, one.error, more.error);
  }
}
static void random_worlds_are_the_same_for_any_number_of_threads(void) {
  void (*const bodies[])(void *) = {random_body, messages_body, threads_body};
  for (int round = 0; round < test_rounds(60); round++) {
    const pm_platform p = random_platform();
    const pm_world_desc d = random_world(&p);
    plan.large = (pm_msg_large)test_below(3), plan.by = (pm_msg_progress_by)test_below(3), plan.seed = test_rand(), plan.fails_at = -1;
    agree(&d, bodies[round % 3], PM_OK);
  }
}
/* Pauses between looks grow with the time since the whole world has done nothing else: not with what one part of it does. */
static void lookers_body(void *unused) {
  side s;
  ptl_handle_md_t landing;
  (void)unused;
  memset(&s, 0, offsetof(side, memory));
  open_side(&s, &landing);
  pm_barrier();
  for (int i = 0; i < STEPS; i++) {
    switch (below(6)) {
    case 0: pm_compute_ns((int64_t)below(3000)); break;
    case 1: pm_sleep_ns((int64_t)below(3000)); break;
    case 2: if (below(4) == 0) one_operation(&s, landing); break;
    default:
      for (int64_t t_end_ns = pm_now_ns() + (int64_t)(below(2) ? below(100) : below(60000)); pm_now_ns() < t_end_ns;) pm_yield();
    }
    mix_time();
  }
}
static void lookers_without_patience_are_the_same(void) {
  for (int round = 0; round < test_rounds(40); round++) {
    const pm_platform p = random_platform();
    pm_world_desc d = random_world(&p);
    d.d_poll_deadlock_ns = 100000 + (int64_t)test_below(1000000);
    const outcome one = run(&d, lookers_body, 1);
    for (int threads = 2; threads <= NODES; threads += 2) {
      const outcome more = run(&d, lookers_body, threads);
      CHECK(same(&one, &more));
    }
  }
}
static void waits_for_ever(void *unused) {
  random_body(unused);
  if (pm_rank() % 2) pm_thread_wait("what never comes", -1);
}
static void looks_for_ever(void *unused) {
  volatile bool never = false;
  random_body(unused);
  while (!never) pm_yield();
}
static void ends_are_the_same(void) {
  for (int round = 0; round < test_rounds(6); round++) {
    const pm_platform p = random_platform();
    pm_world_desc d = random_world(&p);
    plan.fails_at = -1;
    agree(&d, waits_for_ever, PM_E_DEADLOCK);
    d.d_poll_deadlock_ns = 100000;
    agree(&d, looks_for_ever, PM_E_DEADLOCK);
    d.d_limit_ns = 9000;
    agree(&d, looks_for_ever, PM_E_TIME_LIMIT);
    d.d_limit_ns = d.d_poll_deadlock_ns = 0, plan.fails_at = 20;
    CHECK(run(&d, random_body, 3).status == PM_E_CRASH);
    CHECK_STR(run(&d, random_body, 2).error, "as planned");
  }
}
/* One message: as without threads. */
static void one_way(void *unused) {
  side s;
  ptl_handle_md_t landing;
  ptl_ct_event_t c;
  (void)unused;
  memset(&s, 0, offsetof(side, memory));
  open_side(&s, &landing);
  pm_sleep_ns(10000 - pm_now_ns());
  if (pm_rank() == 0) PtlPut(s.md, 0, 100, PTL_NO_ACK_REQ, pm_process_id(1), 3, 7, 0, NULL, 0);
  if (pm_rank() == 1) PtlCTWait(s.ct, 1, &c), mix_time();
  PtlFini();
}
static void a_message_takes_as_long_as_without_threads(void) {
  const pm_platform p = pm_platform_bxi2(3);
  const pm_world_desc d = {.platform = &p, .link = PM_LINK_LOGGP};
  const outcome none = run(&d, one_way, 0), two = run(&d, one_way, 2);
  CHECK(none.status == PM_OK && two.status == PM_OK && none.sum == two.sum && none.sum);
}
static void burst(void *unused) {
  side s;
  ptl_handle_md_t landing;
  ptl_ct_event_t c;
  (void)unused;
  memset(&s, 0, offsetof(side, memory));
  open_side(&s, &landing);
  pm_sleep_ns(10000 - pm_now_ns());
  for (int i = 0; pm_rank() == 0 && i < 20; i++) PtlPut(s.md, 0, 8, PTL_NO_ACK_REQ, pm_process_id(1), 3, 7, 0, NULL, 0);
  if (pm_rank() == 1) PtlCTWait(s.ct, 20, &c), mix_time();
  PtlFini();
}
static void entries_hold_messages_back_as_without_threads(void) {
  pm_platform p = pm_platform_bxi2(2);
  const pm_world_desc d = {.platform = &p, .link = PM_LINK_LOGGP};
  const outcome many = run(&d, burst, 2), many_none = run(&d, burst, 0);
  p.e2e_entry_count = 2;
  const outcome few = run(&d, burst, 2), few_none = run(&d, burst, 0);
  CHECK(many.status == PM_OK && few.status == PM_OK && many.sum == many_none.sum && few.sum == few_none.sum && few.sum != many.sum);
}
static void again(void *unused) { (void)unused, pm_barrier(), pm_sleep_ns(1000), mix_time(); }
static void a_world_may_run_again(void) {
  const pm_platform p = pm_platform_bxi2(4);
  const pm_world_desc d = {.platform = &p, .link = PM_LINK_LOGGP, .threads = 3};
  pm_world *w;
  CHECK(pm_world_create(&d, &w) == PM_OK && pm_spawn_all(w, random_body, NULL) == PM_OK);
  plan.fails_at = -1;
  CHECK(pm_world_run(w) == PM_OK);
  const int64_t t_ns = pm_world_now_ns(w);
  for (int i = 0; i < 4; i++) CHECK(pm_process_at(w, i) && pm_world_of(pm_process_at(w, i)) == w);
  CHECK(t_ns > 0 && pm_world_run(w) == PM_OK && pm_world_now_ns(w) == t_ns);
  pm_world_destroy(w);
}
static void wakes_another_node(void *thread) {
  pm_thread **at = (pm_thread **)thread;
  if (pm_rank() == 0) __atomic_store_n(at, pm_thread_self(), __ATOMIC_RELEASE), pm_sleep_ns(1000000);
  pm_sleep_ns(5000);
  if (pm_rank() == 1) pm_thread_wake(__atomic_load_n(at, __ATOMIC_ACQUIRE));
}
static void joins_another_node(void *thread) {
  pm_thread **at = (pm_thread **)thread;
  if (pm_rank() == 0) __atomic_store_n(at, pm_thread_self(), __ATOMIC_RELEASE);
  pm_sleep_ns(5000);
  if (pm_rank() == 1) pm_thread_join(__atomic_load_n(at, __ATOMIC_ACQUIRE));
}
static void no_switch(void *user, pm_process *to) { (void)user, (void)to; }
static void never(void *unused) { (void)unused; }
static void no_stamp(void *unused, const pm_stamp *stamp) { (void)unused, (void)stamp; }
static void refused(pm_world_desc d, const char *why) {
  pm_world *w;
  d.threads = 2;
  CHECK(pm_world_create(&d, &w) == PM_OK && pm_spawn_all(w, again, NULL) == PM_OK);
  CHECK(pm_world_run(w) == PM_E_INVAL && strstr(pm_world_error(w), why));
  if (!strstr(pm_world_error(w), why)) printf("  %s\n", pm_world_error(w));
  pm_world_destroy(w);
}
static void what_cannot_be_is_refused_with_its_reason(void) {
  const pm_platform p = pm_platform_bxi2(2);
  pm_platform none = p, noisy = p;
  const pm_link_phase later = {1000, PM_LINK_LOGGP};
  const pm_world_desc good = {.platform = &p, .link = PM_LINK_LOGGP};
  pm_world_desc d = good;
  d.link = PM_LINK_FLOW, refused(d, "only the level loggp");
  d.link = PM_LINK_PACKET, refused(d, "only the level loggp"), d = good;
  d.link_phases = &later, d.link_phase_count = 1, refused(d, "only the level loggp"), d = good;
  none.loggp_latency_ns = 0, d.platform = &none, refused(d, "latency"), d = good;
  d.faults.loss_ratio = 0.5, refused(d, "faults"), d = good;
  noisy.loggp_range_count = 1, noisy.loggp_range[0].latency_ns = 100, d.platform = &noisy, refused(d, "noise"), d = good;
  d.trace = true, refused(d, "no traces"), d = good;
  d.link_use = true, refused(d, "use of links"), d = good;
  d.compute_ratio = 1, refused(d, "measured computation"), d = good;
  d.catch_crashes = true, refused(d, "crashes"), d = good;
  d.switched = no_switch, refused(d, "callbacks"), d = good;
  pm_world *w;
  pm_thread *thread = NULL;
  d.threads = -1;
  CHECK(pm_world_create(&d, &w) == PM_E_INVAL);
  d.threads = 2;
  CHECK(pm_world_create(&d, &w) == PM_OK && pm_call_at(w, 5, never, NULL) == PM_E_STATE && pm_flow_start(w, 0, 1, 8, NULL, NULL) == PM_E_STATE);
  pm_on_stamp(w, no_stamp, NULL);
  CHECK(pm_world_run(w) == PM_E_INVAL && strstr(pm_world_error(w), "stamps"));
  pm_world_destroy(w);
  CHECK(pm_world_create(&d, &w) == PM_OK && pm_spawn_all(w, wakes_another_node, &thread) == PM_OK);
  CHECK(pm_world_run(w) == PM_E_STATE && strstr(pm_world_error(w), "another node was woken"));
  pm_world_destroy(w);
  CHECK(pm_world_create(&d, &w) == PM_OK && pm_spawn_all(w, joins_another_node, &thread) == PM_OK);
  CHECK(pm_world_run(w) == PM_E_STATE && strstr(pm_world_error(w), "another node is to be joined"));
  pm_world_destroy(w);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(a_message_takes_as_long_as_without_threads);
  RUN(entries_hold_messages_back_as_without_threads);
  RUN(random_worlds_are_the_same_for_any_number_of_threads);
  RUN(lookers_without_patience_are_the_same);
  RUN(ends_are_the_same);
  RUN(a_world_may_run_again);
  RUN(what_cannot_be_is_refused_with_its_reason);
  return TEST_END();
}
