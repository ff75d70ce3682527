/* schedule.c: collectives as data: the builder finds dependencies from the bytes that nodes
   touch. */
#include "schedule.h"

/* ============================================================================================== */
/* [SCHEDULE] 15. Collectives as data                                                             */
/* ============================================================================================== */
NBC__PRIVATE const nbc__coll_row *nbc__coll_about(nbc_coll coll) {
  static const nbc__coll_row rows[] = {
#define NBC__X(name, text, kind, gives, gets, has)                                                 \
  {text, NBC_KIND_##kind, NBC__COLL_##gives, NBC__COLL_##gets, (unsigned)(has)},
      NBC_COLL_LIST(NBC__X)
#undef NBC__X
          {"?", NBC_KIND_OTHER, NBC__COLL_NONE, NBC__COLL_NONE, 0}};
  return &rows[(unsigned)coll < NBC_COLL_COUNT ? coll : NBC_COLL_COUNT];
}

static const char *const nbc__sched_algo_names[] = {
#define NBC__X(name, text) text,
    NBC_ALGO_LIST(NBC__X)
#undef NBC__X
};

NBC_API const char *nbc_coll_name(nbc_coll coll) { return nbc__coll_about(coll)->name; }

NBC_API const char *nbc_algo_name(nbc_algo algo) {
  return (unsigned)algo < NBC_ALGO_COUNT ? nbc__sched_algo_names[algo] : "?";
}

NBC_API nbc_status nbc_coll_parse(const char *name, nbc_coll *coll) {
  if (!name || !coll) return NBC_E_INVAL;
  for (int i = 0; i < NBC_COLL_COUNT; i++)
    if (strcmp(name, nbc_coll_name((nbc_coll)i)) == 0) return *coll = (nbc_coll)i, NBC_OK;
  return NBC_E_NOT_FOUND;
}

NBC_API nbc_status nbc_algo_parse(const char *name, nbc_algo *algo) {
  if (!name || !algo) return NBC_E_INVAL;
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

/* The node added last starts after node `before`. mark[before] names the node that last got such an
   edge: edges are added for one node at a time, so one comparison keeps them from being written
   twice. A node that reads and writes the same bytes would wait for itself: no edge. */
NBC__PRIVATE void nbc__sched_after(nbc__sched_builder *b, int32_t before) {
  if (b->status || before < 0) return;
  const int32_t node = (int32_t)b->s->node_count - 1;
  if (before >= node || b->mark[before] == node) return;
  void *array = b->edges;
  const bool grown =
      nbc__sched_grow(b, &array, &b->edge_capacity, b->edge_count + 1, sizeof *b->edges);
  b->edges = (nbc__sched_edge *)array;
  if (!grown) return;
  b->mark[before] = node;
  b->edges[b->edge_count].before = before;
  b->edges[b->edge_count++].after = node;
  b->s->nodes[node].before_count++;
}

/* The list of readers that begins with `node` and goes on with `next`. */
static int32_t nbc__sched_with_reader(nbc__sched_builder *b, int32_t node, int32_t next) {
  void *array = b->readers;
  const bool grown =
      nbc__sched_grow(b, &array, &b->reader_capacity, b->reader_count + 1, sizeof *b->readers);
  b->readers = (nbc__sched_reader *)array;
  if (!grown) return -1;
  b->readers[b->reader_count].node = node;
  b->readers[b->reader_count].next = next;
  return (int32_t)b->reader_count++;
}

/* ---- which bytes were touched by whom ------------------------------------------------------ */
/* An area is a list of intervals, ascending and disjoint; bytes between them were never touched. An
   interval knows the node that wrote its bytes last and the nodes that have read them since. With
   three intervals, an access to [lo, hi) by node 7 finds two of them (find), makes node 7 depend on
   what they know and cuts them at lo and hi (cut), and puts the new ones in their place (join):

                    lo                       hi
       before   |--- w1 ---|      |--- w2, read by 5 ---|   |--- w3 ---|
       read     |w1 | w1, 7|  7   |w2, read by 5, 7|w2,5|   |--- w3 ---|
       write    |w1 |         w7                   |w2,5|   |--- w3 ---|

   A reader waits for the writer; a writer waits for the writer and all readers, who are then
   forgotten: whoever comes next need only wait for the new writer. */
typedef struct nbc__sched_cut { /* the new intervals of one access */
  nbc__sched_interval few[16], *v;
  size_t count;
} nbc__sched_cut;

static void nbc__sched_put(nbc__sched_cut *cut, uint64_t lo, uint64_t hi, int32_t writer,
                           int32_t readers) {
  if (lo >= hi) return;
  nbc__sched_interval *const v = &cut->v[cut->count++];
  v->lo = lo, v->hi = hi, v->writer = writer, v->readers = readers;
}

/* The array has its free room in one piece, as a text editor's buffer: intervals before gap_index
   lie at its beginning, the others at its end. A row of accesses that go up then moves nothing. */
static size_t nbc__sched_gap(const nbc__sched_map *map) { return map->capacity - map->count; }

/* Interval i, wherever the gap is. */
static const nbc__sched_interval *nbc__sched_nth(const nbc__sched_map *map, size_t i) {
  return &map->v[i < map->gap_index ? i : i + nbc__sched_gap(map)];
}

/* The intervals that [lo, hi) meets are those from *from to before *to. */
static void nbc__sched_find(const nbc__sched_map *map, uint64_t lo, uint64_t hi, size_t *from,
                            size_t *to) {
  size_t i = 0, end = map->count;
  while (i < end) { /* first interval that ends after lo */
    const size_t mid = i + (end - i) / 2;
    if (nbc__sched_nth(map, mid)->hi > lo)
      end = mid;
    else
      i = mid + 1;
  }
  *from = i;
  /* One by one: an access meets few intervals, most often one. */
  while (i < map->count && nbc__sched_nth(map, i)->lo < hi) i++;
  *to = i;
}

/* Brings the gap before interval i. Accesses come in rows, so it is seldom far. */
static void nbc__sched_move_gap(nbc__sched_map *map, size_t i) {
  const size_t gap = nbc__sched_gap(map), at = map->gap_index;
  if (i < at)
    memmove(map->v + i + gap, map->v + i, (at - i) * sizeof *map->v);
  else if (i > at)
    memmove(map->v + at, map->v + at + gap, (i - at) * sizeof *map->v);
  map->gap_index = i;
}

/* Dependencies of the node added last on what it meets, and the intervals that are left. Lists of
   readers are never changed: the pieces of a cut interval share the old list, and a new reader
   stands in front of it. */
static void nbc__sched_cut_read(nbc__sched_builder *b, const nbc__sched_interval *met,
                                size_t met_count, uint64_t lo, uint64_t hi, nbc__sched_cut *cut) {
  const int32_t node = (int32_t)b->s->node_count - 1;
  uint64_t at = lo; /* up to here all is written down */
  for (size_t k = 0; k < met_count; k++) {
    const nbc__sched_interval v = met[k];
    const uint64_t from = v.lo > lo ? v.lo : lo, to = v.hi < hi ? v.hi : hi;
    nbc__sched_after(b, v.writer);
    if (at < from) nbc__sched_put(cut, at, from, -1, nbc__sched_with_reader(b, node, -1));
    nbc__sched_put(cut, from, to, v.writer, nbc__sched_with_reader(b, node, v.readers));
    at = to;
  }
  if (at < hi) nbc__sched_put(cut, at, hi, -1, nbc__sched_with_reader(b, node, -1));
}

static void nbc__sched_cut_write(nbc__sched_builder *b, const nbc__sched_interval *met,
                                 size_t met_count, uint64_t lo, uint64_t hi, nbc__sched_cut *cut) {
  for (size_t k = 0; k < met_count; k++) {
    nbc__sched_after(b, met[k].writer);
    for (int32_t r = met[k].readers; r >= 0; r = b->readers[r].next)
      nbc__sched_after(b, b->readers[r].node);
  }
  nbc__sched_put(cut, lo, hi, (int32_t)b->s->node_count - 1, -1);
}

/* Puts the new intervals in the place of the first met_count after the gap. */
static void nbc__sched_join(nbc__sched_builder *b, nbc__sched_map *map, size_t met_count,
                            const nbc__sched_cut *cut) {
  map->count -= met_count; /* the gap takes them in */
  const size_t old = map->capacity, tail = map->count - map->gap_index;
  void *array = map->v;
  const bool grown =
      nbc__sched_grow(b, &array, &map->capacity, map->count + cut->count, sizeof *map->v);
  map->v = (nbc__sched_interval *)array;
  if (!grown) return;
  if (map->capacity != old && tail)
    memmove(map->v + map->capacity - tail, map->v + old - tail, tail * sizeof *map->v);
  memcpy(map->v + map->gap_index, cut->v, cut->count * sizeof *cut->v);
  map->gap_index += cut->count;
  map->count += cut->count;
}

/* The node added last reads or writes bytes. */
static void nbc__sched_access(nbc__sched_builder *b, nbc_slice slice, uint64_t size_bytes,
                              bool write) {
  if (b->status || size_bytes == 0 || slice.area == NBC_AREA_NONE) return;
  nbc__sched_map *const map = &b->maps[slice.area];
  const uint64_t lo = slice.offset_bytes, hi = lo + size_bytes;
  size_t from, to;
  nbc__sched_find(map, lo, hi, &from, &to);
  /* Each interval that is met leaves one piece inside and at most one hole before it; besides these
     a hole at the end and the pieces outside at both ends: 2 n + 3. */
  const size_t met_count = to - from, most = 2 * met_count + 3;
  nbc__sched_cut cut;
  cut.count = 0;
  cut.v = cut.few;
  if (most > sizeof cut.few / sizeof *cut.few)
    cut.v = (nbc__sched_interval *)NBC_MALLOC(most * sizeof *cut.v);
  if (!cut.v) {
    b->status = nbc__status_fail(b->err, NBC_E_NOMEM, 0, "schedule: out of memory");
    return;
  }
  nbc__sched_move_gap(map, from);
  const nbc__sched_interval *const met = met_count ? nbc__sched_nth(map, from) : NULL;
  const nbc__sched_interval *const last = met_count ? nbc__sched_nth(map, to - 1) : NULL;
  if (met) nbc__sched_put(&cut, met->lo, lo, met->writer, met->readers);
  if (write)
    nbc__sched_cut_write(b, met, met_count, lo, hi, &cut);
  else
    nbc__sched_cut_read(b, met, met_count, lo, hi, &cut);
  if (last) nbc__sched_put(&cut, hi, last->hi, last->writer, last->readers);
  nbc__sched_join(b, map, met_count, &cut);
  if (cut.v != cut.few) NBC_FREE(cut.v);
}

/* ---- nodes --------------------------------------------------------------------------------- */
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

/* Both return the node's index, or -1. Messages of 0 bytes synchronise: only barriers send them.
   The k-th send to a rank meets the k-th receive from this rank there: both sides must write their
   messages in the same order, which the verifier shows. A send whose window is full waits for the
   one that went first. */
NBC__PRIVATE int32_t nbc__sched_message(nbc__sched_builder *b, nbc_node_type type, int peer,
                                        nbc_slice buffer, uint64_t size_bytes) {
  nbc_node *const node = nbc__sched_add(b, type, size_bytes);
  if (!node) return -1;
  if (b->group) peer = b->group[peer];
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
NBC__PRIVATE void nbc__sched_combine(nbc__sched_builder *b, nbc_slice out, uint64_t at,
                                     uint64_t size_bytes, nbc_slice other, bool other_left,
                                     bool fresh) {
  const nbc_slice mine = nbc__sched_at(fresh ? b->in : out, at);
  nbc__sched_reduce(b, nbc__sched_at(out, at), other_left ? other : mine, other_left ? mine : other,
                    size_bytes);
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

/* How many blocks come to this rank, go from it. */
NBC__PRIVATE int nbc__sched_recv_blocks(const nbc_schedule_desc *d) {
  return d->neighbors ? d->neighbors->source_count : d->size;
}
NBC__PRIVATE int nbc__sched_send_blocks(const nbc_schedule_desc *d) {
  return d->neighbors ? d->neighbors->target_count : d->size;
}

NBC__PRIVATE uint64_t nbc__sched_blocks_end(const nbc_schedule_desc *d, const uint64_t *counts,
                                            const uint64_t *displs) {
  return nbc__sched_row_end(d, counts, displs, d->size);
}

NBC__PRIVATE uint64_t nbc__sched_row_end(const nbc_schedule_desc *d, const uint64_t *counts,
                                         const uint64_t *displs, int blocks) {
  uint64_t end = 0, packed = 0;
  for (int i = 0; i < blocks; i++) {
    const uint64_t bytes = nbc__sched_block_bytes(d, counts, i);
    const uint64_t at = displs ? displs[i] * d->elem_bytes : packed;
    packed += bytes;
    if (bytes && at + bytes > end) end = at + bytes;
  }
  return end;
}

/* Sums once what nbc__sched_block_at would sum for every block. */
static bool nbc__sched_index(const uint64_t *counts, const uint64_t *displs, int blocks,
                             uint64_t **index) {
  if (!counts || displs) return true;
  uint64_t *const at = (uint64_t *)NBC_MALLOC(((size_t)blocks + 1) * sizeof *at);
  if (!at) return false;
  at[0] = 0;
  for (int i = 0; i < blocks; i++) at[i + 1] = at[i] + counts[i];
  *index = at;
  return true;
}

/* Of the counts that this rank reads (in place, without a root: those of what it receives only). */
NBC__PRIVATE bool nbc__sched_index_blocks(nbc__sched_builder *b) {
  const nbc_schedule_desc *const d = &b->d;
  const bool rooted = (nbc__coll_about(d->coll)->has & NBC_HAS_ROOT) != 0;
  if (rooted && d->rank != d->root) return true;
  return nbc__sched_index(d->recv_counts, d->recv_displs, nbc__sched_recv_blocks(d), &b->recv_at) &&
         ((d->in_place && !rooted) ||
          nbc__sched_index(d->send_counts, d->send_displs, nbc__sched_send_blocks(d), &b->send_at));
}

NBC__PRIVATE uint64_t nbc__sched_vector_bytes(const nbc__sched_builder *b) {
  return b->d.count * b->d.elem_bytes;
}

NBC__PRIVATE uint64_t nbc__sched_recv_bytes(const nbc__sched_builder *b, int rank) {
  return nbc__sched_block_bytes(&b->d, b->d.recv_counts, rank);
}

NBC__PRIVATE uint64_t nbc__sched_recv_at(const nbc__sched_builder *b, int rank) {
  if (b->recv_at) return b->recv_at[rank] * b->d.elem_bytes;
  return nbc__sched_block_at(&b->d, b->d.recv_counts, b->d.recv_displs, rank);
}

NBC__PRIVATE uint64_t nbc__sched_send_bytes(const nbc__sched_builder *b, int rank) {
  return nbc__sched_block_bytes(&b->d, b->d.send_counts, rank);
}

NBC__PRIVATE uint64_t nbc__sched_send_at(const nbc__sched_builder *b, int rank) {
  if (b->send_at) return b->send_at[rank] * b->d.elem_bytes;
  return nbc__sched_block_at(&b->d, b->d.send_counts, b->d.send_displs, rank);
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
