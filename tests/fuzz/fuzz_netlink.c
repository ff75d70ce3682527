/* Answers of netlink from anywhere: any bytes as messages, to each of the readers. No crash, and every
   counter has a name with its folder. */
#define NIC_HW_IMPLEMENTATION
#include "hw/nic_hw.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static nic__take *const takes[] = {nic__take_ethtool, nic__take_queue, nic__take_reporter,
                                     nic__take_device,  nic__take_rdma,  nic__family_take};
  static const unsigned commands[] = {NIC__ETHTOOL_STATS_GET, NIC__ETHTOOL_PAUSE_GET,
                                      NIC__ETHTOOL_FEC_GET, NIC__ETHTOOL_TSINFO_GET,
                                      NIC__ETHTOOL_LINKSTATE_GET};
  nic_counters counters;
  nic__netlink_group group;
  unsigned family = 0;
  bool over = false;
  if (size < 2) return 0;
  memset(&counters, 0, sizeof counters);
  memset(&group, 0, sizeof group);
  strcpy(counters.name, "mlx5_0");
  strcpy(group.pci_address, "0000:03:00.0");
  group.group.counters = &counters;
  group.group.is_opening = true;
  group.netlink.fd = -1;
  group.interface_index = 7;
  group.port = 1;
  group.which = commands[data[0] % 5];
  const unsigned who = data[1] % 6;
  /* sequence 0, as the seeds have it */
  nic__netlink_walk(data + 2, size - 2, 0, data[0] & 64 ? NIC__GENL_HEAD : 0, takes[who],
                    who == 5 ? (void *)&family : (void *)&group, &over);
  for (size_t i = 0; i < counters.count; i++)
    if (!strchr(counters.sources[i].counter.name, '/') ||
        !memchr(counters.sources[i].counter.name, 0, sizeof counters.sources[i].counter.name))
      abort();
  NIC_FREE(group.group.cells);
  NIC_FREE(counters.sources);
  return 0;
}
