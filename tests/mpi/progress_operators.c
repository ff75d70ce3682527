/* progress_operators.c: many operators are made, used by nonblocking reductions and freed while these are under way or
   after, in each process at times of its own: all processes take the same way, and results are right. Argument: rounds (40). */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { OPERATORS = 24, COUNT = 3, LONG = 40 };
static int rank, size, failed;

static unsigned draw(void) { /* of each rank, different ones */
  static unsigned state;
  if (!state) state = 2463534242u + 7919u * (unsigned)rank;
  state ^= state << 13, state ^= state >> 17, state ^= state << 5;
  return state;
}
static void sum(void *in, void *inout, int *n, MPI_Datatype *type) {
  (void)type;
  for (int i = 0; i < *n; i++) ((int *)inout)[i] += ((int *)in)[i];
}
static void second(void *in, void *inout, int *n, MPI_Datatype *type) { /* keeps the order of ranks: the highest wins */
  (void)in, (void)inout, (void)n, (void)type;
}
static void good(int is_true, int round, int i) {
  if (!is_true && !failed++) printf("  rank %d: round %d: %d is wrong\n", rank, round, i);
}

static void one(MPI_Comm comm, int round) {
  static int given[OPERATORS][COUNT], taken[OPERATORS][COUNT], spread[OPERATORS][LONG];
  MPI_Request requests[2 * OPERATORS];
  for (int i = 0; i < OPERATORS; i++) {
    MPI_Op op;
    const int root = (round + i) % size;
    MPI_Op_create(i % 3 ? sum : second, i % 3 != 0, &op);
    for (int k = 0; k < COUNT; k++) given[i][k] = rank + i + k, taken[i][k] = -1;
    for (int k = 0; k < LONG; k++) spread[i][k] = rank == root ? round + i + k : -1;
    MPI_Iallreduce(given[i], taken[i], COUNT, MPI_INT, op, comm, &requests[2 * i]);
    if (draw() % 4 == 0) MPI_Waitall(2 * i + 1, requests, MPI_STATUSES_IGNORE); /* perhaps nothing is under way then */
    MPI_Op_free(&op);
    if (op != MPI_OP_NULL) good(0, round, -1);
    MPI_Ibcast(spread[i], i % 2 ? LONG : 2, MPI_INT, root, comm, &requests[2 * i + 1]);
    for (unsigned looks = draw() % 40; looks; looks--) {
      int flag;
      MPI_Test(&requests[draw() % (unsigned)(2 * i + 2)], &flag, MPI_STATUS_IGNORE);
    }
  }
  MPI_Waitall(2 * OPERATORS, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < OPERATORS; i++) {
    for (int k = 0; k < COUNT; k++)
      good(taken[i][k] == (i % 3 ? size * (size - 1) / 2 + size * (i + k) : size - 1 + i + k), round, i);
    const int last = (i % 2 ? LONG : 2) - 1;
    good(spread[i][last] == round + i + last, round, i);
  }
}

int main(int argc, char **argv) {
  int all = 0;
  MPI_Comm comms[2];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < 2; i++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  for (int round = 0; round < (argc > 1 ? atoi(argv[1]) : 40); round++) one(comms[round % 2], round);
  for (int i = 0; i < 2; i++) MPI_Comm_free(&comms[i]);
  MPI_Reduce(&failed, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d processes checked, %d checks failed\n", size, all);
  MPI_Finalize();
  return failed != 0;
}
