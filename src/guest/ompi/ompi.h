/* The ABI of Open MPI (libmpi.so.20 and .40: versions 2 to 5) on top of the functions of ../mpi, which have
   that of MPICH. A handle there is the address of a variable of the library (ompi_mpi_comm_world), or of an
   object that the program never looks into. Here:

     a predefined handle   the address of 16 bytes whose first four are MPICH's handle. Programs have their own
                           copies of these variables (COPY relocations), so every process gives another
                           address, and all of them hold the same four bytes: no table is asked.
     any other             MPICH's handle itself, as a number: no address of a process is below 4 GiB.

   What goes out is the address that the asking process has for the variable: programs compare it.

     calls.list    a line per function: its arguments in words (head of ../mpi/calls.awk, which writes the
                   conversions at build time), or :hand
     handles.list  a line per predefined handle: variable, kind, MPI's name, number in Fortran; handles.awk
                   writes the table
     by_hand.c     functions with callbacks (../mpi/other_calls.h), other constants in arrays, names
     fortran.c     functions of Fortran in whose place ours stand, since Open MPI's look into handles
     cxx.c         the same of C++
     others.c      what its libraries of Fortran and C++ ask of libmpi beside MPI
     bind.c        which of all this a name of the program means

   The constants of constants.h are those of Open MPI's mpi.h, so the layer is built without it;
   tests/guest_mpi/openmpi_constants.c holds them against that file. */
#ifndef GUEST_OMPI_H
#define GUEST_OMPI_H
#include "guest.h"
#include "mpi/other.h"
#include "constants.h"

typedef struct om_status {
  int source, tag, error, cancelled;
  size_t bytes;
} om_status;

/* ---- handles ------------------------------------------------------------------------------------------ */
typedef struct om_known { /* a predefined handle: the first four bytes are what the address means */
  int handle, unused[3];
} om_known;
typedef struct om_row {
  const char *variable;
  int kind, handle, fortran; /* fortran: -1, no number there */
} om_row;
/* Written by handles.awk. om_variable holds the handles in the order of om_rows, and behind them room that is
   copied into a program's larger variable. */
extern const om_row om_rows[];
extern const int om_row_count;
extern om_known om_variable[];
extern const gm_function om_functions[];
extern const int om_function_count;
/* What libraries of Fortran and C++ ask of libmpi beside MPI, by whole names (others.c) ... */
extern const gm_function om_others[];
extern const int om_other_count;
typedef struct om_named {
  const char *name;
  void *address;
} om_named;
extern const om_named om_others_variables[];
extern const int om_other_variable_count;
/* ... and functions of Fortran's library in whose place ours stand, without mpi_ (fortran.c). */
extern const gm_function om_fortran[];
extern const int om_fortran_count;
extern const gm_function om_cxx[]; /* and of C++'s (cxx.c) */
extern const int om_cxx_count;

void *om_predefined(int kind, int handle); /* the address that this process has; NULL: none */
void *om_null_request(void);
int om_of_number(int kind, int number); /* from Fortran's number to a handle */
int om_number_of(int kind, int handle);

/* A number is what it is; NULL is no handle in either ABI. Only a program at a fixed address has variables below 4 GiB,
   and none of our numbers, of 0x44000000 and more, is an address of one that is smaller than 1 GiB. */
static inline int om_in(const void *handle) {
  return (uintptr_t)handle >> 32 || guest_is_fixed(handle) ? *(const int *)handle
                                                           : (int)(uintptr_t)handle;
}
static inline void *om_out(int kind, int handle) {
  if (kind == K_req && handle == MPI_REQUEST_NULL) return om_null_request();
  void *known = (unsigned)handle >> 30 == 3 ? NULL : om_predefined(kind, handle);
  return known ? known : (void *)(uintptr_t)(unsigned)handle;
}
/* Files alone are addresses in MPICH too. */
static inline void *om_file_out(MPI_File file) {
  return file ? (void *)file : om_predefined(K_file, 0);
}
static inline MPI_File om_file_in(void *handle) {
  return handle == om_predefined(K_file, 0) ? MPI_FILE_NULL : (MPI_File)handle;
}

/* ---- numbers -------------------------------------------------------------------------------------------- */
/* All four values change places, so that a number comes back as it went in. */
static inline int om_rank_in(int rank) {
  return rank >= 0    ? rank
         : rank == -1 ? -2
         : rank == -2 ? -1
         : rank == -4 ? -3
         : rank == -3 ? -4
                      : rank;
}
static inline int om_rank_out(int rank) { return om_rank_in(rank); }
int om_error_slow(int code); /* from MPICH's to Open MPI's */
int om_code_in(int code);    /* and back */
static inline int om_error(int code) { return code ? om_error_slow(code) : 0; }
static inline void *om_buffer(const void *buffer) {
  return buffer == OM_IN_PLACE ? MPI_IN_PLACE : (void *)(uintptr_t)buffer;
}
static inline int *om_weights(const int *weights) {
  return weights == OM_UNWEIGHTED      ? MPI_UNWEIGHTED
         : weights == OM_WEIGHTS_EMPTY ? MPI_WEIGHTS_EMPTY
                                       : (int *)(uintptr_t)weights;
}
int om_key_in(int key);
int om_key_out(int key);
static inline int om_lock(int lock) {
  return lock == OM_LOCK_EXCLUSIVE ? MPI_LOCK_EXCLUSIVE
         : lock == OM_LOCK_SHARED  ? MPI_LOCK_SHARED
                                   : -1;
}
int om_assert(int bits);
static inline int om_order(int order) {
  return order == OM_ORDER_C ? MPI_ORDER_C : order == OM_ORDER_FORTRAN ? MPI_ORDER_FORTRAN : -1;
}
static inline int om_class(int class) {
  return class == OM_TYPECLASS_INTEGER   ? MPI_TYPECLASS_INTEGER
         : class == OM_TYPECLASS_REAL    ? MPI_TYPECLASS_REAL
         : class == OM_TYPECLASS_COMPLEX ? MPI_TYPECLASS_COMPLEX
                                         : -1;
}
/* A node is one of everything that Open MPI's own kinds name. */
static inline int om_split(int kind) {
  return kind >= OM_COMM_TYPE_SHARED && kind <= OM_COMM_TYPE_CLUSTER ? MPI_COMM_TYPE_SHARED : kind;
}
static inline int om_topo_out(int kind) {
  return kind == MPI_CART         ? OM_CART
         : kind == MPI_GRAPH      ? OM_GRAPH
         : kind == MPI_DIST_GRAPH ? OM_DIST_GRAPH
                                  : kind;
}

/* Of tools' variables: in both the first of each is the next before the second, and so on. */
static inline int om_verb_out(int verbosity) { return verbosity - MPI_T_VERBOSITY_USER_BASIC; }
static inline int om_bind_out(int bind) { return bind - MPI_T_BIND_NO_OBJECT; }
static inline int om_scope_out(int reach) { return reach - MPI_T_SCOPE_CONSTANT; }

static inline MPI_T_pvar_handle om_pvar(void *handle) {
  return (intptr_t)handle == -1 ? MPI_T_PVAR_ALL_HANDLES : (MPI_T_pvar_handle)handle;
}

/* ---- statuses ------------------------------------------------------------------------------------------- */
/* A status comes back as it went in where MPI writes nothing. MPI_ERROR is written by few calls: untouched
   unless one of them did. */
static inline void om_status_read(MPI_Status *s, const om_status *o) {
  s->count_lo = (int)(unsigned)o->bytes;
  s->count_hi_and_cancelled = (int)((unsigned)(o->bytes >> 32) << 1 | (o->cancelled != 0));
  s->MPI_SOURCE = om_rank_in(o->source);
  s->MPI_TAG = o->tag;
}
static inline void om_status_begin(MPI_Status *s, const om_status *o) {
  om_status_read(s, o);
  s->MPI_ERROR = GM_NOT_WRITTEN;
}
static inline void om_status_in(MPI_Status *s, const om_status *o) {
  om_status_read(s, o);
  s->MPI_ERROR = om_code_in(o->error);
}
static inline void om_status_out(om_status *o, const MPI_Status *s) {
  o->bytes = gm_status_bytes(s);
  o->cancelled = s->count_hi_and_cancelled & 1;
  o->source = om_rank_out(s->MPI_SOURCE);
  o->tag = s->MPI_TAG;
  if (s->MPI_ERROR != GM_NOT_WRITTEN) o->error = om_error(s->MPI_ERROR);
}
#endif
