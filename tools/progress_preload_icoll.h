/* progress_preload_icoll.h: the nonblocking collectives that may be ours (progress_preload_coll.c). progress_preload.c
   includes this list once for `int` counts and, where the MPI has them, once more for MPI_Count (MPI_Ibcast_c):
     COUNT  type of counts   DISP  type of displacements   LARGE  whether these are the large ones   N(x)  name with suffix */
#define SEND_ONE  .send = {.buffer = (void *)(uintptr_t)sendbuf, .count = sendcount, .type = sendtype}
#define RECV_ONE  .recv = {.buffer = recvbuf, .count = recvcount, .type = recvtype}
#define SEND_MANY                                                                                  \
  .send = {.buffer = (void *)(uintptr_t)sendbuf, .counts = sendcounts, .displs = sdispls,          \
           .large_counts = LARGE, .large_displs = LARGE, .type = sendtype}
#define RECV_MANY                                                                                  \
  .recv = {.buffer = recvbuf, .counts = recvcounts, .displs = rdispls, .large_counts = LARGE,      \
           .large_displs = LARGE, .type = recvtype}
#define REDUCTION                                                                                  \
  .send = {.buffer = (void *)(uintptr_t)sendbuf, .count = count, .type = type},                    \
  .recv = {.buffer = recvbuf, .count = count, .type = type}, .op = op
#define P_TWO                                                                                      \
  const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf, COUNT recvcount,     \
      MPI_Datatype recvtype
#define A_TWO sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype
#define P_OP  const void *sendbuf, void *recvbuf, COUNT count, MPI_Datatype type, MPI_Op op
#define A_OP  sendbuf, recvbuf, count, type, op
#define TAIL  MPI_Comm comm, MPI_Request *request

ICOLL(N(Ibcast), BCAST, (void *buffer, COUNT count, MPI_Datatype type, int root, TAIL),
      (buffer, count, type, root, comm, request), .recv = {.buffer = buffer, .count = count, .type = type}, .root = root)
ICOLL(N(Ireduce), REDUCE, (P_OP, int root, TAIL), (A_OP, root, comm, request), REDUCTION, .root = root)
ICOLL(N(Iallreduce), ALLREDUCE, (P_OP, TAIL), (A_OP, comm, request), REDUCTION)
ICOLL(N(Iscan), SCAN, (P_OP, TAIL), (A_OP, comm, request), REDUCTION)
ICOLL(N(Iexscan), EXSCAN, (P_OP, TAIL), (A_OP, comm, request), REDUCTION)
ICOLL(N(Ireduce_scatter_block), REDUCE_SCATTER_BLOCK,
      (const void *sendbuf, void *recvbuf, COUNT count, MPI_Datatype type, MPI_Op op, TAIL), (A_OP, comm, request), REDUCTION)
ICOLL(N(Ireduce_scatter), REDUCE_SCATTER,
      (const void *sendbuf, void *recvbuf, const COUNT recvcounts[], MPI_Datatype type, MPI_Op op, TAIL),
      (sendbuf, recvbuf, recvcounts, type, op, comm, request), .send = {.buffer = (void *)(uintptr_t)sendbuf, .type = type},
      .recv = {.buffer = recvbuf, .counts = recvcounts, .large_counts = LARGE, .type = type}, .op = op)
ICOLL(N(Igather), GATHER, (P_TWO, int root, TAIL), (A_TWO, root, comm, request), SEND_ONE, RECV_ONE, .root = root)
ICOLL(N(Iscatter), SCATTER, (P_TWO, int root, TAIL), (A_TWO, root, comm, request), SEND_ONE, RECV_ONE, .root = root)
ICOLL(N(Iallgather), ALLGATHER, (P_TWO, TAIL), (A_TWO, comm, request), SEND_ONE, RECV_ONE)
ICOLL(N(Ialltoall), ALLTOALL, (P_TWO, TAIL), (A_TWO, comm, request), SEND_ONE, RECV_ONE)
ICOLL(N(Igatherv), GATHERV,
      (const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf, const COUNT recvcounts[],
       const DISP rdispls[], MPI_Datatype recvtype, int root, TAIL),
      (sendbuf, sendcount, sendtype, recvbuf, recvcounts, rdispls, recvtype, root, comm, request), SEND_ONE, RECV_MANY,
      .root = root)
ICOLL(N(Iscatterv), SCATTERV,
      (const void *sendbuf, const COUNT sendcounts[], const DISP sdispls[], MPI_Datatype sendtype, void *recvbuf,
       COUNT recvcount, MPI_Datatype recvtype, int root, TAIL),
      (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcount, recvtype, root, comm, request), SEND_MANY, RECV_ONE,
      .root = root)
ICOLL(N(Iallgatherv), ALLGATHERV,
      (const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf, const COUNT recvcounts[],
       const DISP rdispls[], MPI_Datatype recvtype, TAIL),
      (sendbuf, sendcount, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm, request), SEND_ONE, RECV_MANY)
ICOLL(N(Ialltoallv), ALLTOALLV,
      (const void *sendbuf, const COUNT sendcounts[], const DISP sdispls[], MPI_Datatype sendtype, void *recvbuf,
       const COUNT recvcounts[], const DISP rdispls[], MPI_Datatype recvtype, TAIL),
      (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm, request), SEND_MANY, RECV_MANY)
ICOLL(N(Ialltoallw), ALLTOALLW,
      (const void *sendbuf, const COUNT sendcounts[], const DISP sdispls[], const MPI_Datatype sendtypes[], void *recvbuf,
       const COUNT recvcounts[], const DISP rdispls[], const MPI_Datatype recvtypes[], TAIL),
      (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm, request),
      .send = {.buffer = (void *)(uintptr_t)sendbuf, .counts = sendcounts, .displs = sdispls, .large_counts = LARGE,
               .large_displs = LARGE, .displs_in_bytes = true, .types = sendtypes},
      .recv = {.buffer = recvbuf, .counts = recvcounts, .displs = rdispls, .large_counts = LARGE,
               .large_displs = LARGE, .displs_in_bytes = true, .types = recvtypes})

#undef SEND_ONE
#undef RECV_ONE
#undef SEND_MANY
#undef RECV_MANY
#undef REDUCTION
#undef P_TWO
#undef A_TWO
#undef P_OP
#undef A_OP
#undef TAIL
