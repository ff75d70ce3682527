/* The dedicated-core model: would a core of its own for communication pay?. */
#pragma once
#include "../base/config.h"
#include "../base/status.h"
#include "../overlap/report.h"

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
     N_wait t_min_wait by at least the part of each transfer that the computation between its post and
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
