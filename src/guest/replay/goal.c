/* GOAL, the text format of LogGOPSim and schedgen:
     num_ranks N
     rank I {
     LABEL: calc NS [cpu C]  |  LABEL: send Nb to PEER [tag T] [cpu C] [nic N]  |  LABEL: recv Nb from PEER [tag T] ...
     LABEL requires LABEL    |  LABEL irequires LABEL
     }
   Comments are those of C++. Blanks are free around ':' and before '{' and the b of bytes.
   An operation starts when all that it requires have ended, and those that it irequires have started. Computations
   of a rank run one after the other, whatever their cpu. */
#include "replay.h"
#include <errno.h>
#include <search.h>

/* ---- reading ------------------------------------------------------------------------------------------------ */
typedef struct label {
  char *name;
  uint32_t op;
} label;
typedef struct edge {
  uint32_t before, after, at_start;
} edge;
typedef struct graph {
  rp_rank *r;
  label *label; /* hash */
  uint32_t labels_max, edges, edges_max;
  edge *edge;
} graph;
static uint32_t hash_of(const char *name) {
  uint64_t h = 14695981039346656037u;
  for (; *name; name++) h = (h ^ (unsigned char)*name) * 1099511628211u;
  return (uint32_t)(h >> 16);
}
static label *find(const graph *g, const char *name) {
  uint32_t i = hash_of(name) & (g->labels_max - 1);
  while (g->label[i].name && strcmp(g->label[i].name, name) != 0) i = (i + 1) & (g->labels_max - 1);
  return &g->label[i];
}
static void add_label(graph *g, const rp_text *t, const char *name, uint32_t op) {
  if (2 * (op + 1) > g->labels_max) {
    label *old = g->label;
    const uint32_t old_max = g->labels_max;
    g->labels_max = old_max ? 2 * old_max : 64;
    g->label = gm_alloc(g->labels_max * sizeof *g->label);
    for (uint32_t i = 0; i < old_max; i++)
      if (old[i].name) *find(g, old[i].name) = old[i];
    free(old);
  }
  label *l = find(g, name);
  if (l->name) rp_bad(t, "label \"%.40s\" stands twice", name);
  l->name = gm_alloc(strlen(name) + 1);
  strcpy(l->name, name);
  l->op = op;
}
/* The next line with something on it beside comments. */
static int goal_line(rp_text *t, bool *is_in_comment) {
  while (rp_line(t)) {
    for (char *at = t->at; *at;) {
      if (*is_in_comment || strncmp(at, "/*", 2) == 0) {
        char *const end = strstr(at + (*is_in_comment ? 0 : 2), "*/");
        const size_t n = end ? (size_t)(end - at) + 2 : strlen(at);
        memset(at, ' ', n);
        *is_in_comment = !end;
        at += n;
      } else if (strncmp(at, "//", 2) == 0)
        *at = 0;
      else
        at++;
    }
    t->at += strspn(t->at, " \t\r");
    if (*t->at) return 1;
  }
  return 0;
}
static uint64_t bytes_of(rp_text *t) {
  char *word = rp_word_needed(t, "a size"), *end;
  if (t->at[0] == 'b' && strchr(" \t\r", t->at[1])) rp_word(t); /* "5 b" */
  errno = 0;
  const long long n = strtoll(word, &end, 10);
  if (end == word || (strcmp(end, "b") != 0 && *end) || errno || n < 0 || n > RP_BYTES_MAX)
    rp_bad(t, "\"%.40s\": bytes expected, such as 1024b, at most 2^%d", word, RP_BYTES_MAX_LOG2);
  return (uint64_t)n;
}
static void needed(rp_text *t, const char *expected) {
  const char *word = rp_word_needed(t, expected);
  if (strcmp(word, expected) != 0) rp_bad(t, "\"%s\" expected, not \"%.40s\"", expected, word);
}
static void options(rp_text *t, rp_op *op) {
  static const char *const names[] = {"tag", "cpu", "nic"};
  bool is_said[3] = {false};
  for (const char *word; (word = rp_word(t)) != NULL;) {
    for (int i = 0; i < 3; i++) {
      if (strcmp(word, names[i]) != 0) continue;
      if (is_said[i]) rp_bad(t, "%s stands twice", word);
      is_said[i] = true;
    }
    if (strcmp(word, "tag") == 0) {
      const int64_t tag = rp_number(t, "tag", -1, UINT32_MAX);
      op->tag = tag == UINT32_MAX ? GM_ANY_TAG : (int32_t)(uint32_t)tag;
      if (tag > INT32_MAX && tag != UINT32_MAX)
        rp_bad(t, "tag %lld: at most 2^31 - 1", (long long)tag);
      if (op->tag == GM_ANY_TAG && op->kind != RP_RECV) rp_bad(t, "only a receive takes any tag");
    } else if (strcmp(word, "cpu") == 0 || strcmp(word, "nic") == 0)
      rp_number(t, word, 0, INT32_MAX);
    else
      rp_bad(t, "\"%.40s\": tag, cpu or nic expected", word);
  }
}
static void operation(graph *g, rp_text *t, const char *name) {
  const char *word = rp_word_needed(t, "calc, send or recv");
  const rp_kind kind = strcmp(word, "calc") == 0   ? RP_COMPUTE
                       : strcmp(word, "send") == 0 ? RP_SEND
                                                   : RP_RECV;
  if (kind == RP_RECV && strcmp(word, "recv") != 0)
    rp_bad(t, "\"%.40s\": calc, send or recv expected", word);
  rp_op *op = rp_add(g->r, kind, t);
  if (kind == RP_COMPUTE)
    op->bytes = (uint64_t)rp_number(t, "nanoseconds", 0, INT64_MAX / 2);
  else {
    op->bytes = bytes_of(t);
    needed(t, kind == RP_SEND ? "to" : "from");
    op->peer = (int32_t)rp_number(t, "peer", kind == RP_RECV ? -1 : 0, rp_size - 1);
    if (op->peer < 0) op->peer = GM_ANY_SOURCE;
  }
  options(t, op);
  add_label(g, t, name, g->r->count - 1);
}
static void dependency(graph *g, rp_text *t, const char *name) {
  const char *how = rp_word_needed(t, "requires or irequires");
  const int at_start = strcmp(how, "irequires") == 0;
  if (!at_start && strcmp(how, "requires") != 0)
    rp_bad(t, "\"%.40s\": LABEL: OPERATION, or LABEL requires LABEL expected", how);
  const char *other = rp_word_needed(t, "a label");
  const label *after = g->labels_max ? find(g, name) : NULL,
              *before = g->labels_max ? find(g, other) : NULL;
  if (!after || !after->name) rp_bad(t, "label \"%.40s\" is not known", name);
  if (!before || !before->name) rp_bad(t, "label \"%.40s\" is not known", other);
  rp_end_of_line(t);
  g->edge = gm_grow(g->edge, &g->edges_max, g->edges + 1, sizeof *g->edge);
  g->edge[g->edges++] = (edge){before->op, after->op, at_start ? 0x80000000u : 0};
}
/* Operations of a circle wait for each other for ever. What starts when all before it have started is taken off, again
   and again; who goes back from what is left, among what is left, comes into the circle. */
static void refuse_circle(const graph *g) {
  const rp_rank *r = g->r;
  uint32_t *left = gm_alloc((size_t)(r->count + 1) * sizeof *left),
           *ready = gm_alloc((size_t)(r->count + 1) * sizeof *ready), count = 0, at = 0;
  for (uint32_t i = 0; i < r->count; i++)
    if ((left[i] = r->before[i]) == 0) ready[count++] = i;
  for (; at < count; at++)
    for (uint32_t e = r->first_after[ready[at]]; e < r->first_after[ready[at] + 1]; e++) {
      const uint32_t next = r->after[e] & 0x7FFFFFFF;
      if (--left[next] == 0) ready[count++] = next;
    }
  if (count < r->count) {
    uint32_t *const from = ready, op = 0;
    for (uint32_t e = 0; e < g->edges; e++)
      if (left[g->edge[e].before] && left[g->edge[e].after])
        from[g->edge[e].after] = op = g->edge[e].before;
    for (uint32_t i = 0; i < r->count; i++) op = from[op];
    rp_refuse("%s: line %u: this operation waits for that of line %u, which waits for it in turn",
              r->path, r->op[op].line, r->op[from[op]].line);
  }
  free(left);
  free(ready);
}
static void finish_rank(graph *g) {
  rp_rank *r = g->r;
  r->is_graph = 1;
  r->first_after = gm_alloc((size_t)(r->count + 2) * sizeof *r->first_after);
  r->after = gm_alloc((size_t)(g->edges + 1) * sizeof *r->after);
  r->before = gm_alloc((size_t)(r->count + 1) * sizeof *r->before);
  for (uint32_t e = 0; e < g->edges; e++) r->first_after[g->edge[e].before + 2]++;
  for (uint32_t i = 1; i < r->count + 2; i++) r->first_after[i] += r->first_after[i - 1];
  for (uint32_t e = 0; e < g->edges;
       e++) { /* first_after[i + 1] is the next free place of i: it ends as the first of i + 1 */
    r->after[r->first_after[g->edge[e].before + 1]++] = g->edge[e].after | g->edge[e].at_start;
    r->before[g->edge[e].after]++;
  }
  refuse_circle(g);
  for (uint32_t i = 0; i < g->labels_max; i++) free(g->label[i].name);
  free(g->label);
  free(g->edge);
}
/* What stands before a sign is a line of its own for who reads it; then the rest is. ret the rest; NULL: no such sign */
static char *cut_at(const rp_text *t, char sign) {
  char *const at = strchr(t->at, sign);
  if (!at) return NULL;
  *at = 0;
  return at + 1 + strspn(at + 1, " \t\r");
}
static void read_rank(rp_text *t, bool *is_in_comment) {
  graph g;
  memset(&g, 0, sizeof g);
  char *rest = cut_at(t, '{');
  g.r = &rp_ranks[rp_number(t, "rank", 0, rp_size - 1)];
  if (g.r->is_graph) rp_bad(t, "this rank stands twice");
  g.r->path = t->path;
  rp_end_of_line(t);
  if (!rest) rp_bad(t, "{ is missing");
  t->at = rest;
  rp_end_of_line(t);
  for (;;) {
    if (!goal_line(t, is_in_comment)) rp_bad(t, "the file ends inside of a rank");
    rest = cut_at(t, ':');
    char *word = rp_word_needed(t, "a label");
    if (rest) {
      rp_end_of_line(t);
      t->at = rest;
      operation(&g, t, word);
    } else if (strcmp(word, "}") == 0)
      break;
    else
      dependency(&g, t, word);
  }
  rp_end_of_line(t);
  finish_rank(&g);
}
void rp_goal_read(const char *path) {
  rp_text t;
  bool is_in_comment = false;
  rp_open(&t, path);
  if (!goal_line(&t, &is_in_comment)) rp_refuse("%s: empty", path);
  needed(&t, "num_ranks");
  rp_size_is((int)rp_number(&t, "ranks", 1, RP_RANKS_MAX));
  rp_end_of_line(&t);
  while (goal_line(&t, &is_in_comment)) {
    needed(&t, "rank");
    read_rank(&t, &is_in_comment);
  }
  for (int i = 0; i < rp_size; i++)
    if (!rp_ranks[i].is_graph) rp_bad(&t, "rank %d is missing", i);
  rp_close(&t);
}

/* ---- writing ------------------------------------------------------------------------------------------------ */
/* The order of a list becomes edges: `last` is what the next operation requires (none: 0). What has been started
   is required by the wait. A wait for several is a computation of 0 ns. */
typedef struct writer {
  FILE *out;
  const rp_rank *r;
  int rank;
  uint32_t label, last, *slot;
  uint32_t *sequence; /* of collectives, by communicator */
} writer;
static struct {
  uint64_t any_tag;     /* receives */
  bool have_other_tags; /* than the world's */
} written;
/* The same number at all members, which may have different ones for it; 0: the world. */
static uint32_t comm_of(const rp_rank *r, uint32_t comm) {
  return comm ? r->context[comm] / GM_CONTEXTS - 1 : 0;
}
/* GOAL has no communicators: a tag is the world's, and each one of another communicator becomes a number behind those. */
typedef struct comm_tag {
  uint32_t comm, tag, number;
} comm_tag;
static int by_tag(const void *left, const void *right) {
  const comm_tag *a = left, *b = right;
  return a->comm != b->comm ? (a->comm > b->comm) - (a->comm < b->comm)
                            : (a->tag > b->tag) - (a->tag < b->tag);
}
static uint32_t tag_of(uint32_t comm, uint32_t tag) {
  static void *tree;
  static uint32_t next = GM_TAG_UB;
  const comm_tag key = {comm, tag, next + 1};
  if (!comm) return tag;
  void *found = tfind(&key, &tree, by_tag);
  if (!found) {
    comm_tag *one = gm_alloc(sizeof *one);
    *one = key;
    next++;
    found = tsearch(one, &tree, by_tag);
    if (!found) rp_refuse("out of memory");
  }
  return (*(comm_tag **)found)->number;
}
static uint32_t begin_op(writer *w) {
  fprintf(w->out, "l%u: ", ++w->label);
  return w->label;
}
static void end_op(writer *w, uint32_t after) {
  fputc('\n', w->out);
  if (after) fprintf(w->out, "l%u requires l%u\n", w->label, after);
}
static void write_message(writer *w, bool is_send, uint64_t bytes, const gm_group *g, int peer,
                          uint32_t tag, int any_tag, uint32_t after) {
  begin_op(w);
  const int world = peer >= 0 ? gm_group_world(g, peer) : -1;
  fprintf(w->out, "%s %llub %s %d tag ", is_send ? "send" : "recv", (unsigned long long)bytes,
          is_send ? "to" : "from", world);
  if (any_tag)
    fputs("4294967295", w->out);
  else
    fprintf(w->out, "%u", tag);
  end_op(w, after);
}
static void write_calc(writer *w, uint64_t ns, uint32_t after) {
  begin_op(w);
  fprintf(w->out, "calc %llu", (unsigned long long)ns);
  end_op(w, after);
}
/* Tags of collectives lie above those of messages that traces may use: bit 30, communicator, number, node's tag. */
static void write_coll(writer *w, const rp_op *op, uint32_t after) {
  gm_group *g = w->r->group[op->comm];
  const int rank = gm_group_find(g, w->rank);
  gm_coll_args args;
  nbc_schedule *s;
  nbc_error err;
  rp_coll_args(w->r, op, rank, &args);
  if (nbc_schedule_build(&args.desc, &s, &err))
    rp_refuse("%s: line %u: a collective could not be planned: %s", w->r->path, op->line, err.text);
  const uint32_t first = w->label + 1, base = (uint32_t)1 << 30 |
                                              (comm_of(w->r, op->comm) & 63) << 24 |
                                              (w->sequence[op->comm]++ & 0x3FF) << 14;
  for (uint32_t i = 0; i < s->node_count; i++) {
    const nbc_node *n = &s->nodes[i];
    if (n->type == NBC_NODE_SEND || n->type == NBC_NODE_RECV)
      write_message(w, n->type == NBC_NODE_SEND, n->size_bytes, g, n->u.msg.peer,
                    base | (n->u.msg.tag & 0x3FFF), 0, n->before_count ? 0 : after);
    else
      write_calc(w, 0, n->before_count ? 0 : after);
  }
  for (uint32_t i = 0; i < s->node_count; i++)
    for (uint32_t k = s->nodes[i].first_after; k < s->nodes[i + 1].first_after; k++)
      fprintf(w->out, "l%u requires l%u\n", first + s->after[k], first + i);
  write_calc(w, 0, s->node_count ? 0 : after);
  for (uint32_t i = 0; i < s->node_count; i++)
    if (s->nodes[i].first_after == s->nodes[i + 1].first_after)
      fprintf(w->out, "l%u requires l%u\n", w->label, first + i);
  nbc_schedule_free(s);
}
static void write_op(writer *w, const rp_op *op) {
  if (op->kind == RP_WAIT || op->kind == RP_WAIT_ALL) {
    const uint32_t from = op->kind == RP_WAIT ? op->slot : 0,
                   to = op->kind == RP_WAIT ? op->slot + 1 : w->r->slots;
    write_calc(w, 0, w->last);
    for (uint32_t i = from; i < to; i++) {
      if (w->slot[i]) fprintf(w->out, "l%u requires l%u\n", w->label, w->slot[i]);
      w->slot[i] = 0;
    }
    w->last = w->label;
    return;
  }
  if (op->kind == RP_CANCEL)
    rp_refuse("%s: line %u: GOAL has no cancelled receives", w->r->path, op->line);
  if (op->kind == RP_FREE) {
    w->slot[op->slot] = 0;
    return;
  }
  if (op->kind == RP_COMPUTE)
    write_calc(w, op->bytes, w->last);
  else if (op->kind == RP_COLL)
    write_coll(w, op, w->last);
  else
    write_message(w, op->kind == RP_SEND, op->bytes, w->r->group[op->comm], op->peer,
                  tag_of(comm_of(w->r, op->comm), (uint32_t)op->tag), op->tag == GM_ANY_TAG,
                  w->last);
  written.any_tag += op->kind == RP_RECV && op->tag == GM_ANY_TAG;
  written.have_other_tags |= op->kind == RP_COLL || (op->kind != RP_COMPUTE && op->comm);
  if (op->flags & RP_STARTS)
    w->slot[op->slot] = w->label;
  else
    w->last = w->label;
}
static void write_rank(writer *w) {
  struct {
    uint32_t first;
    uint64_t left;
  } loop[RP_DEPTH];
  int depth = 0;
  fprintf(w->out, "\nrank %d {\n", w->rank);
  for (uint32_t i = 0; i < w->r->count; i++) {
    const rp_op *op = &w->r->op[i];
    if (op->kind == RP_REPEAT) {
      loop[depth].first = i;
      loop[depth++].left = op->bytes;
    } else if (op->kind == RP_END) {
      if (--loop[depth - 1].left)
        i = loop[depth - 1].first;
      else
        depth--;
    } else
      write_op(w, op);
  }
  fputs("}\n", w->out);
}
void rp_goal_write(FILE *out) {
  fprintf(out, "num_ranks %d\n", rp_size);
  for (int i = 0; i < rp_size; i++) {
    writer w;
    memset(&w, 0, sizeof w);
    w.out = out;
    w.r = &rp_ranks[i];
    w.rank = i;
    w.slot = gm_alloc((size_t)(w.r->slots + 1) * sizeof *w.slot);
    w.sequence = gm_alloc((size_t)(w.r->comm_count + 1) * sizeof *w.sequence);
    if (w.r->is_graph) rp_refuse("%s: is GOAL already", w.r->path);
    write_rank(&w);
    free(w.slot);
    free(w.sequence);
  }
  if (written.any_tag && written.have_other_tags)
    fprintf(stderr,
            "pm_replay: %llu receives take any tag: in GOAL, which has no communicators, that of a "
            "message of another one, or of a collective, too\n",
            (unsigned long long)written.any_tag);
}
