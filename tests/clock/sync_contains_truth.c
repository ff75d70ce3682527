/* A common time over simulated clocks and networks: drift that is constant, waves or ramps, one-sided
   and heavy-tailed delays, lost and reordered messages, shared clocks, steps, silent ranks. The truth is
   always within the bound, and the middle of the bound is closer to it than the published methods. */
#include "src/transport/packets.c"
#include "tests/pieces.h"
#include "tests/test.h"
#include "tests/clock/simnet.h"
#include "tests/clock/peers.h"

enum { STAMPS = 24 };

typedef struct world {
  simnet *net;
  nbc_sync_desc desc;
  int bursts;
  double pause_ns;    /* between bursts */
  double sum_err_ns;  /* |t - truth|, live, after the last burst */
  double sum_estimate_err_ns; /* the same of nbc_sync_estimate */
  double last_pause_ns;
  double worst_bound_ns;
  long cases;
  int deepest;
  long steps, lost;
  double create_ns; /* latest end of create */
} world;

static void look(nbc_transport *t, const nbc_sync *sync, world *w, int64_t *local_ns, double *truth_ns) {
  simnet_rank *r = simnet_me(t->ctx);
  nbc_time g;
  *local_ns = t->now_ns(t->ctx);
  *truth_ns = simnet_truth_ns(w->net, r->t_ns);
  CHECK(nbc_sync_global(sync, *local_ns, &g) == NBC_OK);
  CHECK(fabs((double)g.t_ns - *truth_ns) <= (double)g.err_ns + 1); /* rank 0 reads whole nanoseconds */
  int64_t t_ns; /* the estimate stays where truth must be */
  CHECK(nbc_sync_estimate(sync, *local_ns, &t_ns) == NBC_OK && llabs(t_ns - g.t_ns) <= g.err_ns);
  w->cases++;
}

static nbc_status live_in(nbc_transport *t, void *user) {
  world *w = (world *)user;
  simnet_rank *r = simnet_me(t->ctx);
  nbc_sync *sync;
  nbc_error err;
  int64_t local_ns[STAMPS];
  double truth_ns[STAMPS];
  int stamps = 0;
  nbc_time g;
  nbc_status status = nbc_sync_create(t, &w->desc, &sync, &err);
  if (status != NBC_OK) printf("  %s\n", err.text);
  if (status != NBC_OK) return status;
  w->create_ns = fmax(w->create_ns, r->t_ns);
  for (int burst = 0; burst < w->bursts; burst++) {
    for (int k = 0; k < STAMPS / 3 && stamps < STAMPS; k++, stamps++) {
      r->t_ns += w->pause_ns * (double)(test_rand() >> 11) / 9007199254740992.0 / 4;
      look(t, sync, w, &local_ns[stamps], &truth_ns[stamps]);
    }
    status = nbc_sync_update(sync, &err);
    if (status != NBC_OK) printf("  %s\n", err.text);
    if (status != NBC_OK) return status;
  }
  r->t_ns += w->last_pause_ns;
  int64_t now_local_ns;
  double now_truth_ns;
  look(t, sync, w, &now_local_ns, &now_truth_ns);
  nbc_sync_global(sync, now_local_ns, &g);
  w->sum_err_ns += fabs((double)g.t_ns - now_truth_ns);
  int64_t estimate_ns = 0;
  CHECK(nbc_sync_estimate(sync, now_local_ns, &estimate_ns) == NBC_OK);
  w->sum_estimate_err_ns += fabs((double)estimate_ns - now_truth_ns);
  w->worst_bound_ns = fmax(w->worst_bound_ns, (double)g.err_ns);
  for (int k = 0; k < stamps; k++) { /* looked at later: interpolated */
    status = nbc_sync_global(sync, local_ns[k], &g);
    CHECK(status == NBC_OK && fabs((double)g.t_ns - truth_ns[k]) <= (double)g.err_ns + 1);
    w->cases++;
  }
  int64_t back_ns; /* and back: the local time of a global one */
  CHECK(nbc_sync_local(sync, (int64_t)now_truth_ns + 1000000, &back_ns) == NBC_OK);
  CHECK(nbc_sync_global(sync, back_ns, &g) == NBC_OK);
  CHECK(fabs((double)g.t_ns - now_truth_ns - 1000000) <= (double)g.err_ns + 3);
  const nbc_sync_info info = nbc_sync_info_of(sync);
  if (info.depth_count > w->deepest) w->deepest = info.depth_count;
  w->steps += (long)info.step_count;
  w->lost += (long)info.lost_count;
  CHECK(t->rank > 0 || (info.parent_rank == -1 && info.offset.t_ns == 0 && info.offset.err_ns == 0));
  nbc_sync_destroy(sync);
  return NBC_OK;
}

static double unit(void) { return (double)(test_rand() >> 11) / 9007199254740992.0; }

/* Clocks whose deviation stays within 90 ppm and changes by less than 0.4 ppm per second. */
static void give_clocks(simnet *net, int style) {
  for (int i = 0; i < net->size; i++) {
    simnet_clock *c = &net->ranks[i].clock;
    c->offset_ns = unit() * 1e9;
    c->deviation = (unit() - 0.5) * 1e-4;
    if (style % 3 == 1) { /* wave: at most 20 ppm, slope wave * per^2 */
      c->wave_per_ns = 2e-9 * (0.05 + unit());
      c->wave_ns = fmin(20e-6 / c->wave_per_ns, 0.4e-15 / (c->wave_per_ns * c->wave_per_ns));
      c->wave_phase = unit() * 6;
    } else if (style % 3 == 2) { /* the temperature changes: 10 ppm, as fast as allowed */
      c->ramp = (unit() - 0.5) * 2e-5;
      c->ramp_width_ns = fmax(fabs(c->ramp) / 2 / 0.4e-15, 1e6);
      c->ramp_at_ns = unit() * 4e9;
    }
    net->ranks[i].t_ns = 1e9 + unit() * 1e6; /* nobody starts at the same time */
  }
}

static world world_of(int size, int style, uint64_t seed) {
  world w;
  memset(&w, 0, sizeof w);
  w.net = simnet_create(size, seed);
  w.net->jitter_ns = style % 2 ? 500 : 50;
  w.net->tail_ns = style % 4 == 3 ? 2000 : 0;
  w.net->asymmetry = style % 5 == 4 ? 3 : 0;
  w.desc.rate_limit_ppm = 200;
  w.desc.trip_count = 20;
  w.bursts = 3;
  w.pause_ns = 2e8;
  w.last_pause_ns = 1e8;
  return w;
}

static void truth_is_within_the_bound(void) {
  long cases = 0;
  for (int round = 0; round < 270; round++) {
    world w = world_of(2 + (int)test_below(15), round, test_rand());
    give_clocks(w.net, round);
    w.pause_ns = pow(10, 4 + 5 * unit());
    w.net->per_node = 1 + (int)test_below(4);
    w.desc.tree_arity = 2 + (int)test_below(4);
    w.desc.history_count = 2 + (int)test_below(6);
    w.desc.method = (nbc_sync_method)(round % 8 < 4 ? 0 : round % 4);
    CHECK(simnet_run(w.net, live_in, &w) == NBC_OK);
    CHECK(w.steps == 0);
    cases += w.cases;
    simnet_destroy(w.net);
  }
  printf("  %ld cases\n", cases);
  CHECK(cases >= 100000);
}

static void lost_and_reordered_messages_only_widen(void) {
  long lost = 0;
  for (int round = 0; round < 200; round++) {
    world w = world_of(2 + (int)test_below(7), round, test_rand());
    give_clocks(w.net, round);
    w.net->reorder = round % 2;
    w.net->loss_ratio = 0.05 * unit();
    w.net->per_node = 1 + round % 3;
    w.desc.retry_ns = 20000;
    w.desc.limit_ns = 10000000000;
    CHECK(simnet_run(w.net, live_in, &w) == NBC_OK);
    CHECK(w.steps == 0);
    lost += w.lost;
    simnet_destroy(w.net);
  }
  CHECK(lost > 100);
}

/* The same messages, four ways to read them; the same ones in every run. */
static void ours_is_closer_than_the_published_methods(void) {
  test_state = 2022;
  static const char *const nets[] = {"narrow jitter", "wide jitter", "wide jitter, heavy tail", "no drift, unknown"};
  for (int kind = 0; kind < 4; kind++) {
    double sum_ns[NBC_SYNC_METHOD_COUNT] = {0}, estimate_ns = 0;
    const uint64_t start = test_state;
    for (int method = 0; method < NBC_SYNC_METHOD_COUNT; method++) {
      test_state = start;
      for (int round = 0; round < 60; round++) {
        world w = world_of(8, 0, test_rand());
        give_clocks(w.net, round);
        w.net->jitter_ns = kind ? 1000 : 100;
        w.net->tail_ns = kind == 2 ? 2000 : 0;
        w.desc.method = (nbc_sync_method)method;
        if (kind == 3) /* ranks that share a clock and do not know it; bursts soon after each other */
          w.pause_ns = w.last_pause_ns = 2e7;
        for (int i = 0; i < 8 && kind == 3; i++)
          w.net->ranks[i].clock = (simnet_clock){.offset_ns = w.net->ranks[i].clock.offset_ns};
        CHECK(simnet_run(w.net, live_in, &w) == NBC_OK);
        sum_ns[method] += w.sum_err_ns / (60 * 7);
        if (method == 0) estimate_ns += w.sum_estimate_err_ns / (60 * 7);
        simnet_destroy(w.net);
      }
    }
    printf("  %-24s mean |error|:", nets[kind]);
    for (int m = 0; m < NBC_SYNC_METHOD_COUNT; m++) printf(" %s %.0f ns", nbc_sync_method_name((nbc_sync_method)m), sum_ns[m]);
    printf(", estimate %.0f ns\n", estimate_ns);
    for (int m = 1; m < NBC_SYNC_METHOD_COUNT; m++) {
      CHECK(sum_ns[0] < sum_ns[m] || kind == 3);
      CHECK(estimate_ns < sum_ns[m] + (kind == 0 ? 10 : 0)); /* rates that change by 0.4 ppm per second: its line lags */
    }
  }
}

/* The estimate of rank 1, some time ahead of the last burst, against the truth. */
typedef struct ahead {
  int bursts;
  double worst_ns;
} ahead;
static nbc_status look_ahead(nbc_transport *t, void *user) {
  ahead *a = (ahead *)user;
  simnet_rank *r = simnet_me(t->ctx);
  nbc_sync *sync;
  nbc_status status = nbc_sync_create(t, NULL, &sync, NULL);
  for (int i = 1; i < a->bursts && status == NBC_OK; i++) {
    r->t_ns += 1e8;
    status = nbc_sync_update(sync, NULL);
  }
  int64_t t_ns;
  const double t_true_ns = r->t_ns + 1e9;
  if (status == NBC_OK)
    status = nbc_sync_estimate(sync, (int64_t)simnet_local_ns(&r->clock, t_true_ns), &t_ns);
  if (status == NBC_OK) a->worst_ns = fmax(a->worst_ns, fabs((double)t_ns - simnet_truth_ns(r->net, t_true_ns)));
  nbc_sync_destroy(sync);
  return status;
}
/* Clocks without drift. A trip is wrong by half of what its answer was late by, the fastest of 64 by a
   64th of that; a second later it is as much, since a burst says nothing about the rate. */
static void disturbed_bursts_make_no_drift(void) {
  for (int bursts = 1; bursts <= 8; bursts += 7)
    for (int k = 0; k < 4; k++) {
      ahead a = {bursts, 0};
      const double disturb_ns = (double[]){0, 5000, 50000, 0}[k];
      for (uint64_t seed = 1; seed <= 200; seed++) {
        simnet *net = simnet_create(2, seed);
        net->jitter_ns = k == 3 ? 2000 : 100;
        net->disturb_ns = disturb_ns;
        net->ranks[1].clock.offset_ns = 1e6;
        CHECK(simnet_run(net, look_ahead, &a) == NBC_OK);
        simnet_destroy(net);
      }
      printf("  %d bursts, answers up to %.0f ns late: worst of 200 after a second %.0f ns\n", bursts, disturb_ns, a.worst_ns);
      CHECK(a.worst_ns < 200 + 0.1 * disturb_ns);
    }
}

/* Two ranks on one core: a message waits for its receiver until the sender has looked for the next one in vain. Who
   goes away instead, as the parent does after a burst's last answer, makes room sooner. */
enum { LOOKS_NS = 4000 };
static void go_away(const simnet_rank *r) {
  for (int i = 0; i < r->net->size; i++)
    for (simnet_message *m = r->net->ranks[i].inbox; m; m = m->next)
      if (m->from == r->t.rank) m->t_arrive_ns -= LOOKS_NS;
}
static nbc_status leave_after_bursts(nbc_transport *t, void *user) {
  ahead *a = (ahead *)user;
  simnet_rank *r = simnet_me(t->ctx);
  const nbc_sync_desc desc = {.trip_count = 10};
  nbc_sync *sync;
  nbc_status status = nbc_sync_create(t, &desc, &sync, NULL);
  for (int i = 1; i < a->bursts && status == NBC_OK; i++) {
    go_away(r);
    r->t_ns += 1e7;
    status = nbc_sync_update(sync, NULL);
  }
  go_away(r);
  int64_t t_ns;
  if (status == NBC_OK) status = nbc_sync_estimate(sync, (int64_t)simnet_local_ns(&r->clock, r->t_ns), &t_ns);
  if (status == NBC_OK) a->worst_ns = fmax(a->worst_ns, fabs((double)t_ns - simnet_truth_ns(r->net, r->t_ns)));
  nbc_sync_destroy(sync);
  return status;
}
static void what_a_parent_does_after_a_burst_moves_no_estimate(void) {
  for (int bursts = 1; bursts <= 100; bursts += 33) {
    ahead a = {bursts, 0};
    for (uint64_t seed = 1; seed <= 50; seed++) {
      simnet *net = simnet_create(2, seed);
      net->latency_ns = 1000 + LOOKS_NS;
      net->jitter_ns = 200;
      net->ranks[1].clock.offset_ns = 1e6;
      CHECK(simnet_run(net, leave_after_bursts, &a) == NBC_OK);
      simnet_destroy(net);
    }
    printf("  %d bursts: worst of 50 %.0f ns\n", bursts, a.worst_ns);
    CHECK(a.worst_ns < 200);
  }
}

/* Four ways beside each other, each with as many trips in as much time: a hundred times ten in a second,
   SKaMPI, which knows no drift, all at its end. Their errors then, and 1, 10 and 60 s later. */
enum { AHEADS = 4, RUNS = 8, OURS = PEER_COUNT, WAYS };
static const double ahead_ns[AHEADS] = {0, 1e9, 1e10, 6e10};
typedef struct beside {
  double err_ns[WAYS][AHEADS][RUNS];
  int run, outside;
} beside;
static void pass_time(void *ctx, int64_t d_ns) { simnet_me(ctx)->t_ns += (double)d_ns; }
static nbc_status stand_beside(nbc_transport *t, void *user) {
  beside *b = (beside *)user;
  simnet_rank *r = simnet_me(t->ctx);
  const nbc_sync_desc desc = {.trip_count = 10};
  const bool last = t->rank == t->size - 1;
  nbc_status status = NBC_OK;
  for (int m = 0; m < PEER_COUNT && status == NBC_OK; m++) {
    const peer_desc d = {100, m == PEER_SKAMPI ? 1000 : 10, pass_time, 10000000};
    peer_model model;
    status = peer_sync(t, (peer_method)m, &d, &model);
    for (int i = 0; i < AHEADS && last; i++) {
      const double t_ns = r->t_ns + ahead_ns[i];
      const int64_t local_ns = (int64_t)simnet_local_ns(&r->clock, t_ns);
      b->err_ns[m][i][b->run] = fabs((double)peer_global_ns(&model, local_ns) - simnet_truth_ns(r->net, t_ns));
    }
  }
  nbc_sync *sync = NULL;
  if (status == NBC_OK) status = nbc_sync_create(t, &desc, &sync, NULL);
  for (int i = 1; i < 100 && status == NBC_OK; i++) {
    pass_time(t->ctx, 10000000);
    status = nbc_sync_update(sync, NULL);
  }
  for (int i = 0; i < AHEADS && last && status == NBC_OK; i++) {
    const double t_ns = r->t_ns + ahead_ns[i], truth_ns = simnet_truth_ns(r->net, t_ns);
    const int64_t local_ns = (int64_t)simnet_local_ns(&r->clock, t_ns);
    int64_t estimate_ns;
    nbc_time time;
    status = nbc_sync_estimate(sync, local_ns, &estimate_ns);
    if (status == NBC_OK) status = nbc_sync_global(sync, local_ns, &time);
    if (status == NBC_OK) b->err_ns[OURS][i][b->run] = fabs((double)estimate_ns - truth_ns);
    if (status == NBC_OK) b->outside += fabs((double)time.t_ns - truth_ns) > (double)time.err_ns + 1;
  }
  nbc_sync_destroy(sync);
  return status;
}
static int order_doubles(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}
static void as_good_as_papers_with_the_same_trips(void) {
  static const struct {
    const char *name;
    int size;
    double jitter_ns, disturb_ns, deviation;
  } nets[] = {{"narrow jitter", 2, 100, 0, 2e-5},
              {"wide jitter", 2, 1000, 0, 2e-5},
              {"answers up to 5 us late", 2, 100, 5000, -3e-6},
              {"answers up to 50 us late", 2, 100, 50000, 2e-5},
              {"two hops", 4, 500, 0, 1e-5}};
  for (size_t k = 0; k < sizeof nets / sizeof *nets; k++) {
    static beside b;
    memset(&b, 0, sizeof b);
    for (b.run = 0; b.run < RUNS; b.run++) {
      simnet *net = simnet_create(nets[k].size, (uint64_t)b.run + 1);
      net->jitter_ns = nets[k].jitter_ns;
      net->disturb_ns = nets[k].disturb_ns;
      for (int i = 0; i < net->size; i++) net->ranks[i].clock = (simnet_clock){.offset_ns = 1e6 * i, .deviation = nets[k].deviation * i};
      CHECK(simnet_run(net, stand_beside, &b) == NBC_OK);
      simnet_destroy(net);
    }
    CHECK(b.outside == 0);
    for (int m = 0; m < WAYS; m++) {
      printf("  %-24s %-8s |error| after 0, 1, 10, 60 s:", nets[k].name, m == OURS ? "ours" : peer_names[m]);
      for (int i = 0; i < AHEADS; i++) {
        qsort(b.err_ns[m][i], RUNS, sizeof(double), order_doubles);
        b.err_ns[m][i][0] = 0.5 * (b.err_ns[m][i][RUNS / 2 - 1] + b.err_ns[m][i][RUNS / 2]); /* the median */
        printf(" %.0f", b.err_ns[m][i][0]);
      }
      printf(" ns\n");
    }
    for (int m = 0; m < PEER_COUNT; m++)
      for (int i = m == PEER_SKAMPI ? 1 : 0; i < AHEADS; i++) /* SKaMPI's trips are all at the end: no worse at 0 s */
        CHECK(b.err_ns[OURS][i][0] <= b.err_ns[m][i][0] + 1);
  }
}

/* The wander that is seen is not less than the true one and becomes small with the time watched; the bound that
   it gives holds the truth; less than the true one is refuted when watched for long. */
typedef struct wandering {
  double pause_ns, seen, bound_ns, default_ns;
  int refuted;
} wandering;
static nbc_status watch_wander(nbc_transport *t, void *user) {
  wandering *w = (wandering *)user;
  simnet_rank *r = simnet_me(t->ctx);
  nbc_sync *sync;
  nbc_time time;
  nbc_status status = nbc_sync_create(t, NULL, &sync, NULL);
  CHECK(t->rank == 0 || isinf(nbc_sync_info_of(sync).wander_seen_ppm_per_s)); /* a burst says nothing */
  for (int i = 0; i < 20 && status == NBC_OK; i++) {
    r->t_ns += w->pause_ns;
    status = nbc_sync_update(sync, NULL);
  }
  if (status == NBC_OK && t->rank == 1) {
    const double t_ns = r->t_ns + 1e9, truth_ns = simnet_truth_ns(r->net, t_ns);
    const int64_t local_ns = (int64_t)simnet_local_ns(&r->clock, t_ns);
    w->seen = nbc_sync_info_of(sync).wander_seen_ppm_per_s;
    CHECK(nbc_sync_global(sync, local_ns, &time) == NBC_OK);
    w->default_ns = (double)time.err_ns;
    CHECK(nbc_sync_global_if(sync, w->seen, local_ns, &time) == NBC_OK);
    CHECK(fabs((double)time.t_ns - truth_ns) <= (double)time.err_ns + 1);
    w->bound_ns = (double)time.err_ns;
    w->refuted = nbc_sync_global_if(sync, 0, local_ns, &time) == NBC_E_MISMATCH;
    CHECK(nbc_sync_global_if(sync, -1, local_ns, &time) == NBC_E_INVAL);
    CHECK(nbc_sync_global_if(sync, (double)NAN, local_ns, &time) == NBC_E_INVAL);
  }
  nbc_sync_destroy(sync);
  return status;
}
static void wander_is_seen_and_small_bounds_say_what_they_assume(void) {
  for (int wanders = 0; wanders < 2; wanders++)
    for (int k = 0; k < 3; k++) {
      wandering w = {(double[]){1e8, 1e9, 1e10}[k], 0, 0, 0, 0};
      simnet *net = simnet_create(2, (uint64_t)k + 1);
      net->jitter_ns = 100;
      net->latency_ns = 100;
      net->ranks[1].clock.deviation = 1e-5;
      if (wanders) { /* 0.05 ppm per second */
        net->ranks[1].clock.wave_per_ns = 5e-12;
        net->ranks[1].clock.wave_ns = 0.05e-15 / (5e-12 * 5e-12);
        net->ranks[1].clock.wave_phase = 1.5;
      }
      CHECK(simnet_run(net, watch_wander, &w) == NBC_OK);
      printf("  wander %s, watched for %3.0f s: seen %.4f ppm/s at most; bound after a second %.0f ns by that, %.0f ns by default%s\n",
             wanders ? "0.05 ppm/s" : "none", 20e-9 * w.pause_ns, w.seen, w.bound_ns, w.default_ns,
             w.refuted ? "; none is refuted" : "");
      CHECK(!wanders || w.seen >= 0.02);
      CHECK(k == 0 || w.seen < 0.1);
      CHECK(wanders ? k == 0 || w.refuted : !w.refuted);
      if (k == 2 && !wanders) CHECK(w.bound_ns < w.default_ns / 2);
      simnet_destroy(net);
    }
}

static void thousands_of_ranks(void) {
  world w = world_of(4096, 1, 7);
  give_clocks(w.net, 0);
  w.net->per_node = 16;
  w.bursts = 1;
  w.pause_ns = 1e9;
  CHECK(simnet_run(w.net, live_in, &w) == NBC_OK);
  printf("  4096 ranks on 256 clocks: %.1f ms to synchronise, %d clocks deep, bound %.0f ns, %llu messages, %d stacks\n",
         (w.create_ns - 1e9) * 1e-6, w.deepest, w.worst_bound_ns, (unsigned long long)w.net->message_count,
         w.net->stack_count);
  CHECK(w.deepest == 8); /* log2 of the number of clocks */
  CHECK(w.net->message_count < 2 * (255 * 2 * 20 + 4096 * 2));
  simnet_destroy(w.net);
  world one = world_of(1000, 0, 3); /* one clock for all: nothing to say */
  one.net->per_node = 1000;
  CHECK(simnet_run(one.net, live_in, &one) == NBC_OK && one.net->message_count == 0 && one.worst_bound_ns == 0);
  simnet_destroy(one.net);
}

/* A clock steps between two bursts: seen by the second one, and right again from there on. */
static nbc_status step_over(nbc_transport *t, void *user) {
  world *w = (world *)user;
  simnet_rank *r = simnet_me(t->ctx);
  nbc_sync *sync;
  int64_t local_ns, early_ns;
  double truth_ns;
  nbc_time g;
  nbc_status status = nbc_sync_create(t, &w->desc, &sync, NULL);
  if (status != NBC_OK) return status;
  for (int k = 0; k < 5; k++) look(t, sync, w, &early_ns, &truth_ns);
  r->t_ns = 3e9; /* beyond the step */
  status = nbc_sync_update(sync, NULL);
  if (status != NBC_OK) return status;
  look(t, sync, w, &local_ns, &truth_ns);
  CHECK(nbc_sync_info_of(sync).step_count == (t->rank == 2));
  status = nbc_sync_global(sync, early_ns, &g); /* taken before: right, or known to be unknown */
  CHECK(status == NBC_OK || (status == NBC_E_RANGE && t->rank == 2 && g.err_ns == INT64_MAX));
  nbc_sync_destroy(sync);
  return NBC_OK;
}

static void a_step_is_counted(void) {
  for (int round = 0; round < 40; round++) {
    world w = world_of(4, round, test_rand());
    give_clocks(w.net, 0);
    w.net->ranks[2].clock.step_ns = pow(10, 7 + 2 * unit()) * (round % 2 ? -1 : 1);
    w.net->ranks[2].clock.step_at_ns = 2e9;
    CHECK(simnet_run(w.net, step_over, &w) == NBC_OK);
    simnet_destroy(w.net);
  }
}

static char said[256];
static nbc_status expect_silence(nbc_transport *t, void *user) {
  world *w = (world *)user;
  nbc_sync *sync;
  nbc_error err;
  const nbc_status status = nbc_sync_create(t, &w->desc, &sync, &err);
  if (status == NBC_OK) nbc_sync_destroy(sync);
  else if (t->rank == 2) snprintf(said, sizeof said, "%s", err.text);
  CHECK(status == NBC_OK || sync == NULL);
  return status;
}

static void a_silent_rank_is_named(void) {
  world w = world_of(4, 0, 1);
  give_clocks(w.net, 0);
  w.net->mute_rank_set = true;
  w.net->mute_rank = 3; /* child of rank 2 */
  w.desc.limit_ns = 1000000000;
  CHECK(simnet_run(w.net, expect_silence, &w) == NBC_E_TIMEOUT);
  CHECK(strstr(said, "rank 3 did not answer within 1 s") != NULL);
  simnet_destroy(w.net);
}

static void bad_descs_are_refused(void) {
  simnet *net = simnet_create(1, 1);
  const nbc_sync_desc bad[] = {{.trip_count = -1}, {.trip_count = 2 << 20}, {.tree_arity = 1}, {.tree_arity = 65},
                               {.limit_ns = -1}, {.retry_ns = -1}, {.rate_limit_ppm = -1}, {.rate_limit_ppm = (double)NAN},
                               {.history_count = 1}, {.method = NBC_SYNC_METHOD_COUNT}, {.wander_ppm_per_s = 1e99}};
  nbc_sync *sync;
  nbc_error err;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    CHECK(nbc_sync_create(&net->ranks[0].t, &bad[i], &sync, &err) == NBC_E_INVAL && !sync && err.text[0]);
  CHECK(nbc_sync_create(NULL, NULL, &sync, NULL) == NBC_E_INVAL);
  CHECK(nbc_sync_create(&net->ranks[0].t, NULL, &sync, NULL) == NBC_OK); /* alone */
  const nbc_sync_desc desc = nbc_sync_desc_of(sync);
  CHECK(desc.trip_count == 64 && desc.tree_arity == 2 && desc.limit_ns == 30000000000 && desc.wander_ppm_per_s == 1);
  nbc_sync_destroy(sync);
  nbc_sync_destroy(NULL);
  simnet_destroy(net);
}

/* Real threads whose clocks are told to differ: the truth is known exactly. */
static int64_t shifted_now(void *ctx) {
  return nbc__packets_now(ctx) + 1000000007 * (int64_t)((nbc__packets_rank *)ctx)->t.rank;
}
/* Who yields a core waits a turn of every other program for each look: minutes on a busy machine. */
static void sleep_a_moment(void *ctx) {
  (void)ctx;
  nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
}
static nbc_status on_threads(nbc_transport *t, void *user) {
  nbc_sync *sync;
  nbc_error err;
  nbc_transport own = *t;
  (void)user;
  nbc_status status = nbc_sync_create(t, NULL, &sync, &err); /* as they are: one clock */
  if (status != NBC_OK) return status;
  const int64_t now_ns = t->now_ns(t->ctx);
  nbc_time g;
  CHECK(nbc_sync_global(sync, now_ns, &g) == NBC_OK && g.t_ns == now_ns && g.err_ns == 0);
  nbc_sync_destroy(sync);
  own.now_ns = shifted_now;
  own.rest = sleep_a_moment;
  own.same_clock = NULL;
  for (int method = 0; method < NBC_SYNC_METHOD_COUNT; method++) {
    nbc_sync_desc desc = {0};
    desc.method = (nbc_sync_method)method;
    desc.tag = 100;
    status = nbc_sync_create(&own, &desc, &sync, &err);
    if (status != NBC_OK) return status;
    for (int k = 0; k < 5; k++) {
      const int64_t local_ns = own.now_ns(own.ctx), truth_ns = local_ns - 1000000007 * (int64_t)t->rank;
      CHECK(nbc_sync_global(sync, local_ns, &g) == NBC_OK);
      CHECK(g.t_ns - g.err_ns <= truth_ns && g.t_ns + g.err_ns >= truth_ns);
      status = nbc_sync_update(sync, &err);
      if (status != NBC_OK) return status;
    }
    nbc_sync_destroy(sync);
  }
  return NBC_OK;
}
static void works_on_threads(void) {
  nbc_threads_desc desc = {0};
  nbc_threads *threads;
  desc.size = 5;
  CHECK(nbc_threads_create(&desc, &threads) == NBC_OK);
  CHECK(nbc_threads_run(threads, on_threads, NULL) == NBC_OK);
  nbc_threads_destroy(threads);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(truth_is_within_the_bound);
  RUN(lost_and_reordered_messages_only_widen);
  RUN(ours_is_closer_than_the_published_methods);
  RUN(disturbed_bursts_make_no_drift);
  RUN(what_a_parent_does_after_a_burst_moves_no_estimate);
  RUN(as_good_as_papers_with_the_same_trips);
  RUN(wander_is_seen_and_small_bounds_say_what_they_assume);
  RUN(thousands_of_ranks);
  RUN(a_step_is_counted);
  RUN(a_silent_rank_is_named);
  RUN(bad_descs_are_refused);
  RUN(works_on_threads);
  return TEST_END();
}
