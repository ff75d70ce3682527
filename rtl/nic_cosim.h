/* nic_cosim.h: cosimulation of N Verilated NICs, and of Verilated switches between them, from C.

     cosim *sim;
     cosim_desc desc = cosim_default();
     desc.nic_count = 2;
     desc.host.read = my_read, desc.host.write = my_write, desc.host.ctx = my_memory;
     if (!(sim = cosim_create(&desc))) ...
     cosim_write(sim, 0, COSIM_CTRL, 1);            posted, like a store to the PCI BAR
     cosim_advance(sim, 10000000);                to 10 us of simulated time
     value = cosim_read(sim, 1, COSIM_CLOCK_LO);    waits: time passes
     cosim_destroy(sim);

   Built by `make build/rtl/libnic_cosim.a` (Verilator); a test bench in C++ beside the repository:
     g++ -I REPOSITORY bench.cc REPOSITORY/build/rtl/libnic_cosim.a -lz -pthread     #include "rtl/nic_cosim.h"
   in C the same with -lstdc++ -lm.

   All NICs share one clock edge; the clocks that they show may differ in rate and offset
   (registers). Packets travel through an ideal crossbar: fixed latency, credits per virtual network on
   both sides, the packets of one message stay together. With desc.net they travel over cables and switches
   in RTL instead (rtl/nic_switch.sv). Faults are asked for packet by packet, on the last metre. No
   global state; one thread per simulation. Times are picoseconds of simulated time.

   Contents: [REGISTERS] [COMMANDS] [RECORDS] [COSIM] [STAMP SOURCE] */
#ifndef NIC_COSIM_H_INCLUDED
#define NIC_COSIM_H_INCLUDED
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __cplusplus
extern "C" {
#endif

/* ==== [REGISTERS] byte offsets in the BAR, 32 bits each; REGISTERS.md describes them ========== */
enum {
  COSIM_ID = 0x0000,
  COSIM_VERSION = 0x0004,
  COSIM_CAPS = 0x0008,
  COSIM_CAPS2 = 0x000C,
  COSIM_CTRL = 0x0010,
  COSIM_SELF = 0x0014,
  COSIM_TIMEOUT = 0x0018,
  COSIM_RETRIES = 0x001C,
  COSIM_IRQ_STATUS = 0x0020,
  COSIM_IRQ_ENABLE = 0x0024,
  COSIM_CLEAR_PEER = 0x0028,
  COSIM_UNCONFIRMED = 0x002C,
  COSIM_PT_ENABLE = 0x0030,
  COSIM_PT_AUTO = 0x0034,
  COSIM_ME_APPEND = 0x0038,
  COSIM_ME_UNLINK = 0x003C,
  COSIM_ME_VALID = 0x0040,
  COSIM_ME_IN_USE = 0x0044,
  COSIM_ME_BANK = 0x004C,
  COSIM_ME_BUSY = 0x0048,
  COSIM_CMD0_HEAD = 0x0050,
  COSIM_CMD0_TAIL = 0x0054,
  COSIM_CMD1_HEAD = 0x0058,
  COSIM_CMD1_TAIL = 0x005C,
  COSIM_CLOCK_FRAC = 0x0060,
  COSIM_CLOCK_ADJUST_LO = 0x0064,
  COSIM_CLOCK_ADJUST_HI = 0x0068,
  COSIM_ME_SEARCH = 0x006C,
  COSIM_HEADERS = 0x0070,
  COSIM_ME_STAGE = 0x0080,
  COSIM_EQ = 0x0100, /* + 32 * queue: */
  COSIM_EQ_BASE_LO = 0x0,
  COSIM_EQ_BASE_HI = 0x4,
  COSIM_EQ_SIZE = 0x8,
  COSIM_EQ_CONS = 0xC,
  COSIM_EQ_PROD = 0x10,
  COSIM_EQ_DROPPED = 0x14,
  COSIM_CT = 0x0200, /* + 32 * counter: */
  COSIM_CT_SUCCESS_LO = 0x0,
  COSIM_CT_SUCCESS_HI = 0x4,
  COSIM_CT_FAILURE_LO = 0x8,
  COSIM_CT_FAILURE_HI = 0xC,
  COSIM_CT_COPY_LO = 0x10,
  COSIM_CT_COPY_HI = 0x14,
  COSIM_CT_ADD_SUCCESS = 0x18,
  COSIM_CT_ADD_FAILURE = 0x1C,
  COSIM_STAMP_CTRL = 0x0400,
  COSIM_STAMP_BASE_LO = 0x0404,
  COSIM_STAMP_BASE_HI = 0x0408,
  COSIM_STAMP_SIZE = 0x040C,
  COSIM_STAMP_CONS = 0x0410,
  COSIM_STAMP_PROD = 0x0414,
  COSIM_STAMP_LOST_RING = 0x0418,
  COSIM_STAMP_LOST_FIFO = 0x041C,
  COSIM_STAMP_LOST_IN = 0x0420,
  COSIM_STAMP_FIFO_COUNT = 0x0424,
  COSIM_STAMP_FIFO = 0x0440,
  COSIM_COUNTERS = 0x0500, /* + 8 * counter */
  COSIM_PTM = 0x0700,      /* +4 sent, +12 got, +20 came, each low and high; +28 stayed */
  /* +16 per context: process (enable 31, interface 17:16, pid 15:0), user, PtEnable, PtAuto */
  COSIM_CTX = 0x0800,
  COSIM_TRIGGER = 0x0A00, /* 16 words of a command, then: */
  COSIM_TRIGGER_THRESHOLD_LO = 0x40,
  COSIM_TRIGGER_THRESHOLD_HI = 0x44,
  COSIM_TRIGGER_APPEND = 0x48,
  COSIM_TRIGGER_CANCEL = 0x4C,
  COSIM_TRIGGER_BUSY = 0x50,
  COSIM_TRIGGER_VALID = 0x60, /* + 4 * (trigger / 32) */
  COSIM_CMD0 = 0x1000,
  COSIM_CMD1 = 0x1800,
  COSIM_CLOCK_LO = 0xB600,
  COSIM_CLOCK_HI = 0xB604,
  COSIM_CLOCK_INC = 0xB608,
  COSIM_PIO0 = 0x10000,
  COSIM_PIO1 = 0x14000,
  COSIM_BAR_BYTES = 0x20000
};
enum { /* counters: 8 per virtual network (+ 8 * vn), then of the NIC, then bytes (+ vn) */
       COSIM_COUNT_RX_PKT,
       COSIM_COUNT_RX_MSG,
       COSIM_COUNT_TX_PKT,
       COSIM_COUNT_TX_MSG,
       COSIM_COUNT_CRC,
       COSIM_COUNT_DROP,
       COSIM_COUNT_RETRANSMIT,
       COSIM_COUNT_STALL,
       COSIM_COUNT_HOST_ERR = 32,
       COSIM_COUNT_NO_MATCH,
       COSIM_COUNT_BAD_MSG,
       COSIM_COUNT_BAD_CMD,
       COSIM_COUNT_UNCONFIRMED,
       COSIM_COUNT_UNDELIVERED,
       COSIM_COUNT_ABANDONED,
       COSIM_COUNT_FUTURE,
       COSIM_COUNT_DUP,
       COSIM_COUNT_TX_BYTES,
       COSIM_COUNT_RX_BYTES = COSIM_COUNT_TX_BYTES + 4,
       COSIM_COUNT_COUNT = COSIM_COUNT_RX_BYTES + 4
};
enum { COSIM_SLOTS = 32, COSIM_PIO_BYTES = 512, COSIM_MAX_BYTES = 4194304, COSIM_ENTRIES = 1024 };
enum { COSIM_HEADERS_MAX = 1024 };
enum { COSIM_CONTEXTS = 16, COSIM_LIST_QUEUE = 16, COSIM_COUNTERS_MAX = 16, COSIM_TRIGGERS = 256 };
/* Of what is written to COSIM_ME_APPEND, COSIM_ME_UNLINK and COSIM_ME_SEARCH, beside the number */
#define COSIM_ME_FORCE                                                                             \
  0x80000000u /* unlink it although messages use it; append it when none does */
#define COSIM_ME_TELL    0x40000000u /* an event COSIM_EV_LINK or COSIM_EV_UNLINK when it is done */
#define COSIM_ME_TELL_EQ 28          /* the event's queue, shifted by that */
#define COSIM_ME_DELETE  0x80000000u /* to COSIM_ME_SEARCH: what is found goes */
enum {
  COSIM_KIND_PUT,
  COSIM_KIND_GET,
  COSIM_KIND_ATOMIC,
  COSIM_KIND_FETCH,
  COSIM_KIND_ACK = 8,
  COSIM_KIND_REPLY,
  COSIM_KIND_ACK_ACK,
  COSIM_KIND_CT_INC = 12, /* of triggers only */
  COSIM_KIND_CT_SET
};
enum { COSIM_PAY_INLINE, COSIM_PAY_PIO, COSIM_PAY_DMA };
enum {
  COSIM_OK,
  COSIM_UNDELIVERABLE,
  COSIM_DROPPED,
  COSIM_PT_DISABLED,
  COSIM_PERMISSION,
  COSIM_OPERATION,
  COSIM_NO_MATCH,
  COSIM_HOST_ERROR,
  COSIM_NO_PROCESS,
  COSIM_BAD_INDEX
};
enum {
  COSIM_EV_GET = 0,
  COSIM_EV_PUT = 2,
  COSIM_EV_ATOMIC = 4,
  COSIM_EV_FETCH = 6,
  COSIM_EV_REPLY = 8,
  COSIM_EV_SEND = 9,
  COSIM_EV_ACK = 10,
  COSIM_EV_LINK = 11,
  COSIM_EV_UNLINK = 12,
  COSIM_EV_AUTO_UNLINK,
  COSIM_EV_AUTO_FREE,
  COSIM_EV_SEARCH,
  COSIM_EV_OVERFLOW = 1 /* added to GET, PUT, ATOMIC and FETCH: of an unexpected header */
};
enum {
  COSIM_OP_MIN,
  COSIM_OP_MAX,
  COSIM_OP_SUM,
  COSIM_OP_PROD,
  COSIM_OP_LOR,
  COSIM_OP_LAND,
  COSIM_OP_BOR,
  COSIM_OP_BAND,
  COSIM_OP_LXOR,
  COSIM_OP_BXOR,
  COSIM_OP_SWAP,
  COSIM_OP_CSWAP,
  COSIM_OP_CSWAP_NE,
  COSIM_OP_CSWAP_LE,
  COSIM_OP_CSWAP_LT,
  COSIM_OP_CSWAP_GE,
  COSIM_OP_CSWAP_GT,
  COSIM_OP_MSWAP
};

/* ==== [COMMANDS] what the host writes: 16 words each ========================================== */
typedef struct cosim_command {
  int kind, dst, pt, op; /* COSIM_KIND_..., op: COSIM_OP_... */
  int ctx, dst_pid;      /* whose command it is, COSIM_CTX; the process that is meant */
  int size_log2;         /* of an atomic's element; 4: two doubles */
  bool is_signed;
  bool is_float, is_complex; /* it is a float or double; or two of them, both are set then */
  int payload;               /* COSIM_PAY_...; an atomic's operands are inline up to 16 bytes */
  uint32_t size_bytes;
  uint64_t match, offset, hdr_data; /* offset: 48 bits */
  uint64_t addr;                    /* host buffer: DMA payload, reply data */
  /* Inline payload; or values, or one and what it is compared with (of a complex double both are in the PIO payload, 32 bytes);
     or for a counter's success and failure */
  uint64_t operand[2];
  uint64_t user; /* 48 bits: comes back in events and stamps */
  int eq, ct;    /* where initiator's events go; ct < 0: none */
  int want_send, want_ack, ct_bytes;
  int want_end; /* with want_ack: the event comes, and counts nothing, where the entry gives no acknowledgement, too */
} cosim_command;

typedef struct cosim_entry {
  int pt, overflow, src; /* src < 0: any */
  int ctx, pid;          /* pid of the initiator, < 0: any */
  int64_t uid;           /* < 0: any; another one is refused */
  int op_put, op_get, use_once, manage_local, no_truncate, no_events;
  int quiet;     /* no events of what goes well */
  int tell_left; /* AUTO_UNLINK, where it leaves with a message of which nothing is told */
  /* Unexpected headers: messages leave them, AUTO_FREE is told with the last of them; those that it finds are not told,
     are counted, move its locally managed offset */
  int keep_headers, tell_free, no_over, count_over, add_lengths;
  int loose_headers;    /* those that it leaves do not use it; without room a message leaves none */
  int eq, ct, ct_bytes; /* ct < 0: none */
  int ct_puts;          /* gets and fetches do not count */
  int ack_off; /* what goes well makes neither ACK nor count at the initiator; replies come */
  uint64_t start, match, ignore_bits, user;
  uint64_t size_bytes; /* below 2^48 */
  uint32_t min_free;
} cosim_entry;

static inline void cosim_command_pack(const cosim_command *c, uint32_t w[16]) {
  uint64_t v[8];
  v[0] = ((uint64_t)c->kind & 15) | ((uint64_t)c->ctx & 15) << 4 | ((uint64_t)c->pt & 255) << 8 |
         ((uint64_t)c->dst & 63) << 16 | (uint64_t)(c->is_float != 0) << 22 |
         (uint64_t)(c->is_complex != 0) << 23 |
         ((uint64_t)(c->is_signed != 0) << 2 | ((uint64_t)c->size_log2 & 7)) << 24 |
         ((uint64_t)c->op & 31) << 27 | (uint64_t)c->size_bytes << 32;
  v[2] = (c->offset & 0xFFFFFFFFFFFFu) | (uint64_t)c->dst_pid << 48;
  v[1] = c->match, v[3] = c->hdr_data, v[4] = c->addr;
  v[5] = c->operand[0], v[6] = c->operand[1];
  v[7] = (c->user & 0xFFFFFFFFFFFFu) | ((uint64_t)c->payload & 3) << 48 |
         ((uint64_t)c->eq & 3) << 50 | ((uint64_t)(c->ct < 0 ? 0 : c->ct) & 15) << 55 |
         (uint64_t)(c->ct >= 0) << 59 | (uint64_t)(c->ct_bytes != 0) << 60 |
         (uint64_t)(c->want_end != 0) << 52 | (uint64_t)(c->want_send != 0) << 61 |
         (uint64_t)(c->want_ack != 0) << 62 | (uint64_t)1 << 63;
  for (int i = 0; i < 16; i++) w[i] = (uint32_t)(v[i / 2] >> (i % 2 * 32));
}
static inline void cosim_entry_pack(const cosim_entry *e, uint32_t w[16]) {
  uint64_t v[8] = {0};
  v[0] = (uint64_t)(e->op_put != 0) | (uint64_t)(e->op_get != 0) << 1 |
         (uint64_t)(e->use_once != 0) << 2 | (uint64_t)(e->manage_local != 0) << 3 |
         (uint64_t)(e->no_truncate != 0) << 4 | (uint64_t)(e->no_events != 0) << 5 |
         (uint64_t)(e->ct >= 0) << 6 | (uint64_t)(e->ct_bytes != 0) << 7 |
         ((uint64_t)e->pt & 15) << 8 | ((uint64_t)e->eq & 3) << 12 |
         ((uint64_t)(e->ct < 0 ? 0 : e->ct) & 15) << 14 |
         ((uint64_t)(e->src < 0 ? 0 : e->src) & 63) << 18 | (uint64_t)(e->src < 0) << 24 |
         (uint64_t)(e->overflow != 0) << 25 | (uint64_t)(e->keep_headers != 0) << 26 |
         (uint64_t)(e->no_over != 0) << 27 | (uint64_t)(e->count_over != 0) << 28 |
         (uint64_t)(e->tell_free != 0) << 29 | (uint64_t)(e->add_lengths != 0) << 30 |
         (uint64_t)(e->loose_headers != 0) << 31 |
         ((uint64_t)(e->pid < 0 ? 0 : e->pid) & 0xFFFF) << 32 | (uint64_t)(e->pid < 0) << 48 |
         (uint64_t)(e->uid < 0) << 49 | (uint64_t)(e->ct_puts != 0) << 50 |
         (uint64_t)(e->ack_off != 0) << 51 | ((uint64_t)e->ctx & 15) << 52 |
         (uint64_t)(e->quiet != 0) << 56 | (uint64_t)(e->tell_left != 0) << 57;
  v[1] = ((uint64_t)(e->uid < 0 ? 0 : e->uid) & 0xFFFFFFFFu) | (e->size_bytes >> 32 & 0xFFFF) << 32;
  v[3] = e->match, v[4] = e->ignore_bits, v[5] = e->start;
  v[6] = (e->size_bytes & 0xFFFFFFFFu) | (uint64_t)e->min_free << 32, v[7] = e->user;
  for (int i = 0; i < 16; i++) w[i] = (uint32_t)(v[i / 2] >> (i % 2 * 32));
}

/* ==== [RECORDS] what the NIC writes =========================================================== */
typedef struct cosim_event { /* 64 bytes in an event queue */
  uint64_t user, start, offset, hdr_data, match;
  uint32_t requested_bytes, moved_bytes;
  int type, status, pt, peer, slot, overflow, unlinked, phase; /* slot: or number of the entry */
  int counted;                                                 /* a counter counts it */
  int pid;                                                     /* of the initiator */
  uint64_t ticks;                                              /* NIC clock when it was written */
} cosim_event;
typedef struct cosim_stamp { /* 32 bytes in the stamp ring or FIFO */
  uint64_t user, first_ticks, last_ticks;
  uint32_t size_bytes;
  int peer, seq, received, vn, kind, retry, status, phase;
} cosim_stamp;

static inline uint64_t cosim__le64(const unsigned char *p) {
  uint64_t v = 0;
  for (int i = 7; i >= 0; i--) v = v << 8 | p[i];
  return v;
}
static inline cosim_event cosim_event_unpack(const void *record) {
  const unsigned char *p = (const unsigned char *)record;
  cosim_event e;
  uint64_t sizes = cosim__le64(p + 40), m = cosim__le64(p + 48);
  e.user = cosim__le64(p), e.start = cosim__le64(p + 8), e.offset = cosim__le64(p + 16);
  e.hdr_data = cosim__le64(p + 24), e.match = cosim__le64(p + 32), e.ticks = cosim__le64(p + 56);
  e.requested_bytes = (uint32_t)sizes, e.moved_bytes = (uint32_t)(sizes >> 32);
  e.pt = (int)(m >> 24 & 255), e.slot = (int)((m >> 32 & 255) | (m >> 8 & 0xFF00)),
  e.peer = (int)(m >> 40 & 63);
  e.pid = (int)(m & 0xFFFF);
  e.type = (int)(m >> 48 & 255), e.status = (int)(m >> 56 & 15);
  e.counted = (int)(m >> 60 & 1), e.overflow = (int)(m >> 61 & 1), e.unlinked = (int)(m >> 62 & 1),
  e.phase = (int)(m >> 63);
  return e;
}
static inline cosim_stamp cosim_stamp_unpack(const void *record) {
  const unsigned char *p = (const unsigned char *)record;
  cosim_stamp s;
  uint64_t m = cosim__le64(p + 24);
  s.user = cosim__le64(p), s.first_ticks = cosim__le64(p + 8), s.last_ticks = cosim__le64(p + 16);
  s.size_bytes = (uint32_t)m, m >>= 32;
  s.peer = (int)(m & 63), s.seq = (int)(m >> 6 & 255), s.received = (int)(m >> 15 & 1);
  s.vn = (int)(m >> 16 & 3), s.kind = (int)(m >> 18 & 15), s.retry = (int)(m >> 22 & 15);
  s.status = (int)(m >> 26 & 15), s.phase = (int)(m >> 31 & 1);
  return s;
}

/* ==== [COSIM] ================================================================================= */
typedef struct cosim cosim;

typedef struct cosim_packet { /* on a wire: two flits of half a header and 32 bytes */
  uint32_t header; /* src 26..31, dst 20..25, seq 12..19, idx 4..11, vn 2..3, sop 1, eop 0 */
  uint32_t crc;
  uint32_t data[16];
} cosim_packet;
uint32_t cosim_packet_crc(const cosim_packet *packet); /* CRC-32C over header and data */

typedef enum cosim_fault {
  COSIM_PASS,
  COSIM_LOSE,    /* in the network, before it takes a credit */
  COSIM_CORRUPT, /* one bit flips */
  COSIM_CUT,     /* the second flit is lost */
  COSIM_DUPLICATE,
  COSIM_DELAY /* its virtual network waits for desc.fault_delay_ps: others overtake */
} cosim_fault;

typedef enum cosim_stall {
  COSIM_STALL_NONE,   /* whatever the NIC offers is taken at once, answers come in order */
  COSIM_STALL_RANDOM, /* each channel waits every other cycle */
  /* All that the standard allows and hurts: ready only after valid, AWREADY only after WVALID or the last
     data, WREADY only after AWREADY, answers of different identifiers in any order and mixed, register
     writes whose address and data come apart. */
  COSIM_STALL_ADVERSE
} cosim_stall;

typedef struct
    cosim_host { /* addr: as in commands; return nonzero: the bus answers with an error */
  void *ctx;
  int (*read)(void *ctx, int nic, uint64_t addr, void *buffer, size_t size_bytes);
  int (*write)(void *ctx, int nic, uint64_t addr, const void *buffer, size_t size_bytes);
  void (*irq)(void *ctx, int nic, int level); /* NULL: interrupts are not used */
} cosim_host;

/* Switches of 8 ports and the cables between them and the NICs. A cable here is one way; a port has one in each
   direction, which need not lead to the same place. */
enum {
  COSIM_SWITCH_PORTS = 8,
  COSIM_SWITCHES_MAX = 64,
  COSIM_CHANNELS =
      2, /* virtual channels of a virtual network between switches; a NIC's cable has one, 0 */
  COSIM_SWITCH_CYCLES =
      5 /* from a packet's first flit at an idle switch to its first flit behind it */
};
typedef struct cosim_cable {
  int from_switch, from; /* number and port; from_switch -1: from is a NIC */
  int to_switch, to;
  int64_t latency_ps; /* of the wire alone; 2 cycles at least */
} cosim_cable;
typedef struct cosim_net {
  int switch_count, cable_count;
  const cosim_cable *cables;
  /* routes[64 * switch + NIC]: the port by which packets for that NIC leave; -1: none come here */
  const signed char *routes;
  /* turns[64 * switch + 8 * port in + port out]: the virtual channel in which a packet that comes and leaves there goes
     on; -1: its own. To a NIC it is 0. NULL: 0 everywhere. A channel of a cable waits for those in which its
     packets go on. Where that closes a ring packets can block each other for good: this is refused. */
  const signed char *turns;
} cosim_net;
/* NULL: cosim_create() takes it for so many NICs. Else text, which is cut where it ends and says what is wrong: an end
   of a cable that is nowhere, a table's entry that is none, a way from one NIC to another that ends at a third one, or
   the ring of channels in which packets on such ways can wait for each other for good. */
const char *cosim_net_error(const cosim_net *net, int nic_count, char *text, size_t text_bytes);

/* Two NICs behind Ethernet MACs (rtl/nic_top_mac.sv): packets are frames on AXI streams, which have clocks of their own.
   What one end sends the other receives with the same clock, link_latency_ps after the frame has left whole. Streams wait
   as host buses do (stall). Faults happen to frames that hold a packet: they get lost, broken (corrupt) or too short
   (cut), others are passes. Stamps are those of the streams, and so is what is told to watch: cycles of the NIC's clock in
   which the first beat and the last one were taken. */
typedef struct cosim_mac {
  /* of the stream that each sends by: 2/3 of the NICs' period to 16 of them */
  int64_t period_ps[2];
} cosim_mac;

typedef struct cosim_desc {
  int nic_count;           /* 1 to 64; each gets its number as address (COSIM_SELF) */
  int64_t period_ps;       /* of the NIC clock: one flit */
  int64_t link_latency_ps; /* from transmitter to receiver, without net */
  int64_t host_read_ps;    /* DMA read: address to first data */
  int64_t host_write_ps;   /* DMA write: data to seen in host memory, in order, and answered */
  int64_t mmio_ps;         /* register access, one way */
  int64_t ptm_ps;          /* request for the host's time (COSIM_PTM), one way: the wire alone */
  int64_t fault_delay_ps;
  cosim_host host;
  cosim_stall stall; /* how the host's buses keep the NIC waiting */
  uint64_t stall_seed;
  /* NULL: no faults, nobody watches */
  cosim_fault (*fault)(void *ctx, int src, int dst, const cosim_packet *packet);
  void *fault_ctx;
  /* every packet at the pins of every NIC; cycles of its first and second flit */
  void (*watch)(void *ctx, int nic, int received, const cosim_packet *packet, int64_t first_cycle,
                int64_t last_cycle);
  void *watch_ctx;
  bool has_waves;       /* 1: cosim_trace() will be used; costs speed */
  const cosim_net *net; /* NULL: an ideal crossbar. Read by cosim_create() only */
  /* NULL: none. Only for two NICs without net; libraries that are not made with COSIM_MAC refuse it */
  const cosim_mac *mac;
} cosim_desc;

cosim_desc cosim_default(void); /* 2 NICs, 2.88 ns, 200 ns link, BXI-like host */
cosim *cosim_create(
    const cosim_desc *desc); /* NULL: a field is out of range, or cosim_net_error() */
void cosim_destroy(cosim *sim);
int64_t cosim_now_ps(const cosim *sim);
int64_t cosim_cycle(const cosim *sim); /* cycles since reset */
void cosim_advance(cosim *sim, int64_t until_ps);
void cosim_cycles(cosim *sim, int64_t count);
int cosim_idle(const cosim *sim); /* no NIC, packet or register write is at work */
/* At least so many cycles (at most 2^38) pass at once: while nothing is at work only the clocks move, and they are set
   as far as they would have come, by their own adjustment.
   ret cycles that passed; 0: something is at work, nothing was done */
int64_t cosim_skip(cosim *sim, int64_t cycles);
/* Packets that switches dropped since the beginning, and credits that came too many: 0 when all is right, as faults
   happen behind the last switch. */
uint64_t cosim_switch_drops(const cosim *sim);

/* Posted, in order; reaches the NIC after mmio_ps, takes two cycles there. */
void cosim_write(cosim *sim, int nic, uint32_t offset, uint32_t value);
/* Behind all earlier writes; time passes for every NIC. at_cycle (may be NULL): the cycle in which the
   NIC read the register. *error (may be NULL): the NIC answered with an error. */
uint32_t cosim_read_at(cosim *sim, int nic, uint32_t offset, int64_t *at_cycle, int *error);
uint32_t cosim_read(cosim *sim, int nic, uint32_t offset);
/* The same without waiting, one at a time for each NIC: 1 once the answer has come back. */
void cosim_read_ask(cosim *sim, int nic, uint32_t offset);
int cosim_read_got(const cosim *sim, int nic, uint32_t *value);
/* Writes with byte enables, for tests of the bus. */
void cosim_write_partial(cosim *sim, int nic, uint32_t offset, uint32_t value, int strobe);

/* Writes the 16 words of a command (and before them up to 512 bytes of PIO payload) into the slot
   that is next in the ring of class 0 (compute) or 1 (service). The caller sees to it that a slot
   is free: at most 32 commands between COSIM_CMD*_TAIL and those submitted. Returns the number of
   commands before it. */
uint32_t cosim_submit(cosim *sim, int nic, int klass, const cosim_command *command,
                      const void *pio_payload);
void cosim_append(cosim *sim, int nic, int index, const cosim_entry *entry);
/* Looks through the unexpected headers of the entry's list; how: 0 or COSIM_ME_DELETE, and a number for its events */
void cosim_search(cosim *sim, int nic, uint32_t how, const cosim_entry *entry);
/* The command waits as trigger index (0 to 255, a free one: COSIM_TRIGGER_VALID) until successes and failures of
   counter ct together reach the threshold, and is then sent by that class without the host; not with PIO payload.
   COSIM_KIND_CT_INC adds operand[0] and operand[1] to the counts of command->ct, COSIM_KIND_CT_SET sets them. */
void cosim_trigger(cosim *sim, int nic, int klass, int index, int ct, uint64_t threshold,
                   const cosim_command *command);
uint64_t cosim_counter(cosim *sim, int nic, int counter);

/* One NIC's reset, for so many cycles (1 at least), as when its node starts again; the others go on. What it has written
   reaches host memory, unless a burst's data were not all there; what it has read is not answered any more, nor are its
   writes. Register accesses on their way are lost, a read that waits is answered by ones. Its link begins anew: packets
   that it has sent go on, but one that was not whole and the rest of that message are lost, as is what comes meanwhile. It
   keeps its address. 0, or -1: nothing was done, with desc.net or desc.mac, whose other ends would need it too. */
int cosim_reset(cosim *sim, int nic, int64_t cycles);
/* Puts a packet on a NIC's wire as soon as there is a credit, whatever it holds. Nothing with desc.net or desc.mac. */
void cosim_inject(cosim *sim, int nic, const cosim_packet *packet);
/* Saves the waveform of one NIC between two times into a VCD file, or one of FST when path ends in .fst (both for gtkwave):
   all its registers and wires but large memories. 0, or -1: the file cannot be written, there is no such NIC,
   its wave is being saved, or desc.has_waves was not set. */
int cosim_trace(cosim *sim, int nic, const char *path, int64_t from_ps, int64_t until_ps);
/* What is added to the simulation's time in waveforms, and so where from_ps and until_ps count from (0). It may
   grow during a run. */
void cosim_trace_offset(cosim *sim, int64_t offset_ps);
/* Ends what is being saved. 0, or -1: something was lost, e.g. because the disk is full. */
int cosim_trace_end(cosim *sim);

/* The host memory that the NIC's callbacks show, for drivers. */
int cosim_host_read(cosim *sim, int nic, uint64_t addr, void *buffer, size_t size_bytes);

#ifdef __cplusplus
}
#endif

/* ==== [STAMP SOURCE] an nbc_nic of nbc_overlap.h (with COSIM_WITH_NBC) ======================== */
/* Host time is simulated time in ns. Puts and replies are passed on: what this NIC sent or received;
   xfer_id is the command's user number. Each attempt of a repeated message is a stamp of its own.
   One reading of the clock brackets its low half: the bracket is two ways over the bus, or, when by_ptm
   is set before the first reading, over its wire alone. Ticks are
   2^-8 ns: the clock's finer units without their last COSIM_SHIFT bits. */
#ifdef COSIM_WITH_NBC
#  ifndef NBC_OVERLAP_H_INCLUDED
#    error "COSIM_WITH_NBC needs nbc_overlap.h to be included before nic_cosim.h"
#  endif
enum { COSIM_SHIFT = 11, COSIM_CYCLE_UNITS = 1509950 };
typedef struct cosim_source {
  cosim *sim;
  int nic;
  uint64_t ring; /* in host memory: cosim_source_init() gives it to the NIC */
  int ring_log2;
  uint32_t taken;
  unsigned directions; /* NBC_NIC_SENT, NBC_NIC_RECEIVED or both */
  int by_ptm;          /* 1: the clock is read by COSIM_PTM, a bracket of two ways over the wire */
} cosim_source;

/* Host time is simulated time: the other end of the bus tells it. */
static inline nbc_status cosim_source_ptm(cosim_source *s, int64_t *before_ns, uint64_t *ticks,
                                          int64_t *after_ns) {
  uint32_t word[8] = {0};
  cosim_write(s->sim, s->nic, COSIM_PTM, 1);
  for (int tries = 0; !(word[0] & 1); tries++) {
    if (tries == 1000) return NBC_E_IO;
    word[0] = cosim_read(s->sim, s->nic, COSIM_PTM);
  }
  for (uint32_t i = 1; i < 8; i++) word[i] = cosim_read(s->sim, s->nic, COSIM_PTM + 4 * i);
  const uint64_t sent = word[1] | (uint64_t)word[2] << 32, got = word[3] | (uint64_t)word[4] << 32;
  const int64_t came_ns = (int64_t)(word[5] | (uint64_t)word[6] << 32);
  /* clocks differ by far less than a thousandth, and all is rounded to whole ns */
  const int64_t way_ns = (int64_t)((got - sent) >> 19) + 1;
  *ticks = sent >> COSIM_SHIFT;
  *after_ns = came_ns + 1;
  *before_ns = came_ns + word[7] - way_ns - way_ns / 1000 - 1;
  return NBC_OK;
}

static inline nbc_status cosim_source_clock(void *ctx, int64_t *before_ns, uint64_t *ticks,
                                            int64_t *after_ns) {
  cosim_source *s = (cosim_source *)ctx;
  uint64_t low;
  if (s->by_ptm) return cosim_source_ptm(s, before_ns, ticks, after_ns);
  *before_ns = cosim_now_ps(s->sim) / 1000;
  low = cosim_read(s->sim, s->nic, COSIM_CLOCK_LO);
  *after_ns = (cosim_now_ps(s->sim) + 999) / 1000;
  low |= (uint64_t)cosim_read(s->sim, s->nic, COSIM_CLOCK_HI) << 32; /* latched */
  *ticks = low >> COSIM_SHIFT;
  return NBC_OK;
}
static inline nbc_status cosim_source_next(void *ctx, nbc_nic_stamp *stamp) {
  cosim_source *s = (cosim_source *)ctx;
  for (;;) {
    unsigned char record[32];
    uint32_t size = (uint32_t)1 << s->ring_log2;
    cosim_stamp n;
    if (cosim_host_read(s->sim, s->nic, s->ring + (s->taken % size) * 32, record, sizeof record))
      return NBC_E_IO;
    n = cosim_stamp_unpack(record);
    if (n.phase != !(s->taken >> s->ring_log2 & 1)) return NBC_PENDING;
    cosim_write(s->sim, s->nic, COSIM_STAMP_CONS, ++s->taken);
    stamp->flags = n.received ? NBC_NIC_RECEIVED : NBC_NIC_SENT;
    if (!(stamp->flags & s->directions) || n.status != COSIM_OK ||
        (n.kind != COSIM_KIND_PUT && n.kind != COSIM_KIND_REPLY))
      continue;
    if (n.retry) stamp->flags |= NBC_NIC_RETRANSMITTED;
    stamp->xfer_id = n.user, stamp->begin_ticks = n.first_ticks >> COSIM_SHIFT;
    /* the last flit takes its cycle */
    stamp->end_ticks = (n.last_ticks + COSIM_CYCLE_UNITS) >> COSIM_SHIFT;
    stamp->size_bytes = n.size_bytes, stamp->peer = n.peer;
    return NBC_OK;
  }
}
static inline uint64_t cosim_source_lost(void *ctx) {
  cosim_source *s = (cosim_source *)ctx;
  return (uint64_t)cosim_read(s->sim, s->nic, COSIM_STAMP_LOST_RING) +
         cosim_read(s->sim, s->nic, COSIM_STAMP_LOST_IN);
}
/* Switches the stamps of puts and replies on, into a ring of 2^ring_log2 records of 32 bytes. */
static inline nbc_nic cosim_source_init(cosim_source *s, cosim *sim, int nic, unsigned directions,
                                        uint64_t ring, int ring_log2) {
  nbc_nic n;
  memset(&n, 0, sizeof n);
  s->sim = sim, s->nic = nic, s->directions = directions, s->ring = ring, s->ring_log2 = ring_log2;
  s->taken = 0, s->by_ptm = 0;
  cosim_write(sim, nic, COSIM_STAMP_BASE_LO, (uint32_t)ring);
  cosim_write(sim, nic, COSIM_STAMP_BASE_HI, (uint32_t)(ring >> 32));
  cosim_write(sim, nic, COSIM_STAMP_SIZE, (uint32_t)ring_log2);
  cosim_write(sim, nic, COSIM_STAMP_CTRL,
              (1u << COSIM_KIND_PUT | 1u << COSIM_KIND_REPLY) << 16 | 3u);
  n.ctx = s, n.name = "rtl", n.nominal_hz = 256e9, n.counter_bits = 64 - COSIM_SHIFT;
  n.step_ticks = (COSIM_CYCLE_UNITS >> COSIM_SHIFT) + 2;
  n.read_clock = cosim_source_clock, n.next_stamp = cosim_source_next;
  n.lost_count = cosim_source_lost;
  return n;
}
#endif /* COSIM_WITH_NBC */
#endif /* NIC_COSIM_H_INCLUDED */
