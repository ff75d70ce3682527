/* overlap_preload_wrap.h: how a wrapper is made; includes the lists of calls. */
#define UNPAREN(...) __VA_ARGS__

/* The calls that programs make most, or wait for least: their wrappers are made to be fast, those of all
   others to be small, which halves the library. */
#define OFTEN_Send      ~, hot
#define OFTEN_Recv      ~, hot
#define OFTEN_Sendrecv  ~, hot
#define OFTEN_Isend     ~, hot
#define OFTEN_Irecv     ~, hot
#define OFTEN_Start     ~, hot
#define OFTEN_Startall  ~, hot
#define OFTEN_Wait      ~, hot
#define OFTEN_Waitall   ~, hot
#define OFTEN_Waitany   ~, hot
#define OFTEN_Waitsome  ~, hot
#define OFTEN_Test      ~, hot
#define OFTEN_Testall   ~, hot
#define OFTEN_Testany   ~, hot
#define OFTEN_Testsome  ~, hot
#define OFTEN_Iprobe    ~, hot
#define OFTEN_Put       ~, hot
#define OFTEN_Get       ~, hot
#define OFTEN_Win_flush ~, hot
#define SPEED(name)     __attribute__((SECOND(OFTEN_##name, cold, ~)))

/* BODY(name, kind, parameters, arguments) { ... }: MPI_name and PMPI_name enter, do what stands in
   the braces (call *c and the parameters are there), and leave. */
#define BODY(name, kind, parameters, arguments) BODY_OF(MPI_, name, kind, parameters, arguments)
#define BODY_OF(prefix, name, kind, parameters, arguments)                                         \
  static inline int body_##name(call *c, UNPAREN parameters);                                      \
  static int(*real_##name) parameters;                                                             \
  VISIBLE SPEED(name)                                                                              \
  int P##prefix##name parameters {                                                                 \
    call c[1] __attribute__((cleanup(leave)));                                                     \
    enter(c, NBC_KIND_##kind, #prefix #name, (uintptr_t)__builtin_return_address(0),               \
          (uintptr_t)__builtin_dwarf_cfa());                                                       \
    REPLAY_BEFORE(name, arguments);                                                                \
    const int rc = body_##name(c, UNPAREN arguments);                                              \
    REPLAY_AFTER(name, kind, arguments);                                                           \
    return rc;                                                                                     \
  }                                                                                                \
  VISIBLE SPEED(name)                                                                              \
  int prefix##name parameters __attribute__((alias("P" #prefix #name)));                           \
  static inline int body_##name(call *c, UNPAREN parameters)

/* The common case: call it, and record after success. */
#define WRAP(name, kind, parameters, arguments, record)                                            \
  WRAP_OF(MPI_, name, kind, parameters, arguments, record)
#define WRAP_OF(prefix, name, kind, parameters, arguments, record)                                 \
  BODY_OF(prefix, name, kind, parameters, arguments) {                                             \
    const int rc = BACK(REAL_OF(P##prefix, name) arguments);                                       \
    if (c->active && rc == MPI_SUCCESS) record;                                                    \
    return rc;                                                                                     \
  }

/* Persistent collectives: MPI 4, or Open MPI's extension. */
#if HAS_MPI_4
#  define COLL_INIT(name, parameters, arguments, record)                                           \
    WRAP_OF(MPI_, name, SETUP, parameters, arguments, record)
#elif defined(INIT_OF_IS_MPIX)
#  define COLL_INIT(name, parameters, arguments, record)                                           \
    WRAP_OF(MPIX_, name, SETUP, parameters, arguments, record)
#else
#  define COLL_INIT(name, parameters, arguments, record)
#endif
#define COLL(name, iname, kind, parameters, arguments, bytes, from)                                \
  WRAP(N(name), kind, parameters, arguments, {                                                     \
    if (UNLIKELY(trace.ring)) trace_collective(c, NBC_KIND_##kind, from, comm, 0);                 \
    moved_collective(c, NBC_KIND_##kind, bytes, comm);                                             \
  })                                                                                               \
  WRAP(N(iname), I##kind, (UNPAREN parameters, MPI_Request * request),                             \
       (UNPAREN arguments, request), {                                                             \
         post_collective(c, *request, NBC_KIND_I##kind, bytes, comm, false);                       \
         if (UNLIKELY(trace.ring)) trace_started(c, *request, NBC_KIND_I##kind, from, comm);       \
       })                                                                                          \
  COLL_INIT(N(name##_init), (UNPAREN parameters, MPI_Info info, MPI_Request * request),            \
            (UNPAREN arguments, info, request), {                                                  \
              post_collective(c, *request, NBC_KIND_START, bytes, comm, true);                     \
              if (UNLIKELY(trace.ring)) trace_prepared(*request, NBC_KIND_I##kind, from, comm);    \
            })

#define N(name) name
#define COUNT   int
#define DISP    int
#include "overlap_preload_calls.h"
#undef N
#undef COUNT
#undef DISP
#if HAS_LARGE_COUNTS
#  define N(name)      NAME_C(name)
#  define NAME_C(name) name##_c
#  define COUNT        MPI_Count
#  define DISP         MPI_Aint
#  include "overlap_preload_calls.h"
#endif
#include "overlap_preload_calls_once.h"
