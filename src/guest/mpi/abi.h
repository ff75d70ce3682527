/* The ABI of MPICH on top of the core: handles, constants, and what every MPI function begins with. A function
   is written once as PMPI_X; CALL makes the weak name MPI_X beside it (CALL(Wait, ...): MPI_Wait). Whoever wants another ABI compiles the
   calls_*.c files with another mpi.h and the conversions below. */
#ifndef GM_ABI_H
#define GM_ABI_H
#include "gm.h"
#include "guest.h"
#pragma GCC visibility push(default)
#include "tools/mpi_h.h"
#pragma GCC visibility pop

_Static_assert(MPI_ANY_SOURCE == (int)GM_ANY_SOURCE && MPI_PROC_NULL == (int)GM_PROC_NULL &&
                   MPI_ROOT == (int)GM_ROOT && MPI_ANY_TAG == (int)GM_ANY_TAG &&
                   MPI_UNDEFINED == (int)GM_UNDEFINED,
               "constants of the core");
_Static_assert(MPI_ERR_TRUNCATE == (int)GM_ERR_TRUNCATE && MPI_ERR_OTHER == (int)GM_ERR_OTHER &&
                   MPI_ERR_REQUEST == (int)GM_ERR_REQUEST && MPI_ERR_NO_MEM == (int)GM_ERR_NO_MEM &&
                   MPI_ERR_COMM == (int)GM_ERR_COMM && MPI_ERR_INTERN == (int)GM_ERR_INTERN,
               "error classes of the core");

/* An attribute, not "#pragma weak": clang hides names that the pragma makes, as -fvisibility=hidden says. */
#define GM_WEAK_NAME(name, function)                                                               \
  extern __typeof__(function) name __attribute__((weak, alias(#function), visibility("default")));
#define CALL(name, ...)                                                                            \
  GM_WEAK_NAME(MPI_##name, PMPI_##name)                                                            \
  int PMPI_##name(__VA_ARGS__)

/* What stands at the beginning of every function: counts the time, notes the call. */
typedef struct gm_scope {
  gm_proc *proc;
  const char *name;
  struct guest_context *context; /* of a call that is but counted; else NULL */
  int64_t t_begin_ps;            /* with --trace, of the outermost call; else -1 */
  /* what a call takes is modelled: what it computes on this host is no time of it */
  bool was_unmeasured;
} gm_scope;
/* Who called: where it goes on, and the end of the frame of the function that was called. */
#define GM_FROM                                                                                    \
  (gm_from) { (uintptr_t) __builtin_return_address(0), (uintptr_t)__builtin_dwarf_cfa() }
gm_scope gm_enter_well(const char *name, gm_from from,
                       int allowed); /* allowed: 1 also outside of MPI_Init ... MPI_Finalize */
void gm_leave_well(gm_scope *scope);
/* Most calls are but counted: nothing measures, records, delays or interrupts them (gm_enter_well looks once). */
static inline gm_scope gm_enter(const char *name, gm_from from, int allowed) {
  guest_context *c = guest_context_now();
  gm_proc *p = c ? c->mpi : NULL;
  if (!p || p->state != 1 || p->record || guest_watch_asked)
    return gm_enter_well(name, from, allowed);
  if (!c->mpi_depth++) c->mpi_call = name;
  return (gm_scope){p, name, c, -1, 0};
}
static inline void gm_leave(gm_scope *s) {
  if (!s->context) {
    gm_leave_well(s);
    return;
  }
  s->context->mpi_depth--;
}
int gm_control(int level, const void *name); /* MPI_Pcontrol */
void gm_windows_flush(gm_proc *p);           /* waits for what it has begun on them */
#define GM_CLEANUP __attribute__((cleanup(gm_leave)))
#define IN(name)                                                                                   \
  gm_scope scope GM_CLEANUP = gm_enter("MPI_" name, GM_FROM, 0);                                   \
  gm_proc *const p = scope.proc;                                                                   \
  (void)p
#define IN_ALWAYS(name)                                                                            \
  gm_scope scope GM_CLEANUP = gm_enter("MPI_" name, GM_FROM, 1);                                   \
  gm_proc *const p = scope.proc;                                                                   \
  (void)p
/* Errors go to the handler of a communicator (NULL: the world's); ret what the function returns */
int gm_raise(gm_proc *p, gm_comm *c, int code, const char *name);
/* The same with a handler given. */
int gm_raise_to(gm_proc *p, gm_errh *e, int handle, int code, const char *name);
#define FAIL(comm, code) return gm_raise(p, comm, code, scope.name)
/* The arguments that MPICH checks too: a NULL pointer is an error of the caller, not the end of the process. */
#define NEED(comm, are_there)        FAIL_IF(!(are_there), comm, MPI_ERR_ARG)
#define NEED_ALWAYS(name, are_there) /* of functions that do not begin with IN */                  \
  if (!(are_there)) return gm_raise(gm_self(), NULL, MPI_ERR_ARG, "MPI_" name)
#define FAIL_IF(condition, comm, code)                                                             \
  do {                                                                                             \
    if (condition) FAIL(comm, code);                                                               \
  } while (0)

/* ---- handles ------------------------------------------------------------------------------------------ */
#define GM_HANDLE(kind, index) ((int)(0xC0000000u | (unsigned)(kind) << 26 | (index)))
#define GM_INDEX(handle)       ((unsigned)(handle)&0x3FFFFFFu)
#define GM_IS(kind, handle)                                                                        \
  (((unsigned)(handle)&0xFC000000u) == (0xC0000000u | (unsigned)(kind) << 26))
static inline void *gm_find(gm_proc *p, int kind, int handle) {
  return GM_IS(kind, handle) ? gm_at(&p->table[kind], GM_INDEX(handle)) : NULL;
}
static inline gm_comm *comm_of(gm_proc *p, MPI_Comm h) {
  if (h == MPI_COMM_WORLD) return p->world;
  if (h == MPI_COMM_SELF) return p->self;
  return (gm_comm *)gm_find(p, GM_T_COMM, h);
}
extern gm_type *gm_basic_types[256];                /* by the last byte of their handles */
gm_type *gm_type_found(gm_proc *p, MPI_Datatype h); /* any type. NULL: none */
static inline gm_type *type_of(gm_proc *p, MPI_Datatype h) {
  gm_type *t = gm_basic_types[h & 0xFF];
  return t && t->handle == h ? t : gm_type_found(p, h);
}
gm_op *op_of(gm_proc *p, MPI_Op h);
/* What messages call it, be it that the program has given it no name. */
const char *gm_comm_name(const gm_comm *c, char *room, size_t max_bytes);
typedef struct gm_group_ref {
  gm_group *group;
  int handle;
} gm_group_ref;
gm_group *group_of(gm_proc *p, MPI_Group h);
MPI_Group group_handle(gm_proc *p, gm_group *g); /* takes the reference */
MPI_Comm comm_handle(gm_proc *p, gm_comm *c);
MPI_Datatype type_handle(gm_proc *p, gm_type *t);

/* ---- attributes, error handlers, info -------------------------------------------------------------------- */
typedef struct gm_keyval {
  int refs, kind;
  bool is_freed, is_fortran;
  int (*copy)(int handle, int keyval, void *extra, void *in, void *out, int *flag);
  int (*remove)(int handle, int keyval, void *value, void *extra);
  void *extra;
  int (*copy_proxy)(void *fn, int handle, int keyval, void *extra, int attr_type, void *in,
                    void **out, int *flag);
  int (*delete_proxy)(void *fn, int handle, int keyval, int attr_type, void *value, void *extra);
  void *copy_fn, *delete_fn;
} gm_keyval;
enum { GM_KEY_OF_COMM = 1, GM_KEY_OF_TYPE, GM_KEY_OF_WIN };
gm_keyval *gm_keyval_of(gm_proc *p, int keyval, int kind); /* NULL: none, or of another kind */
struct gm_attr {
  int keyval;
  void *value;
  int type; /* how it was set: 0 pointer, 1 address-sized integer, 2 Fortran integer */
  gm_attr *next;
};
int gm_attrs_copy(gm_proc *p, int handle, gm_attr *from, gm_attr **to);
int gm_attrs_free(gm_proc *p, int handle, gm_attr **list);
int gm_type_end(gm_proc *p, MPI_Datatype type, gm_type *t); /* ... has this handle no more */
int gm_attr_set(gm_proc *p, const char *name, gm_comm *c, int handle, gm_attr **list, int keyval,
                void *value, int type);
int gm_attr_get(const gm_attr *list, int keyval, void *value, int *flag, int type);
int gm_win_attr_delete(gm_proc *p, int handle, gm_attr **list, int keyval); /* ret an error class */
struct gm_errh {
  int refs, kind; /* 0 fatal, 1 return, 2 abort, 3 user's */
  void *fn;
  int handle;
  void (*through)(int kind, int *handle, int *code, void (*fn)(void)); /* of C++'s library */
};
/* Calls a user's handler: kind 0 of a communicator, 1 of a file, 2 of a window. */
void gm_errh_call(gm_errh *e, int kind, void *handle, int *code);
gm_errh *errh_of(gm_proc *p, MPI_Errhandler h);
struct gm_info {
  int refs, count, max, handle;
  char **key, **value;
};
gm_info *info_of(gm_proc *p, MPI_Info h);
gm_info *gm_info_copy(const gm_info *info);
void gm_info_put(gm_info *info, const char *key, const char *value);
/* An object keeps the hints that it knows, and gives nothing else back. */
typedef struct gm_hint {
  const char *key, *at_first; /* "false", "true": no other value is taken; key NULL: the end */
} gm_hint;
void gm_info_take(gm_info **own, const gm_info *from, const gm_hint *known);
void gm_info_free(gm_info *info);
MPI_Info info_handle(gm_proc *p, gm_info *info);
const char *gm_info_value(const gm_info *info, const char *key); /* NULL: none */

/* ---- requests ------------------------------------------------------------------------------------------- */
typedef enum gm_req_kind {
  REQ_NONE = 0,
  REQ_SEND,
  REQ_RECV,
  REQ_COLL,
  REQ_GENERAL,
  REQ_PAIR,
  REQ_PARTS,
  REQ_IO,
  REQ_WIN
} gm_req_kind;
typedef enum gm_mode { MODE_STANDARD = 0, MODE_SYNC, MODE_BUFFERED, MODE_READY } gm_mode;
/* Requests that are waited for together. */
typedef struct gm_all {
  int left;
  bool is_over;
} gm_all;
struct gm_req {
  gm_msg msg;
  gm_proc *proc;
  int kind, mode, error, handle;
  bool done, is_persistent, is_active, is_cancelled, is_freed, is_stack;
  bool tells_end; /* a collective: gm_coll_told, when the program learns that it is over */
  int peer, tag;  /* rank in the communicator */
  gm_comm *comm;
  gm_type *type;
  void *user;
  uint64_t count, bytes;
  void *packed;
  gm_coll *coll;
  void (*at_end)(gm_req *r);  /* when it is done: who made it puts things in order */
  void (*start)(gm_req *r);   /* of a persistent one */
  void (*release)(gm_req *r); /* frees extra */
  void *extra;
  gm_req *pair[2];
  gm_all *all; /* is told of its end; NULL: none */
  gm_req *next;
};
/* Where MPI_Bsend copies to */
struct gm_buffer {
  void *at;
  uint64_t bytes; /* UINT64_MAX: as many as wanted */
  uint64_t number;
  bool is_of_session;
  gm_req *sends, *flushes; /* with their numbers as count; a flush: of those before */
  gm_buffer *next;         /* all of the process */
};
gm_buffer *gm_buffer_new(gm_proc *p, void *at, uint64_t bytes);
void gm_buffer_free(gm_proc *p, gm_buffer *b);
void gm_buffer_flush(gm_proc *p, gm_buffer *b);
void gm_buffer_iflush(gm_buffer *b, gm_req *r);
gm_req *gm_req_new(gm_proc *p, gm_req_kind kind);
MPI_Request gm_req_handle(gm_proc *p, gm_req *r);
/* One of a message that was checked. ret NULL: an error was raised, *code says what the call returns */
gm_req *gm_req_make(gm_proc *p, const char *name, gm_req_kind kind, const void *buffer,
                    int64_t count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, int *code);
void gm_coll_told(gm_req *r);
/* What starts a partitioned request (calls_part.c). */
void gm_parts_start(gm_req *r);
static inline gm_req *req_of(gm_proc *p, MPI_Request h) {
  return (gm_req *)gm_find(p, GM_T_REQ, h);
}
void gm_req_complete(gm_req *r);
void gm_req_unref(gm_req *r);
void gm_status_set(MPI_Status *s, int source, int tag, uint64_t bytes, int error);
void gm_req_status(gm_req *r, MPI_Status *s);
static inline uint64_t gm_status_bytes(const MPI_Status *s) {
  return (uint64_t)(unsigned)s->count_lo | (uint64_t)((unsigned)s->count_hi_and_cancelled >> 1)
                                               << 32;
}
/* Starts one whose kind, buffer and so on are set. */
void gm_req_start(gm_req *r);
/* Checks of what most calls have. ret 0 or an error class */
int gm_check_type(const gm_type *t, int64_t count);
/* MPI_IN_PLACE, also as a Fortran program says it */
bool gm_is_in_place(gm_proc *p, const void *buffer);
void gm_check_open(gm_proc *p, const char *name);
const char *gm_class_text(int code);
int gm_class_of(int code);
#endif
