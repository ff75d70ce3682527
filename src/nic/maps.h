/* Register lists: which words of a device may be read, and what they mean. */
#pragma once
#include "options.h"
#include "status.h"
#include "machine.h"
#include "counters.h"

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
