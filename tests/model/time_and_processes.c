/* Simulated time moves in order, processes and threads take turns in it, and a run that cannot go on
   says who waits for what. */
#include "tests/model/pieces.h"
#include "tests/test.h"

static pm_world *world_of(int nodes, const pm_world_desc *base) {
  pm_platform platform = pm_platform_bxi2(nodes);
  pm_world_desc desc = base ? *base : (pm_world_desc){0};
  pm_world *w = NULL;
  desc.platform = &platform;
  CHECK(pm_world_create(&desc, &w) == PM_OK);
  return w;
}

/* ---- order of events -------------------------------------------------------------------------- */
enum { CALLS = 5000 };
static struct call {
  pm_world *w;
  int64_t t_ns;
  int number;
} calls[CALLS];
static int called, last_number;
static int64_t t_last_ns;
static void call_now(void *arg) {
  const struct call *c = (const struct call *)arg;
  CHECK(pm_world_now_ns(c->w) == c->t_ns);
  CHECK(c->t_ns > t_last_ns || (c->t_ns == t_last_ns && c->number > last_number));
  t_last_ns = c->t_ns;
  last_number = c->number;
  called++;
}
static void events_come_in_order_of_time_then_of_scheduling(void) {
  for (int is_over = 0; is_over < 2; is_over++) { /* before most of them */
    pm_world *w = world_of(1, &(pm_world_desc){.d_limit_ns = is_over ? 1 : 0});
    called = 0;
    t_last_ns = -1;
    for (int i = 0; i < CALLS; i++) {
      calls[i] = (struct call){w, (int64_t)test_below(1000), i};
      CHECK(pm_call_at(w, calls[i].t_ns, call_now, &calls[i]) == PM_OK);
    }
    CHECK(pm_world_run(w) == (is_over ? PM_E_TIME_LIMIT : PM_OK));
    CHECK(is_over ? called < CALLS / 10 : called == CALLS);
    CHECK(is_over || pm_call_at(w, 0, call_now, &calls[0]) == PM_E_INVAL); /* the past */
    pm_world_destroy(w); /* with the calls that never came: checked where leaks are */
  }
}

/* Events that move and vanish: the queue against a plain array. */
static void nothing(pm_world *w, pm__event *e) {
  (void)w;
  (void)e;
}
static int64_t time_of(const pm_world *w, const pm__event *e) {
  uint32_t i = 0;
  if (e->pos & PM__FAR && e->pos < PM__SOON) {
    const pm__slot *const at = &w->far->cells[(e->pos & ~PM__FAR) >> 4].slot[e->pos & 15];
    CHECK(at->event == e);
    return at->t_ps;
  }
  if (e->pos == PM__SOON) {
    while (w->soon[i].event != e) i++;
    return w->soon[i].t_ps;
  }
  while (e->pos == PM__BEHIND) e = e->previous;
  return w->heap[e->pos].t_ps;
}
static void moved_and_removed_events_keep_the_order(void) {
  enum { N = 300 };
  pm_world *w = world_of(1, NULL);
  pm__event e[N];
  int64_t t_ps[N];
  int far_count = 0;
  for (int i = 0; i < N; i++) e[i] = (pm__event){.fn = nothing}, t_ps[i] = -1;
  for (int step = 0; step < 20000; step++) {
    w->rings_again = step < 15000 ? UINT64_MAX : 0; /* far are events where times are not shared */
    const int i = (int)test_below(N), wide = step / 2000 * 5; /* 1 ns, then up to 35 s: all widths of bins but the last ones */
    if (test_below(3) == 0)
      pm__unschedule(w, &e[i]), t_ps[i] = -1;
    else
      pm__schedule(w, &e[i], t_ps[i] = (int64_t)test_below(1000) << wide);
    far_count += e[i].pos >= PM__FAR && e[i].pos < PM__SOON;
    int64_t first = INT64_MAX;
    uint32_t queued = 0;
    for (int k = 0; k < N; k++)
      if (t_ps[k] >= 0) queued++, first = t_ps[k] < first ? t_ps[k] : first;
    CHECK(w->future_count == queued);
    CHECK(pm__next_ps(w) == (queued ? first : INT64_MAX));
    for (int k = 0; k < N; k++)
      CHECK((e[k].pos == 0) == (t_ps[k] < 0) && (!e[k].pos || time_of(w, &e[k]) == t_ps[k]));
  }
  CHECK(far_count > 1000);
  for (int k = 0; k < N; k++) pm__unschedule(w, &e[k]);
  pm_world_destroy(w);
}

/* Each event happens when all before it have happened, those of one time in the order in which they were put there:
   few of them and many, of few times and many, soon and far, moved and taken away, where times are shared or not; among them
   the end of flows, which stands aside. */
typedef struct queued {
  pm__event event; /* first */
  int64_t t_ps;    /* -1: it is not there */
  uint64_t order;
} queued;
static pm__event *happened_last;
static void happens(pm_world *w, pm__event *e) {
  (void)w;
  happened_last = e;
}
static void events_happen_in_their_order(void) {
  enum { MOST = 200 };
  static queued q[MOST];
  for (int round = 0; round < test_rounds(300); round++) {
    pm_world *w = world_of(1, NULL);
    const int count = 2 + (int)test_below(test_below(2) ? MOST - 1 : 20), wide = (int)test_below(2) * (int)test_below(41);
    const uint64_t times = 1 + test_below(test_below(2) ? 8 : 400);
    uint64_t order = 0, takes = 0, is_far = 0;
    w->order = 1; /* so that sharing is not judged at once */
    w->rings_again = test_below(2) ? UINT64_MAX : 0;
    w->shares_times = (bool)test_below(2);
    for (int i = 0; i < count; i++) q[i] = (queued){.event = {.fn = happens}, .t_ps = -1};
    for (int step = 0; step < 1500; step++) {
      queued *e = &q[test_below((uint64_t)count)], *first = NULL;
      if (step % 100 == 0) { /* another phase: few or many are put there, soon or far */
        takes = 1 + test_below(4), is_far = test_below(3);
        if (test_below(4) == 0) memset(w->recent, 0, sizeof w->recent), w->shares_times = !w->shares_times;
      }
      int64_t t_ps = w->now_ps + ((int64_t)test_below(times) << (is_far && test_below(is_far) == 0 ? wide : 0));
      const bool is_taken = test_below(8) == 0;
      if (test_below(4) < takes) { /* else one happens */
        if (e == &q[0]) { /* moved to where it is, it keeps its order */
          if (is_taken) t_ps = PM__FOREVER;
          if (t_ps != w->t_flow_end_ps) e->order = order++;
          w->flow_end.fn = happens;
          pm__flow_end_at(w, t_ps);
          e->t_ps = t_ps == PM__FOREVER ? -1 : t_ps;
        } else if (is_taken) {
          pm__unschedule(w, &e->event);
          e->t_ps = -1;
        } else {
          pm__schedule(w, &e->event, t_ps);
          e->t_ps = t_ps, e->order = order++;
        }
        if (test_below(4) == 0) (void)pm__next_ps(w);
        continue;
      }
      for (int i = 0; i < count; i++)
        if (q[i].t_ps >= 0 && (!first || q[i].t_ps < first->t_ps || (q[i].t_ps == first->t_ps && q[i].order < first->order))) first = &q[i];
      if (!first) continue;
      CHECK(pm__next_ps(w) == first->t_ps);
      happened_last = NULL;
      if (first == &q[0] && w->t_aside_ps != PM__FOREVER) { /* it would look for flows */
        const pm__slot *next = pm__first(w);
        CHECK(!next || next->t_ps > w->t_aside_ps || (next->t_ps == w->t_aside_ps && next->order > w->aside_order));
        w->now_ps = w->t_aside_ps;
        pm__flow_end_at(w, PM__FOREVER);
      } else {
        CHECK(first->t_ps == w->now_ps || !pm__step(w, first->t_ps - 1));
        CHECK(pm__step(w, test_below(2) ? first->t_ps : PM__FOREVER));
        CHECK(happened_last == (first == &q[0] ? &w->flow_end : &first->event));
        if (first == &q[0]) w->t_flow_end_ps = PM__FOREVER;
      }
      CHECK(w->now_ps == first->t_ps);
      first->t_ps = -1;
    }
    for (int i = 1; i < count; i++) pm__unschedule(w, &q[i].event);
    pm__flow_end_at(w, PM__FOREVER);
    CHECK(w->future_count == 0);
    pm_world_destroy(w);
  }
}

/* So many now that what comes later is far, where times are not shared. */
enum { NEAR = 60 };
static pm__event near_now[NEAR];
static void near_come(pm_world *w, int count, int64_t t_ps) {
  w->rings_again = UINT64_MAX;
  for (int i = 0; i < count; i++) {
    near_now[i] = (pm__event){.fn = happens};
    pm__schedule(w, &near_now[i], t_ps + i);
  }
}
static void the_end_of_flows_stands_between_events_that_were_far(void) {
  const int64_t t_ps = ((int64_t)1 << 30) + 1000;
  pm_world *w = world_of(1, NULL);
  pm__event earlier[PM__SOON_MOST + 4], before = {.fn = happens}, after = {.fn = happens};
  w->order = 1;
  near_come(w, NEAR, 1);
  for (int i = 0; i < PM__SOON_MOST + 4; i++) {
    earlier[i] = (pm__event){.fn = happens};
    pm__schedule(w, &earlier[i], t_ps - 50 + i);
  }
  pm__schedule(w, &before, t_ps);
  pm__flow_end_at(w, t_ps);
  pm__schedule(w, &after, t_ps);
  CHECK(w->t_aside_ps == t_ps && after.pos >= PM__FAR && after.pos < PM__SOON);
  w->shares_times = true; /* meanwhile */
  while (pm__step(w, t_ps) && happened_last != &before) {
  }
  CHECK(w->now_ps == t_ps && after.pos && pm__first(w)->order > w->aside_order);
  pm__future_drop(w);
  pm_world_destroy(w);
}
/* What is earlier than the bin that was opened last, and much, does not come to lie among what is later. */
static void far_events_come_in_order_when_many_come_before_them(void) {
  enum { FAR = 2 * PM__FAR_CELLS };
  const int64_t d_ps = (int64_t)1 << (PM__FAR_FIRST + 2 * PM__FAR_BITS), t_far_ps = d_ps << PM__FAR_BITS;
  pm_world *w = world_of(1, NULL);
  pm__event far[FAR], between = {.fn = happens};
  int64_t t_last_ps = 0;
  int count = 0;
  w->order = 1;
  near_come(w, NEAR, 1);
  for (int i = 0; i < FAR; i++) {
    far[i] = (pm__event){.fn = happens};
    pm__schedule(w, &far[i], t_far_ps + i * d_ps);
  }
  while (pm__step(w, NEAR)) {
  }
  CHECK(w->now_ps == NEAR && pm__next_ps(w) == t_far_ps); /* which opens bins */
  pm__unschedule(w, &far[0]);
  near_come(w, NEAR, NEAR + 1);
  pm__schedule(w, &between, 4 * d_ps);
  for (; pm__step(w, t_far_ps + FAR * d_ps); count++) {
    CHECK(w->now_ps > t_last_ps);
    t_last_ps = w->now_ps;
  }
  CHECK(count == NEAR + FAR);
  pm_world_destroy(w);
}

/* An event that goes on with another one: as if that had been put there, behind what stands at the same time. */
enum { HOPPERS = 6, HOPS = 400 };
static struct {
  pm__event event[HOPPERS];
  bool goes_on;
  int count, who[HOPS];
  int64_t t_ps[HOPS];
  uint64_t random;
} hops;
static void hop(pm_world *w, pm__event *e) {
  if (hops.count == HOPS) return;
  hops.who[hops.count] = (int)(e - hops.event);
  hops.t_ps[hops.count++] = w->now_ps;
  const int64_t t_ps = w->now_ps + (int64_t)(nbc__random(&hops.random) % 5);
  if (hops.goes_on)
    pm__goes_on(w, e, t_ps);
  else
    pm__schedule(w, e, t_ps);
}
static void what_goes_on_comes_in_its_turn(void) {
  for (int round = 0; round < 20; round++) {
    const uint64_t seed = test_below(1 << 30);
    const int hoppers = 1 + (int)test_below(HOPPERS);
    int who[HOPS];
    int64_t t_ps[HOPS];
    uint64_t event_count = 0;
    for (int goes_on = 0; goes_on < 2; goes_on++) {
      pm_world *w = world_of(1, NULL);
      hops.goes_on = goes_on;
      hops.count = 0;
      hops.random = seed;
      for (int i = 0; i < hoppers; i++) {
        hops.event[i] = (pm__event){.fn = hop};
        pm__schedule(w, &hops.event[i], i % 3);
      }
      CHECK(pm_world_run(w) == PM_OK && hops.count == HOPS);
      if (goes_on)
        CHECK(!memcmp(who, hops.who, sizeof who) && !memcmp(t_ps, hops.t_ps, sizeof t_ps) &&
              event_count == pm_world_stats(w).event_count);
      memcpy(who, hops.who, sizeof who);
      memcpy(t_ps, hops.t_ps, sizeof t_ps);
      event_count = pm_world_stats(w).event_count;
      pm_world_destroy(w);
    }
  }
}

/* ---- processes -------------------------------------------------------------------------------- */
static double *sums;
static void sleeper(void *unused) {
  (void)unused;
  double local = 1;
  for (int i = 0; i < 50; i++) { /* values in registers survive the switches */
    pm_sleep_ns(1 + (pm_rank() * 7 + i) % 5);
    local = local * 1.5 + pm_rank();
  }
  sums[pm_rank()] = local;
  int64_t t_ns = pm_now_ns();
  pm_barrier();
  CHECK(pm_now_ns() >= t_ns);
}
static void registers_and_time_survive_switches(void) {
  double results[64];
  sums = results;
  pm_world *w = world_of(64, NULL);
  CHECK(pm_spawn_all(w, sleeper, NULL) == PM_OK);
  CHECK(pm_world_run(w) == PM_OK);
  for (int r = 0; r < 64; r++) {
    double expected = 1;
    for (int i = 0; i < 50; i++) expected = expected * 1.5 + r;
    CHECK(sums[r] == expected);
  }
  CHECK(pm_world_stats(w).switch_count > 64 * 50);
  pm_world_destroy(w);
}
static int64_t t_barrier_ns[3000];
static void meets(void *unused) {
  (void)unused;
  for (int round = 0; round < 3; round++) {
    pm_compute_ns(pm_rank());
    pm_barrier();
    CHECK(pm_now_ns() == (int64_t)(round + 1) * 2999);
  }
  t_barrier_ns[pm_rank()] = pm_now_ns();
}
static void barrier_waits_for_the_last_of_thousands(void) {
  pm_world_desc desc = {0};
  desc.stack_bytes = 16384;
  pm_world *w = world_of(3000, &desc);
  CHECK(pm_spawn_all(w, meets, NULL) == PM_OK);
  CHECK(pm_world_run(w) == PM_OK);
  for (int r = 0; r < 3000; r++) CHECK(t_barrier_ns[r] == 3 * 2999);
  const pm_stats stats = pm_world_stats(w);
  CHECK(stats.memory_bytes / 3000 < 4096);
  pm_world_destroy(w);
}

/* ---- threads ---------------------------------------------------------------------------------- */
static int turns[4];
static void worker(void *arg) {
  int *turn = (int *)arg;
  for (int i = 0; i < 10; i++) pm_sleep_ns(10), ++*turn;
}
static void waits_for_wake(void *arg) {
  int *woken = (int *)arg;
  *woken = pm_thread_wait("a wake", -1);
  CHECK(pm_now_ns() == 150);
  CHECK(pm_thread_wait("nobody", 25) == 0);
  CHECK(pm_now_ns() == 175);
}
static void parent(void *unused) {
  (void)unused;
  pm_thread *t[4];
  int woken = -1;
  for (int i = 0; i < 4; i++) t[i] = pm_thread_create(worker, &turns[i], i == 3 ? 100000 : 0);
  for (int i = 0; i < 4; i++) pm_thread_join(t[i]);
  CHECK(pm_now_ns() == 100); /* all four at once */
  pm_thread *sleeping = pm_thread_create(waits_for_wake, &woken, 0);
  pm_sleep_ns(50);
  pm_thread_wake(sleeping);
  pm_thread_join(sleeping);
  CHECK(woken == 1);
  pm_thread_wake(pm_thread_self()); /* a wake that comes first is not lost */
  CHECK(pm_thread_wait("own wake", 1000) == 1);
  CHECK(pm_now_ns() == 175);
}
static int64_t t_computed_ns, t_slept_ns;
static void computes_then_waits(void *unused) {
  (void)unused;
  pm_compute_ns(1000);
  t_computed_ns = pm_now_ns();
  CHECK(pm_thread_wait("a wake that came before", 5000) == 1);
  CHECK(pm_now_ns() == t_computed_ns);
  pm_sleep_ns(1000);
  t_slept_ns = pm_now_ns();
}
static void wakes_too_early(void *unused) {
  (void)unused;
  pm_thread *busy = pm_thread_create(computes_then_waits, NULL, 0);
  pm_sleep_ns(10);
  pm_thread_wake(busy);
  pm_sleep_ns(1500);
  pm_thread_wake(busy);
  pm_thread_join(busy);
}
static void a_wake_does_not_cut_a_computation_short(void) {
  pm_world *w = world_of(1, NULL);
  CHECK(pm_spawn(w, 0, wakes_too_early, NULL, NULL) == PM_OK);
  CHECK(pm_world_run(w) == PM_OK);
  CHECK(t_computed_ns == 1000 && t_slept_ns == 2000);
  pm_world_destroy(w);
}
static void threads_run_side_by_side(void) {
  pm_world *w = world_of(1, NULL);
  CHECK(pm_spawn(w, 0, parent, NULL, NULL) == PM_OK);
  CHECK(pm_world_run(w) == PM_OK);
  for (int i = 0; i < 4; i++) CHECK(turns[i] == 10);
  pm_world_destroy(w);
}
static void never(void *unused) {
  (void)unused;
  pm_thread_wait("a wake that never comes", -1);
}
static void exits(void *unused) {
  (void)unused;
  pm_thread_create(never, NULL, 0);
  pm_sleep_ns(5);
  pm_exit(7);
  CHECK(0);
}
static void exit_ends_all_threads_of_the_process(void) {
  pm_world *w = world_of(1, NULL);
  pm_process *p = NULL;
  CHECK(pm_spawn(w, 0, exits, NULL, &p) == PM_OK);
  CHECK(pm_world_run(w) == PM_OK);
  CHECK(pm_process_status(p) == 7);
  pm_world_destroy(w);
}

/* ---- polling ---------------------------------------------------------------------------------- */
static int flag;
static void set_flag(void *unused) {
  (void)unused;
  flag = 1;
}
static void spins(void *unused) {
  (void)unused;
  while (!flag) pm_yield();
  CHECK(pm_now_ns() >= 1000000 && pm_now_ns() <= 1000000 + 10000);
}
static void spinning_lets_time_pass_with_few_events(void) {
  pm_world *w = world_of(1, NULL);
  flag = 0;
  CHECK(pm_spawn(w, 0, spins, NULL, NULL) == PM_OK);
  CHECK(pm_call_at(w, 1000000, set_flag, NULL) == PM_OK);
  CHECK(pm_world_run(w) == PM_OK);
  CHECK(pm_world_stats(w).event_count < 1000);
  pm_world_destroy(w);
}

/* Long pauses, and none longer than until something comes. */
static long letter;
static void waits_in_long_pauses(void *unused) {
  ptl_handle_ni_t ni;
  ptl_handle_md_t md;
  ptl_handle_le_t le;
  ptl_pt_index_t pt;
  int pauses = 0;
  (void)unused;
  CHECK(PtlInit() == PTL_OK && PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_NO_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &ni) == PTL_OK);
  CHECK(PtlPTAlloc(ni, 0, PTL_EQ_NONE, 0, &pt) == PTL_OK);
  const ptl_le_t letters = {&letter, sizeof letter, PTL_CT_NONE, PTL_UID_ANY, PTL_LE_OP_PUT};
  const ptl_md_t from = {&letter, sizeof letter, 0, PTL_EQ_NONE, PTL_CT_NONE};
  CHECK(PtlLEAppend(ni, pt, &letters, PTL_PRIORITY_LIST, NULL, &le) == PTL_OK && PtlMDBind(ni, &from, &md) == PTL_OK);
  pm_barrier();
  const int64_t t_ns = pm_now_ns();
  if (pm_rank() == 0) {
    pm_sleep_ns(10500000);
    CHECK(PtlPut(md, 0, sizeof letter, PTL_NO_ACK_REQ, pm_process_id(1), pt, 0, 0, NULL, 0) == PTL_OK);
  } else {
    while (!pm_yield_for(1000000)) {
      pauses++;
      CHECK(pm_now_ns() >= t_ns + pauses * INT64_C(1000000));
    }
    CHECK(pauses == 10 && pm_now_ns() < t_ns + 10600000);
  }
  PtlFini();
}
static void long_pauses_end_with_what_is_delivered(void) {
  pm_world *w = world_of(2, NULL);
  CHECK(!pm_yield_for(1));
  CHECK(pm_spawn_all(w, waits_in_long_pauses, NULL) == PM_OK);
  CHECK(pm_world_run(w) == PM_OK);
  pm_world_destroy(w);
}

/* ---- noise of calls ---------------------------------------------------------------------------- */
enum { NOISY_CALLS = 2000 };
static int64_t t_calls_ns[2];
static void calls_again_and_again(void *unused) {
  ptl_handle_ni_t ni;
  ptl_handle_md_t md;
  (void)unused;
  CHECK(PtlInit() == PTL_OK && PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &ni) == PTL_OK);
  const ptl_md_t from = {NULL, 0, 0, PTL_EQ_NONE, PTL_CT_NONE};
  CHECK(PtlMDBind(ni, &from, &md) == PTL_OK);
  pm_barrier();
  const int64_t t_ns = pm_now_ns();
  for (int i = 0; i < NOISY_CALLS; i++) {
    CHECK(PtlPut(md, 0, 0, PTL_NO_ACK_REQ, pm_process_id(pm_rank()), 0, 1, 0, NULL, 0) == PTL_OK);
    pm_sleep_ns(10000); /* the queue of commands stays empty */
  }
  t_calls_ns[pm_rank()] = pm_now_ns() - t_ns;
  PtlFini();
}
static void run_with_noise(int64_t noise_ns, uint64_t seed, int64_t *d_ns) {
  pm_world_desc desc = {0};
  desc.call_noise_ns = noise_ns;
  desc.seed = seed;
  pm_world *w = world_of(2, &desc);
  CHECK(pm_spawn_all(w, calls_again_and_again, NULL) == PM_OK);
  CHECK(pm_world_run(w) == PM_OK);
  memcpy(d_ns, t_calls_ns, sizeof t_calls_ns);
  pm_world_destroy(w);
}
static void calls_take_longer_as_the_seed_says(void) {
  const uint64_t seed = test_below(1000000);
  int64_t quiet[2], noisy[2], again[2], other[2];
  run_with_noise(0, seed, quiet);
  run_with_noise(1000, seed, noisy);
  run_with_noise(1000, seed, again);
  run_with_noise(1000, seed + 1, other);
  CHECK(quiet[0] == quiet[1]);
  CHECK(noisy[0] == again[0] && noisy[1] == again[1] && noisy[0] != noisy[1]);
  CHECK(noisy[0] != other[0] && noisy[1] != other[1]);
  for (int i = 0; i < 2; i++) { /* uniform: 500 each, give or take six deviations */
    const double mean_ns = (double)(noisy[i] - quiet[i]) / NOISY_CALLS;
    CHECK(mean_ns > 500 - 6 * 6.5 && mean_ns < 500 + 6 * 6.5);
  }
  const pm_platform platform = pm_platform_bxi2(1);
  const pm_world_desc bad = {.platform = &platform, .call_noise_ns = -1};
  pm_world *w = NULL;
  CHECK(pm_world_create(&bad, &w) == PM_E_INVAL);
}

/* ---- runs that cannot go on ------------------------------------------------------------------- */
static void half_meets(void *unused) {
  (void)unused;
  if (pm_rank() == 1)
    pm_thread_wait("a letter from process 0", -1);
  else
    pm_barrier();
}
static void deadlock_names_who_waits_for_what(void) {
  pm_world *w = world_of(3, NULL);
  CHECK(pm_spawn_all(w, half_meets, NULL) == PM_OK);
  CHECK(pm_world_run(w) == PM_E_DEADLOCK);
  CHECK(strstr(pm_world_error(w), "process 0 (node 0) waits: pm_barrier") != NULL);
  CHECK(strstr(pm_world_error(w), "process 1 (node 1) waits: a letter from process 0") != NULL);
  CHECK(pm_world_run(w) == PM_E_STATE);
  pm_world_destroy(w);
}
static void spins_for_ever(void *unused) {
  (void)unused;
  for (;;) pm_yield();
}
static void spinning_for_nothing_is_a_deadlock(void) {
  pm_world_desc desc = {0};
  desc.d_poll_deadlock_ns = 1000000000;
  pm_world *w = world_of(2, &desc);
  CHECK(pm_spawn_all(w, spins_for_ever, NULL) == PM_OK);
  CHECK(pm_world_run(w) == PM_E_DEADLOCK);
  CHECK(strstr(pm_world_error(w), "polling") != NULL);
  pm_world_destroy(w);
}
static void sleeps_for_ever(void *unused) {
  (void)unused;
  for (;;) pm_sleep_ns(1000);
}
static void time_limit_ends_the_run(void) {
  pm_world_desc desc = {0};
  desc.d_limit_ns = 1000000;
  pm_world *w = world_of(2, &desc);
  CHECK(pm_spawn_all(w, sleeps_for_ever, NULL) == PM_OK);
  CHECK(pm_world_run(w) == PM_E_TIME_LIMIT);
  CHECK(pm_world_now_ns(w) <= 1000000);
  pm_world_destroy(w);
}
static void gives_up(void *unused) {
  (void)unused;
  pm_sleep_ns(10);
  if (pm_rank() == 1) pm_world_fail(pm_world_of(pm_self()), PM_E_STATE, "process 1 gave up");
  pm_sleep_ns(10);
  CHECK(pm_rank() != 1);
}
static void a_process_can_end_the_run(void) {
  pm_world *w = world_of(2, NULL);
  CHECK(pm_spawn_all(w, gives_up, NULL) == PM_OK);
  CHECK(pm_world_run(w) == PM_E_STATE);
  CHECK_STR(pm_world_error(w), "process 1 gave up");
  pm_world_destroy(w);
}

/* ---- crashes ---------------------------------------------------------------------------------- */
static volatile int depth_limit = 1 << 30;
static int recurses(int depth) {
  volatile char frame[512];
  frame[0] = (char)depth;
  return depth >= depth_limit ? frame[0] : recurses(depth + 1) + frame[0];
}
static void overflows(void *unused) {
  (void)unused;
  pm_sleep_ns(1000);
  recurses(0);
}
static volatile int *volatile nowhere = (volatile int *)(uintptr_t)64;
static void reads_nothing(void *unused) {
  (void)unused;
  pm_sleep_ns(2000);
  if (pm_rank() == 1) *nowhere = 1;
  pm_barrier();
}
static void aborts(void *unused) {
  (void)unused;
  abort();
}
static void crash_names_process_and_time(void) {
#ifdef PM__ASAN
  SKIP("the address sanitizer reports crashes itself");
#endif
  pm_world_desc desc = {0};
  desc.catch_crashes = 1;
  pm_world *w = world_of(2, &desc);
  CHECK(pm_spawn_all(w, reads_nothing, NULL) == PM_OK);
  CHECK(pm_world_run(w) == PM_E_CRASH);
  CHECK(strstr(pm_world_error(w), "process 1 (node 1): SIGSEGV at address 0x40, at 2.000 us") !=
        NULL);
  pm_world_destroy(w);
  w = world_of(1, &desc);
  CHECK(pm_spawn_all(w, overflows, NULL) == PM_OK);
  CHECK(pm_world_run(w) == PM_E_STACK);
  CHECK(strstr(pm_world_error(w),
               "process 0 (node 0) overflowed its stack of 65536 bytes at 1.000 us") != NULL);
  pm_world_destroy(w);
  w = world_of(1, &desc);
  CHECK(pm_spawn_all(w, aborts, NULL) == PM_OK);
  CHECK(pm_world_run(w) == PM_E_CRASH);
  pm_world_destroy(w);
}
static void breaks_the_last_word(void *unused) {
  (void)unused;
  *pm__stack_canary(pm__current) = 0;
  pm_barrier();
}
static void last_word_of_a_stack_is_watched(void) {
  pm_world *w = world_of(2, NULL);
  w->stats.stack_count = PM__GUARDED_MAX; /* so many have guard pages; of later ones the word is looked at */
  CHECK(pm_spawn_all(w, breaks_the_last_word, NULL) == PM_OK);
  CHECK(pm_world_run(w) == PM_E_STACK);
  pm_world_destroy(w);
}
static int mappings_of_this_process(void) {
  FILE *f = fopen("/proc/self/maps", "r");
  int count = 0;
  if (!f) return -1;
  for (int c; (c = fgetc(f)) != EOF;) count += c == '\n';
  fclose(f);
  return count;
}
static int mapping_count;
static void counts_mappings(void *unused) {
  (void)unused;
  mapping_count = mappings_of_this_process();
}
static void stacks_cost_when_they_are_taken(void) { /* a slab has 64; each guard makes two mappings of one */
  const int before_count = mappings_of_this_process();
  pm_world *w = world_of(2, NULL);
  CHECK(pm_spawn_all(w, counts_mappings, NULL) == PM_OK);
  CHECK(pm_world_run(w) == PM_OK);
  CHECK(before_count > 0 && mapping_count >= before_count + 4 && mapping_count < before_count + 20);
  pm_world_destroy(w);
}

/* What each step looks at takes the fewest lines of the cache: it stands together, and begins with a line. */
static bool begins_a_line(const void *at) { return (uintptr_t)at % PM__LINE == 0; }
static void opens_an_interface(void *first_line_count) {
  ptl_handle_ni_t ni;
  ptl_handle_ct_t ct;
  CHECK(!PtlInit() && !PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &ni));
  CHECK(!PtlCTAlloc(ni, &ct));
  const pm__ni *opened = pm_self()->ni[1];
  *(int *)first_line_count += begins_a_line(opened) && begins_a_line(pm__ct_at(opened, ct)) && begins_a_line(pm_self()) &&
                              begins_a_line(pm_thread_self());
}
static void what_each_step_looks_at_begins_with_a_line(void) {
  int first_line_count = 0;
  pm_world *w = world_of(50, NULL);
  CHECK(sizeof(pm__link) == 2 * PM__LINE && sizeof(pm__known_way) == PM__LINE && sizeof(pm__node) % PM__LINE == 0);
  CHECK(sizeof(pm__ct) == PM__LINE && sizeof(pm__md) == PM__LINE);
  CHECK(offsetof(pm_process, its_nic) == PM__LINE && offsetof(pm_thread, state) == PM__LINE);
  CHECK(offsetof(pm__node, pid_0) == PM__LINE && offsetof(pm__flow, near) == PM__LINE);
  CHECK(offsetof(pm__message, way.t_ready_ps) == PM__LINE && offsetof(pm__message, what.to) % PM__LINE == 0);
  CHECK(begins_a_line(w->links) && begins_a_line(w->nodes) && begins_a_line(w->ways));
  CHECK(pm_spawn_all(w, opens_an_interface, &first_line_count) == PM_OK && pm_world_run(w) == PM_OK);
  CHECK(first_line_count == 50);
  pm_world_destroy(w);
}

/* ---- kernels ---------------------------------------------------------------------------------- */
static void computes(void *kernel) {
  pm_compute_kernel((const pm_kernel *)kernel, 100, 200, 300);
  CHECK(pm_now_ns() == 62170000); /* 60 + 0.02 + 0.06 + 0.06 + 2.03 ms */
}
static void kernels_follow_their_polynomial_and_noise(void) {
  pm_kernel k = {0};
  k.mnk_s = 1e-8, k.mn_s = 1e-9, k.mk_s = 2e-9, k.nk_s = 1e-9, k.one_s = 2.03e-3;
  CHECK_NEAR(pm_kernel_mean_s(&k, 100, 200, 300),
             6e6 * 1e-8 + 2e4 * 1e-9 + 3e4 * 2e-9 + 6e4 * 1e-9 + 2.03e-3, 1e-12);
  pm_world *w = world_of(1, NULL);
  CHECK(pm_spawn_all(w, computes, &k) == PM_OK && pm_world_run(w) == PM_OK);
  k.sigma_ratio = 0.1;
  double sum = 0, squares = 0;
  for (int i = 0; i < 20000; i++) {
    const double r = pm_kernel_draw_s(&k, w, 100, 200, 300) / pm_kernel_mean_s(&k, 100, 200, 300);
    sum += r, squares += (r - 1) * (r - 1);
  }
  CHECK_NEAR(sum / 20000, 1, 0.004); /* 5.6 standard errors; the seed is fixed */
  CHECK_NEAR(sqrt(squares / 20000), 0.1, 0.004);
  pm_world_destroy(w);
}

/* Mean and deviation of 20,000 draws; and how many lie above `limit`. The seed is fixed. */
static void draw(const pm_kernel *k, pm_world *w, double n, double limit, double out[3]) {
  double sum = 0, squares = 0;
  out[2] = 0;
  for (int i = 0; i < 20000; i++) {
    const double s = pm_kernel_draw_s(k, w, 1, n, 1);
    sum += s, squares += s * s, out[2] += s > limit;
  }
  out[0] = sum / 20000;
  out[1] = sqrt(squares / 20000 - out[0] * out[0]);
}
static void noise_of_kernels_has_its_shape(void) {
  pm_platform p = pm_platform_bxi2(1);
  pm_world_desc desc = {0};
  pm_world *w;
  pm_kernel k = {0};
  double out[3], again[3];
  const pm_mode slow = {1, 3, 0.2}, fast = {4, 1, 0.1}; /* one in five takes three times as long */
  desc.platform = &p;
  desc.seed = 7;
  p.noise_count = 2, p.noise[0] = slow, p.noise[1] = fast;
  CHECK(pm_world_create(&desc, &w) == PM_OK);
  k.mn_s = 1; /* N-2: the deviation grows otherwise than the mean */
  k.sigma_one_s = 1, k.sigma_mn_s = 0.01;
  for (double n = 10; n <= 1000; n *= 10) {
    draw(&k, w, n, n, out);
    CHECK_NEAR(out[0], n, (1 + 0.01 * n) * 0.04);
    CHECK_NEAR(out[1], 1 + 0.01 * n, (1 + 0.01 * n) * 0.03);
    CHECK_NEAR(out[2] / 20000, 0.5, 0.02);
  }
  k.sigma_one_s = k.sigma_mn_s = 0;
  k.mode_count = 2, k.modes[0] = fast, k.modes[1] = slow;
  draw(&k, w, 10, 20, out); /* 10 * (0.8 * 1 + 0.2 * 3) */
  CHECK_NEAR(out[0], 14, 0.25);
  CHECK_NEAR(out[2] / 20000, 0.2, 0.015);
  CHECK_NEAR(out[1], 10 * sqrt(0.8 * (0.16 + 0.01) + 0.2 * (2.56 + 0.04)), 0.2);
  k.mode_count = 0; /* none of its own: the platform's, which is the same */
  draw(&k, w, 10, 20, again);
  CHECK_NEAR(again[0], 14, 0.25);
  CHECK_NEAR(again[2] / 20000, 0.2, 0.015);
  k.mode_count = 1, k.modes[0].weight_ratio = 1, k.modes[0].mean_ratio = 1, k.modes[0].sigma_ratio = 9;
  draw(&k, w, 10, 4.999, out); /* however wild: never below half */
  CHECK(out[2] == 20000);
  pm_world_destroy(w);
}

static void bad_arguments_are_refused(void) {
  pm_platform platform = pm_platform_bxi2(2);
  pm_world_desc desc = {0};
  pm_world *w = NULL;
  CHECK(pm_world_create(NULL, &w) == PM_E_INVAL && pm_world_create(&desc, &w) == PM_E_INVAL);
  desc.platform = &platform;
  CHECK(pm_world_create(&desc, NULL) == PM_E_INVAL);
  const pm_link_phase back[] = {{5, PM_LINK_LOGGP}, {4, PM_LINK_FLOW}}, carrier[] = {{5, PM_LINK_CARRIER}};
  desc.link_phase_count = 1; /* of nothing */
  CHECK(pm_world_create(&desc, &w) == PM_E_INVAL);
  desc.link_phases = carrier; /* which is not there */
  CHECK(pm_world_create(&desc, &w) == PM_E_INVAL);
  desc.link_phases = back, desc.link_phase_count = 2;
  CHECK(pm_world_create(&desc, &w) == PM_E_INVAL);
  desc.link_phase_count = 0;
  platform.node_count = 0;
  CHECK(pm_world_create(&desc, &w) == PM_E_PLATFORM && w == NULL);
  platform.node_count = 2;
  CHECK(pm_world_create(&desc, &w) == PM_OK);
  CHECK(pm_spawn(w, 2, sleeper, NULL, NULL) == PM_E_INVAL &&
        pm_spawn(w, -1, sleeper, NULL, NULL) == PM_E_INVAL);
  CHECK(pm_spawn(w, 0, NULL, NULL, NULL) == PM_E_INVAL);
  CHECK(pm_rank() == -1 && pm_size() == 0 && pm_self() == NULL && pm_process_at(w, 0) == NULL);
  pm_sleep_ns(1), pm_yield(), pm_barrier(), pm_exit(1); /* outside of a process: nothing */
  pm_world_destroy(w);
  pm_world_destroy(NULL);
}

/* Simulated time lies between what the process itself measured inside and around its computation. */
static int64_t host_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
static void computes_on_the_host(void *arg) {
  const double ratio = *(const double *)arg;
  for (int i = 0; i < 5; i++) {
    const int64_t t_ns = pm_now_ns(), around_ns = host_ns();
    pm_compute_measured();
    const int64_t before_ns = pm_now_ns(), inside_ns = host_ns();
    while (host_ns() < inside_ns + 200000) {}
    const int64_t inside_end_ns = host_ns();
    if (i % 2) pm_sleep_ns(0);
    else pm_compute_measured();
    const double d_ns = (double)(pm_now_ns() - before_ns);
    CHECK(before_ns >= t_ns);
    if (ratio > 0) CHECK(d_ns >= ratio * (double)(inside_end_ns - inside_ns) - 2 && d_ns <= ratio * (double)(host_ns() - around_ns) + 2);
    else CHECK(d_ns < 1); /* not asked for: it takes no time */
  }
}
/* What a library computes takes no time, what its caller did before and does after it takes its own. */
static void computes_for_a_library(void *arg) {
  (void)arg;
  const int64_t t_ns = pm_now_ns(), begin_ns = host_ns();
  while (host_ns() < begin_ns + 200000) {}
  CHECK(pm_compute_unmeasured(1) == 0 && pm_now_ns() - t_ns >= 200000);
  const int64_t inside_ns = pm_now_ns(), inside_begin_ns = host_ns();
  while (host_ns() < inside_begin_ns + 200000) {}
  pm_compute_measured();
  pm_sleep_ns(10);
  CHECK(pm_compute_unmeasured(1) == 1 && pm_now_ns() - inside_ns == 10);
  while (host_ns() < inside_begin_ns + 400000) {}
  CHECK(pm_compute_unmeasured(0) == 1 && pm_now_ns() - inside_ns == 10);
  const int64_t end_ns = host_ns();
  while (host_ns() < end_ns + 100000) {}
  pm_compute_measured();
  CHECK(pm_now_ns() - inside_ns >= 100010);
}
static void computation_of_a_library_takes_no_time(void) {
  pm_platform p = pm_platform_bxi2(1);
  pm_world_desc desc = {0};
  pm_world *w = NULL;
  desc.platform = &p;
  desc.compute_ratio = 1;
  CHECK(pm_compute_unmeasured(1) == 0 && pm_compute_unmeasured(0) == 0); /* outside of a process: no effect */
  CHECK(pm_world_create(&desc, &w) == PM_OK && pm_spawn_all(w, computes_for_a_library, NULL) == PM_OK && pm_world_run(w) == PM_OK);
  pm_world_destroy(w);
}
static void computation_is_measured_when_asked_for(void) {
  static const double ratios[] = {0, 1, 10};
  for (int i = 0; i < 3; i++) {
    pm_platform p = pm_platform_bxi2(2);
    pm_world_desc desc = {0};
    pm_world *w = NULL;
    double r = ratios[i];
    size_t count = 0;
    desc.platform = &p;
    desc.compute_ratio = r;
    desc.trace = 1;
    CHECK(pm_world_create(&desc, &w) == PM_OK && pm_spawn_all(w, computes_on_the_host, &r) == PM_OK && pm_world_run(w) == PM_OK);
    const pm_trace_record *record = pm_trace_records(w, &count);
    CHECK(r > 0 ? count >= 10 && record[0].kind == PM_TRACE_COMPUTE : count == 0);
    pm_world_destroy(w);
    desc.compute_ratio = -1;
    CHECK(pm_world_create(&desc, &w) == PM_E_INVAL);
  }
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(events_come_in_order_of_time_then_of_scheduling);
  RUN(moved_and_removed_events_keep_the_order);
  RUN(events_happen_in_their_order);
  RUN(the_end_of_flows_stands_between_events_that_were_far);
  RUN(far_events_come_in_order_when_many_come_before_them);
  RUN(what_goes_on_comes_in_its_turn);
  RUN(registers_and_time_survive_switches);
  RUN(barrier_waits_for_the_last_of_thousands);
  RUN(threads_run_side_by_side);
  RUN(a_wake_does_not_cut_a_computation_short);
  RUN(exit_ends_all_threads_of_the_process);
  RUN(spinning_lets_time_pass_with_few_events);
  RUN(long_pauses_end_with_what_is_delivered);
  RUN(calls_take_longer_as_the_seed_says);
  RUN(deadlock_names_who_waits_for_what);
  RUN(spinning_for_nothing_is_a_deadlock);
  RUN(time_limit_ends_the_run);
  RUN(a_process_can_end_the_run);
  RUN(crash_names_process_and_time);
  RUN(last_word_of_a_stack_is_watched);
  RUN(stacks_cost_when_they_are_taken);
  RUN(what_each_step_looks_at_begins_with_a_line);
  RUN(kernels_follow_their_polynomial_and_noise);
  RUN(noise_of_kernels_has_its_shape);
  RUN(bad_arguments_are_refused);
  RUN(computation_is_measured_when_asked_for);
  RUN(computation_of_a_library_takes_no_time);
  return TEST_END();
}
