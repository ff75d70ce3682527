/* clock.c: clocks: what a nanosecond means here. */
#include "clock.h"

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
