/* The transport over MPI (with NBC_WITH_MPI). */
#pragma once
#include "../base/config.h"
#include "../base/status.h"
#include "contract.h"

/* ============================================================================================== */
/* [MPI] 13. The transport over MPI (with NBC_WITH_MPI)                                           */
/* ============================================================================================== */
/* On a duplicate of the communicator given, so it never meets the program's own messages. Matching
   is done here, by headers: tags have all 64 bits, the length of a message is known before its data
   is received (so a short receive is never overrun), and data goes in pieces that MPI can count.
     up to 4000 bytes   one MPI message, header and data; the send is complete at once (buffered)
     longer             header, then the data straight from the sender's buffer to the receiver's
   Shared memory. Ranks of one node send headers, and data of up to a third of a ring (of 64 KiB; with more than
   16 ranks on the node less, 4 KiB from 64 on, none above 128), through rings in memory that they share:
   at most 16 MiB for a node of up to 64 ranks, 65 MiB for 128, in no file system (a memfd, gone with its
   last user). A send for which there is no room goes by MPI, in order. Where it cannot be had
   (another user, separate process numbers, no memory), with desc.messages_only or NBC_SHARED_MEMORY=0, MPI's
   messages are used.
   Threads. From MPI_THREAD_SERIALIZED up any thread may post and progress: the transport calls MPI
   from one thread at a time, and under SERIALIZED the program puts its own MPI calls between
   nbc_mpi_lock and nbc_mpi_unlock when other threads use the transport meanwhile. Below, every MPI
   call is made by the main thread, inside isend, irecv and progress there; what other threads post
   waits for it, and their progress does nothing. Waiting for a collective or an operation on one of these
   transports also drives the others that the same thread used last: the process keeps a list of
   them (static, behind a mutex). Transfers are recorded for the creating thread's
   recorder; what another thread's progress finishes as foreign stamps.
   Clock. Ranks of one node that provably read one counter have one clock (same_clock): the lowest of
   them calibrates it. Proved means: one kernel by its boot id (containers share it, virtual machines
   have their own), a counter that this kernel trusts on all its cores and that was tested on each
   rank's, calibrations that agree, and no message between them that came before it was sent. */
#ifdef NBC_WITH_MPI
typedef struct nbc_mpi_desc {
  int thread_level; /* what the program counts on: MPI_THREAD_SINGLE ... _MULTIPLE */
  /* Of long messages' data; 0 = 1 GiB; at most 2 GiB - 1; the same in all ranks, which is
     checked */
  uint64_t piece_bytes;
  bool messages_only; /* no shared memory between ranks of a node */
} nbc_mpi_desc;
/* Collective over comm (an intracommunicator). err (may be NULL) says what is missing. A rank without
   memory or clock, with a piece_bytes that is too large or a thread_level that it does not get, fails in
   all ranks, with its status: nobody waits for it.
   ret  NBC_OK | NBC_E_INVAL (piece_bytes differ: two ranks and their values are named) | NBC_E_STATE (MPI not
        initialised, or finalised) | NBC_E_TRANSPORT (MPI provides a lower thread level than asked for: both
        are named; or MPI's own error text) | NBC_E_THREAD (below SERIALIZED only the main thread may
        create) | NBC_E_NOMEM | NBC_E_CLOCK */
NBC_API nbc_status nbc_mpi_create(MPI_Comm comm, const nbc_mpi_desc *desc, nbc_transport **t,
                                  nbc_error *err);
/* Collective. All operations should be finished: posted receives are forgotten, sends that do not
   complete within a second are left to MPI (and their memory with them). NULL allowed. After
   MPI_Finalize only memory is freed. */
NBC_API void nbc_mpi_destroy(nbc_transport *t);
/* Between the two, no thread calls MPI through t. Not inside `done`; not recursive. */
NBC_API void nbc_mpi_lock(nbc_transport *t);
NBC_API void nbc_mpi_unlock(nbc_transport *t);
/* Text of the MPI error that made progress fail; "" when there was none. */
NBC_API const char *nbc_mpi_error(const nbc_transport *t);
#endif

/* ---- for later pieces ---- */
#ifdef NBC_WITH_MPI
NBC__PRIVATE bool nbc__mpi_lock_all(void);
NBC__PRIVATE void nbc__mpi_unlock_all(void);
#endif
