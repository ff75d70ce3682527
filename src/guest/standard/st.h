/* The standard ABI of MPI 5.0 (libmpi_abi.so.0) on top of the functions of ../mpi, which have that of MPICH. A
   handle there is a pointer that is never followed: a predefined one is a small number (constants.list), any
   other is here MPICH's handle as a number, and a file its address.

     constants.list   a line per constant: what kind it is, name, number
     constants.awk    writes what mpi.h says of them, and the tables to MPICH's constants and back
     types.h          what else mpi.h says: functions that MPI calls, types of tools
     by_hand.c        functions with callbacks, constants in arrays, and those that MPICH's ABI has not
     bind.c           which of all this a name of the program means

   The other functions are made of ../mpi/calls.list by ../mpi/calls.awk, as mpi.h's prototypes are. Nothing of this
   needs a library or a header of that ABI. */
#ifndef GUEST_ST_H
#define GUEST_ST_H
#include "guest.h"
#include "mpi/other.h"
#include "numbers.h"

typedef struct st_status {
  int source, tag, error, count_lo, count_hi_and_cancelled, unused[3];
} st_status;

/* ---- tables of constants, written by constants.awk ---------------------------------------------------------- */
typedef struct st_pair {
  int here, mpich;
} st_pair;
typedef struct st_pairs {
  size_t count;
  const st_pair *row;
} st_pairs;
#define ST_PAIRS(X)                                                                                \
  X(comm)                                                                                          \
  X(group)                                                                                         \
  X(type)                                                                                          \
  X(op)                                                                                            \
  X(win)                                                                                           \
  X(info)                                                                                          \
  X(errh)                                                                                          \
  X(req)                                                                                           \
  X(msg)                                                                                           \
  X(session)                                                                                       \
  X(error)                                                                                         \
  X(amode)                                                                                         \
  X(assert)                                                                                        \
  X(whence)                                                                                        \
  X(thread)                                                                                        \
  X(lock)                                                                                          \
  X(order)                                                                                         \
  X(dist)                                                                                          \
  X(combiner)                                                                                      \
  X(class)                                                                                         \
  X(compare)                                                                                       \
  X(topo)                                                                                          \
  X(split)                                                                                         \
  X(flavor)                                                                                        \
  X(model)                                                                                         \
  X(key)                                                                                           \
  X(verb)                                                                                          \
  X(bind)                                                                                          \
  X(scope)                                                                                         \
  X(pclass)                                                                                        \
  X(safety)                                                                                        \
  X(turn)
#define ST_DECLARE(kind) extern const st_pairs st_##kind##_pairs;
ST_PAIRS(ST_DECLARE)
#undef ST_DECLARE
extern const gm_function st_functions[];
extern const int st_function_count;

int st_to_mpich(const st_pairs *pairs, int here, int otherwise);
int st_to_here(const st_pairs *pairs, int mpich, int otherwise);
int st_bits(const st_pairs *pairs, int bits,
            bool is_out); /* unknown ones become one that nobody has */

/* ---- handles ------------------------------------------------------------------------------------------------- */
enum { ST_HANDLES = 1024 };                /* predefined ones are below */
extern int st_known[ST_HANDLES];           /* MPICH's; 0: none */
void *st_predefined(int kind, int handle); /* NULL: none */
static inline int st_in(const void *handle) {
  const uintptr_t h = (uintptr_t)handle;
  return h < ST_HANDLES ? st_known[h] : (int)(unsigned)h;
}
static inline void *st_out(int kind, int handle) {
  if (kind == K_req && handle == MPI_REQUEST_NULL) return (void *)ST_REQUEST_NULL;
  return (unsigned)handle >> 30 == 3 ? (void *)(uintptr_t)(unsigned)handle
                                     : st_predefined(kind, handle);
}
/* Files alone are addresses in MPICH too. */
static inline void *st_file_out(MPI_File file) {
  return file ? (void *)file : (void *)ST_FILE_NULL;
}
static inline MPI_File st_file_in(void *handle) {
  return (uintptr_t)handle < ST_HANDLES ? MPI_FILE_NULL : (MPI_File)handle;
}

/* ---- numbers --------------------------------------------------------------------------------------------------- */
/* All four values change places, so that a number comes back as it went in. */
static inline int st_rank_in(int rank) {
  return rank >= 0    ? rank
         : rank == -1 ? -2
         : rank == -2 ? -4
         : rank == -3 ? -1
         : rank == -4 ? -3
                      : rank;
}
static inline int st_rank_out(int rank) {
  return rank >= 0    ? rank
         : rank == -2 ? -1
         : rank == -4 ? -2
         : rank == -1 ? -3
         : rank == -3 ? -4
                      : rank;
}
static inline int st_tag_in(int tag) { return tag == -2 ? -1 : tag == -1 ? -2 : tag; }
static inline int st_tag_out(int tag) { return st_tag_in(tag); }
int st_error_slow(int code); /* from MPICH's to those here */
int st_code_in(int code);    /* and back */
static inline int st_error(int code) { return code ? st_error_slow(code) : 0; }
void *st_buffer(const void *buffer);
void st_buffer_out(void **buffer);
int *st_weights(const int *weights);
static inline MPI_Offset st_disp(MPI_Offset disp) {
  return disp == ST_DISPLACEMENT_CURRENT ? MPI_DISPLACEMENT_CURRENT : disp;
}
static inline int st_key_in(int key) { return st_to_mpich(&st_key_pairs, key, key); }
static inline int st_key_out(int key) { return st_to_here(&st_key_pairs, key, key); }
static inline int st_assert(int bits) { return st_bits(&st_assert_pairs, bits, 0); }
static inline int st_amode(int bits) { return st_bits(&st_amode_pairs, bits, 0); }
static inline int st_amode_out(int bits) { return st_bits(&st_amode_pairs, bits, 1); }
/* A node is one of everything; MPI_UNDEFINED is the same in both. */
static inline int st_split(int kind) {
  return st_to_mpich(&st_split_pairs, kind, kind == MPI_UNDEFINED ? kind : -1);
}
#define ST_IN(kind)                                                                                \
  static inline int st_##kind(int here) { return st_to_mpich(&st_##kind##_pairs, here, -1); }
#define ST_OUT(kind)                                                                               \
  static inline int st_##kind##_out(int mpich) {                                                   \
    return st_to_here(&st_##kind##_pairs, mpich, mpich);                                           \
  }
ST_IN(lock)
ST_IN(order)
ST_OUT(order)
ST_IN(class)
ST_IN(whence)
ST_IN(thread)
ST_OUT(thread)
ST_IN(pclass)
ST_OUT(pclass)
ST_IN(safety)
ST_OUT(turn)
ST_OUT(compare)
ST_OUT(topo)
ST_OUT(verb)
ST_OUT(bind)
ST_OUT(scope)
ST_OUT(combiner)
#undef ST_IN
#undef ST_OUT
static inline MPI_T_pvar_handle st_pvar(void *handle) {
  return (intptr_t)handle == ST_T_PVAR_ALL_HANDLES ? MPI_T_PVAR_ALL_HANDLES
                                                   : (MPI_T_pvar_handle)handle;
}

/* ---- statuses --------------------------------------------------------------------------------------------------- */
/* A status comes back as it went in where MPI writes nothing. */
static inline void st_status_read(MPI_Status *s, const st_status *o) {
  s->count_lo = o->count_lo;
  s->count_hi_and_cancelled = o->count_hi_and_cancelled;
  s->MPI_SOURCE = st_rank_in(o->source);
  s->MPI_TAG = st_tag_in(o->tag);
}
static inline void st_status_begin(MPI_Status *s, const st_status *o) {
  st_status_read(s, o);
  s->MPI_ERROR = GM_NOT_WRITTEN;
}
static inline void st_status_in(MPI_Status *s, const st_status *o) {
  st_status_read(s, o);
  s->MPI_ERROR = st_code_in(o->error);
}
static inline void st_status_out(st_status *o, const MPI_Status *s) {
  o->count_lo = s->count_lo;
  o->count_hi_and_cancelled = s->count_hi_and_cancelled;
  o->source = st_rank_out(s->MPI_SOURCE);
  o->tag = st_tag_out(s->MPI_TAG);
  if (s->MPI_ERROR != GM_NOT_WRITTEN) o->error = st_error(s->MPI_ERROR);
}
#endif
