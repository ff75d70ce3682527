/* Every collective on the MPI transport gives what the MPI's own collective gives: random collectives,
   algorithms, lengths, roots, operators, types, in place or not; without an engine and with a worker. The
   argument is the thread level, 0 ... 3. Every rank draws the same calls. */
#include <mpi.h>
#include <sched.h>
#define NBC_OVERLAP_IMPLEMENTATION
#define NBC_WITH_MPI
#include "nbc_overlap.h"
#include "tests/test.h"

enum { MOST = 5000, MOST_RANKS = 17 };
static int rank, size;
static nbc_transport *transport;
static nbc_comm *comm;
static int64_t send[MOST * MOST_RANKS], ours[MOST * MOST_RANKS], theirs[MOST * MOST_RANKS];

static const nbc_type types[] = {NBC_TYPE_INT8, NBC_TYPE_INT32, NBC_TYPE_INT64, NBC_TYPE_FLOAT,
                                 NBC_TYPE_DOUBLE};
static const nbc_reduce reduces[] = {NBC_REDUCE_MAX, NBC_REDUCE_MIN,  NBC_REDUCE_SUM,
                                     NBC_REDUCE_LOR, NBC_REDUCE_BXOR, NBC_REDUCE_BAND};
static MPI_Op mpi_op(nbc_reduce reduce) {
  switch (reduce) {
  case NBC_REDUCE_MAX: return MPI_MAX;
  case NBC_REDUCE_MIN: return MPI_MIN;
  case NBC_REDUCE_LOR: return MPI_LOR;
  case NBC_REDUCE_BXOR: return MPI_BXOR;
  case NBC_REDUCE_BAND: return MPI_BAND;
  default: return MPI_SUM;
  }
}

/* Small integers, so that sums of floats are exact whatever the order. */
static void fill(nbc_type type, uint64_t count, uint64_t seed) {
  for (uint64_t i = 0; i < count; i++) {
    const int v = (int)((seed + (uint64_t)rank * 7919 + i * 104729) % 23) - 11;
    switch (type) {
    case NBC_TYPE_INT8: ((int8_t *)send)[i] = (int8_t)v; break;
    case NBC_TYPE_INT32: ((int32_t *)send)[i] = v; break;
    case NBC_TYPE_INT64: send[i] = v; break;
    case NBC_TYPE_FLOAT: ((float *)send)[i] = (float)v; break;
    default: ((double *)send)[i] = v; break;
    }
  }
}

typedef struct call {
  nbc_coll_args args;
  MPI_Datatype type;
  MPI_Op op;
  uint64_t counts[MOST_RANKS], displs[MOST_RANKS], recv_counts[MOST_RANKS], recv_displs[MOST_RANKS];
  int icounts[MOST_RANKS], idispls[MOST_RANKS], irecv_counts[MOST_RANKS], irecv_displs[MOST_RANKS];
} call;

static MPI_Comm ring; /* a graph */
static void mpi_call(const call *c, const void *in, void *out) {
  const int n = (int)c->args.count, root = c->args.root;
  switch (c->args.coll) {
  case NBC_COLL_BARRIER: MPI_Barrier(MPI_COMM_WORLD); break;
  case NBC_COLL_BCAST: MPI_Bcast(out, n, c->type, root, MPI_COMM_WORLD); break;
  case NBC_COLL_REDUCE: MPI_Reduce(in, out, n, c->type, c->op, root, MPI_COMM_WORLD); break;
  case NBC_COLL_ALLREDUCE: MPI_Allreduce(in, out, n, c->type, c->op, MPI_COMM_WORLD); break;
  case NBC_COLL_REDUCE_SCATTER_BLOCK:
    MPI_Reduce_scatter_block(in, out, n, c->type, c->op, MPI_COMM_WORLD);
    break;
  case NBC_COLL_REDUCE_SCATTER:
    MPI_Reduce_scatter(in, out, c->icounts, c->type, c->op, MPI_COMM_WORLD);
    break;
  case NBC_COLL_GATHER: MPI_Gather(in, n, c->type, out, n, c->type, root, MPI_COMM_WORLD); break;
  case NBC_COLL_GATHERV:
    MPI_Gatherv(in, n, c->type, out, c->icounts, c->idispls, c->type, root, MPI_COMM_WORLD);
    break;
  case NBC_COLL_SCATTER: MPI_Scatter(in, n, c->type, out, n, c->type, root, MPI_COMM_WORLD); break;
  case NBC_COLL_SCATTERV:
    MPI_Scatterv(in, c->icounts, c->idispls, c->type, out, n, c->type, root, MPI_COMM_WORLD);
    break;
  case NBC_COLL_ALLGATHER: MPI_Allgather(in, n, c->type, out, n, c->type, MPI_COMM_WORLD); break;
  case NBC_COLL_ALLGATHERV:
    MPI_Allgatherv(in, c->icounts[rank], c->type, out, c->icounts, c->idispls, c->type,
                   MPI_COMM_WORLD);
    break;
  case NBC_COLL_ALLTOALL: MPI_Alltoall(in, n, c->type, out, n, c->type, MPI_COMM_WORLD); break;
  case NBC_COLL_ALLTOALLV:
    MPI_Alltoallv(in, c->icounts, c->idispls, c->type, out, c->irecv_counts, c->irecv_displs,
                  c->type, MPI_COMM_WORLD);
    break;
  case NBC_COLL_SCAN: MPI_Scan(in, out, n, c->type, c->op, MPI_COMM_WORLD); break;
  case NBC_COLL_EXSCAN: MPI_Exscan(in, out, n, c->type, c->op, MPI_COMM_WORLD); break;
  case NBC_COLL_NEIGHBOR_ALLGATHER:
    MPI_Neighbor_allgather(in, n, c->type, out, n, c->type, ring);
    break;
  case NBC_COLL_NEIGHBOR_ALLTOALL:
    MPI_Neighbor_alltoall(in, n, c->type, out, n, c->type, ring);
    break;
  case NBC_COLL_COUNT: break;
  }
}

/* The rank below, the rank itself, and above: the same for the MPI and for ours. */
static int neighbors_below[2], neighbors_above[2];
static nbc_neighbors neighbors = {neighbors_below, neighbors_above, 0, 0};
static void make_ring(void) {
  const int count = size > 1 ? 2 : 1;
  neighbors_below[0] = neighbors_above[1] = rank;
  neighbors_below[1] = (rank + size - 1) % size, neighbors_above[0] = (rank + 1) % size;
  neighbors.source_count = neighbors.target_count = count;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, count, neighbors_below, MPI_UNWEIGHTED, count,
                                 neighbors_above, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring);
}

/* counts[i]: block of rank i, alike on all ranks; alltoallv: what rank r gives to i. Gaps between blocks. */
static void draw_counts(call *c, uint64_t most) {
  const uint64_t seed = test_rand();
  uint64_t at = 0, recv_at = 0;
  for (int i = 0; i < size; i++) {
    const bool pairs = c->args.coll == NBC_COLL_ALLTOALLV;
    c->counts[i] = (seed + (uint64_t)i * 31 + (pairs ? (uint64_t)rank * 17 : 0)) % (most / 2 + 1);
    c->recv_counts[i] =
        pairs ? (seed + (uint64_t)rank * 31 + (uint64_t)i * 17) % (most / 2 + 1) : c->counts[i];
    c->displs[i] = at, c->recv_displs[i] = recv_at;
    at += c->counts[i] + seed % 3, recv_at += c->recv_counts[i] + seed % 3;
    c->icounts[i] = (int)c->counts[i], c->idispls[i] = (int)c->displs[i];
    c->irecv_counts[i] = (int)c->recv_counts[i], c->irecv_displs[i] = (int)c->recv_displs[i];
  }
  c->args.send_counts = c->counts, c->args.send_displs = c->displs;
  c->args.recv_counts = c->recv_counts, c->args.recv_displs = c->recv_displs;
  if (c->args.coll == NBC_COLL_GATHERV || c->args.coll == NBC_COLL_SCATTERV)
    c->args.count = c->counts[rank];
}

static void one_call(nbc_coll coll) {
  call c;
  const MPI_Datatype all_types[5] = {MPI_INT8_T, MPI_INT32_T, MPI_INT64_T, MPI_FLOAT, MPI_DOUBLE};
  const uint64_t which = test_below(5), most = test_below(3) ? 60 : MOST - 10;
  memset(&c, 0, sizeof c);
  c.type = all_types[which];
  c.args.coll = coll, c.args.type = types[which];
  c.args.reduce = reduces[test_below(which < 3 ? 6 : 4)];
  c.op = mpi_op(c.args.reduce);
  if (c.args.reduce == NBC_REDUCE_LOR && which >= 3)
    c.args.reduce = NBC_REDUCE_SUM, c.op = MPI_SUM; /* not in MPI */
  c.args.root = (int)test_below((uint64_t)size);
  c.args.count = test_below(most);
  c.args.algo = (nbc_algo)test_below(NBC_ALGO_COUNT);
  if (!nbc_schedule_supports(coll, c.args.algo, size, false)) c.args.algo = NBC_ALGO_AUTO;
  c.args.segment_bytes = test_below(2) ? 0 : 256;
  draw_counts(&c, most);
  if (coll == NBC_COLL_NEIGHBOR_ALLGATHER || coll == NBC_COLL_NEIGHBOR_ALLTOALL) {
    c.args.send_counts = c.args.send_displs = c.args.recv_counts = c.args.recv_displs = NULL;
    c.args.neighbors = &neighbors;
  }
  fill(c.args.type, (uint64_t)MOST * (uint64_t)size, test_rand());
  memset(ours, 0x77, sizeof ours), memset(theirs, 0x77, sizeof theirs);
  if (coll == NBC_COLL_BCAST && rank == c.args.root)
    memcpy(ours, send, sizeof ours), memcpy(theirs, send, sizeof theirs);
  const bool in_place =
      test_below(3) == 0 && (coll == NBC_COLL_ALLREDUCE || coll == NBC_COLL_SCAN ||
                             coll == NBC_COLL_ALLTOALL || coll == NBC_COLL_ALLGATHER);
  if (in_place) memcpy(ours, send, sizeof ours), memcpy(theirs, send, sizeof theirs);
  c.args.send = in_place ? NBC_IN_PLACE : send, c.args.recv = ours;
  mpi_call(&c, in_place ? MPI_IN_PLACE : (const void *)send, theirs);
  nbc_request *request = NULL;
  nbc_status status = nbc_coll_start_new(comm, &c.args, &request);
  if (!status) status = nbc_coll_wait(&request, 60000000000);
  const bool good = status == NBC_OK && memcmp(ours, theirs, sizeof ours) == 0;
  if (!good)
    printf("  %s %s rank %d of %d count %llu type %s reduce %s root %d in_place %d: %s\n",
           nbc_coll_name(coll), nbc_algo_name(c.args.algo), rank, size,
           (unsigned long long)c.args.count, nbc_type_name(c.args.type),
           nbc_reduce_name(c.args.reduce), c.args.root, in_place,
           status ? nbc_comm_error(comm)->text : "other result");
  CHECK(good);
}

static void run_all(nbc_progress *progress, int rounds) {
  const nbc_comm_desc d = {
      .transport = transport, .id = 3, .check = size % 2 == 1, .progress = progress};
  nbc_error err = {0};
  const nbc_status status = nbc_comm_create(&d, &comm, &err);
  if (status) printf("  %s\n", err.text);
  CHECK(status == NBC_OK);
  for (int round = 0; round < rounds && !status; round++)
    for (int coll = 0; coll < NBC_COLL_COUNT; coll++) one_call((nbc_coll)coll);
  nbc_comm_destroy(comm);
}

static void same_results_without_an_engine(void) { run_all(NULL, 24 / size + 1); }

/* The worker calls MPI while this thread calls it too: MPI_THREAD_MULTIPLE. */
static void same_results_with_a_worker(void) {
  static const nbc_policy policies[] = {NBC_POLICY_DEDICATED, NBC_POLICY_TIMER};
  for (int k = 0; k < 2; k++) {
    nbc_progress_desc d = {.policy = policies[k], .share_core = true, .period_ns = 200000};
    nbc_progress *progress = NULL;
    nbc_error err = {0};
    cpu_set_t mine;
    CHECK(sched_getaffinity(0, sizeof mine, &mine) == 0);
    while (!CPU_ISSET((size_t)d.core, &mine)) d.core++;
    CHECK(nbc_progress_create(&d, &progress, &err) == NBC_OK);
    run_all(progress, size > 4 ? 1 : 3);
    CHECK(nbc_progress_destroy(progress) == NBC_OK);
  }
}

/* Below MPI_THREAD_SERIALIZED a worker is refused, by name. */
static void worker_needs_serialized(void) {
  nbc_progress_desc d = {.policy = NBC_POLICY_TIMER};
  nbc_progress *progress;
  nbc_error err = {0};
  CHECK(nbc_progress_create(&d, &progress, &err) == NBC_OK);
  const nbc_comm_desc cd = {.transport = transport, .progress = progress};
  CHECK(nbc_comm_create(&cd, &comm, &err) == NBC_E_THREAD &&
        strstr(err.text, "MPI_THREAD_SERIALIZED"));
  CHECK(nbc_progress_destroy(progress) == NBC_OK);
}

int main(int argc, char **argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, argc > 1 ? atoi(argv[1]) : MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank), MPI_Comm_size(MPI_COMM_WORLD, &size);
  make_ring();
  if (rank) { /* one voice; failures are added up below */
    fflush(stdout);
    if (!freopen("/dev/null", "w", stdout)) return 2;
  }
  test_init(1, argv);
  MPI_Bcast(&test_seed, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  if (!rank) printf("seed %llu, %d processes\n", (unsigned long long)test_seed, size);
  const nbc_mpi_desc mpi = {.thread_level = provided};
  nbc_error err = {0};
  if (nbc_mpi_create(MPI_COMM_WORLD, &mpi, &transport, &err)) {
    fprintf(stderr, "%s\n", err.text);
    return 2;
  }
  RUN(same_results_without_an_engine);
  if (provided == MPI_THREAD_MULTIPLE) RUN(same_results_with_a_worker);
  if (provided < MPI_THREAD_SERIALIZED) RUN(worker_needs_serialized);
  MPI_Allreduce(MPI_IN_PLACE, &test_failed, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  nbc_mpi_destroy(transport);
  MPI_Finalize();
  return test_end();
}
