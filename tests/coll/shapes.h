/* Random calls of one collective that fit together on all ranks. */
#ifndef SHAPES_H_INCLUDED
#define SHAPES_H_INCLUDED
#include "nbc_overlap.h"
#include "tests/test.h"

enum { MOST = 64 };
typedef struct group {
  nbc_schedule_desc descs[MOST];
  nbc_schedule *schedules[MOST];
  uint64_t counts[MOST][4 * MOST]; /* send counts, displacements, recv counts, displacements */
  int lists[MOST][2 * MOST];       /* sources, targets */
  nbc_neighbors neighbors[MOST];
  int nodes[MOST];
  int size;
} group;

static group g;

/* Displacements with gaps and out of order: blocks lie in the order of `turn`. */
static void displace(uint64_t *displs, const uint64_t *counts, int size, int turn) {
  uint64_t at = test_below(3);
  for (int k = 0; k < size; k++) {
    const int i = (k + turn) % size;
    displs[i] = at;
    at += counts[i] + test_below(3);
  }
}

static bool has_neighbors(nbc_coll coll) {
  return coll == NBC_COLL_NEIGHBOR_ALLGATHER || coll == NBC_COLL_NEIGHBOR_ALLTOALL;
}

static void shuffle(int *list, int count) {
  for (int i = count - 1; i > 0; i--) {
    const int k = (int)test_below((uint64_t)i + 1), t = list[i];
    list[i] = list[k], list[k] = t;
  }
}

/* Any directed graph, also with edges twice, to oneself and to nobody; lists in any order. What the j-th edge
   from r to i carries both ends know. Counts may be equal and left out. */
static void group_neighbors(uint64_t common, uint64_t most, bool displaced) {
  const bool gather = g.descs[0].coll == NBC_COLL_NEIGHBOR_ALLGATHER, counted = test_below(2) != 0;
  for (int r = 0; r < g.size; r++) {
    g.neighbors[r] = (nbc_neighbors){g.lists[r], g.lists[r] + MOST, 0, 0};
    g.descs[r].neighbors = &g.neighbors[r];
    for (; test_below(3) == 0 && g.neighbors[r].source_count < 4; g.neighbors[r].source_count++)
      g.lists[r][g.neighbors[r].source_count] = -1;
    for (; test_below(3) == 0 && g.neighbors[r].target_count < 4; g.neighbors[r].target_count++)
      g.lists[r][MOST + g.neighbors[r].target_count] = -1;
  }
  const int edges = (int)test_below(3 * (uint64_t)g.size + 1);
  for (int e = 0; e < edges; e++) {
    const int from = (int)test_below((uint64_t)g.size), to = (int)test_below((uint64_t)g.size);
    if (g.neighbors[from].target_count == MOST || g.neighbors[to].source_count == MOST) continue;
    g.lists[from][MOST + g.neighbors[from].target_count++] = to;
    g.lists[to][g.neighbors[to].source_count++] = from;
  }
  for (int r = 0; r < g.size; r++) {
    uint64_t *const c = g.counts[r];
    const nbc_neighbors *const n = &g.neighbors[r];
    shuffle(g.lists[r], n->source_count), shuffle(g.lists[r] + MOST, n->target_count);
    if (gather && counted) g.descs[r].count = ((uint64_t)r * 29 + common) % most;
    for (int k = 0; k < 2 * MOST; k++) {
      const int peer = g.lists[r][k], first = k < MOST ? 0 : MOST;
      if (k - first >= (k < MOST ? n->source_count : n->target_count)) continue;
      uint64_t turn = 0;
      for (int i = first; i < k; i++) turn += g.lists[r][i] == peer;
      const uint64_t from = (uint64_t)(k < MOST ? peer : r), to = (uint64_t)(k < MOST ? r : peer);
      c[k < MOST ? 2 * MOST + k : k - MOST] =
          peer < 0 ? common % 3
                   : (gather ? from * 29 + common : from * 131 + to * 17 + turn * 7 + common) % most;
    }
    g.descs[r].send_counts = counted && !gather ? c : NULL;
    g.descs[r].recv_counts = counted ? c + 2 * MOST : NULL;
    g.descs[r].send_displs = g.descs[r].recv_displs = NULL;
    if (!displaced || !counted) continue;
    displace(c + MOST, c, n->target_count, 1), displace(c + 3 * MOST, c + 2 * MOST, n->source_count, 1);
    g.descs[r].send_displs = c + MOST, g.descs[r].recv_displs = c + 3 * MOST;
  }
}

/* elem_bytes 0: random. Everything besides is random; `most` bounds the counts. */
static void group_random(nbc_coll coll, nbc_algo algo, int size, bool not_commutative,
                         uint64_t elem_bytes, uint64_t most) {
  const uint64_t common = test_below(most);
  const bool in_place = test_below(2), displaced = test_below(2);
  const int root = (int)test_below((uint64_t)size), turn = (int)test_below((uint64_t)size);
  static const uint64_t segments[] = {0, 1, 8, 24, UINT64_MAX};
  nbc_schedule_desc d = {0};
  memset(&g, 0, sizeof g);
  g.size = size;
  d.coll = coll, d.algo = algo, d.size = size, d.root = root, d.not_commutative = not_commutative;
  d.elem_bytes = elem_bytes ? elem_bytes : 1 + test_below(3) * 3;
  d.count = common;
  d.segment_bytes = segments[test_below(5)];
  d.radix = test_below(2) ? 0 : 2 + (int)test_below(6);
  d.window_count = (int)test_below(5);
  const uint64_t node_count = 1 + test_below(8);
  for (int r = 0; r < size; r++) /* at random, in turns, in blocks */
    g.nodes[r] = (int)(turn % 3 == 0   ? test_below(node_count)
                       : turn % 3 == 1 ? (uint64_t)r % node_count
                                       : (uint64_t)r * node_count / (uint64_t)size) % size;
  if (node_count > 1) d.nodes = g.nodes;
  for (int r = 0; r < size; r++) { /* what r sends to i is what i gets from r */
    uint64_t *const c = g.counts[r];
    for (int i = 0; i < size; i++) {
      const uint64_t there = (uint64_t)r * 131 + (uint64_t)i * 17 + common;
      const uint64_t back = (uint64_t)i * 131 + (uint64_t)r * 17 + common;
      const uint64_t both = (uint64_t)(r + i) * 7 + (uint64_t)(r * i) + common;
      const uint64_t same = (uint64_t)i * 5 + common;
      const bool alltoall = coll == NBC_COLL_ALLTOALLV;
      c[i] = (!alltoall ? same : in_place ? both : there) % most;
      c[2 * MOST + i] = (!alltoall ? same : in_place ? both : back) % most;
    }
    g.descs[r] = d;
    g.descs[r].rank = r;
    g.descs[r].in_place = in_place;
    if (coll == NBC_COLL_GATHERV || coll == NBC_COLL_SCATTERV || coll == NBC_COLL_ALLGATHERV)
      g.descs[r].count = c[r];
    g.descs[r].send_counts = c, g.descs[r].recv_counts = c + 2 * MOST;
    if (!displaced) continue;
    displace(c + MOST, c, size, turn);
    displace(c + 3 * MOST, c + 2 * MOST, size, turn);
    g.descs[r].send_displs = c + MOST, g.descs[r].recv_displs = c + 3 * MOST;
  }
  if (has_neighbors(coll)) group_neighbors(common, most, displaced);
}
#endif
