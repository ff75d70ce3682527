/* Counters of TCP and UDP of this network namespace, from /proc/net. */
#pragma once
#include "options.h"
#include "status.h"
#include "counters.h"

/* ---- for later pieces ---- */
NIC__PRIVATE nic_status nic__open_host(nic_counters *c, const char *proc_root);
