/* Many clocks: a common time for all ranks of a transport. */
#pragma once
#include "../base/config.h"
#include "../base/status.h"
#include "../overlap/relation.h"
#include "../transport/contract.h"

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

/* ---- for later pieces ---- */
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
