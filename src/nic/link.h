/* What the kernel says of an interface besides its counters, by the netlink family ethtool: which stamps it
   can make, its link, and why there is none. */
#pragma once
#include "options.h"
#include "status.h"
#include "machine.h"
#include "netlink.h"

/* ---- for later pieces ---- */
/* Numbers of messages and attributes are the kernel's ABI. They stand here because older systems' headers
   lack them. Source: include/uapi/linux/ethtool_netlink.h. */
enum {
  NIC__ETHTOOL_LINKSTATE_GET = 6,
  NIC__ETHTOOL_TSINFO_GET = 25,
  NIC__ETHTOOL_HEADER_NAME = 2,
  NIC__ETHTOOL_HEADER_FLAGS = 3,
  NIC__ETHTOOL_FLAG_COMPACT = 1,
  NIC__ETHTOOL_FLAG_STATS = 4,
  NIC__ETHTOOL_LINK = 2,
  NIC__ETHTOOL_SQI = 3,
  NIC__ETHTOOL_SQI_MAX = 4,
  NIC__ETHTOOL_EXT_STATE = 5,
  NIC__ETHTOOL_EXT_SUBSTATE = 6,
  NIC__ETHTOOL_TIMESTAMPING = 2,
  NIC__ETHTOOL_PHC_INDEX = 5,
  NIC__BITSET_NOMASK = 1,
  NIC__BITSET_BITS = 3,
  NIC__BITSET_VALUE = 4
};

/* A question of the family about one interface. header: the attribute of the message's header. */
NIC__PRIVATE void nic__ethtool_question(nic__question *q, unsigned family, int command,
                                        unsigned header, const char *interface_name,
                                        uint32_t flags);

/* The family, opened once for many interfaces; family 0: this kernel does not have it. */
typedef struct nic__link_asker {
  nic__netlink netlink;
  unsigned family;
} nic__link_asker;
NIC__PRIVATE void nic__link_open(nic__link_asker *asker);
NIC__PRIVATE void nic__link_close(nic__link_asker *asker);
/* false: the kernel, or the driver, does not answer: then nothing is changed. */
NIC__PRIVATE bool nic__link_stamps(nic__link_asker *asker, nic_info *n);
NIC__PRIVATE bool nic__link_state(nic__link_asker *asker, nic_info *n);
/* One answer each. */
NIC__PRIVATE void nic__take_tsinfo(void *nic_info_of, nic__attr row);
NIC__PRIVATE void nic__take_linkstate(void *nic_info_of, nic__attr row);
