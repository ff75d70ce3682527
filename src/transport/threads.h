/* Ranks as threads: the transport that needs nothing. */
#pragma once
#include "../base/config.h"
#include "../base/status.h"
#include "contract.h"
#include "packets.h"

/* ret NBC_OK | NBC_E_INVAL | NBC_E_NOMEM | NBC_E_THREAD */
NBC_API nbc_status nbc_threads_create(const nbc_threads_desc *desc, nbc_threads **world);
NBC_API void nbc_threads_destroy(nbc_threads *world); /* NULL allowed; all ranks finished */
NBC_API nbc_threads_desc nbc_threads_desc_of(const nbc_threads *world); /* values in force */
/* The transport of one rank; one thread at a time may use it. Set ->recorder to record. */
NBC_API nbc_transport *nbc_threads_rank(nbc_threads *world, int rank);
/* Runs fn as every rank, each on its own thread, and joins. ret the first error any rank returned.
   With desc.processes in forks of this process, which end with fn: then *user is a copy, results
   come back through shared memory only, and NBC_E_PEER also means that a process died of a signal
   or of exit; the world is as new for the next run. */
typedef nbc_status (*nbc_rank_fn)(nbc_transport *t, void *user);
NBC_API nbc_status nbc_threads_run(nbc_threads *world, nbc_rank_fn fn, void *user);
/* Takes the oldest true stamps (with dma only); at most max; keeps the last 65536. Any thread. */
NBC_API size_t nbc_threads_stamps(nbc_threads *world, nbc_true_stamp *stamps, size_t max);
