/* What no ordinary run meets: rings that go round, both classes on one word, forged and late packets, a host
 * that writes where it must not. Each case was found by a change of the RTL that no other test noticed. */
#include "tests/rtl/cosim.h"

enum { SOP = 2, EOP = 1, REQUEST = 0, RESPONSE = 1 };
/* A packet with a good CRC: the first of a message, with its kind, length and match bits */
static cosim_packet forge(int src, int dst, int seq, int vn, int flags, int kind, uint32_t length,
                          uint64_t match) {
  cosim_packet p;
  memset(&p, 0, sizeof p);
  p.header = (uint32_t)src << 26 | (uint32_t)dst << 20 | (uint32_t)(seq & 255) << 12 |
             (uint32_t)vn << 2 | (uint32_t)flags;
  p.data[0] = (uint32_t)kind, p.data[1] = length;
  p.data[2] = (uint32_t)match, p.data[3] = (uint32_t)(match >> 32);
  p.crc = cosim_packet_crc(&p);
  return p;
}
static int Lose;      /* bit 0: requests, 1: responses, 2: confirmations only */
static int Last_vn[4]; /* sequence number of the last message seen on each virtual network */
static cosim_packet Last_body[4]; /* the last packet there that was not the first of its message */
static cosim_fault lose(void *ctx, int src, int dst, const cosim_packet *p) {
  const int vn = (int)(p->header >> 2 & 3);
  (void)ctx, (void)src, (void)dst;
  Last_vn[vn] = (int)(p->header >> 12 & 255);
  if (!(p->header & SOP)) Last_body[vn] = *p;
  if (vn & 1) {
    if (Lose & 4 && p->header & SOP && (p->data[0] & 15) == COSIM_KIND_ACK_ACK) return COSIM_LOSE;
    return Lose & 2 ? COSIM_LOSE : COSIM_PASS;
  }
  return Lose & 1 ? COSIM_LOSE : COSIM_PASS;
}
static cosim *start(int nics) {
  cosim_desc d = host_near_desc(nics);
  d.fault = lose, Lose = 0;
  cosim *sim = host_start(&d);
  cosim_entry e = host_entry(0x20000, 0x10000, 7);
  for (int i = 0; i < nics; i++) cosim_append(sim, i, 0, &e);
  host_settle(sim);
  return sim;
}

static void the_stamp_ring_goes_round(void) {
  cosim *sim = start(2);
  uint64_t seen = 0;
  cosim_write(sim, 0, COSIM_STAMP_SIZE, 3); /* 8 records */
  cosim_write(sim, 0, COSIM_STAMP_CTRL, 1u << (16 + COSIM_KIND_PUT) | 3);
  for (uint64_t i = 0; i < 40; i++) {
    cosim_command c = host_command(COSIM_KIND_PUT, 1, 7, 0x1000, 8);
    cosim_event ev;
    c.user = 1 + i;
    cosim_submit(sim, 0, 0, &c, NULL);
    CHECK(host_event_wait(sim, 0, &ev, 20000));
    host_settle(sim);
    const cosim_stamp s = cosim_stamp_unpack(H.memory[0] + HOST_STAMPS + seen % 8 * 32);
    CHECK(s.phase == !(seen >> 3 & 1) && s.user == 1 + i);
    cosim_write(sim, 0, COSIM_STAMP_CONS, (uint32_t)++seen);
    /* the next place holds an old record, or none */
    const cosim_stamp old = cosim_stamp_unpack(H.memory[0] + HOST_STAMPS + seen % 8 * 32);
    CHECK(old.phase != !(seen >> 3 & 1) || (old.user == 0 && seen < 8));
  }
  cosim_destroy(sim);
}

static void kinds_that_are_not_wanted_make_no_stamp(void) {
  cosim *sim = start(2);
  cosim_event ev;
  cosim_stamp s;
  cosim_write(sim, 0, COSIM_STAMP_CTRL, 1u << (16 + COSIM_KIND_REPLY) | 3);
  for (int i = 0; i < 3; i++) {
    cosim_command c = host_command(i == 1 ? COSIM_KIND_PUT : COSIM_KIND_GET, 1, 7, 0x1000, 100);
    cosim_submit(sim, 0, 0, &c, NULL);
    CHECK(host_event_wait(sim, 0, &ev, 20000));
  }
  cosim_cycles(sim, 1000);
  for (int i = 0; i < 2; i++)
    CHECK(host_stamp(sim, 0, &s) && s.kind == COSIM_KIND_REPLY && s.received);
  CHECK(!host_stamp(sim, 0, &s));
  cosim_destroy(sim);
}

/* Both classes add to one word of one NIC, whose host is slow to write: nothing is lost */
static void atomics_of_both_classes_count_all(void) {
  cosim_desc d = host_near_desc(3);
  d.host_write_ps = 500000;
  cosim *sim = host_start(&d);
  const cosim_entry e = host_entry(0x20000, 64, 7);
  cosim_event ev;
  uint64_t sum = 0;
  cosim_append(sim, 2, 0, &e);
  cosim_cycles(sim, 1000);
  cosim_write(sim, 0, COSIM_TIMEOUT, 100000), cosim_write(sim, 1, COSIM_TIMEOUT, 100000);
  for (int round = 0; round < 6; round++) {
    for (int n = 0; n < 4; n++)
      for (int klass = 0; klass < 2; klass++)
        for (int nic = 0; nic < 2; nic++) {
          cosim_command c = host_command(COSIM_KIND_ATOMIC, 2, 7, 0, 8);
          c.op = COSIM_OP_SUM, c.size_log2 = 3, c.operand[0] = 1;
          cosim_submit(sim, nic, klass, &c, NULL);
        }
    for (int nic = 0; nic < 2; nic++)
      for (int n = 0; n < 8; n++)
        CHECK(host_event_wait(sim, nic, &ev, 40000) && ev.status == COSIM_OK);
    host_settle(sim);
    while (host_event(sim, 2, &ev)) continue;
  }
  memcpy(&sum, H.memory[2] + 0x20000, 8);
  CHECK(sum == 6 * 16);
  cosim_destroy(sim);
}

/* The host writes into the slot of a message under way: refused, and the repetition is the message */
static void a_slot_under_way_keeps_its_command(void) {
  cosim *sim = start(2);
  cosim_command c = host_command(COSIM_KIND_PUT, 1, 7, 0x1000, 16);
  cosim_event ev;
  c.payload = COSIM_PAY_INLINE, c.operand[0] = 0x1122334455667788u, c.operand[1] = 42;
  Lose = 1;
  cosim_submit(sim, 0, 0, &c, NULL);
  cosim_cycles(sim, 2000);
  for (uint32_t i = 0; i < 16; i++) cosim_write(sim, 0, COSIM_CMD0 + 4 * i, 0x5A5A5A5Au);
  cosim_cycles(sim, 300);
  Lose = 0;
  CHECK(host_event_wait(sim, 0, &ev, 40000) && ev.status == COSIM_OK && ev.moved_bytes == 16);
  CHECK(!memcmp(H.memory[1] + 0x20000, c.operand, 16));
  CHECK(cosim_counter(sim, 0, COSIM_COUNT_BAD_CMD) == 16);
  cosim_destroy(sim);
}

/* A response counts only from the NIC that was asked, with the message's number, and for no more than was asked for */
static void forged_responses_are_not_taken(void) {
  cosim *sim = start(3);
  cosim_command c = host_command(COSIM_KIND_PUT, 1, 7, 0x1000, 8);
  cosim_event ev;
  cosim_write(sim, 0, COSIM_TIMEOUT, 2000);
  Lose = 2; /* the true answers come later */
  cosim_submit(sim, 0, 0, &c, NULL);
  cosim_cycles(sim, 500);
  const cosim_packet other = forge(2, 0, 0, RESPONSE, SOP | EOP, COSIM_KIND_ACK, 8, 0);
  const cosim_packet number = forge(1, 0, 1, RESPONSE, SOP | EOP, COSIM_KIND_ACK, 8, 0);
  const cosim_packet kind = forge(1, 0, 0, RESPONSE, SOP | EOP, COSIM_KIND_REPLY, 8, 0);
  const cosim_packet more = forge(1, 0, 0, RESPONSE, SOP | EOP, COSIM_KIND_ACK, 9, 0);
  cosim_inject(sim, 0, &other), cosim_inject(sim, 0, &number), cosim_inject(sim, 0, &kind);
  cosim_inject(sim, 0, &more);
  CHECK(!host_event_wait(sim, 0, &ev, 500));
  Lose = 0;
  CHECK(host_event_wait(sim, 0, &ev, 40000) && ev.status == COSIM_OK && ev.peer == 1);
  CHECK(!host_event_wait(sim, 0, &ev, 3000));
  cosim_destroy(sim);
}

/* An answer that comes while the message is being repeated: its slot is free when the repetition has left */
static void a_slot_is_free_when_nothing_of_it_is_sent(void) {
  cosim *sim = start(2);
  const cosim_command c = host_command(COSIM_KIND_PUT, 1, 7, 0x1000, 60000);
  cosim_event ev;
  cosim_write(sim, 0, COSIM_TIMEOUT, 6000);
  Lose = 2;
  cosim_submit(sim, 0, 0, &c, NULL);
  for (int i = 0; i < 1000 && cosim_counter(sim, 0, COSIM_COUNT_RETRANSMIT) == 0; i++) cosim_cycles(sim, 20);
  cosim_cycles(sim, 300);
  const cosim_packet ack = forge(1, 0, 0, RESPONSE, SOP | EOP, COSIM_KIND_ACK, 60000, 0);
  cosim_inject(sim, 0, &ack);
  CHECK(host_event_wait(sim, 0, &ev, 2000) && ev.type == COSIM_EV_ACK);
  const uint64_t then = cosim_counter(sim, 0, COSIM_COUNT_TX_PKT);
  while (cosim_read(sim, 0, COSIM_CMD0_TAIL) == 0) continue;
  const uint64_t freed = cosim_counter(sim, 0, COSIM_COUNT_TX_PKT);
  cosim_cycles(sim, 4000);
  CHECK(freed > then + 100 && cosim_counter(sim, 0, COSIM_COUNT_TX_PKT) == freed);
  cosim_destroy(sim);
}

static void illegal_atomics_change_nothing(void) {
  cosim *sim = start(2);
  cosim_event ev;
  memset(H.memory[1] + 0x20000, 0x33, 64);
  for (uint32_t op = 10; op < 32; op++) {
    for (int kind = COSIM_KIND_ATOMIC; kind <= COSIM_KIND_FETCH; kind++) {
      if (kind == COSIM_KIND_FETCH && op < 18) continue;
      cosim_packet p = forge(0, 1, 0, REQUEST, SOP | EOP, kind, 8, 7);
      p.data[0] |= 3u << 4 | op << 7; /* 8 bytes */
      p.data[12] = 0xFFFFFFFFu;
      p.crc = cosim_packet_crc(&p);
      cosim_inject(sim, 1, &p);
    }
  }
  for (uint32_t i = 0; i < 8; i++) { /* complex numbers: log2 of 0 to 7; doubles that are compared */
    const uint32_t log2 = i == 3 || i == 4 ? 4 : i, op = i == 3 ? 11 : i == 4 ? 12 : 2;
    cosim_packet p = forge(0, 1, 0, REQUEST, SOP | EOP, COSIM_KIND_FETCH, 1u << log2, 7);
    p.data[0] |= log2 << 4 | op << 7;
    p.data[10] = 3u << 10;
    p.data[12] = p.data[14] = 0xFFFFFFFFu;
    p.crc = cosim_packet_crc(&p);
    cosim_inject(sim, 1, &p);
  }
  cosim_cycles(sim, 4000);
  for (int i = 0; i < 64; i++) CHECK(H.memory[1][0x20000 + i] == 0x33);
  CHECK(!host_event(sim, 1, &ev) && cosim_counter(sim, 1, COSIM_COUNT_BAD_MSG) == 22 + 14 + 8);
  cosim_destroy(sim);
}

/* First packet of one source, last of another: no message, no stamp, no event */
static void messages_of_two_sources_do_not_mix(void) {
  cosim *sim = start(3);
  cosim_event ev;
  cosim_stamp s;
  for (int what = 0; what < 3; what++) {
    cosim_packet head = forge(0, 1, 0, REQUEST, SOP, COSIM_KIND_PUT, 64, 7);
    cosim_packet tail = forge(what == 0 ? 2 : 0, 1, what == 1, REQUEST, EOP, 0, 0, 0);
    tail.header |= what == 2 ? 2u << 4 : 1u << 4; /* number in its message; 2: one is missing */
    tail.crc = cosim_packet_crc(&tail);
    cosim_inject(sim, 1, &head), cosim_inject(sim, 1, &tail);
    cosim_cycles(sim, 1500);
    CHECK(!host_stamp(sim, 1, &s) && !host_event(sim, 1, &ev));
  }
  cosim_destroy(sim);
}

static int Irq;
static void irq(void *ctx, int nic, int level) { (void)ctx, Irq = nic ? Irq : level; }
static void an_error_of_the_host_interrupts(void) {
  cosim_desc d = host_desc(2);
  cosim_event ev;
  d.host.irq = irq, Irq = 0;
  cosim *sim = host_start(&d);
  cosim_write(sim, 0, COSIM_IRQ_ENABLE, 32);
  const cosim_command c = host_command(COSIM_KIND_PUT, 1, 7, HOST_BAD, 600);
  cosim_cycles(sim, 500);
  CHECK(!Irq);
  cosim_submit(sim, 0, 0, &c, NULL);
  CHECK(host_event_wait(sim, 0, &ev, 20000) && ev.status == COSIM_HOST_ERROR && Irq);
  cosim_destroy(sim);
}
/* A payload that cannot be read: the initiator is told, at the target nothing was put */
static void an_unreadable_payload_never_arrives(void) {
  for (int klass = 0; klass < 2; klass++) {
    cosim *sim = start(2);
    cosim_event ev;
    const cosim_command c = host_command(COSIM_KIND_PUT, 1, 7, HOST_BAD, klass ? 60 : 600);
    cosim_submit(sim, 0, klass, &c, NULL);
    CHECK(host_event_wait(sim, 0, &ev, 20000) && ev.status == COSIM_HOST_ERROR);
    while (host_event_wait(sim, 1, &ev, 3000)) CHECK(ev.status != COSIM_OK);
    CHECK(cosim_counter(sim, 1, COSIM_COUNT_BAD_MSG) + cosim_counter(sim, 1, klass ? 16 + 5 : 5) > 0);
    cosim_destroy(sim);
  }
}

/* An interrupt whose cause rises in the cycle in which the last one is cleared is not lost: the clearing is
   tried around the cycle in which an event comes, and each time the interrupt is seen. Returns when. */
static int64_t interrupt_seen(int64_t clear_at) {
  cosim_desc d = host_desc(1);
  d.host.irq = irq, Irq = 0;
  cosim *sim = host_start(&d);
  const cosim_command c = host_command(COSIM_KIND_PUT, 0, 7, HOST_BAD, 8); /* fails at once */
  cosim_write(sim, 0, COSIM_IRQ_ENABLE, 1);
  cosim_submit(sim, 0, 0, &c, NULL);
  int64_t seen = -1;
  for (int64_t i = 0; i < 1500 && seen < 0; i++) {
    if (i == clear_at) cosim_write(sim, 0, COSIM_IRQ_STATUS, 63);
    cosim_cycles(sim, 1);
    if (Irq && seen < 0) seen = i;
  }
  cosim_destroy(sim);
  return seen;
}
static void an_interrupt_is_not_cleared_away(void) {
  const int64_t at = interrupt_seen(-1);
  CHECK(at > 100);
  for (int64_t clear = at - 85; clear < at - 60; clear++) CHECK(interrupt_seen(clear) >= 0);
}

static void values_beyond_their_range_are_cut_or_refused(void) {
  cosim *sim = start(1);
  cosim_entry e = host_entry(0, 64, 1);
  const uint32_t valid = cosim_read(sim, 0, COSIM_ME_VALID);
  cosim_write(sim, 0, COSIM_RETRIES, 16);
  CHECK(cosim_read(sim, 0, COSIM_RETRIES) == 15);
  cosim_write(sim, 0, COSIM_RETRIES, 3);
  CHECK(cosim_read(sim, 0, COSIM_RETRIES) == 3);
  for (int n = 1024; n <= 65536; n *= 2) cosim_append(sim, 0, n + 1, &e), cosim_cycles(sim, 300);
  CHECK(cosim_read(sim, 0, COSIM_ME_VALID) == valid);
  CHECK(cosim_counter(sim, 0, COSIM_COUNT_BAD_CMD) == 7);
  cosim_destroy(sim);
}

/* Nothing is at work: then every event is in host memory, however slow that is */
static void idle_means_that_all_is_told(void) {
  cosim_desc d = host_desc(2);
  d.host_write_ps = 6000000;
  cosim *sim = host_start(&d);
  cosim_entry e = host_entry(0x20000, 64, 7);
  cosim_event ev;
  const cosim_command c = host_command(COSIM_KIND_PUT, 1, 7, 0x1000, 0);
  cosim_append(sim, 1, 0, &e);
  cosim_cycles(sim, 500);
  cosim_write(sim, 1, COSIM_STAMP_CTRL, 0);
  cosim_submit(sim, 0, 0, &c, NULL);
  for (int i = 0; i < 10000 && cosim_counter(sim, 1, COSIM_COUNT_RX_PKT) == 0; i++) continue;
  while (!(cosim_read(sim, 1, COSIM_CTRL) & 2)) continue;
  CHECK(host_event(sim, 1, &ev) && ev.type == COSIM_EV_PUT);
  cosim_destroy(sim);
}

/* Results are kept until they are confirmed: the repetition of an older message of the same place in the
   window gets none of them */
static void a_result_answers_only_its_message(void) {
  cosim *sim = start(2);
  cosim_event ev;
  Lose = 4;
  for (int i = 0; i < 33; i++) {
    const cosim_command c = host_command(COSIM_KIND_PUT, 1, 7, 0x1000, 8);
    cosim_submit(sim, 0, 0, &c, NULL);
    CHECK(host_event_wait(sim, 0, &ev, 20000) && ev.status == COSIM_OK);
  }
  cosim_cycles(sim, 1000);
  const uint64_t sent = cosim_counter(sim, 1, 8 + COSIM_COUNT_TX_MSG);
  cosim_packet p = forge(0, 1, 0, REQUEST, SOP | EOP, COSIM_KIND_PUT, 8, 7); /* number 0; kept is that of 32 */
  cosim_inject(sim, 1, &p);
  cosim_cycles(sim, 1500);
  CHECK(cosim_counter(sim, 1, COSIM_COUNT_DUP) == 1);
  CHECK(cosim_counter(sim, 1, 8 + COSIM_COUNT_TX_MSG) == sent);
  p = forge(0, 1, 32, REQUEST, SOP | EOP, COSIM_KIND_PUT, 8, 7);
  cosim_inject(sim, 1, &p);
  cosim_cycles(sim, 1500);
  CHECK(cosim_counter(sim, 1, 8 + COSIM_COUNT_TX_MSG) == sent + 1); /* and number 32 gets it */
  /* A late confirmation of number 0 is none of number 32, whose own is one */
  for (int seq = 0; seq <= 32; seq += 32) {
    const uint32_t kept = cosim_read(sim, 1, COSIM_UNCONFIRMED);
    const cosim_packet done = forge(0, 1, seq, RESPONSE, SOP | EOP, COSIM_KIND_ACK_ACK, 0, 0);
    cosim_inject(sim, 1, &done);
    cosim_cycles(sim, 100);
    CHECK(cosim_read(sim, 1, COSIM_UNCONFIRMED) == kept - (seq == 32));
    cosim_inject(sim, 1, &p);
    cosim_cycles(sim, 1500);
    CHECK(cosim_counter(sim, 1, 8 + COSIM_COUNT_TX_MSG) == sent + 2); /* again, and not again */
  }
  cosim_destroy(sim);
}

/* The confirmation of a result gets lost; when the result comes again nothing waits for it, and it is confirmed again:
   else it would be kept until the window has moved on */
static void a_lost_confirmation_is_repeated(void) {
  cosim *sim = start(2);
  cosim_event ev;
  const cosim_command c = host_command(COSIM_KIND_PUT, 1, 7, 0x1000, 8);
  const cosim_packet again = forge(0, 1, 0, REQUEST, SOP | EOP, COSIM_KIND_PUT, 8, 7);
  Lose = 4;
  cosim_submit(sim, 0, 0, &c, NULL);
  CHECK(host_event_wait(sim, 0, &ev, 20000) && ev.status == COSIM_OK);
  cosim_cycles(sim, 1000);
  CHECK(cosim_read(sim, 1, COSIM_UNCONFIRMED) == 1);
  Lose = 0;
  cosim_inject(sim, 1, &again);
  cosim_cycles(sim, 1500);
  CHECK(cosim_counter(sim, 1, COSIM_COUNT_DUP) == 1 && cosim_read(sim, 1, COSIM_UNCONFIRMED) == 0);
  cosim_destroy(sim);
}

/* Packets from..to of the payload of message 0 from NIC 0 to NIC 1, each with its number in all bytes; the last ends it */
static void inject_body(cosim *sim, uint32_t from, uint32_t to, int ends) {
  for (uint32_t n = from; n <= to; n++) {
    cosim_packet body = forge(0, 1, 0, REQUEST, n == to && ends ? EOP : 0, 0, 0, 0);
    body.header |= n << 4;
    memset(body.data, (int)n, sizeof body.data);
    body.crc = cosim_packet_crc(&body);
    cosim_inject(sim, 1, &body);
  }
}
/* A message that is cut to its entry is broken off behind the last byte that is wanted: whether its bytes could be
   written is said of no other message */
static void errors_of_a_cut_message_are_its_own(void) {
  cosim *sim = start(3);
  cosim_event ev;
  const cosim_entry cut = host_entry(0x20000, 64, 8), bad = host_entry(HOST_BAD, 64, 9);
  cosim_append(sim, 1, 1, &cut), cosim_append(sim, 1, 2, &bad);
  host_settle(sim);
  const cosim_packet head = forge(0, 1, 0, REQUEST, SOP, COSIM_KIND_PUT, 256, 8);
  cosim_inject(sim, 1, &head);
  inject_body(sim, 1, 1, 0), inject_body(sim, 3, 3, 0); /* the second one is missing */
  cosim_cycles(sim, 1000);
  for (uint64_t match = 9; match >= 7; match -= 2) {
    const cosim_command c = host_command(COSIM_KIND_PUT, 1, match, 0x1000, 64);
    cosim_submit(sim, 2, 0, &c, NULL);
    CHECK(host_event_wait(sim, 2, &ev, 20000));
    CHECK(ev.status == (match == 9 ? COSIM_HOST_ERROR : COSIM_OK));
  }
  cosim_destroy(sim);
}

/* The answer is here and the host takes its time with the data: it is too late to give the message up */
static void an_answered_message_is_not_given_up(void) {
  cosim_desc d = host_near_desc(2);
  cosim_event ev;
  d.host_write_ps = 9000000; /* 3,125 cycles */
  cosim *sim = host_start(&d);
  const cosim_entry e = host_entry(0x20000, 64, 7);
  const cosim_command get = host_command(COSIM_KIND_GET, 1, 7, 0x1000, 64);
  cosim_append(sim, 1, 0, &e);
  host_settle(sim);
  cosim_write(sim, 0, COSIM_TIMEOUT, 1000), cosim_write(sim, 0, COSIM_RETRIES, 0);
  cosim_submit(sim, 0, 0, &get, NULL);
  CHECK(host_event_wait(sim, 0, &ev, 20000) && ev.type == COSIM_EV_REPLY && ev.status == COSIM_OK);
  CHECK(!host_event_wait(sim, 0, &ev, 8000));
  CHECK(cosim_counter(sim, 0, COSIM_COUNT_UNDELIVERED) == 0);
  cosim_destroy(sim);
}

/* The host's memory around a buffer goes on no wire: behind the last byte there are zeros */
static void no_byte_behind_a_buffer_leaves(void) {
  cosim *sim = start(2);
  cosim_event ev;
  for (int nic = 0; nic < 2; nic++) memset(H.memory[nic], 0xEE, 0x30000);
  for (int i = 0; i < 12; i++) {
    const uint32_t bytes = 1 + (uint32_t)test_below(200), offset = (uint32_t)test_below(64);
    const uint32_t last = (bytes - 1) % 64 + 1;
    cosim_command c =
        host_command(i % 2 ? COSIM_KIND_GET : COSIM_KIND_PUT, 1, 7, 0x1000 + offset, bytes);
    c.offset = 0x8000 + offset;
    cosim_submit(sim, 0, 0, &c, NULL);
    CHECK(host_event_wait(sim, 0, &ev, 20000) && ev.status == COSIM_OK);
    for (uint32_t k = 0; k < 64; k++)
      CHECK(((unsigned char *)Last_body[i % 2].data)[k] == (k < last ? 0xEE : 0));
  }
  cosim_destroy(sim);
}

static int host_refuses_write(void *ctx, int nic, uint64_t addr, const void *buffer, size_t n) {
  return addr >= 0x20000 && addr < 0x30000 ? -1 : host_write(ctx, nic, addr, buffer, n);
}
/* What was read and could not be written back is no result, although its reply is as long */
static void a_fetch_that_failed_moved_nothing(void) {
  cosim_desc d = host_near_desc(2);
  cosim_event ev;
  cosim_stamp s;
  d.host.write = host_refuses_write;
  cosim *sim = host_start(&d);
  const cosim_entry e = host_entry(0x20000, 64, 7);
  cosim_command c = host_command(COSIM_KIND_FETCH, 1, 7, 0x1000, 8);
  c.op = COSIM_OP_SUM, c.size_log2 = 3, c.operand[0] = 1;
  cosim_append(sim, 1, 0, &e);
  host_settle(sim);
  cosim_submit(sim, 0, 0, &c, NULL);
  CHECK(host_event_wait(sim, 0, &ev, 20000) && ev.status == COSIM_HOST_ERROR);
  CHECK(cosim_counter(sim, 0, COSIM_COUNT_RX_BYTES + 1) == 0);
  cosim_cycles(sim, 1000);
  CHECK(host_stamp(sim, 0, &s) && s.kind == COSIM_KIND_FETCH && s.size_bytes == 8);
  CHECK(host_stamp(sim, 0, &s) && s.kind == COSIM_KIND_REPLY && s.size_bytes == 0);
  cosim_destroy(sim);
}

/* A failed reply moves nothing, and tails of a message that was refused are no drops */
static void counters_of_what_did_not_happen(void) {
  cosim *sim = start(2);
  cosim_event ev;
  const cosim_command get = host_command(COSIM_KIND_GET, 1, 8, 0x1000, 100); /* no such entry */
  cosim_submit(sim, 0, 0, &get, NULL);
  CHECK(host_event_wait(sim, 0, &ev, 20000) && ev.status == COSIM_NO_MATCH);
  CHECK(cosim_counter(sim, 0, COSIM_COUNT_RX_BYTES + 1) == 0);
  const cosim_command put = host_command(COSIM_KIND_PUT, 1, 8, 0x1000, 1000);
  cosim_submit(sim, 0, 0, &put, NULL);
  CHECK(host_event_wait(sim, 0, &ev, 20000) && ev.status == COSIM_NO_MATCH);
  CHECK(cosim_counter(sim, 1, COSIM_COUNT_DROP) == 0);
  cosim_destroy(sim);
}

/* A message that nobody answers is sent again as often as Retries says, each time after Timeout */
static void repetitions_are_counted_and_in_time(void) {
  enum { TIMEOUT = 1500, RETRIES = 3 };
  cosim *sim = start(2);
  cosim_command c = host_command(COSIM_KIND_PUT, 1, 7, 0x1000, 8);
  cosim_event ev;
  c.payload = COSIM_PAY_INLINE;
  cosim_write(sim, 0, COSIM_TIMEOUT, TIMEOUT), cosim_write(sim, 0, COSIM_RETRIES, RETRIES);
  Lose = 1;
  cosim_submit(sim, 0, 0, &c, NULL);
  while (cosim_counter(sim, 0, COSIM_COUNT_TX_MSG) == 0) {}
  const int64_t t_sent = cosim_cycle(sim);
  CHECK(host_event_wait(sim, 0, &ev, 20000) && ev.status == COSIM_UNDELIVERABLE);
  const int64_t waited = cosim_cycle(sim) - t_sent;
  CHECK(cosim_counter(sim, 0, COSIM_COUNT_TX_MSG) == 1 + RETRIES);
  CHECK(cosim_counter(sim, 0, COSIM_COUNT_RETRANSMIT) == RETRIES);
  for (int k = 0; k <= RETRIES; k++) { /* each is stamped as what it is */
    cosim_stamp s;
    CHECK(host_stamp(sim, 0, &s) && s.kind == COSIM_KIND_PUT && s.retry == k);
  }
  CHECK(waited > (1 + RETRIES) * TIMEOUT - 500 && waited < (1 + RETRIES) * (TIMEOUT + 40) + 200);
  cosim_destroy(sim);
}

/* Whoever sees the answer alone knows which of the repetitions it answers */
static void an_answer_carries_its_repetition(void) {
  cosim *sim = start(2);
  const cosim_command c = host_command(COSIM_KIND_PUT, 1, 7, 0x1000, 8);
  cosim_event ev;
  cosim_stamp put, ack;
  memset(&ack, 0, sizeof ack);
  cosim_write(sim, 0, COSIM_TIMEOUT, 1000);
  Lose = 1;
  cosim_submit(sim, 0, 0, &c, NULL);
  for (int i = 0; i < 1000 && cosim_counter(sim, 0, COSIM_COUNT_RETRANSMIT) == 0; i++)
    cosim_cycles(sim, 50);
  Lose = 0;
  CHECK(host_event_wait(sim, 0, &ev, 20000) && ev.status == COSIM_OK);
  cosim_cycles(sim, 500);
  CHECK(host_stamp(sim, 1, &put) && put.kind == COSIM_KIND_PUT && put.retry > 0);
  for (int i = 0; i < 16 && ack.kind == COSIM_KIND_PUT; i++) host_stamp(sim, 0, &ack);
  CHECK(ack.kind == COSIM_KIND_ACK && ack.retry == put.retry);
  cosim_destroy(sim);
}

/* With all slots under way the next one is in use: its start is refused, and no message is sent again for it */
static void a_full_ring_takes_no_command(void) {
  cosim *sim = start(2);
  uint32_t words[16];
  cosim_command c = host_command(COSIM_KIND_PUT, 1, 7, 0x1000, 8);
  cosim_event ev;
  Lose = 2;
  for (int i = 0; i < COSIM_SLOTS; i++) cosim_submit(sim, 0, 0, &c, NULL);
  cosim_cycles(sim, 2500);
  CHECK(cosim_read(sim, 0, COSIM_CMD0_HEAD) == COSIM_SLOTS);
  cosim_command_pack(&c, words);
  cosim_write(sim, 0, COSIM_CMD0 + 15 * 4, words[15]);
  cosim_cycles(sim, 100);
  CHECK(cosim_read(sim, 0, COSIM_CMD0_HEAD) == COSIM_SLOTS);
  CHECK(cosim_counter(sim, 0, COSIM_COUNT_BAD_CMD) > 0);
  Lose = 0;
  for (int i = 0; i < COSIM_SLOTS; i++)
    CHECK(host_event_wait(sim, 0, &ev, 60000) && ev.status == COSIM_OK);
  cosim_cycles(sim, 3000);
  CHECK(!host_event(sim, 0, &ev) && cosim_read(sim, 0, COSIM_CMD0_TAIL) == COSIM_SLOTS);
  cosim_destroy(sim);
}

/* The longest payload of each kind is taken, one byte more is malformed */
static void payloads_end_where_they_should(void) {
  static const uint32_t most[] = {16, COSIM_PIO_BYTES, COSIM_MAX_BYTES};
  cosim *sim = start(2);
  for (int kind = 0; kind < 3; kind++)
    for (uint32_t more = kind == 2; more < 2; more++) { /* 4 MiB take their time */
      cosim_command c = host_command(COSIM_KIND_PUT, 1, 7, 0x1000, most[kind] + more);
      cosim_event ev;
      c.payload = kind;
      cosim_submit(sim, 0, 0, &c, NULL);
      CHECK(host_event_wait(sim, 0, &ev, 9000));
      CHECK(ev.status == (more ? COSIM_OPERATION : COSIM_OK));
    }
  cosim_destroy(sim);
}

/* What was matched for the first part of a message is used for its repetition; one that is shorter is none */
static void a_shorter_repetition_is_not_taken(void) {
  cosim *sim = start(2);
  cosim_event ev;
  const cosim_packet whole = forge(0, 1, 0, REQUEST, SOP, COSIM_KIND_PUT, 256, 7);
  const cosim_packet shorter = forge(0, 1, 0, REQUEST, SOP, COSIM_KIND_PUT, 128, 7);
  cosim_inject(sim, 1, &whole), inject_body(sim, 1, 1, 0);
  cosim_inject(sim, 1, &shorter), inject_body(sim, 1, 2, 1);
  cosim_cycles(sim, 1000);
  CHECK(!host_event(sim, 1, &ev) && cosim_counter(sim, 1, COSIM_COUNT_BAD_MSG) == 1);
  cosim_inject(sim, 1, &whole), inject_body(sim, 1, 4, 1);
  CHECK(host_event_wait(sim, 1, &ev, 1000) && ev.status == COSIM_OK && ev.moved_bytes == 256);
  for (int i = 0; i < 256; i++) CHECK(H.memory[1][0x20000 + i] == 1 + i / 64);
  CHECK(cosim_counter(sim, 1, COSIM_COUNT_BAD_MSG) == 1);
  cosim_destroy(sim);
}

/* However slow the host is to write and quick to read, an atomic finds what messages before it wrote */
static void an_atomic_finds_what_was_written_before(void) {
  cosim_desc d = host_near_desc(2);
  cosim_event ev;
  d.host_write_ps = 1000000, d.host_read_ps = 5000;
  cosim *sim = host_start(&d);
  const cosim_entry e = host_entry(0x20000, 64, 7);
  cosim_append(sim, 1, 0, &e);
  host_settle(sim);
  for (uint64_t i = 0; i < 6; i++) {
    cosim_command put = host_command(COSIM_KIND_PUT, 1, 7, 0, 8), add = put;
    uint64_t sum = 0;
    put.payload = COSIM_PAY_INLINE, put.operand[0] = 1000 * i;
    add.kind = COSIM_KIND_ATOMIC, add.payload = COSIM_PAY_INLINE;
    add.op = COSIM_OP_SUM, add.size_log2 = 3, add.operand[0] = 7;
    cosim_submit(sim, 0, (int)(i & 1), &put, NULL), cosim_submit(sim, 0, (int)(i & 1), &add, NULL);
    for (int n = 0; n < 2; n++) CHECK(host_event_wait(sim, 0, &ev, 20000) && ev.status == COSIM_OK);
    memcpy(&sum, H.memory[1] + 0x20000, 8);
    CHECK(sum == 1000 * i + 7);
  }
  cosim_destroy(sim);
}

/* An answer that comes while the message is being given up: in whichever cycle, one thing is told of it */
static void a_message_ends_once(void) {
  cosim_desc d = host_near_desc(1); /* nobody answers by itself */
  cosim *sim = host_start(&d);
  cosim_event ev;
  int answered = 0, given_up = 0;
  int64_t takes = 0;
  cosim_write(sim, 0, COSIM_TIMEOUT, 150), cosim_write(sim, 0, COSIM_RETRIES, 0);
  cosim_cycles(sim, 100);
  for (int i = 0; i < 60; i++) {
    const int slot = i % COSIM_SLOTS; /* slots, and as many of triggers, are looked at in turn, the oldest first */
    while (cosim_cycle(sim) % (2 * COSIM_SLOTS)) cosim_cycles(sim, 1);
    const int64_t begin = cosim_cycle(sim);
    const cosim_command c = host_command(COSIM_KIND_PUT, 1, 7, 0, 0);
    cosim_packet ack = forge(1, 0, i, RESPONSE, SOP | EOP, COSIM_KIND_ACK, 0, 0);
    ack.data[10] = (uint32_t)slot, ack.crc = cosim_packet_crc(&ack);
    cosim_submit(sim, 0, 0, &c, NULL);
    if (i) cosim_cycles(sim, takes - 50 + i), cosim_inject(sim, 0, &ack);
    while (!host_event(sim, 0, &ev) && cosim_cycle(sim) < begin + 1000) cosim_cycles(sim, 1);
    if (!i) takes = cosim_cycle(sim) - begin;
    CHECK(ev.status == COSIM_OK || ev.status == COSIM_UNDELIVERABLE);
    answered += ev.status == COSIM_OK, given_up += ev.status == COSIM_UNDELIVERABLE;
    CHECK(!host_event_wait(sim, 0, &ev, 150));
  }
  CHECK(answered > 4 && given_up > 4 && answered + given_up == 60);
  CHECK(cosim_counter(sim, 0, COSIM_COUNT_UNDELIVERED) == (uint64_t)given_up);
  cosim_destroy(sim);
}

static void a_stamp_interrupts(void) {
  cosim *sim = start(2);
  const cosim_command c = host_command(COSIM_KIND_PUT, 1, 7, 0x1000, 8);
  cosim_event ev;
  cosim_write(sim, 0, COSIM_IRQ_STATUS, 63);
  cosim_submit(sim, 0, 0, &c, NULL);
  CHECK(host_event_wait(sim, 0, &ev, 9000));
  cosim_cycles(sim, 500);
  CHECK(cosim_read(sim, 0, COSIM_IRQ_STATUS) >> 4 & 1);
  cosim_destroy(sim);
}

/* Of a message's tries some are lost, told by its number: bit n of the mask is the try n */
static uint32_t Tries_lost[256];
static int Tries[256], Order[256], Order_count;
static cosim_fault lose_tries(void *ctx, int src, int dst, const cosim_packet *p) {
  const int seq = (int)(p->header >> 12 & 255);
  (void)ctx, (void)dst;
  if (src || (p->header >> 2 & 3) != REQUEST) return COSIM_PASS;
  if (Tries[seq] && Order_count < 256) Order[Order_count++] = seq;
  return Tries_lost[seq] >> Tries[seq]++ & 1 ? COSIM_LOSE : COSIM_PASS;
}
static cosim *start_losing(uint32_t timeout, uint32_t retries) {
  cosim_desc d = host_near_desc(2);
  const cosim_entry e = host_entry(0x20000, 0x10000, 7);
  d.fault = lose_tries;
  memset(Tries, 0, sizeof Tries), memset(Tries_lost, 0, sizeof Tries_lost), Order_count = 0;
  cosim *sim = host_start(&d);
  cosim_append(sim, 1, 0, &e);
  cosim_write(sim, 0, COSIM_TIMEOUT, timeout), cosim_write(sim, 0, COSIM_RETRIES, retries);
  host_settle(sim);
  return sim;
}
static void put_one(cosim *sim, uint64_t user) {
  cosim_command c = host_command(COSIM_KIND_PUT, 1, 7, 0, 8);
  c.payload = COSIM_PAY_INLINE, c.user = user;
  cosim_submit(sim, 0, 0, &c, NULL);
}
/* Messages behind a lost one are refused until it has come. Those that the host has ready then go when all of them are
   there: the first ones are repeated once, not each message from there on */
static void a_loss_repeats_what_was_under_way_only(void) {
  cosim *sim = start_losing(1500, 5);
  cosim_event ev;
  int count = 0, done = 0;
  Tries_lost[5] = 1;
  while (done < 200 && cosim_cycle(sim) < 60000) {
    if (count < 200 && count - done < 16) put_one(sim, (uint64_t)count++);
    cosim_cycles(sim, 20);
    while (host_event(sim, 0, &ev)) {
      CHECK(ev.status == COSIM_OK && ev.user == (uint64_t)done);
      done++;
    }
  }
  CHECK(done == 200);
  CHECK(cosim_counter(sim, 0, COSIM_COUNT_RETRANSMIT) <= 16);
  CHECK(cosim_counter(sim, 1, COSIM_COUNT_FUTURE) <= 16);
  cosim_destroy(sim);
}
/* A message may have been refused for want of an earlier one: each answer of its peer gives it all of its tries again,
   if there are any. Without an answer it has them once */
static void tries_are_counted_since_the_last_answer(void) {
  cosim *sim = start_losing(1000, 2);
  cosim_event ev;
  Tries_lost[0] = 1, Tries_lost[1] = 6, Tries_lost[5] = 255;
  for (uint64_t i = 0; i < 4; i++) put_one(sim, i);
  for (uint64_t i = 0; i < 4; i++)
    CHECK(host_event_wait(sim, 0, &ev, 20000) && ev.status == COSIM_OK && ev.user == i);
  CHECK(Tries[0] == 2 && Tries[1] == 4 && Tries[3] >= 4);
  put_one(sim, 4), put_one(sim, 5);
  CHECK(host_event_wait(sim, 0, &ev, 20000) && ev.status == COSIM_OK && ev.user == 4);
  CHECK(host_event_wait(sim, 0, &ev, 20000) && ev.status == COSIM_UNDELIVERABLE && ev.user == 5);
  CHECK(Tries[5] == 3);
  cosim_write(sim, 0, COSIM_RETRIES, 0);
  Tries_lost[7] = 255;
  put_one(sim, 6), put_one(sim, 7);
  CHECK(host_event_wait(sim, 0, &ev, 20000) && ev.status == COSIM_OK && ev.user == 6);
  CHECK(host_event_wait(sim, 0, &ev, 20000) && ev.status == COSIM_UNDELIVERABLE && ev.user == 7);
  CHECK(Tries[7] == 1);
  cosim_destroy(sim);
}
/* Where the ring of slots ends among them, too, in whichever cycle they become late */
static void the_oldest_is_sent_again_first(void) {
  cosim *sim = start_losing(1000, 5);
  cosim_event ev;
  int seq = 0;
  for (int round = 0; round < 8; round++) {
    for (int i = 0; i < 24; i++) Tries_lost[seq + i] = round ? 1 : 0;
    cosim_write(sim, 0, COSIM_CTRL, 0); /* all leave at once */
    for (int i = 0; i < 24; i++) put_one(sim, (uint64_t)i);
    cosim_cycles(sim, 1200 + 9 * round);
    cosim_write(sim, 0, COSIM_CTRL, 1);
    Order_count = 0;
    for (int i = 0; i < 24; i++) CHECK(host_event_wait(sim, 0, &ev, 20000) && ev.status == COSIM_OK);
    for (int i = 0; i < Order_count; i++) CHECK(Order[i] == seq + i);
    CHECK(Order_count == (round ? 24 : 0));
    seq += 24;
    host_settle(sim);
  }
  cosim_destroy(sim);
}
/* However many messages nobody answered, half of 256 and more: the first one after them is delivered, and what is told of it
   is not of another one of the same last 8 bits */
static void a_peer_that_comes_back_is_heard(void) {
  static const int given_up[] = {5, 150, 120, 260, 128};
  cosim *sim = start(2);
  cosim_event ev;
  cosim_write(sim, 0, COSIM_TIMEOUT, 150), cosim_write(sim, 0, COSIM_RETRIES, 0);
  cosim_cycles(sim, 200);
  for (int round = 0; round < 5; round++) {
    for (int i = 0; i < given_up[round] + 3; i++) {
      Lose = i < given_up[round];
      put_one(sim, (uint64_t)i);
      CHECK(host_event_wait(sim, 0, &ev, 20000) && ev.user == (uint64_t)i);
      CHECK(ev.status == (Lose ? COSIM_UNDELIVERABLE : COSIM_OK));
      if (!Lose) CHECK(host_event_wait(sim, 1, &ev, 20000) && ev.type == COSIM_EV_PUT);
      host_settle(sim);
    }
  }
  CHECK(cosim_counter(sim, 1, COSIM_COUNT_DUP) == 0);
  cosim_destroy(sim);
}

/* More is asked for, or waits for a wire, than moves within the retry time: what waits to be answered is not answered
   again, what has been answered is not sent again */
static void moves_once(int kind, int senders) {
  enum { PUTS = 12, BYTES = 20000 };
  cosim_desc d = host_desc(senders + 1);
  cosim *sim = host_start(&d);
  cosim_entry e = host_entry(0x20000, 0x10000, 7);
  cosim_event ev;
  uint64_t moved = 0, again = 0;
  e.no_events = 1;
  cosim_append(sim, 0, 0, &e);
  host_fill(1, 0x1000, BYTES), host_fill(0, 0x20000, BYTES);
  for (int i = 1; i <= senders; i++) memcpy(H.memory[i] + 0x1000, H.memory[1] + 0x1000, BYTES);
  for (int i = 1; i <= senders; i++) cosim_write(sim, i, COSIM_TIMEOUT, 180), cosim_write(sim, i, COSIM_RETRIES, 15);
  host_settle(sim);
  for (int k = 0; k < PUTS; k++)
    for (int i = 1; i <= senders; i++) {
      cosim_command c = host_command(kind, 0, 7, 0x1000, BYTES);
      c.user = (uint64_t)k;
      cosim_submit(sim, i, 0, &c, NULL);
    }
  for (int k = 0; k < PUTS; k++)
    for (int i = 1; i <= senders; i++) CHECK(host_event_wait(sim, i, &ev, 60000) && ev.status == COSIM_OK);
  host_settle(sim);
  for (int i = 1; i <= senders; i++) {
    again += cosim_counter(sim, i, COSIM_COUNT_RETRANSMIT);
    moved += kind == COSIM_KIND_PUT ? cosim_counter(sim, i, COSIM_COUNT_TX_BYTES) : 0;
  }
  if (kind == COSIM_KIND_GET) moved = cosim_counter(sim, 0, COSIM_COUNT_TX_BYTES + 1);
  printf("  %u bytes asked for, %u moved, %u repetitions chosen\n", (unsigned)(PUTS * BYTES * senders), (unsigned)moved,
         (unsigned)again);
  for (int i = 1; i <= senders; i++) CHECK(!memcmp(H.memory[0] + 0x20000, H.memory[i] + 0x1000, BYTES));
  CHECK(again > 5 && moved <= (uint64_t)(PUTS * BYTES * senders) * 21 / 20);
  cosim_destroy(sim);
}
static void a_short_retry_time_does_not_fill_the_wire(void) {
  moves_once(COSIM_KIND_GET, 1);
  moves_once(COSIM_KIND_PUT, 3);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(the_stamp_ring_goes_round);
  RUN(kinds_that_are_not_wanted_make_no_stamp);
  RUN(atomics_of_both_classes_count_all);
  RUN(a_slot_under_way_keeps_its_command);
  RUN(forged_responses_are_not_taken);
  RUN(a_slot_is_free_when_nothing_of_it_is_sent);
  RUN(illegal_atomics_change_nothing);
  RUN(messages_of_two_sources_do_not_mix);
  RUN(an_error_of_the_host_interrupts);
  RUN(an_unreadable_payload_never_arrives);
  RUN(an_interrupt_is_not_cleared_away);
  RUN(values_beyond_their_range_are_cut_or_refused);
  RUN(idle_means_that_all_is_told);
  RUN(a_result_answers_only_its_message);
  RUN(a_lost_confirmation_is_repeated);
  RUN(errors_of_a_cut_message_are_its_own);
  RUN(an_answered_message_is_not_given_up);
  RUN(no_byte_behind_a_buffer_leaves);
  RUN(a_fetch_that_failed_moved_nothing);
  RUN(counters_of_what_did_not_happen);
  RUN(repetitions_are_counted_and_in_time);
  RUN(an_answer_carries_its_repetition);
  RUN(a_full_ring_takes_no_command);
  RUN(payloads_end_where_they_should);
  RUN(a_shorter_repetition_is_not_taken);
  RUN(an_atomic_finds_what_was_written_before);
  RUN(a_message_ends_once);
  RUN(a_loss_repeats_what_was_under_way_only);
  RUN(tries_are_counted_since_the_last_answer);
  RUN(the_oldest_is_sent_again_first);
  RUN(a_peer_that_comes_back_is_heard);
  RUN(a_short_retry_time_does_not_fill_the_wire);
  RUN(a_stamp_interrupts);
  return TEST_END();
}
