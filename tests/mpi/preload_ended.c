/* Processes of a job that a signal to all ends while several threads of each communicate: they go on until it comes, and
   rank 1 takes it 300 ms late. Each leaves $NBC_REPORT_DIR/ready.RANK when it has begun. */
#ifndef _GNU_SOURCE
#  define _GNU_SOURCE
#endif
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int rank;
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

int main(int argc, char **argv) {
  enum { THREADS = 2 };
  MPI_Comm comm[THREADS];
  pthread_t thread;
  sigset_t all, before;
  int level;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before); /* in threads of the MPI, too */
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) pthread_sigmask(SIG_SETMASK, &before, NULL);
  for (int i = 0; i < THREADS; i++) MPI_Comm_dup(MPI_COMM_SELF, &comm[i]);
  for (int i = 0; i < THREADS && level == MPI_THREAD_MULTIPLE; i++)
    pthread_create(&thread, NULL, exchange, &comm[i]);
  MPI_Barrier(MPI_COMM_WORLD);
  ready();
  until_signal(&before);
  return 1;
}
