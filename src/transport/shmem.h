/* The transport over OpenSHMEM (with NBC_WITH_SHMEM). */
#pragma once
#include "../base/config.h"
#include "../base/status.h"
#include "contract.h"

/* ============================================================================================== */
/* [SHMEM] 14. The transport over OpenSHMEM (with NBC_WITH_SHMEM)                                 */
/* ============================================================================================== */
/* The engine of [THREADS] with its rings of packets in the symmetric heap: a packet goes to its
   receiver by put, fence and flag. Data always passes through the rings: EAGER up to
   eager_limit_bytes, PIPELINED above. All processing elements; one thread. */
#ifdef NBC_WITH_SHMEM
typedef struct nbc_shmem_desc {
  uint64_t eager_limit_bytes; /* 0 = 8 KiB */
  uint64_t fragment_bytes;    /* 0 = 16 KiB; the rings take 32 * shmem_n_pes() of it on each
                                 element */
  int pipeline_depth;         /* fragments in flight; 0 = 4 */
} nbc_shmem_desc;
/* Collective, after shmem_init. err (may be NULL) says what is missing.
   ret NBC_OK | NBC_E_INVAL | NBC_E_NOMEM (also: the symmetric heap is too small) | NBC_E_CLOCK */
NBC_API nbc_status nbc_shmem_create(const nbc_shmem_desc *desc, nbc_transport **t, nbc_error *err);
/* Collective, before shmem_finalize; all operations finished. NULL allowed. */
NBC_API void nbc_shmem_destroy(nbc_transport *t);
#endif
