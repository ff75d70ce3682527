/* What the NIC does without its host: counters release puts, gets and atomics, CTInc and CTSet change counters; a
 * barrier, chains, order, windows, failures and faults. The rules of one counter are tested in ct.cpp. */
#include "tests/rtl/cosim.h"

enum { NICS = 8, ROUNDS = 3, BARRIERS = 6 };
static unsigned Lose_percent;
static int Lose_answers;
static cosim_fault lose(void *ctx, int src, int dst, const cosim_packet *p) {
  (void)ctx, (void)src, (void)dst;
  if (Lose_answers && p->header >> 2 & 1) return COSIM_LOSE;
  return test_below(100) < Lose_percent ? COSIM_LOSE : COSIM_PASS;
}
static cosim *start_with(cosim_desc d) {
  d.fault = lose;
  Lose_answers = 0, Lose_percent = 0;
  return host_start(&d);
}
static cosim *start(int nics) { return start_with(host_near_desc(nics)); }
static uint64_t counter(cosim *sim, int nic, int ct, int half) {
  const uint32_t at = COSIM_CT + 32u * (uint32_t)ct + (uint32_t)half;
  const uint32_t low = cosim_read(sim, nic, at);
  return low | (uint64_t)cosim_read(sim, nic, at + 4) << 32;
}
static uint64_t copy_of(int nic, int ct) {
  uint64_t value;
  memcpy(&value, H.memory[nic] + HOST_CT + 16 * ct, sizeof value);
  return value;
}
static void copied(cosim *sim, int nic, int ct) {
  cosim_write(sim, nic, COSIM_CT + 32u * (uint32_t)ct + COSIM_CT_COPY_LO,
              HOST_CT + 16u * (uint32_t)ct);
}
static void settle(cosim *sim, int nic) {
  while (cosim_read(sim, nic, COSIM_TRIGGER + COSIM_TRIGGER_BUSY)) {}
}
static cosim_command add_to(int ct, uint64_t success) {
  cosim_command c = host_command(COSIM_KIND_CT_INC, 0, 0, 0, 0);
  c.ct = ct, c.operand[0] = success;
  return c;
}

/* Dissemination: in round r each NIC tells the one 2^r behind it, when round r - 1 is over. Counter r counts the
   one who told in round r - 1 and the NIC itself. All barriers are armed before the first begins; the host writes
   one counter to enter and looks at a copy in its memory to leave. */
static void barrier_arm(cosim *sim, int nic) {
  int index = 0;
  for (int r = 0; r < ROUNDS; r++) {
    cosim_entry e = host_entry(0x20000, 0x10000, 100 + (unsigned)r);
    e.pt = 1, e.no_events = 1, e.ct = r + 1;
    cosim_append(sim, nic, r, &e);
  }
  copied(sim, nic, ROUNDS);
  for (int k = 1; k <= BARRIERS; k++)
    for (int r = 0; r < ROUNDS; r++) {
      cosim_command c = host_command(COSIM_KIND_PUT, (nic + (1 << r)) % NICS, 100 + (unsigned)r, 0, 0),
                    inc = add_to(r + 1, 1);
      const uint64_t threshold = (uint64_t)(r ? 2 * k : k);
      c.pt = 1, c.payload = COSIM_PAY_INLINE, c.want_ack = 0;
      cosim_trigger(sim, nic, 0, index++, r, threshold, &c);
      cosim_trigger(sim, nic, 0, index++, r, threshold, &inc);
    }
}
static int64_t barriers(const cosim_desc *desc, unsigned loss) {
  cosim *sim = start_with(*desc);
  int64_t least = 1 << 30;
  for (int nic = 0; nic < NICS; nic++) barrier_arm(sim, nic);
  for (int nic = 0; nic < NICS; nic++) settle(sim, nic);
  if (loss) /* repetitions soon: a way takes 200 cycles */
    for (int nic = 0; nic < NICS; nic++) cosim_write(sim, nic, COSIM_TIMEOUT, 800);
  Lose_percent = loss;
  for (int k = 1; k <= BARRIERS; k++) {
    int order[NICS], left = NICS;
    int64_t t_last;
    for (int i = 0; i < NICS; i++) order[i] = i;
    for (int i = NICS - 1; i > 0; i--) {
      const int j = (int)test_below((uint64_t)i + 1), o = order[i];
      order[i] = order[j], order[j] = o;
    }
    for (int i = 0; i < NICS; i++) {
      cosim_cycles(sim, (int64_t)test_below(100));
      if (k == 1 && i == NICS - 1) cosim_cycles(sim, 1000); /* who does not wait would leave */
      for (int nic = 0; nic < NICS; nic++) CHECK(copy_of(nic, ROUNDS) < 2 * (uint64_t)k);
      cosim_write(sim, order[i], COSIM_CT + COSIM_CT_SUCCESS_LO, (uint32_t)k);
    }
    t_last = cosim_cycle(sim);
    for (int wait = 0; left && wait < 400000; wait++) {
      cosim_cycles(sim, 1);
      for (left = NICS; left && copy_of(left - 1, ROUNDS) == 2 * (uint64_t)k;) left--;
    }
    CHECK(!left);
    if (cosim_cycle(sim) - t_last < least) least = cosim_cycle(sim) - t_last;
  }
  for (int nic = 0; nic < NICS; nic++) {
    for (int r = 0; r <= ROUNDS; r++)
      CHECK(counter(sim, nic, r, 0) == (uint64_t)BARRIERS * (r ? 2 : 1) && !counter(sim, nic, r, 8));
    for (int w = 0; w < 8; w++)
      CHECK(!cosim_read(sim, nic, COSIM_TRIGGER + COSIM_TRIGGER_VALID + 4 * (uint32_t)w));
  }
  cosim_destroy(sim);
  return least;
}
static void a_barrier_needs_no_host(void) {
  cosim_desc d = host_desc(NICS);
  d.mmio_ps = 20000, d.host_write_ps = 400000; /* read often, and a host is far all the same */
  const int64_t bus = d.mmio_ps + d.host_write_ps, link = d.link_latency_ps;
  const int64_t least = barriers(&d, 0) * d.period_ps;
  printf("  8 NICs, 3 rounds: %d ns after the last one entered all may leave\n", (int)(least / 1000));
  /* one way over the bus, three over the link, one back: a host on the way would add two for each round */
  CHECK(least > bus + 3 * link && least < bus + 3 * link + 4 * 40 * d.period_ps);
}
static void a_barrier_survives_loss(void) {
  const cosim_desc d = host_near_desc(NICS);
  barriers(&d, 10);
}

/* A message makes NIC 1 fetch data of NIC 2, add to a word there, set a counter and send the data on */
static void a_chain_goes_its_way(void) {
  cosim *sim = start(3);
  cosim_entry e = host_entry(0x20000, 0x10000, 7);
  cosim_command c;
  cosim_event ev;
  uint64_t word = 1000, sum;
  e.no_events = 1;
  for (int nic = 0; nic < 3; nic++) {
    e.ct = nic == 1 ? 1 : -1;
    cosim_append(sim, nic, 0, &e);
  }
  host_fill(2, 0x20000, 3000);
  memcpy(H.memory[2] + 0x28000, &word, 8);
  c = host_command(COSIM_KIND_GET, 2, 7, 0x30000, 3000), c.ct = 2, c.user = 11;
  cosim_trigger(sim, 1, 0, 0, 1, 1, &c);
  c = host_command(COSIM_KIND_FETCH, 2, 7, 0x31000, 8), c.ct = 3, c.user = 12;
  c.op = COSIM_OP_SUM, c.size_log2 = 3, c.operand[0] = 34, c.offset = 0x8000;
  cosim_trigger(sim, 1, 1, 1, 2, 3000, &c); /* of the other class, when all bytes are there */
  c = host_command(COSIM_KIND_CT_SET, 0, 0, 0, 0), c.ct = 4, c.operand[0] = 1ull << 40;
  cosim_trigger(sim, 1, 0, 2, 3, 1, &c);
  c = host_command(COSIM_KIND_PUT, 0, 7, 0x30000, 3000), c.user = 13;
  cosim_trigger(sim, 1, 0, 3, 4, 1ull << 40, &c);
  /* of the get count bytes */
  c = host_command(COSIM_KIND_GET, 2, 7, 0x30000, 3000), c.ct = 2, c.ct_bytes = 1, c.user = 11;
  cosim_write(sim, 1, COSIM_TRIGGER + COSIM_TRIGGER_CANCEL, 1);
  cosim_trigger(sim, 1, 0, 0, 1, 1, &c);
  settle(sim, 1);
  CHECK(!host_event(sim, 1, &ev));
  c = host_command(COSIM_KIND_PUT, 1, 7, 0x1000, 8);
  cosim_submit(sim, 0, 0, &c, NULL);
  static const uint64_t users[] = {11, 12, 13};
  for (int i = 0; i < 3; i++) {
    CHECK(host_event_wait(sim, 1, &ev, 40000));
    CHECK(ev.user == users[i] && ev.status == COSIM_OK && ev.slot >= COSIM_SLOTS);
    CHECK(ev.moved_bytes == (i == 1 ? 8u : 3000u));
  }
  CHECK(memcmp(H.memory[0] + 0x20000, H.memory[2] + 0x20000, 3000) == 0);
  memcpy(&sum, H.memory[2] + 0x28000, 8), memcpy(&word, H.memory[1] + 0x31000, 8);
  CHECK(word == 1000 && sum == 1034);
  CHECK(counter(sim, 1, 2, 0) == 3000 && counter(sim, 1, 4, 0) == 1ull << 40);
  cosim_destroy(sim);
}

/* Thresholds at random, released by single counts and by jumps; the target sees them in order, each once */
static void messages_leave_in_order_of_threshold(void) {
  enum { COUNT = 120 };
  cosim *sim = start(2);
  cosim_entry e = host_entry(0x20000, 0x10000, 7);
  uint64_t threshold[COUNT], value = 0, last = 0;
  cosim_event ev;
  int arrived = 0;
  cosim_append(sim, 1, 0, &e);
  for (int i = 0; i < COUNT; i++) {
    cosim_command c = host_command(COSIM_KIND_PUT, 1, 7, 0, 8);
    threshold[i] = 1 + test_below(60);
    c.payload = COSIM_PAY_INLINE, c.hdr_data = threshold[i] << 32 | (unsigned)i, c.want_ack = 0;
    cosim_trigger(sim, 0, 0, i + 100, 5, threshold[i], &c);
  }
  settle(sim, 0); /* a place in a long list is looked for longer than the host writes: the bus waited */
  CHECK(cosim_counter(sim, 0, COSIM_COUNT_BAD_CMD) == 0);
  while (arrived < COUNT) {
    int due = 0;
    value += 1 + (test_below(4) ? 0 : test_below(30));
    cosim_command c = add_to(5, 1);
    cosim_write(sim, 0, COSIM_CT + 5 * 32, (uint32_t)value - 1);
    cosim_trigger(sim, 0, 0, 0, 6, 0, &c); /* at once */
    settle(sim, 0);
    for (int i = 0; i < COUNT; i++) due += threshold[i] <= value;
    while (arrived < due) {
      if (!host_event_wait(sim, 1, &ev, 40000)) {
        CHECK(0);
        cosim_destroy(sim);
        return;
      }
      CHECK(ev.hdr_data > last && ev.hdr_data >> 32 <= value);
      last = ev.hdr_data;
      arrived++;
    }
    cosim_cycles(sim, 300);
    CHECK(!host_event(sim, 1, &ev));
  }
  cosim_destroy(sim);
}

/* 32 commands of the host and 40 released ones to one peer that cannot answer for a while: no more than 32 are under
   way, each counts once, and each brings back a value of its own */
static void released_messages_keep_to_the_window(void) {
  enum { COUNT = 72 };
  cosim *sim = start(2);
  cosim_entry e = host_entry(0x20000, 0x10000, 7);
  unsigned char seen[COUNT] = {0};
  uint64_t word;
  e.no_events = 1;
  cosim_append(sim, 1, 0, &e);
  cosim_cycles(sim, 500);
  Lose_answers = 1;
  for (int i = 0; i < COUNT; i++) {
    cosim_command c = host_command(COSIM_KIND_FETCH, 1, 7, 0x30000 + 8u * (unsigned)i, 8);
    c.op = COSIM_OP_SUM, c.size_log2 = 3, c.operand[0] = 1;
    if (i < 32)
      cosim_submit(sim, 0, 0, &c, NULL);
    else
      cosim_trigger(sim, 0, 0, i, 0, 1, &c);
  }
  cosim_write(sim, 0, COSIM_CT, 1);
  cosim_cycles(sim, 9000);
  memcpy(&word, H.memory[1] + 0x20000, 8);
  CHECK(word == 32);
  Lose_answers = 0;
  for (int n = 0; n < COUNT; n++) {
    cosim_event ev;
    CHECK(host_event_wait(sim, 0, &ev, 60000) && ev.status == COSIM_OK);
  }
  memcpy(&word, H.memory[1] + 0x20000, 8);
  CHECK(word == COUNT);
  for (int i = 0; i < COUNT; i++) {
    memcpy(&word, H.memory[0] + 0x30000 + 8 * i, 8);
    CHECK(word < COUNT && !seen[word]++);
  }
  cosim_destroy(sim);
}

/* What cannot be sent, and what nobody answers, counts as failure, and failures release too */
static void failures_release_what_waits(void) {
  cosim *sim = start(2);
  cosim_entry e = host_entry(0x20000, 0x10000, 7);
  cosim_command c = host_command(COSIM_KIND_PUT, 1, 7, 0x1000, 300);
  cosim_event ev;
  cosim_append(sim, 1, 0, &e);
  c.payload = COSIM_PAY_PIO, c.ct = 1, c.user = 21; /* there is no such payload for it */
  cosim_trigger(sim, 0, 0, 0, 0, 1, &c);
  c.payload = COSIM_PAY_DMA, c.dst = 40, c.user = 22; /* nobody is there */
  cosim_trigger(sim, 0, 0, 1, 1, 1, &c);
  c.dst = 1, c.user = 23, c.ct = -1;
  cosim_trigger(sim, 0, 0, 2, 1, 2, &c);
  cosim_write(sim, 0, COSIM_CT, 1);
  CHECK(host_event_wait(sim, 0, &ev, 9000) && ev.user == 21 && ev.status == COSIM_OPERATION);
  CHECK(host_event_wait(sim, 0, &ev, 90000) && ev.user == 22 && ev.status == COSIM_UNDELIVERABLE);
  CHECK(host_event_wait(sim, 0, &ev, 9000) && ev.user == 23 && ev.status == COSIM_OK);
  CHECK(counter(sim, 0, 1, 0) == 0 && counter(sim, 0, 1, 8) == 2);
  /* a number that is no trigger is counted */
  const uint64_t bad = cosim_counter(sim, 0, COSIM_COUNT_BAD_CMD);
  cosim_trigger(sim, 0, 0, COSIM_TRIGGERS, 0, 1, &c);
  settle(sim, 0);
  CHECK(cosim_counter(sim, 0, COSIM_COUNT_BAD_CMD) == bad + 1);
  cosim_destroy(sim);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(a_barrier_needs_no_host);
  RUN(a_barrier_survives_loss);
  RUN(a_chain_goes_its_way);
  RUN(messages_leave_in_order_of_threshold);
  RUN(released_messages_keep_to_the_window);
  RUN(failures_release_what_waits);
  return TEST_END();
}
