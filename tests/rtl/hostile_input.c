/* Malformed commands, hostile packets and random register accesses: the NIC counts them, touches nothing
   that it was not given, and goes on working. HOSTILE_INPUTS sets how many (default 12000). */
#include "tests/rtl/cosim.h"

/* A put of its own class and peer goes through within the time that a healthy NIC needs. Sequence numbers
   may be confused by packets that pretended to come from the peer: both sides forget them first. Contexts
   that were renamed or switched off get back what they are after reset. */
static void still_works(cosim *sim) {
  cosim_event ev;
  cosim_entry e = host_entry(0x40000, 64, 0xA11u);
  int seen = 0;
  /* timeouts of what may still be open */
  for (int i = 0; i < 2000 && !cosim_idle(sim); i++) cosim_cycles(sim, 30);
  cosim_cycles(sim, 1000);
  for (int i = 0; i < 2; i++) {
    for (uint32_t k = 0; k < 64; k++)
      cosim_write(sim, i, COSIM_CLEAR_PEER, k), cosim_cycles(sim, 20);
    cosim_cycles(sim, 2000);
    for (int list = 0; list < 256 && cosim_read(sim, i, COSIM_HEADERS); list++) {
      cosim_entry all = host_entry(0, 0, 0);
      all.ctx = list / 16, all.pt = list % 16, all.pid = -1, all.ignore_bits = ~0ull,
      all.no_over = 1;
      cosim_search(sim, i, COSIM_ME_DELETE, &all);
      cosim_cycles(sim, 100);
    }
    CHECK(cosim_read(sim, i, COSIM_HEADERS) == 0);
    for (uint32_t bank = 0; bank < COSIM_ENTRIES / 32; bank++) {
      cosim_write(sim, i, COSIM_ME_BANK, bank);
      const uint32_t valid = cosim_read(sim, i, COSIM_ME_VALID);
      for (uint32_t k = 0; k < 32; k++)
        if (valid >> k & 1)
          cosim_write(sim, i, COSIM_ME_UNLINK, 32 * bank + k), cosim_cycles(sim, 60);
      CHECK(cosim_read(sim, i, COSIM_ME_VALID) == 0);
    }
    for (uint32_t c = 0; c < COSIM_CONTEXTS; c++)
      for (uint32_t k = 0; k < 4; k++)
        cosim_write(sim, i, COSIM_CTX + c * 16 + k * 4, c + k ? 0 : 0x80000000u);
    cosim_write(sim, i, COSIM_PT_ENABLE, 0xFFFF);
    cosim_write(sim, i, COSIM_CTRL, 1);
    cosim_write(sim, i, COSIM_SELF, (uint32_t)i);
    cosim_write(sim, i, COSIM_TIMEOUT, 1000);
    cosim_write(sim, i, COSIM_EQ + COSIM_EQ_BASE_LO, HOST_EQ);
    cosim_write(sim, i, COSIM_EQ + COSIM_EQ_BASE_HI, 0);
    cosim_write(sim, i, COSIM_EQ + COSIM_EQ_SIZE, 0x80000008u);
    H.events_taken[i] = 0;
    memset(H.memory[i] + HOST_EQ, 0, 256 * 64);
  }
  cosim_cycles(sim, 1000);
  cosim_append(sim, 1, 9, &e);
  CHECK(cosim_read(sim, 0, COSIM_CMD0_HEAD) == cosim_read(sim, 0, COSIM_CMD0_TAIL));
  uint32_t words[16], slot = cosim_read(sim, 0, COSIM_CMD0_HEAD) % COSIM_SLOTS;
  cosim_command c = host_command(COSIM_KIND_PUT, 1, 0xA11u, 0x1000, 48);
  cosim_command_pack(&c, words);
  for (uint32_t i = 0; i < 16; i++) cosim_write(sim, 0, COSIM_CMD0 + slot * 64 + i * 4, words[i]);
  for (int i = 0; i < 4 && !seen; i++)
    if (host_event_wait(sim, 0, &ev, 20000))
      seen = ev.type == COSIM_EV_ACK && ev.status == COSIM_OK;
  CHECK(seen);
  CHECK(host_event_wait(sim, 1, &ev, 20000) && ev.type == COSIM_EV_PUT);
  CHECK(!memcmp(H.memory[0] + 0x1000, H.memory[1] + 0x40000, 48));
}

static long inputs(void) {
  const char *n = getenv("HOSTILE_INPUTS");
  return n ? atol(n) : 12000;
}

/* A packet with a good CRC and any content, of a peer from least_src on; half of them look like messages to real entries */
static cosim_packet hostile(uint32_t to, uint32_t least_src) {
  cosim_packet p;
  p.header = (uint32_t)test_rand();
  for (int k = 0; k < 16; k++) p.data[k] = (uint32_t)test_rand();
  if (test_below(4)) p.header = (p.header & ~(63u << 20)) | to << 20; /* to this NIC */
  if (test_below(2)) { /* kind, portal index, size, match, offset that mean something */
    p.header &= ~(0xFFu << 12 | 0xF0u) | (uint32_t)test_below(4)
                                             << 12; /* small sequence numbers, from few */
    p.header &= ~(62u << 26);
    p.data[0] = (uint32_t)test_below(11) | (uint32_t)test_below(8) << 4 |
                (uint32_t)test_below(20) << 7 | (uint32_t)test_below(2) << 16;
    p.data[1] = (uint32_t)test_below(test_below(2) ? 20 : 10000);
    p.data[2] = (uint32_t)test_below(5), p.data[3] = 0;
    p.data[4] = (uint32_t)test_below(8192), p.data[5] = test_below(20) ? 0 : 0xFFFFFFFFu;
    if (test_below(2)) p.header |= 3;
  }
  if (p.header >> 26 < least_src) p.header = (p.header & ~(63u << 26)) | least_src << 26;
  p.crc = cosim_packet_crc(&p) ^ (uint32_t)(test_below(8) == 0);
  return p;
}
static void packets(void) {
  cosim_desc d = host_near_desc(2);
  cosim *sim = host_start(&d);
  for (int k = 0; k < 4; k++) {
    cosim_entry e = host_entry(0x20000 + 0x1000 * (uint32_t)k, 0x1000, (uint64_t)k);
    e.manage_local = k & 1, e.use_once = k >> 1;
    cosim_append(sim, 1, k, &e);
  }
  host_fill(0, 0x1000, 64);
  memset(H.memory[1], 0x77, 0x20000);
  memset(H.memory[1] + 0x30000, 0x77, HOST_EQ - 0x30000);
  cosim_write(sim, 1, COSIM_RETRIES, 1);
  for (long i = 0; i < inputs(); i++) {
    const cosim_packet p = hostile(1, 0);
    cosim_inject(sim, 1, &p);
    cosim_cycles(sim, 2 + (int64_t)test_below(test_below(4) ? 8 : 30));
  }
  CHECK(cosim_counter(sim, 1, COSIM_COUNT_BAD_MSG) > 10);
  int touched = 0; /* bytes before and behind the entries */
  for (uint32_t i = 0; i < HOST_EQ; i++)
    touched += (i < 0x20000 || i >= 0x30000) && H.memory[1][i] != 0x77;
  CHECK(touched == 0);
  CHECK(H.wild == 0);
  still_works(sim);
  cosim_destroy(sim);
}

/* All faults at once, on buses that stall, while others send hostile packets to both: what NIC 0 puts and gets at NIC 1 is
   done once, in order and whole. A hostile packet may come twice, or again behind others. */
enum { REAL_SLOTS = 16, REAL_ROOM = 256, REAL_AT = 0x60000, RESULT_AT = 0x70000 };
static cosim_command Real[2][REAL_SLOTS]; /* under way, by class and slot; user 0: none */
static uint64_t Sent[2], Came[2], Ended;
static cosim_fault any_fault(void *ctx, int src, int dst, const cosim_packet *p) {
  (void)ctx, (void)src, (void)dst, (void)p;
  return test_below(1000) < 40 ? (cosim_fault)(1 + test_below(5)) : COSIM_PASS;
}
static void real_sends(cosim *sim) {
  const int klass = (int)test_below(2), slot = (int)(Sent[klass] % REAL_SLOTS);
  cosim_command *c = &Real[klass][slot];
  const uint32_t at = (uint32_t)(klass * REAL_SLOTS + slot) * REAL_ROOM;
  if (c->user) return;
  *c = host_command(test_below(3) ? COSIM_KIND_PUT : COSIM_KIND_GET, 1, 0xA11u, 0x8000 + at, (uint32_t)test_below(test_below(4) ? 17 : 120));
  if (c->kind == COSIM_KIND_GET) c->addr = RESULT_AT + at;
  if (c->kind == COSIM_KIND_PUT && c->size_bytes <= 16) c->payload = COSIM_PAY_INLINE;
  host_fill(0, (uint32_t)c->addr, REAL_ROOM);
  memcpy(c->operand, H.memory[0] + c->addr, 16);
  c->offset = at, c->user = ++Sent[klass], c->hdr_data = c->user << 1 | (uint64_t)klass;
  cosim_submit(sim, 0, klass, c, NULL);
}
static void real_ends(cosim *sim) {
  cosim_event e;
  while (host_event(sim, 0, &e)) {
    cosim_command *c = &Real[e.hdr_data & 1][(e.user - 1) % REAL_SLOTS];
    CHECK(e.status == COSIM_OK && e.user == c->user && e.moved_bytes == c->size_bytes);
    CHECK(!memcmp(H.memory[0] + c->addr, H.memory[1] + REAL_AT + c->offset, c->size_bytes));
    c->user = 0, Ended++;
  }
  while (host_event(sim, 1, &e)) { /* a get's may come behind a put's */
    CHECK(e.status == COSIM_OK && e.peer == 0);
    if (e.type != COSIM_EV_PUT) continue;
    CHECK(e.hdr_data >> 1 > Came[e.hdr_data & 1]);
    Came[e.hdr_data & 1] = e.hdr_data >> 1;
  }
}
static void hostile_packets_among_all_faults(void) {
  cosim_desc d = host_near_desc(2);
  cosim_packet held = hostile(1, 2);
  d.fault = any_fault, d.fault_delay_ps = 200000;
  cosim *sim = host_start(&d);
  cosim_entry e = host_entry(REAL_AT, 2 * REAL_SLOTS * REAL_ROOM, 0xA11u);
  e.src = 0;
  cosim_append(sim, 1, 0, &e);
  for (int nic = 0; nic < 2; nic++)
    for (int k = 0; k < 4; k++) {
      e = host_entry(0x20000 + 0x1000 * (uint32_t)k, 0x1000, (uint64_t)k);
      e.manage_local = k & 1, e.use_once = k >> 1, e.no_events = 1;
      cosim_append(sim, nic, 1 + k, &e);
    }
  memset(Real, 0, sizeof Real), memset(Sent, 0, sizeof Sent), memset(Came, 0, sizeof Came), Ended = 0;
  cosim_write(sim, 0, COSIM_RETRIES, 15), cosim_write(sim, 0, COSIM_TIMEOUT, 700);
  cosim_write(sim, 1, COSIM_RETRIES, 1);
  host_settle(sim);
  for (long i = 0; i < inputs() / 2; i++) {
    const int to = (int)test_below(4) == 0 ? 0 : 1;
    const cosim_packet p = test_below(8) ? hostile((uint32_t)to, 2) : held;
    if (test_below(8) == 0) held = p;
    cosim_inject(sim, to, &p);
    if (test_below(16) == 0) cosim_inject(sim, to, &p);
    if (test_below(4) == 0) real_sends(sim);
    cosim_cycles(sim, 2 + (int64_t)test_below(test_below(4) ? 10 : 60));
    real_ends(sim);
  }
  for (int i = 0; i < 4000 && Ended < Sent[0] + Sent[1]; i++) cosim_cycles(sim, 30), real_ends(sim);
  CHECK(Ended == Sent[0] + Sent[1] && Ended > 50);
  CHECK(H.wild == 0 && cosim_counter(sim, 0, COSIM_COUNT_UNDELIVERED) == 0);
  printf("  %ld hostile packets, %u messages among them, %lld cycles\n", inputs() / 2, (unsigned)Ended, (long long)cosim_cycle(sim));
  still_works(sim);
  cosim_destroy(sim);
}

/* Commands with any content. Buffers lie in memory, on the failing page or nowhere */
static void commands(void) {
  cosim_desc d = host_near_desc(2);
  cosim *sim = host_start(&d);
  cosim_entry e = host_entry(0x20000, 0x1000, 0);
  uint64_t bad = 0;
  uint32_t expected = 0;
  e.ignore_bits = ~(uint64_t)0;
  cosim_append(sim, 1, 0, &e);
  cosim_write(sim, 0, COSIM_TIMEOUT, 500), cosim_write(sim, 0, COSIM_RETRIES, 2);
  for (long i = 0; i < inputs() / 24; i++) {
    cosim_command c;
    memset(&c, 0, sizeof c);
    c.kind = (int)test_below(16), c.dst = (int)test_below(4), c.pt = (int)test_below(20);
    c.op = (int)test_below(32), c.size_log2 = (int)test_below(4), c.payload = (int)test_below(4);
    c.size_bytes = test_below(8) ? (uint32_t)test_below(700) : (uint32_t)test_rand();
    c.addr = test_below(4) ? test_below(0x8000) : HOST_BAD + test_below(0x8000);
    c.ct = (int)test_below(17) - 1, c.want_ack = 1, c.match = test_rand();
    c.operand[0] = test_rand(), c.want_send = (int)test_below(2);
    if (c.size_bytes > COSIM_MAX_BYTES || c.kind > COSIM_KIND_FETCH) expected++;
    while (cosim_read(sim, 0, COSIM_CMD0_HEAD) - cosim_read(sim, 0, COSIM_CMD0_TAIL) > 20)
      cosim_cycles(sim, 100);
    cosim_submit(sim, 0, 0, &c, NULL);
    cosim_write(sim, 0, COSIM_EQ + COSIM_EQ_CONS, cosim_read(sim, 0, COSIM_EQ + COSIM_EQ_PROD));
    cosim_write(sim, 1, COSIM_EQ + COSIM_EQ_CONS, cosim_read(sim, 1, COSIM_EQ + COSIM_EQ_PROD));
    if (cosim_read(sim, 0, COSIM_CMD0_HEAD) == 0) CHECK(i < 2);
  }
  const cosim_command unreadable = host_command(COSIM_KIND_PUT, 1, 1, HOST_BAD, 600);
  cosim_submit(sim, 0, 0, &unreadable,
               NULL); /* chance sends a good one with such a payload rarely */
  bad = cosim_counter(sim, 0, COSIM_COUNT_BAD_CMD);
  CHECK(bad >= expected && expected > 0);
  still_works(sim);
  CHECK(cosim_counter(sim, 0, COSIM_COUNT_HOST_ERR) > 0);
  cosim_destroy(sim);
}

/* Registers at any offset, with any value, small ones often; clock, stamps and contexts included */
static void registers(void) {
  cosim_desc d = host_near_desc(2);
  cosim *sim = host_start(&d);
  for (long i = 0; i < inputs() / 3; i++) {
    uint32_t offset = (uint32_t)test_below(test_below(2) ? 0x700 : COSIM_BAR_BYTES);
    uint32_t value = (uint32_t)(test_below(2) ? test_rand() : test_below(2048));
    if (test_below(8) == 0) offset = COSIM_CTX + (uint32_t)test_below(256);
    if (test_below(8)) offset &= ~3u;
    /* no event or stamp may go to a random address: those registers get values in memory */
    if (offset >= COSIM_EQ && offset < COSIM_STAMP_SIZE) continue;
    if (test_below(3))
      cosim_write_partial(sim, 0, offset, value, test_below(4) ? 15 : (int)test_below(16));
    else
      cosim_read(sim, 0, offset);
    cosim_cycles(sim, 3);
  }
  cosim_write(sim, 0, COSIM_ME_UNLINK, 0xFFFFFFFFu); /* a bad one for certain */
  cosim_write(sim, 0, COSIM_RETRIES, 1), cosim_write(sim, 0, COSIM_TIMEOUT, 500);
  cosim_write(sim, 0, COSIM_CTRL, 1);
  for (uint32_t ct = 0; ct < 16; ct++) /* nothing waits that a counter could send */
    cosim_write(sim, 0, COSIM_TRIGGER + COSIM_TRIGGER_CANCEL, ct);
  CHECK(cosim_counter(sim, 0, COSIM_COUNT_BAD_CMD) > 0);
  CHECK(cosim_read(sim, 0, COSIM_ID) == 0x4E424331u);
  still_works(sim);
  cosim_destroy(sim);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(packets);
  Stall = COSIM_STALL_ADVERSE;
  RUN(hostile_packets_among_all_faults);
  RUN(commands);
  RUN(registers);
  return TEST_END();
}
