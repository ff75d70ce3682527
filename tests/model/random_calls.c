/* Random Portals calls with good, stale and invented handles in several processes: every call returns
   a code of the API, nothing crashes, no counter of the model goes astray, a run is reproducible, over several threads too. */
#include "tests/model/ptl.h"

enum { PROCESSES = 3, HANDLES = 24, AREA = 2048 };
static unsigned char area[PROCESSES][AREA];
enum { VECTORS = 600 };
static ptl_iovec_t vectors[PROCESSES][VECTORS][3]; /* must stay as they are while somebody uses them */
typedef struct bag { ptl_handle_any_t h[HANDLES]; int n; } bag;
static struct { int made, good; } calls[PROCESSES];
static int calls_per_process;

static uint64_t below(uint64_t n) { return pm_random(pm_world_of(pm_self())) % n; }
static void keep(bag *b, ptl_handle_any_t h) { b->h[b->n++ % HANDLES] = h; }
static ptl_handle_any_t any(const bag *b) {
  const int n = b->n < HANDLES ? b->n : HANDLES;
  if (!n || below(20) == 0) return below(2) ? PTL_INVALID_HANDLE : (ptl_handle_any_t)(below(0xFFFFFFFF));
  return b->h[below((uint64_t)n)];
}
static void done(int code) {
  CHECK(code >= PTL_OK && code < PTL_STATUS_LAST && code != PTL_NO_INIT);
  calls[pm_rank()].made++;
  calls[pm_rank()].good += code == PTL_OK;
}
static size_t bytes(void) { return below(4) ? below(100) : below(3000); }
/* What fires later, what is looked for, polled for and mapped. */
static void other_call(const bag *ni, const bag *eq, const bag *ct, const bag *md, bag *me) {
  const ptl_process_t to = pm_process_id((int)below(PROCESSES));
  const ptl_pt_index_t p = (ptl_pt_index_t)below(4);
  const unsigned int options = (unsigned int)(below(0x100000) & ~below(0x100000) & ~1u) | 6u;
  const ptl_size_t threshold = below(6);
  unsigned char *mine = area[pm_rank()];
  ptl_me_t m = entry(mine, below(AREA), below(3), options);
  m.ct_handle = below(2) ? any(ct) : PTL_CT_NONE;
  switch (below(7)) {
  case 0: case 1: {
    ptl_handle_me_t h;
    const int code = PtlTriggeredMEAppend(any(ni), p, &m, (ptl_list_t)below(2), NULL, &h, any(ct), threshold);
    done(code);
    if (!code) keep(me, h);
    break;
  }
  case 2: done(PtlTriggeredMEUnlink(any(me), any(ct), threshold)); break;
  case 3: {
    ptl_process_t map[PROCESSES];
    for (int k = 0; k < PROCESSES; k++) map[k] = pm_process_id(k);
    done(PtlSetMap(any(ni), PROCESSES, map));
    break;
  }
  case 4: {
    const ptl_handle_any_t queues[2] = {any(eq), any(eq)}, counts[2] = {any(ct), any(ct)};
    const ptl_size_t tests[2] = {below(9), below(9)};
    unsigned int which;
    ptl_event_t e;
    ptl_ct_event_t v;
    if (below(2)) done(PtlEQPoll(queues, 2, (ptl_time_t)below(2), &e, &which));
    else done(PtlCTPoll(counts, tests, 2, (ptl_time_t)below(2), &v, &which));
    break;
  }
  case 5: {
    const ptl_le_t l = {mine, AREA, any(ct), PTL_UID_ANY, options & 0xFFFFu};
    done(PtlLESearch(any(ni), p, &l, (ptl_search_op_t)below(2), NULL));
    break;
  }
  default:
    if (below(2)) done(PtlTriggeredGet(any(md), 0, bytes(), to, p, below(3), 0, NULL, any(ct), threshold));
    else done(PtlTriggeredFetchAtomic(any(md), 0, any(md), 8, 8 * below(9), to, p, below(3), 0, NULL, 0, (ptl_op_t)below(20), (ptl_datatype_t)below(15), any(ct), threshold));
  }
}
static void calls_body(void *unused) {
  bag ni = {{0}, 0}, eq = ni, ct = ni, md = ni, me = ni;
  ptl_handle_any_t h = 0;
  ptl_event_t e;
  ptl_ct_event_t v;
  ptl_pt_index_t pt;
  ptl_sr_value_t value;
  unsigned char *mine = area[pm_rank()];
  (void)unused;
  CHECK(PtlInit() == PTL_OK);
  for (int i = 0; i < calls_per_process; i++) {
    const ptl_process_t to = pm_process_id((int)below(PROCESSES));
    const ptl_pt_index_t p = (ptl_pt_index_t)below(4);
    const size_t start = below(AREA / 2), room = AREA - start;
    const ptl_ack_req_t ack = (ptl_ack_req_t)below(5);
    const ptl_size_t threshold = below(6);
    const unsigned int o = (unsigned int)below(0x400), oe = (unsigned int)(below(0x100000) & ~below(0x100000) & ~1u) | 6u;
    const ptl_op_t op = (ptl_op_t)below(20);
    const ptl_datatype_t type = (ptl_datatype_t)below(15);
    const uint64_t operand[4] = {below(9), 0, 0, 0};
    v = (ptl_ct_event_t){below(3), below(8) == 0};
    ptl_iovec_t *const pieces = vectors[pm_rank()][i % VECTORS];
    for (int k = 0; k < 3; k++) pieces[k] = (ptl_iovec_t){mine + below(AREA / 2), below(4) ? below(300) : 0};
    switch (below(36)) {
    case 0: done(PtlNIInit(PTL_IFACE_DEFAULT, (below(2) ? 1u : 2u) | (below(4) ? PTL_NI_PHYSICAL : PTL_NI_LOGICAL), PTL_PID_ANY, NULL, NULL, &h)); keep(&ni, h); break;
    case 1: if (below(20) == 0) done(PtlNIFini(any(&ni))); break;
    case 2: { const int code = PtlEQAlloc(any(&ni), 1 + below(6), &h); done(code); if (!code) keep(&eq, h); break; }
    case 3: if (below(4) == 0) done(PtlEQFree(any(&eq))); break;
    case 4: { const int code = PtlCTAlloc(any(&ni), &h); done(code); if (!code) keep(&ct, h); break; }
    case 5: if (below(4) == 0) done(PtlCTFree(any(&ct))); break;
    case 6: case 7: done(PtlPTAlloc(any(&ni), (unsigned int)below(8) & 0x6u, below(3) ? any(&eq) : PTL_EQ_NONE, p, &pt)); break;
    case 8: if (below(6) == 0) done(PtlPTFree(any(&ni), p)); break;
    case 9: if (below(4) == 0) done(PtlPTDisable(any(&ni), p)); else done(PtlPTEnable(any(&ni), p)); break;
    case 10: case 11: {
      ptl_md_t d = {mine + start, below(room + 1), o & ~1u, below(3) ? any(&eq) : PTL_EQ_NONE, below(3) ? any(&ct) : PTL_CT_NONE};
      if (below(4) == 0) d.start = pieces, d.length = below(4), d.options |= PTL_IOVEC;
      const int code = PtlMDBind(any(&ni), &d, &h);
      done(code);
      if (!code) keep(&md, h);
      break;
    }
    case 12: if (below(3) == 0) done(PtlMDRelease(any(&md))); break;
    case 13: case 14: case 15: {
      ptl_me_t m = entry(mine + start, below(room + 1), below(3), oe);
      m.ct_handle = below(2) ? any(&ct) : PTL_CT_NONE;
      m.min_free = below(300);
      if (below(10) == 0) m.uid = 5;
      if (below(4) == 0) m.start = pieces, m.length = below(4), m.options |= PTL_IOVEC;
      const int code = PtlMEAppend(any(&ni), p, &m, (ptl_list_t)below(2), NULL, &h);
      done(code);
      if (!code) keep(&me, h);
      break;
    }
    case 16: {
      ptl_le_t l = {mine + start, below(room + 1), below(2) ? any(&ct) : PTL_CT_NONE, PTL_UID_ANY, oe & 0xFFFFu};
      const int code = PtlLEAppend(any(&ni), p, &l, (ptl_list_t)below(2), NULL, &h);
      done(code);
      if (!code) keep(&me, h);
      break;
    }
    case 17: done(PtlMEUnlink(any(&me))); break;
    case 18: {
      ptl_me_t m = entry(mine, AREA, below(3), oe);
      m.ct_handle = any(&ct);
      done(PtlMESearch(any(&ni), p, &m, (ptl_search_op_t)below(2), NULL));
      break;
    }
    case 19: case 20: done(PtlPut(any(&md), below(50), bytes(), ack, to, p, below(3), below(200), NULL, below(9))); break;
    case 21: done(PtlGet(any(&md), below(50), bytes(), to, p, below(3), below(200), NULL)); break;
    case 22: done(PtlAtomic(any(&md), below(50), 8 * below(9), ack, to, p, below(3), below(200), NULL, 0, op, type)); break;
    case 23: done(PtlFetchAtomic(any(&md), 0, any(&md), 8, 8 * below(9), to, p, below(3), below(200), NULL, 0, op, type)); break;
    case 24: done(PtlSwap(any(&md), 0, any(&md), 8, 8 * below(3), to, p, below(3), below(200), NULL, 0, below(5) ? operand : NULL, op, type)); break;
    case 25: done(PtlTriggeredPut(any(&md), 0, bytes(), ack, to, p, below(3), 0, NULL, 0, any(&ct), threshold)); break;
    case 26: if (below(2)) done(PtlTriggeredCTInc(any(&ct), v, any(&ct), threshold)); else done(PtlTriggeredCTSet(any(&ct), v, any(&ct), threshold)); break;
    case 27: if (below(8) == 0) done(PtlCTCancelTriggered(any(&ct))); else if (below(2)) done(PtlCTInc(any(&ct), v)); else done(PtlCTGet(any(&ct), &v)); break;
    case 28: done(PtlEQGet(any(&eq), &e)); break;
    case 29: case 30: case 31: case 32: case 33: case 34: case 35: other_call(&ni, &eq, &ct, &md, &me); break;
    default: done(PtlNIStatus(any(&ni), (ptl_sr_index_t)below(4), &value)); break;
    }
    if (below(10) == 0) pm_sleep_ns((int64_t)below(3000));
  }
  if (below(2)) PtlFini(); /* else the process just ends, with messages on their way */
}
static void random_calls_return_codes_of_the_api(void) {
  int made = 0, good = 0;
  for (int round = 0; round < 60; round++) {
    pm_platform p = pm_platform_bxi2(PROCESSES);
    pm_world_desc desc = {0};
    desc.platform = &p;
    desc.seed = test_rand();
    desc.link = round % 4 == 2 ? PM_LINK_LOGGP : round % 4 == 3 ? PM_LINK_PACKET : PM_LINK_FLOW;
    if (round % 4 == 1) p.node_count = 1, p.procs_per_node_count = PROCESSES;
    if (round % 4 == 2) desc.faults.loss_ratio = 0.1, p.e2e_retry_ns = 2000, p.e2e_retry_count = 1;
    int *const switches = (int *)&desc.semantics; /* it has no other fields */
    for (size_t i = 0; round % 5 == 4 && i < sizeof desc.semantics / sizeof(int); i++) switches[i] = 1;
    calls_per_process = 600;
    memset(calls, 0, sizeof calls);
    const pm_stats a = run_world(0, calls_body, &desc);
    for (int k = 0; k < PROCESSES; k++) made += calls[k].made, good += calls[k].good;
    const pm_stats b = run_world(0, calls_body, &desc);
    CHECK(a.hash_id == b.hash_id && a.message_count == b.message_count);
  }
  CHECK(made > 60 * 600 && good > made / 10); /* the bag is not all stale */
}
/* Bytes that they read and write at once may be anything: codes, times and events do not depend on them. */
static void over_threads_they_do_the_same(void) {
  for (int round = 0; round < 20; round++) {
    pm_platform p = pm_platform_bxi2(PROCESSES);
    pm_world_desc desc = {0};
    desc.platform = &p;
    desc.seed = test_rand();
    desc.link = PM_LINK_LOGGP;
    desc.no_data = true;
    desc.threads = 1;
    p.loggp_latency_ns = 1 + (int64_t)test_below(2000);
    calls_per_process = 400;
    const pm_stats one = run_world(0, calls_body, &desc);
    desc.threads = 2 + round % 2;
    const pm_stats more = run_world(0, calls_body, &desc);
    CHECK(one.hash_id == more.hash_id && one.message_count == more.message_count && one.delivered_bytes == more.delivered_bytes);
  }
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(random_calls_return_codes_of_the_api);
  RUN(over_threads_they_do_the_same);
  return TEST_END();
}
