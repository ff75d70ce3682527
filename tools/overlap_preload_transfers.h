/* overlap_preload_transfers.h: transfers under way, by request or by window: how they begin, who
   completes them, how they end. */
/* Completed small sends share one handle in both MPIs, so a handle leads to a queue: first posted,
   first completed, own thread's first. Open addressing over the queues' heads; both tables grow.
   Where several threads call MPI, a request that a thread waits for is claimed before the MPI's own
   wait, and leaves its queue: once the MPI has freed the handle, another thread may be given the same
   one for a new request, which cannot be taken for the claimed one. What is not complete goes back to
   the front. So of many requests with one handle none is walked over again and again. */
typedef struct transfer {
  uintptr_t key;
  uint64_t id;      /* 0: nothing to record (MPI_PROC_NULL, barrier, inactive, measuring is off) */
  uint64_t send_id; /* second transfer of the same request (Isendrecv), */
  union {
    uint64_t send_bytes; /* and what of it */
    int64_t begin_ns;    /* of a file operation */
  };
  int send_dest;       /* and whom it goes to */
  uint64_t size_bytes; /* shown: its id in the timeline */
  nbc_recorder *owner;
  const peers *comm; /* to tell the sender of a receive from any source; of a send, whose */
  uint32_t comm_made;
  int dest, tag;
  int64_t comp_ns; /* of a send: its thread's computation up to its post; shown: when it began */
  uint32_t next, tail; /* queue of this key; tail is valid at its head */
  int target;          /* one-sided: rank in the window */
  uint16_t tally;      /* where it is counted; of a file operation: its call */
  uint16_t place;      /* where it was begun: the monitor's number */
  unsigned char kind, peer;
  bool receives, persistent, cancelling;
  bool shown;       /* nothing to record, but the timeline has its end: a barrier */
  bool leaves;      /* goes out, and its end is told before it has arrived */
  bool unseen;      /* a collective: of messages that nobody sees; or copied, and sent later */
  bool send_unseen; /* likewise the second transfer */
  bool apart; /* a receive that is not in the order of messages: matched by a probe, or in parts */
  uint32_t prepared; /* a persistent collective: what the timeline has of it; 0: nothing */
} transfer;

enum { FIRST_TRANSFERS = 1024, MOST_TRANSFERS = 1 << 24 };
static transfer *pool;  /* 0 is not used, all of it zero */
static uint32_t *slots; /* index of a queue's head; 0 = empty; twice as many as the pool's */
static uint32_t slots_mask, pool_size, pool_free, pool_used;

static inline uint32_t slot_home(uintptr_t key) {
  return (uint32_t)(((uint64_t)key * 0x9E3779B97F4A7C15u) >> 32) & slots_mask;
}
static inline uint32_t slot_of(uintptr_t key) { /* its slot, or the empty one for it */
  uint32_t i = slot_home(key);
  while (slots[i] && pool[slots[i]].key != key) i = (i + 1) & slots_mask;
  return i;
}

static inline void close_gap(uint32_t hole) { /* keys further on that could stand here move back */
  for (uint32_t i = (hole + 1) & slots_mask; slots[i]; i = (i + 1) & slots_mask) {
    const uint32_t home = slot_home(pool[slots[i]].key);
    if (((i - home) & slots_mask) < ((i - hole) & slots_mask)) continue;
    slots[hole] = slots[i];
    hole = i;
  }
  slots[hole] = 0;
}

/* Room for twice as many, or for the first. False: no memory, or the limit; all stays as it is. */
APART static bool grow_transfers(void) {
  const uint32_t size = pool ? 2 * pool_size : FIRST_TRANSFERS, old_mask = slots_mask;
  if (size > MOST_TRANSFERS) return false;
  transfer *const bigger = map_memory((size + 1) * sizeof *bigger);
  uint32_t *const more = map_memory(2 * (size_t)size * sizeof *more), *const old = slots;
  if (!bigger || !more) {
    unmap_memory(bigger);
    unmap_memory(more);
    return false;
  }
  if (pool) memcpy(bigger, pool, (pool_size + 1) * sizeof *pool);
  unmap_memory(pool);
  pool = bigger;
  pool_size = size;
  slots = more;
  slots_mask = 2 * size - 1;
  for (uint32_t i = 0; old && i <= old_mask; i++)
    if (old[i]) slots[slot_of(pool[old[i]].key)] = old[i];
  unmap_memory(old);
  return true;
}

/* Field by field: so the compiler keeps `x`, which callers make, in registers. A copy of the whole would be made of
   wide readings of memory just written in small pieces, for which a processor waits. */
static inline void fill(transfer *t, const transfer *x) {
  t->key = x->key;
  t->id = x->id;
  t->send_id = x->send_id;
  t->send_bytes = x->send_bytes;
  t->send_dest = x->send_dest;
  t->size_bytes = x->size_bytes;
  t->owner = x->owner;
  t->comm = x->comm;
  t->comm_made = x->comm_made;
  t->dest = x->dest;
  t->tag = x->tag;
  t->comp_ns = x->comp_ns;
  t->target = x->target;
  t->tally = x->tally;
  t->kind = x->kind;
  t->peer = x->peer;
  t->receives = x->receives;
  t->persistent = x->persistent;
  t->cancelling = x->cancelling;
  t->shown = x->shown;
  t->leaves = x->leaves;
  t->place = x->place;
  t->unseen = x->unseen;
  t->send_unseen = x->send_unseen;
  t->apart = x->apart;
  t->prepared = x->prepared;
}

/* Its communicator's entry stays for it, see keep_for_transfers; that of another one by now does not count it. */
static inline void refer(const transfer *x, uint32_t more) {
  peers *const p = (peers *)(uintptr_t)x->comm;
  if (x->comm_made && p->made == x->comm_made) p->open_count += more;
}
/* Appends to the queue of x->key, whose slot this is. NULL when the pool is exhausted. */
static inline transfer *put(const transfer *x, uint32_t slot) {
  uint32_t index = pool_free;
  if (index) {
    pool_free = pool[index].next;
  } else if (pool_used < pool_size) {
    index = ++pool_used;
  } else if (grow_transfers()) {
    index = ++pool_used;
    slot = slot_of(x->key);
  } else {
    return NULL;
  }
  transfer *const t = &pool[index];
  fill(t, x);
  refer(t, 1);
  t->next = 0;
  t->tail = index;
  if (slots[slot]) {
    transfer *head = &pool[slots[slot]];
    pool[head->tail].next = index;
    head->tail = index;
  } else {
    slots[slot] = index;
  }
  return t;
}

/* The least id of a receive that is under way; UINT64_MAX: there is none. */
static uint64_t oldest_receive(void) {
  uint64_t least = UINT64_MAX;
  for (uint32_t i = 1; i <= pool_used; i++)
    if (pool[i].key && pool[i].receives && pool[i].id && pool[i].id < least) least = pool[i].id;
  return least;
}

static inline void give_back_room(uint32_t index) {
  refer(&pool[index], UINT32_MAX); /* one less */
  pool[index].next = pool_free;
  pool[index].id = 0;
  pool_free = index;
}
/* Removes `index`, which follows `before` (0: is the head), from the queue of a slot; it stays in the pool. */
static inline void unlink_from(uint32_t slot, uint32_t before, uint32_t index) {
  const uint32_t head = slots[slot], next = pool[index].next;
  if (before) {
    pool[before].next = next;
    if (pool[head].tail == index) pool[head].tail = before;
  } else if (next) {
    pool[next].tail = pool[head].tail;
    slots[slot] = next;
  } else {
    close_gap(slot);
  }
}
static inline void take_out(uint32_t slot, uint32_t before, uint32_t index) {
  unlink_from(slot, before, index);
  give_back_room(index);
}
/* What is in the pool, but in no queue, becomes the head of its queue. */
static void put_back(uint32_t index) {
  const uint32_t slot = slot_of(pool[index].key), head = slots[slot];
  pool[index].next = head;
  pool[index].tail = head ? pool[head].tail : index;
  slots[slot] = index;
}

/* The transfer that a completion of this handle means: the oldest of this thread, else the oldest.
   0: none. */
static uint32_t find_oldest(uint32_t slot, uint32_t *before) {
  uint32_t previous = 0, oldest = 0;
  *before = 0;
  for (uint32_t i = slots[slot]; i; previous = i, i = pool[i].next) {
    if (!oldest || pool[i].owner == me.recorder) oldest = i, *before = previous;
    if (pool[i].owner == me.recorder) break;
  }
  return oldest;
}

/* Before the MPI's wait or test, where several threads call MPI, for all of its requests under one lock. 0: nothing to
   claim. */
static void claim_all(int count, const MPI_Request requests[], uint32_t claims[]) {
  uint32_t before;
  lock();
  for (int i = 0; i < count; i++) {
    const bool is_one = pool && requests[i] != MPI_REQUEST_NULL;
    const uint32_t slot = is_one ? slot_of(KEY(requests[i])) : 0;
    claims[i] = is_one ? find_oldest(slot, &before) : 0;
    if (claims[i]) unlink_from(slot, before, claims[i]);
  }
  unlock();
}
/* The MPI said: not complete. The last first: so those with one handle stand in its queue again as they did. */
static void unclaim_all(int count, const uint32_t claims[]) {
  lock();
  while (count-- > 0)
    if (claims[count]) put_back(claims[count]);
  unlock();
}

static bool is_complete(MPI_Request request) {
  static int (*real_Request_get_status)(MPI_Request, int *, MPI_Status *);
  MPI_Status status;
  int complete = 0;
  return REAL(Request_get_status)(request, &complete, &status) == MPI_SUCCESS && complete;
}
/* The one shared handle learns itself: a handle that comes again while in use is shared when MPI
   says it is complete; else we missed its end, and the old transfer must not take the new one's.
   The slot of the request from then on. */
APART static uint32_t drop_stale(MPI_Request request, uint32_t slot) {
  const uint32_t head = slots[slot];
  if (pool[head].next) return slot; /* known to be shared */
  /* Another thread is about to tell its end, or will. */
  if (pool[head].owner != me.recorder) return slot;
  if (is_complete(request) && !pool[head].persistent) return slot;
  if (pool[head].receives && pool[head].id) trace_cut_at(&trace.cut_in, pool[head].id);
  take_out(slot, 0, head);
  return slot_of(KEY(request));
}

/* All of a window's transfers get another key: its handle is about to be free for another. */
static void rename_transfers(uintptr_t from, uintptr_t to) {
  busy_begin();
  lock();
  const uint32_t slot = pool ? slot_of(from) : 0, head = pool ? slots[slot] : 0;
  if (head) {
    close_gap(slot);
    for (uint32_t i = head; i; i = pool[i].next) pool[i].key = to;
    slots[slot_of(to)] = head;
  }
  unlock();
  busy_end();
}

/* ---- beginnings ------------------------------------------------------------------------------ */
static void begin(call *c, transfer *x) {
  x->place = c->at ? c->at->place : 0;
  x->id = ++me.next_id;
  x->owner = me.recorder;
  nbc_xfer_begin_at(me.recorder, x->id, x->size_bytes, (nbc_kind)x->kind, (nbc_peer)x->peer,
                    c->t0_ns);
}

/* Notes the transfer and begins it when it moves something; without room its end will not be seen:
   case 3. Returns with the lock as it was. */
static inline void follow_transfer(call *c, transfer *x, bool moves, uint32_t slot) {
  if (moves) x->id = ++me.next_id;
  x->owner = me.recorder;
  x->place = c->at ? c->at->place : 0;
  if (put(x, slot)) {
    if (moves)
      nbc_xfer_begin_at(me.recorder, x->id, x->size_bytes, (nbc_kind)x->kind, (nbc_peer)x->peer,
                        c->t0_ns);
  } else if (moves) {
    if (x->receives) trace_cut_at(&trace.cut_in, x->id);
    nbc_xfer_end_only_at(me.recorder, x->size_bytes, (nbc_kind)x->kind, (nbc_peer)x->peer,
                         c->t0_ns);
    __atomic_add_fetch(&run.lost_count, 1, __ATOMIC_RELAXED);
  }
}

/* A request came back from a posting call. moves: it stands for a transfer. */
static inline void post(call *c, MPI_Request request, transfer x, bool moves) {
  if (request == MPI_REQUEST_NULL) return;
  x.key = KEY(request);
  if (moves) begin_here(c);
  lock();
  uint32_t slot = pool ? slot_of(x.key) : 0;
  if (pool && slots[slot]) slot = drop_stale(request, slot);
  follow_transfer(c, &x, moves && me.on && !x.persistent, slot);
  unlock();
}

static void post_nothing(call *c, MPI_Request request) { post(c, request, (transfer){0}, false); }

/* Nothing to record, but to be told of when it is over. */
static void post_file(call *c, MPI_Request request, MPI_Count count, MPI_Datatype type) {
  transfer x = {0};
  if (me.on) {
    x.kind = NBC_KIND_IO;
    x.size_bytes = bytes_of(count, type);
    x.tally = file_call_of(c->name);
    x.begin_ns = c->t0_ns;
    x.comp_ns = nbc_recorder_comp_ns(me.recorder, c->t0_ns);
  }
  post(c, request, x, false);
}
static bool is_file(const transfer *x) { return x->kind == NBC_KIND_IO; }

/* What the end of a send tells. A synchronous one ends when its receive has begun: all has arrived only
   of what fits into the packet that was answered; the rest may be in a socket. A buffered one has been
   copied, a ready one may be pushed whatever its size, partitions are messages of their own: nothing. Nor
   does that of data which is not contiguous. */
typedef enum sending { STANDARD, SYNCHRONOUS, UNSEEN } sending;
enum { ONE_PACKET = 1024 };
HOT static void post_send(call *c, MPI_Request request, MPI_Count count, MPI_Datatype type,
                          int dest, int tag, MPI_Comm comm, bool persistent, sending how) {
  transfer x = {.kind = persistent ? NBC_KIND_START : NBC_KIND_ISEND,
                .persistent = persistent,
                .leaves = true};
  const bool moves = dest != MPI_PROC_NULL;
  if (moves) {
    x.size_bytes = bytes_of(count, type);
    x.leaves = how == STANDARD || x.size_bytes > ONE_PACKET;
    x.unseen = how == UNSEEN || (x.size_bytes > ONE_PACKET && !is_contiguous(type));
    x.comm = peers_of_comm(comm);
    x.comm_made = x.comm->made;
    x.tally = x.comm->tally;
    x.dest = dest;
    x.tag = tag;
    x.peer = (unsigned char)class_of(x.comm, dest);
    x.target = 1;
    if (x.size_bytes > NBC_LARGE_SEND_BYTES && c->active)
      x.comp_ns = nbc_recorder_comp_ns(me.recorder, c->t0_ns);
  }
  post(c, request, x, moves);
  if (UNLIKELY(trace.ring) && moves && !persistent && me.on) {
    const letter m = {me.next_id, x.size_bytes, tag, x.unseen};
    trace_sent(x.comm, dest, &m);
  }
}

HOT static void post_recv(call *c, MPI_Request request, MPI_Count count, MPI_Datatype type,
                          int source, MPI_Comm comm, bool persistent) {
  transfer x = {.kind = persistent ? NBC_KIND_START : NBC_KIND_IRECV,
                .persistent = persistent,
                .receives = true};
  const bool moves = source != MPI_PROC_NULL;
  if (moves) {
    x.size_bytes = bytes_of(count, type);
    x.comm = peers_of_comm(comm);
    x.comm_made = x.comm->made;
    x.tally = x.comm->tally;
    x.peer = (unsigned char)class_of(x.comm, source);
    x.target = 1;
  }
  post(c, request, x, moves);
}

/* Messages that were matched by a probe and are not received yet, and who sent them: any thread may receive
   them. A handle that is not among the last ones came from nobody knows whom, perhaps from oneself: nothing
   is believed of its transfer. */
enum { MATCHED = 64 };
static struct {
  MPI_Message message; /* of `since` 0: none */
  came from;
  uint64_t since;
  const call *by; /* who receives it: noted before the MPI may give its handle to another one */
} matched_ones[MATCHED];
static uint64_t matched_count;

static void matched(MPI_Message message, const MPI_Status *status, MPI_Comm comm) {
  trace_cut_at(&trace.cut_in, me.next_id + 1); /* its receive is not in order */
  const peers *p = peers_of_comm(comm);
  const came from = {.comm = comm,
                     .among = p,
                     .made = p->made,
                     .source = status->MPI_SOURCE,
                     .tag = status->MPI_TAG,
                     .tally = p->tally,
                     .peer = class_of(p, status->MPI_SOURCE)};
  int at = 0;
  lock();
  for (int i = 1; i < MATCHED; i++)
    if (matched_ones[i].since < matched_ones[at].since) at = i;
  matched_ones[at].message = message;
  matched_ones[at].from = from;
  matched_ones[at].by = NULL;
  matched_ones[at].since = ++matched_count;
  unlock();
}
/* Is something of these processes under way, or may be started again? Under the lock. */
static bool is_referred(const peers *p) {
  if (p->open_count) return true;
  for (int i = 0; matched_count && i < MATCHED; i++)
    if (matched_ones[i].since && matched_ones[i].from.among == p &&
        matched_ones[i].from.made == p->made)
      return true;
  return false;
}
/* Before the MPI's own call. */
static MPI_Message *note_message(call *c, MPI_Message *message) {
  int at = -1;
  c->message = message ? *message : MPI_MESSAGE_NULL;
  if (!c->active) return message;
  busy_begin();
  lock();
  for (int i = 0; i < MATCHED; i++)
    if (matched_ones[i].since && matched_ones[i].message == c->message &&
        (at < 0 || matched_ones[i].since > matched_ones[at].since))
      at = i;
  if (at >= 0) matched_ones[at].by = c;
  unlock();
  busy_end();
  return message;
}
#define NOTE_MESSAGE(message) note_message(c, message)

/* Who sent it, into the call; false: not known. */
static bool take_matched(call *c) {
  static const came nobody = {.peer = NBC_PEER_UNKNOWN};
  int at = -1;
  lock();
  for (int i = 0; i < MATCHED; i++)
    if (matched_ones[i].since && matched_ones[i].by == c && matched_ones[i].message == c->message)
      at = i;
  c->matched = at < 0 ? nobody : matched_ones[at].from;
  if (at >= 0) matched_ones[at].since = 0;
  unlock();
  return at >= 0;
}

static void post_matched(call *c, MPI_Request request, MPI_Count count, MPI_Datatype type) {
  transfer x = {
      .kind = NBC_KIND_IRECV, .receives = true, .apart = true, .size_bytes = bytes_of(count, type)};
  x.unseen = !take_matched(c);
  x.peer = (unsigned char)c->matched.peer;
  x.tally = c->matched.tally;
  x.comm = c->matched.among;
  x.comm_made = c->matched.made;
  post(c, request, x, c->message != MPI_MESSAGE_NO_PROC);
}

#if HAS_MPI_4
/* One request, two transfers: the send is begun by hand and hangs on the receive, which counts as
   posted: the status of the two together does not tell its bytes in MPICH 4.0. So less may have come, and
   nothing is known of how long that took. */
static void post_sendrecv(call *c, MPI_Request request, MPI_Count send_count,
                          MPI_Datatype send_type, int dest, MPI_Count recv_count,
                          MPI_Datatype recv_type, int source, MPI_Comm comm) {
  const peers *p = peers_of_comm(comm);
  transfer x = {.kind = NBC_KIND_IRECV,
                .unseen = true,
                .apart = true,
                .comm = p,
                .comm_made = p->made,
                .tally = p->tally,
                .dest = source,
                .send_dest = dest};
  trace_cannot_match("MPI_Isendrecv was called");
  if (dest != MPI_PROC_NULL && me.on) {
    x.send_id = ++me.next_id;
    x.send_bytes = bytes_of(send_count, send_type);
    begin_here(c);
    x.send_unseen = x.send_bytes > ONE_PACKET && !is_contiguous(send_type);
    nbc_xfer_begin_at(me.recorder, x.send_id, x.send_bytes, NBC_KIND_ISEND, class_of(p, dest),
                      c->t0_ns);
  }
  if (source != MPI_PROC_NULL) {
    x.size_bytes = bytes_of(recv_count, recv_type);
    x.peer = (unsigned char)class_of(p, source);
  }
  post(c, request, x, source != MPI_PROC_NULL);
}

/* A partitioned receive moves what was agreed on; its status need not tell the bytes. */
static void post_parts(call *c, MPI_Request request, MPI_Count count, MPI_Datatype type, int source,
                       MPI_Comm comm) {
  transfer x = {.kind = NBC_KIND_START,
                .persistent = true,
                .unseen = true,
                .apart = true,
                .target = source != MPI_PROC_NULL};
  x.size_bytes = x.target ? bytes_of(count, type) : 0;
  if (x.target) {
    x.comm = peers_of_comm(comm);
    x.comm_made = x.comm->made;
    x.tally = x.comm->tally;
    x.dest = source;
    x.peer = (unsigned char)class_of(x.comm, source);
  }
  post(c, request, x, x.target);
}
#endif

static void post_collective(call *c, MPI_Request request, nbc_kind kind, uint64_t size_bytes,
                            MPI_Comm comm, bool persistent) {
  const transfer x = {.kind = persistent ? NBC_KIND_START : (unsigned char)kind,
                      .persistent = persistent,
                      .size_bytes = size_bytes,
                      .unseen = true,
                      .tally = peers_of_comm(comm)->tally,
                      .peer = (unsigned char)peers_of_comm(comm)->all,
                      .target = size_bytes > 0};
  post(c, request, x, size_bytes > 0);
}

/* Nothing moves, a barrier: it gets an id for the timeline alone. */
static void show(call *c, transfer *x) {
  x->shown = true;
  x->owner = me.recorder;
  x->size_bytes = ++me.next_id;
  x->comp_ns = c->t0_ns;
}
static void trace_prepared_started(call *c, const transfer *x);
/* A persistent request was started. */
static void started(call *c, MPI_Request request) {
  begin_here(c);
  lock();
  uint32_t i = pool ? slots[slot_of(KEY(request))] : 0;
  while (i && !pool[i].persistent) i = pool[i].next;
  const bool begins = i && pool[i].target && me.on;
  if (begins) {
    begin(c, &pool[i]);
    if (pool[i].size_bytes > NBC_LARGE_SEND_BYTES)
      pool[i].comp_ns = nbc_recorder_comp_ns(me.recorder, c->t0_ns);
  }
  if (UNLIKELY(trace.ring) && i && pool[i].prepared && !begins && me.on) show(c, &pool[i]);
  const transfer x = i ? pool[i] : (transfer){0};
  unlock();
  if (UNLIKELY(trace.ring) && x.prepared && me.on) trace_prepared_started(c, &x);
  if (UNLIKELY(trace.ring) && begins && x.comm && !x.receives && !x.apart) {
    const letter m = {x.id, x.size_bytes, x.tag, x.unseen};
    if (x.comm->made == x.comm_made && !x.comm->gone)
      trace_sent(x.comm, x.dest, &m);
    else
      trace_cannot_match("a communicator was freed before its requests");
  }
}

/* ---- ends ------------------------------------------------------------------------------------ */
/* Begun by another thread. Of a receive, how many bytes came, and from whom. */
APART static void end_elsewhere(const transfer *x, uint64_t got, nbc_peer peer) {
  if (x->unseen)
    nbc_foreign_end_parts(x->owner, x->id);
  else if (x->receives)
    nbc_foreign_end_early(x->owner, x->id, got, peer);
  else if (x->leaves)
    nbc_foreign_end_local(x->owner, x->id);
  else
    nbc_foreign_end(x->owner, x->id);
}
static inline void end(call *c, const transfer *x) {
  if (UNLIKELY(x->owner != me.recorder))
    end_elsewhere(x, 0, NBC_PEER_UNKNOWN);
  else if (x->unseen)
    nbc_xfer_end_parts_at(me.recorder, x->id, returned(c));
  else if (x->leaves)
    nbc_xfer_end_local_at(me.recorder, x->id, returned(c));
  else
    nbc_xfer_end_at(me.recorder, x->id, returned(c));
}

/* The time of a call is that of the transfers that end in it: of those with others, where there are some, for messages to
   oneself need nobody. */
static void share_call(uint32_t ends, uint32_t own) {
  me.beside = own && own < ends;
  if (me.beside) ends -= own;
  me.ends = ends ? ends : 1;
  nbc_call_shared(me.recorder, me.ends);
}

/* What of the open call's time an end in it gets. */
static inline int64_t waited_ns(call *c) {
  const int64_t d_ns = returned(c) - c->t0_ns;
  return me.ends == 1 ? d_ns : d_ns / (int64_t)me.ends;
}

/* A send to a partner is over. Computing while a large one was posted is what a partner waits for when
   the library makes progress only inside calls. */
static inline void end_send(call *c, const transfer *x, int64_t d_ns) {
  int64_t busy_ns = 0;
  if (x->owner == me.recorder && x->size_bytes > NBC_LARGE_SEND_BYTES)
    busy_ns = nbc_recorder_comp_ns(me.recorder, returned(c)) - x->comp_ns;
  const letter m = {x->id, x->size_bytes, x->tag, x->unseen};
  if (x->comm->made == x->comm_made)
    pair_sent(x->comm, x->dest, &m, d_ns, busy_ns > 0 ? busy_ns : 0);
}

/* It will not happen, or is not to be bounded by its begin. */
APART static void withdraw(nbc_recorder *owner, uint64_t id) {
  if (owner == me.recorder)
    nbc_xfer_cancel(owner, id);
  else
    nbc_foreign_cancel(owner, id);
}

/* A receive: its true size and sender are known now. */
static inline void end_receive(call *c, const transfer *x, const MPI_Status *status) {
  MPI_Count got;
  nbc_peer peer = (nbc_peer)x->peer;
  bool unseen = x->unseen;
  if (!bytes_received(status, &got)) got = (MPI_Count)x->size_bytes;
  if (peer == NBC_PEER_UNKNOWN && x->comm)
    peer = class_when_still(x->comm, x->comm_made, status->MPI_SOURCE, &unseen);
  const int64_t d_ns = waited_ns(c);
  const letter m = {x->id, (uint64_t)got, status->MPI_TAG, x->apart};
  count_transfer(x->tally, (uint64_t)got, d_ns);
  if (x->comm) pair_received(x->comm, x->comm_made, status->MPI_SOURCE, &m, d_ns);
  if (UNLIKELY(unseen)) { /* perhaps from oneself */
    withdraw(x->owner, x->id);
    nbc_recorder_place(me.recorder, x->place);
    nbc_xfer_end_only_at(me.recorder, (uint64_t)got, (nbc_kind)x->kind, peer, returned(c));
  } else if (x->owner == me.recorder)
    nbc_xfer_end_early_at(me.recorder, x->id, (uint64_t)got, peer, returned(c));
  else
    end_elsewhere(x, (uint64_t)got, peer);
}

/* A transfer that was not cancelled is over. */
static inline void over(call *c, const transfer *x, const MPI_Status *status) {
  if (x->receives) {
    end_receive(c, x, status);
    return;
  }
  if (x->comm && x->apart) {
    const letter m = {x->id, x->size_bytes, MPI_ANY_TAG, true};
    pair_received(x->comm, x->comm_made, x->dest, &m, waited_ns(c));
  } else if (x->comm) {
    end_send(c, x, waited_ns(c));
  }
  count_transfer(x->tally, x->size_bytes, waited_ns(c));
  end(c, x);
}

/* The transfer that the completion of this request ends, of several that are looked at in turn: those with one handle are
   its queue's, one after the other. Null and inactive ones, and those with nobody, end none. */
enum { QUEUES = 4 }; /* MPICH has a shared handle for sends, another for receives */
typedef struct looked_at {
  int count;
  uintptr_t key[QUEUES]; /* of those with a queue, and what follows there */
  uint32_t next[QUEUES];
} looked_at;
static const transfer *ending(MPI_Request request, uint32_t claimed, looked_at *before) {
  if (request == MPI_REQUEST_NULL) return NULL;
  const uintptr_t key = KEY(request);
  uint32_t index = claimed ? claimed : pool ? slots[slot_of(key)] : 0;
  if (!claimed && index && pool[index].next) {
    int k = 0;
    while (k < before->count && before->key[k] != key) k++;
    if (k < before->count && before->next[k]) index = before->next[k];
    if (k == QUEUES) k--;
    if (k == before->count) before->count++;
    before->key[k] = key, before->next[k] = pool[index].next;
  }
  const transfer *const x = &pool[index];
  return index && (x->id || x->send_id || is_file(x)) ? x : NULL;
}

/* Takes the transfer of a completed request: the claimed one, else the oldest. A persistent one
   stays, inactive. */
static bool take(MPI_Request request, uint32_t claimed, transfer *x, bool free_persistent) {
  uint32_t before, index = claimed;
  lock();
  if (pool && !claimed) {
    const uint32_t slot = slot_of(KEY(request));
    index = find_oldest(slot, &before);
    if (index) unlink_from(slot, before, index);
  }
  if (index) {
    *x = pool[index];
    if (x->persistent && !free_persistent) {
      pool[index].id = 0, pool[index].cancelling = pool[index].shown = false;
      put_back(index);
    } else {
      give_back_room(index);
    }
  }
  unlock();
  return index != 0;
}

/* Another thread may have waited for what was cancelled: its claimed transfer was not found then. */
static bool any_cancelled;
static bool among_threads_cancelled(void) {
  return run.multiple && __atomic_load_n(&any_cancelled, __ATOMIC_ACQUIRE);
}

/* The send of a request of two transfers. `is_freed`: its end is not known. */
static void end_second(call *c, const transfer *x, bool is_freed) {
  const transfer send = {.id = x->send_id,
                         .size_bytes = x->send_bytes,
                         .owner = x->owner ? x->owner : me.recorder,
                         .comm = x->comm,
                         .comm_made = x->comm_made,
                         .dest = x->send_dest,
                         .leaves = true,
                         .unseen = is_freed || x->send_unseen};
  const letter m = {send.id, send.size_bytes, MPI_ANY_TAG, true};
  const int64_t d_ns = is_freed ? 0 : waited_ns(c);
  if (send.comm->made == send.comm_made) pair_sent(send.comm, send.dest, &m, d_ns, 0);
  count_transfer(x->tally, send.size_bytes, d_ns);
  end(c, &send);
}
static void file_over(call *c, const transfer *x, const MPI_Status *status) {
  const bool is_own = x->owner == me.recorder;
  const int64_t computed_ns =
      is_own ? nbc_recorder_comp_ns(me.recorder, returned(c)) - x->comp_ns : 0;
  MPI_Count got;
  if (!bytes_received(status, &got) || (uint64_t)got > x->size_bytes)
    got = (MPI_Count)x->size_bytes;
  file_is_done(x->tally, (uint64_t)got, is_own ? returned(c) - x->begin_ns : 0,
               computed_ns > 0 ? computed_ns : 0, waited_ns(c));
}
/* What the timeline alone has is over. */
APART static void trace_over(call *c, const transfer *x) {
  if (!trace.ring || me.skipped_sections) return;
  *trace_next() = (trace_record){.begin_ns = x->comp_ns,
                                 .end_ns = returned(c),
                                 .id = x->size_bytes,
                                 .partner = -1,
                                 .what = TRACE_TRANSFER,
                                 .kind = x->kind,
                                 .peer = NBC_PEER_UNKNOWN,
                                 .case_of = 2 /* two calls */};
}
/* status may be NULL: it was ended before, or nothing is known of it */
APART static void completed_slowly(call *c, MPI_Request request, uint32_t claimed,
                                   const MPI_Status *status) {
  transfer x;
  int cancelled = 0;
  if (!take(request, claimed, &x, false)) return;
  const uint32_t ends = me.ends;
  if (me.beside && x.peer == NBC_PEER_SELF) {
    me.ends = UINT32_MAX;
    nbc_call_shared(me.recorder, me.ends);
  }
  if (x.send_id) {
    if (x.id && me.ends == 1) me.ends = 2; /* it alone is waited for: of several each was counted */
    nbc_call_shared(me.recorder, me.ends);
    end_second(c, &x, false);
  }
  if (x.shown) trace_over(c, &x);
  if (is_file(&x) && me.on) file_over(c, &x, status);
  const bool may_be_cancelled =
      x.cancelling || (among_threads_cancelled() && (x.receives || x.comm));
  if (x.id && may_be_cancelled && PMPI_Test_cancelled(status, &cancelled) == MPI_SUCCESS &&
      cancelled) {
    if (!x.receives) trace_cut_at(&trace.cut_out, x.id); /* it was posted, and never comes */
    withdraw(x.owner, x.id);
  } else if (x.id) {
    over(c, &x, status);
  }
  if (me.ends == ends) return;
  me.ends = ends;
  nbc_call_shared(me.recorder, ends);
}
/* Mostly one thread calls MPI, the handle stands for one transfer, and that is a plain one: it is ended
   where it stands. */
HOT static void completed(call *c, MPI_Request request, uint32_t claimed,
                          const MPI_Status *status) {
  c->told = true;
  if (request == MPI_REQUEST_NULL) return;
  const uint32_t slot = pool && !run.multiple ? slot_of(KEY(request)) : 0;
  const uint32_t index = pool && !run.multiple ? slots[slot] : 0;
  const transfer *const x = &pool[index];
  if (UNLIKELY(!index || x->owner != me.recorder || !x->id || x->send_id || x->persistent ||
               x->cancelling || (me.beside && x->peer == NBC_PEER_SELF))) {
    completed_slowly(c, request, claimed, status);
    return;
  }
  over(c, x, status);
  take_out(slot, 0, index);
}

/* The operation failed, and MPI is through with it: no transfer. */
static void failed(MPI_Request request, uint32_t claimed) {
  transfer x;
  trace_cannot_match("calls failed");
  if (request == MPI_REQUEST_NULL || !take(request, claimed, &x, false)) return;
  if (x.id) withdraw(x.owner, x.id);
  if (x.send_id) withdraw(x.owner, x.send_id);
}

static void trace_prepared_gone(uint32_t number);
/* Freed while active: MPI goes on with it unseen, so its end is unknown [O §2.2 case 3]. A send is a message all the
   same; what a receive has received, nobody knows. */
static void freed(call *c, MPI_Request request, uint32_t claimed) {
  transfer x;
  if (request == MPI_REQUEST_NULL || !take(request, claimed, &x, true)) return;
  if (x.prepared) trace_prepared_gone(x.prepared);
  if (x.send_id) end_second(c, &x, true);
  if (x.id && x.receives) trace_cut_at(&trace.cut_in, x.id); /* what it received, nobody sees, */
  if (x.id && x.receives && x.cancelling) {                  /* nor that it received something */
    withdraw(x.owner, x.id);
    return;
  }
  if (x.id) {
    x.unseen = true;
    if (x.comm && !x.receives && !x.apart) {
      end_send(c, &x, 0);
      count_transfer(x.tally, x.size_bytes, 0);
    }
    end(c, &x);
  }
  if (x.id || x.send_id) __atomic_add_fetch(&run.freed_count, 1, __ATOMIC_RELAXED);
}

/* Receives that were cancelled, and completed by nobody: likewise. For the report. */
static void withdraw_cancelled(void) {
  lock();
  for (uint32_t i = 1; i <= pool_used; i++) {
    transfer *const x = &pool[i];
    if (!x->id || !x->receives || !x->cancelling) continue;
    trace_cut_at(&trace.cut_in, x->id);
    withdraw(x->owner, x->id);
    x->id = 0;
  }
  unlock();
}

/* ---- blocking calls: both stamps in one call [O §2.2 case 1] --------------------------------- */
/* Which way the data of a transfer goes. ROUND: both, or the end tells that it has arrived; ANY_TIME:
   nothing tells when it moves. */
typedef enum way { ROUND, LEAVES, COMES, ANY_TIME } way;
static void moved(call *c, nbc_kind kind, uint64_t size_bytes, nbc_peer peer, way goes) {
  if (!me.on) return;
  const uint64_t id = ++me.next_id;
  begin_here(c);
  nbc_xfer_begin_at(me.recorder, id, size_bytes, kind, peer, c->t0_ns);
  if (goes == LEAVES)
    nbc_xfer_end_local_at(me.recorder, id, returned(c));
  else if (goes == COMES)
    nbc_xfer_end_early_at(me.recorder, id, size_bytes, peer, returned(c));
  else if (goes == ANY_TIME)
    nbc_xfer_end_parts_at(me.recorder, id, returned(c));
  else
    nbc_xfer_end_at(me.recorder, id, returned(c));
}

/* An exchange ends up to two transfers, which share its time: which of them was waited for, it does not tell. */
static void exchanged(int dest, int source) {
  me.ends = dest != MPI_PROC_NULL && source != MPI_PROC_NULL ? 2 : 1;
  nbc_call_shared(me.recorder, me.ends);
}
static void moved_to(call *c, nbc_kind kind, MPI_Count count, MPI_Datatype type, int dest, int tag,
                     MPI_Comm comm, way goes) {
  const peers *p = dest != MPI_PROC_NULL && me.on ? peers_of_comm(comm) : NULL;
  if (!p) return;
  const uint64_t size_bytes = bytes_of(count, type);
  if (goes == LEAVES && size_bytes > ONE_PACKET && !is_contiguous(type)) goes = ANY_TIME;
  const int64_t d_ns = waited_ns(c);
  const letter m = {me.next_id + 1, size_bytes, tag, goes == ANY_TIME};
  count_transfer(p->tally, size_bytes, d_ns);
  if (UNLIKELY(trace.ring)) trace_sent(p, dest, &m);
  pair_sent(p, dest, &m, d_ns, 0);
  moved(c, kind, size_bytes, class_of(p, dest), goes);
}
#define sent(c, kind, count, type, dest, tag, comm)                                                \
  moved_to(c, NBC_KIND_##kind, (MPI_Count)(count), type, dest, tag, comm, LEAVES)
#define sent_copy(c, kind, count, type, dest, tag, comm)                                           \
  moved_to(c, NBC_KIND_##kind, (MPI_Count)(count), type, dest, tag, comm, ANY_TIME)
#define sent_all(c, kind, count, type, dest, tag, comm)                                            \
  moved_to(c, NBC_KIND_##kind, (MPI_Count)(count), type, dest, tag, comm,                          \
           bytes_of((MPI_Count)(count), type) > ONE_PACKET ? LEAVES : ROUND)

static void moved_from(call *c, nbc_kind kind, int source, const MPI_Status *status,
                       MPI_Comm comm) {
  MPI_Count got;
  if (source == MPI_PROC_NULL) return;
  if (!bytes_received(status, &got)) {
    trace_cut_at(&trace.cut_in, me.next_id + 1);
    return;
  }
  const peers *p = peers_of_comm(comm);
  if (me.on) count_transfer(p->tally, (uint64_t)got, waited_ns(c));
  const letter m = {me.next_id + 1, (uint64_t)got, status->MPI_TAG, false};
  if (me.on) pair_received(p, p->made, status->MPI_SOURCE, &m, waited_ns(c));
  moved(c, kind, (uint64_t)got, class_of(p, status->MPI_SOURCE), COMES);
}
#define received(c, kind, source, status, comm) moved_from(c, NBC_KIND_##kind, source, status, comm)

/* A probe that waits, waits for who sends what it found. */
static void probed(call *c, int source, const MPI_Status *status, MPI_Comm comm) {
  if (source == MPI_PROC_NULL || !me.on || status->MPI_SOURCE < 0) return;
  pair_probed(peers_of_comm(comm), status->MPI_SOURCE, returned(c) - c->t0_ns);
}

static void matched_received(call *c, const MPI_Status *status) {
  MPI_Count got;
  const bool is_known = take_matched(c);
  const came *from = &c->matched;
  if (c->message == MPI_MESSAGE_NO_PROC || !bytes_received(status, &got)) return;
  const int64_t d_ns = returned(c) - c->t0_ns;
  const letter m = {me.next_id + 1, (uint64_t)got, status->MPI_TAG, true};
  if (me.on && is_known) {
    count_transfer(from->tally, (uint64_t)got, d_ns);
    pair_received(from->among, from->made, from->source, &m, d_ns);
  }
  moved(c, NBC_KIND_RECV, (uint64_t)got, from->peer, is_known ? COMES : ANY_TIME);
}

/* Whose data must have come before a collective is over here. */
typedef struct needed {
  int of;        /* TRACE_OF_ALL, ... */
  int root;      /* TRACE_OF_PARTNER: its rank in the communicator */
  uint64_t mask; /* TRACE_OF_SOME: their ranks there */
} needed;
static const needed from_nobody = {TRACE_OF_NOBODY, -1, 0};
static needed from_all(uint64_t bytes) {
  return bytes ? (needed){TRACE_OF_ALL, -1, 0} : from_nobody;
}
static needed from_root(int root, uint64_t bytes) {
  return bytes ? (needed){TRACE_OF_PARTNER, root, 0} : from_nobody;
}
static needed from_lower(uint64_t bytes) {
  return bytes ? (needed){TRACE_OF_LOWER, -1, 0} : from_nobody;
}
/* The mask has the ranks up to TRACE_SOURCES. */
static needed from_some(uint64_t mask, const peers *p) {
  return mask && p->size <= TRACE_SOURCES ? (needed){TRACE_OF_SOME, -1, mask} : from_nobody;
}
static uint64_t source_bit(int rank) { return rank < TRACE_SOURCES ? (uint64_t)1 << rank : 0; }
/* A collective as the timeline has it, without its times. False: it has it not. */
static bool trace_as_collective(nbc_kind kind, needed from, MPI_Comm comm, uint64_t number,
                                trace_record *r) {
  const peers *p = peers_of_comm(comm);
  if (p->inter || p->size < 2 || !number) return false;
  lock();
  const int root = from.of == TRACE_OF_PARTNER ? world_rank(p, from.root) : -1;
  unlock();
  *r = (trace_record){.id = number,
                      .min_overlap_ns = p->rank + 1,
                      .max_overlap_ns = (int64_t)from.mask,
                      .partner = root,
                      .what = TRACE_COLLECTIVE,
                      .kind = (uint8_t)kind,
                      .case_of = (uint8_t)from.of};
  return true;
}
/* Into the timeline, whether data moves or not: who compares processes counts them. `id`: of its transfer, when it only
   begins in this call; else 0. */
static void trace_add_collective(call *c, trace_record r, uint64_t id) {
  if (!me.on || me.skipped_sections) return;
  r.begin_ns = c->t0_ns;
  r.end_ns = returned(c);
  r.size_bytes = me.next_id >> 40;
  r.xfer_ns = (int64_t)id;
  *trace_next() = r;
}
APART static void trace_collective(call *c, nbc_kind kind, needed from, MPI_Comm comm,
                                   uint64_t id) {
  trace_record r;
  if (trace_as_collective(kind, from, comm, (uint64_t)trace_wide(KEY(comm)), &r))
    trace_add_collective(c, r, id);
}
/* A nonblocking one: its end is its transfer's. One without a transfer, as a barrier, gets an id for the timeline. */
APART static void trace_started(call *c, MPI_Request request, nbc_kind kind, needed from,
                                MPI_Comm comm) {
  uint64_t id = 0;
  if (!me.on || me.skipped_sections || peers_of_comm(comm)->size < 2) return;
  lock();
  const uint32_t index = pool ? slots[slot_of(KEY(request))] : 0;
  transfer *const x = &pool[index ? pool[index].tail : 0]; /* the newest of this handle */
  if (index && x->owner == me.recorder) {
    if (!x->id && !x->shown) {
      show(c, x);
      x->kind = (unsigned char)kind;
    }
    id = x->id ? x->id : x->size_bytes;
  }
  unlock();
  trace_collective(c, kind, id ? from : from_nobody, comm, id ? id : UINT64_MAX);
}
/* Persistent ones: their starts need not be in one order, so each has a number of its own that all its processes give it.
   What they are is known when they are made. */
static struct {
  trace_record *of; /* 0 is not used; of one that is free again: size_bytes, the next one */
  uint32_t used, room, free_list;
} prepared;
static uint32_t room_for_prepared(void) { /* 0: no memory */
  const uint32_t again = prepared.free_list, room = prepared.room ? 2 * prepared.room : 64;
  if (again) {
    prepared.free_list = (uint32_t)prepared.of[again].size_bytes;
    return again;
  }
  if (prepared.used + 1 >= prepared.room) {
    trace_record *const more = map_memory(room * sizeof *more);
    if (!more) return 0;
    if (prepared.of) memcpy(more, prepared.of, prepared.room * sizeof *more);
    unmap_memory(prepared.of);
    prepared.of = more;
    prepared.room = room;
  }
  return ++prepared.used;
}
APART static void trace_prepared(MPI_Request request, nbc_kind kind, needed from, MPI_Comm comm) {
  trace_record r;
  if (!trace_as_collective(kind, from, comm, trace_number_within(KEY(comm)), &r)) return;
  lock();
  const uint32_t head = pool ? slots[slot_of(KEY(request))] : 0,
                 at = head ? room_for_prepared() : 0;
  if (at) {
    transfer *const x = &pool[pool[head].tail]; /* the newest of this handle */
    prepared.of[at] = r;
    x->prepared = at;
    if (!x->target) x->kind = (unsigned char)kind;
  }
  unlock();
}
APART static void trace_prepared_started(call *c, const transfer *x) {
  lock();
  const trace_record r = prepared.of[x->prepared];
  unlock();
  trace_add_collective(c, r, x->id ? x->id : x->size_bytes);
}
APART static void trace_prepared_gone(uint32_t number) {
  lock();
  prepared.of[number].size_bytes = prepared.free_list;
  prepared.free_list = number;
  unlock();
}
static void moved_collective(call *c, nbc_kind kind, uint64_t size_bytes, MPI_Comm comm) {
  if (!size_bytes || !me.on) return;
  const peers *p = peers_of_comm(comm);
  count_transfer(p->tally, size_bytes, returned(c) - c->t0_ns);
  moved(c, kind, size_bytes, (nbc_peer)p->all, ANY_TIME);
}

/* ---- one-sided ------------------------------------------------------------------------------- */
HOT static void post_one_sided(call *c, nbc_kind kind, MPI_Count count, MPI_Datatype type,
                               int target, MPI_Win win, way goes) {
  if (target == MPI_PROC_NULL || !me.on) return;
  transfer x = {.key = KEY(win),
                .kind = (unsigned char)kind,
                .size_bytes = bytes_of(count, type),
                .target = target,
                .leaves = goes == LEAVES,
                .tally = peers_of_win(win)->tally,
                .peer = (unsigned char)class_of(peers_of_win(win), target)};
  begin_here(c);
  lock();
  follow_transfer(c, &x, true, pool ? slot_of(x.key) : 0);
  unlock();
}
#define post_rma(c, kind, count, type, target, win, goes)                                          \
  post_one_sided(c, NBC_KIND_##kind, (MPI_Count)(count), type, target, win, goes)
#define post_rma_request(c, request, what, count, type, target, win, goes)                         \
  post(c, request,                                                                                 \
       (transfer){.kind = NBC_KIND_##what,                                                         \
                  .unseen = (goes) == LEAVES,                                                      \
                  .size_bytes = bytes_of((MPI_Count)(count), type),                                \
                  .tally = peers_of_win(win)->tally,                                               \
                  .peer = (unsigned char)class_of(peers_of_win(win), target)},                     \
       target != MPI_PROC_NULL)

#define ALL_TARGETS (-1000)
/* A synchronisation completed the operations on a window, to one target or to all: HERE: what it wrote
   may still be on its way, THERE: it has arrived. */
typedef enum arrival { HERE, THERE } arrival;
static void share_among_operations(uint32_t slot, int target) {
  uint32_t ends = 0, own = 0;
  for (uint32_t i = pool ? slots[slot] : 0; i; i = pool[i].next) {
    if (target != ALL_TARGETS && pool[i].target != target) continue;
    ends++;
    own += pool[i].peer == NBC_PEER_SELF;
  }
  share_call(ends, own);
}
static void synchronised_key(call *c, uintptr_t key, int target, arrival complete) {
  uint32_t before = 0;
  lock();
  const uint32_t slot = pool ? slot_of(key) : 0;
  share_among_operations(slot, target);
  for (uint32_t i = pool ? slots[slot] : 0; i;) {
    const uint32_t next = pool[i].next;
    if (target == ALL_TARGETS || pool[i].target == target) {
      const bool last = !before && !next;                    /* the slot goes too */
      if (complete == HERE) pool[i].unseen = pool[i].leaves; /* no table tells of a put's tail */
      pool[i].leaves = false;
      tallies[pool[i].tally].count++; /* the lock is held; its time: waited_in */
      tallies[pool[i].tally].size_bytes += pool[i].size_bytes;
      if (me.beside)
        nbc_call_shared(me.recorder, pool[i].peer == NBC_PEER_SELF ? UINT32_MAX : me.ends);
      end(c, &pool[i]);
      take_out(slot, before, i);
      if (last) break;
    } else {
      before = i;
    }
    i = next;
  }
  unlock();
}
/* The time of a call on a window belongs to all that end in it; at targets none does, and they wait, too. */
static void waited_of(call *c, uint16_t tally) {
  if (!me.on) return;
  lock();
  tallies[tally].waited_ns += returned(c) - c->t0_ns;
  unlock();
}
static void waited_in(call *c, MPI_Win win) {
  if (me.on) waited_of(c, peers_of_win(win)->tally);
}
static void synchronised(call *c, MPI_Win win, int target, arrival complete) {
  waited_in(c, win);
  synchronised_key(c, KEY(win), target, complete);
}

static void cancelling(MPI_Request request) {
  uint32_t before;
  lock();
  const uint32_t index = pool ? find_oldest(slot_of(KEY(request)), &before) : 0;
  if (index) pool[index].cancelling = true;
  unlock();
}
