/* Collectives: schedules of nbc_overlap.h, run by whoever handles events. A node starts when those
   before it are finished; sends and receives are messages in the communicator's second context,
   whose tag is the number of the collective and the tag of the node. */
#include "gm.h"

static void run_ready(gm_coll *c);

static gm_msg *msg_take(gm_proc *p) {
  gm_msg *m = p->free_msgs;
  if (!m) return gm_alloc(sizeof *m);
  p->free_msgs = m->next;
  return m;
}
static void msg_give(gm_proc *p, gm_msg *m) {
  m->next = p->free_msgs;
  p->free_msgs = m;
}
static void node_done(gm_coll *c, uint32_t i) {
  const nbc_schedule *s = c->schedule;
  for (uint32_t k = s->nodes[i].first_after; k < s->nodes[i + 1].first_after; k++)
    if (--c->left[s->after[k]] == 0) c->ready[c->ready_last++] = s->after[k];
  c->todo--;
}
static void message_done(gm_msg *m) {
  gm_coll *c = m->user;
  const uint32_t node = m->user_id;
  if (m->error && !c->error) c->error = m->error;
  /* the others want something else: who gets less than is agreed sees it here */
  if (!m->is_send && m->bytes != c->schedule->nodes[node].size_bytes && !c->error)
    c->error = GM_ERR_OTHER;
  c->in_flight--;
  msg_give(c->proc, m);
  node_done(c, node);
  run_ready(c);
}
/* What follows calls nothing of the program's, and all that it posts has room. */
static bool is_light(const gm_msg *m) {
  const gm_coll *c = m->user;
  return !c->done && (!c->op || c->op->id != GM_OP_USER) && (int64_t)c->todo <= gm_room(c->proc);
}
static void *at(gm_coll *c, nbc_slice s) { return c->area[s.area] + s.offset_bytes; }
/* dst = left op right; operators of MPI give right = left op right. */
static void reduce(gm_coll *c, const nbc_node *n) {
  void *dst = at(c, n->u.reduce.dst);
  const void *left = at(c, n->u.reduce.left), *right = at(c, n->u.reduce.right);
  const uint64_t bytes = n->size_bytes,
                 count = c->schedule->elem_bytes ? bytes / c->schedule->elem_bytes : 0;
  const int64_t lb = c->type->lb;
  if (dst == left && dst != right) {
    char *spare = realloc(c->spare, bytes ? bytes : 1);
    if (!spare) gm_fatal("out of memory in a reduction");
    memcpy(c->spare = spare, right, bytes);
    gm_op_apply(c->op, c->type, (const char *)left - lb, c->spare - lb, count);
    memcpy(dst, c->spare, bytes);
    return;
  }
  if (dst != right) memmove(dst, right, bytes);
  gm_op_apply(c->op, c->type, (const char *)left - lb, (char *)dst - lb, count);
}
static uint32_t tag_of(const gm_coll *c, uint32_t tag) {
  const uint32_t kind = c->sequence & GM_PERSISTENT ? 0x400u : 0;
  return (kind | (c->sequence & 0x3FF)) << 20 | (tag & 0xFFFFF);
}
static void fire(gm_coll *c, uint32_t i) {
  const nbc_node *n = &c->schedule->nodes[i];
  gm_msg *m;
  switch (n->type) {
  case NBC_NODE_SEND:
  case NBC_NODE_RECV: {
    const int peer = gm_group_world(c->peers, n->u.msg.peer);
    m = msg_take(c->proc);
    m->done = message_done;
    m->is_light = is_light;
    m->user = c;
    m->user_id = i;
    m->owner = c->owner;
    m->place = c->place;
    c->in_flight++;
    if (n->type == NBC_NODE_SEND) /* after an error nothing: who gets that sees it too */
      gm_isend(c->proc, m, at(c, n->u.msg.buffer), c->error ? 0 : n->size_bytes, peer, c->context,
               (int)tag_of(c, n->u.msg.tag), 0);
    else
      gm_irecv(c->proc, m, at(c, n->u.msg.buffer), n->size_bytes, peer, c->context,
               (int)tag_of(c, n->u.msg.tag));
    break;
  }
  case NBC_NODE_COPY:
    if (!gm_nowhere) memmove(at(c, n->u.copy.dst), at(c, n->u.copy.src), n->size_bytes);
    gm_busy_bytes((double)n->size_bytes);
    node_done(c, i);
    break;
  case NBC_NODE_REDUCE:
    if (!gm_nowhere) reduce(c, n);
    gm_busy_bytes((double)n->size_bytes);
    node_done(c, i);
    break;
  default: node_done(c, i); break;
  }
}
/* Not nested: who is in it already goes on with what became ready meanwhile. */
static void run_ready(gm_coll *c) {
  if (c->is_firing) return;
  c->is_firing = 1;
  while (c->ready_first < c->ready_last) fire(c, c->ready[c->ready_first++]);
  c->is_firing = 0;
  if (c->todo || c->is_done) return;
  c->is_done = 1;
  if (c->done) c->done(c);
}
/* A worker on a core of its own also posts the first messages: the call only hands over, and
   returns. */
static void hand_over(gm_proc *p, gm_coll *c) {
  if (p->handed)
    p->handed_last->next_handed = c;
  else
    p->handed = c;
  p->handed_last = c;
  if (pm_eq_call(p->eq)) gm_fatal("the worker's queue does not call");
}
int gm_coll_begin_handed(gm_proc *p) {
  gm_coll *c = p->handed;
  if (!c) return 0;
  p->handed = c->next_handed;
  run_ready(c);
  return 1;
}
void gm_coll_clear(gm_coll *c) {
  free(c->left);
  free(c->scratch);
  free(c->spare);
  if (c->owns_schedule) nbc_schedule_free((nbc_schedule *)(uintptr_t)c->schedule);
  c->left = NULL;
  c->scratch = c->spare = NULL;
  c->schedule = NULL;
}

/* ---- starting ---------------------------------------------------------------------------------------- */
int gm_coll_start_schedule(gm_proc *p, gm_comm *comm, nbc_schedule *schedule, int owns,
                           const void *send, void *recv, gm_op *op, gm_type *type, gm_coll *c) {
  void (*done)(gm_coll *) = c->done;
  void *user = c->user;
  const uint32_t n = schedule->node_count;
  const uint32_t sequence = c->is_numbered ? c->sequence : comm->sequence++;
  memset(c, 0, sizeof *c);
  c->done = done;
  c->user = user;
  c->proc = p;
  c->owner = p->record ? gm_record_owner(p) : NULL;
  c->place = p->record && *gm_place_now() ? (*gm_place_now())->number : 0;
  c->schedule = schedule;
  c->owns_schedule = owns;
  c->peers = gm_peers(comm);
  c->context = comm->context + 1;
  c->sequence = sequence;
  c->op = op;
  c->type = type;
  if (schedule->scratch_bytes && !gm_nowhere) {
    c->scratch = malloc(schedule->scratch_bytes);
    if (!c->scratch)
      gm_fatal("out of memory: %llu bytes for a collective",
               (unsigned long long)schedule->scratch_bytes);
  }
  c->area[NBC_AREA_SEND] = (char *)(uintptr_t)send;
  c->area[NBC_AREA_RECV] = recv;
  c->area[NBC_AREA_SCRATCH] = gm_nowhere ? gm_nowhere : c->scratch;
  c->left = gm_alloc((size_t)n * 2 * sizeof *c->left);
  c->ready = c->left + n;
  c->todo = n;
  for (uint32_t i = 0; i < n; i++)
    if ((c->left[i] = schedule->nodes[i].before_count) == 0) c->ready[c->ready_last++] = i;
  if (gm_set.progress == GM_DEDICATED && done && n)
    hand_over(p, c);
  else
    run_ready(c);
  return GM_OK;
}
static int same_plan(const nbc_schedule_desc *a, const nbc_schedule_desc *b) {
  return a->coll == b->coll && a->count == b->count && a->elem_bytes == b->elem_bytes &&
         a->root == b->root && a->in_place == b->in_place &&
         a->not_commutative == b->not_commutative;
}
/* Two levels where processes share nodes. Of the time that one level takes, on nodes of 4 to 32 filled one after the
   other: broadcasts and reductions of up to 16 KiB 0.3 to 1.1, allreduce 0.3 to 1.0, a barrier 0.3 to 0.9. Longer
   broadcasts are scattered then, which on such nodes is as fast (0.9 to 3.2 times slower in two levels). */
static const int *levels(gm_group *g, const nbc_schedule_desc *d) {
  const int *nodes = gm_group_nodes(g);
  const uint64_t bytes = d->count * (d->elem_bytes ? d->elem_bytes : 1);
  if (nodes && !d->table && g->fills_nodes && d->coll == NBC_COLL_BCAST && bytes > 32 * 1024)
    return NULL;
  return nodes;
}
int gm_coll_start(gm_proc *p, gm_comm *comm, gm_coll_args *args, gm_coll *c) {
  nbc_schedule_desc *d = &args->desc;
  nbc_schedule *schedule = NULL;
  const int may_keep = !d->send_counts && !d->recv_counts && comm->local->size <= 512;
  nbc_error err;
  d->rank = comm->rank;
  d->size = comm->local->size;
  d->table = gm_set.choice;
  d->nodes = levels(comm->local, d);
  /* Of long blocks few are fetched at a time: more of them only meet at the senders when processes
     are not in step (16 nodes, 1 us apart: 1 MiB blocks take 1.6 ms one by one, 3.1 with four at a
     time, 4.7 with sixteen). */
  if (!d->table && (d->coll == NBC_COLL_ALLTOALL || d->coll == NBC_COLL_ALLTOALLV))
    d->window_count = d->count * d->elem_bytes <= 128 * 1024 && !d->send_counts ? 2 : 1;
  for (int i = 0; i < GM_PLANS && may_keep && !schedule; i++)
    if (comm->plan[i].schedule && same_plan(&comm->plan[i].desc, d))
      schedule = comm->plan[i].schedule;
  int owns = 0;
  if (!schedule) {
    if (nbc_schedule_build(d, &schedule, &err))
      gm_fatal("a collective could not be planned: %s", err.text);
    owns = !may_keep;
    gm_plan *plan = &comm->plan[comm->next_plan];
    /* a plan may still be in use by a collective under way: then it stays with that collective
       alone */
    if (may_keep && plan->schedule) owns = 1;
    if (may_keep && !plan->schedule) {
      plan->desc = *d;
      plan->schedule = schedule;
      comm->next_plan = (comm->next_plan + 1) % GM_PLANS;
    }
  }
  return gm_coll_start_schedule(p, comm, schedule, owns, args->send, args->recv, args->op,
                                args->type, c);
}
int gm_coll_run(gm_proc *p, gm_comm *comm, gm_coll_args *args) {
  gm_coll c;
  memset(&c, 0, sizeof c);
  gm_coll_start(p, comm, args, &c);
  gm_wait(p, &c.is_done);
  gm_coll_clear(&c);
  return c.error;
}

/* ---- for the core itself ------------------------------------------------------------------------------- */
int gm_allgather_bytes(gm_proc *p, gm_comm *comm, const void *mine, void *all, uint64_t bytes) {
  gm_coll_args a;
  memset(&a, 0, sizeof a);
  a.desc.coll = NBC_COLL_ALLGATHER;
  a.desc.elem_bytes = bytes;
  a.desc.count = 1;
  a.send = mine;
  a.recv = all;
  return gm_coll_run(p, comm, &a);
}
int gm_allreduce_max(gm_proc *p, gm_comm *comm, int64_t *values, int count) {
  static gm_type *type;
  static gm_op op = {.refs = 1, .id = GM_MAX, .is_commutative = 1};
  gm_coll_args a;
  if (!type) type = gm_type_basic(GM_K_I64, 8, 8);
  memset(&a, 0, sizeof a);
  a.desc.coll = NBC_COLL_ALLREDUCE;
  a.desc.elem_bytes = 8;
  a.desc.count = (uint64_t)count;
  a.desc.in_place = 1;
  a.send = values;
  a.recv = values;
  a.op = &op;
  a.type = type;
  return gm_coll_run(p, comm, &a);
}
int gm_bcast_bytes(gm_proc *p, gm_comm *comm, void *data, uint64_t bytes, int root) {
  gm_coll_args a;
  memset(&a, 0, sizeof a);
  a.desc.coll = NBC_COLL_BCAST;
  a.desc.count = bytes;
  a.desc.root = root;
  a.recv = data;
  return gm_coll_run(p, comm, &a);
}
int gm_barrier(gm_proc *p, gm_comm *comm) {
  gm_coll_args a;
  memset(&a, 0, sizeof a);
  a.desc.coll = NBC_COLL_BARRIER;
  return gm_coll_run(p, comm, &a);
}

/* ---- schedules written by hand --------------------------------------------------------------------------- */
static nbc_node *draft_node(gm_draft *d, nbc_node_type type, uint64_t bytes) {
  d->node = gm_grow(d->node, &d->nodes_max, d->nodes + 2, sizeof *d->node);
  nbc_node *n = &d->node[d->nodes++];
  memset(n, 0, sizeof *n);
  n->type = type;
  n->size_bytes = bytes;
  return n;
}
static nbc_slice slice(nbc_area area, uint64_t offset) {
  const nbc_slice s = {area, offset};
  return s;
}
static uint32_t draft_message(gm_draft *d, nbc_node_type type, int peer, uint32_t tag,
                              nbc_slice buffer, uint64_t bytes) {
  nbc_node *n = draft_node(d, type, bytes);
  n->u.msg.buffer = buffer;
  n->u.msg.peer = peer;
  n->u.msg.tag = tag;
  return d->nodes - 1;
}
uint32_t gm_draft_send(gm_draft *d, int peer, uint32_t tag, nbc_area area, uint64_t offset,
                       uint64_t bytes) {
  return draft_message(d, NBC_NODE_SEND, peer, tag, slice(area, offset), bytes);
}
uint32_t gm_draft_recv(gm_draft *d, int peer, uint32_t tag, nbc_area area, uint64_t offset,
                       uint64_t bytes) {
  return draft_message(d, NBC_NODE_RECV, peer, tag, slice(area, offset), bytes);
}
uint32_t gm_draft_copy(gm_draft *d, nbc_area to, uint64_t to_offset, nbc_area from,
                       uint64_t from_offset, uint64_t bytes) {
  nbc_node *n = draft_node(d, NBC_NODE_COPY, bytes);
  n->u.copy.dst = slice(to, to_offset);
  n->u.copy.src = slice(from, from_offset);
  return d->nodes - 1;
}
uint32_t gm_draft_reduce(gm_draft *d, nbc_area dst, uint64_t dst_offset, nbc_area left,
                         uint64_t left_offset, nbc_area right, uint64_t right_offset,
                         uint64_t bytes) {
  nbc_node *n = draft_node(d, NBC_NODE_REDUCE, bytes);
  n->u.reduce.dst = slice(dst, dst_offset);
  n->u.reduce.left = slice(left, left_offset);
  n->u.reduce.right = slice(right, right_offset);
  return d->nodes - 1;
}
void gm_draft_edge(gm_draft *d, uint32_t before, uint32_t after) {
  uint32_t max = d->edges_max;
  d->from = gm_grow(d->from, &max, d->edges + 1, sizeof *d->from);
  d->after = gm_grow(d->after, &d->edges_max, d->edges + 1, sizeof *d->after);
  d->from[d->edges] = before;
  d->after[d->edges++] = after;
}
nbc_schedule *gm_draft_finish(gm_draft *d, uint64_t elem_bytes) {
  nbc_schedule *s = gm_alloc(sizeof *s);
  d->node = gm_grow(d->node, &d->nodes_max, d->nodes + 1, sizeof *d->node);
  s->nodes = d->node;
  s->node_count = d->nodes;
  s->after = gm_alloc((size_t)d->edges * sizeof *s->after);
  s->after_count = d->edges;
  s->elem_bytes = elem_bytes;
  s->scratch_bytes = d->scratch_bytes;
  for (uint32_t i = 0; i <= d->nodes; i++) s->nodes[i].first_after = 0;
  for (uint32_t e = 0; e < d->edges; e++) s->nodes[d->from[e] + 1].first_after++;
  for (uint32_t i = 0; i < d->nodes; i++) s->nodes[i + 1].first_after += s->nodes[i].first_after;
  uint32_t *next = gm_alloc((size_t)(d->nodes + 1) * sizeof *next);
  for (uint32_t i = 0; i <= d->nodes; i++) next[i] = s->nodes[i].first_after;
  for (uint32_t e = 0; e < d->edges; e++) {
    s->after[next[d->from[e]]++] = d->after[e];
    s->nodes[d->after[e]].before_count++;
  }
  free(next);
  free(d->from);
  free(d->after);
  memset(d, 0, sizeof *d);
  return s;
}
