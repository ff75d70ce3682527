/* Null and scripted transports. */
#pragma once
#include "../base/config.h"
#include "../base/status.h"
#include "contract.h"

/* null: completes every operation at the next progress, moves nothing: what the layers above cost.
   scripted: wraps another transport and disturbs it as told: tests of error paths. */
NBC_API nbc_status nbc_null_create(int rank, int size, nbc_transport **t);
typedef enum nbc_script_action {
  NBC_SCRIPT_DELAY = 0, /* the completion is held back for value progress calls */
  NBC_SCRIPT_FAIL_POST, /* the post returns status */
  NBC_SCRIPT_FAIL_DONE, /* the operation completes with status */
  NBC_SCRIPT_REORDER,   /* the completion is held back until the next one was delivered */
  NBC_SCRIPT_DROP       /* never completes */
} nbc_script_action;
typedef struct nbc_script_step {
  uint64_t post_index; /* which isend/irecv, counted from 0 in posting order */
  nbc_script_action action;
  uint64_t value;
  nbc_status status;
} nbc_script_step;
NBC_API nbc_status nbc_scripted_create(const nbc_transport *inner, const nbc_script_step *steps,
                                       size_t step_count, nbc_transport **t);
