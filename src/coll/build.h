/* A schedule is built. */
#pragma once
#include "../base/config.h"
#include "../base/status.h"
#include "schedule.h"

/* ret NBC_OK | NBC_E_INVAL, NBC_E_RANGE (err names the field; algorithm and collective, order or
   process count do not fit) | NBC_E_NOMEM
   cost 50 to 500 ns per node; one rank's schedule only, O(log size) to O(size) nodes per segment */
NBC_API nbc_status nbc_schedule_build(const nbc_schedule_desc *desc, nbc_schedule **schedule,
                                      nbc_error *err);
NBC_API void nbc_schedule_free(nbc_schedule *schedule); /* NULL allowed */

/* ---- for later pieces ---- */
NBC__PRIVATE nbc_slice nbc__sched_input(const nbc_schedule_desc *d);
NBC__PRIVATE nbc_status nbc__sched_take(nbc_schedule_desc *d, const nbc_schedule_desc *desc,
                                        nbc_error *err);
NBC__PRIVATE bool nbc__sched_is_of(const nbc_schedule *s, const nbc_schedule_desc *d);
