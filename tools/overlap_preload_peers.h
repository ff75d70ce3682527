/* overlap_preload_peers.h: who is near. Communicators and windows by handle, the classes of their
   ranks, neighbours in topologies, bytes of counts and types. */
typedef struct neighbors {
  int rank, in_count, out_count;
  int *in, *out;
} neighbors;

/* What few communicators have: neighbours, once they were asked for, and classes by rank, where they
   differ. A duplicate shares those of its original. */
typedef struct details {
  uint32_t users;
  neighbors *topology;
  unsigned char class_of[];
} details;

/* Of a communicator or a window; made at first use, dropped before that is freed. Of slabs that are
   never unmapped: who still holds a pointer reads an old entry, not a hole. */
struct peers {
  uintptr_t key;
  union {
    details *details;   /* NULL = none */
    uint32_t next_free; /* of an entry that was dropped */
  };
  int rank, size, remote_size;
  uint32_t made;         /* number of this entry; changes when it is dropped */
  uint32_t group_number; /* the same for duplicates: same ranks */
  int last_rank;         /* whose pair was asked for last, and that pair; 0: none */
  uint32_t last_pair;
  uint32_t open_count; /* transfers under way in it, or that may be started again */
  uint16_t tally;      /* where its transfers are counted */
  unsigned char all;   /* nbc_peer of all others; UNKNOWN when they differ */
  bool inter : 1, differs : 1;
  bool gone : 1; /* freed with transfers under way: `key` is the group of those it reached */
} __attribute__((packed, aligned(4)));
enum { PEERS_SLOT_BYTES = sizeof(uint32_t) * 8 / 3 }; /* of slots at least three eighths full */
_Static_assert(sizeof(struct peers) + PEERS_SLOT_BYTES <= 64,
               "64 bytes for a communicator at most");

/* ---- totals by name and size: as many as there is room for; the first takes the rest -------------- */
enum { TALLIES = 256 };
static struct {
  char name[64];
  int size;
  uint64_t count, size_bytes;
  int64_t waited_ns;
} tallies[TALLIES] = {{.name = "(others)"}};
static uint16_t tally_count = 1;

/* Under the lock. */
static uint16_t tally_of(const char *name, int size) {
  uint16_t i = 1;
  while (i < tally_count && (tallies[i].size != size ||
                             strncmp(tallies[i].name, name, sizeof tallies[i].name - 1) != 0))
    i++;
  if (i == TALLIES) return 0;
  if (i == tally_count) {
    snprintf(tallies[i].name, sizeof tallies[i].name, "%s", name);
    tallies[i].size = size;
    tally_count++;
  }
  return i;
}
static inline void count_transfer(uint16_t tally, uint64_t size_bytes, int64_t waited_ns) {
  lock();
  tallies[tally].count++;
  tallies[tally].size_bytes += size_bytes;
  tallies[tally].waited_ns += waited_ns;
  unlock();
}
static void report_comms(nbc_report *report) {
  lock();
  for (uint16_t i = 0; i < tally_count; i++) {
    const nbc_comm_total one = {tallies[i].name, tallies[i].size, tallies[i].count,
                                tallies[i].size_bytes, tallies[i].waited_ns};
    if (one.count || one.waited_ns) nbc_report_comm_total(report, &one);
  }
  unlock();
}

/* Handles are pointers (Open MPI) or numbers that name their kind (MPICH): no two are equal. */
#define KEY(handle) ((uintptr_t)(handle))

/* Entries by handle: open addressing, at most three quarters full. Under the lock. */
enum { PEERS_SLAB = (4 * 4096 - MAPPED_BEFORE) / sizeof(struct peers) }; /* whole pages */
static struct {
  uint32_t *slots; /* number of an entry; 0: empty */
  peers **slabs;
  uint32_t mask, count, made;
  uint32_t used,
      room; /* entries that were ever in use, number 0 is none; slabs that there is room for */
  uint32_t free_list;
  uint32_t *gone, gone_count, gone_room; /* entries that stay for what is under way in them */
} known;

static peers *known_at(uint32_t number) {
  return &known.slabs[number / PEERS_SLAB][number % PEERS_SLAB];
}
static uint32_t home_of(uintptr_t key) {
  return (uint32_t)(((uint64_t)key * 0x9E3779B97F4A7C15u) >> 32) & known.mask;
}

/* Its slot, or the empty one for it. */
static uint32_t known_slot(uintptr_t key) {
  uint32_t i = home_of(key);
  while (known.slots[i] && known_at(known.slots[i])->key != key) i = (i + 1) & known.mask;
  return i;
}
static peers *known_peers(uintptr_t key) { /* NULL: not known */
  const uint32_t number = known.slots ? known.slots[known_slot(key)] : 0;
  return number ? known_at(number) : NULL;
}

static bool grow_known(void) {
  const uint32_t size = known.slots ? 2 * (known.mask + 1) : 64;
  uint32_t *const before = known.slots, *const slots = map_memory(size * sizeof *slots);
  const uint32_t count = known.slots ? known.mask + 1 : 0;
  if (!slots) return false;
  known.slots = slots;
  known.mask = size - 1;
  for (uint32_t i = 0; i < count; i++)
    if (before[i]) slots[known_slot(known_at(before[i])->key)] = before[i];
  unmap_memory(before);
  return true;
}

/* Room for one more slab, where its entries begin a new one. */
static bool new_slab(uint32_t slab) {
  if (slab >= known.room) {
    const uint32_t room = known.room ? 2 * known.room : 64;
    peers **const more = map_memory(room * sizeof *more);
    if (!more) return false;
    if (known.slabs) memcpy(more, known.slabs, known.room * sizeof *more);
    unmap_memory(known.slabs);
    known.slabs = more;
    known.room = room;
  }
  if (!known.slabs[slab]) known.slabs[slab] = map_memory(PEERS_SLAB * sizeof **known.slabs);
  return known.slabs[slab] != NULL;
}
static uint32_t new_peers(void) { /* its number; 0: no memory */
  const uint32_t number = known.free_list ? known.free_list : known.used + 1;
  if (known.free_list)
    known.free_list = known_at(number)->next_free;
  else if (!new_slab(number / PEERS_SLAB))
    return 0;
  else
    known.used = number;
  return number;
}

/* Makes `from` known; of two threads that come at once with the same, the first one's stays. */
static peers *remember_peers(const peers *from) {
  if ((!known.slots || 4 * (known.count + 1) > 3 * (known.mask + 1)) && !grow_known()) return NULL;
  const uint32_t slot = known_slot(from->key);
  if (known.slots[slot]) return known_at(known.slots[slot]);
  const uint32_t number = new_peers();
  if (!number) return NULL;
  peers *const p = known_at(number);
  *p = *from;
  p->made = ++known.made;
  if (!p->group_number) p->group_number = p->made;
  known.slots[slot] = number;
  known.count++;
  return p;
}

static void free_details(details *d) {
  if (!d || --d->users > 0) return;
  if (d->topology) {
    unmap_memory(d->topology->in);
    unmap_memory(d->topology->out);
    unmap_memory(d->topology);
  }
  unmap_memory(d);
}

static void release_peers(uint32_t number) {
  peers *const p = known_at(number);
  free_details(p->details);
  memset(p, 0, sizeof *p);
  p->size = 1;
  p->next_free = known.free_list;
  known.free_list = number;
}

static bool is_referred(const peers *p);
/* Its handle is about to be free for another; what is under way in it ends later, and is with whom it was posted to.
   False: no memory, or the MPI does not tell. */
static bool keep_for_transfers(uint32_t number) {
  peers *const p = known_at(number);
  const MPI_Comm comm = (MPI_Comm)p->key;
  MPI_Group group;
  if (known.gone_count == known.gone_room) {
    const uint32_t room = known.gone_room ? 2 * known.gone_room : 64;
    uint32_t *const more = map_memory(room * sizeof *more);
    if (!more) return false;
    if (known.gone) memcpy(more, known.gone, known.gone_count * sizeof *more);
    unmap_memory(known.gone);
    known.gone = more;
    known.gone_room = room;
  }
  if ((p->inter ? PMPI_Comm_remote_group(comm, &group) : PMPI_Comm_group(comm, &group)) !=
      MPI_SUCCESS)
    return false;
  p->gone = true;
  p->key = KEY(group);
  known.gone[known.gone_count++] = number;
  return true;
}
/* Two of those at a time, so that they go faster than they come. */
static void release_gone(void) {
  for (int i = 0; i < 2 && known.gone_count; i++) {
    static uint32_t turn;
    const uint32_t at = ++turn % known.gone_count, number = known.gone[at];
    if (is_referred(known_at(number))) continue;
    MPI_Group group = (MPI_Group)known_at(number)->key;
    PMPI_Group_free(&group);
    release_peers(number);
    known.gone[at] = known.gone[--known.gone_count];
  }
}

/* Before the MPI frees the handle: once it has, another thread may be given the same one. What the
   MPI then refuses to free is met again at its next use. */
static void drop_peers(uintptr_t key) {
  lock();
  release_gone();
  peers *const p = known_peers(key);
  if (p) {
    uint32_t hole = known_slot(key);
    const uint32_t number = known.slots[hole];
    if (!is_referred(p) || !keep_for_transfers(number)) release_peers(number);
    known.count--;
    /* keys further on that could stand in the hole move back */
    for (uint32_t i = (hole + 1) & known.mask; known.slots[i]; i = (i + 1) & known.mask) {
      const uint32_t home = home_of(known_at(known.slots[i])->key);
      if (((i - home) & known.mask) < ((i - hole) & known.mask)) continue;
      known.slots[hole] = known.slots[i];
      hole = i;
    }
    known.slots[hole] = 0;
    __atomic_add_fetch(&run.peers_generation, 1, __ATOMIC_RELEASE);
  }
  unlock();
}

static nbc_peer class_of_world_rank(int rank) {
  if (!run.same_node || rank < 0 || rank >= run.size) return NBC_PEER_UNKNOWN;
  return run.same_node[rank] ? NBC_PEER_SAME_NODE : NBC_PEER_OTHER_NODE;
}

/* Room for `count` ranks, kept by the thread. */
static int *room_for_ranks(int count) {
  if (count <= me.rank_count) return me.ranks;
  int *larger_one = map_memory((size_t)count * sizeof *larger_one);
  if (!larger_one) return NULL;
  unmap_memory(me.ranks);
  me.ranks = larger_one;
  me.rank_count = count;
  return larger_one;
}

/* Classes of a group of so many: translated to the world, without communication. `own`: this process's rank in it, or
   none. Who is not of this world is nowhere. */
static void classify(peers *p, MPI_Group group, int size, int own) {
  p->all = size == 1 && own == 0 ? NBC_PEER_SELF : NBC_PEER_UNKNOWN;
  int *ranks = size > 0 && size <= INT_MAX / 2 ? room_for_ranks(2 * size) : NULL;
  if (!run.same_node || !ranks) return;
  int *const world = ranks + size;
  for (int i = 0; i < size; i++) ranks[i] = i;
  PMPI_Group_translate_ranks(group, size, ranks, run.world_group, world);
  const int first = own == 0 ? 1 : 0; /* the first other one */
  nbc_peer all = first < size ? class_of_world_rank(world[first]) : NBC_PEER_SELF;
  bool uniform = true;
  for (int i = first; i < size && uniform; i++)
    uniform = i == own || class_of_world_rank(world[i]) == all;
  if (uniform) {
    p->all = (unsigned char)all;
    return;
  }
  p->details = map_memory(sizeof *p->details + (size_t)size);
  if (!p->details) return;
  p->differs = true;
  p->details->users = 1;
  for (int i = 0; i < size; i++)
    p->details->class_of[i] = (unsigned char)class_of_world_rank(world[i]);
}

static void classify_own(peers *p, MPI_Group group) {
  PMPI_Group_size(group, &p->size);
  PMPI_Group_rank(group, &p->rank);
  classify(p, group, p->size, p->rank);
}
static void classify_comm(peers *p, MPI_Comm comm) {
  int inter = 0;
  MPI_Group group;
  PMPI_Comm_test_inter(comm, &inter);
  p->inter = inter != 0;
  if (p->inter) { /* its ranks are those of the others */
    PMPI_Comm_rank(comm, &p->rank);
    PMPI_Comm_size(comm, &p->size);
    PMPI_Comm_remote_size(comm, &p->remote_size);
    PMPI_Comm_remote_group(comm, &group);
    classify(p, group, p->remote_size, MPI_UNDEFINED);
  } else {
    PMPI_Comm_group(comm, &group);
    classify_own(p, group);
  }
  PMPI_Group_free(&group);
}

/* What is not known yet is found out. comm or win: the handle itself. */
APART static const peers *make_peers(uintptr_t key, const MPI_Comm *comm, const MPI_Win *win) {
  peers made = {.key = key};
  if (comm) {
    classify_comm(&made, *comm);
  } else {
    MPI_Group group;
    PMPI_Win_get_group(*win, &group);
    classify_own(&made, group);
    PMPI_Group_free(&group);
  }
  char name[MPI_MAX_OBJECT_NAME > 4096 ? 4096 : MPI_MAX_OBJECT_NAME] = "";
  int length = 0;
  if (comm)
    PMPI_Comm_get_name(*comm, name, &length);
  else
    PMPI_Win_get_name(*win, name, &length);
  lock();
  made.tally = tally_of(name, made.inter ? made.remote_size : made.size);
  const peers *p = remember_peers(&made);
  if (!p || p->details != made.details)
    free_details(made.details); /* another thread was first, or no memory */
  unlock();
  if (p && comm) trace_look_at_order(*comm, p->made);
  return p;
}

/* Not the last one that this thread used of those with its place. */
APART static const peers *search_peers(uintptr_t key, const MPI_Comm *comm, const MPI_Win *win,
                                       size_t at, uint32_t generation) {
  if (me.generation != generation) {
    memset(me.cached_key, 0, sizeof me.cached_key);
    me.generation = generation;
  }
  lock();
  const peers *p = known_peers(key);
  unlock();
  if (!p) p = make_peers(key, comm, win);
  if (p) me.cached[at] = p, me.cached_key[at] = key;
  return p;
}
static inline const peers *find_peers(uintptr_t key, const MPI_Comm *comm, const MPI_Win *win) {
  const uint32_t generation = __atomic_load_n(&run.peers_generation, __ATOMIC_ACQUIRE);
  const size_t at = (key ^ (key >> 8)) % CACHED_PEERS;
  if (UNLIKELY(me.generation != generation || me.cached_key[at] != key || !me.cached[at]))
    return search_peers(key, comm, win, at, generation);
  return me.cached[at];
}

static const peers no_peers = {.size = 1, .all = NBC_PEER_UNKNOWN};
static inline const peers *peers_of_comm(MPI_Comm comm) {
  const peers *p = find_peers(KEY(comm), &comm, NULL);
  return p ? p : &no_peers;
}
static const peers *peers_of_win(MPI_Win win) {
  const peers *p = find_peers(KEY(win), NULL, &win);
  return p ? p : &no_peers;
}
static inline nbc_peer class_of(const peers *p, int rank) {
  if (rank < 0 || rank >= (p->inter ? p->remote_size : p->size)) return NBC_PEER_UNKNOWN;
  if (rank == p->rank && !p->inter) return NBC_PEER_SELF;
  return p->differs ? (nbc_peer)p->details->class_of[rank] : (nbc_peer)p->all;
}

/* A duplicate has the processes of its original. */
static void inherit_peers(MPI_Comm from, MPI_Comm made) {
  uint32_t number = 0;
  lock();
  const peers *p = known_peers(KEY(from));
  if (p) {
    peers copy = *p;
    copy.key = KEY(made);
    copy.tally = tally_of("", copy.inter ? copy.remote_size : copy.size); /* its name is its own */
    const peers *kept = remember_peers(&copy);
    if (kept && kept->details == copy.details && copy.details) copy.details->users++;
    if (kept) number = kept->made;
  }
  unlock();
  if (number) trace_look_at_order(made, number);
}

/* What may be assumed of its messages was said anew. */
static void trace_hints(MPI_Comm comm) {
  if (!trace.kept) return;
  const peers *p = peers_of_comm(comm);
  if (p != &no_peers)
    trace_look_at_order(comm, p->made);
  else
    trace_cannot_match("out of memory");
}

/* It has a name from here on. */
static void name_peers(uintptr_t key, const char *name) {
  lock();
  peers *p = known_peers(key);
  if (p) p->tally = tally_of(name, p->inter ? p->remote_size : p->size);
  unlock();
}

/* The class of a rank of a communicator that may have been freed meanwhile: *gone then. */
APART static nbc_peer class_when_still(const peers *p, uint32_t made, int rank, bool *gone) {
  lock();
  const bool is_there = p->made == made;
  const nbc_peer class_now = is_there ? class_of(p, rank) : NBC_PEER_UNKNOWN;
  unlock();
  if (!is_there) *gone = true;
  return class_now;
}

/* ---- neighbours in a topology ---------------------------------------------------------------- */
static void cart_neighbors(neighbors *n, MPI_Comm comm) {
  int dims = 0;
  PMPI_Cartdim_get(comm, &dims);
  n->in = map_memory(2 * sizeof(int) * (size_t)(dims ? dims : 1));
  if (!n->in) return;
  for (int d = 0; d < dims; d++) PMPI_Cart_shift(comm, d, 1, &n->in[2 * d], &n->in[2 * d + 1]);
  n->in_count = 2 * dims;
}
static void graph_neighbors(neighbors *n, MPI_Comm comm) {
  int count = 0;
  PMPI_Graph_neighbors_count(comm, n->rank, &count);
  n->in = map_memory(sizeof(int) * (size_t)(count ? count : 1));
  if (n->in && PMPI_Graph_neighbors(comm, n->rank, count, n->in) == MPI_SUCCESS)
    n->in_count = count;
}
static void dist_graph_neighbors(neighbors *n, MPI_Comm comm) {
  int in = 0, out = 0, weighted = 0;
  PMPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
  int *weights = map_memory(sizeof(int) * (size_t)(in + out + 1));
  n->in = map_memory(sizeof(int) * (size_t)(in + 1));
  n->out = map_memory(sizeof(int) * (size_t)(out + 1));
  if (weights && n->in && n->out &&
      PMPI_Dist_graph_neighbors(comm, in, n->in, weights, out, n->out, weights + in) == MPI_SUCCESS)
    n->in_count = in, n->out_count = out;
  unmap_memory(weights);
}

/* Under the lock. NULL: no memory. */
static neighbors *make_neighbors(const peers *p, MPI_Comm comm) {
  neighbors *n = map_memory(sizeof *n);
  int topology = MPI_UNDEFINED;
  if (!n) return NULL;
  PMPI_Topo_test(comm, &topology);
  n->rank = p->rank;
  if (topology == MPI_CART)
    cart_neighbors(n, comm);
  else if (topology == MPI_GRAPH)
    graph_neighbors(n, comm);
  else if (topology == MPI_DIST_GRAPH)
    dist_graph_neighbors(n, comm);
  if (topology != MPI_DIST_GRAPH) n->out_count = n->in_count;
  return n;
}
static const neighbors *neighbors_of(MPI_Comm comm) {
  static const neighbors none = {0};
  peers *p = (peers *)(uintptr_t)peers_of_comm(comm);
  if (p == &no_peers) return &none;
  lock();
  if (!p->details && (p->details = map_memory(sizeof *p->details))) p->details->users = 1;
  if (p->details && !p->details->topology) p->details->topology = make_neighbors(p, comm);
  const neighbors *const n = p->details ? p->details->topology : NULL;
  unlock();
  return n ? n : &none;
}
static bool is_other(const neighbors *n, int rank) { return rank >= 0 && rank != n->rank; }
static const int *neighbor_ranks(const neighbors *n, bool out) {
  return out && n->out ? n->out : n->in;
}

static uint64_t other_neighbors(MPI_Comm comm, bool out) {
  const neighbors *n = neighbors_of(comm);
  const int *ranks = neighbor_ranks(n, out);
  uint64_t count = 0;
  for (int i = 0; i < (out ? n->out_count : n->in_count); i++) count += is_other(n, ranks[i]);
  return count;
}

/* ---- sizes ----------------------------------------------------------------------------------- */
APART static uint64_t bytes_of_any(MPI_Count count, MPI_Datatype type) {
  MPI_Count size = 0;
  if (count <= 0 || type == MPI_DATATYPE_NULL) return 0;
  if (PMPI_Type_size_x(type, &size) != MPI_SUCCESS || size < 0) return 0;
  return (uint64_t)count * (uint64_t)size;
}
/* The MPI's own types, which nobody can free or change, are asked once, before there are threads. */
static struct {
  uintptr_t key;
  uint64_t size_bytes; /* 0: not here */
} own_types[64];
static inline uint32_t own_type_at(uintptr_t key) {
  return (uint32_t)(((uint64_t)key * 0x9E3779B97F4A7C15u) >> 58);
}
static void know_own_types(void) {
  const MPI_Datatype types[] = {
      MPI_BYTE,   MPI_CHAR,   MPI_INT,     MPI_UNSIGNED,      MPI_LONG,     MPI_LONG_LONG,
      MPI_FLOAT,  MPI_DOUBLE, MPI_INT64_T, MPI_UINT64_T,      MPI_INT32_T,  MPI_UINT8_T,
      MPI_C_BOOL, MPI_PACKED, MPI_SHORT,   MPI_UNSIGNED_CHAR, MPI_UINT32_T, MPI_UNSIGNED_LONG};
  for (size_t i = sizeof types / sizeof *types; i-- > 0;) { /* of two with one place the first */
    const uint32_t at = own_type_at(KEY(types[i]));
    own_types[at].key = KEY(types[i]);
    own_types[at].size_bytes = bytes_of_any(1, types[i]);
  }
}
static inline uint64_t bytes_of(MPI_Count count, MPI_Datatype type) {
  const uint32_t at = own_type_at(KEY(type));
  if (UNLIKELY(own_types[at].key != KEY(type) || !own_types[at].size_bytes))
    return bytes_of_any(count, type);
  return count > 0 ? (uint64_t)count * own_types[at].size_bytes : 0;
}
/* Where the bytes of a status stand, if mpi.h is right about the library that runs: tried at start. */
static bool status_is_known;
static inline MPI_Count bytes_in_status(const MPI_Status *status) {
#ifdef OPEN_MPI
  return (MPI_Count)status->_ucount;
#else
  return (MPI_Count)((uint64_t)(uint32_t)status->count_hi_and_cancelled >> 1 << 32 |
                     (uint32_t)status->count_lo);
#endif
}
static void know_status(void) {
  const MPI_Count tried[] = {0, 1, 8, 0x7fffffff, 0x1234567890};
  status_is_known = true;
  for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
    MPI_Status status;
    MPI_Count got = -1;
    memset(&status, 0, sizeof status);
    if (PMPI_Status_set_elements_x(&status, MPI_BYTE, tried[i]) != MPI_SUCCESS ||
        PMPI_Get_elements_x(&status, MPI_BYTE, &got) != MPI_SUCCESS || got != tried[i] ||
        bytes_in_status(&status) != tried[i])
      status_is_known = false;
  }
}
static inline bool bytes_received(const MPI_Status *status, MPI_Count *got) {
  *got = -1;
  if (status_is_known)
    *got = bytes_in_status(status);
  else if (PMPI_Get_elements_x(status, MPI_BYTE, got) != MPI_SUCCESS)
    return false;
  return *got >= 0;
}

/* The MPI's own: it has no contents, and the handle that asked for it is not freed. */
static bool is_predefined(int combiner) {
  return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
         combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
}

/* Are these bytes one after the other? Other data may go another way than what a table is measured with: in
   MPICH over shared memory 80 KiB of it are on their way when the send has ended, of contiguous data none. */
APART static bool is_contiguous(MPI_Datatype type) {
  int integers, addresses, types, combiner;
  MPI_Count size, low, extent, true_extent;
  if (PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner) != MPI_SUCCESS ||
      PMPI_Type_size_x(type, &size) != MPI_SUCCESS ||
      PMPI_Type_get_extent_x(type, &low, &extent) != MPI_SUCCESS ||
      PMPI_Type_get_true_extent_x(type, &low, &true_extent) != MPI_SUCCESS || size != extent ||
      size != true_extent)
    return false;
  if (is_predefined(combiner)) return true;
  if ((combiner != MPI_COMBINER_CONTIGUOUS && combiner != MPI_COMBINER_DUP) || integers > 1 ||
      addresses || types != 1)
    return false;
  /* Of many: blocks in another order have the same size and the same extent. */
  int count[1];
  MPI_Aint none[1];
  MPI_Datatype one;
  if (PMPI_Type_get_contents(type, integers, 0, 1, count, none, &one) != MPI_SUCCESS) return false;
  const bool is = is_contiguous(one);
  if (PMPI_Type_get_envelope(one, &integers, &addresses, &types, &combiner) == MPI_SUCCESS &&
      !is_predefined(combiner))
    PMPI_Type_free(&one);
  return is;
}

/* Of a collective in which this process sends and receives. */
static uint64_t larger(uint64_t out, uint64_t in) { return out > in ? out : in; }

static uint64_t others(MPI_Comm comm) { /* processes that this one exchanges data with */
  const peers *p = peers_of_comm(comm);
  return (uint64_t)(p->inter ? p->remote_size : p->size - 1);
}
static bool is_root(MPI_Comm comm, int root) {
  const peers *p = peers_of_comm(comm);
  return p->inter ? root == MPI_ROOT : root == p->rank;
}
/* Bytes at the root and elsewhere; between two groups some take no part (MPI_PROC_NULL). */
#define ROOTED(at_root, elsewhere)                                                                 \
  (is_root(comm, root) ? (at_root) : root == MPI_PROC_NULL ? 0 : (elsewhere))
#define SOME(bytes) (others(comm) ? (bytes) : 0)
/* Whose data it needs: what the others give of counts and types may mean nothing. */
#define AT_ROOT(needs)     (is_root(comm, root) ? (needs) : from_nobody)
#define NOT_AT_ROOT(needs) (is_root(comm, root) || root == MPI_PROC_NULL ? from_nobody : (needs))
