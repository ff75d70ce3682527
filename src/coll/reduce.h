/* Types and operators. */
#pragma once
#include "../base/config.h"
#include "../base/status.h"

/* ============================================================================================== */
/* [REDUCE] 16. Types and operators                                                               */
/* ============================================================================================== */
#define NBC_TYPE_LIST(X)                                                                           \
  X(BYTE, "byte", 1) /* moves, does not reduce */                                                  \
  X(BOOL, "bool", sizeof(bool))                                                                    \
  X(INT8, "int8", 1)                                                                               \
  X(UINT8, "uint8", 1)                                                                             \
  X(INT16, "int16", 2)                                                                             \
  X(UINT16, "uint16", 2)                                                                           \
  X(INT32, "int32", 4)                                                                             \
  X(UINT32, "uint32", 4)                                                                           \
  X(INT64, "int64", 8)                                                                             \
  X(UINT64, "uint64", 8)                                                                           \
  X(FLOAT, "float", sizeof(float))                                                                 \
  X(DOUBLE, "double", sizeof(double))                                                              \
  X(LONG_DOUBLE, "long_double", sizeof(long double))                                               \
  X(COMPLEX_FLOAT, "complex_float", 2 * sizeof(float))                                             \
  X(COMPLEX_DOUBLE, "complex_double", 2 * sizeof(double))                                          \
  X(COMPLEX_LONG_DOUBLE, "complex_long_double", 2 * sizeof(long double))                           \
  X(PAIR_INT16, "pair_int16", sizeof(nbc_pair_int16)) /* of MAXLOC and MINLOC */                   \
  X(PAIR_INT32, "pair_int32", sizeof(nbc_pair_int32))                                              \
  X(PAIR_INT64, "pair_int64", sizeof(nbc_pair_int64))                                              \
  X(PAIR_FLOAT, "pair_float", sizeof(nbc_pair_float))                                              \
  X(PAIR_DOUBLE, "pair_double", sizeof(nbc_pair_double))                                           \
  X(PAIR_LONG_DOUBLE, "pair_long_double", sizeof(nbc_pair_long_double))

typedef struct nbc_pair_int16 {
  int16_t value;
  int32_t index;
} nbc_pair_int16;
typedef struct nbc_pair_int32 {
  int32_t value;
  int32_t index;
} nbc_pair_int32;
typedef struct nbc_pair_int64 {
  int64_t value;
  int32_t index;
} nbc_pair_int64;
typedef struct nbc_pair_float {
  float value;
  int32_t index;
} nbc_pair_float;
typedef struct nbc_pair_double {
  double value;
  int32_t index;
} nbc_pair_double;
typedef struct nbc_pair_long_double {
  long double value;
  int32_t index;
} nbc_pair_long_double;

typedef enum nbc_type {
#define NBC__X(name, text, size_bytes) NBC_TYPE_##name,
  NBC_TYPE_LIST(NBC__X)
#undef NBC__X
      NBC_TYPE_COUNT
} nbc_type;

/* Sums and products of integers wrap, as unsigned ones do. Equal values: the lower index wins. */
#define NBC_REDUCE_LIST(X)                                                                         \
  X(MAX, "max")                                                                                    \
  X(MIN, "min")                                                                                    \
  X(SUM, "sum")                                                                                    \
  X(PROD, "prod")                                                                                  \
  X(LAND, "land")                                                                                  \
  X(BAND, "band")                                                                                  \
  X(LOR, "lor")                                                                                    \
  X(BOR, "bor")                                                                                    \
  X(LXOR, "lxor")                                                                                  \
  X(BXOR, "bxor")                                                                                  \
  X(MAXLOC, "maxloc")                                                                              \
  X(MINLOC, "minloc")
typedef enum nbc_reduce {
#define NBC__X(name, text) NBC_REDUCE_##name,
  NBC_REDUCE_LIST(NBC__X)
#undef NBC__X
      NBC_REDUCE_COUNT,
  NBC_REDUCE_USER = 100 /* and above: made by nbc_comm_operator */
} nbc_reduce;

NBC_API const char *nbc_type_name(nbc_type type);       /* "int32"; "?" */
NBC_API uint64_t nbc_type_bytes(nbc_type type);         /* 0: no such type */
NBC_API const char *nbc_reduce_name(nbc_reduce reduce); /* "sum", "user"; "?" */

/* dst[i] = left[i] op right[i]; dst may be left or right. `left` comes from lower ranks. */
typedef void (*nbc_reduce_fn)(void *dst, const void *left, const void *right, uint64_t count,
                              nbc_type type, void *user);
/* The function behind a predefined operator, for use without communication. ret NBC_OK |
   NBC_E_INVAL (the operator does not exist for this type) */
NBC_API nbc_status nbc_reduce_local(nbc_reduce reduce, nbc_type type, void *dst, const void *left,
                                    const void *right, uint64_t count);

/* ---- for later pieces ---- */
/* ---- reductions ---------------------------------------------------------------------------- */
/* Loops over whole blocks of a constant length, because that is what compilers vectorise at -O2;
   dst may be left or right, which carries nothing from one element to another. clang says which
   types it cannot vectorise: known, not worth a user's attention. */
#if defined(__clang__)
#  pragma clang diagnostic push
#  pragma clang diagnostic ignored "-Wpass-failed"
#  define NBC__COLL_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#  define NBC__COLL_INDEPENDENT _Pragma("GCC ivdep")
#else
#  define NBC__COLL_INDEPENDENT
#endif
typedef void (*nbc__coll_kernel)(void *dst, const void *left, const void *right, uint64_t count);

NBC__PRIVATE nbc__coll_kernel nbc__coll_kernel_of(nbc_type type, nbc_reduce reduce);
