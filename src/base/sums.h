/* Sums that stop at the largest value, powers of two, random numbers. */
#pragma once
/* ---- for later pieces ---- */
#ifndef NBC__BASE_SUMS_H
#  define NBC__BASE_SUMS_H
#  include "private.h"

NBC__PRIVATE void nbc__plus(int64_t *sum, int64_t value);
NBC__PRIVATE int64_t nbc__later(int64_t t_ns, int64_t d_ns);
NBC__PRIVATE int nbc__bits(uint64_t n);
NBC__PRIVATE size_t nbc__pow2(size_t value, size_t otherwise);
NBC__PRIVATE uint64_t nbc__random(uint64_t *state);
#endif /* NBC__BASE_SUMS_H */
