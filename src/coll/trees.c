/* trees.c: trees; barrier and broadcast. */
#include "trees.h"

/* ---- trees --------------------------------------------------------------------------------- */
/* Parent (-1 at the root) and children, ascending, of v in a tree over 0..size-1 with root 0.
   Written in base `radix`, v's parent is v with its lowest digit that is not 0 made 0, and v's
   children are v with one of the zeros below that digit made something else. The subtree of a
   k-nomial child c at distance m from its parent is [c, min(c + m, size)): a run, so gather and
   scatter move it as one piece. */
NBC__PRIVATE int nbc__sched_knomial(int v, int size, int radix, int *parent, int *children) {
  int count = 0;
  *parent = -1;
  for (int64_t m = 1; m < size; m *= radix) {
    if (v % (m * radix) != 0) {
      *parent = (int)(v - v % (m * radix));
      break;
    }
    for (int j = 1; j < radix && v + j * m < size; j++) children[count++] = (int)(v + j * m);
  }
  return count;
}

/* Number of ranks in the subtree of v. The same walk over the digits: m ends at the place of the
   lowest digit that is not 0. */
NBC__PRIVATE int nbc__sched_subtree(int v, int size, int radix) {
  int64_t m = 1;
  while (m < size && v % (m * radix) == 0) m *= radix;
  return (int)(v + m < size ? m : size - v);
}

/* The broadcasts of HPL (HPL_1rg, 1rM, 2rg, 2rM): each rank hands on to the next one. Modified:
   rank 1, which factors the next panel, gets its copy first and sends to nobody. Two: the root
   feeds two rings of half the length. */
static int nbc__sched_hpl_rings(nbc_algo algo, int v, int size, int *parent, int *children) {
  const bool modified = algo == NBC_ALGO_HPL_1RING_M || algo == NBC_ALGO_HPL_2RING_M;
  const bool two = algo == NBC_ALGO_HPL_2RING || algo == NBC_ALGO_HPL_2RING_M;
  const int first = modified ? 2 : 1; /* start of the first ring; the second starts at `half` */
  const int half = two ? first + (size - first + 1) / 2 : size;
  int count = 0;
  *parent = v == 0 ? -1 : v == first || v == half || (modified && v == 1) ? 0 : v - 1;
  if (v == 0) {
    for (int c = 1; c <= first && c < size; c++) children[count++] = c;
    if (half < size && half > first) children[count++] = half;
  } else if (v >= first && v + 1 < size && v + 1 != half) {
    children[count++] = v + 1;
  }
  return count;
}

/* ---- who is where -------------------------------------------------------------------------- */
/* For two-level schedules: on each node one leads (the root on its own, else the lowest rank). Both
   lists begin with the one that the rest hangs from: the root among the leaders, the leader among
   the members of this rank's node. So trees over the lists have their roots at place 0. */
NBC__PRIVATE bool nbc__sched_places_open(const nbc__sched_builder *b, int rank, int root,
                                         nbc__sched_places *p) {
  const int size = b->d.size, *const nodes = b->d.nodes; /* NULL: all on one */
  memset(p, 0, sizeof *p);
  p->memory = (int *)NBC_MALLOC(3 * (size_t)size * sizeof *p->memory);
  if (!p->memory) return false;
  int *const leader_of = p->memory;
  p->leaders = leader_of + size, p->members = p->leaders + size;
  for (int i = 0; i < size; i++) leader_of[i] = -1;
  leader_of[nodes ? nodes[root] : 0] = root;
  for (int i = 0; i < size; i++)
    if (leader_of[nodes ? nodes[i] : 0] < 0) leader_of[nodes ? nodes[i] : 0] = i;
  const int own = nodes ? nodes[rank] : 0;
  p->leaders[p->leader_count++] = root;
  p->members[p->member_count++] = leader_of[own];
  p->leader_at = rank == root ? 0 : -1;
  for (int i = 0; i < size; i++) {
    const int node = nodes ? nodes[i] : 0;
    if (leader_of[node] == i && i != root) {
      if (i == rank) p->leader_at = p->leader_count;
      p->leaders[p->leader_count++] = i;
    }
    if (node == own && i != leader_of[own]) {
      if (i == rank) p->member_at = p->member_count;
      p->members[p->member_count++] = i;
    }
  }
  return true;
}

/* Binomial between the leaders, binomial inside each node. Numbers count from the root, as all
   trees'. The children inside come first in the list: who sends begins at its end, with the other
   nodes. */
static int nbc__sched_two_level_tree(nbc__sched_builder *b, int v, int *parent) {
  const int size = b->d.size, root = b->d.root, rank = nbc__sched_real(b, root, v);
  nbc__sched_places p;
  int above, count = 0;
  *parent = -1;
  if (!nbc__sched_places_open(b, rank, root, &p)) {
    if (!b->status) b->status = nbc__status_fail(b->err, NBC_E_NOMEM, 0, "schedule: out of memory");
    return 0;
  }
  count = nbc__sched_knomial(p.member_at, p.member_count, 2, &above, b->children);
  for (int i = 0; i < count; i++) b->children[i] = p.members[b->children[i]];
  if (above >= 0) *parent = p.members[above];
  if (p.leader_at >= 0) {
    const int inside = count;
    count += nbc__sched_knomial(p.leader_at, p.leader_count, 2, &above, b->children + inside);
    for (int i = inside; i < count; i++) b->children[i] = p.leaders[b->children[i]];
    *parent = above >= 0 ? p.leaders[above] : -1;
  }
  for (int i = 0; i < count; i++) b->children[i] = (b->children[i] - root + size) % size;
  if (*parent >= 0) *parent = (*parent - root + size) % size;
  NBC_FREE(p.memory);
  return count;
}

NBC__PRIVATE int nbc__sched_tree(nbc__sched_builder *b, int v, int size, int *parent) {
  int count = 0;
  switch (b->s->algo) {
  case NBC_ALGO_LINEAR:
    *parent = v ? 0 : -1;
    for (int c = 1; v == 0 && c < size; c++) b->children[count++] = c;
    return count;
  case NBC_ALGO_CHAIN:
    *parent = v - 1;
    if (v + 1 < size) b->children[count++] = v + 1;
    return count;
  case NBC_ALGO_BINARY:
    *parent = v ? (v - 1) / 2 : -1;
    for (int64_t c = 2 * (int64_t)v + 1; c <= 2 * (int64_t)v + 2 && c < size; c++)
      b->children[count++] = (int)c;
    return count;
  case NBC_ALGO_HPL_1RING:
  case NBC_ALGO_HPL_1RING_M:
  case NBC_ALGO_HPL_2RING:
  case NBC_ALGO_HPL_2RING_M: return nbc__sched_hpl_rings(b->s->algo, v, size, parent, b->children);
  case NBC_ALGO_TWO_LEVEL: return nbc__sched_two_level_tree(b, v, parent);
  case NBC_ALGO_KNOMIAL: return nbc__sched_knomial(v, size, b->d.radix, parent, b->children);
  default: return nbc__sched_knomial(v, size, 2, parent, b->children);
  }
}

NBC__PRIVATE bool nbc__sched_is_knomial(nbc_algo algo) {
  return algo == NBC_ALGO_BINOMIAL || algo == NBC_ALGO_KNOMIAL || algo == NBC_ALGO_TWO_LEVEL;
}
NBC__PRIVATE int nbc__sched_radix(const nbc__sched_builder *b) {
  return b->s->algo == NBC_ALGO_KNOMIAL ? b->d.radix : 2;
}

/* Tree ranks count from the root: v = 0 is `root`. */
NBC__PRIVATE int nbc__sched_virtual(const nbc__sched_builder *b, int root) {
  return (b->d.rank - root + b->d.size) % b->d.size;
}
NBC__PRIVATE int nbc__sched_real(const nbc__sched_builder *b, int root, int v) {
  return (int)(((int64_t)v + root) % b->d.size);
}

/* A segment holds whole elements, one at least. */
static uint64_t nbc__sched_segment(const nbc__sched_builder *b, uint64_t total_bytes,
                                   uint64_t default_bytes) {
  uint64_t bytes = b->d.segment_bytes ? b->d.segment_bytes : default_bytes;
  if (bytes > total_bytes) bytes = total_bytes;
  bytes -= bytes % b->d.elem_bytes;
  return bytes ? bytes : b->d.elem_bytes;
}

/* Pipelining pays where a rank forwards what it gets; HPL's rings are unsegmented by definition. */
NBC__PRIVATE uint64_t nbc__sched_tree_segment(const nbc__sched_builder *b, uint64_t total_bytes) {
  const nbc_algo a = b->s->algo;
  if (a == NBC_ALGO_LINEAR || a >= NBC_ALGO_HPL_1RING) return total_bytes ? total_bytes : 1;
  return nbc__sched_segment(b, total_bytes,
                            a == NBC_ALGO_CHAIN || a == NBC_ALGO_BINARY ? 64 * 1024 : UINT64_MAX);
}

/* ---- barrier ------------------------------------------------------------------------------- */
/* Hensgen, Finkel and Manber (1988): in step s a rank tells the one 2^s above it, and is told by
   the one 2^s below: after ceil(log2 n) steps it has heard of all, for any n. Here among `count`
   ranks (NULL: 0 ... count - 1), this one at place `at`, once the node `before` is over (-1: at
   once). ret how many nodes `heard` holds, after which all are known to have come */
static int nbc__sched_disseminate(nbc__sched_builder *b, const int *ranks, int count, int at,
                                  int32_t before, int32_t heard[32]) {
  const nbc_slice none = nbc__sched_slice(NBC_AREA_NONE, 0);
  int steps = 0;
  for (int64_t m = 1; m < count; m *= 2, steps++) { /* who sends tells all it has heard so far */
    const int to = (int)((at + m) % count), from = (int)((at - m + count) % count);
    nbc__sched_message(b, NBC_NODE_SEND, ranks ? ranks[to] : to, none, 0);
    if (before >= 0) nbc__sched_after(b, before);
    for (int i = 0; i < steps; i++) nbc__sched_after(b, heard[i]);
    heard[steps] = nbc__sched_message(b, NBC_NODE_RECV, ranks ? ranks[from] : from, none, 0);
  }
  return steps;
}

NBC__PRIVATE void nbc__sched_barrier_dissemination(nbc__sched_builder *b) {
  int32_t heard[32];
  (void)nbc__sched_disseminate(b, NULL, b->d.size, b->d.rank, -1, heard);
}

/* Up to rank 0, which then knows that all have come, and down again. */
NBC__PRIVATE void nbc__sched_barrier_tree(nbc__sched_builder *b) {
  const nbc_slice none = nbc__sched_slice(NBC_AREA_NONE, 0);
  int parent;
  const int count = nbc__sched_tree(b, b->d.rank, b->d.size, &parent);
  const int32_t first = (int32_t)b->s->node_count;
  for (int i = 0; i < count; i++) nbc__sched_message(b, NBC_NODE_RECV, b->children[i], none, 0);
  nbc__sched_add(b, NBC_NODE_NOP, 0); /* all below have arrived */
  int32_t released = first + count;
  for (int32_t i = first; i < released; i++) nbc__sched_after(b, i);
  if (parent >= 0) {
    nbc__sched_message(b, NBC_NODE_SEND, parent, none, 0);
    nbc__sched_after(b, released);
    released = nbc__sched_message(b, NBC_NODE_RECV, parent, none, 0);
  }
  for (int i = count - 1; i >= 0; i--) {
    nbc__sched_message(b, NBC_NODE_SEND, b->children[i], none, 0);
    nbc__sched_after(b, released);
  }
}

/* Up to the leader of each node, which tell each other by dissemination, and down again: a tree over all
   would cross between nodes twice as often in a row. */
NBC__PRIVATE void nbc__sched_barrier_two_level(nbc__sched_builder *b) {
  const nbc_slice none = nbc__sched_slice(NBC_AREA_NONE, 0);
  nbc__sched_places p;
  int32_t heard[32];
  int above;
  if (!nbc__sched_places_open(b, b->d.rank, 0, &p)) {
    b->status = nbc__status_fail(b->err, NBC_E_NOMEM, 0, "schedule: out of memory");
    return;
  }
  const int count = nbc__sched_knomial(p.member_at, p.member_count, 2, &above, b->children);
  const int32_t first = (int32_t)b->s->node_count, arrived = first + count;
  for (int i = 0; i < count; i++)
    nbc__sched_message(b, NBC_NODE_RECV, p.members[b->children[i]], none, 0);
  nbc__sched_add(b, NBC_NODE_NOP, 0); /* all below have arrived */
  for (int32_t i = first; i < arrived; i++) nbc__sched_after(b, i);
  int32_t released = arrived;
  if (above >= 0) {
    nbc__sched_message(b, NBC_NODE_SEND, p.members[above], none, 0);
    nbc__sched_after(b, arrived);
    released = nbc__sched_message(b, NBC_NODE_RECV, p.members[above], none, 0);
  } else {
    const int steps =
        nbc__sched_disseminate(b, p.leaders, p.leader_count, p.leader_at, arrived, heard);
    released = (int32_t)b->s->node_count;
    nbc__sched_add(b, NBC_NODE_NOP, 0); /* all nodes have */
    nbc__sched_after(b, arrived);
    for (int i = 0; i < steps; i++) nbc__sched_after(b, heard[i]);
  }
  for (int i = count - 1; i >= 0; i--) {
    nbc__sched_message(b, NBC_NODE_SEND, p.members[b->children[i]], none, 0);
    nbc__sched_after(b, released);
  }
  NBC_FREE(p.memory);
}

/* ---- broadcast ----------------------------------------------------------------------------- */
NBC__PRIVATE void nbc__sched_bcast_tree(nbc__sched_builder *b, nbc_slice buffer,
                                        uint64_t total_bytes, int root) {
  int parent;
  const int count = nbc__sched_tree(b, nbc__sched_virtual(b, root), b->d.size, &parent);
  const uint64_t step = nbc__sched_tree_segment(b, total_bytes);
  const bool far_first = nbc__sched_is_knomial(b->s->algo); /* the biggest subtree first */
  for (uint64_t at = 0; at < total_bytes && !b->status; at += step) {
    const uint64_t bytes = total_bytes - at < step ? total_bytes - at : step;
    if (parent >= 0)
      nbc__sched_recv(b, nbc__sched_real(b, root, parent), nbc__sched_at(buffer, at), bytes);
    for (int i = 0; i < count; i++)
      nbc__sched_send(b, nbc__sched_real(b, root, b->children[far_first ? count - 1 - i : i]),
                      nbc__sched_at(buffer, at), bytes);
  }
}

/* A rank that sends the whole to many at once, or segments down a tree, bounds what is under
   way. */
NBC__PRIVATE void nbc__sched_bcast_bounded(nbc__sched_builder *b) {
  nbc__sched_window(b, INT32_MAX);
  nbc__sched_bcast_tree(b, b->out, nbc__sched_vector_bytes(b), b->d.root);
}

NBC__PRIVATE void nbc__sched_bcast(nbc__sched_builder *b) {
  nbc__sched_bcast_tree(b, b->out, nbc__sched_vector_bytes(b), b->d.root);
}

/* Participant i of n is virtual rank `skip(i)`: HPL's modified form leaves virtual rank 1 out. */
static int nbc__sched_skip(const nbc__sched_builder *b, int i, bool without_one) {
  return nbc__sched_real(b, b->d.root, without_one && i > 0 ? i + 1 : i);
}

/* HPL's long broadcasts (lng, lnM), for what is worth cutting up. Spread: binomial scatter of n
   parts. Roll: ring in which every part passes every participant. Each rank receives little more
   than the vector once and no rank sends it twice, where a tree's root sends it log2 n times. */
static void nbc__sched_spread_and_roll(nbc__sched_builder *b, bool without_one) {
  const nbc_slice buffer = b->out;
  const uint64_t total_bytes = b->d.count * b->d.elem_bytes;
  int v = nbc__sched_virtual(b, b->d.root), n = b->d.size, parent;
  if (without_one && n > 1) {
    const int one = nbc__sched_real(b, b->d.root, 1);
    if (v == 0) nbc__sched_send(b, one, buffer, total_bytes);
    if (v == 1) {
      nbc__sched_recv(b, b->d.root, buffer, total_bytes);
      return;
    }
    if (v > 1) v--;
    n--;
  }
  const int count = nbc__sched_knomial(v, n, 2, &parent, b->children);
  const uint64_t mine = nbc__sched_part(b, v, n);
  if (parent >= 0)
    nbc__sched_recv(b, nbc__sched_skip(b, parent, without_one), nbc__sched_at(buffer, mine),
                    nbc__sched_part(b, v + nbc__sched_subtree(v, n, 2), n) - mine);
  for (int i = count - 1; i >= 0; i--) {
    const int c = b->children[i];
    const uint64_t at = nbc__sched_part(b, c, n),
                   end = nbc__sched_part(b, c + nbc__sched_subtree(c, n, 2), n);
    nbc__sched_send(b, nbc__sched_skip(b, c, without_one), nbc__sched_at(buffer, at), end - at);
  }
  for (int s = 0; s < n - 1; s++) { /* nobody is sent what the spread already gave it */
    const int give = (v - s + n) % n, take = (v - s - 1 + n) % n, right = (v + 1) % n;
    /* Both ends of a message ask whether its receiver has the part by the subtree of the same
       receiver: if they asked differently, one end would wait for ever. */
    const bool right_has = give >= right && give < right + nbc__sched_subtree(right, n, 2);
    const bool have = take >= v && take < v + nbc__sched_subtree(v, n, 2);
    const uint64_t give_at = nbc__sched_part(b, give, n), take_at = nbc__sched_part(b, take, n);
    if (!right_has)
      nbc__sched_send(b, nbc__sched_skip(b, right, without_one), nbc__sched_at(buffer, give_at),
                      nbc__sched_part(b, give + 1, n) - give_at);
    if (!have)
      nbc__sched_recv(b, nbc__sched_skip(b, (v - 1 + n) % n, without_one),
                      nbc__sched_at(buffer, take_at), nbc__sched_part(b, take + 1, n) - take_at);
  }
}

NBC__PRIVATE void nbc__sched_bcast_long(nbc__sched_builder *b) {
  nbc__sched_spread_and_roll(b, false);
}

NBC__PRIVATE void nbc__sched_bcast_long_m(nbc__sched_builder *b) {
  nbc__sched_spread_and_roll(b, true);
}
