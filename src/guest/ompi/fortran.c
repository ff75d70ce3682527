/* Fortran. Open MPI's own library (libmpi_mpifh.so) turns its arguments into those of C and calls PMPI functions, which
   are ours; that is left to it. It looks into what a handle points to in the functions below: these are found
   here instead, under all names that compilers give them (bind.c). Handles are integers, given by address. */
#include "ompi.h"

extern void MPII_Op_set_cxx(MPI_Op op, void (*through)(void));
extern void MPII_Errhandler_set_cxx(MPI_Errhandler h, void (*through)(void));
typedef void any_function(void);
static int number(int kind, int handle) { return om_number_of(kind, handle); }

/* ---- operators, error handlers ---------------------------------------------------------------------------- */
static void operate(const void *in, void *inout, int count, MPI_Datatype type, void *fn) {
  void (*call)(void *, void *, int *, int *);
  int n = number(K_type, type);
  memcpy(&call, &fn, sizeof call);
  call((void *)(uintptr_t)in, inout, &count, &n);
}
static void op_create(MPI_User_function *fn, const int *commute, int *op, int *error) {
  MPI_Op o = MPI_OP_NULL;
  *error = om_error(PMPI_Op_create(fn, *commute, &o));
  if (!*error) MPII_Op_set_cxx(o, (any_function *)operate);
  *op = number(K_op, o);
}
static void handle_error(int kind, int *handle, int *code, any_function *fn) {
  int object, there = om_error(*code);
  if (kind == 1) {
    MPI_File file;
    memcpy(&file, handle, sizeof file);
    object = file ? PMPI_File_c2f(file) : 0;
  } else
    object = number(kind == 2 ? K_win : K_comm, *handle);
  ((void (*)(int *, int *))fn)(&object, &there);
  *code = om_code_in(there);
}
static void create_errhandler(MPI_Comm_errhandler_function *fn, int *handler, int *error) {
  MPI_Errhandler h = MPI_ERRHANDLER_NULL;
  *error = om_error(PMPI_Comm_create_errhandler(fn, &h));
  if (!*error) MPII_Errhandler_set_cxx(h, (any_function *)handle_error);
  *handler = number(K_errh, h);
}

/* ---- attributes: values of two widths ------------------------------------------------------------------------ */
extern int MPII_Comm_get_attr(MPI_Comm comm, int keyval, void *value, int *flag, int type);
extern int MPII_Comm_set_attr(MPI_Comm comm, int keyval, void *value, int type);
extern int MPII_Type_get_attr(MPI_Datatype type, int keyval, void *value, int *flag, int how);
extern int MPII_Type_set_attr(MPI_Datatype type, int keyval, void *value, int how);
extern int MPII_Win_get_attr(MPI_Win win, int keyval, void *value, int *flag, int how);
extern int MPII_Win_set_attr(MPI_Win win, int keyval, void *value, int how);
extern int MPII_Keyval_set_proxy(int keyval,
                                 int (*copy)(void *, int, int, void *, int, void *, void **, int *),
                                 int (*remove)(void *, int, int, int, void *, void *));
#define BOTH_WIDTHS(name, word)                                                                    \
  static int copy_##name(void *fn, int handle, int key, void *extra, int type, void *in,           \
                         void **out, int *flag) {                                                  \
    void (*copy)(int *, int *, word *, word *, word *, int *, int *);                              \
    int object = number((handle >> 26) & 15, handle), error = 0;                                   \
    word x = (word)(intptr_t)extra, i = (word)(intptr_t)in, o = 0;                                 \
    (void)type;                                                                                    \
    memcpy(&copy, &fn, sizeof copy);                                                               \
    copy(&object, &key, &x, &i, &o, flag, &error);                                                 \
    *out = (void *)(intptr_t)o;                                                                    \
    return om_code_in(error);                                                                      \
  }                                                                                                \
  static int delete_##name(void *fn, int handle, int key, int type, void *value, void *extra) {    \
    void (*del)(int *, int *, word *, word *, int *);                                              \
    int object = number((handle >> 26) & 15, handle), error = 0;                                   \
    word x = (word)(intptr_t)extra, v = (word)(intptr_t)value;                                     \
    (void)type;                                                                                    \
    memcpy(&del, &fn, sizeof del);                                                                 \
    del(&object, &key, &v, &x, &error);                                                            \
    return om_code_in(error);                                                                      \
  }
BOTH_WIDTHS(long, MPI_Aint)
BOTH_WIDTHS(short, int)
#define KEYVAL_CREATE(name, call, width, word)                                                     \
  static void name(void *copy, void *del, int *key, const word *extra, int *error) {               \
    *error = om_error(call(NULL, NULL, key, (void *)(intptr_t)*extra));                            \
    gm_keyval *k = *error ? NULL : (gm_keyval *)gm_find(gm_self(), GM_T_KEYVAL, *key);             \
    if (!k) return;                                                                                \
    k->copy_fn = copy;                                                                             \
    k->delete_fn = del;                                                                            \
    MPII_Keyval_set_proxy(*key, copy_##width, delete_##width);                                     \
  }
KEYVAL_CREATE(keyval_create, PMPI_Keyval_create, short, int)
KEYVAL_CREATE(comm_create_keyval, PMPI_Comm_create_keyval, long, MPI_Aint)
KEYVAL_CREATE(type_create_keyval, PMPI_Type_create_keyval, long, MPI_Aint)
KEYVAL_CREATE(win_create_keyval, PMPI_Win_create_keyval, long, MPI_Aint)
static MPI_Aint value_there(int key, void *value) {
  const MPI_Aint v = (MPI_Aint)(intptr_t)value;
  switch (key) {
  case OM_HOST: return OM_PROC_NULL;
  case OM_IO: return OM_ANY_SOURCE;
  case OM_LASTUSEDCODE: return v == MPI_ERR_LASTCODE ? OM_ERR_LASTCODE : v;
  case OM_WIN_MODEL: return v == MPI_WIN_UNIFIED ? OM_WIN_UNIFIED : OM_WIN_SEPARATE;
  default: return v;
  }
}
#define ATTRIBUTES(get, set, call, kind, word, width)                                              \
  static void get(const int *object, const int *key, word *value, int *flag, int *error) {         \
    void *v = NULL;                                                                                \
    *flag = 0;                                                                                     \
    *error = om_error(                                                                             \
        MPII_##call##_get_attr(om_of_number(kind, *object), om_key_in(*key), &v, flag, width));    \
    if (!*error && *flag) *value = (word)value_there(*key, v);                                     \
  }                                                                                                \
  static void set(const int *object, const int *key, const word *value, int *error) {              \
    *error = om_error(MPII_##call##_set_attr(om_of_number(kind, *object), om_key_in(*key),         \
                                             (void *)(intptr_t)*value, width));                    \
  }
ATTRIBUTES(attr_get, attr_put, Comm, K_comm, int, 2)
ATTRIBUTES(comm_get_attr, comm_set_attr, Comm, K_comm, MPI_Aint, 1)
ATTRIBUTES(type_get_attr, type_set_attr, Type, K_type, MPI_Aint, 1)
ATTRIBUTES(win_get_attr, win_set_attr, Win, K_win, MPI_Aint, 1)

/* ---- the rest ---------------------------------------------------------------------------------------------------- */
static void type_match_size(const int *class, const int *size, int *type, int *error) {
  MPI_Datatype t = MPI_DATATYPE_NULL;
  *error = om_error(PMPI_Type_match_size(om_class(*class), *size, &t));
  *type = number(K_type, t);
}
typedef struct general {
  void (*query)(MPI_Aint *extra, om_status *status, int *error),
      (*release)(MPI_Aint *extra, int *error),
      (*cancel)(MPI_Aint *extra, const int *complete, int *error);
  MPI_Aint *extra; /* where the program has it, as in Open MPI: what is written there is seen */
} general;
static int general_query(void *arg, MPI_Status *s) {
  general *g = (general *)arg;
  om_status o;
  int error = 0;
  om_status_out(&o, s);
  g->query(g->extra, &o, &error);
  om_status_in(s, &o);
  return om_code_in(error);
}
static int general_release(void *arg) {
  general *g = (general *)arg;
  int error = 0;
  g->release(g->extra, &error);
  free(g);
  return om_code_in(error);
}
static int general_cancel(void *arg, int complete) {
  general *g = (general *)arg;
  int error = 0;
  g->cancel(g->extra, &complete, &error);
  return om_code_in(error);
}
static void grequest_start(void (*query)(MPI_Aint *, om_status *, int *),
                           void (*release)(MPI_Aint *, int *),
                           void (*cancel)(MPI_Aint *, const int *, int *), MPI_Aint *extra,
                           int *request, int *error) {
  general *g = (general *)malloc(sizeof *g);
  MPI_Request r = MPI_REQUEST_NULL;
  *error = om_error(MPI_ERR_NO_MEM);
  if (!g) return;
  *g = (general){query, release, cancel, extra};
  *error = om_error(PMPI_Grequest_start(general_query, general_release, general_cancel, g, &r));
  *request = number(K_req, r);
}
#define HERE(name)                                                                                 \
  { #name, (void (*)(void))name }
const gm_function om_fortran[] = {HERE(op_create),
                                  {"comm_create_errhandler", (void (*)(void))create_errhandler},
                                  {"win_create_errhandler", (void (*)(void))create_errhandler},
                                  {"file_create_errhandler", (void (*)(void))create_errhandler},
                                  {"errhandler_create", (void (*)(void))create_errhandler},
                                  HERE(keyval_create),
                                  HERE(comm_create_keyval),
                                  HERE(type_create_keyval),
                                  HERE(win_create_keyval),
                                  HERE(attr_get),
                                  HERE(attr_put),
                                  HERE(comm_get_attr),
                                  HERE(comm_set_attr),
                                  HERE(type_get_attr),
                                  HERE(type_set_attr),
                                  HERE(win_get_attr),
                                  HERE(win_set_attr),
                                  HERE(type_match_size),
                                  HERE(grequest_start)};
const int om_fortran_count = sizeof om_fortran / sizeof *om_fortran;
