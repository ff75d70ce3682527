/* Counters of performance monitoring units that look at NICs and PCIe: perf_event without the perf tool. */
#include "count_pmu.h"
#include "../base/locale.h"

/* Sources: the kernel's Documentation/ABI/testing/sysfs-bus-event_source-devices-{events,format}; for the
   units Documentation/admin-guide/perf/: hns3-pmu.rst, hisi-pcie-pmu.rst, dwc_pcie_pmu.rst, nvidia-pmu.rst,
   mrvl-pem-pmu.rst; Intel's uncore manuals for IIO. */
static const struct {
  const char *begin, *meaning;
} nic__pmus[] = {{"hns3_pmu_", "HiSilicon HNS3 network controller"},
                 {"hisi_pcie", "HiSilicon PCIe root complex"},
                 {"dwc_rootport_", "DesignWare PCIe root port"},
                 {"nvidia_pcie_pmu_", "NVIDIA Grace PCIe root ports"},
                 {"nvidia_nvlink_c2c", "NVIDIA NVLink-C2C"},
                 {"mrvl_pcie_rc_pmu_", "Marvell PCIe root complex"},
                 {"uncore_iio_", "Intel IIO: PCIe and other traffic of a stack"}};
NIC__PRIVATE const char *nic__pmu_meaning(const char *name) {
  for (size_t i = 0; i < sizeof nic__pmus / sizeof nic__pmus[0]; i++)
    if (strncmp(name, nic__pmus[i].begin, strlen(nic__pmus[i].begin)) == 0)
      return nic__pmus[i].meaning;
  return NULL;
}

/* Puts the bits of value where "config1:0-7,16" says; false: malformed, or value has more bits. */
static bool nic__pmu_place(const char *format, uint64_t value, uint64_t config[3]) {
  const char *at = strchr(format, ':');
  unsigned word = 0;
  int used = 0;
  if (!at || strncmp(format, "config", 6) != 0) return false;
  if (format[6] >= '1' && format[6] <= '2') word = (unsigned)(format[6] - '0');
  if (format + 6 + (word > 0) != at) return false;
  for (at++; *at;) {
    unsigned low, high;
    if (sscanf(at, "%2u-%2u%n", &low, &high, &used) != 2) {
      if (sscanf(at, "%2u%n", &low, &used) != 1) return false;
      high = low;
    }
    if (high > 63 || low > high) return false;
    const unsigned bits = high - low + 1;
    const uint64_t mask = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
    config[word] |= (value & mask) << low;
    value = bits == 64 ? 0 : value >> bits;
    at += used;
    if (*at == ',')
      at++;
    else if (*at)
      return false;
  }
  return value == 0;
}

NIC__PRIVATE bool nic__pmu_config(const char *folder, const char *terms, uint64_t config[3]) {
  config[0] = config[1] = config[2] = 0;
  for (const char *at = terms; *at;) {
    char path[NIC__PATH], term[64], format[64], *end;
    const size_t n = strcspn(at, ",");
    uint64_t value = 1;
    if (n == 0 || n >= sizeof term) return false;
    memcpy(term, at, n);
    term[n] = 0;
    at += n + (at[n] == ',');
    char *equal = strchr(term, '=');
    if (equal) {
      errno = 0;
      value = strtoull(equal + 1, &end, 0);
      if (errno || end == equal + 1 || *end) return false; /* "?": a value is wanted */
      *equal = 0;
    }
    if (strcmp(term, "config") == 0 || strcmp(term, "config1") == 0 || strcmp(term, "config2") == 0)
      config[term[6] ? term[6] - '0' : 0] |= value;
    else if (strchr(term, '/') || !nic__path(path, folder, "format", term, (char *)NULL) ||
             nic__read_line(path, format, sizeof format) <= 0 ||
             !nic__pmu_place(format, value, config))
      return false;
  }
  return true;
}

typedef struct nic__pmu_group {
  nic__group group;
  char folder[NIC__PATH];
  int *fds;
  size_t fd_count, fd_capacity;
  bool is_refused;
} nic__pmu_group;

static int nic__pmu_event(const char *folder, const char *name, nic__pmu_group *g) {
  char path[NIC__PATH], terms[256], cpus[64];
  struct perf_event_attr attr;
  uint64_t config[3];
  int64_t type;
  int cpu = 0;
  if (!nic__path(path, folder, "events", name, (char *)NULL) ||
      nic__read_line(path, terms, sizeof terms) <= 0 || !nic__pmu_config(folder, terms, config) ||
      !nic__path(path, folder, "type", (char *)NULL) || !nic__read_number(path, 10, &type))
    return -1;
  if (nic__path(path, folder, "cpumask", (char *)NULL) &&
      nic__read_line(path, cpus, sizeof cpus) > 0)
    cpu = atoi(cpus); /* the first of the list */
  /* The HNS3 unit counts all of its NIC only when asked to. */
  uint64_t global[3] = {0, 0, 0};
  if (nic__path(path, folder, "format/global", (char *)NULL) && access(path, R_OK) == 0 &&
      nic__pmu_config(folder, "global=1", global))
    for (int i = 0; i < 3; i++) config[i] |= global[i];
  memset(&attr, 0, sizeof attr);
  attr.size = sizeof attr;
  attr.type = (uint32_t)type;
  attr.config = config[0];
  attr.config1 = config[1];
  attr.config2 = config[2];
  const int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
  if (fd < 0 && (errno == EACCES || errno == EPERM)) g->is_refused = true;
  return fd;
}

/* "6.1e-05" and "MiB" of the event's files: how many bytes one step stands for. */
static void nic__pmu_unit(const char *folder, const char *name, nic_counter *counter) {
  char path[NIC__PATH], file[80], scale[64], unit[32];
  snprintf(file, sizeof file, "%.60s.unit", name);
  if (!nic__path(path, folder, "events", file, (char *)NULL) ||
      nic__read_line(path, unit, sizeof unit) <= 0 || strcmp(unit, "MiB") != 0)
    return;
  snprintf(file, sizeof file, "%.60s.scale", name);
  if (!nic__path(path, folder, "events", file, (char *)NULL) ||
      nic__read_line(path, scale, sizeof scale) <= 0)
    return;
  const locale_t before = nbc__locale_begin();
  const double step_bytes = strtod(scale, NULL) * 1048576;
  nbc__locale_end(before);
  if (!(step_bytes > 0.999 && step_bytes < 1e6)) return;
  counter->unit = NIC_UNIT_BYTES;
  counter->scale = (uint32_t)(step_bytes + 0.5);
}

static bool nic__pmu_ask(nic__group *group) {
  nic__pmu_group *g = (nic__pmu_group *)(void *)group;
  char path[NIC__PATH];
  nic__names names;
  uint64_t value;
  if (!group->is_opening) {
    for (size_t i = 0; i < g->fd_count; i++)
      if (read(g->fds[i], &value, sizeof value) == sizeof value)
        nic__group_tell(group, i, "pmu", "", value);
    return true;
  }
  if (!nic__path(path, g->folder, "events", (char *)NULL)) return false;
  nic__names_read(path, &names);
  group->is_out = names.is_cut;
  for (size_t i = 0; i < names.count && !group->is_out; i++) {
    const char *name = names.name[i];
    if (strchr(name, '.')) continue; /* unit and scale of another one */
    const int fd = nic__pmu_event(g->folder, name, g);
    if (fd < 0) continue;
    void *grown = nic__grow(g->fds, g->fd_count, &g->fd_capacity, sizeof *g->fds);
    nic_counter *counter = NULL;
    if (grown) {
      g->fds = (int *)grown;
      g->fds[g->fd_count++] = fd;
      value = 0;
      if (read(fd, &value, sizeof value) != sizeof value) value = 0;
      counter = nic__group_tell(group, g->fd_count - 1, "pmu", name, value);
    } else
      close(fd);
    group->is_out |= !counter;
    if (counter) nic__pmu_unit(g->folder, name, counter);
  }
  nic__names_free(&names);
  return true;
}
static void nic__pmu_close(nic__group *group) {
  nic__pmu_group *g = (nic__pmu_group *)(void *)group;
  for (size_t i = 0; i < g->fd_count; i++) close(g->fds[i]);
  NIC_FREE(g->fds);
}

NIC__PRIVATE nic_status nic__open_pmu(nic_counters *c, const char *folder) {
  nic__pmu_group *g = (nic__pmu_group *)nic__zalloc(sizeof *g);
  if (!g) return NIC_E_NOMEM;
  snprintf(g->folder, sizeof g->folder, "%s", folder);
  g->group.ask = nic__pmu_ask;
  g->group.close = nic__pmu_close;
  g->group.counters = c;
  g->group.is_opening = true;
  bool is_refused = false;
  const size_t before = c->count;
  /* a group without counters is gone after this call: so what it was refused is asked before */
  nic__names names;
  char path[NIC__PATH];
  if (nic__path(path, folder, "events", (char *)NULL) && nic__names_read(path, &names)) {
    const int fd = nic__pmu_event(folder, names.name[0], g);
    if (fd >= 0) close(fd);
    is_refused = g->is_refused;
    nic__names_free(&names);
  }
  const nic_status status = nic__group_open(c, &g->group);
  return status == NIC_OK && is_refused && c->count == before ? NIC_E_RIGHTS : status;
}
