/* Collectives that cross between nodes once per node (two_level) beside the same collectives without knowledge of
   the nodes, on simulated nodes of several cores; run by coll_nodes.sh under pm_run. Arguments: regular
   expression, processes per node. Processes fill one node after the other (filled), or go round them (round).
   coll_nodes_<name>_<bytes>_<layout>_<processes>: time with the nodes known divided by that without (below 1: it pays). */
#include <mpi.h>
#define NBC_OVERLAP_IMPLEMENTATION
#define NBC_WITH_MPI
#include "nbc_overlap.h"
#include "tests/bench/bench.h"
#include <math.h>

enum { MOST_BYTES = 1 << 20, RUNS = 3 };
static int rank, size;
static char *send_buffer, *recv_buffer;

/* All begin at one moment: time is simulated, and one for all processes. A barrier lets go of some before others. */
static void meet(MPI_Comm mpi) {
  MPI_Barrier(mpi);
  const double now_us = MPI_Wtime() * 1e6, rest_us = (floor(now_us / 1000) + 2) * 1000 - now_us;
  nanosleep(&(struct timespec){0, (long)(rest_us * 1000 + 0.5)}, NULL);
}

static double seconds(MPI_Comm mpi, nbc_comm *comm, const nbc_coll_args *args) {
  double times[RUNS];
  for (int k = -1; k < RUNS; k++) { /* the first one builds the schedule */
    nbc_request *request;
    double all = 0;
    meet(mpi);
    const double t0 = MPI_Wtime();
    if (nbc_coll_start_new(comm, args, &request) || nbc_coll_wait(&request, 0)) MPI_Abort(mpi, 1);
    const double mine = MPI_Wtime() - t0;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, mpi);
    if (k >= 0) times[k] = all;
  }
  return bench_median(times, RUNS);
}

static void layout(const char *name, int colour_rank, const char *regex) {
  static const nbc_coll colls[] = {NBC_COLL_BARRIER, NBC_COLL_BCAST, NBC_COLL_REDUCE,
                                   NBC_COLL_ALLREDUCE};
  char *args_of_bench[] = {(char *)"coll_nodes", (char *)(uintptr_t)regex};
  nbc_transport *t[2];
  nbc_comm *comm[2];
  MPI_Comm mpi;
  int own = 0;
  MPI_Comm_split(MPI_COMM_WORLD, 0, colour_rank, &mpi);
  MPI_Comm_rank(mpi, &own);
  for (int flat = 0; flat < 2; flat++) {
    nbc_comm_desc desc = {0};
    if (nbc_mpi_create(mpi, NULL, &t[flat], NULL)) MPI_Abort(mpi, 1);
    if (flat) t[flat]->nodes = NULL;
    desc.transport = t[flat];
    if (nbc_comm_create(&desc, &comm[flat], NULL)) MPI_Abort(mpi, 1);
  }
  for (size_t c = 0; c < sizeof colls / sizeof *colls; c++)
    for (int bytes = 8; bytes <= MOST_BYTES; bytes *= 8) {
      char text[96], peer[96];
      snprintf(text, sizeof text, "coll_nodes_%s_%d_%s_%d", nbc_coll_name(colls[c]),
               colls[c] == NBC_COLL_BARRIER ? 0 : bytes, name, size);
      if (bench_wanted(2, args_of_bench, text)) {
        const nbc_coll_args args = {.coll = colls[c],
                                    .send = send_buffer,
                                    .recv = recv_buffer,
                                    .count = (uint64_t)bytes / 8,
                                    .type = NBC_TYPE_DOUBLE,
                                    .reduce = NBC_REDUCE_SUM};
        const double known_s = seconds(mpi, comm[0], &args), flat_s = seconds(mpi, comm[1], &args);
        snprintf(peer, sizeof peer, "the same without the nodes, %d processes", size);
        if (own == 0) bench_print_peer(text, known_s * 1e6, "us", peer, flat_s * 1e6);
      }
      if (colls[c] == NBC_COLL_BARRIER) break;
    }
  for (int flat = 0; flat < 2; flat++) {
    nbc_comm_destroy(comm[flat]);
    nbc_mpi_destroy(t[flat]);
  }
  MPI_Comm_free(&mpi);
}

int main(int argc, char **argv) {
  const char *const regex = argc > 1 ? argv[1] : ".";
  const int per_node = argc > 2 ? atoi(argv[2]) : 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank), MPI_Comm_size(MPI_COMM_WORLD, &size);
  send_buffer = calloc(1, MOST_BYTES), recv_buffer = calloc(1, MOST_BYTES);
  if (!send_buffer || !recv_buffer) MPI_Abort(MPI_COMM_WORLD, 1);
  layout("filled", rank, regex);
  layout("round", rank % per_node * size + rank / per_node, regex);
  MPI_Finalize();
  free(send_buffer), free(recv_buffer);
  return 0;
}
