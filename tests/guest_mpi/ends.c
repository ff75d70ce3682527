/* Process 1 of 2 ends in the way that is asked for; the other one waits for it. What both have printed and
   not flushed is not lost. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static volatile sig_atomic_t rings;
static void ring(int number) { (void)number, rings++; }
#if MPI_VERSION >= 4
static int sessions(void) { /* two, one after the other, and no MPI_Init */
  for (int i = 0; i < 2; i++) {
    MPI_Session session;
    MPI_Group group;
    MPI_Comm all;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "ends", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &all);
    MPI_Barrier(all);
    MPI_Comm_free(&all);
    MPI_Group_free(&group);
    MPI_Session_finalize(&session);
  }
  return 0;
}
#endif
static void late(int me, double s) { /* process 1 comes so late to what follows */
  const double begin_s = MPI_Wtime();
  while (me == 1 && MPI_Wtime() - begin_s < s) continue;
}
/* What makes communicators and windows, looks, and frees: 3 ms, 4 ms, 5 ms. */
static void makes(int me) {
  const int two = 2, ring = 1;
  int there = 0;
  MPI_Comm cart;
  MPI_Win window;
  MPI_Request request;
  void *base;
  late(me, 1e-3);
  MPI_Cart_create(MPI_COMM_WORLD, 1, &two, &ring, 0, &cart);
  MPI_Comm_free(&cart);
  late(me, 2e-3);
  MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
  late(me, 4e-3);
  if (me == 1) MPI_Send(&me, 1, MPI_INT, 0, 9, MPI_COMM_WORLD);
  if (me == 0) MPI_Irecv(&there, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, &request);
  for (there = me; !there;) MPI_Request_get_status(request, &there, MPI_STATUS_IGNORE);
  if (me == 0) MPI_Wait(&request, MPI_STATUS_IGNORE);
  late(me, 5e-3);
  MPI_Win_free(&window);
}
int main(int argc, char **argv) {
  int me;
  const char *how = argc > 1 ? argv[1] : "";
#if MPI_VERSION >= 4
  if (strcmp(how, "sessions") == 0) return sessions();
#endif
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  printf("said by %d\n", me);
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 1 && strcmp(how, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 3);
  if (me == 1 && strcmp(how, "abort-self") == 0) MPI_Abort(MPI_COMM_SELF, 3);
  if (me == 1 && strcmp(how, "abort-null") == 0) MPI_Abort(MPI_COMM_NULL, 3);
  if (strncmp(how, "abort-part", 10) == 0) { /* named, when a name follows */
    MPI_Comm part;
    MPI_Comm_split(MPI_COMM_WORLD, me, 0, &part);
    MPI_Comm_set_name(part, how + 10);
    if (me == 1) MPI_Abort(part, 3);
  }
  if (me == 1 && strcmp(how, "dead") == 0) MPI_Ssend(&me, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
  if (me == 1 && strcmp(how, "dead-probe") == 0) MPI_Probe(0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (me == 1 && strcmp(how, "dead-any") == 0) {
    MPI_Request r[2];
    MPI_Status s[2];
    MPI_Irecv(&me, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &r[0]);
    MPI_Irecv(&me, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, &r[1]);
    MPI_Waitall(2, r, s);
  }
  if (me == 1 && strcmp(how, "exit") == 0) exit(4);
  if (me == 1 && strcmp(how, "_Exit") == 0) fflush(stdout), _Exit(5);
  if (me == 1 && strcmp(how, "forgets") == 0) return 0;
  if (me == 1 && strcmp(how, "crash") == 0) abort();
  if (me == 1 && strcmp(how, "looks") == 0) { /* longer than it takes to call polls a deadlock */
    const double t_s = MPI_Wtime();
    while (MPI_Wtime() - t_s < 30) {
    }
  }
  if (strcmp(how, "alarm") == 0) { /* its handler is called between calls that do not look at the time, soon */
    const struct itimerval once = {{0, 0}, {0, 1000}};
    int n = 0, all = 0, has_rung = 0;
    signal(SIGALRM, ring);
    if (me == 1) setitimer(ITIMER_REAL, &once, NULL);
    for (; !all; n++) {
      has_rung = rings > 0;
      MPI_Allreduce(&has_rung, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    }
    if (n < 10) return 7;
  }
  if (strcmp(how, "makes") == 0) makes(me);
  if (strcmp(how, "turns") == 0 && printf("turns\n") && fflush(stdout) == 0)
    for (;;) MPI_Barrier(MPI_COMM_WORLD);
  if (me == 1 && strcmp(how, "computes") == 0 && printf("computes\n") && fflush(stdout) == 0)
    for (unsigned long n = 1;; n++) rings = (sig_atomic_t)(n * n & 255);
  if (me == 1 && strcmp(how, "reads") == 0 && printf("reads\n") && fflush(stdout) == 0) {
    char path[64]; /* a wait of the host that nobody knows */
    snprintf(path, sizeof path, "%s", argv[2]);
    FILE *in = freopen(path, "r", stderr);
    if (in) fgetc(in);
  }
  if (strcmp(how, "wanders") == 0 && chdir(argv[2]) != 0) return 8;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return me == 1 && strcmp(how, "after") == 0 ? 6 : 0;
}
