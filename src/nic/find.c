/* Finds the NICs of a machine and says what each offers. */
#include "../base/locale.h"
#include "options.h"
#include "status.h"
#include "machine.h"
#include "link.h"
#include "maps.h"
#include "registers.h"
#include "stamps.h"
#include "pci.h"
#include "record.h"
#include "count_pmu.h"

static int nic__pci_order(const void *a, const void *b) {
  return strcmp(((const nic__pci *)a)->address, ((const nic__pci *)b)->address);
}

static nic_status nic__pci_scan(nic_machine *m, const nic_find_desc *desc, nic_error *err) {
  nic_status status = NIC_OK;
  if (desc->dump_path && (status = nic__record_load(m, desc->dump_path, err)) != NIC_OK)
    return status;
#ifdef NIC_WITH_LIBPCI
  if (!desc->no_libpci) {
    char path[NIC__PATH];
    /* A machine without PCI is no error, but libpci ends the program when the folder is missing. */
    if (!desc->dump_path && (!nic__path(path, m->sysfs_root, "bus/pci/devices", (char *)NULL) ||
                             access(path, R_OK) != 0))
      return NIC_OK;
    status = nic__pci_scan_libpci(m, desc->dump_path, err);
  } else
#endif
    status = desc->dump_path ? nic__record_scan_pci(m, desc->dump_path) : nic__pci_scan_sysfs(m);
  if (status == NIC_E_NOMEM)
    return nic__fail(err, status, "out of memory while listing PCI devices");
  if (status == NIC_OK && desc->dump_path && m->pci_count == 0 && m->nic_count == 0)
    return nic__fail(
        err, NIC_E_PARSE,
        "%s: no device in it; make it with `nicstat --record` or `lspci -xxxx` as root",
        desc->dump_path);
  if (m->pci_count) qsort(m->pci, m->pci_count, sizeof *m->pci, nic__pci_order);
  return status;
}

static bool nic__is_pci_address(const char *text) {
  static const char shape[] = "xxxx:xx:xx.d";
  size_t i = 0;
  for (; shape[i] && text[i]; i++) {
    const char c = text[i];
    const bool hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    if (shape[i] == 'x' || shape[i] == 'd' ? !hex : c != shape[i]) return false;
  }
  return shape[i] == 0 && text[i] == 0;
}

/* An interface's `device` may lie below its PCI device (virtio): the last address on the real path.
 */
static void nic__find_pci_of(nic_machine *m, nic_info *n, const char *class_name) {
  char path[NIC__PATH], *real;
  if (!nic__path(path, m->sysfs_root, "class", class_name, n->name, "device", (char *)NULL)) return;
  real = realpath(path, NULL);
  if (!real) m->is_cut |= nic__ran_out(errno);
  for (char *slash; real && (slash = strrchr(real, '/')) != NULL; *slash = 0)
    if (nic__is_pci_address(slash + 1)) {
      nic__copy(n->pci_address, sizeof n->pci_address, slash + 1);
      break;
    }
  free(real);
}

static void nic__take_pci(nic_info *n, const nic__pci *p) {
  nic__copy(n->pci_address, sizeof n->pci_address, p->address);
  n->vendor_id = p->vendor_id;
  n->device_id = p->device_id;
  n->pci_class = p->pci_class;
  memcpy(n->bars, p->bars, sizeof n->bars);
  n->pcie = p->pcie;
  memcpy(n->model, p->model, sizeof n->model);
  if (!n->driver[0]) memcpy(n->driver, p->driver, sizeof n->driver);
}

static void nic__fill_net(nic_machine *m, nic__link_asker *asker, nic_info *n) {
  char path[NIC__PATH], text[64];
  int64_t value;
  nic__names ptp;
  if (nic__path(path, m->sysfs_root, "class/net", n->name, "device/driver", (char *)NULL))
    nic__link_name(path, n->driver, sizeof n->driver);
  if (nic__path(path, m->sysfs_root, "class/net", n->name, "flags", (char *)NULL) &&
      nic__read_number(path, 16, &value)) {
    n->is_up = (value & IFF_UP) != 0;
    n->is_loopback = (value & IFF_LOOPBACK) != 0;
  }
  if (nic__path(path, m->sysfs_root, "class/net", n->name, "speed", (char *)NULL) &&
      nic__read_number(path, 10, &value) && value > 0 && value < 100000000)
    n->speed_bps = (uint64_t)value * 1000000;
  if (nic__path(path, m->sysfs_root, "class/net", n->name, "mtu", (char *)NULL) &&
      nic__read_number(path, 10, &value) && value > 0)
    n->mtu_bytes = (uint32_t)value;
  if (nic__path(path, m->sysfs_root, "class/net", n->name, "device/ptp", (char *)NULL)) {
    nic__names_read(path, &ptp);
    m->is_cut |= ptp.is_cut;
    if (ptp.count && sscanf(ptp.name[0], "ptp%8d", &n->ptp_index) != 1) n->ptp_index = -1;
    nic__names_free(&ptp);
  }
  if (!m->is_live) return;
  nic__link_state(asker, n);
  struct ethtool_ts_info ts; /* for kernels before 5.7, or without this netlink */
  memset(&ts, 0, sizeof ts);
  ts.cmd = ETHTOOL_GET_TS_INFO;
  if (!nic__link_stamps(asker, n) && nic__ethtool(n->name, &ts)) {
    n->stamp_flags = ts.so_timestamping;
    n->ptp_index = ts.phc_index;
  }
  struct ethtool_drvinfo info; /* of interfaces without a device; netlink has no message for it */
  memset(&info, 0, sizeof info);
  info.cmd = ETHTOOL_GDRVINFO;
  if (!n->driver[0] && nic__ethtool(n->name, &info)) {
    snprintf(text, sizeof text, "%.31s", info.driver);
    nic__copy(n->driver, sizeof n->driver, text);
  }
}

__attribute__((format(printf, 4, 5))) static void nic__offer(nic_info *n, nic_offer offer,
                                                             nic_answer answer, const char *format,
                                                             ...) {
  va_list args;
  va_start(args, format);
  n->offers[offer].answer = answer;
  vsnprintf(n->offers[offer].text, sizeof n->offers[offer].text, format, args);
  va_end(args);
}

static void nic__offer_stamps(const nic_machine *m, nic_info *n) {
  const uint32_t f = n->stamp_flags;
  const bool tx = (f & SOF_TIMESTAMPING_TX_SOFTWARE) != 0,
             rx = (f & SOF_TIMESTAMPING_RX_SOFTWARE) != 0;
  const bool hw = (f & SOF_TIMESTAMPING_RAW_HARDWARE) != 0;
  if (n->kind != NIC_KIND_NET) {
    nic__offer(n, NIC_OFFER_SOFT_STAMPS, NIC_NO, "no network interface, so no socket runs over it");
    nic__offer(n, NIC_OFFER_NIC_STAMPS, NIC_NO,
               "no network interface; completion stamps need the vendor's verbs");
  } else if (!m->is_live) {
    nic__offer(n, NIC_OFFER_SOFT_STAMPS, NIC_UNKNOWN,
               "recorded machine: only the kernel there knows");
    nic__offer(n, NIC_OFFER_NIC_STAMPS, NIC_UNKNOWN,
               "recorded machine: only the kernel there knows");
  } else if (!f && if_nametoindex(n->name) == 0) { /* of a container, say, with the host's /sys */
    static const char elsewhere[] = "of another network namespace: no socket here runs over it";
    nic__offer(n, NIC_OFFER_SOFT_STAMPS, NIC_NO, "%s", elsewhere);
    nic__offer(n, NIC_OFFER_NIC_STAMPS, NIC_NO, "%s", elsewhere);
  } else {
    if (!tx && !rx)
      nic__offer(n, NIC_OFFER_SOFT_STAMPS, NIC_NO, "not reported by %s",
                 n->driver[0] ? n->driver : "its driver");
    else
      nic__offer(n, NIC_OFFER_SOFT_STAMPS, NIC_YES, "%s%s%s, by socket option, no rights needed",
                 tx ? "sent (and scheduled, acknowledged)" : "", tx && rx ? ", " : "",
                 rx ? "received" : "");
    if (!hw)
      nic__offer(n, NIC_OFFER_NIC_STAMPS, NIC_NO, "not reported by %s",
                 n->driver[0] ? n->driver : "its driver");
    else
      nic__offer(n, NIC_OFFER_NIC_STAMPS, NIC_BLOCKED,
                 "off until an administrator switches them on: hwstamp_ctl -i %s -t 1 -r 0 "
                 "(package linuxptp)",
                 n->name);
  }
}

static void nic__offer_clock(const nic_machine *m, nic_info *n) {
  char path[NIC__PATH], node[24];
  if (n->ptp_index < 0 && m->is_live && n->kind == NIC_KIND_NET && !n->stamp_flags &&
      if_nametoindex(n->name) == 0) {
    nic__offer(n, NIC_OFFER_CLOCK, NIC_UNKNOWN, "of another network namespace: ask there");
    return;
  }
  if (n->ptp_index < 0) {
    nic__offer(n, NIC_OFFER_CLOCK, m->is_live ? NIC_NO : NIC_UNKNOWN, "no PTP clock registered%s%s",
               n->driver[0] ? " by driver " : "", n->driver);
    return;
  }
  snprintf(node, sizeof node, "ptp%d", n->ptp_index);
  if (!nic__path(path, m->dev_root, node, (char *)NULL)) return;
  if (!m->is_live)
    nic__offer(n, NIC_OFFER_CLOCK, NIC_UNKNOWN, "had /dev/%s when it was recorded", node);
  else if (access(path, F_OK) != 0)
    nic__offer(n, NIC_OFFER_CLOCK, NIC_BLOCKED, "%.100s is missing: is /dev a container's own?",
               path);
  else if (access(path, R_OK) != 0)
    nic__offer(n, NIC_OFFER_CLOCK, NIC_BLOCKED,
               "%.60s not readable: udev rule SUBSYSTEM==\"ptp\", MODE=\"0644\", or run as root",
               path);
  else
    nic__offer(n, NIC_OFFER_CLOCK, NIC_YES, "%.100s", path);
}

static void nic__offer_counters(nic_machine *m, nic_info *n) {
  static const char *const where[NIC_KIND_COUNT] = {NULL, "statistics", "ports", "device/telemetry",
                                                    "",   NULL};
  char path[NIC__PATH];
  nic__names names;
  if (n->kind == NIC_KIND_PMU) {
    nic__offer(n, NIC_OFFER_COUNTERS, m->is_live ? NIC_YES : NIC_UNKNOWN,
               m->is_live ? "by perf_event_open (root or CAP_PERFMON)"
                          : "recorded machine: events can only be counted there");
    return;
  }
  if (n->kind == NIC_KIND_PCI) {
    nic__offer(n, NIC_OFFER_COUNTERS, n->driver[0] ? NIC_NO : NIC_BLOCKED,
               n->driver[0] ? "driver %s makes no interface"
                            : "no driver%s: load the one for this device",
               n->driver);
    return;
  }
  if (!nic__path(path, m->sysfs_root, "class", nic_kind_name(n->kind), n->name, where[n->kind],
                 (char *)NULL))
    return;
  const size_t count = nic__names_read(path, &names);
  m->is_cut |= names.is_cut;
  nic__names_free(&names);
  if (count)
    nic__offer(n, NIC_OFFER_COUNTERS, NIC_YES, "%.120s", path);
  else
    nic__offer(n, NIC_OFFER_COUNTERS, NIC_NO, "%.110s is missing or empty", path);
}

/* Only a try tells whether the kernel lets a BAR be mapped; mapping alone reads nothing. */
static void nic__offer_registers(const nic_machine *m, nic_info *n) {
  const nic_map *map = nic_map_for(n->vendor_id, n->device_id);
  nic__bar bar = {NULL, 0};
  nic_error why;
  if (!map)
    nic__offer(n, NIC_OFFER_REGISTERS, NIC_NO,
               n->vendor_id ? "no register list for %04x:%04x" : "not a PCI device", n->vendor_id,
               n->device_id);
  else if (m->is_recorded)
    nic__offer(n, NIC_OFFER_REGISTERS, NIC_UNKNOWN, "has list %s; nothing was recorded", map->name);
  else if (nic__bar_map(m, n, map, &bar, &why) != NIC_OK)
    nic__offer(n, NIC_OFFER_REGISTERS, NIC_BLOCKED, "%.150s", why.text);
  else {
    nic__bar_close(&bar);
    nic__offer(n, NIC_OFFER_REGISTERS, NIC_YES, "list %s, BAR%d%s", map->name, map->bar_index,
               n->driver[0] ? ", without what reading would clear" : "");
  }
}

/* "2.5 Gb/sec (1X SDR)": bit/s, 0 for what is no rate. */
static uint64_t nic__find_rate_bps(const char *text) {
  double gbit_per_s = 0;
  const locale_t before = nbc__locale_begin();
  const bool found = sscanf(text, "%lf Gb/sec", &gbit_per_s) == 1;
  nbc__locale_end(before);
  return found && gbit_per_s > 0 && gbit_per_s < 1e6 ? (uint64_t)(gbit_per_s * 1e9) : 0;
}

/* A NIC of a fabric is up when a port is: InfiniBand says "4: ACTIVE", Slingshot's port/link "up"; where
   nothing says that it is not, it is taken for up. */
static void nic__fill_fabric(nic_machine *m, nic_info *n) {
  char path[NIC__PATH], text[64];
  nic__names ports;
  if (n->kind != NIC_KIND_INFINIBAND) {
    n->is_up = !nic__path(path, m->sysfs_root, "class", nic_kind_name(n->kind), n->name,
                          "device/port/link", (char *)NULL) ||
               nic__read_line(path, text, sizeof text) <= 0 || strcmp(text, "down") != 0;
    return;
  }
  if (!nic__path(path, m->sysfs_root, "class/infiniband", n->name, "ports", (char *)NULL)) return;
  nic__names_read(path, &ports);
  m->is_cut |= ports.is_cut;
  for (size_t i = 0; i < ports.count; i++) {
    const char *folder = "class/infiniband", *port = ports.name[i], *end = NULL;
    if (!nic__path(path, m->sysfs_root, folder, n->name, "ports", port, "state", end) ||
        nic__read_line(path, text, sizeof text) <= 0 || strncmp(text, "4:", 2) != 0)
      continue;
    n->is_up = true;
    if (n->speed_bps == 0 &&
        nic__path(path, m->sysfs_root, folder, n->name, "ports", port, "rate", end) &&
        nic__read_line(path, text, sizeof text) > 0)
      n->speed_bps = nic__find_rate_bps(text);
  }
  nic__names_free(&ports);
}

/* Units that count events of NICs and PCIe; they are no interfaces, and have no stamps. */
static nic_status nic__find_pmus(nic_machine *m) {
  char path[NIC__PATH];
  nic__names names;
  nic_status status = NIC_OK;
  if (!nic__path(path, m->sysfs_root, "bus/event_source/devices", (char *)NULL)) return NIC_OK;
  nic__names_read(path, &names);
  m->is_cut |= names.is_cut;
  for (size_t i = 0; i < names.count && status == NIC_OK; i++) {
    const char *meaning = nic__pmu_meaning(names.name[i]);
    nic_info *n = meaning ? nic__add(m, NIC_KIND_PMU, names.name[i]) : NULL;
    if (meaning && !n) status = NIC_E_NOMEM;
    if (n) nic__copy(n->model, sizeof n->model, meaning);
  }
  nic__names_free(&names);
  return status;
}

static nic_status nic__find_class(nic_machine *m, nic_kind kind) {
  char path[NIC__PATH];
  nic__names names;
  nic_status status = NIC_OK;
  nic__link_asker asker = {{-1, 0, NULL}, 0};
  if (!nic__path(path, m->sysfs_root, "class", nic_kind_name(kind), (char *)NULL)) return NIC_OK;
  if (m->is_live && kind == NIC_KIND_NET) nic__link_open(&asker);
  nic__names_read(path, &names);
  m->is_cut |= names.is_cut;
  for (size_t i = 0; i < names.count && status == NIC_OK; i++) {
    struct stat st; /* /sys/class/net also holds plain files such as bonding_masters */
    if (!nic__path(path, m->sysfs_root, "class", nic_kind_name(kind), names.name[i],
                   (char *)NULL) ||
        stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
      continue;
    nic_info *n = nic__add(m, kind, names.name[i]);
    if (!n)
      status = NIC_E_NOMEM;
    else {
      nic__find_pci_of(m, n, nic_kind_name(kind));
      if (kind == NIC_KIND_NET)
        nic__fill_net(m, &asker, n);
      else
        nic__fill_fabric(m, n);
    }
  }
  nic__names_free(&names);
  nic__link_close(&asker);
  return status;
}

/* Ethernet and other network controllers, and InfiniBand as a serial bus. */
static bool nic__looks_like_nic(const nic__pci *p) {
  return p->pci_class >> 8 == 0x02 || p->pci_class == 0x0c06;
}

/* PCI facts for interfaces; entries of their own for devices without one. */
static nic_status nic__join_pci(nic_machine *m, bool all_pci) {
  const size_t interfaces = m->nic_count;
  for (size_t i = 0; i < m->pci_count; i++) {
    bool used = false;
    for (size_t k = 0; k < interfaces; k++)
      if (strcmp(m->nics[k].pci_address, m->pci[i].address) == 0) {
        nic__take_pci(&m->nics[k], &m->pci[i]);
        used = true;
      }
    if (used || !(all_pci || nic__looks_like_nic(&m->pci[i]))) continue;
    nic_info *n = nic__add(m, NIC_KIND_PCI, m->pci[i].address);
    if (!n) return NIC_E_NOMEM;
    nic__take_pci(n, &m->pci[i]);
  }
  return NIC_OK;
}

NIC_API nic_status nic_find(const nic_find_desc *desc_in, nic_machine **machine, nic_error *err) {
  nic_find_desc desc;
  memset(&desc, 0, sizeof desc);
  if (desc_in) desc = *desc_in;
  if (!machine) return nic__fail(err, NIC_E_INVAL, "machine: must not be NULL");
  *machine = NULL;
  const char *sysfs = desc.sysfs_root ? desc.sysfs_root : "/sys",
             *dev = desc.dev_root ? desc.dev_root : "/dev";
  const bool is_live = !desc.dump_path && strcmp(sysfs, "/sys") == 0;
  const char *proc = desc.proc_root ? desc.proc_root : is_live ? "/proc" : "";
  nic_machine *m = (nic_machine *)nic__zalloc(sizeof *m);
  if (!m) return nic__fail(err, NIC_E_NOMEM, "out of memory");
  nic_status status = NIC_OK;
  if (strlen(sysfs) >= sizeof m->sysfs_root || strlen(dev) >= sizeof m->dev_root ||
      strlen(proc) >= sizeof m->proc_root)
    status = nic__fail(err, NIC_E_RANGE, "sysfs_root, dev_root, proc_root: at most %zu characters",
                       sizeof m->sysfs_root - 1);
  else {
    strcpy(m->sysfs_root, sysfs);
    strcpy(m->dev_root, dev);
    strcpy(m->proc_root, proc);
    m->is_recorded = desc.dump_path != NULL;
    m->is_live = is_live;
    if (!desc.dump_path && access(sysfs, R_OK | X_OK) != 0)
      status =
          nic__fail(err, nic__of_errno(errno), "%s: %s; mount sysfs there or name another folder",
                    sysfs, strerror(errno));
  }
  if (status == NIC_OK) status = nic__pci_scan(m, &desc, err);
  for (int kind = NIC_KIND_NET; kind < NIC_KIND_PMU && status == NIC_OK && !desc.dump_path; kind++)
    status = nic__find_class(m, (nic_kind)kind);
  if (status == NIC_OK && !desc.dump_path) status = nic__find_pmus(m);
  if (status == NIC_OK) status = nic__join_pci(m, desc.all_pci);
  for (size_t i = m->kept_count; i < m->nic_count; i++) { /* a recording brings its own */
    nic__offer_counters(m, &m->nics[i]);
    nic__offer_stamps(m, &m->nics[i]);
    nic__offer_clock(m, &m->nics[i]);
    nic__offer_registers(m, &m->nics[i]);
  }
  if (status == NIC_OK && m->is_cut) status = NIC_E_NOMEM;
  if (status == NIC_E_NOMEM)
    nic__fail(err, status, "out of memory or file descriptors while listing NICs");
  if (status == NIC_OK)
    *machine = m;
  else
    nic_machine_free(m);
  return status;
}
