/* nbc_overlap.h 0.1.0: see, prove, predict and get the overlap of computation and communication.
   Public domain or MIT-0, at your choice (end of file).

   In ONE C or C++ file of the program, and nowhere else, write
       #define NBC_OVERLAP_IMPLEMENTATION
       #include "nbc_overlap.h"
   and everywhere else just include it. Compile that one file with -D_GNU_SOURCE (or -std=gnu11),
   link with -pthread -lm.

   Example (complete; cc -D_GNU_SOURCE -pthread x.c -lm):

       #define NBC_OVERLAP_IMPLEMENTATION
       #include "nbc_overlap.h"

       int main(void) {
         nbc_monitor *monitor;
         nbc_recorder *me; // one per thread
         nbc_report *report;
         nbc_monitor_desc desc = {0};
         if (nbc_monitor_create(&desc, &monitor) || nbc_recorder_attach(monitor, &me)) return 1;
         nbc_call_enter(me, NBC_KIND_ISEND);              // the application calls the library,
         nbc_xfer_begin(me, 1, 65536, NBC_KIND_ISEND, NBC_PEER_OTHER_NODE); // which starts a transfer
         nbc_call_exit(me);
         nbc_spin_ns(nbc_monitor_clock(monitor), 200000); // the application computes for 200 us
         nbc_call_enter(me, NBC_KIND_WAIT);
         nbc_xfer_end(me, 1);                             // the library learns that it is over
         nbc_call_exit(me);
         if (nbc_monitor_report(monitor, &report)) return 1;
         nbc_report_write_text(report, stdout);           // 100 % of the transfer was hidden
         nbc_report_free(report);
         nbc_monitor_destroy(monitor);
         return 0;
       }

   CONTENTS (search for the tag: it stands here, at the API and at the implementation)
     [CONFIG]     1. Options: macros to define before including
     [STATUS]     2. Status codes, errors with text
     [CLOCK]      3. Clocks: what a nanosecond means here
     [STATS]      4. Medians, quantiles, confidence intervals; the four ratios and the diagnosis
     [TABLE]      5. Transfer-time tables: how long a message of n bytes takes
     [MONITOR]    6. The four events and the overlap bounds
     [REPORT]     7. Reports: in memory, as text, as JSON, read back, merged, compared
     [TRANSPORT]  8. The contract that carries messages; null and scripted transports
     [THREADS]    9. Ranks as threads: the transport that needs nothing

   SOURCES named in comments:
     [O] Characterization of Computation-Communication Overlap in Message-Passing Systems (the
         overlap bounds); [R] Reynier, progression of MPI communications by dedicated resources,
         2022 (metrics, event-driven collectives, the dedicated-core model).

   CONVENTIONS
     Time is int64_t nanoseconds of *host time* (scale of CLOCK_MONOTONIC_RAW); raw counter readings
     are uint64_t ticks. Names end with their unit. Every function returns an nbc_status unless said;
     NBC_OK is 0, errors are negative. The library never exits and prints only what you ask for.
     A zeroed desc means defaults; sizes, counts and limits of 0 mean "default", named at the field.
     Threads: a function may be called from any thread on different objects; what is allowed on one
     object is said at the function. */

#ifndef NBC_OVERLAP_H_INCLUDED
#define NBC_OVERLAP_H_INCLUDED

#define NBC_VERSION_STRING "0.1.0"
#define NBC_VERSION        100 /* major * 10000 + minor * 100 + patch */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ============================================================================================== */
/* [CONFIG] 1. Options: macros to define before including                                         */
/* ============================================================================================== */
/*  macro                        default   where                 meaning
    NBC_OVERLAP_IMPLEMENTATION   -         one file              compile the implementation here
    NBC_STATIC                   -         every including file  all functions static (private copy)
    NBC_API                      extern    every including file  linkage of your own
    NBC_MALLOC, NBC_FREE         libc      implementing file     both or none
    NBC_ASSERT                   nothing   implementing file     checks of the library's own invariants
*/
#ifndef NBC_API
#  if !defined(NBC_STATIC)
#    define NBC_API extern
#  elif defined(__GNUC__)
#    define NBC_API __attribute__((unused)) static
#  else
#    define NBC_API static
#  endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ============================================================================================== */
/* [STATUS] 2. Status codes, errors with text                                                     */
/* ============================================================================================== */
/* -1 … argument, -100 … system, -200 … transport, -300 … model, -400 … hardware */
#define NBC_STATUS_LIST(X)                                                                         \
  X(NBC_OK, 0, "ok")                                                                               \
  X(NBC_PENDING, 1, "not finished yet")                                                            \
  X(NBC_E_INVAL, -1, "invalid argument")                                                           \
  X(NBC_E_RANGE, -2, "value out of range")                                                         \
  X(NBC_E_PARSE, -3, "input is malformed")                                                         \
  X(NBC_E_STATE, -4, "call not allowed in this state")                                             \
  X(NBC_E_FULL, -5, "a fixed capacity is exhausted")                                               \
  X(NBC_E_TRUNCATED, -6, "message longer than the receive buffer")                                 \
  X(NBC_E_NOT_FOUND, -7, "not found")                                                              \
  X(NBC_E_MISMATCH, -8, "arguments differ between ranks")                                          \
  X(NBC_E_NOT_BUILT, -9, "this part was not built in")                                             \
  X(NBC_E_NOMEM, -100, "out of memory")                                                            \
  X(NBC_E_CLOCK, -101, "no usable clock")                                                          \
  X(NBC_E_IO, -102, "file cannot be read or written")                                              \
  X(NBC_E_THREAD, -103, "thread cannot be created or bound")                                       \
  X(NBC_E_SYSTEM, -104, "system call failed")                                                      \
  X(NBC_E_TRANSPORT, -200, "transport failed")                                                     \
  X(NBC_E_TIMEOUT, -201, "time limit reached")                                                     \
  X(NBC_E_CANCELLED, -202, "operation was cancelled")                                              \
  X(NBC_E_PEER, -203, "peer rank out of range or gone")

typedef enum nbc_status {
#define NBC__X(name, value, text) name = value,
  NBC_STATUS_LIST(NBC__X)
#undef NBC__X
      NBC_STATUS_FORCE_INT32 = 0x7fffffff
} nbc_status;

/* What went wrong, for people: names the file and line, the field or the argument. Filled on
   error only; pass NULL where an nbc_error * is asked for and you do not care. */
typedef struct nbc_error {
  nbc_status status;
  int line; /* of the input, 1-based; 0 when there is none */
  char text[256];
} nbc_error;

/* "NBC_E_INVAL". Never NULL. Any thread. */
NBC_API const char *nbc_status_name(nbc_status status);
/* "invalid argument". Never NULL. Any thread. */
NBC_API const char *nbc_status_text(nbc_status status);

/* ============================================================================================== */
/* [CLOCK] 3. Clocks: what a nanosecond means here                                                */
/* ============================================================================================== */
/* Host time: the scale of CLOCK_MONOTONIC_RAW, read from the processor's counter (invariant TSC,
   CNTVCT) when that is usable, else by system call. In a simulation, a clock of the user's. */
typedef enum nbc_clock_source {
  NBC_CLOCK_AUTO = 0, /* counter when invariant and monotonic across cores, else RAW */
  NBC_CLOCK_TSC,      /* x86-64 time-stamp counter */
  NBC_CLOCK_CNTVCT,   /* aarch64 virtual counter */
  NBC_CLOCK_RAW,      /* clock_gettime(CLOCK_MONOTONIC_RAW) */
  NBC_CLOCK_USER      /* desc.now_ns */
} nbc_clock_source;

typedef struct nbc_clock_desc {
  nbc_clock_source source;
  int64_t calibrate_ns;          /* how long to compare counter and RAW; 0 = 10 ms */
  int64_t (*now_ns)(void *user); /* NBC_CLOCK_USER only */
  void *user;
  bool trust_counter; /* do not test the counter across cores (saves about 1 ms per core) */
} nbc_clock_desc;

/* Filled by nbc_clock_create, owned by the caller, may be copied; treat the fields as read-only.
   ns = base_ns + ((ticks - base_ticks) * mult >> 32). */
typedef struct nbc_clock {
  nbc_clock_source source;
  uint64_t base_ticks, mult;
  int64_t base_ns;
  double hz;              /* counter frequency against RAW */
  double rate_err_ppm;    /* bound on the error of hz: width of the two bracketed readings / time */
  double resolution_ns;   /* smallest step seen between readings */
  double read_cost_ns;    /* median cost of one reading */
  int cpus_checked_count; /* cores visited by the monotonicity test, 0 when not run */
  int64_t max_backstep_ns; /* largest step back seen across cores; 0 = monotonic */
  bool invariant;         /* the processor promises a constant rate in all power states */
  char why[96];           /* why this source was taken or another refused */
  int64_t (*user_now_ns)(void *user);
  void *user;
} nbc_clock;

/* Chooses, tests and calibrates a clock.
   in   desc   NULL or zeroed: automatic; an explicit source that is unusable is an error
   out  clock
   ret  NBC_OK | NBC_E_INVAL (USER without now_ns) | NBC_E_CLOCK (source not usable; clock->why says)
   cost calibrate_ns plus about 1 ms per core; uses sched_setaffinity for the test, then restores it */
NBC_API nbc_status nbc_clock_create(const nbc_clock_desc *desc, nbc_clock *clock);
/* Now, in host time. Any thread. Cost: clock->read_cost_ns. */
NBC_API int64_t nbc_clock_now_ns(const nbc_clock *clock);
/* Raw reading and its conversion; ticks are nanoseconds for RAW and USER sources. Any thread. */
NBC_API uint64_t nbc_clock_ticks(const nbc_clock *clock);
NBC_API int64_t nbc_clock_ticks_to_ns(const nbc_clock *clock, uint64_t ticks);
/* Bound on |host time - CLOCK_MONOTONIC_RAW| at time t_ns: grows with the distance to calibration. */
NBC_API int64_t nbc_clock_err_ns(const nbc_clock *clock, int64_t t_ns);
/* Compares counter and RAW again over all the time since creation: rate_err_ppm shrinks. Not to be
   called while other threads read this clock. ret NBC_OK | NBC_E_CLOCK (the two disagree by more
   than their bounds: the counter is not invariant; clock->why says) */
NBC_API nbc_status nbc_clock_recalibrate(nbc_clock *clock);
/* "tsc", "cntvct", "raw", "user". */
NBC_API const char *nbc_clock_source_name(nbc_clock_source source);
/* Computes (empty loop on the clock) for d_ns: a stand-in for work, without system calls. */
NBC_API void nbc_spin_ns(const nbc_clock *clock, int64_t d_ns);

/* ============================================================================================== */
/* [STATS] 4. Medians, quantiles, confidence intervals; the four ratios and the diagnosis         */
/* ============================================================================================== */
typedef struct nbc_summary {
  size_t count;
  double min, q1, median, q3, max, mean;
  double median_lo, median_hi; /* nonparametric confidence interval of the median */
  double confidence_ratio;     /* the one asked for; with few samples [min, max] covers less: see covered */
  double covered_ratio;        /* coverage the interval really has (binomial), <= 1 */
} nbc_summary;

/* Sorts values in place and summarises. confidence_ratio 0 = 0.95. Quantiles interpolate linearly
   between order statistics; the interval uses order statistics l, n+1-l with binomial coverage.
   ret NBC_OK | NBC_E_INVAL (count 0, NaN) */
NBC_API nbc_status nbc_summarize(double *values, size_t count, double confidence_ratio, nbc_summary *out);
/* Quantile q (0..1) of ascending values. count >= 1. */
NBC_API double nbc_quantile(const double *sorted, size_t count, double q);

/* One measurement t1 Icollective t2 Compute t3 Wait t4 and its references [R §4.1]. All in ns. */
typedef struct nbc_overlap_times {
  double call_ns, comp_ns, wait_ns; /* t2-t1, t3-t2, t4-t3 */
  double measured_ns;               /* t4-t1; 0 = sum of the three */
  double comp_ref_ns;               /* computation alone */
  double comm_ref_ns;               /* nonblocking call + wait at once */
  double comp_passive_mpi_ns;       /* computation beside an idle runtime; 0 = not measured */
  double ref_err_ratio;             /* relative uncertainty of the references; 0 = 0.05 */
} nbc_overlap_times;

/* The four ratios of [R §4.1]; NaN where an input is missing. */
typedef struct nbc_metrics {
  double overhead_ratio;   /* (measured - max(comp_ref, comm_ref)) / min(comp_ref, comm_ref) */
  double mpi_impact_ratio; /* comp_passive_mpi / comp_ref */
  double slowdown_ratio;   /* comp / comp_ref */
  double comm_ratio;       /* (call + wait) / comm_ref */
} nbc_metrics;

#define NBC_DIAGNOSIS_LIST(X)                                                                      \
  X(FINE, "fine: the communication is hidden and the computation undisturbed")                     \
  X(NO_PROGRESSION, "no progression: nothing moves while the application computes")                \
  X(CORE_STOLEN, "core stolen: the transfer is hidden but slows the computation down")             \
  X(CONTENTION, "contention: both slow down and little is hidden")                                 \
  X(TOO_LITTLE_COMPUTATION, "not enough computation to hide this communication")                   \
  X(REFERENCE_IMPRECISE, "reference imprecise: measured faster than the references allow")         \
  X(PARTIAL, "partial: some of the communication is hidden")

typedef enum nbc_diagnosis {
#define NBC__X(name, text) NBC_DIAGNOSIS_##name,
  NBC_DIAGNOSIS_LIST(NBC__X)
#undef NBC__X
      NBC_DIAGNOSIS_COUNT
} nbc_diagnosis;

/* ret NBC_OK | NBC_E_INVAL (a reference is not positive, a time is negative or NaN) */
NBC_API nbc_status nbc_metrics_compute(const nbc_overlap_times *times, nbc_metrics *out);
/* The diagnosis [R §4.1.4] and, in text (may be NULL), one sentence with the numbers that led to it. */
NBC_API nbc_diagnosis nbc_diagnose(const nbc_overlap_times *times, const nbc_metrics *metrics,
                                   char *text, size_t text_bytes);
NBC_API const char *nbc_diagnosis_text(nbc_diagnosis diagnosis);

/* ============================================================================================== */
/* [TABLE] 5. Transfer-time tables: how long a message of n bytes takes                           */
/* ============================================================================================== */
/* File format: one "bytes seconds" per line, sizes ascending, '#' starts a comment. Between two
   sizes the time is interpolated linearly; below the first size it is the first time; above the
   last it grows with the slope of the last two points (with one point: in proportion). */
#define NBC_TABLE_MAX_POINTS 1024

typedef struct nbc_table nbc_table; /* immutable after creation: any number of threads may read */

/* From arrays (copied). ret NBC_OK | NBC_E_INVAL (count 0 or too many, sizes not ascending, time not
   finite, negative or above one hour: err names the point) | NBC_E_NOMEM */
NBC_API nbc_status nbc_table_create(const uint64_t *size_bytes, const double *time_s, size_t count,
                                    const char *name, nbc_table **table, nbc_error *err);
/* From text in memory; name stands for the file in errors. ret as above | NBC_E_PARSE with err->line */
NBC_API nbc_status nbc_table_parse(const char *text, size_t text_bytes, const char *name,
                                   nbc_table **table, nbc_error *err);
/* From a file (at most 1 MiB). ret as above | NBC_E_IO */
NBC_API nbc_status nbc_table_read(const char *path, nbc_table **table, nbc_error *err);
/* Writes the file format above, comment (may be NULL) first. ret NBC_OK | NBC_E_IO */
NBC_API nbc_status nbc_table_write(const nbc_table *table, const char *path, const char *comment,
                                   nbc_error *err);
/* A model instead of a measurement: latency_ns + bytes / bytes_per_s, named as such in reports. */
NBC_API nbc_status nbc_table_create_linear(double latency_ns, double bytes_per_s, const char *name,
                                           nbc_table **table);
/* Transfer time of n bytes. Any thread; O(1): one lookup by the highest bit, then a bounded search. */
NBC_API int64_t nbc_table_time_ns(const nbc_table *table, uint64_t size_bytes);
NBC_API const char *nbc_table_name(const nbc_table *table);
NBC_API size_t nbc_table_points(const nbc_table *table, const uint64_t **size_bytes, const double **time_s);
NBC_API void nbc_table_free(nbc_table *table); /* NULL allowed */

/* ============================================================================================== */
/* [MONITOR] 6. The four events and the overlap bounds                                            */
/* ============================================================================================== */
/* [O §2]: the application enters and leaves the communication library (CALL_ENTER, CALL_EXIT); the
   library sees, approximately, transfers begin and end (XFER_BEGIN, XFER_END). From these alone:

     computation C   every CALL_EXIT to the next CALL_ENTER
     call time   N   every CALL_ENTER to CALL_EXIT (outermost, when nested)
     data transfer time x: from a table measured beforehand, for the size of each transfer, clamped
       to the window between its two stamps (and then counted: the table is too slow)
     bounds of the part of x that was overlapped with computation, per transfer [O §2.2]:
       case 1  both stamps in one call        min 0                    max 0
       case 2  stamps in different calls      min max(0, x - noncomp)  max min(comp, x)
       case 3  only one stamp                 min 0                    max x
     where comp and noncomp are the C and N that passed between the stamps.

   Several threads. Each thread has its own recorder, its own C and N. A transfer belongs to the
   thread that began it (its owner), also when another thread (a progress worker, another
   waiter) stamps its begin or end: then comp is the owner's C between the two stamps. Per process,
   C, N, x and the bounds are sums over threads (thread-seconds), so min <= true <= max holds for the
   sums because it holds for each transfer. Computation of threads without a recorder is not seen.

   Memory: about 100 B x (max_transfers + ring_events) + 600 B x max_cells + 3 KB x max_sections per
   recorder, allocated at attach. No allocation, lock or system call per event (a full ring is
   drained under a private spin lock that only a foreign stamp or a report can hold). */

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
  X(SETUP, "setup", OTHER)

typedef enum nbc_kind {
#define NBC__X(name, text, category) NBC_KIND_##name,
  NBC_KIND_LIST(NBC__X)
#undef NBC__X
      NBC_KIND_COUNT
} nbc_kind;

/* What a call does for the dedicated-core model [R §6]: its columns nb, test, wait, blocking, other. */
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
  NBC_PEER_COUNT
} nbc_peer;

NBC_API const char *nbc_kind_name(nbc_kind kind); /* "isend"; "?" when out of range */
NBC_API nbc_category nbc_kind_category(nbc_kind kind);
NBC_API const char *nbc_category_name(nbc_category category);
NBC_API const char *nbc_peer_name(nbc_peer peer); /* "unknown", "same_node", "other_node" */

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
  X(sections_overflow, "section begins counted under the enclosing one: max_sections, or too deep") \
  X(foreign_lost, "stamps from other threads lost because the inbox was full (case 3)")            \
  X(cancelled, "transfers withdrawn before they ended (not counted)")

typedef enum nbc_problem {
#define NBC__X(name, text) NBC_PROBLEM_##name,
  NBC_PROBLEM_LIST(NBC__X)
#undef NBC__X
      NBC_PROBLEM_COUNT
} nbc_problem;
NBC_API const char *nbc_problem_name(nbc_problem problem);
NBC_API const char *nbc_problem_text(nbc_problem problem);

#define NBC_MAX_CLASSES 32 /* message-size classes */
#define NBC_MAX_DEPTH   16 /* open sections of one thread */

typedef struct nbc_monitor nbc_monitor;   /* one per process */
typedef struct nbc_recorder nbc_recorder; /* one per thread */

typedef struct nbc_monitor_desc {
  const nbc_clock *clock;            /* copied; NULL = nbc_clock_create with defaults */
  const nbc_table *table_same_node;  /* borrowed until destroy; NULL = 500 ns + n / (5 GB/s) */
  const nbc_table *table_other_node; /* borrowed until destroy; NULL = 2 us + n / (10 GB/s) */
  const uint64_t *class_edges_bytes; /* ascending upper limits (inclusive) of the size classes; the */
  size_t class_edge_count;           /* last class is open. 0 = 256, 4 Ki, 64 Ki, 1 Mi, 16 Mi */
  size_t ring_events;                /* 0 = 4096; rounded up to a power of two */
  size_t max_transfers;              /* active at once, per thread; 0 = 16384; rounded up likewise */
  size_t max_cells;                  /* (section, kind, class, peer) combinations; 0 = 1024 */
  size_t max_sections;               /* per thread; 0 = 64 */
  bool start_off;                    /* recorders start switched off */
} nbc_monitor_desc;

/* ret NBC_OK | NBC_E_INVAL (edges not ascending, too many) | NBC_E_CLOCK | NBC_E_NOMEM */
NBC_API nbc_status nbc_monitor_create(const nbc_monitor_desc *desc, nbc_monitor **monitor);
/* All recorders must be idle. NULL allowed. */
NBC_API void nbc_monitor_destroy(nbc_monitor *monitor);
NBC_API const nbc_clock *nbc_monitor_clock(const nbc_monitor *monitor);
NBC_API nbc_monitor_desc nbc_monitor_desc_of(const nbc_monitor *monitor); /* values in force */

/* A recorder for the calling thread. Its computation starts now. Any thread, takes a lock.
   ret NBC_OK | NBC_E_NOMEM */
NBC_API nbc_status nbc_recorder_attach(nbc_monitor *monitor, nbc_recorder **recorder);
NBC_API nbc_status nbc_recorder_attach_at(nbc_monitor *monitor, int64_t t_ns, nbc_recorder **recorder);
/* The thread ends: its time stops, its numbers stay for the report. The pointer is dead afterwards. */
NBC_API void nbc_recorder_detach(nbc_recorder *recorder);
NBC_API void nbc_recorder_detach_at(nbc_recorder *recorder, int64_t t_ns);

/* The four events [O §2.1]. Only the recorder's own thread; O(1), no error: what does not fit is
   counted (nbc_problem). The _at twins take the time instead of reading the clock; times of calls
   should not decrease. Nested calls count once, as the outermost. */
NBC_API void nbc_call_enter(nbc_recorder *recorder, nbc_kind kind);
NBC_API void nbc_call_enter_at(nbc_recorder *recorder, nbc_kind kind, int64_t t_ns);
NBC_API void nbc_call_exit(nbc_recorder *recorder);
NBC_API void nbc_call_exit_at(nbc_recorder *recorder, int64_t t_ns);
/* id: any number, unique among this recorder's active transfers. */
NBC_API void nbc_xfer_begin(nbc_recorder *recorder, uint64_t id, uint64_t size_bytes, nbc_kind kind,
                            nbc_peer peer);
NBC_API void nbc_xfer_begin_at(nbc_recorder *recorder, uint64_t id, uint64_t size_bytes, nbc_kind kind,
                               nbc_peer peer, int64_t t_ns);
NBC_API void nbc_xfer_end(nbc_recorder *recorder, uint64_t id);
NBC_API void nbc_xfer_end_at(nbc_recorder *recorder, uint64_t id, int64_t t_ns);
/* As nbc_xfer_end, but the true size became known only now (a receive shorter than its buffer). */
NBC_API void nbc_xfer_end_sized(nbc_recorder *recorder, uint64_t id, uint64_t size_bytes, nbc_peer peer);
NBC_API void nbc_xfer_end_sized_at(nbc_recorder *recorder, uint64_t id, uint64_t size_bytes,
                                   nbc_peer peer, int64_t t_ns);
/* A transfer of which only the end is seen (an eager arrival): case 3. */
NBC_API void nbc_xfer_end_only(nbc_recorder *recorder, uint64_t size_bytes, nbc_kind kind, nbc_peer peer);
NBC_API void nbc_xfer_end_only_at(nbc_recorder *recorder, uint64_t size_bytes, nbc_kind kind,
                                  nbc_peer peer, int64_t t_ns);
/* The transfer will not happen (cancelled receive): forgotten, counted as `cancelled`. */
NBC_API void nbc_xfer_cancel(nbc_recorder *recorder, uint64_t id);

/* Stamps that another thread sets for a transfer of `owner`. Any thread, lock-free unless the
   owner's inbox is full (then that thread drains it, or the stamp is counted as lost). */
NBC_API void nbc_foreign_begin(nbc_recorder *owner, uint64_t id, uint64_t size_bytes, nbc_kind kind,
                               nbc_peer peer);
NBC_API void nbc_foreign_begin_at(nbc_recorder *owner, uint64_t id, uint64_t size_bytes, nbc_kind kind,
                                  nbc_peer peer, int64_t t_ns);
NBC_API void nbc_foreign_end(nbc_recorder *owner, uint64_t id);
NBC_API void nbc_foreign_end_at(nbc_recorder *owner, uint64_t id, int64_t t_ns);
NBC_API void nbc_foreign_end_sized(nbc_recorder *owner, uint64_t id, uint64_t size_bytes, nbc_peer peer);

/* Named sections of the program: nested, per thread. What begins inside counts for the innermost
   open section only; a report shows the path ("solve/halo"). The name is copied (63 characters kept).
   end closes the innermost; name may be NULL, or must match, else section_unbalanced is counted. */
NBC_API void nbc_section_begin(nbc_recorder *recorder, const char *name);
NBC_API void nbc_section_begin_at(nbc_recorder *recorder, const char *name, int64_t t_ns);
NBC_API void nbc_section_end(nbc_recorder *recorder, const char *name);
NBC_API void nbc_section_end_at(nbc_recorder *recorder, const char *name, int64_t t_ns);
/* Measuring off and on, for this thread. While off, time counts as neither computation nor call and
   new transfers are not counted; transfers begun before still end. */
NBC_API void nbc_recorder_switch(nbc_recorder *recorder, bool on);
NBC_API void nbc_recorder_switch_at(nbc_recorder *recorder, bool on, int64_t t_ns);

/* Computation of this recorder up to t_ns (not earlier than its last call event): C(t). Any thread. */
NBC_API int64_t nbc_recorder_comp_ns(const nbc_recorder *recorder, int64_t t_ns);

/* ============================================================================================== */
/* [REPORT] 7. Reports: in memory, as text, as JSON, read back, merged, compared                  */
/* ============================================================================================== */
/* A report is plain data: fill, read or change it freely. All memory hangs on the report. */
#define NBC_HIST_BINS 44 /* bin b counts values in [2^(b-1), 2^b) ns; bin 0 counts zeros */

typedef struct nbc_totals {
  uint64_t count, size_bytes;
  int64_t xfer_ns, min_overlap_ns, max_overlap_ns;
  uint64_t case_count[3];     /* [O §2.2] cases 1, 2, 3 */
  uint64_t exact_count;       /* transfers with NIC stamps; of these: */
  int64_t exact_xfer_ns;      /* transfer time by the stamps */
  int64_t exact_lo_ns, exact_hi_ns; /* interval of the exact overlap */
} nbc_totals;

typedef struct nbc_cell { /* transfers of one (section, kind, class, peer) */
  int section_index;
  nbc_kind kind;
  int class_index;
  nbc_peer peer;
  nbc_totals t;
  int64_t available_ns;                   /* computation between the stamps, summed (case 2) */
  uint64_t available_count[NBC_HIST_BINS]; /* and its distribution: what could have hidden it */
} nbc_cell;

typedef struct nbc_call { /* calls of one (section, kind) */
  int section_index;
  nbc_kind kind;
  uint64_t count;
  int64_t total_ns, min_ns, max_ns;
} nbc_call;

typedef struct nbc_section {
  char *path; /* "outer/inner"; section 0 is the whole program outside named sections, "" */
  int parent_index; /* -1 for section 0 */
  uint64_t count;
  int64_t comp_ns, call_ns; /* while this section was the innermost */
} nbc_section;

typedef struct nbc_thread { int64_t comp_ns, call_ns, off_ns, wall_ns; } nbc_thread; /* comp+call+off = wall */

typedef struct nbc_counter { char *name; int section_index; double value; } nbc_counter; /* NIC, MPI, … */

typedef struct nbc_report {
  char *program, *host, *library; /* may be NULL */
  int rank, size, pid;            /* rank -1: merged or unknown */
  int process_count;              /* 1, or how many were merged */
  double start_unix_s;
  int64_t wall_ns, comp_ns, call_ns, off_ns; /* sums over threads */
  nbc_clock_source clock_source;
  double clock_hz, clock_rate_err_ppm, clock_resolution_ns, clock_read_cost_ns;
  char *table_same_node, *table_other_node; /* names */
  bool table_is_default;                    /* not measured on this machine */
  uint64_t class_edges_bytes[NBC_MAX_CLASSES];
  size_t class_edge_count;
  nbc_totals total;
  nbc_section *sections; size_t section_count;
  nbc_cell *cells; size_t cell_count;
  nbc_call *calls; size_t call_count;
  nbc_thread *threads; size_t thread_count;
  nbc_counter *counters; size_t counter_count;
  char **notes; size_t note_count; /* one line each: wrong settings, things left out */
  uint64_t problems[NBC_PROBLEM_COUNT];
} nbc_report;

/* Drains all recorders and adds them up. May be called at any time, also while other threads record:
   what they record meanwhile is in or out. Active transfers count as case 3 in this report only.
   ret NBC_OK | NBC_E_NOMEM */
NBC_API nbc_status nbc_monitor_report(nbc_monitor *monitor, nbc_report **report);
NBC_API nbc_status nbc_monitor_report_at(nbc_monitor *monitor, int64_t t_ns, nbc_report **report);
NBC_API void nbc_report_free(nbc_report *report); /* NULL allowed */
/* Empty report (one section ""), to fill by hand. */
NBC_API nbc_status nbc_report_create(nbc_report **report);
/* Sets a text field (&report->host), adds a note or a counter; copies. ret NBC_OK | NBC_E_NOMEM */
NBC_API nbc_status nbc_report_set(char **field, const char *text);
NBC_API nbc_status nbc_report_note(nbc_report *report, const char *text);
NBC_API nbc_status nbc_report_counter(nbc_report *report, int section_index, const char *name, double value);
/* Adds one process's report to a sum (sections by path, cells by key; different class edges are an
   error). ret NBC_OK | NBC_E_MISMATCH | NBC_E_NOMEM */
NBC_API nbc_status nbc_report_add(nbc_report *sum, const nbc_report *one, nbc_error *err);

/* For people: what was hidden, what was not, where, worst first. ret NBC_OK | NBC_E_IO */
NBC_API nbc_status nbc_report_write_text(const nbc_report *report, FILE *out);
/* For programs: one JSON object, "schema": "nbc-overlap-report/1"; every number of nbc_report under
   the same name. Field order is fixed. Readers accept unknown keys. ret NBC_OK | NBC_E_IO */
NBC_API nbc_status nbc_report_write_json(const nbc_report *report, FILE *out);
/* Reads what nbc_report_write_json wrote; the input is untrusted. err names file, line and field.
   ret NBC_OK | NBC_E_IO | NBC_E_PARSE | NBC_E_NOMEM */
NBC_API nbc_status nbc_report_read_json(const char *path, nbc_report **report, nbc_error *err);
NBC_API nbc_status nbc_report_parse_json(const char *text, size_t text_bytes, const char *name,
                                         nbc_report **report, nbc_error *err);
/* Before and after a code change: which section, which size class moved, biggest change first.
   ret NBC_OK | NBC_E_IO | NBC_E_MISMATCH (class edges differ) */
NBC_API nbc_status nbc_report_write_diff(const nbc_report *before, const nbc_report *after, FILE *out);

/* ============================================================================================== */
/* [TRANSPORT] 8. The contract that carries messages; null and scripted transports                */
/* ============================================================================================== */
/* A transport moves messages between ranks. Clock synchronisation, measurement, collectives and
   tests need nothing else. Rules for who implements one:
   - isend and irecv only post; `done` is called from `progress` only, never from inside isend or
     irecv, and it may post new operations. Messages match by (peer, 64-bit tag), in posting order.
   - The nbc_op belongs to the caller, who keeps it and the buffer untouched until `done`; `slot` is
     the transport's to use meanwhile, so that posting need not allocate.
   - A receive shorter than the message completes with NBC_E_TRUNCATED, bytes filled. */
#define NBC_ANY_PEER (-1) /* irecv only, where the transport offers it (any_peer) */

typedef struct nbc_op nbc_op;
typedef void (*nbc_done_fn)(nbc_op *op);
struct nbc_op {
  nbc_done_fn done; /* may be NULL: then poll `finished` */
  void *user;
  /* results, valid when finished */
  bool finished;
  nbc_status status;
  int peer;
  uint64_t size_bytes;
  /* transport's own */
  void *slot[6];
  uint64_t slot_u64[4];
};

typedef struct nbc_transport nbc_transport;
struct nbc_transport {
  const char *name;  /* "threads" */
  const char *help;  /* one line */
  void *ctx;         /* first argument of every function */
  int rank, size;
  bool any_thread;   /* isend, irecv, progress may be called from several threads at once */
  bool any_peer;     /* NBC_ANY_PEER works */
  int64_t (*now_ns)(void *ctx);
  nbc_status (*isend)(void *ctx, const void *buffer, uint64_t size_bytes, int peer, uint64_t tag, nbc_op *op);
  nbc_status (*irecv)(void *ctx, void *buffer, uint64_t size_bytes, int peer, uint64_t tag, nbc_op *op);
  nbc_status (*progress)(void *ctx); /* NBC_OK, or the error that makes the transport unusable */
  nbc_status (*cancel)(void *ctx, nbc_op *op); /* receive not matched yet: finishes NBC_E_CANCELLED; may be NULL */
  nbc_peer (*peer_class)(void *ctx, int peer); /* NULL = unknown */
  bool (*same_clock)(void *ctx, int peer);     /* the peer's now_ns is ours; NULL = no */
  nbc_recorder *recorder; /* set by the user: calls below and the transport's transfers are recorded */
};

/* Posting and waiting with the call events recorded when t->recorder is set. One thread at a time
   unless any_thread. limit_ns: give up with NBC_E_TIMEOUT after that long (operation stays posted);
   0 = wait for ever. Errors: the transport's own; NBC_E_PEER, NBC_E_INVAL. */
NBC_API nbc_status nbc_isend(const nbc_transport *t, const void *buffer, uint64_t size_bytes, int peer,
                             uint64_t tag, nbc_op *op);
NBC_API nbc_status nbc_irecv(const nbc_transport *t, void *buffer, uint64_t size_bytes, int peer,
                             uint64_t tag, nbc_op *op);
NBC_API nbc_status nbc_test(const nbc_transport *t, nbc_op *op); /* NBC_PENDING or the operation's status */
NBC_API nbc_status nbc_wait(const nbc_transport *t, nbc_op *op, int64_t limit_ns);
NBC_API nbc_status nbc_send(const nbc_transport *t, const void *buffer, uint64_t size_bytes, int peer, uint64_t tag);
NBC_API nbc_status nbc_recv(const nbc_transport *t, void *buffer, uint64_t size_bytes, int peer, uint64_t tag);

/* Measures the transfer time of a message by size [O §2.4: the a-priori table]: one-way time =
   half the median round trip, between this rank and peer, which must call it with each other's rank.
   in   desc   zeroed = 1 B ... 4 MiB, powers of two, until 1 % confidence or 50 ms per size
   out  table  on both ranks (the lower rank measures and sends it)
   ret  NBC_OK | transport errors | NBC_E_INVAL */
typedef struct nbc_table_measure_desc {
  uint64_t min_bytes, max_bytes; /* 0 = 1, 4 MiB */
  int64_t time_per_size_ns;      /* 0 = 50 ms */
  int64_t limit_ns;              /* a peer that never answers: 0 = 30 s */
} nbc_table_measure_desc;
NBC_API nbc_status nbc_table_measure(const nbc_transport *t, int peer, const nbc_table_measure_desc *desc,
                                     nbc_table **table, nbc_error *err);

/* null: completes every operation at the next progress, moves nothing: what the layers above cost.
   scripted: wraps another transport and disturbs it as told: tests of error paths. */
NBC_API nbc_status nbc_null_create(int rank, int size, nbc_transport **t);
typedef enum nbc_script_action {
  NBC_SCRIPT_DELAY = 0, /* the completion is held back for value progress calls */
  NBC_SCRIPT_FAIL_POST, /* the post returns status */
  NBC_SCRIPT_FAIL_DONE, /* the operation completes with status */
  NBC_SCRIPT_REORDER,   /* the completion is held back until the next one was delivered */
  NBC_SCRIPT_DROP       /* never completes */
} nbc_script_action;
typedef struct nbc_script_step {
  uint64_t post_index; /* which isend/irecv, counted from 0 in posting order */
  nbc_script_action action;
  uint64_t value;
  nbc_status status;
} nbc_script_step;
NBC_API nbc_status nbc_scripted_create(const nbc_transport *inner, const nbc_script_step *steps,
                                       size_t step_count, nbc_transport **t);
/* For transports made by nbc_null_create and nbc_scripted_create. NULL allowed. */
NBC_API void nbc_transport_destroy(nbc_transport *t);

/* ============================================================================================== */
/* [THREADS] 9. Ranks as threads: the transport that needs nothing                                */
/* ============================================================================================== */
/* Every rank is a thread of this process (or several ranks one thread, in tests). Progress happens
   only inside calls, unless a DMA thread stands in for the NIC. Protocols, as in [O §3]:
     EAGER        the sender's data goes to a buffer of the receiver at once; copied out at matching
     PIPELINED    rendezvous: first fragment with the request, the others one window at a time, each
                  posted by the sender when its progress runs (so they wait for a call)
     DIRECT_READ  rendezvous: the receiver's progress posts one read of the sender's buffer, then
                  tells the sender (FIN)
   Without a DMA thread the copies are done by whoever posts them, inside progress. With it, they are
   done at link speed while both ranks compute; only control messages wait for calls. */
typedef enum nbc_protocol {
  NBC_PROTOCOL_AUTO = 0, /* EAGER up to eager_limit_bytes, then `large` */
  NBC_PROTOCOL_EAGER,
  NBC_PROTOCOL_PIPELINED,
  NBC_PROTOCOL_DIRECT_READ
} nbc_protocol;

typedef struct nbc_threads nbc_threads;
typedef struct nbc_threads_desc {
  int size;                    /* ranks; 0 = 2 */
  nbc_protocol protocol;       /* for all messages, or AUTO */
  nbc_protocol large;          /* AUTO: above the limit; 0 = DIRECT_READ */
  uint64_t eager_limit_bytes;  /* 0 = 8 KiB */
  uint64_t fragment_bytes;     /* 0 = 64 KiB */
  int pipeline_depth;          /* fragments in flight; 0 = 2 */
  bool dma;                    /* a DMA thread moves the data */
  double link_bytes_per_s;     /* with dma: pace of the link; 0 = as fast as it copies */
  int64_t link_latency_ns;     /* with dma: what you write is what you get */
  const nbc_clock *clock;      /* copied; NULL = nbc_clock_create with defaults */
} nbc_threads_desc;

/* What the DMA thread saw of one transfer: the truth that the bounds must contain. */
typedef struct nbc_true_stamp {
  int src, dst;
  uint64_t sequence;   /* of the fragment, per world */
  uint64_t size_bytes;
  int64_t t_begin_ns, t_end_ns;
  uint64_t send_xfer_id, recv_xfer_id; /* ids under which the two ranks' recorders know it; 0 = not */
} nbc_true_stamp;

/* ret NBC_OK | NBC_E_INVAL | NBC_E_NOMEM | NBC_E_THREAD */
NBC_API nbc_status nbc_threads_create(const nbc_threads_desc *desc, nbc_threads **world);
NBC_API void nbc_threads_destroy(nbc_threads *world); /* NULL allowed; all ranks finished */
/* The transport of one rank; one thread at a time may use it. Set ->recorder to record. */
NBC_API nbc_transport *nbc_threads_rank(nbc_threads *world, int rank);
/* Runs fn as every rank, each on its own thread, and joins. ret the first error any rank returned. */
typedef nbc_status (*nbc_rank_fn)(nbc_transport *t, void *user);
NBC_API nbc_status nbc_threads_run(nbc_threads *world, nbc_rank_fn fn, void *user);
/* Takes the oldest true stamps (with dma only); at most max; keeps the last 65536. Any thread. */
NBC_API size_t nbc_threads_stamps(nbc_threads *world, nbc_true_stamp *stamps, size_t max);

#ifdef __cplusplus
}
#endif
#endif /* NBC_OVERLAP_H_INCLUDED */

/* ============================================================================================== */
/*                                        IMPLEMENTATION                                          */
/* ============================================================================================== */
#if defined(NBC_OVERLAP_IMPLEMENTATION) && !defined(NBC_OVERLAP_IMPLEMENTATION_ONCE)
#define NBC_OVERLAP_IMPLEMENTATION_ONCE

/* ============================================================================================== */
/* [CONFIG] 1. Options                                                                            */
/* ============================================================================================== */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if !defined(CLOCK_MONOTONIC_RAW) || !defined(CPU_SETSIZE)
#  error "nbc_overlap.h: compile the implementing file with -D_GNU_SOURCE or -std=gnu11 -D_GNU_SOURCE"
#endif
#if defined(NBC_MALLOC) != defined(NBC_FREE)
#  error "nbc_overlap.h: define both NBC_MALLOC and NBC_FREE, or none"
#endif
#ifndef NBC_MALLOC
#  define NBC_MALLOC(size_bytes) malloc(size_bytes)
#  define NBC_FREE(pointer)      free(pointer)
#endif
#ifndef NBC_ASSERT
#  define NBC_ASSERT(condition) ((void)0)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ============================================================================================== */
/* [STATUS] 2. Status codes, errors with text                                                     */
/* ============================================================================================== */

/* ============================================================================================== */
/* [CLOCK] 3. Clocks                                                                              */
/* ============================================================================================== */

/* ============================================================================================== */
/* [STATS] 4. Statistics, ratios, diagnosis                                                       */
/* ============================================================================================== */

/* ============================================================================================== */
/* [TABLE] 5. Transfer-time tables                                                                */
/* ============================================================================================== */

/* ============================================================================================== */
/* [MONITOR] 6. The four events and the overlap bounds                                            */
/* ============================================================================================== */

/* ============================================================================================== */
/* [REPORT] 7. Reports                                                                            */
/* ============================================================================================== */

/* ============================================================================================== */
/* [TRANSPORT] 8. The contract that carries messages; null and scripted transports                */
/* ============================================================================================== */

/* ============================================================================================== */
/* [THREADS] 9. Ranks as threads                                                                  */
/* ============================================================================================== */

#ifdef __cplusplus
}
#endif
#endif /* NBC_OVERLAP_IMPLEMENTATION */

/* ----------------------------------------------------------------------------------------------
   LICENCE: either public domain (unlicense.org: copy, modify, publish, use, compile, sell or
   distribute, for any purpose, by any means) or MIT No Attribution (MIT-0), whichever you choose;
   full text in LICENSE. The software is provided "as is", without warranty of any kind.
   ---------------------------------------------------------------------------------------------- */
