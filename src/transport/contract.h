/* The contract that carries messages. */
#pragma once
#include "../base/config.h"
#include "../base/status.h"
#include "../overlap/cells.h"
#include "../overlap/monitor.h"

/* ============================================================================================== */
/* [TRANSPORT] 11. The contract that carries messages; null and scripted transports               */
/* ============================================================================================== */
/* A transport moves messages between ranks. Clock synchronisation, measurement, collectives and
   tests need nothing else. Rules for who implements one:
   - isend and irecv only post; `done` is called from `progress` only, never from inside isend or
     irecv, and it may post new operations. Messages match by (peer, 64-bit tag), in posting order;
     they may be empty (buffer NULL), and a rank may be its own peer.
   - Posting makes `finished` false. At the end come status, peer and size_bytes, then `finished`, at last
     `done`, if there is one, which was read before: whoever polls `finished` may use the operation again
     at once. Where any_thread is set, `finished` is stored with release order.
   - The nbc_op belongs to the caller, who keeps it and the buffer untouched until `done`; `slot` is
     the transport's to use meanwhile, so that posting need not allocate.
   - A receive shorter than the message completes with NBC_E_TRUNCATED, bytes filled.
   - With a recorder, nbc_isend and its sisters tell it of calls; the transport tells it of transfers
     (nbc_xfer_begin ... nbc_xfer_end_local for a send, nbc_xfer_end_early for a receive). */
#define NBC_ANY_PEER (-1) /* irecv only, where the transport offers it (any_peer) */

typedef struct nbc_op nbc_op;
typedef void (*nbc_done_fn)(nbc_op *op);
/* Named as [THREADS] uses them; another transport uses them as it likes. */
typedef struct nbc_op_slot {
  nbc_op *next;
  void *buffer, *remote_op, *remote_address;
  uint64_t tag, order, granted_bytes, posted_bytes, arrived_bytes, xfer_id, remote_id;
  uint64_t limit_bytes; /* no more bytes than these will move, as far as this side knows */
  uint32_t kind, flying_count;
  bool started, queued;
} nbc_op_slot;

struct nbc_op {
  nbc_done_fn done; /* may be NULL: then poll `finished` */
  void *user;
  /* results, valid when finished */
  bool finished;
  nbc_status status;
  int peer;
  uint64_t size_bytes;
  nbc_op_slot slot; /* transport's own */
};

typedef struct nbc_transport nbc_transport;
struct nbc_transport {
  const char *name; /* "threads" */
  const char *help; /* one line */
  void *ctx;        /* first argument of every function */
  int rank, size;
  bool any_thread;       /* isend, irecv, progress may be called from several threads at once */
  bool any_peer;         /* NBC_ANY_PEER works */
  bool main_thread_only; /* no other thread than the creator's may call, not even one at a time */
  int64_t (*now_ns)(void *ctx);
  nbc_status (*isend)(void *ctx, const void *buffer, uint64_t size_bytes, int peer, uint64_t tag,
                      nbc_op *op);
  nbc_status (*irecv)(void *ctx, void *buffer, uint64_t size_bytes, int peer, uint64_t tag,
                      nbc_op *op);
  nbc_status (*progress)(void *ctx); /* NBC_OK, or the error that makes the transport unusable */
  /* Waiting on one transport must drive what the same thread has under way on others of the process, or ranks
     that wait in different orders wait for ever. Progresses those; their errors are theirs. NULL = none */
  void (*others)(void *ctx);
  /* A receive that is not matched yet finishes with NBC_E_CANCELLED. May be NULL */
  nbc_status (*cancel)(void *ctx, nbc_op *op);
  nbc_peer (*peer_class)(void *ctx, int peer); /* NULL = unknown */
  /* [size] the node on which each rank runs, a number in 0 ... size - 1; stays while the transport does. NULL = not
     known. With it, collectives cross between nodes once per node where that pays. */
  const int *nodes;
  bool (*same_clock)(void *ctx, int peer); /* the peer's now_ns is ours; NULL = no */
  /* Simulations: told before a collective copies or reduces so many bytes, to take the time for it.
     false: it is not done, this run moves no data. NULL = it is done. */
  bool (*local)(void *ctx, uint64_t size_bytes, bool reduces);
  nbc_recorder *recorder; /* set by the user: calls below and the transport's transfers are
                             recorded */
  /* Called by waiting functions, of operations and of collectives, after a progress that finished nothing: may sleep until something
     comes, 1 ms at most. NULL = they spin, and give the core away now and then. */
  void (*rest)(void *ctx);
};

/* Posting and waiting with the call events recorded when t->recorder is set. One thread at a time
   unless any_thread. limit_ns: give up with NBC_E_TIMEOUT after that long (operation stays posted);
   0 = wait for ever. Errors: the transport's own; NBC_E_PEER, NBC_E_INVAL. */
NBC_API nbc_status nbc_isend(const nbc_transport *t, const void *buffer, uint64_t size_bytes,
                             int peer, uint64_t tag, nbc_op *op);
NBC_API nbc_status nbc_irecv(const nbc_transport *t, void *buffer, uint64_t size_bytes, int peer,
                             uint64_t tag, nbc_op *op);
/* ret NBC_PENDING or the operation's status */
NBC_API nbc_status nbc_test(const nbc_transport *t, nbc_op *op);
NBC_API nbc_status nbc_wait(const nbc_transport *t, nbc_op *op, int64_t limit_ns);
NBC_API nbc_status nbc_send(const nbc_transport *t, const void *buffer, uint64_t size_bytes,
                            int peer, uint64_t tag);
NBC_API nbc_status nbc_recv(const nbc_transport *t, void *buffer, uint64_t size_bytes, int peer,
                            uint64_t tag);

/* For transports made by nbc_null_create, nbc_scripted_create or nbc_mpi_create. NULL allowed. */
NBC_API void nbc_transport_destroy(nbc_transport *t);

/* ---- for later pieces ---- */
/* Operations in order, linked through their slots. */
typedef struct nbc__transport_fifo {
  nbc_op *first, *last;
} nbc__transport_fifo;

/* Null, scripted and MPI begin with this: nbc_transport_destroy need not know which one it has. */
typedef struct nbc__transport_own {
  nbc_transport t;
  void (*destroy)(void *self);
} nbc__transport_own;

NBC__PRIVATE void nbc__transport_prepare(nbc_op *op, int peer);
NBC__PRIVATE void nbc__transport_finish(nbc_op *op);
NBC__PRIVATE void nbc__transport_push(nbc__transport_fifo *fifo, nbc_op *op);
NBC__PRIVATE nbc_op *nbc__transport_pop(nbc__transport_fifo *fifo);
NBC__PRIVATE void nbc__transport_unlink(nbc__transport_fifo *fifo, nbc_op *before, nbc_op *op);
NBC__PRIVATE bool nbc__transport_remove(nbc__transport_fifo *fifo, nbc_op *op);
NBC__PRIVATE void nbc__transport_enter(const nbc_transport *t, nbc_kind kind);
NBC__PRIVATE void nbc__transport_exit(const nbc_transport *t);
NBC__PRIVATE void nbc__transport_xfer_begin(const nbc_transport *t, uint64_t id,
                                            uint64_t size_bytes, nbc_kind kind, nbc_peer peer);
NBC__PRIVATE void nbc__transport_xfer_end(const nbc_transport *t, uint64_t id);
NBC__PRIVATE void nbc__transport_xfer_end_only(const nbc_transport *t, uint64_t size_bytes,
                                               nbc_peer peer);
