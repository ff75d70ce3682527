/* collectives.c: one line per collective. */
#include "collectives.h"
#include "schedule.h"

/* ---- one line per collective --------------------------------------------------------------- */
static nbc_coll_args nbc__coll_args_of(nbc_coll coll, const void *send, void *recv, uint64_t count,
                                       nbc_type type) {
  nbc_coll_args args;
  memset(&args, 0, sizeof args);
  args.coll = coll, args.send = send, args.recv = recv, args.count = count, args.type = type;
  return args;
}

static nbc_status nbc__coll_reducing(nbc_comm *comm, nbc_coll_args args, nbc_reduce reduce,
                                     int root, nbc_request **request) {
  args.reduce = reduce;
  args.root = root;
  return nbc_coll_start_new(comm, &args, request);
}

NBC_API nbc_status nbc_ibarrier(nbc_comm *comm, nbc_request **request) {
  const nbc_coll_args args = nbc__coll_args_of(NBC_COLL_BARRIER, NULL, NULL, 0, NBC_TYPE_BYTE);
  return nbc_coll_start_new(comm, &args, request);
}

NBC_API nbc_status nbc_ibcast(nbc_comm *comm, void *buffer, uint64_t count, nbc_type type, int root,
                              nbc_request **request) {
  return nbc__coll_reducing(comm, nbc__coll_args_of(NBC_COLL_BCAST, NULL, buffer, count, type),
                            NBC_REDUCE_MAX, root, request);
}

NBC_API nbc_status nbc_ireduce(nbc_comm *comm, const void *send, void *recv, uint64_t count,
                               nbc_type type, nbc_reduce reduce, int root, nbc_request **request) {
  return nbc__coll_reducing(comm, nbc__coll_args_of(NBC_COLL_REDUCE, send, recv, count, type),
                            reduce, root, request);
}

NBC_API nbc_status nbc_iallreduce(nbc_comm *comm, const void *send, void *recv, uint64_t count,
                                  nbc_type type, nbc_reduce reduce, nbc_request **request) {
  return nbc__coll_reducing(comm, nbc__coll_args_of(NBC_COLL_ALLREDUCE, send, recv, count, type),
                            reduce, 0, request);
}

NBC_API nbc_status nbc_ireduce_scatter_block(nbc_comm *comm, const void *send, void *recv,
                                             uint64_t count, nbc_type type, nbc_reduce reduce,
                                             nbc_request **request) {
  return nbc__coll_reducing(
      comm, nbc__coll_args_of(NBC_COLL_REDUCE_SCATTER_BLOCK, send, recv, count, type), reduce, 0,
      request);
}

NBC_API nbc_status nbc_ireduce_scatter(nbc_comm *comm, const void *send, void *recv,
                                       const uint64_t *recv_counts, nbc_type type,
                                       nbc_reduce reduce, nbc_request **request) {
  nbc_coll_args args = nbc__coll_args_of(NBC_COLL_REDUCE_SCATTER, send, recv, 0, type);
  args.recv_counts = recv_counts;
  return nbc__coll_reducing(comm, args, reduce, 0, request);
}

NBC_API nbc_status nbc_igather(nbc_comm *comm, const void *send, void *recv, uint64_t count,
                               nbc_type type, int root, nbc_request **request) {
  return nbc__coll_reducing(comm, nbc__coll_args_of(NBC_COLL_GATHER, send, recv, count, type),
                            NBC_REDUCE_MAX, root, request);
}

NBC_API nbc_status nbc_igatherv(nbc_comm *comm, const void *send, uint64_t count, void *recv,
                                const uint64_t *recv_counts, const uint64_t *recv_displs,
                                nbc_type type, int root, nbc_request **request) {
  nbc_coll_args args = nbc__coll_args_of(NBC_COLL_GATHERV, send, recv, count, type);
  args.recv_counts = recv_counts, args.recv_displs = recv_displs;
  return nbc__coll_reducing(comm, args, NBC_REDUCE_MAX, root, request);
}

NBC_API nbc_status nbc_iscatter(nbc_comm *comm, const void *send, void *recv, uint64_t count,
                                nbc_type type, int root, nbc_request **request) {
  return nbc__coll_reducing(comm, nbc__coll_args_of(NBC_COLL_SCATTER, send, recv, count, type),
                            NBC_REDUCE_MAX, root, request);
}

NBC_API nbc_status nbc_iscatterv(nbc_comm *comm, const void *send, const uint64_t *send_counts,
                                 const uint64_t *send_displs, void *recv, uint64_t count,
                                 nbc_type type, int root, nbc_request **request) {
  nbc_coll_args args = nbc__coll_args_of(NBC_COLL_SCATTERV, send, recv, count, type);
  args.send_counts = send_counts, args.send_displs = send_displs;
  return nbc__coll_reducing(comm, args, NBC_REDUCE_MAX, root, request);
}

NBC_API nbc_status nbc_iallgather(nbc_comm *comm, const void *send, void *recv, uint64_t count,
                                  nbc_type type, nbc_request **request) {
  const nbc_coll_args args = nbc__coll_args_of(NBC_COLL_ALLGATHER, send, recv, count, type);
  return nbc_coll_start_new(comm, &args, request);
}

NBC_API nbc_status nbc_iallgatherv(nbc_comm *comm, const void *send, void *recv,
                                   const uint64_t *recv_counts, const uint64_t *recv_displs,
                                   nbc_type type, nbc_request **request) {
  nbc_coll_args args = nbc__coll_args_of(NBC_COLL_ALLGATHERV, send, recv, 0, type);
  args.recv_counts = recv_counts, args.recv_displs = recv_displs;
  return nbc_coll_start_new(comm, &args, request);
}

NBC_API nbc_status nbc_ialltoall(nbc_comm *comm, const void *send, void *recv, uint64_t count,
                                 nbc_type type, nbc_request **request) {
  const nbc_coll_args args = nbc__coll_args_of(NBC_COLL_ALLTOALL, send, recv, count, type);
  return nbc_coll_start_new(comm, &args, request);
}

NBC_API nbc_status nbc_ialltoallv(nbc_comm *comm, const void *send, const uint64_t *send_counts,
                                  const uint64_t *send_displs, void *recv,
                                  const uint64_t *recv_counts, const uint64_t *recv_displs,
                                  nbc_type type, nbc_request **request) {
  nbc_coll_args args = nbc__coll_args_of(NBC_COLL_ALLTOALLV, send, recv, 0, type);
  args.send_counts = send_counts, args.send_displs = send_displs;
  args.recv_counts = recv_counts, args.recv_displs = recv_displs;
  return nbc_coll_start_new(comm, &args, request);
}

NBC_API nbc_status nbc_iscan(nbc_comm *comm, const void *send, void *recv, uint64_t count,
                             nbc_type type, nbc_reduce reduce, nbc_request **request) {
  return nbc__coll_reducing(comm, nbc__coll_args_of(NBC_COLL_SCAN, send, recv, count, type), reduce,
                            0, request);
}

NBC_API nbc_status nbc_iexscan(nbc_comm *comm, const void *send, void *recv, uint64_t count,
                               nbc_type type, nbc_reduce reduce, nbc_request **request) {
  return nbc__coll_reducing(comm, nbc__coll_args_of(NBC_COLL_EXSCAN, send, recv, count, type),
                            reduce, 0, request);
}

NBC_API nbc_status nbc_ineighbor_allgather(nbc_comm *comm, const nbc_neighbors *neighbors,
                                           const void *send, void *recv, uint64_t count,
                                           nbc_type type, nbc_request **request) {
  nbc_coll_args args = nbc__coll_args_of(NBC_COLL_NEIGHBOR_ALLGATHER, send, recv, count, type);
  args.neighbors = neighbors;
  return nbc_coll_start_new(comm, &args, request);
}

NBC_API nbc_status nbc_ineighbor_allgatherv(nbc_comm *comm, const nbc_neighbors *neighbors,
                                            const void *send, uint64_t count, void *recv,
                                            const uint64_t *recv_counts,
                                            const uint64_t *recv_displs, nbc_type type,
                                            nbc_request **request) {
  nbc_coll_args args = nbc__coll_args_of(NBC_COLL_NEIGHBOR_ALLGATHER, send, recv, count, type);
  args.neighbors = neighbors;
  args.recv_counts = recv_counts, args.recv_displs = recv_displs;
  return nbc_coll_start_new(comm, &args, request);
}

NBC_API nbc_status nbc_ineighbor_alltoall(nbc_comm *comm, const nbc_neighbors *neighbors,
                                          const void *send, void *recv, uint64_t count,
                                          nbc_type type, nbc_request **request) {
  nbc_coll_args args = nbc__coll_args_of(NBC_COLL_NEIGHBOR_ALLTOALL, send, recv, count, type);
  args.neighbors = neighbors;
  return nbc_coll_start_new(comm, &args, request);
}

NBC_API nbc_status nbc_ineighbor_alltoallv(nbc_comm *comm, const nbc_neighbors *neighbors,
                                           const void *send, const uint64_t *send_counts,
                                           const uint64_t *send_displs, void *recv,
                                           const uint64_t *recv_counts, const uint64_t *recv_displs,
                                           nbc_type type, nbc_request **request) {
  nbc_coll_args args = nbc__coll_args_of(NBC_COLL_NEIGHBOR_ALLTOALL, send, recv, 0, type);
  if (!send_counts || !recv_counts)
    return NBC_E_INVAL; /* in args: `count` for all, which is 0 here */
  args.neighbors = neighbors;
  args.send_counts = send_counts, args.send_displs = send_displs;
  args.recv_counts = recv_counts, args.recv_displs = recv_displs;
  return nbc_coll_start_new(comm, &args, request);
}
