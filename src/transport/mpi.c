/* mpi.c: the transport over MPI (with NBC_WITH_MPI). */
#include "mpi.h"
#include "shared.h"
#include "../overlap/clock.h"
#include "../overlap/cells.h"

#ifdef NBC_WITH_MPI
/* Headers travel under MPI tag 0 and are received by a ring of persistent receives, in the order in
   which MPI matched them. A message's data has a tag of its own, so it needs no matching order.

     sender                                       receiver
     up to 4000 bytes: header + data    -------->  ring -> its receive, or kept in peer->first
     longer:           header, data_tag -------->  ring -> its receive, then MPI_Irecv of data_tag
                       data, in pieces  -------->          straight into the receiver's buffer
     one node, up to a third of a ring: header + data through shared memory, else header there, data
                                        by MPI; all by MPI while there is no room

   So the headers of a pair take two ways, which have two orders. Each header has its number among those
   of its sender to its receiver: one that came by MPI before an earlier one has left the shared memory
   waits in peer->early, and the shared memory is not read on while an earlier one is missing. */
enum { NBC__MPI_RING = 16, NBC__MPI_INLINE = 4000, NBC__MPI_HEADER_TAG = 0 };

typedef struct nbc__mpi_header {
  uint64_t tag, size_bytes;
  int32_t data_tag; /* 0: the data follows in this message */
  uint32_t number;  /* of this sender's messages to this receiver; begins again after 2^32 */
} nbc__mpi_header;

/* A header and, behind it, its data, when short: being received, being sent, or waiting for its receive. */
typedef struct nbc__mpi_packet {
  struct nbc__mpi_packet *next;
  uint64_t arrival_index, xfer_id, room_bytes; /* room: of the data */
  nbc__mpi_header header;
} nbc__mpi_packet;

typedef struct nbc__mpi_coming { /* a message in shared memory of which not all is there yet */
  nbc__mpi_header header;
  size_t at_bytes;         /* copied, its header included; 0: there is none */
  nbc_op *op;              /* its receive, */
  nbc__mpi_packet *packet; /* or where it is kept */
} nbc__mpi_coming;

typedef struct nbc__mpi_peer {
  nbc__transport_fifo posted;
  nbc__mpi_packet *first, *last;       /* arrived, not wanted yet */
  nbc__mpi_packet *early, *last_early; /* came by MPI before earlier ones, in order */
  uint32_t sent_count, taken_count;    /* messages to it, and from it */
  nbc__shared_end out, in;             /* where memory is shared with it */
  nbc__mpi_coming coming;
} nbc__mpi_peer;

typedef struct nbc__mpi_owner { /* of a request: an operation, or a packet that is being sent */
  nbc_op *op;
  nbc__mpi_packet *packet;
} nbc__mpi_owner;

typedef struct nbc__mpi {
  nbc__transport_own own;
  nbc_clock clock;
  MPI_Comm comm;
  bool funneled;      /* only `main` calls MPI */
  bool messages_only; /* no shared memory */
  pthread_t main;
  pthread_mutex_t mutex;
  int tag_limit, next_data_tag;
  uint64_t piece_bytes, order, arrival_count, xfer_count;
  nbc__mpi_peer *peers; /* [size] */
  nbc_peer *classes;    /* [size] */
  int *nodes;           /* [size] the lowest rank of each one's node */
  int *clock_of;        /* [size]: the rank whose clock it is */
  nbc__shared shared;   /* with the ranks of this node */
  int *near;            /* [size]: those, near_count of them */
  int near_count;
  bool has_gap;                             /* shared memory waits for what comes by MPI */
  unsigned look_count;                      /* into shared memory */
  nbc__transport_fifo any, submitted, done; /* receives for any peer; waiting for main; finished */
  nbc__mpi_packet *ring[NBC__MPI_RING], *spare, *spare_large;
  MPI_Request ring_requests[NBC__MPI_RING];
  int ring_first, ring_count, stale_count; /* stale: before the first, not yet started again */
  MPI_Request *requests;                   /* active; owners, indices and statuses belong to it */
  nbc__mpi_owner *owners;
  int *indices;
  MPI_Status *statuses;
  int active_count, active_limit;
  bool hurried;    /* the last progress only delivered what was finished */
  bool delivering; /* a thread is running `done` of what is finished: no other does */
  pthread_t user;  /* who used it last: others() of that thread drives it */
  struct nbc__mpi *next_alive;
  uint64_t walk; /* the last of nbc__mpi_others that drove it */
  nbc_status failed;
  char error[MPI_MAX_ERROR_STRING + 1];
} nbc__mpi;

/* All transports of this process; the one thing that this piece keeps beside its objects. */
static struct {
  pthread_mutex_t mutex;
  nbc__mpi *first;
  uint64_t walk_count;
} nbc__mpi_alive = {PTHREAD_MUTEX_INITIALIZER, NULL, 0};

/* The first failure of MPI itself makes the transport unusable and is kept. */
static nbc_status nbc__mpi_fail(nbc__mpi *m, int code) {
  int length = 0;
  if (m->failed) return m->failed;
  m->failed = NBC_E_TRANSPORT;
  if (MPI_Error_string(code, m->error, &length))
    snprintf(m->error, sizeof m->error, "MPI error %d", code);
  return m->failed;
}

static nbc_status nbc__mpi_nomem(nbc__mpi *m) {
  if (!m->failed) snprintf(m->error, sizeof m->error, "%s", nbc_status_text(NBC_E_NOMEM));
  return m->failed ? m->failed : (m->failed = NBC_E_NOMEM);
}

static bool nbc__mpi_may_call(const nbc__mpi *m) {
  return !m->funneled || pthread_equal(m->main, pthread_self());
}

/* ---- what the recorder hears --------------------------------------------------------------- */
static void nbc__mpi_begin(nbc__mpi *m, nbc_op *op, uint64_t size_bytes, nbc_kind kind) {
  if (!m->own.t.recorder) return;
  op->slot.xfer_id = ++m->xfer_count;
  nbc__transport_xfer_begin(&m->own.t, op->slot.xfer_id, size_bytes, kind, m->classes[op->peer]);
}

static void nbc__mpi_end(nbc__mpi *m, uint64_t xfer_id) {
  if (xfer_id) nbc__transport_xfer_end(&m->own.t, xfer_id);
}

/* A short message: nobody here saw it begin. */
static void nbc__mpi_end_only(nbc__mpi *m, const nbc_op *op) {
  nbc__transport_xfer_end_only(&m->own.t, op->size_bytes, m->classes[op->peer]);
}

/* ---- requests ------------------------------------------------------------------------------ */
static void *nbc__mpi_larger(void *old, size_t old_bytes, size_t new_bytes) {
  void *block = NBC_MALLOC(new_bytes);
  if (block && old_bytes) memcpy(block, old, old_bytes);
  if (block) NBC_FREE(old);
  return block;
}

/* Room for one more request, its owner, and what MPI_Testsome says about it. */
static bool nbc__mpi_reserve(nbc__mpi *m) {
  size_t had = (size_t)m->active_limit, limit = had ? 2 * had : 64;
  void *block;
  if (m->active_count < m->active_limit) return true;
  if (limit > INT32_MAX) return false;
#  define NBC__MPI_GROW(array)                                                                     \
    if (!(block = nbc__mpi_larger(array, had * sizeof *array, limit * sizeof *array)))             \
      return false;                                                                                \
    memcpy(&array, &block, sizeof block)
  NBC__MPI_GROW(m->requests);
  NBC__MPI_GROW(m->owners);
  NBC__MPI_GROW(m->indices);
  NBC__MPI_GROW(m->statuses);
#  undef NBC__MPI_GROW
  m->active_limit = (int)limit;
  return true;
}

/* A request belongs to an operation or to a packet, never to both: nbc__mpi_test_requests tells by
   `packet` which of them ends. An operation is over with the last of its pieces (flying_count). */
static nbc_status nbc__mpi_post(nbc__mpi *m, bool receive, void *buffer, uint64_t size_bytes,
                                int peer, int tag, nbc_op *op, nbc__mpi_packet *packet) {
  int code;
  if (!nbc__mpi_reserve(m)) return nbc__mpi_nomem(m);
  code = receive ? MPI_Irecv(buffer, (int)size_bytes, MPI_BYTE, peer, tag, m->comm,
                             &m->requests[m->active_count])
                 : MPI_Isend(buffer, (int)size_bytes, MPI_BYTE, peer, tag, m->comm,
                             &m->requests[m->active_count]);
  if (code) return nbc__mpi_fail(m, code);
  m->owners[m->active_count].op = op;
  m->owners[m->active_count++].packet = packet;
  if (op) op->slot.flying_count++;
  return NBC_OK;
}

static unsigned char *nbc__mpi_packet_data(nbc__mpi_packet *packet) {
  return (unsigned char *)(packet + 1);
}

/* Two sizes: what goes in a message of MPI, and what goes through shared memory. */
static nbc__mpi_packet *nbc__mpi_packet_take(nbc__mpi *m, uint64_t data_bytes) {
  const bool is_large = data_bytes > NBC__MPI_INLINE;
  nbc__mpi_packet **const spares = is_large ? &m->spare_large : &m->spare;
  nbc__mpi_packet *packet = *spares;
  const uint64_t room_bytes =
      is_large ? nbc__shared_most_bytes(&m->shared) : (uint64_t)NBC__MPI_INLINE;
  if (packet)
    *spares = packet->next;
  else if ((packet = (nbc__mpi_packet *)NBC_MALLOC(sizeof *packet + (size_t)room_bytes)))
    packet->room_bytes = room_bytes;
  if (packet) packet->next = NULL, packet->xfer_id = 0;
  return packet;
}

static void nbc__mpi_packet_give(nbc__mpi *m, nbc__mpi_packet *packet) {
  nbc__mpi_packet **const spares =
      packet->room_bytes > NBC__MPI_INLINE ? &m->spare_large : &m->spare;
  packet->next = *spares;
  *spares = packet;
}

/* ---- sending ------------------------------------------------------------------------------- */
/* The packet just posted: short ones are mostly gone at once, and then need not be asked about
   again. Before anything else is posted: the packet must be the last request, which alone leaves
   without a gap. */
static nbc_status nbc__mpi_look_at_last(nbc__mpi *m) {
  const int last = m->active_count - 1;
  int over = 0;
  const int code = MPI_Test(&m->requests[last], &over, MPI_STATUS_IGNORE);
  if (code) return nbc__mpi_fail(m, code);
  if (!over) return NBC_OK;
  m->active_count = last;
  nbc__mpi_end(m, m->owners[last].packet->xfer_id);
  nbc__mpi_packet_give(m, m->owners[last].packet);
  return NBC_OK;
}

/* One count for all peers. A tag comes back after tag_limit long sends, 32767 at least [MPI
   3.2.3]: two messages under way to one peer with one tag would exchange their pieces. */
static int nbc__mpi_next_data_tag(nbc__mpi *m) {
  const int tag = m->next_data_tag;
  m->next_data_tag = tag < m->tag_limit ? tag + 1 : 1;
  return tag;
}

/* The data of a long message, behind its header. All pieces have one tag: MPI receives them in
   the order in which they were sent [MPI 3.5], so the n-th goes into the n-th receive of
   nbc__mpi_start_data. Both sides cut alike: piece_bytes must be the same in all ranks. */
static nbc_status nbc__mpi_send_data(nbc__mpi *m, nbc_op *op, int data_tag) {
  const uint64_t size_bytes = op->slot.limit_bytes;
  unsigned char *const data = (unsigned char *)op->slot.buffer;
  nbc_status status = NBC_OK;
  for (uint64_t at_bytes = 0; !status && at_bytes < size_bytes; at_bytes += m->piece_bytes) {
    const uint64_t left_bytes = size_bytes - at_bytes;
    status = nbc__mpi_post(m, false, data + at_bytes,
                           left_bytes < m->piece_bytes ? left_bytes : m->piece_bytes, op->peer,
                           data_tag, op, NULL);
  }
  return status;
}

static nbc_status nbc__mpi_send_packet(nbc__mpi *m, nbc_op *op) {
  const uint64_t size_bytes = op->slot.limit_bytes;
  const bool is_short = size_bytes <= NBC__MPI_INLINE;
  nbc__mpi_packet *const packet = nbc__mpi_packet_take(m, 0);
  if (!packet) return nbc__mpi_nomem(m);
  packet->header.tag = op->slot.tag;
  packet->header.size_bytes = size_bytes;
  packet->header.data_tag = is_short ? 0 : nbc__mpi_next_data_tag(m);
  packet->header.number = m->peers[op->peer].sent_count++;
  if (is_short && size_bytes > 0)
    memcpy(nbc__mpi_packet_data(packet), op->slot.buffer, (size_t)size_bytes);
  if (is_short) packet->xfer_id = op->slot.xfer_id; /* ends when MPI has sent it, op now */
  const int data_tag = packet->header.data_tag;     /* the packet may be given back below */
  nbc_status status =
      nbc__mpi_post(m, false, &packet->header, sizeof packet->header + (is_short ? size_bytes : 0),
                    op->peer, NBC__MPI_HEADER_TAG, NULL, packet);
  if (!status) status = nbc__mpi_look_at_last(m);
  if (!status && is_short) nbc__transport_push(&m->done, op);
  if (!status && !is_short) status = nbc__mpi_send_data(m, op, data_tag);
  return status;
}

/* By way of shared memory. *sent false: there is no room in it now, and nothing was taken. */
static nbc_status nbc__mpi_send_shared(nbc__mpi *m, nbc_op *op, bool *sent) {
  nbc__mpi_peer *const peer = &m->peers[op->peer];
  nbc__mpi_header header;
  const uint64_t size_bytes = op->slot.limit_bytes;
  const bool is_short = size_bytes <= nbc__shared_most_bytes(&m->shared) - sizeof header;
  header.tag = op->slot.tag;
  header.size_bytes = size_bytes;
  header.data_tag = is_short ? 0 : m->next_data_tag;
  header.number = peer->sent_count;
  *sent = nbc__shared_put(&m->shared, &peer->out, &header, sizeof header, op->slot.buffer,
                          is_short ? (size_t)size_bytes : 0);
  if (!*sent) return NBC_OK;
  peer->sent_count++;
  if (!is_short) return nbc__mpi_send_data(m, op, nbc__mpi_next_data_tag(m));
  nbc__mpi_end(m, op->slot.xfer_id);
  nbc__transport_push(&m->done, op);
  return NBC_OK;
}

/* A send never waits for room: its receiver may be looking for messages of the program's own only,
   which the sender has yet to send. */
static nbc_status nbc__mpi_start_send(nbc__mpi *m, nbc_op *op) {
  bool sent = false;
  if (m->peers[op->peer].out.ring) {
    const nbc_status status = nbc__mpi_send_shared(m, op, &sent);
    if (status || sent) return status;
  }
  return nbc__mpi_send_packet(m, op);
}

/* ---- receiving ----------------------------------------------------------------------------- */
/* The data of a long message: into the receiver's buffer, and what has no room there into one
   that is thrown away. A piece larger than its receive would be an error of MPI's, so the first
   piece that does not fit whole goes into `spill` with all that follow; nbc__mpi_unspill fetches
   its beginning.

     sent      | piece | piece | piece | pie|
     room      | piece | piece | pi|
     received  |    buffer     |    spill   |        fit_bytes: two pieces
*/
static nbc_status nbc__mpi_start_data(nbc__mpi *m, nbc_op *op) {
  uint64_t size_bytes = op->slot.posted_bytes, limit_bytes = op->slot.limit_bytes, at_bytes;
  uint64_t fit_bytes = limit_bytes - limit_bytes % m->piece_bytes; /* whole pieces that fit */
  unsigned char *data = (unsigned char *)op->slot.buffer, *spill = NULL;
  nbc_status status = NBC_OK;
  if (size_bytes > limit_bytes) {
    spill = size_bytes - fit_bytes < SIZE_MAX
                ? (unsigned char *)NBC_MALLOC((size_t)(size_bytes - fit_bytes))
                : NULL;
    if (!spill) return nbc__mpi_nomem(m);
    op->slot.remote_address = spill;
  }
  for (at_bytes = 0; !status && at_bytes < size_bytes; at_bytes += m->piece_bytes) {
    uint64_t left_bytes = size_bytes - at_bytes;
    unsigned char *to =
        spill && at_bytes >= fit_bytes ? spill + (at_bytes - fit_bytes) : data + at_bytes;
    status = nbc__mpi_post(m, true, to, left_bytes < m->piece_bytes ? left_bytes : m->piece_bytes,
                           op->peer, (int)op->slot.remote_id, op, NULL);
  }
  return status;
}

/* All pieces are here: the last bytes that had room. */
static void nbc__mpi_unspill(const nbc__mpi *m, nbc_op *op) {
  uint64_t rest_bytes = op->slot.limit_bytes % m->piece_bytes;
  if (!op->slot.remote_address) return;
  if (rest_bytes > 0)
    memcpy((unsigned char *)op->slot.buffer + (op->slot.limit_bytes - rest_bytes),
           op->slot.remote_address, (size_t)rest_bytes);
  NBC_FREE(op->slot.remote_address);
  op->slot.remote_address = NULL;
}

/* A receive and its message have met: how much of it is wanted. */
static void nbc__mpi_meet(nbc_op *op, int peer, const nbc__mpi_header *header) {
  op->peer = peer;
  op->size_bytes =
      header->size_bytes < op->slot.limit_bytes ? header->size_bytes : op->slot.limit_bytes;
  op->status = header->size_bytes > op->slot.limit_bytes ? NBC_E_TRUNCATED : NBC_OK;
}

/* And what came with the header is in the receiver's buffer. */
static nbc_status nbc__mpi_met(nbc__mpi *m, nbc_op *op, const nbc__mpi_header *header) {
  if (header->data_tag == 0) {
    nbc__mpi_end_only(m, op);
    nbc__transport_push(&m->done, op);
    return NBC_OK;
  }
  op->slot.posted_bytes = header->size_bytes;
  op->slot.remote_id = (uint64_t)header->data_tag;
  nbc__mpi_begin(m, op, op->size_bytes, NBC_KIND_IRECV);
  if (nbc__mpi_may_call(m)) return nbc__mpi_start_data(m, op);
  nbc__transport_push(&m->submitted, op);
  return NBC_OK;
}

static nbc_status nbc__mpi_meet_packet(nbc__mpi *m, nbc_op *op, int peer, nbc__mpi_packet *packet) {
  nbc__mpi_meet(op, peer, &packet->header);
  if (packet->header.data_tag == 0 && op->size_bytes > 0)
    memcpy(op->slot.buffer, nbc__mpi_packet_data(packet), (size_t)op->size_bytes);
  return nbc__mpi_met(m, op, &packet->header);
}

/* Queues are in posting order, so the first with the tag is the oldest [MPI 3.5]. */
static nbc_op *nbc__mpi_first_with(const nbc__transport_fifo *fifo, uint64_t tag, nbc_op **before) {
  nbc_op *op;
  *before = NULL;
  for (op = fifo->first; op && op->slot.tag != tag; op = op->slot.next) *before = op;
  return op;
}

/* The receive posted first among those for this peer and those for any. Each queue gives its
   oldest; `order`, one count for both, tells which of the two was posted first. */
static nbc_op *nbc__mpi_match(nbc__mpi *m, int peer, uint64_t tag) {
  nbc_op *before, *before_any;
  nbc_op *op = nbc__mpi_first_with(&m->peers[peer].posted, tag, &before);
  nbc_op *any = nbc__mpi_first_with(&m->any, tag, &before_any);
  if (any && (!op || any->slot.order < op->slot.order)) {
    nbc__transport_unlink(&m->any, before_any, any);
    return any;
  }
  if (op) nbc__transport_unlink(&m->peers[peer].posted, before, op);
  return op;
}

/* Takes the message that arrived first among those of this peer, or of any: then *peer is set. */
static nbc__mpi_packet *nbc__mpi_waiting(nbc__mpi *m, int *peer, uint64_t tag) {
  int from = *peer == NBC_ANY_PEER ? 0 : *peer,
      to = *peer == NBC_ANY_PEER ? m->own.t.size - 1 : *peer;
  nbc__mpi_packet *best = NULL, *before_best = NULL;
  for (; from <= to; from++) {
    nbc__mpi_packet *before = NULL, *at = m->peers[from].first;
    while (at && at->header.tag != tag) before = at, at = at->next;
    if (!at || (best && at->arrival_index > best->arrival_index)) continue;
    best = at, before_best = before;
    *peer = from;
  }
  if (!best) return NULL;
  if (before_best)
    before_best->next = best->next;
  else
    m->peers[*peer].first = best->next;
  if (m->peers[*peer].last == best) m->peers[*peer].last = before_best;
  return best;
}

static void nbc__mpi_append(nbc__mpi_packet **first, nbc__mpi_packet **last,
                            nbc__mpi_packet *packet) {
  packet->next = NULL;
  if (*last)
    (*last)->next = packet;
  else
    *first = packet;
  *last = packet;
}

/* It came before its receive. */
static void nbc__mpi_keep(nbc__mpi *m, int from, nbc__mpi_packet *packet) {
  packet->arrival_index = m->arrival_count++;
  nbc__mpi_append(&m->peers[from].first, &m->peers[from].last, packet);
}

/* A message is there, and is the next of its sender: to its receive, or kept. The packet is used up. */
static nbc_status nbc__mpi_take_packet(nbc__mpi *m, int from, nbc__mpi_packet *packet) {
  nbc_op *const op = nbc__mpi_match(m, from, packet->header.tag);
  if (!op) {
    nbc__mpi_keep(m, from, packet);
    return NBC_OK;
  }
  const nbc_status status = nbc__mpi_meet_packet(m, op, from, packet);
  nbc__mpi_packet_give(m, packet);
  return status;
}

/* One of its messages was taken: those behind it that came before it. */
static nbc_status nbc__mpi_taken(nbc__mpi *m, int from) {
  nbc__mpi_peer *const peer = &m->peers[from];
  nbc_status status = NBC_OK;
  peer->taken_count++;
  while (!status && peer->early && peer->early->header.number == peer->taken_count) {
    nbc__mpi_packet *const packet = peer->early;
    peer->early = packet->next;
    if (!peer->early) peer->last_early = NULL;
    peer->taken_count++;
    status = nbc__mpi_take_packet(m, from, packet);
  }
  return status;
}

/* A message is there: into its receive, or where it is kept. */
static nbc_status nbc__mpi_begin_coming(nbc__mpi *m, int from, nbc__mpi_coming *c) {
  c->packet = NULL;
  if ((c->op = nbc__mpi_match(m, from, c->header.tag)))
    nbc__mpi_meet(c->op, from, &c->header);
  else if (!(c->packet = nbc__mpi_packet_take(m, c->header.data_tag ? 0 : c->header.size_bytes)))
    return nbc__mpi_nomem(m);
  c->at_bytes = sizeof c->header;
  return NBC_OK;
}

/* All of it was copied. Its receive may have been posted since it began: nbc__mpi_irecv does not
   see a message that is half here, and waits in `posted`. Without a second look both would wait
   for ever. */
static nbc_status nbc__mpi_end_coming(nbc__mpi *m, int from, nbc__mpi_coming *c) {
  c->at_bytes = 0;
  if (c->op) return nbc__mpi_met(m, c->op, &c->header);
  nbc__mpi_packet *const packet = c->packet;
  c->packet = NULL;
  packet->header = c->header;
  return nbc__mpi_take_packet(m, from, packet);
}

/* What is there of it; what has no room in its receive is left. Bytes count as taken all the
   same, and the ring's room is given back for the whole message at once. ret whether that is all */
static bool nbc__mpi_copy_coming(nbc__mpi *m, nbc__shared_end *in, nbc__mpi_coming *c) {
  const size_t data_bytes = c->header.data_tag ? 0 : (size_t)c->header.size_bytes;
  const size_t all_bytes = sizeof c->header + data_bytes, at_bytes = c->at_bytes - sizeof c->header;
  const size_t bytes = nbc__shared_arrived(in, c->at_bytes, all_bytes);
  const size_t wanted_bytes = c->op ? (size_t)c->op->size_bytes : data_bytes;
  const size_t room_bytes = wanted_bytes > at_bytes ? wanted_bytes - at_bytes : 0;
  unsigned char *const to =
      c->op ? (unsigned char *)c->op->slot.buffer : nbc__mpi_packet_data(c->packet);
  const size_t copied_bytes = bytes < room_bytes ? bytes : room_bytes;
  if (copied_bytes > 0 && data_bytes > 0)
    nbc__shared_copy(&m->shared, in, c->at_bytes, to + at_bytes, copied_bytes);
  c->at_bytes += bytes;
  if (c->at_bytes < all_bytes) return false;
  nbc__shared_release(in, all_bytes);
  return true;
}

/* Shared memory with one peer: at most as much as it has room for, so that a busy one does not keep the
   others waiting. hurry: until something is finished. */
static nbc_status nbc__mpi_take_shared_of(nbc__mpi *m, int from, bool hurry) {
  nbc__shared_end *const in = &m->peers[from].in;
  nbc__mpi_coming *const c = &m->peers[from].coming;
  const uint64_t most_bytes = in->own_bytes + m->shared.ring_bytes;
  nbc_status status = NBC_OK;
  while (!status && in->own_bytes < most_bytes && !(hurry && m->done.first)) {
    if (!c->at_bytes) {
      if (!nbc__shared_peek(&m->shared, in, &c->header, sizeof c->header)) break;
      if (c->header.number != m->peers[from].taken_count) {
        m->has_gap = true;
        break;
      }
      if ((status = nbc__mpi_begin_coming(m, from, c))) break;
    }
    if (!nbc__mpi_copy_coming(m, in, c)) break;
    status = nbc__mpi_end_coming(m, from, c);
    if (!status) status = nbc__mpi_taken(m, from);
  }
  return status;
}
static nbc_status nbc__mpi_take_shared(nbc__mpi *m, bool hurry) {
  nbc_status status = NBC_OK;
  m->has_gap = false;
  for (int i = 0; i < m->near_count && !status && !(hurry && m->done.first); i++)
    status = nbc__mpi_take_shared_of(m, m->near[i], hurry);
  return status;
}

/* Taken headers' receives go on after their messages were delivered, not before. */
static nbc_status nbc__mpi_restart(nbc__mpi *m) {
  for (; m->stale_count > 0; m->stale_count--) {
    const int k = (m->ring_first + NBC__MPI_RING - m->stale_count) % NBC__MPI_RING;
    const int code = MPI_Start(&m->ring_requests[k]);
    if (code) return nbc__mpi_fail(m, code);
  }
  return NBC_OK;
}

/* One that came by MPI, in a packet of the ring, which stays there. */
static nbc_status nbc__mpi_take_header(nbc__mpi *m, int from, nbc__mpi_packet *packet) {
  nbc__mpi_peer *const peer = &m->peers[from];
  const bool is_early = peer->in.ring && packet->header.number != peer->taken_count;
  nbc_op *const op = is_early ? NULL : nbc__mpi_match(m, from, packet->header.tag);
  if (op) {
    const nbc_status status = nbc__mpi_meet_packet(m, op, from, packet);
    return status ? status : nbc__mpi_taken(m, from);
  }
  nbc__mpi_packet *const fresh = nbc__mpi_packet_take(m, 0);
  if (!fresh) return nbc__mpi_nomem(m);
  fresh->header = packet->header;
  if (!packet->header.data_tag)
    memcpy(nbc__mpi_packet_data(fresh), nbc__mpi_packet_data(packet),
           (size_t)packet->header.size_bytes);
  if (is_early) {
    nbc__mpi_append(&peer->early, &peer->last_early, fresh);
    return NBC_OK;
  }
  nbc__mpi_keep(m, from, fresh);
  return nbc__mpi_taken(m, from);
}

/* Headers in the order in which MPI matched them, so that messages of one peer do not overtake.
   hurry: until something is finished. MPI matches a message with the receive started first [MPI
   3.5]. Receives are started in the order of the ring, each behind all others, so the one at
   ring_first is always the oldest; only that one is tested, even where a later one is complete.

     stale, to be started | ring_first: oldest .......... newest |      (round the ring)
*/
static nbc_status nbc__mpi_take_headers(nbc__mpi *m, bool hurry) {
  for (;;) {
    int k = m->ring_first, flag = 0, code;
    nbc_status status = NBC_OK;
    MPI_Status from;
    if ((status = nbc__mpi_restart(m))) return status;
    if ((code = MPI_Test(&m->ring_requests[k], &flag, &from))) return nbc__mpi_fail(m, code);
    if (!flag) return NBC_OK;
    status = nbc__mpi_take_header(m, from.MPI_SOURCE, m->ring[k]);
    m->ring_first = (k + 1) % NBC__MPI_RING;
    m->stale_count++;
    if (status) return status;
    if (hurry && m->done.first) return NBC_OK;
  }
}

static nbc_status nbc__mpi_test_requests(nbc__mpi *m) {
  int i, kept_count = 0, done_count = 0, code;
  if (m->active_count == 0) return NBC_OK;
  code = MPI_Testsome(m->active_count, m->requests, &done_count, m->indices, m->statuses);
  if (code && code != MPI_ERR_IN_STATUS) return nbc__mpi_fail(m, code);
  if (done_count == MPI_UNDEFINED) done_count = 0;
  for (i = 0; i < done_count; i++) {
    nbc__mpi_owner *owner = &m->owners[m->indices[i]];
    if (code && m->statuses[i].MPI_ERROR && m->statuses[i].MPI_ERROR != MPI_ERR_PENDING)
      return nbc__mpi_fail(m, m->statuses[i].MPI_ERROR);
    if (owner->packet) {
      nbc__mpi_end(m, owner->packet->xfer_id);
      nbc__mpi_packet_give(m, owner->packet);
    } else if (--owner->op->slot.flying_count == 0) {
      nbc__mpi_unspill(m, owner->op);
      nbc__mpi_end(m, owner->op->slot.xfer_id);
      nbc__transport_push(&m->done, owner->op);
    }
  }
  /* Closes the gaps: completed ones are MPI_REQUEST_NULL now. Here, before `done` runs: a callback may
     post, which adds at the end. */
  for (i = 0; done_count > 0 && i < m->active_count; i++)
    if (m->requests[i] != MPI_REQUEST_NULL) {
      m->owners[kept_count] = m->owners[i];
      m->requests[kept_count++] = m->requests[i];
    }
  if (done_count > 0) m->active_count = kept_count;
  return NBC_OK;
}

/* Where all share memory, nothing comes from MPI but the data of long messages and what had no room. It is
   asked now and then all the same, for the latter and because who waits here drives what the program
   has under way there. */
enum { NBC__MPI_LOOKS = 4 };
static bool nbc__mpi_asks(nbc__mpi *m) {
  return m->near_count < m->own.t.size || m->active_count > 0 || m->has_gap ||
         ++m->look_count % NBC__MPI_LOOKS == 0;
}

/* Whoever comes while another thread is inside, or is delivering, goes away: one is enough. What is
   finished is for nbc__mpi_deliver, when *done has any. Returns with the mutex free. */
static nbc_status nbc__mpi_progress_locked(nbc__mpi *m, nbc__transport_fifo *done) {
  nbc_op *op;
  if (!m->failed && nbc__mpi_may_call(m)) {
    while (!m->failed && (op = nbc__transport_pop(&m->submitted))) {
      if (op->slot.kind == NBC_KIND_IRECV)
        nbc__mpi_start_data(m, op);
      else
        nbc__mpi_start_send(m, op);
    }
    /* What is finished is delivered at once, MPI asked later; but never twice without asking for
       all. */
    const bool hurry = !m->hurried;
    if (!m->failed && m->near_count) nbc__mpi_take_shared(m, hurry);
    const bool asks = nbc__mpi_asks(m);
    if (!m->failed && asks && !(hurry && m->done.first)) nbc__mpi_take_headers(m, hurry);
    m->hurried = hurry && m->done.first;
    if (!m->failed && asks && !m->hurried) nbc__mpi_test_requests(m);
  }
  *done = m->done;
  m->done.first = m->done.last = NULL;
  const nbc_status status = m->failed;
  m->delivering = done->first != NULL;
  pthread_mutex_unlock(&m->mutex);
  return status;
}

/* `done` runs without any mutex, since it may post, and make and end other transports. One thread at
   a time delivers, or callbacks would come in another order than operations ended. */
static void nbc__mpi_deliver(nbc__mpi *m, nbc__transport_fifo *done) {
  nbc_op *op;
  while ((op = nbc__transport_pop(done))) nbc__transport_finish(op);
  pthread_mutex_lock(&m->mutex);
  m->delivering = false;
  pthread_mutex_unlock(&m->mutex);
}

static nbc_status nbc__mpi_progress(void *ctx) {
  nbc__mpi *m = (nbc__mpi *)ctx;
  if (pthread_mutex_trylock(&m->mutex)) return NBC_OK;
  m->user = pthread_self();
  if (m->delivering) {
    pthread_mutex_unlock(&m->mutex);
    return NBC_OK;
  }
  nbc__transport_fifo done;
  const nbc_status status = nbc__mpi_progress_locked(m, &done);
  if (done.first) nbc__mpi_deliver(m, &done);
  return status;
}

/* A transport that another thread used last is left to that thread. All locks are tried, none is
   waited for: whoever waits for its own messages must not stand behind another thread's work. `done`
   runs without the list's mutex, so the list may be another one afterwards: those that were driven carry
   the number of this walk, and the rest is looked for from the start. */
static void nbc__mpi_others(void *ctx) {
  const nbc__mpi *own = (const nbc__mpi *)ctx;
  nbc__transport_fifo done = {NULL, NULL};
  uint64_t walk = 0;
  nbc__mpi *m;
  if (!__atomic_load_n(&own->next_alive, __ATOMIC_RELAXED) && /* the usual case: it is alone */
      __atomic_load_n(&nbc__mpi_alive.first, __ATOMIC_RELAXED) == own)
    return;
  do {
    if (pthread_mutex_trylock(&nbc__mpi_alive.mutex)) return;
    if (!walk) walk = ++nbc__mpi_alive.walk_count;
    for (m = nbc__mpi_alive.first, done.first = NULL; m; m = m->next_alive) {
      if (m == own || m->walk >= walk || pthread_mutex_trylock(&m->mutex)) continue;
      if (m->delivering || !pthread_equal(m->user, pthread_self())) {
        pthread_mutex_unlock(&m->mutex);
        continue;
      }
      m->walk = walk;
      (void)nbc__mpi_progress_locked(m, &done);
      if (done.first) break;
    }
    pthread_mutex_unlock(&nbc__mpi_alive.mutex);
    if (done.first) nbc__mpi_deliver(m, &done);
  } while (m);
}

static void nbc__mpi_born(nbc__mpi *m) {
  pthread_mutex_lock(&nbc__mpi_alive.mutex);
  m->next_alive = nbc__mpi_alive.first;
  __atomic_store_n(&nbc__mpi_alive.first, m, __ATOMIC_RELAXED);
  pthread_mutex_unlock(&nbc__mpi_alive.mutex);
}
static void nbc__mpi_dies(nbc__mpi *m) {
  nbc__mpi **link = &nbc__mpi_alive.first;
  pthread_mutex_lock(&nbc__mpi_alive.mutex);
  while (*link && *link != m) link = &(*link)->next_alive;
  if (*link) __atomic_store_n(link, m->next_alive, __ATOMIC_RELAXED);
  pthread_mutex_unlock(&nbc__mpi_alive.mutex);
}

/* Where MPI provides MPI_THREAD_SERIALIZED: no transport of this process calls it until unlocked. ret false: no
   need. First the list, then its transports: the same order everywhere, so two threads cannot hold
   what the other one wants. */
NBC__PRIVATE bool nbc__mpi_lock_all(void) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Query_thread(&provided);
  if (provided != MPI_THREAD_SERIALIZED) return false;
  pthread_mutex_lock(&nbc__mpi_alive.mutex);
  for (nbc__mpi *m = nbc__mpi_alive.first; m; m = m->next_alive) pthread_mutex_lock(&m->mutex);
  return true;
}
NBC__PRIVATE void nbc__mpi_unlock_all(void) {
  for (nbc__mpi *m = nbc__mpi_alive.first; m; m = m->next_alive) pthread_mutex_unlock(&m->mutex);
  pthread_mutex_unlock(&nbc__mpi_alive.mutex);
}

/* ---- the contract -------------------------------------------------------------------------- */
static int64_t nbc__mpi_now(void *ctx) { return nbc_clock_now_ns(&((nbc__mpi *)ctx)->clock); }

static nbc_peer nbc__mpi_peer_class(void *ctx, int peer) {
  return ((nbc__mpi *)ctx)->classes[peer];
}

static void nbc__mpi_prepare(nbc_op *op, void *buffer, uint64_t size_bytes, int peer, uint64_t tag,
                             nbc_kind kind) {
  nbc__transport_prepare(op, peer);
  op->slot.buffer = buffer;
  op->slot.limit_bytes = size_bytes;
  op->slot.tag = tag;
  op->slot.kind = (uint32_t)kind;
}

static nbc_status nbc__mpi_isend(void *ctx, const void *buffer, uint64_t size_bytes, int peer,
                                 uint64_t tag, nbc_op *op) {
  nbc__mpi *m = (nbc__mpi *)ctx;
  nbc_status status;
  nbc__mpi_prepare(op, (void *)(uintptr_t)buffer, size_bytes, peer, tag, NBC_KIND_ISEND);
  op->size_bytes = size_bytes;
  op->status = NBC_OK;
  pthread_mutex_lock(&m->mutex);
  m->user = pthread_self();
  status = m->failed;
  if (!status) nbc__mpi_begin(m, op, size_bytes, NBC_KIND_ISEND);
  if (!status && nbc__mpi_may_call(m) && !m->submitted.first)
    status = nbc__mpi_start_send(m, op);
  else if (!status)
    nbc__transport_push(&m->submitted, op); /* those before it go first */
  pthread_mutex_unlock(&m->mutex);
  return status;
}

static nbc_status nbc__mpi_irecv(void *ctx, void *buffer, uint64_t size_bytes, int peer,
                                 uint64_t tag, nbc_op *op) {
  nbc__mpi *m = (nbc__mpi *)ctx;
  nbc__mpi_packet *packet;
  nbc_status status;
  nbc__mpi_prepare(op, buffer, size_bytes, peer, tag, NBC_KIND_IRECV);
  pthread_mutex_lock(&m->mutex);
  m->user = pthread_self();
  /* Kept messages before posting, in one hold of the mutex: between the two a message could
     arrive, find no receive, and be kept while its receive waits. */
  op->slot.order = ++m->order;
  if (!(status = m->failed)) {
    if ((packet = nbc__mpi_waiting(m, &peer, tag))) {
      status = nbc__mpi_meet_packet(m, op, peer, packet);
      nbc__mpi_packet_give(m, packet);
    } else
      nbc__transport_push(peer == NBC_ANY_PEER ? &m->any : &m->peers[peer].posted, op);
  }
  pthread_mutex_unlock(&m->mutex);
  return status;
}

static nbc_status nbc__mpi_cancel(void *ctx, nbc_op *op) {
  nbc__mpi *m = (nbc__mpi *)ctx;
  nbc_status status = NBC_E_STATE;
  if (op->slot.kind != NBC_KIND_IRECV || op->finished) return status;
  pthread_mutex_lock(&m->mutex);
  if (op->status == NBC_PENDING && /* not met its message */
      nbc__transport_remove(op->peer == NBC_ANY_PEER ? &m->any : &m->peers[op->peer].posted, op)) {
    op->status = NBC_E_CANCELLED;
    nbc__transport_push(&m->done, op);
    status = NBC_OK;
  }
  pthread_mutex_unlock(&m->mutex);
  return status;
}

NBC_API void nbc_mpi_lock(nbc_transport *t) { pthread_mutex_lock(&((nbc__mpi *)t->ctx)->mutex); }
NBC_API void nbc_mpi_unlock(nbc_transport *t) {
  pthread_mutex_unlock(&((nbc__mpi *)t->ctx)->mutex);
}
NBC_API const char *nbc_mpi_error(const nbc_transport *t) { return ((nbc__mpi *)t->ctx)->error; }

/* ---- create and destroy -------------------------------------------------------------------- */
static const char *nbc__mpi_level_name(int level) {
  return level == MPI_THREAD_SINGLE       ? "MPI_THREAD_SINGLE"
         : level == MPI_THREAD_FUNNELED   ? "MPI_THREAD_FUNNELED"
         : level == MPI_THREAD_SERIALIZED ? "MPI_THREAD_SERIALIZED"
         : level == MPI_THREAD_MULTIPLE   ? "MPI_THREAD_MULTIPLE"
                                          : "an unknown thread level";
}

/* May this program, from this thread, with this communicator, have a transport? */
static nbc_status nbc__mpi_check(MPI_Comm comm, bool *funneled, nbc_error *err) {
  int begun = 0, ended = 0, provided, inter = 0, on_main = 0;
  MPI_Initialized(&begun);
  MPI_Finalized(&ended);
  if (!begun || ended)
    return nbc__status_fail(err, NBC_E_STATE, 0,
                            begun ? "MPI_Finalize was called" : "MPI_Init was not called");
  if (comm == MPI_COMM_NULL || MPI_Comm_test_inter(comm, &inter) || inter)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "comm must be an intracommunicator");
  MPI_Query_thread(&provided);
  *funneled = provided < MPI_THREAD_SERIALIZED;
  MPI_Is_thread_main(&on_main);
  if (*funneled && !on_main)
    return nbc__status_fail(err, NBC_E_THREAD, 0,
                            "MPI provides %s: only the main thread may call it",
                            nbc__mpi_level_name(provided));
  return NBC_OK;
}

/* ---- one clock per node ---------------------------------------------------------------------
   Ranks of a node read one counter when all of this holds, each of which is looked at:
   - one kernel runs them: MPI says that they can share memory, and the boot id, which is a random
     number of the kernel's and the same in all its containers, is equal (a virtual machine has its own);
   - the source is the processor's counter, invariant, which that kernel trusts on all of its cores and
     which did not step back on those where each rank may run; or CLOCK_MONOTONIC_RAW in one time
     namespace (which shifts the latter, never the counter);
   - their calibrations agree within their bounds;
   - no message arrived before it was sent, by the raw counters, in trips both ways.
   Then the lowest rank's calibration is everybody's: two calibrations of one counter differ, and would
   look like drift. */
#  ifndef NBC_BOOT_ID_FILE
#    define NBC_BOOT_ID_FILE "/proc/sys/kernel/random/boot_id"
#  endif
enum { NBC__MPI_CLOCK_TRIPS = 8 };

typedef struct nbc__mpi_card { /* what the lowest rank of a node says about its clock */
  nbc_clock clock;
  char boot_id[64], time_space[64];
  int rank;
} nbc__mpi_card;

static void nbc__mpi_write_card(const nbc__mpi *m, nbc__mpi_card *card) {
  memset(card, 0, sizeof *card);
  card->clock = m->clock;
  card->rank = m->own.t.rank;
  FILE *file = fopen(NBC_BOOT_ID_FILE, "r");
  if (file && fread(card->boot_id, 1, sizeof card->boot_id - 1, file) < 8) card->boot_id[0] = 0;
  if (file) fclose(file);
  if (readlink("/proc/self/ns/time", card->time_space, sizeof card->time_space - 1) < 0)
    card->time_space[0] = 0;
}

static bool nbc__mpi_same_counter(const nbc__mpi_card *a, const nbc__mpi_card *b) {
  if (!a->boot_id[0] || strcmp(a->boot_id, b->boot_id) != 0) return false;
  if (a->clock.source != b->clock.source) return false;
  if (a->clock.source == NBC_CLOCK_RAW) return strcmp(a->time_space, b->time_space) == 0;
  const double apart_ppm = fabs(a->clock.hz / b->clock.hz - 1) * 1e6;
  return (a->clock.source == NBC_CLOCK_TSC || a->clock.source == NBC_CLOCK_CNTVCT) &&
         apart_ppm <= a->clock.rate_err_ppm + b->clock.rate_err_ppm;
}

/* Trips between the node's lowest rank and another one. Counters that are further apart than a
   trip takes show it in one of the two directions; what is less, no message can show. The
   counter is read with everything before it done: a message that has come is no guess of the
   processor's. *good: none came before it was sent. */
static int nbc__mpi_clock_trips(const nbc__mpi *m, MPI_Comm node, int with, bool asks, int *good) {
  uint64_t there = 0, back = 0;
  int code = 0, judged = 1;
  for (int i = 0; i < NBC__MPI_CLOCK_TRIPS && !code; i++) {
    if (asks) {
      there = nbc__clock_ordered_ticks(&m->clock);
      code = MPI_Send(&there, 1, MPI_UINT64_T, with, 0, node);
      if (!code) code = MPI_Recv(&back, 1, MPI_UINT64_T, with, 0, node, MPI_STATUS_IGNORE);
      if ((int64_t)(nbc__clock_ordered_ticks(&m->clock) - back) < 0) *good = 0;
    } else {
      code = MPI_Recv(&there, 1, MPI_UINT64_T, with, 0, node, MPI_STATUS_IGNORE);
      back = nbc__clock_ordered_ticks(&m->clock);
      if ((int64_t)(back - there) < 0) *good = 0;
      if (!code) code = MPI_Send(&back, 1, MPI_UINT64_T, with, 0, node);
    }
  }
  if (code) return code;
  if (asks) return MPI_Send(good, 1, MPI_INT, with, 0, node);
  code = MPI_Recv(&judged, 1, MPI_INT, with, 0, node, MPI_STATUS_IGNORE);
  *good = *good && judged;
  return code;
}

static int nbc__mpi_share_clock(nbc__mpi *m, MPI_Comm node) {
  nbc__mpi_card mine, first;
  int code, rank = 0, size = 1, good = 1, of = m->own.t.rank;
  MPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN);
  MPI_Comm_rank(node, &rank);
  MPI_Comm_size(node, &size);
  nbc__mpi_write_card(m, &mine);
  first = mine;
  if ((code = MPI_Bcast(&first, (int)sizeof first, MPI_BYTE, 0, node))) return code;
  for (int with = 1; rank == 0 && with < size && !code; with++) {
    good = 1;
    code = nbc__mpi_clock_trips(m, node, with, true, &good);
  }
  if (rank > 0) code = nbc__mpi_clock_trips(m, node, 0, false, &good);
  if (code) return code;
  if (rank > 0 && good && nbc__mpi_same_counter(&first, &mine)) {
    const nbc_clock own = m->clock;
    m->clock = first.clock;
    memcpy(m->clock.why, own.why, sizeof own.why); /* on which cores this rank has tested it */
    m->clock.cpus_checked_count = own.cpus_checked_count;
    of = first.rank;
  }
  return MPI_Allgather(&of, 1, MPI_INT, m->clock_of, 1, MPI_INT, m->comm);
}

static bool nbc__mpi_same_clock(void *ctx, int peer) {
  const nbc__mpi *m = (const nbc__mpi *)ctx;
  return m->clock_of[peer] == m->clock_of[m->own.t.rank];
}

/* All ranks of the node, or none: its lowest rank makes the memory, the others find it. A rank
   that went by MPI alone would never see the headers that others leave in its ring. The second
   MPI_Allreduce also says that all have mapped the file, so its descriptor may be closed. `near`
   is in the order of the node's ranks: the communicator was split with equal keys, which keeps
   the order [MPI 7.4.2], so the index in `near` is the rank that names a ring. */
static int nbc__mpi_share_memory(nbc__mpi *m, MPI_Comm node) {
  nbc__shared_card card;
  const char *const setting = getenv("NBC_SHARED_MEMORY");
  int code, rank = 0, size = 1, wanted, all = 0;
  MPI_Comm_rank(node, &rank);
  MPI_Comm_size(node, &size);
  wanted = !m->messages_only && !(setting && strcmp(setting, "0") == 0);
  if ((code = MPI_Allreduce(&wanted, &all, 1, MPI_INT, MPI_LAND, node)) || !all) return code;
  if (rank == 0) nbc__shared_make(&m->shared, size, &card);
  if ((code = MPI_Bcast(&card, (int)sizeof card, MPI_BYTE, 0, node))) return code;
  if (rank != 0) nbc__shared_join(&m->shared, &card);
  const int mine = m->shared.base != NULL;
  code = MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_LAND, node);
  if (rank == 0 && card.fd >= 0) close(card.fd);
  if (code || !all) {
    nbc__shared_leave(&m->shared);
    return code;
  }
  for (int i = 0; i < m->own.t.size; i++) {
    if (m->classes[i] != NBC_PEER_SAME_NODE) continue;
    m->peers[i].out = nbc__shared_open(&m->shared, rank, m->near_count);
    m->peers[i].in = nbc__shared_open(&m->shared, m->near_count, rank);
    m->near[m->near_count++] = i;
  }
  return MPI_SUCCESS;
}

/* Who shares this node, its clock and its memory. */
static int nbc__mpi_classes(nbc__mpi *m) {
  MPI_Comm node;
  MPI_Group all_group, node_group;
  int code, i, undefined = MPI_UNDEFINED;
  int *const all = m->clock_of, *const near = m->nodes; /* not yet in use */
  if ((code = MPI_Comm_split_type(m->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node)))
    return code;
  for (i = 0; i < m->own.t.size; i++) all[i] = i;
  MPI_Comm_group(m->comm, &all_group);
  MPI_Comm_group(node, &node_group);
  MPI_Group_translate_ranks(all_group, m->own.t.size, all, node_group, near);
  for (i = 0; i < m->own.t.size; i++)
    m->classes[i] = near[i] == undefined ? NBC_PEER_OTHER_NODE : NBC_PEER_SAME_NODE;
  MPI_Group_free(&all_group);
  MPI_Group_free(&node_group);
  code = nbc__mpi_share_clock(m, node);
  if (!code) code = nbc__mpi_share_memory(m, node);
  MPI_Comm_free(&node);
  return code;
}

/* Each rank's node, as its lowest rank. */
static int nbc__mpi_nodes(nbc__mpi *m) {
  int lowest = 0;
  while (m->classes[lowest] != NBC_PEER_SAME_NODE) lowest++; /* this rank at the latest */
  m->own.t.nodes = m->nodes;
  return MPI_Allgather(&lowest, 1, MPI_INT, m->nodes, 1, MPI_INT, m->comm);
}

static int nbc__mpi_start_ring(nbc__mpi *m) {
  int code = 0, k;
  for (k = 0; k < NBC__MPI_RING && !code; k++) {
    nbc__mpi_packet *const packet = m->ring[k];
    code = MPI_Recv_init(&packet->header, (int)(sizeof packet->header + NBC__MPI_INLINE), MPI_BYTE,
                         MPI_ANY_SOURCE, NBC__MPI_HEADER_TAG, m->comm, &m->ring_requests[k]);
    if (!code) m->ring_count = k + 1;
    if (!code) code = MPI_Start(&m->ring_requests[k]);
  }
  return code;
}

static void nbc__mpi_contract(nbc__mpi *m) {
  nbc_transport *t = &m->own.t;
  t->name = "mpi";
  t->help = "over MPI, on a communicator of its own";
  t->ctx = m;
  t->any_thread = !m->funneled;
  t->main_thread_only = m->funneled;
  t->any_peer = true;
  t->now_ns = nbc__mpi_now;
  t->isend = nbc__mpi_isend;
  t->irecv = nbc__mpi_irecv;
  t->progress = nbc__mpi_progress;
  t->others = nbc__mpi_others;
  t->cancel = nbc__mpi_cancel;
  t->peer_class = nbc__mpi_peer_class;
  t->same_clock = nbc__mpi_same_clock;
}

static void nbc__mpi_free_packets(nbc__mpi_packet *list) {
  while (list) {
    nbc__mpi_packet *next = list->next;
    NBC_FREE(list);
    list = next;
  }
}

/* What MPI still holds, it gets a second to finish; then it keeps the memory. */
static void nbc__mpi_stop(nbc__mpi *m) {
  int64_t t_end_ns = nbc_clock_now_ns(&m->clock) + 1000000000;
  int i;
  while (m->active_count > 0 && !m->failed && nbc_clock_now_ns(&m->clock) < t_end_ns)
    nbc__mpi_progress(m);
  for (i = 0; i < m->active_count; i++)
    if (m->requests[i] != MPI_REQUEST_NULL) MPI_Request_free(&m->requests[i]);
  nbc__mpi_restart(m); /* only what was started can be cancelled */
  /* MPI must not write into the ring's packets any more when these are freed: each receive is
     waited for. */
  for (i = 0; i < m->ring_count; i++) {
    MPI_Cancel(&m->ring_requests[i]);
    MPI_Wait(&m->ring_requests[i], MPI_STATUS_IGNORE);
    MPI_Request_free(&m->ring_requests[i]);
  }
  MPI_Comm_free(&m->comm);
}

static void nbc__mpi_destroy(void *self) {
  nbc__mpi *m = (nbc__mpi *)self;
  int i, ended = 0;
  nbc__mpi_dies(m);
  MPI_Finalized(&ended);
  if (!ended && m->comm != MPI_COMM_NULL) nbc__mpi_stop(m);
  for (i = 0; i < NBC__MPI_RING; i++) NBC_FREE(m->ring[i]);
  for (i = 0; m->peers && i < m->own.t.size; i++) {
    nbc__mpi_free_packets(m->peers[i].first);
    nbc__mpi_free_packets(m->peers[i].early);
    NBC_FREE(m->peers[i].coming.packet);
  }
  nbc__mpi_free_packets(m->spare);
  nbc__mpi_free_packets(m->spare_large);
  nbc__shared_leave(&m->shared);
  NBC_FREE(m->requests);
  NBC_FREE(m->owners);
  NBC_FREE(m->indices);
  NBC_FREE(m->statuses);
  NBC_FREE(m->peers);
  NBC_FREE(m->classes);
  NBC_FREE(m->nodes);
  NBC_FREE(m->clock_of);
  NBC_FREE(m->near);
  pthread_mutex_destroy(&m->mutex);
  NBC_FREE(m);
}

NBC_API void nbc_mpi_destroy(nbc_transport *t) { nbc_transport_destroy(t); }

/* What can fail in one rank alone, its memory, its clock and what it was told, before another rank
   waits for this one. */
static nbc_status nbc__mpi_equip(nbc__mpi *m, MPI_Comm comm, int thread_level, nbc_error *err) {
  int provided = MPI_THREAD_SINGLE;
  size_t size;
  MPI_Comm_rank(comm, &m->own.t.rank);
  MPI_Comm_size(comm, &m->own.t.size);
  size = (size_t)m->own.t.size;
  m->peers = (nbc__mpi_peer *)nbc__zalloc(size * sizeof *m->peers);
  m->classes = (nbc_peer *)NBC_MALLOC(size * sizeof *m->classes);
  m->clock_of = (int *)NBC_MALLOC(size * sizeof *m->clock_of);
  m->nodes = (int *)NBC_MALLOC(size * sizeof *m->nodes);
  m->near = (int *)NBC_MALLOC(size * sizeof *m->near);
  MPI_Query_thread(&provided);
  if (provided < thread_level)
    return nbc__status_fail(err, NBC_E_TRANSPORT, 0, "MPI provides %s, less than the %s asked for",
                            nbc__mpi_level_name(provided), nbc__mpi_level_name(thread_level));
  if (m->piece_bytes > INT32_MAX)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "piece_bytes must be below 2 GiB");
  bool all = m->peers && m->classes && m->clock_of && m->nodes && m->near;
  for (int k = 0; k < NBC__MPI_RING && all; k++) all = (m->ring[k] = nbc__mpi_packet_take(m, 0));
  if (!all) return nbc__status_fail(err, NBC_E_NOMEM, 0, "out of memory");
  const nbc_status status = nbc_clock_create(NULL, &m->clock);
  return status ? nbc__status_fail(err, status, 0, "%s", m->clock.why) : NBC_OK;
}

/* All ranks go on or none: one that returned by itself would leave the others waiting for it.
   Failures are below NBC_OK, so the least status of all is one of them, if there is any. Both sides
   cut long messages alike, so all must have the same piece_bytes: the least and, negated, the most. */
static nbc_status nbc__mpi_agree(MPI_Comm comm, nbc_status mine, uint64_t piece_bytes,
                                 nbc_error *err) {
  struct {
    int value, rank;
  } here[3], least[3];
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  for (int i = 0; i < 3; i++) here[i].rank = rank;
  here[0].value = (int)mine;
  here[1].value = mine ? 1 : (int)piece_bytes; /* who fails may have one that no int holds */
  here[2].value = -here[1].value;
  if (MPI_Allreduce(here, least, 3, MPI_2INT, MPI_MINLOC, comm))
    return nbc__status_fail(err, NBC_E_TRANSPORT, 0, "MPI_Allreduce failed");
  if (mine) return mine;
  const nbc_status status = (nbc_status)least[0].value;
  if (status)
    return nbc__status_fail(err, status, 0, "rank %d: %s", least[0].rank, nbc_status_text(status));
  if (least[1].value != -least[2].value)
    return nbc__status_fail(err, NBC_E_INVAL, 0,
                            "piece_bytes must be the same in all ranks: rank %d has %d, rank %d %d",
                            least[1].rank, least[1].value, least[2].rank, -least[2].value);
  return NBC_OK;
}

/* MPI's part of creation. ret an MPI error code */
static int nbc__mpi_connect(nbc__mpi *m, MPI_Comm comm) {
  int code, found = 0, *tag_ub = NULL;
  if ((code = MPI_Comm_dup(comm, &m->comm))) return code;
  MPI_Comm_set_errhandler(m->comm, MPI_ERRORS_RETURN);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &tag_ub, &found);
  m->tag_limit = found && tag_ub ? *tag_ub : 32767;
  m->next_data_tag = 1;
  if ((code = nbc__mpi_classes(m)) || (code = nbc__mpi_nodes(m))) return code;
  return nbc__mpi_start_ring(m);
}

NBC_API nbc_status nbc_mpi_create(MPI_Comm comm, const nbc_mpi_desc *desc, nbc_transport **t,
                                  nbc_error *err) {
  static const nbc_mpi_desc defaults = {MPI_THREAD_SINGLE, 0, false};
  nbc_status status;
  bool funneled;
  nbc__mpi *m;
  int code;
  if (!t) return nbc__status_fail(err, NBC_E_INVAL, 0, "t is NULL");
  *t = NULL;
  if (!desc) desc = &defaults;
  if ((status = nbc__mpi_check(comm, &funneled, err))) return status;
  m = (nbc__mpi *)nbc__zalloc(sizeof *m);
  if (m) {
    pthread_mutex_init(&m->mutex, NULL);
    m->comm = MPI_COMM_NULL;
    m->funneled = funneled;
    m->main = m->user = pthread_self();
    m->messages_only = desc->messages_only;
    m->piece_bytes = desc->piece_bytes ? desc->piece_bytes : (uint64_t)1 << 30;
    m->own.destroy = nbc__mpi_destroy;
    nbc__mpi_contract(m);
    status = nbc__mpi_equip(m, comm, desc->thread_level, err);
  } else {
    status = nbc__status_fail(err, NBC_E_NOMEM, 0, "out of memory");
  }
  status = nbc__mpi_agree(comm, status, m ? m->piece_bytes : 0, err);
  if (!status && (code = nbc__mpi_connect(m, comm))) {
    status = nbc__mpi_fail(m, code);
    nbc__status_fail(err, status, 0, "%s", m->error);
  }
  if (!status) {
    nbc__mpi_born(m);
    *t = &m->own.t;
  } else if (m) {
    nbc__mpi_destroy(m);
  }
  return status;
}
#endif /* NBC_WITH_MPI */
