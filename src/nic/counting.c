/* Opens and reads all counters of a NIC. */
#include "options.h"
#include "status.h"
#include "machine.h"
#include "counters.h"
#include "count_files.h"
#include "count_ethtool.h"
#include "count_host.h"
#include "netlink.h"
#include "count_netlink.h"
#include "count_pmu.h"

static nic_status nic__open_recorded(nic_counters *c, const nic__kept *kept) {
  for (size_t i = 0; kept && i < kept->counter_count; i++) {
    nic__source *s = nic__source_add(c, "recorded", "counter");
    if (!s) return NIC_E_NOMEM;
    s->counter = kept->counters[i].counter;
    s->kept = &kept->counters[i];
  }
  return NIC_OK;
}

NIC_API nic_status nic_counters_open(const nic_machine *machine, const nic_info *nic,
                                     const nic_host *host, nic_counters **counters,
                                     nic_error *err) {
  char device[NIC__PATH], path[NIC__PATH];
  if (!machine || !nic || !counters)
    return nic__fail(err, NIC_E_INVAL, "machine, nic, counters: must not be NULL");
  *counters = NULL;
  if (nic->kind == NIC_KIND_PCI)
    return nic__fail(err, NIC_E_NOT_FOUND, "%s: no counters: %s", nic->name,
                     nic->offers[NIC_OFFER_COUNTERS].text);
  nic_counters *c = (nic_counters *)nic__zalloc(sizeof *c);
  if (!c) return nic__fail(err, NIC_E_NOMEM, "out of memory");
  nic_status status = NIC_OK;
  if (host) c->host = *host;
  memcpy(c->name, nic->name, sizeof c->name);
  if (nic->kind == NIC_KIND_PMU ? !nic__path(device, machine->sysfs_root,
                                             "bus/event_source/devices", nic->name, (char *)NULL)
                                : !nic__path(device, machine->sysfs_root, "class",
                                             nic_kind_name(nic->kind), nic->name, (char *)NULL))
    status = NIC_E_RANGE;
  else if (machine->is_recorded)
    status = nic__open_recorded(c, nic__kept_of(machine, nic));
  else if (nic->kind == NIC_KIND_PMU) {
    if (machine->is_live) status = nic__open_pmu(c, device);
  } else if (nic->kind == NIC_KIND_INFINIBAND)
    status = nic__open_infiniband(c, device);
  else if (nic->kind == NIC_KIND_CXI) {
    if (nic__path(path, device, "device/telemetry", (char *)NULL))
      status = nic__open_folder(c, path, "telemetry");
  } else if (nic->kind == NIC_KIND_BXI)
    status = nic__open_folder(c, device, "bxi"); /* whatever number the driver shows */
  else {
    if (nic__path(path, device, "statistics", (char *)NULL))
      status = nic__open_folder(c, path, "net");
    if (status == NIC_OK && c->count && machine->proc_root[0])
      status = nic__open_host(c, machine->proc_root);
    if (status == NIC_OK && machine->is_live) status = nic__open_ethernet(c, nic);
    if (status == NIC_OK && machine->is_live) status = nic__open_ethtool(c);
  }
  if (status == NIC_OK && machine->is_live && nic->kind == NIC_KIND_INFINIBAND)
    status = nic__open_rdma(c);
  if (status == NIC_OK && machine->is_live) status = nic__open_health(c, nic);
  if (status != NIC_OK)
    nic__fail(err, status, "%s: counters cannot be opened: %s", nic->name, nic_status_text(status));
  else if (c->count == 0)
    status = nic__fail(err, NIC_E_NOT_FOUND, "%s: no counters under %s", nic->name, device);
  if (status == NIC_OK)
    *counters = c;
  else
    nic_counters_close(c);
  return status;
}

NIC_API void nic_counters_close(nic_counters *counters) {
  if (!counters) return;
  for (size_t i = 0; i < counters->count; i++)
    if (counters->sources[i].fd >= 0) close(counters->sources[i].fd);
  nic__groups_close(counters);
  NIC_FREE(counters->sources);
  NIC_FREE(counters);
}

/* Those of the sources that wanted names, NULL = all; the others become invalid. */
NIC__PRIVATE nic_status nic__counters_read(nic_counters *counters, const bool *wanted,
                                           nic_value *values) {
  size_t valid = 0;
  for (nic__group *g = counters->groups; g; g = g->next) g->is_wanted = !wanted;
  for (size_t i = 0; wanted && i < counters->count; i++)
    if (wanted[i] && counters->sources[i].group) counters->sources[i].group->is_wanted = true;
  for (nic__group *g = counters->groups; g; g = g->next)
    if (g->is_wanted) nic__group_read(g);
  for (size_t i = 0; i < counters->count; i++) {
    const nic__source *s = &counters->sources[i];
    const nic__group *g = s->group;
    nic_value *v = &values[i];
    memset(v, 0, sizeof *v);
    if (wanted && !wanted[i]) continue;
    if (s->kept)
      *v = s->kept->values[counters->round];
    else if (s->fd >= 0)
      nic__read_file(counters, s, v);
    else {
      v->value = g->cells[s->cell_index].value * s->counter.scale;
      v->t_before_ns = g->t_before_ns;
      v->t_after_ns = g->t_after_ns;
      v->is_valid = g->cells[s->cell_index].is_valid;
    }
    valid += v->is_valid && !(g && g->is_of_host);
  }
  counters->round = 1; /* a recording shows two looks, then the second for ever */
  return valid ? NIC_OK : NIC_E_GONE;
}

NIC_API nic_status nic_counters_read(nic_counters *counters, nic_value *values, nic_error *err) {
  if (!counters || !values)
    return nic__fail(err, NIC_E_INVAL, "counters, values: must not be NULL");
  if (nic__counters_read(counters, NULL, values) == NIC_OK) return NIC_OK;
  return nic__fail(err, NIC_E_GONE, "%s: no counter can be read any more: device or driver gone",
                   counters->name);
}
