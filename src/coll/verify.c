/* verify.c: schedules proved. */
#include "verify.h"
#include "build.h"
#include "price.h"

/* ---- the verifier -------------------------------------------------------------------------- */
/* A schedule is proved in two steps, so that one run stands for all runs.
   1. Order: within a rank, two nodes that touch the same byte, one of them writing, are ordered by
      edges. So whatever order a real run takes, each node reads the same bytes (prove_order).
   2. Values: the schedules of all ranks are run once, in any order that the edges allow. Instead of
      data, a byte holds which ranks' contributions are in it and which byte of their vectors it is.
      What stands in the receive buffers at the end is compared with what the collective promises.
   A message is moved when the later of its two ends is posted, as if nothing were buffered: a
   schedule that only ends thanks to buffers is found stuck. */
typedef struct nbc__sched_byte {
  uint64_t ranks; /* bit r: holds what rank r gave; 0: not set by anyone */
  uint64_t index;
} nbc__sched_byte;

typedef struct nbc__sched_proof {
  nbc__sched_world w;
  const nbc_schedule_desc *descs; /* normalized */
  nbc__sched_byte *areas[64][NBC_AREA_COUNT];
  uint64_t *heard; /* per node: ranks known to have entered when it finishes */
  size_t *ready;
  size_t ready_count;
  bool *posted;
  nbc_error *err;
} nbc__sched_proof;

static uint64_t nbc__sched_area_bytes(const nbc_schedule *s, nbc_area area) {
  return area == NBC_AREA_SEND      ? s->send_bytes
         : area == NBC_AREA_RECV    ? s->recv_bytes
         : area == NBC_AREA_SCRATCH ? s->scratch_bytes
                                    : 0;
}

/* The slices a node touches, written one first. ret how many */
static int nbc__sched_touched(const nbc_node *node, nbc_slice slices[3], bool *first_written) {
  *first_written = node->type != NBC_NODE_SEND;
  switch (node->type) {
  case NBC_NODE_NOP: return 0;
  case NBC_NODE_SEND:
  case NBC_NODE_RECV: slices[0] = node->u.msg.buffer; return node->size_bytes ? 1 : 0;
  case NBC_NODE_COPY: slices[0] = node->u.copy.dst, slices[1] = node->u.copy.src; return 2;
  case NBC_NODE_REDUCE:
    slices[0] = node->u.reduce.dst, slices[1] = node->u.reduce.left,
    slices[2] = node->u.reduce.right;
    return 3;
  }
  return 0;
}

/* Both half-open: an interval that ends where the other begins does not touch it. The sums cannot
   pass 2^64: the slices of a node are proved to lie inside their areas before the node is compared
   with any other. */
static bool nbc__sched_overlap(nbc_slice a, uint64_t a_bytes, nbc_slice b, uint64_t b_bytes) {
  return a.area == b.area && a.offset_bytes < b.offset_bytes + b_bytes &&
         b.offset_bytes < a.offset_bytes + a_bytes;
}

static bool nbc__sched_conflict(const nbc_node *a, const nbc_node *b) {
  nbc_slice x[3], y[3];
  bool x_writes, y_writes;
  const int x_count = nbc__sched_touched(a, x, &x_writes),
            y_count = nbc__sched_touched(b, y, &y_writes);
  for (int i = 0; i < x_count; i++)
    for (int j = 0; j < y_count; j++) {
      const bool writes = (i == 0 && x_writes) || (j == 0 && y_writes);
      if (writes && nbc__sched_overlap(x[i], a->size_bytes, y[j], b->size_bytes)) return true;
    }
  return false;
}

/* Slices lie inside their areas; a node's own operands either are its result or do not touch it. */
static nbc_status nbc__sched_prove_slices(const nbc_schedule *s, uint32_t i, nbc_error *err) {
  const nbc_node *const node = &s->nodes[i];
  nbc_slice slices[3];
  bool writes;
  const int count = nbc__sched_touched(node, slices, &writes);
  for (int k = 0; k < count; k++) {
    const uint64_t area_bytes = nbc__sched_area_bytes(s, slices[k].area);
    if (slices[k].offset_bytes > area_bytes ||
        node->size_bytes > area_bytes - slices[k].offset_bytes)
      return nbc__status_fail(err, NBC_E_STATE, 0, "rank %d, node %u: reaches outside its area",
                              s->rank, (unsigned)i);
    if (k == 0 && writes && slices[0].area == NBC_AREA_SEND)
      return nbc__status_fail(err, NBC_E_STATE, 0, "rank %d, node %u: writes the send buffer",
                              s->rank, (unsigned)i);
    if (k > 0 && slices[k].offset_bytes != slices[0].offset_bytes &&
        nbc__sched_overlap(slices[0], node->size_bytes, slices[k], node->size_bytes))
      return nbc__status_fail(err, NBC_E_STATE, 0, "rank %d, node %u: operands overlap", s->rank,
                              (unsigned)i);
  }
  return NBC_OK;
}

/* Which nodes must be finished before node j starts, as one row of bits per node: so that every
   conflicting pair can be asked for its order. Nodes stand in an order in which they can run, so
   the row of a node is complete when the loop comes to it. Time and bits grow with the square of
   the nodes: this is for tests and authors of algorithms, not for the start of a collective. */
static nbc_status nbc__sched_prove_order(const nbc_schedule *s, nbc_error *err) {
  const size_t n = s->node_count, words = n / 64 + 1;
  uint64_t *const before = (uint64_t *)NBC_MALLOC(n * words * sizeof *before);
  if (!before) return nbc__status_fail(err, NBC_E_NOMEM, 0, "verify: out of memory");
  memset(before, 0, n * words * sizeof *before);
  nbc_status status = NBC_OK;
  for (uint32_t i = 0; i < n && !status; i++) {
    status = nbc__sched_prove_slices(s, i, err);
    for (uint32_t k = s->nodes[i].first_after; k < s->nodes[i + 1].first_after && !status; k++) {
      const uint32_t next = s->after[k];
      /* Edges that only go up are what makes one pass over the nodes enough, and circles
         impossible. */
      if (next <= i || next >= n) {
        status = nbc__status_fail(err, NBC_E_STATE, 0, "rank %d, node %u: not in running order",
                                  s->rank, (unsigned)i);
        break;
      }
      /* Row `next` takes all that row i knows, and i itself. Row i is complete: all edges into i
         came from nodes before it. */
      for (size_t word = 0; word < words; word++)
        before[next * words + word] |= before[i * words + word];
      before[next * words + i / 64] |= (uint64_t)1 << (i % 64);
    }
    for (uint32_t j = 0; j < i && !status; j++)
      if (!(before[i * words + j / 64] >> (j % 64) & 1) &&
          nbc__sched_conflict(&s->nodes[j], &s->nodes[i]))
        status = nbc__status_fail(err, NBC_E_STATE, 0,
                                  "rank %d: nodes %u and %u touch the same bytes in any order",
                                  s->rank, (unsigned)j, (unsigned)i);
  }
  NBC_FREE(before);
  return status;
}

static nbc__sched_byte *nbc__sched_bytes(const nbc__sched_proof *p, int rank, nbc_slice slice) {
  return p->areas[rank][slice.area] + slice.offset_bytes;
}

/* One reduction, byte by byte. The two sets of contributions must be disjoint (a sum that counts a
   rank twice is wrong, a maximum would hide it), and of the same element. Where operands may not
   change places, each set is a run of consecutive ranks and left's run ends where right's begins:
   by induction every partial result then is x_i op ... op x_j in the order of ranks. */
static nbc_status nbc__sched_prove_reduce(const nbc__sched_proof *p, int r, const nbc_node *node) {
  nbc__sched_byte *const dst = nbc__sched_bytes(p, r, node->u.reduce.dst);
  const nbc__sched_byte *const left = nbc__sched_bytes(p, r, node->u.reduce.left);
  const nbc__sched_byte *const right = nbc__sched_bytes(p, r, node->u.reduce.right);
  const nbc_schedule_desc *const d = &p->descs[r];
  for (uint64_t i = 0; i < node->size_bytes; i++) {
    const uint64_t a = left[i].ranks, b = right[i].ranks;
    const char *wrong = NULL;
    if (!a || !b)
      wrong = "reduces what nobody gave";
    else if (a & b)
      wrong = "counts a contribution twice";
    else if (left[i].index != right[i].index)
      wrong = "reduces different elements";
    else if ((left[i].index % d->elem_bytes) != i % d->elem_bytes)
      wrong = "cuts an element";
    else if (d->not_commutative) {
      /* b & -b is the lowest rank of right; left must hold the rank below it and none above */
      const uint64_t step = (b & (~b + 1)) >> 1;
      if (!(a & step) || a >= (b & (~b + 1))) wrong = "changes the order of operands";
    }
    if (wrong) return nbc__status_fail(p->err, NBC_E_STATE, 0, "rank %d: a reduction %s", r, wrong);
    dst[i].ranks = a | b;
    dst[i].index = left[i].index;
  }
  return NBC_OK;
}

/* What a node has heard of, all its successors have heard of: this is how a barrier is proved, in
   which no byte moves. Whoever leaves must have heard of everyone. Edges of node i stand in
   after[first_after of i .. first_after of i + 1): a node more than there are closes the list. The
   last predecessor that finishes makes a node ready. */
static void nbc__sched_prove_finish(nbc__sched_proof *p, size_t i) {
  const int r = p->w.rank_of[i];
  const nbc_schedule *const s = p->w.schedules[r];
  const nbc_node *const node = nbc__sched_world_node(&p->w, i);
  p->heard[i] |= (uint64_t)1 << r;
  for (uint32_t k = node[0].first_after; k < node[1].first_after; k++) {
    const size_t next = p->w.first[r] + s->after[k];
    p->heard[next] |= p->heard[i];
    if (--p->w.left[next] == 0) p->ready[p->ready_count++] = next;
  }
}

static nbc_status nbc__sched_prove_node(nbc__sched_proof *p, size_t i) {
  const nbc_node *const node = nbc__sched_world_node(&p->w, i);
  const int r = p->w.rank_of[i];
  nbc_status status = NBC_OK;
  if (node->type == NBC_NODE_SEND || node->type == NBC_NODE_RECV) {
    const size_t other = p->w.partner[i];
    p->posted[i] = true;
    if (!p->posted[other]) return NBC_OK; /* whoever comes second moves the data */
    const size_t send = node->type == NBC_NODE_SEND ? i : other, recv = send == i ? other : i;
    const nbc_node *const from = nbc__sched_world_node(&p->w, send);
    const nbc_node *const to = nbc__sched_world_node(&p->w, recv);
    if (node->size_bytes)
      memcpy(nbc__sched_bytes(p, p->w.rank_of[recv], to->u.msg.buffer),
             nbc__sched_bytes(p, p->w.rank_of[send], from->u.msg.buffer),
             node->size_bytes * sizeof(nbc__sched_byte));
    /* A message tells its receiver what its sender had heard when it was posted; the sender learns
       nothing by it. */
    p->heard[recv] |= p->heard[send] | (uint64_t)1 << p->w.rank_of[send];
    nbc__sched_prove_finish(p, send);
    nbc__sched_prove_finish(p, recv);
    return NBC_OK;
  }
  if (node->type == NBC_NODE_COPY)
    memcpy(nbc__sched_bytes(p, r, node->u.copy.dst), nbc__sched_bytes(p, r, node->u.copy.src),
           node->size_bytes * sizeof(nbc__sched_byte));
  if (node->type == NBC_NODE_REDUCE) status = nbc__sched_prove_reduce(p, r, node);
  p->posted[i] = true;
  nbc__sched_prove_finish(p, i);
  return status;
}

/* Ready nodes are taken from a stack, last come first: an order that no real run takes, which step
   1 allows. A node that never came to the stack, or whose partner never was posted, is stuck. */
static nbc_status nbc__sched_prove_run(nbc__sched_proof *p) {
  nbc__sched_world *const w = &p->w;
  for (size_t i = 0; i < w->node_count; i++)
    if (!w->left[i]) p->ready[p->ready_count++] = i;
  nbc_status status = NBC_OK;
  while (p->ready_count && !status) status = nbc__sched_prove_node(p, p->ready[--p->ready_count]);
  for (size_t i = 0; i < w->node_count && !status; i++)
    if (!p->posted[i] || !p->posted[w->partner[i]]) status = nbc__sched_stuck(w, i, p->err);
  return status;
}

/* `size_bytes` bytes at `at` hold what `ranks` gave, from their byte `index` on. */
static void nbc__sched_set(nbc__sched_byte *bytes, uint64_t at, uint64_t size_bytes, uint64_t ranks,
                           uint64_t index) {
  for (uint64_t i = 0; i < size_bytes; i++)
    bytes[at + i].ranks = ranks, bytes[at + i].index = index + i;
}

/* What rank r has before: the send buffer and, in place, its input in the receive buffer. */
static void nbc__sched_prove_input(nbc__sched_proof *p, int r) {
  const nbc_schedule_desc *const d = &p->descs[r];
  const nbc_schedule *const s = p->w.schedules[r];
  const uint64_t me = (uint64_t)1 << r, block = d->count * d->elem_bytes;
  for (int area = 0; area < NBC_AREA_COUNT; area++)
    /* Given by nobody, and no two bytes alike: what a collective must leave alone is seen to have
       stayed, and a byte copied there from elsewhere is seen too. */
    nbc__sched_set(p->areas[r][area], 0, nbc__sched_area_bytes(s, (nbc_area)area), 0,
                   (uint64_t)area << 56);
  nbc__sched_set(p->areas[r][NBC_AREA_SEND], 0, s->send_bytes, me, 0);
  nbc__sched_byte *const recv = p->areas[r][NBC_AREA_RECV];
  if (d->coll == NBC_COLL_BCAST && r == d->root) nbc__sched_set(recv, 0, block, me, 0);
  if (!d->in_place || d->coll == NBC_COLL_SCATTER || d->coll == NBC_COLL_SCATTERV) return;
  const uint64_t at = nbc__sched_input(d).offset_bytes;
  const bool own_block = d->coll >= NBC_COLL_GATHER && d->coll <= NBC_COLL_ALLGATHERV;
  nbc__sched_set(recv, at, own_block ? nbc__sched_block_bytes(d, d->recv_counts, r) : s->recv_bytes,
                 me, 0);
}

/* Block k of rank r: what its source gave in the same of its blocks for r as this is of r's from
   it. */
static void nbc__sched_prove_neighbor(const nbc__sched_proof *p, int r, int k,
                                      nbc__sched_byte *want) {
  const nbc_schedule_desc *const d = &p->descs[r];
  const int source = d->neighbors->sources[k];
  int turn = 0, at = 0;
  if (source < 0) return;
  const nbc_schedule_desc *const from = &p->descs[source];
  const nbc_neighbors *const there = from->neighbors;
  for (int i = 0; i < k; i++) turn += d->neighbors->sources[i] == source;
  while (at < there->target_count && (there->targets[at] != r || turn-- > 0)) at++;
  if (at == there->target_count) return; /* nobody sends it: the run is stuck before this matters */
  nbc__sched_set(want, nbc__sched_block_at(d, d->recv_counts, d->recv_displs, k),
                 nbc__sched_block_bytes(d, d->recv_counts, k), (uint64_t)1 << source,
                 d->coll == NBC_COLL_NEIGHBOR_ALLTOALL
                     ? nbc__sched_block_at(from, from->send_counts, from->send_displs, at)
                     : 0);
}

/* Overwrites `want` (a copy of the receive buffer as it was) with what rank r must have
   afterwards. */
static void nbc__sched_prove_expect(const nbc__sched_proof *p, int r, nbc__sched_byte *want) {
  const nbc_schedule_desc *const d = &p->descs[r], *const root = &p->descs[d->root];
  /* A set of ranks is one word, which is why at most 64 can be proved. No shift is by 64: that is
     undefined in C, so the full set is written out, and `below << 1 | 1` stands for what is shifted
     by r + 1. */
  const uint64_t block = d->count * d->elem_bytes,
                 all = p->w.size == 64 ? ~(uint64_t)0 : ((uint64_t)1 << p->w.size) - 1;
  const uint64_t below = ((uint64_t)1 << r) - 1, one = 1;
  switch (d->coll) {
  case NBC_COLL_BARRIER:
  case NBC_COLL_COUNT: break;
  case NBC_COLL_BCAST: nbc__sched_set(want, 0, block, one << d->root, 0); break;
  case NBC_COLL_REDUCE:
    if (r == d->root) nbc__sched_set(want, 0, block, all, 0);
    break;
  case NBC_COLL_ALLREDUCE: nbc__sched_set(want, 0, block, all, 0); break;
  case NBC_COLL_REDUCE_SCATTER_BLOCK:
  case NBC_COLL_REDUCE_SCATTER:
    nbc__sched_set(want, 0, nbc__sched_block_bytes(d, d->recv_counts, r), all,
                   nbc__sched_block_at(d, d->recv_counts, NULL, r));
    break;
  case NBC_COLL_SCATTER:
  case NBC_COLL_SCATTERV:
    if (r == d->root && d->in_place) break;
    nbc__sched_set(want, 0, block, one << d->root,
                   nbc__sched_block_at(root, root->send_counts, root->send_displs, r));
    break;
  case NBC_COLL_GATHER:
  case NBC_COLL_GATHERV:
    if (r != d->root) break; /* fall through */
  case NBC_COLL_ALLGATHER:
  case NBC_COLL_ALLGATHERV:
    for (int i = 0; i < d->size; i++)
      nbc__sched_set(want, nbc__sched_block_at(d, d->recv_counts, d->recv_displs, i),
                     nbc__sched_block_bytes(d, d->recv_counts, i), one << i, 0);
    break;
  case NBC_COLL_ALLTOALL:
  case NBC_COLL_ALLTOALLV:
    for (int i = 0; i < d->size; i++) {
      const nbc_schedule_desc *const from = &p->descs[i];
      const uint64_t index =
          from->in_place ? nbc__sched_block_at(from, from->recv_counts, from->recv_displs, r)
                         : nbc__sched_block_at(from, from->send_counts, from->send_displs, r);
      nbc__sched_set(want, nbc__sched_block_at(d, d->recv_counts, d->recv_displs, i),
                     nbc__sched_block_bytes(d, d->recv_counts, i), one << i, index);
    }
    break;
  case NBC_COLL_NEIGHBOR_ALLGATHER:
  case NBC_COLL_NEIGHBOR_ALLTOALL:
    for (int k = 0; k < d->neighbors->source_count; k++) nbc__sched_prove_neighbor(p, r, k, want);
    break;
  case NBC_COLL_SCAN: nbc__sched_set(want, 0, block, below << 1 | 1, 0); break;
  case NBC_COLL_EXSCAN:
    if (r) nbc__sched_set(want, 0, block, below, 0);
    break;
  }
}

/* The whole receive buffer is compared, also the bytes that the collective must leave as they
   were. */
static nbc_status nbc__sched_prove_result(nbc__sched_proof *p, int r, const nbc__sched_byte *want) {
  const nbc_schedule *const s = p->w.schedules[r];
  const nbc__sched_byte *const have = p->areas[r][NBC_AREA_RECV];
  for (uint64_t i = 0; i < s->recv_bytes; i++)
    if (have[i].ranks != want[i].ranks || have[i].index != want[i].index)
      return nbc__status_fail(p->err, NBC_E_STATE, 0,
                              "%s %s: rank %d: byte %llu holds byte %llu of ranks 0x%llx instead "
                              "of byte %llu of ranks 0x%llx",
                              nbc_coll_name(s->coll), nbc_algo_name(s->algo), r,
                              (unsigned long long)i, (unsigned long long)have[i].index,
                              (unsigned long long)have[i].ranks, (unsigned long long)want[i].index,
                              (unsigned long long)want[i].ranks);
  if (s->coll != NBC_COLL_BARRIER) return NBC_OK;
  uint64_t heard = 0;
  for (size_t i = p->w.first[r]; i < p->w.first[r + 1]; i++) heard |= p->heard[i];
  for (int i = 0; i < p->w.size; i++)
    if (!(heard >> i & 1))
      return nbc__status_fail(p->err, NBC_E_STATE, 0,
                              "barrier: rank %d leaves before rank %d entered", r, i);
  return NBC_OK;
}

/* One block: areas of all ranks, then the expected receive buffers. */
static nbc_status nbc__sched_prove(nbc__sched_proof *p, nbc_error *err) {
  uint64_t total_bytes = 1;
  for (int r = 0; r < p->w.size; r++) {
    const nbc_schedule *const s = p->w.schedules[r];
    total_bytes += s->send_bytes + 2 * s->recv_bytes + s->scratch_bytes;
  }
  /* 16 bytes are kept per byte followed: 4 GiB at most. */
  if (total_bytes > (uint64_t)1 << 28)
    return nbc__status_fail(err, NBC_E_RANGE, 0,
                            "verify: more than 2^28 bytes to follow: take smaller counts");
  nbc__sched_byte *const memory = (nbc__sched_byte *)NBC_MALLOC(total_bytes * sizeof *memory),
                         *next = memory, *want;
  if (!memory) return nbc__status_fail(err, NBC_E_NOMEM, 0, "verify: out of memory");
  for (int r = 0; r < p->w.size; r++) {
    for (int area = 0; area < NBC_AREA_COUNT; area++) {
      p->areas[r][area] = next;
      next += nbc__sched_area_bytes(p->w.schedules[r], (nbc_area)area);
    }
    nbc__sched_prove_input(p, r);
  }
  want = next;
  for (int r = 0; r < p->w.size; r++) {
    memcpy(next, p->areas[r][NBC_AREA_RECV], p->w.schedules[r]->recv_bytes * sizeof *next);
    nbc__sched_prove_expect(p, r, next);
    next += p->w.schedules[r]->recv_bytes;
  }
  nbc_status status = nbc__sched_prove_run(p);
  for (int r = 0; r < p->w.size && !status; r++) {
    status = nbc__sched_prove_result(p, r, want);
    want += p->w.schedules[r]->recv_bytes;
  }
  NBC_FREE(memory);
  return status;
}

NBC_API nbc_status nbc_schedule_verify(const nbc_schedule *const *schedules,
                                       const nbc_schedule_desc *descs, int size, nbc_error *err) {
  if (!schedules || !descs)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "%s: must not be NULL",
                            schedules ? "descs" : "schedules");
  if (size < 1 || size > 64)
    return nbc__status_fail(err, NBC_E_RANGE, 0, "size: %d is not in 1..64", size);
  nbc__sched_proof p;
  nbc_schedule_desc normal[64];
  memset(&p, 0, sizeof p);
  p.err = err;
  p.descs = normal;
  nbc_status status = nbc__sched_world_open(&p.w, schedules, size, err);
  for (int r = 0; r < size && !status; r++) {
    status = nbc__sched_take(&normal[r], &descs[r], err);
    if (!status && (!nbc__sched_is_of(schedules[r], &normal[r]) || descs[r].coll != descs[0].coll))
      status = nbc__status_fail(err, NBC_E_STATE, 0, "rank %d: its schedule is of another desc", r);
    if (!status) status = nbc__sched_prove_order(schedules[r], err);
  }
  if (!status) {
    const size_t n = p.w.node_count;
    p.heard = (uint64_t *)NBC_MALLOC(n * sizeof *p.heard);
    p.ready = (size_t *)NBC_MALLOC(n * sizeof *p.ready);
    p.posted = (bool *)NBC_MALLOC(n * sizeof *p.posted);
    if (p.heard && p.ready && p.posted) {
      memset(p.heard, 0, n * sizeof *p.heard);
      memset(p.posted, 0, n * sizeof *p.posted);
      status = nbc__sched_prove(&p, err);
    } else {
      status = nbc__status_fail(err, NBC_E_NOMEM, 0, "verify: out of memory");
    }
  }
  NBC_FREE(p.heard);
  NBC_FREE(p.ready);
  NBC_FREE(p.posted);
  nbc__sched_world_close(&p.w);
  return status;
}
