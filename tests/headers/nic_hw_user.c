/* A user of nic_hw.h in any language and mode: a counter that wrapped, a clock that stands still, a
   register list, and a folder without a machine in it. */
#include "hw/nic_hw.h"
#include <string.h>

#ifdef __cplusplus
extern "C"
#endif
int use_nic_hw(void);

int use_nic_hw(void) {
  nic_counter counter;
  nic_value before, after;
  nic_clock_info clock;
  nic_reading first, last;
  nic_find_desc find;
  nic_machine *machine;
  nic_error err;
  memset(&counter, 0, sizeof counter);
  memset(&before, 0, sizeof before);
  memset(&after, 0, sizeof after);
  memset(&clock, 0, sizeof clock);
  memset(&first, 0, sizeof first);
  memset(&last, 0, sizeof last);
  memset(&find, 0, sizeof find);
  counter.width_bits = 32;
  counter.scale = 1;
  before.value = 0xfffffff0u;
  before.is_valid = after.is_valid = true;
  after.value = 16;
  after.t_before_ns = after.t_after_ns = 1000;
  const nic_delta delta = nic_counter_delta(&counter, &before, &after);
  if (delta.change != NIC_CHANGE_WRAPPED || delta.delta != 32) return 1;
  clock.nominal_hz[0] = 1e9;
  last.t_before_ns = last.t_after_ns = 1000000;
  if (nic_clock_judge(&clock, &first, &last, 0, NULL, NULL, &err) != NIC_E_STOPPED) return 2;
  if (strcmp(nic_status_name(NIC_E_STOPPED), "NIC_E_STOPPED") != 0) return 3;
  const nic_map *map = nic_map_for(0x8086, 0x10c9);
  if (!map || strcmp(map->name, "82576") != 0) return 4;
  find.sysfs_root = "/nonexistent";
  if (nic_find(&find, &machine, &err) != NIC_E_NOT_FOUND || machine) return 5;
  return 0;
}
