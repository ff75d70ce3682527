/* progress_requests.c: what the MPI standard says about requests, asked of whatever MPI is below: mixed arrays,
   persistent and generalized requests, cancel, get_status, free, statuses, errors. Any number of processes;
   prints "N processes checked, M checks failed". */
#include <mpi.h>
#include "progress_checks.h"

static int left, right;
static MPI_Comm comm;

#define OK(call) check((call) == MPI_SUCCESS, #call, __LINE__)

static int came(const MPI_Status *s, int source, int tag, int ints) {
  int count = -1;
  MPI_Get_count(s, MPI_INT, &count);
  return s->MPI_SOURCE == source && s->MPI_TAG == tag && count == ints;
}

/* ---- generalized requests ---------------------------------------------------------------------- */
static int queries, frees, cancels;
static int query(void *state, MPI_Status *status) {
  queries++;
  MPI_Status_set_elements(status, MPI_INT, *(int *)state);
  MPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = 77;
  status->MPI_TAG = 88;
  return MPI_SUCCESS;
}
static int release(void *state) {
  (void)state;
  frees++;
  return MPI_SUCCESS;
}
static int cancel(void *state, int complete) {
  (void)state;
  cancels += complete ? 1 : 2;
  return MPI_SUCCESS;
}

static void nulls_and_inactive(void) {
  MPI_Request none = MPI_REQUEST_NULL, array[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status s, all[3];
  int flag = 0, index = 5, done = 5, which[3];
  OK(MPI_Wait(&none, &s));
  CHECK(is_empty(&s));
  OK(MPI_Test(&none, &flag, &s));
  CHECK(flag && is_empty(&s));
  OK(MPI_Request_get_status(none, &flag, &s));
  CHECK(flag && is_empty(&s));
  OK(MPI_Waitany(3, array, &index, &s));
  CHECK(index == MPI_UNDEFINED && is_empty(&s));
  OK(MPI_Testany(3, array, &index, &flag, &s));
  CHECK(flag && index == MPI_UNDEFINED && is_empty(&s));
  OK(MPI_Waitall(3, array, all));
  CHECK(is_empty(&all[0]) && is_empty(&all[2]));
  OK(MPI_Testall(3, array, &flag, all));
  CHECK(flag && is_empty(&all[1]));
  OK(MPI_Waitsome(3, array, &done, which, all));
  CHECK(done == MPI_UNDEFINED);
  OK(MPI_Testsome(3, array, &done, which, all));
  CHECK(done == MPI_UNDEFINED);
  OK(MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE));
  OK(MPI_Recv_init(&flag, 1, MPI_INT, MPI_PROC_NULL, 0, comm, &none));
  OK(MPI_Wait(&none, &s));
  CHECK(is_empty(&s) && none != MPI_REQUEST_NULL);
  OK(MPI_Test(&none, &flag, &s));
  CHECK(flag && is_empty(&s));
  OK(MPI_Start(&none));
  OK(MPI_Wait(&none, &s));
  CHECK(none != MPI_REQUEST_NULL); /* MPICH 4.0 does not say MPI_PROC_NULL */
  OK(MPI_Request_free(&none));
  CHECK(none == MPI_REQUEST_NULL);
}

static void mixed_waitall(int ints) {
  MPI_Request r[7], persistent;
  MPI_Status s[7];
  int state = 3, *in = malloc((size_t)ints * sizeof *in), *out = malloc((size_t)ints * sizeof *out);
  int *sum = malloc((size_t)ints * sizeof *sum), word = -1, from = rank == 0 ? 4711 : 0;
  for (int i = 0; i < ints; i++) out[i] = rank + i, in[i] = -1;
  queries = frees = 0;
  OK(MPI_Recv_init(&word, 1, MPI_INT, left, 3, comm, &persistent));
  for (int round = 0; round < 2; round++) {
    r[0] = MPI_REQUEST_NULL;
    OK(MPI_Irecv(in, ints, MPI_INT, left, 2, comm, &r[1]));
    OK(MPI_Start(&persistent));
    r[2] = persistent;
    OK(MPI_Iallreduce(out, sum, ints, MPI_INT, MPI_SUM, comm, &r[3]));
    OK(MPI_Isend(out, ints, MPI_INT, right, 2, comm, &r[4]));
    OK(MPI_Grequest_start(query, release, cancel, &state, &r[5]));
    OK(MPI_Ibcast(&from, 1, MPI_INT, 0, comm, &r[6]));
    OK(MPI_Send(&rank, 1, MPI_INT, right, 3, comm));
    OK(MPI_Grequest_complete(r[5]));
    OK(MPI_Waitall(7, r, s));
    CHECK(r[0] == MPI_REQUEST_NULL && r[1] == MPI_REQUEST_NULL && r[2] == persistent && r[3] == MPI_REQUEST_NULL);
    CHECK(r[4] == MPI_REQUEST_NULL && r[5] == MPI_REQUEST_NULL && r[6] == MPI_REQUEST_NULL);
    CHECK(is_empty(&s[0]) && came(&s[1], left, 2, ints) && came(&s[2], left, 3, 1));
    CHECK(s[5].MPI_SOURCE == 77 && s[5].MPI_TAG == 88);
    CHECK(in[ints - 1] == left + ints - 1 && word == left && from == 4711);
    CHECK(sum[ints - 1] == size * (size - 1) / 2 + size * (ints - 1));
    word = -1;
  }
  CHECK(queries >= 2 && frees == 2); /* MPICH asks at every test */
  OK(MPI_Request_free(&persistent));
  free(in), free(out), free(sum);
}

static void any_and_some(int use_tests) {
  enum { N = 6 };
  MPI_Request r[N];
  MPI_Status s, all[N];
  int in[3] = {-1, -1, -1}, out[3] = {rank, rank + 10, rank + 20}, sum = -1, seen[N] = {0}, left_count = N, index, which[N];
  for (int i = 0; i < 3; i++) OK(MPI_Irecv(&in[i], 1, MPI_INT, left, 20 + i, comm, &r[i]));
  OK(MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_MAX, comm, &r[3]));
  OK(MPI_Ibarrier(comm, &r[4]));
  OK(MPI_Issend(&out[2], 1, MPI_INT, right, 22, comm, &r[5]));
  for (int i = 1; i >= 0; i--) OK(MPI_Send(&out[i], 1, MPI_INT, right, 20 + i, comm));
  for (int i = 0; i < 2; i++) { /* two singly, the others by some */
    int flag = 0;
    if (use_tests)
      while (!flag) OK(MPI_Testany(N, r, &index, &flag, &s));
    else
      OK(MPI_Waitany(N, r, &index, &s));
    CHECK(index >= 0 && index < N && !seen[index] && r[index] == MPI_REQUEST_NULL);
    if (index >= 0 && index < 3) CHECK(came(&s, left, 20 + index, 1));
    if (index >= 0 && index < N) seen[index] = 1;
    left_count--;
  }
  while (left_count > 0) {
    int done = 0;
    if (use_tests) OK(MPI_Testsome(N, r, &done, which, all));
    else OK(MPI_Waitsome(N, r, &done, which, all));
    CHECK(done != MPI_UNDEFINED && done <= left_count);
    for (int i = 0; i < done; i++) {
      CHECK(!seen[which[i]] && r[which[i]] == MPI_REQUEST_NULL);
      if (which[i] < 3) CHECK(came(&all[i], left, 20 + which[i], 1));
      seen[which[i]] = 1;
    }
    left_count -= done;
  }
  CHECK(in[0] == left && in[1] == left + 10 && in[2] == left + 20 && sum == size - 1);
}

static void get_status_then_wait(void) {
  MPI_Request r;
  MPI_Status s;
  int in = -1, sum = -1, flag = 0;
  OK(MPI_Irecv(&in, 1, MPI_INT, left, 30, comm, &r));
  OK(MPI_Send(&rank, 1, MPI_INT, right, 30, comm));
  while (!flag) OK(MPI_Request_get_status(r, &flag, &s));
  CHECK(r != MPI_REQUEST_NULL && came(&s, left, 30, 1) && in == left);
  OK(MPI_Request_get_status(r, &flag, MPI_STATUS_IGNORE));
  CHECK(flag);
  OK(MPI_Wait(&r, &s));
  CHECK(r == MPI_REQUEST_NULL && came(&s, left, 30, 1));
  OK(MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm, &r));
  for (flag = 0; !flag;) OK(MPI_Request_get_status(r, &flag, &s));
  CHECK(r != MPI_REQUEST_NULL && sum == size * (size - 1) / 2);
  for (flag = 0; !flag;) OK(MPI_Test(&r, &flag, &s));
  CHECK(r == MPI_REQUEST_NULL);
}

static void cancelled(void) {
  MPI_Request r, both[2];
  MPI_Status s;
  int in = -1, flag = 0;
  OK(MPI_Irecv(&in, 1, MPI_INT, left, 40, comm, &r)); /* nobody sends it */
  OK(MPI_Cancel(&r));
  CHECK(r != MPI_REQUEST_NULL);
  OK(MPI_Wait(&r, &s));
  OK(MPI_Test_cancelled(&s, &flag));
  CHECK(flag && r == MPI_REQUEST_NULL && in == -1);
  OK(MPI_Recv_init(&in, 1, MPI_INT, left, 41, comm, &both[0]));
  both[1] = MPI_REQUEST_NULL;
  OK(MPI_Start(&both[0]));
  OK(MPI_Cancel(&both[0]));
  OK(MPI_Waitall(2, both, MPI_STATUSES_IGNORE));
  CHECK(both[0] != MPI_REQUEST_NULL);
  OK(MPI_Barrier(comm));   /* the next message is not for the cancelled one */
  OK(MPI_Start(&both[0])); /* it can be used again */
  OK(MPI_Send(&rank, 1, MPI_INT, right, 41, comm));
  OK(MPI_Wait(&both[0], &s));
  OK(MPI_Test_cancelled(&s, &flag));
  CHECK(!flag && came(&s, left, 41, 1) && in == left);
  OK(MPI_Request_free(&both[0]));
}

static void persistent_rounds(void) {
  enum { N = 1 << 16 };
  MPI_Request r[3];
  int *in = malloc(N * sizeof *in), *out = malloc(N * sizeof *out), little = -1;
  OK(MPI_Recv_init(in, N, MPI_INT, left, 50, comm, &r[0]));
  OK(MPI_Send_init(out, N, MPI_INT, right, 50, comm, &r[1]));
  OK(MPI_Recv_init(&little, 1, MPI_INT, left, 51, comm, &r[2]));
  for (int round = 0; round < 5; round++) {
    int done = 0, which[3], flag = 0, all = 0;
    for (int i = 0; i < N; i++) out[i] = rank * 7 + round, in[i] = -1;
    OK(MPI_Startall(3, r));
    OK(MPI_Send(&round, 1, MPI_INT, right, 51, comm));
    if (round == 0) OK(MPI_Waitall(3, r, MPI_STATUSES_IGNORE));
    else if (round == 1)
      while (!flag) OK(MPI_Testall(3, r, &flag, MPI_STATUSES_IGNORE));
    else if (round == 2)
      while (all < 3) {
        OK(MPI_Waitsome(3, r, &done, which, MPI_STATUSES_IGNORE));
        CHECK(done != MPI_UNDEFINED);
        all += done;
      }
    else if (round == 3)
      for (; all < 3; all++) OK(MPI_Waitany(3, r, &done, MPI_STATUS_IGNORE));
    else
      for (int i = 2; i >= 0; i--) OK(MPI_Wait(&r[i], MPI_STATUS_IGNORE));
    CHECK(in[0] == left * 7 + round && in[N - 1] == left * 7 + round && little == round);
    CHECK(r[0] != MPI_REQUEST_NULL && r[1] != MPI_REQUEST_NULL && r[2] != MPI_REQUEST_NULL);
  }
  for (int i = 0; i < 3; i++) OK(MPI_Request_free(&r[i]));
  free(in), free(out);
}

static void freed_while_active(void) {
  MPI_Request r;
  enum { N = 1 << 17 };
  int *in = malloc(N * sizeof *in), *out = malloc(N * sizeof *out), token = 0;
  for (int i = 0; i < N; i++) out[i] = rank ^ i, in[i] = -1;
  OK(MPI_Isend(out, N, MPI_INT, right, 60, comm, &r));
  OK(MPI_Request_free(&r));
  CHECK(r == MPI_REQUEST_NULL);
  OK(MPI_Recv(in, N, MPI_INT, left, 60, comm, MPI_STATUS_IGNORE));
  CHECK(in[N - 1] == (left ^ (N - 1)));
  OK(MPI_Irecv(&token, 1, MPI_INT, left, 61, comm, &r)); /* arrives before what tells of it: order of messages */
  OK(MPI_Request_free(&r));
  OK(MPI_Barrier(comm));
  const int word = 900 + rank;
  OK(MPI_Ssend(&word, 1, MPI_INT, right, 61, comm));
  OK(MPI_Barrier(comm));
  while (*(volatile int *)&token == 0) {
    int flag;
    OK(MPI_Iprobe(MPI_ANY_SOURCE, 62, comm, &flag, MPI_STATUS_IGNORE));
  }
  CHECK(token == 900 + left);
  OK(MPI_Barrier(comm)); /* nobody's send buffer goes before it was read */
  free(in), free(out);
}

static void generalized_alone(void) {
  MPI_Request r;
  MPI_Status s;
  int state = 2, flag = 1, count = -1;
  queries = frees = cancels = 0;
  OK(MPI_Grequest_start(query, release, cancel, &state, &r));
  OK(MPI_Test(&r, &flag, &s));
  CHECK(!flag && r != MPI_REQUEST_NULL);
  OK(MPI_Cancel(&r));
  CHECK(cancels == 2);
  OK(MPI_Grequest_complete(r));
  OK(MPI_Request_get_status(r, &flag, &s));
  CHECK(flag && r != MPI_REQUEST_NULL && frees == 0);
  OK(MPI_Wait(&r, &s));
  MPI_Get_elements(&s, MPI_INT, &count);
  CHECK(r == MPI_REQUEST_NULL && frees == 1 && count == 2 && s.MPI_SOURCE == 77);
  OK(MPI_Grequest_start(query, release, cancel, &state, &r));
  OK(MPI_Grequest_complete(r));
  OK(MPI_Request_free(&r));
  CHECK(r == MPI_REQUEST_NULL && frees == 2);
}

/* Truncation is told by the request it concerns, by no other. */
static void errors_are_told(void) {
  MPI_Request r[2];
  MPI_Status s[2];
  int in[4], other = -1, out[4] = {1, 2, 3, 4}, class = MPI_SUCCESS;
  if (size == 1) return; /* Open MPI 4.1 cuts messages to oneself without a word */
  OK(MPI_Irecv(in, 2, MPI_INT, left, 70, comm, &r[0]));
  OK(MPI_Irecv(&other, 1, MPI_INT, left, 71, comm, &r[1]));
  OK(MPI_Barrier(comm)); /* the receives are posted */
  OK(MPI_Send(out, 4, MPI_INT, right, 70, comm));
  OK(MPI_Send(&rank, 1, MPI_INT, right, 71, comm));
  const int rc = MPI_Waitall(2, r, s);
  MPI_Error_class(rc, &class);
  CHECK(class == MPI_ERR_IN_STATUS);
  MPI_Error_class(s[0].MPI_ERROR, &class);
  CHECK(class == MPI_ERR_TRUNCATE);
  if (s[1].MPI_ERROR == MPI_ERR_PENDING) OK(MPI_Wait(&r[1], MPI_STATUS_IGNORE));
  else CHECK(s[1].MPI_ERROR == MPI_SUCCESS);
  CHECK(other == left);
}

/* A request may be completed in another order than it was started, also with others' started between. */
static void collectives_out_of_order(void) {
  MPI_Request r[3];
  MPI_Comm other;
  int a = -1, b = -1, c = rank, flag = 0;
  OK(MPI_Comm_dup(comm, &other));
  OK(MPI_Iallreduce(&rank, &a, 1, MPI_INT, MPI_SUM, comm, &r[0]));
  OK(MPI_Iallreduce(&rank, &b, 1, MPI_INT, MPI_MAX, other, &r[1]));
  OK(MPI_Ibcast(&c, 1, MPI_INT, size - 1, comm, &r[2]));
  if (rank % 2) { /* the ranks wait in different orders: with MPI nobody hangs */
    OK(MPI_Wait(&r[1], MPI_STATUS_IGNORE));
    OK(MPI_Wait(&r[2], MPI_STATUS_IGNORE));
    OK(MPI_Wait(&r[0], MPI_STATUS_IGNORE));
  } else {
    OK(MPI_Wait(&r[0], MPI_STATUS_IGNORE));
    while (!flag) OK(MPI_Testall(2, &r[1], &flag, MPI_STATUSES_IGNORE));
  }
  CHECK(a == size * (size - 1) / 2 && b == size - 1 && c == size - 1);
  /* started, then a blocking message on which another rank's start depends */
  if (size > 1) {
    if (rank == 0) {
      OK(MPI_Ibarrier(comm, &r[0]));
      OK(MPI_Recv(&a, 1, MPI_INT, size - 1, 80, comm, MPI_STATUS_IGNORE));
    } else {
      if (rank == size - 1) OK(MPI_Send(&rank, 1, MPI_INT, 0, 80, comm));
      OK(MPI_Ibarrier(comm, &r[0]));
    }
    OK(MPI_Wait(&r[0], MPI_STATUS_IGNORE));
  }
  OK(MPI_Comm_free(&other)); /* not while one is under way: Open MPI 4.1 crashes */
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  left = (rank + size - 1) % size, right = (rank + 1) % size;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  nulls_and_inactive();
  mixed_waitall(1);
  mixed_waitall(100000);
  any_and_some(0);
  any_and_some(1);
  get_status_then_wait();
  cancelled();
  persistent_rounds();
  freed_while_active();
  generalized_alone();
  errors_are_told();
  collectives_out_of_order();
  const int status = all_checked();
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return status;
}
