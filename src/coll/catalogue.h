/* Which algorithm serves which collective. */
#pragma once
#include "../base/config.h"
#include "schedule.h"

/* Whether the algorithm serves this collective for this process count and order. */
NBC_API bool nbc_schedule_supports(nbc_coll coll, nbc_algo algo, int size, bool not_commutative);

/* ---- for later pieces ---- */
typedef void (*nbc__sched_writer)(nbc__sched_builder *b);
/* Writes the schedule; NULL: the algorithm does not serve the collective. */
NBC__PRIVATE nbc__sched_writer nbc__sched_writer_of(nbc_coll coll, nbc_algo algo);
