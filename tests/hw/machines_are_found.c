/* NICs of this machine and of recorded ones: found with their driver, model and BARs, each answer
   with a reason; broken trees and dumps give one line that says what and what to do. */
#define NIC_HW_IMPLEMENTATION
#include "hw/nic_hw.h"
#include "tests/test.h"
#include "tests/hw/tree.h"

/* A machine with one igb, one mlx5 with InfiniBand, and a device nobody drives. */
static void pci_device(const tree *t, const char *address, const char *vendor, const char *device,
                       const char *class_code, const char *driver) {
  char path[256], target[256];
  snprintf(path, sizeof path, "bus/pci/devices/%s/vendor", address);
  tree_file(t, path, "%s\n", vendor);
  snprintf(path, sizeof path, "bus/pci/devices/%s/device", address);
  tree_file(t, path, "%s\n", device);
  snprintf(path, sizeof path, "bus/pci/devices/%s/class", address);
  tree_file(t, path, "%s\n", class_code);
  snprintf(path, sizeof path, "bus/pci/devices/%s/resource", address);
  tree_file(t, path,
            "0x00000000fe000000 0x00000000fe01ffff 0x0000000000040200\n"
            "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
            "0x000000000000c000 0x000000000000c01f 0x0000000000040101\n");
  if (!driver) return;
  snprintf(path, sizeof path, "bus/pci/devices/%s/driver", address);
  snprintf(target, sizeof target, "../../../bus/pci/drivers/%s", driver);
  tree_link(t, path, target);
}

static tree cluster_node(void) {
  const tree t = tree_make();
  pci_device(&t, "0000:01:00.0", "0x8086", "0x10c9", "0x020000", "igb");
  pci_device(&t, "0000:02:00.0", "0x15b3", "0x1017", "0x020700", "mlx5_core");
  pci_device(&t, "0000:03:00.0", "0x8086", "0x10d3", "0x020000", NULL);
  pci_device(&t, "0000:04:00.0", "0x1af4", "0x1042", "0x018000", "virtio-pci");
  tree_file(&t, "class/net/eth0/flags", "0x1003\n");
  tree_file(&t, "class/net/eth0/speed", "1000\n");
  tree_file(&t, "class/net/eth0/mtu", "9000\n");
  tree_file(&t, "class/net/eth0/statistics/rx_bytes", "1\n");
  tree_link(&t, "class/net/eth0/device", "../../../bus/pci/devices/0000:01:00.0");
  tree_file(&t, "bus/pci/devices/0000:01:00.0/ptp/ptp3/clock_name", "igb\n");
  tree_file(&t, "class/net/bonding_masters",
            "\n"); /* a file between the folders, as on real machines */
  tree_link(&t, "class/infiniband/mlx5_0/device", "../../../bus/pci/devices/0000:02:00.0");
  tree_file(&t, "class/infiniband/mlx5_0/ports/1/counters/port_xmit_data", "1\n");
  tree_file(&t, "class/cxi/cxi0/device/telemetry/pct_timeouts", "3@1700000000.000000001\n");
  tree_file(&t, "class/bxi/bxi0/state", "up\n");
  return t;
}

static void a_recorded_tree_is_listed(void) {
  const tree t = cluster_node();
  nic_find_desc desc = {.sysfs_root = t.root, .no_libpci = true};
  nic_machine *m;
  nic_error error;
  CHECK(nic_find(&desc, &m, &error) == NIC_OK);
  CHECK(nic_count(m) == 5);
  const nic_info *eth = nic_by_name(m, "eth0"), *ib = nic_by_name(m, "mlx5_0"),
                 *bare = nic_by_name(m, "0000:03:00.0");
  CHECK(eth && ib && bare && nic_by_name(m, "cxi0") && nic_by_name(m, "bxi0"));
  CHECK(!nic_by_name(m, "0000:04:00.0") && !nic_by_name(m, "bonding_masters")); /* a disk; a file */
  CHECK(eth && eth->kind == NIC_KIND_NET && eth->vendor_id == 0x8086 && eth->device_id == 0x10c9 &&
        eth->is_up);
  CHECK(eth && eth->speed_bps == 1000000000 && eth->mtu_bytes == 9000 && eth->ptp_index == 3);
  CHECK_STR(eth->driver, "igb");
  CHECK_STR(eth->pci_address, "0000:01:00.0");
  CHECK(eth && eth->bars[0].base_address == 0xfe000000 && eth->bars[0].size_bytes == 0x20000 &&
        eth->bars[0].is_memory);
  CHECK(eth && eth->bars[2].size_bytes == 0x20 && !eth->bars[2].is_memory);
  CHECK(eth && eth->offers[NIC_OFFER_COUNTERS].answer == NIC_YES &&
        eth->offers[NIC_OFFER_CLOCK].answer == NIC_UNKNOWN);
  CHECK(eth &&
        eth->offers[NIC_OFFER_SOFT_STAMPS].answer == NIC_UNKNOWN); /* nobody asked that kernel */
  CHECK(nic_by_name(m, "0000:01:00.0") == eth);
  CHECK(bare && bare->kind == NIC_KIND_PCI && bare->driver[0] == 0 &&
        bare->offers[NIC_OFFER_COUNTERS].answer == NIC_BLOCKED);
  CHECK(strstr(bare->offers[NIC_OFFER_COUNTERS].text, "load") != NULL);
  CHECK(ib && ib->pci_class == 0x0207 && ib->vendor_id == 0x15b3);
  for (size_t i = 0; i < nic_count(m); i++)
    for (int k = 0; k < NIC_OFFER_COUNT; k++) CHECK(nic_at(m, i)->offers[k].text[0] != 0);
  CHECK(nic_at(m, nic_count(m)) == NULL);
  nic_machine_free(m);
  desc.all_pci = true;
  CHECK(nic_find(&desc, &m, &error) == NIC_OK && nic_count(m) == 6);
  nic_machine_free(m);
  tree_remove(&t);
}

static void broken_trees_are_survived(void) {
  const tree t = tree_make();
  nic_find_desc desc = {.sysfs_root = t.root, .no_libpci = true};
  nic_machine *m;
  nic_error error;
  CHECK(nic_find(&desc, &m, &error) == NIC_OK && nic_count(m) == 0); /* empty: no NIC, no error */
  nic_machine_free(m);
  tree_file(&t, "bus/pci/devices/nonsense/vendor", "a lot of text that is no number at all\n");
  tree_file(&t, "bus/pci/devices/0000:00:00.0/resource", "0x1 0x0");
  tree_file(&t, "class/net/x/flags", "%s", "");
  tree_file(&t, "class/net/x/speed", "-1\n");
  tree_file(&t, "class/net/x/mtu", "99999999999999999999\n");
  tree_link(&t, "class/net/x/device", "x"); /* a link to itself */
  tree_link(&t, "class/net/gone", "nowhere");
  tree_file(&t, "class/net/bell\a/flags", "0x0\n");
  CHECK(nic_find(&desc, &m, &error) == NIC_OK && nic_count(m) == 2);
  CHECK(nic_by_name(m, "x") && nic_by_name(m, "x")->speed_bps == 0 &&
        nic_by_name(m, "x")->mtu_bytes == 0);
  CHECK(nic_by_name(m, "bell?") != NULL); /* no control characters on the reader's terminal */
  nic_machine_free(m);
  tree_remove(&t);
  CHECK(nic_find(&desc, &m, &error) == NIC_E_NOT_FOUND && strstr(error.text, "mount sysfs") &&
        m == NULL);
  CHECK(nic_find(NULL, NULL, &error) == NIC_E_INVAL);
}

static void this_machine_is_listed_the_same_both_ways(void) {
  nic_machine *m, *files;
  nic_error error;
  const nic_find_desc all = {.all_pci = true}, no_libpci = {.all_pci = true, .no_libpci = true};
  if (nic_find(&all, &m, &error) != NIC_OK) {
    puts(error.text);
    SKIP("this machine's devices cannot be listed");
  }
  CHECK(nic_find(&no_libpci, &files, &error) == NIC_OK);
  CHECK(nic_count(m) == nic_count(files));
  for (size_t i = 0; i < nic_count(m) && i < nic_count(files); i++) {
    const nic_info *a = nic_at(m, i), *b = nic_at(files, i);
    CHECK_STR(a->name, b->name);
    CHECK_STR(a->pci_address, b->pci_address);
    CHECK(a->vendor_id == b->vendor_id && a->device_id == b->device_id &&
          a->pci_class == b->pci_class);
    for (int k = 0; k < 6; k++) CHECK(a->bars[k].base_address == b->bars[k].base_address);
    CHECK(a->pcie.link_gt_per_s == b->pcie.link_gt_per_s && a->pcie.lane_count == b->pcie.lane_count &&
          a->pcie.has_aer == b->pcie.has_aer);
  }
  const nic_info *lo = nic_by_name(m, "lo");
  CHECK(lo == NULL || (lo->is_loopback && lo->offers[NIC_OFFER_SOFT_STAMPS].answer == NIC_YES));
  nic_machine_free(files);
  nic_machine_free(m);
}

/* 64 bytes of configuration space as `lspci -x` prints them: an 82576 with a 64-bit BAR. */
static const char dump_82576[] = "01:00.0 Ethernet controller\n"
                                 "00: 86 80 c9 10 06 04 10 00 01 00 00 02 10 00 00 00\n"
                                 "10: 04 00 00 fe 01 00 00 00 01 c0 00 00 00 00 00 00\n"
                                 "20: 00 00 00 00 00 00 00 00 00 00 00 00 86 80 3c a0\n"
                                 "30: 00 00 00 00 00 00 00 00 00 00 00 00 0b 01 00 00\n\n";
static void a_recorded_machine_is_listed(void) {
  const tree t = tree_make();
  char path[512];
  nic_find_desc desc = {.dump_path = tree_path(&t, "machine.txt", path)};
  nic_machine *m;
  nic_error error;
  CHECK(nic_find(&desc, &m, &error) == NIC_E_NOT_FOUND && strstr(error.text, "machine.txt"));
  tree_file(&t, "machine.txt", "%s", dump_82576);
  for (int own = 0; own < 2; own++) { /* through libpci where built in, and by our own reader */
    desc.no_libpci = own != 0;
    CHECK(nic_find(&desc, &m, &error) == NIC_OK && nic_count(m) == 1);
    const nic_info *n = nic_at(m, 0);
    CHECK_STR(n->name, "0000:01:00.0");
    CHECK(n->vendor_id == 0x8086 && n->device_id == 0x10c9 && n->pci_class == 0x0200);
    CHECK(n->bars[0].base_address == 0x1fe000000 && n->bars[0].is_memory && !n->bars[2].is_memory);
    CHECK(n->offers[NIC_OFFER_CLOCK].answer == NIC_UNKNOWN &&
          n->offers[NIC_OFFER_SOFT_STAMPS].answer != NIC_YES);
    nic_machine_free(m);
  }
  tree_file(&t, "machine.txt", "root:x:0:0\nnothing here is a device\n");
  CHECK(nic_find(&desc, &m, &error) == NIC_E_PARSE && strstr(error.text, "no device") && m == NULL);
  tree_remove(&t);
}
#ifdef NIC_WITH_LIBPCI
/* libpci ends the program on its own errors; here they come back as ours, again and again. */
static void libpci_errors_come_back(void) {
  nic_machine m;
  memset(&m, 0, sizeof m);
  for (int i = 0; i < 20; i++) {
    nic_error error;
    CHECK(nic__pci_scan_libpci(&m, "/nonexistent/machine.txt", &error) == NIC_E_PCI &&
          strncmp(error.text, "libpci: ", 8) == 0);
  }
}
#else
static void libpci_errors_come_back(void) { SKIP("built without libpci (Debian: libpci-dev)"); }
#endif

/* The preload's choice of a fabric's NIC rests on it. */
static void a_fabric_says_whether_it_is_up(void) {
  const tree t = tree_make();
  const nic_find_desc desc = {.sysfs_root = t.root};
  nic_machine *m;
  nic_error error;
  tree_file(&t, "class/infiniband/mlx5_0/ports/1/state", "1: DOWN\n");
  tree_file(&t, "class/infiniband/mlx5_0/ports/1/rate", "10 Gb/sec (4X SDR)\n");
  tree_file(&t, "class/infiniband/mlx5_0/ports/2/state", "4: ACTIVE\n");
  tree_file(&t, "class/infiniband/mlx5_0/ports/2/rate", "100 Gb/sec (4X EDR)\n");
  tree_file(&t, "class/infiniband/mlx5_1/ports/1/state", "2: INIT\n");
  tree_file(&t, "class/cxi/cxi0/device/port/link", "up\n");
  tree_file(&t, "class/cxi/cxi1/device/port/link", "down\n");
  tree_file(&t, "class/bxi/bxi0/counter", "1\n");
  CHECK(nic_find(&desc, &m, &error) == NIC_OK && nic_count(m) == 5);
  CHECK(nic_by_name(m, "mlx5_0")->is_up && nic_by_name(m, "mlx5_0")->speed_bps == 100000000000u);
  CHECK(!nic_by_name(m, "mlx5_1")->is_up && nic_by_name(m, "mlx5_1")->speed_bps == 0);
  CHECK(nic_by_name(m, "cxi0")->is_up && !nic_by_name(m, "cxi1")->is_up);
  CHECK(nic_by_name(m, "bxi0")->is_up);
  nic_machine_free(m);
  tree_remove(&t);
}

/* Chains of capabilities that lead in circles, out of what is known, or nowhere; random ones. */
static void configuration_space_of_any_bytes_is_survived(void) {
  nic_pcie pcie;
  uint8_t *config = (uint8_t *)malloc(4096);
  memset(&pcie, 0, sizeof pcie);
  memset(config, 0, 4096);
  config[6] = 0x10;
  config[0x34] = 0x40;
  config[0x41] = 0x40; /* its own next */
  config[0x100] = 2, config[0x103] = 0x10; /* likewise */
  nic__pcie_from_config(&pcie, config, 4096);
  CHECK(!pcie.has_aer && pcie.most_gt_per_s == 0);
  config[0x41] = 0x80;
  config[0x80] = 0x10;
  config[0x8c] = 0x84, config[0x8d] = 0; /* 16 GT/s, 8 lanes */
  config[0x92] = 0x83;
  config[0x102] = 1, config[0x103] = 0x20; /* the next at 0x200 */
  config[0x200] = 1, config[0x202] = 1;
  config[0x204] = 0x10, config[0x210] = 0x41;
  nic__pcie_from_config(&pcie, config, 4096);
  CHECK(pcie.most_gt_per_s == 16 && pcie.link_gt_per_s == 8 && pcie.most_lane_count == 8 && pcie.lane_count == 8);
  CHECK(pcie.has_aer && pcie.uncorrectable == 0x10 && pcie.correctable == 0x41);
  CHECK_STR(nic_pcie_error_name(true, 6), "BadTLP");
  CHECK_STR(nic_pcie_error_name(false, 4), "DLP");
  CHECK_STR(nic_pcie_error_name(false, 31), "");
  for (int i = 0; i < test_rounds(2000); i++) {
    const size_t bytes = (size_t)test_below(4097);
    uint8_t *exact = (uint8_t *)malloc(bytes ? bytes : 1);
    for (size_t k = 0; k < bytes; k++) exact[k] = (uint8_t)test_rand();
    if (bytes > 0x34) exact[6] |= 0x10;
    nic__pcie_from_config(&pcie, exact, bytes);
    free(exact);
  }
  free(config);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(a_recorded_tree_is_listed);
  RUN(broken_trees_are_survived);
  RUN(this_machine_is_listed_the_same_both_ways);
  RUN(a_recorded_machine_is_listed);
  RUN(libpci_errors_come_back);
  RUN(configuration_space_of_any_bytes_is_survived);
  RUN(a_fabric_says_whether_it_is_up);
  return TEST_END();
}
