/* Registers: for every list the clock is read whole and inside its bracket, counters that clear are
   refused where a driver lives and summed where they may be read, nothing outside the list is read,
   a device that is gone or a BAR that cannot be mapped is named. */
#define NIC_HW_IMPLEMENTATION
#include "hw/nic_hw.h"
#include "tests/test.h"
#include "tests/hw/tree.h"
#include "tests/hw/sim_nic.h"

static const nic_map *list(const char *name) {
  for (size_t i = 0; nic_map_at(i); i++)
    if (strcmp(nic_map_at(i)->name, name) == 0) return nic_map_at(i);
  printf("no list %s\n", name);
  exit(1);
}

/* Lists start near the wrap of the low word, so that torn readings would show. */
static void clocks_are_read_whole(void) {
  for (size_t i = 0; nic_map_at(i); i++) {
    const nic_map *map = nic_map_at(i);
    sim_nic s = {.rate = map->clock_has_seconds     ? 1
                         : map->ticks_per_ns[0] > 0 ? map->ticks_per_ns[0]
                                                    : 1048576};
    nic_registers *r;
    nic_error error;
    nic_reading reading;
    long wrong = 0;
    CHECK(sim_nic_open(&s, map, "driver", false, &r, &error) == NIC_OK);
    for (int k = 0; k < 20000; k++) {
      const uint64_t wrap = map->clock_has_seconds ? 1000000000 : (uint64_t)1 << 32;
      s.start_ns = s.host_ns;
      s.start_ticks = wrap * (1 + test_below(200)) - test_below((uint64_t)(3000 * s.rate));
      CHECK(nic_registers_read_clock(r, &reading, &error) == NIC_OK);
      wrong += reading.ticks < sim_nic_ticks(&s, reading.t_before_ns) ||
               reading.ticks > sim_nic_ticks(&s, reading.t_after_ns);
    }
    CHECK(wrong == 0);
    if (wrong) printf("  list %s: %ld readings outside their bracket\n", map->name, wrong);
    CHECK(s.strangers == 0 && s.clearing_reads == 0);
    nic_registers_close(r);
  }
}

/* The same device read as if it latched must show torn values: the test above can fail. */
static void a_wrong_rule_is_seen(void) {
  nic_map wrong = *list("82574");
  nic_registers *r;
  nic_error error;
  nic_reading reading;
  sim_nic s = {.rate = 262144};
  CHECK(sim_nic_open(&s, list("82574"), "", false, &r, &error) == NIC_OK);
  wrong.clock_rule = NIC_CLOCK_LOW_LATCHES;
  r->map = &wrong;
  long torn = 0;
  for (int k = 0; k < 5000; k++) {
    s.start_ns = s.host_ns;
    s.start_ticks = ((uint64_t)9 << 32) - test_below((uint64_t)(3000 * s.rate));
    CHECK(nic_registers_read_clock(r, &reading, &error) == NIC_OK);
    torn += reading.ticks < sim_nic_ticks(&s, reading.t_before_ns) ||
            reading.ticks > sim_nic_ticks(&s, reading.t_after_ns);
  }
  CHECK(torn > 0);
  nic_registers_close(r);
}

static void clearing_is_refused_beside_a_driver(void) {
  nic_registers *r;
  nic_error error;
  nic_value v[16];
  for (int asked = 0; asked < 2; asked++)
    for (int bound = 0; bound < 2; bound++) {
      sim_nic s = {.rate = 524288,
                   .counters = {1, 2, 3, 4, 5, 6, 7, ((uint64_t)1 << 32) + 8, 9, 10, 11}};
      CHECK(sim_nic_open(&s, list("82576"), bound ? "igb" : "", asked != 0, &r, &error) == NIC_OK);
      const nic_status status = nic_registers_read(r, v, &error);
      if (asked && !bound) {
        CHECK(status == NIC_OK && v[0].is_valid && v[7].value == ((uint64_t)1 << 32) + 8);
        s.counters[7] = 100;
        CHECK(nic_registers_read(r, v, &error) == NIC_OK &&
              v[7].value == ((uint64_t)1 << 32) + 108); /* summed */
        CHECK(v[0].value == 1 && v[0].t_before_ns < v[0].t_after_ns);
      } else {
        CHECK(status == NIC_E_REFUSED && s.clearing_reads == 0 && s.counters[0] == 1 &&
              !v[0].is_valid);
        CHECK(strstr(error.text, "no driver owns") != NULL);
      }
      CHECK(s.strangers == 0);
      nic_registers_close(r);
    }
}

static void a_device_that_leaves_is_named(void) {
  for (long after = 1; after < 12; after++) {
    nic_registers *r;
    nic_error error;
    nic_reading reading;
    nic_value v[16];
    sim_nic s = {.rate = 524288, .gone_after = after};
    CHECK(sim_nic_open(&s, list("82576"), "", true, &r, &error) == NIC_OK);
    nic_status status = NIC_OK;
    for (int i = 0; i < 12 && status == NIC_OK; i++)
      status = nic_registers_read_clock(r, &reading, &error);
    CHECK(status == NIC_E_GONE && strstr(error.text, "all ones"));
    CHECK(nic_registers_read(r, v, &error) == NIC_E_GONE);
    nic_registers_close(r);
  }
  sim_nic dead = {.gone_after = 1, .reads = 1};
  nic_registers *r;
  nic_error error;
  CHECK(sim_nic_open(&dead, list("82574"), "", false, &r, &error) == NIC_E_GONE && r == NULL);
}

static void a_counter_may_read_all_ones(void) { /* as long as the device is there */
  nic_registers *r;
  nic_error error;
  nic_value v[16];
  sim_nic s = {.rate = 1, .counters = {UINT32_MAX}};
  CHECK(sim_nic_open(&s, list("i210"), "", true, &r, &error) == NIC_OK);
  CHECK(nic_registers_read(r, v, &error) == NIC_OK && v[0].value == UINT32_MAX);
  nic_registers_close(r);
}

/* A BAR as a file in a recorded /sys: mapped read-only, sizes checked, reasons given. */
static void bars_are_mapped_from_files(void) {
  const tree t = tree_make();
  char path[512];
  nic_machine *m;
  nic_registers *r;
  nic_error error;
  nic_reading reading;
  nic_find_desc desc = {.sysfs_root = t.root, .no_libpci = true};
  tree_file(&t, "bus/pci/devices/0000:01:00.0/vendor", "0x8086\n");
  tree_file(&t, "bus/pci/devices/0000:01:00.0/device", "0x10c9\n");
  tree_file(&t, "bus/pci/devices/0000:01:00.0/class", "0x020000\n");
  CHECK(nic_find(&desc, &m, &error) == NIC_OK && nic_count(m) == 1);
  CHECK(nic_at(m, 0)->offers[NIC_OFFER_REGISTERS].answer == NIC_BLOCKED);
  CHECK(nic_registers_open(m, nic_at(m, 0), NULL, NULL, &r, &error) == NIC_E_NOT_FOUND &&
        strstr(error.text, "resource0"));
  nic_machine_free(m);
  FILE *bar = fopen(tree_path(&t, "bus/pci/devices/0000:01:00.0/resource0", path), "wb");
  CHECK(bar && ftruncate(fileno(bar), 0x8000) == 0 && nic_find(&desc, &m, &error) == NIC_OK);
  CHECK(nic_registers_open(m, nic_at(m, 0), NULL, NULL, &r, &error) == NIC_E_RANGE &&
        strstr(error.text, "need"));
  nic_machine_free(m);
  const uint32_t words[2] = {0x89abcdef, 0x01234567};
  CHECK(ftruncate(fileno(bar), 0x20000) == 0 && pwrite(fileno(bar), words, 8, 0xb600) == 8);
  fclose(bar);
  CHECK(nic_find(&desc, &m, &error) == NIC_OK &&
        nic_at(m, 0)->offers[NIC_OFFER_REGISTERS].answer == NIC_YES);
  CHECK(nic_registers_open(m, nic_at(m, 0), NULL, NULL, &r, &error) == NIC_OK);
  CHECK(nic_registers_read_clock(r, &reading, &error) == NIC_OK &&
        reading.ticks == 0x0123456789abcdef);
  CHECK(reading.t_before_ns <= reading.t_after_ns);
  nic_registers_close(r);
  nic_machine_free(m);
  tree_remove(&t);
}

static void reasons_name_the_way_out(void) {
  nic_info n;
  nic_error error;
  memset(&n, 0, sizeof n);
  strcpy(n.driver, "igb");
  CHECK(nic__bar_refused(&n, "resource0", EINVAL, &error) == NIC_E_RIGHTS &&
        strstr(error.text, "igb") && strstr(error.text, "iomem=relaxed"));
  CHECK(nic__bar_refused(&n, "resource0", EPERM, &error) == NIC_E_RIGHTS &&
        strstr(error.text, "lockdown"));
  CHECK(nic__bar_refused(&n, "resource0", EACCES, &error) == NIC_E_RIGHTS &&
        strstr(error.text, "root"));
  CHECK(nic_registers_open(NULL, &n, NULL, NULL, NULL, &error) == NIC_E_INVAL);
  nic_registers *r;
  CHECK(nic_registers_open(NULL, &n, NULL, NULL, &r, &error) == NIC_E_UNSUPPORTED &&
        strstr(error.text, "0000:0000"));
}

static void lists_are_well_formed(void) {
  for (size_t i = 0; nic_map_at(i); i++) {
    const nic_map *m = nic_map_at(i);
    const uint32_t clock[3] = {m->clock_low_offset, m->clock_high_offset, m->clock_rest_offset};
    for (int k = 0; k < 3; k++) CHECK(clock[k] % 4 == 0 && clock[k] + 4 <= m->bar_bytes);
    CHECK((m->pci_ids[0] != 0 || strcmp(m->name, "rtl") == 0) && m->clock_rule != NIC_CLOCK_NONE);
    for (size_t k = 0; k < m->register_count; k++) {
      const nic_register *reg = &m->registers[k];
      CHECK(reg->offset % 4 == 0 && reg->offset + 4 <= m->bar_bytes &&
            reg->high_offset + 4 <= m->bar_bytes);
    }
    for (const uint32_t *id = m->pci_ids; *id; id++)
      CHECK(nic_map_for((uint16_t)(*id >> 16), (uint16_t)*id) == m); /* in one list only */
  }
  CHECK(nic_map_for(0, 0) == NULL && nic_map_for(0x1af4, 0x1041) == NULL);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(lists_are_well_formed);
  RUN(clocks_are_read_whole);
  RUN(a_wrong_rule_is_seen);
  RUN(clearing_is_refused_beside_a_driver);
  RUN(a_device_that_leaves_is_named);
  RUN(a_counter_may_read_all_ones);
  RUN(bars_are_mapped_from_files);
  RUN(reasons_name_the_way_out);
  return TEST_END();
}
