/* request.c: communicators and requests: the executor, one for all algorithms. */
#include "request.h"
#include "../overlap/cells.h"
#include "catalogue.h"
#include "build.h"

/* ============================================================================================== */
/* [COLL] 18. Collectives on any transport                                                        */
/* ============================================================================================== */
typedef enum nbc__coll_state {
  NBC__COLL_IDLE = 0,
  NBC__COLL_RUNNING,
  NBC__COLL_DONE,
  NBC__COLL_FAILED
} nbc__coll_state;

/* The states of a request. Only a persistent one comes back to IDLE; a failed one stays FAILED.

     IDLE --begin--> RUNNING --all nodes ended--> DONE --end--> IDLE, or gone
                        '-----error----------> FAILED

   acquire here and release in nbc__coll_enter: who sees DONE sees the received data, too, whichever
   thread it was that drove the request. */
static nbc__coll_state nbc__coll_state_of(const nbc_request *r) {
  return (nbc__coll_state)__atomic_load_n(&r->state, __ATOMIC_ACQUIRE);
}

/* The only place where a request changes its state; nobody but its owner touches it after the
   end. */
static void nbc__coll_enter(nbc_request *r, nbc__coll_state state) {
  __atomic_store_n(&r->state, (uint32_t)state, __ATOMIC_RELEASE);
}

static void nbc__coll_checked(nbc_request *check);

static void nbc__coll_note(nbc_request *r, nbc_status status, uint32_t i, const char *what) {
  if (r->error.status) return; /* the first error is the cause */
  const nbc_node *const node = &r->schedule->nodes[i];
  (void)nbc__status_fail(&r->error, status, 0, "%s, rank %d: %s %d: %s (%s)",
                         nbc_coll_name(r->schedule->coll), r->schedule->rank,
                         node->type == NBC_NODE_SEND ? "send to" : "receive from", node->u.msg.peer,
                         what, nbc_status_name(status));
}

/* What of the request is still flying goes on: the transport has its operations, so its memory
   stays until they end or are recalled. Nothing new is posted: see nbc__coll_advance. */
static void nbc__coll_fail(nbc_request *r, nbc_status status, uint32_t i, const char *what) {
  if (nbc__coll_state_of(r) != NBC__COLL_RUNNING) return;
  nbc__coll_note(r, status, i, what);
  nbc__coll_enter(r, NBC__COLL_FAILED);
  if (r->compare.after) nbc__coll_checked(r);
}

/* A message had another length. The transport is sound, and others wait for what this rank would send:
   the schedule goes on with empty messages in place of its own, so that each of them sees a wrong
   length too, and all end with an error. Only the end is late. */
static void nbc__coll_spoil(nbc_request *r, nbc_status status, uint32_t i, const char *what) {
  if (!r->error.status) r->times.t_spoiled_ns = r->comm->t->now_ns(r->comm->t->ctx);
  nbc__coll_note(r, status, i, what);
  __atomic_store_n(&r->run.spoiled, 1, __ATOMIC_RELEASE);
}

/* ---- the executor: one for all algorithms -------------------------------------------------- */
static unsigned char *nbc__coll_at(const nbc_request *r, nbc_slice slice) {
  return slice.area == NBC_AREA_NONE ? NULL : r->data.areas[slice.area] + slice.offset_bytes;
}

/* Each node comes into `ready` once, when its last predecessor has ended, so the array needs no
   more than node_count places and no second list of what has run. */
static void nbc__coll_finish_node(nbc_request *r, uint32_t i) {
  const nbc_node *const node = &r->schedule->nodes[i];
  r->run.finished_count++;
  for (uint32_t k = node[0].first_after; k < node[1].first_after; k++) {
    const uint32_t next = r->schedule->after[k];
    if (--r->run.left[next] == 0) r->run.ready[r->run.ready_count++] = next;
  }
}

/* A node's number is unique per peer and direction, the run's tag tells runs apart. The message has
   both in its tag, so it does not matter in which order ranks get to their nodes. */
static void nbc__coll_post(nbc_request *r, uint32_t i) {
  const nbc_transport *const t = r->comm->t;
  const nbc_node *const node = &r->schedule->nodes[i];
  nbc_op *const op = &r->run.ops[r->run.op_of[i]].op;
  unsigned char *const buffer = nbc__coll_at(r, node->u.msg.buffer);
  const uint64_t tag = r->run.tag | node->u.msg.tag;
  const nbc_status status =
      node->type == NBC_NODE_SEND
          ? t->isend(t->ctx, buffer, r->run.spoiled ? 0 : node->size_bytes, node->u.msg.peer, tag,
                     op)
          : t->irecv(t->ctx, buffer, node->size_bytes, node->u.msg.peer, tag, op);
  if (status)
    nbc__coll_fail(r, status, i, "cannot be posted");
  else
    r->run.flying_count++;
  /* The first post after a completion: how long the engine took to react. */
  if (r->times.t_done_ns) {
    nbc__prog_note_post(r->comm->desc.progress, t->now_ns(t->ctx) - r->times.t_done_ns);
    r->times.t_done_ns = 0;
  }
}

/* Some transports (simulated ones) take the time of local work themselves, and may skip the
   work. */
static bool nbc__coll_local(const nbc_request *r, const nbc_node *node, bool reduces) {
  const nbc_transport *const t = r->comm->t;
  return !t->local || t->local(t->ctx, node->size_bytes, reduces);
}
/* left and right come from the schedule and never from the order of arrival: results are the same
   bits in each run, and operators that do not commute meet operands in the order of ranks. */
static void nbc__coll_reduce_node(const nbc_request *r, const nbc_node *node) {
  unsigned char *const dst = nbc__coll_at(r, node->u.reduce.dst);
  const unsigned char *const left = nbc__coll_at(r, node->u.reduce.left),
                             *const right = nbc__coll_at(r, node->u.reduce.right);
  const uint64_t count = node->size_bytes / r->schedule->elem_bytes;
  if (r->data.kernel)
    r->data.kernel(dst, left, right, count);
  else
    r->data.user_fn(dst, left, right, count, r->args.type, r->data.user);
}

/* Runs what is ready. A completion that comes meanwhile only adds to the list: no recursion. */
static void nbc__coll_advance(nbc_request *r) {
  if (r->run.advancing) return;
  r->run.advancing = true;
  while (r->run.first_ready_count < r->run.ready_count &&
         nbc__coll_state_of(r) == NBC__COLL_RUNNING) {
    const uint32_t i = r->run.ready[r->run.first_ready_count++];
    const nbc_node *const node = &r->schedule->nodes[i];
    switch (node->type) {
    case NBC_NODE_SEND:
    case NBC_NODE_RECV: nbc__coll_post(r, i); continue;
    case NBC_NODE_COPY:
      if (!r->run.spoiled && nbc__coll_local(r, node, false))
        memcpy(nbc__coll_at(r, node->u.copy.dst), nbc__coll_at(r, node->u.copy.src),
               node->size_bytes);
      break;
    case NBC_NODE_REDUCE:
      if (!r->run.spoiled && nbc__coll_local(r, node, true)) nbc__coll_reduce_node(r, node);
      break;
    case NBC_NODE_NOP: break;
    }
    nbc__coll_finish_node(r, i);
  }
  r->run.advancing = false;
  if (r->run.finished_count == r->schedule->node_count &&
      nbc__coll_state_of(r) == NBC__COLL_RUNNING) {
    const bool is_check = r->compare.after != NULL; /* once done, another thread may free r */
    nbc__coll_enter(r, r->run.spoiled ? NBC__COLL_FAILED : NBC__COLL_DONE);
    if (is_check) nbc__coll_checked(r);
  }
}

/* Called by the transport for each operation that ended, perhaps within a post. */
static void nbc__coll_done(nbc_op *op) {
  const nbc__coll_op *const own = (const nbc__coll_op *)op->user;
  nbc_request *const r = own->request;
  const nbc_node *const node = &r->schedule->nodes[own->node];
  nbc_progress *const p = r->comm->desc.progress;
  r->run.flying_count--;
  if (p) {
    nbc__prog_note_done(p);
    r->times.t_done_ns = r->comm->t->now_ns(r->comm->t->ctx);
  }
  if (op->status && op->status != NBC_E_TRUNCATED) {
    nbc__coll_fail(r, op->status, own->node, "failed");
    return;
  }
  if (op->status)
    nbc__coll_spoil(r, op->status, own->node, "sent more than expected");
  else if (node->type == NBC_NODE_RECV && op->size_bytes != node->size_bytes)
    nbc__coll_spoil(r, NBC_E_MISMATCH, own->node, "sent less than expected");
  nbc__coll_finish_node(r, own->node);
  nbc__coll_advance(r);
}

/* Receives first: a message that finds its receive posted is not copied twice. `left` is copied
   for each run: the schedule is shared with other requests and with later runs. */
static void nbc__coll_launch(nbc_request *r) {
  const nbc_schedule *const s = r->schedule;
  r->run.first_ready_count = r->run.ready_count = r->run.finished_count = 0;
  r->times.t_done_ns = 0;
  for (uint32_t i = 0; i < s->node_count; i++) r->run.left[i] = s->nodes[i].before_count;
  for (int receives = 1; receives >= 0; receives--)
    for (uint32_t i = 0; i < s->node_count; i++)
      if (!s->nodes[i].before_count && (s->nodes[i].type == NBC_NODE_RECV) == (receives == 1))
        r->run.ready[r->run.ready_count++] = i;
  nbc__coll_advance(r);
}

/* A request begins with its work. Its comparison, where it has one, goes first and launches it. */
static void nbc__coll_launch_work(nbc__prog_work *work) {
  nbc_request *const r = (nbc_request *)(void *)work;
  nbc__coll_launch(r->compare.before ? r->compare.before : r);
}

/* ---- making requests ----------------------------------------------------------------------- */
static void nbc__coll_unlink(nbc_request *r) {
  if (r->before)
    r->before->next = r->next;
  else if (r->comm->requests == r)
    r->comm->requests = r->next;
  if (r->next) r->next->before = r->before;
  r->before = r->next = NULL;
}

static void nbc__coll_link(nbc_request *r) {
  r->before = NULL;
  r->next = r->comm->requests;
  if (r->next) r->next->before = r;
  r->comm->requests = r;
}

static void nbc__coll_discard(nbc_request *r) {
  if (!r) return;
  if (r->compare.before) nbc__coll_discard(r->compare.before);
  nbc__coll_unlink(r);
  if (!r->entry) nbc_schedule_free(r->schedule);
  NBC_FREE(r->data.scratch_memory);
  NBC_FREE(r->compare.summaries);
  NBC_FREE(r);
}

/* A request with the memory that its schedule needs, in one block besides the scratch area:
     | nbc_request | ops: one per message | left [n] | ready [n] | op_of [n] |
   What needs the most alignment stands first. Only the first two are zeroed: left and ready are
   filled by each launch, and op_of of a node without a message is never read. */
static nbc_request *nbc__coll_allocate(nbc_comm *comm, nbc_schedule *s) {
  const size_t n = s->node_count;
  size_t messages = 0;
  for (size_t i = 0; i < n; i++)
    messages += s->nodes[i].type == NBC_NODE_SEND || s->nodes[i].type == NBC_NODE_RECV;
  const size_t bytes =
      sizeof(nbc_request) + messages * sizeof(nbc__coll_op) + 3 * n * sizeof(uint32_t);
  nbc_request *const r = (nbc_request *)NBC_MALLOC(bytes);
  if (!r) return NULL;
  memset(r, 0, sizeof *r + messages * sizeof(nbc__coll_op));
  r->comm = comm;
  r->schedule = s;
  r->run.ops = (nbc__coll_op *)(void *)(r + 1);
  r->run.left = (uint32_t *)(void *)(r->run.ops + messages);
  r->run.ready = r->run.left + n;
  r->run.op_of = r->run.ready + n;
  messages = 0;
  for (size_t i = 0; i < n; i++) {
    if (s->nodes[i].type != NBC_NODE_SEND && s->nodes[i].type != NBC_NODE_RECV) continue;
    nbc__coll_op *const own = &r->run.ops[messages];
    r->run.op_of[i] = (uint32_t)messages++;
    own->request = r;
    own->node = (uint32_t)i;
    own->op.user = own;
    own->op.done = nbc__coll_done;
  }
  if (!s->scratch_bytes) return r;
  r->data.scratch_memory =
      s->scratch_bytes < SIZE_MAX - 64 ? NBC_MALLOC((size_t)s->scratch_bytes + 64) : NULL;
  if (!r->data.scratch_memory) return NBC_FREE(r), (nbc_request *)NULL;
  r->data.areas[NBC_AREA_SCRATCH] =
      (unsigned char *)(((uintptr_t)r->data.scratch_memory + 63) & ~(uintptr_t)63);
  /* Slots that no block fills travel too: no other's memory in them. */
  if (s->coll == NBC_COLL_GATHERV || s->coll == NBC_COLL_SCATTERV)
    memset(r->data.areas[NBC_AREA_SCRATCH], 0, (size_t)s->scratch_bytes);
  return r;
}

/* All that a schedule without counts of its own depends on. */
static bool nbc__coll_same(const nbc_schedule_desc *a, const nbc_schedule_desc *b) {
  return a->coll == b->coll && a->algo == b->algo && a->root == b->root && a->count == b->count &&
         a->elem_bytes == b->elem_bytes && a->in_place == b->in_place &&
         a->not_commutative == b->not_commutative && a->segment_bytes == b->segment_bytes &&
         a->radix == b->radix && a->window_count == b->window_count && a->table == b->table &&
         a->nodes == b->nodes && a->rank == b->rank && a->size == b->size;
}

/* Few entries, looked through in order: programs repeat a handful of collectives. The least
   recently used one gives way; an entry that runs cannot, since its requests point into the
   schedule. */
/* The entry for this schedule, or the one to replace; NULL: all are in use. */
/* An entry in use is still a hit: its schedule is only read, each request has a run of its own. */
static nbc__coll_entry *nbc__coll_lookup(nbc_comm *comm, const nbc_schedule_desc *key) {
  nbc__coll_entry *oldest = NULL;
  for (int i = 0; i < NBC__COLL_CACHED; i++) {
    nbc__coll_entry *const e = &comm->entries[i];
    if (e->schedule && nbc__coll_same(&e->key, key)) return e;
    if (e->user_count) continue;
    if (!oldest || e->last_use_count < oldest->last_use_count) oldest = e;
  }
  return oldest;
}

static bool nbc__coll_in_place(const nbc_coll_args *args) {
  const bool scatters = nbc__coll_about(args->coll)->gives == NBC__COLL_ROOT_BLOCKS;
  return (scatters ? args->recv : args->send) == NBC_IN_PLACE;
}

static void nbc__coll_describe(const nbc_comm *comm, const nbc_coll_args *args,
                               nbc_schedule_desc *d) {
  memset(d, 0, sizeof *d);
  d->coll = args->coll, d->algo = args->algo;
  d->rank = comm->t->rank, d->size = comm->t->size, d->root = args->root;
  d->elem_bytes = nbc_type_bytes(args->type);
  d->count = args->count;
  d->send_counts = args->send_counts, d->send_displs = args->send_displs;
  d->recv_counts = args->recv_counts, d->recv_displs = args->recv_displs;
  d->in_place = nbc__coll_in_place(args);
  if ((nbc__coll_about(args->coll)->has & NBC_HAS_OPERATOR) && args->reduce >= NBC_REDUCE_USER)
    d->not_commutative = !comm->operators[args->reduce - NBC_REDUCE_USER].commutative;
  d->segment_bytes = args->segment_bytes, d->radix = args->radix,
  d->window_count = args->window_count;
  d->neighbors = args->neighbors;
  d->nodes = comm->t->nodes;
  d->table = &comm->choice;
}

static nbc_status nbc__coll_check_call(nbc_comm *comm, const nbc_coll_args *args) {
  if ((unsigned)args->coll >= NBC_COLL_COUNT)
    return nbc__status_fail(&comm->err, NBC_E_INVAL, 0, "coll: no collective %d", (int)args->coll);
  const char *const name = nbc_coll_name(args->coll);
  if ((unsigned)args->type >= NBC_TYPE_COUNT)
    return nbc__status_fail(&comm->err, NBC_E_INVAL, 0, "%s: type: no type %d", name,
                            (int)args->type);
  const bool at_root_only = args->coll == NBC_COLL_REDUCE ||
                            (args->coll >= NBC_COLL_GATHER && args->coll <= NBC_COLL_SCATTERV);
  if (at_root_only && nbc__coll_in_place(args) && args->root != comm->t->rank)
    return nbc__status_fail(&comm->err, NBC_E_INVAL, 0,
                            "%s: NBC_IN_PLACE: only the root %d may be in place, not rank %d", name,
                            args->root, comm->t->rank);
  if (!(nbc__coll_about(args->coll)->has & NBC_HAS_OPERATOR)) return NBC_OK;
  const int user = (int)args->reduce - NBC_REDUCE_USER;
  if (user >= 0 ? user >= comm->operator_count : (unsigned)args->reduce >= NBC_REDUCE_COUNT)
    return nbc__status_fail(&comm->err, NBC_E_INVAL, 0, "%s: reduce: no operator %d", name,
                            (int)args->reduce);
  if (user < 0 && !nbc__coll_kernel_of(args->type, args->reduce))
    return nbc__status_fail(&comm->err, NBC_E_INVAL, 0, "%s: reduce: %s does not exist for %s",
                            name, nbc_reduce_name(args->reduce), nbc_type_name(args->type));
  return NBC_OK;
}

/* Called with the schedule, which alone knows how far each buffer reaches in this rank's role. */
static nbc_status nbc__coll_check_buffers(nbc_comm *comm, const nbc_coll_args *args,
                                          const nbc_schedule *s) {
  const char *const name = nbc_coll_name(args->coll);
  const unsigned char *const send = (const unsigned char *)args->send;
  const unsigned char *const recv = (const unsigned char *)args->recv;
  if (s->send_bytes && !send)
    return nbc__status_fail(&comm->err, NBC_E_INVAL, 0, "%s: send: must not be NULL", name);
  if (s->recv_bytes && !recv)
    return nbc__status_fail(&comm->err, NBC_E_INVAL, 0, "%s: recv: must not be NULL", name);
  if (s->recv_bytes && recv == (const unsigned char *)NBC_IN_PLACE)
    return nbc__status_fail(&comm->err, NBC_E_INVAL, 0,
                            "%s: recv: NBC_IN_PLACE stands for the other buffer", name);
  const uintptr_t a = (uintptr_t)send, b = (uintptr_t)recv;
  if (s->send_bytes && s->recv_bytes && a < b + s->recv_bytes && b < a + s->send_bytes)
    return nbc__status_fail(&comm->err, NBC_E_INVAL, 0,
                            "%s: send and recv overlap; same buffer: NBC_IN_PLACE", name);
  return NBC_OK;
}

/* Schedules with arrays of counts or neighbours are built anew each time: the arrays may be changed
   by their owner after the call, so they cannot be a key. */
/* Schedule, from the cache where it can be, and a request for it. */
static nbc_status nbc__coll_prepare(nbc_comm *comm, const nbc_coll_args *args,
                                    nbc_request **request) {
  nbc_schedule_desc d;
  nbc_schedule *s = NULL;
  nbc_status status = NBC_OK;
  nbc__coll_describe(comm, args, &d);
  const bool cacheable =
      !d.send_counts && !d.recv_counts && !d.send_displs && !d.recv_displs && !d.neighbors;
  nbc__coll_entry *const e = cacheable ? nbc__coll_lookup(comm, &d) : NULL;
  const bool hit = e && e->schedule && nbc__coll_same(&e->key, &d);
  if (hit)
    s = e->schedule;
  else
    status = nbc_schedule_build(&d, &s, &comm->err);
  if (!status) status = nbc__coll_check_buffers(comm, args, s);
  /* The cache is changed only when nothing can fail any more: a refused call costs no entry. */
  nbc_request *r = hit ? e->spare : NULL;
  if (!status && !r && !(r = nbc__coll_allocate(comm, s)))
    status = nbc__status_fail(&comm->err, NBC_E_NOMEM, 0, "%s: out of memory",
                              nbc_coll_name(args->coll));
  if (status) {
    if (!hit) nbc_schedule_free(s);
    return status;
  }
  if (hit)
    e->spare = NULL;
  else if (e) {
    nbc__coll_discard(e->spare);
    nbc_schedule_free(e->schedule);
    e->key = d;
    e->schedule = s;
    e->spare = NULL;
  }
  r->entry = e;
  if (e) e->user_count++, e->last_use_count = ++comm->use_count;
  *request = r;
  return NBC_OK;
}

/* Nothing of the caller's arrays is kept: they are read in the call only. */
static nbc_status nbc__coll_make(nbc_comm *comm, const nbc_coll_args *args, nbc_request **request) {
  nbc_status status = nbc__coll_check_call(comm, args);
  nbc_request *r = NULL;
  *request = NULL;
  if (!status) status = nbc__coll_prepare(comm, args, &r);
  if (status) return status;
  r->args = *args;
  r->args.send_counts = r->args.send_displs = r->args.recv_counts = r->args.recv_displs = NULL;
  r->args.neighbors = NULL;
  r->data.areas[NBC_AREA_SEND] = (unsigned char *)(uintptr_t)args->send;
  r->data.areas[NBC_AREA_RECV] = (unsigned char *)args->recv;
  r->data.kernel = NULL;
  if ((nbc__coll_about(args->coll)->has & NBC_HAS_OPERATOR) && args->reduce >= NBC_REDUCE_USER) {
    r->data.user_fn = comm->operators[args->reduce - NBC_REDUCE_USER].fn;
    r->data.user = args->operator_user ? args->operator_user
                                       : comm->operators[args->reduce - NBC_REDUCE_USER].user;
  } else if ((nbc__coll_about(args->coll)->has & NBC_HAS_OPERATOR)) {
    r->data.kernel = nbc__coll_kernel_of(args->type, args->reduce);
  }
  r->persistent = false;
  r->run.tag = 0;
  nbc__coll_enter(r, NBC__COLL_IDLE);
  nbc__coll_link(r);
  *request = r;
  return NBC_OK;
}

/* Finished: goes back to its cache entry, or away. */
static void nbc__coll_release(nbc_request *r) {
  nbc__coll_entry *const e = r->entry;
  if (r->compare.before) nbc__coll_discard(r->compare.before);
  r->compare.before = NULL;
  NBC_FREE(r->compare.summaries);
  r->compare.summaries = NULL;
  nbc__coll_unlink(r);
  if (e) e->user_count--;
  /* One spare per entry: enough for a loop; with several in flight the others go and are made
     again. */
  if (e && !e->spare)
    e->spare = r;
  else
    nbc__coll_discard(r);
}

/* All ranks start the collectives of a communicator in the same order, as MPI demands: so a number
   counted at each rank for itself names the same collective everywhere, and no message is
   needed. */
/* Tag: 1 | communicator | persistent? | which collective on it | which message of it. */
/*   bit 63   62 ... 48      47           46 ... 28        27 ... 0
         1   communicator   persistent   which one of     message, by the schedule (2^28 at most)
   Bit 63 keeps these apart from small tags of others on the same transport, and from 0 = none.
   Counted numbers come again after 2^19: no more collectives than that may be in flight. */
static uint64_t nbc__coll_tag(const nbc_comm *comm, bool persistent, uint32_t index) {
  return (uint64_t)1 << 63 | (uint64_t)comm->desc.id << 48 | (uint64_t)persistent << 47 |
         (uint64_t)(index % NBC__COLL_SEQUENCES) << 28;
}

/* A persistent one keeps the number that it got when it was made, so that ranks may start several
   in any order; messages of its runs match in the order of the runs. */
static nbc_status nbc__coll_number(nbc_request *r) {
  nbc_comm *const comm = r->comm;
  const uint64_t tag = nbc__coll_tag(comm, true, comm->persistent_index);
  if (comm->persistent_index >=
      NBC__COLL_SEQUENCES) /* numbers come again: of those that are gone */
    for (const nbc_request *other = comm->requests; other; other = other->next)
      if (other->run.tag == tag)
        return nbc__status_fail(&comm->err, NBC_E_FULL, 0,
                                "%s: one of the last %d persistent requests is still there",
                                nbc_coll_name(r->args.coll), (int)NBC__COLL_SEQUENCES);
  comm->persistent_index++;
  r->run.tag = tag;
  return NBC_OK;
}

static void nbc__coll_begin(nbc_request *r) {
  /* The comparison of a request begins before the request and takes a number of its own. So `check`
     has to be the same at all ranks, or their numbers would differ from here on. */
  if (!r->run.tag || !r->persistent)
    r->run.tag = nbc__coll_tag(r->comm, false, r->comm->sequence_index++);
  r->error.status = NBC_OK;
  r->run.spoiled = 0;
  nbc__coll_enter(r, NBC__COLL_RUNNING);
}

/* Two lists with one hash would pass as equal. Then a message of another length still fails when it
   comes (nbc__coll_done): the comparison only says it sooner and better. */
static uint64_t nbc__coll_hash(const uint64_t *counts, int size) { /* FNV-1a over whole counts */
  uint64_t hash = 1469598103934665603u;
  for (int i = 0; counts && i < size; i++) hash = (hash ^ counts[i]) * 1099511628211u;
  return hash;
}

/* What rank `peer` is told: the arguments that all ranks must agree on, and, where counts differ
   per pair, what this rank sends it and wants of it. Counts of all ranks that must agree go as a
   hash. */
static void nbc__coll_summarize(const nbc_comm *comm, const nbc_coll_args *args, int peer,
                                nbc__coll_summary *s) {
  const uint64_t one = nbc_type_bytes(args->type);
  const bool v = args->coll == NBC_COLL_ALLGATHERV || args->coll == NBC_COLL_REDUCE_SCATTER;
  const int me = comm->t->rank;
  memset(s, 0, sizeof *s);
  s->coll = (int32_t)args->coll, s->type = (int32_t)args->type, s->algo = (int32_t)args->algo;
  s->radix = args->radix;
  s->segment_bytes = args->segment_bytes;
  s->reduce = (nbc__coll_about(args->coll)->has & NBC_HAS_OPERATOR) ? (int32_t)args->reduce : 0;
  s->root = (nbc__coll_about(args->coll)->has & NBC_HAS_ROOT) ? args->root : 0;
  if (v)
    s->counts_hash = nbc__coll_hash(args->recv_counts, comm->t->size);
  else if (args->coll == NBC_COLL_ALLTOALLV) {
    s->to_you_bytes =
        one * (nbc__coll_in_place(args) ? args->recv_counts : args->send_counts)[peer];
    s->from_you_bytes = one * args->recv_counts[peer];
  } else if (args->coll == NBC_COLL_GATHERV) {
    if (peer == args->root)
      s->to_you_bytes = me == peer && nbc__coll_in_place(args) ? one * args->recv_counts[peer]
                                                               : one * args->count;
    if (me == args->root) s->from_you_bytes = one * args->recv_counts[peer];
  } else if (args->coll == NBC_COLL_SCATTERV) {
    if (me == args->root) s->to_you_bytes = one * args->send_counts[peer];
    if (peer == args->root)
      s->from_you_bytes = me == peer && nbc__coll_in_place(args) ? one * args->send_counts[peer]
                                                                 : one * args->count;
  } else if (args->coll != NBC_COLL_BARRIER &&
             !(nbc__coll_about(args->coll)->has & NBC_HAS_NEIGHBORS)) { /* each pair its own */
    s->count = args->count;
  }
}

static void nbc__coll_summary_text(char text[96], const nbc__coll_summary *s) {
  const bool reduces = (nbc__coll_about((nbc_coll)s->coll)->has & NBC_HAS_OPERATOR) != 0;
  snprintf(text, 96, "%s(count %llu, %s%s%s, root %d%s%s)", nbc_coll_name((nbc_coll)s->coll),
           (unsigned long long)s->count, nbc_type_name((nbc_type)s->type), reduces ? ", " : "",
           reduces ? nbc_reduce_name((nbc_reduce)s->reduce) : "", s->root, s->algo ? ", " : "",
           s->algo ? nbc_algo_name((nbc_algo)s->algo) : "");
}

/* All ranks compare with rank 0, so all come to the same verdict. */
static bool nbc__coll_differ(const nbc_request *r, const nbc__coll_summary *told,
                             const nbc__coll_summary *heard, nbc_error *err) {
  const int size = r->comm->t->size;
  char a[96], b[96];
  for (int i = 0; i < size; i++) {
    const nbc__coll_summary *const x = &heard[0], *const y = &heard[i];
    if (x->coll == y->coll && x->type == y->type && x->reduce == y->reduce && x->root == y->root &&
        x->algo == y->algo && x->radix == y->radix && x->count == y->count &&
        x->segment_bytes == y->segment_bytes && x->counts_hash == y->counts_hash)
      continue;
    nbc__coll_summary_text(a, x);
    nbc__coll_summary_text(b, y);
    (void)nbc__status_fail(err, NBC_E_MISMATCH, 0, "rank 0 calls %s, rank %d calls %s%s", a, i, b,
                           x->counts_hash != y->counts_hash ? " with other counts" : "");
    return true;
  }
  /* What differs per pair only the receiver of the pair can see: here only this rank fails. */
  for (int i = 0; i < size; i++) {
    if (heard[i].to_you_bytes == told[i].from_you_bytes) continue;
    (void)nbc__status_fail(
        err, NBC_E_MISMATCH, 0, "%s: rank %d sends %llu bytes to rank %d, which expects %llu",
        nbc_coll_name(r->args.coll), i, (unsigned long long)heard[i].to_you_bytes, r->comm->t->rank,
        (unsigned long long)told[i].from_you_bytes);
    return true;
  }
  return false;
}

/* The comparison has ended, well or not: the request it is for begins, or fails in its stead. */
static void nbc__coll_checked(nbc_request *check) {
  nbc_request *const r = check->compare.after;
  /* Nobody came in time, or it was freed meanwhile: it must not be launched any more. */
  if (nbc__coll_state_of(r) != NBC__COLL_RUNNING) return;
  if (nbc__coll_state_of(check) == NBC__COLL_FAILED)
    r->error = check->error;
  else if (!nbc__coll_differ(r, r->compare.summaries, r->compare.summaries + r->comm->t->size,
                             &r->error)) {
    nbc__coll_launch(r);
    return;
  }
  nbc__coll_enter(r, NBC__COLL_FAILED);
}

/* A rank that never calls the collective never answers the comparison: it is named after a while,
   where without checking everyone would wait for ever. */
static void nbc__coll_check_late(nbc_request *r) {
  const nbc_request *const check = r->compare.before;
  const nbc_transport *const t = r->comm->t;
  if (!check || nbc__coll_state_of(r) != NBC__COLL_RUNNING ||
      nbc__coll_state_of(check) != NBC__COLL_RUNNING)
    return;
  if (t->now_ns(t->ctx) - r->times.t_start_ns < r->comm->desc.check_limit_ns) return;
  for (uint32_t i = 0; i < check->schedule->node_count; i++) {
    const nbc_node *const node = &check->schedule->nodes[i];
    if (node->type != NBC_NODE_RECV || check->run.ops[check->run.op_of[i]].op.finished) continue;
    (void)nbc__status_fail(
        &r->error, NBC_E_TIMEOUT, 0, "%s: rank %d has not called it after %.3g s",
        nbc_coll_name(r->args.coll), node->u.msg.peer, (double)r->comm->desc.check_limit_ns * 1e-9);
    break;
  }
  nbc__coll_enter(r, NBC__COLL_FAILED);
}

/* The exchange is the same whatever is compared: one summary from each to each, by an algorithm
   that no table chooses. A rank that calls another collective still answers, and is named. */
static nbc_status nbc__coll_make_check(nbc_request *r, const nbc_coll_args *args) {
  nbc_comm *const comm = r->comm;
  const int size = comm->t->size;
  nbc_coll_args exchange;
  memset(&exchange, 0, sizeof exchange);
  r->compare.summaries =
      (nbc__coll_summary *)NBC_MALLOC(2 * (size_t)size * sizeof *r->compare.summaries);
  if (!r->compare.summaries)
    return nbc__status_fail(&comm->err, NBC_E_NOMEM, 0, "check: out of memory");
  /* The first half is what this rank tells each, the second what each tells this rank. */
  for (int i = 0; i < size; i++) nbc__coll_summarize(comm, args, i, &r->compare.summaries[i]);
  exchange.coll = NBC_COLL_ALLTOALL, exchange.algo = NBC_ALGO_LINEAR;
  exchange.send = r->compare.summaries, exchange.recv = r->compare.summaries + size;
  exchange.count = sizeof *r->compare.summaries;
  const nbc_status status = nbc__coll_make(comm, &exchange, &r->compare.before);
  if (!status) r->compare.before->compare.after = r;
  return status;
}

/* ---- starting, testing, waiting ------------------------------------------------------------ */
/* Both are RUNNING before the engine gets them, since it may end them at once: a state set after
   that would undo the end. */
static nbc_status nbc__coll_go(nbc_request *r) {
  r->work.launch = nbc__coll_launch_work;
  if (r->compare.before) nbc__coll_begin(r->compare.before);
  nbc__coll_begin(r);
  r->times.t_start_ns = r->compare.before ? r->comm->t->now_ns(r->comm->t->ctx) : 0;
  if (r->comm->desc.progress)
    nbc__prog_submit(r->comm->desc.progress, &r->work);
  else
    nbc__coll_launch_work(&r->work);
  return NBC_OK;
}

/* A persistent request's comparison is persistent too and has a number of its own: both keep
   theirs. */
static nbc_status nbc__coll_make_checked(nbc_comm *comm, const nbc_coll_args *args, bool persistent,
                                         nbc_request **request) {
  *request = NULL;
  nbc_request *r;
  nbc_status status = nbc__coll_make(comm, args, &r);
  if (status) return status;
  r->persistent = persistent;
  if (persistent) status = nbc__coll_number(r);
  if (!status && comm->desc.check) status = nbc__coll_make_check(r, args);
  if (!status && persistent && r->compare.before) {
    r->compare.before->persistent = true;
    status = nbc__coll_number(r->compare.before);
  }
  if (status)
    nbc__coll_release(r);
  else
    *request = r;
  return status;
}

NBC_API nbc_status nbc_coll_init(nbc_comm *comm, const nbc_coll_args *args, nbc_request **request) {
  if (!comm || !args || !request) return NBC_E_INVAL;
  nbc__transport_enter(comm->t, NBC_KIND_SETUP);
  const nbc_status status = nbc__coll_make_checked(comm, args, true, request);
  nbc__transport_exit(comm->t);
  return status;
}

NBC_API nbc_status nbc_coll_start(nbc_request *request) {
  if (!request) return NBC_E_INVAL;
  if (nbc__coll_state_of(request) != NBC__COLL_IDLE || !request->persistent)
    return nbc__status_fail(&request->comm->err, NBC_E_STATE, 0, "%s: started again before its end",
                            nbc_coll_name(request->args.coll));
  const nbc_transport *const t = request->comm->t;
  nbc__transport_enter(t, NBC_KIND_START);
  const nbc_status status = nbc__coll_go(request);
  nbc__transport_exit(t);
  return status;
}

NBC_API nbc_status nbc_coll_start_new(nbc_comm *comm, const nbc_coll_args *args,
                                      nbc_request **request) {
  if (!comm || !args || !request) return NBC_E_INVAL;
  nbc__transport_enter(comm->t, nbc__coll_about(args->coll)->kind);
  nbc_status status = nbc__coll_make_checked(comm, args, false, request);
  if (!status) status = nbc__coll_go(*request);
  nbc__transport_exit(comm->t);
  return status;
}

/* With lengths, schedules may differ: what a spoiled request waits for is perhaps never sent. It
   is known to fail, so its owner is told after a while. */
static void nbc__coll_spoiled_late(nbc_request *r) {
  const nbc_transport *const t = r->comm->t;
  if (!__atomic_load_n(&r->run.spoiled, __ATOMIC_ACQUIRE) ||
      nbc__coll_state_of(r) != NBC__COLL_RUNNING)
    return;
  if (t->now_ns(t->ctx) - r->times.t_spoiled_ns >= r->comm->desc.check_limit_ns)
    nbc__coll_enter(r, NBC__COLL_FAILED);
}

/* The transport failed: so does this request. */
static void nbc__coll_broken(nbc_request *r, nbc_status status) {
  if (status >= 0 || nbc__coll_state_of(r) != NBC__COLL_RUNNING) return;
  (void)nbc__status_fail(&r->error, status, 0, "%s, rank %d: transport %s: %s",
                         nbc_coll_name(r->args.coll), r->comm->t->rank, r->comm->t->name,
                         nbc_status_text(status));
  nbc__coll_enter(r, NBC__COLL_FAILED);
}

/* One step forward for everything on this transport. */
static void nbc__coll_drive(nbc_request *r) {
  const nbc_transport *const t = r->comm->t;
  nbc_progress *const p = r->comm->desc.progress;
  if (!p) {
    nbc__coll_broken(r, t->progress(t->ctx));
    if (t->others && nbc__coll_state_of(r) == NBC__COLL_RUNNING) t->others(t->ctx);
    nbc__coll_check_late(r);
    nbc__coll_spoiled_late(r);
    return;
  }
  /* With an engine, its thread drives the transport; a waiting caller takes a turn when the engine
     is not at it, and looks for errors only where there can be some. */
  nbc__prog_help(p);
  if (!nbc__prog_any_failed(p) && !r->compare.before &&
      !__atomic_load_n(&r->run.spoiled, __ATOMIC_ACQUIRE))
    return;
  nbc__prog_lock(p);
  nbc__coll_broken(r, nbc__prog_failed(p, t));
  nbc__coll_check_late(r);
  nbc__coll_spoiled_late(r);
  nbc__prog_unlock(p);
}

static void nbc__coll_lock(const nbc_comm *comm) {
  if (!comm->desc.progress) return;
  nbc__prog_lock(comm->desc.progress);
  nbc__prog_take(comm->desc.progress); /* nothing that was started is still on its way */
}

static void nbc__coll_unlock(const nbc_comm *comm) {
  if (comm->desc.progress) nbc__prog_unlock(comm->desc.progress);
}

/* Operations of a request that ended early: ask for its receives back. ret whether all came */
static bool nbc__coll_recall(nbc_request *r) {
  const nbc_transport *const t = r->comm->t;
  const nbc_schedule *const s = r->schedule;
  for (uint32_t i = 0; r->run.flying_count && t->cancel && i < r->run.ready_count; i++) {
    const nbc_node *const node = &s->nodes[r->run.ready[i]];
    if (i < r->run.first_ready_count && node->type == NBC_NODE_RECV &&
        !r->run.ops[r->run.op_of[r->run.ready[i]]].op.finished)
      (void)t->cancel(t->ctx, &r->run.ops[r->run.op_of[r->run.ready[i]]].op);
  }
  for (int tries = 0; tries < 1000 && r->run.flying_count; tries++)
    if (t->progress(t->ctx) < 0) break;
  return r->run.flying_count == 0;
}

/* A request with operations that cannot be recalled stays with the communicator, failed: the
   transport still points to them. */
static void nbc__coll_free_locked(nbc_request *request) {
  if (nbc__coll_state_of(request) == NBC__COLL_RUNNING) {
    (void)nbc__status_fail(&request->error, NBC_E_CANCELLED, 0, "%s: freed before its end",
                           nbc_coll_name(request->args.coll));
    nbc__coll_enter(request, NBC__COLL_FAILED);
  }
  nbc_request *const check = request->compare.before;
  if (check && nbc__coll_state_of(check) == NBC__COLL_RUNNING) {
    check->compare.after = NULL;
    nbc__coll_enter(check, NBC__COLL_FAILED);
  }
  const bool recalled = nbc__coll_recall(request);
  if ((!check || nbc__coll_recall(check)) && recalled) nbc__coll_release(request);
}

NBC_API void nbc_coll_free(nbc_request *request) {
  if (!request) return;
  const nbc_comm *const comm = request->comm;
  nbc__coll_lock(comm);
  nbc__coll_free_locked(request);
  nbc__coll_unlock(comm);
}

/* Its owner learns the end. From here on the request is idle, failed for good, or gone. */
/* DONE means that every node has ended, so nothing points to the request and no lock is needed. A
   failed one may have operations under way: nbc_coll_free recalls them first. */
static nbc_status nbc__coll_end(nbc_request **request) {
  nbc_request *const r = *request;
  const bool failed = nbc__coll_state_of(r) == NBC__COLL_FAILED;
  const nbc_status status = failed ? r->error.status : NBC_OK;
  if (failed) r->comm->err = r->error;
  if (r->persistent && !failed) {
    nbc__coll_enter(r, NBC__COLL_IDLE);
    return NBC_OK;
  }
  if (r->persistent) return status; /* stays failed until it is freed */
  *request = NULL;
  if (failed)
    nbc_coll_free(r);
  else
    nbc__coll_release(r);
  return status;
}

static bool nbc__coll_over(const nbc_request *r) {
  return nbc__coll_state_of(r) != NBC__COLL_RUNNING;
}

NBC_API nbc_status nbc_coll_test(nbc_request **request) {
  if (!request) return NBC_E_INVAL;
  nbc_request *const r = *request;
  if (!r || nbc__coll_state_of(r) == NBC__COLL_IDLE) return NBC_OK;
  nbc__transport_enter(r->comm->t, NBC_KIND_TEST);
  if (!nbc__coll_over(r)) nbc__coll_drive(r);
  const bool over = nbc__coll_over(r);
  nbc__transport_exit(r->comm->t);
  return over ? nbc__coll_end(request) : NBC_PENDING;
}

/* Between two steps of a wait that brought no end. Where the transport can sleep until something
   comes, it does, unless it has to drive others too, or an engine drives it. Else ranks may share a
   core. */
static bool nbc__coll_rest(const nbc_request *r, unsigned poll_count) {
  const nbc_transport *const t = r ? r->comm->t : NULL;
  const bool rests = t && t->rest && !t->others && !r->comm->desc.progress;
  if (rests)
    t->rest(t->ctx);
  else if (poll_count > 64)
    sched_yield();
  return rests;
}

NBC_API nbc_status nbc_coll_wait(nbc_request **request, int64_t limit_ns) {
  if (!request) return NBC_E_INVAL;
  nbc_request *const r = *request;
  if (!r || nbc__coll_state_of(r) == NBC__COLL_IDLE) return NBC_OK;
  const nbc_transport *const t = r->comm->t;
  const int64_t t_start_ns = limit_ns > 0 ? t->now_ns(t->ctx) : 0;
  nbc__transport_enter(t, NBC_KIND_WAIT);
  for (unsigned poll_count = 1; !nbc__coll_over(r); poll_count++) {
    nbc__coll_drive(r);
    if (nbc__coll_over(r)) break;
    /* Reading a clock can cost more than a poll: every 16th will do, but after each rest. */
    const bool rested = nbc__coll_rest(r, poll_count);
    if (limit_ns > 0 && (rested || poll_count % 16 == 0) &&
        t->now_ns(t->ctx) - t_start_ns > limit_ns)
      break;
  }
  const bool over = nbc__coll_over(r);
  nbc__transport_exit(t);
  return over ? nbc__coll_end(request) : NBC_E_TIMEOUT;
}

/* ---- several at once ------------------------------------------------------------------------ */
NBC__PRIVATE bool nbc__coll_is_active(const nbc_request *r) {
  return r && nbc__coll_state_of(r) != NBC__COLL_IDLE;
}

/* One step for an active one. ret whether it is over */
NBC__PRIVATE bool nbc__coll_step_one(nbc_request *r) {
  if (nbc__coll_over(r)) return true;
  nbc__transport_enter(r->comm->t, NBC_KIND_TEST);
  nbc__coll_drive(r);
  nbc__transport_exit(r->comm->t);
  return nbc__coll_over(r);
}

/* One step for each that runs. ret how many of those active at the call run on */
static int nbc__coll_step_all(int count, nbc_request *requests[]) {
  int running_count = 0;
  for (int i = 0; i < count; i++)
    running_count += nbc__coll_is_active(requests[i]) && !nbc__coll_step_one(requests[i]);
  return running_count;
}

/* Ends those that are over; which (NULL allowed): their places, at most `most`. */
static int nbc__coll_end_all(int count, nbc_request *requests[], int which[], int most,
                             nbc_status *first) {
  int done = 0;
  for (int i = 0; i < count && done < most; i++) {
    if (!nbc__coll_is_active(requests[i]) || !nbc__coll_over(requests[i])) continue;
    const nbc_status status = nbc__coll_end(&requests[i]);
    if (status && !*first) *first = status;
    if (which) which[done] = i;
    done++;
  }
  return done;
}

/* Until `enough` of the active ones are over, or limit_ns. ret whether they are */
/* Rests only when one transport carries all: asleep in one, nobody would drive the others. */
static bool nbc__coll_wait_for(int count, nbc_request *requests[], bool for_all, int64_t limit_ns) {
  const nbc_transport *t = NULL;
  const nbc_request *alone = NULL; /* one of them, when all are on one transport */
  int active_count = 0;
  for (int i = 0; i < count; i++) {
    if (!nbc__coll_is_active(requests[i])) continue;
    alone = !t || (alone && t == requests[i]->comm->t) ? requests[i] : NULL;
    t = requests[i]->comm->t, active_count++;
  }
  if (!t) return true;
  const int64_t t_start_ns = limit_ns > 0 ? t->now_ns(t->ctx) : 0;
  for (unsigned poll_count = 1;; poll_count++) {
    const int running_count = nbc__coll_step_all(count, requests);
    if (for_all ? running_count == 0 : running_count < active_count) return true;
    const bool rested = nbc__coll_rest(alone, poll_count);
    if (limit_ns > 0 && (rested || poll_count % 16 == 0) &&
        t->now_ns(t->ctx) - t_start_ns > limit_ns)
      return false;
  }
}

NBC_API nbc_status nbc_coll_waitall(int count, nbc_request *requests[], int64_t limit_ns) {
  nbc_status first = NBC_OK;
  if (count < 0 || (count && !requests)) return NBC_E_INVAL;
  const bool over = nbc__coll_wait_for(count, requests, true, limit_ns);
  (void)nbc__coll_end_all(count, requests, NULL, count, &first);
  return over ? first : NBC_E_TIMEOUT;
}

NBC_API nbc_status nbc_coll_testall(int count, nbc_request *requests[]) {
  nbc_status first = NBC_OK;
  if (count < 0 || (count && !requests)) return NBC_E_INVAL;
  if (nbc__coll_step_all(count, requests) > 0) return NBC_PENDING;
  (void)nbc__coll_end_all(count, requests, NULL, count, &first);
  return first;
}

NBC_API nbc_status nbc_coll_waitany(int count, nbc_request *requests[], int *index,
                                    int64_t limit_ns) {
  nbc_status first = NBC_OK;
  if (count < 0 || (count && !requests) || !index) return NBC_E_INVAL;
  *index = -1;
  if (!nbc__coll_wait_for(count, requests, false, limit_ns)) return NBC_E_TIMEOUT;
  (void)nbc__coll_end_all(count, requests, index, 1, &first);
  return first;
}

NBC_API nbc_status nbc_coll_waitsome(int count, nbc_request *requests[], int *done, int which[],
                                     int64_t limit_ns) {
  nbc_status first = NBC_OK;
  if (count < 0 || (count && (!requests || !which)) || !done) return NBC_E_INVAL;
  *done = 0;
  if (!nbc__coll_wait_for(count, requests, false, limit_ns)) return NBC_E_TIMEOUT;
  *done = nbc__coll_end_all(count, requests, which, count, &first);
  return first;
}

NBC_API const nbc_schedule *nbc_coll_schedule(const nbc_request *request) {
  if (!request) return NULL;
  return request->schedule;
}

NBC_API nbc_status nbc_coll_run(nbc_comm *comm, const nbc_coll_args *args) {
  if (!comm || !args) return NBC_E_INVAL;
  nbc_request *request;
  const nbc_status status = nbc_coll_start_new(comm, args, &request);
  return status ? status : nbc_coll_wait(&request, 0);
}

/* ---- communicators ------------------------------------------------------------------------- */
/* "bcast=chain:65536:2,allreduce=ring": rules in front of the table. */
/* The first rule that fits is taken, so those of the environment win by standing in front; "0 0"
   makes them hold for all numbers of ranks and bytes. Where there is no room for all, the last
   rules of the table go. */
static nbc_status nbc__coll_parse_algos(const char *text, nbc_choice *table, nbc_error *err) {
  nbc_choice front;
  front.rule_count = 0;
  while (*text) {
    char item[96], line[128];
    const size_t n = strcspn(text, ",");
    const char *const equals = (const char *)memchr(text, '=', n);
    if (n >= sizeof item || !equals)
      return nbc__status_fail(err, NBC_E_PARSE, 0,
                              "NBC_ALGO: collective=algorithm wanted at \"%.40s\"", text);
    memcpy(item, text, n);
    item[n] = 0;
    item[equals - text] = 0;
    char *const algo = item + (equals - text) + 1;
    const size_t name_bytes = strcspn(algo, ":");
    const char *const segment = algo[name_bytes] ? algo + name_bytes + 1 : "0";
    const size_t segment_bytes = strcspn(segment, ":");
    snprintf(line, sizeof line, "%s 0 0 %.*s %.*s %s", item, (int)name_bytes, algo,
             (int)segment_bytes, segment,
             segment[segment_bytes] ? segment + segment_bytes + 1 : "0");
    nbc_choice_rule rule;
    const char *const wrong = nbc__sched_parse_rule(line, &rule);
    if (wrong)
      return nbc__status_fail(err, NBC_E_PARSE, 0, "NBC_ALGO: %s=%s: %s", item, algo, wrong);
    if (front.rule_count < NBC_CHOICE_MAX_RULES) front.rules[front.rule_count++] = rule;
    text += n + (text[n] == ',');
  }
  for (size_t i = 0; i < table->rule_count && front.rule_count < NBC_CHOICE_MAX_RULES; i++)
    front.rules[front.rule_count++] = table->rules[i];
  *table = front;
  return NBC_OK;
}

NBC_API nbc_status nbc_comm_create(const nbc_comm_desc *desc, nbc_comm **comm, nbc_error *err) {
  if (!comm) return NBC_E_INVAL;
  *comm = NULL;
  if (!desc || !desc->transport)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "transport: must not be NULL");
  if (desc->id >= 1u << 15)
    return nbc__status_fail(err, NBC_E_RANGE, 0, "id: %u is not in 0..32767", (unsigned)desc->id);
  nbc_comm *const c = (nbc_comm *)NBC_MALLOC(sizeof *c);
  if (!c) return nbc__status_fail(err, NBC_E_NOMEM, 0, "communicator: out of memory");
  memset(c, 0, sizeof *c);
  c->desc = *desc;
  c->t = desc->transport;
  if (c->desc.check_limit_ns <= 0) c->desc.check_limit_ns = 10000000000;
  /* A copy of its own: schedules in the cache are found by the address of their table. */
  if (desc->choice)
    c->choice = *desc->choice;
  else
    nbc_choice_default(&c->choice);
  c->desc.choice = &c->choice;
  const char *const file = getenv("NBC_CHOICE"), *const algos = getenv("NBC_ALGO");
  nbc_status status = file && *file ? nbc_choice_read(file, &c->choice, err) : NBC_OK;
  if (!status && algos && *algos) status = nbc__coll_parse_algos(algos, &c->choice, err);
  if (!status && desc->progress) status = nbc__prog_attach(desc->progress, desc->transport, err);
  if (status)
    NBC_FREE(c);
  else
    *comm = c;
  return status;
}

/* The engine goes before the transport, since its worker polls the transport. An operation that
   cannot be recalled makes the communicator lost: its memory and its schedules are never given
   back. A leak can be seen; a transport that writes into memory of others cannot. */
NBC_API void nbc_comm_destroy(nbc_comm *comm) {
  if (!comm) return;
  nbc_progress *const progress = comm->desc.progress;
  bool lost = false;
  nbc__coll_lock(comm);
  for (nbc_request *r = comm->requests, *next; r; r = next) {
    next = r->next;
    if (r->compare.after) continue; /* goes with the request it is for */
    nbc__coll_free_locked(r);
  }
  for (nbc_request *r = comm->requests; r; r = r->next)
    lost |= !r->compare.after || r->run.flying_count;
  for (int i = 0; i < NBC__COLL_CACHED; i++) {
    nbc__coll_discard(comm->entries[i].spare);
    if (!lost) nbc_schedule_free(comm->entries[i].schedule);
  }
  if (progress) {
    nbc__prog_detach(progress, comm->t);
    nbc__prog_unlock(progress);
  }
  nbc_transport *const own_transport = comm->own_transport;
  (void)nbc_progress_destroy(comm->own_progress);
  if (!lost)
    NBC_FREE(comm); /* else the transport may still write to its operations: lost on purpose */
  if (own_transport) nbc_transport_destroy(own_transport);
}

NBC_API const nbc_error *nbc_comm_error(const nbc_comm *comm) { return comm ? &comm->err : NULL; }

/* An operator's number is all that ranks compare of it, so all must make theirs in one order. */
NBC_API nbc_status nbc_comm_operator(nbc_comm *comm, nbc_reduce_fn fn, void *user, bool commutative,
                                     nbc_reduce *reduce) {
  if (!comm) return NBC_E_INVAL;
  if (!fn || !reduce)
    return nbc__status_fail(&comm->err, NBC_E_INVAL, 0, "operator: %s must not be NULL",
                            fn ? "reduce" : "fn");
  if (comm->operator_count == NBC__COLL_OPERATORS)
    return nbc__status_fail(&comm->err, NBC_E_FULL, 0, "operator: more than %d on one communicator",
                            (int)NBC__COLL_OPERATORS);
  comm->operators[comm->operator_count].fn = fn;
  comm->operators[comm->operator_count].user = user;
  comm->operators[comm->operator_count].commutative = commutative;
  *reduce = (nbc_reduce)(NBC_REDUCE_USER + comm->operator_count++);
  return NBC_OK;
}
