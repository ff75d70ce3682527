/* catalogue.c: which algorithm serves which collective. */
#include "catalogue.h"
#include "trees.h"
#include "algorithms.h"

/* ---- which algorithm serves what ----------------------------------------------------------- */
#define NBC__SCHED_BIT(name) (1u << NBC_ALGO_##name)
#define NBC__SCHED_TREES                                                                           \
  (NBC__SCHED_BIT(LINEAR) | NBC__SCHED_BIT(BINOMIAL) | NBC__SCHED_BIT(KNOMIAL))
static const uint32_t nbc__sched_served[NBC_COLL_COUNT] = {
    /* BARRIER */ NBC__SCHED_TREES | NBC__SCHED_BIT(DISSEMINATION),
    /* BCAST */ NBC__SCHED_TREES | NBC__SCHED_BIT(CHAIN) | NBC__SCHED_BIT(BINARY) |
        NBC__SCHED_BIT(SCATTER_ALLGATHER) | NBC__SCHED_BIT(HPL_1RING) |
        NBC__SCHED_BIT(HPL_1RING_M) | NBC__SCHED_BIT(HPL_2RING) | NBC__SCHED_BIT(HPL_2RING_M) |
        NBC__SCHED_BIT(HPL_LONG) | NBC__SCHED_BIT(HPL_LONG_M),
    /* REDUCE */ NBC__SCHED_TREES | NBC__SCHED_BIT(CHAIN) | NBC__SCHED_BIT(BINARY) |
        NBC__SCHED_BIT(RABENSEIFNER),
    /* ALLREDUCE */ NBC__SCHED_TREES | NBC__SCHED_BIT(RING) | NBC__SCHED_BIT(RECURSIVE_DOUBLING) |
        NBC__SCHED_BIT(RABENSEIFNER),
    /* REDUCE_SCATTER_BLOCK */ NBC__SCHED_TREES | NBC__SCHED_BIT(RING) |
        NBC__SCHED_BIT(RECURSIVE_HALVING) | NBC__SCHED_BIT(PAIRWISE),
    /* REDUCE_SCATTER */ NBC__SCHED_TREES | NBC__SCHED_BIT(RING) |
        NBC__SCHED_BIT(RECURSIVE_HALVING) | NBC__SCHED_BIT(PAIRWISE),
    /* GATHER */ NBC__SCHED_TREES,
    /* GATHERV */ NBC__SCHED_BIT(LINEAR),
    /* SCATTER */ NBC__SCHED_TREES,
    /* SCATTERV */ NBC__SCHED_BIT(LINEAR),
    /* ALLGATHER */ NBC__SCHED_BIT(LINEAR) | NBC__SCHED_BIT(RING) |
        NBC__SCHED_BIT(RECURSIVE_DOUBLING) | NBC__SCHED_BIT(BRUCK),
    /* ALLGATHERV */ NBC__SCHED_BIT(LINEAR) | NBC__SCHED_BIT(RING) |
        NBC__SCHED_BIT(RECURSIVE_DOUBLING) | NBC__SCHED_BIT(BRUCK),
    /* ALLTOALL */ NBC__SCHED_BIT(LINEAR) | NBC__SCHED_BIT(PAIRWISE) | NBC__SCHED_BIT(BRUCK),
    /* ALLTOALLV */ NBC__SCHED_BIT(LINEAR) | NBC__SCHED_BIT(PAIRWISE),
    /* SCAN */ NBC__SCHED_BIT(LINEAR) | NBC__SCHED_BIT(RECURSIVE_DOUBLING),
    /* EXSCAN */ NBC__SCHED_BIT(LINEAR) | NBC__SCHED_BIT(RECURSIVE_DOUBLING)};

NBC__PRIVATE bool nbc__sched_serves(nbc_coll coll, nbc_algo algo) {
  return (nbc__sched_served[coll] & 1u << algo) != 0;
}

NBC__PRIVATE bool nbc__sched_reduces(nbc_coll coll) {
  return (coll >= NBC_COLL_REDUCE && coll <= NBC_COLL_REDUCE_SCATTER) || coll >= NBC_COLL_SCAN;
}

NBC__PRIVATE bool nbc__sched_rooted(nbc_coll coll) {
  return coll == NBC_COLL_BCAST || coll == NBC_COLL_REDUCE ||
         (coll >= NBC_COLL_GATHER && coll <= NBC_COLL_SCATTERV);
}

NBC_API bool nbc_schedule_supports(nbc_coll coll, nbc_algo algo, int size, bool not_commutative) {
  const uint32_t any_order = NBC__SCHED_BIT(BINARY) | NBC__SCHED_BIT(RING) |
                             NBC__SCHED_BIT(RECURSIVE_HALVING) | NBC__SCHED_BIT(PAIRWISE);
  if ((unsigned)coll >= NBC_COLL_COUNT || (unsigned)algo >= NBC_ALGO_COUNT || size < 1)
    return false;
  if (!nbc__sched_serves(coll, algo)) return false;
  if (nbc__sched_reduces(coll) && not_commutative && (any_order & 1u << algo)) return false;
  return !((coll == NBC_COLL_ALLGATHER || coll == NBC_COLL_ALLGATHERV) &&
           algo == NBC_ALGO_RECURSIVE_DOUBLING && nbc__sched_power_of_two(size) != size);
}

NBC__PRIVATE void nbc__sched_write(nbc__sched_builder *b) {
  nbc_schedule_desc *const d = &b->d;
  const nbc_algo a = b->s->algo;
  const bool tree = nbc__sched_is_knomial(a);
  switch (d->coll) {
  case NBC_COLL_BARRIER:
    if (a == NBC_ALGO_DISSEMINATION)
      nbc__sched_barrier_dissemination(b);
    else
      nbc__sched_barrier_tree(b);
    break;
  case NBC_COLL_BCAST:
    if (a == NBC_ALGO_SCATTER_ALLGATHER || a >= NBC_ALGO_HPL_LONG) {
      nbc__sched_bcast_long(b, a == NBC_ALGO_HPL_LONG_M);
      break;
    }
    if (a == NBC_ALGO_LINEAR || a == NBC_ALGO_CHAIN || a == NBC_ALGO_BINARY)
      nbc__sched_window(b, INT32_MAX);
    nbc__sched_bcast_tree(b, b->out, d->count * d->elem_bytes, d->root);
    break;
  case NBC_COLL_REDUCE:
    if (a == NBC_ALGO_RABENSEIFNER)
      nbc__sched_rabenseifner(b, d->root);
    else
      nbc__sched_reduce_tree(b, d->root);
    break;
  case NBC_COLL_ALLREDUCE:
    if (a == NBC_ALGO_RING)
      nbc__sched_allreduce_ring(b);
    else if (a == NBC_ALGO_RECURSIVE_DOUBLING)
      nbc__sched_allreduce_doubling(b);
    else if (a == NBC_ALGO_RABENSEIFNER)
      nbc__sched_rabenseifner(b, -1);
    else {
      const nbc_slice result = b->out;
      nbc__sched_reduce_tree(b, 0);
      nbc__sched_bcast_tree(b, result, d->count * d->elem_bytes, 0);
    }
    break;
  case NBC_COLL_REDUCE_SCATTER_BLOCK:
  case NBC_COLL_REDUCE_SCATTER:
    if (tree)
      nbc__sched_rs_tree(b);
    else if (a == NBC_ALGO_RING)
      nbc__sched_rs_ring(b);
    else if (a == NBC_ALGO_RECURSIVE_HALVING)
      nbc__sched_rs_halving(b);
    else
      nbc__sched_rs_direct(b);
    break;
  case NBC_COLL_GATHER:
  case NBC_COLL_GATHERV:
    if (tree)
      nbc__sched_gather_tree(b);
    else
      nbc__sched_gather_linear(b);
    break;
  case NBC_COLL_SCATTER:
  case NBC_COLL_SCATTERV:
    if (tree)
      nbc__sched_scatter_tree(b);
    else
      nbc__sched_scatter_linear(b);
    break;
  case NBC_COLL_ALLGATHER:
  case NBC_COLL_ALLGATHERV:
    if (a == NBC_ALGO_RING)
      nbc__sched_allgather_ring(b);
    else if (a == NBC_ALGO_BRUCK)
      nbc__sched_allgather_bruck(b);
    else if (a == NBC_ALGO_RECURSIVE_DOUBLING)
      nbc__sched_allgather_doubling(b);
    else
      nbc__sched_allgather_direct(b);
    break;
  case NBC_COLL_ALLTOALL:
  case NBC_COLL_ALLTOALLV:
    if (a == NBC_ALGO_BRUCK)
      nbc__sched_alltoall_bruck(b);
    else
      nbc__sched_alltoall_direct(b);
    break;
  case NBC_COLL_SCAN:
  case NBC_COLL_EXSCAN:
    if (a == NBC_ALGO_LINEAR)
      nbc__sched_scan_linear(b, d->coll == NBC_COLL_EXSCAN);
    else
      nbc__sched_scan_doubling(b, d->coll == NBC_COLL_EXSCAN);
    break;
  case NBC_COLL_COUNT: break;
  }
}
