/* overlap_preload_calls.h: the calls that carry counts, one line each (WRAP(N(Isend), ...) makes MPI_Isend):
   name, kind, parameters, arguments, and what to record after success. overlap_preload.c includes this list once for `int`
   counts and, where the MPI has them, once more for the MPI_Count twins (MPI_Send_c, ...):
     COUNT   type of counts         DISP   type of displacements         N(x)   name with suffix

   WRAP(name, kind, parameters, arguments, record)
   COLL(name, nonblocking name, kind, parameters, arguments, bytes, from)   both and the persistent form; from: whose data it needs

   What is read after success only, and only where MPI says that it is significant: a wrong handle
   must come to the MPI's own check, not to ours. */

/* ---- sizes of v and w forms: to or from all others, own part left out ------------------------ */
static uint64_t N(sum_v)(const COUNT counts[], MPI_Datatype type, MPI_Comm comm) {
  const peers *p = peers_of_comm(comm);
  uint64_t sum = 0;
  for (int i = 0; i < (p->inter ? p->remote_size : p->size); i++)
    if (p->inter || i != p->rank) sum += (uint64_t)counts[i];
  return sum ? sum * bytes_of(1, type) : 0;
}
static uint64_t N(sum_w)(const COUNT counts[], const MPI_Datatype types[], MPI_Comm comm) {
  const peers *p = peers_of_comm(comm);
  uint64_t sum = 0;
  for (int i = 0; i < (p->inter ? p->remote_size : p->size); i++)
    if (p->inter || i != p->rank) sum += bytes_of(counts[i], types[i]);
  return sum;
}
/* Elements that a reduce_scatter moves: all parts but our own go out, our own comes in. */
static MPI_Count N(scattered)(const COUNT counts[], MPI_Comm comm) {
  const peers *p = peers_of_comm(comm);
  const MPI_Count own = p->inter ? 0 : (MPI_Count)counts[p->rank];
  MPI_Count sum = -own;
  for (int i = 0; i < p->size; i++) sum += (MPI_Count)counts[i];
  return sum > own ? sum : own;
}
/* The same over neighbours: `out` chooses those that we send to. types[0] serves all when `one`. */
static uint64_t N(sum_nb)(const COUNT counts[], const MPI_Datatype types[], bool one, MPI_Comm comm,
                          bool out) {
  const neighbors *n = neighbors_of(comm);
  const int *ranks = neighbor_ranks(n, out);
  uint64_t sum = 0;
  for (int i = 0; i < (out ? n->out_count : n->in_count); i++)
    if (is_other(n, ranks[i])) sum += bytes_of(counts[i], types[one ? 0 : i]);
  return sum;
}
/* Whose data comes where counts are of one process each. types[0] serves all when `one`. */
static needed N(from_v)(const COUNT counts[], const MPI_Datatype types[], bool one, MPI_Comm comm) {
  const peers *p = peers_of_comm(comm);
  uint64_t mask = 0;
  int missing = 0;
  for (int i = 0; !p->inter && i < p->size; i++) {
    if (i == p->rank) continue;
    if (bytes_of(counts[i], types[one ? 0 : i]))
      mask |= source_bit(i);
    else
      missing++;
  }
  return missing ? from_some(mask, p) : from_all(1);
}
/* The same of neighbours; counts NULL: `count` of each. */
static needed N(from_nb)(const COUNT counts[], const MPI_Datatype types[], bool one, MPI_Comm comm,
                         MPI_Count count) {
  const neighbors *n = neighbors_of(comm);
  uint64_t mask = 0;
  for (int i = 0; i < n->in_count; i++)
    if (is_other(n, n->in[i]) && bytes_of(counts ? counts[i] : count, types[one ? 0 : i]))
      mask |= source_bit(n->in[i]);
  return from_some(mask, peers_of_comm(comm));
}

/* ---- point-to-point -------------------------------------------------------------------------- */
#define P_SEND const void *buf, COUNT count, MPI_Datatype type, int dest, int tag, MPI_Comm comm
#define A_SEND buf, count, type, dest, tag, comm
#define P_RECV void *buf, COUNT count, MPI_Datatype type, int source, int tag, MPI_Comm comm
#define A_RECV buf, count, type, source, tag, comm
#define P_REQ  MPI_Request *request

WRAP(N(Send), SEND, (P_SEND), (A_SEND), sent(c, SEND, count, type, dest, tag, comm))
WRAP(N(Bsend), SEND, (P_SEND), (A_SEND), sent_copy(c, SEND, count, type, dest, tag, comm))
WRAP(N(Ssend), SEND, (P_SEND), (A_SEND), sent_all(c, SEND, count, type, dest, tag, comm))
WRAP(N(Rsend), SEND, (P_SEND), (A_SEND), sent_copy(c, SEND, count, type, dest, tag, comm))
WRAP(N(Isend), ISEND, (P_SEND, P_REQ), (A_SEND, request),
     post_send(c, *request, count, type, dest, tag, comm, false, STANDARD))
WRAP(N(Ibsend), ISEND, (P_SEND, P_REQ), (A_SEND, request),
     post_send(c, *request, count, type, dest, tag, comm, false, UNSEEN))
WRAP(N(Issend), ISEND, (P_SEND, P_REQ), (A_SEND, request),
     post_send(c, *request, count, type, dest, tag, comm, false, SYNCHRONOUS))
WRAP(N(Irsend), ISEND, (P_SEND, P_REQ), (A_SEND, request),
     post_send(c, *request, count, type, dest, tag, comm, false, UNSEEN))
WRAP(N(Send_init), OTHER, (P_SEND, P_REQ), (A_SEND, request),
     post_send(c, *request, count, type, dest, tag, comm, true, STANDARD))
WRAP(N(Bsend_init), OTHER, (P_SEND, P_REQ), (A_SEND, request),
     post_send(c, *request, count, type, dest, tag, comm, true, UNSEEN))
WRAP(N(Ssend_init), OTHER, (P_SEND, P_REQ), (A_SEND, request),
     post_send(c, *request, count, type, dest, tag, comm, true, SYNCHRONOUS))
WRAP(N(Rsend_init), OTHER, (P_SEND, P_REQ), (A_SEND, request),
     post_send(c, *request, count, type, dest, tag, comm, true, UNSEEN))
WRAP(N(Recv), RECV, (P_RECV, MPI_Status *status), (A_RECV, OWN(status)),
     received(c, RECV, source, OWN(status), comm))
WRAP(N(Irecv), IRECV, (P_RECV, P_REQ), (A_RECV, request),
     post_recv(c, *request, count, type, source, comm, false))
WRAP(N(Recv_init), OTHER, (P_RECV, P_REQ), (A_RECV, request),
     post_recv(c, *request, count, type, source, comm, true))
WRAP(N(Mrecv), RECV,
     (void *buf, COUNT count, MPI_Datatype type, MPI_Message *message, MPI_Status *status),
     (buf, count, type, NOTE_MESSAGE(message), OWN(status)), matched_received(c, OWN(status)))
WRAP(N(Imrecv), IRECV, (void *buf, COUNT count, MPI_Datatype type, MPI_Message *message, P_REQ),
     (buf, count, type, NOTE_MESSAGE(message), request), post_matched(c, *request, count, type))
#define P_SENDRECV                                                                                 \
  const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, int dest, int sendtag,              \
      void *recvbuf, COUNT recvcount, MPI_Datatype recvtype, int source, int recvtag,              \
      MPI_Comm comm
#define A_SENDRECV                                                                                 \
  sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm
#define P_REPLACE                                                                                  \
  void *buf, COUNT count, MPI_Datatype type, int dest, int sendtag, int source, int recvtag,       \
      MPI_Comm comm
#define A_REPLACE buf, count, type, dest, sendtag, source, recvtag, comm
WRAP(N(Sendrecv), SENDRECV, (P_SENDRECV, MPI_Status *status), (A_SENDRECV, OWN(status)),
     (exchanged(dest, source), sent(c, SENDRECV, sendcount, sendtype, dest, sendtag, comm),
      received(c, SENDRECV, source, OWN(status), comm)))
WRAP(N(Sendrecv_replace), SENDRECV, (P_REPLACE, MPI_Status *status), (A_REPLACE, OWN(status)),
     (exchanged(dest, source), sent(c, SENDRECV, count, type, dest, sendtag, comm),
      received(c, SENDRECV, source, OWN(status), comm)))
#if HAS_MPI_4
WRAP(N(Isendrecv), OTHER, (P_SENDRECV, P_REQ), (A_SENDRECV, request),
     post_sendrecv(c, *request, sendcount, sendtype, dest, recvcount, recvtype, source, comm))
WRAP(N(Isendrecv_replace), OTHER, (P_REPLACE, P_REQ), (A_REPLACE, request),
     post_sendrecv(c, *request, count, type, dest, count, type, source, comm))
#endif

/* ---- collectives ----------------------------------------------------------------------------- */
#define P_TWO                                                                                      \
  const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf, COUNT recvcount,     \
      MPI_Datatype recvtype
#define A_TWO sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype
#define P_OP  const void *sendbuf, void *recvbuf, COUNT count, MPI_Datatype type, MPI_Op op
#define A_OP  sendbuf, recvbuf, count, type, op
#define P_ALLV                                                                                     \
  const void *sendbuf, const COUNT sendcounts[], const DISP sdispls[], MPI_Datatype sendtype,      \
      void *recvbuf, const COUNT recvcounts[], const DISP rdispls[], MPI_Datatype recvtype
#define A_ALLV sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype
#define P_ALLW(D)                                                                                  \
  const void *sendbuf, const COUNT sendcounts[], const D sdispls[],                                \
      const MPI_Datatype sendtypes[], void *recvbuf, const COUNT recvcounts[], const D rdispls[],  \
      const MPI_Datatype recvtypes[]
#define A_ALLW sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes
#define OUT(b) (sendbuf == MPI_IN_PLACE ? 0 : (b)) /* in place: the send arguments mean nothing */

COLL(Bcast, Ibcast, BCAST, (void *buf, COUNT count, MPI_Datatype type, int root, MPI_Comm comm),
     (buf, count, type, root, comm), ROOTED(SOME(bytes_of(count, type)), bytes_of(count, type)),
     NOT_AT_ROOT(from_root(root, bytes_of(count, type))))
COLL(Reduce, Ireduce, REDUCE, (P_OP, int root, MPI_Comm comm), (A_OP, root, comm),
     ROOTED(SOME(bytes_of(count, type)), bytes_of(count, type)),
     AT_ROOT(from_all(bytes_of(count, type))))
COLL(Gather, Igather, GATHER, (P_TWO, int root, MPI_Comm comm), (A_TWO, root, comm),
     ROOTED(others(comm) * bytes_of(recvcount, recvtype), bytes_of(sendcount, sendtype)),
     AT_ROOT(from_all(bytes_of(recvcount, recvtype))))
COLL(Scatter, Iscatter, SCATTER, (P_TWO, int root, MPI_Comm comm), (A_TWO, root, comm),
     ROOTED(others(comm) * bytes_of(sendcount, sendtype), bytes_of(recvcount, recvtype)),
     NOT_AT_ROOT(from_root(root, bytes_of(recvcount, recvtype))))
COLL(Gatherv, Igatherv, GATHER,
     (const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,
      const COUNT recvcounts[], const DISP displs[], MPI_Datatype recvtype, int root,
      MPI_Comm comm),
     (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm),
     ROOTED(N(sum_v)(recvcounts, recvtype, comm), bytes_of(sendcount, sendtype)),
     AT_ROOT(N(from_v)(recvcounts, &recvtype, true, comm)))
COLL(Scatterv, Iscatterv, SCATTER,
     (const void *sendbuf, const COUNT sendcounts[], const DISP displs[], MPI_Datatype sendtype,
      void *recvbuf, COUNT recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm),
     (sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, comm),
     ROOTED(N(sum_v)(sendcounts, sendtype, comm), bytes_of(recvcount, recvtype)),
     NOT_AT_ROOT(from_root(root, bytes_of(recvcount, recvtype))))
COLL(Allgather, Iallgather, ALLGATHER, (P_TWO, MPI_Comm comm), (A_TWO, comm),
     larger(SOME(OUT(bytes_of(sendcount, sendtype))), others(comm) * bytes_of(recvcount, recvtype)),
     from_all(bytes_of(recvcount, recvtype)))
COLL(Allgatherv, Iallgatherv, ALLGATHER,
     (const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,
      const COUNT recvcounts[], const DISP displs[], MPI_Datatype recvtype, MPI_Comm comm),
     (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm),
     larger(SOME(OUT(bytes_of(sendcount, sendtype))), N(sum_v)(recvcounts, recvtype, comm)),
     N(from_v)(recvcounts, &recvtype, true, comm))
COLL(Alltoall, Ialltoall, ALLTOALL, (P_TWO, MPI_Comm comm), (A_TWO, comm),
     others(comm) * larger(OUT(bytes_of(sendcount, sendtype)), bytes_of(recvcount, recvtype)),
     from_all(bytes_of(recvcount, recvtype)))
COLL(Alltoallv, Ialltoallv, ALLTOALL, (P_ALLV, MPI_Comm comm), (A_ALLV, comm),
     larger(OUT(N(sum_v)(sendcounts, sendtype, comm)), N(sum_v)(recvcounts, recvtype, comm)),
     N(from_v)(recvcounts, &recvtype, true, comm))
COLL(Alltoallw, Ialltoallw, ALLTOALL, (P_ALLW(DISP), MPI_Comm comm), (A_ALLW, comm),
     larger(OUT(N(sum_w)(sendcounts, sendtypes, comm)), N(sum_w)(recvcounts, recvtypes, comm)),
     N(from_v)(recvcounts, recvtypes, false, comm))
COLL(Allreduce, Iallreduce, ALLREDUCE, (P_OP, MPI_Comm comm), (A_OP, comm),
     SOME(bytes_of(count, type)), from_all(bytes_of(count, type)))
COLL(Reduce_scatter, Ireduce_scatter, REDUCE_SCATTER,
     (const void *sendbuf, void *recvbuf, const COUNT recvcounts[], MPI_Datatype type, MPI_Op op,
      MPI_Comm comm),
     (sendbuf, recvbuf, recvcounts, type, op, comm),
     SOME(bytes_of(N(scattered)(recvcounts, comm), type)),
     from_all(bytes_of(recvcounts[peers_of_comm(comm)->rank], type)))
COLL(Reduce_scatter_block, Ireduce_scatter_block, REDUCE_SCATTER,
     (const void *sendbuf, void *recvbuf, COUNT recvcount, MPI_Datatype type, MPI_Op op,
      MPI_Comm comm),
     (sendbuf, recvbuf, recvcount, type, op, comm),
     larger(others(comm) * bytes_of(recvcount, type), SOME(bytes_of(recvcount, type))),
     from_all(bytes_of(recvcount, type)))
COLL(Scan, Iscan, SCAN, (P_OP, MPI_Comm comm), (A_OP, comm), SOME(bytes_of(count, type)),
     from_lower(bytes_of(count, type)))
COLL(Exscan, Iexscan, EXSCAN, (P_OP, MPI_Comm comm), (A_OP, comm), SOME(bytes_of(count, type)),
     from_lower(bytes_of(count, type)))
COLL(Neighbor_allgather, Ineighbor_allgather, NEIGHBOR_ALLGATHER, (P_TWO, MPI_Comm comm),
     (A_TWO, comm),
     larger(other_neighbors(comm, true) * bytes_of(sendcount, sendtype),
            other_neighbors(comm, false) * bytes_of(recvcount, recvtype)),
     N(from_nb)(NULL, &recvtype, true, comm, recvcount))
COLL(Neighbor_allgatherv, Ineighbor_allgatherv, NEIGHBOR_ALLGATHER,
     (const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf,
      const COUNT recvcounts[], const DISP displs[], MPI_Datatype recvtype, MPI_Comm comm),
     (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm),
     larger(other_neighbors(comm, true) * bytes_of(sendcount, sendtype),
            N(sum_nb)(recvcounts, &recvtype, true, comm, false)),
     N(from_nb)(recvcounts, &recvtype, true, comm, 0))
COLL(Neighbor_alltoall, Ineighbor_alltoall, NEIGHBOR_ALLTOALL, (P_TWO, MPI_Comm comm),
     (A_TWO, comm),
     larger(other_neighbors(comm, true) * bytes_of(sendcount, sendtype),
            other_neighbors(comm, false) * bytes_of(recvcount, recvtype)),
     N(from_nb)(NULL, &recvtype, true, comm, recvcount))
COLL(Neighbor_alltoallv, Ineighbor_alltoallv, NEIGHBOR_ALLTOALL, (P_ALLV, MPI_Comm comm),
     (A_ALLV, comm),
     larger(N(sum_nb)(sendcounts, &sendtype, true, comm, true),
            N(sum_nb)(recvcounts, &recvtype, true, comm, false)),
     N(from_nb)(recvcounts, &recvtype, true, comm, 0))
COLL(Neighbor_alltoallw, Ineighbor_alltoallw, NEIGHBOR_ALLTOALL, (P_ALLW(MPI_Aint), MPI_Comm comm),
     (A_ALLW, comm),
     larger(N(sum_nb)(sendcounts, sendtypes, false, comm, true),
            N(sum_nb)(recvcounts, recvtypes, false, comm, false)),
     N(from_nb)(recvcounts, recvtypes, false, comm, 0))

/* ---- one-sided ------------------------------------------------------------------------------- */
#define P_RMA(ORIGIN)                                                                              \
  ORIGIN, COUNT count, MPI_Datatype type, int target, MPI_Aint target_disp, COUNT target_count,    \
      MPI_Datatype target_type
#define A_RMA buf, count, type, target, target_disp, target_count, target_type
#define P_GETACC                                                                                   \
  const void *buf, COUNT count, MPI_Datatype type, void *result, COUNT result_count,               \
      MPI_Datatype result_type, int target, MPI_Aint target_disp, COUNT target_count,              \
      MPI_Datatype target_type, MPI_Op op, MPI_Win win
#define A_GETACC                                                                                   \
  buf, count, type, result, result_count, result_type, target, target_disp, target_count,          \
      target_type, op, win
WRAP(N(Put), PUT, (P_RMA(const void *buf), MPI_Win win), (A_RMA, win),
     post_rma(c, PUT, count, type, target, win, LEAVES))
WRAP(N(Get), GET, (P_RMA(void *buf), MPI_Win win), (A_RMA, win),
     post_rma(c, GET, count, type, target, win, ROUND))
WRAP(N(Accumulate), ATOMIC, (P_RMA(const void *buf), MPI_Op op, MPI_Win win), (A_RMA, op, win),
     post_rma(c, ATOMIC, count, type, target, win, LEAVES))
WRAP(N(Get_accumulate), ATOMIC, (P_GETACC), (A_GETACC),
     post_rma(c, ATOMIC, result_count, result_type, target, win, ROUND))
WRAP(N(Rput), PUT, (P_RMA(const void *buf), MPI_Win win, P_REQ), (A_RMA, win, request),
     post_rma_request(c, *request, PUT, count, type, target, win, LEAVES))
WRAP(N(Rget), GET, (P_RMA(void *buf), MPI_Win win, P_REQ), (A_RMA, win, request),
     post_rma_request(c, *request, GET, count, type, target, win, ROUND))
WRAP(N(Raccumulate), ATOMIC, (P_RMA(const void *buf), MPI_Op op, MPI_Win win, P_REQ),
     (A_RMA, op, win, request),
     post_rma_request(c, *request, ATOMIC, count, type, target, win, LEAVES))
WRAP(N(Rget_accumulate), ATOMIC, (P_GETACC, P_REQ), (A_GETACC, request),
     post_rma_request(c, *request, ATOMIC, result_count, result_type, target, win, ROUND))

WRAP(N(Win_create), WIN_CREATE,
     (void *base, MPI_Aint size, DISP unit, MPI_Info info, MPI_Comm comm, MPI_Win *win),
     (base, size, unit, info, comm, win), (void)0)
WRAP(N(Win_allocate), WIN_CREATE,
     (MPI_Aint size, DISP unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *win),
     (size, unit, info, comm, base, win), (void)0)
WRAP(N(Win_allocate_shared), WIN_CREATE,
     (MPI_Aint size, DISP unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *win),
     (size, unit, info, comm, base, win), (void)0)
WRAP(N(Buffer_detach), OTHER, (void *buffer, COUNT *size), (buffer, size), (void)0)
#if HAS_MPI_4_1
WRAP(N(Comm_detach_buffer), OTHER, (MPI_Comm comm, void *buffer, COUNT *size), (comm, buffer, size),
     (void)0)
WRAP(N(Session_detach_buffer), OTHER, (MPI_Session session, void *buffer, COUNT *size),
     (session, buffer, size), (void)0)
#endif

/* ---- files: time in calls, no transfers (overlap_preload_files.h) ----------------------------- */
#define P_IO(B)    MPI_File file, B, COUNT count, MPI_Datatype type
#define P_IO_AT(B) MPI_File file, MPI_Offset offset, B, COUNT count, MPI_Datatype type
#define FILE_IO(op, B)                                                                             \
  WRAP(N(File_##op), IO, (P_IO(B), MPI_Status * status), (file, buf, count, type, status),         \
       (void)0)                                                                                    \
  WRAP(N(File_i##op), IO, (P_IO(B), P_REQ), (file, buf, count, type, request),                     \
       post_file(c, *request, count, type))
#define FILE_AT(op, B)                                                                             \
  WRAP(N(File_##op), IO, (P_IO_AT(B), MPI_Status * status),                                        \
       (file, offset, buf, count, type, status), (void)0)                                          \
  WRAP(N(File_i##op), IO, (P_IO_AT(B), P_REQ), (file, offset, buf, count, type, request),          \
       post_file(c, *request, count, type))
FILE_IO(read, void *buf)
FILE_IO(read_all, void *buf)
FILE_IO(read_shared, void *buf)
FILE_IO(write, const void *buf)
FILE_IO(write_all, const void *buf)
FILE_IO(write_shared, const void *buf)
FILE_AT(read_at, void *buf)
FILE_AT(read_at_all, void *buf)
FILE_AT(write_at, const void *buf)
FILE_AT(write_at_all, const void *buf)
WRAP(N(File_read_ordered), IO, (P_IO(void *buf), MPI_Status *status),
     (file, buf, count, type, status), (void)0)
WRAP(N(File_write_ordered), IO, (P_IO(const void *buf), MPI_Status *status),
     (file, buf, count, type, status), (void)0)
WRAP(N(File_read_all_begin), IO, (P_IO(void *buf)), (file, buf, count, type), (void)0)
WRAP(N(File_write_all_begin), IO, (P_IO(const void *buf)), (file, buf, count, type), (void)0)
WRAP(N(File_read_at_all_begin), IO, (P_IO_AT(void *buf)), (file, offset, buf, count, type), (void)0)
WRAP(N(File_write_at_all_begin), IO, (P_IO_AT(const void *buf)), (file, offset, buf, count, type),
     (void)0)
WRAP(N(File_read_ordered_begin), IO, (P_IO(void *buf)), (file, buf, count, type), (void)0)
WRAP(N(File_write_ordered_begin), IO, (P_IO(const void *buf)), (file, buf, count, type), (void)0)

#undef P_SEND
#undef A_SEND
#undef P_RECV
#undef A_RECV
#undef P_REQ
#undef P_SENDRECV
#undef A_SENDRECV
#undef P_REPLACE
#undef A_REPLACE
#undef P_TWO
#undef A_TWO
#undef P_OP
#undef A_OP
#undef P_ALLV
#undef A_ALLV
#undef P_ALLW
#undef A_ALLW
#undef OUT
#undef P_RMA
#undef A_RMA
#undef P_GETACC
#undef A_GETACC
#undef P_IO
#undef P_IO_AT
#undef FILE_IO
#undef FILE_AT
