/* Counters of performance monitoring units that look at NICs and PCIe: perf_event without the perf tool. */
#pragma once
#include "options.h"
#include "status.h"
#include "machine.h"
#include "counters.h"

/* ---- for later pieces ---- */
/* Whether a folder of /sys/bus/event_source/devices is such a unit; what it looks at, or NULL. */
NIC__PRIVATE const char *nic__pmu_meaning(const char *name);
/* "event=0x204,global=1" by the unit's format files. false: a term is not known, or wants a value */
NIC__PRIVATE bool nic__pmu_config(const char *folder, const char *terms, uint64_t config[3]);
/* All events of the unit. ret NIC_OK | NIC_E_NOMEM | NIC_E_RIGHTS (no event may be counted) */
NIC__PRIVATE nic_status nic__open_pmu(nic_counters *c, const char *folder);
