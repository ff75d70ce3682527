/* Status codes, errors with text, host time, memory. */
#pragma once
#include "options.h"

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

/* ---- for later pieces ---- */
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
