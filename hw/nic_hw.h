/* nic_hw.h 0.2.0: what the network cards of this machine can tell about transfers, read-only.
   Linux. Public domain or MIT-0, at your choice (end of file).

   In ONE C or C++ file of the program, and nowhere else, write
       #define NIC_HW_IMPLEMENTATION
       #include "nic_hw.h"
   and everywhere else just include it. Compile that one file with -D_GNU_SOURCE (or -std=gnu11).
   With -DNIC_WITH_LIBPCI it finds PCI devices through libpci (-lpci) instead of sysfs alone.

   Example (complete; cc -D_GNU_SOURCE x.c):

       #define NIC_HW_IMPLEMENTATION
       #include "nic_hw.h"

       int main(void) {
         nic_machine *machine;
         nic_error error;
         if (nic_find(NULL, &machine, &error)) return fprintf(stderr, "%s\n", error.text), 1;
         for (size_t i = 0; i < nic_count(machine); i++) {
           const nic_info *nic = nic_at(machine, i);
           printf("%s %s\n", nic->name, nic->model);
           for (int k = 0; k < NIC_OFFER_COUNT; k++) // what it can tell, and what is missing
             printf("  %-12s %s\n", nic_offer_name((nic_offer)k), nic->offers[k].text);
         }
         nic_machine_free(machine);
         return 0;
       }

   CONTENTS (search for the tag: it stands here, at the API and at the implementation)
     [CONFIG]     1. Options: macros to define before including
     [STATUS]     2. Status codes, errors with text
     [FIND]       3. Finding NICs: what each offers, what is missing and how to get it
     [COUNTERS]   4. Counters: bytes, packets, retransmissions; differences and rates
     [REGISTERS]  5. Registers: clock and counters from the device itself, by white lists
     [STAMPS]     6. When the kernel or the NIC saw a socket's packets
     [CLOCK]      7. Reading a NIC's clock: PTP device, registers, or the kernel's own
     [RECORD]     8. A machine in a file: to look at elsewhere what was seen here
     [NBC]        9. For nbc_overlap.h: counters per section, clocks as witnesses (NIC_WITH_NBC)

   Beside it, each a header of its own: nic_tcp.h and nic_udp.h, ranks over TCP or UDP with transfer
   stamps from the kernel or the NIC; nic_meet.h, how they find each other.

   CONVENTIONS
     Host time is int64_t nanoseconds of CLOCK_MONOTONIC_RAW (or of your own clock, see nic_host).
     Nothing is ever measured "at" a time: a reading lies between two host times, before and after.
     Names end with their unit. Functions return a nic_status unless said; NIC_OK is 0, errors are
     negative. The library never exits, never writes to a device and prints nothing.
     NULL where a pointer is wanted: what returns a status returns NIC_E_INVAL, what returns bytes -1 with EINVAL,
     the rest does nothing and returns 0, false, NULL, "?" or "", an index -1; where NULL means something, it is said there.
     Threads: any thread on different objects; one at a time on one object. */

#ifndef NIC_HW_H_INCLUDED
#  define NIC_HW_H_INCLUDED
#ifdef NBC_LINES
#line 1 "src/base/private.h"
#endif
/* What is shared between pieces and by nobody else. base/ stands in both single headers: the first
   one implemented in a file brings it, so its parts carry guards that both know. */

#ifdef NBC_LINES
#line 1 "src/base/locale.h"
#endif
/* Numbers with a point, also in a program that has set a locale with a comma. */

#ifdef NBC_LINES
#line 1 "src/nic/options.h"
#endif
/* Options of nic_hw.h, and what its pieces need of the system. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ============================================================================================== */
/* [CONFIG] 1. Options: macros to define before including                                         */
/* ============================================================================================== */
/*  macro                   default   where                 meaning
    NIC_HW_IMPLEMENTATION   -         one file              compile the implementation here
    NIC_STATIC              -         every including file  all functions static (private copy)
    NIC_API                 extern    every including file  linkage of your own
    NIC_WITH_LIBPCI         -         implementing file     PCI through libpci: names, recorded machines
    NIC_WITH_NBC            -         every including file  what stands in section 9
    NIC_MALLOC, NIC_FREE    libc      implementing file     both or none */
#ifndef NIC_API
#  if !defined(NIC_STATIC)
#    define NIC_API extern
#  elif defined(__GNUC__)
#    define NIC_API __attribute__((unused)) static
#  else
#    define NIC_API static
#  endif
#endif

#ifdef NBC_LINES
#line 1 "src/nic/open.h"
#endif
/* C, also where C++ includes it. */
#ifdef __cplusplus
extern "C" {
#endif
#ifdef NBC_LINES
#line 1 "src/nic/status.h"
#endif
/* Status codes, errors with text, host time, memory. */



/* ============================================================================================== */
/* [STATUS] 2. Status codes, errors with text                                                     */
/* ============================================================================================== */
/* -1 … argument, -100 … system, -400 … hardware; shared values mean the same as in nbc_overlap.h */
#define NIC_STATUS_LIST(X)                                                                         \
  X(NIC_OK, 0, "ok")                                                                               \
  X(NIC_E_INVAL, -1, "invalid argument")                                                           \
  X(NIC_E_RANGE, -2, "value out of range")                                                         \
  X(NIC_E_PARSE, -3, "input is malformed")                                                         \
  X(NIC_E_FULL, -5, "a fixed capacity is exhausted")                                               \
  X(NIC_E_NOT_FOUND, -7, "not found")                                                              \
  X(NIC_E_NOT_BUILT, -9, "this part was not built in")                                             \
  X(NIC_E_NOMEM, -100, "out of memory")                                                            \
  X(NIC_E_IO, -102, "file cannot be read or written")                                              \
  X(NIC_E_SYSTEM, -104, "system call failed")                                                      \
  X(NIC_E_PCI, -400, "libpci failed")                                                              \
  X(NIC_E_RIGHTS, -401, "not permitted")                                                           \
  X(NIC_E_GONE, -402, "device gone")                                                               \
  X(NIC_E_UNSUPPORTED, -403, "not offered by this device or driver")                               \
  X(NIC_E_REFUSED, -404, "refused, because reading would change the device")                       \
  X(NIC_E_STOPPED, -405, "the device's clock stands still")                                        \
  X(NIC_E_RATE, -406, "the device's clock runs at an impossible rate")                             \
  X(NIC_E_BROKEN, -407, "clock readings contradict each other: a clock was set or steered")

typedef enum nic_status {
#define NIC__X(name, value, text) name = value,
  NIC_STATUS_LIST(NIC__X)
#undef NIC__X
      NIC_STATUS_FORCE_INT32 = 0x7fffffff
} nic_status;

/* What went wrong, for people: one line that says what and, where it is known, what to do. Filled
   on error only; pass NULL where a nic_error * is asked for and you do not care. */
typedef struct nic_error {
  nic_status status;
  int line; /* of the input, 1-based; 0 when there is none */
  char text[256];
} nic_error;

/* "NIC_E_INVAL". Never NULL. Any thread. */
NIC_API const char *nic_status_name(nic_status status);
/* "invalid argument". Never NULL. Any thread. */
NIC_API const char *nic_status_text(nic_status status);

/* The host's clock. A zeroed one, or NULL where a nic_host * is asked for: CLOCK_MONOTONIC_RAW. */
typedef struct nic_host {
  int64_t (*now_ns)(void *user);
  void *user;
} nic_host;
NIC_API int64_t nic_host_now_ns(const nic_host *host);

/* What is asked of the kernel; tests put a simulated one in its place. Both as the system calls:
   0 or -1 with errno; clock_id also that of an open PTP device. */
typedef struct nic_system {
  int (*control)(void *user, int fd, unsigned long request, void *argument);
  int64_t (*clock_ns)(void *user, int clock_id); /* -1: failed */
  void *user;
} nic_system;

/* One bracketed reading of a NIC's clock: it showed `ticks` at some host time in [before, after]. */
typedef struct nic_reading {
  int64_t t_before_ns, t_after_ns;
  uint64_t ticks;
} nic_reading;

#ifdef NBC_LINES
#line 1 "src/nic/machine.h"
#endif
/* A machine and its NICs: what each offers; small files, sorted folders, paths. */




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

#ifdef NBC_LINES
#line 1 "src/nic/counters.h"
#endif
/* Counters: what they are, differences and rates; the sources they are read from. */





/* ============================================================================================== */
/* [COUNTERS] 4. Counters: bytes, packets, retransmissions; differences and rates                 */
/* ============================================================================================== */
typedef enum nic_unit { NIC_UNIT_EVENTS = 0, NIC_UNIT_BYTES, NIC_UNIT_PACKETS } nic_unit;

/* How a counter behaves at its end. */
typedef enum nic_end {
  NIC_END_WRAPS = 0, /* starts again at 0 */
  NIC_END_STICKS     /* stays at its largest value (InfiniBand error counters) */
} nic_end;

/* "host/…" counts what TCP and UDP of this network namespace sent again, waited for or lost, over all
   NICs: it stands next to each network interface's own counters, because no NIC knows of it. */
typedef struct nic_counter {
  char name[72]; /* "net/rx_bytes", "port1/port_xmit_data", "ethtool/tx_pause", "telemetry/…",
                    "host/TcpRetransSegs" (as nstat names it) */
  nic_unit unit;
  nic_end end;
  int width_bits; /* 64 when the source does not say less */
  uint32_t scale; /* what one step stands for; values below are already multiplied (IB words: 4) */
} nic_counter;

typedef struct nic_value {
  uint64_t value;
  int64_t t_before_ns, t_after_ns; /* host time: the value was true at some time between */
  bool is_valid;                   /* false: this counter could not be read this time */
} nic_value;

typedef enum nic_change {
  NIC_CHANGE_NONE = 0, /* one of the values is not valid: nothing known */
  NIC_CHANGE_EXACT,
  NIC_CHANGE_WRAPPED, /* went through its end once, counted */
  NIC_CHANGE_RESET,   /* went back: only "at least delta" is known */
  NIC_CHANGE_STUCK    /* at its largest value: "at least delta" */
} nic_change;

typedef struct nic_delta {
  uint64_t delta;
  nic_change change;
  double per_s_lo,
      per_s_hi; /* the true mean rate lies between; hi is infinite for RESET and STUCK */
} nic_delta;

typedef struct nic_counters nic_counters;

/* Opens all counters of one NIC and keeps their files open. A NIC without any: NIC_E_NOT_FOUND.
   host may be NULL; it is copied. */
NIC_API nic_status nic_counters_open(const nic_machine *machine, const nic_info *nic,
                                     const nic_host *host, nic_counters **counters, nic_error *err);
NIC_API void nic_counters_close(nic_counters *counters); /* NULL allowed */
NIC_API size_t nic_counters_count(const nic_counters *counters);
NIC_API const nic_counter *nic_counters_at(const nic_counters *counters, size_t index);
/* Index of a name, or of its part after the last '/'; -1 when there is none. */
NIC_API int nic_counters_index(const nic_counters *counters, const char *name);
/* Reads all, in order; values has room for nic_counters_count. Cost: two clock readings and one
   system call per counter; one for all of ethtool, two for all of the host. ret NIC_OK (some may be invalid) | NIC_E_GONE (none could be read) */
NIC_API nic_status nic_counters_read(nic_counters *counters, nic_value *values, nic_error *err);
/* What happened between two values of one counter. A counter below 64 bits that went back by more
   than half its range wrapped; any other step back is a reset. */
NIC_API nic_delta nic_counter_delta(const nic_counter *counter, const nic_value *before,
                                    const nic_value *after);
NIC_API const char *nic_unit_name(nic_unit unit); /* "events", "bytes", "packets" */
/* What a counter counts, in one line, by the last part of its name; "" where the name is a driver's own. */
NIC_API const char *nic_counter_meaning(const char *name);
NIC_API const char *nic_change_name(
    nic_change change); /* "none", "exact", "wrapped", "reset", "stuck" */

#ifdef NBC_LINES
#line 1 "src/nic/count_files.h"
#endif
/* Counters that are files with one number: sysfs of interfaces, InfiniBand, Slingshot, BXI. */





#ifdef NBC_LINES
#line 1 "src/nic/count_ethtool.h"
#endif
/* The driver's own counters, as `ethtool -S` shows them. */





#ifdef NBC_LINES
#line 1 "src/nic/count_host.h"
#endif
/* Counters of TCP and UDP of this network namespace, from /proc/net. */





#ifdef NBC_LINES
#line 1 "src/nic/netlink.h"
#endif
/* Netlink: questions to the kernel, and answers that are checked at every byte. */




#ifdef NBC_LINES
#line 1 "src/nic/link.h"
#endif
/* What the kernel says of an interface besides its counters, by the netlink family ethtool: which stamps it
   can make, its link, and why there is none. */






#ifdef NBC_LINES
#line 1 "src/nic/count_netlink.h"
#endif
/* Counters that the kernel gives by netlink: standard groups of Ethernet, pauses, FEC, queues, stamps,
   links, health of drivers, RDMA. */








#ifdef NBC_LINES
#line 1 "src/nic/count_pmu.h"
#endif
/* Counters of performance monitoring units that look at NICs and PCIe: perf_event without the perf tool. */






#ifdef NBC_LINES
#line 1 "src/nic/maps.h"
#endif
/* Register lists: which words of a device may be read, and what they mean. */






/* ============================================================================================== */
/* [REGISTERS] 5. Registers: clock and counters from the device itself, by white lists            */
/* ============================================================================================== */
/* A read can change a device: it clears a counter, frees a latch, takes a semaphore. So only
   offsets of a white list are ever read, and those that clear only when asked and no driver owns
   the NIC. The lists hold what the open drivers and data sheets say; of these devices only emulated
   and simulated ones were tried. */

/* How the words of a clock are read so that they belong together. */
typedef enum nic_clock_rule {
  NIC_CLOCK_NONE = 0,
  NIC_CLOCK_LOW_LATCHES, /* reading the low word freezes the high one (82576, igc, our own NIC in RTL) */
  NIC_CLOCK_LOW_RECHECKED, /* low, high, low: fell, so again (82574: its latch does not hold) */
  NIC_CLOCK_REST_LATCHES,  /* a third word, read first, freezes both (82580, i350, i210, X550) */
  NIC_CLOCK_HIGH_AROUND    /* high, low, high: changed, so again (mlx5) */
} nic_clock_rule;

typedef struct nic_register {
  const char *name;
  uint32_t offset, high_offset; /* of the upper word, read after the lower one; 0 = 32 bits only */
  nic_unit unit;
  bool clears; /* reading sets it to 0 */
} nic_register;

typedef struct nic_map {
  const char *name;        /* "82576" */
  const uint32_t *pci_ids; /* vendor << 16 | device, ends with 0 */
  int bar_index;
  uint32_t bar_bytes;    /* at least */
  uint32_t alive_offset; /* a word that never reads all ones: tells a device that is gone */
  bool is_big_endian;
  nic_clock_rule clock_rule;
  uint32_t clock_low_offset, clock_high_offset, clock_rest_offset;
  int clock_width_bits;
  bool clock_has_seconds; /* high word counts seconds, low word nanoseconds; read as nanoseconds */
  int clock_low_bits; /* below any use: left out by nic_clock_read, so that rates stay below 10^12 */
  double ticks_per_ns[3]; /* possible rates (they depend on crystal or link speed); 0 = not known */
  const nic_register *registers;
  size_t register_count;
  const char *source; /* the document its offsets and rules were taken from */
} nic_map;

/* The list of a device; NULL when there is none. */
NIC_API const nic_map *nic_map_for(uint16_t vendor_id, uint16_t device_id);
/* All lists, NULL past the end; "rtl" is our own NIC's, for its simulation, "rtl-qemu" the same as a
   PCI device of rtl/qemu, whose clock is 1,000 times slower than its unit says. */
NIC_API const nic_map *nic_map_at(size_t index);

/* The one hook through which every register is read: a mapped BAR, a simulated device, a recording. */
typedef struct nic_bus {
  nic_status (*read32)(void *user, uint32_t offset,
                       uint32_t *value); /* value as a host of the bus sees it */
  void (*close)(void *user);             /* may be NULL */
  void *user;
} nic_bus;

typedef struct nic_registers nic_registers;
typedef struct nic_registers_desc {
  const nic_map *map; /* NULL = the device's own */
  const nic_bus *bus; /* copied, closed by nic_registers_close; NULL = the BAR's file in sysfs */
  /* Read counters that reading clears; never done when a driver owns the NIC */
  bool allow_clearing;
} nic_registers_desc;

/* Opens the registers of a NIC; machine may be NULL when desc names map and bus. desc, host may be
   NULL. ret NIC_OK | NIC_E_UNSUPPORTED (no list) | NIC_E_RIGHTS (root, or a driver owns the BAR) |
       NIC_E_NOT_FOUND (no BAR file) | NIC_E_RANGE (BAR too small) | NIC_E_GONE (reads all ones)
   A device that is pulled out takes its mapping along: the next read may then raise SIGBUS. */
NIC_API nic_status nic_registers_open(const nic_machine *machine, const nic_info *nic,
                                      const nic_registers_desc *desc, const nic_host *host,
                                      nic_registers **registers, nic_error *err);
NIC_API void nic_registers_close(nic_registers *registers); /* NULL allowed */
NIC_API const nic_map *nic_registers_map(const nic_registers *registers);
NIC_API size_t nic_registers_count(const nic_registers *registers);
/* As a counter, for nic_counter_delta; NULL past the end. */
NIC_API const nic_counter *nic_registers_at(const nic_registers *registers, size_t index);
/* Reads all counters; room for nic_registers_count. A refused one is not valid; one that reading
   clears is summed up here, so it never goes back. ret NIC_OK | NIC_E_REFUSED (all of them) |
   NIC_E_GONE */
NIC_API nic_status nic_registers_read(nic_registers *registers, nic_value *values, nic_error *err);
/* Reads the clock once; the bracket encloses only the word that freezes the others.
   ret NIC_OK | NIC_E_UNSUPPORTED | NIC_E_GONE | NIC_E_BROKEN (words that never fit together) */
NIC_API nic_status nic_registers_read_clock(nic_registers *registers, nic_reading *reading,
                                            nic_error *err);
#ifdef NBC_LINES
#line 1 "src/nic/registers.h"
#endif
/* Reads the registers of a device, of a simulated one or of a recording. */







#ifdef NBC_LINES
#line 1 "src/nic/stamps.h"
#endif
/* When the kernel or the NIC saw a socket's packets; datagrams with their stamps. */





/* ============================================================================================== */
/* [STAMPS] 6. When the kernel or the NIC saw a socket's packets                                  */
/* ============================================================================================== */
/* Works on any Linux and any interface, loopback included, without rights (SO_TIMESTAMPING). A
   stamp keeps its kind; a kernel's stamp never passes for a NIC's. The kernel stamps with
   CLOCK_REALTIME: it is carried over to host time as an interval, from brackets taken now and
   before; when REALTIME was stepped in between, or nothing comes, the stamp is lost, and counted. */
typedef enum nic_stamp_kind {
  NIC_STAMP_NONE = 0,
  NIC_STAMP_SCHEDULED, /* handed to the packet scheduler */
  NIC_STAMP_SENT,      /* handed to the device by its driver */
  NIC_STAMP_ACKED,     /* TCP: the peer's kernel has all bytes up to the key */
  NIC_STAMP_RECEIVED,  /* taken in by the kernel */
  NIC_STAMP_NIC_SENT,  /* first bit on the wire, by the NIC's clock: `ticks`, see nic_tcp_desc */
  NIC_STAMP_NIC_RECEIVED
} nic_stamp_kind;

typedef struct nic_stamp {
  nic_stamp_kind kind;
  uint32_t key_count; /* sent: UDP: which datagram, from 0; TCP: bytes before the last one */
  int64_t t_before_ns, t_after_ns; /* host time, by the kernel; it happened between */
  int64_t t_real_ns;               /* as the kernel stamped it: CLOCK_REALTIME */
  /* NIC's clock, ns of its time scale; 0 for the kernel's stamps. An arrival may have both: then
     it is of the NIC's kind, and the kernel's times are filled as well */
  uint64_t ticks;
} nic_stamp;

typedef struct nic_stamping nic_stamping;
typedef struct nic_stamping_stats {
  uint64_t taken_count, stepped_count;  /* stepped: not convertible, CLOCK_REALTIME was set */
  bool has_sent, has_received, has_nic; /* what the socket agreed to */
} nic_stamping_stats;

/* Prepares an open socket; it stays the caller's. TCP: connected, and before its first byte,
   because keys count bytes from here. nic: ask for the NIC's stamps too (see NIC_OFFER_NIC_STAMPS).
   ret NIC_OK | NIC_E_INVAL (no socket) | NIC_E_UNSUPPORTED (this kernel does not stamp it) |
   NIC_E_NOMEM */
NIC_API nic_status nic_stamping_open(int socket_fd, bool nic, const nic_host *host,
                                     nic_stamping **stamping, nic_error *err);
NIC_API void nic_stamping_close(nic_stamping *stamping); /* NULL allowed */
/* sendmsg with stamps asked for this call only, without blocking. ret bytes, or -1 with errno. For
   TCP give MSG_EOR, so that nothing sent later is joined to these bytes and takes their stamp. */
NIC_API long nic_stamping_send(nic_stamping *stamping, const void *data, size_t size_bytes,
                               int flags);
/* recv with the arrival's stamp (kind NONE when there is none), without blocking. TCP: it is that
   of the last packet that the kernel joined, so it may be later than these bytes, never earlier;
   but a NIC's is that of any of the packets that were joined, so it bounds nothing. */
NIC_API long nic_stamping_recv(nic_stamping *stamping, void *data, size_t size_bytes,
                               nic_stamp *stamp);
/* The next stamp of what was sent. ret NIC_OK | NIC_E_NOT_FOUND (none now) | NIC_E_SYSTEM */
NIC_API nic_status nic_stamping_next(nic_stamping *stamping, nic_stamp *stamp, nic_error *err);
NIC_API nic_stamping_stats nic_stamping_stats_of(const nic_stamping *stamping);
/* A CLOCK_REALTIME of the recent past as an interval of host time; false: REALTIME was set
   meanwhile, or t_real_ns lies ahead. */
NIC_API bool nic_stamping_to_host(nic_stamping *stamping, int64_t t_real_ns, int64_t *t_before_ns,
                                  int64_t *t_after_ns);
NIC_API const char *nic_stamp_kind_name(nic_stamp_kind kind); /* "scheduled", "sent", "acked", … */

/* Datagrams: a stamp tells only the number of its datagram, so somebody has to keep count of what was
   sent. A send that fails has no number; a stamp from before its own send is another's and refused. */
typedef struct nic_datagram {
  uint64_t id; /* yours */
  size_t size_bytes;
  int64_t t_call_ns, t_back_ns;      /* host time before and after the call of send */
  nic_stamp scheduled, sent, by_nic; /* kind NONE: lost, or not asked for */
} nic_datagram;
typedef struct nic_datagrams_stats {
  uint64_t sent_count, failed_count; /* calls of send */
  uint64_t lost_count, refused_count,
      late_count; /* stamps: never came, another's, came after `next` */
} nic_datagrams_stats;

typedef struct nic_datagrams nic_datagrams;
/* Prepares a datagram socket, connected or not; it stays the caller's, and only nic_datagrams_send may
   send on it. nic: as nic_stamping_open. window: so many may wait for their stamps, 0 = 64 (their
   reports wait in the socket's receive buffer; more do not fit into the usual one).
   ret as nic_stamping_open; NIC_E_INVAL also for a stream */
NIC_API nic_status nic_datagrams_open(int socket_fd, bool nic, size_t window, const nic_host *host,
                                      nic_datagrams **datagrams, nic_error *err);
NIC_API void nic_datagrams_close(nic_datagrams *datagrams); /* NULL allowed */
/* sendto without blocking; to may be NULL on a connected socket.
   ret bytes, or -1 with errno; ENOBUFS also when window datagrams wait: take some by nic_datagrams_next */
NIC_API long nic_datagrams_send(nic_datagrams *datagrams, uint64_t id, const void *data,
                                size_t size_bytes, const void *to, size_t to_bytes);
/* The oldest datagram, as soon as its stamps are there or patience_ns have passed since its send.
   ret NIC_OK | NIC_E_NOT_FOUND (not yet, or none waits) | NIC_E_SYSTEM */
NIC_API nic_status nic_datagrams_next(nic_datagrams *datagrams, int64_t patience_ns,
                                      nic_datagram *datagram, nic_error *err);
/* For arrivals on the same socket: nic_stamping_recv. */
NIC_API nic_stamping *nic_datagrams_stamping(nic_datagrams *datagrams);
NIC_API nic_datagrams_stats nic_datagrams_stats_of(const nic_datagrams *datagrams);

#ifdef NBC_LINES
#line 1 "src/nic/clock.h"
#endif
/* Reads a NIC's clock: PTP device, registers, or the kernel's own. */








/* ============================================================================================== */
/* [CLOCK] 7. Reading a NIC's clock: PTP device, registers, or the kernel's own                   */
/* ============================================================================================== */
/* How a reading is bracketed, best first. */
typedef enum nic_reading_kind {
  NIC_READING_PRECISE = 0, /* NIC and host captured together by hardware (PTM, ART) */
  NIC_READING_EXTENDED,    /* the driver reads the host's clock next to the register */
  NIC_READING_PLAIN,       /* a system call between two readings of the host's clock */
  NIC_READING_REGISTERS,   /* the register between two readings of the host's clock */
  NIC_READING_SYSTEM       /* CLOCK_REALTIME, by which the kernel stamps packets: no NIC */
} nic_reading_kind;

typedef struct nic_clock nic_clock;
typedef struct nic_clock_desc {
  const char *device_path;    /* NULL = /dev/ptpN of the nic */
  nic_registers *registers;   /* read this instead; borrowed until close */
  bool system;                /* CLOCK_REALTIME instead */
  nic_reading_kind best_kind; /* do not use a better one; 0 = any */
  /* How far apart PRECISE may capture the two; the kernel does not say: 0 = 100 ns */
  int64_t precise_err_ns;
  const nic_system *kernel; /* copied; NULL = the real one */
} nic_clock_desc;
typedef struct nic_clock_info {
  char name[64];
  nic_reading_kind kind;
  double nominal_hz[3]; /* possible rates, 0 = not known */
  int low_bits;         /* of the register, left out of the ticks */
  int counter_bits;     /* after so many it wraps */
  uint64_t step_ticks;
} nic_clock_info;

/* machine and nic may be NULL when desc names the source. host may be NULL; it is copied.
   ret NIC_OK | NIC_E_INVAL | NIC_E_NOT_FOUND (no PTP clock) | NIC_E_RIGHTS | NIC_E_GONE |
       NIC_E_UNSUPPORTED (not even plain reading works) | NIC_E_NOMEM */
NIC_API nic_status nic_clock_open(const nic_machine *machine, const nic_info *nic,
                                  const nic_clock_desc *desc, const nic_host *host,
                                  nic_clock **clock, nic_error *err);
NIC_API void nic_clock_close(nic_clock *clock); /* NULL allowed */
NIC_API const nic_clock_info *nic_clock_info_of(const nic_clock *clock);
/* One reading. EXTENDED takes the narrowest of three. ret NIC_OK | NIC_E_GONE | NIC_E_BROKEN | NIC_E_SYSTEM */
NIC_API nic_status nic_clock_read(nic_clock *clock, nic_reading *reading, nic_error *err);
/* Does it run, and at a rate it can have? Emulated and badly driven NICs have clocks that stand still
   or run 2.5 times too fast and look fine otherwise. Two readings, the longer apart the better.
   out  rate_lo_hz, rate_hi_hz  the true mean rate lies between (may be NULL)
   ret  NIC_OK (also: too close to tell) | NIC_E_STOPPED | NIC_E_RATE (more than limit_ppm off all
        possible rates; 0 = 1000) | NIC_E_BROKEN (went back) */
NIC_API nic_status nic_clock_judge(const nic_clock_info *info, const nic_reading *first,
                                   const nic_reading *last, double limit_ppm, double *rate_lo_hz,
                                   double *rate_hi_hz, nic_error *err);
NIC_API const char *nic_reading_kind_name(nic_reading_kind kind); /* "precise", "extended", … */

#ifdef NBC_LINES
#line 1 "src/nic/pci.h"
#endif
/* PCI devices of this machine or a dump, by libpci or from sysfs. */





#ifdef NBC_LINES
#line 1 "src/nic/record.h"
#endif
/* A machine in a file: writes and reads it. */







/* ============================================================================================== */
/* [RECORD] 8. A machine in a file: to look at elsewhere what was seen here                       */
/* ============================================================================================== */
/* A recording is what `lspci -xxxx` prints, with lines between that begin with #nic-: libpci and lspci
   read it too. It holds what nic_find told, every counter twice, the registers that may be read, and
   bracketed readings of each clock. nic_find reads it by desc.dump_path; then counters, registers and
   clocks answer from the recording. Files come from strangers: every line is checked. */
typedef struct nic_record_desc {
  int64_t apart_ns;     /* between the first and the second look; 0 = 100 ms */
  size_t reading_count; /* of each clock; 0 = 16 */
} nic_record_desc;
/* ret NIC_OK | NIC_E_IO | NIC_E_NOMEM. What cannot be read is left out. desc may be NULL. */
NIC_API nic_status nic_record_write(const nic_machine *machine, const nic_record_desc *desc,
                                    FILE *out, nic_error *err);
/* Clock readings of a recorded NIC; 0 and NULL when there are none. Owned by the machine. */
NIC_API size_t nic_recorded_readings(const nic_machine *machine, const nic_info *nic,
                                     const nic_clock_info **info, const nic_reading **readings);

#ifdef NBC_LINES
#line 1 "src/nic/close.h"
#endif
/* The API ends. */
#ifdef __cplusplus
}
#endif
#endif /* NIC_HW_H_INCLUDED */
#ifdef NBC_LINES
#line 1 "src/nic/nbc_api.h"
#endif
/* ============================================================================================== */
/* [NBC] 9. For nbc_overlap.h: counters per section, clocks as witnesses (NIC_WITH_NBC)           */
/* ============================================================================================== */
/* This section is opened by NIC_WITH_NBC; nbc_overlap.h must be included first. It has a guard of its
   own, so that the order of other includes never hides it. */
#if defined(NIC_WITH_NBC) && !defined(NIC_NBC_H_INCLUDED)
#  define NIC_NBC_H_INCLUDED
#  ifndef NBC_OVERLAP_H_INCLUDED
#    error "nic_hw.h: NIC_WITH_NBC needs nbc_overlap.h to be included first"
#  endif
#  ifdef __cplusplus
extern "C" {
#  endif

/* Counters of a NIC, booked by the monitor to the sections of the program. They are the node's, and
   need a system call each: so choose few; those not chosen are not read.
   in   names, name_count  as nic_counters_index takes them; NULL = bytes, packets, drops, pauses and
                           retransmissions, as far as the NIC has them, and the host's TCP
                           retransmissions and UDP losses
        counters           stays yours, to be closed after the source
   out  source->source     for nbc_monitor_desc.counters; counts on through wraps
   ret  NIC_OK | NIC_E_INVAL (counters or source is NULL) | NIC_E_NOT_FOUND (a name; or none of the usual ones) | NIC_E_FULL |
        NIC_E_NOMEM */
typedef struct nic_section_counters {
  nbc_counter_source source;
  nic_counters *counters;
  int indexes[NBC_MAX_COUNTERS];
  bool *wanted, has_device; /* which are read; whether the device's own are among them */
  const char *names[NBC_MAX_COUNTERS];
  uint64_t sums[NBC_MAX_COUNTERS];
  nic_value *last, *now;
} nic_section_counters;
NIC_API nic_status nic_section_counters_open(nic_counters *counters, const char *const *names,
                                             size_t name_count, nic_section_counters *source,
                                             nic_error *err);
NIC_API void nic_section_counters_close(nic_section_counters *source); /* NULL allowed */

/* A clock as an nbc_nic: for nbc_nic_watch_create and nbc_relation. It has no stamps of its own. Of NULL: all 0. */
NIC_API nbc_nic nic_clock_as_nbc(nic_clock *clock);
/* What the relation may take for granted of it: 1000 ppm (a driver may steer it), 1 ppm per second. info: NULL = a clock of 1 GHz. */
NIC_API nbc_relation_desc nic_clock_relation(const nic_clock_info *info);

#  ifdef __cplusplus
}
#  endif
#endif /* NIC_NBC_H_INCLUDED */
#ifdef NBC_LINES
#line 1 "src/nic/begin.h"
#endif
/* ============================================================================================== */
/*                                        IMPLEMENTATION                                          */
/* ============================================================================================== */
#if defined(NIC_HW_IMPLEMENTATION) && !defined(NIC_HW_IMPLEMENTATION_ONCE)
#  define NIC_HW_IMPLEMENTATION_ONCE
#ifdef NBC_LINES
#line 5 "src/base/private.h"
#endif
#ifndef NBC__PRIVATE
#  if defined(NBC_PIECES)
#    define NBC__PRIVATE __attribute__((visibility("hidden")))
#  elif defined(__GNUC__)
#    define NBC__PRIVATE __attribute__((unused)) static
#  else
#    define NBC__PRIVATE static
#  endif
#endif
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef NBC_LINES
#line 4 "src/base/locale.h"
#endif
#ifndef NBC__BASE_LOCALE_H
#  define NBC__BASE_LOCALE_H

#  include <locale.h>

NBC__PRIVATE locale_t nbc__locale_begin(void);
NBC__PRIVATE void nbc__locale_end(locale_t before);
#endif /* NBC__BASE_LOCALE_H */
#ifdef NBC_LINES
#line 1 "src/base/locale.c"
#endif
/* locale.c: numbers with a point, also in a program that has set a locale with a comma. */
#ifndef NBC__BASE_LOCALE_C
#define NBC__BASE_LOCALE_C


/* From here to nbc__locale_end, what this thread prints and scans is as in the locale "C"; other threads
   see nothing of it. glibc keeps that locale ready and takes no memory for it; where there were none,
   numbers would stay as the program wants them. */
NBC__PRIVATE locale_t nbc__locale_begin(void) {
  return uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
}

NBC__PRIVATE void nbc__locale_end(locale_t before) {
  const locale_t plain = uselocale(before);
  if (plain != before && plain != LC_GLOBAL_LOCALE) freelocale(plain);
}
#endif /* NBC__BASE_LOCALE_C */
#ifdef NBC_LINES
#line 29 "src/nic/options.h"
#endif
/* ============================================================================================== */
/* [CONFIG] 1. Options                                                                            */
/* ============================================================================================== */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include <netinet/in.h>
#include <linux/errqueue.h>
#include <linux/ethtool.h>
#include <linux/genetlink.h>
#include <linux/net_tstamp.h>
#include <linux/netlink.h>
#include <linux/perf_event.h>
#include <linux/ptp_clock.h>
#include <linux/sockios.h>
#include <net/if.h>
#ifdef NIC_WITH_LIBPCI
#  include <setjmp.h>
#  ifdef __cplusplus
extern "C" { /* libpci's header is of C and does not say so */
#  endif
#  include <pci/pci.h>
#  ifdef __cplusplus
}
#  endif
#endif
#if !defined(CLOCK_MONOTONIC_RAW)
#  error "nic_hw.h: compile the implementing file with -D_GNU_SOURCE or -std=gnu11"
#endif
#if defined(NIC_MALLOC) != defined(NIC_FREE)
#  error "nic_hw.h: define both NIC_MALLOC and NIC_FREE, or none"
#endif
#ifndef NIC_MALLOC
#  define NIC_MALLOC(size_bytes) malloc(size_bytes)
#  define NIC_FREE(pointer)      free(pointer)
#endif

#if defined(NBC_PIECES)
#  define NIC__PRIVATE __attribute__((visibility("hidden")))
#else
#  define NIC__PRIVATE __attribute__((unused)) static
#endif
#ifdef NBC_LINES
#line 1 "src/nic/open.h"
#endif
/* C, also where C++ includes it. */
#ifdef __cplusplus
extern "C" {
#endif
#ifdef NBC_LINES
#line 71 "src/nic/status.h"
#endif
/* Of a function whose last named argument is format: fills an error, of this library or of nbc_overlap.h, whose
   fields have the same names. */
#define NIC__FILL_ERROR(err, value, format)                                                        \
  do {                                                                                             \
    if (err) {                                                                                     \
      va_list args;                                                                                \
      va_start(args, format);                                                                      \
      (err)->status = (value);                                                                     \
      (err)->line = 0;                                                                             \
      vsnprintf((err)->text, sizeof(err)->text, format, args);                                     \
      va_end(args);                                                                                \
    }                                                                                              \
  } while (0)
__attribute__((format(printf, 3, 4))) NIC__PRIVATE nic_status nic__fail(nic_error *err,
                                                                        nic_status status,
                                                                        const char *format, ...);
NIC__PRIVATE nic_status nic__of_errno(int number);
NIC__PRIVATE void *nic__zalloc(size_t size_bytes);
NIC__PRIVATE void *nic__grow(void *array, size_t count, size_t *capacity, size_t item_bytes);
NIC__PRIVATE void nic__copy(char *to, size_t to_bytes, const char *from);
#ifdef NBC_LINES
#line 1 "src/nic/status.c"
#endif
/* Status codes, errors with text, host time, memory. */



/* ============================================================================================== */
/* [STATUS] 2. Status codes, errors with text                                                     */
/* ============================================================================================== */
NIC_API const char *nic_status_name(nic_status status) {
  switch (status) {
#define NIC__X(name, value, text)                                                                  \
  case name: return #name;
    NIC_STATUS_LIST(NIC__X)
#undef NIC__X
  case NIC_STATUS_FORCE_INT32: break;
  }
  return "NIC_?";
}

NIC_API const char *nic_status_text(nic_status status) {
  switch (status) {
#define NIC__X(name, value, text)                                                                  \
  case name: return text;
    NIC_STATUS_LIST(NIC__X)
#undef NIC__X
  case NIC_STATUS_FORCE_INT32: break;
  }
  return "unknown status";
}

NIC__PRIVATE nic_status nic__fail(nic_error *err, nic_status status, const char *format, ...) {
  NIC__FILL_ERROR(err, status, format);
  return status;
}

NIC__PRIVATE nic_status nic__of_errno(int number) {
  switch (number) {
  case EACCES:
  case EPERM: return NIC_E_RIGHTS;
  case ENODEV:
  case ENXIO: return NIC_E_GONE;
  case ENOENT: return NIC_E_NOT_FOUND;
  case EOPNOTSUPP:
  case ENOTTY: return NIC_E_UNSUPPORTED;
  case ENOMEM: return NIC_E_NOMEM;
  default: return NIC_E_SYSTEM;
  }
}

NIC_API int64_t nic_host_now_ns(const nic_host *host) {
  struct timespec t;
  if (host && host->now_ns) return host->now_ns(host->user);
  clock_gettime(CLOCK_MONOTONIC_RAW, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

NIC__PRIVATE void *nic__zalloc(size_t size_bytes) {
  void *memory = NIC_MALLOC(size_bytes ? size_bytes : 1);
  if (memory) memset(memory, 0, size_bytes);
  return memory;
}

/* Room for one more item in an array of count items; capacity doubles. NULL when memory is out (the
   old array stays). */
NIC__PRIVATE void *nic__grow(void *array, size_t count, size_t *capacity, size_t item_bytes) {
  if (count < *capacity) return array;
  const size_t wanted = *capacity ? *capacity * 2 : 16;
  void *bigger = nic__zalloc(wanted * item_bytes);
  if (!bigger) return NULL;
  if (array) memcpy(bigger, array, count * item_bytes);
  NIC_FREE(array);
  *capacity = wanted;
  return bigger;
}

/* Copies text, cut to fit, without control characters: names come from files we did not write. */
NIC__PRIVATE void nic__copy(char *to, size_t to_bytes, const char *from) {
  size_t n = 0;
  for (; from[n] && n + 1 < to_bytes; n++) to[n] = (unsigned char)from[n] < 32 ? '?' : from[n];
  to[n] = 0;
}
#ifdef NBC_LINES
#line 126 "src/nic/machine.h"
#endif
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
#ifdef NBC_LINES
#line 1 "src/nic/machine.c"
#endif
/* A machine and its NICs: what each offers; small files, sorted folders, paths. */




/* ============================================================================================== */
/* [FIND] 3. Finding NICs                                                                         */
/* ============================================================================================== */

NIC__PRIVATE const nic__kept *nic__kept_of(const nic_machine *m, const nic_info *nic) {
  const size_t i = (size_t)(nic - m->nics);
  return nic >= m->nics && i < m->kept_count ? &m->kept[i] : NULL;
}

/* root + "/" + a + "/" + b …, the last argument NULL; false when it does not fit. */
NIC__PRIVATE bool nic__path(char *path, const char *root, ...) {
  va_list args;
  size_t used = strlen(root);
  bool fits = used < NIC__PATH;
  if (fits) memcpy(path, root, used + 1);
  va_start(args, root);
  for (const char *part; fits && (part = va_arg(args, const char *)) != NULL;) {
    const int n = snprintf(path + used, NIC__PATH - used, "/%s", part);
    fits = n >= 0 && (size_t)n < NIC__PATH - used;
    used += fits ? (size_t)n : 0;
  }
  va_end(args);
  return fits;
}

/* First line of a small file, without the newline. ret bytes, or -1 with errno. */
NIC__PRIVATE int nic__read_line(const char *path, char *text, size_t text_bytes) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  const ssize_t n = read(fd, text, text_bytes - 1);
  const int saved = errno;
  close(fd);
  errno = saved;
  if (n < 0) return -1;
  text[n] = 0;
  text[strcspn(text, "\n")] = 0;
  return (int)strlen(text);
}

NIC__PRIVATE bool nic__read_number(const char *path, int base, int64_t *value) {
  char text[64], *end;
  if (nic__read_line(path, text, sizeof text) <= 0) return false;
  errno = 0;
  *value = strtoll(text, &end, base);
  return errno == 0 && end != text && *end == 0;
}

NIC__PRIVATE bool nic__ran_out(int number) {
  return number == ENOMEM || number == EMFILE || number == ENFILE;
}

static int nic__name_order(const void *a, const void *b) {
  return strcmp((const char *)a, (const char *)b);
}

NIC__PRIVATE size_t nic__names_read(const char *folder, nic__names *names) {
  DIR *dir = opendir(folder);
  memset(names, 0, sizeof *names);
  if (!dir) return names->is_cut = nic__ran_out(errno), (size_t)0;
  for (struct dirent *e; (e = readdir(dir)) != NULL;) {
    if (e->d_name[0] == '.' || strlen(e->d_name) >= sizeof names->name[0]) continue;
    void *grown = nic__grow(names->name, names->count, &names->capacity, sizeof names->name[0]);
    if (!grown) {
      names->is_cut = true;
      break;
    }
    names->name = (char(*)[64])grown;
    strcpy(names->name[names->count++], e->d_name);
  }
  closedir(dir);
  if (names->count) qsort(names->name, names->count, sizeof names->name[0], nic__name_order);
  return names->count;
}

NIC__PRIVATE void nic__names_free(nic__names *names) {
  NIC_FREE(names->name);
  memset(names, 0, sizeof *names);
}

NIC__PRIVATE nic_info *nic__add(nic_machine *m, nic_kind kind, const char *name) {
  void *grown = nic__grow(m->nics, m->nic_count, &m->nic_capacity, sizeof *m->nics);
  if (!grown) return NULL;
  m->nics = (nic_info *)grown;
  nic_info *n = &m->nics[m->nic_count++];
  memset(n, 0, sizeof *n);
  nic__copy(n->name, sizeof n->name, name);
  n->kind = kind;
  n->ptp_index = -1;
  n->link.state = n->link.substate = n->link.quality = n->link.most_quality = -1;
  return n;
}

/* One question to a driver through the ethtool interface; false with errno. */
NIC__PRIVATE bool nic__ethtool(const char *interface_name, void *request) {
  struct ifreq ifr;
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  memset(&ifr, 0, sizeof ifr);
  nic__copy(ifr.ifr_name, sizeof ifr.ifr_name, interface_name);
  ifr.ifr_data = (char *)request;
  const int code = ioctl(fd, SIOCETHTOOL, &ifr);
  const int saved = errno;
  close(fd);
  errno = saved;
  return code == 0;
}

NIC_API void nic_machine_free(nic_machine *machine) {
  if (!machine) return;
  for (size_t i = 0; i < machine->kept_count; i++) {
    NIC_FREE(machine->kept[i].counters);
    NIC_FREE(machine->kept[i].words);
    NIC_FREE(machine->kept[i].clock);
    NIC_FREE(machine->kept[i].readings);
  }
  NIC_FREE(machine->kept);
  NIC_FREE(machine->nics);
  NIC_FREE(machine->pci);
  NIC_FREE(machine);
}

NIC_API size_t nic_count(const nic_machine *machine) { return machine ? machine->nic_count : 0; }
NIC_API const nic_info *nic_at(const nic_machine *machine, size_t index) {
  return machine && index < machine->nic_count ? &machine->nics[index] : NULL;
}
NIC_API const nic_info *nic_by_name(const nic_machine *machine, const char *name) {
  if (!machine || !name) return NULL;
  for (size_t i = 0; i < machine->nic_count; i++)
    if (strcmp(machine->nics[i].name, name) == 0) return &machine->nics[i];
  for (size_t i = 0; i < machine->nic_count; i++)
    if (strcmp(machine->nics[i].pci_address, name) == 0) return &machine->nics[i];
  return NULL;
}

NIC_API const char *nic_kind_name(nic_kind kind) {
  static const char *const names[] = {"pci", "net", "infiniband", "cxi", "bxi", "pmu"};
  return (unsigned)kind < NIC_KIND_COUNT ? names[kind] : "?";
}
NIC_API const char *nic_offer_name(nic_offer offer) {
  static const char *const names[] = {
#define NIC__X(name, text, meaning) text,
      NIC_OFFER_LIST(NIC__X)
#undef NIC__X
  };
  return (unsigned)offer < NIC_OFFER_COUNT ? names[offer] : "?";
}
NIC_API const char *nic_offer_meaning(nic_offer offer) {
  static const char *const texts[] = {
#define NIC__X(name, text, meaning) meaning,
      NIC_OFFER_LIST(NIC__X)
#undef NIC__X
  };
  return (unsigned)offer < NIC_OFFER_COUNT ? texts[offer] : "?";
}
NIC_API const char *nic_answer_name(nic_answer answer) {
  static const char *const names[] = {"unknown", "no", "blocked", "yes"};
  return (unsigned)answer <= NIC_YES ? names[answer] : "?";
}
NIC_API const char *nic_pcie_error_name(bool is_correctable, int bit_index) {
  static const char *const correctable[16] = {
      "RxErr",    NULL, NULL, NULL, NULL,      NULL,          "BadTLP",     "BadDLLP",
      "Rollover", NULL, NULL, NULL, "Timeout", "NonFatalErr", "CorrIntErr", "HeaderOF"};
  static const char *const uncorrectable[27] = {NULL,
                                                NULL,
                                                NULL,
                                                NULL,
                                                "DLP",
                                                "SDES",
                                                NULL,
                                                NULL,
                                                NULL,
                                                NULL,
                                                NULL,
                                                NULL,
                                                "TLP",
                                                "FCP",
                                                "CmpltTO",
                                                "CmpltAbrt",
                                                "UnxCmplt",
                                                "RxOF",
                                                "MalfTLP",
                                                "ECRC",
                                                "UnsupReq",
                                                "ACSViol",
                                                "UncorrIntErr",
                                                "BlockedTLP",
                                                "AtomicOpBlocked",
                                                "TLPBlockedErr",
                                                "PoisonTLPBlocked"};
  const char *name = bit_index < 0    ? NULL
                     : is_correctable ? (bit_index < 16 ? correctable[bit_index] : NULL)
                                      : (bit_index < 27 ? uncorrectable[bit_index] : NULL);
  return name ? name : "";
}
#ifdef NBC_LINES
#line 75 "src/nic/counters.h"
#endif
/* Of a recorded NIC. */
typedef struct nic__kept_counter {
  nic_counter counter;
  nic_value values[2];
} nic__kept_counter;

/* Counters that come with one answer: of the driver, of a table, of a family of netlink. Adding one: a
   struct that begins with this one, a function that asks and tells each value, nic__group_open. */
typedef struct nic__cell {
  uint64_t key, value; /* key: which of the answer's values */
  bool is_valid;
} nic__cell;
typedef struct nic__group {
  struct nic__group *next;
  struct nic_counters *counters;
  bool (*ask)(struct nic__group *group);   /* tells what the answer has; false: there is none */
  void (*close)(struct nic__group *group); /* may be NULL */
  nic__cell *cells;
  size_t count, capacity, at; /* at: where the next value is likely to belong */
  int64_t t_before_ns, t_after_ns;
  bool is_opening;        /* values that are new become counters */
  bool is_of_host;        /* goes on when the device is gone */
  bool is_out, is_wanted; /* is_out: no memory for a counter */
} nic__group;

typedef struct nic__source {
  nic_counter counter;
  int fd; /* of the counter's file; -1: from a group, or a recording */
  nic__group *group;
  size_t cell_index;
  const nic__kept_counter *kept; /* of a recording: both values */
  bool has_own_stamp; /* "value@seconds.nanoseconds", as Slingshot's telemetry prints it */
} nic__source;

struct nic_counters {
  nic_host host;
  char name[32];
  nic__source *sources;
  size_t count, capacity;
  nic__group *groups;
  int round; /* of a recording: which look */
};

NIC__PRIVATE bool nic__ends_with(const char *text, const char *end);
NIC__PRIVATE void nic__describe(nic_counter *c, const char *group, const char *name);
NIC__PRIVATE nic__source *nic__source_add(nic_counters *c, const char *group, const char *name);
/* Whether there is a counter of this whole name. */
NIC__PRIVATE bool nic__source_known(const nic_counters *c, const char *name);
/* Opens a group: its counters are added. One without counters is closed at once.
   ret NIC_OK | NIC_E_NOMEM */
NIC__PRIVATE nic_status nic__group_open(nic_counters *c, nic__group *group);
NIC__PRIVATE void nic__group_read(nic__group *group);
NIC__PRIVATE void nic__groups_close(nic_counters *c);
/* One value of an answer. While the group is opened, a new key becomes the counter folder/name, of which
   the caller may fill in more. ret NULL: it was known before, or there is no memory */
NIC__PRIVATE nic_counter *nic__group_tell(nic__group *group, uint64_t key, const char *folder,
                                          const char *name, uint64_t value);
#ifdef NBC_LINES
#line 1 "src/nic/counters.c"
#endif
/* Counters: what they are, differences and rates; the sources they are read from. */




/* ============================================================================================== */
/* [COUNTERS] 4. Counters                                                                         */
/* ============================================================================================== */

/* Width and end of the InfiniBand port counters that are not 64-bit: the error counters stick at
   their largest value (InfiniBand Architecture, PortCounters attribute). */
typedef struct nic__ib_width {
  const char *name;
  int width_bits;
} nic__ib_width;
static const nic__ib_width nic__ib_widths[] = {{"symbol_error", 16},
                                               {"link_error_recovery", 8},
                                               {"link_downed", 8},
                                               {"port_rcv_errors", 16},
                                               {"port_rcv_remote_physical_errors", 16},
                                               {"port_rcv_switch_relay_errors", 16},
                                               {"port_xmit_discards", 16},
                                               {"port_xmit_constraint_errors", 8},
                                               {"port_rcv_constraint_errors", 8},
                                               {"local_link_integrity_errors", 4},
                                               {"excessive_buffer_overrun_errors", 4},
                                               {"VL15_dropped", 16},
                                               {"port_xmit_wait", 32}};

NIC__PRIVATE bool nic__ends_with(const char *text, const char *end) {
  const size_t n = strlen(text), k = strlen(end);
  return n >= k && strcmp(text + n - k, end) == 0;
}

/* Unit, width and end from the name: the kernel gives names only. */
NIC__PRIVATE void nic__describe(nic_counter *c, const char *group, const char *name) {
  memset(c, 0, sizeof *c);
  snprintf(c->name, sizeof c->name, "%s/%s", group, name);
  c->scale = 1;
  c->width_bits = 64;
  if (nic__ends_with(name, "bytes") || nic__ends_with(name, "octets"))
    c->unit = NIC_UNIT_BYTES;
  else if (nic__ends_with(name, "packets") || nic__ends_with(name, "pkts"))
    c->unit = NIC_UNIT_PACKETS;
  if (strncmp(group, "port", 4) != 0) return;
  if (nic__ends_with(name, "xmit_data") || nic__ends_with(name, "rcv_data")) {
    c->unit = NIC_UNIT_BYTES;
    c->scale = 4; /* counted in 32-bit words */
  }
  for (size_t i = 0; i < sizeof nic__ib_widths / sizeof nic__ib_widths[0]; i++)
    if (strcmp(nic__ib_widths[i].name, name) == 0) {
      c->width_bits = nic__ib_widths[i].width_bits;
      c->end = NIC_END_STICKS;
    }
}

NIC__PRIVATE nic__source *nic__source_add(nic_counters *c, const char *group, const char *name) {
  void *grown = nic__grow(c->sources, c->count, &c->capacity, sizeof *c->sources);
  if (!grown) return NULL;
  c->sources = (nic__source *)grown;
  nic__source *s = &c->sources[c->count++];
  memset(s, 0, sizeof *s);
  nic__describe(&s->counter, group, name);
  s->fd = -1;
  return s;
}

NIC__PRIVATE bool nic__source_known(const nic_counters *c, const char *name) {
  for (size_t i = 0; i < c->count; i++)
    if (strcmp(c->sources[i].counter.name, name) == 0) return true;
  return false;
}

/* Answers come in one order: so the next value is nearly always where the last one was, plus one. */
NIC__PRIVATE nic_counter *nic__group_tell(nic__group *group, uint64_t key, const char *folder,
                                          const char *name, uint64_t value) {
  nic__group *g = group;
  for (size_t i = 0; i < g->count; i++) {
    const size_t k = (g->at + i) % g->count;
    if (g->cells[k].key != key) continue;
    g->cells[k].value = value;
    g->cells[k].is_valid = true;
    g->at = k + 1;
    return NULL;
  }
  if (!g->is_opening || g->is_out || g->count >= 100000) return NULL;
  void *grown = nic__grow(g->cells, g->count, &g->capacity, sizeof *g->cells);
  nic__source *s = grown ? nic__source_add(g->counters, folder, name) : NULL;
  if (grown) g->cells = (nic__cell *)grown;
  g->is_out = !s;
  if (!s) return NULL;
  s->group = g;
  s->cell_index = g->count;
  g->cells[g->count].key = key;
  g->cells[g->count].value = value;
  g->cells[g->count].is_valid = true;
  g->at = ++g->count;
  return &s->counter;
}

NIC__PRIVATE void nic__group_read(nic__group *group) {
  for (size_t i = 0; i < group->count; i++) group->cells[i].is_valid = false;
  group->at = 0;
  group->t_before_ns = nic_host_now_ns(&group->counters->host);
  const bool answered = group->ask(group);
  group->t_after_ns = nic_host_now_ns(&group->counters->host);
  for (size_t i = 0; i < group->count && !answered; i++) group->cells[i].is_valid = false;
}

static void nic__group_close(nic__group *g) {
  if (g->close) g->close(g);
  NIC_FREE(g->cells);
  NIC_FREE(g);
}

NIC__PRIVATE nic_status nic__group_open(nic_counters *c, nic__group *group) {
  group->counters = c;
  group->is_opening = true;
  nic__group_read(group);
  group->is_opening = false;
  const bool is_out = group->is_out;
  if (group->count) {
    group->next = c->groups;
    c->groups = group;
  } else
    nic__group_close(group);
  return is_out ? NIC_E_NOMEM : NIC_OK;
}

NIC__PRIVATE void nic__groups_close(nic_counters *c) {
  for (nic__group *g = c->groups, *next; g; g = next) {
    next = g->next;
    nic__group_close(g);
  }
  c->groups = NULL;
}

NIC_API size_t nic_counters_count(const nic_counters *counters) {
  return counters ? counters->count : 0;
}
NIC_API const nic_counter *nic_counters_at(const nic_counters *counters, size_t index) {
  return counters && index < counters->count ? &counters->sources[index].counter : NULL;
}
NIC_API int nic_counters_index(const nic_counters *counters, const char *name) {
  if (!counters || !name) return -1;
  for (size_t i = 0; i < counters->count; i++)
    if (strcmp(counters->sources[i].counter.name, name) == 0) return (int)i;
  for (size_t i = 0; i < counters->count; i++)
    if (strcmp(strrchr(counters->sources[i].counter.name, '/') + 1, name) == 0) return (int)i;
  return -1;
}

NIC_API nic_delta nic_counter_delta(const nic_counter *counter, const nic_value *before,
                                    const nic_value *after) {
  nic_delta d;
  memset(&d, 0, sizeof d);
  if (!counter || !before || !after || !before->is_valid || !after->is_valid) return d;
  const uint64_t scale = counter->scale ? counter->scale : 1;
  const uint64_t a = before->value / scale, b = after->value / scale;
  const bool narrow = counter->width_bits > 0 && counter->width_bits < 64;
  const uint64_t top = narrow ? (1ull << counter->width_bits) - 1 : UINT64_MAX / scale;
  d.change = NIC_CHANGE_EXACT;
  d.delta = b - a;
  if (counter->end == NIC_END_STICKS && b >= top) {
    d.change = NIC_CHANGE_STUCK;
    d.delta = b > a ? b - a : 0;
  } else if (b < a && narrow && counter->end == NIC_END_WRAPS && a - b > top / 2) {
    d.change = NIC_CHANGE_WRAPPED;
    d.delta = top - a + b + 1;
  } else if (b < a) {
    d.change = NIC_CHANGE_RESET;
    d.delta = b;
  }
  d.delta *= scale;
  /* Longest and shortest time that can have passed between the two true moments. */
  const double longest_s = (double)(after->t_after_ns - before->t_before_ns) * 1e-9;
  const double shortest_s = (double)(after->t_before_ns - before->t_after_ns) * 1e-9;
  const bool at_least = d.change == NIC_CHANGE_RESET || d.change == NIC_CHANGE_STUCK;
  d.per_s_lo = longest_s > 0 ? (double)d.delta / longest_s : 0;
  d.per_s_hi = shortest_s > 0 && !at_least ? (double)d.delta / shortest_s : (double)INFINITY;
  return d;
}

NIC_API const char *nic_unit_name(nic_unit unit) {
  static const char *const names[] = {"events", "bytes", "packets"};
  return (unsigned)unit <= NIC_UNIT_PACKETS ? names[unit] : "?";
}
/* Kernel: Documentation/networking/statistics.rst and ABI/testing/sysfs-class-net-statistics; InfiniBand
   Architecture, PortCounters; mlx5 and rdma: their counters' documentation; TCP: RFC 4022 and
   Documentation/networking/snmp_counter.rst; Ethernet: IEEE 802.3 clause 30, RFC 2819,
   Documentation/networking/ethtool-netlink.rst; queues: Documentation/netlink/specs/netdev.yaml. */
static const struct {
  const char *name, *meaning;
} nic__meanings[] = {
    {"rx_bytes", "good bytes received"},
    {"tx_bytes", "bytes sent"},
    {"rx_packets", "good packets received"},
    {"tx_packets", "packets sent"},
    {"rx_errors", "bad packets received, of all kinds"},
    {"tx_errors", "packets that could not be sent, of all kinds"},
    {"rx_dropped",
     "received whole, then dropped by the kernel or driver: no buffer or no protocol"},
    {"tx_dropped", "dropped before they were sent"},
    {"multicast", "multicast packets received"},
    {"collisions", "collisions while sending (half duplex)"},
    {"rx_length_errors", "received with a wrong length"},
    {"rx_over_errors", "the receiver's ring overflowed"},
    {"rx_crc_errors", "received with a wrong checksum: cable, transceiver or partner"},
    {"rx_frame_errors", "received with a frame alignment error"},
    {"rx_fifo_errors", "the device's receive FIFO overflowed: the host was too slow"},
    {"rx_missed_errors", "missed by the device: no buffer in the host"},
    {"rx_nohandler", "received, and nobody wanted it"},
    {"tx_aborted_errors", "sending was aborted"},
    {"tx_carrier_errors", "the carrier was lost while sending: cable or partner"},
    {"tx_fifo_errors", "the device's send FIFO ran empty"},
    {"tx_heartbeat_errors", "heartbeat errors (old Ethernet)"},
    {"tx_window_errors", "late collisions"},
    {"port_xmit_data", "bytes sent by the port"},
    {"port_rcv_data", "bytes received by the port"},
    {"port_xmit_wait", "ticks in which the port had data to send and no credit: congestion"},
    {"port_xmit_discards", "dropped at sending: port down, or too long in the queue"},
    {"symbol_error", "bad symbols on the lanes: cable or transceiver"},
    {"link_error_recovery", "the link recovered by itself"},
    {"link_downed", "the link failed to recover and went down"},
    {"local_link_integrity_errors", "lane errors beyond their threshold"},
    {"excessive_buffer_overrun_errors", "the partner sent beyond its credits"},
    {"out_of_buffer", "a message came and no receive was posted: the host was too slow"},
    {"rx_out_of_buffer", "a packet came and the ring had no buffer: the host was too slow"},
    {"out_of_sequence", "packets that came out of order: loss or reordering in the network"},
    {"packet_seq_err", "a NAK said that packets were missing: loss in the network"},
    {"rnr_nak_retry_err", "the receiver was not ready too often"},
    {"local_ack_timeout_err", "no acknowledgement came in time: loss in the network"},
    {"np_cnp_sent", "congestion was told to senders (RoCE)"},
    {"rp_cnp_handled", "told to send slower (RoCE)"},
    {"np_ecn_marked_roce_packets", "came marked by a switch that is full (RoCE)"},
    {"rx_pause", "the link partner asked for a pause"},
    {"tx_pause", "this side asked the link partner for a pause: it is too slow"},
    {"rx_xoff", "the link partner asked for a pause"},
    {"tx_xoff", "this side asked the link partner for a pause: it is too slow"},
    {"rx_xon", "the link partner ended a pause"},
    {"tx_xon", "this side ended a pause"},
    {"rx_good_packets", "good packets received"},
    {"tx_good_packets", "good packets sent"},
    {"rx_good_octets", "bytes of good packets received"},
    {"tx_good_octets", "bytes of good packets sent"},
    {"TcpOutSegs", "TCP segments sent, all of this host"},
    {"TcpRetransSegs", "TCP segments sent again: loss"},
    {"TcpInErrs", "bad TCP segments received"},
    {"UdpOutDatagrams", "datagrams sent, all of this host"},
    {"UdpInErrors", "datagrams that could not be delivered"},
    {"UdpRcvbufErrors", "datagrams lost because the program's buffer was full"},
    {"FramesTransmittedOK", "frames sent by the MAC"},
    {"FramesReceivedOK", "good frames received by the MAC"},
    {"OctetsTransmittedOK", "bytes of data sent by the MAC, without headers and padding"},
    {"OctetsReceivedOK", "bytes of data received by the MAC, without headers and padding"},
    {"FrameCheckSequenceErrors", "received with a wrong checksum: cable, transceiver or partner"},
    {"AlignmentErrors", "received with a part of a byte: cable or duplex"},
    {"SymbolErrorDuringCarrier", "bad symbols on the line: cable, transceiver or port"},
    {"SingleCollisionFrames", "sent after one collision (half duplex)"},
    {"MultipleCollisionFrames", "sent after several collisions (half duplex)"},
    {"FramesWithDeferredXmissions", "waited for a busy line (half duplex)"},
    {"LateCollisions", "collisions after the first 64 bytes: duplex does not fit"},
    {"FramesAbortedDueToXSColls", "given up after 16 collisions"},
    {"FramesLostDueToIntMACXmitError", "lost inside the MAC while sending"},
    {"FramesLostDueToIntMACRcvError", "lost inside the MAC while receiving"},
    {"CarrierSenseErrors", "the carrier was lost while sending: cable or partner"},
    {"MulticastFramesXmittedOK", "multicast frames sent"},
    {"MulticastFramesReceivedOK", "multicast frames received"},
    {"BroadcastFramesXmittedOK", "broadcast frames sent"},
    {"BroadcastFramesReceivedOK", "broadcast frames received"},
    {"FramesWithExcessiveDeferral", "waited too long for the line"},
    {"InRangeLengthErrors", "received, and shorter or longer than their length field says"},
    {"OutOfRangeLengthField", "received with a length field beyond what is allowed"},
    {"FrameTooLongErrors", "received, and longer than allowed: the partner's MTU"},
    {"MACControlFramesTransmitted", "control frames sent, pauses among them"},
    {"MACControlFramesReceived", "control frames received, pauses among them"},
    {"UnsupportedOpcodesReceived", "control frames received that this MAC does not know"},
    {"etherStatsUndersizePkts", "received, shorter than 64 bytes"},
    {"etherStatsOversizePkts", "received, longer than allowed: the partner's MTU"},
    {"etherStatsFragments", "received, shorter than 64 bytes and wrong: collisions or cable"},
    {"etherStatsJabbers", "received, too long and wrong: a partner that babbles"},
    {"tx_pause_frames", "this side asked the link partner for a pause: it is too slow"},
    {"rx_pause_frames", "the link partner asked for a pause"},
    {"fec_corrected_blocks",
     "blocks with errors that FEC repaired: some are normal at 50 Gb/s per lane"},
    {"fec_uncorrectable_blocks",
     "blocks that FEC could not repair: lost frames; cable or transceiver"},
    {"fec_corrected_bits", "bits that FEC repaired"},
    {"tx_stamped", "packets that the NIC stamped"},
    {"tx_stamps_lost", "stamps of the NIC that never came: exact overlap lacks these"},
    {"tx_stamp_errors", "packets whose stamp the NIC could not make"},
    {"link_down_events", "the link went down, since the driver was loaded"},
    {"health_errors", "errors that the driver's health reporter saw (devlink)"},
    {"health_recoveries", "recoveries that the driver's health reporter made (devlink)"},
    {"rx_alloc_fail", "no memory for a packet that came"},
    {"rx_hw_drops", "dropped by the device before the driver saw them"},
    {"rx_hw_drop_overruns", "dropped by the device: its queue had no room"},
    {"rx_csum_bad", "received with a wrong checksum of TCP or UDP"},
    {"tx_hw_drops", "dropped by the device instead of being sent"},
    {"tx_hw_drop_errors", "dropped by the device: malformed"},
    {"tx_stop", "the queue was full and took nothing for a while"},
    {"tx_wake", "the queue takes packets again"},
    {"UdpSndbufErrors", "datagrams not sent because the buffer was full"},
    {"TcpExtTCPTimeouts", "TCP waited in vain for an acknowledgement"},
    {"TcpExtTCPLostRetransmit", "what was sent again was lost again"},
    {"TcpExtTCPFastRetrans", "sent again at once, as later segments were acknowledged"},
    {"TcpExtTCPSynRetrans", "connection requests sent again"},
    {"TcpExtTCPBacklogDrop", "dropped: the program's backlog was full"},
    {"TcpExtTCPRcvQDrop", "dropped: the receive queue was full"}};
NIC_API const char *nic_counter_meaning(const char *name) {
  const char *slash = name ? strrchr(name, '/') : NULL, *last = slash ? slash + 1 : name;
  for (size_t i = 0; last && i < sizeof nic__meanings / sizeof nic__meanings[0]; i++)
    if (strcmp(nic__meanings[i].name, last) == 0) return nic__meanings[i].meaning;
  return "";
}
NIC_API const char *nic_change_name(nic_change change) {
  static const char *const names[] = {"none", "exact", "wrapped", "reset", "stuck"};
  return (unsigned)change <= NIC_CHANGE_STUCK ? names[change] : "?";
}
#ifdef NBC_LINES
#line 8 "src/nic/count_files.h"
#endif
NIC__PRIVATE nic_status nic__open_folder(nic_counters *c, const char *folder, const char *group);
NIC__PRIVATE nic_status nic__open_infiniband(nic_counters *c, const char *device);
NIC__PRIVATE void nic__read_file(const nic_counters *c, const nic__source *s, nic_value *v);
#ifdef NBC_LINES
#line 1 "src/nic/count_files.c"
#endif
/* Counters that are files with one number: sysfs of interfaces, InfiniBand, Slingshot, BXI. */






/* "123", or "123@1700000000.000000001" with the time (CLOCK_REALTIME) at which it was read. */
static bool nic__parse_value(const char *text, uint64_t *value, int64_t *unix_ns) {
  char *end;
  if (text[0] < '0' || text[0] > '9') return false;
  errno = 0;
  *value = strtoull(text, &end, 10);
  *unix_ns = 0;
  if (errno) return false;
  if (*end == '@') {
    const char *digits = end + 1;
    const unsigned long long s = strtoull(digits, &end, 10);
    if (errno || end == digits || *end != '.' || s > 9000000000u) return false;
    digits = end + 1;
    const unsigned long long ns = strtoull(digits, &end, 10);
    if (errno || end - digits != 9 || ns > 999999999u) return false;
    *unix_ns = (int64_t)s * 1000000000 + (int64_t)ns;
  }
  return *end == 0 || *end == '\n';
}

/* All files of a folder that hold one number. A file that does not is no counter (a reset switch, a
   text) and is left out; write-only files are never opened for reading. */
NIC__PRIVATE nic_status nic__open_folder(nic_counters *c, const char *folder, const char *group) {
  char path[NIC__PATH], text[96];
  nic__names names;
  nic_status status = NIC_OK;
  nic__names_read(folder, &names);
  if (names.is_cut) status = NIC_E_NOMEM;
  for (size_t i = 0; i < names.count && status == NIC_OK; i++) {
    struct stat st;
    uint64_t value;
    int64_t unix_ns;
    if (!nic__path(path, folder, names.name[i], (char *)NULL) || stat(path, &st) != 0 ||
        !S_ISREG(st.st_mode))
      continue;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
      if (errno == EMFILE || errno == ENFILE) status = NIC_E_SYSTEM;
      continue;
    }
    const ssize_t n = pread(fd, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = 0;
    const bool is_number = nic__parse_value(text, &value, &unix_ns);
    nic__source *s = is_number ? nic__source_add(c, group, names.name[i]) : NULL;
    if (is_number && !s) status = NIC_E_NOMEM;
    if (!s) {
      close(fd);
      continue;
    }
    s->fd = fd;
    s->has_own_stamp = unix_ns != 0;
  }
  nic__names_free(&names);
  return status;
}

NIC__PRIVATE nic_status nic__open_infiniband(nic_counters *c, const char *device) {
  char ports[NIC__PATH], path[NIC__PATH], group[48];
  nic__names names;
  nic_status status = NIC_OK;
  if (!nic__path(ports, device, "ports", (char *)NULL)) return NIC_OK;
  nic__names_read(ports, &names);
  if (names.is_cut) status = NIC_E_NOMEM;
  for (size_t i = 0; i < names.count && status == NIC_OK; i++) {
    if (strlen(names.name[i]) > 8) continue;
    snprintf(group, sizeof group, "port%.8s", names.name[i]);
    if (nic__path(path, ports, names.name[i], "counters", (char *)NULL))
      status = nic__open_folder(c, path, group);
    snprintf(group, sizeof group, "hw%.8s", names.name[i]);
    if (status == NIC_OK && nic__path(path, ports, names.name[i], "hw_counters", (char *)NULL))
      status = nic__open_folder(c, path, group);
  }
  nic__names_free(&names);
  if (status == NIC_OK && nic__path(path, device, "hw_counters", (char *)NULL))
    status = nic__open_folder(c, path, "hw");
  return status;
}

/* The printed time is CLOCK_REALTIME, taken after the device was read: so the value is older than
   it. It only ever narrows the end of our own bracket, and only when it falls inside. */
static void nic__narrow_by_stamp(const nic_host *host, int64_t unix_ns, nic_value *v) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  const int64_t real_ns = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec,
                after_ns = nic_host_now_ns(host);
  if (real_ns < unix_ns || real_ns - unix_ns > after_ns - v->t_before_ns) return;
  const int64_t stamped_ns = after_ns - (real_ns - unix_ns);
  if (stamped_ns >= v->t_before_ns && stamped_ns < v->t_after_ns) v->t_after_ns = stamped_ns;
}

NIC__PRIVATE void nic__read_file(const nic_counters *c, const nic__source *s, nic_value *v) {
  char text[96];
  int64_t unix_ns;
  v->t_before_ns = nic_host_now_ns(&c->host);
  const ssize_t n = pread(s->fd, text, sizeof text - 1, 0);
  v->t_after_ns = nic_host_now_ns(&c->host);
  text[n > 0 ? n : 0] = 0;
  v->is_valid = nic__parse_value(text, &v->value, &unix_ns);
  if (!v->is_valid) return;
  v->value *= s->counter.scale;
  if (s->has_own_stamp && unix_ns) nic__narrow_by_stamp(&c->host, unix_ns, v);
}
#ifdef NBC_LINES
#line 8 "src/nic/count_ethtool.h"
#endif
NIC__PRIVATE nic_status nic__open_ethtool(nic_counters *c);
#ifdef NBC_LINES
#line 1 "src/nic/count_ethtool.c"
#endif
/* The driver's own counters, as `ethtool -S` shows them. */






/* Netlink has no message for these values: the kernel gives them by the older call only (ETHTOOL_GSTATS in the
   table "Request translation" of Documentation/networking/ethtool-netlink.rst). Their names could be asked
   by STRSET_GET; they come by the same call as the values, so that both are of one driver's state. */
typedef struct nic__driver_group {
  nic__group group;
  struct ethtool_gstrings *names;
  struct ethtool_stats *stats;
  uint32_t count;
} nic__driver_group;

static bool nic__driver_ask(nic__group *group) {
  nic__driver_group *g = (nic__driver_group *)(void *)group;
  g->stats->cmd = ETHTOOL_GSTATS;
  g->stats->n_stats = g->count;
  if (!nic__ethtool(group->counters->name, g->stats) || g->stats->n_stats != g->count) return false;
  for (uint32_t i = 0; i < g->count; i++) {
    char name[ETH_GSTRING_LEN + 1] = "";
    if (group->is_opening) memcpy(name, g->names->data + i * ETH_GSTRING_LEN, ETH_GSTRING_LEN);
    name[ETH_GSTRING_LEN] = 0;
    nic__group_tell(group, i, "ethtool", name, g->stats->data[i]);
  }
  return true;
}
static void nic__driver_close(nic__group *group) {
  nic__driver_group *g = (nic__driver_group *)(void *)group;
  NIC_FREE(g->names);
  NIC_FREE(g->stats);
}

/* None is not an error. */
NIC__PRIVATE nic_status nic__open_ethtool(nic_counters *c) {
  struct ethtool_sset_info *info =
      (struct ethtool_sset_info *)nic__zalloc(sizeof *info + sizeof(uint32_t));
  if (!info) return NIC_E_NOMEM;
  info->cmd = ETHTOOL_GSSET_INFO;
  info->sset_mask = 1ull << ETH_SS_STATS;
  const uint32_t count = nic__ethtool(c->name, info) && info->sset_mask ? info->data[0] : 0;
  NIC_FREE(info);
  if (count == 0 || count > 100000) return NIC_OK;
  nic__driver_group *g = (nic__driver_group *)nic__zalloc(sizeof *g);
  if (!g) return NIC_E_NOMEM;
  g->group.ask = nic__driver_ask;
  g->group.close = nic__driver_close;
  g->count = count;
  g->names = (struct ethtool_gstrings *)nic__zalloc(sizeof *g->names + count * ETH_GSTRING_LEN);
  g->stats = (struct ethtool_stats *)nic__zalloc(sizeof *g->stats + count * sizeof(uint64_t));
  if (g->names && g->stats) {
    g->names->cmd = ETHTOOL_GSTRINGS;
    g->names->string_set = ETH_SS_STATS;
    g->names->len = count;
    if (nic__ethtool(c->name, g->names)) return nic__group_open(c, &g->group);
  }
  const nic_status status = g->names && g->stats ? NIC_OK : NIC_E_NOMEM;
  nic__driver_close(&g->group);
  NIC_FREE(g);
  return status;
}
#ifdef NBC_LINES
#line 8 "src/nic/count_host.h"
#endif
NIC__PRIVATE nic_status nic__open_host(nic_counters *c, const char *proc_root);
#ifdef NBC_LINES
#line 1 "src/nic/count_host.c"
#endif
/* Counters of TCP and UDP of this network namespace, from /proc/net. */






typedef struct nic__host_row {
  int file;
  const char *line, *column;
} nic__host_row;
/* Of the kernel's tables of TCP and UDP: what was sent (the measure of the rest), sent again, waited
   for in vain, lost. Column of a line; file 0 = net/snmp, 1 = net/netstat. */
static const nic__host_row nic__host_rows[] = {{0, "Tcp", "OutSegs"},
                                               {0, "Tcp", "RetransSegs"},
                                               {0, "Tcp", "InErrs"},
                                               {0, "Udp", "OutDatagrams"},
                                               {0, "Udp", "InErrors"},
                                               {0, "Udp", "RcvbufErrors"},
                                               {0, "Udp", "SndbufErrors"},
                                               {1, "TcpExt", "TCPLostRetransmit"},
                                               {1, "TcpExt", "TCPFastRetrans"},
                                               {1, "TcpExt", "TCPSlowStartRetrans"},
                                               {1, "TcpExt", "TCPTimeouts"},
                                               {1, "TcpExt", "TCPSynRetrans"},
                                               {1, "TcpExt", "TCPRetransFail"},
                                               {1, "TcpExt", "TCPSpuriousRTOs"},
                                               {1, "TcpExt", "TCPBacklogDrop"},
                                               {1, "TcpExt", "TCPRcvQDrop"}};

/* A table is pairs of lines that begin alike, "Tcp: InSegs …" and "Tcp: 5 …": names, then values.
   false: no such column, or no number (MaxConn may be -1). */
static bool nic__host_value(const char *text, const nic__host_row *row, uint64_t *value) {
  const size_t line_chars = strlen(row->line), column_chars = strlen(row->column);
  for (const char *names = text, *values; (values = strchr(names, '\n')) != NULL; names = values) {
    values++;
    if (strncmp(names, row->line, line_chars) != 0 || names[line_chars] != ':' ||
        strncmp(values, row->line, line_chars) != 0 || values[line_chars] != ':')
      continue;
    const char *a = names + line_chars + 1, *b = values + line_chars + 1;
    while (*a == ' ' && *b == ' ') {
      const size_t a_chars = strcspn(++a, " \n"), b_chars = strcspn(++b, " \n");
      char *end;
      if (a_chars == column_chars && strncmp(a, row->column, a_chars) == 0) {
        errno = 0;
        *value = strtoull(b, &end, 10);
        return *b >= '0' && *b <= '9' && end == b + b_chars && errno == 0;
      }
      a += a_chars;
      b += b_chars;
    }
  }
  return false;
}

/* One file each, so that its times are its own. */
typedef struct nic__host_group {
  nic__group group;
  int file, fd;
  char text[16384]; /* as last read; netstat has about 4 KB */
} nic__host_group;

static bool nic__host_ask(nic__group *group) {
  nic__host_group *g = (nic__host_group *)(void *)group;
  size_t used = 0;
  ssize_t k = 0;
  while (used < sizeof g->text - 1 &&
         (k = pread(g->fd, g->text + used, sizeof g->text - 1 - used, (off_t)used)) > 0)
    used += (size_t)k;
  g->text[used] = 0;
  for (size_t i = 0; i < sizeof nic__host_rows / sizeof nic__host_rows[0]; i++) {
    const nic__host_row *row = &nic__host_rows[i];
    char name[64];
    uint64_t value;
    if (row->file != g->file || !nic__host_value(g->text, row, &value))
      continue; /* another kernel */
    snprintf(name, sizeof name, "%s%s", row->line, row->column);
    nic_counter *counter = nic__group_tell(group, i, "host", name, value);
    if (!counter) continue;
    counter->width_bits = (int)(8 * sizeof(long)); /* the kernel adds in its own longs */
    if (strncmp(row->column, "Out", 3) == 0) counter->unit = NIC_UNIT_PACKETS;
  }
  return true;
}
static void nic__host_close(nic__group *group) { close(((nic__host_group *)(void *)group)->fd); }

/* The files stay open: they belong to the network namespace that opened them. None is no error. */
NIC__PRIVATE nic_status nic__open_host(nic_counters *c, const char *proc_root) {
  static const char *const names[2] = {"net/snmp", "net/netstat"};
  char path[NIC__PATH];
  nic_status status = NIC_OK;
  for (int i = 0; i < 2 && status == NIC_OK; i++) {
    const int fd =
        nic__path(path, proc_root, names[i], (char *)NULL) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) continue;
    nic__host_group *g = (nic__host_group *)nic__zalloc(sizeof *g);
    if (!g) return close(fd), NIC_E_NOMEM;
    g->file = i;
    g->fd = fd;
    g->group.ask = nic__host_ask;
    g->group.close = nic__host_close;
    g->group.is_of_host = true;
    status = nic__group_open(c, &g->group);
  }
  return status;
}
#ifdef NBC_LINES
#line 7 "src/nic/netlink.h"
#endif
/* An attribute; also a row of them, as what is inside a nest. Sources: the kernel's
   Documentation/userspace-api/netlink/intro.rst and specs.rst, include/uapi/linux/netlink.h. */
typedef struct nic__attr {
  unsigned type;
  const uint8_t *data;
  size_t bytes;
} nic__attr;
/* Takes the next one from the row; false: its end, or what follows is cut off. */
NIC__PRIVATE bool nic__attr_next(nic__attr *row, nic__attr *attr);
/* The first one of a type in a row. */
NIC__PRIVATE bool nic__attr_find(nic__attr row, unsigned type, nic__attr *attr);
/* Of 1, 2, 4 or 8 bytes; false: another size. */
NIC__PRIVATE bool nic__attr_number(const nic__attr *attr, uint64_t *value);
/* Without control characters and blanks, cut to fit; false: empty. */
NIC__PRIVATE bool nic__attr_text(const nic__attr *attr, char *text, size_t text_bytes);

typedef struct nic__question {
  uint8_t room[512];
  size_t bytes;
} nic__question;
enum { NIC__GENL_HEAD = 4 }; /* bytes of generic netlink's own header */
/* genl_command 0: no generic netlink. */
NIC__PRIVATE void nic__question_begin(nic__question *q, unsigned type, bool all, int genl_command);
NIC__PRIVATE void nic__question_put(nic__question *q, unsigned type, const void *data,
                                    size_t bytes);
NIC__PRIVATE void nic__question_number(nic__question *q, unsigned type, uint32_t value);
NIC__PRIVATE size_t nic__question_nest(nic__question *q, unsigned type);
NIC__PRIVATE void nic__question_close(nic__question *q, size_t nest);

/* One message of an answer: what follows the header of netlink, or of generic netlink. */
typedef void nic__take(void *user, nic__attr row);
/* Messages as they came. skip: bytes of the family's own header. over: the answer has its end.
   ret NIC_OK, or what the kernel's error says | NIC_E_PARSE (cut off) */
NIC__PRIVATE nic_status nic__netlink_walk(const uint8_t *data, size_t bytes, uint32_t sequence,
                                          size_t skip, nic__take *take, void *user, bool *over);

typedef struct nic__netlink {
  int fd; /* -1: none */
  uint32_t sequence;
  uint8_t *room; /* for answers */
} nic__netlink;
/* ret NIC_OK | NIC_E_UNSUPPORTED (this kernel has no such protocol) | NIC_E_NOMEM ... */
NIC__PRIVATE nic_status nic__netlink_open(nic__netlink *n, int protocol);
NIC__PRIVATE void nic__netlink_close(nic__netlink *n);
/* Asks and hands over all of the answer; waits a second at most. */
NIC__PRIVATE nic_status nic__netlink_ask(nic__netlink *n, nic__question *q, size_t skip,
                                         nic__take *take, void *user);
/* Number of a generic family; 0: this kernel does not have it. */
NIC__PRIVATE unsigned nic__netlink_family(nic__netlink *n, const char *name);
#ifdef NBC_LINES
#line 1 "src/nic/netlink.c"
#endif
/* Netlink: questions to the kernel, and answers that are checked at every byte. */


enum { NIC__NETLINK_ROOM = 1 << 16 };

static size_t nic__netlink_pad(size_t bytes) { return (bytes + 3) & ~(size_t)3; }

NIC__PRIVATE bool nic__attr_next(nic__attr *row, nic__attr *attr) {
  uint16_t head[2]; /* bytes with this header, type */
  if (row->bytes < sizeof head) return false;
  memcpy(head, row->data, sizeof head);
  if (head[0] < sizeof head || head[0] > row->bytes) return row->bytes = 0, false;
  attr->type = head[1] & 0x3fffu; /* without the marks of nests and of network order */
  attr->data = row->data + sizeof head;
  attr->bytes = head[0] - sizeof head;
  const size_t padded = nic__netlink_pad(head[0]);
  const size_t whole = padded < row->bytes ? padded : row->bytes;
  row->data += whole;
  row->bytes -= whole;
  return true;
}
NIC__PRIVATE bool nic__attr_find(nic__attr row, unsigned type, nic__attr *attr) {
  while (nic__attr_next(&row, attr))
    if (attr->type == type) return true;
  return false;
}
NIC__PRIVATE bool nic__attr_number(const nic__attr *attr, uint64_t *value) {
  uint32_t word;
  uint16_t half;
  switch (attr->bytes) {
  case 1: *value = attr->data[0]; return true;
  case 2: memcpy(&half, attr->data, 2), *value = half; return true;
  case 4: memcpy(&word, attr->data, 4), *value = word; return true;
  case 8: memcpy(value, attr->data, 8); return true;
  default: return false;
  }
}
NIC__PRIVATE bool nic__attr_text(const nic__attr *attr, char *text, size_t text_bytes) {
  size_t n = 0;
  for (; n < attr->bytes && attr->data[n] && n + 1 < text_bytes; n++) {
    const uint8_t c = attr->data[n];
    text[n] = c > 32 && c != 127 && c != '/' ? (char)c : '_'; /* a part of a counter's name */
  }
  text[n] = 0;
  return n > 0;
}

NIC__PRIVATE void nic__question_begin(nic__question *q, unsigned type, bool all, int genl_command) {
  struct nlmsghdr head;
  memset(&head, 0, sizeof head);
  memset(q, 0, sizeof *q);
  head.nlmsg_type = (uint16_t)type;
  head.nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | (all ? NLM_F_DUMP : 0));
  memcpy(q->room, &head, sizeof head);
  q->bytes = sizeof head;
  if (!genl_command) return;
  q->room[q->bytes] = (uint8_t)genl_command;
  q->room[q->bytes + 1] = 1; /* version */
  q->bytes += NIC__GENL_HEAD;
}
NIC__PRIVATE void nic__question_put(nic__question *q, unsigned type, const void *data,
                                    size_t bytes) {
  const uint16_t head[2] = {(uint16_t)(bytes + sizeof head), (uint16_t)type};
  if (bytes > sizeof q->room || q->bytes + sizeof head + nic__netlink_pad(bytes) > sizeof q->room)
    return; /* ours are short */
  memcpy(q->room + q->bytes, head, sizeof head);
  if (bytes) memcpy(q->room + q->bytes + sizeof head, data, bytes);
  q->bytes += sizeof head + nic__netlink_pad(bytes);
}
NIC__PRIVATE void nic__question_number(nic__question *q, unsigned type, uint32_t value) {
  nic__question_put(q, type, &value, sizeof value);
}
NIC__PRIVATE size_t nic__question_nest(nic__question *q, unsigned type) {
  const size_t nest = q->bytes;
  nic__question_put(q, type | NLA_F_NESTED, NULL, 0);
  return nest;
}
NIC__PRIVATE void nic__question_close(nic__question *q, size_t nest) {
  const uint16_t bytes = (uint16_t)(q->bytes - nest);
  memcpy(q->room + nest, &bytes, sizeof bytes);
}

NIC__PRIVATE nic_status nic__netlink_walk(const uint8_t *data, size_t bytes, uint32_t sequence,
                                          size_t skip, nic__take *take, void *user, bool *over) {
  while (bytes > 0) {
    struct nlmsghdr head;
    if (bytes < sizeof head) return NIC_E_PARSE;
    memcpy(&head, data, sizeof head);
    if (head.nlmsg_len < sizeof head || head.nlmsg_len > bytes) return NIC_E_PARSE;
    const uint8_t *body = data + sizeof head;
    const size_t body_bytes = head.nlmsg_len - sizeof head;
    const size_t padded = nic__netlink_pad(head.nlmsg_len);
    const size_t whole = padded < bytes ? padded : bytes;
    data += whole;
    bytes -= whole;
    if (head.nlmsg_seq != sequence) continue; /* of a question that was given up */
    if (head.nlmsg_type == NLMSG_ERROR || head.nlmsg_type == NLMSG_DONE) {
      int32_t number = 0; /* 0 or -errno */
      *over = true;
      if (head.nlmsg_type == NLMSG_ERROR && body_bytes < sizeof number) return NIC_E_PARSE;
      if (body_bytes >= sizeof number) memcpy(&number, body, sizeof number);
      if (number < 0 && number > INT32_MIN) return nic__of_errno(-number);
      continue;
    }
    if (head.nlmsg_type < NLMSG_MIN_TYPE || body_bytes < skip) continue;
    const nic__attr row = {0, body + skip, body_bytes - skip};
    take(user, row);
  }
  return NIC_OK;
}

NIC__PRIVATE nic_status nic__netlink_open(nic__netlink *n, int protocol) {
  const struct timeval limit = {1, 0};
  struct sockaddr_nl own;
  memset(&own, 0, sizeof own);
  own.nl_family = AF_NETLINK;
  n->sequence = 1;
  n->room = NULL;
  n->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
  if (n->fd < 0) return errno == EPROTONOSUPPORT ? NIC_E_UNSUPPORTED : nic__of_errno(errno);
  n->room = (uint8_t *)nic__zalloc(NIC__NETLINK_ROOM);
  const bool bound = bind(n->fd, (struct sockaddr *)&own, sizeof own) == 0;
  setsockopt(n->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  if (n->room && bound) return NIC_OK;
  const nic_status status = n->room ? NIC_E_SYSTEM : NIC_E_NOMEM;
  nic__netlink_close(n);
  return status;
}
NIC__PRIVATE void nic__netlink_close(nic__netlink *n) {
  if (n->fd >= 0) close(n->fd);
  NIC_FREE(n->room);
  n->fd = -1;
  n->room = NULL;
}

NIC__PRIVATE nic_status nic__netlink_ask(nic__netlink *n, nic__question *q, size_t skip,
                                         nic__take *take, void *user) {
  struct nlmsghdr head;
  nic_status status = NIC_OK;
  bool over = false;
  memcpy(&head, q->room, sizeof head);
  head.nlmsg_len = (uint32_t)q->bytes;
  head.nlmsg_seq = ++n->sequence;
  memcpy(q->room, &head, sizeof head);
  if (send(n->fd, q->room, q->bytes, 0) != (ssize_t)q->bytes) return nic__of_errno(errno);
  while (!over && status == NIC_OK) {
    const ssize_t k = recv(n->fd, n->room, NIC__NETLINK_ROOM, 0);
    if (k < 0 && errno == EINTR) continue;
    if (k <= 0) return NIC_E_SYSTEM; /* no answer, or more than its socket holds */
    status = nic__netlink_walk(n->room, (size_t)k, n->sequence, skip, take, user, &over);
  }
  return status;
}

static void nic__family_take(void *user, nic__attr row) {
  nic__attr id;
  uint64_t value;
  if (nic__attr_find(row, CTRL_ATTR_FAMILY_ID, &id) && nic__attr_number(&id, &value))
    *(unsigned *)user = (unsigned)value;
}
NIC__PRIVATE unsigned nic__netlink_family(nic__netlink *n, const char *name) {
  nic__question q;
  unsigned id = 0;
  nic__question_begin(&q, GENL_ID_CTRL, false, CTRL_CMD_GETFAMILY);
  nic__question_put(&q, CTRL_ATTR_FAMILY_NAME, name, strlen(name) + 1);
  return nic__netlink_ask(n, &q, NIC__GENL_HEAD, nic__family_take, &id) == NIC_OK ? id : 0;
}
#ifdef NBC_LINES
#line 10 "src/nic/link.h"
#endif
/* Numbers of messages and attributes are the kernel's ABI. They stand here because older systems' headers
   lack them. Source: include/uapi/linux/ethtool_netlink.h. */
enum {
  NIC__ETHTOOL_LINKSTATE_GET = 6,
  NIC__ETHTOOL_TSINFO_GET = 25,
  NIC__ETHTOOL_HEADER_NAME = 2,
  NIC__ETHTOOL_HEADER_FLAGS = 3,
  NIC__ETHTOOL_FLAG_COMPACT = 1,
  NIC__ETHTOOL_FLAG_STATS = 4,
  NIC__ETHTOOL_LINK = 2,
  NIC__ETHTOOL_SQI = 3,
  NIC__ETHTOOL_SQI_MAX = 4,
  NIC__ETHTOOL_EXT_STATE = 5,
  NIC__ETHTOOL_EXT_SUBSTATE = 6,
  NIC__ETHTOOL_TIMESTAMPING = 2,
  NIC__ETHTOOL_PHC_INDEX = 5,
  NIC__BITSET_NOMASK = 1,
  NIC__BITSET_BITS = 3,
  NIC__BITSET_VALUE = 4
};

/* A question of the family about one interface. header: the attribute of the message's header. */
NIC__PRIVATE void nic__ethtool_question(nic__question *q, unsigned family, int command,
                                        unsigned header, const char *interface_name,
                                        uint32_t flags);

/* The family, opened once for many interfaces; family 0: this kernel does not have it. */
typedef struct nic__link_asker {
  nic__netlink netlink;
  unsigned family;
} nic__link_asker;
NIC__PRIVATE void nic__link_open(nic__link_asker *asker);
NIC__PRIVATE void nic__link_close(nic__link_asker *asker);
/* false: the kernel, or the driver, does not answer: then nothing is changed. */
NIC__PRIVATE bool nic__link_stamps(nic__link_asker *asker, nic_info *n);
NIC__PRIVATE bool nic__link_state(nic__link_asker *asker, nic_info *n);
/* One answer each. */
NIC__PRIVATE void nic__take_tsinfo(void *nic_info_of, nic__attr row);
NIC__PRIVATE void nic__take_linkstate(void *nic_info_of, nic__attr row);
#ifdef NBC_LINES
#line 1 "src/nic/link.c"
#endif
/* What the kernel says of an interface besides its counters, by the netlink family ethtool: which stamps it
   can make, its link, and why there is none. */


/* Names by number. Source: Documentation/networking/ethtool-netlink.rst, link extended states. */
enum { NIC__LINK_MORE = 6 };
static const struct {
  const char *name, *more[NIC__LINK_MORE]; /* more[0] is substate 1 */
} nic__link_states[] = {
    {"autonegotiation",
     {"no partner detected", "no acknowledgement from the partner", "exchange of next pages failed",
      "no partner detected in forced mode", "FEC of both sides differs in override mode",
      "no speed that both sides have"}},
    {"training of the link failed",
     {"frames were not locked", "too late", "the partner did not become ready",
      "fault at the partner"}},
    {"both sides differ",
     {"no block lock", "no lock of alignment markers", "no alignment", "FC-FEC is not locked",
      "RS-FEC is not locked"}},
    {"bad signal",
     {"many physical errors", "unsupported rate", "reference clock of the serdes lost",
      "no signal at the serdes"}},
    {"no cable", {NULL}},
    {"fault of the cable", {"unsupported cable", "test of the cable failed"}},
    {"EEPROM of the module cannot be read", {NULL}},
    {"calibration failed", {NULL}},
    {"more power needed than the port gives", {NULL}},
    {"too hot", {NULL}},
    {"module", {"not ready"}}};
enum { NIC__LINK_STATES = sizeof nic__link_states / sizeof nic__link_states[0] };

NIC_API const char *nic_link_state_name(int state) {
  return state >= 0 && state < NIC__LINK_STATES ? nic__link_states[state].name : "";
}
NIC_API const char *nic_link_substate_name(int state, int substate) {
  if (state < 0 || state >= NIC__LINK_STATES || substate < 1 || substate > NIC__LINK_MORE)
    return "";
  const char *name = nic__link_states[state].more[substate - 1];
  return name ? name : "";
}

NIC_API bool nic_link_finding(const nic_info *nic, int finding, char *text, size_t text_bytes) {
  if (!nic || (!text && text_bytes)) return false;
  const nic_link *l = &nic->link;
  if (!nic->is_up || !l->is_known) return false;
  if (!l->has_link && (nic->pci_address[0] || l->state >= 0)) {
    const char *why = nic_link_state_name(l->state),
               *more = nic_link_substate_name(l->state, l->substate);
    if (finding == 0)
      snprintf(text, text_bytes, "it is up and has no link%s%s%s%s", *why ? ": " : "", why,
               *more ? ": " : "", more);
    if (finding == 0 && !*why && l->state >= 0)
      snprintf(text, text_bytes, "it is up and has no link: state %d of the kernel", l->state);
    return finding == 0;
  }
  if (!l->has_link || l->quality < 0 || l->quality * 2 >= l->most_quality || finding > 0)
    return false;
  snprintf(text, text_bytes, "the quality of its signal (SQI) is %d of %d", l->quality,
           l->most_quality);
  return true;
}

NIC__PRIVATE void nic__ethtool_question(nic__question *q, unsigned family, int command,
                                        unsigned header, const char *interface_name,
                                        uint32_t flags) {
  nic__question_begin(q, family, false, command);
  const size_t head = nic__question_nest(q, header);
  nic__question_put(q, NIC__ETHTOOL_HEADER_NAME, interface_name, strlen(interface_name) + 1);
  if (flags) nic__question_number(q, NIC__ETHTOOL_HEADER_FLAGS, flags);
  nic__question_close(q, head);
}

NIC__PRIVATE void nic__take_tsinfo(void *nic_info_of, nic__attr row) {
  nic_info *n = (nic_info *)nic_info_of;
  nic__attr set, value, a;
  uint64_t number;
  n->stamp_flags = 0;
  n->ptp_index = -1; /* not told where there is none */
  if (nic__attr_find(row, NIC__ETHTOOL_TIMESTAMPING, &set) &&
      nic__attr_find(set, NIC__BITSET_VALUE, &value) && value.bytes >= sizeof n->stamp_flags)
    memcpy(&n->stamp_flags, value.data, sizeof n->stamp_flags);
  if (nic__attr_find(row, NIC__ETHTOOL_PHC_INDEX, &a) && nic__attr_number(&a, &number) &&
      number < 1u << 20)
    n->ptp_index = (int)number;
}

static int nic__link_number(nic__attr row, unsigned type) {
  nic__attr a;
  uint64_t number;
  return nic__attr_find(row, type, &a) && nic__attr_number(&a, &number) && number < INT32_MAX
             ? (int)number
             : -1;
}
NIC__PRIVATE void nic__take_linkstate(void *nic_info_of, nic__attr row) {
  nic_link *l = &((nic_info *)nic_info_of)->link;
  const int link = nic__link_number(row, NIC__ETHTOOL_LINK);
  l->is_known = link >= 0;
  l->has_link = link > 0;
  l->state = nic__link_number(row, NIC__ETHTOOL_EXT_STATE);
  l->substate = nic__link_number(row, NIC__ETHTOOL_EXT_SUBSTATE);
  l->quality = nic__link_number(row, NIC__ETHTOOL_SQI);
  l->most_quality = nic__link_number(row, NIC__ETHTOOL_SQI_MAX);
}

NIC__PRIVATE void nic__link_open(nic__link_asker *asker) {
  asker->family = 0;
  if (nic__netlink_open(&asker->netlink, NETLINK_GENERIC) == NIC_OK)
    asker->family = nic__netlink_family(&asker->netlink, "ethtool");
}
NIC__PRIVATE void nic__link_close(nic__link_asker *asker) { nic__netlink_close(&asker->netlink); }

static bool nic__link_ask(nic__link_asker *asker, int command, nic__take *take, nic_info *n) {
  nic__question q;
  if (!asker->family) return false;
  nic__ethtool_question(&q, asker->family, command, 1, n->name, NIC__ETHTOOL_FLAG_COMPACT);
  return nic__netlink_ask(&asker->netlink, &q, NIC__GENL_HEAD, take, n) == NIC_OK;
}
NIC__PRIVATE bool nic__link_stamps(nic__link_asker *asker, nic_info *n) {
  return nic__link_ask(asker, NIC__ETHTOOL_TSINFO_GET, nic__take_tsinfo, n);
}
NIC__PRIVATE bool nic__link_state(nic__link_asker *asker, nic_info *n) {
  return nic__link_ask(asker, NIC__ETHTOOL_LINKSTATE_GET, nic__take_linkstate, n);
}
#ifdef NBC_LINES
#line 12 "src/nic/count_netlink.h"
#endif
/* Each: none is not an error. ret NIC_OK | NIC_E_NOMEM */
NIC__PRIVATE nic_status nic__open_ethernet(nic_counters *c, const nic_info *nic);
NIC__PRIVATE nic_status nic__open_health(nic_counters *c, const nic_info *nic);
NIC__PRIVATE nic_status nic__open_rdma(nic_counters *c);
#ifdef NBC_LINES
#line 1 "src/nic/count_netlink.c"
#endif
/* Counters that the kernel gives by netlink: standard groups of Ethernet, pauses, FEC, queues, stamps,
   links, health of drivers, RDMA. */


/* Numbers of messages and attributes are the kernel's ABI. They stand here because older systems' headers
   lack them. Sources: include/uapi/linux/ethtool_netlink.h and Documentation/networking/ethtool-netlink.rst;
   include/uapi/linux/netdev.h and Documentation/netlink/specs/netdev.yaml; include/uapi/linux/devlink.h and
   Documentation/networking/devlink/devlink-health.rst; include/uapi/rdma/rdma_netlink.h. */
enum {
  NIC__ETHTOOL_PAUSE_GET = 21,
  NIC__ETHTOOL_FEC_GET = 29,
  NIC__ETHTOOL_STATS_GET = 32,
  NIC__ETHTOOL_STATS_GROUPS = 3, /* a set of bits: bits, bit, its index */
  NIC__ETHTOOL_STATS_GROUP = 4,
  NIC__NETDEV_QSTATS_GET = 12,
  NIC__DEVLINK_HEALTH_GET = 52,
  NIC__RDMA_PROTOCOL = 20,
  NIC__RDMA_CLIENT = 5 << 10,
  NIC__RDMA_GET = 1,
  NIC__RDMA_STAT_GET = 17,
  NIC__RDMA_STAT_RES = 75,
  NIC__RDMA_RES_QP = 19,
  NIC__RDMA_RES_QP_ENTRY = 20,
  NIC__RDMA_RES_LQPN = 21,
  NIC__RDMA_STAT_COUNTER = 77,
  NIC__RDMA_STAT_COUNTER_ENTRY = 78,
  NIC__RDMA_STAT_COUNTER_ID = 79,
  NIC__RDMA_HWCOUNTERS = 80,
  NIC__RDMA_HWCOUNTER_ENTRY = 81,
  NIC__RDMA_HWCOUNTER_NAME = 82,
  NIC__RDMA_HWCOUNTER_VALUE = 83
};

/* A value by its place in an answer: family, group, attribute. */
static uint64_t nic__netlink_key(unsigned where, unsigned group, unsigned type) {
  return (uint64_t)where << 56 | (uint64_t)(group & 0xffffffu) << 32 | type;
}

typedef struct nic__known { /* a value that has a name */
  uint16_t group, type;
  nic_unit unit;
  const char *folder, *name;
} nic__known;

/* Group 0 eth-phy, 1 eth-mac, 2 eth-ctrl, 3 rmon. Names as IEEE 802.3 (clause 30) and RFC 2819 have them. */
static const nic__known nic__standard[] = {
    {0, 0, NIC_UNIT_EVENTS, "eth-phy", "SymbolErrorDuringCarrier"},
    {1, 0, NIC_UNIT_PACKETS, "eth-mac", "FramesTransmittedOK"},
    {1, 1, NIC_UNIT_PACKETS, "eth-mac", "SingleCollisionFrames"},
    {1, 2, NIC_UNIT_PACKETS, "eth-mac", "MultipleCollisionFrames"},
    {1, 3, NIC_UNIT_PACKETS, "eth-mac", "FramesReceivedOK"},
    {1, 4, NIC_UNIT_PACKETS, "eth-mac", "FrameCheckSequenceErrors"},
    {1, 5, NIC_UNIT_PACKETS, "eth-mac", "AlignmentErrors"},
    {1, 6, NIC_UNIT_BYTES, "eth-mac", "OctetsTransmittedOK"},
    {1, 7, NIC_UNIT_PACKETS, "eth-mac", "FramesWithDeferredXmissions"},
    {1, 8, NIC_UNIT_PACKETS, "eth-mac", "LateCollisions"},
    {1, 9, NIC_UNIT_PACKETS, "eth-mac", "FramesAbortedDueToXSColls"},
    {1, 10, NIC_UNIT_PACKETS, "eth-mac", "FramesLostDueToIntMACXmitError"},
    {1, 11, NIC_UNIT_EVENTS, "eth-mac", "CarrierSenseErrors"},
    {1, 12, NIC_UNIT_BYTES, "eth-mac", "OctetsReceivedOK"},
    {1, 13, NIC_UNIT_PACKETS, "eth-mac", "FramesLostDueToIntMACRcvError"},
    {1, 14, NIC_UNIT_PACKETS, "eth-mac", "MulticastFramesXmittedOK"},
    {1, 15, NIC_UNIT_PACKETS, "eth-mac", "BroadcastFramesXmittedOK"},
    {1, 16, NIC_UNIT_PACKETS, "eth-mac", "FramesWithExcessiveDeferral"},
    {1, 17, NIC_UNIT_PACKETS, "eth-mac", "MulticastFramesReceivedOK"},
    {1, 18, NIC_UNIT_PACKETS, "eth-mac", "BroadcastFramesReceivedOK"},
    {1, 19, NIC_UNIT_PACKETS, "eth-mac", "InRangeLengthErrors"},
    {1, 20, NIC_UNIT_PACKETS, "eth-mac", "OutOfRangeLengthField"},
    {1, 21, NIC_UNIT_PACKETS, "eth-mac", "FrameTooLongErrors"},
    {2, 0, NIC_UNIT_PACKETS, "eth-ctrl", "MACControlFramesTransmitted"},
    {2, 1, NIC_UNIT_PACKETS, "eth-ctrl", "MACControlFramesReceived"},
    {2, 2, NIC_UNIT_PACKETS, "eth-ctrl", "UnsupportedOpcodesReceived"},
    {3, 0, NIC_UNIT_PACKETS, "rmon", "etherStatsUndersizePkts"},
    {3, 1, NIC_UNIT_PACKETS, "rmon", "etherStatsOversizePkts"},
    {3, 2, NIC_UNIT_PACKETS, "rmon", "etherStatsFragments"},
    {3, 3, NIC_UNIT_PACKETS, "rmon", "etherStatsJabbers"}};

/* Of a message's attribute (group) one inside it (type). */
static const nic__known nic__pause[] = {{5, 2, NIC_UNIT_PACKETS, "pause", "tx_pause_frames"},
                                        {5, 3, NIC_UNIT_PACKETS, "pause", "rx_pause_frames"}};
static const nic__known nic__fec[] = {{5, 2, NIC_UNIT_EVENTS, "fec", "fec_corrected_blocks"},
                                      {5, 3, NIC_UNIT_EVENTS, "fec", "fec_uncorrectable_blocks"},
                                      {5, 4, NIC_UNIT_EVENTS, "fec", "fec_corrected_bits"}};
static const nic__known nic__tsinfo[] = {
    {6, 1, NIC_UNIT_PACKETS, "stamps", "tx_stamped"},
    {6, 2, NIC_UNIT_EVENTS, "stamps", "tx_stamps_lost"},
    {6, 3, NIC_UNIT_EVENTS, "stamps", "tx_stamp_errors"},
    {6, 4, NIC_UNIT_PACKETS, "stamps", "tx_onestep_unconfirmed"}};
/* Of a queue, by attribute. */
static const nic__known nic__queue_stats[] = {
    {0, 8, NIC_UNIT_PACKETS, "", "rx_packets"},
    {0, 9, NIC_UNIT_BYTES, "", "rx_bytes"},
    {0, 10, NIC_UNIT_PACKETS, "", "tx_packets"},
    {0, 11, NIC_UNIT_BYTES, "", "tx_bytes"},
    {0, 12, NIC_UNIT_EVENTS, "", "rx_alloc_fail"},
    {0, 13, NIC_UNIT_PACKETS, "", "rx_hw_drops"},
    {0, 14, NIC_UNIT_PACKETS, "", "rx_hw_drop_overruns"},
    {0, 15, NIC_UNIT_PACKETS, "", "rx_csum_complete"},
    {0, 16, NIC_UNIT_PACKETS, "", "rx_csum_unnecessary"},
    {0, 17, NIC_UNIT_PACKETS, "", "rx_csum_none"},
    {0, 18, NIC_UNIT_PACKETS, "", "rx_csum_bad"},
    {0, 19, NIC_UNIT_PACKETS, "", "rx_hw_gro_packets"},
    {0, 20, NIC_UNIT_BYTES, "", "rx_hw_gro_bytes"},
    {0, 21, NIC_UNIT_PACKETS, "", "rx_hw_gro_wire_packets"},
    {0, 22, NIC_UNIT_BYTES, "", "rx_hw_gro_wire_bytes"},
    {0, 23, NIC_UNIT_PACKETS, "", "rx_hw_drop_ratelimits"},
    {0, 24, NIC_UNIT_PACKETS, "", "tx_hw_drops"},
    {0, 25, NIC_UNIT_PACKETS, "", "tx_hw_drop_errors"},
    {0, 26, NIC_UNIT_PACKETS, "", "tx_csum_none"},
    {0, 27, NIC_UNIT_PACKETS, "", "tx_needs_csum"},
    {0, 28, NIC_UNIT_PACKETS, "", "tx_hw_gso_packets"},
    {0, 29, NIC_UNIT_BYTES, "", "tx_hw_gso_bytes"},
    {0, 30, NIC_UNIT_PACKETS, "", "tx_hw_gso_wire_packets"},
    {0, 31, NIC_UNIT_BYTES, "", "tx_hw_gso_wire_bytes"},
    {0, 32, NIC_UNIT_PACKETS, "", "tx_hw_drop_ratelimits"},
    {0, 33, NIC_UNIT_EVENTS, "", "tx_stop"},
    {0, 34, NIC_UNIT_EVENTS, "", "tx_wake"}};

#define NIC__KNOWN(rows) rows, sizeof rows / sizeof rows[0]
static const nic__known *nic__known_of(const nic__known *rows, size_t count, unsigned group,
                                       unsigned type) {
  for (size_t i = 0; i < count; i++)
    if (rows[i].group == group && rows[i].type == type) return &rows[i];
  return NULL;
}

typedef struct nic__netlink_group {
  nic__group group;
  nic__netlink netlink;
  unsigned family, netdev; /* numbers of the families ethtool or devlink, netdev; 0: none */
  uint32_t interface_index;
  char pci_address[16];
  /* RDMA */
  bool is_found;
  uint32_t device_index, port_count, port;
  unsigned which; /* what is asked now */
} nic__netlink_group;

static void nic__tell_known(nic__netlink_group *g, const nic__known *k, const nic__attr *a) {
  uint64_t value = 0;
  nic__attr total = *a;
  /* FEC: the sum over all lanes, then each lane */
  if (g->which == NIC__ETHTOOL_FEC_GET && total.bytes > 8) total.bytes = 8;
  if (!k || !nic__attr_number(&total, &value)) return;
  nic_counter *counter = nic__group_tell(&g->group, nic__netlink_key(g->which, k->group, k->type),
                                         k->folder, k->name, value);
  if (!counter) return;
  counter->unit = k->unit;
  if (a->bytes == 4) counter->width_bits = 32;
}

/* Frames by their size: "rmon/rx_64to64_octets". */
static void nic__take_sizes(nic__netlink_group *g, unsigned group, nic__attr row, bool is_sent) {
  nic__attr low, high, count;
  uint64_t from, to, value;
  char name[48];
  if (!nic__attr_find(row, 7, &low) || !nic__attr_find(row, 8, &high) ||
      !nic__attr_find(row, 9, &count) || !nic__attr_number(&low, &from) ||
      !nic__attr_number(&high, &to) || !nic__attr_number(&count, &value))
    return;
  snprintf(name, sizeof name, "%s_%llu_to_%llu_bytes", is_sent ? "tx" : "rx",
           (unsigned long long)from, (unsigned long long)to);
  nic_counter *counter = nic__group_tell(
      &g->group, nic__netlink_key(1 + is_sent, group, (unsigned)from), "rmon", name, value);
  if (counter) counter->unit = NIC_UNIT_PACKETS;
}

/* One standard group: its number, then its values. */
static void nic__take_standard(nic__netlink_group *g, nic__attr row) {
  nic__attr a, inner;
  uint64_t group;
  if (!nic__attr_find(row, 2, &a) || !nic__attr_number(&a, &group) || group > 3) return;
  while (nic__attr_next(&row, &a)) {
    if (a.type == 5 || a.type == 6) nic__take_sizes(g, (unsigned)group, a, a.type == 6);
    if (a.type != 4) continue;
    while (nic__attr_next(&a, &inner))
      nic__tell_known(g, nic__known_of(NIC__KNOWN(nic__standard), (unsigned)group, inner.type),
                      &inner);
  }
}

static void nic__take_ethtool(void *user, nic__attr row) {
  nic__netlink_group *g = (nic__netlink_group *)user;
  nic__attr a, inner;
  uint64_t value;
  while (nic__attr_next(&row, &a)) {
    if (g->which == NIC__ETHTOOL_STATS_GET && a.type == NIC__ETHTOOL_STATS_GROUP)
      nic__take_standard(g, a);
    if (g->which == NIC__ETHTOOL_LINKSTATE_GET && a.type == 7 && nic__attr_number(&a, &value)) {
      nic_counter *counter = nic__group_tell(&g->group, nic__netlink_key(g->which, 7, 0), "link",
                                             "link_down_events", value);
      if (counter) counter->width_bits = 32;
    }
    const unsigned nest = a.type;
    if (g->which == NIC__ETHTOOL_STATS_GET || g->which == NIC__ETHTOOL_LINKSTATE_GET ||
        (nest != 5 && nest != 6))
      continue;
    while (nic__attr_next(&a, &inner))
      nic__tell_known(g,
                      g->which == NIC__ETHTOOL_PAUSE_GET
                          ? nic__known_of(NIC__KNOWN(nic__pause), nest, inner.type)
                      : g->which == NIC__ETHTOOL_FEC_GET
                          ? nic__known_of(NIC__KNOWN(nic__fec), nest, inner.type)
                          : nic__known_of(NIC__KNOWN(nic__tsinfo), nest, inner.type),
                      &inner);
  }
}

/* One queue. Numbers of 4 or 8 bytes, as they need: so their width says nothing. */
static void nic__take_queue(void *user, nic__attr row) {
  nic__netlink_group *g = (nic__netlink_group *)user;
  nic__attr a;
  uint64_t interface_index, type, id, value;
  char folder[24];
  if (!nic__attr_find(row, 1, &a) || !nic__attr_number(&a, &interface_index) ||
      interface_index != g->interface_index || !nic__attr_find(row, 2, &a) ||
      !nic__attr_number(&a, &type) || !nic__attr_find(row, 3, &a) || !nic__attr_number(&a, &id) ||
      type > 1 || id > 9999)
    return;
  snprintf(folder, sizeof folder, "%sq%u", type ? "tx" : "rx", (unsigned)id);
  while (nic__attr_next(&row, &a)) {
    const nic__known *k = nic__known_of(NIC__KNOWN(nic__queue_stats), 0, a.type);
    if (!k || !nic__attr_number(&a, &value)) continue;
    nic_counter *counter =
        nic__group_tell(&g->group, nic__netlink_key(3 + (unsigned)type, (unsigned)id, a.type),
                        folder, k->name, value);
    if (counter) counter->unit = k->unit;
  }
}

static bool nic__ethernet_ask(nic__group *group) {
  static const int commands[] = {NIC__ETHTOOL_STATS_GET, NIC__ETHTOOL_PAUSE_GET,
                                 NIC__ETHTOOL_FEC_GET, NIC__ETHTOOL_TSINFO_GET,
                                 NIC__ETHTOOL_LINKSTATE_GET};
  nic__netlink_group *g = (nic__netlink_group *)(void *)group;
  nic__question q;
  bool answered = false;
  for (size_t i = 0; i < sizeof commands / sizeof commands[0] && g->family; i++) {
    const char *name = group->counters->name;
    g->which = (unsigned)commands[i];
    nic__ethtool_question(&q, g->family, commands[i], commands[i] == NIC__ETHTOOL_STATS_GET ? 2 : 1,
                          name, NIC__ETHTOOL_FLAG_STATS);
    if (commands[i] == NIC__ETHTOOL_STATS_GET) {
      const size_t set = nic__question_nest(&q, NIC__ETHTOOL_STATS_GROUPS);
      nic__question_put(&q, NIC__BITSET_NOMASK, NULL, 0);
      const size_t bits = nic__question_nest(&q, NIC__BITSET_BITS);
      for (uint32_t k = 0; k < 4; k++) {
        const size_t bit = nic__question_nest(&q, 1);
        nic__question_number(&q, 1, k);
        nic__question_close(&q, bit);
      }
      nic__question_close(&q, bits);
      nic__question_close(&q, set);
    }
    answered |= nic__netlink_ask(&g->netlink, &q, NIC__GENL_HEAD, nic__take_ethtool, g) == NIC_OK;
  }
  if (!g->netdev) return answered;
  g->which = NIC__NETDEV_QSTATS_GET;
  nic__question_begin(&q, g->netdev, true, NIC__NETDEV_QSTATS_GET);
  nic__question_number(&q, 1, g->interface_index);
  const uint64_t each_queue = 1;
  nic__question_put(&q, 4, &each_queue, sizeof each_queue);
  return (nic__netlink_ask(&g->netlink, &q, NIC__GENL_HEAD, nic__take_queue, g) == NIC_OK) |
         answered;
}

static void nic__netlink_group_close(nic__group *group) {
  nic__netlink_close(&((nic__netlink_group *)(void *)group)->netlink);
}

/* NULL: no memory, or (status NIC_OK) this kernel has no such netlink. */
static nic__netlink_group *nic__netlink_group_new(int protocol, bool (*ask)(nic__group *group),
                                                  nic_status *status) {
  nic__netlink_group *g = (nic__netlink_group *)nic__zalloc(sizeof *g);
  *status = g ? nic__netlink_open(&g->netlink, protocol) : NIC_E_NOMEM;
  if (*status != NIC_OK) {
    NIC_FREE(g);
    if (*status != NIC_E_NOMEM) *status = NIC_OK;
    return NULL;
  }
  g->group.ask = ask;
  g->group.close = nic__netlink_group_close;
  return g;
}

NIC__PRIVATE nic_status nic__open_ethernet(nic_counters *c, const nic_info *nic) {
  nic_status status;
  nic__netlink_group *g = nic__netlink_group_new(NETLINK_GENERIC, nic__ethernet_ask, &status);
  if (!g) return status;
  g->interface_index = if_nametoindex(nic->name);
  g->family = nic__netlink_family(&g->netlink, "ethtool");
  g->netdev = nic__netlink_family(&g->netlink, "netdev");
  return nic__group_open(c, &g->group);
}

/* ---- health of the driver (devlink) ------------------------------------------------------------ */
static void nic__take_reporter(void *user, nic__attr row) {
  nic__netlink_group *g = (nic__netlink_group *)user;
  nic__attr a, reporter;
  char text[32], folder[48];
  uint64_t value;
  uint32_t sum = 2166136261u; /* of the name: reporters have no numbers */
  if (!nic__attr_find(row, 1, &a) || !nic__attr_text(&a, text, sizeof text) ||
      strcmp(text, "pci") != 0 || !nic__attr_find(row, 2, &a) ||
      !nic__attr_text(&a, text, sizeof text) || strcmp(text, g->pci_address) != 0 ||
      !nic__attr_find(row, 114, &reporter) || !nic__attr_find(reporter, 115, &a) ||
      !nic__attr_text(&a, text, sizeof text))
    return;
  for (const char *at = text; *at; at++) sum = (sum ^ (uint8_t)*at) * 16777619u;
  uint64_t port = 0; /* some reporters are a port's */
  if (nic__attr_find(row, 3, &a) && nic__attr_number(&a, &port)) sum += (uint32_t)port + 1;
  snprintf(folder, sizeof folder, "devlink-%s", text);
  if (nic__attr_find(reporter, 117, &a) && nic__attr_number(&a, &value))
    nic__group_tell(&g->group, nic__netlink_key(NIC__DEVLINK_HEALTH_GET, 0, sum), folder,
                    "health_errors", value);
  if (nic__attr_find(reporter, 118, &a) && nic__attr_number(&a, &value))
    nic__group_tell(&g->group, nic__netlink_key(NIC__DEVLINK_HEALTH_GET, 1, sum), folder,
                    "health_recoveries", value);
}
static bool nic__health_ask(nic__group *group) {
  nic__netlink_group *g = (nic__netlink_group *)(void *)group;
  nic__question q;
  if (!g->family) return false;
  nic__question_begin(&q, g->family, true, NIC__DEVLINK_HEALTH_GET);
  return nic__netlink_ask(&g->netlink, &q, NIC__GENL_HEAD, nic__take_reporter, g) == NIC_OK;
}
NIC__PRIVATE nic_status nic__open_health(nic_counters *c, const nic_info *nic) {
  nic_status status = NIC_OK;
  if (!nic->pci_address[0]) return status;
  nic__netlink_group *g = nic__netlink_group_new(NETLINK_GENERIC, nic__health_ask, &status);
  if (!g) return status;
  memcpy(g->pci_address, nic->pci_address, sizeof g->pci_address);
  g->family = nic__netlink_family(&g->netlink, "devlink");
  return nic__group_open(c, &g->group);
}

/* ---- RDMA --------------------------------------------------------------------------------------- */
static void nic__take_device(void *user, nic__attr row) {
  nic__netlink_group *g = (nic__netlink_group *)user;
  nic__attr a;
  char name[64];
  uint64_t index, ports;
  if (!nic__attr_find(row, 2, &a) || !nic__attr_text(&a, name, sizeof name) ||
      strcmp(name, g->group.counters->name) != 0 || !nic__attr_find(row, 1, &a) ||
      !nic__attr_number(&a, &index) || !nic__attr_find(row, 3, &a) || !nic__attr_number(&a, &ports))
    return;
  g->is_found = true;
  g->device_index = (uint32_t)index;
  g->port_count = ports < 256 ? (uint32_t)ports : 0;
}
/* A table of names and values. one: bound counters, of which sysfs knows nothing; else those that sysfs shows
   as well are left out: they have the same names there. */
static void nic__take_hwcounters(nic__netlink_group *g, nic__attr list, const char *folder,
                                 unsigned where, uint32_t one) {
  nic__attr entry, a;
  uint64_t value;
  unsigned index = 0;
  char name[40], known[72];
  for (; nic__attr_next(&list, &entry); index++) {
    if (entry.type != NIC__RDMA_HWCOUNTER_ENTRY ||
        !nic__attr_find(entry, NIC__RDMA_HWCOUNTER_NAME, &a) ||
        !nic__attr_text(&a, name, sizeof name) ||
        !nic__attr_find(entry, NIC__RDMA_HWCOUNTER_VALUE, &a) || !nic__attr_number(&a, &value))
      continue;
    snprintf(known, sizeof known, "hw%u/%s", g->port, name);
    if (!one && g->group.is_opening && nic__source_known(g->group.counters, known)) continue;
    nic__group_tell(&g->group, nic__netlink_key(where, one ? one : g->port, index), folder, name,
                    value);
  }
}
static void nic__take_rdma(void *user, nic__attr row) {
  nic__netlink_group *g = (nic__netlink_group *)user;
  nic__attr list;
  char folder[16];
  if (!nic__attr_find(row, NIC__RDMA_HWCOUNTERS, &list)) return;
  snprintf(folder, sizeof folder, "rdma%u", g->port);
  nic__take_hwcounters(g, list, folder, NIC__RDMA_HWCOUNTERS, 0);
}

/* Counters bound to queue pairs: "rdma1-qp17/out_of_sequence", or by their own number where they count for
   several. A pair that is bound later is not among those that were there when this NIC's counters were
   opened. */
static void nic__take_bound(void *user, nic__attr row) {
  nic__netlink_group *g = (nic__netlink_group *)user;
  nic__attr table, entry, a, pairs;
  uint64_t port, id, pair = 0;
  char folder[32];
  if (!nic__attr_find(row, NIC__RDMA_STAT_COUNTER, &table)) return;
  while (nic__attr_next(&table, &entry)) {
    if (entry.type != NIC__RDMA_STAT_COUNTER_ENTRY || !nic__attr_find(entry, 3, &a) ||
        !nic__attr_number(&a, &port) || port != g->port ||
        !nic__attr_find(entry, NIC__RDMA_STAT_COUNTER_ID, &a) || !nic__attr_number(&a, &id) ||
        !nic__attr_find(entry, NIC__RDMA_HWCOUNTERS, &a))
      continue;
    unsigned pair_count = 0;
    nic__attr list;
    if (nic__attr_find(entry, NIC__RDMA_RES_QP, &pairs))
      for (nic__attr one; nic__attr_next(&pairs, &one);)
        if (nic__attr_find(one, NIC__RDMA_RES_LQPN, &list) && nic__attr_number(&list, &pair))
          pair_count++;
    if (pair_count == 1)
      snprintf(folder, sizeof folder, "rdma%u-qp%u", g->port, (unsigned)pair);
    else
      snprintf(folder, sizeof folder, "rdma%u-counter%u", g->port, (unsigned)id);
    nic__take_hwcounters(g, a, folder, NIC__RDMA_HWCOUNTERS + g->port, (uint32_t)id + 1);
  }
}
static bool nic__rdma_ask(nic__group *group) {
  nic__netlink_group *g = (nic__netlink_group *)(void *)group;
  nic__question q;
  bool answered = false;
  g->is_found = false;
  nic__question_begin(&q, NIC__RDMA_CLIENT + NIC__RDMA_GET, true, 0);
  if (nic__netlink_ask(&g->netlink, &q, 0, nic__take_device, g) != NIC_OK || !g->is_found)
    return false;
  for (g->port = 1; g->port <= g->port_count; g->port++) {
    nic__question_begin(&q, NIC__RDMA_CLIENT + NIC__RDMA_STAT_GET, false, 0);
    nic__question_number(&q, 1, g->device_index);
    nic__question_number(&q, 3, g->port);
    answered |= nic__netlink_ask(&g->netlink, &q, 0, nic__take_rdma, g) == NIC_OK;
    nic__question_begin(&q, NIC__RDMA_CLIENT + NIC__RDMA_STAT_GET, true, 0);
    nic__question_number(&q, 1, g->device_index);
    nic__question_number(&q, 3, g->port);
    nic__question_number(&q, NIC__RDMA_STAT_RES, NIC__RDMA_RES_QP);
    answered |= nic__netlink_ask(&g->netlink, &q, 0, nic__take_bound, g) == NIC_OK;
  }
  return answered;
}
NIC__PRIVATE nic_status nic__open_rdma(nic_counters *c) {
  nic_status status;
  nic__netlink_group *g = nic__netlink_group_new(NIC__RDMA_PROTOCOL, nic__rdma_ask, &status);
  return g ? nic__group_open(c, &g->group) : status;
}
#ifdef NBC_LINES
#line 9 "src/nic/count_pmu.h"
#endif
/* Whether a folder of /sys/bus/event_source/devices is such a unit; what it looks at, or NULL. */
NIC__PRIVATE const char *nic__pmu_meaning(const char *name);
/* "event=0x204,global=1" by the unit's format files. false: a term is not known, or wants a value */
NIC__PRIVATE bool nic__pmu_config(const char *folder, const char *terms, uint64_t config[3]);
/* All events of the unit. ret NIC_OK | NIC_E_NOMEM | NIC_E_RIGHTS (no event may be counted) */
NIC__PRIVATE nic_status nic__open_pmu(nic_counters *c, const char *folder);
#ifdef NBC_LINES
#line 1 "src/nic/count_pmu.c"
#endif
/* Counters of performance monitoring units that look at NICs and PCIe: perf_event without the perf tool. */



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
#ifdef NBC_LINES
#line 1 "src/nic/counting.c"
#endif
/* Opens and reads all counters of a NIC. */











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
#ifdef NBC_LINES
#line 1 "src/nic/maps.c"
#endif
/* Register lists: which words of a device may be read, and what they mean. */



/* ============================================================================================== */
/* [REGISTERS] 5. Registers                                                                       */
/* ============================================================================================== */
#define NIC__INTEL(device) 0x80860000u | 0x##device
#define NIC__MLX(device)   0x15b30000u | 0x##device
static const uint32_t nic__ids_82574[] = {NIC__INTEL(10d3), NIC__INTEL(10f6), NIC__INTEL(150c), 0};
static const uint32_t nic__ids_pch[] = {NIC__INTEL(153a), NIC__INTEL(153b),
                                        NIC__INTEL(1559), NIC__INTEL(155a),
                                        NIC__INTEL(15a0), NIC__INTEL(15a1),
                                        NIC__INTEL(15a2), NIC__INTEL(15a3),
                                        NIC__INTEL(156f), NIC__INTEL(1570),
                                        NIC__INTEL(15b7), NIC__INTEL(15b8),
                                        NIC__INTEL(15b9), NIC__INTEL(15bb),
                                        NIC__INTEL(15bc), NIC__INTEL(15bd),
                                        NIC__INTEL(15be), NIC__INTEL(15d6),
                                        NIC__INTEL(15d7), NIC__INTEL(15d8),
                                        NIC__INTEL(15e3), 0};
static const uint32_t nic__ids_82576[] = {NIC__INTEL(10c9), NIC__INTEL(10e6), NIC__INTEL(10e7),
                                          NIC__INTEL(10e8), NIC__INTEL(1526), NIC__INTEL(150a),
                                          NIC__INTEL(150d), NIC__INTEL(1518), 0};
static const uint32_t nic__ids_82580[] = {NIC__INTEL(150e), NIC__INTEL(150f),
                                          NIC__INTEL(1510), NIC__INTEL(1511),
                                          NIC__INTEL(1516), NIC__INTEL(1527),
                                          NIC__INTEL(1521), NIC__INTEL(1522),
                                          NIC__INTEL(1523), NIC__INTEL(1524),
                                          NIC__INTEL(1f40), NIC__INTEL(1f41),
                                          NIC__INTEL(1f45), 0};
static const uint32_t nic__ids_i210[] = {
    NIC__INTEL(1533), NIC__INTEL(1536), NIC__INTEL(1537), NIC__INTEL(1538),
    NIC__INTEL(1539), NIC__INTEL(157b), NIC__INTEL(157c), 0};
static const uint32_t nic__ids_igc[] = {NIC__INTEL(15f2),
                                        NIC__INTEL(15f3),
                                        NIC__INTEL(0d9f),
                                        NIC__INTEL(5502),
                                        NIC__INTEL(125b),
                                        NIC__INTEL(125c),
                                        0};
static const uint32_t nic__ids_82599[] = {
    NIC__INTEL(10f7), NIC__INTEL(10f8), NIC__INTEL(10f9), NIC__INTEL(10fb), NIC__INTEL(10fc),
    NIC__INTEL(1507), NIC__INTEL(1517), NIC__INTEL(151c), NIC__INTEL(1529), NIC__INTEL(152a),
    NIC__INTEL(154a), NIC__INTEL(154d), NIC__INTEL(1557), NIC__INTEL(1558), 0};
static const uint32_t nic__ids_x540[] = {NIC__INTEL(1528), NIC__INTEL(1560), 0};
static const uint32_t nic__ids_x550[] = {NIC__INTEL(1563), NIC__INTEL(15d1), 0};
static const uint32_t nic__ids_mlx5[] = {NIC__MLX(1011),
                                         NIC__MLX(1013),
                                         NIC__MLX(1015),
                                         NIC__MLX(1017),
                                         NIC__MLX(1019),
                                         NIC__MLX(101b),
                                         NIC__MLX(101d),
                                         NIC__MLX(101f),
                                         NIC__MLX(1021),
                                         NIC__MLX(a2d2),
                                         NIC__MLX(a2d6),
                                         NIC__MLX(a2dc),
                                         0};

/* Statistics of the Intel 1G family; all clear on read, the high word of an octet counter clears
 * both. */
static const nic_register nic__regs_1g[] = {
    {"rx_missed", 0x4010, 0, NIC_UNIT_PACKETS, true},
    {"rx_xon", 0x4048, 0, NIC_UNIT_EVENTS, true},
    {"tx_xon", 0x404c, 0, NIC_UNIT_EVENTS, true},
    {"rx_xoff", 0x4050, 0, NIC_UNIT_EVENTS, true},
    {"tx_xoff", 0x4054, 0, NIC_UNIT_EVENTS, true},
    {"rx_good_packets", 0x4074, 0, NIC_UNIT_PACKETS, true},
    {"tx_good_packets", 0x4080, 0, NIC_UNIT_PACKETS, true},
    {"rx_good_octets", 0x4088, 0x408c, NIC_UNIT_BYTES, true},
    {"tx_good_octets", 0x4090, 0x4094, NIC_UNIT_BYTES, true},
    {"rx_packets", 0x40d0, 0, NIC_UNIT_PACKETS, true},
    {"tx_packets", 0x40d4, 0, NIC_UNIT_PACKETS, true}};
static const nic_register nic__regs_10g[] = {
    {"rx_good_packets", 0x4074, 0, NIC_UNIT_PACKETS, true},
    {"tx_good_packets", 0x4080, 0, NIC_UNIT_PACKETS, true},
    {"rx_good_octets", 0x4088, 0x408c, NIC_UNIT_BYTES, true},
    {"tx_good_octets", 0x4090, 0x4094, NIC_UNIT_BYTES, true},
    {"rx_packets", 0x40d0, 0, NIC_UNIT_PACKETS, true},
    {"tx_packets", 0x40d4, 0, NIC_UNIT_PACKETS, true}};
/* Our own NIC (rtl/REGISTERS.md): 64 bits each, the low half latches the high one, nothing clears. */
#define NIC__RTL(name, number, unit)                                                               \
  { name, 0x500 + 8 * (number), 0x504 + 8 * (number), NIC_UNIT_##unit, false }
#define NIC__RTL_NETWORK(vn)                                                                       \
  NIC__RTL("vn" #vn "_rx_packets", 8 * vn, PACKETS),                                               \
      NIC__RTL("vn" #vn "_tx_packets", 8 * vn + 2, PACKETS),                                       \
      NIC__RTL("vn" #vn "_crc_errors", 8 * vn + 4, EVENTS),                                        \
      NIC__RTL("vn" #vn "_rx_dropped", 8 * vn + 5, PACKETS),                                       \
      NIC__RTL("vn" #vn "_retransmissions", 8 * vn + 6, EVENTS),                                   \
      NIC__RTL("vn" #vn "_credit_wait_cycles", 8 * vn + 7, EVENTS),                                \
      NIC__RTL("vn" #vn "_tx_bytes", 41 + vn, BYTES),                                              \
      NIC__RTL("vn" #vn "_rx_bytes", 45 + vn, BYTES)
static const nic_register nic__regs_rtl[] = {NIC__RTL_NETWORK(0),
                                             NIC__RTL_NETWORK(1),
                                             NIC__RTL_NETWORK(2),
                                             NIC__RTL_NETWORK(3),
                                             NIC__RTL("bus_errors", 32, EVENTS),
                                             NIC__RTL("unmatched", 33, EVENTS),
                                             NIC__RTL("given_up", 37, EVENTS),
                                             NIC__RTL("duplicates", 40, EVENTS)};
static const uint32_t nic__ids_rtl[] = {0};               /* on no bus: simulated only */
static const uint32_t nic__ids_qemu[] = {0x12344e42u, 0}; /* rtl/qemu: 1,000 times slower */
#define NIC__LIST(list) list, sizeof list / sizeof list[0]

/* clang-format off */
static const nic_map nic__maps[] = {
    /* name, ids, BAR, bytes, alive, big endian; clock: rule, low, high, rest, bits, seconds, low bits,
       rates (82574: a crystal of 25 MHz; PCH: of 25, 96 or 38.4, 24 MHz; 82599, X540: by link speed); counters */
    {"82574", nic__ids_82574, 0, 0x10000, 0x8, false, NIC_CLOCK_LOW_RECHECKED, 0xb600, 0xb604, 0, 64, false, 10,
     {262144, 0, 0}, NIC__LIST(nic__regs_1g),
     "Linux 6.1: drivers/net/ethernet/intel/e1000e/regs.h, netdev.c (e1000e_read_systim, e1000e_sanitize_systim)"},
    {"PCH", nic__ids_pch, 0, 0x10000, 0x8, false, NIC_CLOCK_LOW_RECHECKED, 0xb600, 0xb604, 0, 64, false, 10,
     {262144, 524288, 16384}, NIC__LIST(nic__regs_1g),
     "Linux 6.1: drivers/net/ethernet/intel/e1000e/regs.h, e1000.h, netdev.c"},
    {"82576", nic__ids_82576, 0, 0x10000, 0x8, false, NIC_CLOCK_LOW_LATCHES, 0xb600, 0xb604, 0, 64, false, 10,
     {524288, 0, 0}, NIC__LIST(nic__regs_1g),
     "Linux 6.1: drivers/net/ethernet/intel/igb/e1000_regs.h, igb_ptp.c; QEMU 10.0: hw/net/igb_core.c"},
    {"82580", nic__ids_82580, 0, 0x10000, 0x8, false, NIC_CLOCK_REST_LATCHES, 0xb600, 0xb604, 0xb6f8, 40, false, 0,
     {1, 0, 0}, NIC__LIST(nic__regs_1g),
     "Linux 6.1: drivers/net/ethernet/intel/igb/e1000_regs.h, igb_ptp.c"},
    {"i210", nic__ids_i210, 0, 0x10000, 0x8, false, NIC_CLOCK_REST_LATCHES, 0xb600, 0xb604, 0xb6f8, 64, true, 0,
     {1, 0, 0}, NIC__LIST(nic__regs_1g),
     "Linux 6.1: drivers/net/ethernet/intel/igb/e1000_regs.h, igb_ptp.c"},
    {"i225", nic__ids_igc, 0, 0x10000, 0x8, false, NIC_CLOCK_LOW_LATCHES, 0xb600, 0xb604, 0, 64, true, 0,
     {1, 0, 0}, NIC__LIST(nic__regs_1g),
     "Linux 6.1: drivers/net/ethernet/intel/igc/igc_regs.h, igc_ptp.c"},
    {"82599", nic__ids_82599, 0, 0x10000, 0x8, false, NIC_CLOCK_LOW_RECHECKED, 0x8c0c, 0x8c10, 0, 64, false, 13,
     {0, 0, 0}, NIC__LIST(nic__regs_10g),
     "Linux 6.1: drivers/net/ethernet/intel/ixgbe/ixgbe_type.h, ixgbe_ptp.c"},
    {"X540", nic__ids_x540, 0, 0x10000, 0x8, false, NIC_CLOCK_LOW_RECHECKED, 0x8c0c, 0x8c10, 0, 64, false, 20,
     {0, 0, 0}, NIC__LIST(nic__regs_10g),
     "Linux 6.1: drivers/net/ethernet/intel/ixgbe/ixgbe_type.h, ixgbe_ptp.c"},
    {"X550", nic__ids_x550, 0, 0x10000, 0x8, false, NIC_CLOCK_REST_LATCHES, 0x8c0c, 0x8c10, 0x8c58, 64, true, 0,
     {1, 0, 0}, NIC__LIST(nic__regs_10g),
     "Linux 6.1: drivers/net/ethernet/intel/ixgbe/ixgbe_type.h, ixgbe_ptp.c"},
    {"mlx5", nic__ids_mlx5, 0, 0x2000, 0x0, true, NIC_CLOCK_HIGH_AROUND, 0x1004, 0x1000, 0, 64, false, 0,
     {0, 0, 0}, NULL, 0,
     "Linux 6.1: include/linux/mlx5/device.h (struct mlx5_init_seg), mlx5/core/lib/clock.c (mlx5_read_time)"}, /* its frequency is known to the firmware only */
    {"rtl", nic__ids_rtl, 0, 0x20000, 0x0, false, NIC_CLOCK_LOW_LATCHES, 0xb600, 0xb604, 0, 64, false, 10,
     {524288, 0, 0}, NIC__LIST(nic__regs_rtl),
     "this project: rtl/REGISTERS.md"},
    {"rtl-qemu", nic__ids_qemu, 0, 0x20000, 0x0, false, NIC_CLOCK_LOW_LATCHES, 0xb600, 0xb604, 0, 64, false, 0,
     {524.288, 0, 0}, NIC__LIST(nic__regs_rtl),
     "this project: rtl/REGISTERS.md, rtl/qemu/nic_pci.h"}};
/* clang-format on */

NIC_API const nic_map *nic_map_at(size_t index) {
  return index < sizeof nic__maps / sizeof nic__maps[0] ? &nic__maps[index] : NULL;
}
NIC_API const nic_map *nic_map_for(uint16_t vendor_id, uint16_t device_id) {
  const uint32_t id = (uint32_t)vendor_id << 16 | device_id;
  const nic_map *map;
  for (size_t i = 0; id && (map = nic_map_at(i)) != NULL; i++)
    for (const uint32_t *known = map->pci_ids; *known; known++)
      if (*known == id) return map;
  return NULL;
}
#ifdef NBC_LINES
#line 10 "src/nic/registers.h"
#endif
/* Of a recorded NIC. */
typedef struct nic__kept_word {
  uint32_t offset, value;
} nic__kept_word;

/* Mapped BARs belong to the section on registers; finding only tries whether mapping works. */
typedef struct nic__bar {
  const volatile uint32_t *words;
  size_t size_bytes;
} nic__bar;

struct nic_registers {
  const nic_map *map;
  nic_bus bus;
  nic_host host;
  nic__bar bar;
  char name[32];
  bool may_clear;
  nic_counter *counters;
  uint64_t *sums; /* what registers that reading clears have counted */
};

NIC__PRIVATE void nic__bar_close(void *user);
NIC__PRIVATE nic_status nic__bar_map(const nic_machine *m, const nic_info *n, const nic_map *map,
                                     nic__bar *bar, nic_error *err);
#ifdef NBC_LINES
#line 1 "src/nic/registers.c"
#endif
/* Reads the registers of a device, of a simulated one or of a recording. */







static nic_status nic__bar_read32(void *user, uint32_t offset, uint32_t *value) {
  const nic__bar *bar = (const nic__bar *)user;
  if (offset % 4 || offset + 4 > bar->size_bytes) return NIC_E_RANGE;
  *value = bar->words[offset / 4];
  return NIC_OK;
}
NIC__PRIVATE void nic__bar_close(void *user) {
  const nic__bar *bar = (const nic__bar *)user;
  munmap((void *)(uintptr_t)bar->words, bar->size_bytes);
}

/* Why a BAR cannot be read, and the way out; the words are the administrator's to act on. */
static nic_status nic__bar_refused(const nic_info *n, const char *path, int number,
                                   nic_error *err) {
  switch (number) {
  case ENOENT:
    return nic__fail(err, NIC_E_NOT_FOUND,
                     "%.100s is missing: this kernel or container shows no BAR", path);
  case EACCES: return nic__fail(err, NIC_E_RIGHTS, "%.100s: only root may read it", path);
  case EPERM:
    return nic__fail(
        err, NIC_E_RIGHTS,
        "%.100s: refused by kernel lockdown (Secure Boot) or the container; use the PTP clock",
        path);
  case EINVAL:
    return nic__fail(
        err, NIC_E_RIGHTS,
        "driver %s owns the BAR: use the PTP clock, boot with iomem=relaxed, or unbind the driver",
        n->driver[0] ? n->driver : "?");
  default: return nic__fail(err, NIC_E_SYSTEM, "%.100s: %s", path, strerror(number));
  }
}

NIC__PRIVATE nic_status nic__bar_map(const nic_machine *m, const nic_info *n, const nic_map *map,
                                     nic__bar *bar, nic_error *err) {
  char path[NIC__PATH], file[16];
  struct stat st;
  snprintf(file, sizeof file, "resource%d", map->bar_index);
  if (!n->pci_address[0]) return nic__fail(err, NIC_E_UNSUPPORTED, "%s: not a PCI device", n->name);
  if (!nic__path(path, m->sysfs_root, "bus/pci/devices", n->pci_address, file, (char *)NULL))
    return NIC_E_RANGE;
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return nic__bar_refused(n, path, errno, err);
  void *words = MAP_FAILED;
  int number = fstat(fd, &st) == 0 ? 0 : errno;
  const bool too_small = !number && st.st_size < (off_t)map->bar_bytes;
  if (!number && !too_small) {
    words = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (words == MAP_FAILED) number = errno;
  }
  close(fd);
  if (too_small)
    return nic__fail(err, NIC_E_RANGE, "%.100s: %lld bytes, but the registers of %s need %u", path,
                     (long long)st.st_size, map->name, map->bar_bytes);
  if (words == MAP_FAILED) return nic__bar_refused(n, path, number, err);
  bar->words = (const volatile uint32_t *)words;
  bar->size_bytes = (size_t)st.st_size;
  return NIC_OK;
}

/* A recording as a bus: the words that were read, each always the same. */
static nic_status nic__kept_read32(void *user, uint32_t offset, uint32_t *value) {
  const nic__kept *k = (const nic__kept *)user;
  for (size_t i = 0; i < k->word_count; i++)
    if (k->words[i].offset == offset) return *value = k->words[i].value, NIC_OK;
  return NIC_E_NOT_FOUND;
}

/* The bus of a NIC of this machine: its BAR, or what was recorded of it. */
static nic_status nic__bus_open(const nic_machine *m, const nic_info *n, nic_registers *r,
                                nic_error *err) {
  const nic__kept *kept = m->is_recorded ? nic__kept_of(m, n) : NULL;
  if (m->is_recorded && (!kept || kept->word_count == 0))
    return nic__fail(err, NIC_E_NOT_FOUND, "%s: no registers were recorded", n->name);
  if (kept) {
    r->bus.read32 = nic__kept_read32;
    r->bus.user = (void *)(uintptr_t)kept;
    return NIC_OK;
  }
  r->bus.read32 = nic__bar_read32;
  r->bus.user = &r->bar;
  const nic_status status = nic__bar_map(m, n, r->map, &r->bar, err);
  if (status == NIC_OK) r->bus.close = nic__bar_close;
  return status;
}

/* One word in the host's byte order. All ones is what a bus answers for a device that is gone: then
   the word that never is all ones decides. */
static nic_status nic__word(nic_registers *r, uint32_t offset, uint32_t *value, nic_error *err) {
  uint32_t alive = 0;
  nic_status status = r->bus.read32(r->bus.user, offset, value);
  if (status == NIC_OK && *value == UINT32_MAX)
    status = r->bus.read32(r->bus.user, r->map->alive_offset, &alive);
  if (status != NIC_OK)
    return nic__fail(err, status, "%s: register 0x%x cannot be read: %s", r->name, offset,
                     nic_status_text(status));
  if (alive == UINT32_MAX)
    return nic__fail(
        err, NIC_E_GONE,
        "%s: registers read all ones: device gone, powered down or its memory decoding off",
        r->name);
  if (r->map->is_big_endian) *value = __builtin_bswap32(*value);
  return NIC_OK;
}

static nic_status nic__registers_describe(nic_registers *r) {
  const size_t count = r->map->register_count;
  r->counters = (nic_counter *)nic__zalloc(count * sizeof *r->counters);
  r->sums = (uint64_t *)nic__zalloc(count * sizeof *r->sums);
  if (!r->counters || !r->sums) return NIC_E_NOMEM;
  for (size_t i = 0; i < count; i++) {
    const nic_register *reg = &r->map->registers[i];
    nic__describe(&r->counters[i], "register", reg->name);
    r->counters[i].unit = reg->unit;
    r->counters[i].width_bits = reg->clears || reg->high_offset ? 64 : 32;
  }
  return NIC_OK;
}

NIC_API nic_status nic_registers_open(const nic_machine *machine, const nic_info *nic,
                                      const nic_registers_desc *desc, const nic_host *host,
                                      nic_registers **registers, nic_error *err) {
  uint32_t ignored;
  if (!nic || !registers) return nic__fail(err, NIC_E_INVAL, "nic, registers: must not be NULL");
  *registers = NULL;
  const nic_map *map = desc && desc->map ? desc->map : nic_map_for(nic->vendor_id, nic->device_id);
  const bool has_bus = desc && desc->bus;
  if (!map)
    return nic__fail(err, NIC_E_UNSUPPORTED, "%s: no register list for %04x:%04x", nic->name,
                     nic->vendor_id, nic->device_id);
  if (!has_bus && !machine)
    return nic__fail(err, NIC_E_INVAL, "machine: must not be NULL without a bus");
  nic_registers *r = (nic_registers *)nic__zalloc(sizeof *r);
  if (!r) return nic__fail(err, NIC_E_NOMEM, "out of memory");
  r->map = map;
  if (host) r->host = *host;
  memcpy(r->name, nic->name, sizeof r->name);
  r->may_clear = desc && desc->allow_clearing && !nic->driver[0];
  nic_status status = NIC_OK;
  if (has_bus)
    r->bus = *desc->bus;
  else
    status = nic__bus_open(machine, nic, r, err);
  if (status == NIC_OK && nic__registers_describe(r) != NIC_OK)
    status = nic__fail(err, NIC_E_NOMEM, "out of memory");
  if (status == NIC_OK) status = nic__word(r, map->alive_offset, &ignored, err);
  if (status == NIC_OK)
    *registers = r;
  else
    nic_registers_close(r);
  return status;
}

NIC_API void nic_registers_close(nic_registers *registers) {
  if (!registers) return;
  if (registers->bus.close) registers->bus.close(registers->bus.user);
  NIC_FREE(registers->counters);
  NIC_FREE(registers->sums);
  NIC_FREE(registers);
}

NIC_API const nic_map *nic_registers_map(const nic_registers *registers) {
  return registers ? registers->map : NULL;
}
NIC_API size_t nic_registers_count(const nic_registers *registers) {
  return registers ? registers->map->register_count : 0;
}
NIC_API const nic_counter *nic_registers_at(const nic_registers *registers, size_t index) {
  return registers && index < registers->map->register_count ? &registers->counters[index] : NULL;
}

NIC_API nic_status nic_registers_read(nic_registers *registers, nic_value *values, nic_error *err) {
  nic_registers *r = registers;
  size_t valid = 0;
  if (!registers || !values)
    return nic__fail(err, NIC_E_INVAL, "registers, values: must not be NULL");
  for (size_t i = 0; i < r->map->register_count; i++) {
    const nic_register *reg = &r->map->registers[i];
    uint32_t low, high = 0;
    memset(&values[i], 0, sizeof values[i]);
    if (reg->clears && !r->may_clear) continue;
    values[i].t_before_ns = nic_host_now_ns(&r->host);
    nic_status status = nic__word(r, reg->offset, &low, err);
    if (status == NIC_OK && reg->high_offset) status = nic__word(r, reg->high_offset, &high, err);
    if (status != NIC_OK) return status;
    values[i].t_after_ns = nic_host_now_ns(&r->host);
    values[i].value = (uint64_t)high << 32 | low;
    if (reg->clears) values[i].value = r->sums[i] += values[i].value;
    values[i].is_valid = true;
    valid++;
  }
  if (valid) return NIC_OK;
  if (r->map->register_count == 0)
    return nic__fail(err, NIC_E_UNSUPPORTED, "%s: its register list has no counters", r->name);
  return nic__fail(err, NIC_E_REFUSED, "%s: reading these counters clears them%s", r->name,
                   r->may_clear ? "" : "; needs consent, and a NIC that no driver owns");
}

/* One try; false in *whole: the words do not belong together, try again. */
static nic_status nic__clock_words(nic_registers *r, nic_reading *out, uint32_t *low,
                                   uint32_t *high, bool *whole, nic_error *err) {
  const nic_map *m = r->map;
  const bool rest = m->clock_rule == NIC_CLOCK_REST_LATCHES,
             around = m->clock_rule == NIC_CLOCK_HIGH_AROUND;
  uint32_t latch, first_high = 0, again = 0;
  nic_status status = around ? nic__word(r, m->clock_high_offset, &first_high, err) : NIC_OK;
  if (status != NIC_OK) return status;
  out->t_before_ns = nic_host_now_ns(&r->host);
  status = nic__word(r, rest ? m->clock_rest_offset : m->clock_low_offset, &latch, err);
  out->t_after_ns = nic_host_now_ns(&r->host);
  *low = latch;
  if (status == NIC_OK && rest) status = nic__word(r, m->clock_low_offset, low, err);
  if (status == NIC_OK) status = nic__word(r, m->clock_high_offset, high, err);
  if (status == NIC_OK && m->clock_rule == NIC_CLOCK_LOW_RECHECKED)
    status = nic__word(r, m->clock_low_offset, &again, err);
  *whole = (!around || first_high == *high) &&
           (m->clock_rule != NIC_CLOCK_LOW_RECHECKED || again >= *low);
  return status;
}

NIC_API nic_status nic_registers_read_clock(nic_registers *registers, nic_reading *reading,
                                            nic_error *err) {
  if (!registers || !reading)
    return nic__fail(err, NIC_E_INVAL, "registers, reading: must not be NULL");
  nic_registers *r = registers;
  const nic_map *m = r->map;
  uint32_t low = 0, high = 0;
  bool whole = false;
  if (m->clock_rule == NIC_CLOCK_NONE)
    return nic__fail(err, NIC_E_UNSUPPORTED, "%s: its register list has no clock", r->name);
  for (int tries = 0; tries < 8 && !whole; tries++) {
    const nic_status status = nic__clock_words(r, reading, &low, &high, &whole, err);
    if (status != NIC_OK) return status;
  }
  if (!whole || (m->clock_has_seconds && low > 999999999))
    return nic__fail(err, NIC_E_BROKEN,
                     "%s: the words of its clock do not fit together (0x%x, 0x%x)", r->name, high,
                     low);
  reading->ticks =
      m->clock_has_seconds ? high * (uint64_t)1000000000 + low : (uint64_t)high << 32 | low;
  if (m->clock_width_bits < 64) reading->ticks &= ((uint64_t)1 << m->clock_width_bits) - 1;
  return NIC_OK;
}
#ifdef NBC_LINES
#line 100 "src/nic/stamps.h"
#endif
typedef struct nic__offset {
  int64_t t_host_ns, lo_ns, hi_ns;
} nic__offset;

NIC__PRIVATE nic__offset nic__offset_now(const nic_host *host, const nic_system *kernel,
                                         int clock_id);
NIC__PRIVATE bool nic__real_to_host(const nic__offset *then, const nic__offset *now,
                                    int64_t real_ns, int64_t *before_ns, int64_t *after_ns);
#ifdef NBC_LINES
#line 1 "src/nic/stamps.c"
#endif
/* When the kernel or the NIC saw a socket's packets; datagrams with their stamps. */





/* ============================================================================================== */
/* [STAMPS] 6. When the kernel or the NIC saw a socket's packets                                  */
/* ============================================================================================== */
/* CLOCK_REALTIME against host time. Offset REALTIME - host lies in [lo, hi] when the host showed
   about t_host_ns. adjtimex may slew by 500 ppm and adjtime by 500 more; host time is not slewed. */
enum { NIC__SLEW_PPM = 1000 };

struct nic_stamping {
  int fd;
  ssize_t (*receive)(int fd, struct msghdr *m, int flags); /* recvmsg; tests replay messages here */
  nic_host host;
  nic__offset then; /* an anchor of the past, renewed at each conversion */
  nic_stamping_stats stats;
};

static int64_t nic__real_now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The narrowest of a few brackets: one may have been interrupted. */
NIC__PRIVATE nic__offset nic__offset_now(const nic_host *host, const nic_system *kernel,
                                         int clock_id) {
  nic__offset best;
  memset(&best, 0, sizeof best);
  for (int i = 0; i < 3; i++) {
    const int64_t a = nic_host_now_ns(host);
    const int64_t real_ns = kernel ? kernel->clock_ns(kernel->user, clock_id) : nic__real_now_ns();
    const int64_t b = nic_host_now_ns(host);
    if (i > 0 && b - a >= best.hi_ns - best.lo_ns) continue;
    best.t_host_ns = b;
    best.lo_ns = real_ns - b;
    best.hi_ns = real_ns - a;
  }
  return best;
}

/* At most so much slew in d_ns of host time; d_ns may itself be measured by REALTIME, hence the
 * - 1. */
static int64_t nic__slew_ns(int64_t d_ns) {
  return (d_ns < 0 ? -d_ns : d_ns) / (1000000 / NIC__SLEW_PPM - 1) + 1;
}

/* then, now: anchors before and after the stamp. Each alone bounds it, and both must agree. */
NIC__PRIVATE bool nic__real_to_host(const nic__offset *then, const nic__offset *now,
                                    int64_t real_ns, int64_t *before_ns, int64_t *after_ns) {
  const int64_t apart_ns = nic__slew_ns(now->t_host_ns - then->t_host_ns);
  if (now->lo_ns - apart_ns > then->hi_ns || now->hi_ns + apart_ns < then->lo_ns)
    return false; /* stepped */
  int64_t lo_ns = INT64_MIN, hi_ns = INT64_MAX;
  const nic__offset *const anchors[2] = {then, now};
  for (int i = 0; i < 2; i++) {
    const nic__offset *a = anchors[i];
    const int64_t far_ns = real_ns - a->lo_ns - a->t_host_ns,
                  near_ns = real_ns - a->hi_ns - a->t_host_ns;
    const int64_t slack_ns = nic__slew_ns(far_ns > -near_ns ? far_ns : near_ns);
    if (real_ns - a->hi_ns - slack_ns > lo_ns) lo_ns = real_ns - a->hi_ns - slack_ns;
    if (real_ns - a->lo_ns + slack_ns < hi_ns) hi_ns = real_ns - a->lo_ns + slack_ns;
  }
  if (lo_ns > hi_ns || lo_ns > now->t_host_ns) return false;
  *before_ns = lo_ns;
  *after_ns = hi_ns < now->t_host_ns ? hi_ns : now->t_host_ns; /* it is past */
  return true;
}

NIC_API bool nic_stamping_to_host(nic_stamping *stamping, int64_t t_real_ns, int64_t *t_before_ns,
                                  int64_t *t_after_ns) {
  if (!stamping || !t_before_ns || !t_after_ns) return false;
  const nic__offset now = nic__offset_now(&stamping->host, NULL, CLOCK_REALTIME);
  const bool ok = nic__real_to_host(&stamping->then, &now, t_real_ns, t_before_ns, t_after_ns);
  /* Keep the old anchor while it is fresh: stamps older than the last conversion may still come. */
  if (now.t_host_ns - stamping->then.t_host_ns > 10000000 || !ok) stamping->then = now;
  return ok;
}

NIC_API const char *nic_stamp_kind_name(nic_stamp_kind kind) {
  static const char *const names[] = {"none",     "scheduled", "sent",        "acked",
                                      "received", "nic-sent",  "nic-received"};
  return (unsigned)kind <= NIC_STAMP_NIC_RECEIVED ? names[kind] : "?";
}

#define NIC__TX_ASK                                                                                \
  ((uint32_t)(SOF_TIMESTAMPING_TX_SCHED | SOF_TIMESTAMPING_TX_SOFTWARE | SOF_TIMESTAMPING_TX_ACK))
#define NIC__OPT_TCP                                                                               \
  ((uint32_t)1 << 16) /* SOF_TIMESTAMPING_OPT_ID_TCP of newer headers: keys count from here */

NIC_API nic_status nic_stamping_open(int socket_fd, bool nic, const nic_host *host,
                                     nic_stamping **stamping, nic_error *err) {
  int type = 0;
  socklen_t type_bytes = sizeof type;
  if (!stamping) return nic__fail(err, NIC_E_INVAL, "stamping: must not be NULL");
  *stamping = NULL;
  if (getsockopt(socket_fd, SOL_SOCKET, SO_TYPE, &type, &type_bytes) != 0)
    return nic__fail(err, NIC_E_INVAL, "socket_fd %d: %s", socket_fd, strerror(errno));
  const bool is_tcp = type == SOCK_STREAM;
  uint32_t flags = SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_RX_SOFTWARE |
                   SOF_TIMESTAMPING_OPT_ID | SOF_TIMESTAMPING_OPT_TSONLY;
  if (nic)
    flags |=
        SOF_TIMESTAMPING_RAW_HARDWARE | SOF_TIMESTAMPING_RX_HARDWARE | SOF_TIMESTAMPING_OPT_TX_SWHW;
  uint32_t more = is_tcp ? flags | NIC__OPT_TCP : flags;
  if (setsockopt(socket_fd, SOL_SOCKET, SO_TIMESTAMPING, &more, sizeof more) != 0 &&
      setsockopt(socket_fd, SOL_SOCKET, SO_TIMESTAMPING, &flags, sizeof flags) != 0)
    return nic__fail(err, NIC_E_UNSUPPORTED, "SO_TIMESTAMPING: %s", strerror(errno));
  nic_stamping *s = (nic_stamping *)nic__zalloc(sizeof *s);
  if (!s) return nic__fail(err, NIC_E_NOMEM, "out of memory");
  s->fd = socket_fd;
  s->receive = recvmsg;
  if (host) s->host = *host;
  s->then = nic__offset_now(&s->host, NULL, CLOCK_REALTIME);
  s->stats.has_sent = s->stats.has_received = true;
  s->stats.has_nic = nic;
  *stamping = s;
  return NIC_OK;
}

NIC_API void nic_stamping_close(nic_stamping *stamping) { NIC_FREE(stamping); }
NIC_API nic_stamping_stats nic_stamping_stats_of(const nic_stamping *stamping) {
  nic_stamping_stats none;
  memset(&none, 0, sizeof none);
  return stamping ? stamping->stats : none;
}

/* asked: SOF_TIMESTAMPING_TX_… of the kernel; the NIC's comes on top. What is not needed should not be
   asked for: reports wait in the socket's receive buffer, and where that is full they are lost. */
static long nic__stamping_send(nic_stamping *stamping, const void *data, size_t size_bytes,
                               int flags, uint32_t asked, const void *to, size_t to_bytes) {
  union {
    struct cmsghdr align;
    char room[CMSG_SPACE(sizeof(uint32_t))];
  } control;
  struct iovec part = {(void *)(uintptr_t)data, size_bytes};
  struct msghdr m;
  const uint32_t ask =
      asked | (stamping->stats.has_nic ? (uint32_t)SOF_TIMESTAMPING_TX_HARDWARE : 0);
  memset(&control, 0, sizeof control);
  memset(&m, 0, sizeof m);
  m.msg_name = (void *)(uintptr_t)to;
  m.msg_namelen = (socklen_t)to_bytes;
  m.msg_iov = &part;
  m.msg_iovlen = 1;
  m.msg_control = control.room;
  m.msg_controllen = sizeof control.room;
  struct cmsghdr *c = CMSG_FIRSTHDR(&m);
  c->cmsg_level = SOL_SOCKET;
  c->cmsg_type = SO_TIMESTAMPING;
  c->cmsg_len = CMSG_LEN(sizeof ask);
  memcpy(CMSG_DATA(c), &ask, sizeof ask);
  return sendmsg(stamping->fd, &m, flags | MSG_DONTWAIT | MSG_NOSIGNAL);
}
NIC_API long nic_stamping_send(nic_stamping *stamping, const void *data, size_t size_bytes,
                               int flags) {
  if (!stamping || (!data && size_bytes)) return errno = EINVAL, -1;
  return nic__stamping_send(stamping, data, size_bytes, flags, NIC__TX_ASK, NULL, 0);
}

/* From the control messages of one recvmsg: kernel time, NIC time, what and which. */
typedef struct nic__seen {
  int64_t kernel_ns, nic_ns;
  uint32_t what, key;
  bool is_report; /* what and key are filled */
} nic__seen;

static nic__seen nic__seen_of(struct msghdr *m) {
  nic__seen seen;
  memset(&seen, 0, sizeof seen);
  const char *end = (const char *)m->msg_control + m->msg_controllen;
  for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
    if (c->cmsg_len > (size_t)(end - (const char *)c)) break;
    if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_TIMESTAMPING &&
        c->cmsg_len >= CMSG_LEN(3 * sizeof(struct timespec))) {
      struct timespec t[3];
      memcpy(t, CMSG_DATA(c), sizeof t);
      seen.kernel_ns = (int64_t)t[0].tv_sec * 1000000000 + t[0].tv_nsec;
      seen.nic_ns = (int64_t)t[2].tv_sec * 1000000000 + t[2].tv_nsec;
    } else if (((c->cmsg_level == SOL_IP && c->cmsg_type == IP_RECVERR) ||
                (c->cmsg_level == SOL_IPV6 && c->cmsg_type == IPV6_RECVERR)) &&
               c->cmsg_len >= CMSG_LEN(sizeof(struct sock_extended_err))) {
      struct sock_extended_err e;
      memcpy(&e, CMSG_DATA(c), sizeof e);
      seen.is_report = e.ee_origin == SO_EE_ORIGIN_TIMESTAMPING;
      seen.what = e.ee_info;
      seen.key = e.ee_data;
    }
  }
  return seen;
}

/* Fills a stamp; false when its time cannot be carried over. */
static bool nic__stamp_fill(nic_stamping *s, const nic__seen *seen, nic_stamp_kind kernel_kind,
                            nic_stamp_kind of_nic, nic_stamp *stamp) {
  memset(stamp, 0, sizeof *stamp);
  stamp->key_count = seen->key;
  stamp->t_real_ns = seen->kernel_ns;
  if (!seen->kernel_ns && !seen->nic_ns) return true; /* kind NONE */
  if (seen->kernel_ns) {
    if (nic_stamping_to_host(s, seen->kernel_ns, &stamp->t_before_ns, &stamp->t_after_ns))
      stamp->kind = kernel_kind;
    else
      s->stats.stepped_count++;
  }
  if (seen->nic_ns) {
    stamp->kind = of_nic;
    stamp->ticks = (uint64_t)seen->nic_ns;
  }
  if (stamp->kind == NIC_STAMP_NONE) return false;
  s->stats.taken_count++;
  return true;
}

NIC_API long nic_stamping_recv(nic_stamping *stamping, void *data, size_t size_bytes,
                               nic_stamp *stamp) {
  union {
    struct cmsghdr align;
    char room[256];
  } control;
  struct iovec part = {data, size_bytes};
  struct msghdr m;
  if (!stamping || (!data && size_bytes) || !stamp) return errno = EINVAL, -1;
  memset(&m, 0, sizeof m);
  m.msg_iov = &part;
  m.msg_iovlen = 1;
  m.msg_control = control.room;
  m.msg_controllen = sizeof control.room;
  memset(stamp, 0, sizeof *stamp);
  const long n = stamping->receive(stamping->fd, &m, MSG_DONTWAIT);
  if (n <= 0) return n;
  const nic__seen seen = nic__seen_of(&m);
  nic__stamp_fill(stamping, &seen, NIC_STAMP_RECEIVED, NIC_STAMP_NIC_RECEIVED, stamp);
  return n;
}

NIC_API nic_status nic_stamping_next(nic_stamping *stamping, nic_stamp *stamp, nic_error *err) {
  static const nic_stamp_kind kinds[3] = {NIC_STAMP_SENT, NIC_STAMP_SCHEDULED,
                                          NIC_STAMP_ACKED}; /* SCM_TSTAMP_SND, SCHED, ACK */
  if (!stamping || !stamp) return nic__fail(err, NIC_E_INVAL, "stamping, stamp: must not be NULL");
  for (;;) {
    union {
      struct cmsghdr align;
      char room[512];
    } control;
    struct msghdr m;
    memset(&m, 0, sizeof m);
    m.msg_control = control.room;
    m.msg_controllen = sizeof control.room;
    if (stamping->receive(stamping->fd, &m, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) {
      if (errno == EAGAIN || errno == EWOULDBLOCK) return NIC_E_NOT_FOUND;
      return nic__fail(err, NIC_E_SYSTEM, "error queue: %s", strerror(errno));
    }
    const nic__seen seen = nic__seen_of(&m);
    if (!seen.is_report || seen.what > 2) continue; /* a network error, reported by the next send */
    if (nic__stamp_fill(stamping, &seen, kinds[seen.what], NIC_STAMP_NIC_SENT, stamp) &&
        stamp->kind != NIC_STAMP_NONE)
      return NIC_OK;
  }
}

/* ---- datagrams --------------------------------------------------------------------------------
 */
struct nic_datagrams {
  nic_stamping *stamping;
  nic_datagrams_stats stats;
  size_t window;
  uint64_t first,
      last; /* first ... last - 1 wait; number = what the kernel counts, without its wrap */
  nic_datagram *ring;
};

NIC_API nic_status nic_datagrams_open(int socket_fd, bool nic, size_t window, const nic_host *host,
                                      nic_datagrams **datagrams, nic_error *err) {
  int type = 0;
  socklen_t type_bytes = sizeof type;
  if (!datagrams) return nic__fail(err, NIC_E_INVAL, "datagrams: must not be NULL");
  *datagrams = NULL;
  if (getsockopt(socket_fd, SOL_SOCKET, SO_TYPE, &type, &type_bytes) == 0 && type != SOCK_DGRAM)
    return nic__fail(err, NIC_E_INVAL, "socket_fd %d: no datagram socket", socket_fd);
  nic_datagrams *d = (nic_datagrams *)nic__zalloc(sizeof *d);
  if (!d) return nic__fail(err, NIC_E_NOMEM, "out of memory");
  d->window = window ? window : 64;
  d->ring = (nic_datagram *)nic__zalloc(d->window * sizeof *d->ring);
  const nic_status status = d->ring ? nic_stamping_open(socket_fd, nic, host, &d->stamping, err)
                                    : nic__fail(err, NIC_E_NOMEM, "out of memory");
  if (status == NIC_OK)
    *datagrams = d;
  else
    nic_datagrams_close(d);
  return status;
}
NIC_API void nic_datagrams_close(nic_datagrams *datagrams) {
  if (!datagrams) return;
  nic_stamping_close(datagrams->stamping);
  NIC_FREE(datagrams->ring);
  NIC_FREE(datagrams);
}
NIC_API nic_stamping *nic_datagrams_stamping(nic_datagrams *datagrams) {
  return datagrams ? datagrams->stamping : NULL;
}
NIC_API nic_datagrams_stats nic_datagrams_stats_of(const nic_datagrams *datagrams) {
  nic_datagrams_stats none;
  memset(&none, 0, sizeof none);
  return datagrams ? datagrams->stats : none;
}

NIC_API long nic_datagrams_send(nic_datagrams *datagrams, uint64_t id, const void *data,
                                size_t size_bytes, const void *to, size_t to_bytes) {
  nic_datagrams *d = datagrams;
  if (!datagrams || (!data && size_bytes)) return errno = EINVAL, -1;
  if (d->last - d->first == d->window) return errno = ENOBUFS, -1;
  nic_datagram *sent = &d->ring[d->last % d->window];
  memset(sent, 0, sizeof *sent);
  sent->id = id;
  sent->t_call_ns = nic_host_now_ns(&d->stamping->host);
  const long k = nic__stamping_send(
      d->stamping, data, size_bytes, 0,
      (uint32_t)(SOF_TIMESTAMPING_TX_SCHED | SOF_TIMESTAMPING_TX_SOFTWARE), to, to_bytes);
  sent->t_back_ns = nic_host_now_ns(&d->stamping->host);
  if (k < 0) {
    d->stats.failed_count++;
    return k;
  }
  sent->size_bytes = (size_t)k;
  d->stats.sent_count++;
  d->last++;
  return k;
}

static void nic__datagrams_match(nic_datagrams *d, const nic_stamp *s) {
  /* the kernel's number has 32 bits: nearest to the oldest that waits */
  const int32_t ahead = (int32_t)(s->key_count - (uint32_t)d->first);
  if (ahead < 0 || (uint64_t)ahead >= d->last - d->first) {
    d->stats.late_count++;
    return;
  }
  nic_datagram *g = &d->ring[(d->first + (uint64_t)ahead) % d->window];
  nic_stamp *place = s->kind == NIC_STAMP_SCHEDULED  ? &g->scheduled
                     : s->kind == NIC_STAMP_NIC_SENT ? &g->by_nic
                                                     : &g->sent;
  if (s->kind != NIC_STAMP_NIC_SENT && s->t_after_ns < g->t_call_ns)
    d->stats.refused_count++;
  else if (place->kind == NIC_STAMP_NONE)
    *place = *s; /* fragments are stamped one by one: the first is the begin */
}

NIC_API nic_status nic_datagrams_next(nic_datagrams *datagrams, int64_t patience_ns,
                                      nic_datagram *datagram, nic_error *err) {
  nic_datagrams *d = datagrams;
  nic_stamp s;
  nic_status status;
  if (!datagrams || !datagram)
    return nic__fail(err, NIC_E_INVAL, "datagrams, datagram: must not be NULL");
  while ((status = nic_stamping_next(d->stamping, &s, err)) == NIC_OK) nic__datagrams_match(d, &s);
  if (status != NIC_E_NOT_FOUND) return status;
  if (d->first == d->last) return NIC_E_NOT_FOUND;
  const nic_datagram *g = &d->ring[d->first % d->window];
  const int missing =
      !g->scheduled.kind + !g->sent.kind + (d->stamping->stats.has_nic && !g->by_nic.kind);
  if (missing && nic_host_now_ns(&d->stamping->host) - g->t_back_ns < patience_ns)
    return NIC_E_NOT_FOUND;
  d->stats.lost_count += (uint64_t)missing;
  *datagram = *g;
  d->first++;
  return NIC_OK;
}
#ifdef NBC_LINES
#line 62 "src/nic/clock.h"
#endif
struct nic_clock {
  nic_clock_info info;
  nic_host host;
  nic_system kernel;
  nic_registers *registers;
  int fd;
  int64_t precise_err_ns;
};
#ifdef NBC_LINES
#line 1 "src/nic/clock.c"
#endif
/* Reads a NIC's clock: PTP device, registers, or the kernel's own. */







/* ============================================================================================== */
/* [CLOCK] 7. Reading a NIC's clock                                                               */
/* ============================================================================================== */

static int nic__kernel_control(void *user, int fd, unsigned long request, void *argument) {
  (void)user;
  return ioctl(fd, request, argument);
}
static int64_t nic__kernel_clock_ns(void *user, int clock_id) {
  struct timespec t;
  (void)user;
  if (clock_gettime((clockid_t)clock_id, &t) != 0) return -1;
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
static int nic__clock_id(int fd) {
  return (int)(((unsigned)~fd << 3) | 3);
} /* as the kernel defines it for PTP devices */

/* Narrows a reading by times of another clock of this host, taken closer to the register; the two
   anchors enclose the system call. When that clock was stepped meanwhile, the outer bracket stays. */
static void nic__clock_narrow(const nic__offset *then, const nic__offset *now, int64_t pre_ns,
                              int64_t post_ns, nic_reading *r) {
  int64_t lo_ns, hi_ns, unused_ns;
  if (!nic__real_to_host(then, now, pre_ns, &lo_ns, &unused_ns) ||
      !nic__real_to_host(then, now, post_ns, &unused_ns, &hi_ns))
    return;
  if (lo_ns > hi_ns || hi_ns < r->t_before_ns || lo_ns > r->t_after_ns) return;
  if (lo_ns > r->t_before_ns) r->t_before_ns = lo_ns;
  if (hi_ns < r->t_after_ns) r->t_after_ns = hi_ns;
}

static int64_t nic__ptp_ns(const struct ptp_clock_time *t) { return t->sec * 1000000000 + t->nsec; }

static int nic__clock_precise(nic_clock *c, nic_reading *r) {
  struct ptp_sys_offset_precise p;
  memset(&p, 0, sizeof p);
  const nic__offset then = nic__offset_now(&c->host, &c->kernel, CLOCK_MONOTONIC_RAW);
  r->t_before_ns = nic_host_now_ns(&c->host);
  if (c->kernel.control(c->kernel.user, c->fd, PTP_SYS_OFFSET_PRECISE, &p) != 0) return -1;
  r->t_after_ns = nic_host_now_ns(&c->host);
  const nic__offset now = nic__offset_now(&c->host, &c->kernel, CLOCK_MONOTONIC_RAW);
  const int64_t raw_ns = nic__ptp_ns(&p.sys_monoraw);
  r->ticks = (uint64_t)nic__ptp_ns(&p.device);
  nic__clock_narrow(&then, &now, raw_ns - c->precise_err_ns, raw_ns + c->precise_err_ns, r);
  return 0;
}

static int nic__clock_extended(nic_clock *c, nic_reading *r) {
  struct ptp_sys_offset_extended x;
  memset(&x, 0, sizeof x);
  x.n_samples = 3;
  const nic__offset then = nic__offset_now(&c->host, &c->kernel, CLOCK_REALTIME);
  r->t_before_ns = nic_host_now_ns(&c->host);
  if (c->kernel.control(c->kernel.user, c->fd, PTP_SYS_OFFSET_EXTENDED, &x) != 0) return -1;
  r->t_after_ns = nic_host_now_ns(&c->host);
  const nic__offset now = nic__offset_now(&c->host, &c->kernel, CLOCK_REALTIME);
  int64_t pre_ns = 0, post_ns = INT64_MAX;
  for (unsigned i = 0; i < x.n_samples && i < 3;
       i++) { /* the first is often slow: take the narrowest */
    const int64_t a_ns = nic__ptp_ns(&x.ts[i][0]), b_ns = nic__ptp_ns(&x.ts[i][2]);
    if (b_ns < a_ns || b_ns - a_ns >= post_ns - pre_ns) continue;
    pre_ns = a_ns;
    post_ns = b_ns;
    r->ticks = (uint64_t)nic__ptp_ns(&x.ts[i][1]);
  }
  if (post_ns == INT64_MAX) return errno = EIO, -1;
  nic__clock_narrow(&then, &now, pre_ns, post_ns, r);
  return 0;
}

static int nic__clock_plain(nic_clock *c, nic_reading *r) {
  const int id = c->info.kind == NIC_READING_SYSTEM ? CLOCK_REALTIME : nic__clock_id(c->fd);
  r->t_before_ns = nic_host_now_ns(&c->host);
  const int64_t ns = c->kernel.clock_ns(c->kernel.user, id);
  r->t_after_ns = nic_host_now_ns(&c->host);
  r->ticks = (uint64_t)ns;
  return ns < 0 ? -1 : 0;
}

NIC_API nic_status nic_clock_read(nic_clock *clock, nic_reading *reading, nic_error *err) {
  int code = -1;
  if (!clock || !reading) return nic__fail(err, NIC_E_INVAL, "clock, reading: must not be NULL");
  switch (clock->info.kind) {
  case NIC_READING_PRECISE: code = nic__clock_precise(clock, reading); break;
  case NIC_READING_EXTENDED: code = nic__clock_extended(clock, reading); break;
  case NIC_READING_PLAIN:
  case NIC_READING_SYSTEM: code = nic__clock_plain(clock, reading); break;
  case NIC_READING_REGISTERS: {
    const nic_status status = nic_registers_read_clock(clock->registers, reading, err);
    if (status == NIC_OK) reading->ticks >>= clock->info.low_bits;
    return status;
  }
  }
  if (code == 0) return NIC_OK;
  return nic__fail(err, nic__of_errno(errno), "%s: cannot be read: %s", clock->info.name,
                   errno == ENODEV ? "device gone or driver unloaded" : strerror(errno));
}

/* A PTP device is read in the best way that works, tried once. */
static nic_status nic__clock_open_ptp(nic_clock *c, const char *path, nic_reading_kind best,
                                      nic_error *err) {
  struct ptp_clock_caps caps;
  nic_reading reading;
  nic_status status = NIC_E_UNSUPPORTED;
  nic__copy(c->info.name, sizeof c->info.name, path);
  c->info.nominal_hz[0] = 1e9;
  c->info.counter_bits = 64;
  c->info.step_ticks = 1;
  c->fd = open(path, O_RDONLY | O_CLOEXEC);
  if (c->fd < 0)
    return nic__fail(
        err, nic__of_errno(errno), "%.100s: %s%s", path, strerror(errno),
        errno == EACCES ? "; udev rule SUBSYSTEM==\"ptp\", MODE=\"0644\", or run as root" : "");
  memset(&caps, 0, sizeof caps);
  if (c->kernel.control(c->kernel.user, c->fd, PTP_CLOCK_GETCAPS, &caps) != 0)
    return nic__fail(err, errno == ENOTTY ? NIC_E_UNSUPPORTED : nic__of_errno(errno),
                     "%.100s: not a PTP clock: %s", path, strerror(errno));
  if (best == NIC_READING_PRECISE && !caps.cross_timestamping) best = NIC_READING_EXTENDED;
  for (int kind = (int)best; kind <= NIC_READING_PLAIN && status != NIC_OK; kind++) {
    c->info.kind = (nic_reading_kind)kind;
    status = nic_clock_read(c, &reading, err);
    if (status == NIC_E_GONE) return status;
  }
  return status;
}

NIC_API nic_status nic_clock_open(const nic_machine *machine, const nic_info *nic,
                                  const nic_clock_desc *desc_in, const nic_host *host,
                                  nic_clock **clock, nic_error *err) {
  char path[NIC__PATH], node[24];
  nic_clock_desc desc;
  memset(&desc, 0, sizeof desc);
  if (desc_in) desc = *desc_in;
  if (!clock) return nic__fail(err, NIC_E_INVAL, "clock: must not be NULL");
  *clock = NULL;
  if (!desc.device_path && !desc.registers && !desc.system) {
    if (!machine || !nic)
      return nic__fail(err, NIC_E_INVAL, "machine, nic: must not be NULL without a source");
    if (nic->ptp_index < 0)
      return nic__fail(err, NIC_E_NOT_FOUND, "%s: %s", nic->name,
                       nic->offers[NIC_OFFER_CLOCK].text);
    snprintf(node, sizeof node, "ptp%d", nic->ptp_index);
    if (!nic__path(path, machine->dev_root, node, (char *)NULL))
      return nic__fail(err, NIC_E_RANGE, "dev_root: too long");
    desc.device_path = path;
  }
  nic_clock *c = (nic_clock *)nic__zalloc(sizeof *c);
  if (!c) return nic__fail(err, NIC_E_NOMEM, "out of memory");
  c->fd = -1;
  c->precise_err_ns = desc.precise_err_ns ? desc.precise_err_ns : 100;
  if (host) c->host = *host;
  c->kernel.control = nic__kernel_control;
  c->kernel.clock_ns = nic__kernel_clock_ns;
  if (desc.kernel) c->kernel = *desc.kernel;
  nic_status status = NIC_OK;
  if (desc.system) {
    strcpy(c->info.name, "CLOCK_REALTIME");
    c->info.kind = NIC_READING_SYSTEM;
    c->info.nominal_hz[0] = 1e9;
    c->info.counter_bits = 64;
    c->info.step_ticks = 1;
  } else if (desc.registers) {
    const nic_map *map = desc.registers->map;
    c->registers = desc.registers;
    c->info.kind = NIC_READING_REGISTERS;
    snprintf(c->info.name, sizeof c->info.name, "%.31s registers (%.18s)", desc.registers->name,
             map->name);
    c->info.low_bits = map->clock_low_bits;
    for (int i = 0; i < 3; i++)
      c->info.nominal_hz[i] = ldexp(map->ticks_per_ns[i] * 1e9, -map->clock_low_bits);
    c->info.counter_bits = map->clock_width_bits - map->clock_low_bits;
    c->info.step_ticks = 1;
  } else
    status = nic__clock_open_ptp(c, desc.device_path, desc.best_kind, err);
  if (status == NIC_OK)
    *clock = c;
  else
    nic_clock_close(c);
  return status;
}

NIC_API void nic_clock_close(nic_clock *clock) {
  if (!clock) return;
  if (clock->fd >= 0) close(clock->fd);
  NIC_FREE(clock);
}
NIC_API const nic_clock_info *nic_clock_info_of(const nic_clock *clock) {
  return clock ? &clock->info : NULL;
}

NIC_API nic_status nic_clock_judge(const nic_clock_info *info, const nic_reading *first,
                                   const nic_reading *last, double limit_ppm, double *rate_lo_hz,
                                   double *rate_hi_hz, nic_error *err) {
  if (!info || !first || !last)
    return nic__fail(err, NIC_E_INVAL, "info, first, last: must not be NULL");
  const uint64_t mask = info->counter_bits > 0 && info->counter_bits < 64
                            ? ((uint64_t)1 << info->counter_bits) - 1
                            : UINT64_MAX;
  const uint64_t ticks = (last->ticks - first->ticks) & mask;
  const double longest_s = (double)(last->t_after_ns - first->t_before_ns) * 1e-9;
  const double shortest_s = (double)(last->t_before_ns - first->t_after_ns) * 1e-9;
  const double step = (double)(info->step_ticks ? info->step_ticks : 1),
               limit = (limit_ppm > 0 ? limit_ppm : 1000) * 1e-6;
  /* each reading lags the clock by up to one step */
  const double lo_hz =
      longest_s > 0 && (double)ticks > step ? ((double)ticks - step) / longest_s : 0;
  const double hi_hz = shortest_s > 0 ? ((double)ticks + step) / shortest_s : (double)INFINITY;
  if (rate_lo_hz) *rate_lo_hz = lo_hz;
  if (rate_hi_hz) *rate_hi_hz = hi_hz;
  double nearest_hz = 0;
  bool possible = info->nominal_hz[0] <= 0;
  for (int i = 0; i < 3 && info->nominal_hz[i] > 0; i++) {
    const double hz = info->nominal_hz[i];
    if (lo_hz <= hz * (1 + limit) && hi_hz >= hz * (1 - limit)) possible = true;
    if (i == 0 || fabs(hi_hz / hz - 1) < fabs(hi_hz / nearest_hz - 1)) nearest_hz = hz;
  }
  if (ticks == 0 && (info->nominal_hz[0] > 0 ? !possible : shortest_s > 0.001))
    return nic__fail(err, NIC_E_STOPPED,
                     "%s: its clock stands still: not started by the driver, or not emulated",
                     info->name);
  if (!possible && ticks > mask / 2)
    return nic__fail(err, NIC_E_BROKEN, "%s: its clock went back: somebody sets it", info->name);
  if (!possible)
    return nic__fail(err, NIC_E_RATE,
                     "%s: its clock runs %.4g times as fast as it should: wrong crystal assumed by "
                     "driver or emulation",
                     info->name, (lo_hz + (isfinite(hi_hz) ? hi_hz : lo_hz)) / 2 / nearest_hz);
  return NIC_OK;
}

NIC_API const char *nic_reading_kind_name(nic_reading_kind kind) {
  static const char *const names[] = {"precise", "extended", "plain", "registers", "system"};
  return (unsigned)kind <= NIC_READING_SYSTEM ? names[kind] : "?";
}
#ifdef NBC_LINES
#line 8 "src/nic/pci.h"
#endif
NIC__PRIVATE nic__pci *nic__pci_add(nic_machine *m, const char *address);
NIC__PRIVATE void nic__link_name(const char *path, char *name, size_t name_bytes);
NIC__PRIVATE void nic__pci_from_header(nic__pci *p, const uint8_t header[64]);
NIC__PRIVATE nic_status nic__pci_scan_sysfs(nic_machine *m);
#ifdef NIC_WITH_LIBPCI
NIC__PRIVATE nic_status nic__pci_scan_libpci(nic_machine *m, const char *dump_path, nic_error *err);
#endif
NIC__PRIVATE void nic__pcie_from_config(nic_pcie *pcie, const uint8_t *config, size_t bytes);
#ifdef NBC_LINES
#line 1 "src/nic/pci.c"
#endif
/* PCI devices of this machine or a dump, by libpci or from sysfs. */






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
#ifdef NBC_LINES
#line 28 "src/nic/record.h"
#endif
NIC__PRIVATE nic_status nic__record_load(nic_machine *m, const char *path, nic_error *err);
NIC__PRIVATE nic_status nic__record_scan_pci(nic_machine *m, const char *path);
#ifdef NBC_LINES
#line 1 "src/nic/record.c"
#endif
/* A machine in a file: writes and reads it. */












/* ============================================================================================== */
/* [RECORD] 8. A machine in a file                                                                */
/* ============================================================================================== */
enum { NIC__RECORD_LINE = 250, NIC__RECORD_MOST = 1 << 20 }; /* libpci takes no longer lines */

/* ---- writing ---------------------------------------------------------------------------------- */
static void nic__record_config(const nic_machine *m, const char *address, FILE *out) {
  char path[NIC__PATH];
  uint8_t bytes[4096];
  if (!nic__path(path, m->sysfs_root, "bus/pci/devices", address, "config", (char *)NULL)) return;
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  const ssize_t n = read(fd, bytes, sizeof bytes);
  close(fd);
  if (n < 64) return;
  fprintf(out, "%s device\n", address);
  for (ssize_t i = 0; i + 16 <= n; i += 16) {
    fprintf(out, i < 0x100 ? "%02zx:" : "%03zx:", (size_t)i);
    for (int k = 0; k < 16; k++) fprintf(out, " %02x", bytes[i + k]);
    fputc('\n', out);
  }
  fputc('\n', out);
}

static nic_status nic__record_counters(const nic_machine *m, const nic_info *n, int64_t apart_ns,
                                       FILE *out) {
  nic_counters *c;
  const nic_status status = nic_counters_open(m, n, NULL, &c, NULL);
  if (status != NIC_OK) return status;
  const size_t count = nic_counters_count(c);
  nic_value *first = (nic_value *)nic__zalloc(2 * count * sizeof *first),
            *second = first ? first + count : NULL;
  if (first && nic_counters_read(c, first, NULL) == NIC_OK) {
    const struct timespec wait = {(time_t)(apart_ns / 1000000000), (long)(apart_ns % 1000000000)};
    nanosleep(&wait, NULL);
    if (nic_counters_read(c, second, NULL) != NIC_OK) memset(second, 0, count * sizeof *second);
  }
  for (size_t i = 0; first && i < count; i++) {
    const nic_counter *k = nic_counters_at(c, i);
    if (!first[i].is_valid || !second[i].is_valid) continue;
    fprintf(out, "#nic-counter %d %d %d %u %llu %lld %lld %llu %lld %lld %s\n", (int)k->unit,
            (int)k->end, k->width_bits, k->scale, (unsigned long long)first[i].value,
            (long long)first[i].t_before_ns, (long long)first[i].t_after_ns,
            (unsigned long long)second[i].value, (long long)second[i].t_before_ns,
            (long long)second[i].t_after_ns, k->name);
  }
  nic_counters_close(c);
  if (!first) return NIC_E_NOMEM;
  NIC_FREE(first);
  return NIC_OK;
}

/* The words of a register list that reading leaves alone. */
static void nic__record_registers(nic_registers *r, FILE *out) {
  const nic_map *map = r->map;
  const uint32_t words[4] = {map->alive_offset,
                             map->clock_rest_offset ? map->clock_rest_offset : map->alive_offset,
                             map->clock_low_offset, map->clock_high_offset};
  uint32_t value;
  for (int i = 0; i < 4; i++)
    if (r->bus.read32(r->bus.user, words[i], &value) == NIC_OK)
      fprintf(out, "#nic-register %x %08x\n", words[i], value);
}

static void nic__record_clock(nic_clock *c, size_t count, FILE *out) {
  const nic_clock_info *i = &c->info;
  nic_reading r;
  const locale_t before = nbc__locale_begin();
  fprintf(out, "#nic-clock %d %.17g %.17g %.17g %d %d %llu %s\n", (int)i->kind, i->nominal_hz[0],
          i->nominal_hz[1], i->nominal_hz[2], i->low_bits, i->counter_bits,
          (unsigned long long)i->step_ticks, i->name);
  nbc__locale_end(before);
  for (size_t k = 0; k < count && nic_clock_read(c, &r, NULL) == NIC_OK; k++) {
    const struct timespec wait = {0, 5000000};
    fprintf(out, "#nic-reading %lld %llu %lld\n", (long long)r.t_before_ns,
            (unsigned long long)r.ticks, (long long)r.t_after_ns);
    nanosleep(&wait, NULL);
  }
}

/* ret NIC_OK | NIC_E_NOMEM */
static nic_status nic__record_one(const nic_machine *m, const nic_info *n, const nic_record_desc *d,
                                  FILE *out) {
  nic_registers *r = NULL;
  nic_clock *c = NULL;
  fprintf(out, "#nic-begin %d %d %d %d %llu %u %u %s %s %s\n", (int)n->kind, n->is_up,
          n->is_loopback, n->ptp_index, (unsigned long long)n->speed_bps, n->mtu_bytes,
          n->stamp_flags, n->name, n->pci_address[0] ? n->pci_address : "-",
          n->driver[0] ? n->driver : "-");
  fprintf(out, "#nic-model %04x %04x %04x %s\n", n->vendor_id, n->device_id, (unsigned)n->pci_class,
          n->model);
  if (n->link.is_known)
    fprintf(out, "#nic-link %d %d %d %d %d\n", n->link.has_link, n->link.state, n->link.substate,
            n->link.quality, n->link.most_quality);
  for (int k = 0; k < NIC_OFFER_COUNT; k++)
    fprintf(out, "#nic-offer %d %d %s\n", k, (int)n->offers[k].answer, n->offers[k].text);
  nic_status status = nic__record_counters(m, n, d->apart_ns, out);
  if (status == NIC_E_NOMEM) return status;
  status = n->ptp_index >= 0 ? nic_clock_open(m, n, NULL, NULL, &c, NULL) : NIC_E_NOT_FOUND;
  if (status == NIC_OK) nic__record_clock(c, d->reading_count, out);
  nic_clock_close(c);
  c = NULL;
  if (status != NIC_E_NOMEM && nic_map_for(n->vendor_id, n->device_id))
    status = nic_registers_open(m, n, NULL, NULL, &r, NULL);
  if (status == NIC_E_NOMEM) return status;
  if (r) {
    nic_clock_desc by_registers;
    memset(&by_registers, 0, sizeof by_registers);
    by_registers.registers = r;
    nic__record_registers(r, out);
    if (n->ptp_index < 0) status = nic_clock_open(NULL, NULL, &by_registers, NULL, &c, NULL);
    if (c) nic__record_clock(c, d->reading_count, out);
    nic_clock_close(c);
  }
  nic_registers_close(r);
  fputs("#nic-end\n", out);
  return status == NIC_E_NOMEM ? status : NIC_OK;
}

NIC_API nic_status nic_record_write(const nic_machine *machine, const nic_record_desc *desc,
                                    FILE *out, nic_error *err) {
  nic_record_desc d;
  memset(&d, 0, sizeof d);
  if (desc) d = *desc;
  if (!machine || !out || machine->is_recorded)
    return nic__fail(err, NIC_E_INVAL, "machine, out: must not be NULL, and no recording itself");
  if (d.apart_ns <= 0) d.apart_ns = 100000000;
  if (d.reading_count == 0) d.reading_count = 16;
  fputs("#nic-record 1\n\n", out);
  for (size_t i = 0; i < machine->pci_count; i++)
    nic__record_config(machine, machine->pci[i].address, out);
  for (size_t i = 0; i < machine->nic_count; i++)
    if (nic__record_one(machine, &machine->nics[i], &d, out) != NIC_OK)
      return nic__fail(err, NIC_E_NOMEM, "recording cannot be written: out of memory");
  if (fflush(out) != 0 || ferror(out))
    return nic__fail(err, NIC_E_IO, "recording cannot be written: %s", strerror(errno));
  return NIC_OK;
}

/* ---- reading ---------------------------------------------------------------------------------- */
typedef struct nic__record_line {
  char text[NIC__RECORD_LINE + 2];
  char *at; /* what is not parsed yet */
  int number;
} nic__record_line;

/* The next word as a number in lo … hi; false: not there or out of range. */
static bool nic__record_number(nic__record_line *l, int base, int64_t lo, int64_t hi,
                               int64_t *value) {
  char *end;
  errno = 0;
  if (*l->at == ' ') l->at++;
  if (*l->at == ' ' || *l->at == 0 || *l->at == '+') return false;
  *value = strtoll(l->at, &end, base);
  if (errno || end == l->at || (*end != ' ' && *end != 0) || *value < lo || *value > hi)
    return false;
  l->at = end;
  return true;
}
static bool nic__record_unsigned(nic__record_line *l, uint64_t *value) {
  char *end;
  errno = 0;
  if (*l->at == ' ') l->at++;
  if (*l->at < '0' || *l->at > '9') return false;
  *value = strtoull(l->at, &end, 10);
  if (errno || (*end != ' ' && *end != 0)) return false;
  l->at = end;
  return true;
}
static bool nic__record_hz(nic__record_line *l, double *value) {
  char *end;
  if (*l->at == ' ') l->at++;
  if (*l->at < '0' || *l->at > '9') return false;
  const locale_t before = nbc__locale_begin();
  *value = strtod(l->at, &end);
  nbc__locale_end(before);
  if ((*end != ' ' && *end != 0) || !isfinite(*value) || *value < 0 || *value > 1e12) return false;
  l->at = end;
  return true;
}
static bool nic__record_word(nic__record_line *l, char *word, size_t word_bytes) {
  if (*l->at == ' ') l->at++;
  const size_t n = strcspn(l->at, " ");
  if (n == 0 || n >= word_bytes) return false;
  memcpy(word, l->at, n);
  word[n] = 0;
  l->at += n;
  return true;
}
static void nic__record_rest(nic__record_line *l, char *text, size_t text_bytes) {
  nic__copy(text, text_bytes, *l->at == ' ' ? l->at + 1 : l->at);
}

static bool nic__record_begin(nic_machine *m, nic__record_line *l) {
  int64_t v[7];
  char name[32], address[16], driver[32];
  static const int64_t most[7] = {NIC_KIND_COUNT - 1, 1,          1,         9999,
                                  INT64_MAX,          UINT32_MAX, UINT32_MAX};
  for (int i = 0; i < 7; i++)
    if (!nic__record_number(l, 10, i == 3 ? -1 : 0, most[i], &v[i])) return false;
  if (!nic__record_word(l, name, sizeof name) || !nic__record_word(l, address, sizeof address) ||
      !nic__record_word(l, driver, sizeof driver))
    return false;
  nic_info *n = nic__add(m, (nic_kind)v[0], name);
  if (!n) return false;
  n->is_up = v[1] != 0;
  n->is_loopback = v[2] != 0;
  n->ptp_index = (int)v[3];
  n->speed_bps = (uint64_t)v[4];
  n->mtu_bytes = (uint32_t)v[5];
  n->stamp_flags = (uint32_t)v[6];
  if (strcmp(address, "-") != 0) nic__copy(n->pci_address, sizeof n->pci_address, address);
  if (strcmp(driver, "-") != 0) nic__copy(n->driver, sizeof n->driver, driver);
  void *grown = nic__grow(m->kept, m->nic_count - 1, &m->kept_capacity, sizeof *m->kept);
  if (!grown) return false;
  m->kept = (nic__kept *)grown;
  memset(&m->kept[m->nic_count - 1], 0, sizeof *m->kept);
  m->kept_count = m->nic_count;
  return true;
}

static bool nic__record_link(nic_link *link, nic__record_line *l) {
  int64_t has, v[4];
  if (!nic__record_number(l, 10, 0, 1, &has)) return false;
  for (int i = 0; i < 4; i++)
    if (!nic__record_number(l, 10, -1, INT32_MAX, &v[i])) return false;
  const nic_link told = {true, has != 0, (int)v[0], (int)v[1], (int)v[2], (int)v[3]};
  *link = told;
  return true;
}

static bool nic__record_counter(nic__kept *k, nic__record_line *l) {
  int64_t unit, end, bits, scale;
  nic__kept_counter c;
  memset(&c, 0, sizeof c);
  if (!nic__record_number(l, 10, 0, NIC_UNIT_PACKETS, &unit) ||
      !nic__record_number(l, 10, 0, NIC_END_STICKS, &end) ||
      !nic__record_number(l, 10, 1, 64, &bits) || !nic__record_number(l, 10, 1, 1 << 20, &scale))
    return false;
  for (int i = 0; i < 2; i++) {
    nic_value *v = &c.values[i];
    if (!nic__record_unsigned(l, &v->value) ||
        !nic__record_number(l, 10, 0, INT64_MAX / 4, &v->t_before_ns) ||
        !nic__record_number(l, 10, v->t_before_ns, INT64_MAX / 4, &v->t_after_ns))
      return false;
    v->is_valid = true;
  }
  if (c.values[1].t_before_ns < c.values[0].t_after_ns) return false;
  nic__record_rest(l, c.counter.name, sizeof c.counter.name);
  if (!strchr(c.counter.name, '/')) return false;
  c.counter.unit = (nic_unit)unit;
  c.counter.end = (nic_end)end;
  c.counter.width_bits = (int)bits;
  c.counter.scale = (uint32_t)scale;
  void *grown = nic__grow(k->counters, k->counter_count, &k->counter_capacity, sizeof *k->counters);
  if (!grown) return false;
  k->counters = (nic__kept_counter *)grown;
  k->counters[k->counter_count++] = c;
  return true;
}

static bool nic__record_register(nic__kept *k, nic__record_line *l) {
  int64_t offset, value;
  if (!nic__record_number(l, 16, 0, UINT32_MAX - 3, &offset) ||
      !nic__record_number(l, 16, 0, UINT32_MAX, &value))
    return false;
  void *grown = nic__grow(k->words, k->word_count, &k->word_capacity, sizeof *k->words);
  if (!grown) return false;
  k->words = (nic__kept_word *)grown;
  k->words[k->word_count].offset = (uint32_t)offset;
  k->words[k->word_count++].value = (uint32_t)value;
  return true;
}

static bool nic__record_clock_line(nic__kept *k, nic__record_line *l) {
  int64_t kind, low_bits, bits;
  nic_clock_info *i = k->clock ? k->clock : (nic_clock_info *)nic__zalloc(sizeof *i);
  k->clock = i;
  if (!i) return false;
  memset(i, 0, sizeof *i);
  if (!nic__record_number(l, 10, 0, NIC_READING_SYSTEM, &kind) ||
      !nic__record_hz(l, &i->nominal_hz[0]) || !nic__record_hz(l, &i->nominal_hz[1]) ||
      !nic__record_hz(l, &i->nominal_hz[2]) || !nic__record_number(l, 10, 0, 32, &low_bits) ||
      !nic__record_number(l, 10, 16, 64, &bits) || !nic__record_unsigned(l, &i->step_ticks) ||
      i->step_ticks == 0 || i->step_ticks > 1000000000)
    return false;
  i->kind = (nic_reading_kind)kind;
  i->low_bits = (int)low_bits;
  i->counter_bits = (int)bits;
  nic__record_rest(l, i->name, sizeof i->name);
  k->reading_count = 0;
  return true;
}

static bool nic__record_reading(nic__kept *k, nic__record_line *l) {
  nic_reading r;
  if (!k->clock || !nic__record_number(l, 10, 0, INT64_MAX / 4, &r.t_before_ns) ||
      !nic__record_unsigned(l, &r.ticks) ||
      !nic__record_number(l, 10, r.t_before_ns, INT64_MAX / 4, &r.t_after_ns) ||
      (k->reading_count && r.t_before_ns < k->readings[k->reading_count - 1].t_before_ns))
    return false;
  void *grown = nic__grow(k->readings, k->reading_count, &k->reading_capacity, sizeof *k->readings);
  if (!grown) return false;
  k->readings = (nic_reading *)grown;
  k->readings[k->reading_count++] = r;
  return true;
}

static bool nic__record_describe(nic_info *n, nic__record_line *l, bool is_model) {
  int64_t a, b, c;
  if (is_model) {
    if (!nic__record_number(l, 16, 0, UINT16_MAX, &a) ||
        !nic__record_number(l, 16, 0, UINT16_MAX, &b) ||
        !nic__record_number(l, 16, 0, UINT16_MAX, &c))
      return false;
    n->vendor_id = (uint16_t)a;
    n->device_id = (uint16_t)b;
    n->pci_class = (uint32_t)c;
    nic__record_rest(l, n->model, sizeof n->model);
    return true;
  }
  if (!nic__record_number(l, 10, 0, NIC_OFFER_COUNT - 1, &a) ||
      !nic__record_number(l, 10, 0, NIC_YES, &b))
    return false;
  n->offers[a].answer = (nic_answer)b;
  nic__record_rest(l, n->offers[a].text, sizeof n->offers[a].text);
  return true;
}

/* One line that begins with #nic-; false: malformed. */
static bool nic__record_take(nic_machine *m, nic__record_line *l, bool *inside) {
  char word[16];
  l->at = l->text + 5;
  if (!nic__record_word(l, word, sizeof word)) return false;
  if (strcmp(word, "record") == 0) {
    int64_t version;
    return nic__record_number(l, 10, 1, 1, &version);
  }
  if (strcmp(word, "begin") == 0)
    return !*inside && m->nic_count < 4096 && (*inside = true) && nic__record_begin(m, l);
  if (!*inside) return false;
  nic_info *n = &m->nics[m->nic_count - 1];
  nic__kept *k = &m->kept[m->nic_count - 1];
  if (strcmp(word, "end") == 0) return *inside = false, true;
  if (strcmp(word, "model") == 0 || strcmp(word, "offer") == 0)
    return nic__record_describe(n, l, word[0] == 'm');
  if (strcmp(word, "link") == 0) return nic__record_link(&n->link, l);
  if (strcmp(word, "counter") == 0) return nic__record_counter(k, l);
  if (strcmp(word, "register") == 0) return nic__record_register(k, l);
  if (strcmp(word, "clock") == 0) return nic__record_clock_line(k, l);
  if (strcmp(word, "reading") == 0) return nic__record_reading(k, l);
  return true; /* of a later version */
}

/* "offset: bytes", more than configuration space has: libpci would end the program. */
static bool nic__record_is_beyond(const char *line) {
  char *end;
  const unsigned long offset = strtoul(line, &end, 16);
  return end != line && end[0] == ':' && end[1] == ' ' && offset > 4096 - 16;
}

/* Reads our lines and checks the others, so that libpci meets only files it can take. */
NIC__PRIVATE nic_status nic__record_load(nic_machine *m, const char *path, nic_error *err) {
  nic__record_line l;
  nic_status status = NIC_OK;
  bool inside = false;
  FILE *file = fopen(path, "re");
  if (!file) return nic__fail(err, nic__of_errno(errno), "%.150s: %s", path, strerror(errno));
  for (l.number = 1; status == NIC_OK && fgets(l.text, sizeof l.text, file); l.number++) {
    const size_t n = strcspn(l.text, "\n");
    const bool whole = l.text[n] == '\n';
    l.text[n] = 0;
    if (!whole || n > NIC__RECORD_LINE || strlen(l.text) != n || l.number > NIC__RECORD_MOST)
      status =
          nic__fail(err, NIC_E_PARSE, "%.100s:%d: %s", path, l.number,
                    !whole ? "line too long, or the file is cut off" : "not a text of this kind");
    else if (strncmp(l.text, "#nic-", 5) == 0 ? !nic__record_take(m, &l, &inside)
                                              : nic__record_is_beyond(l.text))
      status = nic__fail(err, NIC_E_PARSE, "%.100s:%d: malformed, or out of range: %.60s", path,
                         l.number, l.text);
    if (status != NIC_OK && err) err->line = l.number;
  }
  if (status == NIC_OK && ferror(file))
    status = nic__fail(err, NIC_E_IO, "%.150s: %s", path, strerror(errno));
  if (status == NIC_OK && inside)
    status = nic__fail(err, NIC_E_PARSE, "%.150s: cut off: the last NIC has no end", path);
  fclose(file);
  return status;
}

/* Without libpci: configuration space of each device, as far as it is there and without a gap. */
NIC__PRIVATE nic_status nic__record_scan_pci(nic_machine *m, const char *path) {
  char line[512], address[16];
  uint8_t config[4096];
  size_t known = 0; /* bytes */
  nic__pci *p = NULL;
  FILE *file = fopen(path, "re");
  if (!file) return NIC_E_IO;
  memset(config, 0, sizeof config);
  while (fgets(line, sizeof line, file)) {
    unsigned domain = 0, bus, dev, func, offset, b[16];
    if (sscanf(line, "%4x:%2x:%2x.%1x ", &domain, &bus, &dev, &func) == 4 ||
        (domain = 0, sscanf(line, "%2x:%2x.%1x ", &bus, &dev, &func) == 3)) {
      snprintf(address, sizeof address, "%04x:%02x:%02x.%x", domain & 0xffff, bus & 0xff,
               dev & 0xff, func & 7);
      if (p) nic__pcie_from_config(&p->pcie, config, known);
      known = 0;
      if (!(p = nic__pci_add(m, address))) break;
    } else if (p &&
               sscanf(line, "%x: %2x %2x %2x %2x %2x %2x %2x %2x %2x %2x %2x %2x %2x %2x %2x %2x",
                      &offset, &b[0], &b[1], &b[2], &b[3], &b[4], &b[5], &b[6], &b[7], &b[8], &b[9],
                      &b[10], &b[11], &b[12], &b[13], &b[14], &b[15]) == 17 &&
               offset == known && known < sizeof config) {
      for (int i = 0; i < 16; i++) config[known++] = (uint8_t)b[i];
      if (known == 64) nic__pci_from_header(p, config);
    }
  }
  if (p) nic__pcie_from_config(&p->pcie, config, known);
  fclose(file);
  return NIC_OK;
}

NIC_API size_t nic_recorded_readings(const nic_machine *machine, const nic_info *nic,
                                     const nic_clock_info **info, const nic_reading **readings) {
  const nic__kept *k = machine ? nic__kept_of(machine, nic) : NULL;
  if (!info || !readings) return 0;
  *info = k ? k->clock : NULL;
  *readings = k && k->reading_count ? k->readings : NULL;
  return k ? k->reading_count : 0;
}
#ifdef NBC_LINES
#line 1 "src/nic/find.c"
#endif
/* Finds the NICs of a machine and says what each offers. */












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
#ifdef NBC_LINES
#line 1 "src/nic/end.h"
#endif
/* The implementation ends. */
#ifdef __cplusplus
}
#endif
#endif /* NIC_HW_IMPLEMENTATION */
#ifdef NBC_LINES
#line 1 "src/nic/nbc_code.h"
#endif
/* ============================================================================================== */
/* [NBC] 9. For nbc_overlap.h                                                                     */
/* ============================================================================================== */
#if defined(NIC_WITH_NBC) && defined(NIC_HW_IMPLEMENTATION) && !defined(NIC_NBC_IMPLEMENTATION_ONCE)
#  define NIC_NBC_IMPLEMENTATION_ONCE
#  ifdef __cplusplus
extern "C" {
#  endif

static bool nic__sections_read(void *user, uint64_t *values) {
  nic_section_counters *s = (nic_section_counters *)user;
  if (nic__counters_read(s->counters, s->wanted, s->now) != NIC_OK && s->has_device) return false;
  for (size_t i = 0; i < s->source.count; i++) {
    const int k = s->indexes[i];
    const nic_delta d =
        nic_counter_delta(nic_counters_at(s->counters, (size_t)k), &s->last[k], &s->now[k]);
    values[i] = s->sums[i] += d.delta; /* after a reset: at least so many */
    if (s->now[k].is_valid) s->last[k] = s->now[k];
  }
  return true;
}

/* In the order in which a reader looks: traffic, then what spoils it. */
static bool nic__is_usual(const char *name) {
  static const char *const ends[] = {"/rx_bytes",
                                     "/tx_bytes",
                                     "/rx_packets",
                                     "/tx_packets",
                                     "/rx_dropped",
                                     "/tx_dropped",
                                     "/port_xmit_data",
                                     "/port_rcv_data",
                                     "/port_xmit_wait",
                                     "/out_of_sequence",
                                     "/packet_seq_err",
                                     "/rnr_nak_retry_err",
                                     "/local_ack_timeout_err",
                                     "/TcpRetransSegs",
                                     "/UdpRcvbufErrors",
                                     "_octets"};
  if (strncmp(name, "rxq", 3) == 0 || strncmp(name, "txq", 3) == 0) return false; /* of one queue */
  for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
    if (nic__ends_with(name, ends[i])) return true;
  return strstr(name, "pause") || strstr(name, "xoff") || strstr(name, "retrans");
}

static nic_status nic__sections_choose(nic_section_counters *s, const char *const *names,
                                       size_t name_count, nic_error *err) {
  for (size_t i = 0; names && i < name_count; i++) {
    const int k = nic_counters_index(s->counters, names[i]);
    if (k < 0)
      return nic__fail(err, NIC_E_NOT_FOUND,
                       "%.80s: no such counter; `nicstat watch --all` names them", names[i]);
    if (s->source.count == NBC_MAX_COUNTERS)
      return nic__fail(err, NIC_E_FULL, "more than %d counters", NBC_MAX_COUNTERS);
    s->indexes[s->source.count++] = k;
  }
  for (size_t k = 0;
       !names && k < nic_counters_count(s->counters) && s->source.count < NBC_MAX_COUNTERS; k++)
    if (nic__is_usual(nic_counters_at(s->counters, k)->name))
      s->indexes[s->source.count++] = (int)k;
  return s->source.count ? NIC_OK
                         : nic__fail(err, NIC_E_NOT_FOUND, "none of the usual counters: name some");
}

NIC_API nic_status nic_section_counters_open(nic_counters *counters, const char *const *names,
                                             size_t name_count, nic_section_counters *source,
                                             nic_error *err) {
  nic_section_counters *s = source;
  if (!counters || !s) return nic__fail(err, NIC_E_INVAL, "counters and source: must not be NULL");
  memset(s, 0, sizeof *s);
  s->counters = counters;
  nic_status status = nic__sections_choose(s, names, name_count, err);
  if (status != NIC_OK) return status;
  for (size_t i = 0; i < s->source.count; i++)
    s->names[i] = nic_counters_at(counters, (size_t)s->indexes[i])->name;
  s->source.names = s->names;
  s->source.read = nic__sections_read;
  s->source.user = s;
  s->last = (nic_value *)nic__zalloc(nic_counters_count(counters) * sizeof *s->last);
  s->now = (nic_value *)nic__zalloc(nic_counters_count(counters) * sizeof *s->now);
  s->wanted = (bool *)nic__zalloc(nic_counters_count(counters) * sizeof *s->wanted);
  for (size_t i = 0; s->wanted && i < s->source.count; i++) {
    s->wanted[s->indexes[i]] = true;
    const nic__group *group = counters->sources[s->indexes[i]].group;
    if (!group || !group->is_of_host) s->has_device = true;
  }
  if (!s->last || !s->now || !s->wanted)
    status = nic__fail(err, NIC_E_NOMEM, "out of memory");
  else
    status = nic_counters_read(counters, s->last, err);
  if (status != NIC_OK) nic_section_counters_close(s);
  return status;
}

NIC_API void nic_section_counters_close(nic_section_counters *source) {
  if (!source) return;
  NIC_FREE(source->last);
  NIC_FREE(source->now);
  NIC_FREE(source->wanted);
  source->last = source->now = NULL;
  source->wanted = NULL;
}

/* Status codes below -400 are ours; those they share mean the same. */
static nbc_status nic__to_nbc(nic_status status) {
  return status <= NIC_E_PCI ? NBC_E_CLOCK : (nbc_status)status;
}

static nbc_status nic__nbc_read_clock(void *ctx, int64_t *t_before_ns, uint64_t *ticks,
                                      int64_t *t_after_ns) {
  nic_reading r;
  const nic_status status = nic_clock_read((nic_clock *)ctx, &r, NULL);
  if (status != NIC_OK) return nic__to_nbc(status);
  *t_before_ns = r.t_before_ns;
  *ticks = r.ticks;
  *t_after_ns = r.t_after_ns;
  return NBC_OK;
}
static nbc_status nic__nbc_next_stamp(void *ctx, nbc_nic_stamp *stamp) {
  (void)ctx, (void)stamp;
  return NBC_PENDING;
}

NIC_API nbc_nic nic_clock_as_nbc(nic_clock *clock) {
  nbc_nic n;
  memset(&n, 0, sizeof n);
  if (!clock) return n;
  n.ctx = clock;
  n.name = clock->info.name;
  n.nominal_hz = clock->info.nominal_hz[0];
  n.counter_bits = clock->info.counter_bits;
  n.step_ticks = clock->info.step_ticks;
  n.read_clock = nic__nbc_read_clock;
  n.next_stamp = nic__nbc_next_stamp;
  return n;
}

NIC_API nbc_relation_desc nic_clock_relation(const nic_clock_info *info) {
  nbc_relation_desc d =
      nbc_relation_crystal(info && info->nominal_hz[0] > 0 ? info->nominal_hz[0] : 1e9);
  d.rate_limit_ppm = 1000;
  d.wander_ppm_per_s = 1;
  if (info) {
    d.counter_bits = info->counter_bits;
    d.step_ticks = info->step_ticks;
  }
  return d;
}

#  ifdef __cplusplus
}
#  endif
#endif /* NIC_NBC_IMPLEMENTATION_ONCE */
#ifdef NBC_LINES
#line 1 "src/nic/licence.h"
#endif

/* ----------------------------------------------------------------------------------------------
   LICENCE: either public domain (unlicense.org: copy, modify, publish, use, compile, sell or
   distribute, for any purpose, by any means) or MIT No Attribution (MIT-0), whichever you choose;
   full text in LICENSE. The software is provided "as is", without warranty of any kind.
   ---------------------------------------------------------------------------------------------- */
