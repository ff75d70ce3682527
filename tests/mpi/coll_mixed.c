/* coll_mixed.c: nbc_mpi_comm makes all that a collective needs, with every policy; requests of ours and of MPI are
   waited for together, whatever of them comes first. Argument: the thread level. */
#define NBC_WITH_MPI
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#include <stdlib.h>
#include <string.h>

static int rank, size, failed;
#define GOOD(condition)                                                                            \
  do {                                                                                             \
    if (!(condition)) printf("  rank %d, line %d: not true: %s\n", rank, __LINE__, #condition), failed = 1; \
  } while (0)

enum { N = 4, LONG = 60000 };
typedef struct set { /* N of ours, N of MPI's: messages to the right, one of each long */
  nbc_request *ours[N + 1];
  MPI_Request theirs[2 * N + 1];
  int64_t in[N], out[N];
} set;
static int given[N][LONG], taken[N][LONG];

static void start(set *s, nbc_comm *comm, int round) {
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  for (int i = 0; i < N; i++) {
    const int count = i == 1 ? LONG : 3;
    for (int k = 0; k < count; k++) given[i][k] = rank + round + i + k, taken[i][k] = -1;
    s->in[i] = rank + i + round, s->out[i] = -1;
    MPI_Irecv(taken[i], count, MPI_INT, left, i, MPI_COMM_WORLD, &s->theirs[i]);
    GOOD(nbc_iallreduce(comm, &s->in[i], &s->out[i], 1, NBC_TYPE_INT64, NBC_REDUCE_SUM, &s->ours[i]) == NBC_OK);
    MPI_Isend(given[i], count, MPI_INT, right, i, MPI_COMM_WORLD, &s->theirs[N + i]);
  }
  s->ours[N] = NULL, s->theirs[2 * N] = MPI_REQUEST_NULL;
}
static void right(const set *s, int round) {
  const int left = (rank + size - 1) % size;
  for (int i = 0; i <= 2 * N; i++) GOOD(s->theirs[i] == MPI_REQUEST_NULL);
  for (int i = 0; i < N; i++) {
    const int last = i == 1 ? LONG - 1 : 2;
    GOOD(!s->ours[i] && s->out[i] == size * (size - 1) / 2 + size * (i + round));
    GOOD(taken[i][last] == left + round + i + last);
  }
}

static void all_sorts(nbc_comm *comm) {
  set s;
  MPI_Status statuses[2 * N + 1];
  nbc_status status = NBC_PENDING;
  int index = 7, done = 7, which[3 * N + 2];
  start(&s, comm, 0);
  GOOD(nbc_mpi_waitall(N + 1, s.ours, 2 * N + 1, s.theirs, statuses, 0) == NBC_OK);
  GOOD(statuses[2].MPI_TAG == 2 && statuses[2].MPI_SOURCE == (rank + size - 1) % size);
  right(&s, 0);
  GOOD(nbc_mpi_waitall(N + 1, s.ours, 2 * N + 1, s.theirs, MPI_STATUSES_IGNORE, 0) == NBC_OK); /* nothing left */
  GOOD(nbc_mpi_waitany(N + 1, s.ours, 2 * N + 1, s.theirs, &index, statuses, 0) == NBC_OK && index == -1);
  GOOD(nbc_mpi_waitsome(N + 1, s.ours, 2 * N + 1, s.theirs, &done, which, statuses, 0) == NBC_OK && done == 0);

  start(&s, comm, 1);
  while (status == NBC_PENDING) status = nbc_mpi_testall(N + 1, s.ours, 2 * N + 1, s.theirs, MPI_STATUSES_IGNORE);
  GOOD(status == NBC_OK);
  right(&s, 1);

  bool seen[3 * N + 2] = {false};
  start(&s, comm, 2);
  for (int left_count = 3 * N; left_count > 0; left_count--) {
    GOOD(nbc_mpi_waitany(N + 1, s.ours, 2 * N + 1, s.theirs, &index, statuses, 0) == NBC_OK);
    GOOD(index >= 0 && index < 3 * N + 1 && index != N && !seen[index]);
    if (index < 0) break;
    seen[index] = true;
    if (index > N && index < 2 * N + 1) GOOD(statuses[0].MPI_TAG == index - N - 1);
  }
  right(&s, 2);

  memset(seen, 0, sizeof seen);
  start(&s, comm, 3);
  for (int left_count = 3 * N; left_count > 0; left_count -= done) {
    GOOD(nbc_mpi_waitsome(N + 1, s.ours, 2 * N + 1, s.theirs, &done, which, statuses, 0) == NBC_OK && done > 0);
    if (done <= 0) break;
    for (int i = 0; i < done; i++) {
      GOOD(which[i] >= 0 && which[i] < 3 * N + 1 && which[i] != N && !seen[which[i]]);
      seen[which[i]] = true;
    }
  }
  right(&s, 3);

  /* a time limit: one of ours that rank 0 starts late, and a message that it sends late */
  int word = rank;
  if (rank) {
    GOOD(nbc_ibarrier(comm, &s.ours[0]) == NBC_OK);
    MPI_Irecv(&word, 1, MPI_INT, 0, 77, MPI_COMM_WORLD, &s.theirs[0]);
    GOOD(nbc_mpi_waitall(1, s.ours, 1, s.theirs, MPI_STATUSES_IGNORE, 1000000) == NBC_E_TIMEOUT && s.ours[0]);
    GOOD(nbc_mpi_waitany(1, s.ours, 1, s.theirs, &index, MPI_STATUS_IGNORE, 1000000) == NBC_E_TIMEOUT && index == -1);
    GOOD(nbc_mpi_waitsome(1, s.ours, 1, s.theirs, &done, which, MPI_STATUSES_IGNORE, 1000000) == NBC_E_TIMEOUT && done == 0);
    MPI_Send(&word, 1, MPI_INT, 0, 78, MPI_COMM_WORLD);
    GOOD(nbc_mpi_waitall(1, s.ours, 1, s.theirs, MPI_STATUSES_IGNORE, 0) == NBC_OK && word == 0);
  } else {
    for (int p = 1; p < size; p++) MPI_Recv(&word, 1, MPI_INT, p, 78, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    GOOD(nbc_ibarrier(comm, &s.ours[0]) == NBC_OK);
    word = 0;
    for (int p = 1; p < size; p++) MPI_Send(&word, 1, MPI_INT, p, 77, MPI_COMM_WORLD);
    GOOD(nbc_mpi_waitall(1, s.ours, 0, NULL, MPI_STATUSES_IGNORE, 0) == NBC_OK);
  }
  GOOD(nbc_mpi_waitall(-1, s.ours, 0, NULL, MPI_STATUSES_IGNORE, 0) == NBC_E_INVAL);
  GOOD(nbc_mpi_waitany(0, NULL, 1, NULL, &index, MPI_STATUS_IGNORE, 0) == NBC_E_INVAL);
}

/* The root's short broadcasts are over before anybody else begins, however many: they begin when the root's own
   message tells them to. */
static void root_goes_ahead(nbc_comm *comm) {
  enum { COUNT = 5000 };
  int word = 0;
  if (rank) MPI_Recv(&word, 1, MPI_INT, 0, 79, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < COUNT; i++) {
    uint64_t data[5] = {rank ? 0 : (uint64_t)i, 0, 0, 0, rank ? 0 : (uint64_t)-i};
    nbc_request *request = NULL;
    GOOD(nbc_ibcast(comm, data, 5, NBC_TYPE_UINT64, 0, &request) == NBC_OK && nbc_coll_wait(&request, 60000000000) == NBC_OK);
    GOOD(data[0] == (uint64_t)i && data[4] == (uint64_t)-i);
    if (failed) MPI_Abort(MPI_COMM_WORLD, 4); /* the others would wait for ever */
  }
  for (int p = 1; p < size && !rank; p++) MPI_Send(&word, 1, MPI_INT, p, 79, MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
  int provided, all = 0;
  MPI_Init_thread(&argc, &argv, argc > 1 ? atoi(argv[1]) : MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int policy = 0; policy < NBC_POLICY_COUNT; policy++) {
    nbc_comm *comm = NULL;
    nbc_error err = {NBC_OK, 0, ""};
    const nbc_status status = nbc_mpi_comm_create(MPI_COMM_WORLD, (nbc_policy)policy, &comm, &err);
    if (policy && provided < MPI_THREAD_MULTIPLE) {
      GOOD(status == NBC_E_TRANSPORT && !comm && strstr(err.text, "less than the MPI_THREAD_MULTIPLE"));
      continue;
    }
    if (policy == NBC_POLICY_DEDICATED && status) { /* no core is left here: all ranks say so */
      GOOD(status == NBC_E_STATE && !comm && err.text[0]);
      continue;
    }
    GOOD(status == NBC_OK && comm);
    if (status) printf("  %s\n", err.text);
    if (status) break;
    all_sorts(comm);
    root_goes_ahead(comm);
    nbc_comm_destroy(comm);
  }
  nbc_comm *comm;
  GOOD(nbc_mpi_comm(MPI_COMM_WORLD, NBC_POLICY_NONE, &comm) == NBC_OK);
  nbc_comm_destroy(comm);
  GOOD(nbc_mpi_comm(MPI_COMM_WORLD, (nbc_policy)9, &comm) == NBC_E_INVAL && !comm);
  GOOD(nbc_mpi_comm(MPI_COMM_WORLD, NBC_POLICY_NONE, NULL) == NBC_E_INVAL);
  MPI_Allreduce(&failed, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return all;
}
