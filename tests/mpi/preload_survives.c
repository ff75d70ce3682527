/* Programs that a preload must neither end nor slow down nor lose sight of; one scene per argument:
     threads      four threads exchange messages, though MPI_Init was called: the MPI's own settings give that
     many         arrays of 500 and of 8,000 requests under MPI_THREAD_MULTIPLE: prints how much more CPU time one
                  request of the large ones takes, in per cent of one of the small ones
     limit        no file may grow beyond 1,000 bytes when MPI_Finalize is called
     signal N     raises signal N
     stuck        two ranks: one is in MPI_Finalize when SIGTERM comes, the other one is not */
#ifndef _GNU_SOURCE
#  define _GNU_SOURCE
#endif
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static int rank;
enum { THREADS = 4, ROUNDS = 30000 };
static void *exchange(void *user) {
  MPI_Comm comm = *(MPI_Comm *)user;
  char in[8], out[8] = "";
  for (int i = 0; i < ROUNDS; i++) {
    MPI_Request r[2];
    MPI_Irecv(in, sizeof in, MPI_CHAR, 0, 1, comm, &r[0]);
    MPI_Isend(out, sizeof out, MPI_CHAR, 0, 1, comm, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
  }
  return NULL;
}
static void threads(void) {
  pthread_t thread[THREADS];
  MPI_Comm comm[THREADS];
  int level;
  MPI_Query_thread(&level);
  printf("level %s\n", level == MPI_THREAD_MULTIPLE ? "multiple" : "less");
  if (level != MPI_THREAD_MULTIPLE) return;
  for (int i = 0; i < THREADS; i++) MPI_Comm_dup(MPI_COMM_SELF, &comm[i]);
  for (int i = 0; i < THREADS; i++)
    if (pthread_create(&thread[i], NULL, exchange, &comm[i])) abort();
  for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
  for (int i = 0; i < THREADS; i++) MPI_Comm_free(&comm[i]);
}

static double cpu_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
enum { FEW = 500, MUCH = 8000 };
static double arrays_of(int count) { /* s for MUCH requests, sent and received */
  static MPI_Request r[2 * MUCH];
  static char in, out;
  const double start_s = cpu_s();
  for (int done = 0; done < MUCH; done += count) {
    for (int i = 0; i < count; i++) MPI_Irecv(&in, 1, MPI_CHAR, 0, 1, MPI_COMM_SELF, &r[i]);
    for (int i = 0; i < count; i++) MPI_Isend(&out, 1, MPI_CHAR, 0, 1, MPI_COMM_SELF, &r[count + i]);
    MPI_Waitall(2 * count, r, MPI_STATUSES_IGNORE);
  }
  return cpu_s() - start_s;
}
static void many(void) {
  double few_s = 1e9, much_s = 1e9; /* the least of some, which others disturb least */
  for (int i = 0; i < 4; i++) {
    const double a_s = arrays_of(FEW), b_s = arrays_of(MUCH);
    if (a_s < few_s) few_s = a_s;
    if (b_s < much_s) much_s = b_s;
  }
  printf("per cent %.0f\n", 100 * much_s / few_s);
}

static void stuck(void) {
  const struct timespec nap = {1, 0};
  int pid = (int)getpid();
  MPI_Bcast(&pid, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (rank != 1) return; /* to MPI_Finalize */
  nanosleep(&nap, NULL);
  kill(pid, SIGTERM);
  for (int i = 0; i < 20; i++) nanosleep(&nap, NULL); /* the launcher ends this process meanwhile */
  kill(pid, SIGKILL);
}

int main(int argc, char **argv) {
  const char *scene = argc > 1 ? argv[1] : "";
  int level, there;
  if (strcmp(scene, "signal") == 0) signal(atoi(argv[2]), SIG_DFL); /* who starts the tests may ignore it */
  if (strcmp(scene, "many") == 0)
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  else
    MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Iprobe(0, 99, MPI_COMM_SELF, &there, MPI_STATUS_IGNORE);
  if (strcmp(scene, "threads") == 0) threads();
  if (strcmp(scene, "many") == 0) many();
  if (strcmp(scene, "limit") == 0) setrlimit(RLIMIT_FSIZE, &(struct rlimit){1000, 1000});
  if (strcmp(scene, "signal") == 0) raise(atoi(argv[2]));
  if (strcmp(scene, "stuck") == 0) stuck();
  MPI_Finalize();
  if (strcmp(scene, "limit") == 0) fputs("finalized\n", stderr);
  return 0;
}
