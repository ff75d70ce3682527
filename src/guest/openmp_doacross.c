/* Loops whose iterations wait for others (ordered(n) with depend or doacross). Iterations have numbers from 0 in each of
   n loops; those of the outermost are dealt out, and who has one does what is inside of it in order. */
#include "openmp.h"
#include <stdarg.h>
#include <string.h>

typedef struct omp_doacross {
  unsigned loop_count;
  uint64_t *counts; /* of the loops, behind done */
  uint64_t done[];  /* of each of the outermost: how many inside of it are known to be over */
} omp_doacross;

static omp_doacross *doacross_new(unsigned loop_count, const uint64_t *counts) {
  omp_doacross *d = (omp_doacross *)omp_alloc_zeroed(sizeof *d + (counts[0] + loop_count) * 8);
  d->loop_count = loop_count;
  d->counts = d->done + counts[0];
  memcpy(d->counts, counts, loop_count * sizeof *counts);
  return d;
}
static bool start(unsigned loop_count, const uint64_t *counts, int schedule, uint64_t chunk,
                  uint64_t *first, uint64_t *last) {
  const bool is_more = omp_loop_start(omp_loop_like(schedule, true, 0, counts[0], 1, false, chunk),
                                      false, first, last);
  omp_share *s = omp_self()->at.share;
  if (!s->doacross) s->doacross = doacross_new(loop_count, counts);
  return is_more;
}
static void post(const uint64_t *at) {
  const omp_thread *t = omp_self();
  omp_doacross *d = t->at.share->doacross;
  uint64_t number = 0;
  pm_compute_measured();
  for (unsigned i = 1; i < d->loop_count; i++) number = number * d->counts[i] + at[i];
  d->done[at[0]] = number + 1;
  if (t->at.team) omp_wake_team(t->at.team);
}
static void wait_for(uint64_t outermost, va_list inner) {
  omp_thread *t = omp_self();
  const omp_doacross *d = t->at.share->doacross;
  uint64_t number = 0;
  pm_compute_measured();
  for (unsigned i = 1; i < d->loop_count; i++)
    number = number * d->counts[i] + va_arg(inner, uint64_t);
  while (d->done[outermost] <= number) omp_wait(t, "an iteration of an OpenMP loop (doacross)");
}

/* The compiler's names, for long (signed) and unsigned long long. */
#define PUBLIC __attribute__((visibility("default")))
#define DOACROSS(prefix, type)                                                                     \
  PUBLIC void GOMP_doacross_##prefix##post(type *at);                                              \
  void GOMP_doacross_##prefix##post(type *at) { post((const uint64_t *)at); }                      \
  PUBLIC void GOMP_doacross_##prefix##wait(type outermost, ...);                                   \
  void GOMP_doacross_##prefix##wait(type outermost, ...) {                                         \
    va_list inner;                                                                                 \
    va_start(inner, outermost);                                                                    \
    wait_for((uint64_t)outermost, inner);                                                          \
    va_end(inner);                                                                                 \
  }                                                                                                \
  PUBLIC bool GOMP_loop_##prefix##doacross_start(unsigned n, type *counts, long schedule,          \
                                                 type chunk, type *first, type *last,              \
                                                 uintptr_t *reductions, void **memory);            \
  bool GOMP_loop_##prefix##doacross_start(unsigned n, type *counts, long schedule, type chunk,     \
                                          type *first, type *last, uintptr_t *reductions,          \
                                          void **memory) {                                         \
    const bool is_more = start(n, (const uint64_t *)counts, (int)schedule, (uint64_t)chunk,        \
                               (uint64_t *)first, (uint64_t *)last);                               \
    omp_loop_more(reductions, memory);                                                             \
    return is_more;                                                                                \
  }                                                                                                \
  PUBLIC bool GOMP_loop_##prefix##doacross_runtime_start(unsigned n, type *counts, type *first,    \
                                                         type *last);                              \
  bool GOMP_loop_##prefix##doacross_runtime_start(unsigned n, type *counts, type *first,           \
                                                  type *last) {                                    \
    return start(n, (const uint64_t *)counts, OMP_RUNTIME, 0, (uint64_t *)first,                   \
                 (uint64_t *)last);                                                                \
  }                                                                                                \
  DOACROSS_KIND(prefix, type, static, OMP_STATIC)                                                  \
  DOACROSS_KIND(prefix, type, dynamic, OMP_DYNAMIC)                                                \
  DOACROSS_KIND(prefix, type, guided, OMP_GUIDED)
#define DOACROSS_KIND(prefix, type, kind, schedule)                                                \
  PUBLIC bool GOMP_loop_##prefix##doacross_##kind##_start(unsigned n, type *counts, type chunk,    \
                                                          type *first, type *last);                \
  bool GOMP_loop_##prefix##doacross_##kind##_start(unsigned n, type *counts, type chunk,           \
                                                   type *first, type *last) {                      \
    return start(n, (const uint64_t *)counts, schedule, (uint64_t)chunk, (uint64_t *)first,        \
                 (uint64_t *)last);                                                                \
  }
DOACROSS(, long)
DOACROSS(ull_, unsigned long long)
