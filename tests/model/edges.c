/* The ends of what numbers can hold: simulated time, sizes and constants at their limits end runs with a
   clear error or saturate, and never wrap. A world in which nothing can happen any more is found out. */
#define PORTALS_MODEL_IMPLEMENTATION
#include "portals_model.h"
#include "tests/test.h"

static const int64_t day_ns = (int64_t)86400 * 1000000000;
static pm_status run_with(pm_world_desc desc, int nodes, void (*body)(void *arg), void *arg, char error[512], int64_t *now_ns) {
  pm_platform platform = pm_platform_bxi2(nodes);
  pm_world *w = NULL;
  if (!desc.platform) desc.platform = &platform;
  CHECK(pm_world_create(&desc, &w) == PM_OK);
  if (!w) return PM_E_INVAL;
  CHECK(pm_spawn_all(w, body, arg) == PM_OK);
  const pm_status status = pm_world_run(w);
  if (error) snprintf(error, 512, "%.500s", pm_world_error(w));
  if (now_ns) *now_ns = pm_world_now_ns(w);
  pm_world_destroy(w);
  return status;
}

/* ---- time ------------------------------------------------------------------------------------------ */
static int64_t woke_ns[8];
static void sleeps_days(void *arg) {
  for (int i = 0; i < 8; i++) {
    pm_sleep_ns(*(const int64_t *)arg);
    woke_ns[i] = pm_now_ns();
  }
}
static void computes_days(void *arg) {
  pm_compute_ns(*(const int64_t *)arg);
  woke_ns[0] = pm_now_ns();
}
static void waits_days(void *arg) {
  CHECK(pm_thread_wait("a test", *(const int64_t *)arg) == 0);
  woke_ns[0] = pm_now_ns();
}
static void time_ends_with_an_error_not_in_the_past(void) {
  int64_t d_ns = 30 * day_ns, now_ns;
  char error[512];
  memset(woke_ns, 0, sizeof woke_ns);
  CHECK(run_with((pm_world_desc){0}, 1, sleeps_days, &d_ns, error, &now_ns) == PM_E_TIME_LIMIT);
  CHECK(woke_ns[0] == 30 * day_ns && woke_ns[1] == 60 * day_ns && woke_ns[2] == 90 * day_ns && woke_ns[3] == 0);
  CHECK(strstr(error, "104 days") != NULL);
  CHECK(now_ns == 90 * day_ns);
  void (*const bodies[])(void *) = {computes_days, waits_days, sleeps_days};
  const int64_t long_ns[] = {INT64_MAX, INT64_MAX / 1000, 107 * day_ns, 105 * day_ns};
  for (int b = 0; b < 3; b++)
    for (int i = 0; i < 4; i++) {
      d_ns = long_ns[i];
      woke_ns[0] = -1;
      CHECK(run_with((pm_world_desc){0}, 1, bodies[b], &d_ns, error, NULL) == PM_E_TIME_LIMIT && woke_ns[0] == -1);
    }
  d_ns = 104 * day_ns;
  CHECK(run_with((pm_world_desc){0}, 1, computes_days, &d_ns, NULL, NULL) == PM_OK && woke_ns[0] == d_ns);
  d_ns = INT64_MIN;
  CHECK(run_with((pm_world_desc){0}, 1, computes_days, &d_ns, NULL, NULL) == PM_OK && woke_ns[0] == 0);
}
static void naps(void *unused) {
  (void)unused;
  for (int i = 0; i < 20; i++) pm_sleep_ns(1000), pm_yield();
}
static void long_limits_are_no_limits(void) {
  const int64_t limits[] = {INT64_MAX, 200 * day_ns, 106 * day_ns};
  for (int i = 0; i < 3; i++) {
    CHECK(run_with((pm_world_desc){.d_limit_ns = limits[i]}, 2, naps, NULL, NULL, NULL) == PM_OK);
    CHECK(run_with((pm_world_desc){.d_poll_deadlock_ns = limits[i]}, 2, naps, NULL, NULL, NULL) == PM_OK);
  }
  CHECK(run_with((pm_world_desc){.d_limit_ns = 5000}, 2, naps, NULL, NULL, NULL) == PM_E_TIME_LIMIT);
}
static void never_called(void *unused) {
  (void)unused;
  CHECK(0);
}
static int64_t flow_end_ns;
static void flow_ended(void *world) { flow_end_ns = pm_world_now_ns((const pm_world *)world); }
static void flows_and_calls_at_the_end_of_time(void) {
  pm_platform platform = pm_platform_bxi2(2);
  pm_world_desc desc = {.platform = &platform};
  pm_world *w;
  CHECK(pm_world_create(&desc, &w) == PM_OK);
  CHECK(pm_call_at(w, INT64_MAX, never_called, NULL) == PM_E_INVAL && pm_call_at(w, 105 * day_ns, never_called, NULL) == PM_E_INVAL);
  CHECK(pm_flow_start(w, 0, 1, 1e17, flow_ended, w) == PM_OK);
  CHECK(pm_world_run(w) == PM_OK);
  CHECK_NEAR((double)flow_end_ns * 1e-9, 1e17 / (12.5e9 * 64 / 72), 1);
  pm_world_destroy(w);
  CHECK(pm_world_create(&desc, &w) == PM_OK);
  CHECK(pm_flow_start(w, 0, 1, 1e18, never_called, NULL) == PM_OK);
  CHECK(pm_world_run(w) == PM_E_TIME_LIMIT);
  pm_world_destroy(w);
}

/* ---- constants and faults at their limits ----------------------------------------------------------- */
static void exchanges(void *moved) { /* NULL, or counts calls that moved data and returned */
  ptl_handle_ni_t ni;
  ptl_handle_ct_t ct;
  ptl_handle_any_t h, md;
  ptl_pt_index_t pt;
  static char memory[2][8192];
  char *mine = memory[pm_rank() & 1];
  ptl_ct_event_t v;
  if (PtlInit() || PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_NO_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &ni)) return;
  CHECK(PtlCTAlloc(ni, &ct) == PTL_OK && PtlPTAlloc(ni, 0, PTL_EQ_NONE, 0, &pt) == PTL_OK);
  ptl_le_t le = {mine, 8192, PTL_CT_NONE, PTL_UID_ANY, PTL_LE_OP_PUT | PTL_LE_OP_GET};
  ptl_md_t d = {mine, 8192, PTL_MD_EVENT_CT_ACK | PTL_MD_EVENT_CT_REPLY, PTL_EQ_NONE, ct};
  CHECK(PtlLEAppend(ni, pt, &le, PTL_PRIORITY_LIST, NULL, &h) == PTL_OK && PtlMDBind(ni, &d, &md) == PTL_OK);
  pm_barrier();
  for (int i = 0; i < 3; i++) {
    const ptl_size_t bytes[] = {8, 300, 8192};
    PtlPut(md, 0, bytes[i], PTL_CT_ACK_REQ, pm_process_id(1 - pm_rank()), 0, 0, 0, NULL, 0);
    if (moved) ++*(int *)moved;
    PtlGet(md, 0, bytes[i], pm_process_id(1 - pm_rank()), 0, 0, 0, NULL);
  }
  PtlCTWait(ct, 6, &v);
  pm_barrier();
  PtlFini();
}
/* Every constant at its largest or smallest, one after the other, at all levels: time only moves forward. */
static void extreme_constants_never_wrap(void) {
  int runs = 0, ended = 0;
  for (int field = 0;; field++) {
    for (int largest = 0; largest < 2; largest++)
      for (int level = 0; level < 3; level++) {
        static const pm_link_model levels[] = {PM_LINK_FLOW, PM_LINK_LOGGP, PM_LINK_PACKET};
        pm_platform p = pm_platform_bxi2(2);
        pm_world_desc desc = {.platform = &p, .link = levels[level], .trace = 1, .link_use = true};
        int k = 0;
        char text[512];
        int64_t now_ns = -1;
#define PM__X(name, value, what)                                                                   \
  if (k++ == field && strcmp(#name, "node_count") != 0 && strcmp(#name, "procs_per_node_count") != 0) p.name = largest ? 1000000000000 : 0;
        PM_PLATFORM_INT_LIST(PM__X)
#undef PM__X
#define PM__X(name, value, what)                                                                   \
  if (k++ == field) p.name = largest ? 1e18 : 1e-300;
        PM_PLATFORM_REAL_LIST(PM__X)
#undef PM__X
        if (field >= k) {
          CHECK(runs > 150 && ended > 2);
          return;
        }
        if (pm_platform_check(&p, text, sizeof text)) continue;
        const pm_status status = run_with(desc, 2, exchanges, NULL, text, &now_ns);
        CHECK((status == PM_OK || status == PM_E_TIME_LIMIT) && now_ns >= 0);
        if (status != PM_OK && status != PM_E_TIME_LIMIT) printf("  constant %d, largest %d, level %d: %s\n", field, largest, level, text);
        runs++;
        ended += status == PM_E_TIME_LIMIT;
      }
  }
}
static void extreme_faults_never_wrap(void) {
  const pm_faults faults[] = {{.delay_ratio = 1, .delay_ns = INT64_MAX}, {.slow_node = 1, .slow_ratio = 1e300}, {.slow_node = 2, .slow_ratio = 1e30},
                              {.down_node = 1, .t_down_ns = INT64_MAX, .d_down_ns = INT64_MAX}, {.down_node = 1, .d_down_ns = INT64_MAX},
                              {.loss_ratio = 1}, {.duplicate_ratio = 1, .delay_ratio = 1, .delay_ns = 100 * day_ns}};
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
    for (int level = PM_LINK_FLOW; level <= PM_LINK_LOGGP; level++) {
      int64_t now_ns = -1;
      const pm_status status = run_with((pm_world_desc){.faults = faults[i], .link = (pm_link_model)level}, 2, exchanges, NULL, NULL, &now_ns);
      CHECK((status == PM_OK || status == PM_E_TIME_LIMIT) && now_ns >= 0);
    }
}
/* All but the first process put 79 days' worth of bytes into it at once: what is second would be there when there is no time
   any more. */
static void puts_into_the_first(void *told) {
  static char memory[8192];
  ptl_handle_ni_t ni;
  ptl_handle_ct_t ct;
  ptl_handle_any_t h, md;
  ptl_pt_index_t pt;
  ptl_ct_event_t v;
  CHECK(!PtlInit() && !PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_NO_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &ni));
  CHECK(!PtlCTAlloc(ni, &ct) && !PtlPTAlloc(ni, 0, PTL_EQ_NONE, 0, &pt));
  ptl_le_t le = {memory, sizeof memory, ct, PTL_UID_ANY, PTL_LE_OP_PUT | PTL_LE_EVENT_CT_COMM};
  ptl_md_t d = {memory, sizeof memory, 0, PTL_EQ_NONE, PTL_CT_NONE};
  CHECK(!PtlLEAppend(ni, pt, &le, PTL_PRIORITY_LIST, NULL, &h) && !PtlMDBind(ni, &d, &md));
  pm_barrier();
  if (pm_rank()) CHECK(!PtlPut(md, 0, sizeof memory, PTL_NO_ACK_REQ, pm_process_id(0), 0, 0, 0, NULL, 0));
  for (int i = 1; i < pm_size() && !pm_rank(); i++, ++*(int *)told) PtlCTWait(ct, (ptl_size_t)i, &v);
  pm_barrier();
  PtlFini();
}
static void what_is_behind_the_end_of_time_does_not_come_before(void) {
  for (int k = 0; k < 2; k++) {
    pm_platform p = pm_platform_bxi2(3);
    int told = 0;
    p.loggp_bytes_per_s = p.link_bytes_per_s = 1.2e-3;
    CHECK(run_with((pm_world_desc){.platform = &p, .link = k ? PM_LINK_LOGGP : PM_LINK_FLOW}, 3, puts_into_the_first, &told, NULL, NULL) == PM_E_TIME_LIMIT && told == k);
  }
}
static void calls_of_any_length_end_the_time(void) {
  int moved = 0; /* the first call takes longer than all time */
  for (uint64_t seed = 1; seed <= 20; seed++)
    CHECK(run_with((pm_world_desc){.call_noise_ns = INT64_MAX, .seed = seed}, 2, exchanges, &moved, NULL, NULL) == PM_E_TIME_LIMIT);
  CHECK(moved == 0);
}
static void impossible_topologies_are_refused(void) {
  char error[256];
  pm_platform p = pm_platform_bxi2(4);
  p.topology = PM_TOPO_FATTREE;
  const int64_t tree[] = {7, 1000000, 1000000, 1000000, 1000000, 1000000, 1000000, 1000000, 1000000, 1000000, 1000000, 1000000, 1000000, 1000000, 1000000};
  memcpy(p.topo, tree, sizeof tree);
  CHECK(pm_platform_check(&p, error, sizeof error) == PM_E_PLATFORM);
  const int64_t wide[] = {1, 4, 1000000};
  memset(p.topo, 0, sizeof p.topo);
  memcpy(p.topo, wide, sizeof wide);
  CHECK(pm_platform_check(&p, error, sizeof error) == PM_OK);
  const int64_t huge[] = {2, 2, 2, 1000000, 1000000};
  memcpy(p.topo, huge, sizeof huge);
  CHECK(pm_platform_check(&p, error, sizeof error) == PM_E_PLATFORM && strstr(error, "links"));
  p.topology = PM_TOPO_DRAGONFLY;
  const int64_t fly[] = {1000000, 1000000, 1000000, 1000000};
  memset(p.topo, 0, sizeof p.topo);
  memcpy(p.topo, fly, sizeof fly);
  CHECK(pm_platform_check(&p, error, sizeof error) == PM_E_PLATFORM);
}

/* ---- polling for what never comes -------------------------------------------------------------------- */
static void leaves_or_polls(void *arg) {
  ptl_handle_ni_t ni;
  ptl_handle_eq_t eq;
  ptl_event_t e;
  unsigned which;
  if (pm_rank() == 0) pm_exit(3);
  CHECK(PtlInit() == PTL_OK && PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &ni) == PTL_OK);
  CHECK(PtlEQAlloc(ni, 8, &eq) == PTL_OK);
  for (;;)
    switch (*(const int *)arg) {
    case 0: PtlEQGet(eq, &e); break;
    case 1: PtlEQPoll(&eq, 1, 1, &e, &which); break; /* 1 ms each */
    case 2: pm_yield(), pm_sleep_ns(100 + 77 * pm_rank()); break;
    default: PtlEQGet(eq, &e), PtlEQPoll(&eq, 1, 0, &e, &which), pm_yield(); break;
    }
}
static void polling_for_what_never_comes_is_found_soon(void) {
  for (int how = 0; how < 4; how++) {
    pm_platform platform = pm_platform_bxi2(64);
    pm_world_desc desc = {.platform = &platform, .d_poll_deadlock_ns = 2000000000};
    pm_world *w;
    CHECK(pm_world_create(&desc, &w) == PM_OK && pm_spawn_all(w, leaves_or_polls, &how) == PM_OK);
    CHECK(pm_world_run(w) == PM_E_DEADLOCK);
    CHECK(strstr(pm_world_error(w), "process 1 (node 1) waits") && strstr(pm_world_error(w), "process 0 (node 0) has ended, with status 3"));
    /* 63 pollers for 2 s: 12.6 million looks of 10 us each, were the pauses not to grow */
    if (how != 1 && how != 2) CHECK(pm_world_stats(w).event_count < 4000000);
    pm_world_destroy(w);
  }
}
static void looks_at_memory(void *arg) {
  for (long *looks = (long *)arg; pm_rank(); (*looks)++) pm_yield_for(1);
}
static void waiting_for_memory_that_nobody_writes_is_found_sooner(void) {
  long looks = 0;
  const pm_world_desc desc = {.d_poll_deadlock_ns = 2000000000};
  CHECK(run_with(desc, 2, looks_at_memory, &looks, NULL, NULL) == PM_E_DEADLOCK);
  CHECK(looks > 10000 && looks < 40000); /* of others it would take 1.6 million */
}
/* MPI programs test a thousand times between two messages, and some, which compute meanwhile, some hundred thousand times:
   that is neither a deadlock nor more time than the looks take. */
typedef struct tests {
  int rounds, looks;
  int64_t d_most_ns;
} tests;
static void tests_in_vain(void *arg) {
  const tests *t = (const tests *)arg;
  for (int round = 0; round < t->rounds; round++) {
    for (int i = 0; i < t->looks; i++) pm_yield();
    pm_barrier();
  }
  CHECK(pm_now_ns() < t->d_most_ns);
}
static void looks_beside_computation_are_no_deadlock(void) {
  tests few = {20, 1024, 1000000000}, many = {1, 500000, 6000000000};
  CHECK(run_with((pm_world_desc){0}, 8, tests_in_vain, &few, NULL, NULL) == PM_OK);
  CHECK(run_with((pm_world_desc){0}, 2, tests_in_vain, &many, NULL, NULL) == PM_OK);
}
/* A poller with a deadline of its own is no deadlock, and is late by 1/64 at most. */
static void polls_until(void *arg) {
  const int64_t t_ns = *(const int64_t *)arg;
  while (pm_now_ns() < t_ns) pm_yield();
  CHECK(pm_now_ns() >= t_ns && pm_now_ns() <= t_ns + t_ns / 60 + 20000);
}
static void a_poller_with_a_deadline_is_none(void) {
  const int64_t t_ns[] = {1000, 1000000, 1000000000, (int64_t)19 * 1000000000};
  for (int i = 0; i < 4; i++) CHECK(run_with((pm_world_desc){0}, 3, polls_until, (void *)&t_ns[i], NULL, NULL) == PM_OK);
}
/* One computes for an hour, step by step: the others may poll as long. */
static void one_computes(void *arg) {
  static volatile int done;
  (void)arg;
  done = 0;
  pm_barrier();
  if (pm_rank() == 0) {
    for (int i = 0; i < 3600; i++) pm_compute_ns(1000000000), pm_yield();
    done = 1;
  }
  while (!done) pm_yield(), pm_sleep_ns(1000000);
}
static void computing_is_no_deadlock(void) { CHECK(run_with((pm_world_desc){0}, 2, one_computes, NULL, NULL, NULL) == PM_OK); }

static void a_thread_of_all_memory(void *unused) {
  (void)unused;
  CHECK(pm_thread_create(a_thread_of_all_memory, NULL, SIZE_MAX) == NULL);
}
/* Nodes that are not there, stacks of all memory (their size wrapped round to the least one). */
static void what_cannot_be_is_refused(void) {
  const pm_platform two = pm_platform_bxi2(2);
  const pm_world_desc bad[] = {{.platform = &two, .faults = {.slow_node = 3, .slow_ratio = 2}}, {.platform = &two, .faults = {.down_node = 3, .d_down_ns = 5}},
                               {.platform = &two, .faults = {.slow_node = -1}}, {.platform = &two, .faults = {.down_node = -1}}, {.platform = &two, .stack_bytes = SIZE_MAX}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    pm_world *w = NULL;
    CHECK(pm_world_create(&bad[i], &w) == PM_E_INVAL && !w);
  }
  CHECK(run_with((pm_world_desc){.faults = {.slow_node = 2, .slow_ratio = 2}}, 2, a_thread_of_all_memory, NULL, NULL, NULL) == PM_OK);
}
int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(what_cannot_be_is_refused);
  RUN(time_ends_with_an_error_not_in_the_past);
  RUN(long_limits_are_no_limits);
  RUN(flows_and_calls_at_the_end_of_time);
  RUN(extreme_constants_never_wrap);
  RUN(extreme_faults_never_wrap);
  RUN(what_is_behind_the_end_of_time_does_not_come_before);
  RUN(calls_of_any_length_end_the_time);
  RUN(impossible_topologies_are_refused);
  RUN(polling_for_what_never_comes_is_found_soon);
  RUN(waiting_for_memory_that_nobody_writes_is_found_sooner);
  RUN(looks_beside_computation_are_no_deadlock);
  RUN(a_poller_with_a_deadline_is_none);
  RUN(computing_is_no_deadlock);
  return TEST_END();
}
