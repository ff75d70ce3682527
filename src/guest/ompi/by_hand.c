/* Functions of Open MPI's ABI that need more than a line of calls.list: callbacks, whose handles are
   translated on their way to the program; constants inside of arrays; names, which are shorter there. */
#include "ompi.h"
#include <stdarg.h>
#include <stdio.h>
#define T(name) om_##name

/* What the lines of calls.list pass on: tests/guest_mpi/openmpi_constants.c says the same of Open MPI. */
_Static_assert(MPI_ANY_TAG == -1 && MPI_IDENT == 0 && MPI_UNEQUAL == 3 &&
                   MPI_THREAD_MULTIPLE == 3 && MPI_MODE_CREATE == 1 && MPI_MODE_APPEND == 128 &&
                   MPI_MODE_SEQUENTIAL == 256 && MPI_SEEK_SET == 600 && MPI_SEEK_END == 604 &&
                   MPI_WIN_FLAVOR_CREATE == 1 && MPI_WIN_FLAVOR_SHARED == 4 &&
                   MPI_DISPLACEMENT_CURRENT == -54278278 && MPI_UNDEFINED == OM_UNDEFINED &&
                   sizeof(om_status) == 24,
               "the same in both");
/* ---- numbers -------------------------------------------------------------------------------------------- */
#define MPI_ERR_PROC_FAILED         MPIX_ERR_PROC_FAILED
#define MPI_ERR_PROC_FAILED_PENDING MPIX_ERR_PROC_FAILED_PENDING
#define MPI_ERR_REVOKED             MPIX_ERR_REVOKED
#ifndef MPI_ERR_VALUE_TOO_LARGE
#  define MPI_ERR_VALUE_TOO_LARGE 77 /* of MPICH 4.1 */
#endif
#define CLASS(name) MPI_##name
static const int class_of[] = {OM_ERRORS(CLASS), OM_ERRORS_5(CLASS)};
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
/* Values of predefined attributes that are numbers of the ABI: each process's own word. */
static const void *value_of_attribute(int key, const void *value) {
  static const int proc_null = OM_PROC_NULL, any_source = OM_ANY_SOURCE, unified = OM_WIN_UNIFIED,
                   separate = OM_WIN_SEPARATE, last_code = OM_ERR_LASTCODE;
  switch (key) {
  case OM_HOST: return &proc_null;
  case OM_IO: return &any_source;
  case OM_LASTUSEDCODE: return *(const int *)value == MPI_ERR_LASTCODE ? &last_code : value;
  case OM_WIN_MODEL: return *(const int *)value == MPI_WIN_UNIFIED ? &unified : &separate;
  default: return value;
  }
}
/* Copy functions of programs are functions, also those of MPI's own (others.c). */
static void *om_copy_fn(void *copy) { return copy; }
#include "mpi/other_calls.h"
HANDLER_CREATE(Errhandler_create)
HANDLER_CREATE(Session_create_errhandler)

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
  static const char *const names[] = {OM_ERRORS(CLASS), OM_ERRORS_5(CLASS)};
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
  int few[2][GM_FEW];
  int *d = (int *)gm_array(few[0], ndims, sizeof *d),
      *a = (int *)gm_array(few[1], ndims, sizeof *a);
  MPI_Datatype t = MPI_DATATYPE_NULL;
  for (int i = 0; i < ndims && distribs && dargs; i++) {
    d[i] = distribution(distribs[i], 0);
    a[i] = dargs[i] == OM_DISTRIBUTE_DFLT_DARG ? MPI_DISTRIBUTE_DFLT_DARG : dargs[i];
  }
  const int error =
      PMPI_Type_create_darray(size, rank, ndims, gsizes, distribs ? d : NULL, dargs ? a : NULL,
                              psizes, om_order(order), om_in(old), new ? &t : NULL);
  gm_array_end(d, few[0]);
  gm_array_end(a, few[1]);
  if (!error) *new = om_out(K_type, t);
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
  MPI_Datatype few[GM_FEW], *t = (MPI_Datatype *)gm_array(few, types_max, sizeof *t);
  int n[3] = {0, 0, 0}, combiner = 0;
  int error = PMPI_Type_get_envelope(om_in(type), &n[0], &n[1], &n[2], &combiner);
  if (!error)
    error = PMPI_Type_get_contents(om_in(type), ints_max, addresses_max, types_max, ints, addresses,
                                   types ? t : NULL);
  for (int i = 0; !error && i < n[2]; i++) types[i] = om_out(K_type, t[i]);
  gm_array_end(t, few);
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
int om_X_Query_cuda_support(void);
int om_X_Query_cuda_support(void) { return 0; }
int om_X_Query_rocm_support(void);
int om_X_Query_rocm_support(void) { return 0; }
/* Sessions have no hints to be changed. */
int om_Session_set_info(void *session, void *info);
int om_Session_set_info(void *session, void *info) {
  MPI_Info now = MPI_INFO_NULL;
  const int error = PMPI_Session_get_info(om_in(session), &now);
  (void)info;
  if (!error) PMPI_Info_free(&now);
  return om_error(error);
}
/* ---- what returns something else than an error, and the rest -------------------------------------------- */
int om_Abort(void *comm, int status);
int om_Abort(void *comm, int status) { return om_error(PMPI_Abort(om_in(comm), status)); }
int om_Buffer_detach(void *buffer, int *size);
int om_Buffer_detach(void *buffer, int *size) { return om_error(PMPI_Buffer_detach(buffer, size)); }
#define NUMBERS(name, kind)                                                                        \
  int om_##name##_c2f(void *handle);                                                               \
  int om_##name##_c2f(void *handle) { return om_number_of(kind, om_in(handle)); }                  \
  void *om_##name##_f2c(int number);                                                               \
  void *om_##name##_f2c(int number) { return om_out(kind, om_of_number(kind, number)); }
NUMBERS(Comm, K_comm)
NUMBERS(Group, K_group)
NUMBERS(Type, K_type)
NUMBERS(Op, K_op)
NUMBERS(Errhandler, K_errh)
NUMBERS(Info, K_info)
NUMBERS(Win, K_win)
NUMBERS(Request, K_req)
NUMBERS(Message, K_msg)
NUMBERS(Session, K_session)
int om_File_c2f(void *file);
int om_File_c2f(void *file) { return om_file_in(file) ? PMPI_File_c2f(om_file_in(file)) : 0; }
void *om_File_f2c(int number);
void *om_File_f2c(int number) {
  return om_file_out(number ? PMPI_File_f2c(number) : MPI_FILE_NULL);
}
/* All have the same words: a status of Fortran is an array of six integers, or as many with three names. */
static int status_copy(const void *from, void *to) {
  if (!from || !to) return om_error(MPI_ERR_ARG);
  memcpy(to, from, sizeof(om_status));
  return 0;
}
#define STATUS(name)                                                                               \
  int om_Status_##name(const void *from, void *to);                                                \
  int om_Status_##name(const void *from, void *to) { return status_copy(from, to); }
STATUS(c2f)
STATUS(f2c)
STATUS(c2f08)
STATUS(f082c)
STATUS(f082f)
STATUS(f2f08)
