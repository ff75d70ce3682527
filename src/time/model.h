/* Models of what was measured: ranges of sizes, noise, LogGP. */
#pragma once
#include "../base/config.h"
#include "../base/status.h"
#include "../transport/contract.h"

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

/* Fits samples in any order, any number per size; desc NULL = as all 0. O(sizes^3).
   ret NBC_OK | NBC_E_INVAL (no sample, a time not positive or not finite, desc out of range: err
   names it) | NBC_E_FULL (more than NBC_MODEL_MAX_SIZES different sizes) | NBC_E_NOMEM */
NBC_API nbc_status nbc_model_fit(const uint64_t *size_bytes, const double *time_ns, size_t count,
                                 const nbc_model_desc *desc, nbc_model *model, nbc_error *err);
/* The mixture alone (expectation-maximisation, 1 ... NBC_MODEL_MAX_MODES components).
   ret NBC_OK | NBC_E_INVAL (no value, one not finite) | NBC_E_NOMEM */
NBC_API nbc_status nbc_model_fit_noise(const double *values, size_t count, nbc_model_noise *noise);
/* The line of the range that size_bytes lies in (between two ranges: the lower; beyond: the
   nearest); of a model without ranges NULL, and 0. */
NBC_API const nbc_model_range *nbc_model_range_of(const nbc_model *model, uint64_t size_bytes);
NBC_API double nbc_model_time_ns(const nbc_model *model, uint64_t size_bytes);

/* ---- LogGP of a transport, measured -------------------------------------------------------- */
/* Between two ranks, sizes in random order, several rounds:
     time    half a round trip                                     L + o_s + o_r at the smallest size
     o_s     the posting call of a message
     o_r     the wait for a message that arrived long ago, its receive posted before; where a transport
             moves data only inside calls (rendezvous), this includes the transfer, and L is what remains
     late    the same with the receive posted only then (delayed post): what a message costs that
             nobody waited for
     g, G    a batch of 16 messages until the answer, minus a single one, / 15: the gap between messages;
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
