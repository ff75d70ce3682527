/* nic_rtl.h: a driver in user space for the NIC of rtl/, as a PCI device of this machine (rtl/qemu, or an FPGA).
   Linux, little endian, root. Public domain or MIT-0, at your choice (end of file).

   Include after nic_hw.h; implemented where NIC_HW_IMPLEMENTATION is defined.

     nic_rtl *nic;
     nic_error error;
     nic_rtl_desc desc = {.pci_address = "0000:00:01.0", .self = 0};
     if (nic_rtl_open(&desc, &nic, &error)) return fprintf(stderr, "%s\n", error.text), 1;
     cosim_entry all = {.src = -1, .ct = -1, .op_put = 1, .start = nic_rtl_bus_address(nic, NIC_RTL_KEPT), .size_bytes = 65536};
     nic_rtl_append(nic, 0, &all);                          commands and entries: rtl/nic_cosim.h
     nic_rtl_submit(nic, 0, &put, &error);
     while (!nic_rtl_event(nic, &event)) ;                  polled: nothing here needs interrupts
     nic_rtl_close(nic);

   HOW. The BAR is mapped from sysfs (resource0), decoding and bus mastering are switched on in sysfs's enable and
   config. The NIC reads and writes one huge page of 2 MiB, whose address /proc/self/pagemap tells, so
   /proc/sys/vm/nr_hugepages must leave one; without an IOMMU that address is the bus's. The first NIC_RTL_KEPT
   bytes of it are event queue 0 and the ring of stamps; the rest is the program's. No kernel driver may own the device,
   and one program at a time drives it. Closing takes its right to write into memory away.

   Threads: one at a time on one nic_rtl. NULL is refused with NIC_E_INVAL; what returns no status does nothing then and
   says false, 0 or NULL, and nic_rtl_read all ones, as of a device that is gone. */
#ifndef NIC_HW_H_INCLUDED
#  error "nic_rtl.h: include nic_hw.h first"
#endif
#ifndef NIC_RTL_H_INCLUDED
#  define NIC_RTL_H_INCLUDED
#  include "rtl/nic_cosim.h" /* registers, commands, records: its inline parts only */
#  ifdef __cplusplus
extern "C" {
#  endif

enum { NIC_RTL_EVENTS_LOG2 = 6, NIC_RTL_STAMPS_LOG2 = 8, NIC_RTL_KEPT = 0x4000 };

/* The registers, when they are not a BAR of this machine */
typedef struct nic_rtl_bus {
  uint32_t (*read32)(void *user, uint32_t offset);
  void (*write32)(void *user, uint32_t offset, uint32_t value);
  void *user;
} nic_rtl_bus;

typedef struct nic_rtl_desc {
  const char *pci_address; /* "0000:00:01.0", or */
  const nic_rtl_bus *bus;  /* copied; and then memory too */
  const char *sysfs_root;  /* NULL = "/sys" */
  void *memory;            /* aligned to 4,096 bytes, yours; NULL = a huge page of its own */
  uint64_t memory_bus_address;
  size_t memory_bytes; /* more than NIC_RTL_KEPT */
  int self;            /* its address among the NICs, 0 to 63 */
  int slower; /* ns of this machine per ns of the NIC; 0 = as the PCI subsystem device says, 1 where that says 0 */
} nic_rtl_desc;

typedef struct nic_rtl nic_rtl;

/* ret NIC_OK | NIC_E_INVAL | NIC_E_NOT_FOUND (no such device) | NIC_E_UNSUPPORTED (not this NIC) | NIC_E_RIGHTS |
   NIC_E_NOMEM (no huge page) | NIC_E_SYSTEM | NIC_E_GONE (its registers read all ones) */
NIC_API nic_status nic_rtl_open(const nic_rtl_desc *desc, nic_rtl **nic, nic_error *err);
NIC_API void nic_rtl_close(nic_rtl *nic); /* NULL allowed */
NIC_API uint32_t nic_rtl_read(nic_rtl *nic, uint32_t offset);
NIC_API void nic_rtl_write(nic_rtl *nic, uint32_t offset, uint32_t value);
NIC_API int nic_rtl_slower(const nic_rtl *nic);
/* Memory that the NIC may read and write; offsets from NIC_RTL_KEPT to size_bytes are the program's. */
NIC_API unsigned char *nic_rtl_memory(nic_rtl *nic, size_t *size_bytes);
NIC_API uint64_t nic_rtl_bus_address(const nic_rtl *nic, size_t offset);
/* Entry number index (0 to 1023) at the end of its list; returns when it is there. */
NIC_API void nic_rtl_append(nic_rtl *nic, int index, const cosim_entry *entry);
/* Into the next slot of class 0 or 1. Not for PIO payload. ret NIC_OK | NIC_E_FULL (no slot is free: take events) */
NIC_API nic_status nic_rtl_submit(nic_rtl *nic, int klass, const cosim_command *command,
                                  nic_error *err);
/* The next event of queue 0. false: none yet */
NIC_API bool nic_rtl_event(nic_rtl *nic, cosim_event *event);
/* The next stamp of any kind; they are taken away from nic_rtl_source's. false: none yet */
NIC_API bool nic_rtl_stamp(nic_rtl *nic, cosim_stamp *stamp);
#  ifdef NIC_WITH_NBC
/* Its clock and stamps for nbc_nic_watch_create: of puts and replies of any class, xfer_id is the command's user
   number. host: the clock of the monitor. directions: NBC_NIC_SENT, NBC_NIC_RECEIVED or both. The nbc_nic lives as long as nic. */
NIC_API nbc_nic nic_rtl_source(nic_rtl *nic, const nbc_clock *host, unsigned directions);
#  endif

#  ifdef __cplusplus
}
#  endif
#endif /* NIC_RTL_H_INCLUDED */

#if defined(NIC_HW_IMPLEMENTATION) && !defined(NIC_RTL_IMPLEMENTATION_ONCE)
#  define NIC_RTL_IMPLEMENTATION_ONCE
#  ifdef __cplusplus
extern "C" {
#  endif

struct nic_rtl {
  nic_rtl_bus bus;
  volatile uint32_t *words; /* NULL: a bus of the caller's */
  size_t bar_bytes;
  int config_fd;
  unsigned char *memory;
  uint64_t memory_bus_address;
  size_t memory_bytes;
  bool owns_memory, is_ours; /* is_ours: the device is this NIC, so closing may write to it */
  int self, slower;
  uint32_t submitted[2], events, stamps;
#  ifdef NIC_WITH_NBC
  nbc_clock host;
  unsigned directions;
#  endif
};
enum { NIC_RTL__EVENTS = 0x0000, NIC_RTL__STAMPS = 0x2000, NIC_RTL__HUGE = 2 << 20 };

/* ---- device and memory -------------------------------------------------------------------------- */
static uint32_t nic_rtl__bar_read(void *user, uint32_t offset) {
  return ((nic_rtl *)user)->words[offset / 4];
}
static void nic_rtl__bar_write(void *user, uint32_t offset, uint32_t value) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST); /* what the NIC will read is there before it is told */
  ((nic_rtl *)user)->words[offset / 4] = value;
}
static nic_status nic_rtl__file(const nic_rtl_desc *desc, const char *name, int flags, int *fd,
                                nic_error *err) {
  char path[NIC__PATH];
  if (!nic__path(path, desc->sysfs_root ? desc->sysfs_root : "/sys", "bus/pci/devices",
                 desc->pci_address, name, (char *)NULL))
    return nic__fail(err, NIC_E_RANGE, "%.60s: path too long", desc->pci_address);
  *fd = open(path, flags | O_CLOEXEC);
  if (*fd >= 0) return NIC_OK;
  return nic__fail(err,
                   errno == ENOENT                     ? NIC_E_NOT_FOUND
                   : errno == EACCES || errno == EPERM ? NIC_E_RIGHTS
                                                       : NIC_E_SYSTEM,
                   "%.150s: %s", path, strerror(errno));
}
static nic_status nic_rtl__command(nic_rtl *n, uint16_t set, uint16_t clear, nic_error *err) {
  unsigned char now[2];
  if (pread(n->config_fd, now, 2, 4) != 2)
    return nic__fail(err, NIC_E_SYSTEM, "config: %s", strerror(errno));
  const unsigned command = ((unsigned)now[0] | (unsigned)now[1] << 8 | set) & ~(unsigned)clear;
  now[0] = (unsigned char)command, now[1] = (unsigned char)(command >> 8);
  if (pwrite(n->config_fd, now, 2, 4) != 2)
    return nic__fail(err, NIC_E_RIGHTS, "config: %s", strerror(errno));
  return NIC_OK;
}
/* Decoding on, BAR mapped; bus mastering comes when the NIC knows where it may write */
static nic_status nic_rtl__map(nic_rtl *n, const nic_rtl_desc *desc, nic_error *err) {
  unsigned char ids[2];
  struct stat st;
  int fd;
  nic_status status = nic_rtl__file(desc, "config", O_RDWR, &n->config_fd, err);
  if (status == NIC_OK && pread(n->config_fd, ids, 2, 0x2E) != 2)
    status = nic__fail(err, NIC_E_SYSTEM, "config: %s", strerror(errno));
  if (status == NIC_OK && desc->slower == 0) n->slower = ids[0] | ids[1] << 8;
  if (status == NIC_OK) status = nic_rtl__command(n, 2, 0, err);
  if (status == NIC_OK) status = nic_rtl__file(desc, "resource0", O_RDWR, &fd, err);
  if (status != NIC_OK) return status;
  void *words = MAP_FAILED;
  if (fstat(fd, &st) == 0 && st.st_size >= COSIM_BAR_BYTES)
    words = mmap(NULL, COSIM_BAR_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  const int number = errno;
  close(fd);
  if (words == MAP_FAILED)
    return nic__fail(err, NIC_E_UNSUPPORTED,
                     "%.40s: BAR 0 is below 128 KiB, or cannot be mapped: %s", desc->pci_address,
                     strerror(number));
  n->words = (volatile uint32_t *)words, n->bar_bytes = COSIM_BAR_BYTES;
  n->bus.read32 = nic_rtl__bar_read, n->bus.write32 = nic_rtl__bar_write, n->bus.user = n;
  return NIC_OK;
}
/* A huge page, and where the bus sees it */
static nic_status nic_rtl__allocate(nic_rtl *n, nic_error *err) {
  uint64_t entry = 0;
  void *at = mmap(NULL, NIC_RTL__HUGE, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_POPULATE, -1, 0);
  if (at == MAP_FAILED)
    return nic__fail(err, NIC_E_NOMEM,
                     "no huge page of 2 MiB (%s): raise /proc/sys/vm/nr_hugepages",
                     strerror(errno));
  n->memory = (unsigned char *)at, n->memory_bytes = NIC_RTL__HUGE, n->owns_memory = true;
  memset(at, 0, NIC_RTL__HUGE);
  const int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  const off_t where = (off_t)((uintptr_t)at / 4096 * sizeof entry);
  const bool read_it = fd >= 0 && pread(fd, &entry, sizeof entry, where) == (ssize_t)sizeof entry;
  if (fd >= 0) close(fd);
  const uint64_t frame = entry & (((uint64_t)1 << 55) - 1);
  if (!read_it || !(entry >> 63) || !frame)
    return nic__fail(err, NIC_E_RIGHTS, "/proc/self/pagemap does not tell addresses: root only");
  n->memory_bus_address = frame * 4096;
  return NIC_OK;
}
/* From whatever an earlier program left to: one queue, one ring, nothing in the lists */
static nic_status nic_rtl__start(nic_rtl *n, nic_error *err) {
  const uint64_t events = nic_rtl_bus_address(n, NIC_RTL__EVENTS);
  const uint64_t stamps = nic_rtl_bus_address(n, NIC_RTL__STAMPS);
  const uint32_t id = nic_rtl_read(n, COSIM_ID);
  if (id == UINT32_MAX)
    return nic__fail(err, NIC_E_GONE, "registers read all ones: device gone or decoding off");
  if (id != 0x4E424331u)
    return nic__fail(err, NIC_E_UNSUPPORTED, "Id is 0x%08x: not the NIC of rtl/", (unsigned)id);
  memset(n->memory, 0, NIC_RTL_KEPT); /* the first round's phase is 1 */
  n->is_ours = true;
  nic_rtl_write(n, COSIM_SELF, (uint32_t)n->self);
  for (uint32_t bank = 0; bank < COSIM_ENTRIES / 32; bank++) {
    nic_rtl_write(n, COSIM_ME_BANK, bank);
    const uint32_t valid = nic_rtl_read(n, COSIM_ME_VALID);
    for (uint32_t k = 0; k < 32; k++) {
      if (!(valid >> k & 1)) continue;
      nic_rtl_write(n, COSIM_ME_UNLINK, (32 * bank + k) | COSIM_ME_FORCE);
      while (nic_rtl_read(n, COSIM_ME_BUSY)) continue;
    }
  }
  nic_rtl_write(n, COSIM_EQ + COSIM_EQ_BASE_LO, (uint32_t)events);
  nic_rtl_write(n, COSIM_EQ + COSIM_EQ_BASE_HI, (uint32_t)(events >> 32));
  nic_rtl_write(n, COSIM_EQ + COSIM_EQ_SIZE, 0x80000000u | NIC_RTL_EVENTS_LOG2);
  nic_rtl_write(n, COSIM_STAMP_BASE_LO, (uint32_t)stamps);
  nic_rtl_write(n, COSIM_STAMP_BASE_HI, (uint32_t)(stamps >> 32));
  nic_rtl_write(n, COSIM_STAMP_SIZE, NIC_RTL_STAMPS_LOG2);
  nic_rtl_write(n, COSIM_STAMP_CTRL, (1u << COSIM_KIND_PUT | 1u << COSIM_KIND_REPLY) << 16 | 3u);
  nic_rtl_write(n, COSIM_PT_ENABLE, 0xFFFF);
  n->submitted[0] = nic_rtl_read(n, COSIM_CMD0_HEAD);
  n->submitted[1] = nic_rtl_read(n, COSIM_CMD1_HEAD);
  return NIC_OK;
}

NIC_API nic_status nic_rtl_open(const nic_rtl_desc *desc, nic_rtl **nic, nic_error *err) {
  nic_status status = NIC_OK;
  if (!desc || !nic || !desc->pci_address == !desc->bus || (desc->bus && !desc->memory) ||
      desc->self < 0 || desc->self > 63 || desc->slower < 0 ||
      (desc->memory && (desc->memory_bytes <= NIC_RTL_KEPT || (uintptr_t)desc->memory % 4096)))
    return nic__fail(
        err, NIC_E_INVAL,
        "nic, and pci_address or bus and memory, must be there; self 0 to 63; memory aligned, "
        "and more than %d bytes",
        NIC_RTL_KEPT);
  *nic = NULL;
  nic_rtl *n = (nic_rtl *)nic__zalloc(sizeof *n);
  if (!n) return nic__fail(err, NIC_E_NOMEM, "out of memory");
  n->config_fd = -1, n->self = desc->self, n->slower = desc->slower;
  if (desc->bus)
    n->bus = *desc->bus;
  else
    status = nic_rtl__map(n, desc, err);
  if (n->slower == 0) n->slower = 1;
  n->memory = (unsigned char *)desc->memory, n->memory_bytes = desc->memory_bytes;
  n->memory_bus_address = desc->memory_bus_address;
  if (status == NIC_OK && !n->memory) status = nic_rtl__allocate(n, err);
  if (status == NIC_OK) status = nic_rtl__start(n, err);
  if (status == NIC_OK && n->config_fd >= 0) status = nic_rtl__command(n, 4, 0, err);
  if (status == NIC_OK) nic_rtl_write(n, COSIM_CTRL, 1);
  if (status != NIC_OK) return nic_rtl_close(n), status;
  *nic = n;
  return NIC_OK;
}
NIC_API void nic_rtl_close(nic_rtl *nic) {
  if (!nic) return;
  if (nic->is_ours) { /* it is told, and then it cannot write any more */
    nic_rtl_write(nic, COSIM_CTRL, 0);
    nic_rtl_write(nic, COSIM_STAMP_CTRL, 0);
    nic_rtl_write(nic, COSIM_EQ + COSIM_EQ_SIZE, 0);
    nic_rtl_write(nic, COSIM_PT_ENABLE, 0);
    (void)nic_rtl_read(nic, COSIM_ID); /* behind all of them */
  }
  if (nic->config_fd >= 0) {
    (void)nic_rtl__command(nic, 0, 4, NULL);
    close(nic->config_fd);
  }
  if (nic->words) munmap((void *)(uintptr_t)nic->words, nic->bar_bytes);
  if (nic->owns_memory) munmap(nic->memory, NIC_RTL__HUGE);
  NIC_FREE(nic);
}

/* ---- registers, commands, records ------------------------------------------------------------------ */
NIC_API uint32_t nic_rtl_read(nic_rtl *nic, uint32_t offset) {
  return nic ? nic->bus.read32(nic->bus.user, offset) : UINT32_MAX;
}
NIC_API void nic_rtl_write(nic_rtl *nic, uint32_t offset, uint32_t value) {
  if (nic) nic->bus.write32(nic->bus.user, offset, value);
}
NIC_API int nic_rtl_slower(const nic_rtl *nic) { return nic ? nic->slower : 0; }
NIC_API unsigned char *nic_rtl_memory(nic_rtl *nic, size_t *size_bytes) {
  if (size_bytes) *size_bytes = nic ? nic->memory_bytes : 0;
  return nic ? nic->memory : NULL;
}
NIC_API uint64_t nic_rtl_bus_address(const nic_rtl *nic, size_t offset) {
  return nic ? nic->memory_bus_address + offset : 0;
}
NIC_API void nic_rtl_append(nic_rtl *nic, int index, const cosim_entry *entry) {
  uint32_t words[16];
  if (!nic || !entry) return;
  cosim_entry_pack(entry, words);
  for (uint32_t i = 0; i < 16; i++) nic_rtl_write(nic, COSIM_ME_STAGE + 4 * i, words[i]);
  nic_rtl_write(nic, COSIM_ME_APPEND, (uint32_t)index);
  while (nic_rtl_read(nic, COSIM_ME_BUSY)) continue;
}
NIC_API nic_status nic_rtl_submit(nic_rtl *nic, int klass, const cosim_command *command,
                                  nic_error *err) {
  uint32_t words[16];
  const int c = klass != 0;
  if (!nic || !command) return nic__fail(err, NIC_E_INVAL, "nic and command: must not be NULL");
  const uint32_t slot = nic->submitted[c] % COSIM_SLOTS;
  if (nic->submitted[c] - nic_rtl_read(nic, c ? COSIM_CMD1_TAIL : COSIM_CMD0_TAIL) >= COSIM_SLOTS)
    return nic__fail(err, NIC_E_FULL, "%d commands of class %d are under way", COSIM_SLOTS, c);
  cosim_command_pack(command, words);
  for (uint32_t i = 0; i < 16; i++)
    nic_rtl_write(nic, (c ? (uint32_t)COSIM_CMD1 : (uint32_t)COSIM_CMD0) + slot * 64 + 4 * i,
                  words[i]);
  nic->submitted[c]++;
  return NIC_OK;
}
/* A record's word with the phase bit on top, and whether it is of the round that record number n belongs to */
static bool nic_rtl__is_there(const unsigned char *word, uint32_t n, int log2) {
  const uint64_t now = __atomic_load_n((const uint64_t *)(const void *)word, __ATOMIC_ACQUIRE);
  return (int)(now >> 63) == !(n >> log2 & 1);
}
NIC_API bool nic_rtl_event(nic_rtl *nic, cosim_event *event) {
  if (!nic || !event) return false;
  const uint32_t number = nic->events % (1u << NIC_RTL_EVENTS_LOG2);
  const unsigned char *at = nic->memory + NIC_RTL__EVENTS + 64 * number;
  if (!nic_rtl__is_there(at + 48, nic->events, NIC_RTL_EVENTS_LOG2)) return false;
  *event = cosim_event_unpack(at);
  nic_rtl_write(nic, COSIM_EQ + COSIM_EQ_CONS, ++nic->events);
  return true;
}
NIC_API bool nic_rtl_stamp(nic_rtl *nic, cosim_stamp *stamp) {
  if (!nic || !stamp) return false;
  const uint32_t number = nic->stamps % (1u << NIC_RTL_STAMPS_LOG2);
  const unsigned char *at = nic->memory + NIC_RTL__STAMPS + 32 * number;
  if (!nic_rtl__is_there(at + 24, nic->stamps, NIC_RTL_STAMPS_LOG2)) return false;
  *stamp = cosim_stamp_unpack(at);
  nic_rtl_write(nic, COSIM_STAMP_CONS, ++nic->stamps);
  return true;
}

/* ---- as a witness of transfers ---------------------------------------------------------------------- */
#  ifdef NIC_WITH_NBC
/* Units of 2^-19 ns of the NIC; a cycle is 2.88 ns of them. Shifted, so that rates stay below 10^12 Hz. */
enum { NIC_RTL__SHIFT = 11, NIC_RTL__CYCLE = 1509950 };
static nbc_status nic_rtl__read_clock(void *ctx, int64_t *before_ns, uint64_t *ticks,
                                      int64_t *after_ns) {
  nic_rtl *n = (nic_rtl *)ctx;
  *before_ns = nbc_clock_now_ns(&n->host);
  uint64_t time = nic_rtl_read(n, COSIM_CLOCK_LO);
  *after_ns = nbc_clock_now_ns(&n->host);
  time |= (uint64_t)nic_rtl_read(n, COSIM_CLOCK_HI) << 32; /* latched */
  *ticks = time >> NIC_RTL__SHIFT;
  return NBC_OK;
}
static nbc_status nic_rtl__next_stamp(void *ctx, nbc_nic_stamp *stamp) {
  nic_rtl *n = (nic_rtl *)ctx;
  cosim_stamp s;
  while (nic_rtl_stamp(n, &s)) {
    stamp->flags = s.received ? NBC_NIC_RECEIVED : NBC_NIC_SENT;
    if (!(stamp->flags & n->directions) || s.status != COSIM_OK) continue;
    if (s.retry) stamp->flags |= NBC_NIC_RETRANSMITTED;
    stamp->xfer_id = s.user, stamp->size_bytes = s.size_bytes, stamp->peer = s.peer;
    stamp->begin_ticks = s.first_ticks >> NIC_RTL__SHIFT;
    stamp->end_ticks =
        (s.last_ticks + NIC_RTL__CYCLE) >> NIC_RTL__SHIFT; /* its flit takes a cycle */
    return NBC_OK;
  }
  return NBC_PENDING;
}
static uint64_t nic_rtl__lost(void *ctx) {
  nic_rtl *n = (nic_rtl *)ctx;
  return (uint64_t)nic_rtl_read(n, COSIM_STAMP_LOST_RING) + nic_rtl_read(n, COSIM_STAMP_LOST_IN);
}
NIC_API nbc_nic nic_rtl_source(nic_rtl *nic, const nbc_clock *host, unsigned directions) {
  nbc_nic n;
  memset(&n, 0, sizeof n);
  if (!nic || !host) return n;
  nic->host = *host, nic->directions = directions;
  n.ctx = nic, n.name = "rtl", n.counter_bits = 64 - NIC_RTL__SHIFT;
  n.nominal_hz = 524288e9 / (1 << NIC_RTL__SHIFT) / nic->slower;
  n.step_ticks = (NIC_RTL__CYCLE >> NIC_RTL__SHIFT) + 2;
  n.read_clock = nic_rtl__read_clock, n.next_stamp = nic_rtl__next_stamp;
  n.lost_count = nic_rtl__lost;
  return n;
}
#  endif

#  ifdef __cplusplus
}
#  endif
#endif /* NIC_RTL_IMPLEMENTATION_ONCE */

/* ----------------------------------------------------------------------------------------------
   LICENCE: either public domain (unlicense.org: copy, modify, publish, use, compile, sell or
   distribute, for any purpose, by any means) or MIT No Attribution (MIT-0), whichever you choose;
   full text in LICENSE. The software is provided "as is", without warranty of any kind.
   ---------------------------------------------------------------------------------------------- */
