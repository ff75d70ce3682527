/* Processes of a job that a signal to all ends while several threads of each communicate: they go on until it comes, and
   rank 1 takes it 300 ms late. Each leaves $NBC_REPORT_DIR/ready.RANK when it has begun.
   "returned": all make errors that are not fatal, and go on.
   With another argument the last process ends alone, as it says: the others wait for a message from it, look for one, or
   read; with "survive" they then exchange messages and end, too; with "threads" two threads of each communicate. */
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

/* Errors: fatal ones, unless the program wants to know. */
static void truncated(void) {
  char in[1], out[100] = "";
  MPI_Request r;
  MPI_Irecv(in, sizeof in, MPI_CHAR, 0, 1, MPI_COMM_SELF, &r);
  MPI_Send(out, sizeof out, MPI_CHAR, 0, 1, MPI_COMM_SELF);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
}
static void outside_window(void) {
  static char memory[8];
  MPI_Win win;
  MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win);
  MPI_Win_fence(0, win);
  MPI_Put(memory, 1, MPI_CHAR, 77, 0, 1, MPI_CHAR, win);
}
static int abort_in_finalize(MPI_Comm comm, int key, void *value, void *user) {
  (void)comm, (void)key, (void)value, (void)user;
  return MPI_Abort(MPI_COMM_WORLD, 3);
}
static void finalize(void) { /* which takes attributes off MPI_COMM_SELF first */
  int key;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, abort_in_finalize, &key, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
  MPI_Finalize();
}
static void own_handler(MPI_Comm *comm, int *code, ...) {
  (void)comm;
  (void)code;
}
static void errors_return(void) {
  MPI_Errhandler own;
  MPI_Comm_create_errhandler(own_handler, &own);
  for (int i = 0; i < 6; i++) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, i % 2 ? MPI_ERRORS_RETURN : own);
    MPI_Send(NULL, 0, MPI_CHAR, 77, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&own);
}

static void leave(const char *how) {
  volatile char *nowhere = NULL;
  if (strcmp(how, "fault") == 0) *nowhere = 1;
  if (strcmp(how, "abort") == 0) abort();
  if (strcmp(how, "exit") == 0 || strcmp(how, "threads") == 0) exit(3);
  if (strcmp(how, "_exit") == 0) _exit(3);
  if (strcmp(how, "killed") == 0) kill(getpid(), SIGTERM);
  if (strcmp(how, "MPI_Abort") == 0) MPI_Abort(MPI_COMM_WORLD, 3);
  if (strcmp(how, "invalid") == 0) MPI_Send(NULL, 0, MPI_CHAR, 77, 0, MPI_COMM_WORLD);
  if (strcmp(how, "truncated") == 0) truncated();
  if (strcmp(how, "window") == 0) outside_window();
  if (strcmp(how, "finalize") == 0) finalize();
  _exit(0);
}
enum { MESSAGES = 500, THREADS = 2 };
static void survive(void) {
  char bytes[8] = "";
  usleep(500000);
  for (int i = 0; i < MESSAGES && rank == 0; i++) MPI_Send(bytes, sizeof bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
  for (int i = 0; i < MESSAGES && rank == 1; i++) MPI_Recv(bytes, sizeof bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  _exit(0);
}
static int alone(int argc, char **argv) {
  const char *how = argv[1];
  MPI_Comm comm[THREADS];
  pthread_t thread;
  char byte = 0;
  int size, level;
  MPI_Init_thread(&argc, &argv, strcmp(how, "threads") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Bcast(&byte, 1, MPI_CHAR, 0, MPI_COMM_WORLD);
  for (int i = 0; i < THREADS; i++) MPI_Comm_dup(MPI_COMM_SELF, &comm[i]);
  for (int i = 0; i < THREADS && strcmp(how, "threads") == 0; i++) pthread_create(&thread, NULL, exchange, &comm[i]);
  MPI_Barrier(MPI_COMM_WORLD);
  ready();
  if (strcmp(how, "returned") == 0) {
    errors_return();
    MPI_Finalize();
    return 0;
  }
  usleep(100000); /* the others are where they are to be */
  if (rank == size - 1) leave(how);
  if (strcmp(how, "survive") == 0) survive();
  if (rank == 0) MPI_Recv(&byte, 1, MPI_CHAR, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (volatile long i = 0; rank == 1 && i < 20000000000; i++)
    if (i % 100 == 0) MPI_Iprobe(size - 1, 0, MPI_COMM_WORLD, &(int){0}, MPI_STATUS_IGNORE);
  int ends[2]; /* nobody writes: a read of it goes on after handlers with SA_RESTART */
  return pipe(ends) != 0 || read(ends[0], &byte, 1) < 0;
}

int main(int argc, char **argv) {
  if (argc > 1) return alone(argc, argv);
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
