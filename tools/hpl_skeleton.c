/* Question: how does HPL run on a machine that nobody has, with a matrix that no memory holds?

   The communication of HPL without its arithmetic: panels factored by recursion with an exchange of pivots per
   column, six broadcasts along rows, two exchanges of rows along columns, and lookahead. dgemm_, dtrsm_ and dger_ do
   nothing; under pm_run they take the time of a model. An MPI program like any other.

   Run:      mpicc.mpich -O2 tools/hpl_skeleton.c -o build/hpl_skeleton
             printf 'dgemm_ m=*1 n=*2 k=*3 mnk=1.029e-11 one=2e-7\ndtrsm_ m=*1 n=*2 k=*1 mnk=1.029e-11 one=2e-7\n' >kernels
             build/pm_run -n 64 --kernels kernels --fold 1000000 build/hpl_skeleton 8000 128 8 8 1 1 1
             arguments: N NB P Q BROADCAST SWAP DEPTH EVERY PART PARTS; broadcast 0 ring, 1 modified ring, 2 two rings, 3 modified,
             4 long (scatter, then roll), 5 modified; swap 0 binary exchange, 1 spread and roll; EVERY n: of each n
             groups of eight panels the middle one is run and stands for the others; PARTS n: of these each n-th from
             PART (0 ...) on, so that several cores share a run: the sum of all parts is its time
             build/pm_run -n 4096 --sweep part=0,1,2,3 ... build/hpl_skeleton 4000000 232 64 64 1 1 1 1 {part} 4
   Expected: run time and GFlop/s of the simulated machine. On a real one: the time of the communication alone. */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  RING,
  RING_M,
  TWO_RINGS,
  TWO_RINGS_M,
  LONG,
  LONG_M,
  NB_MIN = 4,
  PIVOT = 1,
  ROWS = 2,
  GROUP = 8
};
static int N, NB, P, Q, broadcast, swap, depth, every, panels, my_row, my_col;
static MPI_Comm row, col;
static double *panel,
    *rows; /* one panel, one strip of rows: what they hold is of no account, the tag of a panel is its number */

/* weak, so that the compiler takes nothing for granted of what pm_run puts in their place */
__attribute__((weak)) void dgemm_(const int *m, const int *n, const int *k) {
  __asm__ volatile("" : : "r"(m), "r"(n), "r"(k) : "memory");
}
__attribute__((weak)) void dtrsm_(const int *m, const int *n) {
  __asm__ volatile("" : : "r"(m), "r"(n) : "memory");
}
__attribute__((weak)) void dger_(const int *m, const int *n) {
  __asm__ volatile("" : : "r"(m), "r"(n) : "memory");
}

/* Rows (of `places` processes) or columns from block `first` on that are mine. */
static int mine(int first, int me, int places) {
  const int left = panels - first;
  return left <= 0 ? 0
                   : NB * ((left + places - 1 - (me - first % places + places) % places) / places);
}

/* ---- along the column: pivots, rows --------------------------------------------------------------------- */
/* All learn the largest element of a column and its row: a butterfly; who has no partner gets it from one. */
static void exchange(void *data, int count, int tag) {
  int whole = 1;
  while (2 * whole <= P) whole *= 2;
  double *in = (double *)data, *out = in + count;
  if (my_row >= whole) {
    MPI_Send(in, count, MPI_DOUBLE, my_row - whole, tag, col);
    MPI_Recv(out, count, MPI_DOUBLE, my_row - whole, tag, col, MPI_STATUS_IGNORE);
    return;
  }
  if (my_row + whole < P)
    MPI_Recv(out, count, MPI_DOUBLE, my_row + whole, tag, col, MPI_STATUS_IGNORE);
  for (int mask = 1; mask < whole; mask *= 2)
    MPI_Sendrecv(in, count, MPI_DOUBLE, my_row ^ mask, tag, out, count, MPI_DOUBLE, my_row ^ mask,
                 tag, col, MPI_STATUS_IGNORE);
  if (my_row + whole < P) MPI_Send(in, count, MPI_DOUBLE, my_row + whole, tag, col);
}
/* Recursion on the width: left half, its effect on the right half, right half. */
static void factor(int j, int width) {
  const int below = mine(j, my_row, P);
  if (width > NB_MIN) {
    const int left = width / 2, right = width - left;
    factor(j, left);
    dtrsm_(&left, &right);
    dgemm_(&below, &right, &left);
    factor(j, right);
    return;
  }
  for (int i = 0; i < width; i++) {
    const int rest = width - i;
    if (P > 1) exchange(rows, 4 + 2 * NB, PIVOT);
    dger_(&below, &rest);
  }
}
/* The NB rows that pivoting moved, for `columns` columns: half of them change places in each step of the
   butterfly; or each process sends on what is not its own, and then they go round. */
static void swap_rows(int columns) {
  if (P == 1 || !columns) return;
  if (swap == 0) {
    exchange(rows, (NB + 1) / 2 * columns, ROWS);
    return;
  }
  const int part = (NB + P - 1) / P * columns, to = (my_row + 1) % P, from = (my_row + P - 1) % P;
  for (int span = 1; span < P;
       span *= 2) { /* spread: a tree from the row that has the pivots' block */
    if (my_row < span && my_row + span < P)
      MPI_Send(rows, part * (P - span < span ? P - span : span), MPI_DOUBLE, my_row + span, ROWS,
               col);
    if (my_row >= span && my_row < 2 * span)
      MPI_Recv(rows, part * span, MPI_DOUBLE, my_row - span, ROWS, col, MPI_STATUS_IGNORE);
  }
  for (int i = 1; i < P; i++)
    MPI_Sendrecv(rows, part, MPI_DOUBLE, to, ROWS, rows + part, part, MPI_DOUBLE, from, ROWS, col,
                 MPI_STATUS_IGNORE);
}

/* ---- along the row: the panel ----------------------------------------------------------------------------- */
typedef struct travel {
  int j, count, from, to[2];
  bool is_done;
} travel;
static int place(int at, int root) { return (at + root) % Q; }
/* Where panel j comes from and goes next, by the ring that BROADCAST names. */
static travel travel_of(int j) {
  const int root = j % Q, at = (my_col - root + Q) % Q,
            modified = broadcast == RING_M || broadcast == TWO_RINGS_M;
  const int first = modified && Q > 2 ? 2 : 1,
            middle = broadcast >= TWO_RINGS && Q > 3 ? first + (Q - first) / 2 : Q;
  travel t = {j, (mine(j, my_row, P) + NB + 1) * NB, -1, {-1, -1}, at == 0};
  const bool is_head = at == first || at == middle || (first == 2 && at == 1);
  if (at) t.from = is_head ? root : place(at - 1, root);
  if (at && at >= first && at + 1 < Q && at + 1 != middle) t.to[0] = place(at + 1, root);
  return t;
}
static void pass_on(travel *t) {
  for (int k = 0; k < 2; k++)
    if (t->to[k] >= 0) MPI_Send(panel, t->count, MPI_DOUBLE, t->to[k], t->j % 32768, row);
}
static void start(travel *t) { /* at the root: to the head of each ring, the next root first */
  const int root = t->j % Q, modified = broadcast == RING_M || broadcast == TWO_RINGS_M,
            first = modified && Q > 2 ? 2 : 1;
  const int middle = broadcast >= TWO_RINGS && Q > 3 ? first + (Q - first) / 2 : Q;
  if (first == 2) MPI_Send(panel, t->count, MPI_DOUBLE, place(1, root), t->j % 32768, row);
  MPI_Send(panel, t->count, MPI_DOUBLE, place(first, root), t->j % 32768, row);
  if (middle < Q) MPI_Send(panel, t->count, MPI_DOUBLE, place(middle, root), t->j % 32768, row);
}
/* Scatter by a tree, then every part goes round; modified: the next root gets all of it first. */
static void go_long(travel *t) {
  const int root = t->j % Q, at = (my_col - root + Q) % Q, part = (t->count + Q - 1) / Q;
  if (broadcast == LONG_M && Q > 2 && at == 0)
    MPI_Send(panel, t->count, MPI_DOUBLE, place(1, root), t->j % 32768, row);
  if (broadcast == LONG_M && Q > 2 && at == 1)
    MPI_Recv(panel, t->count, MPI_DOUBLE, root, t->j % 32768, row, MPI_STATUS_IGNORE);
  for (int span = 1; span < Q; span *= 2) {
    const int parts = Q - span < span ? Q - span : span;
    if (at < span && at + span < Q)
      MPI_Send(panel, part * parts, MPI_DOUBLE, place(at + span, root), t->j % 32768, row);
    if (at >= span && at < 2 * span)
      MPI_Recv(panel, part * span, MPI_DOUBLE, place(at - span, root), t->j % 32768, row,
               MPI_STATUS_IGNORE);
  }
  for (int i = 1; i < Q; i++)
    MPI_Sendrecv(panel, part, MPI_DOUBLE, (my_col + 1) % Q, t->j % 32768, panel + part, part,
                 MPI_DOUBLE, (my_col + Q - 1) % Q, t->j % 32768, row, MPI_STATUS_IGNORE);
  t->is_done = 1;
}
/* One look for the panel between two pieces of the update; or, in the end, until it is here and passed on. */
static void look(travel *t, int waits) {
  int here = waits;
  if (t->is_done || Q == 1) return;
  if (broadcast >= LONG) {
    if (waits) go_long(t);
    return;
  }
  if (!waits) MPI_Iprobe(t->from, t->j % 32768, row, &here, MPI_STATUS_IGNORE);
  if (!here) return;
  MPI_Recv(panel, t->count, MPI_DOUBLE, t->from, t->j % 32768, row, MPI_STATUS_IGNORE);
  t->is_done = 1;
  pass_on(t);
}

/* ---- one panel after the other ------------------------------------------------------------------------------ */
static void update(int j, int columns, travel *next) {
  const int below = mine(j + 1, my_row, P);
  swap_rows(columns);
  dtrsm_(&NB, &columns);
  for (int done = 0, piece; done < columns;
       done += piece) { /* HPL too looks for the next panel between pieces */
    piece = next && !next->is_done && Q > 1 && broadcast < LONG && columns - done > NB
                ? NB
                : columns - done;
    dgemm_(&below, &piece, &NB);
    if (next) look(next, 0);
  }
}
static travel factor_and_send(int j) {
  travel t = travel_of(j);
  if (my_col == j % Q) factor(j, NB);
  if (t.is_done && Q > 1 && broadcast < LONG) start(&t);
  if (t.is_done && broadcast >= LONG && Q > 1) go_long(&t);
  return t;
}
static void run_group(int first, int last) {
  travel now = factor_and_send(first);
  for (int j = first; j < last; j++) {
    travel next = {0, 0, -1, {-1, -1}, 1};
    const int columns = mine(j + 1, my_col, Q);
    const bool is_next = my_col == (j + 1) % Q && j + 1 < panels;
    look(&now, 1);
    if (depth &&
        j + 1 < last) { /* its columns first, so that the next panel is on its way meanwhile */
      if (is_next) update(j, NB, NULL);
      next = factor_and_send(j + 1);
      update(j, is_next ? columns - NB : columns, &next);
    } else {
      update(j, columns, NULL);
      if (j + 1 < last) next = factor_and_send(j + 1);
    }
    now = next;
  }
}
static double timed_s(int first, int last) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin_s = MPI_Wtime();
  run_group(first, last);
  MPI_Barrier(MPI_COMM_WORLD);
  return MPI_Wtime() - begin_s;
}
int main(int argc, char **argv) {
  int rank, size, at[10] = {2000, 128, 1, 1, RING_M, 1, 1, 1, 0, 1};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank), MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 1; i < argc && i <= 10; i++) at[i - 1] = atoi(argv[i]);
  N = at[0], NB = at[1], P = at[2], Q = at[3], broadcast = at[4], swap = at[5], depth = at[6],
  every = at[7];
  const int part = at[8], parts = at[9];
  if (N < 1 || NB < 1 || P < 1 || Q < 1 || P * Q != size || broadcast < 0 || broadcast > 5 ||
      every < 1 || part < 0 || part >= parts) {
    if (rank == 0)
      fprintf(stderr, "hpl_skeleton: N NB P Q BROADCAST(0..5) SWAP(0, 1) DEPTH(0, 1) EVERY PART "
                      "PARTS; P * Q processes\n");
    return MPI_Finalize(), 2;
  }
  panels = (N + NB - 1) / NB, my_row = rank % P,
  my_col = rank / P; /* by columns, as HPL's default */
  MPI_Comm_split(MPI_COMM_WORLD, my_row, my_col, &row),
      MPI_Comm_split(MPI_COMM_WORLD, my_col, my_row, &col);
  const size_t nb = (size_t)NB, p = (size_t)P, q = (size_t)Q;
  panel = (double *)malloc(sizeof(double) * 2 * nb * ((size_t)mine(0, my_row, P) + 2 * nb + q));
  rows =
      (double *)malloc(sizeof(double) * 2 * (nb + p) * ((size_t)mine(0, my_col, Q) + 2 * nb + 8));
  if (!panel || !rows) return MPI_Abort(MPI_COMM_WORLD, 1), 1;
  double sum_s = 0;
  if (every == 1 && parts == 1) {
    sum_s = timed_s(0, panels);
  } else { /* of the groups begin ... end the one in the middle stands for all */
    const int groups = (panels + GROUP - 1) / GROUP;
    for (int begin = part * every; begin < groups; begin += parts * every) {
      const int end = begin + every < groups ? begin + every : groups,
                first = (begin + end) / 2 * GROUP;
      const int last = first + GROUP < panels ? first + GROUP : panels;
      const int stands_for = (end * GROUP < panels ? end * GROUP : panels) - begin * GROUP;
      sum_s += timed_s(first, last) * stands_for / (last - first);
    }
  }
  if (rank == 0) {
    printf("N %d NB %d grid %dx%d broadcast %d swap %d depth %d: %.6f s, ", N, NB, P, Q, broadcast,
           swap, depth, sum_s);
    if (parts > 1)
      printf("part %d of %d\n", part, parts);
    else
      printf("%.4g GFlop/s\n", (2.0 / 3 * N + 2) * N * N * 1e-9 / sum_s);
  }
  free(panel), free(rows);
  return MPI_Finalize();
}
