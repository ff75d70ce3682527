/* MPI functions: groups, communicators, intercommunicators; what a datatype was made of. */
#include "abi.h"

/* ---- groups ------------------------------------------------------------------------------------------------- */
static gm_group *empty_group(void) {
  static gm_group *none;
  static const int nobody = -1;
  if (!none) none = gm_group_make(0, &nobody);
  return none;
}
gm_group *group_of(gm_proc *p, MPI_Group h) {
  return h == MPI_GROUP_EMPTY ? empty_group() : gm_find(p, GM_T_GROUP, h);
}
MPI_Group group_handle(gm_proc *p, gm_group *g) {
  if (!g->size) {
    gm_group_leave(g);
    return MPI_GROUP_EMPTY;
  }
  return GM_HANDLE(GM_T_GROUP, gm_put(&p->table[GM_T_GROUP], g));
}
CALL(Group_size, MPI_Group group, int *size) {
  IN_ALWAYS("Group_size");
  NEED(NULL, size);
  FAIL_IF(!group_of(p, group), NULL, MPI_ERR_GROUP);
  *size = group_of(p, group)->size;
  return MPI_SUCCESS;
}
CALL(Group_rank, MPI_Group group, int *rank) {
  IN_ALWAYS("Group_rank");
  NEED(NULL, rank);
  FAIL_IF(!group_of(p, group), NULL, MPI_ERR_GROUP);
  *rank = gm_group_find(group_of(p, group), p->rank);
  return MPI_SUCCESS;
}
CALL(Group_free, MPI_Group *group) {
  IN_ALWAYS("Group_free");
  NEED(NULL, group);
  gm_group *g = group_of(p, *group);
  FAIL_IF(!g, NULL, MPI_ERR_GROUP);
  if (*group != MPI_GROUP_EMPTY) {
    gm_drop(&p->table[GM_T_GROUP], GM_INDEX(*group));
    gm_group_leave(g);
  }
  *group = MPI_GROUP_NULL;
  return MPI_SUCCESS;
}
CALL(Group_translate_ranks, MPI_Group group1, int n, const int ranks1[], MPI_Group group2,
     int ranks2[]) {
  IN_ALWAYS("Group_translate_ranks");
  gm_group *a = group_of(p, group1), *b = group_of(p, group2);
  FAIL_IF(!a || !b, NULL, MPI_ERR_GROUP);
  FAIL_IF(n < 0, NULL, MPI_ERR_ARG);
  NEED(NULL, !n || (ranks1 && ranks2));
  for (int i = 0; i < n; i++) {
    FAIL_IF(ranks1[i] != MPI_PROC_NULL && (ranks1[i] < 0 || ranks1[i] >= a->size), NULL,
            MPI_ERR_RANK);
    ranks2[i] =
        ranks1[i] == MPI_PROC_NULL ? MPI_PROC_NULL : gm_group_find(b, gm_group_world(a, ranks1[i]));
  }
  return MPI_SUCCESS;
}
static int compare(gm_group *a, gm_group *b) {
  if (a == b) return MPI_IDENT;
  if (a->size != b->size) return MPI_UNEQUAL;
  for (int i = 0; i < a->size; i++)
    if (gm_group_find(b, gm_group_world(a, i)) == MPI_UNDEFINED) return MPI_UNEQUAL;
  return MPI_SIMILAR;
}
CALL(Group_compare, MPI_Group group1, MPI_Group group2, int *result) {
  IN_ALWAYS("Group_compare");
  NEED(NULL, result);
  gm_group *a = group_of(p, group1), *b = group_of(p, group2);
  FAIL_IF(!a || !b, NULL, MPI_ERR_GROUP);
  *result = compare(a, b);
  return MPI_SUCCESS;
}
/* Members of a that are (or are not) in b, then those of b that are not in a when asked for. */
static int combine(gm_proc *p, const char *name, MPI_Group group1, MPI_Group group2, int in_both,
                   int only_first, int only_second, MPI_Group *result) {
  gm_group *a = group_of(p, group1), *b = group_of(p, group2);
  if (!a || !b) return gm_raise(p, NULL, MPI_ERR_GROUP, name);
  int *ranks = gm_alloc(((size_t)a->size + (size_t)b->size + 1) * sizeof *ranks), n = 0;
  for (int i = 0; i < a->size; i++) {
    const int rank = gm_group_world(a, i);
    const bool is_in = gm_group_find(b, rank) != MPI_UNDEFINED;
    if (is_in ? in_both : only_first) ranks[n++] = rank;
  }
  for (int i = 0; i < b->size && only_second; i++)
    if (gm_group_find(a, gm_group_world(b, i)) == MPI_UNDEFINED) ranks[n++] = gm_group_world(b, i);
  *result = group_handle(p, gm_group_make(n, ranks));
  free(ranks);
  return MPI_SUCCESS;
}
CALL(Group_union, MPI_Group a, MPI_Group b, MPI_Group *result) {
  IN_ALWAYS("Group_union");
  NEED(NULL, result);
  return combine(p, scope.name, a, b, 1, 1, 1, result);
}
CALL(Group_intersection, MPI_Group a, MPI_Group b, MPI_Group *result) {
  IN_ALWAYS("Group_intersection");
  NEED(NULL, result);
  return combine(p, scope.name, a, b, 1, 0, 0, result);
}
CALL(Group_difference, MPI_Group a, MPI_Group b, MPI_Group *result) {
  IN_ALWAYS("Group_difference");
  NEED(NULL, result);
  return combine(p, scope.name, a, b, 0, 1, 0, result);
}
static int select_ranks(gm_proc *p, const char *name, MPI_Group group, int n, const int *ranks,
                        int keep, MPI_Group *result) {
  gm_group *g = group_of(p, group);
  if (!g) return gm_raise(p, NULL, MPI_ERR_GROUP, name);
  if (n < 0) return gm_raise(p, NULL, MPI_ERR_ARG, name);
  char *seen = gm_alloc((size_t)g->size + 1);
  int *chosen = gm_alloc((size_t)(g->size + n + 1) * sizeof *chosen), m = 0, bad = 0;
  for (int i = 0; i < n && !bad; i++) {
    bad = ranks[i] < 0 || ranks[i] >= g->size || seen[ranks[i]];
    if (bad) break;
    seen[ranks[i]] = 1;
    if (keep) chosen[m++] = gm_group_world(g, ranks[i]);
  }
  for (int i = 0; i < g->size && !keep; i++)
    if (!seen[i]) chosen[m++] = gm_group_world(g, i);
  if (!bad) *result = group_handle(p, gm_group_make(m, chosen));
  free(seen);
  free(chosen);
  return bad ? gm_raise(p, NULL, MPI_ERR_RANK, name) : MPI_SUCCESS;
}
CALL(Group_incl, MPI_Group group, int n, const int ranks[], MPI_Group *result) {
  IN_ALWAYS("Group_incl");
  NEED(NULL, (n <= 0 || ranks) && result);
  return select_ranks(p, scope.name, group, n, ranks, 1, result);
}
CALL(Group_excl, MPI_Group group, int n, const int ranks[], MPI_Group *result) {
  IN_ALWAYS("Group_excl");
  NEED(NULL, (n <= 0 || ranks) && result);
  return select_ranks(p, scope.name, group, n, ranks, 0, result);
}
static int select_ranges(gm_proc *p, const char *name, MPI_Group group, int n, int ranges[][3],
                         int keep, MPI_Group *result) {
  gm_group *g = group_of(p, group);
  if (!g) return gm_raise(p, NULL, MPI_ERR_GROUP, name);
  if (n < 0) return gm_raise(p, NULL, MPI_ERR_ARG, name);
  int *ranks = gm_alloc(((size_t)g->size + 1) * sizeof *ranks), m = 0;
  for (int i = 0; i < n; i++) {
    const int step = ranges[i][2];
    if (!step) {
      free(ranks);
      return gm_raise(p, NULL, MPI_ERR_ARG, name);
    }
    for (int r = ranges[i][0]; step > 0 ? r <= ranges[i][1] : r >= ranges[i][1]; r += step) {
      if (m >= g->size) {
        free(ranks);
        return gm_raise(p, NULL, MPI_ERR_ARG, name);
      }
      ranks[m++] = r;
    }
  }
  const int code = select_ranks(p, name, group, m, ranks, keep, result);
  free(ranks);
  return code;
}
CALL(Group_range_incl, MPI_Group group, int n, int ranges[][3], MPI_Group *result) {
  IN_ALWAYS("Group_range_incl");
  NEED(NULL, (n <= 0 || ranges) && result);
  return select_ranges(p, scope.name, group, n, ranges, 1, result);
}
CALL(Group_range_excl, MPI_Group group, int n, int ranges[][3], MPI_Group *result) {
  IN_ALWAYS("Group_range_excl");
  NEED(NULL, (n <= 0 || ranges) && result);
  return select_ranges(p, scope.name, group, n, ranges, 0, result);
}

/* ---- communicators: what they are ------------------------------------------------------------------------------ */
MPI_Comm comm_handle(gm_proc *p, gm_comm *c) {
  return c->handle = GM_HANDLE(GM_T_COMM, gm_put(&p->table[GM_T_COMM], c));
}
CALL(Comm_size, MPI_Comm comm, int *size) {
  IN("Comm_size");
  NEED(comm_of(p, comm), size);
  FAIL_IF(!comm_of(p, comm), NULL, MPI_ERR_COMM);
  *size = comm_of(p, comm)->local->size;
  return MPI_SUCCESS;
}
CALL(Comm_rank, MPI_Comm comm, int *rank) {
  IN("Comm_rank");
  NEED(comm_of(p, comm), rank);
  FAIL_IF(!comm_of(p, comm), NULL, MPI_ERR_COMM);
  *rank = comm_of(p, comm)->rank;
  return MPI_SUCCESS;
}
CALL(Comm_remote_size, MPI_Comm comm, int *size) {
  IN("Comm_remote_size");
  NEED(comm_of(p, comm), size);
  gm_comm *c = comm_of(p, comm);
  FAIL_IF(!c || !c->remote, c, MPI_ERR_COMM);
  *size = c->remote->size;
  return MPI_SUCCESS;
}
CALL(Comm_test_inter, MPI_Comm comm, int *flag) {
  IN("Comm_test_inter");
  NEED(comm_of(p, comm), flag);
  FAIL_IF(!comm_of(p, comm), NULL, MPI_ERR_COMM);
  *flag = comm_of(p, comm)->remote != NULL;
  return MPI_SUCCESS;
}
CALL(Comm_group, MPI_Comm comm, MPI_Group *group) {
  IN("Comm_group");
  NEED(comm_of(p, comm), group);
  FAIL_IF(!comm_of(p, comm), NULL, MPI_ERR_COMM);
  *group = group_handle(p, gm_group_keep(comm_of(p, comm)->local));
  return MPI_SUCCESS;
}
CALL(Comm_remote_group, MPI_Comm comm, MPI_Group *group) {
  IN("Comm_remote_group");
  NEED(comm_of(p, comm), group);
  gm_comm *c = comm_of(p, comm);
  FAIL_IF(!c || !c->remote, c, MPI_ERR_COMM);
  *group = group_handle(p, gm_group_keep(c->remote));
  return MPI_SUCCESS;
}
CALL(Comm_compare, MPI_Comm comm1, MPI_Comm comm2, int *result) {
  IN("Comm_compare");
  NEED(comm_of(p, comm1), result);
  gm_comm *a = comm_of(p, comm1), *b = comm_of(p, comm2);
  FAIL_IF(!a || !b, NULL, MPI_ERR_COMM);
  if (a == b) {
    *result = MPI_IDENT;
    return MPI_SUCCESS;
  }
  *result = !a->remote != !b->remote ? MPI_UNEQUAL : compare(a->local, b->local);
  if (a->remote && b->remote) {
    const int other = compare(a->remote, b->remote);
    if (other > *result) *result = other;
  }
  if (*result == MPI_IDENT) *result = MPI_CONGRUENT;
  return MPI_SUCCESS;
}
CALL(Comm_set_name, MPI_Comm comm, const char *name) {
  IN("Comm_set_name");
  NEED(comm_of(p, comm), name);
  gm_comm *c = comm_of(p, comm);
  FAIL_IF(!c, NULL, MPI_ERR_COMM);
  free(c->name);
  c->name = strndup(name, MPI_MAX_OBJECT_NAME - 1);
  return MPI_SUCCESS;
}
CALL(Comm_get_name, MPI_Comm comm, char *name, int *length) {
  IN("Comm_get_name");
  NEED(comm_of(p, comm), name && length);
  gm_comm *c = comm_of(p, comm);
  FAIL_IF(!c, NULL, MPI_ERR_COMM);
  *length = snprintf(name, MPI_MAX_OBJECT_NAME, "%s", c->name ? c->name : "");
  return MPI_SUCCESS;
}
static void comm_info_take(gm_comm *c, const gm_info *from) {
  static const gm_hint known[] = {{"mpi_assert_no_any_tag", "false"},
                                  {"mpi_assert_no_any_source", "false"},
                                  {"mpi_assert_exact_length", "false"},
                                  {"mpi_assert_allow_overtaking", "false"},
                                  {NULL, NULL}};
  gm_info_take(&c->info, from, known);
}
CALL(Comm_set_info, MPI_Comm comm, MPI_Info info) {
  IN("Comm_set_info");
  gm_comm *c = comm_of(p, comm);
  FAIL_IF(!c, NULL, MPI_ERR_COMM);
  if (!info_of(p, info)) return MPI_SUCCESS;
  comm_info_take(c, info_of(p, info));
  return MPI_SUCCESS;
}
CALL(Comm_get_info, MPI_Comm comm, MPI_Info *info) {
  IN("Comm_get_info");
  NEED(comm_of(p, comm), info);
  gm_comm *c = comm_of(p, comm);
  FAIL_IF(!c, NULL, MPI_ERR_COMM);
  if (!c->info) comm_info_take(c, NULL);
  *info = info_handle(p, gm_info_copy(c->info));
  return MPI_SUCCESS;
}

/* ---- communicators: how they come and go --------------------------------------------------------------------------- */
/* What a new context is agreed with: of an intercommunicator the local ones, then the two leaders. */
static gm_comm *inter_local(gm_comm *c) { return c->remote ? c->local_comm : c; }
static void leaders_swap(gm_proc *p, gm_comm *c, const void *mine, void *theirs, uint64_t bytes,
                         uint64_t theirs_bytes, int peer, uint32_t context, int tag) {
  gm_msg in, out;
  (void)c;
  memset(&in, 0, sizeof in);
  memset(&out, 0, sizeof out);
  gm_irecv(p, &in, theirs, theirs_bytes, peer, context, tag);
  gm_isend(p, &out, mine, bytes, peer, context, tag, 0);
  gm_wait(p, &in.is_done);
  gm_wait(p, &out.is_done);
}
static uint32_t agree(gm_proc *p, gm_comm *c) {
  gm_comm *l = inter_local(c);
  int64_t next = gm_context_new(p, l->rank == 0), other = 0;
  gm_allreduce_max(p, l, &next, 1);
  if (!c->remote) return (uint32_t)next;
  if (l->rank == 0)
    leaders_swap(p, c, &next, &other, 8, 8, gm_group_world(c->remote, 0), c->context + 3, 0);
  gm_bcast_bytes(p, l, &other, 8, 0);
  return (uint32_t)(other > next ? other : next);
}
/* An intercommunicator has a communicator of its own side, with the contexts behind its own. */
static gm_comm *make_like(gm_proc *p, gm_group *local, gm_group *remote, uint32_t context,
                          bool is_low) {
  gm_comm *c = gm_comm_make(p, local, remote, context);
  if (remote) {
    c->local_comm =
        gm_comm_make(p, local, NULL, context + GM_CONTEXTS + (is_low ? 0 : GM_CONTEXTS));
    c->is_low = is_low;
  }
  return c;
}
static gm_topo *topo_copy(const gm_topo *t);
static int duplicate(gm_proc *p, const char *name, MPI_Comm comm, const gm_info *info,
                     uint32_t context, MPI_Comm *new) {
  gm_comm *c = comm_of(p, comm);
  gm_comm *d = make_like(p, c->local, c->remote, context, c->is_low);
  d->errh = c->errh;
  d->topo = topo_copy(c->topo);
  if (info) comm_info_take(d, info);
  *new = comm_handle(p, d);
  const int code = gm_attrs_copy(p, comm, c->attrs, &d->attrs);
  if (!code) return MPI_SUCCESS;
  PMPI_Comm_free(new); /* sets it to MPI_COMM_NULL; all agree, or the program is wrong */
  return gm_raise(p, c, code, name);
}
CALL(Comm_dup, MPI_Comm comm, MPI_Comm *new) {
  IN("Comm_dup");
  NEED(comm_of(p, comm), new);
  gm_comm *c = comm_of(p, comm);
  FAIL_IF(!c, NULL, MPI_ERR_COMM);
  return duplicate(p, scope.name, comm, c->info, agree(p, c), new);
}
CALL(Comm_dup_with_info, MPI_Comm comm, MPI_Info info, MPI_Comm *new) {
  IN("Comm_dup_with_info");
  NEED(comm_of(p, comm), new);
  gm_comm *c = comm_of(p, comm);
  FAIL_IF(!c, NULL, MPI_ERR_COMM);
  return duplicate(p, scope.name, comm, info_of(p, info), agree(p, c), new);
}
/* Without waiting: the context is agreed by a nonblocking reduction; it is set when that is done. */
typedef struct later {
  int64_t next, other;
  gm_comm *comm, *parent;
  uint32_t sequence; /* of the second step, taken when the first one starts */
  gm_coll swap;
  gm_op op;
  gm_type *type;
} later;
static void idup_done(gm_coll *k) {
  gm_req *r = k->user;
  later *l = r->extra;
  gm_comm *n = l->comm;
  if (l->other > l->next) l->next = l->other;
  n->context = (uint32_t)l->next;
  if (n->remote) n->local_comm->context = n->context + GM_CONTEXTS + (n->is_low ? 0 : GM_CONTEXTS);
  gm_req_complete(r);
}
/* The own side of an intercommunicator has agreed: its first process tells the other side. */
static void idup_half_done(gm_coll *k) {
  gm_req *r = k->user;
  later *l = r->extra;
  gm_comm *c = l->comm;
  gm_draft d;
  memset(&d, 0, sizeof d);
  for (int i = 0; i < c->remote->size && c->rank == 0; i++)
    gm_draft_send(&d, i, 0, NBC_AREA_SEND, 0, sizeof l->next);
  gm_draft_recv(&d, 0, 0, NBC_AREA_RECV, 0, sizeof l->other);
  l->swap.done = idup_done;
  l->swap.user = r;
  l->swap.is_numbered = 1;
  l->swap.sequence = l->sequence;
  gm_coll_start_schedule(r->proc, l->parent, gm_draft_finish(&d, 1), 1, &l->next, &l->other, NULL,
                         NULL, &l->swap);
}
static void idup_release(gm_req *r) {
  later *l = r->extra;
  gm_coll_clear(&l->swap);
  gm_comm_unref(l->comm);
  gm_comm_unref(l->parent);
  free(l);
}
static int idup(gm_proc *p, const char *name, MPI_Comm comm, const gm_info *info, MPI_Comm *new,
                MPI_Request *request) {
  gm_comm *c = comm_of(p, comm);
  gm_req *r = gm_req_new(p, REQ_COLL);
  later *l = r->extra = gm_alloc(sizeof *l);
  gm_coll_args a;
  const int code = duplicate(p, name, comm, info, 0, new);
  if (code) {
    free(l);
    r->extra = NULL;
    gm_req_unref(r);
    return code;
  }
  l->comm = comm_of(p, *new);
  l->comm->refs++;
  l->parent = c;
  c->refs++;
  l->next = gm_context_new(p, c->rank == 0);
  if (c->remote) l->sequence = c->sequence++;
  r->release = idup_release;
  r->is_active = 1;
  *request = gm_req_handle(p, r);
  l->op.id = GM_MAX;
  l->op.is_commutative = 1;
  l->type = type_of(p, MPI_INT64_T);
  r->coll = gm_alloc(sizeof *r->coll);
  r->coll->done = c->remote ? idup_half_done : idup_done;
  r->coll->user = r;
  memset(&a, 0, sizeof a);
  a.desc.coll = NBC_COLL_ALLREDUCE;
  a.desc.elem_bytes = 8;
  a.desc.count = 1;
  a.desc.in_place = 1;
  a.send = a.recv = &l->next;
  a.op = &l->op;
  a.type = l->type;
  gm_coll_start(p, inter_local(c), &a, r->coll);
  return MPI_SUCCESS;
}
CALL(Comm_idup, MPI_Comm comm, MPI_Comm *new, MPI_Request *request) {
  IN("Comm_idup");
  NEED(comm_of(p, comm), new &&request);
  FAIL_IF(!comm_of(p, comm), NULL, MPI_ERR_COMM);
  return idup(p, scope.name, comm, comm_of(p, comm)->info, new, request);
}
CALL(Comm_idup_with_info, MPI_Comm comm, MPI_Info info, MPI_Comm *new, MPI_Request *request) {
  IN("Comm_idup_with_info");
  NEED(comm_of(p, comm), new &&request);
  FAIL_IF(!comm_of(p, comm), NULL, MPI_ERR_COMM);
  return idup(p, scope.name, comm, info_of(p, info), new, request);
}
static int comm_free(gm_proc *p, const char *name, MPI_Comm *comm) {
  gm_comm *c = comm_of(p, *comm);
  if (!c || c == p->world || c == p->self) return gm_raise(p, c, MPI_ERR_COMM, name);
  const int code = gm_attrs_free(p, *comm, &c->attrs);
  if (code) return gm_raise(p, c, code, name);
  gm_drop(&p->table[GM_T_COMM], GM_INDEX(*comm));
  *comm = MPI_COMM_NULL;
  gm_info_free(c->info);
  c->info = NULL;
  c->is_freed = 1;
  gm_comm_unref(c);
  return MPI_SUCCESS;
}
CALL(Comm_free, MPI_Comm *comm) {
  IN("Comm_free");
  NEED(NULL, comm);
  return comm_free(p, scope.name, comm);
}
CALL(Comm_disconnect, MPI_Comm *comm) {
  IN("Comm_disconnect");
  NEED(NULL, comm);
  return comm_free(p, scope.name, comm);
}
static gm_comm *from_group(gm_proc *p, gm_comm *parent, gm_group *g, uint32_t context) {
  if (gm_group_find(g, p->rank) == MPI_UNDEFINED) return NULL;
  gm_comm *c = gm_comm_make(p, g, NULL, context);
  if (parent) c->errh = parent->errh;
  return c;
}
CALL(Comm_create, MPI_Comm comm, MPI_Group group, MPI_Comm *new) {
  IN("Comm_create");
  NEED(comm_of(p, comm), new);
  gm_comm *c = comm_of(p, comm);
  gm_group *g = group_of(p, group);
  FAIL_IF(!c, NULL, MPI_ERR_COMM);
  FAIL_IF(!g, c, MPI_ERR_GROUP);
  for (int i = 0; i < g->size; i++)
    FAIL_IF(gm_group_find(c->local, gm_group_world(g, i)) == MPI_UNDEFINED, c, MPI_ERR_GROUP);
  const uint32_t context = agree(p, c);
  *new = MPI_COMM_NULL;
  if (!c->remote) {
    gm_comm *n = from_group(p, c, g, context);
    if (n) *new = comm_handle(p, n);
    return MPI_SUCCESS;
  }
  /* both sides tell each other their groups */
  gm_comm *l = c->local_comm;
  int64_t mine = g->size, theirs = 0;
  if (l->rank == 0)
    leaders_swap(p, c, &mine, &theirs, 8, 8, gm_group_world(c->remote, 0), c->context + 3, 1);
  gm_bcast_bytes(p, l, &theirs, 8, 0);
  int *out = gm_alloc((size_t)(g->size + 1) * sizeof *out),
      *in = gm_alloc((size_t)(theirs + 1) * sizeof *in);
  for (int i = 0; i < g->size; i++) out[i] = gm_group_world(g, i);
  if (l->rank == 0)
    leaders_swap(p, c, out, in, (uint64_t)g->size * 4, (uint64_t)theirs * 4,
                 gm_group_world(c->remote, 0), c->context + 3, 2);
  gm_bcast_bytes(p, l, in, (uint64_t)theirs * 4, 0);
  if (theirs && gm_group_find(g, p->rank) != MPI_UNDEFINED) {
    gm_group *other = gm_group_make((int)theirs, in);
    *new = comm_handle(p, make_like(p, g, other, context, c->is_low));
    gm_group_leave(other);
  }
  free(out);
  free(in);
  return MPI_SUCCESS;
}
/* Only the members take part: they agree in the third context of what they come from, kept apart by the tag. */
static gm_comm *create_from(gm_proc *p, gm_group *g, uint32_t context, uint32_t tag) {
  gm_comm *meeting = gm_comm_make(p, g, NULL, context);
  meeting->sequence = tag;
  int64_t next = gm_context_new(p, meeting->rank == 0);
  gm_allreduce_max(p, meeting, &next, 1);
  gm_comm_unref(meeting);
  return gm_comm_make(p, g, NULL, (uint32_t)next);
}
CALL(Comm_create_group, MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *new) {
  IN("Comm_create_group");
  NEED(comm_of(p, comm), new);
  gm_comm *c = comm_of(p, comm);
  gm_group *g = group_of(p, group);
  FAIL_IF(!c || c->remote, c, MPI_ERR_COMM);
  FAIL_IF(!g, c, MPI_ERR_GROUP);
  FAIL_IF(tag < 0 || tag > GM_TAG_UB, c, MPI_ERR_TAG);
  *new = MPI_COMM_NULL;
  if (gm_group_find(g, p->rank) == MPI_UNDEFINED) return MPI_SUCCESS;
  gm_comm *n = create_from(p, g, c->context + 1,
                           (uint32_t)tag); /* +1 again: its collectives use the third */
  n->errh = c->errh;
  *new = comm_handle(p, n);
  return MPI_SUCCESS;
}
CALL(Comm_create_from_group, MPI_Group group, const char *stringtag, MPI_Info info,
     MPI_Errhandler errhandler, MPI_Comm *new) {
  IN_ALWAYS("Comm_create_from_group");
  NEED(NULL, stringtag && new);
  gm_group *g = group_of(p, group);
  uint32_t tag = 0;
  FAIL_IF(!g, NULL, MPI_ERR_GROUP);
  *new = MPI_COMM_NULL;
  if (!g->size) return MPI_SUCCESS;
  for (const char *s = stringtag; s && *s; s++) tag = tag * 31 + (unsigned char)*s;
  gm_comm *n = create_from(p, g, GM_CONTEXTS + 1, tag);
  n->errh = errh_of(p, errhandler);
  if (info_of(p, info)) n->info = gm_info_copy(info_of(p, info));
  *new = comm_handle(p, n);
  return MPI_SUCCESS;
}
typedef struct choice {
  int color, key, rank;
  int pad;
  int64_t context;
} choice;
static int by_key(const void *a, const void *b) {
  const choice *x = a, *y = b;
  return x->key != y->key ? (x->key > y->key) - (x->key < y->key)
                          : (x->rank > y->rank) - (x->rank < y->rank);
}
/* ret the group of those with this color, in order of key; NULL: nobody */
static gm_group *of_color(const gm_group *from, choice *all, int count, int color) {
  choice *same = gm_alloc((size_t)(count + 1) * sizeof *same);
  int n = 0;
  for (int i = 0; i < count; i++)
    if (all[i].color == color) same[n] = all[i], same[n++].rank = i;
  qsort(same, (size_t)n, sizeof *same, by_key);
  int *ranks = gm_alloc((size_t)(n + 1) * sizeof *ranks);
  for (int i = 0; i < n; i++) ranks[i] = gm_group_world(from, same[i].rank);
  gm_group *g = n ? gm_group_make(n, ranks) : NULL;
  free(ranks);
  free(same);
  return g;
}
static int split(gm_proc *p, gm_comm *c, int color, int key, MPI_Comm *new) {
  gm_comm *l = inter_local(c);
  const int n = l->local->size;
  choice mine = {color, key, l->rank, 0, gm_context_new(p, l->rank == 0)},
         *all = gm_alloc((size_t)n * sizeof *all), *others = NULL;
  int64_t context = 0;
  gm_allgather_bytes(p, l, &mine, all, sizeof mine);
  for (int i = 0; i < n; i++)
    if (all[i].context > context) context = all[i].context;
  if (c->remote) {
    const uint64_t bytes = (uint64_t)c->remote->size * sizeof *others;
    others = gm_alloc(bytes);
    if (l->rank == 0)
      leaders_swap(p, c, all, others, (uint64_t)n * sizeof *all, bytes,
                   gm_group_world(c->remote, 0), c->context + 3, 3);
    gm_bcast_bytes(p, l, others, bytes, 0);
    for (int i = 0; i < c->remote->size; i++)
      if (others[i].context > context) context = others[i].context;
  }
  *new = MPI_COMM_NULL;
  if (color != MPI_UNDEFINED) {
    gm_group *g = of_color(c->local, all, n, color),
             *other = others ? of_color(c->remote, others, c->remote->size, color) : NULL;
    if (!c->remote || other) {
      gm_comm *made = make_like(p, g, other, (uint32_t)context, c->is_low);
      made->errh = c->errh;
      *new = comm_handle(p, made);
    }
    gm_group_leave(g);
    gm_group_leave(other);
  }
  free(all);
  free(others);
  return MPI_SUCCESS;
}
CALL(Comm_split, MPI_Comm comm, int color, int key, MPI_Comm *new) {
  IN("Comm_split");
  NEED(comm_of(p, comm), new);
  gm_comm *c = comm_of(p, comm);
  FAIL_IF(!c, NULL, MPI_ERR_COMM);
  FAIL_IF(color < 0 && color != MPI_UNDEFINED, c, MPI_ERR_ARG);
  return split(p, c, color, key, new);
}
static const char resource[] = "mpi_hw_resource_type";
/* The next smaller part of the machine: nodes, when there are several of them. */
static int split_further(gm_proc *p, gm_comm *c, int node, int key, gm_info *info, MPI_Comm *new) {
  const int code = split(p, c, node, key, new);
  const gm_comm *made = comm_of(p, *new);
  if (!code && made->local->size == c->local->size) return PMPI_Comm_free(new);
  if (!code && info) gm_info_put(info, resource, "machine");
  return code;
}
/* MPICH's own: who shares a folder. All do; but all must have asked for the same one. */
static int split_neighbours(gm_proc *p, gm_comm *c, int key, const gm_info *info, MPI_Comm *new) {
  const char *folder = gm_info_value(info, "nbhd_common_dirname");
  int64_t hash[2] = {-1, 1};
  for (const char *at = folder; at && *at; at++) hash[0] = (hash[0] * 31 + *at) & INT32_MAX;
  hash[1] = -hash[0];
  gm_allreduce_max(p, inter_local(c), hash, 2);
  return split(p, c, folder && hash[0] == -hash[1] ? 0 : MPI_UNDEFINED, key, new);
}
CALL(Comm_split_type, MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *new) {
  IN("Comm_split_type");
  NEED(comm_of(p, comm), new);
  gm_comm *c = comm_of(p, comm);
  gm_info *i = info_of(p, info);
  const int node = pm_process_node(pm_self());
  FAIL_IF(!c, NULL, MPI_ERR_COMM);
  switch (type) {
  case MPI_COMM_TYPE_SHARED: return split(p, c, node, key, new);
  case MPI_COMM_TYPE_HW_GUIDED: { /* a node is the only resource that processes share here */
    const char *what = gm_info_value(i, resource);
    const bool is_node = what && (!strcmp(what, "machine") || !strcmp(what, "mpi_shared_memory"));
    return split(p, c, is_node ? node : MPI_UNDEFINED, key, new);
  }
  case MPI_COMM_TYPE_HW_UNGUIDED: return split_further(p, c, node, key, i, new);
  case MPIX_COMM_TYPE_NEIGHBORHOOD: return split_neighbours(p, c, key, i, new);
  case MPI_UNDEFINED: return split(p, c, MPI_UNDEFINED, key, new);
  default: FAIL(c, MPI_ERR_ARG);
  }
}

/* ---- intercommunicators ------------------------------------------------------------------------------------------------ */
/* The two leaders meet through peers in `context`; everybody learns the other side. ret its group */
static gm_group *meet(gm_proc *p, gm_comm *l, int leader, int peer, uint32_t context, int tag,
                      int64_t *next, bool *is_low) {
  int64_t head[2] = {l->local->size, 0}, theirs[2] = {0, 0};
  *next = gm_context_new(p, l->rank == 0);
  gm_allreduce_max(p, l, next, 1);
  head[1] = *next;
  if (l->rank == leader) leaders_swap(p, l, head, theirs, 16, 16, peer, context, tag);
  gm_bcast_bytes(p, l, theirs, 16, leader);
  int *out = gm_alloc((size_t)(head[0] + 1) * sizeof *out),
      *in = gm_alloc((size_t)(theirs[0] + 1) * sizeof *in);
  for (int i = 0; i < head[0]; i++) out[i] = gm_group_world(l->local, i);
  if (l->rank == leader)
    leaders_swap(p, l, out, in, (uint64_t)head[0] * 4, (uint64_t)theirs[0] * 4, peer, context, tag);
  gm_bcast_bytes(p, l, in, (uint64_t)theirs[0] * 4, leader);
  gm_group *g = gm_group_make((int)theirs[0], in);
  if (theirs[1] > *next) *next = theirs[1];
  *is_low = out[0] < in[0];
  free(out);
  free(in);
  return g;
}
CALL(Intercomm_create, MPI_Comm local_comm, int local_leader, MPI_Comm peer_comm, int remote_leader,
     int tag, MPI_Comm *new) {
  IN("Intercomm_create");
  NEED(comm_of(p, local_comm), new);
  gm_comm *l = comm_of(p, local_comm), *peers = comm_of(p, peer_comm);
  int64_t next;
  bool is_low;
  FAIL_IF(!l || l->remote, l, MPI_ERR_COMM);
  FAIL_IF(local_leader < 0 || local_leader >= l->local->size, l, MPI_ERR_RANK);
  FAIL_IF(tag < 0 || tag > GM_TAG_UB, l, MPI_ERR_TAG);
  FAIL_IF(l->rank == local_leader && !peers, l, MPI_ERR_COMM);
  FAIL_IF(l->rank == local_leader && (remote_leader < 0 || remote_leader >= gm_peers(peers)->size),
          l, MPI_ERR_RANK);
  const bool is_leader = l->rank == local_leader;
  gm_group *other =
      meet(p, l, local_leader, is_leader ? gm_group_world(gm_peers(peers), remote_leader) : 0,
           is_leader ? peers->context + 3 : 0, tag, &next, &is_low);
  gm_comm *c = make_like(p, l->local, other, (uint32_t)next, is_low);
  gm_group_leave(other);
  c->errh = l->errh;
  *new = comm_handle(p, c);
  return MPI_SUCCESS;
}
CALL(Intercomm_create_from_groups, MPI_Group local_group, int local_leader, MPI_Group remote_group,
     int remote_leader, const char *stringtag, MPI_Info info, MPI_Errhandler errhandler,
     MPI_Comm *new) {
  IN_ALWAYS("Intercomm_create_from_groups");
  NEED(NULL, stringtag && new);
  gm_group *g = group_of(p, local_group), *r = group_of(p, remote_group);
  uint32_t tag = 0;
  int64_t next;
  bool is_low;
  (void)info;
  FAIL_IF(!g || !g->size, NULL, MPI_ERR_GROUP);
  for (const char *s = stringtag; s && *s; s++) tag = tag * 31 + (unsigned char)*s;
  gm_comm *l = create_from(p, g, GM_CONTEXTS + 1, tag);
  gm_group *other = meet(p, l, local_leader, r && r->size ? gm_group_world(r, remote_leader) : 0,
                         GM_CONTEXTS + 3, (int)(tag & GM_TAG_UB), &next, &is_low);
  gm_comm *c = make_like(p, g, other, (uint32_t)next, is_low);
  gm_group_leave(other);
  gm_comm_unref(l);
  c->errh = errh_of(p, errhandler);
  *new = comm_handle(p, c);
  return MPI_SUCCESS;
}
CALL(Intercomm_merge, MPI_Comm intercomm, int high, MPI_Comm *new) {
  IN("Intercomm_merge");
  NEED(comm_of(p, intercomm), new);
  gm_comm *c = comm_of(p, intercomm);
  FAIL_IF(!c || !c->remote, c, MPI_ERR_COMM);
  const uint32_t context = agree(p, c);
  int64_t mine = high != 0, theirs = 0;
  if (c->local_comm->rank == 0)
    leaders_swap(p, c, &mine, &theirs, 8, 8, gm_group_world(c->remote, 0), c->context + 3, 4);
  gm_bcast_bytes(p, c->local_comm, &theirs, 8, 0);
  const int we_first = mine != theirs ? !mine : c->is_low;
  const gm_group *a = we_first ? c->local : c->remote, *b = we_first ? c->remote : c->local;
  int *ranks = gm_alloc((size_t)(a->size + b->size) * sizeof *ranks);
  for (int i = 0; i < a->size; i++) ranks[i] = gm_group_world(a, i);
  for (int i = 0; i < b->size; i++) ranks[a->size + i] = gm_group_world(b, i);
  gm_group *g = gm_group_make(a->size + b->size, ranks);
  gm_comm *made = gm_comm_make(p, g, NULL, context);
  made->errh = c->errh;
  *new = comm_handle(p, made);
  gm_group_leave(g);
  free(ranks);
  return MPI_SUCCESS;
}

/* ---- processes that would have to be started ------------------------------------------------------------------------------ */
static int no_processes(gm_proc *p, gm_comm *c, const char *name) {
  fprintf(stderr,
          "pm_run: %s: a simulated machine starts all its processes at the beginning (-n)\n", name);
  return gm_raise(p, c, MPI_ERR_SPAWN, name);
}
CALL(Comm_spawn, const char *command, char *argv[], int maxprocs, MPI_Info info, int root,
     MPI_Comm comm, MPI_Comm *intercomm, int codes[]) {
  IN("Comm_spawn");
  (void)command, (void)argv, (void)maxprocs, (void)info, (void)root, (void)intercomm, (void)codes;
  return no_processes(p, comm_of(p, comm), scope.name);
}
CALL(Comm_spawn_multiple, int count, char *commands[], char **argvs[], const int maxprocs[],
     const MPI_Info infos[], int root, MPI_Comm comm, MPI_Comm *intercomm, int codes[]) {
  IN("Comm_spawn_multiple");
  (void)count, (void)commands, (void)argvs, (void)maxprocs, (void)infos, (void)root,
      (void)intercomm, (void)codes;
  return no_processes(p, comm_of(p, comm), scope.name);
}
CALL(Comm_get_parent, MPI_Comm *parent) {
  NEED_ALWAYS("Comm_get_parent", parent);
  *parent = MPI_COMM_NULL;
  return MPI_SUCCESS;
}

/* ---- what a datatype was made of --------------------------------------------------------------------------------------------- */
static MPI_Datatype handle_to_old(gm_proc *p, gm_type *t) {
  if (t->is_static) return t->handle;
  gm_type_ref(t);
  if (gm_find(p, GM_T_TYPE, t->handle) ==
      t) { /* a new handle of the same type, to be freed by the caller */
    return GM_HANDLE(GM_T_TYPE, gm_put(&p->table[GM_T_TYPE], t));
  }
  return type_handle(p, t);
}
CALL(Type_get_envelope, MPI_Datatype type, int *ints, int *aints, int *type_count, int *combiner) {
  IN("Type_get_envelope");
  NEED(NULL, ints && aints && type_count && combiner);
  const gm_type *t = type_of(p, type);
  FAIL_IF(!t, NULL, MPI_ERR_TYPE);
  *combiner = t->combiner ? t->combiner : MPI_COMBINER_NAMED;
  *ints = t->int_count;
  *aints = t->aint_count;
  *type_count = t->type_count;
  return MPI_SUCCESS;
}
CALL(Type_get_envelope_c, MPI_Datatype type, MPI_Count *ints, MPI_Count *aints, MPI_Count *counts,
     MPI_Count *type_count, int *combiner) {
  IN("Type_get_envelope");
  NEED(NULL, ints && aints && counts && type_count && combiner);
  const gm_type *t = type_of(p, type);
  FAIL_IF(!t, NULL, MPI_ERR_TYPE);
  *combiner = t->combiner ? t->combiner : MPI_COMBINER_NAMED;
  *ints = t->int_count;
  *aints = t->aint_count;
  *counts = t->count_count;
  *type_count = t->type_count;
  return MPI_SUCCESS;
}
CALL(Type_get_contents, MPI_Datatype type, int max_ints, int max_aints, int max_types, int ints[],
     MPI_Aint aints[], MPI_Datatype olds[]) {
  IN("Type_get_contents");
  NEED(NULL, (max_ints <= 0 || ints) && (max_aints <= 0 || aints) && (max_types <= 0 || olds));
  const gm_type *t = type_of(p, type);
  FAIL_IF(!t || !t->combiner || t->count_count, NULL, MPI_ERR_TYPE);
  FAIL_IF(max_ints < t->int_count || max_aints < t->aint_count || max_types < t->type_count, NULL,
          MPI_ERR_OTHER);
  for (int i = 0; i < t->int_count; i++) ints[i] = t->ints[i];
  for (int i = 0; i < t->aint_count; i++) aints[i] = t->aints[i];
  for (int i = 0; i < t->type_count; i++) olds[i] = handle_to_old(p, t->types[i]);
  return MPI_SUCCESS;
}
CALL(Type_get_contents_c, MPI_Datatype type, MPI_Count max_ints, MPI_Count max_aints,
     MPI_Count max_counts, MPI_Count max_types, int ints[], MPI_Aint aints[], MPI_Count counts[],
     MPI_Datatype olds[]) {
  IN("Type_get_contents");
  NEED(NULL, (max_ints <= 0 || ints) && (max_aints <= 0 || aints) && (max_counts <= 0 || counts) &&
                 (max_types <= 0 || olds));
  const gm_type *t = type_of(p, type);
  FAIL_IF(!t || !t->combiner, NULL, MPI_ERR_TYPE);
  FAIL_IF(max_ints < t->int_count || max_aints < t->aint_count || max_counts < t->count_count ||
              max_types < t->type_count,
          NULL, MPI_ERR_OTHER);
  for (int i = 0; i < t->int_count; i++) ints[i] = t->ints[i];
  for (int i = 0; i < t->aint_count; i++) aints[i] = t->aints[i];
  for (int i = 0; i < t->count_count; i++) counts[i] = t->counts[i];
  for (int i = 0; i < t->type_count; i++) olds[i] = handle_to_old(p, t->types[i]);
  return MPI_SUCCESS;
}
static int *ints_copy(const int *from, int count) {
  if (!from) return NULL;
  int *to = gm_alloc((size_t)(count + 1) * sizeof *to);
  memcpy(to, from, (size_t)count * sizeof *to);
  return to;
}
static gm_topo *topo_copy(const gm_topo *t) {
  if (!t) return NULL;
  gm_topo *n = gm_alloc(sizeof *n);
  *n = *t;
  n->dims = ints_copy(t->dims, t->dim_count);
  n->periods = ints_copy(t->periods, t->dim_count);
  n->index = ints_copy(t->index, t->size);
  n->edges = ints_copy(t->edges, t->edge_count);
  n->in = ints_copy(t->in, t->in_count);
  n->out = ints_copy(t->out, t->out_count);
  n->in_weights = ints_copy(t->in_weights, t->in_count);
  n->out_weights = ints_copy(t->out_weights, t->out_count);
  return n;
}
