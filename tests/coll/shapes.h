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
}
#endif
