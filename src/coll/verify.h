/* Schedules proved. */
#pragma once
#include "../base/config.h"
#include "../base/status.h"
#include "schedule.h"

/* Proves, by running them on an abstract network whose sends finish only when their receive is
   there, that the schedules of all ranks (up to 64) together
   - stay inside their areas, never write the send buffer, and order every two conflicting nodes;
   - match every send with one receive of the same size, and do not deadlock;
   - leave in every receive buffer exactly what the collective promises, operands in rank order
     where not_commutative is set, and touch nothing else (barrier: nobody leaves before all have entered).
   descs are those of the ranks: of others, nothing is proved. Elements are followed one by one: take small counts.
   ret NBC_OK | NBC_E_STATE (err says what fails where) | NBC_E_RANGE (size) | what nbc_schedule_build says of a desc | NBC_E_NOMEM */
NBC_API nbc_status nbc_schedule_verify(const nbc_schedule *const *schedules,
                                       const nbc_schedule_desc *descs, int size, nbc_error *err);
