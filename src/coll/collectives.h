/* One line per collective. */
#pragma once
#include "../base/config.h"
#include "../base/status.h"
#include "reduce.h"
#include "request.h"

/* The same with one line per collective. Counts as in MPI: of one block for gather, scatter,
   allgather, alltoall and reduce_scatter_block; send and receive types are equal. */
NBC_API nbc_status nbc_ibarrier(nbc_comm *comm, nbc_request **request);
NBC_API nbc_status nbc_ibcast(nbc_comm *comm, void *buffer, uint64_t count, nbc_type type, int root,
                              nbc_request **request);
NBC_API nbc_status nbc_ireduce(nbc_comm *comm, const void *send, void *recv, uint64_t count,
                               nbc_type type, nbc_reduce reduce, int root, nbc_request **request);
NBC_API nbc_status nbc_iallreduce(nbc_comm *comm, const void *send, void *recv, uint64_t count,
                                  nbc_type type, nbc_reduce reduce, nbc_request **request);
NBC_API nbc_status nbc_ireduce_scatter_block(nbc_comm *comm, const void *send, void *recv,
                                             uint64_t count, nbc_type type, nbc_reduce reduce,
                                             nbc_request **request);
NBC_API nbc_status nbc_ireduce_scatter(nbc_comm *comm, const void *send, void *recv,
                                       const uint64_t *recv_counts, nbc_type type,
                                       nbc_reduce reduce, nbc_request **request);
NBC_API nbc_status nbc_igather(nbc_comm *comm, const void *send, void *recv, uint64_t count,
                               nbc_type type, int root, nbc_request **request);
NBC_API nbc_status nbc_igatherv(nbc_comm *comm, const void *send, uint64_t count, void *recv,
                                const uint64_t *recv_counts, const uint64_t *recv_displs,
                                nbc_type type, int root, nbc_request **request);
NBC_API nbc_status nbc_iscatter(nbc_comm *comm, const void *send, void *recv, uint64_t count,
                                nbc_type type, int root, nbc_request **request);
NBC_API nbc_status nbc_iscatterv(nbc_comm *comm, const void *send, const uint64_t *send_counts,
                                 const uint64_t *send_displs, void *recv, uint64_t count,
                                 nbc_type type, int root, nbc_request **request);
NBC_API nbc_status nbc_iallgather(nbc_comm *comm, const void *send, void *recv, uint64_t count,
                                  nbc_type type, nbc_request **request);
NBC_API nbc_status nbc_iallgatherv(nbc_comm *comm, const void *send, void *recv,
                                   const uint64_t *recv_counts, const uint64_t *recv_displs,
                                   nbc_type type, nbc_request **request);
NBC_API nbc_status nbc_ialltoall(nbc_comm *comm, const void *send, void *recv, uint64_t count,
                                 nbc_type type, nbc_request **request);
NBC_API nbc_status nbc_ialltoallv(nbc_comm *comm, const void *send, const uint64_t *send_counts,
                                  const uint64_t *send_displs, void *recv,
                                  const uint64_t *recv_counts, const uint64_t *recv_displs,
                                  nbc_type type, nbc_request **request);
NBC_API nbc_status nbc_iscan(nbc_comm *comm, const void *send, void *recv, uint64_t count,
                             nbc_type type, nbc_reduce reduce, nbc_request **request);
NBC_API nbc_status nbc_iexscan(nbc_comm *comm, const void *send, void *recv, uint64_t count,
                               nbc_type type, nbc_reduce reduce, nbc_request **request);
/* Neighbourhoods: each rank names with whom it exchanges. Counts: one per source (recv) and target
   (send). */
NBC_API nbc_status nbc_ineighbor_allgather(nbc_comm *comm, const nbc_neighbors *neighbors,
                                           const void *send, void *recv, uint64_t count,
                                           nbc_type type, nbc_request **request);
NBC_API nbc_status nbc_ineighbor_allgatherv(nbc_comm *comm, const nbc_neighbors *neighbors,
                                            const void *send, uint64_t count, void *recv,
                                            const uint64_t *recv_counts,
                                            const uint64_t *recv_displs, nbc_type type,
                                            nbc_request **request);
NBC_API nbc_status nbc_ineighbor_alltoall(nbc_comm *comm, const nbc_neighbors *neighbors,
                                          const void *send, void *recv, uint64_t count,
                                          nbc_type type, nbc_request **request);
NBC_API nbc_status nbc_ineighbor_alltoallv(nbc_comm *comm, const nbc_neighbors *neighbors,
                                           const void *send, const uint64_t *send_counts,
                                           const uint64_t *send_displs, void *recv,
                                           const uint64_t *recv_counts, const uint64_t *recv_displs,
                                           nbc_type type, nbc_request **request);
