/* Partitioned messages in the simulated machine, for partitions.sh: ./partitions SCENE. What a partition does before
   the others are ready is the library's choice, so MPICH cannot be asked: each scene says what it found. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int me, n;
static void say_rank0(const char *text) {
  if (!me) puts(text);
}
/* 0 sends to 1, which has other parts and, with `gaps`, another layout. Ready in any order, several rounds. */
static int exchange(int parts, int length, int other_parts, int other_length, int gaps, int rounds) {
  const int total = parts * length, wide = gaps ? 3 : 1;
  int *data = malloc((size_t)total * (size_t)wide * sizeof *data), bad = 0;
  MPI_Datatype type;
  MPI_Request r;
  MPI_Type_create_resized(MPI_INT, 0, wide * (int)sizeof(int), &type);
  MPI_Type_commit(&type);
  if (!me)
    MPI_Psend_init(data, parts, length, type, 1, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
  else
    MPI_Precv_init(data, other_parts, other_length, type, 0, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
  for (int k = 0; k < rounds; k++) {
    for (int i = 0; i < total * wide; i++) data[i] = me ? -1 : i / wide * 7 + k;
    MPI_Start(&r);
    for (int i = 0; !me && i < parts; i++) MPI_Pready((i * 5 + k) % parts, r); /* 5 divides none */
    for (int i = 0; me && k % 2 && i < other_parts; i++) {
      for (int there = 0; !there;) MPI_Parrived(r, i, &there);
      const int last = (i + 1) * other_length - 1;
      bad += other_length && data[last * wide] != last * 7 + k;
    }
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    for (int i = 0; me && i < total * wide; i++)
      bad += data[i] != (i % wide ? -1 : i / wide * 7 + k);
    if (me && k == 1) { /* the second round: the sender is ahead of the receiver */
      const double begin = MPI_Wtime();
      while (MPI_Wtime() < begin + 1e-4) {}
    }
  }
  MPI_Request_free(&r);
  MPI_Type_free(&type);
  free(data);
  return bad;
}
static void contents(void) {
  static const int of[][4] = {{4, 3, 4, 3},   {6, 4, 4, 6},     {1, 24, 8, 3},      {8, 3000, 1, 24000},
                              {6, 0, 3, 0},   {3, 8000, 2, 12000}, {7, 1, 1, 7},    {4096, 3, 6, 2048},
                              {2048, 1, 2048, 1}, {6, 2000, 12, 1000}};
  int bad = 0;
  for (size_t i = 0; i < sizeof of / sizeof *of; i++)
    for (int gaps = 0; gaps < 4; gaps++)
      bad += exchange(of[i][0], of[i][1], of[i][2], of[i][3], me ? gaps & 1 : gaps >> 1, 4);
  if (me == 1) printf("%d wrong\n", bad);
}
/* The receiver has the first partition, and says so, before the sender is ready with the second. */
static void early(int ints) {
  int *data = calloc((size_t)ints * 2, sizeof *data), there = 0, token = 0;
  MPI_Request r;
  if (!me) {
    MPI_Psend_init(data, 2, ints, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
    MPI_Start(&r);
    data[0] = 42;
    MPI_Pready(0, r);
    MPI_Recv(&token, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Pready(1, r);
  } else {
    MPI_Precv_init(data, 2, ints, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
    MPI_Start(&r);
    while (!there) MPI_Parrived(r, 0, &there);
    MPI_Parrived(r, 1, &there);
    printf("%d ints: first %d, second is there: %d\n", ints, data[0], there);
    MPI_Send(&token, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
  }
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  MPI_Request_free(&r);
  free(data);
}
static void compute(double seconds) {
  const double end = MPI_Wtime() + seconds;
  while (MPI_Wtime() < end) {}
}
/* 8 partitions of 1 MiB, each after 1 ms of computation: what is left at the end is one partition. */
static void pipeline(void) {
  enum { PARTS = 8, BYTES = 1 << 20 };
  char *data = calloc(PARTS, BYTES);
  MPI_Request r;
  if (!me)
    MPI_Psend_init(data, PARTS, BYTES, MPI_BYTE, 1, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
  else
    MPI_Precv_init(data, PARTS, BYTES, MPI_BYTE, 0, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
  for (int k = 0; k < 3; k++) {
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Start(&r);
    for (int i = 0; !me && i < PARTS; i++) {
      compute(1e-3);
      MPI_Pready(i, r);
    }
    double last = MPI_Wtime(); /* of one clock */
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    const double end = MPI_Wtime();
    if (!me) MPI_Send(&last, 1, MPI_DOUBLE, 1, 4, MPI_COMM_WORLD);
    if (me) MPI_Recv(&last, 1, MPI_DOUBLE, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (me) printf("round %d: %.0f us after the last one was ready\n", k, (end - last) * 1e6);
  }
  MPI_Request_free(&r);
  free(data);
}
/* Four requests of one tag, started in another order than they were made in, and to oneself too. */
static void order(void) {
  enum { MANY = 20 };
  int out[MANY], in[MANY], bad = 0;
  MPI_Request s[MANY], r[MANY];
  for (int i = 0; i < MANY; i++) {
    const int to = i % 2 ? (me + 1) % n : me, from = i % 2 ? (me + n - 1) % n : me;
    MPI_Psend_init(&out[i], 1, 1, MPI_INT, to, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &s[i]);
    MPI_Precv_init(&in[i], 1, 1, MPI_INT, from, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &r[i]);
  }
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < MANY; i++) out[i] = i + 100 * round, in[i] = -1;
    for (int i = MANY - 1; i >= 0; i--) MPI_Start(&s[i]), MPI_Pready(0, s[i]);
    MPI_Startall(MANY, r);
    for (int i = 0; i < MANY; i++) MPI_Wait(&r[i], MPI_STATUS_IGNORE), MPI_Wait(&s[i], MPI_STATUS_IGNORE);
    for (int i = 0; i < MANY; i++) bad += in[i] != i + 100 * round;
  }
  for (int i = 0; i < MANY; i++) MPI_Request_free(&s[i]), MPI_Request_free(&r[i]);
  MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  say_rank0(bad ? "wrong" : "right");
}
/* More is sent than there is room for: an error of the receive, and nothing behind its buffer. */
static void too_long(void) {
  int data[8] = {1, 2, 3, 4, 5, 6, 7, 8}, here[8] = {0};
  MPI_Request r;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (!me)
    MPI_Psend_init(data, 4, 2, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
  else
    MPI_Precv_init(here, 5, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
  MPI_Start(&r);
  if (!me) MPI_Pready_range(0, 3, r);
  int class = 0;
  MPI_Error_class(MPI_Wait(&r, MPI_STATUS_IGNORE), &class);
  if (me)
    printf("%s: %d %d %d\n", class == MPI_ERR_TRUNCATE ? "truncated" : "no error", here[0], here[4], here[5]);
  MPI_Request_free(&r);
}
/* Less is sent than there is room for: what was not sent stays as it was. */
static void too_short(void) {
  int data[4] = {1, 2, 3, 4}, here[27], count = 0, bad = 0;
  MPI_Datatype type;
  MPI_Request r;
  MPI_Status s;
  MPI_Type_create_resized(MPI_INT, 0, 3 * (int)sizeof(int), &type);
  MPI_Type_commit(&type);
  if (!me)
    MPI_Psend_init(data, 2, 2, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
  else
    MPI_Precv_init(here, 3, 3, type, 0, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
  for (int i = 0; i < 27; i++) here[i] = -1;
  MPI_Start(&r);
  if (!me) MPI_Pready_range(0, 1, r);
  MPI_Wait(&r, &s);
  MPI_Get_count(&s, MPI_INT, &count);
  for (int i = 0; i < 27; i++) bad += here[i] != (i % 3 || i > 9 ? -1 : i / 3 + 1);
  if (me) printf("%d ints, %d wrong\n", count, bad);
  MPI_Request_free(&r);
  MPI_Type_free(&type);
}
/* Four threads make every fourth partition ready, which are packed, while the others' are on their way. */
enum { THREADS = 4, EACH = 5, ITEMS = 2000 };
static MPI_Request of_threads;
static void *make_ready(void *thread) {
  for (int i = 0; i < EACH; i++) MPI_Pready(i * THREADS + (int)(size_t)thread, of_threads);
  return NULL;
}
static void threads(void) {
  enum { ALL = THREADS * EACH * ITEMS };
  int *data = malloc(2 * ALL * sizeof *data), bad = 0;
  pthread_t thread[THREADS];
  MPI_Datatype type;
  MPI_Type_create_resized(MPI_INT, 0, 2 * (int)sizeof(int), &type);
  MPI_Type_commit(&type);
  if (!me)
    MPI_Psend_init(data, THREADS * EACH, ITEMS, type, 1, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &of_threads);
  else
    MPI_Precv_init(data, 1, ALL, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &of_threads);
  for (int k = 0; k < 3; k++) {
    for (int i = 0; i < 2 * ALL; i++) data[i] = me ? -1 : i / 2 + k;
    MPI_Start(&of_threads);
    for (size_t i = 0; !me && i < THREADS; i++) pthread_create(&thread[i], NULL, make_ready, (void *)i);
    for (size_t i = 0; !me && i < THREADS; i++) pthread_join(thread[i], NULL);
    MPI_Wait(&of_threads, MPI_STATUS_IGNORE);
    for (int i = 0; me && i < ALL; i++) bad += data[i] != i + k;
  }
  if (me) printf("%d wrong\n", bad);
  MPI_Request_free(&of_threads);
  MPI_Type_free(&type);
  free(data);
}
int main(int argc, char **argv) {
  const char *scene = argc > 1 ? argv[1] : "";
  int level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  if (n < 2) MPI_Abort(MPI_COMM_WORLD, 2);
  if (!strcmp(scene, "contents")) contents();
  if (!strcmp(scene, "early")) early(10), early(10000);
  if (!strcmp(scene, "pipeline")) pipeline();
  if (!strcmp(scene, "order")) order();
  if (!strcmp(scene, "too_long")) too_long();
  if (!strcmp(scene, "too_short")) too_short();
  if (!strcmp(scene, "threads")) threads();
  MPI_Finalize();
  return 0;
}
