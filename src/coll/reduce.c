/* reduce.c: types and operators. */
#include "reduce.h"

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
