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

/* Rows: MAX MIN SUM PROD LAND BAND LOR BOR LXOR BXOR MAXLOC MINLOC. Signed integers add, multiply
   and combine as unsigned ones do. */
#define NBC__COLL_INTEGER_ROW(name, u)                                                             \
  {                                                                                                \
    nbc__coll_max_##name, nbc__coll_min_##name, nbc__coll_sum_##u, nbc__coll_prod_##u,             \
        nbc__coll_land_##u, nbc__coll_band_##u, nbc__coll_lor_##u, nbc__coll_bor_##u,              \
        nbc__coll_lxor_##u, nbc__coll_bxor_##u, NULL, NULL                                         \
  }
#define NBC__COLL_REAL_ROW(name)                                                                   \
  {                                                                                                \
    nbc__coll_max_##name, nbc__coll_min_##name, nbc__coll_sum_##name, nbc__coll_prod_##name,       \
        nbc__coll_land_##name, NULL, nbc__coll_lor_##name, NULL, nbc__coll_lxor_##name, NULL,      \
        NULL, NULL                                                                                 \
  }
#define NBC__COLL_COMPLEX_ROW(name)                                                                \
  {                                                                                                \
    NULL, NULL, nbc__coll_csum_##name, nbc__coll_cprod_##name, NULL, NULL, NULL, NULL, NULL, NULL, \
        NULL, NULL                                                                                 \
  }
#define NBC__COLL_PAIR_ROW(name)                                                                   \
  {                                                                                                \
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, nbc__coll_maxloc_##name,           \
        nbc__coll_minloc_##name                                                                    \
  }
static const nbc__coll_kernel nbc__coll_kernels[NBC_TYPE_COUNT][NBC_REDUCE_COUNT] = {
    /* BYTE */ {NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL},
    /* BOOL */
    {nbc__coll_lor_bool, nbc__coll_land_bool, NULL, NULL, nbc__coll_land_bool, nbc__coll_land_bool,
     nbc__coll_lor_bool, nbc__coll_lor_bool, nbc__coll_lxor_bool, nbc__coll_lxor_bool, NULL, NULL},
    NBC__COLL_INTEGER_ROW(int8, uint8),
    NBC__COLL_INTEGER_ROW(uint8, uint8),
    NBC__COLL_INTEGER_ROW(int16, uint16),
    NBC__COLL_INTEGER_ROW(uint16, uint16),
    NBC__COLL_INTEGER_ROW(int32, uint32),
    NBC__COLL_INTEGER_ROW(uint32, uint32),
    NBC__COLL_INTEGER_ROW(int64, uint64),
    NBC__COLL_INTEGER_ROW(uint64, uint64),
    NBC__COLL_REAL_ROW(float),
    NBC__COLL_REAL_ROW(double),
    NBC__COLL_REAL_ROW(long_double),
    NBC__COLL_COMPLEX_ROW(float),
    NBC__COLL_COMPLEX_ROW(double),
    NBC__COLL_COMPLEX_ROW(long_double),
    NBC__COLL_PAIR_ROW(int16),
    NBC__COLL_PAIR_ROW(int32),
    NBC__COLL_PAIR_ROW(int64),
    NBC__COLL_PAIR_ROW(float),
    NBC__COLL_PAIR_ROW(double),
    NBC__COLL_PAIR_ROW(long_double)};

/* NULL: the operator does not exist for this type. */
NBC__PRIVATE nbc__coll_kernel nbc__coll_kernel_of(nbc_type type, nbc_reduce reduce) {
  return nbc__coll_kernels[type][reduce];
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
  if (!nbc__coll_kernels[type][reduce]) return NBC_E_INVAL;
  nbc__coll_kernels[type][reduce](dst, left, right, count);
  return NBC_OK;
}
