/* A recording gives back what was seen: NICs, answers, counters, registers, clock readings; damaged ones
   are refused with their line or used in part, never more. */
#define LLVMFuzzerTestOneInput fuzz_dump
#include "tests/fuzz/fuzz_dump.c"
#include "tests/test.h"
#include "tests/hw/tree.h"

/* An 82576 without driver: configuration space, a BAR with a clock that stands, counters of its port. */
static tree machine_with_82576(void) {
  static const uint8_t header[64] = {0x86, 0x80, 0xc9, 0x10, 6, 4, 0x10, 0,    1, 0, 0, 2,
                                     0x10, 0,    0,    0,    4, 0, 0,    0xfe, 1, 0, 0, 0};
  const tree t = tree_make();
  char path[512];
  const uint32_t words[2] = {0x89abcdef, 0x01234567}, status = 0x80783;
  tree_file(&t, "bus/pci/devices/0000:01:00.0/vendor", "0x8086\n");
  tree_file(&t, "bus/pci/devices/0000:01:00.0/device", "0x10c9\n");
  tree_file(&t, "bus/pci/devices/0000:01:00.0/class", "0x020000\n");
  tree_file(&t, "class/net/eth0/statistics/rx_bytes", "12345\n");
  tree_file(&t, "class/net/eth0/mtu", "1500\n");
  tree_link(&t, "class/net/eth0/device", "../../../bus/pci/devices/0000:01:00.0");
  FILE *f = fopen(tree_path(&t, "bus/pci/devices/0000:01:00.0/config", path), "wb");
  CHECK(f && fwrite(header, 1, sizeof header, f) == sizeof header && fclose(f) == 0);
  f = fopen(tree_path(&t, "bus/pci/devices/0000:01:00.0/resource0", path), "wb");
  CHECK(f && ftruncate(fileno(f), 0x20000) == 0 && pwrite(fileno(f), words, 8, 0xb600) == 8 &&
        pwrite(fileno(f), &status, 4, 8) == 4);
  fclose(f);
  return t;
}

static char *record(const nic_find_desc *desc, size_t *size) {
  nic_machine *m;
  nic_error error;
  char *text = NULL;
  const nic_record_desc how = {.apart_ns = 1000000, .reading_count = 4};
  CHECK(nic_find(desc, &m, &error) == NIC_OK);
  FILE *out = open_memstream(&text, size);
  CHECK(nic_record_write(m, &how, out, &error) == NIC_OK);
  fclose(out);
  nic_machine_free(m);
  return text;
}

static void registers_and_counters_come_back(void) {
  const tree t = machine_with_82576(), files = tree_make();
  const nic_find_desc live = {.sysfs_root = t.root, .no_libpci = true};
  char path[512];
  size_t size;
  char *text = record(&live, &size);
  tree_file(&files, "machine.txt", "%s", text);
  free(text);
  for (int own = 0; own < 2; own++) {
    const nic_find_desc desc = {.dump_path = tree_path(&files, "machine.txt", path),
                                .no_libpci = own != 0};
    nic_machine *m;
    nic_counters *c;
    nic_registers *r;
    nic_reading reading;
    nic_error error;
    nic_value v[16];
    const nic_clock_info *info;
    const nic_reading *readings;
    CHECK(nic_find(&desc, &m, &error) == NIC_OK && nic_count(m) == 1);
    const nic_info *n = nic_by_name(m, "eth0");
    CHECK(n && n->kind == NIC_KIND_NET && n->device_id == 0x10c9 && n->mtu_bytes == 1500 &&
          n->bars[0].base_address == 0x1fe000000);
    CHECK(n->offers[NIC_OFFER_REGISTERS].answer == NIC_YES &&
          n->offers[NIC_OFFER_COUNTERS].answer == NIC_YES);
    CHECK(nic_counters_open(m, n, NULL, &c, &error) == NIC_OK && nic_counters_count(c) == 1);
    CHECK(nic_counters_read(c, v, &error) == NIC_OK && v[0].value == 12345 && v[0].is_valid);
    const int64_t first_ns = v[0].t_after_ns;
    CHECK(nic_counters_read(c, v, &error) == NIC_OK && v[0].t_before_ns - first_ns >= 1000000);
    nic_counters_close(c);
    CHECK(nic_registers_open(m, n, NULL, NULL, &r, &error) == NIC_OK);
    CHECK(nic_registers_read_clock(r, &reading, &error) == NIC_OK &&
          reading.ticks == 0x0123456789abcdef);
    CHECK(nic_registers_read(r, v, &error) ==
          NIC_E_REFUSED); /* what clears was not recorded either */
    nic_registers_close(r);
    const size_t count = nic_recorded_readings(m, n, &info, &readings);
    CHECK(count == 4 && info && info->kind == NIC_READING_REGISTERS &&
          readings[0].ticks == (uint64_t)0x0123456789abcdef >> info->low_bits);
    CHECK(count == 4 && nic_clock_judge(info, &readings[0], &readings[3], 0, NULL, NULL, &error) ==
                            NIC_E_STOPPED); /* as it was */
    nic_machine_free(m);
  }
  tree_remove(&files);
  tree_remove(&t);
}

static void this_machine_comes_back(void) {
  const tree files = tree_make();
  char path[512];
  size_t size;
  nic_machine *live, *m;
  nic_error error;
  char *text = record(NULL, &size);
  tree_file(&files, "machine.txt", "%s", text);
  free(text);
  const nic_find_desc desc = {.dump_path = tree_path(&files, "machine.txt", path)};
  CHECK(nic_find(NULL, &live, &error) == NIC_OK);
  if (nic_count(live) == 0) SKIP("no NIC, not even loopback");
  CHECK(nic_find(&desc, &m, &error) == NIC_OK && nic_count(m) == nic_count(live));
  for (size_t i = 0; i < nic_count(live); i++) {
    const nic_info *a = nic_at(live, i), *b = nic_by_name(m, a->name);
    CHECK(b && a->kind == b->kind && a->vendor_id == b->vendor_id && a->device_id == b->device_id &&
          a->stamp_flags == b->stamp_flags);
    CHECK_STR(b->driver, a->driver);
    for (int k = 0; k < NIC_OFFER_COUNT; k++) {
      CHECK(a->offers[k].answer == b->offers[k].answer);
      CHECK_STR(b->offers[k].text, a->offers[k].text);
    }
  }
  nic_machine_free(m);
  nic_machine_free(live);
  tree_remove(&files);
}

static void wrong_lines_are_named(void) {
  static const struct {
    const char *text;
    int line;
  } cases[] = {
      {"#nic-record 2\n", 1},
      {"#nic-record 1\n#nic-model 1 2 3 x\n", 2},
      {"#nic-record 1\n#nic-begin 1 1 0 -1 0 1500 0 eth0 - -\n#nic-begin 1 1 0 -1 0 1500 0 eth1 - "
       "-\n",
       3},
      {"#nic-begin 99 1 0 -1 0 1500 0 eth0 - -\n", 1},
      {"#nic-begin 1 1 0 -1 0 1500 0 an-interface-name-that-is-far-too-long - -\n", 1},
      {"#nic-begin 1 1 0 -1 0 1500 0 eth0 - -\n#nic-offer 77 1 x\n", 2},
      {"#nic-begin 1 1 0 -1 0 1500 0 eth0 - -\n#nic-counter 1 0 64 1 5 10 9 6 11 12 net/x\n",
       2}, /* ends before it begins */
      {"#nic-begin 1 1 0 -1 0 1500 0 eth0 - -\n#nic-counter 1 0 65 1 5 1 2 6 11 12 net/x\n", 2},
      {"#nic-begin 1 1 0 -1 0 1500 0 eth0 - -\n#nic-reading 1 2 3\n", 2}, /* of no clock */
      {"#nic-begin 1 1 0 -1 0 1500 0 eth0 - -\n#nic-clock 1 1e300 0 0 0 64 1 x\n", 2},
      {"#nic-begin 1 1 0 -1 0 1500 0 eth0 - -\n#nic-register 1 100000000\n", 2},
      {"#nic-begin 1 1 0 -1 0 1500 0 eth0 - -\n", 0}, /* no end */
      {"00:01.0 x\n1000: 00 00\n",
       2}, /* beyond configuration space: libpci would end the program */
      {"00:01.0 cut off", 1}};
  const tree files = tree_make();
  char path[512];
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const nic_find_desc desc = {.dump_path = tree_path(&files, "machine.txt", path)};
    nic_machine *m;
    nic_error error;
    error.line = 0;
    tree_file(&files, "machine.txt", "%s", cases[i].text);
    CHECK(nic_find(&desc, &m, &error) == NIC_E_PARSE && m == NULL && error.line == cases[i].line);
    if (error.line != cases[i].line) printf("  case %zu: line %d: %s\n", i, error.line, error.text);
  }
  tree_remove(&files);
}

/* The fuzzer's own check on a good recording with bytes changed, dropped, repeated. */
static void damaged_recordings_are_survived(void) {
  const tree t = machine_with_82576();
  const nic_find_desc live = {.sysfs_root = t.root, .no_libpci = true};
  size_t size;
  char *text = record(&live, &size), *broken = malloc(2 * size);
  for (int run = 0; run < 400; run++) {
    size_t n = size;
    memcpy(broken, text, size);
    for (uint64_t k = 0; k < 1 + test_below(6); k++) {
      const size_t at = test_below(n), other = test_below(n);
      switch (test_below(4)) {
      case 0: broken[at] = "0123456789abcdef#- \n\xff"[test_below(21)]; break;
      case 1: n = at + 1; break;
      case 2: memmove(broken + at, broken + other, n - (at > other ? at : other)); break;
      default: broken[at] = (char)test_rand();
      }
    }
    fuzz_dump((const uint8_t *)broken, n);
  }
  free(broken);
  free(text);
  tree_remove(&t);
}

static void recordings_cannot_be_recorded(void) {
  nic_error error;
  nic_machine m;
  memset(&m, 0, sizeof m);
  m.is_recorded = true;
  CHECK(nic_record_write(&m, NULL, stdout, &error) == NIC_E_INVAL &&
        nic_record_write(NULL, NULL, stdout, &error) == NIC_E_INVAL);
  m.is_recorded = false;
  FILE *full = fopen("/dev/full", "w");
  if (!full) SKIP("no /dev/full");
  CHECK(nic_record_write(&m, NULL, full, &error) == NIC_E_IO);
  fclose(full);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(registers_and_counters_come_back);
  RUN(this_machine_comes_back);
  RUN(wrong_lines_are_named);
  RUN(damaged_recordings_are_survived);
  RUN(recordings_cannot_be_recorded);
  return TEST_END();
}
