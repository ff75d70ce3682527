/* More receives and long sends than a NIC has entries for, for receives.sh: ./receives [N [ALONE]]. What arrives is right, in order,
   and nobody waits for ever: not a collective, nor a send, behind receives; nor a receive whose message comes first. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONG = 2000 }; /* ints: more than goes at once */
static int me, n, bad;
static MPI_Request *r, *s;
static int *in;

static void post(int count, int tag_step) {
  for (int i = 0; i < count; i++) {
    in[i] = -1;
    MPI_Irecv(&in[i], 1, MPI_INT, 0, i * tag_step, MPI_COMM_WORLD, &r[i]);
  }
}
static void all_right(const char *what, int sign) {
  int wrong = 0;
  MPI_Waitall(n, r, MPI_STATUSES_IGNORE);
  for (int i = 0; i < n; i++) wrong += in[i] != sign * i;
  if (wrong) printf("%s: %d wrong\n", what, wrong);
  bad += wrong;
}
/* One tag: messages do not overtake each other. A barrier and a reduction are done meanwhile, and an answer is sent. */
static void one_tag(void) {
  int sum = 0, answer = 7;
  if (me) post(n, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (me) MPI_Send(&answer, 1, MPI_INT, 0, 1 << 20, MPI_COMM_WORLD);
  else MPI_Recv(&answer, 1, MPI_INT, 1, 1 << 20, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; !me && i < n; i++) MPI_Send(&i, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
  if (me) all_right("one tag", 1);
  bad += sum != 1 || answer != 7;
}
/* The last ones first; each is waited for, so that the first ones stand in the NIC to the end. */
static void backwards(void) {
  const int last = n < 3000 ? n : 3000, all = n;
  n = last;
  if (me) post(n, 1);
  for (int i = n - 1; !me && i >= 0; i--) {
    const int value = -i;
    MPI_Ssend(&value, 1, MPI_INT, 1, i, MPI_COMM_WORLD);
  }
  if (me) all_right("backwards", -1);
  n = all;
}
/* The first ones are of a tag that comes last; after them two of any tag or source whose messages are there long
   before, and one more when these are over. */
static void first_ones_last(void) {
  MPI_Status status;
  int any[2] = {-1, -1};
  MPI_Request a[2];
  if (me) {
    post(n, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int k = 0; k < 2; k++)
      MPI_Irecv(&any[k], 1, MPI_INT, MPI_ANY_SOURCE, k ? MPI_ANY_TAG : 5, MPI_COMM_WORLD, &a[k]);
    for (int k = 0; k < 2; k++) {
      MPI_Wait(&a[k], &status);
      bad += any[k] != 50 + k || status.MPI_TAG != 5 + k || status.MPI_SOURCE != 0;
    }
    MPI_Send(any, 1, MPI_INT, 0, 6, MPI_COMM_WORLD);
    MPI_Recv(any, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, &status);
    bad += any[0] != 50;
    MPI_Send(any, 1, MPI_INT, 0, 6, MPI_COMM_WORLD);
    all_right("first ones last", 1);
    return;
  }
  const int values[2] = {50, 51};
  for (int k = 0; k < 2; k++) MPI_Isend(&values[k], 1, MPI_INT, 1, 5 + k, MPI_COMM_WORLD, &a[k]);
  for (const double begin = MPI_Wtime(); MPI_Wtime() < begin + 1e-3;) {}
  MPI_Barrier(MPI_COMM_WORLD);
  for (int k = 0; k < 2; k++) MPI_Wait(&a[k], MPI_STATUS_IGNORE);
  MPI_Recv(any, 1, MPI_INT, 1, 6, MPI_COMM_WORLD, &status);
  MPI_Send(any, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
  MPI_Recv(any, 1, MPI_INT, 1, 6, MPI_COMM_WORLD, &status);
  for (int i = 0; i < n; i++) MPI_Send(&i, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
}
/* All send to each other, long ones, and all are posted first. */
static void both_ways(void) {
  int *large = malloc((size_t)n * LONG * sizeof *large), *got = malloc((size_t)n * LONG * sizeof *got);
  for (int i = 0; i < n; i++) {
    large[i * LONG] = i + me;
    MPI_Irecv(&got[i * LONG], LONG, MPI_INT, 1 - me, i % 7, MPI_COMM_WORLD, &r[i]);
  }
  for (int i = 0; i < n; i++)
    MPI_Isend(&large[i * LONG], LONG, MPI_INT, 1 - me, i % 7, MPI_COMM_WORLD, &s[i]);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Waitall(n, r, MPI_STATUSES_IGNORE);
  MPI_Waitall(n, s, MPI_STATUSES_IGNORE);
  for (int i = 0; i < n; i++) bad += got[i * LONG] != i + 1 - me;
  free(large);
  free(got);
}
/* Of those that wait for room one is withdrawn: the others keep their order. */
static void withdrawn(void) {
  int flag = 0;
  MPI_Status status;
  if (!me) {
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < n - 1; i++) MPI_Send(&i, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    return;
  }
  post(n, 0);
  MPI_Cancel(&r[n - 2]);
  MPI_Wait(&r[n - 2], &status);
  MPI_Test_cancelled(&status, &flag);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Waitall(n, r, MPI_STATUSES_IGNORE);
  for (int i = 0; i < n; i++) bad += in[i] != (i == n - 2 ? -1 : i == n - 1 ? n - 2 : i);
  bad += !flag;
}
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  n = argc > 1 ? atoi(argv[1]) : 5000;
  r = malloc((size_t)n * sizeof *r);
  s = malloc((size_t)n * sizeof *s);
  in = malloc((size_t)n * sizeof *in);
  if (argc > 2 && me) { /* nobody sends */
    post(n, 0);
    MPI_Waitall(n, r, MPI_STATUSES_IGNORE);
  }
  if (argc > 2) MPI_Barrier(MPI_COMM_WORLD);
  one_tag();
  backwards();
  first_ones_last();
  both_ways();
  withdrawn();
  MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (!me) printf("%d wrong\n", bad);
  MPI_Finalize();
  return 0;
}
