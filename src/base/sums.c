/* sums.c: sums that stop at the largest value, powers of two, random numbers. */
#ifndef NBC__BASE_SUMS_C
#define NBC__BASE_SUMS_C
#include "sums.h"

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
