/* build.c: a schedule is built. */
#include "build.h"
#include "catalogue.h"
#include "choice.h"

/* ---- build --------------------------------------------------------------------------------- */
/* How much of a buffer a collective touches at this rank. */
static uint64_t nbc__sched_extent(const nbc_schedule_desc *d, nbc__coll_part part,
                                  const uint64_t *counts, const uint64_t *displs) {
  const bool root = d->rank == d->root;
  switch (part) {
  case NBC__COLL_NONE: break;
  case NBC__COLL_VECTOR: return d->count * d->elem_bytes;
  case NBC__COLL_ROOT_VECTOR: return root ? d->count * d->elem_bytes : 0;
  case NBC__COLL_OWN_BLOCK: return nbc__sched_block_bytes(d, d->recv_counts, d->rank);
  case NBC__COLL_BLOCKS: return nbc__sched_blocks_end(d, counts, displs);
  case NBC__COLL_ROOT_BLOCKS: return root ? nbc__sched_blocks_end(d, counts, displs) : 0;
  case NBC__COLL_SOURCE_BLOCKS:
    return nbc__sched_row_end(d, counts, displs, nbc__sched_recv_blocks(d));
  case NBC__COLL_TARGET_BLOCKS:
    return nbc__sched_row_end(d, counts, displs, nbc__sched_send_blocks(d));
  }
  return 0;
}

/* Extents of the user's buffers at this rank. In place, one of the two buffers does the work of
   both: the receive buffer, but for a scatter, whose root leaves its own block where it lies in the
   send buffer. */
static void nbc__sched_extents(const nbc_schedule_desc *d, uint64_t *send_bytes,
                               uint64_t *recv_bytes) {
  const nbc__coll_row *const about = nbc__coll_about(d->coll);
  const bool recv_only = !(about->has & NBC_HAS_SEND_COUNTS); /* one list of counts serves both */
  const bool scatters = about->gives == NBC__COLL_ROOT_BLOCKS;
  const uint64_t in =
      nbc__sched_extent(d, about->gives, recv_only ? d->recv_counts : d->send_counts,
                        recv_only ? d->recv_displs : d->send_displs);
  uint64_t out = nbc__sched_extent(d, about->gets, d->recv_counts, d->recv_displs);
  if (d->in_place && about->gives == NBC__COLL_BLOCKS && about->gets == NBC__COLL_OWN_BLOCK)
    out = in; /* what is to be reduced lies in the receive buffer */
  *send_bytes = d->in_place && !scatters ? 0 : in;
  *recv_bytes = d->in_place && scatters ? 0 : out;
}

/* Where this rank's input starts. */
NBC__PRIVATE nbc_slice nbc__sched_input(const nbc_schedule_desc *d) {
  const nbc__coll_row *const about = nbc__coll_about(d->coll);
  if (about->gives == NBC__COLL_NONE) return nbc__sched_slice(NBC_AREA_RECV, 0);
  if (!d->in_place || about->gives == NBC__COLL_ROOT_BLOCKS)
    return nbc__sched_slice(NBC_AREA_SEND, 0);
  const bool own_block = about->gives != NBC__COLL_BLOCKS &&
                         (about->gets == NBC__COLL_BLOCKS || about->gets == NBC__COLL_ROOT_BLOCKS);
  return nbc__sched_slice(
      NBC_AREA_RECV,
      own_block ? nbc__sched_block_at(d, d->recv_counts, d->recv_displs, d->rank) : 0);
}

static nbc_status nbc__sched_check_counts(const uint64_t *counts, const uint64_t *displs,
                                          int blocks, uint64_t elem_bytes, const char *name,
                                          nbc_error *err) {
  const uint64_t most = (uint64_t)INT64_MAX / elem_bytes / 2;
  uint64_t total = 0;
  for (int i = 0; counts && i < blocks; i++) {
    if (counts[i] > most || (total += counts[i]) > most || (displs && displs[i] > most))
      return nbc__status_fail(err, NBC_E_RANGE, 0, "%s[%d] = %llu: buffers of more than 2^62 bytes",
                              name, i, (unsigned long long)counts[i]);
  }
  return NBC_OK;
}

/* What is received must have a place of its own, as MPI demands: two messages that write one byte would wait for each other,
   in another order at each rank, for ever. Lists go upwards mostly, which one look shows; others are sorted. */
typedef struct nbc__sched_place {
  uint64_t from, to;
  int block;
} nbc__sched_place;
static int nbc__sched_place_order(const void *a, const void *b) {
  const nbc__sched_place *const x = (const nbc__sched_place *)a, *const y =
                                                                     (const nbc__sched_place *)b;
  return x->from < y->from ? -1 : x->from > y->from;
}
static nbc_status nbc__sched_check_places(const uint64_t *counts, const uint64_t *displs,
                                          int blocks, nbc_error *err) {
  nbc_status status = NBC_OK;
  uint64_t end = 0;
  int i, count = 0;
  for (i = 0; displs && counts && i < blocks && (!counts[i] || displs[i] >= end); i++)
    if (counts[i]) end = displs[i] + counts[i];
  if (!displs || !counts || i == blocks) return NBC_OK;
  nbc__sched_place *const place = (nbc__sched_place *)NBC_MALLOC((size_t)blocks * sizeof *place);
  if (!place) return nbc__status_fail(err, NBC_E_NOMEM, 0, "out of memory");
  for (i = 0; i < blocks; i++) {
    const nbc__sched_place one = {displs[i], displs[i] + counts[i], i};
    if (counts[i]) place[count++] = one;
  }
  qsort(place, (size_t)count, sizeof *place, nbc__sched_place_order);
  for (i = 1; i < count && !status; i++)
    if (place[i].from < place[i - 1].to)
      status = nbc__status_fail(
          err, NBC_E_INVAL, 0, "recv_displs[%d] = %llu: blocks %d and %d are received in one place",
          place[i].block, (unsigned long long)place[i].from, place[i - 1].block, place[i].block);
  NBC_FREE(place);
  return status;
}

static nbc_status nbc__sched_check_list(const int *ranks, int count, const nbc_schedule_desc *d,
                                        const char *name, nbc_error *err) {
  if (count < 0 || (count && !ranks))
    return nbc__status_fail(err, NBC_E_INVAL, 0, "neighbors: %s: %s", name,
                            count < 0 ? "the count is negative" : "must not be NULL");
  for (int i = 0; i < count; i++)
    if (ranks[i] < -1 || ranks[i] >= d->size)
      return nbc__status_fail(err, NBC_E_RANGE, 0, "neighbors: %s[%d]: %d is not in -1..%d", name,
                              i, ranks[i], d->size - 1);
  if (d->count > (uint64_t)INT64_MAX / d->elem_bytes / 2 / (uint64_t)(count + 1))
    return nbc__status_fail(
        err, NBC_E_RANGE, 0,
        "neighbors: count: %llu elements of %llu bytes: buffers of more than 2^62 "
        "bytes",
        (unsigned long long)d->count, (unsigned long long)d->elem_bytes);
  return NBC_OK;
}

static nbc_status nbc__sched_check_neighbors(const nbc_schedule_desc *d, nbc_error *err) {
  const nbc_neighbors *const n = d->neighbors;
  if (!(nbc__coll_about(d->coll)->has & NBC_HAS_NEIGHBORS)) return NBC_OK;
  if (!n)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "%s: neighbors: must not be NULL",
                            nbc_coll_name(d->coll));
  const nbc_status status = nbc__sched_check_list(n->sources, n->source_count, d, "sources", err);
  if (status) return status;
  return nbc__sched_check_list(n->targets, n->target_count, d, "targets", err);
}

static nbc_status nbc__sched_check(const nbc_schedule_desc *d, nbc_error *err) {
  if ((unsigned)d->coll >= NBC_COLL_COUNT)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "coll: no collective %d", (int)d->coll);
  const nbc__coll_row *const about = nbc__coll_about(d->coll);
  const char *const name = about->name;
  if (d->size < 1)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "%s: size: must be > 0, got %d", name, d->size);
  if (d->rank < 0 || d->rank >= d->size)
    return nbc__status_fail(err, NBC_E_RANGE, 0, "%s: rank: %d is not in 0..%d", name, d->rank,
                            d->size - 1);
  if ((about->has & NBC_HAS_ROOT) && (d->root < 0 || d->root >= d->size))
    return nbc__status_fail(err, NBC_E_RANGE, 0, "%s: root: %d is not in 0..%d", name, d->root,
                            d->size - 1);
  if (d->radix < 0 || d->radix == 1 || d->window_count < 0)
    return nbc__status_fail(err, NBC_E_RANGE, 0,
                            "%s: radix: must be >= 2 (0 = default); window_count: >= 0", name);
  if (d->count > (uint64_t)INT64_MAX / d->elem_bytes / 2 / (uint64_t)d->size)
    return nbc__status_fail(
        err, NBC_E_RANGE, 0,
        "%s: count: %llu elements of %llu bytes: buffers of more than 2^62 bytes", name,
        (unsigned long long)d->count, (unsigned long long)d->elem_bytes);
  nbc_status status = nbc__sched_check_neighbors(d, err);
  if (status) return status;
  for (int i = 0; d->nodes && i < d->size; i++)
    if (d->nodes[i] < 0 || d->nodes[i] >= d->size)
      return nbc__status_fail(err, NBC_E_RANGE, 0, "%s: nodes[%d]: %d is not in 0..%d", name, i,
                              d->nodes[i], d->size - 1);
  const bool optional = (about->has & NBC_HAS_NEIGHBORS) != 0;
  const bool reads = !(about->has & NBC_HAS_ROOT) || d->rank == d->root;
  const bool recv = (about->has & NBC_HAS_RECV_COUNTS) && reads;
  const bool send = (about->has & NBC_HAS_SEND_COUNTS) && reads &&
                    ((about->has & NBC_HAS_ROOT) || !d->in_place); /* in place: as received */
  if (!optional && ((recv && !d->recv_counts) || (send && !d->send_counts)))
    return nbc__status_fail(err, NBC_E_INVAL, 0, "%s: %s_counts: must not be NULL", name,
                            recv && !d->recv_counts ? "recv" : "send");
  status = nbc__sched_check_counts(recv ? d->recv_counts : NULL, d->recv_displs,
                                   nbc__sched_recv_blocks(d), d->elem_bytes, "recv_counts", err);
  if (!status && recv &&
      (about->gets == NBC__COLL_BLOCKS || about->gets == NBC__COLL_ROOT_BLOCKS ||
       about->gets == NBC__COLL_SOURCE_BLOCKS))
    status =
        nbc__sched_check_places(d->recv_counts, d->recv_displs, nbc__sched_recv_blocks(d), err);
  if (!status)
    status = nbc__sched_check_counts(send ? d->send_counts : NULL, d->send_displs,
                                     nbc__sched_send_blocks(d), d->elem_bytes, "send_counts", err);
  if (status) return status;
  if (d->algo != NBC_ALGO_AUTO &&
      !nbc_schedule_supports(d->coll, d->algo, d->size, d->not_commutative))
    return nbc__status_fail(
        err, NBC_E_INVAL, 0, "%s: algo: %s does not serve %s%d ranks", name, nbc_algo_name(d->algo),
        d->not_commutative && (about->has & NBC_HAS_OPERATOR) ? "operators that do not commute, "
                                                              : "it with ",
        d->size);
  return NBC_OK;
}

/* Counts that a collective does not use are not read. */
static void nbc__sched_normalize(nbc_schedule_desc *d) {
  if (!d->elem_bytes) d->elem_bytes = 1;
  if (!d->radix) d->radix = 4;
  if (!d->window_count) d->window_count = 8;
  const unsigned has = nbc__coll_about(d->coll)->has;
  if (!(has & NBC_HAS_RECV_COUNTS)) d->recv_counts = NULL;
  if (!(has & NBC_HAS_RECV_DISPLS)) d->recv_displs = NULL;
  if (!(has & NBC_HAS_SEND_COUNTS)) d->send_counts = d->send_displs = NULL;
  if (!(has & NBC_HAS_IN_PLACE) || ((has & NBC_HAS_ROOT) && d->rank != d->root))
    d->in_place = false;
  if (!(has & NBC_HAS_NEIGHBORS)) d->neighbors = NULL;
  if (has & (NBC_HAS_NEIGHBORS | NBC_HAS_RECV_COUNTS | NBC_HAS_SEND_COUNTS)) d->nodes = NULL;
  if (!(has & NBC_HAS_ROOT)) d->root = 0;
  if (d->coll == NBC_COLL_BARRIER) d->count = 0;
}

/* Sorts the edges into one flat array: successors of node i at [first_after(i), first_after(i +
   1)). A counting sort: count the edges of each node one place to the right, add up, so that place
   i + 1 holds where the list of i ends; put the edges in from the ends down, after which place i +
   1 holds where it begins; move all by one place. */
static bool nbc__sched_flatten(nbc__sched_builder *b) {
  nbc_schedule *const s = b->s;
  if (s->node_count == 0 && !nbc__sched_add(b, NBC_NODE_NOP, 0))
    return false; /* also "do nothing" has an end */
  if (b->status || b->edge_count > UINT32_MAX) return false;
  s->after_count = (uint32_t)b->edge_count;
  s->after = (uint32_t *)NBC_MALLOC((b->edge_count + 1) * sizeof *s->after);
  if (!s->after)
    return b->status = nbc__status_fail(b->err, NBC_E_NOMEM, 0, "schedule: out of memory"), false;
  memset(&s->nodes[s->node_count], 0, sizeof *s->nodes);
  for (size_t i = 0; i < b->edge_count; i++) s->nodes[b->edges[i].before + 1].first_after++;
  for (uint32_t i = 0; i < s->node_count; i++)
    s->nodes[i + 1].first_after += s->nodes[i].first_after;
  for (size_t i = b->edge_count; i-- > 0;) /* from the end, so that the lists come out ascending */
    s->after[--s->nodes[b->edges[i].before + 1].first_after] = (uint32_t)b->edges[i].after;
  for (uint32_t i = 0; i < s->node_count; i++)
    s->nodes[i].first_after = s->nodes[i + 1].first_after;
  s->nodes[s->node_count].first_after = s->after_count;
  return true;
}

static void nbc__sched_builder_free(nbc__sched_builder *b) {
  NBC_FREE(b->edges);
  NBC_FREE(b->readers);
  NBC_FREE(b->recv_at);
  NBC_FREE(b->send_at);
  NBC_FREE(b->mark);
  NBC_FREE(b->send_tags);
  NBC_FREE(b->children);
  for (int i = 0; i < NBC_AREA_COUNT; i++) NBC_FREE(b->maps[i].v);
}

/* The caller's desc, normalised and checked. */
NBC__PRIVATE nbc_status nbc__sched_take(nbc_schedule_desc *d, const nbc_schedule_desc *desc,
                                        nbc_error *err) {
  *d = *desc;
  if ((unsigned)desc->coll < NBC_COLL_COUNT) nbc__sched_normalize(d);
  return nbc__sched_check(d, err);
}

/* Whether the schedule was built for such a desc, which was taken: then no block lies outside of its buffers. */
NBC__PRIVATE bool nbc__sched_is_of(const nbc_schedule *s, const nbc_schedule_desc *d) {
  uint64_t send_bytes, recv_bytes;
  nbc__sched_extents(d, &send_bytes, &recv_bytes);
  return s->coll == d->coll && s->rank == d->rank && s->size == d->size && s->root == d->root &&
         s->elem_bytes == d->elem_bytes && s->send_bytes == send_bytes &&
         s->recv_bytes == recv_bytes;
}

NBC_API nbc_status nbc_schedule_build(const nbc_schedule_desc *desc, nbc_schedule **schedule,
                                      nbc_error *err) {
  if (!desc || !schedule)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "desc and schedule: must not be NULL");
  nbc__sched_builder b;
  memset(&b, 0, sizeof b);
  b.err = err;
  *schedule = NULL;
  nbc_status status = nbc__sched_take(&b.d, desc, err);
  if (status) return status;
  nbc_choose(desc->table, &b.d);
  const size_t size = (size_t)b.d.size,
               window = (size_t)b.d.window_count < 4096 ? (size_t)b.d.window_count : 4096;
  b.d.window_count = (int)window;
  b.s = (nbc_schedule *)NBC_MALLOC(sizeof *b.s);
  b.send_tags = (uint32_t *)NBC_MALLOC(2 * size * sizeof *b.send_tags);
  b.children = (int *)NBC_MALLOC((size + window) * sizeof *b.children);
  if (b.s && b.send_tags && b.children && nbc__sched_index_blocks(&b)) {
    memset(b.s, 0, sizeof *b.s);
    memset(b.send_tags, 0, 2 * size * sizeof *b.send_tags);
    b.recv_tags = b.send_tags + size;
    b.window = (int32_t *)b.children + size;
    b.s->coll = b.d.coll, b.s->algo = b.d.algo;
    b.s->rank = b.d.rank, b.s->size = b.d.size, b.s->root = b.d.root;
    b.s->elem_bytes = b.d.elem_bytes;
    nbc__sched_extents(&b.d, &b.s->send_bytes, &b.s->recv_bytes);
    b.in = nbc__sched_input(&b.d);
    b.out = nbc__sched_slice(NBC_AREA_RECV, 0);
    nbc__sched_writer_of(b.s->coll, b.s->algo)(&b);
    if (!b.status) nbc__sched_flatten(&b);
    status = b.status;
  } else {
    status = nbc__status_fail(err, NBC_E_NOMEM, 0, "schedule: out of memory");
  }
  nbc__sched_builder_free(&b);
  if (status)
    nbc_schedule_free(b.s);
  else
    *schedule = b.s;
  return status;
}

NBC_API void nbc_schedule_free(nbc_schedule *schedule) {
  if (!schedule) return;
  NBC_FREE(schedule->nodes);
  NBC_FREE(schedule->after);
  NBC_FREE(schedule);
}
