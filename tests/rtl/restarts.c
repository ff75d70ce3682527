/* A NIC is reset in any cycle, as when its node starts again, while messages of all kinds are under way to it and from it.
   What it was reading and writing ends with it, the other NICs neither hang nor take an answer that is not theirs, and when
   they have forgotten it all goes on. */
#include "tests/rtl/cosim.h"

enum { N = 3, SLOTS = 16, ROOM = 2048, ROUNDS = 24 };
#define SOURCE_AT 0x20000u /* by class and slot: what a put sends, filled anew for each */
#define STATIC_AT 0x30000u /* what gets read: never changes */
#define RESULT_AT 0x40000u /* by class and slot: where gets write */
#define TARGET_AT 0x50000u /* by sender, class and slot */
#define COUNT_AT  0xE0000u /* what atomics change */

typedef struct sent {
  bool is_open; /* it has no end yet */
  cosim_command c;
} sent;
static sent Sent[N][2][SLOTS];
static uint32_t Next[N][2];
static uint64_t Number;
static unsigned Ends[2], Lose; /* well, and not */
static int Lose_confirmations;
static cosim_fault fault(void *ctx, int src, int dst, const cosim_packet *p) {
  (void)ctx, (void)src, (void)dst;
  if (Lose_confirmations && (p->data[0] & 15) == COSIM_KIND_ACK_ACK) return COSIM_LOSE;
  return test_below(1000) < Lose ? (cosim_fault)(1 + test_below(5)) : COSIM_PASS;
}
static uint32_t place(int klass, int slot) { return (uint32_t)(klass * SLOTS + slot) * ROOM; }
static uint32_t target_of(int src, int klass, int slot) {
  return TARGET_AT + (uint32_t)src * 2 * SLOTS * ROOM + place(klass, slot);
}

/* What a driver writes when a node has started */
static void node_begins(cosim *sim, int nic) {
  memset(H.memory[nic] + HOST_EQ, 0, 256 * 64);
  H.events_taken[nic] = 0;
  cosim_write(sim, nic, COSIM_EQ + COSIM_EQ_BASE_LO, HOST_EQ);
  cosim_write(sim, nic, COSIM_EQ + COSIM_EQ_SIZE, 0x80000008u);
  cosim_write(sim, nic, COSIM_TIMEOUT, 1500), cosim_write(sim, nic, COSIM_RETRIES, 4);
  for (int src = 0; src < N; src++) {
    cosim_entry e = host_entry(target_of(src, 0, 0), 2 * SLOTS * ROOM, 0x100);
    e.op_get = 0, e.src = src, e.ct = src;
    cosim_append(sim, nic, 3 * src, &e);
    e = host_entry(STATIC_AT, 0x10000, 0x200), e.op_put = 0, e.src = src;
    cosim_append(sim, nic, 3 * src + 1, &e);
    e = host_entry(COUNT_AT, 4096, 0x300), e.src = src;
    cosim_append(sim, nic, 3 * src + 2, &e);
  }
  cosim_write(sim, nic, COSIM_PT_ENABLE, 0xFFFF);
  cosim_write(sim, nic, COSIM_CTRL, 1);
}
/* A command of a slot whose last one has ended */
static void send_one(cosim *sim, int src) {
  const int klass = (int)test_below(2), slot = (int)(Next[src][klass] % SLOTS), dst = (src + 1 + (int)test_below(N - 1)) % N;
  sent *s = &Sent[src][klass][slot];
  const uint32_t n = (uint32_t)test_below(test_below(3) ? 100 : ROOM), at = place(klass, slot);
  cosim_command *c = &s->c;
  if (s->is_open) return;
  switch (test_below(4)) {
  case 0:
    *c = host_command(COSIM_KIND_GET, dst, 0x200, RESULT_AT + at, n);
    c->offset = test_below(0xF000);
    memset(H.memory[src] + RESULT_AT + at, 0x5A, ROOM);
    break;
  case 1:
    *c = host_command(COSIM_KIND_FETCH, dst, 0x300, RESULT_AT + at, 8);
    c->op = COSIM_OP_SUM, c->size_log2 = 3, c->operand[0] = 1, c->offset = 8 * test_below(64);
    break;
  default:
    *c = host_command(COSIM_KIND_PUT, dst, 0x100, SOURCE_AT + at, n < 8 ? 8 : n);
    c->offset = at;
    host_fill(src, SOURCE_AT + at, ROOM);
    if (n <= 16) c->payload = COSIM_PAY_INLINE, memcpy(c->operand, H.memory[src] + c->addr, 16);
  }
  c->user = c->hdr_data = ++Number << 16 | (uint64_t)(klass * SLOTS + slot);
  s->is_open = 1;
  Next[src][klass]++;
  cosim_submit(sim, src, klass, c, NULL);
}
/* What is said to have gone well did so */
static void ended(int nic, const cosim_event *e) {
  sent *s = &Sent[nic][e->user / SLOTS & 1][e->user % SLOTS];
  const cosim_command *c = &s->c;
  CHECK(s->is_open && c->user == e->user);
  s->is_open = 0;
  Ends[e->status != COSIM_OK]++;
  if (e->status != COSIM_OK) return;
  if (c->kind == COSIM_KIND_PUT)
    CHECK(!memcmp(H.memory[c->dst] + target_of(nic, 0, 0) + c->offset, H.memory[nic] + c->addr, c->size_bytes));
  if (c->kind == COSIM_KIND_GET)
    CHECK(!memcmp(H.memory[c->dst] + STATIC_AT + c->offset, H.memory[nic] + c->addr, c->size_bytes));
}
static void take_events(cosim *sim, int nic) {
  cosim_event e;
  while (host_event(sim, nic, &e))
    if (e.type == COSIM_EV_ACK || e.type == COSIM_EV_REPLY) ended(nic, &e);
}
static int open_count(int nic) {
  int n = 0;
  for (int i = 0; i < 2 * SLOTS; i++) n += Sent[nic][i / SLOTS][i % SLOTS].is_open;
  return n;
}
/* Traffic of all but one (N: of all) for so many cycles */
static void traffic(cosim *sim, int without, int64_t cycles) {
  const int64_t end = cosim_cycle(sim) + cycles;
  while (cosim_cycle(sim) < end) {
    for (int i = 0; i < N; i++)
      if (i != without) {
        if (test_below(3) == 0) send_one(sim, i);
        take_events(sim, i);
      }
    cosim_cycles(sim, 1 + (int64_t)test_below(60));
  }
}
/* Until all that is open has ended */
static void all_end(cosim *sim, int without) {
  int open = 1;
  for (int i = 0; i < 6000 && open; i++) {
    cosim_cycles(sim, 40);
    open = 0;
    for (int k = 0; k < N; k++)
      if (k != without) take_events(sim, k), open += open_count(k);
  }
  CHECK(open == 0);
}
/* It reads as a NIC does that was never used */
static void is_as_new(cosim *sim, int nic) {
  for (uint32_t at = COSIM_IRQ_STATUS; at <= COSIM_HEADERS; at += 4)
    if (at != COSIM_UNCONFIRMED && at != COSIM_CLOCK_FRAC) /* the others know of nothing, and what they send is refused */
      CHECK(cosim_read(sim, nic, at) == 0);
  CHECK(cosim_read(sim, nic, COSIM_TIMEOUT) == 4000000 && cosim_read(sim, nic, COSIM_RETRIES) == 5);
  for (uint32_t at = 0; at < 32; at += 4) CHECK(cosim_read(sim, nic, COSIM_TRIGGER + COSIM_TRIGGER_VALID + at) == 0);
  for (uint32_t ct = 0; ct < COSIM_COUNTERS_MAX; ct++) CHECK(cosim_read(sim, nic, COSIM_CT + 32 * ct) == 0);
}
static void restart(cosim *sim, int victim) {
  static unsigned char before[HOST_BYTES];
  CHECK(cosim_reset(sim, victim, 1 + (int64_t)test_below(20)) == 0);
  memset(Sent[victim], 0, sizeof Sent[victim]), memset(Next[victim], 0, sizeof Next[victim]);
  (void)cosim_read(sim, victim, COSIM_ID); /* behind what it wrote before */
  memcpy(before, H.memory[victim], HOST_BYTES);
  is_as_new(sim, victim);
  traffic(sim, victim, 4000);
  all_end(sim, victim);
  cosim_cycles(sim, 3000);
  CHECK(!memcmp(before, H.memory[victim], HOST_BYTES)); /* its new life has been given nothing yet */
  for (int i = 0; i < N; i++)
    if (i != victim) {
      cosim_write(sim, i, COSIM_CLEAR_PEER, (uint32_t)victim);
      cosim_write(sim, victim, COSIM_CLEAR_PEER, (uint32_t)i); /* it has heard what they sent to its former life */
    }
  cosim_cycles(sim, 1000);
  node_begins(sim, victim);
  cosim_cycles(sim, 1000);
}
static void restarts(unsigned lose, cosim_stall stall) {
  Stall = stall, Lose = lose, Ends[0] = Ends[1] = 0, Number = 0;
  cosim_desc d = host_near_desc(N);
  d.fault = fault, d.fault_delay_ps = 300000;
  cosim *sim = host_start(&d);
  memset(Sent, 0, sizeof Sent), memset(Next, 0, sizeof Next);
  for (int i = 0; i < N; i++) host_fill(i, STATIC_AT, 0x10000), node_begins(sim, i);
  cosim_cycles(sim, 1000);
  for (int round = 0; round < ROUNDS; round++) {
    const int victim = (int)test_below(N);
    const unsigned well = Ends[0];
    traffic(sim, N, 1000 + (int64_t)test_below(2000));
    restart(sim, victim);
    traffic(sim, N, 1500);
    all_end(sim, N);
    CHECK(Ends[0] > well);
    const unsigned failed = Ends[1];
    if (!lose) traffic(sim, N, 1000), all_end(sim, N);
    CHECK(lose || Ends[1] == failed); /* all are as if nothing had been */
  }
  cosim_cycles(sim, 3000);
  for (int i = 0; i < N; i++) {
    take_events(sim, i);
    CHECK(cosim_read(sim, i, COSIM_ME_IN_USE) == 0 && cosim_read(sim, i, COSIM_CTRL) == 3);
    CHECK(lose || cosim_read(sim, i, COSIM_UNCONFIRMED) == 0);
    CHECK(cosim_counter(sim, i, COSIM_COUNT_HOST_ERR) == 0 && cosim_counter(sim, i, COSIM_COUNT_BAD_CMD) == 0);
    CHECK(lose || cosim_counter(sim, i, COSIM_COUNT_BAD_MSG) == 0);
  }
  CHECK(H.wild == 0);
  printf("  %u messages ended well, %u failed\n", Ends[0], Ends[1]);
  cosim_destroy(sim);
}
static void a_nic_is_reset_in_any_cycle(void) { restarts(0, COSIM_STALL_NONE); }
static void a_nic_is_reset_while_the_bus_stalls(void) { restarts(0, COSIM_STALL_ADVERSE); }
static void a_nic_is_reset_among_faults(void) { restarts(10, COSIM_STALL_RANDOM); }

/* The peer has not been told that the NIC began anew, and has the result of its first message still: that is no answer to
   the first one of the new life, of the same number and slot */
static void a_result_of_a_former_life_is_no_answer(void) {
  Stall = COSIM_STALL_NONE, Lose = 0;
  cosim_desc d = host_near_desc(2);
  d.fault = fault;
  cosim *sim = host_start(&d);
  cosim_command c = host_command(COSIM_KIND_PUT, 1, 0x100, 0, 8);
  cosim_event e;
  c.payload = COSIM_PAY_INLINE;
  for (int i = 0; i < 2; i++) node_begins(sim, i);
  cosim_cycles(sim, 500);
  Lose_confirmations = 1;
  c.user = 1, cosim_submit(sim, 0, 0, &c, NULL);
  CHECK(host_event_wait(sim, 0, &e, 4000) && e.status == COSIM_OK && e.user == 1);
  CHECK(host_event_wait(sim, 1, &e, 4000) && e.type == COSIM_EV_PUT);
  host_settle(sim);
  Lose_confirmations = 0;
  CHECK(cosim_reset(sim, 0, 4) == 0);
  node_begins(sim, 0);
  cosim_cycles(sim, 500);
  c.user = 2, cosim_submit(sim, 0, 0, &c, NULL);
  CHECK(host_event_wait(sim, 0, &e, 40000) && e.user == 2 && e.status == COSIM_UNDELIVERABLE);
  CHECK(!host_event(sim, 1, &e));
  host_settle(sim);
  cosim_write(sim, 1, COSIM_CLEAR_PEER, 0), cosim_write(sim, 0, COSIM_CLEAR_PEER, 1);
  cosim_cycles(sim, 500);
  c.user = 3, cosim_submit(sim, 0, 0, &c, NULL);
  CHECK(host_event_wait(sim, 0, &e, 4000) && e.user == 3 && e.status == COSIM_OK);
  CHECK(host_event_wait(sim, 1, &e, 4000) && e.type == COSIM_EV_PUT);
  cosim_destroy(sim);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(a_nic_is_reset_in_any_cycle);
  RUN(a_nic_is_reset_while_the_bus_stalls);
  RUN(a_nic_is_reset_among_faults);
  RUN(a_result_of_a_former_life_is_no_answer);
  return TEST_END();
}
