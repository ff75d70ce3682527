/* progress_preload_icoll.h: the nonblocking and persistent collectives that may be ours (progress_preload_coll.c).
   progress_preload.c includes this list for `int` counts and, where the MPI has them, for MPI_Count (MPI_Ibcast_c), each
   once for nonblocking and once for persistent ones:
     COUNT   type of counts           DISP        type of displacements   LARGE  whether these are the large ones
     N(i,p)  name: i is MPI_Ibcast's, p MPI_Bcast's      TAIL, A_TAIL     the last parameters and arguments
     ICOLL(name, kind, (parameters), (arguments), sides of the call) */
#define SEND_ONE                                                                                   \
  .send = {.buffer = (void *)(uintptr_t)sendbuf, .count = sendcount, .type = sendtype}
#define RECV_ONE .recv = {.buffer = recvbuf, .count = recvcount, .type = recvtype}
#define SEND_MANY                                                                                  \
  .send = {.buffer = (void *)(uintptr_t)sendbuf,                                                   \
           .counts = sendcounts,                                                                   \
           .displs = sdispls,                                                                      \
           .large_counts = LARGE,                                                                  \
           .large_displs = LARGE,                                                                  \
           .type = sendtype}
#define RECV_MANY                                                                                  \
  .recv = {.buffer = recvbuf,                                                                      \
           .counts = recvcounts,                                                                   \
           .displs = rdispls,                                                                      \
           .large_counts = LARGE,                                                                  \
           .large_displs = LARGE,                                                                  \
           .type = recvtype}
#define REDUCTION                                                                                  \
  .send = {.buffer = (void *)(uintptr_t)sendbuf, .count = count, .type = type},                    \
  .recv = {.buffer = recvbuf, .count = count, .type = type}, .op = op
#define P_TWO                                                                                      \
  const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf, COUNT recvcount,     \
      MPI_Datatype recvtype
#define A_TWO sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype
#define P_OP  const void *sendbuf, void *recvbuf, COUNT count, MPI_Datatype type, MPI_Op op
#define A_OP  sendbuf, recvbuf, count, type, op

ICOLL(N(Ibcast, Bcast), BCAST, (void *buffer, COUNT count, MPI_Datatype type, int root, TAIL),
      (buffer, count, type, root, A_TAIL), .recv = {.buffer = buffer, .count = count, .type = type},
      .root = root)
ICOLL(N(Ireduce, Reduce), REDUCE, (P_OP, int root, TAIL), (A_OP, root, A_TAIL), REDUCTION,
      .root = root)
ICOLL(N(Iallreduce, Allreduce), ALLREDUCE, (P_OP, TAIL), (A_OP, A_TAIL), REDUCTION)
ICOLL(N(Iscan, Scan), SCAN, (P_OP, TAIL), (A_OP, A_TAIL), REDUCTION)
ICOLL(N(Iexscan, Exscan), EXSCAN, (P_OP, TAIL), (A_OP, A_TAIL), REDUCTION)
ICOLL(N(Ireduce_scatter_block, Reduce_scatter_block), REDUCE_SCATTER_BLOCK,
      (const void *sendbuf, void *recvbuf, COUNT count, MPI_Datatype type, MPI_Op op, TAIL),
      (A_OP, A_TAIL), REDUCTION)
ICOLL(N(Ireduce_scatter, Reduce_scatter), REDUCE_SCATTER,
      (const void *sendbuf, void *recvbuf, const COUNT recvcounts[], MPI_Datatype type, MPI_Op op,
       TAIL),
      (sendbuf, recvbuf, recvcounts, type, op, A_TAIL),
      .send = {.buffer = (void *)(uintptr_t)sendbuf, .type = type},
      .recv = {.buffer = recvbuf, .counts = recvcounts, .large_counts = LARGE, .type = type},
      .op = op)
ICOLL(N(Igather, Gather), GATHER, (P_TWO, int root, TAIL), (A_TWO, root, A_TAIL), SEND_ONE,
      RECV_ONE, .root = root)
ICOLL(N(Iscatter, Scatter), SCATTER, (P_TWO, int root, TAIL), (A_TWO, root, A_TAIL), SEND_ONE,
      RECV_ONE, .root = root)
ICOLL(N(Iallgather, Allgather), ALLGATHER, (P_TWO, TAIL), (A_TWO, A_TAIL), SEND_ONE, RECV_ONE)
ICOLL(N(Ialltoall, Alltoall), ALLTOALL, (P_TWO, TAIL), (A_TWO, A_TAIL), SEND_ONE, RECV_ONE)
ICOLL(N(Igatherv, Gatherv), GATHERV,
      (const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,
       const COUNT recvcounts[], const DISP rdispls[], MPI_Datatype recvtype, int root, TAIL),
      (sendbuf, sendcount, sendtype, recvbuf, recvcounts, rdispls, recvtype, root, A_TAIL),
      SEND_ONE, RECV_MANY, .root = root)
ICOLL(N(Iscatterv, Scatterv), SCATTERV,
      (const void *sendbuf, const COUNT sendcounts[], const DISP sdispls[], MPI_Datatype sendtype,
       void *recvbuf, COUNT recvcount, MPI_Datatype recvtype, int root, TAIL),
      (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcount, recvtype, root, A_TAIL),
      SEND_MANY, RECV_ONE, .root = root)
ICOLL(N(Iallgatherv, Allgatherv), ALLGATHERV,
      (const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,
       const COUNT recvcounts[], const DISP rdispls[], MPI_Datatype recvtype, TAIL),
      (sendbuf, sendcount, sendtype, recvbuf, recvcounts, rdispls, recvtype, A_TAIL), SEND_ONE,
      RECV_MANY)
ICOLL(N(Ialltoallv, Alltoallv), ALLTOALLV,
      (const void *sendbuf, const COUNT sendcounts[], const DISP sdispls[], MPI_Datatype sendtype,
       void *recvbuf, const COUNT recvcounts[], const DISP rdispls[], MPI_Datatype recvtype, TAIL),
      (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, A_TAIL),
      SEND_MANY, RECV_MANY)
ICOLL(N(Ialltoallw, Alltoallw), ALLTOALLW,
      (const void *sendbuf, const COUNT sendcounts[], const DISP sdispls[],
       const MPI_Datatype sendtypes[], void *recvbuf, const COUNT recvcounts[],
       const DISP rdispls[], const MPI_Datatype recvtypes[], TAIL),
      (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, A_TAIL),
      .send = {.buffer = (void *)(uintptr_t)sendbuf,
               .counts = sendcounts,
               .displs = sdispls,
               .large_counts = LARGE,
               .large_displs = LARGE,
               .displs_in_bytes = true,
               .types = sendtypes},
      .recv = {.buffer = recvbuf,
               .counts = recvcounts,
               .displs = rdispls,
               .large_counts = LARGE,
               .large_displs = LARGE,
               .displs_in_bytes = true,
               .types = recvtypes})

/* displacements of w are MPI_Aint in both */
#define NEIGHBORS_W                                                                                \
  .send = {.buffer = (void *)(uintptr_t)sendbuf,                                                   \
           .counts = sendcounts,                                                                   \
           .displs = sdispls,                                                                      \
           .large_counts = LARGE,                                                                  \
           .large_displs = true,                                                                   \
           .displs_in_bytes = true,                                                                \
           .types = sendtypes},                                                                    \
  .recv = {.buffer = recvbuf,                                                                      \
           .counts = recvcounts,                                                                   \
           .displs = rdispls,                                                                      \
           .large_counts = LARGE,                                                                  \
           .large_displs = true,                                                                   \
           .displs_in_bytes = true,                                                                \
           .types = recvtypes}
ICOLL(N(Ineighbor_allgather, Neighbor_allgather), NEIGHBOR_ALLGATHER, (P_TWO, TAIL),
      (A_TWO, A_TAIL), SEND_ONE, RECV_ONE)
ICOLL(N(Ineighbor_alltoall, Neighbor_alltoall), NEIGHBOR_ALLTOALL, (P_TWO, TAIL), (A_TWO, A_TAIL),
      SEND_ONE, RECV_ONE)
ICOLL(N(Ineighbor_allgatherv, Neighbor_allgatherv), NEIGHBOR_ALLGATHER,
      (const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,
       const COUNT recvcounts[], const DISP rdispls[], MPI_Datatype recvtype, TAIL),
      (sendbuf, sendcount, sendtype, recvbuf, recvcounts, rdispls, recvtype, A_TAIL), SEND_ONE,
      RECV_MANY)
ICOLL(N(Ineighbor_alltoallv, Neighbor_alltoallv), NEIGHBOR_ALLTOALL,
      (const void *sendbuf, const COUNT sendcounts[], const DISP sdispls[], MPI_Datatype sendtype,
       void *recvbuf, const COUNT recvcounts[], const DISP rdispls[], MPI_Datatype recvtype, TAIL),
      (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, A_TAIL),
      SEND_MANY, RECV_MANY)
ICOLL(N(Ineighbor_alltoallw, Neighbor_alltoallw), NEIGHBOR_ALLTOALL,
      (const void *sendbuf, const COUNT sendcounts[], const MPI_Aint sdispls[],
       const MPI_Datatype sendtypes[], void *recvbuf, const COUNT recvcounts[],
       const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], TAIL),
      (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, A_TAIL),
      NEIGHBORS_W)

#undef NEIGHBORS_W
#undef SEND_ONE
#undef RECV_ONE
#undef SEND_MANY
#undef RECV_MANY
#undef REDUCTION
#undef P_TWO
#undef A_TWO
#undef P_OP
#undef A_OP
