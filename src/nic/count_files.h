/* Counters that are files with one number: sysfs of interfaces, InfiniBand, Slingshot, BXI. */
#pragma once
#include "options.h"
#include "status.h"
#include "counters.h"

/* ---- for later pieces ---- */
NIC__PRIVATE nic_status nic__open_folder(nic_counters *c, const char *folder, const char *group);
NIC__PRIVATE nic_status nic__open_infiniband(nic_counters *c, const char *device);
NIC__PRIVATE void nic__read_file(const nic_counters *c, const nic__source *s, nic_value *v);
