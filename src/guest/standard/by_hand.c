/* Functions of the standard ABI that need more than a line of calls.list: those that ../mpi/other_calls.h has for all
   tables, those with large counts, and what MPICH 4.0's ABI has not. */
#include "st.h"
#include <stdarg.h>
#include <stdio.h>
#define T(name) st_##name

_Static_assert(sizeof(st_status) == 32 && MPI_UNDEFINED == ST_UNDEFINED &&
                   MPI_MAX_ERROR_STRING <= ST_MAX_ERROR_STRING &&
                   MPI_MAX_INFO_KEY < ST_MAX_INFO_KEY && MPI_MAX_INFO_VAL <= ST_MAX_INFO_VAL &&
                   MPI_MAX_LIBRARY_VERSION_STRING <= ST_MAX_LIBRARY_VERSION_STRING &&
                   MPI_MAX_OBJECT_NAME <= ST_MAX_OBJECT_NAME &&
                   MPI_MAX_PORT_NAME <= ST_MAX_PORT_NAME &&
                   MPI_MAX_PROCESSOR_NAME <= ST_MAX_PROCESSOR_NAME &&
                   MPI_MAX_DATAREP_STRING <= ST_MAX_DATAREP_STRING &&
                   MPI_MAX_PSET_NAME_LEN <= ST_MAX_PSET_NAME_LEN &&
                   MPI_BSEND_OVERHEAD <= ST_BSEND_OVERHEAD,
               "texts of MPICH have room in programs");

/* MPI_COMM_DUP_FN and its like are the number 1, NULL the functions that copy nothing. */
static int duplicate(void *object, int key, void *extra, void *in, void *out, int *flag) {
  (void)object, (void)key, (void)extra;
  memcpy(out, &in, sizeof in);
  *flag = 1;
  return 0;
}
static void *st_copy_fn(void *copy) {
  int (*own)(void *, int, void *, void *, void *, int *) = duplicate;
  if ((intptr_t)copy == ST_COMM_DUP_FN) memcpy(&copy, &own, sizeof copy);
  return copy;
}
static const void *value_of_attribute(int key, const void *value) {
  static const int proc_null = ST_PROC_NULL, any_source = ST_ANY_SOURCE, unified = ST_WIN_UNIFIED,
                   separate = ST_WIN_SEPARATE, last_code = ST_ERR_LASTCODE,
                   flavors[] = {ST_WIN_FLAVOR_CREATE, ST_WIN_FLAVOR_ALLOCATE, ST_WIN_FLAVOR_DYNAMIC,
                                ST_WIN_FLAVOR_SHARED};
  switch (key) {
  case ST_HOST: return &proc_null;
  case ST_IO: return &any_source;
  case ST_LASTUSEDCODE: return *(const int *)value == MPI_ERR_LASTCODE ? &last_code : value;
  case ST_WIN_MODEL: return *(const int *)value == MPI_WIN_UNIFIED ? &unified : &separate;
  case ST_WIN_CREATE_FLAVOR: return &flavors[*(const int *)value - MPI_WIN_FLAVOR_CREATE];
  default: return value;
  }
}
#include "mpi/other_calls.h"
HANDLER_CREATE(Session_create_errhandler)
typedef void large_operator(void *in, void *inout, MPI_Count *count, void **type);
static void operate_large(const void *in, void *inout, int count, MPI_Datatype type, void *fn) {
  large_operator *call;
  void *guests_type = st_out(K_type, type);
  MPI_Count large = count;
  memcpy(&call, &fn, sizeof call);
  call((void *)(uintptr_t)in, inout, &large, &guests_type);
}
int st_Op_create_c(void *fn, int commute, void **op);
int st_Op_create_c(void *fn, int commute, void **op) {
  return operator_create(fn, commute, op, (any_function *)operate_large);
}
int st_Register_datarep_c(const char *name, void *read, void *write, void *extent, void *extra);
int st_Register_datarep_c(const char *name, void *read, void *write, void *extent, void *extra) {
  return st_Register_datarep(name, read, write, extent, extra);
}

/* ---- types: how they were made ------------------------------------------------------------------------------- */
/* Distributions and their arguments as MPICH has them; room for as many as a darray has dimensions */
typedef struct distribution {
  int few[2][GM_FEW], *kind, *argument;
} distribution;
static void distribution_in(distribution *d, int ndims, const int *kinds, const int *arguments) {
  d->kind = (int *)gm_array(d->few[0], ndims, sizeof *d->kind);
  d->argument = (int *)gm_array(d->few[1], ndims, sizeof *d->argument);
  for (int i = 0; i < ndims && kinds && arguments; i++) {
    d->kind[i] = st_to_mpich(&st_dist_pairs, kinds[i], -1);
    d->argument[i] =
        arguments[i] == ST_DISTRIBUTE_DFLT_DARG ? MPI_DISTRIBUTE_DFLT_DARG : arguments[i];
  }
}
static void distribution_end(distribution *d) {
  gm_array_end(d->kind, d->few[0]);
  gm_array_end(d->argument, d->few[1]);
}
#define DARRAY(name, count_type)                                                                   \
  int st_##name(int size, int rank, int ndims, const count_type *sizes, const int *kinds,          \
                const int *arguments, const int *psizes, int order, void *old, void **new_type);   \
  int st_##name(int size, int rank, int ndims, const count_type *sizes, const int *kinds,          \
                const int *arguments, const int *psizes, int order, void *old, void **new_type) {  \
    distribution d;                                                                                \
    MPI_Datatype t = MPI_DATATYPE_NULL;                                                            \
    distribution_in(&d, ndims, kinds, arguments);                                                  \
    const int error = PMPI_##name(size, rank, ndims, sizes, kinds ? d.kind : NULL,                 \
                                  arguments ? d.argument : NULL, psizes, st_order(order),          \
                                  st_in(old), new_type ? &t : NULL);                               \
    distribution_end(&d);                                                                          \
    if (!error) *new_type = st_out(K_type, t);                                                     \
    return st_error(error);                                                                        \
  }
DARRAY(Type_create_darray, int)
DARRAY(Type_create_darray_c, MPI_Count)
int st_Type_get_envelope(void *type, int *ints, int *addresses, int *types, int *combiner);
int st_Type_get_envelope(void *type, int *ints, int *addresses, int *types, int *combiner) {
  const int error = PMPI_Type_get_envelope(st_in(type), ints, addresses, types, combiner);
  if (!error) *combiner = st_combiner_out(*combiner);
  return st_error(error);
}
int st_Type_get_envelope_c(void *type, MPI_Count *ints, MPI_Count *addresses, MPI_Count *counts,
                           MPI_Count *types, int *combiner);
int st_Type_get_envelope_c(void *type, MPI_Count *ints, MPI_Count *addresses, MPI_Count *counts,
                           MPI_Count *types, int *combiner) {
  const int error = PMPI_Type_get_envelope_c(st_in(type), ints, addresses, counts, types, combiner);
  if (!error) *combiner = st_combiner_out(*combiner);
  return st_error(error);
}
/* Orders and distributions stand in the integers; sizes of a large darray stand elsewhere. */
static void contents_out(int combiner, int *ints, bool has_sizes) {
  if (combiner == MPI_COMBINER_SUBARRAY) {
    int *order = &ints[has_sizes ? 1 + 3 * ints[0] : 1];
    *order = st_order_out(*order);
  }
  if (combiner == MPI_COMBINER_DARRAY) {
    const int d = ints[2];
    int *kind = &ints[has_sizes ? 3 + d : 3], *argument = kind + d, *order = argument + 2 * d;
    for (int i = 0; i < d; i++) {
      kind[i] = st_to_here(&st_dist_pairs, kind[i], kind[i]);
      if (argument[i] == MPI_DISTRIBUTE_DFLT_DARG) argument[i] = ST_DISTRIBUTE_DFLT_DARG;
    }
    *order = st_order_out(*order);
  }
}
int st_Type_get_contents(void *type, int ints_max, int addresses_max, int types_max, int *ints,
                         MPI_Aint *addresses, void **types);
int st_Type_get_contents(void *type, int ints_max, int addresses_max, int types_max, int *ints,
                         MPI_Aint *addresses, void **types) {
  MPI_Datatype few[GM_FEW], *t = (MPI_Datatype *)gm_array(few, types_max, sizeof *t);
  int n[3] = {0, 0, 0}, combiner = 0;
  int error = PMPI_Type_get_envelope(st_in(type), &n[0], &n[1], &n[2], &combiner);
  if (!error)
    error = PMPI_Type_get_contents(st_in(type), ints_max, addresses_max, types_max, ints, addresses,
                                   types ? t : NULL);
  for (int i = 0; !error && i < n[2]; i++) types[i] = st_out(K_type, t[i]);
  gm_array_end(t, few);
  if (!error) contents_out(combiner, ints, 1);
  return st_error(error);
}
int st_Type_get_contents_c(void *type, MPI_Count ints_max, MPI_Count addresses_max,
                           MPI_Count counts_max, MPI_Count types_max, int *ints,
                           MPI_Aint *addresses, MPI_Count *counts, void **types);
int st_Type_get_contents_c(void *type, MPI_Count ints_max, MPI_Count addresses_max,
                           MPI_Count counts_max, MPI_Count types_max, int *ints,
                           MPI_Aint *addresses, MPI_Count *counts, void **types) {
  MPI_Datatype few[GM_FEW], *t = (MPI_Datatype *)gm_array(few, (int)types_max, sizeof *t);
  MPI_Count n[4] = {0, 0, 0, 0};
  int combiner = 0;
  int error = PMPI_Type_get_envelope_c(st_in(type), &n[0], &n[1], &n[2], &n[3], &combiner);
  if (!error)
    error = PMPI_Type_get_contents_c(st_in(type), ints_max, addresses_max, counts_max, types_max,
                                     ints, addresses, counts, types ? t : NULL);
  for (int i = 0; !error && i < n[3]; i++) types[i] = st_out(K_type, t[i]);
  gm_array_end(t, few);
  if (!error) contents_out(combiner, ints, n[2] == 0);
  return st_error(error);
}
/* An optional type that is not there has no size: no error. */
static bool is_missing(void *type) {
  return (uintptr_t)type > ST_DATATYPE_NULL && (uintptr_t)type < ST_HANDLES &&
         st_known[(uintptr_t)type] == MPI_DATATYPE_NULL;
}
#define SIZE(name, count_type)                                                                     \
  int st_##name(void *type, count_type *size);                                                     \
  int st_##name(void *type, count_type *size) {                                                    \
    if (!size || !is_missing(type)) return st_error(PMPI_##name(st_in(type), size));               \
    *size = MPI_UNDEFINED;                                                                         \
    return 0;                                                                                      \
  }
SIZE(Type_size, int)
SIZE(Type_size_c, MPI_Count)
SIZE(Type_size_x, MPI_Count)

int st_Pready_list(int length, const int *partitions, void *request);
int st_Pready_list(int length, const int *partitions, void *request) {
  return st_error(PMPI_Pready_list(length, partitions, st_in(request)));
}

/* ---- windows that are not shared: a process has its own memory there, of others nothing (MPI 4.1) --------------- */
typedef struct memory {
  void *base;
  MPI_Aint size, unit;
} memory;
/* false: shared, or no such window or process, which the function itself says */
static bool memory_in(MPI_Win win, int rank, memory *m) {
  MPI_Group group;
  MPI_Aint *size;
  int *flavor, *unit, there = 0, me = 0, n = 0;
  *m = (memory){NULL, 0, 0};
  if (win == MPI_WIN_NULL || PMPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &there) ||
      (*flavor != MPI_WIN_FLAVOR_CREATE && *flavor != MPI_WIN_FLAVOR_ALLOCATE) ||
      PMPI_Win_get_group(win, &group))
    return false;
  PMPI_Group_rank(group, &me);
  PMPI_Group_size(group, &n);
  PMPI_Group_free(&group);
  if (rank == MPI_PROC_NULL && n == 1) rank = me;
  if (rank != me) return rank == MPI_PROC_NULL || (rank >= 0 && rank < n);
  PMPI_Win_get_attr(win, MPI_WIN_BASE, &m->base, &there);
  PMPI_Win_get_attr(win, MPI_WIN_SIZE, &size, &there);
  PMPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &unit, &there);
  m->size = *size;
  m->unit = *unit;
  return true;
}
#define SHARED_QUERY(name, unit_type)                                                              \
  int st_##name(void *win, int rank, MPI_Aint *size, unit_type *unit, void *base);                 \
  int st_##name(void *win, int rank, MPI_Aint *size, unit_type *unit, void *base) {                \
    memory m;                                                                                      \
    if (!size || !unit || !base || !memory_in(st_in(win), st_rank_in(rank), &m))                   \
      return st_error(PMPI_##name(st_in(win), st_rank_in(rank), size, unit, base));                \
    *size = m.size;                                                                                \
    *unit = (unit_type)m.unit;                                                                     \
    memcpy(base, &m.base, sizeof m.base);                                                          \
    return 0;                                                                                      \
  }
SHARED_QUERY(Win_shared_query, int)
SHARED_QUERY(Win_shared_query_c, MPI_Aint)

/* ---- versions -------------------------------------------------------------------------------------------------- */
int st_Get_version(int *version, int *subversion);
int st_Get_version(int *version, int *subversion) {
  if (!version || !subversion) return st_error(PMPI_Get_version(version, subversion));
  *version = ST_VERSION;
  *subversion = ST_SUBVERSION;
  return 0;
}
int st_Get_library_version(char *text, int *length);
int st_Get_library_version(char *text, int *length) {
  if (!text || !length) return st_error(PMPI_Get_library_version(text, length));
  *length = snprintf(text, ST_MAX_LIBRARY_VERSION_STRING,
                     "MPI of pm_run " PM_VERSION_STRING " (standard ABI) - simulated");
  return 0;
}
int st_Abi_get_version(int *major, int *minor);
int st_Abi_get_version(int *major, int *minor) {
  if (!major || !minor) return st_error(PMPI_Get_version(major, minor));
  *major = ST_ABI_VERSION;
  *minor = ST_ABI_SUBVERSION;
  return 0;
}
static int put(MPI_Info info, const char *key, int value) {
  char text[16];
  snprintf(text, sizeof text, "%d", value);
  return PMPI_Info_set(info, key, text);
}
int st_Abi_get_info(void **info);
int st_Abi_get_info(void **info) {
  MPI_Info i = MPI_INFO_NULL;
  int error = PMPI_Info_create(info ? &i : NULL);
  if (error) return st_error(error);
  error = put(i, "mpi_aint_size", (int)sizeof(MPI_Aint));
  if (!error) error = put(i, "mpi_count_size", (int)sizeof(MPI_Count));
  if (!error) error = put(i, "mpi_offset_size", (int)sizeof(MPI_Offset));
  *info = st_out(K_info, i);
  return st_error(error);
}

/* ---- Fortran ---------------------------------------------------------------------------------------------------- */
/* Its types are known here (those of the usual compilers), so nobody needs to set them: the standard's answer to
   who tries is MPI_ERR_ABI. */
int st_Abi_get_fortran_info(void **info);
int st_Abi_get_fortran_info(void **info) {
  static const struct {
    const char *key;
    uintptr_t type;
    bool is_size;
  } rows[] = {
#define SIZE_OF(name, NAME) {"mpi_" name "_size", ST_##NAME, 1}
#define IS_THERE(name, NAME)                                                                       \
  { "mpi_" name "_supported", ST_##NAME, 0 }
      SIZE_OF("logical", LOGICAL),
      SIZE_OF("integer", INTEGER),
      SIZE_OF("real", REAL),
      SIZE_OF("double_precision", DOUBLE_PRECISION),
      IS_THERE("logical1", LOGICAL1),
      IS_THERE("logical2", LOGICAL2),
      IS_THERE("logical4", LOGICAL4),
      IS_THERE("logical8", LOGICAL8),
      IS_THERE("logical16", LOGICAL16),
      IS_THERE("integer1", INTEGER1),
      IS_THERE("integer2", INTEGER2),
      IS_THERE("integer4", INTEGER4),
      IS_THERE("integer8", INTEGER8),
      IS_THERE("integer16", INTEGER16),
      IS_THERE("real2", REAL2),
      IS_THERE("real4", REAL4),
      IS_THERE("real8", REAL8),
      IS_THERE("real16", REAL16),
      IS_THERE("complex4", COMPLEX4),
      IS_THERE("complex8", COMPLEX8),
      IS_THERE("complex16", COMPLEX16),
      IS_THERE("complex32", COMPLEX32),
      IS_THERE("double_complex", DOUBLE_COMPLEX)};
  MPI_Info i = MPI_INFO_NULL;
  int error = PMPI_Info_create(info ? &i : NULL), size = 0;
  if (error) return st_error(error);
  for (size_t r = 0; r < sizeof rows / sizeof *rows && !error; r++) {
    const bool is_there = st_known[rows[r].type] != MPI_DATATYPE_NULL;
    if (!rows[r].is_size)
      error = PMPI_Info_set(i, rows[r].key, is_there ? "true" : "false");
    else if ((error = PMPI_Type_size(st_known[rows[r].type], &size)) == 0)
      error = put(i, rows[r].key, size);
  }
  *info = st_out(K_info, i);
  return st_error(error);
}
static int abi_error(void) {
  return st_error(PMPI_Comm_call_errhandler(MPI_COMM_WORLD, GM_ERR_ABI)), ST_ERR_ABI;
}
int st_Abi_set_fortran_info(void *info);
int st_Abi_set_fortran_info(void *info) {
  (void)info;
  return abi_error();
}
int st_Abi_set_fortran_booleans(int bytes, const void *yes, const void *no);
int st_Abi_set_fortran_booleans(int bytes, const void *yes, const void *no) {
  (void)bytes, (void)yes, (void)no;
  return abi_error();
}
int st_Abi_get_fortran_booleans(int bytes, void *yes, void *no, int *flag);
int st_Abi_get_fortran_booleans(int bytes, void *yes, void *no, int *flag) {
  static const int values[] = {1, 0};
  if (!yes || !no || !flag) return st_error(PMPI_Get_version(NULL, NULL));
  *flag = 1;
  if (bytes != (int)sizeof *values) return abi_error();
  memcpy(yes, &values[0], sizeof *values);
  memcpy(no, &values[1], sizeof *values);
  return 0;
}
/* A predefined handle has the number of its constant, a file one above all of these. */
#define NUMBERS(name)                                                                              \
  int st_##name##_toint(void *handle);                                                             \
  int st_##name##_toint(void *handle) { return (int)(unsigned)(uintptr_t)handle; }                 \
  void *st_##name##_fromint(int number);                                                           \
  void *st_##name##_fromint(int number) { return (void *)(uintptr_t)(unsigned)number; }
NUMBERS(Comm)
NUMBERS(Group)
NUMBERS(Type)
NUMBERS(Op)
NUMBERS(Errhandler)
NUMBERS(Info)
NUMBERS(Win)
NUMBERS(Request)
NUMBERS(Message)
NUMBERS(Session)
int st_File_toint(void *file);
int st_File_toint(void *file) {
  return st_file_in(file) ? PMPI_File_c2f(st_file_in(file)) + ST_HANDLES : (int)(uintptr_t)file;
}
void *st_File_fromint(int number);
void *st_File_fromint(int number) {
  return number > ST_HANDLES ? st_file_out(PMPI_File_f2c(number - ST_HANDLES))
                             : (void *)(uintptr_t)(unsigned)number;
}
