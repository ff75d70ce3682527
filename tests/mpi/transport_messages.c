/* The MPI transport keeps the contract: every message whole, once, in order; 64-bit tags; short
   receives are never overrun; any thread level that MPI gives. Runs under mpirun, any number of
   processes; arguments: thread level (0-3) to ask MPI for, then test names as usual. "huge" alone
   sends more than 2 GiB. */
#define NBC_WITH_MPI
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#include "tests/test.h"

static int provided, rank, size;

static nbc_transport *open_transport(uint64_t piece_bytes) {
  nbc_mpi_desc desc = {0};
  nbc_transport *t = NULL;
  nbc_error err = {0};
  desc.piece_bytes = piece_bytes;
  if (nbc_mpi_create(MPI_COMM_WORLD, &desc, &t, &err)) {
    printf("rank %d: %s\n", rank, err.text);
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  return t;
}

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
  nbc_mpi_destroy(t);
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
  nbc_mpi_destroy(t);
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
  nbc_mpi_destroy(t);
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
  nbc_mpi_destroy(t);
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
  nbc_mpi_destroy(t);
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
  nbc_mpi_destroy(t);
}

/* Every rank sends random messages to every rank, receives posted in the sender's order per (peer,
   tag), waits in another order, beside the program's own messages on the same communicator. */
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
static void random_traffic_beside_the_programs_own(void) {
  uint64_t seed = test_rand();
  int stray = rank, got = -1, to = (rank + 1) % size, from = (rank + size - 1) % size;
  nbc_transport *t;
  MPI_Request request;
  MPI_Bcast(&seed, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
  t = open_transport(10000);
  for (int i = 0; i < 3; i++) CHECK(traffic(t, seed + (uint64_t)i * 1000) == 0);
  MPI_Send(&stray, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(got == from);
  nbc_mpi_destroy(t);
}

/* ---- threads ---------------------------------------------------------------------------------------- */
typedef struct worker { nbc_transport *t; uint64_t seed; int bad; } worker;
static void *work(void *arg) {
  worker *w = arg;
  w->bad = traffic(w->t, w->seed);
  return NULL;
}
static void threads_share_the_transport(void) {
  nbc_transport *t = open_transport(10000);
  worker w[3] = {{t, 1000000, 0}, {t, 2000000, 0}, {t, 3000000, 0}};
  pthread_t thread[3];
  CHECK(t->any_thread == (provided >= MPI_THREAD_SERIALIZED));
  for (int i = 0; i < 3; i++) CHECK(pthread_create(&thread[i], NULL, work, &w[i]) == 0);
  if (provided < MPI_THREAD_SERIALIZED) { /* the main thread makes all MPI calls: it must keep coming */
    for (int i = 0; i < 3; i++)
      while (pthread_tryjoin_np(thread[i], NULL)) t->progress(t->ctx), sched_yield();
  } else {
    for (int i = 0; i < 3; i++) pthread_join(thread[i], NULL);
    nbc_mpi_lock(t); /* under SERIALIZED this is how the program makes a call of its own */
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    nbc_mpi_unlock(t);
  }
  for (int i = 0; i < 3; i++) CHECK(w[i].bad == 0);
  /* a rank that is done early keeps serving the others */
  MPI_Request all;
  for (int flag = (MPI_Ibarrier(MPI_COMM_WORLD, &all), 0); !flag; MPI_Test(&all, &flag, MPI_STATUS_IGNORE)) t->progress(t->ctx);
  nbc_mpi_destroy(t);
}

static void less_than_asked_for_is_named(void) {
  nbc_mpi_desc desc = {0};
  nbc_transport *t = NULL;
  nbc_error err = {0};
  desc.thread_level = MPI_THREAD_MULTIPLE;
  if (provided < MPI_THREAD_MULTIPLE) {
    CHECK(nbc_mpi_create(MPI_COMM_WORLD, &desc, &t, &err) == NBC_E_TRANSPORT && !t);
    CHECK(strstr(err.text, "MPI_THREAD_MULTIPLE") && strstr(err.text, provided == 0 ? "SINGLE" : provided == 1 ? "FUNNELED" : "SERIALIZED"));
  } else {
    CHECK(nbc_mpi_create(MPI_COMM_WORLD, &desc, &t, &err) == NBC_OK);
    nbc_mpi_destroy(t);
  }
}

static void bad_arguments_are_refused(void) {
  nbc_mpi_desc desc = {0};
  nbc_transport *t;
  nbc_op op = {0};
  char c = 0;
  CHECK(nbc_mpi_create(MPI_COMM_WORLD, NULL, NULL, NULL) == NBC_E_INVAL);
  CHECK(nbc_mpi_create(MPI_COMM_NULL, NULL, &t, NULL) == NBC_E_INVAL && !t);
  desc.piece_bytes = (uint64_t)1 << 31;
  CHECK(nbc_mpi_create(MPI_COMM_WORLD, &desc, &t, NULL) == NBC_E_INVAL);
  t = open_transport(0);
  CHECK(t->rank == rank && t->size == size && t->peer_class(t->ctx, rank) == NBC_PEER_SAME_NODE);
  CHECK(nbc_isend(t, &c, 1, size, 1, &op) == NBC_E_PEER && nbc_irecv(t, &c, 1, -2, 1, &op) == NBC_E_PEER);
  CHECK(nbc_irecv(t, NULL, 1, 0, 1, &op) == NBC_E_INVAL);
  CHECK_STR(nbc_mpi_error(t), "");
  CHECK(nbc_irecv(t, &c, 1, rank, 9, &op) == NBC_OK && nbc_wait(t, &op, 1000000) == NBC_E_TIMEOUT);
  nbc_mpi_destroy(t); /* with a receive posted: forgotten */
  nbc_mpi_destroy(NULL);
}

/* What the recorder saw of one exchange: every transfer once, nothing odd. */
static void transfers_are_recorded(void) {
  nbc_transport *t = open_transport(0);
  nbc_monitor *monitor;
  nbc_report *report;
  static unsigned char out[2][50000], in[2][50000];
  nbc_op ops[4] = {{0}};
  int to = (rank + 1) % size, from = (rank + size - 1) % size;
  CHECK(nbc_monitor_create(NULL, &monitor) == NBC_OK && nbc_recorder_attach(monitor, &t->recorder) == NBC_OK);
  for (int i = 0; i < 2; i++) {
    uint64_t bytes = i ? 50000 : 100;
    CHECK(nbc_irecv(t, in[i], 50000, from, (uint64_t)i, &ops[2 * i]) == NBC_OK);
    CHECK(nbc_isend(t, out[i], bytes, to, (uint64_t)i, &ops[2 * i + 1]) == NBC_OK);
  }
  for (int i = 0; i < 4; i++) CHECK(nbc_wait(t, &ops[i], 0) == NBC_OK);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 100; i++) nbc_test(t, &ops[0]), t->progress(t->ctx);
  CHECK(nbc_monitor_report(monitor, &report) == NBC_OK);
  CHECK(report->total.count == 4 && report->total.size_bytes == 2 * 50100);
  for (int p = 0; p < NBC_PROBLEM_COUNT; p++)
    CHECK(report->problems[p] == 0 || p == NBC_PROBLEM_table_too_slow || p == NBC_PROBLEM_never_ended);
  nbc_report_free(report);
  nbc_recorder_detach(t->recorder);
  nbc_monitor_destroy(monitor);
  t->recorder = NULL;
  nbc_mpi_destroy(t);
}

static void more_than_2_gib_arrive(void) {
  nbc_transport *t = open_transport(0);
  uint64_t bytes = ((uint64_t)1 << 31) + ((uint64_t)100 << 20) + 7;
  unsigned char *data = calloc(1, bytes);
  nbc_op op = {0};
  CHECK(data != NULL && size == 2);
  for (uint64_t at = 0; rank == 0 && at < bytes; at += 12345677) data[at] = byte_of(1, at);
  if (rank == 0) data[bytes - 1] = 99;
  if (rank == 0) CHECK(nbc_isend(t, data, bytes, 1, 1, &op) == NBC_OK);
  else CHECK(nbc_irecv(t, data, bytes, 0, 1, &op) == NBC_OK);
  CHECK(nbc_wait(t, &op, 0) == NBC_OK && op.size_bytes == bytes && data[bytes - 1] == 99);
  for (uint64_t at = 0; at < bytes; at += 12345677) CHECK(data[at] == byte_of(1, at));
  free(data);
  nbc_mpi_destroy(t);
}

int main(int argc, char **argv) {
  int level = argc > 1 ? atoi(argv[1]) : MPI_THREAD_MULTIPLE;
  nbc_transport *t;
  TEST_INIT(argc > 1 ? argc - 1 : argc, argc > 1 ? argv + 1 : argv);
  CHECK(nbc_mpi_create(MPI_COMM_WORLD, NULL, &t, NULL) == NBC_E_STATE); /* before MPI_Init */
  test_failed += test_bad != 0;
  test_bad = 0;
  MPI_Init_thread(&argc, &argv, level, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (test_filter && strcmp(test_filter, "huge") == 0) {
    test_filter = NULL;
    RUN(more_than_2_gib_arrive);
  } else {
    RUN(every_size_arrives_whole);
    RUN(all_64_bits_of_a_tag_count);
    RUN(same_tag_matches_in_posting_order);
    RUN(short_receive_is_truncated_not_overrun);
    RUN(any_peer_names_the_sender);
    RUN(only_unmatched_receives_cancel);
    RUN(random_traffic_beside_the_programs_own);
    if (provided >= MPI_THREAD_FUNNELED) RUN(threads_share_the_transport);
    RUN(less_than_asked_for_is_named);
    RUN(bad_arguments_are_refused);
    RUN(transfers_are_recorded);
  }
  test_bad = 0;
  MPI_Finalize();
  CHECK(nbc_mpi_create(MPI_COMM_WORLD, NULL, &t, NULL) == NBC_E_STATE); /* after MPI_Finalize */
  test_failed += test_bad != 0;
  return TEST_END();
}
