/* The driver's own counters, as `ethtool -S` shows them. */
#pragma once
#include "options.h"
#include "status.h"
#include "counters.h"

/* ---- for later pieces ---- */
NIC__PRIVATE nic_status nic__open_ethtool(nic_counters *c);
