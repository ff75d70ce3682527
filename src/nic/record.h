/* A machine in a file: writes and reads it. */
#pragma once
#include "options.h"
#include "status.h"
#include "machine.h"
#include "stamps.h"
#include "clock.h"

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

/* ---- for later pieces ---- */
NIC__PRIVATE nic_status nic__record_load(nic_machine *m, const char *path, nic_error *err);
NIC__PRIVATE nic_status nic__record_scan_pci(nic_machine *m, const char *path);
