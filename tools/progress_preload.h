/* progress_preload.h: what the two files of the progress preload know of each other (manual: progress_preload.c). */
#pragma once
#ifndef _GNU_SOURCE
#  define _GNU_SOURCE
#endif
#include <mpi.h>
#ifdef OPEN_MPI
#  include <mpi-ext.h>
#endif
#include <stdbool.h>
#include <stdint.h>

#define VISIBLE             __attribute__((visibility("default")))
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* The function below us: of a PMPI tool that was loaded after this library, else the MPI's own. */
void *progress_next(const char *name);
#define NEXT(name)                                                                                 \
  (*__extension__({                                                                                \
    static __typeof__(PMPI_##name) *f_;                                                            \
    if (UNLIKELY(!f_)) *(void **)&f_ = progress_next("PMPI_" #name);                               \
    f_;                                                                                            \
  }))

/* A setting from the environment; NULL: not set, or empty. */
const char *progress_setting(const char *name);
/* Which of `names` the setting is; a wrong value is said once. */
int progress_choice(const char *setting, const char *const *names, int count, int by_default);
/* One line on standard error, "nbc_progress: ...", unless NBC_PROGRESS_SAY=0. */
void progress_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- nonblocking collectives of ours: progress_preload_coll.c ------------------------------------ */
/* One side of a collective as the program gave it. */
typedef struct progress_side {
  void *buffer; /* MPI_IN_PLACE as it is */
  MPI_Count count;
  const void *counts, *displs; /* NULL: `count` in every block, one after the other */
  bool large_counts, large_displs; /* what they point to: MPI_Count or int; MPI_Aint or int */
  bool displs_in_bytes;
  MPI_Datatype type;
  const MPI_Datatype *types; /* alltoallw; else NULL */
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
  PROGRESS_EXSCAN
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
/* A communicator was made: agrees with its other processes on a number. Collective over it. */
void progress_coll_made(MPI_Comm comm);
/* It is about to be freed. disconnect: what is under way on it ends before. */
void progress_coll_freed(MPI_Comm comm, bool disconnect);
/* The handle of an operator is about to be freed. True: not now, it is in use; that is done later. */
bool progress_coll_op_freed(MPI_Op op);
/* Starts it as ours. False: the MPI shall do it; all processes come to the same answer. */
bool progress_coll_start(const progress_call *call, MPI_Request *request, int *rc);
/* Requests of ours under way, and a step forward for them. Any thread. */
int progress_coll_active(void);
uint64_t progress_coll_count(void); /* started so far */
void progress_coll_poll(void);
