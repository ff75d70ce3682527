/* progress_arguments.c: what the MPI refuses is refused by collectives of ours too, and one buffer given twice to scans, which
   Open MPI takes against the standard, gives its results. Nothing of a refused call is sent. Lengths that differ between processes end
   in an error of all that get something from the odd one, and of none by a wait without an end. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONG = 5, MAX_SIZE = 16 };
static int rank, size, failed;
static MPI_Comm comm;

static void good(int is_true, const char *what, int got) {
  if (!is_true && failed++ < 5) printf("  rank %d: %s: %d\n", rank, what, got);
}
/* Error class of the call or of its completion; what goes on without an end is not waited for. */
static void refused(const char *what, int rc, MPI_Request *request) {
  int class = MPI_SUCCESS;
  if (rc) MPI_Error_class(rc, &class);
  good(rc != MPI_SUCCESS, what, class);
  if (rc == MPI_SUCCESS) MPI_Wait(request, MPI_STATUS_IGNORE);
}

static void operators(void) {
  static const struct {
    const char *what;
    int op, type;
  } wrong[] = {{"bits of doubles", 0, 0}, {"greatest place of integers", 1, 1}, {"sums of pairs", 2, 2},
               {"replace", 3, 1}, {"no operation", 4, 1}, {"bits of Fortran's reals", 0, 3}, {"a null operator", 5, 1}};
  const MPI_Op ops[] = {MPI_BAND, MPI_MAXLOC, MPI_SUM, MPI_REPLACE, MPI_NO_OP, MPI_OP_NULL};
  const MPI_Datatype types[] = {MPI_DOUBLE, MPI_INT, MPI_2INT, MPI_REAL};
  double in[2 * LONG] = {0}, out[2 * LONG];
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int rc = MPI_Iallreduce(in, out, LONG, types[wrong[i].type], ops[wrong[i].op], comm, &request);
    refused(wrong[i].what, rc, &request);
  }
}

/* Fortran's types are taken with what the standard defines for them. */
static void fortran(void) {
  int integers[2] = {rank + 1, 3}, sums[2] = {-1, -1}, pair[2] = {rank, 10 + rank}, best[2] = {-1, -1};
  double real = rank, most = -1;
  MPI_Request requests[3];
  MPI_Iallreduce(integers, sums, 2, MPI_INTEGER, MPI_SUM, comm, &requests[0]);
  MPI_Iallreduce(&real, &most, 1, MPI_DOUBLE_PRECISION, MPI_MAX, comm, &requests[1]);
  MPI_Iallreduce(pair, best, 1, MPI_2INTEGER, MPI_MAXLOC, comm, &requests[2]);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  good(sums[0] == size * (size + 1) / 2 && sums[1] == 3 * size, "sum of Fortran's integers", sums[0]);
  good(most > size - 1.5, "greatest of Fortran's doubles", (int)most);
  good(best[0] == size - 1 && best[1] == 10 + size - 1, "greatest place of Fortran's pairs", best[1]);
}

static void in_place(void) {
  int numbers[MAX_SIZE * LONG] = {0};
  MPI_Request request = MPI_REQUEST_NULL;
  const int rc = MPI_Iallreduce(numbers, MPI_IN_PLACE, LONG, MPI_INT, MPI_SUM, comm, &request);
  refused("MPI_IN_PLACE where data come", rc, &request);
#ifdef OPEN_MPI
  int counts[MAX_SIZE], n = 0;
  for (int i = 0; i < size; i++) counts[i] = i % 3, n += i < rank ? counts[i] : 0;
  for (int i = 0; i < MAX_SIZE * LONG; i++) numbers[i] = rank + i;
  MPI_Iscan(numbers, numbers, LONG, MPI_INT, MPI_SUM, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < LONG; i++) good(numbers[i] == rank * (rank + 1) / 2 + i * (rank + 1), "scan of one buffer", numbers[i]);
  for (int i = 0; i < MAX_SIZE * LONG; i++) numbers[i] = rank + i;
  MPI_Ireduce_scatter(numbers, numbers, counts, MPI_INT, MPI_SUM, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < counts[rank]; i++)
    good(numbers[i] == size * (size - 1) / 2 + size * (n + i), "scattered sums of one buffer", numbers[i]);
#endif
}

/* One buffer to send from and to receive into, or a block of it: MPICH refuses it before anything is sent, in one process too. */
static void overlapping(void) {
#ifndef OPEN_MPI
  int a[MAX_SIZE * LONG] = {0}, counts[MAX_SIZE], displs[MAX_SIZE], from[MAX_SIZE], ones[MAX_SIZE];
  MPI_Datatype types[MAX_SIZE];
  MPI_Request r = MPI_REQUEST_NULL;
  for (int i = 0; i < size; i++) counts[i] = LONG, displs[i] = i * LONG, types[i] = MPI_INT;
  if (rank == 0) {
    refused("overlapping gather", MPI_Igather(a, LONG, MPI_INT, a, LONG, MPI_INT, 0, comm, &r), &r);
    refused("overlapping gatherv", MPI_Igatherv(a, LONG, MPI_INT, a, counts, displs, MPI_INT, 0, comm, &r), &r);
    refused("overlapping scatter", MPI_Iscatter(a, LONG, MPI_INT, a, LONG, MPI_INT, 0, comm, &r), &r);
    refused("overlapping scatterv", MPI_Iscatterv(a, counts, displs, MPI_INT, a, LONG, MPI_INT, 0, comm, &r), &r);
    refused("overlapping reduce", MPI_Ireduce(a, a, LONG, MPI_INT, MPI_SUM, 0, comm, &r), &r);
  }
  refused("overlapping allgather", MPI_Iallgather(a + rank * LONG, LONG, MPI_INT, a, LONG, MPI_INT, comm, &r), &r);
  refused("overlapping allgatherv", MPI_Iallgatherv(a + rank * LONG, LONG, MPI_INT, a, counts, displs, MPI_INT, comm, &r), &r);
  refused("overlapping alltoall", MPI_Ialltoall(a, LONG, MPI_INT, a, LONG, MPI_INT, comm, &r), &r);
  refused("overlapping alltoallv", MPI_Ialltoallv(a, counts, displs, MPI_INT, a, counts, displs, MPI_INT, comm, &r), &r);
  refused("overlapping alltoallw", MPI_Ialltoallw(a, counts, displs, types, a, counts, displs, types, comm, &r), &r);
  refused("overlapping allreduce", MPI_Iallreduce(a, a, LONG, MPI_INT, MPI_SUM, comm, &r), &r);
  refused("overlapping reduce_scatter", MPI_Ireduce_scatter(a, a, counts, MPI_INT, MPI_SUM, comm, &r), &r);
  refused("overlapping reduce_scatter_block", MPI_Ireduce_scatter_block(a, a, LONG, MPI_INT, MPI_SUM, comm, &r), &r);
  refused("overlapping scan", MPI_Iscan(a, a, LONG, MPI_INT, MPI_SUM, comm, &r), &r);
  refused("overlapping exscan", MPI_Iexscan(a, a, LONG, MPI_INT, MPI_SUM, comm, &r), &r);
  MPI_Iallreduce(a, a, 0, MPI_INT, MPI_SUM, comm, &r); /* nothing overlaps */
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  /* in one array, nothing twice: exchanged with the others */
  for (int i = 0; i < 2 * size; i++) a[i] = rank * 100 + i;
  for (int i = 0; i < size; i++) counts[i] = ones[i] = 1, displs[i] = size + i, from[i] = i;
  MPI_Ialltoallv(a, ones, from, MPI_INT, a, counts, displs, MPI_INT, comm, &r);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  for (int i = 0; i < size; i++) good(a[size + i] == i * 100 + rank, "exchanged in one array", a[size + i]);
#endif
}

/* The root has another length than the others, who stand behind one another in the tree. Open MPI's own broadcast waits for
   ever then, or says nothing. */
static void lengths(void) {
  const char *const set = getenv("NBC_COLLECTIVES");
  static int numbers[1000];
  const int roots[] = {1, 10, 999, 1000}, others[] = {10, 1, 1000, 999};
#ifdef OPEN_MPI
  if (!set || strcmp(set, "ours") != 0) return;
#endif
  (void)set;
  for (int i = 0; i < 4; i++) {
    MPI_Request request = MPI_REQUEST_NULL;
    int rc = MPI_Ibcast(numbers, rank ? others[i] : roots[i], MPI_INT, 0, comm, &request), class = MPI_SUCCESS;
    if (!rc) rc = MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rc) MPI_Error_class(rc, &class);
    good(rank == 0 || class != MPI_SUCCESS, "a broadcast of another length", roots[i]);
    MPI_Barrier(comm);
  }
}

/* What a process sends itself is longer or shorter than what it receives: an error there, nothing beyond the ends of the shorter
   buffer is read or written, and who gives and expects one length has his data. Some MPIs say nothing of it. */
enum { GUARD = 64 };
static int ends_with(int rc, MPI_Request *request) {
  int class = MPI_SUCCESS;
  if (!rc) rc = MPI_Wait(request, MPI_STATUS_IGNORE);
  if (rc) MPI_Error_class(rc, &class);
  return class;
}
static void sides(void) {
  const char *const set = getenv("NBC_COLLECTIVES");
  if (!set || strcmp(set, "ours") != 0 || size < 2) return; /* one process stays the MPI's */
  for (int k = 0; k < 8; k++) {
    int *const out = malloc((size_t)(size * LONG + GUARD) * sizeof *out), *const in = malloc((size_t)(size * LONG + GUARD) * sizeof *in);
    const int odd = rank == 0, sent = odd && k % 2 ? LONG - 1 : LONG, taken = odd && k % 2 == 0 ? LONG - 1 : LONG;
    MPI_Request r = MPI_REQUEST_NULL;
    int rc;
    for (int i = 0; i < size * LONG + GUARD; i++) out[i] = 1000 * rank + i, in[i] = -1;
    switch (k / 2) {
    case 0: rc = MPI_Iallgather(out, sent, MPI_INT, in, taken, MPI_INT, comm, &r); break;
    case 1: rc = MPI_Ialltoall(out, sent, MPI_INT, in, taken, MPI_INT, comm, &r); break;
    case 2: rc = MPI_Igather(out, sent, MPI_INT, in, taken, MPI_INT, 0, comm, &r); break;
    default: rc = MPI_Iscatter(out, sent, MPI_INT, in, taken, MPI_INT, 0, comm, &r); break;
    }
    const int class = ends_with(rc, &r), reach = k / 2 == 3 ? taken : size * taken;
    good(!odd || class == MPI_ERR_TRUNCATE, "two lengths in one call", 10 * k + class);
    good(odd || k % 2 || class == MPI_SUCCESS, "one length where another process has two", 10 * k + class);
    for (int i = odd ? reach : size * LONG; i < size * LONG + GUARD; i++) good(in[i] == -1, "beyond the shorter buffer", k);
    for (int i = 0; rank && k == 6 && i < LONG; i++) good(in[i] == rank * LONG + i, "scattered by who gives two lengths", in[i]);
    free(out);
    free(in);
    MPI_Barrier(comm);
  }
}

/* Blocks that come to one place are forbidden, but not refused: some block is there at the end, and there is an end. */
static void one_place(void) {
  enum { BLOCK = 16384 };
  int *const out = malloc((size_t)size * BLOCK * sizeof *out), *const in = malloc((BLOCK + MAX_SIZE) * sizeof *in);
  int counts[MAX_SIZE], at[MAX_SIZE], from[MAX_SIZE];
  for (int how = 0; how < 3; how++) { /* one place; places that overlap; the same exchanged */
    MPI_Request r;
    for (int p = 0; p < size; p++) counts[p] = BLOCK, at[p] = how ? size - p : 0, from[p] = p * BLOCK;
    for (int i = 0; i < size * BLOCK; i++) out[i] = rank;
    for (int i = 0; i < BLOCK + MAX_SIZE; i++) in[i] = -1;
    if (how == 2) MPI_Ialltoallv(out, counts, from, MPI_INT, in, counts, at, MPI_INT, comm, &r);
    else MPI_Iallgatherv(out, BLOCK, MPI_INT, in, counts, at, MPI_INT, comm, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    for (int i = how ? size : 0; i < BLOCK; i++) good(in[i] >= 0 && in[i] < size, "blocks that come to one place", in[i]);
  }
  free(out);
  free(in);
}

int main(int argc, char **argv) {
  int all = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* Open MPI asks this one about some arguments */
  operators();
  fortran();
  in_place();
  overlapping();
  lengths();
  sides();
  one_place();
  MPI_Comm_free(&comm);
  MPI_Reduce(&failed, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d processes checked, %d checks failed\n", size, all);
  MPI_Finalize();
  return failed != 0;
}
