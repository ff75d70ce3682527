/* What the cosimulation tests share: host memories with a poisoned page, event queues that are read
   in order, and a NIC that is ready to use. */
#ifndef TESTS_RTL_COSIM_H
#define TESTS_RTL_COSIM_H
#include "rtl/nic_cosim.h"
#include "tests/test.h"

#define HOST_BYTES  (1 << 20)
#define HOST_BAD    0xBAD00000u /* reads and writes from here on fail */
#define HOST_EQ     0xF0000u    /* event queue 0: 256 records */
#define HOST_STAMPS 0xF8000u    /* stamp ring: 256 records */
#define HOST_CT     0xFC000u    /* copies of the counting events */
#define NICS_MAX    8

typedef struct host {
  unsigned char memory[NICS_MAX][HOST_BYTES];
  uint32_t events_taken[NICS_MAX], stamps_taken[NICS_MAX];
  unsigned wild; /* accesses outside of all memory */
} host;
static host H;
static cosim_stall Stall;     /* of the simulations that follow */
static const cosim_mac *Macs; /* of those of two NICs; NULL: their own link */

static int host_read(void *ctx, int nic, uint64_t addr, void *buffer, size_t n) {
  host *h = (host *)ctx;
  if (addr > HOST_BYTES || addr + n > HOST_BYTES) {
    h->wild += addr < HOST_BAD || addr > HOST_BAD + HOST_BYTES;
    return -1;
  }
  memcpy(buffer, h->memory[nic] + addr, n);
  return 0;
}
static int host_write(void *ctx, int nic, uint64_t addr, const void *buffer, size_t n) {
  host *h = (host *)ctx;
  if (addr > HOST_BYTES || addr + n > HOST_BYTES) {
    h->wild += addr < HOST_BAD || addr > HOST_BAD + HOST_BYTES;
    return -1;
  }
  memcpy(h->memory[nic] + addr, buffer, n);
  return 0;
}

static cosim_desc host_desc(int nic_count) {
  cosim_desc d = cosim_default();
  memset(&H, 0, sizeof H);
  d.nic_count = nic_count;
  d.stall = Stall, d.stall_seed = test_rand();
  if (nic_count == 2) d.mac = Macs;
  d.host.ctx = &H, d.host.read = host_read, d.host.write = host_write;
  return d;
}

/* Where one thing happens after the other, most cycles would pass on the ways between host and NIC and on the link:
   these are short ones. */
__attribute__((unused)) static cosim_desc host_near_desc(int nic_count) {
  cosim_desc d = host_desc(nic_count);
  d.mmio_ps = d.link_latency_ps = d.host_write_ps = 20000, d.host_read_ps = 40000;
  return d;
}
/* Until nothing is under way: an entry that was appended is there, whatever comes how soon */
__attribute__((unused)) static void host_settle(cosim *sim) {
  for (int i = 0; i < 1000 && !cosim_idle(sim); i++) cosim_cycles(sim, 30);
}

/* Event queue 0, stamps of every kind into ring and FIFO, all portal indices, sends enabled */
__attribute__((unused)) static cosim *host_start(const cosim_desc *desc) {
  cosim *sim = cosim_create(desc);
  if (!sim) exit(2);
  for (int i = 0; i < desc->nic_count; i++) {
    cosim_write(sim, i, COSIM_EQ + COSIM_EQ_BASE_LO, HOST_EQ);
    cosim_write(sim, i, COSIM_EQ + COSIM_EQ_SIZE, 0x80000008u);
    cosim_write(sim, i, COSIM_STAMP_BASE_LO, HOST_STAMPS);
    cosim_write(sim, i, COSIM_STAMP_SIZE, 8);
    cosim_write(sim, i, COSIM_STAMP_CTRL, 0xFFFF0007u);
    cosim_write(sim, i, COSIM_PT_ENABLE, 0xFFFF);
    cosim_write(sim, i, COSIM_TIMEOUT, 4000);
    cosim_write(sim, i, COSIM_CTRL, 1);
  }
  cosim_cycles(sim, 500);
  return sim;
}

/* The next event of queue 0 if it is there */
__attribute__((unused)) static int host_event(cosim *sim, int nic, cosim_event *event) {
  uint32_t n = H.events_taken[nic];
  cosim_event e = cosim_event_unpack(H.memory[nic] + HOST_EQ + (n % 256) * 64);
  if (e.phase != !(n >> 8 & 1)) return 0;
  *event = e;
  H.events_taken[nic] = n + 1;
  cosim_write(sim, nic, COSIM_EQ + COSIM_EQ_CONS, n + 1);
  return 1;
}
__attribute__((unused)) static int host_event_wait(cosim *sim, int nic, cosim_event *event,
                                                   int cycles) {
  for (; cycles > 0; cycles -= 10) {
    if (host_event(sim, nic, event)) return 1;
    cosim_cycles(sim, 10);
  }
  return 0;
}
__attribute__((unused)) static int host_stamp(cosim *sim, int nic, cosim_stamp *stamp) {
  uint32_t n = H.stamps_taken[nic];
  cosim_stamp s = cosim_stamp_unpack(H.memory[nic] + HOST_STAMPS + (n % 256) * 32);
  if (s.phase != !(n >> 8 & 1)) return 0;
  *stamp = s;
  H.stamps_taken[nic] = n + 1;
  cosim_write(sim, nic, COSIM_STAMP_CONS, n + 1);
  return 1;
}
__attribute__((unused)) static void host_fill(int nic, uint32_t at, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) H.memory[nic][at + i] = (unsigned char)test_rand();
}
__attribute__((unused)) static cosim_entry host_entry(uint64_t start, uint32_t size_bytes,
                                                      uint64_t match) {
  cosim_entry e;
  memset(&e, 0, sizeof e);
  e.op_put = e.op_get = 1, e.src = e.ct = -1;
  e.start = start, e.size_bytes = size_bytes, e.match = match;
  return e;
}
__attribute__((unused)) static cosim_command host_command(int kind, int dst, uint64_t match,
                                                          uint64_t addr, uint32_t size_bytes) {
  cosim_command c;
  memset(&c, 0, sizeof c);
  c.kind = kind, c.dst = dst, c.match = match, c.addr = addr, c.size_bytes = size_bytes;
  c.payload = kind == COSIM_KIND_ATOMIC || kind == COSIM_KIND_FETCH ? COSIM_PAY_INLINE : COSIM_PAY_DMA;
  c.ct = -1, c.want_ack = 1;
  return c;
}
#endif
