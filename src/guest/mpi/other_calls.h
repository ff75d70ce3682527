/* Functions of another ABI with callbacks, whose handles are translated on their way to the program, and with arrays
   that are more than handles. The table's file that includes this says T(name): its names begin with st_, om_. The table
   has T(in), T(out), T(error), T(code_in) and so on, as calls.awk needs them. */

/* ---- operators, error handlers -------------------------------------------------------------------------- */
typedef void any_function(void);
typedef void user_operator(void *in, void *inout, int *count, void **type);
static void operate(const void *in, void *inout, int count, MPI_Datatype type, void *fn) {
  user_operator *call;
  void *guests_type = T(out)(K_type, type);
  memcpy(&call, &fn, sizeof call);
  call((void *)(uintptr_t)in, inout, &count, &guests_type);
}
static int operator_create(void *fn, int commute, void **op, any_function *through) {
  MPI_User_function *as_mpi;
  MPI_Op o = MPI_OP_NULL;
  memcpy(&as_mpi, &fn, sizeof as_mpi);
  const int error = PMPI_Op_create(as_mpi, commute, op ? &o : NULL);
  if (error || !op) return T(error)(error);
  MPII_Op_set_cxx(o, through);
  *op = T(out)(K_op, o);
  return 0;
}
int T(Op_create)(void *fn, int commute, void **op);
int T(Op_create)(void *fn, int commute, void **op) {
  return operator_create(fn, commute, op, (any_function *)operate);
}
typedef void user_handler(void **object, int *code, ...);
static void *any_object(int handle) { return T(out)((handle >> 26) & 15, handle); }
/* The code may be changed by the handler: who raised the error returns it. */
static void handle_error(int kind, int *handle, int *code, any_function *fn) {
  void *object = NULL;
  int guests_code = T(error)(*code);
  if (kind == 1) {
    MPI_File file;
    memcpy(&file, handle, sizeof file);
    object = T(file_out)(file);
  } else
    object = any_object(*handle);
  ((user_handler *)fn)(&object, &guests_code);
  *code = T(code_in)(guests_code);
}
static int handler_create(void *fn, void **handler) {
  MPI_Comm_errhandler_function *as_mpi;
  MPI_Errhandler h = MPI_ERRHANDLER_NULL;
  memcpy(&as_mpi, &fn, sizeof as_mpi);
  const int error = PMPI_Comm_create_errhandler(as_mpi, handler ? &h : NULL);
  if (error || !handler) return T(error)(error);
  MPII_Errhandler_set_cxx(h, (any_function *)handle_error);
  *handler = T(out)(K_errh, h);
  return 0;
}
#define HANDLER_CREATE(name)                                                                       \
  int T(name)(void *fn, void **handler);                                                           \
  int T(name)(void *fn, void **handler) { return handler_create(fn, handler); }
HANDLER_CREATE(Comm_create_errhandler)
HANDLER_CREATE(Win_create_errhandler)
HANDLER_CREATE(File_create_errhandler)

/* ---- attributes ------------------------------------------------------------------------------------------ */
typedef int copy_function(void *object, int key, void *extra, void *in, void *out, int *flag);
typedef int delete_function(void *object, int key, void *value, void *extra);
static int copy_attribute(void *fn, int handle, int key, void *extra, int type, void *in,
                          void **out, int *flag) {
  copy_function *copy;
  (void)type;
  memcpy(&copy, &fn, sizeof copy);
  return T(code_in)(copy(any_object(handle), key, extra, in, out, flag));
}
static int delete_attribute(void *fn, int handle, int key, int type, void *value, void *extra) {
  delete_function *del;
  (void)type;
  memcpy(&del, &fn, sizeof del);
  return T(code_in)(del(any_object(handle), key, value, extra));
}
#define KEYVAL_CREATE(name)                                                                        \
  int T(name)(void *copy, void *del, int *key, void *extra);                                       \
  int T(name)(void *copy, void *del, int *key, void *extra) {                                      \
    const int error = PMPI_##name(NULL, NULL, key, extra);                                         \
    gm_keyval *k = error ? NULL : (gm_keyval *)gm_find(gm_self(), GM_T_KEYVAL, *key);              \
    if (k) {                                                                                       \
      k->copy_fn = T(copy_fn)(copy);                                                               \
      k->delete_fn = del;                                                                          \
      MPII_Keyval_set_proxy(*key, copy_attribute, delete_attribute);                               \
    }                                                                                              \
    return T(error)(error);                                                                        \
  }
KEYVAL_CREATE(Comm_create_keyval)
KEYVAL_CREATE(Type_create_keyval)
KEYVAL_CREATE(Win_create_keyval)
KEYVAL_CREATE(Keyval_create)
/* Values of predefined attributes that are numbers of the ABI are translated. */
#define GET_ATTR(name)                                                                             \
  int T(name)(void *object, int key, const void **value, int *flag);                               \
  int T(name)(void *object, int key, const void **value, int *flag) {                              \
    const int error = PMPI_##name(T(in)(object), T(key_in)(key), value, flag);                     \
    if (!error && *flag) *value = value_of_attribute(key, *value);                                 \
    return T(error)(error);                                                                        \
  }
GET_ATTR(Comm_get_attr)
GET_ATTR(Attr_get)
GET_ATTR(Win_get_attr)

/* ---- generalized requests -------------------------------------------------------------------------------- */
typedef struct general {
  int (*query)(void *extra, T(status) * status), (*release)(void *extra),
      (*cancel)(void *extra, int complete);
  void *extra;
} general;
static int general_query(void *extra, MPI_Status *s) {
  const general *g = (const general *)extra;
  T(status) o;
  memset(&o, 0, sizeof o);
  T(status_out)(&o, s);
  const int error = g->query(g->extra, &o);
  T(status_in)(s, &o);
  return T(code_in)(error);
}
static int general_release(void *extra) {
  general *g = (general *)extra;
  const int error = g->release ? g->release(g->extra) : 0;
  free(g);
  return T(code_in)(error);
}
static int general_cancel(void *extra, int complete) {
  const general *g = (const general *)extra;
  return T(code_in)(g->cancel(g->extra, complete));
}
int T(Grequest_start)(int (*query)(void *, T(status) *), int (*release)(void *),
                      int (*cancel)(void *, int), void *extra, void **request);
int T(Grequest_start)(int (*query)(void *, T(status) *), int (*release)(void *),
                      int (*cancel)(void *, int), void *extra, void **request) {
  general *g = (general *)malloc(sizeof *g);
  MPI_Request r = MPI_REQUEST_NULL;
  if (!g) return T(error)(MPI_ERR_NO_MEM);
  *g = (general){query, release, cancel, extra};
  const int error = PMPI_Grequest_start(general_query, general_release, general_cancel, g, &r);
  if (!error) *request = T(out)(K_req, r);
  return T(error)(error);
}
int T(Register_datarep)(const char *name, void *read, void *write, void *extent, void *extra);
int T(Register_datarep)(const char *name, void *read, void *write, void *extent, void *extra) {
  MPI_Datarep_conversion_function *read_fn, *write_fn;
  MPI_Datarep_extent_function *extent_fn;
  memcpy(&read_fn, &read, sizeof read_fn); /* none is ever called: others than NULL are refused */
  memcpy(&write_fn, &write, sizeof write_fn);
  memcpy(&extent_fn, &extent, sizeof extent_fn);
  return T(error)(PMPI_Register_datarep(name, read_fn, write_fn, extent_fn, extra));
}

/* ---- arrays of ranks and infos ----------------------------------------------------------------------------- */
int T(Group_translate_ranks)(void *from, int n, const int *ranks, void *to, int *there);
int T(Group_translate_ranks)(void *from, int n, const int *ranks, void *to, int *there) {
  int few[GM_FEW], *r = (int *)gm_array(few, n, sizeof *r);
  for (int i = 0; ranks && i < n; i++) r[i] = T(rank_in)(ranks[i]);
  const int error = PMPI_Group_translate_ranks(T(in)(from), n, ranks ? r : NULL, T(in)(to), there);
  for (int i = 0; !error && i < n; i++) there[i] = T(rank_out)(there[i]);
  gm_array_end(r, few);
  return T(error)(error);
}
int T(Comm_spawn_multiple)(int count, char **commands, char ***argv, const int *max, void **info,
                           int root, void *comm, void **intercomm, int *codes);
int T(Comm_spawn_multiple)(int count, char **commands, char ***argv, const int *max, void **info,
                           int root, void *comm, void **intercomm, int *codes) {
  MPI_Comm c = MPI_COMM_NULL;
  MPI_Info few[GM_FEW], *i = (MPI_Info *)gm_array(few, count, sizeof *i);
  for (int k = 0; info && k < count; k++) i[k] = T(in)(info[k]);
  const int error = PMPI_Comm_spawn_multiple(count, commands, argv, max, info ? i : NULL,
                                             T(rank_in)(root), T(in)(comm), &c, codes);
  gm_array_end(i, few);
  if (!error) *intercomm = T(out)(K_comm, c);
  return T(error)(error);
}

/* ---- numbers and addresses ---------------------------------------------------------------------------------- */
double T(Wtime)(void), T(Wtick)(void);
double T(Wtime)(void) { return PMPI_Wtime(); }
double T(Wtick)(void) { return PMPI_Wtick(); }
MPI_Aint T(Aint_add)(MPI_Aint at, MPI_Aint disp), T(Aint_diff)(MPI_Aint a, MPI_Aint b);
MPI_Aint T(Aint_add)(MPI_Aint at, MPI_Aint disp) { return at + disp; }
MPI_Aint T(Aint_diff)(MPI_Aint a, MPI_Aint b) { return a - b; }
int T(Pcontrol)(const int level, ...);
int T(Pcontrol)(const int level, ...) {
  va_list args;
  va_start(args, level);
  const void *address = level >= 2 ? va_arg(args, const void *) : NULL;
  va_end(args);
  return gm_control(level, address);
}
