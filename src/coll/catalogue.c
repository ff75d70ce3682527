/* catalogue.c: which algorithm serves which collective. */
#include "catalogue.h"
#include "trees.h"
#include "algorithms.h"

/* ---- one row per algorithm of a collective ------------------------------------------------- */
/* X(collective, algorithm, function that writes the schedule, condition): ALWAYS; COMMUTES: only
   for operators that commute; POWER_OF_2: only for 2^n ranks. Adding an algorithm means a row here,
   its function, and its name in NBC_ALGO_LIST. */
#define NBC__SCHED_ROWS(X)                                                                         \
  X(BARRIER, LINEAR, barrier_tree, ALWAYS)                                                         \
  X(BARRIER, BINOMIAL, barrier_tree, ALWAYS)                                                       \
  X(BARRIER, KNOMIAL, barrier_tree, ALWAYS)                                                        \
  X(BARRIER, DISSEMINATION, barrier_dissemination, ALWAYS)                                         \
  X(BARRIER, TWO_LEVEL, barrier_two_level, ALWAYS)                                                 \
  X(BCAST, TWO_LEVEL, bcast_bounded, ALWAYS)                                                       \
  X(REDUCE, TWO_LEVEL, reduce_by_tree, COMMUTES)                                                   \
  X(ALLREDUCE, TWO_LEVEL, allreduce_two_level, COMMUTES)                                           \
  X(BCAST, LINEAR, bcast_bounded, ALWAYS)                                                          \
  X(BCAST, BINOMIAL, bcast, ALWAYS)                                                                \
  X(BCAST, KNOMIAL, bcast, ALWAYS)                                                                 \
  X(BCAST, CHAIN, bcast_bounded, ALWAYS)                                                           \
  X(BCAST, BINARY, bcast_bounded, ALWAYS)                                                          \
  X(BCAST, SCATTER_ALLGATHER, bcast_long, ALWAYS)                                                  \
  X(BCAST, HPL_1RING, bcast, ALWAYS)                                                               \
  X(BCAST, HPL_1RING_M, bcast, ALWAYS)                                                             \
  X(BCAST, HPL_2RING, bcast, ALWAYS)                                                               \
  X(BCAST, HPL_2RING_M, bcast, ALWAYS)                                                             \
  X(BCAST, HPL_LONG, bcast_long, ALWAYS)                                                           \
  X(BCAST, HPL_LONG_M, bcast_long_m, ALWAYS)                                                       \
  X(REDUCE, LINEAR, reduce_by_tree, ALWAYS)                                                        \
  X(REDUCE, BINOMIAL, reduce_by_tree, ALWAYS)                                                      \
  X(REDUCE, KNOMIAL, reduce_by_tree, ALWAYS)                                                       \
  X(REDUCE, CHAIN, reduce_by_tree, ALWAYS)                                                         \
  X(REDUCE, BINARY, reduce_by_tree, COMMUTES)                                                      \
  X(REDUCE, RABENSEIFNER, reduce_rabenseifner, ALWAYS)                                             \
  X(ALLREDUCE, LINEAR, allreduce_by_tree, ALWAYS)                                                  \
  X(ALLREDUCE, BINOMIAL, allreduce_by_tree, ALWAYS)                                                \
  X(ALLREDUCE, KNOMIAL, allreduce_by_tree, ALWAYS)                                                 \
  X(ALLREDUCE, RING, allreduce_ring, COMMUTES)                                                     \
  X(ALLREDUCE, RECURSIVE_DOUBLING, allreduce_doubling, ALWAYS)                                     \
  X(ALLREDUCE, RABENSEIFNER, allreduce_rabenseifner, ALWAYS)                                       \
  X(REDUCE_SCATTER_BLOCK, LINEAR, rs_linear, ALWAYS)                                               \
  X(REDUCE_SCATTER_BLOCK, BINOMIAL, rs_tree, ALWAYS)                                               \
  X(REDUCE_SCATTER_BLOCK, KNOMIAL, rs_tree, ALWAYS)                                                \
  X(REDUCE_SCATTER_BLOCK, RING, rs_ring, COMMUTES)                                                 \
  X(REDUCE_SCATTER_BLOCK, RECURSIVE_HALVING, rs_halving, COMMUTES)                                 \
  X(REDUCE_SCATTER_BLOCK, PAIRWISE, rs_pairwise, COMMUTES)                                         \
  X(REDUCE_SCATTER, LINEAR, rs_linear, ALWAYS)                                                     \
  X(REDUCE_SCATTER, BINOMIAL, rs_tree, ALWAYS)                                                     \
  X(REDUCE_SCATTER, KNOMIAL, rs_tree, ALWAYS)                                                      \
  X(REDUCE_SCATTER, RING, rs_ring, COMMUTES)                                                       \
  X(REDUCE_SCATTER, RECURSIVE_HALVING, rs_halving, COMMUTES)                                       \
  X(REDUCE_SCATTER, PAIRWISE, rs_pairwise, COMMUTES)                                               \
  X(GATHER, LINEAR, gather_linear, ALWAYS)                                                         \
  X(GATHER, BINOMIAL, gather_tree, ALWAYS)                                                         \
  X(GATHER, KNOMIAL, gather_tree, ALWAYS)                                                          \
  X(GATHERV, LINEAR, gather_linear, ALWAYS)                                                        \
  X(GATHERV, BINOMIAL, gatherv_tree, ALWAYS)                                                       \
  X(GATHERV, KNOMIAL, gatherv_tree, ALWAYS)                                                        \
  X(SCATTER, LINEAR, scatter_linear, ALWAYS)                                                       \
  X(SCATTER, BINOMIAL, scatter_tree, ALWAYS)                                                       \
  X(SCATTER, KNOMIAL, scatter_tree, ALWAYS)                                                        \
  X(SCATTERV, LINEAR, scatter_linear, ALWAYS)                                                      \
  X(SCATTERV, BINOMIAL, scatterv_tree, ALWAYS)                                                     \
  X(SCATTERV, KNOMIAL, scatterv_tree, ALWAYS)                                                      \
  X(ALLGATHER, LINEAR, allgather_linear, ALWAYS)                                                   \
  X(ALLGATHER, RING, allgather_ring, ALWAYS)                                                       \
  X(ALLGATHER, RECURSIVE_DOUBLING, allgather_doubling, POWER_OF_2)                                 \
  X(ALLGATHER, BRUCK, allgather_bruck, ALWAYS)                                                     \
  X(ALLGATHERV, LINEAR, allgather_linear, ALWAYS)                                                  \
  X(ALLGATHERV, RING, allgather_ring, ALWAYS)                                                      \
  X(ALLGATHERV, RECURSIVE_DOUBLING, allgather_doubling, POWER_OF_2)                                \
  X(ALLGATHERV, BRUCK, allgather_bruck, ALWAYS)                                                    \
  X(ALLTOALL, LINEAR, alltoall_linear, ALWAYS)                                                     \
  X(ALLTOALL, BRUCK, alltoall_bruck, ALWAYS)                                                       \
  X(ALLTOALL, PAIRWISE, alltoall_pairwise, ALWAYS)                                                 \
  X(ALLTOALLV, LINEAR, alltoall_linear, ALWAYS)                                                    \
  X(ALLTOALLV, PAIRWISE, alltoall_pairwise, ALWAYS)                                                \
  X(SCAN, LINEAR, scan_linear, ALWAYS)                                                             \
  X(SCAN, RECURSIVE_DOUBLING, scan_doubling, ALWAYS)                                               \
  X(EXSCAN, LINEAR, exscan_linear, ALWAYS)                                                         \
  X(EXSCAN, RECURSIVE_DOUBLING, exscan_doubling, ALWAYS)                                           \
  X(NEIGHBOR_ALLGATHER, LINEAR, neighbors, ALWAYS)                                                 \
  X(NEIGHBOR_ALLTOALL, LINEAR, neighbors, ALWAYS)

typedef enum nbc__sched_condition {
  NBC__SCHED_ALWAYS,
  NBC__SCHED_COMMUTES,
  NBC__SCHED_POWER_OF_2
} nbc__sched_condition;

/* The row's function; NULL: there is no row. */
static nbc__sched_writer nbc__sched_row(nbc_coll coll, nbc_algo algo,
                                        nbc__sched_condition *condition) {
  switch ((int)coll * (int)NBC_ALGO_COUNT + (int)algo) {
#define NBC__X(c, a, function, when)                                                               \
  case (int)NBC_COLL_##c *(int)NBC_ALGO_COUNT + (int)NBC_ALGO_##a:                                 \
    *condition = NBC__SCHED_##when;                                                                \
    return nbc__sched_##function;
    NBC__SCHED_ROWS(NBC__X)
#undef NBC__X
  default: return NULL;
  }
}

NBC__PRIVATE nbc__sched_writer nbc__sched_writer_of(nbc_coll coll, nbc_algo algo) {
  nbc__sched_condition condition;
  return nbc__sched_row(coll, algo, &condition);
}

NBC_API bool nbc_schedule_supports(nbc_coll coll, nbc_algo algo, int size, bool not_commutative) {
  nbc__sched_condition condition;
  if ((unsigned)coll >= NBC_COLL_COUNT || (unsigned)algo >= NBC_ALGO_COUNT || size < 1)
    return false;
  if (!nbc__sched_row(coll, algo, &condition)) return false;
  if (condition == NBC__SCHED_COMMUTES) return !not_commutative;
  return condition != NBC__SCHED_POWER_OF_2 || nbc__sched_power_of_two(size) == size;
}
