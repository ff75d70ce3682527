/* Two NICs exchange puts, gets and atomics of all sizes: data, events, counters; stamps to the
 * cycle. */
#include "tests/rtl/cosim.h"

/* The messages that passed the pins of a NIC in one direction, in the order of their last flits */
typedef struct passed {
  int64_t first, last;
  uint64_t user;
  int kind, vn, seq, peer;
} passed;
static passed Passed[2][2][256], Open[2][2][4];
static int Passed_count[2][2];
static void watch(void *ctx, int nic, int received, const cosim_packet *p, int64_t first,
                  int64_t last) {
  int vn = (int)(p->header >> 2 & 3);
  passed *open = &Open[nic][received][vn];
  (void)ctx;
  if (p->header & 2) {
    open->first = first, open->kind = (int)(p->data[0] & 15), open->vn = vn;
    open->user = p->data[10] >> 16 | (uint64_t)p->data[11] << 16;
    open->seq = (int)(p->header >> 12 & 255);
    open->peer = (int)(received ? p->header >> 26 : p->header >> 20 & 63);
  }
  open->last = last;
  if (p->header & 1 && Passed_count[nic][received] < 256)
    Passed[nic][received][Passed_count[nic][received]++] = *open;
}

static void registers_answer(void) {
  cosim_desc d = host_desc(2);
  cosim *sim = cosim_create(&d);
  int error = 0;
  CHECK(sim != NULL);
  if (!sim) return;
  CHECK(cosim_read(sim, 0, COSIM_ID) == 0x4E424331u);
  CHECK(cosim_read(sim, 1, COSIM_SELF) == 1);
  CHECK(cosim_read(sim, 0, COSIM_CAPS) == (16u << 24 | 4u << 16 | 32u << 8 | 32u));
  cosim_write_partial(sim, 0, COSIM_TIMEOUT, 77, 3);
  CHECK(cosim_read(sim, 0, COSIM_TIMEOUT) == 4000000);
  cosim_write(sim, 0, COSIM_TIMEOUT, 77);
  CHECK(cosim_read(sim, 0, COSIM_TIMEOUT) == 77);
  cosim_read_at(sim, 0, 2, NULL, &error);
  CHECK(error);
  CHECK(cosim_read(sim, 0, 0xFF00) == 0);
  cosim_destroy(sim);
}

/* All that can be read back: queues, counting events, stamps, clock */
static void registers_hold_what_is_written(void) {
  cosim_desc d = host_near_desc(1);
  cosim *sim = cosim_create(&d);
  static const struct {
    uint32_t offset, mask;
  } kept[] = {{COSIM_EQ_BASE_LO, ~63u},
              {COSIM_EQ_BASE_HI, ~0u},
              {COSIM_EQ_SIZE, 0x80000007u},
              {COSIM_EQ_CONS, ~0u}};
  cosim_write(sim, 0, COSIM_CLOCK_INC, 0xABCDEF); /* the clock's own are tested below */
  for (int round = 0; round < 20; round++) {
    uint32_t v[16][6], at[3] = {COSIM_CLOCK_FRAC, COSIM_CLOCK_ADJUST_LO, COSIM_IRQ_ENABLE};
    for (uint32_t q = 0; q < 4; q++)
      for (uint32_t i = 0; i < 4; i++)
        cosim_write(sim, 0, COSIM_EQ + 32 * q + kept[i].offset,
                    v[q][i] = (uint32_t)test_rand() & kept[i].mask);
    for (uint32_t q = 0; q < 4; q++) {
      for (uint32_t i = 0; i < 4; i++)
        CHECK(cosim_read(sim, 0, COSIM_EQ + 32 * q + kept[i].offset) == v[q][i]);
      CHECK(cosim_read(sim, 0, COSIM_EQ + 32 * q + COSIM_EQ_PROD) == 0);
      cosim_write(sim, 0, COSIM_EQ + 32 * q + COSIM_EQ_DROPPED, 1);
      CHECK(cosim_read(sim, 0, COSIM_EQ + 32 * q + COSIM_EQ_DROPPED) == 0);
    }
    for (uint32_t c = 0; c < 16; c++)
      for (uint32_t i = 0; i < 6; i++)
        cosim_write(sim, 0, COSIM_CT + 32 * c + 4 * i,
                    v[c][i] = (uint32_t)test_rand() & (i == 4 ? ~15u : ~0u));
    for (uint32_t c = 0; c < 16; c++)
      for (uint32_t i = 0; i < 6; i++)
        CHECK(cosim_read(sim, 0, COSIM_CT + 32 * c + 4 * i) == v[c][i]);
    for (uint32_t i = 0; i < 3; i++)
      cosim_write(sim, 0, at[i], v[0][i] = (uint32_t)test_rand() & (i == 2 ? 0x3F : ~0u));
    for (uint32_t i = 0; i < 3; i++) CHECK(cosim_read(sim, 0, at[i]) == v[0][i]);
    for (uint32_t r = COSIM_STAMP_BASE_LO; r <= COSIM_STAMP_CONS; r += 4)
      cosim_write(sim, 0, r, v[0][(r - COSIM_STAMP_BASE_LO) / 4] = (uint32_t)test_rand());
    CHECK(cosim_read(sim, 0, COSIM_STAMP_BASE_LO) == (v[0][0] & ~31u));
    CHECK(cosim_read(sim, 0, COSIM_STAMP_BASE_HI) == v[0][1]);
    CHECK(cosim_read(sim, 0, COSIM_STAMP_SIZE) == ((v[0][2] & 31) > 20 ? 20 : v[0][2] & 31));
    CHECK(cosim_read(sim, 0, COSIM_STAMP_CONS) == v[0][3]);
    for (uint32_t r = COSIM_STAMP_LOST_RING; r <= COSIM_STAMP_LOST_IN; r += 4) {
      cosim_write(sim, 0, r, 1);
      CHECK(cosim_read(sim, 0, r) == 0);
    }
  }
  CHECK(cosim_read(sim, 0, COSIM_CLOCK_INC) == 0xABCDEF);
  cosim_write(sim, 0, COSIM_CLOCK_FRAC, 0),
      cosim_write(sim, 0, COSIM_CLOCK_INC, 0); /* stands still */
  cosim_write(sim, 0, COSIM_CLOCK_LO, 5), cosim_write(sim, 0, COSIM_CLOCK_HI, 7);
  cosim_write(sim, 0, COSIM_CLOCK_ADJUST_LO, 0xFFFFFFFEu),
      cosim_write(sim, 0, COSIM_CLOCK_ADJUST_HI, 0xFFFFFFFFu);
  CHECK(cosim_read(sim, 0, COSIM_CLOCK_LO) == 3 && cosim_read(sim, 0, COSIM_CLOCK_HI) == 7);
  cosim_destroy(sim);
}

/* The clock is set to a time whose low half wraps before the high half can be written: it counts on from the
   time that was meant */
static void clock_is_set_at_once(void) {
  cosim_desc d = host_desc(1);
  cosim *sim = cosim_create(&d);
  const uint64_t meant = (uint64_t)7 << 32 | 0xFFFFFF00u;
  cosim_write(sim, 0, COSIM_CLOCK_LO, (uint32_t)meant);
  cosim_cycles(sim, 5000); /* 14 us */
  cosim_write(sim, 0, COSIM_CLOCK_HI, (uint32_t)(meant >> 32));
  uint64_t now = cosim_read(sim, 0, COSIM_CLOCK_LO);
  now |= (uint64_t)cosim_read(sim, 0, COSIM_CLOCK_HI) << 32;
  CHECK(now > meant && now - meant < (uint64_t)5000 << 19);
  cosim_destroy(sim);
}

static void put_of_any_size(cosim *sim, int klass, uint32_t n, int payload, int from) {
  uint32_t at = 4096 + (uint32_t)test_below(64), to = 0x80000 + (uint32_t)test_below(64);
  cosim_command c = host_command(COSIM_KIND_PUT, 1 - from, 42, at, n);
  cosim_entry e = host_entry(to, n, 42);
  cosim_event ev;
  host_fill(from, at, n);
  e.use_once = 1, e.user = 1000 + n;
  cosim_append(sim, 1 - from, 0, &e), host_settle(sim);
  c.payload = payload, c.user = n, c.want_send = 1, c.hdr_data = n * 3u;
  memcpy(c.operand, H.memory[from] + at, n < 16 ? n : 16);
  cosim_submit(sim, from, klass, &c, payload == COSIM_PAY_PIO ? H.memory[from] + at : NULL);
  CHECK(host_event_wait(sim, 1 - from, &ev, 20000));
  CHECK(ev.type == COSIM_EV_PUT && ev.status == COSIM_OK && ev.moved_bytes == n &&
        ev.requested_bytes == n);
  CHECK(ev.user == 1000 + n && ev.hdr_data == n * 3u && ev.match == 42 && ev.peer == from);
  CHECK(ev.start == to && ev.unlinked && !ev.overflow);
  CHECK(memcmp(H.memory[from] + at, H.memory[1 - from] + to, n) == 0);
  CHECK(host_event_wait(sim, from, &ev, 20000) && ev.type == COSIM_EV_SEND && ev.user == n);
  CHECK(host_event_wait(sim, from, &ev, 20000) && ev.type == COSIM_EV_ACK && ev.moved_bytes == n);
  CHECK(ev.status == COSIM_OK && ev.user == n);
}
static void puts_move_data(void) {
  cosim_desc d = host_near_desc(2);
  cosim *sim = host_start(&d);
  for (uint32_t n = 0; n <= 16; n++)
    put_of_any_size(sim, (int)(n & 1), n, COSIM_PAY_INLINE, (int)(n >> 1 & 1));
  for (uint32_t n = 0; n <= 512; n += 1 + n / 5) put_of_any_size(sim, 0, n, COSIM_PAY_PIO, 0);
  for (uint32_t n = 0; n <= 20000; n += 1 + n / 3)
    put_of_any_size(sim, (int)(n & 1), n, COSIM_PAY_DMA, 1);
  CHECK(cosim_counter(sim, 0, COSIM_COUNT_BAD_CMD) == 0 &&
        cosim_counter(sim, 0, COSIM_COUNT_DUP) == 0);
  CHECK(cosim_read(sim, 0, COSIM_ME_IN_USE) == 0 && cosim_read(sim, 0, COSIM_ME_VALID) == 0);
  cosim_cycles(sim, 2000);
  CHECK(cosim_read(sim, 0, COSIM_UNCONFIRMED) == 0 && cosim_idle(sim) && H.wild == 0);
  cosim_destroy(sim);
}

static void gets_and_truncation(void) {
  cosim_desc d = host_near_desc(2);
  cosim *sim = host_start(&d);
  cosim_entry e = host_entry(0x20000, 5000, 7);
  cosim_event ev;
  e.op_put = 0;
  host_fill(1, 0x20000, 5000);
  cosim_append(sim, 1, 3, &e), host_settle(sim);
  for (uint32_t n = 0; n <= 8000; n += 1 + n / 2) {
    uint32_t off = (uint32_t)test_below(300), moved = n < 5000 - off ? n : 5000 - off;
    uint32_t to = 0x40000 + (uint32_t)test_below(40);
    cosim_command c = host_command(COSIM_KIND_GET, 1, 7, to, n);
    c.offset = off;
    H.memory[0][to + moved] = 0x5A;
    cosim_submit(sim, 0, (int)(n & 1), &c, NULL);
    CHECK(host_event_wait(sim, 0, &ev, 20000));
    CHECK(ev.type == COSIM_EV_REPLY && ev.status == COSIM_OK && ev.moved_bytes == moved);
    CHECK(memcmp(H.memory[0] + to, H.memory[1] + 0x20000 + off, moved) == 0);
    CHECK(H.memory[0][to + moved] == 0x5A);
    CHECK(host_event_wait(sim, 1, &ev, 100) && ev.type == COSIM_EV_GET && ev.moved_bytes == moved);
  }
  cosim_command c =
      host_command(COSIM_KIND_PUT, 1, 7, 0x1000, 100); /* puts are not allowed there */
  cosim_submit(sim, 0, 0, &c, NULL);
  CHECK(host_event_wait(sim, 0, &ev, 20000) && ev.status == COSIM_OPERATION);
  c.match = 8;
  cosim_submit(sim, 0, 0, &c, NULL);
  CHECK(host_event_wait(sim, 0, &ev, 20000) && ev.status == COSIM_NO_MATCH);
  c.pt = 99;
  cosim_submit(sim, 0, 0, &c, NULL);
  CHECK(host_event_wait(sim, 0, &ev, 20000) && ev.status == COSIM_BAD_INDEX);
  CHECK(cosim_counter(sim, 1, COSIM_COUNT_NO_MATCH) == 1 && !host_event(sim, 1, &ev));
  cosim_destroy(sim);
}

/* The list: source, ignore bits, order, overflow after priority, local offset, use once, unlink */
static void list_semantics(void) {
  cosim_desc d = host_near_desc(3);
  cosim *sim = host_start(&d);
  cosim_entry e = host_entry(0x10000, 64, 0x100);
  cosim_event ev;
  cosim_command c = host_command(COSIM_KIND_PUT, 1, 0x105, 0x1000, 32);
  e.ignore_bits = 15, e.src = 2;
  cosim_append(sim, 1, 0, &e); /* only from NIC 2 */
  e.src = -1, e.use_once = 1, e.user = 1, e.start = 0x11000;
  cosim_append(sim, 1, 1, &e);
  e.use_once = 0, e.user = 2, e.start = 0x12000, e.overflow = 1, e.manage_local = 1,
  e.min_free = 16;
  e.size_bytes = 96;
  cosim_append(sim, 1, 2, &e);
  cosim_append(sim, 1, 1, &e); /* taken: counted */
  cosim_cycles(sim, 400);
  CHECK(cosim_counter(sim, 1, COSIM_COUNT_BAD_CMD) == 1);
  for (int i = 0; i < 5; i++) cosim_submit(sim, 0, 0, &c, NULL);
  CHECK(host_event_wait(sim, 1, &ev, 20000) && ev.user == 1 && ev.unlinked && ev.slot == 1);
  for (uint64_t i = 0; i < 3; i++) {
    CHECK(host_event_wait(sim, 1, &ev, 20000) && ev.user == 2 && ev.overflow &&
          ev.offset == 32 * i);
    CHECK(ev.start == 0x12000 + 32 * i && ev.unlinked == (i == 2));
  }
  for (int i = 0; i < 5; i++)
    CHECK(host_event_wait(sim, 0, &ev, 20000) && ev.status == (i < 4 ? COSIM_OK : COSIM_NO_MATCH));
  CHECK(cosim_read(sim, 1, COSIM_ME_VALID) == 1);
  cosim_submit(sim, 2, 0, &c, NULL);
  CHECK(host_event_wait(sim, 1, &ev, 20000) && ev.slot == 0 && ev.peer == 2 && !ev.unlinked);
  cosim_write(sim, 1, COSIM_ME_UNLINK, 0);
  cosim_cycles(sim, 300);
  CHECK(cosim_read(sim, 1, COSIM_ME_VALID) == 0);
  cosim_write(sim, 1, COSIM_ME_UNLINK, 0); /* not there: counted */
  cosim_write(sim, 1, COSIM_ME_UNLINK, 99);
  /* many entries, unlinked and appended in random order: a message always takes the oldest */
  uint32_t order[32], count = 0, used = 0;
  for (int round = 0; round < 60; round++) {
    uint32_t i = (uint32_t)test_below(32);
    if (used >> i & 1) {
      uint32_t k = 0;
      cosim_write(sim, 1, COSIM_ME_UNLINK, i);
      while (order[k] != i) k++;
      for (count--; k < count; k++) order[k] = order[k + 1];
      used &= ~(1u << i);
    } else {
      cosim_entry x = host_entry(0x20000, 64, 0x105);
      cosim_append(sim, 1, (int)i, &x);
      order[count++] = i, used |= 1u << i;
    }
    cosim_cycles(sim, 150);
    CHECK(cosim_read(sim, 1, COSIM_ME_VALID) == used);
    if (!count) continue;
    cosim_submit(sim, 0, 1, &c, NULL);
    CHECK(host_event_wait(sim, 1, &ev, 20000) && ev.slot == (int)order[0]);
    CHECK(host_event_wait(sim, 0, &ev, 20000));
  }
  CHECK(cosim_counter(sim, 1, COSIM_COUNT_BAD_CMD) == 3);
  cosim_destroy(sim);
}

static uint64_t sign(uint64_t v, int bits) {
  return bits == 64 ? v : (uint64_t)((int64_t)(v << (64 - bits)) >> (64 - bits));
}
static uint64_t alu(int op, int bits, int is_signed, uint64_t old, uint64_t val, uint64_t cmp) {
  uint64_t mask = bits == 64 ? ~(uint64_t)0 : ((uint64_t)1 << bits) - 1;
  uint64_t a = is_signed ? sign(old, bits) : old & mask,
           b = is_signed ? sign(val, bits) : val & mask;
  uint64_t k = is_signed ? sign(cmp, bits) : cmp & mask;
  int less = is_signed ? (int64_t)a < (int64_t)b : a < b;
  int kless = is_signed ? (int64_t)k < (int64_t)a : k < a;
  uint64_t r;
  switch (op) {
  case COSIM_OP_MIN: r = less ? a : b; break;
  case COSIM_OP_MAX: r = less ? b : a; break;
  case COSIM_OP_SUM: r = a + b; break;
  case COSIM_OP_PROD: r = a * b; break;
  case COSIM_OP_LOR: r = a || b; break;
  case COSIM_OP_LAND: r = a && b; break;
  case COSIM_OP_BOR: r = a | b; break;
  case COSIM_OP_BAND: r = a & b; break;
  case COSIM_OP_LXOR: r = !a != !b; break;
  case COSIM_OP_BXOR: r = a ^ b; break;
  case COSIM_OP_SWAP: r = b; break;
  case COSIM_OP_CSWAP: r = k == a ? b : a; break;
  case COSIM_OP_CSWAP_NE: r = k != a ? b : a; break;
  case COSIM_OP_CSWAP_LE: r = kless || k == a ? b : a; break;
  case COSIM_OP_CSWAP_LT: r = kless ? b : a; break;
  case COSIM_OP_CSWAP_GE: r = !kless ? b : a; break;
  case COSIM_OP_CSWAP_GT: r = !kless && k != a ? b : a; break;
  default: r = (b & k) | (a & ~k); break;
  }
  return r & mask;
}
static void atomics_match_model(void) {
  cosim_desc d = host_near_desc(2);
  cosim *sim = host_start(&d);
  cosim_entry e = host_entry(0x20000, 64, 7);
  cosim_event ev;
  e.ct = 5;
  cosim_append(sim, 1, 0, &e);
  cosim_write(sim, 1, COSIM_CT + 5 * 32 + COSIM_CT_COPY_LO, HOST_CT + 16);
  host_settle(sim);
  for (int i = 0; i < 300; i++) {
    int log2 = (int)test_below(4), bytes = 1 << log2, fetch = (int)test_below(2);
    int op = (int)test_below(fetch ? 18 : 10);
    uint32_t at = (uint32_t)test_below(64 / (unsigned)bytes) * (unsigned)bytes,
             to = 0x3000 + (uint32_t)test_below(50);
    uint64_t old = 0, now = 0, got = 0, want;
    cosim_command c =
        host_command(fetch ? COSIM_KIND_FETCH : COSIM_KIND_ATOMIC, 1, 7, to, (uint32_t)bytes);
    if (test_below(2)) host_fill(1, 0x20000, 64);
    memcpy(&old, H.memory[1] + 0x20000 + at, (size_t)bytes);
    c.offset = at, c.op = op, c.size_log2 = log2, c.is_signed = (int)test_below(2);
    c.operand[0] = test_rand(), c.operand[1] = test_below(2) ? old : test_rand();
    want = alu(op, 8 * bytes, c.is_signed, old, c.operand[0], c.operand[1]);
    cosim_submit(sim, 0, (int)test_below(2), &c, NULL);
    CHECK(host_event_wait(sim, 0, &ev, 20000) && ev.status == COSIM_OK);
    CHECK(ev.type == (fetch ? COSIM_EV_REPLY : COSIM_EV_ACK));
    memcpy(&now, H.memory[1] + 0x20000 + at, (size_t)bytes);
    memcpy(&got, H.memory[0] + to, (size_t)bytes);
    CHECK(now == want);
    if (fetch) CHECK(got == old);
    CHECK(host_event_wait(sim, 1, &ev, 1000) &&
          ev.type == (fetch ? COSIM_EV_FETCH : COSIM_EV_ATOMIC));
  }
  cosim_command c = host_command(COSIM_KIND_ATOMIC, 1, 7, 0, 8);
  c.offset = 4, c.size_log2 = 3, c.op = COSIM_OP_SUM; /* not aligned */
  cosim_submit(sim, 0, 0, &c, NULL);
  CHECK(host_event_wait(sim, 0, &ev, 20000) && ev.status == COSIM_OPERATION);
  cosim_cycles(sim, 1000);
  uint64_t copy[2];
  memcpy(copy, H.memory[1] + HOST_CT + 16, 16);
  CHECK(copy[0] == 300 && copy[1] == 1);
  CHECK(cosim_read(sim, 1, COSIM_CT + 5 * 32 + COSIM_CT_SUCCESS_LO) == 300);
  cosim_destroy(sim);
}

/* Clock units after so many cycles: 1509949 + 1889785610 / 2^32 each */
static uint64_t ticks_at(int64_t cycles) {
  return (uint64_t)cycles * 1509949u + ((uint64_t)cycles * 1889785610u >> 32);
}
/* Stamps against what was seen at the pins: every message, both ends, first and last flit, exact */
static void stamps_are_exact(void) {
  cosim_desc d = host_desc(2);
  cosim *sim;
  int64_t at, lead = 0;
  d.watch = watch;
  memset(Passed_count, 0, sizeof Passed_count);
  sim = host_start(&d);
  for (int nic = 0; nic < 2; nic++) cosim_write(sim, nic, COSIM_TIMEOUT, 40000); /* all at once */
  /* the clock runs since reset, some cycles before cycle 0: one reading says how many */
  uint64_t ticks = cosim_read_at(sim, 0, COSIM_CLOCK_LO, &at, NULL);
  ticks |= (uint64_t)cosim_read(sim, 0, COSIM_CLOCK_HI) << 32;
  for (lead = -4; lead < 4 && ticks_at(at + lead) != ticks; lead++) continue;
  CHECK(ticks_at(at + lead) == ticks);

  cosim_entry e = host_entry(0x80000, 0x20000, 42);
  cosim_append(sim, 0, 0, &e), cosim_append(sim, 1, 0, &e);
  uint32_t sizes[20], next[2][2] = {{0}};
  int records = 0;
  for (uint32_t i = 0; i < 20; i++) {
    cosim_command c =
        host_command(i % 3 == 2 ? COSIM_KIND_GET : COSIM_KIND_PUT, (int)(i + 1) % 2, 42, 0x1000, 0);
    sizes[i] = c.size_bytes = (uint32_t)test_below(i % 2 ? 100 : 6000);
    c.user = 100 + i;
    cosim_submit(sim, (int)(i % 2), (int)(i / 2 % 2), &c, NULL);
  }
  host_settle(sim);
  cosim_cycles(sim, 1000);
  for (int nic = 0; nic < 2; nic++) {
    cosim_stamp s;
    for (; host_stamp(sim, nic, &s); records++) {
      const passed *p = &Passed[nic][s.received][next[nic][s.received]++];
      CHECK(s.first_ticks == ticks_at(p->first + lead) && s.last_ticks == ticks_at(p->last + lead));
      CHECK(s.kind == p->kind && s.vn == p->vn && s.seq == p->seq && s.peer == p->peer &&
            s.user == p->user);
      if (s.kind == COSIM_KIND_PUT || s.kind == COSIM_KIND_REPLY)
        CHECK(s.size_bytes == sizes[s.user - 100]);
      CHECK(s.retry == 0 && s.status == COSIM_OK);
    }
  }
  /* request, response and confirmation of 20 messages, at both ends */
  CHECK(records == 20 * 3 * 2);
  CHECK(cosim_read(sim, 0, COSIM_STAMP_FIFO_COUNT) + cosim_read(sim, 0, COSIM_STAMP_LOST_FIFO) ==
        60);
  CHECK(cosim_read(sim, 0, COSIM_STAMP_LOST_RING) == 0 &&
        cosim_read(sim, 0, COSIM_STAMP_LOST_IN) == 0);
  CHECK(cosim_read(sim, 0, COSIM_STAMP_FIFO) >= 100); /* low word of a user's number */
  uint32_t left = cosim_read(sim, 0, COSIM_STAMP_FIFO_COUNT);
  for (uint32_t i = 0; i < 3; i++) {
    cosim_read(sim, 0, COSIM_STAMP_FIFO + 28);
    CHECK(cosim_read(sim, 0, COSIM_STAMP_FIFO_COUNT) == left - i - 1);
  }
  cosim_destroy(sim);
}

/* The host's time by PTM: the true time of the reading lies in the bracket, which is the wire's two ways,
   a cycle and roundings */
static void time_of_the_host_encloses_the_clock(void) {
  for (int round = 0; round < (Stall == COSIM_STALL_NONE ? 12 : 4); round++) {
    cosim_desc d = host_near_desc(1);
    int64_t at, lead = 0;
    d.ptm_ps = round ? (int64_t)test_below(30000) : 0; /* 0: a second request is seen to be late */
    cosim *sim = host_start(&d);
    uint64_t ticks = cosim_read_at(sim, 0, COSIM_CLOCK_LO, &at, NULL);
    ticks |= (uint64_t)cosim_read(sim, 0, COSIM_CLOCK_HI) << 32;
    for (lead = -4; lead < 4 && ticks_at(at + lead) != ticks; lead++) continue;
    CHECK(ticks_at(at + lead) == ticks && !(cosim_read(sim, 0, COSIM_PTM) & 3));
    for (int i = 0; i < 5; i++) {
      uint64_t w[8];
      cosim_cycles(sim, (int64_t)test_below(500));
      cosim_write(sim, 0, COSIM_PTM, 1), cosim_write(sim, 0, COSIM_PTM, 1); /* the second is none */
      do w[0] = cosim_read(sim, 0, COSIM_PTM);
      while (w[0] & 2);
      for (uint32_t k = 1; k < 8; k++) w[k] = cosim_read(sim, 0, COSIM_PTM + 4 * k);
      const uint64_t sent = w[1] | w[2] << 32, got = w[3] | w[4] << 32, came = w[5] | w[6] << 32;
      const double cycle_units = 1509949 + 1889785610.0 / 4294967296.0;
      const double sent_ns = (floor((double)sent / cycle_units + 0.5) - (double)lead) * 2.88;
      const double before_ns = (double)(came + w[7]) - (double)(got - sent) / 524288.0;
      CHECK(w[0] == 1 && before_ns <= sent_ns + 0.01 && sent_ns <= (double)came);
      CHECK((double)came - before_ns <= 2e-3 * (double)d.ptm_ps + 2.88 + 2);
    }
    cosim_destroy(sim);
  }
}

static void stamps_that_do_not_fit_are_counted(void) {
  cosim_desc d = host_near_desc(2);
  cosim *sim = host_start(&d);
  cosim_entry e = host_entry(0x80000, 64, 42);
  cosim_stamp s;
  uint32_t got = 0;
  cosim_append(sim, 1, 0, &e);
  cosim_write(sim, 0, COSIM_STAMP_SIZE, 3); /* room for 8 */
  host_settle(sim);
  for (int i = 0; i < 100; i++) {
    cosim_command c = host_command(COSIM_KIND_PUT, 1, 42, 0x1000, 8);
    cosim_event ev;
    cosim_submit(sim, 0, 0, &c, NULL);
    CHECK(host_event_wait(sim, 0, &ev, 20000) && host_event_wait(sim, 1, &ev, 20000));
  }
  cosim_cycles(sim, 2000);
  CHECK(cosim_read(sim, 0, COSIM_STAMP_PROD) == 8);
  CHECK(cosim_read(sim, 0, COSIM_STAMP_LOST_RING) == 300 - 8);
  CHECK(cosim_read(sim, 0, COSIM_STAMP_FIFO_COUNT) == 64);
  CHECK(cosim_read(sim, 0, COSIM_STAMP_LOST_FIFO) == 300 - 64);
  while (host_stamp(sim, 1, &s)) got++;
  CHECK(got == 256 && cosim_read(sim, 1, COSIM_STAMP_LOST_RING) == 300 - 256);
  cosim_destroy(sim);
}

static int Irq_level[2];
static void irq(void *ctx, int nic, int level) { (void)ctx, Irq_level[nic] = level; }
static void interrupts_and_full_queues(void) {
  cosim_desc d = host_desc(2);
  cosim_entry e = host_entry(0x80000, 64, 42);
  cosim_event ev;
  d.host.irq = irq;
  cosim *sim = host_start(&d);
  cosim_append(sim, 1, 0, &e);
  cosim_write(sim, 1, COSIM_IRQ_ENABLE, 1);
  cosim_write(sim, 1, COSIM_EQ + COSIM_EQ_SIZE, 0x80000002u); /* 4 records */
  cosim_cycles(sim, 400);
  CHECK(!Irq_level[1]);
  for (int i = 0; i < 6; i++) {
    cosim_command c = host_command(COSIM_KIND_PUT, 1, 42, 0x1000, 8);
    cosim_submit(sim, 0, 0, &c, NULL);
    CHECK(host_event_wait(sim, 0, &ev, 20000) && ev.status == COSIM_OK);
  }
  CHECK(Irq_level[1] && !Irq_level[0] && cosim_read(sim, 1, COSIM_IRQ_STATUS) & 1);
  CHECK(cosim_read(sim, 1, COSIM_EQ + COSIM_EQ_PROD) == 4);
  CHECK(cosim_read(sim, 1, COSIM_EQ + COSIM_EQ_DROPPED) == 2);
  cosim_write(sim, 1, COSIM_IRQ_STATUS, 1);
  cosim_cycles(sim, 200);
  CHECK(!Irq_level[1]);
  cosim_destroy(sim);
}

/* The network stands still for 30 us: a long put uses up its credits, waits, and arrives whole; a put of the
   other class overtakes it */
static int Standing;
static cosim_fault stand(void *ctx, int src, int dst, const cosim_packet *p) {
  (void)ctx, (void)src, (void)dst;
  return (p->header >> 2 & 3) == 0 && Standing-- == 1 ? COSIM_DELAY : COSIM_PASS;
}
static void a_sender_without_credits_waits(void) {
  cosim_desc d = host_desc(2);
  cosim_event ev;
  d.fault = stand, d.fault_delay_ps = 30000000, Standing = 1;
  cosim *sim = host_start(&d);
  cosim_entry e = host_entry(0x40000, 0x10000, 5);
  cosim_append(sim, 1, 0, &e);
  host_fill(0, 0x10000, 0x10000);
  cosim_command c = host_command(COSIM_KIND_PUT, 1, 5, 0x10000, 0x10000);
  c.user = 1;
  cosim_write(sim, 0, COSIM_TIMEOUT, 1000000);
  cosim_submit(sim, 0, 0, &c, NULL);
  cosim_cycles(sim, 3000);
  c.user = 2, c.size_bytes = 0;
  cosim_submit(sim, 0, 1, &c, NULL);
  CHECK(host_event_wait(sim, 0, &ev, 20000) && ev.user == 2 && ev.status == COSIM_OK);
  CHECK(host_event_wait(sim, 0, &ev, 40000) && ev.user == 1 && ev.status == COSIM_OK);
  CHECK(cosim_counter(sim, 0, COSIM_COUNT_STALL) > 1000 &&
        cosim_counter(sim, 0, COSIM_COUNT_RETRANSMIT) == 0);
  CHECK(!memcmp(H.memory[0] + 0x10000, H.memory[1] + 0x40000, 0x10000));
  cosim_destroy(sim);
}

/* Posted writes: the payload is seen host_write_ps after it left the NIC, and the event behind it as much
   later again; nothing is seen earlier because the host answers later. */
static int64_t event_seen(int64_t host_write_ps) {
  cosim_desc d = host_desc(2);
  cosim_event ev;
  d.host_write_ps = host_write_ps;
  cosim *sim = host_start(&d);
  cosim_entry e = host_entry(0x80000, 64, 42);
  cosim_command c = host_command(COSIM_KIND_PUT, 1, 42, 0x1000, 8);
  int64_t begin, data = 0, end;
  host_fill(0, 0x1000, 8);
  cosim_append(sim, 1, 0, &e);
  cosim_cycles(sim, 500);
  cosim_submit(sim, 0, 0, &c, NULL);
  begin = cosim_now_ps(sim);
  while (!host_event(sim, 1, &ev) && cosim_now_ps(sim) < begin + 100000000) {
    if (!data && !memcmp(H.memory[0] + 0x1000, H.memory[1] + 0x80000, 8)) data = cosim_now_ps(sim);
    cosim_cycles(sim, 1);
  }
  end = cosim_now_ps(sim);
  CHECK(data && end - data >= host_write_ps);
  cosim_destroy(sim);
  return end - begin;
}
static void writes_are_seen_in_order_after_their_time(void) {
  const int64_t more = event_seen(3200000) - event_seen(200000);
  CHECK_NEAR(more, 2 * 3000000, Stall == COSIM_STALL_NONE ? 2 * 2880 : 200 * 2880);
}

/* The network loses what Lose says: bit 0 heads of requests, 1 their tails, 2 responses */
static int Lose;
static cosim_fault lose(void *ctx, int src, int dst, const cosim_packet *p) {
  (void)ctx, (void)src, (void)dst;
  return Lose & (p->header >> 2 & 1 ? 4 : p->header & 2 ? 1 : 2) ? COSIM_LOSE : COSIM_PASS;
}
/* What fails is told on both sides, and the next message goes through */
static void failures_are_told(void) {
  cosim_desc d = host_desc(2);
  cosim_event ev;
  d.fault = lose, Lose = 0;
  cosim *sim = host_start(&d);
  cosim_write(sim, 0, COSIM_TIMEOUT, 600), cosim_write(sim, 0, COSIM_RETRIES, 2);
  cosim_entry good = host_entry(0x10000, 4096, 1), bad = host_entry(HOST_BAD, 4096, 2);
  cosim_append(sim, 1, 0, &good), cosim_append(sim, 1, 1, &bad);
  cosim_cycles(sim, 300);
  /* the target's memory does not answer */
  const int kinds[] = {COSIM_KIND_PUT, COSIM_KIND_GET, COSIM_KIND_ATOMIC, COSIM_KIND_FETCH};
  for (int klass = 0; klass < 2; klass++)
    for (int k = 0; k < 4; k++) {
      cosim_command c = host_command(kinds[k], 1, 2, 0x1000, k < 2 ? 200 : 8);
      c.size_log2 = 3, c.op = COSIM_OP_SUM;
      cosim_submit(sim, 0, klass, &c, NULL);
      CHECK(host_event_wait(sim, 0, &ev, 20000));
      /* a get's reply is lost, as far as the initiator can see */
      CHECK(ev.status == (k == 1 ? COSIM_UNDELIVERABLE : COSIM_HOST_ERROR));
      CHECK(host_event_wait(sim, 1, &ev, 20000) && ev.status == COSIM_HOST_ERROR);
      while (host_event_wait(sim, 1, &ev, 4000)) CHECK(k == 1); /* each repetition of the get */
    }
  CHECK(cosim_counter(sim, 1, COSIM_COUNT_HOST_ERR) >= 8);
  /* the initiator's does not take a reply */
  cosim_command reply = host_command(COSIM_KIND_GET, 1, 1, HOST_BAD + 64, 200);
  cosim_submit(sim, 0, 1, &reply, NULL);
  CHECK(host_event_wait(sim, 0, &ev, 20000) && ev.status == COSIM_HOST_ERROR);
  CHECK(host_event_wait(sim, 1, &ev, 20000) && ev.status == COSIM_OK);
  /* a portal index that closes itself */
  cosim_write(sim, 1, COSIM_PT_AUTO, 1);
  cosim_command c = host_command(COSIM_KIND_PUT, 1, 99, 0x1000, 40);
  for (int i = 0; i < 2; i++) {
    cosim_submit(sim, 0, 0, &c, NULL);
    CHECK(host_event_wait(sim, 0, &ev, 20000) &&
          ev.status == (i ? COSIM_PT_DISABLED : COSIM_NO_MATCH));
  }
  CHECK(cosim_read(sim, 1, COSIM_PT_ENABLE) == 0xFFFE);
  cosim_write(sim, 1, COSIM_PT_ENABLE, 0xFFFF);
  /* nothing arrives; the head arrives only: the target says so when the next message comes, or when it is
     told to forget the peer */
  c.match = 1, c.size_bytes = 300;
  for (int round = 0; round < 3; round++) {
    Lose = round ? 2 : 1;
    cosim_submit(sim, 0, 0, &c, NULL);
    CHECK(host_event_wait(sim, 0, &ev, 20000) && ev.status == COSIM_UNDELIVERABLE);
    CHECK(!host_event_wait(sim, 1, &ev, 100));
    CHECK((cosim_read(sim, 1, COSIM_ME_IN_USE) & 1) == (round > 0));
    Lose = 0;
    if (round == 2) {
      cosim_cycles(sim, 1000);
      cosim_write(sim, 0, COSIM_CLEAR_PEER, 1), cosim_write(sim, 1, COSIM_CLEAR_PEER, 0);
      CHECK(host_event_wait(sim, 1, &ev, 20000) && ev.status == COSIM_UNDELIVERABLE);
      CHECK(cosim_read(sim, 1, COSIM_ME_IN_USE) == 0);
    }
    cosim_submit(sim, 0, 0, &c, NULL);
    CHECK(host_event_wait(sim, 0, &ev, 20000) && ev.status == COSIM_OK);
    if (round == 1) CHECK(host_event_wait(sim, 1, &ev, 1000) && ev.status == COSIM_UNDELIVERABLE);
    CHECK(host_event_wait(sim, 1, &ev, 1000) && ev.status == COSIM_OK && ev.moved_bytes == 300);
  }
  CHECK(cosim_counter(sim, 1, COSIM_COUNT_ABANDONED) == 2);
  CHECK(cosim_counter(sim, 0, COSIM_COUNT_UNDELIVERED) == 5);
  /* done, but the initiator never hears of it: done once, whatever it repeats */
  Lose = 4;
  uint64_t dup = cosim_counter(sim, 1, COSIM_COUNT_DUP);
  cosim_submit(sim, 0, 1, &c, NULL);
  CHECK(host_event_wait(sim, 0, &ev, 20000) && ev.status == COSIM_UNDELIVERABLE);
  CHECK(host_event_wait(sim, 1, &ev, 1000) && ev.status == COSIM_OK &&
        !host_event_wait(sim, 1, &ev, 1000));
  CHECK(cosim_counter(sim, 1, COSIM_COUNT_DUP) == dup + 2);
  CHECK(cosim_read(sim, 1, COSIM_UNCONFIRMED) >> 16 == 1);
  cosim_destroy(sim);
}

/* Every ninth frame with a packet gets lost, broken or cut: its packet never comes to the NIC, the message is sent
   again, and all arrives */
static int Frames;
static cosim_fault bad_frame(void *ctx, int src, int dst, const cosim_packet *p) {
  static const cosim_fault faults[] = {COSIM_LOSE, COSIM_CORRUPT, COSIM_CUT};
  (void)ctx, (void)src, (void)dst, (void)p;
  return ++Frames % 9 ? COSIM_PASS : faults[Frames / 9 % 3];
}
static void bad_frames_are_sent_again(void) {
  cosim_desc d = host_near_desc(2);
  d.fault = bad_frame, Frames = 0;
  cosim *sim = host_start(&d);
  for (int nic = 0; nic < 2; nic++)
    cosim_write(sim, nic, COSIM_RETRIES, 15), cosim_write(sim, nic, COSIM_TIMEOUT, 1500);
  for (uint32_t i = 0; i < 24; i++)
    put_of_any_size(sim, (int)(i & 1), (uint32_t)test_below(200), COSIM_PAY_DMA, (int)(i >> 1 & 1));
  uint64_t again = 0;
  for (int nic = 0; nic < 2; nic++)
    again += cosim_counter(sim, nic, COSIM_COUNT_RETRANSMIT) +
             cosim_counter(sim, nic, 16 + COSIM_COUNT_RETRANSMIT);
  CHECK(again > 3);
  for (uint32_t vn = 0; vn < 4; vn++)
    CHECK(cosim_counter(sim, 0, (int)(8 * vn) + COSIM_COUNT_CRC) == 0 &&
          cosim_counter(sim, 1, (int)(8 * vn) + COSIM_COUNT_CRC) == 0);
  host_settle(sim);
  CHECK(cosim_idle(sim) && H.wild == 0);
  cosim_destroy(sim);
}
static void macs_that_cannot_be_are_refused(void) {
  cosim_desc d = host_desc(2);
  cosim_mac mac = {{d.period_ps, d.period_ps * 2 / 3 - 1}};
  d.mac = &mac;
  CHECK(cosim_create(&d) == NULL);
  mac.period_ps[1] = 16 * d.period_ps + 1;
  CHECK(cosim_create(&d) == NULL);
  mac.period_ps[1] = d.period_ps, d.nic_count = 3;
  CHECK(cosim_create(&d) == NULL);
}
/* Packets and stamps through Ethernet MACs: streams as fast as the NIC's link, and of any two rates */
static void behind_macs(void) {
  const int64_t period = cosim_default().period_ps;
  for (int round = 0; round < 2; round++) {
    cosim_mac mac = {{period * 2 / 3, period * 2 / 3}};
    for (int i = 0; i < 2 && round; i++)
      mac.period_ps[i] = period * 2 / 3 + (int64_t)test_below((uint64_t)(2 * period));
    Stall = round ? COSIM_STALL_RANDOM : COSIM_STALL_NONE, Macs = &mac;
    if (!test_list)
      printf("        behind MACs of %lld and %lld ps:\n", (long long)mac.period_ps[0],
             (long long)mac.period_ps[1]);
    RUN(puts_move_data);
    RUN(stamps_are_exact);
    RUN(bad_frames_are_sent_again);
    if (round) RUN(gets_and_truncation);
    if (round) RUN(atomics_match_model);
  }
  Macs = NULL;
  RUN(macs_that_cannot_be_are_refused);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  for (int stall = COSIM_STALL_NONE; stall <= COSIM_STALL_ADVERSE; stall++) {
    static const char *const names[] = {"a host that never waits", "a host that waits now and then",
                                        "a host that waits wherever AXI allows it"};
    Stall = (cosim_stall)stall;
    if (!test_list) printf("        with %s:\n", names[stall]);
    RUN(registers_answer);
    if (!stall) RUN(registers_hold_what_is_written);
    if (!stall) RUN(clock_is_set_at_once);
    RUN(puts_move_data);
    RUN(gets_and_truncation);
    RUN(list_semantics);
    RUN(atomics_match_model);
    RUN(stamps_are_exact);
    RUN(time_of_the_host_encloses_the_clock);
    if (!stall) RUN(stamps_that_do_not_fit_are_counted);
    RUN(interrupts_and_full_queues);
    RUN(writes_are_seen_in_order_after_their_time);
    RUN(a_sender_without_credits_waits);
    RUN(failures_are_told);
  }
  behind_macs();
  return TEST_END();
}
