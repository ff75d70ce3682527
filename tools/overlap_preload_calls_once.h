/* overlap_preload_calls_once.h: the calls without counts of data: completion, probes, control of
   requests, synchronisation, and setup that communicates. See overlap_preload_calls.h for WRAP. */

/* ---- completion ------------------------------------------------------------------------------ */
/* MPI nulls the requests of an array that complete, so they are copied before the call; statuses
   are always asked for, since they alone tell the bytes of a receive. Arrays that cannot be copied
   (NULL, negative count) go to the MPI as they are, for its own error. */
typedef struct batch {
  MPI_Request *before;
  MPI_Status *statuses;
  uint32_t *claims; /* NULL: one thread calls MPI */
} batch;

static bool room_for_requests(int count) {
  const size_t one = sizeof(MPI_Request) + sizeof(MPI_Status) + sizeof(uint32_t);
  if (count <= me.request_count) return true;
  const int room = count < 128 ? 128 : count < INT_MAX / 2 ? 2 * count : count;
  void *larger_one = map_memory((size_t)room * one);
  if (!larger_one) return false;
  unmap_memory(me.requests);
  me.requests = larger_one;
  me.request_count = room;
  return true;
}

static batch batch_of(const call *c, int count, const MPI_Request *requests, MPI_Status *statuses) {
  batch b = {NULL, statuses, NULL};
  if (!c->active || count <= 0 || !requests) return b;
  busy_begin();
  if (room_for_requests(count)) {
    MPI_Status *own = me.requests;
    b.before = (MPI_Request *)(void *)(own + me.request_count);
    memcpy(b.before, requests, (size_t)count * sizeof *requests);
    if (statuses == MPI_STATUSES_IGNORE) b.statuses = own;
    if (run.multiple) {
      b.claims = (uint32_t *)(void *)(b.before + me.request_count);
      claim_all(count, requests, b.claims);
    }
  }
  busy_end();
  return b;
}

/* What one of a batch is done with; its claim is used up. */
static uint32_t claim_in(const batch *b, int i) {
  const uint32_t claimed = b->claims ? b->claims[i] : 0;
  if (b->claims) b->claims[i] = 0;
  return claimed;
}
static void unclaim_rest(int count, const batch *b) {
  if (b->claims) unclaim_all(count, b->claims);
}

/* After an error in one call: what has become null is over, without a transfer. */
static void failed_in(int count, const batch *b, const MPI_Request now[]) {
  for (int i = 0; b->before && i < count; i++)
    if (b->before[i] != MPI_REQUEST_NULL && now[i] == MPI_REQUEST_NULL)
      failed(b->before[i], claim_in(b, i));
}

/* Not complete: it was left alone, or it may be received from others than a process that failed. */
static bool is_pending(int error) {
#ifdef MPIX_ERR_PROC_FAILED_PENDING
  int class_of_error = error;
  PMPI_Error_class(error, &class_of_error);
  if (class_of_error == MPIX_ERR_PROC_FAILED_PENDING) return true;
#endif
  return error == MPI_ERR_PENDING;
}
/* A request of two transfers ends two. */
static void share_among(int rc, int count, const int which[], const batch *b) {
  uint32_t ends = 0, own = 0;
  looked_at before = {.count = 0};
  lock();
  for (int i = 0; i < count; i++) {
    const int at = which ? which[i] : i;
    if (rc != MPI_SUCCESS && b->statuses[i].MPI_ERROR != MPI_SUCCESS) continue;
    const transfer *const x = ending(b->before[at], b->claims ? b->claims[at] : 0, &before);
    const uint32_t both = !x ? 0 : x->id && x->send_id ? 2 : 1;
    ends += both;
    own += x && x->peer == NBC_PEER_SELF ? both : 0;
  }
  unlock();
  share_call(ends, own);
}
/* MPI_ERR_IN_STATUS: each status has its own error. `which` = NULL: status i belongs to request i.
 */
static void completed_in(call *c, int rc, int count, const int which[], const batch *b) {
  if (b->before && count > 1) share_among(rc, count, which, b);
  for (int i = 0; b->before && i < count; i++) {
    const int at = which ? which[i] : i;
    const int error = rc == MPI_SUCCESS ? MPI_SUCCESS : b->statuses[i].MPI_ERROR;
    if (error == MPI_SUCCESS)
      completed(c, b->before[at], claim_in(b, at), &b->statuses[i]);
    else if (!is_pending(error))
      failed(b->before[at], claim_in(b, at));
  }
}
static bool known_each(int rc) { return rc == MPI_SUCCESS || rc == MPI_ERR_IN_STATUS; }

/* One request: what is to be claimed before, and what became of it. */
static uint32_t claim_one(const call *c, MPI_Request request) {
  if (!run.multiple || !c->active) return 0;
  uint32_t claimed;
  busy_begin();
  claim_all(1, &request, &claimed);
  busy_end();
  return claimed;
}
static void one_done(call *c, int rc, bool done, MPI_Request before, uint32_t claimed,
                     const MPI_Request *now, const MPI_Status *status) {
  if (!c->active) return;
  if (rc == MPI_SUCCESS && done)
    completed(c, before, claimed, status);
  else if (rc != MPI_SUCCESS && now && *now == MPI_REQUEST_NULL)
    failed(before, claimed);
  else
    unclaim_all(1, &claimed);
}

BODY(Wait, WAIT, (MPI_Request * request, MPI_Status *status), (request, status)) {
  const MPI_Request before = c->active && request ? *request : MPI_REQUEST_NULL;
  const uint32_t claimed = claim_one(c, before);
  const int rc = BACK(REAL(Wait)(request, OWN(status)));
  one_done(c, rc, true, before, claimed, request, OWN(status));
  return rc;
}

BODY(Test, TEST, (MPI_Request * request, int *flag, MPI_Status *status), (request, flag, status)) {
  const MPI_Request before = c->active && request ? *request : MPI_REQUEST_NULL;
  const uint32_t claimed = claim_one(c, before);
  const int rc = BACK(REAL(Test)(request, flag, OWN(status)));
  one_done(c, rc, rc == MPI_SUCCESS && *flag, before, claimed, request, OWN(status));
  return rc;
}

/* Waitany and Testany: which one, MPI_UNDEFINED for none. */
static void any_done(call *c, int rc, int count, const MPI_Request now[], int index, const batch *b,
                     const MPI_Status *status) {
  if (!b->before) return;
  if (rc != MPI_SUCCESS)
    failed_in(count, b, now);
  else if (index != MPI_UNDEFINED)
    completed(c, b->before[index], claim_in(b, index), status);
  unclaim_rest(count, b);
}

BODY(Waitany, WAITANY, (int count, MPI_Request requests[], int *index, MPI_Status *status),
     (count, requests, index, status)) {
  const batch b = batch_of(c, count, requests, MPI_STATUSES_IGNORE);
  const int rc = BACK(REAL(Waitany)(count, requests, index, OWN(status)));
  any_done(c, rc, count, requests, rc == MPI_SUCCESS ? *index : MPI_UNDEFINED, &b, OWN(status));
  return rc;
}

BODY(Testany, TEST, (int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status),
     (count, requests, index, flag, status)) {
  const batch b = batch_of(c, count, requests, MPI_STATUSES_IGNORE);
  const int rc = BACK(REAL(Testany)(count, requests, index, flag, OWN(status)));
  any_done(c, rc, count, requests, rc == MPI_SUCCESS && *flag ? *index : MPI_UNDEFINED, &b,
           OWN(status));
  return rc;
}

BODY(Waitall, WAITALL, (int count, MPI_Request requests[], MPI_Status statuses[]),
     (count, requests, statuses)) {
  const batch b = batch_of(c, count, requests, statuses);
  const int rc = BACK(REAL(Waitall)(count, requests, b.statuses));
  if (known_each(rc))
    completed_in(c, rc, count, NULL, &b);
  else
    failed_in(count, &b, requests);
  unclaim_rest(count, &b);
  return rc;
}

BODY(Testall, TEST, (int count, MPI_Request requests[], int *flag, MPI_Status statuses[]),
     (count, requests, flag, statuses)) {
  const batch b = batch_of(c, count, requests, statuses);
  const int rc = BACK(REAL(Testall)(count, requests, flag, b.statuses));
  if (rc != MPI_SUCCESS || *flag) {
    if (known_each(rc))
      completed_in(c, rc, count, NULL, &b);
    else
      failed_in(count, &b, requests);
  }
  unclaim_rest(count, &b);
  return rc;
}

#define P_SOME int count, MPI_Request requests[], int *done, int which[], MPI_Status statuses[]
static void some_done(call *c, int rc, int count, const MPI_Request now[], const int *done,
                      const int which[], const batch *b) {
  if (!known_each(rc))
    failed_in(count, b, now);
  else if (*done != MPI_UNDEFINED)
    completed_in(c, rc, *done, which, b);
  unclaim_rest(count, b);
}
BODY(Waitsome, WAITSOME, (P_SOME), (count, requests, done, which, statuses)) {
  const batch b = batch_of(c, count, requests, statuses);
  const int rc = BACK(REAL(Waitsome)(count, requests, done, which, b.statuses));
  some_done(c, rc, count, requests, done, which, &b);
  return rc;
}

BODY(Testsome, TEST, (P_SOME), (count, requests, done, which, statuses)) {
  const batch b = batch_of(c, count, requests, statuses);
  const int rc = BACK(REAL(Testsome)(count, requests, done, which, b.statuses));
  some_done(c, rc, count, requests, done, which, &b);
  return rc;
}
WRAP(Request_get_status, TEST, (MPI_Request request, int *flag, MPI_Status *status),
     (request, flag, status), c->told = *flag != 0)
#if HAS_MPI_4_1
WRAP(Request_get_status_all, TEST,
     (int count, const MPI_Request requests[], int *flag, MPI_Status statuses[]),
     (count, requests, flag, statuses), c->told = *flag != 0)
WRAP(Request_get_status_any, TEST,
     (int count, const MPI_Request requests[], int *index, int *flag, MPI_Status *status),
     (count, requests, index, flag, status), c->told = *flag != 0)
WRAP(Request_get_status_some, TEST,
     (int count, const MPI_Request requests[], int *done, int indices[], MPI_Status statuses[]),
     (count, requests, done, indices, statuses), (void)0)

/* Flushing waits until buffered messages have left. */
static int (*real_Buffer_flush)(void);
VISIBLE SPEED(Buffer_flush)
int PMPI_Buffer_flush(void) {
  call c[1] __attribute__((cleanup(leave)));
  enter(c, NBC_KIND_OTHER, "MPI_Buffer_flush", (uintptr_t)__builtin_return_address(0),
        (uintptr_t)__builtin_dwarf_cfa());
  return BACK(REAL(Buffer_flush)());
}
VISIBLE SPEED(Buffer_flush)
int MPI_Buffer_flush(void) __attribute__((alias("PMPI_Buffer_flush")));
WRAP(Comm_flush_buffer, OTHER, (MPI_Comm comm), (comm), (void)0)
WRAP(Session_flush_buffer, OTHER, (MPI_Session session), (session), (void)0)
WRAP(Buffer_iflush, OTHER, (MPI_Request * request), (request), post_nothing(c, *request))
WRAP(Comm_iflush_buffer, OTHER, (MPI_Comm comm, MPI_Request *request), (comm, request),
     post_nothing(c, *request))
WRAP(Session_iflush_buffer, OTHER, (MPI_Session session, MPI_Request *request), (session, request),
     post_nothing(c, *request))
#endif

/* ---- requests: start, cancel, free; probes --------------------------------------------------- */
WRAP(Start, START, (MPI_Request * request), (request), started(c, *request))
BODY(Startall, START, (int count, MPI_Request requests[]), (count, requests)) {
  const int rc = BACK(REAL(Startall)(count, requests));
  for (int i = 0; c->active && rc == MPI_SUCCESS && i < count; i++) started(c, requests[i]);
  return rc;
}
BODY(Cancel, OTHER, (MPI_Request * request), (request)) {
  __atomic_store_n(&any_cancelled, true, __ATOMIC_RELEASE);
  const int rc = BACK(REAL(Cancel)(request));
  if (c->active && rc == MPI_SUCCESS) cancelling(*request);
  return rc;
}
BODY(Request_free, OTHER, (MPI_Request * request), (request)) {
  const MPI_Request before = c->active && request ? *request : MPI_REQUEST_NULL;
  const uint32_t claimed = claim_one(c, before);
  const int rc = BACK(REAL(Request_free)(request));
  if (c->active && rc == MPI_SUCCESS)
    freed(c, before, claimed);
  else if (c->active)
    unclaim_all(1, &claimed);
  return rc;
}

WRAP(Probe, PROBE, (int source, int tag, MPI_Comm comm, MPI_Status *status),
     (source, tag, comm, OWN(status)), probed(c, source, OWN(status), comm))
WRAP(Iprobe, IPROBE, (int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status),
     (source, tag, comm, flag, status), c->told = *flag != 0)
WRAP(Mprobe, PROBE, (int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status),
     (source, tag, comm, message, OWN(status)),
     (matched(*message, OWN(status), comm), probed(c, source, OWN(status), comm)))
WRAP(Improbe, IPROBE,
     (int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status),
     (source, tag, comm, flag, message, OWN(status)), c->told = *flag != 0;
     if (*flag) matched(*message, OWN(status), comm))

#if HAS_MPI_4
/* Partitioned: one transfer per start, of all partitions together. */
#  define P_PARTS(B) B, int partitions, MPI_Count count, MPI_Datatype type
WRAP(Psend_init, OTHER,
     (P_PARTS(const void *buf), int dest, int tag, MPI_Comm comm, MPI_Info info,
      MPI_Request *request),
     (buf, partitions, count, type, dest, tag, comm, info, request),
     post_send(c, *request, partitions *count, type, dest, tag, comm, true, UNSEEN))
WRAP(Precv_init, OTHER,
     (P_PARTS(void *buf), int source, int tag, MPI_Comm comm, MPI_Info info, MPI_Request *request),
     (buf, partitions, count, type, source, tag, comm, info, request),
     post_parts(c, *request, partitions *count, type, source, comm))
#  undef P_PARTS
WRAP(Pready, OTHER, (int partition, MPI_Request request), (partition, request), (void)0)
WRAP(Pready_range, OTHER, (int low, int high, MPI_Request request), (low, high, request), (void)0)
WRAP(Pready_list, OTHER, (int count, const int partitions[], MPI_Request request),
     (count, partitions, request), (void)0)
WRAP(Parrived, TEST, (MPI_Request request, int partition, int *flag), (request, partition, flag),
     (void)0)
#endif

/* ---- barriers, one-sided synchronisation ----------------------------------------------------- */
WRAP(Barrier, BARRIER, (MPI_Comm comm), (comm),
     trace.ring ? trace_collective(c, NBC_KIND_BARRIER, from_all(1), comm, 0) : (void)0)
WRAP(Ibarrier, IBARRIER, (MPI_Comm comm, MPI_Request *request), (comm, request), {
  post_nothing(c, *request);
  if (UNLIKELY(trace.ring)) trace_started(c, *request, NBC_KIND_IBARRIER, from_all(1), comm);
})
COLL_INIT(
    Barrier_init, (MPI_Comm comm, MPI_Info info, MPI_Request *request), (comm, info, request),
    if (UNLIKELY(trace.ring)) {
      post_collective(c, *request, NBC_KIND_START, 0, comm, true);
      trace_prepared(*request, NBC_KIND_IBARRIER, from_all(1), comm);
    })

WRAP(Win_fence, RMA_SYNC, (int assert, MPI_Win win), (assert, win),
     synchronised(c, win, ALL_TARGETS, HERE))
WRAP(Win_start, RMA_SYNC, (MPI_Group group, int assert, MPI_Win win), (group, assert, win),
     waited_in(c, win))
WRAP(Win_complete, RMA_SYNC, (MPI_Win win), (win), synchronised(c, win, ALL_TARGETS, HERE))
WRAP(Win_post, RMA_SYNC, (MPI_Group group, int assert, MPI_Win win), (group, assert, win),
     waited_in(c, win))
WRAP(Win_wait, RMA_SYNC, (MPI_Win win), (win), waited_in(c, win))
WRAP(Win_test, TEST, (MPI_Win win, int *flag), (win, flag), (void)0)
WRAP(Win_lock, RMA_SYNC, (int type, int rank, int assert, MPI_Win win), (type, rank, assert, win),
     waited_in(c, win))
WRAP(Win_unlock, RMA_SYNC, (int rank, MPI_Win win), (rank, win), synchronised(c, win, rank, THERE))
WRAP(Win_lock_all, RMA_SYNC, (int assert, MPI_Win win), (assert, win), waited_in(c, win))
WRAP(Win_unlock_all, RMA_SYNC, (MPI_Win win), (win), synchronised(c, win, ALL_TARGETS, THERE))
WRAP(Win_flush, RMA_SYNC, (int rank, MPI_Win win), (rank, win), synchronised(c, win, rank, THERE))
WRAP(Win_flush_all, RMA_SYNC, (MPI_Win win), (win), synchronised(c, win, ALL_TARGETS, THERE))
WRAP(Win_flush_local, RMA_SYNC, (int rank, MPI_Win win), (rank, win),
     synchronised(c, win, rank, HERE))
WRAP(Win_flush_local_all, RMA_SYNC, (MPI_Win win), (win), synchronised(c, win, ALL_TARGETS, HERE))
WRAP(Win_sync, RMA_SYNC, (MPI_Win win), (win), waited_in(c, win))
/* All set hints together; in MPICH they wait for each other, and messages move meanwhile. */
WRAP(Win_set_info, RMA_SYNC, (MPI_Win win, MPI_Info info), (win, info), waited_in(c, win))
WRAP(Comm_set_info, SETUP, (MPI_Comm comm, MPI_Info info), (comm, info), trace_hints(comm))
WRAP(Fetch_and_op, ATOMIC,
     (const void *buf, void *result, MPI_Datatype type, int target, MPI_Aint disp, MPI_Op op,
      MPI_Win win),
     (buf, result, type, target, disp, op, win), post_rma(c, ATOMIC, 1, type, target, win, ROUND))
WRAP(Compare_and_swap, ATOMIC,
     (const void *buf, const void *compare, void *result, MPI_Datatype type, int target,
      MPI_Aint disp, MPI_Win win),
     (buf, compare, result, type, target, disp, win),
     post_rma(c, ATOMIC, 1, type, target, win, ROUND))

/* ---- setup that communicates, and what ends the life of a handle ----------------------------- */
static void forget(uintptr_t key) {
  busy_begin();
  drop_peers(key);
  busy_end();
}
#define FREES(name, type, kind)                                                                    \
  BODY(name, kind, (type * handle), (handle)) {                                                    \
    if (handle) trace_comm_gone(KEY(*handle));                                                     \
    if (c->active && handle) forget(KEY(*handle));                                                 \
    return BACK(REAL(name)(handle));                                                               \
  }
FREES(Comm_free, MPI_Comm, COMM_FREE)
FREES(Comm_disconnect, MPI_Comm, COMM_FREE)
BODY(Win_free, RMA_SYNC, (MPI_Win * win), (win)) {
  const uintptr_t key = c->active && win ? KEY(*win) : 0, aside = (uintptr_t)c;
  uint16_t tally = 0;
  if (key) {
    busy_begin();
    /* what it waits for is told beside the name of the window, of which nothing is known afterwards */
    if (me.on && *win != MPI_WIN_NULL) tally = peers_of_win(*win)->tally;
    busy_end();
    forget(key);
    rename_transfers(key, aside);
  }
  const int rc = BACK(REAL(Win_free)(win));
  if (c->active && key && rc == MPI_SUCCESS) {
    waited_of(c, tally);
    synchronised_key(c, aside, ALL_TARGETS, THERE);
  } else if (c->active && key)
    rename_transfers(aside, key);
  return rc;
}
#undef FREES

/* All processes of `comm` call it: also inside of other calls it is told to the timeline. */
#define MAKES(name, kind, parameters, arguments, record)                                           \
  MAKES_OF(MPI_, name, kind, parameters, arguments, record)
#define MAKES_OF(prefix, name, kind, parameters, arguments, record)                                \
  BODY_OF(prefix, name, kind, parameters, arguments) {                                             \
    const int rc = BACK(REAL_OF(P##prefix, name) arguments);                                       \
    trace_comm_made(KEY(comm), made, rc, strncmp(#name, "Comm_idup", 9) != 0);                     \
    if (c->active && rc == MPI_SUCCESS) record;                                                    \
    return rc;                                                                                     \
  }
MAKES(Comm_dup, COMM_DUP, (MPI_Comm comm, MPI_Comm *made), (comm, made), inherit_peers(comm, *made))
MAKES(Comm_dup_with_info, COMM_DUP, (MPI_Comm comm, MPI_Info info, MPI_Comm *made),
      (comm, info, made), inherit_peers(comm, *made))
MAKES(Comm_idup, COMM_DUP, (MPI_Comm comm, MPI_Comm *made, MPI_Request *request),
      (comm, made, request), post_nothing(c, *request))
WRAP(Open_port, SPAWN, (MPI_Info info, char *port), (info, port), (void)0)
WRAP(Close_port, SPAWN, (const char *port), (port), (void)0)
#define P_NAME const char *name, MPI_Info info
WRAP(Publish_name, SPAWN, (P_NAME, const char *port), (name, info, port), (void)0)
WRAP(Unpublish_name, SPAWN, (P_NAME, const char *port), (name, info, port), (void)0)
WRAP(Lookup_name, SPAWN, (P_NAME, char *port), (name, info, port), (void)0)
#undef P_NAME
WRAP(Comm_join, SPAWN, (int socket, MPI_Comm *made), (socket, made), (void)0)
#if HAS_MPI_4
MAKES(Comm_idup_with_info, COMM_DUP,
      (MPI_Comm comm, MPI_Info info, MPI_Comm *made, MPI_Request *request),
      (comm, info, made, request), post_nothing(c, *request))
WRAP(Comm_create_from_group, COMM_CREATE,
     (MPI_Group group, const char *tag, MPI_Info info, MPI_Errhandler handler, MPI_Comm *made),
     (group, tag, info, handler, made), (void)0)
WRAP(Intercomm_create_from_groups, COMM_CREATE,
     (MPI_Group local, int leader, MPI_Group remote, int remote_leader, const char *tag,
      MPI_Info info, MPI_Errhandler handler, MPI_Comm *made),
     (local, leader, remote, remote_leader, tag, info, handler, made), (void)0)
#endif
MAKES(Comm_create, COMM_CREATE, (MPI_Comm comm, MPI_Group group, MPI_Comm *made),
      (comm, group, made), (void)0)
#define MAKES_ALONE(name, kind, parameters, arguments, tag)                                        \
  BODY(name, kind, parameters, arguments) {                                                        \
    const int rc = BACK(REAL(name) arguments);                                                     \
    trace_comm_made_alone(made, rc, tag);                                                          \
    return rc;                                                                                     \
  }
MAKES_ALONE(Comm_create_group, COMM_CREATE,
            (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *made), (comm, group, tag, made),
            tag)
MAKES(Comm_split, COMM_SPLIT, (MPI_Comm comm, int color, int key, MPI_Comm *made),
      (comm, color, key, made), (void)0)
MAKES(Comm_split_type, COMM_SPLIT,
      (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *made),
      (comm, type, key, info, made), (void)0)
WRAP(Intercomm_create, COMM_CREATE,
     (MPI_Comm local, int leader, MPI_Comm peer, int remote_leader, int tag, MPI_Comm *made),
     (local, leader, peer, remote_leader, tag, made), (void)0)
MAKES_ALONE(Intercomm_merge, COMM_CREATE, (MPI_Comm comm, int high, MPI_Comm *made),
            (comm, high, made), -1)
MAKES(Cart_create, TOPOLOGY,
      (MPI_Comm comm, int ndims, const int dims[], const int periods[], int reorder,
       MPI_Comm *made),
      (comm, ndims, dims, periods, reorder, made), (void)0)
MAKES(Cart_sub, TOPOLOGY, (MPI_Comm comm, const int remain[], MPI_Comm *made), (comm, remain, made),
      (void)0)
MAKES(Graph_create, TOPOLOGY,
      (MPI_Comm comm, int nnodes, const int index[], const int edges[], int reorder,
       MPI_Comm *made),
      (comm, nnodes, index, edges, reorder, made), (void)0)
MAKES(Dist_graph_create, TOPOLOGY,
      (MPI_Comm comm, int n, const int sources[], const int degrees[], const int destinations[],
       const int weights[], MPI_Info info, int reorder, MPI_Comm *made),
      (comm, n, sources, degrees, destinations, weights, info, reorder, made), (void)0)
MAKES(Dist_graph_create_adjacent, TOPOLOGY,
      (MPI_Comm comm, int indegree, const int sources[], const int sourceweights[], int outdegree,
       const int destinations[], const int destweights[], MPI_Info info, int reorder,
       MPI_Comm *made),
      (comm, indegree, sources, sourceweights, outdegree, destinations, destweights, info, reorder,
       made),
      (void)0)

/* ---- going on without processes that failed: MPICH's and Open MPI's extension ----------------- */
/* An agreement waits for all that are left, as a barrier does. */
#ifdef MPIX_ERR_PROC_FAILED
#  define WRAP_X(name, kind, parameters, arguments)                                                \
    WRAP_OF(MPIX_, name, kind, parameters, arguments, (void)0)
WRAP_X(Comm_revoke, OTHER, (MPI_Comm comm), (comm))
MAKES_OF(MPIX_, Comm_shrink, COMM_CREATE, (MPI_Comm comm, MPI_Comm *made), (comm, made), (void)0)
WRAP_X(Comm_agree, BARRIER, (MPI_Comm comm, int *flag), (comm, flag))
WRAP_X(Comm_failure_ack, OTHER, (MPI_Comm comm), (comm))
WRAP_X(Comm_failure_get_acked, OTHER, (MPI_Comm comm, MPI_Group *failed_ones), (comm, failed_ones))
#  if defined OMPI_HAVE_MPI_EXT_FTMPI && OMPI_HAVE_MPI_EXT_FTMPI
WRAP_X(Comm_is_revoked, OTHER, (MPI_Comm comm, int *flag), (comm, flag))
WRAP_OF(MPIX_, Comm_iagree, IBARRIER, (MPI_Comm comm, int *flag, MPI_Request *request),
        (comm, flag, request), post_nothing(c, *request))
WRAP_X(Comm_get_failed, OTHER, (MPI_Comm comm, MPI_Group *failed_ones), (comm, failed_ones))
WRAP_X(Comm_ack_failed, OTHER, (MPI_Comm comm, int count, int *acked), (comm, count, acked))
#  endif
#  undef WRAP_X
#endif
#undef MAKES
#undef MAKES_OF
WRAP(Comm_spawn, SPAWN,
     (const char *command, char *argv[], int maxprocs, MPI_Info info, int root, MPI_Comm comm,
      MPI_Comm *made, int errcodes[]),
     (command, argv, maxprocs, info, root, comm, made, errcodes), (void)0)
WRAP(Comm_spawn_multiple, SPAWN,
     (int count, char *commands[], char **argvs[], const int maxprocs[], const MPI_Info infos[],
      int root, MPI_Comm comm, MPI_Comm *made, int errcodes[]),
     (count, commands, argvs, maxprocs, infos, root, comm, made, errcodes), (void)0)
WRAP(Comm_accept, SPAWN, (const char *port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *made),
     (port, info, root, comm, made), (void)0)
WRAP(Comm_connect, SPAWN,
     (const char *port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *made),
     (port, info, root, comm, made), (void)0)
WRAP(Win_create_dynamic, WIN_CREATE, (MPI_Info info, MPI_Comm comm, MPI_Win *win),
     (info, comm, win), (void)0)

/* ---- files: what is not a transfer of data with counts --------------------------------------- */
WRAP(File_open, IO, (MPI_Comm comm, const char *name, int mode, MPI_Info info, MPI_File *file),
     (comm, name, mode, info, file), (void)0)
WRAP(File_close, IO, (MPI_File * file), (file), (void)0)
WRAP(File_delete, IO, (const char *name, MPI_Info info), (name, info), (void)0)
WRAP(File_sync, IO, (MPI_File file), (file), (void)0)
WRAP(File_preallocate, IO, (MPI_File file, MPI_Offset size), (file, size), (void)0)
WRAP(File_set_view, IO,
     (MPI_File file, MPI_Offset at, MPI_Datatype etype, MPI_Datatype view, const char *format,
      MPI_Info info),
     (file, at, etype, view, format, info), (void)0)
WRAP(File_set_atomicity, IO, (MPI_File file, int flag), (file, flag), (void)0)
WRAP(File_seek_shared, IO, (MPI_File file, MPI_Offset offset, int whence), (file, offset, whence),
     (void)0)
WRAP(File_get_position_shared, IO, (MPI_File file, MPI_Offset *offset), (file, offset), (void)0)
WRAP(File_set_info, IO, (MPI_File file, MPI_Info info), (file, info), (void)0)
WRAP(File_set_size, IO, (MPI_File file, MPI_Offset size), (file, size), (void)0)
#define FILE_END(name, B)                                                                          \
  WRAP(name, IO, (MPI_File file, B, MPI_Status * status), (file, buf, status), (void)0)
FILE_END(File_read_all_end, void *buf)
FILE_END(File_write_all_end, const void *buf)
FILE_END(File_read_at_all_end, void *buf)
FILE_END(File_write_at_all_end, const void *buf)
FILE_END(File_read_ordered_end, void *buf)
FILE_END(File_write_ordered_end, const void *buf)
#undef FILE_END
