/* price.c: schedules printed and priced. */
#include "price.h"

/* ---- the printer --------------------------------------------------------------------------- */
static void nbc__sched_slice_text(char text[64], nbc_slice s, uint64_t size_bytes) {
  static const char *const names[] = {"none", "send", "recv", "scratch"};
  if (s.area == NBC_AREA_NONE)
    snprintf(text, 64, "nothing");
  else
    snprintf(text, 64, "%s[%llu,%llu)", names[s.area], (unsigned long long)s.offset_bytes,
             (unsigned long long)(s.offset_bytes + size_bytes));
}

static void nbc__sched_node_text(char text[256], const nbc_node *node) {
  char a[64], b[64], c[64];
  switch (node->type) {
  case NBC_NODE_NOP: snprintf(text, 256, "nop"); break;
  case NBC_NODE_SEND:
  case NBC_NODE_RECV:
    nbc__sched_slice_text(a, node->u.msg.buffer, node->size_bytes);
    snprintf(text, 256, "%s %d #%u %s", node->type == NBC_NODE_SEND ? "send to" : "recv from",
             node->u.msg.peer, (unsigned)node->u.msg.tag, a);
    break;
  case NBC_NODE_COPY:
    nbc__sched_slice_text(a, node->u.copy.dst, node->size_bytes);
    nbc__sched_slice_text(b, node->u.copy.src, node->size_bytes);
    snprintf(text, 256, "%s = %s", a, b);
    break;
  case NBC_NODE_REDUCE:
    nbc__sched_slice_text(a, node->u.reduce.dst, node->size_bytes);
    nbc__sched_slice_text(b, node->u.reduce.left, node->size_bytes);
    nbc__sched_slice_text(c, node->u.reduce.right, node->size_bytes);
    snprintf(text, 256, "%s = %s op %s", a, b, c);
    break;
  }
}

NBC_API nbc_status nbc_schedule_print(const nbc_schedule *schedule, FILE *out) {
  if (!schedule || !out) return NBC_E_INVAL;
  fprintf(out, "%s %s: rank %d of %d, %u nodes, scratch %llu bytes\n",
          nbc_coll_name(schedule->coll), nbc_algo_name(schedule->algo), schedule->rank,
          schedule->size, (unsigned)schedule->node_count,
          (unsigned long long)schedule->scratch_bytes);
  for (uint32_t i = 0; i < schedule->node_count; i++) {
    const nbc_node *const node = &schedule->nodes[i];
    char text[256];
    nbc__sched_node_text(text, node);
    fprintf(out, "  %u: %s", (unsigned)i, text);
    for (uint32_t k = node[0].first_after; k < node[1].first_after; k++)
      fprintf(out, "%s %u", k == node[0].first_after ? " ->" : "", (unsigned)schedule->after[k]);
    fputc('\n', out);
  }
  return ferror(out) ? NBC_E_IO : NBC_OK;
}

typedef struct nbc__sched_message_key {
  int from, to;
  uint32_t tag;
  int receive;
  size_t node;
} nbc__sched_message_key;

NBC__PRIVATE const nbc_node *nbc__sched_world_node(const nbc__sched_world *w, size_t i) {
  const int r = w->rank_of[i];
  return &w->schedules[r]->nodes[i - w->first[r]];
}

static int nbc__sched_compare_keys(const void *a, const void *b) {
  const nbc__sched_message_key *const x = (const nbc__sched_message_key *)a,
                                      *const y = (const nbc__sched_message_key *)b;
  if (x->from != y->from) return x->from < y->from ? -1 : 1;
  if (x->to != y->to) return x->to < y->to ? -1 : 1;
  if (x->tag != y->tag) return x->tag < y->tag ? -1 : 1;
  /* false before true: the send before its receive */
  return x->receive - y->receive;
}

NBC__PRIVATE void nbc__sched_world_close(nbc__sched_world *w) {
  NBC_FREE(w->first);
  NBC_FREE(w->partner);
  NBC_FREE(w->rank_of);
  NBC_FREE(w->left);
}

/* Each message has exactly one sender and one receiver that name it alike: (from, to, tag). So,
   sorted by that key and then by direction, every send stands just before its receive, and any
   other neighbour is a message that one side does not know of. */
static nbc_status nbc__sched_world_match(nbc__sched_world *w, nbc_error *err) {
  nbc__sched_message_key *const keys =
      (nbc__sched_message_key *)NBC_MALLOC((w->node_count + 2) * sizeof *keys);
  if (!keys) return nbc__status_fail(err, NBC_E_NOMEM, 0, "schedules: out of memory");
  size_t count = 0;
  nbc_status status = NBC_OK;
  for (size_t i = 0; i < w->node_count; i++) {
    const nbc_node *const node = nbc__sched_world_node(w, i);
    w->partner[i] = i;
    if (node->type != NBC_NODE_SEND && node->type != NBC_NODE_RECV) continue;
    nbc__sched_message_key *const key = &keys[count++];
    key->receive = node->type == NBC_NODE_RECV;
    key->from = key->receive ? node->u.msg.peer : w->rank_of[i];
    key->to = key->receive ? w->rank_of[i] : node->u.msg.peer;
    key->tag = node->u.msg.tag;
    key->node = i;
  }
  qsort(keys, count, sizeof *keys, nbc__sched_compare_keys);
  for (size_t i = 0; i < count && !status; i += 2) {
    const nbc__sched_message_key *const a = &keys[i], *const b = &keys[i + 1];
    if (i + 1 == count || a->receive || !b->receive || a->from != b->from || a->to != b->to ||
        a->tag != b->tag)
      status = nbc__status_fail(err, NBC_E_STATE, 0,
                                "message %d -> %d #%u: not one send and one receive", a->from,
                                a->to, (unsigned)a->tag);
    else if (nbc__sched_world_node(w, a->node)->size_bytes !=
             nbc__sched_world_node(w, b->node)->size_bytes)
      status = nbc__status_fail(err, NBC_E_STATE, 0,
                                "message %d -> %d #%u: sends %llu bytes, receives %llu", a->from,
                                a->to, (unsigned)a->tag,
                                (unsigned long long)nbc__sched_world_node(w, a->node)->size_bytes,
                                (unsigned long long)nbc__sched_world_node(w, b->node)->size_bytes);
    else
      w->partner[a->node] = b->node, w->partner[b->node] = a->node;
  }
  NBC_FREE(keys);
  return status;
}

/* Whoever opens closes, also after an error: what was not allocated yet is NULL. */
NBC__PRIVATE nbc_status nbc__sched_world_open(nbc__sched_world *w,
                                              const nbc_schedule *const *schedules, int size,
                                              nbc_error *err) {
  memset(w, 0, sizeof *w);
  if (size < 1) return nbc__status_fail(err, NBC_E_RANGE, 0, "size: %d is not in 1..", size);
  w->schedules = schedules;
  w->size = size;
  w->first = (size_t *)NBC_MALLOC(((size_t)size + 1) * sizeof *w->first);
  if (!w->first) return nbc__status_fail(err, NBC_E_NOMEM, 0, "schedules: out of memory");
  for (int r = 0; r < size; r++) {
    if (!schedules[r] || schedules[r]->rank != r || schedules[r]->size != size)
      return nbc__status_fail(err, NBC_E_INVAL, 0, "schedules[%d]: is not that of rank %d of %d", r,
                              r, size);
    w->first[r] = w->node_count;
    w->node_count += schedules[r]->node_count;
  }
  w->first[size] = w->node_count;
  w->partner = (size_t *)NBC_MALLOC(w->node_count * sizeof *w->partner);
  w->rank_of = (int *)NBC_MALLOC(w->node_count * sizeof *w->rank_of);
  w->left = (uint32_t *)NBC_MALLOC(w->node_count * sizeof *w->left);
  if (!w->partner || !w->rank_of || !w->left)
    return nbc__status_fail(err, NBC_E_NOMEM, 0, "schedules: out of memory");
  for (int r = 0; r < size; r++)
    for (uint32_t i = 0; i < schedules[r]->node_count; i++) {
      w->rank_of[w->first[r] + i] = r;
      w->left[w->first[r] + i] = schedules[r]->nodes[i].before_count;
    }
  return nbc__sched_world_match(w, err);
}

/* Names a node that never ran. */
NBC__PRIVATE nbc_status nbc__sched_stuck(const nbc__sched_world *w, size_t i, nbc_error *err) {
  char text[256];
  nbc__sched_node_text(text, nbc__sched_world_node(w, i));
  return nbc__status_fail(err, NBC_E_STATE, 0, "deadlock: rank %d, node %u (%.100s) never finishes",
                          w->rank_of[i], (unsigned)(i - w->first[w->rank_of[i]]), text);
}

/* Nodes are drawn before messages are matched, so that a schedule with a mistake can be seen: then
   the dashed arrows are missing, and the status says why. */
NBC_API nbc_status nbc_schedule_print_dot(const nbc_schedule *const *schedules, int size,
                                          FILE *out) {
  if (!schedules || !out) return NBC_E_INVAL;
  if (size < 1) return NBC_E_RANGE;
  for (int r = 0; r < size; r++)
    if (!schedules[r]) return NBC_E_INVAL;
  fprintf(out, "digraph \"%s %s\" {\n  node [shape=box];\n", nbc_coll_name(schedules[0]->coll),
          nbc_algo_name(schedules[0]->algo));
  for (int r = 0; r < size; r++) {
    const nbc_schedule *const s = schedules[r];
    fprintf(out, "  subgraph cluster_%d {\n    label=\"rank %d\";\n", r, r);
    for (uint32_t i = 0; i < s->node_count; i++) {
      char text[256];
      nbc__sched_node_text(text, &s->nodes[i]);
      fprintf(out, "    r%d_%u [label=\"%s\"];\n", r, (unsigned)i, text);
      for (uint32_t k = s->nodes[i].first_after; k < s->nodes[i + 1].first_after; k++)
        fprintf(out, "    r%d_%u -> r%d_%u;\n", r, (unsigned)i, r, (unsigned)s->after[k]);
    }
    fprintf(out, "  }\n");
  }
  nbc__sched_world w;
  const nbc_status status = nbc__sched_world_open(&w, schedules, size, NULL);
  for (size_t i = 0; !status && i < w.node_count; i++) {
    const int r = w.rank_of[i], peer = w.rank_of[w.partner[i]];
    if (nbc__sched_world_node(&w, i)->type == NBC_NODE_SEND)
      fprintf(out, "  r%d_%u -> r%d_%u [style=dashed, constraint=false];\n", r,
              (unsigned)(i - w.first[r]), peer, (unsigned)(w.partner[i] - w.first[peer]));
  }
  nbc__sched_world_close(&w);
  fprintf(out, "}\n");
  if (status) return status;
  return ferror(out) ? NBC_E_IO : NBC_OK;
}

/* ---- the LogGP pricer ---------------------------------------------------------------------- */
/* The model of Alexandrov et al. (LogGP, 1995), with costs of copying and reducing added, run as a small
   discrete-event simulation. A rank's processor and its network interface each do one thing at a time:
     processor  o for each send and each receive, size x its cost per byte for a copy or reduction
     interface  a message leaves when the processor has handed it over and the message before it is out;
                it keeps the interface busy for max(g, size x G)
     wire       it is there L + size x G after it left, and can be received once it is posted too
   With nodes given, messages inside a node take the model of the inside and the sender's own interface;
   those that leave the node share its one interface (entries size ... 2 size - 1 of nic_free_ns). */
typedef struct nbc__sched_event {
  double t_ns;
  uint64_t order; /* first come, first served */
  size_t node;
} nbc__sched_event;

typedef struct nbc__sched_pricing {
  nbc__sched_world w;
  const nbc_loggp *model, *inside;
  const int *nodes;
  nbc__sched_event *heap; /* a node is in it once */
  size_t heap_count;
  uint64_t order_count;
  double *ready_ns, *arrival_ns;              /* per node; arrival < 0: not sent yet */
  double *cpu_free_ns, *nic_free_ns, *end_ns; /* per rank; nic: then those of the nodes */
} nbc__sched_pricing;

/* A total order: events of the same time go in the order in which they were pushed. So the
   same schedules always have the same price, whatever the heap does with equal times. */
static bool nbc__sched_sooner(const nbc__sched_event *a, const nbc__sched_event *b) {
  return a->t_ns < b->t_ns || (!(a->t_ns > b->t_ns) && a->order < b->order);
}

/* A binary heap. A node is pushed once, when the last thing that it waits for is known, so its size
   is that of the world. */
static void nbc__sched_push_event(nbc__sched_pricing *p, double t_ns, size_t node) {
  nbc__sched_event event;
  event.t_ns = t_ns, event.order = p->order_count++, event.node = node;
  size_t i = p->heap_count++;
  for (; i && nbc__sched_sooner(&event, &p->heap[(i - 1) / 2]); i = (i - 1) / 2)
    p->heap[i] = p->heap[(i - 1) / 2];
  p->heap[i] = event;
}

static nbc__sched_event nbc__sched_pop_event(nbc__sched_pricing *p) {
  const nbc__sched_event first = p->heap[0], last = p->heap[--p->heap_count];
  size_t i = 0;
  for (size_t c; (c = 2 * i + 1) < p->heap_count; i = c) {
    if (c + 1 < p->heap_count && nbc__sched_sooner(&p->heap[c + 1], &p->heap[c])) c++;
    if (!nbc__sched_sooner(&p->heap[c], &last)) break;
    p->heap[i] = p->heap[c];
  }
  p->heap[i] = last;
  return first;
}

/* A receive can be handled when it is posted and the message is there: called when either becomes
   known, it does something at the second of the two calls. */
static void nbc__sched_price_ready(nbc__sched_pricing *p, size_t i) {
  const bool receive = nbc__sched_world_node(&p->w, i)->type == NBC_NODE_RECV;
  if (receive && p->arrival_ns[i] < 0) return;
  nbc__sched_push_event(
      p, receive && p->arrival_ns[i] > p->ready_ns[i] ? p->arrival_ns[i] : p->ready_ns[i], i);
}

static double nbc__sched_price_node(nbc__sched_pricing *p, const nbc__sched_event *event) {
  const nbc_node *const node = nbc__sched_world_node(&p->w, event->node);
  const int r = p->w.rank_of[event->node], peer = p->w.rank_of[p->w.partner[event->node]];
  const bool near = p->nodes && p->nodes[r] == p->nodes[peer];
  const nbc_loggp *const m = near ? p->inside : p->model;
  double *const nic_free_ns = &p->nic_free_ns[p->nodes && !near ? p->w.size + p->nodes[r] : r];
  const double bytes = (double)node->size_bytes;
  double cost_ns = 0;
  switch (node->type) {
  case NBC_NODE_NOP: return event->t_ns;
  case NBC_NODE_SEND:
  case NBC_NODE_RECV: cost_ns = m->overhead_ns; break;
  case NBC_NODE_COPY: cost_ns = bytes * m->copy_per_byte_ns; break;
  case NBC_NODE_REDUCE: cost_ns = bytes * m->reduce_per_byte_ns; break;
  }
  /* Events come in the order of their times, so who is ready first has the processor first. */
  const double start_ns = event->t_ns > p->cpu_free_ns[r] ? event->t_ns : p->cpu_free_ns[r];
  const double end_ns = p->cpu_free_ns[r] = start_ns + cost_ns;
  if (node->type == NBC_NODE_SEND) {
    /* One rank's sends are handed over in the order of their events. A node's interface takes
       those of several ranks in that order, too, and not in that of end_ns: so a rank whose
       processor is busy can hold up another rank's message here. */
    const double wire_ns = bytes * m->gap_per_byte_ns;
    const double leave_ns = end_ns > *nic_free_ns ? end_ns : *nic_free_ns;
    const size_t other = p->w.partner[event->node];
    /* G is per byte; a message of n bytes is priced with n G where the paper has (n - 1) G: a
       difference of one byte. */
    *nic_free_ns = leave_ns + (wire_ns > m->gap_ns ? wire_ns : m->gap_ns);
    p->arrival_ns[other] = leave_ns + m->latency_ns + wire_ns;
    /* Posted already: the message was the last thing it waited for. Else it is looked at when its
       predecessors end. */
    if (!p->w.left[other]) nbc__sched_price_ready(p, other);
  }
  return end_ns;
}

/* Time never runs back: what an event makes possible is pushed at the event's own end or later. So
   when a node is popped, all that was ready before it has had processor and interface.

     rank 0  processor |o|                     size n, model L, o, g, G
             interface   |--max(g, nG)--|
             wire        |-----L + nG-----|
     rank 1  processor                    |o|

   The receiver's processor is free until the message is there: that is what LogGP can show of
   overlap, and why a receive is an event only when it can be handled. */
static nbc_status nbc__sched_price_run(nbc__sched_pricing *p, nbc_error *err) {
  nbc__sched_world *const w = &p->w;
  size_t finished_count = 0;
  for (size_t i = 0; i < w->node_count; i++) p->arrival_ns[i] = -1;
  for (size_t i = 0; i < w->node_count; i++)
    if (!w->left[i]) nbc__sched_price_ready(p, i);
  for (; p->heap_count; finished_count++) {
    const nbc__sched_event event = nbc__sched_pop_event(p);
    const double end_ns = nbc__sched_price_node(p, &event);
    const int r = w->rank_of[event.node];
    const nbc_node *const node = nbc__sched_world_node(w, event.node);
    if (end_ns > p->end_ns[r]) p->end_ns[r] = end_ns;
    for (uint32_t k = node[0].first_after; k < node[1].first_after; k++) {
      const size_t next = w->first[r] + w->schedules[r]->after[k];
      if (end_ns > p->ready_ns[next]) p->ready_ns[next] = end_ns;
      if (--w->left[next] == 0) nbc__sched_price_ready(p, next);
    }
    p->ready_ns[event.node] = -1; /* finished */
  }
  /* Fewer ended than there are: a circle, or a receive whose send never came. One of them is
     named. */
  for (size_t i = 0; i < w->node_count && finished_count < w->node_count; i++)
    if (p->ready_ns[i] >= 0) return nbc__sched_stuck(w, i, err);
  return NBC_OK;
}

/* Times that are none would not order events, and run for ever. */
static bool nbc__sched_is_price(const nbc_loggp *m) {
  const double costs[] = {m->latency_ns,      m->overhead_ns,        m->gap_ns,
                          m->gap_per_byte_ns, m->reduce_per_byte_ns, m->copy_per_byte_ns};
  for (size_t i = 0; i < sizeof costs / sizeof *costs; i++)
    if (!(costs[i] >= 0 && costs[i] < 1e300)) return false;
  return true;
}

NBC_API nbc_status nbc_schedule_price(const nbc_schedule *const *schedules, int size,
                                      const nbc_loggp *model, double *rank_end_ns, double *end_ns,
                                      nbc_error *err) {
  return nbc_schedule_price_nodes(schedules, size, model, NULL, NULL, rank_end_ns, end_ns, err);
}

NBC_API nbc_status nbc_schedule_price_nodes(const nbc_schedule *const *schedules, int size,
                                            const nbc_loggp *model, const nbc_loggp *inside,
                                            const int *nodes, double *rank_end_ns, double *end_ns,
                                            nbc_error *err) {
  if (!schedules || !model || !end_ns || (nodes && !inside))
    return nbc__status_fail(err, NBC_E_INVAL, 0, "%s: must not be NULL",
                            !schedules ? "schedules"
                            : !model   ? "model"
                            : !end_ns  ? "end_ns"
                                       : "inside");
  if (!nbc__sched_is_price(model) || (nodes && !nbc__sched_is_price(inside)))
    return nbc__status_fail(err, NBC_E_RANGE, 0, "model: a field is negative or not finite");
  for (int i = 0; nodes && i < size; i++)
    if (nodes[i] < 0 || nodes[i] >= size)
      return nbc__status_fail(err, NBC_E_RANGE, 0, "nodes[%d]: %d is not in 0..%d", i, nodes[i],
                              size - 1);
  nbc__sched_pricing p;
  memset(&p, 0, sizeof p);
  p.model = model, p.inside = inside, p.nodes = nodes;
  nbc_status status = nbc__sched_world_open(&p.w, schedules, size, err);
  const size_t doubles = 2 * p.w.node_count + 4 * (size_t)size;
  double *const memory = status ? NULL : (double *)NBC_MALLOC(doubles * sizeof *memory);
  p.heap = status ? NULL : (nbc__sched_event *)NBC_MALLOC(p.w.node_count * sizeof *p.heap);
  if (memory && p.heap) {
    for (size_t i = 0; i < doubles; i++) memory[i] = 0;
    p.ready_ns = memory, p.arrival_ns = memory + p.w.node_count;
    p.cpu_free_ns = memory + 2 * p.w.node_count;
    p.nic_free_ns = p.cpu_free_ns + size, p.end_ns = p.nic_free_ns + 2 * size;
    status = nbc__sched_price_run(&p, err);
    *end_ns = 0;
    for (int r = 0; r < size; r++) {
      if (rank_end_ns) rank_end_ns[r] = p.end_ns[r];
      if (p.end_ns[r] > *end_ns) *end_ns = p.end_ns[r];
    }
  } else if (!status) {
    status = nbc__status_fail(err, NBC_E_NOMEM, 0, "schedules: out of memory");
  }
  NBC_FREE(memory);
  NBC_FREE(p.heap);
  nbc__sched_world_close(&p.w);
  return status;
}
