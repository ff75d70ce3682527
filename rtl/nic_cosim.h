/* nic_cosim.h: cosimulation of N Verilated NICs from C.

     nic_cosim *sim;
     nic_cosim_desc desc = nic_cosim_default();
     desc.nic_count = 2;
     desc.host.read = my_read, desc.host.write = my_write, desc.host.ctx = my_memory;
     if (!(sim = nic_cosim_create(&desc))) ...
     nic_cosim_write(sim, 0, NIC_CTRL, 1);            posted, like a store to the PCI BAR
     nic_cosim_advance(sim, 10000000);                to 10 us of simulated time
     value = nic_cosim_read(sim, 1, NIC_CLOCK_LO);    waits: time passes
     nic_cosim_destroy(sim);

   All NICs share one clock edge; the clocks that they show may differ in rate and offset
   (registers). Packets travel through a crossbar: fixed latency, credits per virtual network on
   both sides, the packets of one message stay together. Faults are asked for packet by packet. No
   global state; one thread per simulation. Times are picoseconds of simulated time.

   Contents: [REGISTERS] [COMMANDS] [RECORDS] [COSIM] [STAMP SOURCE] */
#ifndef NIC_COSIM_H_INCLUDED
#define NIC_COSIM_H_INCLUDED
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __cplusplus
extern "C" {
#endif

/* ==== [REGISTERS] byte offsets in the BAR, 32 bits each; REGISTERS.md describes them
 * ============== */
enum {
  NIC_ID = 0x0000,
  NIC_VERSION = 0x0004,
  NIC_CAPS = 0x0008,
  NIC_CAPS2 = 0x000C,
  NIC_CTRL = 0x0010,
  NIC_SELF = 0x0014,
  NIC_TIMEOUT = 0x0018,
  NIC_RETRIES = 0x001C,
  NIC_IRQ_STATUS = 0x0020,
  NIC_IRQ_ENABLE = 0x0024,
  NIC_CLEAR_PEER = 0x0028,
  NIC_UNCONFIRMED = 0x002C,
  NIC_PT_ENABLE = 0x0030,
  NIC_PT_AUTO = 0x0034,
  NIC_ME_APPEND = 0x0038,
  NIC_ME_UNLINK = 0x003C,
  NIC_ME_VALID = 0x0040,
  NIC_ME_IN_USE = 0x0044,
  NIC_ME_BUSY = 0x0048,
  NIC_CMD0_HEAD = 0x0050,
  NIC_CMD0_TAIL = 0x0054,
  NIC_CMD1_HEAD = 0x0058,
  NIC_CMD1_TAIL = 0x005C,
  NIC_CLOCK_FRAC = 0x0060,
  NIC_CLOCK_ADJUST_LO = 0x0064,
  NIC_CLOCK_ADJUST_HI = 0x0068,
  NIC_ME_STAGE = 0x0080,
  NIC_EQ = 0x0100, /* + 32 * queue: */
  NIC_EQ_BASE_LO = 0x0,
  NIC_EQ_BASE_HI = 0x4,
  NIC_EQ_SIZE = 0x8,
  NIC_EQ_CONS = 0xC,
  NIC_EQ_PROD = 0x10,
  NIC_EQ_DROPPED = 0x14,
  NIC_CT = 0x0200, /* + 32 * counter: */
  NIC_CT_SUCCESS_LO = 0x0,
  NIC_CT_SUCCESS_HI = 0x4,
  NIC_CT_FAILURE_LO = 0x8,
  NIC_CT_FAILURE_HI = 0xC,
  NIC_CT_COPY_LO = 0x10,
  NIC_CT_COPY_HI = 0x14,
  NIC_STAMP_CTRL = 0x0400,
  NIC_STAMP_BASE_LO = 0x0404,
  NIC_STAMP_BASE_HI = 0x0408,
  NIC_STAMP_SIZE = 0x040C,
  NIC_STAMP_CONS = 0x0410,
  NIC_STAMP_PROD = 0x0414,
  NIC_STAMP_LOST_RING = 0x0418,
  NIC_STAMP_LOST_FIFO = 0x041C,
  NIC_STAMP_LOST_IN = 0x0420,
  NIC_STAMP_FIFO_COUNT = 0x0424,
  NIC_STAMP_FIFO = 0x0440,
  NIC_COUNTERS = 0x0500, /* + 8 * counter */
  NIC_CMD0 = 0x1000,
  NIC_CMD1 = 0x1800,
  NIC_CLOCK_LO = 0xB600,
  NIC_CLOCK_HI = 0xB604,
  NIC_CLOCK_INC = 0xB608,
  NIC_PIO0 = 0x10000,
  NIC_PIO1 = 0x14000,
  NIC_BAR_BYTES = 0x20000
};
enum { /* counters: 8 per virtual network (+ 8 * vn), then of the NIC, then bytes (+ vn) */
       NIC_COUNT_RX_PKT,
       NIC_COUNT_RX_MSG,
       NIC_COUNT_TX_PKT,
       NIC_COUNT_TX_MSG,
       NIC_COUNT_CRC,
       NIC_COUNT_DROP,
       NIC_COUNT_RETRANSMIT,
       NIC_COUNT_STALL,
       NIC_COUNT_HOST_ERR = 32,
       NIC_COUNT_NO_MATCH,
       NIC_COUNT_BAD_MSG,
       NIC_COUNT_BAD_CMD,
       NIC_COUNT_UNCONFIRMED,
       NIC_COUNT_UNDELIVERED,
       NIC_COUNT_ABANDONED,
       NIC_COUNT_FUTURE,
       NIC_COUNT_DUP,
       NIC_COUNT_TX_BYTES,
       NIC_COUNT_RX_BYTES = NIC_COUNT_TX_BYTES + 4,
       NIC_COUNT_COUNT = NIC_COUNT_RX_BYTES + 4
};
enum { NIC_SLOTS = 32, NIC_PIO_BYTES = 512, NIC_MAX_BYTES = 4194304, NIC_ENTRIES = 32 };
enum {
  NIC_KIND_PUT,
  NIC_KIND_GET,
  NIC_KIND_ATOMIC,
  NIC_KIND_FETCH,
  NIC_KIND_ACK = 8,
  NIC_KIND_REPLY,
  NIC_KIND_ACK_ACK
};
enum { NIC_PAY_INLINE, NIC_PAY_PIO, NIC_PAY_DMA };
enum {
  NIC_OK,
  NIC_UNDELIVERABLE,
  NIC_DROPPED,
  NIC_PT_DISABLED,
  NIC_PERMISSION,
  NIC_OPERATION,
  NIC_NO_MATCH,
  NIC_HOST_ERROR,
  NIC_BAD_INDEX = 9
};
enum {
  NIC_EV_GET = 0,
  NIC_EV_PUT = 2,
  NIC_EV_ATOMIC = 4,
  NIC_EV_FETCH = 6,
  NIC_EV_REPLY = 8,
  NIC_EV_SEND = 9,
  NIC_EV_ACK = 10
};
enum {
  NIC_OP_MIN,
  NIC_OP_MAX,
  NIC_OP_SUM,
  NIC_OP_PROD,
  NIC_OP_LOR,
  NIC_OP_LAND,
  NIC_OP_BOR,
  NIC_OP_BAND,
  NIC_OP_LXOR,
  NIC_OP_BXOR,
  NIC_OP_SWAP,
  NIC_OP_CSWAP,
  NIC_OP_CSWAP_NE,
  NIC_OP_CSWAP_LE,
  NIC_OP_CSWAP_LT,
  NIC_OP_CSWAP_GE,
  NIC_OP_CSWAP_GT,
  NIC_OP_MSWAP
};

/* ==== [COMMANDS] what the host writes: 16 words each
 * ============================================== */
typedef struct nic_command {
  int kind, dst, pt, op;    /* NIC_KIND_..., op: NIC_OP_... */
  int size_log2, is_signed; /* of an atomic's element */
  int payload;              /* of a put: NIC_PAY_... */
  uint32_t size_bytes;
  uint64_t match, offset, hdr_data;
  uint64_t addr;       /* host buffer: DMA payload, reply data */
  uint64_t operand[2]; /* inline payload; or value and compare operand */
  uint64_t user;       /* 48 bits: comes back in events and stamps */
  int eq, ct;          /* where initiator's events go; ct < 0: none */
  int want_send, want_ack, ct_bytes;
} nic_command;

typedef struct nic_entry {
  int pt, overflow, src; /* src < 0: any */
  int op_put, op_get, use_once, manage_local, no_truncate, no_events;
  int eq, ct, ct_bytes; /* ct < 0: none */
  uint64_t start, match, ignore_bits, user;
  uint32_t size_bytes, min_free;
} nic_entry;

static inline void nic_command_pack(const nic_command *c, uint32_t w[16]) {
  uint64_t v[8];
  v[0] = ((uint64_t)c->kind & 15) | ((uint64_t)c->pt & 255) << 8 | ((uint64_t)c->dst & 63) << 16 |
         ((uint64_t)(c->is_signed != 0) << 2 | ((uint64_t)c->size_log2 & 3)) << 24 |
         ((uint64_t)c->op & 31) << 27 | (uint64_t)c->size_bytes << 32;
  v[1] = c->match, v[2] = c->offset, v[3] = c->hdr_data, v[4] = c->addr;
  v[5] = c->operand[0], v[6] = c->operand[1];
  v[7] = (c->user & 0xFFFFFFFFFFFFu) | ((uint64_t)c->payload & 3) << 48 |
         ((uint64_t)c->eq & 3) << 50 | ((uint64_t)(c->ct < 0 ? 0 : c->ct) & 15) << 55 |
         (uint64_t)(c->ct >= 0) << 59 | (uint64_t)(c->ct_bytes != 0) << 60 |
         (uint64_t)(c->want_send != 0) << 61 | (uint64_t)(c->want_ack != 0) << 62 |
         (uint64_t)1 << 63;
  for (int i = 0; i < 16; i++) w[i] = (uint32_t)(v[i / 2] >> (i % 2 * 32));
}
static inline void nic_entry_pack(const nic_entry *e, uint32_t w[16]) {
  uint64_t v[8] = {0};
  v[0] = (uint64_t)(e->op_put != 0) | (uint64_t)(e->op_get != 0) << 1 |
         (uint64_t)(e->use_once != 0) << 2 | (uint64_t)(e->manage_local != 0) << 3 |
         (uint64_t)(e->no_truncate != 0) << 4 | (uint64_t)(e->no_events != 0) << 5 |
         (uint64_t)(e->ct >= 0) << 6 | (uint64_t)(e->ct_bytes != 0) << 7 |
         ((uint64_t)e->pt & 15) << 8 | ((uint64_t)e->eq & 3) << 12 |
         ((uint64_t)(e->ct < 0 ? 0 : e->ct) & 15) << 14 |
         ((uint64_t)(e->src < 0 ? 0 : e->src) & 63) << 18 | (uint64_t)(e->src < 0) << 24 |
         (uint64_t)(e->overflow != 0) << 25;
  v[3] = e->match, v[4] = e->ignore_bits, v[5] = e->start;
  v[6] = e->size_bytes | (uint64_t)e->min_free << 32, v[7] = e->user;
  for (int i = 0; i < 16; i++) w[i] = (uint32_t)(v[i / 2] >> (i % 2 * 32));
}

/* ==== [RECORDS] what the NIC writes
 * =============================================================== */
typedef struct nic_event { /* 64 bytes in an event queue */
  uint64_t user, start, offset, hdr_data, match;
  uint32_t requested_bytes, moved_bytes;
  int type, status, pt, peer, slot, overflow, unlinked, phase;
  uint64_t ticks; /* NIC clock when it was written */
} nic_event;
typedef struct nic_stamp { /* 32 bytes in the stamp ring or FIFO */
  uint64_t user, first_ticks, last_ticks;
  uint32_t size_bytes;
  int peer, seq, received, vn, kind, retry, status, phase;
} nic_stamp;

static inline uint64_t nic__le64(const unsigned char *p) {
  uint64_t v = 0;
  for (int i = 7; i >= 0; i--) v = v << 8 | p[i];
  return v;
}
static inline nic_event nic_event_unpack(const void *record) {
  const unsigned char *p = (const unsigned char *)record;
  nic_event e;
  uint64_t sizes = nic__le64(p + 40), m = nic__le64(p + 48);
  e.user = nic__le64(p), e.start = nic__le64(p + 8), e.offset = nic__le64(p + 16);
  e.hdr_data = nic__le64(p + 24), e.match = nic__le64(p + 32), e.ticks = nic__le64(p + 56);
  e.requested_bytes = (uint32_t)sizes, e.moved_bytes = (uint32_t)(sizes >> 32);
  e.pt = (int)(m >> 24 & 255), e.slot = (int)(m >> 32 & 255), e.peer = (int)(m >> 40 & 63);
  e.type = (int)(m >> 48 & 255), e.status = (int)(m >> 56 & 15);
  e.overflow = (int)(m >> 61 & 1), e.unlinked = (int)(m >> 62 & 1), e.phase = (int)(m >> 63);
  return e;
}
static inline nic_stamp nic_stamp_unpack(const void *record) {
  const unsigned char *p = (const unsigned char *)record;
  nic_stamp s;
  uint64_t m = nic__le64(p + 24);
  s.user = nic__le64(p), s.first_ticks = nic__le64(p + 8), s.last_ticks = nic__le64(p + 16);
  s.size_bytes = (uint32_t)m, m >>= 32;
  s.peer = (int)(m & 63), s.seq = (int)(m >> 6 & 255), s.received = (int)(m >> 15 & 1);
  s.vn = (int)(m >> 16 & 3), s.kind = (int)(m >> 18 & 15), s.retry = (int)(m >> 22 & 15);
  s.status = (int)(m >> 26 & 15), s.phase = (int)(m >> 31 & 1);
  return s;
}

/* ==== [COSIM]
 * ===================================================================================== */
typedef struct nic_cosim nic_cosim;

typedef struct nic_packet { /* on a wire: two flits of half a header and 32 bytes */
  uint32_t header; /* src 26..31, dst 20..25, seq 12..19, idx 4..11, vn 2..3, sop 1, eop 0 */
  uint32_t crc;
  uint32_t data[16];
} nic_packet;
uint32_t nic_packet_crc(const nic_packet *packet); /* CRC-32C over header and data */

typedef enum nic_fault {
  NIC_PASS,
  NIC_LOSE,    /* in the network, before it takes a credit */
  NIC_CORRUPT, /* one bit flips */
  NIC_CUT,     /* the second flit is lost */
  NIC_DUPLICATE,
  NIC_DELAY /* its virtual network waits for desc.fault_delay_ps: others overtake */
} nic_fault;

typedef struct nic_host { /* addr: as in commands; return nonzero: the bus answers with an error */
  void *ctx;
  int (*read)(void *ctx, int nic, uint64_t addr, void *buffer, size_t size_bytes);
  int (*write)(void *ctx, int nic, uint64_t addr, const void *buffer, size_t size_bytes);
  void (*irq)(void *ctx, int nic, int level); /* NULL: interrupts are not used */
} nic_host;

typedef struct nic_cosim_desc {
  int nic_count;           /* 1 to 64; each gets its number as address (NIC_SELF) */
  int64_t period_ps;       /* of the NIC clock: one flit */
  int64_t link_latency_ps; /* from transmitter to receiver */
  int64_t host_read_ps;    /* DMA read: address to first data */
  int64_t host_write_ps;   /* DMA write: data to answer */
  int64_t mmio_ps;         /* register access, one way */
  int64_t fault_delay_ps;
  nic_host host;
  /* NULL: no faults, nobody watches */
  nic_fault (*fault)(void *ctx, int src, int dst, const nic_packet *packet);
  void *fault_ctx;
  /* every packet at the pins of every NIC; cycles of its first and second flit */
  void (*watch)(void *ctx, int nic, int received, const nic_packet *packet, int64_t first_cycle,
                int64_t last_cycle);
  void *watch_ctx;
} nic_cosim_desc;

nic_cosim_desc nic_cosim_default(void); /* 2 NICs, 2.88 ns, 200 ns link, BXI-like host */
nic_cosim *nic_cosim_create(const nic_cosim_desc *desc); /* NULL: a field is out of range */
void nic_cosim_destroy(nic_cosim *sim);
int64_t nic_cosim_now_ps(const nic_cosim *sim);
int64_t nic_cosim_cycle(const nic_cosim *sim); /* cycles since reset */
void nic_cosim_advance(nic_cosim *sim, int64_t until_ps);
void nic_cosim_cycles(nic_cosim *sim, int64_t count);
int nic_cosim_idle(const nic_cosim *sim); /* no NIC, packet or register write is at work */

/* Posted, in order; reaches the NIC after mmio_ps, takes two cycles there. */
void nic_cosim_write(nic_cosim *sim, int nic, uint32_t offset, uint32_t value);
/* Behind all earlier writes; time passes for every NIC. When the NIC read the register: the cycle
 *in at_cycle (may be NULL). *error (may be NULL): the NIC answered with an error. */
uint32_t nic_cosim_read_at(nic_cosim *sim, int nic, uint32_t offset, int64_t *at_cycle, int *error);
uint32_t nic_cosim_read(nic_cosim *sim, int nic, uint32_t offset);
/* Writes with byte enables, for tests of the bus. */
void nic_cosim_write_partial(nic_cosim *sim, int nic, uint32_t offset, uint32_t value, int strobe);

/* Writes the 16 words of a command (and before them up to 512 bytes of PIO payload) into the slot
   that is next in the ring of class 0 (compute) or 1 (service). The caller sees to it that a slot
   is free: at most 32 commands between NIC_CMD*_TAIL and those submitted. Returns the number of
   commands before it. */
uint32_t nic_cosim_submit(nic_cosim *sim, int nic, int klass, const nic_command *command,
                          const void *pio_payload);
void nic_cosim_append(nic_cosim *sim, int nic, int index, const nic_entry *entry);
uint64_t nic_cosim_counter(nic_cosim *sim, int nic, int counter);

/* Puts a packet on a NIC's wire as soon as there is a credit, whatever it holds. */
void nic_cosim_inject(nic_cosim *sim, int nic, const nic_packet *packet);
/* Saves the waveform of one NIC between two times into an FST file (gtkwave); 0 when built with
   NIC_COSIM_TRACE, else -1. One window per NIC and simulation. */
int nic_cosim_trace(nic_cosim *sim, int nic, const char *path, int64_t from_ps, int64_t until_ps);

/* The host memory that the NIC's callbacks show, for drivers. */
int nic_cosim_host_read(nic_cosim *sim, int nic, uint64_t addr, void *buffer, size_t size_bytes);

#ifdef __cplusplus
}
#endif

/* ==== [STAMP SOURCE] an nbc_nic of nbc_overlap.h (with NIC_COSIM_WITH_NBC) ======================== */
/* Host time is simulated time in ns. Puts and replies are passed on: what this NIC sent or received;
   xfer_id is the command's user number. Each attempt of a repeated message is a stamp of its own.
   One reading of the clock brackets its low half: the bracket is two ways over the bus. Ticks are
   2^-8 ns: the clock's finer units without their last NIC_COSIM_SHIFT bits. */
#ifdef NIC_COSIM_WITH_NBC
#  ifndef NBC_OVERLAP_H_INCLUDED
#    error "NIC_COSIM_WITH_NBC needs nbc_overlap.h to be included before nic_cosim.h"
#  endif
enum { NIC_COSIM_SHIFT = 11, NIC_COSIM_CYCLE_UNITS = 1509950 };
typedef struct nic_cosim_source {
  nic_cosim *sim;
  int nic;
  uint64_t ring; /* in host memory: nic_cosim_source_init() gives it to the NIC */
  int ring_log2;
  uint32_t taken;
  unsigned directions; /* NBC_NIC_SENT, NBC_NIC_RECEIVED or both */
} nic_cosim_source;

static inline nbc_status nic_cosim_source_clock(void *ctx, int64_t *before_ns, uint64_t *ticks,
                                                int64_t *after_ns) {
  nic_cosim_source *s = (nic_cosim_source *)ctx;
  uint64_t low;
  *before_ns = nic_cosim_now_ps(s->sim) / 1000;
  low = nic_cosim_read(s->sim, s->nic, NIC_CLOCK_LO);
  *after_ns = (nic_cosim_now_ps(s->sim) + 999) / 1000;
  low |= (uint64_t)nic_cosim_read(s->sim, s->nic, NIC_CLOCK_HI) << 32; /* latched */
  *ticks = low >> NIC_COSIM_SHIFT;
  return NBC_OK;
}
static inline nbc_status nic_cosim_source_next(void *ctx, nbc_nic_stamp *stamp) {
  nic_cosim_source *s = (nic_cosim_source *)ctx;
  for (;;) {
    unsigned char record[32];
    uint32_t size = (uint32_t)1 << s->ring_log2;
    nic_stamp n;
    if (nic_cosim_host_read(s->sim, s->nic, s->ring + (s->taken % size) * 32, record,
                            sizeof record))
      return NBC_E_IO;
    n = nic_stamp_unpack(record);
    if (n.phase != !(s->taken >> s->ring_log2 & 1)) return NBC_PENDING;
    nic_cosim_write(s->sim, s->nic, NIC_STAMP_CONS, ++s->taken);
    stamp->flags = n.received ? NBC_NIC_RECEIVED : NBC_NIC_SENT;
    if (!(stamp->flags & s->directions) || n.status != NIC_OK ||
        (n.kind != NIC_KIND_PUT && n.kind != NIC_KIND_REPLY))
      continue;
    if (n.retry) stamp->flags |= NBC_NIC_RETRANSMITTED;
    stamp->xfer_id = n.user, stamp->begin_ticks = n.first_ticks >> NIC_COSIM_SHIFT;
    /* the last flit takes its cycle */
    stamp->end_ticks = (n.last_ticks + NIC_COSIM_CYCLE_UNITS) >> NIC_COSIM_SHIFT;
    stamp->size_bytes = n.size_bytes, stamp->peer = n.peer;
    return NBC_OK;
  }
}
static inline uint64_t nic_cosim_source_lost(void *ctx) {
  nic_cosim_source *s = (nic_cosim_source *)ctx;
  return (uint64_t)nic_cosim_read(s->sim, s->nic, NIC_STAMP_LOST_RING) +
         nic_cosim_read(s->sim, s->nic, NIC_STAMP_LOST_IN);
}
/* Switches the stamps of puts and replies on, into a ring of 2^ring_log2 records of 32 bytes. */
static inline nbc_nic nic_cosim_source_init(nic_cosim_source *s, nic_cosim *sim, int nic,
                                            unsigned directions, uint64_t ring, int ring_log2) {
  nbc_nic n;
  memset(&n, 0, sizeof n);
  s->sim = sim, s->nic = nic, s->directions = directions, s->ring = ring, s->ring_log2 = ring_log2;
  s->taken = 0;
  nic_cosim_write(sim, nic, NIC_STAMP_BASE_LO, (uint32_t)ring);
  nic_cosim_write(sim, nic, NIC_STAMP_BASE_HI, (uint32_t)(ring >> 32));
  nic_cosim_write(sim, nic, NIC_STAMP_SIZE, (uint32_t)ring_log2);
  nic_cosim_write(sim, nic, NIC_STAMP_CTRL, (1u << NIC_KIND_PUT | 1u << NIC_KIND_REPLY) << 16 | 3u);
  n.ctx = s, n.name = "rtl", n.nominal_hz = 256e9, n.counter_bits = 64 - NIC_COSIM_SHIFT;
  n.step_ticks = (NIC_COSIM_CYCLE_UNITS >> NIC_COSIM_SHIFT) + 2;
  n.read_clock = nic_cosim_source_clock, n.next_stamp = nic_cosim_source_next;
  n.lost_count = nic_cosim_source_lost;
  return n;
}
#endif /* NIC_COSIM_WITH_NBC */
#endif /* NIC_COSIM_H_INCLUDED */
