/* Three NICs under random traffic and faults, against a reference model. The model needs no timing: each
   pair of NICs and class is a stream that must be done once and in order, on list entries and memory of
   its own, so every result is known when a command is submitted. */
#include "tests/rtl/cosim.h"

enum { N = 3, STREAMS = 4, ENTRIES = 5, PER_STREAM = 120 };
#define STREAM_BYTES 0x8000u /* of target memory per stream: get, atomic, once, local, persistent */
#define GET_AT       0x0000u
#define ATOMIC_AT    0x2000u
#define ATOMIC_BYTES 512u
#define ONCE_AT      0x2200u
#define LOCAL_AT     0x3000u
#define KEEP_AT      0x5000u
#define SOURCE_AT    0x20000u /* what puts read: never changes */
#define RESULT_AT    0x30000u /* where gets and fetches write: one line of 2 KiB for each under way */
#define TARGET_AT    0xA0000u

typedef struct want {
  cosim_command command;
  int status, entry, unlinked, has_event, seen_send, seen_done, seen_event;
  uint32_t moved;
  uint64_t offset, start;
  unsigned char old[64];
  const unsigned char *pio;
} want;
typedef struct stream { /* from one NIC in one class to one other */
  int src, dst, klass, index;
  uint32_t base;
  int once_left, local_left;
  uint64_t local_at;
  uint32_t submitted, delivered;
  want wants[PER_STREAM];
} stream;
static stream Streams[N * STREAMS];
static unsigned char Shadow[N][HOST_BYTES];
static uint32_t Free[N][2],
    Count[N][2]; /* per ring: commands whose slot was free again, submitted */
static const want *Last_at[N][2 * COSIM_SLOTS]; /* whose result has this place */

static unsigned Fault_percent[6], Faults;
static cosim_fault fault(void *ctx, int src, int dst, const cosim_packet *p) {
  (void)ctx, (void)src, (void)dst, (void)p;
  for (int kind = 1; kind < 6; kind++)
    if (test_below(1000) < Fault_percent[kind]) return Faults++, (cosim_fault)kind;
  return COSIM_PASS;
}

static uint64_t tag(const stream *s) { return (uint64_t)(s->index + 1) << 32; }

static void stream_entries(cosim *sim, stream *s) {
  cosim_entry e = host_entry(s->base + GET_AT, 0x2000, tag(s) | 0x100);
  int first = (s->index % STREAMS) * ENTRIES;
  e.op_put = 0, e.src = s->src, e.user = (uint64_t)s->index;
  cosim_append(sim, s->dst, first, &e);
  e.op_put = 1, e.start = s->base + ATOMIC_AT, e.size_bytes = ATOMIC_BYTES, e.match = tag(s) | 0x200;
  cosim_append(sim, s->dst, first + 1, &e);
  e.op_get = 0, e.start = s->base + ONCE_AT, e.size_bytes = 0x700, e.match = tag(s),
  e.ignore_bits = 15;
  e.use_once = 1;
  cosim_append(sim, s->dst, first + 2, &e);
  e.use_once = 0, e.overflow = 1, e.manage_local = 1, e.min_free = 256,
  e.start = s->base + LOCAL_AT;
  e.size_bytes = 0x1800;
  cosim_append(sim, s->dst, first + 3, &e);
  e.overflow = e.manage_local = 0, e.min_free = 0, e.match = tag(s) | 0x400,
  e.start = s->base + KEEP_AT;
  e.size_bytes = 0x1000;
  cosim_append(sim, s->dst, first + 4, &e);
}

/* Fetch and add, or add: up to 8 and 100 numbers, cut where the entry ends */
static void model_sum(stream *s, want *w, uint32_t from, uint64_t result_at) {
  const int fetch = (int)test_below(2);
  const uint32_t n = 8 * (uint32_t)(test_below(3) ? 1 + test_below(fetch ? 8 : 100) : 1);
  cosim_command *c = &w->command;
  *c = host_command(fetch ? COSIM_KIND_FETCH : COSIM_KIND_ATOMIC, s->dst, tag(s) | 0x200,
                    fetch ? result_at : from, n);
  c->op = COSIM_OP_SUM, c->size_log2 = 3, c->offset = 8 * test_below(ATOMIC_BYTES / 8 + 2);
  w->pio = H.memory[s->src] + from;
  c->payload = n <= 16 && test_below(2) ? COSIM_PAY_INLINE : fetch || (n <= 512 && test_below(2)) ? COSIM_PAY_PIO : COSIM_PAY_DMA;
  memcpy(c->operand, w->pio, 16);
  const uint32_t room = c->offset < ATOMIC_BYTES ? ATOMIC_BYTES - (uint32_t)c->offset : 0;
  unsigned char *at = Shadow[s->dst] + s->base + ATOMIC_AT + c->offset;
  if (fetch) memcpy(w->old, at, n < room ? n : room);
  for (uint32_t i = 0; i < n && i < room; i += 8) {
    uint64_t is, more;
    memcpy(&is, at + i, 8), memcpy(&more, w->pio + i, 8);
    is += more, memcpy(at + i, &is, 8);
  }
}
/* One random command and what must come of it */
static void model(stream *s, want *w, uint32_t ring_slot) {
  cosim_command *c = &w->command;
  uint32_t n, from = SOURCE_AT + (uint32_t)test_below(0x8000), size = 0;
  int first = (s->index % STREAMS) * ENTRIES;
  unsigned char *shadow = Shadow[s->dst];
  memset(w, 0, sizeof *w);
  n = (uint32_t)test_below(test_below(3) ? 100 : 1200);
  switch (test_below(5)) {
  case 0: /* get */
    *c = host_command(COSIM_KIND_GET, s->dst, tag(s) | 0x100, RESULT_AT + ring_slot * 2048, n);
    c->offset = test_below(0x2100), w->entry = first, size = 0x2000, w->start = s->base + GET_AT;
    break;
  case 1:
    model_sum(s, w, from, RESULT_AT + ring_slot * 2048);
    w->entry = first + 1, size = ATOMIC_BYTES, w->start = s->base + ATOMIC_AT;
    break;
  case 2: /* put into the entry that stays */
    *c = host_command(COSIM_KIND_PUT, s->dst, tag(s) | 0x400, from, n);
    c->offset = test_below(0x1100), w->entry = first + 4, size = 0x1000,
    w->start = s->base + KEEP_AT;
    break;
  default: /* put into the one-time entry, then into the managed one, then nowhere */
    *c = host_command(COSIM_KIND_PUT, s->dst, tag(s) | test_below(16), from, n);
    if (s->once_left) {
      s->once_left = 0, w->unlinked = 1, w->entry = first + 2, size = 0x700,
      w->start = s->base + ONCE_AT;
    } else if (s->local_left) {
      w->entry = first + 3, size = 0x1800, w->start = s->base + LOCAL_AT, w->offset = s->local_at;
    } else {
      w->status = COSIM_NO_MATCH;
    }
  }
  n = c->size_bytes;
  if (w->status == COSIM_OK) {
    if (w->entry != first + 3) w->offset = c->offset;
    w->moved = w->offset >= size ? 0 : n < size - w->offset ? n : size - (uint32_t)w->offset;
    w->start += w->offset;
    w->has_event = 1;
    if (w->entry == first + 3) {
      s->local_at += w->moved;
      if (size - s->local_at < 256) s->local_left = 0, w->unlinked = 1;
    }
    if (c->kind == COSIM_KIND_PUT) memcpy(shadow + w->start, H.memory[s->src] + from, w->moved);
  }
  c->want_send = c->kind == COSIM_KIND_PUT || c->kind == COSIM_KIND_ATOMIC;
  c->user = (uint64_t)s->index << 16 | s->submitted;
  c->hdr_data = c->user * 7;
  if (c->kind == COSIM_KIND_PUT) {
    c->payload = n <= 16 && test_below(2)    ? COSIM_PAY_INLINE
                 : n <= 512 && test_below(2) ? COSIM_PAY_PIO
                                             : COSIM_PAY_DMA;
    w->pio = H.memory[s->src] + from;
    if (c->payload == COSIM_PAY_INLINE) memcpy(c->operand, w->pio, n);
  }
}

static void take_event(int nic, const cosim_event *ev) {
  int target = ev->type == COSIM_EV_PUT || ev->type == COSIM_EV_GET ||
               ev->type == COSIM_EV_ATOMIC || ev->type == COSIM_EV_FETCH;
  uint64_t index = target ? ev->user : ev->user >> 16;
  CHECK(index < N * STREAMS);
  if (index >= N * STREAMS) return;
  stream *s = &Streams[index];
  if (target) { /* in the order of the stream; those that matched nothing have no event. A get's comes
                   when its data was read, so only the others are in order */
    uint32_t at = s->delivered;
    if (ev->type == COSIM_EV_GET) {
      for (at = 0; at < s->submitted; at++)
        if (s->wants[at].command.hdr_data == ev->hdr_data) break;
    } else {
      while (at < s->submitted &&
             (!s->wants[at].has_event || s->wants[at].command.kind == COSIM_KIND_GET))
        at++;
      s->delivered = at + 1;
    }
    CHECK(nic == s->dst && at < s->submitted);
    if (at >= s->submitted) return;
    want *w = &s->wants[at];
    CHECK(ev->hdr_data == w->command.hdr_data && !w->seen_event);
    CHECK(ev->status == COSIM_OK && ev->slot == w->entry && ev->moved_bytes == w->moved &&
          ev->start == w->start);
    CHECK(ev->offset == w->offset && ev->unlinked == w->unlinked && ev->peer == s->src);
    w->seen_event = 1;
    return;
  }
  uint32_t at = (uint32_t)(ev->user & 0xFFFF);
  CHECK(nic == s->src && at < s->submitted);
  if (at >= s->submitted) return;
  want *w = &s->wants[at];
  cosim_command *c = &w->command;
  if (ev->type == COSIM_EV_SEND) {
    CHECK(!w->seen_send && !w->seen_done);
    w->seen_send = 1;
    return;
  }
  CHECK(ev->type ==
        (c->kind == COSIM_KIND_GET || c->kind == COSIM_KIND_FETCH ? COSIM_EV_REPLY : COSIM_EV_ACK));
  CHECK(!w->seen_done && ev->status == w->status && ev->moved_bytes == w->moved &&
        w->seen_send == c->want_send);
  w->seen_done = 1;
  if (c->kind == COSIM_KIND_GET)
    CHECK(!memcmp(H.memory[nic] + c->addr, H.memory[s->dst] + w->start, w->moved));
  if (c->kind == COSIM_KIND_FETCH) CHECK(!memcmp(H.memory[nic] + c->addr, w->old, w->moved));
}

/* Faults in per mille of the packets. slow: hosts that answer late and virtual networks that stand still for
   long */
static void run(unsigned lose, unsigned corrupt, unsigned cut, unsigned duplicate, unsigned delay,
                int slow) {
  cosim_desc d = host_desc(N);
  cosim_event ev;
  uint32_t done = 0, total = 0;
  int64_t last = 0;
  Fault_percent[COSIM_LOSE] = lose, Fault_percent[COSIM_CORRUPT] = corrupt,
  Fault_percent[COSIM_CUT] = cut;
  Fault_percent[COSIM_DUPLICATE] = duplicate, Fault_percent[COSIM_DELAY] = delay;
  Faults = 0;
  d.fault = fault;
  d.mmio_ps = 20000; /* registers are read often */
  d.link_latency_ps = (int64_t)test_below(300000), d.fault_delay_ps = slow ? 8000000 : 300000;
  if (slow) d.host_read_ps = 1000000, d.host_write_ps = 800000;
  cosim *sim = host_start(&d);
  memset(Free, 0, sizeof Free), memset(Count, 0, sizeof Count), memset(Last_at, 0, sizeof Last_at);
  for (int i = 0; i < N; i++) {
    host_fill(i, SOURCE_AT, 0x9000), host_fill(i, TARGET_AT, STREAMS * STREAM_BYTES);
    memcpy(Shadow[i], H.memory[i], HOST_BYTES);
    cosim_write(sim, i, COSIM_TIMEOUT, slow ? 16000 : 1500), cosim_write(sim, i, COSIM_RETRIES, 15);
  }
  for (int i = 0; i < N * STREAMS; i++) {
    stream *s = &Streams[i];
    memset(s, 0, sizeof *s);
    s->dst = i / STREAMS, s->src = (s->dst + 1 + i % 2) % N, s->klass = i / 2 % 2, s->index = i;
    s->base = TARGET_AT + (uint32_t)(i % STREAMS) * STREAM_BYTES, s->once_left = s->local_left = 1;
    stream_entries(sim, s);
  }
  host_settle(sim);
  while (done < N * STREAMS * PER_STREAM && cosim_cycle(sim) < last + 200000) {
    for (int k = 0; k < 8; k++) {
      stream *s = &Streams[test_below(N * STREAMS)];
      uint32_t *count = &Count[s->src][s->klass];
      uint32_t *tail = &Free[s->src][s->klass];
      if (s->submitted == PER_STREAM) continue;
      if (*count - *tail == COSIM_SLOTS)
        *tail = cosim_read(sim, s->src, s->klass ? COSIM_CMD1_TAIL : COSIM_CMD0_TAIL);
      if (*count - *tail == COSIM_SLOTS) continue;
      want *w = &s->wants[s->submitted];
      const uint32_t slot = *count % COSIM_SLOTS + (s->klass ? COSIM_SLOTS : 0);
      /* a slot is free before the host has taken the event: until then the result is not to be written over */
      if (Last_at[s->src][slot] && !Last_at[s->src][slot]->seen_done) continue;
      Last_at[s->src][slot] = w;
      model(s, w, slot);
      s->submitted++, (*count)++, total++;
      cosim_submit(sim, s->src, s->klass, &w->command,
                   w->command.payload == COSIM_PAY_PIO ? w->pio : NULL);
    }
    cosim_cycles(sim, 50);
    for (int i = 0; i < N; i++)
      while (host_event(sim, i, &ev)) {
        take_event(i, &ev), last = cosim_cycle(sim);
        done += ev.type == COSIM_EV_ACK || ev.type == COSIM_EV_REPLY;
      }
  }
  CHECK(done == N * STREAMS * PER_STREAM && total == done);
  host_settle(sim), cosim_cycles(sim, 1000);
  for (int i = 0; i < N; i++) {
    while (host_event(sim, i, &ev)) take_event(i, &ev);
    CHECK(!memcmp(Shadow[i] + TARGET_AT, H.memory[i] + TARGET_AT, STREAMS * STREAM_BYTES));
    CHECK(cosim_counter(sim, i, COSIM_COUNT_UNDELIVERED) == 0);
    CHECK(cosim_read(sim, i, COSIM_ME_IN_USE) == 0);
    CHECK(cosim_counter(sim, i, COSIM_COUNT_BAD_CMD) == 0);
    if (!Faults) CHECK(cosim_read(sim, i, COSIM_UNCONFIRMED) == 0);
  }
  for (int i = 0; i < N * STREAMS; i++)
    for (int k = 0; k < PER_STREAM; k++)
      CHECK(Streams[i].wants[k].seen_event == Streams[i].wants[k].has_event);
  if (lose + corrupt + cut + duplicate + delay) CHECK(Faults > 20);
  CHECK(H.wild == 0);
  printf("  %u messages, %u faults, %lld cycles\n", done, Faults, (long long)cosim_cycle(sim));
  cosim_destroy(sim);
}
static void without_faults(void) { run(0, 0, 0, 0, 0, 0); }
static void lost_packets(void) { run(15, 0, 0, 0, 0, 0); }
static void corrupt_and_cut_packets(void) { run(0, 10, 10, 0, 0, 0); }
static void duplicated_packets(void) { run(0, 0, 0, 100, 0, 0); }
static void slow_hosts_and_standing_networks(void) { run(0, 0, 0, 0, 6, 1); }
static void all_faults_and_overtaking(void) { run(6, 6, 6, 30, 20, 0); }

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(without_faults);
  Stall = COSIM_STALL_RANDOM;
  RUN(lost_packets);
  RUN(corrupt_and_cut_packets);
  Stall = COSIM_STALL_ADVERSE;
  RUN(duplicated_packets);
  RUN(slow_hosts_and_standing_networks);
  RUN(all_faults_and_overtaking);
  return TEST_END();
}
