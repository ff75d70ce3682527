/* packets.c: the engine below threads and OpenSHMEM: packets in rings, copy jobs, three
   protocols. */
#include "packets.h"
#include "../overlap/cells.h"

/* ============================================================================================== */
/* [THREADS] 12. Ranks as threads                                                                 */
/* ============================================================================================== */
static int64_t nbc__packets_now(void *ctx) {
  return nbc_clock_now_ns(&((nbc__packets_rank *)ctx)->world->clock);
}

/* What the table of transfer times is asked for: with a link between the ranks (dma) they are as
   far apart as nodes. */
static nbc_peer nbc__packets_peer_class(void *ctx, int peer) {
  const nbc_threads *w = ((nbc__packets_rank *)ctx)->world;
  (void)peer; /* with a link between the ranks, they are as far apart as nodes */
  return w->put ? NBC_PEER_UNKNOWN : w->desc.dma ? NBC_PEER_OTHER_NODE : NBC_PEER_SAME_NODE;
}

static bool nbc__packets_same_clock(void *ctx, int peer) {
  (void)ctx, (void)peer;
  return true;
}

/* ---- stamps of the library's view; ids are unique per rank --------------------------------- */
static void nbc__packets_begin(nbc__packets_rank *r, uint64_t id, uint64_t size_bytes,
                               nbc_kind kind) {
  nbc__transport_xfer_begin(&r->t, id, size_bytes, kind, nbc__packets_peer_class(r, 0));
}

static void nbc__packets_end(nbc__packets_rank *r, uint64_t id) {
  nbc__transport_xfer_end(&r->t, id);
}

static void nbc__packets_end_only(nbc__packets_rank *r, uint64_t size_bytes) {
  nbc__transport_xfer_end_only(&r->t, size_bytes, nbc__packets_peer_class(r, 0));
}

/* ---- packets ------------------------------------------------------------------------------- */
/* Of the ring src -> dst, as its sender or its receiver sees it: one in shared memory; over puts,
   the sender's copies first, then the receiver's. */
static nbc__packet *nbc__packets_slot(const nbc_threads *w, int src, int dst, bool receives,
                                      uint64_t count) {
  size_t size = (size_t)w->desc.size;
  size_t pair = !w->put    ? (size_t)src * size + (size_t)dst
                : receives ? size + (size_t)src
                           : (size_t)dst;
  return &w->shared->packets[pair * NBC__PACKETS_SLOTS + count % NBC__PACKETS_SLOTS];
}

NBC__PRIVATE unsigned char *nbc__packets_payload(const nbc_threads *w, const nbc__packet *p) {
  return w->shared->payload + (size_t)(p - w->shared->packets) * w->desc.fragment_bytes;
}

/* A slot's state counts its uses twice: 2k is free for the k-th packet put there, 2k + 1 holds it.
   The sender alone takes it from even to odd and the receiver alone from odd to even, each with a
   release that the other side acquires: so a ring needs no lock, and whoever is behind sees a state
   that is not yet the one it waits for. */
/* Of a slot's state, when packet count of its ring may be written there. */
static uint32_t nbc__packets_free_state(uint64_t count) {
  return (uint32_t)(count / NBC__PACKETS_SLOTS * 2);
}

/* The next free slot to peer, taken; NULL when the ring is full. */
static nbc__packet *nbc__packets_take(nbc__packets_rank *r, int peer, nbc__packet_kind kind) {
  nbc__packets_peer *to = &r->peers[peer];
  nbc__packet *p = nbc__packets_slot(r->world, r->t.rank, peer, false, to->head_count);
  if (__atomic_load_n(&p->state, __ATOMIC_ACQUIRE) != nbc__packets_free_state(to->head_count))
    return NULL;
  to->head_count++;
  p->kind = kind;
  p->t_visible_ns = 0;
  return p;
}

NBC__PRIVATE void nbc__packets_publish(nbc_threads *w, int peer, nbc__packet *p) {
  if (w->put)
    w->put(w, peer, p);
  else
    __atomic_store_n(&p->state, p->state + 1, __ATOMIC_RELEASE);
}

/* Control packets need no copy: they carry the time at which the link would deliver them. */
static void nbc__packets_publish_control(nbc__packets_rank *r, int peer, nbc__packet *p) {
  const nbc_threads_desc *desc = &r->world->desc;
  if (desc->dma && desc->link_latency_ns > 0)
    p->t_visible_ns = nbc__packets_now(r) + desc->link_latency_ns;
  nbc__packets_publish(r->world, peer, p);
}

/* ---- copy jobs ----------------------------------------------------------------------------- */
static bool nbc__packets_job_free(const nbc__packets_rank *r) {
  return __atomic_load_n(&r->ring->posted_count, __ATOMIC_RELAXED) - r->reaped_count <
         NBC__PACKETS_JOBS;
}

static void nbc__packets_wake(nbc__packets_shared *s) {
  /* the poster's store to posted_count and this exchange must not pass each other */
  if (!__atomic_exchange_n(&s->asleep, 0, __ATOMIC_SEQ_CST)) return;
  pthread_mutex_lock(&s->mutex);
  pthread_cond_signal(&s->cond);
  pthread_mutex_unlock(&s->mutex);
}

/* Without a link the poster copies at once: job, end and packet are done before posted_count says
   so. */
/* Posts *job, whose begin is recorded already. The caller has checked that there is room. */
static void nbc__packets_post(nbc__packets_rank *r, const nbc__job *job) {
  nbc__packets_shared *s = r->world->shared;
  uint64_t count = __atomic_load_n(&r->ring->posted_count, __ATOMIC_RELAXED);
  nbc__job *mine = &r->ring->jobs[count % NBC__PACKETS_JOBS];
  *mine = *job;
  if (!r->world->desc.dma) {
    if (job->size_bytes > 0) memcpy(job->target, job->source, (size_t)job->size_bytes);
    nbc__packets_end(r, job->is_read ? job->recv_id : job->send_id);
    mine->ended = true;
    if (job->packet) nbc__packets_publish(r->world, job->peer, job->packet);
    __atomic_store_n(&r->ring->done_count, count + 1, __ATOMIC_RELAXED);
  }
  if (r->world->desc.dma) mine->t_post_ns = nbc__packets_now(r);
  __atomic_store_n(&r->ring->posted_count, count + 1, __ATOMIC_SEQ_CST);
  if (r->world->desc.dma) nbc__packets_wake(s);
}

/* ---- finishing and queueing ---------------------------------------------------------------- */
static void nbc__packets_finish(nbc__packets_rank *r, nbc_op *op, nbc_status status) {
  op->status = status;
  nbc__transport_push(&r->finished, op);
}

/* An operation stands in at most one queue at a time: it is linked through itself. */
static void nbc__packets_queue(nbc__packets_rank *r, nbc_op *op) {
  if (op->slot.queued) return;
  op->slot.queued = true;
  r->waiting_count++;
  nbc__transport_push(&r->peers[op->peer].out, op);
}

static nbc_status nbc__packets_recv_status(const nbc_op *op) {
  return op->status == NBC_E_TRUNCATED ? NBC_E_TRUNCATED : NBC_OK;
}

/* ---- what a queued operation does next: true when nothing is left to post for now ---------- */
/* What the operation in an out queue is. */
enum {
  NBC__OP_EAGER,
  NBC__OP_PIPELINED,
  NBC__OP_READ, /* send, to be read by the peer */
  NBC__OP_RECV, /* eager, or not matched */
  NBC__OP_RECV_PIPELINED,
  NBC__OP_RECV_READ, /* read not posted */
  NBC__OP_RECV_FIN   /* read done, FIN not sent */
};

/* One part of a send: a job whose end publishes a packet. */
static bool nbc__packets_post_part(nbc__packets_rank *r, nbc_op *op, nbc__packet_kind kind,
                                   uint64_t part_bytes, void *target, uint64_t recv_id) {
  nbc__packet *p;
  nbc__job job;
  if (!nbc__packets_job_free(r) || !(p = nbc__packets_take(r, op->peer, kind))) return false;
  p->tag = op->slot.tag;
  p->size_bytes = op->size_bytes;
  p->offset_bytes = op->slot.posted_bytes;
  p->part_bytes = part_bytes;
  p->send_op = op;
  p->recv_op = (nbc_op *)op->slot.remote_op;
  p->xfer_id = recv_id;
  memset(&job, 0, sizeof job);
  job.source = (const unsigned char *)op->slot.buffer + op->slot.posted_bytes;
  job.target = target ? target : nbc__packets_payload(r->world, p);
  job.size_bytes = part_bytes;
  job.packet = p;
  job.op = op;
  job.peer = op->peer;
  job.send_id = ++r->id_count;
  job.recv_id = recv_id;
  op->slot.posted_bytes += part_bytes;
  op->slot.flying_count++;
  op->slot.started = true;
  nbc__packets_begin(r, job.send_id, part_bytes, NBC_KIND_ISEND);
  nbc__packets_post(r, &job);
  return true;
}

static uint64_t nbc__packets_part(const nbc__packets_rank *r, uint64_t left_bytes) {
  return left_bytes < r->world->desc.fragment_bytes ? left_bytes : r->world->desc.fragment_bytes;
}

/* At least one packet, for a message of 0 bytes too. */
static bool nbc__packets_emit_eager(nbc__packets_rank *r, nbc_op *op) {
  nbc_op_slot *s = &op->slot;
  while (!s->started || s->posted_bytes < op->size_bytes)
    if (!nbc__packets_post_part(r, op, NBC__PACKET_EAGER,
                                nbc__packets_part(r, op->size_bytes - s->posted_bytes), NULL, 0))
      return false;
  return true;
}

/* First the request with the first fragment, later what the receiver granted. */
static bool nbc__packets_emit_pipelined(nbc__packets_rank *r, nbc_op *op) {
  nbc_op_slot *s = &op->slot;
  if (!s->started && !nbc__packets_post_part(r, op, NBC__PACKET_REQUEST,
                                             nbc__packets_part(r, op->size_bytes), NULL, 0))
    return false;
  while (s->posted_bytes < s->granted_bytes) {
    uint64_t index = s->posted_bytes / r->world->desc.fragment_bytes;
    uint64_t part_bytes = nbc__packets_part(r, s->limit_bytes - s->posted_bytes);
    unsigned char *target = (unsigned char *)s->remote_address + s->posted_bytes;
    if (r->world->desc.processes) target = NULL; /* by way of the slot */
    if (!nbc__packets_post_part(r, op, NBC__PACKET_FRAGMENT, part_bytes, target,
                                s->remote_id ? s->remote_id + index : 0))
      return false;
  }
  return true;
}

/* The sender's transfer begins here and ends with FIN: between them the receiver reads, and the
   sender learns of nothing. That is what makes the window of such a send as wide as it is. */
static bool nbc__packets_emit_request_read(nbc__packets_rank *r, nbc_op *op) {
  nbc__packet *p = nbc__packets_take(r, op->peer, NBC__PACKET_REQUEST_READ);
  if (!p) return false;
  p->tag = op->slot.tag;
  p->size_bytes = op->size_bytes;
  p->offset_bytes = p->part_bytes = 0;
  p->send_op = op;
  p->address = op->slot.buffer;
  p->xfer_id = op->slot.xfer_id = ++r->id_count;
  nbc__packets_begin(r, op->slot.xfer_id, op->size_bytes, NBC_KIND_ISEND);
  nbc__packets_publish_control(r, op->peer, p);
  return true;
}

/* Grants fragments up to granted_bytes; from here on they may be under way. */
static bool nbc__packets_emit_put(nbc__packets_rank *r, nbc_op *op) {
  nbc_op_slot *s = &op->slot;
  nbc__packet *p = nbc__packets_take(r, op->peer, NBC__PACKET_PUT);
  uint64_t index = s->posted_bytes / r->world->desc.fragment_bytes;
  if (!p) return false;
  p->send_op = (nbc_op *)s->remote_op;
  p->recv_op = op;
  p->address = s->buffer;
  p->xfer_id = s->xfer_id;
  p->limit_bytes = op->size_bytes;
  p->granted_bytes = s->granted_bytes;
  for (; s->posted_bytes < s->granted_bytes; index++) {
    uint64_t part_bytes = nbc__packets_part(r, op->size_bytes - s->posted_bytes);
    nbc__packets_begin(r, s->xfer_id + index, part_bytes, NBC_KIND_IRECV);
    s->posted_bytes += part_bytes;
  }
  s->started = true;
  nbc__packets_publish_control(r, op->peer, p);
  if (s->arrived_bytes >= op->size_bytes) nbc__packets_finish(r, op, nbc__packets_recv_status(op));
  return true;
}

static bool nbc__packets_emit_read(nbc__packets_rank *r, nbc_op *op) {
  nbc__job job;
  if (!nbc__packets_job_free(r)) return false;
  memset(&job, 0, sizeof job);
  job.source = op->slot.remote_address;
  job.target = op->slot.buffer;
  job.size_bytes = op->size_bytes;
  job.op = op;
  job.is_read = true;
  job.peer = op->peer;
  job.send_id = op->slot.remote_id;
  job.recv_id = ++r->id_count;
  nbc__packets_begin(r, job.recv_id, job.size_bytes, NBC_KIND_IRECV);
  nbc__packets_post(r, &job);
  return true;
}

static bool nbc__packets_emit_fin(nbc__packets_rank *r, nbc_op *op) {
  nbc__packet *p = nbc__packets_take(r, op->peer, NBC__PACKET_FIN);
  if (!p) return false;
  p->send_op = (nbc_op *)op->slot.remote_op;
  nbc__packets_publish_control(r, op->peer, p);
  nbc__packets_finish(r, op, nbc__packets_recv_status(op));
  return true;
}

static bool nbc__packets_emit(nbc__packets_rank *r, nbc_op *op) {
  switch (op->slot.kind) {
  case NBC__OP_EAGER: return nbc__packets_emit_eager(r, op);
  case NBC__OP_PIPELINED: return nbc__packets_emit_pipelined(r, op);
  case NBC__OP_READ: return nbc__packets_emit_request_read(r, op);
  case NBC__OP_RECV_PIPELINED: return nbc__packets_emit_put(r, op);
  case NBC__OP_RECV_READ: return nbc__packets_emit_read(r, op);
  default: return nbc__packets_emit_fin(r, op);
  }
}

/* An operation that cannot go on stays first: messages to one peer never overtake each other, which
   is what matching in order rests on. */
/* Posts what the queue to one peer holds, in order, until a resource is missing. */
static void nbc__packets_flush(nbc__packets_rank *r, int peer) {
  nbc__transport_fifo *out = &r->peers[peer].out;
  nbc_op *op;
  while ((op = out->first)) {
    /* out of the queue first: finishing uses the same link */
    nbc__transport_pop(out);
    op->slot.queued = false;
    r->waiting_count--;
    if (nbc__packets_emit(r, op)) continue;
    op->slot.queued = true;
    r->waiting_count++;
    op->slot.next = out->first;
    out->first = op;
    if (!out->last) out->last = op;
    return;
  }
}

/* ---- matching ------------------------------------------------------------------------------ */
/* Linear in what is posted, as in MPIs: lists are short where receives are posted in the order of
   messages. */
static nbc_op *nbc__packets_find(nbc__transport_fifo *fifo, uint64_t tag, nbc_op **before) {
  nbc_op *op;
  *before = NULL;
  for (op = fifo->first; op && op->slot.tag != tag; op = op->slot.next) *before = op;
  return op;
}

/* Of two candidates, one for this peer and one for any peer, the one posted first wins, by MPI's
   rule. */
/* The oldest posted receive for this message, taken out of its list. */
static nbc_op *nbc__packets_match(nbc__packets_rank *r, int peer, uint64_t tag) {
  nbc__transport_fifo *posted = &r->peers[peer].posted;
  nbc_op *before, *before_any;
  nbc_op *op = nbc__packets_find(posted, tag, &before);
  nbc_op *any = nbc__packets_find(&r->posted_any, tag, &before_any);
  if (any && (!op || any->slot.order < op->slot.order)) {
    nbc__transport_unlink(&r->posted_any, before_any, any);
    return any;
  }
  if (op) nbc__transport_unlink(posted, before, op);
  return op;
}

/* The oldest unexpected message from peer with this tag; *before as in nbc__packets_find. */
static nbc__unexpected *nbc__packets_find_unexpected(nbc__packets_peer *from, uint64_t tag,
                                                     nbc__unexpected **before) {
  nbc__unexpected *entry;
  *before = NULL;
  for (entry = from->first; entry && entry->packet.tag != tag; entry = entry->next) *before = entry;
  return entry;
}

/* Ties a receive to the message that *p announced. */
static void nbc__packets_bind(nbc__packets_rank *r, nbc_op *op, int peer, const nbc__packet *p) {
  nbc_op_slot *s = &op->slot;
  uint64_t room_bytes = s->limit_bytes, fragment_bytes = r->world->desc.fragment_bytes;
  op->peer = peer;
  op->size_bytes = p->size_bytes < room_bytes ? p->size_bytes : room_bytes;
  op->status = p->size_bytes > room_bytes ? NBC_E_TRUNCATED : NBC_PENDING;
  s->arrived_bytes = 0;
  s->remote_op = p->send_op;
  s->remote_address = p->address;
  s->remote_id = p->xfer_id;
  if (p->kind == NBC__PACKET_REQUEST_READ) s->kind = NBC__OP_RECV_READ;
  if (p->kind == NBC__PACKET_REQUEST) {
    s->kind = NBC__OP_RECV_PIPELINED;
    s->posted_bytes = nbc__packets_part(r, op->size_bytes);
    /* A range of ids is reserved at once: the sender names the transfer of each fragment by its
       place. */
    s->xfer_id = r->id_count + 1; /* one id per fragment; that of the first is not used */
    r->id_count += op->size_bytes / fragment_bytes + 1;
  }
}

/* What does not fit is dropped: the receive ends truncated, and the sender never learns of it. */
static void nbc__packets_deposit(nbc_op *op, uint64_t offset_bytes, const void *data,
                                 uint64_t bytes) {
  uint64_t room_bytes = op->size_bytes > offset_bytes ? op->size_bytes - offset_bytes : 0;
  uint64_t copy_bytes = bytes < room_bytes ? bytes : room_bytes;
  if (copy_bytes > 0)
    memcpy((unsigned char *)op->slot.buffer + offset_bytes, data, (size_t)copy_bytes);
}

/* The next grant: as many fragments beyond those that arrived as the pipeline is deep. */
static void nbc__packets_grant(nbc__packets_rank *r, nbc_op *op) {
  const nbc_threads_desc *desc = &r->world->desc;
  uint64_t arrived_bytes = op->slot.arrived_bytes, ahead = (uint64_t)desc->pipeline_depth;
  uint64_t left_bytes = op->size_bytes - arrived_bytes;
  op->slot.granted_bytes = left_bytes / desc->fragment_bytes < ahead
                               ? op->size_bytes
                               : arrived_bytes + ahead * desc->fragment_bytes;
  if (op->slot.granted_bytes > op->slot.posted_bytes || !op->slot.started)
    nbc__packets_queue(r, op);
}

/* After the first data (or the request) of a matched message has been taken over. */
static void nbc__packets_go_on(nbc__packets_rank *r, nbc_op *op, uint64_t arrived_bytes,
                               uint64_t message_bytes) {
  op->slot.arrived_bytes = arrived_bytes;
  if (op->slot.kind == NBC__OP_RECV) {
    if (arrived_bytes >= message_bytes) nbc__packets_finish(r, op, nbc__packets_recv_status(op));
  } else if (op->slot.kind == NBC__OP_RECV_PIPELINED) {
    if (op->slot.arrived_bytes > op->size_bytes) op->slot.arrived_bytes = op->size_bytes;
    nbc__packets_grant(r, op);
  } else
    nbc__packets_queue(r, op);
}

/* ---- arrivals ------------------------------------------------------------------------------ */
/* An unexpected message is copied out of its slot, for the slot is needed: the rest of an eager
   message follows into the same memory; of an announced one only the first fragment is here. */
static nbc_status nbc__packets_keep(nbc__packets_rank *r, int peer, const nbc__packet *p) {
  nbc__packets_peer *from = &r->peers[peer];
  uint64_t data_bytes = p->kind == NBC__PACKET_EAGER ? p->size_bytes : p->part_bytes;
  nbc__unexpected *entry;
  if (data_bytes > SIZE_MAX / 2) return NBC_E_NOMEM;
  entry = (nbc__unexpected *)NBC_MALLOC(sizeof *entry + (size_t)data_bytes);
  if (!entry) return NBC_E_NOMEM;
  entry->next = NULL;
  entry->packet = *p;
  entry->arrival_order = ++r->order_count;
  entry->arrived_bytes = p->part_bytes;
  entry->data = (unsigned char *)(entry + 1);
  if (p->part_bytes > 0)
    memcpy(entry->data, nbc__packets_payload(r->world, p), (size_t)p->part_bytes);
  if (from->last)
    from->last->next = entry;
  else
    from->first = entry;
  from->last = entry;
  if (p->kind == NBC__PACKET_EAGER && p->part_bytes < p->size_bytes) from->incoming_entry = entry;
  return NBC_OK;
}

/* The first packet of a message. */
static nbc_status nbc__packets_arrive(nbc__packets_rank *r, int peer, const nbc__packet *p) {
  nbc_op *op = nbc__packets_match(r, peer, p->tag);
  if (p->kind != NBC__PACKET_REQUEST_READ) nbc__packets_end_only(r, p->part_bytes); /* [O] case 3 */
  if (!op) return nbc__packets_keep(r, peer, p);
  nbc__packets_bind(r, op, peer, p);
  nbc__packets_deposit(op, 0, nbc__packets_payload(r->world, p), p->part_bytes);
  if (p->kind == NBC__PACKET_EAGER && p->part_bytes < p->size_bytes)
    r->peers[peer].incoming_op = op;
  nbc__packets_go_on(r, op, p->part_bytes, p->size_bytes);
  return NBC_OK;
}

/* The other parts of an eager message: they follow each other, nothing of the same kind between. */
static void nbc__packets_arrive_part(nbc__packets_rank *r, int peer, const nbc__packet *p) {
  nbc__packets_peer *from = &r->peers[peer];
  const unsigned char *data = nbc__packets_payload(r->world, p);
  uint64_t arrived_bytes = p->offset_bytes + p->part_bytes;
  nbc_op *op = from->incoming_op;
  nbc__packets_end_only(r, p->part_bytes);
  if (op) {
    nbc__packets_deposit(op, p->offset_bytes, data, p->part_bytes);
    if (arrived_bytes >= p->size_bytes) from->incoming_op = NULL;
    nbc__packets_go_on(r, op, arrived_bytes, p->size_bytes);
  } else {
    memcpy(from->incoming_entry->data + p->offset_bytes, data, (size_t)p->part_bytes);
    from->incoming_entry->arrived_bytes = arrived_bytes;
    if (arrived_bytes >= p->size_bytes) from->incoming_entry = NULL;
  }
}

/* A send is over when all its bytes are posted and none of its jobs is under way. limit_bytes is
   not known (UINT64_MAX) before the receiver said how much it takes. */
static void nbc__packets_check_sent(nbc__packets_rank *r, nbc_op *op) {
  if (op->slot.flying_count == 0 && op->slot.started &&
      op->slot.posted_bytes >= op->slot.limit_bytes)
    nbc__packets_finish(r, op, NBC_OK);
}

static void nbc__packets_granted(nbc__packets_rank *r, const nbc__packet *p) {
  nbc_op *op = p->send_op;
  op->slot.remote_op = p->recv_op;
  op->slot.remote_address = p->address;
  op->slot.remote_id = p->xfer_id;
  op->slot.limit_bytes = p->limit_bytes;
  op->slot.granted_bytes = p->granted_bytes;
  if (op->slot.posted_bytes < op->slot.granted_bytes)
    nbc__packets_queue(r, op);
  else
    nbc__packets_check_sent(r, op);
}

static nbc_status nbc__packets_handle(nbc__packets_rank *r, int peer, const nbc__packet *p) {
  nbc_op *op;
  switch (p->kind) {
  case NBC__PACKET_EAGER:
    if (p->offset_bytes == 0) return nbc__packets_arrive(r, peer, p);
    nbc__packets_arrive_part(r, peer, p);
    return NBC_OK;
  case NBC__PACKET_REQUEST:
  case NBC__PACKET_REQUEST_READ: return nbc__packets_arrive(r, peer, p);
  case NBC__PACKET_PUT: nbc__packets_granted(r, p); return NBC_OK;
  /* Between processes the data came by way of the slot, else straight into the user's buffer. */
  case NBC__PACKET_FRAGMENT:
    op = p->recv_op;
    if (r->world->desc.processes)
      nbc__packets_deposit(op, p->offset_bytes, nbc__packets_payload(r->world, p), p->part_bytes);
    nbc__packets_end(r, p->xfer_id);
    op->slot.arrived_bytes += p->part_bytes;
    if (op->slot.arrived_bytes >= op->size_bytes)
      nbc__packets_finish(r, op, nbc__packets_recv_status(op));
    else
      nbc__packets_grant(r, op);
    return NBC_OK;
  case NBC__PACKET_FIN:
    nbc__packets_end(r, p->send_op->slot.xfer_id);
    nbc__packets_finish(r, p->send_op, NBC_OK);
    return NBC_OK;
  }
  return NBC_E_TRANSPORT;
}

/* ---- progress ------------------------------------------------------------------------------ */
/* Jobs end in the order in which they were posted: one counter tells of all. */
static void nbc__packets_reap(nbc__packets_rank *r) {
  uint64_t done_count = __atomic_load_n(&r->ring->done_count, __ATOMIC_ACQUIRE);
  while (r->reaped_count < done_count) {
    const nbc__job *job = &r->ring->jobs[r->reaped_count % NBC__PACKETS_JOBS];
    nbc_op *op = job->op;
    if (!job->ended) nbc__packets_end(r, job->is_read ? job->recv_id : job->send_id);
    if (job->is_read) {
      op->slot.kind = NBC__OP_RECV_FIN;
      nbc__packets_queue(r, op);
    } else {
      op->slot.flying_count--;
      nbc__packets_check_sent(r, op);
    }
    r->reaped_count++;
  }
}

/* At most one ring's worth, so that one busy sender does not keep the others waiting. */
static nbc_status nbc__packets_receive(nbc__packets_rank *r, int peer) {
  nbc__packets_peer *from = &r->peers[peer];
  int i;
  for (i = 0; i < NBC__PACKETS_SLOTS; i++) {
    nbc__packet *p = nbc__packets_slot(r->world, peer, r->t.rank, true, from->tail_count);
    nbc_status status;
    if (__atomic_load_n(&p->state, __ATOMIC_ACQUIRE) !=
        nbc__packets_free_state(from->tail_count) + 1)
      return NBC_OK;
    if (p->t_visible_ns && nbc__packets_now(r) < p->t_visible_ns) return NBC_OK;
    if ((status = nbc__packets_handle(r, peer, p))) return status;
    from->tail_count++;
    if (r->world->release)
      r->world->release(r->world, peer, p);
    else
      __atomic_store_n(&p->state, p->state + 1, __ATOMIC_RELEASE);
  }
  return NBC_OK;
}

static nbc_status nbc__packets_progress(void *ctx) {
  nbc__packets_rank *r = (nbc__packets_rank *)ctx;
  nbc_status status = NBC_OK;
  nbc_op *op;
  int peer;
  if (r->in_progress) return NBC_OK; /* called from a completion */
  r->in_progress = true;
  if (r->world->poll) r->world->poll(r->world);
  nbc__packets_reap(r);
  for (peer = 0; peer < r->t.size && status == NBC_OK; peer++)
    status = nbc__packets_receive(r, peer);
  for (peer = 0; peer < r->t.size && r->waiting_count > 0; peer++) nbc__packets_flush(r, peer);
  while ((op = nbc__transport_pop(&r->finished))) nbc__transport_finish(op);
  r->in_progress = false;
  if (status == NBC_OK && __atomic_load_n(&r->world->shared->failed, __ATOMIC_RELAXED))
    status = NBC_E_PEER;
  return status;
}

/* ---- posting ------------------------------------------------------------------------------- */
static nbc_status nbc__packets_isend(void *ctx, const void *buffer, uint64_t size_bytes, int peer,
                                     uint64_t tag, nbc_op *op) {
  nbc__packets_rank *r = (nbc__packets_rank *)ctx;
  const nbc_threads_desc *desc = &r->world->desc;
  nbc_protocol protocol = desc->protocol;
  if (protocol == NBC_PROTOCOL_AUTO)
    protocol = size_bytes <= desc->eager_limit_bytes ? NBC_PROTOCOL_EAGER : desc->large;
  nbc__transport_prepare(op, peer);
  op->size_bytes = size_bytes;
  op->slot.buffer = (void *)(uintptr_t)buffer; /* only read from */
  op->slot.tag = tag;
  op->slot.limit_bytes = protocol == NBC_PROTOCOL_EAGER ? size_bytes : UINT64_MAX;
  op->slot.kind = protocol == NBC_PROTOCOL_EAGER       ? NBC__OP_EAGER
                  : protocol == NBC_PROTOCOL_PIPELINED ? NBC__OP_PIPELINED
                                                       : NBC__OP_READ;
  nbc__packets_queue(r, op);
  nbc__packets_flush(r, peer);
  return NBC_OK;
}

/* The oldest unexpected message for a receive: from one peer, or from any. */
static nbc__unexpected *nbc__packets_take_unexpected(nbc__packets_rank *r, int peer, uint64_t tag,
                                                     int *source) {
  nbc__unexpected *best = NULL, *best_before = NULL;
  nbc__packets_peer *from;
  int i, last = peer == NBC_ANY_PEER ? r->t.size - 1 : peer;
  for (i = peer == NBC_ANY_PEER ? 0 : peer; i <= last; i++) {
    nbc__unexpected *before, *entry = nbc__packets_find_unexpected(&r->peers[i], tag, &before);
    if (!entry || (best && best->arrival_order < entry->arrival_order)) continue;
    best = entry, best_before = before, *source = i;
  }
  if (!best) return NULL;
  from = &r->peers[*source];
  if (best_before)
    best_before->next = best->next;
  else
    from->first = best->next;
  if (from->last == best) from->last = best_before;
  return best;
}

static nbc_status nbc__packets_irecv(void *ctx, void *buffer, uint64_t size_bytes, int peer,
                                     uint64_t tag, nbc_op *op) {
  nbc__packets_rank *r = (nbc__packets_rank *)ctx;
  nbc__unexpected *entry;
  int source = 0;
  nbc__transport_prepare(op, peer);
  op->slot.buffer = buffer;
  op->slot.limit_bytes = size_bytes;
  op->slot.tag = tag;
  op->slot.kind = NBC__OP_RECV;
  op->slot.order = ++r->order_count;
  entry = nbc__packets_take_unexpected(r, peer, tag, &source);
  if (!entry) {
    nbc__transport_push(peer == NBC_ANY_PEER ? &r->posted_any : &r->peers[peer].posted, op);
    return NBC_OK;
  }
  nbc__packets_bind(r, op, source, &entry->packet);
  nbc__packets_deposit(op, 0, entry->data, entry->arrived_bytes);
  if (r->peers[source].incoming_entry == entry) {
    r->peers[source].incoming_entry = NULL;
    r->peers[source].incoming_op = op;
  }
  nbc__packets_go_on(r, op, entry->arrived_bytes, entry->packet.size_bytes);
  NBC_FREE(entry);
  nbc__packets_flush(r, source);
  return NBC_OK;
}

static nbc_status nbc__packets_cancel(void *ctx, nbc_op *op) {
  nbc__packets_rank *r = (nbc__packets_rank *)ctx;
  bool found = op->peer == NBC_ANY_PEER ? nbc__transport_remove(&r->posted_any, op)
                                        : nbc__transport_remove(&r->peers[op->peer].posted, op);
  if (!found) return NBC_E_STATE; /* a send, or matched already */
  nbc__packets_finish(r, op, NBC_E_CANCELLED);
  return NBC_OK;
}

/* ---- the world ----------------------------------------------------------------------------- */
NBC__PRIVATE nbc_status nbc__packets_defaults(nbc_threads_desc *desc) {
  if (desc->size == 0) desc->size = 2;
  if (desc->large == NBC_PROTOCOL_AUTO)
    desc->large = desc->processes ? NBC_PROTOCOL_PIPELINED : NBC_PROTOCOL_DIRECT_READ;
  if (desc->eager_limit_bytes == 0) desc->eager_limit_bytes = 8 << 10;
  if (desc->fragment_bytes == 0) desc->fragment_bytes = 64 << 10;
  if (desc->pipeline_depth == 0) desc->pipeline_depth = 2;
  if (desc->size < 0 || desc->size > NBC__PACKETS_MAX_RANKS || (int)desc->protocol < 0 ||
      desc->protocol > NBC_PROTOCOL_DIRECT_READ || (int)desc->large < 0 ||
      desc->large > NBC_PROTOCOL_DIRECT_READ || desc->fragment_bytes > 1 << 30 ||
      desc->pipeline_depth < 0 || !(desc->link_bytes_per_s >= 0) || desc->link_bytes_per_s > 1e15 ||
      desc->link_latency_ns < 0 || desc->link_latency_ns > 3600 * (int64_t)1000000000 ||
      (desc->processes && (desc->dma || desc->protocol == NBC_PROTOCOL_DIRECT_READ ||
                           desc->large == NBC_PROTOCOL_DIRECT_READ)) ||
      (desc->dma && desc->clock &&
       desc->clock->source == NBC_CLOCK_USER)) /* which sleeps in real time */
    return NBC_E_INVAL;
  return NBC_OK;
}

/* Lays out the region: struct, job rings, packets, payload, stamps. */
NBC__PRIVATE void nbc__packets_contract(nbc__packets_rank *r, int rank) {
  r->t.name = r->world->desc.processes ? "processes" : "threads";
  r->t.help = r->world->desc.processes ? "ranks are processes that share memory"
                                       : "ranks are threads of one process";
  r->t.ctx = r;
  r->t.rank = rank;
  r->t.size = r->world->desc.size;
  r->t.any_peer = true;
  r->t.now_ns = nbc__packets_now;
  r->t.isend = nbc__packets_isend;
  r->t.irecv = nbc__packets_irecv;
  r->t.progress = nbc__packets_progress;
  r->t.cancel = nbc__packets_cancel;
  r->t.peer_class = nbc__packets_peer_class;
  r->t.same_clock = nbc__packets_same_clock;
}

/* Messages that nobody received. */
NBC__PRIVATE void nbc__packets_free_unexpected(nbc__packets_peer *peers, size_t count) {
  size_t i;
  for (i = 0; i < count; i++) {
    nbc__unexpected *entry = peers[i].first, *next;
    for (; entry; entry = next) next = entry->next, NBC_FREE(entry);
  }
}
