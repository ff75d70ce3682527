/* MPI functions: topologies. Neighbours are computed once, for the neighbourhood collectives. */
#include "abi.h"

static int *ints(int count) { return gm_alloc((size_t)(count + 1) * sizeof(int)); }
static int *copied(const int *from, int count) {
  int *to = ints(count);
  if (count) memcpy(to, from, (size_t)count * sizeof *to);
  return to;
}
/* A communicator of the first `count` processes, with the topology. */
static int attach(gm_proc *p, gm_comm *c, int count, gm_topo *t, MPI_Comm *new) {
  const uint32_t context = gm_comm_agree(p, c);
  *new = MPI_COMM_NULL;
  if (c->rank >= count) {
    free(t->dims), free(t->periods), free(t->index), free(t->edges), free(t);
    return 0;
  }
  gm_group *g = c->local;
  if (count < g->size) {
    int *ranks = ints(count);
    for (int i = 0; i < count; i++) ranks[i] = gm_group_world(c->local, i);
    g = gm_group_make(count, ranks);
    free(ranks);
  } else
    gm_group_keep(g);
  gm_comm *n = gm_comm_make(p, g, NULL, context);
  gm_group_leave(g);
  n->errh = c->errh;
  n->topo = t;
  *new = comm_handle(p, n);
  return 1;
}

/* ---- Cartesian -------------------------------------------------------------------------------------------------- */
static void coords_of(const gm_topo *t, int rank, int *coords) {
  int left = t->size;
  for (int d = 0; d < t->dim_count; d++) {
    left /= t->dims[d];
    coords[d] = rank / left;
    rank %= left;
  }
}
/* ret MPI_PROC_NULL: outside, in a dimension that does not close */
static int rank_at(const gm_topo *t, const int *coords) {
  int rank = 0;
  for (int d = 0; d < t->dim_count; d++) {
    int x = coords[d];
    if (x < 0 || x >= t->dims[d]) {
      if (!t->periods[d]) return MPI_PROC_NULL;
      x = (x % t->dims[d] + t->dims[d]) % t->dims[d];
    }
    rank = rank * t->dims[d] + x;
  }
  return rank;
}
static int shifted(const gm_topo *t, int rank, int dimension, int by) {
  int *coords = ints(t->dim_count);
  coords_of(t, rank, coords);
  coords[dimension] += by;
  const int other = rank_at(t, coords);
  free(coords);
  return other;
}
static void cart_neighbours(gm_topo *t, int rank) {
  t->in_count = t->out_count = 2 * t->dim_count;
  t->in = ints(t->in_count);
  t->out = ints(t->out_count);
  for (int d = 0; d < t->dim_count; d++)
    for (int k = 0; k < 2; k++)
      t->in[2 * d + k] = t->out[2 * d + k] = shifted(t, rank, d, k ? 1 : -1);
}
static gm_topo *cart(int dim_count, const int *dims, const int *periods) {
  gm_topo *t = gm_alloc(sizeof *t);
  t->kind = MPI_CART;
  t->dim_count = dim_count;
  t->dims = copied(dims, dim_count);
  t->periods = copied(periods, dim_count);
  t->size = 1;
  for (int d = 0; d < dim_count; d++) t->size *= dims[d], t->periods[d] = periods[d] != 0;
  return t;
}
CALL(Cart_create, MPI_Comm comm, int dim_count, const int dims[], const int periods[], int reorder,
     MPI_Comm *new) {
  IN("Cart_create");
  NEED(comm_of(p, comm), (dim_count <= 0 || dims) && (dim_count <= 0 || periods) && new);
  gm_comm *c = comm_of(p, comm);
  int64_t size = 1;
  (void)reorder;
  *new = MPI_COMM_NULL;
  FAIL_IF(!c || c->remote, c, MPI_ERR_COMM);
  FAIL_IF(dim_count < 0, c, MPI_ERR_ARG);
  for (int d = 0; d < dim_count; d++) {
    FAIL_IF(dims[d] < 1, c, MPI_ERR_ARG);
    size *= dims[d];
    FAIL_IF(size > c->local->size, c, MPI_ERR_ARG);
  }
  gm_topo *t = cart(dim_count, dims, periods);
  if (attach(p, c, t->size, t, new)) cart_neighbours(t, comm_of(p, *new)->rank);
  return MPI_SUCCESS;
}
static gm_topo *topo_of(gm_proc *p, MPI_Comm comm, int kind) {
  gm_comm *c = comm_of(p, comm);
  return c && c->topo && c->topo->kind == kind ? c->topo : NULL;
}
#define TOPO(t, comm, wanted)                                                                      \
  gm_topo *t = topo_of(p, comm, wanted);                                                           \
  FAIL_IF(!comm_of(p, comm), NULL, MPI_ERR_COMM);                                                  \
  FAIL_IF(!t, comm_of(p, comm), MPI_ERR_TOPOLOGY)
CALL(Cartdim_get, MPI_Comm comm, int *dim_count) {
  IN("Cartdim_get");
  NEED(comm_of(p, comm), dim_count);
  TOPO(t, comm, MPI_CART);
  *dim_count = t->dim_count;
  return MPI_SUCCESS;
}
CALL(Cart_get, MPI_Comm comm, int max, int dims[], int periods[], int coords[]) {
  IN("Cart_get");
  NEED(comm_of(p, comm), (max <= 0 || dims) && (max <= 0 || periods) && (max <= 0 || coords));
  TOPO(t, comm, MPI_CART);
  FAIL_IF(max < t->dim_count, comm_of(p, comm), MPI_ERR_ARG);
  for (int d = 0; d < t->dim_count; d++) dims[d] = t->dims[d], periods[d] = t->periods[d];
  coords_of(t, comm_of(p, comm)->rank, coords);
  return MPI_SUCCESS;
}
CALL(Cart_coords, MPI_Comm comm, int rank, int max, int coords[]) {
  IN("Cart_coords");
  TOPO(t, comm, MPI_CART);
  FAIL_IF(rank < 0 || rank >= t->size, comm_of(p, comm), MPI_ERR_RANK);
  FAIL_IF(max < t->dim_count, comm_of(p, comm), MPI_ERR_ARG);
  coords_of(t, rank, coords);
  return MPI_SUCCESS;
}
CALL(Cart_rank, MPI_Comm comm, const int coords[], int *rank) {
  IN("Cart_rank");
  NEED(comm_of(p, comm), rank);
  TOPO(t, comm, MPI_CART);
  *rank = rank_at(t, coords);
  FAIL_IF(*rank == MPI_PROC_NULL, comm_of(p, comm), MPI_ERR_ARG);
  return MPI_SUCCESS;
}
CALL(Cart_shift, MPI_Comm comm, int direction, int by, int *source, int *dest) {
  IN("Cart_shift");
  NEED(comm_of(p, comm), source && dest);
  TOPO(t, comm, MPI_CART);
  FAIL_IF(direction < 0 || direction >= t->dim_count, comm_of(p, comm), MPI_ERR_ARG);
  *source = shifted(t, comm_of(p, comm)->rank, direction, -by);
  *dest = shifted(t, comm_of(p, comm)->rank, direction, by);
  return MPI_SUCCESS;
}
CALL(Cart_sub, MPI_Comm comm, const int remain[], MPI_Comm *new) {
  IN("Cart_sub");
  NEED(comm_of(p, comm), new);
  TOPO(t, comm, MPI_CART);
  gm_comm *c = comm_of(p, comm);
  int *coords = ints(t->dim_count), *dims = ints(t->dim_count), *periods = ints(t->dim_count),
      n = 0, color = 0, key = 0;
  coords_of(t, c->rank, coords);
  for (int d = 0; d < t->dim_count; d++) {
    if (remain[d]) {
      dims[n] = t->dims[d];
      periods[n++] = t->periods[d];
      key = key * t->dims[d] + coords[d];
    } else
      color = color * t->dims[d] + coords[d];
  }
  if (!n && c->rank) color = MPI_UNDEFINED; /* a point: MPICH gives it to the first process alone */
  const int code = PMPI_Comm_split(comm, n ? color : color == MPI_UNDEFINED ? color : 0, key, new);
  if (!code && *new != MPI_COMM_NULL) {
    gm_comm *made = comm_of(p, *new);
    made->topo = cart(n, dims, periods);
    cart_neighbours(made->topo, made->rank);
  }
  free(coords);
  free(dims);
  free(periods);
  return code;
}
CALL(Cart_map, MPI_Comm comm, int dim_count, const int dims[], const int periods[], int *rank) {
  IN("Cart_map");
  NEED(comm_of(p, comm), (dim_count <= 0 || dims) && (dim_count <= 0 || periods) && rank);
  gm_comm *c = comm_of(p, comm);
  int size = 1;
  (void)periods;
  FAIL_IF(!c, NULL, MPI_ERR_COMM);
  for (int d = 0; d < dim_count; d++) size *= dims[d];
  FAIL_IF(size > c->local->size, c, MPI_ERR_ARG);
  *rank = c->rank < size ? c->rank : MPI_UNDEFINED;
  return MPI_SUCCESS;
}
/* Factors as close to each other as can be, in falling order: the least difference between the largest and the
   smallest, then the largest smallest one, second smallest one ...; so MPICH finds them. */
typedef struct balance {
  int count, *now, *best;
  bool has_best;
} balance;
static int root_of(int n, int degree) { /* the largest r with r^degree <= n */
  int r = 1;
  for (;; r++) {
    int64_t power = 1;
    for (int i = 0; i < degree && power <= n; i++) power *= r + 1;
    if (power > n) return r;
  }
}
static bool is_better(const balance *b) {
  const int *x = b->now, *y = b->best, last = b->count - 1;
  if (!b->has_best) return 1;
  if (x[0] - x[last] != y[0] - y[last]) return x[0] - x[last] < y[0] - y[last];
  for (int i = last; i >= 0; i--)
    if (x[i] != y[i]) return x[i] > y[i];
  return 0;
}
static void balance_from(balance *b, int k, int left) {
  const int rest = b->count - k, most = k ? b->now[k - 1] : left;
  if (rest == 1) {
    b->now[k] = left;
    if (left <= most && is_better(b))
      memcpy(b->best, b->now, (size_t)b->count * sizeof *b->best), b->has_best = 1;
    return;
  }
  int f = root_of(left, rest);
  for (f = f > 1 ? f : 1; f <= most; f++) {
    if (left % f) continue;
    const int first = k ? b->now[0] : f;
    if (b->has_best && first - root_of(left / f, rest - 1) > b->best[0] - b->best[b->count - 1]) {
      if (!k) return; /* a larger first one is farther still */
      continue;
    }
    b->now[k] = f;
    balance_from(b, k + 1, left / f);
  }
}
CALL(Dims_create, int nodes, int dim_count, int dims[]) {
  IN_ALWAYS("Dims_create");
  NEED(NULL, (dim_count <= 0 || dims));
  int fixed = 1, free_dims = 0;
  FAIL_IF(dim_count < 0 || nodes < 1, NULL, MPI_ERR_ARG);
  for (int d = 0; d < dim_count; d++) {
    FAIL_IF(dims[d] < 0, NULL, MPI_ERR_DIMS);
    if (dims[d])
      fixed *= dims[d];
    else
      free_dims++;
  }
  FAIL_IF(nodes % fixed || (!free_dims && fixed != nodes), NULL, MPI_ERR_DIMS);
  if (!free_dims) return MPI_SUCCESS;
  int *found = ints(free_dims);
  balance b = {free_dims, ints(free_dims), found, 0};
  balance_from(&b, 0, nodes / fixed);
  free(b.now);
  for (int d = 0, k = 0; d < dim_count; d++)
    if (!dims[d]) dims[d] = found[k++];
  free(found);
  return MPI_SUCCESS;
}

/* ---- graphs -------------------------------------------------------------------------------------------------------- */
CALL(Graph_create, MPI_Comm comm, int nodes, const int index[], const int edges[], int reorder,
     MPI_Comm *new) {
  IN("Graph_create");
  NEED(comm_of(p, comm), (nodes <= 0 || index) && (nodes <= 0 || edges) && new);
  gm_comm *c = comm_of(p, comm);
  (void)reorder;
  FAIL_IF(!c || c->remote, c, MPI_ERR_COMM);
  FAIL_IF(nodes < 0 || nodes > c->local->size, c, MPI_ERR_ARG);
  for (int i = 0; i < nodes; i++) FAIL_IF(index[i] < (i ? index[i - 1] : 0), c, MPI_ERR_ARG);
  for (int i = 0; nodes && i < index[nodes - 1]; i++)
    FAIL_IF(edges[i] < 0 || edges[i] >= nodes, c, MPI_ERR_ARG);
  gm_topo *t = gm_alloc(sizeof *t);
  t->kind = MPI_GRAPH;
  t->size = nodes;
  t->edge_count = nodes ? index[nodes - 1] : 0;
  t->index = copied(index, nodes);
  t->edges = copied(edges, t->edge_count);
  if (!attach(p, c, nodes, t, new)) return MPI_SUCCESS;
  const int rank = comm_of(p, *new)->rank, first = rank ? index[rank - 1] : 0;
  t->in_count = t->out_count = index[rank] - first;
  t->in = copied(edges + first, t->in_count);
  t->out = copied(edges + first, t->out_count);
  return MPI_SUCCESS;
}
CALL(Graphdims_get, MPI_Comm comm, int *nodes, int *edges) {
  IN("Graphdims_get");
  NEED(comm_of(p, comm), nodes && edges);
  TOPO(t, comm, MPI_GRAPH);
  *nodes = t->size;
  *edges = t->edge_count;
  return MPI_SUCCESS;
}
CALL(Graph_get, MPI_Comm comm, int max_index, int max_edges, int index[], int edges[]) {
  IN("Graph_get");
  NEED(comm_of(p, comm), (max_edges <= 0 || edges));
  TOPO(t, comm, MPI_GRAPH);
  FAIL_IF(max_index < t->size || max_edges < t->edge_count, comm_of(p, comm), MPI_ERR_ARG);
  memcpy(index, t->index, (size_t)t->size * sizeof *index);
  memcpy(edges, t->edges, (size_t)t->edge_count * sizeof *edges);
  return MPI_SUCCESS;
}
CALL(Graph_neighbors_count, MPI_Comm comm, int rank, int *count) {
  IN("Graph_neighbors_count");
  NEED(comm_of(p, comm), count);
  TOPO(t, comm, MPI_GRAPH);
  FAIL_IF(rank < 0 || rank >= t->size, comm_of(p, comm), MPI_ERR_RANK);
  *count = t->index[rank] - (rank ? t->index[rank - 1] : 0);
  return MPI_SUCCESS;
}
CALL(Graph_neighbors, MPI_Comm comm, int rank, int max, int neighbours[]) {
  IN("Graph_neighbors");
  NEED(comm_of(p, comm), (max <= 0 || neighbours));
  TOPO(t, comm, MPI_GRAPH);
  FAIL_IF(rank < 0 || rank >= t->size, comm_of(p, comm), MPI_ERR_RANK);
  const int first = rank ? t->index[rank - 1] : 0;
  for (int i = first; i < t->index[rank] && i - first < max; i++)
    neighbours[i - first] = t->edges[i];
  return MPI_SUCCESS;
}
CALL(Graph_map, MPI_Comm comm, int nodes, const int index[], const int edges[], int *rank) {
  IN("Graph_map");
  NEED(comm_of(p, comm), (nodes <= 0 || index) && (nodes <= 0 || edges) && rank);
  gm_comm *c = comm_of(p, comm);
  (void)index, (void)edges;
  FAIL_IF(!c, NULL, MPI_ERR_COMM);
  FAIL_IF(nodes > c->local->size, c, MPI_ERR_ARG);
  *rank = c->rank < nodes ? c->rank : MPI_UNDEFINED;
  return MPI_SUCCESS;
}
static bool has_weights(const int *weights) { return weights != MPI_UNWEIGHTED; }
CALL(Dist_graph_create_adjacent, MPI_Comm comm, int in_count, const int sources[],
     const int source_weights[], int out_count, const int dests[], const int dest_weights[],
     MPI_Info info, int reorder, MPI_Comm *new) {
  IN("Dist_graph_create_adjacent");
  NEED(comm_of(p, comm), (in_count <= 0 || sources) && (out_count <= 0 || dests) && new);
  gm_comm *c = comm_of(p, comm);
  (void)info, (void)reorder;
  FAIL_IF(!c || c->remote, c, MPI_ERR_COMM);
  FAIL_IF(in_count < 0 || out_count < 0, c, MPI_ERR_ARG);
  for (int i = 0; i < in_count; i++)
    FAIL_IF(sources[i] < 0 || sources[i] >= c->local->size, c, MPI_ERR_RANK);
  for (int i = 0; i < out_count; i++)
    FAIL_IF(dests[i] < 0 || dests[i] >= c->local->size, c, MPI_ERR_RANK);
  gm_topo *t = gm_alloc(sizeof *t);
  t->kind = MPI_DIST_GRAPH;
  t->size = c->local->size;
  t->in_count = in_count;
  t->out_count = out_count;
  t->in = copied(sources, in_count);
  t->out = copied(dests, out_count);
  t->is_weighted = has_weights(source_weights);
  if (t->is_weighted) {
    t->in_weights = copied(source_weights, in_count);
    t->out_weights = copied(dest_weights, out_count);
  }
  attach(p, c, t->size, t, new);
  return MPI_SUCCESS;
}
typedef struct edge {
  int from, to, weight;
} edge;
CALL(Dist_graph_create, MPI_Comm comm, int n, const int sources[], const int degrees[],
     const int dests[], const int weights[], MPI_Info info, int reorder, MPI_Comm *new) {
  IN("Dist_graph_create");
  NEED(comm_of(p, comm), new);
  gm_comm *c = comm_of(p, comm);
  int mine = 0, total = 0;
  (void)info, (void)reorder;
  FAIL_IF(!c || c->remote, c, MPI_ERR_COMM);
  FAIL_IF(n < 0, c, MPI_ERR_ARG);
  for (int i = 0; i < n; i++) mine += degrees[i];
  const int size = c->local->size;
  int *counts = ints(size);
  gm_allgather_bytes(p, c, &mine, counts,
                     sizeof mine); /* then everybody's edges, each takes its own */
  int64_t most = 0;
  for (int i = 0; i < size; i++) {
    total += counts[i];
    if (counts[i] > most) most = counts[i];
  }
  edge *own = gm_alloc((size_t)(most + 1) * sizeof *own),
       *all = gm_alloc((size_t)(most + 1) * (size_t)size * sizeof *all);
  for (int i = 0, k = 0; i < n; i++)
    for (int d = 0; d < degrees[i]; d++, k++) {
      own[k].from = sources[i];
      own[k].to = dests[k];
      own[k].weight = has_weights(weights) ? weights[k] : 1;
    }
  if (most) gm_allgather_bytes(p, c, own, all, (uint64_t)most * sizeof *own);
  gm_topo *t = gm_alloc(sizeof *t);
  t->kind = MPI_DIST_GRAPH;
  t->size = size;
  t->is_weighted = has_weights(weights);
  t->in = ints(total);
  t->out = ints(total);
  t->in_weights = ints(total);
  t->out_weights = ints(total);
  for (int r = 0; r < size; r++)
    for (int k = 0; k < counts[r]; k++) {
      const edge *e = &all[(int64_t)r * most + k];
      if (e->to == c->rank) t->in_weights[t->in_count] = e->weight, t->in[t->in_count++] = e->from;
      if (e->from == c->rank)
        t->out_weights[t->out_count] = e->weight, t->out[t->out_count++] = e->to;
    }
  free(own);
  free(all);
  free(counts);
  attach(p, c, size, t, new);
  return MPI_SUCCESS;
}
CALL(Dist_graph_neighbors_count, MPI_Comm comm, int *in_count, int *out_count, int *weighted) {
  IN("Dist_graph_neighbors_count");
  NEED(comm_of(p, comm), in_count && out_count && weighted);
  TOPO(t, comm, MPI_DIST_GRAPH);
  *in_count = t->in_count;
  *out_count = t->out_count;
  *weighted = t->is_weighted;
  return MPI_SUCCESS;
}
CALL(Dist_graph_neighbors, MPI_Comm comm, int max_in, int sources[], int source_weights[],
     int max_out, int dests[], int dest_weights[]) {
  IN("Dist_graph_neighbors");
  NEED(comm_of(p, comm), (max_in <= 0 || sources) && (max_out <= 0 || dests));
  TOPO(t, comm, MPI_DIST_GRAPH);
  FAIL_IF(max_in < t->in_count || max_out < t->out_count, comm_of(p, comm), MPI_ERR_ARG);
  for (int i = 0; i < t->in_count; i++) {
    sources[i] = t->in[i];
    if (t->is_weighted && has_weights(source_weights)) source_weights[i] = t->in_weights[i];
  }
  for (int i = 0; i < t->out_count; i++) {
    dests[i] = t->out[i];
    if (t->is_weighted && has_weights(dest_weights)) dest_weights[i] = t->out_weights[i];
  }
  return MPI_SUCCESS;
}
CALL(Topo_test, MPI_Comm comm, int *kind) {
  IN("Topo_test");
  NEED(comm_of(p, comm), kind);
  gm_comm *c = comm_of(p, comm);
  FAIL_IF(!c, NULL, MPI_ERR_COMM);
  *kind = c->topo ? c->topo->kind : MPI_UNDEFINED;
  return MPI_SUCCESS;
}
/* Data symbols that programs take over. */
static int weights_dummy[2];
int *const MPI_UNWEIGHTED = &weights_dummy[0];
int *const MPI_WEIGHTS_EMPTY = &weights_dummy[1];
