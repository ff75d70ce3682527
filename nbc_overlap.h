/* nbc_overlap.h 0.2.0: see, prove, predict and get the overlap of computation and communication.
   Public domain or MIT-0, at your choice (end of file).

   In ONE C or C++ file of the program, and nowhere else, write
       #define NBC_OVERLAP_IMPLEMENTATION
       #include "nbc_overlap.h"
   and everywhere else just include it. Compile that one file with -D_GNU_SOURCE,
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
     [CONFIG]      1. Options: macros to define before including
     [STATUS]      2. Status codes, errors with text; versions
     [CLOCK]       3. Clocks: what a nanosecond means here
     [STATS]       4. Medians, quantiles, confidence intervals; the four ratios and the diagnosis
     [TABLE]       5. Transfer-time tables: how long a message of n bytes takes
     [CELLS]       6. What is counted: kinds of operations, problems, totals, cells
     [MONITOR]     7. The four events and the overlap bounds
     [REPORT]      8. Reports: in memory, as text, as JSON, read back, merged, compared
     [RELATION]    9. Two clocks: how one relates to the other, with a guaranteed error
     [NIC]        10. NICs as witnesses: stamps from the wire, in host time, into the monitor
     [TRANSPORT]  11. The contract that carries messages; null and scripted transports
     [THREADS]    12. Ranks as threads: the transport that needs nothing
     [MPI]        13. The transport over MPI (with NBC_WITH_MPI)
     [SHMEM]      14. The transport over OpenSHMEM (with NBC_WITH_SHMEM)
     [SCHEDULE]   15. Collectives as data: schedules, builder, verifier, printer, pricer
     [REDUCE]     16. Types and operators
     [PROGRESS]   17. Who drives collectives while the program computes: a worker, or nobody
     [COLL]       18. Collectives on any transport: communicators, requests
     [SYNC]       19. Many clocks: a common time for all ranks of a transport
     [MEASURE]    20. Measuring: common starts, repeats until sure, changes on the way
     [MODEL]      21. Models of what was measured: ranges of sizes, noise, LogGP
     [DEDICATED]  22. The dedicated-core model: would a core of its own for communication pay?

   SOURCES named in comments:
     [O] Characterization of Computation-Communication Overlap in Message-Passing Systems (the
         overlap bounds); [R] Reynier, progression of MPI communications by dedicated resources,
         2022 (metrics, event-driven collectives, the dedicated-core model).

   CONVENTIONS
     Time is int64_t nanoseconds of *host time* (scale of CLOCK_MONOTONIC_RAW); raw counter readings
     are uint64_t ticks. Names end with their unit. Every function returns an nbc_status unless said;
     NBC_OK is 0, errors are negative. The library never exits and prints only what you ask for.
     A zeroed desc means defaults; sizes, counts and limits of 0 mean "default", named at the field.
     NULL where a pointer is wanted: a function that returns a status returns NBC_E_INVAL; the others
     do nothing and return 0, false, NULL or "?". Where NULL means something, it is said there.
     In C++ write `nbc_monitor_desc desc = {};` where the examples say `= {0}`.
     Threads: a function may be called from any thread on different objects; what is allowed on one
     object is said at the function. */

#ifndef NBC_OVERLAP_H_INCLUDED
#define NBC_OVERLAP_H_INCLUDED
#ifdef NBC_LINES
#line 1 "src/base/private.h"
#endif
/* What is shared between pieces and by nobody else. base/ stands in both single headers: the first
   one implemented in a file brings it, so its parts carry guards that both know. */

#ifdef NBC_LINES
#line 1 "src/base/config.h"
#endif
/* The options of the library and what it needs of C and of the system. */


#define NBC_VERSION_STRING "0.2.0"
#define NBC_VERSION        200 /* major * 10000 + minor * 100 + patch */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#ifdef NBC_WITH_MPI
#  include <mpi.h>
#endif
#ifdef NBC_WITH_SHMEM
#  include <shmem.h>
#endif

/* ============================================================================================== */
/* [CONFIG] 1. Options: macros to define before including                                         */
/* ============================================================================================== */
/*  macro                        default   where                 meaning
    NBC_OVERLAP_IMPLEMENTATION   -         one file              compile the implementation here
    NBC_STATIC                   -         every including file  all functions static (private copy)
    NBC_API                      extern    every including file  linkage of your own
    NBC_MALLOC, NBC_FREE         libc      implementing file     both or none
    NBC_ZALLOC                   calloc    implementing file     zeroed memory beside NBC_MALLOC
    NBC_WITH_MPI                 -         every including file  transport over MPI; needs <mpi.h>
    NBC_WITH_SHMEM               -         every including file  over OpenSHMEM; needs <shmem.h>
    NBC_ASSERT                   nothing   implementing file     checks of the library's invariants
    Parts to leave out, alike in every including file:
    NBC_NO_READ                  -         reading reports back, comparing them
    NBC_NO_NIC                   -         [NIC]; without times over several clocks also [RELATION]
    NBC_NO_COLL                  -         [SCHEDULE] to [COLL]: collectives
    NBC_NO_TIME                  -         [SYNC] to [DEDICATED]: common time, measuring, models
    NBC_NO_TRANSPORT             -         [TRANSPORT] to [SHMEM], and so the two above
    NBC_ONLY_OVERLAP             -         no transport: what an instrumented library needs
    NBC_ONLY_MONITOR             -         that, without NIC and reading: the smallest part
*/
#if defined(NBC_ONLY_MONITOR) && !defined(NBC_ONLY_OVERLAP)
#  define NBC_ONLY_OVERLAP
#endif
#if defined(NBC_ONLY_MONITOR) && !defined(NBC_NO_NIC)
#  define NBC_NO_NIC
#endif
#if defined(NBC_ONLY_MONITOR) && !defined(NBC_NO_READ)
#  define NBC_NO_READ
#endif
#if defined(NBC_ONLY_OVERLAP) && !defined(NBC_NO_TRANSPORT)
#  define NBC_NO_TRANSPORT
#endif
#if defined(NBC_NO_TRANSPORT) && !defined(NBC_NO_COLL)
#  define NBC_NO_COLL
#endif
#if defined(NBC_NO_TRANSPORT) && !defined(NBC_NO_TIME)
#  define NBC_NO_TIME
#endif
#ifndef NBC_API
#  if !defined(NBC_STATIC)
#    define NBC_API extern
#  elif defined(__GNUC__)
#    define NBC_API __attribute__((unused)) static
#  else
#    define NBC_API static
#  endif
#endif

#ifdef NBC_LINES
#line 1 "src/nbc_overlap.open"
#endif
#ifdef __cplusplus
extern "C" {
#endif
#ifdef NBC_LINES
#line 1 "src/base/sums.h"
#endif
/* Sums that stop at the largest value, powers of two, random numbers. */

#ifdef NBC_LINES
#line 1 "src/base/text.h"
#endif
/* Numbers and words in text, whatever the locale says. */

#ifdef NBC_LINES
#line 1 "src/base/locale.h"
#endif
/* Numbers with a point, also in a program that has set a locale with a comma. */

#ifdef NBC_LINES
#line 1 "src/base/status.h"
#endif
/* Status codes, errors with text. */



/* ============================================================================================== */
/* [STATUS] 2. Status codes, errors with text; versions                                           */
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

/* NBC_VERSION of the implementation that is linked, which may be another than the one this file was
   compiled with: compare them where that matters. Any thread. */
NBC_API int nbc_version(void);
/* The files that this implementation writes and reads, and the version of each: keys and lines may be
   added within one version, none changes its meaning. */
#define NBC_FORMAT_LIST(X)                                                                         \
  X(REPORT, "nbc-overlap-report/1") /* "schema" in the JSON of reports */                          \
  X(TABLE, "nbc-table/1")           /* transfer-time tables */                                     \
  X(CHOICE, "nbc-choice/1")         /* choice tables of collectives */                             \
  X(DEDICATED, "nbc-dedicated/1")   /* input of the dedicated-core model */

typedef enum nbc_format {
#define NBC__X(name, text) NBC_FORMAT_##name,
  NBC_FORMAT_LIST(NBC__X)
#undef NBC__X
      NBC_FORMAT_COUNT
} nbc_format;
/* "nbc-overlap-report/1"; "?" for no format. Any thread. */
NBC_API const char *nbc_format_name(nbc_format format);

#ifdef NBC_LINES
#line 1 "src/overlap/clock.h"
#endif
/* Clocks: what a nanosecond means here. */




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
  bool trust_counter; /* do not test the counter across cores */
} nbc_clock_desc;

/* Filled by nbc_clock_create, owned by the caller, may be copied; treat the fields as read-only.
   ns = base_ns + ((ticks - base_ticks) * mult >> 32). */
typedef struct nbc_clock {
  nbc_clock_source source;
  uint64_t base_ticks, mult;
  int64_t base_ns;
  double hz;            /* counter frequency against RAW */
  double rate_err_ppm;  /* bound on the error of hz: width of the two bracketed readings / time */
  int64_t t_fit_ns;     /* calibrated from base_ns to here ... */
  int64_t fit_err_ns;   /* ... where host time is within this of RAW; outside: nbc_clock_err_ns */
  int64_t base_err_ns;  /* half width of the bracketed reading at base_ns */
  double resolution_ns; /* smallest step seen between readings; 0 for USER (not read at creation) */
  double read_cost_ns;  /* median cost of one reading of the source; 0 for USER */
  int cpus_checked_count;  /* cores visited by the monotonicity test, 0 when not run */
  int64_t max_backstep_ns; /* step back seen across cores; 0 = monotonic */
  bool invariant;          /* the processor promises a constant rate in all power states */
  char why[96];            /* why this source was taken or another refused */
  int64_t (*user_now_ns)(void *user);
  void *user;
} nbc_clock;

/* Chooses, tests and calibrates a clock.
   in   desc   NULL or zeroed: automatic; an explicit source that is unusable is an error
   out  clock
   ret  NBC_OK | NBC_E_INVAL (USER without now_ns) | NBC_E_CLOCK (not usable; clock->why says)
   cost calibrate_ns plus the test across the cores this thread may use (0.1 ms per core, at most
        0.1 s); it moves the calling thread with sched_setaffinity and then restores its mask */
NBC_API nbc_status nbc_clock_create(const nbc_clock_desc *desc, nbc_clock *clock);
/* Now, in host time. Any thread. Cost: clock->read_cost_ns. */
NBC_API int64_t nbc_clock_now_ns(const nbc_clock *clock);
/* Raw reading and its conversion; ticks are nanoseconds for RAW and USER sources. Any thread. */
NBC_API uint64_t nbc_clock_ticks(const nbc_clock *clock);
NBC_API int64_t nbc_clock_ticks_to_ns(const nbc_clock *clock, uint64_t ticks);
/* Bound on |host time - CLOCK_MONOTONIC_RAW| at time t_ns: grows with the distance to calibration.
   Guaranteed while the counter's rate is constant, which nbc_clock_recalibrate checks; 0 for RAW
   and USER. */
NBC_API int64_t nbc_clock_err_ns(const nbc_clock *clock, int64_t t_ns);
/* Compares counter and RAW again over all the time since creation: rate_err_ppm shrinks, and times
   may shift by at most the sum of the old bound and the new one. Not to be called while other
   threads read this clock.
   ret NBC_OK | NBC_E_CLOCK (the two disagree by more than their bounds: the counter is not
   invariant; the clock stays as it was, clock->why says) */
NBC_API nbc_status nbc_clock_recalibrate(nbc_clock *clock);
/* "tsc", "cntvct", "raw", "user". */
NBC_API const char *nbc_clock_source_name(nbc_clock_source source);
/* Computes (empty loop on the clock) for d_ns: a stand-in for work, without system calls. */
NBC_API void nbc_spin_ns(const nbc_clock *clock, int64_t d_ns);

#ifdef NBC_LINES
#line 1 "src/overlap/stats.h"
#endif
/* Medians, quantiles, confidence intervals; the four ratios and the diagnosis. */




/* ============================================================================================== */
/* [STATS] 4. Medians, quantiles, confidence intervals; the four ratios and the diagnosis         */
/* ============================================================================================== */
typedef struct nbc_summary {
  size_t count;
  double min, q1, median, q3, max, mean;
  double median_lo, median_hi; /* nonparametric confidence interval of the median */
  double confidence_ratio;     /* the one asked for; few samples cover less: see covered_ratio */
  double covered_ratio;        /* coverage the interval really has (binomial), <= 1 */
} nbc_summary;

/* Sorts values in place and summarises. confidence_ratio 0 = 0.95. Quantiles interpolate linearly
   between order statistics; the interval uses order statistics l, n+1-l with binomial coverage.
   ret NBC_OK | NBC_E_INVAL (count 0, NaN or infinite values, confidence not in 0..1) */
NBC_API nbc_status nbc_summarize(double *values, size_t count, double confidence_ratio,
                                 nbc_summary *out);
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
/* The diagnosis [R §4.1.3] and, in text (may be NULL), one sentence with the numbers behind it.
   With e = ref_err_ratio, h = min(1, comp_ref / comm_ref) the share that computation can hide at
   best, hidden = (1 - comm_ratio) / h, slowed = slowdown_ratio > 1 + 2e; the first that applies:
     measured < (1 - e) max(comp_ref, comm_ref)  REFERENCE_IMPRECISE
     h < 2e                                      TOO_LITTLE_COMPUTATION
     hidden <= 0.2                               CONTENTION when slowed, else NO_PROGRESSION
     hidden < 0.8                                PARTIAL
     slowed                                      CORE_STOLEN
     h < 1 - e                                   TOO_LITTLE_COMPUTATION, else FINE */
NBC_API nbc_diagnosis nbc_diagnose(const nbc_overlap_times *times, const nbc_metrics *metrics,
                                   char *text, size_t text_bytes);
NBC_API const char *nbc_diagnosis_text(nbc_diagnosis diagnosis);

#ifdef NBC_LINES
#line 1 "src/overlap/table.h"
#endif
/* Transfer-time tables: how long a message of n bytes takes. */




/* ============================================================================================== */
/* [TABLE] 5. Transfer-time tables: how long a message of n bytes takes                           */
/* ============================================================================================== */
/* File format: one "bytes seconds" per line, sizes ascending, '#' starts a comment; LF or CR LF
   ends every line, also the last (without it the file is taken for cut off). Between two sizes the
   time is interpolated linearly; below the first size it is the first time; above the last it grows
   with the slope of the last two points, if that is positive (with one point: in proportion).
   Five comments mean something, when they begin a line:
     # eager_bytes 4096          sends up to this size return before a receive is posted: that a send
                                 ended does not tell that its data has arrived
     # tail_bytes 0              of a larger send that has ended, so many bytes may still be on their way
                                 (in sockets, in queues); 0: its end tells that all has arrived
     # link_bytes_per_s 1.2e10   the most that one process was seen to move at once, with any number of
                                 messages under way in one direction: what joint bounds rest on
     # link_peers 3              with so many others at once; not said: with one
     # disturbed TEXT            the measurement was disturbed, and how; every report repeats it */
#define NBC_TABLE_MAX_POINTS 1024

typedef struct nbc_table nbc_table; /* immutable after creation: any number of threads may read */

/* From arrays (copied). ret NBC_OK | NBC_E_INVAL (count 0 or too many, sizes not ascending, time
   not finite, negative or above one hour: err names the point) | NBC_E_NOMEM */
NBC_API nbc_status nbc_table_create(const uint64_t *size_bytes, const double *time_s, size_t count,
                                    const char *name, nbc_table **table, nbc_error *err);
/* From text in memory; name stands for the file. ret as above | NBC_E_PARSE (err->line) */
NBC_API nbc_status nbc_table_parse(const char *text, size_t text_bytes, const char *name,
                                   nbc_table **table, nbc_error *err);
/* From a file (at most 1 MiB). ret as above | NBC_E_IO */
NBC_API nbc_status nbc_table_read(const char *path, nbc_table **table, nbc_error *err);
/* Writes the file format above, comment (may be NULL) first. ret NBC_OK | NBC_E_IO */
NBC_API nbc_status nbc_table_write(const nbc_table *table, const char *path, const char *comment,
                                   nbc_error *err);
/* A model instead of a measurement: latency_ns + bytes / bytes_per_s, named as such in reports
   (name NULL: "model: ..."). ret NBC_OK | NBC_E_INVAL (latency not in 0..1 hour, less than 300
   bytes/s) | NBC_E_NOMEM */
NBC_API nbc_status nbc_table_create_linear(double latency_ns, double bytes_per_s, const char *name,
                                           nbc_table **table);
/* Transfer time of n bytes. Any thread; O(1): lookup by the highest bit, then a bounded search. */
NBC_API int64_t nbc_table_time_ns(const nbc_table *table, uint64_t size_bytes);
/* The most of that time that part_bytes of the size_bytes may take: their own transfer time, or their share by
   bytes, which is more where long messages are slower per byte. Any thread. */
NBC_API int64_t nbc_table_part_ns(const nbc_table *table, uint64_t size_bytes, uint64_t part_bytes);
NBC_API const char *nbc_table_name(const nbc_table *table);
/* What the comments of the file say. Any thread.
   eager: the largest size that is sent eagerly; -1: not known. tail: -1: not known. link: 0: not known. disturbed: NULL: no */
NBC_API int64_t nbc_table_eager_bytes(const nbc_table *table);
NBC_API int64_t nbc_table_tail_bytes(const nbc_table *table);
NBC_API double nbc_table_link_bytes_per_s(const nbc_table *table);
NBC_API uint32_t nbc_table_link_peers(const nbc_table *table); /* 1 or more; NULL: 1 */
NBC_API const char *nbc_table_disturbed(const nbc_table *table);
NBC_API size_t nbc_table_points(const nbc_table *table, const uint64_t **size_bytes,
                                const double **time_s);
NBC_API void nbc_table_free(nbc_table *table); /* NULL allowed */

#ifdef NBC_LINES
#line 1 "src/overlap/cells.h"
#endif
/* What is counted: kinds of operations, problems, totals, cells. */




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

typedef struct nbc_cell { /* transfers of one (section, kind, class, peer) */
  int section_index;
  nbc_kind kind;
  int class_index;
  nbc_peer peer;
  nbc_totals t;
  int64_t available_ns;                    /* computation between the stamps, summed (case 2) */
  uint64_t available_count[NBC_HIST_BINS]; /* and its distribution: what could have hidden it */
} nbc_cell;

#ifdef NBC_LINES
#line 1 "src/overlap/monitor.h"
#endif
/* The four events and the overlap bounds. */







/* ============================================================================================== */
/* [MONITOR] 7. The four events and the overlap bounds                                            */
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
   What the bounds do not believe:
     - that a send's data has arrived because the send ended (nbc_xfer_end_local): when the size may be
       sent eagerly (the table's eager_bytes; up to 64 KiB where no table says), or when the window is
       shorter than x, its end was not seen: case 3. Of a larger one the last bytes (the table's
       tail_bytes; all of them where no table says) may move after the end: with the most time y that
       they take (nbc_table_part_ns), min max(0, x - y - noncomp), max min(comp + y, x). Where these are all, or it began in the same
       call: case 3.
     - that a receive's data came after the receive was posted (nbc_xfer_end_early): as much as may be
       sent eagerly may have come before, also of a larger message, whose first part goes ahead. With
       the time y of that, as above; where that is all of it: case 3.
     - either of a collective (nbc_xfer_end_parts), whatever its size: it may be cut into messages that
       are sent eagerly, and they may come before it is called: case 3.
     - what nobody saw: a transfer that was under way when its recorder was switched off, or when the
       thread that began it ended, may have moved meanwhile, behind what other threads computed: case 3.
     - a table that says x > window: the transfer was faster than that, so min is 0, and
       max is x where there was any computation.
     - that a put, get or update takes as long as a message (desc.tables_of_messages): likewise.
     - the tables that stand in for missing ones, those that were disturbed when they were measured, and
       any table for messages to oneself: min is 0.
     - the slower of two tables as a lower bound: where the peer is not known, min rests on the faster.
   Joint bounds: transfers of one direction that are under way to one class of peers at the same time
   share the link. From the first's begin to the last's end, of length C + N, the link moves at most
   the table's link_bytes_per_s x time, so with the work w of a transfer, its bytes at that rate,
       max <= sum of (x - w) + C        min >= sum of w - N
   for the sum over these transfers; the independent bounds above are kept beside them, and the joint
   ones never leave them. Only with a table that has link_bytes_per_s and was not disturbed. That rate was
   measured with the table's link_peers; to k times as many others at once, k times as much may move: there
   are no more of these than transfers at one time, nor than processes (desc.peers_same_node, _other_node).
   What the tool itself costs (desc.call_cost_ns, event_cost_ns) is neither C nor N, but tool time.

   Several threads. Each thread has its own recorder, its own C and N. A transfer belongs to the
   thread that began it (its owner), also when another thread (a progress worker, another
   waiter) stamps its begin or end: then comp is the owner's C between the two stamps. Such a stamp
   is placed between the owner's calls only when the owner has told of a later one, because a thread
   may be interrupted between reading its clock and telling; until then the transfer counts as
   active. The same holds for what is stamped with an earlier time (_at). Per process,
   C, N, x and the bounds are sums over threads (thread-seconds), so min <= true <= max holds for
   the sums because it holds for each transfer. Computation of threads without a recorder is not
   seen.

   Memory: about 100 B x (max_transfers + ring_events) + 600 B x max_cells + 3 KB x max_sections per
   recorder, allocated at attach, touched when used: an idle thread has less than 64 KiB. No allocation, lock or system call per event (a full ring, and at
   every 64th call an inbox that is not empty, is drained under a private spin lock that only a
   foreign stamp or a report can hold). */

#define NBC_MAX_CLASSES  32 /* message-size classes */
#define NBC_MAX_DEPTH    16 /* open sections of one thread */
#define NBC_MAX_COUNTERS 64

/* Counters of the machine (a NIC's bytes, retransmissions, pauses) to be booked per section. They
   are read when a section begins or ends, when the recorder is switched, and for a report; by one
   thread per process, the one that attached first, so that nothing counts twice. NIC counters are
   the node's: on a node with several processes, give them to one. */
typedef struct nbc_counter_source {
  size_t count;             /* at most NBC_MAX_COUNTERS */
  const char *const *names; /* borrowed */
  /* Rising values, all `count` of them. ret false: failed */
  bool (*read)(void *user, uint64_t *values);
  void *user;
} nbc_counter_source;

/* What is said of one transfer when it is accounted, or of a NIC's stamp when it is used. */
typedef struct nbc_seen {
  uint64_t id, size_bytes;
  nbc_kind kind;
  nbc_peer peer;
  bool by_nic;              /* a NIC's stamp: id, begin, end and err_ns only */
  int case_of;              /* 1, 2, 3 [O §2.2] */
  int64_t begin_ns, end_ns; /* INT64_MIN: not seen */
  int64_t xfer_ns, min_overlap_ns, max_overlap_ns;
  int64_t err_ns;
} nbc_seen;

typedef struct nbc_monitor nbc_monitor;   /* one per process */
typedef struct nbc_recorder nbc_recorder; /* one per thread */

typedef struct nbc_monitor_desc {
  const nbc_clock *clock;            /* copied; NULL = nbc_clock_create with defaults */
  const nbc_table *table_same_node;  /* borrowed until destroy; NULL = 500 ns + n / (5 GB/s) */
  const nbc_table *table_other_node; /* borrowed until destroy; NULL = 2 us + n / (10 GB/s) */
  /* Ascending upper limits (inclusive) of the size classes; the last class is open. 0 = 256, 4 Ki, 64 Ki,
     1 Mi, 16 Mi */
  const uint64_t *class_edges_bytes;
  size_t class_edge_count;
  size_t ring_events;   /* 0 = 512; rounded up to a power of two */
  size_t max_transfers; /* active at once, per thread; 0 = 4096; rounded up likewise */
  size_t max_cells;     /* (section, kind, class, peer) combinations; 0 = 1024 */
  size_t max_sections;  /* per thread; 0 = 64 */
  size_t history_calls; /* calls kept for stamps of the past; 0 = 256, no NIC stamps */
  const nbc_counter_source *counters; /* borrowed until destroy; NULL = none */
  bool start_off;                     /* recorders start switched off */
  bool grow_transfers;   /* max_transfers is where it begins: doubled when full (allocates) */
  int64_t call_cost_ns;  /* what of a gap between calls is the caller's own work, at least; */
  int64_t event_cost_ns; /* and per event of the call before. Lowered when a gap is shorter */
  /* Called for each transfer that is over, for those under way by each report, and for NIC stamps, by the
     thread that drains: not in the order of their times. It must not call the monitor. NULL: none */
  void (*on_seen)(void *user, const nbc_seen *seen);
  void *on_seen_user;
  /* Processes that a recorder's transfers can be with, on its node and on others; 0: not known. */
  uint32_t peers_same_node, peers_other_node;
  /* The tables were measured by sends and receives: puts, gets and atomics may be faster. */
  bool tables_of_messages;
} nbc_monitor_desc;

/* ret NBC_OK | NBC_E_INVAL (edges not ascending, too many; too many counters) | NBC_E_CLOCK |
   NBC_E_NOMEM */
NBC_API nbc_status nbc_monitor_create(const nbc_monitor_desc *desc, nbc_monitor **monitor);
/* All recorders must be idle. NULL allowed. */
NBC_API void nbc_monitor_destroy(nbc_monitor *monitor);
NBC_API const nbc_clock *nbc_monitor_clock(const nbc_monitor *monitor);
NBC_API nbc_monitor_desc nbc_monitor_desc_of(const nbc_monitor *monitor); /* values in force */

/* A recorder for the calling thread. Its computation starts now. Any thread, takes a lock.
   ret NBC_OK | NBC_E_NOMEM */
NBC_API nbc_status nbc_recorder_attach(nbc_monitor *monitor, nbc_recorder **recorder);
NBC_API nbc_status nbc_recorder_attach_at(nbc_monitor *monitor, int64_t t_ns,
                                          nbc_recorder **recorder);
/* The thread ends: its time stops, its numbers stay for the report. The pointer is dead
   afterwards. */
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
NBC_API void nbc_xfer_begin_at(nbc_recorder *recorder, uint64_t id, uint64_t size_bytes,
                               nbc_kind kind, nbc_peer peer, int64_t t_ns);
/* A transfer that had begun before, without this recorder seeing it (a message that came before its
   receive): its id is known from here on for its end, stamps or cancel; only its end bounds it:
   case 3. */
NBC_API void nbc_xfer_begun(nbc_recorder *recorder, uint64_t id, uint64_t size_bytes, nbc_kind kind,
                            nbc_peer peer);
NBC_API void nbc_xfer_begun_at(nbc_recorder *recorder, uint64_t id, uint64_t size_bytes,
                               nbc_kind kind, nbc_peer peer, int64_t t_ns);
NBC_API void nbc_xfer_end(nbc_recorder *recorder, uint64_t id);
NBC_API void nbc_xfer_end_at(nbc_recorder *recorder, uint64_t id, int64_t t_ns);
/* As nbc_xfer_end_sized, for data that may have come before its receive was posted. */
NBC_API void nbc_xfer_end_early(nbc_recorder *recorder, uint64_t id, uint64_t size_bytes,
                                nbc_peer peer);
NBC_API void nbc_xfer_end_early_at(nbc_recorder *recorder, uint64_t id, uint64_t size_bytes,
                                   nbc_peer peer, int64_t t_ns);
/* As nbc_xfer_end, for data that leaves this process: the buffer may be used again, which does not tell
   that the data has arrived. */
NBC_API void nbc_xfer_end_local(nbc_recorder *recorder, uint64_t id);
NBC_API void nbc_xfer_end_local_at(nbc_recorder *recorder, uint64_t id, int64_t t_ns);
/* As these two at once, for what moves in messages that nobody sees, a collective, or from a buffer that was
   copied first: any part of it may come before the begin or arrive after the end. Case 3. */
NBC_API void nbc_xfer_end_parts(nbc_recorder *recorder, uint64_t id);
NBC_API void nbc_xfer_end_parts_at(nbc_recorder *recorder, uint64_t id, int64_t t_ns);
/* The time of the call that is open is shared by this many ends (of one wait for all); from here to the
   end of the call. Otherwise each end gets the time since the end before it in that call. */
NBC_API void nbc_call_shared(nbc_recorder *recorder, uint32_t ends);
/* As nbc_xfer_end, but the true size became known only now (a receive shorter than its buffer). */
NBC_API void nbc_xfer_end_sized(nbc_recorder *recorder, uint64_t id, uint64_t size_bytes,
                                nbc_peer peer);
NBC_API void nbc_xfer_end_sized_at(nbc_recorder *recorder, uint64_t id, uint64_t size_bytes,
                                   nbc_peer peer, int64_t t_ns);
/* A transfer of which only the end is seen (an eager arrival): case 3. */
NBC_API void nbc_xfer_end_only(nbc_recorder *recorder, uint64_t size_bytes, nbc_kind kind,
                               nbc_peer peer);
NBC_API void nbc_xfer_end_only_at(nbc_recorder *recorder, uint64_t size_bytes, nbc_kind kind,
                                  nbc_peer peer, int64_t t_ns);
/* The transfer will not happen (cancelled receive): forgotten, counted as `cancelled`. */
NBC_API void nbc_xfer_cancel(nbc_recorder *recorder, uint64_t id);

/* Stamps that another thread sets for a transfer of `owner`. Any thread, lock-free unless the
   owner's inbox is full (then that thread drains it; stamps that the owner has not passed yet are
   `unplaced`). */
NBC_API void nbc_foreign_begin(nbc_recorder *owner, uint64_t id, uint64_t size_bytes, nbc_kind kind,
                               nbc_peer peer);
NBC_API void nbc_foreign_begin_at(nbc_recorder *owner, uint64_t id, uint64_t size_bytes,
                                  nbc_kind kind, nbc_peer peer, int64_t t_ns);
NBC_API void nbc_foreign_end(nbc_recorder *owner, uint64_t id);
NBC_API void nbc_foreign_end_at(nbc_recorder *owner, uint64_t id, int64_t t_ns);
NBC_API void nbc_foreign_end_early(nbc_recorder *owner, uint64_t id, uint64_t size_bytes,
                                   nbc_peer peer);
NBC_API void nbc_foreign_end_local(nbc_recorder *owner, uint64_t id);
NBC_API void nbc_foreign_end_local_at(nbc_recorder *owner, uint64_t id, int64_t t_ns);
NBC_API void nbc_foreign_end_parts(nbc_recorder *owner, uint64_t id);
NBC_API void nbc_foreign_end_sized(nbc_recorder *owner, uint64_t id, uint64_t size_bytes,
                                   nbc_peer peer);
NBC_API void nbc_foreign_end_sized_at(nbc_recorder *owner, uint64_t id, uint64_t size_bytes,
                                      nbc_peer peer, int64_t t_ns);
NBC_API void nbc_foreign_cancel(nbc_recorder *owner, uint64_t id); /* as nbc_xfer_cancel */
NBC_API void nbc_foreign_end_only(nbc_recorder *owner, uint64_t size_bytes, nbc_kind kind,
                                  nbc_peer peer);

/* The true begin and end of a transfer, from a NIC (real, RTL or model), each t_ns +- err_ns in
   host time: exact overlap = C(end) - C(begin), an interval because of err_ns [O §2.2, §6]. May
   come before or soon after the transfer's end event, and is used when the owner has passed t_end +
   err; several stamps of one id add up (fragments). Needs desc.history_calls; a stamp older than
   the history, or of an unknown id, is counted as lost. Any thread. */
NBC_API void nbc_xfer_stamp(nbc_recorder *owner, uint64_t id, int64_t t_begin_ns, int64_t t_end_ns,
                            int64_t err_ns);
/* The same when both are readings of one clock: err_ns moves them together, and the transfer's
   length t_end_ns - t_begin_ns is known to d_err_ns, which is far less. Then no more is hidden than
   the transfer is long, and no less than its length without what was not computation from the
   earliest begin to the latest end: the exact interval is cut by these two, the bounds of [O §2.2
   case 2] for the true length, so that it is narrow where they are tight. */
NBC_API void nbc_xfer_stamp_length(nbc_recorder *owner, uint64_t id, int64_t t_begin_ns,
                                   int64_t t_end_ns, int64_t err_ns, int64_t d_err_ns);
/* The same when many stamps share one error, that of the clock they were made with: all times of one
   group (1 to 2^31 - 1, or 0: none; the owner's watches take others) are off by one and the same shift, known to +-shared_err_ns, and each by up to
   own_err_ns of its own. Their sum is then that of one shift, whichever it is, and not of the worst
   for each: the interval of a total grows with own_err_ns, not with shared_err_ns. */
NBC_API void nbc_xfer_stamp_shared(nbc_recorder *owner, uint64_t id, int64_t t_begin_ns,
                                   int64_t t_end_ns, int64_t own_err_ns, int64_t d_err_ns,
                                   int64_t shared_err_ns, uint32_t group);

/* Named sections of the program: nested, per thread. What begins inside counts for the innermost
   open section only; a report shows the path ("solve/halo"). The name is copied (63 characters
   kept). end closes the innermost; name may be NULL, or must match, else section_unbalanced is
   counted. */
NBC_API void nbc_section_begin(nbc_recorder *recorder, const char *name);
NBC_API void nbc_section_begin_at(nbc_recorder *recorder, const char *name, int64_t t_ns);
NBC_API void nbc_section_end(nbc_recorder *recorder, const char *name);
NBC_API void nbc_section_end_at(nbc_recorder *recorder, const char *name, int64_t t_ns);
/* Measuring off and on, for this thread. While off, time counts as neither computation nor call and
   new transfers are not counted; transfers begun before still end. */
NBC_API void nbc_recorder_switch(nbc_recorder *recorder, bool on);
NBC_API void nbc_recorder_switch_at(nbc_recorder *recorder, bool on, int64_t t_ns);

/* Computation of this recorder up to t_ns (not earlier than its last call event): C(t). Any
   thread. */
NBC_API int64_t nbc_recorder_comp_ns(const nbc_recorder *recorder, int64_t t_ns);

#ifdef NBC_LINES
#line 1 "src/overlap/foreign.h"
#endif
/* Stamps that other threads and NICs set for a recorder: declared in monitor.h. */


#ifdef NBC_LINES
#line 1 "src/overlap/report.h"
#endif
/* Reports in memory: from the recorders, added up. */







/* ============================================================================================== */
/* [REPORT] 8. Reports: in memory, as text, as JSON, read back, merged, compared                  */
/* ============================================================================================== */
/* A report is plain data: fill, read or change it freely. All memory hangs on the report. */
typedef struct nbc_call { /* calls of one (section, kind) */
  int section_index;
  nbc_kind kind;
  uint64_t count;
  int64_t total_ns, min_ns, max_ns;
} nbc_call;

typedef struct nbc_section {
  char *path;       /* "outer/inner"; section 0 is the whole program outside named sections, "" */
  int parent_index; /* -1 for section 0 */
  uint64_t count;
  int64_t comp_ns, call_ns; /* while this section was the innermost */
} nbc_section;

typedef struct nbc_thread { /* comp + call + off + tool = wall */
  int64_t comp_ns, call_ns, off_ns, tool_ns, wall_ns;
} nbc_thread;

/* Transfers of one direction between this process and peers of one class, with bounds that know that
   those under way together share a link ([MONITOR]); never wider than the independent ones. */
typedef struct nbc_joint {
  bool incoming;
  nbc_peer peer;
  uint64_t count, size_bytes;
  int64_t xfer_ns, min_overlap_ns, max_overlap_ns;
} nbc_joint;

/* Messages of which the timelines of both processes are there (overlap_report): what both sides know of when
   their data can have moved, beside what this side alone knows (alone_). Never wider. */
typedef struct nbc_partner_bound {
  nbc_kind kind;
  uint64_t count, size_bytes;
  int64_t xfer_ns, alone_min_ns, alone_max_ns, min_overlap_ns, max_overlap_ns;
  int64_t clock_err_ns; /* the largest difference that the clocks of two processes may have had */
} nbc_partner_bound;

/* Calls from one place of the program. */
typedef struct nbc_site {
  char *call;      /* "MPI_Waitall" */
  char *module;    /* file of the program or library that called; NULL: not known */
  char *symbol;    /* the function there, as far as the file says it; may be NULL */
  uint64_t offset; /* of the return address in the module */
  uint64_t count;
  int64_t total_ns, max_ns;
} nbc_site;

/* A send of more waits for its receiver: no MPI that was met sends more eagerly. */
#define NBC_LARGE_SEND_BYTES 65536

/* What went between two processes of the world, seen by `rank`. */
typedef struct nbc_pair {
  int rank, partner;
  uint64_t sent_count, sent_bytes, received_count, received_bytes;
  int64_t waited_ns;       /* in calls that ended a message from or to the partner */
  int64_t busy_ns;         /* computation of `rank` while a large send to the partner was posted */
  int64_t small_waited_ns; /* of waited_ns: for receives of up to NBC_LARGE_SEND_BYTES */
} nbc_pair;

/* Transfers of the communicators and windows of one name and size. */
typedef struct nbc_comm_total {
  char *name; /* as set by the program; "": none */
  int size;   /* processes */
  uint64_t count, size_bytes;
  int64_t waited_ns; /* in the calls that ended them */
} nbc_comm_total;

typedef struct nbc_counter { /* of a NIC, an MPI, … */
  char *name;
  int section_index;
  double value;
} nbc_counter;

typedef struct nbc_report {
  char *program, *host, *library; /* may be NULL */
  int rank, size, pid;            /* rank -1: merged or unknown */
  int process_count;              /* 1, or how many were merged */
  double start_unix_s;
  int64_t wall_ns, comp_ns, call_ns, off_ns; /* sums over threads */
  int64_t tool_ns; /* what the measuring itself took, by its calibrated cost */
  nbc_clock_source clock_source;
  double clock_hz, clock_rate_err_ppm, clock_resolution_ns, clock_read_cost_ns;
  char *table_same_node, *table_other_node; /* names */
  bool table_is_default;                    /* not measured on this machine */
  uint64_t class_edges_bytes[NBC_MAX_CLASSES];
  size_t class_edge_count;
  nbc_totals total;
  nbc_section *sections;
  size_t section_count;
  nbc_cell *cells;
  size_t cell_count;
  nbc_call *calls;
  size_t call_count;
  nbc_thread *threads;
  size_t thread_count;
  nbc_counter *counters;
  size_t counter_count;
  nbc_joint *joints;
  size_t joint_count;
  nbc_partner_bound *partner_bounds;
  size_t partner_bound_count;
  nbc_site *sites;
  size_t site_count;
  nbc_pair *pairs;
  size_t pair_count;
  nbc_comm_total *comms;
  size_t comm_count;
  char **notes;
  size_t note_count; /* one line each: wrong settings, things left out */
  uint64_t problems[NBC_PROBLEM_COUNT];
} nbc_report;

/* Drains all recorders and adds them up. May be called at any time, also while other threads
   record: what they record meanwhile is in or out. Active transfers count as case 3 in this report
   only; so do those with a foreign stamp later than the last call of their owner, unless the owner
   itself asks for the report or is detached.
   ret NBC_OK | NBC_E_NOMEM */
NBC_API nbc_status nbc_monitor_report(nbc_monitor *monitor, nbc_report **report);
NBC_API nbc_status nbc_monitor_report_at(nbc_monitor *monitor, int64_t t_ns, nbc_report **report);
NBC_API void nbc_report_free(nbc_report *report); /* NULL allowed */
/* Empty report (one section ""), to fill by hand. */
NBC_API nbc_status nbc_report_create(nbc_report **report);
/* Sets a text field (&report->host), adds a note or a counter; copies. ret NBC_OK | NBC_E_NOMEM */
NBC_API nbc_status nbc_report_set(char **field, const char *text);
NBC_API nbc_status nbc_report_note(nbc_report *report, const char *text);
NBC_API nbc_status nbc_report_counter(nbc_report *report, int section_index, const char *name,
                                      double value);
/* Adds calls from one place (joined with those of the same call, module and offset); copies.
   ret NBC_OK | NBC_E_NOMEM */
NBC_API nbc_status nbc_report_site(nbc_report *report, const nbc_site *site);
/* Adds bounds by both sides of messages (joined with those of the same kind). ret NBC_OK | NBC_E_INVAL (min above
   max above xfer, or wider than alone) | NBC_E_NOMEM */
NBC_API nbc_status nbc_report_partner_bound(nbc_report *report, const nbc_partner_bound *bound);
/* Appends what went between two processes. ret NBC_OK | NBC_E_NOMEM */
NBC_API nbc_status nbc_report_pair(nbc_report *report, const nbc_pair *pair);
/* Adds transfers of a communicator (joined with those of the same name and size); copies.
   ret NBC_OK | NBC_E_NOMEM */
NBC_API nbc_status nbc_report_comm_total(nbc_report *report, const nbc_comm_total *comm);
/* Adds one process's report to a sum (sections by path, cells by key; texts that differ become
   "several hosts"; different class edges are an error, and then nothing was added). ret NBC_OK |
   NBC_E_MISMATCH | NBC_E_NOMEM */
NBC_API nbc_status nbc_report_add(nbc_report *sum, const nbc_report *one, nbc_error *err);

#ifdef NBC_LINES
#line 1 "src/overlap/report_text.h"
#endif
/* Reports for people: as text. */





/* For people: what was hidden, what was not, where, worst first. ret NBC_OK | NBC_E_IO */
NBC_API nbc_status nbc_report_write_text(const nbc_report *report, FILE *out);

#ifdef NBC_LINES
#line 1 "src/overlap/report_json.h"
#endif
/* Reports for programs: JSON. */





/* For programs: one JSON object, "schema": "nbc-overlap-report/1"; every number of nbc_report under
   the same name. Field order is fixed. Readers accept unknown keys. ret NBC_OK | NBC_E_IO */
NBC_API nbc_status nbc_report_write_json(const nbc_report *report, FILE *out);
#ifndef NBC_NO_READ
#ifdef NBC_LINES
#line 1 "src/overlap/report_read.h"
#endif
/* Reports read back from JSON. */





/* Reads what nbc_report_write_json wrote; the input is untrusted. err names file, line and field.
   ret NBC_OK | NBC_E_IO | NBC_E_PARSE | NBC_E_NOMEM */
NBC_API nbc_status nbc_report_read_json(const char *path, nbc_report **report, nbc_error *err);
NBC_API nbc_status nbc_report_parse_json(const char *text, size_t text_bytes, const char *name,
                                         nbc_report **report, nbc_error *err);
#ifdef NBC_LINES
#line 1 "src/overlap/report_diff.h"
#endif
/* Two reports side by side: what a change of the program changed. */





/* Before and after a code change: which section, which size class moved, biggest change first.
   ret NBC_OK | NBC_E_IO | NBC_E_MISMATCH (class edges differ) */
NBC_API nbc_status nbc_report_write_diff(const nbc_report *before, const nbc_report *after,
                                         FILE *out);
#endif
#if !defined(NBC_NO_NIC) || !defined(NBC_NO_TIME)
#ifdef NBC_LINES
#line 1 "src/overlap/relation.h"
#endif
/* Two clocks: how one relates to the other, with a guaranteed error. */




/* ============================================================================================== */
/* [RELATION] 9. Two clocks: how one relates to the other, with a guaranteed error                */
/* ============================================================================================== */
/* A point in time whose truth is known to lie in t_ns - err_ns ... t_ns + err_ns. */
typedef struct nbc_time {
  int64_t t_ns, err_ns;
} nbc_time;

/* Feeds on bracketed readings: the host's time before, the device's counter, the host's time after.
   Nothing is assumed about how long a reading takes or where in the bracket the counter was read,
   so delays of any kind make the answer wider, never wrong. Each reading is two half-planes for the
   line (offset, rate) through the newest reading; the lines that pass all of them form a convex
   polygon, and every answer is the range of that polygon. What is assumed is in the desc: a limit
   for the rate's deviation and for how fast the rate may change. Readings that contradict these are
   seen: the clock stepped. Cost: O(1) per reading (at most NBC_RELATION_POINTS points of either
   convex hull are kept; forgetting one only widens), O(1) per answer, no allocation, no system
   call. Plain data: may be copied, also to another process. One thread at a time may add; any
   number may ask meanwhile only on a copy. */
#define NBC_RELATION_POINTS  24
#define NBC_RELATION_CORNERS 32

typedef struct nbc_relation_desc {
  double hz;               /* nominal frequency of the counter; 1e9 when it counts nanoseconds */
  double rate_limit_ppm;   /* the true rate is always within this of hz; > 0, <= 100,000 */
  double wander_ppm_per_s; /* the true rate changes by at most this per second; 0 = not at all */
  int counter_bits;        /* after so many the counter wraps; 0 = 64 */
  uint64_t step_ticks;     /* a reading x means x <= counter < x + step_ticks; 0 = 1 */
} nbc_relation_desc;
/* A quartz oscillator without compensation: 200 ppm, 0.5 ppm per second, 64 bits, steps of 1. */
NBC_API nbc_relation_desc nbc_relation_crystal(double hz);

typedef struct nbc_relation_point {
  int64_t at_ticks, t_ns; /* ticks without wraps, counted from the first reading */
} nbc_relation_point;

/* Treat the fields as read-only. */
typedef struct nbc_relation {
  nbc_relation_desc desc; /* values in force */
  /* answers about the rate: host nanoseconds per nominal device nanosecond, minus 1 */
  double rate_ppm, rate_err_ppm;     /* at the newest reading: truth in rate_ppm +- rate_err_ppm */
  double rate_min_ppm, rate_max_ppm; /* drift watch: extremes of rate_ppm since the last step ... */
  double rate_surely_moved_ppm;      /* ... and by how much the rate changed at least */
  double rate_upper_min_ppm, rate_lower_max_ppm;
  uint64_t reading_count;         /* used */
  uint64_t late_count;            /* older than one used already: ignored */
  uint64_t step_count;            /* contradictions: the clock stepped or broke its limits */
  uint64_t gap_count;             /* silences in which a short counter may have wrapped unseen */
  int64_t step_lo_ns, step_hi_ns; /* the last step or gap happened between these host times */
  int64_t d_step_ns;              /* by how much at least the last reading was off; 0 for a gap */
  /* the newest reading: where the polygon stands */
  uint64_t newest_raw_ticks;
  int64_t newest_ticks, newest_ns, newest_before_ns, newest_after_ns;
  int upper_count, lower_count, corner_count;
  nbc_relation_point upper[NBC_RELATION_POINTS], lower[NBC_RELATION_POINTS];
  double corner_offset_ns[NBC_RELATION_CORNERS], corner_rate_ratio[NBC_RELATION_CORNERS];
} nbc_relation;

/* ret NBC_OK | NBC_E_INVAL (a field of desc out of its range) */
NBC_API nbc_status nbc_relation_init(nbc_relation *relation, const nbc_relation_desc *desc);
/* One bracketed reading. ret NBC_OK | NBC_E_INVAL (before_ns > after_ns, or beyond +-73 years) |
   NBC_E_CLOCK: the reading contradicts all before, so the clock stepped (step_lo_ns ...
   step_hi_ns); the relation has begun anew with this reading and is usable */
NBC_API nbc_status nbc_relation_add(nbc_relation *relation, int64_t before_ns, uint64_t ticks,
                                    int64_t after_ns);
/* Half a reading, for round trips in which the other side answers with readings of its own: the
   counter showed `ticks` not before (not after) this host time. Counters of 56 bits and more only.
   ret as above */
NBC_API nbc_status nbc_relation_add_not_before(nbc_relation *relation, int64_t before_ns,
                                               uint64_t ticks);
NBC_API nbc_status nbc_relation_add_not_after(nbc_relation *relation, uint64_t ticks,
                                              int64_t after_ns);
/* When did an event stamped `ticks` happen? A short counter's stamp is taken nearest to the newest
   reading. ret NBC_OK | NBC_E_STATE (no reading yet) | NBC_E_RANGE (before the last step or gap:
   t_ns is by the relation of today, its error unknown, err_ns INT64_MAX) | NBC_E_INVAL (further
   from the newest reading than 73 years) */
NBC_API nbc_status nbc_relation_time(const nbc_relation *relation, uint64_t ticks, nbc_time *out);
/* The same between two states of one relation, for stamps looked at later: the intersection of both
   answers. ret as above | NBC_E_MISMATCH (they contradict each other: a step between them) */
NBC_API nbc_status nbc_relation_time_between(const nbc_relation *before, const nbc_relation *after,
                                             uint64_t ticks, nbc_time *out);
/* The reading at which the middle of the answer is nearest t_ns. ret NBC_OK | NBC_E_STATE |
   NBC_E_INVAL, NBC_E_RANGE (t_ns too far away) */
NBC_API nbc_status nbc_relation_ticks(const nbc_relation *relation, int64_t t_ns, uint64_t *ticks);

#endif
#ifndef NBC_NO_NIC
#ifdef NBC_LINES
#line 1 "src/overlap/nic.h"
#endif
/* NICs as witnesses: stamps from the wire, in host time, into the monitor. */







/* ============================================================================================== */
/* [NIC] 10. NICs as witnesses: stamps from the wire, in host time, into the monitor              */
/* ============================================================================================== */
/* A stamp source is a NIC (real, RTL or model) that can be asked for its clock and for the times at
   which transfers really began and ended. A watch relates its clock to host time, as an interval
   [RELATION], and gives the monitor every stamp with the error it has: bounds become exact overlap
   [O §2.2, §6]. What cannot be placed (a clock step between, records lost) is counted, not guessed.

       nbc_nic_watch_desc desc = {0};
       desc.nic = nic;          // from a back-end: threads, Portals model, RTL, hardware
       desc.recorder = me;      // of a monitor with desc.history_calls > 0
       nbc_nic_watch_create(&desc, &watch);
       ...
       nbc_nic_poll(watch);     // now and then, outside timed code; and once before the report */
enum {
  NBC_NIC_SENT = 1,         /* seen at the transmitter: first and last data leave */
  NBC_NIC_RECEIVED = 2,     /* seen at the receiver: first and last data arrive */
  NBC_NIC_RETRANSMITTED = 4 /* some of it went more than once; the times enclose all attempts */
};
typedef struct nbc_nic_stamp {
  uint64_t xfer_id; /* as the transfer was posted */
  uint64_t begin_ticks, end_ticks;
  uint64_t size_bytes; /* 0 = not known */
  int peer;            /* rank of the other side; -1 = not known */
  unsigned flags;
} nbc_nic_stamp;

typedef struct nbc_nic {
  void *ctx;
  const char *name;
  double nominal_hz;   /* of the clock; 1e9 when it counts nanoseconds */
  int counter_bits;    /* after so many the clock wraps; 0 = 64 */
  uint64_t step_ticks; /* granularity of clock and stamps; 0 = 1 */
  /* The clock was read between the two host times. */
  nbc_status (*read_clock)(void *ctx, int64_t *t_before_ns, uint64_t *ticks, int64_t *t_after_ns);
  /* The next stamp of a finished transfer; NBC_PENDING = none now. */
  nbc_status (*next_stamp)(void *ctx, nbc_nic_stamp *stamp);
  uint64_t (*lost_count)(void *ctx); /* records the NIC dropped so far; NULL = it loses none */
} nbc_nic;

typedef struct nbc_nic_watch nbc_nic_watch;
typedef struct nbc_nic_watch_desc {
  const nbc_nic *nic;     /* borrowed until destroy */
  nbc_recorder *recorder; /* owner of all stamps; or, for several: */
  /* Finds the owner and may change stamp->xfer_id; NULL = not a transfer of ours. */
  nbc_recorder *(*owner_of)(void *user, nbc_nic_stamp *stamp);
  void *user;
  nbc_relation_desc relation; /* hz 0 = nbc_relation_crystal of the NIC's clock */
  size_t batch_stamps;        /* placed with one reading of the clock; 0 = 256 */
} nbc_nic_watch_desc;
typedef struct nbc_nic_counts {
  uint64_t placed_count;   /* handed to a recorder */
  uint64_t unowned_count;  /* of no transfer of ours */
  uint64_t unplaced_count; /* a clock step or gap made their time unknown */
  uint64_t lost_count;     /* dropped by the NIC since the watch was created */
  uint64_t step_count;     /* steps and gaps of the clock */
  int64_t max_err_ns;      /* widest error of a placed stamp */
  double mean_err_ns;
} nbc_nic_counts;

/* Reads the clock for the first time. ret NBC_OK | NBC_E_INVAL (no nic, no owner, bad relation) |
   NBC_E_NOMEM | what read_clock says */
NBC_API nbc_status nbc_nic_watch_create(const nbc_nic_watch_desc *desc, nbc_nic_watch **watch);
NBC_API void nbc_nic_watch_destroy(nbc_nic_watch *watch); /* NULL allowed; the nic stays */
/* Takes the stamps there are, then reads the clock, so that each stamp lies between two readings.
   O(1) per stamp, no allocation; the NIC's own cost (a register read, a system call) comes on top.
   One thread at a time. ret NBC_OK | what read_clock or next_stamp say (stamps taken are not
   lost) */
NBC_API nbc_status nbc_nic_poll(nbc_nic_watch *watch);
NBC_API nbc_nic_counts nbc_nic_watch_counts(const nbc_nic_watch *watch);
NBC_API const nbc_relation *nbc_nic_watch_relation(const nbc_nic_watch *watch);
/* Adds to the report how the NIC was watched (note) and what was lost (counters "NAME stamps",
   "NAME stamps lost", ...). ret NBC_OK | NBC_E_NOMEM */
NBC_API nbc_status nbc_nic_watch_report(const nbc_nic_watch *watch, nbc_report *report);
#endif
#ifndef NBC_NO_TRANSPORT
#ifdef NBC_LINES
#line 1 "src/transport/contract.h"
#endif
/* The contract that carries messages. */






/* ============================================================================================== */
/* [TRANSPORT] 11. The contract that carries messages; null and scripted transports               */
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
/* Named as [THREADS] uses them; another transport uses them as it likes. */
typedef struct nbc_op_slot {
  nbc_op *next;
  void *buffer, *remote_op, *remote_address;
  uint64_t tag, order, granted_bytes, posted_bytes, arrived_bytes, xfer_id, remote_id;
  uint64_t limit_bytes; /* no more bytes than these will move, as far as this side knows */
  uint32_t kind, flying_count;
  bool started, queued;
} nbc_op_slot;

struct nbc_op {
  nbc_done_fn done; /* may be NULL: then poll `finished` */
  void *user;
  /* results, valid when finished */
  bool finished;
  nbc_status status;
  int peer;
  uint64_t size_bytes;
  nbc_op_slot slot; /* transport's own */
};

typedef struct nbc_transport nbc_transport;
struct nbc_transport {
  const char *name; /* "threads" */
  const char *help; /* one line */
  void *ctx;        /* first argument of every function */
  int rank, size;
  bool any_thread;       /* isend, irecv, progress may be called from several threads at once */
  bool any_peer;         /* NBC_ANY_PEER works */
  bool main_thread_only; /* no other thread than the creator's may call, not even one at a time */
  int64_t (*now_ns)(void *ctx);
  nbc_status (*isend)(void *ctx, const void *buffer, uint64_t size_bytes, int peer, uint64_t tag,
                      nbc_op *op);
  nbc_status (*irecv)(void *ctx, void *buffer, uint64_t size_bytes, int peer, uint64_t tag,
                      nbc_op *op);
  nbc_status (*progress)(void *ctx); /* NBC_OK, or the error that makes the transport unusable */
  /* Waiting on one transport must drive what the same thread has under way on others of the process, or ranks
     that wait in different orders wait for ever. Progresses those; their errors are theirs. NULL = none */
  void (*others)(void *ctx);
  /* A receive that is not matched yet finishes with NBC_E_CANCELLED. May be NULL */
  nbc_status (*cancel)(void *ctx, nbc_op *op);
  nbc_peer (*peer_class)(void *ctx, int peer); /* NULL = unknown */
  /* [size] the node on which each rank runs, a number in 0 ... size - 1; stays while the transport does. NULL = not
     known. With it, collectives cross between nodes once per node where that pays. */
  const int *nodes;
  bool (*same_clock)(void *ctx, int peer); /* the peer's now_ns is ours; NULL = no */
  /* Simulations: told before a collective copies or reduces so many bytes, to take the time for it.
     false: it is not done, this run moves no data. NULL = it is done. */
  bool (*local)(void *ctx, uint64_t size_bytes, bool reduces);
  nbc_recorder *recorder; /* set by the user: calls below and the transport's transfers are
                             recorded */
  /* Called by waiting functions, of operations and of collectives, after a progress that finished nothing: may sleep until something
     comes, 1 ms at most. NULL = they spin, and give the core away now and then. */
  void (*rest)(void *ctx);
};

/* Posting and waiting with the call events recorded when t->recorder is set. One thread at a time
   unless any_thread. limit_ns: give up with NBC_E_TIMEOUT after that long (operation stays posted);
   0 = wait for ever. Errors: the transport's own; NBC_E_PEER, NBC_E_INVAL. */
NBC_API nbc_status nbc_isend(const nbc_transport *t, const void *buffer, uint64_t size_bytes,
                             int peer, uint64_t tag, nbc_op *op);
NBC_API nbc_status nbc_irecv(const nbc_transport *t, void *buffer, uint64_t size_bytes, int peer,
                             uint64_t tag, nbc_op *op);
/* ret NBC_PENDING or the operation's status */
NBC_API nbc_status nbc_test(const nbc_transport *t, nbc_op *op);
NBC_API nbc_status nbc_wait(const nbc_transport *t, nbc_op *op, int64_t limit_ns);
NBC_API nbc_status nbc_send(const nbc_transport *t, const void *buffer, uint64_t size_bytes,
                            int peer, uint64_t tag);
NBC_API nbc_status nbc_recv(const nbc_transport *t, void *buffer, uint64_t size_bytes, int peer,
                            uint64_t tag);

/* For transports made by nbc_null_create, nbc_scripted_create or nbc_mpi_create. NULL allowed. */
NBC_API void nbc_transport_destroy(nbc_transport *t);

#ifdef NBC_LINES
#line 1 "src/transport/pingpong.h"
#endif
/* The a-priori table, measured over a transport. */






/* Measures the transfer time of a message by size [O §2.4: the a-priori table]: one-way time =
   half the shortest round trip, for which bounds of slower transfers hold too, between this rank and peer, which must call it with each other's
   rank.
   in   desc   zeroed = 1 B ... 4 MiB, powers of two, until the median is known to 1 % or 50 ms per size
   out  table  on both ranks (the lower rank measures and sends it)
   ret  NBC_OK | transport errors | NBC_E_INVAL */
typedef struct nbc_table_measure_desc {
  uint64_t min_bytes, max_bytes; /* 0 = 1, 4 MiB */
  int64_t time_per_size_ns;      /* 0 = 50 ms */
  int64_t limit_ns;              /* a peer that never answers: 0 = 30 s */
} nbc_table_measure_desc;
NBC_API nbc_status nbc_table_measure(const nbc_transport *t, int peer,
                                     const nbc_table_measure_desc *desc, nbc_table **table,
                                     nbc_error *err);
#ifdef NBC_LINES
#line 1 "src/transport/scripted.h"
#endif
/* Null and scripted transports. */





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
#ifdef NBC_LINES
#line 1 "src/transport/packets.h"
#endif
/* The engine below threads and OpenSHMEM: packets in rings, copy jobs, three protocols. */






/* ============================================================================================== */
/* [THREADS] 12. Ranks as threads: the transport that needs nothing                               */
/* ============================================================================================== */
/* Every rank is a thread of this process (or several ranks one thread, in tests), or a forked
   process that shares memory with the others (desc.processes). Progress happens only inside calls,
   unless a DMA thread stands in for the NIC. Protocols, as in [O §3]:
     EAGER        the sender's data goes to a buffer of the receiver at once; copied out at matching
     PIPELINED    rendezvous: first fragment with the request, the others one window at a time, each
                  posted by the sender when its progress runs (so they wait for a call)
     DIRECT_READ  rendezvous: the receiver's progress posts one read of the sender's buffer, then
                  tells the sender (FIN)
   Without a DMA thread the copies are done by whoever posts them, inside progress. With it, they
   are done at link speed while both ranks compute; only control messages wait for calls.
   Processes cannot reach into each other (reading a neighbour's memory takes the rights of a
   debugger, which containers and most machines withhold): no DMA thread, no DIRECT_READ, and every
   fragment of the pipeline is copied in and out of shared memory. */
typedef enum nbc_protocol {
  NBC_PROTOCOL_AUTO = 0, /* EAGER up to eager_limit_bytes, then `large` */
  NBC_PROTOCOL_EAGER,
  NBC_PROTOCOL_PIPELINED,
  NBC_PROTOCOL_DIRECT_READ
} nbc_protocol;

typedef struct nbc_threads nbc_threads;
typedef struct nbc_threads_desc {
  int size;                   /* ranks; 0 = 2 */
  nbc_protocol protocol;      /* for all messages, or AUTO */
  nbc_protocol large;         /* AUTO: above the limit; 0 = DIRECT_READ */
  uint64_t eager_limit_bytes; /* 0 = 8 KiB */
  uint64_t fragment_bytes;    /* 0 = 64 KiB */
  int pipeline_depth;         /* fragments in flight; 0 = 2 */
  bool processes;             /* nbc_threads_run forks one process per rank; large: PIPELINED */
  bool dma;                   /* a DMA thread moves the data */
  double link_bytes_per_s;    /* with dma: pace of the link; 0 = as fast as it copies */
  int64_t link_latency_ns;    /* with dma: what you write is what you get */
  const nbc_clock *clock;     /* copied; NULL = nbc_clock_create with defaults */
} nbc_threads_desc;

/* What the DMA thread saw of one transfer: the truth that the bounds must contain. */
typedef struct nbc_true_stamp {
  int src, dst;
  uint64_t sequence; /* of the fragment, per world */
  uint64_t size_bytes;
  int64_t t_begin_ns, t_end_ns;
  uint64_t send_xfer_id, recv_xfer_id; /* under these the ranks' recorders know it; 0 = not */
} nbc_true_stamp;

#ifdef NBC_LINES
#line 1 "src/transport/threads.h"
#endif
/* Ranks as threads: the transport that needs nothing. */






/* ret NBC_OK | NBC_E_INVAL | NBC_E_NOMEM | NBC_E_THREAD */
NBC_API nbc_status nbc_threads_create(const nbc_threads_desc *desc, nbc_threads **world);
NBC_API void nbc_threads_destroy(nbc_threads *world); /* NULL allowed; all ranks finished */
NBC_API nbc_threads_desc nbc_threads_desc_of(const nbc_threads *world); /* values in force */
/* The transport of one rank; one thread at a time may use it. Set ->recorder to record. */
NBC_API nbc_transport *nbc_threads_rank(nbc_threads *world, int rank);
/* Runs fn as every rank, each on its own thread, and joins. ret the first error any rank returned.
   With desc.processes in forks of this process, which end with fn: then *user is a copy, results
   come back through shared memory only, and NBC_E_PEER also means that a process died of a signal
   or of exit; the world is as new for the next run. */
typedef nbc_status (*nbc_rank_fn)(nbc_transport *t, void *user);
NBC_API nbc_status nbc_threads_run(nbc_threads *world, nbc_rank_fn fn, void *user);
/* Takes the oldest true stamps (with dma only); at most max; keeps the last 65536. Any thread. */
NBC_API size_t nbc_threads_stamps(nbc_threads *world, nbc_true_stamp *stamps, size_t max);
#ifdef NBC_LINES
#line 1 "src/transport/shared.h"
#endif
/* Memory that the ranks of a node share: one ring of messages for each ordered pair. */



#ifdef NBC_LINES
#line 1 "src/transport/mpi.h"
#endif
/* The transport over MPI (with NBC_WITH_MPI). */





/* ============================================================================================== */
/* [MPI] 13. The transport over MPI (with NBC_WITH_MPI)                                           */
/* ============================================================================================== */
/* On a duplicate of the communicator given, so it never meets the program's own messages. Matching
   is done here, by headers: tags have all 64 bits, the length of a message is known before its data
   is received (so a short receive is never overrun), and data goes in pieces that MPI can count.
     up to 4000 bytes   one MPI message, header and data; the send is complete at once (buffered)
     longer             header, then the data straight from the sender's buffer to the receiver's
   Shared memory. Ranks of one node send headers, and data of up to a third of a ring (of 64 KiB; with more than
   16 ranks on the node less, 4 KiB from 64 on, none above 128), through rings in memory that they share:
   at most 16 MiB for a node of up to 64 ranks, 65 MiB for 128, in no file system (a memfd, gone with its
   last user). A send for which there is no room goes by MPI, in order. Where it cannot be had
   (another user, separate process numbers, no memory), with desc.messages_only or NBC_SHARED_MEMORY=0, MPI's
   messages are used.
   Threads. From MPI_THREAD_SERIALIZED up any thread may post and progress: the transport calls MPI
   from one thread at a time, and under SERIALIZED the program puts its own MPI calls between
   nbc_mpi_lock and nbc_mpi_unlock when other threads use the transport meanwhile. Below, every MPI
   call is made by the main thread, inside isend, irecv and progress there; what other threads post
   waits for it, and their progress does nothing. Waiting for a collective or an operation on one of these
   transports also drives the others that the same thread used last: the process keeps a list of
   them (static, behind a mutex). Transfers are recorded for the creating thread's
   recorder; what another thread's progress finishes as foreign stamps.
   Clock. Ranks of one node that provably read one counter have one clock (same_clock): the lowest of
   them calibrates it. Proved means: one kernel by its boot id (containers share it, virtual machines
   have their own), a counter that this kernel trusts on all its cores and that was tested on each
   rank's, calibrations that agree, and no message between them that came before it was sent. */
#ifdef NBC_WITH_MPI
typedef struct nbc_mpi_desc {
  int thread_level; /* what the program counts on: MPI_THREAD_SINGLE ... _MULTIPLE */
  /* Of long messages' data; 0 = 1 GiB; at most 2 GiB - 1; the same in all ranks, which is
     checked */
  uint64_t piece_bytes;
  bool messages_only; /* no shared memory between ranks of a node */
} nbc_mpi_desc;
/* Collective over comm (an intracommunicator). err (may be NULL) says what is missing. A rank without
   memory or clock, with a piece_bytes that is too large or a thread_level that it does not get, fails in
   all ranks, with its status: nobody waits for it.
   ret  NBC_OK | NBC_E_INVAL (piece_bytes differ: two ranks and their values are named) | NBC_E_STATE (MPI not initialised, or finalised) | NBC_E_TRANSPORT
   (MPI
        provides a lower thread level than asked for: both are named; or MPI's own error text)
        | NBC_E_THREAD (below SERIALIZED only the main thread may create) | NBC_E_NOMEM |
        NBC_E_CLOCK */
NBC_API nbc_status nbc_mpi_create(MPI_Comm comm, const nbc_mpi_desc *desc, nbc_transport **t,
                                  nbc_error *err);
/* Collective. All operations should be finished: posted receives are forgotten, sends that do not
   complete within a second are left to MPI (and their memory with them). NULL allowed. After
   MPI_Finalize only memory is freed. */
NBC_API void nbc_mpi_destroy(nbc_transport *t);
/* Between the two, no thread calls MPI through t. Not inside `done`; not recursive. */
NBC_API void nbc_mpi_lock(nbc_transport *t);
NBC_API void nbc_mpi_unlock(nbc_transport *t);
/* Text of the MPI error that made progress fail; "" when there was none. */
NBC_API const char *nbc_mpi_error(const nbc_transport *t);
#endif

#ifdef NBC_LINES
#line 1 "src/transport/shmem.h"
#endif
/* The transport over OpenSHMEM (with NBC_WITH_SHMEM). */





/* ============================================================================================== */
/* [SHMEM] 14. The transport over OpenSHMEM (with NBC_WITH_SHMEM)                                 */
/* ============================================================================================== */
/* The engine of [THREADS] with its rings of packets in the symmetric heap: a packet goes to its
   receiver by put, fence and flag. Data always passes through the rings: EAGER up to
   eager_limit_bytes, PIPELINED above. All processing elements; one thread. */
#ifdef NBC_WITH_SHMEM
typedef struct nbc_shmem_desc {
  uint64_t eager_limit_bytes; /* 0 = 8 KiB */
  uint64_t fragment_bytes;    /* 0 = 16 KiB; the rings take 32 * shmem_n_pes() of it on each
                                 element */
  int pipeline_depth;         /* fragments in flight; 0 = 4 */
} nbc_shmem_desc;
/* Collective, after shmem_init. err (may be NULL) says what is missing.
   ret NBC_OK | NBC_E_INVAL | NBC_E_NOMEM (also: the symmetric heap is too small) | NBC_E_CLOCK */
NBC_API nbc_status nbc_shmem_create(const nbc_shmem_desc *desc, nbc_transport **t, nbc_error *err);
/* Collective, before shmem_finalize; all operations finished. NULL allowed. */
NBC_API void nbc_shmem_destroy(nbc_transport *t);
#endif
#endif
#ifndef NBC_NO_COLL
#ifdef NBC_LINES
#line 1 "src/coll/schedule.h"
#endif
/* Collectives as data: the builder finds dependencies from the bytes that nodes touch. */





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

#ifdef NBC_LINES
#line 1 "src/coll/trees.h"
#endif
/* Trees; barrier and broadcast. */




#ifdef NBC_LINES
#line 1 "src/coll/algorithms.h"
#endif
/* Algorithms of the other collectives, written as sequential programs. */




#ifdef NBC_LINES
#line 1 "src/coll/catalogue.h"
#endif
/* Which algorithm serves which collective. */




/* Whether the algorithm serves this collective for this process count and order. */
NBC_API bool nbc_schedule_supports(nbc_coll coll, nbc_algo algo, int size, bool not_commutative);

#ifdef NBC_LINES
#line 1 "src/coll/choice.h"
#endif
/* Which algorithm is taken: the choice table. */





/* Which algorithm: the first rule that fits in size and bytes and is supported. Bytes are those of
   `count`, of the mean block where every rank knows all counts, unbounded where each knows its own.
   Text format, one rule per line, '#' comments, 0 = any:
     bcast MAX_RANKS MAX_BYTES algorithm SEGMENT_BYTES RADIX */
#define NBC_CHOICE_MAX_RULES 256
typedef struct nbc_choice_rule {
  nbc_coll coll;
  int max_size;
  uint64_t max_bytes;
  nbc_algo algo;
  uint64_t segment_bytes;
  int radix;
} nbc_choice_rule;
typedef struct nbc_choice {
  size_t rule_count;
  nbc_choice_rule rules[NBC_CHOICE_MAX_RULES];
} nbc_choice;
/* Fills desc->algo, when it is AUTO, with segment_bytes and radix where they are 0 (table NULL =
   built in). Always finds one: what no rule serves is LINEAR. */
NBC_API void nbc_choose(const nbc_choice *table, nbc_schedule_desc *desc);
/* The rules built in, as a table to print or change. */
NBC_API void nbc_choice_default(nbc_choice *table);
/* ret NBC_OK | NBC_E_PARSE (err->line) | NBC_E_FULL | NBC_E_IO */
NBC_API nbc_status nbc_choice_parse(const char *text, size_t text_bytes, const char *name,
                                    nbc_choice *table, nbc_error *err);
NBC_API nbc_status nbc_choice_read(const char *path, nbc_choice *table, nbc_error *err);
NBC_API nbc_status nbc_choice_write(const nbc_choice *table, FILE *out);

#ifdef NBC_LINES
#line 1 "src/coll/build.h"
#endif
/* A schedule is built. */





/* ret NBC_OK | NBC_E_INVAL, NBC_E_RANGE (err names the field; algorithm and collective, order or
   process count do not fit) | NBC_E_NOMEM
   cost 50 to 500 ns per node; one rank's schedule only, O(log size) to O(size) nodes per segment */
NBC_API nbc_status nbc_schedule_build(const nbc_schedule_desc *desc, nbc_schedule **schedule,
                                      nbc_error *err);
NBC_API void nbc_schedule_free(nbc_schedule *schedule); /* NULL allowed */

#ifdef NBC_LINES
#line 1 "src/coll/price.h"
#endif
/* Schedules printed and priced. */





/* One line per node: index, operation, slices, "after" list. ret NBC_OK | NBC_E_IO */
NBC_API nbc_status nbc_schedule_print(const nbc_schedule *schedule, FILE *out);
/* All ranks as one Graphviz graph, messages dashed. ret NBC_OK | NBC_E_IO */
NBC_API nbc_status nbc_schedule_print_dot(const nbc_schedule *const *schedules, int size,
                                          FILE *out);

/* LogGP: a message of n bytes occupies the sender's processor for o, its network interface for
   max(g, n G), arrives L + n G later and costs the receiver o. Sends complete when handed over. */
typedef struct nbc_loggp {
  double latency_ns, overhead_ns, gap_ns, gap_per_byte_ns; /* L, o, g, G */
  double reduce_per_byte_ns, copy_per_byte_ns;
} nbc_loggp;
/* Time at which each rank (may be NULL) and the last rank finish, when all start at 0.
   ret NBC_OK | NBC_E_STATE (deadlock: err names a rank and node) | NBC_E_NOMEM */
NBC_API nbc_status nbc_schedule_price(const nbc_schedule *const *schedules, int size,
                                      const nbc_loggp *model, double *rank_end_ns, double *end_ns,
                                      nbc_error *err);
/* The same on nodes (as in nbc_schedule_desc; NULL = as above): messages inside a node cost what
   `inside` says; what is for other nodes leaves through one network interface per node. */
NBC_API nbc_status nbc_schedule_price_nodes(const nbc_schedule *const *schedules, int size,
                                            const nbc_loggp *model, const nbc_loggp *inside,
                                            const int *nodes, double *rank_end_ns, double *end_ns,
                                            nbc_error *err);

#ifdef NBC_LINES
#line 1 "src/coll/verify.h"
#endif
/* Schedules proved. */





/* Proves, by running them on an abstract network whose sends finish only when their receive is
   there, that the schedules of all ranks (up to 64) together
   - stay inside their areas, never write the send buffer, and order every two conflicting nodes;
   - match every send with one receive of the same size, and do not deadlock;
   - leave in every receive buffer exactly what the collective promises, operands in rank order
   where
     not_commutative is set, and touch nothing else (barrier: nobody leaves before all have
     entered).
   descs are those of the ranks. Elements are followed one by one: take small counts.
   ret NBC_OK | NBC_E_STATE (err says what fails where) | NBC_E_RANGE (size) | NBC_E_NOMEM */
NBC_API nbc_status nbc_schedule_verify(const nbc_schedule *const *schedules,
                                       const nbc_schedule_desc *descs, int size, nbc_error *err);
#ifdef NBC_LINES
#line 1 "src/coll/reduce.h"
#endif
/* Types and operators. */




/* ============================================================================================== */
/* [REDUCE] 16. Types and operators                                                               */
/* ============================================================================================== */
#define NBC_TYPE_LIST(X)                                                                           \
  X(BYTE, "byte", 1) /* moves, does not reduce */                                                  \
  X(BOOL, "bool", sizeof(bool))                                                                    \
  X(INT8, "int8", 1)                                                                               \
  X(UINT8, "uint8", 1)                                                                             \
  X(INT16, "int16", 2)                                                                             \
  X(UINT16, "uint16", 2)                                                                           \
  X(INT32, "int32", 4)                                                                             \
  X(UINT32, "uint32", 4)                                                                           \
  X(INT64, "int64", 8)                                                                             \
  X(UINT64, "uint64", 8)                                                                           \
  X(FLOAT, "float", sizeof(float))                                                                 \
  X(DOUBLE, "double", sizeof(double))                                                              \
  X(LONG_DOUBLE, "long_double", sizeof(long double))                                               \
  X(COMPLEX_FLOAT, "complex_float", 2 * sizeof(float))                                             \
  X(COMPLEX_DOUBLE, "complex_double", 2 * sizeof(double))                                          \
  X(COMPLEX_LONG_DOUBLE, "complex_long_double", 2 * sizeof(long double))                           \
  X(PAIR_INT16, "pair_int16", sizeof(nbc_pair_int16)) /* of MAXLOC and MINLOC */                   \
  X(PAIR_INT32, "pair_int32", sizeof(nbc_pair_int32))                                              \
  X(PAIR_INT64, "pair_int64", sizeof(nbc_pair_int64))                                              \
  X(PAIR_FLOAT, "pair_float", sizeof(nbc_pair_float))                                              \
  X(PAIR_DOUBLE, "pair_double", sizeof(nbc_pair_double))                                           \
  X(PAIR_LONG_DOUBLE, "pair_long_double", sizeof(nbc_pair_long_double))

typedef struct nbc_pair_int16 {
  int16_t value;
  int32_t index;
} nbc_pair_int16;
typedef struct nbc_pair_int32 {
  int32_t value;
  int32_t index;
} nbc_pair_int32;
typedef struct nbc_pair_int64 {
  int64_t value;
  int32_t index;
} nbc_pair_int64;
typedef struct nbc_pair_float {
  float value;
  int32_t index;
} nbc_pair_float;
typedef struct nbc_pair_double {
  double value;
  int32_t index;
} nbc_pair_double;
typedef struct nbc_pair_long_double {
  long double value;
  int32_t index;
} nbc_pair_long_double;

typedef enum nbc_type {
#define NBC__X(name, text, size_bytes) NBC_TYPE_##name,
  NBC_TYPE_LIST(NBC__X)
#undef NBC__X
      NBC_TYPE_COUNT
} nbc_type;

/* Sums and products of integers wrap, as unsigned ones do. Equal values: the lower index wins. */
#define NBC_REDUCE_LIST(X)                                                                         \
  X(MAX, "max")                                                                                    \
  X(MIN, "min")                                                                                    \
  X(SUM, "sum")                                                                                    \
  X(PROD, "prod")                                                                                  \
  X(LAND, "land")                                                                                  \
  X(BAND, "band")                                                                                  \
  X(LOR, "lor")                                                                                    \
  X(BOR, "bor")                                                                                    \
  X(LXOR, "lxor")                                                                                  \
  X(BXOR, "bxor")                                                                                  \
  X(MAXLOC, "maxloc")                                                                              \
  X(MINLOC, "minloc")
typedef enum nbc_reduce {
#define NBC__X(name, text) NBC_REDUCE_##name,
  NBC_REDUCE_LIST(NBC__X)
#undef NBC__X
      NBC_REDUCE_COUNT,
  NBC_REDUCE_USER = 100 /* and above: made by nbc_comm_operator */
} nbc_reduce;

NBC_API const char *nbc_type_name(nbc_type type);       /* "int32"; "?" */
NBC_API uint64_t nbc_type_bytes(nbc_type type);         /* 0: no such type */
NBC_API const char *nbc_reduce_name(nbc_reduce reduce); /* "sum", "user"; "?" */

/* dst[i] = left[i] op right[i]; dst may be left or right. `left` comes from lower ranks. */
typedef void (*nbc_reduce_fn)(void *dst, const void *left, const void *right, uint64_t count,
                              nbc_type type, void *user);
/* The function behind a predefined operator, for use without communication. ret NBC_OK |
   NBC_E_INVAL (the operator does not exist for this type) */
NBC_API nbc_status nbc_reduce_local(nbc_reduce reduce, nbc_type type, void *dst, const void *left,
                                    const void *right, uint64_t count);

#ifdef NBC_LINES
#line 1 "src/coll/progress.h"
#endif
/* Who drives collectives while the program computes. */






/* ============================================================================================== */
/* [PROGRESS] 17. Who drives collectives while the program computes                               */
/* ============================================================================================== */
/* Without an engine, collectives go on only while the program is inside nbc_coll_test or
   nbc_coll_wait. An engine is one worker thread that serves any number of communicators:
     DEDICATED  polls all the time on a core of its own; the program's calls never enter the
     transport
     TIMER      polls every few milliseconds, on the program's cores; waiting threads help
     IDLE       polls when nothing else wants a core (SCHED_IDLE); waiting threads help
   Starting a collective hands it over without a lock; the worker holds a spin lock while it polls.
   On a busy machine an IDLE worker may lose its core while it holds that lock: what needs the lock
   (freeing a running request, checking mode, destroying a communicator) then waits for it.
   What the worker uses, the program must leave alone: no nbc_isend, nbc_wait, ... on a transport
   that any_thread does not allow. What it moves is recorded as foreign stamps for the thread that
   attached the transport's recorder: set it before the communicators are created, and leave it
   until they are destroyed. */
typedef struct nbc_progress nbc_progress;
typedef enum nbc_policy {
  NBC_POLICY_NONE = 0,
  NBC_POLICY_DEDICATED,
  NBC_POLICY_TIMER,
  NBC_POLICY_IDLE,
  NBC_POLICY_COUNT
} nbc_policy;
NBC_API const char *nbc_policy_name(nbc_policy policy); /* "dedicated"; "?" */
NBC_API nbc_status nbc_policy_parse(const char *name, nbc_policy *policy);

typedef struct nbc_progress_desc {
  nbc_policy policy; /* not NONE */
  int core;          /* DEDICATED: the worker's core; what you write is what you get */
  bool share_core;   /* the creating thread may run on that core too; otherwise this is refused */
  int64_t period_ns; /* TIMER; 0 = 2 ms */
} nbc_progress_desc;

typedef struct nbc_progress_stats {
  uint64_t poll_count, submit_count;
  int64_t wall_ns, busy_ns; /* since creation; in polls that moved something on */
  double busy_ratio;
  uint64_t post_count;                /* posts that a completion released, */
  uint64_t hist_count[NBC_HIST_BINS]; /* by time from completion to post, bins as in nbc_cell */
} nbc_progress_stats;

/* DEDICATED: the creating thread's affinity mask stands for the program's cores, since its threads
   inherit it: bind the program first. The worker may use any core that the system allows.
   ret NBC_OK | NBC_E_INVAL | NBC_E_RANGE (no such core) | NBC_E_STATE (core shared with the
   program: err says what to set) | NBC_E_THREAD | NBC_E_NOMEM */
NBC_API nbc_status nbc_progress_create(const nbc_progress_desc *desc, nbc_progress **progress,
                                       nbc_error *err);
/* Stops the worker, also with requests in flight: they go on as without an engine. Idempotent. */
NBC_API void nbc_progress_stop(nbc_progress *progress);
/* Stops. NBC_E_STATE: communicators still use it. NULL allowed. */
NBC_API nbc_status nbc_progress_destroy(nbc_progress *progress);
NBC_API void nbc_progress_get_stats(const nbc_progress *progress, nbc_progress_stats *stats);
/* Shell lines that keep OpenMP off `core` on a machine or share of core_count cores (0 = those this
   process may use): OMP_NUM_THREADS, OMP_PLACES, OMP_PROC_BIND. ret NBC_OK | NBC_E_RANGE |
   NBC_E_IO */
NBC_API nbc_status nbc_progress_env(int core, int core_count, FILE *out);

#ifdef NBC_LINES
#line 1 "src/coll/request.h"
#endif
/* Communicators and requests: the executor, one for all algorithms. */









/* ============================================================================================== */
/* [COLL] 18. Collectives on any transport: communicators, requests                               */
/* ============================================================================================== */
/* A communicator is a transport plus what its collectives share: a number that keeps their messages
   apart, the choice table, schedules already built. Every rank calls the same collectives in the
   same order; any number may be in flight; buffers stay untouched until the request is finished.
   One thread at a time may use a communicator and its requests.

   Reductions. Which operand meets which is in the schedule, not in the order of arrival: the same call on the same
   number of ranks with the same algorithm gives the same bits, run after run (AUTO: with the same choice table).
   Every element of a sum of P floating-point operands x_i is added in P - 1 additions, so by [N. Higham, Accuracy and
   Stability of Numerical Algorithms, 2nd ed., SIAM 2002, section 4.2] it lies within g sum |x_i| of the true sum, with
   g = (P - 1) u / (1 - (P - 1) u), u = 2^-53 (double), 2^-24 (float), and so within 2 g sum |x_i| of the sum in
   the order of ranks, as long as nothing overflows. An operator that does not commute meets its operands
   in the order of ranks; other brackets than from the left are taken, so it must be associative. */
typedef struct nbc_comm nbc_comm;
typedef struct nbc_request nbc_request;
typedef struct nbc_comm_desc {
  nbc_transport *transport;
  uint32_t id;              /* same on all ranks; tells communicators of a transport apart; <
                               32768 */
  const nbc_choice *choice; /* copied; NULL = built in. The environment wins: NBC_CHOICE = a file;
                               NBC_ALGO = "bcast=chain:65536,allreduce=ring" (segment after ':') */
  bool check;               /* compare the arguments of all ranks before each collective */
  int64_t check_limit_ns;   /* for a rank that does not come to be compared, or, after a message of
                               another length, for what is missing: 0 = 10 s */
  nbc_progress *progress;   /* outlives the communicator; NULL = policy NONE */
} nbc_comm_desc;

/* Local. ret NBC_OK | NBC_E_INVAL, NBC_E_RANGE | NBC_E_PARSE, NBC_E_IO (environment) |
   NBC_E_NOMEM */
NBC_API nbc_status nbc_comm_create(const nbc_comm_desc *desc, nbc_comm **comm, nbc_error *err);
/* Requests still there are freed with it. NULL allowed. */
NBC_API void nbc_comm_destroy(nbc_comm *comm);
/* What the last error on this communicator was. */
NBC_API const nbc_error *nbc_comm_error(const nbc_comm *comm);
/* An operator of your own; all ranks make the same ones in the same order (at most 16). fn is
   called with `user`. ret NBC_OK | NBC_E_INVAL: comm, fn or reduce is NULL | NBC_E_FULL */
NBC_API nbc_status nbc_comm_operator(nbc_comm *comm, nbc_reduce_fn fn, void *user, bool commutative,
                                     nbc_reduce *reduce);

/* One rank's arguments of one collective, with the meaning they have in MPI. */
#define NBC_IN_PLACE ((void *)(intptr_t)-1) /* as send; for scatter(v) at the root as recv */
typedef struct nbc_coll_args {
  nbc_coll coll;
  const void *send;
  void *recv;     /* bcast: the buffer */
  uint64_t count; /* elements; see nbc_schedule_desc for what it counts */
  const uint64_t *send_counts, *send_displs, *recv_counts, *recv_displs; /* read in the call only */
  nbc_type type;
  nbc_reduce reduce;
  int root;
  nbc_algo algo; /* AUTO = by the choice table, with the next two */
  uint64_t segment_bytes;
  int radix;
  int window_count;
  const nbc_neighbors *neighbors; /* neighbor_...; read in the call only */
  /* For an operator of nbc_comm_operator, in place of the one given there; or NULL */
  void *operator_user;
} nbc_coll_args;

/* Starts a collective. Without a progress engine it goes on inside nbc_coll_test and nbc_coll_wait
   of any request on the transport, and of those that the same thread waits for on other MPI
   transports.
   ret NBC_OK | NBC_E_INVAL, NBC_E_RANGE (nbc_comm_error names the argument) | NBC_E_NOMEM */
NBC_API nbc_status nbc_coll_start_new(nbc_comm *comm, const nbc_coll_args *args,
                                      nbc_request **request);
/* Persistent: the schedule and all memory are made once, nbc_coll_start runs it again and again.
   Every rank makes the same ones in the same order; it may start them in any order. NBC_E_FULL:
   2^19 were made on the communicator since one that is still there. */
NBC_API nbc_status nbc_coll_init(nbc_comm *comm, const nbc_coll_args *args, nbc_request **request);
NBC_API nbc_status nbc_coll_start(nbc_request *request); /* NBC_E_STATE: still running */
/* NBC_PENDING, or the end: NBC_OK | NBC_E_MISMATCH, NBC_E_TRUNCATED (ranks disagree: so do all end that
   wait for something of the rank that saw it first, where lengths alone differ) | transport.
   At the end, a request that is not persistent is freed and *request becomes NULL; NULL is
   finished. limit_ns: NBC_E_TIMEOUT after that long, the request goes on; 0 = wait for ever. */
NBC_API nbc_status nbc_coll_test(nbc_request **request);
NBC_API nbc_status nbc_coll_wait(nbc_request **request, int64_t limit_ns);
/* Several at once, on any communicators of this thread; NULL is finished. As nbc_coll_test and
   nbc_coll_wait do one, so these end those that are over. What one of them ended with besides NBC_OK is
   returned when all are over (the first such; nbc_comm_error of its communicator has its text).
     waitall   all are over; NBC_E_TIMEOUT: those that are not go on, the others are NULL
     testall   the same without waiting; NBC_PENDING: none is ended
     waitany   *index = one that was ended, -1 when all are NULL or idle
     waitsome  which[0 ... *done - 1] = all that were over when there was one; *done 0 when all are NULL
   ret also NBC_E_INVAL: a pointer is NULL, a count is negative */
NBC_API nbc_status nbc_coll_waitall(int count, nbc_request *requests[], int64_t limit_ns);
NBC_API nbc_status nbc_coll_testall(int count, nbc_request *requests[]);
NBC_API nbc_status nbc_coll_waitany(int count, nbc_request *requests[], int *index,
                                    int64_t limit_ns);
NBC_API nbc_status nbc_coll_waitsome(int count, nbc_request *requests[], int *done, int which[],
                                     int64_t limit_ns);
/* The end without waiting, also of a running request: its receives are cancelled where the
   transport can; what cannot be recalled stays until the communicator is destroyed. NULL
   allowed. */
NBC_API void nbc_coll_free(nbc_request *request);
NBC_API const nbc_schedule *nbc_coll_schedule(const nbc_request *request); /* to print or price */
/* Starts and waits. */
NBC_API nbc_status nbc_coll_run(nbc_comm *comm, const nbc_coll_args *args);

#ifdef NBC_LINES
#line 1 "src/coll/collectives.h"
#endif
/* One line per collective. */






/* The same with one line per collective. Counts as in MPI: of one block for gather, scatter,
   allgather, alltoall and reduce_scatter_block; send and receive types are equal. */
NBC_API nbc_status nbc_ibarrier(nbc_comm *comm, nbc_request **request);
NBC_API nbc_status nbc_ibcast(nbc_comm *comm, void *buffer, uint64_t count, nbc_type type, int root,
                              nbc_request **request);
NBC_API nbc_status nbc_ireduce(nbc_comm *comm, const void *send, void *recv, uint64_t count,
                               nbc_type type, nbc_reduce reduce, int root, nbc_request **request);
NBC_API nbc_status nbc_iallreduce(nbc_comm *comm, const void *send, void *recv, uint64_t count,
                                  nbc_type type, nbc_reduce reduce, nbc_request **request);
NBC_API nbc_status nbc_ireduce_scatter_block(nbc_comm *comm, const void *send, void *recv,
                                             uint64_t count, nbc_type type, nbc_reduce reduce,
                                             nbc_request **request);
NBC_API nbc_status nbc_ireduce_scatter(nbc_comm *comm, const void *send, void *recv,
                                       const uint64_t *recv_counts, nbc_type type,
                                       nbc_reduce reduce, nbc_request **request);
NBC_API nbc_status nbc_igather(nbc_comm *comm, const void *send, void *recv, uint64_t count,
                               nbc_type type, int root, nbc_request **request);
NBC_API nbc_status nbc_igatherv(nbc_comm *comm, const void *send, uint64_t count, void *recv,
                                const uint64_t *recv_counts, const uint64_t *recv_displs,
                                nbc_type type, int root, nbc_request **request);
NBC_API nbc_status nbc_iscatter(nbc_comm *comm, const void *send, void *recv, uint64_t count,
                                nbc_type type, int root, nbc_request **request);
NBC_API nbc_status nbc_iscatterv(nbc_comm *comm, const void *send, const uint64_t *send_counts,
                                 const uint64_t *send_displs, void *recv, uint64_t count,
                                 nbc_type type, int root, nbc_request **request);
NBC_API nbc_status nbc_iallgather(nbc_comm *comm, const void *send, void *recv, uint64_t count,
                                  nbc_type type, nbc_request **request);
NBC_API nbc_status nbc_iallgatherv(nbc_comm *comm, const void *send, void *recv,
                                   const uint64_t *recv_counts, const uint64_t *recv_displs,
                                   nbc_type type, nbc_request **request);
NBC_API nbc_status nbc_ialltoall(nbc_comm *comm, const void *send, void *recv, uint64_t count,
                                 nbc_type type, nbc_request **request);
NBC_API nbc_status nbc_ialltoallv(nbc_comm *comm, const void *send, const uint64_t *send_counts,
                                  const uint64_t *send_displs, void *recv,
                                  const uint64_t *recv_counts, const uint64_t *recv_displs,
                                  nbc_type type, nbc_request **request);
NBC_API nbc_status nbc_iscan(nbc_comm *comm, const void *send, void *recv, uint64_t count,
                             nbc_type type, nbc_reduce reduce, nbc_request **request);
NBC_API nbc_status nbc_iexscan(nbc_comm *comm, const void *send, void *recv, uint64_t count,
                               nbc_type type, nbc_reduce reduce, nbc_request **request);
/* Neighbourhoods: each rank names with whom it exchanges. Counts: one per source (recv) and target
   (send). */
NBC_API nbc_status nbc_ineighbor_allgather(nbc_comm *comm, const nbc_neighbors *neighbors,
                                           const void *send, void *recv, uint64_t count,
                                           nbc_type type, nbc_request **request);
NBC_API nbc_status nbc_ineighbor_allgatherv(nbc_comm *comm, const nbc_neighbors *neighbors,
                                            const void *send, uint64_t count, void *recv,
                                            const uint64_t *recv_counts,
                                            const uint64_t *recv_displs, nbc_type type,
                                            nbc_request **request);
NBC_API nbc_status nbc_ineighbor_alltoall(nbc_comm *comm, const nbc_neighbors *neighbors,
                                          const void *send, void *recv, uint64_t count,
                                          nbc_type type, nbc_request **request);
NBC_API nbc_status nbc_ineighbor_alltoallv(nbc_comm *comm, const nbc_neighbors *neighbors,
                                           const void *send, const uint64_t *send_counts,
                                           const uint64_t *send_displs, void *recv,
                                           const uint64_t *recv_counts, const uint64_t *recv_displs,
                                           nbc_type type, nbc_request **request);
#ifdef NBC_LINES
#line 1 "src/coll/mpi_comm.h"
#endif
/* Collectives in an MPI program in three lines, and waits for both sorts of requests (with
   NBC_WITH_MPI). */







#ifdef NBC_WITH_MPI
/* Three lines in the place of MPI_Iallreduce and MPI_Wait:
     nbc_mpi_comm(MPI_COMM_WORLD, NBC_POLICY_NONE, &comm);                 once; at the end nbc_comm_destroy
     nbc_iallreduce(comm, in, out, n, NBC_TYPE_DOUBLE, NBC_REDUCE_SUM, &request);
     nbc_coll_wait(&request, 0);
   Makes a transport over mpi_comm, an engine unless the policy is NONE, and a communicator, which owns both:
   nbc_comm_destroy ends all three, before MPI_Finalize; make and destroy it on all ranks. With an engine MPI
   must provide MPI_THREAD_MULTIPLE (for less, make the three by hand: nbc_mpi_create). DEDICATED: the n-th rank of a node
   gets the n-th of the node's cores, from the last, that this job may use and no rank of it may run on.
   ret as nbc_mpi_create, nbc_progress_create and nbc_comm_create | NBC_E_STATE (DEDICATED: no core is left: bind the
       ranks, mpirun --bind-to core, or take another policy), the same on all ranks */
NBC_API nbc_status nbc_mpi_comm(MPI_Comm mpi_comm, nbc_policy policy, nbc_comm **comm);
/* The same with a sentence about what is missing in err (may be NULL). */
NBC_API nbc_status nbc_mpi_comm_create(MPI_Comm mpi_comm, nbc_policy policy, nbc_comm **comm,
                                       nbc_error *err);

/* Waiting for collectives of ours and requests of MPI's together, as nbc_coll_waitall and its sisters: driving one
   sort never stands still for the other. MPI's requests end as by MPI_Waitall ...: theirs become MPI_REQUEST_NULL
   or inactive. statuses: their_count of them, or MPI_STATUSES_IGNORE. From a thread that may call MPI.
     waitall   all are over. NBC_E_TIMEOUT: what was not over goes on, ours that were are NULL
     testall   the same without waiting; NBC_PENDING: some are not over
     waitany   *index = one that was ended: ours from 0, MPI's from our_count on; -1: none was active
     waitsome  which[0 ... *done - 1]: all that were over when there was one, counted alike, MPI's statuses in the
               order of theirs among those; which has room for all
   ret  NBC_OK | NBC_E_TIMEOUT, NBC_PENDING | NBC_E_TRANSPORT (MPI returned an error, told in the statuses) | what one of
        ours ended with | NBC_E_INVAL */
NBC_API nbc_status nbc_mpi_waitall(int our_count, nbc_request *ours[], int their_count,
                                   MPI_Request theirs[], MPI_Status statuses[], int64_t limit_ns);
NBC_API nbc_status nbc_mpi_testall(int our_count, nbc_request *ours[], int their_count,
                                   MPI_Request theirs[], MPI_Status statuses[]);
NBC_API nbc_status nbc_mpi_waitany(int our_count, nbc_request *ours[], int their_count,
                                   MPI_Request theirs[], int *index, MPI_Status *status,
                                   int64_t limit_ns);
NBC_API nbc_status nbc_mpi_waitsome(int our_count, nbc_request *ours[], int their_count,
                                    MPI_Request theirs[], int *done, int which[],
                                    MPI_Status statuses[], int64_t limit_ns);
#endif
#ifdef NBC_LINES
#line 1 "src/coll/tune.h"
#endif
/* Which algorithm is fastest here. */






/* Measures which algorithm is fastest here, by size; alltoallv, whose length each rank knows for
   itself only, gets one rule for all sizes; gatherv and scatterv stay as built in. v-variants are
   measured with lengths 50 % around their mean. Collective over comm, with nothing else in flight
   on it; all ranks get the same table: rules for this number of ranks, then those built in. Save it
   with nbc_choice_write, name the file in NBC_CHOICE or give it to nbc_comm_create.
   ret NBC_OK | NBC_E_RANGE | NBC_E_NOMEM | errors of the collectives */
typedef struct nbc_tune_desc {
  uint64_t max_bytes; /* of a vector, of all blocks together; 0 = 1 MiB */
  int reps;           /* per algorithm and size, the median counts; 0 = 5; at most 99 */
  int64_t limit_ns;   /* what is not measured by then stays as built in; 0 = 20 s */
} nbc_tune_desc;
NBC_API nbc_status nbc_tune(nbc_comm *comm, const nbc_tune_desc *desc, nbc_choice *table,
                            nbc_error *err);
#endif
#ifndef NBC_NO_TIME
#ifdef NBC_LINES
#line 1 "src/time/sync.h"
#endif
/* Many clocks: a common time for all ranks of a transport. */






/* ============================================================================================== */
/* [SYNC] 19. Many clocks: a common time for all ranks of a transport                             */
/* ============================================================================================== */
/* Rank 0's clock is the global time. Every other rank asks a lower one, in a tree of O(log ranks)
   rounds; a parent answers with bounds on the *global* time at which it read and wrote, so a rank's
   relation is to rank 0 directly and its bound holds whatever the parents' errors are. Ranks that
   share a clock (transport's same_clock) copy their lowest rank's relation, or need nothing when
   that is rank 0. All functions marked "collective" are called by all ranks in the same order.
   Ranks must run the same build of this header on the same kind of processor. */
/* Where in the guaranteed interval t_ns lies. The last three as published, for comparison: there
   err_ns grows so that it still holds the truth. */
typedef enum nbc_sync_method {
  NBC_SYNC_MIDDLE = 0, /* in its middle: err_ns is as small as it can be */
  NBC_SYNC_SKAMPI,     /* offset between the fastest trips of the last burst, no drift */
  NBC_SYNC_JK,         /* Jones and Koenig: regression over the fastest trips of all bursts */
  NBC_SYNC_HCA3,       /* slope of the regression, offset of the last burst */
  NBC_SYNC_METHOD_COUNT
} nbc_sync_method;
NBC_API const char *nbc_sync_method_name(nbc_sync_method method);

typedef struct nbc_sync_desc {
  nbc_sync_method method;
  double rate_limit_ppm;   /* between any clock and rank 0's; 0 = 400: two crystals */
  double wander_ppm_per_s; /* < 0 = not at all; 0 = 1: two crystals */
  int trip_count;          /* round trips per burst; 0 = 64. The last of several only ends it */
  int tree_arity;          /* 2 ... 64; 0 = 2. Larger: flatter tree, smaller errors, longer */
  int history_count;       /* states kept for nbc_sync_global of old times; 0 = 16 */
  int64_t limit_ns;        /* a rank that never answers; 0 = 30 s */
  int64_t retry_ns;        /* a trip without answer is repeated after this; 0 = never (reliable) */
  uint64_t tag;            /* messages use tag ... tag + 7 */
} nbc_sync_desc;

typedef struct nbc_sync nbc_sync;
typedef struct nbc_sync_info {
  int parent_rank, depth_count; /* whom this rank asks (-1: nobody); clocks between it and rank 0 */
  bool copied;                  /* shares its clock with parent_rank */
  nbc_time offset;              /* global - local, now */
  double rate_ppm, rate_err_ppm;
  double wander_seen_ppm_per_s; /* how fast the rate changed between the halves of the time that was
                                   watched, and twice what chance may hide; INFINITY = not yet known */
  int64_t rtt_min_ns;           /* fastest round trip so far; 0 = none made */
  int64_t residual_ns; /* the last burst's fastest trip against the relation: |middle - middle| */
  uint64_t trip_count, lost_count, backward_count, step_count;
} nbc_sync_info;

/* Collective: makes the relation of every rank to rank 0 with one burst of round trips. After a
   while a second burst (nbc_sync_update) tells the rates apart, and the bound stays small for long.
   ret NBC_OK | NBC_E_INVAL | NBC_E_NOMEM | NBC_E_TIMEOUT (err names the rank) | transport errors */
NBC_API nbc_status nbc_sync_create(const nbc_transport *t, const nbc_sync_desc *desc,
                                   nbc_sync **sync, nbc_error *err);
/* Collective: one more burst. Steps of a clock are seen here and counted. ret as above */
NBC_API nbc_status nbc_sync_update(nbc_sync *sync, nbc_error *err);
NBC_API nbc_sync_desc nbc_sync_desc_of(const nbc_sync *sync); /* values in force */
/* Global time of a local time (t->now_ns scale), old or new: old ones are interpolated between the
   states kept, new ones extrapolated. ret NBC_OK | NBC_E_RANGE (before a step: unknown) */
NBC_API nbc_status nbc_sync_global(const nbc_sync *sync, int64_t t_local_ns, nbc_time *global);
/* The bound that holds if rates wander by at most so much, which is the caller's to know or to have
   estimated (nbc_sync_info's wander_seen_ppm_per_s): extrapolating by X after watching for B, the
   limit of the desc costs X (B + X) / 2 times itself. Not for old times.
   ret NBC_OK | NBC_E_INVAL (wander negative, not finite) | NBC_E_MISMATCH (the readings refute it:
   the rate wandered faster) | NBC_E_RANGE */
NBC_API nbc_status nbc_sync_global_if(const nbc_sync *sync, double wander_ppm_per_s,
                                      int64_t t_local_ns, nbc_time *global);
/* The most probable global time of a local one, within the interval of nbc_sync_global: by the
   fastest trip of each burst, weighted by the inverse square of what its trips leave open beyond
   the best burst. One burst says nothing of drift, so it adds none; of two or more only drift
   counts that their trips cannot have made by chance. For differences between ranks; a bound goes
   with nbc_sync_global. ret as above */
NBC_API nbc_status nbc_sync_estimate(const nbc_sync *sync, int64_t t_local_ns,
                                     int64_t *t_global_ns);
/* The local time at which it is t_global_ns, as far as known. ret NBC_OK | NBC_E_RANGE */
NBC_API nbc_status nbc_sync_local(const nbc_sync *sync, int64_t t_global_ns, int64_t *t_local_ns);
NBC_API nbc_time nbc_sync_now(const nbc_sync *sync); /* global time; err_ns INT64_MAX = unknown */
NBC_API nbc_sync_info nbc_sync_info_of(const nbc_sync *sync);
NBC_API const nbc_transport *nbc_sync_transport(const nbc_sync *sync);
/* NULL allowed. Not before all ranks left their last collective call on it. */
NBC_API void nbc_sync_destroy(nbc_sync *sync);

#ifdef NBC_LINES
#line 1 "src/time/measure.h"
#endif
/* Measuring: common starts, repeats until sure, changes on the way. */







/* ============================================================================================== */
/* [MEASURE] 20. Measuring: common starts, repeats until sure, changes on the way                 */
/* ============================================================================================== */
/* ---- samples: what a list of measured times says ------------------------------------------- */
typedef struct nbc_sample_check {
  size_t outlier_count; /* beyond 1.5 interquartile ranges from the quartiles */
  bool changed;         /* the level changed on the way (Pettitt's test, p < 0.01) ... */
  size_t change_index;  /* ... most likely from this sample on */
  double change_p_ratio;
} nbc_sample_check;
/* Looks at samples in the order they were taken. O(n log n). ret NBC_OK | NBC_E_INVAL (no sample,
   not finite) | NBC_E_NOMEM */
NBC_API nbc_status nbc_samples_check(const double *values, size_t count, nbc_sample_check *out);
/* nbc_summarize of samples in the order they were taken, which stay as they are. The interval of
   the median assumes no independence: neighbours that resemble each other (one scheduler's slice,
   one frequency) count for fewer samples, as many as independent ones would be as sure. That is
   estimated from how long it takes until a sample says nothing of a later one being above the
   median; about 30 samples show it, fewer do not. independent_count may be NULL. ret as
   nbc_summarize | NBC_E_NOMEM */
NBC_API nbc_status nbc_samples_summarize(const double *values, size_t count,
                                         double confidence_ratio, nbc_summary *out,
                                         double *independent_count);
/* A random order of 0 ... count - 1, the same on all ranks for the same seed: sizes are measured in
   random order, so that slow changes of the machine do not look like an effect of size. */
NBC_API void nbc_shuffle(int *order, int count, uint64_t seed);

/* ---- why a measurement ended --------------------------------------------------------------- */
typedef enum nbc_stop {
  NBC_STOP_SURE = 0, /* the confidence interval of the median is as narrow as asked for */
  NBC_STOP_COUNT,    /* max_count samples */
  NBC_STOP_TIME,     /* time_limit_ns */
  NBC_STOP_LATE      /* no start was on time for too long: see missed_count */
} nbc_stop;
NBC_API const char *nbc_stop_name(nbc_stop stop); /* "sure", "count", "time", "late" */

typedef struct nbc_measurement {
  nbc_summary time;    /* ns */
  nbc_summary skew;    /* latest start - earliest start, ns; one process: empty */
  nbc_summary slowest; /* the longest time any single rank saw, ns; one process: empty */
  double err_ns;       /* guaranteed bound on the clocks' part in any sample of time */
  nbc_stop stop;
  int64_t missed_count;     /* starts with a late rank: discarded everywhere */
  int64_t window_ns;        /* the last window */
  double independent_count; /* samples of time are as sure as so many independent ones */
  nbc_sample_check check;
  double *samples_ns; /* in order, when asked for (rank 0); nbc_measurement_free */
  size_t sample_count;
} nbc_measurement;
NBC_API void nbc_measurement_free(nbc_measurement *m); /* the samples only; NULL allowed */

typedef struct nbc_repeat { /* when to stop; zeroed = defaults */
  int warmup_count;         /* not counted; 0 = 3, < 0 = none */
  int min_count, max_count; /* samples; 0 = 10, 1000 */
  double ci_ratio;          /* half the interval of the median / median; 0 = 0.02 */
  double confidence_ratio;  /* 0 = 0.95 */
  int64_t time_limit_ns;    /* 0 = 10 s */
  int64_t min_time_ns;      /* not sure before this, so that more than one state of the machine is
                               seen; 0 = 50 ms or half the limit, < 0 = none */
  bool keep_samples;
} nbc_repeat;

/* ---- one process: a loop around an operation ----------------------------------------------- */
typedef enum nbc_timing {
  NBC_TIMING_LOOP = 0, /* one reading before and after batch_count calls */
  NBC_TIMING_EACH      /* readings around every single call: adds them to the result. To show it. */
} nbc_timing;
typedef nbc_status (*nbc_measure_fn)(void *user);

/* Time of one call of fn: each sample is the mean of a batch, minus subtract_ns (the time, measured
   before, of what else the loop has to do). batch_count 0 = so many that a batch takes 20 us, and
   max_count of them the least time. repeat NULL = as all 0.
   ret NBC_OK | NBC_E_INVAL | NBC_E_NOMEM | NBC_E_CLOCK (it stepped backwards) | what fn returned */
NBC_API nbc_status nbc_measure_loop(const nbc_clock *clock, const nbc_repeat *repeat,
                                    nbc_timing timing, int batch_count, double subtract_ns,
                                    nbc_measure_fn fn, void *user, nbc_measurement *out);

/* ---- all ranks: max(end) - min(start) on synchronised clocks ------------------------------- */
typedef enum nbc_start {
  NBC_START_WINDOW = 0, /* all start at one global time; a sample with a late rank is discarded */
  NBC_START_BARRIER     /* all start when they leave a barrier: for comparison, see the skew */
} nbc_start;
typedef struct nbc_measure_desc {
  nbc_repeat repeat;
  nbc_start start;
  int64_t window_ns;     /* the first one; then twice what the slowest rank needs; 0 = 50 us */
  int64_t window_max_ns; /* 0 = 1 s */
  int64_t limit_ns;      /* a rank that never answers; 0 = 30 s */
} nbc_measure_desc;

/* Collective: fn is called once per sample on all ranks; desc NULL = as all 0. Rank 0 decides; all
   ranks get the result (samples: rank 0). ret NBC_OK | NBC_E_INVAL | NBC_E_NOMEM | NBC_E_TIMEOUT
   (err names the rank) | transport errors | the first error that fn returned anywhere, or
   NBC_E_CLOCK where a clock stepped backwards, on all ranks (err names the rank) */
NBC_API nbc_status nbc_measure(nbc_sync *sync, const nbc_measure_desc *desc, nbc_measure_fn fn,
                               void *user, nbc_measurement *out, nbc_error *err);
#ifdef NBC_LINES
#line 1 "src/time/model.h"
#endif
/* Models of what was measured: ranges of sizes, noise, LogGP. */





/* ============================================================================================== */
/* [MODEL] 21. Models of what was measured: ranges of sizes, noise, LogGP                         */
/* ============================================================================================== */
/* Time over size as straight lines, one per range of sizes, and the noise around each line as a
   mixture of normal distributions. Where a range ends (a protocol switches) is found, not given:
   the least sum of squares over all ways to cut (dynamic programming), each range paid for with a
   penalty. Distances are relative to the measured time, so that microseconds count as much as
   milliseconds, and at most three deviations each, so that a size that was disturbed does not make
   a range. */
enum { NBC_MODEL_MAX_RANGES = 8, NBC_MODEL_MAX_MODES = 3, NBC_MODEL_MAX_SIZES = 256 };

typedef struct nbc_model_mode {
  double weight_ratio, mean_ratio, sigma_ratio; /* of measured / line */
} nbc_model_mode;
typedef struct nbc_model_noise {
  int mode_count;                            /* chosen by the Bayesian information criterion */
  nbc_model_mode modes[NBC_MODEL_MAX_MODES]; /* ascending means */
  size_t sample_count;
} nbc_model_noise;
typedef struct nbc_model_range {
  uint64_t first_bytes,
      last_bytes;              /* smallest and largest measured size in it; the switch to the next
                                       range lies between last_bytes and its first_bytes */
  double base_ns, per_byte_ns; /* the line */
  double residual_ratio;       /* |median of a size - line| / line: the median over its sizes */
  size_t size_count, outlier_count; /* sizes; of them far off the line, and not in the noise */
  nbc_model_noise noise;
} nbc_model_range;
typedef struct nbc_model {
  int range_count;
  nbc_model_range ranges[NBC_MODEL_MAX_RANGES]; /* ascending sizes */
} nbc_model;
typedef struct nbc_model_desc {
  int max_ranges;         /* 0 = NBC_MODEL_MAX_RANGES */
  double tolerance_ratio; /* deviations from a line that need no explanation; 0 = 0.01 */
} nbc_model_desc;

/* Fits samples in any order, any number per size. O(sizes^3).
   ret NBC_OK | NBC_E_INVAL (no sample, a time not positive or not finite, desc out of range: err
   names it) | NBC_E_FULL (more than NBC_MODEL_MAX_SIZES different sizes) | NBC_E_NOMEM */
NBC_API nbc_status nbc_model_fit(const uint64_t *size_bytes, const double *time_ns, size_t count,
                                 const nbc_model_desc *desc, nbc_model *model, nbc_error *err);
/* The mixture alone (expectation-maximisation, 1 ... NBC_MODEL_MAX_MODES components).
   ret NBC_OK | NBC_E_INVAL (no value, one not finite) | NBC_E_NOMEM */
NBC_API nbc_status nbc_model_fit_noise(const double *values, size_t count, nbc_model_noise *noise);
/* The line of the range that size_bytes lies in (between two ranges: the lower; beyond: the
   nearest). */
NBC_API const nbc_model_range *nbc_model_range_of(const nbc_model *model, uint64_t size_bytes);
NBC_API double nbc_model_time_ns(const nbc_model *model, uint64_t size_bytes);

/* ---- LogGP of a transport, measured -------------------------------------------------------- */
/* Between two ranks, sizes in random order, several rounds:
     time    half a round trip                                     L + o_s + o_r at the smallest
     size o_s     the posting call of a message
     o_r     the wait for a message that arrived long ago, its receive posted before; where a
     transport
             moves data only inside calls (rendezvous), this includes the transfer, and L is what
             remains
     late    the same with the receive posted only then (delayed post): what a message costs that
             nobody waited for
     g, G    a batch of 16 messages until the answer, minus a single one, / 15: the gap between
     messages;
             G is its slope over the size, g what is left at the smallest size of a range
   and, for the dedicated-core model, the shortest call that posts, tests in vain, waits for what is
   there. */
typedef struct nbc_model_loggp_range { /* of the sizes of time.ranges[i] */
  uint64_t first_bytes, last_bytes;
  double send_overhead_ns, recv_overhead_ns, latency_ns, gap_ns; /* o_s, o_r, L, g */
  double per_byte_ns;                                            /* G */
  double late_recv_ns;                                           /* delayed post */
} nbc_model_loggp_range;
typedef struct nbc_model_series { /* rank of the lower number only */
  uint64_t *size_bytes;
  double *time_ns;
  size_t count;
} nbc_model_series;
typedef struct nbc_model_loggp {
  nbc_model time, gap; /* half a round trip; the gap between messages of a stream */
  int range_count;
  nbc_model_loggp_range ranges[NBC_MODEL_MAX_RANGES];
  double min_post_ns, min_test_ns, min_wait_ns;
  int round_count;
  nbc_model_series time_samples, gap_samples;
} nbc_model_loggp;
typedef struct nbc_model_loggp_desc {
  uint64_t max_bytes;    /* 0 = 1 MiB; at most 1 GiB */
  int sizes_per_octave;  /* 0 = 4; at most 8 */
  int round_count;       /* visits of each size; 0 = 8 */
  int64_t time_limit_ns; /* no round is begun after this long, but two; 0 = 10 s */
  int64_t limit_ns;      /* a rank that never answers; 0 = 30 s */
  uint64_t seed;         /* of the order of sizes */
  void (*compute)(void *user, int64_t d_ns); /* lets time pass without calls; NULL = a loop */
  void *user;
  nbc_model_desc fit;
  /* After each visit of a size, on the lower rank, how much is done: 0 to 1, as rounds or time go. NULL: none */
  void (*on_progress)(void *progress_user, double done_ratio);
  void *progress_user;
} nbc_model_loggp_desc;
/* Called by both ranks, peer being the other; both get the result. The lower rank's desc counts.
   ret NBC_OK | NBC_E_INVAL | NBC_E_NOMEM | NBC_E_TIMEOUT (err names the rank) | transport errors |
   NBC_E_CLOCK (it stepped backwards) | as nbc_model_fit; the higher rank then has NBC_E_CANCELLED.
   free with nbc_model_free */
NBC_API nbc_status nbc_model_measure(const nbc_transport *t, int peer,
                                     const nbc_model_loggp_desc *desc, nbc_model_loggp *loggp,
                                     nbc_error *err);
NBC_API void nbc_model_free(nbc_model_loggp *loggp); /* the samples only; NULL allowed */
/* Lines for the platform file of portals_model.h (LogGP mode): L, o, g of the smallest sizes, G of
   the largest; cpu_event_ns (o_r of the smallest); each range with its noise as a loggp_range. */
NBC_API nbc_status nbc_model_write_platform(const nbc_model_loggp *loggp, FILE *out);
/* Lines for nbc_dedicated_parse: what the calls cost; the application's counts are still to be
   added. */
NBC_API nbc_status nbc_model_write_dedicated(const nbc_model_loggp *loggp, FILE *out);
#ifdef NBC_LINES
#line 1 "src/time/dedicated.h"
#endif
/* The dedicated-core model: would a core of its own for communication pay?. */





/* ============================================================================================== */
/* [DEDICATED] 22. The model that says beforehand whether a dedicated core would pay              */
/* ============================================================================================== */
/* [R eq. 6.1], one process with N cores of which one is given to communication:
     t = t_comp N/(N-1) + N_nb t_min_nb + N_test t_min_test + N_wait t_min_wait
         + alpha N_bl (t_min_nb + t_min_wait) + (1 - alpha) T_bl + t_other
   Nonblocking transfers are taken to be hidden altogether, which holds when (H1) each has enough
   computation between its post and its wait, (H2) nothing but the dedicated core progresses, (H3)
   computation scales linearly. Where measurements say otherwise, the refined mode replaces
     N/(N-1)           by T(N-1)/T(N) from a list of threads -> time,
     N_wait t_min_wait by at least the part of each transfer that the computation between its post
     and
                       its wait cannot hide: sum of max(t_min_wait, xfer_time - computation).
   The formula takes all waiting to end. Waits that are longer than the transfers themselves are waits
   for others, who were late: they end only where these were late for want of progress. So the speed-up
   is an interval, from those waits all staying to all of them ending. */
enum { NBC_DEDICATED_MAX_SCALING = 64, NBC_DEDICATED_MAX_REQUESTS = 1024 };

typedef struct nbc_dedicated_request {  /* alike nonblocking transfers */
  double request_count, xfer_s, comp_s; /* of one: its transfer time, computation before its wait */
} nbc_dedicated_request;

typedef struct nbc_dedicated_input {
  char name[64];
  double noprog_s; /* measured run time without progression; 0 = unknown: no speed-up is given */
  double comp_s;   /* in computation, N threads */
  int core_count;  /* N >= 2 */
  double nb_count, min_nb_s, test_count, min_test_s, wait_count, min_wait_s;
  double blocking_count, blocking_s; /* blocking calls: number, total time */
  double other_s;
  double alpha_ratio;      /* share of blocking calls turned nonblocking, 0 ... 1 */
  double progressed_ratio; /* for H2: share of transfer time hidden already; < 0 = unknown */
  size_t scaling_size;
  int scaling_threads[NBC_DEDICATED_MAX_SCALING];
  double scaling_s[NBC_DEDICATED_MAX_SCALING];
  size_t request_size; /* entries of requests; 0 = not measured */
  nbc_dedicated_request requests[NBC_DEDICATED_MAX_REQUESTS];
  double waited_s; /* in wait and test calls, which is how nonblocking transfers end; 0 = unknown */
  double visible_s; /* of the time that these transfers took, what is not hidden, at most */
} nbc_dedicated_input;

typedef enum nbc_dedicated_verdict { /* of a hypothesis */
                                     NBC_DEDICATED_UNKNOWN = 0,
                                     NBC_DEDICATED_HOLDS,
                                     NBC_DEDICATED_FAILS
} nbc_dedicated_verdict;

typedef struct nbc_dedicated_result { /* the terms in the order of the formula, and their sum */
  double comp_s, nb_s, test_s, wait_s, turned_s, blocking_s, other_s, total_s;
  double speedup_ratio;           /* noprog_s / total_s; 0 when unknown */
  nbc_dedicated_verdict holds[3]; /* H1, H2, H3 */
  char evidence[3][160];          /* one sentence each */
  double others_s;                /* waits beyond the transfers: for others, who were late */
  double least_speedup_ratio;     /* noprog_s / (total_s + others_s); 0 when unknown */
} nbc_dedicated_result;

/* refined: use the measurements, where there are any, instead of H1 and H3.
   ret NBC_OK | NBC_E_RANGE (err names the field) */
NBC_API nbc_status nbc_dedicated_predict(const nbc_dedicated_input *input, bool refined,
                                         nbc_dedicated_result *result, nbc_error *err);
/* Input from measurements, per process (means of merged ones). core_count is not in them: set it,
   and noprog_s when the whole run was not measured.
   A report of this library (from the preload or a monitor). */
NBC_API void nbc_dedicated_from_report(const nbc_report *report, nbc_dedicated_input *input);
/* mpiP's text report: its "MPI Time" and "Callsite Time statistics" sections.
   ret NBC_OK | NBC_E_PARSE (err->line) */
NBC_API nbc_status nbc_dedicated_parse_mpip(const char *text, size_t text_bytes, const char *name,
                                            nbc_dedicated_input *input, nbc_error *err);
/* Lines "field value" with the names above; "name text"; "scaling THREADS SECONDS" and "request
   COUNT XFER_S COMP_S", any number; '#' comments. ret NBC_OK | NBC_E_PARSE (err->line) |
   NBC_E_FULL */
NBC_API nbc_status nbc_dedicated_parse(const char *text, size_t text_bytes, const char *name,
                                       nbc_dedicated_input *input, nbc_error *err);
#endif
#ifdef NBC_LINES
#line 1 "src/nbc_overlap.close"
#endif
#  ifdef __cplusplus
}
#endif
#endif /* NBC_OVERLAP_H_INCLUDED */
#ifdef NBC_LINES
#line 1 "src/nbc_overlap.begin"
#endif
/* ============================================================================================== */
/*                                        IMPLEMENTATION                                          */
/* ============================================================================================== */
#if defined(NBC_OVERLAP_IMPLEMENTATION) && !defined(NBC_OVERLAP_IMPLEMENTATION_ONCE)
#define NBC_OVERLAP_IMPLEMENTATION_ONCE
#ifdef NBC_LINES
#line 5 "src/base/private.h"
#endif
#ifndef NBC__PRIVATE
#  if defined(NBC_PIECES)
#    define NBC__PRIVATE __attribute__((visibility("hidden")))
#  elif defined(__GNUC__)
#    define NBC__PRIVATE __attribute__((unused)) static
#  else
#    define NBC__PRIVATE static
#  endif
#endif
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef NBC_LINES
#line 68 "src/base/config.h"
#endif
/* ============================================================================================== */
/* [CONFIG] 1. Options                                                                            */
/* ============================================================================================== */
#include <errno.h>
#if defined(__x86_64__) && defined(__GNUC__)
#  include <cpuid.h>
#endif
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#  include <sys/prctl.h>
#endif
#if defined(__linux__) && defined(NBC_WITH_MPI)
#  include <fcntl.h>
#  include <sys/stat.h>
#  include <sys/syscall.h>
#endif
#if !defined(CLOCK_MONOTONIC_RAW) || !defined(CPU_SETSIZE)
#  error "nbc_overlap.h: compile the implementing file with -D_GNU_SOURCE"
#endif
#if defined(NBC_MALLOC) != defined(NBC_FREE)
#  error "nbc_overlap.h: define both NBC_MALLOC and NBC_FREE, or none"
#endif
#ifndef NBC_MALLOC
#  define NBC_MALLOC(size_bytes) malloc(size_bytes)
#  define NBC_FREE(pointer)      free(pointer)
#  ifndef NBC_ZALLOC /* untouched memory is not resident */
#    define NBC_ZALLOC(size_bytes) calloc(1, size_bytes)
#  endif
#endif
#ifndef NBC_ASSERT
#  define NBC_ASSERT(condition) ((void)0)
#endif
#ifdef NBC_LINES
#line 1 "src/nbc_overlap.open"
#endif
#ifdef __cplusplus
extern "C" {
#endif
#ifdef NBC_LINES
#line 4 "src/base/sums.h"
#endif
#ifndef NBC__BASE_SUMS_H
#  define NBC__BASE_SUMS_H


NBC__PRIVATE void nbc__plus(int64_t *sum, int64_t value);
NBC__PRIVATE int64_t nbc__later(int64_t t_ns, int64_t d_ns);
NBC__PRIVATE int nbc__bits(uint64_t n);
NBC__PRIVATE size_t nbc__pow2(size_t value, size_t otherwise);
NBC__PRIVATE uint64_t nbc__random(uint64_t *state);
#endif /* NBC__BASE_SUMS_H */
#ifdef NBC_LINES
#line 1 "src/base/sums.c"
#endif
/* sums.c: sums that stop at the largest value, powers of two, random numbers. */
#ifndef NBC__BASE_SUMS_C
#define NBC__BASE_SUMS_C


/* Sums that stop at the largest value: what is added may come from an untrusted file. */
NBC__PRIVATE void nbc__plus(int64_t *sum, int64_t value) { /* value >= 0 */
  if (__builtin_add_overflow(*sum, value, sum)) *sum = INT64_MAX;
}

/* The same for times, d_ns >= 0. */
NBC__PRIVATE int64_t nbc__later(int64_t t_ns, int64_t d_ns) {
  return t_ns > INT64_MAX - d_ns ? INT64_MAX : t_ns + d_ns;
}

/* How many bits n takes: 0 for 0. */
NBC__PRIVATE int nbc__bits(uint64_t n) {
#ifdef __GNUC__
  return n ? 64 - __builtin_clzll(n) : 0;
#else
  int bits = 0;
  for (; n; n >>= 1) bits++;
  return bits;
#endif
}

/* The power of two, 16 to 2^30, that is at least value; value 0: otherwise. */
NBC__PRIVATE size_t nbc__pow2(size_t value, size_t otherwise) {
  size_t p = 16;
  if (value == 0) value = otherwise;
  while (p < value && p < ((size_t)1 << 30)) p *= 2;
  return p;
}

/* splitmix64: the next of a row of random numbers; *state names the row and may be anything. */
NBC__PRIVATE uint64_t nbc__random(uint64_t *state) {
  uint64_t z = (*state += UINT64_C(0x9E3779B97F4A7C15));
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return z ^ (z >> 31);
}
#endif /* NBC__BASE_SUMS_C */
#ifdef NBC_LINES
#line 4 "src/base/text.h"
#endif
#ifndef NBC__BASE_TEXT_H
#  define NBC__BASE_TEXT_H


NBC__PRIVATE const char *nbc__text_word(const char *at, const char *end, char *out,
                                        size_t out_bytes);
NBC__PRIVATE const char *nbc__text_whole(const char *at, const char *end, uint64_t *value);
NBC__PRIVATE const char *nbc__text_number(const char *at, const char *end, double *value);
NBC__PRIVATE const char *nbc__text_blank(const char *at, const char *end);
NBC__PRIVATE bool nbc__text_read_whole(const char **at, uint64_t *value);
NBC__PRIVATE void nbc__text_skip_blanks(const char **at);
NBC__PRIVATE void nbc__text_read_word(const char **at, char word[32]);
#endif /* NBC__BASE_TEXT_H */
#ifdef NBC_LINES
#line 1 "src/base/text.c"
#endif
/* text.c: numbers and words in text, whatever the locale says. */
#ifndef NBC__BASE_TEXT_C
#define NBC__BASE_TEXT_C


/* A word of the line, made printable and short for a message. */
NBC__PRIVATE const char *nbc__text_word(const char *at, const char *end, char *out,
                                        size_t out_bytes) {
  size_t n = 0;
  for (; at < end && n + 1 < out_bytes && *at != ' ' && *at != '\t'; at++)
    out[n++] = *at > 31 && *at < 127 ? *at : '?';
  out[n] = 0;
  return out;
}

/* Decimal digits that fit uint64_t. Returns the end of them; NULL when none or too many. */
NBC__PRIVATE const char *nbc__text_whole(const char *at, const char *end, uint64_t *value) {
  const char *start = at;
  *value = 0;
  for (; at < end && *at >= '0' && *at <= '9'; at++) {
    const uint64_t digit = (uint64_t)(*at - '0');
    if (*value > (UINT64_MAX - digit) / 10) return NULL;
    *value = *value * 10 + digit;
  }
  return at > start ? at : NULL;
}

/* [digits][.digits][e[+-]digits]: no sign, no inf, no nan, no hexadecimal. Digits beyond the 18th
   only move the exponent. Rounded as strtod rounds, which sees no decimal point and so needs no locale.
   Returns the end, NULL when there is no number. */
NBC__PRIVATE const char *nbc__text_number(const char *at, const char *end, double *value) {
  uint64_t mantissa = 0, exponent = 0;
  int scale = 0, digits = 0;
  bool point = false, minus = false;
  char plain[48];
  for (; at < end && ((*at >= '0' && *at <= '9') || (*at == '.' && !point)); at++) {
    if (*at == '.') {
      point = true;
      continue;
    }
    digits++;
    if (mantissa < 100000000000000000u)
      mantissa = mantissa * 10 + (uint64_t)(*at - '0'), scale -= point;
    else
      scale += !point;
  }
  if (digits == 0) return NULL;
  if (at < end && (*at == 'e' || *at == 'E')) {
    at++;
    if (at < end && (*at == '-' || *at == '+')) minus = *at++ == '-';
    at = nbc__text_whole(at, end, &exponent);
    if (!at) return NULL;
  }
  if (exponent > 100000) exponent = 100000;
  snprintf(plain, sizeof plain, "%llue%ld", (unsigned long long)mantissa,
           (long)scale + (minus ? -(long)exponent : (long)exponent));
  *value = strtod(plain, NULL);
  return at;
}

NBC__PRIVATE const char *nbc__text_blank(const char *at, const char *end) {
  while (at < end && (*at == ' ' || *at == '\t')) at++;
  return at;
}

NBC__PRIVATE bool nbc__text_read_whole(const char **at, uint64_t *value) {
  *value = 0;
  if (**at < '0' || **at > '9') return false;
  for (; **at >= '0' && **at <= '9'; (*at)++) {
    if (*value > (UINT64_MAX - 9) / 10) return false;
    *value = *value * 10 + (uint64_t)(**at - '0');
  }
  return true;
}

NBC__PRIVATE void nbc__text_skip_blanks(const char **at) {
  while (**at == ' ' || **at == '\t' || **at == '\r') (*at)++;
}

NBC__PRIVATE void nbc__text_read_word(const char **at, char word[32]) {
  size_t n = 0;
  nbc__text_skip_blanks(at);
  while (**at && !strchr(" \t\r#", **at) && n < 31) word[n++] = *(*at)++;
  word[n] = 0;
}
#endif /* NBC__BASE_TEXT_C */
#ifdef NBC_LINES
#line 4 "src/base/locale.h"
#endif
#ifndef NBC__BASE_LOCALE_H
#  define NBC__BASE_LOCALE_H

#  include <locale.h>

NBC__PRIVATE locale_t nbc__locale_begin(void);
NBC__PRIVATE void nbc__locale_end(locale_t before);
#endif /* NBC__BASE_LOCALE_H */
#ifdef NBC_LINES
#line 1 "src/base/locale.c"
#endif
/* locale.c: numbers with a point, also in a program that has set a locale with a comma. */
#ifndef NBC__BASE_LOCALE_C
#define NBC__BASE_LOCALE_C


/* From here to nbc__locale_end, what this thread prints and scans is as in the locale "C"; other threads
   see nothing of it. glibc keeps that locale ready and takes no memory for it; where there were none,
   numbers would stay as the program wants them. */
NBC__PRIVATE locale_t nbc__locale_begin(void) {
  return uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
}

NBC__PRIVATE void nbc__locale_end(locale_t before) {
  const locale_t plain = uselocale(before);
  if (plain != before && plain != LC_GLOBAL_LOCALE) freelocale(plain);
}
#endif /* NBC__BASE_LOCALE_C */
#ifdef NBC_LINES
#line 72 "src/base/status.h"
#endif
#ifdef __GNUC__
__attribute__((format(printf, 4, 5)))
#endif
NBC__PRIVATE nbc_status
nbc__status_fail(nbc_error *err, nbc_status status, int line, const char *format, ...);
NBC__PRIVATE void *nbc__zalloc(size_t size_bytes);
#ifdef NBC_LINES
#line 1 "src/base/status.c"
#endif
/* status.c: status codes, errors with text. */



/* ============================================================================================== */
/* [STATUS] 2. Status codes, errors with text; versions                                           */
/* ============================================================================================== */
NBC_API const char *nbc_status_name(nbc_status status) {
  switch (status) {
#define NBC__X(name, value, text)                                                                  \
  case name: return #name;
    NBC_STATUS_LIST(NBC__X)
#undef NBC__X
  case NBC_STATUS_FORCE_INT32: break;
  }
  return "NBC_?";
}

NBC_API const char *nbc_status_text(nbc_status status) {
  switch (status) {
#define NBC__X(name, value, text)                                                                  \
  case name: return text;
    NBC_STATUS_LIST(NBC__X)
#undef NBC__X
  case NBC_STATUS_FORCE_INT32: break;
  }
  return "unknown status";
}

NBC_API int nbc_version(void) { return NBC_VERSION; }

NBC_API const char *nbc_format_name(nbc_format format) {
  static const char *const names[] = {
#define NBC__X(name, text) text,
      NBC_FORMAT_LIST(NBC__X)
#undef NBC__X
  };
  return (unsigned)format < NBC_FORMAT_COUNT ? names[format] : "?";
}

/* Fills err (may be NULL) and returns status. */
NBC__PRIVATE nbc_status nbc__status_fail(nbc_error *err, nbc_status status, int line,
                                         const char *format, ...) {
  va_list args;
  if (!err) return status;
  err->status = status;
  err->line = line;
  const locale_t before = nbc__locale_begin();
  va_start(args, format);
  vsnprintf(err->text, sizeof err->text, format, args);
  va_end(args);
  nbc__locale_end(before);
  return status;
}

/* Zeroed memory; 0 bytes too have an address of their own. NULL: none left. */
NBC__PRIVATE void *nbc__zalloc(size_t size_bytes) {
#ifdef NBC_ZALLOC
  return NBC_ZALLOC(size_bytes ? size_bytes : 1);
#else
  void *p = NBC_MALLOC(size_bytes ? size_bytes : 1);
  if (p) memset(p, 0, size_bytes);
  return p;
#endif
}
#ifdef NBC_LINES
#line 76 "src/overlap/clock.h"
#endif
/* A reading that no neighbouring instruction passes; ticks as nbc_clock_ticks. */
NBC__PRIVATE uint64_t nbc__clock_ordered_ticks(const nbc_clock *clock);
#ifdef NBC_LINES
#line 1 "src/overlap/clock.c"
#endif
/* clock.c: clocks: what a nanosecond means here. */


/* ============================================================================================== */
/* [CLOCK] 3. Clocks                                                                              */
/* ============================================================================================== */
/* Everything below reaches the machine through a probe, so that tests can hand in a counter that
   steps back, changes its rate or differs between cores, and see it found. */
typedef struct nbc__clock_probe {
  nbc_clock_source source; /* of the counter; NBC_CLOCK_AUTO = none that we know here */
  bool invariant;          /* as the processor says */
  bool refused;            /* the kernel does not trust the counter */
  int64_t tick_ns;         /* one counter step, rounded up */
  uint64_t (*ticks)(void *user);
  int64_t (*raw_ns)(void *user); /* < 0: not available */
  void (*wait)(void *user, int64_t d_ns);
  bool (*visit)(void *user, int index); /* to the index-th allowed core; false = none; -1: home */
  void *user;
} nbc__clock_probe;

/* CLOCK_MONOTONIC_RAW was in [lo_ns, hi_ns] when the counter changed to `ticks`. */
typedef struct nbc__clock_bracket {
  uint64_t ticks;
  int64_t lo_ns, hi_ns;
} nbc__clock_bracket;

/* NBC__CLOCK_COUNTER: the source that nbc__clock_counter reads; AUTO when there is none. The plain
   reading may be done before earlier loads of the same thread are, so by microseconds when those miss
   the caches; the ordered one may not. */
#if defined(__x86_64__) && defined(__GNUC__)
#  define NBC__CLOCK_COUNTER NBC_CLOCK_TSC
static inline uint64_t nbc__clock_counter(void) {
  uint32_t lo, hi;
  __asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
  return (uint64_t)hi << 32 | lo;
}
/* lfence waits until all earlier instructions are done and lets none begin early [Intel SDM,
   RDTSC]: readings that bracket something, or follow what another thread did, need that. */
static inline uint64_t nbc__clock_counter_ordered(void) {
  uint32_t lo, hi;
  __asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(lo), "=d"(hi) : : "memory");
  return (uint64_t)hi << 32 | lo;
}
#elif defined(__aarch64__) && defined(__GNUC__)
#  define NBC__CLOCK_COUNTER NBC_CLOCK_CNTVCT
static inline uint64_t nbc__clock_counter(void) {
  uint64_t ticks;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
}
static inline uint64_t nbc__clock_counter_ordered(void) {
  uint64_t ticks;
  __asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(ticks) : : "memory");
  return ticks;
}
#else
#  define NBC__CLOCK_COUNTER NBC_CLOCK_AUTO
static inline uint64_t nbc__clock_counter(void) { return 0; }
static inline uint64_t nbc__clock_counter_ordered(void) { return 0; }
#endif

/* d * mult / 2^32, rounded down. The difference to the base is scaled, which may be negative: the
   shift is arithmetic, so times before the base come out right. */
static inline int64_t nbc__clock_scale(uint64_t d_ticks, uint64_t mult) {
#ifdef __SIZEOF_INT128__
  __extension__ typedef __int128 wide;
  return (int64_t)(((wide)(int64_t)d_ticks * (int64_t)mult) >> 32);
#else /* no counter source here, so mult is 2^32 */
  (void)mult;
  return (int64_t)d_ticks;
#endif
}

static int64_t nbc__clock_raw_ns(void *user) {
  struct timespec t;
  (void)user;
  return clock_gettime(CLOCK_MONOTONIC_RAW, &t) == 0 ? (int64_t)t.tv_sec * 1000000000 + t.tv_nsec
                                                     : -1;
}

#ifdef __GNUC__
__attribute__((noinline))
#endif
static uint64_t
nbc__clock_slow_ticks(const nbc_clock *clock) {
  return (uint64_t)(clock->source == NBC_CLOCK_USER ? clock->user_now_ns(clock->user)
                                                    : nbc__clock_raw_ns(NULL));
}

NBC_API uint64_t nbc_clock_ticks(const nbc_clock *clock) {
  if (!clock) return 0;
  return clock->source == NBC__CLOCK_COUNTER ? nbc__clock_counter() : nbc__clock_slow_ticks(clock);
}

NBC__PRIVATE uint64_t nbc__clock_ordered_ticks(const nbc_clock *clock) {
  if (clock->source != NBC__CLOCK_COUNTER) return nbc__clock_slow_ticks(clock);
  return nbc__clock_counter_ordered();
}

NBC_API int64_t nbc_clock_ticks_to_ns(const nbc_clock *clock, uint64_t ticks) {
  if (!clock) return 0;
  return clock->base_ns + nbc__clock_scale(ticks - clock->base_ticks, clock->mult);
}

/* Of a clock whose source is NBC__CLOCK_COUNTER. */
static inline int64_t nbc__clock_counter_ns(const nbc_clock *clock) {
  return clock->base_ns + nbc__clock_scale(nbc__clock_counter() - clock->base_ticks, clock->mult);
}

NBC_API int64_t nbc_clock_now_ns(const nbc_clock *clock) {
  if (!clock) return 0;
  if (clock->source != NBC__CLOCK_COUNTER) return (int64_t)nbc__clock_slow_ticks(clock);
  return nbc__clock_counter_ns(clock);
}

NBC_API int64_t nbc_clock_err_ns(const nbc_clock *clock, int64_t t_ns) {
  if (!clock) return 0;
  double outside_ns = 0;
  /* These are host time by definition. */
  if (clock->source == NBC_CLOCK_RAW || clock->source == NBC_CLOCK_USER) return 0;
  /* Between base and fit the line is held at both ends; outside its direction is what may be
     wrong. */
  if (t_ns < clock->base_ns) outside_ns = (double)clock->base_ns - (double)t_ns;
  if (t_ns > clock->t_fit_ns) outside_ns = (double)t_ns - (double)clock->t_fit_ns;
  return clock->fit_err_ns + (int64_t)ceil(outside_ns * clock->rate_err_ppm * 1e-6);
}

NBC_API const char *nbc_clock_source_name(nbc_clock_source source) {
  switch (source) {
  case NBC_CLOCK_AUTO: return "auto";
  case NBC_CLOCK_TSC: return "tsc";
  case NBC_CLOCK_CNTVCT: return "cntvct";
  case NBC_CLOCK_RAW: return "raw";
  case NBC_CLOCK_USER: return "user";
  }
  return "?";
}

NBC_API void nbc_spin_ns(const nbc_clock *clock, int64_t d_ns) {
  if (!clock) return;
  const int64_t start_ns = nbc_clock_now_ns(clock);
  while (nbc_clock_now_ns(clock) - start_ns < d_ns) {
  }
}

/* ---- the real probe ------------------------------------------------------------------------ */
typedef struct nbc__clock_cores { /* the cores this thread may run on */
  cpu_set_t allowed;
  bool known;
} nbc__clock_cores;

static uint64_t nbc__clock_real_ticks(void *user) {
  (void)user;
  return nbc__clock_counter_ordered();
}

static void nbc__clock_real_wait(void *user, int64_t d_ns) {
  const struct timespec t = {(time_t)(d_ns / 1000000000), (long)(d_ns % 1000000000)};
  (void)user;
  nanosleep(&t, NULL); /* a signal may end it early: the caller looks at the clock */
}

static bool nbc__clock_real_visit(void *user, int index) {
  nbc__clock_cores *cores = (nbc__clock_cores *)user;
  cpu_set_t one;
  if (!cores->known) return false;
  if (index < 0) return sched_setaffinity(0, sizeof cores->allowed, &cores->allowed) == 0;
  for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (!CPU_ISSET(cpu, &cores->allowed) || index-- > 0) continue;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    return sched_setaffinity(0, sizeof one, &one) == 0;
  }
  return false;
}

/* The kernel drops the TSC from its list of clock sources when it has seen it misbehave. Not
   readable (no sysfs) counts as no objection. */
static bool nbc__clock_kernel_refuses(const char *path, const char *wanted) {
  char list[256];
  FILE *file = fopen(path, "r");
  if (!file) return false;
  const size_t length = fread(list, 1, sizeof list - 1, file);
  fclose(file);
  list[length] = 0;
  return length > 0 && !strstr(list, wanted);
}

static nbc__clock_probe nbc__clock_real_probe(nbc__clock_cores *cores) {
  nbc__clock_probe p;
  memset(&p, 0, sizeof p);
  p.source = NBC__CLOCK_COUNTER;
  p.tick_ns = 1;
#if defined(__x86_64__) && defined(__GNUC__)
  unsigned a, b, c, d; /* Intel SDM 17.17.1, AMD APM 3 E.4.6: leaf 80000007h, EDX bit 8 */
  p.invariant = __get_cpuid(0x80000007u, &a, &b, &c, &d) && (d >> 8 & 1);
  p.refused = nbc__clock_kernel_refuses(
      "/sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc");
#elif defined(__aarch64__) && defined(__GNUC__)
  uint64_t hz; /* Arm ARM D12: the generic timer counts at this rate in every power state */
  __asm__ volatile("mrs %0, cntfrq_el0" : "=r"(hz));
  p.invariant = hz > 0;
  p.tick_ns = hz > 0 ? (int64_t)(1000000000 / hz + 1) : 1;
#endif
  (void)nbc__clock_kernel_refuses; /* elsewhere than on x86-64 nobody asks */
  p.ticks = nbc__clock_real_ticks;
  p.raw_ns = nbc__clock_raw_ns;
  p.wait = nbc__clock_real_wait;
  p.visit = nbc__clock_real_visit;
  p.user = cores;
  CPU_ZERO(&cores->allowed);
  cores->known = sched_getaffinity(0, sizeof cores->allowed, &cores->allowed) == 0;
  return p;
}

/* ---- calibration --------------------------------------------------------------------------- */
static nbc_status nbc__clock_refuse(nbc_clock *clock, const char *format, long long a,
                                    long long b) {
  char text[sizeof clock->why];
  snprintf(text, sizeof text, format, a, b);
  memcpy(clock->why, text, sizeof text);
  return NBC_E_CLOCK;
}

/* RAW, counter, RAW, counter, ... RAW: keeps the narrowest bracket. Interruptions make brackets
   wide, never wrong. */
static nbc_status nbc__clock_take(const nbc__clock_probe *p, int tries, nbc__clock_bracket *out,
                                  nbc_clock *clock) {
  int64_t before_ns = p->raw_ns(p->user), narrowest_ns = INT64_MAX;
  uint64_t last = 0;
  if (before_ns < 0) return nbc__clock_refuse(clock, "CLOCK_MONOTONIC_RAW cannot be read", 0, 0);
  for (int i = 0; i < tries; i++) {
    const uint64_t ticks = p->ticks(p->user);
    const int64_t after_ns = p->raw_ns(p->user);
    if (after_ns < before_ns)
      return nbc__clock_refuse(clock, "CLOCK_MONOTONIC_RAW stepped back by %lld ns",
                               (long long)(before_ns - after_ns), 0);
    if (i > 0 && (int64_t)(ticks - last) < 0)
      return nbc__clock_refuse(clock, "counter stepped back by %lld ticks",
                               (long long)(last - ticks), 0);
    if (after_ns - before_ns < narrowest_ns) {
      narrowest_ns = after_ns - before_ns;
      out->ticks = ticks;
      out->lo_ns =
          before_ns - p->tick_ns; /* the counter changed to `ticks` up to one step earlier */
      out->hi_ns = after_ns + 1;  /* RAW is cut off to whole ns */
    }
    last = ticks;
    before_ns = after_ns;
  }
  return NBC_OK;
}

/* Host time = the line through the middles of two brackets. If the rate is constant, RAW - host
   time is linear and lies within half a bracket at both: between them within the wider half,
   outside it grows at most by (half + half) / distance. */
static bool nbc__clock_fit(nbc_clock *clock, uint64_t base_ticks, int64_t base_ns,
                           int64_t base_err_ns, const nbc__clock_bracket *last, int64_t tick_ns) {
  const int64_t last_ns = last->lo_ns + (last->hi_ns - last->lo_ns) / 2;
  const int64_t last_err_ns = (last->hi_ns - last->lo_ns + 1) / 2;
  const double d_ticks = (double)(int64_t)(last->ticks - base_ticks),
               d_ns = (double)(last_ns - base_ns);
  if (!(d_ticks > 0) || !(d_ns > 0) || !(d_ns / d_ticks < 1e6)) return false;
  const double mult = d_ns / d_ticks * 4294967296.0;
  clock->base_ticks = base_ticks;
  clock->base_ns = base_ns;
  clock->base_err_ns = base_err_ns;
  clock->mult = (uint64_t)(mult + 0.5);
  clock->hz = d_ticks / d_ns * 1e9;
  /* The last term is what rounding mult to a whole number may be wrong by, half of one part in
     mult. */
  clock->rate_err_ppm = (double)(base_err_ns + last_err_ns + 1) / d_ns * 1e6 + 0.5e6 / mult;
  clock->t_fit_ns = last_ns;
  /* between two counter steps time goes on; the conversion rounds down */
  clock->fit_err_ns = (base_err_ns > last_err_ns ? base_err_ns : last_err_ns) + tick_ns + 1;
  return true;
}

/* By how much a bracket contradicts the clock: 0 = it does not. */
static int64_t nbc__clock_contradiction_ns(const nbc_clock *clock, const nbc__clock_bracket *b) {
  const int64_t t_ns = nbc_clock_ticks_to_ns(clock, b->ticks),
                err_ns = nbc_clock_err_ns(clock, t_ns);
  if (t_ns + err_ns < b->lo_ns) return b->lo_ns - t_ns - err_ns;
  if (t_ns - err_ns > b->hi_ns) return t_ns - err_ns - b->hi_ns;
  return 0;
}

enum {
  NBC__CLOCK_STAGES = 4,
  NBC__CLOCK_TRIES = 100,
  NBC__CLOCK_CORE_ROUNDS = 3,
  NBC__CLOCK_CORES_NS = 100000000
};

/* Half of the time the core computes and half of it sleeps: a counter that follows the power state
   then contradicts the line. */
static nbc_status nbc__clock_calibrate(nbc_clock *clock, const nbc__clock_probe *p,
                                       int64_t calibrate_ns) {
  nbc__clock_bracket seen[NBC__CLOCK_STAGES + 1];
  nbc_status status = nbc__clock_take(p, NBC__CLOCK_TRIES, &seen[0], clock);
  if (status != NBC_OK) return status;
  for (int i = 1; i <= NBC__CLOCK_STAGES; i++) {
    const int64_t end_ns = seen[0].hi_ns + calibrate_ns * i / NBC__CLOCK_STAGES;
    /* Odd stages look at the clock all the time, even ones sleep. */
    for (int64_t now_ns; (now_ns = p->raw_ns(p->user)) < end_ns;) {
      if (now_ns < 0) return nbc__clock_refuse(clock, "CLOCK_MONOTONIC_RAW cannot be read", 0, 0);
      if (i % 2 == 0) p->wait(p->user, end_ns - now_ns);
    }
    status = nbc__clock_take(p, NBC__CLOCK_TRIES, &seen[i], clock);
    if (status != NBC_OK) return status;
    if ((int64_t)(seen[i].ticks - seen[i - 1].ticks) < 0)
      return nbc__clock_refuse(clock, "counter stepped back by %lld ticks",
                               (long long)(seen[i - 1].ticks - seen[i].ticks), 0);
  }
  /* The line goes through the first and the last bracket; those between are witnesses, which a
     constant rate satisfies whatever the machine did. */
  if (!nbc__clock_fit(clock, seen[0].ticks, seen[0].lo_ns + (seen[0].hi_ns - seen[0].lo_ns) / 2,
                      (seen[0].hi_ns - seen[0].lo_ns + 1) / 2, &seen[NBC__CLOCK_STAGES],
                      p->tick_ns))
    return nbc__clock_refuse(clock, "counter does not move", 0, 0);
  for (int i = 1; i < NBC__CLOCK_STAGES; i++) {
    const int64_t off_ns = nbc__clock_contradiction_ns(clock, &seen[i]);
    if (off_ns > 0)
      return nbc__clock_refuse(clock, "counter's rate is not constant: %lld ns beyond the bound",
                               (long long)off_ns, 0);
  }
  return NBC_OK;
}

/* Goes round the cores this thread may use. Two ways to see that a core's counter differs: it is
   earlier than what another core said before (sees offsets longer than the move takes), and it
   contradicts RAW (sees smaller ones, where RAW does not stand on the same counter). */
static nbc_status nbc__clock_check_cores(nbc_clock *clock, const nbc__clock_probe *p) {
  nbc_status status = NBC_OK;
  uint64_t last = p->ticks(p->user);
  const int64_t start_ns = p->raw_ns(p->user);
  int count = 0;
  bool late = false; /* many cores, or busy ones that make us wait */
  for (int round = 0; round < NBC__CLOCK_CORE_ROUNDS && status == NBC_OK && !late; round++) {
    for (int i = 0; status == NBC_OK && !late && p->visit(p->user, i); i++) {
      nbc__clock_bracket bracket;
      const uint64_t ticks = p->ticks(p->user);
      if ((int64_t)(ticks - last) < 0) {
        const int64_t back_ns = nbc__clock_scale(last - ticks, clock->mult);
        if (back_ns > clock->max_backstep_ns) clock->max_backstep_ns = back_ns;
        status = nbc__clock_refuse(clock, "counter steps back by %lld ns on core %lld",
                                   (long long)back_ns, i);
        break;
      }
      /* A core whose counter is ahead is not seen when it is reached, but when it is left: the next
         core is behind it. */
      status = nbc__clock_take(p, 8, &bracket, clock);
      const int64_t off_ns = status == NBC_OK ? nbc__clock_contradiction_ns(clock, &bracket) : 0;
      if (off_ns > 0)
        status = nbc__clock_refuse(clock, "counter is off by more than %lld ns on core %lld",
                                   (long long)off_ns, i);
      last = p->ticks(p->user);
      if (round == 0) count = i + 1;
      late = p->raw_ns(p->user) - start_ns > NBC__CLOCK_CORES_NS;
    }
  }
  p->visit(p->user, -1);
  clock->cpus_checked_count = count;
  return status;
}

/* Smallest step and median cost of a reading. The median of batches: an interruption makes one
   batch dear, not the result. */
static void nbc__clock_measure(nbc_clock *clock, const nbc__clock_probe *p) {
  enum { BATCHES = 31, READINGS = 64 };
  double costs[BATCHES];
  uint64_t last = nbc_clock_ticks(clock), step = UINT64_MAX;
  for (int i = 0; i < BATCHES; i++) {
    const int64_t start_ns = p->raw_ns(p->user);
    for (int k = 0; k < READINGS; k++) {
      const uint64_t ticks = nbc_clock_ticks(clock);
      if (ticks > last && ticks - last < step) step = ticks - last;
      last = ticks;
    }
    costs[i] = (double)(p->raw_ns(p->user) - start_ns) / (double)READINGS;
  }
  for (int i = 1; i < BATCHES; i++) { /* insertion sort: short */
    const double cost = costs[i];
    int k = i;
    for (; k > 0 && costs[k - 1] > cost; k--) costs[k] = costs[k - 1];
    costs[k] = cost;
  }
  clock->read_cost_ns = costs[BATCHES / 2];
  clock->resolution_ns = step == UINT64_MAX ? 0 : (double)step * 1e9 / clock->hz;
}

static void nbc__clock_plain(nbc_clock *clock,
                             nbc_clock_source source) { /* ticks are nanoseconds */
  clock->source = source;
  clock->base_ticks = 0;
  clock->base_ns = clock->t_fit_ns = clock->base_err_ns = clock->fit_err_ns = 0;
  clock->mult = (uint64_t)1 << 32;
  clock->hz = 1e9;
  clock->rate_err_ppm = 0;
}

static nbc_status nbc__clock_try_counter(const nbc_clock_desc *desc, const nbc__clock_probe *p,
                                         nbc_clock *clock) {
  if (p->source == NBC_CLOCK_AUTO)
    return nbc__clock_refuse(clock, "no counter known on this processor", 0, 0);
  clock->invariant = p->invariant;
  if (!p->invariant)
    return nbc__clock_refuse(clock, "the processor does not promise a constant rate", 0, 0);
  if (p->refused) return nbc__clock_refuse(clock, "the kernel does not trust the counter", 0, 0);
  clock->source = p->source;
  nbc_status status =
      nbc__clock_calibrate(clock, p, desc->calibrate_ns ? desc->calibrate_ns : 10000000);
  if (status == NBC_OK && !desc->trust_counter) status = nbc__clock_check_cores(clock, p);
  if (status != NBC_OK) return status;
  snprintf(clock->why, sizeof clock->why, "invariant counter, monotonic on the %d cores tested",
           clock->cpus_checked_count);
  return NBC_OK;
}

static nbc_status nbc__clock_create_on(const nbc_clock_desc *desc, const nbc__clock_probe *p,
                                       nbc_clock *clock) {
  static const nbc_clock_desc defaults = {NBC_CLOCK_AUTO, 0, NULL, NULL, false};
  if (!desc) desc = &defaults;
  memset(clock, 0, sizeof *clock);
  if (desc->calibrate_ns < 0) return NBC_E_INVAL;
  switch (desc->source) {
  case NBC_CLOCK_USER:
    if (!desc->now_ns) return NBC_E_INVAL;
    nbc__clock_plain(clock, NBC_CLOCK_USER);
    clock->user_now_ns = desc->now_ns;
    clock->user = desc->user;
    snprintf(clock->why, sizeof clock->why, "asked for");
    return NBC_OK; /* not read here: a simulated clock may count its readings */
  case NBC_CLOCK_TSC:
  case NBC_CLOCK_CNTVCT:
    if (desc->source != p->source)
      return nbc__clock_refuse(clock, "this processor has no such counter", 0, 0);
    if (nbc__clock_try_counter(desc, p, clock) != NBC_OK) return NBC_E_CLOCK;
    nbc__clock_measure(clock, p);
    return NBC_OK;
  case NBC_CLOCK_AUTO:
    if (nbc__clock_try_counter(desc, p, clock) == NBC_OK) {
      nbc__clock_measure(clock, p);
      return NBC_OK;
    }
    break;
  case NBC_CLOCK_RAW: snprintf(clock->why, sizeof clock->why, "asked for"); break;
  default: return NBC_E_INVAL;
  }
  if (p->raw_ns(p->user) < 0)
    return nbc__clock_refuse(clock, "CLOCK_MONOTONIC_RAW cannot be read", 0, 0);
  nbc__clock_plain(clock, NBC_CLOCK_RAW);
  nbc__clock_measure(clock, p);
  return NBC_OK;
}

NBC_API nbc_status nbc_clock_create(const nbc_clock_desc *desc, nbc_clock *clock) {
  if (!clock) return NBC_E_INVAL;
  nbc__clock_cores cores;
  const nbc__clock_probe p = nbc__clock_real_probe(&cores);
  return nbc__clock_create_on(desc, &p, clock);
}

static nbc_status nbc__clock_recalibrate_on(nbc_clock *clock, const nbc__clock_probe *p) {
  nbc__clock_bracket now;
  nbc_clock better;
  if (clock->source != p->source) return NBC_OK; /* RAW and USER have nothing to calibrate */
  const nbc_status status = nbc__clock_take(p, NBC__CLOCK_TRIES, &now, clock);
  if (status != NBC_OK) return status;
  const int64_t off_ns = nbc__clock_contradiction_ns(clock, &now);
  if (off_ns > 0)
    return nbc__clock_refuse(clock,
                             "counter and CLOCK_MONOTONIC_RAW disagree by %lld ns beyond the bound",
                             (long long)off_ns, 0);
  /* The base stays: times that were taken keep their meaning up to the bound, and the longer
     baseline makes the rate better. */
  better = *clock;
  if (nbc__clock_fit(&better, clock->base_ticks, clock->base_ns, clock->base_err_ns, &now,
                     p->tick_ns) &&
      better.rate_err_ppm < clock->rate_err_ppm) /* a wide last bracket could be worse */
    *clock = better;
  return NBC_OK;
}

NBC_API nbc_status nbc_clock_recalibrate(nbc_clock *clock) {
  if (!clock) return NBC_E_INVAL;
  nbc__clock_cores cores;
  const nbc__clock_probe p = nbc__clock_real_probe(&cores);
  return nbc__clock_recalibrate_on(clock, &p);
}
#ifdef NBC_LINES
#line 75 "src/overlap/stats.h"
#endif
NBC__PRIVATE int nbc__stats_order(const void *a, const void *b);
NBC__PRIVATE size_t nbc__stats_rank(size_t n, double confidence_ratio, double *covered_ratio);
#ifdef NBC_LINES
#line 1 "src/overlap/stats.c"
#endif
/* stats.c: medians, quantiles, confidence intervals; the four ratios and the diagnosis. */



/* ============================================================================================== */
/* [STATS] 4. Statistics, ratios, diagnosis                                                       */
/* ============================================================================================== */
NBC__PRIVATE int nbc__stats_order(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

NBC_API double nbc_quantile(const double *sorted, size_t count, double q) {
  if (!sorted) return 0;
  if (!(q > 0)) return sorted[0];
  if (q >= 1) return sorted[count - 1];
  const double place = q * (double)(count - 1);
  const size_t below = (size_t)place;
  if (below + 1 >= count) return sorted[count - 1];
  return sorted[below] + (place - (double)below) * (sorted[below + 1] - sorted[below]);
}

/* C(2m, m) / 4^m, the middle of the binomial distribution of 2m fair coins: the product of (2i - 1)
   / 2i. For m = 500 and more, Stirling's series: 1 / sqrt(pi m) (1 - 1/8m + 1/128m^2 + 5/1024m^3 -
   21/32768m^4), exact to double precision there. */
static double nbc__stats_middle(size_t m) {
  if (m < 500) {
    double p = 1;
    for (size_t i = 1; i <= m; i++) p *= (double)(2 * i - 1) / (double)(2 * i);
    return p;
  }
  const double r = 1 / (double)m;
  return sqrt(r / 3.14159265358979323846) *
         (1 + r * (-1 / 8.0 + r * (1 / 128.0 + r * (5 / 1024.0 - r * 21 / 32768.0))));
}

/* The order statistics X(l), X(n+1-l) cover the median with probability P(l <= B <= n-l), where B
   counts heads of n fair coins: whatever the distribution of the values is, each lies below the
   median with probability 1/2. Sums outwards from the middle until that is enough: B and n - B are
   alike, so each step adds its term twice. Returns the largest such l, or 1 when even [min, max]
   covers less. O(sqrt(n)), any n: the terms that matter are within some sqrt(n) of the middle. */
NBC__PRIVATE size_t nbc__stats_rank(size_t n, double confidence_ratio, double *covered_ratio) {
  const size_t m = n / 2;
  size_t l = n % 2 ? m + 1 : m;    /* now l..n-l holds nothing (odd n) or the one middle value */
  double p = nbc__stats_middle(m); /* P(B = l), or of the value next outside for odd n */
  double covered = n % 2 ? 0 : p;
  if (n % 2) p *= (double)(2 * m + 1) / (double)(2 * m + 2);
  while (l > 1 && covered < confidence_ratio) {
    l--;
    if (n % 2 == 0 || l < m) p *= (double)(l + 1) / (double)(n - l);
    covered += 2 * p;
  }
  if (n < 2) covered = 0;
  *covered_ratio = covered < 1 ? covered : 1;
  return l > 0 ? l : 1;
}

NBC_API nbc_status nbc_summarize(double *values, size_t count, double confidence_ratio,
                                 nbc_summary *out) {
  if (!out) return NBC_E_INVAL;
  double sum = 0;
  memset(out, 0, sizeof *out);
  if (confidence_ratio == 0) confidence_ratio = 0.95;
  if (count == 0 || !(confidence_ratio > 0 && confidence_ratio < 1)) return NBC_E_INVAL;
  for (size_t i = 0; i < count; i++)
    if (!isfinite(values[i])) return NBC_E_INVAL;
  qsort(values, count, sizeof *values, nbc__stats_order);
  for (size_t i = 0; i < count; i++) sum += values[i] / (double)count; /* cannot overflow */
  const size_t l = nbc__stats_rank(count, confidence_ratio, &out->covered_ratio);
  out->count = count;
  out->min = values[0];
  out->q1 = nbc_quantile(values, count, 0.25);
  out->median = nbc_quantile(values, count, 0.5);
  out->q3 = nbc_quantile(values, count, 0.75);
  out->max = values[count - 1];
  out->mean = sum;
  out->median_lo = values[l - 1];
  out->median_hi = values[count - l];
  out->confidence_ratio = confidence_ratio;
  return NBC_OK;
}

/* ---- the four ratios and what they say ----------------------------------------------------- */
static double nbc__stats_measured_ns(const nbc_overlap_times *t) {
  return t->measured_ns > 0 ? t->measured_ns : t->call_ns + t->comp_ns + t->wait_ns;
}

NBC_API nbc_status nbc_metrics_compute(const nbc_overlap_times *t, nbc_metrics *out) {
  if (!t || !out) return NBC_E_INVAL;
  const double given[] = {
      t->call_ns, t->comp_ns, t->wait_ns, t->measured_ns, t->comp_passive_mpi_ns, t->ref_err_ratio};
  /* The best that overlap can reach is the longer of the two alone, the worst both one after the
     other: 0 and 1 of the overhead ratio. */
  const double longer_ns = fmax(t->comp_ref_ns, t->comm_ref_ns),
               shorter_ns = fmin(t->comp_ref_ns, t->comm_ref_ns);
  out->overhead_ratio = out->mpi_impact_ratio = out->slowdown_ratio = out->comm_ratio = NAN;
  for (size_t i = 0; i < sizeof given / sizeof *given; i++)
    if (!(given[i] >= 0) || !isfinite(given[i])) return NBC_E_INVAL;
  /* fmin and fmax pass over a NaN: each reference is looked at itself */
  if (!(t->comp_ref_ns > 0) || !(t->comm_ref_ns > 0) || !isfinite(longer_ns)) return NBC_E_INVAL;
  out->overhead_ratio = (nbc__stats_measured_ns(t) - longer_ns) / shorter_ns; /* [R eq. 4.1] */
  if (t->comp_passive_mpi_ns > 0) out->mpi_impact_ratio = t->comp_passive_mpi_ns / t->comp_ref_ns;
  if (t->comp_ns > 0) out->slowdown_ratio = t->comp_ns / t->comp_ref_ns;
  out->comm_ratio = (t->call_ns + t->wait_ns) / t->comm_ref_ns;
  return NBC_OK;
}

/* The order is that of doubt: a reference that cannot be right makes all that follows meaningless,
   too little computation makes "how much was hidden" meaningless. Only then ratios speak. Errors of
   the references widen each limit. */
static nbc_diagnosis nbc__stats_decide(const nbc_overlap_times *t, const nbc_metrics *m,
                                       double *hidden_ratio) {
  const double err = t->ref_err_ratio > 0 ? t->ref_err_ratio : 0.05;
  const double hideable =
      fmin(1, t->comp_ref_ns / t->comm_ref_ns); /* at best this share disappears */
  const bool slowed = m->slowdown_ratio > 1 + 2 * err;
  *hidden_ratio = (1 - m->comm_ratio) / hideable;
  if (nbc__stats_measured_ns(t) < fmax(t->comp_ref_ns, t->comm_ref_ns) * (1 - err))
    return NBC_DIAGNOSIS_REFERENCE_IMPRECISE;
  if (hideable < 2 * err) return NBC_DIAGNOSIS_TOO_LITTLE_COMPUTATION;
  if (*hidden_ratio <= 0.2) return slowed ? NBC_DIAGNOSIS_CONTENTION : NBC_DIAGNOSIS_NO_PROGRESSION;
  if (*hidden_ratio < 0.8) return NBC_DIAGNOSIS_PARTIAL;
  if (slowed) return NBC_DIAGNOSIS_CORE_STOLEN;
  return hideable < 1 - err ? NBC_DIAGNOSIS_TOO_LITTLE_COMPUTATION : NBC_DIAGNOSIS_FINE;
}

NBC_API nbc_diagnosis nbc_diagnose(const nbc_overlap_times *t, const nbc_metrics *m, char *text,
                                   size_t text_bytes) {
  if (!t || !m) return NBC_DIAGNOSIS_REFERENCE_IMPRECISE;
  double hidden_ratio;
  const nbc_diagnosis d = nbc__stats_decide(t, m, &hidden_ratio);
  if (!text || text_bytes == 0) return d;
  const char *name = nbc_diagnosis_text(d);
  const int head = (int)strcspn(name, ":");
  const locale_t before = nbc__locale_begin();
  if (d == NBC_DIAGNOSIS_REFERENCE_IMPRECISE)
    snprintf(text, text_bytes,
             "%.*s: measured %.4g us, less than the longer reference alone (computation %.4g us, "
             "communication %.4g us)",
             head, name, nbc__stats_measured_ns(t) / 1e3, t->comp_ref_ns / 1e3,
             t->comm_ref_ns / 1e3);
  else
    snprintf(text, text_bytes,
             "%.*s: %.0f %% of what %.4g us of computation can hide of %.4g us of communication "
             "was hidden "
             "(communication ratio %.2f), the computation took %.2f times its reference, overhead "
             "ratio %.2f "
             "(0 perfect, 1 as serialized)",
             head, name, fmax(0, hidden_ratio) * 100, t->comp_ref_ns / 1e3, t->comm_ref_ns / 1e3,
             m->comm_ratio, m->slowdown_ratio, m->overhead_ratio);
  nbc__locale_end(before);
  return d;
}

NBC_API const char *nbc_diagnosis_text(nbc_diagnosis diagnosis) {
  static const char *const texts[] = {
#define NBC__X(name, text) text,
      NBC_DIAGNOSIS_LIST(NBC__X)
#undef NBC__X
  };
  return (unsigned)diagnosis < NBC_DIAGNOSIS_COUNT ? texts[diagnosis] : "?";
}
#ifdef NBC_LINES
#line 61 "src/overlap/table.h"
#endif
NBC__PRIVATE int64_t nbc__table_part_of(int64_t size_ns, uint64_t size_bytes, int64_t part_ns,
                                        uint64_t part_bytes);
#ifdef NBC_LINES
#line 1 "src/overlap/table.c"
#endif
/* table.c: transfer-time tables: how long a message of n bytes takes. */




/* ============================================================================================== */
/* [TABLE] 5. Transfer-time tables                                                                */
/* ============================================================================================== */
#define NBC__TABLE_MAX_BYTES ((size_t)1 << 20)
#define NBC__TABLE_MAX_S     3600.0
#define NBC__TABLE_MAX_NS    1e18 /* results beyond 31 years are cut off */

struct nbc_table { /* one allocation: this, then size_bytes, time_s, slope, name */
  size_t count;
  uint64_t *size_bytes;
  double *time_s;
  double *slope_ns;   /* ns per byte from point i on; the last one extrapolates */
  uint16_t first[66]; /* first[b]: first point whose size has at least b bits; ends with count */
  char *name;
  int64_t eager_bytes, tail_bytes;
  double link_bytes_per_s;
  int64_t link_peers; /* 0: not said */
  char disturbed[160];
};

static void nbc__table_prepare(nbc_table *t) {
  for (size_t i = 0; i + 1 < t->count; i++)
    t->slope_ns[i] =
        (t->time_s[i + 1] - t->time_s[i]) * 1e9 / (double)(t->size_bytes[i + 1] - t->size_bytes[i]);
  const size_t last = t->count - 1;
  if (last > 0)
    t->slope_ns[last] = fmax(0, t->slope_ns[last - 1]); /* more bytes never take less */
  else
    t->slope_ns[0] = t->size_bytes[0] ? t->time_s[0] * 1e9 / (double)t->size_bytes[0] : 0;
  size_t point = 0;
  for (int b = 0; b <= 65; b++) {
    while (point < t->count && nbc__bits(t->size_bytes[point]) < b) point++;
    t->first[b] = (uint16_t)point;
  }
}

NBC_API nbc_status nbc_table_create(const uint64_t *size_bytes, const double *time_s, size_t count,
                                    const char *name, nbc_table **table, nbc_error *err) {
  if (!size_bytes || !time_s || !table)
    return nbc__status_fail(err, NBC_E_INVAL, 0,
                            "size_bytes and time_s and table: must not be NULL");
  *table = NULL;
  if (!name) name = "table";
  if (count == 0) return nbc__status_fail(err, NBC_E_INVAL, 0, "%.99s: no points", name);
  if (count > NBC_TABLE_MAX_POINTS)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "%.99s: more than %d points", name,
                            NBC_TABLE_MAX_POINTS);
  for (size_t i = 0; i < count; i++) {
    if (i > 0 && size_bytes[i] <= size_bytes[i - 1])
      return nbc__status_fail(err, NBC_E_INVAL, 0, "%.99s: point %zu: size %llu does not ascend",
                              name, i, (unsigned long long)size_bytes[i]);
    if (!(time_s[i] >= 0 && time_s[i] <= NBC__TABLE_MAX_S)) /* NaN too */
      return nbc__status_fail(err, NBC_E_INVAL, 0,
                              "%.99s: point %zu: time %g s is not between 0 and 1 hour", name, i,
                              time_s[i]);
  }
  const size_t name_bytes = strlen(name) + 1;
  nbc_table *t = (nbc_table *)NBC_MALLOC(sizeof *t + 3 * count * sizeof(double) + name_bytes);
  if (!t) return nbc__status_fail(err, NBC_E_NOMEM, 0, "%.99s: out of memory", name);
  t->count = count;
  t->size_bytes = (uint64_t *)(void *)(t + 1);
  t->time_s = (double *)(void *)(t->size_bytes + count);
  t->slope_ns = t->time_s + count;
  t->name = (char *)(t->slope_ns + count);
  memcpy(t->size_bytes, size_bytes, count * sizeof *size_bytes);
  memcpy(t->time_s, time_s, count * sizeof *time_s);
  memcpy(t->name, name, name_bytes);
  t->eager_bytes = t->tail_bytes = -1;
  t->link_bytes_per_s = 0;
  t->link_peers = 0;
  t->disturbed[0] = 0;
  nbc__table_prepare(t);
  *table = t;
  return NBC_OK;
}

NBC_API nbc_status nbc_table_create_linear(double latency_ns, double bytes_per_s, const char *name,
                                           nbc_table **table) {
  if (!table) return NBC_E_INVAL;
  const uint64_t sizes[2] = {0, (uint64_t)1 << 20};
  const double times[2] = {latency_ns * 1e-9, latency_ns * 1e-9 + (double)sizes[1] / bytes_per_s};
  char own_name[96];
  *table = NULL;
  if (!(bytes_per_s > 0)) return NBC_E_INVAL;
  if (!name)
    snprintf(own_name, sizeof own_name, "model: %.4g ns + bytes / %.4g bytes/s", latency_ns,
             bytes_per_s);
  return nbc_table_create(sizes, times, 2, name ? name : own_name, table, NULL);
}

NBC_API int64_t nbc_table_time_ns(const nbc_table *t, uint64_t size_bytes) {
  if (!t) return 0;
  const int bits = nbc__bits(size_bytes);
  size_t low = t->first[bits],
         high = t->first[bits + 1]; /* sizes before low are smaller, from high on larger */
  while (low < high) {              /* ends at the first point above size_bytes */
    const size_t middle = (low + high) / 2;
    if (t->size_bytes[middle] <= size_bytes)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == 0) return (int64_t)(t->time_s[0] * 1e9 + 0.5);
  const double ns = t->time_s[low - 1] * 1e9 +
                    (double)(size_bytes - t->size_bytes[low - 1]) * t->slope_ns[low - 1];
  return (int64_t)(fmin(fmax(ns, 0), NBC__TABLE_MAX_NS) + 0.5);
}

/* part_ns: of a message of part_bytes alone; size_ns: of the whole. */
NBC__PRIVATE int64_t nbc__table_part_of(int64_t size_ns, uint64_t size_bytes, int64_t part_ns,
                                        uint64_t part_bytes) {
  if (part_bytes >= size_bytes || size_ns <= 0) return size_ns;
  const double share_ns = (double)size_ns * ((double)part_bytes / (double)size_bytes);
  return part_ns > (int64_t)share_ns ? part_ns : (int64_t)share_ns + 1; /* rounded up */
}
NBC_API int64_t nbc_table_part_ns(const nbc_table *t, uint64_t size_bytes, uint64_t part_bytes) {
  return nbc__table_part_of(nbc_table_time_ns(t, size_bytes), size_bytes,
                            nbc_table_time_ns(t, part_bytes), part_bytes);
}

NBC_API const char *nbc_table_name(const nbc_table *table) {
  if (!table) return "?";
  return table->name;
}

NBC_API size_t nbc_table_points(const nbc_table *table, const uint64_t **size_bytes,
                                const double **time_s) {
  if (!table) return 0;
  if (size_bytes) *size_bytes = table->size_bytes;
  if (time_s) *time_s = table->time_s;
  return table->count;
}

NBC_API int64_t nbc_table_eager_bytes(const nbc_table *table) {
  if (!table) return 0;
  return table->eager_bytes;
}
NBC_API int64_t nbc_table_tail_bytes(const nbc_table *table) {
  if (!table) return 0;
  return table->tail_bytes;
}
NBC_API double nbc_table_link_bytes_per_s(const nbc_table *table) {
  if (!table) return 0;
  return table->link_bytes_per_s;
}
NBC_API uint32_t nbc_table_link_peers(const nbc_table *table) {
  if (!table || table->link_peers < 1) return 1;
  return table->link_peers < UINT32_MAX ? (uint32_t)table->link_peers : UINT32_MAX;
}
NBC_API const char *nbc_table_disturbed(const nbc_table *table) {
  if (!table) return "?";
  return table->disturbed[0] ? table->disturbed : NULL;
}

NBC_API void nbc_table_free(nbc_table *table) { NBC_FREE(table); }

/* ---- the file format: read and written without the locale's decimal comma ------------------ */
/* One line without its end and comment; *found = it holds a point. */
static nbc_status nbc__table_line(const char *at, const char *end, const char *name, int line,
                                  uint64_t *size, double *time_s, bool *found, nbc_error *err) {
  char word[33];
  const char *start = nbc__text_blank(at, end);
  *found = start < end;
  if (!*found) return NBC_OK;
  at = nbc__text_whole(start, end, size);
  if (!at || (at < end && *at != ' ' && *at != '\t'))
    return nbc__status_fail(err, NBC_E_PARSE, line, "%.99s:%d: '%s' is not a size in bytes", name,
                            line, nbc__text_word(start, end, word, sizeof word));
  start = nbc__text_blank(at, end);
  if (start == end)
    return nbc__status_fail(err, NBC_E_PARSE, line, "%.99s:%d: the time in seconds is missing",
                            name, line);
  at = nbc__text_number(start, end, time_s);
  if (!at || (at < end && *at != ' ' && *at != '\t'))
    return nbc__status_fail(err, NBC_E_PARSE, line, "%.99s:%d: '%s' is not a time in seconds", name,
                            line, nbc__text_word(start, end, word, sizeof word));
  if (!(*time_s <= NBC__TABLE_MAX_S))
    return nbc__status_fail(err, NBC_E_PARSE, line, "%.99s:%d: time %s s is above 1 hour", name,
                            line, nbc__text_word(start, end, word, sizeof word));
  at = nbc__text_blank(at, end);
  if (at < end)
    return nbc__status_fail(err, NBC_E_PARSE, line, "%.99s:%d: '%s' after the time", name, line,
                            nbc__text_word(at, end, word, sizeof word));
  return NBC_OK;
}

/* "# WORD REST" of a line: where REST begins, or NULL. */
static const char *nbc__table_said(const char *at, const char *end, const char *word) {
  const size_t n = strlen(word);
  if (at == end || *at != '#') return NULL;
  at = nbc__text_blank(at + 1, end);
  if ((size_t)(end - at) <= n || memcmp(at, word, n) != 0 || (at[n] != ' ' && at[n] != '\t'))
    return NULL;
  return nbc__text_blank(at + n, end);
}

/* The size behind a word of a comment. */
static nbc_status nbc__table_size(const char *rest, const char *end, const char *name, int line,
                                  const char *what, int64_t *size_bytes, nbc_error *err) {
  uint64_t value;
  const char *after = nbc__text_whole(rest, end, &value);
  if (!after || nbc__text_blank(after, end) < end || value > INT64_MAX)
    return nbc__status_fail(err, NBC_E_PARSE, line, "%.99s:%d: %s is not a size", name, line, what);
  *size_bytes = (int64_t)value;
  return NBC_OK;
}

/* A comment that means something, into *t; of what a comment says wrongly nothing is believed. */
static nbc_status nbc__table_comment(nbc_table *t, const char *at, const char *end,
                                     const char *name, int line, nbc_error *err) {
  const char *rest;
  if ((rest = nbc__table_said(at, end, "eager_bytes")) != NULL) {
    return nbc__table_size(rest, end, name, line, "eager_bytes", &t->eager_bytes, err);
  } else if ((rest = nbc__table_said(at, end, "tail_bytes")) != NULL) {
    return nbc__table_size(rest, end, name, line, "tail_bytes", &t->tail_bytes, err);
  } else if ((rest = nbc__table_said(at, end, "link_peers")) != NULL) {
    return nbc__table_size(rest, end, name, line, "link_peers", &t->link_peers, err);
  } else if ((rest = nbc__table_said(at, end, "link_bytes_per_s")) != NULL) {
    double value;
    const char *after = nbc__text_number(rest, end, &value);
    if (!after || nbc__text_blank(after, end) < end || !(value >= 1 && value <= 1e18))
      return nbc__status_fail(err, NBC_E_PARSE, line, "%.99s:%d: link_bytes_per_s is not a rate",
                              name, line);
    t->link_bytes_per_s = value;
  } else if ((rest = nbc__table_said(at, end, "disturbed")) != NULL) {
    snprintf(t->disturbed, sizeof t->disturbed, "%.*s", (int)(end - rest < 159 ? end - rest : 159),
             rest);
  }
  return NBC_OK;
}

NBC_API nbc_status nbc_table_parse(const char *text, size_t text_bytes, const char *name,
                                   nbc_table **table, nbc_error *err) {
  if (!text || !table)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "text and table: must not be NULL");
  uint64_t sizes[NBC_TABLE_MAX_POINTS];
  double times[NBC_TABLE_MAX_POINTS];
  size_t count = 0;
  int line = 0;
  nbc_table said; /* by comments */
  *table = NULL;
  memset(&said, 0, sizeof said);
  said.eager_bytes = said.tail_bytes = -1;
  if (!name) name = "table";
  if (text_bytes > NBC__TABLE_MAX_BYTES)
    return nbc__status_fail(err, NBC_E_PARSE, 0, "%.99s: larger than 1 MiB", name);
  for (const char *at = text, *stop = text + text_bytes; at < stop;) {
    line++;
    const char *next = (const char *)memchr(at, '\n', (size_t)(stop - at));
    if (!next)
      return nbc__status_fail(err, NBC_E_PARSE, line,
                              "%.99s:%d: the last line has no end: cut off?", name, line);
    if (memchr(at, 0, (size_t)(next - at)))
      return nbc__status_fail(err, NBC_E_PARSE, line, "%.99s:%d: NUL byte", name, line);
    const char *end = next > at && next[-1] == '\r' ? next - 1 : next;
    const char *comment = (const char *)memchr(at, '#', (size_t)(end - at));
    uint64_t size = 0;
    double time_s = 0;
    bool found;
    nbc_status status =
        nbc__table_line(at, comment ? comment : end, name, line, &size, &time_s, &found, err);
    if (status == NBC_OK) status = nbc__table_comment(&said, at, end, name, line, err);
    if (status != NBC_OK) return status;
    at = next + 1;
    if (!found) continue;
    if (count == NBC_TABLE_MAX_POINTS)
      return nbc__status_fail(err, NBC_E_PARSE, line, "%.99s:%d: more than %d points", name, line,
                              NBC_TABLE_MAX_POINTS);
    if (count > 0 && size <= sizes[count - 1])
      return nbc__status_fail(err, NBC_E_PARSE, line, "%.99s:%d: size %llu %s", name, line,
                              (unsigned long long)size,
                              size == sizes[count - 1] ? "stands twice" : "does not ascend");
    sizes[count] = size;
    times[count++] = time_s;
  }
  if (count == 0)
    return nbc__status_fail(err, NBC_E_PARSE, line, "%.99s:%d: no points", name, line);
  const nbc_status status = nbc_table_create(sizes, times, count, name, table, err);
  if (status != NBC_OK) return status;
  (*table)->eager_bytes = said.eager_bytes;
  (*table)->tail_bytes = said.tail_bytes;
  (*table)->link_bytes_per_s = said.link_bytes_per_s;
  (*table)->link_peers = said.link_peers;
  memcpy((*table)->disturbed, said.disturbed, sizeof said.disturbed);
  return NBC_OK;
}

NBC_API nbc_status nbc_table_read(const char *path, nbc_table **table, nbc_error *err) {
  if (!path || !table)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "path and table: must not be NULL");
  *table = NULL;
  FILE *file = fopen(path, "rb");
  if (!file)
    return nbc__status_fail(err, NBC_E_IO, 0, "%.99s: cannot be opened: %s", path, strerror(errno));
  char *text = (char *)NBC_MALLOC(NBC__TABLE_MAX_BYTES + 1);
  const size_t length = text ? fread(text, 1, NBC__TABLE_MAX_BYTES + 1, file) : 0;
  nbc_status status;
  if (!text)
    status = nbc__status_fail(err, NBC_E_NOMEM, 0, "%.99s: out of memory", path);
  else if (ferror(file))
    status = nbc__status_fail(err, NBC_E_IO, 0, "%.99s: cannot be read: %s", path, strerror(errno));
  else
    status = nbc_table_parse(text, length, path, table, err);
  fclose(file);
  NBC_FREE(text);
  return status;
}

/* "1.234500000e-06" */
static void nbc__table_print(FILE *out, double value) {
  int exponent = 0;
  if (value > 0) exponent = (int)floor(log10(value));
  if (exponent < -300) exponent = 0;
  uint64_t digits = (uint64_t)(value * pow(10, 9 - exponent) + 0.5);
  if (digits >= 10000000000u) digits /= 10, exponent++;
  fprintf(out, "%llu.%09llue%+03d", (unsigned long long)(digits / 1000000000u),
          (unsigned long long)(digits % 1000000000u), exponent);
}

NBC_API nbc_status nbc_table_write(const nbc_table *table, const char *path, const char *comment,
                                   nbc_error *err) {
  if (!table || !path)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "table and path: must not be NULL");
  FILE *file = fopen(path, "w");
  if (!file)
    return nbc__status_fail(err, NBC_E_IO, 0, "%.99s: cannot be written: %s", path,
                            strerror(errno));
  while (comment && *comment) { /* line by line */
    const size_t length = strcspn(comment, "\r\n");
    fprintf(file, "# %.*s\n", (int)length, comment);
    comment += length;
    if (*comment) comment++;
  }
  if (table->eager_bytes >= 0) fprintf(file, "# eager_bytes %lld\n", (long long)table->eager_bytes);
  if (table->tail_bytes >= 0) fprintf(file, "# tail_bytes %lld\n", (long long)table->tail_bytes);
  if (table->link_bytes_per_s > 0) {
    fputs("# link_bytes_per_s ", file);
    nbc__table_print(file, table->link_bytes_per_s);
    fputc('\n', file);
    if (table->link_peers > 0) fprintf(file, "# link_peers %lld\n", (long long)table->link_peers);
  }
  if (table->disturbed[0]) fprintf(file, "# disturbed %s\n", table->disturbed);
  fputs("# bytes seconds\n", file);
  for (size_t i = 0; i < table->count; i++) {
    fprintf(file, "%llu ", (unsigned long long)table->size_bytes[i]);
    nbc__table_print(file, table->time_s[i]);
    fputc('\n', file);
  }
  const bool bad = ferror(file) != 0;
  if (fclose(file) != 0 || bad)
    return nbc__status_fail(err, NBC_E_IO, 0, "%.99s: cannot be written: %s", path,
                            strerror(errno));
  return NBC_OK;
}
#ifdef NBC_LINES
#line 152 "src/overlap/cells.h"
#endif
NBC__PRIVATE int nbc__bin(int64_t ns);
#ifdef NBC_LINES
#line 1 "src/overlap/cells.c"
#endif
/* cells.c: what is counted: kinds of operations, problems, totals, cells. */



/* ============================================================================================== */
/* [CELLS] 6. What is counted                                                                     */
/* ============================================================================================== */
/* ---- names --------------------------------------------------------------------------------- */
static const struct {
  const char *name;
  nbc_category category;
} nbc__mon_kinds[] = {
#define NBC__X(name, text, category) {text, NBC_CATEGORY_##category},
    NBC_KIND_LIST(NBC__X)
#undef NBC__X
};
static const struct {
  const char *name, *text;
} nbc__mon_problems[] = {
#define NBC__X(name, text) {#name, text},
    NBC_PROBLEM_LIST(NBC__X)
#undef NBC__X
};

NBC_API const char *nbc_kind_name(nbc_kind kind) {
  return (unsigned)kind < NBC_KIND_COUNT ? nbc__mon_kinds[kind].name : "?";
}
NBC_API nbc_category nbc_kind_category(nbc_kind kind) {
  return (unsigned)kind < NBC_KIND_COUNT ? nbc__mon_kinds[kind].category : NBC_CATEGORY_OTHER;
}
NBC_API const char *nbc_category_name(nbc_category category) {
  static const char *const names[] = {"other", "blocking", "nonblocking", "test", "wait"};
  return (unsigned)category < NBC_CATEGORY_COUNT ? names[category] : "?";
}
NBC_API const char *nbc_peer_name(nbc_peer peer) {
  static const char *const names[] = {"unknown", "same_node", "other_node", "self"};
  return (unsigned)peer < NBC_PEER_COUNT ? names[peer] : "?";
}
NBC_API const char *nbc_problem_name(nbc_problem problem) {
  return (unsigned)problem < NBC_PROBLEM_COUNT ? nbc__mon_problems[problem].name : "?";
}
NBC_API const char *nbc_problem_text(nbc_problem problem) {
  return (unsigned)problem < NBC_PROBLEM_COUNT ? nbc__mon_problems[problem].text : "?";
}

/* The bin of a histogram that a time belongs to. */
NBC__PRIVATE int nbc__bin(int64_t ns) {
  const int bin = ns <= 0 ? 0 : nbc__bits((uint64_t)ns);
  return bin < NBC_HIST_BINS ? bin : NBC_HIST_BINS - 1;
}
#ifdef NBC_LINES
#line 258 "src/overlap/monitor.h"
#endif
#define NBC__MON_RELAXED_LOAD(p)     __atomic_load_n((p), __ATOMIC_RELAXED)
#define NBC__MON_RELAXED_STORE(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define NBC__MON_RARE(condition)     __builtin_expect(!!(condition), 0)
#define NBC__MON_APART               __attribute__((noinline)) /* not in the way of what is often */

/* What an event is. */
enum {
  NBC__MON_BEGIN = 0,
  NBC__MON_BEGUN,
  NBC__MON_END,
  NBC__MON_END_SIZED,
  NBC__MON_END_ONLY,
  NBC__MON_CANCEL,
  NBC__MON_STAMP,
  NBC__MON_END_LOCAL,
  NBC__MON_END_EARLY,
  NBC__MON_END_PARTS,
  NBC__MON_PAIRED /* a begin whose end is drained with it: while that goes on */
};

/* One stamp of a transfer, with the owner's C at that time: all that the bounds need [O §2.2]. N
   need not be kept: it is the time less C. The unions keep an event at 48 bytes, which every begin
   and end writes and copies; a NIC stamp has no C, size or call of its own. */
typedef struct nbc__mon_event {
  int64_t t_ns; /* of a NIC stamp: the last time that it speaks of, its end + err */
  __extension__ union {
    int64_t comp_ns;
    int64_t stamp_begin_ns; /* of a NIC stamp */
  };
  uint64_t id;
  __extension__ union {
    uint64_t size_bytes;
    int64_t stamp_err_ns; /* of a NIC stamp */
  };
  __extension__ union {
    uint32_t call_seq;            /* which call of the owner; 0 = outside of calls */
    uint32_t stamp_length_err_ns; /* of a NIC stamp */
  };
  __extension__ union {
    __extension__ struct {
      uint16_t section;
      uint8_t kind, peer;
    };
    uint32_t stamp_group; /* of a NIC stamp: stamps that share their error; 0 = none */
  };
  __extension__ union {
    float waited_ns;        /* in the call of an end */
    float stamp_own_err_ns; /* of a NIC stamp in a group: the part that is not shared */
  };
  uint8_t what;
  uint16_t back; /* of an end: how far back in the ring its begin stands; 0: not known */
} nbc__mon_event;

/* Transfers of one direction to one class of peers that were under way at the same time: from the
   first's begin to the last's end (a busy period), they together move no more than the link does. */
typedef struct nbc__mon_joint {
  uint32_t active, most_active; /* now; at one time of this period */
  bool broken; /* a stamp of this period has no place: only the independent bounds hold */
  int64_t begin_ns, begin_comp_ns, end_ns, end_comp_ns;
  nbc_totals period;  /* of transfers with two ends in this period */
  int64_t latency_ns; /* what of their maximum is not work of the link, summed */
  int64_t work_ns;    /* their bytes at the link's rate */
  nbc_totals sum;     /* of all closed periods: what stands in the report */
} nbc__mon_joint;

/* What the stamps of one group and cell say together, for each part of the range of their common
   shift: what they hide at least and at most when it lies there. */
enum { NBC__MON_SHIFTS = 16 };
typedef struct nbc__mon_shift {
  uint32_t group; /* 0: none is open */
  int64_t reach_ns;
  int64_t lo_ns, hi_ns; /* each stamp for itself */
  int64_t least_ns[NBC__MON_SHIFTS], most_ns[NBC__MON_SHIFTS];
} nbc__mon_shift;

/* How C went on from t_ns, until the next one: what exact overlap needs. */
/* Other threads read it without a lock while the owner writes: history_head tells them afterwards
   whether what they read has been written over meanwhile (nbc__mon_comp_then). */
typedef struct nbc__mon_turn {
  int64_t t_ns, state;
} nbc__mon_turn;

/* Inbox for foreign stamps: bounded queue, many producers, one consumer (who holds the lock).
   turn + index of the slot == position: free; == position + 1: filled. All zero is all free. */
typedef struct nbc__mon_slot {
  uint64_t turn;
  nbc__mon_event event;
} nbc__mon_slot;

/* Active transfers: open addressing on small keys, payload from a last-in-first-out pool, so that
   few active transfers touch few cache lines. */
/* The table is at most half full, and closes the gap of what is removed: so a search stays short,
   however long a program runs. */
typedef struct nbc__mon_key {
  uint64_t id;
  uint32_t index_plus1; /* into active; 0 = empty */
} nbc__mon_key;

typedef struct nbc__mon_calls {
  uint64_t count;
  int64_t total_ns, min_ns, max_ns;
} nbc__mon_calls;

typedef struct nbc__mon_section {
  char name[64];
  int parent;
  uint64_t count;
  int64_t comp_ns, call_ns;
  nbc__mon_calls calls[NBC_KIND_COUNT];
} nbc__mon_section;

/* What is the same for all transfers of one kind, size, peer and way to end: looked up once, kept where
   the next ones find it. One place per hash: who is displaced is looked up again, the sums are in
   the cells. Bit 63 of a key is set, so no key is 0. */
enum { NBC__MON_SHAPES_LOG2 = 5, NBC__MON_SHAPES = 1 << NBC__MON_SHAPES_LOG2 };
typedef struct nbc__mon_shape {
  uint64_t key, size_bytes; /* key 0: none */
  nbc_cell *cell;           /* where they are counted; NULL: not looked up */
  int64_t x_ns, fastest_ns; /* by the table; how fast it may be at least */
  uint64_t outside_bytes;   /* what of it may move before its begin or after its end, ... */
  int64_t outside_ns;       /* ... and how long that takes */
  bool off_table;
  uint8_t end; /* nbc__mon_trust */
} nbc__mon_shape;

#define NBC__MON_RECENT                                                                            \
  1024 /* remembered ended transfers: for late stamps, and to tell "twice"
                                from "unknown" */

/* Where in the ring the last begins stand, for their ends. One place per hash: who is displaced is found
   by its key. */
enum { NBC__MON_BEGINS = 64 };
typedef struct nbc__mon_begun_at {
  uint64_t id, at_plus1; /* 0: ended, or none */
} nbc__mon_begun_at;

struct nbc_recorder {
  /* Event path: written by the owner only. `state` is all that others need to know C(t):
     odd: C stands still at state / 2; even: C(t) = t - state / 2 (nbc__mon_standing, _growing). */
  int64_t state;
  int64_t last_ns, enter_ns;
  int depth;
  nbc__mon_calls *call; /* of the open call */
  float share;          /* of the open call's time that an end in it gets */
  int64_t ended_ns;     /* the last end in the open call; its begin before there is one */
  int64_t comp_ns;      /* C at the last exit */
  int64_t owed_ns;      /* of the gap since then: the tool's own work, not booked yet */
  int64_t call_cost_ns, event_cost_ns, drain_ns, tool_ns;
  uint64_t enter_head;                 /* of the ring, when the open call was entered */
  uint32_t call_seq, call_seq_counter; /* odd in calls; the counter goes up by two */
  bool on;
  uint16_t section;
  nbc__mon_section *here; /* &sections[section] */
  int open_depth, open_overflow;
  uint16_t open[NBC_MAX_DEPTH];
  nbc__mon_event *ring;
  uint64_t ring_mask, ring_head, ring_tail;
  nbc__mon_begun_at begins[NBC__MON_BEGINS];
  nbc__mon_turn *history;
  uint64_t look_mask; /* how often the owner looks into its inbox */
  bool takes_nic_stamps;
  uint64_t history_mask, history_head;
  nbc__mon_section *sections;
  size_t section_count;
  int64_t off_ns;
  nbc_monitor *monitor;
  nbc_recorder *next;
  bool attached;
  pthread_t thread; /* the one that attached: the owner */
  /* Any thread. */
  nbc__mon_slot *inbox;
  uint64_t inbox_mask, inbox_head;
  uint64_t problems[NBC_PROBLEM_COUNT];
  /* Under the lock. */
  int lock;
  uint64_t *counter_sums, *counter_last; /* [section][counter]; NULL: this recorder reads none */
  bool counter_valid;                    /* counter_last was read */
  uint64_t inbox_tail;
  nbc__mon_key *keys;
  uint64_t key_mask;
  nbc__mon_event *active;
  uint32_t *pool; /* places in active that were given back; those from active_used on are new */
  size_t pool_count, active_used, active_size;
  struct {
    uint64_t id;
    bool set;
    nbc_cell *cell;
  } recent[NBC__MON_RECENT];
  nbc_cell *cells;
  nbc__mon_shift *shifts; /* one per cell; NULL when NIC stamps are not taken */
  uint32_t group_count;   /* given to watches; any thread */
  size_t cell_count;
  uint32_t *cell_index; /* hash of (section, kind, class, peer) to cell + 1 */
  nbc__mon_shape shapes[NBC__MON_SHAPES];
  nbc__mon_joint joint[2][NBC_PEER_COUNT]; /* out, in */
};

struct nbc_monitor {
  nbc_monitor_desc desc;
  nbc_clock clock;
  uint64_t edges[NBC_MAX_CLASSES];
  nbc_table *own_table[2], *table_self;
  bool has_joint;        /* a table says what its link can do */
  pthread_mutex_t mutex; /* the list of recorders */
  nbc_recorder *recorders;
  double start_unix_s;
};

/* Each problem is counted either by the owner or under the lock, never by both (foreign_lost, which
   any thread may count, does not come here). */
static inline void nbc__mon_problem(nbc_recorder *r, nbc_problem problem) {
  NBC__MON_RELAXED_STORE(&r->problems[problem], r->problems[problem] + 1);
}
NBC__PRIVATE void nbc__mon_lock(nbc_recorder *r);
NBC__PRIVATE void nbc__mon_drain(nbc_recorder *r);
NBC__PRIVATE void nbc__mon_drain_by_force(nbc_recorder *r); /* the inbox is full */
NBC__PRIVATE void nbc__mon_unlock(nbc_recorder *r);
NBC__PRIVATE void nbc__mon_read_counters_locked(nbc_recorder *r, bool book);
NBC__PRIVATE int nbc__mon_class(const nbc_monitor *m, uint64_t size_bytes);
/* What the bounds say of one transfer. */
typedef struct nbc__mon_bounds {
  int64_t x_ns, min_ns, max_ns;
  uint64_t outside_bytes; /* what of it may have moved before its begin or after its end */
  int case_of;            /* 0, 1, 2: [O §2.2] cases 1, 2, 3 */
  bool faster;            /* than the table */
} nbc__mon_bounds;
NBC__PRIVATE nbc__mon_bounds nbc__mon_account(nbc_recorder *r, nbc_cell *cell,
                                              const nbc__mon_event *b, const nbc__mon_event *e,
                                              uint64_t size_bytes, nbc_peer peer);
/* Tells desc.on_seen of a transfer; b and e as for nbc__mon_account. */
NBC__PRIVATE void nbc__mon_tell(const nbc_recorder *r, const nbc__mon_event *b,
                                const nbc__mon_event *e, uint64_t size_bytes, nbc_peer peer,
                                const nbc__mon_bounds *o);
/* C at a past time from the history of calls; false when the history does not reach back so far. */
NBC__PRIVATE bool nbc__mon_comp_then(const nbc_recorder *r, int64_t t_ns, int64_t *comp_ns);
/* A NIC's stamp of a transfer that is counted in cell. */
NBC__PRIVATE void nbc__mon_stamp(nbc_recorder *r, nbc_cell *cell, const nbc__mon_event *stamp,
                                 int64_t known_ns);
NBC__PRIVATE void nbc__mon_drain_for_report_locked(nbc_recorder *r, int64_t t_ns);
NBC__PRIVATE void nbc__mon_shift_close(nbc_recorder *r, size_t cell_index);
NBC__PRIVATE uint32_t nbc__mon_new_group(nbc_recorder *r);
NBC__PRIVATE bool nbc__mon_is_owner(const nbc_recorder *r);
#ifdef NBC_LINES
#line 1 "src/overlap/monitor.c"
#endif
/* monitor.c: the four events and the overlap bounds. */



/* ============================================================================================== */
/* [MONITOR] 7. The four events and the overlap bounds                                            */
/* ============================================================================================== */

#define NBC__MON_MAYBE_EAGER 65536 /* where no table says up to where sends are eager */

/* ---- creation ------------------------------------------------------------------------------ */
static nbc_status nbc__mon_set_classes(nbc_monitor *m, const nbc_monitor_desc *desc) {
  static const uint64_t edges[] = {256, 4096, 65536, 1048576, 16777216};
  const uint64_t *from = desc->class_edge_count ? desc->class_edges_bytes : edges;
  size_t n = desc->class_edge_count ? desc->class_edge_count : sizeof edges / sizeof *edges;
  if (!from || n > NBC_MAX_CLASSES - 1) return NBC_E_INVAL;
  for (size_t i = 0; i < n; i++) {
    if (i && from[i] <= from[i - 1]) return NBC_E_INVAL;
    m->edges[i] = from[i];
  }
  m->desc.class_edges_bytes = m->edges;
  m->desc.class_edge_count = n;
  return NBC_OK;
}

NBC_API nbc_status nbc_monitor_create(const nbc_monitor_desc *desc, nbc_monitor **monitor) {
  nbc_monitor_desc zero;
  memset(&zero, 0, sizeof zero);
  if (!monitor) return NBC_E_INVAL;
  if (!desc) desc = &zero;
  *monitor = NULL;
  nbc_monitor *m = (nbc_monitor *)nbc__zalloc(sizeof *m);
  if (!m) return NBC_E_NOMEM;
  nbc_status status = NBC_OK;
  m->desc = *desc;
  if (desc->counters &&
      (desc->counters->count > NBC_MAX_COUNTERS || !desc->counters->read || !desc->counters->names))
    status = NBC_E_INVAL;
  if (desc->clock)
    m->clock = *desc->clock;
  else if (status == NBC_OK)
    status = nbc_clock_create(NULL, &m->clock);
  m->desc.clock = &m->clock;
  if (status == NBC_OK) status = nbc__mon_set_classes(m, desc);
  m->desc.ring_events = nbc__pow2(desc->ring_events, 512);
  m->desc.max_transfers = nbc__pow2(desc->max_transfers, 4096);
  if (!desc->max_cells) m->desc.max_cells = 1024;
  if (m->desc.max_cells > 65536) m->desc.max_cells = 65536;
  if (!desc->max_sections) m->desc.max_sections = 64;
  if (m->desc.max_sections > 4096) m->desc.max_sections = 4096;
  if (status == NBC_OK && !desc->table_same_node) {
    status =
        nbc_table_create_linear(500, 5e9, "default: 500 ns + bytes / (5 GB/s)", &m->own_table[0]);
    m->desc.table_same_node = m->own_table[0];
  }
  if (status == NBC_OK && !desc->table_other_node) {
    status =
        nbc_table_create_linear(2000, 1e10, "default: 2 us + bytes / (10 GB/s)", &m->own_table[1]);
    m->desc.table_other_node = m->own_table[1];
  }
  if (status == NBC_OK) /* a copy in memory; its minimum is never claimed */
    status = nbc_table_create_linear(100, 1e10, "self: 100 ns + bytes / (10 GB/s)", &m->table_self);
  m->has_joint = nbc_table_link_bytes_per_s(desc->table_same_node) > 0 ||
                 nbc_table_link_bytes_per_s(desc->table_other_node) > 0;
  if (desc->call_cost_ns < 0 || desc->event_cost_ns < 0) status = NBC_E_INVAL;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  m->start_unix_s = (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
  pthread_mutex_init(&m->mutex, NULL);
  if (status != NBC_OK) {
    nbc_monitor_destroy(m);
    return status;
  }
  *monitor = m;
  return NBC_OK;
}

static void nbc__mon_free_recorder(nbc_recorder *r) {
  NBC_FREE(r->ring);
  NBC_FREE(r->history);
  NBC_FREE(r->sections);
  NBC_FREE(r->inbox);
  NBC_FREE(r->keys);
  NBC_FREE(r->active);
  NBC_FREE(r->pool);
  NBC_FREE(r->cells);
  NBC_FREE(r->shifts);
  NBC_FREE(r->cell_index);
  NBC_FREE(r->counter_sums);
  NBC_FREE(r);
}

NBC_API void nbc_monitor_destroy(nbc_monitor *m) {
  if (!m) return;
  while (m->recorders) {
    nbc_recorder *next = m->recorders->next;
    nbc__mon_free_recorder(m->recorders);
    m->recorders = next;
  }
  nbc_table_free(m->own_table[0]);
  nbc_table_free(m->own_table[1]);
  nbc_table_free(m->table_self);
  pthread_mutex_destroy(&m->mutex);
  NBC_FREE(m);
}

NBC_API const nbc_clock *nbc_monitor_clock(const nbc_monitor *monitor) { return &monitor->clock; }
NBC_API nbc_monitor_desc nbc_monitor_desc_of(const nbc_monitor *monitor) {
  nbc_monitor_desc none;
  memset(&none, 0, sizeof none);
  return monitor ? monitor->desc : none;
}

static nbc_recorder *nbc__mon_new_recorder(nbc_monitor *m) {
  const nbc_monitor_desc *d = &m->desc;
  nbc_recorder *r = (nbc_recorder *)nbc__zalloc(sizeof *r);
  if (!r) return NULL;
  const size_t key_count = 2 * d->max_transfers, index_count = 2 * nbc__pow2(d->max_cells, 0);
  const size_t inbox_count = 1024;
  r->monitor = m;
  r->ring = (nbc__mon_event *)nbc__zalloc(d->ring_events * sizeof *r->ring);
  r->sections = (nbc__mon_section *)nbc__zalloc(d->max_sections * sizeof *r->sections);
  r->inbox = (nbc__mon_slot *)nbc__zalloc(inbox_count * sizeof *r->inbox);
  r->keys = (nbc__mon_key *)nbc__zalloc(key_count * sizeof *r->keys);
  r->active = (nbc__mon_event *)nbc__zalloc(d->max_transfers * sizeof *r->active);
  r->pool = (uint32_t *)nbc__zalloc(d->max_transfers * sizeof *r->pool);
  r->cells = (nbc_cell *)nbc__zalloc((d->max_cells + 1) * sizeof *r->cells);
  r->cell_index = (uint32_t *)nbc__zalloc(index_count * sizeof *r->cell_index);
  const size_t turns = nbc__pow2(2 * d->history_calls, 512);
  r->history = (nbc__mon_turn *)nbc__zalloc(turns * sizeof *r->history);
  r->history_mask = turns - 1;
  r->look_mask = turns / 4 < 128 ? turns / 4 - 1 : 127;
  r->takes_nic_stamps = d->history_calls > 0;
  if (r->takes_nic_stamps)
    r->shifts = (nbc__mon_shift *)nbc__zalloc((d->max_cells + 1) * sizeof *r->shifts);
  if (d->counters && !m->recorders) { /* the first one reads them */
    r->counter_sums = (uint64_t *)nbc__zalloc((d->max_sections + 1) * d->counters->count *
                                              sizeof *r->counter_sums);
    r->counter_last =
        r->counter_sums ? r->counter_sums + d->max_sections * d->counters->count : NULL;
  }
  if (!r->history || (d->counters && !m->recorders && !r->counter_sums) || !r->ring ||
      !r->sections || !r->inbox || !r->keys || !r->active || !r->pool || !r->cells ||
      !r->cell_index || (r->takes_nic_stamps && !r->shifts)) {
    nbc__mon_free_recorder(r);
    return NULL;
  }
  r->ring_mask = d->ring_events - 1;
  r->inbox_mask = inbox_count - 1;
  r->key_mask = key_count - 1;
  r->active_size = d->max_transfers;
  r->call_cost_ns = d->call_cost_ns;
  r->event_cost_ns = d->event_cost_ns;
  r->share = 1;
  r->section_count = 1;
  r->sections[0].parent = -1;
  r->here = &r->sections[0];
  r->cell_count = 1; /* cell 0 takes what max_cells leaves no room for */
  return r;
}

/* What C does from here on, in one number: in a call (or off) it stands still at comp_ns, outside of
   calls it grows with the time from comp_ns at t_ns on. */
static inline int64_t nbc__mon_standing(int64_t comp_ns) { return comp_ns * 2 + 1; }
static inline int64_t nbc__mon_growing(int64_t comp_ns, int64_t t_ns) {
  return (t_ns - comp_ns) * 2;
}
static inline int64_t nbc__mon_comp_at(int64_t state, int64_t t_ns) {
  return state & 1 ? state >> 1 : t_ns - (state >> 1);
}

NBC__MON_APART static void nbc__mon_empty_inbox(nbc_recorder *r);

/* From t_ns on, C goes by this state. Foreign stamps are placed by the history, so the owner takes
   them out before it has gone on too far: between two calls, now and then (nbc__mon_look). */
static inline void nbc__mon_set_state(nbc_recorder *r, int64_t t_ns, int64_t state) {
  const uint64_t head = r->history_head;
  NBC__MON_RELAXED_STORE(&r->state, state);
  nbc__mon_turn *turn = &r->history[head & r->history_mask];
  NBC__MON_RELAXED_STORE(&turn->t_ns, t_ns);
  NBC__MON_RELAXED_STORE(&turn->state, state);
  __atomic_store_n(&r->history_head, head + 1, __ATOMIC_RELEASE);
}

static void nbc__mon_read_counters(nbc_recorder *r, bool book);

NBC_API nbc_status nbc_recorder_attach(nbc_monitor *monitor, nbc_recorder **recorder) {
  if (!monitor || !recorder) return NBC_E_INVAL;
  return nbc_recorder_attach_at(monitor, nbc_clock_now_ns(&monitor->clock), recorder);
}

NBC_API nbc_status nbc_recorder_attach_at(nbc_monitor *m, int64_t t_ns, nbc_recorder **recorder) {
  if (!m || !recorder) return NBC_E_INVAL;
  nbc_recorder *r;
  pthread_mutex_lock(&m->mutex);
  for (r = m->recorders; r && r->attached; r = r->next) {
  }
  if (!r) {
    r = nbc__mon_new_recorder(m);
    if (r) r->next = m->recorders, m->recorders = r;
  }
  if (r) {
    /* A recorder used again keeps its numbers; its C goes on from where it stood. */
    const int64_t comp_ns = r->state >> 1; /* detached: as in a call */
    NBC__MON_RELAXED_STORE(&r->on, !m->desc.start_off);
    NBC__MON_RELAXED_STORE(&r->last_ns, t_ns);
    NBC__MON_RELAXED_STORE(&r->thread, pthread_self());
    r->comp_ns = comp_ns;
    r->owed_ns = 0;
    nbc__mon_set_state(r, t_ns,
                       r->on ? nbc__mon_growing(comp_ns, t_ns) : nbc__mon_standing(comp_ns));
    NBC__MON_RELAXED_STORE(&r->attached, true);
    if (r->on) nbc__mon_read_counters(r, false);
  }
  pthread_mutex_unlock(&m->mutex);
  *recorder = r;
  return r ? NBC_OK : NBC_E_NOMEM;
}

/* ---- the event path ------------------------------------------------------------------------ */
/* Only the owner writes these; a report may read them meanwhile. */
static inline void nbc__mon_add(int64_t *sum, int64_t value) {
  NBC__MON_RELAXED_STORE(sum, *sum + value);
}

/* Any thread: C in one word is never half old and half new, which comp_ns and a time could be. */
NBC_API int64_t nbc_recorder_comp_ns(const nbc_recorder *recorder, int64_t t_ns) {
  if (!recorder) return 0;
  return nbc__mon_comp_at(NBC__MON_RELAXED_LOAD(&recorder->state), t_ns);
}

/* Moves this recorder's time on and books it: off, call or computation of the innermost section.
   A time before the last one is taken as equal to it. */
/* So off_ns, tool_ns and all sections' call_ns and comp_ns add up to the time since the attach. */
static inline int64_t nbc__mon_advance(nbc_recorder *r, int64_t t_ns) {
  int64_t d_ns = t_ns - r->last_ns;
  if (__builtin_expect(d_ns < 0, 0)) {
    nbc__mon_problem(r, NBC_PROBLEM_clock_backward);
    return r->last_ns;
  }
  if (__builtin_expect(!r->on, 0))
    nbc__mon_add(&r->off_ns, d_ns);
  else if (r->depth)
    nbc__mon_add(&r->here->call_ns, d_ns);
  else {
    const int64_t tool_ns = r->owed_ns < d_ns ? r->owed_ns : d_ns;
    r->owed_ns -= tool_ns;
    nbc__mon_add(&r->tool_ns, tool_ns);
    nbc__mon_add(&r->here->comp_ns, d_ns - tool_ns);
  }
  NBC__MON_RELAXED_STORE(&r->last_ns, t_ns);
  return t_ns;
}

/* A gap was shorter than what the tool is said to cost in it: then it costs less. */
/* Else the rest would be taken from the next gap, in which nobody spent it. */
static void nbc__mon_lower_costs(nbc_recorder *r, int64_t cost_ns) {
  const int64_t spent_ns = cost_ns - r->owed_ns;
  r->call_cost_ns = (int64_t)((double)r->call_cost_ns * (double)spent_ns / (double)cost_ns);
  r->event_cost_ns = (int64_t)((double)r->event_cost_ns * (double)spent_ns / (double)cost_ns);
  r->owed_ns = 0;
}

/* The call that begins now. */
static inline void nbc__mon_in_call(nbc_recorder *r, nbc_kind kind, int64_t t_ns) {
  r->depth = 1;
  r->call = &r->here->calls[(unsigned)kind < NBC_KIND_COUNT ? kind : NBC_KIND_OTHER];
  r->enter_ns = r->ended_ns = t_ns;
  r->call_seq_counter += 2;
  NBC__MON_RELAXED_STORE(&r->call_seq, r->call_seq_counter | 1);
  r->enter_head = r->ring_head;
  r->share = 1;
}
/* A call in a call, or off, or a clock that steps back, or a gap shorter than what the tool is said to
   cost. */
NBC__MON_APART static void nbc__mon_enter_rarely(nbc_recorder *r, nbc_kind kind, int64_t t_ns) {
  const int64_t cost_ns = r->owed_ns;
  if (r->depth > 0) {
    r->depth++;
    return;
  }
  t_ns = nbc__mon_advance(r, t_ns);
  if (r->owed_ns > 0) nbc__mon_lower_costs(r, cost_ns);
  int64_t comp_ns = nbc__mon_comp_at(r->state, t_ns);
  if (comp_ns < r->comp_ns) comp_ns = r->comp_ns; /* within the tool's own time */
  nbc__mon_set_state(r, t_ns, nbc__mon_standing(comp_ns));
  nbc__mon_in_call(r, kind, t_ns);
}

NBC_API void nbc_call_enter_at(nbc_recorder *r, nbc_kind kind, int64_t t_ns) {
  if (!r) return;
  const int64_t d_ns = t_ns - r->last_ns;
  if (NBC__MON_RARE(r->depth > 0 || !r->on || d_ns < r->owed_ns)) {
    nbc__mon_enter_rarely(r, kind, t_ns);
    return;
  }
  /* As there. Who is on and in no call computes, so C grows. */
  nbc__mon_add(&r->tool_ns, r->owed_ns);
  nbc__mon_add(&r->here->comp_ns, d_ns - r->owed_ns);
  r->owed_ns = 0;
  NBC__MON_RELAXED_STORE(&r->last_ns, t_ns);
  /* Standing at C(t_ns): state is even here, so C is t_ns - state / 2. */
  nbc__mon_set_state(r, t_ns, 2 * t_ns - r->state + 1);
  nbc__mon_in_call(r, kind, t_ns);
}

NBC_API void nbc_call_shared(nbc_recorder *r, uint32_t ends) {
  if (!r) return;
  r->share = ends ? 1.0f / (float)ends : 1;
}

/* Foreign stamps are taken out at every 64th call or so (two turns of the history each). */
static inline void nbc__mon_look(nbc_recorder *r) {
  if (NBC__MON_RARE(((r->history_head | 1) & r->look_mask) == r->look_mask))
    nbc__mon_empty_inbox(r);
}
/* The call that ends now, of a recorder that is on. */
static inline void nbc__mon_after_call(nbc_recorder *r, int64_t t_ns) {
  const int64_t d_ns = t_ns - r->enter_ns;
  nbc__mon_calls *c = r->call;
  if (d_ns < c->min_ns || c->count == 0) NBC__MON_RELAXED_STORE(&c->min_ns, d_ns);
  if (d_ns > c->max_ns) NBC__MON_RELAXED_STORE(&c->max_ns, d_ns);
  nbc__mon_add(&c->total_ns, d_ns);
  NBC__MON_RELAXED_STORE(&c->count, c->count + 1);
  /* Computation begins when the tool has done its own work. */
  r->comp_ns = r->state >> 1;
  r->owed_ns =
      r->call_cost_ns + (int64_t)(r->ring_head - r->enter_head) * r->event_cost_ns + r->drain_ns;
  r->drain_ns = 0;
  t_ns += r->owed_ns;
  nbc__mon_set_state(r, t_ns, nbc__mon_growing(r->comp_ns, t_ns));
}
NBC__MON_APART static void nbc__mon_exit_rarely(nbc_recorder *r, int64_t t_ns) {
  if (r->depth != 1) {
    if (r->depth > 1)
      r->depth--;
    else
      nbc__mon_problem(r, NBC_PROBLEM_exit_without_enter);
    return;
  }
  t_ns = nbc__mon_advance(r, t_ns);
  r->depth = 0;
  NBC__MON_RELAXED_STORE(&r->call_seq, 0);
  if (r->on) nbc__mon_after_call(r, t_ns);
}

NBC_API void nbc_call_exit_at(nbc_recorder *r, int64_t t_ns) {
  if (!r) return;
  if (NBC__MON_RARE(r->depth != 1 || !r->on || t_ns < r->last_ns)) {
    nbc__mon_exit_rarely(r, t_ns);
    return;
  }
  nbc__mon_add(&r->here->call_ns, t_ns - r->last_ns); /* as there */
  NBC__MON_RELAXED_STORE(&r->last_ns, t_ns);
  r->depth = 0;
  NBC__MON_RELAXED_STORE(&r->call_seq, 0);
  nbc__mon_after_call(r, t_ns);
  nbc__mon_look(r); /* last: what it may call is a jump then */
}

#define NBC__MON_UNPLACED INT64_MIN /* as C: not known */
NBC__MON_APART static void nbc__mon_drain_in_time(nbc_recorder *r);
static void nbc__mon_lose_sight(nbc_recorder *r, int64_t known_ns);

/* The next place of the ring, with its time and C; nbc__mon_pushed when the rest is there, too. */
static inline nbc__mon_event *nbc__mon_push(nbc_recorder *r, uint8_t what, uint64_t id,
                                            int64_t t_ns) {
  if (NBC__MON_RARE(r->ring_head - __atomic_load_n(&r->ring_tail, __ATOMIC_ACQUIRE) > r->ring_mask))
    nbc__mon_drain_in_time(r);
  nbc__mon_event *e = &r->ring[r->ring_head & r->ring_mask];
  e->t_ns = t_ns;
  e->comp_ns = nbc__mon_comp_at(r->state, t_ns);
  if (NBC__MON_RARE(t_ns < r->last_ns) && !nbc__mon_comp_then(r, t_ns, &e->comp_ns))
    e->comp_ns = NBC__MON_UNPLACED;
  e->id = id;
  e->call_seq = r->call_seq;
  e->what = what;
  e->back = 0;
  return e;
}
/* A begin says where it stands, and its end how far back that is: drained together, they need no key. What
   had begun unseen needs one, and takes the place of an older begin with its id: that has no end. */
static inline void nbc__mon_note_begin(nbc_recorder *r, uint8_t what, uint64_t id) {
  nbc__mon_begun_at *b = &r->begins[id % NBC__MON_BEGINS];
  b->id = id;
  b->at_plus1 = what == NBC__MON_BEGIN ? r->ring_head + 1 : 0;
}
static inline void nbc__mon_note_end(nbc_recorder *r, nbc__mon_event *e) {
  nbc__mon_begun_at *b = &r->begins[e->id % NBC__MON_BEGINS];
  if (b->id != e->id || !b->at_plus1) return;
  const uint64_t back = r->ring_head + 1 - b->at_plus1;
  if (back <= r->ring_mask && back <= UINT16_MAX && e->what != NBC__MON_CANCEL)
    e->back = (uint16_t)back;
  b->at_plus1 = 0; /* another end of it is none of this begin */
}
static inline void nbc__mon_pushed(nbc_recorder *r) {
  __atomic_store_n(&r->ring_head, r->ring_head + 1, __ATOMIC_RELEASE);
}
/* What is moved, and where. */
static inline void nbc__mon_push_what(nbc_recorder *r, nbc__mon_event *e, uint64_t size_bytes,
                                      nbc_kind kind, nbc_peer peer) {
  e->size_bytes = size_bytes;
  e->section = r->section;
  e->kind = (unsigned)kind < NBC_KIND_COUNT ? (uint8_t)kind : 0;
  e->peer = (unsigned)peer < NBC_PEER_COUNT ? (uint8_t)peer : 0;
}
/* What of the open call's time an end in it gets: all since the call began, or since the end before it,
   unless it is said how many share. */
static inline float nbc__mon_waited_ns(nbc_recorder *r, int64_t t_ns) {
  if (!r->depth) return 0;
  if (NBC__MON_RARE(r->share < 1)) return (float)(t_ns - r->enter_ns) * r->share;
  const int64_t d_ns = t_ns - r->ended_ns;
  if (NBC__MON_RARE(d_ns <= 0)) return 0;
  r->ended_ns = t_ns;
  return (float)d_ns;
}
static inline void nbc__mon_push_begin(nbc_recorder *r, uint8_t what, uint64_t id,
                                       uint64_t size_bytes, nbc_kind kind, nbc_peer peer,
                                       int64_t t_ns) {
  nbc__mon_push_what(r, nbc__mon_push(r, what, id, t_ns), size_bytes, kind, peer);
  nbc__mon_note_begin(r, what, id);
  nbc__mon_pushed(r);
}
static inline void nbc__mon_push_end(nbc_recorder *r, uint8_t what, uint64_t id, int64_t t_ns) {
  nbc__mon_event *e = nbc__mon_push(r, what, id, t_ns);
  e->waited_ns = nbc__mon_waited_ns(r, t_ns);
  nbc__mon_note_end(r, e);
  nbc__mon_pushed(r);
}
static inline void nbc__mon_push_end_of(nbc_recorder *r, uint8_t what, uint64_t id,
                                        uint64_t size_bytes, nbc_kind kind, nbc_peer peer,
                                        int64_t t_ns) {
  nbc__mon_event *e = nbc__mon_push(r, what, id, t_ns);
  nbc__mon_push_what(r, e, size_bytes, kind, peer);
  e->waited_ns = nbc__mon_waited_ns(r, t_ns);
  if (what != NBC__MON_END_ONLY) nbc__mon_note_end(r, e);
  nbc__mon_pushed(r);
}

NBC_API void nbc_xfer_begin_at(nbc_recorder *r, uint64_t id, uint64_t size_bytes, nbc_kind kind,
                               nbc_peer peer, int64_t t_ns) {
  if (!r) return;
  if (r->on) nbc__mon_push_begin(r, NBC__MON_BEGIN, id, size_bytes, kind, peer, t_ns);
}
NBC_API void nbc_xfer_begun_at(nbc_recorder *r, uint64_t id, uint64_t size_bytes, nbc_kind kind,
                               nbc_peer peer, int64_t t_ns) {
  if (!r) return;
  if (r->on) nbc__mon_push_begin(r, NBC__MON_BEGUN, id, size_bytes, kind, peer, t_ns);
}
NBC_API void nbc_xfer_end_at(nbc_recorder *r, uint64_t id, int64_t t_ns) {
  if (!r) return;
  nbc__mon_push_end(r, NBC__MON_END, id, t_ns);
}
NBC_API void nbc_xfer_end_sized_at(nbc_recorder *r, uint64_t id, uint64_t size_bytes, nbc_peer peer,
                                   int64_t t_ns) {
  if (!r) return;
  nbc__mon_push_end_of(r, NBC__MON_END_SIZED, id, size_bytes, NBC_KIND_OTHER, peer, t_ns);
}
NBC_API void nbc_xfer_end_early_at(nbc_recorder *r, uint64_t id, uint64_t size_bytes, nbc_peer peer,
                                   int64_t t_ns) {
  if (!r) return;
  nbc__mon_push_end_of(r, NBC__MON_END_EARLY, id, size_bytes, NBC_KIND_OTHER, peer, t_ns);
}
NBC_API void nbc_xfer_end_local_at(nbc_recorder *r, uint64_t id, int64_t t_ns) {
  if (!r) return;
  nbc__mon_push_end(r, NBC__MON_END_LOCAL, id, t_ns);
}
NBC_API void nbc_xfer_end_only_at(nbc_recorder *r, uint64_t size_bytes, nbc_kind kind,
                                  nbc_peer peer, int64_t t_ns) {
  if (!r) return;
  if (r->on) nbc__mon_push_end_of(r, NBC__MON_END_ONLY, 0, size_bytes, kind, peer, t_ns);
}
NBC_API void nbc_xfer_cancel(nbc_recorder *r, uint64_t id) {
  if (!r) return;
  nbc__mon_push_end(r, NBC__MON_CANCEL, id, r->last_ns);
}

NBC_API void nbc_call_enter(nbc_recorder *r, nbc_kind kind) {
  if (!r) return;
  if (r->depth > 0)
    r->depth++;
  else
    nbc_call_enter_at(r, kind, nbc_clock_now_ns(&r->monitor->clock));
}
NBC_API void nbc_call_exit(nbc_recorder *r) {
  if (!r) return;
  if (r->depth > 1)
    r->depth--;
  else
    nbc_call_exit_at(r, nbc_clock_now_ns(&r->monitor->clock));
}
NBC_API void nbc_xfer_begin(nbc_recorder *r, uint64_t id, uint64_t size_bytes, nbc_kind kind,
                            nbc_peer peer) {
  if (!r) return;
  nbc_xfer_begin_at(r, id, size_bytes, kind, peer, nbc_clock_now_ns(&r->monitor->clock));
}
NBC_API void nbc_xfer_begun(nbc_recorder *r, uint64_t id, uint64_t size_bytes, nbc_kind kind,
                            nbc_peer peer) {
  if (!r) return;
  nbc_xfer_begun_at(r, id, size_bytes, kind, peer, nbc_clock_now_ns(&r->monitor->clock));
}
NBC_API void nbc_xfer_end(nbc_recorder *r, uint64_t id) {
  if (!r) return;
  nbc_xfer_end_at(r, id, nbc_clock_now_ns(&r->monitor->clock));
}
NBC_API void nbc_xfer_end_sized(nbc_recorder *r, uint64_t id, uint64_t size_bytes, nbc_peer peer) {
  if (!r) return;
  nbc_xfer_end_sized_at(r, id, size_bytes, peer, nbc_clock_now_ns(&r->monitor->clock));
}
NBC_API void nbc_xfer_end_early(nbc_recorder *r, uint64_t id, uint64_t size_bytes, nbc_peer peer) {
  if (!r) return;
  nbc_xfer_end_early_at(r, id, size_bytes, peer, nbc_clock_now_ns(&r->monitor->clock));
}
NBC_API void nbc_xfer_end_local(nbc_recorder *r, uint64_t id) {
  if (!r) return;
  nbc_xfer_end_local_at(r, id, nbc_clock_now_ns(&r->monitor->clock));
}
NBC_API void nbc_xfer_end_parts_at(nbc_recorder *r, uint64_t id, int64_t t_ns) {
  if (!r) return;
  nbc__mon_push_end(r, NBC__MON_END_PARTS, id, t_ns);
}
NBC_API void nbc_xfer_end_parts(nbc_recorder *r, uint64_t id) {
  if (!r) return;
  nbc_xfer_end_parts_at(r, id, nbc_clock_now_ns(&r->monitor->clock));
}
NBC_API void nbc_xfer_end_only(nbc_recorder *r, uint64_t size_bytes, nbc_kind kind, nbc_peer peer) {
  if (!r) return;
  nbc_xfer_end_only_at(r, size_bytes, kind, peer, nbc_clock_now_ns(&r->monitor->clock));
}

/* ---- sections, on and off ------------------------------------------------------------------ */
NBC__PRIVATE void nbc__mon_lock(nbc_recorder *r) {
  while (__atomic_exchange_n(&r->lock, 1, __ATOMIC_ACQUIRE))
    while (NBC__MON_RELAXED_LOAD(&r->lock)) sched_yield();
}
NBC__PRIVATE void nbc__mon_unlock(nbc_recorder *r) {
  __atomic_store_n(&r->lock, 0, __ATOMIC_RELEASE);
}

/* Reads the counters and, with `book`, adds what they moved to the section of now. */
NBC__PRIVATE void nbc__mon_read_counters_locked(nbc_recorder *r, bool book) {
  const nbc_counter_source *s = r->monitor->desc.counters;
  uint64_t now[NBC_MAX_COUNTERS];
  if (!r->counter_sums) return;
  const bool ok = s->read(s->user, now);
  bool lost = !ok;
  uint64_t *sums = &r->counter_sums[NBC__MON_RELAXED_LOAD(&r->section) * s->count];
  for (size_t i = 0; ok && i < s->count; i++) {
    /* Gone back (reset, or wrapped): nobody knows what it moved; the next interval counts again. */
    if (r->counter_valid && now[i] < r->counter_last[i])
      lost = true;
    else if (r->counter_valid && book)
      sums[i] += now[i] - r->counter_last[i];
    r->counter_last[i] = now[i];
  }
  r->counter_valid = ok;
  if (lost)
    NBC__MON_RELAXED_STORE(&r->problems[NBC_PROBLEM_counter_lost],
                           r->problems[NBC_PROBLEM_counter_lost] + 1);
}
static void nbc__mon_read_counters(nbc_recorder *r, bool book) {
  if (!r->counter_sums) return;
  nbc__mon_lock(r);
  nbc__mon_read_counters_locked(r, book);
  nbc__mon_unlock(r);
}

static void nbc__mon_go_to_section(nbc_recorder *r, int section) {
  nbc__mon_read_counters(r, r->on);
  NBC__MON_RELAXED_STORE(&r->section, (uint16_t)section);
  r->here = &r->sections[section];
}

/* Sections are a tree: the same name within another section is another one. */
static int nbc__mon_find_section(nbc_recorder *r, const char *name) {
  char key[sizeof r->sections[0].name];
  size_t length = strlen(name);
  if (length >= sizeof key) length = sizeof key - 1;
  memcpy(key, name, length);
  key[length] = 0;
  for (size_t i = 1; i < r->section_count; i++)
    if (r->sections[i].parent == r->section && strcmp(r->sections[i].name, key) == 0) return (int)i;
  if (r->section_count >= r->monitor->desc.max_sections) return -1;
  nbc__mon_section *s = &r->sections[r->section_count];
  memcpy(s->name, key, length + 1);
  s->parent = r->section;
  __atomic_store_n(&r->section_count, r->section_count + 1, __ATOMIC_RELEASE);
  return (int)r->section_count - 1;
}

NBC_API void nbc_section_begin_at(nbc_recorder *r, const char *name, int64_t t_ns) {
  if (!r) return;
  nbc__mon_advance(r, t_ns);
  if (r->open_depth >= NBC_MAX_DEPTH) {
    r->open_overflow++;
    nbc__mon_problem(r, NBC_PROBLEM_sections_overflow);
    return;
  }
  int found = nbc__mon_find_section(r, name ? name : "?");
  if (found < 0) {
    nbc__mon_problem(r, NBC_PROBLEM_sections_overflow);
    found = r->section;
  }
  r->open[r->open_depth++] = r->section;
  nbc__mon_go_to_section(r, found);
  NBC__MON_RELAXED_STORE(&r->sections[found].count, r->sections[found].count + 1);
}

NBC_API void nbc_section_end_at(nbc_recorder *r, const char *name, int64_t t_ns) {
  if (!r) return;
  nbc__mon_advance(r, t_ns);
  if (r->open_overflow > 0) {
    r->open_overflow--;
    return;
  }
  if (r->open_depth == 0) {
    nbc__mon_problem(r, NBC_PROBLEM_section_unbalanced);
    return;
  }
  if (name && strncmp(name, r->sections[r->section].name, sizeof r->sections[0].name - 1) != 0)
    nbc__mon_problem(r, NBC_PROBLEM_section_unbalanced);
  nbc__mon_go_to_section(r, r->open[--r->open_depth]);
}

NBC_API void nbc_recorder_switch_at(nbc_recorder *r, bool on, int64_t t_ns) {
  if (!r) return;
  t_ns = nbc__mon_advance(r, t_ns);
  if (r->on == on) return;
  nbc__mon_read_counters(r, !on);
  if (!on) {
    nbc__mon_lock(r);
    nbc__mon_lose_sight(r, INT64_MIN);
    nbc__mon_unlock(r);
  }
  /* C stands still while off, as it does inside a call. */
  const int64_t comp_ns = nbc__mon_comp_at(r->state, t_ns);
  NBC__MON_RELAXED_STORE(&r->on, on);
  nbc__mon_set_state(
      r, t_ns, on && r->depth == 0 ? nbc__mon_growing(comp_ns, t_ns) : nbc__mon_standing(comp_ns));
  r->enter_ns = r->ended_ns = t_ns; /* a call that is open now counts from here */
}

NBC_API void nbc_section_begin(nbc_recorder *r, const char *name) {
  if (!r) return;
  nbc_section_begin_at(r, name, nbc_clock_now_ns(&r->monitor->clock));
}
NBC_API void nbc_section_end(nbc_recorder *r, const char *name) {
  if (!r) return;
  nbc_section_end_at(r, name, nbc_clock_now_ns(&r->monitor->clock));
}
NBC_API void nbc_recorder_switch(nbc_recorder *r, bool on) {
  if (!r) return;
  nbc_recorder_switch_at(r, on, nbc_clock_now_ns(&r->monitor->clock));
}

/* ---- draining: events become sums. Everything below runs under the recorder's lock. -------- */
static inline uint64_t nbc__mon_hash(uint64_t id) { return (id * 0x9E3779B97F4A7C15u) >> 20; }

/* Ids that follow each other share a cache line. */
static inline uint64_t nbc__mon_home(uint64_t id) { return nbc__mon_hash(id >> 2) << 2 | (id & 3); }

/* its key, or the empty one for it */
/* Ends at an empty key: there are twice as many keys as transfers may be active. */
static inline nbc__mon_key *nbc__mon_find(nbc_recorder *r, uint64_t id) {
  uint64_t i = nbc__mon_home(id) & r->key_mask;
  while (r->keys[i].index_plus1 && r->keys[i].id != id) i = (i + 1) & r->key_mask;
  return &r->keys[i];
}

/* No "deleted" marks, which would fill the table for ever [Knuth 6.4, algorithm R]. */
static void nbc__mon_remove(nbc_recorder *r, nbc__mon_key *key) {
  r->pool[r->pool_count++] = key->index_plus1 - 1;
  /* Close the gap: keys further on that could stand here move back. */
  uint64_t hole = (uint64_t)(key - r->keys), i = hole;
  for (;;) {
    i = (i + 1) & r->key_mask;
    if (!r->keys[i].index_plus1) break;
    const uint64_t home = nbc__mon_home(r->keys[i].id) & r->key_mask;
    if (((i - home) & r->key_mask) >= ((i - hole) & r->key_mask)) {
      r->keys[hole] = r->keys[i];
      hole = i;
    }
  }
  r->keys[hole].index_plus1 = 0;
}

NBC__PRIVATE int nbc__mon_class(const nbc_monitor *m, uint64_t size_bytes) {
  int c = 0;
  while (c < (int)m->desc.class_edge_count && size_bytes > m->edges[c]) c++;
  return c;
}

NBC__MON_APART static nbc_cell *nbc__mon_cell(nbc_recorder *r, int section, nbc_kind kind,
                                              int class_index, nbc_peer peer) {
  nbc_cell *c;
  const uint64_t index_mask = 2 * nbc__pow2(r->monitor->desc.max_cells, 0) - 1;
  const uint64_t key = ((uint64_t)section << 16) | ((uint64_t)kind << 8) |
                       ((uint64_t)class_index << 2) | (uint64_t)peer;
  uint64_t i = nbc__mon_hash(key) & index_mask;
  for (; r->cell_index[i]; i = (i + 1) & index_mask) {
    c = &r->cells[r->cell_index[i] - 1];
    if (c->section_index == section && c->kind == kind && c->class_index == class_index &&
        c->peer == peer)
      return c;
  }
  if (r->cell_count > r->monitor->desc.max_cells) {
    nbc__mon_problem(r, NBC_PROBLEM_cells_overflow);
    return &r->cells[0];
  }
  c = &r->cells[r->cell_count++];
  c->section_index = section;
  c->kind = kind;
  c->class_index = class_index;
  c->peer = peer;
  r->cell_index[i] = (uint32_t)(c - r->cells) + 1;
  return c;
}

/* The transfer time, and in *fastest_ns how fast it may be at least: 0 where nobody measured it. */
static int64_t nbc__mon_xfer_ns(const nbc_recorder *r, nbc_peer peer, uint64_t size_bytes,
                                int64_t *fastest_ns) {
  const nbc_monitor *m = r->monitor;
  const nbc_monitor_desc *d = &m->desc;
  const int64_t hour_ns =
      3600000000000; /* nobody's message takes longer; keeps sums from overflowing */
  const nbc_table *table = peer == NBC_PEER_SAME_NODE ? d->table_same_node
                           : peer == NBC_PEER_SELF    ? m->table_self
                                                      : d->table_other_node;
  int64_t t_ns = nbc_table_time_ns(table, size_bytes);
  if (t_ns > hour_ns) t_ns = hour_ns;
  const bool guessed =
      table == m->own_table[0] || table == m->own_table[1] || table == m->table_self;
  *fastest_ns = guessed || nbc_table_disturbed(table) ? 0 : t_ns;
  if (peer != NBC_PEER_UNKNOWN) return t_ns;
  /* the slower of the two; as a lower bound, the faster */
  int64_t other_ns = nbc_table_time_ns(d->table_same_node, size_bytes);
  if (other_ns > hour_ns) other_ns = hour_ns;
  if (m->own_table[0] || nbc_table_disturbed(d->table_same_node)) *fastest_ns = 0;
  if (other_ns < *fastest_ns) *fastest_ns = other_ns;
  return other_ns > t_ns ? other_ns : t_ns;
}

/* How much of a message may be here before its receive is posted, or on its way when its send has ended:
   what is sent before the receiver answers. Of a larger message, too, so much may go ahead. */
static uint64_t nbc__mon_eager_bytes(const nbc_recorder *r, nbc_peer peer, uint64_t size_bytes) {
  const nbc_monitor_desc *d = &r->monitor->desc;
  const int64_t same = nbc_table_eager_bytes(d->table_same_node),
                other = nbc_table_eager_bytes(d->table_other_node);
  const uint64_t most_same = same < 0 ? NBC__MON_MAYBE_EAGER : (uint64_t)same;
  const uint64_t most_other = other < 0 ? NBC__MON_MAYBE_EAGER : (uint64_t)other;
  uint64_t most = most_same > most_other ? most_same : most_other; /* of a peer that is not known */
  if (peer == NBC_PEER_SAME_NODE || peer == NBC_PEER_SELF) most = most_same;
  if (peer == NBC_PEER_OTHER_NODE) most = most_other;
  return size_bytes < most ? size_bytes : most;
}

/* How much of what a send was to move may be on its way when it has ended. */
static uint64_t nbc__mon_tail_bytes(const nbc_recorder *r, nbc_peer peer, uint64_t size_bytes) {
  const nbc_monitor_desc *d = &r->monitor->desc;
  const int64_t same = nbc_table_tail_bytes(d->table_same_node),
                other = nbc_table_tail_bytes(d->table_other_node);
  if (peer == NBC_PEER_SELF) return 0; /* copied inside calls */
  if (peer == NBC_PEER_UNKNOWN) return same == 0 && other == 0 ? 0 : size_bytes;
  const int64_t most = peer == NBC_PEER_SAME_NODE ? same : other;
  if (most == 0) return 0;
  if (most < 0) return size_bytes;
  return (uint64_t)most < size_bytes ? (uint64_t)most : size_bytes;
}

/* Measured with messages: the tables say nothing of how fast a put, a get or an update may be. */
static bool nbc__mon_is_off_table(const nbc_recorder *r, int kind) {
  return r->monitor->desc.tables_of_messages &&
         (kind == NBC_KIND_PUT || kind == NBC_KIND_GET || kind == NBC_KIND_ATOMIC);
}

/* How much of a transfer may have moved outside of the window between its stamps; all of it: one of
   them is not believed. */
static uint64_t nbc__mon_outside_bytes(const nbc_recorder *r, int what, uint64_t size_bytes,
                                       nbc_peer peer) {
  const uint64_t eager_bytes = nbc__mon_eager_bytes(r, peer, size_bytes);
  if (what == NBC__MON_END_PARTS) return size_bytes;
  if (what == NBC__MON_END_EARLY) return eager_bytes;
  if (what != NBC__MON_END_LOCAL) return 0;
  return eager_bytes == size_bytes ? size_bytes : nbc__mon_tail_bytes(r, peer, size_bytes);
}

/* How far two stamps of a transfer are believed: both; not both when the window is shorter than the
   transfer takes; never both. */
typedef enum nbc__mon_trust {
  NBC__MON_BOTH,
  NBC__MON_BOTH_WHEN_LONG,
  NBC__MON_NEVER
} nbc__mon_trust;

NBC__MON_APART static nbc__mon_shape *nbc__mon_make_shape(nbc_recorder *r, nbc__mon_shape *s,
                                                          uint64_t key, int kind, int what,
                                                          uint64_t size_bytes, nbc_peer peer) {
  int64_t any_ns;
  memset(s, 0, sizeof *s);
  s->key = key;
  s->size_bytes = size_bytes;
  s->x_ns = nbc__mon_xfer_ns(r, peer, size_bytes, &s->fastest_ns);
  s->outside_bytes = nbc__mon_outside_bytes(r, what, size_bytes, peer);
  if (s->outside_bytes)
    s->outside_ns =
        nbc__table_part_of(s->x_ns, size_bytes,
                           nbc__mon_xfer_ns(r, peer, s->outside_bytes, &any_ns), s->outside_bytes);
  s->off_table = nbc__mon_is_off_table(r, kind);
  if (s->off_table) s->fastest_ns = 0;
  if (what == NBC__MON_END_LOCAL) s->end = NBC__MON_BOTH_WHEN_LONG;
  if (s->outside_bytes == size_bytes && /* so are messages without data */
      (what == NBC__MON_END_PARTS || what == NBC__MON_END_EARLY || what == NBC__MON_END_LOCAL))
    s->end = NBC__MON_NEVER;
  return s;
}
/* what: of the end; NBC__MON_BEGIN: there is none. */
static inline nbc__mon_shape *nbc__mon_shape_of(nbc_recorder *r, int section, int kind, int what,
                                                uint64_t size_bytes, nbc_peer peer) {
  const uint64_t key = (uint64_t)1 << 63 | (uint64_t)section << 24 | (uint64_t)kind << 16 |
                       (uint64_t)what << 8 | (uint64_t)peer;
  const uint64_t mixed = (key ^ size_bytes * 0xC2B2AE3D27D4EB4Fu) * 0x9E3779B97F4A7C15u;
  nbc__mon_shape *s = &r->shapes[mixed >> (64 - NBC__MON_SHAPES_LOG2)];
  if (s->key == key && s->size_bytes == size_bytes) return s;
  return nbc__mon_make_shape(r, s, key, kind, what, size_bytes, peer);
}

/* What can be said of a transfer with begin b and end e; either may be NULL, or not believed. */
static inline nbc__mon_bounds nbc__mon_bounds_of(nbc_recorder *r, const nbc__mon_shape *shape,
                                                 const nbc__mon_event *b, const nbc__mon_event *e,
                                                 int64_t *comp_ns) {
  nbc__mon_bounds o;
  int64_t window_ns = 0, outside_ns = shape->outside_ns, fastest_ns = shape->fastest_ns;
  o.outside_bytes = 0;
  o.faster = false;
  o.x_ns = shape->x_ns;
  if (b && e && NBC__MON_RARE(e->t_ns < b->t_ns)) {
    nbc__mon_problem(r, NBC_PROBLEM_ended_before_begin);
    b = NULL;
  }
  if (b && e && NBC__MON_RARE(b->comp_ns == NBC__MON_UNPLACED || e->comp_ns == NBC__MON_UNPLACED)) {
    nbc__mon_problem(r, NBC_PROBLEM_unplaced);
    b = NULL;
  }
  if (b && e) {
    window_ns = e->t_ns - b->t_ns;
    o.outside_bytes = shape->outside_bytes;
    if (shape->end == NBC__MON_NEVER ||
        (shape->end == NBC__MON_BOTH_WHEN_LONG && o.x_ns > window_ns))
      b = NULL;
  }
  o.case_of = 2;
  o.min_ns = 0;
  o.max_ns = o.x_ns;
  if (!b || !e) return o;
  *comp_ns = e->comp_ns - b->comp_ns;
  if (*comp_ns < 0) *comp_ns = 0;
  if (*comp_ns > window_ns) *comp_ns = window_ns;
  if (o.x_ns > window_ns + outside_ns) {
    nbc__mon_problem(r, NBC_PROBLEM_table_too_slow);
    o.x_ns = window_ns + outside_ns;
    o.faster = true;
    fastest_ns = 0; /* this one was faster than the table: who knows how much */
  }
  if (outside_ns > o.x_ns) outside_ns = o.x_ns;
  if (fastest_ns > o.x_ns) fastest_ns = o.x_ns;
  /* A foreign stamp names the call that the owner was in when the other thread looked, which may be
     over at the stamp's time: "begin, in call 7" and "end, in call 7" can have computation between
     them, where the owner left call 7 and the other thread had looked before. So C has the last
     word. */
  o.case_of = b->call_seq && b->call_seq == e->call_seq && *comp_ns == 0 ? 0 : 1;
  /* [O §2.2 case 2], max: min(comp, x); min: max(0, x - noncomp). But outside_ns of x may have
     moved where nobody looked, hidden or not: max grows by it, min shrinks. And min takes x at its
     fastest, which is 0 for a guess. */
  const int64_t noncomp_ns = window_ns - *comp_ns;
  o.max_ns = *comp_ns < o.x_ns - outside_ns ? *comp_ns + outside_ns : o.x_ns;
  /* Of unknown speed, all of it may have moved in the shortest computation. */
  if ((o.faster || shape->off_table) && *comp_ns > 0) o.max_ns = o.x_ns;
  o.min_ns = fastest_ns - outside_ns > noncomp_ns ? fastest_ns - outside_ns - noncomp_ns : 0;
  if (outside_ns && o.case_of == 0) o.case_of = 2; /* most of it was seen, not all */
  return o;
}

/* [O §2.2]: one transfer with begin b and end e; e == NULL or b == NULL: case 3. */
static inline nbc__mon_bounds nbc__mon_book(nbc_recorder *r, nbc_cell *cell,
                                            const nbc__mon_shape *shape, const nbc__mon_event *b,
                                            const nbc__mon_event *e) {
  nbc_totals *t = &cell->t;
  int64_t comp_ns = 0;
  const nbc__mon_bounds o = nbc__mon_bounds_of(r, shape, b, e, &comp_ns);
  t->count++;
  t->size_bytes += shape->size_bytes;
  t->case_count[o.case_of]++;
  if (o.case_of == 1) {
    cell->available_ns += comp_ns;
    cell->available_count[nbc__bin(comp_ns)]++;
  }
  if (e) t->waited_ns += (int64_t)e->waited_ns;
  t->xfer_ns += o.x_ns;
  t->min_overlap_ns += o.min_ns;
  t->max_overlap_ns += o.max_ns;
  return o;
}
NBC__PRIVATE nbc__mon_bounds nbc__mon_account(nbc_recorder *r, nbc_cell *cell,
                                              const nbc__mon_event *b, const nbc__mon_event *e,
                                              uint64_t size_bytes, nbc_peer peer) {
  const nbc__mon_event *first = b ? b : e;
  return nbc__mon_book(r, cell,
                       nbc__mon_shape_of(r, first->section, first->kind,
                                         e ? (int)e->what : (int)NBC__MON_BEGIN, size_bytes, peer),
                       b, e);
}

NBC__MON_APART NBC__PRIVATE void nbc__mon_tell(const nbc_recorder *r, const nbc__mon_event *b,
                                               const nbc__mon_event *e, uint64_t size_bytes,
                                               nbc_peer peer, const nbc__mon_bounds *o) {
  const nbc_monitor_desc *d = &r->monitor->desc;
  void (*const on_seen)(void *, const nbc_seen *) = NBC__MON_RELAXED_LOAD(&d->on_seen);
  nbc_seen seen;
  if (!on_seen) return;
  memset(&seen, 0, sizeof seen);
  seen.id = b ? b->id : e->id;
  seen.size_bytes = size_bytes;
  seen.kind = (nbc_kind)(b ? b->kind : e->kind);
  seen.peer = peer;
  seen.case_of = o->case_of + 1;
  seen.begin_ns = b && b->what == NBC__MON_BEGIN ? b->t_ns : INT64_MIN;
  seen.end_ns = e ? e->t_ns : INT64_MIN;
  seen.xfer_ns = o->x_ns;
  seen.min_overlap_ns = o->min_ns;
  seen.max_overlap_ns = o->max_ns;
  on_seen(d->on_seen_user, &seen);
}
/* ---- joint bounds: what was under way together ------------------------------------------------- */
/* Where a transfer joins others: out or in, by class of peer; NULL: its direction is not one, or it is
   not known which link it takes, or how fast that is. */
NBC__MON_APART static nbc__mon_joint *nbc__mon_find_joint(nbc_recorder *r,
                                                          const nbc__mon_event *b) {
  const nbc_monitor_desc *d = &r->monitor->desc;
  const nbc_peer peer = (nbc_peer)b->peer;
  const nbc_table *table = peer == NBC_PEER_SAME_NODE    ? d->table_same_node
                           : peer == NBC_PEER_OTHER_NODE ? d->table_other_node
                                                         : NULL;
  if (!table || !(nbc_table_link_bytes_per_s(table) > 0) || nbc_table_disturbed(table) ||
      nbc__mon_is_off_table(r, b->kind))
    return NULL;
  switch ((nbc_kind)b->kind) {
  case NBC_KIND_SEND:
  case NBC_KIND_ISEND:
  case NBC_KIND_PUT: return &r->joint[0][peer];
  case NBC_KIND_RECV:
  case NBC_KIND_IRECV:
  case NBC_KIND_GET: return &r->joint[1][peer];
  default: return NULL;
  }
}

static inline nbc__mon_joint *nbc__mon_joint_of(nbc_recorder *r, const nbc__mon_event *b) {
  return r->monitor->has_joint ? nbc__mon_find_joint(r, b) : NULL;
}

NBC__MON_APART static void nbc__mon_join(nbc__mon_joint *j, const nbc__mon_event *b) {
  if (++j->active > j->most_active) j->most_active = j->active;
  if (j->active > 1) return;
  j->broken = false;
  j->begin_ns = b->t_ns;
  j->begin_comp_ns = b->comp_ns;
  j->end_ns = INT64_MIN;
}

/* Bounds of a busy period of length C + N with N = length - C. */
/* The link moves work_ns in a row: what of it does not fit into N was hidden, and no more than C
   was. Latencies pass at the same time: all of them may be hidden, none need be. */
static void nbc__mon_close_period(nbc_totals *sum, const nbc__mon_joint *j, int64_t length_ns,
                                  int64_t comp_ns, bool broken) {
  const nbc_totals *p = &j->period;
  int64_t min_ns = p->min_overlap_ns, max_ns = p->max_overlap_ns;
  if (comp_ns < 0) comp_ns = 0;
  if (comp_ns > length_ns) comp_ns = length_ns;
  if (!broken && j->latency_ns + comp_ns < max_ns) max_ns = j->latency_ns + comp_ns;
  if (!broken && j->work_ns - (length_ns - comp_ns) > min_ns)
    min_ns = j->work_ns - (length_ns - comp_ns);
  if (min_ns >
      max_ns) { /* the link's rate is not what was measured: believe only the independent ones */
    min_ns = p->min_overlap_ns;
    max_ns = p->max_overlap_ns;
  }
  sum->count += p->count;
  sum->size_bytes += p->size_bytes;
  sum->xfer_ns += p->xfer_ns;
  sum->min_overlap_ns += min_ns;
  sum->max_overlap_ns += max_ns;
}

/* With more others at once than the link's rate was measured with, so many times as much may move: the
   work takes less of the time, and the rest of a transfer counts as latency. */
static void nbc__mon_many_links(const nbc_recorder *r, nbc__mon_joint *j, nbc_peer peer) {
  const nbc_monitor_desc *d = &r->monitor->desc;
  const bool same = peer == NBC_PEER_SAME_NODE;
  const uint32_t known = same ? d->peers_same_node : d->peers_other_node,
                 most = known && known < j->most_active ? known : j->most_active,
                 with = nbc_table_link_peers(same ? d->table_same_node : d->table_other_node);
  const int64_t all_ns = j->work_ns;
  if (most > with) j->work_ns /= (most - 1) / with + 1;
  j->latency_ns += all_ns - j->work_ns;
}

/* A transfer that had joined is over: e == NULL: it was withdrawn, or its end is not known. */
NBC__MON_APART static void nbc__mon_part(nbc_recorder *r, nbc__mon_joint *j,
                                         const nbc__mon_event *b, const nbc__mon_event *e,
                                         uint64_t size_bytes, nbc_peer peer,
                                         const nbc__mon_bounds *o) {
  nbc_totals *to = &j->sum;
  if (j->active == 0) return;
  if (!e || e->t_ns < b->t_ns || b->comp_ns == NBC__MON_UNPLACED || e->comp_ns == NBC__MON_UNPLACED)
    j->broken = true;
  if (o && o->faster) j->broken = true; /* so is the link, perhaps */
  if (o && o->case_of != 2 && peer == (nbc_peer)b->peer) {
    const nbc_monitor_desc *d = &r->monitor->desc;
    const nbc_table *table = peer == NBC_PEER_SAME_NODE ? d->table_same_node : d->table_other_node;
    int64_t work_ns = (int64_t)((double)(size_bytes - o->outside_bytes) * 1e9 /
                                nbc_table_link_bytes_per_s(table));
    if (work_ns > o->x_ns) work_ns = o->x_ns;
    const int64_t latency_ns = o->x_ns - work_ns;
    j->latency_ns += latency_ns < o->max_ns ? latency_ns : o->max_ns;
    j->work_ns += work_ns;
    to = &j->period;
  }
  if (o) {
    to->count++;
    to->size_bytes += size_bytes;
    to->xfer_ns += o->x_ns;
    to->min_overlap_ns += o->min_ns;
    to->max_overlap_ns += o->max_ns;
  }
  if (e && e->t_ns > j->end_ns) {
    j->end_ns = e->t_ns;
    j->end_comp_ns = e->comp_ns;
  }
  if (--j->active > 0) return;
  nbc__mon_many_links(r, j, (nbc_peer)b->peer);
  if (j->end_ns < j->begin_ns) j->broken = true;
  if (j->broken) j->end_ns = j->begin_ns, j->end_comp_ns = j->begin_comp_ns;
  nbc__mon_close_period(&j->sum, j, j->end_ns - j->begin_ns, j->end_comp_ns - j->begin_comp_ns,
                        j->broken);
  memset(&j->period, 0, sizeof j->period);
  j->latency_ns = j->work_ns = 0;
  j->most_active = 0;
}

static nbc_cell *nbc__mon_finish(nbc_recorder *r, const nbc__mon_event *b,
                                 const nbc__mon_event *e) {
  const nbc__mon_event *first = b ? b : e;
  uint64_t size_bytes = first->size_bytes;
  nbc_peer peer = (nbc_peer)first->peer;
  if (e && (e->what == NBC__MON_END_SIZED || e->what == NBC__MON_END_EARLY)) {
    size_bytes = e->size_bytes;
    if (e->peer != NBC_PEER_UNKNOWN) peer = (nbc_peer)e->peer;
  }
  nbc__mon_shape *shape = nbc__mon_shape_of(
      r, first->section, first->kind, e ? (int)e->what : (int)NBC__MON_BEGIN, size_bytes, peer);
  nbc_cell *cell = shape->cell;
  if (NBC__MON_RARE(!cell)) {
    cell = nbc__mon_cell(r, first->section, (nbc_kind)first->kind,
                         nbc__mon_class(r->monitor, size_bytes), peer);
    if (cell != &r->cells[0]) shape->cell = cell; /* who has none of his own is counted each time */
  }
  const nbc__mon_bounds o =
      nbc__mon_book(r, cell, shape, b && b->what == NBC__MON_BEGUN ? NULL : b, e);
  nbc__mon_joint *joint = b ? nbc__mon_joint_of(r, b) : NULL;
  if (joint) nbc__mon_part(r, joint, b, e, size_bytes, peer, &o);
  if (NBC__MON_RARE(NBC__MON_RELAXED_LOAD(&r->monitor->desc.on_seen) != NULL))
    nbc__mon_tell(r, b, e, size_bytes, peer, &o);
  return cell;
}

NBC__MON_APART NBC__PRIVATE bool nbc__mon_comp_then(const nbc_recorder *r, int64_t t_ns,
                                                    int64_t *comp_ns) {
  const uint64_t size = r->history_mask + 1,
                 head = __atomic_load_n(&r->history_head, __ATOMIC_ACQUIRE);
  /* the owner may be writing head - size */
  uint64_t low = head >= size ? head - size + 1 : 0, high = head;
  const uint64_t oldest = low;
  while (low < high) { /* first turn after t_ns */
    const uint64_t mid = low + (high - low) / 2;
    if (NBC__MON_RELAXED_LOAD(&r->history[mid & r->history_mask].t_ns) <= t_ns)
      low = mid + 1;
    else
      high = mid;
  }
  if (low == oldest && (oldest > 0 || head == 0)) return false;
  if (low == 0) low = 1, t_ns = r->history[0].t_ns; /* before the thread was known, C stood still */
  *comp_ns =
      nbc__mon_comp_at(NBC__MON_RELAXED_LOAD(&r->history[(low - 1) & r->history_mask].state), t_ns);
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  const uint64_t now = NBC__MON_RELAXED_LOAD(&r->history_head);
  return now < size || low - 1 > now - size; /* still there? */
}

/* The latest time up to which all of the owner's turns are in the history. */
static int64_t nbc__mon_known_ns(const nbc_recorder *r) {
  const uint64_t head = __atomic_load_n(&r->history_head, __ATOMIC_ACQUIRE);
  if (!head) return INT64_MIN;
  const int64_t t_ns = NBC__MON_RELAXED_LOAD(&r->history[(head - 1) & r->history_mask].t_ns);
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  return NBC__MON_RELAXED_LOAD(&r->history_head) - head < r->history_mask
             ? t_ns
             : INT64_MIN; /* still there? */
}

/* Twice as many active transfers, where the monitor may. */
NBC__MON_APART static bool nbc__mon_grow(nbc_recorder *r) {
  const size_t size = 2 * r->active_size, old_keys = r->key_mask + 1;
  if (!r->monitor->desc.grow_transfers || size > (size_t)1 << 24) return false;
  nbc__mon_event *active = (nbc__mon_event *)nbc__zalloc(size * sizeof *active);
  uint32_t *pool = (uint32_t *)nbc__zalloc(size * sizeof *pool);
  nbc__mon_key *keys = (nbc__mon_key *)nbc__zalloc(2 * size * sizeof *keys), *const old = r->keys;
  if (!active || !pool || !keys) {
    NBC_FREE(active);
    NBC_FREE(pool);
    NBC_FREE(keys);
    return false;
  }
  memcpy(active, r->active, r->active_size * sizeof *active);
  NBC_FREE(r->active);
  NBC_FREE(r->pool); /* it is empty: all are in use */
  r->active = active;
  r->pool = pool;
  r->keys = keys;
  r->key_mask = 2 * size - 1;
  r->active_size = size;
  /* Homes depend on the mask, so all keys move; places in `active` do not: their numbers hold. */
  for (size_t i = 0; i < old_keys; i++)
    if (old[i].index_plus1) *nbc__mon_find(r, old[i].id) = old[i];
  NBC_FREE(old);
  return true;
}

/* A begin whose end will not come, or has no place to be waited for. */
NBC__MON_APART static void nbc__mon_give_up(nbc_recorder *r, const nbc__mon_event *b,
                                            nbc_problem why) {
  nbc__mon_problem(r, why);
  nbc__mon_finish(r, b, NULL);
}
static void nbc__mon_begin(nbc_recorder *r, const nbc__mon_event *e) {
  const size_t size = r->active_size;
  nbc__mon_joint *joint = nbc__mon_joint_of(r, e);
  nbc__mon_key *key = nbc__mon_find(r, e->id);
  if (key->index_plus1) {
    nbc__mon_give_up(r, &r->active[key->index_plus1 - 1], NBC_PROBLEM_id_reused);
  } else if (r->pool_count == 0 && r->active_used == r->active_size && !nbc__mon_grow(r)) {
    if (joint) nbc__mon_join(joint, e);
    nbc__mon_give_up(r, e, NBC_PROBLEM_transfers_overflow);
    return;
  } else {
    if (r->active_size != size) key = nbc__mon_find(r, e->id); /* the keys have moved */
    key->id = e->id;
    key->index_plus1 = (r->pool_count ? r->pool[--r->pool_count] : (uint32_t)r->active_used++) + 1;
  }
  if (joint) nbc__mon_join(joint, e);
  r->active[key->index_plus1 - 1] = *e;
}

/* Where a transfer that is over or withdrawn is remembered. */
/* One place per hash: a newer id there turns "ended twice" into "end unknown" and loses stamps. */
static inline size_t nbc__mon_recent_of(uint64_t id) { return nbc__mon_home(id) % NBC__MON_RECENT; }
/* What of it came before: b NULL: its begin is over or was never seen. */
NBC__MON_APART static void nbc__mon_follow_late(nbc_recorder *r, const nbc__mon_event *e,
                                                const nbc__mon_event *b, int64_t known_ns) {
  const size_t recent = nbc__mon_recent_of(e->id);
  const bool ended = !b && r->recent[recent].set && r->recent[recent].id == e->id;
  if (e->what == NBC__MON_STAMP) {
    nbc_cell *cell = ended ? r->recent[recent].cell : NULL;
    if (b)
      cell = nbc__mon_cell(r, b->section, (nbc_kind)b->kind,
                           nbc__mon_class(r->monitor, b->size_bytes), (nbc_peer)b->peer);
    if (cell)
      nbc__mon_stamp(r, cell, e, known_ns);
    else
      nbc__mon_problem(r, NBC_PROBLEM_stamp_lost);
  } else if (!b) {
    nbc__mon_problem(r, ended ? NBC_PROBLEM_ended_twice : NBC_PROBLEM_end_unknown);
  } else { /* cancelled */
    nbc__mon_joint *joint = nbc__mon_joint_of(r, b);
    if (joint) nbc__mon_part(r, joint, b, NULL, 0, NBC_PEER_UNKNOWN, NULL);
    nbc__mon_problem(r, NBC_PROBLEM_cancelled);
  }
}
static inline void nbc__mon_remember(nbc_recorder *r, uint64_t id, nbc_cell *cell) {
  const size_t recent = nbc__mon_recent_of(id);
  r->recent[recent].id = id;
  r->recent[recent].set = true;
  r->recent[recent].cell = cell;
}
/* What refers to an earlier begin: an end, a cancel, a stamp. b: that begin, if it is in the ring. */
static inline void nbc__mon_follow(nbc_recorder *r, const nbc__mon_event *e,
                                   const nbc__mon_event *b, int64_t known_ns) {
  nbc__mon_key *key = b ? NULL : nbc__mon_find(r, e->id);
  nbc_cell *cell = NULL;
  if (key && key->index_plus1) b = &r->active[key->index_plus1 - 1];
  if (NBC__MON_RARE(!b || e->what == NBC__MON_STAMP || e->what == NBC__MON_CANCEL)) {
    nbc__mon_follow_late(r, e, b, known_ns);
    if (!b || e->what == NBC__MON_STAMP) return;
  } else {
    cell = nbc__mon_finish(r, b, e);
  }
  if (key) nbc__mon_remove(r, key);
  nbc__mon_remember(r, e->id, cell);
}

static inline void nbc__mon_process(nbc_recorder *r, const nbc__mon_event *e,
                                    const nbc__mon_event *b, int64_t known_ns) {
  if (e->what == NBC__MON_BEGIN || e->what == NBC__MON_BEGUN)
    nbc__mon_begin(r, e);
  else if (e->what == NBC__MON_END_ONLY)
    nbc__mon_finish(r, NULL, e);
  else
    nbc__mon_follow(r, e, b, known_ns);
}

/* A begin that its end will find in the ring. */
static inline void nbc__mon_begin_paired(nbc_recorder *r, nbc__mon_event *b) {
  nbc__mon_joint *joint = nbc__mon_joint_of(r, b);
  b->what = NBC__MON_BEGIN;
  if (NBC__MON_RARE(r->active_used > r->pool_count)) {
    nbc__mon_key *key = nbc__mon_find(r, b->id);
    if (key->index_plus1) { /* as in nbc__mon_begin */
      nbc__mon_give_up(r, &r->active[key->index_plus1 - 1], NBC_PROBLEM_id_reused);
      nbc__mon_remove(r, key);
    }
  }
  if (joint) nbc__mon_join(joint, b);
}

/* The ring from tail to head, with all that this calls in one piece. Whose begin and end are both here
   needs no key and no copy. The lock is held, so what the ring holds may be marked. */
__attribute__((flatten, noinline)) static uint64_t nbc__mon_process_own(nbc_recorder *r,
                                                                        uint64_t tail,
                                                                        uint64_t head) {
  const uint64_t first = tail, mask = r->ring_mask;
  for (uint64_t i = first; i != head; i++) {
    const uint64_t back = r->ring[i & mask].back;
    if (back && back <= i - first) r->ring[(i - back) & mask].what = NBC__MON_PAIRED;
  }
  for (; tail != head; tail++) {
    nbc__mon_event *own = &r->ring[tail & mask];
    if (own->what == NBC__MON_PAIRED)
      nbc__mon_begin_paired(r, own);
    else
      nbc__mon_process(r, own,
                       own->back && own->back <= tail - first ? &r->ring[(tail - own->back) & mask]
                                                              : NULL,
                       own->t_ns);
  }
  return tail;
}

/* The slot at the tail of the inbox holds an event. */
static bool nbc__mon_is_filled(const nbc_recorder *r, const nbc__mon_slot *slot) {
  return __atomic_load_n(&slot->turn, __ATOMIC_ACQUIRE) + (r->inbox_tail & r->inbox_mask) ==
         r->inbox_tail + 1;
}

/* A foreign event, when the owner's turns are known up to known_ns. */
static void nbc__mon_process_foreign(nbc_recorder *r, nbc__mon_slot *slot, int64_t known_ns) {
  nbc__mon_event *e = &slot->event;
  if (e->what != NBC__MON_STAMP &&
      (e->t_ns > known_ns || !nbc__mon_comp_then(r, e->t_ns, &e->comp_ns)))
    e->comp_ns = NBC__MON_UNPLACED;
  nbc__mon_process(r, e, NULL, known_ns);
  const uint64_t index = r->inbox_tail & r->inbox_mask;
  __atomic_store_n(&slot->turn, r->inbox_tail + r->inbox_mask + 1 - index, __ATOMIC_RELEASE);
  NBC__MON_RELAXED_STORE(&r->inbox_tail, r->inbox_tail + 1);
}

/* An end, or a cancel, of a transfer whose begin has not been seen. */
static bool nbc__mon_lacks_begin(nbc_recorder *r, const nbc__mon_event *e) {
  return e->what != NBC__MON_BEGIN && e->what != NBC__MON_BEGUN && e->what != NBC__MON_END_ONLY &&
         e->what != NBC__MON_STAMP && !nbc__mon_find(r, e->id)->index_plus1;
}
/* The earlier one, but a begin before its end whatever their times say: cores read their counters
   some ns apart, and early, while they wait for memory. */
static bool nbc__mon_comes_first(nbc_recorder *r, const nbc__mon_event *foreign,
                                 const nbc__mon_event *own) {
  if (foreign->t_ns < own->t_ns) return !nbc__mon_lacks_begin(r, foreign);
  return foreign->id == own->id && foreign->what == NBC__MON_BEGIN && nbc__mon_lacks_begin(r, own);
}

/* Own events (the ring) and foreign ones (the inbox) become sums in the order of their times, an own
   begin before a foreign end of the same time. The invariant: an event is processed only when all
   events of its transfer with earlier times have been. The ring is in order by itself. A foreign
   event is in order once all own events before its time are in the ring, which is certain when the
   owner has told of a later time: by a turn of its history, by an own event, or by standing still
   (known_ns, by whoever drains). Foreign events are taken in the order in which they came; one that
   is just being written holds up those behind it, lest an own end overtakes its foreign begin. All
   this runs under the recorder's lock.

     who drains                        known_ns                haste
     owner, its ring is full           -                       PATIENT
     owner between calls, if unlocked  -                       PASSING
     thread whose event has no room    - (owner itself: all)   FORCED
     report: by the owner              its time                PATIENT, then NIC stamps as they are
     report: by others                 -                       PATIENT
     report of a detached one, detach  all                     PATIENT

     haste     an event is being written   a foreign event is too early to tell
     PASSING   leaves                      leaves it
     PATIENT   waits up to 100 yields      leaves it
     FORCED    waits up to 100 yields      processes it: unplaced, case 3 */
typedef enum nbc__mon_haste { NBC__MON_PASSING, NBC__MON_PATIENT, NBC__MON_FORCED } nbc__mon_haste;
static void nbc__mon_drain_locked(nbc_recorder *r, int64_t known_ns, nbc__mon_haste haste) {
  uint64_t head = __atomic_load_n(&r->ring_head, __ATOMIC_ACQUIRE);
  uint64_t tail = r->ring_tail;
  int waits = 0;
  /* Whose end is in the ring, its foreign begin was in the inbox before. */
  if (NBC__MON_RELAXED_LOAD(&r->inbox_head) == r->inbox_tail)
    tail = nbc__mon_process_own(r, tail, head);
  for (;;) {
    nbc__mon_slot *slot = &r->inbox[r->inbox_tail & r->inbox_mask];
    const bool foreign = nbc__mon_is_filled(r, slot);
    if (!foreign && waits < 100 && NBC__MON_RELAXED_LOAD(&r->inbox_head) != r->inbox_tail) {
      if (haste == NBC__MON_PASSING) break;
      waits++;
      sched_yield();
      continue;
    }
    if (foreign && slot->event.t_ns > known_ns) {
      const int64_t turned_ns = nbc__mon_known_ns(r);
      if (turned_ns > known_ns) known_ns = turned_ns;
    }
    /* The begin of a foreign end may have come after the first look at the ring. */
    if (foreign && tail == head) head = __atomic_load_n(&r->ring_head, __ATOMIC_ACQUIRE);
    const nbc__mon_event *own = tail != head ? &r->ring[tail & r->ring_mask] : NULL;
    if (own && own->t_ns > known_ns) known_ns = own->t_ns; /* its turns came before it */
    if (foreign && (!own || nbc__mon_comes_first(r, &slot->event, own))) {
      /* An own event is never left in the ring: that may be full, or its owner out of sight soon. Its begin,
         when that is later, says nothing anyway. */
      if (!own && slot->event.t_ns > known_ns && haste != NBC__MON_FORCED) break;
      nbc__mon_process_foreign(r, slot, known_ns);
    } else if (own) {
      nbc__mon_process(r, own, NULL, known_ns);
      tail++;
    } else {
      break;
    }
  }
  __atomic_store_n(&r->ring_tail, tail, __ATOMIC_RELEASE);
}

/* From here on nobody sees whether the owner computes: it is switched off, or its thread ends. Of what is under
   way now only the end will bound it. Under the lock. */
static void nbc__mon_lose_sight(nbc_recorder *r, int64_t known_ns) {
  nbc__mon_drain_locked(r, known_ns, NBC__MON_PATIENT);
  for (uint64_t i = 0; i <= r->key_mask; i++)
    if (r->keys[i].index_plus1) r->active[r->keys[i].index_plus1 - 1].what = NBC__MON_BEGUN;
}

/* By the owner, whose ring is full: how long it took is the tool's own time. */
static void nbc__mon_drain_in_time(nbc_recorder *r) {
  const bool counts = r->event_cost_ns > 0 && r->depth > 0;
  const int64_t start_ns = counts ? nbc_clock_now_ns(&r->monitor->clock) : 0;
  nbc__mon_drain(r);
  if (counts) r->drain_ns += nbc_clock_now_ns(&r->monitor->clock) - start_ns;
}

NBC__PRIVATE void nbc__mon_drain(nbc_recorder *r) {
  nbc__mon_lock(r);
  nbc__mon_drain_locked(r, INT64_MIN, NBC__MON_PATIENT);
  nbc__mon_unlock(r);
}
NBC__PRIVATE bool nbc__mon_is_owner(const nbc_recorder *r) {
  return pthread_equal(NBC__MON_RELAXED_LOAD(&r->thread), pthread_self());
}
/* By a thread that needs room in the inbox; only the owner's own knows what the owner did last. */
NBC__PRIVATE void nbc__mon_drain_by_force(nbc_recorder *r) {
  nbc__mon_lock(r);
  nbc__mon_drain_locked(r, nbc__mon_is_owner(r) ? INT64_MAX : INT64_MIN, NBC__MON_FORCED);
  nbc__mon_unlock(r);
}
/* By the owner between its calls: does not wait for who drains already. */
static void nbc__mon_empty_inbox(nbc_recorder *r) {
  if (NBC__MON_RELAXED_LOAD(&r->inbox_head) == NBC__MON_RELAXED_LOAD(&r->inbox_tail)) return;
  if (__atomic_exchange_n(&r->lock, 1, __ATOMIC_ACQUIRE)) return;
  nbc__mon_drain_locked(r, INT64_MIN, NBC__MON_PASSING);
  nbc__mon_unlock(r);
}
/* For a report at t_ns. Who asks may be the owner: then nothing of it is under way, and NIC stamps
   whose last time it has not passed are taken as wide as that leaves them. */
NBC__PRIVATE void nbc__mon_drain_for_report_locked(nbc_recorder *r, int64_t t_ns) {
  const bool is_owner = r->attached && nbc__mon_is_owner(r);
  const int64_t known_ns = !r->attached ? INT64_MAX : is_owner ? t_ns : INT64_MIN;
  for (;;) {
    nbc__mon_drain_locked(r, known_ns, NBC__MON_PATIENT);
    nbc__mon_slot *slot = &r->inbox[r->inbox_tail & r->inbox_mask];
    if (!is_owner || !nbc__mon_is_filled(r, slot) || slot->event.what != NBC__MON_STAMP) return;
    nbc__mon_process_foreign(r, slot, known_ns);
  }
}

NBC_API void nbc_recorder_detach_at(nbc_recorder *r, int64_t t_ns) {
  if (!r) return;
  t_ns = nbc__mon_advance(r, t_ns);
  if (r->open_depth) nbc__mon_problem(r, NBC_PROBLEM_section_unbalanced);
  r->open_depth = r->open_overflow = 0;
  nbc__mon_go_to_section(r, 0);
  r->depth = 0;
  NBC__MON_RELAXED_STORE(&r->call_seq, 0);
  nbc__mon_set_state(r, t_ns, nbc__mon_standing(nbc__mon_comp_at(r->state, t_ns)));
  nbc__mon_lock(r);
  nbc__mon_lose_sight(r, INT64_MAX); /* C stands still from here on */
  nbc__mon_unlock(r);
  pthread_mutex_lock(&r->monitor->mutex);
  NBC__MON_RELAXED_STORE(&r->attached, false);
  pthread_mutex_unlock(&r->monitor->mutex);
}
NBC_API void nbc_recorder_detach(nbc_recorder *r) {
  if (!r) return;
  nbc_recorder_detach_at(r, nbc_clock_now_ns(&r->monitor->clock));
}
#ifdef NBC_LINES
#line 1 "src/overlap/foreign.c"
#endif
/* foreign.c: stamps that other threads and NICs set for a recorder. */



/* ---- stamps from other threads ------------------------------------------------------------- */
/* A bounded queue after D. Vyukov. With S slots, turn + index of a slot says to a producer that has
   position in hand:
     == position           the slot is free: take it by moving inbox_head on
     == position + 1 - S   it still holds the event of one lap ago: the inbox is full
     >  position           another producer was first: look at inbox_head again
   The head is moved relaxed, since only turn orders the contents: its release comes after them, and
   nbc__mon_is_filled acquires it. Between the two steps the slot is taken but not filled: no later
   slot is drained before it, or an end could come before its begin. */
static bool nbc__mon_inbox_put(nbc_recorder *r, const nbc__mon_event *event) {
  uint64_t position = NBC__MON_RELAXED_LOAD(&r->inbox_head);
  for (;;) {
    nbc__mon_slot *slot = &r->inbox[position & r->inbox_mask];
    const uint64_t index = position & r->inbox_mask;
    const int64_t ahead =
        (int64_t)(__atomic_load_n(&slot->turn, __ATOMIC_ACQUIRE) + index - position);
    if (ahead < 0) return false; /* full */
    if (ahead > 0) {
      position = NBC__MON_RELAXED_LOAD(&r->inbox_head);
    } else if (__atomic_compare_exchange_n(&r->inbox_head, &position, position + 1, true,
                                           __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
      slot->event = *event;
      __atomic_store_n(&slot->turn, position + 1 - index, __ATOMIC_RELEASE);
      return true;
    }
  }
}

/* A patient drain comes first: it leaves what the owner has not passed yet, so that can still find
   its place. Only when that makes no room are events taken as they are, unplaced. Others may fill
   the room at once, so the tries end, and the event is lost but counted: a thread must not spin
   here for as long as others find work. */
static void nbc__mon_foreign_put(nbc_recorder *r, const nbc__mon_event *e) {
  for (int tries = 0; tries < 4; tries++) {
    if (nbc__mon_inbox_put(r, e)) return;
    if (tries == 0)
      nbc__mon_drain(r);
    else
      nbc__mon_drain_by_force(r);
  }
  __atomic_fetch_add(&r->problems[NBC_PROBLEM_foreign_lost], 1, __ATOMIC_RELAXED);
}
/* Only the time is noted: C at that time is known when the owner has passed it. */
static void nbc__mon_foreign(nbc_recorder *r, uint8_t what, uint64_t id, uint64_t size_bytes,
                             nbc_kind kind, nbc_peer peer, int64_t t_ns) {
  nbc__mon_event e;
  memset(&e, 0, sizeof e);
  e.t_ns = t_ns;
  e.id = id;
  e.size_bytes = size_bytes;
  /* Both are of the owner's now, which need not be its t_ns: see nbc__mon_bounds_of. */
  e.call_seq = NBC__MON_RELAXED_LOAD(&r->call_seq);
  e.section = NBC__MON_RELAXED_LOAD(&r->section);
  e.kind = (unsigned)kind < NBC_KIND_COUNT ? (uint8_t)kind : 0;
  e.what = what;
  e.peer = (unsigned)peer < NBC_PEER_COUNT ? (uint8_t)peer : 0;
  nbc__mon_foreign_put(r, &e);
}

/* Not read early: what this thread has seen of the owner, such as the begin of what ends here, was
   before. */
static int64_t nbc__mon_foreign_now(const nbc_recorder *owner) {
  const nbc_clock *clock = &owner->monitor->clock;
  return nbc_clock_ticks_to_ns(clock, nbc__clock_ordered_ticks(clock));
}

NBC_API void nbc_foreign_begin_at(nbc_recorder *owner, uint64_t id, uint64_t size_bytes,
                                  nbc_kind kind, nbc_peer peer, int64_t t_ns) {
  if (!owner) return;
  /* Ends are taken even when the owner is off: what began before must leave `active`. */
  if (NBC__MON_RELAXED_LOAD(&owner->on))
    nbc__mon_foreign(owner, NBC__MON_BEGIN, id, size_bytes, kind, peer, t_ns);
}
NBC_API void nbc_foreign_end_at(nbc_recorder *owner, uint64_t id, int64_t t_ns) {
  if (!owner) return;
  nbc__mon_foreign(owner, NBC__MON_END, id, 0, NBC_KIND_OTHER, NBC_PEER_UNKNOWN, t_ns);
}
NBC_API void nbc_foreign_end_sized_at(nbc_recorder *owner, uint64_t id, uint64_t size_bytes,
                                      nbc_peer peer, int64_t t_ns) {
  if (!owner) return;
  nbc__mon_foreign(owner, NBC__MON_END_SIZED, id, size_bytes, NBC_KIND_OTHER, peer, t_ns);
}
NBC_API void nbc_foreign_begin(nbc_recorder *owner, uint64_t id, uint64_t size_bytes, nbc_kind kind,
                               nbc_peer peer) {
  if (!owner) return;
  nbc_foreign_begin_at(owner, id, size_bytes, kind, peer, nbc__mon_foreign_now(owner));
}
NBC_API void nbc_foreign_end(nbc_recorder *owner, uint64_t id) {
  if (!owner) return;
  nbc_foreign_end_at(owner, id, nbc__mon_foreign_now(owner));
}
NBC_API void nbc_foreign_end_sized(nbc_recorder *owner, uint64_t id, uint64_t size_bytes,
                                   nbc_peer peer) {
  if (!owner) return;
  nbc_foreign_end_sized_at(owner, id, size_bytes, peer, nbc__mon_foreign_now(owner));
}
NBC_API void nbc_foreign_end_early(nbc_recorder *owner, uint64_t id, uint64_t size_bytes,
                                   nbc_peer peer) {
  if (!owner) return;
  nbc__mon_foreign(owner, NBC__MON_END_EARLY, id, size_bytes, NBC_KIND_OTHER, peer,
                   nbc__mon_foreign_now(owner));
}
NBC_API void nbc_foreign_end_local_at(nbc_recorder *owner, uint64_t id, int64_t t_ns) {
  if (!owner) return;
  nbc__mon_foreign(owner, NBC__MON_END_LOCAL, id, 0, NBC_KIND_OTHER, NBC_PEER_UNKNOWN, t_ns);
}
NBC_API void nbc_foreign_end_local(nbc_recorder *owner, uint64_t id) {
  if (!owner) return;
  nbc_foreign_end_local_at(owner, id, nbc__mon_foreign_now(owner));
}
NBC_API void nbc_foreign_end_parts(nbc_recorder *owner, uint64_t id) {
  if (!owner) return;
  nbc__mon_foreign(owner, NBC__MON_END_PARTS, id, 0, NBC_KIND_OTHER, NBC_PEER_UNKNOWN,
                   nbc__mon_foreign_now(owner));
}
NBC_API void nbc_foreign_cancel(nbc_recorder *owner, uint64_t id) {
  if (!owner) return;
  nbc__mon_foreign(owner, NBC__MON_CANCEL, id, 0, NBC_KIND_OTHER, NBC_PEER_UNKNOWN,
                   nbc__mon_foreign_now(owner));
}
NBC_API void nbc_foreign_end_only(nbc_recorder *owner, uint64_t size_bytes, nbc_kind kind,
                                  nbc_peer peer) {
  if (!owner) return;
  if (NBC__MON_RELAXED_LOAD(&owner->on))
    nbc__mon_foreign(owner, NBC__MON_END_ONLY, 0, size_bytes, kind, peer,
                     nbc__mon_foreign_now(owner));
}

/* ---- what stamps of NICs hide: under the recorder's lock ---------------------------------------- */
/* C at t_ns, when the owner is known up to known_ns: after that it may have computed, or not. */
static bool nbc__mon_comp_by(const nbc_recorder *r, int64_t t_ns, int64_t known_ns, bool most,
                             int64_t *comp_ns) {
  int64_t beyond_ns;
  if (t_ns <= known_ns) return nbc__mon_comp_then(r, t_ns, comp_ns);
  if (known_ns == INT64_MIN || !nbc__mon_comp_then(r, known_ns, comp_ns)) return false;
  if (__builtin_sub_overflow(t_ns, known_ns, &beyond_ns)) beyond_ns = INT64_MAX;
  if (most) *comp_ns = nbc__later(*comp_ns, beyond_ns);
  return true;
}

/* C at the earliest and the latest time that one end of a stamp may have. */
typedef struct nbc__mon_end {
  int64_t early_ns, late_ns, early_comp_ns, late_comp_ns;
} nbc__mon_end;
static bool nbc__mon_end_of(const nbc_recorder *r, int64_t early_ns, int64_t late_ns,
                            int64_t known_ns, nbc__mon_end *end) {
  end->early_ns = early_ns;
  end->late_ns = late_ns;
  return nbc__mon_comp_by(r, early_ns, known_ns, false, &end->early_comp_ns) &&
         nbc__mon_comp_by(r, late_ns, known_ns, true, &end->late_comp_ns);
}
/* The same for a part of that range: looked up only when C bends in it. */
static bool nbc__mon_end_part(const nbc_recorder *r, const nbc__mon_end *whole, int64_t early_ns,
                              int64_t late_ns, int64_t known_ns, nbc__mon_end *end) {
  *end = *whole;
  end->early_ns = early_ns;
  end->late_ns = late_ns;
  const int64_t d_comp_ns = whole->late_comp_ns - whole->early_comp_ns;
  if (d_comp_ns == 0) return true;
  if (d_comp_ns != whole->late_ns - whole->early_ns || whole->late_ns > known_ns)
    return nbc__mon_end_of(r, early_ns, late_ns, known_ns, end);
  end->early_comp_ns = whole->early_comp_ns + (early_ns - whole->early_ns);
  end->late_comp_ns = whole->early_comp_ns + (late_ns - whole->early_ns);
  return true;
}
/* What is hidden between two such ends that are length apart, give or take d_err: C(end) - C(begin),
   cut by what the length says. */
static void nbc__mon_between(const nbc__mon_end *b, const nbc__mon_end *e, int64_t length_ns,
                             int64_t d_err_ns, int64_t known_ns, int64_t *lo_ns, int64_t *hi_ns) {
  const int64_t comp_ns = e->late_comp_ns - b->early_comp_ns, span_ns = e->late_ns - b->early_ns;
  const int64_t shortest_ns = length_ns - d_err_ns - (span_ns - comp_ns);
  *lo_ns = e->early_comp_ns > b->late_comp_ns ? e->early_comp_ns - b->late_comp_ns : 0;
  /* not when comp_ns holds what the owner may still compute */
  if (shortest_ns > *lo_ns && e->late_ns <= known_ns) *lo_ns = shortest_ns;
  *hi_ns = comp_ns < length_ns + d_err_ns ? comp_ns : length_ns + d_err_ns;
}

/* A number for nbc_xfer_stamp_shared that nobody else has; 0 when there is none any more. */
NBC__PRIVATE uint32_t nbc__mon_new_group(nbc_recorder *r) {
  const uint32_t first = (uint32_t)1 << 31;
  uint32_t count = NBC__MON_RELAXED_LOAD(&r->group_count);
  do
    if (count == first - 1) return 0;
  while (!__atomic_compare_exchange_n(&r->group_count, &count, count + 1, true, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED));
  return first + count;
}
/* A group's stamps become part of their cell's sum: least and most over all shifts, but no wider than
   each stamp for itself. */
NBC__PRIVATE void nbc__mon_shift_close(nbc_recorder *r, size_t cell_index) {
  nbc__mon_shift *s = r->shifts ? &r->shifts[cell_index] : NULL;
  if (!s || !s->group) return;
  int64_t lo_ns = s->least_ns[0], hi_ns = s->most_ns[0];
  for (int k = 1; k < NBC__MON_SHIFTS; k++) {
    if (s->least_ns[k] < lo_ns) lo_ns = s->least_ns[k];
    if (s->most_ns[k] > hi_ns) hi_ns = s->most_ns[k];
  }
  r->cells[cell_index].t.exact_lo_ns += lo_ns > s->lo_ns ? lo_ns : s->lo_ns;
  r->cells[cell_index].t.exact_hi_ns += hi_ns < s->hi_ns ? hi_ns : s->hi_ns;
  memset(s, 0, sizeof *s);
}
/* One stamp more, which for itself hides lo to hi: the range of the common shift in equal parts, each with
   its own least and most. */
static void nbc__mon_shift_add(nbc_recorder *r, size_t cell_index, uint32_t group, int64_t own_ns,
                               const nbc__mon_end *b, const nbc__mon_end *e, int64_t d_err_ns,
                               int64_t known_ns, int64_t lo_ns, int64_t hi_ns) {
  nbc__mon_shift *s = &r->shifts[cell_index];
  const int64_t length_ns = e->early_ns - b->early_ns;
  const int64_t reach_ns = (b->late_ns - b->early_ns) / 2 - own_ns;
  if (s->group != group || s->reach_ns != reach_ns) {
    nbc__mon_shift_close(r, cell_index);
    s->group = group;
    s->reach_ns = reach_ns;
  }
  s->lo_ns += lo_ns;
  s->hi_ns += hi_ns;
  for (int k = 0; k < NBC__MON_SHIFTS; k++) {
    /* this part's shifts, and on both sides what is the stamp's own error */
    const int64_t from_ns = 2 * reach_ns * k / NBC__MON_SHIFTS,
                  to_ns =
                      (2 * reach_ns * (k + 1) + NBC__MON_SHIFTS - 1) / NBC__MON_SHIFTS + 2 * own_ns;
    nbc__mon_end begin, end;
    int64_t least_ns = lo_ns, most_ns = hi_ns;
    if (nbc__mon_end_part(r, b, b->early_ns + from_ns, b->early_ns + to_ns, known_ns, &begin) &&
        nbc__mon_end_part(r, e, e->early_ns + from_ns, e->early_ns + to_ns, known_ns, &end))
      nbc__mon_between(&begin, &end, length_ns, d_err_ns, known_ns, &least_ns, &most_ns);
    s->least_ns[k] += least_ns > lo_ns ? least_ns : lo_ns;
    s->most_ns[k] += most_ns < hi_ns ? most_ns : hi_ns;
  }
}

static void nbc__mon_tell_stamp(const nbc_recorder *r, const nbc__mon_event *stamp) {
  const nbc_monitor_desc *d = &r->monitor->desc;
  void (*const on_seen)(void *, const nbc_seen *) = NBC__MON_RELAXED_LOAD(&d->on_seen);
  nbc_seen seen;
  if (!on_seen) return;
  memset(&seen, 0, sizeof seen);
  seen.id = stamp->id;
  seen.by_nic = true;
  seen.begin_ns = stamp->stamp_begin_ns;
  seen.end_ns = stamp->t_ns - stamp->stamp_err_ns;
  seen.err_ns = stamp->stamp_err_ns;
  on_seen(d->on_seen_user, &seen);
}

/* Exact overlap of one stamped transfer (or fragment): C(end) - C(begin), each time +- err; cut by
   what its length says, which is known to d_err (nbc_xfer_stamp_length). */
NBC__MON_APART NBC__PRIVATE void nbc__mon_stamp(nbc_recorder *r, nbc_cell *cell,
                                                const nbc__mon_event *stamp, int64_t known_ns) {
  const int64_t far_ns = (int64_t)1 << 60, err_ns = stamp->stamp_err_ns;
  const int64_t b_ns = stamp->stamp_begin_ns, e_ns = stamp->t_ns - err_ns;
  const uint32_t group = stamp->stamp_group;
  int64_t d_err_ns = (int64_t)stamp->stamp_length_err_ns, lo_ns, hi_ns;
  nbc__mon_end b, e;
  if (e_ns < b_ns || b_ns < -far_ns || e_ns > far_ns || err_ns > far_ns) {
    nbc__mon_problem(r, NBC_PROBLEM_stamp_invalid);
  } else if (!r->takes_nic_stamps ||
             !nbc__mon_end_of(r, b_ns - err_ns, b_ns + err_ns, known_ns, &b) ||
             !nbc__mon_end_of(r, e_ns - err_ns, e_ns + err_ns, known_ns, &e)) {
    nbc__mon_problem(r, NBC_PROBLEM_stamp_lost);
  } else {
    if (d_err_ns > 2 * err_ns) d_err_ns = 2 * err_ns;
    nbc__mon_between(&b, &e, e_ns - b_ns, d_err_ns, known_ns, &lo_ns, &hi_ns);
    nbc__mon_tell_stamp(r, stamp);
    cell->t.exact_count++;
    cell->t.exact_xfer_ns += e_ns - b_ns;
    if (group) {
      nbc__mon_shift_add(r, (size_t)(cell - r->cells), group, (int64_t)stamp->stamp_own_err_ns, &b,
                         &e, d_err_ns, known_ns, lo_ns, hi_ns);
    } else {
      cell->t.exact_lo_ns += lo_ns;
      cell->t.exact_hi_ns += hi_ns;
    }
  }
}

NBC_API void nbc_xfer_stamp_shared(nbc_recorder *owner, uint64_t id, int64_t t_begin_ns,
                                   int64_t t_end_ns, int64_t own_err_ns, int64_t d_err_ns,
                                   int64_t shared_err_ns, uint32_t group) {
  if (!owner) return;
  nbc__mon_event e;
  memset(&e, 0, sizeof e);
  if (own_err_ns < 0) own_err_ns = own_err_ns == INT64_MIN ? INT64_MAX : -own_err_ns;
  if (shared_err_ns < 0) shared_err_ns = shared_err_ns == INT64_MIN ? INT64_MAX : -shared_err_ns;
  const int64_t err_ns = nbc__later(own_err_ns, shared_err_ns);
  /* Without a group the stamp stands for itself: its interval is wider, but never wrong. Errors
     above these limits are not whole in a float, or too large to multiply in nbc__mon_shift_add. */
  if (own_err_ns >= 1 << 24 || shared_err_ns > UINT32_MAX) group = 0;
  /* The inbox compares t_ns with what is known of the owner. So a stamp waits until the owner has
     passed the last time at which the transfer may have ended. */
  e.t_ns = nbc__later(t_end_ns, err_ns);
  e.stamp_begin_ns = t_begin_ns;
  e.id = id;
  e.stamp_err_ns = err_ns;
  e.stamp_length_err_ns = d_err_ns < 0 || d_err_ns > UINT32_MAX ? UINT32_MAX : (uint32_t)d_err_ns;
  e.stamp_group = group;
  e.stamp_own_err_ns = group ? (float)own_err_ns : 0; /* whole below 2^24 */
  e.what = NBC__MON_STAMP;
  nbc__mon_foreign_put(owner, &e);
}
NBC_API void nbc_xfer_stamp_length(nbc_recorder *owner, uint64_t id, int64_t t_begin_ns,
                                   int64_t t_end_ns, int64_t err_ns, int64_t d_err_ns) {
  nbc_xfer_stamp_shared(owner, id, t_begin_ns, t_end_ns, 0, d_err_ns, err_ns, 0);
}
NBC_API void nbc_xfer_stamp(nbc_recorder *owner, uint64_t id, int64_t t_begin_ns, int64_t t_end_ns,
                            int64_t err_ns) {
  if (!owner) return;
  nbc_xfer_stamp_length(owner, id, t_begin_ns, t_end_ns, err_ns, UINT32_MAX);
}
#ifdef NBC_LINES
#line 156 "src/overlap/report.h"
#endif
/* Appends a zeroed element to array `a` with count `n` of *report; `out` points to it, or is
   NULL. */
#define NBC__REP_APPEND(type, a, n, out)                                                           \
  do {                                                                                             \
    type *nbc__bigger = (type *)nbc__rep_grow((a), (n), sizeof(type));                             \
    (out) = NULL;                                                                                  \
    if (nbc__bigger) {                                                                             \
      (a) = nbc__bigger;                                                                           \
      (out) = &(a)[(n)++];                                                                         \
      memset((out), 0, sizeof(type));                                                              \
    }                                                                                              \
  } while (0)

NBC__PRIVATE void *nbc__rep_grow(void *array, size_t count, size_t element_bytes);
NBC__PRIVATE int nbc__rep_cell_order(const nbc_cell *a, const nbc_cell *b);
NBC__PRIVATE void nbc__rep_add_totals(nbc_totals *sum, const nbc_totals *t);
NBC__PRIVATE void nbc__rep_join_cell(nbc_cell *c, const nbc_cell *from);
NBC__PRIVATE void nbc__rep_join_call(nbc_call *c, const nbc_call *from);
#ifdef NBC_LINES
#line 1 "src/overlap/report.c"
#endif
/* report.c: reports in memory: from the recorders, added up. */




/* ============================================================================================== */
/* [REPORT] 8. Reports                                                                            */
/* ============================================================================================== */
/* ---- memory: arrays that double ------------------------------------------------------------ */

/* Room for one more element; capacity is the next power of two of the count, so it needs no
   field. */
NBC__PRIVATE void *nbc__rep_grow(void *array, size_t count, size_t element_bytes) {
  if (array && (count & (count - 1))) return array;
  void *bigger = NBC_MALLOC((count ? 2 * count : 1) * element_bytes);
  if (!bigger) return NULL;
  if (count) memcpy(bigger, array, count * element_bytes);
  NBC_FREE(array);
  return bigger;
}

NBC_API nbc_status nbc_report_set(char **field, const char *text) {
  if (!field) return NBC_E_INVAL;
  char *copy = NULL;
  if (text) {
    copy = (char *)NBC_MALLOC(strlen(text) + 1);
    if (!copy) return NBC_E_NOMEM;
    memcpy(copy, text, strlen(text) + 1);
  }
  NBC_FREE(*field);
  *field = copy;
  return NBC_OK;
}

NBC_API nbc_status nbc_report_create(nbc_report **report) {
  if (!report) return NBC_E_INVAL;
  nbc_report *r = (nbc_report *)nbc__zalloc(sizeof *r);
  nbc_section *root;
  *report = NULL;
  if (!r) return NBC_E_NOMEM;
  r->rank = -1;
  r->size = 1;
  r->process_count = 1;
  NBC__REP_APPEND(nbc_section, r->sections, r->section_count, root);
  if (!root || nbc_report_set(&root->path, "") != NBC_OK) {
    nbc_report_free(r);
    return NBC_E_NOMEM;
  }
  root->parent_index = -1;
  *report = r;
  return NBC_OK;
}

NBC_API void nbc_report_free(nbc_report *r) {
  if (!r) return;
  for (size_t i = 0; i < r->section_count; i++) NBC_FREE(r->sections[i].path);
  for (size_t i = 0; i < r->counter_count; i++) NBC_FREE(r->counters[i].name);
  for (size_t i = 0; i < r->note_count; i++) NBC_FREE(r->notes[i]);
  NBC_FREE(r->program);
  NBC_FREE(r->host);
  NBC_FREE(r->library);
  NBC_FREE(r->table_same_node);
  NBC_FREE(r->table_other_node);
  NBC_FREE(r->sections);
  NBC_FREE(r->cells);
  NBC_FREE(r->calls);
  NBC_FREE(r->threads);
  NBC_FREE(r->counters);
  for (size_t i = 0; i < r->site_count; i++) {
    NBC_FREE(r->sites[i].call);
    NBC_FREE(r->sites[i].module);
    NBC_FREE(r->sites[i].symbol);
  }
  NBC_FREE(r->sites);
  NBC_FREE(r->joints);
  NBC_FREE(r->partner_bounds);
  NBC_FREE(r->pairs);
  for (size_t i = 0; i < r->comm_count; i++) NBC_FREE(r->comms[i].name);
  NBC_FREE(r->comms);
  NBC_FREE(r->notes);
  NBC_FREE(r);
}

NBC_API nbc_status nbc_report_note(nbc_report *r, const char *text) {
  if (!r || !text) return NBC_E_INVAL;
  char **note;
  NBC__REP_APPEND(char *, r->notes, r->note_count, note);
  if (!note) return NBC_E_NOMEM;
  if (nbc_report_set(note, text) == NBC_OK) return NBC_OK;
  r->note_count--;
  return NBC_E_NOMEM;
}

NBC_API nbc_status nbc_report_counter(nbc_report *r, int section_index, const char *name,
                                      double value) {
  if (!r || !name) return NBC_E_INVAL;
  nbc_counter *counter;
  NBC__REP_APPEND(nbc_counter, r->counters, r->counter_count, counter);
  if (!counter) return NBC_E_NOMEM;
  counter->section_index = section_index;
  counter->value = value;
  if (nbc_report_set(&counter->name, name) == NBC_OK) return NBC_OK;
  r->counter_count--;
  return NBC_E_NOMEM;
}

static bool nbc__rep_equal(const char *a, const char *b) {
  return a && b ? strcmp(a, b) == 0 : a == b;
}

NBC_API nbc_status nbc_report_site(nbc_report *r, const nbc_site *from) {
  if (!r || !from) return NBC_E_INVAL;
  nbc_site *s = NULL;
  for (size_t i = 0; i < r->site_count && !s; i++)
    if (r->sites[i].offset == from->offset && nbc__rep_equal(r->sites[i].call, from->call) &&
        nbc__rep_equal(r->sites[i].module, from->module))
      s = &r->sites[i];
  if (!s) {
    NBC__REP_APPEND(nbc_site, r->sites, r->site_count, s);
    if (!s) return NBC_E_NOMEM;
    s->offset = from->offset;
    if (nbc_report_set(&s->call, from->call ? from->call : "?") ||
        nbc_report_set(&s->module, from->module) || nbc_report_set(&s->symbol, from->symbol)) {
      NBC_FREE(s->call);
      NBC_FREE(s->module);
      r->site_count--;
      return NBC_E_NOMEM;
    }
  }
  s->count += from->count;
  nbc__plus(&s->total_ns, from->total_ns);
  if (from->max_ns > s->max_ns) s->max_ns = from->max_ns;
  return NBC_OK;
}

NBC_API nbc_status nbc_report_pair(nbc_report *r, const nbc_pair *from) {
  if (!r || !from) return NBC_E_INVAL;
  nbc_pair *p;
  NBC__REP_APPEND(nbc_pair, r->pairs, r->pair_count, p);
  if (!p) return NBC_E_NOMEM;
  *p = *from;
  return NBC_OK;
}

NBC_API nbc_status nbc_report_comm_total(nbc_report *r, const nbc_comm_total *from) {
  if (!r || !from) return NBC_E_INVAL;
  const char *name = from->name ? from->name : "";
  nbc_comm_total *c = NULL;
  for (size_t i = 0; i < r->comm_count && !c; i++)
    if (r->comms[i].size == from->size && strcmp(r->comms[i].name, name) == 0) c = &r->comms[i];
  if (!c) {
    NBC__REP_APPEND(nbc_comm_total, r->comms, r->comm_count, c);
    if (!c) return NBC_E_NOMEM;
    c->size = from->size;
    if (nbc_report_set(&c->name, name) != NBC_OK) {
      r->comm_count--;
      return NBC_E_NOMEM;
    }
  }
  c->count += from->count;
  c->size_bytes += from->size_bytes;
  nbc__plus(&c->waited_ns, from->waited_ns);
  return NBC_OK;
}

NBC_API nbc_status nbc_report_partner_bound(nbc_report *r, const nbc_partner_bound *from) {
  nbc_partner_bound *b = NULL;
  if (!r || !from || (unsigned)from->kind >= NBC_KIND_COUNT || from->alone_min_ns < 0 ||
      from->alone_min_ns > from->min_overlap_ns || from->min_overlap_ns > from->max_overlap_ns ||
      from->max_overlap_ns > from->alone_max_ns || from->alone_max_ns > from->xfer_ns)
    return NBC_E_INVAL;
  for (size_t i = 0; i < r->partner_bound_count && !b; i++)
    if (r->partner_bounds[i].kind == from->kind) b = &r->partner_bounds[i];
  if (!b) {
    NBC__REP_APPEND(nbc_partner_bound, r->partner_bounds, r->partner_bound_count, b);
    if (!b) return NBC_E_NOMEM;
    b->kind = from->kind;
  }
  b->count += from->count;
  b->size_bytes += from->size_bytes;
  nbc__plus(&b->xfer_ns, from->xfer_ns);
  nbc__plus(&b->alone_min_ns, from->alone_min_ns);
  nbc__plus(&b->alone_max_ns, from->alone_max_ns);
  nbc__plus(&b->min_overlap_ns, from->min_overlap_ns);
  nbc__plus(&b->max_overlap_ns, from->max_overlap_ns);
  if (from->clock_err_ns > b->clock_err_ns) b->clock_err_ns = from->clock_err_ns;
  return NBC_OK;
}

/* ---- finding and adding rows ------------------------------------------------------------------ */
static bool nbc__rep_add_joint(nbc_report *r, const nbc_joint *from) {
  nbc_joint *j = NULL;
  for (size_t i = 0; i < r->joint_count && !j; i++)
    if (r->joints[i].incoming == from->incoming && r->joints[i].peer == from->peer)
      j = &r->joints[i];
  if (!j) {
    NBC__REP_APPEND(nbc_joint, r->joints, r->joint_count, j);
    if (!j) return false;
    j->incoming = from->incoming;
    j->peer = from->peer;
  }
  j->count += from->count;
  j->size_bytes += from->size_bytes;
  nbc__plus(&j->xfer_ns, from->xfer_ns);
  nbc__plus(&j->min_overlap_ns, from->min_overlap_ns);
  nbc__plus(&j->max_overlap_ns, from->max_overlap_ns);
  return true;
}

/* Index of a section by path, created when new; -1 when out of memory. */
static int nbc__rep_section(nbc_report *r, const char *path, int parent_index) {
  nbc_section *s;
  for (size_t i = 0; i < r->section_count; i++)
    if (strcmp(r->sections[i].path, path) == 0) return (int)i;
  NBC__REP_APPEND(nbc_section, r->sections, r->section_count, s);
  if (!s) return -1;
  if (nbc_report_set(&s->path, path) != NBC_OK) {
    r->section_count--; /* a section has a path, or is not there */
    return -1;
  }
  s->parent_index = parent_index;
  return (int)r->section_count - 1;
}

NBC__PRIVATE int nbc__rep_cell_order(const nbc_cell *a, const nbc_cell *b) {
  if (a->section_index != b->section_index) return a->section_index - b->section_index;
  if (a->kind != b->kind) return (int)a->kind - (int)b->kind;
  if (a->class_index != b->class_index) return a->class_index - b->class_index;
  return (int)a->peer - (int)b->peer;
}

/* The cell with the key of *key, created when new; cells stay sorted. NULL when out of memory. */
static nbc_cell *nbc__rep_cell(nbc_report *r, const nbc_cell *key) {
  size_t low = 0, high = r->cell_count;
  while (low < high) {
    const size_t mid = (low + high) / 2;
    if (nbc__rep_cell_order(&r->cells[mid], key) < 0)
      low = mid + 1;
    else
      high = mid;
  }
  if (low < r->cell_count && nbc__rep_cell_order(&r->cells[low], key) == 0) return &r->cells[low];
  nbc_cell *c;
  NBC__REP_APPEND(nbc_cell, r->cells, r->cell_count, c);
  if (!c) return NULL;
  memmove(&r->cells[low + 1], &r->cells[low], (r->cell_count - 1 - low) * sizeof *c);
  c = &r->cells[low];
  memset(c, 0, sizeof *c);
  c->section_index = key->section_index;
  c->kind = key->kind;
  c->class_index = key->class_index;
  c->peer = key->peer;
  return c;
}

static nbc_call *nbc__rep_call(nbc_report *r, int section_index, nbc_kind kind) {
  nbc_call *c;
  for (size_t i = 0; i < r->call_count; i++)
    if (r->calls[i].section_index == section_index && r->calls[i].kind == kind) return &r->calls[i];
  NBC__REP_APPEND(nbc_call, r->calls, r->call_count, c);
  if (c) c->section_index = section_index, c->kind = kind;
  return c;
}

NBC__PRIVATE void nbc__rep_add_totals(nbc_totals *sum, const nbc_totals *t) {
  sum->count += t->count;
  sum->size_bytes += t->size_bytes;
  nbc__plus(&sum->xfer_ns, t->xfer_ns);
  nbc__plus(&sum->min_overlap_ns, t->min_overlap_ns);
  nbc__plus(&sum->max_overlap_ns, t->max_overlap_ns);
  for (int i = 0; i < 3; i++) sum->case_count[i] += t->case_count[i];
  nbc__plus(&sum->waited_ns, t->waited_ns);
  sum->exact_count += t->exact_count;
  nbc__plus(&sum->exact_xfer_ns, t->exact_xfer_ns);
  nbc__plus(&sum->exact_lo_ns, t->exact_lo_ns);
  nbc__plus(&sum->exact_hi_ns, t->exact_hi_ns);
}

NBC__PRIVATE void nbc__rep_join_cell(nbc_cell *c, const nbc_cell *from) {
  nbc__rep_add_totals(&c->t, &from->t);
  nbc__plus(&c->available_ns, from->available_ns);
  for (int b = 0; b < NBC_HIST_BINS; b++) c->available_count[b] += from->available_count[b];
}

static bool nbc__rep_add_cell(nbc_report *r, const nbc_cell *from, int section_index) {
  nbc_cell key = *from;
  key.section_index = section_index;
  nbc_cell *c = nbc__rep_cell(r, &key);
  if (!c) return false;
  nbc__rep_join_cell(c, from);
  nbc__rep_add_totals(&r->total, &from->t);
  return true;
}

NBC__PRIVATE void nbc__rep_join_call(nbc_call *c, const nbc_call *from) {
  if (!c->count || from->min_ns < c->min_ns) c->min_ns = from->min_ns;
  if (from->max_ns > c->max_ns) c->max_ns = from->max_ns;
  c->count += from->count;
  nbc__plus(&c->total_ns, from->total_ns);
}

static bool nbc__rep_add_call(nbc_report *r, const nbc_call *from, int section_index) {
  if (!from->count) return true;
  nbc_call *c = nbc__rep_call(r, section_index, from->kind);
  if (c) nbc__rep_join_call(c, from);
  return c != NULL;
}

/* ---- from the recorders -------------------------------------------------------------------- */
/* Sections and calls of one recorder; map[i] is the report's index of its section i. */
static bool nbc__rep_take_sections(nbc_report *out, nbc_recorder *r, int *map) {
  const size_t count = __atomic_load_n(&r->section_count, __ATOMIC_ACQUIRE);
  for (size_t i = 0; i < count; i++) {
    const nbc__mon_section *s = &r->sections[i];
    map[i] = 0;
    if (i) {
      const nbc_section *parent = &out->sections[map[s->parent]];
      char path[NBC_MAX_DEPTH * sizeof s->name + NBC_MAX_DEPTH];
      snprintf(path, sizeof path, "%s%s%s", parent->path, parent->path[0] ? "/" : "", s->name);
      map[i] = nbc__rep_section(out, path, map[s->parent]);
      if (map[i] < 0) return false;
    }
    nbc_section *o = &out->sections[map[i]];
    o->count += NBC__MON_RELAXED_LOAD(&s->count);
    o->comp_ns += NBC__MON_RELAXED_LOAD(&s->comp_ns);
    o->call_ns += NBC__MON_RELAXED_LOAD(&s->call_ns);
    for (int k = 0; k < NBC_KIND_COUNT; k++) {
      nbc_call call;
      memset(&call, 0, sizeof call);
      call.kind = (nbc_kind)k;
      call.count = NBC__MON_RELAXED_LOAD(&s->calls[k].count);
      call.total_ns = NBC__MON_RELAXED_LOAD(&s->calls[k].total_ns);
      call.min_ns = NBC__MON_RELAXED_LOAD(&s->calls[k].min_ns);
      call.max_ns = NBC__MON_RELAXED_LOAD(&s->calls[k].max_ns);
      if (!nbc__rep_add_call(out, &call, map[i])) return false;
    }
  }
  return true;
}

/* One thread's times; what passed since its last event goes where it stands now. */
static bool nbc__rep_take_thread(nbc_report *out, nbc_recorder *r, const int *map, int64_t t_ns) {
  nbc_thread *thread;
  NBC__REP_APPEND(nbc_thread, out->threads, out->thread_count, thread);
  if (!thread) return false;
  for (size_t i = 0; i < __atomic_load_n(&r->section_count, __ATOMIC_ACQUIRE); i++) {
    thread->comp_ns += NBC__MON_RELAXED_LOAD(&r->sections[i].comp_ns);
    thread->call_ns += NBC__MON_RELAXED_LOAD(&r->sections[i].call_ns);
  }
  thread->off_ns = NBC__MON_RELAXED_LOAD(&r->off_ns);
  const int64_t tail_ns = t_ns - NBC__MON_RELAXED_LOAD(&r->last_ns);
  if (NBC__MON_RELAXED_LOAD(&r->attached) && tail_ns > 0) {
    nbc_section *s = &out->sections[map[NBC__MON_RELAXED_LOAD(&r->section)]];
    if (!NBC__MON_RELAXED_LOAD(&r->on))
      thread->off_ns += tail_ns;
    else if (NBC__MON_RELAXED_LOAD(&r->state) & 1)
      thread->call_ns += tail_ns, s->call_ns += tail_ns;
    else
      thread->comp_ns += tail_ns, s->comp_ns += tail_ns;
  }
  thread->tool_ns = NBC__MON_RELAXED_LOAD(&r->tool_ns);
  thread->wall_ns = thread->comp_ns + thread->call_ns + thread->off_ns + thread->tool_ns;
  out->tool_ns += thread->tool_ns;
  out->comp_ns += thread->comp_ns;
  out->call_ns += thread->call_ns;
  out->off_ns += thread->off_ns;
  out->wall_ns += thread->wall_ns;
  return true;
}

/* Active transfers enter this report as case 3 and stay active. */
static bool nbc__rep_take_active(nbc_report *out, nbc_recorder *r, const int *map) {
  for (uint64_t k = 0; k <= r->key_mask; k++) {
    if (!r->keys[k].index_plus1) continue;
    const nbc__mon_event *b = &r->active[r->keys[k].index_plus1 - 1];
    nbc_cell cell;
    memset(&cell, 0, sizeof cell);
    cell.kind = (nbc_kind)b->kind;
    cell.peer = (nbc_peer)b->peer;
    cell.class_index = nbc__mon_class(r->monitor, b->size_bytes);
    const nbc__mon_bounds o = nbc__mon_account(r, &cell, b, NULL, b->size_bytes, cell.peer);
    nbc__mon_tell(r, b, NULL, b->size_bytes, cell.peer, &o);
    if (!nbc__rep_add_cell(out, &cell, map[b->section])) return false;
    out->problems[NBC_PROBLEM_never_ended]++;
  }
  return true;
}

static bool nbc__rep_take_counters(nbc_report *out, const nbc_recorder *r, const int *map) {
  const nbc_counter_source *s = r->monitor->desc.counters;
  if (!r->counter_sums) return true;
  for (size_t i = 0; i < r->section_count; i++)
    for (size_t k = 0; k < s->count; k++)
      if (r->counter_sums[i * s->count + k] &&
          nbc_report_counter(out, map[i], s->names[k], (double)r->counter_sums[i * s->count + k]) !=
              NBC_OK)
        return false;
  return true;
}

/* Of the periods that are over, and of one that is open, which has the independent bounds. */
static void nbc__rep_take_joint(const nbc_recorder *r, int direction, nbc_peer peer,
                                nbc_totals *to) {
  const nbc__mon_joint *j = &r->joint[direction][peer];
  const nbc_totals *const both[] = {&j->sum, &j->period};
  for (int i = 0; i < 2; i++) {
    to->count += both[i]->count;
    to->size_bytes += both[i]->size_bytes;
    to->xfer_ns += both[i]->xfer_ns;
    to->min_overlap_ns += both[i]->min_overlap_ns;
    to->max_overlap_ns += both[i]->max_overlap_ns;
  }
}

static bool nbc__rep_take_recorder(nbc_report *out, nbc_recorder *r, int64_t t_ns) {
  int *map = (int *)nbc__zalloc(r->monitor->desc.max_sections * sizeof *map);
  if (!map) return false;
  nbc__mon_lock(r);
  nbc__mon_drain_for_report_locked(r, t_ns);
  if (r->attached && NBC__MON_RELAXED_LOAD(&r->on)) nbc__mon_read_counters_locked(r, true);
  bool ok = nbc__rep_take_sections(out, r, map) && nbc__rep_take_thread(out, r, map, t_ns) &&
            nbc__rep_take_counters(out, r, map);
  for (size_t i = 0; ok && i < r->cell_count; i++) {
    nbc__mon_shift_close(r, i);
    /* of an active transfer, or of one that ended with another size, a cell may hold stamps only */
    if (r->cells[i].t.count || r->cells[i].t.exact_count)
      ok = nbc__rep_add_cell(out, &r->cells[i], map[r->cells[i].section_index]);
  }
  ok = ok && nbc__rep_take_active(out, r, map);
  for (int k = 0; ok && k < 2 * NBC_PEER_COUNT; k++) {
    nbc_totals t;
    nbc_joint joint;
    memset(&t, 0, sizeof t);
    memset(&joint, 0, sizeof joint);
    joint.incoming = k >= NBC_PEER_COUNT;
    joint.peer = (nbc_peer)(k % NBC_PEER_COUNT);
    nbc__rep_take_joint(r, joint.incoming, joint.peer, &t);
    joint.count = t.count, joint.size_bytes = t.size_bytes, joint.xfer_ns = t.xfer_ns;
    joint.min_overlap_ns = t.min_overlap_ns, joint.max_overlap_ns = t.max_overlap_ns;
    if (t.count) ok = nbc__rep_add_joint(out, &joint);
  }
  for (int p = 0; p < NBC_PROBLEM_COUNT; p++)
    out->problems[p] += NBC__MON_RELAXED_LOAD(&r->problems[p]);
  nbc__mon_unlock(r);
  NBC_FREE(map);
  return ok;
}

NBC_API nbc_status nbc_monitor_report_at(nbc_monitor *m, int64_t t_ns, nbc_report **report) {
  if (!m || !report) return NBC_E_INVAL;
  nbc_report *out;
  nbc_status status = nbc_report_create(&out);
  *report = NULL;
  if (status != NBC_OK) return status;
  char host[256];
  if (gethostname(host, sizeof host) != 0) host[0] = 0;
  host[sizeof host - 1] = 0;
  out->pid = (int)getpid();
  out->start_unix_s = m->start_unix_s;
  out->clock_source = m->clock.source;
  out->clock_hz = m->clock.hz;
  out->clock_rate_err_ppm = m->clock.rate_err_ppm;
  out->clock_resolution_ns = m->clock.resolution_ns;
  out->clock_read_cost_ns = m->clock.read_cost_ns;
  out->table_is_default = m->own_table[0] || m->own_table[1];
  memcpy(out->class_edges_bytes, m->edges, sizeof m->edges);
  out->class_edge_count = m->desc.class_edge_count;
  bool ok =
      nbc_report_set(&out->host, host) == NBC_OK &&
      nbc_report_set(&out->table_same_node, nbc_table_name(m->desc.table_same_node)) == NBC_OK &&
      nbc_report_set(&out->table_other_node, nbc_table_name(m->desc.table_other_node)) == NBC_OK;
  pthread_mutex_lock(&m->mutex);
  for (nbc_recorder *r = m->recorders; ok && r; r = r->next)
    ok = nbc__rep_take_recorder(out, r, t_ns);
  pthread_mutex_unlock(&m->mutex);
  if (!ok) {
    nbc_report_free(out);
    return NBC_E_NOMEM;
  }
  *report = out;
  return NBC_OK;
}

NBC_API nbc_status nbc_monitor_report(nbc_monitor *monitor, nbc_report **report) {
  if (!monitor || !report) return NBC_E_INVAL;
  return nbc_monitor_report_at(monitor, nbc_clock_now_ns(&monitor->clock), report);
}

/* ---- adding reports ------------------------------------------------------------------------ */
static bool nbc__rep_add_counter(nbc_report *sum, int section_index, const nbc_counter *from) {
  for (size_t i = 0; i < sum->counter_count; i++)
    if (sum->counters[i].section_index == section_index &&
        strcmp(sum->counters[i].name, from->name) == 0) {
      sum->counters[i].value += from->value;
      return true;
    }
  return nbc_report_counter(sum, section_index, from->name, from->value) == NBC_OK;
}

static bool nbc__rep_add_rows(nbc_report *sum, const nbc_report *one, int *map) {
  for (size_t i = 0; i < one->section_count; i++) {
    const nbc_section *s = &one->sections[i];
    const int parent =
        s->parent_index >= 0 && (size_t)s->parent_index < i ? map[s->parent_index] : -1;
    map[i] = nbc__rep_section(sum, s->path, parent);
    if (map[i] < 0) return false;
    sum->sections[map[i]].count += s->count;
    nbc__plus(&sum->sections[map[i]].comp_ns, s->comp_ns);
    nbc__plus(&sum->sections[map[i]].call_ns, s->call_ns);
  }
  for (size_t i = 0; i < one->cell_count; i++)
    if (!nbc__rep_add_cell(sum, &one->cells[i], map[one->cells[i].section_index])) return false;
  for (size_t i = 0; i < one->call_count; i++)
    if (!nbc__rep_add_call(sum, &one->calls[i], map[one->calls[i].section_index])) return false;
  for (size_t i = 0; i < one->counter_count; i++) {
    const nbc_counter *c = &one->counters[i];
    if (!nbc__rep_add_counter(sum, map[c->section_index], c)) return false;
  }
  for (size_t i = 0; i < one->thread_count; i++) {
    nbc_thread *thread;
    NBC__REP_APPEND(nbc_thread, sum->threads, sum->thread_count, thread);
    if (!thread) return false;
    *thread = one->threads[i];
  }
  for (size_t i = 0; i < one->joint_count; i++)
    if (!nbc__rep_add_joint(sum, &one->joints[i])) return false;
  for (size_t i = 0; i < one->partner_bound_count; i++)
    if (nbc_report_partner_bound(sum, &one->partner_bounds[i]) == NBC_E_NOMEM) return false;
  for (size_t i = 0; i < one->site_count; i++)
    if (nbc_report_site(sum, &one->sites[i]) != NBC_OK) return false;
  for (size_t i = 0; i < one->pair_count; i++)
    if (nbc_report_pair(sum, &one->pairs[i]) != NBC_OK) return false;
  for (size_t i = 0; i < one->comm_count; i++)
    if (nbc_report_comm_total(sum, &one->comms[i]) != NBC_OK) return false;
  for (size_t i = 0; i < one->note_count; i++) {
    size_t known = 0; /* the same note from every process is said once */
    while (known < sum->note_count && strcmp(sum->notes[known], one->notes[i]) != 0) known++;
    if (known == sum->note_count && nbc_report_note(sum, one->notes[i]) != NBC_OK) return false;
  }
  return true;
}

/* A text of the sum: what all have, or that they differ. */
static bool nbc__rep_add_text(char **sum, const char *one, const char *several) {
  if (!one || !*one || (*sum && strcmp(*sum, one) == 0)) return true;
  return nbc_report_set(sum, *sum && **sum ? several : one) == NBC_OK;
}

NBC_API nbc_status nbc_report_add(nbc_report *sum, const nbc_report *one, nbc_error *err) {
  if (!sum || !one) return nbc__status_fail(err, NBC_E_INVAL, 0, "sum and one: must not be NULL");
  const bool first = sum->process_count == 0 ||
                     (!sum->thread_count && !sum->cell_count && !sum->program && !sum->host);
  if (first) {
    memcpy(sum->class_edges_bytes, one->class_edges_bytes, sizeof sum->class_edges_bytes);
    sum->class_edge_count = one->class_edge_count;
    sum->size = one->size;
    sum->start_unix_s = one->start_unix_s;
    sum->clock_source = one->clock_source;
    sum->clock_hz = one->clock_hz;
    sum->process_count = 0;
    /* never NULL, so that the next report is not the first again */
    if (nbc_report_set(&sum->program, one->program) ||
        nbc_report_set(&sum->host, one->host ? one->host : "") ||
        nbc_report_set(&sum->library, one->library) ||
        nbc_report_set(&sum->table_same_node, one->table_same_node) ||
        nbc_report_set(&sum->table_other_node, one->table_other_node))
      return NBC_E_NOMEM;
  } else if (sum->class_edge_count != one->class_edge_count ||
             memcmp(sum->class_edges_bytes, one->class_edges_bytes,
                    one->class_edge_count * sizeof(uint64_t)) != 0) {
    if (err) {
      err->status = NBC_E_MISMATCH;
      snprintf(err->text, sizeof err->text,
               "rank %d of %s has other size classes than the reports before", one->rank,
               one->program ? one->program : "?");
    }
    return NBC_E_MISMATCH;
  }
  int *map = (int *)nbc__zalloc(one->section_count * sizeof *map);
  const bool ok =
      map && nbc__rep_add_rows(sum, one, map) &&
      nbc__rep_add_text(&sum->program, one->program, "several programs") &&
      nbc__rep_add_text(&sum->host, one->host, "several hosts") &&
      nbc__rep_add_text(&sum->library, one->library, "several libraries") &&
      nbc__rep_add_text(&sum->table_same_node, one->table_same_node, "several tables") &&
      nbc__rep_add_text(&sum->table_other_node, one->table_other_node, "several tables");
  NBC_FREE(map);
  if (!ok) return NBC_E_NOMEM;
  sum->rank = -1;
  if (__builtin_add_overflow(sum->process_count, one->process_count, &sum->process_count))
    sum->process_count = 0x7fffffff;
  nbc__plus(&sum->wall_ns, one->wall_ns);
  nbc__plus(&sum->comp_ns, one->comp_ns);
  nbc__plus(&sum->call_ns, one->call_ns);
  nbc__plus(&sum->off_ns, one->off_ns);
  nbc__plus(&sum->tool_ns, one->tool_ns);
  if (one->start_unix_s < sum->start_unix_s) sum->start_unix_s = one->start_unix_s;
  if (one->clock_rate_err_ppm > sum->clock_rate_err_ppm)
    sum->clock_rate_err_ppm = one->clock_rate_err_ppm;
  if (one->clock_resolution_ns > sum->clock_resolution_ns)
    sum->clock_resolution_ns = one->clock_resolution_ns;
  if (one->clock_read_cost_ns > sum->clock_read_cost_ns)
    sum->clock_read_cost_ns = one->clock_read_cost_ns;
  sum->table_is_default = sum->table_is_default || one->table_is_default;
  for (int p = 0; p < NBC_PROBLEM_COUNT; p++) sum->problems[p] += one->problems[p];
  return NBC_OK;
}
#ifdef NBC_LINES
#line 11 "src/overlap/report_text.h"
#endif
NBC__PRIVATE double nbc__rep_share(int64_t part, int64_t whole);
NBC__PRIVATE double nbc__rep_exact(const nbc_totals *t, int64_t overlap_ns);
NBC__PRIVATE const char *nbc__rep_plain(const char *from, char *text, size_t size);
NBC__PRIVATE const char *nbc__rep_time(int64_t ns, char *text, size_t size);
NBC__PRIVATE const char *nbc__rep_bytes(uint64_t bytes, char *text, size_t size);
NBC__PRIVATE const char *nbc__rep_class(const nbc_report *r, int c, char *text, size_t size);
#ifdef NBC_LINES
#line 1 "src/overlap/report_text.c"
#endif
/* report_text.c: reports for people, as text. */







/* ---- text ---------------------------------------------------------------------------------- */
NBC__PRIVATE double nbc__rep_share(int64_t part, int64_t whole) {
  return whole > 0 ? (double)part / (double)whole : 0;
}

/* Of the stamped transfers; the interval passes their time by the clocks' uncertainty, the truth
   cannot. */
NBC__PRIVATE double nbc__rep_exact(const nbc_totals *t, int64_t overlap_ns) {
  return overlap_ns < t->exact_xfer_ns ? nbc__rep_share(overlap_ns, t->exact_xfer_ns)
                                       : t->exact_xfer_ns > 0;
}

/* Text that may come from anybody's file, for a terminal: no control characters, at most size -
   1. */
NBC__PRIVATE const char *nbc__rep_plain(const char *from, char *text, size_t size) {
  size_t n = 0;
  if (!from) from = "?";
  for (; *from && n + 1 < size; from++, n++)
    text[n] = (unsigned char)*from < 0x20 || *from == 0x7f ? '?' : *from;
  text[n] = 0;
  return text;
}

/* "1.23 ms", "45.0 s": three figures and a unit that fits. */
NBC__PRIVATE const char *nbc__rep_time(int64_t ns, char *text, size_t size) {
  static const char *const units[] = {"ns", "us", "ms", "s"};
  double v = (double)ns;
  int u = 0;
  while (fabs(v) >= 999.5 && u < 3) v /= 1000, u++;
  snprintf(text, size,
           fabs(v) < 9.995 && u   ? "%.2f %s"
           : fabs(v) < 99.95 && u ? "%.1f %s"
                                  : "%.0f %s",
           v, units[u]);
  return text;
}

NBC__PRIVATE const char *nbc__rep_bytes(uint64_t bytes, char *text, size_t size) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double v = (double)bytes;
  int u = 0;
  while (v >= 1024 && u < 6) v /= 1024, u++;
  snprintf(text, size, u && v < 99.95 && v != floor(v) ? "%.1f %s" : "%.0f %s", v, units[u]);
  return text;
}

/* "4 KiB..64 KiB" for class c. */
NBC__PRIVATE const char *nbc__rep_class(const nbc_report *r, int c, char *text, size_t size) {
  char low[24], high[24];
  if (c > 0) nbc__rep_bytes(r->class_edges_bytes[c - 1], low, sizeof low);
  if ((size_t)c < r->class_edge_count) nbc__rep_bytes(r->class_edges_bytes[c], high, sizeof high);
  if (r->class_edge_count == 0)
    snprintf(text, size, "all sizes");
  else if (c == 0)
    snprintf(text, size, "up to %s", high);
  else if ((size_t)c >= r->class_edge_count)
    snprintf(text, size, "over %s", low);
  else
    snprintf(text, size, "%s..%s", low, high);
  return text;
}

typedef struct nbc__rep_row { /* one line of a breakdown */
  int key;
  nbc_totals t;
} nbc__rep_row;

static int nbc__rep_row_order(const void *a, const void *b) { /* most unhidden time first */
  const nbc_totals *ta = &((const nbc__rep_row *)a)->t, *tb = &((const nbc__rep_row *)b)->t;
  const int64_t ua = ta->xfer_ns - ta->max_overlap_ns, ub = tb->xfer_ns - tb->max_overlap_ns;
  if (ua != ub) return ua < ub ? 1 : -1;
  if (ta->xfer_ns != tb->xfer_ns) return ta->xfer_ns < tb->xfer_ns ? 1 : -1;
  return ((const nbc__rep_row *)a)->key - ((const nbc__rep_row *)b)->key;
}

static void nbc__rep_line(FILE *out, const char *name, const nbc_totals *t) {
  char a[24], b[24], c[24];
  fprintf(out, "  %-28.28s %9llu %9s %9s  %5.1f .. %5.1f %%  %9s\n", name,
          (unsigned long long)t->count, nbc__rep_bytes(t->size_bytes, a, sizeof a),
          nbc__rep_time(t->xfer_ns, b, sizeof b),
          100 * nbc__rep_share(t->min_overlap_ns, t->xfer_ns),
          100 * nbc__rep_share(t->max_overlap_ns, t->xfer_ns),
          nbc__rep_time(t->xfer_ns - t->max_overlap_ns, c, sizeof c));
  if (t->exact_count)
    fprintf(out, "  %-28s %9llu %9s %9s  %5.1f .. %5.1f %%\n", "    by NIC stamps",
            (unsigned long long)t->exact_count, "", nbc__rep_time(t->exact_xfer_ns, b, sizeof b),
            100 * nbc__rep_exact(t, t->exact_lo_ns), 100 * nbc__rep_exact(t, t->exact_hi_ns));
}

/* The transfers by section (0), size class (1), kind (2) or peer class (3), worst first. */
static nbc_status nbc__rep_breakdown(const nbc_report *r, int by, const char *title, FILE *out) {
  const size_t sizes[] = {r->section_count, NBC_MAX_CLASSES, NBC_KIND_COUNT, NBC_PEER_COUNT};
  nbc__rep_row *rows = (nbc__rep_row *)nbc__zalloc(sizes[by] * sizeof *rows);
  char name[64];
  if (!rows) return NBC_E_NOMEM;
  for (size_t i = 0; i < sizes[by]; i++) rows[i].key = (int)i;
  for (size_t i = 0; i < r->cell_count; i++) {
    const nbc_cell *c = &r->cells[i];
    const int keys[] = {c->section_index, c->class_index, (int)c->kind, (int)c->peer};
    nbc__rep_add_totals(&rows[keys[by]].t, &c->t);
  }
  qsort(rows, sizes[by], sizeof *rows, nbc__rep_row_order);
  if (by == 3 && rows[0].t.count == r->total.count) { /* one kind of peer: nothing to tell apart */
    NBC_FREE(rows);
    return NBC_OK;
  }
  fprintf(out, "\n%-30s %9s %9s %9s  %16s  %9s\n", title, "transfers", "volume", "time",
          "hidden min..max", "not hidden");
  for (size_t i = 0; i < sizes[by]; i++) {
    const int k = rows[i].key;
    if (!rows[i].t.count) continue;
    const char *text =
        by == 0   ? (r->sections[k].path[0] ? nbc__rep_plain(r->sections[k].path, name, sizeof name)
                                            : "(outside sections)")
        : by == 1 ? nbc__rep_class(r, k, name, sizeof name)
        : by == 2 ? nbc_kind_name((nbc_kind)k)
                  : nbc_peer_name((nbc_peer)k);
    nbc__rep_line(out, text, &rows[i].t);
  }
  NBC_FREE(rows);
  return NBC_OK;
}

static void nbc__rep_text_head(const nbc_report *r, FILE *out) {
  char a[24], b[24], c[24], d[24], text[256];
  const nbc_totals *t = &r->total;
  fprintf(out, "Overlap of %s",
          r->program ? nbc__rep_plain(r->program, text, sizeof text) : "this program");
  if (r->rank >= 0)
    fprintf(out, ", rank %d of %d", r->rank, r->size);
  else
    fprintf(out, ", %d process%s", r->process_count, r->process_count == 1 ? "" : "es");
  if (r->host && r->host[0]) fprintf(out, ", on %s", nbc__rep_plain(r->host, text, sizeof text));
  if (r->library) fprintf(out, " (%s)", nbc__rep_plain(r->library, text, sizeof text));
  fprintf(out, "\n%zu thread%s, %s: computation %s (%.1f %%), in communication calls %s (%.1f %%)",
          r->thread_count, r->thread_count == 1 ? "" : "s", nbc__rep_time(r->wall_ns, a, sizeof a),
          nbc__rep_time(r->comp_ns, b, sizeof b), 100 * nbc__rep_share(r->comp_ns, r->wall_ns),
          nbc__rep_time(r->call_ns, c, sizeof c), 100 * nbc__rep_share(r->call_ns, r->wall_ns));
  if (r->off_ns) fprintf(out, ", switched off %s", nbc__rep_time(r->off_ns, d, sizeof d));
  if (r->tool_ns)
    fprintf(out, ",\nmeasuring itself %s (%.2f %%)", nbc__rep_time(r->tool_ns, d, sizeof d),
            100 * nbc__rep_share(r->tool_ns, r->wall_ns));
  fprintf(out, "\n\n");
  if (!t->count) {
    fprintf(out, "No transfers were seen.\n");
    return;
  }
  fprintf(out, "Transfers took %s. Hidden behind computation: at least %.1f %%, at most %.1f %%",
          nbc__rep_time(t->xfer_ns, a, sizeof a),
          100 * nbc__rep_share(t->min_overlap_ns, t->xfer_ns),
          100 * nbc__rep_share(t->max_overlap_ns, t->xfer_ns));
  if (t->exact_count)
    fprintf(out, "; by NIC stamps of %llu: %.1f to %.1f %%", (unsigned long long)t->exact_count,
            100 * nbc__rep_exact(t, t->exact_lo_ns), 100 * nbc__rep_exact(t, t->exact_hi_ns));
  fprintf(out, ".\nNot hidden for certain: %s.\n",
          nbc__rep_time(t->xfer_ns - t->max_overlap_ns, b, sizeof b));
}

static void nbc__rep_text_calls(const nbc_report *r, FILE *out) {
  char a[24], b[24], c[24], d[24];
  struct {
    uint64_t count;
    int64_t total_ns, min_ns, max_ns;
  } k[NBC_KIND_COUNT];
  memset(k, 0, sizeof k);
  for (size_t i = 0; i < r->call_count; i++) {
    const nbc_call *call = &r->calls[i];
    if (!k[call->kind].count || call->min_ns < k[call->kind].min_ns)
      k[call->kind].min_ns = call->min_ns;
    if (call->max_ns > k[call->kind].max_ns) k[call->kind].max_ns = call->max_ns;
    k[call->kind].count += call->count;
    nbc__plus(&k[call->kind].total_ns, call->total_ns);
  }
  fprintf(out, "\n%-30s %9s %9s %9s %9s %9s\n", "Calls", "calls", "total", "mean", "min", "max");
  for (;;) {
    int worst = -1;
    for (int i = 0; i < NBC_KIND_COUNT; i++)
      if (k[i].count && (worst < 0 || k[i].total_ns > k[worst].total_ns)) worst = i;
    if (worst < 0) break;
    char name[40];
    snprintf(name, sizeof name, "%s (%s)", nbc_kind_name((nbc_kind)worst),
             nbc_category_name(nbc_kind_category((nbc_kind)worst)));
    fprintf(out, "  %-28s %9llu %9s %9s %9s %9s\n", name, (unsigned long long)k[worst].count,
            nbc__rep_time(k[worst].total_ns, a, sizeof a),
            nbc__rep_time(k[worst].total_ns / (int64_t)k[worst].count, b, sizeof b),
            nbc__rep_time(k[worst].min_ns, c, sizeof c),
            nbc__rep_time(k[worst].max_ns, d, sizeof d));
    k[worst].count = 0;
  }
}

static nbc_status nbc__rep_text(const nbc_report *r, FILE *out) {
  nbc_status status = NBC_OK;
  char a[1024], b[256];
  nbc__rep_text_head(r, out);
  if (r->total.count) {
    if (r->section_count > 1) status = nbc__rep_breakdown(r, 0, "By section", out);
    if (status == NBC_OK) status = nbc__rep_breakdown(r, 2, "By kind", out);
    if (status == NBC_OK) status = nbc__rep_breakdown(r, 1, "By message size", out);
    if (status == NBC_OK) status = nbc__rep_breakdown(r, 3, "By peer", out);
  }
  if (r->call_count) nbc__rep_text_calls(r, out);
  if (r->counter_count) fprintf(out, "\n%-40s %18s  %s\n", "Counters", "value", "section");
  for (size_t i = 0; i < r->counter_count; i++) {
    const char *path = r->sections[r->counters[i].section_index].path;
    fprintf(out, "  %-38s %18.15g  %s\n", nbc__rep_plain(r->counters[i].name, a, sizeof a),
            r->counters[i].value, path[0] ? nbc__rep_plain(path, b, sizeof b) : "(outside)");
  }
  fprintf(
      out, "\nClock %s, rate known to %.2g ppm. Transfer times: same node %s; other node %s%s\n",
      nbc_clock_source_name(r->clock_source), r->clock_rate_err_ppm,
      nbc__rep_plain(r->table_same_node, a, sizeof a),
      nbc__rep_plain(r->table_other_node, b, sizeof b),
      r->table_is_default
          ? "\n  (a default was used, not measured on this machine: bounds are only as good as it)"
          : "");
  for (int p = 0; p < NBC_PROBLEM_COUNT; p++)
    if (r->problems[p])
      fprintf(out, "  %llu %s\n", (unsigned long long)r->problems[p],
              nbc_problem_text((nbc_problem)p));
  for (size_t i = 0; i < r->note_count; i++)
    fprintf(out, "  note: %s\n", nbc__rep_plain(r->notes[i], a, sizeof a));
  if (status == NBC_OK && (fflush(out) != 0 || ferror(out))) status = NBC_E_IO;
  return status;
}

NBC_API nbc_status nbc_report_write_text(const nbc_report *r, FILE *out) {
  if (!r || !out) return NBC_E_INVAL;
  const locale_t before = nbc__locale_begin();
  const nbc_status status = nbc__rep_text(r, out);
  nbc__locale_end(before);
  return status;
}
#ifdef NBC_LINES
#line 1 "src/overlap/report_json.c"
#endif
/* report_json.c: reports for programs, as JSON. */





/* ---- JSON, writing ------------------------------------------------------------------------- */
/* Bytes of the UTF-8 character at p; 0 when there is none (JSON must be UTF-8, names need not). */
static int nbc__rep_utf8(const unsigned char *p) {
  const int n = *p < 0x80                 ? 1
                : *p >= 0xc2 && *p < 0xe0 ? 2
                : *p >= 0xe0 && *p < 0xf0 ? 3
                : *p >= 0xf0 && *p < 0xf5 ? 4
                                          : 0;
  for (int i = 1; i < n; i++)
    if ((p[i] & 0xc0) != 0x80) return 0;
  /* overlong forms, halves of pairs, beyond the last character */
  if ((*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] > 0x9f) || (*p == 0xf0 && p[1] < 0x90) ||
      (*p == 0xf4 && p[1] > 0x8f))
    return 0;
  return n;
}

static void nbc__rep_json_string(FILE *out, const char *text) {
  if (!text) {
    fputs("null", out);
    return;
  }
  fputc('"', out);
  for (const unsigned char *p = (const unsigned char *)text; *p;) {
    const int n = nbc__rep_utf8(p);
    if (*p == '"' || *p == '\\')
      fprintf(out, "\\%c", *p);
    else if (*p < 0x20)
      fprintf(out, "\\u%04x", *p);
    else if (n)
      fwrite(p, 1, (size_t)n, out);
    else
      fputs("\xEF\xBF\xBD", out); /* U+FFFD, as it is written when read back */
    p += n ? n : 1;
  }
  fputc('"', out);
}

/* A number in any locale; JSON has no infinities. */
static void nbc__rep_json_double(FILE *out, double value) {
  char text[40];
  if (!(fabs(value) <= 1.7e308)) {
    fputs("null", out);
    return;
  }
  snprintf(text, sizeof text, "%.17g", value);
  for (char *p = text; *p; p++)
    if (*p == ',') *p = '.';
  fputs(text, out);
}

static void nbc__rep_json_totals(FILE *out, const nbc_totals *t) {
  fprintf(out,
          "\"method\":\"independent\",\"count\":%llu,\"size_bytes\":%llu,\"xfer_ns\":%lld,"
          "\"min_overlap_ns\":%lld,\"max_overlap_ns\":%lld,"
          "\"case_count\":[%llu,%llu,%llu]",
          (unsigned long long)t->count, (unsigned long long)t->size_bytes, (long long)t->xfer_ns,
          (long long)t->min_overlap_ns, (long long)t->max_overlap_ns,
          (unsigned long long)t->case_count[0], (unsigned long long)t->case_count[1],
          (unsigned long long)t->case_count[2]);
  if (t->waited_ns) fprintf(out, ",\"waited_ns\":%lld", (long long)t->waited_ns);
  if (t->exact_count)
    fprintf(out,
            ",\"exact_count\":%llu,\"exact_xfer_ns\":%lld,\"exact_overlap_lo_ns\":%lld,"
            "\"exact_overlap_hi_ns\":%lld",
            (unsigned long long)t->exact_count, (long long)t->exact_xfer_ns,
            (long long)t->exact_lo_ns, (long long)t->exact_hi_ns);
}

static void nbc__rep_json_head(const nbc_report *r, FILE *out) {
  fputs("{\"schema\":\"nbc-overlap-report/1\",\n\"program\":", out);
  nbc__rep_json_string(out, r->program);
  fputs(",\"host\":", out);
  nbc__rep_json_string(out, r->host);
  fputs(",\"library\":", out);
  nbc__rep_json_string(out, r->library);
  fprintf(out,
          ",\n\"rank\":%d,\"size\":%d,\"pid\":%d,\"process_count\":%d,\"start_unix_s\":", r->rank,
          r->size, r->pid, r->process_count);
  nbc__rep_json_double(out, r->start_unix_s);
  fprintf(out, ",\n\"wall_ns\":%lld,\"comp_ns\":%lld,\"call_ns\":%lld,\"off_ns\":%lld",
          (long long)r->wall_ns, (long long)r->comp_ns, (long long)r->call_ns,
          (long long)r->off_ns);
  if (r->tool_ns) fprintf(out, ",\"tool_ns\":%lld", (long long)r->tool_ns);
  fprintf(out, ",\n\"clock\":{\"source\":\"%s\",\"hz\":", nbc_clock_source_name(r->clock_source));
  nbc__rep_json_double(out, r->clock_hz);
  fputs(",\"rate_err_ppm\":", out);
  nbc__rep_json_double(out, r->clock_rate_err_ppm);
  fputs(",\"resolution_ns\":", out);
  nbc__rep_json_double(out, r->clock_resolution_ns);
  fputs(",\"read_cost_ns\":", out);
  nbc__rep_json_double(out, r->clock_read_cost_ns);
  fputs("},\n\"table_same_node\":", out);
  nbc__rep_json_string(out, r->table_same_node);
  fputs(",\"table_other_node\":", out);
  nbc__rep_json_string(out, r->table_other_node);
  fprintf(out, ",\"table_is_default\":%s,\n\"class_edges_bytes\":[",
          r->table_is_default ? "true" : "false");
  for (size_t i = 0; i < r->class_edge_count; i++)
    fprintf(out, "%s%llu", i ? "," : "", (unsigned long long)r->class_edges_bytes[i]);
  fputs("],\n\"total\":{", out);
  nbc__rep_json_totals(out, &r->total);
  fputs("}", out);
}

static void nbc__rep_json_cell(const nbc_cell *c, FILE *out) {
  fprintf(out, "{\"section_index\":%d,\"kind\":\"%s\",\"class_index\":%d,\"peer\":\"%s\",",
          c->section_index, nbc_kind_name(c->kind), c->class_index, nbc_peer_name(c->peer));
  nbc__rep_json_totals(out, &c->t);
  fprintf(out, ",\"available_ns\":%lld,\"available_count\":{", (long long)c->available_ns);
  const char *comma = "";
  for (int b = 0; b < NBC_HIST_BINS; b++) {
    if (!c->available_count[b]) continue;
    fprintf(out, "%s\"%d\":%llu", comma, b, (unsigned long long)c->available_count[b]);
    comma = ",";
  }
  fputs("}}", out);
}

/* Bounds of what was under way together, by method; call sites; pairs of processes. */
static void nbc__rep_json_more(const nbc_report *r, FILE *out) {
  if (r->joint_count) fputs(",\n\"joint_bounds\":[", out);
  for (size_t i = 0; i < r->joint_count; i++) {
    const nbc_joint *j = &r->joints[i];
    fprintf(out,
            "%s{\"method\":\"joint\",\"incoming\":%s,\"peer\":\"%s\",\"count\":%llu,\"size_bytes\":"
            "%llu,"
            "\"xfer_ns\":%lld,\"min_overlap_ns\":%lld,\"max_overlap_ns\":%lld}",
            i ? ",\n " : "\n ", j->incoming ? "true" : "false", nbc_peer_name(j->peer),
            (unsigned long long)j->count, (unsigned long long)j->size_bytes, (long long)j->xfer_ns,
            (long long)j->min_overlap_ns, (long long)j->max_overlap_ns);
  }
  if (r->joint_count) fputs("]", out);
  if (r->partner_bound_count) fputs(",\n\"partner_bounds\":[", out);
  for (size_t i = 0; i < r->partner_bound_count; i++) {
    const nbc_partner_bound *b = &r->partner_bounds[i];
    fprintf(out,
            "%s{\"method\":\"partner\",\"kind\":\"%s\",\"count\":%llu,\"size_bytes\":%llu,"
            "\"xfer_ns\":%lld,\"alone_min_ns\":%lld,\"alone_max_ns\":%lld,"
            "\"min_overlap_ns\":%lld,\"max_overlap_ns\":%lld,\"clock_err_ns\":%lld}",
            i ? ",\n " : "\n ", nbc_kind_name(b->kind), (unsigned long long)b->count,
            (unsigned long long)b->size_bytes, (long long)b->xfer_ns, (long long)b->alone_min_ns,
            (long long)b->alone_max_ns, (long long)b->min_overlap_ns, (long long)b->max_overlap_ns,
            (long long)b->clock_err_ns);
  }
  if (r->partner_bound_count) fputs("]", out);
  if (r->site_count) fputs(",\n\"sites\":[", out);
  for (size_t i = 0; i < r->site_count; i++) {
    const nbc_site *s = &r->sites[i];
    fputs(i ? ",\n {\"call\":" : "\n {\"call\":", out);
    nbc__rep_json_string(out, s->call);
    fputs(",\"module\":", out);
    nbc__rep_json_string(out, s->module);
    fputs(",\"symbol\":", out);
    nbc__rep_json_string(out, s->symbol);
    fprintf(out, ",\"offset\":%llu,\"count\":%llu,\"total_ns\":%lld,\"max_ns\":%lld}",
            (unsigned long long)s->offset, (unsigned long long)s->count, (long long)s->total_ns,
            (long long)s->max_ns);
  }
  if (r->site_count) fputs("]", out);
  if (r->pair_count) fputs(",\n\"pairs\":[", out);
  for (size_t i = 0; i < r->pair_count; i++) {
    const nbc_pair *p = &r->pairs[i];
    fprintf(out,
            "%s{\"rank\":%d,\"partner\":%d,\"sent_count\":%llu,\"sent_bytes\":%llu,"
            "\"received_count\":%llu,"
            "\"received_bytes\":%llu,\"waited_ns\":%lld,\"busy_ns\":%lld,"
            "\"small_waited_ns\":%lld}",
            i ? ",\n " : "\n ", p->rank, p->partner, (unsigned long long)p->sent_count,
            (unsigned long long)p->sent_bytes, (unsigned long long)p->received_count,
            (unsigned long long)p->received_bytes, (long long)p->waited_ns, (long long)p->busy_ns,
            (long long)p->small_waited_ns);
  }
  if (r->pair_count) fputs("]", out);
  if (r->comm_count) fputs(",\n\"communicators\":[", out);
  for (size_t i = 0; i < r->comm_count; i++) {
    const nbc_comm_total *c = &r->comms[i];
    fputs(i ? ",\n {\"name\":" : "\n {\"name\":", out);
    nbc__rep_json_string(out, c->name);
    fprintf(out, ",\"size\":%d,\"count\":%llu,\"size_bytes\":%llu,\"waited_ns\":%lld}", c->size,
            (unsigned long long)c->count, (unsigned long long)c->size_bytes,
            (long long)c->waited_ns);
  }
  if (r->comm_count) fputs("]", out);
}

NBC_API nbc_status nbc_report_write_json(const nbc_report *r, FILE *out) {
  if (!r || !out) return NBC_E_INVAL;
  nbc__rep_json_head(r, out);
  fputs(",\n\"sections\":[", out);
  for (size_t i = 0; i < r->section_count; i++) {
    const nbc_section *s = &r->sections[i];
    fputs(i ? ",\n {\"path\":" : "\n {\"path\":", out);
    nbc__rep_json_string(out, s->path);
    fprintf(out, ",\"parent_index\":%d,\"count\":%llu,\"comp_ns\":%lld,\"call_ns\":%lld}",
            s->parent_index, (unsigned long long)s->count, (long long)s->comp_ns,
            (long long)s->call_ns);
  }
  fputs("],\n\"cells\":[", out);
  for (size_t i = 0; i < r->cell_count; i++) {
    fputs(i ? ",\n " : "\n ", out);
    nbc__rep_json_cell(&r->cells[i], out);
  }
  fputs("],\n\"calls\":[", out);
  for (size_t i = 0; i < r->call_count; i++)
    fprintf(out,
            "%s{\"section_index\":%d,\"kind\":\"%s\",\"count\":%llu,\"total_ns\":%lld,\"min_ns\":%"
            "lld,\"max_ns\":%lld}",
            i ? ",\n " : "\n ", r->calls[i].section_index, nbc_kind_name(r->calls[i].kind),
            (unsigned long long)r->calls[i].count, (long long)r->calls[i].total_ns,
            (long long)r->calls[i].min_ns, (long long)r->calls[i].max_ns);
  fputs("],\n\"threads\":[", out);
  for (size_t i = 0; i < r->thread_count; i++)
    fprintf(
        out,
        "%s{\"comp_ns\":%lld,\"call_ns\":%lld,\"off_ns\":%lld,\"tool_ns\":%lld,\"wall_ns\":%lld}",
        i ? ",\n " : "\n ", (long long)r->threads[i].comp_ns, (long long)r->threads[i].call_ns,
        (long long)r->threads[i].off_ns, (long long)r->threads[i].tool_ns,
        (long long)r->threads[i].wall_ns);
  fputs("],\n\"counters\":[", out);
  for (size_t i = 0; i < r->counter_count; i++) {
    fputs(i ? ",\n {\"name\":" : "\n {\"name\":", out);
    nbc__rep_json_string(out, r->counters[i].name);
    fprintf(out, ",\"section_index\":%d,\"value\":", r->counters[i].section_index);
    nbc__rep_json_double(out, r->counters[i].value);
    fputs("}", out);
  }
  fputs("]", out);
  nbc__rep_json_more(r, out);
  fputs(",\n\"problems\":{", out);
  for (int p = 0; p < NBC_PROBLEM_COUNT; p++)
    fprintf(out, "%s\"%s\":%llu", p ? "," : "", nbc_problem_name((nbc_problem)p),
            (unsigned long long)r->problems[p]);
  fputs("},\n\"notes\":[", out);
  for (size_t i = 0; i < r->note_count; i++) {
    if (i) fputs(",", out);
    nbc__rep_json_string(out, r->notes[i]);
  }
  fputs("]}\n", out);
  return fflush(out) != 0 || ferror(out) ? NBC_E_IO : NBC_OK;
}
#ifndef NBC_NO_READ
#ifdef NBC_LINES
#line 1 "src/overlap/report_read.c"
#endif
/* report_read.c: reports read back from JSON; the input is untrusted. */





/* A JSON reader without a tree: tables say which key goes to which field of which struct, the rest
   is checked and skipped. The input is untrusted: nothing is believed before it was looked at,
   depth is bounded, the time is linear, every error names its line and field. */
#define NBC__JSON_DEPTH     24
#define NBC__JSON_MAX_BYTES ((size_t)64 << 20)

typedef struct nbc__json {
  const char *at, *end, *name;
  int line;
  nbc_error *err;
  nbc_status status; /* of the first error */
  int depth;
  struct { /* the way to the value being read, for errors: cells[3].xfer_ns */
    const char *key;
    long index; /* -1: not an element */
  } way[NBC__JSON_DEPTH];
  nbc_report *report;
  /* Largest indexes met and where: they can be judged only when all arrays are known. */
  int top_section, top_section_line, top_class, top_class_line;
  bool unsorted_cells, unsorted_calls;
} nbc__json;

typedef enum nbc__json_type {
  NBC__JSON_INT,    /* int */
  NBC__JSON_COUNT,  /* uint64_t */
  NBC__JSON_NS,     /* int64_t, not negative */
  NBC__JSON_DOUBLE, /* null becomes NaN: what the writer makes of infinities */
  NBC__JSON_TEXT,   /* char *, may be null */
  NBC__JSON_BOOL,
  NBC__JSON_OTHER /* the field's own function */
} nbc__json_type;

typedef struct nbc__json_field {
  const char *key;
  nbc__json_type type;
  bool required;
  size_t offset;
  bool (*read)(nbc__json *j, void *target); /* NBC__JSON_OTHER: gets object + offset */
} nbc__json_field;

static bool nbc__json_fail_at(nbc__json *j, int line, nbc_status status, const char *what) {
  if (j->status != NBC_OK) return false;
  j->status = status;
  if (!j->err) return false;
  char way[100];
  size_t used = 0;
  way[0] = 0;
  for (int d = 0; d < j->depth && used + 1 < sizeof way; d++) {
    const bool element = j->way[d].index >= 0;
    if (!element && !j->way[d].key) continue;
    const int n =
        element ? snprintf(way + used, sizeof way - used, "[%ld]", j->way[d].index)
                : snprintf(way + used, sizeof way - used, "%s%s", used ? "." : "", j->way[d].key);
    if (n > 0) used += (size_t)n;
  }
  j->err->status = status;
  j->err->line = line;
  snprintf(j->err->text, sizeof j->err->text, "%.70s:%d: %s%s%s%.60s", j->name, line,
           way[0] ? "field " : "", way, way[0] ? ": " : "", what);
  return false;
}
static bool nbc__json_fail(nbc__json *j, const char *what) {
  return nbc__json_fail_at(j, j->line, NBC_E_PARSE,
                           j->at < j->end ? what : "the text ends here: file cut off?");
}
static bool nbc__json_no_memory(nbc__json *j) {
  return nbc__json_fail_at(j, j->line, NBC_E_NOMEM, "out of memory");
}

static void nbc__json_space(nbc__json *j) {
  for (; j->at < j->end; j->at++) {
    if (*j->at == '\n')
      j->line++;
    else if (*j->at != ' ' && *j->at != '\t' && *j->at != '\r')
      return;
  }
}
/* The next character that is not space; 0 at the end. */
static char nbc__json_peek(nbc__json *j) {
  nbc__json_space(j);
  return j->at < j->end ? *j->at : 0;
}
static bool nbc__json_accept(nbc__json *j, char c) {
  if (nbc__json_peek(j) != c || j->at == j->end) return false;
  j->at++;
  return true;
}
static bool nbc__json_word(nbc__json *j, const char *word) {
  const size_t n = strlen(word), left = (size_t)(j->end - j->at);
  if (memcmp(j->at, word, n < left ? n : left) != 0) return false;
  j->at += n < left ? n : left;
  return n <= left;
}

/* ---- strings ------------------------------------------------------------------------------- */
static int nbc__json_hex4(nbc__json *j) { /* -1: not four hexadecimal digits */
  int value = 0;
  for (int i = 0; i < 4; i++) {
    const char c = j->at < j->end ? *j->at++ : 0;
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

static size_t nbc__json_utf8(unsigned long code, char *out) {
  if (code < 0x80) return out[0] = (char)code, 1;
  const size_t n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  for (size_t i = n - 1; i > 0; i--, code >>= 6) out[i] = (char)(0x80 | (code & 0x3f));
  out[0] = (char)((0xf00u >> n & 0xf0) | code);
  return n;
}

/* One character after a backslash: its bytes to out (at most 4), or 0 and an error. */
static size_t nbc__json_escape(nbc__json *j, char *out) {
  static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
  const char c = j->at < j->end ? *j->at++ : 0;
  const char *known = c ? strchr(from, c) : NULL;
  if (known) return out[0] = to[known - from], 1;
  int code = c == 'u' ? nbc__json_hex4(j) : -1;
  if (code >= 0xd800 && code < 0xdc00) { /* first half of a pair */
    const int low = nbc__json_word(j, "\\u") ? nbc__json_hex4(j) : -1;
    code = low >= 0xdc00 && low < 0xe000 ? 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00) : -1;
  } else if (code >= 0xdc00 && code < 0xe000) {
    code = -1;
  }
  if (code > 0) return nbc__json_utf8((unsigned long)code, out);
  nbc__json_fail(j, code == 0 ? "text with a zero byte" : "malformed escape in text");
  return 0;
}

/* Reads a string; into text (may be NULL) go at most size - 1 bytes of it. length: of the whole. */
static bool nbc__json_string(nbc__json *j, char *text, size_t size, size_t *length) {
  size_t used = 0;
  if (!nbc__json_accept(j, '"')) return nbc__json_fail(j, "text in quotes expected");
  for (;;) {
    char bytes[4];
    size_t n = 1;
    if (j->at == j->end) return nbc__json_fail(j, "");
    bytes[0] = *j->at++;
    if (bytes[0] == '"') break;
    if ((unsigned char)bytes[0] < 0x20) {
      j->at--;
      return nbc__json_fail(j, "control character in text: quote missing?");
    }
    if (bytes[0] == '\\' && !(n = nbc__json_escape(j, bytes))) return false;
    for (size_t i = 0; i < n; i++, used++)
      if (used + 1 < size) text[used] = bytes[i];
  }
  if (size) text[used + 1 < size ? used : size - 1] = 0;
  if (length) *length = used;
  return true;
}

/* A string of any length, or null: replaces *text. */
static bool nbc__json_text(nbc__json *j, char **text) {
  if (nbc__json_peek(j) == 'n' && nbc__json_word(j, "null"))
    return nbc_report_set(text, NULL) == NBC_OK;
  nbc__json measure = *j; /* first pass for the length, second to copy */
  size_t length;
  measure.err = NULL;
  if (!nbc__json_string(&measure, NULL, 0, &length)) return nbc__json_string(j, NULL, 0, NULL);
  char *copy = (char *)NBC_MALLOC(length + 1);
  if (!copy) return nbc__json_no_memory(j);
  nbc__json_string(j, copy, length + 1, NULL);
  NBC_FREE(*text);
  *text = copy;
  return true;
}

/* ---- numbers ------------------------------------------------------------------------------- */
/* Checks one number's grammar and copies it to text; *integer: neither point nor exponent. */
static bool nbc__json_number(nbc__json *j, char *text, size_t size, bool *integer) {
  nbc__json_space(j);
  const char *p = j->at, *const start = p;
  *integer = true;
  if (p < j->end && *p == '-') p++;
  const char *digits = p;
  while (p < j->end && *p >= '0' && *p <= '9') p++;
  bool good = p > digits && (*digits != '0' || p == digits + 1);
  if (good && p < j->end && *p == '.') {
    digits = ++p;
    while (p < j->end && *p >= '0' && *p <= '9') p++;
    good = p > digits;
    *integer = false;
  }
  if (good && p < j->end && (*p == 'e' || *p == 'E')) {
    p++;
    if (p < j->end && (*p == '+' || *p == '-')) p++;
    digits = p;
    while (p < j->end && *p >= '0' && *p <= '9') p++;
    good = p > digits;
    *integer = false;
  }
  j->at = p;
  if (!good) return nbc__json_fail(j, "a number was expected");
  if ((size_t)(p - start) >= size) return nbc__json_fail(j, "number with too many digits");
  memcpy(text, start, (size_t)(p - start));
  text[p - start] = 0;
  return true;
}

/* An integer of magnitude <= limit; negative ones only when allowed. */
static bool nbc__json_integer(nbc__json *j, uint64_t limit, bool *negative, uint64_t *magnitude) {
  char text[64];
  bool integer;
  uint64_t value = 0;
  if (!nbc__json_number(j, text, sizeof text, &integer)) return false;
  const bool minus = text[0] == '-';
  if (!integer) return nbc__json_fail_at(j, j->line, NBC_E_PARSE, "must be an integer");
  if (minus && !negative) return nbc__json_fail_at(j, j->line, NBC_E_PARSE, "must not be negative");
  for (const char *p = text + minus; *p; p++) {
    const uint64_t digit = (uint64_t)(*p - '0');
    if (value > (limit - digit) / 10)
      return nbc__json_fail_at(j, j->line, NBC_E_PARSE, "number too large");
    value = value * 10 + digit;
  }
  if (negative) *negative = minus;
  *magnitude = value;
  return true;
}

static bool nbc__json_count(nbc__json *j, uint64_t *value) {
  return nbc__json_integer(j, UINT64_MAX, NULL, value);
}

static bool nbc__json_int(nbc__json *j, int *value) {
  bool negative;
  uint64_t magnitude;
  if (!nbc__json_integer(j, 0x7fffffff, &negative, &magnitude)) return false;
  *value = negative ? -(int)magnitude : (int)magnitude;
  return true;
}

static bool nbc__json_double(nbc__json *j, double *value) {
  char text[400], point[8];
  bool integer;
  if (nbc__json_peek(j) == 'n' && nbc__json_word(j, "null")) return *value = NAN, true;
  if (!nbc__json_number(j, text, sizeof text, &integer)) return false;
  snprintf(point, sizeof point, "%.1f", 0.5); /* strtod wants the locale's point, JSON has a dot */
  char *dot = strchr(text, '.');
  if (dot) *dot = point[1];
  *value = strtod(text, NULL);
  if (!(fabs(*value) <= 1.7e308))
    return nbc__json_fail_at(j, j->line, NBC_E_PARSE, "number too large");
  return true;
}

/* ---- objects and arrays -------------------------------------------------------------------- */
static bool nbc__json_push(nbc__json *j, const char *key, long index) {
  if (j->depth >= NBC__JSON_DEPTH) return nbc__json_fail(j, "nested too deeply");
  j->way[j->depth].key = key;
  j->way[j->depth++].index = index;
  return true;
}

/* "key": into a buffer; longer keys are unknown anyway. */
static bool nbc__json_key(nbc__json *j, char *key, size_t size) {
  size_t length;
  if (!nbc__json_string(j, key, size, &length)) return false;
  if (length >= size) key[0] = 0;
  return nbc__json_accept(j, ':') || nbc__json_fail(j, "':' expected after a key");
}

/* Checks a value of any kind and forgets it. */
static bool nbc__json_skip(nbc__json *j) {
  char text[400];
  bool integer;
  const char open = nbc__json_peek(j);
  if (open == '"') return nbc__json_string(j, NULL, 0, NULL);
  if (open != '{' && open != '[')
    return nbc__json_word(j, "null") || nbc__json_word(j, "true") || nbc__json_word(j, "false") ||
           nbc__json_number(j, text, sizeof text, &integer);
  const char close = open == '{' ? '}' : ']';
  j->at++;
  if (nbc__json_accept(j, close)) return true;
  if (!nbc__json_push(j, NULL, -1)) return false;
  do {
    if (open == '{' && !nbc__json_key(j, text, sizeof text)) return false;
    if (!nbc__json_skip(j)) return false;
  } while (nbc__json_accept(j, ','));
  j->depth--;
  return nbc__json_accept(j, close) || nbc__json_fail(j, "',' or the closing bracket expected");
}

/* Calls element for every element of an array. */
static bool nbc__json_array(nbc__json *j, bool (*element)(nbc__json *j, long index, void *target),
                            void *target) {
  if (!nbc__json_accept(j, '[')) return nbc__json_fail(j, "'[' expected");
  if (nbc__json_accept(j, ']')) return true;
  long index = 0;
  do {
    if (!nbc__json_push(j, NULL, index) || !element(j, index, target)) return false;
    j->depth--;
    index++;
  } while (nbc__json_accept(j, ','));
  return nbc__json_accept(j, ']') || nbc__json_fail(j, "',' or ']' expected");
}

static bool nbc__json_bool(nbc__json *j, bool *value) {
  *value = nbc__json_peek(j) == 't';
  return nbc__json_word(j, *value ? "true" : "false") ||
         nbc__json_fail(j, "true or false expected");
}

static bool nbc__json_value(nbc__json *j, const nbc__json_field *f, void *target) {
  uint64_t magnitude;
  switch (f->type) {
  case NBC__JSON_INT: return nbc__json_int(j, (int *)target);
  case NBC__JSON_COUNT: return nbc__json_count(j, (uint64_t *)target);
  case NBC__JSON_NS:
    if (!nbc__json_integer(j, INT64_MAX, NULL, &magnitude)) return false;
    *(int64_t *)target = (int64_t)magnitude;
    return true;
  case NBC__JSON_DOUBLE: return nbc__json_double(j, (double *)target);
  case NBC__JSON_TEXT: return nbc__json_text(j, (char **)target);
  case NBC__JSON_BOOL: return nbc__json_bool(j, (bool *)target);
  case NBC__JSON_OTHER: break;
  }
  return f->read(j, target);
}

/* Reads an object into *object: known keys once each, unknown ones skipped, required ones
   present. */
static bool nbc__json_object(nbc__json *j, const nbc__json_field *fields, size_t field_count,
                             void *object) {
  char key[64];
  uint64_t seen = 0; /* one bit per field: tables are shorter than 64 */
  const int line = j->line;
  if (!nbc__json_accept(j, '{')) return nbc__json_fail(j, "'{' expected");
  if (!nbc__json_accept(j, '}')) {
    do {
      size_t i = 0;
      if (!nbc__json_key(j, key, sizeof key)) return false;
      while (i < field_count && strcmp(fields[i].key, key) != 0) i++;
      if (!nbc__json_push(j, i < field_count ? fields[i].key : NULL, -1)) return false;
      if (i == field_count) {
        if (!nbc__json_skip(j)) return false;
      } else {
        if (seen >> i & 1) return nbc__json_fail_at(j, j->line, NBC_E_PARSE, "given twice");
        seen |= (uint64_t)1 << i;
        if (!nbc__json_value(j, &fields[i], (char *)object + fields[i].offset)) return false;
      }
      j->depth--;
    } while (nbc__json_accept(j, ','));
    if (!nbc__json_accept(j, '}')) return nbc__json_fail(j, "',' or '}' expected");
  }
  for (size_t i = 0; i < field_count; i++) {
    if (!fields[i].required || (seen >> i & 1)) continue;
    return nbc__json_push(j, fields[i].key, -1) &&
           nbc__json_fail_at(j, line, NBC_E_PARSE, "missing");
  }
  return true;
}

/* ---- the report's own objects -------------------------------------------------------------- */
#define NBC__JSON_AT(type, field, as, required)                                                    \
  { #field, NBC__JSON_##as, required, offsetof(type, field), NULL }
#define NBC__JSON_BY(type, key, field, required, function)                                         \
  { key, NBC__JSON_OTHER, required, offsetof(type, field), function }
#define NBC__JSON_LENGTH(table) (sizeof(table) / sizeof *(table))

static bool nbc__json_case(nbc__json *j, long index, void *target) {
  if (index >= 3) return nbc__json_fail(j, "three numbers expected");
  return nbc__json_count(j, (uint64_t *)target + index);
}
static bool nbc__json_cases(nbc__json *j, void *target) {
  return nbc__json_array(j, nbc__json_case, target);
}

/* The fields of nbc_totals, inside the struct `type` at `path`. */
#define NBC__JSON_TOTALS(type, path)                                                               \
  {"count", NBC__JSON_COUNT, true, offsetof(type, path count), NULL},                              \
      {"size_bytes", NBC__JSON_COUNT, false, offsetof(type, path size_bytes), NULL},               \
      {"xfer_ns", NBC__JSON_NS, true, offsetof(type, path xfer_ns), NULL},                         \
      {"min_overlap_ns", NBC__JSON_NS, true, offsetof(type, path min_overlap_ns), NULL},           \
      {"max_overlap_ns", NBC__JSON_NS, true, offsetof(type, path max_overlap_ns), NULL},           \
      {"case_count", NBC__JSON_OTHER, false, offsetof(type, path case_count), nbc__json_cases},    \
      {"waited_ns", NBC__JSON_NS, false, offsetof(type, path waited_ns), NULL},                    \
      {"exact_count", NBC__JSON_COUNT, false, offsetof(type, path exact_count), NULL},             \
      {"exact_xfer_ns", NBC__JSON_NS, false, offsetof(type, path exact_xfer_ns), NULL},            \
      {"exact_overlap_lo_ns", NBC__JSON_NS, false, offsetof(type, path exact_lo_ns), NULL}, {      \
    "exact_overlap_hi_ns", NBC__JSON_NS, false, offsetof(type, path exact_hi_ns), NULL             \
  }

/* What every reader of a report relies on. */
static bool nbc__json_check_totals(nbc__json *j, const nbc_totals *t) {
  const char *what =
      t->min_overlap_ns > t->max_overlap_ns ? "min_overlap_ns is above max_overlap_ns"
      : t->max_overlap_ns > t->xfer_ns      ? "max_overlap_ns is above xfer_ns"
      : t->exact_lo_ns > t->exact_hi_ns     ? "exact_overlap_lo_ns is above exact_overlap_hi_ns"
                                            : NULL;
  return !what || nbc__json_fail_at(j, j->line, NBC_E_PARSE, what);
}

/* kinds of a later version count as other */
static bool nbc__json_kind(nbc__json *j, void *target) {
  char name[64];
  int k = NBC_KIND_COUNT - 1;
  if (!nbc__json_string(j, name, sizeof name, NULL)) return false;
  while (k > 0 && strcmp(nbc_kind_name((nbc_kind)k), name) != 0) k--;
  *(nbc_kind *)target = (nbc_kind)k;
  return true;
}

static bool nbc__json_peer(nbc__json *j, void *target) {
  char name[64];
  int p = NBC_PEER_COUNT - 1;
  if (!nbc__json_string(j, name, sizeof name, NULL)) return false;
  while (p > 0 && strcmp(nbc_peer_name((nbc_peer)p), name) != 0) p--;
  *(nbc_peer *)target = (nbc_peer)p;
  return true;
}

static bool nbc__json_histogram(nbc__json *j, void *target) { /* {"17": 3, …}: bin and count */
  char key[16];
  if (!nbc__json_accept(j, '{')) return nbc__json_fail(j, "'{' expected");
  if (nbc__json_accept(j, '}')) return true;
  do {
    int bin = 0;
    if (!nbc__json_key(j, key, sizeof key)) return false;
    for (const char *p = key; *p; p++)
      bin = *p >= '0' && *p <= '9' && bin < 1000 ? bin * 10 + *p - '0' : 1000;
    if (!key[0] || bin >= NBC_HIST_BINS) return nbc__json_fail(j, "no such bin");
    if (!nbc__json_count(j, (uint64_t *)target + bin)) return false;
  } while (nbc__json_accept(j, ','));
  return nbc__json_accept(j, '}') || nbc__json_fail(j, "',' or '}' expected");
}

static bool nbc__json_index(nbc__json *j, int index, int *top, int *top_line) {
  if (index < 0) return nbc__json_fail_at(j, j->line, NBC_E_PARSE, "negative index");
  if (index > *top) *top = index, *top_line = j->line;
  return true;
}

static bool nbc__json_section(nbc__json *j, long index, void *target) {
  static const nbc__json_field fields[] = {NBC__JSON_AT(nbc_section, path, TEXT, true),
                                           NBC__JSON_AT(nbc_section, parent_index, INT, true),
                                           NBC__JSON_AT(nbc_section, count, COUNT, false),
                                           NBC__JSON_AT(nbc_section, comp_ns, NS, true),
                                           NBC__JSON_AT(nbc_section, call_ns, NS, true)};
  nbc_report *r = j->report;
  nbc_section *s = &r->sections[0]; /* made by nbc_report_create */
  (void)target;
  if (index > 0) NBC__REP_APPEND(nbc_section, r->sections, r->section_count, s);
  if (!s) return nbc__json_no_memory(j);
  if (!nbc__json_object(j, fields, NBC__JSON_LENGTH(fields), s)) return false;
  if (!s->path) return nbc__json_fail_at(j, j->line, NBC_E_PARSE, "path is null");
  if (index == 0 ? s->parent_index != -1 || s->path[0]
                 : s->parent_index < 0 || s->parent_index >= index)
    return nbc__json_fail_at(j, j->line, NBC_E_PARSE, "parent_index must name an earlier section");
  return true;
}

static bool nbc__json_cell(nbc__json *j, long index, void *target) {
  static const nbc__json_field fields[] = {
      NBC__JSON_AT(nbc_cell, section_index, INT, true),
      NBC__JSON_BY(nbc_cell, "kind", kind, true, nbc__json_kind),
      NBC__JSON_AT(nbc_cell, class_index, INT, true),
      NBC__JSON_BY(nbc_cell, "peer", peer, false, nbc__json_peer),
      NBC__JSON_TOTALS(nbc_cell, t.),
      NBC__JSON_AT(nbc_cell, available_ns, NS, false),
      NBC__JSON_BY(nbc_cell, "available_count", available_count, false, nbc__json_histogram)};
  nbc_report *r = j->report;
  nbc_cell *c;
  (void)target;
  NBC__REP_APPEND(nbc_cell, r->cells, r->cell_count, c);
  if (!c) return nbc__json_no_memory(j);
  if (!nbc__json_object(j, fields, NBC__JSON_LENGTH(fields), c)) return false;
  if (index > 0 && nbc__rep_cell_order(c - 1, c) >= 0) j->unsorted_cells = true;
  return nbc__json_check_totals(j, &c->t) &&
         nbc__json_index(j, c->section_index, &j->top_section, &j->top_section_line) &&
         nbc__json_index(j, c->class_index, &j->top_class, &j->top_class_line);
}

static int nbc__json_call_order(const void *a, const void *b) {
  const nbc_call *x = (const nbc_call *)a, *y = (const nbc_call *)b;
  return x->section_index != y->section_index ? x->section_index - y->section_index
                                              : (int)x->kind - (int)y->kind;
}
static int nbc__json_cell_order(const void *a, const void *b) {
  return nbc__rep_cell_order((const nbc_cell *)a, (const nbc_cell *)b);
}

static bool nbc__json_call(nbc__json *j, long index, void *target) {
  static const nbc__json_field fields[] = {
      NBC__JSON_AT(nbc_call, section_index, INT, true),
      NBC__JSON_BY(nbc_call, "kind", kind, true, nbc__json_kind),
      NBC__JSON_AT(nbc_call, count, COUNT, true),
      NBC__JSON_AT(nbc_call, total_ns, NS, true),
      NBC__JSON_AT(nbc_call, min_ns, NS, true),
      NBC__JSON_AT(nbc_call, max_ns, NS, true)};
  nbc_report *r = j->report;
  nbc_call *c;
  (void)target;
  NBC__REP_APPEND(nbc_call, r->calls, r->call_count, c);
  if (!c) return nbc__json_no_memory(j);
  if (!nbc__json_object(j, fields, NBC__JSON_LENGTH(fields), c)) return false;
  if (index > 0 && nbc__json_call_order(c - 1, c) >= 0) j->unsorted_calls = true;
  return nbc__json_index(j, c->section_index, &j->top_section, &j->top_section_line);
}

static bool nbc__json_thread(nbc__json *j, long index, void *target) {
  static const nbc__json_field fields[] = {
      NBC__JSON_AT(nbc_thread, comp_ns, NS, true), NBC__JSON_AT(nbc_thread, call_ns, NS, true),
      NBC__JSON_AT(nbc_thread, off_ns, NS, true), NBC__JSON_AT(nbc_thread, tool_ns, NS, false),
      NBC__JSON_AT(nbc_thread, wall_ns, NS, true)};
  nbc_thread *t;
  (void)index, (void)target;
  NBC__REP_APPEND(nbc_thread, j->report->threads, j->report->thread_count, t);
  return t ? nbc__json_object(j, fields, NBC__JSON_LENGTH(fields), t) : nbc__json_no_memory(j);
}

static bool nbc__json_counter(nbc__json *j, long index, void *target) {
  static const nbc__json_field fields[] = {NBC__JSON_AT(nbc_counter, name, TEXT, true),
                                           NBC__JSON_AT(nbc_counter, section_index, INT, true),
                                           NBC__JSON_AT(nbc_counter, value, DOUBLE, true)};
  nbc_counter *c;
  (void)index, (void)target;
  NBC__REP_APPEND(nbc_counter, j->report->counters, j->report->counter_count, c);
  if (!c) return nbc__json_no_memory(j);
  if (!nbc__json_object(j, fields, NBC__JSON_LENGTH(fields), c)) return false;
  if (!c->name) return nbc__json_fail_at(j, j->line, NBC_E_PARSE, "name is null");
  return nbc__json_index(j, c->section_index, &j->top_section, &j->top_section_line);
}

static bool nbc__json_joint(nbc__json *j, long index, void *target) {
  static const nbc__json_field fields[] = {
      NBC__JSON_AT(nbc_joint, incoming, BOOL, true),
      NBC__JSON_BY(nbc_joint, "peer", peer, true, nbc__json_peer),
      NBC__JSON_AT(nbc_joint, count, COUNT, true),
      NBC__JSON_AT(nbc_joint, size_bytes, COUNT, false),
      NBC__JSON_AT(nbc_joint, xfer_ns, NS, true),
      NBC__JSON_AT(nbc_joint, min_overlap_ns, NS, true),
      NBC__JSON_AT(nbc_joint, max_overlap_ns, NS, true)};
  nbc_joint *o;
  (void)index, (void)target;
  NBC__REP_APPEND(nbc_joint, j->report->joints, j->report->joint_count, o);
  if (!o) return nbc__json_no_memory(j);
  if (!nbc__json_object(j, fields, NBC__JSON_LENGTH(fields), o)) return false;
  if (o->min_overlap_ns > o->max_overlap_ns || o->max_overlap_ns > o->xfer_ns)
    return nbc__json_fail_at(j, j->line, NBC_E_PARSE,
                             "min_overlap_ns, max_overlap_ns, xfer_ns must ascend");
  return true;
}

static bool nbc__json_partner(nbc__json *j, long index, void *target) {
  static const nbc__json_field fields[] = {
      NBC__JSON_BY(nbc_partner_bound, "kind", kind, true, nbc__json_kind),
      NBC__JSON_AT(nbc_partner_bound, count, COUNT, true),
      NBC__JSON_AT(nbc_partner_bound, size_bytes, COUNT, false),
      NBC__JSON_AT(nbc_partner_bound, xfer_ns, NS, true),
      NBC__JSON_AT(nbc_partner_bound, alone_min_ns, NS, true),
      NBC__JSON_AT(nbc_partner_bound, alone_max_ns, NS, true),
      NBC__JSON_AT(nbc_partner_bound, min_overlap_ns, NS, true),
      NBC__JSON_AT(nbc_partner_bound, max_overlap_ns, NS, true),
      NBC__JSON_AT(nbc_partner_bound, clock_err_ns, NS, false)};
  nbc_partner_bound o;
  (void)index, (void)target;
  memset(&o, 0, sizeof o);
  if (!nbc__json_object(j, fields, NBC__JSON_LENGTH(fields), &o)) return false;
  const nbc_status status = nbc_report_partner_bound(j->report, &o);
  if (status == NBC_E_NOMEM) return nbc__json_no_memory(j);
  if (status != NBC_OK)
    return nbc__json_fail_at(j, j->line, NBC_E_PARSE,
                             "alone_min_ns, min_overlap_ns, max_overlap_ns, alone_max_ns, xfer_ns "
                             "must ascend");
  return true;
}

static bool nbc__json_site(nbc__json *j, long index, void *target) {
  static const nbc__json_field fields[] = {
      NBC__JSON_AT(nbc_site, call, TEXT, true),    NBC__JSON_AT(nbc_site, module, TEXT, false),
      NBC__JSON_AT(nbc_site, symbol, TEXT, false), NBC__JSON_AT(nbc_site, offset, COUNT, true),
      NBC__JSON_AT(nbc_site, count, COUNT, true),  NBC__JSON_AT(nbc_site, total_ns, NS, true),
      NBC__JSON_AT(nbc_site, max_ns, NS, false)};
  nbc_site *s;
  (void)index, (void)target;
  NBC__REP_APPEND(nbc_site, j->report->sites, j->report->site_count, s);
  if (!s) return nbc__json_no_memory(j);
  return nbc__json_object(j, fields, NBC__JSON_LENGTH(fields), s) &&
         (s->call || nbc__json_fail_at(j, j->line, NBC_E_PARSE, "call is null"));
}

static bool nbc__json_comm(nbc__json *j, long index, void *target) {
  static const nbc__json_field fields[] = {NBC__JSON_AT(nbc_comm_total, name, TEXT, true),
                                           NBC__JSON_AT(nbc_comm_total, size, INT, true),
                                           NBC__JSON_AT(nbc_comm_total, count, COUNT, true),
                                           NBC__JSON_AT(nbc_comm_total, size_bytes, COUNT, false),
                                           NBC__JSON_AT(nbc_comm_total, waited_ns, NS, false)};
  nbc_comm_total *c;
  (void)index, (void)target;
  NBC__REP_APPEND(nbc_comm_total, j->report->comms, j->report->comm_count, c);
  if (!c) return nbc__json_no_memory(j);
  return nbc__json_object(j, fields, NBC__JSON_LENGTH(fields), c) &&
         (c->name || nbc__json_fail_at(j, j->line, NBC_E_PARSE, "name is null"));
}

static bool nbc__json_pair(nbc__json *j, long index, void *target) {
  static const nbc__json_field fields[] = {NBC__JSON_AT(nbc_pair, rank, INT, true),
                                           NBC__JSON_AT(nbc_pair, partner, INT, true),
                                           NBC__JSON_AT(nbc_pair, sent_count, COUNT, false),
                                           NBC__JSON_AT(nbc_pair, sent_bytes, COUNT, false),
                                           NBC__JSON_AT(nbc_pair, received_count, COUNT, false),
                                           NBC__JSON_AT(nbc_pair, received_bytes, COUNT, false),
                                           NBC__JSON_AT(nbc_pair, waited_ns, NS, false),
                                           NBC__JSON_AT(nbc_pair, busy_ns, NS, false),
                                           NBC__JSON_AT(nbc_pair, small_waited_ns, NS, false)};
  nbc_pair *p;
  (void)index, (void)target;
  NBC__REP_APPEND(nbc_pair, j->report->pairs, j->report->pair_count, p);
  if (!p) return nbc__json_no_memory(j);
  if (!nbc__json_object(j, fields, NBC__JSON_LENGTH(fields), p)) return false;
  return (p->rank >= 0 && p->partner >= 0) ||
         nbc__json_fail_at(j, j->line, NBC_E_PARSE, "negative rank");
}

static bool nbc__json_note(nbc__json *j, long index, void *target) {
  char **note;
  (void)index, (void)target;
  NBC__REP_APPEND(char *, j->report->notes, j->report->note_count, note);
  if (!note) return nbc__json_no_memory(j);
  return nbc__json_text(j, note) &&
         (*note || nbc__json_fail_at(j, j->line, NBC_E_PARSE, "a note is null"));
}

static bool nbc__json_edge(nbc__json *j, long index, void *target) {
  nbc_report *r = (nbc_report *)target;
  if (index >= NBC_MAX_CLASSES - 1) return nbc__json_fail(j, "too many size classes");
  r->class_edge_count = (size_t)index + 1;
  return nbc__json_count(j, &r->class_edges_bytes[index]);
}

static bool nbc__json_source(nbc__json *j, void *target) {
  char name[64];
  int s = NBC_CLOCK_USER;
  if (!nbc__json_string(j, name, sizeof name, NULL)) return false;
  while (s > 0 && strcmp(nbc_clock_source_name((nbc_clock_source)s), name) != 0) s--;
  *(nbc_clock_source *)target = (nbc_clock_source)s;
  return true;
}

/* These get the whole report (offset 0). */
static bool nbc__json_schema(nbc__json *j, void *target) {
  char schema[64];
  (void)target;
  if (!nbc__json_string(j, schema, sizeof schema, NULL)) return false;
  return strcmp(schema, "nbc-overlap-report/1") == 0 ||
         nbc__json_fail_at(j, j->line, NBC_E_PARSE, "this reader knows only nbc-overlap-report/1");
}
static bool nbc__json_clock(nbc__json *j, void *target) {
  static const nbc__json_field fields[] = {
      NBC__JSON_BY(nbc_report, "source", clock_source, false, nbc__json_source),
      {"hz", NBC__JSON_DOUBLE, false, offsetof(nbc_report, clock_hz), NULL},
      {"rate_err_ppm", NBC__JSON_DOUBLE, false, offsetof(nbc_report, clock_rate_err_ppm), NULL},
      {"resolution_ns", NBC__JSON_DOUBLE, false, offsetof(nbc_report, clock_resolution_ns), NULL},
      {"read_cost_ns", NBC__JSON_DOUBLE, false, offsetof(nbc_report, clock_read_cost_ns), NULL}};
  return nbc__json_object(j, fields, NBC__JSON_LENGTH(fields), target);
}
static bool nbc__json_edges(nbc__json *j, void *target) {
  const nbc_report *r = (const nbc_report *)target;
  if (!nbc__json_array(j, nbc__json_edge, target)) return false;
  for (size_t i = 1; i < r->class_edge_count; i++)
    if (r->class_edges_bytes[i] <= r->class_edges_bytes[i - 1])
      return nbc__json_fail_at(j, j->line, NBC_E_PARSE, "size classes must ascend");
  return true;
}
static bool nbc__json_total(nbc__json *j, void *target) {
  static const nbc__json_field fields[] = {NBC__JSON_TOTALS(nbc_report, total.)};
  return nbc__json_object(j, fields, NBC__JSON_LENGTH(fields), target) &&
         nbc__json_check_totals(j, &((nbc_report *)target)->total);
}
static bool nbc__json_sections(nbc__json *j, void *target) {
  return nbc__json_array(j, nbc__json_section, target);
}
static bool nbc__json_cells(nbc__json *j, void *target) {
  return nbc__json_array(j, nbc__json_cell, target);
}
static bool nbc__json_calls(nbc__json *j, void *target) {
  return nbc__json_array(j, nbc__json_call, target);
}
static bool nbc__json_threads(nbc__json *j, void *target) {
  return nbc__json_array(j, nbc__json_thread, target);
}
static bool nbc__json_counters(nbc__json *j, void *target) {
  return nbc__json_array(j, nbc__json_counter, target);
}
static bool nbc__json_notes(nbc__json *j, void *target) {
  return nbc__json_array(j, nbc__json_note, target);
}
static bool nbc__json_joints(nbc__json *j, void *target) {
  return nbc__json_array(j, nbc__json_joint, target);
}
static bool nbc__json_partners(nbc__json *j, void *target) {
  return nbc__json_array(j, nbc__json_partner, target);
}
static bool nbc__json_sites(nbc__json *j, void *target) {
  return nbc__json_array(j, nbc__json_site, target);
}
static bool nbc__json_pairs(nbc__json *j, void *target) {
  return nbc__json_array(j, nbc__json_pair, target);
}
static bool nbc__json_comms(nbc__json *j, void *target) {
  return nbc__json_array(j, nbc__json_comm, target);
}
static bool nbc__json_problems(nbc__json *j, void *target) {
  static const nbc__json_field fields[] = {
#define NBC__X(name, text)                                                                         \
  {#name, NBC__JSON_COUNT, false, NBC_PROBLEM_##name * sizeof(uint64_t), NULL},
      NBC_PROBLEM_LIST(NBC__X)
#undef NBC__X
  };
  return nbc__json_object(j, fields, NBC__JSON_LENGTH(fields), target);
}

static const nbc__json_field nbc__json_report_fields[] = {
    {"schema", NBC__JSON_OTHER, true, 0, nbc__json_schema},
    NBC__JSON_AT(nbc_report, program, TEXT, false),
    NBC__JSON_AT(nbc_report, host, TEXT, false),
    NBC__JSON_AT(nbc_report, library, TEXT, false),
    NBC__JSON_AT(nbc_report, rank, INT, true),
    NBC__JSON_AT(nbc_report, size, INT, true),
    NBC__JSON_AT(nbc_report, pid, INT, false),
    NBC__JSON_AT(nbc_report, process_count, INT, true),
    NBC__JSON_AT(nbc_report, start_unix_s, DOUBLE, false),
    NBC__JSON_AT(nbc_report, wall_ns, NS, true),
    NBC__JSON_AT(nbc_report, comp_ns, NS, true),
    NBC__JSON_AT(nbc_report, call_ns, NS, true),
    NBC__JSON_AT(nbc_report, off_ns, NS, true),
    NBC__JSON_AT(nbc_report, tool_ns, NS, false),
    {"clock", NBC__JSON_OTHER, false, 0, nbc__json_clock},
    NBC__JSON_AT(nbc_report, table_same_node, TEXT, false),
    NBC__JSON_AT(nbc_report, table_other_node, TEXT, false),
    NBC__JSON_AT(nbc_report, table_is_default, BOOL, false),
    {"class_edges_bytes", NBC__JSON_OTHER, true, 0, nbc__json_edges},
    {"total", NBC__JSON_OTHER, true, 0, nbc__json_total},
    {"sections", NBC__JSON_OTHER, true, 0, nbc__json_sections},
    {"cells", NBC__JSON_OTHER, true, 0, nbc__json_cells},
    {"calls", NBC__JSON_OTHER, false, 0, nbc__json_calls},
    {"threads", NBC__JSON_OTHER, false, 0, nbc__json_threads},
    {"counters", NBC__JSON_OTHER, false, 0, nbc__json_counters},
    {"joint_bounds", NBC__JSON_OTHER, false, 0, nbc__json_joints},
    {"partner_bounds", NBC__JSON_OTHER, false, 0, nbc__json_partners},
    {"sites", NBC__JSON_OTHER, false, 0, nbc__json_sites},
    {"pairs", NBC__JSON_OTHER, false, 0, nbc__json_pairs},
    {"communicators", NBC__JSON_OTHER, false, 0, nbc__json_comms},
    NBC__JSON_BY(nbc_report, "problems", problems, false, nbc__json_problems),
    {"notes", NBC__JSON_OTHER, false, 0, nbc__json_notes}};

/* Cells and calls in their order, rows of the same key (two unknown kinds) made one. */
static void nbc__json_sort(nbc__json *j) {
  nbc_report *r = j->report;
  size_t kept = 0;
  if (j->unsorted_cells) {
    qsort(r->cells, r->cell_count, sizeof *r->cells, nbc__json_cell_order);
    for (size_t i = 1; i < r->cell_count; i++) {
      nbc_cell *last = &r->cells[kept], *c = &r->cells[i];
      if (nbc__rep_cell_order(last, c) == 0)
        nbc__rep_join_cell(last, c);
      else
        r->cells[++kept] = *c;
    }
    r->cell_count = kept + 1;
  }
  if (!j->unsorted_calls) return;
  qsort(r->calls, r->call_count, sizeof *r->calls, nbc__json_call_order);
  kept = 0;
  for (size_t i = 1; i < r->call_count; i++) {
    nbc_call *last = &r->calls[kept], *c = &r->calls[i];
    if (nbc__json_call_order(last, c) == 0)
      nbc__rep_join_call(last, c);
    else
      r->calls[++kept] = *c;
  }
  r->call_count = kept + 1;
}

/* Everything after the parsing of the text itself. */
static bool nbc__json_finish(nbc__json *j) {
  const nbc_report *r = j->report;
  char what[80];
  if (r->size < 1 || r->rank < -1 || r->rank >= r->size) {
    snprintf(what, sizeof what, "rank %d of a world of size %d", r->rank, r->size);
    return nbc__json_fail_at(j, j->line, NBC_E_PARSE, what);
  }
  if (nbc__json_peek(j) || j->at < j->end) return nbc__json_fail(j, "something follows the report");
  if (j->top_section >= (int)r->section_count) {
    snprintf(what, sizeof what, "section_index %d, but the last section is %zu", j->top_section,
             r->section_count - 1);
    return nbc__json_fail_at(j, j->top_section_line, NBC_E_PARSE, what);
  }
  if (j->top_class > (int)r->class_edge_count) {
    snprintf(what, sizeof what, "class_index %d, but the last class is %zu", j->top_class,
             r->class_edge_count);
    return nbc__json_fail_at(j, j->top_class_line, NBC_E_PARSE, what);
  }
  nbc__json_sort(j);
  return true;
}

NBC_API nbc_status nbc_report_parse_json(const char *text, size_t text_bytes, const char *name,
                                         nbc_report **report, nbc_error *err) {
  if (!report) return nbc__status_fail(err, NBC_E_INVAL, 0, "report: must not be NULL");
  nbc__json j;
  memset(&j, 0, sizeof j);
  *report = NULL;
  if (!text && text_bytes) return NBC_E_INVAL;
  j.at = text;
  j.end = text_bytes ? text + text_bytes : text;
  j.name = name ? name : "?";
  j.line = 1;
  j.err = err;
  if (nbc_report_create(&j.report) != NBC_OK) {
    nbc__json_no_memory(&j);
    return NBC_E_NOMEM;
  }
  if (nbc__json_object(&j, nbc__json_report_fields, NBC__JSON_LENGTH(nbc__json_report_fields),
                       j.report) &&
      nbc__json_finish(&j)) {
    *report = j.report;
    return NBC_OK;
  }
  nbc_report_free(j.report);
  return j.status;
}

static nbc_status nbc__json_file_error(nbc_error *err, nbc_status status, const char *path,
                                       const char *what) {
  if (err) {
    err->status = status;
    err->line = 0;
    snprintf(err->text, sizeof err->text, "%.150s: %.90s", path, what);
  }
  return status;
}

NBC_API nbc_status nbc_report_read_json(const char *path, nbc_report **report, nbc_error *err) {
  if (!path || !report)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "path and report: must not be NULL");
  size_t room = 1 << 16, used = 0;
  *report = NULL;
  FILE *file = fopen(path, "rb");
  if (!file) return nbc__json_file_error(err, NBC_E_IO, path, strerror(errno));
  char *text = (char *)NBC_MALLOC(room);
  while (text) {
    used += fread(text + used, 1, room - used, file);
    if (used < room || room >= NBC__JSON_MAX_BYTES) break;
    char *bigger = (char *)NBC_MALLOC(2 * room);
    if (bigger) memcpy(bigger, text, used);
    NBC_FREE(text);
    text = bigger;
    room *= 2;
  }
  nbc_status status;
  if (!text)
    status = nbc__json_file_error(err, NBC_E_NOMEM, path, "out of memory");
  else if (ferror(file))
    status = nbc__json_file_error(err, NBC_E_IO, path, strerror(errno));
  else if (used == room)
    status = nbc__json_file_error(err, NBC_E_PARSE, path, "larger than any report (64 MiB)");
  else
    status = nbc_report_parse_json(text, used, path, report, err);
  fclose(file);
  NBC_FREE(text);
  return status;
}
#ifdef NBC_LINES
#line 1 "src/overlap/report_diff.c"
#endif
/* report_diff.c: two reports side by side. */






typedef struct nbc__rep_pair { /* one line of a comparison */
  size_t key;
  nbc_totals before, after;
} nbc__rep_pair;

static int64_t nbc__rep_unhidden(const nbc_totals *t) { return t->xfer_ns - t->max_overlap_ns; }

static int nbc__rep_pair_order(const void *a, const void *b) { /* biggest change first */
  const nbc__rep_pair *x = (const nbc__rep_pair *)a, *y = (const nbc__rep_pair *)b;
  const int64_t dx_ns = nbc__rep_unhidden(&x->after) - nbc__rep_unhidden(&x->before);
  const int64_t dy_ns = nbc__rep_unhidden(&y->after) - nbc__rep_unhidden(&y->before);
  const int64_t cx_ns = dx_ns < 0 ? -dx_ns : dx_ns, cy_ns = dy_ns < 0 ? -dy_ns : dy_ns;
  if (cx_ns != cy_ns) return cx_ns < cy_ns ? 1 : -1;
  if (x->before.xfer_ns != y->before.xfer_ns) return x->before.xfer_ns < y->before.xfer_ns ? 1 : -1;
  return x->key < y->key ? -1 : x->key > y->key;
}

/* "-1.03 s", "+12 ms", "0" */
static const char *nbc__rep_change(int64_t before_ns, int64_t after_ns, char *text, size_t size) {
  char amount[24];
  const int64_t d_ns = after_ns - before_ns;
  if (d_ns == 0)
    snprintf(text, size, "0");
  else
    snprintf(text, size, "%c%s", d_ns < 0 ? '-' : '+',
             nbc__rep_time(d_ns < 0 ? -d_ns : d_ns, amount, sizeof amount));
  return text;
}

static void nbc__rep_diff_time(FILE *out, const char *name, int64_t before_ns, int64_t after_ns) {
  char a[24], b[24], c[24];
  fprintf(out, "  %-30s %10s %10s %10s", name, nbc__rep_time(before_ns, a, sizeof a),
          nbc__rep_time(after_ns, b, sizeof b), nbc__rep_change(before_ns, after_ns, c, sizeof c));
  if (before_ns > 0 && before_ns != after_ns)
    fprintf(out, "  (%+.1f %%)", 100 * ((double)after_ns - (double)before_ns) / (double)before_ns);
  fputc('\n', out);
}

static void nbc__rep_diff_share(FILE *out, const char *name, double before_ratio,
                                double after_ratio) {
  fprintf(out, "  %-30s %8.1f %% %8.1f %% %+10.1f  points\n", name, 100 * before_ratio,
          100 * after_ratio, 100 * (after_ratio - before_ratio));
}

static void nbc__rep_diff_name(FILE *out, const nbc_report *r) {
  char text[256];
  fprintf(out, "%s (", nbc__rep_plain(r->program, text, sizeof text));
  if (r->rank >= 0)
    fprintf(out, "rank %d of %d", r->rank, r->size);
  else
    fprintf(out, "%d process%s", r->process_count, r->process_count == 1 ? "" : "es");
  if (r->host && r->host[0]) fprintf(out, ", %s", nbc__rep_plain(r->host, text, sizeof text));
  fputc(')', out);
}

static void nbc__rep_diff_head(const nbc_report *before, const nbc_report *after, FILE *out) {
  const nbc_totals *b = &before->total, *a = &after->total;
  fputs("Before: ", out);
  nbc__rep_diff_name(out, before);
  fputs("\nAfter:  ", out);
  nbc__rep_diff_name(out, after);
  fprintf(out, "\n\n  %-30s %10s %10s %10s\n", "", "before", "after", "change");
  nbc__rep_diff_time(out, "time of all transfers", b->xfer_ns, a->xfer_ns);
  nbc__rep_diff_time(out, "  not hidden for certain", nbc__rep_unhidden(b), nbc__rep_unhidden(a));
  nbc__rep_diff_share(out, "  hidden, at least", nbc__rep_share(b->min_overlap_ns, b->xfer_ns),
                      nbc__rep_share(a->min_overlap_ns, a->xfer_ns));
  nbc__rep_diff_share(out, "  hidden, at most", nbc__rep_share(b->max_overlap_ns, b->xfer_ns),
                      nbc__rep_share(a->max_overlap_ns, a->xfer_ns));
  if (b->exact_count && a->exact_count) {
    nbc__rep_diff_share(out, "  hidden by NIC stamps, from", nbc__rep_exact(b, b->exact_lo_ns),
                        nbc__rep_exact(a, a->exact_lo_ns));
    nbc__rep_diff_share(out, "  hidden by NIC stamps, to", nbc__rep_exact(b, b->exact_hi_ns),
                        nbc__rep_exact(a, a->exact_hi_ns));
  }
  nbc__rep_diff_time(out, "computation", before->comp_ns, after->comp_ns);
  nbc__rep_diff_time(out, "in communication calls", before->call_ns, after->call_ns);
  nbc__rep_diff_time(out, "all threads' time", before->wall_ns, after->wall_ns);
}

/* ---- the comparison's lines: section (0), size class (1), kind (2), peer class (3), as above  */
/* Sections have the key of their index in `before`, or, when new, that many more than in
   `after`. */
static size_t nbc__rep_diff_section(const nbc_report *before, const nbc_report *after,
                                    size_t index) {
  for (size_t i = 0; i < before->section_count; i++)
    if (strcmp(before->sections[i].path, after->sections[index].path) == 0) return i;
  return before->section_count + index;
}

static const char *nbc__rep_diff_label(const nbc_report *before, const nbc_report *after, int by,
                                       size_t key, char *text, size_t size) {
  const size_t old = before->section_count;
  const char *path;
  switch (by) {
  case 0:
    path = key < old ? before->sections[key].path : after->sections[key - old].path;
    return path[0] ? nbc__rep_plain(path, text, size) : "(outside sections)";
  case 1: return nbc__rep_class(before, (int)key, text, size);
  case 2: return nbc_kind_name((nbc_kind)key);
  default: return nbc_peer_name((nbc_peer)key);
  }
}

static void nbc__rep_diff_collect(const nbc_report *r, int by, const size_t *section_keys,
                                  bool after, nbc__rep_pair *rows) {
  for (size_t i = 0; i < r->cell_count; i++) {
    const nbc_cell *c = &r->cells[i];
    const size_t keys[] = {section_keys ? section_keys[c->section_index] : (size_t)c->section_index,
                           (size_t)c->class_index, (size_t)c->kind, (size_t)c->peer};
    nbc__rep_add_totals(after ? &rows[keys[by]].after : &rows[keys[by]].before, &c->t);
  }
}

static void nbc__rep_diff_line(const char *name, const nbc__rep_pair *row, FILE *out) {
  char a[24], b[24], c[24];
  const nbc_totals *const both[] = {&row->before, &row->after};
  fprintf(out, "  %-28.28s", name);
  for (int k = 0; k < 2; k++)
    fprintf(out, " %10s",
            both[k]->count ? nbc__rep_time(nbc__rep_unhidden(both[k]), k ? b : a, sizeof a) : "-");
  fprintf(out, " %11s",
          nbc__rep_change(nbc__rep_unhidden(both[0]), nbc__rep_unhidden(both[1]), c, sizeof c));
  for (int k = 0; k < 2; k++) {
    if (both[k]->count)
      fprintf(out, "   %5.1f .. %5.1f %%",
              100 * nbc__rep_share(both[k]->min_overlap_ns, both[k]->xfer_ns),
              100 * nbc__rep_share(both[k]->max_overlap_ns, both[k]->xfer_ns));
    else
      fprintf(out, "   %16s", "no transfers");
  }
  fputc('\n', out);
}

static nbc_status nbc__rep_diff_by(const nbc_report *before, const nbc_report *after, int by,
                                   const char *title, FILE *out) {
  const size_t sizes[] = {before->section_count + after->section_count, NBC_MAX_CLASSES,
                          NBC_KIND_COUNT, NBC_PEER_COUNT};
  nbc__rep_pair *rows = (nbc__rep_pair *)nbc__zalloc(sizes[by] * sizeof *rows);
  size_t *section_keys = (size_t *)nbc__zalloc(after->section_count * sizeof *section_keys);
  char text[64];
  if (rows && section_keys) {
    for (size_t i = 0; i < sizes[by]; i++) rows[i].key = i;
    for (size_t i = 0; i < after->section_count; i++)
      section_keys[i] = nbc__rep_diff_section(before, after, i);
    nbc__rep_diff_collect(before, by, NULL, false, rows);
    nbc__rep_diff_collect(after, by, section_keys, true, rows);
    qsort(rows, sizes[by], sizeof *rows, nbc__rep_pair_order);
    fprintf(out, "\n%-30s %33s   %s\n%-30s %10s %10s %11s   %16s   %16s\n", title,
            "not hidden for certain", "hidden: at least .. at most", "", "before", "after",
            "change", "before", "after");
    for (size_t i = 0; i < sizes[by]; i++)
      if (rows[i].before.count || rows[i].after.count)
        nbc__rep_diff_line(nbc__rep_diff_label(before, after, by, rows[i].key, text, sizeof text),
                           &rows[i], out);
  }
  const nbc_status status = rows && section_keys ? NBC_OK : NBC_E_NOMEM;
  NBC_FREE(rows);
  NBC_FREE(section_keys);
  return status;
}

static void nbc__rep_diff_calls(const nbc_report *before, const nbc_report *after, FILE *out) {
  int64_t total_ns[2][NBC_KIND_COUNT];
  uint64_t count[2][NBC_KIND_COUNT];
  memset(total_ns, 0, sizeof total_ns);
  memset(count, 0, sizeof count);
  for (int k = 0; k < 2; k++) {
    const nbc_report *r = k ? after : before;
    for (size_t i = 0; i < r->call_count; i++) {
      nbc__plus(&total_ns[k][r->calls[i].kind], r->calls[i].total_ns);
      count[k][r->calls[i].kind] += r->calls[i].count;
    }
  }
  fprintf(out, "\n%-32s %10s %10s %10s\n", "Time in calls", "before", "after", "change");
  for (;;) { /* biggest change first */
    int worst = -1;
    int64_t most_ns = -1;
    for (int i = 0; i < NBC_KIND_COUNT; i++) {
      const int64_t d_ns = total_ns[1][i] - total_ns[0][i], size_ns = d_ns < 0 ? -d_ns : d_ns;
      if ((count[0][i] || count[1][i]) && size_ns > most_ns) worst = i, most_ns = size_ns;
    }
    if (worst < 0) break;
    nbc__rep_diff_time(out, nbc_kind_name((nbc_kind)worst), total_ns[0][worst], total_ns[1][worst]);
    count[0][worst] = count[1][worst] = 0;
  }
}

static bool nbc__rep_same_text(const char *a, const char *b) {
  return a && b ? strcmp(a, b) == 0 : a == b;
}

/* What makes the two hard to compare. */
static void nbc__rep_diff_cautions(const nbc_report *before, const nbc_report *after, FILE *out) {
  char a[24], b[24], library[2][256];
  const nbc_totals *x = &before->total, *y = &after->total;
  fputc('\n', out);
  if (before->process_count != after->process_count)
    fprintf(out, "Caution: %d processes before, %d after.\n", before->process_count,
            after->process_count);
  if (fabs((double)x->size_bytes - (double)y->size_bytes) > 0.01 * (double)x->size_bytes ||
      (x->count != 0) != (y->count != 0))
    fprintf(out,
            "Caution: the runs moved different data: %llu transfers, %s before; %llu transfers, %s "
            "after.\n",
            (unsigned long long)x->count, nbc__rep_bytes(x->size_bytes, a, sizeof a),
            (unsigned long long)y->count, nbc__rep_bytes(y->size_bytes, b, sizeof b));
  if (!nbc__rep_same_text(before->table_same_node, after->table_same_node) ||
      !nbc__rep_same_text(before->table_other_node, after->table_other_node))
    fputs("Caution: different transfer-time tables: the shares and times of transfers do not "
          "compare.\n",
          out);
  else if (before->table_is_default || after->table_is_default)
    fputs("Caution: a default transfer-time table was used, not one measured on this machine.\n",
          out);
  if (!nbc__rep_same_text(before->library, after->library))
    fprintf(out, "Note: another library: %s before, %s after.\n",
            nbc__rep_plain(before->library, library[0], sizeof library[0]),
            nbc__rep_plain(after->library, library[1], sizeof library[1]));
  for (int p = 0; p < NBC_PROBLEM_COUNT; p++)
    if (before->problems[p] != after->problems[p])
      fprintf(out, "Note: %llu before, %llu after: %s\n", (unsigned long long)before->problems[p],
              (unsigned long long)after->problems[p], nbc_problem_text((nbc_problem)p));
}

NBC_API nbc_status nbc_report_write_diff(const nbc_report *before, const nbc_report *after,
                                         FILE *out) {
  if (!before || !after || !out) return NBC_E_INVAL;
  static const char *const titles[] = {"By section", "By message size", "By kind", "By peer"};
  static const int order[] = {0, 2, 1, 3};
  nbc_status status = NBC_OK;
  if (before->class_edge_count != after->class_edge_count ||
      memcmp(before->class_edges_bytes, after->class_edges_bytes,
             before->class_edge_count * sizeof(uint64_t)) != 0)
    return NBC_E_MISMATCH;
  const locale_t locale = nbc__locale_begin();
  nbc__rep_diff_head(before, after, out);
  for (size_t i = 0; i < 4 && status == NBC_OK && (before->total.count || after->total.count); i++)
    if (order[i] != 0 || before->section_count > 1 || after->section_count > 1)
      status = nbc__rep_diff_by(before, after, order[i], titles[order[i]], out);
  if (before->call_count || after->call_count) nbc__rep_diff_calls(before, after, out);
  nbc__rep_diff_cautions(before, after, out);
  nbc__locale_end(locale);
  if (status == NBC_OK && (fflush(out) != 0 || ferror(out))) status = NBC_E_IO;
  return status;
}
#endif
#if !defined(NBC_NO_NIC) || !defined(NBC_NO_TIME)
#ifdef NBC_LINES
#line 91 "src/overlap/relation.h"
#endif
/* With x = nominal device time since the newest reading, host time is
       h(x) = newest_ns + x + o + r x + w(x),   |w(x)| <= min(wander x^2 / 2, 2 limit |x|),
   where (o, r) is unknown. A reading at x says h(x) <= after and h(x + step) >= before: with the
   largest w, two half-planes for (o, r). Adding wander x^2 / 2 to all points of a hull keeps its
   corners when the origin moves (the difference is linear in x), so hulls grow at one end only. */
#define NBC__SYNC_MAX_NS (INT64_C(1) << 61)

NBC__PRIVATE bool nbc__sync_polygon(nbc_relation *r);
NBC__PRIVATE double nbc__sync_bound_ns(const nbc_relation *r, const nbc_relation_point *p, int side,
                                       double *x_ns);
#ifdef NBC_LINES
#line 1 "src/overlap/relation.c"
#endif
/* relation.c: two clocks: how one relates to the other, with a guaranteed error. */


/* ============================================================================================== */
/* [RELATION] 9. Two clocks                                                                       */
/* ============================================================================================== */
static double nbc__sync_quadratic_ns(const nbc_relation_desc *d, double x_ns) {
  return 0.5e-15 * d->wander_ppm_per_s * x_ns * x_ns;
}

static double nbc__sync_wander_ns(const nbc_relation_desc *d, double x_ns) {
  return fmin(nbc__sync_quadratic_ns(d, x_ns), 2e-6 * d->rate_limit_ppm * fabs(x_ns));
}

/* More than the rounding errors of a sum of terms of the size of x: no rounding may exclude
   truth. */
static double nbc__sync_slack_ns(double x_ns) { return 0.1 + 2e-15 * fabs(x_ns); }

static double nbc__sync_x_ns(const nbc_relation *r, int64_t at_ticks) {
  return (double)(at_ticks - r->newest_ticks) * (1e9 / r->desc.hz);
}

NBC_API nbc_relation_desc nbc_relation_crystal(double hz) {
  nbc_relation_desc d;
  memset(&d, 0, sizeof d);
  d.hz = hz;
  d.rate_limit_ppm = 200;
  d.wander_ppm_per_s = 0.5;
  d.counter_bits = 64;
  d.step_ticks = 1;
  return d;
}

/* Forgets all: the next reading is the first. */
static void nbc__sync_restart(nbc_relation *r) {
  r->upper_count = r->lower_count = r->corner_count = 0;
  r->newest_ticks = 0;
  r->rate_surely_moved_ppm = 0;
  r->rate_min_ppm = r->rate_upper_min_ppm = INFINITY;
  r->rate_max_ppm = r->rate_lower_max_ppm = -INFINITY;
}

NBC_API nbc_status nbc_relation_init(nbc_relation *relation, const nbc_relation_desc *desc) {
  if (!relation || !desc || !(desc->hz >= 1 && desc->hz <= 1e12) ||
      !(desc->rate_limit_ppm > 0 && desc->rate_limit_ppm <= 1e5) ||
      !(desc->wander_ppm_per_s >= 0 && desc->wander_ppm_per_s <= 1e9) || desc->counter_bits < 0 ||
      desc->counter_bits > 64 || desc->step_ticks > (uint64_t)1 << 32)
    return NBC_E_INVAL;
  memset(relation, 0, sizeof *relation);
  relation->desc = *desc;
  if (desc->counter_bits == 0) relation->desc.counter_bits = 64;
  if (desc->step_ticks == 0) relation->desc.step_ticks = 1;
  nbc__sync_restart(relation);
  return NBC_OK;
}

/* ---- why the truth is never cut off ---------------------------------------------------------
   Seen from the newest reading, x is the nominal device time since then (x <= 0 for what is known)
   and y the host time since then, minus x. The truth is a curve y = o + r x + w(x): o and r are the
   offset and the rate now, and w is how the rate has wandered, |w(x)| <= q(x) = wander x^2 / 2. A
   reading gives a point U that is not below the curve (not after) and one L that is not above it.

        y |   U                   U
          |    '-.            .-'        lower hull of the U + q(x): from above
          |       '---- U ---'
          |  - - - - - - - - - - - o + r x
          |      .--- L ---.
          |  L--'           '-----L      upper hull of the L - q(x): from below
          +------------------------- 0   the newest reading

   1. Lifted by q(x), every U is not below the *straight line* o + r x, every L lowered is not above.
   2. A line that is not above the two ends of a chord is not above any point over it. So a point
      that lies on or over the chord of its neighbours excludes no line that they do not exclude:
      leaving it out changes nothing (insert), leaving out any other point only lets more lines
      through (forget). Moving the newest reading changes q by a linear function of x, which keeps
      every chord where it is: a point left out would never have come back.
   3. Each point leaves a half plane of lines, side (o + r x) <= side bound. The truth is in all of
      them, so in what they have in common, a convex polygon in the plane of (o, r); a cut that finds
      no room for its corner is not made (cut). Slack is more than what rounding may take.
   4. An answer is the range of o + r x over the corners, which is that over the polygon, widened by
      how far the rate may wander until x. So it holds the truth; an empty polygon means that the
      clock has stepped or broken its limits.
   ------------------------------------------------------------------------------------------- */

/* ---- the two hulls: side +1 keeps h <= t_ns (lower hull), -1 keeps h >= t_ns (upper hull) -- */
/* The point as seen from the newest reading, lifted, and mirrored for side -1. */
static double nbc__sync_height_ns(const nbc_relation *r, const nbc_relation_point *p, int side) {
  const double x_ns = nbc__sync_x_ns(r, p->at_ticks);
  return side * ((double)(p->t_ns - r->newest_ns) - x_ns) + nbc__sync_quadratic_ns(&r->desc, x_ns);
}

/* How far b lies below the chord from a to c; <= 0: b says nothing that a and c do not say. */
static double nbc__sync_depth_ns(const nbc_relation *r, const nbc_relation_point *a,
                                 const nbc_relation_point *b, const nbc_relation_point *c,
                                 int side) {
  const double share = (double)(b->at_ticks - a->at_ticks) / (double)(c->at_ticks - a->at_ticks);
  const double ya_ns = nbc__sync_height_ns(r, a, side), yc_ns = nbc__sync_height_ns(r, c, side);
  return ya_ns + share * (yc_ns - ya_ns) - nbc__sync_height_ns(r, b, side);
}

/* Makes room by forgetting what matters least: the oldest point once its wander exceeds what is
   known of the offset, else the shallowest corner. */
static int nbc__sync_forget(const nbc_relation *r, nbc_relation_point *hull, int count, int side) {
  int victim = 0;
  double least_ns = INFINITY;
  const double oldest_ns = nbc__sync_quadratic_ns(&r->desc, nbc__sync_x_ns(r, hull[0].at_ticks));
  double known_ns = 0;
  for (int i = 0; i < r->corner_count; i++)
    known_ns = fmax(known_ns, fabs(r->corner_offset_ns[i] - r->corner_offset_ns[0]));
  for (int i = 1; i + 1 < count && !(oldest_ns > known_ns); i++) {
    const double depth_ns = nbc__sync_depth_ns(r, &hull[i - 1], &hull[i], &hull[i + 1], side);
    if (depth_ns < least_ns) least_ns = depth_ns, victim = i;
  }
  memmove(&hull[victim], &hull[victim + 1], (size_t)(count - victim - 1) * sizeof *hull);
  return count - 1;
}

/* Points come in ascending order of ticks; of two at one tick the stricter one stays. */
static int nbc__sync_insert(const nbc_relation *r, nbc_relation_point *hull, int count,
                            int64_t at_ticks, int64_t t_ns, int side) {
  const nbc_relation_point p = {at_ticks, t_ns};
  if (count > 0 && hull[count - 1].at_ticks == at_ticks) {
    if (side * t_ns >= side * hull[count - 1].t_ns) return count;
    count--;
  }
  while (count >= 2 && !(nbc__sync_depth_ns(r, &hull[count - 2], &hull[count - 1], &p, side) > 0))
    count--;
  if (count == NBC_RELATION_POINTS) count = nbc__sync_forget(r, hull, count, side);
  hull[count] = p;
  return count + 1;
}

/* ---- the polygon of all (o, r) that no reading excludes ------------------------------------ */
/* side * (o + r x) <= side * bound, cut off from the polygon. Returns false when nothing is
   left. */
static bool nbc__sync_cut(nbc_relation *r, double x_ns, double bound_ns, int side) {
  double offset_ns[NBC_RELATION_CORNERS], rate[NBC_RELATION_CORNERS];
  const int n = r->corner_count;
  int kept = 0;
  for (int i = 0; i < n; i++) {
    const int k = i + 1 < n ? i + 1 : 0;
    const double out_i =
        side * (r->corner_offset_ns[i] + r->corner_rate_ratio[i] * x_ns - bound_ns);
    const double out_k =
        side * (r->corner_offset_ns[k] + r->corner_rate_ratio[k] * x_ns - bound_ns);
    if (kept + 2 > NBC_RELATION_CORNERS) return true; /* no room for more corners: leave it uncut */
    if (out_i <= 0)
      offset_ns[kept] = r->corner_offset_ns[i], rate[kept++] = r->corner_rate_ratio[i];
    if ((out_i <= 0) == (out_k <= 0)) continue;
    const double share = out_i / (out_i - out_k); /* where the edge crosses */
    offset_ns[kept] =
        r->corner_offset_ns[i] + share * (r->corner_offset_ns[k] - r->corner_offset_ns[i]);
    rate[kept++] =
        r->corner_rate_ratio[i] + share * (r->corner_rate_ratio[k] - r->corner_rate_ratio[i]);
  }
  r->corner_count = kept;
  memcpy(r->corner_offset_ns, offset_ns, (size_t)kept * sizeof *offset_ns);
  memcpy(r->corner_rate_ratio, rate, (size_t)kept * sizeof *rate);
  return kept > 0;
}

/* The bound on o + r x that a point of a hull gives, and x. */
NBC__PRIVATE double nbc__sync_bound_ns(const nbc_relation *r, const nbc_relation_point *p, int side,
                                       double *x_ns) {
  *x_ns = nbc__sync_x_ns(r, p->at_ticks);
  return (double)(p->t_ns - r->newest_ns) - *x_ns +
         side * (nbc__sync_wander_ns(&r->desc, *x_ns) + nbc__sync_slack_ns(*x_ns));
}

NBC__PRIVATE bool nbc__sync_polygon(nbc_relation *r) {
  const double limit = r->desc.rate_limit_ppm * 1e-6;
  double low_ns = -INFINITY, high_ns = INFINITY, x_ns;
  r->corner_count = 0;
  if (r->upper_count == 0 || r->lower_count == 0) return true; /* one half only: not bounded yet */
  for (int i = 0; i < r->upper_count; i++)
    high_ns = fmin(high_ns, nbc__sync_bound_ns(r, &r->upper[i], 1, &x_ns) + limit * fabs(x_ns));
  for (int i = 0; i < r->lower_count; i++)
    low_ns = fmax(low_ns, nbc__sync_bound_ns(r, &r->lower[i], -1, &x_ns) - limit * fabs(x_ns));
  if (!(low_ns <= high_ns)) return false;
  r->corner_count = 4;
  for (int i = 0; i < 4; i++) { /* counter-clockwise */
    r->corner_offset_ns[i] = i == 0 || i == 3 ? low_ns : high_ns;
    r->corner_rate_ratio[i] = i < 2 ? -limit : limit;
  }
  for (int i = r->upper_count - 1; i >= 0; i--) {
    const double bound_ns = nbc__sync_bound_ns(r, &r->upper[i], 1, &x_ns);
    if (!nbc__sync_cut(r, x_ns, bound_ns, 1)) return false;
  }
  for (int i = r->lower_count - 1; i >= 0; i--) {
    const double bound_ns = nbc__sync_bound_ns(r, &r->lower[i], -1, &x_ns);
    if (!nbc__sync_cut(r, x_ns, bound_ns, -1)) return false;
  }
  return true;
}

/* Range of h at a tick, relative to newest_ns. */
static void nbc__sync_range(const nbc_relation *r, int64_t at_ticks, double *low_ns,
                            double *high_ns) {
  const double x_ns = nbc__sync_x_ns(r, at_ticks),
               limit_ns = r->desc.rate_limit_ppm * 1e-6 * fabs(x_ns);
  const double wander_ns = nbc__sync_quadratic_ns(&r->desc, x_ns);
  double low = INFINITY, high = -INFINITY;
  for (int i = 0; i < r->corner_count; i++) {
    const double o_ns = r->corner_offset_ns[i], drift_ns = r->corner_rate_ratio[i] * x_ns;
    low = fmin(low, o_ns + fmax(drift_ns - wander_ns, -limit_ns));
    high = fmax(high, o_ns + fmin(drift_ns + wander_ns, limit_ns));
  }
  *low_ns = x_ns + low - nbc__sync_slack_ns(x_ns);
  *high_ns = x_ns + high + nbc__sync_slack_ns(x_ns);
}

/* What the newest polygon says about the rate. */
static void nbc__sync_watch(nbc_relation *r) {
  double low = INFINITY, high = -INFINITY;
  if (r->corner_count == 0) return;
  for (int i = 0; i < r->corner_count; i++) {
    low = fmin(low, r->corner_rate_ratio[i]);
    high = fmax(high, r->corner_rate_ratio[i]);
  }
  r->rate_ppm = (low + high) * 0.5e6;
  r->rate_err_ppm = (high - low) * 0.5e6 + 1e-9;
  r->rate_min_ppm = fmin(r->rate_min_ppm, r->rate_ppm);
  r->rate_max_ppm = fmax(r->rate_max_ppm, r->rate_ppm);
  r->rate_upper_min_ppm = fmin(r->rate_upper_min_ppm, high * 1e6);
  r->rate_lower_max_ppm = fmax(r->rate_lower_max_ppm, low * 1e6);
  r->rate_surely_moved_ppm = fmax(0, r->rate_lower_max_ppm - r->rate_upper_min_ppm);
}

/* ---- readings ------------------------------------------------------------------------------ */
static int64_t nbc__sync_signed(const nbc_relation *r,
                                uint64_t raw_ticks) { /* nearest to the newest */
  const int unused_bits = 64 - r->desc.counter_bits;
  return (int64_t)((raw_ticks - r->newest_raw_ticks) << unused_bits) >> unused_bits;
}

typedef enum nbc__sync_verdict {
  NBC__SYNC_FITS,
  NBC__SYNC_WRAPPED,
  NBC__SYNC_STEPPED
} nbc__sync_verdict;

/* Ticks since the newest reading. Of a short counter's candidates the host's clock decides, as far
   as it can. */
static nbc__sync_verdict nbc__sync_unwrap(const nbc_relation *r, int64_t before_ns,
                                          uint64_t raw_ticks, int64_t after_ns, int64_t *d_ticks) {
  const double limit = r->desc.rate_limit_ppm * 1e-6, ticks_per_ns = r->desc.hz * 1e-9;
  *d_ticks = nbc__sync_signed(r, raw_ticks);
  if (r->desc.counter_bits >= 56) { /* wraps after years, if ever */
    const int64_t limit_ticks = INT64_C(1) << 61;
    const bool sane = *d_ticks > -limit_ticks && *d_ticks < limit_ticks - r->newest_ticks;
    return sane ? NBC__SYNC_FITS : NBC__SYNC_STEPPED;
  }
  const double period = (double)((uint64_t)1 << r->desc.counter_bits);
  const double step = (double)r->desc.step_ticks, at = (double)*d_ticks;
  const double shortest_ns = (double)(before_ns - r->newest_after_ns);
  const double longest_ns = (double)(after_ns - r->newest_before_ns);
  const double fewest =
      shortest_ns * ticks_per_ns * (shortest_ns > 0 ? 1 - limit : 1 + 2 * limit) - step;
  const double most =
      longest_ns * ticks_per_ns * (longest_ns > 0 ? 1 + 2 * limit : 1 - limit) + step;
  const double first = ceil((fewest - at) / period), last = floor((most - at) / period);
  if (last < first) return NBC__SYNC_STEPPED;
  if (last > first || !(fabs(at + first * period) < 1e18)) return NBC__SYNC_WRAPPED;
  *d_ticks += (int64_t)(first * period);
  return NBC__SYNC_FITS;
}

/* before_ns <= h(ticks + step), h(ticks) <= after_ns; a half reading has only one of the two. */
typedef struct nbc__sync_reading {
  int64_t before_ns, after_ns;
  uint64_t raw_ticks;
  bool has_before, has_after;
} nbc__sync_reading;

/* By how much at least the reading misses what the polygon allows; 0: it fits. */
static int64_t nbc__sync_misfit_ns(const nbc_relation *r, const nbc__sync_reading *n,
                                   int64_t d_ticks) {
  const int64_t at_ticks = r->newest_ticks + d_ticks;
  double low_ns, high_ns;
  int64_t d_ns = 0;
  if (r->corner_count == 0) return 0;
  nbc__sync_range(r, at_ticks, &low_ns, &high_ns);
  if (n->has_after && (double)(n->after_ns - r->newest_ns) < low_ns)
    d_ns = (int64_t)fmax((double)(n->after_ns - r->newest_ns) - low_ns, -9e18);
  nbc__sync_range(r, at_ticks + (int64_t)r->desc.step_ticks, &low_ns, &high_ns);
  if (n->has_before && (double)(n->before_ns - r->newest_ns) > high_ns)
    d_ns = (int64_t)fmin((double)(n->before_ns - r->newest_ns) - high_ns, 9e18);
  return d_ns;
}

/* The reading becomes the newest. false: no line passes all readings any more. */
static bool nbc__sync_take(nbc_relation *r, const nbc__sync_reading *n, int64_t d_ticks) {
  const int64_t step_ticks = (int64_t)r->desc.step_ticks;
  r->newest_ticks += d_ticks;
  r->newest_raw_ticks = n->raw_ticks;
  r->newest_ns = n->before_ns + (n->after_ns - n->before_ns) / 2;
  r->newest_before_ns = n->before_ns;
  r->newest_after_ns = n->after_ns;
  if (n->has_after)
    r->upper_count = nbc__sync_insert(r, r->upper, r->upper_count, r->newest_ticks, n->after_ns, 1);
  if (n->has_before)
    r->lower_count = nbc__sync_insert(r, r->lower, r->lower_count, r->newest_ticks + step_ticks,
                                      n->before_ns, -1);
  return nbc__sync_polygon(r);
}

/* A reading that contradicts all before it starts anew; a reading alone always fits. */
static void nbc__sync_start_anew(nbc_relation *r, const nbc__sync_reading *n) {
  nbc__sync_restart(r);
  (void)nbc__sync_take(r, n, 0);
}

static nbc_status nbc__sync_add(nbc_relation *r, int64_t before_ns, uint64_t raw_ticks,
                                int64_t after_ns, bool has_before, bool has_after) {
  const bool first = r->upper_count + r->lower_count == 0;
  const int64_t last_before_ns = r->newest_before_ns;
  nbc__sync_verdict verdict = NBC__SYNC_FITS;
  int64_t d_ticks = 0, d_step_ns = 0;
  if (r->desc.counter_bits < 64) raw_ticks &= ((uint64_t)1 << r->desc.counter_bits) - 1;
  const nbc__sync_reading n = {before_ns, after_ns, raw_ticks, has_before, has_after};
  if (first)
    nbc__sync_start_anew(r, &n);
  else {
    verdict = nbc__sync_unwrap(r, before_ns, raw_ticks, after_ns, &d_ticks);
    if (verdict == NBC__SYNC_FITS && (d_step_ns = nbc__sync_misfit_ns(r, &n, d_ticks)) != 0)
      verdict = NBC__SYNC_STEPPED;
    if (verdict == NBC__SYNC_FITS && d_ticks < 0) {
      r->late_count++;
      return NBC_OK;
    }
    if (verdict == NBC__SYNC_FITS && !nbc__sync_take(r, &n, d_ticks)) verdict = NBC__SYNC_STEPPED;
    if (verdict != NBC__SYNC_FITS) nbc__sync_start_anew(r, &n);
  }
  r->reading_count++;
  nbc__sync_watch(r);
  if (verdict == NBC__SYNC_FITS) return NBC_OK;
  if (verdict == NBC__SYNC_STEPPED)
    r->step_count++;
  else
    r->gap_count++;
  r->step_lo_ns = last_before_ns;
  r->step_hi_ns = after_ns;
  r->d_step_ns = d_step_ns;
  return NBC_E_CLOCK;
}

static bool nbc__sync_sane(int64_t t_ns) {
  return t_ns > -NBC__SYNC_MAX_NS && t_ns < NBC__SYNC_MAX_NS;
}

NBC_API nbc_status nbc_relation_add(nbc_relation *relation, int64_t before_ns, uint64_t ticks,
                                    int64_t after_ns) {
  if (!relation) return NBC_E_INVAL;
  if (before_ns > after_ns || !nbc__sync_sane(before_ns) || !nbc__sync_sane(after_ns))
    return NBC_E_INVAL;
  return nbc__sync_add(relation, before_ns, ticks, after_ns, true, true);
}

NBC_API nbc_status nbc_relation_add_not_before(nbc_relation *relation, int64_t before_ns,
                                               uint64_t ticks) {
  if (!relation) return NBC_E_INVAL;
  if (!nbc__sync_sane(before_ns) || relation->desc.counter_bits < 56) return NBC_E_INVAL;
  return nbc__sync_add(relation, before_ns, ticks, before_ns, true, false);
}

NBC_API nbc_status nbc_relation_add_not_after(nbc_relation *relation, uint64_t ticks,
                                              int64_t after_ns) {
  if (!relation) return NBC_E_INVAL;
  if (!nbc__sync_sane(after_ns) || relation->desc.counter_bits < 56) return NBC_E_INVAL;
  return nbc__sync_add(relation, after_ns, ticks, after_ns, false, true);
}

/* ---- answers ------------------------------------------------------------------------------- */
/* The smallest nbc_time that holds low ... high, both relative to base_ns. */
static nbc_time nbc__sync_time(int64_t base_ns, double low_ns, double high_ns) {
  nbc_time out;
  const double middle_ns = floor(0.5 * (low_ns + high_ns) + 0.5);
  out.t_ns = base_ns + (int64_t)middle_ns;
  out.err_ns = (int64_t)ceil(fmax(high_ns - middle_ns, middle_ns - low_ns));
  return out;
}

static nbc_status nbc__sync_answer(const nbc_relation *r, uint64_t raw_ticks, double *low_ns,
                                   double *high_ns) {
  double unused_ns;
  if (r->corner_count == 0) return NBC_E_STATE;
  const int64_t d_ticks = nbc__sync_signed(r, raw_ticks), limit_ticks = INT64_C(1) << 61;
  if (d_ticks > limit_ticks || d_ticks < -limit_ticks) return NBC_E_INVAL;
  const int64_t at_ticks = r->newest_ticks + d_ticks;
  nbc__sync_range(r, at_ticks, low_ns, &unused_ns);
  nbc__sync_range(r, at_ticks + (int64_t)r->desc.step_ticks, &unused_ns, high_ns);
  if (!(fabs(*low_ns) < 4e18 && fabs(*high_ns) < 4e18)) return NBC_E_INVAL;
  return at_ticks < 0 && r->step_count + r->gap_count > 0 ? NBC_E_RANGE : NBC_OK;
}

NBC_API nbc_status nbc_relation_time(const nbc_relation *relation, uint64_t ticks, nbc_time *out) {
  if (!relation || !out) return NBC_E_INVAL;
  double low_ns, high_ns;
  const nbc_status status = nbc__sync_answer(relation, ticks, &low_ns, &high_ns);
  if (status == NBC_E_STATE || status == NBC_E_INVAL) return status;
  *out = nbc__sync_time(relation->newest_ns, low_ns, high_ns);
  if (status != NBC_OK) out->err_ns = INT64_MAX;
  return status;
}

NBC_API nbc_status nbc_relation_time_between(const nbc_relation *before, const nbc_relation *after,
                                             uint64_t ticks, nbc_time *out) {
  if (!before || !after || !out) return NBC_E_INVAL;
  double low_ns, high_ns, other_low_ns, other_high_ns;
  nbc_status status = nbc__sync_answer(before, ticks, &low_ns, &high_ns);
  if (status != NBC_OK)
    return status == NBC_E_RANGE ? nbc_relation_time(before, ticks, out) : status;
  status = nbc__sync_answer(after, ticks, &other_low_ns, &other_high_ns);
  if (status == NBC_E_STATE || status == NBC_E_INVAL) return status;
  const double d_ns = (double)(after->newest_ns - before->newest_ns);
  if (status == NBC_E_RANGE || low_ns > other_high_ns + d_ns || high_ns < other_low_ns + d_ns)
    return NBC_E_MISMATCH;
  *out = nbc__sync_time(before->newest_ns, fmax(low_ns, other_low_ns + d_ns),
                        fmin(high_ns, other_high_ns + d_ns));
  return NBC_OK;
}

NBC_API nbc_status nbc_relation_ticks(const nbc_relation *relation, int64_t t_ns, uint64_t *ticks) {
  if (!relation || !ticks) return NBC_E_INVAL;
  const double ns_per_tick = 1e9 / relation->desc.hz;
  nbc_time at;
  if (relation->corner_count == 0) return NBC_E_STATE;
  if (!nbc__sync_sane(t_ns)) return NBC_E_INVAL;
  double guess = (double)(t_ns - relation->newest_ns) / ns_per_tick;
  for (int i = 0; i < 8; i++) { /* each round divides the error by 1 / rate limit or more */
    double low_ns, high_ns;
    if (!(fabs(guess) < 1e18)) return NBC_E_RANGE;
    const int64_t at_ticks = relation->newest_ticks + (int64_t)floor(guess + 0.5);
    nbc__sync_range(relation, at_ticks, &low_ns, &high_ns);
    if (!(fabs(low_ns) < 4e18 && fabs(high_ns) < 4e18)) return NBC_E_RANGE;
    at = nbc__sync_time(relation->newest_ns, low_ns, high_ns);
    const double d = (double)(t_ns - at.t_ns) / ns_per_tick;
    if (fabs(d) < 0.5) break;
    guess = floor(guess + 0.5) + d;
  }
  *ticks = relation->newest_raw_ticks + (uint64_t)(int64_t)floor(guess + 0.5);
  if (relation->desc.counter_bits < 64) *ticks &= ((uint64_t)1 << relation->desc.counter_bits) - 1;
  return NBC_OK;
}
#endif
#ifndef NBC_NO_NIC
#ifdef NBC_LINES
#line 1 "src/overlap/nic.c"
#endif
/* nic.c: NICs as witnesses: stamps from the wire, in host time, into the monitor. */


/* ============================================================================================== */
/* [NIC] 10. NICs as witnesses                                                                    */
/* ============================================================================================== */
struct nbc_nic_watch {
  nbc_nic_watch_desc desc;
  nbc_relation before, now; /* at the poll before, and now */
  nbc_nic_counts counts;
  uint64_t lost_before; /* at creation */
  double sum_err_ns;
  /* The line through one reading by which all stamps of a group are placed: their times are off by
     one shift, the reading's error, and each by what the clock may run away meanwhile. */
  bool has_group;
  struct {
    nbc_recorder *owner;
    uint32_t group;
  } owners[16]; /* the group's number at each owner of late; NULL: free */
  int owners_next;
  uint64_t group_ticks, group_steps;
  int64_t group_ns, shared_err_ns;
  double ns_per_tick, rate_err_ratio;
  nbc_nic_stamp *stamps; /* desc.batch_stamps, behind this */
};

static nbc_status nbc__nic_read_clock(nbc_nic_watch *w) {
  const nbc_nic *nic = w->desc.nic;
  int64_t before_ns, after_ns;
  uint64_t ticks;
  nbc_status status = nic->read_clock(nic->ctx, &before_ns, &ticks, &after_ns);
  if (status != NBC_OK) return status;
  w->before = w->now;
  status = nbc_relation_add(&w->now, before_ns, ticks, after_ns);
  w->counts.step_count = w->now.step_count + w->now.gap_count;
  return status == NBC_E_CLOCK ? NBC_OK : status; /* a step is counted; the relation began anew */
}

NBC_API nbc_status nbc_nic_watch_create(const nbc_nic_watch_desc *desc, nbc_nic_watch **watch) {
  if (!watch) return NBC_E_INVAL;
  *watch = NULL;
  if (!desc || !desc->nic || !desc->nic->read_clock || !desc->nic->next_stamp ||
      (!desc->recorder && !desc->owner_of))
    return NBC_E_INVAL;
  /* Stamps are kept until the clock has been read after them: see nbc_nic_poll. */
  const size_t batch = desc->batch_stamps ? desc->batch_stamps : 256;
  if (batch > 65536) return NBC_E_INVAL;
  nbc_relation_desc relation = desc->relation;
  if (relation.hz == 0) {
    relation = nbc_relation_crystal(desc->nic->nominal_hz);
    relation.counter_bits = desc->nic->counter_bits;
    relation.step_ticks = desc->nic->step_ticks;
  }
  nbc_nic_watch *w = (nbc_nic_watch *)NBC_MALLOC(sizeof *w + batch * sizeof *w->stamps);
  if (!w) return NBC_E_NOMEM;
  memset(w, 0, sizeof *w);
  w->stamps = (nbc_nic_stamp *)(w + 1);
  w->desc = *desc;
  w->desc.batch_stamps = batch;
  w->desc.relation = relation;
  nbc_status status = nbc_relation_init(&w->now, &relation);
  if (status == NBC_OK) status = nbc__nic_read_clock(w);
  w->before = w->now;
  if (desc->nic->lost_count) w->lost_before = desc->nic->lost_count(desc->nic->ctx);
  if (status != NBC_OK) {
    NBC_FREE(w);
    return status;
  }
  *watch = w;
  return NBC_OK;
}

NBC_API void nbc_nic_watch_destroy(nbc_nic_watch *watch) {
  if (watch) NBC_FREE(watch);
}

/* How well the distance of two stamps is known that is d_ns by their places: the counter's steps,
   and the rate between them. A clock off by at most L (ratio) shows a true time t as one in t / (1
   + L) .. t / (1 - L), so what it shows may be wrong by L / (1 - L). Each end is rounded down to a
   step: the two together are one step wrong at most. */
static int64_t nbc__nic_length_err_ns(const nbc_nic_watch *w, const nbc_nic_stamp *stamp,
                                      int64_t d_ns) {
  const nbc_relation_desc *how = &w->now.desc;
  const int bits = how->counter_bits ? how->counter_bits : 64;
  const uint64_t ticks = (stamp->end_ticks - stamp->begin_ticks) & (UINT64_MAX >> (64 - bits));
  const double ns_per_tick = 1e9 / how->hz, nominal_ns = (double)ticks * ns_per_tick;
  const double steps_ns = (double)(how->step_ticks ? how->step_ticks : 1) * ns_per_tick;
  /* the rate's deviation never passes the limit, whatever the readings say about it */
  const double limit_ratio = 1e-6 * how->rate_limit_ppm / (1 - 1e-6 * how->rate_limit_ppm);
  const double err_ns =
      fabs(nominal_ns - (double)d_ns) + limit_ratio * nominal_ns + (1 + limit_ratio) * steps_ns + 1;
  return err_ns < 4e9 ? (int64_t)ceil(err_ns) : UINT32_MAX;
}

/* The time of a stamp by its group's line, *own being what the relation says of it; own->err_ns
   becomes what may be wrong of it besides the common shift. false: the line is of no use for it. */
static bool nbc__nic_by_group(const nbc_nic_watch *w, uint64_t ticks, nbc_time *own) {
  const nbc_relation_desc *how = &w->now.desc;
  const int unused_bits = how->counter_bits ? 64 - how->counter_bits : 0;
  if (!w->has_group) return false;
  /* The distance as a signed number of counter_bits bits, so that a counter that has wrapped round
     is no trouble: stamps may lie on either side of the reading. */
  const int64_t d_ticks = (int64_t)((ticks - w->group_ticks) << unused_bits) >> unused_bits;
  const double d_ns = (double)d_ticks * w->ns_per_tick, far_ns = fabs(d_ns);
  const double step_ns = (double)(how->step_ticks ? how->step_ticks : 1) * w->ns_per_tick;
  const double drift_ratio = w->rate_err_ratio + 1e-15 * how->wander_ppm_per_s * far_ns;
  const double err_ns = far_ns * drift_ratio + step_ns + 1;
  /* A group is worth having while what its stamps do not share is small beside what they do. */
  if (!(far_ns < 1e15) || err_ns > 0.25 * (double)w->shared_err_ns) return false;
  const int64_t t_ns = w->group_ns + (int64_t)floor(d_ns + 0.5),
                reach_ns = own->err_ns + w->shared_err_ns;
  /* the line and the relation must agree, and the line must not be much the worse of the two */
  if (t_ns - own->t_ns > reach_ns || own->t_ns - t_ns > reach_ns ||
      (double)own->err_ns < 0.8 * (double)w->shared_err_ns)
    return false;
  own->t_ns = t_ns;
  own->err_ns = (int64_t)ceil(err_ns);
  return true;
}
/* A new group when there is none, when the clock stepped, ran away or became much better known. A
   group lasts over many polls on purpose: stamps of one group are off by the same shift, so what
   one stamp proves about it holds for all. */
static void nbc__nic_regroup(nbc_nic_watch *w) {
  nbc_time now;
  if (w->now.step_count + w->now.gap_count != w->group_steps) w->has_group = false;
  w->group_steps = w->now.step_count + w->now.gap_count;
  if (nbc_relation_time(&w->now, w->now.newest_raw_ticks, &now) != NBC_OK) {
    w->has_group = false;
    return;
  }
  nbc_time by_line = now;
  if (nbc__nic_by_group(w, w->now.newest_raw_ticks, &by_line)) return;
  w->has_group = true;
  /* Owners number groups themselves, so each is asked for a number again. */
  memset(w->owners, 0, sizeof w->owners);
  w->group_ticks = w->now.newest_raw_ticks;
  w->group_ns = now.t_ns;
  w->shared_err_ns = now.err_ns;
  w->ns_per_tick = 1e9 / w->now.desc.hz * (1 + 1e-6 * w->now.rate_ppm);
  w->rate_err_ratio = 1e-6 * w->now.rate_err_ppm;
}

/* The number of the watch's group at this owner, which gives it: owners may have several watches. One
   that is forgotten and comes again gets another, which is as good for a while. */
static uint32_t nbc__nic_group_at(nbc_nic_watch *w, nbc_recorder *owner) {
  const int count = (int)(sizeof w->owners / sizeof *w->owners);
  for (int i = 0; i < count; i++)
    if (w->owners[i].owner == owner) return w->owners[i].group;
  const int i = w->owners_next++ % count;
  w->owners_next %= count;
  w->owners[i].owner = owner;
  return w->owners[i].group = nbc__mon_new_group(owner);
}

static void nbc__nic_place(nbc_nic_watch *w, nbc_nic_stamp *stamp) {
  nbc_time begin, end;
  nbc_recorder *owner = w->desc.owner_of ? w->desc.owner_of(w->desc.user, stamp) : w->desc.recorder;
  if (!owner) {
    w->counts.unowned_count++;
    return;
  }
  if (nbc_relation_time_between(&w->before, &w->now, stamp->begin_ticks, &begin) != NBC_OK ||
      nbc_relation_time_between(&w->before, &w->now, stamp->end_ticks, &end) != NBC_OK) {
    w->counts.unplaced_count++;
    return;
  }
  int64_t err_ns = begin.err_ns > end.err_ns ? begin.err_ns : end.err_ns;
  const int64_t d_err_ns = nbc__nic_length_err_ns(w, stamp, end.t_ns - begin.t_ns);
  nbc_time b = begin, e = end;
  if (nbc__nic_by_group(w, stamp->begin_ticks, &b) && nbc__nic_by_group(w, stamp->end_ticks, &e)) {
    const int64_t own_ns = b.err_ns > e.err_ns ? b.err_ns : e.err_ns;
    err_ns = own_ns + w->shared_err_ns;
    nbc_xfer_stamp_shared(owner, stamp->xfer_id, b.t_ns, e.t_ns, own_ns,
                          nbc__nic_length_err_ns(w, stamp, e.t_ns - b.t_ns), w->shared_err_ns,
                          nbc__nic_group_at(w, owner));
  } else {
    nbc_xfer_stamp_length(owner, stamp->xfer_id, begin.t_ns, end.t_ns, err_ns, d_err_ns);
  }
  w->counts.placed_count++;
  w->sum_err_ns += (double)err_ns;
  if (err_ns > w->counts.max_err_ns) w->counts.max_err_ns = err_ns;
}

NBC_API nbc_status nbc_nic_poll(nbc_nic_watch *w) {
  if (!w) return NBC_E_INVAL;
  const nbc_nic *nic = w->desc.nic;
  nbc_status next;
  do {
    size_t count = 0;
    /* Stamps first, the clock after them: so each lies between the reading before and the one now,
       where the relation holds by interpolation. With the clock first, the newest stamps would have
       to be extrapolated. */
    while ((next = NBC_OK, count < w->desc.batch_stamps) &&
           (next = nic->next_stamp(nic->ctx, &w->stamps[count])) == NBC_OK)
      count++;
    const nbc_status status = nbc__nic_read_clock(w);
    if (status != NBC_OK) w->before = w->now; /* still answered, by what is known */
    nbc__nic_regroup(w);
    for (size_t i = 0; i < count; i++) nbc__nic_place(w, &w->stamps[i]);
    if (status != NBC_OK) return status;
  } while (next == NBC_OK);
  if (nic->lost_count) w->counts.lost_count = nic->lost_count(nic->ctx) - w->lost_before;
  return next == NBC_PENDING ? NBC_OK : next;
}

NBC_API nbc_nic_counts nbc_nic_watch_counts(const nbc_nic_watch *watch) {
  nbc_nic_counts c;
  memset(&c, 0, sizeof c);
  if (!watch) return c;
  c = watch->counts;
  c.mean_err_ns = c.placed_count ? watch->sum_err_ns / (double)c.placed_count : 0;
  return c;
}
NBC_API const nbc_relation *nbc_nic_watch_relation(const nbc_nic_watch *watch) {
  return watch ? &watch->now : NULL;
}

NBC_API nbc_status nbc_nic_watch_report(const nbc_nic_watch *watch, nbc_report *report) {
  if (!watch || !report) return NBC_E_INVAL;
  const nbc_nic_counts c = nbc_nic_watch_counts(watch);
  const struct {
    const char *what;
    uint64_t count;
  } rows[] = {{"stamps", c.placed_count},
              {"stamps lost by the NIC", c.lost_count},
              {"stamps of others", c.unowned_count},
              {"stamps without a sure time", c.unplaced_count},
              {"clock steps", c.step_count}};
  const char *name = watch->desc.nic->name ? watch->desc.nic->name : "nic";
  char text[256];
  snprintf(text, sizeof text,
           "%.64s: %llu stamps, each +-%.0f ns in host time (mean; at worst %lld ns); its clock "
           "runs %.3f +- %.3f ppm off",
           name, (unsigned long long)c.placed_count, c.mean_err_ns, (long long)c.max_err_ns,
           -watch->now.rate_ppm, watch->now.rate_err_ppm);
  nbc_status status = nbc_report_note(report, text);
  for (size_t i = 0; status == NBC_OK && i < sizeof rows / sizeof *rows; i++) {
    if (!rows[i].count) continue;
    snprintf(text, sizeof text, "%.64s %s", name, rows[i].what);
    status = nbc_report_counter(report, 0, text, (double)rows[i].count);
  }
  return status;
}
#endif
#ifndef NBC_NO_TRANSPORT
#ifdef NBC_LINES
#line 97 "src/transport/contract.h"
#endif
/* Operations in order, linked through their slots. */
typedef struct nbc__transport_fifo {
  nbc_op *first, *last;
} nbc__transport_fifo;

/* Null, scripted and MPI begin with this: nbc_transport_destroy need not know which one it has. */
typedef struct nbc__transport_own {
  nbc_transport t;
  void (*destroy)(void *self);
} nbc__transport_own;

NBC__PRIVATE void nbc__transport_prepare(nbc_op *op, int peer);
NBC__PRIVATE void nbc__transport_finish(nbc_op *op);
NBC__PRIVATE void nbc__transport_push(nbc__transport_fifo *fifo, nbc_op *op);
NBC__PRIVATE nbc_op *nbc__transport_pop(nbc__transport_fifo *fifo);
NBC__PRIVATE void nbc__transport_unlink(nbc__transport_fifo *fifo, nbc_op *before, nbc_op *op);
NBC__PRIVATE bool nbc__transport_remove(nbc__transport_fifo *fifo, nbc_op *op);
NBC__PRIVATE void nbc__transport_enter(const nbc_transport *t, nbc_kind kind);
NBC__PRIVATE void nbc__transport_exit(const nbc_transport *t);
NBC__PRIVATE void nbc__transport_xfer_begin(const nbc_transport *t, uint64_t id,
                                            uint64_t size_bytes, nbc_kind kind, nbc_peer peer);
NBC__PRIVATE void nbc__transport_xfer_end(const nbc_transport *t, uint64_t id);
NBC__PRIVATE void nbc__transport_xfer_end_only(const nbc_transport *t, uint64_t size_bytes,
                                               nbc_peer peer);
#ifdef NBC_LINES
#line 1 "src/transport/contract.c"
#endif
/* contract.c: the contract that carries messages. */


/* ============================================================================================== */
/* [TRANSPORT] 11. The contract that carries messages; null and scripted transports               */
/* ============================================================================================== */
/* Posting is refused before the transport sees it, so that every transport may trust its
   arguments. */
static nbc_status nbc__transport_check(const nbc_transport *t, const void *buffer,
                                       uint64_t size_bytes, int peer, const nbc_op *op,
                                       bool receive) {
  if (!t || !op || (!buffer && size_bytes > 0)) return NBC_E_INVAL;
  if (receive && peer == NBC_ANY_PEER) return t->any_peer ? NBC_OK : NBC_E_PEER;
  return peer < 0 || peer >= t->size ? NBC_E_PEER : NBC_OK;
}

NBC__PRIVATE void nbc__transport_prepare(nbc_op *op, int peer) {
  op->finished = false;
  op->status = NBC_PENDING;
  op->peer = peer;
  op->size_bytes = 0;
  memset(&op->slot, 0, sizeof op->slot);
}

static bool nbc__transport_finished(const nbc_op *op) {
  return __atomic_load_n(&op->finished, __ATOMIC_ACQUIRE);
}

/* The last touch of an operation: whoever polls `finished` may reuse it at once, so `done` is read
   before. Results must be in place. */
NBC__PRIVATE void nbc__transport_finish(nbc_op *op) {
  nbc_done_fn done = op->done;
  __atomic_store_n(&op->finished, true, __ATOMIC_RELEASE);
  if (done) done(op);
}

NBC__PRIVATE void nbc__transport_push(nbc__transport_fifo *fifo, nbc_op *op) {
  op->slot.next = NULL;
  if (fifo->last)
    fifo->last->slot.next = op;
  else
    fifo->first = op;
  fifo->last = op;
}

NBC__PRIVATE nbc_op *nbc__transport_pop(nbc__transport_fifo *fifo) {
  nbc_op *op = fifo->first;
  if (!op) return NULL;
  fifo->first = op->slot.next;
  if (!fifo->first) fifo->last = NULL;
  return op;
}

/* Takes op out; before is the one in front of it, NULL when op is the first. */
NBC__PRIVATE void nbc__transport_unlink(nbc__transport_fifo *fifo, nbc_op *before, nbc_op *op) {
  if (before)
    before->slot.next = op->slot.next;
  else
    fifo->first = op->slot.next;
  if (fifo->last == op) fifo->last = before;
}

NBC__PRIVATE bool nbc__transport_remove(nbc__transport_fifo *fifo, nbc_op *op) {
  nbc_op *before = NULL, *at;
  for (at = fifo->first; at && at != op; at = at->slot.next) before = at;
  if (at) nbc__transport_unlink(fifo, before, op);
  return at != NULL;
}

NBC__PRIVATE void nbc__transport_enter(const nbc_transport *t, nbc_kind kind) {
  if (t->recorder) nbc_call_enter(t->recorder, kind);
}

NBC__PRIVATE void nbc__transport_exit(const nbc_transport *t) {
  if (t->recorder) nbc_call_exit(t->recorder);
}

/* A transfer of t's recorder, seen by its own thread or by a worker that drives t. */
NBC__PRIVATE void nbc__transport_xfer_begin(const nbc_transport *t, uint64_t id,
                                            uint64_t size_bytes, nbc_kind kind, nbc_peer peer) {
  nbc_recorder *const r = t->recorder;
  if (r && nbc__mon_is_owner(r))
    nbc_xfer_begin(r, id, size_bytes, kind, peer);
  else if (r)
    nbc_foreign_begin(r, id, size_bytes, kind, peer);
}

NBC__PRIVATE void nbc__transport_xfer_end(const nbc_transport *t, uint64_t id) {
  nbc_recorder *const r = t->recorder;
  if (r && nbc__mon_is_owner(r))
    nbc_xfer_end(r, id);
  else if (r)
    nbc_foreign_end(r, id);
}

NBC__PRIVATE void nbc__transport_xfer_end_only(const nbc_transport *t, uint64_t size_bytes,
                                               nbc_peer peer) {
  nbc_recorder *const r = t->recorder;
  if (r && nbc__mon_is_owner(r))
    nbc_xfer_end_only(r, size_bytes, NBC_KIND_IRECV, peer);
  else if (r)
    nbc_foreign_end_only(r, size_bytes, NBC_KIND_IRECV, peer);
}

/* Polls until op is finished. Ranks may share a core, so after some polls the core is offered. */
static nbc_status nbc__transport_poll(const nbc_transport *t, nbc_op *op, int64_t limit_ns) {
  int64_t t_start_ns = limit_ns > 0 ? t->now_ns(t->ctx) : 0;
  unsigned poll_count = 0;
  while (!nbc__transport_finished(op)) {
    nbc_status status = t->progress(t->ctx);
    if (nbc__transport_finished(op)) break;
    if (status < 0) return status;
    if (t->others) t->others(t->ctx);
    poll_count++;
    const bool rests = t->rest && !t->others;
    if (rests)
      t->rest(t->ctx);
    else if (poll_count > 64)
      sched_yield();
    if (limit_ns > 0 && (rests || poll_count % 16 == 0) &&
        t->now_ns(t->ctx) - t_start_ns > limit_ns)
      return NBC_E_TIMEOUT;
  }
  return op->status;
}

NBC_API nbc_status nbc_isend(const nbc_transport *t, const void *buffer, uint64_t size_bytes,
                             int peer, uint64_t tag, nbc_op *op) {
  nbc_status status = nbc__transport_check(t, buffer, size_bytes, peer, op, false);
  if (status) return status;
  nbc__transport_enter(t, NBC_KIND_ISEND);
  status = t->isend(t->ctx, buffer, size_bytes, peer, tag, op);
  nbc__transport_exit(t);
  return status;
}

NBC_API nbc_status nbc_irecv(const nbc_transport *t, void *buffer, uint64_t size_bytes, int peer,
                             uint64_t tag, nbc_op *op) {
  nbc_status status = nbc__transport_check(t, buffer, size_bytes, peer, op, true);
  if (status) return status;
  nbc__transport_enter(t, NBC_KIND_IRECV);
  status = t->irecv(t->ctx, buffer, size_bytes, peer, tag, op);
  nbc__transport_exit(t);
  return status;
}

NBC_API nbc_status nbc_test(const nbc_transport *t, nbc_op *op) {
  nbc_status status = NBC_OK;
  if (!t || !op) return NBC_E_INVAL;
  nbc__transport_enter(t, NBC_KIND_TEST);
  if (!nbc__transport_finished(op)) status = t->progress(t->ctx);
  if (!nbc__transport_finished(op) && t->others) t->others(t->ctx);
  if (nbc__transport_finished(op))
    status = op->status;
  else if (status >= 0)
    status = NBC_PENDING;
  nbc__transport_exit(t);
  return status;
}

NBC_API nbc_status nbc_wait(const nbc_transport *t, nbc_op *op, int64_t limit_ns) {
  nbc_status status;
  if (!t || !op) return NBC_E_INVAL;
  nbc__transport_enter(t, NBC_KIND_WAIT);
  status = nbc__transport_poll(t, op, limit_ns);
  nbc__transport_exit(t);
  return status;
}

NBC_API nbc_status nbc_send(const nbc_transport *t, const void *buffer, uint64_t size_bytes,
                            int peer, uint64_t tag) {
  nbc_op op;
  nbc_status status;
  memset(&op, 0, sizeof op);
  if ((status = nbc__transport_check(t, buffer, size_bytes, peer, &op, false))) return status;
  nbc__transport_enter(t, NBC_KIND_SEND);
  status = t->isend(t->ctx, buffer, size_bytes, peer, tag, &op);
  if (!status) status = nbc__transport_poll(t, &op, 0);
  nbc__transport_exit(t);
  return status;
}

NBC_API nbc_status nbc_recv(const nbc_transport *t, void *buffer, uint64_t size_bytes, int peer,
                            uint64_t tag) {
  nbc_op op;
  nbc_status status;
  memset(&op, 0, sizeof op);
  if ((status = nbc__transport_check(t, buffer, size_bytes, peer, &op, true))) return status;
  nbc__transport_enter(t, NBC_KIND_RECV);
  status = t->irecv(t->ctx, buffer, size_bytes, peer, tag, &op);
  if (!status) status = nbc__transport_poll(t, &op, 0);
  nbc__transport_exit(t);
  return status;
}

NBC_API void nbc_transport_destroy(nbc_transport *t) {
  if (t) ((nbc__transport_own *)t->ctx)->destroy(t->ctx);
}
#ifdef NBC_LINES
#line 1 "src/transport/pingpong.c"
#endif
/* pingpong.c: the a-priori table, measured over a transport. */




/* ---- the a-priori table -------------------------------------------------------------------- */
enum { NBC__PINGPONG_SIZES = 64, NBC__PINGPONG_ROUNDS = 16, NBC__PINGPONG_SAMPLES = 4096 };
static const uint64_t nbc__pingpong_tag = UINT64_MAX - 7;

/* What the measuring rank tells the other: how large to allocate, then batches, then the result. */
typedef struct nbc__pingpong_hello {
  uint64_t max_bytes;
} nbc__pingpong_hello;
typedef struct nbc__pingpong_batch {
  uint64_t size_bytes, round_count; /* 0 rounds: the result follows */
} nbc__pingpong_batch;
typedef struct nbc__pingpong_result {
  uint64_t point_count;
  uint64_t size_bytes[NBC__PINGPONG_SIZES];
  double time_s[NBC__PINGPONG_SIZES];
} nbc__pingpong_result;

typedef struct nbc__pingpong {
  nbc_transport t; /* a copy that records no calls */
  int peer;
  nbc_table_measure_desc desc;
  nbc_op op;
  bool stuck; /* op is still with the transport: its memory may not be freed */
  nbc__pingpong_hello hello;
  nbc__pingpong_batch batch;
  nbc__pingpong_result result;
  double samples[NBC__PINGPONG_SAMPLES];
  unsigned char *data;
} nbc__pingpong;

static nbc_status nbc__pingpong_wait(nbc__pingpong *m) {
  nbc_status status = nbc_wait(&m->t, &m->op, m->desc.limit_ns);
  if (status == NBC_OK || m->op.finished) return status;
  if (m->t.cancel && m->t.cancel(m->t.ctx, &m->op) == NBC_OK) nbc_wait(&m->t, &m->op, 1000000000);
  m->stuck = !m->op.finished;
  return status;
}

static nbc_status nbc__pingpong_send(nbc__pingpong *m, const void *data, uint64_t size_bytes) {
  nbc_status status = nbc_isend(&m->t, data, size_bytes, m->peer, nbc__pingpong_tag, &m->op);
  return status ? status : nbc__pingpong_wait(m);
}

static nbc_status nbc__pingpong_recv(nbc__pingpong *m, void *data, uint64_t size_bytes) {
  nbc_status status = nbc_irecv(&m->t, data, size_bytes, m->peer, nbc__pingpong_tag, &m->op);
  return status ? status : nbc__pingpong_wait(m);
}

/* One size: batches of round trips until the median is known to 1 % or the time is up. The shortest is kept: a
   transfer slower than the table's never hides less of itself than its bounds say, one that is faster may. */
static nbc_status nbc__pingpong_size(nbc__pingpong *m, uint64_t size_bytes, double *time_s) {
  size_t count = 0, warm_count = 2;
  int64_t t_start_ns = m->t.now_ns(m->t.ctx), t_now_ns = t_start_ns;
  nbc_summary summary;
  nbc_status status;
  memset(&summary, 0, sizeof summary);
  do {
    size_t i;
    m->batch.size_bytes = size_bytes;
    m->batch.round_count = NBC__PINGPONG_ROUNDS + warm_count;
    if ((status = nbc__pingpong_send(m, &m->batch, sizeof m->batch))) return status;
    for (i = 0; i < NBC__PINGPONG_ROUNDS + warm_count; i++) {
      int64_t t_begin_ns = m->t.now_ns(m->t.ctx);
      if ((status = nbc__pingpong_send(m, m->data, size_bytes))) return status;
      if ((status = nbc__pingpong_recv(m, m->data, size_bytes))) return status;
      t_now_ns = m->t.now_ns(m->t.ctx);
      if (i >= warm_count) m->samples[count++] = 0.5e-9 * (double)(t_now_ns - t_begin_ns);
    }
    warm_count = 0;
    if ((status = nbc_summarize(m->samples, count, 0.95, &summary))) return status;
  } while (count + NBC__PINGPONG_ROUNDS <= NBC__PINGPONG_SAMPLES &&
           t_now_ns - t_start_ns < m->desc.time_per_size_ns &&
           (count < 2 * NBC__PINGPONG_ROUNDS ||
            summary.median_hi - summary.median_lo > 0.02 * summary.median));
  *time_s = summary.min;
  return NBC_OK;
}

static bool nbc__pingpong_allocate(nbc__pingpong *m, uint64_t max_bytes) {
  m->data = max_bytes < SIZE_MAX ? (unsigned char *)NBC_MALLOC((size_t)max_bytes + 1) : NULL;
  if (m->data) memset(m->data, 1, (size_t)max_bytes + 1); /* pages there before the clock runs */
  return m->data != NULL;
}

/* The lower rank: measures, then tells. */
static nbc_status nbc__pingpong_lead(nbc__pingpong *m) {
  uint64_t size_bytes = m->desc.min_bytes, ready = 0;
  nbc_status status;
  if (!nbc__pingpong_allocate(m, m->desc.max_bytes)) return NBC_E_NOMEM;
  m->hello.max_bytes = m->desc.max_bytes;
  if ((status = nbc__pingpong_send(m, &m->hello, sizeof m->hello))) return status;
  if ((status = nbc__pingpong_recv(m, &ready, sizeof ready))) return status;
  if (!ready) return NBC_E_NOMEM;
  for (;; size_bytes = size_bytes > m->desc.max_bytes / 2 ? m->desc.max_bytes : 2 * size_bytes) {
    size_t i = (size_t)m->result.point_count++;
    m->result.size_bytes[i] = size_bytes;
    if ((status = nbc__pingpong_size(m, size_bytes, &m->result.time_s[i]))) return status;
    if (size_bytes == m->desc.max_bytes) break;
  }
  m->batch.round_count = 0;
  if ((status = nbc__pingpong_send(m, &m->batch, sizeof m->batch))) return status;
  return nbc__pingpong_send(m, &m->result, sizeof m->result);
}

/* The higher rank: answers what it is sent. */
static nbc_status nbc__pingpong_follow(nbc__pingpong *m) {
  uint64_t ready;
  nbc_status status = nbc__pingpong_recv(m, &m->hello, sizeof m->hello);
  if (status) return status;
  ready = nbc__pingpong_allocate(m, m->hello.max_bytes); /* the leader's sizes count */
  if ((status = nbc__pingpong_send(m, &ready, sizeof ready))) return status;
  if (!ready) return NBC_E_NOMEM;
  for (;;) {
    uint64_t i;
    if ((status = nbc__pingpong_recv(m, &m->batch, sizeof m->batch))) return status;
    if (m->batch.round_count == 0) break;
    if (m->batch.size_bytes > m->hello.max_bytes) return NBC_E_MISMATCH;
    for (i = 0; i < m->batch.round_count; i++) {
      if ((status = nbc__pingpong_recv(m, m->data, m->batch.size_bytes))) return status;
      if ((status = nbc__pingpong_send(m, m->data, m->batch.size_bytes))) return status;
    }
  }
  if ((status = nbc__pingpong_recv(m, &m->result, sizeof m->result))) return status;
  return m->result.point_count <= NBC__PINGPONG_SIZES ? NBC_OK : NBC_E_MISMATCH;
}

NBC_API nbc_status nbc_table_measure(const nbc_transport *t, int peer,
                                     const nbc_table_measure_desc *desc, nbc_table **table,
                                     nbc_error *err) {
  nbc__pingpong *m;
  nbc_status status;
  bool was_on;
  char name[96];
  if (!table) return nbc__status_fail(err, NBC_E_INVAL, 0, "table is NULL");
  *table = NULL;
  if (!t || peer < 0 || peer >= t->size || peer == t->rank)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "peer must be another rank of the transport");
  if (!(m = (nbc__pingpong *)NBC_MALLOC(sizeof *m)))
    return nbc__status_fail(err, NBC_E_NOMEM, 0, "table: out of memory");
  memset(m, 0, sizeof *m);
  m->t = *t;
  m->t.recorder = NULL;
  m->peer = peer;
  if (desc) m->desc = *desc;
  if (!m->desc.min_bytes) m->desc.min_bytes = 1;
  if (!m->desc.max_bytes) m->desc.max_bytes = 4 << 20;
  if (m->desc.time_per_size_ns == 0) m->desc.time_per_size_ns = 50000000;
  if (m->desc.limit_ns == 0) m->desc.limit_ns = 30 * (int64_t)1000000000;
  if (m->desc.min_bytes > m->desc.max_bytes || m->desc.time_per_size_ns < 0 ||
      m->desc.limit_ns < 0) {
    NBC_FREE(m);
    return nbc__status_fail(err, NBC_E_INVAL, 0, "min_bytes above max_bytes, or a negative time");
  }
  was_on = t->recorder && t->recorder->on;
  if (was_on) nbc_recorder_switch(t->recorder, false); /* these messages are not the program's */
  status = t->rank < peer ? nbc__pingpong_lead(m) : nbc__pingpong_follow(m);
  if (was_on) nbc_recorder_switch(t->recorder, true);
  snprintf(name, sizeof name, "measured over %s", t->name);
  if (status)
    nbc__status_fail(err, status, 0, "measuring the transfer times: %s", nbc_status_text(status));
  else
    status = nbc_table_create(m->result.size_bytes, m->result.time_s, (size_t)m->result.point_count,
                              name, table, err);
  if (!m->stuck) { /* else an operation still points there: rather lost than overwritten */
    NBC_FREE(m->data);
    NBC_FREE(m);
  }
  return status;
}
#ifdef NBC_LINES
#line 1 "src/transport/scripted.c"
#endif
/* scripted.c: null and scripted transports. */




typedef struct nbc__null {
  nbc__transport_own own;
  nbc_clock clock;
  nbc__transport_fifo posted;
} nbc__null;

static void nbc__null_destroy(void *self) { NBC_FREE(self); }

static int64_t nbc__null_now(void *ctx) { return nbc_clock_now_ns(&((nbc__null *)ctx)->clock); }

static nbc_status nbc__null_post(void *ctx, uint64_t size_bytes, int peer, nbc_op *op) {
  nbc__transport_prepare(op, peer);
  op->size_bytes = size_bytes;
  op->status = NBC_OK;
  nbc__transport_push(&((nbc__null *)ctx)->posted, op);
  return NBC_OK;
}

static nbc_status nbc__null_isend(void *ctx, const void *buffer, uint64_t size_bytes, int peer,
                                  uint64_t tag, nbc_op *op) {
  (void)buffer, (void)tag;
  return nbc__null_post(ctx, size_bytes, peer, op);
}

static nbc_status nbc__null_irecv(void *ctx, void *buffer, uint64_t size_bytes, int peer,
                                  uint64_t tag, nbc_op *op) {
  (void)buffer, (void)tag;
  return nbc__null_post(ctx, size_bytes, peer, op);
}

static nbc_status nbc__null_progress(void *ctx) {
  nbc__null *n = (nbc__null *)ctx;
  nbc__transport_fifo due = n->posted; /* what completions post is due next time */
  nbc_op *op;
  n->posted.first = n->posted.last = NULL;
  while ((op = nbc__transport_pop(&due))) nbc__transport_finish(op);
  return NBC_OK;
}

NBC_API nbc_status nbc_null_create(int rank, int size, nbc_transport **t) {
  nbc__null *n;
  nbc_status status;
  if (!t) return NBC_E_INVAL;
  *t = NULL;
  if (size < 1 || rank < 0 || rank >= size) return NBC_E_INVAL;
  if (!(n = (nbc__null *)NBC_MALLOC(sizeof *n))) return NBC_E_NOMEM;
  memset(n, 0, sizeof *n);
  if ((status = nbc_clock_create(NULL, &n->clock))) {
    NBC_FREE(n);
    return status;
  }
  n->own.destroy = nbc__null_destroy;
  n->own.t.name = "null";
  n->own.t.help = "completes everything, moves nothing";
  n->own.t.ctx = n;
  n->own.t.rank = rank;
  n->own.t.size = size;
  n->own.t.now_ns = nbc__null_now;
  n->own.t.isend = nbc__null_isend;
  n->own.t.irecv = nbc__null_irecv;
  n->own.t.progress = nbc__null_progress;
  *t = &n->own.t;
  return NBC_OK;
}

/* Every operation is wrapped: the inner transport sees `inner`, the user keeps `outer`. Wrappers
   are allocated when posting: this transport is for tests. */
typedef struct nbc__scripted_op {
  nbc_op inner;
  nbc_op *outer;
  struct nbc__scripted_op *next;
  const nbc_script_step *step; /* NULL = undisturbed */
  uint64_t left_count, arrival_index;
} nbc__scripted_op;

typedef struct nbc__scripted {
  nbc__transport_own own;
  const nbc_transport *inner;
  nbc_script_step *steps; /* behind the struct */
  size_t step_count;
  uint64_t post_count, arrival_count, overtaken_count; /* the latest arrival delivered, and one */
  nbc__scripted_op *flying;                            /* at the inner transport, any order */
  nbc__scripted_op *arrived, *arrived_last;            /* completed there, in that order */
  nbc__scripted_op *spare, *dropped;
} nbc__scripted;

static void nbc__scripted_free(nbc__scripted_op *list) {
  while (list) {
    nbc__scripted_op *next = list->next;
    NBC_FREE(list);
    list = next;
  }
}

static void nbc__scripted_destroy(void *self) {
  nbc__scripted *s = (nbc__scripted *)self;
  nbc__scripted_free(s->flying);
  nbc__scripted_free(s->arrived);
  nbc__scripted_free(s->spare);
  nbc__scripted_free(s->dropped);
  NBC_FREE(s);
}

static int64_t nbc__scripted_now(void *ctx) {
  const nbc_transport *inner = ((nbc__scripted *)ctx)->inner;
  return inner->now_ns(inner->ctx);
}

static nbc_peer nbc__scripted_peer_class(void *ctx, int peer) {
  const nbc_transport *inner = ((nbc__scripted *)ctx)->inner;
  return inner->peer_class(inner->ctx, peer);
}

static bool nbc__scripted_same_clock(void *ctx, int peer) {
  const nbc_transport *inner = ((nbc__scripted *)ctx)->inner;
  return inner->same_clock(inner->ctx, peer);
}

/* Called from the inner progress: only notes it, the script decides when the user hears of it. */
static void nbc__scripted_arrived(nbc_op *inner_op) {
  nbc__scripted_op *w = (nbc__scripted_op *)(void *)inner_op; /* its first member */
  nbc__scripted *s = (nbc__scripted *)inner_op->user;
  nbc__scripted_op **at = &s->flying;
  while (*at != w) at = &(*at)->next;
  *at = w->next;
  w->next = NULL;
  w->arrival_index = s->arrival_count++;
  if (s->arrived)
    s->arrived_last->next = w;
  else
    s->arrived = w;
  s->arrived_last = w;
}

static nbc_status nbc__scripted_post(nbc__scripted *s, nbc_op *op, bool receive, void *buffer,
                                     uint64_t size_bytes, int peer, uint64_t tag) {
  uint64_t index = s->post_count++;
  const nbc_transport *inner = s->inner;
  const nbc_script_step *step = NULL;
  nbc__scripted_op *w = s->spare;
  nbc_status status;
  size_t i;
  for (i = 0; i < s->step_count && !step; i++)
    if (s->steps[i].post_index == index) step = &s->steps[i];
  if (step && step->action == NBC_SCRIPT_FAIL_POST) return step->status;
  if (w)
    s->spare = w->next;
  else if (!(w = (nbc__scripted_op *)NBC_MALLOC(sizeof *w)))
    return NBC_E_NOMEM;
  memset(w, 0, sizeof *w);
  w->inner.done = nbc__scripted_arrived;
  w->inner.user = s;
  w->outer = op;
  w->step = step;
  w->left_count = step && step->action == NBC_SCRIPT_DELAY ? step->value : 0;
  w->next = s->flying;
  s->flying = w;
  nbc__transport_prepare(op, peer);
  op->slot.remote_op = w;
  status = receive ? inner->irecv(inner->ctx, buffer, size_bytes, peer, tag, &w->inner)
                   : inner->isend(inner->ctx, buffer, size_bytes, peer, tag, &w->inner);
  if (!status) return NBC_OK;
  s->flying = w->next;
  w->next = s->spare;
  s->spare = w;
  return status;
}

static nbc_status nbc__scripted_isend(void *ctx, const void *buffer, uint64_t size_bytes, int peer,
                                      uint64_t tag, nbc_op *op) {
  return nbc__scripted_post((nbc__scripted *)ctx, op, false, (void *)(uintptr_t)buffer, size_bytes,
                            peer, tag);
}

static nbc_status nbc__scripted_irecv(void *ctx, void *buffer, uint64_t size_bytes, int peer,
                                      uint64_t tag, nbc_op *op) {
  return nbc__scripted_post((nbc__scripted *)ctx, op, true, buffer, size_bytes, peer, tag);
}

static bool nbc__scripted_due(const nbc__scripted *s, const nbc__scripted_op *w) {
  if (!w->step) return true;
  if (w->step->action == NBC_SCRIPT_DELAY) return w->left_count == 0;
  if (w->step->action == NBC_SCRIPT_REORDER) /* or nothing is left that could overtake it */
    return s->overtaken_count > w->arrival_index || (!s->flying && !w->next);
  return true;
}

/* Delivers the first arrival that is due; false when none is. */
static bool nbc__scripted_deliver(nbc__scripted *s) {
  nbc__scripted_op *before = NULL, *w = s->arrived;
  nbc_op *outer;
  while (w && !nbc__scripted_due(s, w)) before = w, w = w->next;
  if (!w) return false;
  if (before)
    before->next = w->next;
  else
    s->arrived = w->next;
  if (s->arrived_last == w) s->arrived_last = before;
  if (w->step && w->step->action == NBC_SCRIPT_DROP) {
    w->next = s->dropped;
    s->dropped = w;
    return true;
  }
  outer = w->outer;
  outer->peer = w->inner.peer;
  outer->size_bytes = w->inner.size_bytes;
  outer->status =
      w->step && w->step->action == NBC_SCRIPT_FAIL_DONE ? w->step->status : w->inner.status;
  w->next = s->spare;
  s->spare = w;
  if (s->overtaken_count <= w->arrival_index) s->overtaken_count = w->arrival_index + 1;
  nbc__transport_finish(outer);
  return true;
}

static nbc_status nbc__scripted_progress(void *ctx) {
  nbc__scripted *s = (nbc__scripted *)ctx;
  nbc_status status = s->inner->progress(s->inner->ctx);
  nbc__scripted_op *w;
  while (nbc__scripted_deliver(s)) {
  }
  for (w = s->arrived; w; w = w->next) w->left_count -= w->left_count > 0;
  return status;
}

static nbc_status nbc__scripted_cancel(void *ctx, nbc_op *op) {
  nbc__scripted *s = (nbc__scripted *)ctx;
  nbc__scripted_op *w;
  for (w = s->flying; w && w->outer != op; w = w->next) {
  }
  return w ? s->inner->cancel(s->inner->ctx, &w->inner) : NBC_E_STATE;
}

NBC_API nbc_status nbc_scripted_create(const nbc_transport *inner, const nbc_script_step *steps,
                                       size_t step_count, nbc_transport **t) {
  nbc__scripted *s;
  if (!t) return NBC_E_INVAL;
  *t = NULL;
  if (!inner || (step_count > 0 && !steps)) return NBC_E_INVAL;
  if (step_count > (SIZE_MAX - sizeof *s) / sizeof *steps) return NBC_E_NOMEM;
  if (!(s = (nbc__scripted *)NBC_MALLOC(sizeof *s + step_count * sizeof *steps)))
    return NBC_E_NOMEM;
  memset(s, 0, sizeof *s);
  s->steps = (nbc_script_step *)(void *)(s + 1);
  s->step_count = step_count;
  if (step_count > 0) memcpy(s->steps, steps, step_count * sizeof *steps);
  s->inner = inner;
  s->own.destroy = nbc__scripted_destroy;
  s->own.t = *inner;
  s->own.t.name = "scripted";
  s->own.t.help = "another transport, disturbed as told";
  s->own.t.ctx = s;
  s->own.t.any_thread = false;
  s->own.t.main_thread_only = inner->main_thread_only;
  s->own.t.now_ns = nbc__scripted_now;
  s->own.t.isend = nbc__scripted_isend;
  s->own.t.irecv = nbc__scripted_irecv;
  s->own.t.progress = nbc__scripted_progress;
  s->own.t.cancel = inner->cancel ? nbc__scripted_cancel : NULL;
  s->own.t.peer_class = inner->peer_class ? nbc__scripted_peer_class : NULL;
  s->own.t.same_clock = inner->same_clock ? nbc__scripted_same_clock : NULL;
  s->own.t.recorder = NULL;
  *t = &s->own.t;
  return NBC_OK;
}
#ifdef NBC_LINES
#line 56 "src/transport/packets.h"
#endif
/* How it works, in the order of the code below.

   Every ordered pair of ranks has a ring of packets in which the sender writes and the receiver
   reads: nothing else carries information between ranks. Data moves by copy jobs: each rank has a
   ring of jobs, done in order, by the DMA thread or (without one) by the rank itself when it posts
   the job. A job may publish a packet when its data is there, as a NIC raises a completion.

     EAGER        job: part -> slot, publishes EAGER                      (a part: up to
     fragment_bytes)
     PIPELINED    job: first part -> slot, publishes REQUEST; receiver matches, answers PUT (grant
     of
                  the next fragments); for each: job: fragment -> receive buffer, publishes FRAGMENT
     DIRECT_READ  packet REQUEST_READ; receiver matches, job: send buffer -> receive buffer, then
                  packet FIN

   What a rank cannot do for lack of a free slot or job waits in its queue `out[peer]`, linked
   through the operations themselves: order per pair is kept and posting allocates nothing. Only an
   eager message that nobody waits for yet is copied to allocated memory, by the receiver's
   progress.

   Everything that ranks share lies in one mapped region; the rest of a rank is its own. */
enum {
  NBC__PACKETS_SLOTS = 16, /* packets in flight per ordered pair */
  NBC__PACKETS_JOBS = 256, /* copy jobs in flight per rank */
  NBC__PACKETS_STAMPS = 65536,
  NBC__PACKETS_MAX_RANKS = 1024
};

typedef enum nbc__packet_kind {
  NBC__PACKET_EAGER,
  NBC__PACKET_REQUEST,
  NBC__PACKET_REQUEST_READ,
  NBC__PACKET_PUT,
  NBC__PACKET_FRAGMENT,
  NBC__PACKET_FIN
} nbc__packet_kind;

/* The pointers mean something to the rank that wrote them only: the other side hands them back. */
typedef struct nbc__packet {
  /* atomic: even = free, odd = full; one more by the sender, one more by the receiver. Never twice
     the same value: a put that stores a word twice (memcpy may) must not bring back what is
     over. */
  uint32_t state;
  nbc__packet_kind kind;
  int64_t t_visible_ns; /* control packets: when the link would have delivered them; 0 = at once */
  uint64_t tag, size_bytes, offset_bytes, part_bytes;
  nbc_op *send_op, *recv_op;
  void *address; /* REQUEST_READ: send buffer; PUT: receive buffer */
  uint64_t xfer_id, limit_bytes, granted_bytes;
  uint64_t pad_bytes[4]; /* to 128 bytes: neighbours in a ring do not share a cache line pair */
} nbc__packet;

typedef struct nbc__job {
  void *target;
  const void *source;
  uint64_t size_bytes;
  nbc__packet *packet; /* published when done; NULL = none */
  nbc_op *op;          /* the poster's */
  bool is_read;        /* the poster is the receiver */
  bool ended;          /* its end was recorded when it was posted */
  int peer;
  uint64_t send_id, recv_id;
  int64_t t_post_ns, t_begin_ns; /* with dma */
} nbc__job;

/* posted: by the rank. done: by who copies. Both count without wrapping. */
typedef struct nbc__job_ring {
  uint64_t posted_count; /* atomic */
  uint64_t pad1_bytes[7];
  uint64_t done_count; /* atomic */
  uint64_t finished;   /* of a process: its fn returned */
  uint64_t pad2_bytes[6];
  nbc__job jobs[NBC__PACKETS_JOBS];
} nbc__job_ring;

typedef struct nbc__packets_shared {
  uint32_t failed;       /* atomic: a rank gave up, nobody should wait for it */
  int32_t first_error;   /* of processes: its status */
  uint32_t stop;         /* atomic: the DMA thread ends */
  uint32_t asleep;       /* atomic: the DMA thread waits for a job */
  pthread_mutex_t mutex; /* of cond and of the stamps */
  pthread_cond_t cond;
  uint64_t stamp_first_count, stamp_last_count;
  nbc_true_stamp *stamps; /* in the region; NULL without dma */
  nbc__job_ring *rings;   /* [size] */
  nbc__packet *packets;   /* [size][size][SLOTS], sender first */
  unsigned char *payload; /* fragment_bytes for each packet */
} nbc__packets_shared;

/* An eager or requested message that came before its receive. */
typedef struct nbc__unexpected {
  struct nbc__unexpected *next;
  nbc__packet packet; /* as it came */
  uint64_t arrival_order, arrived_bytes;
  unsigned char *data; /* behind the struct */
} nbc__unexpected;

/* What a rank knows about one other (or itself). */
typedef struct nbc__packets_peer {
  uint64_t head_count, tail_count; /* of the ring to it, of the ring from it */
  nbc__transport_fifo out;         /* operations that have packets or jobs to post */
  nbc__transport_fifo posted;      /* receives not matched */
  nbc__unexpected *first, *last;   /* messages not matched */
  nbc_op *incoming_op;             /* an eager message in several parts: its receive, */
  nbc__unexpected *incoming_entry; /* or where it is kept */
} nbc__packets_peer;

typedef struct nbc__packets_rank {
  nbc_transport t;
  nbc_threads *world;
  nbc__job_ring *ring;
  nbc__packets_peer *peers; /* [size] */
  nbc__transport_fifo posted_any;
  nbc__transport_fifo finished; /* to be delivered by progress */
  uint64_t reaped_count, order_count, id_count;
  int waiting_count; /* operations in all out queues */
  bool in_progress;
} nbc__packets_rank;

struct nbc_threads {
  nbc_threads_desc desc; /* values in force */
  nbc_clock clock;
  nbc__packets_shared *shared;
  size_t shared_bytes;
  nbc__packets_rank *ranks;
  /* Where ranks share no memory, else NULL: carries a packet to the receiver's copy of its slot,
     tells the sender that it is free, lets messages in. */
  void (*put)(nbc_threads *w, int peer, nbc__packet *p);
  void (*release)(nbc_threads *w, int peer, nbc__packet *p);
  void (*poll)(nbc_threads *w);
  pthread_t dma_thread;
  bool dma_running;
};

NBC__PRIVATE unsigned char *nbc__packets_payload(const nbc_threads *w, const nbc__packet *p);
NBC__PRIVATE void nbc__packets_publish(nbc_threads *w, int peer, nbc__packet *p);
NBC__PRIVATE nbc_status nbc__packets_defaults(nbc_threads_desc *desc);
NBC__PRIVATE void nbc__packets_contract(nbc__packets_rank *r, int rank);
NBC__PRIVATE void nbc__packets_free_unexpected(nbc__packets_peer *peers, size_t count);
#ifdef NBC_LINES
#line 1 "src/transport/packets.c"
#endif
/* packets.c: the engine below threads and OpenSHMEM: packets in rings, copy jobs, three
   protocols. */



/* ============================================================================================== */
/* [THREADS] 12. Ranks as threads                                                                 */
/* ============================================================================================== */
static int64_t nbc__packets_now(void *ctx) {
  return nbc_clock_now_ns(&((nbc__packets_rank *)ctx)->world->clock);
}

/* What the table of transfer times is asked for: with a link between the ranks (dma) they are as
   far apart as nodes. */
static nbc_peer nbc__packets_peer_class(void *ctx, int peer) {
  const nbc_threads *w = ((nbc__packets_rank *)ctx)->world;
  (void)peer; /* with a link between the ranks, they are as far apart as nodes */
  return w->put ? NBC_PEER_UNKNOWN : w->desc.dma ? NBC_PEER_OTHER_NODE : NBC_PEER_SAME_NODE;
}

static bool nbc__packets_same_clock(void *ctx, int peer) {
  (void)ctx, (void)peer;
  return true;
}

/* ---- stamps of the library's view; ids are unique per rank --------------------------------- */
static void nbc__packets_begin(nbc__packets_rank *r, uint64_t id, uint64_t size_bytes,
                               nbc_kind kind) {
  nbc__transport_xfer_begin(&r->t, id, size_bytes, kind, nbc__packets_peer_class(r, 0));
}

static void nbc__packets_end(nbc__packets_rank *r, uint64_t id) {
  nbc__transport_xfer_end(&r->t, id);
}

static void nbc__packets_end_only(nbc__packets_rank *r, uint64_t size_bytes) {
  nbc__transport_xfer_end_only(&r->t, size_bytes, nbc__packets_peer_class(r, 0));
}

/* ---- packets ------------------------------------------------------------------------------- */
/* Of the ring src -> dst, as its sender or its receiver sees it: one in shared memory; over puts,
   the sender's copies first, then the receiver's. */
static nbc__packet *nbc__packets_slot(const nbc_threads *w, int src, int dst, bool receives,
                                      uint64_t count) {
  size_t size = (size_t)w->desc.size;
  size_t pair = !w->put    ? (size_t)src * size + (size_t)dst
                : receives ? size + (size_t)src
                           : (size_t)dst;
  return &w->shared->packets[pair * NBC__PACKETS_SLOTS + count % NBC__PACKETS_SLOTS];
}

NBC__PRIVATE unsigned char *nbc__packets_payload(const nbc_threads *w, const nbc__packet *p) {
  return w->shared->payload + (size_t)(p - w->shared->packets) * w->desc.fragment_bytes;
}

/* A slot's state counts its uses twice: 2k is free for the k-th packet put there, 2k + 1 holds it.
   The sender alone takes it from even to odd and the receiver alone from odd to even, each with a
   release that the other side acquires: so a ring needs no lock, and whoever is behind sees a state
   that is not yet the one it waits for. */
/* Of a slot's state, when packet count of its ring may be written there. */
static uint32_t nbc__packets_free_state(uint64_t count) {
  return (uint32_t)(count / NBC__PACKETS_SLOTS * 2);
}

/* The next free slot to peer, taken; NULL when the ring is full. */
static nbc__packet *nbc__packets_take(nbc__packets_rank *r, int peer, nbc__packet_kind kind) {
  nbc__packets_peer *to = &r->peers[peer];
  nbc__packet *p = nbc__packets_slot(r->world, r->t.rank, peer, false, to->head_count);
  if (__atomic_load_n(&p->state, __ATOMIC_ACQUIRE) != nbc__packets_free_state(to->head_count))
    return NULL;
  to->head_count++;
  p->kind = kind;
  p->t_visible_ns = 0;
  return p;
}

NBC__PRIVATE void nbc__packets_publish(nbc_threads *w, int peer, nbc__packet *p) {
  if (w->put)
    w->put(w, peer, p);
  else
    __atomic_store_n(&p->state, p->state + 1, __ATOMIC_RELEASE);
}

/* Control packets need no copy: they carry the time at which the link would deliver them. */
static void nbc__packets_publish_control(nbc__packets_rank *r, int peer, nbc__packet *p) {
  const nbc_threads_desc *desc = &r->world->desc;
  if (desc->dma && desc->link_latency_ns > 0)
    p->t_visible_ns = nbc__packets_now(r) + desc->link_latency_ns;
  nbc__packets_publish(r->world, peer, p);
}

/* ---- copy jobs ----------------------------------------------------------------------------- */
static bool nbc__packets_job_free(const nbc__packets_rank *r) {
  return __atomic_load_n(&r->ring->posted_count, __ATOMIC_RELAXED) - r->reaped_count <
         NBC__PACKETS_JOBS;
}

static void nbc__packets_wake(nbc__packets_shared *s) {
  /* the poster's store to posted_count and this exchange must not pass each other */
  if (!__atomic_exchange_n(&s->asleep, 0, __ATOMIC_SEQ_CST)) return;
  pthread_mutex_lock(&s->mutex);
  pthread_cond_signal(&s->cond);
  pthread_mutex_unlock(&s->mutex);
}

/* Without a link the poster copies at once: job, end and packet are done before posted_count says
   so. */
/* Posts *job, whose begin is recorded already. The caller has checked that there is room. */
static void nbc__packets_post(nbc__packets_rank *r, const nbc__job *job) {
  nbc__packets_shared *s = r->world->shared;
  uint64_t count = __atomic_load_n(&r->ring->posted_count, __ATOMIC_RELAXED);
  nbc__job *mine = &r->ring->jobs[count % NBC__PACKETS_JOBS];
  *mine = *job;
  if (!r->world->desc.dma) {
    if (job->size_bytes > 0) memcpy(job->target, job->source, (size_t)job->size_bytes);
    nbc__packets_end(r, job->is_read ? job->recv_id : job->send_id);
    mine->ended = true;
    if (job->packet) nbc__packets_publish(r->world, job->peer, job->packet);
    __atomic_store_n(&r->ring->done_count, count + 1, __ATOMIC_RELAXED);
  }
  if (r->world->desc.dma) mine->t_post_ns = nbc__packets_now(r);
  __atomic_store_n(&r->ring->posted_count, count + 1, __ATOMIC_SEQ_CST);
  if (r->world->desc.dma) nbc__packets_wake(s);
}

/* ---- finishing and queueing ---------------------------------------------------------------- */
static void nbc__packets_finish(nbc__packets_rank *r, nbc_op *op, nbc_status status) {
  op->status = status;
  nbc__transport_push(&r->finished, op);
}

/* An operation stands in at most one queue at a time: it is linked through itself. */
static void nbc__packets_queue(nbc__packets_rank *r, nbc_op *op) {
  if (op->slot.queued) return;
  op->slot.queued = true;
  r->waiting_count++;
  nbc__transport_push(&r->peers[op->peer].out, op);
}

static nbc_status nbc__packets_recv_status(const nbc_op *op) {
  return op->status == NBC_E_TRUNCATED ? NBC_E_TRUNCATED : NBC_OK;
}

/* ---- what a queued operation does next: true when nothing is left to post for now ---------- */
/* What the operation in an out queue is. */
enum {
  NBC__OP_EAGER,
  NBC__OP_PIPELINED,
  NBC__OP_READ, /* send, to be read by the peer */
  NBC__OP_RECV, /* eager, or not matched */
  NBC__OP_RECV_PIPELINED,
  NBC__OP_RECV_READ, /* read not posted */
  NBC__OP_RECV_FIN   /* read done, FIN not sent */
};

/* One part of a send: a job whose end publishes a packet. */
static bool nbc__packets_post_part(nbc__packets_rank *r, nbc_op *op, nbc__packet_kind kind,
                                   uint64_t part_bytes, void *target, uint64_t recv_id) {
  nbc__packet *p;
  nbc__job job;
  if (!nbc__packets_job_free(r) || !(p = nbc__packets_take(r, op->peer, kind))) return false;
  p->tag = op->slot.tag;
  p->size_bytes = op->size_bytes;
  p->offset_bytes = op->slot.posted_bytes;
  p->part_bytes = part_bytes;
  p->send_op = op;
  p->recv_op = (nbc_op *)op->slot.remote_op;
  p->xfer_id = recv_id;
  memset(&job, 0, sizeof job);
  job.source = (const unsigned char *)op->slot.buffer + op->slot.posted_bytes;
  job.target = target ? target : nbc__packets_payload(r->world, p);
  job.size_bytes = part_bytes;
  job.packet = p;
  job.op = op;
  job.peer = op->peer;
  job.send_id = ++r->id_count;
  job.recv_id = recv_id;
  op->slot.posted_bytes += part_bytes;
  op->slot.flying_count++;
  op->slot.started = true;
  nbc__packets_begin(r, job.send_id, part_bytes, NBC_KIND_ISEND);
  nbc__packets_post(r, &job);
  return true;
}

static uint64_t nbc__packets_part(const nbc__packets_rank *r, uint64_t left_bytes) {
  return left_bytes < r->world->desc.fragment_bytes ? left_bytes : r->world->desc.fragment_bytes;
}

/* At least one packet, for a message of 0 bytes too. */
static bool nbc__packets_emit_eager(nbc__packets_rank *r, nbc_op *op) {
  nbc_op_slot *s = &op->slot;
  while (!s->started || s->posted_bytes < op->size_bytes)
    if (!nbc__packets_post_part(r, op, NBC__PACKET_EAGER,
                                nbc__packets_part(r, op->size_bytes - s->posted_bytes), NULL, 0))
      return false;
  return true;
}

/* First the request with the first fragment, later what the receiver granted. */
static bool nbc__packets_emit_pipelined(nbc__packets_rank *r, nbc_op *op) {
  nbc_op_slot *s = &op->slot;
  if (!s->started && !nbc__packets_post_part(r, op, NBC__PACKET_REQUEST,
                                             nbc__packets_part(r, op->size_bytes), NULL, 0))
    return false;
  while (s->posted_bytes < s->granted_bytes) {
    uint64_t index = s->posted_bytes / r->world->desc.fragment_bytes;
    uint64_t part_bytes = nbc__packets_part(r, s->limit_bytes - s->posted_bytes);
    unsigned char *target = (unsigned char *)s->remote_address + s->posted_bytes;
    if (r->world->desc.processes) target = NULL; /* by way of the slot */
    if (!nbc__packets_post_part(r, op, NBC__PACKET_FRAGMENT, part_bytes, target,
                                s->remote_id ? s->remote_id + index : 0))
      return false;
  }
  return true;
}

/* The sender's transfer begins here and ends with FIN: between them the receiver reads, and the
   sender learns of nothing. That is what makes the window of such a send as wide as it is. */
static bool nbc__packets_emit_request_read(nbc__packets_rank *r, nbc_op *op) {
  nbc__packet *p = nbc__packets_take(r, op->peer, NBC__PACKET_REQUEST_READ);
  if (!p) return false;
  p->tag = op->slot.tag;
  p->size_bytes = op->size_bytes;
  p->offset_bytes = p->part_bytes = 0;
  p->send_op = op;
  p->address = op->slot.buffer;
  p->xfer_id = op->slot.xfer_id = ++r->id_count;
  nbc__packets_begin(r, op->slot.xfer_id, op->size_bytes, NBC_KIND_ISEND);
  nbc__packets_publish_control(r, op->peer, p);
  return true;
}

/* Grants fragments up to granted_bytes; from here on they may be under way. */
static bool nbc__packets_emit_put(nbc__packets_rank *r, nbc_op *op) {
  nbc_op_slot *s = &op->slot;
  nbc__packet *p = nbc__packets_take(r, op->peer, NBC__PACKET_PUT);
  uint64_t index = s->posted_bytes / r->world->desc.fragment_bytes;
  if (!p) return false;
  p->send_op = (nbc_op *)s->remote_op;
  p->recv_op = op;
  p->address = s->buffer;
  p->xfer_id = s->xfer_id;
  p->limit_bytes = op->size_bytes;
  p->granted_bytes = s->granted_bytes;
  for (; s->posted_bytes < s->granted_bytes; index++) {
    uint64_t part_bytes = nbc__packets_part(r, op->size_bytes - s->posted_bytes);
    nbc__packets_begin(r, s->xfer_id + index, part_bytes, NBC_KIND_IRECV);
    s->posted_bytes += part_bytes;
  }
  s->started = true;
  nbc__packets_publish_control(r, op->peer, p);
  if (s->arrived_bytes >= op->size_bytes) nbc__packets_finish(r, op, nbc__packets_recv_status(op));
  return true;
}

static bool nbc__packets_emit_read(nbc__packets_rank *r, nbc_op *op) {
  nbc__job job;
  if (!nbc__packets_job_free(r)) return false;
  memset(&job, 0, sizeof job);
  job.source = op->slot.remote_address;
  job.target = op->slot.buffer;
  job.size_bytes = op->size_bytes;
  job.op = op;
  job.is_read = true;
  job.peer = op->peer;
  job.send_id = op->slot.remote_id;
  job.recv_id = ++r->id_count;
  nbc__packets_begin(r, job.recv_id, job.size_bytes, NBC_KIND_IRECV);
  nbc__packets_post(r, &job);
  return true;
}

static bool nbc__packets_emit_fin(nbc__packets_rank *r, nbc_op *op) {
  nbc__packet *p = nbc__packets_take(r, op->peer, NBC__PACKET_FIN);
  if (!p) return false;
  p->send_op = (nbc_op *)op->slot.remote_op;
  nbc__packets_publish_control(r, op->peer, p);
  nbc__packets_finish(r, op, nbc__packets_recv_status(op));
  return true;
}

static bool nbc__packets_emit(nbc__packets_rank *r, nbc_op *op) {
  switch (op->slot.kind) {
  case NBC__OP_EAGER: return nbc__packets_emit_eager(r, op);
  case NBC__OP_PIPELINED: return nbc__packets_emit_pipelined(r, op);
  case NBC__OP_READ: return nbc__packets_emit_request_read(r, op);
  case NBC__OP_RECV_PIPELINED: return nbc__packets_emit_put(r, op);
  case NBC__OP_RECV_READ: return nbc__packets_emit_read(r, op);
  default: return nbc__packets_emit_fin(r, op);
  }
}

/* An operation that cannot go on stays first: messages to one peer never overtake each other, which
   is what matching in order rests on. */
/* Posts what the queue to one peer holds, in order, until a resource is missing. */
static void nbc__packets_flush(nbc__packets_rank *r, int peer) {
  nbc__transport_fifo *out = &r->peers[peer].out;
  nbc_op *op;
  while ((op = out->first)) {
    /* out of the queue first: finishing uses the same link */
    nbc__transport_pop(out);
    op->slot.queued = false;
    r->waiting_count--;
    if (nbc__packets_emit(r, op)) continue;
    op->slot.queued = true;
    r->waiting_count++;
    op->slot.next = out->first;
    out->first = op;
    if (!out->last) out->last = op;
    return;
  }
}

/* ---- matching ------------------------------------------------------------------------------ */
/* Linear in what is posted, as in MPIs: lists are short where receives are posted in the order of
   messages. */
static nbc_op *nbc__packets_find(nbc__transport_fifo *fifo, uint64_t tag, nbc_op **before) {
  nbc_op *op;
  *before = NULL;
  for (op = fifo->first; op && op->slot.tag != tag; op = op->slot.next) *before = op;
  return op;
}

/* Of two candidates, one for this peer and one for any peer, the one posted first wins, by MPI's
   rule. */
/* The oldest posted receive for this message, taken out of its list. */
static nbc_op *nbc__packets_match(nbc__packets_rank *r, int peer, uint64_t tag) {
  nbc__transport_fifo *posted = &r->peers[peer].posted;
  nbc_op *before, *before_any;
  nbc_op *op = nbc__packets_find(posted, tag, &before);
  nbc_op *any = nbc__packets_find(&r->posted_any, tag, &before_any);
  if (any && (!op || any->slot.order < op->slot.order)) {
    nbc__transport_unlink(&r->posted_any, before_any, any);
    return any;
  }
  if (op) nbc__transport_unlink(posted, before, op);
  return op;
}

/* The oldest unexpected message from peer with this tag; *before as in nbc__packets_find. */
static nbc__unexpected *nbc__packets_find_unexpected(nbc__packets_peer *from, uint64_t tag,
                                                     nbc__unexpected **before) {
  nbc__unexpected *entry;
  *before = NULL;
  for (entry = from->first; entry && entry->packet.tag != tag; entry = entry->next) *before = entry;
  return entry;
}

/* Ties a receive to the message that *p announced. */
static void nbc__packets_bind(nbc__packets_rank *r, nbc_op *op, int peer, const nbc__packet *p) {
  nbc_op_slot *s = &op->slot;
  uint64_t room_bytes = s->limit_bytes, fragment_bytes = r->world->desc.fragment_bytes;
  op->peer = peer;
  op->size_bytes = p->size_bytes < room_bytes ? p->size_bytes : room_bytes;
  op->status = p->size_bytes > room_bytes ? NBC_E_TRUNCATED : NBC_PENDING;
  s->arrived_bytes = 0;
  s->remote_op = p->send_op;
  s->remote_address = p->address;
  s->remote_id = p->xfer_id;
  if (p->kind == NBC__PACKET_REQUEST_READ) s->kind = NBC__OP_RECV_READ;
  if (p->kind == NBC__PACKET_REQUEST) {
    s->kind = NBC__OP_RECV_PIPELINED;
    s->posted_bytes = nbc__packets_part(r, op->size_bytes);
    /* A range of ids is reserved at once: the sender names the transfer of each fragment by its
       place. */
    s->xfer_id = r->id_count + 1; /* one id per fragment; that of the first is not used */
    r->id_count += op->size_bytes / fragment_bytes + 1;
  }
}

/* What does not fit is dropped: the receive ends truncated, and the sender never learns of it. */
static void nbc__packets_deposit(nbc_op *op, uint64_t offset_bytes, const void *data,
                                 uint64_t bytes) {
  uint64_t room_bytes = op->size_bytes > offset_bytes ? op->size_bytes - offset_bytes : 0;
  uint64_t copy_bytes = bytes < room_bytes ? bytes : room_bytes;
  if (copy_bytes > 0)
    memcpy((unsigned char *)op->slot.buffer + offset_bytes, data, (size_t)copy_bytes);
}

/* The next grant: as many fragments beyond those that arrived as the pipeline is deep. */
static void nbc__packets_grant(nbc__packets_rank *r, nbc_op *op) {
  const nbc_threads_desc *desc = &r->world->desc;
  uint64_t arrived_bytes = op->slot.arrived_bytes, ahead = (uint64_t)desc->pipeline_depth;
  uint64_t left_bytes = op->size_bytes - arrived_bytes;
  op->slot.granted_bytes = left_bytes / desc->fragment_bytes < ahead
                               ? op->size_bytes
                               : arrived_bytes + ahead * desc->fragment_bytes;
  if (op->slot.granted_bytes > op->slot.posted_bytes || !op->slot.started)
    nbc__packets_queue(r, op);
}

/* After the first data (or the request) of a matched message has been taken over. */
static void nbc__packets_go_on(nbc__packets_rank *r, nbc_op *op, uint64_t arrived_bytes,
                               uint64_t message_bytes) {
  op->slot.arrived_bytes = arrived_bytes;
  if (op->slot.kind == NBC__OP_RECV) {
    if (arrived_bytes >= message_bytes) nbc__packets_finish(r, op, nbc__packets_recv_status(op));
  } else if (op->slot.kind == NBC__OP_RECV_PIPELINED) {
    if (op->slot.arrived_bytes > op->size_bytes) op->slot.arrived_bytes = op->size_bytes;
    nbc__packets_grant(r, op);
  } else
    nbc__packets_queue(r, op);
}

/* ---- arrivals ------------------------------------------------------------------------------ */
/* An unexpected message is copied out of its slot, for the slot is needed: the rest of an eager
   message follows into the same memory; of an announced one only the first fragment is here. */
static nbc_status nbc__packets_keep(nbc__packets_rank *r, int peer, const nbc__packet *p) {
  nbc__packets_peer *from = &r->peers[peer];
  uint64_t data_bytes = p->kind == NBC__PACKET_EAGER ? p->size_bytes : p->part_bytes;
  nbc__unexpected *entry;
  if (data_bytes > SIZE_MAX / 2) return NBC_E_NOMEM;
  entry = (nbc__unexpected *)NBC_MALLOC(sizeof *entry + (size_t)data_bytes);
  if (!entry) return NBC_E_NOMEM;
  entry->next = NULL;
  entry->packet = *p;
  entry->arrival_order = ++r->order_count;
  entry->arrived_bytes = p->part_bytes;
  entry->data = (unsigned char *)(entry + 1);
  if (p->part_bytes > 0)
    memcpy(entry->data, nbc__packets_payload(r->world, p), (size_t)p->part_bytes);
  if (from->last)
    from->last->next = entry;
  else
    from->first = entry;
  from->last = entry;
  if (p->kind == NBC__PACKET_EAGER && p->part_bytes < p->size_bytes) from->incoming_entry = entry;
  return NBC_OK;
}

/* The first packet of a message. */
static nbc_status nbc__packets_arrive(nbc__packets_rank *r, int peer, const nbc__packet *p) {
  nbc_op *op = nbc__packets_match(r, peer, p->tag);
  if (p->kind != NBC__PACKET_REQUEST_READ) nbc__packets_end_only(r, p->part_bytes); /* [O] case 3 */
  if (!op) return nbc__packets_keep(r, peer, p);
  nbc__packets_bind(r, op, peer, p);
  nbc__packets_deposit(op, 0, nbc__packets_payload(r->world, p), p->part_bytes);
  if (p->kind == NBC__PACKET_EAGER && p->part_bytes < p->size_bytes)
    r->peers[peer].incoming_op = op;
  nbc__packets_go_on(r, op, p->part_bytes, p->size_bytes);
  return NBC_OK;
}

/* The other parts of an eager message: they follow each other, nothing of the same kind between. */
static void nbc__packets_arrive_part(nbc__packets_rank *r, int peer, const nbc__packet *p) {
  nbc__packets_peer *from = &r->peers[peer];
  const unsigned char *data = nbc__packets_payload(r->world, p);
  uint64_t arrived_bytes = p->offset_bytes + p->part_bytes;
  nbc_op *op = from->incoming_op;
  nbc__packets_end_only(r, p->part_bytes);
  if (op) {
    nbc__packets_deposit(op, p->offset_bytes, data, p->part_bytes);
    if (arrived_bytes >= p->size_bytes) from->incoming_op = NULL;
    nbc__packets_go_on(r, op, arrived_bytes, p->size_bytes);
  } else {
    memcpy(from->incoming_entry->data + p->offset_bytes, data, (size_t)p->part_bytes);
    from->incoming_entry->arrived_bytes = arrived_bytes;
    if (arrived_bytes >= p->size_bytes) from->incoming_entry = NULL;
  }
}

/* A send is over when all its bytes are posted and none of its jobs is under way. limit_bytes is
   not known (UINT64_MAX) before the receiver said how much it takes. */
static void nbc__packets_check_sent(nbc__packets_rank *r, nbc_op *op) {
  if (op->slot.flying_count == 0 && op->slot.started &&
      op->slot.posted_bytes >= op->slot.limit_bytes)
    nbc__packets_finish(r, op, NBC_OK);
}

static void nbc__packets_granted(nbc__packets_rank *r, const nbc__packet *p) {
  nbc_op *op = p->send_op;
  op->slot.remote_op = p->recv_op;
  op->slot.remote_address = p->address;
  op->slot.remote_id = p->xfer_id;
  op->slot.limit_bytes = p->limit_bytes;
  op->slot.granted_bytes = p->granted_bytes;
  if (op->slot.posted_bytes < op->slot.granted_bytes)
    nbc__packets_queue(r, op);
  else
    nbc__packets_check_sent(r, op);
}

static nbc_status nbc__packets_handle(nbc__packets_rank *r, int peer, const nbc__packet *p) {
  nbc_op *op;
  switch (p->kind) {
  case NBC__PACKET_EAGER:
    if (p->offset_bytes == 0) return nbc__packets_arrive(r, peer, p);
    nbc__packets_arrive_part(r, peer, p);
    return NBC_OK;
  case NBC__PACKET_REQUEST:
  case NBC__PACKET_REQUEST_READ: return nbc__packets_arrive(r, peer, p);
  case NBC__PACKET_PUT: nbc__packets_granted(r, p); return NBC_OK;
  /* Between processes the data came by way of the slot, else straight into the user's buffer. */
  case NBC__PACKET_FRAGMENT:
    op = p->recv_op;
    if (r->world->desc.processes)
      nbc__packets_deposit(op, p->offset_bytes, nbc__packets_payload(r->world, p), p->part_bytes);
    nbc__packets_end(r, p->xfer_id);
    op->slot.arrived_bytes += p->part_bytes;
    if (op->slot.arrived_bytes >= op->size_bytes)
      nbc__packets_finish(r, op, nbc__packets_recv_status(op));
    else
      nbc__packets_grant(r, op);
    return NBC_OK;
  case NBC__PACKET_FIN:
    nbc__packets_end(r, p->send_op->slot.xfer_id);
    nbc__packets_finish(r, p->send_op, NBC_OK);
    return NBC_OK;
  }
  return NBC_E_TRANSPORT;
}

/* ---- progress ------------------------------------------------------------------------------ */
/* Jobs end in the order in which they were posted: one counter tells of all. */
static void nbc__packets_reap(nbc__packets_rank *r) {
  uint64_t done_count = __atomic_load_n(&r->ring->done_count, __ATOMIC_ACQUIRE);
  while (r->reaped_count < done_count) {
    const nbc__job *job = &r->ring->jobs[r->reaped_count % NBC__PACKETS_JOBS];
    nbc_op *op = job->op;
    if (!job->ended) nbc__packets_end(r, job->is_read ? job->recv_id : job->send_id);
    if (job->is_read) {
      op->slot.kind = NBC__OP_RECV_FIN;
      nbc__packets_queue(r, op);
    } else {
      op->slot.flying_count--;
      nbc__packets_check_sent(r, op);
    }
    r->reaped_count++;
  }
}

/* At most one ring's worth, so that one busy sender does not keep the others waiting. */
static nbc_status nbc__packets_receive(nbc__packets_rank *r, int peer) {
  nbc__packets_peer *from = &r->peers[peer];
  int i;
  for (i = 0; i < NBC__PACKETS_SLOTS; i++) {
    nbc__packet *p = nbc__packets_slot(r->world, peer, r->t.rank, true, from->tail_count);
    nbc_status status;
    if (__atomic_load_n(&p->state, __ATOMIC_ACQUIRE) !=
        nbc__packets_free_state(from->tail_count) + 1)
      return NBC_OK;
    if (p->t_visible_ns && nbc__packets_now(r) < p->t_visible_ns) return NBC_OK;
    if ((status = nbc__packets_handle(r, peer, p))) return status;
    from->tail_count++;
    if (r->world->release)
      r->world->release(r->world, peer, p);
    else
      __atomic_store_n(&p->state, p->state + 1, __ATOMIC_RELEASE);
  }
  return NBC_OK;
}

static nbc_status nbc__packets_progress(void *ctx) {
  nbc__packets_rank *r = (nbc__packets_rank *)ctx;
  nbc_status status = NBC_OK;
  nbc_op *op;
  int peer;
  if (r->in_progress) return NBC_OK; /* called from a completion */
  r->in_progress = true;
  if (r->world->poll) r->world->poll(r->world);
  nbc__packets_reap(r);
  for (peer = 0; peer < r->t.size && status == NBC_OK; peer++)
    status = nbc__packets_receive(r, peer);
  for (peer = 0; peer < r->t.size && r->waiting_count > 0; peer++) nbc__packets_flush(r, peer);
  while ((op = nbc__transport_pop(&r->finished))) nbc__transport_finish(op);
  r->in_progress = false;
  if (status == NBC_OK && __atomic_load_n(&r->world->shared->failed, __ATOMIC_RELAXED))
    status = NBC_E_PEER;
  return status;
}

/* ---- posting ------------------------------------------------------------------------------- */
static nbc_status nbc__packets_isend(void *ctx, const void *buffer, uint64_t size_bytes, int peer,
                                     uint64_t tag, nbc_op *op) {
  nbc__packets_rank *r = (nbc__packets_rank *)ctx;
  const nbc_threads_desc *desc = &r->world->desc;
  nbc_protocol protocol = desc->protocol;
  if (protocol == NBC_PROTOCOL_AUTO)
    protocol = size_bytes <= desc->eager_limit_bytes ? NBC_PROTOCOL_EAGER : desc->large;
  nbc__transport_prepare(op, peer);
  op->size_bytes = size_bytes;
  op->slot.buffer = (void *)(uintptr_t)buffer; /* only read from */
  op->slot.tag = tag;
  op->slot.limit_bytes = protocol == NBC_PROTOCOL_EAGER ? size_bytes : UINT64_MAX;
  op->slot.kind = protocol == NBC_PROTOCOL_EAGER       ? NBC__OP_EAGER
                  : protocol == NBC_PROTOCOL_PIPELINED ? NBC__OP_PIPELINED
                                                       : NBC__OP_READ;
  nbc__packets_queue(r, op);
  nbc__packets_flush(r, peer);
  return NBC_OK;
}

/* The oldest unexpected message for a receive: from one peer, or from any. */
static nbc__unexpected *nbc__packets_take_unexpected(nbc__packets_rank *r, int peer, uint64_t tag,
                                                     int *source) {
  nbc__unexpected *best = NULL, *best_before = NULL;
  nbc__packets_peer *from;
  int i, last = peer == NBC_ANY_PEER ? r->t.size - 1 : peer;
  for (i = peer == NBC_ANY_PEER ? 0 : peer; i <= last; i++) {
    nbc__unexpected *before, *entry = nbc__packets_find_unexpected(&r->peers[i], tag, &before);
    if (!entry || (best && best->arrival_order < entry->arrival_order)) continue;
    best = entry, best_before = before, *source = i;
  }
  if (!best) return NULL;
  from = &r->peers[*source];
  if (best_before)
    best_before->next = best->next;
  else
    from->first = best->next;
  if (from->last == best) from->last = best_before;
  return best;
}

static nbc_status nbc__packets_irecv(void *ctx, void *buffer, uint64_t size_bytes, int peer,
                                     uint64_t tag, nbc_op *op) {
  nbc__packets_rank *r = (nbc__packets_rank *)ctx;
  nbc__unexpected *entry;
  int source = 0;
  nbc__transport_prepare(op, peer);
  op->slot.buffer = buffer;
  op->slot.limit_bytes = size_bytes;
  op->slot.tag = tag;
  op->slot.kind = NBC__OP_RECV;
  op->slot.order = ++r->order_count;
  entry = nbc__packets_take_unexpected(r, peer, tag, &source);
  if (!entry) {
    nbc__transport_push(peer == NBC_ANY_PEER ? &r->posted_any : &r->peers[peer].posted, op);
    return NBC_OK;
  }
  nbc__packets_bind(r, op, source, &entry->packet);
  nbc__packets_deposit(op, 0, entry->data, entry->arrived_bytes);
  if (r->peers[source].incoming_entry == entry) {
    r->peers[source].incoming_entry = NULL;
    r->peers[source].incoming_op = op;
  }
  nbc__packets_go_on(r, op, entry->arrived_bytes, entry->packet.size_bytes);
  NBC_FREE(entry);
  nbc__packets_flush(r, source);
  return NBC_OK;
}

static nbc_status nbc__packets_cancel(void *ctx, nbc_op *op) {
  nbc__packets_rank *r = (nbc__packets_rank *)ctx;
  bool found = op->peer == NBC_ANY_PEER ? nbc__transport_remove(&r->posted_any, op)
                                        : nbc__transport_remove(&r->peers[op->peer].posted, op);
  if (!found) return NBC_E_STATE; /* a send, or matched already */
  nbc__packets_finish(r, op, NBC_E_CANCELLED);
  return NBC_OK;
}

/* ---- the world ----------------------------------------------------------------------------- */
NBC__PRIVATE nbc_status nbc__packets_defaults(nbc_threads_desc *desc) {
  if (desc->size == 0) desc->size = 2;
  if (desc->large == NBC_PROTOCOL_AUTO)
    desc->large = desc->processes ? NBC_PROTOCOL_PIPELINED : NBC_PROTOCOL_DIRECT_READ;
  if (desc->eager_limit_bytes == 0) desc->eager_limit_bytes = 8 << 10;
  if (desc->fragment_bytes == 0) desc->fragment_bytes = 64 << 10;
  if (desc->pipeline_depth == 0) desc->pipeline_depth = 2;
  if (desc->size < 0 || desc->size > NBC__PACKETS_MAX_RANKS || (int)desc->protocol < 0 ||
      desc->protocol > NBC_PROTOCOL_DIRECT_READ || (int)desc->large < 0 ||
      desc->large > NBC_PROTOCOL_DIRECT_READ || desc->fragment_bytes > 1 << 30 ||
      desc->pipeline_depth < 0 || !(desc->link_bytes_per_s >= 0) || desc->link_bytes_per_s > 1e15 ||
      desc->link_latency_ns < 0 || desc->link_latency_ns > 3600 * (int64_t)1000000000 ||
      (desc->processes && (desc->dma || desc->protocol == NBC_PROTOCOL_DIRECT_READ ||
                           desc->large == NBC_PROTOCOL_DIRECT_READ)) ||
      (desc->dma && desc->clock &&
       desc->clock->source == NBC_CLOCK_USER)) /* which sleeps in real time */
    return NBC_E_INVAL;
  return NBC_OK;
}

/* Lays out the region: struct, job rings, packets, payload, stamps. */
NBC__PRIVATE void nbc__packets_contract(nbc__packets_rank *r, int rank) {
  r->t.name = r->world->desc.processes ? "processes" : "threads";
  r->t.help = r->world->desc.processes ? "ranks are processes that share memory"
                                       : "ranks are threads of one process";
  r->t.ctx = r;
  r->t.rank = rank;
  r->t.size = r->world->desc.size;
  r->t.any_peer = true;
  r->t.now_ns = nbc__packets_now;
  r->t.isend = nbc__packets_isend;
  r->t.irecv = nbc__packets_irecv;
  r->t.progress = nbc__packets_progress;
  r->t.cancel = nbc__packets_cancel;
  r->t.peer_class = nbc__packets_peer_class;
  r->t.same_clock = nbc__packets_same_clock;
}

/* Messages that nobody received. */
NBC__PRIVATE void nbc__packets_free_unexpected(nbc__packets_peer *peers, size_t count) {
  size_t i;
  for (i = 0; i < count; i++) {
    nbc__unexpected *entry = peers[i].first, *next;
    for (; entry; entry = next) next = entry->next, NBC_FREE(entry);
  }
}
#ifdef NBC_LINES
#line 1 "src/transport/threads.c"
#endif
/* threads.c: ranks as threads: the transport that needs nothing. */



/* ---- the DMA thread ------------------------------------------------------------------------ */
/* One link for all ranks. Ranks with work take turns, one chunk each; the jobs of one rank go in
   order. The link is busy for bytes / link_bytes_per_s per chunk; a job is delivered
   link_latency_ns after its last chunk, while the link carries others.
   The link keeps its own time: it takes up a chunk when the job is posted and the chunk before has
   passed, however late this thread wakes up to do the copy; so being late does not add up.
   Deliveries are never early, and on time as long as this thread finds a core: a sleep ends some 30
   us late, so the last NBC__DMA_SPIN_NS before a delivery are polled. */
enum { NBC__DMA_SPIN_NS = 40000 };

typedef struct nbc__dma_flight {
  int rank;
  int64_t t_due_ns;
} nbc__dma_flight;

typedef struct nbc__dma {
  nbc_threads *world;
  uint64_t *taken_count, *copied_bytes; /* [size]: jobs fully copied; bytes of the next one */
  nbc__dma_flight *flights;             /* ring of size * JOBS: copied, not delivered */
  uint64_t flight_first_count, flight_last_count;
  int turn;
  int64_t t_link_free_ns;
  uint64_t chunk_bytes;
} nbc__dma;

static nbc__dma_flight *nbc__dma_flight_at(nbc__dma *d, uint64_t count) {
  return &d->flights[count % ((uint64_t)d->world->desc.size * NBC__PACKETS_JOBS)];
}

static void nbc__dma_stamp(nbc__packets_shared *s, int poster, const nbc__job *job,
                           int64_t t_end_ns) {
  nbc_true_stamp *stamp;
  pthread_mutex_lock(&s->mutex);
  stamp = &s->stamps[s->stamp_last_count % NBC__PACKETS_STAMPS];
  stamp->src = job->is_read ? job->peer : poster;
  stamp->dst = job->is_read ? poster : job->peer;
  stamp->sequence = s->stamp_last_count++;
  stamp->size_bytes = job->size_bytes;
  stamp->t_begin_ns = job->t_begin_ns;
  stamp->t_end_ns = t_end_ns;
  stamp->send_xfer_id = job->send_id;
  stamp->recv_xfer_id = job->recv_id;
  if (s->stamp_last_count - s->stamp_first_count > NBC__PACKETS_STAMPS) s->stamp_first_count++;
  pthread_mutex_unlock(&s->mutex);
}

/* Delivers what is due: stamp, packet, completion, in that order, so that who sees one has the
   others. */
static void nbc__dma_deliver(nbc__dma *d, int64_t t_now_ns) {
  while (d->flight_first_count < d->flight_last_count) {
    const nbc__dma_flight *flight = nbc__dma_flight_at(d, d->flight_first_count);
    nbc__job_ring *ring = &d->world->shared->rings[flight->rank];
    uint64_t done_count = __atomic_load_n(&ring->done_count, __ATOMIC_RELAXED);
    const nbc__job *job = &ring->jobs[done_count % NBC__PACKETS_JOBS];
    if (flight->t_due_ns > t_now_ns) return;
    nbc__dma_stamp(d->world->shared, flight->rank, job, nbc_clock_now_ns(&d->world->clock));
    if (job->packet) nbc__packets_publish(d->world, job->peer, job->packet);
    __atomic_store_n(&ring->done_count, done_count + 1, __ATOMIC_RELEASE);
    d->flight_first_count++;
  }
}

/* The next rank, in turn, with a job to copy; -1 when there is none. */
static int nbc__dma_next(nbc__dma *d) {
  int i;
  for (i = 0; i < d->world->desc.size; i++) {
    int rank = (d->turn + i) % d->world->desc.size;
    nbc__job_ring *ring = &d->world->shared->rings[rank];
    if (__atomic_load_n(&ring->posted_count, __ATOMIC_SEQ_CST) != d->taken_count[rank]) return rank;
  }
  return -1;
}

static void nbc__dma_copy_chunk(nbc__dma *d, int rank) {
  const nbc_threads_desc *desc = &d->world->desc;
  nbc__job *job = &d->world->shared->rings[rank].jobs[d->taken_count[rank] % NBC__PACKETS_JOBS];
  uint64_t at_bytes = d->copied_bytes[rank], left_bytes = job->size_bytes - at_bytes;
  uint64_t bytes = left_bytes < d->chunk_bytes ? left_bytes : d->chunk_bytes;
  if (d->t_link_free_ns < job->t_post_ns) d->t_link_free_ns = job->t_post_ns;
  if (at_bytes == 0) job->t_begin_ns = d->t_link_free_ns;
  if (bytes > 0)
    memcpy((unsigned char *)job->target + at_bytes, (const unsigned char *)job->source + at_bytes,
           (size_t)bytes);
  if (desc->link_bytes_per_s > 0)
    d->t_link_free_ns += (int64_t)((double)bytes * 1e9 / desc->link_bytes_per_s);
  else
    d->t_link_free_ns = nbc_clock_now_ns(&d->world->clock);
  d->turn = (rank + 1) % desc->size;
  d->copied_bytes[rank] += bytes;
  if (d->copied_bytes[rank] < job->size_bytes) return;
  d->taken_count[rank]++;
  d->copied_bytes[rank] = 0;
  nbc__dma_flight_at(d, d->flight_last_count)->rank = rank;
  nbc__dma_flight_at(d, d->flight_last_count++)->t_due_ns =
      d->t_link_free_ns + desc->link_latency_ns;
}

/* Sleeps until t_wake_ns (INT64_MAX: until a job is posted); with `for_jobs`, a new job ends it
   early. */
static void nbc__dma_sleep(nbc__dma *d, int64_t t_wake_ns, bool for_jobs) {
  nbc__packets_shared *s = d->world->shared;
  struct timespec until;
  if (!for_jobs) {
    int64_t d_ns = t_wake_ns - nbc_clock_now_ns(&d->world->clock);
    if (d_ns <= 0) return;
    until.tv_sec = (time_t)(d_ns / 1000000000);
    until.tv_nsec = (long)(d_ns % 1000000000);
    nanosleep(&until, NULL);
    return;
  }
  pthread_mutex_lock(&s->mutex);
  __atomic_store_n(&s->asleep, 1, __ATOMIC_SEQ_CST);
  if (nbc__dma_next(d) < 0 && !__atomic_load_n(&s->stop, __ATOMIC_SEQ_CST)) {
    if (t_wake_ns == INT64_MAX)
      pthread_cond_wait(&s->cond, &s->mutex);
    else {
      int64_t d_ns = t_wake_ns - nbc_clock_now_ns(&d->world->clock);
      clock_gettime(CLOCK_MONOTONIC, &until);
      d_ns += until.tv_nsec;
      until.tv_sec += (time_t)(d_ns / 1000000000);
      until.tv_nsec = (long)(d_ns % 1000000000);
      if (d_ns > 0) pthread_cond_timedwait(&s->cond, &s->mutex, &until);
    }
  }
  __atomic_store_n(&s->asleep, 0, __ATOMIC_SEQ_CST);
  pthread_mutex_unlock(&s->mutex);
}

static void *nbc__dma_main(void *arg) {
  nbc__dma *d = (nbc__dma *)arg;
  struct sched_param before_others;
#ifdef PR_SET_TIMERSLACK
  prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0); /* the default of 50 us is longer than many transfers */
#endif
  memset(&before_others, 0, sizeof before_others);
  before_others.sched_priority = sched_get_priority_min(SCHED_FIFO);
  /* A NIC does not compete for cores: so it goes first, where that is allowed. */
  pthread_setschedparam(pthread_self(), SCHED_FIFO, &before_others);
  while (!__atomic_load_n(&d->world->shared->stop, __ATOMIC_ACQUIRE)) {
    int64_t t_now_ns = nbc_clock_now_ns(&d->world->clock), t_wake_ns;
    int rank;
    nbc__dma_deliver(d, t_now_ns);
    rank = nbc__dma_next(d);
    if (rank >= 0 && d->t_link_free_ns <= t_now_ns) {
      nbc__dma_copy_chunk(d, rank);
      continue;
    }
    t_wake_ns = INT64_MAX;
    if (d->flight_first_count < d->flight_last_count) {
      t_wake_ns = nbc__dma_flight_at(d, d->flight_first_count)->t_due_ns - NBC__DMA_SPIN_NS;
      if (t_wake_ns <= t_now_ns) continue;
    }
    if (rank >= 0 && d->t_link_free_ns < t_wake_ns) t_wake_ns = d->t_link_free_ns;
    nbc__dma_sleep(d, t_wake_ns, rank < 0);
  }
  NBC_FREE(d);
  return NULL;
}

static nbc_status nbc__dma_start(nbc_threads *w) {
  size_t size = (size_t)w->desc.size;
  size_t bytes = sizeof(nbc__dma) +
                 size * (2 * sizeof(uint64_t) + NBC__PACKETS_JOBS * sizeof(nbc__dma_flight));
  nbc__dma *d = (nbc__dma *)NBC_MALLOC(bytes);
  if (!d) return NBC_E_NOMEM;
  memset(d, 0, bytes);
  d->world = w;
  d->taken_count = (uint64_t *)(void *)(d + 1);
  d->copied_bytes = d->taken_count + size;
  d->flights = (nbc__dma_flight *)(void *)(d->copied_bytes + size);
  d->chunk_bytes = 64 << 10;
  if (w->desc.link_bytes_per_s > 0) { /* what the link carries in 100 us */
    double chunk_bytes = w->desc.link_bytes_per_s * 100e-6;
    d->chunk_bytes = chunk_bytes < 4096      ? 4096
                     : chunk_bytes > 1 << 20 ? 1 << 20
                                             : (uint64_t)chunk_bytes;
  }
  if (pthread_create(&w->dma_thread, NULL, nbc__dma_main, d)) {
    NBC_FREE(d);
    return NBC_E_THREAD;
  }
  w->dma_running = true;
  return NBC_OK;
}

static void nbc__dma_stop(nbc_threads *w) {
  nbc__packets_shared *s = w->shared;
  pthread_mutex_lock(&s->mutex);
  __atomic_store_n(&s->stop, 1, __ATOMIC_SEQ_CST);
  pthread_cond_signal(&s->cond);
  pthread_mutex_unlock(&s->mutex);
  pthread_join(w->dma_thread, NULL);
}

static nbc_status nbc__threads_map(nbc_threads *w) {
  size_t size = (size_t)w->desc.size, packet_count = size * size * NBC__PACKETS_SLOTS;
  size_t rings_at = (sizeof(nbc__packets_shared) + 127) & ~(size_t)127;
  size_t packets_at = rings_at + ((size * sizeof(nbc__job_ring) + 127) & ~(size_t)127);
  size_t stamps_at = packets_at + packet_count * sizeof(nbc__packet);
  size_t payload_at = stamps_at + (w->desc.dma ? NBC__PACKETS_STAMPS * sizeof(nbc_true_stamp) : 0);
  nbc__packets_shared *s;
  void *region;
  if (w->desc.fragment_bytes > (SIZE_MAX / 4) / packet_count) return NBC_E_NOMEM;
  w->shared_bytes = payload_at + packet_count * (size_t)w->desc.fragment_bytes;
  region =
      mmap(NULL, w->shared_bytes, PROT_READ | PROT_WRITE,
           (w->desc.processes ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (region == MAP_FAILED) return NBC_E_NOMEM;
  w->shared = s = (nbc__packets_shared *)region;
  s->rings = (nbc__job_ring *)(void *)((char *)region + rings_at);
  s->packets = (nbc__packet *)(void *)((char *)region + packets_at);
  s->payload = (unsigned char *)region + payload_at;
  if (w->desc.dma) s->stamps = (nbc_true_stamp *)(void *)((char *)region + stamps_at);
  return NBC_OK;
}

static nbc_status nbc__threads_locks(nbc__packets_shared *s) {
  pthread_condattr_t attr;
  if (pthread_condattr_init(&attr)) return NBC_E_THREAD;
  pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  pthread_mutex_init(&s->mutex, NULL);
  pthread_cond_init(&s->cond, &attr);
  pthread_condattr_destroy(&attr);
  return NBC_OK;
}

static nbc_status nbc__threads_ranks(nbc_threads *w) {
  size_t size = (size_t)w->desc.size;
  size_t bytes = size * sizeof(nbc__packets_rank) + size * size * sizeof(nbc__packets_peer);
  nbc__packets_peer *peers;
  int i;
  w->ranks = (nbc__packets_rank *)NBC_MALLOC(bytes);
  if (!w->ranks) return NBC_E_NOMEM;
  memset(w->ranks, 0, bytes);
  peers = (nbc__packets_peer *)(void *)(w->ranks + size);
  for (i = 0; i < w->desc.size; i++) {
    nbc__packets_rank *r = &w->ranks[i];
    r->world = w;
    r->ring = &w->shared->rings[i];
    r->peers = peers + (size_t)i * size;
    nbc__packets_contract(r, i);
  }
  return NBC_OK;
}

NBC_API nbc_status nbc_threads_create(const nbc_threads_desc *desc, nbc_threads **world) {
  nbc_threads *w;
  nbc_status status;
  if (!world) return NBC_E_INVAL;
  *world = NULL;
  w = (nbc_threads *)NBC_MALLOC(sizeof *w);
  if (!w) return NBC_E_NOMEM;
  memset(w, 0, sizeof *w);
  if (desc) w->desc = *desc;
  status = nbc__packets_defaults(&w->desc);
  if (!status && w->desc.clock)
    w->clock = *w->desc.clock;
  else if (!status)
    status = nbc_clock_create(NULL, &w->clock);
  w->desc.clock = &w->clock;
  if (!status) status = nbc__threads_map(w);
  if (!status) status = nbc__threads_locks(w->shared);
  if (!status) status = nbc__threads_ranks(w);
  if (!status && w->desc.dma) status = nbc__dma_start(w);
  if (status)
    nbc_threads_destroy(w);
  else
    *world = w;
  return status;
}

NBC_API void nbc_threads_destroy(nbc_threads *world) {
  if (!world) return;
  if (world->dma_running) nbc__dma_stop(world);
  if (world->ranks) {
    nbc__packets_free_unexpected(world->ranks[0].peers,
                                 (size_t)world->desc.size * (size_t)world->desc.size);
    pthread_cond_destroy(&world->shared->cond);
    pthread_mutex_destroy(&world->shared->mutex);
  }
  if (world->shared) munmap(world->shared, world->shared_bytes);
  NBC_FREE(world->ranks);
  NBC_FREE(world);
}

NBC_API nbc_threads_desc nbc_threads_desc_of(const nbc_threads *world) {
  nbc_threads_desc none;
  memset(&none, 0, sizeof none);
  return world ? world->desc : none;
}

NBC_API nbc_transport *nbc_threads_rank(nbc_threads *world, int rank) {
  return world && rank >= 0 && rank < world->desc.size ? &world->ranks[rank].t : NULL;
}

typedef struct nbc__threads_start {
  nbc_threads *world;
  int rank;
  nbc_rank_fn fn;
  void *user;
  nbc_status *first_error;
  pthread_t thread;
} nbc__threads_start;

static void *nbc__threads_main(void *arg) {
  nbc__threads_start *start = (nbc__threads_start *)arg;
  nbc_status status = start->fn(nbc_threads_rank(start->world, start->rank), start->user);
  /* the first to fail is the cause; the others then see NBC_E_PEER instead of waiting for ever */
  if (status && !__atomic_exchange_n(&start->world->shared->failed, 1, __ATOMIC_ACQ_REL))
    *start->first_error = status;
  return NULL;
}

/* ---- ranks as processes -------------------------------------------------------------------- */
static void nbc__threads_give_up(nbc__packets_shared *s, nbc_status status) {
  if (!__atomic_exchange_n(&s->failed, 1, __ATOMIC_ACQ_REL))
    __atomic_store_n(&s->first_error, (int32_t)status, __ATOMIC_RELEASE);
}

static void nbc__threads_child(nbc_threads *w, int rank, nbc_rank_fn fn, void *user) {
  nbc_status status;
#ifdef PR_SET_PDEATHSIG
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); /* nobody would be left to wait for it */
#endif
  status = fn(nbc_threads_rank(w, rank), user);
  if (status) nbc__threads_give_up(w->shared, status);
  w->shared->rings[rank].finished = 1;
  fflush(NULL);
  _exit(0);
}

/* Leftovers of an earlier run: the parent's view of the ranks is still that of the beginning. */
static void nbc__threads_renew(nbc_threads *w) {
  size_t i, packet_count = (size_t)w->desc.size * (size_t)w->desc.size * NBC__PACKETS_SLOTS;
  for (i = 0; i < packet_count; i++) w->shared->packets[i].state = 0;
  for (i = 0; i < (size_t)w->desc.size; i++)
    w->shared->rings[i].posted_count = w->shared->rings[i].done_count =
        w->shared->rings[i].finished = 0;
  w->shared->failed = 0;
  w->shared->first_error = NBC_OK;
}

/* Waits for every child; one that ends before its fn does is given up by the others. */
static void nbc__threads_reap_children(nbc_threads *w, pid_t *pids, int count) {
  int i, left_count = count, code;
  while (left_count > 0) {
    struct timespec nap = {0, 1000000};
    for (i = 0; i < count; i++) {
      pid_t pid = pids[i] > 0 ? waitpid(pids[i], &code, WNOHANG) : 0;
      if (pid == 0 || (pid < 0 && errno == EINTR)) continue;
      if (!w->shared->rings[i].finished) nbc__threads_give_up(w->shared, NBC_E_PEER);
      pids[i] = 0;
      left_count--;
    }
    if (left_count > 0) nanosleep(&nap, NULL);
  }
}

static nbc_status nbc__threads_fork(nbc_threads *w, nbc_rank_fn fn, void *user) {
  pid_t *pids = (pid_t *)NBC_MALLOC((size_t)w->desc.size * sizeof *pids);
  int i;
  if (!pids) return NBC_E_NOMEM;
  nbc__threads_renew(w);
  fflush(NULL); /* else children would write it again */
  for (i = 0; i < w->desc.size; i++) {
    pids[i] = fork();
    if (pids[i] == 0) nbc__threads_child(w, i, fn, user);
    if (pids[i] < 0) break;
  }
  if (i < w->desc.size) nbc__threads_give_up(w->shared, NBC_E_THREAD);
  nbc__threads_reap_children(w, pids, i);
  NBC_FREE(pids);
  return (nbc_status)__atomic_load_n(&w->shared->first_error, __ATOMIC_ACQUIRE);
}

NBC_API nbc_status nbc_threads_run(nbc_threads *world, nbc_rank_fn fn, void *user) {
  nbc__threads_start *starts;
  nbc_status first_error = NBC_OK;
  int i, started_count;
  if (!world || !fn) return NBC_E_INVAL;
  if (world->desc.processes) return nbc__threads_fork(world, fn, user);
  starts = (nbc__threads_start *)NBC_MALLOC((size_t)world->desc.size * sizeof *starts);
  if (!starts) return NBC_E_NOMEM;
  for (i = 0; i < world->desc.size; i++) {
    starts[i].world = world;
    starts[i].rank = i;
    starts[i].fn = fn;
    starts[i].user = user;
    starts[i].first_error = &first_error;
    if (pthread_create(&starts[i].thread, NULL, nbc__threads_main, &starts[i])) break;
  }
  started_count = i;
  if (started_count < world->desc.size &&
      !__atomic_exchange_n(&world->shared->failed, 1, __ATOMIC_ACQ_REL))
    first_error = NBC_E_THREAD;
  for (i = 0; i < started_count; i++) pthread_join(starts[i].thread, NULL);
  NBC_FREE(starts);
  return first_error;
}

NBC_API size_t nbc_threads_stamps(nbc_threads *world, nbc_true_stamp *stamps, size_t max) {
  size_t count = 0;
  nbc__packets_shared *s;
  if (!world || !stamps || !world->desc.dma) return 0;
  s = world->shared;
  pthread_mutex_lock(&s->mutex);
  while (count < max && s->stamp_first_count < s->stamp_last_count)
    stamps[count++] = s->stamps[s->stamp_first_count++ % NBC__PACKETS_STAMPS];
  pthread_mutex_unlock(&s->mutex);
  return count;
}
#ifdef NBC_LINES
#line 6 "src/transport/shared.h"
#endif
#ifdef NBC_WITH_MPI
/* The sender of a pair alone writes `head_bytes`, the receiver alone `tail_bytes`: each publishes with a
   release what the other acquires, so there is no lock. Both count without wrapping. */
typedef struct nbc__shared_ring {
  uint64_t head_bytes; /* atomic: written so far */
  uint64_t pad1_bytes[7];
  uint64_t tail_bytes; /* atomic: read so far */
  uint64_t pad2_bytes[7];
} nbc__shared_ring;

/* One side's view of a ring. */
typedef struct nbc__shared_end {
  nbc__shared_ring *ring; /* its bytes follow it; NULL: no memory is shared with this peer */
  uint64_t own_bytes;     /* what this side has counted */
  uint64_t other_bytes;   /* what the other side was last seen to have counted */
} nbc__shared_end;

typedef struct nbc__shared {
  unsigned char *base; /* NULL: nothing is shared */
  size_t all_bytes;
  uint64_t ring_bytes; /* of one ring: a power of 2 */
  int size;
} nbc__shared;

/* What the maker tells the others. */
typedef struct nbc__shared_card {
  uint64_t token[2];
  int pid, fd, size; /* fd < 0: there is no memory */
} nbc__shared_card;

NBC__PRIVATE void nbc__shared_make(nbc__shared *s, int size, nbc__shared_card *card);
NBC__PRIVATE void nbc__shared_join(nbc__shared *s, const nbc__shared_card *card);
NBC__PRIVATE void nbc__shared_leave(nbc__shared *s);
NBC__PRIVATE nbc__shared_end nbc__shared_open(const nbc__shared *s, int from, int to);
NBC__PRIVATE uint64_t nbc__shared_most_bytes(const nbc__shared *s);
NBC__PRIVATE bool nbc__shared_put(const nbc__shared *s, nbc__shared_end *e, const void *header,
                                  size_t header_bytes, const void *data, size_t data_bytes);
NBC__PRIVATE bool nbc__shared_peek(const nbc__shared *s, nbc__shared_end *e, void *header,
                                   size_t header_bytes);
NBC__PRIVATE size_t nbc__shared_arrived(nbc__shared_end *e, size_t at_bytes, size_t bytes);
NBC__PRIVATE void nbc__shared_copy(const nbc__shared *s, const nbc__shared_end *e, size_t at_bytes,
                                   void *to, size_t bytes);
NBC__PRIVATE void nbc__shared_release(nbc__shared_end *e, size_t bytes);
#endif
#ifdef NBC_LINES
#line 1 "src/transport/shared.c"
#endif
/* shared.c: memory that the ranks of a node share: rings of messages. */


/* ============================================================================================== */
/* [MPI] 13. The transport over MPI                                                               */
/* ============================================================================================== */
#ifdef NBC_WITH_MPI
/* A file that is in memory only and has no name: it is gone when the last process that mapped it is. The
   others open it by way of its maker's descriptor; what they find there must begin with the token
   that the maker told them. Its room is taken at once: a file that grows later would end a process
   by a signal when memory runs out. */
enum {
  NBC__SHARED_STEP = 64, /* messages begin on cache lines */
  NBC__SHARED_PAGE = 4096,
  NBC__SHARED_PIECE = 8192, /* published at once */
  NBC__SHARED_MOST_RANKS = 128,
  NBC__SHARED_MOST_BYTES = 16 << 20, /* of all rings, as long as each has */
  NBC__SHARED_LEAST_RING = 4096,
  NBC__SHARED_MOST_RING = 64 << 10
};

static uint64_t nbc__shared_stride(const nbc__shared *s) {
  return sizeof(nbc__shared_ring) + s->ring_bytes;
}

static void nbc__shared_layout(nbc__shared *s, int size) {
  const uint64_t pairs = (uint64_t)size * (uint64_t)size;
  s->size = size;
  s->ring_bytes = NBC__SHARED_MOST_RING;
  while (s->ring_bytes > NBC__SHARED_LEAST_RING && s->ring_bytes * pairs > NBC__SHARED_MOST_BYTES)
    s->ring_bytes /= 2;
  s->all_bytes = (size_t)(NBC__SHARED_PAGE + pairs * nbc__shared_stride(s));
}

#  ifdef SYS_memfd_create
static bool nbc__shared_map(nbc__shared *s, int fd) {
  const int at_once = s->all_bytes <= 4 << 20 ? MAP_POPULATE : 0;
  void *const base = mmap(NULL, s->all_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | at_once, fd, 0);
  s->base = base == MAP_FAILED ? NULL : (unsigned char *)base;
  return s->base != NULL;
}
#  endif

/* For `size` ranks. card->fd < 0: it cannot be had. */
NBC__PRIVATE void nbc__shared_make(nbc__shared *s, int size, nbc__shared_card *card) {
  memset(s, 0, sizeof *s);
  memset(card, 0, sizeof *card);
  card->fd = -1;
  card->size = size;
  card->pid = (int)getpid();
#  ifdef SYS_memfd_create
  if (size < 2 || size > NBC__SHARED_MOST_RANKS) return;
  const int fd = (int)syscall(SYS_memfd_create, "nbc_ranks_of_a_node", 1u /* close on exec */);
  if (fd < 0) return;
  nbc__shared_layout(s, size);
  if (posix_fallocate(fd, 0, (off_t)s->all_bytes) == 0 && nbc__shared_map(s, fd)) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    card->token[0] = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
    card->token[1] = (uint64_t)(uintptr_t)s->base ^ (uint64_t)card->pid << 40;
    memcpy(s->base, card->token, sizeof card->token);
    card->fd = fd; /* until all have it */
  } else {
    close(fd);
  }
#  endif
}

NBC__PRIVATE void nbc__shared_join(nbc__shared *s, const nbc__shared_card *card) {
  memset(s, 0, sizeof *s);
  if (card->fd < 0) return;
#  ifdef SYS_memfd_create
  char path[64];
  struct stat about;
  nbc__shared_layout(s, card->size);
  snprintf(path, sizeof path, "/proc/%d/fd/%d", card->pid, card->fd);
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  /* In containers the number may be another process's: look before mapping. */
  uint64_t token[2] = {0, 0};
  if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode) &&
      (uint64_t)about.st_size == (uint64_t)s->all_bytes &&
      pread(fd, token, sizeof token, 0) == (ssize_t)sizeof token &&
      memcmp(token, card->token, sizeof token) == 0)
    (void)nbc__shared_map(s, fd);
  close(fd);
#  endif
}

NBC__PRIVATE void nbc__shared_leave(nbc__shared *s) {
  if (s->base) munmap(s->base, s->all_bytes);
  s->base = NULL;
}

NBC__PRIVATE nbc__shared_end nbc__shared_open(const nbc__shared *s, int from, int to) {
  nbc__shared_end e = {NULL, 0, 0};
  const uint64_t pair = (uint64_t)from * (uint64_t)s->size + (uint64_t)to;
  if (s->base)
    e.ring =
        (nbc__shared_ring *)(void *)(s->base + NBC__SHARED_PAGE + pair * nbc__shared_stride(s));
  return e;
}

/* What a message may have, its header included: several have room. */
NBC__PRIVATE uint64_t nbc__shared_most_bytes(const nbc__shared *s) { return s->ring_bytes / 3; }

static uint64_t nbc__shared_room(size_t bytes) {
  return ((uint64_t)bytes + NBC__SHARED_STEP - 1) & ~(uint64_t)(NBC__SHARED_STEP - 1);
}

/* In both directions: the part up to the ring's end, then the rest from its beginning. Counts
   grow without end; a count's place is its lowest bits, so a ring's length must be a power of 2.

     | free | tail: message | message | first pieces of one | head: free |

     sender     own_bytes is the head, other_bytes the tail as last seen: there may be more room
     receiver   own_bytes is the tail, other_bytes the head as last seen: there may be more to read
*/
static void nbc__shared_write(const nbc__shared *s, const nbc__shared_end *e, uint64_t at,
                              const void *from, size_t bytes) {
  unsigned char *const ring = (unsigned char *)(e->ring + 1);
  const size_t place = (size_t)(at & (s->ring_bytes - 1)), left = (size_t)s->ring_bytes - place;
  const size_t first = bytes < left ? bytes : left;
  if (first) memcpy(ring + place, from, first);
  if (bytes > first) memcpy(ring, (const unsigned char *)from + first, bytes - first);
}
static void nbc__shared_read(const nbc__shared *s, const nbc__shared_end *e, uint64_t at, void *to,
                             size_t bytes) {
  const unsigned char *const ring = (const unsigned char *)(e->ring + 1);
  const size_t place = (size_t)(at & (s->ring_bytes - 1)), left = (size_t)s->ring_bytes - place;
  const size_t first = bytes < left ? bytes : left;
  if (first) memcpy(to, ring + place, first);
  if (bytes > first) memcpy((unsigned char *)to + first, ring, bytes - first);
}

/* False: there is no room now. Long ones are published piece by piece: the receiver copies the
   first while the next is written. The first piece is published with the whole header, which
   nbc__shared_peek relies on, and only when there is room for all: a receiver that has seen a
   beginning will see the end without doing anything. The other side's counter is read, a cache
   line that is mostly the other core's, only when what was last seen of it is not enough. */
NBC__PRIVATE bool nbc__shared_put(const nbc__shared *s, nbc__shared_end *e, const void *header,
                                  size_t header_bytes, const void *data, size_t data_bytes) {
  const uint64_t bytes = nbc__shared_room(header_bytes + data_bytes);
  if (e->own_bytes + bytes - e->other_bytes > s->ring_bytes) {
    e->other_bytes = __atomic_load_n(&e->ring->tail_bytes, __ATOMIC_ACQUIRE);
    if (e->own_bytes + bytes - e->other_bytes > s->ring_bytes) return false;
  }
  nbc__shared_write(s, e, e->own_bytes, header, header_bytes);
  for (size_t at = 0; at < data_bytes; at += NBC__SHARED_PIECE) {
    const size_t left = data_bytes - at;
    const bool is_last = left <= NBC__SHARED_PIECE;
    nbc__shared_write(s, e, e->own_bytes + header_bytes + at, (const unsigned char *)data + at,
                      is_last ? left : (size_t)NBC__SHARED_PIECE);
    if (is_last) break;
    __atomic_store_n(&e->ring->head_bytes, e->own_bytes + header_bytes + at + NBC__SHARED_PIECE,
                     __ATOMIC_RELEASE);
  }
  e->own_bytes += bytes;
  __atomic_store_n(&e->ring->head_bytes, e->own_bytes, __ATOMIC_RELEASE);
  return true;
}

/* The header of the next message; false: there is none. */
NBC__PRIVATE bool nbc__shared_peek(const nbc__shared *s, nbc__shared_end *e, void *header,
                                   size_t header_bytes) {
  if (e->own_bytes == e->other_bytes) {
    e->other_bytes = __atomic_load_n(&e->ring->head_bytes, __ATOMIC_ACQUIRE);
    if (e->own_bytes == e->other_bytes) return false;
  }
  nbc__shared_read(s, e, e->own_bytes, header, header_bytes);
  return true;
}

/* How many more of its `bytes` (header and data) are there, beyond the first at_bytes. */
NBC__PRIVATE size_t nbc__shared_arrived(nbc__shared_end *e, size_t at_bytes, size_t bytes) {
  if (e->other_bytes - e->own_bytes < bytes)
    e->other_bytes = __atomic_load_n(&e->ring->head_bytes, __ATOMIC_ACQUIRE);
  const uint64_t there = e->other_bytes - e->own_bytes;
  return (there < bytes ? (size_t)there : bytes) - at_bytes;
}

NBC__PRIVATE void nbc__shared_copy(const nbc__shared *s, const nbc__shared_end *e, size_t at_bytes,
                                   void *to, size_t bytes) {
  nbc__shared_read(s, e, e->own_bytes + at_bytes, to, bytes);
}

/* The whole message has been copied: its room is the sender's again. */
NBC__PRIVATE void nbc__shared_release(nbc__shared_end *e, size_t bytes) {
  e->own_bytes += nbc__shared_room(bytes);
  __atomic_store_n(&e->ring->tail_bytes, e->own_bytes, __ATOMIC_RELEASE);
}
#endif /* NBC_WITH_MPI */
#ifdef NBC_LINES
#line 63 "src/transport/mpi.h"
#endif
#ifdef NBC_WITH_MPI
NBC__PRIVATE bool nbc__mpi_lock_all(void);
NBC__PRIVATE void nbc__mpi_unlock_all(void);
#endif
#ifdef NBC_LINES
#line 1 "src/transport/mpi.c"
#endif
/* mpi.c: the transport over MPI (with NBC_WITH_MPI). */





#ifdef NBC_WITH_MPI
/* Headers travel under MPI tag 0 and are received by a ring of persistent receives, in the order in
   which MPI matched them. A message's data has a tag of its own, so it needs no matching order.

     sender                                       receiver
     up to 4000 bytes: header + data    -------->  ring -> its receive, or kept in peer->first
     longer:           header, data_tag -------->  ring -> its receive, then MPI_Irecv of data_tag
                       data, in pieces  -------->          straight into the receiver's buffer
     one node, up to a third of a ring: header + data through shared memory, else header there, data
                                        by MPI; all by MPI while there is no room

   So the headers of a pair take two ways, which have two orders. Each header has its number among those
   of its sender to its receiver: one that came by MPI before an earlier one has left the shared memory
   waits in peer->early, and the shared memory is not read on while an earlier one is missing. */
enum { NBC__MPI_RING = 16, NBC__MPI_INLINE = 4000, NBC__MPI_HEADER_TAG = 0 };

typedef struct nbc__mpi_header {
  uint64_t tag, size_bytes;
  int32_t data_tag; /* 0: the data follows in this message */
  uint32_t number;  /* of this sender's messages to this receiver; begins again after 2^32 */
} nbc__mpi_header;

/* A header and, behind it, its data, when short: being received, being sent, or waiting for its receive. */
typedef struct nbc__mpi_packet {
  struct nbc__mpi_packet *next;
  uint64_t arrival_index, xfer_id, room_bytes; /* room: of the data */
  nbc__mpi_header header;
} nbc__mpi_packet;

typedef struct nbc__mpi_coming { /* a message in shared memory of which not all is there yet */
  nbc__mpi_header header;
  size_t at_bytes;         /* copied, its header included; 0: there is none */
  nbc_op *op;              /* its receive, */
  nbc__mpi_packet *packet; /* or where it is kept */
} nbc__mpi_coming;

typedef struct nbc__mpi_peer {
  nbc__transport_fifo posted;
  nbc__mpi_packet *first, *last;       /* arrived, not wanted yet */
  nbc__mpi_packet *early, *last_early; /* came by MPI before earlier ones, in order */
  uint32_t sent_count, taken_count;    /* messages to it, and from it */
  nbc__shared_end out, in;             /* where memory is shared with it */
  nbc__mpi_coming coming;
} nbc__mpi_peer;

typedef struct nbc__mpi_owner { /* of a request: an operation, or a packet that is being sent */
  nbc_op *op;
  nbc__mpi_packet *packet;
} nbc__mpi_owner;

typedef struct nbc__mpi {
  nbc__transport_own own;
  nbc_clock clock;
  MPI_Comm comm;
  bool funneled;      /* only `main` calls MPI */
  bool messages_only; /* no shared memory */
  pthread_t main;
  pthread_mutex_t mutex;
  int tag_limit, next_data_tag;
  uint64_t piece_bytes, order, arrival_count, xfer_count;
  nbc__mpi_peer *peers; /* [size] */
  nbc_peer *classes;    /* [size] */
  int *nodes;           /* [size] the lowest rank of each one's node */
  int *clock_of;        /* [size]: the rank whose clock it is */
  nbc__shared shared;   /* with the ranks of this node */
  int *near;            /* [size]: those, near_count of them */
  int near_count;
  bool has_gap;                             /* shared memory waits for what comes by MPI */
  unsigned look_count;                      /* into shared memory */
  nbc__transport_fifo any, submitted, done; /* receives for any peer; waiting for main; finished */
  nbc__mpi_packet *ring[NBC__MPI_RING], *spare, *spare_large;
  MPI_Request ring_requests[NBC__MPI_RING];
  int ring_first, ring_count, stale_count; /* stale: before the first, not yet started again */
  MPI_Request *requests;                   /* active; owners, indices and statuses belong to it */
  nbc__mpi_owner *owners;
  int *indices;
  MPI_Status *statuses;
  int active_count, active_limit;
  bool hurried;    /* the last progress only delivered what was finished */
  bool delivering; /* a thread is running `done` of what is finished: no other does */
  pthread_t user;  /* who used it last: others() of that thread drives it */
  struct nbc__mpi *next_alive;
  uint64_t walk; /* the last of nbc__mpi_others that drove it */
  nbc_status failed;
  char error[MPI_MAX_ERROR_STRING + 1];
} nbc__mpi;

/* All transports of this process; the one thing that this piece keeps beside its objects. */
static struct {
  pthread_mutex_t mutex;
  nbc__mpi *first;
  uint64_t walk_count;
} nbc__mpi_alive = {PTHREAD_MUTEX_INITIALIZER, NULL, 0};

/* The first failure of MPI itself makes the transport unusable and is kept. */
static nbc_status nbc__mpi_fail(nbc__mpi *m, int code) {
  int length = 0;
  if (m->failed) return m->failed;
  m->failed = NBC_E_TRANSPORT;
  if (MPI_Error_string(code, m->error, &length))
    snprintf(m->error, sizeof m->error, "MPI error %d", code);
  return m->failed;
}

static nbc_status nbc__mpi_nomem(nbc__mpi *m) {
  if (!m->failed) snprintf(m->error, sizeof m->error, "%s", nbc_status_text(NBC_E_NOMEM));
  return m->failed ? m->failed : (m->failed = NBC_E_NOMEM);
}

static bool nbc__mpi_may_call(const nbc__mpi *m) {
  return !m->funneled || pthread_equal(m->main, pthread_self());
}

/* ---- what the recorder hears --------------------------------------------------------------- */
static void nbc__mpi_begin(nbc__mpi *m, nbc_op *op, uint64_t size_bytes, nbc_kind kind) {
  if (!m->own.t.recorder) return;
  op->slot.xfer_id = ++m->xfer_count;
  nbc__transport_xfer_begin(&m->own.t, op->slot.xfer_id, size_bytes, kind, m->classes[op->peer]);
}

static void nbc__mpi_end(nbc__mpi *m, uint64_t xfer_id) {
  if (xfer_id) nbc__transport_xfer_end(&m->own.t, xfer_id);
}

/* A short message: nobody here saw it begin. */
static void nbc__mpi_end_only(nbc__mpi *m, const nbc_op *op) {
  nbc__transport_xfer_end_only(&m->own.t, op->size_bytes, m->classes[op->peer]);
}

/* ---- requests ------------------------------------------------------------------------------ */
static void *nbc__mpi_larger(void *old, size_t old_bytes, size_t new_bytes) {
  void *block = NBC_MALLOC(new_bytes);
  if (block && old_bytes) memcpy(block, old, old_bytes);
  if (block) NBC_FREE(old);
  return block;
}

/* Room for one more request, its owner, and what MPI_Testsome says about it. */
static bool nbc__mpi_reserve(nbc__mpi *m) {
  size_t had = (size_t)m->active_limit, limit = had ? 2 * had : 64;
  void *block;
  if (m->active_count < m->active_limit) return true;
  if (limit > INT32_MAX) return false;
#  define NBC__MPI_GROW(array)                                                                     \
    if (!(block = nbc__mpi_larger(array, had * sizeof *array, limit * sizeof *array)))             \
      return false;                                                                                \
    memcpy(&array, &block, sizeof block)
  NBC__MPI_GROW(m->requests);
  NBC__MPI_GROW(m->owners);
  NBC__MPI_GROW(m->indices);
  NBC__MPI_GROW(m->statuses);
#  undef NBC__MPI_GROW
  m->active_limit = (int)limit;
  return true;
}

/* A request belongs to an operation or to a packet, never to both: nbc__mpi_test_requests tells by
   `packet` which of them ends. An operation is over with the last of its pieces (flying_count). */
static nbc_status nbc__mpi_post(nbc__mpi *m, bool receive, void *buffer, uint64_t size_bytes,
                                int peer, int tag, nbc_op *op, nbc__mpi_packet *packet) {
  int code;
  if (!nbc__mpi_reserve(m)) return nbc__mpi_nomem(m);
  code = receive ? MPI_Irecv(buffer, (int)size_bytes, MPI_BYTE, peer, tag, m->comm,
                             &m->requests[m->active_count])
                 : MPI_Isend(buffer, (int)size_bytes, MPI_BYTE, peer, tag, m->comm,
                             &m->requests[m->active_count]);
  if (code) return nbc__mpi_fail(m, code);
  m->owners[m->active_count].op = op;
  m->owners[m->active_count++].packet = packet;
  if (op) op->slot.flying_count++;
  return NBC_OK;
}

static unsigned char *nbc__mpi_packet_data(nbc__mpi_packet *packet) {
  return (unsigned char *)(packet + 1);
}

/* Two sizes: what goes in a message of MPI, and what goes through shared memory. */
static nbc__mpi_packet *nbc__mpi_packet_take(nbc__mpi *m, uint64_t data_bytes) {
  const bool is_large = data_bytes > NBC__MPI_INLINE;
  nbc__mpi_packet **const spares = is_large ? &m->spare_large : &m->spare;
  nbc__mpi_packet *packet = *spares;
  const uint64_t room_bytes =
      is_large ? nbc__shared_most_bytes(&m->shared) : (uint64_t)NBC__MPI_INLINE;
  if (packet)
    *spares = packet->next;
  else if ((packet = (nbc__mpi_packet *)NBC_MALLOC(sizeof *packet + (size_t)room_bytes)))
    packet->room_bytes = room_bytes;
  if (packet) packet->next = NULL, packet->xfer_id = 0;
  return packet;
}

static void nbc__mpi_packet_give(nbc__mpi *m, nbc__mpi_packet *packet) {
  nbc__mpi_packet **const spares =
      packet->room_bytes > NBC__MPI_INLINE ? &m->spare_large : &m->spare;
  packet->next = *spares;
  *spares = packet;
}

/* ---- sending ------------------------------------------------------------------------------- */
/* The packet just posted: short ones are mostly gone at once, and then need not be asked about
   again. Before anything else is posted: the packet must be the last request, which alone leaves
   without a gap. */
static nbc_status nbc__mpi_look_at_last(nbc__mpi *m) {
  const int last = m->active_count - 1;
  int over = 0;
  const int code = MPI_Test(&m->requests[last], &over, MPI_STATUS_IGNORE);
  if (code) return nbc__mpi_fail(m, code);
  if (!over) return NBC_OK;
  m->active_count = last;
  nbc__mpi_end(m, m->owners[last].packet->xfer_id);
  nbc__mpi_packet_give(m, m->owners[last].packet);
  return NBC_OK;
}

/* One count for all peers. A tag comes back after tag_limit long sends, 32767 at least [MPI
   3.2.3]: two messages under way to one peer with one tag would exchange their pieces. */
static int nbc__mpi_next_data_tag(nbc__mpi *m) {
  const int tag = m->next_data_tag;
  m->next_data_tag = tag < m->tag_limit ? tag + 1 : 1;
  return tag;
}

/* The data of a long message, behind its header. All pieces have one tag: MPI receives them in
   the order in which they were sent [MPI 3.5], so the n-th goes into the n-th receive of
   nbc__mpi_start_data. Both sides cut alike: piece_bytes must be the same in all ranks. */
static nbc_status nbc__mpi_send_data(nbc__mpi *m, nbc_op *op, int data_tag) {
  const uint64_t size_bytes = op->slot.limit_bytes;
  unsigned char *const data = (unsigned char *)op->slot.buffer;
  nbc_status status = NBC_OK;
  for (uint64_t at_bytes = 0; !status && at_bytes < size_bytes; at_bytes += m->piece_bytes) {
    const uint64_t left_bytes = size_bytes - at_bytes;
    status = nbc__mpi_post(m, false, data + at_bytes,
                           left_bytes < m->piece_bytes ? left_bytes : m->piece_bytes, op->peer,
                           data_tag, op, NULL);
  }
  return status;
}

static nbc_status nbc__mpi_send_packet(nbc__mpi *m, nbc_op *op) {
  const uint64_t size_bytes = op->slot.limit_bytes;
  const bool is_short = size_bytes <= NBC__MPI_INLINE;
  nbc__mpi_packet *const packet = nbc__mpi_packet_take(m, 0);
  if (!packet) return nbc__mpi_nomem(m);
  packet->header.tag = op->slot.tag;
  packet->header.size_bytes = size_bytes;
  packet->header.data_tag = is_short ? 0 : nbc__mpi_next_data_tag(m);
  packet->header.number = m->peers[op->peer].sent_count++;
  if (is_short && size_bytes > 0)
    memcpy(nbc__mpi_packet_data(packet), op->slot.buffer, (size_t)size_bytes);
  if (is_short) packet->xfer_id = op->slot.xfer_id; /* ends when MPI has sent it, op now */
  const int data_tag = packet->header.data_tag;     /* the packet may be given back below */
  nbc_status status =
      nbc__mpi_post(m, false, &packet->header, sizeof packet->header + (is_short ? size_bytes : 0),
                    op->peer, NBC__MPI_HEADER_TAG, NULL, packet);
  if (!status) status = nbc__mpi_look_at_last(m);
  if (!status && is_short) nbc__transport_push(&m->done, op);
  if (!status && !is_short) status = nbc__mpi_send_data(m, op, data_tag);
  return status;
}

/* By way of shared memory. *sent false: there is no room in it now, and nothing was taken. */
static nbc_status nbc__mpi_send_shared(nbc__mpi *m, nbc_op *op, bool *sent) {
  nbc__mpi_peer *const peer = &m->peers[op->peer];
  nbc__mpi_header header;
  const uint64_t size_bytes = op->slot.limit_bytes;
  const bool is_short = size_bytes <= nbc__shared_most_bytes(&m->shared) - sizeof header;
  header.tag = op->slot.tag;
  header.size_bytes = size_bytes;
  header.data_tag = is_short ? 0 : m->next_data_tag;
  header.number = peer->sent_count;
  *sent = nbc__shared_put(&m->shared, &peer->out, &header, sizeof header, op->slot.buffer,
                          is_short ? (size_t)size_bytes : 0);
  if (!*sent) return NBC_OK;
  peer->sent_count++;
  if (!is_short) return nbc__mpi_send_data(m, op, nbc__mpi_next_data_tag(m));
  nbc__mpi_end(m, op->slot.xfer_id);
  nbc__transport_push(&m->done, op);
  return NBC_OK;
}

/* A send never waits for room: its receiver may be looking for messages of the program's own only,
   which the sender has yet to send. */
static nbc_status nbc__mpi_start_send(nbc__mpi *m, nbc_op *op) {
  bool sent = false;
  if (m->peers[op->peer].out.ring) {
    const nbc_status status = nbc__mpi_send_shared(m, op, &sent);
    if (status || sent) return status;
  }
  return nbc__mpi_send_packet(m, op);
}

/* ---- receiving ----------------------------------------------------------------------------- */
/* The data of a long message: into the receiver's buffer, and what has no room there into one
   that is thrown away. A piece larger than its receive would be an error of MPI's, so the first
   piece that does not fit whole goes into `spill` with all that follow; nbc__mpi_unspill fetches
   its beginning.

     sent      | piece | piece | piece | pie|
     room      | piece | piece | pi|
     received  |    buffer     |    spill   |        fit_bytes: two pieces
*/
static nbc_status nbc__mpi_start_data(nbc__mpi *m, nbc_op *op) {
  uint64_t size_bytes = op->slot.posted_bytes, limit_bytes = op->slot.limit_bytes, at_bytes;
  uint64_t fit_bytes = limit_bytes - limit_bytes % m->piece_bytes; /* whole pieces that fit */
  unsigned char *data = (unsigned char *)op->slot.buffer, *spill = NULL;
  nbc_status status = NBC_OK;
  if (size_bytes > limit_bytes) {
    spill = size_bytes - fit_bytes < SIZE_MAX
                ? (unsigned char *)NBC_MALLOC((size_t)(size_bytes - fit_bytes))
                : NULL;
    if (!spill) return nbc__mpi_nomem(m);
    op->slot.remote_address = spill;
  }
  for (at_bytes = 0; !status && at_bytes < size_bytes; at_bytes += m->piece_bytes) {
    uint64_t left_bytes = size_bytes - at_bytes;
    unsigned char *to =
        spill && at_bytes >= fit_bytes ? spill + (at_bytes - fit_bytes) : data + at_bytes;
    status = nbc__mpi_post(m, true, to, left_bytes < m->piece_bytes ? left_bytes : m->piece_bytes,
                           op->peer, (int)op->slot.remote_id, op, NULL);
  }
  return status;
}

/* All pieces are here: the last bytes that had room. */
static void nbc__mpi_unspill(const nbc__mpi *m, nbc_op *op) {
  uint64_t rest_bytes = op->slot.limit_bytes % m->piece_bytes;
  if (!op->slot.remote_address) return;
  if (rest_bytes > 0)
    memcpy((unsigned char *)op->slot.buffer + (op->slot.limit_bytes - rest_bytes),
           op->slot.remote_address, (size_t)rest_bytes);
  NBC_FREE(op->slot.remote_address);
  op->slot.remote_address = NULL;
}

/* A receive and its message have met: how much of it is wanted. */
static void nbc__mpi_meet(nbc_op *op, int peer, const nbc__mpi_header *header) {
  op->peer = peer;
  op->size_bytes =
      header->size_bytes < op->slot.limit_bytes ? header->size_bytes : op->slot.limit_bytes;
  op->status = header->size_bytes > op->slot.limit_bytes ? NBC_E_TRUNCATED : NBC_OK;
}

/* And what came with the header is in the receiver's buffer. */
static nbc_status nbc__mpi_met(nbc__mpi *m, nbc_op *op, const nbc__mpi_header *header) {
  if (header->data_tag == 0) {
    nbc__mpi_end_only(m, op);
    nbc__transport_push(&m->done, op);
    return NBC_OK;
  }
  op->slot.posted_bytes = header->size_bytes;
  op->slot.remote_id = (uint64_t)header->data_tag;
  nbc__mpi_begin(m, op, op->size_bytes, NBC_KIND_IRECV);
  if (nbc__mpi_may_call(m)) return nbc__mpi_start_data(m, op);
  nbc__transport_push(&m->submitted, op);
  return NBC_OK;
}

static nbc_status nbc__mpi_meet_packet(nbc__mpi *m, nbc_op *op, int peer, nbc__mpi_packet *packet) {
  nbc__mpi_meet(op, peer, &packet->header);
  if (packet->header.data_tag == 0 && op->size_bytes > 0)
    memcpy(op->slot.buffer, nbc__mpi_packet_data(packet), (size_t)op->size_bytes);
  return nbc__mpi_met(m, op, &packet->header);
}

/* Queues are in posting order, so the first with the tag is the oldest [MPI 3.5]. */
static nbc_op *nbc__mpi_first_with(const nbc__transport_fifo *fifo, uint64_t tag, nbc_op **before) {
  nbc_op *op;
  *before = NULL;
  for (op = fifo->first; op && op->slot.tag != tag; op = op->slot.next) *before = op;
  return op;
}

/* The receive posted first among those for this peer and those for any. Each queue gives its
   oldest; `order`, one count for both, tells which of the two was posted first. */
static nbc_op *nbc__mpi_match(nbc__mpi *m, int peer, uint64_t tag) {
  nbc_op *before, *before_any;
  nbc_op *op = nbc__mpi_first_with(&m->peers[peer].posted, tag, &before);
  nbc_op *any = nbc__mpi_first_with(&m->any, tag, &before_any);
  if (any && (!op || any->slot.order < op->slot.order)) {
    nbc__transport_unlink(&m->any, before_any, any);
    return any;
  }
  if (op) nbc__transport_unlink(&m->peers[peer].posted, before, op);
  return op;
}

/* Takes the message that arrived first among those of this peer, or of any: then *peer is set. */
static nbc__mpi_packet *nbc__mpi_waiting(nbc__mpi *m, int *peer, uint64_t tag) {
  int from = *peer == NBC_ANY_PEER ? 0 : *peer,
      to = *peer == NBC_ANY_PEER ? m->own.t.size - 1 : *peer;
  nbc__mpi_packet *best = NULL, *before_best = NULL;
  for (; from <= to; from++) {
    nbc__mpi_packet *before = NULL, *at = m->peers[from].first;
    while (at && at->header.tag != tag) before = at, at = at->next;
    if (!at || (best && at->arrival_index > best->arrival_index)) continue;
    best = at, before_best = before;
    *peer = from;
  }
  if (!best) return NULL;
  if (before_best)
    before_best->next = best->next;
  else
    m->peers[*peer].first = best->next;
  if (m->peers[*peer].last == best) m->peers[*peer].last = before_best;
  return best;
}

static void nbc__mpi_append(nbc__mpi_packet **first, nbc__mpi_packet **last,
                            nbc__mpi_packet *packet) {
  packet->next = NULL;
  if (*last)
    (*last)->next = packet;
  else
    *first = packet;
  *last = packet;
}

/* It came before its receive. */
static void nbc__mpi_keep(nbc__mpi *m, int from, nbc__mpi_packet *packet) {
  packet->arrival_index = m->arrival_count++;
  nbc__mpi_append(&m->peers[from].first, &m->peers[from].last, packet);
}

/* A message is there, and is the next of its sender: to its receive, or kept. The packet is used up. */
static nbc_status nbc__mpi_take_packet(nbc__mpi *m, int from, nbc__mpi_packet *packet) {
  nbc_op *const op = nbc__mpi_match(m, from, packet->header.tag);
  if (!op) {
    nbc__mpi_keep(m, from, packet);
    return NBC_OK;
  }
  const nbc_status status = nbc__mpi_meet_packet(m, op, from, packet);
  nbc__mpi_packet_give(m, packet);
  return status;
}

/* One of its messages was taken: those behind it that came before it. */
static nbc_status nbc__mpi_taken(nbc__mpi *m, int from) {
  nbc__mpi_peer *const peer = &m->peers[from];
  nbc_status status = NBC_OK;
  peer->taken_count++;
  while (!status && peer->early && peer->early->header.number == peer->taken_count) {
    nbc__mpi_packet *const packet = peer->early;
    peer->early = packet->next;
    if (!peer->early) peer->last_early = NULL;
    peer->taken_count++;
    status = nbc__mpi_take_packet(m, from, packet);
  }
  return status;
}

/* A message is there: into its receive, or where it is kept. */
static nbc_status nbc__mpi_begin_coming(nbc__mpi *m, int from, nbc__mpi_coming *c) {
  c->packet = NULL;
  if ((c->op = nbc__mpi_match(m, from, c->header.tag)))
    nbc__mpi_meet(c->op, from, &c->header);
  else if (!(c->packet = nbc__mpi_packet_take(m, c->header.data_tag ? 0 : c->header.size_bytes)))
    return nbc__mpi_nomem(m);
  c->at_bytes = sizeof c->header;
  return NBC_OK;
}

/* All of it was copied. Its receive may have been posted since it began: nbc__mpi_irecv does not
   see a message that is half here, and waits in `posted`. Without a second look both would wait
   for ever. */
static nbc_status nbc__mpi_end_coming(nbc__mpi *m, int from, nbc__mpi_coming *c) {
  c->at_bytes = 0;
  if (c->op) return nbc__mpi_met(m, c->op, &c->header);
  nbc__mpi_packet *const packet = c->packet;
  c->packet = NULL;
  packet->header = c->header;
  return nbc__mpi_take_packet(m, from, packet);
}

/* What is there of it; what has no room in its receive is left. Bytes count as taken all the
   same, and the ring's room is given back for the whole message at once. ret whether that is all */
static bool nbc__mpi_copy_coming(nbc__mpi *m, nbc__shared_end *in, nbc__mpi_coming *c) {
  const size_t data_bytes = c->header.data_tag ? 0 : (size_t)c->header.size_bytes;
  const size_t all_bytes = sizeof c->header + data_bytes, at_bytes = c->at_bytes - sizeof c->header;
  const size_t bytes = nbc__shared_arrived(in, c->at_bytes, all_bytes);
  const size_t wanted_bytes = c->op ? (size_t)c->op->size_bytes : data_bytes;
  const size_t room_bytes = wanted_bytes > at_bytes ? wanted_bytes - at_bytes : 0;
  unsigned char *const to =
      c->op ? (unsigned char *)c->op->slot.buffer : nbc__mpi_packet_data(c->packet);
  const size_t copied_bytes = bytes < room_bytes ? bytes : room_bytes;
  if (copied_bytes > 0 && data_bytes > 0)
    nbc__shared_copy(&m->shared, in, c->at_bytes, to + at_bytes, copied_bytes);
  c->at_bytes += bytes;
  if (c->at_bytes < all_bytes) return false;
  nbc__shared_release(in, all_bytes);
  return true;
}

/* Shared memory with one peer: at most as much as it has room for, so that a busy one does not keep the
   others waiting. hurry: until something is finished. */
static nbc_status nbc__mpi_take_shared_of(nbc__mpi *m, int from, bool hurry) {
  nbc__shared_end *const in = &m->peers[from].in;
  nbc__mpi_coming *const c = &m->peers[from].coming;
  const uint64_t most_bytes = in->own_bytes + m->shared.ring_bytes;
  nbc_status status = NBC_OK;
  while (!status && in->own_bytes < most_bytes && !(hurry && m->done.first)) {
    if (!c->at_bytes) {
      if (!nbc__shared_peek(&m->shared, in, &c->header, sizeof c->header)) break;
      if (c->header.number != m->peers[from].taken_count) {
        m->has_gap = true;
        break;
      }
      if ((status = nbc__mpi_begin_coming(m, from, c))) break;
    }
    if (!nbc__mpi_copy_coming(m, in, c)) break;
    status = nbc__mpi_end_coming(m, from, c);
    if (!status) status = nbc__mpi_taken(m, from);
  }
  return status;
}
static nbc_status nbc__mpi_take_shared(nbc__mpi *m, bool hurry) {
  nbc_status status = NBC_OK;
  m->has_gap = false;
  for (int i = 0; i < m->near_count && !status && !(hurry && m->done.first); i++)
    status = nbc__mpi_take_shared_of(m, m->near[i], hurry);
  return status;
}

/* Taken headers' receives go on after their messages were delivered, not before. */
static nbc_status nbc__mpi_restart(nbc__mpi *m) {
  for (; m->stale_count > 0; m->stale_count--) {
    const int k = (m->ring_first + NBC__MPI_RING - m->stale_count) % NBC__MPI_RING;
    const int code = MPI_Start(&m->ring_requests[k]);
    if (code) return nbc__mpi_fail(m, code);
  }
  return NBC_OK;
}

/* One that came by MPI, in a packet of the ring, which stays there. */
static nbc_status nbc__mpi_take_header(nbc__mpi *m, int from, nbc__mpi_packet *packet) {
  nbc__mpi_peer *const peer = &m->peers[from];
  const bool is_early = peer->in.ring && packet->header.number != peer->taken_count;
  nbc_op *const op = is_early ? NULL : nbc__mpi_match(m, from, packet->header.tag);
  if (op) {
    const nbc_status status = nbc__mpi_meet_packet(m, op, from, packet);
    return status ? status : nbc__mpi_taken(m, from);
  }
  nbc__mpi_packet *const fresh = nbc__mpi_packet_take(m, 0);
  if (!fresh) return nbc__mpi_nomem(m);
  fresh->header = packet->header;
  if (!packet->header.data_tag)
    memcpy(nbc__mpi_packet_data(fresh), nbc__mpi_packet_data(packet),
           (size_t)packet->header.size_bytes);
  if (is_early) {
    nbc__mpi_append(&peer->early, &peer->last_early, fresh);
    return NBC_OK;
  }
  nbc__mpi_keep(m, from, fresh);
  return nbc__mpi_taken(m, from);
}

/* Headers in the order in which MPI matched them, so that messages of one peer do not overtake.
   hurry: until something is finished. MPI matches a message with the receive started first [MPI
   3.5]. Receives are started in the order of the ring, each behind all others, so the one at
   ring_first is always the oldest; only that one is tested, even where a later one is complete.

     stale, to be started | ring_first: oldest .......... newest |      (round the ring)
*/
static nbc_status nbc__mpi_take_headers(nbc__mpi *m, bool hurry) {
  for (;;) {
    int k = m->ring_first, flag = 0, code;
    nbc_status status = NBC_OK;
    MPI_Status from;
    if ((status = nbc__mpi_restart(m))) return status;
    if ((code = MPI_Test(&m->ring_requests[k], &flag, &from))) return nbc__mpi_fail(m, code);
    if (!flag) return NBC_OK;
    status = nbc__mpi_take_header(m, from.MPI_SOURCE, m->ring[k]);
    m->ring_first = (k + 1) % NBC__MPI_RING;
    m->stale_count++;
    if (status) return status;
    if (hurry && m->done.first) return NBC_OK;
  }
}

static nbc_status nbc__mpi_test_requests(nbc__mpi *m) {
  int i, kept_count = 0, done_count = 0, code;
  if (m->active_count == 0) return NBC_OK;
  code = MPI_Testsome(m->active_count, m->requests, &done_count, m->indices, m->statuses);
  if (code && code != MPI_ERR_IN_STATUS) return nbc__mpi_fail(m, code);
  if (done_count == MPI_UNDEFINED) done_count = 0;
  for (i = 0; i < done_count; i++) {
    nbc__mpi_owner *owner = &m->owners[m->indices[i]];
    if (code && m->statuses[i].MPI_ERROR && m->statuses[i].MPI_ERROR != MPI_ERR_PENDING)
      return nbc__mpi_fail(m, m->statuses[i].MPI_ERROR);
    if (owner->packet) {
      nbc__mpi_end(m, owner->packet->xfer_id);
      nbc__mpi_packet_give(m, owner->packet);
    } else if (--owner->op->slot.flying_count == 0) {
      nbc__mpi_unspill(m, owner->op);
      nbc__mpi_end(m, owner->op->slot.xfer_id);
      nbc__transport_push(&m->done, owner->op);
    }
  }
  /* Closes the gaps: completed ones are MPI_REQUEST_NULL now. Here, before `done` runs: a callback may
     post, which adds at the end. */
  for (i = 0; done_count > 0 && i < m->active_count; i++)
    if (m->requests[i] != MPI_REQUEST_NULL) {
      m->owners[kept_count] = m->owners[i];
      m->requests[kept_count++] = m->requests[i];
    }
  if (done_count > 0) m->active_count = kept_count;
  return NBC_OK;
}

/* Where all share memory, nothing comes from MPI but the data of long messages and what had no room. It is
   asked now and then all the same, for the latter and because who waits here drives what the program
   has under way there. */
enum { NBC__MPI_LOOKS = 4 };
static bool nbc__mpi_asks(nbc__mpi *m) {
  return m->near_count < m->own.t.size || m->active_count > 0 || m->has_gap ||
         ++m->look_count % NBC__MPI_LOOKS == 0;
}

/* Whoever comes while another thread is inside, or is delivering, goes away: one is enough. What is
   finished is for nbc__mpi_deliver, when *done has any. Returns with the mutex free. */
static nbc_status nbc__mpi_progress_locked(nbc__mpi *m, nbc__transport_fifo *done) {
  nbc_op *op;
  if (!m->failed && nbc__mpi_may_call(m)) {
    while (!m->failed && (op = nbc__transport_pop(&m->submitted))) {
      if (op->slot.kind == NBC_KIND_IRECV)
        nbc__mpi_start_data(m, op);
      else
        nbc__mpi_start_send(m, op);
    }
    /* What is finished is delivered at once, MPI asked later; but never twice without asking for
       all. */
    const bool hurry = !m->hurried;
    if (!m->failed && m->near_count) nbc__mpi_take_shared(m, hurry);
    const bool asks = nbc__mpi_asks(m);
    if (!m->failed && asks && !(hurry && m->done.first)) nbc__mpi_take_headers(m, hurry);
    m->hurried = hurry && m->done.first;
    if (!m->failed && asks && !m->hurried) nbc__mpi_test_requests(m);
  }
  *done = m->done;
  m->done.first = m->done.last = NULL;
  const nbc_status status = m->failed;
  m->delivering = done->first != NULL;
  pthread_mutex_unlock(&m->mutex);
  return status;
}

/* `done` runs without any mutex, since it may post, and make and end other transports. One thread at
   a time delivers, or callbacks would come in another order than operations ended. */
static void nbc__mpi_deliver(nbc__mpi *m, nbc__transport_fifo *done) {
  nbc_op *op;
  while ((op = nbc__transport_pop(done))) nbc__transport_finish(op);
  pthread_mutex_lock(&m->mutex);
  m->delivering = false;
  pthread_mutex_unlock(&m->mutex);
}

static nbc_status nbc__mpi_progress(void *ctx) {
  nbc__mpi *m = (nbc__mpi *)ctx;
  if (pthread_mutex_trylock(&m->mutex)) return NBC_OK;
  m->user = pthread_self();
  if (m->delivering) {
    pthread_mutex_unlock(&m->mutex);
    return NBC_OK;
  }
  nbc__transport_fifo done;
  const nbc_status status = nbc__mpi_progress_locked(m, &done);
  if (done.first) nbc__mpi_deliver(m, &done);
  return status;
}

/* A transport that another thread used last is left to that thread. All locks are tried, none is
   waited for: whoever waits for its own messages must not stand behind another thread's work. `done`
   runs without the list's mutex, so the list may be another one afterwards: those that were driven carry
   the number of this walk, and the rest is looked for from the start. */
static void nbc__mpi_others(void *ctx) {
  const nbc__mpi *own = (const nbc__mpi *)ctx;
  nbc__transport_fifo done = {NULL, NULL};
  uint64_t walk = 0;
  nbc__mpi *m;
  if (!__atomic_load_n(&own->next_alive, __ATOMIC_RELAXED) && /* the usual case: it is alone */
      __atomic_load_n(&nbc__mpi_alive.first, __ATOMIC_RELAXED) == own)
    return;
  do {
    if (pthread_mutex_trylock(&nbc__mpi_alive.mutex)) return;
    if (!walk) walk = ++nbc__mpi_alive.walk_count;
    for (m = nbc__mpi_alive.first, done.first = NULL; m; m = m->next_alive) {
      if (m == own || m->walk >= walk || pthread_mutex_trylock(&m->mutex)) continue;
      if (m->delivering || !pthread_equal(m->user, pthread_self())) {
        pthread_mutex_unlock(&m->mutex);
        continue;
      }
      m->walk = walk;
      (void)nbc__mpi_progress_locked(m, &done);
      if (done.first) break;
    }
    pthread_mutex_unlock(&nbc__mpi_alive.mutex);
    if (done.first) nbc__mpi_deliver(m, &done);
  } while (m);
}

static void nbc__mpi_born(nbc__mpi *m) {
  pthread_mutex_lock(&nbc__mpi_alive.mutex);
  m->next_alive = nbc__mpi_alive.first;
  __atomic_store_n(&nbc__mpi_alive.first, m, __ATOMIC_RELAXED);
  pthread_mutex_unlock(&nbc__mpi_alive.mutex);
}
static void nbc__mpi_dies(nbc__mpi *m) {
  nbc__mpi **link = &nbc__mpi_alive.first;
  pthread_mutex_lock(&nbc__mpi_alive.mutex);
  while (*link && *link != m) link = &(*link)->next_alive;
  if (*link) __atomic_store_n(link, m->next_alive, __ATOMIC_RELAXED);
  pthread_mutex_unlock(&nbc__mpi_alive.mutex);
}

/* Where MPI provides MPI_THREAD_SERIALIZED: no transport of this process calls it until unlocked. ret false: no
   need. First the list, then its transports: the same order everywhere, so two threads cannot hold
   what the other one wants. */
NBC__PRIVATE bool nbc__mpi_lock_all(void) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Query_thread(&provided);
  if (provided != MPI_THREAD_SERIALIZED) return false;
  pthread_mutex_lock(&nbc__mpi_alive.mutex);
  for (nbc__mpi *m = nbc__mpi_alive.first; m; m = m->next_alive) pthread_mutex_lock(&m->mutex);
  return true;
}
NBC__PRIVATE void nbc__mpi_unlock_all(void) {
  for (nbc__mpi *m = nbc__mpi_alive.first; m; m = m->next_alive) pthread_mutex_unlock(&m->mutex);
  pthread_mutex_unlock(&nbc__mpi_alive.mutex);
}

/* ---- the contract -------------------------------------------------------------------------- */
static int64_t nbc__mpi_now(void *ctx) { return nbc_clock_now_ns(&((nbc__mpi *)ctx)->clock); }

static nbc_peer nbc__mpi_peer_class(void *ctx, int peer) {
  return ((nbc__mpi *)ctx)->classes[peer];
}

static void nbc__mpi_prepare(nbc_op *op, void *buffer, uint64_t size_bytes, int peer, uint64_t tag,
                             nbc_kind kind) {
  nbc__transport_prepare(op, peer);
  op->slot.buffer = buffer;
  op->slot.limit_bytes = size_bytes;
  op->slot.tag = tag;
  op->slot.kind = (uint32_t)kind;
}

static nbc_status nbc__mpi_isend(void *ctx, const void *buffer, uint64_t size_bytes, int peer,
                                 uint64_t tag, nbc_op *op) {
  nbc__mpi *m = (nbc__mpi *)ctx;
  nbc_status status;
  nbc__mpi_prepare(op, (void *)(uintptr_t)buffer, size_bytes, peer, tag, NBC_KIND_ISEND);
  op->size_bytes = size_bytes;
  op->status = NBC_OK;
  pthread_mutex_lock(&m->mutex);
  m->user = pthread_self();
  status = m->failed;
  if (!status) nbc__mpi_begin(m, op, size_bytes, NBC_KIND_ISEND);
  if (!status && nbc__mpi_may_call(m) && !m->submitted.first)
    status = nbc__mpi_start_send(m, op);
  else if (!status)
    nbc__transport_push(&m->submitted, op); /* those before it go first */
  pthread_mutex_unlock(&m->mutex);
  return status;
}

static nbc_status nbc__mpi_irecv(void *ctx, void *buffer, uint64_t size_bytes, int peer,
                                 uint64_t tag, nbc_op *op) {
  nbc__mpi *m = (nbc__mpi *)ctx;
  nbc__mpi_packet *packet;
  nbc_status status;
  nbc__mpi_prepare(op, buffer, size_bytes, peer, tag, NBC_KIND_IRECV);
  pthread_mutex_lock(&m->mutex);
  m->user = pthread_self();
  /* Kept messages before posting, in one hold of the mutex: between the two a message could
     arrive, find no receive, and be kept while its receive waits. */
  op->slot.order = ++m->order;
  if (!(status = m->failed)) {
    if ((packet = nbc__mpi_waiting(m, &peer, tag))) {
      status = nbc__mpi_meet_packet(m, op, peer, packet);
      nbc__mpi_packet_give(m, packet);
    } else
      nbc__transport_push(peer == NBC_ANY_PEER ? &m->any : &m->peers[peer].posted, op);
  }
  pthread_mutex_unlock(&m->mutex);
  return status;
}

static nbc_status nbc__mpi_cancel(void *ctx, nbc_op *op) {
  nbc__mpi *m = (nbc__mpi *)ctx;
  nbc_status status = NBC_E_STATE;
  if (op->slot.kind != NBC_KIND_IRECV || op->finished) return status;
  pthread_mutex_lock(&m->mutex);
  if (op->status == NBC_PENDING && /* not met its message */
      nbc__transport_remove(op->peer == NBC_ANY_PEER ? &m->any : &m->peers[op->peer].posted, op)) {
    op->status = NBC_E_CANCELLED;
    nbc__transport_push(&m->done, op);
    status = NBC_OK;
  }
  pthread_mutex_unlock(&m->mutex);
  return status;
}

NBC_API void nbc_mpi_lock(nbc_transport *t) { pthread_mutex_lock(&((nbc__mpi *)t->ctx)->mutex); }
NBC_API void nbc_mpi_unlock(nbc_transport *t) {
  pthread_mutex_unlock(&((nbc__mpi *)t->ctx)->mutex);
}
NBC_API const char *nbc_mpi_error(const nbc_transport *t) { return ((nbc__mpi *)t->ctx)->error; }

/* ---- create and destroy -------------------------------------------------------------------- */
static const char *nbc__mpi_level_name(int level) {
  return level == MPI_THREAD_SINGLE       ? "MPI_THREAD_SINGLE"
         : level == MPI_THREAD_FUNNELED   ? "MPI_THREAD_FUNNELED"
         : level == MPI_THREAD_SERIALIZED ? "MPI_THREAD_SERIALIZED"
         : level == MPI_THREAD_MULTIPLE   ? "MPI_THREAD_MULTIPLE"
                                          : "an unknown thread level";
}

/* May this program, from this thread, with this communicator, have a transport? */
static nbc_status nbc__mpi_check(MPI_Comm comm, bool *funneled, nbc_error *err) {
  int begun = 0, ended = 0, provided, inter = 0, on_main = 0;
  MPI_Initialized(&begun);
  MPI_Finalized(&ended);
  if (!begun || ended)
    return nbc__status_fail(err, NBC_E_STATE, 0,
                            begun ? "MPI_Finalize was called" : "MPI_Init was not called");
  if (comm == MPI_COMM_NULL || MPI_Comm_test_inter(comm, &inter) || inter)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "comm must be an intracommunicator");
  MPI_Query_thread(&provided);
  *funneled = provided < MPI_THREAD_SERIALIZED;
  MPI_Is_thread_main(&on_main);
  if (*funneled && !on_main)
    return nbc__status_fail(err, NBC_E_THREAD, 0,
                            "MPI provides %s: only the main thread may call it",
                            nbc__mpi_level_name(provided));
  return NBC_OK;
}

/* ---- one clock per node ---------------------------------------------------------------------
   Ranks of a node read one counter when all of this holds, each of which is looked at:
   - one kernel runs them: MPI says that they can share memory, and the boot id, which is a random
     number of the kernel's and the same in all its containers, is equal (a virtual machine has its own);
   - the source is the processor's counter, invariant, which that kernel trusts on all of its cores and
     which did not step back on those where each rank may run; or CLOCK_MONOTONIC_RAW in one time
     namespace (which shifts the latter, never the counter);
   - their calibrations agree within their bounds;
   - no message arrived before it was sent, by the raw counters, in trips both ways.
   Then the lowest rank's calibration is everybody's: two calibrations of one counter differ, and would
   look like drift. */
#  ifndef NBC_BOOT_ID_FILE
#    define NBC_BOOT_ID_FILE "/proc/sys/kernel/random/boot_id"
#  endif
enum { NBC__MPI_CLOCK_TRIPS = 8 };

typedef struct nbc__mpi_card { /* what the lowest rank of a node says about its clock */
  nbc_clock clock;
  char boot_id[64], time_space[64];
  int rank;
} nbc__mpi_card;

static void nbc__mpi_write_card(const nbc__mpi *m, nbc__mpi_card *card) {
  memset(card, 0, sizeof *card);
  card->clock = m->clock;
  card->rank = m->own.t.rank;
  FILE *file = fopen(NBC_BOOT_ID_FILE, "r");
  if (file && fread(card->boot_id, 1, sizeof card->boot_id - 1, file) < 8) card->boot_id[0] = 0;
  if (file) fclose(file);
  if (readlink("/proc/self/ns/time", card->time_space, sizeof card->time_space - 1) < 0)
    card->time_space[0] = 0;
}

static bool nbc__mpi_same_counter(const nbc__mpi_card *a, const nbc__mpi_card *b) {
  if (!a->boot_id[0] || strcmp(a->boot_id, b->boot_id) != 0) return false;
  if (a->clock.source != b->clock.source) return false;
  if (a->clock.source == NBC_CLOCK_RAW) return strcmp(a->time_space, b->time_space) == 0;
  const double apart_ppm = fabs(a->clock.hz / b->clock.hz - 1) * 1e6;
  return (a->clock.source == NBC_CLOCK_TSC || a->clock.source == NBC_CLOCK_CNTVCT) &&
         apart_ppm <= a->clock.rate_err_ppm + b->clock.rate_err_ppm;
}

/* Trips between the node's lowest rank and another one. Counters that are further apart than a
   trip takes show it in one of the two directions; what is less, no message can show. The
   counter is read with everything before it done: a message that has come is no guess of the
   processor's. *good: none came before it was sent. */
static int nbc__mpi_clock_trips(const nbc__mpi *m, MPI_Comm node, int with, bool asks, int *good) {
  uint64_t there = 0, back = 0;
  int code = 0, judged = 1;
  for (int i = 0; i < NBC__MPI_CLOCK_TRIPS && !code; i++) {
    if (asks) {
      there = nbc__clock_ordered_ticks(&m->clock);
      code = MPI_Send(&there, 1, MPI_UINT64_T, with, 0, node);
      if (!code) code = MPI_Recv(&back, 1, MPI_UINT64_T, with, 0, node, MPI_STATUS_IGNORE);
      if ((int64_t)(nbc__clock_ordered_ticks(&m->clock) - back) < 0) *good = 0;
    } else {
      code = MPI_Recv(&there, 1, MPI_UINT64_T, with, 0, node, MPI_STATUS_IGNORE);
      back = nbc__clock_ordered_ticks(&m->clock);
      if ((int64_t)(back - there) < 0) *good = 0;
      if (!code) code = MPI_Send(&back, 1, MPI_UINT64_T, with, 0, node);
    }
  }
  if (code) return code;
  if (asks) return MPI_Send(good, 1, MPI_INT, with, 0, node);
  code = MPI_Recv(&judged, 1, MPI_INT, with, 0, node, MPI_STATUS_IGNORE);
  *good = *good && judged;
  return code;
}

static int nbc__mpi_share_clock(nbc__mpi *m, MPI_Comm node) {
  nbc__mpi_card mine, first;
  int code, rank = 0, size = 1, good = 1, of = m->own.t.rank;
  MPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN);
  MPI_Comm_rank(node, &rank);
  MPI_Comm_size(node, &size);
  nbc__mpi_write_card(m, &mine);
  first = mine;
  if ((code = MPI_Bcast(&first, (int)sizeof first, MPI_BYTE, 0, node))) return code;
  for (int with = 1; rank == 0 && with < size && !code; with++) {
    good = 1;
    code = nbc__mpi_clock_trips(m, node, with, true, &good);
  }
  if (rank > 0) code = nbc__mpi_clock_trips(m, node, 0, false, &good);
  if (code) return code;
  if (rank > 0 && good && nbc__mpi_same_counter(&first, &mine)) {
    const nbc_clock own = m->clock;
    m->clock = first.clock;
    memcpy(m->clock.why, own.why, sizeof own.why); /* on which cores this rank has tested it */
    m->clock.cpus_checked_count = own.cpus_checked_count;
    of = first.rank;
  }
  return MPI_Allgather(&of, 1, MPI_INT, m->clock_of, 1, MPI_INT, m->comm);
}

static bool nbc__mpi_same_clock(void *ctx, int peer) {
  const nbc__mpi *m = (const nbc__mpi *)ctx;
  return m->clock_of[peer] == m->clock_of[m->own.t.rank];
}

/* All ranks of the node, or none: its lowest rank makes the memory, the others find it. A rank
   that went by MPI alone would never see the headers that others leave in its ring. The second
   MPI_Allreduce also says that all have mapped the file, so its descriptor may be closed. `near`
   is in the order of the node's ranks: the communicator was split with equal keys, which keeps
   the order [MPI 7.4.2], so the index in `near` is the rank that names a ring. */
static int nbc__mpi_share_memory(nbc__mpi *m, MPI_Comm node) {
  nbc__shared_card card;
  const char *const setting = getenv("NBC_SHARED_MEMORY");
  int code, rank = 0, size = 1, wanted, all = 0;
  MPI_Comm_rank(node, &rank);
  MPI_Comm_size(node, &size);
  wanted = !m->messages_only && !(setting && strcmp(setting, "0") == 0);
  if ((code = MPI_Allreduce(&wanted, &all, 1, MPI_INT, MPI_LAND, node)) || !all) return code;
  if (rank == 0) nbc__shared_make(&m->shared, size, &card);
  if ((code = MPI_Bcast(&card, (int)sizeof card, MPI_BYTE, 0, node))) return code;
  if (rank != 0) nbc__shared_join(&m->shared, &card);
  const int mine = m->shared.base != NULL;
  code = MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_LAND, node);
  if (rank == 0 && card.fd >= 0) close(card.fd);
  if (code || !all) {
    nbc__shared_leave(&m->shared);
    return code;
  }
  for (int i = 0; i < m->own.t.size; i++) {
    if (m->classes[i] != NBC_PEER_SAME_NODE) continue;
    m->peers[i].out = nbc__shared_open(&m->shared, rank, m->near_count);
    m->peers[i].in = nbc__shared_open(&m->shared, m->near_count, rank);
    m->near[m->near_count++] = i;
  }
  return MPI_SUCCESS;
}

/* Who shares this node, its clock and its memory. */
static int nbc__mpi_classes(nbc__mpi *m) {
  MPI_Comm node;
  MPI_Group all_group, node_group;
  int code, i, undefined = MPI_UNDEFINED;
  int *const all = m->clock_of, *const near = m->nodes; /* not yet in use */
  if ((code = MPI_Comm_split_type(m->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node)))
    return code;
  for (i = 0; i < m->own.t.size; i++) all[i] = i;
  MPI_Comm_group(m->comm, &all_group);
  MPI_Comm_group(node, &node_group);
  MPI_Group_translate_ranks(all_group, m->own.t.size, all, node_group, near);
  for (i = 0; i < m->own.t.size; i++)
    m->classes[i] = near[i] == undefined ? NBC_PEER_OTHER_NODE : NBC_PEER_SAME_NODE;
  MPI_Group_free(&all_group);
  MPI_Group_free(&node_group);
  code = nbc__mpi_share_clock(m, node);
  if (!code) code = nbc__mpi_share_memory(m, node);
  MPI_Comm_free(&node);
  return code;
}

/* Each rank's node, as its lowest rank. */
static int nbc__mpi_nodes(nbc__mpi *m) {
  int lowest = 0;
  while (m->classes[lowest] != NBC_PEER_SAME_NODE) lowest++; /* this rank at the latest */
  m->own.t.nodes = m->nodes;
  return MPI_Allgather(&lowest, 1, MPI_INT, m->nodes, 1, MPI_INT, m->comm);
}

static int nbc__mpi_start_ring(nbc__mpi *m) {
  int code = 0, k;
  for (k = 0; k < NBC__MPI_RING && !code; k++) {
    nbc__mpi_packet *const packet = m->ring[k];
    code = MPI_Recv_init(&packet->header, (int)(sizeof packet->header + NBC__MPI_INLINE), MPI_BYTE,
                         MPI_ANY_SOURCE, NBC__MPI_HEADER_TAG, m->comm, &m->ring_requests[k]);
    if (!code) m->ring_count = k + 1;
    if (!code) code = MPI_Start(&m->ring_requests[k]);
  }
  return code;
}

static void nbc__mpi_contract(nbc__mpi *m) {
  nbc_transport *t = &m->own.t;
  t->name = "mpi";
  t->help = "over MPI, on a communicator of its own";
  t->ctx = m;
  t->any_thread = !m->funneled;
  t->main_thread_only = m->funneled;
  t->any_peer = true;
  t->now_ns = nbc__mpi_now;
  t->isend = nbc__mpi_isend;
  t->irecv = nbc__mpi_irecv;
  t->progress = nbc__mpi_progress;
  t->others = nbc__mpi_others;
  t->cancel = nbc__mpi_cancel;
  t->peer_class = nbc__mpi_peer_class;
  t->same_clock = nbc__mpi_same_clock;
}

static void nbc__mpi_free_packets(nbc__mpi_packet *list) {
  while (list) {
    nbc__mpi_packet *next = list->next;
    NBC_FREE(list);
    list = next;
  }
}

/* What MPI still holds, it gets a second to finish; then it keeps the memory. */
static void nbc__mpi_stop(nbc__mpi *m) {
  int64_t t_end_ns = nbc_clock_now_ns(&m->clock) + 1000000000;
  int i;
  while (m->active_count > 0 && !m->failed && nbc_clock_now_ns(&m->clock) < t_end_ns)
    nbc__mpi_progress(m);
  for (i = 0; i < m->active_count; i++)
    if (m->requests[i] != MPI_REQUEST_NULL) MPI_Request_free(&m->requests[i]);
  nbc__mpi_restart(m); /* only what was started can be cancelled */
  /* MPI must not write into the ring's packets any more when these are freed: each receive is
     waited for. */
  for (i = 0; i < m->ring_count; i++) {
    MPI_Cancel(&m->ring_requests[i]);
    MPI_Wait(&m->ring_requests[i], MPI_STATUS_IGNORE);
    MPI_Request_free(&m->ring_requests[i]);
  }
  MPI_Comm_free(&m->comm);
}

static void nbc__mpi_destroy(void *self) {
  nbc__mpi *m = (nbc__mpi *)self;
  int i, ended = 0;
  nbc__mpi_dies(m);
  MPI_Finalized(&ended);
  if (!ended && m->comm != MPI_COMM_NULL) nbc__mpi_stop(m);
  for (i = 0; i < NBC__MPI_RING; i++) NBC_FREE(m->ring[i]);
  for (i = 0; m->peers && i < m->own.t.size; i++) {
    nbc__mpi_free_packets(m->peers[i].first);
    nbc__mpi_free_packets(m->peers[i].early);
    NBC_FREE(m->peers[i].coming.packet);
  }
  nbc__mpi_free_packets(m->spare);
  nbc__mpi_free_packets(m->spare_large);
  nbc__shared_leave(&m->shared);
  NBC_FREE(m->requests);
  NBC_FREE(m->owners);
  NBC_FREE(m->indices);
  NBC_FREE(m->statuses);
  NBC_FREE(m->peers);
  NBC_FREE(m->classes);
  NBC_FREE(m->nodes);
  NBC_FREE(m->clock_of);
  NBC_FREE(m->near);
  pthread_mutex_destroy(&m->mutex);
  NBC_FREE(m);
}

NBC_API void nbc_mpi_destroy(nbc_transport *t) { nbc_transport_destroy(t); }

/* What can fail in one rank alone, its memory, its clock and what it was told, before another rank
   waits for this one. */
static nbc_status nbc__mpi_equip(nbc__mpi *m, MPI_Comm comm, int thread_level, nbc_error *err) {
  int provided = MPI_THREAD_SINGLE;
  size_t size;
  MPI_Comm_rank(comm, &m->own.t.rank);
  MPI_Comm_size(comm, &m->own.t.size);
  size = (size_t)m->own.t.size;
  m->peers = (nbc__mpi_peer *)nbc__zalloc(size * sizeof *m->peers);
  m->classes = (nbc_peer *)NBC_MALLOC(size * sizeof *m->classes);
  m->clock_of = (int *)NBC_MALLOC(size * sizeof *m->clock_of);
  m->nodes = (int *)NBC_MALLOC(size * sizeof *m->nodes);
  m->near = (int *)NBC_MALLOC(size * sizeof *m->near);
  MPI_Query_thread(&provided);
  if (provided < thread_level)
    return nbc__status_fail(err, NBC_E_TRANSPORT, 0, "MPI provides %s, less than the %s asked for",
                            nbc__mpi_level_name(provided), nbc__mpi_level_name(thread_level));
  if (m->piece_bytes > INT32_MAX)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "piece_bytes must be below 2 GiB");
  bool all = m->peers && m->classes && m->clock_of && m->nodes && m->near;
  for (int k = 0; k < NBC__MPI_RING && all; k++) all = (m->ring[k] = nbc__mpi_packet_take(m, 0));
  if (!all) return nbc__status_fail(err, NBC_E_NOMEM, 0, "out of memory");
  const nbc_status status = nbc_clock_create(NULL, &m->clock);
  return status ? nbc__status_fail(err, status, 0, "%s", m->clock.why) : NBC_OK;
}

/* All ranks go on or none: one that returned by itself would leave the others waiting for it.
   Failures are below NBC_OK, so the least status of all is one of them, if there is any. Both sides
   cut long messages alike, so all must have the same piece_bytes: the least and, negated, the most. */
static nbc_status nbc__mpi_agree(MPI_Comm comm, nbc_status mine, uint64_t piece_bytes,
                                 nbc_error *err) {
  struct {
    int value, rank;
  } here[3], least[3];
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  for (int i = 0; i < 3; i++) here[i].rank = rank;
  here[0].value = (int)mine;
  here[1].value = mine ? 1 : (int)piece_bytes; /* who fails may have one that no int holds */
  here[2].value = -here[1].value;
  if (MPI_Allreduce(here, least, 3, MPI_2INT, MPI_MINLOC, comm))
    return nbc__status_fail(err, NBC_E_TRANSPORT, 0, "MPI_Allreduce failed");
  if (mine) return mine;
  const nbc_status status = (nbc_status)least[0].value;
  if (status)
    return nbc__status_fail(err, status, 0, "rank %d: %s", least[0].rank, nbc_status_text(status));
  if (least[1].value != -least[2].value)
    return nbc__status_fail(err, NBC_E_INVAL, 0,
                            "piece_bytes must be the same in all ranks: rank %d has %d, rank %d %d",
                            least[1].rank, least[1].value, least[2].rank, -least[2].value);
  return NBC_OK;
}

/* MPI's part of creation. ret an MPI error code */
static int nbc__mpi_connect(nbc__mpi *m, MPI_Comm comm) {
  int code, found = 0, *tag_ub = NULL;
  if ((code = MPI_Comm_dup(comm, &m->comm))) return code;
  MPI_Comm_set_errhandler(m->comm, MPI_ERRORS_RETURN);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &tag_ub, &found);
  m->tag_limit = found && tag_ub ? *tag_ub : 32767;
  m->next_data_tag = 1;
  if ((code = nbc__mpi_classes(m)) || (code = nbc__mpi_nodes(m))) return code;
  return nbc__mpi_start_ring(m);
}

NBC_API nbc_status nbc_mpi_create(MPI_Comm comm, const nbc_mpi_desc *desc, nbc_transport **t,
                                  nbc_error *err) {
  static const nbc_mpi_desc defaults = {MPI_THREAD_SINGLE, 0, false};
  nbc_status status;
  bool funneled;
  nbc__mpi *m;
  int code;
  if (!t) return nbc__status_fail(err, NBC_E_INVAL, 0, "t is NULL");
  *t = NULL;
  if (!desc) desc = &defaults;
  if ((status = nbc__mpi_check(comm, &funneled, err))) return status;
  m = (nbc__mpi *)nbc__zalloc(sizeof *m);
  if (m) {
    pthread_mutex_init(&m->mutex, NULL);
    m->comm = MPI_COMM_NULL;
    m->funneled = funneled;
    m->main = m->user = pthread_self();
    m->messages_only = desc->messages_only;
    m->piece_bytes = desc->piece_bytes ? desc->piece_bytes : (uint64_t)1 << 30;
    m->own.destroy = nbc__mpi_destroy;
    nbc__mpi_contract(m);
    status = nbc__mpi_equip(m, comm, desc->thread_level, err);
  } else {
    status = nbc__status_fail(err, NBC_E_NOMEM, 0, "out of memory");
  }
  status = nbc__mpi_agree(comm, status, m ? m->piece_bytes : 0, err);
  if (!status && (code = nbc__mpi_connect(m, comm))) {
    status = nbc__mpi_fail(m, code);
    nbc__status_fail(err, status, 0, "%s", m->error);
  }
  if (!status) {
    nbc__mpi_born(m);
    *t = &m->own.t;
  } else if (m) {
    nbc__mpi_destroy(m);
  }
  return status;
}
#endif /* NBC_WITH_MPI */
#ifdef NBC_LINES
#line 1 "src/transport/shmem.c"
#endif
/* shmem.c: the transport over OpenSHMEM (with NBC_WITH_SHMEM). */





/* ============================================================================================== */
/* [SHMEM] 14. The transport over OpenSHMEM                                                       */
/* ============================================================================================== */
#ifdef NBC_WITH_SHMEM
/* Each element has one ring to and one ring from every other, both at symmetric addresses: what is
   written in the ring to a peer is put into the peer's ring from here. */
static nbc__packet *nbc__shmem_mirror(const nbc_threads *w, const nbc__packet *p, int from_there) {
  size_t at = (size_t)(p - w->shared->packets) % NBC__PACKETS_SLOTS;
  return &w->shared->packets[(size_t)from_there * NBC__PACKETS_SLOTS + at];
}

/* Everything but the state, then the state: who sees it full sees the rest. */
static void nbc__shmem_put(nbc_threads *w, int peer, nbc__packet *p) {
  nbc__packet *there = nbc__shmem_mirror(w, p, w->desc.size + w->ranks[0].t.rank);
  bool has_data = p->kind == NBC__PACKET_EAGER || p->kind == NBC__PACKET_REQUEST ||
                  p->kind == NBC__PACKET_FRAGMENT;
  size_t after_state = offsetof(nbc__packet, kind);
  if (has_data && p->part_bytes > 0)
    shmem_putmem(nbc__packets_payload(w, there), nbc__packets_payload(w, p), (size_t)p->part_bytes,
                 peer);
  shmem_putmem((char *)there + after_state, (char *)p + after_state, sizeof *p - after_state, peer);
  /* The fence orders what this element puts to one peer; OpenSHMEM promises no more, and no more is
     needed. */
  shmem_fence();
  shmem_uint32_p(&there->state, p->state + 1, peer);
}

/* The sender may use the slot again. */
static void nbc__shmem_release(nbc_threads *w, int peer, nbc__packet *p) {
  shmem_uint32_p(&nbc__shmem_mirror(w, p, w->ranks[0].t.rank)->state, p->state + 1, peer);
}

/* Lets the library move what others put here, where that takes software. */
static void nbc__shmem_poll(nbc_threads *w) {
  shmem_uint32_test(&w->shared->packets[0].state, SHMEM_CMP_LT, 0);
}

static nbc_peer nbc__shmem_peer_class(void *ctx, int peer) {
  return shmem_ptr(((nbc__packets_rank *)ctx)->world->shared->packets, peer) ? NBC_PEER_SAME_NODE
                                                                             : NBC_PEER_OTHER_NODE;
}

/* The rings in the symmetric heap, the rest in memory of our own. */
static nbc_status nbc__shmem_map(nbc_threads *w) {
  size_t size = (size_t)w->desc.size, packet_count = 2 * size * NBC__PACKETS_SLOTS;
  size_t rings_at = (sizeof(nbc__packets_shared) + 127) & ~(size_t)127;
  size_t bytes = rings_at + sizeof(nbc__job_ring);
  if (w->desc.fragment_bytes > (SIZE_MAX / 4) / packet_count) return NBC_E_NOMEM;
  w->shared = (nbc__packets_shared *)NBC_MALLOC(bytes);
  if (!w->shared) return NBC_E_NOMEM;
  memset(w->shared, 0, bytes);
  w->shared->rings = (nbc__job_ring *)(void *)((char *)w->shared + rings_at);
  /* Allocation is collective and gives the same symmetric address everywhere: all elements ask for
     the same sizes in the same order. */
  w->shared->packets = (nbc__packet *)shmem_calloc(packet_count, sizeof(nbc__packet));
  w->shared->payload = (unsigned char *)shmem_malloc(packet_count * (size_t)w->desc.fragment_bytes);
  shmem_barrier_all(); /* nobody puts before all rings are clean */
  return w->shared->packets && w->shared->payload ? NBC_OK : NBC_E_NOMEM;
}

static nbc_status nbc__shmem_rank(nbc_threads *w, int me) {
  size_t bytes = sizeof(nbc__packets_rank) + (size_t)w->desc.size * sizeof(nbc__packets_peer);
  nbc__packets_rank *r = (nbc__packets_rank *)NBC_MALLOC(bytes);
  if (!(w->ranks = r)) return NBC_E_NOMEM;
  memset(r, 0, bytes);
  r->world = w;
  r->ring = w->shared->rings;
  r->peers = (nbc__packets_peer *)(void *)(r + 1);
  nbc__packets_contract(r, me);
  r->t.name = "shmem";
  r->t.help = "over OpenSHMEM, rings in the symmetric heap";
  r->t.peer_class = nbc__shmem_peer_class;
  r->t.same_clock = NULL;
  return NBC_OK;
}

/* Collective as far as the symmetric heap goes. */
static void nbc__shmem_free(nbc_threads *w) {
  if (w->shared) {
    shmem_barrier_all(); /* nobody still puts into what goes away */
    shmem_free(w->shared->payload);
    shmem_free(w->shared->packets);
  }
  if (w->ranks) nbc__packets_free_unexpected(w->ranks[0].peers, (size_t)w->desc.size);
  NBC_FREE(w->ranks);
  NBC_FREE(w->shared);
  NBC_FREE(w);
}

NBC_API nbc_status nbc_shmem_create(const nbc_shmem_desc *desc, nbc_transport **t, nbc_error *err) {
  nbc_status status;
  nbc_threads *w;
  if (!t) return nbc__status_fail(err, NBC_E_INVAL, 0, "t is NULL");
  *t = NULL;
  if (!(w = (nbc_threads *)NBC_MALLOC(sizeof *w)))
    return nbc__status_fail(err, NBC_E_NOMEM, 0, "out of memory");
  memset(w, 0, sizeof *w);
  w->desc.size = shmem_n_pes();
  w->desc.processes = true; /* nobody reaches into another's buffers */
  w->desc.fragment_bytes = desc && desc->fragment_bytes ? desc->fragment_bytes : 16 << 10;
  w->desc.eager_limit_bytes = desc ? desc->eager_limit_bytes : 0;
  w->desc.pipeline_depth = desc && desc->pipeline_depth ? desc->pipeline_depth : 4;
  w->put = nbc__shmem_put;
  w->release = nbc__shmem_release;
  w->poll = nbc__shmem_poll;
  if ((status = nbc__packets_defaults(&w->desc)))
    nbc__status_fail(err, status, 0, "more than %d elements, or a field out of range",
                     NBC__PACKETS_MAX_RANKS);
  else if ((status = nbc_clock_create(NULL, &w->clock)))
    nbc__status_fail(err, status, 0, "%s", w->clock.why);
  else if ((status = nbc__shmem_map(w)))
    nbc__status_fail(err, status, 0,
                     "symmetric heap: %zu bytes are not free (see SHMEM_SYMMETRIC_SIZE)",
                     2 * (size_t)w->desc.size * NBC__PACKETS_SLOTS *
                         (sizeof(nbc__packet) + (size_t)w->desc.fragment_bytes));
  else if ((status = nbc__shmem_rank(w, shmem_my_pe())))
    nbc__status_fail(err, status, 0, "out of memory");
  w->desc.clock = &w->clock;
  if (status)
    nbc__shmem_free(w);
  else
    *t = &w->ranks[0].t;
  return status;
}

NBC_API void nbc_shmem_destroy(nbc_transport *t) {
  if (t) nbc__shmem_free(((nbc__packets_rank *)t->ctx)->world);
}
#endif /* NBC_WITH_SHMEM */
#endif
#ifndef NBC_NO_COLL
#ifdef NBC_LINES
#line 198 "src/coll/schedule.h"
#endif
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
#ifdef NBC_LINES
#line 1 "src/coll/schedule.c"
#endif
/* schedule.c: collectives as data: the builder finds dependencies from the bytes that nodes
   touch. */


/* ============================================================================================== */
/* [SCHEDULE] 15. Collectives as data                                                             */
/* ============================================================================================== */
NBC__PRIVATE const nbc__coll_row *nbc__coll_about(nbc_coll coll) {
  static const nbc__coll_row rows[] = {
#define NBC__X(name, text, kind, gives, gets, has)                                                 \
  {text, NBC_KIND_##kind, NBC__COLL_##gives, NBC__COLL_##gets, (unsigned)(has)},
      NBC_COLL_LIST(NBC__X)
#undef NBC__X
          {"?", NBC_KIND_OTHER, NBC__COLL_NONE, NBC__COLL_NONE, 0}};
  return &rows[(unsigned)coll < NBC_COLL_COUNT ? coll : NBC_COLL_COUNT];
}

static const char *const nbc__sched_algo_names[] = {
#define NBC__X(name, text) text,
    NBC_ALGO_LIST(NBC__X)
#undef NBC__X
};

NBC_API const char *nbc_coll_name(nbc_coll coll) { return nbc__coll_about(coll)->name; }

NBC_API const char *nbc_algo_name(nbc_algo algo) {
  return (unsigned)algo < NBC_ALGO_COUNT ? nbc__sched_algo_names[algo] : "?";
}

NBC_API nbc_status nbc_coll_parse(const char *name, nbc_coll *coll) {
  if (!name || !coll) return NBC_E_INVAL;
  for (int i = 0; i < NBC_COLL_COUNT; i++)
    if (strcmp(name, nbc_coll_name((nbc_coll)i)) == 0) return *coll = (nbc_coll)i, NBC_OK;
  return NBC_E_NOT_FOUND;
}

NBC_API nbc_status nbc_algo_parse(const char *name, nbc_algo *algo) {
  if (!name || !algo) return NBC_E_INVAL;
  for (int i = 0; i < NBC_ALGO_COUNT; i++)
    if (strcmp(name, nbc__sched_algo_names[i]) == 0) return *algo = (nbc_algo)i, NBC_OK;
  return NBC_E_NOT_FOUND;
}

static bool nbc__sched_grow(nbc__sched_builder *b, void **array, size_t *capacity, size_t count,
                            size_t item_bytes) {
  if (b->status) return false;
  if (count <= *capacity) return true;
  size_t wanted = *capacity ? 2 * *capacity : 32;
  while (wanted < count) wanted *= 2;
  void *bigger = wanted < SIZE_MAX / 2 / item_bytes ? NBC_MALLOC(wanted * item_bytes) : NULL;
  if (!bigger)
    return b->status = nbc__status_fail(b->err, NBC_E_NOMEM, 0, "schedule: out of memory"), false;
  if (*array) memcpy(bigger, *array, *capacity * item_bytes);
  NBC_FREE(*array);
  *array = bigger;
  *capacity = wanted;
  return true;
}

/* The node added last starts after node `before`. mark[before] names the node that last got such an
   edge: edges are added for one node at a time, so one comparison keeps them from being written
   twice. A node that reads and writes the same bytes would wait for itself: no edge. */
NBC__PRIVATE void nbc__sched_after(nbc__sched_builder *b, int32_t before) {
  if (b->status || before < 0) return;
  const int32_t node = (int32_t)b->s->node_count - 1;
  if (before >= node || b->mark[before] == node) return;
  void *array = b->edges;
  const bool grown =
      nbc__sched_grow(b, &array, &b->edge_capacity, b->edge_count + 1, sizeof *b->edges);
  b->edges = (nbc__sched_edge *)array;
  if (!grown) return;
  b->mark[before] = node;
  b->edges[b->edge_count].before = before;
  b->edges[b->edge_count++].after = node;
  b->s->nodes[node].before_count++;
}

/* The list of readers that begins with `node` and goes on with `next`. */
static int32_t nbc__sched_with_reader(nbc__sched_builder *b, int32_t node, int32_t next) {
  void *array = b->readers;
  const bool grown =
      nbc__sched_grow(b, &array, &b->reader_capacity, b->reader_count + 1, sizeof *b->readers);
  b->readers = (nbc__sched_reader *)array;
  if (!grown) return -1;
  b->readers[b->reader_count].node = node;
  b->readers[b->reader_count].next = next;
  return (int32_t)b->reader_count++;
}

/* ---- which bytes were touched by whom ------------------------------------------------------ */
/* An area is a list of intervals, ascending and disjoint; bytes between them were never touched. An
   interval knows the node that wrote its bytes last and the nodes that have read them since. With
   three intervals, an access to [lo, hi) by node 7 finds two of them (find), makes node 7 depend on
   what they know and cuts them at lo and hi (cut), and puts the new ones in their place (join):

                    lo                       hi
       before   |--- w1 ---|      |--- w2, read by 5 ---|   |--- w3 ---|
       read     |w1 | w1, 7|  7   |w2, read by 5, 7|w2,5|   |--- w3 ---|
       write    |w1 |         w7                   |w2,5|   |--- w3 ---|

   A reader waits for the writer; a writer waits for the writer and all readers, who are then
   forgotten: whoever comes next need only wait for the new writer. */
typedef struct nbc__sched_cut { /* the new intervals of one access */
  nbc__sched_interval few[16], *v;
  size_t count;
} nbc__sched_cut;

static void nbc__sched_put(nbc__sched_cut *cut, uint64_t lo, uint64_t hi, int32_t writer,
                           int32_t readers) {
  if (lo >= hi) return;
  nbc__sched_interval *const v = &cut->v[cut->count++];
  v->lo = lo, v->hi = hi, v->writer = writer, v->readers = readers;
}

/* The array has its free room in one piece, as a text editor's buffer: intervals before gap_index
   lie at its beginning, the others at its end. A row of accesses that go up then moves nothing. */
static size_t nbc__sched_gap(const nbc__sched_map *map) { return map->capacity - map->count; }

/* Interval i, wherever the gap is. */
static const nbc__sched_interval *nbc__sched_nth(const nbc__sched_map *map, size_t i) {
  return &map->v[i < map->gap_index ? i : i + nbc__sched_gap(map)];
}

/* The intervals that [lo, hi) meets are those from *from to before *to. */
static void nbc__sched_find(const nbc__sched_map *map, uint64_t lo, uint64_t hi, size_t *from,
                            size_t *to) {
  size_t i = 0, end = map->count;
  while (i < end) { /* first interval that ends after lo */
    const size_t mid = i + (end - i) / 2;
    if (nbc__sched_nth(map, mid)->hi > lo)
      end = mid;
    else
      i = mid + 1;
  }
  *from = i;
  /* One by one: an access meets few intervals, most often one. */
  while (i < map->count && nbc__sched_nth(map, i)->lo < hi) i++;
  *to = i;
}

/* Brings the gap before interval i. Accesses come in rows, so it is seldom far. */
static void nbc__sched_move_gap(nbc__sched_map *map, size_t i) {
  const size_t gap = nbc__sched_gap(map), at = map->gap_index;
  if (i < at)
    memmove(map->v + i + gap, map->v + i, (at - i) * sizeof *map->v);
  else if (i > at)
    memmove(map->v + at, map->v + at + gap, (i - at) * sizeof *map->v);
  map->gap_index = i;
}

/* Dependencies of the node added last on what it meets, and the intervals that are left. Lists of
   readers are never changed: the pieces of a cut interval share the old list, and a new reader
   stands in front of it. */
static void nbc__sched_cut_read(nbc__sched_builder *b, const nbc__sched_interval *met,
                                size_t met_count, uint64_t lo, uint64_t hi, nbc__sched_cut *cut) {
  const int32_t node = (int32_t)b->s->node_count - 1;
  uint64_t at = lo; /* up to here all is written down */
  for (size_t k = 0; k < met_count; k++) {
    const nbc__sched_interval v = met[k];
    const uint64_t from = v.lo > lo ? v.lo : lo, to = v.hi < hi ? v.hi : hi;
    nbc__sched_after(b, v.writer);
    if (at < from) nbc__sched_put(cut, at, from, -1, nbc__sched_with_reader(b, node, -1));
    nbc__sched_put(cut, from, to, v.writer, nbc__sched_with_reader(b, node, v.readers));
    at = to;
  }
  if (at < hi) nbc__sched_put(cut, at, hi, -1, nbc__sched_with_reader(b, node, -1));
}

static void nbc__sched_cut_write(nbc__sched_builder *b, const nbc__sched_interval *met,
                                 size_t met_count, uint64_t lo, uint64_t hi, nbc__sched_cut *cut) {
  for (size_t k = 0; k < met_count; k++) {
    nbc__sched_after(b, met[k].writer);
    for (int32_t r = met[k].readers; r >= 0; r = b->readers[r].next)
      nbc__sched_after(b, b->readers[r].node);
  }
  nbc__sched_put(cut, lo, hi, (int32_t)b->s->node_count - 1, -1);
}

/* Puts the new intervals in the place of the first met_count after the gap. */
static void nbc__sched_join(nbc__sched_builder *b, nbc__sched_map *map, size_t met_count,
                            const nbc__sched_cut *cut) {
  map->count -= met_count; /* the gap takes them in */
  const size_t old = map->capacity, tail = map->count - map->gap_index;
  void *array = map->v;
  const bool grown =
      nbc__sched_grow(b, &array, &map->capacity, map->count + cut->count, sizeof *map->v);
  map->v = (nbc__sched_interval *)array;
  if (!grown) return;
  if (map->capacity != old && tail)
    memmove(map->v + map->capacity - tail, map->v + old - tail, tail * sizeof *map->v);
  memcpy(map->v + map->gap_index, cut->v, cut->count * sizeof *cut->v);
  map->gap_index += cut->count;
  map->count += cut->count;
}

/* The node added last reads or writes bytes. */
static void nbc__sched_access(nbc__sched_builder *b, nbc_slice slice, uint64_t size_bytes,
                              bool write) {
  if (b->status || size_bytes == 0 || slice.area == NBC_AREA_NONE) return;
  nbc__sched_map *const map = &b->maps[slice.area];
  const uint64_t lo = slice.offset_bytes, hi = lo + size_bytes;
  size_t from, to;
  nbc__sched_find(map, lo, hi, &from, &to);
  /* Each interval that is met leaves one piece inside and at most one hole before it; besides these
     a hole at the end and the pieces outside at both ends: 2 n + 3. */
  const size_t met_count = to - from, most = 2 * met_count + 3;
  nbc__sched_cut cut;
  cut.count = 0;
  cut.v = cut.few;
  if (most > sizeof cut.few / sizeof *cut.few)
    cut.v = (nbc__sched_interval *)NBC_MALLOC(most * sizeof *cut.v);
  if (!cut.v) {
    b->status = nbc__status_fail(b->err, NBC_E_NOMEM, 0, "schedule: out of memory");
    return;
  }
  nbc__sched_move_gap(map, from);
  const nbc__sched_interval *const met = met_count ? nbc__sched_nth(map, from) : NULL;
  const nbc__sched_interval *const last = met_count ? nbc__sched_nth(map, to - 1) : NULL;
  if (met) nbc__sched_put(&cut, met->lo, lo, met->writer, met->readers);
  if (write)
    nbc__sched_cut_write(b, met, met_count, lo, hi, &cut);
  else
    nbc__sched_cut_read(b, met, met_count, lo, hi, &cut);
  if (last) nbc__sched_put(&cut, hi, last->hi, last->writer, last->readers);
  nbc__sched_join(b, map, met_count, &cut);
  if (cut.v != cut.few) NBC_FREE(cut.v);
}

/* ---- nodes --------------------------------------------------------------------------------- */
NBC__PRIVATE nbc_node *nbc__sched_add(nbc__sched_builder *b, nbc_node_type type,
                                      uint64_t size_bytes) {
  void *nodes = b->s->nodes, *mark = b->mark;
  size_t mark_capacity = b->node_capacity;
  const size_t wanted = (size_t)b->s->node_count + 2; /* one more to close the list */
  if (b->s->node_count > 0x3fffffff && !b->status)
    b->status =
        nbc__status_fail(b->err, NBC_E_RANGE, 0, "schedule: too many nodes; take longer segments");
  bool grown = nbc__sched_grow(b, &nodes, &b->node_capacity, wanted, sizeof *b->s->nodes);
  b->s->nodes = (nbc_node *)nodes;
  grown = grown && nbc__sched_grow(b, &mark, &mark_capacity, wanted, sizeof *b->mark);
  b->mark = (int32_t *)mark;
  if (!grown) return NULL;
  b->mark[b->s->node_count] = -1;
  nbc_node *const node = &b->s->nodes[b->s->node_count++];
  memset(node, 0, sizeof *node);
  node->type = type;
  node->size_bytes = size_bytes;
  return node;
}

NBC__PRIVATE nbc_slice nbc__sched_slice(nbc_area area, uint64_t offset_bytes) {
  nbc_slice slice;
  slice.area = area, slice.offset_bytes = offset_bytes;
  return slice;
}

NBC__PRIVATE nbc_slice nbc__sched_at(nbc_slice base, uint64_t offset_bytes) {
  base.offset_bytes += offset_bytes;
  return base;
}

/* Both return the node's index, or -1. Messages of 0 bytes synchronise: only barriers send them.
   The k-th send to a rank meets the k-th receive from this rank there: both sides must write their
   messages in the same order, which the verifier shows. A send whose window is full waits for the
   one that went first. */
NBC__PRIVATE int32_t nbc__sched_message(nbc__sched_builder *b, nbc_node_type type, int peer,
                                        nbc_slice buffer, uint64_t size_bytes) {
  nbc_node *const node = nbc__sched_add(b, type, size_bytes);
  if (!node) return -1;
  if (b->group) peer = b->group[peer];
  const int32_t index = (int32_t)b->s->node_count - 1;
  node->u.msg.buffer = buffer;
  node->u.msg.peer = peer;
  node->u.msg.tag = type == NBC_NODE_SEND ? b->send_tags[peer]++ : b->recv_tags[peer]++;
  if (node->u.msg.tag >> 28 && !b->status)
    b->status = nbc__status_fail(b->err, NBC_E_RANGE, 0,
                                 "schedule: too many messages; take longer segments");
  nbc__sched_access(b, buffer, size_bytes, type == NBC_NODE_RECV);
  if (type == NBC_NODE_SEND && b->window_count) { /* a finished send lets the next one start */
    int32_t *const oldest = &b->window[b->window_next];
    b->window_next = (b->window_next + 1) % b->window_count;
    nbc__sched_after(b, *oldest);
    *oldest = index;
  }
  return index;
}

NBC__PRIVATE int32_t nbc__sched_send(nbc__sched_builder *b, int peer, nbc_slice from,
                                     uint64_t size_bytes) {
  return size_bytes ? nbc__sched_message(b, NBC_NODE_SEND, peer, from, size_bytes) : -1;
}

NBC__PRIVATE int32_t nbc__sched_recv(nbc__sched_builder *b, int peer, nbc_slice to,
                                     uint64_t size_bytes) {
  return size_bytes ? nbc__sched_message(b, NBC_NODE_RECV, peer, to, size_bytes) : -1;
}

NBC__PRIVATE void nbc__sched_copy(nbc__sched_builder *b, nbc_slice dst, nbc_slice src,
                                  uint64_t size_bytes) {
  if (!size_bytes || (dst.area == src.area && dst.offset_bytes == src.offset_bytes)) return;
  nbc_node *const node = nbc__sched_add(b, NBC_NODE_COPY, size_bytes);
  if (!node) return;
  node->u.copy.dst = dst, node->u.copy.src = src;
  nbc__sched_access(b, src, size_bytes, false);
  nbc__sched_access(b, dst, size_bytes, true);
}

NBC__PRIVATE void nbc__sched_reduce(nbc__sched_builder *b, nbc_slice dst, nbc_slice left,
                                    nbc_slice right, uint64_t size_bytes) {
  if (!size_bytes) return;
  nbc_node *const node = nbc__sched_add(b, NBC_NODE_REDUCE, size_bytes);
  if (!node) return;
  node->u.reduce.dst = dst, node->u.reduce.left = left, node->u.reduce.right = right;
  nbc__sched_access(b, left, size_bytes, false);
  nbc__sched_access(b, right, size_bytes, false);
  nbc__sched_access(b, dst, size_bytes, true);
}

/* out[at] = mine op other (or other op mine). `fresh`: this part of out is not computed yet, mine
   is still in the input, so that no copy is needed to start. */
NBC__PRIVATE void nbc__sched_combine(nbc__sched_builder *b, nbc_slice out, uint64_t at,
                                     uint64_t size_bytes, nbc_slice other, bool other_left,
                                     bool fresh) {
  const nbc_slice mine = nbc__sched_at(fresh ? b->in : out, at);
  nbc__sched_reduce(b, nbc__sched_at(out, at), other_left ? other : mine, other_left ? mine : other,
                    size_bytes);
}

NBC__PRIVATE nbc_slice nbc__sched_scratch(nbc__sched_builder *b, uint64_t size_bytes) {
  const nbc_slice slice = nbc__sched_slice(NBC_AREA_SCRATCH, b->s->scratch_bytes);
  b->s->scratch_bytes +=
      (size_bytes + 63) & ~(uint64_t)63; /* keep parts on their own cache lines */
  return slice;
}

NBC__PRIVATE void nbc__sched_window(nbc__sched_builder *b, int at_most) {
  b->window_count = b->d.window_count < at_most ? b->d.window_count : at_most;
  b->window_next = 0;
  for (int i = 0; i < b->window_count; i++) b->window[i] = -1;
}

/* ---- blocks: where the part of each rank lies ---------------------------------------------- */
NBC__PRIVATE uint64_t nbc__sched_block_bytes(const nbc_schedule_desc *d, const uint64_t *counts,
                                             int rank) {
  return (counts ? counts[rank] : d->count) * d->elem_bytes;
}

NBC__PRIVATE uint64_t nbc__sched_block_at(const nbc_schedule_desc *d, const uint64_t *counts,
                                          const uint64_t *displs, int rank) {
  if (displs) return displs[rank] * d->elem_bytes;
  if (!counts) return (uint64_t)rank * d->count * d->elem_bytes;
  uint64_t at = 0;
  for (int i = 0; i < rank; i++) at += counts[i];
  return at * d->elem_bytes;
}

/* How many blocks come to this rank, go from it. */
NBC__PRIVATE int nbc__sched_recv_blocks(const nbc_schedule_desc *d) {
  return d->neighbors ? d->neighbors->source_count : d->size;
}
NBC__PRIVATE int nbc__sched_send_blocks(const nbc_schedule_desc *d) {
  return d->neighbors ? d->neighbors->target_count : d->size;
}

NBC__PRIVATE uint64_t nbc__sched_blocks_end(const nbc_schedule_desc *d, const uint64_t *counts,
                                            const uint64_t *displs) {
  return nbc__sched_row_end(d, counts, displs, d->size);
}

NBC__PRIVATE uint64_t nbc__sched_row_end(const nbc_schedule_desc *d, const uint64_t *counts,
                                         const uint64_t *displs, int blocks) {
  uint64_t end = 0, packed = 0;
  for (int i = 0; i < blocks; i++) {
    const uint64_t bytes = nbc__sched_block_bytes(d, counts, i);
    const uint64_t at = displs ? displs[i] * d->elem_bytes : packed;
    packed += bytes;
    if (bytes && at + bytes > end) end = at + bytes;
  }
  return end;
}

/* Sums once what nbc__sched_block_at would sum for every block. */
static bool nbc__sched_index(const uint64_t *counts, const uint64_t *displs, int blocks,
                             uint64_t **index) {
  if (!counts || displs) return true;
  uint64_t *const at = (uint64_t *)NBC_MALLOC(((size_t)blocks + 1) * sizeof *at);
  if (!at) return false;
  at[0] = 0;
  for (int i = 0; i < blocks; i++) at[i + 1] = at[i] + counts[i];
  *index = at;
  return true;
}

/* Of the counts that this rank reads (in place, without a root: those of what it receives only). */
NBC__PRIVATE bool nbc__sched_index_blocks(nbc__sched_builder *b) {
  const nbc_schedule_desc *const d = &b->d;
  const bool rooted = (nbc__coll_about(d->coll)->has & NBC_HAS_ROOT) != 0;
  if (rooted && d->rank != d->root) return true;
  return nbc__sched_index(d->recv_counts, d->recv_displs, nbc__sched_recv_blocks(d), &b->recv_at) &&
         ((d->in_place && !rooted) ||
          nbc__sched_index(d->send_counts, d->send_displs, nbc__sched_send_blocks(d), &b->send_at));
}

NBC__PRIVATE uint64_t nbc__sched_vector_bytes(const nbc__sched_builder *b) {
  return b->d.count * b->d.elem_bytes;
}

NBC__PRIVATE uint64_t nbc__sched_recv_bytes(const nbc__sched_builder *b, int rank) {
  return nbc__sched_block_bytes(&b->d, b->d.recv_counts, rank);
}

NBC__PRIVATE uint64_t nbc__sched_recv_at(const nbc__sched_builder *b, int rank) {
  if (b->recv_at) return b->recv_at[rank] * b->d.elem_bytes;
  return nbc__sched_block_at(&b->d, b->d.recv_counts, b->d.recv_displs, rank);
}

NBC__PRIVATE uint64_t nbc__sched_send_bytes(const nbc__sched_builder *b, int rank) {
  return nbc__sched_block_bytes(&b->d, b->d.send_counts, rank);
}

NBC__PRIVATE uint64_t nbc__sched_send_at(const nbc__sched_builder *b, int rank) {
  if (b->send_at) return b->send_at[rank] * b->d.elem_bytes;
  return nbc__sched_block_at(&b->d, b->d.send_counts, b->d.send_displs, rank);
}

/* Part i of a vector of d.count elements cut evenly into `parts`: [at(i), at(i + 1)) in bytes. */
NBC__PRIVATE uint64_t nbc__sched_part(const nbc__sched_builder *b, int i, int parts) {
  const uint64_t n = b->d.count / (uint64_t)parts, rest = b->d.count % (uint64_t)parts,
                 k = (uint64_t)i;
  return (k * n + (k < rest ? k : rest)) * b->d.elem_bytes;
}

NBC__PRIVATE int nbc__sched_power_of_two(int size) { /* largest 2^n <= size */
  int p = 1;
  while (p <= size / 2) p *= 2;
  return p;
}
#ifdef NBC_LINES
#line 7 "src/coll/trees.h"
#endif
NBC__PRIVATE int nbc__sched_knomial(int v, int size, int radix, int *parent, int *children);
NBC__PRIVATE int nbc__sched_subtree(int v, int size, int radix);
NBC__PRIVATE int nbc__sched_tree(nbc__sched_builder *b, int v, int size, int *parent);
NBC__PRIVATE bool nbc__sched_is_knomial(nbc_algo algo);
NBC__PRIVATE int nbc__sched_radix(const nbc__sched_builder *b);
NBC__PRIVATE int nbc__sched_virtual(const nbc__sched_builder *b, int root);
NBC__PRIVATE int nbc__sched_real(const nbc__sched_builder *b, int root, int v);
NBC__PRIVATE uint64_t nbc__sched_tree_segment(const nbc__sched_builder *b, uint64_t total_bytes);
NBC__PRIVATE void nbc__sched_barrier_dissemination(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_barrier_tree(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_barrier_two_level(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_bcast_tree(nbc__sched_builder *b, nbc_slice buffer,
                                        uint64_t total_bytes, int root);
NBC__PRIVATE void nbc__sched_bcast(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_bcast_bounded(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_bcast_long(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_bcast_long_m(nbc__sched_builder *b);

/* Of each node one leads: the root of the collective on its own, elsewhere the lowest rank. */
typedef struct nbc__sched_places {
  int *memory, *leaders, *members; /* members: of this rank's node, its leader first */
  int leader_count, member_count, leader_at, member_at; /* this rank's places; -1: leads nothing */
} nbc__sched_places;
NBC__PRIVATE bool nbc__sched_places_open(const nbc__sched_builder *b, int rank, int root,
                                         nbc__sched_places *p);
#ifdef NBC_LINES
#line 1 "src/coll/trees.c"
#endif
/* trees.c: trees; barrier and broadcast. */


/* ---- trees --------------------------------------------------------------------------------- */
/* Parent (-1 at the root) and children, ascending, of v in a tree over 0..size-1 with root 0.
   Written in base `radix`, v's parent is v with its lowest digit that is not 0 made 0, and v's
   children are v with one of the zeros below that digit made something else. The subtree of a
   k-nomial child c at distance m from its parent is [c, min(c + m, size)): a run, so gather and
   scatter move it as one piece. */
NBC__PRIVATE int nbc__sched_knomial(int v, int size, int radix, int *parent, int *children) {
  int count = 0;
  *parent = -1;
  for (int64_t m = 1; m < size; m *= radix) {
    if (v % (m * radix) != 0) {
      *parent = (int)(v - v % (m * radix));
      break;
    }
    for (int j = 1; j < radix && v + j * m < size; j++) children[count++] = (int)(v + j * m);
  }
  return count;
}

/* Number of ranks in the subtree of v. The same walk over the digits: m ends at the place of the
   lowest digit that is not 0. */
NBC__PRIVATE int nbc__sched_subtree(int v, int size, int radix) {
  int64_t m = 1;
  while (m < size && v % (m * radix) == 0) m *= radix;
  return (int)(v + m < size ? m : size - v);
}

/* The broadcasts of HPL (HPL_1rg, 1rM, 2rg, 2rM): each rank hands on to the next one. Modified:
   rank 1, which factors the next panel, gets its copy first and sends to nobody. Two: the root
   feeds two rings of half the length. */
static int nbc__sched_hpl_rings(nbc_algo algo, int v, int size, int *parent, int *children) {
  const bool modified = algo == NBC_ALGO_HPL_1RING_M || algo == NBC_ALGO_HPL_2RING_M;
  const bool two = algo == NBC_ALGO_HPL_2RING || algo == NBC_ALGO_HPL_2RING_M;
  const int first = modified ? 2 : 1; /* start of the first ring; the second starts at `half` */
  const int half = two ? first + (size - first + 1) / 2 : size;
  int count = 0;
  *parent = v == 0 ? -1 : v == first || v == half || (modified && v == 1) ? 0 : v - 1;
  if (v == 0) {
    for (int c = 1; c <= first && c < size; c++) children[count++] = c;
    if (half < size && half > first) children[count++] = half;
  } else if (v >= first && v + 1 < size && v + 1 != half) {
    children[count++] = v + 1;
  }
  return count;
}

/* ---- who is where -------------------------------------------------------------------------- */
/* For two-level schedules: on each node one leads (the root on its own, else the lowest rank). Both
   lists begin with the one that the rest hangs from: the root among the leaders, the leader among
   the members of this rank's node. So trees over the lists have their roots at place 0. */
NBC__PRIVATE bool nbc__sched_places_open(const nbc__sched_builder *b, int rank, int root,
                                         nbc__sched_places *p) {
  const int size = b->d.size, *const nodes = b->d.nodes; /* NULL: all on one */
  memset(p, 0, sizeof *p);
  p->memory = (int *)NBC_MALLOC(3 * (size_t)size * sizeof *p->memory);
  if (!p->memory) return false;
  int *const leader_of = p->memory;
  p->leaders = leader_of + size, p->members = p->leaders + size;
  for (int i = 0; i < size; i++) leader_of[i] = -1;
  leader_of[nodes ? nodes[root] : 0] = root;
  for (int i = 0; i < size; i++)
    if (leader_of[nodes ? nodes[i] : 0] < 0) leader_of[nodes ? nodes[i] : 0] = i;
  const int own = nodes ? nodes[rank] : 0;
  p->leaders[p->leader_count++] = root;
  p->members[p->member_count++] = leader_of[own];
  p->leader_at = rank == root ? 0 : -1;
  for (int i = 0; i < size; i++) {
    const int node = nodes ? nodes[i] : 0;
    if (leader_of[node] == i && i != root) {
      if (i == rank) p->leader_at = p->leader_count;
      p->leaders[p->leader_count++] = i;
    }
    if (node == own && i != leader_of[own]) {
      if (i == rank) p->member_at = p->member_count;
      p->members[p->member_count++] = i;
    }
  }
  return true;
}

/* Binomial between the leaders, binomial inside each node. Numbers count from the root, as all
   trees'. The children inside come first in the list: who sends begins at its end, with the other
   nodes. */
static int nbc__sched_two_level_tree(nbc__sched_builder *b, int v, int *parent) {
  const int size = b->d.size, root = b->d.root, rank = nbc__sched_real(b, root, v);
  nbc__sched_places p;
  int above, count = 0;
  *parent = -1;
  if (!nbc__sched_places_open(b, rank, root, &p)) {
    if (!b->status) b->status = nbc__status_fail(b->err, NBC_E_NOMEM, 0, "schedule: out of memory");
    return 0;
  }
  count = nbc__sched_knomial(p.member_at, p.member_count, 2, &above, b->children);
  for (int i = 0; i < count; i++) b->children[i] = p.members[b->children[i]];
  if (above >= 0) *parent = p.members[above];
  if (p.leader_at >= 0) {
    const int inside = count;
    count += nbc__sched_knomial(p.leader_at, p.leader_count, 2, &above, b->children + inside);
    for (int i = inside; i < count; i++) b->children[i] = p.leaders[b->children[i]];
    *parent = above >= 0 ? p.leaders[above] : -1;
  }
  for (int i = 0; i < count; i++) b->children[i] = (b->children[i] - root + size) % size;
  if (*parent >= 0) *parent = (*parent - root + size) % size;
  NBC_FREE(p.memory);
  return count;
}

NBC__PRIVATE int nbc__sched_tree(nbc__sched_builder *b, int v, int size, int *parent) {
  int count = 0;
  switch (b->s->algo) {
  case NBC_ALGO_LINEAR:
    *parent = v ? 0 : -1;
    for (int c = 1; v == 0 && c < size; c++) b->children[count++] = c;
    return count;
  case NBC_ALGO_CHAIN:
    *parent = v - 1;
    if (v + 1 < size) b->children[count++] = v + 1;
    return count;
  case NBC_ALGO_BINARY:
    *parent = v ? (v - 1) / 2 : -1;
    for (int64_t c = 2 * (int64_t)v + 1; c <= 2 * (int64_t)v + 2 && c < size; c++)
      b->children[count++] = (int)c;
    return count;
  case NBC_ALGO_HPL_1RING:
  case NBC_ALGO_HPL_1RING_M:
  case NBC_ALGO_HPL_2RING:
  case NBC_ALGO_HPL_2RING_M: return nbc__sched_hpl_rings(b->s->algo, v, size, parent, b->children);
  case NBC_ALGO_TWO_LEVEL: return nbc__sched_two_level_tree(b, v, parent);
  case NBC_ALGO_KNOMIAL: return nbc__sched_knomial(v, size, b->d.radix, parent, b->children);
  default: return nbc__sched_knomial(v, size, 2, parent, b->children);
  }
}

NBC__PRIVATE bool nbc__sched_is_knomial(nbc_algo algo) {
  return algo == NBC_ALGO_BINOMIAL || algo == NBC_ALGO_KNOMIAL || algo == NBC_ALGO_TWO_LEVEL;
}
NBC__PRIVATE int nbc__sched_radix(const nbc__sched_builder *b) {
  return b->s->algo == NBC_ALGO_KNOMIAL ? b->d.radix : 2;
}

/* Tree ranks count from the root: v = 0 is `root`. */
NBC__PRIVATE int nbc__sched_virtual(const nbc__sched_builder *b, int root) {
  return (b->d.rank - root + b->d.size) % b->d.size;
}
NBC__PRIVATE int nbc__sched_real(const nbc__sched_builder *b, int root, int v) {
  return (int)(((int64_t)v + root) % b->d.size);
}

/* A segment holds whole elements, one at least. */
static uint64_t nbc__sched_segment(const nbc__sched_builder *b, uint64_t total_bytes,
                                   uint64_t default_bytes) {
  uint64_t bytes = b->d.segment_bytes ? b->d.segment_bytes : default_bytes;
  if (bytes > total_bytes) bytes = total_bytes;
  bytes -= bytes % b->d.elem_bytes;
  return bytes ? bytes : b->d.elem_bytes;
}

/* Pipelining pays where a rank forwards what it gets; HPL's rings are unsegmented by definition. */
NBC__PRIVATE uint64_t nbc__sched_tree_segment(const nbc__sched_builder *b, uint64_t total_bytes) {
  const nbc_algo a = b->s->algo;
  if (a == NBC_ALGO_LINEAR || a >= NBC_ALGO_HPL_1RING) return total_bytes ? total_bytes : 1;
  return nbc__sched_segment(b, total_bytes,
                            a == NBC_ALGO_CHAIN || a == NBC_ALGO_BINARY ? 64 * 1024 : UINT64_MAX);
}

/* ---- barrier ------------------------------------------------------------------------------- */
/* Hensgen, Finkel and Manber (1988): in step s a rank tells the one 2^s above it, and is told by
   the one 2^s below: after ceil(log2 n) steps it has heard of all, for any n. Here among `count`
   ranks (NULL: 0 ... count - 1), this one at place `at`, once the node `before` is over (-1: at
   once). ret how many nodes `heard` holds, after which all are known to have come */
static int nbc__sched_disseminate(nbc__sched_builder *b, const int *ranks, int count, int at,
                                  int32_t before, int32_t heard[32]) {
  const nbc_slice none = nbc__sched_slice(NBC_AREA_NONE, 0);
  int steps = 0;
  for (int64_t m = 1; m < count; m *= 2, steps++) { /* who sends tells all it has heard so far */
    const int to = (int)((at + m) % count), from = (int)((at - m + count) % count);
    nbc__sched_message(b, NBC_NODE_SEND, ranks ? ranks[to] : to, none, 0);
    if (before >= 0) nbc__sched_after(b, before);
    for (int i = 0; i < steps; i++) nbc__sched_after(b, heard[i]);
    heard[steps] = nbc__sched_message(b, NBC_NODE_RECV, ranks ? ranks[from] : from, none, 0);
  }
  return steps;
}

NBC__PRIVATE void nbc__sched_barrier_dissemination(nbc__sched_builder *b) {
  int32_t heard[32];
  (void)nbc__sched_disseminate(b, NULL, b->d.size, b->d.rank, -1, heard);
}

/* Up to rank 0, which then knows that all have come, and down again. */
NBC__PRIVATE void nbc__sched_barrier_tree(nbc__sched_builder *b) {
  const nbc_slice none = nbc__sched_slice(NBC_AREA_NONE, 0);
  int parent;
  const int count = nbc__sched_tree(b, b->d.rank, b->d.size, &parent);
  const int32_t first = (int32_t)b->s->node_count;
  for (int i = 0; i < count; i++) nbc__sched_message(b, NBC_NODE_RECV, b->children[i], none, 0);
  nbc__sched_add(b, NBC_NODE_NOP, 0); /* all below have arrived */
  int32_t released = first + count;
  for (int32_t i = first; i < released; i++) nbc__sched_after(b, i);
  if (parent >= 0) {
    nbc__sched_message(b, NBC_NODE_SEND, parent, none, 0);
    nbc__sched_after(b, released);
    released = nbc__sched_message(b, NBC_NODE_RECV, parent, none, 0);
  }
  for (int i = count - 1; i >= 0; i--) {
    nbc__sched_message(b, NBC_NODE_SEND, b->children[i], none, 0);
    nbc__sched_after(b, released);
  }
}

/* Up to the leader of each node, which tell each other by dissemination, and down again: a tree over all
   would cross between nodes twice as often in a row. */
NBC__PRIVATE void nbc__sched_barrier_two_level(nbc__sched_builder *b) {
  const nbc_slice none = nbc__sched_slice(NBC_AREA_NONE, 0);
  nbc__sched_places p;
  int32_t heard[32];
  int above;
  if (!nbc__sched_places_open(b, b->d.rank, 0, &p)) {
    b->status = nbc__status_fail(b->err, NBC_E_NOMEM, 0, "schedule: out of memory");
    return;
  }
  const int count = nbc__sched_knomial(p.member_at, p.member_count, 2, &above, b->children);
  const int32_t first = (int32_t)b->s->node_count, arrived = first + count;
  for (int i = 0; i < count; i++)
    nbc__sched_message(b, NBC_NODE_RECV, p.members[b->children[i]], none, 0);
  nbc__sched_add(b, NBC_NODE_NOP, 0); /* all below have arrived */
  for (int32_t i = first; i < arrived; i++) nbc__sched_after(b, i);
  int32_t released = arrived;
  if (above >= 0) {
    nbc__sched_message(b, NBC_NODE_SEND, p.members[above], none, 0);
    nbc__sched_after(b, arrived);
    released = nbc__sched_message(b, NBC_NODE_RECV, p.members[above], none, 0);
  } else {
    const int steps =
        nbc__sched_disseminate(b, p.leaders, p.leader_count, p.leader_at, arrived, heard);
    released = (int32_t)b->s->node_count;
    nbc__sched_add(b, NBC_NODE_NOP, 0); /* all nodes have */
    nbc__sched_after(b, arrived);
    for (int i = 0; i < steps; i++) nbc__sched_after(b, heard[i]);
  }
  for (int i = count - 1; i >= 0; i--) {
    nbc__sched_message(b, NBC_NODE_SEND, p.members[b->children[i]], none, 0);
    nbc__sched_after(b, released);
  }
  NBC_FREE(p.memory);
}

/* ---- broadcast ----------------------------------------------------------------------------- */
NBC__PRIVATE void nbc__sched_bcast_tree(nbc__sched_builder *b, nbc_slice buffer,
                                        uint64_t total_bytes, int root) {
  int parent;
  const int count = nbc__sched_tree(b, nbc__sched_virtual(b, root), b->d.size, &parent);
  const uint64_t step = nbc__sched_tree_segment(b, total_bytes);
  const bool far_first = nbc__sched_is_knomial(b->s->algo); /* the biggest subtree first */
  for (uint64_t at = 0; at < total_bytes && !b->status; at += step) {
    const uint64_t bytes = total_bytes - at < step ? total_bytes - at : step;
    if (parent >= 0)
      nbc__sched_recv(b, nbc__sched_real(b, root, parent), nbc__sched_at(buffer, at), bytes);
    for (int i = 0; i < count; i++)
      nbc__sched_send(b, nbc__sched_real(b, root, b->children[far_first ? count - 1 - i : i]),
                      nbc__sched_at(buffer, at), bytes);
  }
}

/* A rank that sends the whole to many at once, or segments down a tree, bounds what is under
   way. */
NBC__PRIVATE void nbc__sched_bcast_bounded(nbc__sched_builder *b) {
  nbc__sched_window(b, INT32_MAX);
  nbc__sched_bcast_tree(b, b->out, nbc__sched_vector_bytes(b), b->d.root);
}

NBC__PRIVATE void nbc__sched_bcast(nbc__sched_builder *b) {
  nbc__sched_bcast_tree(b, b->out, nbc__sched_vector_bytes(b), b->d.root);
}

/* Participant i of n is virtual rank `skip(i)`: HPL's modified form leaves virtual rank 1 out. */
static int nbc__sched_skip(const nbc__sched_builder *b, int i, bool without_one) {
  return nbc__sched_real(b, b->d.root, without_one && i > 0 ? i + 1 : i);
}

/* HPL's long broadcasts (lng, lnM), for what is worth cutting up. Spread: binomial scatter of n
   parts. Roll: ring in which every part passes every participant. Each rank receives little more
   than the vector once and no rank sends it twice, where a tree's root sends it log2 n times. */
static void nbc__sched_spread_and_roll(nbc__sched_builder *b, bool without_one) {
  const nbc_slice buffer = b->out;
  const uint64_t total_bytes = b->d.count * b->d.elem_bytes;
  int v = nbc__sched_virtual(b, b->d.root), n = b->d.size, parent;
  if (without_one && n > 1) {
    const int one = nbc__sched_real(b, b->d.root, 1);
    if (v == 0) nbc__sched_send(b, one, buffer, total_bytes);
    if (v == 1) {
      nbc__sched_recv(b, b->d.root, buffer, total_bytes);
      return;
    }
    if (v > 1) v--;
    n--;
  }
  const int count = nbc__sched_knomial(v, n, 2, &parent, b->children);
  const uint64_t mine = nbc__sched_part(b, v, n);
  if (parent >= 0)
    nbc__sched_recv(b, nbc__sched_skip(b, parent, without_one), nbc__sched_at(buffer, mine),
                    nbc__sched_part(b, v + nbc__sched_subtree(v, n, 2), n) - mine);
  for (int i = count - 1; i >= 0; i--) {
    const int c = b->children[i];
    const uint64_t at = nbc__sched_part(b, c, n),
                   end = nbc__sched_part(b, c + nbc__sched_subtree(c, n, 2), n);
    nbc__sched_send(b, nbc__sched_skip(b, c, without_one), nbc__sched_at(buffer, at), end - at);
  }
  for (int s = 0; s < n - 1; s++) { /* nobody is sent what the spread already gave it */
    const int give = (v - s + n) % n, take = (v - s - 1 + n) % n, right = (v + 1) % n;
    /* Both ends of a message ask whether its receiver has the part by the subtree of the same
       receiver: if they asked differently, one end would wait for ever. */
    const bool right_has = give >= right && give < right + nbc__sched_subtree(right, n, 2);
    const bool have = take >= v && take < v + nbc__sched_subtree(v, n, 2);
    const uint64_t give_at = nbc__sched_part(b, give, n), take_at = nbc__sched_part(b, take, n);
    if (!right_has)
      nbc__sched_send(b, nbc__sched_skip(b, right, without_one), nbc__sched_at(buffer, give_at),
                      nbc__sched_part(b, give + 1, n) - give_at);
    if (!have)
      nbc__sched_recv(b, nbc__sched_skip(b, (v - 1 + n) % n, without_one),
                      nbc__sched_at(buffer, take_at), nbc__sched_part(b, take + 1, n) - take_at);
  }
}

NBC__PRIVATE void nbc__sched_bcast_long(nbc__sched_builder *b) {
  nbc__sched_spread_and_roll(b, false);
}

NBC__PRIVATE void nbc__sched_bcast_long_m(nbc__sched_builder *b) {
  nbc__sched_spread_and_roll(b, true);
}
#ifdef NBC_LINES
#line 7 "src/coll/algorithms.h"
#endif
NBC__PRIVATE void nbc__sched_reduce_by_tree(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_allreduce_by_tree(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_allreduce_doubling(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_allreduce_rabenseifner(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_reduce_rabenseifner(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_allreduce_ring(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_allreduce_two_level(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_rs_linear(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_rs_pairwise(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_rs_ring(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_rs_halving(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_rs_tree(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_gather_linear(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_scatter_linear(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_gather_tree(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_scatter_tree(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_gatherv_tree(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_scatterv_tree(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_allgather_linear(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_allgather_ring(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_allgather_doubling(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_allgather_bruck(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_alltoall_linear(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_alltoall_pairwise(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_alltoall_bruck(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_neighbors(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_scan_linear(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_exscan_linear(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_scan_doubling(nbc__sched_builder *b);
NBC__PRIVATE void nbc__sched_exscan_doubling(nbc__sched_builder *b);
#ifdef NBC_LINES
#line 1 "src/coll/algorithms.c"
#endif
/* algorithms.c: algorithms of the other collectives, written as sequential programs. */



/* ---- reductions ---------------------------------------------------------------------------- */
/* Ordered trees hang on rank 0; when the root is another, rank 0 sends it the result. At the root
   the result of total_bytes comes to `result`. */
static void nbc__sched_reduce_to(nbc__sched_builder *b, int root, nbc_slice result,
                                 uint64_t total_bytes) {
  const uint64_t step = nbc__sched_tree_segment(b, total_bytes);
  const int tree_root = b->d.not_commutative ? 0 : root;
  int parent;
  const int count = nbc__sched_tree(b, nbc__sched_virtual(b, tree_root), b->d.size, &parent);
  const nbc_slice out = b->d.rank != root && count ? nbc__sched_scratch(b, total_bytes) : result;
  const uint64_t segments = total_bytes ? (total_bytes - 1) / step + 1 : 0;
  /* two slots per child: receive while reducing */
  uint64_t slots = (uint64_t)count * (segments > 1 ? 2 : 1), slot = 0;
  if (slots > 16) slots = 16;
  const nbc_slice room = nbc__sched_scratch(b, slots * step);
  for (uint64_t at = 0; at < total_bytes && !b->status; at += step) {
    const uint64_t bytes = total_bytes - at < step ? total_bytes - at : step;
    for (int i = 0; i < count; i++) {
      const nbc_slice other = nbc__sched_at(room, slot++ % slots * step);
      nbc__sched_recv(b, nbc__sched_real(b, tree_root, b->children[i]), other, bytes);
      nbc__sched_combine(b, out, at, bytes, other, false, i == 0);
    }
    if (parent >= 0)
      nbc__sched_send(b, nbc__sched_real(b, tree_root, parent),
                      nbc__sched_at(count ? out : b->in, at), bytes);
    else if (!count)
      nbc__sched_copy(b, nbc__sched_at(out, at), nbc__sched_at(b->in, at), bytes);
  }
  if (root == tree_root) return;
  if (b->d.rank == tree_root) nbc__sched_send(b, root, out, total_bytes);
  if (b->d.rank == root) nbc__sched_recv(b, tree_root, result, total_bytes);
}

/* In ordered trees (see above) the children of v hold runs of ranks above v, in ascending order:
   combining them in this order, each as the right operand, keeps the order of operands. */
NBC__PRIVATE void nbc__sched_reduce_by_tree(nbc__sched_builder *b) {
  nbc__sched_reduce_to(b, b->d.root, b->out, nbc__sched_vector_bytes(b));
}

/* The tree hangs on rank 0 whatever the operator: nobody wants the result sooner than the
   others. */
NBC__PRIVATE void nbc__sched_allreduce_by_tree(nbc__sched_builder *b) {
  nbc__sched_reduce_to(b, 0, b->out, nbc__sched_vector_bytes(b));
  nbc__sched_bcast_tree(b, b->out, nbc__sched_vector_bytes(b), 0);
}

/* Ranks above the largest power of two: the first 2 rest ranks pair up (even gives to odd), so that
   2^n are left, numbered from 0. A rank that is left has its part of the result in `out`, or still
   in the input (*fresh). ret this rank's number among those left, or -1 */
static int nbc__sched_fold(nbc__sched_builder *b, nbc_slice out, uint64_t total_bytes,
                           bool *fresh) {
  const int rest = b->d.size - nbc__sched_power_of_two(b->d.size), r = b->d.rank;
  *fresh = true;
  if (r >= 2 * rest) return r - rest;
  if (r % 2 == 0) {
    nbc__sched_send(b, r + 1, b->in, total_bytes);
    return -1;
  }
  /* The lower rank's operand is the left one. */
  const nbc_slice other = nbc__sched_scratch(b, total_bytes);
  nbc__sched_recv(b, r - 1, other, total_bytes);
  nbc__sched_combine(b, out, 0, total_bytes, other, true, true);
  *fresh = false;
  return r / 2;
}

/* The rank that has this number among those left. */
static int nbc__sched_unfolded(const nbc__sched_builder *b, int folded) {
  const int rest = b->d.size - nbc__sched_power_of_two(b->d.size);
  return folded < rest ? 2 * folded + 1 : folded + rest;
}

/* Those that were left tell the others the result. */
static void nbc__sched_unfold(nbc__sched_builder *b, nbc_slice out, uint64_t total_bytes) {
  const int rest = b->d.size - nbc__sched_power_of_two(b->d.size), r = b->d.rank;
  if (r >= 2 * rest) return;
  if (r % 2)
    nbc__sched_send(b, r - 1, out, total_bytes);
  else
    nbc__sched_recv(b, r + 1, out, total_bytes);
}

/* Recursive doubling: after the step of distance m a rank holds the reduction of its aligned group
   of 2 m ranks, as its partner does, so log2 n messages of full length per rank. `me & m` tells
   which of the two groups is the lower one: operands keep their order, and both partners compute
   the same bits. Two rooms in turn: the next message may come while the last one is still being
   reduced. */
NBC__PRIVATE void nbc__sched_allreduce_doubling(nbc__sched_builder *b) {
  const uint64_t total_bytes = nbc__sched_vector_bytes(b);
  bool fresh;
  const int me = nbc__sched_fold(b, b->out, total_bytes, &fresh),
            n = nbc__sched_power_of_two(b->d.size);
  if (me >= 0 && n > 1) {
    const nbc_slice room = nbc__sched_scratch(b, 2 * total_bytes);
    for (int m = 1, turn = 0; m < n; m *= 2, turn ^= 1, fresh = false) {
      const nbc_slice other = nbc__sched_at(room, turn ? total_bytes : 0);
      const int peer = nbc__sched_unfolded(b, me ^ m);
      nbc__sched_send(b, peer, fresh ? b->in : b->out, total_bytes);
      nbc__sched_recv(b, peer, other, total_bytes);
      nbc__sched_combine(b, b->out, 0, total_bytes, other, (me & m) != 0, fresh);
    }
  } else if (me >= 0 && fresh)
    nbc__sched_copy(b, b->out, b->in, total_bytes);
  nbc__sched_unfold(b, b->out, total_bytes);
}

/* Rabenseifner's algorithm: the 2^n ranks left after folding halve the vector while the distance
   doubles, until each holds 1/2^n of the result; partners hold neighbouring groups of ranks, so the
   order of operands is kept. Then the parts are gathered on the same way back: by all, or towards
   the root only. [R. Rabenseifner, Optimization of Collective Reduction Operations, ICCS 2004, LNCS
   3036, pp. 1-9] After `step` halvings this rank holds the elements lo[step] to hi[step]. */
typedef struct nbc__sched_halves {
  int me, n, step; /* me: number among those left, -1: not left */
  uint64_t lo[33], hi[33];
} nbc__sched_halves;

static void nbc__sched_halve(nbc__sched_builder *b, nbc_slice out, nbc__sched_halves *h) {
  const uint64_t total_bytes = nbc__sched_vector_bytes(b), e = b->d.elem_bytes;
  bool fresh;
  h->n = nbc__sched_power_of_two(b->d.size);
  h->me = nbc__sched_fold(b, out, total_bytes, &fresh);
  h->step = 0;
  h->lo[0] = 0, h->hi[0] = b->d.count;
  const nbc_slice room = nbc__sched_scratch(b, h->me >= 0 && h->n > 1 ? total_bytes : 0);
  for (int m = 1; h->me >= 0 && m < h->n; m *= 2, fresh = false) {
    const uint64_t lo = h->lo[h->step], hi = h->hi[h->step], mid = lo + (hi - lo) / 2;
    const bool upper = (h->me & m) != 0;
    const int peer = nbc__sched_unfolded(b, h->me ^ m);
    h->step++;
    h->lo[h->step] = upper ? mid : lo;
    h->hi[h->step] = upper ? hi : mid;
    const uint64_t at = h->lo[h->step] * e, bytes = (h->hi[h->step] - h->lo[h->step]) * e;
    const uint64_t give_at = (upper ? lo : mid) * e, give = (upper ? mid : hi) * e - give_at;
    nbc__sched_send(b, peer, nbc__sched_at(fresh ? b->in : out, give_at), give);
    nbc__sched_recv(b, peer, nbc__sched_at(room, at), bytes);
    nbc__sched_combine(b, out, at, bytes, nbc__sched_at(room, at), upper, fresh);
  }
  if (h->me >= 0 && h->n == 1 && fresh) nbc__sched_copy(b, out, b->in, total_bytes);
}

/* One step back: this rank sends what it has and takes what its partner has, or one of the two. */
static void nbc__sched_double(nbc__sched_builder *b, nbc_slice out, nbc__sched_halves *h, int m,
                              bool gives, bool takes) {
  const uint64_t e = b->d.elem_bytes;
  const int peer = nbc__sched_unfolded(b, h->me ^ m);
  const uint64_t have = h->lo[h->step] * e, have_bytes = (h->hi[h->step] - h->lo[h->step]) * e;
  h->step--;
  const uint64_t lack = h->me & m ? h->lo[h->step] * e : have + have_bytes;
  const uint64_t lack_bytes = (h->hi[h->step] - h->lo[h->step]) * e - have_bytes;
  if (gives) nbc__sched_send(b, peer, nbc__sched_at(out, have), have_bytes);
  if (takes) nbc__sched_recv(b, peer, nbc__sched_at(out, lack), lack_bytes);
}

NBC__PRIVATE void nbc__sched_allreduce_rabenseifner(nbc__sched_builder *b) {
  nbc__sched_halves h;
  nbc__sched_halve(b, b->out, &h);
  for (int m = h.n / 2; h.me >= 0 && m > 0; m /= 2) nbc__sched_double(b, b->out, &h, m, true, true);
  nbc__sched_unfold(b, b->out, nbc__sched_vector_bytes(b));
}

/* On the way back a rank whose number differs from the target's in the bit of this step gives its
   part away and is done: after all steps only the target is left, with the whole. */
NBC__PRIVATE void nbc__sched_reduce_rabenseifner(nbc__sched_builder *b) {
  const uint64_t total_bytes = nbc__sched_vector_bytes(b);
  const int root = b->d.root, rest = b->d.size - nbc__sched_power_of_two(b->d.size);
  const nbc_slice out = b->d.rank == root ? b->out : nbc__sched_scratch(b, total_bytes);
  const int target = root < 2 * rest ? root / 2 : root - rest; /* who ends with the result */
  nbc__sched_halves h;
  nbc__sched_halve(b, out, &h);
  for (int m = h.n / 2; h.me >= 0 && m > 0; m /= 2) {
    const bool gives = ((h.me ^ target) & m) != 0;
    nbc__sched_double(b, out, &h, m, gives, !gives);
    if (gives) break;
  }
  if (root < 2 * rest && root % 2 == 0) { /* the root gave its data to root + 1 */
    if (b->d.rank == root + 1) nbc__sched_send(b, root, out, total_bytes);
    if (b->d.rank == root) nbc__sched_recv(b, root + 1, b->out, total_bytes);
  }
}

/* Each part of the vector goes round the ring twice: once collecting every rank's contribution,
   once handing out the result; 2 (n - 1) messages of 1/n of the vector, the least that any
   algorithm can send. The order of operands is that of the ring, which differs from part to part:
   for operators that commute only. */
NBC__PRIVATE void nbc__sched_allreduce_ring(nbc__sched_builder *b) {
  const int n = b->d.size, r = b->d.rank, right = (r + 1) % n, left = (r - 1 + n) % n;
  if (n == 1) nbc__sched_copy(b, b->out, b->in, nbc__sched_vector_bytes(b));
  const uint64_t room_bytes = nbc__sched_part(b, 1, n);
  const nbc_slice room = nbc__sched_scratch(b, n > 1 ? 2 * room_bytes : 0);
  for (int s = 0; s < 2 * (n - 1); s++) { /* first half reduces, second half distributes */
    const int give = ((r - s) % n + n) % n, take = (give - 1 + n) % n;
    const uint64_t give_at = nbc__sched_part(b, give, n), take_at = nbc__sched_part(b, take, n);
    const uint64_t take_bytes = nbc__sched_part(b, take + 1, n) - take_at;
    const nbc_slice other = s < n - 1 ? nbc__sched_at(room, (uint64_t)(s % 2) * room_bytes)
                                      : nbc__sched_at(b->out, take_at);
    nbc__sched_send(b, right, nbc__sched_at(s == 0 ? b->in : b->out, give_at),
                    nbc__sched_part(b, give + 1, n) - give_at);
    nbc__sched_recv(b, left, other, take_bytes);
    if (s < n - 1) nbc__sched_combine(b, b->out, take_at, take_bytes, other, false, true);
  }
}

/* ---- allreduce on two levels ----------------------------------------------------------------- */
/* What follows is among `ranks`, this one at place `at`, until the next call; NULL: all again. */
static void nbc__sched_among(nbc__sched_builder *b, const int *ranks, int count, int at) {
  b->group = ranks;
  b->d.size = count;
  b->d.rank = at;
}

/* To the leader of each node; among the leaders, by doubling or, when long, by halving and
   doubling; back. A leader's node has its part in `out`, from where the leader goes on. */
NBC__PRIVATE void nbc__sched_allreduce_two_level(nbc__sched_builder *b) {
  const uint64_t total_bytes = nbc__sched_vector_bytes(b);
  const int size = b->d.size, rank = b->d.rank;
  const nbc_slice in = b->in;
  nbc__sched_places p;
  if (!nbc__sched_places_open(b, rank, 0, &p)) {
    b->status = nbc__status_fail(b->err, NBC_E_NOMEM, 0, "schedule: out of memory");
    return;
  }
  b->s->algo = NBC_ALGO_BINOMIAL; /* of the trees inside */
  if (p.member_count > 1) {
    nbc__sched_among(b, p.members, p.member_count, p.member_at);
    nbc__sched_reduce_to(b, 0, b->out, total_bytes);
    b->in = b->out;
  }
  if (p.leader_at >= 0) {
    nbc__sched_among(b, p.leaders, p.leader_count, p.leader_at);
    if (total_bytes > 64 * 1024)
      nbc__sched_allreduce_rabenseifner(b);
    else
      nbc__sched_allreduce_doubling(b);
  }
  if (p.member_count > 1) {
    nbc__sched_among(b, p.members, p.member_count, p.member_at);
    nbc__sched_bcast_tree(b, b->out, total_bytes, 0);
  }
  nbc__sched_among(b, NULL, size, rank);
  b->in = in;
  b->s->algo = NBC_ALGO_TWO_LEVEL;
  NBC_FREE(p.memory);
}

/* ---- reduce_scatter: the result is recv block `rank`, alone in the receive buffer ---------- */
/* Each rank gets from every other its contribution to the own block, and reduces what came: n - 1
   short messages, no rank forwards anything. At most 16 have room at once. In place, the
   accumulator is apart from the result, whose place still holds input of others: writing there
   would wait for the sends that read it. */
static void nbc__sched_rs_direct(nbc__sched_builder *b, bool staggered) {
  const nbc_schedule_desc *const d = &b->d;
  const int n = d->size, r = d->rank;
  const uint64_t my_at = nbc__sched_recv_at(b, r), my = nbc__sched_recv_bytes(b, r);
  nbc__sched_window(b, n);
  for (int k = 1; k < n; k++) {
    const int to = (r + k) % n;
    nbc__sched_send(b, to, nbc__sched_at(b->in, nbc__sched_recv_at(b, to)),
                    nbc__sched_recv_bytes(b, to));
  }
  const nbc_slice acc = d->in_place ? nbc__sched_scratch(b, my) : b->out,
                  own = nbc__sched_at(b->in, my_at);
  const int slots = n - 1 < 16 ? n - 1 : 16;
  const nbc_slice room = nbc__sched_scratch(b, (uint64_t)slots * my);
  nbc_slice so_far = own;
  for (int k = 0, turn = 0; k < n; k++) { /* linear: rank order; pairwise: as they should arrive */
    const int from = staggered ? (r - k + n) % n : k;
    nbc_slice other = own;
    if (from != r) {
      other = nbc__sched_at(room, (uint64_t)(turn++ % slots) * my);
      nbc__sched_recv(b, from, other, my);
    }
    /* The first operand is taken from where it lies; a copy into the accumulator would move the
       block once more. */
    if (k == 0)
      so_far = other;
    else {
      nbc__sched_reduce(b, acc, so_far, other, my);
      so_far = acc;
    }
  }
  nbc__sched_copy(b, b->out, so_far, my);
}

NBC__PRIVATE void nbc__sched_rs_linear(nbc__sched_builder *b) { nbc__sched_rs_direct(b, false); }

NBC__PRIVATE void nbc__sched_rs_pairwise(nbc__sched_builder *b) { nbc__sched_rs_direct(b, true); }

/* The block of rank r starts at its right neighbour and goes round to r, collecting: n - 1 messages
   of one block per rank, and as in the ring above an order of operands that differs from block to
   block. */
NBC__PRIVATE void nbc__sched_rs_ring(nbc__sched_builder *b) {
  const nbc_schedule_desc *const d = &b->d;
  const int n = d->size, r = d->rank;
  uint64_t most = 0;
  for (int i = 0; i < n; i++) {
    const uint64_t bytes = nbc__sched_recv_bytes(b, i);
    if (bytes > most) most = bytes;
  }
  const nbc_slice room = nbc__sched_scratch(b, 3 * most);
  nbc_slice so_far = nbc__sched_at(b->in, nbc__sched_recv_at(b, (r - 1 + n) % n));
  for (int s = 0; s < n - 1; s++) { /* three rooms: send, reduce and receive at once */
    const int give = (r - 1 - s + 2 * n) % n, take = (r - 2 - s + 2 * n) % n;
    const uint64_t bytes = nbc__sched_recv_bytes(b, take);
    const nbc_slice other = nbc__sched_at(room, (uint64_t)(s % 3) * most);
    nbc__sched_send(b, (r + 1) % n, so_far, nbc__sched_recv_bytes(b, give));
    nbc__sched_recv(b, (r - 1 + n) % n, other, bytes);
    nbc__sched_reduce(b, other, other, nbc__sched_at(b->in, nbc__sched_recv_at(b, take)), bytes);
    so_far = other;
  }
  if (n == 1) so_far = b->in;
  nbc__sched_copy(b, b->out, so_far, nbc__sched_recv_bytes(b, r));
}

/* Where the blocks of rank number f among those left begin; f = their number: where all end. */
static uint64_t nbc__sched_folded_at(const nbc__sched_builder *b, int f) {
  const int n = nbc__sched_power_of_two(b->d.size), rest = b->d.size - n;
  if (f == n) return nbc__sched_blocks_end(&b->d, b->d.recv_counts, NULL);
  return nbc__sched_recv_at(b, f < rest ? 2 * f : f + rest);
}

/* Recursive halving: partners m apart, from the farthest, each keep the half of the blocks that
   belongs to their own half of the ranks. Folded ranks stand next to each other, so what rank
   number f among those left keeps is one piece of the vector: its own block and that of the rank
   that folded into it. */
NBC__PRIVATE void nbc__sched_rs_halving(nbc__sched_builder *b) {
  const nbc_schedule_desc *const d = &b->d;
  const int n = nbc__sched_power_of_two(d->size), rest = d->size - n;
  const uint64_t total_bytes = nbc__sched_blocks_end(d, d->recv_counts, NULL);
  const nbc_slice work = nbc__sched_scratch(b, total_bytes);
  bool fresh;
  const int me = nbc__sched_fold(b, work, total_bytes, &fresh);
  const nbc_slice room = nbc__sched_scratch(b, me >= 0 && n > 1 ? total_bytes : 0);
  /* From the farthest partner to the nearest, unlike Rabenseifner's halving: so what is left at the
     end is the block of the own number, and no step back is needed. Operands come from groups of
     ranks that are not neighbours. */
  int lo = 0, hi = n; /* numbers of the ranks whose blocks are still here */
  for (int m = n / 2; me >= 0 && m > 0; m /= 2, fresh = false) {
    const int mid = lo + m, peer = nbc__sched_unfolded(b, me ^ m);
    const bool upper = (me & m) != 0;
    const uint64_t give = nbc__sched_folded_at(b, upper ? lo : mid),
                   give_end = nbc__sched_folded_at(b, upper ? mid : hi);
    if (upper)
      lo = mid;
    else
      hi = mid;
    const uint64_t at = nbc__sched_folded_at(b, lo), bytes = nbc__sched_folded_at(b, hi) - at;
    nbc__sched_send(b, peer, nbc__sched_at(fresh ? b->in : work, give), give_end - give);
    nbc__sched_recv(b, peer, nbc__sched_at(room, at), bytes);
    nbc__sched_combine(b, work, at, bytes, nbc__sched_at(room, at), false, fresh);
  }
  const uint64_t mine = nbc__sched_recv_at(b, d->rank), bytes = nbc__sched_recv_bytes(b, d->rank);
  if (me < 0) {
    nbc__sched_recv(b, d->rank + 1, b->out, bytes);
    return;
  }
  if (d->rank < 2 * rest)
    nbc__sched_send(b, d->rank - 1, nbc__sched_at(work, nbc__sched_recv_at(b, d->rank - 1)),
                    nbc__sched_recv_bytes(b, d->rank - 1));
  nbc__sched_copy(b, b->out, nbc__sched_at(fresh ? b->in : work, mine), bytes);
}

/* Reduces to rank 0, which deals the blocks out. */
NBC__PRIVATE void nbc__sched_rs_tree(nbc__sched_builder *b) {
  const nbc_schedule_desc *const d = &b->d;
  const uint64_t total_bytes = nbc__sched_blocks_end(d, d->recv_counts, NULL);
  const nbc_slice all = nbc__sched_scratch(b, d->rank == 0 ? total_bytes : 0);
  nbc__sched_reduce_to(b, 0, all, total_bytes);
  const uint64_t bytes = nbc__sched_recv_bytes(b, d->rank);
  if (d->rank) {
    nbc__sched_recv(b, 0, b->out, bytes);
    return;
  }
  for (int i = 1; i < d->size; i++)
    nbc__sched_send(b, i, nbc__sched_at(all, nbc__sched_recv_at(b, i)),
                    nbc__sched_recv_bytes(b, i));
  nbc__sched_copy(b, b->out, all, bytes);
}

/* ---- gather, scatter ----------------------------------------------------------------------- */
NBC__PRIVATE void nbc__sched_gather_linear(nbc__sched_builder *b) {
  const nbc_schedule_desc *const d = &b->d;
  if (d->rank != d->root) {
    nbc__sched_send(b, d->root, b->in, nbc__sched_vector_bytes(b));
    return;
  }
  for (int i = 0; i < d->size; i++) {
    const nbc_slice to = nbc__sched_at(b->out, nbc__sched_recv_at(b, i));
    const uint64_t bytes = nbc__sched_recv_bytes(b, i);
    if (i != d->rank)
      nbc__sched_recv(b, i, to, bytes);
    else if (!d->in_place)
      nbc__sched_copy(b, to, b->in, bytes);
  }
}

NBC__PRIVATE void nbc__sched_scatter_linear(nbc__sched_builder *b) {
  const nbc_schedule_desc *const d = &b->d;
  if (d->rank != d->root) {
    nbc__sched_recv(b, d->root, b->out, nbc__sched_vector_bytes(b));
    return;
  }
  nbc__sched_window(b, d->size);
  for (int k = 0; k < d->size; k++) {
    const int i = (d->root + k) % d->size;
    const nbc_slice from = nbc__sched_at(b->in, nbc__sched_send_at(b, i));
    const uint64_t bytes = nbc__sched_send_bytes(b, i);
    if (i != d->rank)
      nbc__sched_send(b, i, from, bytes);
    else if (!d->in_place)
      nbc__sched_copy(b, b->out, from, bytes);
  }
}

/* Blocks of `count` virtual ranks from v on, in rank order at the root: one piece, or two where the
   numbers wrap. Calls copy for each piece. */
static void nbc__sched_wrapped(nbc__sched_builder *b, nbc_slice ranks, nbc_slice packed, int v,
                               int count, bool pack) {
  const uint64_t block = nbc__sched_vector_bytes(b);
  const int from = nbc__sched_real(b, b->d.root, v);
  const int first = from + count > b->d.size ? b->d.size - from : count;
  const nbc_slice upper = nbc__sched_at(ranks, (uint64_t)from * block);
  const nbc_slice rest = nbc__sched_at(packed, (uint64_t)first * block);
  nbc__sched_copy(b, pack ? packed : upper, pack ? upper : packed, (uint64_t)first * block);
  nbc__sched_copy(b, pack ? rest : ranks, pack ? ranks : rest, (uint64_t)(count - first) * block);
}

/* Tree ranks count from the root, and the subtree of a child is a run of them: what it sends is one
   piece, which the root can receive in place unless the run passes rank n - 1 and goes on at 0. */
NBC__PRIVATE void nbc__sched_gather_tree(nbc__sched_builder *b) {
  const nbc_schedule_desc *const d = &b->d;
  const uint64_t block = nbc__sched_vector_bytes(b);
  const int v = nbc__sched_virtual(b, d->root), radix = nbc__sched_radix(b);
  const uint64_t my_bytes = (uint64_t)nbc__sched_subtree(v, d->size, radix) * block;
  int parent;
  const int count = nbc__sched_tree(b, v, d->size, &parent);
  nbc_slice mine = b->in;
  if (parent >= 0 && count) {
    mine = nbc__sched_scratch(b, my_bytes);
    nbc__sched_copy(b, mine, b->in, block);
  } else if (parent < 0 && !d->in_place) {
    nbc__sched_copy(b, nbc__sched_at(b->out, (uint64_t)d->rank * block), b->in, block);
  }
  for (int i = 0; i < count; i++) {
    const int c = b->children[i], below = nbc__sched_subtree(c, d->size, radix);
    const int peer = nbc__sched_real(b, d->root, c);
    if (parent >= 0) {
      nbc__sched_recv(b, peer, nbc__sched_at(mine, (uint64_t)(c - v) * block),
                      (uint64_t)below * block);
    } else if (peer + below <= d->size) {
      nbc__sched_recv(b, peer, nbc__sched_at(b->out, (uint64_t)peer * block),
                      (uint64_t)below * block);
    } else {
      const nbc_slice room = nbc__sched_scratch(b, (uint64_t)below * block);
      nbc__sched_recv(b, peer, room, (uint64_t)below * block);
      nbc__sched_wrapped(b, b->out, room, c, below, false);
    }
  }
  if (parent >= 0) nbc__sched_send(b, nbc__sched_real(b, d->root, parent), mine, my_bytes);
}

/* As gather, backwards: the farthest child first, which has most to forward. */
NBC__PRIVATE void nbc__sched_scatter_tree(nbc__sched_builder *b) {
  const nbc_schedule_desc *const d = &b->d;
  const uint64_t block = nbc__sched_vector_bytes(b);
  const int v = nbc__sched_virtual(b, d->root), radix = nbc__sched_radix(b);
  const uint64_t my_bytes = (uint64_t)nbc__sched_subtree(v, d->size, radix) * block;
  int parent;
  const int count = nbc__sched_tree(b, v, d->size, &parent);
  nbc_slice mine = b->out;
  if (parent >= 0) {
    if (count) mine = nbc__sched_scratch(b, my_bytes);
    nbc__sched_recv(b, nbc__sched_real(b, d->root, parent), mine, my_bytes);
  }
  for (int i = count - 1; i >= 0; i--) {
    const int c = b->children[i], below = nbc__sched_subtree(c, d->size, radix);
    const int peer = nbc__sched_real(b, d->root, c);
    nbc_slice from = nbc__sched_at(mine, (uint64_t)(c - v) * block);
    if (parent < 0) from = nbc__sched_at(b->in, (uint64_t)peer * block);
    if (parent < 0 && peer + below > d->size) {
      from = nbc__sched_scratch(b, (uint64_t)below * block);
      nbc__sched_wrapped(b, b->in, from, c, below, true);
    }
    nbc__sched_send(b, peer, from, (uint64_t)below * block);
  }
  if (parent >= 0)
    nbc__sched_copy(b, b->out, mine, block);
  else if (!d->in_place)
    nbc__sched_copy(b, b->out, nbc__sched_at(b->in, (uint64_t)d->rank * block), block);
}

/* ---- gatherv, scatterv by a tree: inner ranks do not know how long the blocks below them are ---- */
/* So each block that is short travels in a slot of fixed length, which ranks on the way hand on as it is;
   the root and the block's owner, who know its length, use the part that is filled. Longer ones go
   straight between the two, as in the linear algorithm. The slot's length depends on nothing that one
   rank alone knows. */
static uint64_t nbc__sched_slot_bytes(const nbc__sched_builder *b) {
  /* Bounded, because a rank near the root holds a slot for each rank below it. */
  enum { BY_DEFAULT = 256, MOST = 65536 };
  const uint64_t asked_bytes = b->d.segment_bytes;
  return !asked_bytes ? (uint64_t)BY_DEFAULT : asked_bytes < MOST ? asked_bytes : (uint64_t)MOST;
}

/* At the root: what child c (counted from the root) brings or gets, in slots. */
static void nbc__sched_slots_of(nbc__sched_builder *b, int c, int below, uint64_t slot_bytes,
                                bool pack) {
  const nbc_slice room = nbc__sched_scratch(b, (uint64_t)below * slot_bytes);
  const int peer = nbc__sched_real(b, b->d.root, c);
  if (!pack) nbc__sched_recv(b, peer, room, (uint64_t)below * slot_bytes);
  for (int i = 0; i < below; i++) {
    const int rank = nbc__sched_real(b, b->d.root, c + i);
    const nbc_slice slot = nbc__sched_at(room, (uint64_t)i * slot_bytes);
    const uint64_t bytes = pack ? nbc__sched_send_bytes(b, rank) : nbc__sched_recv_bytes(b, rank);
    if (bytes > slot_bytes) continue;
    if (pack)
      nbc__sched_copy(b, slot, nbc__sched_at(b->in, nbc__sched_send_at(b, rank)), bytes);
    else
      nbc__sched_copy(b, nbc__sched_at(b->out, nbc__sched_recv_at(b, rank)), slot, bytes);
  }
  if (pack) nbc__sched_send(b, peer, room, (uint64_t)below * slot_bytes);
}

static void nbc__sched_gatherv_root(nbc__sched_builder *b, uint64_t slot_bytes, int count) {
  const nbc_schedule_desc *const d = &b->d;
  for (int i = 0; i < count; i++)
    nbc__sched_slots_of(b, b->children[i],
                        nbc__sched_subtree(b->children[i], d->size, nbc__sched_radix(b)),
                        slot_bytes, false);
  for (int k = 1; k < d->size; k++) {
    const int rank = (d->root + k) % d->size;
    const uint64_t bytes = nbc__sched_recv_bytes(b, rank);
    if (bytes > slot_bytes)
      nbc__sched_recv(b, rank, nbc__sched_at(b->out, nbc__sched_recv_at(b, rank)), bytes);
  }
  if (!d->in_place)
    nbc__sched_copy(b, nbc__sched_at(b->out, nbc__sched_recv_at(b, d->rank)), b->in,
                    nbc__sched_recv_bytes(b, d->rank));
}

/* The subtree of v is a run of numbers, so its slots are one message, in which slot c - v is c's. A
   rank sends its slots first and its long block after them, as the root receives them: the k-th
   send meets the k-th receive. */
NBC__PRIVATE void nbc__sched_gatherv_tree(nbc__sched_builder *b) {
  const nbc_schedule_desc *const d = &b->d;
  const uint64_t slot_bytes = nbc__sched_slot_bytes(b), bytes = nbc__sched_vector_bytes(b);
  const int v = nbc__sched_virtual(b, d->root), radix = nbc__sched_radix(b);
  int parent;
  const int count = nbc__sched_tree(b, v, d->size, &parent);
  if (parent < 0) {
    nbc__sched_gatherv_root(b, slot_bytes, count);
    return;
  }
  const uint64_t my_bytes = (uint64_t)nbc__sched_subtree(v, d->size, radix) * slot_bytes;
  const nbc_slice mine = nbc__sched_scratch(b, my_bytes);
  /* A longer block leaves its slot as it is: the root knows its length and does not read it. */
  if (bytes <= slot_bytes) nbc__sched_copy(b, mine, b->in, bytes);
  for (int i = 0; i < count; i++) {
    const int c = b->children[i];
    nbc__sched_recv(b, nbc__sched_real(b, d->root, c),
                    nbc__sched_at(mine, (uint64_t)(c - v) * slot_bytes),
                    (uint64_t)nbc__sched_subtree(c, d->size, radix) * slot_bytes);
  }
  nbc__sched_send(b, nbc__sched_real(b, d->root, parent), mine, my_bytes);
  if (bytes > slot_bytes) nbc__sched_send(b, d->root, b->in, bytes);
}

/* Slots before long blocks, as the others receive them. Only long blocks are bounded in number: on
   slots whole subtrees wait. */
static void nbc__sched_scatterv_root(nbc__sched_builder *b, uint64_t slot_bytes, int count) {
  const nbc_schedule_desc *const d = &b->d;
  for (int i = count - 1; i >= 0; i--) /* the farthest child first: it has most to forward */
    nbc__sched_slots_of(b, b->children[i],
                        nbc__sched_subtree(b->children[i], d->size, nbc__sched_radix(b)),
                        slot_bytes, true);
  nbc__sched_window(b, d->size);
  for (int k = 1; k < d->size; k++) {
    const int rank = (d->root + k) % d->size;
    const uint64_t bytes = nbc__sched_send_bytes(b, rank);
    if (bytes > slot_bytes)
      nbc__sched_send(b, rank, nbc__sched_at(b->in, nbc__sched_send_at(b, rank)), bytes);
  }
  if (!d->in_place)
    nbc__sched_copy(b, b->out, nbc__sched_at(b->in, nbc__sched_send_at(b, d->rank)),
                    nbc__sched_send_bytes(b, d->rank));
}

NBC__PRIVATE void nbc__sched_scatterv_tree(nbc__sched_builder *b) {
  const nbc_schedule_desc *const d = &b->d;
  const uint64_t slot_bytes = nbc__sched_slot_bytes(b), bytes = nbc__sched_vector_bytes(b);
  const int v = nbc__sched_virtual(b, d->root), radix = nbc__sched_radix(b);
  int parent;
  const int count = nbc__sched_tree(b, v, d->size, &parent);
  if (parent < 0) {
    nbc__sched_scatterv_root(b, slot_bytes, count);
    return;
  }
  const uint64_t my_bytes = (uint64_t)nbc__sched_subtree(v, d->size, radix) * slot_bytes;
  const nbc_slice mine = nbc__sched_scratch(b, my_bytes);
  nbc__sched_recv(b, nbc__sched_real(b, d->root, parent), mine, my_bytes);
  for (int i = count - 1; i >= 0; i--) {
    const int c = b->children[i];
    nbc__sched_send(b, nbc__sched_real(b, d->root, c),
                    nbc__sched_at(mine, (uint64_t)(c - v) * slot_bytes),
                    (uint64_t)nbc__sched_subtree(c, d->size, radix) * slot_bytes);
  }
  if (bytes <= slot_bytes)
    nbc__sched_copy(b, b->out, mine, bytes);
  else
    nbc__sched_recv(b, d->root, b->out, bytes);
}

/* ---- allgather, alltoall ------------------------------------------------------------------- */
static nbc_slice nbc__sched_recv_block(const nbc__sched_builder *b, int rank,
                                       uint64_t *size_bytes) {
  *size_bytes = nbc__sched_recv_bytes(b, rank);
  return nbc__sched_at(b->out, nbc__sched_recv_at(b, rank));
}

/* All post all receives before the first send: each message finds its place. Rank r begins with its
   right neighbour, so that no rank is everyone's first. n - 1 messages per rank, none forwarded:
   the least latency for few ranks, the most load on the network for many. */
NBC__PRIVATE void nbc__sched_allgather_linear(nbc__sched_builder *b) {
  const int n = b->d.size, r = b->d.rank;
  uint64_t bytes;
  nbc__sched_window(b, n);
  for (int k = 1; k < n; k++) {
    const nbc_slice to = nbc__sched_recv_block(b, (r - k + n) % n, &bytes);
    nbc__sched_recv(b, (r - k + n) % n, to, bytes);
  }
  const nbc_slice own = nbc__sched_recv_block(b, r, &bytes);
  for (int k = 1; k < n; k++) nbc__sched_send(b, (r + k) % n, b->in, bytes);
  nbc__sched_copy(b, own, b->in, bytes);
}

/* In step s a rank hands on what it got in step s - 1: every link of the ring is used all the time,
   and every block crosses each link but one. */
NBC__PRIVATE void nbc__sched_allgather_ring(nbc__sched_builder *b) {
  const int n = b->d.size, r = b->d.rank;
  uint64_t bytes;
  for (int s = 0; s < n - 1; s++) {
    nbc_slice block = nbc__sched_recv_block(b, (r - s + n) % n, &bytes);
    nbc__sched_send(b, (r + 1) % n, s ? block : b->in, bytes);
    block = nbc__sched_recv_block(b, (r - s - 1 + n) % n, &bytes);
    nbc__sched_recv(b, (r - 1 + n) % n, block, bytes);
  }
  const nbc_slice own = nbc__sched_recv_block(b, r, &bytes);
  nbc__sched_copy(b, own, b->in, bytes);
}

/* For powers of two: the groups of 2 m ranks have all blocks of the group after the step of
   distance m. */
NBC__PRIVATE void nbc__sched_allgather_doubling(nbc__sched_builder *b) {
  const int n = b->d.size, r = b->d.rank;
  uint64_t bytes;
  for (int m = 1; m < n; m *= 2) {
    const int mine = r & ~(m - 1), theirs = mine ^ m;
    for (int i = 0; i < m; i++) { /* displacements may have gaps: block by block */
      nbc_slice block = nbc__sched_recv_block(b, mine + i, &bytes);
      nbc__sched_send(b, r ^ m, mine + i == r ? b->in : block, bytes);
      block = nbc__sched_recv_block(b, theirs + i, &bytes);
      nbc__sched_recv(b, r ^ m, block, bytes);
    }
  }
  const nbc_slice own = nbc__sched_recv_block(b, r, &bytes);
  nbc__sched_copy(b, own, b->in, bytes); /* last: nobody waits for it */
}

/* Bruck et al. (IEEE TPDS 8(11), 1997), any number of ranks in ceil(log2 n) steps: a rank that has
   the blocks r ... r + m - 1 sends them all m ranks down and gets those from r + m on. At the end
   all are there, turned by r places. */
NBC__PRIVATE void nbc__sched_allgather_bruck(nbc__sched_builder *b) {
  const nbc_schedule_desc *const d = &b->d;
  const int n = d->size, r = d->rank;
  uint64_t total_bytes = 0, have_bytes = nbc__sched_recv_bytes(b, r), bytes;
  for (int i = 0; i < n; i++) total_bytes += nbc__sched_recv_bytes(b, i);
  const nbc_slice room = nbc__sched_scratch(b, total_bytes); /* blocks r, r + 1, ... packed */
  nbc__sched_copy(b, room, b->in, have_bytes);
  for (int m = 1; m < n; m *= 2) {
    const int count = m < n - m ? m : n - m;
    uint64_t give = 0, take = 0;
    for (int i = 0; i < count; i++) give += nbc__sched_recv_bytes(b, (r + i) % n);
    for (int i = 0; i < count; i++) take += nbc__sched_recv_bytes(b, (r + m + i) % n);
    nbc__sched_send(b, (r - m + n) % n, room, give);
    nbc__sched_recv(b, (r + m) % n, nbc__sched_at(room, have_bytes), take);
    have_bytes += take;
  }
  uint64_t at = 0;
  for (int i = 0; i < n; i++, at += bytes) {
    const nbc_slice to = nbc__sched_recv_block(b, (r + i) % n, &bytes);
    if (i || !d->in_place) nbc__sched_copy(b, to, nbc__sched_at(room, at), bytes);
  }
}

/* What goes to a rank, of the input `in`: in place, what is sent has the places of what comes. */
static nbc_slice nbc__sched_send_block(const nbc__sched_builder *b, nbc_slice in, int rank,
                                       uint64_t *size_bytes) {
  const bool in_place = b->d.in_place;
  *size_bytes = in_place ? nbc__sched_recv_bytes(b, rank) : nbc__sched_send_bytes(b, rank);
  return nbc__sched_at(in, in_place ? nbc__sched_recv_at(b, rank) : nbc__sched_send_at(b, rank));
}

/* A copy of what will be overwritten before it is sent. */
static nbc_slice nbc__sched_alltoall_saved(nbc__sched_builder *b) {
  const int n = b->d.size, r = b->d.rank;
  uint64_t bytes;
  const nbc_slice saved =
      nbc__sched_scratch(b, nbc__sched_blocks_end(&b->d, b->d.recv_counts, b->d.recv_displs));
  for (int k = 1; k < n; k++) {
    const nbc_slice block = nbc__sched_recv_block(b, (r + k) % n, &bytes);
    nbc__sched_copy(b, nbc__sched_at(saved, block.offset_bytes), block, bytes);
  }
  return saved;
}

/* steps: a receive is posted `window` steps ahead only. */
static void nbc__sched_alltoall_direct(nbc__sched_builder *b, bool steps) {
  const int n = b->d.size, r = b->d.rank;
  const int window = b->d.window_count < n ? b->d.window_count : n;
  const nbc_slice in = b->d.in_place ? nbc__sched_alltoall_saved(b) : b->in;
  uint64_t bytes, own_bytes;
  nbc__sched_window(b, n);
  int32_t recvs[64];
  for (int i = 0; i < 64; i++) recvs[i] = -1;
  for (int k = 1; k < n; k++) {
    const nbc_slice to = nbc__sched_recv_block(b, (r - k + n) % n, &bytes);
    const int32_t node = nbc__sched_recv(b, (r - k + n) % n, to, bytes);
    /* A receive waits for the one `window` steps before it, which has left its number at this
       place. */
    int32_t *const before = &recvs[k % (window < 64 ? window : 64)];
    if (steps && node >= 0) nbc__sched_after(b, *before);
    if (steps && node >= 0) *before = node;
    const nbc_slice from = nbc__sched_send_block(b, in, (r + k) % n, &bytes);
    nbc__sched_send(b, (r + k) % n, from, bytes);
  }
  if (b->d.in_place) return;
  const nbc_slice from = nbc__sched_send_block(b, in, r, &bytes),
                  own = nbc__sched_recv_block(b, r, &own_bytes);
  nbc__sched_copy(b, own, from, own_bytes < bytes ? own_bytes : bytes);
}

NBC__PRIVATE void nbc__sched_alltoall_linear(nbc__sched_builder *b) {
  nbc__sched_alltoall_direct(b, false);
}

NBC__PRIVATE void nbc__sched_alltoall_pairwise(nbc__sched_builder *b) {
  nbc__sched_alltoall_direct(b, true);
}

/* Bruck et al.: block i has to go i ranks up. In the step of distance m, all blocks whose i has
   this bit go together; after the last step every block has gone its i ranks. ceil(log2 n) messages
   instead of n - 1, but each block is sent once per bit: for short blocks. */
NBC__PRIVATE void nbc__sched_alltoall_bruck(nbc__sched_builder *b) {
  const int n = b->d.size, r = b->d.rank;
  const uint64_t block = nbc__sched_vector_bytes(b);
  const nbc_slice room = nbc__sched_scratch(b, (uint64_t)n * block); /* block i goes i ranks up */
  const nbc_slice out = nbc__sched_scratch(b, (uint64_t)(n / 2 + 1) * block);
  const nbc_slice in = nbc__sched_scratch(b, (uint64_t)(n / 2 + 1) * block);
  nbc__sched_copy(b, room, nbc__sched_at(b->in, (uint64_t)r * block), (uint64_t)(n - r) * block);
  nbc__sched_copy(b, nbc__sched_at(room, (uint64_t)(n - r) * block), b->in, (uint64_t)r * block);
  for (int m = 1; m < n; m *= 2) {
    uint64_t packed = 0;
    for (int i = m; i < n; i++)
      if (i & m) {
        nbc__sched_copy(b, nbc__sched_at(out, packed), nbc__sched_at(room, (uint64_t)i * block),
                        block);
        packed += block;
      }
    nbc__sched_send(b, (r + m) % n, out, packed);
    nbc__sched_recv(b, (r - m + n) % n, in, packed);
    packed = 0;
    for (int i = m; i < n; i++)
      if (i & m) {
        nbc__sched_copy(b, nbc__sched_at(room, (uint64_t)i * block), nbc__sched_at(in, packed),
                        block);
        packed += block;
      }
  }
  for (int i = 0; i < n; i++)
    nbc__sched_copy(b, nbc__sched_at(b->out, (uint64_t)((r - i + n) % n) * block),
                    nbc__sched_at(room, (uint64_t)i * block), block);
}

/* ---- neighbourhoods ------------------------------------------------------------------------ */
/* What this rank sends to itself: its k-th place among the targets to its k-th among the sources. A
   process may be its own neighbour, on a ring of one; MPI matches such places in their order. */
static void nbc__sched_neighbors_self(nbc__sched_builder *b, bool alltoall) {
  const nbc_neighbors *const n = b->d.neighbors;
  for (int from = 0, to = 0;; from++, to++) {
    while (from < n->target_count && n->targets[from] != b->d.rank) from++;
    while (to < n->source_count && n->sources[to] != b->d.rank) to++;
    if (from == n->target_count || to == n->source_count) return;
    nbc__sched_copy(b, nbc__sched_at(b->out, nbc__sched_recv_at(b, to)),
                    nbc__sched_at(b->in, alltoall ? nbc__sched_send_at(b, from) : 0),
                    nbc__sched_recv_bytes(b, to));
  }
}

NBC__PRIVATE void nbc__sched_neighbors(nbc__sched_builder *b) {
  const nbc_neighbors *const n = b->d.neighbors;
  const bool alltoall = b->d.coll == NBC_COLL_NEIGHBOR_ALLTOALL;
  nbc__sched_window(b, n->target_count);
  for (int k = 0; k < n->source_count; k++)
    if (n->sources[k] >= 0 && n->sources[k] != b->d.rank)
      nbc__sched_recv(b, n->sources[k], nbc__sched_at(b->out, nbc__sched_recv_at(b, k)),
                      nbc__sched_recv_bytes(b, k));
  for (int k = 0; k < n->target_count; k++)
    if (n->targets[k] >= 0 && n->targets[k] != b->d.rank)
      nbc__sched_send(b, n->targets[k],
                      nbc__sched_at(b->in, alltoall ? nbc__sched_send_at(b, k) : 0),
                      alltoall ? nbc__sched_send_bytes(b, k) : nbc__sched_vector_bytes(b));
  nbc__sched_neighbors_self(b, alltoall);
}

/* ---- scan, exscan -------------------------------------------------------------------------- */
/* Rank by rank: n - 1 messages one after the other, but the order of operands needs no thought. */
static void nbc__sched_prefix_linear(nbc__sched_builder *b, bool exclusive) {
  const uint64_t bytes = nbc__sched_vector_bytes(b);
  const int r = b->d.rank, n = b->d.size;
  const nbc_slice below = r == 0                        ? b->in
                          : exclusive && !b->d.in_place ? b->out
                                                        : nbc__sched_scratch(b, bytes);
  if (r > 0) nbc__sched_recv(b, r - 1, below, bytes);
  nbc_slice upto = b->in; /* ranks 0..r */
  if (r > 0 && (!exclusive || r + 1 < n)) {
    upto = exclusive ? nbc__sched_scratch(b, bytes) : b->out;
    nbc__sched_reduce(b, upto, below, b->in, bytes);
  }
  if (r + 1 < n) nbc__sched_send(b, r + 1, upto, bytes);
  if (!exclusive)
    nbc__sched_copy(b, b->out, upto, bytes);
  else if (r > 0)
    nbc__sched_copy(b, b->out, below, bytes);
}

/* Hillis and Steele's scan [Data Parallel Algorithms, CACM 29(12), 1986]: after the step of
   distance m, `upto` reduces the last 2 m ranks up to this one; what comes from m below lies to the
   left of it. The exclusive scan keeps a second sum without the own part: no inverse of the
   operator is needed. */
static void nbc__sched_prefix_doubling(nbc__sched_builder *b, bool exclusive) {
  const uint64_t bytes = nbc__sched_vector_bytes(b);
  const int r = b->d.rank, n = b->d.size;
  const nbc_slice upto =
      exclusive ? nbc__sched_scratch(b, r ? bytes : 0) : b->out; /* ranks r-2m+1 .. r */
  const nbc_slice below =
      exclusive ? nbc__sched_scratch(b, r ? bytes : 0) : b->out; /* the same without r */
  const nbc_slice room = nbc__sched_scratch(b, r ? 2 * bytes : 0);
  nbc_slice have = b->in;
  int turn = 0;
  for (int m = 1; m < n; m *= 2, turn ^= 1) {
    if (r + m < n) nbc__sched_send(b, r + m, have, bytes);
    if (r - m < 0) continue;
    const nbc_slice other = nbc__sched_at(room, turn ? bytes : 0);
    nbc__sched_recv(b, r - m, other, bytes);
    if (exclusive && m == 1)
      nbc__sched_copy(b, below, other, bytes);
    else if (exclusive)
      nbc__sched_reduce(b, below, other, below, bytes);
    if (!exclusive || r + 2 * m < n) {
      nbc__sched_reduce(b, upto, other, have, bytes);
      have = upto;
    }
  }
  if (!exclusive)
    nbc__sched_copy(b, b->out, have, bytes);
  else if (r > 0)
    nbc__sched_copy(b, b->out, below, bytes);
}

NBC__PRIVATE void nbc__sched_scan_linear(nbc__sched_builder *b) {
  nbc__sched_prefix_linear(b, false);
}
NBC__PRIVATE void nbc__sched_exscan_linear(nbc__sched_builder *b) {
  nbc__sched_prefix_linear(b, true);
}
NBC__PRIVATE void nbc__sched_scan_doubling(nbc__sched_builder *b) {
  nbc__sched_prefix_doubling(b, false);
}
NBC__PRIVATE void nbc__sched_exscan_doubling(nbc__sched_builder *b) {
  nbc__sched_prefix_doubling(b, true);
}
#ifdef NBC_LINES
#line 10 "src/coll/catalogue.h"
#endif
typedef void (*nbc__sched_writer)(nbc__sched_builder *b);
/* Writes the schedule; NULL: the algorithm does not serve the collective. */
NBC__PRIVATE nbc__sched_writer nbc__sched_writer_of(nbc_coll coll, nbc_algo algo);
#ifdef NBC_LINES
#line 1 "src/coll/catalogue.c"
#endif
/* catalogue.c: which algorithm serves which collective. */




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
#ifdef NBC_LINES
#line 36 "src/coll/choice.h"
#endif
NBC__PRIVATE bool nbc__sched_has_levels(const int *nodes, int size);
NBC__PRIVATE const char *nbc__sched_parse_rule(const char *at, nbc_choice_rule *rule);
#ifdef NBC_LINES
#line 1 "src/coll/choice.c"
#endif
/* choice.c: which algorithm is taken: the choice table. */




/* ---- the choice table ---------------------------------------------------------------------- */
/* First fit from the top. Bounds follow the usual reasoning: few messages while latency counts
   (trees, doubling, Bruck), every byte sent once when bandwidth counts (ring, pairwise,
   Rabenseifner, pipelined chain). nbc_tune measures better ones for one machine.

     n ranks, s bytes          messages in a row          bytes that one rank sends, at most
       tree, doubling of all   log2 n                     s log2 n
       ring, pairwise          n - 1 (allreduce: twice)   about s (allreduce: twice)
       Rabenseifner            2 log2 n                   about 2 s

   A rule with a bound stands above those for what is longer. Where an algorithm does not serve
   the number of ranks or the operation, its rule is passed over and the next one that fits is
   taken: so the order counts among rules of one bound too. What no rule fits is linear: long
   gathers and scatters, for their root receives or sends all blocks anyway, and a tree would
   move them several times. */
static const nbc_choice_rule nbc__sched_rules[] = {
    /* two_level: passed over unless some of several nodes holds several ranks */
    {NBC_COLL_BARRIER, 0, 0, NBC_ALGO_TWO_LEVEL, 0, 0},
    {NBC_COLL_BCAST, 0, 64 * 1024, NBC_ALGO_TWO_LEVEL, 0, 0},
    {NBC_COLL_REDUCE, 0, 32 * 1024, NBC_ALGO_TWO_LEVEL, 0, 0},
    {NBC_COLL_ALLREDUCE, 0, 16 * 1024, NBC_ALGO_TWO_LEVEL, 0, 0},
    {NBC_COLL_BARRIER, 0, 0, NBC_ALGO_DISSEMINATION, 0, 0},
    {NBC_COLL_BCAST, 0, 32 * 1024, NBC_ALGO_BINOMIAL, 0, 0},
    {NBC_COLL_BCAST, 2, 0, NBC_ALGO_BINOMIAL, 0, 0},       /* nobody to pass pieces on to */
    {NBC_COLL_BCAST, 4, 0, NBC_ALGO_CHAIN, 128 * 1024, 0}, /* a short chain is full soon */
    {NBC_COLL_BCAST, 0, 512 * 1024, NBC_ALGO_SCATTER_ALLGATHER, 0, 0},
    {NBC_COLL_BCAST, 0, 0, NBC_ALGO_CHAIN, 128 * 1024, 0},
    {NBC_COLL_REDUCE, 0, 32 * 1024, NBC_ALGO_BINOMIAL, 0, 0},
    {NBC_COLL_REDUCE, 0, 0, NBC_ALGO_RABENSEIFNER, 0, 0},
    {NBC_COLL_ALLREDUCE, 0, 16 * 1024, NBC_ALGO_RECURSIVE_DOUBLING, 0, 0},
    {NBC_COLL_ALLREDUCE, 0, 1024 * 1024, NBC_ALGO_RABENSEIFNER, 0, 0},
    {NBC_COLL_ALLREDUCE, 0, 0, NBC_ALGO_RING, 0, 0},
    {NBC_COLL_ALLREDUCE, 0, 0, NBC_ALGO_RABENSEIFNER, 0, 0}, /* where a ring does not serve */
    {NBC_COLL_REDUCE_SCATTER_BLOCK, 0, 4 * 1024, NBC_ALGO_RECURSIVE_HALVING, 0, 0},
    {NBC_COLL_REDUCE_SCATTER_BLOCK, 0, 0, NBC_ALGO_PAIRWISE, 0, 0},
    {NBC_COLL_REDUCE_SCATTER_BLOCK, 0, 0, NBC_ALGO_LINEAR, 0, 0},
    {NBC_COLL_REDUCE_SCATTER, 0, 4 * 1024, NBC_ALGO_RECURSIVE_HALVING, 0, 0},
    {NBC_COLL_REDUCE_SCATTER, 0, 0, NBC_ALGO_PAIRWISE, 0, 0},
    {NBC_COLL_REDUCE_SCATTER, 0, 0, NBC_ALGO_LINEAR, 0, 0},
    {NBC_COLL_GATHER, 0, 4 * 1024, NBC_ALGO_BINOMIAL, 0, 0},
    {NBC_COLL_SCATTER, 0, 4 * 1024, NBC_ALGO_BINOMIAL, 0, 0},
    /* whatever the lengths: each rank knows its own only. Long blocks go past the tree */
    {NBC_COLL_GATHERV, 24, 0, NBC_ALGO_LINEAR, 0, 0},
    {NBC_COLL_GATHERV, 0, 0, NBC_ALGO_KNOMIAL, 256, 4},
    {NBC_COLL_SCATTERV, 24, 0, NBC_ALGO_LINEAR, 0, 0},
    {NBC_COLL_SCATTERV, 0, 0, NBC_ALGO_KNOMIAL, 256, 4},
    {NBC_COLL_ALLGATHER, 0, 4 * 1024, NBC_ALGO_BRUCK, 0, 0},
    {NBC_COLL_ALLGATHER, 0, 64 * 1024, NBC_ALGO_RECURSIVE_DOUBLING, 0, 0},
    {NBC_COLL_ALLGATHER, 0, 0, NBC_ALGO_RING, 0, 0},
    {NBC_COLL_ALLGATHERV, 0, 4 * 1024, NBC_ALGO_BRUCK, 0, 0},
    {NBC_COLL_ALLGATHERV, 0, 0, NBC_ALGO_RING, 0, 0},
    {NBC_COLL_ALLTOALL, 0, 256, NBC_ALGO_BRUCK, 0, 0},
    {NBC_COLL_ALLTOALL, 0, 32 * 1024, NBC_ALGO_LINEAR, 0, 0},
    {NBC_COLL_ALLTOALL, 0, 0, NBC_ALGO_PAIRWISE, 0, 0},
    {NBC_COLL_ALLTOALLV, 0, 0, NBC_ALGO_PAIRWISE, 0, 0},
    {NBC_COLL_SCAN, 0, 0, NBC_ALGO_RECURSIVE_DOUBLING, 0, 0},
    {NBC_COLL_EXSCAN, 0, 0, NBC_ALGO_RECURSIVE_DOUBLING, 0, 0}};

NBC_API void nbc_choice_default(nbc_choice *table) {
  if (!table) return;
  memset(table, 0, sizeof *table);
  table->rule_count = sizeof nbc__sched_rules / sizeof *nbc__sched_rules;
  memcpy(table->rules, nbc__sched_rules, sizeof nbc__sched_rules);
}

/* Every rank must choose alike, or one would wait for messages that another one's algorithm does
   not have. So only what all ranks know counts: the mean block where all know the counts,
   nothing (UINT64_MAX: rules without a bound) where each rank knows its own only. A rank's send
   counts are its own; receive counts that go to a root mean something there alone. */
static uint64_t nbc__sched_choice_bytes(const nbc_schedule_desc *d) {
  const uint64_t elem_bytes = d->elem_bytes ? d->elem_bytes : 1,
                 size = (uint64_t)(d->size > 0 ? d->size : 1);
  const unsigned has = nbc__coll_about(d->coll)->has;
  if (has & NBC_HAS_NEIGHBORS) return UINT64_MAX;
  if ((has & NBC_HAS_SEND_COUNTS) || ((has & NBC_HAS_RECV_COUNTS) && (has & NBC_HAS_ROOT)))
    return UINT64_MAX;
  if (has & NBC_HAS_RECV_COUNTS) {
    uint64_t total = 0;
    for (int i = 0; d->recv_counts && i < d->size; i++) total += d->recv_counts[i];
    return total / size * elem_bytes;
  }
  return d->count * elem_bytes;
}

/* More than one node, and fewer than ranks: else two levels are one, with a step more. All ranks
   must come to the same answer, also one that has no memory left: it compares each with each.
   nodes[i] is below size (nbc_schedule_desc), so it may be an index of `seen`. */
NBC__PRIVATE bool nbc__sched_has_levels(const int *nodes, int size) {
  bool several = false, shared = false;
  if (!nodes) return false;
  bool *const seen = (bool *)NBC_MALLOC((size_t)size * sizeof *seen);
  if (seen) memset(seen, 0, (size_t)size * sizeof *seen);
  for (int i = 0; i < size && !(several && shared); i++) {
    several = several || nodes[i] != nodes[0];
    for (int k = 0; !seen && !shared && k < i; k++) shared = nodes[k] == nodes[i];
    if (!seen) continue;
    shared = shared || seen[nodes[i]];
    seen[nodes[i]] = true;
  }
  NBC_FREE(seen);
  return several && shared;
}

NBC_API void nbc_choose(const nbc_choice *table, nbc_schedule_desc *desc) {
  if (!desc) return;
  if (desc->algo != NBC_ALGO_AUTO) return;
  const nbc_choice_rule *const rules = table ? table->rules : nbc__sched_rules;
  const size_t count =
      table ? table->rule_count : sizeof nbc__sched_rules / sizeof *nbc__sched_rules;
  const uint64_t size_bytes = nbc__sched_choice_bytes(desc);
  for (size_t i = 0; i < count; i++) {
    const nbc_choice_rule *const r = &rules[i];
    if (r->coll != desc->coll || (r->max_size && desc->size > r->max_size)) continue;
    /* a table filled by hand may hold AUTO, which chooses nothing */
    if ((r->max_bytes && size_bytes > r->max_bytes) || r->algo == NBC_ALGO_AUTO) continue;
    if (r->algo == NBC_ALGO_TWO_LEVEL && !nbc__sched_has_levels(desc->nodes, desc->size)) continue;
    if (!nbc_schedule_supports(desc->coll, r->algo, desc->size, desc->not_commutative)) continue;
    desc->algo = r->algo;
    if (!desc->segment_bytes) desc->segment_bytes = r->segment_bytes;
    if (!desc->radix) desc->radix = r->radix;
    return;
  }
  desc->algo = NBC_ALGO_LINEAR; /* serves all collectives in any order */
}

/* One line without its newline. An algorithm that never serves its collective is an error here;
   one that does not serve some number of ranks is none: nbc_choose passes over it, as a table is
   read before anybody knows the ranks. ret NULL, or what is wrong with it. */
NBC__PRIVATE const char *nbc__sched_parse_rule(const char *at, nbc_choice_rule *rule) {
  char word[32];
  uint64_t numbers[4];
  nbc__text_read_word(&at, word);
  if (nbc_coll_parse(word, &rule->coll)) return "no such collective";
  for (int i = 0; i < 2; i++) {
    nbc__text_skip_blanks(&at);
    if (!nbc__text_read_whole(&at, &numbers[i]))
      return i ? "MAX_BYTES: must be a number" : "MAX_RANKS: must be a number";
  }
  nbc__text_read_word(&at, word);
  if (nbc_algo_parse(word, &rule->algo) || rule->algo == NBC_ALGO_AUTO) return "no such algorithm";
  if (!nbc__sched_writer_of(rule->coll, rule->algo))
    return "the algorithm does not serve this collective";
  for (int i = 2; i < 4; i++) {
    nbc__text_skip_blanks(&at);
    if (!nbc__text_read_whole(&at, &numbers[i]))
      return i == 2 ? "SEGMENT_BYTES: must be a number" : "RADIX: must be a number";
  }
  nbc__text_skip_blanks(&at);
  if (*at && *at != '#') return "more than six fields";
  if (numbers[0] > INT32_MAX) return "MAX_RANKS: too large";
  if (numbers[3] > INT32_MAX || numbers[3] == 1) return "RADIX: must be 0 or >= 2";
  rule->max_size = (int)numbers[0], rule->max_bytes = numbers[1];
  rule->segment_bytes = numbers[2], rule->radix = (int)numbers[3];
  return NULL;
}

NBC_API nbc_status nbc_choice_parse(const char *text, size_t text_bytes, const char *name,
                                    nbc_choice *table, nbc_error *err) {
  if (!text || !table)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "text and table: must not be NULL");
  table->rule_count = 0;
  int line_number = 1;
  for (size_t at = 0; at < text_bytes; line_number++) {
    char line[256];
    size_t n = 0;
    bool cut = false;
    for (; at < text_bytes && text[at] != '\n'; at++) {
      if (n + 1 < sizeof line && text[at])
        line[n++] = text[at];
      else
        cut = true; /* also a zero byte, at which the rest of the line would end unread */
    }
    at++;
    line[n] = 0;
    const char *first = line;
    nbc__text_skip_blanks(&first);
    if (*first == '#' || (!*first && !cut)) continue;
    const char *wrong = cut ? "line too long, or with a zero byte" : NULL;
    nbc_choice_rule rule;
    if (!wrong) wrong = nbc__sched_parse_rule(first, &rule);
    if (wrong)
      return nbc__status_fail(err, NBC_E_PARSE, line_number, "%s:%d: %s", name, line_number, wrong);
    if (table->rule_count == NBC_CHOICE_MAX_RULES)
      return nbc__status_fail(err, NBC_E_FULL, line_number, "%s:%d: more than %d rules", name,
                              line_number, NBC_CHOICE_MAX_RULES);
    table->rules[table->rule_count++] = rule;
  }
  return NBC_OK;
}

NBC_API nbc_status nbc_choice_read(const char *path, nbc_choice *table, nbc_error *err) {
  if (!path || !table)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "path and table: must not be NULL");
  enum { MOST_BYTES = 256 * 1024 };
  FILE *file = fopen(path, "rb");
  if (!file) return nbc__status_fail(err, NBC_E_IO, 0, "%s: %s", path, strerror(errno));
  char *const text = (char *)NBC_MALLOC(MOST_BYTES);
  nbc_status status =
      text ? NBC_OK : nbc__status_fail(err, NBC_E_NOMEM, 0, "%s: out of memory", path);
  const size_t bytes = text ? fread(text, 1, MOST_BYTES, file) : 0;
  if (!status && ferror(file))
    status = nbc__status_fail(err, NBC_E_IO, 0, "%s: cannot be read", path);
  if (!status && bytes == MOST_BYTES)
    status = nbc__status_fail(err, NBC_E_FULL, 0, "%s: longer than a choice table", path);
  fclose(file);
  if (!status) status = nbc_choice_parse(text, bytes, path, table, err);
  NBC_FREE(text);
  return status;
}

NBC_API nbc_status nbc_choice_write(const nbc_choice *table, FILE *out) {
  if (!table || !out) return NBC_E_INVAL;
  fprintf(out,
          "# collective max_ranks max_bytes algorithm segment_bytes radix (0 = any, default)\n");
  for (size_t i = 0; i < table->rule_count; i++) {
    const nbc_choice_rule *const r = &table->rules[i];
    fprintf(out, "%s %d %llu %s %llu %d\n", nbc_coll_name(r->coll), r->max_size,
            (unsigned long long)r->max_bytes, nbc_algo_name(r->algo),
            (unsigned long long)r->segment_bytes, r->radix);
  }
  return ferror(out) ? NBC_E_IO : NBC_OK;
}
#ifdef NBC_LINES
#line 15 "src/coll/build.h"
#endif
NBC__PRIVATE nbc_slice nbc__sched_input(const nbc_schedule_desc *d);
NBC__PRIVATE void nbc__sched_normalize(nbc_schedule_desc *d);
#ifdef NBC_LINES
#line 1 "src/coll/build.c"
#endif
/* build.c: a schedule is built. */




/* ---- build --------------------------------------------------------------------------------- */
/* How much of a buffer a collective touches at this rank. */
static uint64_t nbc__sched_extent(const nbc_schedule_desc *d, nbc__coll_part part,
                                  const uint64_t *counts, const uint64_t *displs) {
  const bool root = d->rank == d->root;
  switch (part) {
  case NBC__COLL_NONE: break;
  case NBC__COLL_VECTOR: return d->count * d->elem_bytes;
  case NBC__COLL_ROOT_VECTOR: return root ? d->count * d->elem_bytes : 0;
  case NBC__COLL_OWN_BLOCK: return nbc__sched_block_bytes(d, d->recv_counts, d->rank);
  case NBC__COLL_BLOCKS: return nbc__sched_blocks_end(d, counts, displs);
  case NBC__COLL_ROOT_BLOCKS: return root ? nbc__sched_blocks_end(d, counts, displs) : 0;
  case NBC__COLL_SOURCE_BLOCKS:
    return nbc__sched_row_end(d, counts, displs, nbc__sched_recv_blocks(d));
  case NBC__COLL_TARGET_BLOCKS:
    return nbc__sched_row_end(d, counts, displs, nbc__sched_send_blocks(d));
  }
  return 0;
}

/* Extents of the user's buffers at this rank. In place, one of the two buffers does the work of
   both: the receive buffer, but for a scatter, whose root leaves its own block where it lies in the
   send buffer. */
static void nbc__sched_extents(const nbc_schedule_desc *d, uint64_t *send_bytes,
                               uint64_t *recv_bytes) {
  const nbc__coll_row *const about = nbc__coll_about(d->coll);
  const bool recv_only = !(about->has & NBC_HAS_SEND_COUNTS); /* one list of counts serves both */
  const bool scatters = about->gives == NBC__COLL_ROOT_BLOCKS;
  const uint64_t in =
      nbc__sched_extent(d, about->gives, recv_only ? d->recv_counts : d->send_counts,
                        recv_only ? d->recv_displs : d->send_displs);
  uint64_t out = nbc__sched_extent(d, about->gets, d->recv_counts, d->recv_displs);
  if (d->in_place && about->gives == NBC__COLL_BLOCKS && about->gets == NBC__COLL_OWN_BLOCK)
    out = in; /* what is to be reduced lies in the receive buffer */
  *send_bytes = d->in_place && !scatters ? 0 : in;
  *recv_bytes = d->in_place && scatters ? 0 : out;
}

/* Where this rank's input starts. */
NBC__PRIVATE nbc_slice nbc__sched_input(const nbc_schedule_desc *d) {
  const nbc__coll_row *const about = nbc__coll_about(d->coll);
  if (about->gives == NBC__COLL_NONE) return nbc__sched_slice(NBC_AREA_RECV, 0);
  if (!d->in_place || about->gives == NBC__COLL_ROOT_BLOCKS)
    return nbc__sched_slice(NBC_AREA_SEND, 0);
  const bool own_block = about->gives != NBC__COLL_BLOCKS &&
                         (about->gets == NBC__COLL_BLOCKS || about->gets == NBC__COLL_ROOT_BLOCKS);
  return nbc__sched_slice(
      NBC_AREA_RECV,
      own_block ? nbc__sched_block_at(d, d->recv_counts, d->recv_displs, d->rank) : 0);
}

static nbc_status nbc__sched_check_counts(const uint64_t *counts, const uint64_t *displs,
                                          int blocks, uint64_t elem_bytes, const char *name,
                                          nbc_error *err) {
  const uint64_t most = (uint64_t)INT64_MAX / elem_bytes / 2;
  uint64_t total = 0;
  for (int i = 0; counts && i < blocks; i++) {
    if (counts[i] > most || (total += counts[i]) > most || (displs && displs[i] > most))
      return nbc__status_fail(err, NBC_E_RANGE, 0, "%s[%d] = %llu: buffers of more than 2^62 bytes",
                              name, i, (unsigned long long)counts[i]);
  }
  return NBC_OK;
}

/* What is received must have a place of its own, as MPI demands: two messages that write one byte would wait for each other,
   in another order at each rank, for ever. Lists go upwards mostly, which one look shows; others are sorted. */
typedef struct nbc__sched_place {
  uint64_t from, to;
  int block;
} nbc__sched_place;
static int nbc__sched_place_order(const void *a, const void *b) {
  const nbc__sched_place *const x = (const nbc__sched_place *)a, *const y =
                                                                     (const nbc__sched_place *)b;
  return x->from < y->from ? -1 : x->from > y->from;
}
static nbc_status nbc__sched_check_places(const uint64_t *counts, const uint64_t *displs,
                                          int blocks, nbc_error *err) {
  nbc_status status = NBC_OK;
  uint64_t end = 0;
  int i, count = 0;
  for (i = 0; displs && counts && i < blocks && (!counts[i] || displs[i] >= end); i++)
    if (counts[i]) end = displs[i] + counts[i];
  if (!displs || !counts || i == blocks) return NBC_OK;
  nbc__sched_place *const place = (nbc__sched_place *)NBC_MALLOC((size_t)blocks * sizeof *place);
  if (!place) return nbc__status_fail(err, NBC_E_NOMEM, 0, "out of memory");
  for (i = 0; i < blocks; i++) {
    const nbc__sched_place one = {displs[i], displs[i] + counts[i], i};
    if (counts[i]) place[count++] = one;
  }
  qsort(place, (size_t)count, sizeof *place, nbc__sched_place_order);
  for (i = 1; i < count && !status; i++)
    if (place[i].from < place[i - 1].to)
      status = nbc__status_fail(
          err, NBC_E_INVAL, 0, "recv_displs[%d] = %llu: blocks %d and %d are received in one place",
          place[i].block, (unsigned long long)place[i].from, place[i - 1].block, place[i].block);
  NBC_FREE(place);
  return status;
}

static nbc_status nbc__sched_check_list(const int *ranks, int count, const nbc_schedule_desc *d,
                                        const char *name, nbc_error *err) {
  if (count < 0 || (count && !ranks))
    return nbc__status_fail(err, NBC_E_INVAL, 0, "neighbors: %s: %s", name,
                            count < 0 ? "the count is negative" : "must not be NULL");
  for (int i = 0; i < count; i++)
    if (ranks[i] < -1 || ranks[i] >= d->size)
      return nbc__status_fail(err, NBC_E_RANGE, 0, "neighbors: %s[%d]: %d is not in -1..%d", name,
                              i, ranks[i], d->size - 1);
  if (d->count > (uint64_t)INT64_MAX / d->elem_bytes / 2 / (uint64_t)(count + 1))
    return nbc__status_fail(
        err, NBC_E_RANGE, 0,
        "neighbors: count: %llu elements of %llu bytes: buffers of more than 2^62 "
        "bytes",
        (unsigned long long)d->count, (unsigned long long)d->elem_bytes);
  return NBC_OK;
}

static nbc_status nbc__sched_check_neighbors(const nbc_schedule_desc *d, nbc_error *err) {
  const nbc_neighbors *const n = d->neighbors;
  if (!(nbc__coll_about(d->coll)->has & NBC_HAS_NEIGHBORS)) return NBC_OK;
  if (!n)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "%s: neighbors: must not be NULL",
                            nbc_coll_name(d->coll));
  const nbc_status status = nbc__sched_check_list(n->sources, n->source_count, d, "sources", err);
  if (status) return status;
  return nbc__sched_check_list(n->targets, n->target_count, d, "targets", err);
}

static nbc_status nbc__sched_check(const nbc_schedule_desc *d, nbc_error *err) {
  if ((unsigned)d->coll >= NBC_COLL_COUNT)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "coll: no collective %d", (int)d->coll);
  const nbc__coll_row *const about = nbc__coll_about(d->coll);
  const char *const name = about->name;
  if (d->size < 1)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "%s: size: must be > 0, got %d", name, d->size);
  if (d->rank < 0 || d->rank >= d->size)
    return nbc__status_fail(err, NBC_E_RANGE, 0, "%s: rank: %d is not in 0..%d", name, d->rank,
                            d->size - 1);
  if ((about->has & NBC_HAS_ROOT) && (d->root < 0 || d->root >= d->size))
    return nbc__status_fail(err, NBC_E_RANGE, 0, "%s: root: %d is not in 0..%d", name, d->root,
                            d->size - 1);
  if (d->radix < 0 || d->radix == 1 || d->window_count < 0)
    return nbc__status_fail(err, NBC_E_RANGE, 0,
                            "%s: radix: must be >= 2 (0 = default); window_count: >= 0", name);
  if (d->count > (uint64_t)INT64_MAX / d->elem_bytes / 2 / (uint64_t)d->size)
    return nbc__status_fail(
        err, NBC_E_RANGE, 0,
        "%s: count: %llu elements of %llu bytes: buffers of more than 2^62 bytes", name,
        (unsigned long long)d->count, (unsigned long long)d->elem_bytes);
  nbc_status status = nbc__sched_check_neighbors(d, err);
  if (status) return status;
  for (int i = 0; d->nodes && i < d->size; i++)
    if (d->nodes[i] < 0 || d->nodes[i] >= d->size)
      return nbc__status_fail(err, NBC_E_RANGE, 0, "%s: nodes[%d]: %d is not in 0..%d", name, i,
                              d->nodes[i], d->size - 1);
  const bool optional = (about->has & NBC_HAS_NEIGHBORS) != 0;
  const bool reads = !(about->has & NBC_HAS_ROOT) || d->rank == d->root;
  const bool recv = (about->has & NBC_HAS_RECV_COUNTS) && reads;
  const bool send = (about->has & NBC_HAS_SEND_COUNTS) && reads &&
                    ((about->has & NBC_HAS_ROOT) || !d->in_place); /* in place: as received */
  if (!optional && ((recv && !d->recv_counts) || (send && !d->send_counts)))
    return nbc__status_fail(err, NBC_E_INVAL, 0, "%s: %s_counts: must not be NULL", name,
                            recv && !d->recv_counts ? "recv" : "send");
  status = nbc__sched_check_counts(recv ? d->recv_counts : NULL, d->recv_displs,
                                   nbc__sched_recv_blocks(d), d->elem_bytes, "recv_counts", err);
  if (!status && recv &&
      (about->gets == NBC__COLL_BLOCKS || about->gets == NBC__COLL_ROOT_BLOCKS ||
       about->gets == NBC__COLL_SOURCE_BLOCKS))
    status =
        nbc__sched_check_places(d->recv_counts, d->recv_displs, nbc__sched_recv_blocks(d), err);
  if (!status)
    status = nbc__sched_check_counts(send ? d->send_counts : NULL, d->send_displs,
                                     nbc__sched_send_blocks(d), d->elem_bytes, "send_counts", err);
  if (status) return status;
  if (d->algo != NBC_ALGO_AUTO &&
      !nbc_schedule_supports(d->coll, d->algo, d->size, d->not_commutative))
    return nbc__status_fail(
        err, NBC_E_INVAL, 0, "%s: algo: %s does not serve %s%d ranks", name, nbc_algo_name(d->algo),
        d->not_commutative && (about->has & NBC_HAS_OPERATOR) ? "operators that do not commute, "
                                                              : "it with ",
        d->size);
  return NBC_OK;
}

/* Counts that a collective does not use are not read. */
NBC__PRIVATE void nbc__sched_normalize(nbc_schedule_desc *d) {
  if (!d->elem_bytes) d->elem_bytes = 1;
  if (!d->radix) d->radix = 4;
  if (!d->window_count) d->window_count = 8;
  const unsigned has = nbc__coll_about(d->coll)->has;
  if (!(has & NBC_HAS_RECV_COUNTS)) d->recv_counts = NULL;
  if (!(has & NBC_HAS_RECV_DISPLS)) d->recv_displs = NULL;
  if (!(has & NBC_HAS_SEND_COUNTS)) d->send_counts = d->send_displs = NULL;
  if (!(has & NBC_HAS_IN_PLACE) || ((has & NBC_HAS_ROOT) && d->rank != d->root))
    d->in_place = false;
  if (!(has & NBC_HAS_NEIGHBORS)) d->neighbors = NULL;
  if (has & (NBC_HAS_NEIGHBORS | NBC_HAS_RECV_COUNTS | NBC_HAS_SEND_COUNTS)) d->nodes = NULL;
  if (!(has & NBC_HAS_ROOT)) d->root = 0;
  if (d->coll == NBC_COLL_BARRIER) d->count = 0;
}

/* Sorts the edges into one flat array: successors of node i at [first_after(i), first_after(i +
   1)). A counting sort: count the edges of each node one place to the right, add up, so that place
   i + 1 holds where the list of i ends; put the edges in from the ends down, after which place i +
   1 holds where it begins; move all by one place. */
static bool nbc__sched_flatten(nbc__sched_builder *b) {
  nbc_schedule *const s = b->s;
  if (s->node_count == 0 && !nbc__sched_add(b, NBC_NODE_NOP, 0))
    return false; /* also "do nothing" has an end */
  if (b->status || b->edge_count > UINT32_MAX) return false;
  s->after_count = (uint32_t)b->edge_count;
  s->after = (uint32_t *)NBC_MALLOC((b->edge_count + 1) * sizeof *s->after);
  if (!s->after)
    return b->status = nbc__status_fail(b->err, NBC_E_NOMEM, 0, "schedule: out of memory"), false;
  memset(&s->nodes[s->node_count], 0, sizeof *s->nodes);
  for (size_t i = 0; i < b->edge_count; i++) s->nodes[b->edges[i].before + 1].first_after++;
  for (uint32_t i = 0; i < s->node_count; i++)
    s->nodes[i + 1].first_after += s->nodes[i].first_after;
  for (size_t i = b->edge_count; i-- > 0;) /* from the end, so that the lists come out ascending */
    s->after[--s->nodes[b->edges[i].before + 1].first_after] = (uint32_t)b->edges[i].after;
  for (uint32_t i = 0; i < s->node_count; i++)
    s->nodes[i].first_after = s->nodes[i + 1].first_after;
  s->nodes[s->node_count].first_after = s->after_count;
  return true;
}

static void nbc__sched_builder_free(nbc__sched_builder *b) {
  NBC_FREE(b->edges);
  NBC_FREE(b->readers);
  NBC_FREE(b->recv_at);
  NBC_FREE(b->send_at);
  NBC_FREE(b->mark);
  NBC_FREE(b->send_tags);
  NBC_FREE(b->children);
  for (int i = 0; i < NBC_AREA_COUNT; i++) NBC_FREE(b->maps[i].v);
}

NBC_API nbc_status nbc_schedule_build(const nbc_schedule_desc *desc, nbc_schedule **schedule,
                                      nbc_error *err) {
  if (!desc || !schedule)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "desc and schedule: must not be NULL");
  nbc__sched_builder b;
  memset(&b, 0, sizeof b);
  b.d = *desc;
  b.err = err;
  *schedule = NULL;
  if ((unsigned)desc->coll < NBC_COLL_COUNT) nbc__sched_normalize(&b.d);
  nbc_status status = nbc__sched_check(&b.d, err);
  if (status) return status;
  nbc_choose(desc->table, &b.d);
  const size_t size = (size_t)b.d.size,
               window = (size_t)b.d.window_count < 4096 ? (size_t)b.d.window_count : 4096;
  b.d.window_count = (int)window;
  b.s = (nbc_schedule *)NBC_MALLOC(sizeof *b.s);
  b.send_tags = (uint32_t *)NBC_MALLOC(2 * size * sizeof *b.send_tags);
  b.children = (int *)NBC_MALLOC((size + window) * sizeof *b.children);
  if (b.s && b.send_tags && b.children && nbc__sched_index_blocks(&b)) {
    memset(b.s, 0, sizeof *b.s);
    memset(b.send_tags, 0, 2 * size * sizeof *b.send_tags);
    b.recv_tags = b.send_tags + size;
    b.window = (int32_t *)b.children + size;
    b.s->coll = b.d.coll, b.s->algo = b.d.algo;
    b.s->rank = b.d.rank, b.s->size = b.d.size, b.s->root = b.d.root;
    b.s->elem_bytes = b.d.elem_bytes;
    nbc__sched_extents(&b.d, &b.s->send_bytes, &b.s->recv_bytes);
    b.in = nbc__sched_input(&b.d);
    b.out = nbc__sched_slice(NBC_AREA_RECV, 0);
    nbc__sched_writer_of(b.s->coll, b.s->algo)(&b);
    if (!b.status) nbc__sched_flatten(&b);
    status = b.status;
  } else {
    status = nbc__status_fail(err, NBC_E_NOMEM, 0, "schedule: out of memory");
  }
  nbc__sched_builder_free(&b);
  if (status)
    nbc_schedule_free(b.s);
  else
    *schedule = b.s;
  return status;
}

NBC_API void nbc_schedule_free(nbc_schedule *schedule) {
  if (!schedule) return;
  NBC_FREE(schedule->nodes);
  NBC_FREE(schedule->after);
  NBC_FREE(schedule);
}
#ifdef NBC_LINES
#line 32 "src/coll/price.h"
#endif
/* ---- all ranks together: who sends to whom ------------------------------------------------- */
/* Nodes of all ranks in one flat numbering, with the other side of each message. */
typedef struct nbc__sched_world {
  const nbc_schedule *const *schedules;
  int size;
  size_t node_count;
  size_t *first;   /* [size + 1]: number of a rank's first node */
  size_t *partner; /* of a message: the node at the other side; of others: itself */
  int *rank_of;
  uint32_t *left; /* predecessors not finished */
} nbc__sched_world;

NBC__PRIVATE const nbc_node *nbc__sched_world_node(const nbc__sched_world *w, size_t i);
NBC__PRIVATE void nbc__sched_world_close(nbc__sched_world *w);
NBC__PRIVATE nbc_status nbc__sched_world_open(nbc__sched_world *w,
                                              const nbc_schedule *const *schedules, int size,
                                              nbc_error *err);
NBC__PRIVATE nbc_status nbc__sched_stuck(const nbc__sched_world *w, size_t i, nbc_error *err);
#ifdef NBC_LINES
#line 1 "src/coll/price.c"
#endif
/* price.c: schedules printed and priced. */


/* ---- the printer --------------------------------------------------------------------------- */
static void nbc__sched_slice_text(char text[64], nbc_slice s, uint64_t size_bytes) {
  static const char *const names[] = {"none", "send", "recv", "scratch"};
  if (s.area == NBC_AREA_NONE)
    snprintf(text, 64, "nothing");
  else
    snprintf(text, 64, "%s[%llu,%llu)", names[s.area], (unsigned long long)s.offset_bytes,
             (unsigned long long)(s.offset_bytes + size_bytes));
}

static void nbc__sched_node_text(char text[256], const nbc_node *node) {
  char a[64], b[64], c[64];
  switch (node->type) {
  case NBC_NODE_NOP: snprintf(text, 256, "nop"); break;
  case NBC_NODE_SEND:
  case NBC_NODE_RECV:
    nbc__sched_slice_text(a, node->u.msg.buffer, node->size_bytes);
    snprintf(text, 256, "%s %d #%u %s", node->type == NBC_NODE_SEND ? "send to" : "recv from",
             node->u.msg.peer, (unsigned)node->u.msg.tag, a);
    break;
  case NBC_NODE_COPY:
    nbc__sched_slice_text(a, node->u.copy.dst, node->size_bytes);
    nbc__sched_slice_text(b, node->u.copy.src, node->size_bytes);
    snprintf(text, 256, "%s = %s", a, b);
    break;
  case NBC_NODE_REDUCE:
    nbc__sched_slice_text(a, node->u.reduce.dst, node->size_bytes);
    nbc__sched_slice_text(b, node->u.reduce.left, node->size_bytes);
    nbc__sched_slice_text(c, node->u.reduce.right, node->size_bytes);
    snprintf(text, 256, "%s = %s op %s", a, b, c);
    break;
  }
}

NBC_API nbc_status nbc_schedule_print(const nbc_schedule *schedule, FILE *out) {
  if (!schedule || !out) return NBC_E_INVAL;
  fprintf(out, "%s %s: rank %d of %d, %u nodes, scratch %llu bytes\n",
          nbc_coll_name(schedule->coll), nbc_algo_name(schedule->algo), schedule->rank,
          schedule->size, (unsigned)schedule->node_count,
          (unsigned long long)schedule->scratch_bytes);
  for (uint32_t i = 0; i < schedule->node_count; i++) {
    const nbc_node *const node = &schedule->nodes[i];
    char text[256];
    nbc__sched_node_text(text, node);
    fprintf(out, "  %u: %s", (unsigned)i, text);
    for (uint32_t k = node[0].first_after; k < node[1].first_after; k++)
      fprintf(out, "%s %u", k == node[0].first_after ? " ->" : "", (unsigned)schedule->after[k]);
    fputc('\n', out);
  }
  return ferror(out) ? NBC_E_IO : NBC_OK;
}

typedef struct nbc__sched_message_key {
  int from, to;
  uint32_t tag;
  int receive;
  size_t node;
} nbc__sched_message_key;

NBC__PRIVATE const nbc_node *nbc__sched_world_node(const nbc__sched_world *w, size_t i) {
  const int r = w->rank_of[i];
  return &w->schedules[r]->nodes[i - w->first[r]];
}

static int nbc__sched_compare_keys(const void *a, const void *b) {
  const nbc__sched_message_key *const x = (const nbc__sched_message_key *)a,
                                      *const y = (const nbc__sched_message_key *)b;
  if (x->from != y->from) return x->from < y->from ? -1 : 1;
  if (x->to != y->to) return x->to < y->to ? -1 : 1;
  if (x->tag != y->tag) return x->tag < y->tag ? -1 : 1;
  /* false before true: the send before its receive */
  return x->receive - y->receive;
}

NBC__PRIVATE void nbc__sched_world_close(nbc__sched_world *w) {
  NBC_FREE(w->first);
  NBC_FREE(w->partner);
  NBC_FREE(w->rank_of);
  NBC_FREE(w->left);
}

/* Each message has exactly one sender and one receiver that name it alike: (from, to, tag). So,
   sorted by that key and then by direction, every send stands just before its receive, and any
   other neighbour is a message that one side does not know of. */
static nbc_status nbc__sched_world_match(nbc__sched_world *w, nbc_error *err) {
  nbc__sched_message_key *const keys =
      (nbc__sched_message_key *)NBC_MALLOC((w->node_count + 2) * sizeof *keys);
  if (!keys) return nbc__status_fail(err, NBC_E_NOMEM, 0, "schedules: out of memory");
  size_t count = 0;
  nbc_status status = NBC_OK;
  for (size_t i = 0; i < w->node_count; i++) {
    const nbc_node *const node = nbc__sched_world_node(w, i);
    w->partner[i] = i;
    if (node->type != NBC_NODE_SEND && node->type != NBC_NODE_RECV) continue;
    nbc__sched_message_key *const key = &keys[count++];
    key->receive = node->type == NBC_NODE_RECV;
    key->from = key->receive ? node->u.msg.peer : w->rank_of[i];
    key->to = key->receive ? w->rank_of[i] : node->u.msg.peer;
    key->tag = node->u.msg.tag;
    key->node = i;
  }
  qsort(keys, count, sizeof *keys, nbc__sched_compare_keys);
  for (size_t i = 0; i < count && !status; i += 2) {
    const nbc__sched_message_key *const a = &keys[i], *const b = &keys[i + 1];
    if (i + 1 == count || a->receive || !b->receive || a->from != b->from || a->to != b->to ||
        a->tag != b->tag)
      status = nbc__status_fail(err, NBC_E_STATE, 0,
                                "message %d -> %d #%u: not one send and one receive", a->from,
                                a->to, (unsigned)a->tag);
    else if (nbc__sched_world_node(w, a->node)->size_bytes !=
             nbc__sched_world_node(w, b->node)->size_bytes)
      status = nbc__status_fail(err, NBC_E_STATE, 0,
                                "message %d -> %d #%u: sends %llu bytes, receives %llu", a->from,
                                a->to, (unsigned)a->tag,
                                (unsigned long long)nbc__sched_world_node(w, a->node)->size_bytes,
                                (unsigned long long)nbc__sched_world_node(w, b->node)->size_bytes);
    else
      w->partner[a->node] = b->node, w->partner[b->node] = a->node;
  }
  NBC_FREE(keys);
  return status;
}

/* Whoever opens closes, also after an error: what was not allocated yet is NULL. */
NBC__PRIVATE nbc_status nbc__sched_world_open(nbc__sched_world *w,
                                              const nbc_schedule *const *schedules, int size,
                                              nbc_error *err) {
  memset(w, 0, sizeof *w);
  w->schedules = schedules;
  w->size = size;
  w->first = (size_t *)NBC_MALLOC(((size_t)size + 1) * sizeof *w->first);
  if (!w->first) return nbc__status_fail(err, NBC_E_NOMEM, 0, "schedules: out of memory");
  for (int r = 0; r < size; r++) {
    if (!schedules[r] || schedules[r]->rank != r || schedules[r]->size != size)
      return nbc__status_fail(err, NBC_E_INVAL, 0, "schedules[%d]: is not that of rank %d of %d", r,
                              r, size);
    w->first[r] = w->node_count;
    w->node_count += schedules[r]->node_count;
  }
  w->first[size] = w->node_count;
  w->partner = (size_t *)NBC_MALLOC(w->node_count * sizeof *w->partner);
  w->rank_of = (int *)NBC_MALLOC(w->node_count * sizeof *w->rank_of);
  w->left = (uint32_t *)NBC_MALLOC(w->node_count * sizeof *w->left);
  if (!w->partner || !w->rank_of || !w->left)
    return nbc__status_fail(err, NBC_E_NOMEM, 0, "schedules: out of memory");
  for (int r = 0; r < size; r++)
    for (uint32_t i = 0; i < schedules[r]->node_count; i++) {
      w->rank_of[w->first[r] + i] = r;
      w->left[w->first[r] + i] = schedules[r]->nodes[i].before_count;
    }
  return nbc__sched_world_match(w, err);
}

/* Names a node that never ran. */
NBC__PRIVATE nbc_status nbc__sched_stuck(const nbc__sched_world *w, size_t i, nbc_error *err) {
  char text[256];
  nbc__sched_node_text(text, nbc__sched_world_node(w, i));
  return nbc__status_fail(err, NBC_E_STATE, 0, "deadlock: rank %d, node %u (%.100s) never finishes",
                          w->rank_of[i], (unsigned)(i - w->first[w->rank_of[i]]), text);
}

/* Nodes are drawn before messages are matched, so that a schedule with a mistake can be seen: then
   the dashed arrows are missing, and the status says why. */
NBC_API nbc_status nbc_schedule_print_dot(const nbc_schedule *const *schedules, int size,
                                          FILE *out) {
  if (!schedules || !out) return NBC_E_INVAL;
  fprintf(out, "digraph \"%s %s\" {\n  node [shape=box];\n", nbc_coll_name(schedules[0]->coll),
          nbc_algo_name(schedules[0]->algo));
  for (int r = 0; r < size; r++) {
    const nbc_schedule *const s = schedules[r];
    fprintf(out, "  subgraph cluster_%d {\n    label=\"rank %d\";\n", r, r);
    for (uint32_t i = 0; i < s->node_count; i++) {
      char text[256];
      nbc__sched_node_text(text, &s->nodes[i]);
      fprintf(out, "    r%d_%u [label=\"%s\"];\n", r, (unsigned)i, text);
      for (uint32_t k = s->nodes[i].first_after; k < s->nodes[i + 1].first_after; k++)
        fprintf(out, "    r%d_%u -> r%d_%u;\n", r, (unsigned)i, r, (unsigned)s->after[k]);
    }
    fprintf(out, "  }\n");
  }
  nbc__sched_world w;
  const nbc_status status = nbc__sched_world_open(&w, schedules, size, NULL);
  for (size_t i = 0; !status && i < w.node_count; i++) {
    const int r = w.rank_of[i], peer = w.rank_of[w.partner[i]];
    if (nbc__sched_world_node(&w, i)->type == NBC_NODE_SEND)
      fprintf(out, "  r%d_%u -> r%d_%u [style=dashed, constraint=false];\n", r,
              (unsigned)(i - w.first[r]), peer, (unsigned)(w.partner[i] - w.first[peer]));
  }
  nbc__sched_world_close(&w);
  fprintf(out, "}\n");
  if (status) return status;
  return ferror(out) ? NBC_E_IO : NBC_OK;
}

/* ---- the LogGP pricer ---------------------------------------------------------------------- */
/* The model of Alexandrov et al. (LogGP, 1995), with costs of copying and reducing added, run as a small
   discrete-event simulation. A rank's processor and its network interface each do one thing at a time:
     processor  o for each send and each receive, size x its cost per byte for a copy or reduction
     interface  a message leaves when the processor has handed it over and the message before it is out;
                it keeps the interface busy for max(g, size x G)
     wire       it is there L + size x G after it left, and can be received once it is posted too
   With nodes given, messages inside a node take the model of the inside and the sender's own interface;
   those that leave the node share its one interface (entries size ... 2 size - 1 of nic_free_ns). */
typedef struct nbc__sched_event {
  double t_ns;
  uint64_t order; /* first come, first served */
  size_t node;
} nbc__sched_event;

typedef struct nbc__sched_pricing {
  nbc__sched_world w;
  const nbc_loggp *model, *inside;
  const int *nodes;
  nbc__sched_event *heap; /* a node is in it once */
  size_t heap_count;
  uint64_t order_count;
  double *ready_ns, *arrival_ns;              /* per node; arrival < 0: not sent yet */
  double *cpu_free_ns, *nic_free_ns, *end_ns; /* per rank; nic: then those of the nodes */
} nbc__sched_pricing;

/* A total order: events of the same time go in the order in which they were pushed. So the
   same schedules always have the same price, whatever the heap does with equal times. */
static bool nbc__sched_sooner(const nbc__sched_event *a, const nbc__sched_event *b) {
  return a->t_ns < b->t_ns || (!(a->t_ns > b->t_ns) && a->order < b->order);
}

/* A binary heap. A node is pushed once, when the last thing that it waits for is known, so its size
   is that of the world. */
static void nbc__sched_push_event(nbc__sched_pricing *p, double t_ns, size_t node) {
  nbc__sched_event event;
  event.t_ns = t_ns, event.order = p->order_count++, event.node = node;
  size_t i = p->heap_count++;
  for (; i && nbc__sched_sooner(&event, &p->heap[(i - 1) / 2]); i = (i - 1) / 2)
    p->heap[i] = p->heap[(i - 1) / 2];
  p->heap[i] = event;
}

static nbc__sched_event nbc__sched_pop_event(nbc__sched_pricing *p) {
  const nbc__sched_event first = p->heap[0], last = p->heap[--p->heap_count];
  size_t i = 0;
  for (size_t c; (c = 2 * i + 1) < p->heap_count; i = c) {
    if (c + 1 < p->heap_count && nbc__sched_sooner(&p->heap[c + 1], &p->heap[c])) c++;
    if (!nbc__sched_sooner(&p->heap[c], &last)) break;
    p->heap[i] = p->heap[c];
  }
  p->heap[i] = last;
  return first;
}

/* A receive can be handled when it is posted and the message is there: called when either becomes
   known, it does something at the second of the two calls. */
static void nbc__sched_price_ready(nbc__sched_pricing *p, size_t i) {
  const bool receive = nbc__sched_world_node(&p->w, i)->type == NBC_NODE_RECV;
  if (receive && p->arrival_ns[i] < 0) return;
  nbc__sched_push_event(
      p, receive && p->arrival_ns[i] > p->ready_ns[i] ? p->arrival_ns[i] : p->ready_ns[i], i);
}

static double nbc__sched_price_node(nbc__sched_pricing *p, const nbc__sched_event *event) {
  const nbc_node *const node = nbc__sched_world_node(&p->w, event->node);
  const int r = p->w.rank_of[event->node], peer = p->w.rank_of[p->w.partner[event->node]];
  const bool near = p->nodes && p->nodes[r] == p->nodes[peer];
  const nbc_loggp *const m = near ? p->inside : p->model;
  double *const nic_free_ns = &p->nic_free_ns[p->nodes && !near ? p->w.size + p->nodes[r] : r];
  const double bytes = (double)node->size_bytes;
  double cost_ns = 0;
  switch (node->type) {
  case NBC_NODE_NOP: return event->t_ns;
  case NBC_NODE_SEND:
  case NBC_NODE_RECV: cost_ns = m->overhead_ns; break;
  case NBC_NODE_COPY: cost_ns = bytes * m->copy_per_byte_ns; break;
  case NBC_NODE_REDUCE: cost_ns = bytes * m->reduce_per_byte_ns; break;
  }
  /* Events come in the order of their times, so who is ready first has the processor first. */
  const double start_ns = event->t_ns > p->cpu_free_ns[r] ? event->t_ns : p->cpu_free_ns[r];
  const double end_ns = p->cpu_free_ns[r] = start_ns + cost_ns;
  if (node->type == NBC_NODE_SEND) {
    /* One rank's sends are handed over in the order of their events. A node's interface takes
       those of several ranks in that order, too, and not in that of end_ns: so a rank whose
       processor is busy can hold up another rank's message here. */
    const double wire_ns = bytes * m->gap_per_byte_ns;
    const double leave_ns = end_ns > *nic_free_ns ? end_ns : *nic_free_ns;
    const size_t other = p->w.partner[event->node];
    /* G is per byte; a message of n bytes is priced with n G where the paper has (n - 1) G: a
       difference of one byte. */
    *nic_free_ns = leave_ns + (wire_ns > m->gap_ns ? wire_ns : m->gap_ns);
    p->arrival_ns[other] = leave_ns + m->latency_ns + wire_ns;
    /* Posted already: the message was the last thing it waited for. Else it is looked at when its
       predecessors end. */
    if (!p->w.left[other]) nbc__sched_price_ready(p, other);
  }
  return end_ns;
}

/* Time never runs back: what an event makes possible is pushed at the event's own end or later. So
   when a node is popped, all that was ready before it has had processor and interface.

     rank 0  processor |o|                     size n, model L, o, g, G
             interface   |--max(g, nG)--|
             wire        |-----L + nG-----|
     rank 1  processor                    |o|

   The receiver's processor is free until the message is there: that is what LogGP can show of
   overlap, and why a receive is an event only when it can be handled. */
static nbc_status nbc__sched_price_run(nbc__sched_pricing *p, nbc_error *err) {
  nbc__sched_world *const w = &p->w;
  size_t finished_count = 0;
  for (size_t i = 0; i < w->node_count; i++) p->arrival_ns[i] = -1;
  for (size_t i = 0; i < w->node_count; i++)
    if (!w->left[i]) nbc__sched_price_ready(p, i);
  for (; p->heap_count; finished_count++) {
    const nbc__sched_event event = nbc__sched_pop_event(p);
    const double end_ns = nbc__sched_price_node(p, &event);
    const int r = w->rank_of[event.node];
    const nbc_node *const node = nbc__sched_world_node(w, event.node);
    if (end_ns > p->end_ns[r]) p->end_ns[r] = end_ns;
    for (uint32_t k = node[0].first_after; k < node[1].first_after; k++) {
      const size_t next = w->first[r] + w->schedules[r]->after[k];
      if (end_ns > p->ready_ns[next]) p->ready_ns[next] = end_ns;
      if (--w->left[next] == 0) nbc__sched_price_ready(p, next);
    }
    p->ready_ns[event.node] = -1; /* finished */
  }
  /* Fewer ended than there are: a circle, or a receive whose send never came. One of them is
     named. */
  for (size_t i = 0; i < w->node_count && finished_count < w->node_count; i++)
    if (p->ready_ns[i] >= 0) return nbc__sched_stuck(w, i, err);
  return NBC_OK;
}

NBC_API nbc_status nbc_schedule_price(const nbc_schedule *const *schedules, int size,
                                      const nbc_loggp *model, double *rank_end_ns, double *end_ns,
                                      nbc_error *err) {
  return nbc_schedule_price_nodes(schedules, size, model, NULL, NULL, rank_end_ns, end_ns, err);
}

NBC_API nbc_status nbc_schedule_price_nodes(const nbc_schedule *const *schedules, int size,
                                            const nbc_loggp *model, const nbc_loggp *inside,
                                            const int *nodes, double *rank_end_ns, double *end_ns,
                                            nbc_error *err) {
  if (!schedules || (nodes && !inside))
    return nbc__status_fail(err, NBC_E_INVAL, 0, "%s: must not be NULL",
                            schedules ? "inside" : "schedules");
  for (int i = 0; nodes && i < size; i++)
    if (nodes[i] < 0 || nodes[i] >= size)
      return nbc__status_fail(err, NBC_E_RANGE, 0, "nodes[%d]: %d is not in 0..%d", i, nodes[i],
                              size - 1);
  nbc__sched_pricing p;
  memset(&p, 0, sizeof p);
  p.model = model, p.inside = inside, p.nodes = nodes;
  nbc_status status = nbc__sched_world_open(&p.w, schedules, size, err);
  const size_t doubles = 2 * p.w.node_count + 4 * (size_t)size;
  double *const memory = status ? NULL : (double *)NBC_MALLOC(doubles * sizeof *memory);
  p.heap = status ? NULL : (nbc__sched_event *)NBC_MALLOC(p.w.node_count * sizeof *p.heap);
  if (memory && p.heap) {
    for (size_t i = 0; i < doubles; i++) memory[i] = 0;
    p.ready_ns = memory, p.arrival_ns = memory + p.w.node_count;
    p.cpu_free_ns = memory + 2 * p.w.node_count;
    p.nic_free_ns = p.cpu_free_ns + size, p.end_ns = p.nic_free_ns + 2 * size;
    status = nbc__sched_price_run(&p, err);
    *end_ns = 0;
    for (int r = 0; r < size; r++) {
      if (rank_end_ns) rank_end_ns[r] = p.end_ns[r];
      if (p.end_ns[r] > *end_ns) *end_ns = p.end_ns[r];
    }
  } else if (!status) {
    status = nbc__status_fail(err, NBC_E_NOMEM, 0, "schedules: out of memory");
  }
  NBC_FREE(memory);
  NBC_FREE(p.heap);
  nbc__sched_world_close(&p.w);
  return status;
}
#ifdef NBC_LINES
#line 1 "src/coll/verify.c"
#endif
/* verify.c: schedules proved. */




/* ---- the verifier -------------------------------------------------------------------------- */
/* A schedule is proved in two steps, so that one run stands for all runs.
   1. Order: within a rank, two nodes that touch the same byte, one of them writing, are ordered by
      edges. So whatever order a real run takes, each node reads the same bytes (prove_order).
   2. Values: the schedules of all ranks are run once, in any order that the edges allow. Instead of
      data, a byte holds which ranks' contributions are in it and which byte of their vectors it is.
      What stands in the receive buffers at the end is compared with what the collective promises.
   A message is moved when the later of its two ends is posted, as if nothing were buffered: a
   schedule that only ends thanks to buffers is found stuck. */
typedef struct nbc__sched_byte {
  uint64_t ranks; /* bit r: holds what rank r gave; 0: not set by anyone */
  uint64_t index;
} nbc__sched_byte;

typedef struct nbc__sched_proof {
  nbc__sched_world w;
  const nbc_schedule_desc *descs; /* normalized */
  nbc__sched_byte *areas[64][NBC_AREA_COUNT];
  uint64_t *heard; /* per node: ranks known to have entered when it finishes */
  size_t *ready;
  size_t ready_count;
  bool *posted;
  nbc_error *err;
} nbc__sched_proof;

static uint64_t nbc__sched_area_bytes(const nbc_schedule *s, nbc_area area) {
  return area == NBC_AREA_SEND      ? s->send_bytes
         : area == NBC_AREA_RECV    ? s->recv_bytes
         : area == NBC_AREA_SCRATCH ? s->scratch_bytes
                                    : 0;
}

/* The slices a node touches, written one first. ret how many */
static int nbc__sched_touched(const nbc_node *node, nbc_slice slices[3], bool *first_written) {
  *first_written = node->type != NBC_NODE_SEND;
  switch (node->type) {
  case NBC_NODE_NOP: return 0;
  case NBC_NODE_SEND:
  case NBC_NODE_RECV: slices[0] = node->u.msg.buffer; return node->size_bytes ? 1 : 0;
  case NBC_NODE_COPY: slices[0] = node->u.copy.dst, slices[1] = node->u.copy.src; return 2;
  case NBC_NODE_REDUCE:
    slices[0] = node->u.reduce.dst, slices[1] = node->u.reduce.left,
    slices[2] = node->u.reduce.right;
    return 3;
  }
  return 0;
}

/* Both half-open: an interval that ends where the other begins does not touch it. The sums cannot
   pass 2^64: the slices of a node are proved to lie inside their areas before the node is compared
   with any other. */
static bool nbc__sched_overlap(nbc_slice a, uint64_t a_bytes, nbc_slice b, uint64_t b_bytes) {
  return a.area == b.area && a.offset_bytes < b.offset_bytes + b_bytes &&
         b.offset_bytes < a.offset_bytes + a_bytes;
}

static bool nbc__sched_conflict(const nbc_node *a, const nbc_node *b) {
  nbc_slice x[3], y[3];
  bool x_writes, y_writes;
  const int x_count = nbc__sched_touched(a, x, &x_writes),
            y_count = nbc__sched_touched(b, y, &y_writes);
  for (int i = 0; i < x_count; i++)
    for (int j = 0; j < y_count; j++) {
      const bool writes = (i == 0 && x_writes) || (j == 0 && y_writes);
      if (writes && nbc__sched_overlap(x[i], a->size_bytes, y[j], b->size_bytes)) return true;
    }
  return false;
}

/* Slices lie inside their areas; a node's own operands either are its result or do not touch it. */
static nbc_status nbc__sched_prove_slices(const nbc_schedule *s, uint32_t i, nbc_error *err) {
  const nbc_node *const node = &s->nodes[i];
  nbc_slice slices[3];
  bool writes;
  const int count = nbc__sched_touched(node, slices, &writes);
  for (int k = 0; k < count; k++) {
    const uint64_t area_bytes = nbc__sched_area_bytes(s, slices[k].area);
    if (slices[k].offset_bytes > area_bytes ||
        node->size_bytes > area_bytes - slices[k].offset_bytes)
      return nbc__status_fail(err, NBC_E_STATE, 0, "rank %d, node %u: reaches outside its area",
                              s->rank, (unsigned)i);
    if (k == 0 && writes && slices[0].area == NBC_AREA_SEND)
      return nbc__status_fail(err, NBC_E_STATE, 0, "rank %d, node %u: writes the send buffer",
                              s->rank, (unsigned)i);
    if (k > 0 && slices[k].offset_bytes != slices[0].offset_bytes &&
        nbc__sched_overlap(slices[0], node->size_bytes, slices[k], node->size_bytes))
      return nbc__status_fail(err, NBC_E_STATE, 0, "rank %d, node %u: operands overlap", s->rank,
                              (unsigned)i);
  }
  return NBC_OK;
}

/* Which nodes must be finished before node j starts, as one row of bits per node: so that every
   conflicting pair can be asked for its order. Nodes stand in an order in which they can run, so
   the row of a node is complete when the loop comes to it. Time and bits grow with the square of
   the nodes: this is for tests and authors of algorithms, not for the start of a collective. */
static nbc_status nbc__sched_prove_order(const nbc_schedule *s, nbc_error *err) {
  const size_t n = s->node_count, words = n / 64 + 1;
  uint64_t *const before = (uint64_t *)NBC_MALLOC(n * words * sizeof *before);
  if (!before) return nbc__status_fail(err, NBC_E_NOMEM, 0, "verify: out of memory");
  memset(before, 0, n * words * sizeof *before);
  nbc_status status = NBC_OK;
  for (uint32_t i = 0; i < n && !status; i++) {
    status = nbc__sched_prove_slices(s, i, err);
    for (uint32_t k = s->nodes[i].first_after; k < s->nodes[i + 1].first_after && !status; k++) {
      const uint32_t next = s->after[k];
      /* Edges that only go up are what makes one pass over the nodes enough, and circles
         impossible. */
      if (next <= i || next >= n) {
        status = nbc__status_fail(err, NBC_E_STATE, 0, "rank %d, node %u: not in running order",
                                  s->rank, (unsigned)i);
        break;
      }
      /* Row `next` takes all that row i knows, and i itself. Row i is complete: all edges into i
         came from nodes before it. */
      for (size_t word = 0; word < words; word++)
        before[next * words + word] |= before[i * words + word];
      before[next * words + i / 64] |= (uint64_t)1 << (i % 64);
    }
    for (uint32_t j = 0; j < i && !status; j++)
      if (!(before[i * words + j / 64] >> (j % 64) & 1) &&
          nbc__sched_conflict(&s->nodes[j], &s->nodes[i]))
        status = nbc__status_fail(err, NBC_E_STATE, 0,
                                  "rank %d: nodes %u and %u touch the same bytes in any order",
                                  s->rank, (unsigned)j, (unsigned)i);
  }
  NBC_FREE(before);
  return status;
}

static nbc__sched_byte *nbc__sched_bytes(const nbc__sched_proof *p, int rank, nbc_slice slice) {
  return p->areas[rank][slice.area] + slice.offset_bytes;
}

/* One reduction, byte by byte. The two sets of contributions must be disjoint (a sum that counts a
   rank twice is wrong, a maximum would hide it), and of the same element. Where operands may not
   change places, each set is a run of consecutive ranks and left's run ends where right's begins:
   by induction every partial result then is x_i op ... op x_j in the order of ranks. */
static nbc_status nbc__sched_prove_reduce(const nbc__sched_proof *p, int r, const nbc_node *node) {
  nbc__sched_byte *const dst = nbc__sched_bytes(p, r, node->u.reduce.dst);
  const nbc__sched_byte *const left = nbc__sched_bytes(p, r, node->u.reduce.left);
  const nbc__sched_byte *const right = nbc__sched_bytes(p, r, node->u.reduce.right);
  const nbc_schedule_desc *const d = &p->descs[r];
  for (uint64_t i = 0; i < node->size_bytes; i++) {
    const uint64_t a = left[i].ranks, b = right[i].ranks;
    const char *wrong = NULL;
    if (!a || !b)
      wrong = "reduces what nobody gave";
    else if (a & b)
      wrong = "counts a contribution twice";
    else if (left[i].index != right[i].index)
      wrong = "reduces different elements";
    else if ((left[i].index % d->elem_bytes) != i % d->elem_bytes)
      wrong = "cuts an element";
    else if (d->not_commutative) {
      /* b & -b is the lowest rank of right; left must hold the rank below it and none above */
      const uint64_t step = (b & (~b + 1)) >> 1;
      if (!(a & step) || a >= (b & (~b + 1))) wrong = "changes the order of operands";
    }
    if (wrong) return nbc__status_fail(p->err, NBC_E_STATE, 0, "rank %d: a reduction %s", r, wrong);
    dst[i].ranks = a | b;
    dst[i].index = left[i].index;
  }
  return NBC_OK;
}

/* What a node has heard of, all its successors have heard of: this is how a barrier is proved, in
   which no byte moves. Whoever leaves must have heard of everyone. Edges of node i stand in
   after[first_after of i .. first_after of i + 1): a node more than there are closes the list. The
   last predecessor that finishes makes a node ready. */
static void nbc__sched_prove_finish(nbc__sched_proof *p, size_t i) {
  const int r = p->w.rank_of[i];
  const nbc_schedule *const s = p->w.schedules[r];
  const nbc_node *const node = nbc__sched_world_node(&p->w, i);
  p->heard[i] |= (uint64_t)1 << r;
  for (uint32_t k = node[0].first_after; k < node[1].first_after; k++) {
    const size_t next = p->w.first[r] + s->after[k];
    p->heard[next] |= p->heard[i];
    if (--p->w.left[next] == 0) p->ready[p->ready_count++] = next;
  }
}

static nbc_status nbc__sched_prove_node(nbc__sched_proof *p, size_t i) {
  const nbc_node *const node = nbc__sched_world_node(&p->w, i);
  const int r = p->w.rank_of[i];
  nbc_status status = NBC_OK;
  if (node->type == NBC_NODE_SEND || node->type == NBC_NODE_RECV) {
    const size_t other = p->w.partner[i];
    p->posted[i] = true;
    if (!p->posted[other]) return NBC_OK; /* whoever comes second moves the data */
    const size_t send = node->type == NBC_NODE_SEND ? i : other, recv = send == i ? other : i;
    const nbc_node *const from = nbc__sched_world_node(&p->w, send);
    const nbc_node *const to = nbc__sched_world_node(&p->w, recv);
    if (node->size_bytes)
      memcpy(nbc__sched_bytes(p, p->w.rank_of[recv], to->u.msg.buffer),
             nbc__sched_bytes(p, p->w.rank_of[send], from->u.msg.buffer),
             node->size_bytes * sizeof(nbc__sched_byte));
    /* A message tells its receiver what its sender had heard when it was posted; the sender learns
       nothing by it. */
    p->heard[recv] |= p->heard[send] | (uint64_t)1 << p->w.rank_of[send];
    nbc__sched_prove_finish(p, send);
    nbc__sched_prove_finish(p, recv);
    return NBC_OK;
  }
  if (node->type == NBC_NODE_COPY)
    memcpy(nbc__sched_bytes(p, r, node->u.copy.dst), nbc__sched_bytes(p, r, node->u.copy.src),
           node->size_bytes * sizeof(nbc__sched_byte));
  if (node->type == NBC_NODE_REDUCE) status = nbc__sched_prove_reduce(p, r, node);
  p->posted[i] = true;
  nbc__sched_prove_finish(p, i);
  return status;
}

/* Ready nodes are taken from a stack, last come first: an order that no real run takes, which step
   1 allows. A node that never came to the stack, or whose partner never was posted, is stuck. */
static nbc_status nbc__sched_prove_run(nbc__sched_proof *p) {
  nbc__sched_world *const w = &p->w;
  for (size_t i = 0; i < w->node_count; i++)
    if (!w->left[i]) p->ready[p->ready_count++] = i;
  nbc_status status = NBC_OK;
  while (p->ready_count && !status) status = nbc__sched_prove_node(p, p->ready[--p->ready_count]);
  for (size_t i = 0; i < w->node_count && !status; i++)
    if (!p->posted[i] || !p->posted[w->partner[i]]) status = nbc__sched_stuck(w, i, p->err);
  return status;
}

/* `size_bytes` bytes at `at` hold what `ranks` gave, from their byte `index` on. */
static void nbc__sched_set(nbc__sched_byte *bytes, uint64_t at, uint64_t size_bytes, uint64_t ranks,
                           uint64_t index) {
  for (uint64_t i = 0; i < size_bytes; i++)
    bytes[at + i].ranks = ranks, bytes[at + i].index = index + i;
}

/* What rank r has before: the send buffer and, in place, its input in the receive buffer. */
static void nbc__sched_prove_input(nbc__sched_proof *p, int r) {
  const nbc_schedule_desc *const d = &p->descs[r];
  const nbc_schedule *const s = p->w.schedules[r];
  const uint64_t me = (uint64_t)1 << r, block = d->count * d->elem_bytes;
  for (int area = 0; area < NBC_AREA_COUNT; area++)
    /* Given by nobody, and no two bytes alike: what a collective must leave alone is seen to have
       stayed, and a byte copied there from elsewhere is seen too. */
    nbc__sched_set(p->areas[r][area], 0, nbc__sched_area_bytes(s, (nbc_area)area), 0,
                   (uint64_t)area << 56);
  nbc__sched_set(p->areas[r][NBC_AREA_SEND], 0, s->send_bytes, me, 0);
  nbc__sched_byte *const recv = p->areas[r][NBC_AREA_RECV];
  if (d->coll == NBC_COLL_BCAST && r == d->root) nbc__sched_set(recv, 0, block, me, 0);
  if (!d->in_place || d->coll == NBC_COLL_SCATTER || d->coll == NBC_COLL_SCATTERV) return;
  const uint64_t at = nbc__sched_input(d).offset_bytes;
  const bool own_block = d->coll >= NBC_COLL_GATHER && d->coll <= NBC_COLL_ALLGATHERV;
  nbc__sched_set(recv, at, own_block ? nbc__sched_block_bytes(d, d->recv_counts, r) : s->recv_bytes,
                 me, 0);
}

/* Block k of rank r: what its source gave in the same of its blocks for r as this is of r's from
   it. */
static void nbc__sched_prove_neighbor(const nbc__sched_proof *p, int r, int k,
                                      nbc__sched_byte *want) {
  const nbc_schedule_desc *const d = &p->descs[r];
  const int source = d->neighbors->sources[k];
  int turn = 0, at = 0;
  if (source < 0) return;
  const nbc_schedule_desc *const from = &p->descs[source];
  const nbc_neighbors *const there = from->neighbors;
  for (int i = 0; i < k; i++) turn += d->neighbors->sources[i] == source;
  while (at < there->target_count && (there->targets[at] != r || turn-- > 0)) at++;
  if (at == there->target_count) return; /* nobody sends it: the run is stuck before this matters */
  nbc__sched_set(want, nbc__sched_block_at(d, d->recv_counts, d->recv_displs, k),
                 nbc__sched_block_bytes(d, d->recv_counts, k), (uint64_t)1 << source,
                 d->coll == NBC_COLL_NEIGHBOR_ALLTOALL
                     ? nbc__sched_block_at(from, from->send_counts, from->send_displs, at)
                     : 0);
}

/* Overwrites `want` (a copy of the receive buffer as it was) with what rank r must have
   afterwards. */
static void nbc__sched_prove_expect(const nbc__sched_proof *p, int r, nbc__sched_byte *want) {
  const nbc_schedule_desc *const d = &p->descs[r], *const root = &p->descs[d->root];
  /* A set of ranks is one word, which is why at most 64 can be proved. No shift is by 64: that is
     undefined in C, so the full set is written out, and `below << 1 | 1` stands for what is shifted
     by r + 1. */
  const uint64_t block = d->count * d->elem_bytes,
                 all = p->w.size == 64 ? ~(uint64_t)0 : ((uint64_t)1 << p->w.size) - 1;
  const uint64_t below = ((uint64_t)1 << r) - 1, one = 1;
  switch (d->coll) {
  case NBC_COLL_BARRIER:
  case NBC_COLL_COUNT: break;
  case NBC_COLL_BCAST: nbc__sched_set(want, 0, block, one << d->root, 0); break;
  case NBC_COLL_REDUCE:
    if (r == d->root) nbc__sched_set(want, 0, block, all, 0);
    break;
  case NBC_COLL_ALLREDUCE: nbc__sched_set(want, 0, block, all, 0); break;
  case NBC_COLL_REDUCE_SCATTER_BLOCK:
  case NBC_COLL_REDUCE_SCATTER:
    nbc__sched_set(want, 0, nbc__sched_block_bytes(d, d->recv_counts, r), all,
                   nbc__sched_block_at(d, d->recv_counts, NULL, r));
    break;
  case NBC_COLL_SCATTER:
  case NBC_COLL_SCATTERV:
    if (r == d->root && d->in_place) break;
    nbc__sched_set(want, 0, block, one << d->root,
                   nbc__sched_block_at(root, root->send_counts, root->send_displs, r));
    break;
  case NBC_COLL_GATHER:
  case NBC_COLL_GATHERV:
    if (r != d->root) break; /* fall through */
  case NBC_COLL_ALLGATHER:
  case NBC_COLL_ALLGATHERV:
    for (int i = 0; i < d->size; i++)
      nbc__sched_set(want, nbc__sched_block_at(d, d->recv_counts, d->recv_displs, i),
                     nbc__sched_block_bytes(d, d->recv_counts, i), one << i, 0);
    break;
  case NBC_COLL_ALLTOALL:
  case NBC_COLL_ALLTOALLV:
    for (int i = 0; i < d->size; i++) {
      const nbc_schedule_desc *const from = &p->descs[i];
      const uint64_t index =
          from->in_place ? nbc__sched_block_at(from, from->recv_counts, from->recv_displs, r)
                         : nbc__sched_block_at(from, from->send_counts, from->send_displs, r);
      nbc__sched_set(want, nbc__sched_block_at(d, d->recv_counts, d->recv_displs, i),
                     nbc__sched_block_bytes(d, d->recv_counts, i), one << i, index);
    }
    break;
  case NBC_COLL_NEIGHBOR_ALLGATHER:
  case NBC_COLL_NEIGHBOR_ALLTOALL:
    for (int k = 0; k < d->neighbors->source_count; k++) nbc__sched_prove_neighbor(p, r, k, want);
    break;
  case NBC_COLL_SCAN: nbc__sched_set(want, 0, block, below << 1 | 1, 0); break;
  case NBC_COLL_EXSCAN:
    if (r) nbc__sched_set(want, 0, block, below, 0);
    break;
  }
}

/* The whole receive buffer is compared, also the bytes that the collective must leave as they
   were. */
static nbc_status nbc__sched_prove_result(nbc__sched_proof *p, int r, const nbc__sched_byte *want) {
  const nbc_schedule *const s = p->w.schedules[r];
  const nbc__sched_byte *const have = p->areas[r][NBC_AREA_RECV];
  for (uint64_t i = 0; i < s->recv_bytes; i++)
    if (have[i].ranks != want[i].ranks || have[i].index != want[i].index)
      return nbc__status_fail(p->err, NBC_E_STATE, 0,
                              "%s %s: rank %d: byte %llu holds byte %llu of ranks 0x%llx instead "
                              "of byte %llu of ranks 0x%llx",
                              nbc_coll_name(s->coll), nbc_algo_name(s->algo), r,
                              (unsigned long long)i, (unsigned long long)have[i].index,
                              (unsigned long long)have[i].ranks, (unsigned long long)want[i].index,
                              (unsigned long long)want[i].ranks);
  if (s->coll != NBC_COLL_BARRIER) return NBC_OK;
  uint64_t heard = 0;
  for (size_t i = p->w.first[r]; i < p->w.first[r + 1]; i++) heard |= p->heard[i];
  for (int i = 0; i < p->w.size; i++)
    if (!(heard >> i & 1))
      return nbc__status_fail(p->err, NBC_E_STATE, 0,
                              "barrier: rank %d leaves before rank %d entered", r, i);
  return NBC_OK;
}

/* One block: areas of all ranks, then the expected receive buffers. */
static nbc_status nbc__sched_prove(nbc__sched_proof *p, nbc_error *err) {
  uint64_t total_bytes = 1;
  for (int r = 0; r < p->w.size; r++) {
    const nbc_schedule *const s = p->w.schedules[r];
    total_bytes += s->send_bytes + 2 * s->recv_bytes + s->scratch_bytes;
  }
  /* 16 bytes are kept per byte followed: 4 GiB at most. */
  if (total_bytes > (uint64_t)1 << 28)
    return nbc__status_fail(err, NBC_E_RANGE, 0,
                            "verify: more than 2^28 bytes to follow: take smaller counts");
  nbc__sched_byte *const memory = (nbc__sched_byte *)NBC_MALLOC(total_bytes * sizeof *memory),
                         *next = memory, *want;
  if (!memory) return nbc__status_fail(err, NBC_E_NOMEM, 0, "verify: out of memory");
  for (int r = 0; r < p->w.size; r++) {
    for (int area = 0; area < NBC_AREA_COUNT; area++) {
      p->areas[r][area] = next;
      next += nbc__sched_area_bytes(p->w.schedules[r], (nbc_area)area);
    }
    nbc__sched_prove_input(p, r);
  }
  want = next;
  for (int r = 0; r < p->w.size; r++) {
    memcpy(next, p->areas[r][NBC_AREA_RECV], p->w.schedules[r]->recv_bytes * sizeof *next);
    nbc__sched_prove_expect(p, r, next);
    next += p->w.schedules[r]->recv_bytes;
  }
  nbc_status status = nbc__sched_prove_run(p);
  for (int r = 0; r < p->w.size && !status; r++) {
    status = nbc__sched_prove_result(p, r, want);
    want += p->w.schedules[r]->recv_bytes;
  }
  NBC_FREE(memory);
  return status;
}

NBC_API nbc_status nbc_schedule_verify(const nbc_schedule *const *schedules,
                                       const nbc_schedule_desc *descs, int size, nbc_error *err) {
  if (!schedules) return nbc__status_fail(err, NBC_E_INVAL, 0, "schedules: must not be NULL");
  if (size < 1 || size > 64)
    return nbc__status_fail(err, NBC_E_RANGE, 0, "size: %d is not in 1..64", size);
  nbc__sched_proof p;
  nbc_schedule_desc normal[64];
  memset(&p, 0, sizeof p);
  p.err = err;
  p.descs = normal;
  nbc_status status = nbc__sched_world_open(&p.w, schedules, size, err);
  for (int r = 0; r < size && !status; r++) {
    normal[r] = descs[r];
    nbc__sched_normalize(&normal[r]);
    status = nbc__sched_prove_order(schedules[r], err);
  }
  if (!status) {
    const size_t n = p.w.node_count;
    p.heard = (uint64_t *)NBC_MALLOC(n * sizeof *p.heard);
    p.ready = (size_t *)NBC_MALLOC(n * sizeof *p.ready);
    p.posted = (bool *)NBC_MALLOC(n * sizeof *p.posted);
    if (p.heard && p.ready && p.posted) {
      memset(p.heard, 0, n * sizeof *p.heard);
      memset(p.posted, 0, n * sizeof *p.posted);
      status = nbc__sched_prove(&p, err);
    } else {
      status = nbc__status_fail(err, NBC_E_NOMEM, 0, "verify: out of memory");
    }
  }
  NBC_FREE(p.heard);
  NBC_FREE(p.ready);
  NBC_FREE(p.posted);
  nbc__sched_world_close(&p.w);
  return status;
}
#ifdef NBC_LINES
#line 100 "src/coll/reduce.h"
#endif
/* ---- reductions ---------------------------------------------------------------------------- */
/* Loops over whole blocks of a constant length, because that is what compilers vectorise at -O2;
   dst may be left or right, which carries nothing from one element to another. clang says which
   types it cannot vectorise: known, not worth a user's attention. */
#if defined(__clang__)
#  pragma clang diagnostic push
#  pragma clang diagnostic ignored "-Wpass-failed"
#  define NBC__COLL_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#  define NBC__COLL_INDEPENDENT _Pragma("GCC ivdep")
#else
#  define NBC__COLL_INDEPENDENT
#endif
typedef void (*nbc__coll_kernel)(void *dst, const void *left, const void *right, uint64_t count);

NBC__PRIVATE nbc__coll_kernel nbc__coll_kernel_of(nbc_type type, nbc_reduce reduce);
#ifdef NBC_LINES
#line 1 "src/coll/reduce.c"
#endif
/* reduce.c: types and operators. */


/* ============================================================================================== */
/* [REDUCE] 16. Types and operators                                                               */
/* ============================================================================================== */
#define NBC__COLL_KERNEL(name, T, expr)                                                            \
  static void nbc__coll_##name(void *dst, const void *left, const void *right, uint64_t count) {   \
    enum { BLOCK = 32 };                                                                           \
    T *const d = (T *)dst;                                                                         \
    const T *const l = (const T *)left, *const r = (const T *)right;                               \
    uint64_t i = 0;                                                                                \
    for (; count - i >= BLOCK; i += BLOCK) {                                                       \
      NBC__COLL_INDEPENDENT                                                                        \
      for (int k = 0; k < BLOCK; k++) {                                                            \
        const T a = l[i + (uint64_t)k], b = r[i + (uint64_t)k];                                    \
        d[i + (uint64_t)k] = (T)(expr);                                                            \
      }                                                                                            \
    }                                                                                              \
    for (; i < count; i++) {                                                                       \
      const T a = l[i], b = r[i];                                                                  \
      d[i] = (T)(expr);                                                                            \
    }                                                                                              \
  }
#define NBC__COLL_ORDER(name, T)                                                                   \
  NBC__COLL_KERNEL(max_##name, T, a > b ? a : b)                                                   \
  NBC__COLL_KERNEL(min_##name, T, a < b ? a : b)
#define NBC__COLL_LOGIC(name, T)                                                                   \
  NBC__COLL_KERNEL(land_##name, T, (a != 0) & (b != 0))                                            \
  NBC__COLL_KERNEL(lor_##name, T, (a != 0) | (b != 0))                                             \
  NBC__COLL_KERNEL(lxor_##name, T, (a != 0) ^ (b != 0))
/* 1u: narrow types would be promoted to int, whose overflow is undefined. */
#define NBC__COLL_UNSIGNED(name, T)                                                                \
  NBC__COLL_ORDER(name, T)                                                                         \
  NBC__COLL_LOGIC(name, T)                                                                         \
  NBC__COLL_KERNEL(sum_##name, T, a + b)                                                           \
  NBC__COLL_KERNEL(prod_##name, T, 1u * a * b)                                                     \
  NBC__COLL_KERNEL(band_##name, T, a &b)                                                           \
  NBC__COLL_KERNEL(bor_##name, T, a | b)                                                           \
  NBC__COLL_KERNEL(bxor_##name, T, a ^ b)
#define NBC__COLL_REAL(name, T)                                                                    \
  NBC__COLL_ORDER(name, T)                                                                         \
  NBC__COLL_LOGIC(name, T)                                                                         \
  NBC__COLL_KERNEL(sum_##name, T, a + b)                                                           \
  NBC__COLL_KERNEL(prod_##name, T, a *b)

NBC__COLL_UNSIGNED(uint8, uint8_t)
NBC__COLL_UNSIGNED(uint16, uint16_t)
NBC__COLL_UNSIGNED(uint32, uint32_t)
NBC__COLL_UNSIGNED(uint64, uint64_t)
NBC__COLL_ORDER(int8, int8_t)
NBC__COLL_ORDER(int16, int16_t)
NBC__COLL_ORDER(int32, int32_t)
NBC__COLL_ORDER(int64, int64_t)
NBC__COLL_LOGIC(bool, bool)
NBC__COLL_REAL(float, float)
NBC__COLL_REAL(double, double)
NBC__COLL_REAL(long_double, long double)

/* A complex number lies in memory as an array of two. Its sum is a sum of reals. */
#define NBC__COLL_COMPLEX(name, T)                                                                 \
  static void nbc__coll_csum_##name(void *dst, const void *left, const void *right,                \
                                    uint64_t count) {                                              \
    nbc__coll_sum_##name(dst, left, right, 2 * count);                                             \
  }                                                                                                \
  static void nbc__coll_cprod_##name(void *dst, const void *left, const void *right,               \
                                     uint64_t count) {                                             \
    T *const d = (T *)dst;                                                                         \
    const T *const l = (const T *)left, *const r = (const T *)right;                               \
    for (uint64_t i = 0; i < 2 * count; i += 2) {                                                  \
      const T re = l[i] * r[i] - l[i + 1] * r[i + 1], im = l[i] * r[i + 1] + l[i + 1] * r[i];      \
      d[i] = re, d[i + 1] = im;                                                                    \
    }                                                                                              \
  }
NBC__COLL_COMPLEX(float, float)
NBC__COLL_COMPLEX(double, double)
NBC__COLL_COMPLEX(long_double, long double)
#if defined(__clang__)
#  pragma clang diagnostic pop
#endif

#define NBC__COLL_LOC(name, T, sign)                                                               \
  static void nbc__coll_##name(void *dst, const void *left, const void *right, uint64_t count) {   \
    T *const d = (T *)dst;                                                                         \
    const T *const l = (const T *)left, *const r = (const T *)right;                               \
    for (uint64_t i = 0; i < count; i++) {                                                         \
      const T a = l[i], b = r[i];                                                                  \
      const bool first = a.value sign b.value || (!(b.value sign a.value) && a.index <= b.index);  \
      d[i] = first ? a : b;                                                                        \
    }                                                                                              \
  }
#define NBC__COLL_PAIR(name)                                                                       \
  NBC__COLL_LOC(maxloc_##name, nbc_pair_##name, >)                                                 \
  NBC__COLL_LOC(minloc_##name, nbc_pair_##name, <)
NBC__COLL_PAIR(int16)
NBC__COLL_PAIR(int32)
NBC__COLL_PAIR(int64)
NBC__COLL_PAIR(float)
NBC__COLL_PAIR(double)
NBC__COLL_PAIR(long_double)

/* Which function serves which type and operator: X(type, operator, function). Signed integers add,
   multiply and combine as unsigned ones do. */
#define NBC__COLL_INTEGER_CASES(X, type, name, u)                                                  \
  X(type, MAX, max_##name)                                                                         \
  X(type, MIN, min_##name)                                                                         \
  X(type, SUM, sum_##u)                                                                            \
  X(type, PROD, prod_##u)                                                                          \
  X(type, LAND, land_##u)                                                                          \
  X(type, BAND, band_##u)                                                                          \
  X(type, LOR, lor_##u)                                                                            \
  X(type, BOR, bor_##u)                                                                            \
  X(type, LXOR, lxor_##u)                                                                          \
  X(type, BXOR, bxor_##u)
#define NBC__COLL_REAL_CASES(X, type, name)                                                        \
  X(type, MAX, max_##name)                                                                         \
  X(type, MIN, min_##name)                                                                         \
  X(type, SUM, sum_##name)                                                                         \
  X(type, PROD, prod_##name)                                                                       \
  X(type, LAND, land_##name)                                                                       \
  X(type, LOR, lor_##name)                                                                         \
  X(type, LXOR, lxor_##name)
#define NBC__COLL_COMPLEX_CASES(X, type, name)                                                     \
  X(type, SUM, csum_##name)                                                                        \
  X(type, PROD, cprod_##name)
#define NBC__COLL_PAIR_CASES(X, type, name)                                                        \
  X(type, MAXLOC, maxloc_##name)                                                                   \
  X(type, MINLOC, minloc_##name)
#define NBC__COLL_CASES(X)                                                                         \
  X(BOOL, MAX, lor_bool)                                                                           \
  X(BOOL, MIN, land_bool)                                                                          \
  X(BOOL, LAND, land_bool)                                                                         \
  X(BOOL, BAND, land_bool)                                                                         \
  X(BOOL, LOR, lor_bool)                                                                           \
  X(BOOL, BOR, lor_bool)                                                                           \
  X(BOOL, LXOR, lxor_bool)                                                                         \
  X(BOOL, BXOR, lxor_bool)                                                                         \
  NBC__COLL_INTEGER_CASES(X, INT8, int8, uint8)                                                    \
  NBC__COLL_INTEGER_CASES(X, UINT8, uint8, uint8)                                                  \
  NBC__COLL_INTEGER_CASES(X, INT16, int16, uint16)                                                 \
  NBC__COLL_INTEGER_CASES(X, UINT16, uint16, uint16)                                               \
  NBC__COLL_INTEGER_CASES(X, INT32, int32, uint32)                                                 \
  NBC__COLL_INTEGER_CASES(X, UINT32, uint32, uint32)                                               \
  NBC__COLL_INTEGER_CASES(X, INT64, int64, uint64)                                                 \
  NBC__COLL_INTEGER_CASES(X, UINT64, uint64, uint64)                                               \
  NBC__COLL_REAL_CASES(X, FLOAT, float)                                                            \
  NBC__COLL_REAL_CASES(X, DOUBLE, double)                                                          \
  NBC__COLL_REAL_CASES(X, LONG_DOUBLE, long_double)                                                \
  NBC__COLL_COMPLEX_CASES(X, COMPLEX_FLOAT, float)                                                 \
  NBC__COLL_COMPLEX_CASES(X, COMPLEX_DOUBLE, double)                                               \
  NBC__COLL_COMPLEX_CASES(X, COMPLEX_LONG_DOUBLE, long_double)                                     \
  NBC__COLL_PAIR_CASES(X, PAIR_INT16, int16)                                                       \
  NBC__COLL_PAIR_CASES(X, PAIR_INT32, int32)                                                       \
  NBC__COLL_PAIR_CASES(X, PAIR_INT64, int64)                                                       \
  NBC__COLL_PAIR_CASES(X, PAIR_FLOAT, float)                                                       \
  NBC__COLL_PAIR_CASES(X, PAIR_DOUBLE, double)                                                     \
  NBC__COLL_PAIR_CASES(X, PAIR_LONG_DOUBLE, long_double)

/* NULL: the operator does not exist for this type. */
NBC__PRIVATE nbc__coll_kernel nbc__coll_kernel_of(nbc_type type, nbc_reduce reduce) {
  if ((unsigned)reduce >= NBC_REDUCE_COUNT) return NULL;
  switch ((int)type * (int)NBC_REDUCE_COUNT + (int)reduce) {
#define NBC__X(type, reduce, function)                                                             \
  case (int)NBC_TYPE_##type *(int)NBC_REDUCE_COUNT + (int)NBC_REDUCE_##reduce:                     \
    return nbc__coll_##function;
    NBC__COLL_CASES(NBC__X)
#undef NBC__X
  default: return NULL;
  }
}

NBC_API const char *nbc_type_name(nbc_type type) {
  switch (type) {
#define NBC__X(name, text, size_bytes)                                                             \
  case NBC_TYPE_##name: return text;
    NBC_TYPE_LIST(NBC__X)
#undef NBC__X
  case NBC_TYPE_COUNT: break;
  }
  return "?";
}

NBC_API uint64_t nbc_type_bytes(nbc_type type) {
  switch (type) {
#define NBC__X(name, text, size_bytes)                                                             \
  case NBC_TYPE_##name: return size_bytes;
    NBC_TYPE_LIST(NBC__X)
#undef NBC__X
  case NBC_TYPE_COUNT: break;
  }
  return 0;
}

NBC_API const char *nbc_reduce_name(nbc_reduce reduce) {
  static const char *const names[] = {
#define NBC__X(name, text) text,
      NBC_REDUCE_LIST(NBC__X)
#undef NBC__X
  };
  if (reduce >= NBC_REDUCE_USER) return "user";
  return (unsigned)reduce < NBC_REDUCE_COUNT ? names[reduce] : "?";
}

NBC_API nbc_status nbc_reduce_local(nbc_reduce reduce, nbc_type type, void *dst, const void *left,
                                    const void *right, uint64_t count) {
  if (count && (!dst || !left || !right)) return NBC_E_INVAL;
  if ((unsigned)reduce >= NBC_REDUCE_COUNT || (unsigned)type >= NBC_TYPE_COUNT) return NBC_E_INVAL;
  const nbc__coll_kernel kernel = nbc__coll_kernel_of(type, reduce);
  if (!kernel) return NBC_E_INVAL;
  kernel(dst, left, right, count);
  return NBC_OK;
}
#ifdef NBC_LINES
#line 67 "src/coll/progress.h"
#endif
/* What is handed to an engine: a request is one. launch is called once, under the lock. */
typedef struct nbc__prog_work {
  struct nbc__prog_work *next; /* the engine's */
  void (*launch)(struct nbc__prog_work *work);
} nbc__prog_work;

NBC__PRIVATE void nbc__prog_lock(nbc_progress *p);
NBC__PRIVATE void nbc__prog_unlock(nbc_progress *p);
NBC__PRIVATE nbc_status nbc__prog_attach(nbc_progress *p, nbc_transport *t, nbc_error *err);
NBC__PRIVATE void nbc__prog_detach(nbc_progress *p, const nbc_transport *t);
NBC__PRIVATE nbc_status nbc__prog_failed(const nbc_progress *p, const nbc_transport *t);
NBC__PRIVATE void nbc__prog_submit(nbc_progress *p, nbc__prog_work *work);
NBC__PRIVATE void nbc__prog_take(nbc_progress *p);
NBC__PRIVATE void nbc__prog_note_done(nbc_progress *p);
NBC__PRIVATE bool nbc__prog_any_failed(const nbc_progress *p);
NBC__PRIVATE void nbc__prog_note_post(nbc_progress *p, int64_t d_ns);
NBC__PRIVATE void nbc__prog_help(nbc_progress *p);
#ifdef NBC_LINES
#line 1 "src/coll/progress.c"
#endif
/* progress.c: who drives collectives while the program computes. */



/* ============================================================================================== */
/* [PROGRESS] 17. Who drives collectives                                                          */
/* ============================================================================================== */
/* Everything that runs a request or a transport of an engine happens under its ticket lock: fair,
   so that a worker that polls all the time lets others in. New requests come by a stack that needs
   no lock: pushed by any thread, taken whole by the lock's holder. */
enum { NBC__PROG_MAX_TRANSPORTS = 256 };

struct nbc_progress {
  nbc_progress_desc desc;
  nbc_clock clock;
  uint32_t next_ticket, served_ticket; /* atomic */
  uint32_t stop, any_failed;           /* atomic */
  uint32_t comm_count;                 /* under the lock, as all that follows */
  nbc_transport *transports[NBC__PROG_MAX_TRANSPORTS];
  uint32_t users[NBC__PROG_MAX_TRANSPORTS];
  nbc_status failed[NBC__PROG_MAX_TRANSPORTS]; /* what progress of it ended with; 0 = it works */
  int transport_count;
  uint64_t moved_count;      /* completions and launches: what makes a poll busy */
  nbc__prog_work *submitted; /* atomic: a stack, the newest first */
  uint64_t poll_count, submit_count, post_count; /* atomic: read while the worker runs */
  int64_t busy_ns;
  uint64_t post_hist[NBC_HIST_BINS];
  int64_t t_start_ns, t_stop_ns;
  pthread_t thread;
  bool running;
};

NBC_API const char *nbc_policy_name(nbc_policy policy) {
  static const char *const names[] = {"none", "dedicated", "timer", "idle"};
  return (unsigned)policy < NBC_POLICY_COUNT ? names[policy] : "?";
}

NBC_API nbc_status nbc_policy_parse(const char *name, nbc_policy *policy) {
  if (!name || !policy) return NBC_E_INVAL;
  for (int i = 0; i < NBC_POLICY_COUNT; i++)
    if (strcmp(name, nbc_policy_name((nbc_policy)i)) == 0) return *policy = (nbc_policy)i, NBC_OK;
  return NBC_E_NOT_FOUND;
}

/* A ticket lock, since the worker takes the lock again and again: with a lock that whoever comes
   first gets, a worker on a core of its own would always be first. acquire and release of
   served_ticket carry all that is written under the lock. */
NBC__PRIVATE void nbc__prog_lock(nbc_progress *p) {
  const uint32_t ticket = __atomic_fetch_add(&p->next_ticket, 1, __ATOMIC_RELAXED);
  for (unsigned spin_count = 0; __atomic_load_n(&p->served_ticket, __ATOMIC_ACQUIRE) != ticket;
       spin_count++)
    if (spin_count > 32) sched_yield(); /* the holder may share this core */
}

/* Takes a ticket only when it would be served at once: next_ticket is still the one that is
   served. */
static bool nbc__prog_try_lock(nbc_progress *p) {
  uint32_t ticket = __atomic_load_n(&p->served_ticket, __ATOMIC_ACQUIRE);
  return __atomic_compare_exchange_n(&p->next_ticket, &ticket, ticket + 1, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED);
}

NBC__PRIVATE void nbc__prog_unlock(nbc_progress *p) {
  __atomic_store_n(&p->served_ticket, __atomic_load_n(&p->served_ticket, __ATOMIC_RELAXED) + 1,
                   __ATOMIC_RELEASE);
}

/* ---- what communicators and requests call -------------------------------------------------- */
NBC__PRIVATE nbc_status nbc__prog_attach(nbc_progress *p, nbc_transport *t, nbc_error *err) {
  nbc_status status = NBC_OK;
  if (t->main_thread_only)
    return nbc__status_fail(err, NBC_E_THREAD, 0,
                            "progress: a worker may not call the transport %s (MPI: start with "
                            "MPI_THREAD_SERIALIZED or more)",
                            t->name);
  nbc__prog_lock(p);
  int i = 0;
  while (i < p->transport_count && p->transports[i] != t) i++;
  if (i == NBC__PROG_MAX_TRANSPORTS)
    status = nbc__status_fail(err, NBC_E_FULL, 0, "progress: more than %d transports", i);
  else {
    if (i == p->transport_count)
      p->transports[p->transport_count++] = t, p->users[i] = 0, p->failed[i] = NBC_OK;
    p->users[i]++;
    p->comm_count++;
  }
  nbc__prog_unlock(p);
  return status;
}

/* The last user's transport leaves its place to the last transport: the order of transports means
   nothing. */
NBC__PRIVATE void nbc__prog_detach(nbc_progress *p, const nbc_transport *t) { /* under the lock */
  int i = 0;
  while (i < p->transport_count && p->transports[i] != t) i++;
  p->comm_count--;
  if (i == p->transport_count || --p->users[i]) return;
  p->transports[i] = p->transports[--p->transport_count];
  p->users[i] = p->users[p->transport_count];
  p->failed[i] = p->failed[p->transport_count];
}

/* Under the lock. */
NBC__PRIVATE nbc_status nbc__prog_failed(const nbc_progress *p, const nbc_transport *t) {
  for (int i = 0; i < p->transport_count; i++)
    if (p->transports[i] == t) return p->failed[i];
  return NBC_OK;
}

NBC__PRIVATE void nbc__prog_submit(nbc_progress *p, nbc__prog_work *work) {
  nbc__prog_work *first = __atomic_load_n(&p->submitted, __ATOMIC_RELAXED);
  do work->next = first;
  while (!__atomic_compare_exchange_n(&p->submitted, &first, work, true, __ATOMIC_RELEASE,
                                      __ATOMIC_RELAXED));
}

/* The stack holds the newest first; they are launched in the order in which they came, because two
   collectives of one communicator must begin in the same order on all ranks. Taken whole by an
   exchange, so nothing of it is ever popped while others push (no ABA). */
NBC__PRIVATE void nbc__prog_take(nbc_progress *p) {
  nbc__prog_work *newest = NULL, *oldest = NULL;
  if (__atomic_load_n(&p->submitted, __ATOMIC_RELAXED))
    newest = __atomic_exchange_n(&p->submitted, NULL, __ATOMIC_ACQUIRE);
  while (newest) {
    nbc__prog_work *const next = newest->next;
    newest->next = oldest;
    oldest = newest;
    newest = next;
  }
  while (oldest) {
    nbc__prog_work *const next = oldest->next; /* read before: what is launched may end and go */
    p->moved_count++;
    __atomic_fetch_add(&p->submit_count, 1, __ATOMIC_RELAXED);
    oldest->launch(oldest);
    oldest = next;
  }
}

/* One round over everything, under the lock. A transport that fails is left alone; who waits sees
   it. Only rounds in which something moved count as busy: the share of the worker's time that was
   work, which its price is weighed against. */
static void nbc__prog_poll(nbc_progress *p) {
  const uint64_t moved_count = p->moved_count;
  const int64_t t_begin_ns = nbc_clock_now_ns(&p->clock);
  nbc__prog_take(p);
  for (int i = 0; i < p->transport_count; i++) {
    const nbc_status status =
        p->failed[i] ? NBC_OK : p->transports[i]->progress(p->transports[i]->ctx);
    if (status < 0) {
      p->failed[i] = status;
      __atomic_store_n(&p->any_failed, 1, __ATOMIC_RELEASE);
    }
  }
  __atomic_fetch_add(&p->poll_count, 1, __ATOMIC_RELAXED);
  if (p->moved_count != moved_count)
    __atomic_fetch_add(&p->busy_ns, nbc_clock_now_ns(&p->clock) - t_begin_ns, __ATOMIC_RELAXED);
}

NBC__PRIVATE void nbc__prog_note_done(nbc_progress *p) { p->moved_count++; }

NBC__PRIVATE bool nbc__prog_any_failed(const nbc_progress *p) {
  return __atomic_load_n(&p->any_failed, __ATOMIC_ACQUIRE) != 0;
}

NBC__PRIVATE void nbc__prog_note_post(nbc_progress *p, int64_t d_ns) {
  __atomic_fetch_add(&p->post_hist[nbc__bin(d_ns)], 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&p->post_count, 1, __ATOMIC_RELAXED);
}

/* A thread waits for a request: a dedicated worker is left alone, since it polls faster than anyone
   could take the lock from it; the others may sleep or have no core, and are helped. Without
   waiting for the lock: who holds it polls anyhow. */
NBC__PRIVATE void nbc__prog_help(nbc_progress *p) {
  const bool alone =
      p->desc.policy == NBC_POLICY_DEDICATED && !__atomic_load_n(&p->stop, __ATOMIC_ACQUIRE);
  if (alone || !nbc__prog_try_lock(p)) return;
  nbc__prog_poll(p);
  nbc__prog_unlock(p);
}

/* ---- the worker ---------------------------------------------------------------------------- */
/* A dedicated worker never yields: its core is its own, and a yield would cost a system call per
   round. With share_core and under the policy of idle cores others may need the core at any time.
   The timer sleeps whole periods, whatever came. */
static void *nbc__prog_main(void *arg) {
  nbc_progress *const p = (nbc_progress *)arg;
  while (!__atomic_load_n(&p->stop, __ATOMIC_ACQUIRE)) {
    nbc__prog_lock(p);
    nbc__prog_poll(p);
    nbc__prog_unlock(p);
    if (p->desc.policy == NBC_POLICY_TIMER) {
      struct timespec pause;
      pause.tv_sec = (time_t)(p->desc.period_ns / 1000000000);
      pause.tv_nsec = (long)(p->desc.period_ns % 1000000000);
      nanosleep(&pause, NULL);
    } else if (p->desc.policy == NBC_POLICY_IDLE || p->desc.share_core) {
      sched_yield();
    }
  }
  return NULL;
}

/* A dedicated core on which the program may run too is worse than none: the worker would take half
   of it. */
static nbc_status nbc__prog_check_core(const nbc_progress_desc *d, nbc_error *err) {
  cpu_set_t mine;
  if (d->core < 0 || d->core >= CPU_SETSIZE)
    return nbc__status_fail(err, NBC_E_RANGE, 0, "core: there is no core %d", d->core);
  CPU_ZERO(&mine);
  if (sched_getaffinity(0, sizeof mine, &mine))
    return nbc__status_fail(err, NBC_E_SYSTEM, 0, "core: sched_getaffinity: %s", strerror(errno));
  if (d->share_core || !CPU_ISSET((size_t)d->core, &mine)) return NBC_OK;
  return nbc__status_fail(
      err, NBC_E_STATE, 0,
      "core: the program may run on core %d too. Bind it to the others (OMP_NUM_THREADS=%d, "
      "OMP_PLACES and "
      "OMP_PROC_BIND=true as nbc_progress_env prints, or taskset), or set share_core",
      d->core, CPU_COUNT(&mine) > 1 ? CPU_COUNT(&mine) - 1 : 1);
}

static nbc_status nbc__prog_start(nbc_progress *p, nbc_error *err) {
  const int failed = pthread_create(&p->thread, NULL, nbc__prog_main, p);
  if (failed) return nbc__status_fail(err, NBC_E_THREAD, 0, "worker: %s", strerror(failed));
  p->running = true;
  if (p->desc.policy == NBC_POLICY_DEDICATED) {
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET((size_t)p->desc.core, &only);
    if (pthread_setaffinity_np(p->thread, sizeof only, &only))
      return nbc__status_fail(err, NBC_E_RANGE, 0,
                              "core: there is no core %d, or this process may not use it",
                              p->desc.core);
  }
  if (p->desc.policy == NBC_POLICY_IDLE) {
    struct sched_param param;
    memset(&param, 0, sizeof param);
    const int refused = pthread_setschedparam(p->thread, SCHED_IDLE, &param);
    if (refused)
      return nbc__status_fail(err, NBC_E_THREAD, 0, "worker: SCHED_IDLE: %s", strerror(refused));
  }
  return NBC_OK;
}

NBC_API nbc_status nbc_progress_create(const nbc_progress_desc *desc, nbc_progress **progress,
                                       nbc_error *err) {
  if (!progress) return NBC_E_INVAL;
  *progress = NULL;
  if (!desc || desc->policy <= NBC_POLICY_NONE || desc->policy >= NBC_POLICY_COUNT)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "policy: must be dedicated, timer or idle");
  if (desc->period_ns < 0) return nbc__status_fail(err, NBC_E_RANGE, 0, "period_ns: must be >= 0");
  nbc_status status =
      desc->policy == NBC_POLICY_DEDICATED ? nbc__prog_check_core(desc, err) : NBC_OK;
  if (status) return status;
  nbc_progress *const p = (nbc_progress *)NBC_MALLOC(sizeof *p);
  if (!p) return nbc__status_fail(err, NBC_E_NOMEM, 0, "progress: out of memory");
  memset(p, 0, sizeof *p);
  p->desc = *desc;
  if (!p->desc.period_ns) p->desc.period_ns = 2000000;
  status = nbc_clock_create(NULL, &p->clock);
  if (!status) {
    p->t_start_ns = nbc_clock_now_ns(&p->clock);
    status = nbc__prog_start(p, err);
  }
  if (status)
    (void)nbc_progress_destroy(p);
  else
    *progress = p;
  return status;
}

NBC_API void nbc_progress_stop(nbc_progress *progress) {
  if (!progress || !progress->running) return;
  __atomic_store_n(&progress->stop, 1, __ATOMIC_RELEASE);
  pthread_join(progress->thread, NULL);
  progress->running = false;
  progress->t_stop_ns = nbc_clock_now_ns(&progress->clock);
}

NBC_API nbc_status nbc_progress_destroy(nbc_progress *progress) {
  if (!progress) return NBC_OK;
  nbc_progress_stop(progress);
  if (progress->comm_count) return NBC_E_STATE;
  NBC_FREE(progress);
  return NBC_OK;
}

NBC_API void nbc_progress_get_stats(const nbc_progress *progress, nbc_progress_stats *stats) {
  if (!progress || !stats) return;
  memset(stats, 0, sizeof *stats);
  stats->poll_count = __atomic_load_n(&progress->poll_count, __ATOMIC_RELAXED);
  stats->submit_count = __atomic_load_n(&progress->submit_count, __ATOMIC_RELAXED);
  stats->post_count = __atomic_load_n(&progress->post_count, __ATOMIC_RELAXED);
  stats->busy_ns = __atomic_load_n(&progress->busy_ns, __ATOMIC_RELAXED);
  for (int i = 0; i < NBC_HIST_BINS; i++)
    stats->hist_count[i] = __atomic_load_n(&progress->post_hist[i], __ATOMIC_RELAXED);
  stats->wall_ns = (progress->running ? nbc_clock_now_ns(&progress->clock) : progress->t_stop_ns) -
                   progress->t_start_ns;
  if (stats->wall_ns > 0) stats->busy_ratio = (double)stats->busy_ns / (double)stats->wall_ns;
}

NBC_API nbc_status nbc_progress_env(int core, int core_count, FILE *out) {
  if (!out) return NBC_E_INVAL;
  cpu_set_t mine;
  CPU_ZERO(&mine);
  if (core_count > 0 && core_count <= CPU_SETSIZE)
    for (int i = 0; i < core_count; i++) CPU_SET((size_t)i, &mine);
  else if (core_count || sched_getaffinity(0, sizeof mine, &mine))
    return NBC_E_RANGE;
  if (core < 0 || core >= CPU_SETSIZE || !CPU_ISSET((size_t)core, &mine) || CPU_COUNT(&mine) < 2)
    return NBC_E_RANGE;
  fprintf(out, "export OMP_NUM_THREADS=%d\nexport OMP_PLACES=", CPU_COUNT(&mine) - 1);
  bool first = true;
  for (int i = 0; i < CPU_SETSIZE; i++) {
    if (!CPU_ISSET((size_t)i, &mine) || i == core) continue;
    fprintf(out, "%s{%d}", first ? "" : ",", i);
    first = false;
  }
  fprintf(out, "\nexport OMP_PROC_BIND=true\n");
  return ferror(out) ? NBC_E_IO : NBC_OK;
}
#ifdef NBC_LINES
#line 112 "src/coll/request.h"
#endif
/* ---- communicators and requests ------------------------------------------------------------ */
/* A schedule that may be wanted again is kept with its key; the last finished request of it too,
   with its memory, so that a repeated call builds and allocates nothing. */
enum { NBC__COLL_CACHED = 32, NBC__COLL_OPERATORS = 16, NBC__COLL_SEQUENCES = 1 << 19 };

typedef struct nbc__coll_entry {
  nbc_schedule_desc key; /* as asked for, rank and pointers included: all 0 */
  nbc_schedule *schedule;
  nbc_request *spare;
  uint64_t last_use_count;
  uint32_t user_count; /* requests that run it */
} nbc__coll_entry;

/* What a transport gets, with the way back: op.user points here, so a completion finds its node
   without a search. */
typedef struct nbc__coll_op {
  nbc_op op;
  nbc_request *request;
  uint32_t node;
} nbc__coll_op;

/* What the nodes of a schedule work on. */
typedef struct nbc__coll_data {
  unsigned char *areas[NBC_AREA_COUNT];
  void *scratch_memory;
  nbc__coll_kernel kernel; /* NULL: the reduction is the user's, user_fn with user */
  nbc_reduce_fn user_fn;
  void *user;
} nbc__coll_data;

/* How far the run of a schedule has come. advancing: a caller further up the stack is starting
   nodes; flying_count: messages started and not finished. */
typedef struct nbc__coll_run {
  uint64_t tag;
  uint32_t *left;  /* per node: predecessors not finished */
  uint32_t *ready; /* nodes in the order in which they became ready: each comes once */
  uint32_t first_ready_count, ready_count, finished_count, flying_count;
  bool advancing;
  uint32_t spoiled;  /* atomic: a message had another length; from now on this rank's are empty */
  nbc__coll_op *ops; /* per node that sends or receives */
  uint32_t *op_of;   /* per node: index in ops */
} nbc__coll_run;

/* The checking mode: a comparison is a request of its own that runs before the one it is for. */
typedef struct nbc__coll_compare {
  nbc_request *before, *after; /* the comparison of this request; the request of this comparison */
  struct nbc__coll_summary *summaries; /* of a comparison: what each rank is told, then tells */
} nbc__coll_compare;

typedef struct nbc__coll_times {
  int64_t t_start_ns, t_spoiled_ns;
  int64_t t_done_ns; /* of the completion being handled, for an engine's histogram; 0 = none */
} nbc__coll_times;

/* While a request is in the hands of an engine, others touch it only under the engine's lock. Of
   what changes, only its state is read without: so a thread that waits learns the end. */
struct nbc_request {
  nbc__prog_work work; /* first: what an engine gets */
  nbc_comm *comm;
  nbc_request *before, *next; /* all requests of the communicator */
  nbc__coll_entry *entry;     /* NULL: the schedule is this request's own */
  nbc_schedule *schedule;
  nbc_coll_args args; /* without the arrays of counts */
  bool persistent;
  uint32_t state; /* atomic: nbc__coll_state; changed in nbc__coll_enter only */
  nbc_error error;
  nbc__coll_data data;
  nbc__coll_run run;
  nbc__coll_compare compare;
  nbc__coll_times times;
};

struct nbc_comm {
  nbc_comm_desc desc;
  nbc_transport *t;
  nbc_choice choice;
  nbc_error err;
  nbc_request *requests;
  nbc__coll_entry entries[NBC__COLL_CACHED];
  uint64_t use_count;
  nbc_transport *own_transport; /* of nbc_mpi_comm: go with the communicator */
  nbc_progress *own_progress;
  uint32_t sequence_index, persistent_index; /* collectives started; persistent ones made */
  int operator_count;
  struct {
    nbc_reduce_fn fn;
    void *user;
    bool commutative;
  } operators[NBC__COLL_OPERATORS];
};

NBC__PRIVATE bool nbc__coll_is_active(const nbc_request *r);
NBC__PRIVATE bool nbc__coll_step_one(nbc_request *r);

/* ---- checking mode ------------------------------------------------------------------------- */
/* Before a collective, every rank tells every other what it is about to call: an alltoall of
   summaries, itself a request whose end starts the real one. */
typedef struct nbc__coll_summary {
  uint64_t count, segment_bytes, counts_hash, to_you_bytes, from_you_bytes;
  int32_t coll, type, reduce, root, algo, radix;
} nbc__coll_summary;
#ifdef NBC_LINES
#line 1 "src/coll/request.c"
#endif
/* request.c: communicators and requests: the executor, one for all algorithms. */





/* ============================================================================================== */
/* [COLL] 18. Collectives on any transport                                                        */
/* ============================================================================================== */
typedef enum nbc__coll_state {
  NBC__COLL_IDLE = 0,
  NBC__COLL_RUNNING,
  NBC__COLL_DONE,
  NBC__COLL_FAILED
} nbc__coll_state;

/* The states of a request. Only a persistent one comes back to IDLE; a failed one stays FAILED.

     IDLE --begin--> RUNNING --all nodes ended--> DONE --end--> IDLE, or gone
                        '-----error----------> FAILED

   acquire here and release in nbc__coll_enter: who sees DONE sees the received data, too, whichever
   thread it was that drove the request. */
static nbc__coll_state nbc__coll_state_of(const nbc_request *r) {
  return (nbc__coll_state)__atomic_load_n(&r->state, __ATOMIC_ACQUIRE);
}

/* The only place where a request changes its state; nobody but its owner touches it after the
   end. */
static void nbc__coll_enter(nbc_request *r, nbc__coll_state state) {
  __atomic_store_n(&r->state, (uint32_t)state, __ATOMIC_RELEASE);
}

static void nbc__coll_checked(nbc_request *check);

static void nbc__coll_note(nbc_request *r, nbc_status status, uint32_t i, const char *what) {
  if (r->error.status) return; /* the first error is the cause */
  const nbc_node *const node = &r->schedule->nodes[i];
  (void)nbc__status_fail(&r->error, status, 0, "%s, rank %d: %s %d: %s (%s)",
                         nbc_coll_name(r->schedule->coll), r->schedule->rank,
                         node->type == NBC_NODE_SEND ? "send to" : "receive from", node->u.msg.peer,
                         what, nbc_status_name(status));
}

/* What of the request is still flying goes on: the transport has its operations, so its memory
   stays until they end or are recalled. Nothing new is posted: see nbc__coll_advance. */
static void nbc__coll_fail(nbc_request *r, nbc_status status, uint32_t i, const char *what) {
  if (nbc__coll_state_of(r) != NBC__COLL_RUNNING) return;
  nbc__coll_note(r, status, i, what);
  nbc__coll_enter(r, NBC__COLL_FAILED);
  if (r->compare.after) nbc__coll_checked(r);
}

/* A message had another length. The transport is sound, and others wait for what this rank would send:
   the schedule goes on with empty messages in place of its own, so that each of them sees a wrong
   length too, and all end with an error. Only the end is late. */
static void nbc__coll_spoil(nbc_request *r, nbc_status status, uint32_t i, const char *what) {
  if (!r->error.status) r->times.t_spoiled_ns = r->comm->t->now_ns(r->comm->t->ctx);
  nbc__coll_note(r, status, i, what);
  __atomic_store_n(&r->run.spoiled, 1, __ATOMIC_RELEASE);
}

/* ---- the executor: one for all algorithms -------------------------------------------------- */
static unsigned char *nbc__coll_at(const nbc_request *r, nbc_slice slice) {
  return slice.area == NBC_AREA_NONE ? NULL : r->data.areas[slice.area] + slice.offset_bytes;
}

/* Each node comes into `ready` once, when its last predecessor has ended, so the array needs no
   more than node_count places and no second list of what has run. */
static void nbc__coll_finish_node(nbc_request *r, uint32_t i) {
  const nbc_node *const node = &r->schedule->nodes[i];
  r->run.finished_count++;
  for (uint32_t k = node[0].first_after; k < node[1].first_after; k++) {
    const uint32_t next = r->schedule->after[k];
    if (--r->run.left[next] == 0) r->run.ready[r->run.ready_count++] = next;
  }
}

/* A node's number is unique per peer and direction, the run's tag tells runs apart. The message has
   both in its tag, so it does not matter in which order ranks get to their nodes. */
static void nbc__coll_post(nbc_request *r, uint32_t i) {
  const nbc_transport *const t = r->comm->t;
  const nbc_node *const node = &r->schedule->nodes[i];
  nbc_op *const op = &r->run.ops[r->run.op_of[i]].op;
  unsigned char *const buffer = nbc__coll_at(r, node->u.msg.buffer);
  const uint64_t tag = r->run.tag | node->u.msg.tag;
  const nbc_status status =
      node->type == NBC_NODE_SEND
          ? t->isend(t->ctx, buffer, r->run.spoiled ? 0 : node->size_bytes, node->u.msg.peer, tag,
                     op)
          : t->irecv(t->ctx, buffer, node->size_bytes, node->u.msg.peer, tag, op);
  if (status)
    nbc__coll_fail(r, status, i, "cannot be posted");
  else
    r->run.flying_count++;
  /* The first post after a completion: how long the engine took to react. */
  if (r->times.t_done_ns) {
    nbc__prog_note_post(r->comm->desc.progress, t->now_ns(t->ctx) - r->times.t_done_ns);
    r->times.t_done_ns = 0;
  }
}

/* Some transports (simulated ones) take the time of local work themselves, and may skip the
   work. */
static bool nbc__coll_local(const nbc_request *r, const nbc_node *node, bool reduces) {
  const nbc_transport *const t = r->comm->t;
  return !t->local || t->local(t->ctx, node->size_bytes, reduces);
}
/* left and right come from the schedule and never from the order of arrival: results are the same
   bits in each run, and operators that do not commute meet operands in the order of ranks. */
static void nbc__coll_reduce_node(const nbc_request *r, const nbc_node *node) {
  unsigned char *const dst = nbc__coll_at(r, node->u.reduce.dst);
  const unsigned char *const left = nbc__coll_at(r, node->u.reduce.left),
                             *const right = nbc__coll_at(r, node->u.reduce.right);
  const uint64_t count = node->size_bytes / r->schedule->elem_bytes;
  if (r->data.kernel)
    r->data.kernel(dst, left, right, count);
  else
    r->data.user_fn(dst, left, right, count, r->args.type, r->data.user);
}

/* Runs what is ready. A completion that comes meanwhile only adds to the list: no recursion. */
static void nbc__coll_advance(nbc_request *r) {
  if (r->run.advancing) return;
  r->run.advancing = true;
  while (r->run.first_ready_count < r->run.ready_count &&
         nbc__coll_state_of(r) == NBC__COLL_RUNNING) {
    const uint32_t i = r->run.ready[r->run.first_ready_count++];
    const nbc_node *const node = &r->schedule->nodes[i];
    switch (node->type) {
    case NBC_NODE_SEND:
    case NBC_NODE_RECV: nbc__coll_post(r, i); continue;
    case NBC_NODE_COPY:
      if (!r->run.spoiled && nbc__coll_local(r, node, false))
        memcpy(nbc__coll_at(r, node->u.copy.dst), nbc__coll_at(r, node->u.copy.src),
               node->size_bytes);
      break;
    case NBC_NODE_REDUCE:
      if (!r->run.spoiled && nbc__coll_local(r, node, true)) nbc__coll_reduce_node(r, node);
      break;
    case NBC_NODE_NOP: break;
    }
    nbc__coll_finish_node(r, i);
  }
  r->run.advancing = false;
  if (r->run.finished_count == r->schedule->node_count &&
      nbc__coll_state_of(r) == NBC__COLL_RUNNING) {
    const bool is_check = r->compare.after != NULL; /* once done, another thread may free r */
    nbc__coll_enter(r, r->run.spoiled ? NBC__COLL_FAILED : NBC__COLL_DONE);
    if (is_check) nbc__coll_checked(r);
  }
}

/* Called by the transport for each operation that ended, perhaps within a post. */
static void nbc__coll_done(nbc_op *op) {
  const nbc__coll_op *const own = (const nbc__coll_op *)op->user;
  nbc_request *const r = own->request;
  const nbc_node *const node = &r->schedule->nodes[own->node];
  nbc_progress *const p = r->comm->desc.progress;
  r->run.flying_count--;
  if (p) {
    nbc__prog_note_done(p);
    r->times.t_done_ns = r->comm->t->now_ns(r->comm->t->ctx);
  }
  if (op->status && op->status != NBC_E_TRUNCATED) {
    nbc__coll_fail(r, op->status, own->node, "failed");
    return;
  }
  if (op->status)
    nbc__coll_spoil(r, op->status, own->node, "sent more than expected");
  else if (node->type == NBC_NODE_RECV && op->size_bytes != node->size_bytes)
    nbc__coll_spoil(r, NBC_E_MISMATCH, own->node, "sent less than expected");
  nbc__coll_finish_node(r, own->node);
  nbc__coll_advance(r);
}

/* Receives first: a message that finds its receive posted is not copied twice. `left` is copied
   for each run: the schedule is shared with other requests and with later runs. */
static void nbc__coll_launch(nbc_request *r) {
  const nbc_schedule *const s = r->schedule;
  r->run.first_ready_count = r->run.ready_count = r->run.finished_count = 0;
  r->times.t_done_ns = 0;
  for (uint32_t i = 0; i < s->node_count; i++) r->run.left[i] = s->nodes[i].before_count;
  for (int receives = 1; receives >= 0; receives--)
    for (uint32_t i = 0; i < s->node_count; i++)
      if (!s->nodes[i].before_count && (s->nodes[i].type == NBC_NODE_RECV) == (receives == 1))
        r->run.ready[r->run.ready_count++] = i;
  nbc__coll_advance(r);
}

/* A request begins with its work. Its comparison, where it has one, goes first and launches it. */
static void nbc__coll_launch_work(nbc__prog_work *work) {
  nbc_request *const r = (nbc_request *)(void *)work;
  nbc__coll_launch(r->compare.before ? r->compare.before : r);
}

/* ---- making requests ----------------------------------------------------------------------- */
static void nbc__coll_unlink(nbc_request *r) {
  if (r->before)
    r->before->next = r->next;
  else if (r->comm->requests == r)
    r->comm->requests = r->next;
  if (r->next) r->next->before = r->before;
  r->before = r->next = NULL;
}

static void nbc__coll_link(nbc_request *r) {
  r->before = NULL;
  r->next = r->comm->requests;
  if (r->next) r->next->before = r;
  r->comm->requests = r;
}

static void nbc__coll_discard(nbc_request *r) {
  if (!r) return;
  if (r->compare.before) nbc__coll_discard(r->compare.before);
  nbc__coll_unlink(r);
  if (!r->entry) nbc_schedule_free(r->schedule);
  NBC_FREE(r->data.scratch_memory);
  NBC_FREE(r->compare.summaries);
  NBC_FREE(r);
}

/* A request with the memory that its schedule needs, in one block besides the scratch area:
     | nbc_request | ops: one per message | left [n] | ready [n] | op_of [n] |
   What needs the most alignment stands first. Only the first two are zeroed: left and ready are
   filled by each launch, and op_of of a node without a message is never read. */
static nbc_request *nbc__coll_allocate(nbc_comm *comm, nbc_schedule *s) {
  const size_t n = s->node_count;
  size_t messages = 0;
  for (size_t i = 0; i < n; i++)
    messages += s->nodes[i].type == NBC_NODE_SEND || s->nodes[i].type == NBC_NODE_RECV;
  const size_t bytes =
      sizeof(nbc_request) + messages * sizeof(nbc__coll_op) + 3 * n * sizeof(uint32_t);
  nbc_request *const r = (nbc_request *)NBC_MALLOC(bytes);
  if (!r) return NULL;
  memset(r, 0, sizeof *r + messages * sizeof(nbc__coll_op));
  r->comm = comm;
  r->schedule = s;
  r->run.ops = (nbc__coll_op *)(void *)(r + 1);
  r->run.left = (uint32_t *)(void *)(r->run.ops + messages);
  r->run.ready = r->run.left + n;
  r->run.op_of = r->run.ready + n;
  messages = 0;
  for (size_t i = 0; i < n; i++) {
    if (s->nodes[i].type != NBC_NODE_SEND && s->nodes[i].type != NBC_NODE_RECV) continue;
    nbc__coll_op *const own = &r->run.ops[messages];
    r->run.op_of[i] = (uint32_t)messages++;
    own->request = r;
    own->node = (uint32_t)i;
    own->op.user = own;
    own->op.done = nbc__coll_done;
  }
  if (!s->scratch_bytes) return r;
  r->data.scratch_memory =
      s->scratch_bytes < SIZE_MAX - 64 ? NBC_MALLOC((size_t)s->scratch_bytes + 64) : NULL;
  if (!r->data.scratch_memory) return NBC_FREE(r), (nbc_request *)NULL;
  r->data.areas[NBC_AREA_SCRATCH] =
      (unsigned char *)(((uintptr_t)r->data.scratch_memory + 63) & ~(uintptr_t)63);
  /* Slots that no block fills travel too: no other's memory in them. */
  if (s->coll == NBC_COLL_GATHERV || s->coll == NBC_COLL_SCATTERV)
    memset(r->data.areas[NBC_AREA_SCRATCH], 0, (size_t)s->scratch_bytes);
  return r;
}

/* All that a schedule without counts of its own depends on. */
static bool nbc__coll_same(const nbc_schedule_desc *a, const nbc_schedule_desc *b) {
  return a->coll == b->coll && a->algo == b->algo && a->root == b->root && a->count == b->count &&
         a->elem_bytes == b->elem_bytes && a->in_place == b->in_place &&
         a->not_commutative == b->not_commutative && a->segment_bytes == b->segment_bytes &&
         a->radix == b->radix && a->window_count == b->window_count && a->table == b->table &&
         a->nodes == b->nodes && a->rank == b->rank && a->size == b->size;
}

/* Few entries, looked through in order: programs repeat a handful of collectives. The least
   recently used one gives way; an entry that runs cannot, since its requests point into the
   schedule. */
/* The entry for this schedule, or the one to replace; NULL: all are in use. */
/* An entry in use is still a hit: its schedule is only read, each request has a run of its own. */
static nbc__coll_entry *nbc__coll_lookup(nbc_comm *comm, const nbc_schedule_desc *key) {
  nbc__coll_entry *oldest = NULL;
  for (int i = 0; i < NBC__COLL_CACHED; i++) {
    nbc__coll_entry *const e = &comm->entries[i];
    if (e->schedule && nbc__coll_same(&e->key, key)) return e;
    if (e->user_count) continue;
    if (!oldest || e->last_use_count < oldest->last_use_count) oldest = e;
  }
  return oldest;
}

static bool nbc__coll_in_place(const nbc_coll_args *args) {
  const bool scatters = nbc__coll_about(args->coll)->gives == NBC__COLL_ROOT_BLOCKS;
  return (scatters ? args->recv : args->send) == NBC_IN_PLACE;
}

static void nbc__coll_describe(const nbc_comm *comm, const nbc_coll_args *args,
                               nbc_schedule_desc *d) {
  memset(d, 0, sizeof *d);
  d->coll = args->coll, d->algo = args->algo;
  d->rank = comm->t->rank, d->size = comm->t->size, d->root = args->root;
  d->elem_bytes = nbc_type_bytes(args->type);
  d->count = args->count;
  d->send_counts = args->send_counts, d->send_displs = args->send_displs;
  d->recv_counts = args->recv_counts, d->recv_displs = args->recv_displs;
  d->in_place = nbc__coll_in_place(args);
  if ((nbc__coll_about(args->coll)->has & NBC_HAS_OPERATOR) && args->reduce >= NBC_REDUCE_USER)
    d->not_commutative = !comm->operators[args->reduce - NBC_REDUCE_USER].commutative;
  d->segment_bytes = args->segment_bytes, d->radix = args->radix,
  d->window_count = args->window_count;
  d->neighbors = args->neighbors;
  d->nodes = comm->t->nodes;
  d->table = &comm->choice;
}

static nbc_status nbc__coll_check_call(nbc_comm *comm, const nbc_coll_args *args) {
  if ((unsigned)args->coll >= NBC_COLL_COUNT)
    return nbc__status_fail(&comm->err, NBC_E_INVAL, 0, "coll: no collective %d", (int)args->coll);
  const char *const name = nbc_coll_name(args->coll);
  if ((unsigned)args->type >= NBC_TYPE_COUNT)
    return nbc__status_fail(&comm->err, NBC_E_INVAL, 0, "%s: type: no type %d", name,
                            (int)args->type);
  const bool at_root_only = args->coll == NBC_COLL_REDUCE ||
                            (args->coll >= NBC_COLL_GATHER && args->coll <= NBC_COLL_SCATTERV);
  if (at_root_only && nbc__coll_in_place(args) && args->root != comm->t->rank)
    return nbc__status_fail(&comm->err, NBC_E_INVAL, 0,
                            "%s: NBC_IN_PLACE: only the root %d may be in place, not rank %d", name,
                            args->root, comm->t->rank);
  if (!(nbc__coll_about(args->coll)->has & NBC_HAS_OPERATOR)) return NBC_OK;
  const int user = (int)args->reduce - NBC_REDUCE_USER;
  if (user >= 0 ? user >= comm->operator_count : (unsigned)args->reduce >= NBC_REDUCE_COUNT)
    return nbc__status_fail(&comm->err, NBC_E_INVAL, 0, "%s: reduce: no operator %d", name,
                            (int)args->reduce);
  if (user < 0 && !nbc__coll_kernel_of(args->type, args->reduce))
    return nbc__status_fail(&comm->err, NBC_E_INVAL, 0, "%s: reduce: %s does not exist for %s",
                            name, nbc_reduce_name(args->reduce), nbc_type_name(args->type));
  return NBC_OK;
}

/* Called with the schedule, which alone knows how far each buffer reaches in this rank's role. */
static nbc_status nbc__coll_check_buffers(nbc_comm *comm, const nbc_coll_args *args,
                                          const nbc_schedule *s) {
  const char *const name = nbc_coll_name(args->coll);
  const unsigned char *const send = (const unsigned char *)args->send;
  const unsigned char *const recv = (const unsigned char *)args->recv;
  if (s->send_bytes && !send)
    return nbc__status_fail(&comm->err, NBC_E_INVAL, 0, "%s: send: must not be NULL", name);
  if (s->recv_bytes && !recv)
    return nbc__status_fail(&comm->err, NBC_E_INVAL, 0, "%s: recv: must not be NULL", name);
  if (s->recv_bytes && recv == (const unsigned char *)NBC_IN_PLACE)
    return nbc__status_fail(&comm->err, NBC_E_INVAL, 0,
                            "%s: recv: NBC_IN_PLACE stands for the other buffer", name);
  const uintptr_t a = (uintptr_t)send, b = (uintptr_t)recv;
  if (s->send_bytes && s->recv_bytes && a < b + s->recv_bytes && b < a + s->send_bytes)
    return nbc__status_fail(&comm->err, NBC_E_INVAL, 0,
                            "%s: send and recv overlap; same buffer: NBC_IN_PLACE", name);
  return NBC_OK;
}

/* Schedules with arrays of counts or neighbours are built anew each time: the arrays may be changed
   by their owner after the call, so they cannot be a key. */
/* Schedule, from the cache where it can be, and a request for it. */
static nbc_status nbc__coll_prepare(nbc_comm *comm, const nbc_coll_args *args,
                                    nbc_request **request) {
  nbc_schedule_desc d;
  nbc_schedule *s = NULL;
  nbc_status status = NBC_OK;
  nbc__coll_describe(comm, args, &d);
  const bool cacheable =
      !d.send_counts && !d.recv_counts && !d.send_displs && !d.recv_displs && !d.neighbors;
  nbc__coll_entry *const e = cacheable ? nbc__coll_lookup(comm, &d) : NULL;
  const bool hit = e && e->schedule && nbc__coll_same(&e->key, &d);
  if (hit)
    s = e->schedule;
  else
    status = nbc_schedule_build(&d, &s, &comm->err);
  if (!status) status = nbc__coll_check_buffers(comm, args, s);
  /* The cache is changed only when nothing can fail any more: a refused call costs no entry. */
  nbc_request *r = hit ? e->spare : NULL;
  if (!status && !r && !(r = nbc__coll_allocate(comm, s)))
    status = nbc__status_fail(&comm->err, NBC_E_NOMEM, 0, "%s: out of memory",
                              nbc_coll_name(args->coll));
  if (status) {
    if (!hit) nbc_schedule_free(s);
    return status;
  }
  if (hit)
    e->spare = NULL;
  else if (e) {
    nbc__coll_discard(e->spare);
    nbc_schedule_free(e->schedule);
    e->key = d;
    e->schedule = s;
    e->spare = NULL;
  }
  r->entry = e;
  if (e) e->user_count++, e->last_use_count = ++comm->use_count;
  *request = r;
  return NBC_OK;
}

/* Nothing of the caller's arrays is kept: they are read in the call only. */
static nbc_status nbc__coll_make(nbc_comm *comm, const nbc_coll_args *args, nbc_request **request) {
  nbc_status status = nbc__coll_check_call(comm, args);
  nbc_request *r = NULL;
  *request = NULL;
  if (!status) status = nbc__coll_prepare(comm, args, &r);
  if (status) return status;
  r->args = *args;
  r->args.send_counts = r->args.send_displs = r->args.recv_counts = r->args.recv_displs = NULL;
  r->args.neighbors = NULL;
  r->data.areas[NBC_AREA_SEND] = (unsigned char *)(uintptr_t)args->send;
  r->data.areas[NBC_AREA_RECV] = (unsigned char *)args->recv;
  r->data.kernel = NULL;
  if ((nbc__coll_about(args->coll)->has & NBC_HAS_OPERATOR) && args->reduce >= NBC_REDUCE_USER) {
    r->data.user_fn = comm->operators[args->reduce - NBC_REDUCE_USER].fn;
    r->data.user = args->operator_user ? args->operator_user
                                       : comm->operators[args->reduce - NBC_REDUCE_USER].user;
  } else if ((nbc__coll_about(args->coll)->has & NBC_HAS_OPERATOR)) {
    r->data.kernel = nbc__coll_kernel_of(args->type, args->reduce);
  }
  r->persistent = false;
  r->run.tag = 0;
  nbc__coll_enter(r, NBC__COLL_IDLE);
  nbc__coll_link(r);
  *request = r;
  return NBC_OK;
}

/* Finished: goes back to its cache entry, or away. */
static void nbc__coll_release(nbc_request *r) {
  nbc__coll_entry *const e = r->entry;
  if (r->compare.before) nbc__coll_discard(r->compare.before);
  r->compare.before = NULL;
  NBC_FREE(r->compare.summaries);
  r->compare.summaries = NULL;
  nbc__coll_unlink(r);
  if (e) e->user_count--;
  /* One spare per entry: enough for a loop; with several in flight the others go and are made
     again. */
  if (e && !e->spare)
    e->spare = r;
  else
    nbc__coll_discard(r);
}

/* All ranks start the collectives of a communicator in the same order, as MPI demands: so a number
   counted at each rank for itself names the same collective everywhere, and no message is
   needed. */
/* Tag: 1 | communicator | persistent? | which collective on it | which message of it. */
/*   bit 63   62 ... 48      47           46 ... 28        27 ... 0
         1   communicator   persistent   which one of     message, by the schedule (2^28 at most)
   Bit 63 keeps these apart from small tags of others on the same transport, and from 0 = none.
   Counted numbers come again after 2^19: no more collectives than that may be in flight. */
static uint64_t nbc__coll_tag(const nbc_comm *comm, bool persistent, uint32_t index) {
  return (uint64_t)1 << 63 | (uint64_t)comm->desc.id << 48 | (uint64_t)persistent << 47 |
         (uint64_t)(index % NBC__COLL_SEQUENCES) << 28;
}

/* A persistent one keeps the number that it got when it was made, so that ranks may start several
   in any order; messages of its runs match in the order of the runs. */
static nbc_status nbc__coll_number(nbc_request *r) {
  nbc_comm *const comm = r->comm;
  const uint64_t tag = nbc__coll_tag(comm, true, comm->persistent_index);
  if (comm->persistent_index >=
      NBC__COLL_SEQUENCES) /* numbers come again: of those that are gone */
    for (const nbc_request *other = comm->requests; other; other = other->next)
      if (other->run.tag == tag)
        return nbc__status_fail(&comm->err, NBC_E_FULL, 0,
                                "%s: one of the last %d persistent requests is still there",
                                nbc_coll_name(r->args.coll), (int)NBC__COLL_SEQUENCES);
  comm->persistent_index++;
  r->run.tag = tag;
  return NBC_OK;
}

static void nbc__coll_begin(nbc_request *r) {
  /* The comparison of a request begins before the request and takes a number of its own. So `check`
     has to be the same at all ranks, or their numbers would differ from here on. */
  if (!r->run.tag || !r->persistent)
    r->run.tag = nbc__coll_tag(r->comm, false, r->comm->sequence_index++);
  r->error.status = NBC_OK;
  r->run.spoiled = 0;
  nbc__coll_enter(r, NBC__COLL_RUNNING);
}

/* Two lists with one hash would pass as equal. Then a message of another length still fails when it
   comes (nbc__coll_done): the comparison only says it sooner and better. */
static uint64_t nbc__coll_hash(const uint64_t *counts, int size) { /* FNV-1a over whole counts */
  uint64_t hash = 1469598103934665603u;
  for (int i = 0; counts && i < size; i++) hash = (hash ^ counts[i]) * 1099511628211u;
  return hash;
}

/* What rank `peer` is told: the arguments that all ranks must agree on, and, where counts differ
   per pair, what this rank sends it and wants of it. Counts of all ranks that must agree go as a
   hash. */
static void nbc__coll_summarize(const nbc_comm *comm, const nbc_coll_args *args, int peer,
                                nbc__coll_summary *s) {
  const uint64_t one = nbc_type_bytes(args->type);
  const bool v = args->coll == NBC_COLL_ALLGATHERV || args->coll == NBC_COLL_REDUCE_SCATTER;
  const int me = comm->t->rank;
  memset(s, 0, sizeof *s);
  s->coll = (int32_t)args->coll, s->type = (int32_t)args->type, s->algo = (int32_t)args->algo;
  s->radix = args->radix;
  s->segment_bytes = args->segment_bytes;
  s->reduce = (nbc__coll_about(args->coll)->has & NBC_HAS_OPERATOR) ? (int32_t)args->reduce : 0;
  s->root = (nbc__coll_about(args->coll)->has & NBC_HAS_ROOT) ? args->root : 0;
  if (v)
    s->counts_hash = nbc__coll_hash(args->recv_counts, comm->t->size);
  else if (args->coll == NBC_COLL_ALLTOALLV) {
    s->to_you_bytes =
        one * (nbc__coll_in_place(args) ? args->recv_counts : args->send_counts)[peer];
    s->from_you_bytes = one * args->recv_counts[peer];
  } else if (args->coll == NBC_COLL_GATHERV) {
    if (peer == args->root)
      s->to_you_bytes = me == peer && nbc__coll_in_place(args) ? one * args->recv_counts[peer]
                                                               : one * args->count;
    if (me == args->root) s->from_you_bytes = one * args->recv_counts[peer];
  } else if (args->coll == NBC_COLL_SCATTERV) {
    if (me == args->root) s->to_you_bytes = one * args->send_counts[peer];
    if (peer == args->root)
      s->from_you_bytes = me == peer && nbc__coll_in_place(args) ? one * args->send_counts[peer]
                                                                 : one * args->count;
  } else if (args->coll != NBC_COLL_BARRIER &&
             !(nbc__coll_about(args->coll)->has & NBC_HAS_NEIGHBORS)) { /* each pair its own */
    s->count = args->count;
  }
}

static void nbc__coll_summary_text(char text[96], const nbc__coll_summary *s) {
  const bool reduces = (nbc__coll_about((nbc_coll)s->coll)->has & NBC_HAS_OPERATOR) != 0;
  snprintf(text, 96, "%s(count %llu, %s%s%s, root %d%s%s)", nbc_coll_name((nbc_coll)s->coll),
           (unsigned long long)s->count, nbc_type_name((nbc_type)s->type), reduces ? ", " : "",
           reduces ? nbc_reduce_name((nbc_reduce)s->reduce) : "", s->root, s->algo ? ", " : "",
           s->algo ? nbc_algo_name((nbc_algo)s->algo) : "");
}

/* All ranks compare with rank 0, so all come to the same verdict. */
static bool nbc__coll_differ(const nbc_request *r, const nbc__coll_summary *told,
                             const nbc__coll_summary *heard, nbc_error *err) {
  const int size = r->comm->t->size;
  char a[96], b[96];
  for (int i = 0; i < size; i++) {
    const nbc__coll_summary *const x = &heard[0], *const y = &heard[i];
    if (x->coll == y->coll && x->type == y->type && x->reduce == y->reduce && x->root == y->root &&
        x->algo == y->algo && x->radix == y->radix && x->count == y->count &&
        x->segment_bytes == y->segment_bytes && x->counts_hash == y->counts_hash)
      continue;
    nbc__coll_summary_text(a, x);
    nbc__coll_summary_text(b, y);
    (void)nbc__status_fail(err, NBC_E_MISMATCH, 0, "rank 0 calls %s, rank %d calls %s%s", a, i, b,
                           x->counts_hash != y->counts_hash ? " with other counts" : "");
    return true;
  }
  /* What differs per pair only the receiver of the pair can see: here only this rank fails. */
  for (int i = 0; i < size; i++) {
    if (heard[i].to_you_bytes == told[i].from_you_bytes) continue;
    (void)nbc__status_fail(
        err, NBC_E_MISMATCH, 0, "%s: rank %d sends %llu bytes to rank %d, which expects %llu",
        nbc_coll_name(r->args.coll), i, (unsigned long long)heard[i].to_you_bytes, r->comm->t->rank,
        (unsigned long long)told[i].from_you_bytes);
    return true;
  }
  return false;
}

/* The comparison has ended, well or not: the request it is for begins, or fails in its stead. */
static void nbc__coll_checked(nbc_request *check) {
  nbc_request *const r = check->compare.after;
  /* Nobody came in time, or it was freed meanwhile: it must not be launched any more. */
  if (nbc__coll_state_of(r) != NBC__COLL_RUNNING) return;
  if (nbc__coll_state_of(check) == NBC__COLL_FAILED)
    r->error = check->error;
  else if (!nbc__coll_differ(r, r->compare.summaries, r->compare.summaries + r->comm->t->size,
                             &r->error)) {
    nbc__coll_launch(r);
    return;
  }
  nbc__coll_enter(r, NBC__COLL_FAILED);
}

/* A rank that never calls the collective never answers the comparison: it is named after a while,
   where without checking everyone would wait for ever. */
static void nbc__coll_check_late(nbc_request *r) {
  const nbc_request *const check = r->compare.before;
  const nbc_transport *const t = r->comm->t;
  if (!check || nbc__coll_state_of(r) != NBC__COLL_RUNNING ||
      nbc__coll_state_of(check) != NBC__COLL_RUNNING)
    return;
  if (t->now_ns(t->ctx) - r->times.t_start_ns < r->comm->desc.check_limit_ns) return;
  for (uint32_t i = 0; i < check->schedule->node_count; i++) {
    const nbc_node *const node = &check->schedule->nodes[i];
    if (node->type != NBC_NODE_RECV || check->run.ops[check->run.op_of[i]].op.finished) continue;
    (void)nbc__status_fail(
        &r->error, NBC_E_TIMEOUT, 0, "%s: rank %d has not called it after %.3g s",
        nbc_coll_name(r->args.coll), node->u.msg.peer, (double)r->comm->desc.check_limit_ns * 1e-9);
    break;
  }
  nbc__coll_enter(r, NBC__COLL_FAILED);
}

/* The exchange is the same whatever is compared: one summary from each to each, by an algorithm
   that no table chooses. A rank that calls another collective still answers, and is named. */
static nbc_status nbc__coll_make_check(nbc_request *r, const nbc_coll_args *args) {
  nbc_comm *const comm = r->comm;
  const int size = comm->t->size;
  nbc_coll_args exchange;
  memset(&exchange, 0, sizeof exchange);
  r->compare.summaries =
      (nbc__coll_summary *)NBC_MALLOC(2 * (size_t)size * sizeof *r->compare.summaries);
  if (!r->compare.summaries)
    return nbc__status_fail(&comm->err, NBC_E_NOMEM, 0, "check: out of memory");
  /* The first half is what this rank tells each, the second what each tells this rank. */
  for (int i = 0; i < size; i++) nbc__coll_summarize(comm, args, i, &r->compare.summaries[i]);
  exchange.coll = NBC_COLL_ALLTOALL, exchange.algo = NBC_ALGO_LINEAR;
  exchange.send = r->compare.summaries, exchange.recv = r->compare.summaries + size;
  exchange.count = sizeof *r->compare.summaries;
  const nbc_status status = nbc__coll_make(comm, &exchange, &r->compare.before);
  if (!status) r->compare.before->compare.after = r;
  return status;
}

/* ---- starting, testing, waiting ------------------------------------------------------------ */
/* Both are RUNNING before the engine gets them, since it may end them at once: a state set after
   that would undo the end. */
static nbc_status nbc__coll_go(nbc_request *r) {
  r->work.launch = nbc__coll_launch_work;
  if (r->compare.before) nbc__coll_begin(r->compare.before);
  nbc__coll_begin(r);
  r->times.t_start_ns = r->compare.before ? r->comm->t->now_ns(r->comm->t->ctx) : 0;
  if (r->comm->desc.progress)
    nbc__prog_submit(r->comm->desc.progress, &r->work);
  else
    nbc__coll_launch_work(&r->work);
  return NBC_OK;
}

/* A persistent request's comparison is persistent too and has a number of its own: both keep
   theirs. */
static nbc_status nbc__coll_make_checked(nbc_comm *comm, const nbc_coll_args *args, bool persistent,
                                         nbc_request **request) {
  *request = NULL;
  nbc_request *r;
  nbc_status status = nbc__coll_make(comm, args, &r);
  if (status) return status;
  r->persistent = persistent;
  if (persistent) status = nbc__coll_number(r);
  if (!status && comm->desc.check) status = nbc__coll_make_check(r, args);
  if (!status && persistent && r->compare.before) {
    r->compare.before->persistent = true;
    status = nbc__coll_number(r->compare.before);
  }
  if (status)
    nbc__coll_release(r);
  else
    *request = r;
  return status;
}

NBC_API nbc_status nbc_coll_init(nbc_comm *comm, const nbc_coll_args *args, nbc_request **request) {
  if (!comm || !args || !request) return NBC_E_INVAL;
  nbc__transport_enter(comm->t, NBC_KIND_SETUP);
  const nbc_status status = nbc__coll_make_checked(comm, args, true, request);
  nbc__transport_exit(comm->t);
  return status;
}

NBC_API nbc_status nbc_coll_start(nbc_request *request) {
  if (!request) return NBC_E_INVAL;
  if (nbc__coll_state_of(request) != NBC__COLL_IDLE || !request->persistent)
    return nbc__status_fail(&request->comm->err, NBC_E_STATE, 0, "%s: started again before its end",
                            nbc_coll_name(request->args.coll));
  const nbc_transport *const t = request->comm->t;
  nbc__transport_enter(t, NBC_KIND_START);
  const nbc_status status = nbc__coll_go(request);
  nbc__transport_exit(t);
  return status;
}

NBC_API nbc_status nbc_coll_start_new(nbc_comm *comm, const nbc_coll_args *args,
                                      nbc_request **request) {
  if (!comm || !args || !request) return NBC_E_INVAL;
  nbc__transport_enter(comm->t, nbc__coll_about(args->coll)->kind);
  nbc_status status = nbc__coll_make_checked(comm, args, false, request);
  if (!status) status = nbc__coll_go(*request);
  nbc__transport_exit(comm->t);
  return status;
}

/* With lengths, schedules may differ: what a spoiled request waits for is perhaps never sent. It
   is known to fail, so its owner is told after a while. */
static void nbc__coll_spoiled_late(nbc_request *r) {
  const nbc_transport *const t = r->comm->t;
  if (!__atomic_load_n(&r->run.spoiled, __ATOMIC_ACQUIRE) ||
      nbc__coll_state_of(r) != NBC__COLL_RUNNING)
    return;
  if (t->now_ns(t->ctx) - r->times.t_spoiled_ns >= r->comm->desc.check_limit_ns)
    nbc__coll_enter(r, NBC__COLL_FAILED);
}

/* The transport failed: so does this request. */
static void nbc__coll_broken(nbc_request *r, nbc_status status) {
  if (status >= 0 || nbc__coll_state_of(r) != NBC__COLL_RUNNING) return;
  (void)nbc__status_fail(&r->error, status, 0, "%s, rank %d: transport %s: %s",
                         nbc_coll_name(r->args.coll), r->comm->t->rank, r->comm->t->name,
                         nbc_status_text(status));
  nbc__coll_enter(r, NBC__COLL_FAILED);
}

/* One step forward for everything on this transport. */
static void nbc__coll_drive(nbc_request *r) {
  const nbc_transport *const t = r->comm->t;
  nbc_progress *const p = r->comm->desc.progress;
  if (!p) {
    nbc__coll_broken(r, t->progress(t->ctx));
    if (t->others && nbc__coll_state_of(r) == NBC__COLL_RUNNING) t->others(t->ctx);
    nbc__coll_check_late(r);
    nbc__coll_spoiled_late(r);
    return;
  }
  /* With an engine, its thread drives the transport; a waiting caller takes a turn when the engine
     is not at it, and looks for errors only where there can be some. */
  nbc__prog_help(p);
  if (!nbc__prog_any_failed(p) && !r->compare.before &&
      !__atomic_load_n(&r->run.spoiled, __ATOMIC_ACQUIRE))
    return;
  nbc__prog_lock(p);
  nbc__coll_broken(r, nbc__prog_failed(p, t));
  nbc__coll_check_late(r);
  nbc__coll_spoiled_late(r);
  nbc__prog_unlock(p);
}

static void nbc__coll_lock(const nbc_comm *comm) {
  if (!comm->desc.progress) return;
  nbc__prog_lock(comm->desc.progress);
  nbc__prog_take(comm->desc.progress); /* nothing that was started is still on its way */
}

static void nbc__coll_unlock(const nbc_comm *comm) {
  if (comm->desc.progress) nbc__prog_unlock(comm->desc.progress);
}

/* Operations of a request that ended early: ask for its receives back. ret whether all came */
static bool nbc__coll_recall(nbc_request *r) {
  const nbc_transport *const t = r->comm->t;
  const nbc_schedule *const s = r->schedule;
  for (uint32_t i = 0; r->run.flying_count && t->cancel && i < r->run.ready_count; i++) {
    const nbc_node *const node = &s->nodes[r->run.ready[i]];
    if (i < r->run.first_ready_count && node->type == NBC_NODE_RECV &&
        !r->run.ops[r->run.op_of[r->run.ready[i]]].op.finished)
      (void)t->cancel(t->ctx, &r->run.ops[r->run.op_of[r->run.ready[i]]].op);
  }
  for (int tries = 0; tries < 1000 && r->run.flying_count; tries++)
    if (t->progress(t->ctx) < 0) break;
  return r->run.flying_count == 0;
}

/* A request with operations that cannot be recalled stays with the communicator, failed: the
   transport still points to them. */
static void nbc__coll_free_locked(nbc_request *request) {
  if (nbc__coll_state_of(request) == NBC__COLL_RUNNING) {
    (void)nbc__status_fail(&request->error, NBC_E_CANCELLED, 0, "%s: freed before its end",
                           nbc_coll_name(request->args.coll));
    nbc__coll_enter(request, NBC__COLL_FAILED);
  }
  nbc_request *const check = request->compare.before;
  if (check && nbc__coll_state_of(check) == NBC__COLL_RUNNING) {
    check->compare.after = NULL;
    nbc__coll_enter(check, NBC__COLL_FAILED);
  }
  const bool recalled = nbc__coll_recall(request);
  if ((!check || nbc__coll_recall(check)) && recalled) nbc__coll_release(request);
}

NBC_API void nbc_coll_free(nbc_request *request) {
  if (!request) return;
  const nbc_comm *const comm = request->comm;
  nbc__coll_lock(comm);
  nbc__coll_free_locked(request);
  nbc__coll_unlock(comm);
}

/* Its owner learns the end. From here on the request is idle, failed for good, or gone. */
/* DONE means that every node has ended, so nothing points to the request and no lock is needed. A
   failed one may have operations under way: nbc_coll_free recalls them first. */
static nbc_status nbc__coll_end(nbc_request **request) {
  nbc_request *const r = *request;
  const bool failed = nbc__coll_state_of(r) == NBC__COLL_FAILED;
  const nbc_status status = failed ? r->error.status : NBC_OK;
  if (failed) r->comm->err = r->error;
  if (r->persistent && !failed) {
    nbc__coll_enter(r, NBC__COLL_IDLE);
    return NBC_OK;
  }
  if (r->persistent) return status; /* stays failed until it is freed */
  *request = NULL;
  if (failed)
    nbc_coll_free(r);
  else
    nbc__coll_release(r);
  return status;
}

static bool nbc__coll_over(const nbc_request *r) {
  return nbc__coll_state_of(r) != NBC__COLL_RUNNING;
}

NBC_API nbc_status nbc_coll_test(nbc_request **request) {
  if (!request) return NBC_E_INVAL;
  nbc_request *const r = *request;
  if (!r || nbc__coll_state_of(r) == NBC__COLL_IDLE) return NBC_OK;
  nbc__transport_enter(r->comm->t, NBC_KIND_TEST);
  if (!nbc__coll_over(r)) nbc__coll_drive(r);
  const bool over = nbc__coll_over(r);
  nbc__transport_exit(r->comm->t);
  return over ? nbc__coll_end(request) : NBC_PENDING;
}

/* Between two steps of a wait that brought no end. Where the transport can sleep until something
   comes, it does, unless it has to drive others too, or an engine drives it. Else ranks may share a
   core. */
static bool nbc__coll_rest(const nbc_request *r, unsigned poll_count) {
  const nbc_transport *const t = r ? r->comm->t : NULL;
  const bool rests = t && t->rest && !t->others && !r->comm->desc.progress;
  if (rests)
    t->rest(t->ctx);
  else if (poll_count > 64)
    sched_yield();
  return rests;
}

NBC_API nbc_status nbc_coll_wait(nbc_request **request, int64_t limit_ns) {
  if (!request) return NBC_E_INVAL;
  nbc_request *const r = *request;
  if (!r || nbc__coll_state_of(r) == NBC__COLL_IDLE) return NBC_OK;
  const nbc_transport *const t = r->comm->t;
  const int64_t t_start_ns = limit_ns > 0 ? t->now_ns(t->ctx) : 0;
  nbc__transport_enter(t, NBC_KIND_WAIT);
  for (unsigned poll_count = 1; !nbc__coll_over(r); poll_count++) {
    nbc__coll_drive(r);
    if (nbc__coll_over(r)) break;
    /* Reading a clock can cost more than a poll: every 16th will do, but after each rest. */
    const bool rested = nbc__coll_rest(r, poll_count);
    if (limit_ns > 0 && (rested || poll_count % 16 == 0) &&
        t->now_ns(t->ctx) - t_start_ns > limit_ns)
      break;
  }
  const bool over = nbc__coll_over(r);
  nbc__transport_exit(t);
  return over ? nbc__coll_end(request) : NBC_E_TIMEOUT;
}

/* ---- several at once ------------------------------------------------------------------------ */
NBC__PRIVATE bool nbc__coll_is_active(const nbc_request *r) {
  return r && nbc__coll_state_of(r) != NBC__COLL_IDLE;
}

/* One step for an active one. ret whether it is over */
NBC__PRIVATE bool nbc__coll_step_one(nbc_request *r) {
  if (nbc__coll_over(r)) return true;
  nbc__transport_enter(r->comm->t, NBC_KIND_TEST);
  nbc__coll_drive(r);
  nbc__transport_exit(r->comm->t);
  return nbc__coll_over(r);
}

/* One step for each that runs. ret how many of those active at the call run on */
static int nbc__coll_step_all(int count, nbc_request *requests[]) {
  int running_count = 0;
  for (int i = 0; i < count; i++)
    running_count += nbc__coll_is_active(requests[i]) && !nbc__coll_step_one(requests[i]);
  return running_count;
}

/* Ends those that are over; which (NULL allowed): their places, at most `most`. */
static int nbc__coll_end_all(int count, nbc_request *requests[], int which[], int most,
                             nbc_status *first) {
  int done = 0;
  for (int i = 0; i < count && done < most; i++) {
    if (!nbc__coll_is_active(requests[i]) || !nbc__coll_over(requests[i])) continue;
    const nbc_status status = nbc__coll_end(&requests[i]);
    if (status && !*first) *first = status;
    if (which) which[done] = i;
    done++;
  }
  return done;
}

/* Until `enough` of the active ones are over, or limit_ns. ret whether they are */
/* Rests only when one transport carries all: asleep in one, nobody would drive the others. */
static bool nbc__coll_wait_for(int count, nbc_request *requests[], bool for_all, int64_t limit_ns) {
  const nbc_transport *t = NULL;
  const nbc_request *alone = NULL; /* one of them, when all are on one transport */
  int active_count = 0;
  for (int i = 0; i < count; i++) {
    if (!nbc__coll_is_active(requests[i])) continue;
    alone = !t || (alone && t == requests[i]->comm->t) ? requests[i] : NULL;
    t = requests[i]->comm->t, active_count++;
  }
  if (!t) return true;
  const int64_t t_start_ns = limit_ns > 0 ? t->now_ns(t->ctx) : 0;
  for (unsigned poll_count = 1;; poll_count++) {
    const int running_count = nbc__coll_step_all(count, requests);
    if (for_all ? running_count == 0 : running_count < active_count) return true;
    const bool rested = nbc__coll_rest(alone, poll_count);
    if (limit_ns > 0 && (rested || poll_count % 16 == 0) &&
        t->now_ns(t->ctx) - t_start_ns > limit_ns)
      return false;
  }
}

NBC_API nbc_status nbc_coll_waitall(int count, nbc_request *requests[], int64_t limit_ns) {
  nbc_status first = NBC_OK;
  if (count < 0 || (count && !requests)) return NBC_E_INVAL;
  const bool over = nbc__coll_wait_for(count, requests, true, limit_ns);
  (void)nbc__coll_end_all(count, requests, NULL, count, &first);
  return over ? first : NBC_E_TIMEOUT;
}

NBC_API nbc_status nbc_coll_testall(int count, nbc_request *requests[]) {
  nbc_status first = NBC_OK;
  if (count < 0 || (count && !requests)) return NBC_E_INVAL;
  if (nbc__coll_step_all(count, requests) > 0) return NBC_PENDING;
  (void)nbc__coll_end_all(count, requests, NULL, count, &first);
  return first;
}

NBC_API nbc_status nbc_coll_waitany(int count, nbc_request *requests[], int *index,
                                    int64_t limit_ns) {
  nbc_status first = NBC_OK;
  if (count < 0 || (count && !requests) || !index) return NBC_E_INVAL;
  *index = -1;
  if (!nbc__coll_wait_for(count, requests, false, limit_ns)) return NBC_E_TIMEOUT;
  (void)nbc__coll_end_all(count, requests, index, 1, &first);
  return first;
}

NBC_API nbc_status nbc_coll_waitsome(int count, nbc_request *requests[], int *done, int which[],
                                     int64_t limit_ns) {
  nbc_status first = NBC_OK;
  if (count < 0 || (count && (!requests || !which)) || !done) return NBC_E_INVAL;
  *done = 0;
  if (!nbc__coll_wait_for(count, requests, false, limit_ns)) return NBC_E_TIMEOUT;
  *done = nbc__coll_end_all(count, requests, which, count, &first);
  return first;
}

NBC_API const nbc_schedule *nbc_coll_schedule(const nbc_request *request) {
  if (!request) return NULL;
  return request->schedule;
}

NBC_API nbc_status nbc_coll_run(nbc_comm *comm, const nbc_coll_args *args) {
  if (!comm || !args) return NBC_E_INVAL;
  nbc_request *request;
  const nbc_status status = nbc_coll_start_new(comm, args, &request);
  return status ? status : nbc_coll_wait(&request, 0);
}

/* ---- communicators ------------------------------------------------------------------------- */
/* "bcast=chain:65536:2,allreduce=ring": rules in front of the table. */
/* The first rule that fits is taken, so those of the environment win by standing in front; "0 0"
   makes them hold for all numbers of ranks and bytes. Where there is no room for all, the last
   rules of the table go. */
static nbc_status nbc__coll_parse_algos(const char *text, nbc_choice *table, nbc_error *err) {
  nbc_choice front;
  front.rule_count = 0;
  while (*text) {
    char item[96], line[128];
    const size_t n = strcspn(text, ",");
    const char *const equals = (const char *)memchr(text, '=', n);
    if (n >= sizeof item || !equals)
      return nbc__status_fail(err, NBC_E_PARSE, 0,
                              "NBC_ALGO: collective=algorithm wanted at \"%.40s\"", text);
    memcpy(item, text, n);
    item[n] = 0;
    item[equals - text] = 0;
    char *const algo = item + (equals - text) + 1;
    const size_t name_bytes = strcspn(algo, ":");
    const char *const segment = algo[name_bytes] ? algo + name_bytes + 1 : "0";
    const size_t segment_bytes = strcspn(segment, ":");
    snprintf(line, sizeof line, "%s 0 0 %.*s %.*s %s", item, (int)name_bytes, algo,
             (int)segment_bytes, segment,
             segment[segment_bytes] ? segment + segment_bytes + 1 : "0");
    nbc_choice_rule rule;
    const char *const wrong = nbc__sched_parse_rule(line, &rule);
    if (wrong)
      return nbc__status_fail(err, NBC_E_PARSE, 0, "NBC_ALGO: %s=%s: %s", item, algo, wrong);
    if (front.rule_count < NBC_CHOICE_MAX_RULES) front.rules[front.rule_count++] = rule;
    text += n + (text[n] == ',');
  }
  for (size_t i = 0; i < table->rule_count && front.rule_count < NBC_CHOICE_MAX_RULES; i++)
    front.rules[front.rule_count++] = table->rules[i];
  *table = front;
  return NBC_OK;
}

NBC_API nbc_status nbc_comm_create(const nbc_comm_desc *desc, nbc_comm **comm, nbc_error *err) {
  if (!comm) return NBC_E_INVAL;
  *comm = NULL;
  if (!desc || !desc->transport)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "transport: must not be NULL");
  if (desc->id >= 1u << 15)
    return nbc__status_fail(err, NBC_E_RANGE, 0, "id: %u is not in 0..32767", (unsigned)desc->id);
  nbc_comm *const c = (nbc_comm *)NBC_MALLOC(sizeof *c);
  if (!c) return nbc__status_fail(err, NBC_E_NOMEM, 0, "communicator: out of memory");
  memset(c, 0, sizeof *c);
  c->desc = *desc;
  c->t = desc->transport;
  if (c->desc.check_limit_ns <= 0) c->desc.check_limit_ns = 10000000000;
  /* A copy of its own: schedules in the cache are found by the address of their table. */
  if (desc->choice)
    c->choice = *desc->choice;
  else
    nbc_choice_default(&c->choice);
  c->desc.choice = &c->choice;
  const char *const file = getenv("NBC_CHOICE"), *const algos = getenv("NBC_ALGO");
  nbc_status status = file && *file ? nbc_choice_read(file, &c->choice, err) : NBC_OK;
  if (!status && algos && *algos) status = nbc__coll_parse_algos(algos, &c->choice, err);
  if (!status && desc->progress) status = nbc__prog_attach(desc->progress, desc->transport, err);
  if (status)
    NBC_FREE(c);
  else
    *comm = c;
  return status;
}

/* The engine goes before the transport, since its worker polls the transport. An operation that
   cannot be recalled makes the communicator lost: its memory and its schedules are never given
   back. A leak can be seen; a transport that writes into memory of others cannot. */
NBC_API void nbc_comm_destroy(nbc_comm *comm) {
  if (!comm) return;
  nbc_progress *const progress = comm->desc.progress;
  bool lost = false;
  nbc__coll_lock(comm);
  for (nbc_request *r = comm->requests, *next; r; r = next) {
    next = r->next;
    if (r->compare.after) continue; /* goes with the request it is for */
    nbc__coll_free_locked(r);
  }
  for (nbc_request *r = comm->requests; r; r = r->next)
    lost |= !r->compare.after || r->run.flying_count;
  for (int i = 0; i < NBC__COLL_CACHED; i++) {
    nbc__coll_discard(comm->entries[i].spare);
    if (!lost) nbc_schedule_free(comm->entries[i].schedule);
  }
  if (progress) {
    nbc__prog_detach(progress, comm->t);
    nbc__prog_unlock(progress);
  }
  nbc_transport *const own_transport = comm->own_transport;
  (void)nbc_progress_destroy(comm->own_progress);
  if (!lost)
    NBC_FREE(comm); /* else the transport may still write to its operations: lost on purpose */
  if (own_transport) nbc_transport_destroy(own_transport);
}

NBC_API const nbc_error *nbc_comm_error(const nbc_comm *comm) { return &comm->err; }

/* An operator's number is all that ranks compare of it, so all must make theirs in one order. */
NBC_API nbc_status nbc_comm_operator(nbc_comm *comm, nbc_reduce_fn fn, void *user, bool commutative,
                                     nbc_reduce *reduce) {
  if (!comm) return NBC_E_INVAL;
  if (!fn || !reduce)
    return nbc__status_fail(&comm->err, NBC_E_INVAL, 0, "operator: %s must not be NULL",
                            fn ? "reduce" : "fn");
  if (comm->operator_count == NBC__COLL_OPERATORS)
    return nbc__status_fail(&comm->err, NBC_E_FULL, 0, "operator: more than %d on one communicator",
                            (int)NBC__COLL_OPERATORS);
  comm->operators[comm->operator_count].fn = fn;
  comm->operators[comm->operator_count].user = user;
  comm->operators[comm->operator_count].commutative = commutative;
  *reduce = (nbc_reduce)(NBC_REDUCE_USER + comm->operator_count++);
  return NBC_OK;
}
#ifdef NBC_LINES
#line 1 "src/coll/collectives.c"
#endif
/* collectives.c: one line per collective. */



/* ---- one line per collective --------------------------------------------------------------- */
static nbc_coll_args nbc__coll_args_of(nbc_coll coll, const void *send, void *recv, uint64_t count,
                                       nbc_type type) {
  nbc_coll_args args;
  memset(&args, 0, sizeof args);
  args.coll = coll, args.send = send, args.recv = recv, args.count = count, args.type = type;
  return args;
}

static nbc_status nbc__coll_reducing(nbc_comm *comm, nbc_coll_args args, nbc_reduce reduce,
                                     int root, nbc_request **request) {
  args.reduce = reduce;
  args.root = root;
  return nbc_coll_start_new(comm, &args, request);
}

NBC_API nbc_status nbc_ibarrier(nbc_comm *comm, nbc_request **request) {
  const nbc_coll_args args = nbc__coll_args_of(NBC_COLL_BARRIER, NULL, NULL, 0, NBC_TYPE_BYTE);
  return nbc_coll_start_new(comm, &args, request);
}

NBC_API nbc_status nbc_ibcast(nbc_comm *comm, void *buffer, uint64_t count, nbc_type type, int root,
                              nbc_request **request) {
  return nbc__coll_reducing(comm, nbc__coll_args_of(NBC_COLL_BCAST, NULL, buffer, count, type),
                            NBC_REDUCE_MAX, root, request);
}

NBC_API nbc_status nbc_ireduce(nbc_comm *comm, const void *send, void *recv, uint64_t count,
                               nbc_type type, nbc_reduce reduce, int root, nbc_request **request) {
  return nbc__coll_reducing(comm, nbc__coll_args_of(NBC_COLL_REDUCE, send, recv, count, type),
                            reduce, root, request);
}

NBC_API nbc_status nbc_iallreduce(nbc_comm *comm, const void *send, void *recv, uint64_t count,
                                  nbc_type type, nbc_reduce reduce, nbc_request **request) {
  return nbc__coll_reducing(comm, nbc__coll_args_of(NBC_COLL_ALLREDUCE, send, recv, count, type),
                            reduce, 0, request);
}

NBC_API nbc_status nbc_ireduce_scatter_block(nbc_comm *comm, const void *send, void *recv,
                                             uint64_t count, nbc_type type, nbc_reduce reduce,
                                             nbc_request **request) {
  return nbc__coll_reducing(
      comm, nbc__coll_args_of(NBC_COLL_REDUCE_SCATTER_BLOCK, send, recv, count, type), reduce, 0,
      request);
}

NBC_API nbc_status nbc_ireduce_scatter(nbc_comm *comm, const void *send, void *recv,
                                       const uint64_t *recv_counts, nbc_type type,
                                       nbc_reduce reduce, nbc_request **request) {
  nbc_coll_args args = nbc__coll_args_of(NBC_COLL_REDUCE_SCATTER, send, recv, 0, type);
  args.recv_counts = recv_counts;
  return nbc__coll_reducing(comm, args, reduce, 0, request);
}

NBC_API nbc_status nbc_igather(nbc_comm *comm, const void *send, void *recv, uint64_t count,
                               nbc_type type, int root, nbc_request **request) {
  return nbc__coll_reducing(comm, nbc__coll_args_of(NBC_COLL_GATHER, send, recv, count, type),
                            NBC_REDUCE_MAX, root, request);
}

NBC_API nbc_status nbc_igatherv(nbc_comm *comm, const void *send, uint64_t count, void *recv,
                                const uint64_t *recv_counts, const uint64_t *recv_displs,
                                nbc_type type, int root, nbc_request **request) {
  nbc_coll_args args = nbc__coll_args_of(NBC_COLL_GATHERV, send, recv, count, type);
  args.recv_counts = recv_counts, args.recv_displs = recv_displs;
  return nbc__coll_reducing(comm, args, NBC_REDUCE_MAX, root, request);
}

NBC_API nbc_status nbc_iscatter(nbc_comm *comm, const void *send, void *recv, uint64_t count,
                                nbc_type type, int root, nbc_request **request) {
  return nbc__coll_reducing(comm, nbc__coll_args_of(NBC_COLL_SCATTER, send, recv, count, type),
                            NBC_REDUCE_MAX, root, request);
}

NBC_API nbc_status nbc_iscatterv(nbc_comm *comm, const void *send, const uint64_t *send_counts,
                                 const uint64_t *send_displs, void *recv, uint64_t count,
                                 nbc_type type, int root, nbc_request **request) {
  nbc_coll_args args = nbc__coll_args_of(NBC_COLL_SCATTERV, send, recv, count, type);
  args.send_counts = send_counts, args.send_displs = send_displs;
  return nbc__coll_reducing(comm, args, NBC_REDUCE_MAX, root, request);
}

NBC_API nbc_status nbc_iallgather(nbc_comm *comm, const void *send, void *recv, uint64_t count,
                                  nbc_type type, nbc_request **request) {
  const nbc_coll_args args = nbc__coll_args_of(NBC_COLL_ALLGATHER, send, recv, count, type);
  return nbc_coll_start_new(comm, &args, request);
}

NBC_API nbc_status nbc_iallgatherv(nbc_comm *comm, const void *send, void *recv,
                                   const uint64_t *recv_counts, const uint64_t *recv_displs,
                                   nbc_type type, nbc_request **request) {
  nbc_coll_args args = nbc__coll_args_of(NBC_COLL_ALLGATHERV, send, recv, 0, type);
  args.recv_counts = recv_counts, args.recv_displs = recv_displs;
  return nbc_coll_start_new(comm, &args, request);
}

NBC_API nbc_status nbc_ialltoall(nbc_comm *comm, const void *send, void *recv, uint64_t count,
                                 nbc_type type, nbc_request **request) {
  const nbc_coll_args args = nbc__coll_args_of(NBC_COLL_ALLTOALL, send, recv, count, type);
  return nbc_coll_start_new(comm, &args, request);
}

NBC_API nbc_status nbc_ialltoallv(nbc_comm *comm, const void *send, const uint64_t *send_counts,
                                  const uint64_t *send_displs, void *recv,
                                  const uint64_t *recv_counts, const uint64_t *recv_displs,
                                  nbc_type type, nbc_request **request) {
  nbc_coll_args args = nbc__coll_args_of(NBC_COLL_ALLTOALLV, send, recv, 0, type);
  args.send_counts = send_counts, args.send_displs = send_displs;
  args.recv_counts = recv_counts, args.recv_displs = recv_displs;
  return nbc_coll_start_new(comm, &args, request);
}

NBC_API nbc_status nbc_iscan(nbc_comm *comm, const void *send, void *recv, uint64_t count,
                             nbc_type type, nbc_reduce reduce, nbc_request **request) {
  return nbc__coll_reducing(comm, nbc__coll_args_of(NBC_COLL_SCAN, send, recv, count, type), reduce,
                            0, request);
}

NBC_API nbc_status nbc_iexscan(nbc_comm *comm, const void *send, void *recv, uint64_t count,
                               nbc_type type, nbc_reduce reduce, nbc_request **request) {
  return nbc__coll_reducing(comm, nbc__coll_args_of(NBC_COLL_EXSCAN, send, recv, count, type),
                            reduce, 0, request);
}

NBC_API nbc_status nbc_ineighbor_allgather(nbc_comm *comm, const nbc_neighbors *neighbors,
                                           const void *send, void *recv, uint64_t count,
                                           nbc_type type, nbc_request **request) {
  nbc_coll_args args = nbc__coll_args_of(NBC_COLL_NEIGHBOR_ALLGATHER, send, recv, count, type);
  args.neighbors = neighbors;
  return nbc_coll_start_new(comm, &args, request);
}

NBC_API nbc_status nbc_ineighbor_allgatherv(nbc_comm *comm, const nbc_neighbors *neighbors,
                                            const void *send, uint64_t count, void *recv,
                                            const uint64_t *recv_counts,
                                            const uint64_t *recv_displs, nbc_type type,
                                            nbc_request **request) {
  nbc_coll_args args = nbc__coll_args_of(NBC_COLL_NEIGHBOR_ALLGATHER, send, recv, count, type);
  args.neighbors = neighbors;
  args.recv_counts = recv_counts, args.recv_displs = recv_displs;
  return nbc_coll_start_new(comm, &args, request);
}

NBC_API nbc_status nbc_ineighbor_alltoall(nbc_comm *comm, const nbc_neighbors *neighbors,
                                          const void *send, void *recv, uint64_t count,
                                          nbc_type type, nbc_request **request) {
  nbc_coll_args args = nbc__coll_args_of(NBC_COLL_NEIGHBOR_ALLTOALL, send, recv, count, type);
  args.neighbors = neighbors;
  return nbc_coll_start_new(comm, &args, request);
}

NBC_API nbc_status nbc_ineighbor_alltoallv(nbc_comm *comm, const nbc_neighbors *neighbors,
                                           const void *send, const uint64_t *send_counts,
                                           const uint64_t *send_displs, void *recv,
                                           const uint64_t *recv_counts, const uint64_t *recv_displs,
                                           nbc_type type, nbc_request **request) {
  nbc_coll_args args = nbc__coll_args_of(NBC_COLL_NEIGHBOR_ALLTOALL, send, recv, 0, type);
  if (!send_counts || !recv_counts)
    return NBC_E_INVAL; /* in args: `count` for all, which is 0 here */
  args.neighbors = neighbors;
  args.send_counts = send_counts, args.send_displs = send_displs;
  args.recv_counts = recv_counts, args.recv_displs = recv_displs;
  return nbc_coll_start_new(comm, &args, request);
}
#ifdef NBC_LINES
#line 1 "src/coll/mpi_comm.c"
#endif
/* mpi_comm.c: collectives in an MPI program in three lines, and waits for both sorts of
   requests. */


#ifdef NBC_WITH_MPI
/* ---- the communicator ---------------------------------------------------------------------- */
/* All cores that the system lets this process use, whatever it is bound to. */
static cpu_set_t nbc__mix_job_cores(const cpu_set_t *bound) {
  cpu_set_t all;
  memset(&all, 0xff, sizeof all);
  if (sched_setaffinity(0, sizeof all, &all)) return *bound;
  if (sched_getaffinity(0, sizeof all, &all)) all = *bound;
  (void)sched_setaffinity(0, sizeof *bound, bound);
  return all;
}

/* The worker's core of each rank on this node. ret -1: none is left for this one */
static int nbc__mix_core(MPI_Comm mpi_comm) {
  MPI_Comm node;
  cpu_set_t bound, used;
  int rank = 0, turn = 0, core = -1;
  CPU_ZERO(&bound);
  if (sched_getaffinity(0, sizeof bound, &bound)) CPU_ZERO(&bound);
  if (MPI_Comm_split_type(mpi_comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node)) return -1;
  MPI_Comm_rank(node, &rank);
  if (MPI_Allreduce(&bound, &used, (int)sizeof used, MPI_BYTE, MPI_BOR, node)) return -1;
  MPI_Comm_free(&node);
  const cpu_set_t job = nbc__mix_job_cores(&bound);
  for (int i = CPU_SETSIZE - 1; i >= 0 && core < 0; i--)
    if (CPU_ISSET((size_t)i, &job) && !CPU_ISSET((size_t)i, &used) && turn++ == rank) core = i;
  return core;
}

static nbc_status nbc__mix_engine(MPI_Comm mpi_comm, nbc_policy policy, nbc_progress **progress,
                                  nbc_error *err) {
  nbc_progress_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.policy = policy;
  if (policy == NBC_POLICY_DEDICATED) desc.core = nbc__mix_core(mpi_comm);
  if (desc.core < 0)
    return nbc__status_fail(err, NBC_E_STATE, 0,
                            "no core is left on this node that no rank may run on: bind the ranks "
                            "(mpirun --bind-to core), start fewer, or take the policy timer");
  return nbc_progress_create(&desc, progress, err);
}

NBC_API nbc_status nbc_mpi_comm_create(MPI_Comm mpi_comm, nbc_policy policy, nbc_comm **comm,
                                       nbc_error *err) {
  nbc_mpi_desc mpi = {MPI_THREAD_SINGLE, 0, false};
  nbc_comm_desc desc;
  nbc_progress *progress = NULL;
  nbc_transport *t;
  if (!comm) return nbc__status_fail(err, NBC_E_INVAL, 0, "comm: must not be NULL");
  *comm = NULL;
  if ((unsigned)policy >= NBC_POLICY_COUNT)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "policy: no policy %d", (int)policy);
  if (policy) mpi.thread_level = MPI_THREAD_MULTIPLE;
  nbc_status status = nbc_mpi_create(mpi_comm, &mpi, &t, err);
  if (status) return status;
  if (policy) status = nbc__mix_engine(mpi_comm, policy, &progress, err);
  memset(&desc, 0, sizeof desc);
  desc.transport = t;
  desc.progress = progress;
  if (!status) status = nbc_comm_create(&desc, comm, err);
  /* One rank's failure is everyone's: the others would wait for it. */
  int mine = status, least = 0;
  if (progress) nbc_mpi_lock(t);
  MPI_Allreduce(&mine, &least, 1, MPI_INT, MPI_MIN, mpi_comm);
  if (progress) nbc_mpi_unlock(t);
  if (!status && least)
    status = nbc__status_fail(err, (nbc_status)least, 0, "another rank failed: %s",
                              nbc_status_text((nbc_status)least));
  if (*comm) (*comm)->own_transport = t, (*comm)->own_progress = progress;
  if (!status) return NBC_OK;
  if (*comm) {
    nbc_comm_destroy(*comm);
  } else {
    (void)nbc_progress_destroy(progress);
    nbc_transport_destroy(t);
  }
  *comm = NULL;
  return status;
}

NBC_API nbc_status nbc_mpi_comm(MPI_Comm mpi_comm, nbc_policy policy, nbc_comm **comm) {
  return nbc_mpi_comm_create(mpi_comm, policy, comm, NULL);
}

/* ---- both sorts of requests ---------------------------------------------------------------- */
typedef struct nbc__mix {
  int our_count, their_count;
  nbc_request **ours;
  MPI_Request *theirs;
  MPI_Status *statuses;
  bool ours_over, theirs_over;
  nbc_status status; /* the first besides NBC_OK */
} nbc__mix;

static bool nbc__mix_bad(int our_count, nbc_request *const ours[], int their_count,
                         const MPI_Request theirs[]) {
  return our_count < 0 || their_count < 0 || (our_count && !ours) || (their_count && !theirs);
}

/* Under MPI_THREAD_SERIALIZED, no engine's thread may be inside MPI meanwhile. */
static int nbc__mix_test_all_theirs(nbc__mix *x, int *flag) {
  const bool locked = nbc__mpi_lock_all();
  const int code = MPI_Testall(x->their_count, x->theirs, flag, x->statuses);
  if (locked) nbc__mpi_unlock_all();
  return code;
}

/* One step for both sorts. ret whether all are over */
static bool nbc__mix_step(nbc__mix *x) {
  if (!x->ours_over) {
    const nbc_status status = nbc_coll_testall(x->our_count, x->ours);
    x->ours_over = status != NBC_PENDING;
    if (x->ours_over && status && !x->status) x->status = status;
  }
  if (!x->theirs_over) {
    int flag = 0;
    const int code = nbc__mix_test_all_theirs(x, &flag);
    x->theirs_over = code || flag;
    if (code && !x->status) x->status = NBC_E_TRANSPORT;
  }
  return x->ours_over && x->theirs_over;
}

static int64_t nbc__mix_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
/* Between two steps. ret whether limit_ns are over since *t_start_ns, which begins at 0 */
static bool nbc__mix_late(unsigned poll_count, int64_t limit_ns, int64_t *t_start_ns) {
  if (poll_count > 64) sched_yield(); /* ranks may share a core */
  if (limit_ns <= 0) return false;
  if (!*t_start_ns) *t_start_ns = nbc__mix_now();
  return poll_count % 16 == 0 && nbc__mix_now() - *t_start_ns > limit_ns;
}

static nbc_status nbc__mix_all(int our_count, nbc_request *ours[], int their_count,
                               MPI_Request theirs[], MPI_Status statuses[], bool waits,
                               int64_t limit_ns) {
  nbc__mix x = {our_count, their_count, ours, theirs, statuses, false, their_count == 0, NBC_OK};
  int64_t t_start_ns = 0;
  if (nbc__mix_bad(our_count, ours, their_count, theirs)) return NBC_E_INVAL;
  for (unsigned poll_count = 1; !nbc__mix_step(&x); poll_count++) {
    if (!waits) return NBC_PENDING;
    if (!nbc__mix_late(poll_count, limit_ns, &t_start_ns)) continue;
    if (!x.ours_over) (void)nbc_coll_waitall(our_count, ours, 1); /* ends those that are over */
    return NBC_E_TIMEOUT;
  }
  return x.status;
}

NBC_API nbc_status nbc_mpi_waitall(int our_count, nbc_request *ours[], int their_count,
                                   MPI_Request theirs[], MPI_Status statuses[], int64_t limit_ns) {
  return nbc__mix_all(our_count, ours, their_count, theirs, statuses, true, limit_ns);
}

NBC_API nbc_status nbc_mpi_testall(int our_count, nbc_request *ours[], int their_count,
                                   MPI_Request theirs[], MPI_Status statuses[]) {
  return nbc__mix_all(our_count, ours, their_count, theirs, statuses, false, 0);
}

/* Is one of ours over, or none active? nbc_coll_waitsome and waitany end it without waiting
   then. */
static bool nbc__mix_any_of_ours(int our_count, nbc_request *ours[], bool *active) {
  bool over = false;
  *active = false;
  for (int i = 0; i < our_count; i++) {
    if (!nbc__coll_is_active(ours[i])) continue;
    *active = true;
    over = nbc__coll_step_one(ours[i]) || over;
  }
  return over;
}

NBC_API nbc_status nbc_mpi_waitany(int our_count, nbc_request *ours[], int their_count,
                                   MPI_Request theirs[], int *index, MPI_Status *status,
                                   int64_t limit_ns) {
  int64_t t_start_ns = 0;
  if (nbc__mix_bad(our_count, ours, their_count, theirs) || !index) return NBC_E_INVAL;
  *index = -1;
  for (unsigned poll_count = 1;; poll_count++) {
    bool active;
    int flag = 0, at = MPI_UNDEFINED;
    if (nbc__mix_any_of_ours(our_count, ours, &active))
      return nbc_coll_waitany(our_count, ours, index, 0);
    const bool locked = nbc__mpi_lock_all();
    const int code = MPI_Testany(their_count, theirs, &at, &flag, status);
    if (locked) nbc__mpi_unlock_all();
    if (at != MPI_UNDEFINED && (flag || code)) *index = our_count + at;
    if (code) return NBC_E_TRANSPORT;
    if (*index >= 0 || (flag && !active)) return NBC_OK;
    if (nbc__mix_late(poll_count, limit_ns, &t_start_ns)) return NBC_E_TIMEOUT;
  }
}

NBC_API nbc_status nbc_mpi_waitsome(int our_count, nbc_request *ours[], int their_count,
                                    MPI_Request theirs[], int *done, int which[],
                                    MPI_Status statuses[], int64_t limit_ns) {
  int64_t t_start_ns = 0;
  if (nbc__mix_bad(our_count, ours, their_count, theirs) || !done ||
      (our_count + their_count && !which))
    return NBC_E_INVAL;
  *done = 0;
  for (unsigned poll_count = 1;; poll_count++) {
    nbc_status status = NBC_OK;
    bool active;
    int more = 0;
    if (nbc__mix_any_of_ours(our_count, ours, &active))
      status = nbc_coll_waitsome(our_count, ours, done, which, 0);
    const bool locked = nbc__mpi_lock_all();
    const int code = MPI_Testsome(their_count, theirs, &more, which + *done, statuses);
    if (locked) nbc__mpi_unlock_all();
    const bool none = more == MPI_UNDEFINED;
    for (int i = 0; !none && i < more; i++) which[*done + i] += our_count;
    if (!none) *done += more;
    if (code) return NBC_E_TRANSPORT;
    if (status || *done || (none && !active)) return status;
    if (nbc__mix_late(poll_count, limit_ns, &t_start_ns)) return NBC_E_TIMEOUT;
  }
}
#endif
#ifdef NBC_LINES
#line 1 "src/coll/tune.c"
#endif
/* tune.c: which algorithm is fastest here. */




/* ---- tuning -------------------------------------------------------------------------------- */
typedef struct nbc__tune {
  nbc_comm *comm;
  nbc_tune_desc desc;
  unsigned char *send, *recv;
  int64_t t_begin_ns;
} nbc__tune;

static int64_t nbc__tune_now(const nbc__tune *u) { return u->comm->t->now_ns(u->comm->t->ctx); }

static int nbc__tune_order(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The slowest rank's median and elapsed time, the same on all ranks. That they are the same is what
   tuning rests on: every decision taken from them (which algorithm is the best, whether time is
   over) falls alike on all ranks. A decision by a rank's own clock would let one rank start a
   collective that another never starts. */
static nbc_status nbc__tune_measure(const nbc__tune *u, const nbc_coll_args *args, double *d_ns,
                                    double *elapsed_ns) {
  double times_ns[99], agreed[2];
  nbc_request *request;
  nbc_status status = nbc_coll_init(u->comm, args, &request);
  for (int i = -1; i < u->desc.reps && !status; i++) { /* the first is warm-up */
    const int64_t t_ns = nbc__tune_now(u);
    status = nbc_coll_start(request);
    if (!status) status = nbc_coll_wait(&request, 0);
    if (i >= 0) times_ns[i] = (double)(nbc__tune_now(u) - t_ns);
  }
  if (status) return status;
  nbc_coll_free(request);
  qsort(times_ns, (size_t)u->desc.reps, sizeof *times_ns, nbc__tune_order);
  agreed[0] = times_ns[u->desc.reps / 2];
  agreed[1] = (double)(nbc__tune_now(u) - u->t_begin_ns);
  nbc_coll_args agree;
  memset(&agree, 0, sizeof agree);
  /* A fixed algorithm: the one that is being measured may be slow, and the table that would choose
     is not there yet. */
  agree.coll = NBC_COLL_ALLREDUCE, agree.algo = NBC_ALGO_RECURSIVE_DOUBLING;
  agree.send = NBC_IN_PLACE, agree.recv = agreed, agree.count = 2;
  agree.type = NBC_TYPE_DOUBLE, agree.reduce = NBC_REDUCE_MAX;
  status = nbc_coll_run(u->comm, &agree);
  *d_ns = agreed[0], *elapsed_ns = agreed[1];
  return status;
}

/* All algorithms at one size; variants that differ in segment or radix are algorithms too. */
static nbc_status nbc__tune_size(const nbc__tune *u, nbc_coll_args *args, nbc_choice_rule *best,
                                 bool *late) {
  static const struct {
    nbc_algo algo;
    uint64_t segment_bytes;
    int radix;
  } variants[] = {{NBC_ALGO_CHAIN, 16 * 1024, 0},
                  {NBC_ALGO_CHAIN, 256 * 1024, 0},
                  {NBC_ALGO_BINARY, 16 * 1024, 0},
                  {NBC_ALGO_KNOMIAL, 0, 8}};
  /* From 1: 0 is NBC_ALGO_AUTO, no algorithm of its own. */
  const int algos = NBC_ALGO_COUNT, variant_count = (int)(sizeof variants / sizeof *variants);
  double best_ns = 0, d_ns, elapsed_ns;
  best->algo = NBC_ALGO_AUTO;
  for (int i = 1; i < algos + variant_count; i++) {
    const int v = i - algos;
    args->algo = v < 0 ? (nbc_algo)i : variants[v].algo;
    args->segment_bytes = v < 0 ? 0 : variants[v].segment_bytes;
    args->radix = v < 0 ? 0 : variants[v].radix;
    if (!nbc_schedule_supports(args->coll, args->algo, u->comm->t->size, false)) continue;
    if (args->algo == NBC_ALGO_TWO_LEVEL &&
        !nbc__sched_has_levels(u->comm->t->nodes, u->comm->t->size))
      continue;
    const nbc_status status = nbc__tune_measure(u, args, &d_ns, &elapsed_ns);
    if (status) return status;
    if (best->algo == NBC_ALGO_AUTO || d_ns < best_ns) {
      /* Strictly less: of algorithms that are as fast, the first in the list stays, on every
         rank. */
      best_ns = d_ns;
      best->algo = args->algo, best->segment_bytes = args->segment_bytes, best->radix = args->radix;
    }
    /* The best so far is not kept: what was not tried might be better, and the built-in rules know
       this size too. */
    if (elapsed_ns > (double)u->desc.limit_ns) return *late = true, NBC_OK;
  }
  return NBC_OK;
}

static bool nbc__tune_blocks(nbc_coll coll) { /* the whole is a block for each rank */
  const nbc__coll_row *const about = nbc__coll_about(coll);
  return about->gives >= NBC__COLL_OWN_BLOCK || about->gets >= NBC__COLL_OWN_BLOCK;
}

/* v-variants: lengths between 0.5 and 1.5 of the mean, on both sides of each pair the same: 7 has
   no factor in common with 5, so i * 7 % 5 walks through all five lengths, and i + rank is the same
   seen from either end. */
static nbc_coll_args nbc__tune_args(const nbc__tune *u, nbc_coll coll, uint64_t bytes,
                                    uint64_t counts[1024]) {
  const uint64_t size = (uint64_t)u->comm->t->size, rank = (uint64_t)u->comm->t->rank;
  nbc_coll_args args;
  memset(&args, 0, sizeof args);
  args.coll = coll, args.send = u->send, args.recv = u->recv;
  args.count = bytes / 4, args.type = NBC_TYPE_INT32, args.reduce = NBC_REDUCE_SUM;
  for (uint64_t i = 0; i < size; i++) {
    const uint64_t k = coll == NBC_COLL_ALLTOALLV ? i + rank : i;
    counts[i] = bytes / 4 * (2 + k * 7 % 5) / 4;
  }
  if (coll == NBC_COLL_ALLTOALLV) args.send_counts = counts;
  if (coll == NBC_COLL_REDUCE_SCATTER || coll == NBC_COLL_ALLGATHERV || coll == NBC_COLL_ALLTOALLV)
    args.recv_counts = counts;
  return args;
}

/* One collective: sizes four times apart; a rule reaches to twice its size, the last one to
 * infinity. */
static nbc_status nbc__tune_coll(const nbc__tune *u, nbc_coll coll, nbc_choice *table, bool *late) {
  const uint64_t size = (uint64_t)u->comm->t->size,
                 most = u->desc.max_bytes / (nbc__tune_blocks(coll) ? size : 1);
  const size_t first = table->rule_count;
  uint64_t counts[1024];
  nbc_status status = NBC_OK;
  for (uint64_t bytes = coll == NBC_COLL_BARRIER ? most : 64; bytes <= most && !status && !*late;
       bytes *= 4) {
    nbc_coll_args args = nbc__tune_args(u, coll, bytes, counts);
    nbc_choice_rule best;
    memset(&best, 0, sizeof best);
    best.coll = coll, best.max_size = (int)size, best.max_bytes = bytes * 2;
    status = nbc__tune_size(u, &args, &best, late);
    if (status || *late || best.algo == NBC_ALGO_AUTO) break;
    nbc_choice_rule *const last =
        table->rule_count > first ? &table->rules[table->rule_count - 1] : NULL;
    /* Neighbouring sizes with the same answer share a rule: a table has room for
       NBC_CHOICE_MAX_RULES. */
    if (last && last->algo == best.algo && last->segment_bytes == best.segment_bytes &&
        last->radix == best.radix)
      last->max_bytes = best.max_bytes;
    else if (table->rule_count < NBC_CHOICE_MAX_RULES)
      table->rules[table->rule_count++] = best;
  }
  /* Only a sweep that came to its end may speak for longer messages than it measured. */
  if (!status && !*late && table->rule_count > first)
    table->rules[table->rule_count - 1].max_bytes = 0;
  return status;
}

/* One rule for all sizes: the algorithm that is least often far behind the best one. An alltoallv
   has no size that all ranks know: a rule by size would let ranks choose differently. Ratios are
   added, not times, so that long messages do not outvote short ones. */
static nbc_status nbc__tune_unsized(const nbc__tune *u, nbc_coll coll, nbc_choice *table,
                                    bool *late) {
  const uint64_t most = u->desc.max_bytes / (uint64_t)u->comm->t->size;
  double behind[NBC_ALGO_COUNT] = {0}, d_ns[NBC_ALGO_COUNT] = {0}, elapsed_ns;
  uint64_t counts[1024];
  nbc_choice_rule best;
  memset(&best, 0, sizeof best);
  best.coll = coll, best.max_size = u->comm->t->size;
  for (uint64_t bytes = 64; bytes <= most; bytes *= 4) {
    nbc_coll_args args = nbc__tune_args(u, coll, bytes, counts);
    double best_ns = 0;
    for (int i = 1; i < NBC_ALGO_COUNT; i++) {
      args.algo = (nbc_algo)i;
      if (!nbc_schedule_supports(coll, args.algo, u->comm->t->size, false)) continue;
      const nbc_status status = nbc__tune_measure(u, &args, &d_ns[i], &elapsed_ns);
      if (status) return status;
      if (elapsed_ns > (double)u->desc.limit_ns) return *late = true, NBC_OK;
      if (d_ns[i] < 1) d_ns[i] = 1;
      if (best_ns == 0 || d_ns[i] < best_ns) best_ns = d_ns[i];
    }
    for (int i = 1; i < NBC_ALGO_COUNT; i++)
      if (d_ns[i] > 0) behind[i] += d_ns[i] / best_ns;
  }
  for (int i = 1; i < NBC_ALGO_COUNT; i++)
    if (behind[i] > 0 && (best.algo == NBC_ALGO_AUTO || behind[i] < behind[best.algo]))
      best.algo = (nbc_algo)i;
  if (best.algo && table->rule_count < NBC_CHOICE_MAX_RULES)
    table->rules[table->rule_count++] = best;
  return NBC_OK;
}

NBC_API nbc_status nbc_tune(nbc_comm *comm, const nbc_tune_desc *desc, nbc_choice *table,
                            nbc_error *err) {
  if (!comm || !table)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "comm and table: must not be NULL");
  nbc__tune u;
  nbc_choice built_in;
  bool late = false;
  memset(&u, 0, sizeof u);
  table->rule_count = 0;
  u.comm = comm;
  if (desc) u.desc = *desc;
  if (!u.desc.max_bytes) u.desc.max_bytes = 1 << 20;
  if (!u.desc.reps) u.desc.reps = 5;
  if (u.desc.limit_ns <= 0) u.desc.limit_ns = 20000000000;
  if (u.desc.reps < 1 || u.desc.reps > 99 || u.desc.max_bytes > SIZE_MAX / 4)
    return nbc__status_fail(err, NBC_E_RANGE, 0,
                            "tune: reps must be in 1..99, max_bytes less than the memory");
  if (comm->t->size > 1024)
    return nbc__status_fail(err, NBC_E_RANGE, 0, "tune: more than 1024 ranks");
  u.t_begin_ns = nbc__tune_now(&u);
  /* lengths that differ may add up to more than their mean, by half a block */
  u.send = (unsigned char *)NBC_MALLOC(2 * (size_t)u.desc.max_bytes + 64 * (size_t)comm->t->size);
  u.recv = (unsigned char *)NBC_MALLOC(2 * (size_t)u.desc.max_bytes + 64 * (size_t)comm->t->size);
  nbc_status status =
      u.send && u.recv ? NBC_OK : nbc__status_fail(err, NBC_E_NOMEM, 0, "tune: out of memory");
  if (!status) memset(u.send, 1, 2 * (size_t)u.desc.max_bytes);
  for (int coll = 0; coll < NBC_COLL_COUNT && !status && !late; coll++) {
    if (coll == NBC_COLL_GATHERV || coll == NBC_COLL_SCATTERV)
      continue; /* by lengths that nobody knows */
    if (nbc__coll_about((nbc_coll)coll)->has & NBC_HAS_NEIGHBORS) continue;
    status = coll == NBC_COLL_ALLTOALLV ? nbc__tune_unsized(&u, (nbc_coll)coll, table, &late)
                                        : nbc__tune_coll(&u, (nbc_coll)coll, table, &late);
    if (status && err) *err = comm->err;
  }
  NBC_FREE(u.send);
  NBC_FREE(u.recv);
  nbc_choice_default(
      &built_in); /* for other sizes, and operators that the measured ones do not serve */
  for (size_t i = 0; i < built_in.rule_count && table->rule_count < NBC_CHOICE_MAX_RULES; i++)
    table->rules[table->rule_count++] = built_in.rules[i];
  return status;
}
#endif
#ifndef NBC_NO_TIME
#ifdef NBC_LINES
#line 87 "src/time/sync.h"
#endif
/* ---- a common time: round trips ------------------------------------------------------------ */
enum { NBC__SYNC_FITS_MAX = 128, NBC__SYNC_OPEN = 16 };
enum { NBC__SYNC_ASK = 0, NBC__SYNC_LAST, NBC__SYNC_SKIP };

typedef struct nbc__sync_ping {
  uint64_t sequence, what, burst;
  int64_t retry_ns; /* it will be repeated after this */
} nbc__sync_ping;

typedef struct nbc__sync_pong {
  uint64_t sequence, depth_count;
  int64_t not_after_ns;  /* global time was at most this when the ping had arrived */
  int64_t not_before_ns; /* and at least this when the pong left */
} nbc__sync_pong;

/* The fastest trip of a burst: what the published methods work with. */
typedef struct nbc__sync_fit {
  int64_t t_local_ns, rtt_ns;
  double offset_ns;            /* global - local, relative to the first fit's */
  double between_ns, width_ns; /* the middle of what all trips of the burst leave, and how much */
} nbc__sync_fit;

/* What ranks of one clock pass on. */
typedef struct nbc__sync_state {
  nbc_relation relation;
  nbc_sync_info info;
  double line_ns, line_rate, guess_ns, guess_rate;
  int64_t t_line_ns, fit_offset_ns;
  int fit_count;
  bool guessed;
} nbc__sync_state;

/* An operation whose memory may have to outlive the wait for it. */
typedef struct nbc__sync_mail {
  nbc_op op;
  struct nbc__sync_mail *next;
  union {
    nbc__sync_ping ping;
    nbc__sync_pong pong;
    nbc__sync_state state;
  } u;
} nbc__sync_mail;

struct nbc_sync {
  const nbc_transport *t;
  nbc_sync_desc desc; /* values in force */
  bool identity;      /* shares rank 0's clock */
  bool leader;        /* lowest rank of its clock */
  int *group;         /* ranks of this clock, ascending */
  int group_count, group_index, parent_rank;
  nbc_relation relation;
  nbc_relation *history; /* older states, oldest first; allocated by the first update */
  int history_count;
  nbc__sync_fit fits[NBC__SYNC_FITS_MAX];
  int fit_count;
  int64_t fit_offset_ns;     /* what the fits' offsets are relative to */
  double line_ns, line_rate; /* the method's line: offset at t_line_ns, slope */
  int64_t t_line_ns;
  double guess_ns, guess_rate; /* estimate: host minus nominal at the newest reading, its rate */
  bool guessed;                /* else it is the middle of the interval */
  double burst_low_ns, burst_high_ns; /* what the trips of this burst leave for the offset at ... */
  int64_t t_burst_ns;                 /* ... its begin, assuming this drift */
  double burst_rate;
  int64_t sent_ns[NBC__SYNC_OPEN]; /* by sequence: when the ping left */
  uint64_t sequence, burst;
  nbc__sync_mail *orphans; /* posted and not to be cancelled: kept until the end */
  nbc_sync_info info;
};

NBC__PRIVATE int64_t nbc__sync_local_now(const nbc_sync *s);
NBC__PRIVATE nbc_status nbc__sync_post(nbc_sync *s, nbc__sync_mail **mail, int peer, uint64_t tag,
                                       uint64_t bytes);
NBC__PRIVATE void nbc__sync_drop(nbc_sync *s, nbc__sync_mail *m);
NBC__PRIVATE nbc_status nbc__sync_named(nbc_error *err, nbc_status status, int rank,
                                        const nbc_sync *s);
#ifdef NBC_LINES
#line 1 "src/time/sync.c"
#endif
/* sync.c: many clocks: a common time for all ranks of a transport. */


/* ============================================================================================== */
/* [SYNC] 19. Many clocks                                                                         */
/* ============================================================================================== */
NBC_API const char *nbc_sync_method_name(nbc_sync_method method) {
  switch (method) {
  case NBC_SYNC_MIDDLE: return "middle";
  case NBC_SYNC_SKAMPI: return "skampi";
  case NBC_SYNC_JK: return "jk";
  case NBC_SYNC_HCA3: return "hca3";
  case NBC_SYNC_METHOD_COUNT: break;
  }
  return "?";
}

NBC__PRIVATE int64_t nbc__sync_local_now(const nbc_sync *s) { return s->t->now_ns(s->t->ctx); }

/* Bounds of the global time at a local reading t <= clock < t + 1 ns. */
static bool nbc__sync_bounds(const nbc_sync *s, int64_t t_local_ns, int64_t *low_ns,
                             int64_t *high_ns) {
  nbc_time time;
  if (s->identity) {
    *low_ns = t_local_ns;
    *high_ns = t_local_ns + 1;
    return true;
  }
  if (nbc_relation_time(&s->relation, (uint64_t)t_local_ns, &time) != NBC_OK) return false;
  *low_ns = time.t_ns - time.err_ns;
  *high_ns = time.t_ns + time.err_ns;
  return true;
}

/* ---- mail: operations that survive a time-out ---------------------------------------------- */
/* A mail has memory of its own, since an operation that timed out may still be written to later:
   what cannot be cancelled waits among the orphans until the synchronisation is destroyed. */
NBC__PRIVATE nbc_status nbc__sync_post(nbc_sync *s, nbc__sync_mail **mail, int peer, uint64_t tag,
                                       uint64_t bytes) {
  nbc__sync_mail *m = (nbc__sync_mail *)NBC_MALLOC(sizeof *m);
  *mail = m;
  if (!m) return NBC_E_NOMEM;
  memset(m, 0, sizeof *m);
  const nbc_status status = nbc_irecv(s->t, &m->u, bytes, peer, s->desc.tag + tag, &m->op);
  if (status != NBC_OK) {
    NBC_FREE(m);
    *mail = NULL;
  }
  return status;
}

NBC__PRIVATE void nbc__sync_drop(nbc_sync *s, nbc__sync_mail *m) {
  if (!m) return;
  if (!m->op.finished && s->t->cancel) s->t->cancel(s->t->ctx, &m->op);
  for (int i = 0; i < 8 && !m->op.finished; i++) s->t->progress(s->t->ctx);
  if (m->op.finished) {
    NBC_FREE(m);
    return;
  }
  m->next = s->orphans;
  s->orphans = m;
}

/* ---- child's side -------------------------------------------------------------------------- */
/* Memory is bounded: when it is full every second burst goes, so that those left still reach back
   to the first one. A slope needs the long distance more than it needs many points. */
static void nbc__sync_keep_fit(nbc_sync *s, const nbc__sync_fit *fit) {
  if (s->fit_count == NBC__SYNC_FITS_MAX) {
    for (int i = 0; i < NBC__SYNC_FITS_MAX / 2; i++) /* of two neighbours the one less disturbed */
      s->fits[i] = s->fits[2 * i + (s->fits[2 * i + 1].width_ns < s->fits[2 * i].width_ns)];
    s->fit_count = NBC__SYNC_FITS_MAX / 2;
  }
  s->fits[s->fit_count++] = *fit;
}

/* No trip of this burst counts, or none since the clock stepped. */
static void nbc__sync_begin_burst(nbc_sync *s, nbc__sync_fit *fastest) {
  memset(fastest, 0, sizeof *fastest);
  fastest->rtt_ns = INT64_MAX;
  s->burst_low_ns = -INFINITY;
  s->burst_high_ns = INFINITY;
  s->burst_rate = s->guessed ? s->guess_rate : 0;
  s->t_burst_ns = nbc__sync_local_now(s);
}

/* One answered trip: two bounds for the relation, an offset for the published methods. */
static void nbc__sync_use(nbc_sync *s, const nbc__sync_pong *pong, int64_t t_sent_ns,
                          int64_t t_back_ns, nbc__sync_fit *best) {
  const int64_t rtt_ns = t_back_ns - t_sent_ns;
  if (rtt_ns < 0) {
    s->info.backward_count++;
    return;
  }
  s->info.trip_count++;
  if (s->info.rtt_min_ns == 0 || rtt_ns < s->info.rtt_min_ns)
    s->info.rtt_min_ns = rtt_ns > 0 ? rtt_ns : 1;
  /* The ping left before the parent read its clock, and the answer came after: so the time at the
     sending is at most the first reading, and the time at the return at least the second one.
     Nothing is assumed of the way there and back being alike. */
  const nbc_status there =
      nbc_relation_add_not_after(&s->relation, (uint64_t)t_sent_ns, pong->not_after_ns);
  const nbc_status back =
      nbc_relation_add_not_before(&s->relation, pong->not_before_ns, (uint64_t)t_back_ns);
  /* Bounds that contradict each other mean that a clock was set: what was known before it is about
     another clock. */
  if (there == NBC_E_CLOCK || back == NBC_E_CLOCK) nbc__sync_begin_burst(s, best), s->fit_count = 0;
  const int64_t reference_ns = pong->not_after_ns + (pong->not_before_ns - pong->not_after_ns) / 2;
  const int64_t t_middle_ns = t_sent_ns + rtt_ns / 2;
  /* Offsets are kept as differences to the first one: small numbers, which doubles hold to the
     ns. */
  if (s->fit_count == 0 && best->rtt_ns == INT64_MAX) s->fit_offset_ns = reference_ns - t_middle_ns;
  /* What a burst leaves open is kept for itself, at the rate assumed so far: between bursts drift
     is more than what one burst leaves. */
  const double sent_ns =
      s->burst_rate * (double)(t_sent_ns - s->t_burst_ns); /* drift since its begin */
  const double back_ns = s->burst_rate * (double)(t_back_ns - s->t_burst_ns);
  s->burst_high_ns =
      fmin(s->burst_high_ns, (double)(pong->not_after_ns - t_sent_ns - s->fit_offset_ns) - sent_ns);
  s->burst_low_ns =
      fmax(s->burst_low_ns, (double)(pong->not_before_ns - t_back_ns - s->fit_offset_ns) - back_ns);
  if (rtt_ns < best->rtt_ns) {
    best->rtt_ns = rtt_ns;
    best->t_local_ns = t_middle_ns;
    best->offset_ns = (double)(reference_ns - t_middle_ns - s->fit_offset_ns);
  }
}

/* One trip: sends until an answer comes; answers to earlier pings count too. (sent_ns keeps the
   last NBC__SYNC_OPEN departures: an answer that comes after its question was repeated is still a
   trip, a long one; only answers to questions older than these are thrown away.)
   The last trip of a burst is not measured by, unless it is the only one: its answer leaves a parent
   that goes away, all others leave one that waits for the next question. Where both share a core,
   the one that goes away frees it sooner: the fastest ways back would all be those, with no way
   there to match, and the middle would lie beside the truth by microseconds. */
static nbc_status nbc__sync_trip(nbc_sync *s, uint64_t what, nbc__sync_fit *best) {
  nbc__sync_mail *answer;
  nbc__sync_ping ping;
  int64_t retry_ns = s->desc.retry_ns;
  int tries = 0;
  const int64_t t_first_ns = nbc__sync_local_now(s);
  nbc_status status = nbc__sync_post(s, &answer, s->parent_rank, 1, sizeof(nbc__sync_pong));
  while (status == NBC_OK) {
    ping.sequence = ++s->sequence;
    ping.what = what;
    ping.burst = s->burst;
    ping.retry_ns = retry_ns;
    s->sent_ns[ping.sequence % NBC__SYNC_OPEN] = nbc__sync_local_now(s);
    status = nbc_send(s->t, &ping, sizeof ping, s->parent_rank, s->desc.tag);
    if (status != NBC_OK) break;
    status = nbc_wait(s->t, &answer->op, retry_ns > 0 ? retry_ns : s->desc.limit_ns);
    if (status == NBC_E_TIMEOUT && retry_ns > 0 &&
        nbc__sync_local_now(s) - t_first_ns < s->desc.limit_ns) {
      s->info.lost_count++;
      if (what == NBC__SYNC_LAST &&
          ++tries > 4) { /* only the farewell is lost: the parent will see */
        status = NBC_OK;
        break;
      }
      retry_ns *= 2; /* the parent may be busy with others: do not flood it */
      status = NBC_OK;
      continue;
    }
    if (status != NBC_OK) break;
    const int64_t t_back_ns = nbc__sync_local_now(s);
    const nbc__sync_pong *pong = &answer->u.pong;
    if (answer->op.size_bytes == sizeof *pong && pong->sequence <= s->sequence &&
        s->sequence - pong->sequence < NBC__SYNC_OPEN) {
      s->info.depth_count = (int)pong->depth_count + 1;
      if (what != NBC__SYNC_LAST || s->desc.trip_count == 1)
        nbc__sync_use(s, pong, s->sent_ns[pong->sequence % NBC__SYNC_OPEN], t_back_ns, best);
      break;
    }
    NBC_FREE(answer); /* an answer of long ago: wait for the next */
    status = nbc__sync_post(s, &answer, s->parent_rank, 1, sizeof(nbc__sync_pong));
  }
  nbc__sync_drop(s, answer);
  return status;
}

/* The method's line through the fits [SKaMPI: no slope; Jones and Koenig: regression; HCA3: its
   slope through the last burst's offset]. */
static void nbc__sync_line(nbc_sync *s) {
  double x_mean = 0, y_mean = 0, xx = 0, xy = 0;
  const int n = s->fit_count;
  if (n == 0) return;
  s->t_line_ns = s->fits[n - 1].t_local_ns;
  for (int i = 0; i < n; i++) {
    x_mean += (double)(s->fits[i].t_local_ns - s->t_line_ns) / n;
    y_mean += s->fits[i].offset_ns / n;
  }
  for (int i = 0; i < n; i++) {
    const double x = (double)(s->fits[i].t_local_ns - s->t_line_ns) - x_mean;
    xx += x * x;
    xy += x * (s->fits[i].offset_ns - y_mean);
  }
  const double slope = xx > 0 ? xy / xx : 0;
  s->line_rate = s->desc.method == NBC_SYNC_SKAMPI ? 0 : slope;
  s->line_ns = s->desc.method == NBC_SYNC_JK ? y_mean - slope * x_mean : s->fits[n - 1].between_ns;
}

/* How much a burst counts: what its offset may be wrong by is half of what its trips leave open
   beyond what the best of all bursts does, and a little for what that one does not show. */
static double nbc__sync_weight(const nbc__sync_fit *fit, double least_ns) {
  const double more_ns = 0.5 * (fit->width_ns - least_ns), floor_ns = least_ns / 32 + 1;
  return 1 / (more_ns * more_ns + floor_ns * floor_ns);
}

/* The slope through the offsets of some bursts by these weights: a weighted regression, b = sum w x
   y / sum w x^2 about the weighted means. *doubt: twice its standard error, squared, from what the
   slope leaves, and at least what the weights say: 4 max(1, rest / (m - 2)) / sum w x^2. Its m is
   the number of bursts that would weigh as much if all weighed alike, (sum w)^2 / sum w^2 (Kish's
   effective sample size). 0 without doubt for less than two. */
static double nbc__sync_slope(const nbc_sync *s, int first, int count, double *doubt) {
  const nbc__sync_fit *fits = s->fits + first;
  const int n = count;
  double least_ns = INFINITY, sum = 0, squares = 0, x_mean = 0, y_mean = 0, xx = 0, xy = 0,
         rest = 0;
  *doubt = 0;
  for (int i = 0; i < n; i++) least_ns = fmin(least_ns, fits[i].width_ns);
  for (int i = 0; i < n; i++) {
    const double weight = nbc__sync_weight(&fits[i], least_ns);
    sum += weight;
    squares += weight * weight;
    x_mean += weight * (double)(fits[i].t_local_ns - s->t_line_ns);
    y_mean += weight * fits[i].between_ns;
  }
  if (n < 2) return 0;
  x_mean /= sum, y_mean /= sum;
  for (int i = 0; i < n; i++) {
    const double weight = nbc__sync_weight(&fits[i], least_ns);
    const double x = (double)(fits[i].t_local_ns - s->t_line_ns) - x_mean;
    xx += weight * x * x;
    xy += weight * x * (fits[i].between_ns - y_mean);
  }
  if (!(xx > 0)) return 0;
  for (int i = 0; i < n; i++) {
    const double x = (double)(fits[i].t_local_ns - s->t_line_ns) - x_mean;
    const double y_ns = fits[i].between_ns - y_mean - xy / xx * x;
    rest += nbc__sync_weight(&fits[i], least_ns) * y_ns * y_ns;
  }
  const double bursts = sum * sum / squares; /* 1 ... n */
  *doubt = 4 * fmax(1, rest / fmax(bursts - 2, 0.1)) / xx;
  return xy / xx;
}

/* The probable rate, within what the polygon leaves, and the middle of the offsets that it leaves
   at that rate. While "no drift" is left, the slope is taken less its doubt (as James and Stein
   shrink a mean): what chance could have made is no drift. The polygon's own middle would make
   drift of the width of what is not known, and carry it on until the next burst. */
static void nbc__sync_guess(nbc_sync *s) {
  const nbc_relation *r = &s->relation;
  const double low = (r->rate_ppm - r->rate_err_ppm) * 1e-6,
               high = (r->rate_ppm + r->rate_err_ppm) * 1e-6;
  double low_ns = -INFINITY, high_ns = INFINITY, x_ns, doubt;
  s->guessed = s->fit_count > 0 && r->corner_count > 0;
  if (!s->guessed) return;
  double slope = nbc__sync_slope(s, 0, s->fit_count, &doubt);
  /* slope - doubt / slope: 1 - doubt / slope^2 is the factor, 0 where the slope is no more than its
     doubt. */
  if (low <= 0 && high >= 0) slope = doubt < slope * slope ? slope - doubt / slope : 0;
  s->guess_rate = fmax(low, fmin(high, slope));
  /* At the rate chosen, each corner of the polygon allows an interval of offsets; what all of them
     allow is left. */
  for (int i = 0; i < r->upper_count; i++)
    high_ns = fmin(high_ns, nbc__sync_bound_ns(r, &r->upper[i], 1, &x_ns) - s->guess_rate * x_ns);
  for (int i = 0; i < r->lower_count; i++)
    low_ns = fmax(low_ns, nbc__sync_bound_ns(r, &r->lower[i], -1, &x_ns) - s->guess_rate * x_ns);
  s->guess_ns = 0.5 * (low_ns + high_ns);
}

/* The rates of the first and of the second half of what was watched, how far apart they are and may
   be, by the time between them. */
static void nbc__sync_watch_wander(nbc_sync *s) {
  const int half = s->fit_count / 2;
  double doubt_a, doubt_b;
  s->info.wander_seen_ppm_per_s = INFINITY;
  if (half < 4) return;
  const double a = nbc__sync_slope(s, 0, half, &doubt_a),
               b = nbc__sync_slope(s, half, s->fit_count - half, &doubt_b);
  const double apart_s =
      0.5e-9 * (double)(s->fits[s->fit_count - 1].t_local_ns - s->fits[0].t_local_ns);
  if (apart_s > 0)
    s->info.wander_seen_ppm_per_s = 1e6 * (fabs(b - a) + sqrt(doubt_a + doubt_b)) / apart_s;
}

/* A burst has ended: what its trips leave, at the time of the fastest. Where the rate that was
   assumed meanwhile was wrong by more than they leave, the fastest alone. */
static void nbc__sync_end_burst(nbc_sync *s, nbc__sync_fit *fastest) {
  const double moved_ns = s->burst_rate * (double)(fastest->t_local_ns - s->t_burst_ns);
  fastest->width_ns = s->burst_high_ns - s->burst_low_ns;
  fastest->between_ns = 0.5 * (s->burst_low_ns + s->burst_high_ns) + moved_ns;
  if (!(fastest->width_ns >= 0)) {
    fastest->width_ns = (double)fastest->rtt_ns;
    fastest->between_ns = fastest->offset_ns;
  }
  nbc__sync_keep_fit(s, fastest);
  nbc__sync_watch_wander(s);
}

static nbc_status nbc__sync_ask(nbc_sync *s) {
  nbc_status status = NBC_OK;
  nbc__sync_fit fastest;
  nbc__sync_begin_burst(s, &fastest);
  for (int i = 0; i < s->desc.trip_count && status == NBC_OK; i++)
    status =
        nbc__sync_trip(s, i + 1 < s->desc.trip_count ? NBC__SYNC_ASK : NBC__SYNC_LAST, &fastest);
  if (fastest.rtt_ns < INT64_MAX) nbc__sync_end_burst(s, &fastest);
  nbc__sync_line(s);
  nbc__sync_guess(s);
  nbc_time time;
  if (fastest.rtt_ns < INT64_MAX &&
      nbc_relation_time(&s->relation, (uint64_t)fastest.t_local_ns, &time) == NBC_OK) {
    const double off_ns =
        (double)(time.t_ns - fastest.t_local_ns - s->fit_offset_ns) - fastest.offset_ns;
    s->info.residual_ns = (int64_t)fabs(off_ns);
  }
  return status;
}

/* ---- parent's side ------------------------------------------------------------------------- */
/* Answers one child until it says that this was the last. *heard: it asked at least once. The clock
   is read twice: as soon as the question is here (the child sent it no later than that) and just
   before the answer leaves (the child cannot have received it earlier). The parent's own error goes
   into both bounds, so the true global time stays inside the bounds all the way down the tree. */
static nbc_status nbc__sync_serve(nbc_sync *s, int child, bool *heard) {
  nbc__sync_mail *ask;
  nbc__sync_pong pong;
  nbc_status status = nbc__sync_post(s, &ask, child, 0, sizeof(nbc__sync_ping));
  int64_t patience_ns = s->desc.limit_ns;
  *heard = false;
  while (status == NBC_OK) {
    int64_t low_ns, high_ns, ignored_ns;
    status = nbc_wait(s->t, &ask->op, patience_ns);
    if (status != NBC_OK) break;
    const int64_t t_read_ns = nbc__sync_local_now(s);
    const nbc__sync_ping ping = ask->u.ping;
    if (ping.burst == s->burst) {
      *heard = true; /* from now on, silence means that its farewell got lost */
      if (ping.retry_ns > 0 && ping.retry_ns < s->desc.limit_ns / 64)
        patience_ns = 64 * ping.retry_ns;
    }
    NBC_FREE(ask);
    ask = NULL;
    /* Bursts are numbered alike at both ends: each end counts the same collective calls. */
    if (ping.burst > s->burst) return NBC_OK; /* its farewell got lost; it will repeat this one */
    if (ping.what == NBC__SYNC_SKIP && ping.burst == s->burst) return NBC_OK;
    /* a ping of an earlier burst deserves its answer, but ends nothing */
    const bool last = ping.what == NBC__SYNC_LAST && ping.burst == s->burst;
    if (!last) status = nbc__sync_post(s, &ask, child, 0, sizeof(nbc__sync_ping));
    if (status != NBC_OK) break;
    if (!nbc__sync_bounds(s, t_read_ns, &ignored_ns, &high_ns)) high_ns = NBC__SYNC_MAX_NS;
    pong.sequence = ping.sequence;
    pong.depth_count = (uint64_t)s->info.depth_count;
    pong.not_after_ns = high_ns;
    if (!nbc__sync_bounds(s, nbc__sync_local_now(s), &low_ns, &ignored_ns))
      low_ns = -NBC__SYNC_MAX_NS;
    pong.not_before_ns = low_ns;
    status = nbc_send(s->t, &pong, sizeof pong, child, s->desc.tag + 1);
    if (last) return status;
  }
  nbc__sync_drop(s, ask);
  return status == NBC_E_TIMEOUT && *heard ? NBC_OK : status;
}

/* ---- the tree ------------------------------------------------------------------------------ */
NBC__PRIVATE nbc_status nbc__sync_named(nbc_error *err, nbc_status status, int rank,
                                        const nbc_sync *s) {
  if (status == NBC_E_TIMEOUT)
    return nbc__status_fail(err, status, 0, "rank %d: rank %d did not answer within %.3g s",
                            s->t->rank, rank, (double)s->desc.limit_ns * 1e-9);
  return nbc__status_fail(err, status, 0, "rank %d: with rank %d: %s", s->t->rank, rank,
                          nbc_status_text(status));
}

/* Clears the lowest digit of rank that is not 0, in base arity: the parent. A k-nomial tree: a
   parent has a lower rank than its children, and serves the farthest one first. */
static int nbc__sync_tree_parent(int rank, int arity) {
  int weight = 1;
  while (rank / weight % arity == 0) weight *= arity;
  return rank - rank / weight % arity * weight;
}

/* Ranks of one clock pass the relation on among themselves, in a binomial tree over their
   indices. */
static nbc_status nbc__sync_copy_from(nbc_sync *s, nbc_error *err) {
  /* An index without its lowest 1: the parent in a binomial tree. */
  const int parent = s->group[s->group_index & (s->group_index - 1)];
  nbc__sync_mail *mail;
  nbc_status status = nbc__sync_post(s, &mail, parent, 2, sizeof mail->u.state);
  if (status == NBC_OK) status = nbc_wait(s->t, &mail->op, s->desc.limit_ns);
  if (status == NBC_OK && mail->op.size_bytes != sizeof mail->u.state) status = NBC_E_MISMATCH;
  if (status == NBC_OK) {
    const nbc__sync_state *state = &mail->u.state;
    s->relation = state->relation;
    s->line_ns = state->line_ns, s->line_rate = state->line_rate, s->t_line_ns = state->t_line_ns;
    s->guess_ns = state->guess_ns, s->guess_rate = state->guess_rate, s->guessed = state->guessed;
    s->fit_offset_ns = state->fit_offset_ns;
    s->fit_count = state->fit_count;
    s->info = state->info;
    s->info.copied = true;
    s->info.parent_rank = parent;
  }
  nbc__sync_drop(s, mail);
  return status == NBC_OK ? NBC_OK : nbc__sync_named(err, status, parent, s);
}

/* As copy_from, seen from above: the farthest child first, which has most below it. */
static nbc_status nbc__sync_copy_to(nbc_sync *s, nbc_error *err) {
  nbc__sync_state state;
  memset(&state, 0, sizeof state);
  state.relation = s->relation;
  state.info = s->info;
  state.line_ns = s->line_ns, state.line_rate = s->line_rate, state.t_line_ns = s->t_line_ns;
  state.guess_ns = s->guess_ns, state.guess_rate = s->guess_rate, state.guessed = s->guessed;
  state.fit_offset_ns = s->fit_offset_ns;
  state.fit_count = s->fit_count;
  const int lowest = s->group_index ? s->group_index & -s->group_index : s->group_count;
  int bit = 1;
  while (bit < lowest) bit *= 2;
  for (bit = s->group_index ? lowest / 2 : bit / 2; bit > 0; bit /= 2) {
    if (s->group_index + bit >= s->group_count) continue;
    const int child = s->group[s->group_index + bit];
    const nbc_status status = nbc_send(s->t, &state, sizeof state, child, s->desc.tag + 2);
    if (status != NBC_OK) return nbc__sync_named(err, status, child, s);
  }
  return NBC_OK;
}

/* Own relation first, then the children's; parents have lower ranks, so nobody waits in a
   circle. */
static nbc_status nbc__sync_burst(nbc_sync *s, nbc_error *err) {
  const int rank = s->t->rank, size = s->t->size, arity = s->desc.tree_arity;
  const int above = rank > 0 ? nbc__sync_tree_parent(rank, arity) : -1;
  nbc_status status = NBC_OK;
  bool heard;
  s->burst++;
  if (rank > 0 && s->leader) {
    s->parent_rank = s->info.parent_rank = above;
    status = nbc__sync_ask(s);
    if (status != NBC_OK) return nbc__sync_named(err, status, above, s);
  } else if (rank > 0 && !(s->t->same_clock && s->t->same_clock(s->t->ctx, above))) {
    const nbc__sync_ping skip = {0, NBC__SYNC_SKIP, s->burst, 0};
    for (int i = 0; i < (s->desc.retry_ns > 0 ? 8 : 1) && status == NBC_OK;
         i++) /* some may get lost */
      status = nbc_send(s->t, &skip, sizeof skip, above, s->desc.tag);
    if (status != NBC_OK) return nbc__sync_named(err, status, above, s);
  }
  if (!s->leader && !s->identity) status = nbc__sync_copy_from(s, err);
  if (status == NBC_OK && !s->identity) status = nbc__sync_copy_to(s, err);
  int weight = 1;
  while (weight < size && (rank == 0 || rank / weight % arity == 0)) weight *= arity;
  for (weight /= arity; weight > 0 && status == NBC_OK; weight /= arity)
    for (int digit = 1; digit < arity && status == NBC_OK; digit++) {
      if (digit > (size - 1 - rank) / weight) break;
      const int child = rank + digit * weight;
      if (s->t->same_clock && s->t->same_clock(s->t->ctx, child))
        continue; /* it has us or a lower one */
      status = nbc__sync_serve(s, child, &heard);
      if (status != NBC_OK) return nbc__sync_named(err, status, child, s);
    }
  return status;
}

/* Ranks that read one and the same clock: only the first of them measures. */
static nbc_status nbc__sync_find_group(nbc_sync *s) {
  const nbc_transport *t = s->t;
  int count = 0, room = 0;
  for (int peer = 0; peer < t->size; peer++) {
    if (peer != t->rank && !(t->same_clock && t->same_clock(t->ctx, peer))) continue;
    if (count == room) {
      int *larger = (int *)NBC_MALLOC((size_t)(room = 2 * room + 8) * sizeof *larger);
      if (!larger) return NBC_E_NOMEM;
      if (count > 0) memcpy(larger, s->group, (size_t)count * sizeof *larger);
      NBC_FREE(s->group);
      s->group = larger;
    }
    if (peer == t->rank) s->group_index = count;
    s->group[count++] = peer;
  }
  s->group_count = count;
  s->identity = s->group[0] == 0;
  s->leader = s->group[0] == t->rank;
  return NBC_OK;
}

static nbc_status nbc__sync_defaults(nbc_sync_desc *d) {
  if (d->rate_limit_ppm == 0) d->rate_limit_ppm = 400;
  if (d->wander_ppm_per_s == 0) d->wander_ppm_per_s = 1;
  if (d->wander_ppm_per_s < 0) d->wander_ppm_per_s = 0;
  if (d->trip_count == 0) d->trip_count = 64;
  if (d->tree_arity == 0) d->tree_arity = 2;
  if (d->history_count == 0) d->history_count = 16;
  if (d->limit_ns == 0) d->limit_ns = INT64_C(30000000000);
  const bool good = (int)d->method >= 0 && d->method < NBC_SYNC_METHOD_COUNT && d->trip_count > 0 &&
                    d->trip_count <= 1 << 20 && d->tree_arity >= 2 && d->tree_arity <= 64 &&
                    d->history_count > 1 && d->history_count <= 4096 && d->limit_ns > 0 &&
                    d->retry_ns >= 0;
  return good ? NBC_OK : NBC_E_INVAL;
}

NBC_API nbc_status nbc_sync_create(const nbc_transport *t, const nbc_sync_desc *desc,
                                   nbc_sync **sync, nbc_error *err) {
  if (!t || !sync) return nbc__status_fail(err, NBC_E_INVAL, 0, "transport or result is missing");
  *sync = NULL;
  nbc_sync *s = (nbc_sync *)NBC_MALLOC(sizeof *s);
  if (!s) return nbc__status_fail(err, NBC_E_NOMEM, 0, "out of memory");
  memset(s, 0, sizeof *s);
  s->t = t;
  if (desc) s->desc = *desc;
  s->info.parent_rank = -1;
  s->info.wander_seen_ppm_per_s = INFINITY;
  nbc_relation_desc relation = nbc_relation_crystal(1e9);
  nbc_status status = nbc__sync_defaults(&s->desc);
  relation.rate_limit_ppm = s->desc.rate_limit_ppm;
  relation.wander_ppm_per_s = s->desc.wander_ppm_per_s;
  if (status == NBC_OK) status = nbc_relation_init(&s->relation, &relation);
  if (status == NBC_OK) status = nbc__sync_find_group(s);
  if (status != NBC_OK)
    nbc__status_fail(err, status, 0, "rank %d: %s", t->rank, nbc_status_text(status));
  if (status == NBC_OK) status = nbc__sync_burst(s, err);
  if (status == NBC_OK)
    *sync = s;
  else
    nbc_sync_destroy(s);
  return status;
}

NBC_API nbc_status nbc_sync_update(nbc_sync *s, nbc_error *err) {
  if (!s) return nbc__status_fail(err, NBC_E_INVAL, 0, "sync: must not be NULL");
  if (!s->identity) { /* keep today's state for stamps taken until now */
    if (!s->history)
      s->history = (nbc_relation *)NBC_MALLOC((size_t)s->desc.history_count * sizeof *s->history);
    if (!s->history) return nbc__status_fail(err, NBC_E_NOMEM, 0, "out of memory");
    if (s->history_count == s->desc.history_count) {
      s->history_count = (s->history_count + 1) / 2;
      for (int i = 1; i < s->history_count; i++) s->history[i] = s->history[2 * i];
    }
    s->history[s->history_count++] = s->relation;
  }
  return nbc__sync_burst(s, err);
}

NBC_API void nbc_sync_destroy(nbc_sync *s) {
  if (!s) return;
  while (s->orphans) {
    nbc__sync_mail *m = s->orphans;
    s->orphans = m->next;
    NBC_FREE(m);
  }
  NBC_FREE(s->group);
  NBC_FREE(s->history);
  NBC_FREE(s);
}

/* ---- answers ------------------------------------------------------------------------------- */
NBC_API nbc_sync_desc nbc_sync_desc_of(const nbc_sync *s) {
  nbc_sync_desc none;
  memset(&none, 0, sizeof none);
  return s ? s->desc : none;
}
NBC_API const nbc_transport *nbc_sync_transport(const nbc_sync *s) {
  if (!s) return NULL;
  return s->t;
}

/* Moves t_ns to where the chosen method says; err_ns grows so that it still holds the truth. */
static void nbc__sync_place(const nbc_sync *s, int64_t t_local_ns, nbc_time *time) {
  if (s->desc.method == NBC_SYNC_MIDDLE || s->fit_count == 0) return;
  const double d_ns = s->line_ns + s->line_rate * (double)(t_local_ns - s->t_line_ns);
  if (!(fabs(d_ns) < 1e18)) return;
  const int64_t t_ns = t_local_ns + s->fit_offset_ns + (int64_t)floor(d_ns + 0.5);
  time->err_ns += t_ns > time->t_ns ? t_ns - time->t_ns : time->t_ns - t_ns;
  time->t_ns = t_ns;
}

NBC_API nbc_status nbc_sync_global(const nbc_sync *s, int64_t t_local_ns, nbc_time *global) {
  if (!s || !global) return NBC_E_INVAL;
  global->t_ns = t_local_ns;
  global->err_ns = 0;
  if (s->identity) return NBC_OK;
  const nbc_relation *before = NULL, *after = &s->relation;
  for (int i = s->history_count - 1; i >= 0;
       i--) { /* newest reading before, oldest after t_local_ns */
    const nbc_relation *old = &s->history[i];
    const uint64_t newest = old->newest_raw_ticks;
    if ((int64_t)((uint64_t)t_local_ns - newest) >= 0) {
      before = old;
      break;
    }
    after = old;
  }
  nbc_status status = NBC_E_MISMATCH;
  if (before) status = nbc_relation_time_between(before, after, (uint64_t)t_local_ns, global);
  if (status == NBC_E_MISMATCH ||
      status == NBC_E_STATE) /* a step between them, or no state before */
    status = nbc_relation_time(after, (uint64_t)t_local_ns, global);
  if (status == NBC_OK)
    nbc__sync_place(s, t_local_ns, global);
  else if (status != NBC_E_RANGE)
    global->err_ns = INT64_MAX;
  return status == NBC_OK ? NBC_OK : NBC_E_RANGE;
}

NBC_API nbc_status nbc_sync_global_if(const nbc_sync *s, double wander_ppm_per_s,
                                      int64_t t_local_ns, nbc_time *global) {
  if (!s || !global || !(wander_ppm_per_s >= 0 && wander_ppm_per_s <= 1e9)) return NBC_E_INVAL;
  global->t_ns = t_local_ns;
  global->err_ns = 0;
  if (s->identity) return NBC_OK;
  nbc_relation r = s->relation; /* points that the old limit left out exclude nothing: only wider */
  r.desc.wander_ppm_per_s = wander_ppm_per_s;
  if (r.upper_count + r.lower_count == 0) return NBC_E_RANGE;
  if (!nbc__sync_polygon(&r)) return NBC_E_MISMATCH;
  return nbc_relation_time(&r, (uint64_t)t_local_ns, global) == NBC_OK ? NBC_OK : NBC_E_RANGE;
}

NBC_API nbc_status nbc_sync_estimate(const nbc_sync *s, int64_t t_local_ns, int64_t *t_global_ns) {
  if (!s || !t_global_ns) return NBC_E_INVAL;
  nbc_time time;
  const nbc_status status = nbc_sync_global(s, t_local_ns, &time);
  *t_global_ns = time.t_ns;
  if (status != NBC_OK || s->identity || !s->guessed || s->desc.method != NBC_SYNC_MIDDLE)
    return status;
  const double x_ns = (double)(int64_t)((uint64_t)t_local_ns - s->relation.newest_raw_ticks);
  const double d_ns = x_ns + s->guess_ns + s->guess_rate * x_ns; /* since the newest reading */
  const int64_t t_ns = s->relation.newest_ns + (int64_t)floor(d_ns + 0.5);
  *t_global_ns = t_ns < time.t_ns - time.err_ns   ? time.t_ns - time.err_ns
                 : t_ns > time.t_ns + time.err_ns ? time.t_ns + time.err_ns
                                                  : t_ns;
  return status;
}

NBC_API nbc_status nbc_sync_local(const nbc_sync *s, int64_t t_global_ns, int64_t *t_local_ns) {
  if (!s || !t_local_ns) return NBC_E_INVAL;
  uint64_t ticks = (uint64_t)t_global_ns;
  if (!s->identity && nbc_relation_ticks(&s->relation, t_global_ns, &ticks) != NBC_OK)
    return NBC_E_RANGE;
  *t_local_ns = (int64_t)ticks;
  nbc_time time;
  for (int i = 0; i < 3 && !s->identity;
       i++) /* interpolation and method move it, by some 100 ppm */
    if (nbc_sync_global(s, *t_local_ns, &time) == NBC_OK) *t_local_ns += t_global_ns - time.t_ns;
  return NBC_OK;
}

NBC_API nbc_time nbc_sync_now(const nbc_sync *s) {
  nbc_time time;
  time.t_ns = 0, time.err_ns = INT64_MAX; /* nothing is known */
  if (s) nbc_sync_global(s, nbc__sync_local_now(s), &time);
  return time;
}

NBC_API nbc_sync_info nbc_sync_info_of(const nbc_sync *s) {
  nbc_sync_info info;
  memset(&info, 0, sizeof info);
  if (!s) return info;
  info = s->info;
  const int64_t t_local_ns = nbc__sync_local_now(s);
  nbc_sync_global(s, t_local_ns, &info.offset);
  info.offset.t_ns -= t_local_ns;
  if (s->identity) return info;
  info.rate_ppm = s->relation.rate_ppm;
  info.rate_err_ppm = s->relation.rate_err_ppm;
  info.step_count = s->relation.step_count;
  return info;
}
#ifdef NBC_LINES
#line 1 "src/time/measure.c"
#endif
/* measure.c: measuring: common starts, repeats until sure, changes on the way. */





/* ============================================================================================== */
/* [MEASURE] 20. Measuring                                                                        */
/* ============================================================================================== */
typedef struct nbc__measure_ranked {
  double value;
  size_t index;
} nbc__measure_ranked;

static int nbc__measure_order(const void *a, const void *b) {
  const double x = ((const nbc__measure_ranked *)a)->value,
               y = ((const nbc__measure_ranked *)b)->value;
  return (x > y) - (x < y);
}

/* Pettitt (1979): U = 2 sum of the first t ranks - t (n + 1), K = max |U|, p as below. The
   place is where U is most improbable: its variance goes with t (n - t). */
/* A test of ranks, so one outlier, however far, counts as one rank. It needs no model of the noise.
   Of fewer than 16 values even a clean step, K = n n / 4, gives no p below 0.01. */
static void nbc__measure_change(const double *rank, size_t n, nbc_sample_check *out) {
  double sum = 0, most = 0, rarest = 0;
  for (size_t t = 1; t < n; t++) {
    sum += rank[t - 1];
    const double u = fabs(2 * sum - (double)t * ((double)n + 1));
    const double rare = u * u / ((double)t * (double)(n - t));
    if (u > most) most = u;
    if (rare > rarest) rarest = rare, out->change_index = t;
  }
  const double cube = (double)n * (double)n * ((double)n + 1);
  out->change_p_ratio = fmin(1, 2 * exp(-6 * most * most / cube));
  out->changed = n >= 10 && out->change_p_ratio < 0.01;
}

NBC_API nbc_status nbc_samples_check(const double *values, size_t count, nbc_sample_check *out) {
  if (!values || !out) return NBC_E_INVAL;
  memset(out, 0, sizeof *out);
  out->change_p_ratio = 1;
  if (count == 0) return NBC_E_INVAL;
  for (size_t i = 0; i < count; i++)
    if (!isfinite(values[i])) return NBC_E_INVAL;
  nbc__measure_ranked *sorted =
      (nbc__measure_ranked *)NBC_MALLOC(count * (sizeof *sorted + 2 * sizeof(double)));
  if (!sorted) return NBC_E_NOMEM;
  double *rank = (double *)(void *)(sorted + count), *ascending = rank + count;
  for (size_t i = 0; i < count; i++) sorted[i].value = values[i], sorted[i].index = i;
  qsort(sorted, count, sizeof *sorted, nbc__measure_order);
  for (size_t i = 0, k; i < count; i = k) { /* equal values share the middle of their ranks */
    for (k = i; k < count && sorted[k].value <= sorted[i].value; k++)
      ascending[k] = sorted[k].value;
    for (size_t j = i; j < k; j++) rank[sorted[j].index] = 0.5 * (double)(i + 1 + k);
  }
  /* Tukey's fences: the quartiles do not move with the values that lie beyond them. */
  const double q1 = nbc_quantile(ascending, count, 0.25), q3 = nbc_quantile(ascending, count, 0.75);
  for (size_t i = 0; i < count; i++)
    out->outlier_count += values[i] < q1 - 1.5 * (q3 - q1) || values[i] > q3 + 1.5 * (q3 - q1);
  nbc__measure_change(rank, count, out);
  NBC_FREE(sorted);
  return NBC_OK;
}

/* How many independent samples say as much about the median: count / (1 + 2 sum of the
   autocorrelations of "above or below it"), summed until six times what they add up to (Sokal's
   window), and that sum's own standard error taken on top. Correlation that chance makes is
   none. */
/* Signs and not values: the interval of the median counts how many samples lie below it, so only
   their resemblance matters, and an outlier has no more weight than any other sample.
   1.65 / sqrt(n) is what the first autocorrelation of independent samples exceeds one time in 20.
   The standard error of the sum over M lags is sqrt(2 (2 M + 1) / n) of it [Madras and Sokal 1988].
   A negative sum would make more of the samples than there are: it is not used. */
static double nbc__measure_independent(const double *values, size_t count, double median) {
  double mean = 0, power = 0, times = 1;
  const double n = (double)count;
  for (size_t i = 0; i < count; i++) mean += ((values[i] > median) - (values[i] < median)) / n;
  for (size_t i = 0; i < count; i++) {
    const double d = (values[i] > median) - (values[i] < median) - mean;
    power += d * d;
  }
  if (count < 8 || !(power > 0)) return n;
  for (size_t lag = 1; lag <= count / 4; lag++) {
    double sum = 0;
    for (size_t i = lag; i < count; i++)
      sum += ((values[i] > median) - (values[i] < median) - mean) *
             ((values[i - lag] > median) - (values[i - lag] < median) - mean);
    if (lag == 1 && !(sum / power * sqrt(n) > 1.65)) return n;
    times += 2 * sum / power;
    if (times <= 1) return n;
    if ((double)lag >= 3 * times || lag == count / 4) {
      times *= 1 + sqrt(2 * (2 * (double)lag + 1) / n);
      break;
    }
  }
  return fmax(1, n / times);
}

/* Sorts scratch, which holds the same values. */
static nbc_status nbc__measure_summarize(const double *values, double *scratch, size_t count,
                                         double confidence_ratio, nbc_summary *out,
                                         double *independent_count) {
  nbc_status status = nbc_summarize(scratch, count, confidence_ratio, out);
  if (status != NBC_OK) return status;
  const double independent = nbc__measure_independent(values, count, out->median);
  if (independent_count) *independent_count = independent;
  if (independent >= (double)count) return NBC_OK;
  /* The rank that holds for so few independent samples, as a share of them, is looked up among all
     samples: these give the quantiles, those only say how sure they are. covered_ratio is then that
     of the few, so nbc__measure_enough cannot be sure before they are enough. */
  const size_t fewer = (size_t)independent;
  const size_t rank = nbc__stats_rank(fewer, out->confidence_ratio, &out->covered_ratio);
  size_t below = (size_t)((double)(rank - 1) / independent * (double)count);
  if (below > (count - 1) / 2) below = (count - 1) / 2;
  out->median_lo = scratch[below];
  out->median_hi = scratch[count - 1 - below];
  return NBC_OK;
}

NBC_API nbc_status nbc_samples_summarize(const double *values, size_t count,
                                         double confidence_ratio, nbc_summary *out,
                                         double *independent_count) {
  if (!out || !values || count == 0) return NBC_E_INVAL;
  double *scratch = (double *)NBC_MALLOC(count * sizeof *scratch);
  if (!scratch) return NBC_E_NOMEM;
  memcpy(scratch, values, count * sizeof *scratch);
  const nbc_status status =
      nbc__measure_summarize(values, scratch, count, confidence_ratio, out, independent_count);
  NBC_FREE(scratch);
  return status;
}

NBC_API void nbc_shuffle(int *order, int count, uint64_t seed) {
  if (!order) return;
  /* Fisher and Yates, from the inside out: order needs no values before. */
  for (int i = 0; i < count; i++) {
    const int k = (int)(nbc__random(&seed) % (uint64_t)(i + 1));
    order[i] = order[k];
    order[k] = i;
  }
}

NBC_API const char *nbc_stop_name(nbc_stop stop) {
  switch (stop) {
  case NBC_STOP_SURE: return "sure";
  case NBC_STOP_COUNT: return "count";
  case NBC_STOP_TIME: return "time";
  case NBC_STOP_LATE: return "late";
  }
  return "?";
}

NBC_API void nbc_measurement_free(nbc_measurement *m) {
  if (!m) return;
  NBC_FREE(m->samples_ns);
  m->samples_ns = NULL;
  m->sample_count = 0;
}

/* ---- repeating ----------------------------------------------------------------------------- */
enum { NBC__MEASURE_COLUMNS = 3 }; /* time, skew, slowest */

typedef struct nbc__measure_run {
  nbc_repeat repeat; /* values in force */
  double *column[NBC__MEASURE_COLUMNS], *scratch;
  size_t count, next_check;
  int64_t t_begin_ns;
} nbc__measure_run;

/* All memory for max_count samples is taken here: keeping a sample cannot fail, and no sample pays
   for an array that grows. */
static nbc_status nbc__measure_begin(nbc__measure_run *run, const nbc_repeat *repeat,
                                     int64_t t_now_ns) {
  memset(run, 0, sizeof *run);
  nbc_repeat *r = &run->repeat;
  if (repeat) *r = *repeat;
  if (r->warmup_count == 0) r->warmup_count = 3;
  if (r->warmup_count < 0) r->warmup_count = 0;
  if (r->max_count == 0) r->max_count = r->min_count > 1000 ? r->min_count : 1000;
  if (r->min_count == 0) r->min_count = r->max_count < 10 ? r->max_count : 10;
  if (r->ci_ratio == 0) r->ci_ratio = 0.02;
  if (r->confidence_ratio == 0) r->confidence_ratio = 0.95;
  if (r->time_limit_ns == 0) r->time_limit_ns = INT64_C(10000000000);
  if (r->min_time_ns == 0) r->min_time_ns = 50000000;
  if (r->min_time_ns > r->time_limit_ns / 2) r->min_time_ns = r->time_limit_ns / 2;
  if (r->min_time_ns < 0) r->min_time_ns = 0;
  if (r->min_count < 1 || r->max_count < r->min_count || r->max_count > 10000000 ||
      !(r->ci_ratio > 0) || !(r->confidence_ratio > 0 && r->confidence_ratio < 1) ||
      r->time_limit_ns < 0)
    return NBC_E_INVAL;
  const size_t max = (size_t)r->max_count;
  run->column[0] = (double *)NBC_MALLOC(max * (NBC__MEASURE_COLUMNS + 1) * sizeof(double));
  if (!run->column[0]) return NBC_E_NOMEM;
  for (int i = 1; i < NBC__MEASURE_COLUMNS; i++) run->column[i] = run->column[0] + (size_t)i * max;
  run->scratch = run->column[0] + NBC__MEASURE_COLUMNS * max;
  run->next_check = (size_t)r->min_count;
  run->t_begin_ns = t_now_ns;
  return NBC_OK;
}

static nbc_status nbc__measure_summary(nbc__measure_run *run, int column, nbc_summary *out,
                                       double *independent_count) {
  memcpy(run->scratch, run->column[column], run->count * sizeof *run->scratch);
  return nbc__measure_summarize(run->column[column], run->scratch, run->count,
                                run->repeat.confidence_ratio, out, independent_count);
}

/* Enough? Checked at counts that grow by a tenth, so that checking stays cheap. */
/* The order of the questions is that of the reasons told: a measurement that was cut short says so,
   even when it was narrow by then. Only the median's interval counts, not the spread: more samples
   make the interval narrower, and leave the spread as it is. */
static bool nbc__measure_enough(nbc__measure_run *run, int64_t t_now_ns, nbc_stop *stop) {
  nbc_summary s;
  const nbc_repeat *r = &run->repeat;
  *stop = NBC_STOP_TIME;
  if (t_now_ns - run->t_begin_ns > r->time_limit_ns) return true;
  *stop = NBC_STOP_COUNT;
  if (run->count >= (size_t)r->max_count) return true;
  if (run->count < run->next_check || t_now_ns - run->t_begin_ns < r->min_time_ns) return false;
  run->next_check = run->count + 1 + run->count / 10;
  *stop = NBC_STOP_SURE;
  return nbc__measure_summary(run, 0, &s, NULL) == NBC_OK &&
         s.covered_ratio >= r->confidence_ratio &&
         (s.median_hi - s.median_lo) / 2 <= r->ci_ratio * fabs(s.median);
}

/* Takes the memory with it: run->column[0] is NULL from here on. nbc_measure frees it only of a run
   that never came here. */
static nbc_status nbc__measure_end(nbc__measure_run *run, nbc_measurement *out, bool all_columns) {
  nbc_status status = NBC_OK;
  if (run->count > 0) {
    status = nbc__measure_summary(run, 0, &out->time, &out->independent_count);
    if (status == NBC_OK && all_columns) status = nbc__measure_summary(run, 1, &out->skew, NULL);
    if (status == NBC_OK && all_columns) status = nbc__measure_summary(run, 2, &out->slowest, NULL);
    if (status == NBC_OK) status = nbc_samples_check(run->column[0], run->count, &out->check);
  }
  if (status == NBC_OK && run->repeat.keep_samples && run->count > 0) {
    out->samples_ns = (double *)NBC_MALLOC(run->count * sizeof(double));
    if (!out->samples_ns)
      status = NBC_E_NOMEM;
    else
      memcpy(out->samples_ns, run->column[0], run->count * sizeof(double));
    out->sample_count = out->samples_ns ? run->count : 0;
  }
  NBC_FREE(run->column[0]);
  run->column[0] = NULL;
  return status;
}

/* ---- one process --------------------------------------------------------------------------- */
/* A reading of the clock can take as long as a small put. So the loop reads it outside, once, as
   SKaMPI does; NBC_TIMING_EACH is there to show what happens otherwise. */
static nbc_status nbc__measure_calls(const nbc_clock *clock, nbc_timing timing, int count,
                                     nbc_measure_fn fn, void *user, double *mean_ns) {
  nbc_status status = NBC_OK;
  int64_t sum_ns = 0, start_ns = nbc_clock_now_ns(clock);
  for (int i = 0; i < count && status == NBC_OK; i++) {
    if (timing == NBC_TIMING_EACH) start_ns = nbc_clock_now_ns(clock);
    status = fn(user);
    if (timing == NBC_TIMING_LOOP) continue;
    const int64_t d_ns = nbc_clock_now_ns(clock) - start_ns;
    if (d_ns < 0 && status == NBC_OK) status = NBC_E_CLOCK;
    sum_ns += d_ns;
  }
  if (timing == NBC_TIMING_LOOP) sum_ns = nbc_clock_now_ns(clock) - start_ns;
  *mean_ns = (double)sum_ns / count;
  return status == NBC_OK && sum_ns < 0 ? NBC_E_CLOCK : status;
}

NBC_API nbc_status nbc_measure_loop(const nbc_clock *clock, const nbc_repeat *repeat,
                                    nbc_timing timing, int batch_count, double subtract_ns,
                                    nbc_measure_fn fn, void *user, nbc_measurement *out) {
  if (!out) return NBC_E_INVAL;
  nbc__measure_run run;
  memset(out, 0, sizeof *out);
  if (!clock || !fn || batch_count < 0 || batch_count > 1 << 30 || !isfinite(subtract_ns))
    return NBC_E_INVAL;
  nbc_status status = nbc__measure_begin(&run, repeat, nbc_clock_now_ns(clock));
  if (status != NBC_OK) return status;
  double mean_ns = 0;
  for (int i = 0; i < run.repeat.warmup_count && status == NBC_OK; i++)
    status = nbc__measure_calls(clock, timing, batch_count ? batch_count : 1, fn, user, &mean_ns);
  if (batch_count == 0) /* doubled until the clock's resolution does not matter */
    for (batch_count = 1; status == NBC_OK && batch_count < 1 << 24; batch_count *= 2) {
      status = nbc__measure_calls(clock, timing, batch_count, fn, user, &mean_ns);
      if (mean_ns * batch_count >= 20000 &&
          mean_ns * batch_count * run.repeat.max_count >= (double)run.repeat.min_time_ns)
        break;
    }
  while (status == NBC_OK && !nbc__measure_enough(&run, nbc_clock_now_ns(clock), &out->stop)) {
    status = nbc__measure_calls(clock, timing, batch_count, fn, user, &mean_ns);
    run.column[0][run.count++] = mean_ns - subtract_ns;
  }
  const nbc_status ended = nbc__measure_end(&run, out, false);
  return status == NBC_OK ? ended : status;
}

/* ---- all ranks ----------------------------------------------------------------------------- */
/* tags, after those of [SYNC]; the result follows the last order at once, so it has its own */
enum { NBC__MEASURE_DOWN = 3, NBC__MEASURE_UP, NBC__MEASURE_RESULT };

typedef struct nbc__measure_order_msg { /* rank 0 -> all */
  int64_t t_start_ns;
  int32_t go, status, failed_rank, unused; /* not go: the result follows */
} nbc__measure_order_msg;

typedef struct nbc__measure_seen { /* all -> rank 0, combined on the way */
  int64_t t_first_start_ns, t_last_start_ns, t_last_end_ns, start_err_ns, end_err_ns;
  int64_t slowest_ns, latest_by_ns;
  int32_t late_count, status, failed_rank, unused;
} nbc__measure_seen;

static nbc_status nbc__measure_receive(nbc_sync *s, void *to, size_t bytes, int peer, uint64_t tag,
                                       int64_t limit_ns, nbc_error *err) {
  nbc__sync_mail *mail;
  nbc_status status = nbc__sync_post(s, &mail, peer, tag, bytes);
  if (status == NBC_OK) status = nbc_wait(s->t, &mail->op, limit_ns);
  if (status == NBC_OK && mail->op.size_bytes != bytes) status = NBC_E_MISMATCH;
  if (status == NBC_OK) memcpy(to, &mail->u, bytes);
  nbc__sync_drop(s, mail);
  if (status == NBC_E_TIMEOUT)
    return nbc__status_fail(err, status, 0, "rank %d: rank %d did not answer within %.3g s",
                            s->t->rank, peer, (double)limit_ns * 1e-9);
  return status == NBC_OK ? NBC_OK : nbc__sync_named(err, status, peer, s);
}

/* Children of a rank in a binomial tree are rank + 1, + 2, + 4 ... below its lowest bit. */
/* The parent is the rank without its lowest bit, rank & (rank - 1); rank 0 has no parent.

     0 -+- 1              Down, the child with most below it is told first, since its news has the
        +- 2 --- 3        longest way. Up, the child with fewest below it is heard first: it is the
        +- 4 -+- 5        first to be ready. Both take log2(size) messages in a row.
              +- 6 --- 7  */
static int nbc__measure_weight(const nbc_sync *s) {
  int weight = 1;
  while (weight < s->t->size && (s->t->rank & weight) == 0) weight *= 2;
  return weight;
}

static nbc_status nbc__measure_down(nbc_sync *s, void *m, size_t bytes, uint64_t tag,
                                    int64_t limit_ns, nbc_error *err) {
  const int rank = s->t->rank;
  nbc_status status = NBC_OK;
  if (rank > 0) status = nbc__measure_receive(s, m, bytes, rank & (rank - 1), tag, limit_ns, err);
  for (int w = nbc__measure_weight(s) / 2; w > 0 && status == NBC_OK; w /= 2) {
    if (w >= s->t->size - rank) continue;
    status = nbc_send(s->t, m, bytes, rank + w, s->desc.tag + tag);
    if (status != NBC_OK) return nbc__sync_named(err, status, rank + w, s);
  }
  return status;
}

/* All but the one error that is kept are minima, maxima and sums, so it does not matter how the
   tree puts the ranks together. The maxima of err_ns bound the error of each difference. */
static void nbc__measure_combine(nbc__measure_seen *a, const nbc__measure_seen *b) {
  if (b->t_first_start_ns < a->t_first_start_ns) a->t_first_start_ns = b->t_first_start_ns;
  if (b->t_last_start_ns > a->t_last_start_ns) a->t_last_start_ns = b->t_last_start_ns;
  if (b->t_last_end_ns > a->t_last_end_ns) a->t_last_end_ns = b->t_last_end_ns;
  if (b->start_err_ns > a->start_err_ns) a->start_err_ns = b->start_err_ns;
  if (b->end_err_ns > a->end_err_ns) a->end_err_ns = b->end_err_ns;
  if (b->slowest_ns > a->slowest_ns) a->slowest_ns = b->slowest_ns;
  if (b->latest_by_ns > a->latest_by_ns) a->latest_by_ns = b->latest_by_ns;
  a->late_count += b->late_count;
  if (a->status == NBC_OK) a->status = b->status, a->failed_rank = b->failed_rank;
}

static nbc_status nbc__measure_up(nbc_sync *s, nbc__measure_seen *seen, int64_t limit_ns,
                                  nbc_error *err) {
  const int rank = s->t->rank;
  nbc__measure_seen other;
  nbc_status status = NBC_OK;
  for (int w = 1; w < nbc__measure_weight(s) && w < s->t->size - rank && status == NBC_OK; w *= 2) {
    status =
        nbc__measure_receive(s, &other, sizeof other, rank + w, NBC__MEASURE_UP, limit_ns, err);
    if (status == NBC_OK) nbc__measure_combine(seen, &other);
  }
  if (status != NBC_OK || rank == 0) return status;
  status = nbc_send(s->t, seen, sizeof *seen, rank & (rank - 1), s->desc.tag + NBC__MEASURE_UP);
  return status == NBC_OK ? NBC_OK : nbc__sync_named(err, status, rank & (rank - 1), s);
}

/* The most probable global time, with an error that still holds the truth. */
/* nbc_sync_global gives the middle of what is possible, not what is probable. The interval of the
   result holds all of that interval: whoever subtracts two of them still has a bound. */
static nbc_time nbc__measure_global(const nbc_sync *s, int64_t t_local_ns) {
  nbc_time time;
  int64_t t_ns;
  if (nbc_sync_global(s, t_local_ns, &time) != NBC_OK) return time;
  nbc_sync_estimate(s, t_local_ns, &t_ns);
  time.err_ns += t_ns > time.t_ns ? t_ns - time.t_ns : time.t_ns - t_ns;
  time.t_ns = t_ns;
  return time;
}

/* One sample on this rank, started as told. */
/* A barrier makes no common start: its last messages leave one after the other, down the tree, and
   each rank goes on when its own has come. That is what the skew of NBC_START_BARRIER shows. */
static nbc_status nbc__measure_one(nbc_sync *s, const nbc_measure_desc *d, int64_t t_start_ns,
                                   nbc_measure_fn fn, void *user, nbc__measure_seen *seen,
                                   nbc_error *err) {
  memset(seen, 0, sizeof *seen);
  int64_t t_local_ns = 0, t_now_ns = nbc__sync_local_now(s);
  if (d->start == NBC_START_BARRIER) { /* nobody leaves before all have come */
    nbc__measure_order_msg leave;
    memset(&leave, 0, sizeof leave);
    nbc_status status = nbc__measure_up(s, seen, d->limit_ns, err);
    if (status == NBC_OK)
      status = nbc__measure_down(s, &leave, sizeof leave, NBC__MEASURE_DOWN, d->limit_ns, err);
    if (status != NBC_OK) return status;
    memset(seen, 0, sizeof *seen);
    t_now_ns = nbc__sync_local_now(s);
  } else {
    /* Only this rank knows that it is late. That travels up, and rank 0 discards the sample. */
    const bool known = nbc_sync_local(s, t_start_ns, &t_local_ns) == NBC_OK;
    seen->late_count = !known || t_now_ns > t_local_ns;
    seen->latest_by_ns = known ? t_now_ns - t_local_ns : 0;
    while (known && t_now_ns < t_local_ns) t_now_ns = nbc__sync_local_now(s);
  }
  seen->status = fn(user); /* a late rank calls it too: the others wait for it there */
  const int64_t t_end_ns = nbc__sync_local_now(s);
  const nbc_time begin = nbc__measure_global(s, t_now_ns), end = nbc__measure_global(s, t_end_ns);
  seen->t_first_start_ns = seen->t_last_start_ns = begin.t_ns;
  seen->t_last_end_ns = end.t_ns;
  seen->start_err_ns = begin.err_ns;
  seen->end_err_ns = end.err_ns;
  seen->slowest_ns = t_end_ns - t_now_ns;
  if (seen->status == NBC_OK && t_end_ns < t_now_ns) seen->status = NBC_E_CLOCK;
  seen->failed_rank = s->t->rank;
  return NBC_OK;
}

typedef struct nbc__measure_window { /* how far ahead rank 0 sets the common start */
  int64_t window_ns, max_ns, needed_ns;
  int late_in_a_row;
} nbc__measure_window;

/* Twice what the slowest rank needed to be there; that is forgotten by an eighth per sample, so
   that one rank that was once interrupted does not make all later samples wait. */
static void nbc__measure_adapt(nbc__measure_window *w, const nbc__measure_seen *seen) {
  const int64_t needed_ns = w->window_ns + seen->latest_by_ns;
  w->needed_ns -= w->needed_ns / 8;
  if (needed_ns > w->needed_ns) w->needed_ns = needed_ns;
  w->window_ns = w->needed_ns < w->max_ns / 2 ? 2 * w->needed_ns + 1000 : w->max_ns;
  if (w->window_ns > w->max_ns) w->window_ns = w->max_ns;
  w->late_in_a_row = seen->late_count > 0 ? w->late_in_a_row + 1 : 0;
}

/* Rank 0 only: takes one combined sample, or discards it. */
static void nbc__measure_take(nbc__measure_run *run, const nbc__measure_seen *seen,
                              int *warmup_count, nbc_measurement *out) {
  if (seen->late_count > 0) {
    out->missed_count++;
    return;
  }
  if (*warmup_count > 0) {
    --*warmup_count;
    return;
  }
  run->column[0][run->count] = (double)(seen->t_last_end_ns - seen->t_first_start_ns);
  run->column[1][run->count] = (double)(seen->t_last_start_ns - seen->t_first_start_ns);
  run->column[2][run->count] = (double)seen->slowest_ns;
  run->count++;
  out->err_ns = fmax(out->err_ns, (double)seen->start_err_ns + (double)seen->end_err_ns);
}

/* Ranks leave the loop only by an order of rank 0 or by an error of the transport, never because
   their own fn failed: that goes up with the sample and comes back in the next order. So no rank
   waits in the tree for one that has left.

     rank 0   order ->          <- seen       order ->       ...   order: do not go ->  result ->
     others          -> start, fn -> seen ->        -> start ...                             */
static nbc_status nbc__measure_rounds(nbc_sync *s, const nbc_measure_desc *d, nbc_measure_fn fn,
                                      void *user, nbc__measure_run *run, nbc_measurement *out,
                                      nbc_error *err) {
  nbc__measure_order_msg order;
  nbc__measure_seen seen;
  nbc__measure_window window = {d->window_ns, d->window_max_ns, 0, 0};
  int warmup_count = run->repeat.warmup_count;
  nbc_status status = NBC_OK;
  memset(&order, 0, sizeof order);
  for (;;) {
    if (s->t->rank == 0) {
      order.go =
          order.status == NBC_OK && !nbc__measure_enough(run, nbc__sync_local_now(s), &out->stop);
      /* The window has grown by then: so many late starts in a row will not end by themselves. */
      if (order.go && window.late_in_a_row > 200) order.go = 0, out->stop = NBC_STOP_LATE;
      order.t_start_ns = nbc__sync_local_now(s) + window.window_ns;
      out->window_ns = window.window_ns;
      if (!order.go && order.status == NBC_OK) order.status = nbc__measure_end(run, out, true);
    }
    status = nbc__measure_down(s, &order, sizeof order, NBC__MEASURE_DOWN, d->limit_ns, err);
    if (status != NBC_OK || !order.go) break;
    status = nbc__measure_one(s, d, order.t_start_ns, fn, user, &seen, err);
    if (status == NBC_OK) status = nbc__measure_up(s, &seen, d->limit_ns, err);
    if (status != NBC_OK) break;
    if (s->t->rank > 0) continue;
    order.status = seen.status, order.failed_rank = seen.failed_rank;
    if (d->start == NBC_START_WINDOW) nbc__measure_adapt(&window, &seen);
    if (seen.status == NBC_OK) nbc__measure_take(run, &seen, &warmup_count, out);
  }
  nbc_measurement result = *out;
  if (status == NBC_OK)
    status = nbc__measure_down(s, &result, sizeof result, NBC__MEASURE_RESULT, d->limit_ns, err);
  if (status != NBC_OK) return status;
  if (s->t->rank > 0) {
    *out = result;
    out->samples_ns = NULL; /* of rank 0 only */
    out->sample_count = 0;
  }
  if (order.status != NBC_OK)
    nbc__status_fail(err, (nbc_status)order.status, 0, "rank %d: %s: %s", (int)order.failed_rank,
                     order.status == NBC_E_CLOCK ? "the clock stepped backwards"
                                                 : "the measured operation failed",
                     nbc_status_text((nbc_status)order.status));
  return (nbc_status)order.status;
}

NBC_API nbc_status nbc_measure(nbc_sync *sync, const nbc_measure_desc *desc, nbc_measure_fn fn,
                               void *user, nbc_measurement *out, nbc_error *err) {
  if (!out) return nbc__status_fail(err, NBC_E_INVAL, 0, "out: must not be NULL");
  nbc__measure_run run;
  nbc_measure_desc d;
  memset(out, 0, sizeof *out);
  memset(&d, 0, sizeof d);
  if (desc) d = *desc;
  if (d.window_max_ns == 0) d.window_max_ns = d.window_ns > 1000000000 ? d.window_ns : 1000000000;
  if (d.window_ns == 0) d.window_ns = d.window_max_ns < 50000 ? d.window_max_ns : 50000;
  if (d.limit_ns == 0) d.limit_ns = INT64_C(30000000000);
  if (!sync || !fn || d.window_ns < 0 || d.window_max_ns < d.window_ns || d.limit_ns < 0 ||
      (int)d.start < 0 || d.start > NBC_START_BARRIER)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "a field of desc is out of its range");
  nbc_status status = nbc__measure_begin(&run, &d.repeat, nbc__sync_local_now(sync));
  if (status != NBC_OK)
    return nbc__status_fail(err, status, 0, "field repeat: %s", nbc_status_text(status));
  double *memory = run.column[0];
  status = nbc__measure_rounds(sync, &d, fn, user, &run, out, err);
  if (run.column[0]) NBC_FREE(memory); /* nbc__measure_end frees it on the rank that summarised */
  return status;
}
#ifdef NBC_LINES
#line 1 "src/time/model.c"
#endif
/* model.c: models of what was measured: ranges of sizes, noise, LogGP. */





/* ============================================================================================== */
/* [MODEL] 21. Models of what was measured                                                        */
/* ============================================================================================== */
typedef struct nbc__model_sample {
  uint64_t size_bytes;
  double time_ns;
} nbc__model_sample;

typedef struct nbc__model_line {
  double base_ns, per_byte_ns, cost;
} nbc__model_line;

typedef struct nbc__model_work {
  int n;                                                 /* different sizes */
  double x[NBC_MODEL_MAX_SIZES], y[NBC_MODEL_MAX_SIZES]; /* size, median time */
  size_t first[NBC_MODEL_MAX_SIZES + 1];                 /* its first sample, sorted */
  double sigma_ratio;
  double best[NBC_MODEL_MAX_RANGES + 1][NBC_MODEL_MAX_SIZES + 1];
  int from[NBC_MODEL_MAX_RANGES + 1][NBC_MODEL_MAX_SIZES + 1];
} nbc__model_work;

static int nbc__model_order(const void *a, const void *b) {
  const nbc__model_sample *x = (const nbc__model_sample *)a, *y = (const nbc__model_sample *)b;
  if (x->size_bytes != y->size_bytes) return x->size_bytes < y->size_bytes ? -1 : 1;
  return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

/* Weighted least squares of relative distances (a division by y[p]): a model is used from bytes to
   megabytes, and absolute ones would fit the largest sizes alone. A line that falls is levelled:
   more bytes never take less time. */
static void nbc__model_solve(const nbc__model_work *w, int i, int k, const double *weight,
                             nbc__model_line *line) {
  double s = 0, sx = 0, sy = 0, xx = 0, xy = 0;
  for (int p = i; p < k; p++) {
    const double u = weight[p] / (w->y[p] * w->y[p]);
    s += u, sx += u * w->x[p], sy += u * w->y[p];
  }
  if (!(s > 0)) return; /* all rejected: keep the line */
  sx /= s, sy /= s;
  for (int p = i; p < k; p++) {
    const double u = weight[p] / (w->y[p] * w->y[p]), d = w->x[p] - sx;
    xx += u * d * d, xy += u * d * (w->y[p] - sy);
  }
  line->per_byte_ns = xx > 0 ? fmax(0, xy / xx) : 0;
  line->base_ns = sy - line->per_byte_ns * sx;
}

/* Distance of a size from a line, in units of what its median scatters by. */
static double nbc__model_off(const nbc__model_work *w, int p, const nbc__model_line *line) {
  return fabs(w->y[p] - line->base_ns - line->per_byte_ns * w->x[p]) / (w->y[p] * w->sigma_ratio);
}

/* The line through sizes i ... k - 1: first nearly the least sum of distances, which a few wild
   sizes cannot bend, then least squares without those. cost: squares, none counted as more than
   9. */
static nbc__model_line nbc__model_line_of(const nbc__model_work *w, int i, int k) {
  double weight[NBC_MODEL_MAX_SIZES];
  nbc__model_line line = {w->y[i], 0, 0};
  for (int p = i; p < k; p++) weight[p] = 1;
  for (int round = 0; round < 10; round++) {
    nbc__model_solve(w, i, k, weight, &line);
    bool same = true;
    for (int p = i; p < k; p++) {
      const double off = nbc__model_off(w, p, &line);
      /* Weights 1 / off make the squares sums of distances (iteratively reweighted least squares);
         the last three rounds take sizes within three sigmas as they are and leave the others
         out. */
      const double next = round < 7 ? 1 / fmax(1, off) : off <= 3;
      same = same && fabs(next - weight[p]) < 1e-3;
      weight[p] = next;
    }
    if (same && round < 7) break; /* nothing is far off */
  }
  for (int p = i; p < k; p++) {
    const double off = nbc__model_off(w, p, &line);
    line.cost += fmin(9, off * off);
  }
  return line;
}

/* How far sizes are from the line between their neighbours: the noise of the medians, known before
   any range is. The lower quartile tells it even when half of the sizes are beside a disturbed
   one. */
static nbc_status nbc__model_scatter(nbc__model_work *w, double tolerance_ratio) {
  double off[NBC_MODEL_MAX_SIZES];
  nbc_summary s;
  w->sigma_ratio = tolerance_ratio;
  if (w->n < 6) return NBC_OK;
  for (int p = 1; p + 1 < w->n; p++) {
    const double a = (w->x[p] - w->x[p - 1]) / (w->x[p + 1] - w->x[p - 1]);
    const double between_ns = (1 - a) * w->y[p - 1] + a * w->y[p + 1];
    /* Three medians that scatter alike are in this distance: the point with factor 1, its
       neighbours with these. The square root makes the distance one of a single median. */
    const double before = (1 - a) * w->y[p - 1] / w->y[p], after = a * w->y[p + 1] / w->y[p];
    off[p - 1] = fabs(w->y[p] - between_ns) / w->y[p] / sqrt(1 + before * before + after * after);
  }
  const nbc_status status = nbc_summarize(off, (size_t)w->n - 2, 0, &s);
  w->sigma_ratio = fmax(tolerance_ratio, s.q1 / 0.3186); /* a quarter of a normal is nearer */
  return status;
}

/* best[r][k]: the least cost of covering the first k sizes with r ranges of three sizes or more:
   the last range begins somewhere, and what is before it is covered best by r - 1 (dynamic
   programming, as in Bellman and Roth's segmented line). */
static int nbc__model_cut(nbc__model_work *w, int max_ranges) {
  enum { LEAST = 3 };
  const int n = w->n;
  if (max_ranges > n / LEAST) max_ranges = n / LEAST > 0 ? n / LEAST : 1;
  for (int r = 0; r <= max_ranges; r++)
    for (int k = 0; k <= n; k++) w->best[r][k] = r == 0 && k == 0 ? 0 : INFINITY;
  for (int i = 0; i < n; i++)
    for (int k = i + 1; k <= n; k++) {
      if (k - i < LEAST && !(i == 0 && k == n)) continue;
      const nbc__model_line line = nbc__model_line_of(w, i, k);
      for (int r = 1; r <= max_ranges; r++) {
        /* best[r - 1][i] is final: i ascends */
        if (!(w->best[r - 1][i] + line.cost < w->best[r][k])) continue;
        w->best[r][k] = w->best[r - 1][i] + line.cost;
        w->from[r][k] = i;
      }
    }
  /* a range costs three parameters, its place included; more, as places are chosen among many */
  const double penalty = 4 * log((double)n) + 6;
  int chosen = 1;
  for (int r = 2; r <= max_ranges; r++)
    if (w->best[r][n] + penalty * r < w->best[chosen][n] + penalty * chosen) chosen = r;
  return chosen;
}

/* One range as the user gets it: its line, how far the medians are from it, and the noise of single
   calls as ratios to the line, so that calls of all sizes of the range can be taken together; sizes
   beside the line are counted, and leave no trace in the noise. */
static nbc_status nbc__model_describe(const nbc__model_work *w, const nbc__model_sample *sample,
                                      double *scratch, int i, int k, nbc_model_range *range) {
  const nbc__model_line line = nbc__model_line_of(w, i, k);
  double off[NBC_MODEL_MAX_SIZES];
  nbc_summary s;
  size_t count = 0;
  range->first_bytes = sample[w->first[i]].size_bytes;
  range->last_bytes = sample[w->first[k - 1]].size_bytes;
  range->base_ns = line.base_ns;
  range->per_byte_ns = line.per_byte_ns;
  range->size_count = (size_t)(k - i);
  for (int p = i; p < k; p++) {
    const double at_ns = line.base_ns + line.per_byte_ns * w->x[p];
    off[p - i] = fabs(w->y[p] / at_ns - 1);
    if (nbc__model_off(w, p, &line) > 3 || !(at_ns > 0)) {
      range->outlier_count++;
      continue;
    }
    for (size_t q = w->first[p]; q < w->first[p + 1]; q++)
      scratch[count++] = sample[q].time_ns / at_ns;
  }
  nbc_status status = nbc_summarize(off, (size_t)(k - i), 0, &s);
  range->residual_ratio = s.median;
  if (status == NBC_OK && count > 0) status = nbc_model_fit_noise(scratch, count, &range->noise);
  return status;
}

/* Sorted samples become one point per size: the median, which a disturbed call does not move. */
static nbc_status nbc__model_group(nbc__model_work *w, const nbc__model_sample *sample,
                                   size_t count, nbc_error *err) {
  w->n = 0;
  for (size_t i = 0, k; i < count; i = k) {
    for (k = i; k < count && sample[k].size_bytes == sample[i].size_bytes;) k++;
    if (w->n == NBC_MODEL_MAX_SIZES)
      return nbc__status_fail(err, NBC_E_FULL, 0, "more than %d different sizes",
                              NBC_MODEL_MAX_SIZES);
    w->x[w->n] = (double)sample[i].size_bytes;
    w->y[w->n] = 0.5 * (sample[i + (k - i - 1) / 2].time_ns + sample[i + (k - i) / 2].time_ns);
    w->first[w->n++] = i;
  }
  w->first[w->n] = count;
  return NBC_OK;
}

NBC_API nbc_status nbc_model_fit(const uint64_t *size_bytes, const double *time_ns, size_t count,
                                 const nbc_model_desc *desc, nbc_model *model, nbc_error *err) {
  if (!time_ns || !model)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "time_ns and model: must not be NULL");
  /* Relative accuracy that is asked for: noise smaller than this is not looked at, or one range
     would be cut at every irregularity of a quiet machine. */
  const int max_ranges = desc && desc->max_ranges ? desc->max_ranges : (int)NBC_MODEL_MAX_RANGES;
  const double tolerance = desc && !(desc->tolerance_ratio == 0) ? desc->tolerance_ratio : 0.01;
  memset(model, 0, sizeof *model);
  if (count == 0) return nbc__status_fail(err, NBC_E_INVAL, 0, "no samples");
  if (max_ranges < 1 || max_ranges > NBC_MODEL_MAX_RANGES)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "field max_ranges: must be 1 ... %d",
                            NBC_MODEL_MAX_RANGES);
  if (!(tolerance > 0 && tolerance < 1))
    return nbc__status_fail(err, NBC_E_INVAL, 0, "field tolerance_ratio: must be in 0 ... 1");
  for (size_t i = 0; i < count; i++)
    if (!(time_ns[i] > 0 && time_ns[i] < 1e18))
      return nbc__status_fail(err, NBC_E_INVAL, 0, "sample %zu: %g ns is not a time", i,
                              time_ns[i]);
  /* Samples and room for as many ratios are one block: the second half is scratch for the noise of
     each range. */
  nbc__model_work *w = (nbc__model_work *)NBC_MALLOC(sizeof *w);
  nbc__model_sample *sample =
      count < SIZE_MAX / 32 /* no overflow */
          ? (nbc__model_sample *)NBC_MALLOC(count * (sizeof *sample + sizeof(double)))
          : NULL;
  nbc_status status = w && sample ? NBC_OK : nbc__status_fail(err, NBC_E_NOMEM, 0, "out of memory");
  if (status == NBC_OK) {
    for (size_t i = 0; i < count; i++)
      sample[i].size_bytes = size_bytes[i], sample[i].time_ns = time_ns[i];
    qsort(sample, count, sizeof *sample, nbc__model_order);
    status = nbc__model_group(w, sample, count, err);
  }
  if (status == NBC_OK) status = nbc__model_scatter(w, tolerance);
  if (status == NBC_OK) {
    model->range_count = nbc__model_cut(w, max_ranges);
    for (int r = model->range_count, k = w->n; r > 0 && status == NBC_OK; k = w->from[r--][k])
      status = nbc__model_describe(w, sample, (double *)(void *)(sample + count), w->from[r][k], k,
                                   &model->ranges[r - 1]);
  }
  NBC_FREE(sample);
  NBC_FREE(w);
  return status;
}

NBC_API const nbc_model_range *nbc_model_range_of(const nbc_model *model, uint64_t size_bytes) {
  if (!model) return NULL;
  int r = model->range_count - 1;
  while (r > 0 && size_bytes < model->ranges[r].first_bytes) r--;
  return &model->ranges[r];
}

NBC_API double nbc_model_time_ns(const nbc_model *model, uint64_t size_bytes) {
  if (!model) return 0;
  const nbc_model_range *range = nbc_model_range_of(model, size_bytes);
  return range->base_ns + range->per_byte_ns * (double)size_bytes;
}

/* ---- noise: a mixture of normal distributions ---------------------------------------------- */
/* One step of expectation-maximisation (Dempster, Laird and Rubin 1977): each value belongs to each
   mode by the share of its density there, then each mode gets the mean and spread of what belongs
   to it; returns the log-likelihood of the mixture before it. */
static double nbc__model_em(const double *v, size_t n, int modes, double least_sigma,
                            nbc_model_mode *m) {
  double sum[NBC_MODEL_MAX_MODES] = {0}, mean[NBC_MODEL_MAX_MODES] = {0},
         square[NBC_MODEL_MAX_MODES] = {0}, likelihood = 0;
  double height[NBC_MODEL_MAX_MODES];
  for (int k = 0; k < modes; k++)
    height[k] = log(m[k].weight_ratio / m[k].sigma_ratio) - 0.918938533204672742; /* ln sqrt 2 pi */
  const double centre = v[n / 2]; /* squares of small differences, not of large values */
  for (size_t i = 0; i < n; i++) {
    /* Shares by differences to the largest exponent: far from all modes, the densities themselves
       are 0. */
    double p[NBC_MODEL_MAX_MODES], most = -INFINITY, all = 0;
    for (int k = 0; k < modes; k++) {
      const double d = (v[i] - m[k].mean_ratio) / m[k].sigma_ratio;
      p[k] = height[k] - 0.5 * d * d;
      most = fmax(most, p[k]);
    }
    for (int k = 0; k < modes; k++) all += p[k] = exp(p[k] - most);
    likelihood += most + log(all);
    for (int k = 0; k < modes; k++) {
      const double share = p[k] / all, d = v[i] - centre;
      sum[k] += share, mean[k] += share * d, square[k] += share * d * d;
    }
  }
  for (int k = 0; k < modes; k++) {
    if (!(sum[k] > 1e-9 * (double)n)) continue; /* dying out: BIC will not choose it */
    const double d = mean[k] / sum[k];
    m[k].weight_ratio = sum[k] / (double)n;
    m[k].mean_ratio = centre + d;
    m[k].sigma_ratio = fmax(least_sigma, sqrt(fmax(0, square[k] / sum[k] - d * d)));
  }
  return likelihood;
}

/* A start: sorted values cut at two quantiles. */
static void nbc__model_start(const double *v, size_t n, int modes, const double *cuts,
                             double least_sigma, nbc_model_mode *m) {
  for (int k = 0; k < modes; k++) {
    const size_t lo = k == 0 ? 0 : (size_t)(cuts[k - 1] * (double)n);
    const size_t hi = k + 1 == modes ? n : (size_t)(cuts[k] * (double)n);
    const double count = hi > lo ? (double)(hi - lo) : 1;
    double sum = 0, square = 0;
    for (size_t i = lo; i < hi; i++) {
      sum += v[i] - v[lo];
      square += (v[i] - v[lo]) * (v[i] - v[lo]);
    }
    m[k].weight_ratio = count / (double)n;
    m[k].mean_ratio = v[lo < n ? lo : n - 1] + sum / count;
    m[k].sigma_ratio = fmax(least_sigma, sqrt(fmax(0, square / count - sum / count * sum / count)));
  }
}

/* The best of several starts, which a few steps tell, then to the end. Rare slow modes need late
   cuts. */
static double nbc__model_mixture(const double *v, size_t n, int modes, double least_sigma,
                                 nbc_model_mode *best) {
  static const double cuts[][2] = {{0.5, 0.8},  {0.33, 0.67}, {0.8, 0.95}, {0.2, 0.6},
                                   {0.9, 0.98}, {0.1, 0.9},   {0.65, 0.97}};
  /* Expectation-maximisation only climbs to the hill that it starts on, so there are several
     starts. */
  double most = -INFINITY, was = -INFINITY;
  for (size_t c = 0; c < (modes > 1 ? sizeof cuts / sizeof *cuts : 1); c++) {
    nbc_model_mode m[NBC_MODEL_MAX_MODES];
    double now = 0;
    nbc__model_start(v, n, modes, cuts[c], least_sigma, m);
    for (int i = 0; i < 12; i++) now = nbc__model_em(v, n, modes, least_sigma, m);
    if (!(now > most)) continue;
    most = now;
    memcpy(best, m, (size_t)modes * sizeof *m);
  }
  for (int i = 0; i < 200 && most - was > 1e-6 * (double)n; i++)
    was = most, most = nbc__model_em(v, n, modes, least_sigma, best);
  return most;
}

/* The number of modes by Schwarz's criterion (BIC): a mode costs three parameters, and must gain
   more likelihood than that. */
NBC_API nbc_status nbc_model_fit_noise(const double *values, size_t count, nbc_model_noise *noise) {
  if (!values || !noise) return NBC_E_INVAL;
  enum { MOST = 1000 }; /* more are thinned out in sorted order: that keeps the distribution */
  memset(noise, 0, sizeof *noise);
  if (count == 0) return NBC_E_INVAL;
  for (size_t i = 0; i < count; i++)
    if (!isfinite(values[i])) return NBC_E_INVAL;
  double *v = count < SIZE_MAX / 32 ? (double *)NBC_MALLOC(count * sizeof *v) : NULL;
  if (!v) return NBC_E_NOMEM;
  memcpy(v, values, count * sizeof *v);
  qsort(v, count, sizeof *v, nbc__stats_order);
  const size_t n = count < MOST ? count : (size_t)MOST;
  for (size_t i = 0; i < n; i++) v[i] = v[(size_t)((double)i * (double)count / (double)n)];
  /* a mode may be narrow, not a point: then likelihood has no limit */
  const double spread = v[n - 1] - v[0], half = v[3 * n / 4] - v[n / 4];
  const double least_sigma = fmax(fmax(half / 50, spread * 1e-5), 1e-9 * fabs(v[n / 2]) + 1e-300);
  double least = INFINITY;
  noise->sample_count = count;
  for (int modes = 1; modes <= NBC_MODEL_MAX_MODES && n >= 10 * (size_t)modes * (modes > 1);
       modes++) {
    nbc_model_mode m[NBC_MODEL_MAX_MODES];
    const double likelihood = nbc__model_mixture(v, n, modes, least_sigma, m);
    /* n modes have n means, n spreads and n - 1 free weights. Twice the likelihood, as Schwarz's
       criterion is written. */
    const double criterion = (3 * modes - 1) * log((double)n) - 2 * likelihood;
    if (!(criterion < least)) continue;
    least = criterion;
    noise->mode_count = modes;
    memcpy(noise->modes, m, (size_t)modes * sizeof *m);
  }
  NBC_FREE(v);
  for (int i = 1; i < noise->mode_count; i++) /* ascending means */
    for (int k = i; k > 0 && noise->modes[k].mean_ratio < noise->modes[k - 1].mean_ratio; k--) {
      const nbc_model_mode m = noise->modes[k];
      noise->modes[k] = noise->modes[k - 1];
      noise->modes[k - 1] = m;
    }
  return NBC_OK;
}

/* ---- LogGP --------------------------------------------------------------------------------- */
enum {
  NBC__MODEL_BATCH = 16,
  NBC__MODEL_PINGS = 4,
  NBC__MODEL_TESTS = 32,
  NBC__MODEL_OPEN = NBC__MODEL_BATCH + 2
};
enum { NBC__MODEL_PING = 1, NBC__MODEL_STREAM, NBC__MODEL_ONE, NBC__MODEL_END };
/* The highest tags: the program's own messages have others. */
static const uint64_t nbc__model_tag = UINT64_MAX - 15;

typedef struct nbc__model_order_msg { /* what the lower rank wants the other to do */
  uint64_t what, size_bytes, count;
} nbc__model_order_msg;

typedef struct nbc__model_probe {
  nbc_transport t; /* a copy that records no calls */
  int peer;
  uint64_t tag;
  nbc_model_loggp_desc desc;
  nbc_op op[NBC__MODEL_OPEN];
  bool posted[NBC__MODEL_OPEN];
  nbc__model_order_msg order;
  nbc_model_loggp result;
  char *out, *in;
  uint64_t *visit_bytes; /* per visit */
  double *post_ns, *wait_ns, *late_ns;
  size_t visit_count;
  double clock_ns; /* what two readings in a row are apart */
} nbc__model_probe;

static int64_t nbc__model_now(const nbc__model_probe *m) { return m->t.now_ns(m->t.ctx); }

static nbc_status nbc__model_post(nbc__model_probe *m, int slot, bool send, void *data,
                                  uint64_t size_bytes) {
  memset(&m->op[slot], 0, sizeof m->op[slot]);
  const nbc_status status = send
                                ? nbc_isend(&m->t, data, size_bytes, m->peer, m->tag, &m->op[slot])
                                : nbc_irecv(&m->t, data, size_bytes, m->peer, m->tag, &m->op[slot]);
  m->posted[slot] = status == NBC_OK;
  return status;
}
static nbc_status nbc__model_finish(nbc__model_probe *m, int slot) {
  const nbc_status status = nbc_wait(&m->t, &m->op[slot], m->desc.limit_ns);
  if (m->op[slot].finished) m->posted[slot] = false;
  return status;
}
static nbc_status nbc__model_move(nbc__model_probe *m, bool send, void *data, uint64_t size_bytes) {
  const nbc_status status = nbc__model_post(m, NBC__MODEL_BATCH, send, data, size_bytes);
  return status == NBC_OK ? nbc__model_finish(m, NBC__MODEL_BATCH) : status;
}
static nbc_status nbc__model_command(nbc__model_probe *m, uint64_t what, uint64_t size_bytes,
                                     uint64_t count) {
  m->order.what = what, m->order.size_bytes = size_bytes, m->order.count = count;
  return nbc__model_move(m, true, &m->order, sizeof m->order);
}
static void nbc__model_compute(const nbc__model_probe *m, double d_ns) {
  const int64_t t_end_ns = nbc__model_now(m) + (int64_t)d_ns;
  if (m->desc.compute)
    m->desc.compute(m->desc.user, (int64_t)d_ns);
  else
    while (nbc__model_now(m) < t_end_ns) sched_yield(); /* the other rank may need this core */
}

/* ---- the higher rank: does what it is told ------------------------------------------------- */
static nbc_status nbc__model_answer(nbc__model_probe *m) {
  const uint64_t n = m->order.size_bytes;
  nbc_status status = NBC_OK;
  switch (m->order.what) {
  case NBC__MODEL_PING:
    for (uint64_t i = 0; i < m->order.count && status == NBC_OK; i++) {
      status = nbc__model_move(m, false, m->in, n);
      if (status == NBC_OK) status = nbc__model_move(m, true, m->out, n);
    }
    return status;
  /* So no message of the stream waits for its receive: the gap is that of the network and of the
     sender. */
  case NBC__MODEL_STREAM: /* receives first, then "ready", then "all here" */
    for (int i = 0; i < (int)m->order.count && status == NBC_OK; i++)
      status = nbc__model_post(m, i, false, m->in + (uint64_t)i * n, n);
    if (status == NBC_OK) status = nbc__model_move(m, true, m->out, 1);
    for (int i = 0; i < (int)m->order.count && status == NBC_OK; i++)
      status = nbc__model_finish(m, i);
    return status == NBC_OK ? nbc__model_move(m, true, m->out, 1) : status;
  case NBC__MODEL_ONE: return nbc__model_move(m, true, m->out, n);
  default: return NBC_E_MISMATCH;
  }
}

static nbc_status nbc__model_follow(nbc__model_probe *m) {
  for (;;) {
    nbc_status status = nbc__model_move(m, false, &m->order, sizeof m->order);
    if (status != NBC_OK) return status;
    if (m->order.what == NBC__MODEL_END) break;
    if (m->order.size_bytes > m->desc.max_bytes || m->order.count > NBC__MODEL_BATCH)
      return NBC_E_MISMATCH;
    status = nbc__model_answer(m);
    if (status != NBC_OK) return status;
  }
  m->tag++;
  const nbc_status status = nbc__model_move(m, false, &m->result, sizeof m->result);
  /* pointers of another process */
  memset(&m->result.time_samples, 0, sizeof m->result.time_samples);
  memset(&m->result.gap_samples, 0, sizeof m->result.gap_samples);
  return status == NBC_OK && m->result.range_count == 0 ? NBC_E_CANCELLED : status;
}

/* ---- the lower rank: measures -------------------------------------------------------------- */
/* count messages until the answer; the posting calls' own time in *post_ns (the shortest of them is
   theirs alone, the others may have waited for the NIC). */
static nbc_status nbc__model_stream(nbc__model_probe *m, uint64_t n, int count, double *d_ns,
                                    double *post_ns) {
  /* The clock starts when the other side is ready and stops with its answer. One answer is in the
     time of one message as in the time of many: the difference of the two times is free of it. */
  nbc_status status = nbc__model_command(m, NBC__MODEL_STREAM, n, (uint64_t)count);
  if (status == NBC_OK) status = nbc__model_move(m, false, m->in, 1);
  const int64_t t_begin_ns = nbc__model_now(m);
  int64_t t_before_ns = t_begin_ns;
  *post_ns = INFINITY;
  for (int i = 0; i < count && status == NBC_OK; i++) {
    status = nbc__model_post(m, i, true, m->out, n);
    const int64_t t_after_ns = nbc__model_now(m);
    *post_ns = fmin(*post_ns, fmax(0, (double)(t_after_ns - t_before_ns) - m->clock_ns));
    t_before_ns = t_after_ns;
  }
  for (int i = 0; i < count && status == NBC_OK; i++) status = nbc__model_finish(m, i);
  if (status == NBC_OK) status = nbc__model_move(m, false, m->in, 1);
  *d_ns = (double)(nbc__model_now(m) - t_begin_ns);
  return status;
}

/* Receives a message that has been here for long. post: its receive was posted before it came. */
static nbc_status nbc__model_late(nbc__model_probe *m, uint64_t n, double delay_ns, bool posted,
                                  double *d_ns) {
  nbc_status status = posted ? nbc__model_post(m, 0, false, m->in, n) : NBC_OK;
  if (posted && status == NBC_OK) { /* nothing can have come yet: tests in vain */
    const int64_t t_begin_ns = nbc__model_now(m);
    for (int i = 0; i < NBC__MODEL_TESTS && status == NBC_OK; i++)
      if (nbc_test(&m->t, &m->op[0]) != NBC_PENDING) status = NBC_E_MISMATCH;
    const double d_test_ns =
        ((double)(nbc__model_now(m) - t_begin_ns) - m->clock_ns) / (int)NBC__MODEL_TESTS;
    m->result.min_test_ns = fmin(m->result.min_test_ns, fmax(0, d_test_ns));
  }
  /* The other side sends at once; `delay_ns` of computation later the message has been here for
     long, so what the receive still costs is overhead and no waiting. */
  if (status == NBC_OK) status = nbc__model_command(m, NBC__MODEL_ONE, n, 1);
  if (status != NBC_OK) return status;
  nbc__model_compute(m, delay_ns);
  const int64_t t_begin_ns = nbc__model_now(m);
  if (!posted) status = nbc__model_post(m, 0, false, m->in, n);
  if (status == NBC_OK) status = nbc__model_finish(m, 0);
  *d_ns = fmax(0, (double)(nbc__model_now(m) - t_begin_ns) - m->clock_ns);
  return status;
}

static void nbc__model_keep(nbc_model_series *series, uint64_t n, double d_ns) {
  series->size_bytes[series->count] = n;
  series->time_ns[series->count++] = fmax(d_ns, 0.1);
}

static nbc_status nbc__model_visit(nbc__model_probe *m, uint64_t n) {
  double one_ns, batch_ns, late_ns, wait_ns, post_ns, longest_ns = 0;
  nbc_status status = nbc__model_command(m, NBC__MODEL_PING, n, NBC__MODEL_PINGS);
  for (int i = 0; i < NBC__MODEL_PINGS && status == NBC_OK; i++) {
    const int64_t t_begin_ns = nbc__model_now(m);
    status = nbc__model_move(m, true, m->out, n);
    if (status == NBC_OK) status = nbc__model_move(m, false, m->in, n);
    const double d_ns = 0.5 * (double)(nbc__model_now(m) - t_begin_ns);
    longest_ns = fmax(longest_ns, d_ns);
    if (d_ns < 0 && status == NBC_OK) status = NBC_E_CLOCK;
    if (i > 0 && status == NBC_OK)
      nbc__model_keep(&m->result.time_samples, n, d_ns); /* 0: warm-up */
  }
  if (status == NBC_OK) status = nbc__model_stream(m, n, 1, &one_ns, &post_ns);
  if (status == NBC_OK) status = nbc__model_stream(m, n, NBC__MODEL_BATCH, &batch_ns, &post_ns);
  /* Posted before the message came: o_r. Posted after it: what an unexpected message costs more (a
     copy, or the round trip of a rendezvous). */
  if (status == NBC_OK) status = nbc__model_late(m, n, 2 * longest_ns + 2000, true, &wait_ns);
  if (status == NBC_OK) status = nbc__model_late(m, n, 2 * longest_ns + 2000, false, &late_ns);
  if (status != NBC_OK) return status;
  /* Of a stream of k messages only the gaps between them, k - 1 of them, are what one message alone
     does not have. */
  nbc__model_keep(&m->result.gap_samples, n, (batch_ns - one_ns) / (NBC__MODEL_BATCH - 1));
  m->result.min_post_ns = fmin(m->result.min_post_ns, post_ns);
  m->result.min_wait_ns = fmin(m->result.min_wait_ns, wait_ns);
  m->visit_bytes[m->visit_count] = n;
  m->post_ns[m->visit_count] = post_ns;
  m->wait_ns[m->visit_count] = wait_ns;
  m->late_ns[m->visit_count++] = late_ns;
  return NBC_OK;
}

/* 1, 2, 3, ... and so many per doubling. */
static int nbc__model_sizes(const nbc_model_loggp_desc *d, uint64_t *sizes) {
  int count = 0;
  for (int i = 0; count < NBC_MODEL_MAX_SIZES; i++) {
    const double exact = pow(2, (double)i / d->sizes_per_octave);
    const uint64_t n = exact < (double)d->max_bytes ? (uint64_t)(exact + 0.5) : d->max_bytes;
    if (count == 0 || n > sizes[count - 1]) sizes[count++] = n;
    if (n == d->max_bytes) break;
  }
  return count;
}

/* Disturbances only lengthen a call: the lower quartile of those of some sizes. */
static double nbc__model_usual(const nbc__model_probe *m, const double *values,
                               uint64_t first_bytes, uint64_t last_bytes, double *scratch) {
  nbc_summary s;
  size_t count = 0;
  for (size_t i = 0; i < m->visit_count; i++)
    if (m->visit_bytes[i] >= first_bytes && m->visit_bytes[i] <= last_bytes)
      scratch[count++] = values[i];
  return count > 0 && nbc_summarize(scratch, count, 0, &s) == NBC_OK ? s.q1 : 0;
}

/* Fits, and the parameters of each range: overheads at its smallest sizes, where they are
   overheads. */
static nbc_status nbc__model_conclude(nbc__model_probe *m, double *scratch, nbc_error *err) {
  nbc_model_loggp *l = &m->result;
  nbc_status status = nbc_model_fit(l->time_samples.size_bytes, l->time_samples.time_ns,
                                    l->time_samples.count, &m->desc.fit, &l->time, err);
  if (status == NBC_OK)
    status = nbc_model_fit(l->gap_samples.size_bytes, l->gap_samples.time_ns, l->gap_samples.count,
                           &m->desc.fit, &l->gap, err);
  if (status != NBC_OK) return status;
  l->range_count = l->time.range_count;
  for (int r = 0; r < l->range_count; r++) {
    nbc_model_loggp_range *g = &l->ranges[r];
    g->first_bytes = l->time.ranges[r].first_bytes;
    g->last_bytes = l->time.ranges[r].last_bytes;
    /* Up to four times the smallest size: overheads grow with the size where the call copies. */
    const uint64_t upto = g->first_bytes > g->last_bytes / 4 ? g->last_bytes : 4 * g->first_bytes;
    g->send_overhead_ns = nbc__model_usual(m, m->post_ns, g->first_bytes, upto, scratch);
    g->recv_overhead_ns = nbc__model_usual(m, m->wait_ns, g->first_bytes, upto, scratch);
    g->late_recv_ns = nbc__model_usual(m, m->late_ns, g->first_bytes, upto, scratch);
    /* G is what a byte more costs in a stream, where the network is full; a byte of a lone message
       also passes the copies at both its ends, one after the other. g is the gap of the range's
       smallest messages. */
    g->per_byte_ns = nbc_model_range_of(&l->gap, g->last_bytes)->per_byte_ns;
    g->gap_ns = nbc_model_time_ns(&l->gap, g->first_bytes);
    /* Half of a round trip of one byte is o_s + L + o_r [Culler et al. 1993; Alexandrov et al.
       1995]: what is left of it without the two overheads is L. */
    g->latency_ns = fmax(0, l->time.ranges[r].base_ns + l->time.ranges[r].per_byte_ns -
                                g->send_overhead_ns - g->recv_overhead_ns);
  }
  return NBC_OK;
}

/* Whichever ends it first: all rounds, or the time. */
static void nbc__model_tell(nbc__model_probe *m, double visited_ratio, int64_t t_begin_ns) {
  if (!m->desc.on_progress) return;
  const double time_ratio =
      (double)(nbc__model_now(m) - t_begin_ns) / (double)m->desc.time_limit_ns;
  const double done_ratio = fmax(visited_ratio, time_ratio);
  m->desc.on_progress(m->desc.progress_user, done_ratio < 1 ? done_ratio : 1);
}

static nbc_status nbc__model_rounds(nbc__model_probe *m, nbc_error *err) {
  uint64_t sizes[NBC_MODEL_MAX_SIZES];
  int order[NBC_MODEL_MAX_SIZES];
  nbc_model_loggp *l = &m->result;
  const int count = nbc__model_sizes(&m->desc, sizes);
  const size_t visits = (size_t)count * (size_t)m->desc.round_count, pings = NBC__MODEL_PINGS - 1;
  /* one block for the visits and scratch; two more for the samples */
  m->visit_bytes = (uint64_t *)NBC_MALLOC(visits * 5 * sizeof(double));
  l->time_samples.size_bytes = (uint64_t *)NBC_MALLOC(visits * pings * 2 * sizeof(double));
  l->gap_samples.size_bytes = (uint64_t *)NBC_MALLOC(visits * 2 * sizeof(double));
  if (!m->visit_bytes || !l->time_samples.size_bytes || !l->gap_samples.size_bytes)
    return NBC_E_NOMEM;
  m->post_ns = (double *)(void *)(m->visit_bytes + visits);
  m->wait_ns = m->post_ns + visits;
  m->late_ns = m->wait_ns + visits;
  l->time_samples.time_ns = (double *)(void *)(l->time_samples.size_bytes + visits * pings);
  l->gap_samples.time_ns = (double *)(void *)(l->gap_samples.size_bytes + visits);
  l->min_post_ns = l->min_test_ns = l->min_wait_ns = INFINITY;
  /* What two readings of the clock are apart at least is taken from every short call: it is no part
     of the call. */
  m->clock_ns = INFINITY;
  for (int i = 0; i < 100; i++) {
    const int64_t t_ns = nbc__model_now(m);
    m->clock_ns = fmin(m->clock_ns, (double)(nbc__model_now(m) - t_ns));
  }
  nbc_status status = NBC_OK;
  const int64_t t_begin_ns = nbc__model_now(m);
  for (int round = 0; round < m->desc.round_count && status == NBC_OK; round++) {
    if (round >= 2 && nbc__model_now(m) - t_begin_ns > m->desc.time_limit_ns) break;
    /* Each round in an order of its own: what disturbs the machine for a while spreads over sizes,
       instead of looking like a range. */
    nbc_shuffle(order, count, m->desc.seed + (uint64_t)round);
    for (int i = 0; i < count && status == NBC_OK; i++) {
      status = nbc__model_visit(m, sizes[order[i]]);
      nbc__model_tell(m, (double)(round * count + i + 1) / (double)visits, t_begin_ns);
    }
    l->round_count = round + 1;
  }
  return status == NBC_OK ? nbc__model_conclude(m, m->late_ns + visits, err) : status;
}

/* The other rank is told the result, or that there is none: range_count 0. */
static nbc_status nbc__model_lead(nbc__model_probe *m, nbc_error *err) {
  const nbc_status failed = nbc__model_rounds(m, err);
  if (failed <= NBC_E_TRANSPORT) return failed; /* it cannot be told */
  if (failed != NBC_OK) m->result.range_count = 0;
  nbc_status status = nbc__model_command(m, NBC__MODEL_END, 0, 0);
  m->tag++; /* follows that order at once */
  if (status == NBC_OK) status = nbc__model_move(m, true, &m->result, sizeof m->result);
  return failed == NBC_OK ? status : failed;
}

static nbc_status nbc__model_defaults(nbc_model_loggp_desc *d, nbc_error *err) {
  if (d->max_bytes == 0) d->max_bytes = 1 << 20;
  if (d->sizes_per_octave == 0) d->sizes_per_octave = 4;
  if (d->round_count == 0) d->round_count = 8;
  if (d->time_limit_ns == 0) d->time_limit_ns = INT64_C(10000000000);
  if (d->limit_ns == 0) d->limit_ns = INT64_C(30000000000);
  const char *bad = d->max_bytes > (uint64_t)1 << 30                     ? "max_bytes"
                    : d->sizes_per_octave < 0 || d->sizes_per_octave > 8 ? "sizes_per_octave"
                    : d->round_count < 0 || d->round_count > 10000       ? "round_count"
                    : d->time_limit_ns < 0                               ? "time_limit_ns"
                    : d->limit_ns < 0                                    ? "limit_ns"
                                                                         : NULL;
  return bad ? nbc__status_fail(err, NBC_E_INVAL, 0, "field %s: out of range", bad) : NBC_OK;
}

/* An operation that did not finish still points into the probe: rather lost than overwritten. */
static bool nbc__model_stuck(nbc__model_probe *m) {
  bool stuck = false;
  for (int i = 0; i < NBC__MODEL_OPEN; i++) {
    if (!m->posted[i]) continue;
    if (m->t.cancel) m->t.cancel(m->t.ctx, &m->op[i]);
    for (int k = 0; k < 8 && !m->op[i].finished; k++) m->t.progress(m->t.ctx);
    stuck = stuck || !m->op[i].finished;
  }
  return stuck;
}

NBC_API nbc_status nbc_model_measure(const nbc_transport *t, int peer,
                                     const nbc_model_loggp_desc *desc, nbc_model_loggp *loggp,
                                     nbc_error *err) {
  if (!loggp) return nbc__status_fail(err, NBC_E_INVAL, 0, "loggp is NULL");
  memset(loggp, 0, sizeof *loggp);
  if (!t || peer < 0 || peer >= t->size || peer == t->rank)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "peer must be another rank of the transport");
  nbc__model_probe *m = (nbc__model_probe *)NBC_MALLOC(sizeof *m);
  if (!m) return nbc__status_fail(err, NBC_E_NOMEM, 0, "out of memory");
  memset(m, 0, sizeof *m);
  m->t = *t;
  /* The copy has no recorder: the measurement is none of the program's calls. */
  m->t.recorder = NULL;
  m->peer = peer;
  m->tag = nbc__model_tag;
  if (desc) m->desc = *desc;
  nbc_status status = nbc__model_defaults(&m->desc, err);
  const size_t bytes = (size_t)m->desc.max_bytes;
  if (status != NBC_OK) {
    NBC_FREE(m);
    return status;
  }
  m->out = (char *)NBC_MALLOC(bytes);
  m->in = (char *)NBC_MALLOC(bytes * (t->rank < peer ? 1 : NBC__MODEL_BATCH));
  if (!m->out || !m->in)
    status = nbc__status_fail(err, NBC_E_NOMEM, 0, "out of memory");
  else { /* pages there before the clock runs */
    memset(m->out, 1, bytes);
    memset(m->in, 1, bytes * (t->rank < peer ? 1 : NBC__MODEL_BATCH));
    if (err) err->status = NBC_OK;
    status = t->rank < peer ? nbc__model_lead(m, err) : nbc__model_follow(m);
    if (status == NBC_E_TIMEOUT)
      nbc__status_fail(err, status, 0, "rank %d: rank %d did not answer within %.3g s", t->rank,
                       peer, (double)m->desc.limit_ns * 1e-9);
    else if (status != NBC_OK && err && err->status == NBC_OK)
      nbc__status_fail(err, status, 0, "rank %d: with rank %d: %s", t->rank, peer,
                       nbc_status_text(status));
  }
  if (status == NBC_OK)
    *loggp = m->result;
  else
    nbc_model_free(&m->result);
  NBC_FREE(m->visit_bytes);
  if (!nbc__model_stuck(m)) {
    NBC_FREE(m->out);
    NBC_FREE(m->in);
    NBC_FREE(m);
  }
  return status;
}

NBC_API void nbc_model_free(nbc_model_loggp *loggp) {
  if (!loggp) return;
  NBC_FREE(loggp->time_samples.size_bytes);
  NBC_FREE(loggp->gap_samples.size_bytes);
  memset(&loggp->time_samples, 0, sizeof loggp->time_samples);
  memset(&loggp->gap_samples, 0, sizeof loggp->gap_samples);
}

/* What portals_model.h draws messages from: o, a way and event_ns are the fitted line together. */
static void nbc__model_write_range(uint64_t first_bytes, const nbc_model_loggp_range *g,
                                   const nbc_model_range *time, double event_ns, FILE *out) {
  const double overhead_ns = round(fmax(g->send_overhead_ns, 0)),
               per_byte_ns = fmax(time->per_byte_ns, 0);
  fprintf(out, "loggp_range %llu %.0f %.0f %.0f %.6g %.6g", (unsigned long long)first_bytes,
          time->base_ns - overhead_ns - event_ns + per_byte_ns, overhead_ns, fmax(g->gap_ns, 0),
          per_byte_ns, fmax(g->per_byte_ns, 0));
  for (int k = 0; k < time->noise.mode_count; k++) {
    const nbc_model_mode *mode = &time->noise.modes[k];
    if (mode->weight_ratio > 1e-6 && mode->mean_ratio > 1e-6 && mode->mean_ratio < 1e6)
      fprintf(out, " %.6g %.6g %.6g", mode->weight_ratio, mode->mean_ratio,
              fmin(mode->sigma_ratio, 1e6));
  }
  fputc('\n', out);
}
NBC_API nbc_status nbc_model_write_platform(const nbc_model_loggp *l, FILE *out) {
  if (!l || !out || l->range_count < 1) return NBC_E_INVAL;
  const locale_t before = nbc__locale_begin();
  const nbc_model_loggp_range *low = &l->ranges[0], *high = &l->ranges[l->range_count - 1];
  fprintf(out, "# LogGP as measured: o_s %.1f ns, o_r %.1f ns\n", low->send_overhead_ns,
          low->recv_overhead_ns);
  fprintf(out, "loggp_latency_ns %.0f\nloggp_overhead_ns %.0f\nloggp_gap_ns %.0f\n",
          low->latency_ns, 0.5 * (low->send_overhead_ns + low->recv_overhead_ns), low->gap_ns);
  if (high->per_byte_ns > 0) fprintf(out, "loggp_bytes_per_s %.6g\n", 1e9 / high->per_byte_ns);
  const double event_ns = round(fmax(low->recv_overhead_ns, 0));
  fprintf(out, "cpu_event_ns %.0f\n", event_ns);
  fprintf(
      out,
      "# In the ranges is what messages took with the library's own protocols: pm_run --eager %llu "
      "keeps the simulated ones out.\n",
      (unsigned long long)high->last_bytes);
  for (int r = 0; r < l->range_count; r++) {
    const nbc_model_loggp_range *g = &l->ranges[r];
    const nbc_model_range *time = &l->time.ranges[r];
    fprintf(
        out,
        "# %llu ... %llu B: %.1f ns + %.5g ns/B; o_s %.1f o_r %.1f L %.1f g %.1f ns, G %.5g ns/B\n",
        (unsigned long long)g->first_bytes, (unsigned long long)g->last_bytes, time->base_ns,
        time->per_byte_ns, g->send_overhead_ns, g->recv_overhead_ns, g->latency_ns, g->gap_ns,
        g->per_byte_ns);
    nbc__model_write_range(r ? g->first_bytes : 0, g, time, event_ns, out);
  }
  nbc__locale_end(before);
  return ferror(out) ? NBC_E_IO : NBC_OK;
}

NBC_API nbc_status nbc_model_write_dedicated(const nbc_model_loggp *l, FILE *out) {
  if (!l || !out || l->range_count < 1) return NBC_E_INVAL;
  const locale_t before = nbc__locale_begin();
  fprintf(
      out,
      "# the shortest calls as measured; times and counts of the application are to be added\n");
  fprintf(out, "min_nb_s %.4e\nmin_test_s %.4e\nmin_wait_s %.4e\n", l->min_post_ns * 1e-9,
          l->min_test_ns * 1e-9, l->min_wait_ns * 1e-9);
  nbc__locale_end(before);
  return ferror(out) ? NBC_E_IO : NBC_OK;
}
#ifdef NBC_LINES
#line 1 "src/time/dedicated.c"
#endif
/* dedicated.c: the dedicated-core model: would a core of its own for communication pay? */





/* ============================================================================================== */
/* [DEDICATED] 22. The dedicated-core model                                                       */
/* ============================================================================================== */
typedef struct nbc__ded_field {
  const char *name;
  size_t offset_bytes;
} nbc__ded_field;
#define NBC__DED_FIELD(field)                                                                      \
  { #field, offsetof(nbc_dedicated_input, field) }
/* One list for who checks and who reads a file, so that what is added to it is in both. */
static const nbc__ded_field nbc__ded_fields[] =
    {/* all >= 0 */
     NBC__DED_FIELD(noprog_s),   NBC__DED_FIELD(comp_s),     NBC__DED_FIELD(nb_count),
     NBC__DED_FIELD(min_nb_s),   NBC__DED_FIELD(test_count), NBC__DED_FIELD(min_test_s),
     NBC__DED_FIELD(wait_count), NBC__DED_FIELD(min_wait_s), NBC__DED_FIELD(blocking_count),
     NBC__DED_FIELD(blocking_s), NBC__DED_FIELD(other_s),    NBC__DED_FIELD(alpha_ratio),
     NBC__DED_FIELD(waited_s),   NBC__DED_FIELD(visible_s)};
enum { NBC__DED_FIELDS = sizeof nbc__ded_fields / sizeof *nbc__ded_fields };

static double *nbc__ded_at(nbc_dedicated_input *input, int i) {
  return (double *)(void *)((char *)input + nbc__ded_fields[i].offset_bytes);
}

static nbc_status nbc__ded_check(const nbc_dedicated_input *in, nbc_error *err) {
  nbc_dedicated_input *const fields = (nbc_dedicated_input *)(uintptr_t)in; /* only read */
  for (int i = 0; i < NBC__DED_FIELDS; i++) {
    const double v = *nbc__ded_at(fields, i);
    /* Not "v < 0": a NaN fails every comparison, so it is refused here as well. */
    if (!(v >= 0) || !(v < 1e300))
      return nbc__status_fail(err, NBC_E_RANGE, 0, "%s: must be >= 0, got %g",
                              nbc__ded_fields[i].name, v);
  }
  if (in->core_count < 2)
    return nbc__status_fail(err, NBC_E_RANGE, 0, "core_count: must be >= 2, got %d",
                            in->core_count);
  if (in->alpha_ratio > 1)
    return nbc__status_fail(err, NBC_E_RANGE, 0, "alpha_ratio: must be in 0..1, got %g",
                            in->alpha_ratio);
  if (in->scaling_size > NBC_DEDICATED_MAX_SCALING || in->request_size > NBC_DEDICATED_MAX_REQUESTS)
    return nbc__status_fail(err, NBC_E_RANGE, 0,
                            "scaling_size or request_size: more than the array holds");
  for (size_t i = 0; i < in->scaling_size; i++)
    if (in->scaling_threads[i] < 1 || !(in->scaling_s[i] > 0) ||
        (i && in->scaling_threads[i] <= in->scaling_threads[i - 1]))
      return nbc__status_fail(err, NBC_E_RANGE, 0,
                              "scaling: threads must ascend, times be > 0 (entry %zu)", i + 1);
  for (size_t i = 0; i < in->request_size; i++)
    if (!(in->requests[i].request_count >= 0) || !(in->requests[i].xfer_s >= 0) ||
        !(in->requests[i].comp_s >= 0))
      return nbc__status_fail(err, NBC_E_RANGE, 0, "request %zu: must be >= 0", i + 1);
  return NBC_OK;
}

/* Speeds and not times: where computation scales, speed is a straight line over threads, while the
   time c / n lies below each chord of its curve: a time between two entries would be too long.
   A list that ends at N - 1 or below, or begins at N or above, says nothing of a missing thread:
   the factor is 1 then, H3 fails, and so it shows. */
/* Time on n threads from the list: speeds are interpolated, outside the list they stay as at its
   end. */
static double nbc__ded_scaled_s(const nbc_dedicated_input *in, int n) {
  size_t i = 0;
  while (i < in->scaling_size && in->scaling_threads[i] < n) i++;
  if (i == in->scaling_size) return in->scaling_s[i - 1];
  if (i == 0 || in->scaling_threads[i] == n) return in->scaling_s[i];
  const double a = in->scaling_threads[i - 1], b = in->scaling_threads[i];
  const double speed_a = 1 / in->scaling_s[i - 1], speed_b = 1 / in->scaling_s[i];
  return 1 / (speed_a + (speed_b - speed_a) * (n - a) / (b - a));
}

/* H3: on N - 1 of N cores a computation takes N / (N - 1) times as long.
   Held, when what was measured is off by no more than half of what the missing core costs; else the
   refined mode takes the measured factor. */
/* [R §6.1.2] takes linear scaling as the worst case: where threads scale badly, one less costs
   less, and may even make the computation faster. There the plain formula is too careful. */
static void nbc__ded_scaling(const nbc_dedicated_input *in, bool refined,
                             nbc_dedicated_result *out) {
  const double linear = (double)in->core_count / (in->core_count - 1);
  out->comp_s = in->comp_s * linear;
  if (!in->scaling_size) {
    snprintf(out->evidence[2], sizeof out->evidence[2],
             "no times for other numbers of threads are given");
    return;
  }
  const double measured =
      nbc__ded_scaled_s(in, in->core_count - 1) / nbc__ded_scaled_s(in, in->core_count);
  out->holds[2] =
      fabs(measured - linear) <= 0.5 * (linear - 1) ? NBC_DEDICATED_HOLDS : NBC_DEDICATED_FAILS;
  snprintf(out->evidence[2], sizeof out->evidence[2],
           "%d instead of %d threads take %.4g times as long; linear scaling: %.4g",
           in->core_count - 1, in->core_count, measured, linear);
  if (refined) out->comp_s = in->comp_s * measured;
}

/* H1: behind each transfer there is computation enough, so that a wait only costs its
   call. It holds while what stays visible is below 1 % of the computation. The refined mode adds
   that. The classes may have come from fewer or more waits than wait_count: t_min_wait is paid for
   each wait, and what exceeds it for each transfer. */
/* Why it matters [R §6.3]: NAS BT-MZ computes nothing between post and wait, and for its class D on
   128 nodes the formula gives a speed-up above 3 where 0.96 was measured.

     post             wait                 end of transfer
      |---- comp_s ----|------ left_s ------|
                       |min_wait_s| beyond_s|     the first per wait, the second per transfer */
static void nbc__ded_waits(const nbc_dedicated_input *in, bool refined, nbc_dedicated_result *out) {
  double exposed_s = 0, short_count = 0, all_count = 0, beyond_s = 0;
  out->wait_s = in->wait_count * in->min_wait_s;
  if (!in->request_size) {
    snprintf(out->evidence[0], sizeof out->evidence[0],
             "computation between post and wait was not measured");
    return;
  }
  for (size_t i = 0; i < in->request_size; i++) {
    const nbc_dedicated_request *const r = &in->requests[i];
    const double left_s = r->xfer_s - r->comp_s;
    all_count += r->request_count;
    if (left_s <= 0) continue;
    short_count += r->request_count;
    exposed_s += r->request_count * left_s;
    if (left_s > in->min_wait_s) beyond_s += r->request_count * (left_s - in->min_wait_s);
  }
  out->holds[0] = exposed_s <= 0.01 * in->comp_s ? NBC_DEDICATED_HOLDS : NBC_DEDICATED_FAILS;
  snprintf(out->evidence[0], sizeof out->evidence[0],
           "%.3g of %.3g transfers have less computation before their wait than they take: %.3g s "
           "stay visible",
           short_count, all_count, exposed_s);
  if (refined) out->wait_s += beyond_s;
}

NBC_API nbc_status nbc_dedicated_predict(const nbc_dedicated_input *input, bool refined,
                                         nbc_dedicated_result *result, nbc_error *err) {
  if (!input || !result)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "input and result: must not be NULL");
  const nbc_status status = nbc__ded_check(input, err);
  memset(result, 0, sizeof *result);
  if (status) return status;
  const locale_t before = nbc__locale_begin();
  nbc__ded_scaling(input, refined, result);
  nbc__ded_waits(input, refined, result);
  /* H2: without the core nothing moves outside of calls, so there is all to win */
  if (input->progressed_ratio < 0)
    snprintf(result->evidence[1], sizeof result->evidence[1],
             "overlap without the dedicated core was not measured");
  else {
    result->holds[1] = input->progressed_ratio <= 0.1 ? NBC_DEDICATED_HOLDS : NBC_DEDICATED_FAILS;
    snprintf(result->evidence[1], sizeof result->evidence[1],
             "%.1f %% of the transfer time is hidden already without it",
             100 * input->progressed_ratio);
  }
  nbc__locale_end(before);
  const double alpha = input->alpha_ratio;
  /* [R eq. 6.1], term by term. [R §6.2]: blocking calls that stay blocking are priced as measured,
     though part of that time may have been progress of others, which the core would take over. */
  result->nb_s = input->nb_count * input->min_nb_s;
  result->test_s = input->test_count * input->min_test_s;
  result->turned_s = alpha * input->blocking_count * (input->min_nb_s + input->min_wait_s);
  result->blocking_s = (1 - alpha) * input->blocking_s;
  result->other_s = input->other_s;
  result->total_s = result->comp_s + result->nb_s + result->test_s + result->wait_s +
                    result->turned_s + result->blocking_s + result->other_s;
  /* Waiting that neither the transfers nor the calls themselves explain: for ranks that were late.
     The interval of the speed-up goes from all of it staying to all of it ending. */
  result->others_s =
      fmax(0, input->waited_s - input->visible_s - input->wait_count * input->min_wait_s -
                  input->test_count * input->min_test_s);
  if (input->noprog_s > 0 && result->total_s > 0) {
    result->speedup_ratio = input->noprog_s / result->total_s;
    result->least_speedup_ratio = input->noprog_s / (result->total_s + result->others_s);
  }
  return NBC_OK;
}

/* ---- input --------------------------------------------------------------------------------- */
static void nbc__ded_clear(nbc_dedicated_input *in, const char *name) {
  memset(in, 0, sizeof *in);
  snprintf(in->name, sizeof in->name, "%s", name ? name : "");
  in->progressed_ratio = -1;
}

/* n calls of one kind, in total and the shortest. */
/* [R §6.2]: the shortest call seen stands for one without progress. That rests on at least one call
   of its kind having met a request that was over already. */
static void nbc__ded_calls(nbc_dedicated_input *in, nbc_category category, double n, double total_s,
                           double min_s) {
  double *count = NULL, *least_s = NULL;
  if (n <= 0) return;
  switch (category) {
  case NBC_CATEGORY_NONBLOCKING: count = &in->nb_count, least_s = &in->min_nb_s; break;
  case NBC_CATEGORY_TEST: count = &in->test_count, least_s = &in->min_test_s; break;
  case NBC_CATEGORY_WAIT: count = &in->wait_count, least_s = &in->min_wait_s; break;
  case NBC_CATEGORY_BLOCKING: in->blocking_count += n, in->blocking_s += total_s; return;
  default: in->other_s += total_s; return;
  }
  if (*count <= 0 || min_s < *least_s) *least_s = min_s;
  *count += n;
}

/* A report can hold more classes than there is room for; the last place then holds their mean. What
   stays visible, max(0, xfer - comp), is convex, so a mean shows at most as much of it as its
   classes do: the wait may come out too short, never too long. */
static void nbc__ded_add_request(nbc_dedicated_input *in, double n, double xfer_s, double comp_s) {
  if (n <= 0) return;
  if (in->request_size < NBC_DEDICATED_MAX_REQUESTS) {
    nbc_dedicated_request *const r = &in->requests[in->request_size++];
    r->request_count = n, r->xfer_s = xfer_s, r->comp_s = comp_s;
    return;
  }
  nbc_dedicated_request *const last =
      &in->requests[NBC_DEDICATED_MAX_REQUESTS - 1]; /* full: mean of the rest */
  const double all = last->request_count + n;
  last->xfer_s = (last->xfer_s * last->request_count + xfer_s * n) / all;
  last->comp_s = (last->comp_s * last->request_count + comp_s * n) / all;
  last->request_count = all;
}

NBC_API void nbc_dedicated_from_report(const nbc_report *report, nbc_dedicated_input *input) {
  if (!report || !input) return;
  const double processes = report->process_count > 0 ? report->process_count : 1;
  nbc__ded_clear(input, report->program);
  input->noprog_s = (double)report->wall_ns * 1e-9 / processes;
  input->comp_s = (double)report->comp_ns * 1e-9 / processes;
  for (size_t i = 0; i < report->call_count; i++) {
    const nbc_call *const c = &report->calls[i];
    nbc__ded_calls(input, nbc_kind_category(c->kind), (double)c->count / processes,
                   (double)c->total_ns * 1e-9 / processes, (double)c->min_ns * 1e-9);
    if (nbc_kind_category(c->kind) == NBC_CATEGORY_WAIT ||
        nbc_kind_category(c->kind) == NBC_CATEGORY_TEST)
      input->waited_s += (double)c->total_ns * 1e-9 / processes;
  }
  /* What is certainly hidden. So H2 fails only where overlap is proved. */
  if (report->total.xfer_ns > 0)
    input->progressed_ratio = (double)report->total.min_overlap_ns / (double)report->total.xfer_ns;
  for (size_t i = 0; i < report->cell_count; i++) {
    const nbc_cell *const c = &report->cells[i];
    if (!c->t.count || nbc_kind_category(c->kind) != NBC_CATEGORY_NONBLOCKING) continue;
    const double xfer_s = (double)c->t.xfer_ns * 1e-9 / (double)c->t.count;
    input->visible_s += (double)(c->t.xfer_ns - c->t.min_overlap_ns) * 1e-9 / processes;
    /* Cases 1 and 2 only: of a transfer with one stamp, nobody knows what was computed before. */
    for (int bin = 0; bin < NBC_HIST_BINS; bin++) /* middle of [2^(bin-1), 2^bin) ns */
      nbc__ded_add_request(input, (double)c->available_count[bin] / processes, xfer_s,
                           bin ? 0.75e-9 * ldexp(1, bin) : 0);
    nbc__ded_add_request(input, (double)c->t.case_count[0] / processes, xfer_s,
                         0); /* posted and waited for in one call */
  }
}

/* One line after the other, without its end, as a terminated string. ret false: no more */
typedef struct nbc__ded_lines {
  const char *text;
  size_t text_bytes, at;
  int number;
  char line[512];
} nbc__ded_lines;

/* A NUL becomes a '?': as a NUL it would hide the rest of its line, and a damaged file would pass
   for a whole one. What of a line is beyond 511 characters is left out. */
static bool nbc__ded_line(nbc__ded_lines *l) {
  size_t n = 0;
  if (l->at >= l->text_bytes) return false;
  for (; l->at < l->text_bytes && l->text[l->at] != '\n'; l->at++)
    if (n + 1 < sizeof l->line) l->line[n++] = l->text[l->at] ? l->text[l->at] : '?';
  l->at++;
  l->number++;
  if (n && l->line[n - 1] == '\r') n--;
  l->line[n] = 0;
  return true;
}

/* A number ends at a blank, at a comment or with the line: "12s" is a mistake, not 12. */
static bool nbc__ded_number(const char **at, double *value) {
  nbc__text_skip_blanks(at);
  const char *const end = nbc__text_number(*at, *at + strlen(*at), value);
  if (!end) return false;
  *at = end;
  return *value >= 0 && *value < 1e300 && (!*end || strchr(" \t#", *end));
}

/* ret NULL, or what is wrong */
static const char *nbc__ded_parse_field(nbc_dedicated_input *in, const char *name, const char *at) {
  double v[3] = {0, 0, 0};
  const int wanted = strcmp(name, "request") == 0 ? 3 : strcmp(name, "scaling") == 0 ? 2 : 1;
  if (strcmp(name, "name") == 0) {
    nbc__text_skip_blanks(&at);
    snprintf(in->name, sizeof in->name, "%.63s", at);
    return NULL;
  }
  for (int i = 0; i < wanted; i++)
    if (!nbc__ded_number(&at, &v[i])) return "number >= 0 wanted";
  nbc__text_skip_blanks(&at);
  if (*at && *at != '#') return "more than is wanted";
  if (wanted == 3) {
    /* A file is refused where a report takes a mean: who wrote it can put classes together. */
    if (in->request_size == NBC_DEDICATED_MAX_REQUESTS) return "too many requests";
    nbc__ded_add_request(in, v[0], v[1], v[2]);
    return NULL;
  }
  if (wanted == 2) {
    if (in->scaling_size == NBC_DEDICATED_MAX_SCALING) return "too many lines of scaling";
    if (v[0] < 1 || v[0] > 1e6) return "threads: must be >= 1";
    in->scaling_threads[in->scaling_size] = (int)v[0];
    in->scaling_s[in->scaling_size++] = v[1];
    return NULL;
  }
  if (strcmp(name, "core_count") == 0) {
    if (v[0] < 2 || v[0] > 1e6) return "must be >= 2";
    in->core_count = (int)v[0];
    return NULL;
  }
  if (strcmp(name, "progressed_ratio") == 0) return in->progressed_ratio = v[0], (const char *)NULL;
  for (int i = 0; i < NBC__DED_FIELDS; i++)
    if (strcmp(name, nbc__ded_fields[i].name) == 0)
      return *nbc__ded_at(in, i) = v[0], (const char *)NULL;
  return "no such field";
}

NBC_API nbc_status nbc_dedicated_parse(const char *text, size_t text_bytes, const char *name,
                                       nbc_dedicated_input *input, nbc_error *err) {
  if (!text || !input)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "text and input: must not be NULL");
  nbc__ded_lines l;
  memset(&l, 0, sizeof l);
  l.text = text, l.text_bytes = text_bytes;
  nbc__ded_clear(input, name);
  while (nbc__ded_line(&l)) {
    char field[32];
    const char *at = l.line;
    nbc__text_read_word(&at, field);
    if (!*field) continue; /* empty, or a comment */
    const char *const wrong = nbc__ded_parse_field(input, field, at);
    if (wrong)
      return nbc__status_fail(err, NBC_E_PARSE, l.number, "%s:%d: %s: %s", name, l.number, field,
                              wrong);
  }
  return NBC_OK;
}

/* mpiP's names have no "MPI_": "Isend", "Waitall", "Allreduce". The order of the questions counts:
   Iprobe tests, and only what is left with an I in front starts something; but names that set
   something up (Init, Info_create, Intercomm_merge) begin with an I, too. */
static nbc_category nbc__ded_category(const char *name) {
  static const char *const blocking[] = {"Send",
                                         "Recv",
                                         "Ssend",
                                         "Bsend",
                                         "Rsend",
                                         "Sendrecv",
                                         "Sendrecv_replace",
                                         "Probe",
                                         "Barrier",
                                         "Bcast",
                                         "Reduce",
                                         "Allreduce",
                                         "Reduce_scatter",
                                         "Reduce_scatter_block",
                                         "Gather",
                                         "Gatherv",
                                         "Scatter",
                                         "Scatterv",
                                         "Allgather",
                                         "Allgatherv",
                                         "Alltoall",
                                         "Alltoallv",
                                         "Alltoallw",
                                         "Scan",
                                         "Exscan"};
  if (strncmp(name, "Wait", 4) == 0) return NBC_CATEGORY_WAIT;
  if (strncmp(name, "Test", 4) == 0 || strcmp(name, "Iprobe") == 0) return NBC_CATEGORY_TEST;
  if (strncmp(name, "Start", 5) == 0) return NBC_CATEGORY_NONBLOCKING;
  if (name[0] == 'I' && strncmp(name, "Init", 4) != 0 && strncmp(name, "Info", 4) != 0 &&
      strncmp(name, "Intercomm", 9) != 0)
    return NBC_CATEGORY_NONBLOCKING;
  for (size_t i = 0; i < sizeof blocking / sizeof *blocking; i++)
    if (strcmp(name, blocking[i]) == 0) return NBC_CATEGORY_BLOCKING;
  return NBC_CATEGORY_OTHER;
}

/* "@--- MPI Time (seconds)": Task AppTime MPITime MPI%;  "@--- Callsite Time statistics (all,
   milliseconds)": Name Site Rank Count Max Mean Min App% MPI%. Rank or task '*' are sums: left
   out. */
/* All ranks' lines are added up and divided by the number of tasks: the model is of one process.
   mpiP tells nothing of single transfers, so H1 and H2 stay unknown, and others_s stays 0. */
static nbc_status nbc__ded_parse_mpip(const char *text, size_t text_bytes, const char *name,
                                      nbc_dedicated_input *input, nbc_error *err) {
  nbc__ded_lines l;
  enum { OUTSIDE, TIMES, SITES } where = OUTSIDE;
  int tasks = 0, sites = 0;
  double app_s = 0, mpi_s = 0;
  memset(&l, 0, sizeof l);
  l.text = text, l.text_bytes = text_bytes;
  nbc__ded_clear(input, name);
  while (nbc__ded_line(&l)) {
    char word[64], task[16];
    double a, b, c, d, e;
    if (strncmp(l.line, "@---", 4) == 0)
      where = strstr(l.line, "MPI Time (seconds)")         ? TIMES
              : strstr(l.line, "Callsite Time statistics") ? SITES
                                                           : OUTSIDE;
    else if (where == TIMES && sscanf(l.line, "%15s %lf %lf", task, &a, &b) == 3 &&
             task[0] != '*') {
      if (!(a >= 0) || !(b >= 0) || !(b <= a))
        return nbc__status_fail(err, NBC_E_PARSE, l.number,
                                "%s:%d: times must be 0 <= MPI <= application", name, l.number);
      app_s += a, mpi_s += b, tasks++;
    } else if (where == SITES &&
               sscanf(l.line, "%63s %lf %15s %lf %lf %lf %lf", word, &a, task, &b, &c, &d, &e) ==
                   7 &&
               task[0] != '*') {
      if (!(b >= 0) || !(d >= 0) || !(e >= 0))
        return nbc__status_fail(err, NBC_E_PARSE, l.number, "%s:%d: counts and times must be >= 0",
                                name, l.number);
      nbc__ded_calls(input, nbc__ded_category(word), b, b * d * 1e-3, e * 1e-3);
      sites++;
    }
  }
  if (!tasks || !sites)
    return nbc__status_fail(err, NBC_E_PARSE, l.number,
                            "%s: no \"%s\" section: not a report of mpiP, or a short one", name,
                            tasks ? "Callsite Time statistics" : "MPI Time (seconds)");
  input->noprog_s = app_s / tasks;
  input->comp_s = (app_s - mpi_s) / tasks;
  input->nb_count /= tasks, input->test_count /= tasks, input->wait_count /= tasks;
  input->blocking_count /= tasks, input->blocking_s /= tasks, input->other_s /= tasks;
  return NBC_OK;
}

NBC_API nbc_status nbc_dedicated_parse_mpip(const char *text, size_t text_bytes, const char *name,
                                            nbc_dedicated_input *input, nbc_error *err) {
  if (!text || !input)
    return nbc__status_fail(err, NBC_E_INVAL, 0, "text and input: must not be NULL");
  const locale_t before = nbc__locale_begin();
  const nbc_status status = nbc__ded_parse_mpip(text, text_bytes, name, input, err);
  nbc__locale_end(before);
  return status;
}
#endif
#ifdef NBC_LINES
#line 1 "src/nbc_overlap.end"
#endif
#  ifdef __cplusplus
}
#endif
#endif /* NBC_OVERLAP_IMPLEMENTATION */

/* ----------------------------------------------------------------------------------------------
   LICENCE: either public domain (unlicense.org: copy, modify, publish, use, compile, sell or
   distribute, for any purpose, by any means) or MIT No Attribution (MIT-0), whichever you choose;
   full text in LICENSE. The software is provided "as is", without warranty of any kind.
   ---------------------------------------------------------------------------------------------- */
