/* Runs the operations of each rank as a simulated process. No buffer of a program is here: all messages lie in
   one reserved piece of address space, and the world moves no data. */
#include "replay.h"

typedef struct request {
  gm_msg msg;
  gm_coll *coll; /* NULL: a message */
  bool is_active;
  struct request *next; /* of those that were freed */
} request;
typedef struct state {
  rp_rank *r;
  gm_proc *p;
  gm_comm **comm;
  request **slot, *freed;
  double compute_ratio;
  struct {
    uint32_t first;
    uint64_t left;
  } loop[RP_DEPTH];
  int depth;
  /* of a graph */
  uint32_t *ready, ready_first, ready_last, *calc, calc_first, calc_last, todo;
  struct graph_message *free_messages;
} state;
typedef struct position {
  uint32_t at;
  bool has_ended;
} position;
static position *positions;

/* ---- where they are ------------------------------------------------------------------------------------ */
static void name_op(const rp_op *op, char *text, size_t bytes) {
  const char *const what[] = {"computation", "send",    "receive", "wait", "wait for all",
                              "cancelling",  "freeing", "",        "loop", "end of a loop"};
  char peer[24] = "any", tag[24] = "any";
  if (op->peer >= 0) snprintf(peer, sizeof peer, "%d", op->peer);
  if (op->tag >= 0) snprintf(tag, sizeof tag, "%d", op->tag);
  if (op->kind == RP_COLL)
    snprintf(text, bytes, "%s of %llu bytes", nbc_coll_name((nbc_coll)op->coll),
             (unsigned long long)(op->bytes * op->elem_bytes));
  else if (op->kind == RP_SEND || op->kind == RP_RECV)
    snprintf(text, bytes, "%s of %llu bytes, peer %s, tag %s", what[op->kind],
             (unsigned long long)op->bytes, peer, tag);
  else
    snprintf(text, bytes, "%s", what[op->kind]);
}
void rp_where(int max) {
  int silent = 0;
  char text[160];
  for (int i = 0; i < rp_size && positions; i++) {
    const rp_rank *r = &rp_ranks[i];
    if (positions[i].has_ended) continue;
    if (--max < 0) {
      silent++;
      continue;
    }
    if (positions[i].at >= r->count) {
      fprintf(stderr, "  rank %d: at its end, or between operations\n", i);
      continue;
    }
    name_op(&r->op[positions[i].at], text, sizeof text);
    fprintf(stderr, "  rank %d: %s: line %u: %s\n", i, r->path, r->op[positions[i].at].line, text);
  }
  if (silent) fprintf(stderr, "  and %d more\n", silent);
}

/* ---- operations ---------------------------------------------------------------------------------------- */
static gm_comm *comm_of(state *s, uint32_t c) {
  if (!s->comm[c]) s->comm[c] = gm_comm_make(s->p, s->r->group[c], NULL, s->r->context[c]);
  return s->comm[c];
}
static request *slot_of(state *s, const rp_op *op) {
  request **at = &s->slot[op->slot];
  if (!*at) *at = gm_alloc(sizeof **at);
  if ((*at)->is_active)
    gm_fatal("%s: line %u: request %u is still in use", s->r->path, op->line, op->slot);
  (*at)->is_active = 1;
  return *at;
}
static void message(state *s, const rp_op *op, gm_msg *m) {
  gm_comm *c = comm_of(s, op->comm);
  const int peer = op->peer >= 0 ? gm_group_world(c->local, op->peer) : GM_ANY_SOURCE;
  if (op->kind == RP_SEND)
    gm_isend(s->p, m, gm_nowhere, op->bytes, peer, c->context, op->tag, (op->flags & RP_SYNC) != 0);
  else
    gm_irecv(s->p, m, gm_nowhere, op->bytes, peer, c->context, op->tag);
}
static void wait_for(state *s, request *q) {
  if (!q || !q->is_active) return;
  if (q->coll) {
    gm_wait(s->p, &q->coll->is_done);
    gm_coll_clear(q->coll);
    free(q->coll);
    q->coll = NULL;
  } else {
    gm_wait(s->p, &q->msg.is_done);
    if (q->msg.error == GM_ERR_TRUNCATE)
      gm_fatal("%s: a message was longer than its receive", s->r->path);
  }
  q->is_active = 0;
}
static void wait_all(state *s) {
  for (uint32_t i = 0; i < s->r->slots; i++) wait_for(s, s->slot[i]);
}
static void cancel(state *s, request *q) {
  if (q && q->is_active && !q->coll && !q->msg.is_done) gm_cancel(s->p, &q->msg);
}
static void free_slot(state *s, uint32_t slot) {
  request *q = s->slot[slot], *older;
  if (!q || !q->is_active) return;
  while ((older = s->freed) && !older->coll && older->msg.is_done) {
    s->freed = older->next;
    free(older);
  }
  q->next = s->freed;
  s->freed = q;
  s->slot[slot] = NULL;
}
/* At the end of a rank: what it freed has ended, or been withdrawn when nobody has sent it. */
static void end_freed(state *s) {
  for (request *q = s->freed, *next; q; q = next) {
    next = q->next;
    cancel(s, q);
    wait_for(s, q);
    free(q);
  }
}
/* What a timer's worker took from the computation: paid at the next call, as in pm_run. */
static void pay(state *s) {
  const int64_t d_ns = s->p->stolen_ns;
  if (!d_ns) return;
  s->p->stolen_ns = 0;
  pm_compute_ns(d_ns);
}
static void compute(state *s, uint64_t d_ns) {
  pm_compute_ns((int64_t)((double)d_ns * s->compute_ratio + 0.5));
  pay(s);
}
void rp_coll_args(const rp_rank *r, const rp_op *op, int rank, gm_coll_args *args) {
  nbc_schedule_desc *d = &args->desc;
  const int size = r->group[op->comm]->size;
  memset(args, 0, sizeof *args);
  args->send = args->recv = gm_nowhere;
  d->coll = (nbc_coll)op->coll;
  d->root = op->peer;
  d->elem_bytes = op->elem_bytes;
  d->count = op->bytes;
  d->in_place = (op->flags & RP_IN_PLACE) != 0;
  d->rank = rank;
  d->size = size;
  if (!(op->flags & RP_VECTOR)) return;
  const uint64_t *first = r->numbers + op->counts;
  switch (d->coll) {
  case NBC_COLL_ALLTOALLV:
    d->send_counts = first;
    d->recv_counts = first + size;
    break;
  case NBC_COLL_SCATTERV: d->send_counts = first; break;
  default: d->recv_counts = first; break;
  }
}
static void collective(state *s, const rp_op *op) {
  gm_comm *comm = comm_of(s, op->comm);
  gm_coll_args args;
  gm_coll own;
  rp_coll_args(s->r, op, comm->rank, &args);
  if (op->flags & RP_STARTS) {
    request *q = slot_of(s, op);
    q->coll = gm_alloc(sizeof *q->coll);
    gm_coll_start(s->p, comm, &args, q->coll);
    return;
  }
  memset(&own, 0, sizeof own);
  gm_coll_start(s->p, comm, &args, &own);
  gm_wait(s->p, &own.is_done);
  gm_coll_clear(&own);
}
static void do_op(state *s, const rp_op *op) {
  gm_msg own;
  pay(s);
  switch (op->kind) {
  case RP_COMPUTE: compute(s, op->bytes); break;
  case RP_SEND:
  case RP_RECV:
    if (op->flags & RP_STARTS) {
      request *q = slot_of(s, op);
      q->msg.done = NULL;
      message(s, op, &q->msg);
      break;
    }
    own.done = NULL;
    own.is_light = NULL;
    own.user = NULL;
    own.user_id = 0;
    message(s, op, &own);
    gm_wait(s->p, &own.is_done);
    if (own.error == GM_ERR_TRUNCATE)
      gm_fatal("%s: line %u: a message was longer than its receive", s->r->path, op->line);
    break;
  case RP_WAIT: wait_for(s, s->slot[op->slot]); break;
  case RP_WAIT_ALL: wait_all(s); break;
  case RP_CANCEL: cancel(s, s->slot[op->slot]); break;
  case RP_FREE: free_slot(s, op->slot); break;
  case RP_COLL: collective(s, op); break;
  default: break;
  }
}
static void run_list(state *s) {
  position *now = &positions[s->p->rank];
  for (uint32_t i = 0; i < s->r->count; i++) {
    const rp_op *op = &s->r->op[i];
    now->at = i;
    if (op->kind == RP_REPEAT) {
      s->loop[s->depth].first = i;
      s->loop[s->depth++].left = op->bytes;
    } else if (op->kind == RP_END) {
      if (--s->loop[s->depth - 1].left)
        i = s->loop[s->depth - 1].first;
      else
        s->depth--;
    } else
      do_op(s, op);
  }
}

/* ---- graphs: an operation starts when those before it have ended (or started) -------------------------------- */
static void release(state *s, uint32_t i, uint32_t at_start) {
  const rp_rank *r = s->r;
  for (uint32_t k = r->first_after[i]; k < r->first_after[i + 1]; k++) {
    const uint32_t next = r->after[k] & 0x7FFFFFFF;
    if ((r->after[k] & 0x80000000u) == at_start && --r->before[next] == 0)
      s->ready[s->ready_last++] = next;
  }
}
static void ended(state *s, uint32_t i) {
  s->todo--;
  release(s, i, 0);
}
typedef struct graph_message {
  gm_msg msg;
  state *state;
  struct graph_message *next;
} graph_message;
static void graph_done(gm_msg *m) {
  graph_message *g = (graph_message *)m;
  state *s = g->state;
  const uint32_t i = m->user_id;
  if (m->error == GM_ERR_TRUNCATE)
    gm_fatal("%s: line %u: a message was longer than its receive", s->r->path, s->r->op[i].line);
  g->next = s->free_messages;
  s->free_messages = g;
  ended(s, i);
}
static void start_ready(state *s) {
  while (s->ready_first < s->ready_last) {
    const uint32_t i = s->ready[s->ready_first++];
    const rp_op *op = &s->r->op[i];
    if (op->kind == RP_COMPUTE) {
      s->calc[s->calc_last++] = i;
      continue;
    }
    graph_message *g = s->free_messages;
    if (g)
      s->free_messages = g->next;
    else
      g = gm_alloc(sizeof *g);
    g->state = s;
    g->msg.done = graph_done;
    g->msg.user = NULL;
    g->msg.user_id = i;
    positions[s->p->rank].at = i;
    message(s, op, &g->msg);
    release(s, i, 0x80000000u);
  }
}
static void run_graph(state *s) {
  const rp_rank *r = s->r;
  s->ready = gm_alloc((size_t)(r->count + 1) * 2 * sizeof *s->ready);
  s->calc = s->ready + r->count + 1;
  s->todo = r->count;
  for (uint32_t i = 0; i < r->count; i++)
    if (!r->before[i]) s->ready[s->ready_last++] = i;
  while (s->todo) {
    start_ready(s);
    if (s->calc_first < s->calc_last) {
      const uint32_t i = s->calc[s->calc_first++];
      release(s, i, 0x80000000u);
      positions[s->p->rank].at = i;
      compute(s, r->op[i].bytes);
      ended(s, i);
    } else if (s->todo && s->ready_first == s->ready_last) {
      gm_wait_event(s->p);
    }
  }
  free(s->ready);
  for (graph_message *g = s->free_messages, *next; g; g = next) {
    next = g->next;
    free(g);
  }
}
void rp_begin(void) {
  positions = gm_alloc((size_t)rp_size * sizeof *positions);
  gm_procs_are(rp_size);
}
/* Over several threads of the host, what all ranks share is made by the first one, before the others begin. */
static bool opens(gm_proc *p, const rp_options *options) {
  if (!options->threads) return !gm_open(p);
  if (p->rank) pm_barrier();
  const bool is_open = !gm_open(p);
  if (p->rank) return is_open;
  for (int i = 0; i < rp_size; i++)
    for (uint32_t c = 0; c < rp_ranks[i].comm_count; c++) gm_group_ready(rp_ranks[i].group[c]);
  pm_barrier();
  return is_open;
}
void rp_rank_main(void *arg) {
  const rp_options *options = arg;
  gm_proc *p = gm_self();
  rp_rank *r = &rp_ranks[p->rank];
  state *s = gm_alloc(sizeof *s);
  s->r = r;
  s->p = p;
  s->compute_ratio = options->compute_ratio;
  s->comm = gm_alloc(r->comm_count * sizeof(gm_comm *));
  s->slot = gm_alloc(r->slots * sizeof(request *));
  if (!opens(p, options)) gm_fatal("the simulated machine has no interface");
  pm_barrier(); /* nobody sends to a process that has not opened yet */
  if (r->is_graph)
    run_graph(s);
  else
    run_list(s);
  positions[p->rank].at = r->count;
  wait_all(s);
  end_freed(s);
  for (uint32_t i = 0; i < r->comm_count; i++) gm_comm_unref(s->comm[i]);
  for (uint32_t i = 0; i < r->slots; i++) free(s->slot[i]);
  free(s->slot);
  free(s->comm);
  free(s);
  pm_barrier(); /* nor to one that has ended */
  gm_close(p);
  positions[p->rank].has_ended = 1;
  pm_exit(0); /* with a worker that sleeps */
}
