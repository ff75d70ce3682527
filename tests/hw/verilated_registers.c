/* The NIC in RTL, read through the same hook as a real one: its clock is inside every bracket, its
   relation to host time (here: simulated time) holds, its counters are those of the traffic. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#define NIC_HW_IMPLEMENTATION
#define NIC_WITH_NBC
#include "hw/nic_hw.h"
#include "rtl/nic_cosim.h"
#include "tests/test.h"

/* Host memory that nobody uses here. */
static int no_read(void *ctx, int nic, uint64_t addr, void *buffer, size_t size_bytes) {
  (void)ctx, (void)nic, (void)addr;
  memset(buffer, 0, size_bytes);
  return 0;
}
static int no_write(void *ctx, int nic, uint64_t addr, const void *buffer, size_t size_bytes) {
  (void)ctx, (void)nic, (void)addr, (void)buffer, (void)size_bytes;
  return 0;
}

static nic_status rtl_read32(void *user, uint32_t offset, uint32_t *value) {
  int error = 0;
  *value = cosim_read_at((cosim *)user, 0, offset, NULL, &error);
  return error ? NIC_E_SYSTEM : NIC_OK;
}
static int64_t rtl_now(void *user) { return cosim_now_ps((cosim *)user) / 1000; }

static const nic_map *rtl_map(void) {
  for (size_t i = 0;; i++)
    if (strcmp(nic_map_at(i)->name, "rtl") == 0) return nic_map_at(i);
}

static void clock_and_counters_of_the_verilated_nic(void) {
  cosim_desc desc = cosim_default();
  desc.host.read = no_read, desc.host.write = no_write;
  cosim *sim = cosim_create(&desc);
  nic_info info;
  const nic_bus bus = {rtl_read32, NULL, sim};
  const nic_host host = {rtl_now, sim};
  const nic_registers_desc how = {rtl_map(), &bus, false};
  nic_registers *r;
  nic_clock *c;
  nic_error error;
  nic_reading reading;
  nbc_relation relation;
  static nic_value values[64];
  if (!sim) SKIP("no simulation");
  memset(&info, 0, sizeof info);
  strcpy(info.name, "rtl");
  CHECK(nic_registers_open(NULL, &info, &how, &host, &r, &error) == NIC_OK);
  CHECK(nic_registers_count(r) <= 64 && nic_registers_read(r, values, &error) == NIC_OK);
  for (size_t i = 0; i < nic_registers_count(r); i++)
    CHECK(values[i].is_valid && values[i].value == 0); /* nothing was sent */
  const nic_clock_desc by_registers = {.registers = r};
  CHECK(nic_clock_open(NULL, NULL, &by_registers, &host, &c, &error) == NIC_OK);
  const nbc_relation_desc limits = nic_clock_relation(nic_clock_info_of(c));
  CHECK(nbc_relation_init(&relation, &limits) == NBC_OK);
  for (int i = 0; i < 80; i++) {
    nbc_time place;
    CHECK(nic_clock_read(c, &reading, &error) == NIC_OK);
    /* the clock counts from reset, so it shows the simulated time itself: 512 ticks per ns, one cycle */
    const double shown_ns = (double)reading.ticks / 512;
    CHECK(shown_ns >= (double)reading.t_before_ns - 6 &&
          shown_ns <= (double)reading.t_after_ns + 6);
    CHECK(nbc_relation_add(&relation, reading.t_before_ns, reading.ticks, reading.t_after_ns) ==
          NBC_OK);
    CHECK(nbc_relation_time(&relation, reading.ticks, &place) == NBC_OK && place.err_ns < 2000);
    cosim_advance(sim, cosim_now_ps(sim) + 1000 * (int64_t)(1 + test_below(4000)));
  }
  CHECK(relation.step_count == 0);
  nic_clock_close(c);
  nic_registers_close(r);
  cosim_destroy(sim);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(clock_and_counters_of_the_verilated_nic);
  return TEST_END();
}
