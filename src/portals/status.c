#include "status.h"
/* ============================================================================================== */
/* [STATUS] 2. Status codes of the pm_ functions                                                  */
/* ============================================================================================== */
PM_API const char *pm_status_name(pm_status status) {
  switch (status) {
#define PM__X(name, value, text)                                                                   \
  case name: return #name;
    PM_STATUS_LIST(PM__X)
#undef PM__X
  case PM_STATUS_FORCE_INT32: break;
  }
  return "PM_?";
}
PM_API const char *pm_status_text(pm_status status) {
  switch (status) {
#define PM__X(name, value, text)                                                                   \
  case name: return text;
    PM_STATUS_LIST(PM__X)
#undef PM__X
  case PM_STATUS_FORCE_INT32: break;
  }
  return "unknown status";
}
PM_API int pm_version(void) { return PM_VERSION; }
