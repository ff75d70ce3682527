/* create_fails.c: a rank whose n-th allocation fails while a transport or a communicator is made ends with
   that status, and so does every other rank; nothing is lost, and the next try succeeds. */
#include "tests/failing_malloc.h"
#define NBC_WITH_MPI
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"

static int rank, size, failed;
#define GOOD(condition)                                                                            \
  do {                                                                                             \
    if (!(condition)) printf("  rank %d, line %d: not true: %s\n", rank, __LINE__, #condition), failed = 1; \
  } while (0)

static nbc_status make(bool whole, nbc_transport **t, nbc_comm **comm, nbc_error *err) {
  *t = NULL, *comm = NULL;
  return whole ? nbc_mpi_comm_create(MPI_COMM_WORLD, NBC_POLICY_NONE, comm, err)
               : nbc_mpi_create(MPI_COMM_WORLD, NULL, t, err);
}

/* ret whether the n-th allocation of `victim` was one of those that fail */
static bool once(bool whole, int victim, long nth) {
  nbc_transport *t;
  nbc_comm *comm;
  nbc_error err = {NBC_OK, 0, ""};
  const long before_count = block_count;
  int any = 0, mine;
  has_failed = false;
  until_failure_count = rank == victim ? nth : -1;
  const nbc_status status = make(whole, &t, &comm, &err);
  until_failure_count = -1;
  mine = has_failed;
  MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  GOOD(status == (any ? NBC_E_NOMEM : NBC_OK));
  GOOD(!any || (!t && !comm && err.status == status && err.text[0]));
  nbc_comm_destroy(comm);
  nbc_mpi_destroy(t);
  GOOD(block_count == before_count);
  return any;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int whole = 0; whole < 2; whole++)
    for (int victim = 0; victim < size; victim++) {
      long nth = 0;
      while (once(whole, victim, nth)) nth++;
      GOOD(nth >= 4); /* its memory was asked for in parts, each of which failed once */
    }
  int all = 0;
  MPI_Reduce(&failed, &all, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d processes: %s\n", size, all ? "FAILED" : "ok");
  MPI_Finalize();
  return failed;
}
