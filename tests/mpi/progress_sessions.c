/* progress_sessions.c: MPI Sessions (MPI 4). Each process prints what it found; rank 0 of each communicator sums.
   Argument: alone   two sessions at once and nothing else; the first is also used by a second thread
             beside  a session beside the world, which lives on after MPI_Finalize
             left    exit with a session open
   (MPICH 4.0.2 crashes by itself when a session is opened after all were closed.) */
#include "tools/mpi_h.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if !HAS_MPI_4
int main(void) { return puts("no sessions"), 0; }
#else
static int failed;
static void check(int good, const char *what) {
  if (!good) printf("not so: %s\n", what), failed = 1;
}

typedef struct own {
  MPI_Session session;
  MPI_Comm comm;
} own;

static void open_one(own *o, const char *tag) {
  MPI_Group group;
  char set[MPI_MAX_PSET_NAME_LEN];
  int count = 0, length = sizeof set;
  MPI_Info about;
  check(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &o->session) == MPI_SUCCESS,
        "Session_init");
  check(MPI_Session_get_num_psets(o->session, MPI_INFO_NULL, &count) == MPI_SUCCESS && count >= 2,
        "two process sets");
  for (int i = 0; i < count && i < 2; i++, length = sizeof set) {
    check(MPI_Session_get_nth_pset(o->session, MPI_INFO_NULL, i, &length, set) == MPI_SUCCESS,
          "a set's name");
    check(MPI_Session_get_pset_info(o->session, set, &about) == MPI_SUCCESS, "a set's info");
    MPI_Info_free(&about);
  }
  check(MPI_Group_from_session_pset(o->session, "mpi://WORLD", &group) == MPI_SUCCESS,
        "the world's group");
  check(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &o->comm) ==
            MPI_SUCCESS,
        "its communicator");
  MPI_Group_free(&group);
}

static void close_one(own *o) {
  check(MPI_Comm_disconnect(&o->comm) == MPI_SUCCESS && o->comm == MPI_COMM_NULL,
        "Comm_disconnect");
  check(MPI_Session_finalize(&o->session) == MPI_SUCCESS && o->session == MPI_SESSION_NULL,
        "Session_finalize");
}

/* What the progress preload watches: long messages and collectives. (Persistent requests and windows of MPICH
   4.0.2 crash by themselves before MPI_Init, docs/mpi_errors.md.) */
static void use(MPI_Comm comm) {
  enum { WORDS = 50000 };
  int rank, size, sum = 0;
  static int out[WORDS], in[WORDS];
  MPI_Request r[3];
  MPI_Status statuses[3];
  MPI_Comm_rank(comm, &rank), MPI_Comm_size(comm, &size);
  for (int i = 0; i < WORDS; i++) out[i] = rank + i;
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  MPI_Irecv(in, WORDS, MPI_INT, from, 3, comm, &r[0]);
  MPI_Isend(out, WORDS, MPI_INT, to, 3, comm, &r[1]);
  MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm, &r[2]);
  check(MPI_Waitall(3, r, statuses) == MPI_SUCCESS, "Waitall");
  check(in[0] == from && in[WORDS - 1] == from + WORDS - 1, "data of a long message");
  check(sum == size * (size - 1) / 2, "sum");
  if (rank == 0) printf("%d processes, sum %d\n", size, sum);
}

static void *in_a_thread(void *o) {
  use(((own *)o)->comm);
  return NULL;
}

static void alone(void) {
  own a, b;
  pthread_t thread;
  open_one(&a, "first"), open_one(&b, "second");
  use(a.comm), use(b.comm);
  check(pthread_create(&thread, NULL, in_a_thread, &a) == 0, "a thread");
  pthread_join(thread, NULL);
  close_one(&a);
  use(b.comm);
  close_one(&b);
}

int main(int argc, char **argv) {
  const char *const how = argc > 1 ? argv[1] : "alone";
  int begun = -1, ended = -1;
  own o;
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (strcmp(how, "alone") == 0) alone();
  if (strcmp(how, "left") == 0) {
    open_one(&o, "left");
    use(o.comm);
    exit(7);
  }
  if (strcmp(how, "beside") == 0) {
    MPI_Init(&argc, &argv);
    open_one(&o, "beside"), use(o.comm);
    use(MPI_COMM_WORLD);
    MPI_Finalize();
    use(o.comm), close_one(&o);
  }
  MPI_Initialized(&begun), MPI_Finalized(&ended);
  printf("initialised %d, finalised %d, %s\n", begun, ended, failed ? "failed" : "good");
  return failed;
}
#endif
