/* As null_arguments.c, for nic_hw.h and nic_rtl.h: NULL for every pointer of every function is never a crash; what returns a status
   returns NIC_E_INVAL unless NULL means something there (tests/headers/null_allowed.list). The NIC is of a made-up
   folder, its registers are a function; so are those of the NIC in RTL. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#define NIC_WITH_NBC
#define NIC_HW_IMPLEMENTATION
#include "hw/nic_hw.h"
#include "hw/nic_rtl.h"
#include "tests/hw/tree.h"
#include "tests/test.h"
#include <arpa/inet.h>
#include <sys/socket.h>

enum { NOTHING = 77, SOMETHING = 78 }; /* what is no status: a pointer is NULL then */
static _Alignas(64) char room[1 << 16]; /* what has no valid object below */
static int a_socket;
static nic_registers_desc with_bus;
static nic_clock_desc by_system;
static FILE *v_file;
static nic_machine *v_nic_machine;
static const nic_info *v_nic_info;
static nic_counters *v_nic_counters;
static const nic_counter *v_nic_counter;
static nic_registers *v_nic_registers;
static nic_stamping *v_nic_stamping;
static nic_datagrams *v_nic_datagrams;
static nic_clock *v_nic_clock;
static nic_clock_info *v_nic_clock_info;
static nic_find_desc *v_nic_find_desc;
static nic_rtl *v_nic_rtl;
static nic_rtl_desc *v_nic_rtl_desc;

#include NULL_CASES
#include "tests/headers/null_arguments.h"

static nic_status register_32(void *user, uint32_t offset, uint32_t *value) {
  (void)user;
  *value = offset;
  return NIC_OK;
}
/* An empty NIC that has the right Id */
static uint32_t rtl_read(void *user, uint32_t offset) { return (void)user, offset == COSIM_ID ? 0x4E424331u : 0; }
static void rtl_write(void *user, uint32_t offset, uint32_t value) { (void)user, (void)offset, (void)value; }
static int datagram_socket(void) {
  struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t bytes = sizeof here;
  const int fd = socket(AF_INET, SOCK_DGRAM, 0);
  if (fd < 0 || bind(fd, (struct sockaddr *)&here, bytes) || getsockname(fd, (struct sockaddr *)&here, &bytes) ||
      connect(fd, (struct sockaddr *)&here, bytes))
    abort();
  return fd;
}
static void make_objects(const tree *t) {
  static const nic_bus bus = {.read32 = register_32};
  static nic_find_desc find;
  static _Alignas(4096) unsigned char memory[2 * NIC_RTL_KEPT];
  static const nic_rtl_bus rtl_bus = {rtl_read, rtl_write, NULL};
  static nic_rtl_desc rtl = {.bus = &rtl_bus, .memory = memory, .memory_bytes = sizeof memory};
  nic_error err;
  v_nic_rtl_desc = &rtl;
  if (nic_rtl_open(&rtl, &v_nic_rtl, &err)) abort();
  tree_file(t, "class/net/eth0/type", "1\n"), tree_file(t, "class/net/eth0/operstate", "up\n");
  tree_file(t, "class/net/eth0/statistics/rx_bytes", "7\n"), tree_file(t, "bus/pci/devices/none", "\n");
  find.sysfs_root = t->root;
  with_bus.map = nic_map_at(0), with_bus.bus = &bus, by_system.system = true;
  v_nic_find_desc = &find, v_file = tmpfile(), a_socket = datagram_socket();
  if (!v_file || nic_find(&find, &v_nic_machine, &err) || !(v_nic_info = nic_by_name(v_nic_machine, "eth0"))) abort();
  if (nic_counters_open(v_nic_machine, v_nic_info, NULL, &v_nic_counters, &err) || !(v_nic_counter = nic_counters_at(v_nic_counters, 0))) abort();
  if (nic_registers_open(NULL, v_nic_info, &with_bus, NULL, &v_nic_registers, &err)) abort();
  if (nic_stamping_open(datagram_socket(), false, NULL, &v_nic_stamping, &err) ||
      nic_datagrams_open(datagram_socket(), false, 0, NULL, &v_nic_datagrams, &err))
    abort();
  if (nic_clock_open(NULL, NULL, &by_system, NULL, &v_nic_clock, &err)) abort();
  v_nic_clock_info = (nic_clock_info *)(uintptr_t)nic_clock_info_of(v_nic_clock);
}

static void null_is_answered_everywhere(void) {
  static const null_rule rule = {{"err", "host"}, {NIC_E_INVAL, NIC_E_INVAL}, {0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    null_is_answered(&rule, cases[i].function, cases[i].parameter, cases[i].call);
}

int main(int argc, char **argv) {
  const tree t = tree_make();
  TEST_INIT(argc, argv);
  make_objects(&t);
  RUN(null_is_answered_everywhere);
  tree_remove(&t);
  return TEST_END();
}
