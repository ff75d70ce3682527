/* Reads the registers of a device, of a simulated one or of a recording. */
#pragma once
#include "options.h"
#include "status.h"
#include "machine.h"
#include "counters.h"
#include "maps.h"

/* ---- for later pieces ---- */
/* Of a recorded NIC. */
typedef struct nic__kept_word {
  uint32_t offset, value;
} nic__kept_word;

/* Mapped BARs belong to the section on registers; finding only tries whether mapping works. */
typedef struct nic__bar {
  const volatile uint32_t *words;
  size_t size_bytes;
} nic__bar;

struct nic_registers {
  const nic_map *map;
  nic_bus bus;
  nic_host host;
  nic__bar bar;
  char name[32];
  bool may_clear;
  nic_counter *counters;
  uint64_t *sums; /* what registers that reading clears have counted */
};

NIC__PRIVATE void nic__bar_close(void *user);
NIC__PRIVATE nic_status nic__bar_map(const nic_machine *m, const nic_info *n, const nic_map *map,
                                     nic__bar *bar, nic_error *err);
