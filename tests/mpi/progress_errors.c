/* progress_errors.c: error handlers of a program. They run once per error, with the right object and code, may
   call the MPI, and may leave the call by longjmp: the program goes on, and messages still move while it computes.
   Arguments: return, jump, or change (the code; prints what calls return then), what the handlers do; the thread
   level to ask for; moves: messages must move without calls. TEST_WINDOW=1: windows too. */
#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { INTS = 1 << 20 };
static int rank, size, failed, jumps, changes, count, seen_class;
static MPI_Comm comm, seen_comm;
static MPI_Win win, seen_win;
static jmp_buf back;

static void good(int is_true, const char *what, int got) {
  if (!is_true && failed++ < 9) printf("  rank %d: %s: %d\n", rank, what, got);
}

static void note(int *changed) {
  const int code = *changed;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0, own = -1;
  count++;
  MPI_Error_class(code, &seen_class);
  MPI_Error_string(code, text, &length);
  MPI_Comm_rank(MPI_COMM_WORLD, &own);
  good(length > 0 && own == rank, "a handler calls the MPI", own);
  if (changes) *changed = MPI_SUCCESS;
  if (jumps) longjmp(back, 1);
}
static void on_comm(MPI_Comm *at, int *code, ...) {
  seen_comm = *at;
  note(code);
}
static void on_world(MPI_Comm *at, int *code, ...) {
  seen_comm = *at;
  note(code);
}
static void on_win(MPI_Win *at, int *code, ...) {
  seen_win = *at;
  note(code);
}

/* What one wrong call does. `where`: MPI_COMM_NULL is a window. */
#define WRONG(call, where, class, name)                                                            \
  do {                                                                                             \
    count = 0, seen_class = -1, seen_comm = MPI_COMM_NULL, seen_win = MPI_WIN_NULL;                \
    volatile int rc_ = -1;                                                                                  \
    if (!setjmp(back)) rc_ = (call);                                                               \
    if (changes && rank == 0) printf("%s: %s\n", name, rc_ == MPI_SUCCESS ? "success" : "error");  \
    good(changes || (jumps ? rc_ == -1 : rc_ > 0), name ": returns", rc_);                         \
    good(count == 1, name ": calls of the handler", count);                                        \
    good(!class || seen_class == class, name ": class", seen_class);                               \
    good((where) == MPI_COMM_NULL ? seen_win == win                                                \
                                  : seen_comm == (where) || seen_comm == MPI_COMM_WORLD ||         \
                                        seen_comm == MPI_COMM_SELF, /* MPICH 4.2: of a wait */      \
         name ": object", 0);                                                                      \
    still_works();                                                                                 \
  } while (0)

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *other_thread(void *level) {
  int own = -1;
  (void)level;
  MPI_Allreduce(&rank, &own, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
  good(own == rank, "another thread", own);
  return NULL;
}

static int level;
static void still_works(void) {
  int from = -1, sum = 0;
  MPI_Request request;
  pthread_t thread;
  MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 7, &from, 1, MPI_INT, (rank + size - 1) % size, 7,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  good(from == (rank + size - 1) % size, "a message afterwards", from);
  MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  good(sum == size * (size - 1) / 2, "a sum afterwards", sum);
  if (level < MPI_THREAD_SERIALIZED) return;
  pthread_create(&thread, NULL, other_thread, NULL);
  pthread_join(thread, NULL);
}

/* 4 MiB come without a call: the worker does not take the program for being inside the MPI. */
static void still_moves(void) {
  const struct timespec pause = {0, 100000};
  const double end = seconds() + 60;
  MPI_Request requests[2];
  int *const a = malloc(2 * INTS * sizeof *a), *const b = a ? a + INTS : NULL;
  if (!a) exit(1);
  for (int i = 0; i < INTS; i++) a[i] = rank, b[i] = -1;
  MPI_Irecv(b, INTS, MPI_INT, (rank + size - 1) % size, 1, comm, &requests[0]);
  MPI_Isend(a, INTS, MPI_INT, (rank + 1) % size, 1, comm, &requests[1]);
  while (((volatile int *)b)[INTS - 1] < 0 && seconds() < end) nanosleep(&pause, NULL);
  good(((volatile int *)b)[INTS - 1] >= 0, "a long message comes without a call", 0);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  free(a);
}

static int wait_for(int how, MPI_Request *request) {
  int flag = 0, index, rc = MPI_SUCCESS;
  switch (how) {
  case 0: return MPI_Wait(request, MPI_STATUS_IGNORE);
  case 1: return MPI_Waitany(1, request, &index, MPI_STATUS_IGNORE);
  default:
    while (rc == MPI_SUCCESS && !flag) rc = MPI_Test(request, &flag, MPI_STATUS_IGNORE);
    return rc;
  }
}
/* Messages longer than their receives. */
static void cut(void) {
  int two[2] = {1, 2}, one = 0;
  MPI_Request sending;
  if (size == 1) return; /* to oneself: one of the MPIs cuts without a word */
  MPI_Isend(two, 2, MPI_INT, (rank + 1) % size, 2, comm, &sending);
  WRONG(MPI_Recv(&one, 1, MPI_INT, (rank + size - 1) % size, 2, comm, MPI_STATUS_IGNORE), comm, MPI_ERR_TRUNCATE,
        "MPI_Recv");
  MPI_Wait(&sending, MPI_STATUS_IGNORE);
}
static void cut_later(int how) {
  int two[2] = {1, 2}, one = 0;
  MPI_Request request, sending;
  if (size == 1) return;
  MPI_Irecv(&one, 1, MPI_INT, (rank + size - 1) % size, 3, comm, &request);
  MPI_Isend(two, 2, MPI_INT, (rank + 1) % size, 3, comm, &sending);
  WRONG(wait_for(how, &request), comm, MPI_ERR_TRUNCATE, "waiting");
  MPI_Wait(&sending, MPI_STATUS_IGNORE);
}

static void handlers(void) {
  MPI_Errhandler of_comm, of_world, of_win;
  MPI_Comm_create_errhandler(on_comm, &of_comm);
  MPI_Comm_create_errhandler(on_world, &of_world);
  MPI_Win_create_errhandler(on_win, &of_win);
  MPI_Comm_set_errhandler(comm, of_comm);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, of_world);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, of_world);
  if (win != MPI_WIN_NULL) MPI_Win_set_errhandler(win, of_win);
  MPI_Errhandler_free(&of_comm);
  MPI_Errhandler_free(&of_world);
  MPI_Errhandler_free(&of_win);
}

int main(int argc, char **argv) {
  int all = 0, *memory = NULL, small = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  changes = argc > 1 && strcmp(argv[1], "change") == 0;
  jumps = argc > 1 && strcmp(argv[1], "jump") == 0;
  MPI_Init_thread(&argc, &argv, argc > 2 ? atoi(argv[2]) : 0, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  win = MPI_WIN_NULL;
  if (getenv("TEST_WINDOW")) MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  handlers();
  for (int round = 0; round < 2; round++) {
    WRONG(MPI_Send(&rank, 1, MPI_INT, size, 0, comm), comm, MPI_ERR_RANK, "MPI_Send");
    WRONG(MPI_Isend(&rank, 1, MPI_INT, size, 0, comm, &request), comm, MPI_ERR_RANK, "MPI_Isend");
    WRONG(MPI_Comm_call_errhandler(comm, MPI_ERR_TAG) ? -1 : 1, comm, MPI_ERR_TAG, "MPI_Comm_call_errhandler");
    WRONG(MPI_Cart_coords(comm, 0, 1, &small), comm, MPI_ERR_TOPOLOGY, "MPI_Cart_coords");
    WRONG(MPI_Ibcast(&small, 1, MPI_INT, size, comm, &request), comm, MPI_ERR_ROOT, "MPI_Ibcast");
    if (win != MPI_WIN_NULL) WRONG(MPI_Put(&rank, 1, MPI_INT, size, 0, 1, MPI_INT, win), MPI_COMM_NULL, MPI_ERR_RANK, "MPI_Put");
    cut();
    for (int how = 0; how < 3; how++) cut_later(how);
    if (argc > 3) still_moves();
  }
  if (win != MPI_WIN_NULL) MPI_Win_free(&win);
  MPI_Comm_free(&comm);
  MPI_Reduce(&failed, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d processes checked, %d checks failed\n", size, all);
  MPI_Finalize();
  return 0;
}
