/* Behind nic_pci.h: messages of QEMU's proxy device, configuration space, BAR, the guest's memory, time. */
#include "rtl/qemu/nic_pci.h"
#include "rtl/nic_cosim.h"
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- what travels: a head, then size bytes, in the host's byte order ---------------------------------- */
enum { SYNC_MEMORY, RETURN, CONFIG_WRITE, CONFIG_READ, BAR_WRITE, BAR_READ, SET_IRQ, RESET };
enum { REGIONS = 8, CONFIG_BYTES = 256 };
typedef struct head {
  int32_t command, unused;
  uint64_t size;
} head;
typedef struct config_access {
  uint32_t addr, value;
  int32_t bytes;
} config_access;
typedef struct bar_access {
  uint64_t addr, value; /* addr: where the BAR is, and the offset in it */
  uint32_t bytes;
  uint8_t memory, unused[3];
} bar_access;
typedef struct memory_map {
  uint64_t guest[REGIONS], bytes[REGIONS];
  int64_t offset[REGIONS];
} memory_map;
typedef union body {
  config_access config;
  bar_access bar;
  memory_map memory;
} body;

typedef struct region {
  uint64_t guest, bytes;
  unsigned char *at, *mapped;
  size_t mapped_bytes;
} region;
typedef struct device {
  int fd, irq_fd, again_fd; /* -1: none */
  bool irq;
  unsigned char config[CONFIG_BYTES];
  region regions[REGIONS];
  int region_count;
  nic_pci_counts counts;
} device;
struct nic_pci {
  nic_pci_desc desc;
  cosim *sim;
  int64_t start_ns;
  device devices[NIC_PCI_MAX];
  char error[160];
};

/* Words of configuration space, by offset */
enum {
  VENDOR = 0x00,
  COMMAND = 0x04,
  STATUS = 0x06,
  CLASS = 0x0A,
  BAR0 = 0x10,
  SUBSYSTEM = 0x2C,
  LINE = 0x3C,
  PIN = 0x3D
};
enum { DECODES = 2, MASTERS = 4, NO_IRQ = 0x400, HAS_IRQ = 8 };

static uint32_t little(const unsigned char *p, int bytes) {
  uint32_t value = 0;
  for (int i = 0; i < bytes; i++) value |= (uint32_t)p[i] << 8 * i;
  return value;
}
static void put_little(unsigned char *p, uint32_t value, int bytes) {
  for (int i = 0; i < bytes; i++) p[i] = (unsigned char)(value >> 8 * i);
}

/* ---- time ---------------------------------------------------------------------------------------------- */
static int64_t monotonic(void *user) {
  struct timespec t;
  (void)user;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
static void sleep_until(void *user, int64_t t_ns) {
  const struct timespec t = {(time_t)(t_ns / 1000000000), (long)(t_ns % 1000000000)};
  if (t_ns - monotonic(user) < 100000) /* sleeping would take longer */
    while (monotonic(user) < t_ns) continue;
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR) continue;
}
static const int64_t period_ps = 2880;
/* The guest's time at the NICs' cycle: whole ns, rounded up. Cycles stay below 2^43. */
static int64_t guest_ns(const nic_pci *p, int64_t cycle) {
  const int64_t ps = period_ps * p->desc.slower; /* of the guest, per cycle */
  return p->start_ns + cycle / 1000 * ps + (cycle % 1000 * ps + 999) / 1000;
}
static int64_t cycle_at(const nic_pci *p, int64_t t_ns) {
  const int64_t ps = period_ps * p->desc.slower, ns = t_ns - p->start_ns;
  return ns / ps * 1000 + ns % ps * 1000 / ps;
}
enum { SKIP = 40, SKIP_COST = 20 }; /* cycles: skipping takes 14 itself */
/* Simulates up to the guest's present. */
static void catch_up(nic_pci *p) {
  const int64_t now = cycle_at(p, p->desc.now_ns(p->desc.user));
  for (;;) {
    const int64_t left = now - cosim_cycle(p->sim);
    if (left <= 0) return;
    if (left > SKIP && cosim_skip(p->sim, left - SKIP_COST < 1 << 30 ? left - SKIP_COST : 1 << 30))
      continue;
    cosim_cycles(p->sim, left < 32 ? left : 32);
  }
}
/* The guest's clock comes to where the NICs are */
static void hold(nic_pci *p) {
  const int64_t t_ns = guest_ns(p, cosim_cycle(p->sim));
  if (p->desc.now_ns(p->desc.user) < t_ns) p->desc.wait_ns(p->desc.user, t_ns);
}

/* ---- the guest's memory --------------------------------------------------------------------------------- */
static unsigned char *find(device *d, uint64_t addr, size_t bytes) {
  for (int i = 0; i < d->region_count; i++) {
    const region *r = &d->regions[i];
    if (addr >= r->guest && bytes <= r->bytes && addr - r->guest <= r->bytes - bytes)
      return r->at + (addr - r->guest);
  }
  d->counts.refused++;
  return NULL;
}
static bool masters(device *d) {
  if (d->config[COMMAND] & MASTERS) return true;
  d->counts.refused++;
  return false;
}
static int dma_read(void *ctx, int nic, uint64_t addr, void *buffer, size_t bytes) {
  device *d = &((nic_pci *)ctx)->devices[nic];
  const unsigned char *from = masters(d) ? find(d, addr, bytes) : NULL;
  if (!from) return -1;
  memcpy(buffer, from, bytes), d->counts.bytes_read += bytes;
  return 0;
}
/* 16 bytes at once where they are aligned, in rising order: a record's last 16 bytes hold its phase bit, so a guest that
   sees the bit sees the record. */
typedef long long pair __attribute__((vector_size(16), may_alias));
static int dma_write(void *ctx, int nic, uint64_t addr, const void *buffer, size_t bytes) {
  device *d = &((nic_pci *)ctx)->devices[nic];
  const unsigned char *from = (const unsigned char *)buffer;
  unsigned char *to = masters(d) ? find(d, addr, bytes) : NULL;
  if (!to) return -1;
  d->counts.bytes_written += bytes;
  while (bytes > 0) {
    pair v;
    size_t part = 16 - (size_t)(uintptr_t)to % 16;
    if (part > bytes) part = bytes;
    __atomic_thread_fence(__ATOMIC_RELEASE);
    if (part == 16)
      memcpy(&v, from, 16), *(volatile pair *)(void *)to = v;
    else
      memcpy(to, from, part);
    to += part, from += part, bytes -= part;
  }
  return 0;
}
static void forget_memory(device *d) {
  for (int i = 0; i < d->region_count; i++)
    munmap(d->regions[i].mapped, d->regions[i].mapped_bytes);
  d->region_count = 0;
}
/* A part of a file. The file must hold it now, and QEMU keeps its memory's files as long as they are. */
static bool map_region(region *r, uint64_t guest, uint64_t bytes, int64_t offset, int fd) {
  struct stat st;
  const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  if (bytes == 0 || guest + bytes < guest || offset < 0 || fstat(fd, &st) != 0 ||
      (uint64_t)offset > (uint64_t)st.st_size || bytes > (uint64_t)st.st_size - (uint64_t)offset)
    return false;
  const uint64_t before = (uint64_t)offset % page;
  r->guest = guest, r->bytes = bytes, r->mapped_bytes = (size_t)(bytes + before);
  void *at = mmap(NULL, r->mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                  (off_t)((uint64_t)offset - before));
  if (at == MAP_FAILED) return false;
  r->mapped = (unsigned char *)at, r->at = r->mapped + before;
  return true;
}

/* ---- the interrupt pin ---------------------------------------------------------------------------------- */
static void tell_irq(device *d) {
  const uint64_t one = 1;
  if (!d->irq || little(d->config + COMMAND, 2) & NO_IRQ || d->irq_fd < 0) return;
  if (write(d->irq_fd, &one, sizeof one) != sizeof one) d->counts.refused++;
}
static void on_irq(void *ctx, int nic, int level) {
  device *d = &((nic_pci *)ctx)->devices[nic];
  d->irq = level != 0;
  d->config[STATUS] =
      (unsigned char)(level ? d->config[STATUS] | HAS_IRQ : d->config[STATUS] & ~HAS_IRQ);
  tell_irq(d);
}

/* ---- messages --------------------------------------------------------------------------------------------- */
static void close_device(device *d) {
  if (d->fd >= 0) close(d->fd);
  if (d->irq_fd >= 0) close(d->irq_fd);
  if (d->again_fd >= 0) close(d->again_fd);
  d->fd = d->irq_fd = d->again_fd = -1;
  forget_memory(d);
}
static int fail(nic_pci *p, int nic, const char *what) {
  snprintf(p->error, sizeof p->error, "NIC %d: %s", nic, what);
  close_device(&p->devices[nic]);
  return -1;
}
static bool answer(device *d, uint64_t value) {
  struct {
    head h;
    uint64_t value;
  } m = {{RETURN, 0, sizeof value}, value};
  const char *from = (const char *)&m;
  for (size_t left = sizeof m; left > 0;) {
    const ssize_t n = send(d->fd, from, left, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    from += n, left -= (size_t)n;
  }
  return true;
}
/* Exactly so many bytes. 1; 0: the peer left before the first; -1: in the midst of them, or too many descriptors */
static int receive(int fd, void *to, size_t bytes, int *fds, int *fd_count) {
  size_t got = 0;
  while (got < bytes) {
    union {
      char room[CMSG_SPACE(REGIONS * sizeof(int))];
      struct cmsghdr align;
    } control;
    struct iovec part = {(char *)to + got, bytes - got};
    struct msghdr m = {0};
    m.msg_iov = &part, m.msg_iovlen = 1;
    m.msg_control = control.room, m.msg_controllen = sizeof control.room;
    const ssize_t n = recvmsg(fd, &m, MSG_CMSG_CLOEXEC);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return got ? -1 : 0;
    got += (size_t)n;
    bool many = (m.msg_flags & MSG_CTRUNC) != 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
      if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
      const size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (size_t i = 0; i < count; i++) {
        int one;
        memcpy(&one, CMSG_DATA(c) + i * sizeof one, sizeof one);
        if (*fd_count < REGIONS)
          fds[(*fd_count)++] = one;
        else
          close(one), many = true;
      }
    }
    if (many) return -1;
  }
  return 1;
}

static uint32_t config_read(const device *d, const config_access *c) {
  return little(d->config + c->addr, c->bytes);
}
/* What the guest may change: command, line, BAR 0 */
static void config_write(device *d, const config_access *c) {
  static const struct {
    unsigned char at, bits[4];
  } open_to_guest[] = {{COMMAND, {DECODES | MASTERS, NO_IRQ >> 8, 0, 0}},
                       {BAR0, {0, 0, 0xFE, 0xFF}},
                       {LINE, {0xFF, 0, 0, 0}}};
  for (int i = 0; i < c->bytes; i++)
    for (size_t k = 0; k < sizeof open_to_guest / sizeof *open_to_guest; k++) {
      const uint32_t at = c->addr + (uint32_t)i;
      if (at < open_to_guest[k].at || at >= open_to_guest[k].at + 4u) continue;
      const unsigned char bits = open_to_guest[k].bits[at - open_to_guest[k].at];
      d->config[at] = (unsigned char)((d->config[at] & ~bits) | (c->value >> 8 * i & bits));
    }
  tell_irq(d);
}
static void reset_config(nic_pci *p, device *d) {
  memset(d->config, 0, sizeof d->config);
  put_little(d->config + VENDOR, NIC_PCI_VENDOR | (uint32_t)NIC_PCI_DEVICE << 16, 4);
  put_little(d->config + CLASS, NIC_PCI_CLASS, 2);
  put_little(d->config + SUBSYSTEM, NIC_PCI_VENDOR | (uint32_t)p->desc.slower << 16, 4);
  d->config[PIN] = 1;
  if (d->irq) d->config[STATUS] |= HAS_IRQ;
}

/* Registers have 32 bits; the bus may ask for 1, 2, 4 or 8 bytes, aligned. What is wrong reads as all ones. */
static uint64_t bar_get(nic_pci *p, int nic, const bar_access *b) {
  const uint32_t offset = (uint32_t)(b->addr & (COSIM_BAR_BYTES - 1)), in_word = offset & 3;
  uint64_t value = 0;
  int error = 0;
  for (uint32_t k = 0; k < (b->bytes + 3) / 4; k++) {
    value |= (uint64_t)cosim_read_at(p->sim, nic, (offset & ~3u) + 4 * k, NULL, &error) << 32 * k;
    if (error) return UINT64_MAX;
  }
  value >>= 8 * in_word;
  return b->bytes < 8 ? value & (((uint64_t)1 << 8 * b->bytes) - 1) : value;
}
static void bar_set(nic_pci *p, int nic, const bar_access *b) {
  const uint32_t offset = (uint32_t)(b->addr & (COSIM_BAR_BYTES - 1)), in_word = offset & 3;
  if (b->bytes >= 4)
    for (uint32_t k = 0; k < b->bytes / 4; k++)
      cosim_write(p->sim, nic, offset + 4 * k, (uint32_t)(b->value >> 32 * k));
  else /* the NIC refuses it: registers are written whole */
    cosim_write_partial(p->sim, nic, offset & ~3u, (uint32_t)(b->value << 8 * in_word),
                        (int)(((1u << b->bytes) - 1) << in_word));
}
static bool in_bar(device *d, const bar_access *b) {
  const uint32_t base = little(d->config + BAR0, 4) & ~15u;
  if ((b->bytes == 1 || b->bytes == 2 || b->bytes == 4 || b->bytes == 8) && b->memory &&
      b->addr % b->bytes == 0 && d->config[COMMAND] & DECODES && b->addr >= base &&
      b->addr - base < COSIM_BAR_BYTES)
    return true;
  d->counts.refused++;
  return false;
}
static int access_bar(nic_pci *p, int nic, bool write, bar_access *b) {
  device *d = &p->devices[nic];
  uint64_t value = UINT64_MAX;
  if (write)
    d->counts.bar_writes++;
  else
    d->counts.bar_reads++;
  catch_up(p);
  if (in_bar(d, b)) {
    b->addr -= little(d->config + BAR0, 4) & ~15u;
    if (write)
      bar_set(p, nic, b), value = 0;
    else
      value = bar_get(p, nic, b);
  }
  hold(p);
  return answer(d, value) ? 1 : 0;
}
static int access_config(nic_pci *p, int nic, bool write, const config_access *c) {
  device *d = &p->devices[nic];
  if ((c->bytes != 1 && c->bytes != 2 && c->bytes != 4) ||
      c->addr > CONFIG_BYTES - (uint32_t)c->bytes) {
    d->counts.refused++;
    return answer(d, UINT64_MAX) ? 1 : 0;
  }
  catch_up(p); /* what the NIC does until now is done with the old configuration */
  if (write)
    d->counts.config_writes++, config_write(d, c);
  else
    d->counts.config_reads++;
  return answer(d, write ? 0 : config_read(d, c)) ? 1 : 0;
}
static int set_memory(nic_pci *p, int nic, const memory_map *m, const int *fds, int count) {
  device *d = &p->devices[nic];
  catch_up(p);
  forget_memory(d);
  d->counts.memory_maps++;
  for (int i = 0; i < count; i++) {
    region *r = &d->regions[d->region_count];
    if (!map_region(r, m->guest[i], m->bytes[i], m->offset[i], fds[i]))
      return fail(p, nic,
                  "a region of the guest's memory lies outside of its file, or cannot be mapped");
    d->region_count++;
  }
  return 1;
}
/* Waits in the stream are the peer's fault: it sends a message whole. */
static int handle(nic_pci *p, int nic, const head *h, body *b, int *fds, int fd_count) {
  device *d = &p->devices[nic];
  switch (h->command) {
  case SYNC_MEMORY: return set_memory(p, nic, &b->memory, fds, fd_count);
  case CONFIG_WRITE:
  case CONFIG_READ: return access_config(p, nic, h->command == CONFIG_WRITE, &b->config);
  case BAR_WRITE:
  case BAR_READ: return access_bar(p, nic, h->command == BAR_WRITE, &b->bar);
  case SET_IRQ:
    if (d->irq_fd >= 0) close(d->irq_fd), close(d->again_fd);
    d->irq_fd = fds[0], d->again_fd = fds[1];
    fds[0] = fds[1] = -1;
    tell_irq(d);
    return 1;
  default: /* RESET. The NIC itself has no way to be reset but power: the driver brings it back. */
    d->counts.resets++;
    catch_up(p);
    reset_config(p, d);
    return answer(d, 0) ? 1 : 0;
  }
}
/* One message. 1; 0: the peer has left; -1: it speaks another language */
static int one_message(nic_pci *p, int nic) {
  static const struct {
    uint64_t size;
    int least_fds, most_fds;
  } known[] = {[SYNC_MEMORY] = {sizeof(memory_map), 1, REGIONS},
               [CONFIG_WRITE] = {sizeof(config_access), 0, 0},
               [CONFIG_READ] = {sizeof(config_access), 0, 0},
               [BAR_WRITE] = {sizeof(bar_access), 0, 0},
               [BAR_READ] = {sizeof(bar_access), 0, 0},
               [SET_IRQ] = {0, 2, 2},
               [RESET] = {0, 0, 0}};
  int fds[REGIONS], fd_count = 0;
  head h;
  body b;
  const char *wrong = NULL;
  memset(&b, 0, sizeof b);
  int ret = receive(p->devices[nic].fd, &h, sizeof h, fds, &fd_count);
  if (ret < 0)
    wrong = "its peer left in the midst of a message, or sent too many descriptors";
  else if (ret > 0 && (h.command < SYNC_MEMORY || h.command > RESET || h.command == RETURN))
    wrong = "a command that the protocol does not know";
  else if (ret > 0 && h.size != known[h.command].size)
    wrong = "a message of another size than its command has";
  else if (ret > 0 && h.size && receive(p->devices[nic].fd, &b, (size_t)h.size, fds, &fd_count) < 1)
    wrong = "its peer left in the midst of a message, or sent too many descriptors";
  else if (ret > 0 &&
           (fd_count < known[h.command].least_fds || fd_count > known[h.command].most_fds))
    wrong = "a message with another number of descriptors than its command has";
  if (wrong)
    ret = fail(p, nic, wrong);
  else if (ret > 0)
    ret = handle(p, nic, &h, &b, fds, fd_count);
  for (int i = 0; i < fd_count; i++)
    if (fds[i] >= 0) close(fds[i]);
  if (ret == 0) close_device(&p->devices[nic]);
  return ret;
}

/* ---- API ---------------------------------------------------------------------------------------------------- */
nic_pci_desc nic_pci_default(void) {
  nic_pci_desc d;
  memset(&d, 0, sizeof d);
  d.nic_count = 1, d.slower = NIC_PCI_SLOWER;
  for (int i = 0; i < NIC_PCI_MAX; i++) d.sockets[i] = -1;
  return d;
}
nic_pci *nic_pci_create(const nic_pci_desc *desc) {
  if (!desc || desc->nic_count < 1 || desc->nic_count > NIC_PCI_MAX || desc->slower < 1 ||
      desc->slower > 65535 || !desc->now_ns != !desc->wait_ns)
    return NULL;
  for (int i = 0; i < desc->nic_count; i++)
    if (desc->sockets[i] < 0) return NULL;
  nic_pci *p = (nic_pci *)calloc(1, sizeof *p);
  if (!p) return NULL;
  p->desc = *desc;
  if (!desc->now_ns) p->desc.now_ns = monotonic, p->desc.wait_ns = sleep_until;
  cosim_desc how = cosim_default();
  how.nic_count = desc->nic_count, how.period_ps = period_ps;
  how.mmio_ps = 0; /* the way between QEMU and here takes time enough */
  how.host = (cosim_host){p, dma_read, dma_write, on_irq};
  for (int i = 0; i < NIC_PCI_MAX; i++) {
    device *d = &p->devices[i];
    d->fd = i < desc->nic_count ? desc->sockets[i] : -1, d->irq_fd = d->again_fd = -1;
    reset_config(p, d);
  }
  p->sim = cosim_create(&how);
  if (!p->sim) return free(p), NULL;
  p->start_ns = p->desc.now_ns(p->desc.user);
  return p;
}
void nic_pci_destroy(nic_pci *pci) {
  if (!pci) return;
  for (int i = 0; i < NIC_PCI_MAX; i++) close_device(&pci->devices[i]);
  cosim_destroy(pci->sim);
  free(pci);
}
int nic_pci_serve(nic_pci *pci, int timeout_ms) {
  struct pollfd wait[2 * NIC_PCI_MAX];
  int open = 0, ret = 0;
  for (int i = 0; i < NIC_PCI_MAX; i++) {
    const device *d = &pci->devices[i];
    wait[2 * i] = (struct pollfd){d->fd, POLLIN, 0};
    wait[2 * i + 1] = (struct pollfd){d->again_fd, POLLIN, 0};
    open += d->fd >= 0;
  }
  if (!open) return 0;
  if (!cosim_idle(pci->sim) && (timeout_ms < 0 || timeout_ms > 1))
    timeout_ms = 1; /* it goes on meanwhile */
  const int ready = poll(wait, 2 * NIC_PCI_MAX, timeout_ms);
  for (int i = 0; ready > 0 && i < NIC_PCI_MAX; i++) {
    device *d = &pci->devices[i];
    uint64_t count;
    if (wait[2 * i + 1].revents && d->again_fd >= 0 && /* the guest is done with the interrupt */
        read(d->again_fd, &count, sizeof count) == (ssize_t)sizeof count)
      tell_irq(d);
    if (wait[2 * i].revents && d->fd >= 0 && one_message(pci, i) < 0) ret = -1;
  }
  if (ready <= 0) catch_up(pci);
  for (int i = open = 0; i < NIC_PCI_MAX; i++) open += pci->devices[i].fd >= 0;
  return ret < 0 ? -1 : open;
}
const char *nic_pci_error(const nic_pci *pci) { return pci->error; }
nic_pci_counts nic_pci_counts_of(const nic_pci *pci, int nic) {
  const nic_pci_counts none = {0, 0, 0, 0, 0, 0, 0, 0, 0};
  return nic >= 0 && nic < pci->desc.nic_count ? pci->devices[nic].counts : none;
}
