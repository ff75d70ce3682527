/* MPI functions of MPI 4.1 and later: buffers of communicators and sessions, statuses and requests looked at. */
#include "later.h"

/* ---- buffers for MPI_Bsend -------------------------------------------------------------------------------- */
static int attach(gm_proc *p, const char *name, gm_comm *c, gm_buffer **place, void *at,
                  int64_t size) {
  const bool is_automatic = at == MPI_BUFFER_AUTOMATIC;
  if (*place) return gm_raise(p, c, MPI_ERR_BUFFER, name);
  if (size < 0) return gm_raise(p, c, MPI_ERR_ARG, name);
  *place = gm_buffer_new(p, at, is_automatic ? UINT64_MAX : (uint64_t)size);
  (*place)->is_of_session = !c;
  return MPI_SUCCESS;
}
static int64_t detach(gm_proc *p, gm_buffer **place, void *buffer) {
  int64_t size = 0;
  *(void **)buffer = NULL;
  if (*place) {
    *(void **)buffer = (*place)->at;
    size = (*place)->bytes == UINT64_MAX ? 0 : (int64_t)(*place)->bytes;
    gm_buffer_flush(p, *place);
    gm_buffer_free(p, *place);
    *place = NULL;
  }
  return size;
}
static int iflush(gm_proc *p, gm_buffer *b, MPI_Request *request) {
  gm_req *r = gm_req_new(p, REQ_IO);
  r->is_active = 1;
  *request = gm_req_handle(p, r);
  gm_buffer_iflush(b, r);
  return MPI_SUCCESS;
}
CALL(Buffer_flush, void) {
  IN("Buffer_flush");
  gm_buffer_flush(p, p->buffer);
  return MPI_SUCCESS;
}
CALL(Buffer_iflush, MPI_Request *request) {
  IN("Buffer_iflush");
  NEED(NULL, request);
  return iflush(p, p->buffer, request);
}
/* The same of a communicator and of a session: OWNER says where the buffer is noted, c whose errors these are. */
#define OF_COMM(handle)                                                                            \
  gm_comm *c = comm_of(p, handle);                                                                 \
  gm_buffer **place = c ? &c->buffer : NULL;                                                       \
  FAIL_IF(!place, NULL, MPI_ERR_COMM)
#define OF_SESSION(handle)                                                                         \
  gm_comm *c = NULL;                                                                               \
  gm_buffer **place = gm_session_buffer(p, handle);                                                \
  FAIL_IF(!place, NULL, MPI_ERR_SESSION)
#define SIZED(Kind, OWNER, suffix, count_type)                                                     \
  CALL(Kind##_attach_buffer##suffix, MPI_##Kind owner, void *buffer, count_type size) {            \
    IN_ALWAYS(#Kind "_attach_buffer");                                                             \
    OWNER(owner);                                                                                  \
    return attach(p, scope.name, c, place, buffer, size);                                          \
  }                                                                                                \
  CALL(Kind##_detach_buffer##suffix, MPI_##Kind owner, void *buffer, count_type *size) {           \
    IN_ALWAYS(#Kind "_detach_buffer");                                                             \
    OWNER(owner);                                                                                  \
    NEED(c, buffer &&size);                                                                        \
    *size = (count_type)detach(p, place, buffer);                                                  \
    return MPI_SUCCESS;                                                                            \
  }
#define FLUSHED(Kind, OWNER)                                                                       \
  CALL(Kind##_flush_buffer, MPI_##Kind owner) {                                                    \
    IN_ALWAYS(#Kind "_flush_buffer");                                                              \
    OWNER(owner);                                                                                  \
    (void)c;                                                                                       \
    gm_buffer_flush(p, *place);                                                                    \
    return MPI_SUCCESS;                                                                            \
  }                                                                                                \
  CALL(Kind##_iflush_buffer, MPI_##Kind owner, MPI_Request *request) {                             \
    IN_ALWAYS(#Kind "_iflush_buffer");                                                             \
    OWNER(owner);                                                                                  \
    NEED(c, request);                                                                              \
    return iflush(p, *place, request);                                                             \
  }
SIZED(Comm, OF_COMM, , int)
SIZED(Comm, OF_COMM, _c, MPI_Count)
SIZED(Session, OF_SESSION, , int)
SIZED(Session, OF_SESSION, _c, MPI_Count)
FLUSHED(Comm, OF_COMM)
FLUSHED(Session, OF_SESSION)

/* ---- requests, statuses --------------------------------------------------------------------------------------- */
/* ret 0: all are requests; their results are looked at, not taken */
static int look(gm_proc *p, int count, const MPI_Request *requests) {
  for (int i = 0; i < count; i++)
    if (requests[i] != MPI_REQUEST_NULL && !req_of(p, requests[i])) return MPI_ERR_REQUEST;
  gm_poll(p);
  return 0;
}
static bool is_idle(const gm_req *r) { return !r || (r->is_persistent && !r->is_active); }
static void nothing(MPI_Status *s) {
  gm_status_set(s, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, -1);
  if (s != MPI_STATUS_IGNORE) s->MPI_ERROR = MPI_SUCCESS;
}
CALL(Request_get_status_all, int count, const MPI_Request *requests, int *flag,
     MPI_Status *statuses) {
  IN("Request_get_status_all");
  NEED(NULL, (count <= 0 || requests) && flag && (statuses || count == 0));
  FAIL_IF(count < 0, NULL, MPI_ERR_COUNT);
  const int bad = look(p, count, requests);
  FAIL_IF(bad, NULL, bad);
  *flag = 1;
  for (int i = 0; i < count; i++) {
    const gm_req *r = req_of(p, requests[i]);
    *flag = *flag && (is_idle(r) || r->done);
  }
  for (int i = 0; i < count && *flag && statuses != MPI_STATUSES_IGNORE; i++) {
    gm_req *r = req_of(p, requests[i]);
    if (is_idle(r))
      nothing(&statuses[i]);
    else
      gm_req_status(r, &statuses[i]);
  }
  return MPI_SUCCESS;
}
CALL(Request_get_status_any, int count, const MPI_Request *requests, int *index, int *flag,
     MPI_Status *status) {
  IN("Request_get_status_any");
  NEED(NULL, (count <= 0 || requests) && index && flag && status);
  FAIL_IF(count < 0, NULL, MPI_ERR_COUNT);
  const int bad = look(p, count, requests);
  FAIL_IF(bad, NULL, bad);
  int active = 0;
  *flag = 0;
  *index = MPI_UNDEFINED;
  for (int i = 0; i < count && !*flag; i++) {
    gm_req *r = req_of(p, requests[i]);
    if (is_idle(r)) continue;
    active++;
    if (!r->done) continue;
    *flag = 1;
    *index = i;
    gm_req_status(r, status);
  }
  if (active) return MPI_SUCCESS;
  *flag = 1;
  nothing(status);
  return MPI_SUCCESS;
}
CALL(Request_get_status_some, int count, const MPI_Request *requests, int *done, int *indices,
     MPI_Status *statuses) {
  IN("Request_get_status_some");
  NEED(NULL, (count <= 0 || (requests && indices && statuses)) && done);
  FAIL_IF(count < 0, NULL, MPI_ERR_COUNT);
  const int bad = look(p, count, requests);
  FAIL_IF(bad, NULL, bad);
  int active = 0;
  *done = 0;
  for (int i = 0; i < count; i++) {
    gm_req *r = req_of(p, requests[i]);
    if (is_idle(r)) continue;
    active++;
    if (!r->done) continue;
    if (statuses != MPI_STATUSES_IGNORE) gm_req_status(r, &statuses[*done]);
    indices[(*done)++] = i;
  }
  if (!active) *done = MPI_UNDEFINED;
  return MPI_SUCCESS;
}
#define FIELD(name, NAME)                                                                          \
  CALL(Status_get_##name, const MPI_Status *status, int *name) {                                   \
    NEED_ALWAYS("Status_get_" #name, status &&name);                                               \
    *name = status->NAME;                                                                          \
    return MPI_SUCCESS;                                                                            \
  }                                                                                                \
  CALL(Status_set_##name, MPI_Status *status, int name) {                                          \
    NEED_ALWAYS("Status_set_" #name, status);                                                      \
    status->NAME = name;                                                                           \
    return MPI_SUCCESS;                                                                            \
  }
FIELD(source, MPI_SOURCE)
FIELD(tag, MPI_TAG)
FIELD(error, MPI_ERROR)

/* ---- the rest --------------------------------------------------------------------------------------------------- */
/* What MPICH had under its own names before */
int PMPIX_Delete_error_class(int class), PMPIX_Delete_error_code(int code),
    PMPIX_Delete_error_string(int code);
CALL(Remove_error_class, int class) { return PMPIX_Delete_error_class(class); }
CALL(Remove_error_code, int code) { return PMPIX_Delete_error_code(code); }
CALL(Remove_error_string, int code) { return PMPIX_Delete_error_string(code); }
CALL(Type_get_value_index, MPI_Datatype value, MPI_Datatype index, MPI_Datatype *pair) {
  static const MPI_Datatype known[][3] = {
      {MPI_FLOAT, MPI_INT, MPI_FLOAT_INT},
      {MPI_DOUBLE, MPI_INT, MPI_DOUBLE_INT},
      {MPI_LONG, MPI_INT, MPI_LONG_INT},
      {MPI_SHORT, MPI_INT, MPI_SHORT_INT},
      {MPI_INT, MPI_INT, MPI_2INT},
      {MPI_LONG_DOUBLE, MPI_INT, MPI_LONG_DOUBLE_INT},
      {MPI_REAL, MPI_REAL, MPI_2REAL},
      {MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, MPI_2DOUBLE_PRECISION},
      {MPI_INTEGER, MPI_INTEGER, MPI_2INTEGER}};
  IN("Type_get_value_index");
  NEED(NULL, pair);
  FAIL_IF(!type_of(p, value) || !type_of(p, index), NULL, MPI_ERR_TYPE);
  *pair = MPI_DATATYPE_NULL;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (known[i][0] == value && known[i][1] == index) *pair = known[i][2];
  return MPI_SUCCESS;
}
/* Nothing here restricts a process to a part of its node, which is all that this would say. */
CALL(Get_hw_resource_info, MPI_Info *info) {
  IN_ALWAYS("Get_hw_resource_info");
  NEED(NULL, info);
  return PMPI_Info_create(info);
}
