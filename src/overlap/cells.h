/* What is counted: kinds of operations, problems, totals, cells. */
#pragma once
#include "../base/config.h"
#include "../base/status.h"

/* ============================================================================================== */
/* [CELLS] 6. What is counted: kinds of operations, problems, totals, cells                       */
/* ============================================================================================== */
/* Kinds of operation: X(name, text, category) */
#define NBC_KIND_LIST(X)                                                                           \
  X(OTHER, "other", OTHER)                                                                         \
  X(SEND, "send", BLOCKING)                                                                        \
  X(RECV, "recv", BLOCKING)                                                                        \
  X(SENDRECV, "sendrecv", BLOCKING)                                                                \
  X(PROBE, "probe", BLOCKING)                                                                      \
  X(ISEND, "isend", NONBLOCKING)                                                                   \
  X(IRECV, "irecv", NONBLOCKING)                                                                   \
  X(START, "start", NONBLOCKING)                                                                   \
  X(IPROBE, "iprobe", TEST)                                                                        \
  X(TEST, "test", TEST)                                                                            \
  X(WAIT, "wait", WAIT)                                                                            \
  X(WAITALL, "waitall", WAIT)                                                                      \
  X(WAITANY, "waitany", WAIT)                                                                      \
  X(WAITSOME, "waitsome", WAIT)                                                                    \
  X(BARRIER, "barrier", BLOCKING)                                                                  \
  X(BCAST, "bcast", BLOCKING)                                                                      \
  X(REDUCE, "reduce", BLOCKING)                                                                    \
  X(ALLREDUCE, "allreduce", BLOCKING)                                                              \
  X(REDUCE_SCATTER, "reduce_scatter", BLOCKING)                                                    \
  X(GATHER, "gather", BLOCKING)                                                                    \
  X(SCATTER, "scatter", BLOCKING)                                                                  \
  X(ALLGATHER, "allgather", BLOCKING)                                                              \
  X(ALLTOALL, "alltoall", BLOCKING)                                                                \
  X(SCAN, "scan", BLOCKING)                                                                        \
  X(EXSCAN, "exscan", BLOCKING)                                                                    \
  X(NEIGHBOR_ALLGATHER, "neighbor_allgather", BLOCKING)                                            \
  X(NEIGHBOR_ALLTOALL, "neighbor_alltoall", BLOCKING)                                              \
  X(IBARRIER, "ibarrier", NONBLOCKING)                                                             \
  X(IBCAST, "ibcast", NONBLOCKING)                                                                 \
  X(IREDUCE, "ireduce", NONBLOCKING)                                                               \
  X(IALLREDUCE, "iallreduce", NONBLOCKING)                                                         \
  X(IREDUCE_SCATTER, "ireduce_scatter", NONBLOCKING)                                               \
  X(IGATHER, "igather", NONBLOCKING)                                                               \
  X(ISCATTER, "iscatter", NONBLOCKING)                                                             \
  X(IALLGATHER, "iallgather", NONBLOCKING)                                                         \
  X(IALLTOALL, "ialltoall", NONBLOCKING)                                                           \
  X(ISCAN, "iscan", NONBLOCKING)                                                                   \
  X(IEXSCAN, "iexscan", NONBLOCKING)                                                               \
  X(INEIGHBOR_ALLGATHER, "ineighbor_allgather", NONBLOCKING)                                       \
  X(INEIGHBOR_ALLTOALL, "ineighbor_alltoall", NONBLOCKING)                                         \
  X(PUT, "put", NONBLOCKING)                                                                       \
  X(GET, "get", NONBLOCKING)                                                                       \
  X(ATOMIC, "atomic", NONBLOCKING)                                                                 \
  X(RMA_SYNC, "rma_sync", WAIT)                                                                    \
  X(IO, "io", OTHER)                                                                               \
  X(SETUP, "setup", OTHER)                                                                         \
  X(COMM_DUP, "comm_dup", OTHER)                                                                   \
  X(COMM_CREATE, "comm_create", OTHER)                                                             \
  X(COMM_SPLIT, "comm_split", OTHER)                                                               \
  X(COMM_FREE, "comm_free", OTHER)                                                                 \
  X(TOPOLOGY, "topology", OTHER)                                                                   \
  X(WIN_CREATE, "win_create", OTHER)                                                               \
  X(SPAWN, "spawn_connect", OTHER)

typedef enum nbc_kind {
#define NBC__X(name, text, category) NBC_KIND_##name,
  NBC_KIND_LIST(NBC__X)
#undef NBC__X
      NBC_KIND_COUNT
} nbc_kind;

/* What a call does for the dedicated-core model [R §6]: its columns nb, test, wait, blocking,
   other. */
typedef enum nbc_category {
  NBC_CATEGORY_OTHER = 0,
  NBC_CATEGORY_BLOCKING,
  NBC_CATEGORY_NONBLOCKING,
  NBC_CATEGORY_TEST,
  NBC_CATEGORY_WAIT,
  NBC_CATEGORY_COUNT
} nbc_category;

typedef enum nbc_peer {
  NBC_PEER_UNKNOWN = 0, /* collectives, several peers: the slower table is used */
  NBC_PEER_SAME_NODE,
  NBC_PEER_OTHER_NODE,
  NBC_PEER_SELF, /* the process itself: no table between processes is its time, no minimum is certain */
  NBC_PEER_COUNT
} nbc_peer;

NBC_API const char *nbc_kind_name(nbc_kind kind); /* "isend"; "?" when out of range */
NBC_API nbc_category nbc_kind_category(nbc_kind kind);
NBC_API const char *nbc_category_name(nbc_category category);
NBC_API const char *nbc_peer_name(nbc_peer peer); /* "unknown", "same_node", "other_node", "self" */

/* What the monitor met and could not use as told: X(name, text) */
#define NBC_PROBLEM_LIST(X)                                                                        \
  X(table_too_slow, "transfers whose window was shorter than the table's time (clamped)")          \
  X(id_reused, "transfers begun while their id was still active (the older one counts as case 3)") \
  X(ended_twice, "second ends of a transfer (ignored)")                                            \
  X(end_unknown, "ends of transfers that never began (ignored)")                                   \
  X(never_ended, "transfers that never ended (case 3)")                                            \
  X(ended_before_begin, "transfers that ended before they began: clock step (case 3)")             \
  X(clock_backward, "call events earlier than the one before: clock step (taken as equal)")        \
  X(exit_without_enter, "CALL_EXIT without CALL_ENTER (ignored)")                                  \
  X(section_unbalanced, "section ends without begin, or sections left open")                       \
  X(transfers_overflow, "transfers begun when max_transfers were active (case 3)")                 \
  X(cells_overflow, "transfers counted under 'other' because max_cells was reached")               \
  X(places_overflow,                                                                               \
    "kinds of transfers counted without their place: max_cells is nearly reached")                 \
  X(sections_overflow,                                                                             \
    "section begins counted under the enclosing one: max_sections, or too deep")                   \
  X(foreign_lost, "stamps from other threads lost because the inbox was full (case 3)")            \
  X(unplaced,                                                                                      \
    "transfers with a stamp whose place between the owner's calls is not known (case 3)")          \
  X(cancelled, "transfers withdrawn before they ended (not counted)")                              \
  X(stamp_lost, "NIC stamps of unknown transfers, or older than the call history")                 \
  X(stamp_invalid, "NIC stamps that end before they begin (ignored)")                              \
  X(counter_lost, "readings of counters that failed or went back (their interval is not counted)")

typedef enum nbc_problem {
#define NBC__X(name, text) NBC_PROBLEM_##name,
  NBC_PROBLEM_LIST(NBC__X)
#undef NBC__X
      NBC_PROBLEM_COUNT
} nbc_problem;
/* "ended_twice", and what it means. Never NULL. Any thread. */
NBC_API const char *nbc_problem_name(nbc_problem problem);
NBC_API const char *nbc_problem_text(nbc_problem problem);

#define NBC_HIST_BINS 44 /* bin b counts values in [2^(b-1), 2^b) ns; bin 0 counts zeros */

typedef struct nbc_totals {
  uint64_t count, size_bytes;
  int64_t xfer_ns, min_overlap_ns, max_overlap_ns;
  uint64_t case_count[3]; /* [O §2.2] cases 1, 2, 3 */
  int64_t waited_ns;     /* in the calls in which they ended, each call's time shared by its ends */
  uint64_t exact_count;  /* transfers with NIC stamps; of these: */
  int64_t exact_xfer_ns; /* transfer time by the stamps */
  int64_t exact_lo_ns, exact_hi_ns; /* interval of the exact overlap */
} nbc_totals;

/* Calls from one place of the program. */
typedef struct nbc_site {
  char *call;      /* "MPI_Waitall" */
  char *module;    /* file of the program or library that called; NULL: not known */
  char *symbol;    /* the function there, as far as the file says it; may be NULL */
  uint64_t offset; /* of the return address in the module */
  uint64_t count;
  int64_t total_ns, max_ns;
  char *where; /* "function (file:line)", once somebody has looked; else NULL */
} nbc_site;

typedef struct nbc_cell { /* transfers of one (section, kind, class, peer, place) */
  int section_index;
  nbc_kind kind;
  int class_index;
  nbc_peer peer;
  int site_plus1; /* 1 + index of the report's site where they were begun; 0: not known */
  nbc_totals t;
  int64_t available_ns;                    /* computation between the stamps, summed (case 2) */
  uint64_t available_count[NBC_HIST_BINS]; /* and its distribution: what could have hidden it */
} nbc_cell;

/* ---- for later pieces ---- */
NBC__PRIVATE int nbc__bin(int64_t ns);
/* The same call of the same module and offset. */
NBC__PRIVATE bool nbc__is_same_site(const nbc_site *a, const nbc_site *b);
