/* Counters and triggered operations of Portals programs on NICs in RTL: what is released goes without the host, and
   counts, events and bytes are those of the flow level; also when the wire loses, when more waits than a NIC holds,
   when what waits is cancelled, and where the NIC cannot know what counts. */
#include "rtl/nic_cosim.h"
#include "tests/model/ptl.h"
#include "rtl/pm_rtl.h"

enum { NODES = 4, ROUNDS = 6, TOKEN = 200, COUNTERS = 4, PLAN = 40, SLOT = 16, NOTES = 1024 };
typedef enum { FLOW, RTL, RTL_BY_HOST } how;
typedef struct {
  int type, fail;
  uint64_t mlength, hdr, bits;
} note;
static pm_rtl *rtl;
static struct {
  uint64_t seed, token_bytes;
  note notes[NODES][NOTES];
  int note_count[NODES], bad, ends, sent, arrived;
  int64_t d_ns;
  ptl_ct_event_t counts[NODES][COUNTERS];
  unsigned char memory[NODES][1 << 15];
} W;

static uint64_t mix(uint64_t z) {
  z = (z + 0x9E3779B97F4A7C15u) * 0xBF58476D1CE4E5B9u;
  return z ^ (z >> 29);
}
static int run_on(how level, int nodes, void (*body)(void *), const pm_faults *faults) {
  const uint64_t seed = W.seed, token_bytes = W.token_bytes;
  pm_platform platform = pm_platform_bxi2(nodes);
  pm_carrier carrier = *pm_rtl_carrier(rtl);
  pm_world_desc desc = {0};
  pm_world *w = NULL;
  pm_status status;
  memset(&W, 0, sizeof W);
  W.seed = seed, W.token_bytes = token_bytes;
  if (level == RTL_BY_HOST) carrier.counter_new = NULL;
  desc.platform = &platform, desc.link = level == FLOW ? PM_LINK_FLOW : PM_LINK_CARRIER;
  desc.carrier = &carrier, desc.seed = seed, desc.stack_bytes = 65536;
  if (faults) desc.faults = *faults, platform.e2e_retry_ns = 30000, platform.e2e_retry_count = 15;
  CHECK(pm_world_create(&desc, &w) == PM_OK);
  if (!w) return 0;
  CHECK(pm_spawn_all(w, body, NULL) == PM_OK);
  status = pm_world_run(w);
  if (status) printf("  %s\n", pm_world_error(w));
  CHECK(status == PM_OK && W.ends == nodes && W.bad == 0);
  pm_world_destroy(w);
  return status == PM_OK && W.ends == nodes;
}
static ptl_handle_ct_t counter_of(side *s) {
  ptl_handle_ct_t ct = PTL_INVALID_HANDLE;
  CHECK(PtlCTAlloc(s->ni, &ct) == PTL_OK);
  return ct;
}
static void counted_entry(side *s, void *start, size_t bytes, ptl_match_bits_t bits,
                          unsigned int options, ptl_handle_ct_t ct) {
  ptl_me_t m =
      entry(start, bytes, bits, options | PTL_ME_EVENT_CT_COMM | PTL_ME_EVENT_LINK_DISABLE);
  m.ct_handle = ct;
  append(s, m, PTL_PRIORITY_LIST, NULL);
}
static ptl_handle_md_t descriptor(side *s, void *start, size_t bytes, unsigned int options,
                                  ptl_handle_eq_t eq, ptl_handle_ct_t ct) {
  ptl_md_t md = {start, bytes, options, eq, ct};
  ptl_handle_md_t h = PTL_INVALID_HANDLE;
  CHECK(PtlMDBind(s->ni, &md, &h) == PTL_OK);
  return h;
}
static void note_events(side *s) {
  const int me = pm_rank();
  ptl_event_t e;
  while (PtlEQGet(s->eq, &e) == PTL_OK && W.note_count[me] < NOTES) {
    note *n = &W.notes[me][W.note_count[me]++];
    n->type = e.type, n->fail = e.ni_fail_type, n->mlength = e.mlength, n->bits = e.match_bits;
    n->hdr = e.type == PTL_EVENT_PUT ? e.hdr_data : 0;
  }
}

/* A token goes round: each node sends on what it got, by a trigger; beside it a CTInc and a CTSet */
static void token_body(void *unused) {
  const int me = pm_rank(), to = (me + 1) % NODES;
  side s;
  ptl_handle_ct_t came, sums, last;
  ptl_ct_event_t value;
  (void)unused;
  side_open(&s, PTL_NI_MATCHING, 0, 0);
  came = counter_of(&s), sums = counter_of(&s), last = counter_of(&s);
  counted_entry(&s, W.memory[me], TOKEN, 5, PTL_ME_OP_PUT, came);
  const ptl_handle_md_t md = descriptor(&s, W.memory[me], TOKEN, 0, s.eq, PTL_CT_NONE);
  if (me == 0)
    for (int i = 0; i < TOKEN; i++) W.memory[0][i] = (unsigned char)mix(W.seed + (unsigned)i);
  pm_barrier();
  pm_sleep_ns(5000); /* the NICs have all entries */
  for (unsigned r = 0; r < ROUNDS; r++) {
    const ptl_ct_event_t by = {r + 1, 0}, is = {100 + r, r};
    if (me || r + 1 < ROUNDS) /* the last one does not go on from node 0 */
      CHECK(PtlTriggeredPut(md, 0, r % 2 ? W.token_bytes : W.token_bytes / 20, PTL_ACK_REQ,
                            pm_process_id(to), 3, 5, 0, NULL, 10 * r + (unsigned)me, came,
                            r + 1) == PTL_OK);
    CHECK(PtlTriggeredCTInc(sums, by, came, r + 1) == PTL_OK);
    CHECK(PtlTriggeredCTSet(last, is, sums, (r + 1) * (r + 2) / 2) == PTL_OK);
  }
  pm_barrier();
  pm_sleep_ns(20000); /* all is there */
  const int64_t t_ns = pm_now_ns();
  if (me == 0)
    CHECK(PtlPut(md, 0, W.token_bytes, PTL_ACK_REQ, pm_process_id(to), 3, 5, 0, NULL, 99) ==
          PTL_OK);
  CHECK(PtlCTWait(came, ROUNDS, &value) == PTL_OK && value.success == ROUNDS && !value.failure);
  if (me == 0) W.d_ns = pm_now_ns() - t_ns;
  pm_sleep_ns(20000);
  note_events(&s);
  CHECK(count_of(sums).success == ROUNDS * (ROUNDS + 1) / 2);
  CHECK(count_of(last).success == 100 + ROUNDS - 1 && count_of(last).failure == ROUNDS - 1);
  pm_barrier();
  W.ends++;
  side_close(&s);
}
static void goes_round(uint64_t bytes) {
  static unsigned char wanted[NODES][TOKEN];
  static note notes[NODES][NOTES];
  int counts[NODES], hops = NODES * ROUNDS;
  int64_t d_rtl_ns = 0;
  W.seed = test_rand(), W.token_bytes = bytes;
  if (!run_on(FLOW, NODES, token_body, NULL)) return;
  for (int i = 0; i < NODES; i++) memcpy(wanted[i], W.memory[i], TOKEN);
  memcpy(notes, W.notes, sizeof notes), memcpy(counts, W.note_count, sizeof counts);
  for (how level = RTL; level <= RTL_BY_HOST; level++) {
    if (!run_on(level, NODES, token_body, NULL)) return;
    for (int i = 0; i < NODES; i++) {
      CHECK(memcmp(wanted[i], W.memory[i], TOKEN) == 0 && counts[i] == W.note_count[i]);
      for (int k = 0; k < counts[i]; k++) {
        const note *a = &notes[i][k], *b = &W.notes[i][k];
        CHECK(a->type == b->type && a->fail == b->fail && a->mlength == b->mlength &&
              a->hdr == b->hdr && a->bits == b->bits);
      }
    }
    if (level == RTL) d_rtl_ns = W.d_ns;
  }
  CHECK(counts[0] == 3 * ROUNDS);
  printf("  %d hops of %d bytes: %d ns each, %d ns when hosts release\n", hops, (int)bytes,
         (int)(d_rtl_ns / hops), (int)(W.d_ns / hops));
  /* An event to the host and a command to the NIC are left out at each hop. Payload crosses the bus there and back to
     be read as late as Portals wants, so nothing is gained with it. */
  const pm_platform p = pm_platform_bxi2(2);
  if (!bytes) CHECK(d_rtl_ns + (hops - 1) * 2 * p.pci_latency_ns * 9 / 10 < W.d_ns);
}
static void a_token_goes_round_without_hosts(void) { goes_round(0); }
static void what_is_sent_on_is_what_came(void) { goes_round(TOKEN); }

/* A plan that all know: what process p's i-th trigger does, and what it waits for. All of it adds up, so order does
   not matter: the end is the same at every level. */
typedef struct {
  int kind, to, ct, target;
  uint64_t threshold, amount;
} step;
enum { PUT_COUNTED, PUT_BY_MODEL, ATOMIC, FETCH, GET, INC, KINDS };
static step step_of(int p, int i) {
  const uint64_t x = mix(mix(W.seed + (uint64_t)p * 1000) + (uint64_t)i);
  step s;
  s.kind = (int)(x % KINDS), s.to = (p + 1 + (int)((x >> 8) % (NODES - 1))) % NODES;
  s.ct = (int)((x >> 16) % COUNTERS), s.target = (int)((x >> 24) % COUNTERS);
  s.threshold = (x >> 32) % 24, s.amount = 1 + (x >> 40) % 3;
  return s;
}
enum {
  PUTS = 1,
  BY_MODEL,
  WORDS,
  AT_WORDS = 1 << 13,
  AT_GOT = 1 << 14,
  AT_OWN = 3 << 13,
  FLUSH = 100
};
static unsigned char Nobody[NODES][64];
static void plan_body(void *unused) {
  const int me = pm_rank();
  unsigned char *own = W.memory[me];
  side s;
  ptl_handle_ct_t ct[COUNTERS];
  uint64_t wanted[COUNTERS];
  ptl_ct_event_t value;
  (void)unused;
  side_open(&s, PTL_NI_MATCHING, 0, 0);
  for (int c = 0; c < COUNTERS; c++) ct[c] = counter_of(&s), wanted[c] = FLUSH;
  counted_entry(&s, own, AT_WORDS, PUTS, PTL_ME_OP_PUT, ct[0]);
  counted_entry(&s, own, AT_WORDS, BY_MODEL, PTL_ME_OP_PUT | PTL_ME_OP_GET, ct[1]);
  counted_entry(&s, own + AT_WORDS, 64, WORDS, PTL_ME_OP_PUT, ct[2]);
  const ptl_handle_md_t md =
      descriptor(&s, own, sizeof W.memory[me], PTL_MD_EVENT_CT_ACK | PTL_MD_EVENT_CT_REPLY,
                 PTL_EQ_NONE, ct[3]);
  const ptl_handle_md_t nobody =
      descriptor(&s, Nobody[me], sizeof Nobody[me], PTL_MD_EVENT_CT_REPLY, PTL_EQ_NONE, ct[3]);
  for (int i = 0; i < 4096; i++)
    own[AT_OWN + i] = (unsigned char)mix(W.seed + (unsigned)(me * 7 + i));
  for (int i = 0; i < 64; i++) own[AT_OWN + 8 * i + 7] = 0, own[AT_OWN + 8 * i + 6] = 0;
  pm_barrier();
  for (int p = 0; p < NODES; p++)
    for (int i = 0; i < PLAN; i++) {
      const step x = step_of(p, i);
      if (p == me && x.kind == INC) wanted[x.target] += x.amount;
      if (p == me && x.kind != INC) wanted[3]++;
      if (x.to != me) continue;
      wanted[0] += x.kind == PUT_COUNTED;
      wanted[1] += x.kind == PUT_BY_MODEL || x.kind == GET || x.kind == FETCH;
      wanted[2] += x.kind == ATOMIC;
    }
  for (int i = 0; i < PLAN; i++) {
    const step x = step_of(me, i);
    const size_t at = (size_t)SLOT * (size_t)(me * PLAN + i), from = AT_OWN + 8 * (size_t)(i % 40);
    const size_t bytes = 1 + (size_t)(x.amount * 5) % SLOT, words = 8 * (size_t)x.amount;
    const ptl_process_t to = pm_process_id(x.to);
    const ptl_ct_event_t by = {x.amount, 0};
    int code = PTL_FAIL;
    switch (x.kind) {
    case PUT_COUNTED:
    case PUT_BY_MODEL:
      code = PtlTriggeredPut(md, from, bytes, PTL_CT_ACK_REQ, to, 3,
                             x.kind == PUT_COUNTED ? PUTS : BY_MODEL, at, NULL, 0, ct[x.ct],
                             x.threshold);
      break;
    case ATOMIC:
      code = PtlTriggeredAtomic(md, from, words, PTL_CT_ACK_REQ, to, 3, WORDS, 8 * (size_t)x.target,
                                NULL, 0, PTL_SUM, PTL_UINT64_T, ct[x.ct], x.threshold);
      break;
    case FETCH: /* what it brings back depends on the order: it is nobody's */
      code = PtlTriggeredFetchAtomic(nobody, 0, md, from, words, to, 3, BY_MODEL, 7504, NULL, 0,
                                     PTL_SUM, PTL_UINT64_T, ct[x.ct], x.threshold);
      break;
    case GET:
      code = PtlTriggeredGet(md, AT_GOT + at, SLOT, to, 3, BY_MODEL, 7000, NULL, ct[x.ct],
                             x.threshold);
      break;
    default: code = PtlTriggeredCTInc(ct[x.target], by, ct[x.ct], x.threshold); break;
    }
    CHECK(code == PTL_OK);
    if (i % 3 == 0) pm_sleep_ns((int64_t)(mix(W.seed + (unsigned)i) % 900));
  }
  /* The host adds as well, in pieces, while all this goes on. */
  for (int k = 0; k < 4; k++)
    for (int c = 0; c < COUNTERS; c++) {
      const ptl_ct_event_t by = {FLUSH / 4, 0};
      CHECK(PtlCTInc(ct[c], by) == PTL_OK);
      pm_sleep_ns((int64_t)(mix(W.seed + (unsigned)(9 * c + k)) % 1500));
    }
  for (int c = 0; c < COUNTERS; c++)
    CHECK(PtlCTWait(ct[c], wanted[c], &value) == PTL_OK && value.success == wanted[c] &&
          !value.failure);
  pm_barrier();
  for (int c = 0; c < COUNTERS; c++) W.counts[me][c] = count_of(ct[c]);
  for (int c = 0; c < COUNTERS; c++) CHECK(W.counts[me][c].success == wanted[c]);
  W.ends++;
  pm_barrier();
  side_close(&s);
}
static void a_plan_ends_as_at_the_flow_level(void) {
  static unsigned char wanted[NODES][1 << 15];
  pm_faults faults = {0};
  faults.loss_ratio = faults.corrupt_ratio = faults.duplicate_ratio = 0.04;
  for (int round = 0; round < 2; round++) {
    W.seed = test_rand();
    if (!run_on(FLOW, NODES, plan_body, NULL)) return;
    memcpy(wanted, W.memory, sizeof wanted);
    if (!run_on(RTL, NODES, plan_body, round == 1 ? &faults : NULL)) return;
    CHECK(memcmp(wanted, W.memory, sizeof wanted) == 0);
  }
}

/* Triggers that are in use, of the NIC of a node */
static int in_use(int node) {
  int n = 0;
  if (!rtl->nics) return 0;
  for (int i = 0; i < COSIM_TRIGGERS; i++) n += rtl->nics[node].triggers.trigger[i].is_used;
  return n;
}
enum { MANY = 300, CANCELS = 24 };
static void many_body(void *unused) {
  const int me = pm_rank();
  const ptl_ct_event_t one = {1, 0};
  side s;
  ptl_handle_ct_t ct, go, acks;
  ptl_ct_event_t value;
  (void)unused;
  side_open(&s, PTL_NI_MATCHING, 0, 0);
  ct = counter_of(&s), go = counter_of(&s), acks = counter_of(&s);
  counted_entry(&s, W.memory[me], 4096, 5, PTL_ME_OP_PUT | PTL_ME_EVENT_COMM_DISABLE, ct);
  const ptl_handle_md_t md =
      descriptor(&s, W.memory[me], 4096, PTL_MD_EVENT_CT_ACK, PTL_EQ_NONE, acks);
  pm_barrier();
  if (me == 0) {
    for (int i = 0; i < 3 * MANY;
         i++) { /* what is cancelled never goes, and leaves nothing behind */
      CHECK(PtlTriggeredPut(md, 0, 8, PTL_CT_ACK_REQ, pm_process_id(1), 3, 5, 0, NULL, 0, go, 5) ==
            PTL_OK);
      if (i % 100 == 99) CHECK(PtlCTCancelTriggered(go) == PTL_OK);
    }
    for (int i = 0; i < MANY; i++)
      CHECK(PtlTriggeredPut(md, 0, 8, PTL_CT_ACK_REQ, pm_process_id(1), 3, 5, 0, NULL, 0, go, 1) ==
            PTL_OK);
    CHECK(PtlCTInc(go, one) == PTL_OK);
    CHECK(PtlCTWait(acks, MANY, &value) == PTL_OK);
  }
  pm_sleep_ns(100000);
  pm_barrier();
  if (me == 1) CHECK(count_of(ct).success == MANY);
  CHECK(count_of(acks).success == (me ? 0 : MANY) && in_use(me) == 0);
  pm_barrier();
  W.ends++;
  side_close(&s);
}
static void beyond_the_table_the_model_releases(void) {
  W.seed = test_rand();
  run_on(FLOW, 2, many_body, NULL);
  run_on(RTL, 2, many_body, NULL);
}

/* More counters than a NIC keeps, more triggers than it holds, and some that it cannot: what one counter releases leaves in
   the order of thresholds, and of posting where they are equal, whoever releases it. */
enum { SPLIT_COUNTERS = 20, SPLIT_POSTS = 800, SPLIT_HALF = 12, SPLIT_APPENDED = 90 };
static void split_post(side *s, const ptl_handle_ct_t *ct, ptl_handle_ct_t sums, ptl_handle_md_t md, unsigned i) {
  const uint64_t x = mix(W.seed + i);
  /* few counters get most of them */
  const unsigned c = (unsigned)(x >> 8 & 1 ? x % 3 : x % SPLIT_COUNTERS), half = i < SPLIT_POSTS / 2 ? 0 : SPLIT_HALF;
  const uint64_t threshold = half + 1 + (x >> 16) % SPLIT_HALF, hdr = (uint64_t)c << 32 | threshold << 16 | i;
  const ptl_ct_event_t one = {1, 0};
  ptl_handle_me_t handle;
  ptl_me_t m = entry(W.memory[0], 64, SPLIT_APPENDED, PTL_ME_OP_PUT | PTL_ME_EVENT_LINK_DISABLE);
  if ((x >> 24) % 16 == 0)
    CHECK(PtlTriggeredCTInc(sums, one, ct[c], threshold) == PTL_OK);
  else if ((x >> 24) % 16 == 1)
    CHECK(PtlTriggeredMEAppend(s->ni, 3, &m, PTL_PRIORITY_LIST, NULL, &handle, ct[c], threshold) == PTL_OK);
  else
    CHECK(PtlTriggeredPut(md, 0, 8, PTL_NO_ACK_REQ, pm_process_id(1), 4, 5, 0, NULL, hdr, ct[c], threshold) == PTL_OK);
}
/* Both nodes raise node 0's counters, by one or more, up to what the first or the second half waits for */
static void split_raise(side *s, const ptl_handle_ct_t *ct, ptl_handle_md_t md, unsigned from) {
  const int me = pm_rank();
  (void)s;
  for (unsigned k = 0; k < SPLIT_COUNTERS; k++) {
    const uint64_t x = mix(W.seed + 1000 + k + from);
    const uint64_t by_host = x % (SPLIT_HALF + 1);
    const ptl_ct_event_t by = {by_host, 0};
    if (me == 0 && by_host) CHECK(PtlCTInc(ct[k], by) == PTL_OK);
    for (uint64_t i = by_host; me == 1 && i < SPLIT_HALF; i++)
      CHECK(PtlPut(md, 0, 8, PTL_NO_ACK_REQ, pm_process_id(0), 3, 100 + k, 0, NULL, 0) == PTL_OK);
    if (x >> 40 & 1) pm_sleep_ns((int64_t)(x >> 48) % 2000);
  }
}
static void split_body(void *unused) {
  const int me = pm_rank();
  ptl_handle_ct_t ct[SPLIT_COUNTERS], sums;
  ptl_ct_event_t value;
  side s;
  (void)unused;
  side_open(&s, PTL_NI_MATCHING, 0, 0);
  for (int c = 0; c < SPLIT_COUNTERS; c++) {
    ct[c] = counter_of(&s);
    counted_entry(&s, W.memory[me], 64, 100 + (uint64_t)c, PTL_ME_OP_PUT | PTL_ME_EVENT_COMM_DISABLE, ct[c]);
  }
  sums = counter_of(&s);
  CHECK(PtlEQAlloc(s.ni, NOTES, &s.eq) == PTL_OK && PtlPTAlloc(s.ni, 0, s.eq, 4, &s.pt) == PTL_OK);
  append(&s, entry(W.memory[me] + 64, 64, 5, PTL_ME_OP_PUT | PTL_ME_EVENT_LINK_DISABLE), PTL_PRIORITY_LIST, NULL);
  const ptl_handle_md_t md = descriptor(&s, W.memory[me] + 128, 64, 0, PTL_EQ_NONE, PTL_CT_NONE);
  for (unsigned half = 0; half < 2; half++) {
    pm_barrier();
    for (unsigned i = 0; me == 0 && i < SPLIT_POSTS / 2; i++) split_post(&s, ct, sums, md, half * (SPLIT_POSTS / 2) + i);
    if (me == 0) pm_sleep_ns(20000);
    pm_barrier();
    split_raise(&s, ct, md, 500 * half);
    for (int c = 0; me == 0 && c < SPLIT_COUNTERS; c++) CHECK(PtlCTWait(ct[c], SPLIT_HALF * (half + 1), &value) == PTL_OK);
    pm_sleep_ns(200000);
    note_events(&s);
  }
  if (me == 0) W.sent = (int)count_of(sums).success;
  pm_barrier();
  W.ends++;
  side_close(&s);
}
static void thresholds_keep_their_order_across_the_split(void) {
  for (int round = 0; round < 3; round++) {
    uint64_t last[SPLIT_COUNTERS] = {0};
    bool seen[SPLIT_POSTS] = {0};
    int wanted = 0, sums = 0, disorder = 0, count = 0;
    W.seed = test_rand();
    run_on(RTL, 2, split_body, NULL);
    for (unsigned i = 0; i < SPLIT_POSTS; i++) {
      const uint64_t kind = (mix(W.seed + i) >> 24) % 16;
      wanted += kind > 1, sums += kind == 0;
    }
    for (int i = 0; i < W.note_count[1]; i++) {
      const uint64_t hdr = W.notes[1][i].hdr, at = hdr & 0xFFFFFFFF;
      if (W.notes[1][i].type != PTL_EVENT_PUT || W.notes[1][i].bits != 5) continue;
      CHECK(!seen[hdr & 0xFFFF]);
      seen[hdr & 0xFFFF] = 1, count++;
      disorder += at < last[hdr >> 32];
      last[hdr >> 32] = at;
    }
    CHECK(count == wanted && W.sent == sums && disorder == 0);
    printf("  %d puts and %d counts released, %d out of order\n", count, W.sent, disorder);
  }
}

/* Node 1 raises a counter of node 0 that counts another one on, while node 0 cancels that: what the NIC had counted before it
   heard of it does not count, and releases nothing later. */
enum { LATE_ROUNDS = 12, LATE_STEPS = 8 };
static void late_body(void *unused) {
  const int me = pm_rank();
  const ptl_ct_event_t one = {1, 0};
  side s;
  (void)unused;
  side_open(&s, PTL_NI_MATCHING, 0, 0);
  const ptl_handle_ct_t raised = counter_of(&s), counts = counter_of(&s), came = counter_of(&s);
  counted_entry(&s, W.memory[me], 64, 6, PTL_ME_OP_PUT | PTL_ME_EVENT_COMM_DISABLE, raised);
  counted_entry(&s, W.memory[me], 64, 5, PTL_ME_OP_PUT | PTL_ME_EVENT_COMM_DISABLE, came);
  const ptl_handle_md_t md = descriptor(&s, W.memory[me], 64, 0, PTL_EQ_NONE, PTL_CT_NONE);
  for (unsigned r = 0; r < LATE_ROUNDS; r++) {
    const ptl_ct_event_t none = {0, 0};
    pm_barrier();
    for (uint64_t i = 1; me == 0 && i <= LATE_STEPS; i++) CHECK(PtlTriggeredCTInc(counts, one, raised, i) == PTL_OK);
    pm_sleep_ns(10000);
    pm_barrier();
    for (int i = 0; me == 1 && i < LATE_STEPS; i++)
      CHECK(PtlPut(md, 0, 8, PTL_NO_ACK_REQ, pm_process_id(0), 3, 6, 0, NULL, 0) == PTL_OK);
    if (me == 0) {
      pm_sleep_ns(400 + (int64_t)(mix(W.seed + r) % 1600));
      CHECK(PtlCTCancelTriggered(raised) == PTL_OK);
    }
    pm_sleep_ns(20000);
    if (me == 0) {
      const uint64_t is = count_of(counts).success;
      W.sent += is % LATE_STEPS != 0;
      CHECK(PtlTriggeredPut(md, 0, 8, PTL_NO_ACK_REQ, pm_process_id(1), 3, 5, 0, NULL, 0, counts, is + 1) == PTL_OK);
    }
    pm_sleep_ns(20000);
    CHECK(count_of(came).success == (me ? r : 0)); /* it waits */
    pm_barrier();
    if (me == 0) CHECK(PtlCTInc(counts, one) == PTL_OK && PtlCTSet(raised, none) == PTL_OK);
    pm_sleep_ns(20000);
    CHECK(count_of(came).success == (me ? r + 1 : 0));
  }
  pm_barrier();
  W.ends++;
  side_close(&s);
}
static void what_is_cancelled_does_not_count(void) {
  W.seed = test_rand();
  run_on(RTL, 2, late_body, NULL);
  printf("  %d of %d were cancelled on their way\n", W.sent, LATE_ROUNDS);
}

/* Node 1 counts at node 0, whose counter releases puts back; node 0 cancels at any time. What it knows to be sent
   arrives, nothing else does. */
static void race_body(void *unused) {
  const int me = pm_rank();
  side s;
  ptl_handle_ct_t ct, acks;
  (void)unused;
  side_open(&s, PTL_NI_MATCHING, 0, 0);
  for (int round = 0; round < CANCELS; round++) {
    ct = counter_of(&s), acks = counter_of(&s);
    ptl_me_t m = entry(W.memory[me], 4096, (unsigned)round,
                       PTL_ME_OP_PUT | PTL_ME_EVENT_CT_COMM | PTL_ME_EVENT_COMM_DISABLE |
                           PTL_ME_EVENT_LINK_DISABLE);
    m.ct_handle = ct;
    const ptl_handle_me_t h = append(&s, m, PTL_PRIORITY_LIST, NULL);
    const ptl_handle_md_t md =
        descriptor(&s, W.memory[me], 4096, PTL_MD_EVENT_CT_ACK, PTL_EQ_NONE, acks);
    pm_sleep_ns(3000);
    pm_barrier();
    if (me == 0) {
      for (unsigned i = 1; i <= 6; i++)
        CHECK(PtlTriggeredPut(md, 0, 8 * i, PTL_CT_ACK_REQ, pm_process_id(1), 3, (unsigned)round, 0,
                              NULL, 0, ct, i) == PTL_OK);
      pm_barrier();
      pm_sleep_ns((int64_t)(mix(W.seed + (unsigned)round) % 4000));
      CHECK(PtlCTCancelTriggered(ct) == PTL_OK);
    } else {
      pm_barrier();
      for (int i = 0; i < 6; i++)
        CHECK(PtlPut(md, 0, 8, PTL_CT_ACK_REQ, pm_process_id(0), 3, (unsigned)round, 0, NULL, 0) ==
              PTL_OK);
    }
    pm_sleep_ns(60000);
    if (me == 0) {
      CHECK(count_of(ct).success == 6);
      W.sent += (int)count_of(acks).success;
    } else {
      CHECK(count_of(acks).success == 6);
      W.arrived += (int)count_of(ct).success;
    }
    pm_barrier();
    CHECK(W.sent == W.arrived &&
          in_use(me) <= 6); /* those cancelled last go when the NICs wake next */
    CHECK(PtlMDRelease(md) == PTL_OK && PtlMEUnlink(h) == PTL_OK);
    CHECK(PtlCTFree(ct) == PTL_OK && PtlCTFree(acks) == PTL_OK);
  }
  pm_barrier();
  W.ends++;
  side_close(&s);
}
static void what_is_cancelled_does_not_arrive(void) {
  W.seed = test_rand();
  run_on(RTL, 2, race_body, NULL);
  printf("  %d of %d were sent\n", W.sent, 6 * CANCELS);
  CHECK(W.sent > 0 && W.sent < 6 * CANCELS);
}

/* From one value to another a counter passes none at which something is released: neither where successes rise and failures
   fall, nor where halves of a number change. What the new value releases goes. */
static void set_body(void *unused) {
  static const struct {
    ptl_ct_event_t from, to;
    uint64_t threshold;
  } of[] = {{{1, 1}, {2, 0}, 3},
            {{1, 1}, {0, 2}, 3},
            {{0, 1}, {2, 0}, 2},
            {{1, 0}, {0, 3}, 2},
            {{0, 5}, {5, 0}, 6},
            {{((uint64_t)1 << 40) + 1, 0}, {7, 0}, ((uint64_t)1 << 40) + 3},
            {{7, 0}, {((uint64_t)1 << 40) + 1, 0}, ((uint64_t)1 << 40) + 3}};
  const int me = pm_rank();
  side s;
  (void)unused;
  side_open(&s, PTL_NI_MATCHING, 0, 0);
  const ptl_handle_ct_t came = counter_of(&s);
  counted_entry(&s, W.memory[me], 4096, 1, PTL_ME_OP_PUT, came);
  pm_barrier();
  for (size_t i = 0; i < sizeof of / sizeof *of && me == 0; i++) {
    const ptl_handle_ct_t ct = counter_of(&s), acks = counter_of(&s);
    const ptl_handle_md_t md =
        descriptor(&s, W.memory[me], 4096, PTL_MD_EVENT_CT_ACK, PTL_EQ_NONE, acks);
    CHECK(PtlCTSet(ct, of[i].from) == PTL_OK);
    CHECK(PtlTriggeredPut(md, 0, 8, PTL_CT_ACK_REQ, pm_process_id(1), 3, 1, 0, NULL, 0, ct,
                          of[i].threshold) == PTL_OK);
    pm_sleep_ns(5000);
    CHECK(PtlCTSet(ct, of[i].to) == PTL_OK);
    pm_sleep_ns(9000);
    CHECK(count_of(acks).success == (of[i].to.success + of[i].to.failure >= of[i].threshold));
    CHECK(count_of(ct).success == of[i].to.success);
    CHECK(PtlCTInc(ct, (ptl_ct_event_t){of[i].threshold, 0}) == PTL_OK);
    pm_sleep_ns(9000);
    CHECK(count_of(acks).success == 1);
    CHECK(PtlMDRelease(md) == PTL_OK && PtlCTFree(ct) == PTL_OK && PtlCTFree(acks) == PTL_OK);
  }
  pm_barrier();
  if (me == 1) CHECK(count_of(came).success == sizeof of / sizeof *of);
  W.ends++;
  pm_barrier();
  side_close(&s);
}
/* What an entry acknowledges with nothing counts nothing, and releases nothing on its way either. */
static void mute_body(void *unused) {
  const int me = pm_rank();
  side s;
  (void)unused;
  side_open(&s, PTL_NI_MATCHING, 0, 0);
  const ptl_handle_ct_t came = counter_of(&s), unseen = counter_of(&s), ct = counter_of(&s), acks = counter_of(&s);
  counted_entry(&s, W.memory[me], 4096, 1, PTL_ME_OP_PUT | PTL_ME_ACK_DISABLE, unseen);
  counted_entry(&s, W.memory[me], 4096, 2, PTL_ME_OP_PUT, came);
  const ptl_handle_md_t md =
                            descriptor(&s, W.memory[me], 4096, PTL_MD_EVENT_CT_ACK, PTL_EQ_NONE, ct),
                        released =
                            descriptor(&s, W.memory[me], 4096, PTL_MD_EVENT_CT_ACK, PTL_EQ_NONE, acks);
  pm_barrier();
  if (me == 0) {
    CHECK(PtlTriggeredPut(released, 0, 8, PTL_CT_ACK_REQ, pm_process_id(1), 3, 2, 0, NULL, 0, ct, 1) == PTL_OK);
    for (unsigned bits = 1; bits <= 2; bits++) {
      CHECK(PtlPut(md, 0, 8, PTL_CT_ACK_REQ, pm_process_id(1), 3, bits, 0, NULL, 0) == PTL_OK);
      pm_sleep_ns(9000);
      CHECK(count_of(ct).success == bits - 1 && count_of(acks).success == (bits == 2));
    }
  }
  pm_sleep_ns(9000);
  pm_barrier();
  if (me == 1) CHECK(count_of(came).success == 2 && count_of(unseen).success == 1);
  W.ends++;
  pm_barrier();
  side_close(&s);
}
static void what_is_not_acknowledged_releases_nothing(void) {
  run_on(FLOW, 2, mute_body, NULL);
  run_on(RTL, 2, mute_body, NULL);
}
/* Nor what was sent by a trigger that was there before the entry, and so counts in the NIC */
static void mute_later_body(void *unused) {
  const int me = pm_rank();
  side s;
  (void)unused;
  side_open(&s, PTL_NI_MATCHING, 0, 0);
  const ptl_handle_ct_t go = counter_of(&s), came = counter_of(&s), ct = counter_of(&s);
  const ptl_handle_md_t md = descriptor(&s, W.memory[me], 4096, PTL_MD_EVENT_CT_ACK, PTL_EQ_NONE, ct);
  const ptl_process_t to = pm_process_id(1);
  if (me == 0) {
    CHECK(PtlTriggeredPut(md, 0, 8, PTL_CT_ACK_REQ, to, 3, 1, 0, NULL, 0, go, 1) == PTL_OK);
    CHECK(PtlTriggeredPut(md, 0, 8, PTL_CT_ACK_REQ, to, 3, 2, 0, NULL, 0, ct, 1) == PTL_OK);
  }
  pm_sleep_ns(9000);
  pm_barrier();
  if (me == 1) {
    counted_entry(&s, W.memory[me], 4096, 1, PTL_ME_OP_PUT | PTL_ME_ACK_DISABLE, came);
    counted_entry(&s, W.memory[me], 4096, 2, PTL_ME_OP_PUT, came);
  }
  pm_sleep_ns(9000);
  pm_barrier();
  if (me == 0) CHECK(PtlCTInc(go, (ptl_ct_event_t){1, 0}) == PTL_OK);
  pm_sleep_ns(20000);
  pm_barrier();
  CHECK(count_of(ct).success == 0 && count_of(came).success == (me == 1));
  if (me == 0) CHECK(PtlCTInc(ct, (ptl_ct_event_t){1, 0}) == PTL_OK);
  pm_sleep_ns(20000);
  pm_barrier();
  CHECK(count_of(ct).success == (me ? 0 : 2) && count_of(came).success == (me ? 2 : 0));
  W.ends++;
  pm_barrier();
  side_close(&s);
}
static void an_entry_that_comes_later_is_mute_too(void) {
  run_on(FLOW, 2, mute_later_body, NULL);
  run_on(RTL, 2, mute_later_body, NULL);
}
/* An entry for puts that counts, and what it does not take or what passes it over: that counts nothing, and releases
   nothing, though the NIC lets it in. A put of 4 bytes comes first (to HEADERS) and last. */
enum { CLOSED, OFF, GETS, FETCHES, QUEUE, HEADERS, ROOM, LOCAL_ROOM, REFUSALS };
static ptl_handle_eq_t Small_queue;
static void refused_entry(side *s, int what, ptl_handle_ct_t ct) {
  ptl_me_t m = entry(W.memory[0], 4, 1, PTL_ME_OP_PUT | PTL_ME_EVENT_CT_COMM | PTL_ME_EVENT_LINK_DISABLE |
                                            (what >= ROOM ? PTL_ME_NO_TRUNCATE : 0) | (what == LOCAL_ROOM ? PTL_ME_MANAGE_LOCAL : 0));
  ptl_pt_index_t pt;
  ptl_handle_me_t h;
  const ptl_list_t list = what == HEADERS ? PTL_OVERFLOW_LIST : PTL_PRIORITY_LIST;
  const unsigned int options = what == QUEUE ? PTL_PT_FLOWCTRL : what == CLOSED ? PTL_PT_ALLOC_DISABLED : 0;
  CHECK(PtlPTAlloc(s->ni, options, what == QUEUE ? Small_queue : PTL_EQ_NONE, 4 + (unsigned)what, &pt) == PTL_OK);
  m.ct_handle = ct;
  CHECK(PtlMEAppend(s->ni, pt, &m, list, NULL, &h) == PTL_OK);
  m.options = PTL_ME_OP_PUT | PTL_ME_EVENT_LINK_DISABLE, m.length = 4096;
  if (what >= ROOM) CHECK(PtlMEAppend(s->ni, pt, &m, list, NULL, &h) == PTL_OK);
}
static void refused_message(const side *s, int what) {
  const ptl_process_t to = pm_process_id(0);
  const unsigned pt = 4 + (unsigned)what;
  if (what == GETS)
    CHECK(PtlGet(s->md, 0, 4, to, pt, 1, 0, NULL) == PTL_OK);
  else if (what == FETCHES)
    CHECK(PtlFetchAtomic(s->md, 0, s->md, 8, 4, to, pt, 1, 0, NULL, 0, PTL_SUM, PTL_INT32_T) == PTL_OK);
  else
    CHECK(PtlPut(s->md, 0, what >= ROOM ? 8 : 4, PTL_ACK_REQ, to, pt, 1, 0, NULL, 0) == PTL_OK);
}
static void refused_body(void *unused) {
  const int me = pm_rank();
  const ptl_process_t to = pm_process_id(1);
  ptl_ni_limits_t wish = {0};
  ptl_event_t e;
  side s;
  (void)unused;
  memset(&s, 0, sizeof s);
  wish.max_unexpected_headers = 1;
  CHECK(!PtlInit() && !PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, &wish, NULL, &s.ni));
  CHECK(!PtlEQAlloc(s.ni, 64, &s.eq) && !PtlPTAlloc(s.ni, 0, s.eq, 3, &s.pt));
  if (me == 0) CHECK(PtlEQAlloc(s.ni, 1, &Small_queue) == PTL_OK);
  s.md = descriptor(&s, W.memory[me], 64, 0, s.eq, PTL_CT_NONE);
  const ptl_handle_ct_t came = counter_of(&s);
  counted_entry(&s, W.memory[me], 4096, 1, PTL_ME_OP_PUT, came);
  for (int what = 0; what < REFUSALS; what++) {
    const ptl_handle_ct_t ct = counter_of(&s);
    const unsigned pt = 4 + (unsigned)what;
    const bool comes_first = what == HEADERS || what == QUEUE;
    if (me == 0) {
      refused_entry(&s, what, ct);
      CHECK(PtlTriggeredPut(s.md, 0, 8, PTL_NO_ACK_REQ, to, 3, 1, 0, NULL, 0, ct, 1 + comes_first) == PTL_OK);
      if (what == OFF) CHECK(PtlPTDisable(s.ni, pt) == PTL_OK);
      pm_sleep_ns(9000);
    }
    for (int k = 0; k < 3; k++) { /* to be taken, to be refused, to be taken */
      pm_barrier();
      if (me == 1 && (k || comes_first)) {
        if (k == 1)
          refused_message(&s, what);
        else
          CHECK(PtlPut(s.md, 0, 4, PTL_ACK_REQ, pm_process_id(0), pt, 1, 0, NULL, 0) == PTL_OK);
      }
      pm_sleep_ns(20000);
      pm_barrier();
      CHECK(count_of(came).success == (me ? (unsigned)what + (k == 2) : 0));
      if (me == 0) CHECK(count_of(ct).success == comes_first + (unsigned)(k == 2));
      if (me || k != 1) continue;
      if (what == CLOSED || what == OFF || what == QUEUE) CHECK(PtlPTEnable(s.ni, pt) == PTL_OK);
      while (what == QUEUE && PtlEQGet(Small_queue, &e) == PTL_OK) continue;
      ptl_me_t all = entry(NULL, 0, 1, PTL_ME_OP_PUT);
      if (what == HEADERS) CHECK(PtlMESearch(s.ni, pt, &all, PTL_SEARCH_DELETE, NULL) == PTL_OK);
      pm_sleep_ns(9000);
    }
  }
  W.ends++;
  pm_barrier();
  CHECK(PtlNIFini(s.ni) == PTL_OK);
  PtlFini();
}
static void what_is_refused_releases_nothing(void) {
  run_on(FLOW, 2, refused_body, NULL);
  run_on(RTL, 2, refused_body, NULL);
}
static void setting_a_counter_releases_nothing_on_its_way(void) {
  run_on(FLOW, 2, set_body, NULL);
  run_on(RTL, 2, set_body, NULL);
}

/* Lists of two entries. One call or trigger after the other finds what the one before has left, though that waits until
   the NIC has looked through its headers: an entry whose header was taken may leave, one that a header used up has left
   room, and LINKs are in order. */
static void turn_put(const side *s, ptl_pt_index_t pt) {
  CHECK(PtlPut(s->md, 0, 8, PTL_NO_ACK_REQ, pm_process_id(0), pt, 1, 0, NULL, 0) == PTL_OK);
}
static int turn_append(side *s, ptl_pt_index_t pt, unsigned int options, ptl_list_t list,
                       int number, ptl_handle_ct_t go, ptl_handle_me_t *h) {
  ptl_me_t m = entry(W.memory[0], 64, 1, PTL_ME_OP_PUT | options);
  void *user = (void *)(uintptr_t)number;
  return go == PTL_CT_NONE ? PtlMEAppend(s->ni, pt, &m, list, user, h)
                           : PtlTriggeredMEAppend(s->ni, pt, &m, list, user, h, go, 1);
}
static void turn_event(side *s, int type, int number) {
  ptl_event_t e;
  CHECK(PtlEQGet(s->eq, &e) == PTL_OK && (int)e.type == type &&
        (int)(uintptr_t)e.user_ptr == number);
}
static void turns_body(void *unused) {
  const int me = pm_rank();
  const ptl_ct_event_t one = {1, 0};
  ptl_ni_limits_t wish = {0};
  ptl_pt_index_t pt;
  ptl_handle_me_t over, h;
  ptl_handle_ct_t go;
  side s;
  (void)unused;
  memset(&s, 0, sizeof s);
  wish.max_list_size = 2;
  CHECK(!PtlInit() && !PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY,
                                 &wish, NULL, &s.ni));
  CHECK(PtlEQAlloc(s.ni, 64, &s.eq) == PTL_OK);
  for (unsigned p = 3; p <= 5; p++) CHECK(PtlPTAlloc(s.ni, 0, s.eq, p, &pt) == PTL_OK);
  s.md = descriptor(&s, W.memory[me], 64, 0, PTL_EQ_NONE, PTL_CT_NONE);
  go = counter_of(&s);
  if (me == 0) {
    CHECK(!turn_append(&s, 3, 0, PTL_OVERFLOW_LIST, 1, PTL_CT_NONE, &over));
    CHECK(!turn_append(&s, 5, 0, PTL_OVERFLOW_LIST, 2, PTL_CT_NONE, &h));
    pm_sleep_ns(9000);
  }
  pm_barrier();
  if (me == 1) turn_put(&s, 3), turn_put(&s, 5);
  pm_sleep_ns(9000);
  pm_barrier();
  if (me == 0) {
    for (int i = 1; i <= 2; i++) turn_event(&s, PTL_EVENT_LINK, i);
    for (int i = 0; i < 2; i++) turn_event(&s, PTL_EVENT_PUT, 1 + i);
    CHECK(!turn_append(&s, 3, PTL_ME_USE_ONCE, PTL_PRIORITY_LIST, 3, go, &h));
    CHECK(PtlTriggeredMEUnlink(over, go, 1) == PTL_OK);
    CHECK(!turn_append(&s, 4, 0, PTL_OVERFLOW_LIST, 4, go, &h));
    for (int i = 5; i <= 7; i++) CHECK(!turn_append(&s, 3, 0, PTL_PRIORITY_LIST, i, go, &h));
    CHECK(PtlCTInc(go, one) == PTL_OK);
    pm_sleep_ns(9000);
    turn_event(&s, PTL_EVENT_PUT_OVERFLOW, 3), turn_event(&s, PTL_EVENT_AUTO_UNLINK, 3);
    for (int i = 4; i <= 6; i++) turn_event(&s, PTL_EVENT_LINK, i);
    EXPECT_NOTHING(&s); /* the seventh had no room */
    CHECK(PtlMEUnlink(h) == PTL_ARG_INVALID && PtlMEUnlink(over) == PTL_ARG_INVALID);
    CHECK(!turn_append(&s, 5, PTL_ME_USE_ONCE, PTL_PRIORITY_LIST, 8, PTL_CT_NONE, &h));
    CHECK(!turn_append(&s, 5, 0, PTL_PRIORITY_LIST, 9, PTL_CT_NONE, &h));
    CHECK(turn_append(&s, 5, 0, PTL_PRIORITY_LIST, 10, PTL_CT_NONE, &h) == PTL_LIST_TOO_LONG);
    turn_event(&s, PTL_EVENT_PUT_OVERFLOW, 8), turn_event(&s, PTL_EVENT_AUTO_UNLINK, 8);
    turn_event(&s, PTL_EVENT_LINK, 9);
  }
  pm_barrier();
  W.ends++;
  CHECK(PtlNIFini(s.ni) == PTL_OK);
  PtlFini();
}
static void lists_change_in_the_order_of_the_calls(void) {
  run_on(FLOW, 2, turns_body, NULL);
  run_on(RTL, 2, turns_body, NULL);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  rtl = pm_rtl_create();
  RUN(a_token_goes_round_without_hosts);
  RUN(what_is_sent_on_is_what_came);
  RUN(a_plan_ends_as_at_the_flow_level);
  RUN(beyond_the_table_the_model_releases);
  RUN(thresholds_keep_their_order_across_the_split);
  RUN(what_is_cancelled_does_not_count);
  RUN(what_is_cancelled_does_not_arrive);
  RUN(setting_a_counter_releases_nothing_on_its_way);
  RUN(what_is_not_acknowledged_releases_nothing);
  RUN(an_entry_that_comes_later_is_mute_too);
  RUN(lists_change_in_the_order_of_the_calls);
  RUN(what_is_refused_releases_nothing);
  pm_rtl_destroy(rtl);
  return TEST_END();
}
