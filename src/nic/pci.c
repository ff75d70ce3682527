/* PCI devices of this machine or a dump, by libpci or from sysfs. */
#include "pci.h"
#include "options.h"
#include "status.h"
#include "machine.h"
#include "stamps.h"

NIC__PRIVATE nic__pci *nic__pci_add(nic_machine *m, const char *address) {
  void *grown = nic__grow(m->pci, m->pci_count, &m->pci_capacity, sizeof *m->pci);
  if (!grown) return NULL;
  m->pci = (nic__pci *)grown;
  nic__pci *p = &m->pci[m->pci_count++];
  memset(p, 0, sizeof *p);
  nic__copy(p->address, sizeof p->address, address);
  return p;
}

/* Last part of where a link points: the driver's name. */
NIC__PRIVATE void nic__link_name(const char *path, char *name, size_t name_bytes) {
  char target[NIC__PATH];
  const ssize_t n = readlink(path, target, sizeof target - 1);
  name[0] = 0;
  if (n <= 0) return;
  target[n] = 0;
  const char *slash = strrchr(target, '/');
  nic__copy(name, name_bytes, slash ? slash + 1 : target);
}

/* Lines "start end flags" of the file `resource`: the six BARs; bit 9 of the flags says memory. */
static void nic__pci_read_resource(nic_machine *m, const char *path, nic__pci *p) {
  FILE *file = fopen(path, "re");
  char line[128];
  if (!file) {
    m->is_cut |= nic__ran_out(errno);
    return;
  }
  for (int i = 0; i < 6 && fgets(line, sizeof line, file); i++) {
    unsigned long long start, end, flags;
    if (sscanf(line, "%llx %llx %llx", &start, &end, &flags) != 3) break;
    p->bars[i].base_address = start;
    p->bars[i].size_bytes = end > start ? end - start + 1 : 0;
    p->bars[i].is_memory = (flags & 0x200) != 0;
  }
  fclose(file);
}

/* What libpci does not tell or, when it is not there, all of it. */
static void nic__pci_from_sysfs(nic_machine *m, nic__pci *p) {
  char path[NIC__PATH];
  int64_t value;
  const char *folder = "bus/pci/devices", *at = p->address, *end = NULL;
  if (nic__path(path, m->sysfs_root, folder, at, "vendor", end) &&
      nic__read_number(path, 16, &value))
    p->vendor_id = (uint16_t)value;
  if (nic__path(path, m->sysfs_root, folder, at, "device", end) &&
      nic__read_number(path, 16, &value))
    p->device_id = (uint16_t)value;
  if (nic__path(path, m->sysfs_root, folder, at, "class", end) &&
      nic__read_number(path, 16, &value))
    p->pci_class = (uint32_t)value >> 8;
  if (nic__path(path, m->sysfs_root, folder, at, "driver", end))
    nic__link_name(path, p->driver, sizeof p->driver);
  if (nic__path(path, m->sysfs_root, folder, at, "resource", end))
    nic__pci_read_resource(m, path, p);
  snprintf(p->model, sizeof p->model, "PCI device %04x:%04x", p->vendor_id, p->device_id);
  uint8_t config[4096];
  const int fd = nic__path(path, m->sysfs_root, folder, at, "config", end)
                     ? open(path, O_RDONLY | O_CLOEXEC)
                     : -1;
  if (fd < 0) return;
  const ssize_t n = read(fd, config, sizeof config);
  close(fd);
  if (n > 0) nic__pcie_from_config(&p->pcie, config, (size_t)n);
}

/* Type 0 header: ids, class, six BARs; a 64-bit BAR takes two places. */
NIC__PRIVATE void nic__pci_from_header(nic__pci *p, const uint8_t header[64]) {
  p->vendor_id = (uint16_t)(header[0] | header[1] << 8);
  p->device_id = (uint16_t)(header[2] | header[3] << 8);
  p->pci_class = (uint32_t)(header[10] | header[11] << 8);
  for (int i = 0; i < 6 && (header[14] & 0x7f) == 0; i++) {
    uint64_t bar = 0;
    const int wide = (header[16 + 4 * i] & 7) == 4 && i < 5;
    for (int k = 0; k < (wide ? 8 : 4); k++) bar |= (uint64_t)header[16 + 4 * i + k] << 8 * k;
    p->bars[i].is_memory = bar != 0 && (bar & 1) == 0;
    p->bars[i].base_address = bar & ~(uint64_t)((bar & 1) ? 3 : 15);
    i += wide;
  }
  snprintf(p->model, sizeof p->model, "PCI device %04x:%04x", p->vendor_id, p->device_id);
}

static uint32_t nic__config_word(const uint8_t *config, size_t at) {
  return (uint32_t)config[at] | (uint32_t)config[at + 1] << 8 | (uint32_t)config[at + 2] << 16 |
         (uint32_t)config[at + 3] << 24;
}

/* As much of configuration space as is known. The chains of capabilities come from a device or a file:
   they may lead anywhere, or in circles. */
NIC__PRIVATE void nic__pcie_from_config(nic_pcie *pcie, const uint8_t *config, size_t bytes) {
  static const double speeds_gt_per_s[] = {0, 2.5, 5, 8, 16, 32, 64};
  if (bytes < 64 || !(config[6] & 0x10)) return; /* no capabilities */
  size_t at = config[0x34] & 0xfcu;
  for (int i = 0; i < 48 && at >= 64 && at + 20 <= bytes && at < 256;
       i++, at = config[at + 1] & 0xfcu) {
    if (config[at] != 0x10) continue;
    const uint32_t can = nic__config_word(config, at + 12),
                   is = nic__config_word(config, at + 16) >> 16;
    pcie->most_gt_per_s = (can & 15) <= 6 ? speeds_gt_per_s[can & 15] : 0;
    pcie->link_gt_per_s = (is & 15) <= 6 ? speeds_gt_per_s[is & 15] : 0;
    pcie->most_lane_count = (int)(can >> 4 & 63);
    pcie->lane_count = (int)(is >> 4 & 63);
    break;
  }
  at = 256;
  for (int i = 0; i < 256 && at >= 256 && at + 20 <= bytes; i++) {
    const uint32_t head = nic__config_word(config, at);
    if ((head & 0xffff) == 1) {
      pcie->has_aer = true;
      pcie->uncorrectable = nic__config_word(config, at + 4);
      pcie->correctable = nic__config_word(config, at + 16);
      if (pcie->correctable == UINT32_MAX) memset(pcie, 0, sizeof *pcie); /* nobody answered */
      return;
    }
    at = head >> 20 & 0xffcu;
  }
}

NIC__PRIVATE nic_status nic__pci_scan_sysfs(nic_machine *m) {
  char path[NIC__PATH];
  nic__names names;
  nic_status status = NIC_OK;
  if (!nic__path(path, m->sysfs_root, "bus/pci/devices", (char *)NULL)) return NIC_OK;
  nic__names_read(path, &names);
  m->is_cut |= names.is_cut;
  for (size_t i = 0; i < names.count && status == NIC_OK; i++) {
    nic__pci *p = nic__pci_add(m, names.name[i]);
    if (!p)
      status = NIC_E_NOMEM;
    else
      nic__pci_from_sysfs(m, p);
  }
  nic__names_free(&names);
  return status;
}

#ifdef NIC_WITH_LIBPCI
/* libpci reports errors by a function that must not return and gets no context: so all calls stand
   inside one setjmp, and its target is the one mutable static of this file (one per thread). After
   a longjmp the access object is half made; it is left alone, a small leak on a path that ends a
   scan. */
typedef struct nic__pci_trap {
  jmp_buf back;
  char text[200];
} nic__pci_trap;
static __thread nic__pci_trap *nic__pci_trap_now;

__attribute__((noreturn, format(printf, 1, 2))) static void nic__pci_on_error(char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(nic__pci_trap_now->text, sizeof nic__pci_trap_now->text, format, args);
  va_end(args);
  longjmp(nic__pci_trap_now->back, 1);
}
__attribute__((format(printf, 1, 2))) static void nic__pci_on_talk(char *format, ...) {
  (void)format;
}

static nic_status nic__pci_take(nic_machine *m, struct pci_access *a, struct pci_dev *d) {
  char address[16], name[96];
  snprintf(address, sizeof address, "%04x:%02x:%02x.%d", (unsigned)d->domain & 0xffffu, d->bus,
           d->dev, d->func);
  nic__pci *p = nic__pci_add(m, address);
  if (!p) return NIC_E_NOMEM;
  const int known = pci_fill_info(d, PCI_FILL_IDENT | PCI_FILL_CLASS | PCI_FILL_BASES |
                                         PCI_FILL_SIZES | PCI_FILL_DRIVER);
  p->vendor_id = d->vendor_id;
  p->device_id = d->device_id;
  if (known & PCI_FILL_CLASS) p->pci_class = d->device_class;
  for (int i = 0; i < 6 && (known & PCI_FILL_BASES); i++) {
    const pciaddr_t base = d->base_addr[i];
    p->bars[i].is_memory = base != 0 && (base & PCI_BASE_ADDRESS_SPACE_IO) == 0;
    p->bars[i].base_address = base & (p->bars[i].is_memory ? PCI_ADDR_MEM_MASK : PCI_ADDR_IO_MASK);
    p->bars[i].size_bytes = known & PCI_FILL_SIZES ? d->size[i] : 0;
  }
  const char *driver = known & PCI_FILL_DRIVER ? pci_get_string_property(d, PCI_FILL_DRIVER) : NULL;
  if (driver) nic__copy(p->driver, sizeof p->driver, driver);
  const char *model = pci_lookup_name(a, name, sizeof name, PCI_LOOKUP_VENDOR | PCI_LOOKUP_DEVICE,
                                      d->vendor_id, d->device_id);
  nic__copy(p->model, sizeof p->model, model ? model : "?");
  uint8_t config[4096];
  size_t bytes = 0;
  static const size_t ends[] = {64, 256, 4096}; /* what is not readable ends it */
  for (size_t i = 0; i < 3 && bytes == (i ? ends[i - 1] : 0); i++)
    if (pci_read_block(d, (int)bytes, config + bytes, (int)(ends[i] - bytes))) bytes = ends[i];
  while (bytes >= 256 && bytes < sizeof config && pci_read_block(d, (int)bytes, config + bytes, 16))
    bytes += 16; /* of a dump that is cut off */
  nic__pcie_from_config(&p->pcie, config, bytes);
  return NIC_OK;
}

/* Everything that may end in nic__pci_on_error. */
static nic_status nic__pci_run(nic_machine *m, const char *dump_path) {
  char path[NIC__PATH];
  nic_status status = NIC_OK;
  struct pci_access *a = pci_alloc();
  a->error = nic__pci_on_error;
  a->warning = nic__pci_on_talk;
  a->debug = nic__pci_on_talk;
  if (dump_path) { /* by name: the number of the method differs between versions */
    a->method = (unsigned)pci_lookup_method((char *)"dump");
    pci_set_param(a, (char *)"dump.name", (char *)dump_path);
  } else if (nic__path(path, m->sysfs_root, "bus/pci", (char *)NULL)) {
    a->method = (unsigned)pci_lookup_method((char *)"linux-sysfs");
    pci_set_param(a, (char *)"sysfs.path", path);
  }
  pci_init(a);
  pci_scan_bus(a);
  for (struct pci_dev *d = a->devices; d && status == NIC_OK; d = d->next)
    status = nic__pci_take(m, a, d);
  pci_cleanup(a);
  return status;
}

NIC__PRIVATE nic_status nic__pci_scan_libpci(nic_machine *m, const char *dump_path,
                                             nic_error *err) {
  nic__pci_trap trap;
  trap.text[0] = 0;
  nic__pci_trap_now = &trap;
  if (setjmp(trap.back) != 0) {
    nic__pci_trap_now = NULL;
    return nic__fail(err, NIC_E_PCI, "libpci: %s", trap.text);
  }
  const nic_status status = nic__pci_run(m, dump_path);
  nic__pci_trap_now = NULL;
  return status;
}
#endif
