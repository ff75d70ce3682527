/* Ends in the way that the argument says, after one message to itself; most ways without
   MPI_Finalize. The reports must be there all the same, and the exit status unchanged. */

#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int is(const char *a, const char *b) { return strcmp(a, b) == 0; }
static void own_handler(int number) {
  (void)number;
  static const char text[] = "own handler\n";
  if (write(1, text, sizeof text - 1) < 0) _exit(9);
  _exit(6);
}

static void fork_child(void) {
  int status;
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) exit(7); /* runs destructors: must not write a second report */
  waitpid(child, &status, 0);
  printf("child %d\n", WEXITSTATUS(status));
  const pid_t other = vfork();
  if (other == 0) _exit(8);
  waitpid(other, &status, 0);
  printf("vfork child %d\n", WEXITSTATUS(status));
  const pid_t killed = fork();
  if (killed == 0) {
    raise(SIGTERM);
    pause();
  }
  waitpid(killed, &status, 0);
  printf("killed %d\n", WTERMSIG(status));
}

static void end(const char *how) {
  if (is(how, "exit")) exit(3);
  if (is(how, "_exit")) _exit(4);
  if (is(how, "quick_exit")) quick_exit(5);
  if (is(how, "abort")) abort();
  if (is(how, "mpi_abort")) MPI_Abort(MPI_COMM_WORLD, 11);
  if (is(how, "term")) kill(getpid(), SIGTERM), pause();
  if (is(how, "segv")) *(volatile int *)NULL = 1;
  if (is(how, "handler")) signal(SIGTERM, own_handler), kill(getpid(), SIGTERM), pause();
  if (is(how, "fork")) fork_child();
  if (is(how, "error")) MPI_Send(NULL, 1, MPI_INT, 1000000, 0, MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
  int rank, in, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Sendrecv(&rank, 1, MPI_INT, rank, 0, &in, 1, MPI_INT, rank, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  if (argc > 1 && rank == size - 1) end(argv[1]);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  printf("finalized\n");
  return 0;
}
