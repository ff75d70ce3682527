/* Groups and communicators: who belongs to them, and the contexts that keep their messages apart. */
#include "gm.h"

/* ---- groups: equal lists of ranks are one object ------------------------------------------------------- */
enum { BUCKETS = 4096 };
static gm_group *buckets[BUCKETS];

gm_group *gm_group_keep(gm_group *g) {
  __atomic_add_fetch(&g->refs, 1, __ATOMIC_RELAXED);
  return g;
}
void gm_group_leave(gm_group *g) {
  if (!g || __atomic_sub_fetch(&g->refs, 1, __ATOMIC_ACQ_REL)) return;
  gm_group **at = &buckets[g->hash % BUCKETS];
  while (*at != g) at = &(*at)->next;
  *at = g->next;
  free(g->rank);
  free(g->place);
  free(g->nodes);
  free(g);
}
gm_group *gm_group_make(int size, const int *ranks) {
  uint64_t hash = (uint64_t)size * 0x9E3779B97F4A7C15u;
  bool is_plain = true;
  for (int i = 0; ranks && i < size && is_plain; i++) is_plain = ranks[i] == i;
  if (is_plain) ranks = NULL;
  for (int i = 0; ranks && i < size; i++) hash = (hash ^ (uint64_t)ranks[i]) * 0x100000001B3u;
  for (gm_group *g = buckets[hash % BUCKETS]; g; g = g->next)
    if (g->hash == hash && g->size == size && !g->rank == !ranks &&
        (!ranks || memcmp(g->rank, ranks, (size_t)size * sizeof *ranks) == 0))
      return gm_group_keep(g);
  gm_group *g = gm_alloc(sizeof *g);
  g->refs = 1;
  g->size = size;
  g->hash = hash;
  if (ranks) {
    g->rank = gm_alloc((size_t)size * sizeof *ranks);
    memcpy(g->rank, ranks, (size_t)size * sizeof *ranks);
  }
  g->next = buckets[hash % BUCKETS];
  buckets[hash % BUCKETS] = g;
  return g;
}
static const int *sorting;
static int by_rank(const void *a, const void *b) {
  const int x = sorting[*(const int *)a], y = sorting[*(const int *)b];
  return (x > y) - (x < y);
}
int gm_group_find(gm_group *g, int world_rank) {
  if (!g->rank) return world_rank >= 0 && world_rank < g->size ? world_rank : GM_UNDEFINED;
  if (g->size <= 8) {
    for (int i = 0; i < g->size; i++)
      if (g->rank[i] == world_rank) return i;
    return GM_UNDEFINED;
  }
  if (!g->place) {
    g->place = gm_alloc((size_t)g->size * sizeof *g->place);
    for (int i = 0; i < g->size; i++) g->place[i] = i;
    sorting = g->rank;
    qsort(g->place, (size_t)g->size, sizeof *g->place, by_rank);
  }
  int low = 0, high = g->size - 1;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (g->rank[g->place[middle]] < world_rank)
      low = middle + 1;
    else
      high = middle;
  }
  return g->rank[g->place[low]] == world_rank ? g->place[low] : GM_UNDEFINED;
}
static pm_world *world; /* of all processes: a collective may also begin where none of them runs */
const int *gm_group_nodes(gm_group *g) {
  if (g->knows_nodes) return g->nodes;
  g->knows_nodes = 1;
  if (!world || g->size < 3 || g->size > GM_LEVELS) return NULL;
  int *nodes = gm_alloc((size_t)g->size * sizeof *nodes), last = 0;
  for (int i = 0; i < g->size; i++) {
    nodes[i] = pm_process_node(pm_process_at(world, gm_group_world(g, i)));
    if (nodes[i] > last) last = nodes[i];
  }
  int *first = gm_alloc(((size_t)last + 1) * sizeof *first), count = 0;
  for (int i = 0; i <= last; i++) first[i] = -1;
  g->fills_nodes = 1;
  for (int i = 0; i < g->size; i++) {
    if (first[nodes[i]] < 0) first[nodes[i]] = i, count++;
    nodes[i] = first[nodes[i]];
    if (i && nodes[i] != nodes[i - 1] && nodes[i] != i) g->fills_nodes = 0;
  }
  free(first);
  if (count > 1 && count < g->size)
    g->nodes = nodes;
  else
    free(nodes);
  return g->nodes;
}

void gm_group_ready(gm_group *g) {
  world = pm_world_of(pm_self());
  (void)gm_group_find(g, 0);
  (void)gm_group_nodes(g);
}

/* ---- communicators ------------------------------------------------------------------------------------- */
gm_comm *gm_comm_make(gm_proc *p, gm_group *local, gm_group *remote, uint32_t context) {
  gm_comm *c = gm_alloc(sizeof *c);
  if (!world && pm_self()) world = pm_world_of(pm_self());
  c->refs = 1;
  c->local = gm_group_keep(local);
  c->remote = remote ? gm_group_keep(remote) : NULL;
  c->context = context;
  c->rank = gm_group_find(local, p->rank);
  c->next = p->comms;
  c->link = &p->comms;
  if (c->next) c->next->link = &c->next;
  p->comms = c;
  return c;
}
static void topo_free(gm_topo *t) {
  if (!t) return;
  free(t->dims);
  free(t->periods);
  free(t->index);
  free(t->edges);
  free(t->in);
  free(t->out);
  free(t->in_weights);
  free(t->out_weights);
  free(t);
}
void gm_comm_free(gm_comm *c) {
  *c->link = c->next;
  if (c->next) c->next->link = c->link;
  for (int i = 0; i < GM_PLANS; i++) nbc_schedule_free(c->plan[i].schedule);
  gm_comm_unref(c->local_comm);
  gm_group_leave(c->local);
  gm_group_leave(c->remote);
  topo_free(c->topo);
  while (c->channels) {
    gm_channel *gone = c->channels;
    c->channels = gone->next;
    free(gone);
  }
  free(c->name);
  free(c);
}
/* One process makes the number of a new communicator, and its rank is in it: however many are made at the same
   time, by nonblocking calls or by threads, no two have the same. When the numbers are used up, they
   begin again, without those that still live, of which their maker is a member. */
int64_t gm_context_new(gm_proc *p, bool is_maker) {
  enum {
    FIRST = 3 * GM_CONTEXTS,
    EACH = 3 * GM_CONTEXTS
  }; /* before: the world, oneself, sessions */
  const uint64_t all = (UINT32_MAX - FIRST) / EACH / (uint64_t)p->size;
  const gm_comm *lives;
  uint64_t context;
  if (!is_maker) return 0;
  do {
    const uint64_t number = p->contexts_made++;
    context = FIRST + EACH * ((uint64_t)p->rank + (uint64_t)p->size * (number % all));
    lives = number < all ? NULL : p->comms;
    while (lives && lives->context != context) lives = lives->next;
  } while (lives);
  return (int64_t)context;
}
uint32_t gm_comm_agree(gm_proc *p, gm_comm *c) {
  int64_t next = gm_context_new(p, c->rank == 0);
  gm_allreduce_max(p, c, &next, 1);
  return (uint32_t)next;
}
