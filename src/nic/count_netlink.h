/* Counters that the kernel gives by netlink: standard groups of Ethernet, pauses, FEC, queues, stamps,
   links, health of drivers, RDMA. */
#pragma once
#include "options.h"
#include "status.h"
#include "machine.h"
#include "counters.h"
#include "netlink.h"
#include "link.h"

/* ---- for later pieces ---- */
/* Each: none is not an error. ret NIC_OK | NIC_E_NOMEM */
NIC__PRIVATE nic_status nic__open_ethernet(nic_counters *c, const nic_info *nic);
NIC__PRIVATE nic_status nic__open_health(nic_counters *c, const nic_info *nic);
NIC__PRIVATE nic_status nic__open_rdma(nic_counters *c);
