/* Which algorithm is fastest here. */
#pragma once
#include "../base/config.h"
#include "../base/status.h"
#include "choice.h"
#include "request.h"

/* Measures which algorithm is fastest here, by size; alltoallv, whose length each rank knows for
   itself only, gets one rule for all sizes; gatherv and scatterv stay as built in. v-variants are
   measured with lengths 50 % around their mean. Collective over comm, with nothing else in flight
   on it; all ranks get the same table: rules for this number of ranks, then those built in. Save it
   with nbc_choice_write, name the file in NBC_CHOICE or give it to nbc_comm_create.
   ret NBC_OK | NBC_E_RANGE | NBC_E_NOMEM | errors of the collectives */
typedef struct nbc_tune_desc {
  uint64_t max_bytes; /* of a vector, of all blocks together; 0 = 1 MiB */
  int reps;           /* per algorithm and size, the median counts; 0 = 5; at most 99 */
  int64_t limit_ns;   /* what is not measured by then stays as built in; 0 = 20 s */
} nbc_tune_desc;
NBC_API nbc_status nbc_tune(nbc_comm *comm, const nbc_tune_desc *desc, nbc_choice *table,
                            nbc_error *err);
