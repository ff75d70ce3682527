/* MPI functions: one-sided communication. Puts, gets and atomics of Portals, piece by piece where memory lies apart;
   one entry of the third portal opens all memory of a process to them, what may be touched is checked by who
   asks. Operators that the NIC lacks are computed by the origin under a lock at the target. */
#ifndef GM_PASS
#  include "abi.h"

typedef struct win_place { /* of one process, seen by all: one address space */
  char *base;
  int64_t size, disp_unit;
  int64_t lock, accumulate_lock; /* words that others change by atomics */
  struct {
    char *base;
    int64_t size;
  } * attached;
  int attached_count;
} win_place;
typedef struct win_all {
  int refs, size;
  char *shared;
  win_place place[];
} win_all;
typedef struct gm_win {
  gm_comm *comm;
  win_all *all;
  int flavor, handle, model, rank;
  int64_t size_value;
  int unit_value;
  void *memory; /* allocated here */
  int *pending; /* operations under way, per target */
  int pending_all;
  signed char *locked; /* per target: 1 shared, 2 exclusive, 3 nothing to release */
  int lock_all;
  bool is_fenced;
  gm_group *exposed, *started;
  gm_msg *tokens; /* what MPI_Win_wait waits for */
  int token_count;
  gm_attr *attrs;
  gm_errh *errh;
  gm_info *info;
  char *name;
} gm_win;
enum { LOCK_SHARED = 1, LOCK_EXCLUSIVE, LOCK_NOTHING, TAG_POST = 1, TAG_COMPLETE = 2 };
#  define EXCLUSIVE ((int64_t)1 << 40)

static gm_win *win_of(gm_proc *p, MPI_Win h) { return gm_find(p, GM_T_WIN, h); }
static int raise_win(gm_proc *p, gm_win *w, int code, const char *name) {
  if (!w || !w->errh) return gm_raise(p, NULL, code, name);
  return gm_raise_to(p, w->errh, w->handle, code, name);
}
#  define WIN(w, h)                                                                                \
    gm_win *w = win_of(p, h);                                                                      \
    if (!w) return raise_win(p, NULL, MPI_ERR_WIN, scope.name)
#  define NEED_OF_WIN(are_there)                                                                   \
    if (!(are_there)) return raise_win(p, win_of(p, win), MPI_ERR_ARG, scope.name)
#  define WIN_FAIL_IF(condition, w, code)                                                          \
    do {                                                                                           \
      if (condition) return raise_win(p, w, code, scope.name);                                     \
    } while (0)

/* ---- windows come and go ----------------------------------------------------------------------------------- */
static void open_memory(gm_proc *p) {
  ptl_me_t me;
  ptl_handle_me_t h;
  if (p->has_win_entry) return;
  memset(&me, 0, sizeof me);
  me.length = PTL_SIZE_MAX;
  me.ct_handle = PTL_CT_NONE;
  me.uid = PTL_UID_ANY;
  me.options = PTL_ME_OP_PUT | PTL_ME_OP_GET | PTL_ME_IS_ACCESSIBLE | PTL_ME_EVENT_LINK_DISABLE |
               PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_UNLINK_DISABLE;
  me.match_id.phys.nid = PTL_NID_ANY;
  me.match_id.phys.pid = PTL_PID_ANY;
  if (PtlMEAppend(p->ni, p->pt_win, &me, PTL_PRIORITY_LIST, NULL, &h))
    gm_fatal("no entry for windows");
  p->has_win_entry = 1;
}
/* Collective: the table is made by the first process; where it lies is told to the others. */
static void win_info_take(gm_win *w, const gm_info *from) {
  static const gm_hint known[] = {{"no_locks", "false"},
                                  {"accumulate_ordering", "rar,raw,war,waw"},
                                  {"accumulate_ops", "same_op_no_op"},
                                  {"alloc_shared_noncontig", "false"},
                                  {"same_size", "false"},
                                  {"same_disp_unit", "false"},
                                  {"alloc_shm", "true"},
                                  {NULL, NULL}};
  gm_info_take(&w->info, from, known);
}
static gm_win *win_make(gm_proc *p, gm_comm *c, int flavor, char *base, int64_t size, int64_t unit,
                        MPI_Info info) {
  gm_win *w = gm_alloc(sizeof *w);
  const uint32_t context = gm_comm_agree(p, c);
  win_all *all = NULL;
  open_memory(p);
  w->comm = gm_comm_make(p, c->local, NULL, context);
  if (w->comm->rank == 0) {
    all = gm_alloc(sizeof *all + (size_t)c->local->size * sizeof *all->place);
    all->size = all->refs = c->local->size;
  }
  gm_bcast_bytes(p, w->comm, &all, sizeof all, 0);
  w->all = all;
  w->rank = w->comm->rank;
  w->flavor = flavor;
  w->model = MPI_WIN_UNIFIED;
  w->size_value = size;
  w->unit_value = (int)unit;
  all->place[w->rank].base = base;
  all->place[w->rank].size = size;
  all->place[w->rank].disp_unit = unit;
  w->pending = gm_alloc((size_t)all->size * sizeof *w->pending);
  w->locked = gm_alloc((size_t)all->size);
  win_info_take(w, info_of(p, info));
  gm_barrier(p, w->comm);
  w->handle = GM_HANDLE(GM_T_WIN, gm_put(&p->table[GM_T_WIN], w));
  return w;
}
static void flush(gm_proc *p, gm_win *w, int target) {
  while (target < 0 ? w->pending_all : w->pending[target]) gm_wait_event(p);
}
static int win_check(gm_comm *c, int64_t size, int64_t unit) {
  if (!c || c->remote) return MPI_ERR_COMM;
  return size < 0 ? MPI_ERR_SIZE : unit < 1 ? MPI_ERR_DISP : MPI_SUCCESS;
}
static int win_create(gm_proc *p, const char *name, void *base, MPI_Aint size, int64_t unit,
                      MPI_Info info, MPI_Comm comm, MPI_Win *win) {
  gm_comm *c = comm_of(p, comm);
  const int bad = win_check(c, size, unit);
  if (bad) return gm_raise(p, c, bad, name);
  *win = win_make(p, c, MPI_WIN_FLAVOR_CREATE, base, size, unit, info)->handle;
  return MPI_SUCCESS;
}
static int win_allocate(gm_proc *p, const char *name, MPI_Aint size, int64_t unit, MPI_Info info,
                        MPI_Comm comm, void *baseptr, MPI_Win *win) {
  gm_comm *c = comm_of(p, comm);
  const int bad = win_check(c, size, unit);
  if (bad) return gm_raise(p, c, bad, name);
  void *memory = NULL;
  if (posix_memalign(&memory, 64, size ? (size_t)size : 1)) gm_fatal("%s: out of memory", name);
  memset(memory, 0, size ? (size_t)size : 1);
  gm_win *w = win_make(p, c, MPI_WIN_FLAVOR_ALLOCATE, memory, size, unit, info);
  w->memory = memory;
  *(void **)baseptr = memory;
  *win = w->handle;
  return MPI_SUCCESS;
}
static int win_shared(gm_proc *p, const char *name, MPI_Aint size, int64_t unit, MPI_Info info,
                      MPI_Comm comm, void *baseptr, MPI_Win *win) {
  gm_comm *c = comm_of(p, comm);
  const int bad = win_check(c, size, unit);
  if (bad) return gm_raise(p, c, bad, name);
  const pm_world *world = pm_world_of(pm_self());
  for (int i = 0; i < c->local->size; i++)
    if (pm_process_node(pm_process_at((pm_world *)(uintptr_t)world, gm_group_world(c->local, i))) !=
        pm_process_node(pm_self()))
      return gm_raise(p, c, MPI_ERR_RMA_SHARED, name);
  gm_win *w = win_make(p, c, MPI_WIN_FLAVOR_SHARED, NULL, size, unit, info);
  const char *apart = gm_info_value(w->info, "alloc_shared_noncontig");
  const int64_t step = apart && strcmp(apart, "true") == 0 ? 64 : 1;
  int64_t total = 0, at = 0;
  for (int i = 0; i < w->all->size; i++) {
    if (i == w->rank) at = total;
    total += (w->all->place[i].size + step - 1) / step * step;
  }
  if (w->rank == 0) {
    if (posix_memalign((void **)&w->all->shared, 4096, total ? (size_t)total : 1))
      gm_fatal("%s: out of memory", name);
    memset(w->all->shared, 0, total ? (size_t)total : 1);
  }
  gm_barrier(p, w->comm);
  w->all->place[w->rank].base = w->all->shared + at;
  gm_barrier(p, w->comm);
  *(void **)baseptr = w->all->place[w->rank].base;
  *win = w->handle;
  return MPI_SUCCESS;
}
CALL(Win_create_dynamic, MPI_Info info, MPI_Comm comm, MPI_Win *win) {
  IN("Win_create_dynamic");
  NEED(comm_of(p, comm), win);
  gm_comm *c = comm_of(p, comm);
  FAIL_IF(!c || c->remote, c, MPI_ERR_COMM);
  *win = win_make(p, c, MPI_WIN_FLAVOR_DYNAMIC, NULL, 0, 1, info)->handle;
  return MPI_SUCCESS;
}
CALL(Win_attach, MPI_Win win, void *base, MPI_Aint size) {
  IN("Win_attach");
  WIN(w, win);
  WIN_FAIL_IF(w->flavor != MPI_WIN_FLAVOR_DYNAMIC, w, MPI_ERR_RMA_FLAVOR);
  WIN_FAIL_IF(size < 0, w, MPI_ERR_SIZE);
  win_place *mine = &w->all->place[w->rank];
  mine->attached =
      realloc(mine->attached, (size_t)(mine->attached_count + 1) * sizeof *mine->attached);
  if (!mine->attached) gm_fatal("out of memory for MPI");
  mine->attached[mine->attached_count].base = base;
  mine->attached[mine->attached_count++].size = size;
  return MPI_SUCCESS;
}
CALL(Win_detach, MPI_Win win, const void *base) {
  IN("Win_detach");
  WIN(w, win);
  win_place *mine = &w->all->place[w->rank];
  int i = 0;
  while (i < mine->attached_count && mine->attached[i].base != base) i++;
  WIN_FAIL_IF(i == mine->attached_count, w, MPI_ERR_BASE);
  mine->attached[i] = mine->attached[--mine->attached_count];
  return MPI_SUCCESS;
}
static bool is_locked(const gm_win *w) {
  int is = w->lock_all;
  for (int i = 0; i < w->all->size && !is; i++) is = w->locked[i] != 0;
  return is;
}
CALL(Win_free, MPI_Win *win) {
  IN("Win_free");
  NEED(NULL, win);
  WIN(w, *win);
  WIN_FAIL_IF(is_locked(w) || w->started || w->exposed, w, MPI_ERR_RMA_SYNC);
  const int code = gm_attrs_free(p, *win, &w->attrs);
  WIN_FAIL_IF(code, w, code);
  flush(p, w, -1);
  gm_barrier(p, w->comm);
  gm_drop(&p->table[GM_T_WIN], GM_INDEX(*win));
  free(w->all->place[w->rank].attached);
  if (--w->all->refs == 0) {
    free(w->all->shared);
    free(w->all);
  }
  free(w->memory);
  free(w->pending);
  free(w->locked);
  free(w->name);
  gm_info_free(w->info);
  gm_comm_unref(w->comm);
  free(w);
  *win = MPI_WIN_NULL;
  return MPI_SUCCESS;
}
CALL(Win_get_group, MPI_Win win, MPI_Group *group) {
  IN("Win_get_group");
  NEED_OF_WIN(group);
  WIN(w, win);
  *group = group_handle(p, gm_group_keep(w->comm->local));
  return MPI_SUCCESS;
}
CALL(Win_set_name, MPI_Win win, const char *name) {
  IN("Win_set_name");
  NEED_OF_WIN(name);
  WIN(w, win);
  free(w->name);
  w->name = strndup(name, MPI_MAX_OBJECT_NAME - 1);
  return MPI_SUCCESS;
}
CALL(Win_get_name, MPI_Win win, char *name, int *length) {
  IN("Win_get_name");
  NEED_OF_WIN(name && length);
  WIN(w, win);
  *length = snprintf(name, MPI_MAX_OBJECT_NAME, "%s", w->name ? w->name : "");
  return MPI_SUCCESS;
}
CALL(Win_set_info, MPI_Win win, MPI_Info info) {
  IN("Win_set_info");
  WIN(w, win);
  win_info_take(w, info_of(p, info));
  return MPI_SUCCESS;
}
CALL(Win_get_info, MPI_Win win, MPI_Info *info) {
  IN("Win_get_info");
  NEED_OF_WIN(info);
  WIN(w, win);
  *info = info_handle(p, gm_info_copy(w->info));
  return MPI_SUCCESS;
}
CALL(Win_set_errhandler, MPI_Win win, MPI_Errhandler h) {
  IN("Win_set_errhandler");
  WIN(w, win);
  WIN_FAIL_IF(!errh_of(p, h), w, MPI_ERR_ARG);
  w->errh = errh_of(p, h);
  return MPI_SUCCESS;
}
CALL(Win_get_errhandler, MPI_Win win, MPI_Errhandler *h) {
  IN("Win_get_errhandler");
  NEED_OF_WIN(h);
  WIN(w, win);
  *h = w->errh ? w->errh->handle : MPI_ERRORS_ARE_FATAL;
  return MPI_SUCCESS;
}
CALL(Win_call_errhandler, MPI_Win win, int code) {
  IN("Win_call_errhandler");
  WIN(w, win);
  raise_win(p, w, code, scope.name);
  return MPI_SUCCESS;
}
/* ret where the value is of an attribute that every window has (its base itself); NULL: none of these */
static void *predefined_attr(gm_win *w, int keyval, bool *is_base) {
  const int known = keyval % 2 ? keyval : keyval - 1; /* Fortran's are one more */
  *is_base = known == MPI_WIN_BASE;
  switch (known) {
  case MPI_WIN_BASE: return w->all->place[w->rank].base;
  case MPI_WIN_SIZE: return &w->size_value;
  case MPI_WIN_DISP_UNIT: return &w->unit_value;
  case MPI_WIN_CREATE_FLAVOR: return &w->flavor;
  case MPI_WIN_MODEL: return &w->model;
  default: return NULL;
  }
}
CALL(Win_get_attr, MPI_Win win, int keyval, void *value, int *flag) {
  IN("Win_get_attr");
  NEED_OF_WIN(flag);
  WIN(w, win);
  bool is_base;
  void *known = predefined_attr(w, keyval, &is_base);
  if (!known && !is_base) {
    WIN_FAIL_IF(!gm_keyval_of(p, keyval, GM_KEY_OF_WIN), w, MPI_ERR_KEYVAL);
    return gm_attr_get(w->attrs, keyval, value, flag, 0);
  }
  *flag = 1;
  *(void **)value = known;
  return MPI_SUCCESS;
}
CALL(Win_set_attr, MPI_Win win, int keyval, void *value) {
  IN("Win_set_attr");
  WIN(w, win);
  return gm_attr_set(p, scope.name, NULL, win, &w->attrs, keyval, value, 0);
}
CALL(Win_delete_attr, MPI_Win win, int keyval) {
  IN("Win_delete_attr");
  WIN(w, win);
  const int code = gm_win_attr_delete(p, win, &w->attrs, keyval);
  WIN_FAIL_IF(code, w, code);
  return MPI_SUCCESS;
}
__attribute__((visibility("default"))) int MPII_Win_get_attr(MPI_Win win, int keyval, void *value,
                                                             int *flag, int type);
__attribute__((visibility("default"))) int MPII_Win_set_attr(MPI_Win win, int keyval, void *value,
                                                             int type);
int MPII_Win_get_attr(MPI_Win win, int keyval, void *value, int *flag, int type) {
  IN("Win_get_attr");
  WIN(w, win);
  bool is_base;
  void *known = predefined_attr(w, keyval, &is_base);
  if (!known && !is_base) return gm_attr_get(w->attrs, keyval, value, flag, type);
  *flag = 1; /* Fortran asks for the values themselves */
  *(void **)value = is_base                   ? known
                    : known == &w->size_value ? (void *)(intptr_t)w->size_value
                                              : (void *)(intptr_t) * (int *)known;
  return MPI_SUCCESS;
}
int MPII_Win_set_attr(MPI_Win win, int keyval, void *value, int type) {
  IN("Win_set_attr");
  WIN(w, win);
  return gm_attr_set(p, scope.name, NULL, win, &w->attrs, keyval, value, type);
}

/* ---- operations --------------------------------------------------------------------------------------------------- */
typedef struct operation {
  gm_msg msg;
  gm_proc *proc;
  gm_win *win;
  int target, kind; /* 'p'ut 'g'et 'a'ccumulate 'f'etch 's'wap */
  char *from, *to;  /* plain bytes: what goes there, what comes back */
  void *packed_from, *packed_to, *user;
  uint64_t user_count, at, left; /* left: bytes that are still to go */
  gm_type *user_type;
  ptl_op_t op;
  ptl_datatype_t type;
  uint64_t chunk;
  const void *operand;
  char *base;
  gm_req *request;
} operation;
static void operation_done(gm_msg *m) {
  operation *o = m->user;
  if (o->proc->record) gm_record_one_sided_done(o->proc, m);
  o->win->pending[o->target]--;
  o->win->pending_all--;
  if (o->packed_to) {
    gm_unpack(o->user, o->user_count, o->user_type, o->packed_to, o->at);
    gm_busy_bytes((double)(o->user_count * o->user_type->size));
  }
  free(o->packed_from);
  free(o->packed_to);
  if (o->user_type) gm_type_unref(o->user_type);
  gm_req *r = o->request;
  free(o);
  if (r) gm_req_complete(r);
}
static void one_piece(void *arg, int64_t offset, uint64_t bytes) {
  operation *o = arg;
  gm_proc *p = o->proc;
  const ptl_process_t to = pm_process_id(gm_group_world(o->win->comm->local, o->target));
  int code = 0;
  if (bytes > o->left) bytes = o->left;
  o->left -= bytes;
  while (bytes && !code) {
    const uint64_t n = bytes < o->chunk ? bytes : o->chunk;
    const ptl_size_t from = (ptl_size_t)(uintptr_t)(o->from ? o->from + o->at : NULL),
                     back = (ptl_size_t)(uintptr_t)(o->to ? o->to + o->at : NULL),
                     there = (ptl_size_t)(uintptr_t)(o->base + offset);
    o->msg.waits++;
    switch (o->kind) {
    case 'p':
      code = PtlPut(p->md_quiet, from, n, PTL_ACK_REQ, to, p->pt_win, 0, there, &o->msg, 0);
      break;
    case 'g': code = PtlGet(p->md_quiet, back, n, to, p->pt_win, 0, there, &o->msg); break;
    case 'a':
      code = PtlAtomic(p->md_quiet, from, n, PTL_ACK_REQ, to, p->pt_win, 0, there, &o->msg, 0,
                       o->op, o->type);
      break;
    case 'f':
      code = PtlFetchAtomic(p->md_quiet, back, p->md_quiet, from, n, to, p->pt_win, 0, there,
                            &o->msg, 0, o->op, o->type);
      break;
    default:
      code = PtlSwap(p->md_quiet, back, p->md_quiet, from, n, to, p->pt_win, 0, there, &o->msg, 0,
                     o->operand, o->op, o->type);
      break;
    }
    o->at += n;
    offset += (int64_t)n;
    bytes -= n;
  }
  if (code)
    gm_fatal("a one-sided operation of %llu bytes was refused: %s", (unsigned long long)bytes,
             pm_ptl_status_name(code));
}
static operation *begin(gm_proc *p, gm_win *w, int target, int kind, uint64_t chunk,
                        gm_req *request) {
  operation *o = gm_alloc(sizeof *o);
  o->proc = p;
  o->win = w;
  o->target = target;
  o->kind = kind;
  o->chunk = chunk;
  o->left = UINT64_MAX;
  o->request = request;
  o->msg.done = operation_done;
  o->msg.user = o;
  o->msg.waits = 1; /* until all pieces are on their way */
  w->pending[target]++;
  w->pending_all++;
  return o;
}
static void set_off(operation *o, const gm_type *t, uint64_t count, int64_t disp) {
  const win_place *there = &o->win->all->place[o->target];
  o->base = there->base + disp * there->disp_unit;
  if (o->proc->record)
    gm_record_one_sided(o->proc, &o->msg,
                        o->kind == 'p'   ? NBC_KIND_PUT
                        : o->kind == 'g' ? NBC_KIND_GET
                                         : NBC_KIND_ATOMIC,
                        gm_group_world(o->win->comm->local, o->target),
                        t->size * count < o->left ? t->size * count : o->left,
                        o->kind != 'p' && o->kind != 'a');
  gm_pieces(t, count, 0, one_piece, o);
  if (--o->msg.waits == 0) o->msg.is_done = 1, operation_done(&o->msg);
}
static char *plain_from(operation *o, const void *buffer, uint64_t count, gm_type *t) {
  if (GM_IS_PLAIN(t)) return (char *)(uintptr_t)buffer + t->true_lb;
  o->packed_from = gm_alloc(t->size * count);
  gm_pack(buffer, count, t, o->packed_from);
  gm_busy_bytes((double)(t->size * count));
  return o->packed_from;
}
static char *plain_to(operation *o, void *buffer, uint64_t count, gm_type *t) {
  if (GM_IS_PLAIN(t)) return (char *)buffer + t->true_lb;
  o->packed_to = gm_alloc(t->size * count);
  o->user = buffer;
  o->user_count = count;
  o->user_type = t;
  gm_type_ref(t);
  return o->packed_to;
}

/* ---- what may be touched, and when ---------------------------------------------------------------------------------- */
static bool is_inside(const gm_win *w, int target, int64_t disp, const gm_type *t, int64_t count) {
  const win_place *there = &w->all->place[target];
  if (!count || !t->size) return 1;
  const int64_t last = (count - 1) * GM_EXTENT(t),
                low = disp * there->disp_unit + t->true_lb + (last < 0 ? last : 0),
                high = disp * there->disp_unit + t->true_ub + (last > 0 ? last : 0);
  if (w->flavor != MPI_WIN_FLAVOR_DYNAMIC) return low >= 0 && high <= there->size;
  int64_t at = low; /* pieces may follow each other */
  for (int i = 0; i < there->attached_count && at < high; i++) {
    const int64_t base = (int64_t)(intptr_t)there->attached[i].base,
                  end = base + there->attached[i].size;
    if (at >= base && at < end) at = end, i = -1;
  }
  return at >= high;
}
static void lock_take(gm_proc *p, gm_win *w, int target, int how);
static int check_target(gm_proc *p, gm_win *w, int target, int64_t disp, const gm_type *t,
                        int64_t count) {
  if (target < 0 || target >= w->all->size) return MPI_ERR_RANK;
  if (gm_check_type(t, count)) return gm_check_type(t, count);
  if (disp < 0 && w->flavor != MPI_WIN_FLAVOR_DYNAMIC) return MPI_ERR_DISP;
  const int started =
      w->started &&
      gm_group_find(w->started, gm_group_world(w->comm->local, target)) != MPI_UNDEFINED;
  if (!w->is_fenced && !started && !w->locked[target] && !w->lock_all) return MPI_ERR_RMA_SYNC;
  if (w->lock_all && !w->locked[target])
    lock_take(p, w, target, w->lock_all == 2 ? LOCK_NOTHING : LOCK_SHARED);
  return is_inside(w, target, disp, t, count) ? MPI_SUCCESS : MPI_ERR_RMA_RANGE;
}
static gm_req *win_request(gm_proc *p, MPI_Request *request) {
  if (!request) return NULL;
  gm_req *r = gm_req_new(p, REQ_WIN);
  r->is_active = 1;
  *request = gm_req_handle(p, r);
  return r;
}
static int rma_null(gm_proc *p, MPI_Request *request) { /* to MPI_PROC_NULL */
  gm_req *r = win_request(p, request);
  if (r) gm_req_complete(r);
  return MPI_SUCCESS;
}
static int transfer(gm_proc *p, const char *name, int kind, void *origin, int64_t origin_count,
                    MPI_Datatype origin_type, int target, MPI_Aint disp, int64_t count,
                    MPI_Datatype type, MPI_Win win, MPI_Request *request) {
  gm_win *w = win_of(p, win);
  gm_type *ot = type_of(p, origin_type), *t = type_of(p, type);
  if (!w) return raise_win(p, NULL, MPI_ERR_WIN, name);
  if (target == MPI_PROC_NULL) return rma_null(p, request);
  int bad = gm_check_type(ot, origin_count);
  if (!bad) bad = check_target(p, w, target, disp, t, count);
  if (bad) return raise_win(p, w, bad, name);
  const uint64_t here = ot->size * (uint64_t)origin_count, there = t->size * (uint64_t)count;
  if (kind == 'p' ? here > there : there > here) return raise_win(p, w, MPI_ERR_TRUNCATE, name);
  if (here && !origin && ot->is_static) return raise_win(p, w, MPI_ERR_BUFFER, name);
  operation *o = begin(p, w, target, kind, p->piece_bytes, win_request(p, request));
  if (kind == 'p')
    o->from = plain_from(o, origin, (uint64_t)origin_count, ot);
  else
    o->to = plain_to(o, origin, (uint64_t)origin_count, ot);
  o->left = here < there ? here : there; /* a longer buffer keeps its end */
  set_off(o, t, (uint64_t)count, disp);
  return MPI_SUCCESS;
}

/* ---- atomics ------------------------------------------------------------------------------------------------------------ */
static int ptl_type(gm_kind kind, ptl_datatype_t *type) {
  static const struct {
    gm_kind kind;
    ptl_datatype_t type;
  } map[] = {{GM_K_I8, PTL_INT8_T},
             {GM_K_U8, PTL_UINT8_T},
             {GM_K_BYTE, PTL_UINT8_T},
             {GM_K_BOOL, PTL_UINT8_T},
             {GM_K_I16, PTL_INT16_T},
             {GM_K_U16, PTL_UINT16_T},
             {GM_K_I32, PTL_INT32_T},
             {GM_K_LOGICAL4, PTL_INT32_T},
             {GM_K_U32, PTL_UINT32_T},
             {GM_K_I64, PTL_INT64_T},
             {GM_K_U64, PTL_UINT64_T},
             {GM_K_F32, PTL_FLOAT},
             {GM_K_F64, PTL_DOUBLE},
             {GM_K_F80, PTL_LONG_DOUBLE},
             {GM_K_C32, PTL_FLOAT_COMPLEX},
             {GM_K_C64, PTL_DOUBLE_COMPLEX},
             {GM_K_C80, PTL_LONG_DOUBLE_COMPLEX},
             {GM_K_CHAR, PTL_INT8_T},
             {GM_K_WCHAR, PTL_INT32_T}};
  for (size_t i = 0; i < sizeof map / sizeof *map; i++)
    if (map[i].kind == kind) {
      *type = map[i].type;
      return 1;
    }
  return 0;
}
static int ptl_op(int id, ptl_op_t *op) {
  static const ptl_op_t map[] = {
      [GM_MAX] = PTL_MAX,   [GM_MIN] = PTL_MIN,   [GM_SUM] = PTL_SUM, [GM_PROD] = PTL_PROD,
      [GM_LAND] = PTL_LAND, [GM_BAND] = PTL_BAND, [GM_LOR] = PTL_LOR, [GM_BOR] = PTL_BOR,
      [GM_LXOR] = PTL_LXOR, [GM_BXOR] = PTL_BXOR};
  if (id < GM_MAX || id > GM_BXOR) return 0;
  *op = map[id];
  return 1;
}
/* An atomic of one word at a place of the target's; ret the old value. */
static int64_t word_atomic(gm_proc *p, gm_win *w, int target, int64_t *there, ptl_op_t op,
                           int64_t value, const int64_t *compare) {
  const ptl_process_t to = pm_process_id(gm_group_world(w->comm->local, target));
  int64_t old = 0;
  gm_msg m;
  memset(&m, 0, sizeof m);
  m.waits = 1;
  const ptl_size_t at = (ptl_size_t)(uintptr_t)there, back = (ptl_size_t)(uintptr_t)&old,
                   from = (ptl_size_t)(uintptr_t)&value;
  const int code = compare ? PtlSwap(p->md_quiet, back, p->md_quiet, from, 8, to, p->pt_win, 0, at,
                                     &m, 0, compare, op, PTL_INT64_T)
                           : PtlFetchAtomic(p->md_quiet, back, p->md_quiet, from, 8, to, p->pt_win,
                                            0, at, &m, 0, op, PTL_INT64_T);
  if (code) gm_fatal("an atomic was refused: %s", pm_ptl_status_name(code));
  gm_wait(p, &m.is_done);
  return old;
}
static void back_off(int64_t *d_ns) {
  pm_sleep_ns(*d_ns);
  if (*d_ns < 20000) *d_ns *= 2;
}
static void lock_take(gm_proc *p, gm_win *w, int target, int how) {
  int64_t *word = &w->all->place[target].lock, d_ns = 500;
  const int64_t none = 0;
  w->locked[target] = (signed char)how;
  if (how == LOCK_NOTHING) return;
  if (how == LOCK_EXCLUSIVE) {
    while (word_atomic(p, w, target, word, PTL_CSWAP, -EXCLUSIVE, &none) != 0) back_off(&d_ns);
    return;
  }
  while (word_atomic(p, w, target, word, PTL_SUM, 1, NULL) < 0) {
    word_atomic(p, w, target, word, PTL_SUM, -1, NULL);
    back_off(&d_ns);
  }
}
static void lock_leave(gm_proc *p, gm_win *w, int target) {
  const int how = w->locked[target];
  flush(p, w, target);
  w->locked[target] = 0;
  if (how == LOCK_EXCLUSIVE)
    word_atomic(p, w, target, &w->all->place[target].lock, PTL_SUM, EXCLUSIVE, NULL);
  if (how == LOCK_SHARED) word_atomic(p, w, target, &w->all->place[target].lock, PTL_SUM, -1, NULL);
}
/* What the NIC cannot compute: fetched, combined and put back, nobody else does so meanwhile. */
static void combine_here(gm_proc *p, gm_win *w, int target, int64_t disp, const char *from,
                         char *result, gm_op *op, gm_type *t, uint64_t count) {
  const uint64_t bytes = t->size * count;
  char *now = gm_alloc(bytes), *spread = gm_alloc((uint64_t)GM_EXTENT(t) * count),
       *mine = gm_alloc((uint64_t)GM_EXTENT(t) * count);
  int64_t d_ns = 500;
  const int64_t none = 0;
  while (word_atomic(p, w, target, &w->all->place[target].accumulate_lock, PTL_CSWAP, 1, &none) !=
         0)
    back_off(&d_ns);
  operation *o = begin(p, w, target, 'g', p->piece_bytes, NULL);
  o->to = now;
  set_off(o, t, count, disp);
  flush(p, w, target);
  if (result) memcpy(result, now, bytes);
  if (op->id != GM_NO_OP) {
    gm_unpack(spread - t->lb, count, t, now, bytes);
    gm_unpack(mine - t->lb, count, t, from, bytes);
    gm_op_apply(op, t, mine - t->lb, spread - t->lb, count);
    gm_pack(spread - t->lb, count, t, now);
    o = begin(p, w, target, 'p', p->piece_bytes, NULL);
    o->from = now;
    set_off(o, t, count, disp);
    flush(p, w, target);
  }
  word_atomic(p, w, target, &w->all->place[target].accumulate_lock, PTL_SUM, -1, NULL);
  free(now);
  free(spread);
  free(mine);
}
typedef struct atomic_call {
  const void *origin;
  int64_t origin_count;
  MPI_Datatype origin_type;
  void *result;
  int64_t result_count;
  MPI_Datatype result_type;
  bool is_fetch;
} atomic_call;
static int accumulate(gm_proc *p, const char *name, const atomic_call *k, int target, MPI_Aint disp,
                      int64_t count, MPI_Datatype type, MPI_Op op, MPI_Win win,
                      MPI_Request *request) {
  gm_win *w = win_of(p, win);
  gm_op *f = op_of(p, op);
  gm_type *t = type_of(p, type), *ot = type_of(p, k->origin_type),
          *rt = k->is_fetch ? type_of(p, k->result_type) : NULL;
  if (!w) return raise_win(p, NULL, MPI_ERR_WIN, name);
  if (target == MPI_PROC_NULL) return rma_null(p, request);
  int bad = check_target(p, w, target, disp, t, count);
  const int sends = f && f->id != GM_NO_OP;
  if (!bad && sends) bad = gm_check_type(ot, k->origin_count);
  if (!bad && rt) bad = gm_check_type(rt, k->result_count);
  if (!bad &&
      (!f || f->id == GM_OP_USER || (count && ((t->size && !gm_kind_of(t)) || !gm_op_fits(f, t)))))
    bad = MPI_ERR_OP;
  if (!bad && !sends && !k->is_fetch) bad = MPI_ERR_OP;
  const uint64_t there = bad ? 0 : t->size * (uint64_t)count;
  if (!bad && sends && ot->size * (uint64_t)k->origin_count != there) bad = MPI_ERR_ARG;
  if (!bad && k->is_fetch && (!rt || rt->size * (uint64_t)k->result_count < there))
    bad = rt ? MPI_ERR_TRUNCATE : MPI_ERR_TYPE;
  if (!bad && there &&
      ((sends && !k->origin && ot->is_static) || (k->is_fetch && !k->result && rt->is_static)))
    bad = MPI_ERR_BUFFER;
  if (bad) return raise_win(p, w, bad, name);
  const uint64_t unit = t->elements ? t->size / t->elements : 1;
  ptl_datatype_t ptype = 0;
  ptl_op_t pop = 0;
  const int on_nic = ptl_type(gm_kind_of(t), &ptype) &&
                     (f->id == GM_REPLACE || f->id == GM_NO_OP || ptl_op(f->id, &pop));
  const uint64_t most = k->is_fetch ? p->fetch_bytes : p->atomic_bytes;
  operation *o = begin(p, w, target, 0, most / unit * unit, win_request(p, request));
  if (sends) o->from = plain_from(o, k->origin, (uint64_t)k->origin_count, ot);
  if (k->is_fetch) o->to = plain_to(o, k->result, (uint64_t)k->result_count, rt);
  o->op = pop;
  o->type = ptype;
  if (!on_nic || !o->chunk || (k->is_fetch && f->id == GM_REPLACE && unit > 16)) {
    w->pending[target]--;
    combine_here(p, w, target, disp, o->from, o->to, f, t, (uint64_t)count);
    o->at = there;
    w->pending[target]++;
    o->msg.waits = 0;
    operation_done(&o->msg);
    return MPI_SUCCESS;
  }
  if (f->id == GM_NO_OP)
    o->kind = 'g', o->chunk = p->piece_bytes;
  else if (f->id == GM_REPLACE) {
    o->kind = k->is_fetch ? 's' : 'p';
    o->op = PTL_SWAP;
    if (!k->is_fetch) o->chunk = p->piece_bytes;
  } else
    o->kind = k->is_fetch ? 'f' : 'a';
  set_off(o, t, (uint64_t)count, disp);
  return MPI_SUCCESS;
}
CALL(Fetch_and_op, const void *origin, void *result, MPI_Datatype type, int target, MPI_Aint disp,
     MPI_Op op, MPI_Win win) {
  IN("Fetch_and_op");
  const atomic_call k = {origin, 1, type, result, 1, type, 1};
  return accumulate(p, scope.name, &k, target, disp, 1, type, op, win, NULL);
}
/* Integers, characters, bytes and truth values can be compared bit by bit. */
static bool is_swapped(gm_kind k) { return k >= GM_K_BYTE && k <= GM_K_U64 && k != GM_K_WCHAR; }
CALL(Compare_and_swap, const void *origin, const void *compare, void *result, MPI_Datatype type,
     int target, MPI_Aint disp, MPI_Win win) {
  IN("Compare_and_swap");
  WIN(w, win);
  gm_type *t = type_of(p, type);
  ptl_datatype_t ptype;
  if (target == MPI_PROC_NULL) return MPI_SUCCESS;
  const int bad = check_target(p, w, target, disp, t, 1);
  WIN_FAIL_IF(bad, w, bad);
  WIN_FAIL_IF(!origin || !compare || !result, w, MPI_ERR_ARG);
  WIN_FAIL_IF(!t->is_static || !is_swapped(t->kind) || !ptl_type(t->kind, &ptype), w, MPI_ERR_TYPE);
  operation *o = begin(p, w, target, 's', t->size, NULL);
  o->from = gm_alloc(2 * t->size); /* the caller's may change before it is read */
  o->packed_from = o->from;
  memcpy(o->from, origin, t->size);
  memcpy(o->from + t->size, compare, t->size);
  o->operand = o->from + t->size;
  o->to = result;
  o->op = PTL_CSWAP;
  o->type = ptype;
  set_off(o, t, 1, disp);
  return MPI_SUCCESS;
}

/* What this process has begun on windows is over: memory that it gives back may be a result's. */
void gm_windows_flush(gm_proc *p) {
  for (uint32_t i = 1; i < p->table[GM_T_WIN].count; i++)
    if (p->table[GM_T_WIN].item[i]) flush(p, p->table[GM_T_WIN].item[i], -1);
}

/* ---- synchronisation ------------------------------------------------------------------------------------------------------ */
CALL(Win_fence, int assert, MPI_Win win) {
  IN("Win_fence");
  WIN(w, win);
  WIN_FAIL_IF(is_locked(w) || w->started || w->exposed, w, MPI_ERR_RMA_SYNC);
  flush(p, w, -1);
  gm_barrier(p, w->comm);
  w->is_fenced = !(assert &MPI_MODE_NOSUCCEED);
  return MPI_SUCCESS;
}
static void tokens_send(gm_proc *p, gm_win *w, gm_group *g, int tag) {
  gm_msg *m = gm_alloc((size_t)(g->size + 1) * sizeof *m);
  for (int i = 0; i < g->size; i++)
    gm_isend(p, &m[i], NULL, 0, gm_group_world(g, i), w->comm->context, tag, 0);
  for (int i = 0; i < g->size; i++) gm_wait(p, &m[i].is_done);
  free(m);
}
static gm_msg *tokens_expect(gm_proc *p, gm_win *w, gm_group *g, int tag) {
  gm_msg *m = gm_alloc((size_t)(g->size + 1) * sizeof *m);
  for (int i = 0; i < g->size; i++)
    gm_irecv(p, &m[i], NULL, 0, gm_group_world(g, i), w->comm->context, tag);
  return m;
}
CALL(Win_post, MPI_Group group, int assert, MPI_Win win) {
  IN("Win_post");
  WIN(w, win);
  gm_group *g = group_of(p, group);
  WIN_FAIL_IF(!g, w, MPI_ERR_GROUP);
  WIN_FAIL_IF(w->exposed, w, MPI_ERR_RMA_SYNC);
  w->exposed = gm_group_keep(g);
  w->tokens = tokens_expect(p, w, g, TAG_COMPLETE);
  w->token_count = g->size;
  w->is_fenced = 0;
  if (!(assert &MPI_MODE_NOCHECK)) tokens_send(p, w, g, TAG_POST);
  return MPI_SUCCESS;
}
CALL(Win_start, MPI_Group group, int assert, MPI_Win win) {
  IN("Win_start");
  WIN(w, win);
  gm_group *g = group_of(p, group);
  WIN_FAIL_IF(!g, w, MPI_ERR_GROUP);
  WIN_FAIL_IF(w->started || is_locked(w), w, MPI_ERR_RMA_SYNC);
  w->started = gm_group_keep(g);
  w->is_fenced = 0;
  if (assert & MPI_MODE_NOCHECK) return MPI_SUCCESS;
  gm_msg *m = tokens_expect(p, w, g, TAG_POST);
  for (int i = 0; i < g->size; i++) gm_wait(p, &m[i].is_done);
  free(m);
  return MPI_SUCCESS;
}
CALL(Win_complete, MPI_Win win) {
  IN("Win_complete");
  WIN(w, win);
  WIN_FAIL_IF(!w->started, w, MPI_ERR_RMA_SYNC);
  flush(p, w, -1);
  tokens_send(p, w, w->started, TAG_COMPLETE);
  gm_group_leave(w->started);
  w->started = NULL;
  return MPI_SUCCESS;
}
static void exposure_end(gm_win *w) {
  free(w->tokens);
  w->tokens = NULL;
  gm_group_leave(w->exposed);
  w->exposed = NULL;
}
CALL(Win_wait, MPI_Win win) {
  IN("Win_wait");
  WIN(w, win);
  WIN_FAIL_IF(!w->exposed, w, MPI_ERR_RMA_SYNC);
  for (int i = 0; i < w->token_count; i++) gm_wait(p, &w->tokens[i].is_done);
  exposure_end(w);
  return MPI_SUCCESS;
}
CALL(Win_test, MPI_Win win, int *flag) {
  IN("Win_test");
  NEED_OF_WIN(flag);
  WIN(w, win);
  WIN_FAIL_IF(!w->exposed, w, MPI_ERR_RMA_SYNC);
  for (int pass = 0; pass < 2; pass++) {
    *flag = 1;
    for (int i = 0; i < w->token_count; i++) *flag = *flag && w->tokens[i].is_done;
    if (*flag || pass) break;
    gm_poll(p);
  }
  if (*flag) exposure_end(w);
  return MPI_SUCCESS;
}
CALL(Win_lock, int type, int rank, int assert, MPI_Win win) {
  IN("Win_lock");
  WIN(w, win);
  WIN_FAIL_IF(type != MPI_LOCK_EXCLUSIVE && type != MPI_LOCK_SHARED, w, MPI_ERR_LOCKTYPE);
  if (rank == MPI_PROC_NULL) return MPI_SUCCESS;
  WIN_FAIL_IF(rank < 0 || rank >= w->all->size, w, MPI_ERR_RANK);
  WIN_FAIL_IF(w->locked[rank] || w->lock_all || w->started, w, MPI_ERR_RMA_SYNC);
  w->is_fenced = 0;
  lock_take(p, w, rank,
            assert &MPI_MODE_NOCHECK  ? LOCK_NOTHING
            : type == MPI_LOCK_SHARED ? LOCK_SHARED
                                      : LOCK_EXCLUSIVE);
  return MPI_SUCCESS;
}
CALL(Win_unlock, int rank, MPI_Win win) {
  IN("Win_unlock");
  WIN(w, win);
  if (rank == MPI_PROC_NULL) return MPI_SUCCESS;
  WIN_FAIL_IF(rank < 0 || rank >= w->all->size, w, MPI_ERR_RANK);
  WIN_FAIL_IF(!w->locked[rank], w, MPI_ERR_RMA_SYNC);
  lock_leave(p, w, rank);
  return MPI_SUCCESS;
}
/* A target's lock is taken when it is touched for the first time. */
CALL(Win_lock_all, int assert, MPI_Win win) {
  IN("Win_lock_all");
  WIN(w, win);
  WIN_FAIL_IF(is_locked(w) || w->started, w, MPI_ERR_RMA_SYNC);
  w->lock_all = assert &MPI_MODE_NOCHECK ? 2 : 1;
  w->is_fenced = 0;
  return MPI_SUCCESS;
}
CALL(Win_unlock_all, MPI_Win win) {
  IN("Win_unlock_all");
  WIN(w, win);
  WIN_FAIL_IF(!w->lock_all, w, MPI_ERR_RMA_SYNC);
  flush(p, w, -1);
  for (int i = 0; i < w->all->size; i++)
    if (w->locked[i]) lock_leave(p, w, i);
  w->lock_all = 0;
  return MPI_SUCCESS;
}
#  define FLUSH_ONE(what)                                                                          \
    CALL(what, int rank, MPI_Win win) {                                                            \
      IN(#what);                                                                                   \
      WIN(w, win);                                                                                 \
      if (rank == MPI_PROC_NULL) return MPI_SUCCESS;                                               \
      WIN_FAIL_IF(rank < 0 || rank >= w->all->size, w, MPI_ERR_RANK);                              \
      WIN_FAIL_IF(!w->locked[rank] && !w->lock_all, w, MPI_ERR_RMA_SYNC);                          \
      flush(p, w, rank);                                                                           \
      return MPI_SUCCESS;                                                                          \
    }
#  define FLUSH_ALL(what)                                                                          \
    CALL(what, MPI_Win win) {                                                                      \
      IN(#what);                                                                                   \
      WIN(w, win);                                                                                 \
      flush(p, w, -1);                                                                             \
      return MPI_SUCCESS;                                                                          \
    }
FLUSH_ONE(Win_flush)
FLUSH_ONE(Win_flush_local)
FLUSH_ALL(Win_flush_all)
FLUSH_ALL(Win_flush_local_all)
CALL(Win_sync, MPI_Win win) {
  IN("Win_sync");
  WIN(w, win);
  gm_poll(p); /* who looks at memory in a loop lets time pass */
  return MPI_SUCCESS;
}

#  define GM_PASS
#  define COUNT             int
#  define UNIT              int
#  define CALL_N(name, ...) CALL(name, __VA_ARGS__)
#  include "calls_rma.c"
#  undef COUNT
#  undef UNIT
#  undef CALL_N
#  define COUNT             MPI_Count
#  define UNIT              MPI_Aint
#  define CALL_N(name, ...) CALL(name##_c, __VA_ARGS__)
#  include "calls_rma.c"

#else /* ---- once per type of count ------------------------------------------------------------------------------ */
CALL_N(Win_create, void *base, MPI_Aint size, UNIT unit, MPI_Info info, MPI_Comm comm,
       MPI_Win *win) {
  IN("Win_create");
  return win_create(p, scope.name, base, size, unit, info, comm, win);
}
CALL_N(Win_allocate, MPI_Aint size, UNIT unit, MPI_Info info, MPI_Comm comm, void *baseptr,
       MPI_Win *win) {
  IN("Win_allocate");
  return win_allocate(p, scope.name, size, unit, info, comm, baseptr, win);
}
CALL_N(Win_allocate_shared, MPI_Aint size, UNIT unit, MPI_Info info, MPI_Comm comm, void *baseptr,
       MPI_Win *win) {
  IN("Win_allocate_shared");
  return win_shared(p, scope.name, size, unit, info, comm, baseptr, win);
}
CALL_N(Win_shared_query, MPI_Win win, int rank, MPI_Aint *size, UNIT *unit, void *baseptr) {
  IN("Win_shared_query");
  WIN(w, win);
  WIN_FAIL_IF(w->flavor != MPI_WIN_FLAVOR_SHARED, w, MPI_ERR_RMA_FLAVOR);
  if (rank == MPI_PROC_NULL) /* the first that has memory */
    for (rank = 0; rank < w->all->size - 1 && !w->all->place[rank].size;) rank++;
  WIN_FAIL_IF(rank < 0 || rank >= w->all->size, w, MPI_ERR_RANK);
  *size = w->all->place[rank].size;
  *unit = (UNIT)w->all->place[rank].disp_unit;
  *(void **)baseptr = w->all->place[rank].base;
  return MPI_SUCCESS;
}
#  define ORIGIN COUNT origin_count, MPI_Datatype origin_type
#  define TARGET int target, MPI_Aint disp, COUNT count, MPI_Datatype type
CALL_N(Put, const void *origin, ORIGIN, TARGET, MPI_Win win) {
  IN("Put");
  return transfer(p, scope.name, 'p', (void *)(uintptr_t)origin, origin_count, origin_type, target,
                  disp, count, type, win, NULL);
}
CALL_N(Get, void *origin, ORIGIN, TARGET, MPI_Win win) {
  IN("Get");
  return transfer(p, scope.name, 'g', origin, origin_count, origin_type, target, disp, count, type,
                  win, NULL);
}
CALL_N(Rput, const void *origin, ORIGIN, TARGET, MPI_Win win, MPI_Request *request) {
  IN("Rput");
  NEED_OF_WIN(request);
  return transfer(p, scope.name, 'p', (void *)(uintptr_t)origin, origin_count, origin_type, target,
                  disp, count, type, win, request);
}
CALL_N(Rget, void *origin, ORIGIN, TARGET, MPI_Win win, MPI_Request *request) {
  IN("Rget");
  NEED_OF_WIN(request);
  return transfer(p, scope.name, 'g', origin, origin_count, origin_type, target, disp, count, type,
                  win, request);
}
CALL_N(Accumulate, const void *origin, ORIGIN, TARGET, MPI_Op op, MPI_Win win) {
  IN("Accumulate");
  const atomic_call k = {origin, origin_count, origin_type, NULL, 0, MPI_DATATYPE_NULL, 0};
  return accumulate(p, scope.name, &k, target, disp, count, type, op, win, NULL);
}
CALL_N(Raccumulate, const void *origin, ORIGIN, TARGET, MPI_Op op, MPI_Win win,
       MPI_Request *request) {
  IN("Raccumulate");
  NEED_OF_WIN(request);
  const atomic_call k = {origin, origin_count, origin_type, NULL, 0, MPI_DATATYPE_NULL, 0};
  return accumulate(p, scope.name, &k, target, disp, count, type, op, win, request);
}
CALL_N(Get_accumulate, const void *origin, ORIGIN, void *result, COUNT result_count,
       MPI_Datatype result_type, TARGET, MPI_Op op, MPI_Win win) {
  IN("Get_accumulate");
  const atomic_call k = {origin, origin_count, origin_type, result, result_count, result_type, 1};
  return accumulate(p, scope.name, &k, target, disp, count, type, op, win, NULL);
}
CALL_N(Rget_accumulate, const void *origin, ORIGIN, void *result, COUNT result_count,
       MPI_Datatype result_type, TARGET, MPI_Op op, MPI_Win win, MPI_Request *request) {
  IN("Rget_accumulate");
  NEED_OF_WIN(request);
  const atomic_call k = {origin, origin_count, origin_type, result, result_count, result_type, 1};
  return accumulate(p, scope.name, &k, target, disp, count, type, op, win, request);
}
#  undef ORIGIN
#  undef TARGET
#endif
