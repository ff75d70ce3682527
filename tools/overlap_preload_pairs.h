/* overlap_preload_pairs.h: who with whom: messages, bytes and time waited by partner, 64 bytes for each
   partner that was met. Point-to-point only: who waits for whom inside a collective, nobody can see. */
typedef struct pair {
  int partner; /* rank in the world; -1: not of this world */
  uint64_t sent_count, sent_bytes, received_count, received_bytes;
  int64_t waited_ns, small_waited_ns, busy_ns;
} pair;

static struct {
  pair *of; /* 0 is not used */
  uint32_t count, room;
  struct {
    uint64_t key;
    uint32_t index;
  } * slots; /* from (processes of a communicator, rank) to the pair */
  uint32_t used, mask;
} pairs;

static bool room_for_pairs(void) {
  if (pairs.count + 1 < pairs.room) return true;
  const uint32_t room = pairs.room ? 2 * pairs.room : 64;
  pair *const more = map_memory(room * sizeof *more);
  if (!more) return false;
  if (pairs.of) memcpy(more, pairs.of, (pairs.count + 1) * sizeof *more);
  unmap_memory(pairs.of);
  pairs.of = more;
  pairs.room = room;
  return true;
}

/* Slots are only a short cut: with many communicators that came and went they are made anew. */
static bool room_for_slots(void) {
  if (pairs.slots && 2 * (pairs.used + 1) < pairs.mask + 1) return true;
  const uint32_t size = !pairs.slots             ? 128
                        : pairs.mask + 1 < 65536 ? 2 * (pairs.mask + 1)
                                                 : pairs.mask + 1;
  void *const more = map_memory(size * sizeof *pairs.slots);
  if (!more) return false;
  unmap_memory(pairs.slots);
  pairs.slots = more;
  pairs.mask = size - 1;
  pairs.used = 0;
  return true;
}

static uint32_t pair_of_world_rank(int partner) {
  for (uint32_t i = 1; i <= pairs.count; i++) /* once per communicator and rank */
    if (pairs.of[i].partner == partner) return i;
  if (!room_for_pairs()) return 0;
  pairs.of[++pairs.count] = (pair){.partner = partner};
  return pairs.count;
}

static int world_rank(const peers *p, int rank) {
  const MPI_Comm comm = (MPI_Comm)p->key;
  MPI_Group group = (MPI_Group)p->key; /* of one that is gone */
  int partner = -1;
  if (!p->key || !run.same_node) return -1;
  if (!p->gone && (p->inter ? PMPI_Comm_remote_group(comm, &group)
                            : PMPI_Comm_group(comm, &group)) != MPI_SUCCESS)
    return -1;
  PMPI_Group_translate_ranks(group, 1, &rank, run.world_group, &partner);
  if (!p->gone) PMPI_Group_free(&group);
  return partner >= 0 ? partner : -1;
}

/* By its slot, made at first use. 0: no memory. */
static uint32_t slotted_pair(const peers *p, int rank) {
  const uint64_t key = ((uint64_t)p->group_number << 32 | (uint32_t)rank) + 1;
  if (!room_for_slots()) return 0;
  uint32_t i = (uint32_t)((key * 0x9E3779B97F4A7C15u) >> 40) & pairs.mask;
  while (pairs.slots[i].key && pairs.slots[i].key != key) i = (i + 1) & pairs.mask;
  if (UNLIKELY(!pairs.slots[i].key)) {
    const uint32_t index = pair_of_world_rank(world_rank(p, rank));
    if (!index) return 0;
    pairs.slots[i].key = key;
    pairs.slots[i].index = index;
    pairs.used++;
  }
  return pairs.slots[i].index;
}

/* Another partner than the last time. The first one takes no slot, because the communicator itself keeps it: one that
   never has another costs nothing here. */
APART static pair *search_pair(const peers *p, int rank) {
  const bool is_first = !p->last_pair && p != &no_peers;
  const uint32_t index = is_first ? pair_of_world_rank(world_rank(p, rank)) : slotted_pair(p, rank);
  if (!index) return NULL;
  if (p != &no_peers) { /* a short cut, changed under the lock */
    peers *const known_one = (peers *)(uintptr_t)p;
    known_one->last_rank = rank;
    known_one->last_pair = index;
  }
  return &pairs.of[index];
}
/* Under the lock. NULL: no memory. */
static inline pair *find_pair(const peers *p, int rank) {
  if (UNLIKELY(!p->last_pair || p->last_rank != rank)) return search_pair(p, rank);
  return &pairs.of[p->last_pair];
}

/* A message that is over, as far as this process knows it. */
typedef struct letter {
  uint64_t id, size_bytes;
  int tag;
  bool unseen; /* a receive: it is not in the order of messages */
} letter;

static inline void pair_sent(const peers *p, int rank, const letter *m, int64_t waited_ns,
                             int64_t busy_ns) {
  const uint64_t size_bytes = m->size_bytes;
  lock();
  pair *const x = find_pair(p, rank);
  if (x) {
    trace_partner(m->id, x->partner);
    x->sent_count++;
    x->sent_bytes += size_bytes;
    x->waited_ns += waited_ns;
    x->busy_ns += busy_ns;
  }
  unlock();
}

/* Into the timeline, when it is posted: those that end unseen are messages too. */
static void trace_sent(const peers *p, int rank, const letter *m) {
  if (!trace.ring) return;
  lock();
  const pair *const x = find_pair(p, rank);
  if (x)
    trace_message(m->id, x->partner, false, m->tag, p->key, p->made, m->size_bytes, m->unseen);
  else
    trace_cannot_match("out of memory");
  unlock();
}

static inline void pair_received(const peers *p, uint32_t made, int rank, const letter *m,
                                 int64_t waited_ns) {
  const uint64_t size_bytes = m->size_bytes;
  lock();
  pair *const x = rank >= 0 && p->made == made ? find_pair(p, rank) : NULL;
  if (x) {
    if (UNLIKELY(trace.ring) && !m->unseen && p->gone)
      trace_cut_at(&trace.cut_in, m->id); /* the timeline knows its communicator no more */
    else if (UNLIKELY(trace.ring) && !m->unseen)
      trace_message(m->id, x->partner, true, m->tag, p->key, made, size_bytes, false);
    x->received_count++;
    x->received_bytes += size_bytes;
    x->waited_ns += waited_ns;
    if (size_bytes <= NBC_LARGE_SEND_BYTES) x->small_waited_ns += waited_ns;
  } else if (UNLIKELY(trace.ring)) {
    trace_cut_at(&trace.cut_in, m->id);
  }
  unlock();
}

static void pair_probed(const peers *p, int rank, int64_t waited_ns) {
  lock();
  pair *const x = find_pair(p, rank);
  if (x) x->waited_ns += waited_ns, x->small_waited_ns += waited_ns;
  unlock();
}

static void report_pairs(nbc_report *report) {
  lock();
  for (uint32_t i = 1; i <= pairs.count; i++) {
    const pair *x = &pairs.of[i];
    const nbc_pair one = {.rank = run.rank,
                          .partner = x->partner,
                          .sent_count = x->sent_count,
                          .sent_bytes = x->sent_bytes,
                          .received_count = x->received_count,
                          .received_bytes = x->received_bytes,
                          .waited_ns = x->waited_ns,
                          .small_waited_ns = x->small_waited_ns,
                          .busy_ns = x->busy_ns};
    if (x->partner >= 0) nbc_report_pair(report, &one);
  }
  unlock();
}
