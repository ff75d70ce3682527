/* Clocks: what a nanosecond means here. */
#pragma once
#include "../base/config.h"
#include "../base/status.h"

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

/* ---- for later pieces ---- */
/* A reading that no neighbouring instruction passes; ticks as nbc_clock_ticks. */
NBC__PRIVATE uint64_t nbc__clock_ordered_ticks(const nbc_clock *clock);
