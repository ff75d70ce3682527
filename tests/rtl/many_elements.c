/* Atomics on several elements: up to 16 bytes in the command, up to 1,024 behind the message's header, of which a fetch brings back
   up to 64. Each is done once and whole, or not at all. */
#include <stdbool.h>
#include "tests/rtl/cosim.h"

enum { SOP = 2, EOP = 1, ENTRY = 0x20000 };
static int Lose;       /* 1: what comes behind the first packet of a message, 2: answers */
static cosim_fault fault(void *ctx, int src, int dst, const cosim_packet *p) {
  (void)ctx, (void)src, (void)dst;
  if (Lose & 1 && !(p->header >> 2 & 1) && !(p->header & SOP)) return COSIM_LOSE;
  return Lose & 2 && p->header >> 2 & 1 ? COSIM_LOSE : COSIM_PASS;
}
static cosim *start(int nics, uint64_t entry_at, uint32_t entry_bytes) {
  cosim_desc d = host_near_desc(nics);
  d.fault = fault, Lose = 0;
  cosim *sim = host_start(&d);
  const cosim_entry e = host_entry(entry_at, entry_bytes, 7);
  cosim_append(sim, nics - 1, 0, &e);
  host_settle(sim);
  return sim;
}
static cosim_command command(bool fetches, int op, int log2, uint32_t bytes) {
  cosim_command c = host_command(fetches ? COSIM_KIND_FETCH : COSIM_KIND_ATOMIC, 1, 7, 0x3000, bytes);
  c.op = op, c.size_log2 = log2;
  c.payload = bytes <= 16 ? COSIM_PAY_INLINE : bytes <= COSIM_PIO_BYTES ? COSIM_PAY_PIO : COSIM_PAY_DMA;
  return c;
}
/* Words of 1, 2, 4 or 8 bytes, without a carry from one to the next */
static void add(unsigned char *to, const unsigned char *more, uint32_t bytes, int log2) {
  for (uint32_t at = 0; at < bytes; at += 1u << log2) {
    uint64_t a = 0, b = 0;
    memcpy(&a, to + at, (size_t)1 << log2), memcpy(&b, more + at, (size_t)1 << log2);
    a += b, memcpy(to + at, &a, (size_t)1 << log2);
  }
}

/* Of any number, wherever they lie, cut where the entry ends, however the operands travel, in both classes; answers that are lost
   come again, and are what was there before */
static void all_are_added_and_no_more(void) {
  cosim *sim = start(2, ENTRY + 32, 2048);
  static unsigned char want[0x1000], was[64], sent[1024];
  cosim_event ev;
  int lost = 0;
  host_fill(1, ENTRY, 0x1000);
  memcpy(want, H.memory[1] + ENTRY, 0x1000);
  for (int i = 0; i < 150; i++) {
    const bool fetches = test_below(2);
    const int log2 = (int)test_below(4);
    const uint32_t most = test_below(3) ? (fetches ? 64 : 1024) : 24;
    const uint32_t n = (1 + (uint32_t)test_below(most >> log2)) << log2, from = 0x8000 + (uint32_t)test_below(100);
    cosim_command c = command(fetches, COSIM_OP_SUM, log2, n);
    c.offset = test_below(4) ? (test_below(2048) >> log2) << log2 : (2048 - test_below(n) / 8 * 8);
    const uint32_t room = 2048 - (uint32_t)c.offset, moved = n < room ? n : room;
    host_fill(0, from, n), memcpy(sent, H.memory[0] + from, n);
    if (n <= 16) memcpy(c.operand, sent, n);
    if (n <= 16 && test_below(2)) c.payload = COSIM_PAY_PIO;
    if (test_below(3) == 0) c.payload = COSIM_PAY_DMA;
    if (fetches && c.payload == COSIM_PAY_DMA) c.operand[0] = from;
    c.want_send = !fetches || c.payload == COSIM_PAY_DMA;
    if (!fetches) c.addr = from;
    host_fill(0, 0x3000 - 8, 80);
    memcpy(was, H.memory[0] + 0x3000, 64);
    if (fetches) memcpy(was, want + 32 + c.offset, moved);
    add(want + 32 + c.offset, sent, moved, log2);
    Lose = test_below(8) ? 0 : 2, lost += Lose != 0;
    const int klass = (int)test_below(2);
    cosim_submit(sim, 0, klass, &c, c.payload == COSIM_PAY_PIO ? sent : NULL);
    if (!(c.payload == COSIM_PAY_DMA)) host_fill(0, from, n); /* the NIC has them */
    CHECK(host_event_wait(sim, 1, &ev, 20000) && ev.status == COSIM_OK && ev.moved_bytes == moved && ev.requested_bytes == n);
    CHECK(ev.type == (fetches ? COSIM_EV_FETCH : COSIM_EV_ATOMIC));
    if (Lose) cosim_cycles(sim, 5000);
    Lose = 0;
    if (c.want_send) CHECK(host_event_wait(sim, 0, &ev, 20000) && ev.type == COSIM_EV_SEND);
    CHECK(host_event_wait(sim, 0, &ev, 20000) && ev.status == COSIM_OK && ev.moved_bytes == moved);
    CHECK(ev.type == (fetches ? COSIM_EV_REPLY : COSIM_EV_ACK));
    CHECK(memcmp(want, H.memory[1] + ENTRY, 0x1000) == 0);
    CHECK(memcmp(was, H.memory[0] + 0x3000, 64) == 0);
  }
  CHECK(lost > 3 && cosim_counter(sim, 1, COSIM_COUNT_DUP) >= (uint64_t)lost);
  cosim_destroy(sim);
}

/* What REGISTERS.md forbids is malformed and changes nothing: too many, a part of one, several to compare, one to compare
   whose operand is read, and what is not aligned at the target */
static void what_is_too_much_is_refused(void) {
  static const struct {
    int fetches, op, log2, payload;
    uint32_t bytes, offset;
    int status;
  } of[] = {{0, COSIM_OP_SUM, 3, COSIM_PAY_DMA, 1024, 0, COSIM_OK},
            {0, COSIM_OP_SUM, 3, COSIM_PAY_DMA, 1032, 0, COSIM_OPERATION},
            {1, COSIM_OP_SUM, 3, COSIM_PAY_PIO, 64, 0, COSIM_OK},
            {1, COSIM_OP_SUM, 3, COSIM_PAY_PIO, 72, 0, COSIM_OPERATION},
            {1, COSIM_OP_CSWAP, 3, COSIM_PAY_DMA, 8, 0, COSIM_OPERATION},
            {0, COSIM_OP_SUM, 3, COSIM_PAY_INLINE, 16, 8, COSIM_OK},
            {0, COSIM_OP_SUM, 3, COSIM_PAY_INLINE, 24, 8, COSIM_OPERATION},
            {0, COSIM_OP_SUM, 3, COSIM_PAY_PIO, 20, 0, COSIM_OPERATION},
            {0, COSIM_OP_SUM, 3, COSIM_PAY_PIO, 0, 0, COSIM_OPERATION},
            {0, COSIM_OP_SWAP, 3, COSIM_PAY_PIO, 32, 0, COSIM_OPERATION},
            {1, COSIM_OP_SWAP, 3, COSIM_PAY_PIO, 32, 0, COSIM_OK},
            {1, COSIM_OP_CSWAP, 3, COSIM_PAY_PIO, 16, 0, COSIM_OPERATION},
            {1, COSIM_OP_MSWAP, 2, COSIM_PAY_INLINE, 8, 0, COSIM_OPERATION},
            {0, COSIM_OP_SUM, 3, COSIM_PAY_PIO, 32, 4, COSIM_OPERATION},
            {0, COSIM_OP_SUM, 3, COSIM_PAY_PIO, 32, 2044, COSIM_OPERATION},
            {0, COSIM_OP_SUM, 3, 3, 32, 0, COSIM_OPERATION}};
  static unsigned char before[2048], none[COSIM_PIO_BYTES];
  cosim *sim = start(2, ENTRY, 2048);
  cosim_event ev;
  host_fill(1, ENTRY, 2048), host_fill(0, 0x3000, 1100);
  for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
    cosim_command c = command(of[i].fetches, of[i].op, of[i].log2, of[i].bytes);
    c.payload = of[i].payload, c.offset = of[i].offset, c.operand[0] = 1;
    memcpy(before, H.memory[1] + ENTRY, 2048);
    cosim_submit(sim, 0, 0, &c, c.payload == COSIM_PAY_PIO ? none : NULL);
    CHECK(host_event_wait(sim, 0, &ev, 20000) && ev.status == of[i].status);
    CHECK(of[i].status == COSIM_OK || memcmp(before, H.memory[1] + ENTRY, 2048) == 0);
  }
  cosim_destroy(sim);
}

/* A complex double and what it is compared with are 32 bytes */
static void complex_doubles_are_compared(void) {
  cosim *sim = start(2, ENTRY, 2048);
  cosim_event ev;
  for (int i = 0; i < 24; i++) {
    const bool wants_equal = i & 1;
    double is[2] = {1 + i, -i}, pio[4] = {100 + i, 7, is[0] + (i >> 1 & 1), is[1] + (i >> 2 & 1)}, now[2], was[2];
    const bool equal = !(i & 6);
    cosim_command c = command(true, wants_equal ? COSIM_OP_CSWAP : COSIM_OP_CSWAP_NE, 4, 16);
    c.is_float = c.is_complex = 1, c.payload = COSIM_PAY_PIO, c.offset = 16 * (uint64_t)(i % 5);
    memcpy(H.memory[1] + ENTRY + c.offset, is, 16);
    cosim_submit(sim, 0, i >> 3 & 1, &c, pio);
    CHECK(host_event_wait(sim, 0, &ev, 20000) && ev.status == COSIM_OK);
    memcpy(now, H.memory[1] + ENTRY + c.offset, 16), memcpy(was, H.memory[0] + 0x3000, 16);
    CHECK(memcmp(was, is, 16) == 0);
    CHECK(memcmp(now, equal == wants_equal ? pio : is, 16) == 0);
  }
  cosim_destroy(sim);
}

/* Both classes of two NICs add to the same 64 numbers, which lie in more than one read of the host's memory */
static void sums_of_all_are_whole(void) {
  enum { EACH = 24, BYTES = 512 };
  cosim *sim = start(3, ENTRY, 2048);
  cosim_event ev;
  int ends = 0;
  for (int nic = 0; nic < 2; nic++)
    for (uint64_t k = 0; k < BYTES / 8; k++) {
      const uint64_t x = (uint64_t)nic * 1000 + k;
      memcpy(H.memory[nic] + 0x8000 + 8 * k, &x, 8);
    }
  for (int i = 0; i < EACH; i++) {
    cosim_command c = command(false, COSIM_OP_SUM, 3, BYTES);
    c.dst = 2, c.offset = 8, c.addr = 0x8000;
    if (i & 4) c.payload = COSIM_PAY_DMA;
    cosim_submit(sim, i & 1, i >> 1 & 1, &c, c.payload == COSIM_PAY_PIO ? H.memory[i & 1] + 0x8000 : NULL);
  }
  for (int i = 0; i < 4000 && ends < EACH; i++) {
    cosim_cycles(sim, 20);
    for (int nic = 0; nic < 2; nic++)
      while (host_event(sim, nic, &ev)) {
        CHECK(ev.status == COSIM_OK);
        ends++;
      }
  }
  CHECK(ends == EACH);
  for (uint64_t k = 0; k < BYTES / 8; k++) {
    uint64_t is;
    memcpy(&is, H.memory[2] + ENTRY + 8 + 8 * k, 8);
    CHECK(is == EACH / 2 * (1000 + 2 * k));
  }
  cosim_destroy(sim);
}

/* Memory that ends before the atomic does: nothing behind the first bytes that cannot be read is written, the failure is told at
   both ends, and the next message finds all as before */
static void a_host_error_ends_it(void) {
  static const uint32_t readable[] = {0, 64, 128, 320};
  static unsigned char sent[512];
  for (size_t i = 0; i < 4; i++) {
    const uint32_t at = HOST_BYTES - readable[i];
    cosim *sim = start(2, at, 2048);
    const cosim_entry good = host_entry(ENTRY, 64, 8);
    cosim_command c = command(false, COSIM_OP_SUM, 3, 384);
    cosim_event ev;
    cosim_append(sim, 1, 1, &good), host_settle(sim);
    memset(sent, 1, sizeof sent);
    cosim_submit(sim, 0, 0, &c, sent);
    CHECK(host_event_wait(sim, 0, &ev, 20000) && ev.status == COSIM_HOST_ERROR && ev.moved_bytes == 0);
    CHECK(host_event_wait(sim, 1, &ev, 20000) && ev.status == COSIM_HOST_ERROR && ev.type == COSIM_EV_ATOMIC);
    CHECK(cosim_counter(sim, 1, COSIM_COUNT_HOST_ERR) == 1);
    for (int k = 0; k < 2; k++) {
      c.match = 8, c.size_bytes = 64;
      cosim_submit(sim, 0, k, &c, sent);
      CHECK(host_event_wait(sim, 0, &ev, 20000) && ev.status == COSIM_OK);
      CHECK(host_event_wait(sim, 1, &ev, 20000) && ev.status == COSIM_OK);
    }
    for (int k = 0; k < 64; k++) CHECK(H.memory[1][ENTRY + k] == 2);
    cosim_destroy(sim);
  }
}

/* Of a message whose operands never come nothing is done; given up, its entry is free again, and it was what it was */
static void without_its_tail(bool fetches) {
  static unsigned char sent[COSIM_PIO_BYTES], before[2048];
  cosim *sim = start(2, ENTRY, 2048);
  cosim_event ev;
  const uint32_t bytes = fetches ? 64 : 256;
  const cosim_command c = command(fetches, COSIM_OP_SUM, 3, bytes);
  host_fill(1, ENTRY, 2048), memcpy(before, H.memory[1] + ENTRY, 2048), memset(sent, 3, sizeof sent);
  cosim_write(sim, 0, COSIM_TIMEOUT, 1000), cosim_write(sim, 0, COSIM_RETRIES, 2);
  Lose = 1;
  cosim_submit(sim, 0, 0, &c, sent);
  CHECK(host_event_wait(sim, 0, &ev, 20000) && ev.status == COSIM_UNDELIVERABLE);
  CHECK(cosim_read(sim, 1, COSIM_ME_IN_USE) & 1);
  Lose = 0;
  cosim_submit(sim, 0, 0, &c, sent);
  CHECK(host_event_wait(sim, 0, &ev, 20000) && ev.status == COSIM_OK);
  CHECK(host_event_wait(sim, 1, &ev, 1000) && ev.status == COSIM_UNDELIVERABLE);
  CHECK(ev.type == (fetches ? COSIM_EV_FETCH : COSIM_EV_ATOMIC));
  CHECK(host_event_wait(sim, 1, &ev, 1000) && ev.status == COSIM_OK && ev.moved_bytes == bytes);
  add(before, sent, bytes, 3);
  CHECK(memcmp(before, H.memory[1] + ENTRY, 2048) == 0);
  host_settle(sim);
  CHECK(cosim_read(sim, 1, COSIM_ME_IN_USE) == 0);
  cosim_destroy(sim);
}

static void without_its_tail_nothing_is_done(void) {
  without_its_tail(false);
  without_its_tail(true);
}

static cosim_packet packet(uint32_t index, uint32_t flags) {
  cosim_packet p;
  memset(&p, 0, sizeof p);
  p.header = 1u << 20 | index << 4 | flags;
  return p;
}
static void inject(cosim *sim, cosim_packet p) {
  p.crc = cosim_packet_crc(&p);
  cosim_inject(sim, 1, &p);
}
/* A message that lacks its tail is repeated as what it was: the bytes of a put are no operands, and who may change memory may not
   therefore read it */
static void repeat_as(int kind, int other) {
  const bool fetches = kind == COSIM_KIND_FETCH || other == COSIM_KIND_FETCH;
  const uint32_t bytes = fetches ? 64 : 128;
  cosim_desc d = host_near_desc(2);
  cosim *sim = host_start(&d);
  const cosim_entry e = host_entry(ENTRY, 2048, 7);
  cosim_append(sim, 1, 0, &e), host_settle(sim);
  memset(H.memory[1] + ENTRY, 5, 256);
  for (int round = 0; round < 3; round++) { /* without a tail, as the other, whole */
    const uint32_t packets = bytes / 64 - (round ? 0 : 1);
    cosim_packet head = packet(0, SOP);
    head.data[0] = (uint32_t)(round == 1 ? other : kind) | (uint32_t)COSIM_OP_SUM << 7;
    head.data[1] = bytes, head.data[2] = 7;
    inject(sim, head);
    for (uint32_t i = 1; i <= packets; i++) {
      cosim_packet body = packet(i, i == bytes / 64 ? EOP : 0);
      memset(body.data, 9, sizeof body.data);
      inject(sim, body);
    }
    if (!round) inject(sim, packet(7, 0)); /* breaks it off, or the next head would be taken for the same that came twice */
    cosim_cycles(sim, 1000);
  }
  CHECK(cosim_counter(sim, 1, COSIM_COUNT_BAD_MSG) == 1);
  for (uint32_t i = 0; i < 256; i++)
    CHECK(H.memory[1][ENTRY + i] == (i >= bytes ? 5 : kind == COSIM_KIND_PUT ? 9 : 14));
  cosim_destroy(sim);
}
static void a_repetition_is_of_the_same_kind(void) {
  static const int kinds[] = {COSIM_KIND_PUT, COSIM_KIND_ATOMIC, COSIM_KIND_FETCH};
  for (int k = 0; k < 3; k++)
    for (int o = 0; o < 3; o++)
      if (k != o) repeat_as(kinds[k], kinds[o]);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(all_are_added_and_no_more);
  RUN(what_is_too_much_is_refused);
  RUN(complex_doubles_are_compared);
  RUN(sums_of_all_are_whole);
  RUN(a_host_error_ends_it);
  RUN(without_its_tail_nothing_is_done);
  RUN(a_repetition_is_of_the_same_kind);
  return TEST_END();
}
