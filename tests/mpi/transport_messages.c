/* The MPI transport keeps the contract: every message whole, once, in order; 64-bit tags; short
   receives are never overrun; any thread level that MPI gives. Runs under mpirun, any number of
   processes; arguments: thread level (0-3) to ask MPI for, then test names as usual. "huge" alone
   sends more than 2 GiB. */
#define NBC_WITH_MPI
static const char *boot_id_file(void);
#define NBC_BOOT_ID_FILE boot_id_file()
#include "src/transport/mpi.c"
#include "tests/pieces.h"
#include "tests/test.h"
#include "tests/mpi/transport_contract.h"
#include <pthread.h>

static int provided;

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
/* Which kernel runs this rank: the machine's own, or what a test says. */
static const char *boot_id;
static const char *boot_id_file(void) { return boot_id ? boot_id : "/proc/sys/kernel/random/boot_id"; }

static void close_transport(nbc_transport *t) { nbc_mpi_destroy(t); }

/* Beside the program's own messages on the same communicator. */
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

/* Ranks of one machine share a clock when they know it, and then no message comes before it was sent; ranks
   that name other kernels, or none, do not. */
static void one_node_has_one_clock(void) {
  nbc_transport *t = open_transport(0);
  const bool counter = ((nbc__mpi *)t->ctx)->clock.source != NBC_CLOCK_RAW;
  for (int peer = 0; peer < size; peer++) CHECK(t->same_clock(t->ctx, peer));
  CHECK(!counter || ((nbc__mpi *)t->ctx)->clock.cpus_checked_count > 0);
  int64_t least_ns = INT64_MAX, there_ns, now_ns;
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  for (int i = 0; i < 200; i++) {
    now_ns = t->now_ns(t->ctx);
    MPI_Sendrecv(&now_ns, 1, MPI_INT64_T, to, 5, &there_ns, 1, MPI_INT64_T, from, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    now_ns = t->now_ns(t->ctx);
    if (now_ns - there_ns < least_ns) least_ns = now_ns - there_ns;
  }
  CHECK(least_ns >= 0);
  nbc_sync *sync;
  CHECK(nbc_sync_create(t, NULL, &sync, NULL) == NBC_OK);
  nbc_time ahead;
  now_ns = t->now_ns(t->ctx);
  CHECK(nbc_sync_global(sync, now_ns + 1000000000, &ahead) == NBC_OK);
  CHECK(ahead.t_ns == now_ns + 1000000000 && ahead.err_ns <= 100); /* a second later */
  nbc_sync_destroy(sync);
  close_transport(t);
}
static void other_kernels_have_other_clocks(void) {
  char path[64];
  snprintf(path, sizeof path, "/tmp/nbc_boot_id.%d.%d", (int)getpid(), rank);
  for (int kernel = 0; kernel < 2; kernel++) { /* two of them, even and odd ranks; none that can be read */
    FILE *file = fopen(path, "w");
    CHECK(file && fprintf(file, "%08d-a-random-number\n", rank % 2) > 0 && fclose(file) == 0);
    boot_id = kernel ? "/nowhere/boot_id" : path;
    nbc_transport *t = open_transport(0);
    for (int peer = 0; peer < size; peer++)
      CHECK(t->same_clock(t->ctx, peer) == (peer == rank || (!kernel && rank % 2 == 0 && peer % 2 == 0)));
    nbc_sync *sync;
    CHECK(nbc_sync_create(t, NULL, &sync, NULL) == NBC_OK);
    const nbc_sync_info info = nbc_sync_info_of(sync);
    CHECK(kernel || rank % 2 == 1 || info.trip_count == 0);
    CHECK(rank == 0 || (!kernel && rank % 2 == 0) || info.trip_count > 0);
    nbc_sync_destroy(sync);
    close_transport(t);
  }
  boot_id = NULL;
  remove(path);
}

/* ---- shared memory ---- */
static int shares(const nbc_transport *t) { return ((const nbc__mpi *)t->ctx)->near_count; }

/* All ranks of a node, or none; also one alone may keep the others from it. */
static void one_node_shares_memory_or_none_does(void) {
  const char *const told = getenv("NBC_SHARED_MEMORY");
  nbc_transport *t = open_transport(0);
  CHECK(shares(t) == (size < 2 || (told && strcmp(told, "0") == 0) ? 0 : size));
  close_transport(t);
  nbc_mpi_desc desc = {.messages_only = rank == size - 1};
  CHECK(nbc_mpi_create(MPI_COMM_WORLD, &desc, &t, NULL) == NBC_OK && shares(t) == 0);
  close_transport(t);
}

/* More than has room in shared memory is sent before anybody receives; what is sent last is received first.
   Some receives have no room for all of their message. */
static void what_has_no_room_keeps_its_order(void) {
  enum { COUNT = 120, MOST = 24000 };
  uint64_t seed = test_rand();
  MPI_Bcast(&seed, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  nbc_transport *t = open_transport(5000);
  unsigned char *const out = malloc((size_t)COUNT * MOST), *const in = malloc((size_t)COUNT * MOST);
  static nbc_op sends[COUNT], receives[COUNT];
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  CHECK(out && in);
  for (int i = 0; i < COUNT; i++) {
    const uint64_t bytes = draw_size(seed, rank, to, i) % MOST;
    fill(out + (size_t)i * MOST, bytes, seed + (uint64_t)(rank * COUNT + i));
    CHECK(nbc_isend(t, out + (size_t)i * MOST, bytes, to, (uint64_t)i, &sends[i]) == NBC_OK);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = COUNT - 1; i >= 0; i--) {
    const uint64_t bytes = draw_size(seed, from, rank, i) % MOST, room = i % 3 ? bytes : bytes / 2;
    CHECK(nbc_irecv(t, in + (size_t)i * MOST, room, from, (uint64_t)i, &receives[i]) == NBC_OK);
  }
  for (int i = 0; i < COUNT; i++) {
    const uint64_t bytes = draw_size(seed, from, rank, i) % MOST, room = i % 3 ? bytes : bytes / 2;
    const nbc_status status = nbc_wait(t, &receives[i], 0);
    CHECK(status == (room < bytes ? NBC_E_TRUNCATED : NBC_OK) && receives[i].size_bytes == room);
    CHECK(filled(in + (size_t)i * MOST, room, seed + (uint64_t)(from * COUNT + i)));
  }
  for (int i = 0; i < COUNT; i++) CHECK(nbc_wait(t, &sends[i], 0) == NBC_OK);
  free(out), free(in);
  close_transport(t);
}

/* Short messages, many times what shared memory holds, are over while the receiver is waiting in the MPI for
   something else, and so is the sender afterwards: nobody makes the transport's progress. */
static void short_sends_end_though_nobody_looks(void) {
  enum { COUNT = 4000, MOST = 200 };
  nbc_transport *t = open_transport(0);
  static nbc_op sends[COUNT];
  static unsigned char out[COUNT][MOST], in[MOST];
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  uint64_t seed = test_rand();
  int open_count = 0, token = 0;
  MPI_Bcast(&seed, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  for (int i = 0; i < COUNT; i++) {
    fill(out[i], MOST, seed + (uint64_t)(rank * COUNT + i));
    CHECK(nbc_isend(t, out[i], draw_size(seed, rank, to, i) % MOST, to, 7, &sends[i]) == NBC_OK);
    for (int n = 0; n < 50 && !sends[i].finished; n++) t->progress(t->ctx);
    open_count += !sends[i].finished;
  }
  CHECK(open_count == 0);
  if (rank == 0 && size > 1) MPI_Recv(&token, 1, MPI_INT, to, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < COUNT; i++) {
    const uint64_t bytes = draw_size(seed, from, rank, i) % MOST;
    nbc_op receive = {0};
    CHECK(nbc_irecv(t, in, MOST, from, 7, &receive) == NBC_OK && nbc_wait(t, &receive, 0) == NBC_OK);
    CHECK(receive.size_bytes == bytes && filled(in, bytes, seed + (uint64_t)(from * COUNT + i)));
  }
  if (rank == 1) MPI_Send(&token, 1, MPI_INT, 0, 6, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  close_transport(t);
}

static void pieces_of_unlike_sizes_are_refused(void) {
  nbc_mpi_desc desc = {.piece_bytes = rank == size - 1 ? 6000 : 5000};
  nbc_transport *t;
  nbc_error err = {0};
  char last[64];
  snprintf(last, sizeof last, "rank %d 6000", size - 1);
  const nbc_status status = nbc_mpi_create(MPI_COMM_WORLD, &desc, &t, &err);
  if (size == 1) {
    CHECK(status == NBC_OK);
  } else {
    CHECK(status == NBC_E_INVAL && !t && err.status == status);
    CHECK(strstr(err.text, "piece_bytes") && strstr(err.text, "rank 0 has 5000") && strstr(err.text, last));
  }
  close_transport(t);
  desc.piece_bytes = rank == size - 1 ? (uint64_t)1 << 31 : 0; /* one rank alone is wrong */
  CHECK(nbc_mpi_create(MPI_COMM_WORLD, &desc, &t, &err) == NBC_E_INVAL && !t && strstr(err.text, size - 1 == rank ? "2 GiB" : "rank "));
  desc.piece_bytes = rank == size - 1 ? (uint64_t)1 << 30 : 0; /* what 0 stands for */
  CHECK(nbc_mpi_create(MPI_COMM_WORLD, &desc, &t, &err) == NBC_OK);
  close_transport(t);
}

/* A callback that a wait on another transport delivers may make a transport and end it. */
static int made_count;
static void make_and_end(nbc_op *op) {
  nbc_transport *t = NULL;
  (void)op;
  made_count += nbc_mpi_create(MPI_COMM_SELF, NULL, &t, NULL) == NBC_OK;
  nbc_mpi_destroy(t);
}
static void done_may_make_and_end_transports(void) {
  nbc_transport *a = open_transport(0), *b = open_transport(0), *c = open_transport(0);
  nbc_transport *const both[] = {a, c};
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  char out = 'x', in[2];
  nbc_op never = {0}, receive[2] = {{0}, {0}}, send = {0};
  made_count = 0;
  CHECK(nbc_irecv(b, &out, 1, from, 99, &never) == NBC_OK);
  for (int i = 0; i < 2; i++) {
    receive[i].done = make_and_end;
    CHECK(nbc_irecv(both[i], &in[i], 1, from, 5, &receive[i]) == NBC_OK);
    CHECK(nbc_isend(both[i], &out, 1, to, 5, &send) == NBC_OK && nbc_wait(both[i], &send, 0) == NBC_OK);
  }
  b->progress(b->ctx); /* used last by this thread, as are the others */
  while (made_count < 2) CHECK(nbc_test(b, &never) == NBC_PENDING);
  CHECK(receive[0].finished && receive[1].finished);
  MPI_Barrier(MPI_COMM_WORLD);
  close_transport(a), close_transport(b), close_transport(c);
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
    desc.thread_level = rank == size - 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE; /* one rank alone: nobody waits for it */
    CHECK(nbc_mpi_create(MPI_COMM_WORLD, &desc, &t, &err) == NBC_E_TRANSPORT && !t && err.text[0]);
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
  /* in large pages, where the system has them: small ones are most of what this takes */
  unsigned char *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  nbc_op op = {0};
  CHECK(data != MAP_FAILED && size == 2);
  (void)madvise(data, bytes, MADV_HUGEPAGE);
  for (uint64_t at = 0; rank == 0 && at < bytes; at += 12345677) data[at] = byte_of(1, at);
  if (rank == 0) data[bytes - 1] = 99;
  if (rank == 0) CHECK(nbc_isend(t, data, bytes, 1, 1, &op) == NBC_OK);
  else CHECK(nbc_irecv(t, data, bytes, 0, 1, &op) == NBC_OK);
  CHECK(nbc_wait(t, &op, 0) == NBC_OK && op.size_bytes == bytes && data[bytes - 1] == 99);
  for (uint64_t at = 0; at < bytes; at += 12345677) CHECK(data[at] == byte_of(1, at));
  munmap(data, bytes);
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
    RUN(both_ranks_measure_the_same_table);
    RUN(one_node_has_one_clock);
    RUN(other_kernels_have_other_clocks);
    RUN(one_node_shares_memory_or_none_does);
    RUN(what_has_no_room_keeps_its_order);
    RUN(short_sends_end_though_nobody_looks);
    RUN(pieces_of_unlike_sizes_are_refused);
    RUN(done_may_make_and_end_transports);
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
