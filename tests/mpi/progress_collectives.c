/* progress_collectives.c: every nonblocking collective against what it must give, on several communicators, with
   named and derived types, operators of the program's own, MPI_IN_PLACE, blocks of different lengths, many in flight,
   handles freed while they are. Any number of processes; prints "N processes checked, M checks failed". */
#include <mpi.h>
#include "progress_checks.h"
#include <time.h>
#ifdef TEST_BLOCKING
#  include "progress_blocking.h"
#endif

static MPI_Comm comm;
static MPI_Datatype spread, swapped; /* an int and a gap; two ints, the second first */

static void done(MPI_Request *request) {
  MPI_Wait(request, MPI_STATUS_IGNORE);
  CHECK(*request == MPI_REQUEST_NULL);
}
static int *ints(int n, int value) {
  int *p = malloc(((size_t)n + 1) * sizeof *p);
  for (int i = 0; i < n; i++) p[i] = value;
  return p;
}
static int all_are(const int *p, int n, int first, int step) {
  for (int i = 0; i < n; i++)
    if (p[i] != first + step * i) return 0;
  return 1;
}

static void moves(int n) {
  MPI_Request r[8];
  int *a = ints(n * size, 0), *b = ints(n * size, -1), *g = ints(n * size, -1), *s = ints(n, -1), *all = ints(n * size, -1);
  int *x = ints(n, 0), *in_place = ints(n * size, -1), *exchanged = ints(n * size, 0);
  const int root = size - 1;
  for (int i = 0; i < n * size; i++) a[i] = rank * 1000000 + i;
  for (int i = 0; i < n; i++) x[i] = rank == root ? i + 7 : -1, in_place[rank * n + i] = rank + i;
  for (int p = 0; p < size; p++)
    for (int i = 0; i < n; i++) exchanged[p * n + i] = rank * 100 + p;
  MPI_Ibcast(x, n, MPI_INT, root, comm, &r[0]);
  MPI_Igather(a, n, MPI_INT, g, n, MPI_INT, root, comm, &r[1]);
  MPI_Iscatter(a, n, MPI_INT, s, n, MPI_INT, 0, comm, &r[2]);
  MPI_Iallgather(a, n, MPI_INT, all, n, MPI_INT, comm, &r[3]);
  MPI_Ialltoall(a, n, MPI_INT, b, n, MPI_INT, comm, &r[4]);
  MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in_place, n, MPI_INT, comm, &r[5]);
  MPI_Ibarrier(comm, &r[6]);
  MPI_Ialltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, exchanged, n, MPI_INT, comm, &r[7]);
  MPI_Waitall(8, r, MPI_STATUSES_IGNORE);
  CHECK(all_are(x, n, 7, 1) && all_are(s, n, n * rank, 1));
  for (int p = 0; p < size; p++) {
    if (rank == root) CHECK(all_are(g + p * n, n, p * 1000000, 1));
    CHECK(all_are(all + p * n, n, p * 1000000, 1));
    CHECK(all_are(b + p * n, n, p * 1000000 + rank * n, 1));
    CHECK(all_are(in_place + p * n, n, p, 1));
    CHECK(all_are(exchanged + p * n, n, p * 100 + rank, 0));
  }
  free(a), free(b), free(g), free(s), free(all), free(x), free(in_place), free(exchanged);
}

static void reductions(int n) {
  MPI_Request r[6];
  int *a = ints(n * size, 0), *b = ints(n, -1), *c = ints(n, -1), *d = ints(n, -1), *e = ints(n, -1), *f = ints(n, -1), *g = ints(n, 0);
  for (int i = 0; i < n * size; i++) a[i] = rank + i;
  for (int i = 0; i < n; i++) g[i] = rank + i;
  MPI_Iallreduce(a, b, n, MPI_INT, MPI_SUM, comm, &r[0]);
  MPI_Ireduce(a, c, n, MPI_INT, MPI_MAX, size / 2, comm, &r[1]);
  MPI_Iscan(a, d, n, MPI_INT, MPI_SUM, comm, &r[2]);
  MPI_Iexscan(a, e, n, MPI_INT, MPI_SUM, comm, &r[3]);
  MPI_Ireduce_scatter_block(a, f, n, MPI_INT, MPI_SUM, comm, &r[4]);
  MPI_Iallreduce(MPI_IN_PLACE, g, n, MPI_INT, MPI_MIN, comm, &r[5]);
  MPI_Waitall(6, r, MPI_STATUSES_IGNORE);
  const int sum = size * (size - 1) / 2;
  CHECK(all_are(b, n, sum, size) && all_are(g, n, 0, 1));
  if (rank == size / 2) CHECK(all_are(c, n, size - 1, 1));
  CHECK(all_are(d, n, rank * (rank + 1) / 2, rank + 1));
  if (rank) CHECK(all_are(e, n, rank * (rank - 1) / 2, rank));
  CHECK(all_are(f, n, sum + size * n * rank, size));
  free(a), free(b), free(c), free(d), free(e), free(f), free(g);
}

/* Lengths and places that differ, also backwards. */
static void lengths(int n, int backwards) {
  MPI_Request r[5];
  int *counts = ints(size, 0), *at = ints(size, 0), total = 0, mine;
  for (int p = 0; p < size; p++) counts[p] = p % 3 ? n + p : 0, total += counts[p] + 1;
  for (int p = 0, from = 0; p < size; p++) {
    at[backwards ? size - 1 - p : p] = from;
    from += counts[backwards ? size - 1 - p : p] + 1; /* a gap of one */
  }
  mine = counts[rank];
  int *a = ints(mine, rank), *g = ints(total, -1), *all = ints(total, -1), *s = ints(mine, -1), *from = ints(total, -1);
  int *scattered = ints(mine, -1), *b = ints((n + size) * size, -1), *o = ints((n + size) * size, 0);
  int *out_counts = ints(size, mine), *out_at = ints(size, 0), *in_at = ints(size, 0), *summed = ints(total, 0);
  for (int p = 0; p < size; p++) {
    in_at[p] = p * (n + size), out_at[p] = p * (n + size);
    for (int i = 0; i < counts[p]; i++) from[at[p] + i] = p * 3;
    for (int i = 0; i < mine; i++) o[out_at[p] + i] = rank * 50 + p;
  }
  for (int i = 0; i < total; i++) summed[i] = i;
  MPI_Igatherv(a, mine, MPI_INT, g, counts, at, MPI_INT, 0, comm, &r[0]);
  MPI_Iallgatherv(a, mine, MPI_INT, all, counts, at, MPI_INT, comm, &r[1]);
  MPI_Iscatterv(from, counts, at, MPI_INT, s, mine, MPI_INT, 0, comm, &r[2]);
  MPI_Ialltoallv(o, out_counts, out_at, MPI_INT, b, counts, in_at, MPI_INT, comm, &r[3]);
  MPI_Ireduce_scatter(summed, scattered, counts, MPI_INT, MPI_SUM, comm, &r[4]);
  MPI_Waitall(5, r, MPI_STATUSES_IGNORE);
  int first = 0;
  for (int p = 0; p < size; p++) {
    if (rank == 0) CHECK(all_are(g + at[p], counts[p], p, 0) && g[at[p] + counts[p]] == -1);
    CHECK(all_are(all + at[p], counts[p], p, 0) && all[at[p] + counts[p]] == -1);
    CHECK(all_are(b + in_at[p], counts[p], p * 50 + rank, 0));
    if (p < rank) first += counts[p];
  }
  CHECK(all_are(s, mine, rank * 3, 0) && all_are(scattered, mine, first * size, size));
  free(counts), free(at), free(a), free(g), free(all), free(s), free(from), free(scattered), free(b), free(o);
  free(out_counts), free(out_at), free(in_at), free(summed);
}

/* Types with gaps, or in another order in memory; only some processes use them. */
static void derived(int n) {
  MPI_Request r[6];
  int *x = ints(2 * n, -5), *all = ints(2 * n * size, -5), *mine = ints(n, rank + 1), *w = ints(2 * n * size, -5), *o = ints(n * size, 0);
  int *pair = ints(2 * n, rank * 2), *pairs = ints(2 * n * size, -5), *alone = ints(2 * n * size, -5);
  int *counts = ints(size, n), *zeros = ints(size, 0), *places = ints(size, 0);
  MPI_Datatype *out = malloc((size_t)size * sizeof(MPI_Datatype)), *in = malloc((size_t)size * sizeof(MPI_Datatype)), gone;
  const int sparse = rank % 2 == 0; /* the same signature as n ints elsewhere */
  if (rank == 0)
    for (int i = 0; i < n; i++) x[sparse ? 2 * i : i] = i + 3;
  for (int i = 0; i < n; i++) pair[2 * i] = rank, pair[2 * i + 1] = rank + 1000, alone[2 * (rank * n + i)] = rank;
  for (int p = 0; p < size; p++) {
    in[p] = spread, out[p] = MPI_INT, zeros[p] = p * n * (int)sizeof(int), places[p] = p * 2 * n * (int)sizeof(int);
    for (int i = 0; i < n; i++) o[p * n + i] = rank * 9 + p;
  }
  MPI_Type_dup(spread, &gone);
  MPI_Ibcast(x, n, sparse ? spread : MPI_INT, 0, comm, &r[0]);
  MPI_Iallgather(mine, n, MPI_INT, all, n, gone, comm, &r[1]);
  MPI_Type_free(&gone); /* what is under way keeps it */
  MPI_Ialltoallw(o, counts, zeros, out, w, counts, places, in, comm, &r[2]);
  MPI_Iallgather(pair, n, swapped, pairs, 2 * n, MPI_INT, comm, &r[3]);
  MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, alone, n, spread, comm, &r[4]);
  MPI_Ibarrier(comm, &r[5]);
  MPI_Waitall(6, r, MPI_STATUSES_IGNORE);
  for (int i = 0; i < n; i++) {
    CHECK(x[sparse ? 2 * i : i] == i + 3);
    if (sparse) CHECK(x[2 * i + 1] == -5);
  }
  for (int p = 0; p < size; p++)
    for (int i = 0; i < n; i++) {
      const int at = p * n + i;
      CHECK(all[2 * at] == p + 1 && all[2 * at + 1] == -5);
      CHECK(w[2 * at] == p * 9 + rank && w[2 * at + 1] == -5);
      CHECK(pairs[2 * at] == p + 1000 && pairs[2 * at + 1] == p);
      CHECK(alone[2 * at] == p && alone[2 * at + 1] == -5);
    }
  free(x), free(all), free(mine), free(w), free(o), free(pair), free(pairs), free(alone), free(counts), free(zeros), free(places);
  free(out), free(in);
}

/* Buffers that begin nowhere: addresses stand in the types, or, among neighbours, in the displacements. */
static void from_bottom(int n) {
  MPI_Request r;
  int *o = ints(n * size, 0), *in = ints(n * size, -1), *ones = ints(size, 1), *zeros = ints(size, 0), topology;
  MPI_Datatype *out_types = malloc((size_t)size * sizeof(MPI_Datatype)), *in_types = malloc((size_t)size * sizeof(MPI_Datatype));
  for (int p = 0; p < size; p++) {
    MPI_Aint at;
    for (int i = 0; i < n; i++) o[p * n + i] = rank * 9 + p;
    MPI_Get_address(o + p * n, &at);
    MPI_Type_create_hindexed(1, &n, &at, MPI_INT, &out_types[p]);
    MPI_Type_commit(&out_types[p]);
    MPI_Get_address(in + p * n, &at);
    MPI_Type_create_hindexed(1, &n, &at, MPI_INT, &in_types[p]);
    MPI_Type_commit(&in_types[p]);
  }
  MPI_Ialltoallw(MPI_BOTTOM, ones, zeros, out_types, MPI_BOTTOM, ones, zeros, in_types, comm, &r);
  done(&r);
  for (int p = 0; p < size; p++) {
    CHECK(all_are(in + p * n, n, p * 9 + rank, 0));
    MPI_Type_free(&out_types[p]);
    MPI_Type_free(&in_types[p]);
  }
  MPI_Topo_test(comm, &topology);
  if (topology == MPI_CART && size > 2) {
    const int counts[2] = {n, n};
    const MPI_Datatype types[2] = {MPI_INT, MPI_INT};
    MPI_Aint from[2], to[2];
    for (int k = 0; k < 2; k++) MPI_Get_address(o + k * n, &from[k]), MPI_Get_address(in + k * n, &to[k]);
    MPI_Ineighbor_alltoallw(MPI_BOTTOM, counts, from, types, MPI_BOTTOM, counts, to, types, comm, &r);
    done(&r);
    CHECK(all_are(in, n, (rank + size - 1) % size * 9 + 1, 0) && all_are(in + n, n, (rank + 1) % size * 9, 0));
  }
  free(o), free(in), free(ones), free(zeros), free(out_types), free(in_types);
}

/* 2x2 matrices modulo a prime: associative, does not commute. */
typedef unsigned char matrix[4];
static void multiply(void *in, void *inout, int *n, MPI_Datatype *type) {
  (void)type;
  for (int i = 0; i < *n; i++) { /* an int is a matrix of bytes */
    matrix a, b, c;
    memcpy(a, (int *)in + i, 4), memcpy(b, (int *)inout + i, 4);
    for (int k = 0; k < 4; k++) c[k] = (unsigned char)((a[k & 2] * b[k & 1] + a[(k & 2) + 1] * b[(k & 1) + 2]) % 251);
    memcpy((int *)inout + i, c, 4);
  }
}
static void own_operators(int n) {
  MPI_Request r[3];
  MPI_Op op;
  int *a = ints(n, 0), *b = ints(n, 0), *c = ints(n, 0), *d = ints(n, 0), *expected = ints(n, 0), one = 1;
  for (int p = 0; p < size; p++)
    for (int i = 0; i < n; i++) {
      const matrix m = {(unsigned char)(1 + p), (unsigned char)(i % 7), (unsigned char)(3 + i % 5), (unsigned char)(2 * p + 1)};
      int word;
      memcpy(&word, m, 4);
      if (p == rank) a[i] = word;
      if (p == 0) {
        expected[i] = word;
      } else {
        multiply(&expected[i], &word, &one, NULL);
        expected[i] = word;
      }
    }
  MPI_Op_create(multiply, 0, &op);
  MPI_Iallreduce(a, b, n, MPI_INT, op, comm, &r[0]);
  MPI_Ireduce(a, c, n, MPI_INT, op, 0, comm, &r[1]);
  MPI_Iscan(a, d, n, MPI_INT, op, comm, &r[2]);
  MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
  CHECK(memcmp(b, expected, (size_t)n * sizeof(int)) == 0);
  if (rank == 0) CHECK(memcmp(c, expected, (size_t)n * sizeof(int)) == 0);
  if (rank == size - 1) CHECK(memcmp(d, expected, (size_t)n * sizeof(int)) == 0);
  MPI_Op_free(&op);
  for (int i = 0; i < 40; i++) { /* more operators than a table may hold at once; handles come back */
    MPI_Op_create(multiply, 0, &op);
    memset(b, 0, (size_t)n * sizeof *b);
    MPI_Iallreduce(a, b, n, MPI_INT, op, comm, &r[0]);
    done(&r[0]);
    CHECK(memcmp(b, expected, (size_t)n * sizeof(int)) == 0);
    MPI_Op_free(&op);
  }
  free(a), free(b), free(c), free(d), free(expected);
}

static void other_types(void) {
  MPI_Request r[4];
  struct {
    double value;
    int index;
  } mine = {10.0 + rank % 3, rank}, best = {0, 0};
  double x = 0.5 * rank, sum = -1;
  unsigned char bits = (unsigned char)(1 << rank % 8), any = 0;
  _Bool yes = rank == 0, each = 1;
  MPI_Iallreduce(&mine, &best, 1, MPI_DOUBLE_INT, MPI_MAXLOC, comm, &r[0]);
  MPI_Iallreduce(&x, &sum, 1, MPI_DOUBLE, MPI_SUM, comm, &r[1]);
  MPI_Iallreduce(&bits, &any, 1, MPI_BYTE, MPI_BOR, comm, &r[2]);
  MPI_Iallreduce(&yes, &each, 1, MPI_C_BOOL, MPI_LAND, comm, &r[3]);
  MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
  CHECK(best.value == 10.0 + (size > 2 ? 2 : size - 1) && best.index == (size > 2 ? 2 : size - 1));
  CHECK(sum == 0.25 * size * (size - 1) && any == (unsigned char)((1 << (size < 8 ? size : 8)) - 1) && each == (size == 1));
}

/* Many at once, completed in another order, with what is not a collective between them. */
static void many(void) {
  enum { N = 40 };
  MPI_Request r[N];
  int in[N], out[N], back = -1, left_count = N;
  for (int i = 0; i < N; i++) {
    in[i] = rank + i, out[i] = -1;
    if (i == 5) MPI_Irecv(&back, 1, MPI_INT, (rank + 1) % size, 9, comm, &r[i]);
    else if (i == 20) MPI_Isend(&rank, 1, MPI_INT, (rank + size - 1) % size, 9, comm, &r[i]);
    else if (i % 2) MPI_Iallreduce(&in[i], &out[i], 1, MPI_INT, MPI_SUM, comm, &r[i]);
    else MPI_Ibcast(&in[i], 1, MPI_INT, i % size, comm, &r[i]);
  }
  while (left_count > N / 2) {
    int index, flag = 0, count, which[N];
    MPI_Testany(N, r, &index, &flag, MPI_STATUS_IGNORE);
    left_count -= flag;
    MPI_Testsome(N, r, &count, which, MPI_STATUSES_IGNORE);
    left_count -= count == MPI_UNDEFINED ? left_count : count; /* all are null */
  }
  MPI_Waitall(N, r, MPI_STATUSES_IGNORE);
  CHECK(back == (rank + 1) % size);
  for (int i = 0; i < N; i++)
    if (i != 5 && i != 20) CHECK(i % 2 ? out[i] == size * (size - 1) / 2 + size * i : in[i] == i % size + i);
}

/* Waited for, beside a request that is null, between the arrival of its data and its completion by the worker
   (progress_slow_complete.c makes that time long). Without a worker the wait for the data has an end. */
static void late_ends(void) {
  const struct timespec nap = {0, 200000};
  for (int round = 0; round < 20; round++) {
    MPI_Request r[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    const int in = rank + round;
    volatile int out = -1;
    MPI_Iallreduce(&in, (int *)&out, 1, MPI_INT, MPI_SUM, comm, &r[1]);
    for (int tries = 0; out == -1 && tries < 100; tries++) nanosleep(&nap, NULL);
    nanosleep(&nap, NULL);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    CHECK(out == size * (size - 1) / 2 + size * round);
  }
}

/* Sums of floating-point numbers come out the same, bit by bit, however the messages arrive. */
static void repeats(void) {
  enum { N = 3000 };
  static double a[N], first[N], again[N];
  MPI_Request r;
  for (int i = 0; i < N; i++) a[i] = 1.0 / (1 + i + 17 * rank);
  for (int round = 0; round < 5; round++) {
    if (rank % 2 == round % 2) MPI_Barrier(MPI_COMM_SELF);
    MPI_Iallreduce(a, round ? again : first, N, MPI_DOUBLE, MPI_SUM, comm, &r);
    done(&r);
    if (round) CHECK(memcmp(first, again, sizeof first) == 0);
  }
}

static void everything(MPI_Comm on) {
  comm = on;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  moves(1), moves(3000);
  reductions(1), reductions(5000);
  lengths(2, 0), lengths(700, 1);
  derived(1), derived(900);
  from_bottom(1), from_bottom(700);
  own_operators(1), own_operators(600);
  other_types();
  many();
  repeats();
  late_ends();
}

int main(int argc, char **argv) {
  MPI_Comm half, turned, copy, grid;
  int world_rank, world_size, dims[1] = {0}, periods[1] = {1};
  const int lengths_[2] = {1, 1}, at[2] = {1, 0};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &spread);
  MPI_Type_commit(&spread);
  MPI_Type_indexed(2, lengths_, at, MPI_INT, &swapped);
  MPI_Type_commit(&swapped);
  everything(MPI_COMM_WORLD);
  MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, -world_rank, &half);
  everything(half);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &turned);
  MPI_Comm_dup(half, &copy);
  everything(copy);
  MPI_Comm_free(&copy);
  everything(turned);
  MPI_Comm_free(&half);
  MPI_Comm_free(&turned);
  for (int i = 0; i < 30; i++) { /* made and freed over and over */
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    comm = copy, rank = world_rank, size = world_size;
    if (i % 10 == 0) moves(4);
    MPI_Comm_free(&copy);
  }
  dims[0] = world_size;
  MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 1, &grid);
  everything(grid);
  MPI_Comm_free(&grid);
  MPI_Type_free(&spread);
  MPI_Type_free(&swapped);
  const int status = all_checked();
  MPI_Finalize();
  return status;
}
