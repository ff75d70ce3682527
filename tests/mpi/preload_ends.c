/* Ends in the way that the argument says, after one message to itself; most ways without
   MPI_Finalize. The reports must be there all the same, and the exit status unchanged. */

#include <glob.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
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

/* MPI_Abort where the MPI has called the program */
static void abort_in_handler(MPI_Comm *comm, int *code, ...) {
  (void)code;
  MPI_Abort(*comm, 12);
}
static void abort_in_operator(void *in, void *inout, int *count, MPI_Datatype *type) {
  (void)in, (void)inout, (void)count, (void)type;
  MPI_Abort(MPI_COMM_WORLD, 13);
}
static int abort_in_attribute(MPI_Comm comm, int key, void *value, void *extra) {
  (void)comm, (void)key, (void)value, (void)extra;
  return MPI_Abort(MPI_COMM_WORLD, 14);
}
static void abort_inside(const char *where) {
  MPI_Errhandler handler;
  MPI_Op op;
  MPI_Comm comm;
  int key, a = 1, b = 2;
  if (is(where, "handler")) {
    MPI_Comm_create_errhandler(abort_in_handler, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Send(NULL, 1, MPI_INT, 1000000, 0, MPI_COMM_WORLD);
  } else if (is(where, "operator")) {
    MPI_Op_create(abort_in_operator, 1, &op);
    MPI_Reduce_local(&a, &b, 1, MPI_INT, op);
  } else {
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, abort_in_attribute, &key, NULL);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_set_attr(comm, key, NULL);
    MPI_Comm_free(&comm);
  }
}

/* A timer whose handler lets system calls be interrupted: it reaches the program alone. */
static volatile sig_atomic_t rings;
static void ring(int number) { (void)number, rings++; }
static void alarms(void) {
  static char a[1 << 20], b[1 << 20];
  struct sigaction action;
  const struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
  MPI_Request requests[2];
  memset(&action, 0, sizeof action);
  action.sa_handler = ring;
  sigaction(SIGALRM, &action, NULL);
  setitimer(ITIMER_REAL, &often, NULL);
  for (int i = 0; i < 200 || rings < 20; i++) {
    memset(a, i, sizeof a);
    MPI_Irecv(b, sizeof b, MPI_BYTE, 0, 1, MPI_COMM_SELF, &requests[0]);
    MPI_Isend(a, sizeof a, MPI_BYTE, 0, 1, MPI_COMM_SELF, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    if (memcmp(a, b, sizeof a) != 0) exit(2);
  }
  setitimer(ITIMER_REAL, &never, NULL);
  printf("alarms came\n");
}

/* Messages to oneself until a report is there, or 30 s are over, and some more; then an end without a word, or not. */
static char report_path[4096];
static int report_is_there(void) {
  char pattern[4096];
  glob_t found;
  const char *folder = getenv("NBC_REPORT_DIR");
  snprintf(pattern, sizeof pattern, "%s/*.json", folder ? folder : ".");
  const int is_there = glob(pattern, 0, NULL, &found) == 0;
  if (is_there) snprintf(report_path, sizeof report_path, "%s", found.gl_pathv[0]);
  globfree(&found);
  return is_there;
}
static void long_run(int killed) {
  const double end_s = MPI_Wtime() + 30;
  int a = 0, b, sent = 1, more = 10;
  while (more > 0 && MPI_Wtime() < end_s) {
    MPI_Sendrecv(&a, 1, MPI_INT, 0, 0, &b, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    usleep(2000);
    sent++;
    if (more < 10 || report_is_there()) more--;
  }
  printf("sent %d\n", sent);
  fflush(stdout);
  if (killed) kill(getpid(), SIGKILL);
}
/* Where a report is written first is a folder from then on. */
static void no_room_at_end(void) {
  char part[sizeof report_path + 8];
  long_run(0);
  snprintf(part, sizeof part, "%s.part", report_path);
  mkdir(part, 0777);
}
/* The folder is not there when the first report is saved, and is for the second. */
static void room_later(void) {
  const char *folder = getenv("NBC_REPORT_DIR");
  const double until_s = MPI_Wtime() + 1.7;
  char away[4096];
  snprintf(away, sizeof away, "%s.away", folder ? folder : "none");
  if (!folder || rename(folder, away) != 0) exit(1);
  while (MPI_Wtime() < until_s) usleep(1000);
  MPI_Barrier(MPI_COMM_SELF); /* when it ends, one is due */
  rename(away, folder);
  long_run(1);
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
  if (strncmp(how, "abort_in_", 9) == 0) abort_inside(how + 9);
  if (is(how, "alarms")) alarms();
  if (is(how, "elsewhere")) no_room_at_end();
  if (is(how, "room_later")) room_later();
  if (is(how, "killed") || is(how, "lasts")) long_run(is(how, "killed"));
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
