/* nic_requests.h: part of nic_tcp.h and nic_udp.h, which include it: the requests of a transport, kept in
   queues until they are told to be over, and the true times of a transfer as the recorder takes them.
   Linux. Public domain or MIT-0, at your choice (full text in LICENSE). */
#ifndef NIC_REQUESTS_H_INCLUDED
#define NIC_REQUESTS_H_INCLUDED

/* Operations in their order, joined by slot.next. */
typedef struct nic__queue {
  nbc_op *first, *last;
} nic__queue;

static void nic__queue_push(nic__queue *q, nbc_op *op) {
  op->slot.next = NULL;
  if (q->first)
    q->last->slot.next = op;
  else
    q->first = op;
  q->last = op;
}
__attribute__((unused)) static void nic__queue_push_front(nic__queue *q, nbc_op *op) {
  op->slot.next = q->first;
  q->first = op;
  if (!q->last) q->last = op;
}
static nbc_op *nic__queue_pop(nic__queue *q) {
  nbc_op *op = q->first;
  if (op) q->first = op->slot.next;
  if (!q->first) q->last = NULL;
  return op;
}
static void nic__queue_unlink(nic__queue *q, nbc_op *before, nbc_op *op) {
  if (before)
    before->slot.next = op->slot.next;
  else
    q->first = op->slot.next;
  if (q->last == op) q->last = before;
}
/* Takes out the first one with this tag; NULL: there is none. */
static nbc_op *nic__queue_match(nic__queue *q, uint64_t tag) {
  nbc_op *before = NULL, *op = q->first;
  for (; op && op->slot.tag != tag; op = op->slot.next) before = op;
  if (op) nic__queue_unlink(q, before, op);
  return op;
}
/* Takes out this one; false: it is not in the queue. */
static bool nic__queue_remove(nic__queue *q, nbc_op *op) {
  nbc_op *before = NULL, *at = q->first;
  for (; at && at != op; at = at->slot.next) before = at;
  if (at) nic__queue_unlink(q, before, at);
  return at != NULL;
}

/* ---- announced messages -----------------------------------------------------------------------
   A sender knows how much of the peer's room for early messages is free; a message that does not fit is
   announced, and its data wait where they are until a receive takes them. Both sides name such a message
   by a place of their own. */
enum {
  NIC__COST_BYTES = 128,         /* of an early message, besides its data */
  NIC__PLACES_MOST = 1 << 22,    /* a peer that announces more is none of ours */
  NIC__LEAST_EARLY_BYTES = 4096, /* that a rank keeps per peer */
  NIC__EARLY_BYTES = 64 << 20    /* when nobody says how much */
};
typedef struct nic__places {
  void **at;              /* NULL: free, or reserved */
  uint32_t *free_numbers; /* a stack */
  uint32_t capacity, free_count;
} nic__places;

/* false: no memory now, or too many. The place stays NULL until its owner fills it. */
static bool nic__places_reserve(nic__places *p, uint32_t *number) {
  if (p->free_count == 0) {
    const uint32_t old = p->capacity, capacity = old ? old * 2 : 16;
    void **at = (void **)nic__zalloc(capacity * sizeof *at);
    uint32_t *free_numbers = (uint32_t *)nic__zalloc(capacity * sizeof *free_numbers);
    if (!at || !free_numbers || capacity > NIC__PLACES_MOST) {
      NIC_FREE(at);
      NIC_FREE(free_numbers);
      return false;
    }
    if (old) memcpy(at, p->at, old * sizeof *at);
    NIC_FREE(p->at);
    NIC_FREE(p->free_numbers);
    p->at = at;
    p->free_numbers = free_numbers;
    p->capacity = capacity;
    while (p->free_count < capacity - old)
      p->free_numbers[p->free_count] = old + p->free_count, p->free_count++;
  }
  *number = p->free_numbers[--p->free_count];
  return true;
}
static void *nic__places_at(const nic__places *p, uint32_t number) {
  return number < p->capacity ? p->at[number] : NULL;
}
static void nic__places_leave(nic__places *p, uint32_t number) {
  p->at[number] = NULL;
  p->free_numbers[p->free_count++] = number;
}
static void nic__places_free(nic__places *p) {
  NIC_FREE(p->at);
  NIC_FREE(p->free_numbers);
  memset(p, 0, sizeof *p);
}

static void nic__request_begin(nbc_op *op, int peer, const void *buffer, uint64_t size_bytes,
                               uint64_t tag) {
  memset(&op->slot, 0, sizeof op->slot);
  op->finished = false;
  op->status = NBC_PENDING;
  op->peer = peer;
  op->size_bytes = 0;
  op->slot.buffer = (void *)(uintptr_t)buffer;
  op->slot.limit_bytes = size_bytes;
  op->slot.tag = tag;
}
/* Completion is told by progress only: until then the operation waits in the queue `done`. */
static void nic__request_end(nic__queue *done, nbc_op *op, nbc_status status, uint64_t size_bytes) {
  op->status = status;
  op->size_bytes = size_bytes;
  nic__queue_push(done, op);
}
/* What the callbacks post is told next time. */
static void nic__requests_tell(nic__queue *done) {
  nbc_op *op = done->first;
  done->first = done->last = NULL;
  while (op) {
    nbc_op *next = op->slot.next;
    op->finished = true;
    if (op->done) op->done(op); /* may free it */
    op = next;
  }
}

static nbc_peer nic__peer_class(bool same_host) {
  return same_host ? NBC_PEER_SAME_NODE : NBC_PEER_OTHER_NODE;
}

static int64_t nic__max(int64_t a, int64_t b) { return a > b ? a : b; }

/* Begin and end, each known as an interval, as the recorder takes them: t +- the wider half. Of both
   only what lies after from_ns counts. */
static void nic__stamp_transfer(nbc_recorder *recorder, uint64_t xfer_id, int64_t from_ns,
                                int64_t b_lo_ns, int64_t b_hi_ns, int64_t e_lo_ns,
                                int64_t e_hi_ns) {
  b_lo_ns = nic__max(b_lo_ns, from_ns);
  b_hi_ns = nic__max(b_hi_ns, b_lo_ns);
  e_lo_ns = nic__max(e_lo_ns, from_ns);
  e_hi_ns = nic__max(e_hi_ns, e_lo_ns);
  const int64_t begin_ns = b_lo_ns + (b_hi_ns - b_lo_ns) / 2,
                middle_ns = e_lo_ns + (e_hi_ns - e_lo_ns) / 2;
  const int64_t end_ns = nic__max(middle_ns, begin_ns); /* short ones: the intervals overlap */
  const int64_t err_ns = nic__max(b_hi_ns - begin_ns, nic__max(end_ns - e_lo_ns, e_hi_ns - end_ns));
  nbc_xfer_stamp(recorder, xfer_id, begin_ns, end_ns, err_ns);
}
#endif /* NIC_REQUESTS_H_INCLUDED */
