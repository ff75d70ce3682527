/* What rtl/REGISTERS.md says in passing: the idle bit while only counters or released commands are at work, a queue that
   is off, registers that share a word, turns between host and counters, credits of packets that were cut, when a message is
   late, how often it is sent, and what counts. */
#include <math.h>
#include <stdbool.h>
#include "tests/rtl/cosim.h"

static int Lose_answers;
static uint32_t Beside; /* in the last reply's header, behind a value of 8 bytes */
static int Cut;  /* so many packets of data */
static int Slow; /* data of the class compute: 1 us from packet to packet */
static cosim_fault fault(void *ctx, int src, int dst, const cosim_packet *p) {
  (void)ctx, (void)src, (void)dst;
  if (p->header & 2 && (p->data[0] & 15) == COSIM_KIND_REPLY) Beside = p->data[14] | p->data[15];
  if (Lose_answers && p->header >> 2 & 1) return COSIM_LOSE;
  if (Cut > 0 && !(p->header >> 2 & 1)) return Cut--, COSIM_CUT;
  return Slow && !(p->header >> 2 & 3) ? COSIM_DELAY : COSIM_PASS;
}
static cosim *start(int nics) {
  cosim_desc d = host_desc(nics);
  d.fault = fault;
  Lose_answers = Cut = Slow = 0;
  return host_start(&d);
}
static int is_idle(cosim *sim, int nic) { return cosim_read(sim, nic, COSIM_CTRL) >> 1 & 1; }

/* 200 counters that count each other take 400 cycles, in which nothing else moves */
static void counters_at_work_are_not_idle(void) {
  cosim *sim = start(1);
  cosim_command c = host_command(COSIM_KIND_CT_INC, 0, 0, 0, 0);
  c.ct = 3, c.operand[0] = 1;
  for (int i = 0; i < 200; i++) cosim_trigger(sim, 0, 0, i, 2, 1, &c);
  while (cosim_read(sim, 0, COSIM_TRIGGER + COSIM_TRIGGER_BUSY)) {
  }
  CHECK(is_idle(sim, 0)); /* triggers that wait are no work */
  cosim_write(sim, 0, COSIM_CT + 32 * 2, 1);
  CHECK(!is_idle(sim, 0));
  while (cosim_read(sim, 0, COSIM_TRIGGER + COSIM_TRIGGER_BUSY)) {
  }
  CHECK(is_idle(sim, 0) && cosim_read(sim, 0, COSIM_CT + 32 * 3) == 200);
  cosim_destroy(sim);
}
static void released_commands_without_answer_are_not_idle(void) {
  cosim *sim = start(2);
  cosim_entry e = host_entry(0x20000, 0x10000, 7);
  cosim_command c = host_command(COSIM_KIND_PUT, 1, 7, 0, 8);
  cosim_event ev;
  c.payload = COSIM_PAY_INLINE;
  cosim_append(sim, 1, 0, &e);
  cosim_trigger(sim, 0, 0, 0, 2, 1, &c);
  cosim_cycles(sim, 300);
  Lose_answers = 1;
  cosim_write(sim, 0, COSIM_CT + 32 * 2, 1);
  CHECK(host_event_wait(sim, 1, &ev, 4000)); /* it is there, and nobody knows it here */
  cosim_cycles(sim, 1000);
  CHECK(!is_idle(sim, 0));
  Lose_answers = 0;
  CHECK(host_event_wait(sim, 0, &ev, 20000) && ev.status == COSIM_OK);
  cosim_cycles(sim, 2000);
  CHECK(is_idle(sim, 0));
  cosim_destroy(sim);
}
/* Its base is known, and it has room: nothing is written all the same, and all is counted as lost */
static void a_queue_that_is_off_loses_events(void) {
  cosim *sim = start(2);
  cosim_entry e = host_entry(0x20000, 0x10000, 7);
  cosim_command c = host_command(COSIM_KIND_PUT, 1, 7, 0, 8);
  const unsigned char none[64] = {0};
  c.payload = COSIM_PAY_INLINE, c.eq = 2;
  cosim_append(sim, 1, 0, &e);
  cosim_write(sim, 0, COSIM_EQ + 2 * 32 + COSIM_EQ_BASE_LO, 0x40000);
  cosim_submit(sim, 0, 0, &c, NULL);
  for (int i = 0; i < 400 && !cosim_read(sim, 0, COSIM_EQ + 2 * 32 + COSIM_EQ_DROPPED); i++) {
  }
  CHECK(cosim_read(sim, 0, COSIM_EQ + 2 * 32 + COSIM_EQ_DROPPED) == 1);
  CHECK(cosim_read(sim, 0, COSIM_EQ + 2 * 32 + COSIM_EQ_PROD) == 0);
  CHECK(memcmp(H.memory[0] + 0x40000, none, sizeof none) == 0);
  cosim_destroy(sim);
}
/* Process and user of a context lie in one word of the NIC: the one stays when the other is written */
static void halves_of_a_context_are_written_apart(void) {
  cosim *sim = start(1);
  for (uint32_t k = 0; k < 16; k++) {
    const uint32_t at = COSIM_CTX + 16 * k, who = 0x80000000u | k % 4 << 16 | (0x1234 + k);
    cosim_write(sim, 0, at, who);
    cosim_write(sim, 0, at + 4, 0xABCD0000u + k);
    CHECK(cosim_read(sim, 0, at) == who && cosim_read(sim, 0, at + 4) == 0xABCD0000u + k);
    cosim_write(sim, 0, at, who + 1);
    CHECK(cosim_read(sim, 0, at) == who + 1 && cosim_read(sim, 0, at + 4) == 0xABCD0000u + k);
  }
  cosim_destroy(sim);
}
/* 32 commands of the host wait, and 8 that counters released: they take turns */
static void released_commands_do_not_wait_for_the_host(void) {
  cosim *sim = start(2);
  cosim_entry e = host_entry(0x20000, 0x10000, 7);
  int early = 0, all = 0;
  cosim_append(sim, 1, 0, &e);
  cosim_write(sim, 0, COSIM_CTRL, 0); /* all stand there before the first one goes */
  for (unsigned i = 0; i < 40; i++) {
    cosim_command c = host_command(COSIM_KIND_PUT, 1, 7, 0, 8);
    c.payload = COSIM_PAY_INLINE, c.hdr_data = i, c.want_ack = 0;
    if (i < 32)
      cosim_submit(sim, 0, 0, &c, NULL);
    else
      cosim_trigger(sim, 0, 0, (int)i, 2, 1, &c);
  }
  cosim_write(sim, 0, COSIM_CT + 32 * 2, 1);
  cosim_cycles(sim, 2000);
  cosim_write(sim, 0, COSIM_CTRL, 1);
  for (int i = 0; i < 40; i++) {
    cosim_event ev;
    CHECK(host_event_wait(sim, 1, &ev, 60000));
    all += ev.hdr_data >= 32, early += ev.hdr_data >= 32 && i < 24;
  }
  CHECK(all == 8 && early >= 4);
  cosim_destroy(sim);
}
/* More packets are cut than the sender has credits for: each gives its credit back */
static void cut_packets_give_their_credit_back(void) {
  cosim *sim = start(2);
  cosim_entry e = host_entry(0x20000, 0x10000, 7);
  cosim_command c = host_command(COSIM_KIND_PUT, 1, 7, 0x1000, 30000);
  cosim_event ev;
  cosim_append(sim, 1, 0, &e);
  host_fill(0, 0x1000, 30000);
  cosim_write(sim, 0, COSIM_RETRIES, 15);
  cosim_cycles(sim, 500);
  Cut = 700;
  cosim_submit(sim, 0, 0, &c, NULL);
  CHECK(host_event_wait(sim, 0, &ev, 60000) && ev.status == COSIM_OK && Cut == 0);
  CHECK(memcmp(H.memory[0] + 0x1000, H.memory[1] + 0x20000, 30000) == 0);
  cosim_destroy(sim);
}
/* The time until a repetition begins when the last packet has left, and again with each packet of a reply: what takes
   longer than that on the wire is sent once */
static void what_moves_is_not_late(void) {
  cosim *sim = start(2);
  cosim_entry e = host_entry(0x20000, 0x80000, 7);
  cosim_command c = host_command(COSIM_KIND_PUT, 1, 7, 0x10000, 200000);
  cosim_event ev;
  e.no_events = 1;
  cosim_append(sim, 1, 0, &e);
  cosim_write(sim, 0, COSIM_TIMEOUT, 3000); /* 200,000 bytes take 6,250 cycles */
  cosim_cycles(sim, 500);
  for (int k = 0; k < 2; k++) {
    cosim_submit(sim, 0, 0, &c, NULL);
    CHECK(host_event_wait(sim, 0, &ev, 60000) && ev.status == COSIM_OK && ev.moved_bytes == 200000);
    CHECK(cosim_counter(sim, 0, COSIM_COUNT_RETRANSMIT) == 0);
    c.kind = COSIM_KIND_GET;
  }
  cosim_destroy(sim);
}
/* A put in its command is sent, and told to be, once, however often it is repeated */
static void a_repetition_is_not_told_as_sent(void) {
  cosim *sim = start(2);
  cosim_entry e = host_entry(0x20000, 0x10000, 7);
  cosim_command c = host_command(COSIM_KIND_PUT, 1, 7, 0, 8);
  cosim_event ev;
  int sent = 0;
  e.no_events = 1;
  c.payload = COSIM_PAY_INLINE, c.want_send = 1;
  cosim_append(sim, 1, 0, &e);
  cosim_write(sim, 0, COSIM_TIMEOUT, 1000);
  cosim_cycles(sim, 500);
  Lose_answers = 1;
  cosim_submit(sim, 0, 0, &c, NULL);
  cosim_cycles(sim, 3500);
  Lose_answers = 0;
  do {
    CHECK(host_event_wait(sim, 0, &ev, 20000) && ev.status == COSIM_OK);
    sent += ev.type == COSIM_EV_SEND;
  } while (ev.type == COSIM_EV_SEND && sent < 9);
  CHECK(sent == 1 && ev.type == COSIM_EV_ACK);
  CHECK(cosim_counter(sim, 0, COSIM_COUNT_RETRANSMIT) >= 2);
  cosim_destroy(sim);
}
/* What the host adds is signed, of 32 bits, goes into the other half, and is copied to its memory: it does not know the sum */
static void the_host_adds_to_counters(void) {
  static const uint32_t more[] = {0xFFFFFFFFu, 5, 0x80000000u, 0x7FFFFFFFu, 0xFFFFFFFEu, 1};
  cosim *sim = start(1);
  const uint32_t at = COSIM_CT + 32 * 6;
  uint64_t want[2] = {0, 0}, copy[2] = {0, 0};
  cosim_write(sim, 0, at + COSIM_CT_COPY_LO, HOST_CT);
  for (uint32_t i = 0; i < 12; i++) {
    const uint32_t half = i % 2, n = more[i / 2];
    cosim_write(sim, 0, at + COSIM_CT_ADD_SUCCESS + 4 * half, n);
    want[half] += (uint64_t)(int64_t)(int32_t)n;
    cosim_cycles(sim, 400);
    memcpy(copy, H.memory[0] + HOST_CT, sizeof copy);
    CHECK(copy[0] == want[0] && copy[1] == want[1]);
    CHECK(cosim_read(sim, 0, at + 8 * half) == (uint32_t)want[half] &&
          cosim_read(sim, 0, at + 8 * half + 4) == (uint32_t)(want[half] >> 32));
  }
  cosim_destroy(sim);
}

/* A message counts with its entry, and its event says so; not where its portal index is mute, nor gets where puts count */
static void what_is_mute_does_not_count(void) {
  cosim *sim = start(2);
  cosim_entry e = host_entry(0x20000, 0x10000, 7);
  cosim_event ev;
  uint32_t count = 0;
  e.ct = 3, e.ct_puts = 1;
  cosim_append(sim, 1, 0, &e);
  for (uint32_t mute = 0; mute < 3; mute++)
    for (int is_get = 0; is_get < 2; is_get++) {
      const int counts = !is_get && mute != 1; /* the command's portal index is 0 */
      const cosim_command c = host_command(is_get ? COSIM_KIND_GET : COSIM_KIND_PUT, 1, 7, 0x1000, 64);
      cosim_write(sim, 1, COSIM_CTX + 8, mute << 16 | 0xFFFF);
      CHECK(cosim_read(sim, 1, COSIM_CTX + 8) == (mute << 16 | 0xFFFF));
      cosim_submit(sim, 0, 0, &c, NULL);
      CHECK(host_event_wait(sim, 1, &ev, 9000) && ev.status == COSIM_OK && ev.counted == counts);
      CHECK(host_event_wait(sim, 0, &ev, 9000) && ev.status == COSIM_OK && !ev.counted);
      count += (uint32_t)counts;
      CHECK(cosim_read(sim, 1, COSIM_CT + 32 * 3) == count);
    }
  cosim_destroy(sim);
}

/* Where an entry gives no acknowledgement what it takes makes neither event nor count at the initiator, but an event of
   its end where that is asked for; SEND, replies and failures come as ever, and nothing is sent again */
static void what_is_not_acknowledged_ends_all_the_same(void) {
  static const struct {
    int kind, want_end, bytes, status; /* -1: nothing comes */
  } calls[] = {{COSIM_KIND_PUT, 0, 8, -1},   {COSIM_KIND_ATOMIC, 0, 8, -1},       {COSIM_KIND_GET, 0, 8, COSIM_OK},
               {COSIM_KIND_PUT, 1, 8, COSIM_OK}, {COSIM_KIND_FETCH, 0, 8, COSIM_OK}, {COSIM_KIND_PUT, 0, 2000, -1},
               {COSIM_KIND_PUT, 0, 8, COSIM_OPERATION}, {COSIM_KIND_PUT, 0, 0, -1}, {COSIM_KIND_PUT, 0, 64, COSIM_HOST_ERROR}};
  cosim *sim = start(2);
  cosim_entry e = host_entry(0x20000, 0x10000, 7);
  cosim_event ev;
  uint32_t successes = 0, failures = 0;
  e.ack_off = e.no_events = 1;
  cosim_append(sim, 1, 0, &e);
  e.op_put = 0, e.match = 8;
  cosim_append(sim, 1, 1, &e);
  e.op_put = 1, e.match = 9, e.start = HOST_BAD;
  cosim_append(sim, 1, 2, &e);
  cosim_cycles(sim, 500);
  for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++) {
    const int status = calls[i].status, kind = calls[i].kind;
    const bool is_back = kind == COSIM_KIND_GET || kind == COSIM_KIND_FETCH;
    cosim_command c = host_command(kind, 1, status == COSIM_OPERATION ? 8 : status == COSIM_HOST_ERROR ? 9 : 7, 0x1000, (uint32_t)calls[i].bytes);
    c.ct = 2, c.want_send = !is_back, c.want_end = calls[i].want_end, c.user = i;
    c.op = COSIM_OP_SUM, c.size_log2 = 3;
    cosim_submit(sim, 0, 0, &c, NULL);
    if (!is_back) CHECK(host_event_wait(sim, 0, &ev, 9000) && ev.type == COSIM_EV_SEND && ev.user == i && !ev.counted);
    if (status >= 0) {
      CHECK(host_event_wait(sim, 0, &ev, 9000) && ev.user == i && ev.status == status);
      CHECK(ev.type == (is_back ? COSIM_EV_REPLY : COSIM_EV_ACK) && ev.counted == !calls[i].want_end);
    }
    cosim_cycles(sim, 6000);
    CHECK(!host_event(sim, 0, &ev) && cosim_read(sim, 0, COSIM_CMD0_TAIL) == i + 1);
    successes += is_back, failures += status > COSIM_OK;
    CHECK(cosim_read(sim, 0, COSIM_CT + 32 * 2 + COSIM_CT_SUCCESS_LO) == successes);
    CHECK(cosim_read(sim, 0, COSIM_CT + 32 * 2 + COSIM_CT_FAILURE_LO) == failures);
  }
  CHECK(cosim_counter(sim, 0, COSIM_COUNT_RETRANSMIT) == 0);
  cosim_destroy(sim);
}

/* An append that waits for its entry holds up no message: one for another entry is taken meanwhile */
static void messages_pass_an_append_that_waits(void) {
  cosim *sim = start(3);
  cosim_entry once = host_entry(0x20000, 0x80000, 7), other = host_entry(0x10000, 64, 8);
  cosim_command c = host_command(COSIM_KIND_PUT, 1, 7, 0x10000, 4000);
  cosim_event ev;
  uint32_t words[16];
  once.use_once = Slow = 1;
  cosim_write(sim, 0, COSIM_TIMEOUT, 400000);
  cosim_append(sim, 1, 0, &once);
  cosim_append(sim, 1, 1, &other);
  cosim_cycles(sim, 500);
  cosim_submit(sim, 0, 0, &c, NULL);
  for (int i = 0; i < 400 && !(cosim_read(sim, 1, COSIM_ME_IN_USE) & 1); i++) {
  }
  CHECK(cosim_read(sim, 1, COSIM_ME_VALID) == 2); /* it has left the list, its buffer is in use */
  once.match = 9;
  cosim_entry_pack(&once, words);
  for (uint32_t i = 0; i < 16; i++) cosim_write(sim, 1, COSIM_ME_STAGE + i * 4, words[i]);
  cosim_write(sim, 1, COSIM_ME_APPEND, COSIM_ME_FORCE);
  CHECK(cosim_read(sim, 1, COSIM_ME_BUSY) == 1);
  for (int k = 0; k < 3; k++) {
    cosim_command small = host_command(COSIM_KIND_PUT, 1, 8, 0, 8);
    small.payload = COSIM_PAY_INLINE;
    cosim_submit(sim, 2, 1, &small, NULL);
    CHECK(host_event_wait(sim, 1, &ev, 1500) && ev.match == 8 && ev.status == COSIM_OK);
    CHECK(cosim_read(sim, 1, COSIM_ME_BUSY) == 1 && cosim_read(sim, 1, COSIM_ME_IN_USE) & 1);
  }
  CHECK(host_event_wait(sim, 1, &ev, 60000) && ev.match == 7);
  for (int i = 0; i < 100 && cosim_read(sim, 1, COSIM_ME_BUSY); i++) {
  }
  CHECK(cosim_read(sim, 1, COSIM_ME_VALID) == 3 && cosim_read(sim, 1, COSIM_ME_IN_USE) == 0);
  cosim_destroy(sim);
}
/* A released command is answered while its repetition waits behind a long put, and then need not leave. Its slot is not
   for others before: with their content the repetition would go under another message's number. */
static void a_slot_is_free_after_its_last_repetition(void) {
  cosim_desc d = host_desc(3);
  cosim_event ev;
  int seen[33] = {0};
  d.link_latency_ps = 2000000; /* the answer comes 1,400 cycles after the command has left */
  cosim *sim = host_start(&d);
  for (int nic = 1; nic < 3; nic++) {
    cosim_entry e = host_entry(0x20000, 0x80000, 7);
    cosim_append(sim, nic, 0, &e);
  }
  for (int i = 0; i < 33; i++) {
    cosim_command c = host_command(COSIM_KIND_PUT, i ? 2 : 1, 7, 0, 8);
    c.payload = COSIM_PAY_INLINE, c.want_ack = 0, c.hdr_data = (unsigned)i;
    cosim_trigger(sim, 0, 0, i, i ? 3 : 2, 1, &c);
  }
  cosim_command c = host_command(COSIM_KIND_PUT, 1, 7, 0x10000, 300000);
  c.hdr_data = 100;
  cosim_write(sim, 0, COSIM_TIMEOUT, 700);
  cosim_cycles(sim, 3000);
  cosim_write(sim, 0, COSIM_CT + 32 * 2, 1);
  cosim_submit(sim, 0, 0, &c, NULL);
  cosim_cycles(sim, 1100);
  CHECK(cosim_counter(sim, 0, COSIM_COUNT_RETRANSMIT) == 1); /* it waits to be sent */
  cosim_write(sim, 0, COSIM_TIMEOUT, 400000);
  cosim_cycles(sim, 1500);
  cosim_write(sim, 0, COSIM_CT + 32 * 3, 1);
  for (int i = 0; i < 32; i++) {
    CHECK(host_event_wait(sim, 2, &ev, 60000) && ev.hdr_data < 33 && seen[ev.hdr_data % 33]++ == 0);
  }
  CHECK(!host_event_wait(sim, 2, &ev, 6000));
  CHECK(cosim_counter(sim, 2, COSIM_COUNT_DUP) == 0 && cosim_counter(sim, 1, COSIM_COUNT_DUP) == 0);
  CHECK(cosim_counter(sim, 0, COSIM_COUNT_RETRANSMIT) == 1);
  cosim_destroy(sim);
}

/* Fetching atomics on floats, doubles and complex floats of both classes; what there is none of is refused */
static bool swaps(int op, double is, double with, double compare) {
  switch (op) {
  case COSIM_OP_MIN: return with < is;
  case COSIM_OP_MAX: return with > is;
  case COSIM_OP_CSWAP: return compare <= is && compare >= is;
  case COSIM_OP_CSWAP_NE: return compare < is || compare > is;
  case COSIM_OP_CSWAP_LE: return compare <= is;
  case COSIM_OP_CSWAP_LT: return compare < is;
  case COSIM_OP_CSWAP_GE: return compare >= is;
  case COSIM_OP_CSWAP_GT: return compare > is;
  default: return 1;
  }
}
/* x and y: of the old value and the operand; a complex number has y and x beside them */
static void compute(int how, int op, double x, double y, double compare, unsigned char *want) {
  volatile float f[2] = {(float)x, (float)y}, p[4];
  volatile double d;
  if (op == COSIM_OP_SUM || op == COSIM_OP_PROD) {
    d = op == COSIM_OP_SUM ? x + y : x * y;
    p[0] = op == COSIM_OP_SUM ? f[0] + f[1] : f[0] * f[1];
    p[1] = p[0];
    if (how == 2 && op == COSIM_OP_PROD) { /* (x, y) (y, x) */
      p[2] = f[0] * f[0], p[3] = f[1] * f[1];
      p[1] = p[2] + p[3], p[0] = p[0] - p[0];
    }
  } else {
    const bool is_with = swaps(op, x, y, compare);
    d = is_with ? y : x;
    p[0] = is_with ? f[1] : f[0], p[1] = is_with ? f[0] : f[1];
  }
  if (how == 1)
    memcpy(want, (const void *)&d, 8);
  else
    memcpy(want, (const void *)p, how ? 8 : 4);
}
static void put_number(int how, double x, double beside, unsigned char *to) {
  const float f[2] = {(float)x, (float)beside};
  memset(to, 0, 8);
  if (how == 1)
    memcpy(to, &x, 8);
  else
    memcpy(to, f, how ? 8 : 4);
}
static void atomics_on_floats_are_rounded_as_here(void) {
  static const int ops[] = {COSIM_OP_SUM,      COSIM_OP_PROD,     COSIM_OP_SWAP,
                            COSIM_OP_CSWAP,    COSIM_OP_CSWAP_NE, COSIM_OP_MIN,
                            COSIM_OP_MAX,      COSIM_OP_CSWAP_LE, COSIM_OP_CSWAP_LT,
                            COSIM_OP_CSWAP_GE, COSIM_OP_CSWAP_GT};
  static const struct {
    int op, log2, is_complex, status;
  } no[] = {{COSIM_OP_LOR, 2, 0, COSIM_OPERATION}, {COSIM_OP_MSWAP, 3, 0, COSIM_OPERATION},
            {COSIM_OP_SUM, 1, 0, COSIM_OPERATION}, {COSIM_OP_MIN, 3, 1, COSIM_OPERATION},
            {COSIM_OP_SUM, 2, 1, COSIM_OPERATION}, {COSIM_OP_CSWAP_GT, 3, 0, COSIM_OK}};
  static const struct {
    int op;
    uint64_t is, with, becomes;
  } special[] = {
      {COSIM_OP_SUM, 0x7FF0000000000000, 0x3FF0000000000000, 0x7FF0000000000000},
      {COSIM_OP_SUM, 0x7FF0000000000000, 0xFFF0000000000000, 0xFFF8000000000000},
      {COSIM_OP_SUM, 0x3FF0000000000000, 0x7FF0000000000001, 0x7FF8000000000001},
      {COSIM_OP_SUM, 0x7FF0000000000002, 0x7FF0000000000001, 0x7FF8000000000002},
      {COSIM_OP_PROD, 0x7FE0000000000000, 0xC010000000000000, 0xFFF0000000000000},
      {COSIM_OP_PROD, 0x0010000000000000, 0x3FE0000000000000, 0x0008000000000000},
      {COSIM_OP_PROD, 0x0000000000000001, 0x3FE0000000000001, 0x0000000000000001},
      {COSIM_OP_PROD, 0x0000000000000000, 0x7FF0000000000000, 0xFFF8000000000000},
  };
  cosim *sim = start(2);
  cosim_entry e = host_entry(0x20000, 64, 7);
  cosim_command c = host_command(COSIM_KIND_FETCH, 1, 7, 0x3000, 8);
  cosim_event ev;
  cosim_append(sim, 1, 0, &e);
  cosim_cycles(sim, 200);
  c.is_float = 1;
  for (int i = 0; i < 66; i++) {
    const int how = i % 3; /* float, double, complex */
    const double x = (float)ldexp((double)test_rand(), -40),
                 y = (float)ldexp((double)test_rand(), -41),
                 compare = i & 8 ? x : (float)ldexp((double)test_rand(), -40);
    unsigned char *at = H.memory[1] + 0x20000 + 8 * (i % 8), want[8], was[8];
    c.op = ops[i / 3 % (how == 2 ? 5 : 11)];
    c.size_bytes = how ? 8 : 4, c.size_log2 = how ? 3 : 2, c.is_complex = how == 2;
    c.offset = 8 * (uint64_t)(i % 8);
    put_number(how, x, y, at), put_number(how, y, x, (unsigned char *)&c.operand[0]);
    put_number(how, compare, compare < x || compare > x ? compare : y,
               (unsigned char *)&c.operand[1]);
    memset(want, 0, 8), memcpy(was, at, 8);
    compute(how, c.op, x, y, compare, want);
    cosim_submit(sim, 0, i & 1, &c, NULL);
    CHECK(host_event_wait(sim, 0, &ev, 5000) && ev.type == COSIM_EV_REPLY && ev.status == COSIM_OK);
    CHECK(host_event_wait(sim, 1, &ev, 5000) && ev.type == COSIM_EV_FETCH);
    CHECK(memcmp(at, want, 8) == 0 && memcmp(H.memory[0] + 0x3000, was, c.size_bytes) == 0);
    CHECK(Beside == 0);
  }
  c.size_bytes = 8, c.size_log2 = 3, c.is_complex = 0, c.offset = 0;
  for (size_t i = 0; i < sizeof special / sizeof *special;
       i++) { /* as bits: the NIC's, wherever it is */
    c.op = special[i].op, c.operand[0] = special[i].with;
    memcpy(H.memory[1] + 0x20000, &special[i].is, 8);
    cosim_submit(sim, 0, 0, &c, NULL);
    CHECK(host_event_wait(sim, 0, &ev, 5000) && host_event_wait(sim, 1, &ev, 5000));
    CHECK(memcmp(H.memory[1] + 0x20000, &special[i].becomes, 8) == 0);
  }
  for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
    c.op = no[i].op, c.size_log2 = no[i].log2, c.is_complex = no[i].is_complex;
    c.size_bytes = 1u << c.size_log2, c.offset = 0;
    cosim_submit(sim, 0, 0, &c, NULL);
    CHECK(host_event_wait(sim, 0, &ev, 5000) && ev.status == no[i].status);
  }
  cosim_destroy(sim);
}

/* Complex doubles of whole numbers, so exact: x becomes what there is, with by the operation */
static void compute_complex(int op, double *x, const double *with) {
  const double was[2] = {x[0], x[1]};
  for (int k = 0; k < 2; k++)
    x[k] = op == COSIM_OP_SUM    ? was[k] + with[k]
           : op == COSIM_OP_SWAP ? with[k]
           : k                   ? was[0] * with[1] + was[1] * with[0]
                                 : was[0] * with[0] - was[1] * with[1];
}
static cosim_command complex_command(int kind, int op, uint64_t to) {
  cosim_command c = host_command(kind, 1, 7, to, 16);
  c.op = op, c.size_log2 = 4, c.is_float = c.is_complex = 1;
  return c;
}
static void complex_doubles_are_elements_of_16_bytes(void) {
  static const int ops[] = {COSIM_OP_SUM, COSIM_OP_PROD, COSIM_OP_SWAP};
  static const struct {
    int fetches, op, log2, size_bytes, offset;
  } no[] = {{1, COSIM_OP_CSWAP, 4, 16, 16}, {1, COSIM_OP_CSWAP_NE, 4, 16, 16},
            {1, COSIM_OP_MSWAP, 4, 16, 16}, {1, COSIM_OP_MIN, 4, 16, 16},
            {0, COSIM_OP_SWAP, 4, 16, 16},  {0, COSIM_OP_SUM, 4, 8, 16},
            {0, COSIM_OP_SUM, 4, 32, 32},   {0, COSIM_OP_SUM, 5, 32, 32},
            {0, COSIM_OP_SUM, 4, 16, 8},    {0, COSIM_OP_SUM, 4, 16, 56}};
  cosim *sim = start(2);
  cosim_entry e = host_entry(0x20000, 64, 7);
  cosim_event ev;
  unsigned char want[64];
  cosim_append(sim, 1, 0, &e);
  cosim_cycles(sim, 200);
  host_fill(1, 0x20000, 64);
  memcpy(want, H.memory[1] + 0x20000, 64);
  for (int i = 0; i < 30; i++) {
    const int op = ops[i % 3], fetches = op == COSIM_OP_SWAP || test_below(2);
    const uint32_t at = 16 * (uint32_t)test_below(4), to = 0x3000 + (uint32_t)test_below(50);
    const double with[2] = {(double)test_below(1 << 20), -(double)test_below(1 << 20)};
    double x[2] = {(double)test_below(1 << 20), (double)test_below(1 << 20)};
    unsigned char was[18];
    cosim_command c =
        complex_command(fetches ? COSIM_KIND_FETCH : COSIM_KIND_ATOMIC, op, to);
    memcpy(H.memory[1] + 0x20000 + at, x, 16);
    memcpy(was, H.memory[0] + to - 1, 18), memcpy(was + 1, fetches ? (void *)x : was + 1, 16);
    compute_complex(op, x, with), memcpy(want + at, x, 16);
    c.offset = at, memcpy(c.operand, with, 16);
    if (i % 7 == 3) { /* released by a counter; its answer comes from what the target keeps */
      cosim_trigger(sim, 0, i & 1, i, 2, (uint64_t)i, &c);
      Lose_answers = 1;
      cosim_write(sim, 0, COSIM_CT + 32 * 2, (uint32_t)i);
      CHECK(host_event_wait(sim, 1, &ev, 5000) && ev.status == COSIM_OK);
      cosim_cycles(sim, 500);
      Lose_answers = 0;
      CHECK(host_event_wait(sim, 0, &ev, 20000));
    } else {
      cosim_submit(sim, 0, i & 1, &c, NULL);
      CHECK(host_event_wait(sim, 0, &ev, 5000) && ev.status == COSIM_OK);
      CHECK(host_event_wait(sim, 1, &ev, 5000));
    }
    CHECK(ev.status == COSIM_OK && ev.moved_bytes == 16);
    CHECK(memcmp(H.memory[1] + 0x20000, want, 64) == 0);
    CHECK(memcmp(H.memory[0] + to - 1, was, 18) == 0);
  }
  CHECK(cosim_counter(sim, 1, COSIM_COUNT_DUP) >= 4);
  for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
    cosim_command c =
        complex_command(no[i].fetches ? COSIM_KIND_FETCH : COSIM_KIND_ATOMIC, no[i].op, 0x3000);
    c.size_log2 = no[i].log2, c.size_bytes = (uint32_t)no[i].size_bytes;
    c.offset = (uint64_t)no[i].offset;
    cosim_submit(sim, 0, 0, &c, NULL);
    CHECK(host_event_wait(sim, 0, &ev, 5000) && ev.status == COSIM_OPERATION);
    CHECK(memcmp(H.memory[1] + 0x20000, want, 64) == 0);
  }
  cosim_destroy(sim);
}
/* Halves never come from two of them: both classes of two NICs add to one */
static void complex_doubles_are_added_one_after_the_other(void) {
  cosim *sim = start(3);
  cosim_entry e = host_entry(0x20000, 64, 7);
  cosim_event ev;
  double x[2];
  cosim_append(sim, 2, 0, &e);
  cosim_cycles(sim, 1000);
  for (int i = 0; i < 32; i++) {
    cosim_command c = complex_command(COSIM_KIND_ATOMIC, COSIM_OP_SUM, 0);
    const double with[2] = {1, i};
    c.dst = 2, c.offset = 48, memcpy(c.operand, with, 16);
    cosim_submit(sim, i & 1, i >> 1 & 1, &c, NULL);
  }
  for (int i = 0; i < 32; i++)
    CHECK(host_event_wait(sim, i & 1, &ev, 20000) && ev.status == COSIM_OK);
  memcpy(x, H.memory[2] + 0x20000 + 48, 16);
  CHECK_NEAR(x[0], 32, 0);
  CHECK_NEAR(x[1], 31 * 16, 0);
  cosim_destroy(sim);
}

/* Of what a quiet entry takes well nothing is told, of what fails there is; where it leaves untold, AUTO_UNLINK says so if
   that is wanted, and it counts all the same */
static void a_quiet_entry_tells_of_failures_only(void) {
  cosim *sim = start(2);
  cosim_event ev;
  for (int i = 0; i < 24; i++) {
    const int is_quiet = i & 1, fails = i >> 1 & 1, leaves = i >> 2 & 1, gets = i >> 3 & 1, is_mute = i >= 16;
    const int is_told = !is_mute && (!is_quiet || fails), tells_left = i % 3 != 0;
    cosim_entry e = host_entry(fails ? HOST_BAD : 0x20000, 4096, 7);
    const cosim_command c = host_command(gets ? COSIM_KIND_GET : COSIM_KIND_PUT, 1, 7, 0x1000, 100);
    e.quiet = is_quiet, e.no_events = is_mute, e.use_once = leaves, e.tell_left = tells_left, e.user = (uint64_t)i, e.ct = 4;
    cosim_write(sim, 0, COSIM_RETRIES, 0);
    cosim_append(sim, 1, i, &e);
    cosim_cycles(sim, 300);
    cosim_submit(sim, 0, 0, &c, NULL);
    CHECK(host_event_wait(sim, 0, &ev, 20000)); /* a reply that cannot be read never comes */
    CHECK(ev.status == (!fails ? COSIM_OK : gets ? COSIM_UNDELIVERABLE : COSIM_HOST_ERROR));
    host_settle(sim), cosim_cycles(sim, 200);
    const int has_one = host_event(sim, 1, &ev);
    CHECK(has_one == (is_told || (leaves && tells_left)));
    if (has_one) {
      CHECK(ev.type == (!is_told ? COSIM_EV_AUTO_UNLINK : gets ? COSIM_EV_GET : COSIM_EV_PUT));
      CHECK(ev.status == (fails ? COSIM_HOST_ERROR : COSIM_OK) && ev.unlinked == leaves && ev.user == (uint64_t)i);
      CHECK(ev.slot == i && ev.counted && !host_event(sim, 1, &ev));
    }
    CHECK(cosim_read(sim, 1, COSIM_CT + 32 * 4) + cosim_read(sim, 1, COSIM_CT + 32 * 4 + COSIM_CT_FAILURE_LO) == (uint32_t)i + 1);
    if (!leaves) cosim_write(sim, 1, COSIM_ME_UNLINK, (uint32_t)i);
  }
  cosim_destroy(sim);
}

/* Queue and ring are restarted, in another place, while records are on their way to a host that takes its time: those do not
   count in the new place, which begins with its first record and has no gap */
static void what_is_restarted_begins_with_its_first_record(void) {
  enum { AREA = 0x80000, AREA_BYTES = 0x8000, STAMPS = 0x4000 };
  const uint32_t eq = COSIM_EQ + 32;
  unsigned records = 0, stamps = 0;
  Stall = COSIM_STALL_ADVERSE;
  cosim_desc d = host_near_desc(2);
  cosim *sim = host_start(&d);
  cosim_entry e = host_entry(0x20000, 0x10000, 7);
  cosim_event ev;
  Stall = COSIM_STALL_NONE;
  e.eq = 1;
  cosim_append(sim, 1, 0, &e);
  host_settle(sim);
  for (uint32_t round = 0; round < 60; round++) {
    const uint32_t at = AREA + round % 2 * AREA_BYTES;
    for (int i = 0; i < 24; i++) {
      cosim_command c = host_command(COSIM_KIND_PUT, 1, 7, 0, 8);
      c.payload = COSIM_PAY_INLINE, c.hdr_data = 24 * round + (unsigned)i;
      cosim_submit(sim, 0, 0, &c, NULL);
      if (i % 4 == 0) cosim_cycles(sim, 200);
    }
    memset(H.memory[1] + at, 0, AREA_BYTES);
    cosim_write(sim, 1, eq + COSIM_EQ_BASE_LO, at);
    cosim_cycles(sim, (int64_t)test_below(40));
    cosim_write(sim, 1, eq + COSIM_EQ_SIZE, 0x80000008u);
    cosim_write(sim, 1, COSIM_STAMP_BASE_LO, at + STAMPS);
    cosim_cycles(sim, (int64_t)test_below(40));
    cosim_write(sim, 1, COSIM_STAMP_SIZE, 8);
    for (int i = 0; i < 24; i++) CHECK(host_event_wait(sim, 0, &ev, 20000) && ev.status == COSIM_OK);
    host_settle(sim), cosim_cycles(sim, 300);
    const uint32_t prod = cosim_read(sim, 1, eq + COSIM_EQ_PROD), stamped = cosim_read(sim, 1, COSIM_STAMP_PROD);
    for (uint32_t i = 0; i < prod && prod < 256; i++)
      CHECK(cosim_event_unpack(H.memory[1] + at + 64 * i).hdr_data == 24 * (round + 1) - prod + i);
    for (uint32_t i = 0; i < stamped && stamped < 256; i++)
      CHECK(cosim_stamp_unpack(H.memory[1] + at + STAMPS + 32 * i).phase == 1);
    records += prod, stamps += stamped;
  }
  CHECK(records > 60 && stamps > 60);
  cosim_destroy(sim);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(counters_at_work_are_not_idle);
  RUN(released_commands_without_answer_are_not_idle);
  RUN(a_queue_that_is_off_loses_events);
  RUN(halves_of_a_context_are_written_apart);
  RUN(released_commands_do_not_wait_for_the_host);
  RUN(cut_packets_give_their_credit_back);
  RUN(the_host_adds_to_counters);
  RUN(what_moves_is_not_late);
  RUN(a_repetition_is_not_told_as_sent);
  RUN(what_is_mute_does_not_count);
  RUN(what_is_not_acknowledged_ends_all_the_same);
  RUN(messages_pass_an_append_that_waits);
  RUN(a_slot_is_free_after_its_last_repetition);
  RUN(atomics_on_floats_are_rounded_as_here);
  RUN(complex_doubles_are_elements_of_16_bytes);
  RUN(complex_doubles_are_added_one_after_the_other);
  RUN(a_quiet_entry_tells_of_failures_only);
  RUN(what_is_restarted_begins_with_its_first_record);
  return TEST_END();
}
