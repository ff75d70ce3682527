/* Processes of a job that is ended from outside or by one of them, while several threads of each communicate; one scene
   per argument. Each leaves $NBC_REPORT_DIR/ready.RANK when it has begun.
     all       they go on until a signal comes. Rank 1 takes it 300 ms late
     exit, _exit, abort, segv, mpi_abort, raise
               rank 0 ends so, after a moment, while the others wait for a message that never comes */
#ifndef _GNU_SOURCE
#  define _GNU_SOURCE
#endif
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank;
static int is(const char *a, const char *b) { return strcmp(a, b) == 0; }
static void ready(void) {
  char path[4096];
  const char *folder = getenv("NBC_REPORT_DIR");
  snprintf(path, sizeof path, "%s/ready.%d", folder ? folder : ".", rank);
  FILE *file = fopen(path, "w");
  if (file) fclose(file);
}

/* Each thread has a communicator of its own, with messages to itself, and memory that comes and goes. */
static void *exchange(void *user) {
  MPI_Comm comm = *(MPI_Comm *)user;
  for (size_t i = 0;; i++) {
    char *text = malloc(16 + i % 5000), in[8], out[8] = "";
    MPI_Request r[2];
    int there;
    snprintf(text, 16, "%zu", i);
    MPI_Irecv(in, sizeof in, MPI_CHAR, 0, 1, comm, &r[0]);
    MPI_Isend(out, sizeof out, MPI_CHAR, 0, 1, comm, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    MPI_Iprobe(0, 2, comm, &there, MPI_STATUS_IGNORE);
    free(text);
  }
  return NULL;
}

static void until_signal(const sigset_t *open) {
  sigset_t pending;
  for (int i = 0; i < 6000; i++) {
    usleep(10000);
    sigpending(&pending);
    if (sigismember(&pending, SIGTERM) || sigismember(&pending, SIGINT)) {
      usleep(300000);
      pthread_sigmask(SIG_SETMASK, open, NULL);
    }
  }
}

static void end(const char *how) {
  if (is(how, "exit")) exit(3);
  if (is(how, "_exit")) _exit(4);
  if (is(how, "abort")) abort();
  if (is(how, "segv")) *(volatile int *)NULL = 1;
  if (is(how, "raise")) raise(SIGTERM);
  if (is(how, "mpi_abort")) MPI_Abort(MPI_COMM_WORLD, 5);
}

int main(int argc, char **argv) {
  enum { THREADS = 2 };
  const char *scene = argc > 1 ? argv[1] : "all";
  MPI_Comm comm[THREADS];
  pthread_t thread;
  sigset_t all, before;
  char in;
  int level;
  sigfillset(&all);
  if (is(scene, "all")) pthread_sigmask(SIG_BLOCK, &all, &before); /* in threads of the MPI, too */
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0 && is(scene, "all")) pthread_sigmask(SIG_SETMASK, &before, NULL);
  for (int i = 0; i < THREADS; i++) MPI_Comm_dup(MPI_COMM_SELF, &comm[i]);
  for (int i = 0; i < THREADS && level == MPI_THREAD_MULTIPLE; i++)
    pthread_create(&thread, NULL, exchange, &comm[i]);
  MPI_Barrier(MPI_COMM_WORLD);
  ready();
  if (is(scene, "all")) until_signal(&before);
  usleep(100000);
  if (rank == 0) end(scene);
  MPI_Recv(&in, 1, MPI_CHAR, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return 1;
}
