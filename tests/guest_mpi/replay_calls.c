/* What a trace of calls can say: loops in loops, communicators, persistent requests, all ways of waiting,
   nonblocking collectives. Under pm_run and, traced, under pm_replay it takes the same time. */
#include <mpi.h>
#include <stdio.h>

enum { MOST = 20000 };
static double a[MOST], b[MOST];
static int rank, size;
static void halo(MPI_Comm comm, int n) {
  MPI_Request q[4];
  MPI_Status s[4];
  int r, p, which;
  MPI_Comm_rank(comm, &r);
  MPI_Comm_size(comm, &p);
  MPI_Irecv(a, n, MPI_DOUBLE, (r + p - 1) % p, 1, comm, &q[0]);
  MPI_Irecv(a, n, MPI_DOUBLE, (r + 1) % p, 2, comm, &q[1]);
  MPI_Isend(b, n, MPI_DOUBLE, (r + 1) % p, 1, comm, &q[2]);
  MPI_Issend(b, n, MPI_DOUBLE, (r + p - 1) % p, 2, comm, &q[3]);
  MPI_Waitany(4, q, &which, s);
  MPI_Waitall(4, q, s);
}
static void collectives(MPI_Comm comm) {
  int counts[64], displs[64], r, p;
  MPI_Request q[3];
  MPI_Comm_rank(comm, &r);
  MPI_Comm_size(comm, &p);
  for (int i = 0; i < p; i++) counts[i] = i + 1, displs[i] = i * (i + 1) / 2;
  MPI_Iallreduce(MPI_IN_PLACE, a, 10, MPI_DOUBLE, MPI_SUM, comm, &q[0]);
  MPI_Ibcast(b, 3000, MPI_DOUBLE, p - 1, comm, &q[1]);
  MPI_Ibarrier(comm, &q[2]);
  MPI_Waitall(3, q, MPI_STATUSES_IGNORE);
  MPI_Gatherv(a, r + 1, MPI_INT, b, counts, displs, MPI_INT, 0, comm);
  MPI_Scatterv(a, counts, displs, MPI_INT, b, r + 1, MPI_INT, 0, comm);
  MPI_Allgatherv(a, r + 1, MPI_INT, b, counts, displs, MPI_INT, comm);
  MPI_Alltoall(a, 10, MPI_INT, b, 10, MPI_INT, comm);
  MPI_Exscan(a, b, 10, MPI_DOUBLE, MPI_SUM, comm);
  MPI_Reduce_scatter_block(a, b, 10, MPI_DOUBLE, MPI_SUM, comm);
  MPI_Scatter(a, 10, MPI_INT, b, 10, MPI_INT, 0, comm);
}
int main(int argc, char **argv) {
  MPI_Comm half, copy, other;
  MPI_Request persistent[2], q;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
  MPI_Comm_dup(half, &other);
  MPI_Comm_idup(half, &copy, &q);
  MPI_Wait(&q, MPI_STATUS_IGNORE);
  halo(other, 50);
  MPI_Send_init(b, 100, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD, &persistent[0]);
  MPI_Recv_init(a, 100, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &persistent[1]);
  for (int i = 0; i < 20; i++) {
    for (int k = 0; k < 50; k++) halo(MPI_COMM_WORLD, 100);
    for (int k = 0; k < 10; k++) halo(copy, 10000);
    MPI_Startall(2, persistent);
    MPI_Waitall(2, persistent, MPI_STATUSES_IGNORE);
    MPI_Sendrecv(b, 10, MPI_INT, size - 1 - rank, 9, a, 10, MPI_INT, size - 1 - rank, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(b, 10, MPI_INT, MPI_PROC_NULL, 9, a, 10, MPI_INT, MPI_PROC_NULL, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    collectives(half);
    collectives(MPI_COMM_WORLD);
  }
  MPI_Request_free(&persistent[0]);
  MPI_Request_free(&persistent[1]);
  MPI_Comm_free(&other);
  MPI_Comm_free(&copy);
  MPI_Comm_idup(half, &other, &q); /* perhaps by the same handle */
  MPI_Wait(&q, MPI_STATUS_IGNORE);
  halo(other, 1000);
  MPI_Comm_free(&other);
  MPI_Comm_free(&half);
  MPI_Finalize();
  return 0;
}
