/* coll_two_transports.c: two communicators, each on a transport of its own, waited for in different orders by
   different ranks: with MPI nobody waits for ever, so neither with ours. No engine drives them. */
#define NBC_WITH_MPI
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#include <stdlib.h>

int main(int argc, char **argv) {
  nbc_transport *t[2];
  nbc_comm *comm[2];
  nbc_request *request[2];
  int rank, size, failed = 0, all = 0;
  static int in[2][40000], out[2][40000];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < 2; i++) {
    nbc_comm_desc desc = {0};
    if (nbc_mpi_create(MPI_COMM_WORLD, NULL, &t[i], NULL)) MPI_Abort(MPI_COMM_WORLD, 2);
    desc.transport = t[i];
    if (nbc_comm_create(&desc, &comm[i], NULL)) MPI_Abort(MPI_COMM_WORLD, 2);
  }
  for (int round = 0; round < 20; round++) {
    const int counts[2] = {round % 2 ? 40000 : 3, 1000};
    for (int i = 0; i < 2; i++) {
      for (int k = 0; k < counts[i]; k++) in[i][k] = rank + i + k;
      failed |= nbc_iallreduce(comm[i], in[i], out[i], (uint64_t)counts[i], NBC_TYPE_INT32, NBC_REDUCE_SUM, &request[i]) != NBC_OK;
    }
    for (int i = 0; i < 2; i++) {
      const int which = rank < size / 2 ? i : 1 - i;
      failed |= nbc_coll_wait(&request[which], 20000000000) != NBC_OK;
      if (failed) MPI_Abort(MPI_COMM_WORLD, 3);
    }
    for (int i = 0; i < 2; i++)
      for (int k = 0; k < counts[i]; k++) failed |= out[i][k] != size * (size - 1) / 2 + size * (i + k);
  }
  MPI_Allreduce(&failed, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  for (int i = 0; i < 2; i++) {
    nbc_comm_destroy(comm[i]);
    nbc_mpi_destroy(t[i]);
  }
  MPI_Finalize();
  return all;
}
