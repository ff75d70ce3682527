/* Functions of Open MPI's ABI that need more than a line of calls.list: callbacks, whose handles are
   translated on their way to the program; constants inside of arrays; names, which are shorter there. */
#include "ompi.h"
#include <stdarg.h>
#include <stdio.h>

/* What the lines of calls.list pass on: tests/guest_mpi/openmpi_constants.c says the same of Open MPI. */
_Static_assert(MPI_ANY_TAG == -1 && MPI_IDENT == 0 && MPI_UNEQUAL == 3 &&
                   MPI_THREAD_MULTIPLE == 3 && MPI_MODE_CREATE == 1 && MPI_MODE_APPEND == 128 &&
                   MPI_MODE_SEQUENTIAL == 256 && MPI_SEEK_SET == 600 && MPI_SEEK_END == 604 &&
                   MPI_WIN_FLAVOR_CREATE == 1 && MPI_WIN_FLAVOR_SHARED == 4 &&
                   MPI_DISPLACEMENT_CURRENT == -54278278 && MPI_UNDEFINED == OM_UNDEFINED &&
                   sizeof(om_status) == 24,
               "the same in both");
/* ---- numbers -------------------------------------------------------------------------------------------- */
#define CLASS(name) MPI_##name
static const int class_of[] = {OM_ERRORS(CLASS)};
#undef CLASS
enum { CLASSES = sizeof class_of / sizeof *class_of };
int om_error_slow(int code) {
  for (int i = 0; i < CLASSES; i++)
    if (class_of[i] == code) return i;
  return code; /* the program's own */
}
int om_code_in(int code) { return code >= 0 && code < CLASSES ? class_of[code] : code; }
static const int keys[] = {MPI_TAG_UB,
                           MPI_HOST,
                           MPI_IO,
                           MPI_WTIME_IS_GLOBAL,
                           MPI_APPNUM,
                           MPI_LASTUSEDCODE,
                           MPI_UNIVERSE_SIZE,
                           MPI_WIN_BASE,
                           MPI_WIN_SIZE,
                           MPI_WIN_DISP_UNIT,
                           MPI_WIN_CREATE_FLAVOR,
                           MPI_WIN_MODEL};
int om_key_in(int key) {
  if (key >= 0 && key < (int)(sizeof keys / sizeof *keys)) return keys[key];
  return key == OM_KEYVAL_INVALID ? MPI_KEYVAL_INVALID : key;
}
int om_key_out(int key) { return key == MPI_KEYVAL_INVALID ? OM_KEYVAL_INVALID : key; }
int om_assert(int bits) {
  return (bits & OM_MODE_NOCHECK ? MPI_MODE_NOCHECK : 0) |
         (bits & OM_MODE_NOPRECEDE ? MPI_MODE_NOPRECEDE : 0) |
         (bits & OM_MODE_NOPUT ? MPI_MODE_NOPUT : 0) |
         (bits & OM_MODE_NOSTORE ? MPI_MODE_NOSTORE : 0) |
         (bits & OM_MODE_NOSUCCEED ? MPI_MODE_NOSUCCEED : 0) | (bits & ~31 ? 1 : 0);
}
/* Not in ompi.h: a compiler that sees MPI_STATUSES_IGNORE warns of the address 1. */
MPI_Status *om_statuses(MPI_Status *s) { return s ? s : MPI_STATUSES_IGNORE; }
void *om_room(void *few, int count, size_t each) {
  void *room = count > OM_FEW ? malloc((size_t)count * each) : few;
  if (!room) guest_abort(100, "out of memory for MPI");
  return room;
}
int om_size(void *comm) {
  int size = 0, is_inter = 0;
  const gm_comm *c = comm_of(gm_self(), om_in(comm));
  if (!c) return 0;
  is_inter = c->remote != NULL;
  size = is_inter ? c->remote->size : c->local->size;
  return size;
}
int om_degree(void *comm, int is_out) {
  const gm_comm *c = comm_of(gm_self(), om_in(comm));
  const gm_topo *t = c ? c->topo : NULL;
  int count = 0;
  if (!t) return 0;
  if (t->kind == MPI_CART) return 2 * t->dims_count;
  if (t->kind == MPI_DIST_GRAPH) return is_out ? t->out_count : t->in_count;
  return PMPI_Graph_neighbors_count(om_in(comm), c->rank, &count) ? 0 : count;
}

/* ---- operators, error handlers -------------------------------------------------------------------------- */
extern void MPII_Op_set_cxx(MPI_Op op, void (*through)(void));
extern void MPII_Errhandler_set_cxx(MPI_Errhandler h, void (*through)(void));
typedef void any_function(void);
typedef void user_operator(void *in, void *inout, int *count, void **type);
static void operate(const void *in, void *inout, int count, MPI_Datatype type, void *fn) {
  user_operator *call;
  void *guests_type = om_out(OM_type, type);
  memcpy(&call, &fn, sizeof call);
  call((void *)(uintptr_t)in, inout, &count, &guests_type);
}
int om_Op_create(void *fn, int commute, void **op);
int om_Op_create(void *fn, int commute, void **op) {
  MPI_User_function *as_mpi;
  MPI_Op o = MPI_OP_NULL;
  memcpy(&as_mpi, &fn, sizeof as_mpi);
  const int error = PMPI_Op_create(as_mpi, commute, op ? &o : NULL);
  if (error || !op) return om_error(error);
  MPII_Op_set_cxx(o, (any_function *)operate);
  *op = om_out(OM_op, o);
  return 0;
}
typedef void user_handler(void **object, int *code, ...);
/* The code may be changed by the handler: who raised the error returns it. */
static void handle_error(int kind, int *handle, int *code, any_function *fn) {
  void *object = NULL;
  int guests_code = om_error(*code);
  if (kind == 1) {
    MPI_File file;
    memcpy(&file, handle, sizeof file);
    object = om_file_out(file);
  } else
    object = om_out(kind == 2 ? OM_win : OM_comm, *handle);
  ((user_handler *)fn)(&object, &guests_code);
  *code = om_code_in(guests_code);
}
static int handler_create(void *fn, void **handler) {
  MPI_Comm_errhandler_function *as_mpi;
  MPI_Errhandler h = MPI_ERRHANDLER_NULL;
  memcpy(&as_mpi, &fn, sizeof as_mpi);
  const int error = PMPI_Comm_create_errhandler(as_mpi, handler ? &h : NULL);
  if (error || !handler) return om_error(error);
  MPII_Errhandler_set_cxx(h, (any_function *)handle_error);
  *handler = om_out(OM_errh, h);
  return 0;
}
#define HANDLER_CREATE(name)                                                                       \
  int om_##name(void *fn, void **handler);                                                         \
  int om_##name(void *fn, void **handler) { return handler_create(fn, handler); }
HANDLER_CREATE(Comm_create_errhandler)
HANDLER_CREATE(Win_create_errhandler)
HANDLER_CREATE(File_create_errhandler)
HANDLER_CREATE(Errhandler_create)

/* ---- attributes ------------------------------------------------------------------------------------------ */
extern int MPII_Keyval_set_proxy(int keyval,
                                 int (*copy)(void *, int, int, void *, int, void *, void **, int *),
                                 int (*remove)(void *, int, int, int, void *, void *));
typedef int copy_function(void *object, int key, void *extra, void *in, void *out, int *flag);
typedef int delete_function(void *object, int key, void *value, void *extra);
static void *any_object(int handle) { return om_out((handle >> 26) & 15, handle); }
static int copy_attribute(void *fn, int handle, int key, void *extra, int type, void *in,
                          void **out, int *flag) {
  copy_function *copy;
  (void)type;
  memcpy(&copy, &fn, sizeof copy);
  return om_code_in(copy(any_object(handle), key, extra, in, out, flag));
}
static int delete_attribute(void *fn, int handle, int key, int type, void *value, void *extra) {
  delete_function *del;
  (void)type;
  memcpy(&del, &fn, sizeof del);
  return om_code_in(del(any_object(handle), key, value, extra));
}
#define KEYVAL_CREATE(name)                                                                        \
  int om_##name(void *copy, void *del, int *key, void *extra);                                     \
  int om_##name(void *copy, void *del, int *key, void *extra) {                                    \
    const int error = PMPI_##name(NULL, NULL, key, extra);                                         \
    gm_keyval *k = error ? NULL : (gm_keyval *)gm_find(gm_self(), GM_T_KEYVAL, *key);              \
    if (k) {                                                                                       \
      k->copy_fn = copy;                                                                           \
      k->delete_fn = del;                                                                          \
      MPII_Keyval_set_proxy(*key, copy_attribute, delete_attribute);                               \
    }                                                                                              \
    return om_error(error);                                                                        \
  }
KEYVAL_CREATE(Comm_create_keyval)
KEYVAL_CREATE(Type_create_keyval)
KEYVAL_CREATE(Win_create_keyval)
KEYVAL_CREATE(Keyval_create)
/* Values of predefined attributes that are numbers of the ABI: each process's own word. */
static const void *value_of_attribute(int key, const void *value) {
  static const int proc_null = OM_PROC_NULL, any_source = OM_ANY_SOURCE, unified = OM_WIN_UNIFIED,
                   separate = OM_WIN_SEPARATE;
  switch (key) {
  case OM_HOST: return &proc_null;
  case OM_IO: return &any_source;
  case OM_WIN_MODEL: return *(const int *)value == MPI_WIN_UNIFIED ? &unified : &separate;
  default: return value;
  }
}
#define GET_ATTR(name)                                                                             \
  int om_##name(void *object, int key, const void **value, int *flag);                             \
  int om_##name(void *object, int key, const void **value, int *flag) {                            \
    const int error = PMPI_##name(om_in(object), om_key_in(key), value, flag);                     \
    if (!error && *flag) *value = value_of_attribute(key, *value);                                 \
    return om_error(error);                                                                        \
  }
GET_ATTR(Comm_get_attr)
GET_ATTR(Attr_get)
GET_ATTR(Win_get_attr)

/* ---- generalized requests -------------------------------------------------------------------------------- */
typedef struct general {
  int (*query)(void *extra, om_status *status), (*release)(void *extra),
      (*cancel)(void *extra, int is_done);
  void *extra;
} general;
static int general_query(void *extra, MPI_Status *s) {
  const general *g = (const general *)extra;
  om_status o;
  om_status_out(&o, s);
  const int error = g->query(g->extra, &o);
  om_status_in(s, &o);
  return om_code_in(error);
}
static int general_release(void *extra) {
  general *g = (general *)extra;
  const int error = g->release ? g->release(g->extra) : 0;
  free(g);
  return om_code_in(error);
}
static int general_cancel(void *extra, int is_done) {
  const general *g = (const general *)extra;
  return om_code_in(g->cancel(g->extra, is_done));
}
int om_Grequest_start(int (*query)(void *, om_status *), int (*release)(void *),
                      int (*cancel)(void *, int), void *extra, void **request);
int om_Grequest_start(int (*query)(void *, om_status *), int (*release)(void *),
                      int (*cancel)(void *, int), void *extra, void **request) {
  general *g = (general *)malloc(sizeof *g);
  MPI_Request r = MPI_REQUEST_NULL;
  if (!g) return om_error(MPI_ERR_NO_MEM);
  *g = (general){query, release, cancel, extra};
  const int error = PMPI_Grequest_start(general_query, general_release, general_cancel, g, &r);
  if (!error) *request = om_out(OM_req, r);
  return om_error(error);
}
int om_Register_datarep(const char *name, void *read, void *write, void *extent, void *extra);
int om_Register_datarep(const char *name, void *read, void *write, void *extent, void *extra) {
  MPI_Datarep_conversion_function *read_fn, *write_fn;
  MPI_Datarep_extent_function *extent_fn;
  memcpy(&read_fn, &read, sizeof read_fn); /* none is ever called: others than NULL are refused */
  memcpy(&write_fn, &write, sizeof write_fn);
  memcpy(&extent_fn, &extent, sizeof extent_fn);
  return om_error(PMPI_Register_datarep(name, read_fn, write_fn, extent_fn, extra));
}

/* ---- names ------------------------------------------------------------------------------------------------- */
static void shorten(char *to, int *length, const char *from, int room) {
  *length = snprintf(to, (size_t)room, "%s", from);
  if (*length >= room) *length = room - 1;
}
#define GET_NAME(name)                                                                             \
  int om_##name(void *object, char *text, int *length);                                            \
  int om_##name(void *object, char *text, int *length) {                                           \
    char name_there[MPI_MAX_OBJECT_NAME + 1] = "";                                                 \
    const int error = PMPI_##name(om_in(object), text ? name_there : NULL, length);                \
    if (!error) shorten(text, length, name_there, OM_MAX_OBJECT_NAME);                             \
    return om_error(error);                                                                        \
  }
GET_NAME(Comm_get_name)
GET_NAME(Type_get_name)
GET_NAME(Win_get_name)
int om_Error_string(int code, char *text, int *length);
int om_Error_string(int code, char *text, int *length) {
#define CLASS(name) "MPI_" #name ": "
  static const char *const names[] = {OM_ERRORS(CLASS)};
#undef CLASS
  char there[MPI_MAX_ERROR_STRING + 1] = "", whole[MPI_MAX_ERROR_STRING + 64];
  const int error = PMPI_Error_string(om_code_in(code), text ? there : NULL, length);
  if (error) return om_error(error);
  snprintf(whole, sizeof whole, "%s%s", code >= 0 && code < CLASSES ? names[code] : "", there);
  shorten(text, length, whole, OM_MAX_ERROR_STRING);
  return 0;
}
int om_Get_library_version(char *text, int *length);
int om_Get_library_version(char *text, int *length) {
  if (!text || !length) return om_error(MPI_ERR_ARG);
  shorten(text, length, "Open MPI (its ABI): MPI of pm_run " PM_VERSION_STRING " - simulated",
          OM_MAX_LIBRARY_VERSION_STRING);
  return 0;
}
int om_Get_version(int *version, int *subversion);
int om_Get_version(int *version, int *subversion) {
  if (!version || !subversion) return om_error(MPI_ERR_ARG);
  *version = 3;
  *subversion = 1;
  return 0;
}
int om_Info_get_nthkey(void *info, int n, char *key);
int om_Info_get_nthkey(void *info, int n, char *key) {
  char there[MPI_MAX_INFO_KEY + 1] = "";
  int length;
  const int error = PMPI_Info_get_nthkey(om_in(info), n, key ? there : NULL);
  if (!error) shorten(key, &length, there, OM_MAX_INFO_KEY);
  return om_error(error);
}

/* ---- constants in arrays ------------------------------------------------------------------------------------ */
static const int distributions[][2] = {{OM_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_BLOCK},
                                       {OM_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_CYCLIC},
                                       {OM_DISTRIBUTE_NONE, MPI_DISTRIBUTE_NONE}};
static int distribution(int d, int from) {
  for (int i = 0; i < 3; i++)
    if (distributions[i][from] == d) return distributions[i][!from];
  return d;
}
int om_Type_create_darray(int size, int rank, int ndims, const int *gsizes, const int *distribs,
                          const int *dargs, const int *psizes, int order, void *old, void **new);
int om_Type_create_darray(int size, int rank, int ndims, const int *gsizes, const int *distribs,
                          const int *dargs, const int *psizes, int order, void *old, void **new) {
  int few[2][OM_FEW];
  int *d = (int *)om_room(few[0], ndims, sizeof *d), *a = (int *)om_room(few[1], ndims, sizeof *a);
  MPI_Datatype t = MPI_DATATYPE_NULL;
  for (int i = 0; i < ndims && distribs && dargs; i++) {
    d[i] = distribution(distribs[i], 0);
    a[i] = dargs[i] == OM_DISTRIBUTE_DFLT_DARG ? MPI_DISTRIBUTE_DFLT_DARG : dargs[i];
  }
  const int error =
      PMPI_Type_create_darray(size, rank, ndims, gsizes, distribs ? d : NULL, dargs ? a : NULL,
                              psizes, om_order(order), om_in(old), new ? &t : NULL);
  om_give_back(d, few[0]);
  om_give_back(a, few[1]);
  if (!error) *new = om_out(OM_type, t);
  return om_error(error);
}
int om_Type_get_envelope(void *type, int *ints, int *addresses, int *types, int *combiner);
int om_Type_get_envelope(void *type, int *ints, int *addresses, int *types, int *combiner) {
  const int error = PMPI_Type_get_envelope(om_in(type), ints, addresses, types, combiner);
  if (!error) *combiner -= MPI_COMBINER_NAMED - OM_COMBINER_NAMED;
  return om_error(error);
}
static int order_out(int order) { return order == MPI_ORDER_C ? OM_ORDER_C : OM_ORDER_FORTRAN; }
int om_Type_get_contents(void *type, int ints_max, int addresses_max, int types_max, int *ints,
                         MPI_Aint *addresses, void **types);
int om_Type_get_contents(void *type, int ints_max, int addresses_max, int types_max, int *ints,
                         MPI_Aint *addresses, void **types) {
  MPI_Datatype few[OM_FEW], *t = (MPI_Datatype *)om_room(few, types_max, sizeof *t);
  int n[3] = {0, 0, 0}, combiner = 0;
  int error = PMPI_Type_get_envelope(om_in(type), &n[0], &n[1], &n[2], &combiner);
  if (!error)
    error = PMPI_Type_get_contents(om_in(type), ints_max, addresses_max, types_max, ints, addresses,
                                   types ? t : NULL);
  for (int i = 0; !error && i < n[2]; i++) types[i] = om_out(OM_type, t[i]);
  om_give_back(t, few);
  if (!error && combiner == MPI_COMBINER_SUBARRAY)
    ints[1 + 3 * ints[0]] = order_out(ints[1 + 3 * ints[0]]);
  if (!error && combiner == MPI_COMBINER_DARRAY) {
    const int d = ints[2];
    for (int i = 3 + d; i < 3 + 2 * d; i++) ints[i] = distribution(ints[i], 1);
    for (int i = 3 + 2 * d; i < 3 + 3 * d; i++)
      if (ints[i] == MPI_DISTRIBUTE_DFLT_DARG) ints[i] = OM_DISTRIBUTE_DFLT_DARG;
    ints[3 + 4 * d] = order_out(ints[3 + 4 * d]);
  }
  return om_error(error);
}
int om_Group_translate_ranks(void *from, int n, const int *ranks, void *to, int *there);
int om_Group_translate_ranks(void *from, int n, const int *ranks, void *to, int *there) {
  int few[OM_FEW], *r = (int *)om_room(few, n, sizeof *r);
  for (int i = 0; ranks && i < n; i++) r[i] = om_rank_in(ranks[i]);
  const int error = PMPI_Group_translate_ranks(om_in(from), n, ranks ? r : NULL, om_in(to), there);
  for (int i = 0; !error && i < n; i++) there[i] = om_rank_out(there[i]);
  om_give_back(r, few);
  return om_error(error);
}

int om_X_Query_cuda_support(void);
int om_X_Query_cuda_support(void) { return 0; }
/* ---- what returns something else than an error, and the rest -------------------------------------------- */
int om_Abort(void *comm, int status);
int om_Abort(void *comm, int status) { return om_error(PMPI_Abort(om_in(comm), status)); }
double om_Wtime(void), om_Wtick(void);
double om_Wtime(void) { return PMPI_Wtime(); }
double om_Wtick(void) { return PMPI_Wtick(); }
MPI_Aint om_Aint_add(MPI_Aint base, MPI_Aint disp), om_Aint_diff(MPI_Aint a, MPI_Aint b);
MPI_Aint om_Aint_add(MPI_Aint base, MPI_Aint disp) { return base + disp; }
MPI_Aint om_Aint_diff(MPI_Aint a, MPI_Aint b) { return a - b; }
int om_Pcontrol(const int level, ...);
int om_Pcontrol(const int level, ...) {
  (void)level;
  return 0;
}
int om_Buffer_detach(void *buffer, int *size);
int om_Buffer_detach(void *buffer, int *size) { return om_error(PMPI_Buffer_detach(buffer, size)); }
int om_Comm_spawn_multiple(int count, char **commands, char ***argv, const int *max, void **info,
                           int root, void *comm, void **intercomm, int *codes);
int om_Comm_spawn_multiple(int count, char **commands, char ***argv, const int *max, void **info,
                           int root, void *comm, void **intercomm, int *codes) {
  MPI_Comm c = MPI_COMM_NULL;
  MPI_Info few[OM_FEW], *i = (MPI_Info *)om_room(few, count, sizeof *i);
  for (int k = 0; info && k < count; k++) i[k] = om_in(info[k]);
  const int error = PMPI_Comm_spawn_multiple(count, commands, argv, max, info ? i : NULL,
                                             om_rank_in(root), om_in(comm), &c, codes);
  om_give_back(i, few);
  if (!error) *intercomm = om_out(OM_comm, c);
  return om_error(error);
}
#define NUMBERS(name, kind)                                                                        \
  int om_##name##_c2f(void *handle);                                                               \
  int om_##name##_c2f(void *handle) { return om_number_of(kind, om_in(handle)); }                  \
  void *om_##name##_f2c(int number);                                                               \
  void *om_##name##_f2c(int number) { return om_out(kind, om_of_number(kind, number)); }
NUMBERS(Comm, OM_comm)
NUMBERS(Group, OM_group)
NUMBERS(Type, OM_type)
NUMBERS(Op, OM_op)
NUMBERS(Errhandler, OM_errh)
NUMBERS(Info, OM_info)
NUMBERS(Win, OM_win)
NUMBERS(Request, OM_req)
NUMBERS(Message, OM_msg)
int om_File_c2f(void *file);
int om_File_c2f(void *file) { return om_file_in(file) ? PMPI_File_c2f(om_file_in(file)) : 0; }
void *om_File_f2c(int number);
void *om_File_f2c(int number) {
  return om_file_out(number ? PMPI_File_f2c(number) : MPI_FILE_NULL);
}
/* Both have the same words: a status of Fortran is an array of six integers. */
int om_Status_c2f(const om_status *c, void *f);
int om_Status_c2f(const om_status *c, void *f) {
  if (!c || !f) return om_error(MPI_ERR_ARG);
  memcpy(f, c, sizeof *c);
  return 0;
}
int om_Status_f2c(const void *f, om_status *c);
int om_Status_f2c(const void *f, om_status *c) {
  if (!c || !f) return om_error(MPI_ERR_ARG);
  memcpy(c, f, sizeof *c);
  return 0;
}
