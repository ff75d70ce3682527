/* MPI functions: collectives of all kinds, and operators. Each is described by a job, which becomes a schedule
   over plain bytes: data that lies apart is packed before and unpacked after. The file includes itself:
   once with int counts, once with MPI_Count. */
#ifndef GM_PASS
#  include "abi.h"

/* ---- operators ------------------------------------------------------------------------------------------------ */
static gm_op known_op[GM_OP_USER];
gm_op *op_of(gm_proc *p, MPI_Op h) {
  const unsigned id = (unsigned)h - 0x58000000u;
  if (id >= 1 && id < GM_OP_USER) {
    known_op[id].id = (int)id;
    known_op[id].is_commutative = id != GM_REPLACE && id != GM_NO_OP;
    known_op[id].handle = h;
    return &known_op[id];
  }
  return gm_find(p, GM_T_OP, h);
}
_Static_assert(MPI_MAX == 0x58000000 + (int)GM_MAX && MPI_NO_OP == 0x58000000 + (int)GM_NO_OP &&
                   MPI_MINLOC == 0x58000000 + (int)GM_MINLOC,
               "operators");
static void call_small(gm_op *op, void *in, void *inout, uint64_t count, gm_type *t) {
  MPI_User_function *fn;
  MPI_Datatype type = t->handle;
  *(void **)(void *)&fn = op->fn;
  while (count) {
    int n = count > INT32_MAX ? INT32_MAX : (int)count;
    const uint64_t taken = (uint64_t)n;
    fn(in, inout, &n, &type);
    in = (char *)in + taken * (uint64_t)GM_EXTENT(t);
    inout = (char *)inout + taken * (uint64_t)GM_EXTENT(t);
    count -= taken;
  }
}
static void call_large(gm_op *op, void *in, void *inout, uint64_t count, gm_type *t) {
  MPI_User_function_c *fn;
  MPI_Datatype type = t->handle;
  MPI_Count n = (MPI_Count)count;
  *(void **)(void *)&fn = op->fn;
  fn(in, inout, &n, &type);
}
/* What Debian's library of C++ says of an operator: it is called through a function of that library. */
static void call_cxx(gm_op *op, void *in, void *inout, uint64_t count, gm_type *t) {
  void (*through)(const void *, void *, int, MPI_Datatype, void *);
  *(void **)(void *)&through = op->through;
  through(in, inout, (int)count, t->handle, op->fn);
}
__attribute__((visibility("default"))) void MPII_Op_set_cxx(MPI_Op op, void (*through)(void));
void MPII_Op_set_cxx(MPI_Op op, void (*through)(void)) {
  gm_op *o = gm_find(gm_self(), GM_T_OP, op);
  if (!o) return;
  memcpy(&o->through, &through, sizeof through);
  o->call = call_cxx;
}
static int op_create(gm_proc *p, void *fn, int commute, bool is_large, MPI_Op *op) {
  gm_op *o = gm_alloc(sizeof *o);
  o->refs = 1;
  o->id = GM_OP_USER;
  o->is_commutative = commute != 0;
  o->fn = fn;
  o->call = is_large ? call_large : call_small;
  *op = o->handle = GM_HANDLE(GM_T_OP, gm_put(&p->table[GM_T_OP], o));
  return MPI_SUCCESS;
}
CALL(Op_create, MPI_User_function *fn, int commute, MPI_Op *op) {
  IN_ALWAYS("Op_create");
  NEED(NULL, fn && op);
  return op_create(p, *(void **)(void *)&fn, commute, 0, op);
}
CALL(Op_create_c, MPI_User_function_c *fn, int commute, MPI_Op *op) {
  IN_ALWAYS("Op_create");
  NEED(NULL, fn && op);
  return op_create(p, *(void **)(void *)&fn, commute, 1, op);
}
static void op_unref(gm_op *o) {
  if (o && o->id == GM_OP_USER && --o->refs == 0) free(o);
}
CALL(Op_free, MPI_Op *op) {
  IN_ALWAYS("Op_free");
  NEED(NULL, op);
  gm_op *o = op_of(p, *op);
  FAIL_IF(!o || o->id != GM_OP_USER, NULL, MPI_ERR_OP);
  gm_drop(&p->table[GM_T_OP], GM_INDEX(*op));
  op_unref(o);
  *op = MPI_OP_NULL;
  return MPI_SUCCESS;
}
CALL(Op_commutative, MPI_Op op, int *commute) {
  IN_ALWAYS("Op_commutative");
  NEED(NULL, commute);
  FAIL_IF(!op_of(p, op), NULL, MPI_ERR_OP);
  *commute = op_of(p, op)->is_commutative;
  return MPI_SUCCESS;
}

/* ---- jobs -------------------------------------------------------------------------------------------------------- */
typedef struct side { /* one of the two buffers */
  void *user;
  bool is_there, is_copied; /* is_copied: first, since the receive buffer is the same */
  bool is_vector;
  int blocks;
  int64_t count;            /* elements of a block, when all are equal */
  gm_type *type, **types;   /* types: one per block */
  int64_t *counts, *displs; /* in elements; with types, displs in bytes */
  char *base, *temp;        /* what the schedule sees */
  uint64_t *bytes, *at;     /* of each block there */
} side;
static bool is_plain(const side *s) { return s->is_there && !s->is_copied; }
typedef struct call { /* the arguments as they came */
  const char *name;
  MPI_Comm comm;
  nbc_coll coll;
  bool is_neighbour, is_vector;
  int wide_counts, wide_displs, root;
  const void *send;
  void *recv;
  int64_t scount, rcount;
  MPI_Datatype stype, rtype;
  const void *scounts, *sdispls, *rcounts, *rdispls;
  const MPI_Datatype *stypes, *rtypes;
  MPI_Op op;
} call;
typedef struct job {
  gm_proc *proc;
  gm_comm *comm;
  nbc_coll coll;
  bool is_neighbour, is_in_place, is_reduction;
  int root, elem_is_extent, error;
  side s, r;
  gm_op *op;
  gm_type *told; /* derived, for a function of the program; under which handle */
  MPI_Datatype told_handle;
  uint32_t sequence;      /* of a persistent one: the order of the calls that make them; else 0 */
  nbc_schedule *schedule; /* written here: intercommunicators, neighbours */
} job;
static int64_t wide(const void *array, bool is_wide, int i) {
  return is_wide ? ((const int64_t *)array)[i] : ((const int *)array)[i];
}
static int64_t *widen(const void *array, bool is_wide, int n) {
  if (!array) return NULL;
  int64_t *copy = gm_alloc((size_t)(n + 1) * sizeof *copy);
  for (int i = 0; i < n; i++) copy[i] = wide(array, is_wide, i);
  return copy;
}
static void side_free(side *s) {
  if (s->type) gm_type_unref(s->type);
  for (int i = 0; s->types && i < s->blocks && s->types[i]; i++) gm_type_unref(s->types[i]);
  free(s->counts);
  free(s->displs);
  free(s->types);
  free(s->temp);
  free(s->bytes);
  free(s->at);
  memset(s, 0, sizeof *s);
}
static void side_done(side *s) { /* of one run */
  free(s->temp);
  free(s->bytes);
  free(s->at);
  s->temp = NULL;
  s->bytes = s->at = NULL;
}
static gm_type *block_type(const side *s, int i) { return s->types ? s->types[i] : s->type; }
static char *block_user(const side *s, int i) {
  if (s->types) return (char *)s->user + s->displs[i];
  return (char *)s->user + (s->displs ? s->displs[i] : (int64_t)i * s->count) * GM_EXTENT(s->type);
}
static int64_t block_count(const side *s, int i) { return s->is_vector ? s->counts[i] : s->count; }
static bool is_direct(const side *s) {
  if (!s->is_vector) return GM_IS_PLAIN(s->type);
  for (int i = 0; i < s->blocks; i++) {
    const gm_type *t = block_type(s, i);
    if (!s->counts[i]) continue;
    if (!GM_IS_PLAIN(t) || block_user(s, i) + t->true_lb < (char *)s->user) return 0;
  }
  return 1;
}
/* Blocks that lie over each other are an error of the program, which MPI libraries do not notice; a schedule
   would wait for one before the other. They are received apart and laid down in their order. */
typedef struct span {
  char *begin, *end;
} span;
static int by_begin(const void *a, const void *b) {
  const span *x = a, *y = b;
  return x->begin < y->begin ? -1 : x->begin > y->begin;
}
static int blocks_overlap(const side *s) {
  char *end = NULL;
  int found = 0;
  bool is_sorted = true;
  for (int i = 0; i < s->blocks && is_sorted; i++) {
    if (!s->counts[i]) continue;
    is_sorted = block_user(s, i) >= end;
    end = block_user(s, i) + s->counts[i] * (int64_t)block_type(s, i)->size;
  }
  if (is_sorted) return 0;
  span *all = gm_alloc((size_t)s->blocks * sizeof *all);
  int n = 0;
  for (int i = 0; i < s->blocks; i++)
    if (s->counts[i]) {
      all[n].begin = block_user(s, i);
      all[n].end = all[n].begin + s->counts[i] * (int64_t)block_type(s, i)->size;
      n++;
    }
  qsort(all, (size_t)n, sizeof *all, by_begin);
  for (int i = 1; i < n && !found; i++) found = all[i].begin < all[i - 1].end;
  free(all);
  return found;
}
static void pack_side(side *s) {
  for (int i = 0; i < s->blocks; i++)
    gm_pack(block_user(s, i), (uint64_t)block_count(s, i), block_type(s, i),
            s->temp + (s->is_vector ? s->at[i] : (uint64_t)i * (uint64_t)s->count * s->type->size));
}
static void unpack_side(side *s) {
  for (int i = 0; i < s->blocks; i++) {
    const gm_type *t = block_type(s, i);
    const uint64_t bytes = (uint64_t)block_count(s, i) * t->size;
    gm_unpack(block_user(s, i), (uint64_t)block_count(s, i), t,
              s->temp + (s->is_vector ? s->at[i] : (uint64_t)i * (uint64_t)s->count * t->size),
              bytes);
  }
}
/* Where the schedule finds the bytes of this side. */
static void side_begin(side *s, int fill, bool is_written) {
  uint64_t total = 0;
  const bool direct =
      is_plain(s) && is_direct(s) && !(is_written && s->is_vector && blocks_overlap(s));
  if (!s->is_there) return;
  if (s->is_vector) {
    s->bytes = gm_alloc((size_t)(s->blocks + 1) * sizeof *s->bytes);
    s->at = gm_alloc((size_t)(s->blocks + 1) * sizeof *s->at);
    for (int i = 0; i < s->blocks; i++) {
      const gm_type *t = block_type(s, i);
      s->bytes[i] = (uint64_t)s->counts[i] * t->size;
      s->at[i] =
          direct ? (s->bytes[i] ? (uint64_t)(block_user(s, i) + t->true_lb - (char *)s->user) : 0)
                 : total;
      total += s->bytes[i];
    }
  } else
    total = (uint64_t)s->count * (uint64_t)s->blocks * s->type->size;
  if (direct) {
    s->base = (char *)s->user + (s->is_vector ? 0 : s->type->true_lb);
    return;
  }
  s->base = s->temp = malloc(total ? total : 1);
  if (!s->temp) gm_fatal("out of memory: %llu bytes for a collective", (unsigned long long)total);
  if (!fill) return;
  pack_side(s);
  gm_busy_bytes((double)total);
}
/* Reductions on types with gaps: whole extents, copied there and back. */
static void reduction_begin(job *j) {
  side *sides[2] = {&j->s, &j->r};
  for (int k = 0; k < 2; k++) {
    side *s = sides[k];
    const gm_type *t = s->type;
    if (!s->is_there) continue;
    j->elem_is_extent = !GM_IS_PLAIN(t) || t->lb != t->true_lb;
    if (!j->elem_is_extent && is_plain(s)) {
      s->base = (char *)s->user + t->lb;
      continue;
    }
    const uint64_t n = (uint64_t)s->count * (uint64_t)s->blocks, bytes = n * (uint64_t)GM_EXTENT(t);
    s->base = s->temp = gm_alloc(bytes);
    if (k == 0 || j->is_in_place) gm_copy(s->user, n, t, s->temp - t->lb, n, t);
    gm_busy_bytes((double)bytes);
  }
}
static void job_end(job *j) {
  side *r = &j->r;
  if (r->is_there && r->temp) {
    if (j->is_reduction) {
      const uint64_t n = (uint64_t)r->count * (uint64_t)r->blocks;
      gm_copy(r->temp - r->type->lb, n, r->type, r->user, n, r->type);
      gm_busy_bytes((double)n * (double)GM_EXTENT(r->type));
    } else {
      unpack_side(r);
      gm_busy_bytes((double)r->count);
    }
  }
  side_done(&j->s);
  side_done(&j->r);
}
static void job_free(job *j) {
  op_unref(j->op);
  if (j->told && --j->told->users == 0 && j->told->is_freed)
    gm_type_end(j->proc, j->told_handle, j->told);
  side_free(&j->s);
  side_free(&j->r);
}

/* ---- schedules of intercommunicators and neighbourhoods ------------------------------------------------------------ */
static uint64_t at_of(const side *s, int i) {
  return s->is_vector ? s->at[i] : (uint64_t)i * (uint64_t)s->count * s->type->size;
}
static uint64_t bytes_of(const side *s, int i) {
  return s->is_vector ? s->bytes[i] : (uint64_t)s->count * s->type->size;
}
static nbc_schedule *neighbour_schedule(job *j) {
  const gm_topo *t = j->comm->topo;
  gm_draft d;
  const int to_all = j->coll == NBC_COLL_ALLGATHER || j->coll == NBC_COLL_ALLGATHERV;
  memset(&d, 0, sizeof d);
  /* In a Cartesian topology what is sent downwards comes from above, also where both are one process. Of several
     edges between two processes of a graph the last out is the first in, as in MPICH, which has it so in alltoall alone. */
  const bool is_cart = t->kind == MPI_CART, is_turned = !is_cart && j->coll == NBC_COLL_ALLTOALL;
  for (int i = 0; i < t->in_count; i++)
    if (t->in[i] != MPI_PROC_NULL)
      gm_draft_recv(&d, t->in[i], is_cart ? (uint32_t)i : 0, NBC_AREA_RECV, at_of(&j->r, i),
                    bytes_of(&j->r, i));
  for (int k = 0; k < t->out_count; k++) {
    const int i = is_turned ? t->out_count - 1 - k : k;
    if (t->out[i] != MPI_PROC_NULL)
      gm_draft_send(&d, t->out[i], is_cart ? (uint32_t)(i ^ 1) : 0, NBC_AREA_SEND,
                    to_all ? 0 : at_of(&j->s, i), bytes_of(&j->s, to_all ? 0 : i));
  }
  return gm_draft_finish(&d, 1);
}
/* Receives from all n, reduces in their order, leaves the result in RECV; `skip` bytes before what counts. */
static void reduce_from_all(gm_draft *d, int n, uint64_t whole, uint64_t skip, uint64_t bytes) {
  uint32_t last = 0;
  for (int i = 0; i < n; i++) {
    const uint32_t got = gm_draft_recv(d, i, 0, NBC_AREA_SCRATCH, (uint64_t)i * whole, whole);
    uint32_t now = got;
    if (i) {
      now = gm_draft_reduce(d, NBC_AREA_SCRATCH, (uint64_t)i * whole + skip, NBC_AREA_SCRATCH,
                            (uint64_t)(i - 1) * whole + skip, NBC_AREA_SCRATCH,
                            (uint64_t)i * whole + skip, bytes);
      gm_draft_edge(d, got, now);
      gm_draft_edge(d, last, now);
    }
    last = now;
  }
  if (!n) return;
  const uint32_t copy =
      gm_draft_copy(d, NBC_AREA_RECV, 0, NBC_AREA_SCRATCH, (uint64_t)(n - 1) * whole + skip, bytes);
  gm_draft_edge(d, last, copy);
  d->scratch_bytes = (uint64_t)n * whole;
}
static nbc_schedule *inter_schedule(job *j, uint64_t elem) {
  const int n = j->comm->remote->size, me = j->comm->rank;
  const int takes_part = j->root != MPI_PROC_NULL;
  const bool is_root = j->root == MPI_ROOT;
  const uint64_t reduced =
      (uint64_t)(j->s.is_there ? j->s.count * j->s.blocks : j->r.count * j->r.blocks) * elem;
  gm_draft d;
  memset(&d, 0, sizeof d);
  switch (j->coll) {
  case NBC_COLL_BARRIER:
    for (int i = 0; i < n; i++)
      gm_draft_send(&d, i, 0, NBC_AREA_RECV, 0, 0), gm_draft_recv(&d, i, 0, NBC_AREA_RECV, 0, 0);
    break;
  case NBC_COLL_BCAST:
    for (int i = 0; i < n && is_root; i++)
      gm_draft_send(&d, i, 0, NBC_AREA_RECV, 0, bytes_of(&j->r, 0));
    if (takes_part && !is_root) gm_draft_recv(&d, j->root, 0, NBC_AREA_RECV, 0, bytes_of(&j->r, 0));
    break;
  case NBC_COLL_GATHER:
  case NBC_COLL_GATHERV:
    for (int i = 0; i < n && is_root; i++)
      gm_draft_recv(&d, i, 0, NBC_AREA_RECV, at_of(&j->r, i), bytes_of(&j->r, i));
    if (takes_part && !is_root) gm_draft_send(&d, j->root, 0, NBC_AREA_SEND, 0, bytes_of(&j->s, 0));
    break;
  case NBC_COLL_SCATTER:
  case NBC_COLL_SCATTERV:
    for (int i = 0; i < n && is_root; i++)
      gm_draft_send(&d, i, 0, NBC_AREA_SEND, at_of(&j->s, i), bytes_of(&j->s, i));
    if (takes_part && !is_root) gm_draft_recv(&d, j->root, 0, NBC_AREA_RECV, 0, bytes_of(&j->r, 0));
    break;
  case NBC_COLL_REDUCE:
    if (is_root) reduce_from_all(&d, n, reduced, 0, reduced);
    if (takes_part && !is_root) gm_draft_send(&d, j->root, 0, NBC_AREA_SEND, 0, reduced);
    break;
  case NBC_COLL_ALLREDUCE:
    for (int i = 0; i < n; i++) gm_draft_send(&d, i, 0, NBC_AREA_SEND, 0, reduced);
    reduce_from_all(&d, n, reduced, 0, reduced);
    break;
  case NBC_COLL_REDUCE_SCATTER:
  case NBC_COLL_REDUCE_SCATTER_BLOCK: { /* all is sent to all: who takes which part is known over there alone */
    uint64_t skip = 0;
    for (int i = 0; i < me && j->r.counts; i++) skip += (uint64_t)j->r.counts[i] * elem;
    if (!j->r.counts) skip = (uint64_t)me * (uint64_t)j->r.count * elem;
    for (int i = 0; i < n; i++) gm_draft_send(&d, i, 0, NBC_AREA_SEND, 0, reduced);
    reduce_from_all(&d, n, reduced, skip, (uint64_t)j->r.count * elem);
    break;
  }
  default: { /* allgather(v), alltoall(v) */
    const int to_all = j->coll == NBC_COLL_ALLGATHER || j->coll == NBC_COLL_ALLGATHERV;
    for (int i = 0; i < n; i++)
      gm_draft_recv(&d, i, 0, NBC_AREA_RECV, at_of(&j->r, i), bytes_of(&j->r, i));
    for (int i = 0; i < n; i++)
      gm_draft_send(&d, i, 0, NBC_AREA_SEND, to_all ? 0 : at_of(&j->s, i),
                    bytes_of(&j->s, to_all ? 0 : i));
  }
  }
  return gm_draft_finish(&d, elem);
}

/* ---- starting ------------------------------------------------------------------------------------------------------ */
/* What a process sends to itself is longer than what it has room for: it is cut, which is an error, before
   the schedule takes one length for both. What others send is cut where it arrives.
   ret  the bytes that count */
static uint64_t own_block_bytes(job *j) {
  const side *s = &j->s, *r = &j->r;
  const int me = j->comm->rank;
  const uint64_t sent = bytes_of(s, me);
  if (!is_plain(r) || !is_plain(s) || j->is_in_place) return sent;
  const uint64_t room = bytes_of(r, me);
  if (sent <= room) return sent;
  j->error = GM_ERR_TRUNCATE;
  if (s->is_vector) s->bytes[me] = room;
  return room;
}
static void job_start(job *j, gm_coll *c) {
  gm_coll_args a;
  nbc_schedule_desc *d = &a.desc;
  side *s = &j->s, *r = &j->r;
  uint64_t elem = 1;
  memset(&a, 0, sizeof a);
  if (j->is_reduction) {
    reduction_begin(j);
    const gm_type *t = s->is_there ? s->type : r->type;
    elem = !t ? 1 : j->elem_is_extent ? (uint64_t)GM_EXTENT(t) : t->size;
  } else {
    side_begin(s, 1, 0);
    side_begin(r, j->is_in_place || j->coll == NBC_COLL_BCAST, 1);
  }
  a.op = j->op;
  a.type = s->is_there ? s->type : r->type;
  a.send = s->base;
  a.recv = r->base;
  if (j->is_neighbour || j->comm->remote) {
    nbc_schedule *schedule = j->is_neighbour ? neighbour_schedule(j) : inter_schedule(j, elem);
    gm_coll_start_schedule(j->proc, j->comm, schedule, 1, a.send, a.recv, a.op, a.type, c);
    return;
  }
  d->coll = j->coll;
  d->root = j->root;
  d->in_place = j->is_in_place;
  d->elem_bytes = elem;
  d->not_commutative = j->op && !j->op->is_commutative;
  if (j->is_reduction) {
    d->count = (uint64_t)(r->is_there ? r->count : s->count);
    if (j->coll == NBC_COLL_REDUCE_SCATTER) d->recv_counts = (const uint64_t *)r->counts;
  } else if (j->coll == NBC_COLL_SCATTER || j->coll == NBC_COLL_SCATTERV ||
             j->coll == NBC_COLL_BCAST) {
    if (s->is_there) (void)own_block_bytes(j);
    d->count = r->is_there                    ? bytes_of(r, 0)
               : j->coll == NBC_COLL_SCATTERV ? s->bytes[j->root]
                                              : bytes_of(s, 0);
  } else if (s->is_there && j->coll == NBC_COLL_ALLTOALLV)
    (void)own_block_bytes(j);
  else if (s->is_there)
    d->count = own_block_bytes(j);
  else if (r->is_there && j->coll != NBC_COLL_ALLTOALLV)
    d->count = r->is_vector ? r->bytes[j->comm->rank] : bytes_of(r, 0);
  if (s->is_vector) d->send_counts = s->bytes, d->send_displs = s->at;
  if (r->is_vector && !j->is_reduction) d->recv_counts = r->bytes, d->recv_displs = r->at;
  gm_coll_start(j->proc, j->comm, &a, c);
}
static void request_done(gm_coll *c) {
  gm_req *r = c->user;
  job_end(r->extra);
  r->error = c->error ? c->error : ((const job *)r->extra)->error;
  gm_req_complete(r);
}
static void request_start(gm_req *r) {
  if (r->coll)
    gm_coll_clear(r->coll);
  else
    r->coll = gm_alloc(sizeof *r->coll);
  r->coll->done = request_done;
  r->coll->user = r;
  job *const j = r->extra;
  r->coll->is_numbered = j->sequence != 0; /* starts may come in any order */
  r->coll->sequence = j->sequence;
  job_start(j, r->coll);
}
static void request_release(gm_req *r) {
  job_free(r->extra);
  free(r->extra);
}

/* ---- from the arguments to a job -------------------------------------------------------------------------------------- */
bool gm_is_in_place(gm_proc *p, const void *buffer) {
  (void)p;
  return buffer == MPI_IN_PLACE;
}
static int take_side(gm_proc *p, side *s, const void *user, int64_t count, MPI_Datatype type,
                     const void *counts, const void *displs, const MPI_Datatype *types, int blocks,
                     const call *k) {
  s->is_there = 1;
  s->user = (void *)(uintptr_t)user;
  s->blocks = blocks;
  s->count = count;
  s->is_vector = counts != NULL;
  if (types) {
    s->types = gm_alloc((size_t)(blocks + 1) * sizeof *s->types);
    for (int i = 0; i < blocks; i++) { /* the program may free them before the end */
      gm_type *t = type_of(p, types[i]);
      if (gm_check_type(t, 0)) return MPI_ERR_TYPE;
      gm_type_ref(s->types[i] = t);
    }
  } else {
    const int bad = gm_check_type(type_of(p, type), counts ? 0 : count);
    if (bad) return bad;
    s->type = type_of(p, type);
    gm_type_ref(s->type);
  }
  s->counts = widen(counts, k->wide_counts, blocks);
  s->displs = widen(displs, k->wide_displs, blocks);
  for (int i = 0; i < blocks && s->counts; i++)
    if (s->counts[i] < 0) return MPI_ERR_COUNT;
  int64_t most = counts ? 0 : count;
  for (int i = 0; i < blocks && s->counts; i++)
    if (s->counts[i] > most) most = s->counts[i];
  if (most && blocks && (gm_is_in_place(p, user) || (!user && s->type && s->type->is_static)))
    return MPI_ERR_BUFFER;
  if (s->is_vector && !s->displs) { /* packed */
    s->displs = gm_alloc((size_t)(blocks + 1) * sizeof *s->displs);
    for (int i = 1; i < blocks; i++) s->displs[i] = s->displs[i - 1] + s->counts[i - 1];
  }
  return MPI_SUCCESS;
}
/* Which buffers count here: bit 0 send, bit 1 recv. */
static int sides_of(const job *j) {
  const bool is_root = j->comm->remote ? j->root == MPI_ROOT : j->comm->rank == j->root;
  if (j->comm->remote && j->root == MPI_PROC_NULL) return 0;
  switch (j->coll) {
  case NBC_COLL_BARRIER: return 0;
  case NBC_COLL_BCAST: return 2;
  case NBC_COLL_REDUCE:
  case NBC_COLL_GATHER:
  case NBC_COLL_GATHERV: return j->comm->remote ? (is_root ? 2 : 1) : is_root ? 3 : 1;
  case NBC_COLL_SCATTER:
  case NBC_COLL_SCATTERV: return j->comm->remote ? (is_root ? 1 : 2) : is_root ? 3 : 2;
  default: return 3;
  }
}
static bool has_root(nbc_coll c) {
  return c == NBC_COLL_BCAST || c == NBC_COLL_REDUCE || c == NBC_COLL_GATHER ||
         c == NBC_COLL_GATHERV || c == NBC_COLL_SCATTER || c == NBC_COLL_SCATTERV;
}
static bool is_reduction(nbc_coll c) {
  return c == NBC_COLL_REDUCE || c == NBC_COLL_ALLREDUCE || c == NBC_COLL_SCAN ||
         c == NBC_COLL_EXSCAN || c == NBC_COLL_REDUCE_SCATTER || c == NBC_COLL_REDUCE_SCATTER_BLOCK;
}
static int fill_reduction(gm_proc *p, const call *k, job *j, int sides) {
  const int n = j->comm->local->size, scatters = j->coll == NBC_COLL_REDUCE_SCATTER ||
                                                 j->coll == NBC_COLL_REDUCE_SCATTER_BLOCK;
  int64_t total = k->rcount;
  gm_op *op = op_of(p, k->op);
  if (!op || op->id == GM_REPLACE || op->id == GM_NO_OP) return MPI_ERR_OP;
  if (op->id == GM_OP_USER) op->refs++;
  j->op = op;
  if (j->coll == NBC_COLL_REDUCE_SCATTER_BLOCK) total *= n;
  if (j->coll == NBC_COLL_REDUCE_SCATTER) {
    total = 0;
    for (int i = 0; i < n; i++) {
      if (wide(k->rcounts, k->wide_counts, i) < 0) return MPI_ERR_COUNT;
      total += wide(k->rcounts, k->wide_counts, i);
    }
  }
  const int bad = gm_check_type(type_of(p, k->rtype), total);
  if (bad) return bad;
  if (!gm_op_fits(op, type_of(p, k->rtype))) return MPI_ERR_OP;
  j->told = op->id == GM_OP_USER && !type_of(p, k->rtype)->is_static ? type_of(p, k->rtype) : NULL;
  j->told_handle = k->rtype;
  if (j->told) j->told->users++;
  int code = MPI_SUCCESS;
  if ((sides & 1) && !j->is_in_place)
    code = take_side(p, &j->s, k->send, total, k->rtype, NULL, NULL, NULL, 1, k);
  if (!code && (sides & 2)) {
    const int64_t mine = j->coll == NBC_COLL_REDUCE_SCATTER
                             ? wide(k->rcounts, k->wide_counts, j->comm->rank)
                             : k->rcount;
    code = take_side(p, &j->r, k->recv, mine, k->rtype, NULL, NULL, NULL, 1, k);
    if (scatters && j->is_in_place) j->r.count = total; /* the input lies there too; see below */
    j->r.counts = j->coll == NBC_COLL_REDUCE_SCATTER ? widen(k->rcounts, k->wide_counts, n) : NULL;
  }
  if (code || !scatters || !j->is_in_place) return code;
  /* in place: the input is copied, so that the result alone is written */
  j->s = j->r;
  j->s.is_copied = true;
  j->s.counts = NULL;
  gm_type_ref(j->s.type);
  j->s.is_vector = 0;
  j->r.count = j->coll == NBC_COLL_REDUCE_SCATTER ? j->r.counts[j->comm->rank] : k->rcount;
  j->is_in_place = 0;
  return code;
}
static int fill(gm_proc *p, const call *k, job *j) {
  gm_comm *c = j->comm = comm_of(p, k->comm);
  if (!c) return MPI_ERR_COMM;
  j->proc = p;
  j->coll = k->coll;
  j->root = k->root;
  j->is_neighbour = k->is_neighbour;
  if (k->is_neighbour && !c->topo) return MPI_ERR_TOPOLOGY;
  if (has_root(k->coll) && !(c->remote && (k->root == MPI_ROOT || k->root == MPI_PROC_NULL)) &&
      (k->root < 0 || k->root >= gm_peers(c)->size))
    return MPI_ERR_ROOT;
  if (!has_root(k->coll)) j->root = 0;
  if (c->remote && (k->coll == NBC_COLL_SCAN || k->coll == NBC_COLL_EXSCAN)) return MPI_ERR_COMM;
  const bool is_scatter = k->coll == NBC_COLL_SCATTER || k->coll == NBC_COLL_SCATTERV;
  const int sides = sides_of(j), n = gm_peers(c)->size;
  const int gathers = k->coll == NBC_COLL_GATHER || k->coll == NBC_COLL_GATHERV ||
                      k->coll == NBC_COLL_ALLGATHER || k->coll == NBC_COLL_ALLGATHERV;
  const int in_blocks = k->is_neighbour                           ? c->topo->in_count
                        : k->coll == NBC_COLL_BCAST || is_scatter ? 1
                                                                  : n;
  const int out_blocks = k->is_neighbour ? c->topo->out_count : gathers ? 1 : n;
  j->is_in_place =
      !c->remote && !k->is_neighbour &&
      (is_scatter ? (sides & 1) && gm_is_in_place(p, k->recv)
                  : (sides & 2) && k->coll != NBC_COLL_BCAST && gm_is_in_place(p, k->send));
  j->is_reduction = is_reduction(k->coll);
  if (j->is_reduction) return fill_reduction(p, k, j, sides);
  if (k->coll == NBC_COLL_BARRIER) return MPI_SUCCESS;
  const bool is_alltoall = k->coll == NBC_COLL_ALLTOALL || k->coll == NBC_COLL_ALLTOALLV;
  int code = MPI_SUCCESS;
  if ((sides & 2) && !(is_scatter && j->is_in_place))
    code = take_side(p, &j->r, k->recv, k->rcount, k->rtype, is_scatter ? NULL : k->rcounts,
                     is_scatter ? NULL : k->rdispls, k->rtypes, in_blocks, k);
  if (!code && is_alltoall && j->is_in_place) { /* the data is copied out first */
    code = take_side(p, &j->s, k->recv, k->rcount, k->rtype, k->rcounts, k->rdispls, k->rtypes,
                     in_blocks, k);
    j->is_in_place = 0;
    j->s.is_copied = true;
  } else if (!code && (sides & 1) && !(j->is_in_place && !is_scatter))
    code = take_side(p, &j->s, k->send, k->scount, k->stype, gathers ? NULL : k->scounts,
                     gathers ? NULL : k->sdispls, gathers ? NULL : k->stypes,
                     gathers && k->is_neighbour ? 1 : out_blocks, k);
  return code;
}
/* What is sent is where the same is received. */
static bool is_aliased(const job *j) {
  const side *s = &j->s, *r = &j->r;
  const int me = j->comm->rank;
  if (!is_plain(s) || !is_plain(r) || j->comm->remote || j->is_neighbour) return 0;
  if (s->type != r->type || !s->user || !r->user) return 0;
  switch (j->coll) {
  case NBC_COLL_GATHER:
  case NBC_COLL_GATHERV:
  case NBC_COLL_ALLGATHER:
  case NBC_COLL_ALLGATHERV:
    return block_user(r, me) == s->user && s->count && block_count(r, me) == s->count;
  case NBC_COLL_SCATTER:
  case NBC_COLL_SCATTERV:
    return block_user(s, me) == r->user && r->count && block_count(s, me) == r->count;
  case NBC_COLL_ALLTOALL: return s->user == r->user && s->count;
  case NBC_COLL_ALLTOALLV:
    if (s->user != r->user) return 0;
    for (int i = 0; i < s->blocks; i++)
      if (s->counts[i]) return 1;
    return 0;
  default: return s->user == r->user && r->count;
  }
}
/* Open MPI looks in two collectives alone; most programs that hand one buffer twice mean MPI_IN_PLACE. */
static int understand(gm_proc *p, const call *k, job *j) {
  const int code = fill(p, k, j);
  if (code || !is_aliased(j)) return code;
  if (!gm_set.takes_aliases || j->coll == NBC_COLL_ALLREDUCE) return MPI_ERR_BUFFER;
  if (j->coll == NBC_COLL_REDUCE) return MPI_ERR_ARG;
  call in_place = *k;
  if (j->coll == NBC_COLL_SCATTER || j->coll == NBC_COLL_SCATTERV)
    in_place.recv = MPI_IN_PLACE;
  else
    in_place.send = MPI_IN_PLACE;
  job_free(j);
  memset(j, 0, sizeof *j);
  return fill(p, &in_place, j);
}
/* ---- who comes last, for --report ---- */
static bool block_comes(const side *r, int i) {
  const gm_type *t = r->types ? r->types[i] : r->type;
  return t && t->size && (r->is_vector ? r->counts[i] : r->count);
}
static int last_neighbour(const job *j, const gm_gathering *g) {
  const gm_topo *t = j->comm->topo;
  int last = -1;
  for (int i = 0; i < t->in_count; i++)
    if (t->in[i] >= 0 && t->in[i] != j->comm->rank && block_comes(&j->r, i))
      last = gm_record_later(g, last, t->in[i]);
  return last;
}
static int last_of(const job *j, const gm_gathering *g, int end) { /* of ranks before this one */
  int last = -1;
  for (int i = 0; i < end; i++)
    if (i != j->comm->rank && (!j->r.is_vector || block_comes(&j->r, i)))
      last = gm_record_later(g, last, i);
  return last;
}
/* Of those without whose data it is not over here. -1: nobody */
static int last_needed(const job *j, const gm_gathering *g) {
  const side *r = &j->r;
  const bool is_root = j->comm->rank == j->root;
  if (j->coll == NBC_COLL_BARRIER) return gm_record_last(g);
  if (!r->is_there) return -1;
  if (j->is_neighbour) return last_neighbour(j, g);
  if (r->is_vector) return last_of(j, g, j->comm->local->size);
  if (!block_comes(r, 0)) return -1;
  switch (j->coll) {
  case NBC_COLL_BCAST:
  case NBC_COLL_SCATTER:
  case NBC_COLL_SCATTERV: return is_root ? -1 : j->root;
  case NBC_COLL_REDUCE:
  case NBC_COLL_GATHER: return is_root ? gm_record_last(g) : -1;
  case NBC_COLL_SCAN:
  case NBC_COLL_EXSCAN: return last_of(j, g, j->comm->rank);
  default: return gm_record_last(g);
  }
}
static bool is_told(const gm_proc *p, const job *j) { return p->record && !j->comm->remote; }
static void tell_end(gm_proc *p, const job *j, uint32_t sequence) {
  gm_record_left(p, j->comm, sequence, last_needed(j, gm_record_gathering(j->comm, sequence)));
}
void gm_coll_told(gm_req *r) { tell_end(r->proc, r->extra, r->coll->sequence); }
static void wait_for_it(gm_proc *p, job *j, gm_coll *c) {
  const uint32_t sequence = j->comm->sequence;
  if (is_told(p, j)) gm_record_called(j->comm, sequence);
  job_start(j, c);
  gm_wait(p, &c->is_done);
  if (is_told(p, j)) tell_end(p, j, sequence);
}
/* how: 0 blocking, 1 nonblocking, 2 persistent */
static int go(gm_proc *p, call *k, int how, MPI_Request *request) {
  if (k->is_neighbour && k->stypes) k->wide_displs = 1; /* addresses in both forms */
  if (!how) {
    job j;
    gm_coll c;
    memset(&j, 0, sizeof j);
    memset(&c, 0, sizeof c);
    const int code = understand(p, k, &j);
    gm_comm *comm = j.comm;
    if (code) {
      job_free(&j);
      return gm_raise(p, comm, code, k->name);
    }
    wait_for_it(p, &j, &c);
    job_end(&j);
    gm_coll_clear(&c);
    job_free(&j);
    if (!c.error) c.error = j.error;
    return c.error ? gm_raise(p, comm, c.error, k->name) : MPI_SUCCESS;
  }
  job *j = gm_alloc(sizeof *j);
  const int code = understand(p, k, j);
  if (code) {
    gm_comm *c = j->comm;
    job_free(j);
    free(j);
    return gm_raise(p, c, code, k->name);
  }
  gm_req *r = gm_req_new(p, REQ_COLL);
  r->comm = j->comm;
  j->comm->refs++;
  r->extra = j;
  r->start = request_start;
  r->release = request_release;
  r->is_persistent = how == 2;
  if (how == 2) j->sequence = GM_PERSISTENT | j->comm->persistent++;
  *request = gm_req_handle(p, r);
  if (how == 1) {
    r->tells_end = is_told(p, j);
    if (r->tells_end) gm_record_called(j->comm, j->comm->sequence);
    gm_req_start(r);
  }
  return MPI_SUCCESS;
}

CALL(Barrier, MPI_Comm comm) {
  IN("Barrier");
  call k = {.name = scope.name, .comm = comm, .coll = NBC_COLL_BARRIER};
  return go(p, &k, 0, NULL);
}
CALL(Ibarrier, MPI_Comm comm, MPI_Request *request) {
  IN("Ibarrier");
  NEED(comm_of(p, comm), request);
  call k = {.name = scope.name, .comm = comm, .coll = NBC_COLL_BARRIER};
  return go(p, &k, 1, request);
}
CALL(Barrier_init, MPI_Comm comm, MPI_Info info, MPI_Request *request) {
  IN("Barrier_init");
  NEED(comm_of(p, comm), request);
  call k = {.name = scope.name, .comm = comm, .coll = NBC_COLL_BARRIER};
  (void)info;
  return go(p, &k, 2, request);
}
#  define LIST(...) __VA_ARGS__
/* A collective in its three forms. */
#  define FORMS(what, iwhat, params, arguments)                                                    \
    CALL_N(what, params, MPI_Comm comm) {                                                          \
      IN(#what);                                                                                   \
      call k = {.name = scope.name,                                                                \
                .comm = comm,                                                                      \
                .wide_counts = LARGE,                                                              \
                .wide_displs = LARGE,                                                              \
                arguments};                                                                        \
      return go(p, &k, 0, NULL);                                                                   \
    }                                                                                              \
    CALL_N(iwhat, params, MPI_Comm comm, MPI_Request *request) {                                   \
      IN(#iwhat);                                                                                  \
      NEED(comm_of(p, comm), request);                                                             \
      call k = {.name = scope.name,                                                                \
                .comm = comm,                                                                      \
                .wide_counts = LARGE,                                                              \
                .wide_displs = LARGE,                                                              \
                arguments};                                                                        \
      return go(p, &k, 1, request);                                                                \
    }                                                                                              \
    CALL_N(what##_init, params, MPI_Comm comm, MPI_Info info, MPI_Request *request) {              \
      IN(#what "_init");                                                                           \
      NEED(comm_of(p, comm), request);                                                             \
      call k = {.name = scope.name,                                                                \
                .comm = comm,                                                                      \
                .wide_counts = LARGE,                                                              \
                .wide_displs = LARGE,                                                              \
                arguments};                                                                        \
      (void)info;                                                                                  \
      return go(p, &k, 2, request);                                                                \
    }

#  define GM_PASS
#  define COUNT             int
#  define DISP              int
#  define LARGE             0
#  define CALL_N(name, ...) CALL(name, __VA_ARGS__)
#  include "calls_coll.c"
#  undef COUNT
#  undef DISP
#  undef LARGE
#  undef CALL_N
#  define COUNT             MPI_Count
#  define DISP              MPI_Aint
#  define LARGE             1
#  define CALL_N(name, ...) CALL(name##_c, __VA_ARGS__)
#  include "calls_coll.c"

#else /* ---- once per type of count ------------------------------------------------------------------------------ */
FORMS(Bcast, Ibcast, LIST(void *buffer, COUNT count, MPI_Datatype type, int root),
      LIST(.coll = NBC_COLL_BCAST, .recv = buffer, .rcount = count, .rtype = type, .root = root))
FORMS(Reduce, Ireduce,
      LIST(const void *send, void *recv, COUNT count, MPI_Datatype type, MPI_Op op, int root),
      LIST(.coll = NBC_COLL_REDUCE, .send = send, .recv = recv, .rcount = count, .rtype = type,
           .op = op, .root = root))
FORMS(Allreduce, Iallreduce,
      LIST(const void *send, void *recv, COUNT count, MPI_Datatype type, MPI_Op op),
      LIST(.coll = NBC_COLL_ALLREDUCE, .send = send, .recv = recv, .rcount = count, .rtype = type,
           .op = op))
FORMS(Scan, Iscan, LIST(const void *send, void *recv, COUNT count, MPI_Datatype type, MPI_Op op),
      LIST(.coll = NBC_COLL_SCAN, .send = send, .recv = recv, .rcount = count, .rtype = type,
           .op = op))
FORMS(Exscan, Iexscan,
      LIST(const void *send, void *recv, COUNT count, MPI_Datatype type, MPI_Op op),
      LIST(.coll = NBC_COLL_EXSCAN, .send = send, .recv = recv, .rcount = count, .rtype = type,
           .op = op))
FORMS(Reduce_scatter_block, Ireduce_scatter_block,
      LIST(const void *send, void *recv, COUNT count, MPI_Datatype type, MPI_Op op),
      LIST(.coll = NBC_COLL_REDUCE_SCATTER_BLOCK, .send = send, .recv = recv, .rcount = count,
           .rtype = type, .op = op))
FORMS(Reduce_scatter, Ireduce_scatter,
      LIST(const void *send, void *recv, const COUNT counts[], MPI_Datatype type, MPI_Op op),
      LIST(.coll = NBC_COLL_REDUCE_SCATTER, .send = send, .recv = recv, .rcounts = counts,
           .rtype = type, .op = op))
FORMS(Gather, Igather,
      LIST(const void *send, COUNT scount, MPI_Datatype stype, void *recv, COUNT rcount,
           MPI_Datatype rtype, int root),
      LIST(.coll = NBC_COLL_GATHER, .send = send, .scount = scount, .stype = stype, .recv = recv,
           .rcount = rcount, .rtype = rtype, .root = root))
FORMS(Gatherv, Igatherv,
      LIST(const void *send, COUNT scount, MPI_Datatype stype, void *recv, const COUNT rcounts[],
           const DISP displs[], MPI_Datatype rtype, int root),
      LIST(.coll = NBC_COLL_GATHERV, .send = send, .scount = scount, .stype = stype, .recv = recv,
           .rcounts = rcounts, .rdispls = displs, .rtype = rtype, .root = root))
FORMS(Scatter, Iscatter,
      LIST(const void *send, COUNT scount, MPI_Datatype stype, void *recv, COUNT rcount,
           MPI_Datatype rtype, int root),
      LIST(.coll = NBC_COLL_SCATTER, .send = send, .scount = scount, .stype = stype, .recv = recv,
           .rcount = rcount, .rtype = rtype, .root = root))
FORMS(Scatterv, Iscatterv,
      LIST(const void *send, const COUNT scounts[], const DISP displs[], MPI_Datatype stype,
           void *recv, COUNT rcount, MPI_Datatype rtype, int root),
      LIST(.coll = NBC_COLL_SCATTERV, .send = send, .scounts = scounts, .sdispls = displs,
           .stype = stype, .recv = recv, .rcount = rcount, .rtype = rtype, .root = root))
FORMS(Allgather, Iallgather,
      LIST(const void *send, COUNT scount, MPI_Datatype stype, void *recv, COUNT rcount,
           MPI_Datatype rtype),
      LIST(.coll = NBC_COLL_ALLGATHER, .send = send, .scount = scount, .stype = stype, .recv = recv,
           .rcount = rcount, .rtype = rtype))
FORMS(Allgatherv, Iallgatherv,
      LIST(const void *send, COUNT scount, MPI_Datatype stype, void *recv, const COUNT rcounts[],
           const DISP displs[], MPI_Datatype rtype),
      LIST(.coll = NBC_COLL_ALLGATHERV, .send = send, .scount = scount, .stype = stype,
           .recv = recv, .rcounts = rcounts, .rdispls = displs, .rtype = rtype))
FORMS(Alltoall, Ialltoall,
      LIST(const void *send, COUNT scount, MPI_Datatype stype, void *recv, COUNT rcount,
           MPI_Datatype rtype),
      LIST(.coll = NBC_COLL_ALLTOALL, .send = send, .scount = scount, .stype = stype, .recv = recv,
           .rcount = rcount, .rtype = rtype))
FORMS(Alltoallv, Ialltoallv,
      LIST(const void *send, const COUNT scounts[], const DISP sdispls[], MPI_Datatype stype,
           void *recv, const COUNT rcounts[], const DISP rdispls[], MPI_Datatype rtype),
      LIST(.coll = NBC_COLL_ALLTOALLV, .send = send, .scounts = scounts, .sdispls = sdispls,
           .stype = stype, .recv = recv, .rcounts = rcounts, .rdispls = rdispls, .rtype = rtype))
FORMS(Alltoallw, Ialltoallw,
      LIST(const void *send, const COUNT scounts[], const DISP sdispls[],
           const MPI_Datatype stypes[], void *recv, const COUNT rcounts[], const DISP rdispls[],
           const MPI_Datatype rtypes[]),
      LIST(.coll = NBC_COLL_ALLTOALLV, .send = send, .scounts = scounts, .sdispls = sdispls,
           .stypes = stypes, .recv = recv, .rcounts = rcounts, .rdispls = rdispls,
           .rtypes = rtypes))
FORMS(Neighbor_allgather, Ineighbor_allgather,
      LIST(const void *send, COUNT scount, MPI_Datatype stype, void *recv, COUNT rcount,
           MPI_Datatype rtype),
      LIST(.is_neighbour = 1, .coll = NBC_COLL_ALLGATHER, .send = send, .scount = scount,
           .stype = stype, .recv = recv, .rcount = rcount, .rtype = rtype))
FORMS(Neighbor_allgatherv, Ineighbor_allgatherv,
      LIST(const void *send, COUNT scount, MPI_Datatype stype, void *recv, const COUNT rcounts[],
           const DISP displs[], MPI_Datatype rtype),
      LIST(.is_neighbour = 1, .coll = NBC_COLL_ALLGATHERV, .send = send, .scount = scount,
           .stype = stype, .recv = recv, .rcounts = rcounts, .rdispls = displs, .rtype = rtype))
FORMS(Neighbor_alltoall, Ineighbor_alltoall,
      LIST(const void *send, COUNT scount, MPI_Datatype stype, void *recv, COUNT rcount,
           MPI_Datatype rtype),
      LIST(.is_neighbour = 1, .coll = NBC_COLL_ALLTOALL, .send = send, .scount = scount,
           .stype = stype, .recv = recv, .rcount = rcount, .rtype = rtype))
FORMS(Neighbor_alltoallv, Ineighbor_alltoallv,
      LIST(const void *send, const COUNT scounts[], const DISP sdispls[], MPI_Datatype stype,
           void *recv, const COUNT rcounts[], const DISP rdispls[], MPI_Datatype rtype),
      LIST(.is_neighbour = 1, .coll = NBC_COLL_ALLTOALLV, .send = send, .scounts = scounts,
           .sdispls = sdispls, .stype = stype, .recv = recv, .rcounts = rcounts, .rdispls = rdispls,
           .rtype = rtype))
FORMS(Neighbor_alltoallw, Ineighbor_alltoallw,
      LIST(const void *send, const COUNT scounts[], const MPI_Aint sdispls[],
           const MPI_Datatype stypes[], void *recv, const COUNT rcounts[], const MPI_Aint rdispls[],
           const MPI_Datatype rtypes[]),
      LIST(.is_neighbour = 1, .coll = NBC_COLL_ALLTOALLV, .send = send, .scounts = scounts,
           .sdispls = sdispls, .stypes = stypes, .recv = recv, .rcounts = rcounts,
           .rdispls = rdispls, .rtypes = rtypes))
CALL_N(Reduce_local, const void *in, void *inout, COUNT count, MPI_Datatype type, MPI_Op op) {
  IN("Reduce_local");
  gm_type *t = type_of(p, type);
  gm_op *o = op_of(p, op);
  const int bad = gm_check_type(t, count);
  FAIL_IF(bad, NULL, bad);
  FAIL_IF(!o || o->id == GM_REPLACE || o->id == GM_NO_OP || !gm_op_fits(o, t), NULL, MPI_ERR_OP);
  FAIL_IF(gm_is_in_place(p, in) || gm_is_in_place(p, inout) || (in == inout && count), NULL,
          MPI_ERR_BUFFER);
  gm_op_apply(o, t, in, inout, (uint64_t)count);
  gm_busy_bytes((double)t->size * (double)count);
  return MPI_SUCCESS;
}
#endif
