/* progress_preload.h: what the two files of the progress preload know of each other (manual: progress_preload.c). */
#pragma once
#ifndef _GNU_SOURCE
#  define _GNU_SOURCE
#endif
#include "tools/mpi_h.h"
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VISIBLE             __attribute__((visibility("default")))
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define SMALL               __attribute__((cold)) /* rare: made to be small, not to be fast */

/* The function below us: of a PMPI tool that was loaded after this library, else the MPI's own. */
SMALL void *progress_next(const char *name);
#define NEXT(name)                                                                                 \
  (*__extension__({                                                                                \
    static __typeof__(PMPI_##name) *f_;                                                            \
    if (UNLIKELY(!f_)) *(void **)&f_ = progress_next("PMPI_" #name);                               \
    f_;                                                                                            \
  }))

#define NEXT_X(name) /* of what Open MPI calls MPIX_... */                                         \
  (*__extension__({                                                                                \
    static __typeof__(PMPIX_##name) *f_;                                                           \
    if (UNLIKELY(!f_)) *(void **)&f_ = progress_next("PMPIX_" #name);                              \
    f_;                                                                                            \
  }))

/* A setting from the environment; NULL: not set, or empty. */
const char *progress_setting(const char *name);
/* Which of `names` the setting is; a wrong value is said once. */
int progress_choice(const char *setting, const char *const *names, int count, int by_default);
/* Reads a number that is all of `text`, with a point whatever locale the program has set. */
bool progress_number(const char *text, double *value);
/* As vsnprintf, with a point in numbers whatever locale the program has set. */
int progress_print(char *text, size_t bytes, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));
/* One line on standard error, "nbc_progress: ...", unless NBC_PROGRESS_SAY=0. */
void progress_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- nonblocking collectives of ours: progress_preload_coll.c ------------------------------------ */
/* One side of a collective as the program gave it. */
typedef struct progress_side {
  void *buffer; /* MPI_IN_PLACE as it is */
  MPI_Count count;
  const void *counts, *displs;     /* NULL: `count` in every block, one after the other */
  bool large_counts, large_displs; /* what they point to: MPI_Count or int; MPI_Aint or int */
  bool displs_in_bytes;
  MPI_Datatype type;
  const MPI_Datatype *types; /* alltoallw; else NULL */
  const int *peers; /* neighbourhoods: -1 where nobody is, whose block counts nothing; else NULL */
} progress_side;
enum progress_kind {
  PROGRESS_BARRIER,
  PROGRESS_BCAST,
  PROGRESS_REDUCE,
  PROGRESS_ALLREDUCE,
  PROGRESS_REDUCE_SCATTER_BLOCK,
  PROGRESS_REDUCE_SCATTER,
  PROGRESS_GATHER,
  PROGRESS_GATHERV,
  PROGRESS_SCATTER,
  PROGRESS_SCATTERV,
  PROGRESS_ALLGATHER,
  PROGRESS_ALLGATHERV,
  PROGRESS_ALLTOALL,
  PROGRESS_ALLTOALLV,
  PROGRESS_ALLTOALLW,
  PROGRESS_SCAN,
  PROGRESS_EXSCAN,
  PROGRESS_NEIGHBOR_ALLGATHER, /* (v): the lengths of blocks may differ in all of them */
  PROGRESS_NEIGHBOR_ALLTOALL   /* (v, w) */
};
typedef struct progress_call {
  enum progress_kind kind;
  progress_side send, recv;
  int root;
  MPI_Op op;
  MPI_Comm comm;
} progress_call;

/* After MPI_Init, collective over the world: `able` says whether this process has a worker. True: ours. */
bool progress_coll_begin(bool able);
void progress_coll_end(void); /* in MPI_Finalize, the worker stopped */
/* A communicator was made: agrees with its other processes on a number. Collective over it. by_program false: inside a call
   of the MPI, for that call's own ends; what it starts there stays its own. */
void progress_coll_made(MPI_Comm comm, bool by_program);
/* It is about to be freed. disconnect: what is under way on it ends before. */
void progress_coll_freed(MPI_Comm comm, bool disconnect);
/* The handle of an operator is about to be freed. True: not now, it is in use; that is done later. */
bool progress_coll_op_freed(MPI_Op op);
bool progress_has_threads(void); /* of the program may several be inside the MPI? */
/* Starts it as ours. False: the MPI shall do it; all processes come to the same answer. */
bool progress_coll_start(const progress_call *call, MPI_Request *request, int *rc);
/* Runs a blocking one as ours, and waits for its end. False as above. */
bool progress_coll_run(const progress_call *call, int *rc);
bool progress_coll_blocking(void); /* are those ours? */
/* Makes a persistent one and *request that stands for it, a persistent request of the MPI that is never started.
   *ours false: the MPI shall make it. NULL and ours: *rc is an error. */
struct running *progress_coll_init(const progress_call *call, MPI_Request *request, int *rc,
                                   bool *ours);
/* Starts it. *current: the generalized request that its handle stands for until that was completed. */
int progress_coll_restart(struct running *made, MPI_Request *current);
/* Its handle is freed. active: it was started, and its end not seen: *current is still to be completed. */
void progress_coll_release(struct running *made, bool active, MPI_Request *current);
/* Requests of ours under way, and a step forward for them. Any thread. */
int progress_coll_active(void);
uint64_t progress_coll_count(void); /* started so far */
void progress_coll_poll(void);
