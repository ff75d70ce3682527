/* Which algorithm serves which collective. */
#pragma once
#include "../base/config.h"
#include "schedule.h"

/* Whether the algorithm serves this collective for this process count and order. */
NBC_API bool nbc_schedule_supports(nbc_coll coll, nbc_algo algo, int size, bool not_commutative);

/* ---- for later pieces ---- */
NBC__PRIVATE bool nbc__sched_serves(nbc_coll coll, nbc_algo algo);
NBC__PRIVATE bool nbc__sched_reduces(nbc_coll coll);
NBC__PRIVATE bool nbc__sched_rooted(nbc_coll coll);
NBC__PRIVATE void nbc__sched_write(nbc__sched_builder *b);
