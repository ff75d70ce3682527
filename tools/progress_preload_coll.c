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

bool progress_number(const char *text, double *value) {
  const char *const end = text + strlen(text);
  return nbc__text_number(text, end, value) == end;
}
int progress_print(char *text, size_t bytes, const char *format, va_list args) {
  const locale_t before = nbc__locale_begin();
  const int length = vsnprintf(text, bytes, format, args);
  nbc__locale_end(before);
  return length;
}

enum { MAX_COMMS = 1024, COMM_WORDS = MAX_COMMS / 64 };

/* An operator that is not ours, on a named type: what nbc's operator function gets. */
typedef struct foreign_op {
  bool used;
  MPI_Op op;
  MPI_Datatype type;
} foreign_op;

typedef struct shadow { /* of a communicator of the program */
  nbc_transport t;      /* on the world's, ranks translated */
  MPI_Comm handle;
  struct shadow *next;
  int *world_rank;
  unsigned id;
  nbc_comm *comm;
  int active_count;     /* collectives under way */
  int persistent_count; /* persistent ones made and not freed */
  bool dying;           /* its handle was freed */
  bool has_neighbors;   /* a topology in which no two processes are neighbours twice */
  nbc_neighbors neighbors;
  nbc_reduce by_mpi[2]; /* reduce_by_mpi, for operators that do not commute and that do */
} shadow;

typedef struct
    block_list { /* blocks of one side, remembered: the program's arrays and handles may go */
  unsigned char *base;
  int count;
  int64_t *counts, *places; /* elements; bytes from `base` */
  MPI_Datatype *types;      /* duplicates: the program may free its own */
} block_list;

typedef struct running { /* a collective under way, or a persistent one */
  struct running *next;
  shadow *on;
  nbc_request *request;
  MPI_Request handle; /* generalized */
  int error_class;
  foreign_op by;
  bool persistent, under_way;
  bool waited;       /* a blocking one: no request, its caller waits until */
  uint32_t over;     /* atomic */
  bool sides_differ; /* what this process sends itself has another length than what it receives */
  bool dying,
      gone; /* persistent: its handle was freed while it ran; and the MPI has freed the last request of it */
  struct running *next_buried;
  unsigned char *sent,
      *packed; /* packed data: what goes out, and what came, to be unpacked at the end */
  uint64_t *bytes_of_send, *bytes_of_recv; /* what nbc was told */
  block_list unpack;                       /* from `packed`, at the end */
  block_list pack;                         /* to pack_to, at each start of a persistent one */
  unsigned char *pack_to;
} running;

static struct {
  bool on;
  bool blocking; /* those that the program waits for in the call, too */
  bool by_file;
  nbc_choice choice;
  nbc_transport *world;
  MPI_Group world_group;
  uint64_t free_ids[COMM_WORDS];
  shadow *shadows; /* by lock; looked up by handle */
  running *first;
  running *buried;  /* persistent ones whose handles are gone */
  int active_count; /* atomic */
  uint64_t started_count;
  uint32_t lock;
  bool polling; /* the world was progressed in this round, and said: */
  nbc_status world_status;
  struct op_use { /* operators of the program that collectives use; freed: it has freed this one */
    MPI_Op op;
    int use_count;
    bool freed;
  } * ops;
  int op_count, op_limit;
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
static nbc_status sub_isend(void *ctx, const void *buffer, uint64_t bytes, int peer, uint64_t tag,
                            nbc_op *op) {
  return coll.world->isend(coll.world->ctx, buffer, bytes, ((shadow *)ctx)->world_rank[peer], tag,
                           op);
}
static nbc_status sub_irecv(void *ctx, void *buffer, uint64_t bytes, int peer, uint64_t tag,
                            nbc_op *op) {
  return coll.world->irecv(coll.world->ctx, buffer, bytes, ((shadow *)ctx)->world_rank[peer], tag,
                           op);
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
  free((void *)(uintptr_t)s->neighbors.sources);
  coll.free_ids[s->id / 64] |= (uint64_t)1 << (s->id % 64);
  free(s->world_rank);
  free(s);
}

/* Open MPI 4.1 says of communicators from MPI_Comm_create_group that they are the grid or graph from which they were made,
   and crashes in MPI_Cart_shift of such a one: a grid has as many places as processes, or it is none. */
static bool is_grid(MPI_Comm comm, int dimensions, int size) {
  int *const lengths = calloc(3 * (size_t)dimensions + 1, sizeof *lengths);
  int64_t places = 1;
  if (!lengths) return false;
  NEXT(Cart_get)(comm, dimensions, lengths, lengths + dimensions, lengths + 2 * dimensions);
  for (int i = 0; i < dimensions; i++) places *= lengths[i];
  free(lengths);
  return places == size;
}

/* Lists in one block of memory, at `sources`. False: no topology, or some process stands twice in a list: what goes
   where then differs from MPI to MPI (docs/mpi_errors.md), so those stay the MPI's. */
static bool find_neighbors(MPI_Comm comm, int size, nbc_neighbors *n) {
  int kind = MPI_UNDEFINED, rank, weighted = 0, dimensions = 0;
  NEXT(Topo_test)(comm, &kind);
  if (kind == MPI_UNDEFINED) return false;
  NEXT(Comm_rank)(comm, &rank);
  if (kind == MPI_CART) {
    NEXT(Cartdim_get)(comm, &dimensions);
    if (!is_grid(comm, dimensions, size)) return false;
    n->source_count = n->target_count = 2 * dimensions;
  } else if (kind == MPI_GRAPH) {
    NEXT(Graph_neighbors_count)(comm, rank, &n->source_count);
    n->target_count = n->source_count;
  } else {
    NEXT(Dist_graph_neighbors_count)(comm, &n->source_count, &n->target_count, &weighted);
  }
  const size_t in = (size_t)n->source_count, out = (size_t)n->target_count;
  int *const lists = malloc((in + out + 1) * sizeof *lists), *const targets = lists + in;
  int *const weights = malloc((in + out + 1) * sizeof *weights);
  unsigned char *const seen = calloc((size_t)size + 1, 2);
  bool good = lists && weights && seen;
  for (int i = 0; good && kind == MPI_CART && i < dimensions; i++)
    NEXT(Cart_shift)(comm, i, 1, &lists[2 * i], &lists[2 * i + 1]);
  if (good && kind == MPI_GRAPH) NEXT(Graph_neighbors)(comm, rank, n->source_count, lists);
  if (good && kind != MPI_CART && kind != MPI_GRAPH) NEXT(Dist_graph_neighbors)
  (comm, n->source_count, lists, weights, n->target_count, targets, weights + in);
  else if (good) memcpy(targets, lists, in * sizeof *lists);
  for (size_t i = 0; good && i < in + out; i++) {
    if (lists[i] < 0)
      lists[i] = -1; /* MPI_PROC_NULL */
    else
      good = lists[i] < size && !(seen[2 * lists[i] + (i >= in)]++);
  }
  free(weights);
  free(seen);
  if (!good) return free(lists), memset(n, 0, sizeof *n), false;
  n->sources = lists;
  n->targets = targets;
  return true;
}

static void reduce_by_mpi(void *dst, const void *left, const void *right, uint64_t count,
                          nbc_type type, void *user);
/* Local. NULL: a process outside of our world, then *inside is false, or no memory. */
static shadow *make_shadow(MPI_Comm comm, int size, bool *inside) {
  MPI_Group group;
  shadow *const s = calloc(1, sizeof *s);
  int *const ranks = malloc(2 * (size_t)size * sizeof *ranks);
  if (!s || !ranks) return free(s), free(ranks), (shadow *)NULL;
  for (int i = 0; i < size; i++) ranks[size + i] = i;
  NEXT(Comm_group)(comm, &group);
  NEXT(Group_translate_ranks)(group, size, ranks + size, coll.world_group, ranks);
  NEXT(Group_free)(&group);
  for (int i = 0; i < size; i++) *inside = *inside && ranks[i] >= 0;
  if (!*inside) return free(s), free(ranks), (shadow *)NULL;
  s->handle = comm;
  s->world_rank = ranks;
  s->t = *coll.world;
  s->t.ctx = s;
  NEXT(Comm_rank)(comm, &s->t.rank);
  s->t.size = size;
  s->has_neighbors = find_neighbors(comm, size, &s->neighbors);
  for (int i = 0; i < size; i++) { /* nodes by the first process here of each */
    int first = 0;
    while (coll.world->nodes[ranks[first]] != coll.world->nodes[ranks[i]]) first++;
    ranks[size + i] = first;
  }
  s->t.nodes = ranks + size;
  s->t.now_ns = sub_now, s->t.isend = sub_isend, s->t.irecv = sub_irecv,
  s->t.progress = sub_progress;
  s->t.cancel = sub_cancel, s->t.peer_class = sub_class, s->t.others = NULL;
  return s;
}

static bool is_free(const uint64_t *ids, int id) { return ids[id / 64] >> (id % 64) & 1; }
static bool take_free(int id) {
  coll_lock();
  const bool mine = is_free(coll.free_ids, id);
  coll.free_ids[id / 64] &= ~((uint64_t)1 << (id % 64));
  coll_unlock();
  return mine;
}
static void give_back(int id) {
  coll_lock();
  coll.free_ids[id / 64] |= (uint64_t)1 << (id % 64);
  coll_unlock();
}
static uint64_t draw(void) { /* splitmix64, a sequence of each process */
  static uint64_t state;
  uint64_t z = __atomic_add_fetch(&state, 0x9E3779B97F4A7C15u, __ATOMIC_RELAXED);
  z = (z + (uint64_t)getpid()) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

/* A number that is free in all processes of comm, taken in all. ret -1: there is none.
   Threads may ask for several communicators at once, and a number may go to one of them here and to another one
   in another process: then all try again. Rank 0 draws which of the free ones is tried, so that
   communicators do not meet again and again. Where no process has several threads in MPI, nobody asks twice. */
static int take_id(MPI_Comm comm, int rank) {
  uint64_t own[COMM_WORDS + 2], common[COMM_WORDS + 2];
  for (;;) {
    int count = 0, id = 0, mine, all = 0;
    coll_lock();
    memcpy(own, coll.free_ids, sizeof coll.free_ids);
    coll_unlock();
    own[COMM_WORDS] = rank == 0 ? draw() : UINT64_MAX;
    own[COMM_WORDS + 1] = progress_has_threads() ? 0 : UINT64_MAX;
    if (NEXT(Allreduce)(own, common, COMM_WORDS + 2, MPI_UINT64_T, MPI_BAND, comm) != MPI_SUCCESS)
      return -1;
    for (int i = 0; i < MAX_COMMS; i++) count += is_free(common, i);
    if (!count) return -1;
    const bool alone = common[COMM_WORDS + 1] != 0;
    for (int left = alone ? 0 : (int)(common[COMM_WORDS] % (unsigned)count);; id++)
      if (is_free(common, id) && left-- == 0) break;
    mine = take_free(id);
    if (alone) return id;
    if (NEXT(Allreduce)(&mine, &all, 1, MPI_INT, MPI_MIN, comm) != MPI_SUCCESS) all = 0, count = 0;
    if (all) return id;
    if (mine) give_back(id);
    if (!count) return -1;
  }
}

void progress_coll_made(MPI_Comm comm, bool by_program) {
  int inter = 0, size = 0, id = -1, flag = 1, all = 0;
  if (!coll.on || comm == MPI_COMM_NULL) return;
  NEXT(Comm_test_inter)(comm, &inter);
  if (inter) return;
  NEXT(Comm_size)(comm, &size);
  if (size < 2) return;
  /* A process of another world has no list of numbers like ours, and may not be preloaded at all. Each sees processes of
     another world than its own then: nobody needs to ask. */
  bool inside = true;
  shadow *const s = by_program ? make_shadow(comm, size, &inside) : NULL;
  if (!inside) return;
  flag = !s ? 0 : s->has_neighbors ? 2 : 1; /* the least of all */
  if (NEXT(Allreduce)(&flag, &all, 1, MPI_INT, MPI_MIN, comm) != MPI_SUCCESS) all = 0;
  if (all) id = take_id(comm, s->t.rank);
  if (id < 0) { /* all in use: these stay the MPI's */
    if (s) free(s->world_rank), free((void *)(uintptr_t)s->neighbors.sources);
    free(s);
    return;
  }
  nbc_comm_desc desc;
  memset(&desc, 0, sizeof desc);
  s->has_neighbors = all == 2;
  s->id = desc.id = (unsigned)id;
  desc.transport = &s->t;
  desc.choice = coll.by_file ? &coll.choice : NULL;
  coll_lock();
  if (nbc_comm_create(&desc, &s->comm, NULL) == NBC_OK &&
      nbc_comm_operator(s->comm, reduce_by_mpi, NULL, false, &s->by_mpi[0]) == NBC_OK &&
      nbc_comm_operator(s->comm, reduce_by_mpi, NULL, true, &s->by_mpi[1]) == NBC_OK) {
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
  if (s && !s->active_count && !s->persistent_count) free_shadow(s);
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
  know(MPI_INT, integer_of(sizeof(int), true)), know(MPI_DOUBLE, NBC_TYPE_DOUBLE),
      know(MPI_FLOAT, NBC_TYPE_FLOAT);
  know(MPI_SIGNED_CHAR, NBC_TYPE_INT8), know(MPI_SHORT, NBC_TYPE_INT16);
  know(MPI_LONG, integer_of(sizeof(long), true)), know(MPI_LONG_LONG_INT, NBC_TYPE_INT64);
  know(MPI_UNSIGNED_CHAR, NBC_TYPE_UINT8), know(MPI_UNSIGNED_SHORT, NBC_TYPE_UINT16);
  know(MPI_UNSIGNED, integer_of(sizeof(int), false)),
      know(MPI_UNSIGNED_LONG, integer_of(sizeof(long), false));
  know(MPI_UNSIGNED_LONG_LONG, NBC_TYPE_UINT64);
  know(MPI_INT8_T, NBC_TYPE_INT8), know(MPI_INT16_T, NBC_TYPE_INT16),
      know(MPI_INT32_T, NBC_TYPE_INT32);
  know(MPI_INT64_T, NBC_TYPE_INT64), know(MPI_UINT8_T, NBC_TYPE_UINT8),
      know(MPI_UINT16_T, NBC_TYPE_UINT16);
  know(MPI_UINT32_T, NBC_TYPE_UINT32), know(MPI_UINT64_T, NBC_TYPE_UINT64);
  know(MPI_AINT, integer_of(sizeof(MPI_Aint), true)),
      know(MPI_COUNT, integer_of(sizeof(MPI_Count), true));
  know(MPI_OFFSET, integer_of(sizeof(MPI_Offset), true)),
      know(MPI_LONG_DOUBLE, NBC_TYPE_LONG_DOUBLE);
  know(MPI_C_FLOAT_COMPLEX, NBC_TYPE_COMPLEX_FLOAT),
      know(MPI_C_DOUBLE_COMPLEX, NBC_TYPE_COMPLEX_DOUBLE);
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
  if ((combiner != MPI_COMBINER_CONTIGUOUS && combiner != MPI_COMBINER_DUP) || ints > 1 ||
      addresses || types != 1)
    return false;
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
  const MPI_Op ops[] = {MPI_MAX, MPI_MIN, MPI_SUM,  MPI_PROD, MPI_LAND,   MPI_BAND,
                        MPI_LOR, MPI_BOR, MPI_LXOR, MPI_BXOR, MPI_MAXLOC, MPI_MINLOC};
  static const nbc_reduce ours[] = {NBC_REDUCE_MAX,  NBC_REDUCE_MIN,    NBC_REDUCE_SUM,
                                    NBC_REDUCE_PROD, NBC_REDUCE_LAND,   NBC_REDUCE_BAND,
                                    NBC_REDUCE_LOR,  NBC_REDUCE_BOR,    NBC_REDUCE_LXOR,
                                    NBC_REDUCE_BXOR, NBC_REDUCE_MAXLOC, NBC_REDUCE_MINLOC};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
    if (ops[i] == op) return *reduce = ours[i], true;
  return false;
}

/* What predefined operators know a type as that nbc has no function for (MPI 4.0, 6.9.2 and 6.9.4). */
enum type_class { INTEGERS = 1, FLOATS = 2, COMPLEX = 4, LOGICALS = 8, BYTES = 16, PAIRS = 32 };
static int class_of(MPI_Datatype type) {
  const struct {
    MPI_Datatype type;
    enum type_class its;
  } classes[] = {{MPI_INTEGER, INTEGERS},       {MPI_INTEGER1, INTEGERS},
                 {MPI_INTEGER2, INTEGERS},      {MPI_INTEGER4, INTEGERS},
                 {MPI_INTEGER8, INTEGERS},      {MPI_REAL, FLOATS},
                 {MPI_REAL4, FLOATS},           {MPI_REAL8, FLOATS},
                 {MPI_COMPLEX, COMPLEX},        {MPI_DOUBLE_PRECISION, FLOATS},
                 {MPI_COMPLEX8, COMPLEX},       {MPI_DOUBLE_COMPLEX, COMPLEX},
                 {MPI_COMPLEX16, COMPLEX},      {MPI_LOGICAL, LOGICALS},
                 {MPI_C_BOOL, LOGICALS},        {MPI_BYTE, BYTES},
                 {MPI_2INTEGER, PAIRS},         {MPI_2REAL, PAIRS},
                 {MPI_2DOUBLE_PRECISION, PAIRS}};
  for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
    if (classes[i].type == type) return (int)classes[i].its;
  return 0;
}
/* False: what this operator makes of this type is the MPI's affair, an error most often. */
static bool is_defined(MPI_Op op, MPI_Datatype type) {
  nbc_reduce reduce;
  if (op == MPI_REPLACE || op == MPI_NO_OP) return false;
  if (!known_reduce(op, &reduce)) return true; /* the program's own */
  switch (reduce) {
  case NBC_REDUCE_SUM:
  case NBC_REDUCE_PROD: return class_of(type) & (INTEGERS | FLOATS | COMPLEX);
  case NBC_REDUCE_MAX:
  case NBC_REDUCE_MIN: return class_of(type) & (INTEGERS | FLOATS);
  case NBC_REDUCE_LAND:
  case NBC_REDUCE_LOR:
  case NBC_REDUCE_LXOR: return class_of(type) & LOGICALS;
  case NBC_REDUCE_BAND:
  case NBC_REDUCE_BOR:
  case NBC_REDUCE_BXOR: return class_of(type) & (INTEGERS | BYTES);
  default: return class_of(type) & PAIRS;
  }
}

/* dst = left op right by the MPI's own function: inout = in op inout, `in` from the lower ranks. */
static void reduce_by_mpi(void *dst, const void *left, const void *right, uint64_t count,
                          nbc_type type, void *user) {
  const foreign_op *const by = (const foreign_op *)user;
  const uint64_t one = nbc_type_bytes(type);
  unsigned char piece[16384];
  for (uint64_t at = 0; at < count;) {
    const uint64_t n = count - at < sizeof piece / one ? count - at : sizeof piece / one;
    unsigned char *const to = (unsigned char *)dst + at * one;
    memcpy(piece, (const unsigned char *)right + at * one, n * one);
    NEXT(Reduce_local)((const unsigned char *)left + at * one, piece, (int)n, by->type, by->op);
    memcpy(to, piece, n * one);
    at += n;
  }
}

/* ---- operators of the program live as long as a collective uses them, whenever it frees them; under the lock ---- */
static bool use_op(MPI_Op op) {
  int i = 0;
  while (i < coll.op_count && coll.ops[i].op != op) i++;
  if (i == coll.op_limit) {
    const int limit = coll.op_limit ? 2 * coll.op_limit : 16;
    struct op_use *const more = realloc(coll.ops, (size_t)limit * sizeof *more);
    if (!more) return false;
    coll.ops = more;
    coll.op_limit = limit;
  }
  if (i == coll.op_count) coll.ops[coll.op_count++] = (struct op_use){op, 0, false};
  coll.ops[i].use_count++;
  return true;
}
/* ret whether the MPI is to free it now */
static bool unuse_op(foreign_op *by) {
  int i = 0;
  if (!by->used) return false;
  by->used = false;
  while (i < coll.op_count && coll.ops[i].op != by->op) i++;
  if (i == coll.op_count || --coll.ops[i].use_count) return false;
  const bool freed = coll.ops[i].freed;
  coll.ops[i] = coll.ops[--coll.op_count];
  return freed;
}
bool progress_coll_op_freed(MPI_Op op) {
  bool in_use = false;
  if (!coll.on) return false;
  coll_lock();
  for (int i = 0; i < coll.op_count; i++)
    if (coll.ops[i].op == op) in_use = coll.ops[i].freed = true;
  coll_unlock();
  return in_use;
}

/* How nbc does this operator on this type. False: the MPI shall do it, or *status says that there is no memory.
   What decides is equal in all processes: which operators are under way is not. Under the lock. */
static bool find_operator(const shadow *s, MPI_Op op, MPI_Datatype type, running *r,
                          nbc_coll_args *args, nbc_status *status) {
  int commutes = 1, ints, addresses, types, combiner = MPI_COMBINER_DUP;
  if (op == MPI_OP_NULL || type == MPI_DATATYPE_NULL) return false;
  for (int i = 0; i < known_type_count; i++)
    if (known_types[i].type == type && known_reduce(op, &args->reduce)) {
      args->type = known_types[i].ours;
      if (nbc_reduce_local(args->reduce, args->type, NULL, NULL, NULL, 0) == NBC_OK) return true;
    }
  NEXT(Type_get_envelope)(type, &ints, &addresses, &types, &combiner);
  const int64_t size = size_of(type);
  if (combiner != MPI_COMBINER_NAMED || size != (int64_t)extent_of(type) || !is_defined(op, type))
    return false;
  switch (size) {
  case 1: args->type = NBC_TYPE_UINT8; break;
  case 2: args->type = NBC_TYPE_UINT16; break;
  case 4: args->type = NBC_TYPE_UINT32; break;
  case 8: args->type = NBC_TYPE_UINT64; break;
  case 16: args->type = NBC_TYPE_COMPLEX_DOUBLE; break;
  default: return false;
  }
  if (!use_op(op)) return *status = NBC_E_NOMEM, false;
  NEXT(Op_commutative)(op, &commutes);
  r->by = (foreign_op){true, op, type};
  args->reduce = s->by_mpi[commutes != 0];
  args->operator_user = &r->by;
  return true;
}

/* ---- what the program gave, in bytes ------------------------------------------------------------------- */
static int64_t count_of(const progress_side *side, int i) {
  if (side->peers && side->peers[i] < 0) return 0;
  if (!side->counts) return (int64_t)side->count;
  return side->large_counts ? (int64_t)((const MPI_Count *)side->counts)[i]
                            : ((const int *)side->counts)[i];
}
static MPI_Datatype type_of(const progress_side *side, int i) {
  return side->types ? side->types[i] : side->type;
}
static int64_t place_of(const progress_side *side, int i) {
  const int64_t unit = side->displs_in_bytes ? 1 : (int64_t)extent_of(type_of(side, i));
  if (!side->displs) return (int64_t)i * (int64_t)side->count * unit;
  return unit * (side->large_displs ? (int64_t)((const MPI_Aint *)side->displs)[i]
                                    : ((const int *)side->displs)[i]);
}
static int64_t bytes_of(const progress_side *side, int i) {
  return count_of(side, i) * size_of(type_of(side, i));
}

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

/* MPICH 4.0 refuses MPI_BOTTOM in MPI_Pack and MPI_Unpack: addresses of `type` counted from somewhere else. */
static void pack_absolute(int count, MPI_Datatype type, unsigned char *to, int bytes, bool out) {
  static unsigned char anchor;
  MPI_Aint from_anchor = 0;
  MPI_Datatype moved;
  int position = 0;
  NEXT(Get_address)(&anchor, &from_anchor);
  from_anchor = -from_anchor;
  NEXT(Type_create_hindexed)(1, &count, &from_anchor, type, &moved);
  NEXT(Type_commit)(&moved);
  if (out)
    NEXT(Unpack)(to, bytes, &position, &anchor, 1, moved, MPI_COMM_SELF);
  else
    NEXT(Pack)(&anchor, 1, moved, to, bytes, &position, MPI_COMM_SELF);
  NEXT(Type_free)(&moved);
}

/* Elements in pieces that PMPI_Pack can count. */
static void pack(const void *from, int64_t count, MPI_Datatype type, unsigned char *to, bool out) {
  const int64_t one = size_of(type), extent = (int64_t)extent_of(type);
  const int64_t most = one > 0 ? (int64_t)INT32_MAX / 2 / one : count;
  for (int64_t at = 0; at < count && one > 0;) {
    const int64_t n = count - at < most ? count - at : most > 0 ? most : 1;
    int position = 0;
    unsigned char *const memory = (unsigned char *)(uintptr_t)from + at * extent;
    if (!memory)
      pack_absolute((int)n, type, to + at * one, (int)(n * one), out);
    else if (out)
      NEXT(Unpack)(to + at * one, (int)(n * one), &position, memory, (int)n, type, MPI_COMM_SELF);
    else
      NEXT(Pack)(memory, (int)n, type, to + at * one, (int)(n * one), &position, MPI_COMM_SELF);
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

static bool lay_out(const progress_side *side, int blocks, bool raw, layout *l) {
  memset(l, 0, sizeof *l);
  l->raw = raw;
  l->bytes = calloc(2 * (size_t)(blocks + 1), sizeof *l->bytes);
  if (!l->bytes) return false;
  l->at = l->bytes + blocks + 1;
  bool found = false; /* the lowest: displacements may be negative, or addresses from MPI_BOTTOM */
  for (int i = 0; i < blocks; i++) {
    const int64_t at = place_of(side, i);
    l->bytes[i] = (uint64_t)bytes_of(side, i);
    if (!raw || !l->bytes[i] || (found && at >= l->first)) continue;
    l->first = at;
    found = true;
  }
  for (int i = 0; i < blocks; i++) {
    if (!raw || l->bytes[i]) l->at[i] = raw ? (uint64_t)(place_of(side, i) - l->first) : l->total;
    l->total += l->bytes[i];
  }
  return true;
}

typedef struct place {
  uint64_t at, end;
} place;
static int by_place(const void *a, const void *b) {
  const place *const x = (const place *)a, *const y = (const place *)b;
  return (x->at > y->at) - (x->at < y->at);
}
/* Blocks that come to one place: forbidden where something is written twice, but programs do it, and the MPIs let them. A
   schedule would write one after the other, in an order that those who send do not know: nobody would end. So such
   go through memory of ours. Mostly blocks lie one behind the other, in one direction. */
static bool blocks_meet(const layout *l, int blocks) {
  bool up = true, down = true, meet = false;
  int n = 0;
  for (int i = 0, last = -1; i < blocks; i++) {
    if (!l->bytes[i]) continue;
    up = up && (last < 0 || l->at[last] + l->bytes[last] <= l->at[i]);
    down = down && (last < 0 || l->at[i] + l->bytes[i] <= l->at[last]);
    last = i;
    n++;
  }
  if (up || down || !l->raw) return false;
  place *const places = malloc((size_t)n * sizeof *places);
  if (!places) return true;
  n = 0;
  for (int i = 0; i < blocks; i++)
    if (l->bytes[i]) places[n++] = (place){l->at[i], l->at[i] + l->bytes[i]};
  qsort(places, (size_t)n, sizeof *places, by_place);
  for (int i = 1; i < n; i++) meet = meet || places[i].at < places[i - 1].end;
  free(places);
  return meet;
}

/* Blocks that go lie between those that come: in one array, say. Then what goes is packed. */
static bool interlaced(const progress_side *send, const layout *out, int sends,
                       const progress_side *recv, const layout *in, int recvs) {
  const uintptr_t a = (uintptr_t)send->buffer + (uintptr_t)out->first,
                  b = (uintptr_t)recv->buffer + (uintptr_t)in->first;
  uint64_t a_bytes = 0, b_bytes = 0;
  if (!out->raw || !in->raw) return false;
  for (int i = 0; i < sends; i++)
    if (out->bytes[i] && out->at[i] + out->bytes[i] > a_bytes) a_bytes = out->at[i] + out->bytes[i];
  for (int i = 0; i < recvs; i++)
    if (in->bytes[i] && in->at[i] + in->bytes[i] > b_bytes) b_bytes = in->at[i] + in->bytes[i];
  return a_bytes && b_bytes && a < b + b_bytes && b < a + a_bytes;
}

static unsigned char *pack_side(const progress_side *side, int first, int blocks) {
  uint64_t total = 0;
  for (int i = first; i < first + blocks; i++) total += (uint64_t)bytes_of(side, i);
  unsigned char *const packed = malloc(total ? total : 1);
  uint64_t at = 0;
  for (int i = first; packed && i < first + blocks; at += (uint64_t)bytes_of(side, i), i++)
    pack((const unsigned char *)side->buffer + place_of(side, i), count_of(side, i),
         type_of(side, i), packed + at, false);
  return packed;
}

/* ---- starting ----------------------------------------------------------------------------------------- */
static void forget_types(block_list *list) {
  for (int i = 0; i < list->count; i++) NEXT(Type_free)(&list->types[i]);
  list->count = 0;
}
static void free_types(running *r) {
  forget_types(&r->unpack);
  forget_types(&r->pack);
}
static void free_list(block_list *list) {
  free(list->counts);
  free(list->places);
  free(list->types);
}
/* Also called back by the MPI when it frees the request; MPICH 4.0 holds a lock then that MPI_Type_free wants. */
static void free_running(running *r) {
  free(r->sent);
  free(r->packed);
  free(r->bytes_of_send);
  free(r->bytes_of_recv);
  free_list(&r->unpack);
  free_list(&r->pack);
  free(r);
}

static bool remember(const progress_side *side, int first, int blocks, block_list *list) {
  const size_t room = (size_t)blocks + 1;
  list->counts = malloc(room * sizeof *list->counts);
  list->places = malloc(room * sizeof *list->places);
  list->types = malloc(room * sizeof *list->types);
  if (!list->counts || !list->places || !list->types) return false;
  list->base = side->buffer;
  for (int i = 0; i < blocks; i++) {
    list->counts[i] = count_of(side, first + i);
    list->places[i] = place_of(side, first + i);
    if (NEXT(Type_dup)(type_of(side, first + i), &list->types[i]) != MPI_SUCCESS) return false;
    list->count = i + 1;
  }
  return true;
}
static void pack_list(const block_list *list, unsigned char *packed, bool out) {
  for (int i = 0; i < list->count; i++) {
    pack(list->base + list->places[i], list->counts[i], list->types[i], packed, out);
    packed += (uint64_t)list->counts[i] * (uint64_t)size_of(list->types[i]);
  }
}

/* What must be unpacked when all is there. */
static bool unpack_later(running *r, const progress_side *side, int blocks, uint64_t total) {
  r->packed = malloc(total ? total : 1);
  return r->packed && remember(side, 0, blocks, &r->unpack);
}
/* Packed now, and of a persistent one at every start. */
static bool pack_first(running *r, const progress_side *side, int first, int blocks) {
  r->sent = pack_side(side, first, blocks);
  r->pack_to = r->sent;
  return r->sent && (!r->persistent || remember(side, first, blocks, &r->pack));
}

enum { ALL = -1, SOURCES = -2, TARGETS = -3 };
typedef struct kind_of { /* blocks of each side: at the root, elsewhere; ALL: one per process */
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
    [PROGRESS_REDUCE_SCATTER] = {NBC_COLL_REDUCE_SCATTER, ALL, ALL, ALL, ALL, true},
    [PROGRESS_GATHER] = {NBC_COLL_GATHER, 1, 1, ALL, 0, false},
    [PROGRESS_GATHERV] = {NBC_COLL_GATHERV, 1, 1, ALL, 0, true},
    [PROGRESS_SCATTER] = {NBC_COLL_SCATTER, ALL, 0, 1, 1, false},
    [PROGRESS_SCATTERV] = {NBC_COLL_SCATTERV, ALL, 0, 1, 1, true},
    [PROGRESS_ALLGATHER] = {NBC_COLL_ALLGATHER, 1, 1, ALL, ALL, false},
    [PROGRESS_ALLGATHERV] = {NBC_COLL_ALLGATHERV, 1, 1, ALL, ALL, true},
    [PROGRESS_ALLTOALL] = {NBC_COLL_ALLTOALL, ALL, ALL, ALL, ALL, false},
    [PROGRESS_ALLTOALLV] = {NBC_COLL_ALLTOALLV, ALL, ALL, ALL, ALL, true},
    [PROGRESS_ALLTOALLW] = {NBC_COLL_ALLTOALLV, ALL, ALL, ALL, ALL, true},
    [PROGRESS_SCAN] = {NBC_COLL_SCAN, 1, 1, 1, 1, false},
    [PROGRESS_EXSCAN] = {NBC_COLL_EXSCAN, 1, 1, 1, 1, false},
    [PROGRESS_NEIGHBOR_ALLGATHER] = {NBC_COLL_NEIGHBOR_ALLGATHER, 1, 1, SOURCES, SOURCES, true},
    [PROGRESS_NEIGHBOR_ALLTOALL] = {NBC_COLL_NEIGHBOR_ALLTOALL, TARGETS, TARGETS, SOURCES, SOURCES,
                                    true},
};

static bool reduces(enum progress_kind kind) {
  return (kind >= PROGRESS_REDUCE && kind <= PROGRESS_REDUCE_SCATTER) || kind == PROGRESS_SCAN ||
         kind == PROGRESS_EXSCAN;
}
static bool among_neighbors(enum progress_kind kind) { return kind >= PROGRESS_NEIGHBOR_ALLGATHER; }

/* How many blocks a side has here. */
static int blocks_of(const shadow *s, int blocks) {
  return blocks == ALL       ? s->t.size
         : blocks == SOURCES ? s->neighbors.source_count
         : blocks == TARGETS ? s->neighbors.target_count
                             : blocks;
}
static int send_blocks(const shadow *s, const progress_call *call) {
  return blocks_of(s, call->root == s->t.rank ? kinds[call->kind].send_root
                                              : kinds[call->kind].send_other);
}
static int recv_blocks(const shadow *s, const progress_call *call) {
  return blocks_of(s, call->root == s->t.rank ? kinds[call->kind].recv_root
                                              : kinds[call->kind].recv_other);
}

/* Is it ours? `bytes`: of a vector or block, as all processes know it; UINT64_MAX: they do not. */
static bool is_chosen(const shadow *s, nbc_coll kind, uint64_t bytes) {
  if (!coll.by_file) return true;
  for (size_t i = 0; i < coll.choice.rule_count; i++) {
    const nbc_choice_rule *const rule = &coll.choice.rules[i];
    if (rule->coll == kind && (!rule->max_size || s->t.size <= rule->max_size) &&
        (!rule->max_bytes || bytes <= rule->max_bytes))
      return true;
  }
  return false;
}
static uint64_t common_bytes(const shadow *s, const progress_call *call) {
  const progress_side *const whole =
      call->kind == PROGRESS_SCATTER && call->recv.buffer == MPI_IN_PLACE ? &call->send
                                                                          : &call->recv;
  uint64_t sum = 0;
  switch (call->kind) {
  case PROGRESS_BARRIER: return 0;
  case PROGRESS_GATHER:
    return (uint64_t)bytes_of(call->send.buffer == MPI_IN_PLACE ? &call->recv : &call->send, 0);
  case PROGRESS_ALLGATHERV:
  case PROGRESS_REDUCE_SCATTER:
    for (int i = 0; i < s->t.size; i++) sum += (uint64_t)bytes_of(&call->recv, i);
    return sum / (uint64_t)s->t.size;
  case PROGRESS_GATHERV:
  case PROGRESS_SCATTERV:
  case PROGRESS_ALLTOALLV:
  case PROGRESS_ALLTOALLW:
  case PROGRESS_NEIGHBOR_ALLGATHER:
  case PROGRESS_NEIGHBOR_ALLTOALL: return UINT64_MAX;
  default: return (uint64_t)bytes_of(whole, 0);
  }
}

/* One buffer given twice to these is forbidden; Open MPI takes it as in place. */
static bool is_in_place(const progress_call *call) {
  if (call->send.buffer == MPI_IN_PLACE) return true;
#ifdef OPEN_MPI
  return call->send.buffer == call->recv.buffer && call->kind != PROGRESS_REDUCE &&
         call->kind != PROGRESS_ALLREDUCE;
#else
  return false;
#endif
}

/* One place to read and to write is forbidden. MPICH refuses it where it is sure, before anything is sent; so do we. */
static bool overlaps(const shadow *s, const progress_call *call) {
#ifdef OPEN_MPI
  (void)s, (void)call;
  return false;
#else
  const progress_side *const send = &call->send, *const recv = &call->recv;
  const kind_of *const kind = &kinds[call->kind];
  const bool at_root = call->root == s->t.rank;
  const int rank = s->t.rank;
  const unsigned char *from = send->buffer, *to = recv->buffer;
  if (send->buffer == MPI_IN_PLACE || recv->buffer == MPI_IN_PLACE || !from || !to) return false;
  const int sends = at_root ? kind->send_root : kind->send_other;
  const int recvs = at_root ? kind->recv_root : kind->recv_other;
  if (reduces(call->kind)) {
    const bool v = call->kind == PROGRESS_REDUCE_SCATTER;
    return from == to && recvs && bytes_of(recv, v ? rank : 0) > 0;
  }
  if (among_neighbors(call->kind) || !sends || !recvs) return false;
  if (sends == ALL && recvs == ALL)
    return from == to && send->counts == recv->counts && send->displs == recv->displs &&
           type_of(send, rank) == type_of(recv, rank) && bytes_of(recv, rank) > 0;
  if (sends == ALL) from += place_of(send, rank); /* its own block */
  if (recvs == ALL) to += place_of(recv, rank);
  return from == to && bytes_of(send, sends == ALL ? rank : 0) > 0 &&
         bytes_of(recv, recvs == ALL ? rank : 0) > 0;
#endif
}

/* Reductions work on the program's own memory. False: the MPI shall do it, or *status says why not. */
static bool describe_reduction(const shadow *s, const progress_call *call, running *r,
                               nbc_coll_args *args, nbc_status *status) {
  const bool v = call->kind == PROGRESS_REDUCE_SCATTER;
  if (!find_operator(s, call->op, call->recv.type, r, args, status)) return false;
  args->send = is_in_place(call) ? NBC_IN_PLACE : call->send.buffer;
  args->recv = call->recv.buffer;
  args->count = (uint64_t)call->recv.count;
  if (!v) return true;
  r->bytes_of_recv = calloc((size_t)s->t.size, sizeof *r->bytes_of_recv);
  if (!r->bytes_of_recv) return *status = NBC_E_NOMEM, false;
  for (int i = 0; i < s->t.size; i++) r->bytes_of_recv[i] = (uint64_t)count_of(&call->recv, i);
  args->recv_counts = r->bytes_of_recv;
  return true;
}

/* One length for all blocks, and this process gives two: forbidden, and neither buffer may be taken for as long as the
   other says. The others get what is sent, and judge it by what they expect; what comes is thrown away, for the end is an
   error. */
static bool keep_apart(running *r, const layout *out, int recvs, nbc_coll_args *args) {
  const uint64_t total = out->bytes[0] * (uint64_t)recvs;
  r->packed = malloc(total ? total : 1);
  r->sides_differ = true;
  args->recv = r->packed;
  args->count = out->bytes[0];
  return r->packed != NULL;
}

/* Moves: everything as bytes; what is not raw goes through memory of ours. False: no memory. */
static bool describe_move(const shadow *s, const progress_call *call, running *r,
                          nbc_coll_args *args) {
  const kind_of *const kind = &kinds[call->kind];
  const bool at_root = call->root == s->t.rank, send_in_place = call->send.buffer == MPI_IN_PLACE;
  const bool recv_in_place = call->recv.buffer == MPI_IN_PLACE, to_all = kind->recv_other < 0;
  const bool many_sends = (at_root ? kind->send_root : kind->send_other) < 0;
  const bool many_recvs = (at_root ? kind->recv_root : kind->recv_other) < 0;
  const int sends = send_blocks(s, call), recvs = recv_blocks(s, call);
  layout out = {NULL, NULL, 0, 0, true}, in = out;
  args->type = NBC_TYPE_BYTE;
  args->neighbors = among_neighbors(call->kind) ? &s->neighbors : NULL;
  if (!recv_in_place && !lay_out(&call->recv, recvs, side_is_raw(&call->recv, recvs), &in))
    return false;
  if (many_recvs && in.bytes && blocks_meet(&in, recvs)) {
    free(in.bytes);
    if (!lay_out(&call->recv, recvs, false, &in)) return false;
  }
  if (!send_in_place && !lay_out(&call->send, sends, side_is_raw(&call->send, sends), &out))
    return free(in.bytes), false;
  if (!send_in_place && !recv_in_place &&
      interlaced(&call->send, &out, sends, &call->recv, &in, recvs)) {
    free(out.bytes);
    if (!lay_out(&call->send, sends, false, &out)) return free(in.bytes), false;
  }
  r->bytes_of_recv = in.bytes;
  r->bytes_of_send = out.bytes;
  args->send = send_in_place ? NBC_IN_PLACE : (unsigned char *)call->send.buffer + out.first;
  args->recv = recv_in_place ? NBC_IN_PLACE : (unsigned char *)call->recv.buffer + in.first;
  if (!out.raw && !pack_first(r, &call->send, 0, sends)) return false;
  if (send_in_place && !in.raw) { /* its own data lie in the receive buffer, which is not raw */
    const bool exchange = call->kind >= PROGRESS_ALLTOALL && call->kind <= PROGRESS_ALLTOALLW;
    if (!(exchange ? pack_first(r, &call->recv, 0, recvs)
                   : pack_first(r, &call->recv, s->t.rank, 1)))
      return false;
    out = in;
    out.total = exchange ? in.total : in.bytes[s->t.rank];
  }
  if (r->sent) args->send = r->sent;
  if (!kind->lengths && sends && recvs && !send_in_place && !recv_in_place &&
      in.bytes[0] != out.bytes[0])
    return keep_apart(r, &out, recvs, args);
  if (!in.raw) {
    if (!unpack_later(r, &call->recv, recvs, in.total)) return false;
    args->recv = r->packed;
    if (call->kind == PROGRESS_BCAST && at_root) { /* what it sends; nothing comes */
      pack(call->recv.buffer, count_of(&call->recv, 0), call->recv.type, r->packed, false);
      r->pack = r->unpack;
      r->pack_to = r->packed;
      memset(&r->unpack, 0, sizeof r->unpack);
    }
  }
  if (!kind->lengths) { /* one length for all blocks */
    args->count = recvs && !recv_in_place ? in.bytes[0] : sends && out.bytes ? out.bytes[0] : 0;
    return true;
  }
  args->count = !to_all && recvs == 1 && !recv_in_place  ? in.bytes[0]
                : !many_sends && sends == 1 && out.bytes ? out.total
                                                         : 0;
  if (many_recvs) args->recv_counts = in.bytes, args->recv_displs = in.at;
  if (many_sends && out.bytes) args->send_counts = out.bytes, args->send_displs = out.at;
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
  running *const r = (running *)state;
  if (!r->persistent)
    free_running(r);
  else if (r->dying)
    __atomic_store_n(&r->gone, true, __ATOMIC_RELEASE);
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
  if (call->root < 0 || call->root >= s->t.size) return false;
  if (call->recv.buffer == MPI_IN_PLACE && (reduces(call->kind) || call->kind == PROGRESS_BCAST))
    return false;
  if (call->kind == PROGRESS_REDUCE_SCATTER && !call->recv.counts) return false;
  if (call->kind == PROGRESS_REDUCE && call->send.buffer == MPI_IN_PLACE && call->root != s->t.rank)
    return false;
  if (reduces(call->kind))
    return side_is_good(&call->recv, call->kind == PROGRESS_REDUCE_SCATTER ? s->t.size : 1);
  return (call->recv.buffer == MPI_IN_PLACE || side_is_good(&call->recv, recv_blocks(s, call))) &&
         (call->send.buffer == MPI_IN_PLACE || side_is_good(&call->send, send_blocks(s, call)));
}

static int error_class_of(nbc_status status) {
  return status == NBC_OK                                        ? MPI_SUCCESS
         : status == NBC_E_TRUNCATED || status == NBC_E_MISMATCH ? MPI_ERR_TRUNCATE
         : status == NBC_E_NOMEM                                 ? MPI_ERR_NO_MEM
         : status == NBC_E_INVAL                                 ? MPI_ERR_BUFFER
                                                                 : MPI_ERR_OTHER;
}

/* It will never run, or never again. Under the lock. */
static void abandon(running *r) {
  MPI_Op op = r->by.op;
  if (unuse_op(&r->by)) NEXT(Op_free)(&op);
  free_types(r);
  free_running(r);
}

/* The description of a call that is ours, under the lock. NULL: the MPI shall do it, or *status is an error. */
static running *describe(const progress_call *given, bool persistent, nbc_coll_args *args,
                         nbc_status *status) {
  progress_call call = *given;
  *status = NBC_OK;
  memset(args, 0, sizeof *args);
  shadow *const s = find_shadow(call.comm);
  if (!s || (among_neighbors(call.kind) && !s->has_neighbors)) return NULL;
  if (among_neighbors(call.kind)) call.recv.peers = s->neighbors.sources;
  if (call.kind == PROGRESS_NEIGHBOR_ALLTOALL) call.send.peers = s->neighbors.targets;
  if (!arguments_are_good(s, &call) || !is_chosen(s, kinds[call.kind].ours, common_bytes(s, &call)))
    return NULL;
  if (overlaps(s, &call)) return *status = NBC_E_INVAL, (running *)NULL;
  running *const r = calloc(1, sizeof *r);
  if (!r) return *status = NBC_E_NOMEM, (running *)NULL;
  r->on = s;
  r->persistent = persistent;
  args->coll = kinds[call.kind].ours;
  args->root = call.root;
  if (reduces(call.kind)) {
    if (describe_reduction(s, &call, r, args, status)) return r;
    abandon(r);
    return NULL;
  }
  if (call.kind == PROGRESS_BARRIER || describe_move(s, &call, r, args)) return r;
  abandon(r);
  return *status = NBC_E_NOMEM, (running *)NULL;
}

/* From here on the worker and those who wait look after it. Under the lock. */
static void enlist(running *r) {
  r->under_way = true;
  r->on->active_count++;
  coll.started_count++;
  r->next = coll.first;
  coll.first = r;
  __atomic_add_fetch(&coll.active_count, 1, __ATOMIC_RELEASE);
}
static int launch(running *r, MPI_Request *handle) {
  const int rc = NEXT(Grequest_start)(query, release, refuse_cancel, r, &r->handle);
  *handle = r->handle;
  enlist(r);
  return rc;
}
/* NULL: the MPI shall do it, or *status is an error. Under the lock. */
static running *begin(const progress_call *call, nbc_status *status) {
  nbc_coll_args args;
  running *const r = describe(call, false, &args, status);
  if (!r || !(*status = nbc_coll_start_new(r->on->comm, &args, &r->request))) return r;
  abandon(r);
  return NULL;
}

bool progress_coll_start(const progress_call *call, MPI_Request *request, int *rc) {
  nbc_status status;
  if (!coll.on || !request) return false;
  coll_lock();
  running *const r = begin(call, &status);
  if (r) *rc = launch(r, request);
  coll_unlock();
  if (!status) return r != NULL;
  *rc = fail(call, error_class_of(status));
  return true;
}

bool progress_coll_run(const progress_call *call, int *rc) {
  nbc_status status;
  if (!coll.on || !coll.blocking) return false;
  coll_lock();
  running *const r = begin(call, &status);
  if (r) r->waited = true, enlist(r);
  coll_unlock();
  if (!r && !status) return false;
  int error_class = error_class_of(status);
  for (int tries = 0; r && !__atomic_load_n(&r->over, __ATOMIC_ACQUIRE); progress_coll_poll())
    if (++tries > 100) sched_yield(); /* more processes than cores: the others must work */
  if (r) error_class = r->error_class, free_running(r);
  *rc = error_class ? fail(call, error_class) : MPI_SUCCESS;
  return true;
}

/* ---- persistent ones ------------------------------------------------------------------------------------ */
struct running *progress_coll_init(const progress_call *call, MPI_Request *request, int *rc,
                                   bool *ours) {
  nbc_coll_args args;
  nbc_status status;
  *ours = false;
  if (!coll.on || !request) return NULL;
  coll_lock();
  running *const r = describe(call, true, &args, &status);
  if (r && (status = nbc_coll_init(r->on->comm, &args, &r->request))) {
    abandon(r);
  } else if (r) {
    r->on->persistent_count++;
  }
  coll_unlock();
  *ours = r || status;
  if (status) return *rc = fail(call, error_class_of(status)), (struct running *)NULL;
  /* The program's handle, never started. Not from MPI_PROC_NULL: with MPICH 4.0 a persistent collective of its own that
     uses the memory of such a request again never ends (docs/mpi_errors.md). */
  if (r) *rc = NEXT(Recv_init)(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_SELF, request);
  return r;
}

int progress_coll_restart(struct running *r, MPI_Request *current) {
  int rc = MPI_ERR_REQUEST;
  coll_lock();
  if (!r->under_way) {
    if (r->pack_to) pack_list(&r->pack, r->pack_to, false);
    rc = nbc_coll_start(r->request) ? MPI_ERR_OTHER : launch(r, current);
  }
  coll_unlock();
  if (rc) NEXT(Comm_call_errhandler)(MPI_COMM_WORLD, rc);
  return rc;
}

static void end_persistent(running *r) { /* under the lock */
  shadow *const s = r->on;
  nbc_coll_free(r->request);
  abandon(r);
  if (--s->persistent_count == 0 && !s->active_count && s->dying) free_shadow(s);
}
static void end_buried(bool all) { /* under the lock */
  for (running **link = &coll.buried; *link;) {
    running *const r = *link;
    if (!all && !__atomic_load_n(&r->gone, __ATOMIC_ACQUIRE)) {
      link = &r->next_buried;
      continue;
    }
    *link = r->next_buried;
    end_persistent(r);
  }
}

void progress_coll_release(struct running *r, bool active, MPI_Request *current) {
  coll_lock();
  end_buried(false);
  *current = r->handle;
  if (active) {
    r->dying = true;
    r->next_buried = coll.buried;
    coll.buried = r;
  } else {
    end_persistent(r);
  }
  coll_unlock();
}

bool progress_coll_blocking(void) { return coll.blocking; }
uint64_t progress_coll_count(void) { return coll.started_count; }
int progress_coll_active(void) { return __atomic_load_n(&coll.active_count, __ATOMIC_ACQUIRE); }

/* All its data is in place. From MPI_Grequest_complete, or from `over`, on r may be gone, or started again. */
static void complete(running *r) {
  const MPI_Request handle = r->handle;
  MPI_Op op = r->by.op;
  coll_lock();
  const bool frees_op = !r->persistent && unuse_op(&r->by);
  shadow *const s = r->on;
  r->under_way = false;
  s->active_count--;
  if (!r->persistent && !s->active_count && !s->persistent_count && s->dying) free_shadow(s);
  coll_unlock();
  if (frees_op) NEXT(Op_free)(&op);
  if (!r->persistent) free_types(r);
  if (r->waited)
    __atomic_store_n(&r->over, 1, __ATOMIC_RELEASE);
  else
    NEXT(Grequest_complete)(handle);
  /* Only now: who finds none under way calls the MPI's own wait, and MPICH's MPI_Waitall ends the program when it
     meets a generalized request that is not complete beside MPI_REQUEST_NULL. */
  __atomic_sub_fetch(&coll.active_count, 1, __ATOMIC_RELEASE);
}

/* What the error class of a request cannot say. */
static void say_why(const running *r) {
  const nbc_error *const err = nbc_comm_error(r->on->comm);
  const char *const mpi = nbc_mpi_error(coll.world);
  progress_say("a collective failed: %s%s%s",
               err->text[0] ? err->text : nbc_status_text(err->status), *mpi ? ": " : "", mpi);
}

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
    if (r->error_class) say_why(r);
    if (r->sides_differ) r->error_class = MPI_ERR_TRUNCATE;
    *link = r->next;
    r->next = done;
    done = r;
  }
  coll.polling = false;
  coll_unlock();
  while (done) {
    running *const r = done;
    done = r->next;
    if (!r->error_class) pack_list(&r->unpack, r->packed, true);
    complete(r);
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
  static const char *const mpi_ours[] = {"mpi", "ours"};
  const char *const value = progress_setting("NBC_COLLECTIVES");
  const bool blocking = progress_choice("NBC_BLOCKING", mpi_ours, 2, 0) == 1;
  nbc_error err = {NBC_OK, 0, ""};
  int rank = 0, good, all = 0;
  if (!value || strcmp(value, "mpi") == 0) return false;
  NEXT(Comm_rank)(MPI_COMM_WORLD, &rank);
  coll.by_file = strcmp(value, "ours") != 0;
  if (coll.by_file && nbc_choice_read(value, &coll.choice, &err)) {
    progress_say("NBC_COLLECTIVES=%.100s: neither mpi nor ours nor a table: %s", value, err.text);
    able = false;
  }
  good = !able || !packs_raw() ? 0 : blocking ? 2 : 1;
  NEXT(Allreduce)(&good, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (!all) {
    if (rank == 0)
      progress_say("nonblocking collectives stay the MPI's: ours need a worker in every process "
                   "and MPI_THREAD_MULTIPLE");
    return false;
  }
  nbc_mpi_desc desc = {MPI_THREAD_MULTIPLE, 0, false};
  if (nbc_mpi_create(MPI_COMM_WORLD, &desc, &coll.world, &err)) {
    progress_say("rank %d: %s", rank, err.text);
    NEXT(Abort)(MPI_COMM_WORLD, 1);
  }
  NEXT(Comm_group)(MPI_COMM_WORLD, &coll.world_group);
  memset(coll.free_ids, 0xff, sizeof coll.free_ids);
  if (!known_type_count) know_types();
  coll.blocking = all == 2;
  coll.on = true;
  progress_coll_made(MPI_COMM_WORLD, true);
  return true;
}

void progress_coll_end(void) {
  if (!coll.on) return;
  coll.on = false;
  end_buried(true);
  while (coll.shadows) free_shadow(coll.shadows);
  nbc_mpi_destroy(coll.world);
  NEXT(Group_free)(&coll.world_group);
  for (int i = 0; i < coll.op_count; i++)
    if (coll.ops[i].freed) NEXT(Op_free)(&coll.ops[i].op);
  free(coll.ops);
  coll.ops = NULL;
  coll.op_count = coll.op_limit = 0;
}
