/* MPI functions: beginning and end, time, errors, attributes, info, memory. */
#include "later.h"
#include "guest.h"
#include "tools/section_name.h"
#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>

void guest_bind(const char *between) __attribute__((visibility("hidden")));

/* ---- around every call ----------------------------------------------------------------------------------- */
gm_scope gm_enter_well(const char *name, gm_from from, int allowed) {
  gm_scope s = {gm_self(), name, NULL, -1, 0};
  gm_proc *p = s.proc;
  if (!p) gm_fatal("%s was called outside of a simulated process", name);
  if (!allowed && p->state != 1 && !p->sessions)
    gm_fatal("%s was called %s", name, p->state ? "after MPI_Finalize" : "before MPI_Init");
  if (gm_set.computes) s.was_unmeasured = pm_compute_unmeasured(true);
  guest_context *const c = guest_context_now(); /* of this thread: others may be in calls too */
  int *const depth = &c->mpi_depth;
  if (!gm_set.computes && !gm_set.is_traced && !gm_has_costs && gm_set.progress != GM_TIMER &&
      !guest_alarms_are_set())
    c->mpi = p;
  if (p->stolen_ns && !*depth) { /* what a timer's worker took from the computation */
    const int64_t d_ns = p->stolen_ns;
    p->stolen_ns = 0;
    pm_sleep_ns(d_ns);
  }
  if (guest_watch_asked && !*depth) guest_watch_answer((const void *)from.address);
  if ((*depth)++) return s;
  c->mpi_call = name;
  if (p->record) gm_record_call(p, 1, name, gm_place_of(p, name, from));
  if (gm_set.is_traced) s.t_begin_ps = pm_trace_call_begin();
  if (gm_has_costs) gm_cost(name);
  return s;
}
void gm_leave_well(gm_scope *s) {
  gm_proc *p = s->proc;
  if (--guest_context_now()->mpi_depth == 0 && p->record) gm_record_call(p, 0, s->name, NULL);
  if (s->t_begin_ps >= 0) pm_trace_call_end(s->name, s->t_begin_ps);
  if (gm_set.computes) pm_compute_unmeasured(s->was_unmeasured);
  if (!guest_context_now()->mpi_depth) guest_signals_come();
}
void gm_check_open(gm_proc *p, const char *name) {
  if (gm_open(p)) gm_fatal("%s: the network interface cannot be opened", name);
}

nbc_recorder **gm_recorder_now(void) { return &guest_context_now()->recorder; }
gm_place **gm_place_now(void) { return &guest_context_now()->place; }
int64_t *gm_place_since(void) { return &guest_context_now()->place_since_ns; }
void guest_recorder_end(guest_context *c) { gm_recorder_end(&c->recorder); }

/* ---- errors ------------------------------------------------------------------------------------------------- */
static gm_errh predefined[4] = {{.refs = 1, .kind = 0, .handle = MPI_ERRORS_ARE_FATAL},
                                {.refs = 1, .kind = 1, .handle = MPI_ERRORS_RETURN},
                                {.refs = 1, .kind = 1, .handle = MPIR_ERRORS_THROW_EXCEPTIONS},
                                {.refs = 1, .kind = 2, .handle = MPI_ERRORS_ABORT}};
static const char *const class_text[] = {
    "No MPI error",
    "Invalid buffer pointer",
    "Invalid count",
    "Invalid datatype",
    "Invalid tag",
    "Invalid communicator",
    "Invalid rank",
    "Invalid root",
    "Invalid group",
    "Invalid MPI_Op",
    "Invalid topology",
    "Invalid dimension argument",
    "Invalid argument",
    "Unknown error.  Please file a bug report.",
    "Message truncated",
    "Other MPI error",
    "Internal MPI error!",
    "See the MPI_ERROR field in MPI_Status for the error code",
    "Pending request (no error)",
    "Request pending due to failure",
    "Access denied to file",
    "Invalid amode value in MPI_File_open ",
    "Invalid file name",
    "An error occurred in a user-defined data conversion function",
    "The requested datarep name has already been specified to MPI_REGISTER_DATAREP",
    "File exists",
    "File in use by some process",
    "Invalid MPI_File",
    "Invalid MPI_Info",
    "Invalid key for MPI_Info ",
    "Invalid MPI_Info value ",
    "MPI_Info key is not defined ",
    "Other I/O error ",
    "Invalid service name (see MPI_Publish_name)",
    "Unable to allocate memory for MPI_Alloc_mem",
    "Inconsistent arguments to collective routine ",
    "Not enough space for file ",
    "File does not exist",
    "Invalid port",
    "Quota exceeded for files",
    "Read-only file or filesystem name",
    "Attempt to lookup an unknown service name ",
    "Error in spawn call",
    "Unsupported datarep passed to MPI_File_set_view ",
    "Unsupported file operation ",
    "Invalid MPI_Win",
    "Invalid base address",
    "Invalid locktype argument",
    "Invalid keyval",
    "Conflicting accesses to window ",
    "Wrong synchronization of RMA calls ",
    "Invalid size argument in RMA call",
    "Invalid displacement argument in RMA call ",
    "Invalid assert argument",
    "Process failed",
    "Target memory is not contained within the window",
    "Memory cannot be attached",
    "Memory cannot be shared",
    "Incorrect window flavor"};
enum { CLASSES = sizeof class_text / sizeof *class_text, USER_CODES = 0x40000001 };
typedef struct user_code {
  int class;
  char *text;
} user_code;
typedef struct codes {
  user_code *code;
  uint32_t count, max;
} codes;
typedef struct extras { /* what the calls keep per process */
  codes codes;
  int attr[8]; /* values that predefined attributes point to */
} extras;
static extras *extras_of(gm_proc *p) {
  if (!p->abi) p->abi = gm_alloc(sizeof(extras));
  return p->abi;
}
static user_code *code_of(int code) {
  gm_proc *p = gm_self();
  extras *x = p ? extras_of(p) : NULL;
  const uint32_t i = (uint32_t)code - USER_CODES;
  return x && code >= USER_CODES && i < x->codes.count ? &x->codes.code[i] : NULL;
}
int gm_class_of(int code) {
  const user_code *u = code_of(code);
  return u                                                 ? u->class
         : code >= 0 && code <= MPICH_ERR_LAST_CLASS       ? code
         : code >= GM_ERR_LATER && code < GM_ERR_LATER_END ? code
                                                           : MPI_ERR_UNKNOWN;
}
const char *gm_class_text(int code) {
  const user_code *u = code_of(code);
  if (u) return u->text ? u->text : "";
  static const char *const later[] = {"Invalid error handler", "Not to be done with this ABI",
                                      "Object is not accessible"};
  if (code >= GM_ERR_LATER && code < GM_ERR_LATER_END) return later[code - GM_ERR_LATER];
  return code >= 0 && code < CLASSES ? class_text[code] : "Unknown error class";
}
void gm_errh_call(gm_errh *e, int kind, void *handle, int *code) {
  void (*in_cxx)(void);
  void (*fn)(void *, int *, ...);
  memcpy(&in_cxx, &e->fn, sizeof in_cxx);
  memcpy(&fn, &e->fn, sizeof fn);
  if (e->through)
    e->through(kind, (int *)handle, code, in_cxx);
  else
    fn(handle, code);
}
__attribute__((visibility("default"))) void MPII_Errhandler_set_cxx(MPI_Errhandler h,
                                                                    void (*through)(void));
void MPII_Errhandler_set_cxx(MPI_Errhandler h, void (*through)(void)) {
  gm_errh *e = errh_of(gm_self(), h);
  if (e && e->kind == 3) memcpy(&e->through, &through, sizeof through);
}
int gm_raise_to(gm_proc *p, gm_errh *e, int handle, int code, const char *name) {
  if (e && e->kind == 1) return code;
  if (e && e->kind == 3) {
    gm_errh_call(e, GM_IS(GM_T_WIN, handle) ? 2 : 0, &handle, &code);
    return code;
  }
  char text[256];
  snprintf(text, sizeof text, "Fatal error in P%s: %s", name, gm_class_text(code));
  fprintf(stderr, "%s, error stack: process %d at %.3f us (simulated)\n", text, p->rank,
          (double)pm_now_ns() / 1e3);
  guest_abort_by(gm_class_of(code), "ended the run", text);
  return code;
}
int gm_raise(gm_proc *p, gm_comm *c, int code, const char *name) {
  if (!c || !c->errh)
    c = p->world; /* whose handler was never set follows the world's, as in MPICH */
  return gm_raise_to(p, c ? c->errh : NULL, c ? c->handle : MPI_COMM_WORLD, code, name);
}
CALL(Error_class, int code, int *class) {
  NEED_ALWAYS("Error_class", class);
  *class = gm_class_of(code);
  return MPI_SUCCESS;
}
CALL(Error_string, int code, char *text, int *length) {
  NEED_ALWAYS("Error_string", text && length);
  snprintf(text, MPI_MAX_ERROR_STRING, "%s", gm_class_text(code));
  *length = (int)strlen(text);
  return MPI_SUCCESS;
}
static int new_code(gm_proc *p, int class) {
  codes *k = &extras_of(p)->codes;
  k->code = gm_grow(k->code, &k->max, k->count + 1, sizeof *k->code);
  k->code[k->count].class = class ? class : (int)(USER_CODES + k->count);
  return (int)(USER_CODES + k->count++);
}
CALL(Add_error_class, int *class) {
  IN_ALWAYS("Add_error_class");
  NEED(NULL, class);
  *class = new_code(p, 0);
  return MPI_SUCCESS;
}
CALL(Add_error_code, int class, int *code) {
  IN_ALWAYS("Add_error_code");
  NEED(NULL, code);
  *code = new_code(p, class);
  return MPI_SUCCESS;
}
CALL(Add_error_string, int code, const char *text) {
  IN_ALWAYS("Add_error_string");
  NEED(NULL, text);
  user_code *u = code_of(code);
  FAIL_IF(!u, NULL, MPI_ERR_ARG);
  free(u->text);
  u->text = strdup(text);
  return MPI_SUCCESS;
}
/* MPICH's own, which its Fortran library refers to. Classes and codes keep their numbers. */
#define DELETE_ERROR(what)                                                                         \
  int PMPIX_##what(int code) __attribute__((visibility("default")));                               \
  GM_WEAK_NAME(MPIX_##what, PMPIX_##what)                                                          \
  int PMPIX_##what(int code) {                                                                     \
    IN_ALWAYS(#what);                                                                              \
    user_code *u = code_of(code);                                                                  \
    FAIL_IF(!u, NULL, MPI_ERR_ARG);                                                                \
    free(u->text);                                                                                 \
    u->text = NULL;                                                                                \
    return MPI_SUCCESS;                                                                            \
  }
DELETE_ERROR(Delete_error_class)
DELETE_ERROR(Delete_error_code)
DELETE_ERROR(Delete_error_string)
gm_errh *errh_of(gm_proc *p, MPI_Errhandler h) {
  if (h >= MPI_ERRORS_ARE_FATAL && h <= MPI_ERRORS_ABORT)
    return &predefined[h - MPI_ERRORS_ARE_FATAL];
  return gm_find(p, GM_T_ERRH, h);
}
static int errh_create(gm_proc *p, void *fn, MPI_Errhandler *h) {
  gm_errh *e = gm_alloc(sizeof *e);
  e->refs = 1;
  e->kind = 3;
  e->fn = fn;
  *h = e->handle = GM_HANDLE(GM_T_ERRH, gm_put(&p->table[GM_T_ERRH], e));
  return MPI_SUCCESS;
}
#define ERRH_CREATE(what, type)                                                                    \
  CALL(what, type *fn, MPI_Errhandler *errhandler) {                                               \
    IN_ALWAYS(#what);                                                                              \
    NEED(NULL, fn &&errhandler);                                                                   \
    return errh_create(p, *(void **)&fn, errhandler);                                              \
  }
ERRH_CREATE(Comm_create_errhandler, MPI_Comm_errhandler_function)
ERRH_CREATE(Errhandler_create, MPI_Comm_errhandler_function)
ERRH_CREATE(Win_create_errhandler, MPI_Win_errhandler_function)
ERRH_CREATE(File_create_errhandler, MPI_File_errhandler_function)
ERRH_CREATE(Session_create_errhandler, MPI_Session_errhandler_function)
/* Communicators hold no count of it: its memory stays until the process ends. */
CALL(Errhandler_free, MPI_Errhandler *h) {
  IN_ALWAYS("Errhandler_free");
  NEED(NULL, h);
  FAIL_IF(!errh_of(p, *h), NULL, MPI_ERR_ARG);
  *h = MPI_ERRHANDLER_NULL;
  return MPI_SUCCESS;
}
static int set_errh(gm_proc *p, const char *name, MPI_Comm comm, MPI_Errhandler h) {
  gm_comm *c = comm_of(p, comm);
  if (!c || !errh_of(p, h)) return gm_raise(p, c, c ? MPI_ERR_ARG : MPI_ERR_COMM, name);
  c->errh = errh_of(p, h);
  return MPI_SUCCESS;
}
static int get_errh(gm_proc *p, const char *name, MPI_Comm comm, MPI_Errhandler *h) {
  gm_comm *c = comm_of(p, comm);
  if (!c) return gm_raise(p, c, MPI_ERR_COMM, name);
  *h = c->errh ? c->errh->handle : MPI_ERRORS_ARE_FATAL;
  return MPI_SUCCESS;
}
CALL(Comm_set_errhandler, MPI_Comm comm, MPI_Errhandler h) {
  IN("Comm_set_errhandler");
  return set_errh(p, scope.name, comm, h);
}
CALL(Errhandler_set, MPI_Comm comm, MPI_Errhandler h) {
  IN("Errhandler_set");
  return set_errh(p, scope.name, comm, h);
}
CALL(Comm_get_errhandler, MPI_Comm comm, MPI_Errhandler *h) {
  IN("Comm_get_errhandler");
  NEED(comm_of(p, comm), h);
  return get_errh(p, scope.name, comm, h);
}
CALL(Errhandler_get, MPI_Comm comm, MPI_Errhandler *h) {
  IN("Errhandler_get");
  NEED(comm_of(p, comm), h);
  return get_errh(p, scope.name, comm, h);
}
CALL(Comm_call_errhandler, MPI_Comm comm, int code) {
  IN("Comm_call_errhandler");
  gm_comm *c = comm_of(p, comm);
  FAIL_IF(!c, NULL, MPI_ERR_COMM);
  gm_raise(p, c, code, scope.name);
  return MPI_SUCCESS;
}

/* ---- beginning and end ------------------------------------------------------------------------------------ */
static void make_world(gm_proc *p) {
  if (p->world) return;
  gm_group *all = gm_group_make(p->size, NULL), *one = gm_group_make(1, &p->rank);
  p->world = gm_comm_make(p, all, NULL, 0);
  p->self = gm_comm_make(p, one, NULL, GM_CONTEXTS);
  p->world->handle = MPI_COMM_WORLD;
  p->self->handle = MPI_COMM_SELF;
  p->world->name = strdup("MPI_COMM_WORLD");
  p->self->name = strdup("MPI_COMM_SELF");
  gm_group_leave(all);
  gm_group_leave(one);
}
static int begin(gm_proc *p, const char *name, int required, int *provided) {
  if (p->state) gm_fatal("%s: MPI has been initialized before", name);
  gm_check_open(p, name);
  make_world(p);
  p->state = 1;
  p->main_thread = pm_thread_self();
  p->thread_level = required;
  if (provided) *provided = required;
  pm_barrier(); /* nobody sends to a process that has not opened yet */
  guest_bind("MPI_Init and MPI_Finalize");
  gm_record_begin(p);
  return MPI_SUCCESS;
}
CALL(Init, int *argc, char ***argv) {
  IN_ALWAYS("Init");
  (void)argc;
  (void)argv;
  return begin(p, scope.name, MPI_THREAD_SINGLE, NULL);
}
CALL(Init_thread, int *argc, char ***argv, int required, int *provided) {
  IN_ALWAYS("Init_thread");
  (void)argc;
  (void)argv;
  return begin(p, scope.name, required, provided);
}
CALL(Initialized, int *flag) {
  *flag = gm_self() && gm_self()->state > 0;
  return MPI_SUCCESS;
}
CALL(Finalized, int *flag) {
  *flag = gm_self() && gm_self()->state == 2;
  return MPI_SUCCESS;
}
CALL(Query_thread, int *provided) {
  IN("Query_thread");
  NEED(NULL, provided);
  *provided = p->thread_level;
  return MPI_SUCCESS;
}
CALL(Is_thread_main, int *flag) {
  IN("Is_thread_main");
  NEED(NULL, flag);
  *flag = p->main_thread == pm_thread_self();
  return MPI_SUCCESS;
}
CALL(Finalize, void) {
  IN("Finalize");
  gm_attrs_free(p, MPI_COMM_SELF, &p->self->attrs);
  for (gm_buffer *b = p->buffers; b; b = b->next) gm_buffer_flush(p, b);
  gm_barrier(p, p->world);
  gm_record_end(p);
  p->state = 2;
  guest_bind(NULL);
  if (!p->sessions) {
    pm_barrier();
    gm_close(p);
  }
  return MPI_SUCCESS;
}
const char *gm_comm_name(const gm_comm *c, char *room, size_t max_bytes) {
  if (c->name && *c->name) return c->name;
  snprintf(room, max_bytes, "a communicator of %d process%s", c->local->size,
           c->local->size == 1 ? "" : "es");
  return room;
}
static const char *not_one(MPI_Comm h) {
  return h == MPI_COMM_WORLD  ? "MPI_COMM_WORLD"
         : h == MPI_COMM_SELF ? "MPI_COMM_SELF"
         : h == MPI_COMM_NULL ? "MPI_COMM_NULL"
                              : "no communicator";
}
CALL(Abort, MPI_Comm comm, int code) {
  char text[100 + MPI_MAX_OBJECT_NAME], room[64];
  gm_proc *const p = gm_self();
  const gm_comm *c = p ? comm_of(p, comm) : NULL;
  snprintf(text, sizeof text, "called MPI_Abort(%s, %d)",
           c ? gm_comm_name(c, room, sizeof room) : not_one(comm), code);
  guest_abort_by(code, text, "");
  return MPI_SUCCESS;
}
CALL(Get_version, int *version, int *subversion) {
  NEED_ALWAYS("Get_version", version && subversion);
  *version = MPI_VERSION;
  *subversion = MPI_SUBVERSION;
  return MPI_SUCCESS;
}
CALL(Get_library_version, char *text, int *length) {
  NEED_ALWAYS("Get_library_version", text && length);
  *length = snprintf(text, MPI_MAX_LIBRARY_VERSION_STRING,
                     "MPICH " MPICH_VERSION " (its ABI): MPI of pm_run " PM_VERSION_STRING
                     " - simulated");
  return MPI_SUCCESS;
}
CALL(Get_processor_name, char *name, int *length) {
  IN("Get_processor_name");
  NEED(NULL, name && length);
  *length = snprintf(name, MPI_MAX_PROCESSOR_NAME, "node%d", pm_process_node(pm_self()));
  return MPI_SUCCESS;
}
GM_WEAK_NAME(MPI_Wtime, PMPI_Wtime)
double PMPI_Wtime(void) {
  pm_compute_measured();
  const double t_s = (double)pm_now_ns() / 1e9;
  guest_look_at_clock(); /* who only looks at the clock lets time pass */
  return t_s;
}
GM_WEAK_NAME(MPI_Wtick, PMPI_Wtick)
double PMPI_Wtick(void) { return 1e-9; }
GM_WEAK_NAME(MPI_Pcontrol, PMPI_Pcontrol)
/* What the preload makes of it, for --report: 0 and 1 turn measuring off and on, others begin a section, by the name
   that follows or by the number; below 0 ends it. */
int gm_control(int level, const void *address) {
  static int memory_fd = -1;
  char name[64];
  gm_proc *p = gm_self();
  if (!p || !p->record || p->state != 1) return MPI_SUCCESS;
  if (level == 0 || level == 1)
    gm_record_switch(p, level == 1);
  else if (level < 0)
    gm_record_section(p, NULL);
  else {
    if (memory_fd < 0) memory_fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    if (!section_name(memory_fd, address, name)) snprintf(name, sizeof name, "level %d", level);
    gm_record_section(p, name);
  }
  return MPI_SUCCESS;
}
int PMPI_Pcontrol(const int level, ...) {
  va_list args;
  va_start(args, level);
  const void *address = level >= 2 ? va_arg(args, const void *) : NULL; /* whatever is there */
  va_end(args);
  return gm_control(level, address);
}

/* ---- memory --------------------------------------------------------------------------------------------------- */
CALL(Alloc_mem, MPI_Aint size, MPI_Info info, void *baseptr) {
  IN("Alloc_mem");
  NEED(NULL, baseptr);
  (void)info;
  FAIL_IF(size < 0, NULL, MPI_ERR_ARG);
  void *memory = NULL;
  FAIL_IF(posix_memalign(&memory, 64, size ? (size_t)size : 1), NULL, MPI_ERR_NO_MEM);
  *(void **)baseptr = memory;
  return MPI_SUCCESS;
}
CALL(Free_mem, void *base) {
  IN("Free_mem");
  gm_windows_flush(p);
  free(base);
  return MPI_SUCCESS;
}
GM_WEAK_NAME(MPI_Aint_add, PMPI_Aint_add)
MPI_Aint PMPI_Aint_add(MPI_Aint base, MPI_Aint disp) { return base + disp; }
GM_WEAK_NAME(MPI_Aint_diff, PMPI_Aint_diff)
MPI_Aint PMPI_Aint_diff(MPI_Aint a, MPI_Aint b) { return a - b; }
CALL(Get_address, const void *location, MPI_Aint *address) {
  NEED_ALWAYS("Get_address", address);
  *address = (MPI_Aint)location;
  return MPI_SUCCESS;
}
CALL(Address, void *location, MPI_Aint *address) {
  NEED_ALWAYS("Address", address);
  *address = (MPI_Aint)location;
  return MPI_SUCCESS;
}

/* ---- attributes -------------------------------------------------------------------------------------------------- */
static int keyval_new(gm_proc *p, int kind, void *copy, void *delete, void *extra, int *keyval) {
  gm_keyval *k = gm_alloc(sizeof *k);
  k->refs = 1;
  k->kind = kind;
  k->copy_fn = copy;
  k->delete_fn = delete;
  *(void **)(void *)&k->copy = copy;
  *(void **)(void *)&k->remove = delete;
  k->extra = extra;
  *keyval = GM_HANDLE(GM_T_KEYVAL, gm_put(&p->table[GM_T_KEYVAL], k));
  return MPI_SUCCESS;
}
gm_keyval *gm_keyval_of(gm_proc *p, int keyval, int kind) {
  gm_keyval *k = gm_find(p, GM_T_KEYVAL, keyval);
  return k && k->kind == kind ? k : NULL;
}
static int keyval_free(gm_proc *p, const char *name, int kind, int *keyval) {
  gm_keyval *k = gm_keyval_of(p, *keyval, kind);
  if (!k) return gm_raise(p, NULL, MPI_ERR_KEYVAL, name);
  k->is_freed = 1; /* stays while attributes use it */
  *keyval = MPI_KEYVAL_INVALID;
  return MPI_SUCCESS;
}
static int attr_delete(gm_proc *p, int handle, gm_attr **list, int keyval, int *found) {
  gm_keyval *k = gm_find(p, GM_T_KEYVAL, keyval);
  gm_attr **at = list;
  while (*at && (*at)->keyval != keyval) at = &(*at)->next;
  *found = *at != NULL;
  if (!*at) return MPI_SUCCESS;
  gm_attr *a = *at;
  int code = MPI_SUCCESS;
  if (k && k->delete_proxy && k->delete_fn)
    code = k->delete_proxy(k->delete_fn, handle, keyval, a->type, a->value, k->extra);
  else if (k && k->remove)
    code = k->remove(handle, keyval, a->value, k->extra);
  if (code) return code;
  for (at = list; *at && *at != a;) at = &(*at)->next;
  if (*at) *at = a->next;
  free(a);
  return MPI_SUCCESS;
}
int gm_attrs_free(gm_proc *p, int handle, gm_attr **list) {
  while (*list) {
    int found;
    const int code = attr_delete(p, handle, list, (*list)->keyval, &found);
    if (code) return code;
  }
  return MPI_SUCCESS;
}
static void attr_put(gm_attr **list, int keyval, void *value, int type) {
  gm_attr *a = *list;
  while (a && a->keyval != keyval) a = a->next;
  if (!a) { /* the last one set is the first one deleted */
    a = gm_alloc(sizeof *a);
    a->keyval = keyval;
    a->next = *list;
    *list = a;
  }
  a->value = value;
  a->type = type;
}
static int copy_list(gm_proc *p, int handle, const gm_attr *a, gm_attr **to) {
  int flag = 0, code = MPI_SUCCESS;
  void *value = NULL;
  if (!a) return MPI_SUCCESS;
  code = copy_list(p, handle, a->next, to);
  if (code) return code;
  const gm_keyval *k = gm_find(p, GM_T_KEYVAL, a->keyval);
  if (!k) return MPI_SUCCESS;
  if (k->copy_proxy && k->copy_fn)
    code = k->copy_proxy(k->copy_fn, handle, a->keyval, k->extra, a->type, a->value, &value, &flag);
  else if (k->copy)
    code = k->copy(handle, a->keyval, k->extra, a->value, &value, &flag);
  if (!code && flag) attr_put(to, a->keyval, value, a->type);
  return code;
}
int gm_attrs_copy(gm_proc *p, int handle, gm_attr *from, gm_attr **to) {
  return copy_list(p, handle, from, to);
}
int gm_attr_set(gm_proc *p, const char *name, gm_comm *c, int handle, gm_attr **list, int keyval,
                void *value, int type) {
  int found;
  const int kind = c ? GM_KEY_OF_COMM : GM_IS(GM_T_WIN, handle) ? GM_KEY_OF_WIN : GM_KEY_OF_TYPE;
  if (!gm_keyval_of(p, keyval, kind)) return gm_raise(p, c, MPI_ERR_KEYVAL, name);
  for (gm_attr *a = *list; a; a = a->next)
    if (a->keyval == keyval) { /* the old value is deleted, its place in the order stays */
      const gm_keyval *k = gm_find(p, GM_T_KEYVAL, keyval);
      int code = MPI_SUCCESS;
      if (k->delete_proxy && k->delete_fn)
        code = k->delete_proxy(k->delete_fn, handle, keyval, a->type, a->value, k->extra);
      else if (k->remove)
        code = k->remove(handle, keyval, a->value, k->extra);
      if (code) return gm_raise(p, c, code, name);
      break;
    }
  (void)found;
  attr_put(list, keyval, value, type);
  return MPI_SUCCESS;
}
/* C gets the address of what Fortran has set, Fortran the address that C has set as a number. */
int gm_attr_get(const gm_attr *list, int keyval, void *value, int *flag, int type) {
  *flag = 0;
  for (; list; list = list->next)
    if (list->keyval == keyval) {
      *(const void **)value = list->type && !type ? (const void *)&list->value : list->value;
      *flag = 1;
    }
  return MPI_SUCCESS;
}
static int predefined_attr(gm_proc *p, int keyval, int **value) {
  int *v = extras_of(p)->attr;
  v[0] = GM_TAG_UB;
  v[1] = MPI_PROC_NULL;
  v[2] = MPI_ANY_SOURCE;
  v[3] = 1;
  v[4] = p->size;
  v[5] = extras_of(p)->codes.count ? (int)(USER_CODES - 1 + extras_of(p)->codes.count)
                                   : (int)MPI_ERR_LASTCODE;
  v[6] = 0;
  *value = NULL;
  switch (keyval % 2 ? keyval : keyval - 1) { /* Fortran's are one more */
  case MPI_TAG_UB: *value = &v[0]; break;
  case MPI_HOST: *value = &v[1]; break;
  case MPI_IO: *value = &v[2]; break;
  case MPI_WTIME_IS_GLOBAL: *value = &v[3]; break;
  case MPI_UNIVERSE_SIZE: *value = &v[4]; break;
  case MPI_LASTUSEDCODE: *value = &v[5]; break;
  case MPI_APPNUM: *value = &v[6]; break;
  default: break;
  }
  return *value != NULL;
}
int gm_win_attr_delete(gm_proc *p, int handle, gm_attr **list, int keyval) {
  int found;
  return gm_keyval_of(p, keyval, GM_KEY_OF_WIN) ? attr_delete(p, handle, list, keyval, &found)
                                                : MPI_ERR_KEYVAL;
}
static int comm_attr_get(gm_proc *p, const char *name, MPI_Comm comm, int keyval, void *value,
                         int *flag, int type) {
  gm_comm *c = comm_of(p, comm);
  int *known;
  if (!c) return gm_raise(p, c, MPI_ERR_COMM, name);
  if (predefined_attr(p, keyval, &known)) {
    *flag = 1;
    *(int **)value = known;
    return MPI_SUCCESS;
  }
  if (!gm_keyval_of(p, keyval, GM_KEY_OF_COMM)) return gm_raise(p, c, MPI_ERR_KEYVAL, name);
  return gm_attr_get(c->attrs, keyval, value, flag, type);
}
static int comm_attr_set(gm_proc *p, const char *name, MPI_Comm comm, int keyval, void *value) {
  gm_comm *c = comm_of(p, comm);
  if (!c) return gm_raise(p, c, MPI_ERR_COMM, name);
  return gm_attr_set(p, name, c, comm, &c->attrs, keyval, value, 0);
}
static int comm_attr_delete(gm_proc *p, const char *name, MPI_Comm comm, int keyval) {
  gm_comm *c = comm_of(p, comm);
  int found;
  if (!c) return gm_raise(p, c, MPI_ERR_COMM, name);
  if (!gm_keyval_of(p, keyval, GM_KEY_OF_COMM)) return gm_raise(p, c, MPI_ERR_KEYVAL, name);
  const int code = attr_delete(p, comm, &c->attrs, keyval, &found);
  return code ? gm_raise(p, c, code, name) : MPI_SUCCESS;
}
#define KEYVAL_CREATE(what, kind, copy_type, delete_type)                                          \
  CALL(what, copy_type *copy, delete_type *delete, int *keyval, void *extra) {                     \
    IN_ALWAYS(#what);                                                                              \
    NEED(NULL, keyval);                                                                            \
    return keyval_new(p, kind, *(void **)&copy, *(void **)&delete, extra, keyval);                 \
  }
KEYVAL_CREATE(Comm_create_keyval, GM_KEY_OF_COMM, MPI_Comm_copy_attr_function,
              MPI_Comm_delete_attr_function)
KEYVAL_CREATE(Keyval_create, GM_KEY_OF_COMM, MPI_Copy_function, MPI_Delete_function)
KEYVAL_CREATE(Type_create_keyval, GM_KEY_OF_TYPE, MPI_Type_copy_attr_function,
              MPI_Type_delete_attr_function)
KEYVAL_CREATE(Win_create_keyval, GM_KEY_OF_WIN, MPI_Win_copy_attr_function,
              MPI_Win_delete_attr_function)
#define KEYVAL_FREE(what, kind)                                                                    \
  CALL(what, int *keyval) {                                                                        \
    IN_ALWAYS(#what);                                                                              \
    NEED(NULL, keyval);                                                                            \
    return keyval_free(p, scope.name, kind, keyval);                                               \
  }
KEYVAL_FREE(Comm_free_keyval, GM_KEY_OF_COMM)
KEYVAL_FREE(Keyval_free, GM_KEY_OF_COMM)
KEYVAL_FREE(Type_free_keyval, GM_KEY_OF_TYPE)
KEYVAL_FREE(Win_free_keyval, GM_KEY_OF_WIN)
CALL(Comm_get_attr, MPI_Comm comm, int keyval, void *value, int *flag) {
  IN("Comm_get_attr");
  NEED(comm_of(p, comm), flag);
  return comm_attr_get(p, scope.name, comm, keyval, value, flag, 0);
}
CALL(Attr_get, MPI_Comm comm, int keyval, void *value, int *flag) {
  IN("Attr_get");
  NEED(comm_of(p, comm), flag);
  return comm_attr_get(p, scope.name, comm, keyval, value, flag, 0);
}
CALL(Comm_set_attr, MPI_Comm comm, int keyval, void *value) {
  IN("Comm_set_attr");
  return comm_attr_set(p, scope.name, comm, keyval, value);
}
CALL(Attr_put, MPI_Comm comm, int keyval, void *value) {
  IN("Attr_put");
  return comm_attr_set(p, scope.name, comm, keyval, value);
}
CALL(Comm_delete_attr, MPI_Comm comm, int keyval) {
  IN("Comm_delete_attr");
  return comm_attr_delete(p, scope.name, comm, keyval);
}
CALL(Attr_delete, MPI_Comm comm, int keyval) {
  IN("Attr_delete");
  return comm_attr_delete(p, scope.name, comm, keyval);
}
static int type_attr_get(gm_proc *p, const char *name, MPI_Datatype type, int keyval, void *value,
                         int *flag, int how) {
  gm_type *t = type_of(p, type);
  if (!t) return gm_raise(p, NULL, MPI_ERR_TYPE, name);
  if (!gm_keyval_of(p, keyval, GM_KEY_OF_TYPE)) return gm_raise(p, NULL, MPI_ERR_KEYVAL, name);
  return gm_attr_get(t->attrs, keyval, value, flag, how);
}
CALL(Type_get_attr, MPI_Datatype type, int keyval, void *value, int *flag) {
  IN("Type_get_attr");
  NEED(NULL, flag);
  return type_attr_get(p, scope.name, type, keyval, value, flag, 0);
}
CALL(Type_set_attr, MPI_Datatype type, int keyval, void *value) {
  IN("Type_set_attr");
  gm_type *t = type_of(p, type);
  FAIL_IF(!t, NULL, MPI_ERR_TYPE);
  return gm_attr_set(p, scope.name, NULL, type, &t->attrs, keyval, value, 0);
}
CALL(Type_delete_attr, MPI_Datatype type, int keyval) {
  IN("Type_delete_attr");
  gm_type *t = type_of(p, type);
  int found;
  FAIL_IF(!t, NULL, MPI_ERR_TYPE);
  FAIL_IF(!gm_keyval_of(p, keyval, GM_KEY_OF_TYPE), NULL, MPI_ERR_KEYVAL);
  const int code = attr_delete(p, type, &t->attrs, keyval, &found);
  FAIL_IF(code, NULL, code);
  return MPI_SUCCESS;
}
int PMPI_Dup_fn_of_attributes(MPI_Comm comm, int keyval, void *extra, void *in, void *out,
                              int *flag) __attribute__((visibility("default")));
GM_WEAK_NAME(MPIR_Dup_fn, PMPI_Dup_fn_of_attributes)
int PMPI_Dup_fn_of_attributes(MPI_Comm comm, int keyval, void *extra, void *in, void *out,
                              int *flag) {
  (void)comm, (void)keyval, (void)extra;
  *(void **)out = in;
  *flag = 1;
  return MPI_SUCCESS;
}
/* What Debian's Fortran library asks of MPICH beside MPI: attributes that know their language. */
#define FOR_FORTRAN __attribute__((visibility("default")))
FOR_FORTRAN int MPII_Comm_get_attr(MPI_Comm comm, int keyval, void *value, int *flag, int type);
FOR_FORTRAN int MPII_Comm_set_attr(MPI_Comm comm, int keyval, void *value, int type);
FOR_FORTRAN int MPII_Type_get_attr(MPI_Datatype type, int keyval, void *value, int *flag, int how);
FOR_FORTRAN int MPII_Type_set_attr(MPI_Datatype type, int keyval, void *value, int how);
FOR_FORTRAN int MPII_Keyval_set_proxy(int keyval,
                                      int (*copy)(void *, int, int, void *, int, void *, void **,
                                                  int *),
                                      int (*delete)(void *, int, int, int, void *, void *));
int MPII_Comm_get_attr(MPI_Comm comm, int keyval, void *value, int *flag, int type) {
  IN("Comm_get_attr");
  int *known;
  if (predefined_attr(p, keyval, &known)) {
    *flag = 1;
    *(void **)value = (void *)(intptr_t)*known;
    return MPI_SUCCESS;
  }
  return comm_attr_get(p, scope.name, comm, keyval, value, flag, type);
}
int MPII_Comm_set_attr(MPI_Comm comm, int keyval, void *value, int type) {
  IN("Comm_set_attr");
  gm_comm *c = comm_of(p, comm);
  FAIL_IF(!c, NULL, MPI_ERR_COMM);
  return gm_attr_set(p, scope.name, c, comm, &c->attrs, keyval, value, type);
}
int MPII_Type_get_attr(MPI_Datatype type, int keyval, void *value, int *flag, int how) {
  IN("Type_get_attr");
  return type_attr_get(p, scope.name, type, keyval, value, flag, how);
}
int MPII_Type_set_attr(MPI_Datatype type, int keyval, void *value, int how) {
  IN("Type_set_attr");
  gm_type *t = type_of(p, type);
  FAIL_IF(!t, NULL, MPI_ERR_TYPE);
  return gm_attr_set(p, scope.name, NULL, type, &t->attrs, keyval, value, how);
}
int MPII_Keyval_set_proxy(int keyval,
                          int (*copy)(void *, int, int, void *, int, void *, void **, int *),
                          int (*delete)(void *, int, int, int, void *, void *)) {
  gm_keyval *k = gm_find(gm_self(), GM_T_KEYVAL, keyval);
  if (k) k->copy_proxy = copy, k->delete_proxy = delete;
  return MPI_SUCCESS;
}

/* ---- info ----------------------------------------------------------------------------------------------------------- */
static gm_info
    of_start; /* MPI_INFO_ENV: as in MPICH, a program that mpiexec started finds nothing in it */
gm_info *info_of(gm_proc *p, MPI_Info h) {
  return h == MPI_INFO_ENV ? &of_start : gm_find(p, GM_T_INFO, h);
}
MPI_Info info_handle(gm_proc *p, gm_info *info) {
  return info->handle = GM_HANDLE(GM_T_INFO, gm_put(&p->table[GM_T_INFO], info));
}
void gm_info_free(gm_info *info) {
  for (int i = 0; info && i < info->count; i++) free(info->key[i]), free(info->value[i]);
  if (info) free(info->key), free(info->value);
  free(info);
}
static int info_index(const gm_info *info, const char *key) {
  for (int i = 0; info && i < info->count; i++)
    if (strcmp(info->key[i], key) == 0) return i;
  return -1;
}
const char *gm_info_value(const gm_info *info, const char *key) {
  const int i = info_index(info, key);
  return i < 0 ? NULL : info->value[i];
}
void gm_info_put(gm_info *info, const char *key, const char *value) {
  int i = info_index(info, key);
  if (i < 0) {
    i = info->count++;
    info->key = realloc(info->key, (size_t)info->count * sizeof *info->key);
    info->value = realloc(info->value, (size_t)info->count * sizeof *info->value);
    if (!info->key || !info->value) gm_fatal("out of memory for MPI");
    info->key[i] = strdup(key);
  } else
    free(info->value[i]);
  info->value[i] = strdup(value);
}
gm_info *gm_info_copy(const gm_info *info) {
  gm_info *copy = gm_alloc(sizeof *copy);
  for (int i = 0; info && i < info->count; i++) gm_info_put(copy, info->key[i], info->value[i]);
  return copy;
}
static bool is_flag(const char *text) {
  return strcmp(text, "true") == 0 || strcmp(text, "false") == 0;
}
void gm_info_take(gm_info **own, const gm_info *from, const gm_hint *known) {
  if (!*own) *own = gm_info_copy(NULL);
  for (; known->key; known++) {
    const char *value = gm_info_value(from, known->key);
    if (value && (is_flag(value) || !is_flag(known->at_first)))
      gm_info_put(*own, known->key, value);
    else if (!gm_info_value(*own, known->key))
      gm_info_put(*own, known->key, known->at_first);
  }
}
CALL(Info_create, MPI_Info *info) {
  IN_ALWAYS("Info_create");
  NEED(NULL, info);
  *info = info_handle(p, gm_alloc(sizeof(gm_info)));
  return MPI_SUCCESS;
}
CALL(Info_create_env, int argc, char *argv[], MPI_Info *info) {
  IN_ALWAYS("Info_create_env");
  NEED(NULL, info);
  gm_info *i = gm_alloc(sizeof *i);
  char text[32];
  if (argc > 0 && argv && argv[0]) gm_info_put(i, "command", argv[0]);
  snprintf(text, sizeof text, "%d", p->size);
  gm_info_put(i, "maxprocs", text);
  *info = info_handle(p, i);
  return MPI_SUCCESS;
}
CALL(Info_dup, MPI_Info info, MPI_Info *copy) {
  IN_ALWAYS("Info_dup");
  NEED(NULL, copy);
  FAIL_IF(!info_of(p, info), NULL, MPI_ERR_INFO);
  *copy = info_handle(p, gm_info_copy(info_of(p, info)));
  return MPI_SUCCESS;
}
CALL(Info_free, MPI_Info *info) {
  IN_ALWAYS("Info_free");
  NEED(NULL, info);
  gm_info *i = info_of(p, *info);
  FAIL_IF(!i || i == &of_start, NULL, MPI_ERR_INFO);
  gm_drop(&p->table[GM_T_INFO], GM_INDEX(*info));
  gm_info_free(i);
  *info = MPI_INFO_NULL;
  return MPI_SUCCESS;
}
static bool is_key(const char *key) { return key && *key && strlen(key) <= MPI_MAX_INFO_KEY; }
CALL(Info_set, MPI_Info info, const char *key, const char *value) {
  IN_ALWAYS("Info_set");
  NEED(NULL, value);
  FAIL_IF(!info_of(p, info) || info == MPI_INFO_ENV, NULL, MPI_ERR_INFO);
  FAIL_IF(!is_key(key), NULL, MPI_ERR_INFO_KEY);
  FAIL_IF(!value || strlen(value) > MPI_MAX_INFO_VAL, NULL, MPI_ERR_INFO_VALUE);
  gm_info_put(info_of(p, info), key, value);
  return MPI_SUCCESS;
}
CALL(Info_delete, MPI_Info info, const char *key) {
  IN_ALWAYS("Info_delete");
  FAIL_IF(!is_key(key), NULL, MPI_ERR_INFO_KEY);
  gm_info *n = info_of(p, info);
  FAIL_IF(!n, NULL, MPI_ERR_INFO);
  const int i = info_index(n, key);
  FAIL_IF(i < 0, NULL, MPI_ERR_INFO_NOKEY);
  free(n->key[i]);
  free(n->value[i]);
  n->count--;
  for (int k = i; k < n->count; k++) n->key[k] = n->key[k + 1], n->value[k] = n->value[k + 1];
  return MPI_SUCCESS;
}
CALL(Info_get, MPI_Info info, const char *key, int length, char *value, int *flag) {
  IN_ALWAYS("Info_get");
  NEED(NULL, value && flag);
  FAIL_IF(!is_key(key), NULL, MPI_ERR_INFO_KEY);
  FAIL_IF(!info_of(p, info), NULL, MPI_ERR_INFO);
  FAIL_IF(length < 0, NULL, MPI_ERR_ARG);
  const char *v = gm_info_value(info_of(p, info), key);
  *flag = v != NULL;
  if (v) snprintf(value, (size_t)length + 1, "%s", v);
  return MPI_SUCCESS;
}
CALL(Info_get_string, MPI_Info info, const char *key, int *length, char *value, int *flag) {
  IN_ALWAYS("Info_get_string");
  NEED(NULL, length && value && flag);
  FAIL_IF(!is_key(key), NULL, MPI_ERR_INFO_KEY);
  FAIL_IF(!info_of(p, info), NULL, MPI_ERR_INFO);
  const char *v = gm_info_value(info_of(p, info), key);
  *flag = v != NULL;
  if (v && *length > 0) snprintf(value, (size_t)*length, "%s", v);
  if (v) *length = (int)strlen(v) + 1;
  return MPI_SUCCESS;
}
CALL(Info_get_valuelen, MPI_Info info, const char *key, int *length, int *flag) {
  IN_ALWAYS("Info_get_valuelen");
  NEED(NULL, length && flag);
  FAIL_IF(!is_key(key), NULL, MPI_ERR_INFO_KEY);
  FAIL_IF(!info_of(p, info), NULL, MPI_ERR_INFO);
  const char *v = gm_info_value(info_of(p, info), key);
  *flag = v != NULL;
  if (v) *length = (int)strlen(v);
  return MPI_SUCCESS;
}
CALL(Info_get_nkeys, MPI_Info info, int *count) {
  IN_ALWAYS("Info_get_nkeys");
  NEED(NULL, count);
  FAIL_IF(!info_of(p, info), NULL, MPI_ERR_INFO);
  *count = info_of(p, info)->count;
  return MPI_SUCCESS;
}
CALL(Info_get_nthkey, MPI_Info info, int n, char *key) {
  IN_ALWAYS("Info_get_nthkey");
  NEED(NULL, key);
  gm_info *i = info_of(p, info);
  FAIL_IF(!i, NULL, MPI_ERR_INFO);
  FAIL_IF(n < 0 || n >= i->count, NULL, MPI_ERR_ARG);
  strcpy(key, i->key[n]);
  return MPI_SUCCESS;
}

/* ---- sessions ---------------------------------------------------------------------------------------------------------- */
typedef struct session {
  gm_errh *errh;
  gm_buffer *buffer;
} session;
static session *session_of(gm_proc *p, MPI_Session h) { return gm_find(p, GM_T_SESSION, h); }
gm_buffer **gm_session_buffer(gm_proc *p, MPI_Session h) {
  session *s = session_of(p, h);
  return s ? &s->buffer : NULL;
}
static const char *const psets[] = {"mpi://WORLD", "mpi://SELF"};
CALL(Session_init, MPI_Info info, MPI_Errhandler errhandler, MPI_Session *s) {
  IN_ALWAYS("Session_init");
  session *n = gm_alloc(sizeof *n);
  (void)info;
  n->errh = errh_of(p, errhandler);
  gm_check_open(p, scope.name);
  make_world(p);
  if (p->state != 2) gm_record_begin(p); /* one report, which MPI_Finalize or the end writes */
  if (!p->sessions++ && p->state != 1) pm_barrier();
  *s = GM_HANDLE(GM_T_SESSION, gm_put(&p->table[GM_T_SESSION], n));
  return MPI_SUCCESS;
}
CALL(Session_finalize, MPI_Session *s) {
  IN_ALWAYS("Session_finalize");
  session *n = session_of(p, *s);
  FAIL_IF(!n, NULL, MPI_ERR_SESSION);
  gm_drop(&p->table[GM_T_SESSION], GM_INDEX(*s));
  gm_buffer_flush(p, n->buffer);
  gm_buffer_free(p, n->buffer);
  free(n);
  *s = MPI_SESSION_NULL;
  p->sessions--;
  return MPI_SUCCESS;
}
CALL(Session_get_num_psets, MPI_Session s, MPI_Info info, int *count) {
  IN_ALWAYS("Session_get_num_psets");
  (void)info;
  FAIL_IF(!session_of(p, s), NULL, MPI_ERR_SESSION);
  *count = 2;
  return MPI_SUCCESS;
}
CALL(Session_get_nth_pset, MPI_Session s, MPI_Info info, int n, int *length, char *name) {
  IN_ALWAYS("Session_get_nth_pset");
  (void)info;
  FAIL_IF(!session_of(p, s), NULL, MPI_ERR_SESSION);
  FAIL_IF(n < 0 || n > 1, NULL, MPI_ERR_ARG);
  if (*length > 0) snprintf(name, (size_t)*length, "%s", psets[n]);
  *length = (int)strlen(psets[n]) + 1;
  return MPI_SUCCESS;
}
CALL(Session_get_info, MPI_Session s, MPI_Info *info) {
  IN_ALWAYS("Session_get_info");
  FAIL_IF(!session_of(p, s), NULL, MPI_ERR_SESSION);
  gm_info *i = gm_alloc(sizeof *i);
  gm_info_put(i, "thread_level", "MPI_THREAD_MULTIPLE");
  *info = info_handle(p, i);
  return MPI_SUCCESS;
}
CALL(Session_get_pset_info, MPI_Session s, const char *name, MPI_Info *info) {
  IN_ALWAYS("Session_get_pset_info");
  char text[32];
  FAIL_IF(!session_of(p, s), NULL, MPI_ERR_SESSION);
  FAIL_IF(strcasecmp(name, psets[0]) != 0 && strcasecmp(name, psets[1]) != 0, NULL, MPI_ERR_ARG);
  gm_info *i = gm_alloc(sizeof *i);
  snprintf(text, sizeof text, "%d", strcasecmp(name, psets[0]) == 0 ? p->size : 1);
  gm_info_put(i, "mpi_size", text);
  *info = info_handle(p, i);
  return MPI_SUCCESS;
}
CALL(Group_from_session_pset, MPI_Session s, const char *name, MPI_Group *group) {
  IN_ALWAYS("Group_from_session_pset");
  FAIL_IF(!session_of(p, s), NULL, MPI_ERR_SESSION);
  const bool is_world = strcasecmp(name, psets[0]) == 0;
  FAIL_IF(!is_world && strcasecmp(name, psets[1]) != 0, NULL, MPI_ERR_ARG);
  *group = group_handle(p, gm_group_keep(is_world ? p->world->local : p->self->local));
  return MPI_SUCCESS;
}
CALL(Session_set_errhandler, MPI_Session s, MPI_Errhandler h) {
  IN_ALWAYS("Session_set_errhandler");
  FAIL_IF(!session_of(p, s) || !errh_of(p, h), NULL, MPI_ERR_SESSION);
  session_of(p, s)->errh = errh_of(p, h);
  return MPI_SUCCESS;
}
CALL(Session_get_errhandler, MPI_Session s, MPI_Errhandler *h) {
  IN_ALWAYS("Session_get_errhandler");
  FAIL_IF(!session_of(p, s), NULL, MPI_ERR_SESSION);
  *h = session_of(p, s)->errh ? session_of(p, s)->errh->handle : MPI_ERRORS_ARE_FATAL;
  return MPI_SUCCESS;
}
CALL(Session_call_errhandler, MPI_Session s, int code) {
  IN_ALWAYS("Session_call_errhandler");
  FAIL_IF(!session_of(p, s), NULL, MPI_ERR_SESSION);
  gm_raise_to(p, session_of(p, s)->errh, s, code, scope.name);
  return MPI_SUCCESS;
}
