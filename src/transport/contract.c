/* contract.c: the contract that carries messages. */
#include "contract.h"

/* ============================================================================================== */
/* [TRANSPORT] 11. The contract that carries messages; null and scripted transports               */
/* ============================================================================================== */
/* Posting is refused before the transport sees it, so that every transport may trust its
   arguments. */
static nbc_status nbc__transport_check(const nbc_transport *t, const void *buffer,
                                       uint64_t size_bytes, int peer, const nbc_op *op,
                                       bool receive) {
  if (!t || !op || (!buffer && size_bytes > 0)) return NBC_E_INVAL;
  if (receive && peer == NBC_ANY_PEER) return t->any_peer ? NBC_OK : NBC_E_PEER;
  return peer < 0 || peer >= t->size ? NBC_E_PEER : NBC_OK;
}

NBC__PRIVATE void nbc__transport_prepare(nbc_op *op, int peer) {
  op->finished = false;
  op->status = NBC_PENDING;
  op->peer = peer;
  op->size_bytes = 0;
  memset(&op->slot, 0, sizeof op->slot);
}

static bool nbc__transport_finished(const nbc_op *op) {
  return __atomic_load_n(&op->finished, __ATOMIC_ACQUIRE);
}

/* The last touch of an operation: whoever polls `finished` may reuse it at once, so `done` is read
   before. Results must be in place. */
NBC__PRIVATE void nbc__transport_finish(nbc_op *op) {
  nbc_done_fn done = op->done;
  __atomic_store_n(&op->finished, true, __ATOMIC_RELEASE);
  if (done) done(op);
}

NBC__PRIVATE void nbc__transport_push(nbc__transport_fifo *fifo, nbc_op *op) {
  op->slot.next = NULL;
  if (fifo->last)
    fifo->last->slot.next = op;
  else
    fifo->first = op;
  fifo->last = op;
}

NBC__PRIVATE nbc_op *nbc__transport_pop(nbc__transport_fifo *fifo) {
  nbc_op *op = fifo->first;
  if (!op) return NULL;
  fifo->first = op->slot.next;
  if (!fifo->first) fifo->last = NULL;
  return op;
}

/* Takes op out; before is the one in front of it, NULL when op is the first. */
NBC__PRIVATE void nbc__transport_unlink(nbc__transport_fifo *fifo, nbc_op *before, nbc_op *op) {
  if (before)
    before->slot.next = op->slot.next;
  else
    fifo->first = op->slot.next;
  if (fifo->last == op) fifo->last = before;
}

NBC__PRIVATE bool nbc__transport_remove(nbc__transport_fifo *fifo, nbc_op *op) {
  nbc_op *before = NULL, *at;
  for (at = fifo->first; at && at != op; at = at->slot.next) before = at;
  if (at) nbc__transport_unlink(fifo, before, op);
  return at != NULL;
}

NBC__PRIVATE void nbc__transport_enter(const nbc_transport *t, nbc_kind kind) {
  if (t->recorder) nbc_call_enter(t->recorder, kind);
}

NBC__PRIVATE void nbc__transport_exit(const nbc_transport *t) {
  if (t->recorder) nbc_call_exit(t->recorder);
}

/* A transfer of t's recorder, seen by its own thread or by a worker that drives t. */
NBC__PRIVATE void nbc__transport_xfer_begin(const nbc_transport *t, uint64_t id,
                                            uint64_t size_bytes, nbc_kind kind, nbc_peer peer) {
  nbc_recorder *const r = t->recorder;
  if (r && nbc__mon_is_owner(r))
    nbc_xfer_begin(r, id, size_bytes, kind, peer);
  else if (r)
    nbc_foreign_begin(r, id, size_bytes, kind, peer);
}

NBC__PRIVATE void nbc__transport_xfer_end(const nbc_transport *t, uint64_t id) {
  nbc_recorder *const r = t->recorder;
  if (r && nbc__mon_is_owner(r))
    nbc_xfer_end(r, id);
  else if (r)
    nbc_foreign_end(r, id);
}

NBC__PRIVATE void nbc__transport_xfer_end_only(const nbc_transport *t, uint64_t size_bytes,
                                               nbc_peer peer) {
  nbc_recorder *const r = t->recorder;
  if (r && nbc__mon_is_owner(r))
    nbc_xfer_end_only(r, size_bytes, NBC_KIND_IRECV, peer);
  else if (r)
    nbc_foreign_end_only(r, size_bytes, NBC_KIND_IRECV, peer);
}

/* Polls until op is finished. Ranks may share a core, so after some polls the core is offered. */
static nbc_status nbc__transport_poll(const nbc_transport *t, nbc_op *op, int64_t limit_ns) {
  int64_t t_start_ns = limit_ns > 0 ? t->now_ns(t->ctx) : 0;
  unsigned poll_count = 0;
  while (!nbc__transport_finished(op)) {
    nbc_status status = t->progress(t->ctx);
    if (nbc__transport_finished(op)) break;
    if (status < 0) return status;
    if (t->others) t->others(t->ctx);
    poll_count++;
    const bool rests = t->rest && !t->others;
    if (rests)
      t->rest(t->ctx);
    else if (poll_count > 64)
      sched_yield();
    if (limit_ns > 0 && (rests || poll_count % 16 == 0) &&
        t->now_ns(t->ctx) - t_start_ns > limit_ns)
      return NBC_E_TIMEOUT;
  }
  return op->status;
}

NBC_API nbc_status nbc_isend(const nbc_transport *t, const void *buffer, uint64_t size_bytes,
                             int peer, uint64_t tag, nbc_op *op) {
  nbc_status status = nbc__transport_check(t, buffer, size_bytes, peer, op, false);
  if (status) return status;
  nbc__transport_enter(t, NBC_KIND_ISEND);
  status = t->isend(t->ctx, buffer, size_bytes, peer, tag, op);
  nbc__transport_exit(t);
  return status;
}

NBC_API nbc_status nbc_irecv(const nbc_transport *t, void *buffer, uint64_t size_bytes, int peer,
                             uint64_t tag, nbc_op *op) {
  nbc_status status = nbc__transport_check(t, buffer, size_bytes, peer, op, true);
  if (status) return status;
  nbc__transport_enter(t, NBC_KIND_IRECV);
  status = t->irecv(t->ctx, buffer, size_bytes, peer, tag, op);
  nbc__transport_exit(t);
  return status;
}

NBC_API nbc_status nbc_test(const nbc_transport *t, nbc_op *op) {
  nbc_status status = NBC_OK;
  if (!t || !op) return NBC_E_INVAL;
  nbc__transport_enter(t, NBC_KIND_TEST);
  if (!nbc__transport_finished(op)) status = t->progress(t->ctx);
  if (!nbc__transport_finished(op) && t->others) t->others(t->ctx);
  if (nbc__transport_finished(op))
    status = op->status;
  else if (status >= 0)
    status = NBC_PENDING;
  nbc__transport_exit(t);
  return status;
}

NBC_API nbc_status nbc_wait(const nbc_transport *t, nbc_op *op, int64_t limit_ns) {
  nbc_status status;
  if (!t || !op) return NBC_E_INVAL;
  nbc__transport_enter(t, NBC_KIND_WAIT);
  status = nbc__transport_poll(t, op, limit_ns);
  nbc__transport_exit(t);
  return status;
}

NBC_API nbc_status nbc_send(const nbc_transport *t, const void *buffer, uint64_t size_bytes,
                            int peer, uint64_t tag) {
  nbc_op op;
  nbc_status status;
  memset(&op, 0, sizeof op);
  if ((status = nbc__transport_check(t, buffer, size_bytes, peer, &op, false))) return status;
  nbc__transport_enter(t, NBC_KIND_SEND);
  status = t->isend(t->ctx, buffer, size_bytes, peer, tag, &op);
  if (!status) status = nbc__transport_poll(t, &op, 0);
  nbc__transport_exit(t);
  return status;
}

NBC_API nbc_status nbc_recv(const nbc_transport *t, void *buffer, uint64_t size_bytes, int peer,
                            uint64_t tag) {
  nbc_op op;
  nbc_status status;
  memset(&op, 0, sizeof op);
  if ((status = nbc__transport_check(t, buffer, size_bytes, peer, &op, true))) return status;
  nbc__transport_enter(t, NBC_KIND_RECV);
  status = t->irecv(t->ctx, buffer, size_bytes, peer, tag, &op);
  if (!status) status = nbc__transport_poll(t, &op, 0);
  nbc__transport_exit(t);
  return status;
}

NBC_API void nbc_transport_destroy(nbc_transport *t) {
  if (t) ((nbc__transport_own *)t->ctx)->destroy(t->ctx);
}
