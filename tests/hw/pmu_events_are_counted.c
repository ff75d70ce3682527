/* Units that count events of NICs: found by name, their events' words put together as the format files
   say, units and scales taken over; malformed ones are left out. Counting itself is tried on the kernel's
   own software events, as no such unit was at hand: the trees here are made after the documentation. */
#define NIC_HW_IMPLEMENTATION
#include "hw/nic_hw.h"
#include "tests/test.h"
#include "tests/hw/tree.h"

static void words_are_put_where_the_format_says(void) {
  const tree t = tree_make();
  char folder[512];
  uint64_t config[3];
  tree_file(&t, "pmu/format/event", "config:0-16\n");
  tree_file(&t, "pmu/format/global", "config1:52\n");
  tree_file(&t, "pmu/format/split", "config2:0-3,8-11,63\n");
  tree_file(&t, "pmu/format/all", "config:0-63\n");
  tree_file(&t, "pmu/format/bad", "config:9-4\n");
  tree_file(&t, "pmu/format/worse", "config3:0-4\n");
  tree_path(&t, "pmu", folder);
  CHECK(nic__pmu_config(folder, "event=0x10204,global=1", config));
  CHECK(config[0] == 0x10204 && config[1] == (uint64_t)1 << 52 && config[2] == 0);
  CHECK(nic__pmu_config(folder, "split=0x1ab", config) && config[2] == (((uint64_t)1 << 63) | 0xa0b));
  CHECK(nic__pmu_config(folder, "all=0xffffffffffffffff", config) && config[0] == UINT64_MAX);
  CHECK(nic__pmu_config(folder, "config=7,config2=9", config) && config[0] == 7 && config[2] == 9);
  CHECK(nic__pmu_config(folder, "global", config) && config[1] == (uint64_t)1 << 52);
  CHECK(!nic__pmu_config(folder, "event=0x20000", config)); /* a bit more than there is room */
  CHECK(!nic__pmu_config(folder, "event=?", config) && !nic__pmu_config(folder, "event=", config));
  CHECK(!nic__pmu_config(folder, "none=1", config) && !nic__pmu_config(folder, ",", config));
  CHECK(!nic__pmu_config(folder, "bad=1", config) && !nic__pmu_config(folder, "worse=1", config));
  CHECK(!nic__pmu_config(folder, "../type=1", config));
  for (int i = 0; i < test_rounds(20000); i++) {
    static const char letters[] = "config120-,:9 ?";
    char format[24];
    const size_t n = (size_t)test_below(sizeof format);
    for (size_t k = 0; k < n; k++) format[k] = letters[test_below(sizeof letters - 1)];
    format[n < sizeof format ? n : sizeof format - 1] = 0;
    memset(config, 0, sizeof config);
    nic__pmu_place(test_below(2) ? format : "config:", test_rand(), config);
    char whole[40];
    snprintf(whole, sizeof whole, "config%s:%s", test_below(2) ? "1" : "", format);
    nic__pmu_place(whole, test_rand(), config);
  }
  tree_remove(&t);
}

static void units_of_nics_are_listed(void) {
  const tree t = tree_make();
  const nic_find_desc desc = {.sysfs_root = t.root};
  nic_machine *m;
  nic_counters *c;
  nic_error error;
  tree_file(&t, "bus/event_source/devices/hns3_pmu_sicl_0/type", "20\n");
  tree_file(&t, "bus/event_source/devices/hns3_pmu_sicl_0/events/bw_ssu_rpu_byte_num", "config=0x00001\n");
  tree_file(&t, "bus/event_source/devices/uncore_iio_3/type", "21\n");
  tree_file(&t, "bus/event_source/devices/uncore_imc_0/type", "22\n"); /* memory: none of ours */
  tree_file(&t, "class/net/eth0/statistics/rx_bytes", "1\n");
  CHECK(nic_find(&desc, &m, &error) == NIC_OK && nic_count(m) == 3);
  const nic_info *n = nic_by_name(m, "hns3_pmu_sicl_0");
  CHECK(n && n->kind == NIC_KIND_PMU && strstr(n->model, "HNS3"));
  CHECK(n && n->offers[NIC_OFFER_COUNTERS].answer == NIC_UNKNOWN);
  CHECK(n && nic_counters_open(m, n, NULL, &c, &error) == NIC_E_NOT_FOUND);
  CHECK_STR(nic_kind_name(NIC_KIND_PMU), "pmu");
  nic_machine_free(m);
  tree_remove(&t);
}

/* The software unit of the kernel (type 1) under another name: its clock runs, and its events are counted. */
static void events_are_counted(void) {
  const tree t = tree_make();
  nic_counters *c = (nic_counters *)nic__zalloc(sizeof *c);
  char folder[512];
  tree_file(&t, "pmu/type", "1\n");
  tree_file(&t, "pmu/cpumask", "0,28\n");
  tree_file(&t, "pmu/format/event", "config:0-7\n");
  tree_file(&t, "pmu/events/cpu_clock", "event=0x0\n"); /* PERF_COUNT_SW_CPU_CLOCK: ns */
  tree_file(&t, "pmu/events/switches", "event=0x3\n");
  tree_file(&t, "pmu/events/switches.unit", "MiB\n");
  tree_file(&t, "pmu/events/switches.scale", "3.814697266e-6\n");
  tree_file(&t, "pmu/events/wants_a_port", "event=0x3,port=?\n");
  tree_path(&t, "pmu", folder);
  const nic_status status = nic__open_pmu(c, folder);
  if (status == NIC_OK && c->count) {
    nic_value *v = (nic_value *)calloc(4, sizeof *v);
    CHECK(c->count == 2);
    CHECK_STR(c->sources[0].counter.name, "pmu/cpu_clock");
    CHECK(c->sources[1].counter.unit == NIC_UNIT_BYTES && c->sources[1].counter.scale == 4);
    CHECK(nic_counters_read(c, v, NULL) == NIC_OK && v[0].is_valid && v[1].is_valid);
    const struct timespec wait = {0, 20000000};
    nanosleep(&wait, NULL);
    CHECK(nic_counters_read(c, v + 2, NULL) == NIC_OK && v[2].value > v[0].value);
    CHECK(v[3].value >= v[1].value && v[3].value % 4 == 0);
    free(v);
  }
  const bool none = status != NIC_OK || !c->count;
  nic_counters_close(c);
  tree_remove(&t);
  CHECK(status == NIC_OK || status == NIC_E_RIGHTS);
  if (none) SKIP("this kernel lets nobody here count events (perf_event_paranoid)");
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(words_are_put_where_the_format_says);
  RUN(units_of_nics_are_listed);
  RUN(events_are_counted);
  return TEST_END();
}
