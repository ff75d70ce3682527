/* Nonblocking collectives of this library on the MPI transport against the MPI's own, started and waited for
   at once: coll_<name>_<bytes>, ratio of the medians of the slowest rank, measured alternately. Run by
   coll_mpi.sh under each MPI; the arguments are the regular expression and the MPI's name. */
#include <mpi.h>
#define NBC_OVERLAP_IMPLEMENTATION
#define NBC_WITH_MPI
#include "nbc_overlap.h"
#include "tests/bench/bench.h"

enum { MOST_BYTES = 1 << 20, RUNS = 31 };
static int rank, size;
static char *send_buffer, *recv_buffer;

static void mpi_start(nbc_coll coll, int n, MPI_Request *request) {
  switch (coll) {
  case NBC_COLL_BCAST: MPI_Ibcast(recv_buffer, n, MPI_INT32_T, 0, MPI_COMM_WORLD, request); break;
  case NBC_COLL_REDUCE:
    MPI_Ireduce(send_buffer, recv_buffer, n, MPI_INT32_T, MPI_SUM, 0, MPI_COMM_WORLD, request);
    break;
  case NBC_COLL_ALLREDUCE:
    MPI_Iallreduce(send_buffer, recv_buffer, n, MPI_INT32_T, MPI_SUM, MPI_COMM_WORLD, request);
    break;
  case NBC_COLL_ALLGATHER:
    MPI_Iallgather(send_buffer, n, MPI_INT32_T, recv_buffer, n, MPI_INT32_T, MPI_COMM_WORLD,
                   request);
    break;
  case NBC_COLL_ALLTOALL:
    MPI_Ialltoall(send_buffer, n, MPI_INT32_T, recv_buffer, n, MPI_INT32_T, MPI_COMM_WORLD,
                  request);
    break;
  default: MPI_Ibarrier(MPI_COMM_WORLD, request); break;
  }
}

static double slowest(double mine) {
  double all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return all;
}

static void one(nbc_comm *comm, nbc_coll coll, int bytes, const char *regex, const char *mpi) {
  char name[64], peer[64];
  double ours[RUNS], theirs[RUNS];
  const nbc_coll_args args = {.coll = coll,
                              .send = send_buffer,
                              .recv = recv_buffer,
                              .count = (uint64_t)bytes / 4,
                              .type = NBC_TYPE_INT32,
                              .reduce = NBC_REDUCE_SUM};
  char *wanted_args[] = {(char *)"coll_mpi", (char *)(uintptr_t)regex};
  snprintf(name, sizeof name, "coll_%s_%d_%s", nbc_coll_name(coll), bytes, mpi);
  snprintf(peer, sizeof peer, "%s MPI_I%s", mpi, nbc_coll_name(coll));
  if (!bench_wanted(2, wanted_args, name)) return;
  for (int k = -10; k < RUNS; k++) { /* the first ones warm up */
    nbc_request *request;
    MPI_Request mpi_request;
    MPI_Barrier(MPI_COMM_WORLD);
    const double t0 = MPI_Wtime();
    if (nbc_coll_start_new(comm, &args, &request) || nbc_coll_wait(&request, 0))
      MPI_Abort(MPI_COMM_WORLD, 1);
    const double a = slowest(MPI_Wtime() - t0);
    MPI_Barrier(MPI_COMM_WORLD);
    const double t1 = MPI_Wtime();
    mpi_start(coll, bytes / 4, &mpi_request);
    MPI_Wait(&mpi_request, MPI_STATUS_IGNORE);
    const double b = slowest(MPI_Wtime() - t1);
    if (k >= 0) ours[k] = a, theirs[k] = b;
  }
  if (rank == 0)
    bench_print_peer(name, bench_median(ours, RUNS) * 1e6, "us", peer,
                     bench_median(theirs, RUNS) * 1e6);
}

int main(int argc, char **argv) {
  static const nbc_coll colls[] = {NBC_COLL_BARRIER,   NBC_COLL_BCAST,     NBC_COLL_REDUCE,
                                   NBC_COLL_ALLREDUCE, NBC_COLL_ALLGATHER, NBC_COLL_ALLTOALL};
  int provided;
  nbc_transport *t;
  nbc_comm *comm;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank), MPI_Comm_size(MPI_COMM_WORLD, &size);
  send_buffer = calloc((size_t)size, MOST_BYTES), recv_buffer = calloc((size_t)size, MOST_BYTES);
  const nbc_mpi_desc desc = {.thread_level = MPI_THREAD_SINGLE};
  if (!send_buffer || !recv_buffer || nbc_mpi_create(MPI_COMM_WORLD, &desc, &t, NULL))
    MPI_Abort(MPI_COMM_WORLD, 1);
  const nbc_comm_desc cd = {.transport = t};
  if (nbc_comm_create(&cd, &comm, NULL)) MPI_Abort(MPI_COMM_WORLD, 1);
  for (size_t c = 0; c < sizeof colls / sizeof *colls; c++)
    for (int bytes = 64; bytes <= MOST_BYTES; bytes *= 16) {
      if (colls[c] == NBC_COLL_BARRIER && bytes > 64) break;
      one(comm, colls[c], colls[c] == NBC_COLL_BARRIER ? 0 : bytes, argc > 1 ? argv[1] : ".",
          argc > 2 ? argv[2] : "mpi");
    }
  nbc_comm_destroy(comm);
  nbc_mpi_destroy(t);
  MPI_Finalize();
  return 0;
}
