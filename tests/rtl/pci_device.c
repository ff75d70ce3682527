/* The NIC as a PCI device at the far end of QEMU's proxy, without QEMU: this program speaks the protocol over
   socket pairs, with a clock of its own and a memory file as the guest's memory. The driver of hw/ runs on it. */
#define NIC_PINGPONG_NO_MAIN
#include "hw/nic_pingpong.c"
#include "rtl/qemu/nic_pci.h"
#include "tests/test.h"
#include <dirent.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

enum { SYNC_MEMORY, RETURN, CONFIG_WRITE, CONFIG_READ, BAR_WRITE, BAR_READ, SET_IRQ, RESET };
static const uint32_t BASE = 0x80000000u;
enum { GUEST = 4 << 20, HALF = GUEST / 2, HIGH = 0x10000000 };

/* The guest: its clock goes on by a little whenever it is read */
static struct guest {
  int64_t now_ns;
  uint64_t step_ns;
  nic_pci *pci;
  int end[NIC_PCI_MAX], memory_fd;
  unsigned char *memory;
} g;
static int64_t guest_now(void *user) {
  (void)user;
  return g.now_ns += (int64_t)g.step_ns;
}
static void guest_wait(void *user, int64_t t_ns) {
  (void)user;
  if (g.now_ns < t_ns) g.now_ns = t_ns;
}

/* ---- the protocol's other side ------------------------------------------------------------------- */
static void say(int nic, int command, const void *body, size_t bytes, uint64_t told_bytes, const int *fds,
                size_t fd_count) {
  union {
    char room[CMSG_SPACE(16 * sizeof(int))];
    struct cmsghdr align;
  } control;
  struct {
    int32_t command, unused;
    uint64_t size;
  } head = {command, 0, told_bytes};
  struct iovec parts[2] = {{&head, sizeof head}, {(void *)(uintptr_t)body, bytes}};
  struct msghdr m;
  memset(&m, 0, sizeof m), memset(&control, 0, sizeof control);
  m.msg_iov = parts, m.msg_iovlen = 2;
  if (fd_count) {
    m.msg_control = control.room, m.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET, c->cmsg_type = SCM_RIGHTS, c->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
    memcpy(CMSG_DATA(c), fds, fd_count * sizeof(int));
  }
  CHECK(sendmsg(g.end[nic], &m, MSG_NOSIGNAL) == (ssize_t)(sizeof head + bytes));
}
/* What it answers; 0xDEAD: nothing */
static uint64_t answer_of(int nic) {
  struct {
    int32_t command, unused;
    uint64_t size, value;
  } m;
  nic_pci_serve(g.pci, 0);
  if (recv(g.end[nic], &m, sizeof m, MSG_DONTWAIT) != (ssize_t)sizeof m) return 0xDEAD;
  CHECK(m.command == RETURN && m.size == 8);
  return m.value;
}
static uint64_t config(int nic, int command, uint32_t addr, uint32_t value, int32_t bytes) {
  const struct {
    uint32_t addr, value;
    int32_t bytes;
  } body = {addr, value, bytes};
  say(nic, command, &body, sizeof body, sizeof body, NULL, 0);
  return answer_of(nic);
}
static uint64_t bar(int nic, int command, uint64_t addr, uint64_t value, uint32_t bytes, int is_memory) {
  const struct {
    uint64_t addr, value;
    uint32_t bytes;
    unsigned char is_memory, unused[3];
  } body = {addr, value, bytes, (unsigned char)is_memory, {0, 0, 0}};
  say(nic, command, &body, sizeof body, sizeof body, NULL, 0);
  return answer_of(nic);
}
static uint32_t get(int nic, uint32_t offset) {
  return (uint32_t)bar(nic, BAR_READ, (uint64_t)BASE + 0x100000u * (uint32_t)nic + offset, 0, 4, 1);
}
static void set(int nic, uint32_t offset, uint32_t value) {
  CHECK(bar(nic, BAR_WRITE, (uint64_t)BASE + 0x100000u * (uint32_t)nic + offset, value, 4, 1) == 0);
}
typedef struct memory_map {
  uint64_t guest[8], bytes[8];
  int64_t offset[8];
} memory_map;
/* The guest's memory as two regions, the upper half of the file at 0 */
static memory_map two_regions(void) {
  memory_map m;
  memset(&m, 0, sizeof m);
  m.bytes[0] = m.bytes[1] = HALF, m.offset[0] = HALF;
  m.guest[1] = HIGH;
  return m;
}
static void share_memory(int nic) {
  const memory_map m = two_regions();
  const int fds[2] = {g.memory_fd, g.memory_fd};
  say(nic, SYNC_MEMORY, &m, sizeof m, sizeof m, fds, 2);
  CHECK(answer_of(nic) == 0xDEAD);
}
static void begin(int nics, int slower) {
  nic_pci_desc desc = nic_pci_default();
  g.now_ns = (int64_t)test_below(1u << 30), g.step_ns = 1 + test_below(4000);
  desc.nic_count = nics, desc.slower = slower;
  desc.now_ns = guest_now, desc.wait_ns = guest_wait;
  for (int i = 0; i < nics; i++) {
    int pair[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    desc.sockets[i] = pair[0], g.end[i] = pair[1];
  }
  g.memory_fd = memfd_create("guest", MFD_CLOEXEC);
  CHECK(g.memory_fd >= 0 && ftruncate(g.memory_fd, GUEST) == 0);
  g.memory = (unsigned char *)mmap(NULL, GUEST, PROT_READ | PROT_WRITE, MAP_SHARED, g.memory_fd, 0);
  g.pci = nic_pci_create(&desc);
  CHECK(g.memory != MAP_FAILED && g.pci != NULL);
}
/* As firmware and kernel would */
static void switch_on(int nics) {
  for (int i = 0; i < nics; i++) {
    config(i, CONFIG_WRITE, 0x10, BASE + 0x100000u * (uint32_t)i, 4);
    config(i, CONFIG_WRITE, 4, 6, 2);
    share_memory(i);
  }
}
static void end(int nics) {
  for (int i = 0; i < nics; i++) close(g.end[i]);
  for (int i = 0; i <= nics; i++) nic_pci_serve(g.pci, 0);
  CHECK(nic_pci_serve(g.pci, -1) == 0); /* all have left: it does not wait */
  nic_pci_destroy(g.pci);
  munmap(g.memory, GUEST);
  close(g.memory_fd);
}
static int open_files(void) {
  int count = 0;
  DIR *all = opendir("/proc/self/fd");
  while (all && readdir(all)) count++;
  if (all) closedir(all);
  return count;
}

/* ---- tests --------------------------------------------------------------------------------------------- */
static void configuration_space_is_that_of_a_pci_device(void) {
  const int slower = 1 + (int)test_below(60000);
  unsigned char before[256];
  begin(1, slower);
  CHECK(config(0, CONFIG_READ, 0, 0, 4) == 0x4e421234u && config(0, CONFIG_READ, 2, 0, 2) == 0x4e42);
  CHECK(config(0, CONFIG_READ, 0x0A, 0, 2) == 0x0208 && config(0, CONFIG_READ, 0x0E, 0, 1) == 0);
  CHECK(config(0, CONFIG_READ, 0x2E, 0, 2) == (uint64_t)slower && config(0, CONFIG_READ, 0x3D, 0, 1) == 1);
  CHECK(config(0, CONFIG_WRITE, 0x10, UINT32_MAX, 4) == 0);
  CHECK(config(0, CONFIG_READ, 0x10, 0, 4) == 0xFFFE0000u); /* 128 KiB, 32 bits, memory */
  for (uint32_t at = 0x14; at < 0x2C; at += 4) {
    config(0, CONFIG_WRITE, at, UINT32_MAX, 4);
    CHECK(config(0, CONFIG_READ, at, 0, 4) == 0);
  }
  config(0, CONFIG_WRITE, 0x10, 0x12340000, 4);
  CHECK(config(0, CONFIG_READ, 0x12, 0, 2) == 0x1234);
  config(0, CONFIG_WRITE, 0x13, 0x56, 1); /* byte by byte */
  CHECK(config(0, CONFIG_READ, 0x10, 0, 4) == 0x56340000u);
  for (uint32_t at = 0; at < 256; at++) before[at] = (unsigned char)config(0, CONFIG_READ, at, 0, 1);
  for (int i = 0; i < 2000; i++) {
    const int32_t bytes = 1 << test_below(3);
    config(0, CONFIG_WRITE, (uint32_t)test_below(256 - 3), (uint32_t)test_rand(), bytes);
  }
  for (uint32_t at = 0; at < 256; at++)
    if ((at < 0x10 || at > 0x13) && at != 4 && at != 5 && at != 0x3C)
      CHECK(config(0, CONFIG_READ, at, 0, 1) == before[at]);
  CHECK((config(0, CONFIG_READ, 4, 0, 2) & ~(uint64_t)0x406) == 0);
  CHECK(config(0, CONFIG_READ, 256, 0, 1) == UINT64_MAX && config(0, CONFIG_READ, 254, 0, 4) == UINT64_MAX);
  CHECK(config(0, CONFIG_READ, 0, 0, 3) == UINT64_MAX && config(0, CONFIG_WRITE, 4, 6, -4) == UINT64_MAX);
  CHECK(config(0, CONFIG_READ, 0xFFFFFFFCu, 0, 4) == UINT64_MAX);
  say(0, RESET, NULL, 0, 0, NULL, 0);
  CHECK(answer_of(0) == 0 && config(0, CONFIG_READ, 0x10, 0, 4) == 0 && config(0, CONFIG_READ, 4, 0, 2) == 0);
  CHECK(config(0, CONFIG_READ, 0, 0, 4) == 0x4e421234u);
  end(1);
}

static void registers_are_where_the_bar_is(void) {
  begin(2, 1 + (int)test_below(3000));
  CHECK(bar(0, BAR_READ, BASE, 0, 4, 1) == UINT64_MAX); /* not decoded yet */
  switch_on(2);
  CHECK(get(0, COSIM_ID) == 0x4E424331u && get(1, COSIM_ID) == 0x4E424331u);
  CHECK(get(0, COSIM_SELF) == 0 && get(1, COSIM_SELF) == 1);
  set(0, COSIM_TIMEOUT, 0x12345678);
  CHECK(get(0, COSIM_TIMEOUT) == 0x12345678 && get(1, COSIM_TIMEOUT) == 4000000);
  CHECK(bar(0, BAR_READ, (uint64_t)BASE + COSIM_TIMEOUT + 1, 0, 1, 1) == 0x56);
  CHECK(bar(0, BAR_READ, (uint64_t)BASE + COSIM_TIMEOUT + 2, 0, 2, 1) == 0x1234);
  CHECK(bar(0, BAR_READ, (uint64_t)BASE + COSIM_TIMEOUT, 0, 8, 1) == 0x512345678u); /* and Retries */
  CHECK(bar(0, BAR_WRITE, (uint64_t)BASE + COSIM_TIMEOUT, 0x700000100u, 8, 1) == 0);
  CHECK(get(0, COSIM_TIMEOUT) == 0x100 && get(0, COSIM_RETRIES) == 7);
  bar(0, BAR_WRITE, (uint64_t)BASE + COSIM_TIMEOUT, 0xFF, 1, 1); /* not whole: the NIC refuses it */
  CHECK(get(0, COSIM_TIMEOUT) == 0x100);
  const uint64_t refused = nic_pci_counts_of(g.pci, 0).refused;
  CHECK(bar(0, BAR_READ, (uint64_t)BASE + COSIM_BAR_BYTES, 0, 4, 1) == UINT64_MAX);
  CHECK(bar(0, BAR_READ, (uint64_t)BASE - 4, 0, 4, 1) == UINT64_MAX);
  CHECK(bar(0, BAR_READ, (uint64_t)BASE + 2, 0, 4, 1) == UINT64_MAX);
  CHECK(bar(0, BAR_READ, BASE, 0, 4, 0) == UINT64_MAX); /* ports, not memory */
  CHECK(bar(0, BAR_READ, BASE, 0, 3, 1) == UINT64_MAX && bar(0, BAR_READ, BASE, 0, 0, 1) == UINT64_MAX);
  bar(0, BAR_WRITE, (uint64_t)BASE + COSIM_BAR_BYTES + COSIM_TIMEOUT, 1, 4, 1);
  CHECK(get(0, COSIM_TIMEOUT) == 0x100);
  CHECK(nic_pci_counts_of(g.pci, 0).refused == refused + 7);
  config(0, CONFIG_WRITE, 4, 4, 2); /* decoding off again */
  CHECK(get(0, COSIM_ID) == UINT32_MAX && get(1, COSIM_ID) == 0x4E424331u);
  end(2);
}

/* slower ns of the guest are one of the NIC, whether something is at work, time is skipped, or neither */
static void the_clock_is_the_guests_divided(void) {
  const int slower = 1 + (int)test_below(3000);
  begin(2, slower);
  const int64_t start_ns = g.now_ns;
  switch_on(2);
  for (int i = 0; i < test_rounds(60); i++) {
    const int nic = (int)test_below(2);
    g.now_ns += (int64_t)test_below((uint64_t)1 << test_below(42));
    if (test_below(8) == 0) { /* a put to nobody: it is sent again and again */
      set(nic, COSIM_TIMEOUT, 300), set(nic, COSIM_CTRL, 1);
      set(nic, COSIM_CMD0 + 64 * (get(nic, COSIM_CMD0_HEAD) % 32), 7 << 16);
      set(nic, COSIM_CMD0 + 64 * (get(nic, COSIM_CMD0_HEAD) % 32) + 60, 1u << 31);
    }
    const int64_t before_ns = g.now_ns;
    uint64_t time = get(nic, COSIM_CLOCK_LO);
    const int64_t after_ns = g.now_ns;
    time |= (uint64_t)get(nic, COSIM_CLOCK_HI) << 32;
    const double shown_ns = (double)time / 524288 * slower, cycle_ns = 2.88 * slower;
    CHECK(shown_ns >= (double)(before_ns - start_ns) * (1 - 1e-12) - 4 * cycle_ns - 1e4);
    CHECK(shown_ns <= (double)(after_ns - start_ns) * (1 + 1e-12) + 4 * cycle_ns);
  }
  end(2);
}

/* The driver's bus: messages */
static uint32_t bus_read(void *user, uint32_t offset) { return get((int)(intptr_t)user, offset); }
static void bus_write(void *user, uint32_t offset, uint32_t value) { set((int)(intptr_t)user, offset, value); }
static void nics_work(void) {
  g.now_ns += 20000;
  nic_pci_serve(g.pci, 0);
}
static const nbc_clock_desc guest_clock = {NBC_CLOCK_USER, 0, guest_now, NULL, false};
/* NIC 0 in the low region, NIC 1 in the high one */
static nic_status open_driver(nic_rtl **nic, int index, nic_error *error) {
  const nic_rtl_bus bus = {bus_read, bus_write, (void *)(intptr_t)index};
  nic_rtl_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.bus = &bus, desc.self = index, desc.slower = 1000;
  desc.memory = g.memory + (index ? 0 : HALF), desc.memory_bytes = HALF;
  desc.memory_bus_address = index ? HIGH : 0;
  return nic_rtl_open(&desc, nic, error);
}
static void the_driver_plays_ping_pong(void) {
  static pingpong p;
  for (int again = 0; again < 2; again++) { /* and finds its way in what the first one left */
    memset(&p, 0, sizeof p);
    if (!again) begin(2, 1000), switch_on(2);
    p.bytes = 1 + (uint32_t)test_below(again ? 300 : 20000);
    p.rest = nics_work, p.clock_desc = &guest_clock;
    CHECK(open_driver(&p.nic[0], 0, &p.error) == NIC_OK && open_driver(&p.nic[1], 1, &p.error) == NIC_OK);
    const nic_status status = run(&p, again ? 70 : 3); /* 70: the queue goes round */
    CHECK_STR(status == NIC_OK ? "" : p.error.text, "");
    nic_rtl_close(p.nic[0]), nic_rtl_close(p.nic[1]);
  }
  CHECK(nic_pci_counts_of(g.pci, 0).bytes_read >= 3 && nic_pci_counts_of(g.pci, 0).refused == 0);
  end(2);
}

/* A put whose payload the NIC may not read fails, and nothing is written anywhere */
static void memory_is_what_the_guest_has_given(void) {
  for (int what = 0; what < 3; what++) {
    nic_error error;
    nic_rtl *nic[2];
    cosim_event e;
    int failed = 0;
    pingpong p;
    memset(&p, 0, sizeof p);
    begin(2, 1000), switch_on(2);
    CHECK(open_driver(&nic[0], 0, &error) == NIC_OK && open_driver(&nic[1], 1, &error) == NIC_OK);
    p.nic[0] = nic[0], p.nic[1] = nic[1], p.bytes = 4096;
    take(&p, 1, bits_of_pings);
    if (what == 0) config(1, CONFIG_WRITE, 4, 2, 2); /* NIC 1 is no master any more */
    /* the last byte read is the first that is not there */
    CHECK(put(&p, 0, bits_of_pings, what == 1 ? HALF - 4095 : (size_t)SEND_AT) == NIC_OK);
    if (what == 2) { /* the guest has moved it */
      memory_map m = two_regions();
      const int fds[2] = {g.memory_fd, g.memory_fd};
      m.guest[1] += HALF;
      say(1, SYNC_MEMORY, &m, sizeof m, sizeof m, fds, 2);
    }
    for (int i = 0; i < 3000 && !failed; i++) {
      nics_work();
      while (nic_rtl_event(nic[0], &e)) failed += e.status == COSIM_HOST_ERROR;
    }
    CHECK(failed == 1);
    CHECK(nic_pci_counts_of(g.pci, what == 1 ? 0 : 1).refused > 0);
    for (size_t i = TAKE_AT; i < TAKE_AT + 4096; i++)
      if (g.memory[i]) CHECK(!"written");
    nic_rtl_close(nic[0]), nic_rtl_close(nic[1]);
    end(2);
  }
}

static void the_interrupt_pin_stays_until_it_is_served(void) {
  uint64_t count = 0;
  begin(1, 1), switch_on(1);
  const int irq[2] = {eventfd(0, EFD_NONBLOCK), eventfd(0, EFD_NONBLOCK)};
  say(0, SET_IRQ, NULL, 0, 0, irq, 2);
  CHECK(answer_of(0) == 0xDEAD && read(irq[0], &count, 8) < 0);
  set(0, COSIM_IRQ_ENABLE, 32);
  set(0, COSIM_ME_UNLINK, 5); /* no such entry: something bad is counted */
  for (int i = 0; i < 20; i++) nics_work();
  CHECK(get(0, COSIM_IRQ_STATUS) == 32 && (config(0, CONFIG_READ, 6, 0, 2) & 8));
  CHECK(read(irq[0], &count, 8) == 8 && count >= 1);
  count = 1;
  CHECK(write(irq[1], &count, 8) == 8); /* the guest is done, but has not served it */
  nic_pci_serve(g.pci, 0);
  CHECK(read(irq[0], &count, 8) == 8);
  set(0, COSIM_IRQ_STATUS, 32);
  for (int i = 0; i < 20; i++) nics_work();
  CHECK(!(config(0, CONFIG_READ, 6, 0, 2) & 8));
  count = 1;
  CHECK(write(irq[1], &count, 8) == 8);
  nic_pci_serve(g.pci, 0);
  CHECK(read(irq[0], &count, 8) < 0);
  config(0, CONFIG_WRITE, 4, 0x406, 2); /* switched off */
  set(0, COSIM_ME_UNLINK, 5);
  for (int i = 0; i < 20; i++) nics_work();
  CHECK((config(0, CONFIG_READ, 6, 0, 2) & 8) && read(irq[0], &count, 8) < 0);
  close(irq[0]), close(irq[1]);
  end(1);
}

/* One message that the protocol does not know; it must close this device, and that alone */
static void bad_message(int which) {
  unsigned char body[256];
  int fds[10];
  const memory_map good = two_regions();
  memory_map m = good;
  memset(body, 0, sizeof body);
  for (int i = 0; i < 10; i++) fds[i] = g.memory_fd;
  switch (which) {
  case 0: say(0, RESET + 1, NULL, 0, 0, NULL, 0); break;
  case 1: say(0, -1, NULL, 0, 0, NULL, 0); break;
  case 2: say(0, RETURN, body, 8, 8, NULL, 0); break;
  case 3: say(0, CONFIG_READ, body, 8, 8, NULL, 0); break;
  case 4: say(0, BAR_READ, body, 24, UINT64_MAX, NULL, 0); break;
  case 5: say(0, BAR_READ, body, 24, 24, fds, 1); break;
  case 6: say(0, SYNC_MEMORY, &m, sizeof m, sizeof m, NULL, 0); break;
  case 7: say(0, SYNC_MEMORY, &m, sizeof m, sizeof m, fds, 9); break;
  case 8: say(0, SET_IRQ, NULL, 0, 0, fds, 1); break;
  case 9: say(0, RESET, body, 8, 8, NULL, 0); break;
  case 10: m.bytes[0]++; break;
  case 11: m.offset[0]++; break;
  case 12: m.offset[1] = -4096; break;
  case 13: m.bytes[0] = 0; break;
  case 14: m.guest[0] = UINT64_MAX - 4096; break;
  case 15: m.bytes[0] = UINT64_MAX - 4096; break;
  case 16: m.offset[0] = INT64_MAX; break;
  default: say(0, (int)test_rand() | 64, body, sizeof body, test_rand(), fds, test_below(10)); break;
  }
  if (which >= 10 && which <= 16) say(0, SYNC_MEMORY, &m, sizeof m, sizeof m, fds, 2);
}
static void bad_messages_close_their_device_only(void) {
  for (int which = 0; which < 20; which++) {
    const int files = open_files();
    begin(2, 1000), switch_on(2);
    bad_message(which);
    CHECK(nic_pci_serve(g.pci, 0) == -1 && strncmp(nic_pci_error(g.pci), "NIC 0: ", 7) == 0);
    CHECK(nic_pci_serve(g.pci, 0) == 1 && get(1, COSIM_ID) == 0x4E424331u);
    end(2);
    CHECK(open_files() == files);
  }
}

/* At any byte of a message, and with a put under way */
static void a_peer_that_goes_away_leaves_nothing(void) {
  for (size_t cut = 0; cut < 40; cut++) {
    const int files = open_files();
    unsigned char message[40] = {BAR_READ, 0, 0, 0, 0, 0, 0, 0, 24};
    pingpong p;
    nic_error error;
    memset(&p, 0, sizeof p);
    begin(2, 1000), switch_on(2);
    CHECK(open_driver(&p.nic[0], 0, &error) == NIC_OK && open_driver(&p.nic[1], 1, &error) == NIC_OK);
    p.bytes = 8192;
    take(&p, 1, bits_of_pings);
    CHECK(put(&p, 0, bits_of_pings, SEND_AT) == NIC_OK);
    CHECK(cut == 0 || send(g.end[1], message, cut, MSG_NOSIGNAL) == (ssize_t)cut);
    shutdown(g.end[1], SHUT_RDWR);
    nic_pci_serve(g.pci, 0);
    CHECK(nic_pci_error(g.pci)[0] == (cut ? 'N' : 0));
    for (int i = 0; i < 50; i++) nics_work(); /* what still moves finds no memory */
    CHECK(get(0, COSIM_ID) == 0x4E424331u);
    NIC_FREE(p.nic[1]);
    nic_rtl_close(p.nic[0]);
    end(2);
    CHECK(open_files() == files);
  }
}
static void wrong_descs_are_refused(void) {
  nic_pci_desc desc = nic_pci_default();
  nic_rtl *nic;
  nic_error error;
  const nic_rtl_bus bus = {bus_read, bus_write, NULL};
  CHECK(!nic_pci_create(NULL) && !nic_pci_create(&desc)); /* no socket */
  desc.sockets[0] = 0, desc.slower = 0;
  CHECK(!nic_pci_create(&desc));
  desc.slower = 65536;
  CHECK(!nic_pci_create(&desc));
  desc.slower = 1, desc.nic_count = NIC_PCI_MAX + 1;
  CHECK(!nic_pci_create(&desc));
  desc.nic_count = 1, desc.now_ns = guest_now;
  CHECK(!nic_pci_create(&desc)); /* a clock, and no way to wait */
  nic_pci_destroy(NULL);
  nic_rtl_close(NULL);
  nic_rtl_desc d;
  memset(&d, 0, sizeof d);
  CHECK(nic_rtl_open(&d, &nic, &error) == NIC_E_INVAL && nic_rtl_open(NULL, &nic, &error) == NIC_E_INVAL);
  d.bus = &bus;
  CHECK(nic_rtl_open(&d, &nic, &error) == NIC_E_INVAL); /* and no memory */
  d.bus = NULL, d.pci_address = "0000:ff:1f.7", d.sysfs_root = "/nowhere";
  CHECK(nic_rtl_open(&d, &nic, &error) == NIC_E_NOT_FOUND && strstr(error.text, "0000:ff:1f.7"));
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(configuration_space_is_that_of_a_pci_device);
  RUN(registers_are_where_the_bar_is);
  RUN(the_clock_is_the_guests_divided);
  RUN(the_driver_plays_ping_pong);
  RUN(memory_is_what_the_guest_has_given);
  RUN(the_interrupt_pin_stays_until_it_is_served);
  RUN(bad_messages_close_their_device_only);
  RUN(a_peer_that_goes_away_leaves_nothing);
  RUN(wrong_descs_are_refused);
  return TEST_END();
}
