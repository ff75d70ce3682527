/* Open MPI's library of C++ (libmpi_cxx.so; MPI 2, until version 4) calls the functions of C but where it looks into a
   handle: these functions of it are found here instead. MPI::ERRORS_THROW_EXCEPTIONS is missing: it is
   MPI::ERRORS_ARE_FATAL, so that no error is lost. */
#include "ompi.h"

typedef void any_function(void);
extern void MPII_Errhandler_set_cxx(MPI_Errhandler h, void (*through)(void));
int om_Comm_create_keyval(void *copy, void *del, int *key, void *extra);
int om_Type_create_keyval(void *copy, void *del, int *key, void *extra);
int om_Win_create_keyval(void *copy, void *del, int *key, void *extra);

/* An operator of C++: the library's function takes the program's as one more argument. */
typedef void cxx_operator(const void *in, void *inout, int *count, void **type, void *fn);
typedef struct two_functions {
  cxx_operator *through;
  void *fn;
} two_functions;
static void operate(const void *in, void *inout, uint64_t count, gm_type *t, two_functions *two) {
  void *type = om_out(K_type, t->handle);
  int n = (int)count;
  two->through(in, inout, &n, &type, two->fn);
}
static void call(gm_op *op, void *in, void *inout, uint64_t count, gm_type *t) {
  operate(in, inout, count, t, (two_functions *)op->through);
}
static void op_set(void *op, void *fn) {
  gm_op *o = (gm_op *)gm_find(gm_self(), GM_T_OP, om_in(op));
  two_functions *two = (two_functions *)malloc(sizeof *two); /* as long as the process: few */
  if (!o || !two) guest_abort(100, "MPI::Op::Init: out of memory for MPI");
  memcpy(&two->through, &o->fn, sizeof two->through);
  two->fn = fn;
  o->through = two;
  o->call = call;
}
/* 1 and 2: communicators and those between two groups; 3, 4: with a grid, with a graph */
static int type_of_comm(void *comm) {
  const gm_comm *c = comm_of(gm_self(), om_in(comm));
  if (!c) return 0;
  if (c->topo && c->topo->kind == MPI_CART) return 3;
  if (c->topo && c->topo->kind == MPI_GRAPH) return 4;
  return c->remote ? 2 : 1;
}
static int invoke_comm(void *comm, int code, const char *message) {
  (void)message;
  PMPI_Comm_call_errhandler(om_in(comm), om_code_in(code));
  return code;
}
static int invoke_file(void *file, int code, const char *message) {
  (void)message;
  PMPI_File_call_errhandler(om_file_in(file), om_code_in(code));
  return code;
}
/* An error handler of C++ is called through a function of the library. */
#define HANDLER(kind, dispatcher)                                                                  \
  static void handle_##kind(int which, int *handle, int *code, any_function *fn) {                 \
    void (*through)(void **, int *, const char *, any_function *);                                 \
    void *const there = guest_symbol(guest_now(), dispatcher);                                     \
    int guests_code = om_error(*code);                                                             \
    void *object;                                                                                  \
    MPI_File file;                                                                                 \
    memcpy(&file, handle, which == 1 ? sizeof file : sizeof *handle);                              \
    object = which == 1 ? om_file_out(file) : om_out(which == 2 ? K_win : K_comm, *handle);        \
    memcpy(&through, &there, sizeof through);                                                      \
    if (there) through(&object, &guests_code, "", fn);                                             \
    *code = om_code_in(guests_code);                                                               \
  }                                                                                                \
  static void *create_##kind(MPI_Comm_errhandler_function *fn) {                                   \
    MPI_Errhandler h = MPI_ERRHANDLER_NULL;                                                        \
    if (PMPI_Comm_create_errhandler(fn, &h) == MPI_SUCCESS)                                        \
      MPII_Errhandler_set_cxx(h, (any_function *)handle_##kind);                                   \
    return om_out(K_errh, h);                                                                      \
  }
HANDLER(comm, "ompi_mpi_cxx_comm_errhandler_invoke")
HANDLER(file, "ompi_mpi_cxx_file_errhandler_invoke")
HANDLER(win, "ompi_mpi_cxx_win_errhandler_invoke")
#define KEYVAL(kind, create)                                                                       \
  static int keyval_##kind(void *copy, void *del, int *key, void *extra, int flags, void *own) {   \
    (void)flags, (void)own;                                                                        \
    return create(copy, del, key, extra);                                                          \
  }
KEYVAL(comm, om_Comm_create_keyval)
KEYVAL(type, om_Type_create_keyval)
KEYVAL(win, om_Win_create_keyval)
static void set_callbacks(void *handler, void *comm_fn, void *file_fn, void *win_fn) {
  (void)handler, (void)comm_fn, (void)file_fn, (void)win_fn; /* of the one that throws */
}
static void inside(void) {
  guest_abort(100,
              "a function of Open MPI's own was called by its C++ library, which is missing here");
}
#define HERE(name, f)                                                                              \
  { name, (void (*)(void))f }
const gm_function om_cxx[] = {HERE("ompi_op_set_cxx_callback", op_set),
                              HERE("ompi_cxx_comm_get_type", type_of_comm),
                              HERE("ompi_cxx_errhandler_invoke_comm", invoke_comm),
                              HERE("ompi_cxx_errhandler_invoke_file", invoke_file),
                              HERE("ompi_cxx_errhandler_create_comm", create_comm),
                              HERE("ompi_cxx_errhandler_create_file", create_file),
                              HERE("ompi_cxx_errhandler_create_win", create_win),
                              HERE("ompi_cxx_errhandler_set_callbacks", set_callbacks),
                              HERE("ompi_cxx_attr_create_keyval_comm", keyval_comm),
                              HERE("ompi_cxx_attr_create_keyval_type", keyval_type),
                              HERE("ompi_cxx_attr_create_keyval_win", keyval_win),
                              HERE("ompi_attr_create_keyval", inside)};
const int om_cxx_count = sizeof om_cxx / sizeof *om_cxx;
