/* Reads a NIC's clock: PTP device, registers, or the kernel's own. */
#pragma once
#include "options.h"
#include "status.h"
#include "machine.h"
#include "maps.h"
#include "registers.h"
#include "stamps.h"

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

/* ---- for later pieces ---- */
struct nic_clock {
  nic_clock_info info;
  nic_host host;
  nic_system kernel;
  nic_registers *registers;
  int fd;
  int64_t precise_err_ns;
};
