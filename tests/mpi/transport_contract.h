/* What every transport between processes must do: each process runs these tests, includes this file
   after nbc_overlap.h and tests/test.h, and provides open_transport (piece_bytes: how large the pieces
   of long messages are, where the transport lets one choose) and close_transport. */
#include <sched.h>

static int rank, size;
static nbc_transport *open_transport(uint64_t piece_bytes);
static void close_transport(nbc_transport *t);

static unsigned char byte_of(uint64_t seed, uint64_t i) {
  uint64_t z = (seed + i) * 0x9E3779B97F4A7C15u;
  return (unsigned char)(z >> 56);
}
static void fill(unsigned char *data, uint64_t bytes, uint64_t seed) {
  for (uint64_t i = 0; i < bytes; i++) data[i] = byte_of(seed, i);
}
static bool filled(const unsigned char *data, uint64_t bytes, uint64_t seed) {
  for (uint64_t i = 0; i < bytes; i++)
    if (data[i] != byte_of(seed, i)) return false;
  return true;
}

/* To the next rank, from the one before, itself when alone; receive posted before or after. */
static void every_size_arrives_whole(void) {
  static const uint64_t sizes[] = {0, 1, 3999, 4000, 4001, 65536, 65537, 300001, 1000000};
  nbc_transport *t = open_transport(65536);
  unsigned char *out = malloc(1000000), *in = malloc(1000001);
  int to = (rank + 1) % size, from = (rank + size - 1) % size;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (int late = 0; late < 2; late++) {
      nbc_op send = {0}, recv = {0};
      uint64_t tag = UINT64_MAX - i;
      fill(out, sizes[i], i + (uint64_t)rank * 1000);
      memset(in, 0x5A, sizes[i] + 1);
      if (!late) CHECK(nbc_irecv(t, in, sizes[i], from, tag, &recv) == NBC_OK);
      CHECK(nbc_isend(t, out, sizes[i], to, tag, &send) == NBC_OK);
      for (int n = 0; late && n < 200; n++) t->progress(t->ctx);
      if (late) CHECK(nbc_irecv(t, in, sizes[i], from, tag, &recv) == NBC_OK && !recv.finished);
      CHECK(nbc_wait(t, &recv, 0) == NBC_OK && nbc_wait(t, &send, 0) == NBC_OK);
      CHECK(recv.size_bytes == sizes[i] && recv.peer == from && send.size_bytes == sizes[i]);
      CHECK(filled(in, sizes[i], i + (uint64_t)from * 1000) && in[sizes[i]] == 0x5A);
    }
  free(out), free(in);
  close_transport(t);
}

/* Tags that MPI could not tell apart, were they cut down to its own. */
static void all_64_bits_of_a_tag_count(void) {
  nbc_transport *t = open_transport(0);
  nbc_op send[64], recv[64];
  uint64_t out[64], in[64];
  int to = (rank + 1) % size, from = (rank + size - 1) % size;
  memset(send, 0, sizeof send), memset(recv, 0, sizeof recv);
  for (int i = 0; i < 64; i++) {
    out[i] = (uint64_t)i + 100 * (uint64_t)rank;
    CHECK(nbc_isend(t, &out[i], 8, to, (uint64_t)1 << i, &send[i]) == NBC_OK);
  }
  for (int i = 63; i >= 0; i--) CHECK(nbc_irecv(t, &in[i], 8, from, (uint64_t)1 << i, &recv[i]) == NBC_OK);
  for (int i = 0; i < 64; i++) CHECK(nbc_wait(t, &recv[i], 0) == NBC_OK && in[i] == (uint64_t)i + 100 * (uint64_t)from);
  for (int i = 0; i < 64; i++) CHECK(nbc_wait(t, &send[i], 0) == NBC_OK);
  close_transport(t);
}

static void same_tag_matches_in_posting_order(void) {
  enum { COUNT = 200 }; /* more than the ring of headers holds */
  nbc_transport *t = open_transport(0);
  static nbc_op send[COUNT], recv[COUNT];
  static uint64_t out[COUNT][1000], in[COUNT][1000]; /* every third is long */
  int to = (rank + 1) % size, from = (rank + size - 1) % size;
  memset(send, 0, sizeof send), memset(recv, 0, sizeof recv);
  for (int i = 0; i < COUNT; i++) {
    uint64_t bytes = i % 3 ? 8 : 8000;
    out[i][0] = (uint64_t)i;
    CHECK(nbc_isend(t, out[i], bytes, to, 3, &send[i]) == NBC_OK);
    if (i >= COUNT / 2) CHECK(nbc_irecv(t, in[i - COUNT / 2], 8000, from, 3, &recv[i - COUNT / 2]) == NBC_OK);
  }
  for (int i = COUNT / 2; i < COUNT; i++) CHECK(nbc_irecv(t, in[i], 8000, from, 3, &recv[i]) == NBC_OK);
  for (int i = 0; i < COUNT; i++)
    CHECK(nbc_wait(t, &recv[i], 0) == NBC_OK && in[i][0] == (uint64_t)i && recv[i].size_bytes == (i % 3 ? 8 : 8000));
  for (int i = 0; i < COUNT; i++) CHECK(nbc_wait(t, &send[i], 0) == NBC_OK);
  close_transport(t);
}

static void short_receive_is_truncated_not_overrun(void) {
  static const uint64_t rooms[] = {0, 1, 1000, 65535, 65536, 65537, 199999};
  nbc_transport *t = open_transport(65536);
  unsigned char *out = malloc(200000), *in = malloc(200000);
  int to = (rank + 1) % size, from = (rank + size - 1) % size;
  fill(out, 200000, 77);
  for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++)
    for (uint64_t bytes = 2000; bytes <= 200000; bytes += 198000) {
      nbc_op send = {0}, recv = {0};
      uint64_t fits = rooms[i] < bytes ? rooms[i] : bytes;
      memset(in, 0x5A, 200000);
      CHECK(nbc_irecv(t, in, rooms[i], from, 1, &recv) == NBC_OK && nbc_isend(t, out, bytes, to, 1, &send) == NBC_OK);
      CHECK(nbc_wait(t, &recv, 0) == (rooms[i] < bytes ? NBC_E_TRUNCATED : NBC_OK));
      CHECK(nbc_wait(t, &send, 0) == NBC_OK && recv.size_bytes == fits && filled(in, fits, 77));
      for (uint64_t k = fits; k < 200000; k++)
        if (in[k] != 0x5A) { CHECK(!"overrun"); break; }
    }
  free(out), free(in);
  close_transport(t);
}

static void any_peer_names_the_sender(void) {
  nbc_transport *t = open_transport(0);
  nbc_op send = {0}, recv[64] = {{0}};
  int in[64], seen[64] = {0}, mine = rank;
  CHECK(nbc_isend(t, &mine, sizeof mine, 0, 5, &send) == NBC_OK);
  for (int i = 0; rank == 0 && i < size; i++) {
    if (i == 1) /* the others wait as unexpected messages */
      for (int n = 0; n < 300; n++) t->progress(t->ctx), sched_yield();
    CHECK(nbc_irecv(t, &in[i], sizeof in[i], NBC_ANY_PEER, 5, &recv[i]) == NBC_OK);
  }
  for (int i = 0; rank == 0 && i < size; i++) {
    CHECK(nbc_wait(t, &recv[i], 0) == NBC_OK && recv[i].peer == in[i]);
    if (in[i] >= 0 && in[i] < size) seen[in[i]]++;
  }
  for (int i = 0; rank == 0 && i < size; i++) CHECK(seen[i] == 1);
  CHECK(nbc_wait(t, &send, 0) == NBC_OK);
  close_transport(t);
}

static void only_unmatched_receives_cancel(void) {
  nbc_transport *t = open_transport(0);
  nbc_op send = {0}, recv = {0}, lost = {0}, any = {0};
  char out = 1, in[3] = {0};
  CHECK(nbc_irecv(t, &in[0], 1, rank, 1, &recv) == NBC_OK && nbc_irecv(t, &in[1], 1, rank, 2, &lost) == NBC_OK);
  CHECK(nbc_irecv(t, &in[2], 1, NBC_ANY_PEER, 3, &any) == NBC_OK);
  CHECK(nbc_isend(t, &out, 1, rank, 1, &send) == NBC_OK && nbc_wait(t, &recv, 0) == NBC_OK);
  CHECK(t->cancel(t->ctx, &recv) == NBC_E_STATE && t->cancel(t->ctx, &send) == NBC_E_STATE);
  CHECK(t->cancel(t->ctx, &lost) == NBC_OK && !lost.finished && t->cancel(t->ctx, &any) == NBC_OK);
  CHECK(t->cancel(t->ctx, &lost) == NBC_E_STATE);
  CHECK(nbc_wait(t, &lost, 0) == NBC_E_CANCELLED && nbc_wait(t, &any, 0) == NBC_E_CANCELLED);
  CHECK(nbc_wait(t, &send, 0) == NBC_OK);
  close_transport(t);
}

/* Every rank sends random messages to every rank, receives posted in the sender's order per (peer,
   tag), waits in another order. */
enum { TRAFFIC_COUNT = 20, TRAFFIC_TAGS = 3 };
static uint64_t draw(uint64_t seed, int src, int dst, int index, int what) {
  uint64_t z = seed ^ ((uint64_t)src << 48) ^ ((uint64_t)dst << 32) ^ ((uint64_t)index << 8) ^ (uint64_t)what;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}
static uint64_t draw_size(uint64_t seed, int src, int dst, int index) {
  uint64_t z = draw(seed, src, dst, index, 1), bits = z % 18;
  return bits == 0 ? 0 : (z >> 20) % ((uint64_t)1 << bits);
}
static int traffic(nbc_transport *t, uint64_t seed) {
  int total = size * TRAFFIC_COUNT, bad = 0;
  nbc_op *send = calloc((size_t)total, sizeof *send), *recv = calloc((size_t)total, sizeof *recv);
  unsigned char **out = calloc((size_t)total, sizeof *out), **in = calloc((size_t)total, sizeof *in);
  for (int i = 0; i < TRAFFIC_COUNT; i++)
    for (int peer = 0; peer < size; peer++) {
      int k = peer * TRAFFIC_COUNT + i;
      uint64_t s = draw_size(seed, rank, peer, i), n = draw_size(seed, peer, rank, i);
      out[k] = malloc(s + 1), in[k] = malloc(n + 1);
      fill(out[k], s, draw(seed, rank, peer, i, 2));
      if (i % 2) nbc_irecv(t, in[k], n, peer, seed + draw(seed, peer, rank, i, 3) % TRAFFIC_TAGS, &recv[k]);
      nbc_isend(t, out[k], s, peer, seed + draw(seed, rank, peer, i, 3) % TRAFFIC_TAGS, &send[k]);
      if (!(i % 2)) nbc_irecv(t, in[k], n, peer, seed + draw(seed, peer, rank, i, 3) % TRAFFIC_TAGS, &recv[k]);
    }
  for (int k = total; k-- > 0;) {
    int peer = k / TRAFFIC_COUNT, i = k % TRAFFIC_COUNT;
    uint64_t n = draw_size(seed, peer, rank, i);
    if (nbc_wait(t, &recv[k], 0) != NBC_OK || recv[k].size_bytes != n || recv[k].peer != peer ||
        !filled(in[k], n, draw(seed, peer, rank, i, 2)))
      bad++;
  }
  for (int k = 0; k < total; k++)
    if (nbc_wait(t, &send[k], 0) != NBC_OK) bad++;
  for (int k = 0; k < total; k++) free(out[k]), free(in[k]);
  free(out), free(in), free(send), free(recv);
  return bad;
}

/* The a-priori table, measured between the first two; the others are not needed. */
static void both_ranks_measure_the_same_table(void) {
  nbc_transport *t = open_transport(65536);
  nbc_table_measure_desc desc = {0};
  nbc_table *table = NULL;
  nbc_error err = {0};
  desc.min_bytes = 1000;
  desc.max_bytes = 100000;
  desc.time_per_size_ns = 1000000;
  if (rank < 2 && size > 1) {
    const uint64_t *size_bytes;
    const double *time_s;
    double last_s = 0, peers_s = -1;
    nbc_op ops[2] = {{0}};
    CHECK(nbc_table_measure(t, 1 - rank, &desc, &table, &err) == NBC_OK);
    CHECK(table && nbc_table_points(table, &size_bytes, &time_s) == 8 && size_bytes[7] == 100000);
    if (table) last_s = time_s[7];
    CHECK(last_s > 0 && nbc_irecv(t, &peers_s, sizeof peers_s, 1 - rank, 1, &ops[0]) == NBC_OK);
    CHECK(nbc_isend(t, &last_s, sizeof last_s, 1 - rank, 1, &ops[1]) == NBC_OK);
    CHECK(nbc_wait(t, &ops[0], 0) == NBC_OK && nbc_wait(t, &ops[1], 0) == NBC_OK && peers_s == last_s);
  }
  nbc_table_free(table);
  close_transport(t);
}
