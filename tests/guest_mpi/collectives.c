/* MPI test set: collectives, blocking, nonblocking and persistent; all operators and types; in place; user's operators. */
#include "say.h"
#include <complex.h>

enum { MOST = 20000 };
static int a[MOST], b[MOST];
static void fill(int count) {
  for (int i = 0; i < count; i++) a[i] = me * 1000 + i % 97, b[i] = -1;
}
static void show(const char *name, int count) { say("%s %d: %d %d hash %016llx", name, count, b[0], b[count ? count - 1 : 0], (unsigned long long)hash_of(b, (size_t)count * sizeof *b)); }
/* inout = in o inout, where "o" keeps the order visible: (a, b) o (c, d) = (a * c, a * d + b) mod p */
static void compose(void *in, void *inout, int *length, MPI_Datatype *type) {
  const int64_t *x = in;
  int64_t *y = inout;
  int size;
  MPI_Type_size(*type, &size);
  for (int i = 0; i < *length * size / 16; i++) {
    const int64_t p = 1000003, c = y[2 * i], d = y[2 * i + 1];
    y[2 * i] = x[2 * i] * c % p;
    y[2 * i + 1] = (x[2 * i] * d + x[2 * i + 1]) % p;
  }
}
static void done(int kind, MPI_Request *r) {
  int flag = 0;
  if (kind == 0) return;
  if (kind == 1) {
    while (!flag) MPI_Test(r, &flag, MPI_STATUS_IGNORE);
    return;
  }
  for (int i = 0; i < 2; i++) MPI_Start(r), MPI_Wait(r, MPI_STATUS_IGNORE);
  MPI_Request_free(r);
}
#define THREE(blocking, nonblocking, persistent)                                                   \
  do {                                                                                             \
    if (kind == 0) blocking;                                                                       \
    if (kind == 1) nonblocking;                                                                    \
    if (kind == 2) persistent;                                                                     \
    done(kind, &r);                                                                                \
  } while (0)
#define W MPI_COMM_WORLD
#define NONE MPI_INFO_NULL
static void regular(int kind, int c) {
  MPI_Request r;
  const int root = (n - 1) / 2;
  THREE(MPI_Barrier(W), MPI_Ibarrier(W, &r), MPI_Barrier_init(W, NONE, &r));
  fill(c);
  if (me == root) memcpy(b, a, sizeof b);
  THREE(MPI_Bcast(b, c, MPI_INT, root, W), MPI_Ibcast(b, c, MPI_INT, root, W, &r), MPI_Bcast_init(b, c, MPI_INT, root, W, NONE, &r));
  show("bcast", c);
  fill(c);
  THREE(MPI_Reduce(a, b, c, MPI_INT, MPI_SUM, root, W), MPI_Ireduce(a, b, c, MPI_INT, MPI_SUM, root, W, &r), MPI_Reduce_init(a, b, c, MPI_INT, MPI_SUM, root, W, NONE, &r));
  show("reduce", c);
  fill(c);
  THREE(MPI_Allreduce(a, b, c, MPI_INT, MPI_MAX, W), MPI_Iallreduce(a, b, c, MPI_INT, MPI_MAX, W, &r), MPI_Allreduce_init(a, b, c, MPI_INT, MPI_MAX, W, NONE, &r));
  show("allreduce", c);
  fill(c);
  THREE(MPI_Scan(a, b, c, MPI_INT, MPI_SUM, W), MPI_Iscan(a, b, c, MPI_INT, MPI_SUM, W, &r), MPI_Scan_init(a, b, c, MPI_INT, MPI_SUM, W, NONE, &r));
  show("scan", c);
  fill(c);
  THREE(MPI_Exscan(a, b, c, MPI_INT, MPI_SUM, W), MPI_Iexscan(a, b, c, MPI_INT, MPI_SUM, W, &r), MPI_Exscan_init(a, b, c, MPI_INT, MPI_SUM, W, NONE, &r));
  if (me) show("exscan", c);
  const int block = c / n;
  fill(block * n);
  THREE(MPI_Gather(a, block, MPI_INT, b, block, MPI_INT, root, W), MPI_Igather(a, block, MPI_INT, b, block, MPI_INT, root, W, &r), MPI_Gather_init(a, block, MPI_INT, b, block, MPI_INT, root, W, NONE, &r));
  show("gather", block * n);
  fill(block * n);
  THREE(MPI_Scatter(a, block, MPI_INT, b, block, MPI_INT, root, W), MPI_Iscatter(a, block, MPI_INT, b, block, MPI_INT, root, W, &r), MPI_Scatter_init(a, block, MPI_INT, b, block, MPI_INT, root, W, NONE, &r));
  show("scatter", block);
  fill(block * n);
  THREE(MPI_Allgather(a, block, MPI_INT, b, block, MPI_INT, W), MPI_Iallgather(a, block, MPI_INT, b, block, MPI_INT, W, &r), MPI_Allgather_init(a, block, MPI_INT, b, block, MPI_INT, W, NONE, &r));
  show("allgather", block * n);
  fill(block * n);
  THREE(MPI_Alltoall(a, block, MPI_INT, b, block, MPI_INT, W), MPI_Ialltoall(a, block, MPI_INT, b, block, MPI_INT, W, &r), MPI_Alltoall_init(a, block, MPI_INT, b, block, MPI_INT, W, NONE, &r));
  show("alltoall", block * n);
  fill(block * n);
  THREE(MPI_Reduce_scatter_block(a, b, block, MPI_INT, MPI_SUM, W), MPI_Ireduce_scatter_block(a, b, block, MPI_INT, MPI_SUM, W, &r), MPI_Reduce_scatter_block_init(a, b, block, MPI_INT, MPI_SUM, W, NONE, &r));
  show("reduce_scatter_block", block);
}
static void irregular(int kind, int c) {
  MPI_Request r;
  const int root = n / 2;
  int counts[64], displs[64], sdispls[64], total = 0, rcounts[64];
  MPI_Datatype types[64];
  for (int i = 0; i < n; i++) counts[i] = (i * 5 + c) % 9, displs[i] = total + i, total += counts[i];
  const int all = total + n;
  fill(all);
  THREE(MPI_Gatherv(a, counts[me], MPI_INT, b, counts, displs, MPI_INT, root, W), MPI_Igatherv(a, counts[me], MPI_INT, b, counts, displs, MPI_INT, root, W, &r), MPI_Gatherv_init(a, counts[me], MPI_INT, b, counts, displs, MPI_INT, root, W, NONE, &r));
  show("gatherv", all);
  fill(all);
  THREE(MPI_Scatterv(a, counts, displs, MPI_INT, b, counts[me], MPI_INT, root, W), MPI_Iscatterv(a, counts, displs, MPI_INT, b, counts[me], MPI_INT, root, W, &r), MPI_Scatterv_init(a, counts, displs, MPI_INT, b, counts[me], MPI_INT, root, W, NONE, &r));
  show("scatterv", all);
  fill(all);
  THREE(MPI_Allgatherv(a, counts[me], MPI_INT, b, counts, displs, MPI_INT, W), MPI_Iallgatherv(a, counts[me], MPI_INT, b, counts, displs, MPI_INT, W, &r), MPI_Allgatherv_init(a, counts[me], MPI_INT, b, counts, displs, MPI_INT, W, NONE, &r));
  show("allgatherv", all);
  for (int i = 0; i < n; i++) counts[i] = (me + i * 2 + c) % 7, sdispls[i] = i * 7, rcounts[i] = (i + me * 2 + c) % 7, displs[i] = i * 8;
  fill(n * 8);
  THREE(MPI_Alltoallv(a, counts, sdispls, MPI_INT, b, rcounts, displs, MPI_INT, W), MPI_Ialltoallv(a, counts, sdispls, MPI_INT, b, rcounts, displs, MPI_INT, W, &r), MPI_Alltoallv_init(a, counts, sdispls, MPI_INT, b, rcounts, displs, MPI_INT, W, NONE, &r));
  show("alltoallv", n * 8);
  for (int i = 0; i < n; i++) types[i] = MPI_INT, sdispls[i] *= 4, displs[i] *= 4;
  fill(n * 8);
  THREE(MPI_Alltoallw(a, counts, sdispls, types, b, rcounts, displs, types, W), MPI_Ialltoallw(a, counts, sdispls, types, b, rcounts, displs, types, W, &r), MPI_Alltoallw_init(a, counts, sdispls, types, b, rcounts, displs, types, W, NONE, &r));
  show("alltoallw", n * 8);
  for (int i = 0; i < n; i++) counts[i] = (i * 3 + c) % 5;
  fill(n * 5);
  THREE(MPI_Reduce_scatter(a, b, counts, MPI_INT, MPI_SUM, W), MPI_Ireduce_scatter(a, b, counts, MPI_INT, MPI_SUM, W, &r), MPI_Reduce_scatter_init(a, b, counts, MPI_INT, MPI_SUM, W, NONE, &r));
  show("reduce_scatter", counts[me]);
}
static void one_kind(int kind) {
  static const int counts[] = {0, 1, 34, 1700, MOST};
  for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) regular(kind, counts[k]), irregular(kind, counts[k]);
}
void test_collectives(void) { one_kind(0); }
void test_nonblocking(void) { one_kind(1); }
void test_persistent(void) { one_kind(2); }
static void in_place(void) {
  const int root = n - 1, block = 3;
  int counts[64], displs[64];
  for (int i = 0; i < n; i++) counts[i] = block, displs[i] = i * block;
#define FRESH(c) (fill(c), memcpy(b, a, sizeof b))
  FRESH(50);
  MPI_Reduce(me == root ? MPI_IN_PLACE : a, b, 50, MPI_INT, MPI_SUM, root, W);
  show("reduce in place", 50);
  FRESH(50);
  MPI_Allreduce(MPI_IN_PLACE, b, 50, MPI_INT, MPI_SUM, W);
  show("allreduce in place", 50);
  FRESH(n * block);
  MPI_Gather(me == root ? MPI_IN_PLACE : a, block, MPI_INT, b, block, MPI_INT, root, W);
  show("gather in place", n * block);
  FRESH(n * block);
  MPI_Gatherv(me == root ? MPI_IN_PLACE : a, block, MPI_INT, b, counts, displs, MPI_INT, root, W);
  show("gatherv in place", n * block);
  FRESH(n * block);
  MPI_Scatter(b, block, MPI_INT, me == root ? MPI_IN_PLACE : a, block, MPI_INT, root, W);
  say_ints("scatter in place", a, block);
  FRESH(n * block);
  MPI_Scatterv(b, counts, displs, MPI_INT, me == root ? MPI_IN_PLACE : a, block, MPI_INT, root, W);
  say_ints("scatterv in place", a, block);
  FRESH(n * block);
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, block, MPI_INT, W);
  show("allgather in place", n * block);
  FRESH(n * block);
  MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, counts, displs, MPI_INT, W);
  show("allgatherv in place", n * block);
  FRESH(n * block);
  MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, block, MPI_INT, W);
  show("alltoall in place", n * block);
  FRESH(n * block);
  MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, b, counts, displs, MPI_INT, W);
  show("alltoallv in place", n * block);
  FRESH(20);
  MPI_Scan(MPI_IN_PLACE, b, 20, MPI_INT, MPI_SUM, W);
  show("scan in place", 20);
  FRESH(20);
  MPI_Exscan(MPI_IN_PLACE, b, 20, MPI_INT, MPI_SUM, W);
  if (me) show("exscan in place", 20);
  FRESH(n * block);
  MPI_Reduce_scatter_block(MPI_IN_PLACE, b, block, MPI_INT, MPI_SUM, W);
  show("reduce_scatter_block in place", block);
  FRESH(n * block);
  MPI_Reduce_scatter(MPI_IN_PLACE, b, counts, MPI_INT, MPI_SUM, W);
  show("reduce_scatter in place", block);
}
#define OPS(T, type, ops, value, print)                                                            \
  do {                                                                                             \
    T x[3], y[3];                                                                                  \
    for (int i = 0; i < 3; i++) x[i] = (T)(value);                                                 \
    for (size_t k = 0; k < sizeof ops / sizeof *ops; k++) {                                        \
      MPI_Allreduce(x, y, 3, type, ops[k], W);                                                     \
      say(#type " op %zu: " print " " print, k, y[0], y[2]);                                       \
    }                                                                                              \
  } while (0)
static void operators(void) {
  static const MPI_Op whole[] = {MPI_MAX, MPI_MIN, MPI_SUM, MPI_PROD, MPI_LAND, MPI_LOR, MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR}, real[] = {MPI_MAX, MPI_MIN, MPI_SUM, MPI_PROD};
  OPS(int, MPI_INT, whole, me % 3 + i, "%d");
  OPS(long, MPI_LONG, whole, me * 7 + i, "%ld");
  OPS(short, MPI_SHORT, whole, me + i, "%d");
  OPS(unsigned char, MPI_UNSIGNED_CHAR, whole, me + i, "%d");
  OPS(unsigned, MPI_UNSIGNED, whole, me * 3 + i, "%u");
  OPS(unsigned long long, MPI_UNSIGNED_LONG_LONG, whole, me * 5 + i, "%llu");
  OPS(int8_t, MPI_INT8_T, whole, me % 5 + i, "%d");
  OPS(uint16_t, MPI_UINT16_T, whole, me + i, "%d");
  OPS(float, MPI_FLOAT, real, me % 4 + i, "%g");
  OPS(double, MPI_DOUBLE, real, me % 4 - i, "%g");
  OPS(long double, MPI_LONG_DOUBLE, real, me % 3 + i, "%Lg");
  double complex z[2] = {me % 2 + 1 + 2 * _Complex_I, 1.0 - _Complex_I}, sum[2];
  MPI_Allreduce(z, sum, 2, MPI_C_DOUBLE_COMPLEX, MPI_SUM, W);
  say("complex sum %g %g", creal(sum[0]), cimag(sum[1]));
  struct { double value; int index; } d = {(me * 7) % 5, me}, e;
  MPI_Allreduce(&d, &e, 1, MPI_DOUBLE_INT, MPI_MAXLOC, W);
  say("maxloc %g %d", e.value, e.index);
  MPI_Allreduce(&d, &e, 1, MPI_DOUBLE_INT, MPI_MINLOC, W);
  say("minloc %g %d", e.value, e.index);
  struct { int value, index; } v[2] = {{me % 3, me}, {-me, me}}, w[2];
  MPI_Reduce(v, w, 2, MPI_2INT, MPI_MAXLOC, 0, W);
  if (me == 0) say("2int %d %d %d %d", w[0].value, w[0].index, w[1].value, w[1].index);
  /* MPICH 4.0.2 smashes its stack in reductions of MPI_SHORT_INT */
}
static void users(void) {
  MPI_Op op;
  MPI_Datatype pair;
  int commute;
  int64_t x[40], y[40], inout[2] = {3, 4}, in[2] = {5, 6};
  MPI_Type_contiguous(2, MPI_INT64_T, &pair);
  MPI_Type_commit(&pair);
  MPI_Op_create(compose, 0, &op);
  MPI_Op_commutative(op, &commute);
  say("commutes %d", commute);
  MPI_Op_commutative(MPI_SUM, &commute);
  say("sum commutes %d", commute);
  for (int i = 0; i < 40; i++) x[i] = me * 3 + i + 2, y[i] = 0;
  MPI_Reduce(x, y, 20, pair, op, n - 1, W);
  if (me == n - 1) say("reduce by user %ld %ld", (long)y[0], (long)y[39]);
  MPI_Allreduce(x, y, 20, pair, op, W);
  say("allreduce by user %ld %ld", (long)y[0], (long)y[39]);
  MPI_Scan(x, y, 20, pair, op, W);
  say("scan by user %ld %ld", (long)y[0], (long)y[39]);
  MPI_Exscan(x, y, 20, pair, op, W);
  if (me) say("exscan by user %ld %ld", (long)y[0], (long)y[39]);
  if (n * 2 <= 40) {
    MPI_Reduce_scatter_block(x, y, 1, pair, op, W);
    say("reduce_scatter_block by user %ld %ld", (long)y[0], (long)y[1]);
  }
  MPI_Reduce_local(in, inout, 1, pair, op);
  say("local %ld %ld", (long)inout[0], (long)inout[1]);
  MPI_Op_free(&op);
  say("op freed %d", op == MPI_OP_NULL);
  MPI_Type_free(&pair);
  int one = 1, two = 2;
  MPI_Reduce_local(&one, &two, 1, MPI_INT, MPI_SUM);
  say("local sum %d", two);
}
/* What was freed while a reduction needs it stays until that is over: the operator is told a type that is one, with its attribute. */
static int size_key, told, deleted;
static int note_deleted(MPI_Datatype type, int key, void *value, void *extra) {
  (void)type, (void)key, (void)value, (void)extra;
  deleted++;
  return MPI_SUCCESS;
}
static void compose_told(void *in, void *inout, int *length, MPI_Datatype *type) {
  void *value;
  int flag, size;
  MPI_Type_size(*type, &size);
  MPI_Type_get_attr(*type, size_key, &value, &flag);
  told |= flag && size == 16 && *(int *)value == 16 && !deleted ? 1 : 2;
  compose(in, inout, length, type);
}
static void freed_early(void) {
  MPI_Op op;
  MPI_Datatype pair;
  MPI_Request r;
  int sixteen = 16;
  int64_t x[2] = {me + 2, me + 3}, y[2] = {0, 0};
  told = deleted = 0;
  MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, note_deleted, &size_key, NULL);
  MPI_Type_contiguous(2, MPI_INT64_T, &pair);
  MPI_Type_commit(&pair);
  MPI_Type_set_attr(pair, size_key, &sixteen);
  MPI_Op_create(compose_told, 0, &op);
  MPI_Iallreduce(x, y, 1, pair, op, W, &r);
  MPI_Type_free(&pair);
  MPI_Op_free(&op);
  say("freed %d %d, deleted %d", pair == MPI_DATATYPE_NULL, op == MPI_OP_NULL, n > 1 && deleted);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  say("allreduce by user, freed early %ld %ld, told well %d, deleted %d", (long)y[0], (long)y[1], (told & 2) == 0, deleted);
  MPI_Type_free_keyval(&size_key);
}
/* Types with gaps, and different ones on both sides. */
static void apart(void) {
  MPI_Datatype column, wide;
  int m[64][4];
  MPI_Type_vector(4, 1, 2, MPI_INT, &column);
  MPI_Type_create_resized(column, 0, 32, &wide);
  MPI_Type_commit(&wide);
  for (int i = 0; i < MOST; i++) a[i] = me * 100 + i % 31, b[i] = -1;
  memset(m, 0, sizeof m);
  MPI_Bcast(me == 0 ? a : b, 3, wide, 0, W);
  show("bcast apart", 24);
  MPI_Gather(a, 1, wide, m, 4, MPI_INT, 0, W);
  if (me == 0) say("gather apart %d %d", m[n - 1][0], m[n - 1][3]);
  MPI_Allgather(a, 4, MPI_INT, b, 1, wide, W);
  show("allgather apart", 8 * n);
  MPI_Alltoall(a, 1, wide, b, 1, wide, W);
  show("alltoall apart", 8 * n);
  int counts[64], displs[64];
  for (int i = 0; i < n; i++) counts[i] = 1 + i % 2, displs[i] = 2 * i;
  MPI_Allgatherv(a, 1 + me % 2, wide, b, counts, displs, wide, W);
  show("allgatherv apart", 16 * n);
  MPI_Scatter(a, 1, wide, b, 4, MPI_INT, 0, W);
  show("scatter apart", 4);
  MPI_Type_free(&wide);
  MPI_Type_free(&column);
}
static void overlapping(void) { /* several at once, and messages beside them */
  MPI_Request r[4];
  int x = me, sum = 0, max = 0, all[64], word = me == 0 ? 77 : 0;
  MPI_Iallreduce(&x, &sum, 1, MPI_INT, MPI_SUM, W, &r[0]);
  MPI_Iallreduce(&x, &max, 1, MPI_INT, MPI_MAX, W, &r[1]);
  MPI_Iallgather(&x, 1, MPI_INT, all, 1, MPI_INT, W, &r[2]);
  MPI_Ibcast(&word, 1, MPI_INT, 0, W, &r[3]);
  int y;
  MPI_Sendrecv(&x, 1, MPI_INT, (me + 1) % n, 0, &y, 1, MPI_INT, (me + n - 1) % n, 0, W, MPI_STATUS_IGNORE);
  MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
  say("at once: %d %d %d %d %d", sum, max, all[n - 1], word, y);
}
static void errors(void) {
  int x = 0, y;
  MPI_Comm_set_errhandler(W, MPI_ERRORS_RETURN);
  say_error("root", MPI_Bcast(&x, 1, MPI_INT, n, W));
  say_error("comm", MPI_Barrier(MPI_COMM_NULL));
  say_error("op", MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_OP_NULL, W));
  say_error("op and type", MPI_Allreduce(&x, &y, 1, MPI_FLOAT, MPI_BAND, W));
  MPI_Comm_set_errhandler(W, MPI_ERRORS_ARE_FATAL);
}
void test_more_collectives(void) {
  in_place();
  operators();
  users();
  freed_early();
  apart();
  overlapping();
  errors();
}
