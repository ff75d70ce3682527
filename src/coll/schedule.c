/* schedule.c: collectives as data: the builder finds dependencies from the bytes that nodes
   touch. */
#include "schedule.h"

/* ============================================================================================== */
/* [SCHEDULE] 15. Collectives as data                                                             */
/* ============================================================================================== */
static const char *const nbc__sched_coll_names[] = {
#define NBC__X(name, text) text,
    NBC_COLL_LIST(NBC__X)
#undef NBC__X
};
static const char *const nbc__sched_algo_names[] = {
#define NBC__X(name, text) text,
    NBC_ALGO_LIST(NBC__X)
#undef NBC__X
};

NBC_API const char *nbc_coll_name(nbc_coll coll) {
  return (unsigned)coll < NBC_COLL_COUNT ? nbc__sched_coll_names[coll] : "?";
}

NBC_API const char *nbc_algo_name(nbc_algo algo) {
  return (unsigned)algo < NBC_ALGO_COUNT ? nbc__sched_algo_names[algo] : "?";
}

NBC_API nbc_status nbc_coll_parse(const char *name, nbc_coll *coll) {
  for (int i = 0; i < NBC_COLL_COUNT; i++)
    if (strcmp(name, nbc__sched_coll_names[i]) == 0) return *coll = (nbc_coll)i, NBC_OK;
  return NBC_E_NOT_FOUND;
}

NBC_API nbc_status nbc_algo_parse(const char *name, nbc_algo *algo) {
  for (int i = 0; i < NBC_ALGO_COUNT; i++)
    if (strcmp(name, nbc__sched_algo_names[i]) == 0) return *algo = (nbc_algo)i, NBC_OK;
  return NBC_E_NOT_FOUND;
}

static bool nbc__sched_grow(nbc__sched_builder *b, void **array, size_t *capacity, size_t count,
                            size_t item_bytes) {
  if (b->status) return false;
  if (count <= *capacity) return true;
  size_t wanted = *capacity ? 2 * *capacity : 32;
  while (wanted < count) wanted *= 2;
  void *bigger = wanted < SIZE_MAX / 2 / item_bytes ? NBC_MALLOC(wanted * item_bytes) : NULL;
  if (!bigger)
    return b->status = nbc__status_fail(b->err, NBC_E_NOMEM, 0, "schedule: out of memory"), false;
  if (*array) memcpy(bigger, *array, *capacity * item_bytes);
  NBC_FREE(*array);
  *array = bigger;
  *capacity = wanted;
  return true;
}

/* The node added last starts after node `before`. */
NBC__PRIVATE void nbc__sched_after(nbc__sched_builder *b, int32_t before) {
  if (b->status || before < 0) return;
  const int32_t node = (int32_t)b->s->node_count - 1;
  if (before >= node || b->mark[before] == node) return;
  void *array = b->edges;
  const bool grown =
      nbc__sched_grow(b, &array, &b->edge_capacity, b->edge_count + 1, sizeof *b->edges);
  b->edges = (nbc__sched_pair *)array;
  if (!grown) return;
  b->mark[before] = node;
  b->edges[b->edge_count].a = before;
  b->edges[b->edge_count++].b = node;
  b->s->nodes[node].before_count++;
}

static int32_t nbc__sched_cons(nbc__sched_builder *b, int32_t node, int32_t next) {
  void *array = b->cells;
  const bool grown =
      nbc__sched_grow(b, &array, &b->cell_capacity, b->cell_count + 1, sizeof *b->cells);
  b->cells = (nbc__sched_pair *)array;
  if (!grown) return -1;
  b->cells[b->cell_count].a = node;
  b->cells[b->cell_count].b = next;
  return (int32_t)b->cell_count++;
}

static void nbc__sched_put(nbc__sched_interval *list, size_t *count, uint64_t lo, uint64_t hi,
                           int32_t writer, int32_t readers) {
  if (lo >= hi) return;
  nbc__sched_interval *const v = &list[(*count)++];
  v->lo = lo, v->hi = hi, v->writer = writer, v->readers = readers;
}

/* Replaces map[from, to) by the given intervals. */
static void nbc__sched_splice(nbc__sched_builder *b, nbc__sched_map *map, size_t from, size_t to,
                              const nbc__sched_interval *with, size_t with_count) {
  void *array = map->v;
  const size_t count = map->count - (to - from) + with_count;
  const bool grown = nbc__sched_grow(b, &array, &map->capacity, count, sizeof *map->v);
  map->v = (nbc__sched_interval *)array;
  if (!grown) return;
  if (to < map->count && from + with_count != to)
    memmove(map->v + from + with_count, map->v + to, (map->count - to) * sizeof *map->v);
  memcpy(map->v + from, with, with_count * sizeof *with);
  map->count = count;
}

/* The node added last reads or writes bytes: gives it its edges and remembers the access. */
static void nbc__sched_access(nbc__sched_builder *b, nbc_slice slice, uint64_t size_bytes,
                              bool write) {
  if (b->status || size_bytes == 0 || slice.area == NBC_AREA_NONE) return;
  nbc__sched_map *const map = &b->maps[slice.area];
  const uint64_t lo = slice.offset_bytes, hi = lo + size_bytes;
  const int32_t node = (int32_t)b->s->node_count - 1;
  size_t i = 0, end = map->count;
  while (i < end) { /* first interval that ends after lo */
    const size_t mid = i + (end - i) / 2;
    if (map->v[mid].hi > lo)
      end = mid;
    else
      i = mid + 1;
  }
  size_t j = i;
  while (j < map->count && map->v[j].lo < hi) j++;
  nbc__sched_interval few[16], *list = few;
  if (2 * (j - i) + 3 > 16)
    list = (nbc__sched_interval *)NBC_MALLOC((2 * (j - i) + 3) * sizeof *list);
  if (!list) {
    b->status = nbc__status_fail(b->err, NBC_E_NOMEM, 0, "schedule: out of memory");
    return;
  }
  size_t count = 0;
  uint64_t at = lo;
  if (i < j) nbc__sched_put(list, &count, map->v[i].lo, lo, map->v[i].writer, map->v[i].readers);
  for (size_t k = i; k < j; k++) {
    const nbc__sched_interval v = map->v[k];
    nbc__sched_after(b, v.writer);
    if (write) {
      for (int32_t r = v.readers; r >= 0; r = b->cells[r].b) nbc__sched_after(b, b->cells[r].a);
    } else {
      const uint64_t from = v.lo > lo ? v.lo : lo, to = v.hi < hi ? v.hi : hi;
      if (at < from) nbc__sched_put(list, &count, at, from, -1, nbc__sched_cons(b, node, -1));
      nbc__sched_put(list, &count, from, to, v.writer, nbc__sched_cons(b, node, v.readers));
      at = to;
    }
  }
  if (write)
    nbc__sched_put(list, &count, lo, hi, node, -1);
  else if (at < hi)
    nbc__sched_put(list, &count, at, hi, -1, nbc__sched_cons(b, node, -1));
  if (i < j)
    nbc__sched_put(list, &count, hi, map->v[j - 1].hi, map->v[j - 1].writer, map->v[j - 1].readers);
  nbc__sched_splice(b, map, i, j, list, count);
  if (list != few) NBC_FREE(list);
}

NBC__PRIVATE nbc_node *nbc__sched_add(nbc__sched_builder *b, nbc_node_type type,
                                      uint64_t size_bytes) {
  void *nodes = b->s->nodes, *mark = b->mark;
  size_t mark_capacity = b->node_capacity;
  const size_t wanted = (size_t)b->s->node_count + 2; /* one more to close the list */
  if (b->s->node_count > 0x3fffffff && !b->status)
    b->status =
        nbc__status_fail(b->err, NBC_E_RANGE, 0, "schedule: too many nodes; take longer segments");
  bool grown = nbc__sched_grow(b, &nodes, &b->node_capacity, wanted, sizeof *b->s->nodes);
  b->s->nodes = (nbc_node *)nodes;
  grown = grown && nbc__sched_grow(b, &mark, &mark_capacity, wanted, sizeof *b->mark);
  b->mark = (int32_t *)mark;
  if (!grown) return NULL;
  b->mark[b->s->node_count] = -1;
  nbc_node *const node = &b->s->nodes[b->s->node_count++];
  memset(node, 0, sizeof *node);
  node->type = type;
  node->size_bytes = size_bytes;
  return node;
}

NBC__PRIVATE nbc_slice nbc__sched_slice(nbc_area area, uint64_t offset_bytes) {
  nbc_slice slice;
  slice.area = area, slice.offset_bytes = offset_bytes;
  return slice;
}

NBC__PRIVATE nbc_slice nbc__sched_at(nbc_slice base, uint64_t offset_bytes) {
  base.offset_bytes += offset_bytes;
  return base;
}

/* Both return the node's index, or -1. Messages of 0 bytes synchronise: only barriers send them. */
NBC__PRIVATE int32_t nbc__sched_message(nbc__sched_builder *b, nbc_node_type type, int peer,
                                        nbc_slice buffer, uint64_t size_bytes) {
  nbc_node *const node = nbc__sched_add(b, type, size_bytes);
  if (!node) return -1;
  const int32_t index = (int32_t)b->s->node_count - 1;
  node->u.msg.buffer = buffer;
  node->u.msg.peer = peer;
  node->u.msg.tag = type == NBC_NODE_SEND ? b->send_tags[peer]++ : b->recv_tags[peer]++;
  if (node->u.msg.tag >> 28 && !b->status)
    b->status = nbc__status_fail(b->err, NBC_E_RANGE, 0,
                                 "schedule: too many messages; take longer segments");
  nbc__sched_access(b, buffer, size_bytes, type == NBC_NODE_RECV);
  if (type == NBC_NODE_SEND && b->window_count) { /* a finished send lets the next one start */
    int32_t *const oldest = &b->window[b->window_next];
    b->window_next = (b->window_next + 1) % b->window_count;
    nbc__sched_after(b, *oldest);
    *oldest = index;
  }
  return index;
}

NBC__PRIVATE int32_t nbc__sched_send(nbc__sched_builder *b, int peer, nbc_slice from,
                                     uint64_t size_bytes) {
  return size_bytes ? nbc__sched_message(b, NBC_NODE_SEND, peer, from, size_bytes) : -1;
}

NBC__PRIVATE int32_t nbc__sched_recv(nbc__sched_builder *b, int peer, nbc_slice to,
                                     uint64_t size_bytes) {
  return size_bytes ? nbc__sched_message(b, NBC_NODE_RECV, peer, to, size_bytes) : -1;
}

NBC__PRIVATE void nbc__sched_copy(nbc__sched_builder *b, nbc_slice dst, nbc_slice src,
                                  uint64_t size_bytes) {
  if (!size_bytes || (dst.area == src.area && dst.offset_bytes == src.offset_bytes)) return;
  nbc_node *const node = nbc__sched_add(b, NBC_NODE_COPY, size_bytes);
  if (!node) return;
  node->u.copy.dst = dst, node->u.copy.src = src;
  nbc__sched_access(b, src, size_bytes, false);
  nbc__sched_access(b, dst, size_bytes, true);
}

NBC__PRIVATE void nbc__sched_reduce(nbc__sched_builder *b, nbc_slice dst, nbc_slice left,
                                    nbc_slice right, uint64_t size_bytes) {
  if (!size_bytes) return;
  nbc_node *const node = nbc__sched_add(b, NBC_NODE_REDUCE, size_bytes);
  if (!node) return;
  node->u.reduce.dst = dst, node->u.reduce.left = left, node->u.reduce.right = right;
  nbc__sched_access(b, left, size_bytes, false);
  nbc__sched_access(b, right, size_bytes, false);
  nbc__sched_access(b, dst, size_bytes, true);
}

/* out[at] = mine op other (or other op mine). `fresh`: this part of out is not computed yet, mine
   is still in the input, so that no copy is needed to start. */
NBC__PRIVATE void nbc__sched_combine(nbc__sched_builder *b, uint64_t at, uint64_t size_bytes,
                                     nbc_slice other, bool other_left, bool fresh) {
  const nbc_slice mine = nbc__sched_at(fresh ? b->in : b->out, at);
  nbc__sched_reduce(b, nbc__sched_at(b->out, at), other_left ? other : mine,
                    other_left ? mine : other, size_bytes);
}

NBC__PRIVATE nbc_slice nbc__sched_scratch(nbc__sched_builder *b, uint64_t size_bytes) {
  const nbc_slice slice = nbc__sched_slice(NBC_AREA_SCRATCH, b->s->scratch_bytes);
  b->s->scratch_bytes +=
      (size_bytes + 63) & ~(uint64_t)63; /* keep parts on their own cache lines */
  return slice;
}

NBC__PRIVATE void nbc__sched_window(nbc__sched_builder *b, int at_most) {
  b->window_count = b->d.window_count < at_most ? b->d.window_count : at_most;
  b->window_next = 0;
  for (int i = 0; i < b->window_count; i++) b->window[i] = -1;
}

/* ---- blocks: where the part of each rank lies ---------------------------------------------- */
NBC__PRIVATE uint64_t nbc__sched_block_bytes(const nbc_schedule_desc *d, const uint64_t *counts,
                                             int rank) {
  return (counts ? counts[rank] : d->count) * d->elem_bytes;
}

NBC__PRIVATE uint64_t nbc__sched_block_at(const nbc_schedule_desc *d, const uint64_t *counts,
                                          const uint64_t *displs, int rank) {
  if (displs) return displs[rank] * d->elem_bytes;
  if (!counts) return (uint64_t)rank * d->count * d->elem_bytes;
  uint64_t at = 0;
  for (int i = 0; i < rank; i++) at += counts[i];
  return at * d->elem_bytes;
}

NBC__PRIVATE uint64_t nbc__sched_blocks_end(const nbc_schedule_desc *d, const uint64_t *counts,
                                            const uint64_t *displs) {
  uint64_t end = 0, packed = 0;
  for (int i = 0; i < d->size; i++) {
    const uint64_t bytes = nbc__sched_block_bytes(d, counts, i);
    const uint64_t at = displs ? displs[i] * d->elem_bytes : packed;
    packed += bytes;
    if (bytes && at + bytes > end) end = at + bytes;
  }
  return end;
}

/* Part i of a vector of d.count elements cut evenly into `parts`: [at(i), at(i + 1)) in bytes. */
NBC__PRIVATE uint64_t nbc__sched_part(const nbc__sched_builder *b, int i, int parts) {
  const uint64_t n = b->d.count / (uint64_t)parts, rest = b->d.count % (uint64_t)parts,
                 k = (uint64_t)i;
  return (k * n + (k < rest ? k : rest)) * b->d.elem_bytes;
}

NBC__PRIVATE int nbc__sched_power_of_two(int size) { /* largest 2^n <= size */
  int p = 1;
  while (p <= size / 2) p *= 2;
  return p;
}
