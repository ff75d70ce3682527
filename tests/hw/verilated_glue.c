/* The simulated NIC behind five functions: nic_cosim.h and nic_hw.h share names, so each has its file. */
#include "rtl/nic_cosim.h"
#include "tests/hw/verilated_glue.h"
#include <string.h>

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

void *glue_create(void) {
  nic_cosim_desc desc = nic_cosim_default();
  desc.host.read = no_read;
  desc.host.write = no_write;
  return nic_cosim_create(&desc);
}
void glue_destroy(void *sim) { nic_cosim_destroy((nic_cosim *)sim); }
uint32_t glue_read(void *sim, uint32_t offset, int *error) {
  return nic_cosim_read_at((nic_cosim *)sim, 0, offset, NULL, error);
}
int64_t glue_now_ps(const void *sim) { return nic_cosim_now_ps((const nic_cosim *)sim); }
void glue_advance(void *sim, int64_t d_ps) {
  nic_cosim_advance((nic_cosim *)sim, glue_now_ps(sim) + d_ps);
}
