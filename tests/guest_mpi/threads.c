/* Four threads of each process exchange messages at once, in all forms of waiting: MPI_THREAD_MULTIPLE. */
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, ROUNDS = 50 };
static int me, n, bad;
static void *exchange(void *number) {
  const int t = (int)(intptr_t)number, bytes = t * 3000 + 1;
  char *out = calloc(1, (size_t)bytes), *in = calloc(1, (size_t)bytes);
  for (int i = 0; i < ROUNDS; i++) {
    MPI_Request r[2];
    MPI_Status s[2];
    int flag = 0, which;
    out[0] = (char)(me + i);
    MPI_Irecv(in, bytes, MPI_CHAR, (me + n - 1) % n, t, MPI_COMM_WORLD, &r[0]);
    MPI_Isend(out, bytes, MPI_CHAR, (me + 1) % n, t, MPI_COMM_WORLD, &r[1]);
    if (i % 3 == 0)
      while (!flag) MPI_Testall(2, r, &flag, s);
    if (i % 3 == 1) MPI_Waitany(2, r, &which, s), MPI_Waitany(2, r, &which, s);
    if (i % 3 == 2) MPI_Waitall(2, r, s);
    bad += in[0] != (char)((me + n - 1) % n + i);
  }
  free(out);
  free(in);
  return NULL;
}
int main(int argc, char **argv) {
  pthread_t thread[THREADS];
  int level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  for (int i = 0; i < THREADS; i++) pthread_create(&thread[i], NULL, exchange, (void *)(intptr_t)i);
  for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
  MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (me == 0) printf("level %d, %d wrong\n", level == MPI_THREAD_MULTIPLE, bad);
  MPI_Finalize();
  return 0;
}
