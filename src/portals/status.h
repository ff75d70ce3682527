/* Status codes of the pm_ functions. */
#pragma once
#include "options.h"
/* ============================================================================================== */
/* [STATUS] 2. Status codes of the pm_ functions                                                  */
/* ============================================================================================== */
#define PM_STATUS_LIST(X)                                                                          \
  X(PM_OK, 0, "ok")                                                                                \
  X(PM_PENDING, 1, "not finished yet")                                                             \
  X(PM_E_INVAL, -300, "invalid argument")                                                          \
  X(PM_E_NOMEM, -301, "out of memory")                                                             \
  X(PM_E_PLATFORM, -302, "platform is malformed")                                                  \
  X(PM_E_DEADLOCK, -303, "every process waits and nothing is under way")                           \
  X(PM_E_TIME_LIMIT, -304, "simulated time limit reached")                                         \
  X(PM_E_CRASH, -305, "a simulated process crashed")                                               \
  X(PM_E_IO, -306, "file cannot be read or written")                                               \
  X(PM_E_STATE, -307, "call not allowed here")                                                     \
  X(PM_E_TRUNCATED, -308, "message longer than the receive buffer")                                \
  X(PM_E_PORTALS, -309, "a Portals call failed")                                                   \
  X(PM_E_STACK, -310, "a simulated process overflowed its stack")

typedef enum pm_status {
#define PM__X(name, value, text) name = value,
  PM_STATUS_LIST(PM__X)
#undef PM__X
      PM_STATUS_FORCE_INT32 = 0x7fffffff
} pm_status;

/* "PM_E_INVAL" and "invalid argument". Never NULL. Any thread. */
PM_API const char *pm_status_name(pm_status status);
PM_API const char *pm_status_text(pm_status status);

/* PM_VERSION of the implementation that is linked, which may be another than the one this file was
   compiled with: compare them where that matters. Any thread. */
PM_API int pm_version(void);
