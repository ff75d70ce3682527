/* A machine and its NICs: what each offers; small files, sorted folders, paths. */
#pragma once
#include "options.h"
#include "status.h"

/* ============================================================================================== */
/* [FIND] 3. Finding NICs: what each offers, what is missing and how to get it                    */
/* ============================================================================================== */
typedef enum nic_kind {
  NIC_KIND_PCI = 0,    /* a PCI device that no driver turned into an interface */
  NIC_KIND_NET,        /* /sys/class/net */
  NIC_KIND_INFINIBAND, /* /sys/class/infiniband */
  NIC_KIND_CXI,        /* /sys/class/cxi: HPE Slingshot */
  NIC_KIND_BXI,        /* /sys/class/bxi: Eviden BXI */
  NIC_KIND_PMU, /* /sys/bus/event_source/devices: a unit that counts events of NICs or PCIe */
  NIC_KIND_COUNT
} nic_kind;

/* What a NIC can tell: X(name, text, meaning) */
#define NIC_OFFER_LIST(X)                                                                          \
  X(COUNTERS, "counters", "bytes, packets, errors since some moment")                              \
  X(SOFT_STAMPS, "soft-stamps", "the kernel's time of a packet's hand-off and arrival")            \
  X(NIC_STAMPS, "nic-stamps", "the NIC's own time of a packet's first bit on the wire")            \
  X(CLOCK, "clock", "the NIC's clock as a PTP device")                                             \
  X(REGISTERS, "registers", "clock and counters read from the device itself")

typedef enum nic_offer {
#define NIC__X(name, text, meaning) NIC_OFFER_##name,
  NIC_OFFER_LIST(NIC__X)
#undef NIC__X
      NIC_OFFER_COUNT
} nic_offer;

typedef enum nic_answer {
  NIC_UNKNOWN = 0, /* cannot be told from here (recorded machine) */
  NIC_NO,          /* device or driver does not have it */
  NIC_BLOCKED,     /* it has, and text says what stands in the way */
  NIC_YES
} nic_answer;

typedef struct nic_bar {
  uint64_t base_address, size_bytes; /* size 0: unknown */
  bool is_memory;
} nic_bar;

/* The PCIe link and what went wrong on it, from configuration space (root only, beyond its first 64 bytes;
   also of a dump). Source: PCI Express Base Specification, 7.5.3 (capability), 7.8.4 (AER). */
typedef struct nic_pcie {
  double link_gt_per_s, most_gt_per_s; /* GT/s per lane, now and at most; 0: not known */
  int lane_count, most_lane_count;
  bool has_aer;
  uint32_t correctable, uncorrectable; /* AER status: a bit stays until somebody clears it */
} nic_pcie;

/* The link of a network interface as its kernel tells it; not of a sysfs tree. Source: the kernel's
   Documentation/networking/ethtool-netlink.rst, LINKSTATE_GET. */
typedef struct nic_link {
  bool is_known, has_link;
  int state, substate;       /* why there is none, in the kernel's numbers; -1: not told */
  int quality, most_quality; /* of the signal (SQI) now, and at most; -1: not told */
} nic_link;

/* Owned by the machine; read-only. Texts are empty when unknown. */
typedef struct nic_info {
  char name[32]; /* "eth0", "mlx5_0", "cxi0"; the PCI address when there is no interface */
  nic_kind kind;
  char pci_address[16]; /* "0000:00:03.0"; empty: not a PCI device */
  uint16_t vendor_id, device_id;
  uint32_t pci_class; /* 0x0200 = Ethernet */
  char driver[32];
  char model[96];
  nic_bar bars[6];
  nic_pcie pcie;
  nic_link link;
  bool is_up, is_loopback;
  uint64_t speed_bps; /* 0: unknown */
  uint32_t mtu_bytes;
  int ptp_index;        /* /dev/ptpN; -1: none */
  uint32_t stamp_flags; /* SOF_TIMESTAMPING_… the driver reports; 0: none, or a recorded machine */
  struct {
    nic_answer answer;
    char text[160];
  } offers[NIC_OFFER_COUNT];
} nic_info;

typedef struct nic_machine nic_machine;

typedef struct nic_find_desc {
  /* NULL = "/sys"; another folder: a recorded tree, no questions to the kernel */
  const char *sysfs_root;
  const char *dev_root;  /* NULL = "/dev" */
  const char *proc_root; /* NULL = "/proc" on this machine, none with another sysfs_root */
  /* A machine recorded by `lspci -xxxx` or `nicstat --record`; NULL = this one */
  const char *dump_path;
  bool all_pci;   /* all PCI devices, not only those that look like NICs */
  bool no_libpci; /* PCI from sysfs files even where libpci is built in */
} nic_find_desc;

/* Lists the NICs, sorted by kind and name. desc may be NULL. An empty list is not an error for this
   machine; for a dump it is (NIC_E_PARSE), because any text file is a dump without devices.
   ret NIC_OK | NIC_E_NOT_FOUND, NIC_E_RIGHTS (root, file) | NIC_E_PARSE (err->line) | NIC_E_PCI | NIC_E_NOMEM
   Not from two threads at once when libpci is built in:
   libpci's error exit is per process. */
NIC_API nic_status nic_find(const nic_find_desc *desc, nic_machine **machine, nic_error *err);
NIC_API void nic_machine_free(nic_machine *machine); /* NULL allowed */
NIC_API size_t nic_count(const nic_machine *machine);
NIC_API const nic_info *nic_at(const nic_machine *machine, size_t index); /* NULL past the end */
/* By name or PCI address; NULL when there is none. */
NIC_API const nic_info *nic_by_name(const nic_machine *machine, const char *name);
NIC_API const char *nic_kind_name(nic_kind kind);       /* "pci", "net", …, "bxi", "pmu" */
NIC_API const char *nic_offer_name(nic_offer offer);    /* "counters", "soft-stamps", … */
NIC_API const char *nic_offer_meaning(nic_offer offer); /* one line */
NIC_API const char *nic_answer_name(nic_answer answer); /* "unknown", "no", "blocked", "yes" */
/* A bit of nic_pcie.correctable or uncorrectable, as lspci names it; "" when it has no meaning. */
NIC_API const char *nic_pcie_error_name(bool is_correctable, int bit_index);
/* Why there is no link, in words: "no cable", "autonegotiation: no partner detected"; "" when the numbers
   have no meaning here. */
NIC_API const char *nic_link_state_name(int state);
NIC_API const char *nic_link_substate_name(int state, int substate);
/* What is wrong with the link of an interface that is up; finding counts from 0. Without a link: only of a
   PCI device, or where its driver says why. Signal quality: less than half of the most.
   ret false: nothing more */
NIC_API bool nic_link_finding(const nic_info *nic, int finding, char *text, size_t text_bytes);

/* ---- for later pieces ---- */
enum { NIC__PATH = 512 };

typedef struct nic__pci {
  char address[16], driver[32], model[96];
  uint16_t vendor_id, device_id;
  uint32_t pci_class;
  nic_bar bars[6];
  nic_pcie pcie;
} nic__pci;

/* What a recording holds of one NIC; index as that of nics. The parts belong to later pieces. */
typedef struct nic__kept {
  struct nic__kept_counter *counters;
  size_t counter_count, counter_capacity;
  struct nic__kept_word *words;
  size_t word_count, word_capacity;
  struct nic_clock_info *clock; /* NULL: none */
  nic_reading *readings;
  size_t reading_count, reading_capacity;
} nic__kept;

struct nic_machine {
  char sysfs_root[256], dev_root[256], proc_root[256]; /* proc_root may be empty: none */
  bool is_live;     /* this machine: the kernel may be asked, not only files read */
  bool is_recorded; /* from a dump: no files either */
  bool is_cut; /* while it was listed, memory or descriptors ran out: something may be missing */
  nic_info *nics;
  size_t nic_count, nic_capacity;
  nic__pci *pci;
  size_t pci_count, pci_capacity;
  nic__kept *kept;
  size_t kept_count, kept_capacity;
};

/* Names in a folder, sorted, so that lists do not depend on the file system. ret count; 0 when the
   folder is missing or empty. Free with nic__names_free. */
typedef struct nic__names {
  char (*name)[64];
  size_t count, capacity;
  bool is_cut; /* memory or descriptors ran out */
} nic__names;

NIC__PRIVATE const nic__kept *nic__kept_of(const nic_machine *m, const nic_info *nic);
NIC__PRIVATE bool nic__path(char *path, const char *root, ...);
NIC__PRIVATE int nic__read_line(const char *path, char *text, size_t text_bytes);
NIC__PRIVATE bool nic__read_number(const char *path, int base, int64_t *value);
NIC__PRIVATE bool nic__ran_out(int number);
NIC__PRIVATE size_t nic__names_read(const char *folder, nic__names *names);
NIC__PRIVATE void nic__names_free(nic__names *names);
NIC__PRIVATE nic_info *nic__add(nic_machine *m, nic_kind kind, const char *name);
NIC__PRIVATE bool nic__ethtool(const char *interface_name, void *request);
