/* Collectives as data: the builder finds dependencies from the bytes that nodes touch. */
#pragma once
#include "../base/config.h"
#include "../base/status.h"
#include "../overlap/cells.h"

/* ============================================================================================== */
/* [SCHEDULE] 15. Collectives as data: schedules, their builders, printer, pricer and verifier    */
/* ============================================================================================== */
/* One rank's part of a collective is a graph of nodes: send, receive, copy, reduce, nothing. A node
   starts when the nodes before it are finished; nothing else orders them, so everything that can
   overlap does. An algorithm is only a function that writes such a graph: the executor, the
   printer, the LogGP pricer and the verifier below know no algorithm.

   Memory is named, not pointed to: a slice is an offset in the user's send buffer, the user's
   receive buffer (also the one buffer of a broadcast, and the input of an in-place call) or scratch
   memory. Every two nodes that touch the same bytes, one of them writing, are ordered by a path.
   Messages carry a tag that is unique per schedule, peer and direction; so which send meets which
   receive does not depend on timing, and one run on an abstract network proves all runs. */
/* One row per collective: X(name, text, kind of operation in reports, what each rank gives, what
   each rank gets, what else it has). VECTOR: `count` elements; OWN_BLOCK: the rank's block; BLOCKS:
   the blocks of all ranks; SOURCE_, TARGET_BLOCKS: one per neighbour; ROOT_...: at the root
   only. */
#define NBC_COLL_LIST(X)                                                                           \
  X(BARRIER, "barrier", IBARRIER, NONE, NONE, 0)                                                   \
  X(BCAST, "bcast", IBCAST, NONE, VECTOR, NBC_HAS_ROOT)                                            \
  X(REDUCE, "reduce", IREDUCE, VECTOR, ROOT_VECTOR,                                                \
    NBC_HAS_ROOT | NBC_HAS_OPERATOR | NBC_HAS_IN_PLACE)                                            \
  X(ALLREDUCE, "allreduce", IALLREDUCE, VECTOR, VECTOR, NBC_HAS_OPERATOR | NBC_HAS_IN_PLACE)       \
  X(REDUCE_SCATTER_BLOCK, "reduce_scatter_block", IREDUCE_SCATTER, BLOCKS, OWN_BLOCK,              \
    NBC_HAS_OPERATOR | NBC_HAS_IN_PLACE)                                                           \
  X(REDUCE_SCATTER, "reduce_scatter", IREDUCE_SCATTER, BLOCKS, OWN_BLOCK,                          \
    NBC_HAS_OPERATOR | NBC_HAS_IN_PLACE | NBC_HAS_RECV_COUNTS)                                     \
  X(GATHER, "gather", IGATHER, VECTOR, ROOT_BLOCKS, NBC_HAS_ROOT | NBC_HAS_IN_PLACE)               \
  X(GATHERV, "gatherv", IGATHER, VECTOR, ROOT_BLOCKS,                                              \
    NBC_HAS_ROOT | NBC_HAS_IN_PLACE | NBC_HAS_RECV_COUNTS | NBC_HAS_RECV_DISPLS)                   \
  X(SCATTER, "scatter", ISCATTER, ROOT_BLOCKS, VECTOR, NBC_HAS_ROOT | NBC_HAS_IN_PLACE)            \
  X(SCATTERV, "scatterv", ISCATTER, ROOT_BLOCKS, VECTOR,                                           \
    NBC_HAS_ROOT | NBC_HAS_IN_PLACE | NBC_HAS_SEND_COUNTS)                                         \
  X(ALLGATHER, "allgather", IALLGATHER, VECTOR, BLOCKS, NBC_HAS_IN_PLACE)                          \
  X(ALLGATHERV, "allgatherv", IALLGATHER, OWN_BLOCK, BLOCKS,                                       \
    NBC_HAS_IN_PLACE | NBC_HAS_RECV_COUNTS | NBC_HAS_RECV_DISPLS)                                  \
  X(ALLTOALL, "alltoall", IALLTOALL, BLOCKS, BLOCKS, NBC_HAS_IN_PLACE)                             \
  X(ALLTOALLV, "alltoallv", IALLTOALL, BLOCKS, BLOCKS,                                             \
    NBC_HAS_IN_PLACE | NBC_HAS_RECV_COUNTS | NBC_HAS_RECV_DISPLS | NBC_HAS_SEND_COUNTS)            \
  X(SCAN, "scan", ISCAN, VECTOR, VECTOR, NBC_HAS_OPERATOR | NBC_HAS_IN_PLACE)                      \
  X(EXSCAN, "exscan", IEXSCAN, VECTOR, VECTOR, NBC_HAS_OPERATOR | NBC_HAS_IN_PLACE)                \
  X(NEIGHBOR_ALLGATHER, "neighbor_allgather", INEIGHBOR_ALLGATHER, VECTOR, SOURCE_BLOCKS,          \
    NBC_HAS_NEIGHBORS | NBC_HAS_RECV_COUNTS | NBC_HAS_RECV_DISPLS)                                 \
  X(NEIGHBOR_ALLTOALL, "neighbor_alltoall", INEIGHBOR_ALLTOALL, TARGET_BLOCKS, SOURCE_BLOCKS,      \
    NBC_HAS_NEIGHBORS | NBC_HAS_RECV_COUNTS | NBC_HAS_RECV_DISPLS | NBC_HAS_SEND_COUNTS)

typedef enum nbc_coll {
#define NBC__X(name, text, kind, gives, gets, has) NBC_COLL_##name,
  NBC_COLL_LIST(NBC__X)
#undef NBC__X
      NBC_COLL_COUNT
} nbc_coll;

enum {
  NBC_HAS_ROOT = 1,
  NBC_HAS_OPERATOR = 2,
  NBC_HAS_IN_PLACE = 4,     /* with a root: there only */
  NBC_HAS_RECV_COUNTS = 8,  /* blocks of different lengths; with a root: read there only */
  NBC_HAS_RECV_DISPLS = 16, /* and their places */
  NBC_HAS_SEND_COUNTS = 32, /* and send_displs; with a root: read there only */
  NBC_HAS_NEIGHBORS = 64 /* blocks go to and come from those that `neighbors` lists; counts NULL =
                               `count` in each block */
};

/* Algorithms and the collectives they serve. "ordered": also for operators that do not commute. */
#define NBC_ALGO_LIST(X)                                                                           \
  X(AUTO, "auto")                             /* by the choice table                          */   \
  X(LINEAR, "linear")                         /* every collective; ordered                    */   \
  X(DISSEMINATION, "dissemination")           /* barrier                                      */   \
  X(BINOMIAL, "binomial")                     /* barrier, bcast, reduce, allreduce,           */   \
                                              /* reduce_scatter, gather(v), scatter(v); ordered */ \
  X(KNOMIAL, "knomial")                       /* the same with any radix >= 2; ordered        */   \
  X(CHAIN, "chain")                           /* bcast, reduce: pipelined; ordered            */   \
  X(BINARY, "binary")                         /* bcast, reduce: pipelined                     */   \
  X(SCATTER_ALLGATHER, "scatter_allgather")   /* bcast                                        */   \
  X(RING, "ring")                             /* allreduce, reduce_scatter, allgather(v)      */   \
  X(RECURSIVE_DOUBLING, "recursive_doubling") /* allreduce, allgather(v) of 2^n ranks, scan,  */   \
                                              /* exscan; ordered                              */   \
  X(RECURSIVE_HALVING, "recursive_halving")   /* reduce_scatter                               */   \
  X(RABENSEIFNER, "rabenseifner")             /* reduce, allreduce; ordered                   */   \
  X(BRUCK, "bruck")                           /* allgather(v), alltoall                       */   \
  X(PAIRWISE, "pairwise")                     /* reduce_scatter, alltoall(v)                  */   \
  X(TWO_LEVEL, "two_level")                   /* barrier, bcast, reduce, allreduce: between   */   \
                                              /* one rank of each node, and inside the nodes  */   \
  X(HPL_1RING, "hpl_1ring")                   /* bcast: the six of HPL, unsegmented           */   \
  X(HPL_1RING_M, "hpl_1ring_m")               /* root -> 1, root -> 2 -> 3 ...                */   \
  X(HPL_2RING, "hpl_2ring")                   /* root -> 1 -> 2 ..., root -> P/2 -> ...       */   \
  X(HPL_2RING_M, "hpl_2ring_m")               /* root -> 1, then two rings of the others      */   \
  X(HPL_LONG, "hpl_long")                     /* spread and roll, as scatter_allgather        */   \
  X(HPL_LONG_M, "hpl_long_m")                 /* root -> 1, then long among the others        */

typedef enum nbc_algo {
#define NBC__X(name, text) NBC_ALGO_##name,
  NBC_ALGO_LIST(NBC__X)
#undef NBC__X
      NBC_ALGO_COUNT
} nbc_algo;

NBC_API const char *nbc_coll_name(nbc_coll coll); /* "bcast"; "?" */
NBC_API const char *nbc_algo_name(nbc_algo algo); /* "binomial"; "?" */
/* ret NBC_OK | NBC_E_NOT_FOUND */
NBC_API nbc_status nbc_coll_parse(const char *name, nbc_coll *coll);
NBC_API nbc_status nbc_algo_parse(const char *name, nbc_algo *algo);

/* With whom a rank exchanges in neighbor_allgather and neighbor_alltoall: block k comes from
   sources[k], goes to targets[k]; -1: nobody, the block stays as it is. The rank itself may be
   among them. Where a rank stands several times in a list, its k-th message meets the k-th receive
   for it. */
typedef struct nbc_neighbors {
  const int *sources, *targets;
  int source_count, target_count;
} nbc_neighbors;

/* What to schedule, seen by one rank. Counts and displacements are in elements. */
typedef struct nbc_schedule_desc {
  nbc_coll coll;
  nbc_algo algo; /* AUTO = nbc_choose with `table` */
  int rank, size, root;
  uint64_t elem_bytes; /* 0 = 1 */
  /* bcast, reduce, allreduce, scan, exscan: length of the vector; reduce_scatter_block, gather(v),
     scatter(v), allgather, alltoall: what one rank contributes or gets */
  uint64_t count;
  /* gatherv at the root, allgatherv, alltoallv: recv; scatterv at the root, alltoallv: send;
     reduce_scatter: recv counts. `size` entries, or one per neighbour; displacements NULL =
     packed; blocks that are received must not overlap */
  const uint64_t *send_counts, *send_displs, *recv_counts, *recv_displs;
  bool in_place;        /* input in the receive buffer (scatter: the root keeps its own block) */
  bool not_commutative; /* keep operands in rank order */
  /* Pipelined trees; 0 = by the algorithm; UINT64_MAX = never cut. Trees of gatherv and scatterv: blocks up
     to this go along the tree, in slots of this; 0 = 256, at most 64 KiB */
  uint64_t segment_bytes;
  int radix;                      /* KNOMIAL; 0 = 4 */
  int window_count;               /* sends in flight where they are bounded; 0 = 8 */
  const struct nbc_choice *table; /* NULL = built in */
  const nbc_neighbors *neighbors; /* neighbor_...: each rank its own */
  const int *nodes; /* two_level: each rank's node, a number in 0 ... size - 1; NULL = all on one */
} nbc_schedule_desc;

typedef enum nbc_area {
  NBC_AREA_NONE = 0,
  NBC_AREA_SEND,
  NBC_AREA_RECV,
  NBC_AREA_SCRATCH,
  NBC_AREA_COUNT
} nbc_area;
typedef struct nbc_slice {
  nbc_area area;
  uint64_t offset_bytes;
} nbc_slice;

typedef enum nbc_node_type {
  NBC_NODE_NOP = 0,
  NBC_NODE_SEND,
  NBC_NODE_RECV,
  NBC_NODE_COPY,
  NBC_NODE_REDUCE /* dst = left op right */
} nbc_node_type;

typedef struct nbc_node {
  nbc_node_type type;
  uint32_t before_count; /* nodes that must finish first */
  uint32_t first_after;  /* index in schedule->after; the last one stands before the next node's */
  uint64_t size_bytes;
  union {
    struct {
      nbc_slice buffer;
      int peer;
      uint32_t tag;
    } msg; /* SEND, RECV */
    struct {
      nbc_slice dst, src;
    } copy;
    struct {
      nbc_slice dst, left, right;
    } reduce;
  } u;
} nbc_node;

/* Immutable once built. nodes has node_count + 1 entries: the last closes `after`. Nodes stand in
   an order in which they could be run one by one. */
typedef struct nbc_schedule {
  nbc_coll coll;
  nbc_algo algo; /* the one taken */
  int rank, size, root;
  uint64_t elem_bytes, scratch_bytes, send_bytes, recv_bytes; /* extents of the areas */
  uint32_t node_count, after_count;
  nbc_node *nodes;
  uint32_t *after;
} nbc_schedule;

/* ---- for later pieces ---- */
/* ---- the builder: nodes in program order, dependencies found from the bytes they touch ----- */
/* An algorithm below reads like a sequential program. As in a processor that executes out of order,
   a node depends only on the earlier ones that wrote what it reads (RAW), or that read or wrote
   what it overwrites (WAR, WAW). What is left is the parallelism of the algorithm. */
typedef struct nbc__sched_interval { /* bytes last touched in the same way */
  uint64_t lo, hi;
  int32_t writer, readers; /* a node; first of a list in `readers`; -1 = none */
} nbc__sched_interval;

/* Ascending, disjoint; what is in no interval was never touched. The free places are one gap before
   interval gap_index, so that a change beside the last one moves little. */
typedef struct nbc__sched_map {
  nbc__sched_interval *v;
  size_t count, capacity, gap_index;
} nbc__sched_map;

typedef struct nbc__sched_edge {
  int32_t before, after;
} nbc__sched_edge;

typedef struct nbc__sched_reader { /* one of a list; lists share their tails */
  int32_t node, next;
} nbc__sched_reader;

typedef struct nbc__sched_builder {
  nbc_schedule_desc d;
  nbc_schedule *s;
  nbc_error *err;
  nbc_status status; /* first failure: later calls do nothing */
  size_t node_capacity;
  nbc__sched_edge *edges;
  size_t edge_count, edge_capacity;
  nbc__sched_reader *readers;
  size_t reader_count, reader_capacity;
  int32_t *mark; /* per node: the last node that got an edge from it */
  nbc__sched_map maps[NBC_AREA_COUNT];
  uint32_t *send_tags, *recv_tags; /* per peer: messages so far */
  int *children;                   /* room for a tree node's children */
  int32_t *window;                 /* the last sends, when they are bounded */
  int window_count, window_next;
  nbc_slice in, out; /* input and result of this rank */
  /* TWO_LEVEL: who takes part now, d.rank and d.size are those among them; NULL = all */
  const int *group;
  uint64_t *recv_at, *send_at; /* where packed blocks of different lengths begin, in elements */
} nbc__sched_builder;

/* What NBC_COLL_LIST says of a collective. */
typedef enum nbc__coll_part {
  NBC__COLL_NONE,
  NBC__COLL_VECTOR,
  NBC__COLL_ROOT_VECTOR,
  NBC__COLL_OWN_BLOCK,
  NBC__COLL_BLOCKS,
  NBC__COLL_ROOT_BLOCKS,
  NBC__COLL_SOURCE_BLOCKS,
  NBC__COLL_TARGET_BLOCKS
} nbc__coll_part;

typedef struct nbc__coll_row {
  const char *name;
  nbc_kind kind;
  nbc__coll_part gives, gets;
  unsigned has; /* NBC_HAS_... */
} nbc__coll_row;
NBC__PRIVATE const nbc__coll_row *nbc__coll_about(nbc_coll coll);

NBC__PRIVATE void nbc__sched_after(nbc__sched_builder *b, int32_t before);
NBC__PRIVATE nbc_node *nbc__sched_add(nbc__sched_builder *b, nbc_node_type type,
                                      uint64_t size_bytes);
NBC__PRIVATE nbc_slice nbc__sched_slice(nbc_area area, uint64_t offset_bytes);
NBC__PRIVATE nbc_slice nbc__sched_at(nbc_slice base, uint64_t offset_bytes);
NBC__PRIVATE int32_t nbc__sched_message(nbc__sched_builder *b, nbc_node_type type, int peer,
                                        nbc_slice buffer, uint64_t size_bytes);
NBC__PRIVATE int32_t nbc__sched_send(nbc__sched_builder *b, int peer, nbc_slice from,
                                     uint64_t size_bytes);
NBC__PRIVATE int32_t nbc__sched_recv(nbc__sched_builder *b, int peer, nbc_slice to,
                                     uint64_t size_bytes);
NBC__PRIVATE void nbc__sched_copy(nbc__sched_builder *b, nbc_slice dst, nbc_slice src,
                                  uint64_t size_bytes);
NBC__PRIVATE void nbc__sched_reduce(nbc__sched_builder *b, nbc_slice dst, nbc_slice left,
                                    nbc_slice right, uint64_t size_bytes);
NBC__PRIVATE void nbc__sched_combine(nbc__sched_builder *b, nbc_slice out, uint64_t at,
                                     uint64_t size_bytes, nbc_slice other, bool other_left,
                                     bool fresh);
NBC__PRIVATE nbc_slice nbc__sched_scratch(nbc__sched_builder *b, uint64_t size_bytes);
NBC__PRIVATE void nbc__sched_window(nbc__sched_builder *b, int at_most);
NBC__PRIVATE uint64_t nbc__sched_block_bytes(const nbc_schedule_desc *d, const uint64_t *counts,
                                             int rank);
NBC__PRIVATE uint64_t nbc__sched_block_at(const nbc_schedule_desc *d, const uint64_t *counts,
                                          const uint64_t *displs, int rank);
NBC__PRIVATE uint64_t nbc__sched_blocks_end(const nbc_schedule_desc *d, const uint64_t *counts,
                                            const uint64_t *displs);
NBC__PRIVATE uint64_t nbc__sched_row_end(const nbc_schedule_desc *d, const uint64_t *counts,
                                         const uint64_t *displs, int blocks);
NBC__PRIVATE int nbc__sched_recv_blocks(const nbc_schedule_desc *d);
NBC__PRIVATE int nbc__sched_send_blocks(const nbc_schedule_desc *d);
NBC__PRIVATE uint64_t nbc__sched_part(const nbc__sched_builder *b, int i, int parts);
NBC__PRIVATE int nbc__sched_power_of_two(int size);
NBC__PRIVATE uint64_t nbc__sched_vector_bytes(const nbc__sched_builder *b);
NBC__PRIVATE uint64_t nbc__sched_recv_bytes(const nbc__sched_builder *b, int rank);
NBC__PRIVATE uint64_t nbc__sched_recv_at(const nbc__sched_builder *b, int rank);
NBC__PRIVATE uint64_t nbc__sched_send_bytes(const nbc__sched_builder *b, int rank);
NBC__PRIVATE uint64_t nbc__sched_send_at(const nbc__sched_builder *b, int rank);
NBC__PRIVATE bool nbc__sched_index_blocks(nbc__sched_builder *b);
