/* MPI functions: partitioned messages. Partitions go as messages of their own, as soon as they are ready. Before its
   first start the sender knows nothing of the receiver's partitions, nor the receiver of the sender's, so they say it
   once: the sender how many messages of which size it will send, the receiver which tags it expects them by. From then
   on a start asks nobody. Requests of one tag for one peer meet in the order in which they were made, whatever the
   order of their starts: their number stands in what tags leave free. */
#include "later.h"

enum { TAG_BITS = 28, NUMBERS = 15 }; /* all ones would be any tag */
_Static_assert(GM_TAG_UB == (1 << TAG_BITS) - 1, "room above the tags");
/* With more partitions several go together: each message needs an entry of the NIC at the receiver. */
enum { MESSAGES_MAX = 1024 };
#define SENT UINT32_MAX
typedef struct plan {
  uint64_t message_bytes;
  uint32_t message_count;
} plan;
typedef struct parts {
  uint64_t items, bytes; /* of one partition, of this side */
  int count, group;      /* group: partitions of a message */
  bool *is_set;          /* of each: a sender's is ready, a receiver's is unpacked */
  uint32_t context, tag; /* where the two sides meet */
  bool is_met;
  plan plan;           /* the sender's */
  uint32_t first_tag;  /* the receiver's */
  gm_msg told, answer; /* the one is the other's answer */
  gm_msg *message;
  uint32_t *missing; /* a sender's: partitions of each message that are not ready; SENT */
  uint32_t left;     /* messages that are not over */
} parts;

static void number_of(gm_comm *c, parts *q, int peer, int tag, bool is_send) {
  gm_channel *k = c->channels;
  while (k && (k->peer != peer || k->tag != tag || k->is_send != is_send)) k = k->next;
  if (!k) {
    k = gm_alloc(sizeof *k);
    *k = (gm_channel){c->channels, peer, tag, is_send, 0};
    c->channels = k;
  }
  const uint32_t number = k->count++;
  q->context = c->context + number / NUMBERS % (GM_ANSWERS - GM_PARTS);
  q->tag = (uint32_t)tag | number % NUMBERS << TAG_BITS;
}
static int world_peer(const gm_req *r) { return gm_group_world(gm_peers(r->comm), r->peer); }
static bool is_apart(const gm_req *r) { /* its bytes lie apart */
  return !GM_IS_PLAIN(r->type) && !(r->count <= 1 && r->type->is_dense);
}
static char *bytes_of(const gm_req *r) {
  return r->packed ? r->packed : (char *)r->user + r->type->true_lb;
}
static void *items_of(const gm_req *r, int partition) {
  const parts *q = r->extra;
  return (char *)r->user + (int64_t)(q->items * (uint64_t)partition) * GM_EXTENT(r->type);
}
/* Who asked for the request has asked for its messages. */
static void asked_as(gm_msg *m, const gm_msg *whole) {
  m->owner = whole->owner;
  m->place = whole->place;
  m->kind = whole->kind;
  m->asked_ns = whole->asked_ns;
}

/* ---- messages ---- */
/* Of a receiver's partition whose messages have come; the last one may be short. */
static uint64_t bytes_there(const parts *q, int i) {
  const uint64_t each = q->plan.message_bytes, at = q->bytes * (uint64_t)i;
  if (!each || !q->bytes) return 0;
  uint64_t last = (at + q->bytes - 1) / each;
  if (last >= q->plan.message_count) last = q->plan.message_count - 1;
  const uint64_t end = each * last + q->message[last].bytes, there = end > at ? end - at : 0;
  return there < q->bytes ? there : q->bytes;
}
static void unpack(const gm_req *r, int i) {
  const parts *q = r->extra;
  const uint64_t bytes = bytes_there(q, i);
  q->is_set[i] = true;
  gm_unpack(items_of(r, i), q->items, r->type, (char *)r->packed + q->bytes * (uint64_t)i, bytes);
  gm_busy_bytes((double)bytes);
}
static bool is_light(const gm_msg *m) {
  const gm_req *r = m->user;
  const parts *q = r->extra;
  return q->left > 1 || (!r->packed && !r->at_end && !r->is_freed);
}
static void message_over(gm_msg *m) {
  gm_req *r = m->user;
  parts *q = r->extra;
  r->bytes += m->bytes;
  if (m->error) r->error = m->error;
  if (--q->left) return;
  for (int i = 0; i < q->count && r->packed && !r->mode; i++)
    if (!q->is_set[i]) unpack(r, i);
  if (!r->mode && r->packed && !r->error && gm_elements(r->type, r->bytes) == UINT64_MAX)
    r->error = GM_ERR_TRUNCATE;
  free(r->packed);
  r->packed = NULL;
  gm_req_complete(r);
}
static void prepare_messages(gm_req *r) {
  parts *q = r->extra;
  q->message = gm_alloc(q->plan.message_count * sizeof *q->message);
  for (uint32_t k = 0; k < q->plan.message_count; k++) {
    q->message[k].done = message_over;
    q->message[k].is_light = is_light;
    q->message[k].user = r;
  }
}
static void send_message(gm_req *r, uint32_t k) {
  parts *q = r->extra;
  const uint64_t at = q->plan.message_bytes * k, left = r->type->size * r->count - at;
  q->missing[k] = SENT;
  gm_isend(r->proc, &q->message[k], bytes_of(r) + at,
           left < q->plan.message_bytes ? left : q->plan.message_bytes, world_peer(r),
           r->comm->context + GM_PARTITION, (int)(q->first_tag + k), 0);
}
static void receive_messages(gm_req *r) {
  parts *q = r->extra;
  const uint64_t bytes = r->type->size * r->count, each = q->plan.message_bytes;
  q->left = q->plan.message_count;
  for (uint32_t k = 0; k < q->plan.message_count; k++) q->message[k].is_done = false;
  for (uint32_t k = 0; k < q->plan.message_count; k++) {
    const uint64_t at = each * k < bytes ? each * k : bytes;
    if (r->proc->record) asked_as(&q->message[k], &r->msg);
    gm_irecv(r->proc, &q->message[k], bytes_of(r) + at, each < bytes - at ? each : bytes - at,
             world_peer(r), r->comm->context + GM_PARTITION, (int)(q->first_tag + k));
  }
}

/* ---- the two sides meet ---- */
static void sender_met(gm_msg *m) {
  gm_req *r = m->user;
  parts *q = r->extra;
  q->is_met = true;
  for (uint32_t k = 0; k < q->plan.message_count; k++)
    if (!q->missing[k]) send_message(r, k);
}
static void receiver_met(gm_msg *m) {
  gm_req *r = m->user;
  parts *q = r->extra;
  gm_proc *p = r->proc;
  if (q->plan.message_count >= UINT32_MAX - p->partitions_expected)
    gm_fatal("receives in partitions: more than %u messages in one run", UINT32_MAX);
  q->first_tag = p->partitions_expected;
  p->partitions_expected += q->plan.message_count;
  gm_isend(p, &q->answer, &q->first_tag, sizeof q->first_tag, world_peer(r),
           q->context + GM_ANSWERS, (int)q->tag, 0);
  prepare_messages(r);
  q->is_met = true;
  receive_messages(r);
}
static void meet(gm_req *r) {
  parts *q = r->extra;
  gm_proc *p = r->proc;
  q->told.user = q->answer.user = r;
  q->told.is_quiet = q->answer.is_quiet = true;
  if (!r->mode) {
    q->told.done = receiver_met;
    gm_irecv(p, &q->told, &q->plan, sizeof q->plan, world_peer(r), q->context + GM_PARTS,
             (int)q->tag);
    return;
  }
  q->answer.done = sender_met;
  gm_irecv(p, &q->answer, &q->first_tag, sizeof q->first_tag, world_peer(r),
           q->context + GM_ANSWERS, (int)q->tag);
  gm_isend(p, &q->told, &q->plan, sizeof q->plan, world_peer(r), q->context + GM_PARTS, (int)q->tag,
           0);
}

/* ---- requests ---- */
void gm_parts_start(gm_req *r) {
  parts *q = r->extra;
  memset(q->is_set, 0, (size_t)q->count * sizeof *q->is_set);
  if (r->peer == MPI_PROC_NULL) {
    gm_req_complete(r);
    return;
  }
  if (is_apart(r)) r->packed = gm_alloc(r->type->size * r->count);
  if (r->proc->record) {
    r->msg.owner = NULL;
    gm_record_asked(r->proc, &r->msg);
  }
  if (r->mode) {
    const uint32_t last = q->plan.message_count - 1;
    for (uint32_t k = 0; k < last; k++) q->missing[k] = (uint32_t)q->group;
    q->missing[last] = (uint32_t)q->count - last * (uint32_t)q->group;
    q->left = q->plan.message_count;
  } else if (q->is_met)
    receive_messages(r);
  if (!q->is_met) meet(r);
}
static void parts_release(gm_req *r) {
  parts *q = r->extra;
  free(q->message);
  free(q->missing);
  free(q->is_set);
  free(q);
}
static int parts_init(gm_proc *p, const char *name, bool is_send, const void *buffer,
                      int partitions, MPI_Count count, MPI_Datatype type, int peer, int tag,
                      MPI_Comm comm, MPI_Request *request) {
  int code;
  if (partitions < 1) return gm_raise(p, comm_of(p, comm), MPI_ERR_ARG, name);
  if (peer == MPI_ANY_SOURCE) return gm_raise(p, comm_of(p, comm), MPI_ERR_RANK, name);
  if (tag == MPI_ANY_TAG) return gm_raise(p, comm_of(p, comm), MPI_ERR_TAG, name);
  gm_req *r = gm_req_make(p, name, is_send ? REQ_SEND : REQ_RECV, buffer,
                          (int64_t)count * partitions, type, peer, tag, comm, &code);
  if (!r) return code;
  parts *q = r->extra = gm_alloc(sizeof *q);
  q->count = partitions;
  q->items = (uint64_t)count;
  q->bytes = r->type->size * q->items;
  q->is_set = gm_alloc((size_t)partitions * sizeof *q->is_set);
  number_of(r->comm, q, peer, tag, is_send);
  r->start = gm_parts_start;
  r->release = parts_release;
  r->is_persistent = 1;
  if (is_send) {
    q->group = (partitions + MESSAGES_MAX - 1) / MESSAGES_MAX;
    q->plan =
        (plan){q->bytes * (uint64_t)q->group, (uint32_t)((partitions + q->group - 1) / q->group)};
    q->missing = gm_alloc(q->plan.message_count * sizeof *q->missing);
    prepare_messages(r);
  }
  *request = gm_req_handle(p, r);
  return MPI_SUCCESS;
}
CALL(Psend_init, const void *buf, int partitions, MPI_Count count, MPI_Datatype type, int dest,
     int tag, MPI_Comm comm, MPI_Info info, MPI_Request *request) {
  IN("Psend_init");
  NEED(comm_of(p, comm), request);
  (void)info;
  return parts_init(p, scope.name, 1, buf, partitions, count, type, dest, tag, comm, request);
}
CALL(Precv_init, void *buf, int partitions, MPI_Count count, MPI_Datatype type, int source, int tag,
     MPI_Comm comm, MPI_Info info, MPI_Request *request) {
  IN("Precv_init");
  NEED(comm_of(p, comm), request);
  (void)info;
  return parts_init(p, scope.name, 0, buf, partitions, count, type, source, tag, comm, request);
}
/* Packing takes time, in which another thread may make another partition ready: the message is counted down after it. */
static void one_ready(gm_req *r, int i) {
  parts *q = r->extra;
  const uint32_t k = (uint32_t)(i / q->group);
  q->is_set[i] = true;
  if (r->peer == MPI_PROC_NULL) return;
  if (r->packed) {
    gm_pack(items_of(r, i), q->items, r->type, (char *)r->packed + q->bytes * (uint64_t)i);
    gm_busy_bytes((double)q->bytes);
  }
  if (--q->missing[k]) return;
  if (r->proc->record) gm_record_asked(r->proc, &q->message[k]);
  if (q->is_met) send_message(r, k);
}
static int ready(gm_proc *p, const char *name, MPI_Request request, int from, int to) {
  gm_req *r = req_of(p, request);
  if (!r || r->start != gm_parts_start || !r->mode || !r->is_active)
    return gm_raise(p, NULL, MPI_ERR_REQUEST, name);
  parts *q = r->extra;
  if (!q->is_met && r->peer != MPI_PROC_NULL) gm_poll(p); /* the answer may be there */
  if (from < 0 || to >= q->count || from > to) return gm_raise(p, r->comm, MPI_ERR_ARG, name);
  for (int i = from; i <= to; i++) { /* one that is ready may have been sent */
    if (q->is_set[i]) return gm_raise(p, r->comm, MPI_ERR_ARG, name);
    one_ready(r, i);
  }
  return MPI_SUCCESS;
}
CALL(Pready, int partition, MPI_Request request) {
  IN("Pready");
  return ready(p, scope.name, request, partition, partition);
}
CALL(Pready_range, int low, int high, MPI_Request request) {
  IN("Pready_range");
  return ready(p, scope.name, request, low, high);
}
CALL(Pready_list, int length, const int *list, MPI_Request request) {
  IN("Pready_list");
  FAIL_IF(!req_of(p, request), NULL, MPI_ERR_REQUEST);
  NEED(NULL, length <= 0 || list);
  int code = MPI_SUCCESS;
  for (int i = 0; i < length && !code; i++) code = ready(p, scope.name, request, list[i], list[i]);
  return code;
}
/* The messages that it is made of have come. */
static bool has_arrived(const gm_req *r, int i) {
  const parts *q = r->extra;
  const uint64_t each = q->plan.message_bytes, at = q->bytes * (uint64_t)i;
  if (!r->is_active || r->done) return true;
  if (!q->is_met || !each || !q->bytes) return false;
  for (uint64_t k = at / each; k <= (at + q->bytes - 1) / each && k < q->plan.message_count; k++)
    if (!q->message[k].is_done) return false;
  return true;
}
CALL(Parrived, MPI_Request request, int partition, int *flag) {
  IN("Parrived");
  gm_req *r = req_of(p, request);
  parts *q = r && r->start == gm_parts_start && !r->mode ? r->extra : NULL;
  FAIL_IF(!q || partition < 0 || partition >= q->count, NULL, MPI_ERR_REQUEST);
  if (r->is_active && !r->done) gm_poll(p);
  *flag = has_arrived(r, partition);
  if (*flag && r->packed && !q->is_set[partition]) unpack(r, partition);
  return MPI_SUCCESS;
}
