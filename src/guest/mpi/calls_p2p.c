/* MPI functions: point-to-point. The file includes itself: once with int counts, once with MPI_Count. */
#ifndef GM_PASS
#  include "later.h"

/* ---- requests ------------------------------------------------------------------------------------------ */
gm_req *gm_req_new(gm_proc *p, gm_req_kind kind) {
  gm_req *r = p->free_reqs;
  if (r) {
    p->free_reqs = r->next;
    gm_zero(r, sizeof *r);
  } else
    r = gm_alloc(sizeof *r);
  r->proc = p;
  r->kind = (int)kind;
  return r;
}
MPI_Request gm_req_handle(gm_proc *p, gm_req *r) {
  r->handle = GM_HANDLE(GM_T_REQ, gm_put(&p->table[GM_T_REQ], r));
  return r->handle;
}
/* The handle is gone; the memory when nothing is under way. */
void gm_req_unref(gm_req *r) {
  gm_proc *p = r->proc;
  if (r->handle) gm_drop(&p->table[GM_T_REQ], GM_INDEX(r->handle));
  r->handle = 0;
  if (r->is_active && !r->done) {
    r->is_freed = 1;
    return;
  }
  if (r->release) r->release(r);
  if (r->coll) {
    gm_coll_clear(r->coll);
    free(r->coll);
  }
  if (r->type) gm_type_unref(r->type);
  gm_comm_unref(r->comm);
  r->next = p->free_reqs;
  p->free_reqs = r;
}
void gm_req_complete(gm_req *r) {
  if (r->at_end) r->at_end(r);
  r->done = 1;
  if (r->all) r->all->is_over = --r->all->left == 0;
  r->all = NULL;
  if (r->is_freed) {
    r->is_active = 0;
    gm_req_unref(r);
  }
}
static void message_done(gm_msg *m) {
  gm_req *r = m->user;
  r->bytes = m->bytes;
  r->error = m->error;
  if (r->packed) {
    if (r->kind == REQ_RECV) {
      gm_unpack(r->user, r->count, r->type, r->packed, m->bytes);
      /* a piece of an element: what was sent is of another type */
      if (!r->error && m->bytes < m->limit_bytes && gm_elements(r->type, m->bytes) == UINT64_MAX)
        r->error = GM_ERR_TRUNCATE;
      gm_busy_bytes((double)m->bytes);
    }
    free(r->packed);
    r->packed = NULL;
  }
  gm_req_complete(r);
}
/* Its end calls nothing of the program's, nor lets time pass. */
static bool is_light(const gm_msg *m) {
  const gm_req *r = m->user;
  return !r->packed && !r->at_end && !r->is_freed;
}
/* Where the bytes of a buffer lie, packed first when they lie apart. */
static void *packed(gm_req *r, bool is_send) {
  const gm_type *t = r->type;
  const uint64_t bytes = t->size * r->count;
  r->packed = malloc(bytes ? bytes : 1);
  if (!r->packed) gm_fatal("out of memory: %llu bytes for MPI", (unsigned long long)bytes);
  if (is_send) {
    gm_pack(r->user, r->count, t, r->packed);
    gm_busy_bytes((double)bytes);
  }
  return r->packed;
}
static inline void *plain(gm_req *r, bool is_send) {
  const gm_type *t = r->type;
  if (GM_IS_PLAIN(t) || (r->count <= 1 && t->is_dense)) return (char *)r->user + t->true_lb;
  return packed(r, is_send);
}
/* Buffers of messages: what stands in one waits to be sent. A flush waits for what was there when it was called:
   messages have numbers. */
gm_buffer *gm_buffer_new(gm_proc *p, void *at, uint64_t bytes) {
  gm_buffer *b = gm_alloc(sizeof *b);
  b->at = at;
  b->bytes = bytes;
  b->next = p->buffers;
  return p->buffers = b;
}
void gm_buffer_free(gm_proc *p, gm_buffer *b) {
  gm_buffer **at = &p->buffers;
  while (*at && *at != b) at = &(*at)->next;
  if (*at) *at = b->next;
  free(b);
}
static int buffer_holds(const gm_buffer *b, uint64_t before) {
  for (const gm_req *r = b ? b->sends : NULL; r; r = r->next)
    if (r->count < before) return 1;
  return 0;
}
void gm_buffer_flush(gm_proc *p, gm_buffer *b) {
  const uint64_t before = b ? b->number : 0;
  while (buffer_holds(b, before)) gm_wait_event(p);
}
void gm_buffer_iflush(gm_buffer *b, gm_req *r) {
  if (!buffer_holds(b, r->count = b ? b->number : 0)) {
    gm_req_complete(r);
    return;
  }
  r->next = b->flushes;
  b->flushes = r;
}
static void buffered_done(gm_msg *m) {
  gm_req *r = m->user;
  gm_buffer *b = r->user;
  gm_req **at = &b->sends;
  while (*at && *at != r) at = &(*at)->next;
  if (*at) *at = r->next;
  for (at = &b->flushes; *at;) {
    gm_req *flush = *at;
    if (buffer_holds(b, flush->count)) {
      at = &flush->next;
      continue;
    }
    *at = flush->next;
    gm_req_complete(flush);
  }
  free(r->packed);
  r->packed = NULL;
  r->done = 1;
  gm_req_unref(r);
}
static bool has_room(const gm_buffer *b, uint64_t bytes) {
  if (!b || b->bytes == UINT64_MAX) return b != NULL;
  for (const gm_req *r = b->sends; r; r = r->next) bytes += r->bytes + MPI_BSEND_OVERHEAD;
  return bytes <= b->bytes;
}
/* That of the communicator, or of its session, or of the process; NULL: no room. Communicators do not know their
   session: any of a session's buffers serves. */
static gm_buffer *buffer_for(const gm_req *r, uint64_t bytes) {
  const gm_proc *p = r->proc;
  if (r->comm->buffer) return has_room(r->comm->buffer, bytes) ? r->comm->buffer : NULL;
  for (gm_buffer *b = p->buffers; b; b = b->next)
    if (b->is_of_session && has_room(b, bytes)) return b;
  return has_room(p->buffer, bytes) ? p->buffer : NULL;
}
/* The data is copied, so the request itself is done; a shadow of it sends. */
static int start_buffered(gm_req *r) {
  gm_proc *p = r->proc;
  const uint64_t bytes = r->type->size * r->count;
  gm_buffer *b = buffer_for(r, bytes + MPI_BSEND_OVERHEAD);
  if (!b) return GM_ERR_BUFFER;
  gm_req *shadow = gm_req_new(p, REQ_SEND);
  shadow->packed = gm_alloc(bytes);
  gm_pack(r->user, r->count, r->type, shadow->packed);
  gm_busy_bytes((double)bytes);
  shadow->bytes = bytes;
  shadow->is_active = 1;
  shadow->user = b;
  shadow->count = b->number++;
  shadow->next = b->sends;
  b->sends = shadow;
  shadow->msg.done = buffered_done;
  shadow->msg.user = shadow;
  gm_isend(p, &shadow->msg, shadow->packed, bytes, gm_group_world(gm_peers(r->comm), r->peer),
           r->comm->context, r->tag, 0);
  return GM_OK;
}
void gm_req_start(gm_req *r) {
  gm_proc *p = r->proc;
  r->done = r->is_cancelled = false;
  r->error = 0;
  r->bytes = 0;
  r->is_active = 1;
  if (r->start) {
    r->start(r);
    return;
  }
  if (r->peer == MPI_PROC_NULL) {
    gm_req_complete(r);
    return;
  }
  r->msg.done = message_done;
  r->msg.user = r;
  r->msg.is_light = is_light;
  if (r->kind == REQ_SEND && r->mode == MODE_BUFFERED) {
    r->error = start_buffered(r);
    gm_req_complete(r);
  } else if (r->kind == REQ_SEND) {
    const void *from = plain(r, 1);
    gm_isend(p, &r->msg, from, r->type->size * r->count, gm_group_world(gm_peers(r->comm), r->peer),
             r->comm->context, r->tag, r->mode == MODE_SYNC);
  } else {
    void *to = plain(r, 0);
    gm_irecv(p, &r->msg, to, r->type->size * r->count,
             r->peer == MPI_ANY_SOURCE ? GM_ANY_SOURCE : gm_group_world(gm_peers(r->comm), r->peer),
             r->comm->context, r->tag);
  }
}
void gm_status_set(MPI_Status *s, int source, int tag, uint64_t bytes, int error) {
  if (s == MPI_STATUS_IGNORE) return;
  s->MPI_SOURCE = source;
  s->MPI_TAG = tag;
  s->count_lo = (int)(uint32_t)bytes;
  s->count_hi_and_cancelled = (int)((uint32_t)(bytes >> 32) << 1);
  if (error >= 0) s->MPI_ERROR = error;
}
static void status_empty(MPI_Status *s) { gm_status_set(s, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, -1); }
static int source_in(gm_comm *c, int world_rank) { return gm_group_find(gm_peers(c), world_rank); }
typedef struct general {
  MPI_Grequest_query_function *query;
  MPI_Grequest_free_function *release;
  MPI_Grequest_cancel_function *cancel;
  void *extra;
  bool is_fortran; /* its functions give their error code by one more argument */
} general;
/* A function of Fortran with one argument more: the same address with another type. */
#  define AS_FORTRAN(fn, ...)                                                                      \
    void (*as_fortran)(__VA_ARGS__, int *error);                                                   \
    int fortran_error = MPI_SUCCESS;                                                               \
    memcpy(&as_fortran, &(fn), sizeof as_fortran)
static int general_query(const general *g, MPI_Status *s) {
  AS_FORTRAN(g->query, void *, MPI_Status *);
  if (!g->is_fortran) return g->query(g->extra, s);
  as_fortran(g->extra, s, &fortran_error);
  return fortran_error;
}
static int general_cancel(const general *g, int complete) {
  AS_FORTRAN(g->cancel, void *, int *);
  if (!g->is_fortran) return g->cancel(g->extra, complete);
  as_fortran(g->extra, &complete, &fortran_error);
  return fortran_error;
}
static int general_free(const general *g) {
  AS_FORTRAN(g->release, void *);
  if (!g->is_fortran) return g->release(g->extra);
  as_fortran(g->extra, &fortran_error);
  return fortran_error;
}
/* Partitioned, and not over: who frees or cancels it would leave the other side waiting. */
static bool is_in_parts(const gm_req *r) {
  return r->start == gm_parts_start && r->is_active && !r->done;
}
void gm_req_status(gm_req *r, MPI_Status *s) {
  if (r->kind == REQ_GENERAL) {
    general *g = r->extra;
    MPI_Status own;
    MPI_Status *to = s == MPI_STATUS_IGNORE ? &own : s;
    status_empty(to);
    const int code = general_query(g, to);
    if (code) r->error = code;
    return;
  }
  if (s == MPI_STATUS_IGNORE) return;
  if (r->kind == REQ_PAIR) {
    gm_req_status(r->pair[1], s);
    return;
  }
  if (r->kind == REQ_RECV) {
    const bool is_null = r->peer == MPI_PROC_NULL;
    gm_status_set(s,
                  is_null                     ? MPI_PROC_NULL
                  : r->is_cancelled           ? MPI_ANY_SOURCE
                  : r->peer == MPI_ANY_SOURCE ? source_in(r->comm, r->msg.source)
                                              : r->peer,
                  is_null || r->is_cancelled   ? MPI_ANY_TAG
                  : r->start == gm_parts_start ? r->tag
                                               : r->msg.tag,
                  r->bytes, -1);
  } else if (r->kind == REQ_IO)
    gm_status_set(s, MPI_ANY_SOURCE, MPI_ANY_TAG, r->bytes, -1);
  else
    status_empty(s);
  if (r->is_cancelled) s->count_hi_and_cancelled |= 1;
}

/* ---- what most calls check ------------------------------------------------------------------------------- */
int gm_check_type(const gm_type *t, int64_t count) {
  if (count < 0) return MPI_ERR_COUNT;
  return !t || !t->is_committed ? MPI_ERR_TYPE : GM_OK;
}
static inline int check(gm_comm *c, const gm_type *t, int64_t count, int peer, int tag,
                        bool is_send) {
  const int bad = gm_check_type(t, count);
  if (!c) return MPI_ERR_COMM;
  if (bad) return bad;
  if (tag > GM_TAG_UB || (tag < 0 && (is_send || tag != MPI_ANY_TAG))) return MPI_ERR_TAG;
  if (peer == MPI_PROC_NULL || (!is_send && peer == MPI_ANY_SOURCE)) return GM_OK;
  return peer < 0 || peer >= gm_peers(c)->size ? MPI_ERR_RANK : GM_OK;
}
/* ret NULL: an error was raised, *code says what the call returns */
static inline __attribute__((always_inline)) gm_req *make(gm_proc *p, const char *name,
                                                          gm_req *stack, gm_req_kind kind, int mode,
                                                          const void *buffer, int64_t count,
                                                          MPI_Datatype type, int peer, int tag,
                                                          MPI_Comm comm, int *code) {
  gm_comm *c = comm_of(p, comm);
  gm_type *t = type_of(p, type);
  gm_req *r = stack;
  if (!count && (!t || !t->is_committed))
    t = type_of(p, MPI_BYTE); /* as in MPICH: any type will do */
  *code = check(c, t, count, peer, tag, kind == REQ_SEND);
  if (!*code && !buffer && count && t->size && peer != MPI_PROC_NULL && !t->true_lb)
    *code = MPI_ERR_BUFFER;
  if (*code) {
    *code = gm_raise(p, c, *code, name);
    return NULL;
  }
  if (r) {
    gm_zero(r, sizeof *r);
    r->proc = p;
    r->kind = (int)kind;
    r->is_stack = 1;
  } else {
    r = gm_req_new(p, kind);
    gm_type_ref(t);
    c->refs++;
  }
  r->mode = mode;
  r->comm = c;
  r->type = t;
  r->user = (void *)(uintptr_t)buffer;
  r->count = (uint64_t)count;
  r->peer = peer;
  r->tag = tag;
  return r;
}
gm_req *gm_req_make(gm_proc *p, const char *name, gm_req_kind kind, const void *buffer,
                    int64_t count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, int *code) {
  return make(p, name, NULL, kind, kind == REQ_SEND, buffer, count, type, peer, tag, comm, code);
}
/* Where all wait for each other, it is told for what. */
static void wait_for(gm_proc *p, const gm_req *r) {
  if (r->done) return;
  guest_context *const c = guest_context_now();
  c->mpi_waits_for = r;
  gm_wait(p, &r->done);
  c->mpi_waits_for = NULL;
}
static int blocking(gm_proc *p, const char *name, gm_req_kind kind, int mode, const void *buffer,
                    int64_t count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                    MPI_Status *status) {
  gm_req r;
  int code;
  if (!make(p, name, &r, kind, mode, buffer, count, type, peer, tag, comm, &code)) return code;
  gm_req_start(&r);
  wait_for(p, &r);
  if (kind == REQ_RECV) gm_req_status(&r, status);
  return r.error ? gm_raise(p, r.comm, r.error, name) : MPI_SUCCESS;
}
/* Inside of each function that starts a message: what it says of it is known then. */
static inline __attribute__((always_inline)) int starting(
    gm_proc *p, const char *name, gm_req_kind kind, int mode, const void *buffer, int64_t count,
    MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request *request, bool is_persistent) {
  int code;
  gm_req *r = make(p, name, NULL, kind, mode, buffer, count, type, peer, tag, comm, &code);
  if (!r) return code;
  *request = gm_req_handle(p, r);
  r->is_persistent = is_persistent;
  if (!is_persistent) gm_req_start(r);
  if (r->done && r->error && r->mode == MODE_BUFFERED) return gm_raise(p, r->comm, r->error, name);
  return MPI_SUCCESS;
}

/* ---- completion ------------------------------------------------------------------------------------------ */
static bool is_idle(const gm_req *r) { return !r || (r->is_persistent && !r->is_active); }
/* Takes the result of a finished request. ret its error */
static int finish(gm_req *r, MPI_Request *request, MPI_Status *status) {
  gm_req_status(r, status);
  if (r->tells_end) gm_coll_told(r);
  const int error = r->error;
  if (r->is_persistent) {
    r->is_active = 0;
    return error;
  }
  *request = MPI_REQUEST_NULL;
  gm_req_unref(r);
  return error;
}
CALL(Wait, MPI_Request *request, MPI_Status *status) {
  IN("Wait");
  NEED(NULL, request && status);
  gm_req *r = req_of(p, *request);
  FAIL_IF(!r && *request != MPI_REQUEST_NULL, NULL, MPI_ERR_REQUEST);
  if (is_idle(r)) {
    status_empty(status);
    return MPI_SUCCESS;
  }
  gm_comm *c = r->comm;
  wait_for(p, r);
  const int error = finish(r, request, status);
  FAIL_IF(error, c && !c->is_freed ? c : NULL, error);
  return MPI_SUCCESS;
}
CALL(Test, MPI_Request *request, int *flag, MPI_Status *status) {
  IN("Test");
  NEED(NULL, request && flag && status);
  gm_req *r = req_of(p, *request);
  FAIL_IF(!r && *request != MPI_REQUEST_NULL, NULL, MPI_ERR_REQUEST);
  *flag = 1;
  if (is_idle(r)) {
    status_empty(status);
    if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = MPI_SUCCESS;
    return MPI_SUCCESS;
  }
  if (!r->done) gm_poll(p);
  *flag = r->done;
  if (!*flag) return MPI_SUCCESS;
  gm_comm *c = r->comm;
  const int error = finish(r, request, status);
  FAIL_IF(error, c && !c->is_freed ? c : NULL, error);
  return MPI_SUCCESS;
}
CALL(Request_get_status, MPI_Request request, int *flag, MPI_Status *status) {
  IN("Request_get_status");
  NEED(NULL, flag && status);
  gm_req *r = req_of(p, request);
  FAIL_IF(!r && request != MPI_REQUEST_NULL, NULL, MPI_ERR_REQUEST);
  *flag = 1;
  if (is_idle(r)) {
    status_empty(status);
    if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = MPI_SUCCESS;
    return MPI_SUCCESS;
  }
  if (!r->done) gm_poll(p);
  *flag = r->done;
  if (*flag) gm_req_status(r, status);
  return MPI_SUCCESS;
}
static int all_known(gm_proc *p, int count, const MPI_Request *requests) {
  for (int i = 0; i < count; i++)
    if (requests[i] != MPI_REQUEST_NULL && !req_of(p, requests[i])) return 0;
  return 1;
}
/* All are done: takes them. ret error class */
static int finish_all(gm_proc *p, int count, MPI_Request *requests, MPI_Status *statuses) {
  int error = 0;
  for (int i = 0; i < count; i++) {
    gm_req *r = req_of(p, requests[i]);
    MPI_Status *s = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
    int own = 0;
    if (is_idle(r))
      status_empty(s);
    else
      own = finish(r, &requests[i], s);
    if (own) error = MPI_ERR_IN_STATUS;
    if (s != MPI_STATUS_IGNORE) s->MPI_ERROR = own;
  }
  return error;
}
/* One flag for all: who runs ahead goes on once, at the end. ret false: one is unknown, nobody has waited */
static bool wait_ahead(gm_proc *p, int count, const MPI_Request *requests) {
  gm_all all = {0, 0};
  for (int i = 0; i < count; i++) {
    gm_req *r = req_of(p, requests[i]);
    if (!r && requests[i] != MPI_REQUEST_NULL) {
      while (--i >= 0)
        if ((r = req_of(p, requests[i])) && r->all == &all) r->all = NULL;
      return false;
    }
    if (is_idle(r) || r->done || r->all) continue;
    r->all = &all;
    all.left++;
  }
  if (all.left) gm_wait(p, &all.is_over);
  return true;
}
static bool wait_for_all(gm_proc *p, int count, const MPI_Request *requests) {
  if (p->runs_ahead) return wait_ahead(p, count, requests);
  if (!all_known(p, count, requests)) return false;
  for (int i = 0; i < count; i++) {
    gm_req *r = req_of(p, requests[i]);
    if (!is_idle(r)) wait_for(p, r);
  }
  return true;
}
CALL(Waitall, int count, MPI_Request requests[], MPI_Status statuses[]) {
  IN("Waitall");
  NEED(NULL, (count <= 0 || requests) && (count <= 0 || statuses));
  FAIL_IF(count < 0, NULL, MPI_ERR_COUNT);
  FAIL_IF(!wait_for_all(p, count, requests), NULL, MPI_ERR_REQUEST);
  const int error = finish_all(p, count, requests, statuses);
  FAIL_IF(error, NULL, error);
  return MPI_SUCCESS;
}
CALL(Testall, int count, MPI_Request requests[], int *flag, MPI_Status statuses[]) {
  IN("Testall");
  NEED(NULL, (count <= 0 || requests) && flag && (count <= 0 || statuses));
  FAIL_IF(count < 0, NULL, MPI_ERR_COUNT);
  FAIL_IF(!all_known(p, count, requests), NULL, MPI_ERR_REQUEST);
  for (int pass = 0; pass < 2; pass++) {
    *flag = 1;
    for (int i = 0; i < count && *flag; i++) {
      gm_req *r = req_of(p, requests[i]);
      if (!is_idle(r) && !r->done) *flag = 0;
    }
    if (*flag || pass) break;
    gm_poll(p);
  }
  if (!*flag) return MPI_SUCCESS;
  const int error = finish_all(p, count, requests, statuses);
  FAIL_IF(error, NULL, error);
  return MPI_SUCCESS;
}
/* ret index of a finished one, MPI_UNDEFINED: none is active, -1: not yet */
static int find_done(gm_proc *p, int count, const MPI_Request *requests) {
  int any = 0;
  for (int i = 0; i < count; i++) {
    gm_req *r = req_of(p, requests[i]);
    if (is_idle(r)) continue;
    any = 1;
    if (r->done) return i;
  }
  return any ? -1 : MPI_UNDEFINED;
}
CALL(Waitany, int count, MPI_Request requests[], int *index, MPI_Status *status) {
  IN("Waitany");
  NEED(NULL, (count <= 0 || requests) && index && status);
  FAIL_IF(count < 0, NULL, MPI_ERR_COUNT);
  FAIL_IF(!all_known(p, count, requests), NULL, MPI_ERR_REQUEST);
  while ((*index = find_done(p, count, requests)) == -1) gm_wait_event(p);
  if (*index == MPI_UNDEFINED) {
    status_empty(status);
    return MPI_SUCCESS;
  }
  gm_req *r = req_of(p, requests[*index]);
  const int error = finish(r, &requests[*index], status);
  FAIL_IF(error, NULL, error);
  return MPI_SUCCESS;
}
CALL(Testany, int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status) {
  IN("Testany");
  NEED(NULL, (count <= 0 || requests) && index && flag && status);
  FAIL_IF(count < 0, NULL, MPI_ERR_COUNT);
  FAIL_IF(!all_known(p, count, requests), NULL, MPI_ERR_REQUEST);
  *index = find_done(p, count, requests);
  if (*index == -1) {
    gm_poll(p);
    *index = find_done(p, count, requests);
  }
  const int found = *index;
  *flag = found != -1;
  if (found == -1) *index = MPI_UNDEFINED;
  if (found == -1) return MPI_SUCCESS;
  if (found == MPI_UNDEFINED) {
    status_empty(status);
    return MPI_SUCCESS;
  }
  const int error = finish(req_of(p, requests[found]), &requests[found], status);
  FAIL_IF(error, NULL, error);
  return MPI_SUCCESS;
}
static int take_some(gm_proc *p, int count, MPI_Request *requests, int *out, int *indices,
                     MPI_Status *statuses) {
  int error = 0;
  *out = 0;
  gm_self_rest(p);
  for (int i = 0; i < count; i++) {
    gm_req *r = req_of(p, requests[i]);
    if (is_idle(r) || !r->done) continue;
    MPI_Status *s = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[*out];
    const int own = finish(r, &requests[i], s);
    if (own) error = MPI_ERR_IN_STATUS;
    if (s != MPI_STATUS_IGNORE) s->MPI_ERROR = own;
    indices[(*out)++] = i;
  }
  return error;
}
CALL(Waitsome, int count, MPI_Request requests[], int *out, int indices[], MPI_Status statuses[]) {
  IN("Waitsome");
  NEED(NULL,
       (count <= 0 || requests) && out && (count <= 0 || indices) && (count <= 0 || statuses));
  FAIL_IF(count < 0, NULL, MPI_ERR_COUNT);
  FAIL_IF(!all_known(p, count, requests), NULL, MPI_ERR_REQUEST);
  int found;
  while ((found = find_done(p, count, requests)) == -1) gm_wait_event(p);
  *out = MPI_UNDEFINED;
  if (found == MPI_UNDEFINED) return MPI_SUCCESS;
  const int error = take_some(p, count, requests, out, indices, statuses);
  FAIL_IF(error, NULL, error);
  return MPI_SUCCESS;
}
CALL(Testsome, int count, MPI_Request requests[], int *out, int indices[], MPI_Status statuses[]) {
  IN("Testsome");
  NEED(NULL,
       (count <= 0 || requests) && out && (count <= 0 || indices) && (count <= 0 || statuses));
  FAIL_IF(count < 0, NULL, MPI_ERR_COUNT);
  FAIL_IF(!all_known(p, count, requests), NULL, MPI_ERR_REQUEST);
  int found = find_done(p, count, requests);
  if (found == -1) {
    gm_poll(p);
    found = find_done(p, count, requests);
  }
  *out = found == MPI_UNDEFINED ? MPI_UNDEFINED : 0;
  if (found < 0) return MPI_SUCCESS;
  const int error = take_some(p, count, requests, out, indices, statuses);
  FAIL_IF(error, NULL, error);
  return MPI_SUCCESS;
}
CALL(Request_free, MPI_Request *request) {
  IN("Request_free");
  NEED(NULL, request);
  gm_req *r = req_of(p, *request);
  FAIL_IF(!r || is_in_parts(r), NULL, MPI_ERR_REQUEST);
  *request = MPI_REQUEST_NULL;
  if (!r->is_persistent && r->done) r->is_active = 0;
  gm_req_unref(r);
  return MPI_SUCCESS;
}
CALL(Cancel, MPI_Request *request) {
  IN("Cancel");
  NEED(NULL, request);
  gm_req *r = req_of(p, *request);
  FAIL_IF(is_idle(r) || is_in_parts(r), NULL, MPI_ERR_REQUEST);
  if (r->kind == REQ_GENERAL) {
    general *g = r->extra;
    const int code = general_cancel(g, r->done);
    FAIL_IF(code, NULL, code);
  } else if (r->kind == REQ_RECV && !r->done && gm_cancel(p, &r->msg)) {
    free(r->packed);
    r->packed = NULL;
    r->is_cancelled = 1;
    gm_req_complete(r);
  }
  return MPI_SUCCESS;
}
CALL(Start, MPI_Request *request) {
  IN("Start");
  NEED(NULL, request);
  gm_req *r = req_of(p, *request);
  FAIL_IF(!r || !r->is_persistent || r->is_active, NULL, MPI_ERR_REQUEST);
  gm_req_start(r);
  return MPI_SUCCESS;
}
CALL(Startall, int count, MPI_Request requests[]) {
  IN("Startall");
  NEED(NULL, (count <= 0 || requests));
  FAIL_IF(count < 0, NULL, MPI_ERR_COUNT);
  for (int i = 0; i < count; i++) {
    gm_req *r = req_of(p, requests[i]);
    FAIL_IF(!r || !r->is_persistent || r->is_active, NULL, MPI_ERR_REQUEST);
    gm_req_start(r);
  }
  return MPI_SUCCESS;
}
CALL(Test_cancelled, const MPI_Status *status, int *flag) {
  NEED_ALWAYS("Test_cancelled", status && flag);
  *flag = status->count_hi_and_cancelled & 1;
  return MPI_SUCCESS;
}
CALL(Status_set_cancelled, MPI_Status *status, int flag) {
  NEED_ALWAYS("Status_set_cancelled", status);
  status->count_hi_and_cancelled = (status->count_hi_and_cancelled & ~1) | (flag != 0);
  return MPI_SUCCESS;
}

/* ---- generalized requests ---------------------------------------------------------------------------------- */
static void general_release(gm_req *r) {
  general *g = r->extra;
  if (g->release) general_free(g);
  free(g);
}
CALL(Grequest_start, MPI_Grequest_query_function *query, MPI_Grequest_free_function *release,
     MPI_Grequest_cancel_function *cancel, void *extra, MPI_Request *request) {
  IN("Grequest_start");
  gm_req *r = gm_req_new(p, REQ_GENERAL);
  general *g = r->extra = gm_alloc(sizeof *g);
  g->query = query;
  g->release = release;
  g->cancel = cancel;
  g->extra = extra;
  r->release = general_release;
  r->is_active = 1;
  *request = gm_req_handle(p, r);
  return MPI_SUCCESS;
}
/* What Debian's Fortran library says of a request that it has made. */
__attribute__((visibility("default"))) void MPII_Grequest_set_lang_f77(MPI_Request request);
void MPII_Grequest_set_lang_f77(MPI_Request request) {
  gm_req *r = req_of(gm_self(), request);
  if (r) ((general *)r->extra)->is_fortran = 1;
}
CALL(Grequest_complete, MPI_Request request) {
  IN("Grequest_complete");
  gm_req *r = req_of(p, request);
  FAIL_IF(!r || r->kind != REQ_GENERAL, NULL, MPI_ERR_REQUEST);
  gm_req_complete(r);
  if (p->has_poller) { /* a thread that waits for events sees it only when one comes */
    static char nothing;
    gm_req *bell[2] = {gm_req_new(p, REQ_SEND), gm_req_new(p, REQ_RECV)};
    for (int k = 0; k < 2; k++)
      bell[k]->is_active = bell[k]->is_freed = 1, bell[k]->msg.done = message_done,
      bell[k]->msg.user = bell[k];
    gm_irecv(p, &bell[1]->msg, &nothing, 0, p->rank, 3, 0);
    gm_isend(p, &bell[0]->msg, &nothing, 0, p->rank, 3, 0, 0);
  }
  return MPI_SUCCESS;
}

/* ---- probes -------------------------------------------------------------------------------------------------- */
typedef struct taken {
  gm_probe probe;
  gm_comm *comm;
} taken;
/* ret 0: not there */
static int probe(gm_proc *p, gm_comm *c, int source, int tag, gm_probe *f, int take) {
  gm_probe_for(p, f, source == MPI_ANY_SOURCE ? GM_ANY_SOURCE : gm_group_world(gm_peers(c), source),
               c->context, tag, take);
  return f->is_found;
}
/* Until it is there; where it never is, what is looked for is told. */
static void probe_waits(gm_proc *p, gm_comm *c, int source, int tag, gm_probe *f, int take) {
  guest_context *const here = guest_context_now();
  const gm_req wanted = {.kind = REQ_RECV, .comm = c, .peer = source, .tag = tag};
  here->mpi_waits_for = &wanted;
  while (!probe(p, c, source, tag, f, take)) gm_poll(p);
  here->mpi_waits_for = NULL;
}
static int probe_call(gm_proc *p, const char *name, int source, int tag, MPI_Comm comm, int *flag,
                      MPI_Message *message, MPI_Status *status) {
  gm_comm *c = comm_of(p, comm);
  gm_probe f;
  const int bad = !c ? MPI_ERR_COMM : check(c, type_of(p, MPI_BYTE), 0, source, tag, 0);
  if (bad) return gm_raise(p, c, bad, name);
  if (source == MPI_PROC_NULL) {
    if (flag) *flag = 1;
    if (message) *message = MPI_MESSAGE_NO_PROC;
    gm_status_set(status, MPI_PROC_NULL, MPI_ANY_TAG, 0, -1);
    return MPI_SUCCESS;
  }
  if (!flag) {
    probe_waits(p, c, source, tag, &f, message != NULL);
    if (p->record) gm_record_probed(p, &f);
  } else {
    *flag = 0;
    for (int tries = 0; !probe(p, c, source, tag, &f, message != NULL); tries++)
      if (!gm_poll(p) || tries)
        return MPI_SUCCESS; /* takes its time: who only probes lets it pass */
    *flag = 1;
  }
  gm_status_set(status, source == MPI_ANY_SOURCE ? source_in(c, f.source) : source, f.tag, f.bytes,
                -1);
  if (!message) return MPI_SUCCESS;
  gm_req *r = gm_req_new(p, REQ_NONE);
  taken *t = r->extra = gm_alloc(sizeof *t);
  t->probe = f;
  t->comm = c;
  c->refs++;
  *message = gm_req_handle(p, r);
  return MPI_SUCCESS;
}
CALL(Probe, int source, int tag, MPI_Comm comm, MPI_Status *status) {
  IN("Probe");
  NEED(comm_of(p, comm), status);
  return probe_call(p, scope.name, source, tag, comm, NULL, NULL, status);
}
CALL(Iprobe, int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status) {
  IN("Iprobe");
  NEED(comm_of(p, comm), flag && status);
  return probe_call(p, scope.name, source, tag, comm, flag, NULL, status);
}
CALL(Mprobe, int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status) {
  IN("Mprobe");
  NEED(comm_of(p, comm), message && status);
  return probe_call(p, scope.name, source, tag, comm, NULL, message, status);
}
CALL(Improbe, int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message,
     MPI_Status *status) {
  IN("Improbe");
  NEED(comm_of(p, comm), flag && message && status);
  return probe_call(p, scope.name, source, tag, comm, flag, message, status);
}
static int receive_taken(gm_proc *p, const char *name, void *buffer, int64_t count,
                         MPI_Datatype type, MPI_Message *message, gm_req **result) {
  gm_req *held = *message == MPI_MESSAGE_NO_PROC ? NULL : req_of(p, *message);
  gm_type *t = type_of(p, type);
  const int bad = gm_check_type(t, count);
  *result = NULL;
  if (bad) return gm_raise(p, NULL, bad, name);
  if (*message != MPI_MESSAGE_NO_PROC && (!held || held->kind != REQ_NONE || !held->extra))
    return gm_raise(p, NULL, MPI_ERR_REQUEST, name);
  gm_req *r = *result = gm_req_new(p, REQ_RECV);
  r->user = buffer;
  r->count = (uint64_t)count;
  r->type = t;
  gm_type_ref(t);
  r->is_active = 1;
  r->peer = MPI_PROC_NULL;
  *message = MPI_MESSAGE_NULL;
  if (!held) {
    gm_req_complete(r);
    return MPI_SUCCESS;
  }
  taken *k = held->extra;
  r->comm = k->comm;
  r->peer = MPI_ANY_SOURCE;
  r->msg.done = message_done;
  r->msg.user = r;
  void *to = plain(r, 0);
  gm_irecv_taken(p, &r->msg, to, t->size * r->count, &k->probe);
  free(k);
  held->extra = NULL;
  gm_req_unref(held);
  return MPI_SUCCESS;
}

/* ---- both at once ------------------------------------------------------------------------------------------------ */
static int exchange(gm_proc *p, const char *name, const void *sendbuf, int64_t sendcount,
                    MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf, int64_t recvcount,
                    MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
                    MPI_Status *status) {
  gm_req r[2];
  int code;
  if (!make(p, name, &r[1], REQ_RECV, 0, recvbuf, recvcount, recvtype, source, recvtag, comm,
            &code))
    return code;
  if (!make(p, name, &r[0], REQ_SEND, 0, sendbuf, sendcount, sendtype, dest, sendtag, comm, &code))
    return code;
  gm_req_start(&r[1]);
  gm_req_start(&r[0]);
  wait_for(p, &r[1]);
  wait_for(p, &r[0]);
  gm_req_status(&r[1], status);
  return r[1].error ? gm_raise(p, r[1].comm, r[1].error, name) : MPI_SUCCESS;
}
static void pair_end(gm_req *part) {
  gm_req *whole = part->extra;
  if (whole->pair[0]->done + whole->pair[1]->done + 1 < 2) return; /* this one is not marked yet */
  whole->error = whole->pair[1]->error;
  gm_req_complete(whole);
}
static void pair_release(gm_req *r) {
  free(r->extra);
  for (int k = 0; k < 2; k++) r->pair[k]->is_active = 0, gm_req_unref(r->pair[k]);
}
static int exchange_start(gm_proc *p, const char *name, gm_req *one[2], void *copy,
                          MPI_Request *request) {
  gm_req *r = gm_req_new(p, REQ_PAIR);
  (void)name;
  r->is_active = 1;
  r->extra = copy;
  r->release = pair_release;
  for (int k = 0; k < 2; k++) {
    r->pair[k] = one[k];
    one[k]->extra = r;
    one[k]->at_end = pair_end;
  }
  *request = gm_req_handle(p, r);
  gm_req_start(one[1]);
  gm_req_start(one[0]);
  return MPI_SUCCESS;
}

#  define GM_PASS
#  define COUNT             int
#  define CALL_N(name, ...) CALL(name, __VA_ARGS__)
#  include "calls_p2p.c"
#  undef COUNT
#  undef CALL_N
#  define COUNT             MPI_Count
#  define CALL_N(name, ...) CALL(name##_c, __VA_ARGS__)
#  include "calls_p2p.c"

#else /* ---- once per type of count ------------------------------------------------------------------------------ */
#  define SEND(what, mode)                                                                         \
    CALL_N(what, const void *buf, COUNT count, MPI_Datatype type, int dest, int tag,               \
           MPI_Comm comm) {                                                                        \
      IN(#what);                                                                                   \
      return blocking(p, scope.name, REQ_SEND, mode, buf, count, type, dest, tag, comm,            \
                      MPI_STATUS_IGNORE);                                                          \
    }
#  define SEND_START(what, mode, keep)                                                             \
    CALL_N(what, const void *buf, COUNT count, MPI_Datatype type, int dest, int tag,               \
           MPI_Comm comm, MPI_Request *request) {                                                  \
      IN(#what);                                                                                   \
      NEED(comm_of(p, comm), request);                                                             \
      return starting(p, scope.name, REQ_SEND, mode, buf, count, type, dest, tag, comm, request,   \
                      keep);                                                                       \
    }
SEND(Send, MODE_STANDARD)
SEND(Ssend, MODE_SYNC)
SEND(Bsend, MODE_BUFFERED)
SEND(Rsend, MODE_READY)
SEND_START(Isend, MODE_STANDARD, 0)
SEND_START(Issend, MODE_SYNC, 0)
SEND_START(Ibsend, MODE_BUFFERED, 0)
SEND_START(Irsend, MODE_READY, 0)
SEND_START(Send_init, MODE_STANDARD, 1)
SEND_START(Ssend_init, MODE_SYNC, 1)
SEND_START(Bsend_init, MODE_BUFFERED, 1)
SEND_START(Rsend_init, MODE_READY, 1)
#  undef SEND
#  undef SEND_START
CALL_N(Recv, void *buf, COUNT count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
       MPI_Status *status) {
  IN("Recv");
  NEED(comm_of(p, comm), status);
  return blocking(p, scope.name, REQ_RECV, 0, buf, count, type, source, tag, comm, status);
}
CALL_N(Irecv, void *buf, COUNT count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
       MPI_Request *request) {
  IN("Irecv");
  NEED(comm_of(p, comm), request);
  return starting(p, scope.name, REQ_RECV, 0, buf, count, type, source, tag, comm, request, 0);
}
CALL_N(Recv_init, void *buf, COUNT count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
       MPI_Request *request) {
  IN("Recv_init");
  NEED(comm_of(p, comm), request);
  return starting(p, scope.name, REQ_RECV, 0, buf, count, type, source, tag, comm, request, 1);
}
CALL_N(Mrecv, void *buf, COUNT count, MPI_Datatype type, MPI_Message *message, MPI_Status *status) {
  IN("Mrecv");
  NEED(NULL, message);
  gm_req *r;
  const int code = receive_taken(p, scope.name, buf, count, type, message, &r);
  if (!r) return code;
  gm_wait(p, &r->done);
  gm_req_status(r, status);
  const int error = r->error;
  gm_req_unref(r);
  FAIL_IF(error, NULL, error);
  return MPI_SUCCESS;
}
CALL_N(Imrecv, void *buf, COUNT count, MPI_Datatype type, MPI_Message *message,
       MPI_Request *request) {
  IN("Imrecv");
  NEED(NULL, message);
  gm_req *r;
  const int code = receive_taken(p, scope.name, buf, count, type, message, &r);
  if (r) *request = gm_req_handle(p, r);
  return code;
}
CALL_N(Buffer_attach, void *buffer, COUNT size) {
  IN("Buffer_attach");
  FAIL_IF(p->buffer || size < 0, NULL, size < 0 ? MPI_ERR_ARG : MPI_ERR_BUFFER);
  p->buffer =
      gm_buffer_new(p, buffer, buffer == MPI_BUFFER_AUTOMATIC ? UINT64_MAX : (uint64_t)size);
  return MPI_SUCCESS;
}
CALL_N(Buffer_detach, void *buffer, COUNT *size) {
  IN("Buffer_detach");
  NEED(NULL, size);
  gm_buffer *b = p->buffer;
  gm_buffer_flush(p, b);
  *(void **)buffer = b ? b->at : NULL;
  *size = b && b->bytes != UINT64_MAX ? (COUNT)b->bytes : 0;
  if (b) gm_buffer_free(p, b);
  p->buffer = NULL;
  return MPI_SUCCESS;
}
CALL_N(Sendrecv, const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, int dest, int sendtag,
       void *recvbuf, COUNT recvcount, MPI_Datatype recvtype, int source, int recvtag,
       MPI_Comm comm, MPI_Status *status) {
  IN("Sendrecv");
  NEED(comm_of(p, comm), status);
  return exchange(p, scope.name, sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount,
                  recvtype, source, recvtag, comm, status);
}
CALL_N(Sendrecv_replace, void *buf, COUNT count, MPI_Datatype type, int dest, int sendtag,
       int source, int recvtag, MPI_Comm comm, MPI_Status *status) {
  IN("Sendrecv_replace");
  NEED(comm_of(p, comm), status);
  gm_comm *c = comm_of(p, comm);
  gm_type *t = type_of(p, type);
  const int bad = check(c, t, count, dest, sendtag, 1);
  FAIL_IF(bad, c, bad);
  const uint64_t bytes = t->size * (uint64_t)count;
  void *copy = gm_alloc(bytes);
  gm_pack(buf, (uint64_t)count, t, copy);
  const int code = exchange(p, scope.name, copy, (int64_t)bytes, MPI_BYTE, dest, sendtag, buf,
                            count, type, source, recvtag, comm, status);
  free(copy);
  return code;
}
CALL_N(Isendrecv, const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, int dest,
       int sendtag, void *recvbuf, COUNT recvcount, MPI_Datatype recvtype, int source, int recvtag,
       MPI_Comm comm, MPI_Request *request) {
  IN("Isendrecv");
  NEED(comm_of(p, comm), request);
  int code;
  gm_req *one[2];
  one[1] = make(p, scope.name, NULL, REQ_RECV, 0, recvbuf, recvcount, recvtype, source, recvtag,
                comm, &code);
  if (!one[1]) return code;
  one[0] = make(p, scope.name, NULL, REQ_SEND, 0, sendbuf, sendcount, sendtype, dest, sendtag, comm,
                &code);
  if (!one[0]) return code;
  return exchange_start(p, scope.name, one, NULL, request);
}
CALL_N(Isendrecv_replace, void *buf, COUNT count, MPI_Datatype type, int dest, int sendtag,
       int source, int recvtag, MPI_Comm comm, MPI_Request *request) {
  IN("Isendrecv_replace");
  NEED(comm_of(p, comm), request);
  int code;
  gm_req *one[2];
  one[1] = make(p, scope.name, NULL, REQ_RECV, 0, buf, count, type, source, recvtag, comm, &code);
  if (!one[1]) return code;
  const uint64_t bytes = one[1]->type->size * (uint64_t)count;
  void *copy = gm_alloc(bytes);
  gm_pack(buf, (uint64_t)count, one[1]->type, copy);
  one[0] = make(p, scope.name, NULL, REQ_SEND, 0, copy, (int64_t)bytes, MPI_BYTE, dest, sendtag,
                comm, &code);
  if (!one[0]) return code;
  return exchange_start(p, scope.name, one, copy, request);
}
#endif
