/* Adapter to nbc_overlap.h: the model as a transport and as a witness NIC. */
#pragma once
#include "msg.h"
#include "nbc_overlap.h"
/* ============================================================================================== */
/* [NBC] 12. Adapter to nbc_overlap.h: the model as a transport and as a witness NIC              */
/* ============================================================================================== */
/* Opened by PM_WITH_NBC, with a guard of its own so that it does not matter which header came first. */
#if defined(PM_WITH_NBC) && !defined(PM_WITH_NBC_INCLUDED)
#  define PM_WITH_NBC_INCLUDED
#  ifndef NBC_OVERLAP_H_INCLUDED
#    error "portals_model.h: PM_WITH_NBC needs nbc_overlap.h: include it before"
#  endif
#  ifdef __cplusplus
extern "C" {
#  endif
/* One endpoint per simulated process. The transport is pm_msg_isend and friends: no progress outside
   of calls, but the simulated NIC moves posted data alone. With a recorder in the transport, transfers
   are recorded, and the NIC of the same endpoint tells when their bytes really were on the wire: of
   every send, and of what a receive asked for (not eager data, not the first fragment). Its clock counts simulated nanoseconds. */
typedef struct pm_nbc pm_nbc;
typedef struct pm_nbc_desc {
  pm_msg_desc msg;    /* observe and user are the adapter's own */
  size_t stamp_count; /* kept until they are asked for; 0 = 4096; more are lost and counted */
} pm_nbc_desc;
/* Inside a process; all processes of the world, as pm_msg_open. desc NULL = defaults.
   ret NBC_OK | NBC_E_INVAL | NBC_E_NOMEM | NBC_E_STATE */
PM_API nbc_status pm_nbc_create(const pm_nbc_desc *desc, pm_nbc **endpoint);
PM_API void pm_nbc_destroy(pm_nbc *endpoint); /* NULL allowed */
PM_API nbc_transport *pm_nbc_transport(pm_nbc *endpoint);
PM_API pm_msg *pm_nbc_msg(pm_nbc *endpoint); /* for pm_msg_compute_ns */
PM_API const nbc_nic *pm_nbc_nic(pm_nbc *endpoint);
/* For nbc_monitor_desc.clock and whatever else takes one: simulated time of the running process. */
PM_API nbc_status pm_nbc_clock(nbc_clock *clock);
/* For nbc_nic_watch_desc.relation: this NIC's clock is host time itself, not a crystal of its own. */
PM_API nbc_relation_desc pm_nbc_relation(void);
#  ifdef __cplusplus
}
#  endif
#endif /* PM_WITH_NBC_INCLUDED */
