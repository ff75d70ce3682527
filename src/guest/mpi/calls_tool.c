/* MPI functions: the tools' interface, with the one variable that there is; ports, which a simulated machine that
   starts all its processes at once does not have. */
#include "abi.h"

/* ---- MPI_T: one control variable, read only; no performance variables, categories, events ------------------- */
static int starts; /* of all processes together: the interface has no state of its own */
#define T_CHECK() do { if (!starts) return MPI_T_ERR_NOT_INITIALIZED; } while (0)
static const char cvar_name[] = "pm_eager_bytes", cvar_text[] = "Messages up to this size are sent at once (pm_run --eager)";
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
CALL(T_cvar_get_info, int index, char *name, int *name_length, int *verbosity, MPI_Datatype *type, MPI_T_enum *kinds, char *text, int *text_length, int *bind, int *reach) {
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
  (void)handle, (void)value;
  return MPI_T_ERR_CVAR_SET_NEVER;
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
CALL(T_pvar_get_info, int index, char *name, int *name_length, int *verbosity, int *class, MPI_Datatype *type, MPI_T_enum *kinds, char *text, int *text_length, int *bind, int *readonly, int *continuous, int *atomic) {
  T_CHECK();
  (void)index, (void)name, (void)name_length, (void)verbosity, (void)class, (void)type, (void)kinds, (void)text, (void)text_length;
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

/* ---- ports and names ------------------------------------------------------------------------------------------ */
static int no_ports(gm_proc *p, const char *name) {
  fprintf(stderr, "pm_run: %s: a simulated machine has one program, and no ports\n", name);
  return gm_raise(p, NULL, MPI_ERR_PORT, name);
}
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
  return no_ports(p, scope.name);
}
CALL(Lookup_name, const char *service, MPI_Info info, char *port) {
  IN("Lookup_name");
  (void)service, (void)info, (void)port;
  return no_ports(p, scope.name);
}
