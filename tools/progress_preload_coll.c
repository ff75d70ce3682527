/* progress_preload_coll.c: nonblocking collectives of the progress preload (manual: progress_preload.c, NBC_COLLECTIVES):
   the collectives of nbc_overlap.h, started by MPI's calls and completed as generalized requests, so that a
   request stays the MPI's in every call that takes one.

   One transport over MPI_COMM_WORLD carries all communicators, told apart by numbers that their processes
   agree on when they are made (as MPIs do with context ids): starting a collective must not wait for others.
   Whether a collective is ours depends only on what is equal on all its processes: kind, communicator,
   bytes, and for reductions type and operator. */
#include "progress_preload.h"
#include "progress_names.h" /* MPI_X -> NEXT(X): the library below must not come back here */

#define NBC_STATIC
#define NBC_NO_TIME
#define NBC_WITH_MPI
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"

enum { MAX_COMMS = 1024, COMM_WORDS = MAX_COMMS / 64, MAX_OPERATORS = 16 };

typedef struct op_slot { /* what an operator of nbc stands for; bound to another when that was freed */
  MPI_Op op;
  MPI_Datatype type;
  bool bound, commutes;
  nbc_reduce reduce;
} op_slot;

typedef struct shadow { /* of a communicator of the program */
  nbc_transport t; /* on the world's, ranks translated */
  MPI_Comm handle;
  struct shadow *next;
  int *world_rank;
  unsigned id;
  nbc_comm *comm;
  int active_count; /* collectives under way */
  bool dying;       /* its handle was freed */
  op_slot slots[MAX_OPERATORS];
  int slot_count;
} shadow;

typedef struct running { /* a collective under way */
  struct running *next;
  shadow *on;
  nbc_request *request;
  MPI_Request handle; /* generalized */
  int error_class;
  unsigned char *sent, *packed;            /* packed data: what goes out, and what came, to be unpacked at the end */
  uint64_t *bytes_of_send, *bytes_of_recv; /* what nbc was told */
  void *into;
  int blocks; /* to unpack: */
  int64_t *counts, *places; /* elements; bytes from `into` */
  MPI_Datatype *types;      /* duplicates: the program may free its own */
} running;

static struct {
  bool on;
  bool by_file;
  nbc_choice choice;
  nbc_transport *world;
  MPI_Group world_group;
  uint64_t free_ids[COMM_WORDS];
  shadow *shadows; /* by lock; looked up by handle */
  running *first;
  int active_count; /* atomic */
  uint64_t started_count;
  uint32_t lock;
  bool polling; /* the world was progressed in this round, and said: */
  nbc_status world_status;
  MPI_Op late_ops[64];
  int late_count;
} coll;

static void coll_lock(void) {
  while (__atomic_exchange_n(&coll.lock, 1, __ATOMIC_ACQUIRE))
    for (int spins = 0; __atomic_load_n(&coll.lock, __ATOMIC_RELAXED);)
      if (++spins > 200) sched_yield();
}
static bool coll_try_lock(void) { return !__atomic_exchange_n(&coll.lock, 1, __ATOMIC_ACQUIRE); }
static void coll_unlock(void) { __atomic_store_n(&coll.lock, 0, __ATOMIC_RELEASE); }

/* ---- a transport per communicator, on that of the world --------------------------------------------- */
static int64_t sub_now(void *ctx) {
  (void)ctx;
  return coll.world->now_ns(coll.world->ctx);
}
static nbc_status sub_isend(void *ctx, const void *buffer, uint64_t bytes, int peer, uint64_t tag, nbc_op *op) {
  return coll.world->isend(coll.world->ctx, buffer, bytes, ((shadow *)ctx)->world_rank[peer], tag, op);
}
static nbc_status sub_irecv(void *ctx, void *buffer, uint64_t bytes, int peer, uint64_t tag, nbc_op *op) {
  return coll.world->irecv(coll.world->ctx, buffer, bytes, ((shadow *)ctx)->world_rank[peer], tag, op);
}
static nbc_status sub_progress(void *ctx) {
  (void)ctx;
  return coll.polling ? coll.world_status : coll.world->progress(coll.world->ctx);
}
static nbc_status sub_cancel(void *ctx, nbc_op *op) {
  (void)ctx;
  return coll.world->cancel(coll.world->ctx, op);
}
static nbc_peer sub_class(void *ctx, int peer) {
  return coll.world->peer_class(coll.world->ctx, ((shadow *)ctx)->world_rank[peer]);
}

static shadow *find_shadow(MPI_Comm comm) { /* under the lock */
  for (shadow *s = coll.shadows; s; s = s->next)
    if (s->handle == comm && !s->dying) return s;
  return NULL;
}

static void free_shadow(shadow *s) { /* under the lock; nothing is under way on it */
  shadow **link = &coll.shadows;
  while (*link && *link != s) link = &(*link)->next;
  if (*link) *link = s->next;
  nbc_comm_destroy(s->comm);
  coll.free_ids[s->id / 64] |= (uint64_t)1 << (s->id % 64);
  free(s->world_rank);
  free(s);
}

/* Local. NULL: a process outside of our world, or no memory. */
static shadow *make_shadow(MPI_Comm comm, int size) {
  MPI_Group group;
  bool inside = true;
  shadow *const s = calloc(1, sizeof *s);
  int *const ranks = malloc(2 * (size_t)size * sizeof *ranks);
  if (!s || !ranks) return free(s), free(ranks), (shadow *)NULL;
  for (int i = 0; i < size; i++) ranks[size + i] = i;
  NEXT(Comm_group)(comm, &group);
  NEXT(Group_translate_ranks)(group, size, ranks + size, coll.world_group, ranks);
  NEXT(Group_free)(&group);
  for (int i = 0; i < size; i++) inside = inside && ranks[i] >= 0;
  if (!inside) return free(s), free(ranks), (shadow *)NULL;
  s->handle = comm;
  s->world_rank = ranks;
  s->t = *coll.world;
  s->t.ctx = s;
  NEXT(Comm_rank)(comm, &s->t.rank);
  s->t.size = size;
  s->t.now_ns = sub_now, s->t.isend = sub_isend, s->t.irecv = sub_irecv, s->t.progress = sub_progress;
  s->t.cancel = sub_cancel, s->t.peer_class = sub_class, s->t.others = NULL;
  return s;
}

void progress_coll_made(MPI_Comm comm) {
  uint64_t own[COMM_WORDS], common[COMM_WORDS];
  int inter = 0, size = 0, id = -1, flag = 1, all = 0;
  if (!coll.on || comm == MPI_COMM_NULL) return;
  NEXT(Comm_test_inter)(comm, &inter);
  if (inter) return;
  NEXT(Comm_size)(comm, &size);
  if (size < 2) return;
  /* A process of another world has no list of numbers like ours: all its fellows see that too. */
  shadow *const s = make_shadow(comm, size);
  flag = s != NULL;
  if (NEXT(Allreduce)(&flag, &all, 1, MPI_INT, MPI_MIN, comm) != MPI_SUCCESS) all = 0;
  coll_lock();
  memcpy(own, coll.free_ids, sizeof own);
  coll_unlock();
  if (all && NEXT(Allreduce)(own, common, COMM_WORDS, MPI_UINT64_T, MPI_BAND, comm) != MPI_SUCCESS) all = 0;
  for (int i = 0; all && i < MAX_COMMS && id < 0; i++)
    if (common[i / 64] >> (i % 64) & 1) id = i;
  if (id < 0) { /* all in use: these stay the MPI's */
    if (s) free(s->world_rank);
    free(s);
    return;
  }
  nbc_comm_desc desc;
  memset(&desc, 0, sizeof desc);
  s->id = desc.id = (unsigned)id;
  desc.transport = &s->t;
  desc.choice = coll.by_file ? &coll.choice : NULL;
  coll_lock();
  if (nbc_comm_create(&desc, &s->comm, NULL) == NBC_OK) {
    coll.free_ids[id / 64] &= ~((uint64_t)1 << (id % 64));
    s->next = coll.shadows;
    coll.shadows = s;
  } else {
    progress_say("no memory for the collectives of a communicator");
    abort(); /* the others count on us */
  }
  coll_unlock();
}

void progress_coll_freed(MPI_Comm comm, bool disconnect) {
  if (!coll.on) return;
  coll_lock();
  shadow *const s = find_shadow(comm);
  while (s && disconnect && s->active_count) {
    coll_unlock();
    progress_coll_poll();
    coll_lock();
  }
  if (s) s->dying = true;
  if (s && !s->active_count) free_shadow(s);
  coll_unlock();
}

/* ---- types and operators ----------------------------------------------------------------------------- */
typedef struct known_type {
  MPI_Datatype type;
  nbc_type ours;
} known_type;
static known_type known_types[48];
static int known_type_count;

static nbc_type integer_of(size_t bytes, bool is_signed) {
  switch (bytes) {
  case 1: return is_signed ? NBC_TYPE_INT8 : NBC_TYPE_UINT8;
  case 2: return is_signed ? NBC_TYPE_INT16 : NBC_TYPE_UINT16;
  case 4: return is_signed ? NBC_TYPE_INT32 : NBC_TYPE_UINT32;
  default: return is_signed ? NBC_TYPE_INT64 : NBC_TYPE_UINT64;
  }
}
static void know(MPI_Datatype type, nbc_type ours) {
  if (type == MPI_DATATYPE_NULL) return; /* this MPI has no such type */
  known_types[known_type_count].type = type;
  known_types[known_type_count++].ours = ours;
}
static void know_types(void) {
  know(MPI_INT, integer_of(sizeof(int), true)), know(MPI_DOUBLE, NBC_TYPE_DOUBLE), know(MPI_FLOAT, NBC_TYPE_FLOAT);
  know(MPI_SIGNED_CHAR, NBC_TYPE_INT8), know(MPI_SHORT, NBC_TYPE_INT16);
  know(MPI_LONG, integer_of(sizeof(long), true)), know(MPI_LONG_LONG_INT, NBC_TYPE_INT64);
  know(MPI_UNSIGNED_CHAR, NBC_TYPE_UINT8), know(MPI_UNSIGNED_SHORT, NBC_TYPE_UINT16);
  know(MPI_UNSIGNED, integer_of(sizeof(int), false)), know(MPI_UNSIGNED_LONG, integer_of(sizeof(long), false));
  know(MPI_UNSIGNED_LONG_LONG, NBC_TYPE_UINT64);
  know(MPI_INT8_T, NBC_TYPE_INT8), know(MPI_INT16_T, NBC_TYPE_INT16), know(MPI_INT32_T, NBC_TYPE_INT32);
  know(MPI_INT64_T, NBC_TYPE_INT64), know(MPI_UINT8_T, NBC_TYPE_UINT8), know(MPI_UINT16_T, NBC_TYPE_UINT16);
  know(MPI_UINT32_T, NBC_TYPE_UINT32), know(MPI_UINT64_T, NBC_TYPE_UINT64);
  know(MPI_AINT, integer_of(sizeof(MPI_Aint), true)), know(MPI_COUNT, integer_of(sizeof(MPI_Count), true));
  know(MPI_OFFSET, integer_of(sizeof(MPI_Offset), true)), know(MPI_LONG_DOUBLE, NBC_TYPE_LONG_DOUBLE);
  know(MPI_C_FLOAT_COMPLEX, NBC_TYPE_COMPLEX_FLOAT), know(MPI_C_DOUBLE_COMPLEX, NBC_TYPE_COMPLEX_DOUBLE);
  know(MPI_C_LONG_DOUBLE_COMPLEX, NBC_TYPE_COMPLEX_LONG_DOUBLE);
  know(MPI_SHORT_INT, NBC_TYPE_PAIR_INT16), know(MPI_2INT, NBC_TYPE_PAIR_INT32);
  know(MPI_LONG_INT, NBC_TYPE_PAIR_INT64), know(MPI_FLOAT_INT, NBC_TYPE_PAIR_FLOAT);
  know(MPI_DOUBLE_INT, NBC_TYPE_PAIR_DOUBLE), know(MPI_LONG_DOUBLE_INT, NBC_TYPE_PAIR_LONG_DOUBLE);
}

static MPI_Aint extent_of(MPI_Datatype type) {
  MPI_Aint lower = 0, extent = 0;
  NEXT(Type_get_extent)(type, &lower, &extent);
  return extent;
}
static int64_t size_of(MPI_Datatype type) {
  MPI_Count size = 0;
  NEXT(Type_size_x)(type, &size);
  return (int64_t)size;
}

/* In memory as in a message: a named type without gaps, or a row of such. */
static bool is_raw(MPI_Datatype type) {
  int ints = 0, addresses = 0, types = 0, combiner = MPI_COMBINER_NAMED;
  if (size_of(type) != (int64_t)extent_of(type)) return false;
  NEXT(Type_get_envelope)(type, &ints, &addresses, &types, &combiner);
  if (combiner == MPI_COMBINER_NAMED) return true;
  if ((combiner != MPI_COMBINER_CONTIGUOUS && combiner != MPI_COMBINER_DUP) || ints > 1 || addresses || types != 1) return false;
  int count[1];
  MPI_Aint none[1];
  MPI_Datatype inner;
  if (NEXT(Type_get_contents)(type, ints, 0, 1, count, none, &inner) != MPI_SUCCESS) return false;
  const bool raw = is_raw(inner);
  NEXT(Type_get_envelope)(inner, &ints, &addresses, &types, &combiner);
  if (combiner != MPI_COMBINER_NAMED) NEXT(Type_free)(&inner);
  return raw;
}

static bool known_reduce(MPI_Op op, nbc_reduce *reduce) {
  const MPI_Op ops[] = {MPI_MAX, MPI_MIN, MPI_SUM, MPI_PROD, MPI_LAND, MPI_BAND, MPI_LOR, MPI_BOR, MPI_LXOR, MPI_BXOR, MPI_MAXLOC, MPI_MINLOC};
  static const nbc_reduce ours[] = {NBC_REDUCE_MAX, NBC_REDUCE_MIN, NBC_REDUCE_SUM, NBC_REDUCE_PROD,
                                    NBC_REDUCE_LAND, NBC_REDUCE_BAND, NBC_REDUCE_LOR, NBC_REDUCE_BOR,
                                    NBC_REDUCE_LXOR, NBC_REDUCE_BXOR, NBC_REDUCE_MAXLOC, NBC_REDUCE_MINLOC};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
    if (ops[i] == op) return *reduce = ours[i], true;
  return false;
}

/* dst = left op right by the MPI's own function: inout = in op inout, `in` from the lower ranks. */
static void reduce_by_mpi(void *dst, const void *left, const void *right, uint64_t count, nbc_type type, void *user) {
  const op_slot *const slot = (const op_slot *)user;
  const uint64_t one = nbc_type_bytes(type);
  unsigned char piece[16384];
  for (uint64_t at = 0; at < count;) {
    const uint64_t n = count - at < sizeof piece / one ? count - at : sizeof piece / one;
    unsigned char *const to = (unsigned char *)dst + at * one;
    memcpy(piece, (const unsigned char *)right + at * one, n * one);
    NEXT(Reduce_local)((const unsigned char *)left + at * one, piece, (int)n, slot->type, slot->op);
    memcpy(to, piece, n * one);
    at += n;
  }
}

/* What stands for this operator on this type. False: the MPI shall do it. Under the lock. */
static bool find_operator(shadow *s, MPI_Op op, MPI_Datatype type, nbc_type *ours, nbc_reduce *reduce) {
  int commutes = 1, ints, addresses, types, combiner = MPI_COMBINER_DUP;
  if (op == MPI_OP_NULL || type == MPI_DATATYPE_NULL) return false;
  for (int i = 0; i < known_type_count; i++)
    if (known_types[i].type == type && known_reduce(op, reduce)) {
      *ours = known_types[i].ours;
      if (nbc_reduce_local(*reduce, *ours, NULL, NULL, NULL, 0) == NBC_OK) return true;
    }
  NEXT(Type_get_envelope)(type, &ints, &addresses, &types, &combiner);
  const int64_t size = size_of(type);
  if (combiner != MPI_COMBINER_NAMED || size != (int64_t)extent_of(type)) return false;
  switch (size) {
  case 1: *ours = NBC_TYPE_UINT8; break;
  case 2: *ours = NBC_TYPE_UINT16; break;
  case 4: *ours = NBC_TYPE_UINT32; break;
  case 8: *ours = NBC_TYPE_UINT64; break;
  case 16: *ours = NBC_TYPE_COMPLEX_DOUBLE; break;
  default: return false;
  }
  NEXT(Op_commutative)(op, &commutes);
  op_slot *slot = NULL;
  for (int i = 0; i < s->slot_count && !slot; i++)
    if (s->slots[i].bound && s->slots[i].op == op && s->slots[i].type == type) slot = &s->slots[i];
  for (int i = 0; i < s->slot_count && !slot; i++)
    if (!s->slots[i].bound && s->slots[i].commutes == (commutes != 0)) slot = &s->slots[i];
  if (!slot) {
    if (s->slot_count == MAX_OPERATORS) return false;
    slot = &s->slots[s->slot_count];
    slot->commutes = commutes != 0;
    if (nbc_comm_operator(s->comm, reduce_by_mpi, slot, slot->commutes, &slot->reduce)) return false;
    s->slot_count++;
  }
  slot->bound = true;
  slot->op = op;
  slot->type = type;
  *reduce = slot->reduce;
  return true;
}

bool progress_coll_op_freed(MPI_Op op) {
  bool in_use = false;
  if (!coll.on) return false;
  coll_lock();
  for (shadow *s = coll.shadows; s; s = s->next)
    for (int i = 0; i < s->slot_count; i++) {
      if (!s->slots[i].bound || s->slots[i].op != op) continue;
      if (s->active_count) in_use = true;
      else s->slots[i].bound = false;
    }
  /* Freed while a collective may use it: it lives on until MPI_Finalize, its handle is not used again. */
  in_use = in_use && coll.late_count < (int)(sizeof coll.late_ops / sizeof *coll.late_ops);
  if (in_use) coll.late_ops[coll.late_count++] = op;
  coll_unlock();
  return in_use;
}

/* ---- what the program gave, in bytes ------------------------------------------------------------------- */
static int64_t count_of(const progress_side *side, int i) {
  if (!side->counts) return (int64_t)side->count;
  return side->large_counts ? (int64_t)((const MPI_Count *)side->counts)[i] : ((const int *)side->counts)[i];
}
static MPI_Datatype type_of(const progress_side *side, int i) { return side->types ? side->types[i] : side->type; }
static int64_t place_of(const progress_side *side, int i) {
  const int64_t unit = side->displs_in_bytes ? 1 : (int64_t)extent_of(type_of(side, i));
  if (!side->displs) return (int64_t)i * (int64_t)side->count * unit;
  return unit * (side->large_displs ? (int64_t)((const MPI_Aint *)side->displs)[i] : ((const int *)side->displs)[i]);
}
static int64_t bytes_of(const progress_side *side, int i) { return count_of(side, i) * size_of(type_of(side, i)); }

static bool side_is_good(const progress_side *side, int blocks) {
  for (int i = 0; i < blocks; i++)
    if (count_of(side, i) < 0 || type_of(side, i) == MPI_DATATYPE_NULL) return false;
  return true;
}
static bool side_is_raw(const progress_side *side, int blocks) {
  for (int i = 0; i < (side->types ? blocks : blocks > 0); i++)
    if (!is_raw(type_of(side, i))) return false;
  return true;
}

/* Elements in pieces that PMPI_Pack can count. */
static void pack(const void *from, int64_t count, MPI_Datatype type, unsigned char *to, bool out) {
  const int64_t one = size_of(type), extent = (int64_t)extent_of(type);
  const int64_t most = one > 0 ? (int64_t)INT32_MAX / 2 / one : count;
  for (int64_t at = 0; at < count && one > 0;) {
    const int64_t n = count - at < most ? count - at : most > 0 ? most : 1;
    int position = 0;
    unsigned char *const memory = (unsigned char *)(uintptr_t)from + at * extent;
    if (out) NEXT(Unpack)(to + at * one, (int)(n * one), &position, memory, (int)n, type, MPI_COMM_SELF);
    else NEXT(Pack)(memory, (int)n, type, to + at * one, (int)(n * one), &position, MPI_COMM_SELF);
    at += n;
  }
}

/* Blocks of a side for nbc: where they are, in bytes; packed one after the other when they are not raw. */
typedef struct layout {
  uint64_t *bytes, *at; /* per block */
  uint64_t total;
  int64_t first; /* raw: where the lowest block begins; `at` counts from there */
  bool raw;
} layout;

static bool lay_out(const progress_side *side, int blocks, layout *l) {
  memset(l, 0, sizeof *l);
  l->raw = side_is_raw(side, blocks);
  l->bytes = calloc(2 * (size_t)(blocks + 1), sizeof *l->bytes);
  if (!l->bytes) return false;
  l->at = l->bytes + blocks + 1;
  for (int i = 0; l->raw && i < blocks; i++)
    if (place_of(side, i) < l->first) l->first = place_of(side, i); /* displacements may be negative */
  for (int i = 0; i < blocks; i++) {
    l->bytes[i] = (uint64_t)bytes_of(side, i);
    l->at[i] = l->raw ? (uint64_t)(place_of(side, i) - l->first) : l->total;
    l->total += l->bytes[i];
  }
  return true;
}

static unsigned char *pack_side(const progress_side *side, int first, int blocks) {
  uint64_t total = 0;
  for (int i = first; i < first + blocks; i++) total += (uint64_t)bytes_of(side, i);
  unsigned char *const packed = malloc(total ? total : 1);
  uint64_t at = 0;
  for (int i = first; packed && i < first + blocks; at += (uint64_t)bytes_of(side, i), i++)
    pack((const unsigned char *)side->buffer + place_of(side, i), count_of(side, i), type_of(side, i), packed + at, false);
  return packed;
}

/* ---- starting ----------------------------------------------------------------------------------------- */
static void free_types(running *r) {
  for (int i = 0; i < r->blocks; i++) NEXT(Type_free)(&r->types[i]);
  r->blocks = 0;
}
/* Also called back by the MPI when it frees the request; MPICH 4.0 holds a lock then that MPI_Type_free wants. */
static void free_running(running *r) {
  free(r->sent);
  free(r->packed);
  free(r->bytes_of_send);
  free(r->bytes_of_recv);
  free(r->counts);
  free(r->places);
  free(r->types);
  free(r);
}

/* What must be unpacked when all is there: remembered here, since the program's arrays and handles may go. */
static bool unpack_later(running *r, const progress_side *side, int blocks, uint64_t total) {
  r->packed = malloc(total ? total : 1);
  r->counts = malloc((size_t)(blocks + 1) * sizeof *r->counts);
  r->places = malloc((size_t)(blocks + 1) * sizeof *r->places);
  r->types = malloc((size_t)(blocks + 1) * sizeof *r->types);
  if (!r->packed || !r->counts || !r->places || !r->types) return false;
  r->into = side->buffer;
  for (int i = 0; i < blocks; i++) {
    r->counts[i] = count_of(side, i);
    r->places[i] = place_of(side, i);
    if (NEXT(Type_dup)(type_of(side, i), &r->types[i]) != MPI_SUCCESS) return false;
    r->blocks = i + 1;
  }
  return true;
}
static void unpack_now(const running *r) {
  unsigned char *from = r->packed;
  for (int i = 0; i < r->blocks; i++) {
    pack((unsigned char *)r->into + r->places[i], r->counts[i], r->types[i], from, true);
    from += (uint64_t)r->counts[i] * (uint64_t)size_of(r->types[i]);
  }
}

typedef struct kind_of { /* blocks of each side: at the root, elsewhere; -1: one per process */
  nbc_coll ours;
  int send_root, send_other, recv_root, recv_other;
  bool lengths; /* v */
} kind_of;
static const kind_of kinds[] = {
    [PROGRESS_BARRIER] = {NBC_COLL_BARRIER, 0, 0, 0, 0, false},
    [PROGRESS_BCAST] = {NBC_COLL_BCAST, 0, 0, 1, 1, false},
    [PROGRESS_REDUCE] = {NBC_COLL_REDUCE, 1, 1, 1, 0, false},
    [PROGRESS_ALLREDUCE] = {NBC_COLL_ALLREDUCE, 1, 1, 1, 1, false},
    [PROGRESS_REDUCE_SCATTER_BLOCK] = {NBC_COLL_REDUCE_SCATTER_BLOCK, 1, 1, 1, 1, false},
    [PROGRESS_REDUCE_SCATTER] = {NBC_COLL_REDUCE_SCATTER, -1, -1, -1, -1, true},
    [PROGRESS_GATHER] = {NBC_COLL_GATHER, 1, 1, -1, 0, false},
    [PROGRESS_GATHERV] = {NBC_COLL_GATHERV, 1, 1, -1, 0, true},
    [PROGRESS_SCATTER] = {NBC_COLL_SCATTER, -1, 0, 1, 1, false},
    [PROGRESS_SCATTERV] = {NBC_COLL_SCATTERV, -1, 0, 1, 1, true},
    [PROGRESS_ALLGATHER] = {NBC_COLL_ALLGATHER, 1, 1, -1, -1, false},
    [PROGRESS_ALLGATHERV] = {NBC_COLL_ALLGATHERV, 1, 1, -1, -1, true},
    [PROGRESS_ALLTOALL] = {NBC_COLL_ALLTOALL, -1, -1, -1, -1, false},
    [PROGRESS_ALLTOALLV] = {NBC_COLL_ALLTOALLV, -1, -1, -1, -1, true},
    [PROGRESS_ALLTOALLW] = {NBC_COLL_ALLTOALLV, -1, -1, -1, -1, true},
    [PROGRESS_SCAN] = {NBC_COLL_SCAN, 1, 1, 1, 1, false},
    [PROGRESS_EXSCAN] = {NBC_COLL_EXSCAN, 1, 1, 1, 1, false},
};

static bool reduces(enum progress_kind kind) {
  return (kind >= PROGRESS_REDUCE && kind <= PROGRESS_REDUCE_SCATTER) || kind >= PROGRESS_SCAN;
}

/* Is it ours? `bytes`: of a vector or block, as all processes know it; UINT64_MAX: they do not. */
static bool is_chosen(const shadow *s, nbc_coll kind, uint64_t bytes) {
  if (!coll.by_file) return true;
  for (size_t i = 0; i < coll.choice.rule_count; i++) {
    const nbc_choice_rule *const rule = &coll.choice.rules[i];
    if (rule->coll == kind && (!rule->max_size || s->t.size <= rule->max_size) && (!rule->max_bytes || bytes <= rule->max_bytes))
      return true;
  }
  return false;
}
static uint64_t common_bytes(const shadow *s, const progress_call *call) {
  const progress_side *const whole = call->kind == PROGRESS_SCATTER && call->recv.buffer == MPI_IN_PLACE ? &call->send : &call->recv;
  uint64_t sum = 0;
  switch (call->kind) {
  case PROGRESS_BARRIER: return 0;
  case PROGRESS_GATHER: return (uint64_t)bytes_of(call->send.buffer == MPI_IN_PLACE ? &call->recv : &call->send, 0);
  case PROGRESS_ALLGATHERV:
  case PROGRESS_REDUCE_SCATTER:
    for (int i = 0; i < s->t.size; i++) sum += (uint64_t)bytes_of(&call->recv, i);
    return sum / (uint64_t)s->t.size;
  case PROGRESS_GATHERV:
  case PROGRESS_SCATTERV:
  case PROGRESS_ALLTOALLV:
  case PROGRESS_ALLTOALLW: return UINT64_MAX;
  default: return (uint64_t)bytes_of(whole, 0);
  }
}

/* Reductions work on the program's own memory. False: the MPI shall do it. */
static bool describe_reduction(shadow *s, const progress_call *call, running *r, nbc_coll_args *args) {
  const bool v = call->kind == PROGRESS_REDUCE_SCATTER;
  if (!find_operator(s, call->op, call->recv.type, &args->type, &args->reduce)) return false;
  args->send = call->send.buffer == MPI_IN_PLACE ? NBC_IN_PLACE : call->send.buffer;
  args->recv = call->recv.buffer;
  args->count = (uint64_t)call->recv.count;
  if (!v) return true;
  r->bytes_of_recv = calloc((size_t)s->t.size, sizeof *r->bytes_of_recv);
  if (!r->bytes_of_recv) return false;
  for (int i = 0; i < s->t.size; i++) r->bytes_of_recv[i] = (uint64_t)count_of(&call->recv, i);
  args->recv_counts = r->bytes_of_recv;
  return true;
}

/* Moves: everything as bytes; what is not raw goes through memory of ours. False: no memory. */
static bool describe_move(const shadow *s, const progress_call *call, running *r, nbc_coll_args *args) {
  const kind_of *const kind = &kinds[call->kind];
  const bool at_root = call->root == s->t.rank, send_in_place = call->send.buffer == MPI_IN_PLACE;
  const bool recv_in_place = call->recv.buffer == MPI_IN_PLACE, to_all = kind->recv_other < 0;
  int sends = at_root ? kind->send_root : kind->send_other, recvs = at_root ? kind->recv_root : kind->recv_other;
  layout out = {NULL, NULL, 0, 0, true}, in = out;
  sends = sends < 0 ? s->t.size : sends;
  recvs = recvs < 0 ? s->t.size : recvs;
  args->type = NBC_TYPE_BYTE;
  if (!recv_in_place && !lay_out(&call->recv, recvs, &in)) return false;
  if (!send_in_place && !lay_out(&call->send, sends, &out)) return free(in.bytes), false;
  r->bytes_of_recv = in.bytes;
  r->bytes_of_send = out.bytes;
  args->send = send_in_place ? NBC_IN_PLACE : (unsigned char *)call->send.buffer + out.first;
  args->recv = recv_in_place ? NBC_IN_PLACE : (unsigned char *)call->recv.buffer + in.first;
  if (!out.raw && !(r->sent = pack_side(&call->send, 0, sends))) return false;
  if (send_in_place && !in.raw) { /* its own data lie in the receive buffer, which is not raw */
    const bool exchange = call->kind >= PROGRESS_ALLTOALL && call->kind <= PROGRESS_ALLTOALLW;
    if (!(r->sent = exchange ? pack_side(&call->recv, 0, recvs) : pack_side(&call->recv, s->t.rank, 1))) return false;
    out = in;
    out.total = exchange ? in.total : in.bytes[s->t.rank];
  }
  if (r->sent) args->send = r->sent;
  if (!in.raw) {
    if (!unpack_later(r, &call->recv, recvs, in.total)) return false;
    args->recv = r->packed;
    if (call->kind == PROGRESS_BCAST && at_root) { /* what it sends; nothing comes */
      pack(call->recv.buffer, count_of(&call->recv, 0), call->recv.type, r->packed, false);
      r->counts[0] = 0;
    }
  }
  if (!kind->lengths) { /* one length for all blocks */
    args->count = recvs && !recv_in_place ? in.bytes[0] : sends && out.bytes ? out.bytes[0] : 0;
    return true;
  }
  args->count = !to_all && recvs == 1 && !recv_in_place ? in.bytes[0] : sends == 1 && out.bytes ? out.total : 0;
  if (recvs > 1) args->recv_counts = in.bytes, args->recv_displs = in.at;
  if (sends > 1 && out.bytes) args->send_counts = out.bytes, args->send_displs = out.at;
  return true;
}

static int query(void *state, MPI_Status *status) {
  const running *const r = (const running *)state;
  NEXT(Status_set_elements)(status, MPI_BYTE, 0);
  NEXT(Status_set_cancelled)(status, 0);
  status->MPI_SOURCE = MPI_ANY_SOURCE;
  status->MPI_TAG = MPI_ANY_TAG;
  return r->error_class;
}
static int release(void *state) {
  free_running((running *)state);
  return MPI_SUCCESS;
}
static int refuse_cancel(void *state, int complete) {
  (void)state, (void)complete;
  return MPI_SUCCESS; /* erroneous for a collective: it goes on */
}

/* Not the MPI's business any more: the other processes count on us. */
static int fail(const progress_call *call, int error_class) {
  NEXT(Comm_call_errhandler)(call->comm, error_class);
  return error_class;
}

static bool arguments_are_good(const shadow *s, const progress_call *call) {
  const kind_of *const kind = &kinds[call->kind];
  const bool at_root = call->root == s->t.rank;
  const int sends = at_root ? kind->send_root : kind->send_other, recvs = at_root ? kind->recv_root : kind->recv_other;
  if (call->root < 0 || call->root >= s->t.size) return false;
  if (reduces(call->kind)) return side_is_good(&call->recv, call->kind == PROGRESS_REDUCE_SCATTER ? s->t.size : 1);
  return (call->recv.buffer == MPI_IN_PLACE || side_is_good(&call->recv, recvs < 0 ? s->t.size : recvs)) &&
         (call->send.buffer == MPI_IN_PLACE || side_is_good(&call->send, sends < 0 ? s->t.size : sends));
}

static int error_class_of(nbc_status status) {
  return status == NBC_OK ? MPI_SUCCESS
         : status == NBC_E_TRUNCATED || status == NBC_E_MISMATCH ? MPI_ERR_TRUNCATE
         : status == NBC_E_NOMEM ? MPI_ERR_NO_MEM
         : status == NBC_E_INVAL ? MPI_ERR_BUFFER : MPI_ERR_OTHER;
}

bool progress_coll_start(const progress_call *call, MPI_Request *request, int *rc) {
  nbc_coll_args args;
  if (!coll.on || !request) return false;
  memset(&args, 0, sizeof args);
  coll_lock();
  shadow *const s = find_shadow(call->comm);
  if (!s || !arguments_are_good(s, call) || !is_chosen(s, kinds[call->kind].ours, common_bytes(s, call))) return coll_unlock(), false;
  running *const r = calloc(1, sizeof *r);
  args.coll = kinds[call->kind].ours;
  args.root = call->root;
  nbc_status status = r ? NBC_OK : NBC_E_NOMEM;
  if (r && reduces(call->kind) && !describe_reduction(s, call, r, &args)) {
    free_running(r);
    return coll_unlock(), false;
  }
  if (r && !reduces(call->kind) && call->kind != PROGRESS_BARRIER && !describe_move(s, call, r, &args)) status = NBC_E_NOMEM;
  if (!status) status = nbc_coll_start_new(s->comm, &args, &r->request);
  if (status) {
    coll_unlock();
    if (r) free_types(r), free_running(r);
    *rc = fail(call, error_class_of(status));
    return true;
  }
  r->on = s;
  *rc = NEXT(Grequest_start)(query, release, refuse_cancel, r, &r->handle);
  *request = r->handle;
  s->active_count++;
  coll.started_count++;
  r->next = coll.first;
  coll.first = r;
  __atomic_add_fetch(&coll.active_count, 1, __ATOMIC_RELEASE);
  coll_unlock();
  return true;
}

uint64_t progress_coll_count(void) { return coll.started_count; }
int progress_coll_active(void) { return __atomic_load_n(&coll.active_count, __ATOMIC_RELAXED); }

void progress_coll_poll(void) {
  running *done = NULL;
  if (!progress_coll_active() || !coll_try_lock()) return;
  coll.world_status = coll.world->progress(coll.world->ctx);
  coll.polling = true;
  for (running **link = &coll.first; *link;) {
    running *const r = *link;
    const nbc_status status = nbc_coll_test(&r->request);
    if (status == NBC_PENDING) {
      link = &r->next;
      continue;
    }
    r->error_class = error_class_of(status);
    *link = r->next;
    r->next = done;
    done = r;
    if (--r->on->active_count == 0 && r->on->dying) free_shadow(r->on);
    __atomic_sub_fetch(&coll.active_count, 1, __ATOMIC_RELEASE);
  }
  coll.polling = false;
  coll_unlock();
  while (done) {
    running *const r = done;
    done = r->next;
    if (!r->error_class) unpack_now(r);
    free_types(r);
    NEXT(Grequest_complete)(r->handle); /* from here on r may be gone */
  }
}

/* ---- begin and end -------------------------------------------------------------------------------------- */
/* PMPI_Pack writes what memory would hold: then packed and raw sides can talk. */
static bool packs_raw(void) {
  const int numbers[5] = {1, 2, 3, 4, 5}, expected[3] = {1, 3, 5};
  int packed[8] = {0}, position = 0;
  MPI_Datatype type;
  NEXT(Type_vector)(3, 1, 2, MPI_INT, &type);
  NEXT(Type_commit)(&type);
  NEXT(Pack)(numbers, 1, type, packed, (int)sizeof packed, &position, MPI_COMM_SELF);
  NEXT(Type_free)(&type);
  return position == (int)sizeof expected && memcmp(packed, expected, sizeof expected) == 0;
}

bool progress_coll_begin(bool able) {
  const char *const value = progress_setting("NBC_COLLECTIVES");
  nbc_error err = {NBC_OK, 0, ""};
  int rank = 0, good, all = 0;
  if (!value || strcmp(value, "mpi") == 0) return false;
  NEXT(Comm_rank)(MPI_COMM_WORLD, &rank);
  coll.by_file = strcmp(value, "ours") != 0;
  if (coll.by_file && nbc_choice_read(value, &coll.choice, &err)) {
    progress_say("NBC_COLLECTIVES=%.100s: neither mpi nor ours nor a table: %s", value, err.text);
    able = false;
  }
  good = able && packs_raw();
  NEXT(Allreduce)(&good, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (!all) {
    if (rank == 0) progress_say("nonblocking collectives stay the MPI's: ours need a worker in every process and MPI_THREAD_MULTIPLE");
    return false;
  }
  nbc_mpi_desc desc = {MPI_THREAD_MULTIPLE, 0};
  if (nbc_mpi_create(MPI_COMM_WORLD, &desc, &coll.world, &err)) {
    progress_say("rank %d: %s", rank, err.text);
    NEXT(Abort)(MPI_COMM_WORLD, 1);
  }
  NEXT(Comm_group)(MPI_COMM_WORLD, &coll.world_group);
  memset(coll.free_ids, 0xff, sizeof coll.free_ids);
  if (!known_type_count) know_types();
  coll.on = true;
  progress_coll_made(MPI_COMM_WORLD);
  return true;
}

void progress_coll_end(void) {
  if (!coll.on) return;
  coll.on = false;
  while (coll.shadows) free_shadow(coll.shadows);
  nbc_mpi_destroy(coll.world);
  NEXT(Group_free)(&coll.world_group);
  for (int i = 0; i < coll.late_count; i++) NEXT(Op_free)(&coll.late_ops[i]);
}
