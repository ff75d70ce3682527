/* overlap_preload_replay_calls.h: which call is which line of a trace. Wrappers (overlap_preload_wrap.h) do
   REPLAY_BEFORE and REPLAY_AFTER of their name; a name without a macro here is told, where it moves data or waits for others. */
#define REPLAY_BEFORE(name, arguments)                                                             \
  do {                                                                                             \
    if (UNLIKELY(calls.on)) SECOND(REPLAY_BEFORE_##name arguments, (void)0, ~);                    \
  } while (0)
#define REPLAY_AFTER(which, kind, arguments)                                                       \
  do {                                                                                             \
    if (UNLIKELY(calls.on) && calls_here(c, rc))                                                   \
      SECOND(REPLAY_AFTER_##which arguments, calls_unsaid(NBC_KIND_##kind, c->name), ~);           \
  } while (0)

/* ---- messages ---- */
#define REPLAY_AFTER_Send(B, N, T, P, G, C)          ~, calls_message("s", NULL, bytes_of(N, T), P, G, C)
#define REPLAY_AFTER_Bsend(B, N, T, P, G, C)         ~, calls_message("s", NULL, bytes_of(N, T), P, G, C)
#define REPLAY_AFTER_Rsend(B, N, T, P, G, C)         ~, calls_message("s", NULL, bytes_of(N, T), P, G, C)
#define REPLAY_AFTER_Ssend(B, N, T, P, G, C)         ~, calls_message("ss", NULL, bytes_of(N, T), P, G, C)
#define REPLAY_AFTER_Isend(B, N, T, P, G, C, R)      ~, calls_message("s", R, bytes_of(N, T), P, G, C)
#define REPLAY_AFTER_Ibsend(B, N, T, P, G, C, R)     ~, calls_message("s", R, bytes_of(N, T), P, G, C)
#define REPLAY_AFTER_Irsend(B, N, T, P, G, C, R)     ~, calls_message("s", R, bytes_of(N, T), P, G, C)
#define REPLAY_AFTER_Issend(B, N, T, P, G, C, R)     ~, calls_message("ss", R, bytes_of(N, T), P, G, C)
#define REPLAY_AFTER_Recv(B, N, T, P, G, C, S)       ~, calls_message("r", NULL, bytes_of(N, T), P, G, C)
#define REPLAY_AFTER_Irecv(B, N, T, P, G, C, R)      ~, calls_message("r", R, bytes_of(N, T), P, G, C)
#define REPLAY_AFTER_Send_init(B, N, T, P, G, C, R)  ~, calls_init("s", R, bytes_of(N, T), P, G, C)
#define REPLAY_AFTER_Bsend_init(B, N, T, P, G, C, R) ~, calls_init("s", R, bytes_of(N, T), P, G, C)
#define REPLAY_AFTER_Rsend_init(B, N, T, P, G, C, R) ~, calls_init("s", R, bytes_of(N, T), P, G, C)
#define REPLAY_AFTER_Ssend_init(B, N, T, P, G, C, R) ~, calls_init("ss", R, bytes_of(N, T), P, G, C)
#define REPLAY_AFTER_Recv_init(B, N, T, P, G, C, R)  ~, calls_init("r", R, bytes_of(N, T), P, G, C)
#define REPLAY_AFTER_Mrecv(B, N, T, M, S)            ~, calls_matched(c, NULL, bytes_of(N, T))
#define REPLAY_AFTER_Imrecv(B, N, T, M, R)           ~, calls_matched(c, R, bytes_of(N, T))
#define REPLAY_AFTER_Start(R)                        ~, calls_start(1, R)
#define REPLAY_AFTER_Startall(N, R)                  ~, calls_start(N, R)
#define REPLAY_AFTER_Sendrecv(SB, SN, ST, D, SG, RB, RN, RT, P, RG, C, S)                          \
  ~, calls_sendrecv(bytes_of(SN, ST), D, SG, bytes_of(RN, RT), P, RG, C)
#define REPLAY_AFTER_Sendrecv_replace(B, N, T, D, SG, P, RG, C, S)                                 \
  ~, calls_sendrecv(bytes_of(N, T), D, SG, bytes_of(N, T), P, RG, C)

/* ---- ends ---- */
#define REPLAY_BEFORE_Wait(R, S)              ~, calls_before(c, 1, R)
#define REPLAY_BEFORE_Test(R, F, S)           ~, calls_before(c, 1, R)
#define REPLAY_BEFORE_Request_free(R)         ~, calls_before(c, 1, R)
#define REPLAY_BEFORE_Waitall(N, R, S)        ~, calls_before(c, N, R)
#define REPLAY_BEFORE_Testall(N, R, F, S)     ~, calls_before(c, N, R)
#define REPLAY_BEFORE_Waitany(N, R, I, S)     ~, calls_before(c, N, R)
#define REPLAY_BEFORE_Testany(N, R, I, F, S)  ~, calls_before(c, N, R)
#define REPLAY_BEFORE_Waitsome(N, R, D, I, S) ~, calls_before(c, N, R)
#define REPLAY_BEFORE_Testsome(N, R, D, I, S) ~, calls_before(c, N, R)
#define REPLAY_AFTER_Wait(R, S)               ~, calls_done_all(1)
#define REPLAY_AFTER_Test(R, F, S)            ~, calls_done_all(*(F) ? 1 : 0)
#define REPLAY_AFTER_Request_free(R)          ~, request_is_free(calls.before[0])
#define REPLAY_AFTER_Cancel(R)                ~, calls_cancelled(R)
#define REPLAY_AFTER_Waitall(N, R, S)         ~, calls_done_all(N)
#define REPLAY_AFTER_Testall(N, R, F, S)      ~, calls_done_all(*(F) ? (N) : 0)
#define REPLAY_AFTER_Waitany(N, R, I, S)      ~, calls_done_some(*(I) == MPI_UNDEFINED ? 0 : 1, I)
#define REPLAY_AFTER_Testany(N, R, I, F, S)                                                        \
  ~, calls_done_some(*(F) && *(I) != MPI_UNDEFINED ? 1 : 0, I)
#define REPLAY_AFTER_Waitsome(N, R, D, I, S) ~, calls_done_some(*(D), I)
#define REPLAY_AFTER_Testsome(N, R, D, I, S) ~, calls_done_some(*(D), I)

/* ---- collectives: X blocking, IX with a request ---- */
#define REPLAY_IS(B)      ((B) == MPI_IN_PLACE)
#define REPLAY_ROOT(C, P) is_root(C, P)
#define REPLAY_PLAIN(name, count, each, root, C, Q, in)                                            \
  ~, calls_coll(name, count, each, root, C, Q, in, NULL, 0, NULL, 0)
#define REPLAY_AFTER_Barrier(C)               REPLAY_PLAIN("barrier", 0, 1, 0, C, NULL, false)
#define REPLAY_AFTER_Ibarrier(C, Q)           REPLAY_PLAIN("barrier", 0, 1, 0, C, Q, false)
#define REPLAY_BCAST(N, T, P, C, Q)           REPLAY_PLAIN("bcast", bytes_of(N, T), 1, P, C, Q, false)
#define REPLAY_AFTER_Bcast(B, N, T, P, C)     REPLAY_BCAST(N, T, P, C, NULL)
#define REPLAY_AFTER_Ibcast(B, N, T, P, C, Q) REPLAY_BCAST(N, T, P, C, Q)
#define REPLAY_REDUCE(S, N, T, P, C, Q)                                                            \
  REPLAY_PLAIN("reduce", (uint64_t)(N), bytes_of(1, T), P, C, Q, REPLAY_IS(S))
#define REPLAY_AFTER_Reduce(S, R, N, T, O, P, C)     REPLAY_REDUCE(S, N, T, P, C, NULL)
#define REPLAY_AFTER_Ireduce(S, R, N, T, O, P, C, Q) REPLAY_REDUCE(S, N, T, P, C, Q)
#define REPLAY_OP(name, S, N, T, C, Q)                                                             \
  REPLAY_PLAIN(name, (uint64_t)(N), bytes_of(1, T), 0, C, Q, REPLAY_IS(S))
#define REPLAY_AFTER_Allreduce(S, R, N, T, O, C)     REPLAY_OP("allreduce", S, N, T, C, NULL)
#define REPLAY_AFTER_Iallreduce(S, R, N, T, O, C, Q) REPLAY_OP("allreduce", S, N, T, C, Q)
#define REPLAY_AFTER_Scan(S, R, N, T, O, C)          REPLAY_OP("scan", S, N, T, C, NULL)
#define REPLAY_AFTER_Iscan(S, R, N, T, O, C, Q)      REPLAY_OP("scan", S, N, T, C, Q)
#define REPLAY_AFTER_Exscan(S, R, N, T, O, C)        REPLAY_OP("exscan", S, N, T, C, NULL)
#define REPLAY_AFTER_Iexscan(S, R, N, T, O, C, Q)    REPLAY_OP("exscan", S, N, T, C, Q)
#define REPLAY_AFTER_Reduce_scatter_block(S, R, N, T, O, C)                                        \
  REPLAY_OP("reduce_scatter_block", S, N, T, C, NULL)
#define REPLAY_AFTER_Ireduce_scatter_block(S, R, N, T, O, C, Q)                                    \
  REPLAY_OP("reduce_scatter_block", S, N, T, C, Q)
#define REPLAY_GATHER(S, SN, ST, RN, RT, P, C, Q)                                                  \
  REPLAY_PLAIN("gather", REPLAY_ROOT(C, P) ? bytes_of(RN, RT) : bytes_of(SN, ST), 1, P, C, Q,      \
               REPLAY_ROOT(C, P) && REPLAY_IS(S))
#define REPLAY_AFTER_Gather(S, SN, ST, R, RN, RT, P, C) REPLAY_GATHER(S, SN, ST, RN, RT, P, C, NULL)
#define REPLAY_AFTER_Igather(S, SN, ST, R, RN, RT, P, C, Q)                                        \
  REPLAY_GATHER(S, SN, ST, RN, RT, P, C, Q)
#define REPLAY_SCATTER(SN, ST, R, RN, RT, P, C, Q)                                                 \
  REPLAY_PLAIN("scatter", REPLAY_ROOT(C, P) ? bytes_of(SN, ST) : bytes_of(RN, RT), 1, P, C, Q,     \
               REPLAY_ROOT(C, P) && REPLAY_IS(R))
#define REPLAY_AFTER_Scatter(S, SN, ST, R, RN, RT, P, C)                                           \
  REPLAY_SCATTER(SN, ST, R, RN, RT, P, C, NULL)
#define REPLAY_AFTER_Iscatter(S, SN, ST, R, RN, RT, P, C, Q)                                       \
  REPLAY_SCATTER(SN, ST, R, RN, RT, P, C, Q)
#define REPLAY_TWO(name, S, RN, RT, C, Q)                                                          \
  REPLAY_PLAIN(name, bytes_of(RN, RT), 1, 0, C, Q, REPLAY_IS(S))
#define REPLAY_AFTER_Allgather(S, SN, ST, R, RN, RT, C)     REPLAY_TWO("allgather", S, RN, RT, C, NULL)
#define REPLAY_AFTER_Iallgather(S, SN, ST, R, RN, RT, C, Q) REPLAY_TWO("allgather", S, RN, RT, C, Q)
#define REPLAY_AFTER_Alltoall(S, SN, ST, R, RN, RT, C)      REPLAY_TWO("alltoall", S, RN, RT, C, NULL)
#define REPLAY_AFTER_Ialltoall(S, SN, ST, R, RN, RT, C, Q)  REPLAY_TWO("alltoall", S, RN, RT, C, Q)
#define REPLAY_ALLGATHERV(S, RN, RT, C, Q)                                                         \
  ~, calls_coll("allgatherv", bytes_of(own_count(RN, C), RT), 1, 0, C, Q, REPLAY_IS(S), RN,        \
                bytes_of(1, RT), NULL, 0)
#define REPLAY_AFTER_Allgatherv(S, SN, ST, R, RN, D, RT, C)     REPLAY_ALLGATHERV(S, RN, RT, C, NULL)
#define REPLAY_AFTER_Iallgatherv(S, SN, ST, R, RN, D, RT, C, Q) REPLAY_ALLGATHERV(S, RN, RT, C, Q)
#define REPLAY_GATHERV(S, SN, ST, RN, RT, P, C, Q)                                                 \
  ~, calls_coll("gatherv", REPLAY_ROOT(C, P) ? bytes_of(own_count(RN, C), RT) : bytes_of(SN, ST),  \
                1, P, C, Q, REPLAY_ROOT(C, P) && REPLAY_IS(S), REPLAY_ROOT(C, P) ? (RN) : NULL,    \
                REPLAY_ROOT(C, P) ? bytes_of(1, RT) : 0, NULL, 0)
#define REPLAY_AFTER_Gatherv(S, SN, ST, R, RN, D, RT, P, C)                                        \
  REPLAY_GATHERV(S, SN, ST, RN, RT, P, C, NULL)
#define REPLAY_AFTER_Igatherv(S, SN, ST, R, RN, D, RT, P, C, Q)                                    \
  REPLAY_GATHERV(S, SN, ST, RN, RT, P, C, Q)
#define REPLAY_SCATTERV(SN, ST, R, RN, RT, P, C, Q)                                                \
  ~, calls_coll("scatterv", REPLAY_ROOT(C, P) ? bytes_of(own_count(SN, C), ST) : bytes_of(RN, RT), \
                1, P, C, Q, REPLAY_ROOT(C, P) && REPLAY_IS(R), REPLAY_ROOT(C, P) ? (SN) : NULL,    \
                REPLAY_ROOT(C, P) ? bytes_of(1, ST) : 0, NULL, 0)
#define REPLAY_AFTER_Scatterv(S, SN, D, ST, R, RN, RT, P, C)                                       \
  REPLAY_SCATTERV(SN, ST, R, RN, RT, P, C, NULL)
#define REPLAY_AFTER_Iscatterv(S, SN, D, ST, R, RN, RT, P, C, Q)                                   \
  REPLAY_SCATTERV(SN, ST, R, RN, RT, P, C, Q)
#define REPLAY_ALLTOALLV(S, SN, ST, RN, RT, C, Q)                                                  \
  ~, calls_coll("alltoallv", 0, 1, 0, C, Q, REPLAY_IS(S), REPLAY_IS(S) ? (RN) : (SN),              \
                REPLAY_IS(S) ? bytes_of(1, RT) : bytes_of(1, ST), RN, bytes_of(1, RT))
#define REPLAY_AFTER_Alltoallv(S, SN, SD, ST, R, RN, RD, RT, C)                                    \
  REPLAY_ALLTOALLV(S, SN, ST, RN, RT, C, NULL)
#define REPLAY_AFTER_Ialltoallv(S, SN, SD, ST, R, RN, RD, RT, C, Q)                                \
  REPLAY_ALLTOALLV(S, SN, ST, RN, RT, C, Q)
#define REPLAY_REDSCAT(S, N, T, C, Q)                                                              \
  ~, calls_coll("reduce_scatter", (uint64_t)own_count(N, C), bytes_of(1, T), 0, C, Q,              \
                REPLAY_IS(S), N, 1, NULL, 0)
#define REPLAY_AFTER_Reduce_scatter(S, R, N, T, O, C)     REPLAY_REDSCAT(S, N, T, C, NULL)
#define REPLAY_AFTER_Ireduce_scatter(S, R, N, T, O, C, Q) REPLAY_REDSCAT(S, N, T, C, Q)

/* ---- communicators ---- */
#define REPLAY_AFTER_Comm_dup(C, M)                               ~, calls_comm_made(*(M))
#define REPLAY_AFTER_Comm_dup_with_info(C, I, M)                  ~, calls_comm_made(*(M))
#define REPLAY_AFTER_Comm_idup(C, M, R)                           ~, (calls_comm_copied(C, *(M)), calls_nothing(R))
#define REPLAY_AFTER_Comm_idup_with_info(C, I, M, R)              REPLAY_AFTER_Comm_idup(C, M, R)
#define REPLAY_AFTER_Comm_create(C, G, M)                         ~, calls_comm_made(*(M))
#define REPLAY_AFTER_Comm_create_group(C, G, T, M)                ~, calls_comm_made(*(M))
#define REPLAY_AFTER_Comm_split(C, K, O, M)                       ~, calls_comm_made(*(M))
#define REPLAY_AFTER_Comm_split_type(C, T, K, I, M)               ~, calls_comm_made(*(M))
#define REPLAY_AFTER_Intercomm_merge(C, H, M)                     ~, calls_comm_made(*(M))
#define REPLAY_AFTER_Cart_create(C, N, D, P, O, M)                ~, calls_comm_made(*(M))
#define REPLAY_AFTER_Cart_sub(C, K, M)                            ~, calls_comm_made(*(M))
#define REPLAY_AFTER_Graph_create(C, N, I, E, O, M)               ~, calls_comm_made(*(M))
#define REPLAY_AFTER_Dist_graph_create(C, N, S, G, D, W, I, O, M) ~, calls_comm_made(*(M))
#define REPLAY_AFTER_Dist_graph_create_adjacent(C, IN, S, SW, ON, D, DW, I, O, M)                  \
  ~, calls_comm_made(*(M))
#define REPLAY_AFTER_Comm_shrink(C, M)   ~, calls_comm_made(*(M))
#define REPLAY_AFTER_Comm_agree(C, F)    REPLAY_PLAIN("allreduce", 1, sizeof(int), 0, C, NULL, false)
#define REPLAY_BEFORE_Comm_free(M)       ~, calls_comm_freed(*(M))
#define REPLAY_BEFORE_Comm_disconnect(M) ~, calls_comm_freed(*(M))

/* ---- what a trace cannot say, but must know to find other requests of the same handle ---- */
#define REPLAY_REQUEST(R)                                                       ~, (calls_missing(c->name), calls_nothing(R))
#define REPLAY_AFTER_Rput(B, N, T, P, D, TN, TT, W, R)                          REPLAY_REQUEST(R)
#define REPLAY_AFTER_Rget(B, N, T, P, D, TN, TT, W, R)                          REPLAY_REQUEST(R)
#define REPLAY_AFTER_Raccumulate(B, N, T, P, D, TN, TT, O, W, R)                REPLAY_REQUEST(R)
#define REPLAY_AFTER_Rget_accumulate(B, N, T, A, AN, AT, P, D, TN, TT, O, W, R) REPLAY_REQUEST(R)
#define REPLAY_AFTER_Isendrecv(SB, SN, ST, D, SG, RB, RN, RT, P, RG, C, R)      REPLAY_REQUEST(R)
#define REPLAY_AFTER_Isendrecv_replace(B, N, T, D, SG, P, RG, C, R)             REPLAY_REQUEST(R)
#define REPLAY_AFTER_Ialltoallw(S, SN, SD, ST, B, RN, RD, RT, C, R)             REPLAY_REQUEST(R)
#define REPLAY_AFTER_Ineighbor_allgather(S, SN, ST, B, RN, RT, C, R)            REPLAY_REQUEST(R)
#define REPLAY_AFTER_Ineighbor_allgatherv(S, SN, ST, B, RN, RD, RT, C, R)       REPLAY_REQUEST(R)
#define REPLAY_AFTER_Ineighbor_alltoall(S, SN, ST, B, RN, RT, C, R)             REPLAY_REQUEST(R)
#define REPLAY_AFTER_Ineighbor_alltoallv(S, SN, SD, ST, B, RN, RD, RT, C, R)    REPLAY_REQUEST(R)
#define REPLAY_AFTER_Ineighbor_alltoallw(S, SN, SD, ST, B, RN, RD, RT, C, R)    REPLAY_REQUEST(R)
#define REPLAY_AFTER_File_iread(F, B, N, T, R)                                  REPLAY_REQUEST(R)
#define REPLAY_AFTER_File_iread_all(F, B, N, T, R)                              REPLAY_REQUEST(R)
#define REPLAY_AFTER_File_iread_shared(F, B, N, T, R)                           REPLAY_REQUEST(R)
#define REPLAY_AFTER_File_iwrite(F, B, N, T, R)                                 REPLAY_REQUEST(R)
#define REPLAY_AFTER_File_iwrite_all(F, B, N, T, R)                             REPLAY_REQUEST(R)
#define REPLAY_AFTER_File_iwrite_shared(F, B, N, T, R)                          REPLAY_REQUEST(R)
#define REPLAY_AFTER_File_iread_at(F, O, B, N, T, R)                            REPLAY_REQUEST(R)
#define REPLAY_AFTER_File_iread_at_all(F, O, B, N, T, R)                        REPLAY_REQUEST(R)
#define REPLAY_AFTER_File_iwrite_at(F, O, B, N, T, R)                           REPLAY_REQUEST(R)
#define REPLAY_AFTER_File_iwrite_at_all(F, O, B, N, T, R)                       REPLAY_REQUEST(R)
/* Memory of this process alone, hints; making a window moves nothing. */
#define REPLAY_AFTER_Win_sync(W)        ~, (void)0
#define REPLAY_AFTER_Win_set_info(W, I) ~, (void)0
/* Twins with large counts. */
#define REPLAY_AFTER_Send_c(...)                  REPLAY_AFTER_Send(__VA_ARGS__)
#define REPLAY_AFTER_Isend_c(...)                 REPLAY_AFTER_Isend(__VA_ARGS__)
#define REPLAY_AFTER_Mrecv_c(...)                 REPLAY_AFTER_Mrecv(__VA_ARGS__)
#define REPLAY_AFTER_Imrecv_c(...)                REPLAY_AFTER_Imrecv(__VA_ARGS__)
#define REPLAY_AFTER_Recv_c(...)                  REPLAY_AFTER_Recv(__VA_ARGS__)
#define REPLAY_AFTER_Irecv_c(...)                 REPLAY_AFTER_Irecv(__VA_ARGS__)
#define REPLAY_AFTER_Bcast_c(...)                 REPLAY_AFTER_Bcast(__VA_ARGS__)
#define REPLAY_AFTER_Allreduce_c(...)             REPLAY_AFTER_Allreduce(__VA_ARGS__)
#define REPLAY_AFTER_Reduce_c(...)                REPLAY_AFTER_Reduce(__VA_ARGS__)
#define REPLAY_AFTER_Bsend_c(...)                 REPLAY_AFTER_Bsend(__VA_ARGS__)
#define REPLAY_AFTER_Rsend_c(...)                 REPLAY_AFTER_Rsend(__VA_ARGS__)
#define REPLAY_AFTER_Ssend_c(...)                 REPLAY_AFTER_Ssend(__VA_ARGS__)
#define REPLAY_AFTER_Ibsend_c(...)                REPLAY_AFTER_Ibsend(__VA_ARGS__)
#define REPLAY_AFTER_Irsend_c(...)                REPLAY_AFTER_Irsend(__VA_ARGS__)
#define REPLAY_AFTER_Issend_c(...)                REPLAY_AFTER_Issend(__VA_ARGS__)
#define REPLAY_AFTER_Send_init_c(...)             REPLAY_AFTER_Send_init(__VA_ARGS__)
#define REPLAY_AFTER_Bsend_init_c(...)            REPLAY_AFTER_Bsend_init(__VA_ARGS__)
#define REPLAY_AFTER_Rsend_init_c(...)            REPLAY_AFTER_Rsend_init(__VA_ARGS__)
#define REPLAY_AFTER_Ssend_init_c(...)            REPLAY_AFTER_Ssend_init(__VA_ARGS__)
#define REPLAY_AFTER_Recv_init_c(...)             REPLAY_AFTER_Recv_init(__VA_ARGS__)
#define REPLAY_AFTER_Sendrecv_c(...)              REPLAY_AFTER_Sendrecv(__VA_ARGS__)
#define REPLAY_AFTER_Sendrecv_replace_c(...)      REPLAY_AFTER_Sendrecv_replace(__VA_ARGS__)
#define REPLAY_AFTER_Isendrecv_c(...)             REPLAY_AFTER_Isendrecv(__VA_ARGS__)
#define REPLAY_AFTER_Isendrecv_replace_c(...)     REPLAY_AFTER_Isendrecv_replace(__VA_ARGS__)
#define REPLAY_AFTER_Ibcast_c(...)                REPLAY_AFTER_Ibcast(__VA_ARGS__)
#define REPLAY_AFTER_Ireduce_c(...)               REPLAY_AFTER_Ireduce(__VA_ARGS__)
#define REPLAY_AFTER_Iallreduce_c(...)            REPLAY_AFTER_Iallreduce(__VA_ARGS__)
#define REPLAY_AFTER_Scan_c(...)                  REPLAY_AFTER_Scan(__VA_ARGS__)
#define REPLAY_AFTER_Iscan_c(...)                 REPLAY_AFTER_Iscan(__VA_ARGS__)
#define REPLAY_AFTER_Exscan_c(...)                REPLAY_AFTER_Exscan(__VA_ARGS__)
#define REPLAY_AFTER_Iexscan_c(...)               REPLAY_AFTER_Iexscan(__VA_ARGS__)
#define REPLAY_AFTER_Reduce_scatter_block_c(...)  REPLAY_AFTER_Reduce_scatter_block(__VA_ARGS__)
#define REPLAY_AFTER_Ireduce_scatter_block_c(...) REPLAY_AFTER_Ireduce_scatter_block(__VA_ARGS__)
#define REPLAY_AFTER_Gather_c(...)                REPLAY_AFTER_Gather(__VA_ARGS__)
#define REPLAY_AFTER_Igather_c(...)               REPLAY_AFTER_Igather(__VA_ARGS__)
#define REPLAY_AFTER_Scatter_c(...)               REPLAY_AFTER_Scatter(__VA_ARGS__)
#define REPLAY_AFTER_Iscatter_c(...)              REPLAY_AFTER_Iscatter(__VA_ARGS__)
#define REPLAY_AFTER_Allgather_c(...)             REPLAY_AFTER_Allgather(__VA_ARGS__)
#define REPLAY_AFTER_Iallgather_c(...)            REPLAY_AFTER_Iallgather(__VA_ARGS__)
#define REPLAY_AFTER_Alltoall_c(...)              REPLAY_AFTER_Alltoall(__VA_ARGS__)
#define REPLAY_AFTER_Ialltoall_c(...)             REPLAY_AFTER_Ialltoall(__VA_ARGS__)
#define REPLAY_AFTER_Rput_c(...)                  REPLAY_AFTER_Rput(__VA_ARGS__)
#define REPLAY_AFTER_Rget_c(...)                  REPLAY_AFTER_Rget(__VA_ARGS__)
#define REPLAY_AFTER_Raccumulate_c(...)           REPLAY_AFTER_Raccumulate(__VA_ARGS__)
#define REPLAY_AFTER_Rget_accumulate_c(...)       REPLAY_AFTER_Rget_accumulate(__VA_ARGS__)
#define REPLAY_AFTER_Ialltoallw_c(...)            REPLAY_AFTER_Ialltoallw(__VA_ARGS__)
#define REPLAY_AFTER_Ineighbor_allgather_c(...)   REPLAY_AFTER_Ineighbor_allgather(__VA_ARGS__)
#define REPLAY_AFTER_Ineighbor_allgatherv_c(...)  REPLAY_AFTER_Ineighbor_allgatherv(__VA_ARGS__)
#define REPLAY_AFTER_Ineighbor_alltoall_c(...)    REPLAY_AFTER_Ineighbor_alltoall(__VA_ARGS__)
#define REPLAY_AFTER_Ineighbor_alltoallv_c(...)   REPLAY_AFTER_Ineighbor_alltoallv(__VA_ARGS__)
#define REPLAY_AFTER_Ineighbor_alltoallw_c(...)   REPLAY_AFTER_Ineighbor_alltoallw(__VA_ARGS__)
#define REPLAY_AFTER_File_iread_c(...)            REPLAY_AFTER_File_iread(__VA_ARGS__)
#define REPLAY_AFTER_File_iread_all_c(...)        REPLAY_AFTER_File_iread_all(__VA_ARGS__)
#define REPLAY_AFTER_File_iread_shared_c(...)     REPLAY_AFTER_File_iread_shared(__VA_ARGS__)
#define REPLAY_AFTER_File_iwrite_c(...)           REPLAY_AFTER_File_iwrite(__VA_ARGS__)
#define REPLAY_AFTER_File_iwrite_all_c(...)       REPLAY_AFTER_File_iwrite_all(__VA_ARGS__)
#define REPLAY_AFTER_File_iwrite_shared_c(...)    REPLAY_AFTER_File_iwrite_shared(__VA_ARGS__)
#define REPLAY_AFTER_File_iread_at_c(...)         REPLAY_AFTER_File_iread_at(__VA_ARGS__)
#define REPLAY_AFTER_File_iread_at_all_c(...)     REPLAY_AFTER_File_iread_at_all(__VA_ARGS__)
#define REPLAY_AFTER_File_iwrite_at_c(...)        REPLAY_AFTER_File_iwrite_at(__VA_ARGS__)
#define REPLAY_AFTER_File_iwrite_at_all_c(...)    REPLAY_AFTER_File_iwrite_at_all(__VA_ARGS__)
/* Their counts are no array of int. */
#define REPLAY_AFTER_Iallgatherv_c(S, SN, ST, B, RN, D, RT, C, R)     REPLAY_REQUEST(R)
#define REPLAY_AFTER_Igatherv_c(S, SN, ST, B, RN, D, RT, P, C, R)     REPLAY_REQUEST(R)
#define REPLAY_AFTER_Iscatterv_c(S, SN, D, ST, B, RN, RT, P, C, R)    REPLAY_REQUEST(R)
#define REPLAY_AFTER_Ialltoallv_c(S, SN, SD, ST, B, RN, RD, RT, C, R) REPLAY_REQUEST(R)
#define REPLAY_AFTER_Ireduce_scatter_c(S, B, N, T, O, C, R)           REPLAY_REQUEST(R)
