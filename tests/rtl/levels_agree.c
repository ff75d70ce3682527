/* The same Portals programs and collectives on all three link levels: the same bytes, values and
   results; on RTL also under faults, with levels that change on the way, and with stamps in order. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#define PM_WITH_NBC
#include "rtl/nic_cosim.h"
#include "tests/model/ptl.h"
#include "rtl/pm_rtl.h"

enum { NODES = 3, BYTES = 1 << 16, WORDS = 12, ROUNDS = 9, LEVELS = 3 };
static const char *const level_names[LEVELS] = {"flow", "loggp", "rtl"};
static pm_rtl *rtl;
static struct {
  unsigned char entry[NODES + 1][BYTES], own[NODES + 1][BYTES]; /* the target's memory, the initiator's */
  uint64_t words[NODES + 1][WORDS];                       /* where all compute */
  uint64_t seed, fetched[NODES + 1], stamps;
  int64_t t_stamp_ns[NODES + 1];
  int changes, bad, ends;
} W;

static uint64_t mix(uint64_t z) {
  z = (z + 0x9E3779B97F4A7C15u) * 0xBF58476D1CE4E5B9u;
  return z ^ (z >> 29);
}
static pm_stats run_level(pm_platform *platform, int level, void (*body)(void *),
                          const pm_faults *faults) {
  pm_world_desc desc = {0};
  desc.platform = platform;
  desc.link = (pm_link_model)level;
  desc.carrier = pm_rtl_carrier(rtl);
  desc.stack_bytes = 262144;
  desc.seed = W.seed;
  if (faults) desc.faults = *faults;
  return run_world(0, body, &desc);
}
static ptl_event_t wait_for(ptl_handle_eq_t eq, int kind) {
  ptl_event_t e;
  do CHECK(PtlEQWait(eq, &e) == PTL_OK);
  while (e.type != kind);
  return e;
}
typedef struct port {
  ptl_handle_ni_t ni;
  ptl_handle_eq_t eq;
  ptl_handle_md_t md;
} port;
static port port_open(void) {
  const int me = pm_rank();
  port p;
  ptl_pt_index_t pt;
  ptl_handle_me_t handle;
  ptl_me_t m = {0};
  PtlInit();
  CHECK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL,
                  &p.ni) == PTL_OK);
  CHECK(PtlEQAlloc(p.ni, 64, &p.eq) == PTL_OK);
  m.ct_handle = PTL_CT_NONE, m.uid = PTL_UID_ANY, m.ignore_bits = ~(ptl_match_bits_t)0;
  m.options = PTL_ME_OP_PUT | PTL_ME_OP_GET | PTL_ME_EVENT_LINK_DISABLE;
  m.match_id.phys.nid = PTL_NID_ANY, m.match_id.phys.pid = PTL_PID_ANY;
  for (unsigned i = 0; i < 2; i++) { /* 3: bytes, 4: words */
    CHECK(PtlPTAlloc(p.ni, 0, PTL_EQ_NONE, 3 + i, &pt) == PTL_OK);
    m.start = i ? (void *)W.words[me] : W.entry[me];
    m.length = i ? sizeof W.words[me] : BYTES;
    CHECK(PtlMEAppend(p.ni, pt, &m, PTL_PRIORITY_LIST, NULL, &handle) == PTL_OK);
  }
  ptl_md_t md = {W.own[me], BYTES, 0, p.eq, PTL_CT_NONE};
  CHECK(PtlMDBind(p.ni, &md, &p.md) == PTL_OK);
  pm_barrier();
  return p;
}
static void port_close(port *p) {
  pm_barrier();
  CHECK(PtlNIFini(p->ni) == PTL_OK);
  PtlFini();
}

/* Each rank puts into a share of the next one's memory, gets it back, and computes on common words with
   operations whose end does not depend on the order: what is there at the end is known. */
static void moves_body(void *unused) {
  const int me = pm_rank(), to = (me + 1) % pm_size();
  port p = port_open();
  uint64_t x = mix(W.seed + (uint64_t)me);
  (void)unused;
  for (int i = 0; i < ROUNDS; i++) {
    static const size_t sizes[] = {0, 1, 8, 9, 17, 64, 65, 408, 409, 512, 513, 3000, 20000};
    const size_t n = sizes[(x = mix(x)) % 13], at = (x >> 20) % (BYTES / 2 - n), here = BYTES / 2;
    if (me == 0 && W.changes) /* messages of the others are under way */
      pm_world_set_link(pm_world_of(pm_self()), (pm_link_model)((x >> 40) % LEVELS));
    for (size_t k = 0; k < n; k++)
      W.own[me][k] = (unsigned char)(x >> (k % 7 * 8)) ^ (unsigned char)k;
    CHECK(PtlPut(p.md, 0, n, PTL_ACK_REQ, pm_process_id(to), 3, 0, at, NULL, x) == PTL_OK);
    ptl_event_t e = wait_for(p.eq, PTL_EVENT_ACK);
    W.bad += e.ni_fail_type != PTL_NI_OK || e.mlength != n;
    W.bad += memcmp(W.entry[to] + at, W.own[me], n) != 0;
    memset(W.own[me] + here, 0, n);
    CHECK(PtlGet(p.md, here, n, pm_process_id(to), 3, 0, at, NULL) == PTL_OK);
    e = wait_for(p.eq, PTL_EVENT_REPLY);
    W.bad += e.ni_fail_type != PTL_NI_OK || e.mlength != n;
    W.bad += memcmp(W.own[me], W.own[me] + here, n) != 0;
    /* one integer, and two: on one word both, at once from all ranks */
    const uint64_t add[2] = {1 + (x >> 8) % 9, 100};
    memcpy(W.own[me], add, sizeof add);
    CHECK(PtlAtomic(p.md, 0, 8, PTL_ACK_REQ, pm_process_id(0), 4, 0, 0, NULL, 0, PTL_SUM,
                    PTL_UINT64_T) == PTL_OK);
    CHECK(PtlAtomic(p.md, 0, 16, PTL_ACK_REQ, pm_process_id(0), 4, 0, 0, NULL, 0, PTL_SUM,
                    PTL_UINT64_T) == PTL_OK);
    wait_for(p.eq, PTL_EVENT_ACK), wait_for(p.eq, PTL_EVENT_ACK);
    W.fetched[me] += 2 * add[0];
    /* and so of complex doubles */
    const double parts[4] = {1, 2, 3, 4};
    memcpy(W.own[me] + 128, parts, sizeof parts);
    for (ptl_size_t k = 1; k <= 2; k++)
      CHECK(PtlAtomic(p.md, 128, 16 * k, PTL_ACK_REQ, pm_process_id(0), 4, 0, 32, NULL, 0, PTL_SUM,
                      PTL_DOUBLE_COMPLEX) == PTL_OK);
    wait_for(p.eq, PTL_EVENT_ACK), wait_for(p.eq, PTL_EVENT_ACK);
    CHECK(PtlFetchAtomic(p.md, 64, p.md, 8, 8, pm_process_id(0), 4, 0, 16, NULL, 0, PTL_SUM,
                         PTL_INT64_T) == PTL_OK);
    wait_for(p.eq, PTL_EVENT_REPLY);
    memcpy(&x, W.own[me] + 64, 8); /* every value that the counter has is fetched by one */
    W.bad += x % 100 != 0;
    W.stamps ^= mix(x);
    x = mix((uint64_t)me * 1000 + (uint64_t)i + W.seed);
  }
  W.ends++;
  port_close(&p);
}
static void check_moves(int rounds_of_all) {
  uint64_t sum = 0, all = 0;
  for (int i = 0; i < NODES; i++) sum += W.fetched[i];
  for (int i = 0; i < rounds_of_all; i++) all ^= mix((uint64_t)i * 100);
  CHECK(W.bad == 0 && W.ends == NODES);
  CHECK(W.words[0][0] == sum);
  CHECK(W.words[0][1] == 100u * (unsigned)rounds_of_all);
  CHECK(W.words[0][2] == 100u * (unsigned)rounds_of_all);
  CHECK(W.stamps == all);
  double parts[4];
  memcpy(parts, &W.words[0][4], sizeof parts);
  for (int i = 0; i < 4; i++) CHECK_NEAR(parts[i], (i < 2 ? 2 : 1) * (i + 1) * rounds_of_all, 0);
}
static uint64_t hash_of(const void *at, size_t n) {
  uint64_t h = 1;
  for (size_t i = 0; i < n; i++) h = mix(h ^ ((const unsigned char *)at)[i]);
  return h;
}
static void puts_gets_atomics_are_the_same_on_all_levels(void) {
  pm_platform platform = pm_platform_bxi2(NODES);
  const uint64_t seed = test_rand();
  uint64_t first = 0;
  for (int level = 0; level < LEVELS; level++) {
    memset(&W, 0, sizeof W);
    W.seed = seed;
    const pm_stats stats = run_level(&platform, level, moves_body, NULL);
    check_moves(NODES * ROUNDS);
    CHECK(stats.sent_bytes == stats.delivered_bytes);
    if (!level) first = hash_of(W.entry, sizeof W.entry);
    CHECK(hash_of(W.entry, sizeof W.entry) == first);
    printf("  %-5s %d operations\n", level_names[level], (int)stats.message_count);
  }
}
static void levels_change_while_messages_are_under_way(void) {
  pm_platform platform = pm_platform_bxi2(NODES);
  memset(&W, 0, sizeof W);
  W.seed = test_rand(), W.changes = 1;
  run_level(&platform, PM_LINK_CARRIER, moves_body, NULL);
  check_moves(NODES * ROUNDS);
}
static void nothing_is_lost_under_faults(void) {
  pm_platform platform = pm_platform_bxi2(NODES);
  pm_faults faults = {0};
  platform.e2e_retry_ns = 10000;
  platform.e2e_retry_count = 15;
  faults.loss_ratio = 0.05, faults.corrupt_ratio = 0.05, faults.duplicate_ratio = 0.05;
  faults.delay_ratio = 0.05, faults.delay_ns = 500;
  memset(&W, 0, sizeof W);
  W.seed = test_rand();
  run_level(&platform, PM_LINK_CARRIER, moves_body, &faults);
  check_moves(NODES * ROUNDS);
}

/* Up to 32 under way, of which one in twenty is lost: each has its tries, whichever others are lost, and none is given up */
static void crowd_body(void *unused) {
  const int to = 1 - pm_rank();
  port p = port_open();
  (void)unused;
  for (int i = 0, under_way = 0; i < 150 || under_way; i++) {
    if (i < 150) {
      CHECK(PtlPut(p.md, 0, i % 4 ? 1 + mix(W.seed + (uint64_t)i) % 600 : 9000, PTL_ACK_REQ, pm_process_id(to), 3, 0, 0, NULL, 0) == PTL_OK);
      if (++under_way < 32) continue;
    }
    W.bad += wait_for(p.eq, PTL_EVENT_ACK).ni_fail_type != PTL_NI_OK;
    W.ends++, under_way--;
  }
  port_close(&p);
}
static void many_under_way_are_all_delivered(void) {
  pm_platform platform = pm_platform_bxi2(2);
  pm_faults faults = {0};
  platform.e2e_retry_ns = 10000, faults.loss_ratio = 0.05;
  memset(&W, 0, sizeof W);
  W.seed = test_rand();
  run_level(&platform, PM_LINK_CARRIER, crowd_body, &faults);
  CHECK(W.bad == 0 && W.ends == 300);
}

/* Every operation on one integer, float, double or complex number: the NIC's arithmetic is the model's. */
static int64_t T_sum_ns[PTL_DATATYPE_LAST]; /* by type: how long one took, there and back */
static bool is_operation(int op, int type) {
  if (type == PTL_FLOAT_COMPLEX || type == PTL_DOUBLE_COMPLEX)
    return op == PTL_SUM || op == PTL_PROD || (op >= PTL_SWAP && op <= PTL_CSWAP_NE);
  return (type != PTL_FLOAT && type != PTL_DOUBLE) ||
         !((op >= PTL_LOR && op <= PTL_BXOR) || op == PTL_MSWAP);
}
/* Any bits are a number of the type, but for products of complex ones that would be infinite; often no number at all */
static uint64_t operand_of(int type, uint64_t bits) {
  if (type == PTL_FLOAT_COMPLEX) return bits & 0xBFFFFFFFBFFFFFFF;
  if (type == PTL_DOUBLE_COMPLEX) return bits & 0xBFFFFFFFFFFFFFFF;
  if (type == PTL_FLOAT && bits >> 40 & 1) return bits | 0x7FC00000;
  return type == PTL_DOUBLE && bits >> 20 & 1 ? bits | 0x7FF8000000000000 : bits;
}
static void operations_body(void *unused) {
  static const int types[] = {PTL_INT8_T,  PTL_UINT8_T,  PTL_INT16_T,       PTL_UINT16_T,
                              PTL_INT32_T, PTL_UINT32_T, PTL_INT64_T,       PTL_UINT64_T,
                              PTL_FLOAT,   PTL_DOUBLE,   PTL_FLOAT_COMPLEX, PTL_DOUBLE_COMPLEX};
  static const size_t sizes[] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 8, 16};
  port p = port_open();
  uint64_t x = W.seed, results = 0;
  (void)unused;
  for (int op = PTL_MIN; op <= PTL_MSWAP && pm_rank() == 0; op++)
    for (int t = 0; t < 12; t++) {
      const int type = types[t];
      const size_t n = sizes[t];
      if (!is_operation(op, type)) continue;
      x = mix(x);
      const bool is_equal = mix(x) % 3 == 0; /* what is compared, now and then */
      uint64_t operand[2], before[2], compare[2];
      for (int k = 0; k < 2; k++) {
        operand[k] = operand_of(type, x), before[k] = operand_of(type, mix(x));
        compare[k] = is_equal ? before[k] : operand_of(type, mix(before[k]));
        x = mix(x);
      }
      const int64_t t_ns = pm_now_ns();
      memcpy(W.words[1], before, sizeof before);
      memcpy(W.own[0], operand, sizeof operand);
      memset(W.own[0] + 64, 0, sizeof before);
      if (op < PTL_SWAP)
        CHECK(PtlFetchAtomic(p.md, 64, p.md, 0, n, pm_process_id(1), 4, 0, 0, NULL, 0, (ptl_op_t)op,
                             (ptl_datatype_t)type) == PTL_OK);
      else
        CHECK(PtlSwap(p.md, 64, p.md, 0, n, pm_process_id(1), 4, 0, 0, NULL, 0, compare,
                      (ptl_op_t)op, (ptl_datatype_t)type) == PTL_OK);
      const ptl_event_t e = wait_for(p.eq, PTL_EVENT_REPLY);
      if (op == PTL_SUM) T_sum_ns[type] = pm_now_ns() - t_ns;
      W.bad += e.ni_fail_type != PTL_NI_OK || memcmp(W.own[0] + 64, before, n) != 0;
      results = mix(mix(results ^ W.words[1][0]) ^ W.words[1][1]);
    }
  if (pm_rank() == 0) W.stamps = results;
  port_close(&p);
}
/* What a body of random calls leaves in W.stamps is the same without a NIC and with one. */
static void ends_alike(pm_platform *platform, void (*body)(void *)) {
  const uint64_t seed = test_rand();
  uint64_t first = 0;
  for (int level = 0; level < LEVELS; level += 2) {
    memset(&W, 0, sizeof W);
    W.seed = seed;
    run_level(platform, level, body, NULL);
    if (!level) first = W.stamps;
    CHECK(W.bad == 0 && W.stamps == first);
  }
}
static void the_nic_computes_like_the_model(void) {
  pm_platform platform = pm_platform_bxi2(2);
  ends_alike(&platform, operations_body);
  /* the NIC's unit, not a second message */
  const double unit_ns = 9 * 36e9 / platform.link_bytes_per_s;
  CHECK_NEAR((double)(T_sum_ns[PTL_DOUBLE] - T_sum_ns[PTL_INT64_T]), unit_ns, 40);
  CHECK_NEAR((double)(T_sum_ns[PTL_FLOAT_COMPLEX] - T_sum_ns[PTL_INT64_T]), unit_ns, 40);
  /* 16 bytes are not in the command: the model has the CPU write them first */
  CHECK_NEAR((double)(T_sum_ns[PTL_DOUBLE_COMPLEX] - T_sum_ns[PTL_INT64_T]),
             unit_ns + (double)platform.pio_fence_ns, 40);
}

/* The same of several elements: 64 bytes fetched, up to 1,024 changed. */
static void fill(int type, void *to, size_t bytes, uint64_t *x) {
  for (size_t at = 0; at < bytes; at += 8) {
    const uint64_t word = operand_of(type, *x = mix(*x));
    memcpy((char *)to + at, &word, 8);
  }
}
static void many_body(void *unused) {
  static const int types[] = {PTL_INT8_T,  PTL_UINT8_T,  PTL_INT16_T,       PTL_UINT16_T,
                              PTL_INT32_T, PTL_UINT32_T, PTL_INT64_T,       PTL_UINT64_T,
                              PTL_FLOAT,   PTL_DOUBLE,   PTL_FLOAT_COMPLEX, PTL_DOUBLE_COMPLEX};
  port p = port_open();
  uint64_t x = W.seed, results = 0;
  (void)unused;
  for (int op = PTL_MIN; op <= PTL_SWAP && pm_rank() == 0; op++)
    for (int t = 0; t < 12; t++) {
      const ptl_op_t o = (ptl_op_t)op;
      const ptl_datatype_t type = (ptl_datatype_t)types[t];
      if (!is_operation(op, types[t])) continue;
      /* of two that are no numbers the compiler says which one is kept: one at most is none */
      const int calm = types[t] == PTL_FLOAT    ? PTL_FLOAT_COMPLEX
                       : types[t] == PTL_DOUBLE ? PTL_DOUBLE_COMPLEX
                                                : types[t];
      fill(types[t], W.own[0], 1024, &x), fill(calm, W.words[1], 64, &x);
      fill(calm, W.entry[1], 1024, &x);
      memset(W.own[0] + 2048, 0, 64);
      const size_t n = 16 * (1 + mix(x) % 64);
      const int64_t t_ns = pm_now_ns();
      if (op == PTL_SWAP)
        CHECK(PtlSwap(p.md, 2048, p.md, 0, 64, pm_process_id(1), 4, 0, 0, NULL, 0, NULL, o, type) == PTL_OK);
      else
        CHECK(PtlFetchAtomic(p.md, 2048, p.md, 0, 64, pm_process_id(1), 4, 0, 0, NULL, 0, o, type) == PTL_OK);
      wait_for(p.eq, PTL_EVENT_REPLY);
      if (op == PTL_PROD) T_sum_ns[type] = pm_now_ns() - t_ns;
      if (op != PTL_SWAP) {
        CHECK(PtlAtomic(p.md, 0, n, PTL_ACK_REQ, pm_process_id(1), 3, 0, 16, NULL, 0, o, type) == PTL_OK);
        wait_for(p.eq, PTL_EVENT_ACK);
      }
      results = mix(results ^ hash_of(W.words[1], 96) ^ mix(hash_of(W.own[0] + 2048, 64) ^ mix(hash_of(W.entry[1], 1200))));
    }
  if (pm_rank() == 0) W.stamps = results;
  port_close(&p);
}
static void the_nic_computes_many_like_the_model(void) {
  pm_platform platform = pm_platform_bxi2(2);
  ends_alike(&platform, many_body);
  /* four products of complex doubles, 21 cycles each, beside eight integers */
  CHECK_NEAR((double)(T_sum_ns[PTL_DOUBLE_COMPLEX] - T_sum_ns[PTL_INT64_T]), 76 * 36e9 / platform.link_bytes_per_s, 40);
}

/* Random calls on complex doubles, three at once: what ends beyond the entry or lies across its words is the model's. The same
   bytes and events as without a NIC. Each has
   32 bytes of its own: the model orders no swap behind what is still being written. */
static void complex_call(const port *p, int i, uint64_t x) {
  static const int ops[] = {PTL_SUM, PTL_PROD, PTL_SWAP, PTL_CSWAP, PTL_CSWAP_NE};
  static const ptl_size_t skips[] = {0, 0, 0, 0, 16, 16, 8, 5};
  const ptl_op_t op = (ptl_op_t)ops[x % 5];
  const ptl_size_t at = 128 * (ptl_size_t)i, got = at + 64, skip = skips[x >> 16 & 7];
  const ptl_size_t offset = 32 * (ptl_size_t)i + skip;
  const ptl_size_t n = op < PTL_CSWAP && x >> 8 & 1 && (!skip || i == 2) ? 32 : 16;
  const ptl_process_t to = pm_process_id(1);
  void *const user = (void *)(uintptr_t)(i + 1);
  uint64_t parts[4];
  for (int k = 0; k < 4; k++) parts[k] = operand_of(PTL_DOUBLE_COMPLEX, x = mix(x));
  memcpy(W.own[0] + at, parts, sizeof parts);
  if (x & 1) memcpy(parts, (char *)W.words[1] + offset % 81, 16); /* what may be there */
  if (op >= PTL_SWAP)
    CHECK(PtlSwap(p->md, got, p->md, at, n, to, 4, 0, offset, user, x, parts, op,
                  PTL_DOUBLE_COMPLEX) == PTL_OK);
  else if (x & 2)
    CHECK(PtlFetchAtomic(p->md, got, p->md, at, n, to, 4, 0, offset, user, x, op,
                         PTL_DOUBLE_COMPLEX) == PTL_OK);
  else
    CHECK(PtlAtomic(p->md, at, n, PTL_ACK_REQ, to, 4, 0, offset, user, x, op, PTL_DOUBLE_COMPLEX) ==
          PTL_OK);
}
static void complex_body(void *unused) {
  port p = port_open();
  uint64_t x = W.seed;
  (void)unused;
  for (int round = 0; round < 30 && pm_rank() == 0; round++) {
    for (int k = 0; k < WORDS; k++) W.words[1][k] = operand_of(PTL_DOUBLE_COMPLEX, x = mix(x));
    memset(W.own[0], 0, 512);
    for (int i = 0; i < 3; i++) complex_call(&p, i, x = mix(x));
    for (int left = 3; left;) {
      ptl_event_t e;
      CHECK(PtlEQWait(p.eq, &e) == PTL_OK);
      if (e.type == PTL_EVENT_SEND) continue;
      W.stamps += mix((uint64_t)(uintptr_t)e.user_ptr ^ (uint64_t)e.type << 8 ^ e.mlength << 16 ^
                      (uint64_t)e.ni_fail_type << 32);
      left--;
    }
    W.stamps = mix(W.stamps ^ hash_of(W.words[1], sizeof W.words[1]) ^ hash_of(W.own[0], 512));
  }
  port_close(&p);
}
static void random_calls_on_complex_doubles_agree(void) {
  pm_platform platform = pm_platform_bxi2(2);
  ends_alike(&platform, complex_body);
}

/* Truncation, no match, a dead link: told as at the other levels. */
static void refusals_body(void *unused) {
  port p = port_open();
  (void)unused;
  if (pm_rank() == 0) {
    const int there = 1, nowhere = 7;
    CHECK(PtlPut(p.md, 0, 64, PTL_ACK_REQ, pm_process_id(there), 4, 0, 64, NULL, 0) == PTL_OK);
    W.words[0][5] = wait_for(p.eq, PTL_EVENT_ACK).mlength; /* 32 of 64 have room */
    CHECK(PtlGet(p.md, 0, 64, pm_process_id(there), 4, 0, 64, NULL) == PTL_OK);
    W.words[0][6] = wait_for(p.eq, PTL_EVENT_REPLY).mlength;
    CHECK(PtlPut(p.md, 0, 2000, PTL_ACK_REQ, pm_process_id(there), (ptl_pt_index_t)nowhere, 0, 0,
                 NULL, 0) == PTL_OK);
    W.words[0][7] = wait_for(p.eq, PTL_EVENT_ACK).ni_fail_type;
    CHECK(PtlGet(p.md, 0, 2000, pm_process_id(there), (ptl_pt_index_t)nowhere, 0, 0, NULL) ==
          PTL_OK);
    W.words[0][8] = wait_for(p.eq, PTL_EVENT_REPLY).ni_fail_type;
  }
  port_close(&p);
}
static void down_body(void *unused) {
  port p = port_open();
  (void)unused;
  for (int i = 0; i < 12 && pm_rank() == 0; i++) {
    CHECK(PtlPut(p.md, 0, i % 2 ? 8 : 3000, PTL_ACK_REQ, pm_process_id(1 + i % 2), 3, 0, 0, NULL,
                 0) == PTL_OK);
    const ptl_event_t e = wait_for(p.eq, PTL_EVENT_ACK);
    W.bad += e.ni_fail_type != (i % 2 ? PTL_NI_OK : PTL_NI_UNDELIVERABLE);
    W.ends++;
  }
  port_close(&p);
}
static void failures_are_told_as_elsewhere(void) {
  pm_platform platform = pm_platform_bxi2(NODES);
  for (int level = 0; level < LEVELS; level++) {
    memset(&W, 0, sizeof W);
    run_level(&platform, level, refusals_body, NULL);
    CHECK(W.words[0][5] == 32 && W.words[0][6] == 32);
    CHECK(W.words[0][7] == PTL_NI_DROPPED && W.words[0][8] == PTL_NI_DROPPED);
  }
  pm_faults faults = {0};
  platform.e2e_retry_ns = 5000, platform.e2e_retry_count = 2;
  faults.down_node = 1 + 1, faults.d_down_ns = 1000000000;
  memset(&W, 0, sizeof W);
  run_level(&platform, PM_LINK_CARRIER, down_body, &faults);
  CHECK(W.bad == 0 && W.ends == 12);
}

/* Stamps: never before the last one of the same sender began, and no faster than the link. */
static void stamped(void *arg, const pm_stamp *s) {
  (void)arg;
  W.stamps++;
  W.bad += s->t_begin_ns < W.t_stamp_ns[s->from_node] || s->t_end_ns <= s->t_begin_ns;
  W.bad += (double)(s->t_end_ns - s->t_begin_ns) < (double)s->size_bytes / 11.2;
  W.bad += s->t_end_ns > pm_world_now_ns((pm_world *)arg);
  W.t_stamp_ns[s->from_node] = s->t_begin_ns;
}
static void stamps_body(void *unused) {
  port p = port_open();
  (void)unused;
  for (int i = 0; i < 8 && pm_rank() == 0; i++) {
    const size_t n = 1 + test_below(30000);
    const int64_t t_ns = pm_now_ns();
    CHECK(PtlPut(p.md, 0, n, PTL_ACK_REQ, pm_process_id(1), 3, 0, 0, NULL, 0) == PTL_OK);
    wait_for(p.eq, PTL_EVENT_ACK);
    W.bad += W.t_stamp_ns[0] < t_ns;
    CHECK(PtlGet(p.md, 0, n, pm_process_id(1), 3, 0, 0, NULL) == PTL_OK);
    wait_for(p.eq, PTL_EVENT_REPLY);
    pm_compute_ns(
        (int64_t)test_below(5000)); /* the NICs stand still in between: their times go on */
  }
  port_close(&p);
}
static void stamps_are_in_order(void) {
  pm_platform platform = pm_platform_bxi2(2);
  pm_world_desc desc = {0};
  pm_world *world;
  memset(&W, 0, sizeof W);
  desc.platform = &platform, desc.carrier = pm_rtl_carrier(rtl), desc.link = PM_LINK_CARRIER;
  CHECK(pm_world_create(&desc, &world) == PM_OK);
  pm_on_stamp(world, stamped, world);
  CHECK(pm_spawn_all(world, stamps_body, NULL) == PM_OK && pm_world_run(world) == PM_OK);
  CHECK(W.stamps == 16 && W.bad == 0);
  CHECK(cosim_counter(pm_rtl_cosim(rtl), 0, COSIM_COUNT_BAD_CMD) == 0);
  pm_world_destroy(world);
}

static void coll_body(void *unused) {
  enum { COUNT = 150 };
  nbc_comm_desc desc = {0};
  nbc_comm *comm = NULL;
  nbc_error err;
  pm_nbc *endpoint;
  nbc_request *request[2] = {NULL, NULL};
  const int me = pm_rank(), n = pm_size();
  int32_t *a = malloc(COUNT * 8 * sizeof *a), *b = malloc(COUNT * 8 * sizeof *b);
  (void)unused;
  CHECK(pm_nbc_create(NULL, &endpoint) == NBC_OK);
  desc.transport = pm_nbc_transport(endpoint);
  CHECK(nbc_comm_create(&desc, &comm, &err) == NBC_OK);
  for (int i = 0; i < COUNT * n; i++) a[i] = i / COUNT + 100 * me;
  CHECK(nbc_ialltoall(comm, a, b, COUNT, NBC_TYPE_INT32, &request[0]) == NBC_OK);
  CHECK(nbc_ibarrier(comm, &request[1]) == NBC_OK);
  CHECK(nbc_coll_wait(&request[0], 0) == NBC_OK && nbc_coll_wait(&request[1], 0) == NBC_OK);
  for (int i = 0; i < COUNT * n; i++) W.bad += b[i] != me + 100 * (i / COUNT);
  for (int i = 0; i < COUNT; i++) a[i] = i + me;
  CHECK(nbc_iallreduce(comm, a, b, COUNT, NBC_TYPE_INT32, NBC_REDUCE_SUM, &request[0]) == NBC_OK);
  CHECK(nbc_coll_wait(&request[0], 0) == NBC_OK);
  for (int i = 0; i < COUNT; i++) W.bad += b[i] != n * i + n * (n - 1) / 2;
  for (int i = 0; i < COUNT; i++) a[i] = me == 2 ? i : -1;
  CHECK(nbc_ibcast(comm, a, COUNT, NBC_TYPE_INT32, 2, &request[0]) == NBC_OK);
  CHECK(nbc_coll_wait(&request[0], 0) == NBC_OK);
  for (int i = 0; i < COUNT; i++) W.bad += a[i] != i;
  W.ends++;
  pm_barrier();
  nbc_comm_destroy(comm);
  pm_nbc_destroy(endpoint);
  free(a), free(b);
}
static void collectives_are_right_on_all_levels(void) {
  pm_platform platform = pm_platform_bxi2(4);
  for (int level = 0; level < LEVELS; level++) {
    memset(&W, 0, sizeof W);
    run_level(&platform, level, coll_body, NULL);
    CHECK(W.bad == 0 && W.ends == 4);
  }
}

/* Lists of random entries; one random message after the other, from two ranks in turn, so that every level finds
   the same. What the target is told of each, and what the senders are, is hashed. */
enum { ENTRIES = 60, MESSAGES = 150 };
static void note(uint64_t value) { W.stamps = mix(W.stamps ^ value); }
static void append_random(port *p, ptl_pt_index_t pt, uint64_t number, uint64_t *x) {
  ptl_me_t m = {0};
  ptl_handle_me_t handle;
  m.start = W.entry[1], m.length = 4096;
  m.ct_handle = PTL_CT_NONE, m.uid = PTL_UID_ANY;
  m.match_bits = (*x = mix(*x)) % 12, m.ignore_bits = (*x = mix(*x)) % 5 ? 0 : 3;
  m.options = PTL_ME_OP_PUT | PTL_ME_OP_GET;
  m.options |= (*x = mix(*x)) % 2 ? PTL_ME_USE_ONCE : 0;
  m.options |= (*x = mix(*x)) % 4 ? 0 : PTL_ME_MANAGE_LOCAL;
  m.options |= (*x = mix(*x)) % 4 ? 0 : PTL_ME_NO_TRUNCATE;
  if (m.options & PTL_ME_MANAGE_LOCAL) m.min_free = 2048;
  m.match_id.phys.nid = (*x = mix(*x)) % 3 ? PTL_NID_ANY : (ptl_nid_t)(*x % 2 * 2);
  m.match_id.phys.pid = PTL_PID_ANY;
  *x = mix(*x);
  if (*x % 7 == 0) {
    CHECK(PtlMESearch(p->ni, pt, &m, mix(*x) % 2 ? PTL_SEARCH_DELETE : PTL_SEARCH_ONLY,
                      (void *)(uintptr_t)number) == PTL_OK);
    return;
  }
  CHECK(PtlMEAppend(p->ni, pt, &m, *x % 4 ? PTL_PRIORITY_LIST : PTL_OVERFLOW_LIST,
                    (void *)(uintptr_t)number, &handle) == PTL_OK);
  if (mix(*x) % 9 == 0) note((uint64_t)PtlMEUnlink(handle)); /* it may be used up */
}
static void note_event(const ptl_event_t *e) {
  note((uint64_t)e->type), note((uint64_t)(uintptr_t)e->user_ptr), note(e->match_bits),
      note(e->mlength);
  note(e->rlength), note((uint64_t)e->ptl_list), note((uint64_t)e->ni_fail_type);
  note((uint64_t)e->remote_offset), note(e->hdr_data);
}
static void lists_body(void *unused) {
  port p = port_open();
  uint64_t x = W.seed, number = 1;
  ptl_handle_eq_t eq;
  ptl_pt_index_t pt;
  ptl_event_t e;
  (void)unused;
  CHECK(PtlEQAlloc(p.ni, 4096, &eq) == PTL_OK);
  CHECK(PtlPTAlloc(p.ni, 0, eq, 6, &pt) == PTL_OK);
  for (int i = 0; i < ENTRIES && pm_rank() == 1; i++) append_random(&p, pt, number++, &x);
  for (int i = 0; i < MESSAGES; i++) {
    const uint64_t y = mix(W.seed + (uint64_t)i);
    pm_sleep_ns(3000); /* until the NIC's list is as long */
    pm_barrier();
    if (pm_rank() == (y % 2 ? 0 : 2)) {
      const int is_get = y >> 8 & 1;
      const ptl_size_t n = (y >> 16) % 3 ? (y >> 20) % 600 : (y >> 20) % 5000;
      if (is_get)
        CHECK(PtlGet(p.md, 0, n, pm_process_id(1), pt, (y >> 40) % 13, 0, NULL) == PTL_OK);
      else
        CHECK(PtlPut(p.md, 0, n, PTL_ACK_REQ, pm_process_id(1), pt, (y >> 40) % 13, 0, NULL, y) ==
              PTL_OK);
      e = wait_for(p.eq, is_get ? PTL_EVENT_REPLY : PTL_EVENT_ACK);
      note_event(&e);
    }
    pm_sleep_ns(3000);
    pm_barrier();
    if (pm_rank() != 1) continue;
    while (PtlEQGet(eq, &e) == PTL_OK) note_event(&e), W.ends++;
    for (int k = 0; k < 2; k++) append_random(&p, pt, number++, &x);
  }
  port_close(&p);
}
static void random_lists_are_searched_alike(void) {
  pm_platform platform = pm_platform_bxi2(NODES);
  uint64_t first = 0, events = 0;
  const uint64_t seed = test_rand();
  for (int level = 0; level < LEVELS; level += 2) {
    memset(&W, 0, sizeof W);
    W.seed = seed;
    run_level(&platform, level, lists_body, NULL);
    if (!level) first = W.stamps, events = (uint64_t)W.ends;
    CHECK(W.bad == 0 && W.stamps == first && (uint64_t)W.ends == events && W.ends > MESSAGES);
  }
  printf("  %d messages, %d events at their target\n", MESSAGES, (int)events);
}
/* A pair's messages take entries in their order, whatever they are: a get waits to be read and a put without bytes does not,
   but that is later. Sent by calls, or all released by one counter. */
enum { ROW = 16, ROWS = 12 };
static void row_body(void *unused) {
  static const int kinds[] = {PTL_EVENT_PUT, PTL_EVENT_GET, PTL_EVENT_ATOMIC, PTL_EVENT_FETCH_ATOMIC};
  static const ptl_size_t lengths[] = {0, 0, 1, 8, 64, 65, 500, 3000};
  const ptl_process_t there = pm_process_id(1);
  port p = port_open();
  ptl_handle_me_t handle;
  ptl_handle_eq_t eq;
  ptl_handle_ct_t ct;
  ptl_pt_index_t pt;
  ptl_event_t e;
  uint64_t x = W.seed;
  (void)unused;
  CHECK(PtlEQAlloc(p.ni, 2 * ROW, &eq) == PTL_OK && PtlPTAlloc(p.ni, 0, eq, 200, &pt) == PTL_OK);
  for (int row = 0; row < ROWS; row++) {
    int kind[ROW];
    CHECK(PtlCTAlloc(p.ni, &ct) == PTL_OK);
    for (int i = 0; i < ROW && pm_rank() == 1; i++) {
      const ptl_me_t m = {W.entry[1], 4096, PTL_CT_NONE, PTL_UID_ANY, PTL_ME_OP_PUT | PTL_ME_OP_GET | PTL_ME_USE_ONCE | PTL_ME_EVENT_LINK_DISABLE | PTL_ME_EVENT_UNLINK_DISABLE,
                          {.phys = {PTL_NID_ANY, PTL_PID_ANY}}, 0, 0, 0};
      CHECK(PtlMEAppend(p.ni, pt, &m, PTL_PRIORITY_LIST, (void *)(intptr_t)i, &handle) == PTL_OK);
    }
    pm_sleep_ns(5000);
    pm_barrier();
    for (int i = 0; i < ROW; i++) {
      ptl_size_t n;
      x = mix(x), kind[i] = (int)(x & 3), n = lengths[x >> 2 & 7];
      if (kind[i] > 1 && n > 64) n = 64;
      if (pm_rank() != 0) continue;
      if (row & 1) {
        if (kind[i] == 0) PtlTriggeredPut(p.md, 0, n, PTL_NO_ACK_REQ, there, pt, 0, 0, NULL, 0, ct, 1);
        else if (kind[i] == 1) PtlTriggeredGet(p.md, 4096, n, there, pt, 0, 0, NULL, ct, 1);
        else if (kind[i] == 2) PtlTriggeredAtomic(p.md, 0, n, PTL_NO_ACK_REQ, there, pt, 0, 0, NULL, 0, PTL_SUM, PTL_UINT8_T, ct, 1);
        else PtlTriggeredFetchAtomic(p.md, 8192, p.md, 0, n, there, pt, 0, 0, NULL, 0, PTL_SUM, PTL_UINT8_T, ct, 1);
      } else {
        if (kind[i] == 0) PtlPut(p.md, 0, n, PTL_NO_ACK_REQ, there, pt, 0, 0, NULL, 0);
        else if (kind[i] == 1) PtlGet(p.md, 4096, n, there, pt, 0, 0, NULL);
        else if (kind[i] == 2) PtlAtomic(p.md, 0, n, PTL_NO_ACK_REQ, there, pt, 0, 0, NULL, 0, PTL_SUM, PTL_UINT8_T);
        else PtlFetchAtomic(p.md, 8192, p.md, 0, n, there, pt, 0, 0, NULL, 0, PTL_SUM, PTL_UINT8_T);
      }
    }
    CHECK(PtlCTInc(ct, (ptl_ct_event_t){1, 0}) == PTL_OK);
    pm_sleep_ns(100000);
    pm_barrier();
    while (pm_rank() == 1 && PtlEQGet(eq, &e) == PTL_OK) W.bad += e.type != kinds[kind[(intptr_t)e.user_ptr]], W.ends++;
    while (PtlEQGet(p.eq, &e) == PTL_OK) continue;
    CHECK(PtlCTFree(ct) == PTL_OK);
  }
  port_close(&p);
}
static void a_pairs_messages_take_entries_in_their_order(void) {
  pm_platform platform = pm_platform_bxi2(2);
  const uint64_t seed = test_rand();
  for (int level = 0; level < LEVELS; level += 2) {
    memset(&W, 0, sizeof W);
    W.seed = seed;
    run_level(&platform, level, row_body, NULL);
    CHECK(W.bad == 0 && W.ends == ROW * ROWS);
  }
}

/* Entries that cut nothing pass messages over that they have no room for: the NIC's do so too, also the one that goes with
   the message that it takes. Offsets up to the last number; a message of several commands. The last two are for an entry
   with offsets of its own: the NIC knows no message of more than one command whole, and that entry is not compared. */
enum { LARGE = 5 << 20 };
static unsigned char Large[LARGE], There[LARGE];
static void no_room_body(void *unused) {
  static const struct {
    ptl_size_t offset, bytes, entry;
  } puts[] = {{0, 100, 1},       {0, 101, 2},       {500, 500, 2},    {501, 500, 3}, {1000, 0, 2},  {1001, 0, 3},
              {~(ptl_size_t)0, 1, 4}, {~(ptl_size_t)0 - 7, 16, 4}, {(ptl_size_t)1 << 35, 8, 4}, {0, LARGE, 3}, {1, LARGE, 4}, {2999, 1, 3}, {0, 1, 2}, {0, LARGE - 500000, 5}, {0, 700000, 6}};
  static const ptl_size_t sizes[] = {100, 1000, LARGE, 16, LARGE, 64};
  port p = port_open();
  ptl_handle_eq_t eq;
  ptl_handle_me_t handle;
  ptl_pt_index_t pt;
  ptl_me_t m = {0};
  const ptl_md_t md = {Large, LARGE, PTL_MD_EVENT_SEND_DISABLE, p.eq, PTL_CT_NONE};
  ptl_handle_md_t h;
  (void)unused;
  CHECK(PtlEQAlloc(p.ni, 64, &eq) == PTL_OK && PtlPTAlloc(p.ni, 0, eq, 6, &pt) == PTL_OK);
  CHECK(PtlMDBind(p.ni, &md, &h) == PTL_OK);
  m.start = There, m.ct_handle = PTL_CT_NONE, m.uid = PTL_UID_ANY;
  m.match_id.phys.nid = PTL_NID_ANY, m.match_id.phys.pid = PTL_PID_ANY;
  for (uint64_t i = 0; i < 6 && pm_rank() == 1; i++) {
    m.match_bits = i > 3, m.length = sizes[i];
    m.options = PTL_ME_OP_PUT | PTL_ME_EVENT_LINK_DISABLE | PTL_ME_EVENT_UNLINK_DISABLE;
    m.options |= (i < 3 || i == 4 ? PTL_ME_NO_TRUNCATE : 0) | (i ? 0 : PTL_ME_USE_ONCE) | (i == 4 ? PTL_ME_MANAGE_LOCAL : 0);
    CHECK(PtlMEAppend(p.ni, pt, &m, PTL_PRIORITY_LIST, (void *)(uintptr_t)(i + 1), &handle) == PTL_OK);
  }
  pm_sleep_ns(20000);
  pm_barrier();
  for (unsigned i = 0; i < sizeof puts / sizeof *puts; i++) {
    if (pm_rank() == 0)
      CHECK(PtlPut(h, 0, puts[i].bytes, PTL_ACK_REQ, pm_process_id(1), pt, i > 12, puts[i].offset, NULL, i) == PTL_OK);
    if (pm_rank() == 0) wait_for(p.eq, PTL_EVENT_ACK);
    if (pm_rank() != 1) continue;
    const ptl_event_t e = wait_for(eq, PTL_EVENT_PUT);
    W.bad += (ptl_size_t)(uintptr_t)e.user_ptr != puts[i].entry || e.hdr_data != i;
    W.ends++;
  }
  port_close(&p);
}
/* On two nodes, at flow and rtl: as many events at both, and the NICs' searches end as the model's. */
static void both_levels_find(void (*body)(void *), int ends, uint64_t found) {
  pm_platform platform = pm_platform_bxi2(2);
  const uint64_t before = pm_rtl_matched(rtl).same_count;
  for (int level = 0; level < LEVELS; level += 2) {
    memset(&W, 0, sizeof W);
    run_level(&platform, level, body, NULL);
    CHECK(W.bad == 0 && W.ends == ends);
  }
  const pm_rtl_matches m = pm_rtl_matched(rtl);
  CHECK(m.same_count == before + found && m.other_count == 0 && m.none_count == 0);
}
static void the_nic_passes_over_entries_without_room(void) { both_levels_find(no_room_body, 15, 14); }
/* Entries for another user, for gets only, with offsets of their own that leave with too little room: the NIC's refuse and
   take the same messages. What is refused leaves an entry where it is, there too, and is not counted. */
static uint64_t Strayed;
static void refuse_body(void *unused) {
  static const struct {
    unsigned options;
    ptl_size_t bytes, min_free;
    int user; /* 0: any, 1: ours, 2: another one */
    ptl_match_bits_t bits;
  } entries[] = {{PTL_ME_OP_PUT | PTL_ME_USE_ONCE, 64, 0, 2, 1}, {PTL_ME_OP_GET | PTL_ME_USE_ONCE, 64, 0, 0, 2},
                 {PTL_ME_OP_PUT | PTL_ME_MANAGE_LOCAL, 200, 50, 0, 3}, {PTL_ME_OP_PUT | PTL_ME_MANAGE_LOCAL, 200, 0, 0, 3},
                 {PTL_ME_OP_PUT | PTL_ME_MANAGE_LOCAL | PTL_ME_NO_TRUNCATE, 128, 0, 0, 4}, {PTL_ME_OP_PUT, 64, 0, 0, 4},
                 {PTL_ME_OP_PUT | PTL_ME_USE_ONCE, 64, 0, 1, 5}};
  static const struct {
    int is_get, bytes, entry; /* entry 0: refused */
    ptl_match_bits_t bits;
  } calls[] = {{0, 8, 0, 1}, {0, 8, 0, 1}, {0, 8, 0, 2}, {1, 8, 2, 2}, {0, 100, 3, 3}, {0, 60, 3, 3}, {0, 10, 4, 3},
               {0, 100, 5, 4}, {0, 40, 6, 4}, {0, 28, 5, 4}, {0, 1, 6, 4}, {0, 8, 7, 5}};
  port p = ((void)unused, pm_process_set_uid(pm_self(), 40), port_open());
  ptl_handle_eq_t eq;
  ptl_handle_me_t handle;
  ptl_handle_ct_t ct[2];
  ptl_ct_event_t count;
  ptl_pt_index_t pt;
  ptl_uid_t uid;
  CHECK(PtlEQAlloc(p.ni, 64, &eq) == PTL_OK && PtlPTAlloc(p.ni, 0, eq, 6, &pt) == PTL_OK && PtlGetUid(p.ni, &uid) == PTL_OK);
  CHECK(PtlCTAlloc(p.ni, &ct[0]) == PTL_OK && PtlCTAlloc(p.ni, &ct[1]) == PTL_OK);
  for (uint64_t i = 0; i < 7 && pm_rank() == 1; i++) {
    const int user = entries[i].user;
    const ptl_me_t m = {There, entries[i].bytes, user ? ct[user & 1] : PTL_CT_NONE, user == 0 ? PTL_UID_ANY : user == 1 ? uid : uid + 1,
                        entries[i].options | (user ? PTL_ME_EVENT_CT_COMM : 0) | PTL_ME_EVENT_LINK_DISABLE | PTL_ME_EVENT_UNLINK_DISABLE,
                        {.phys = {PTL_NID_ANY, PTL_PID_ANY}}, entries[i].bits, 0, entries[i].min_free};
    CHECK(PtlMEAppend(p.ni, pt, &m, PTL_PRIORITY_LIST, (void *)(uintptr_t)(i + 1), &handle) == PTL_OK);
  }
  pm_sleep_ns(20000);
  pm_barrier();
  for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++) {
    const bool fails = !calls[i].entry;
    ptl_event_t e;
    if (pm_rank() == 0 && calls[i].is_get)
      CHECK(PtlGet(p.md, 0, 8, pm_process_id(1), pt, calls[i].bits, 0, NULL) == PTL_OK);
    else if (pm_rank() == 0)
      CHECK(PtlPut(p.md, 0, (ptl_size_t)calls[i].bytes, PTL_ACK_REQ, pm_process_id(1), pt, calls[i].bits, 0, NULL, 0) == PTL_OK);
    if (pm_rank() == 0) {
      e = wait_for(p.eq, calls[i].is_get ? PTL_EVENT_REPLY : PTL_EVENT_ACK);
      W.bad += (e.ni_fail_type != PTL_NI_OK) != fails;
    } else if (pm_rank() == 1 && !fails) {
      e = wait_for(eq, calls[i].is_get ? PTL_EVENT_GET : PTL_EVENT_PUT);
      W.bad += (int)(uintptr_t)e.user_ptr != calls[i].entry || (int)e.mlength != calls[i].bytes;
      W.ends++;
    }
  }
  pm_barrier();
  for (uint64_t k = 0; k < 2 && pm_rank() == 1; k++) {
    CHECK(PtlCTGet(ct[k], &count) == PTL_OK);
    W.bad += count.success != k || count.failure;
  }
  if (pm_rank() == 1) Strayed = rtl->strayed;
  port_close(&p);
}
static void the_nic_refuses_what_the_model_refuses(void) {
  both_levels_find(refuse_body, 9, 9);
  CHECK(Strayed == 0);
}
/* In all worlds until now the NIC's own search ended at the entry that the model took. */
static void the_nics_find_the_entries_that_the_model_takes(void) {
  const pm_rtl_matches m = pm_rtl_matched(rtl);
  printf("  %d messages took an entry\n", (int)m.same_count);
  CHECK(m.same_count > 500 && m.other_count == 0 && m.none_count == 0);
}
/* Three ranks send to one that appends and unlinks meanwhile, and nobody waits: NIC and model see messages and changes in
   different orders, but each entry that goes with its message takes one, none once PtlMEUnlink has said that it is out,
   and what one rank sent takes entries in the order in which they were appended. */
enum { RACE_BITS = 6, RACE_MOST = 1200, RACE_SENT = 120 };
static struct {
  int taken[RACE_MOST], is_out[RACE_MOST], last[4][RACE_BITS], events, failed, ended;
} Race;
static void race_event(const ptl_event_t *e) {
  const int n = (int)(uintptr_t)e->user_ptr;
  if (e->type != PTL_EVENT_PUT && e->type != PTL_EVENT_GET) return;
  int *last = &Race.last[e->initiator.phys.nid][e->match_bits];
  Race.events++;
  W.bad += ++Race.taken[n] > 1 || Race.is_out[n];
  if (e->type == PTL_EVENT_PUT) W.bad += n < *last, *last = n; /* gets are told later */
}
static void race_lists(port *p, ptl_handle_eq_t eq, ptl_pt_index_t pt, uint64_t x) {
  static ptl_handle_me_t handle[RACE_MOST];
  ptl_event_t e;
  ptl_me_t m = {0};
  m.start = W.entry[1], m.length = BYTES, m.ct_handle = PTL_CT_NONE, m.uid = PTL_UID_ANY;
  m.options = PTL_ME_OP_PUT | PTL_ME_OP_GET | PTL_ME_USE_ONCE | PTL_ME_EVENT_LINK_DISABLE | PTL_ME_EVENT_UNLINK_DISABLE;
  m.match_id.phys.nid = PTL_NID_ANY, m.match_id.phys.pid = PTL_PID_ANY;
  for (int n = 1; n < RACE_MOST && Race.ended < 3;) {
    const int old = n - 1 - (int)(x >> 40) % 8;
    x = mix(x);
    if (x % 4) {
      m.match_bits = (x >> 8) % RACE_BITS;
      CHECK(PtlMEAppend(p->ni, pt, &m, PTL_PRIORITY_LIST, (void *)(uintptr_t)n, &handle[n]) == PTL_OK);
      n++;
    } else if (old > 0 && !Race.is_out[old] && PtlMEUnlink(handle[old]) == PTL_OK) {
      while (PtlEQGet(eq, &e) == PTL_OK) race_event(&e);
      Race.is_out[old] = 1;
    }
    if ((x >> 20) % 3 == 0) pm_sleep_ns((int64_t)((x >> 24) % 2000));
    while (PtlEQGet(eq, &e) == PTL_OK) race_event(&e);
  }
}
static void race_messages(port *p, ptl_pt_index_t pt, uint64_t x) {
  for (int i = 0, under_way = 0; i < RACE_SENT || under_way; i++) {
    const ptl_size_t n = (x = mix(x)) % 5 ? (x >> 20) % 200 : (x >> 20) % 9000;
    if (i < RACE_SENT && x >> 60 & 1)
      CHECK(PtlGet(p->md, 30000, n, pm_process_id(1), pt, (x >> 8) % RACE_BITS, 0, NULL) == PTL_OK);
    else if (i < RACE_SENT)
      CHECK(PtlPut(p->md, 0, n, PTL_ACK_REQ, pm_process_id(1), pt, (x >> 8) % RACE_BITS, 0, NULL, 0) == PTL_OK);
    under_way += i < RACE_SENT;
    while (under_way > (i < RACE_SENT ? 6 : 0)) {
      ptl_event_t e;
      CHECK(PtlEQWait(p->eq, &e) == PTL_OK);
      if (e.type == PTL_EVENT_SEND) continue;
      under_way--, Race.failed += e.ni_fail_type != PTL_NI_OK;
    }
  }
  Race.ended++;
}
static void race_body(void *unused) {
  port p = port_open();
  ptl_handle_eq_t eq;
  ptl_pt_index_t pt;
  ptl_event_t e;
  (void)unused;
  CHECK(PtlEQAlloc(p.ni, 4096, &eq) == PTL_OK && PtlPTAlloc(p.ni, 0, eq, 6, &pt) == PTL_OK);
  pm_barrier();
  if (pm_rank() == 1)
    race_lists(&p, eq, pt, mix(W.seed));
  else
    race_messages(&p, pt, mix(W.seed + (uint64_t)pm_rank()));
  pm_sleep_ns(50000);
  pm_barrier();
  while (pm_rank() == 1 && PtlEQGet(eq, &e) == PTL_OK) race_event(&e);
  port_close(&p);
}
static void lists_change_while_messages_come(void) {
  pm_platform platform = pm_platform_bxi2(4);
  const uint64_t seed = test_rand();
  for (int level = 0; level < LEVELS; level += 2) {
    const pm_rtl_matches was = pm_rtl_matched(rtl);
    memset(&W, 0, sizeof W), memset(&Race, 0, sizeof Race);
    W.seed = seed;
    run_level(&platform, level, race_body, NULL);
    const pm_rtl_matches is = pm_rtl_matched(rtl);
    CHECK(W.bad == 0 && Race.ended == 3 && Race.events > 20);
    CHECK(Race.events + Race.failed == 3 * RACE_SENT);
    printf("  %-5s %d messages took an entry, the NIC's in %d cases, another in %d, none yet in %d\n", level_names[level], Race.events,
           (int)(is.same_count - was.same_count), (int)(is.other_count - was.other_count), (int)(is.none_count - was.none_count));
  }
}

/* Matching takes its time on RTL: one cycle per entry that is looked at, and what comes behind waits. */
enum { LONG = 900 };
static int64_t T_put_ns[LONG];
static void long_list_body(void *unused) {
  port p = port_open();
  ptl_pt_index_t pt;
  ptl_handle_me_t handle;
  ptl_me_t m = {0};
  (void)unused;
  CHECK(PtlPTAlloc(p.ni, 0, PTL_EQ_NONE, 6, &pt) == PTL_OK);
  m.start = W.entry[1], m.length = 64, m.ct_handle = PTL_CT_NONE, m.uid = PTL_UID_ANY;
  m.options = PTL_ME_OP_PUT | PTL_ME_EVENT_LINK_DISABLE;
  m.match_id.phys.nid = PTL_NID_ANY, m.match_id.phys.pid = PTL_PID_ANY;
  for (int i = 0; i < LONG && pm_rank() == 1; i++) {
    m.match_bits = (ptl_match_bits_t)i;
    CHECK(PtlMEAppend(p.ni, pt, &m, PTL_PRIORITY_LIST, NULL, &handle) == PTL_OK);
  }
  pm_sleep_ns(50000);
  pm_barrier();
  for (int i = 0; i < LONG && pm_rank() == 0; i = i * 3 + 1) {
    const int64_t t_ns = pm_now_ns();
    CHECK(PtlPut(p.md, 0, 8, PTL_ACK_REQ, pm_process_id(1), pt, (ptl_match_bits_t)i, 0, NULL, 0) ==
          PTL_OK);
    wait_for(p.eq, PTL_EVENT_ACK);
    T_put_ns[i] = pm_now_ns() - t_ns;
    pm_sleep_ns(2000);
  }
  port_close(&p);
}
static void a_long_list_takes_a_cycle_per_entry(void) {
  pm_platform platform = pm_platform_bxi2(2);
  const double period_ns = 36e9 / platform.link_bytes_per_s;
  memset(&W, 0, sizeof W);
  run_level(&platform, PM_LINK_CARRIER, long_list_body, NULL);
  for (int i = 1; i < LONG; i = i * 3 + 1)
    CHECK_NEAR((double)(T_put_ns[i] - T_put_ns[0]), i * period_ns, 3 * period_ns + 21);
  printf("  8 B to entry 1 of %d: %d ns, to entry 365: %d ns\n", LONG, (int)T_put_ns[0],
         (int)T_put_ns[364]);
}

/* So does what an append looks through: a cycle per unexpected header, up to those that the NIC has room for. Messages beyond
   them are told as the others. */
enum { EARLY = 1100, PHASES = 4 }; /* in the first one the NIC is told of all of an entry */
static int64_t T_append_ns[PHASES];
static ptl_me_t early_entry(uint64_t match_bits, uint64_t ignore_bits, unsigned int options) {
  ptl_me_t m = {0};
  m.start = W.entry[1], m.length = 64, m.ct_handle = PTL_CT_NONE, m.uid = PTL_UID_ANY;
  m.match_bits = match_bits, m.ignore_bits = ignore_bits, m.options = PTL_ME_OP_PUT | options;
  m.match_id.phys.nid = PTL_NID_ANY, m.match_id.phys.pid = PTL_PID_ANY;
  return m;
}
/* The level begins when the run does, not with the first message: a trigger posted before is the NIC's as those posted
   later, and leaves in order of threshold with them. */
static void early_body(void *unused) {
  static const int size[] = {1, 4, 3, 2}; /* and threshold; 5: sent between them */
  const ptl_me_t all = early_entry(0, 0, PTL_ME_EVENT_LINK_DISABLE);
  port p = port_open();
  ptl_handle_eq_t eq;
  ptl_handle_ct_t ct;
  ptl_handle_me_t handle;
  ptl_pt_index_t pt;
  (void)unused;
  CHECK(PtlEQAlloc(p.ni, 8, &eq) == PTL_OK && PtlPTAlloc(p.ni, 0, eq, 200, &pt) == PTL_OK);
  CHECK(PtlMEAppend(p.ni, pt, &all, PTL_PRIORITY_LIST, NULL, &handle) == PTL_OK);
  pm_sleep_ns(5000);
  pm_barrier();
  for (int i = 0; i < 4 && pm_rank() == 0; i++) {
    if (!i) CHECK(PtlCTAlloc(p.ni, &ct) == PTL_OK);
    CHECK(PtlTriggeredPut(p.md, 0, (ptl_size_t)size[i], PTL_NO_ACK_REQ, pm_process_id(1), pt, 0, 0, NULL, 0, ct, (ptl_size_t)size[i]) == PTL_OK);
    if (i == 1) CHECK(PtlPut(p.md, 0, 5, PTL_NO_ACK_REQ, pm_process_id(1), pt, 0, 0, NULL, 0) == PTL_OK);
  }
  if (pm_rank() == 0) CHECK(PtlCTInc(ct, (ptl_ct_event_t){4, 0}) == PTL_OK);
  for (int i = 0; i < 5 && pm_rank() == 1; i++) {
    const int length = (int)wait_for(eq, PTL_EVENT_PUT).mlength;
    if (length < 5) W.bad += length != ++W.ends;
  }
  port_close(&p);
}
static void triggers_before_the_first_message_are_the_nics(void) {
  pm_platform platform = pm_platform_bxi2(2);
  const pm_link_phase phase = {0, PM_LINK_CARRIER};
  pm_world_desc desc = {0};
  memset(&W, 0, sizeof W);
  desc.platform = &platform, desc.carrier = pm_rtl_carrier(rtl);
  desc.link_phases = &phase, desc.link_phase_count = 1; /* as pm_run --level says it */
  run_world(0, early_body, &desc);
  CHECK(W.bad == 0 && W.ends == 4);
}
static void headers_body(void *unused) {
  static const int upto[PHASES] = {1, 1, 501, EARLY};
  const ptl_me_t early =
      early_entry(0, ~(uint64_t)0, PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_LINK_DISABLE);
  port p = port_open();
  ptl_handle_eq_t eq;
  ptl_handle_me_t handle;
  ptl_pt_index_t pt;
  int sent = 0;
  (void)unused;
  CHECK(PtlEQAlloc(p.ni, 2 * EARLY, &eq) == PTL_OK);
  CHECK(PtlPTAlloc(p.ni, 0, eq, 240, &pt) == PTL_OK); /* whatever number the program gives it */
  if (pm_rank() == 1)
    CHECK(PtlMEAppend(p.ni, pt, &early, PTL_OVERFLOW_LIST, NULL, &handle) == PTL_OK);
  for (int k = 0; k < PHASES; k++) {
    const ptl_me_t other = early_entry(EARLY + (uint64_t)k, 0, 0);
    pm_sleep_ns(5000);
    pm_barrier();
    for (; pm_rank() == 0 && sent < upto[k]; sent++)
      CHECK(PtlPut(p.md, 0, 0, PTL_NO_ACK_REQ, pm_process_id(1), pt, (ptl_match_bits_t)sent, 0,
                   NULL, 0) == PTL_OK);
    pm_sleep_ns(1000000);
    pm_barrier();
    if (pm_rank() != 1) continue;
    T_append_ns[k] = -pm_now_ns();
    CHECK(PtlMEAppend(p.ni, pt, &other, PTL_PRIORITY_LIST, NULL, &handle) == PTL_OK);
    wait_for(eq, PTL_EVENT_LINK);
    T_append_ns[k] += pm_now_ns();
    CHECK(PtlMEUnlink(handle) == PTL_OK);
  }
  if (pm_rank() == 1) {
    const ptl_me_t all = early_entry(0, ~(uint64_t)0, 0);
    CHECK(PtlMESearch(p.ni, pt, &all, PTL_SEARCH_DELETE, NULL) == PTL_OK);
    for (; W.ends < EARLY; W.ends++)
      W.bad += wait_for(eq, PTL_EVENT_PUT_OVERFLOW).match_bits != (ptl_match_bits_t)W.ends;
  }
  port_close(&p);
}
static void an_append_takes_a_cycle_per_unexpected_header(void) {
  pm_platform platform = pm_platform_bxi2(2);
  const double period_ns = 36e9 / platform.link_bytes_per_s;
  memset(&W, 0, sizeof W);
  run_level(&platform, PM_LINK_CARRIER, headers_body, NULL);
  CHECK(W.ends == EARLY && W.bad == 0);
  CHECK_NEAR((double)(T_append_ns[2] - T_append_ns[1]), 500 * period_ns, 2 * period_ns + 1);
  CHECK_NEAR((double)(T_append_ns[3] - T_append_ns[2]), (COSIM_HEADERS_MAX - 501) * period_ns,
             2 * period_ns + 1);
  printf("  an append that finds nothing among 1, 501, %d unexpected headers: %d, %d, %d ns\n",
         EARLY, (int)T_append_ns[1], (int)T_append_ns[2], (int)T_append_ns[3]);
}

static void refused(pm_platform platform, const pm_faults *faults, const char *field) {
  pm_world_desc desc = {0};
  pm_world *world;
  desc.platform = &platform, desc.carrier = pm_rtl_carrier(rtl);
  if (faults) desc.faults = *faults;
  CHECK(pm_world_create(&desc, &world) == PM_E_INVAL && !world);
  CHECK(strstr(pm_rtl_error(rtl), field) != NULL);
}
static void what_rtl_cannot_be_is_refused_by_name(void) {
  pm_platform p = pm_platform_bxi2(65);
  pm_faults faults = {0};
  pm_world_desc desc = {0};
  pm_world *world;
  refused(p, NULL, "node_count");
  p.node_count = 2, p.link_bytes_per_s = 1;
  refused(p, NULL, "link_bytes_per_s");
  p = pm_platform_bxi2(16);
  p.topology = PM_TOPO_FATTREE; /* of 8 nodes and 4 cables up */
  p.topo[0] = 2, p.topo[1] = 8, p.topo[2] = 2, p.topo[3] = 1, p.topo[4] = 4;
  refused(p, NULL, "topology");
  faults.loss_ratio = 0.1;
  refused(pm_platform_bxi2(2), &faults, "e2e_retry_ns");
  memset(&faults, 0, sizeof faults);
  faults.slow_node = 1, faults.slow_ratio = 2;
  refused(pm_platform_bxi2(2), &faults, "slow_node");
  p = pm_platform_bxi2(2);
  desc.platform = &p, desc.link = PM_LINK_CARRIER; /* and none given */
  CHECK(pm_world_create(&desc, &world) == PM_E_INVAL);
  desc.link = PM_LINK_FLOW;
  CHECK(pm_world_create(&desc, &world) == PM_OK);
  pm_world_set_link(world, PM_LINK_CARRIER);
  CHECK(strstr(pm_world_error(world), "no carrier") != NULL);
  pm_world_destroy(world);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  rtl = pm_rtl_create();
  RUN(puts_gets_atomics_are_the_same_on_all_levels);
  RUN(levels_change_while_messages_are_under_way);
  RUN(nothing_is_lost_under_faults);
  RUN(many_under_way_are_all_delivered);
  RUN(the_nic_computes_like_the_model);
  RUN(the_nic_computes_many_like_the_model);
  RUN(random_calls_on_complex_doubles_agree);
  RUN(failures_are_told_as_elsewhere);
  RUN(stamps_are_in_order);
  RUN(collectives_are_right_on_all_levels);
  RUN(random_lists_are_searched_alike);
  RUN(a_pairs_messages_take_entries_in_their_order);
  RUN(the_nic_passes_over_entries_without_room);
  RUN(the_nic_refuses_what_the_model_refuses);
  RUN(the_nics_find_the_entries_that_the_model_takes);
  RUN(lists_change_while_messages_come);
  RUN(a_long_list_takes_a_cycle_per_entry);
  RUN(an_append_takes_a_cycle_per_unexpected_header);
  RUN(triggers_before_the_first_message_are_the_nics);
  RUN(what_rtl_cannot_be_is_refused_by_name);
  pm_rtl_destroy(rtl);
  return TEST_END();
}
