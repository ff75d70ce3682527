/* Random well-formed Portals programs, the same on every level of the network and on changes between them:
   each operation is told once, messages of a pair match in order, memory is what the program says, bytes sent
   are bytes delivered, and a run is reproducible. */
#include "tests/model/ptl.h"

enum { MOST = 8, SLOTS = 4, SLOT = 20000, WORDS = 8, OPS = 40, LOG = OPS * MOST };
typedef struct part {
  unsigned char slots[MOST][SLOTS][SLOT]; /* [initiator][slot] */
  uint64_t sums[WORDS];
  unsigned char out[OPS][SLOT], back[OPS][SLOT];
  uint64_t last_seen[MOST];
  int seen[MOST];
} part;
static part *parts;
/* What each is to do, and what must come of it. */
typedef struct act {
  int kind, to, slot;
  size_t bytes;
  ptl_ack_req_t ack;
  int64_t pause_ns;
  int level; /* to change over to, -1: none */
} act;
enum { TO_SLOT, TO_LOG, TO_SUM, FETCH_SUM, FROM_SLOT, KINDS };
static act acts[MOST][OPS];
static int processes, is_switching, failures_before;

static void plan(void) {
  const size_t sizes[] = {0, 1, 8, 9, 64, 65, 408, 409, 512, 513, 2048, 2049, 4096};
  for (int p = 0; p < processes; p++)
    for (int i = 0; i < OPS; i++) {
      act *a = &acts[p][i];
      a->kind = (int)test_below(KINDS);
      a->to = (int)test_below((uint64_t)processes);
      a->slot = (int)test_below(SLOTS);
      a->bytes = test_below(2) ? sizes[test_below(13)] : test_below(SLOT);
      a->ack = test_below(3) ? PTL_ACK_REQ : PTL_NO_ACK_REQ;
      a->pause_ns = test_below(3) ? 0 : (int64_t)test_below(4000);
      a->level = test_below(8) ? -1 : (int)test_below(3);
    }
}
static unsigned char letter(int p, int i, size_t k) { return (unsigned char)(p * 91 + i * 7 + (int)k * 13 + 1); }
/* The last put of p into this slot: its action, or -1. */
static int last_put(int p, int to, int slot, size_t k) {
  for (int i = OPS - 1; i >= 0; i--)
    if (acts[p][i].kind == TO_SLOT && acts[p][i].to == to && acts[p][i].slot == slot && acts[p][i].bytes > k) return i;
  return -1;
}

static void body(void *unused) {
  const int me = pm_rank();
  part *mine = &parts[me];
  ptl_handle_ni_t ni;
  ptl_handle_eq_t eq, told;
  ptl_handle_ct_t ct;
  ptl_handle_md_t md;
  ptl_handle_me_t h;
  ptl_pt_index_t pt;
  ptl_event_t e;
  ptl_ct_event_t v;
  int sends = 0, acks = 0, replies = 0, want_sends = 0, want_acks = 0, want_replies = 0, logs = 0, want_logs = 0, touched_slot[MOST][SLOTS] = {{0}};
  (void)unused;
  CHECK(!PtlInit() && !PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &ni));
  CHECK(!PtlEQAlloc(ni, 4 * OPS, &eq) && !PtlEQAlloc(ni, 2 * LOG, &told) && !PtlCTAlloc(ni, &ct) && !PtlPTAlloc(ni, 0, told, 0, &pt));
  for (int p = 0; p < processes; p++) {
    ptl_me_t m = entry(mine->slots[p], sizeof mine->slots[p], 10 + (ptl_match_bits_t)p, PTL_ME_OP_PUT | PTL_ME_OP_GET | PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_LINK_DISABLE);
    CHECK(!PtlMEAppend(ni, pt, &m, PTL_PRIORITY_LIST, NULL, &h));
  }
  {
    ptl_me_t m = entry(mine->sums, sizeof mine->sums, 2, PTL_ME_OP_PUT | PTL_ME_OP_GET | PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_LINK_DISABLE);
    CHECK(!PtlMEAppend(ni, pt, &m, PTL_PRIORITY_LIST, NULL, &h));
    m = entry(NULL, 0, 1, PTL_ME_OP_PUT | PTL_ME_EVENT_LINK_DISABLE | PTL_ME_EVENT_CT_COMM);
    m.ct_handle = ct;
    CHECK(!PtlMEAppend(ni, pt, &m, PTL_PRIORITY_LIST, NULL, &h));
  }
  ptl_md_t d = {mine, sizeof *mine, 0, eq, PTL_CT_NONE};
  CHECK(!PtlMDBind(ni, &d, &md));
  pm_barrier();
  for (int i = 0; i < OPS; i++) {
    const act *a = &acts[me][i];
    const ptl_process_t to = pm_process_id(a->to);
    const ptl_size_t out = offsetof(part, out) + (size_t)i * SLOT, back = offsetof(part, back) + (size_t)i * SLOT;
    uint64_t one = 1 + (uint64_t)i;
    if (is_switching && a->level >= 0)
      pm_world_set_link(pm_world_of(pm_self()), a->level == 0 ? PM_LINK_FLOW : a->level == 1 ? PM_LINK_LOGGP : PM_LINK_PACKET);
    for (size_t k = 0; k < a->bytes; k++) mine->out[i][k] = letter(me, i, k);
    switch (a->kind) {
    case TO_SLOT: /* long ones may overlap out of order, so a slot waits for its last */
      if (touched_slot[a->to][a->slot]) {
        while (acks < want_acks) {
          CHECK(!PtlEQWait(eq, &e) && e.ni_fail_type == PTL_NI_OK);
          sends += e.type == PTL_EVENT_SEND, acks += e.type == PTL_EVENT_ACK, replies += e.type == PTL_EVENT_REPLY;
        }
      }
      touched_slot[a->to][a->slot] = 1;
      CHECK(!PtlPut(md, out, a->bytes, PTL_ACK_REQ, to, 0, 10 + (ptl_match_bits_t)me, (ptl_size_t)a->slot * SLOT, NULL, 0));
      want_sends++, want_acks++;
      break;
    case TO_LOG:
      CHECK(!PtlPut(md, out, a->bytes, a->ack, to, 0, 1, 0, NULL, (ptl_hdr_data_t)me << 32 | one));
      want_sends++, want_acks += a->ack == PTL_ACK_REQ;
      break;
    case TO_SUM:
      memcpy(mine->out[i], &one, 8);
      CHECK(!PtlAtomic(md, out, 8, a->ack, to, 0, 2, 8 * (ptl_size_t)a->slot, NULL, 0, PTL_SUM, PTL_UINT64_T));
      want_sends++, want_acks += a->ack == PTL_ACK_REQ;
      break;
    case FETCH_SUM:
      memcpy(mine->out[i], &one, 8);
      CHECK(!PtlFetchAtomic(md, back, md, out, 8, to, 0, 2, 8 * (ptl_size_t)a->slot, NULL, 0, PTL_SUM, PTL_UINT64_T));
      want_sends++, want_replies++;
      break;
    default:
      CHECK(!PtlGet(md, back, a->bytes, to, 0, 10 + (ptl_match_bits_t)me, (ptl_size_t)a->slot * SLOT, NULL));
      want_replies++;
    }
    if (a->pause_ns) pm_sleep_ns(a->pause_ns);
  }
  while (sends < want_sends || acks < want_acks || replies < want_replies) {
    CHECK(!PtlEQWait(eq, &e) && e.ni_fail_type == PTL_NI_OK);
    sends += e.type == PTL_EVENT_SEND, acks += e.type == PTL_EVENT_ACK, replies += e.type == PTL_EVENT_REPLY;
  }
  for (int p = 0; p < processes; p++)
    for (int i = 0; i < OPS; i++) want_logs += acts[p][i].kind == TO_LOG && acts[p][i].to == me;
  CHECK(!PtlCTWait(ct, (ptl_size_t)want_logs, &v) && v.success == (ptl_size_t)want_logs && !v.failure);
  pm_barrier();
  pm_sleep_ns(60000000);
  while (PtlEQGet(told, &e) == PTL_OK) {
    const int p = (int)(e.hdr_data >> 32);
    const uint64_t number = e.hdr_data & 0xFFFFFFFFu;
    logs++;
    CHECK(e.type == PTL_EVENT_PUT && e.mlength == 0 && e.rlength == acts[p][number - 1].bytes);
    CHECK(number > mine->last_seen[p]); /* messages of a pair match in order */
    mine->last_seen[p] = number;
  }
  CHECK(logs == want_logs && sends == want_sends && acks == want_acks && replies == want_replies);
  CHECK(PtlEQGet(eq, &e) == PTL_EQ_EMPTY);
  pm_barrier();
  CHECK(!PtlNIFini(ni));
  PtlFini();
}
static void check_memory(void) {
  uint64_t sums[MOST][WORDS] = {{0}};
  for (int p = 0; p < processes; p++)
    for (int i = 0; i < OPS; i++)
      if (acts[p][i].kind == TO_SUM || acts[p][i].kind == FETCH_SUM) sums[acts[p][i].to][acts[p][i].slot] += 1 + (uint64_t)i;
  for (int t = 0; t < processes; t++) {
    CHECK(memcmp(sums[t], parts[t].sums, sizeof sums[t]) == 0);
    for (int p = 0; p < processes; p++)
      for (int s = 0; s < SLOTS; s++)
        for (size_t k = 0; k < SLOT; k += k < 600 ? 1 : 97) {
          const int i = last_put(p, t, s, k);
          if (parts[t].slots[p][s][k] != (i < 0 ? 0 : letter(p, i, k))) {
            printf("  process %d, slot %d of %d, byte %zu\n", t, s, p, k);
            CHECK(!"memory of a slot");
            return;
          }
        }
  }
}
static int64_t one_of(int64_t a, int64_t b, int64_t c) { const uint64_t k = test_below(3); return k == 0 ? a : k == 1 ? b : c; }
static pm_platform machine(void) {
  pm_platform p;
  char error[200];
  const char *const text[] = {
      "node_count 4\n", "node_count 4\ntopology fattree\ntopo 2 2 2 1 2\n", "node_count 4\ntopology fattree\ntopo 2 2 2 2 1\n",
      "node_count 8\ntopology torus\ntopo 3 2 2 2\n", "node_count 6\ntopology dragonfly\ntopo 3 2 1 1\n", "node_count 5\ntopology torus\ntopo 1 5\n",
      "node_count 3\ntopology file\nlink h0 a 1e10 90\nlink h1 a 3e9 10\nlink h2 b 1e10 50\nlink a b 2e9 400\n",
      "node_count 4\ntopology file\nlink h0 a 1e11 90\nlink h1 a 3e10 10\nlink h2 b 5e10 50\nlink h3 b 1e10 20\nlink a b 5e10 77\n"};
  const char *t = text[test_below(8)];
  CHECK(!pm_platform_read(t, strlen(t), &p, error, sizeof error));
  p.procs_per_node_count = p.node_count <= 4 ? 1 + (int64_t)test_below(2) : 1;
  if (p.node_count == 3) p.procs_per_node_count = 1;
  p.intra_uses_nic = (int64_t)test_below(2);
  p.command_queue_count = one_of(16, 1, 2), p.nic_pipeline_count = one_of(73, 0, 1);
  p.e2e_entry_count = one_of(8192, 1, 3), p.nic_engine_count = one_of(4, 1, 2);
  p.inflight_per_process_count = one_of(0, 0, 1), p.inflight_per_node_count = one_of(0, 0, 2);
  p.quick_ack = (int64_t)test_below(2), p.ack_after_write = (int64_t)test_below(2), p.dma_ahead = (int64_t)test_below(2);
  p.no_pci_commands = (int64_t)test_below(2), p.no_pci = !test_below(4), p.pci_half_duplex = (int64_t)test_below(2);
  p.packet_routing = (int64_t)test_below(3), p.packet_bytes = one_of(2048, 64, 9000);
  p.packet_output_bytes = one_of(4096, 64, 100), p.packet_input_bytes = one_of(16384, 64, 5000);
  p.link_credit_bytes = one_of(0, 1000, 100000), p.early_send_bytes = one_of(64, 0, 64), p.pio_needs_volatile = (int64_t)test_below(2), p.pio_is_posted = (int64_t)test_below(2);
  p.nic_match_ns = one_of(0, 20, 0);
  return p;
}
/* Some cables and nodes fail for a while, now and then. */
static pm_outage outages[6];
static int some_outages(const pm_platform *p) {
  const int count = test_below(3) ? 0 : 1 + (int)test_below(6);
  pm_world_desc desc = {0};
  pm_world *w = NULL;
  desc.platform = p;
  CHECK(pm_world_create(&desc, &w) == PM_OK);
  for (int i = 0; i < count; i++)
    outages[i] = (pm_outage){test_below(4) ? 0 : 1 + (int)test_below((uint64_t)p->node_count), (int)test_below((uint64_t)pm_link_count(w)),
                             (int64_t)test_below(200000), 1 + (int64_t)test_below(100000), PM_OUTAGE_CUT};
  pm_world_destroy(w);
  return count;
}
static void levels_do_the_same(void) {
  for (int round = 0; round < test_rounds(60); round++) {
    pm_platform p = machine();
    pm_world_desc desc = {0};
    desc.platform = &p;
    desc.seed = test_rand();
    if (test_below(3) == 0) {
      desc.faults = (pm_faults){.loss_ratio = 0.05, .corrupt_ratio = 0.03, .duplicate_ratio = 0.1, .delay_ratio = 0.3, .delay_ns = 3000};
      p.e2e_retry_ns = 20000, p.e2e_retry_count = 60;
    }
    processes = (int)(p.node_count * p.procs_per_node_count);
    desc.faults.outages = outages;
    desc.faults.outage_count = some_outages(&p);
    if (desc.faults.outage_count) p.e2e_retry_ns = 20000, p.e2e_retry_count = 60;
    plan();
    uint64_t cut_bytes = 0; /* the log keeps nothing */
    for (int i = 0; i < processes * OPS; i++)
      if (acts[i / OPS][i % OPS].kind == TO_LOG) cut_bytes += acts[i / OPS][i % OPS].bytes;
    for (int level = 0; level < 4; level++) {
      pm_stats runs[2];
      const int bad = test_bad;
      desc.link = level == 1 ? PM_LINK_LOGGP : level == 2 ? PM_LINK_PACKET : PM_LINK_FLOW;
      is_switching = level == 3;
      if (level > 1 && desc.faults.outage_count) break; /* which the packet level has not */
      for (int again = 0; again < 2; again++) {
        memset(parts, 0, MOST * sizeof *parts);
        runs[again] = run_world(0, body, &desc);
        check_memory();
      }
      CHECK(runs[0].hash_id == runs[1].hash_id && runs[0].sent_bytes == runs[0].delivered_bytes + cut_bytes);
      if (test_bad > bad) {
        printf("  round %d, level %d, faults %d:\n", round, level, desc.faults.loss_ratio > 0);
        if (!failures_before++) pm_platform_write(&p, stdout);
        if (failures_before > 3) return;
      }
    }
    pm_platform_free(&p);
  }
}
/* Process 0 alone puts so many bytes to `to`, or all processes of `askers` do at once: until the acknowledgement of
   the last. */
static struct {
  int to, askers;
  size_t bytes;
  int64_t d_ns;
} ask;
static void ask_body(void *unused) {
  static unsigned char memory[1000000];
  mover m;
  (void)unused;
  mover_open(&m, memory, sizeof memory);
  pm_barrier();
  const int64_t t_ns = pm_now_ns();
  if (pm_rank() < ask.askers) {
    mover_put(&m, ask.to, ask.bytes);
    mover_wait(&m, 1);
    ask.d_ns = pm_now_ns() - t_ns;
  }
  pm_barrier();
  CHECK(!PtlNIFini(m.ni));
  PtlFini();
}
static int64_t asked_ns(const pm_platform *p, pm_link_model link, int askers, int to, size_t bytes, const pm_outage *outage) {
  pm_world_desc desc = {.platform = p, .link = link, .no_data = true};
  desc.faults.outages = outage, desc.faults.outage_count = outage != NULL;
  ask.askers = askers, ask.to = to, ask.bytes = bytes;
  run_world(0, ask_body, &desc);
  return ask.d_ns;
}
static const pm_link_model levels[] = {PM_LINK_FLOW, PM_LINK_LOGGP, PM_LINK_PACKET};
static void message_to_oneself_takes_what_one_to_a_neighbour_takes(void) {
  static const char *const text[] = {
      "node_count 4\n", "node_count 4\ntopology fattree\ntopo 2 2 2 1 2\n", "node_count 4\ntopology fattree\ntopo 2 2 2 2 1\n",
      "node_count 8\ntopology dragonfly\ntopo 2 2 2 1\n", "node_count 3\ntopology file\nlink h0 a 1e10 90\nlink h1 a 1e10 90\nlink h2 b 1e10 50\nlink a b 2e9 400\n",
      "node_count 5\ntopology torus\ntopo 1 5\n"};
  static const size_t sizes[] = {0, 8, 100, 408, 409, 512, 513, 3000, 70000, 1000000};
  for (size_t k = 0; k < sizeof text / sizeof *text; k++) {
    pm_platform p;
    char error[200];
    CHECK(!pm_platform_read(text[k], strlen(text[k]), &p, error, sizeof error));
    p.intra_uses_nic = 1, p.no_pci = !test_below(3), p.ack_after_write = (int64_t)test_below(2);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
      int64_t d_ns[3];
      for (int l = 0; l < 3; l++) {
        d_ns[l] = asked_ns(&p, levels[l], 1, 0, sizes[i], NULL);
        if (p.topology != PM_TOPO_TORUS) CHECK(d_ns[l] == asked_ns(&p, levels[l], 1, 1, sizes[i], NULL));
      }
      CHECK_NEAR((double)d_ns[2], (double)d_ns[0], 0.05 * (double)d_ns[0]);
    }
    pm_platform_free(&p);
  }
}
/* Cables of any speed, slower and faster than a NIC is elsewhere: a message takes the time of the slowest one, from one
   byte on, and its answer too. */
static void messages_take_the_time_of_the_slowest_cable(void) {
  static const double rates[] = {1e6, 1e8, 1e9, 12.5e9, 1e11};
  static const size_t sizes[] = {0, 8, 64, 65, 400, 409, 512, 513, 3000, 70000};
  for (int k = 0; k < 125; k++) {
    const double rate[3] = {rates[k / 25], rates[k / 5 % 5], rates[k % 5]}, least = fmin(rate[0], fmin(rate[1], rate[2]));
    char text[200], error[200];
    pm_platform p;
    snprintf(text, sizeof text, "node_count 2\ntopology file\nlink h0 a %g 300\nlink a b %g 90\nlink b h1 %g 200\n", rate[0], rate[1], rate[2]);
    CHECK(!pm_platform_read(text, strlen(text), &p, error, sizeof error));
    if (k % 2) p.link_bytes_per_s = 1e8; /* of cables that say nothing themselves: there are none */
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
      const int64_t flow_ns = asked_ns(&p, PM_LINK_FLOW, 1, 1, sizes[i], NULL), packet_ns = asked_ns(&p, PM_LINK_PACKET, 1, 1, sizes[i], NULL);
      const double bytes = sizes[i] ? (double)((sizes[i] + 63) / 64 * 72) : 32;
      CHECK((double)flow_ns > (bytes + 32) / least * 1e9);
      CHECK_NEAR((double)flow_ns, (double)packet_ns, 0.05 * (double)packet_ns);
    }
    pm_platform_free(&p);
  }
}
/* Small messages of all nodes at once, to one or several others each: when each of them has got its own, and when all its
   acknowledgements are back. */
enum { CROWD = 64, EACH = 16 };
static struct {
  int to[CROWD][EACH], count, got[CROWD];
  bool in_turn, is_mixed; /* the next one when one has come; of all sizes */
  size_t bytes;
  int64_t there_ns[CROWD], back_ns[CROWD];
} crowd;
static const size_t crowd_sizes[] = {8, 64, 100, 512};
static void crowd_body(void *unused) {
  static unsigned char memory[CROWD][512];
  const int me = pm_rank();
  ptl_handle_ni_t ni;
  ptl_handle_ct_t here, back;
  ptl_handle_any_t h, md;
  ptl_pt_index_t pt;
  ptl_ct_event_t v;
  (void)unused;
  CHECK(!PtlInit() && !PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_NO_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &ni));
  CHECK(!PtlCTAlloc(ni, &here) && !PtlCTAlloc(ni, &back) && !PtlPTAlloc(ni, 0, PTL_EQ_NONE, 0, &pt));
  ptl_le_t le = {memory[me], 512, here, PTL_UID_ANY, PTL_LE_OP_PUT | PTL_LE_EVENT_CT_COMM};
  ptl_md_t d = {memory[me], 512, PTL_MD_EVENT_CT_ACK, PTL_EQ_NONE, back};
  CHECK(!PtlLEAppend(ni, pt, &le, PTL_PRIORITY_LIST, NULL, &h) && !PtlMDBind(ni, &d, &md));
  pm_barrier();
  const int64_t t_ns = pm_now_ns();
  for (int i = 0; i < crowd.count; i++) {
    CHECK(!PtlPut(md, 0, crowd.is_mixed ? crowd_sizes[(me + i) % 4] : crowd.bytes, PTL_CT_ACK_REQ, pm_process_id(crowd.to[me][i]), pt, 0, 0, NULL, 0));
    if (crowd.in_turn) CHECK(!PtlCTWait(here, (ptl_size_t)i + 1, &v));
  }
  CHECK(!PtlCTWait(here, (ptl_size_t)crowd.got[me], &v));
  crowd.there_ns[me] = pm_now_ns() - t_ns;
  CHECK(!PtlCTWait(back, (ptl_size_t)crowd.count, &v) && !v.failure);
  crowd.back_ns[me] = pm_now_ns() - t_ns;
  pm_barrier();
  CHECK(!PtlNIFini(ni));
  PtlFini();
}
typedef struct crowd_times {
  double there_ns, back_ns, last_ns; /* on average; the last of all */
} crowd_times;
static crowd_times crowd_run(const pm_platform *p, pm_link_model link) {
  const int n = (int)p->node_count;
  const pm_world_desc desc = {.platform = p, .link = link};
  crowd_times t = {0, 0, 0};
  memset(crowd.got, 0, sizeof crowd.got);
  for (int i = 0; i < n * crowd.count; i++) crowd.got[crowd.to[i / crowd.count][i % crowd.count]]++;
  run_world(0, crowd_body, &desc);
  for (int i = 0; i < n; i++) {
    t.there_ns += (double)crowd.there_ns[i] / n, t.back_ns += (double)crowd.back_ns[i] / n;
    t.last_ns = fmax(t.last_ns, (double)crowd.back_ns[i]);
  }
  return t;
}
static const char *const crowded[] = {"node_count 64\ntopology torus\ntopo 1 64\n", "node_count 64\ntopology torus\ntopo 2 8 8\n", "node_count 8\ntopology torus\ntopo 1 8\n",
                                      "node_count 24\ntopology dragonfly\ntopo 3 4 2 2\n", "node_count 64\ntopology fattree\ntopo 3 4 4 4 1 2 2\n", "node_count 32\n", "node_count 16\nlink_bytes_per_s 2e8\ntopology fattree\ntopo 2 4 4 1 4\n", "node_count 16\nlink_bytes_per_s 2e8\ntopology torus\ntopo 1 16\n",
                                      "node_count 5\ntopology file\nlink h0 a 12.5e9 300\nlink h1 a 12.5e9 100\nlink h2 a 12.5e9 300\nlink h3 b 12.5e9 300\nlink h4 c 12.5e9 2000\nlink a b 12.5e9 130\nlink b c 12.5e9 500\n"};
static void crowds_are_as_fast_as_packets(void) {
  for (int k = 0; k < (int)(sizeof crowded / sizeof *crowded); k++)
    for (int round = 0; round < 24; round++) {
      pm_platform p;
      char error[200];
      CHECK(!pm_platform_read(crowded[k], strlen(crowded[k]), &p, error, sizeof error));
      const bool is_ring = p.topology == PM_TOPO_TORUS && p.topo[0] == 1;
      const int n = (int)p.node_count, kind = round % 4, shift = 1 + (int)test_below((uint64_t)n - 1);
      crowd.count = kind == 1 ? 1 + (int)test_below(EACH) : kind == 2 ? 2 : 1;
      crowd.bytes = crowd_sizes[round / 4 % 4];
      crowd.is_mixed = round % 7 == 1;
      crowd.in_turn = kind == 3;
      if (kind == 3)
        for (crowd.count = 0; 1 << crowd.count < n;) crowd.count++;
      for (int i = 0; i < n * crowd.count; i++) /* all so far on; to anybody; so far on and back; 1, 2, 4 ... on, as a collective does */
        crowd.to[i / crowd.count][i % crowd.count] = kind == 0   ? (i + shift) % n
                                                     : kind == 1 ? (i / crowd.count + 1 + (int)test_below((uint64_t)n - 1)) % n
                                                     : kind == 2 ? (i / 2 + (i % 2 ? shift : n - shift)) % n
                                                                 : (i / crowd.count + (1 << i % crowd.count)) % n;
      const crowd_times flow = crowd_run(&p, PM_LINK_FLOW);
      int64_t first_ns = crowd.there_ns[0];
      for (int i = 1; i < n && kind == 0 && is_ring && !crowd.is_mixed; i++) CHECK(crowd.there_ns[i] == first_ns && crowd.back_ns[i] == crowd.back_ns[0]);
      const crowd_times packet = crowd_run(&p, PM_LINK_PACKET);
      const double most = p.link_bytes_per_s < 1e9 ? 0.1 : 0.05; /* who of two is first matters more where both take long */
      CHECK_NEAR(flow.there_ns, packet.there_ns, most * packet.there_ns);
      CHECK_NEAR(flow.back_ns, packet.back_ns, most * packet.back_ns);
      CHECK_NEAR(flow.last_ns, packet.last_ns, 2 * most * packet.last_ns); /* of packets one may be behind a full buffer */
      pm_platform_free(&p);
    }
}
/* Node 0 sends over a link to 1, which is far behind it; long before that has arrived 3 sends much over the same link
   to 2, which is near. */
static struct {
  bool is_alone;
  int to; /* of what comes later */
  int64_t there_ns;
} early;
static void early_body(void *unused) {
  static unsigned char memory[4][4096];
  const int me = pm_rank();
  mover m;
  (void)unused;
  mover_open(&m, memory[me], sizeof memory[me]);
  pm_barrier();
  const int64_t t_ns = pm_now_ns();
  if (me == 0) {
    mover_put(&m, 1, 512);
    mover_wait(&m, 1);
    early.there_ns = pm_now_ns() - t_ns;
  }
  if (me == 3 && !early.is_alone) {
    pm_sleep_ns(1000);
    for (int i = 0; i < 2000; i++) mover_put(&m, early.to, i % 3 && early.to == 2 ? 512 : 8);
    mover_wait(&m, 2000);
  }
  pm_barrier();
  CHECK(!PtlNIFini(m.ni));
  PtlFini();
}
static void what_comes_later_delays_nobody(void) {
  static const char text[] = "node_count 4\nnic_put_ns 0\ntopology file\nlink h0 a 12.5e9 300\nlink h3 a 12.5e9 300\nlink a b 12.5e9 300\nlink h2 b 12.5e9 300\nlink h1 b 12.5e9 1000000\n";
  const pm_outage elsewhere = {.node = 0, .link = 4, .t_down_ns = 500000000, .d_down_ns = 1};
  pm_platform p;
  CHECK(!pm_platform_read(text, strlen(text), &p, NULL, 0));
  p.loggp_bytes_per_s = 1e6;
  for (int k = 0; k < 4; k++) { /* at the level LogGP they share the receiver */
    pm_world_desc desc = {.platform = &p, .link = k == 3 ? PM_LINK_LOGGP : k == 2 ? PM_LINK_PACKET : PM_LINK_FLOW, .no_data = true};
    early.to = k == 3 ? 1 : 2;
    desc.faults.outages = &elsewhere, desc.faults.outage_count = k == 1;
    early.is_alone = true;
    run_world(0, early_body, &desc);
    const int64_t alone_ns = early.there_ns;
    early.is_alone = false;
    run_world(0, early_body, &desc);
    CHECK(alone_ns > (k == 3 ? 512000 : 2000000) && early.there_ns == alone_ns);
  }
  pm_platform_free(&p);
}
/* The last process sends two messages to 0, the others one each at the same time: what comes when from the last. */
static struct {
  size_t bytes[2];
  int64_t begin_ns, pause_ns;
  int came[2];
} pair;
static void pair_body(void *unused) {
  const int me = pm_rank(), n = pm_size();
  int count = 0;
  side s;
  (void)unused;
  side_open(&s, PTL_NI_MATCHING, 0, PTL_MD_EVENT_CT_ACK | PTL_MD_EVENT_SUCCESS_DISABLE);
  if (!me) append(&s, entry(s.memory, sizeof s.memory, 0, PTL_ME_OP_PUT | PTL_ME_EVENT_LINK_DISABLE), PTL_PRIORITY_LIST, NULL);
  pm_barrier();
  pm_sleep_ns(pair.begin_ns);
  if (me && me < n - 1) CHECK(!put(&s, 0, 8, PTL_NO_ACK_REQ, 0, 0, 0));
  for (int i = 0; i < 2 && me == n - 1; i++) {
    if (i && pair.pause_ns) pm_sleep_ns(pair.pause_ns);
    CHECK(!put(&s, 0, pair.bytes[i], PTL_NO_ACK_REQ, 0, 0, 1 + (ptl_hdr_data_t)i));
  }
  for (int i = 0; i < n && !me; i++) {
    ptl_event_t e;
    CHECK(!PtlEQWait(s.eq, &e) && e.type == PTL_EVENT_PUT);
    if (e.hdr_data && count < 2) pair.came[count++] = (int)e.hdr_data;
  }
  pm_barrier();
  side_close(&s);
}
/* Short messages of others on the last link hold the first one up until just then, when the tail of the second one, which
   is long, or its head is there. */
static void who_waited_until_now_goes_first(void) {
  for (int i = 0; i < 2; i++)
    for (int others = 1; others < 20; others++) {
      pm_platform p = pm_platform_bxi2(2 + others);
      const pm_world_desc desc = {.platform = &p};
      p.link_bytes_per_s = 72e9; /* a link packet takes a nanosecond */
      p.nic_put_ns = p.cpu_command_ns = 0, p.no_pci = 1;
      pair.bytes[0] = 8, pair.bytes[1] = i ? 576 : 512, pair.begin_ns = 1000, pair.pause_ns = 0;
      run_world(0, pair_body, &desc);
      CHECK(pair.came[0] == 1 && pair.came[1] == 2);
    }
}
/* The first one is on a way around a cable that is down, where it waits for others; the second one takes the cable after
   its repair. */
static void who_is_on_a_detour_is_not_overtaken(void) {
  static const char text[] = "node_count 4\ntopology file\nlink h0 b 12.5e9 300\nlink h1 c 12.5e9 300\nlink h2 c 12.5e9 300\nlink h3 a 12.5e9 300\n"
                             "link a b 12.5e9 100\nlink a c 1e6 1000\nlink c b 1e6 1000000\n";
  static const size_t sizes[] = {8, 512, 3000};
  const pm_outage down = {.link = 8, .d_down_ns = 100000};
  pm_platform p;
  CHECK(!pm_platform_read(text, strlen(text), &p, NULL, 0));
  for (int i = 0; i < 9; i++) {
    const pm_world_desc desc = {.platform = &p, .faults = {.outages = &down, .outage_count = 1}};
    pair.bytes[0] = sizes[i / 3], pair.bytes[1] = sizes[i % 3], pair.begin_ns = 50000, pair.pause_ns = 100000;
    run_world(0, pair_body, &desc);
    CHECK(pair.came[0] == 1 && pair.came[1] == 2);
  }
  pm_platform_free(&p);
}
/* The first one stands in line in the middle of its way; the second one is lost, or not, and takes no place in line when it
   is sent again. */
static void who_is_sent_again_does_not_overtake(void) {
  char text[400] = "node_count 8\ne2e_retry_ns 1000\ne2e_retry_count 50\ntopology file\nlink h0 b 12.5e9 300\nlink a b 1e7 300\n", error[200];
  pm_platform p;
  for (int i = 1; i < 8; i++) snprintf(text + strlen(text), sizeof text - strlen(text), "link h%d a 12.5e9 300\n", i);
  CHECK(!pm_platform_read(text, strlen(text), &p, error, sizeof error));
  for (unsigned seed = 1; seed < 20; seed++) {
    const pm_world_desc desc = {.platform = &p, .seed = seed, .faults = {.loss_ratio = 0.4}};
    pair.bytes[0] = pair.bytes[1] = 8, pair.begin_ns = 1000, pair.pause_ns = 0;
    run_world(0, pair_body, &desc);
    CHECK(pair.came[0] == 1 && pair.came[1] == 2);
  }
  pm_platform_free(&p);
}
/* Into one node no more comes than its NIC takes, whoever sends it. */
static void many_to_one_come_in_one_after_the_other(void) {
  pm_platform p = pm_platform_bxi2(8), split = p;
  split.nic_count = 2, split.rail_split_bytes = 100000;
  for (int l = 0; l < 3; l++) {
    const double wire_ns = 1e6 / 64 * 72 / 12.5;
    CHECK_NEAR((double)asked_ns(&p, levels[l], 7, 7, 1000000, NULL), 7 * wire_ns, 0.03 * 7 * wire_ns);
    CHECK_NEAR((double)asked_ns(&split, levels[l], 7, 7, 1000000, NULL), 7 * wire_ns / 2, 0.3 * 7 * wire_ns);
  }
  p.loggp_gap_ns = 5000;
  CHECK_NEAR((double)asked_ns(&p, PM_LINK_LOGGP, 7, 7, 8, NULL), 100 + 2 * 1000 + 6 * 5000, 100);
}
/* With what others send to the node; over a PCI bus that it crosses twice; when the cable is down. */
static void message_to_oneself_shares_the_cable(void) {
  pm_platform p = pm_platform_bxi2(4);
  p.topology = PM_TOPO_FATTREE, p.topo[0] = 2, p.topo[1] = 2, p.topo[2] = 2, p.topo[3] = 1, p.topo[4] = 2;
  p.intra_uses_nic = 1, p.e2e_retry_ns = 20000, p.e2e_retry_count = 10;
  pm_platform two = p, half = p;
  two.topo[3] = 2, two.topo[4] = 1;
  half.pci_half_duplex = 1;
  const double wire_ns = 1e6 / 64 * 72 / 12.5;
  const pm_outage down = {0, 0, 0, 100000, PM_OUTAGE_CUT};
  for (int l = 0; l < 3; l++) {
    const int64_t calm_ns = asked_ns(&p, levels[l], 1, 0, 1000, NULL), cut_ns = asked_ns(&p, levels[l], 1, 0, 1000, &down);
    CHECK(calm_ns < 10000 && cut_ns >= 100000 && cut_ns < 100000 + 20000 + calm_ns);
    CHECK(asked_ns(&two, levels[l], 1, 0, 1000, &down) == calm_ns); /* its other cable */
    if (levels[l] == PM_LINK_LOGGP) continue;
    CHECK_NEAR((double)asked_ns(&p, levels[l], 2, 0, 1000000, NULL), 2 * wire_ns, 0.05 * 2 * wire_ns);
    /* packets leave gaps on the bus between reads and writes */
    CHECK_NEAR((double)asked_ns(&half, levels[l], 1, 0, 1000000, NULL), 2e15 / half.pci_bytes_per_s, 0.1 * 2e15 / half.pci_bytes_per_s);
  }
}
int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  parts = (part *)calloc(MOST, sizeof *parts);
  if (!parts) return 1;
  RUN(levels_do_the_same);
  RUN(message_to_oneself_takes_what_one_to_a_neighbour_takes);
  RUN(message_to_oneself_shares_the_cable);
  RUN(messages_take_the_time_of_the_slowest_cable);
  RUN(crowds_are_as_fast_as_packets);
  RUN(what_comes_later_delays_nobody);
  RUN(who_waited_until_now_goes_first);
  RUN(who_is_on_a_detour_is_not_overtaken);
  RUN(who_is_sent_again_does_not_overtake);
  RUN(many_to_one_come_in_one_after_the_other);
  free(parts);
  return TEST_END();
}
