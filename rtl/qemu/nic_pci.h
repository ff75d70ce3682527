/* nic_pci.h: the NIC in RTL as PCI devices of a machine that QEMU emulates.

     int ends[2];                                     a stream socket per NIC, the other end is QEMU's:
     socketpair(AF_UNIX, SOCK_STREAM, 0, ends);       -device x-pci-proxy-dev,fd=N
     nic_pci_desc desc = nic_pci_default();
     desc.sockets[0] = ends[0], desc.nic_count = 1;
     nic_pci *pci = nic_pci_create(&desc);
     while (nic_pci_serve(pci, 100) > 0) ;            until QEMU has closed all of them
     nic_pci_destroy(pci);

   QEMU's proxy device (7.0 and later; docs/devel/multi-process.rst there) hands every access to configuration
   space and BAR over its socket and gives away the guest's memory as file descriptors, so the guest needs
   memory-backend-memfd,share=on. All NICs of a server are joined by one network, as in nic_cosim.h.

   TIME. A Verilated NIC is some hundred times slower than a real one. So that its clock, its stamps and
   what the guest measures still are one time, the NICs are slower than the guest's world by a constant factor:
   desc.slower ns of the guest are one ns of the NIC, always. Before any access is answered, the NICs are
   simulated up to that moment; afterwards nothing is answered before the guest's clock has come to where the access
   ended. While nothing is at work their time is skipped. A busy host makes accesses late, never the clock wrong.

   CONFIGURATION SPACE. 256 bytes, no capabilities. Vendor and device NIC_PCI_VENDOR, NIC_PCI_DEVICE (a
   number that QEMU's teaching device uses too: this project has none of its own), class 02 08 (fabric
   controller), subsystem device: the factor slower. BAR 0: 128 KiB, rtl/REGISTERS.md. Interrupt pin A;
   the proxy brings it to the guest under KVM only, and carries no MSI: without KVM a driver polls.

   One thread per server. Nothing global, nothing printed. */
#ifndef NIC_PCI_H_INCLUDED
#define NIC_PCI_H_INCLUDED
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

enum {
  NIC_PCI_VENDOR = 0x1234,
  NIC_PCI_DEVICE = 0x4e42,
  NIC_PCI_CLASS = 0x0208,
  NIC_PCI_SLOWER = 1000,
  NIC_PCI_MAX = 8
};

typedef struct nic_pci nic_pci;
typedef struct nic_pci_desc {
  int nic_count;            /* 1 to NIC_PCI_MAX */
  int sockets[NIC_PCI_MAX]; /* closed by nic_pci_destroy() */
  int slower;               /* 1 to 65535 */
  /* The guest's clock, in ns, and a way to wait until it shows t_ns at least. NULL: CLOCK_MONOTONIC */
  int64_t (*now_ns)(void *user);
  void (*wait_ns)(void *user, int64_t t_ns);
  void *user;
} nic_pci_desc;
typedef struct nic_pci_counts {
  uint64_t config_reads, config_writes, bar_reads, bar_writes, memory_maps, resets;
  uint64_t bytes_read, bytes_written; /* of the guest's memory, by the NIC */
  /* Accesses outside of BAR or memory, or while the guest had them switched off */
  uint64_t refused;
} nic_pci_counts;

nic_pci_desc nic_pci_default(void); /* one NIC without socket, slower by NIC_PCI_SLOWER */
nic_pci *nic_pci_create(const nic_pci_desc *desc); /* NULL: a field is out of range, or no memory */
void nic_pci_destroy(nic_pci *pci);                /* NULL allowed */
/* Waits for messages up to timeout_ms (-1: no limit), answers those that are there, and lets the NICs' time pass.
   ret sockets that are still open; -1: one said what the protocol does not know (nic_pci_error), and is closed */
int nic_pci_serve(nic_pci *pci, int timeout_ms);
const char *nic_pci_error(const nic_pci *pci); /* "" when there was none */
nic_pci_counts nic_pci_counts_of(const nic_pci *pci, int nic);

#ifdef __cplusplus
}
#endif
#endif /* NIC_PCI_H_INCLUDED */
