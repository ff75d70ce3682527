/* PCI devices of this machine or a dump, by libpci or from sysfs. */
#pragma once
#include "options.h"
#include "status.h"
#include "machine.h"

/* ---- for later pieces ---- */
NIC__PRIVATE nic__pci *nic__pci_add(nic_machine *m, const char *address);
NIC__PRIVATE void nic__link_name(const char *path, char *name, size_t name_bytes);
NIC__PRIVATE void nic__pci_from_header(nic__pci *p, const uint8_t header[64]);
NIC__PRIVATE nic_status nic__pci_scan_sysfs(nic_machine *m);
#ifdef NIC_WITH_LIBPCI
NIC__PRIVATE nic_status nic__pci_scan_libpci(nic_machine *m, const char *dump_path, nic_error *err);
#endif
NIC__PRIVATE void nic__pcie_from_config(nic_pcie *pcie, const uint8_t *config, size_t bytes);
