/* progress_persistent.c: persistent collectives and neighbourhoods against what they must give: every one of them,
   named and derived types, started in any order, in arrays with other requests, handles of types, operators and
   communicators freed while they are wanted, freed while active. Any number of processes; prints
   "N processes checked, M checks failed". */
#include "tools/mpi_h.h"
#include "progress_checks.h"

/* Its MPI_Request_get_status ends a persistent request that is complete: the status is lost (docs/mpi_errors.md). */
#if defined MPICH_NUMVERSION && MPICH_NUMVERSION >= 40200000
#  define IS_MPICH_4_2 1
#else
#  define IS_MPICH_4_2 0
#endif
#define NO_INFO MPI_INFO_NULL
static MPI_Comm comm;
static MPI_Datatype spread; /* an int and a gap */

static int sum_of_ranks(void) { return size * (size - 1) / 2; }

enum { MOST = 12, KINDS = 17 };
static int in[KINDS][4 * MOST * MOST], out[KINDS][4 * MOST * MOST], lengths[MOST], places[MOST], bytes_at[MOST];
static MPI_Datatype types[MOST];

/* All of them: n ints, or blocks of n ints; `step`: ints from one element to the next. */
static void make_all(MPI_Request r[KINDS], int n, MPI_Datatype type, int step, int root) {
  for (int i = 0; i < size; i++) {
    lengths[i] = n, places[i] = n * i, types[i] = type;
    bytes_at[i] = n * i * step * (int)sizeof(int);
  }
  INIT_OF(Bcast)(out[0], n, type, root, comm, NO_INFO, &r[0]);
  INIT_OF(Reduce)(in[1], out[1], n, MPI_INT, MPI_SUM, root, comm, NO_INFO, &r[1]);
  INIT_OF(Allreduce)(in[2], out[2], n, MPI_INT, MPI_SUM, comm, NO_INFO, &r[2]);
  INIT_OF(Reduce_scatter_block)(in[3], out[3], n, MPI_INT, MPI_SUM, comm, NO_INFO, &r[3]);
  INIT_OF(Reduce_scatter)(in[4], out[4], lengths, MPI_INT, MPI_SUM, comm, NO_INFO, &r[4]);
  INIT_OF(Scan)(in[5], out[5], n, MPI_INT, MPI_SUM, comm, NO_INFO, &r[5]);
  INIT_OF(Exscan)(in[6], out[6], n, MPI_INT, MPI_SUM, comm, NO_INFO, &r[6]);
  INIT_OF(Gather)(in[7], n, type, out[7], n, type, root, comm, NO_INFO, &r[7]);
  INIT_OF(Gatherv)(in[8], n, type, out[8], lengths, places, type, root, comm, NO_INFO, &r[8]);
  INIT_OF(Scatter)(in[9], n, type, out[9], n, type, root, comm, NO_INFO, &r[9]);
  INIT_OF(Scatterv)(in[10], lengths, places, type, out[10], n, type, root, comm, NO_INFO, &r[10]);
  INIT_OF(Allgather)(in[11], n, type, out[11], n, type, comm, NO_INFO, &r[11]);
  INIT_OF(Allgatherv)(in[12], n, type, out[12], lengths, places, type, comm, NO_INFO, &r[12]);
  INIT_OF(Alltoall)(in[13], n, type, out[13], n, type, comm, NO_INFO, &r[13]);
  INIT_OF(Alltoallv)(in[14], lengths, places, type, out[14], lengths, places, type, comm, NO_INFO, &r[14]);
  INIT_OF(Alltoallw)(in[15], lengths, bytes_at, types, out[15], lengths, bytes_at, types, comm, NO_INFO, &r[15]);
  INIT_OF(Barrier)(comm, NO_INFO, &r[16]);
}

static void fill_all(int n, int step, int root, int round) {
  memset(out, 0xff, sizeof out);
  for (int k = 0; k < KINDS; k++)
    for (int i = 0; i < n * size; i++) in[k][i * (k >= 7 ? step : 1)] = 1000 * rank + i + round;
  for (int i = 0; i < n; i++)
    if (rank == root) out[0][i * step] = 7 + i + round;
}
static void check_all(int n, int step, int root, int round) {
  for (int i = 0; i < n; i++) {
    const int sum = 1000 * sum_of_ranks() + size * (i + round), my_sum = sum + size * n * rank;
    CHECK(out[0][i * step] == 7 + i + round);
    CHECK(rank != root || out[1][i] == sum);
    CHECK(out[2][i] == sum && out[3][i] == my_sum && out[4][i] == my_sum);
    CHECK(out[5][i] == 1000 * rank * (rank + 1) / 2 + (rank + 1) * (i + round));
    CHECK(rank == 0 || out[6][i] == 1000 * rank * (rank - 1) / 2 + rank * (i + round));
    for (int k = 9; k <= 10; k++) CHECK(out[k][i * step] == 1000 * root + n * rank + i + round);
    for (int p = 0; p < size; p++) {
      const int at = (p * n + i) * step;
      for (int k = 7; k <= 8 && rank == root; k++) CHECK(out[k][at] == 1000 * p + i + round);
      for (int k = 11; k <= 12; k++) CHECK(out[k][at] == 1000 * p + i + round);
      for (int k = 13; k <= 15; k++) CHECK(out[k][at] == 1000 * p + n * rank + i + round);
      if (step > 1) CHECK(out[11][at + 1] == -1 && out[15][at + 1] == -1);
    }
  }
}

/* Every rank starts them in its own order; ended by a different call in each round. */
static void all_kinds(int n, MPI_Datatype type, int step) {
  MPI_Request r[KINDS + 1];
  MPI_Status s[KINDS + 1];
  const int root = size / 2;
  int flag = 0, index = 0, count = 0, which[KINDS + 1], left_count;
  make_all(r, n, type, step, root);
  r[KINDS] = MPI_REQUEST_NULL;
  MPI_Request before[KINDS];
  memcpy(before, r, sizeof before);
  for (int round = 0; round < 5; round++) {
    fill_all(n, step, root, round);
    if (round == 4) MPI_Startall(KINDS, r);
    for (int k = 0; k < KINDS && round < 4; k++) MPI_Start(&r[rank % 2 ? KINDS - 1 - k : (k + rank) % KINDS]);
    if (round == 0 || round == 4) MPI_Waitall(KINDS + 1, r, s);
    for (flag = 0; round == 1 && !flag;) MPI_Testall(KINDS + 1, r, &flag, s);
    for (int k = 0; round < 2 && k < KINDS; k++) CHECK(is_empty(&s[k]));
    for (left_count = KINDS; round == 2 && left_count > 0; left_count--) {
      if (left_count % 2) MPI_Waitany(KINDS + 1, r, &index, s);
      for (flag = 0; left_count % 2 == 0 && !flag;) MPI_Testany(KINDS + 1, r, &index, &flag, s);
      CHECK(index >= 0 && index < KINDS);
    }
    if (round == 2) MPI_Waitany(KINDS + 1, r, &index, s), CHECK(index == MPI_UNDEFINED);
    for (left_count = KINDS; round == 3 && left_count > 0; left_count -= count > 0 ? count : 0) {
      if (left_count % 2) MPI_Waitsome(KINDS + 1, r, &count, which, s);
      else MPI_Testsome(KINDS + 1, r, &count, which, s);
      CHECK(count >= 0 && count <= left_count);
    }
    CHECK(memcmp(before, r, sizeof before) == 0 && r[KINDS] == MPI_REQUEST_NULL);
    check_all(n, step, root, round);
  }
  for (int k = 0; k < KINDS; k++) {
    MPI_Request_get_status(r[k], &flag, s);
    CHECK(flag && is_empty(s));
    CHECK(MPI_Wait(&r[k], s) == MPI_SUCCESS && is_empty(s)); /* inactive: at once */
    MPI_Request_free(&r[k]);
    CHECK(r[k] == MPI_REQUEST_NULL);
  }
}

/* In one array with others of all sorts. */
static void mixed(void) {
  MPI_Request r[6], sum;
  MPI_Status s[6];
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  int a = rank, b = -1, got[3] = {-1, -1, -1}, flag = 0;
  INIT_OF(Allreduce)(&a, &b, 1, MPI_INT, MPI_SUM, comm, NO_INFO, &sum);
  MPI_Recv_init(&got[0], 1, MPI_INT, left, 5, comm, &r[0]);
  const MPI_Request receive = r[0];
  for (int round = 0; round < 3; round++) {
    a = rank + round;
    r[1] = sum, r[2] = MPI_REQUEST_NULL;
    MPI_Startall(2, r);
    MPI_Irecv(&got[1], 1, MPI_INT, left, 6, comm, &r[3]);
    MPI_Iallreduce(&rank, &got[2], 1, MPI_INT, MPI_MAX, comm, &r[4]);
    MPI_Isend(&rank, 1, MPI_INT, right, 6, comm, &r[5]);
    if (size > 1 && !IS_MPICH_4_2) {
      MPI_Request_get_status(r[0], &flag, s);
      CHECK(!flag || round > 0 || rank != left);
    }
    MPI_Send(&rank, 1, MPI_INT, right, 5, comm);
    MPI_Waitall(6, r, s);
    CHECK(r[0] == receive && r[1] == sum && r[3] == MPI_REQUEST_NULL && r[4] == MPI_REQUEST_NULL);
    CHECK(s[0].MPI_SOURCE == left && s[3].MPI_SOURCE == left && s[0].MPI_TAG == 5 && is_empty(&s[1]));
    CHECK(b == sum_of_ranks() + size * round && got[0] == left && got[1] == left && got[2] == size - 1);
  }
  for (flag = 0, MPI_Start(&sum); !flag;) MPI_Request_get_status(sum, &flag, s);
  MPI_Request_get_status(sum, &flag, s); /* and still */
  CHECK(flag && is_empty(s));
  MPI_Test(&sum, &flag, s);
  CHECK(flag && sum != MPI_REQUEST_NULL);
  MPI_Request_free(&r[0]);
  MPI_Request_free(&sum);
}

/* In one array with one that stays the MPI's: its communicator was made by MPI_Comm_idup. */
static void beside_the_mpis(void) {
  enum { MANY = 20 };
  MPI_Comm copy;
  MPI_Request r[MANY];
  MPI_Status s[MANY];
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  int a = 0, own = -1, other = -1, got = -1;
  MPI_Comm_idup(comm, &copy, &r[0]);
  MPI_Wait(&r[0], MPI_STATUS_IGNORE);
  for (int i = 0; i < MANY; i++) r[i] = MPI_REQUEST_NULL;
  INIT_OF(Allreduce)(&a, &other, 1, MPI_INT, MPI_SUM, copy, NO_INFO, &r[1]);
  const MPI_Request persistent = r[1];
  for (int round = 0; round < 20; round++) {
    a = rank + round, own = other = got = -1;
    MPI_Irecv(&got, 1, MPI_INT, left, 7, comm, &r[0]);
    MPI_Start(&r[1]);
    MPI_Iallreduce(&a, &own, 1, MPI_INT, MPI_SUM, comm, &r[2]);
    MPI_Isend(&rank, 1, MPI_INT, right, 7, comm, &r[3]);
    CHECK(MPI_Waitall(round % 2 ? 4 : MANY, r, s) == MPI_SUCCESS);
    CHECK(r[0] == MPI_REQUEST_NULL && r[1] == persistent && r[2] == MPI_REQUEST_NULL && r[3] == MPI_REQUEST_NULL);
    CHECK(s[0].MPI_SOURCE == left && s[0].MPI_TAG == 7 && is_empty(&s[2])); /* s[1]: what an MPI leaves there is undefined */
    CHECK(got == left && own == sum_of_ranks() + size * round && other == own);
  }
  MPI_Request_free(&r[1]);
  MPI_Comm_free(&copy);
}

static void keep_the_left(void *a, void *b, int *n, MPI_Datatype *type) { /* does not commute */
  (void)type;
  memcpy(b, a, (size_t)*n * sizeof(int));
}
/* What it was made with is gone before it is started; it is freed while it runs. */
static void handles_go(void) {
  MPI_Comm copy;
  MPI_Datatype pairs;
  MPI_Op own;
  MPI_Request r[3];
  int a = rank + 5, b = 0, x[4] = {-1, -1, -1, -1};
  static int y[4] = {-1, -1, -1, -1}; /* what was freed while it ran may end after this function */
  MPI_Comm_dup(comm, &copy);
  MPI_Type_vector(2, 1, 2, MPI_INT, &pairs);
  MPI_Type_commit(&pairs);
  MPI_Op_create(keep_the_left, 0, &own);
  INIT_OF(Allreduce)(&a, &b, 1, MPI_INT, own, copy, NO_INFO, &r[0]);
  INIT_OF(Bcast)(x, 1, pairs, 0, copy, NO_INFO, &r[1]);
  INIT_OF(Bcast)(y, 1, pairs, 0, copy, NO_INFO, &r[2]);
  MPI_Op_free(&own);
  MPI_Type_free(&pairs);
  MPI_Comm_free(&copy);
  for (int round = 0; round < 3; round++) {
    if (rank == 0) x[0] = y[0] = 5 + round, x[2] = y[2] = 6 + round;
    MPI_Startall(3, r);
    if (round == 2) MPI_Request_free(&r[2]); /* it goes on */
    MPI_Waitall(round == 2 ? 2 : 3, r, MPI_STATUSES_IGNORE);
    CHECK(b == 5 && x[0] == 5 + round && x[2] == 6 + round && x[1] == -1 && x[3] == -1);
    if (round < 2) CHECK(y[0] == 5 + round && y[2] == 6 + round);
    b = 0;
  }
  MPI_Barrier(comm);
  MPI_Request_free(&r[0]);
  MPI_Request_free(&r[1]);
}

/* ---- neighbourhoods --------------------------------------------------------------------------------- */
/* What goes along the edge a -> b: equal at both ends. */
static int word(int a, int b, int i) { return 10000 * a + 100 * b + i; }

static void exchange(MPI_Comm graph, int sources, const int from[], int targets, const int to[], MPI_Datatype type, int step) {
  enum { N = 3, EDGES = 2 * MOST };
  static int a[EDGES * 2 * N], b[EDGES * 2 * N], c[EDGES * 4 * N], d[EDGES * 4 * N], e[EDGES * 2 * N], f[EDGES * 2 * N], g[2 * N];
  int out_lengths[EDGES], out_places[EDGES], in_lengths[EDGES], in_places[EDGES];
  MPI_Aint out_bytes[EDGES], in_bytes[EDGES];
  MPI_Datatype out_types[EDGES], in_types[EDGES];
  MPI_Request r[10];
  for (int k = 0; k < targets; k++) {
    out_lengths[k] = to[k] < 0 ? 1 : 1 + (rank + to[k]) % N, out_places[k] = N * k;
    out_bytes[k] = (MPI_Aint)sizeof(int) * step * N * k, out_types[k] = type;
  }
  for (int k = 0; k < sources; k++) {
    in_lengths[k] = from[k] < 0 ? 1 : 1 + (rank + from[k]) % N, in_places[k] = N * (sources - 1 - k);
    in_bytes[k] = (MPI_Aint)sizeof(int) * step * N * k, in_types[k] = type;
  }
  for (int round = 0; round < 3; round++) {
    memset(b, 0xff, sizeof b), memset(c, 0xff, sizeof c), memset(d, 0xff, sizeof d), memset(e, 0xff, sizeof e), memset(f, 0xff, sizeof f);
    for (int k = 0; k < targets; k++)
      for (int i = 0; i < N; i++) a[(N * k + i) * step] = to[k] < 0 ? -7 : word(rank, to[k], i) + round;
    for (int i = 0; i < N; i++) g[i * step] = word(rank, 0, i) + round;
    if (round == 0) {
      MPI_Ineighbor_alltoall(a, N, type, b, N, type, graph, &r[0]);
      MPI_Ineighbor_alltoallv(a, out_lengths, out_places, type, c, in_lengths, in_places, type, graph, &r[1]);
      MPI_Ineighbor_alltoallw(a, out_lengths, out_bytes, out_types, d, in_lengths, in_bytes, in_types, graph, &r[2]);
      MPI_Ineighbor_allgather(g, N, type, e, N, type, graph, &r[3]);
      for (int k = 0; k < sources; k++) in_lengths[k] = N;
      MPI_Ineighbor_allgatherv(g, N, type, f, in_lengths, in_places, type, graph, &r[4]);
    }
    for (int k = 0; k < sources; k++) in_lengths[k] = from[k] < 0 ? 1 : 1 + (rank + from[k]) % N;
    if (round == 1) {
      static int whole[EDGES];
      for (int k = 0; k < sources; k++) whole[k] = N;
      INIT_OF(Neighbor_alltoall)(a, N, type, b, N, type, graph, NO_INFO, &r[0]);
      INIT_OF(Neighbor_alltoallv)(a, out_lengths, out_places, type, c, in_lengths, in_places, type, graph, NO_INFO, &r[1]);
      INIT_OF(Neighbor_alltoallw)(a, out_lengths, out_bytes, out_types, d, in_lengths, in_bytes, in_types, graph, NO_INFO, &r[2]);
      INIT_OF(Neighbor_allgather)(g, N, type, e, N, type, graph, NO_INFO, &r[3]);
      INIT_OF(Neighbor_allgatherv)(g, N, type, f, whole, in_places, type, graph, NO_INFO, &r[4]);
    }
    if (round > 0) MPI_Startall(5, r);
    MPI_Waitall(5, r, MPI_STATUSES_IGNORE);
    for (int k = 0; k < sources; k++)
      for (int i = 0; i < N; i++) {
        const int there = from[k] >= 0, some = there && i < in_lengths[k], edge = there ? word(from[k], rank, i) + round : -1;
        const int block = (N * k + i) * step, placed = (in_places[k] + i) * step, given = there ? word(from[k], 0, i) + round : -1;
        CHECK(b[block] == edge && c[placed] == (some ? edge : -1) && d[block] == (some ? edge : -1));
        CHECK(e[block] == given && f[placed] == given);
      }
  }
  for (int k = 0; k < 5; k++) MPI_Request_free(&r[k]);
}

static void grids(MPI_Datatype type, int step) {
  MPI_Comm grid;
  int dims[2] = {0, 0}, periods[2] = {0, 0}, list[4];
  for (int n = 1; n <= 2; n++)
    for (int periodic = 0; periodic < 2; periodic++) {
      dims[0] = dims[1] = 0;
      MPI_Dims_create(size, n, dims);
      for (int i = 0; i < n; i++) periods[i] = periodic && dims[i] > 2; /* else twice the same neighbour */
      MPI_Cart_create(comm, n, dims, periods, 0, &grid);
      for (int i = 0; i < n; i++) MPI_Cart_shift(grid, i, 1, &list[2 * i], &list[2 * i + 1]);
      for (int i = 0; i < 2 * n; i++) list[i] = list[i] == MPI_PROC_NULL ? -1 : list[i];
      exchange(grid, 2 * n, list, 2 * n, list, type, step);
      MPI_Comm_free(&grid);
    }
}

static void graphs(MPI_Datatype type, int step) {
  MPI_Comm graph;
  int from[3], to[3], count = 0, index[MOST], edges[2 * MOST];
  /* up by one, up by two, and to oneself: different ones only */
  for (int by = 0; by < 3 && by < size; by++, count++) from[count] = (rank + size - by) % size, to[count] = (rank + by) % size;
  MPI_Dist_graph_create_adjacent(comm, count, from, MPI_UNWEIGHTED, count, to, MPI_UNWEIGHTED, NO_INFO, 0, &graph);
  exchange(graph, count, from, count, to, type, step);
  MPI_Comm_free(&graph);
  /* a star: all with rank 0 */
  for (int p = 0, at = 0; p < size; p++) {
    if (p == 0)
      for (int i = 1; i < size; i++) edges[at++] = i;
    else edges[at++] = 0;
    index[p] = at;
  }
  MPI_Graph_create(comm, size, index, edges, 0, &graph);
  const int *const own = rank ? edges + index[rank - 1] : edges;
  exchange(graph, rank ? 1 : size - 1, own, rank ? 1 : size - 1, own, type, step);
  MPI_Comm_free(&graph);
}

/* Communicators of some of the processes of a grid or a graph are none, whatever the MPI says of them. */
static void parts_of_grids(void) {
  MPI_Comm whole[2], part;
  MPI_Group all, some;
  const int dims[1] = {size}, periods[1] = {0}, next = (rank + 1) % size, before = (rank + size - 1) % size;
  const int last = size - 2; /* all but the last */
  int range[1][3] = {{0, last, 1}};
  MPI_Cart_create(comm, 1, dims, periods, 0, &whole[0]);
  MPI_Dist_graph_create_adjacent(comm, 1, &before, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED, NO_INFO, 0, &whole[1]);
  for (int i = 0; i < 2; i++) {
    int sum = 0;
    MPI_Comm_group(whole[i], &all);
    MPI_Group_range_incl(all, 1, range, &some);
    if (rank <= last) {
      MPI_Comm_create_group(whole[i], some, 1, &part);
      MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, part);
      CHECK(sum == last * (last + 1) / 2);
      MPI_Comm_free(&part);
    }
    MPI_Group_free(&some);
    MPI_Group_free(&all);
    MPI_Comm_free(&whole[i]);
  }
}

/* The halo of a row, in one array: what goes lies between what comes. */
static void halo(void) {
  MPI_Comm row;
  MPI_Request r;
  int dims[1] = {size}, periods[1] = {0}, cells[6] = {-1, 10 * rank, 10 * rank + 1, 10 * rank + 2, 10 * rank + 3, -1};
  const int ones[2] = {1, 1}, given[2] = {1, 4}, taken[2] = {0, 5};
  MPI_Cart_create(comm, 1, dims, periods, 0, &row);
  MPI_Ineighbor_alltoallv(cells, ones, given, MPI_INT, cells, ones, taken, MPI_INT, row, &r);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  CHECK(cells[0] == (rank ? 10 * (rank - 1) + 3 : -1) && cells[5] == (rank + 1 < size ? 10 * (rank + 1) : -1));
  CHECK(cells[1] == 10 * rank && cells[4] == 10 * rank + 3);
  MPI_Comm_free(&row);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > MOST) return 2;
  MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &spread);
  MPI_Type_commit(&spread);
  comm = MPI_COMM_WORLD;
  all_kinds(1, MPI_INT, 1), all_kinds(MOST, MPI_INT, 1), all_kinds(5, spread, 2);
  mixed();
  beside_the_mpis();
  handles_go();
  grids(MPI_INT, 1), grids(spread, 2);
  graphs(MPI_INT, 1), graphs(spread, 2);
  halo();
  parts_of_grids();
  MPI_Type_free(&spread);
  const int status = all_checked();
  MPI_Finalize();
  return status;
}
