/* Every collective with every algorithm gives what a naive computation gives: random shapes, P = 1
   ... 17, all roots, in place and not; all operators on all types; persistent and many at once. One
   thread drives all ranks, so a run is repeated exactly by its seed. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#include "tests/coll/shapes.h"
#include <sys/mman.h>
#include <unistd.h>

enum { RANKS = 17 };
static nbc_threads *worlds[RANKS + 1];
static nbc_comm *comms[RANKS + 1][RANKS];
static nbc_reduce compose; /* on every communicator the same number */

/* (a, b) then (c, d): x -> a x + b, then c x + d. Associative, does not commute. */
static void compose_fn(void *dst, const void *left, const void *right, uint64_t count,
                       nbc_type type, void *user) {
  CHECK(type == NBC_TYPE_UINT64 && user == (void *)&compose);
  for (uint64_t i = 0; i < count; i++) {
    uint64_t l, r;
    memcpy(&l, (const char *)left + 8 * i, 8), memcpy(&r, (const char *)right + 8 * i, 8);
    const uint32_t a = (uint32_t)(l >> 32), b = (uint32_t)l, c = (uint32_t)(r >> 32),
                   d = (uint32_t)r;
    const uint64_t both = (uint64_t)(c * a) << 32 | (uint32_t)(c * b + d);
    memcpy((char *)dst + 8 * i, &both, 8);
  }
}

static void open_worlds(void) {
  static int nodes[RANKS]; /* three, in turns: two_level is chosen where it serves */
  for (int r = 0; r < RANKS; r++) nodes[r] = r % 3;
  for (int size = 1; size <= RANKS; size++) {
    nbc_threads_desc desc = {0};
    desc.size = size;
    desc.eager_limit_bytes = 64; /* so that both protocols are met */
    CHECK(nbc_threads_create(&desc, &worlds[size]) == NBC_OK);
    for (int r = 0; r < size; r++) {
      nbc_comm_desc d = {0};
      nbc_error err;
      d.transport = nbc_threads_rank(worlds[size], r);
      if (size > 2) d.transport->nodes = nodes;
      d.id = 7;
      d.check = size % 3 == 0;
      CHECK(nbc_comm_create(&d, &comms[size][r], &err) == NBC_OK);
      CHECK(nbc_comm_operator(comms[size][r], compose_fn, &compose, false, &compose) == NBC_OK);
    }
  }
}

static void close_worlds(void) {
  for (int size = 1; size <= RANKS; size++) {
    for (int r = 0; r < size; r++) nbc_comm_destroy(comms[size][r]);
    nbc_threads_destroy(worlds[size]);
  }
}

/* Tests all requests in turn until all are finished; a persistent one is finished at its first OK.
 */
static bool drive_all(nbc_request **requests, int count) {
  bool over[RANKS * 8] = {false};
  for (long round = 0, left = count; left > 0; round++) {
    if (round > 5000000) return false;
    for (int i = 0; i < count; i++) {
      if (over[i]) continue;
      const nbc_status status = nbc_coll_test(&requests[i]);
      if (status == NBC_PENDING) continue;
      if (status) return false;
      over[i] = true, left--;
    }
  }
  return true;
}

/* ---- moving data: what each byte must be
 * ------------------------------------------------------------ */
static unsigned char *sends[RANKS], *recvs[RANKS], *wants[RANKS];

static uint64_t word_of(int rank, uint64_t index) {
  uint64_t z = ((uint64_t)rank << 40) + index * 0x9E3779B97F4A7C15u + test_seed;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  return z ^ (z >> 27);
}
static unsigned char byte_of(int rank, uint64_t i) { return (unsigned char)word_of(rank, i); }

static uint64_t at_of(const nbc_schedule_desc *d, const uint64_t *counts, const uint64_t *displs,
                      int i) {
  uint64_t at = 0;
  if (displs) return displs[i] * d->elem_bytes;
  for (int k = 0; k < i; k++) at += counts ? counts[k] : d->count;
  return at * d->elem_bytes;
}

static bool is_v(nbc_coll coll) {
  return coll == NBC_COLL_ALLTOALLV || coll == NBC_COLL_ALLGATHERV ||
         coll == NBC_COLL_REDUCE_SCATTER || coll == NBC_COLL_GATHERV || coll == NBC_COLL_SCATTERV ||
         has_neighbors(coll);
}
static bool scatters(nbc_coll coll) {
  return coll == NBC_COLL_SCATTER || coll == NBC_COLL_SCATTERV;
}
static bool gathers(nbc_coll coll) {
  return coll >= NBC_COLL_GATHER && coll <= NBC_COLL_ALLGATHERV && !scatters(coll);
}

/* Where in its own data what rank r gives to rank `to` begins. */
static uint64_t given_at(int r, int to) {
  const nbc_schedule_desc *const d = &g.descs[r];
  const bool v = is_v(d->coll);
  if (gathers(d->coll) || d->coll == NBC_COLL_BCAST) return 0;
  if (d->coll == NBC_COLL_ALLTOALLV && d->in_place)
    return at_of(d, d->recv_counts, d->recv_displs, to);
  return at_of(d, v ? d->send_counts : NULL, v ? d->send_displs : NULL, to);
}

static void put(unsigned char *want, uint64_t at, uint64_t bytes, int from, uint64_t index) {
  for (uint64_t i = 0; i < bytes; i++) want[at + i] = byte_of(from, index + i);
}

/* Block k of r is the j-th that its source has for it, when r has j - 1 others from there before. */
static void want_from_neighbors(int r, unsigned char *want) {
  const nbc_schedule_desc *const d = &g.descs[r];
  for (int k = 0; k < d->neighbors->source_count; k++) {
    const int source = d->neighbors->sources[k];
    int turn = 0, at = 0;
    if (source < 0) continue;
    const nbc_schedule_desc *const from = &g.descs[source];
    for (int i = 0; i < k; i++) turn += d->neighbors->sources[i] == source;
    for (; from->neighbors->targets[at] != r || turn > 0; at++)
      turn -= from->neighbors->targets[at] == r;
    put(want, at_of(d, d->recv_counts, d->recv_displs, k),
        (d->recv_counts ? d->recv_counts[k] : d->count) * d->elem_bytes, source,
        d->coll == NBC_COLL_NEIGHBOR_ALLGATHER
            ? 0
            : at_of(from, from->send_counts, from->send_displs, at));
  }
}

static void want_moved(int r, unsigned char *want) {
  const nbc_schedule_desc *const d = &g.descs[r];
  const bool v = is_v(d->coll);
  const uint64_t one = d->count * d->elem_bytes;
  const bool rooted = d->coll == NBC_COLL_GATHER || d->coll == NBC_COLL_GATHERV;
  if (d->coll == NBC_COLL_BARRIER) return;
  if (has_neighbors(d->coll)) {
    want_from_neighbors(r, want);
    return;
  }
  if (d->coll == NBC_COLL_BCAST || scatters(d->coll)) {
    if (!(scatters(d->coll) && d->in_place && r == d->root))
      put(want, 0, one, d->root, given_at(d->root, r));
    return;
  }
  if (rooted && r != d->root) return;
  for (int i = 0; i < d->size; i++)
    put(want, at_of(d, v ? d->recv_counts : NULL, v ? d->recv_displs : NULL, i),
        (v ? d->recv_counts[i] : d->count) * d->elem_bytes, i, given_at(i, r));
}

/* Operands of ranks from..to-1, one by one from the left. */
static void want_reduced(unsigned char *want, uint64_t at, uint64_t bytes, int from, int to,
                         uint64_t index, bool composed) {
  for (uint64_t i = 0; i < bytes; i += 8) {
    uint64_t all = word_of(from, (index + i) / 8);
    for (int r = from + 1; r < to; r++) {
      const uint64_t next = word_of(r, (index + i) / 8);
      if (composed)
        compose_fn(&all, &all, &next, 1, NBC_TYPE_UINT64, &compose);
      else
        all += next;
    }
    memcpy(want + at + i, &all, 8);
  }
}

static void want_of(int r, unsigned char *want) {
  const nbc_schedule_desc *const d = &g.descs[r];
  const uint64_t one = d->count * 8;
  const bool v = d->coll == NBC_COLL_REDUCE_SCATTER;
  switch (d->coll) {
  case NBC_COLL_REDUCE:
    if (r == d->root) want_reduced(want, 0, one, 0, d->size, 0, d->not_commutative);
    break;
  case NBC_COLL_ALLREDUCE: want_reduced(want, 0, one, 0, d->size, 0, d->not_commutative); break;
  case NBC_COLL_REDUCE_SCATTER_BLOCK:
  case NBC_COLL_REDUCE_SCATTER:
    want_reduced(want, 0, v ? d->recv_counts[r] * 8 : one, 0, d->size,
                 at_of(d, v ? d->recv_counts : NULL, NULL, r), d->not_commutative);
    break;
  case NBC_COLL_SCAN: want_reduced(want, 0, one, 0, r + 1, 0, d->not_commutative); break;
  case NBC_COLL_EXSCAN:
    if (r) want_reduced(want, 0, one, 0, r, 0, d->not_commutative);
    break;
  default: want_moved(r, want);
  }
}

/* Input of rank r in its place. Reductions take words, the others bytes. */
static void fill_input(int r, const nbc_schedule *s, bool words) {
  const nbc_schedule_desc *const d = &g.descs[r];
  const bool v = is_v(d->coll), root = r == d->root;
  unsigned char *to = sends[r];
  uint64_t bytes = s->send_bytes;
  memset(recvs[r], 0xA5, s->recv_bytes + 8);
  const bool rooted =
      d->coll == NBC_COLL_REDUCE || d->coll == NBC_COLL_GATHER || d->coll == NBC_COLL_GATHERV;
  if (d->coll == NBC_COLL_BCAST && root)
    to = recvs[r], bytes = s->recv_bytes;
  else if (d->in_place && !scatters(d->coll) && d->coll != NBC_COLL_BCAST &&
           !has_neighbors(d->coll) && (!rooted || root)) {
    to = recvs[r], bytes = s->recv_bytes;
    if (gathers(d->coll)) {
      to += at_of(d, v ? d->recv_counts : NULL, v ? d->recv_displs : NULL, r);
      bytes = (v ? d->recv_counts[r] : d->count) * d->elem_bytes;
    }
  }
  for (uint64_t i = 0; i < bytes; i += words ? 8 : 1) {
    const uint64_t word = word_of(r, i / 8);
    if (words)
      memcpy(to + i, &word, 8);
    else
      to[i] = byte_of(r, i);
  }
}

static nbc_coll_args args_of(int r, nbc_type type, nbc_reduce reduce) {
  const nbc_schedule_desc *const d = &g.descs[r];
  nbc_coll_args a = {0};
  const bool rooted =
      d->coll == NBC_COLL_REDUCE || (d->coll >= NBC_COLL_GATHER && d->coll <= NBC_COLL_SCATTERV);
  const bool in_place = d->in_place && d->coll != NBC_COLL_BCAST && d->coll != NBC_COLL_BARRIER &&
                        !has_neighbors(d->coll) && (!rooted || r == d->root);
  a.coll = d->coll, a.algo = d->algo, a.root = d->root, a.count = d->count;
  a.segment_bytes = d->segment_bytes, a.radix = d->radix, a.window_count = d->window_count;
  a.type = type, a.reduce = reduce;
  a.send = in_place && !scatters(d->coll) ? NBC_IN_PLACE : sends[r];
  a.recv = in_place && scatters(d->coll) ? NBC_IN_PLACE : recvs[r];
  if (!is_v(d->coll)) return a;
  a.send_counts = d->send_counts, a.send_displs = d->send_displs;
  a.recv_counts = d->recv_counts, a.recv_displs = d->recv_displs;
  a.neighbors = d->neighbors;
  return a;
}

/* The same by the function of that name, which takes no algorithm. */
static nbc_status start_in_one_line(nbc_comm *c, const nbc_coll_args *a, nbc_request **to) {
  const uint64_t *const sc = a->send_counts, *const sd = a->send_displs;
  const uint64_t *const rc = a->recv_counts, *const rd = a->recv_displs;
  const void *const in = a->send;
  void *const out = a->recv;
  const uint64_t n = a->count;
  const nbc_type t = a->type;
  switch (a->coll) {
  case NBC_COLL_BARRIER: return nbc_ibarrier(c, to);
  case NBC_COLL_BCAST: return nbc_ibcast(c, out, n, t, a->root, to);
  case NBC_COLL_REDUCE: return nbc_ireduce(c, in, out, n, t, a->reduce, a->root, to);
  case NBC_COLL_ALLREDUCE: return nbc_iallreduce(c, in, out, n, t, a->reduce, to);
  case NBC_COLL_REDUCE_SCATTER_BLOCK: return nbc_ireduce_scatter_block(c, in, out, n, t, a->reduce, to);
  case NBC_COLL_REDUCE_SCATTER: return nbc_ireduce_scatter(c, in, out, rc, t, a->reduce, to);
  case NBC_COLL_GATHER: return nbc_igather(c, in, out, n, t, a->root, to);
  case NBC_COLL_GATHERV: return nbc_igatherv(c, in, n, out, rc, rd, t, a->root, to);
  case NBC_COLL_SCATTER: return nbc_iscatter(c, in, out, n, t, a->root, to);
  case NBC_COLL_SCATTERV: return nbc_iscatterv(c, in, sc, sd, out, n, t, a->root, to);
  case NBC_COLL_ALLGATHER: return nbc_iallgather(c, in, out, n, t, to);
  case NBC_COLL_ALLGATHERV: return nbc_iallgatherv(c, in, out, rc, rd, t, to);
  case NBC_COLL_ALLTOALL: return nbc_ialltoall(c, in, out, n, t, to);
  case NBC_COLL_ALLTOALLV: return nbc_ialltoallv(c, in, sc, sd, out, rc, rd, t, to);
  case NBC_COLL_SCAN: return nbc_iscan(c, in, out, n, t, a->reduce, to);
  case NBC_COLL_EXSCAN: return nbc_iexscan(c, in, out, n, t, a->reduce, to);
  case NBC_COLL_NEIGHBOR_ALLGATHER:
    return rc ? nbc_ineighbor_allgatherv(c, a->neighbors, in, n, out, rc, rd, t, to)
              : nbc_ineighbor_allgather(c, a->neighbors, in, out, n, t, to);
  case NBC_COLL_NEIGHBOR_ALLTOALL:
    return rc ? nbc_ineighbor_alltoallv(c, a->neighbors, in, sc, sd, out, rc, rd, t, to)
              : nbc_ineighbor_alltoall(c, a->neighbors, in, out, n, t, to);
  default: return NBC_E_INVAL;
  }
}

static void check_case(nbc_coll coll, nbc_algo algo, int size, bool composed, bool persistent) {
  const bool reduces =
      (coll >= NBC_COLL_REDUCE && coll <= NBC_COLL_REDUCE_SCATTER) || coll == NBC_COLL_SCAN ||
      coll == NBC_COLL_EXSCAN;
  static const nbc_type movers[] = {NBC_TYPE_BYTE, NBC_TYPE_INT16, NBC_TYPE_FLOAT,
                                    NBC_TYPE_PAIR_DOUBLE};
  const nbc_type type = reduces ? NBC_TYPE_UINT64 : movers[test_below(4)];
  nbc_request *requests[RANKS] = {0};
  nbc_schedule *s[RANKS];
  nbc_error err;
  bool good = true;
  group_random(coll, algo, size, composed, nbc_type_bytes(type), 60);
  for (int r = 0; r < size; r++) {
    good &= nbc_schedule_build(&g.descs[r], &s[r], &err) == NBC_OK;
    sends[r] = malloc(s[r]->send_bytes + 8), recvs[r] = malloc(s[r]->recv_bytes + 8),
    wants[r] = malloc(s[r]->recv_bytes + 8);
  }
  for (int round = 0; round < (persistent ? 3 : 1); round++) {
    for (int r = 0; r < size; r++) {
      fill_input(r, s[r], reduces);
      memcpy(wants[r], recvs[r], s[r]->recv_bytes + 8);
      want_of(r, wants[r]);
      const nbc_coll_args args = args_of(r, type, composed ? compose : NBC_REDUCE_SUM);
      if (persistent) {
        if (round == 0) good &= nbc_coll_init(comms[size][r], &args, &requests[r]) == NBC_OK;
        good = good && nbc_coll_start(requests[r]) == NBC_OK;
      } else {
        good &= (algo == NBC_ALGO_AUTO ? start_in_one_line : nbc_coll_start_new)(comms[size][r], &args, &requests[r]) == NBC_OK;
      }
      if (!good) printf("  %s\n", nbc_comm_error(comms[size][r])->text);
    }
    good = good && drive_all(requests, size);
    for (int r = 0; r < size; r++) good &= memcmp(recvs[r], wants[r], s[r]->recv_bytes + 8) == 0;
  }
  if (!good)
    printf("  %s %s P=%d root=%d count=%llu in_place=%d composed=%d: %s\n", nbc_coll_name(coll),
           nbc_algo_name(algo), size, g.descs[0].root, (unsigned long long)g.descs[0].count,
           g.descs[0].in_place, composed, nbc_comm_error(comms[size][0])->text);
  CHECK(good);
  for (int r = 0; r < size; r++) {
    if (persistent) nbc_coll_free(requests[r]);
    nbc_schedule_free(s[r]);
    free(sends[r]), free(recvs[r]), free(wants[r]);
  }
}

static void every_collective_and_algorithm(void) {
  int count = 0;
  for (int coll = 0; coll < NBC_COLL_COUNT; coll++)
    for (int algo = 0; algo < NBC_ALGO_COUNT; algo++)
      for (int size = 1; size <= RANKS; size++)
        for (int composed = 0; composed < 2; composed++) {
          const bool reduces =
              (coll >= NBC_COLL_REDUCE && coll <= NBC_COLL_REDUCE_SCATTER) ||
              coll == NBC_COLL_SCAN || coll == NBC_COLL_EXSCAN;
          if (composed && !reduces) continue;
          if (algo && !nbc_schedule_supports((nbc_coll)coll, (nbc_algo)algo, size, composed))
            continue;
          check_case((nbc_coll)coll, (nbc_algo)algo, size, composed, test_below(3) == 0);
          count++;
        }
  printf("  %d cases\n", count);
}

/* ---- operators and types
 * ----------------------------------------------------------------------------- */
static int64_t reference(nbc_reduce reduce, int64_t a, int64_t b) {
  switch (reduce) {
  case NBC_REDUCE_MAX: return a > b ? a : b;
  case NBC_REDUCE_MIN: return a < b ? a : b;
  case NBC_REDUCE_SUM: return a + b;
  case NBC_REDUCE_PROD: return a * b;
  case NBC_REDUCE_LAND: return a && b;
  case NBC_REDUCE_BAND: return a & b;
  case NBC_REDUCE_LOR: return a || b;
  case NBC_REDUCE_BOR: return a | b;
  case NBC_REDUCE_LXOR: return !a != !b;
  case NBC_REDUCE_BXOR: return a ^ b;
  default: return 0;
  }
}

enum { ELEMENTS = 75 }; /* two blocks of the kernels and a rest */
static _Alignas(16) unsigned char data[4][ELEMENTS * 32];

/* Element i of the buffer := v (and w: imaginary part or index), or comparison with it. */
static bool element(nbc_type type, unsigned char *buffer, int i, int64_t v, int64_t w,
                    bool compare) {
#define VALUE(T)                                                                                   \
  do {                                                                                             \
    T x = (T)v;                                                                                    \
    T *at = (T *)(void *)buffer + i;                                                               \
    if (compare) return *at == x;                                                                  \
    *at = x;                                                                                       \
    return true;                                                                                   \
  } while (0)
#define PAIR(T, V)                                                                                 \
  do {                                                                                             \
    T *at = (T *)(void *)buffer + i;                                                               \
    if (compare) return at->value == (V)v && at->index == (int32_t)w;                              \
    at->value = (V)v, at->index = (int32_t)w;                                                      \
    return true;                                                                                   \
  } while (0)
#define COMPLEX(T)                                                                                 \
  do {                                                                                             \
    T *at = (T *)(void *)buffer + 2 * i;                                                           \
    if (compare) return at[0] == (T)v && at[1] == (T)w;                                            \
    at[0] = (T)v, at[1] = (T)w;                                                                    \
    return true;                                                                                   \
  } while (0)
  switch (type) {
  case NBC_TYPE_BOOL: VALUE(bool);
  case NBC_TYPE_INT8: VALUE(int8_t);
  case NBC_TYPE_UINT8: VALUE(uint8_t);
  case NBC_TYPE_INT16: VALUE(int16_t);
  case NBC_TYPE_UINT16: VALUE(uint16_t);
  case NBC_TYPE_INT32: VALUE(int32_t);
  case NBC_TYPE_UINT32: VALUE(uint32_t);
  case NBC_TYPE_INT64: VALUE(int64_t);
  case NBC_TYPE_UINT64: VALUE(uint64_t);
  case NBC_TYPE_FLOAT: VALUE(float);
  case NBC_TYPE_DOUBLE: VALUE(double);
  case NBC_TYPE_LONG_DOUBLE: VALUE(long double);
  case NBC_TYPE_COMPLEX_FLOAT: COMPLEX(float);
  case NBC_TYPE_COMPLEX_DOUBLE: COMPLEX(double);
  case NBC_TYPE_COMPLEX_LONG_DOUBLE: COMPLEX(long double);
  case NBC_TYPE_PAIR_INT16: PAIR(nbc_pair_int16, int16_t);
  case NBC_TYPE_PAIR_INT32: PAIR(nbc_pair_int32, int32_t);
  case NBC_TYPE_PAIR_INT64: PAIR(nbc_pair_int64, int64_t);
  case NBC_TYPE_PAIR_FLOAT: PAIR(nbc_pair_float, float);
  case NBC_TYPE_PAIR_DOUBLE: PAIR(nbc_pair_double, double);
  case NBC_TYPE_PAIR_LONG_DOUBLE: PAIR(nbc_pair_long_double, long double);
  default: return false;
  }
}

static void combine(nbc_type type, nbc_reduce reduce, int64_t *v, int64_t *w, int64_t v2,
                    int64_t w2) {
  if (reduce == NBC_REDUCE_MAXLOC || reduce == NBC_REDUCE_MINLOC) {
    const bool second = reduce == NBC_REDUCE_MAXLOC ? v2 > *v : v2 < *v;
    if (second || (v2 == *v && w2 < *w)) *v = v2, *w = w2;
  } else if (type >= NBC_TYPE_COMPLEX_FLOAT && type <= NBC_TYPE_COMPLEX_LONG_DOUBLE) {
    const int64_t re = reduce == NBC_REDUCE_SUM ? *v + v2 : *v * v2 - *w * w2;
    const int64_t im = reduce == NBC_REDUCE_SUM ? *w + w2 : *v * w2 + *w * v2;
    *v = re, *w = im;
  } else {
    *v = reference(reduce, *v, v2);
  }
}

static bool exists(nbc_type type, nbc_reduce reduce) { /* as documented */
  const bool loc = reduce == NBC_REDUCE_MAXLOC || reduce == NBC_REDUCE_MINLOC;
  const bool bits =
      reduce == NBC_REDUCE_BAND || reduce == NBC_REDUCE_BOR || reduce == NBC_REDUCE_BXOR;
  if (type == NBC_TYPE_BYTE) return false;
  if (type >= NBC_TYPE_PAIR_INT16) return loc;
  if (loc) return false;
  if (type >= NBC_TYPE_COMPLEX_FLOAT) return reduce == NBC_REDUCE_SUM || reduce == NBC_REDUCE_PROD;
  if (type >= NBC_TYPE_FLOAT) return !bits;
  if (type == NBC_TYPE_BOOL) return reduce != NBC_REDUCE_SUM && reduce != NBC_REDUCE_PROD;
  return true;
}

/* dst apart, dst == left, dst == right. */
static void every_operator_on_every_type(void) {
  int pairs = 0;
  for (int t = 0; t < NBC_TYPE_COUNT; t++)
    for (int o = 0; o < NBC_REDUCE_COUNT; o++) {
      const nbc_type type = (nbc_type)t;
      const nbc_reduce reduce = (nbc_reduce)o;
      const bool negative =
          type != NBC_TYPE_BOOL &&
          !(type >= NBC_TYPE_UINT8 && type <= NBC_TYPE_UINT64 && t % 2 == NBC_TYPE_UINT8 % 2);
      int64_t v[ELEMENTS], w[ELEMENTS], v2[ELEMENTS], w2[ELEMENTS];
      CHECK((nbc_reduce_local(reduce, type, data[0], data[1], data[2], 0) == NBC_OK) ==
            exists(type, reduce));
      if (!exists(type, reduce)) continue;
      pairs++;
      for (int form = 0; form < 3; form++) {
        unsigned char *const dst = form == 0 ? data[2] : form == 1 ? data[0] : data[1];
        for (int i = 0; i < ELEMENTS; i++) {
          const int64_t low = negative ? -4 : 0, high = type == NBC_TYPE_BOOL ? 2 : 9;
          v[i] = low + (int64_t)test_below((uint64_t)high), w[i] = (int64_t)test_below(5);
          v2[i] = low + (int64_t)test_below((uint64_t)high), w2[i] = (int64_t)test_below(5);
          element(type, data[0], i, v[i], w[i], false),
              element(type, data[1], i, v2[i], w2[i], false);
        }
        CHECK(nbc_reduce_local(reduce, type, dst, data[0], data[1], ELEMENTS) == NBC_OK);
        int wrong = 0;
        for (int i = 0; i < ELEMENTS; i++) {
          combine(type, reduce, &v[i], &w[i], v2[i], w2[i]);
          wrong += !element(type, dst, i, v[i], w[i], true);
        }
        if (wrong)
          printf("  %s of %s, form %d: %d elements wrong\n", nbc_reduce_name(reduce),
                 nbc_type_name(type), form, wrong);
        CHECK(wrong == 0);
      }
    }
  printf("  %d pairs of operator and type\n", pairs);
  CHECK(pairs == 127);
}

static void integers_wrap(void) {
  int16_t a16 = INT16_MAX, b16 = 2, c16;
  uint16_t p = 65535, q = 65535, pq;
  int64_t a = INT64_MAX, b = 3, c;
  CHECK(nbc_reduce_local(NBC_REDUCE_SUM, NBC_TYPE_INT16, &c16, &a16, &b16, 1) == NBC_OK &&
        c16 == INT16_MIN + 1);
  CHECK(nbc_reduce_local(NBC_REDUCE_PROD, NBC_TYPE_UINT16, &pq, &p, &q, 1) == NBC_OK && pq == 1);
  CHECK(nbc_reduce_local(NBC_REDUCE_PROD, NBC_TYPE_INT64, &c, &a, &b, 1) == NBC_OK &&
        c == INT64_MAX - 2);
}

/* ---- many at once
 * -------------------------------------------------------------------------------------- */
static void many_in_flight_keep_apart(void) {
  enum { SIZE = 5, FLYING = 8 };
  static double in[SIZE][FLYING][100], out[SIZE][FLYING][100];
  nbc_request *requests[SIZE * FLYING];
  for (int round = 0; round < 50; round++) {
    for (int k = 0; k < FLYING; k++)
      for (int r = 0; r < SIZE; r++) {
        nbc_request **const request = &requests[r * FLYING + k];
        for (int i = 0; i < 100; i++)
          in[r][k][i] = r + k * 10 + i, out[r][k][i] = k % 3 == 1 && r == 2 ? k + i : -1;
        if (k % 3 == 0)
          CHECK(nbc_iallreduce(comms[SIZE][r], in[r][k], out[r][k], 100, NBC_TYPE_DOUBLE,
                               NBC_REDUCE_SUM, request) == NBC_OK);
        else if (k % 3 == 1)
          CHECK(nbc_ibcast(comms[SIZE][r], out[r][k], 100, NBC_TYPE_DOUBLE, 2, request) == NBC_OK);
        else
          CHECK(nbc_ialltoall(comms[SIZE][r], in[r][k], out[r][k], 20, NBC_TYPE_DOUBLE, request) ==
                NBC_OK);
      }
    CHECK(drive_all(requests, SIZE * FLYING));
    int wrong = 0;
    for (int r = 0; r < SIZE; r++)
      for (int k = 0; k < FLYING; k++)
        for (int i = 0; i < 100; i++) {
          const double want = k % 3 == 0   ? 10 + SIZE * (k * 10 + i)
                              : k % 3 == 1 ? k + i
                                           : i / 20 + k * 10 + r * 20 + i % 20;
          wrong += out[r][k][i] != want; /* small integers: exact */
        }
    CHECK(wrong == 0);
  }
}

/* One message longer than any int: from a mapping without memory of its own into one whose blocks, but for those that
   are looked at, are the same block of memory: a virtual machine may take seconds to give 2 GiB. */
static void more_than_2_gib(void) {
  const uint64_t bytes = ((uint64_t)1 << 31) + 5, block = (uint64_t)1 << 24;
  unsigned char *buffers[2];
  nbc_request *requests[2];
  for (int r = 0; r < 2; r++) {
    buffers[r] = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (buffers[r] == MAP_FAILED) SKIP("no address space");
  }
  (void)madvise(buffers[0], bytes, MADV_HUGEPAGE);
  const int one = memfd_create("block", 0);
  CHECK(one >= 0 && ftruncate(one, (off_t)block) == 0);
  for (uint64_t at = block; at + block < bytes; at += block)
    CHECK(at == bytes / 2 / block * block ||
          mmap(buffers[1] + at, block, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_POPULATE, one, 0) != MAP_FAILED);
  close(one);
  buffers[0][0] = 1, buffers[0][bytes / 2] = 2, buffers[0][bytes - 1] = 3;
  buffers[1][4096] = 9;
  for (int r = 0; r < 2; r++) {
    const nbc_coll_args args = {
        .coll = NBC_COLL_BCAST, .algo = NBC_ALGO_BINOMIAL, .recv = buffers[r], .count = bytes};
    CHECK(nbc_coll_start_new(comms[2][r], &args, &requests[r]) == NBC_OK);
  }
  CHECK(drive_all(requests, 2));
  CHECK(buffers[1][0] == 1 && buffers[1][4096] == 0 && buffers[1][bytes / 2] == 2 &&
        buffers[1][bytes - 1] == 3);
  for (int r = 0; r < 2; r++) munmap(buffers[r], bytes);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  test_state = test_seed;
  open_worlds();
  RUN(every_collective_and_algorithm);
  RUN(every_operator_on_every_type);
  RUN(integers_wrap);
  RUN(many_in_flight_keep_apart);
  RUN(more_than_2_gib);
  close_worlds();
  return TEST_END();
}
