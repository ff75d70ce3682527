/* MPI functions: the tools' interface, with the one variable that there is; what MPICH has beside the standard; ports, which a simulated machine that
   starts all its processes at once does not have. */
#include "later.h"

/* ---- MPI_T: one control variable, read only; no performance variables, categories, events ------------------- */
static int starts; /* of all processes together: the interface has no state of its own */
#define T_CHECK()                                                                                  \
  do {                                                                                             \
    if (!starts) return MPI_T_ERR_NOT_INITIALIZED;                                                 \
  } while (0)
static const char cvar_name[] = "pm_eager_bytes",
                  cvar_text[] = "Messages up to this size are sent at once (pm_run --eager)";
static void give_text(char *to, int *length, const char *text) {
  if (to && length && *length > 0) snprintf(to, (size_t)*length, "%s", text);
  if (length) *length = (int)strlen(text) + 1;
}
CALL(T_init_thread, int required, int *provided) {
  starts++;
  if (provided) *provided = required;
  return MPI_SUCCESS;
}
CALL(T_finalize, void) {
  T_CHECK();
  starts--;
  return MPI_SUCCESS;
}
CALL(T_cvar_get_num, int *count) {
  T_CHECK();
  *count = 1;
  return MPI_SUCCESS;
}
CALL(T_cvar_get_info, int index, char *name, int *name_length, int *verbosity, MPI_Datatype *type,
     MPI_T_enum *kinds, char *text, int *text_length, int *bind, int *reach) {
  T_CHECK();
  if (index) return MPI_T_ERR_INVALID_INDEX;
  give_text(name, name_length, cvar_name);
  give_text(text, text_length, cvar_text);
  if (verbosity) *verbosity = MPI_T_VERBOSITY_USER_BASIC;
  if (type) *type = MPI_UNSIGNED_LONG_LONG;
  if (kinds) *kinds = MPI_T_ENUM_NULL;
  if (bind) *bind = MPI_T_BIND_NO_OBJECT;
  if (reach) *reach = MPI_T_SCOPE_CONSTANT;
  return MPI_SUCCESS;
}
CALL(T_cvar_get_index, const char *name, int *index) {
  T_CHECK();
  *index = 0;
  return strcmp(name, cvar_name) == 0 ? MPI_SUCCESS : MPI_T_ERR_INVALID_NAME;
}
CALL(T_cvar_handle_alloc, int index, void *object, MPI_T_cvar_handle *handle, int *count) {
  T_CHECK();
  (void)object;
  if (index) return MPI_T_ERR_INVALID_INDEX;
  *handle = (MPI_T_cvar_handle)(void *)&gm_set.eager_bytes;
  *count = 1;
  return MPI_SUCCESS;
}
CALL(T_cvar_handle_free, MPI_T_cvar_handle *handle) {
  T_CHECK();
  if (*handle != (MPI_T_cvar_handle)(void *)&gm_set.eager_bytes) return MPI_T_ERR_INVALID_HANDLE;
  *handle = MPI_T_CVAR_HANDLE_NULL;
  return MPI_SUCCESS;
}
CALL(T_cvar_read, MPI_T_cvar_handle handle, void *value) {
  T_CHECK();
  if (handle != (MPI_T_cvar_handle)(void *)&gm_set.eager_bytes) return MPI_T_ERR_INVALID_HANDLE;
  memcpy(value, &gm_set.eager_bytes, sizeof gm_set.eager_bytes);
  return MPI_SUCCESS;
}
CALL(T_cvar_write, MPI_T_cvar_handle handle, const void *value) {
  T_CHECK();
  (void)value;
  return handle == (MPI_T_cvar_handle)(void *)&gm_set.eager_bytes ? MPI_T_ERR_CVAR_SET_NEVER
                                                                  : MPI_T_ERR_INVALID_HANDLE;
}
CALL(T_pvar_get_num, int *count) {
  T_CHECK();
  *count = 0;
  return MPI_SUCCESS;
}
CALL(T_pvar_get_index, const char *name, int class, int *index) {
  T_CHECK();
  (void)name, (void)class, (void)index;
  return MPI_T_ERR_INVALID_NAME;
}
CALL(T_pvar_get_info, int index, char *name, int *name_length, int *verbosity, int *class,
     MPI_Datatype *type, MPI_T_enum *kinds, char *text, int *text_length, int *bind, int *readonly,
     int *continuous, int *atomic) {
  T_CHECK();
  (void)index, (void)name, (void)name_length, (void)verbosity, (void)class, (void)type, (void)kinds,
      (void)text, (void)text_length;
  (void)bind, (void)readonly, (void)continuous, (void)atomic;
  return MPI_T_ERR_INVALID_INDEX;
}
CALL(T_pvar_session_create, MPI_T_pvar_session *session) {
  T_CHECK();
  *session = (MPI_T_pvar_session)(void *)&starts;
  return MPI_SUCCESS;
}
CALL(T_pvar_session_free, MPI_T_pvar_session *session) {
  T_CHECK();
  *session = MPI_T_PVAR_SESSION_NULL;
  return MPI_SUCCESS;
}
CALL(T_category_get_num, int *count) {
  T_CHECK();
  *count = 0;
  return MPI_SUCCESS;
}
CALL(T_category_get_index, const char *name, int *index) {
  T_CHECK();
  (void)name, (void)index;
  return MPI_T_ERR_INVALID_NAME;
}
CALL(T_category_changed, int *number) {
  T_CHECK();
  *number = 0;
  return MPI_SUCCESS;
}
CALL(T_event_get_num, int *count) {
  T_CHECK();
  *count = 0;
  return MPI_SUCCESS;
}
CALL(T_source_get_num, int *count) {
  T_CHECK();
  *count = 0;
  return MPI_SUCCESS;
}

/* There is no performance variable, category, event or enumeration: whoever names one names none of ours. */
#define T_NONE(code, name, ...)                                                                    \
  CALL(name, __VA_ARGS__) {                                                                        \
    T_CHECK();                                                                                     \
    return code;                                                                                   \
  }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
T_NONE(MPI_T_ERR_INVALID_INDEX, T_category_get_info, int index, char *name, int *name_length,
       char *text, int *text_length, int *cvars, int *pvars, int *categories)
T_NONE(MPI_T_ERR_INVALID_INDEX, T_category_get_num_events, int index, int *count)
T_NONE(MPI_T_ERR_INVALID_INDEX, T_category_get_cvars, int index, int length, int *indices)
T_NONE(MPI_T_ERR_INVALID_INDEX, T_category_get_pvars, int index, int length, int *indices)
T_NONE(MPI_T_ERR_INVALID_INDEX, T_category_get_events, int index, int length, int *indices)
T_NONE(MPI_T_ERR_INVALID_INDEX, T_category_get_categories, int index, int length, int *indices)
T_NONE(MPI_T_ERR_INVALID_HANDLE, T_enum_get_info, MPI_T_enum kinds, int *count, char *name,
       int *name_length)
T_NONE(MPI_T_ERR_INVALID_HANDLE, T_enum_get_item, MPI_T_enum kinds, int index, int *value,
       char *name, int *name_length)
T_NONE(MPI_T_ERR_INVALID_INDEX, T_pvar_handle_alloc, MPI_T_pvar_session session, int index,
       void *object, MPI_T_pvar_handle *handle, int *count)
T_NONE(MPI_T_ERR_INVALID_HANDLE, T_pvar_handle_free, MPI_T_pvar_session session,
       MPI_T_pvar_handle *handle)
T_NONE(MPI_T_ERR_INVALID_HANDLE, T_pvar_read, MPI_T_pvar_session session, MPI_T_pvar_handle handle,
       void *value)
T_NONE(MPI_T_ERR_INVALID_HANDLE, T_pvar_readreset, MPI_T_pvar_session session,
       MPI_T_pvar_handle handle, void *value)
T_NONE(MPI_T_ERR_INVALID_HANDLE, T_pvar_write, MPI_T_pvar_session session, MPI_T_pvar_handle handle,
       const void *value)
T_NONE(MPI_T_ERR_INVALID_INDEX, T_event_get_info, int index, char *name, int *name_length,
       int *verbosity, MPI_Datatype *types, MPI_Aint *places, int *count, MPI_T_enum *kinds,
       MPI_Info *info, char *text, int *text_length, int *bind)
T_NONE(MPI_T_ERR_INVALID_NAME, T_event_get_index, const char *name, int *index)
T_NONE(MPI_T_ERR_INVALID_INDEX, T_event_handle_alloc, int index, void *object, MPI_Info info,
       MPI_T_event_registration *registration)
T_NONE(MPI_T_ERR_INVALID_HANDLE, T_event_handle_free, MPI_T_event_registration registration,
       void *user, MPI_T_event_free_cb_function *fn)
T_NONE(MPI_T_ERR_INVALID_HANDLE, T_event_handle_get_info, MPI_T_event_registration registration,
       MPI_Info *info)
T_NONE(MPI_T_ERR_INVALID_HANDLE, T_event_handle_set_info, MPI_T_event_registration registration,
       MPI_Info info)
T_NONE(MPI_T_ERR_INVALID_HANDLE, T_event_callback_get_info, MPI_T_event_registration registration,
       MPI_T_cb_safety safety, MPI_Info *info)
T_NONE(MPI_T_ERR_INVALID_HANDLE, T_event_callback_set_info, MPI_T_event_registration registration,
       MPI_T_cb_safety safety, MPI_Info info)
T_NONE(MPI_T_ERR_INVALID_HANDLE, T_event_register_callback, MPI_T_event_registration registration,
       MPI_T_cb_safety safety, MPI_Info info, void *user, MPI_T_event_cb_function *fn)
T_NONE(MPI_T_ERR_INVALID_HANDLE, T_event_set_dropped_handler, MPI_T_event_registration registration,
       MPI_T_event_dropped_cb_function *fn)
T_NONE(MPI_T_ERR_INVALID_HANDLE, T_event_read, MPI_T_event_instance event, int element,
       void *buffer)
T_NONE(MPI_T_ERR_INVALID_HANDLE, T_event_copy, MPI_T_event_instance event, void *buffer)
T_NONE(MPI_T_ERR_INVALID_HANDLE, T_event_get_timestamp, MPI_T_event_instance event,
       MPI_Count *stamp)
T_NONE(MPI_T_ERR_INVALID_HANDLE, T_event_get_source, MPI_T_event_instance event, int *source)
T_NONE(MPI_T_ERR_INVALID_INDEX, T_source_get_info, int index, char *name, int *name_length,
       char *text, int *text_length, MPI_T_source_order *order, MPI_Count *ticks_per_second,
       MPI_Count *ticks_max, MPI_Info *info)
T_NONE(MPI_T_ERR_INVALID_INDEX, T_source_get_timestamp, int index, MPI_Count *stamp)
#pragma GCC diagnostic pop
/* Of all variables of a session, that is, of none; one alone cannot be named. */
#define T_OF_ALL(name)                                                                             \
  CALL(name, MPI_T_pvar_session session, MPI_T_pvar_handle handle) {                               \
    T_CHECK();                                                                                     \
    (void)session;                                                                                 \
    return handle == MPI_T_PVAR_ALL_HANDLES ? MPI_SUCCESS : MPI_T_ERR_INVALID_HANDLE;              \
  }
MPI_T_pvar_handle const MPI_T_PVAR_ALL_HANDLES = (MPI_T_pvar_handle)(void *)&starts;
T_OF_ALL(T_pvar_start)
T_OF_ALL(T_pvar_stop)
T_OF_ALL(T_pvar_reset)

/* ---- what MPICH has beside the standard: its Fortran library refers to it ---------------------------------------- */
#define XCALL(name, ...)                                                                           \
  GM_WEAK_NAME(MPIX_##name, PMPIX_##name)                                                          \
  int PMPIX_##name(__VA_ARGS__)
XCALL(GPU_query_support, int kind, int *flag) {
  (void)kind;
  *flag = 0;
  return MPI_SUCCESS;
}
XCALL(Query_cuda_support, void) { return 0; }
XCALL(Query_ze_support, void) { return 0; }
XCALL(Query_hip_support, void) { return 0; }

/* ---- failures of processes: on a simulated machine there are none, so nobody is missing and all survive ---------- */
XCALL(Comm_shrink, MPI_Comm comm, MPI_Comm *new) { return MPI_Comm_dup(comm, new); }
static void agreed(gm_req *r) { free(r->packed); }
/* Between two groups each gets what the other one says. */
XCALL(Comm_iagree, MPI_Comm comm, int *flag, MPI_Request *request) {
  IN("X_Comm_iagree");
  gm_comm *c = comm_of(p, comm);
  NEED(c, flag && request);
  FAIL_IF(!c, NULL, MPI_ERR_COMM);
  int *mine = gm_alloc(sizeof *mine); /* until the request is freed */
  *mine = *flag;
  const int error = MPI_Iallreduce(mine, flag, 1, MPI_INT, MPI_BAND, comm, request);
  gm_req *r = error ? NULL : req_of(p, *request);
  if (r) {
    r->release = agreed;
    r->packed = mine;
  } else
    free(mine);
  return error;
}
XCALL(Comm_agree, MPI_Comm comm, int *flag) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int error = PMPIX_Comm_iagree(comm, flag, &request);
  return error ? error : MPI_Wait(&request, MPI_STATUS_IGNORE);
}
XCALL(Comm_failure_ack, MPI_Comm comm) {
  IN("X_Comm_failure_ack");
  FAIL_IF(!comm_of(p, comm), NULL, MPI_ERR_COMM);
  return MPI_SUCCESS;
}
#define GIVE(out, none)                                                                            \
  NEED(comm_of(p, comm), out);                                                                     \
  FAIL_IF(!comm_of(p, comm), NULL, MPI_ERR_COMM);                                                  \
  *(out) = none;                                                                                   \
  return MPI_SUCCESS
XCALL(Comm_ack_failed, MPI_Comm comm, int count, int *acked) {
  IN("X_Comm_ack_failed");
  (void)count;
  GIVE(acked, 0);
}
XCALL(Comm_failure_get_acked, MPI_Comm comm, MPI_Group *group) {
  IN("X_Comm_failure_get_acked");
  GIVE(group, MPI_GROUP_EMPTY);
}
XCALL(Comm_get_failed, MPI_Comm comm, MPI_Group *group) {
  IN("X_Comm_get_failed");
  GIVE(group, MPI_GROUP_EMPTY);
}
XCALL(Comm_is_revoked, MPI_Comm comm, int *flag) {
  IN("X_Comm_is_revoked");
  GIVE(flag, 0);
}
#undef GIVE
XCALL(Comm_revoke, MPI_Comm comm) {
  IN("X_Comm_revoke");
  fprintf(stderr, "pm_run: MPIX_Comm_revoke is not here\n");
  FAIL(comm_of(p, comm), MPI_ERR_UNSUPPORTED_OPERATION);
}

/* ---- ports and names ------------------------------------------------------------------------------------------ */
static int no_ports_but(gm_proc *p, const char *name, int code) {
  fprintf(stderr, "pm_run: %s: a simulated machine has one program, and no ports\n", name);
  return gm_raise(p, NULL, code, name);
}
static int no_ports(gm_proc *p, const char *name) { return no_ports_but(p, name, MPI_ERR_PORT); }
CALL(Open_port, MPI_Info info, char *port) {
  IN("Open_port");
  (void)info, (void)port;
  return no_ports(p, scope.name);
}
CALL(Close_port, const char *port) {
  IN("Close_port");
  (void)port;
  return no_ports(p, scope.name);
}
CALL(Comm_accept, const char *port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *new) {
  IN("Comm_accept");
  (void)port, (void)info, (void)root, (void)comm, (void)new;
  return no_ports(p, scope.name);
}
CALL(Comm_connect, const char *port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *new) {
  IN("Comm_connect");
  (void)port, (void)info, (void)root, (void)comm, (void)new;
  return no_ports(p, scope.name);
}
CALL(Comm_join, int fd, MPI_Comm *new) {
  IN("Comm_join");
  (void)fd, (void)new;
  return no_ports(p, scope.name);
}
CALL(Publish_name, const char *service, MPI_Info info, const char *port) {
  IN("Publish_name");
  (void)service, (void)info, (void)port;
  return no_ports(p, scope.name);
}
CALL(Unpublish_name, const char *service, MPI_Info info, const char *port) {
  IN("Unpublish_name");
  (void)service, (void)info, (void)port;
  return no_ports_but(p, scope.name, MPI_ERR_SERVICE); /* nobody published it */
}
CALL(Lookup_name, const char *service, MPI_Info info, char *port) {
  IN("Lookup_name");
  (void)service, (void)info, (void)port;
  return no_ports_but(p, scope.name, MPI_ERR_NAME);
}
