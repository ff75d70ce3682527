/* A recording from a stranger: any bytes. Found devices, counters, registers and readings are used; no
   crash, nothing out of range. The same bytes go through libpci and through our own reader. */
#define NIC_HW_IMPLEMENTATION
#include "hw/nic_hw.h"

static void use(const nic_machine *m) {
  for (size_t i = 0; i < nic_count(m); i++) {
    const nic_info *n = nic_at(m, i);
    const nic_clock_info *info;
    const nic_reading *readings;
    nic_counters *c;
    nic_registers *r;
    nic_reading one;
    nic_error error;
    if (strlen(n->name) >= sizeof n->name || (unsigned)n->kind >= NIC_KIND_COUNT) abort();
    for (int k = 0; k < NIC_OFFER_COUNT; k++)
      if ((unsigned)n->offers[k].answer > NIC_YES ||
          !memchr(n->offers[k].text, 0, sizeof n->offers[k].text))
        abort();
    if (nic_counters_open(m, n, NULL, &c, &error) == NIC_OK) {
      const size_t count = nic_counters_count(c);
      nic_value *a = calloc(count, sizeof *a), *b = calloc(count, sizeof *b);
      if (!a || !b || nic_counters_read(c, a, &error) != NIC_OK ||
          nic_counters_read(c, b, &error) != NIC_OK)
        abort();
      for (size_t k = 0; k < count; k++) {
        const nic_delta d = nic_counter_delta(nic_counters_at(c, k), &a[k], &b[k]);
        if (!(d.per_s_lo >= 0) || !(d.per_s_hi >= d.per_s_lo)) abort();
      }
      free(a);
      free(b);
      nic_counters_close(c);
    }
    if (nic_registers_open(m, n, NULL, NULL, &r, &error) == NIC_OK) {
      nic_registers_read_clock(r, &one, &error);
      nic_registers_close(r);
    }
    const size_t count = nic_recorded_readings(m, n, &info, &readings);
    if (count > 1) nic_clock_judge(info, &readings[0], &readings[count - 1], 0, NULL, NULL, &error);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char path[64];
  const int fd = memfd_create("dump", 0);
  if (fd < 0 || write(fd, data, size) != (ssize_t)size) abort();
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  for (int own = 0; own < 2; own++) {
    const nic_find_desc desc = {.dump_path = path, .all_pci = true, .no_libpci = own != 0};
    nic_machine *m;
    nic_error error;
    if (nic_find(&desc, &m, &error) != NIC_OK) continue;
    use(m);
    nic_machine_free(m);
  }
  close(fd);
  return 0;
}
