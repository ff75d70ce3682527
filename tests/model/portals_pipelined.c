/* Operations that nobody waits for, beside their results in the order of the calls: an interface that offers
   PTL_TOTAL_DATA_ORDERING promises that puts, gets and atomics of one initiator on one target's memory take place in that
   order, whatever their sizes, and each operation counts once. Three processes, each with a region of its own in all of
   them, in one piece or in many; random sizes, overlaps and pauses; levels, split messages, losses and noise of calls. */
#include "tests/model/ptl.h"

enum { RANKS = 3, REGION = 24000, MOST = 6000, OPS = 80, ROOM = OPS * MOST + REGION, PIECES = 16, WORDS = 8, PAGE = 3 };
typedef struct user { /* a process; its own and its view of others, in the order of its calls */
  uint64_t state;     /* of its draws: the order in which processes run is the model's */
  unsigned char memory[RANKS][REGION], model[RANKS][REGION], source[ROOM], fetched[ROOM], wanted[ROOM];
  ptl_iovec_t pieces[RANKS][PIECES];
  size_t sent, got; /* bytes of source and fetched that are used */
} user;
static user U[RANKS];

static unsigned int below(user *u, unsigned int n) {
  u->state = u->state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned int)(u->state >> 33) % n;
}
/* Region s of this process is for rank s alone. */
static void offer_region(user *u, ptl_handle_ni_t ni, int s) {
  ptl_me_t me = entry(u->memory[s], REGION, 0, PTL_ME_OP_PUT | PTL_ME_OP_GET);
  ptl_handle_me_t h;
  me.match_id = pm_process_id(s);
  if (below(u, 2)) {
    size_t at = 0;
    int k = 0;
    for (; at < REGION; k++) {
      const size_t most = REGION - at, n = k == PIECES - 1 ? most : below(u, 4000);
      u->pieces[s][k].iov_base = u->memory[s] + at;
      u->pieces[s][k].iov_len = n < most ? n : most;
      at += u->pieces[s][k].iov_len;
    }
    me.start = u->pieces[s];
    me.length = (ptl_size_t)k;
    me.options |= PTL_IOVEC;
  }
  CHECK(PtlMEAppend(ni, PAGE, &me, PTL_PRIORITY_LIST, NULL, &h) == PTL_OK);
}
static void add_words(unsigned char *to, const unsigned char *from, size_t bytes) {
  for (size_t k = 0; k < bytes; k += 8) {
    uint64_t a, b;
    memcpy(&a, to + k, 8);
    memcpy(&b, from + k, 8);
    a += b;
    memcpy(to + k, &a, 8);
  }
}
/* One operation, and in u->model and u->wanted what comes of it. */
static void operate(user *u, ptl_handle_md_t put_md, ptl_handle_md_t get_md, unsigned int hot) {
  const int to = (int)below(u, RANKS), kind = (int)below(u, 10);
  const ptl_process_t id = pm_process_id(to);
  size_t n = below(u, below(u, 3) ? 64 : below(u, 2) ? 2000 : MOST), at = below(u, 4) ? hot + below(u, 200) : below(u, REGION - MOST);
  unsigned char *model = u->model[to];
  if (kind >= 7) n = 8 * (size_t)(1 + below(u, WORDS)), at &= ~(size_t)7;
  if (kind < 4)
    CHECK(PtlPut(put_md, u->sent, n, below(u, 2) ? PTL_CT_ACK_REQ : PTL_OC_ACK_REQ, id, PAGE, 0, at, NULL, 0) == PTL_OK);
  else if (kind < 7)
    CHECK(PtlGet(get_md, u->got, n, id, PAGE, 0, at, NULL) == PTL_OK);
  else if (kind < 9)
    CHECK(PtlAtomic(put_md, u->sent, n, PTL_CT_ACK_REQ, id, PAGE, 0, at, NULL, 0, PTL_SUM, PTL_UINT64_T) == PTL_OK);
  else
    CHECK(PtlFetchAtomic(get_md, u->got, put_md, u->sent, n, id, PAGE, 0, at, NULL, 0, PTL_SUM, PTL_UINT64_T) == PTL_OK);
  if (kind == 9 || (kind >= 4 && kind < 7)) {
    memcpy(u->wanted + u->got, model + at, n);
    u->got += n;
  }
  if (kind < 4) memcpy(model + at, u->source + u->sent, n);
  if (kind >= 7) add_words(model + at, u->source + u->sent, n);
  if (kind < 4 || kind >= 7) u->sent += n;
}
static void user_body(void *unused) {
  user *u = &U[pm_rank()];
  ptl_handle_ni_t ni = PTL_INVALID_HANDLE;
  ptl_handle_ct_t ct = PTL_CT_NONE;
  ptl_handle_md_t put_md = PTL_INVALID_HANDLE, get_md = put_md;
  ptl_pt_index_t pt;
  ptl_ct_event_t e;
  ptl_ni_limits_t limits;
  ptl_size_t n = OPS;
  (void)unused;
  CHECK(!PtlInit() && !PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, &limits, &ni));
  CHECK(limits.features & PTL_TOTAL_DATA_ORDERING);
  CHECK(!PtlCTAlloc(ni, &ct) && !PtlPTAlloc(ni, 0, PTL_EQ_NONE, PAGE, &pt));
  const ptl_md_t put = {u->source, ROOM, PTL_MD_EVENT_CT_ACK, PTL_EQ_NONE, ct}, get = {u->fetched, ROOM, PTL_MD_EVENT_CT_REPLY, PTL_EQ_NONE, ct};
  CHECK(!PtlMDBind(ni, &put, &put_md) && !PtlMDBind(ni, &get, &get_md));
  for (size_t i = 0; i < ROOM; i++) u->source[i] = (unsigned char)below(u, 256);
  for (int s = 0; s < RANKS; s++) {
    offer_region(u, ni, s);
    for (int i = 0; i < REGION; i++) {
      u->memory[s][i] = (unsigned char)(7 * s + i);
      u->model[s][i] = (unsigned char)(7 * pm_rank() + i);
    }
  }
  const unsigned int hot = below(u, REGION - MOST - 200);
  pm_barrier();
  for (int k = 0; k < OPS; k++) {
    operate(u, put_md, get_md, hot);
    if (!below(u, 6)) pm_sleep_ns(below(u, 2000));
  }
  CHECK(PtlCTWait(ct, n, &e) == PTL_OK && e.success == n && !e.failure);
  CHECK(!memcmp(u->fetched, u->wanted, u->got));
  pm_barrier(); /* all at once on the regions of all */
  for (int s = 0; s < RANKS; s++) {
    CHECK(PtlGet(get_md, 0, REGION, pm_process_id(s), PAGE, 0, 0, NULL) == PTL_OK);
    CHECK(PtlCTWait(ct, ++n, &e) == PTL_OK && !memcmp(u->fetched, u->model[s], REGION));
  }
  pm_barrier(); /* who has closed its interface cannot be read */
  CHECK(PtlMDRelease(put_md) == PTL_OK && PtlMDRelease(get_md) == PTL_OK);
  CHECK(PtlNIFini(ni) == PTL_OK);
  PtlFini();
}
static void run_it(pm_link_model link, const pm_platform *platform, pm_faults faults) {
  pm_world_desc desc = {0};
  const uint64_t seed = test_rand();
  const int bad = test_bad;
  desc.platform = platform;
  desc.link = link;
  desc.faults = faults;
  desc.seed = seed;
  desc.call_noise_ns = (int64_t)(seed % 3) * 100;
  memset(U, 0, sizeof U);
  for (int r = 0; r < RANKS; r++) U[r].state = seed + (uint64_t)r;
  run_world(RANKS, user_body, &desc);
  if (test_bad != bad) printf("  world of seed %llu at level %d\n", (unsigned long long)seed, (int)link);
}
static const pm_link_model levels[] = {PM_LINK_FLOW, PM_LINK_LOGGP, PM_LINK_PACKET};
static void what_nobody_waits_for_takes_place_in_order(void) {
  pm_platform platform = pm_platform_bxi2(RANKS);
  for (int k = 0; k < test_rounds(30); k++) run_it(levels[k % 3], &platform, (pm_faults){0});
}
static void messages_over_all_rails_stay_in_order(void) {
  pm_platform platform = pm_platform_bxi2(RANKS);
  platform.nic_count = 2;
  platform.rail_split_bytes = 1024;
  for (int k = 0; k < test_rounds(20); k++) run_it(k % 2 ? PM_LINK_PACKET : PM_LINK_FLOW, &platform, (pm_faults){0});
}
static void what_is_lost_or_doubled_stays_in_order(void) {
  pm_platform platform = pm_platform_bxi2(RANKS);
  const pm_faults faults = {.loss_ratio = 0.05, .corrupt_ratio = 0.03, .duplicate_ratio = 0.05, .delay_ratio = 0.1, .delay_ns = 5000};
  platform.e2e_retry_ns = 20000;
  platform.e2e_retry_count = 50;
  for (int k = 0; k < test_rounds(30); k++) run_it(levels[k % 3], &platform, faults);
}
int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(what_nobody_waits_for_takes_place_in_order);
  RUN(messages_over_all_rails_stay_in_order);
  RUN(what_is_lost_or_doubled_stays_in_order);
  return TEST_END();
}
