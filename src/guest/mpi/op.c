/* Operators of MPI: inout[i] = in[i] op inout[i], for every basic type that the standard gives them. */
#include "gm.h"
#include <complex.h>
#ifdef __SIZEOF_FLOAT128__
typedef _Complex float __attribute__((mode(TC))) complex128;
__extension__ typedef __float128 float128;
#endif

/* Sums and products of integers wrap, so they are computed without sign. */
#define LOOP(T, E)                                                                                 \
  do {                                                                                             \
    const T *a = in;                                                                               \
    T *b = inout;                                                                                  \
    for (uint64_t i = 0; i < n; i++) b[i] = (T)(E);                                                \
    return 1;                                                                                      \
  } while (0)
#define INTEGERS(T, U)                                                                             \
  switch (id) {                                                                                    \
  case GM_MAX: LOOP(T, a[i] > b[i] ? a[i] : b[i]);                                                 \
  case GM_MIN: LOOP(T, a[i] < b[i] ? a[i] : b[i]);                                                 \
  case GM_SUM: LOOP(T, (U)((U)a[i] + (U)b[i]));                                                    \
  case GM_PROD: LOOP(T, (U)(1u * (U)a[i] * (U)b[i]));                                              \
  case GM_LAND: LOOP(T, a[i] && b[i]);                                                             \
  case GM_LOR: LOOP(T, a[i] || b[i]);                                                              \
  case GM_LXOR: LOOP(T, !a[i] != !b[i]);                                                           \
  case GM_BAND: LOOP(T, a[i] & b[i]);                                                              \
  case GM_BOR: LOOP(T, a[i] | b[i]);                                                               \
  case GM_BXOR: LOOP(T, a[i] ^ b[i]);                                                              \
  default: return 0;                                                                               \
  }
#define REALS(T)                                                                                   \
  switch (id) {                                                                                    \
  case GM_MAX: LOOP(T, a[i] > b[i] ? a[i] : b[i]);                                                 \
  case GM_MIN: LOOP(T, a[i] < b[i] ? a[i] : b[i]);                                                 \
  case GM_SUM: LOOP(T, a[i] + b[i]);                                                               \
  case GM_PROD: LOOP(T, a[i] * b[i]);                                                              \
  default: return 0;                                                                               \
  }
#define COMPLEXES(T)                                                                               \
  switch (id) {                                                                                    \
  case GM_SUM: LOOP(T, a[i] + b[i]);                                                               \
  case GM_PROD: LOOP(T, a[i] * b[i]);                                                              \
  default: return 0;                                                                               \
  }
#define PAIRS(V, I)                                                                                \
  do {                                                                                             \
    typedef struct {                                                                               \
      V value;                                                                                     \
      I index;                                                                                     \
    } pair;                                                                                        \
    const pair *a = in;                                                                            \
    pair *b = inout;                                                                               \
    if (id != GM_MAXLOC && id != GM_MINLOC) return 0;                                              \
    for (uint64_t i = 0; i < n; i++) {                                                             \
      const int wins = id == GM_MAXLOC ? a[i].value > b[i].value : a[i].value < b[i].value;        \
      if (wins ||                                                                                  \
          (!(a[i].value > b[i].value) && !(a[i].value < b[i].value) && a[i].index < b[i].index)) { \
        b[i].value = a[i].value;                                                                   \
        b[i].index = a[i].index;                                                                   \
      }                                                                                            \
    }                                                                                              \
    return 1;                                                                                      \
  } while (0)

static int apply_bits(int id, const void *in, void *inout, uint64_t n) {
  switch (id) {
  case GM_BAND: LOOP(uint8_t, a[i] & b[i]);
  case GM_BOR: LOOP(uint8_t, a[i] | b[i]);
  case GM_BXOR: LOOP(uint8_t, a[i] ^ b[i]);
  default: return 0;
  }
}
static int apply_logical(int id, const void *in, void *inout, uint64_t n, gm_kind kind) {
  if (kind == GM_K_LOGICAL4) {
    switch (id) {
    case GM_LAND: LOOP(int32_t, a[i] && b[i]);
    case GM_LOR: LOOP(int32_t, a[i] || b[i]);
    case GM_LXOR: LOOP(int32_t, !a[i] != !b[i]);
    default: return 0;
    }
  }
  switch (id) {
  case GM_LAND: LOOP(uint8_t, a[i] && b[i]);
  case GM_LOR: LOOP(uint8_t, a[i] || b[i]);
  case GM_LXOR: LOOP(uint8_t, !a[i] != !b[i]);
  default: return 0;
  }
}
static int apply_integers(int id, const void *in, void *inout, uint64_t n, gm_kind kind) {
  switch (kind) {
  case GM_K_CHAR: INTEGERS(char, uint32_t) /* not of the standard: MPICH and Open MPI have it */
  case GM_K_I8: INTEGERS(int8_t, uint32_t)
  case GM_K_U8: INTEGERS(uint8_t, uint32_t)
  case GM_K_I16: INTEGERS(int16_t, uint32_t)
  case GM_K_U16: INTEGERS(uint16_t, uint32_t)
  case GM_K_I32: INTEGERS(int32_t, uint32_t)
  case GM_K_U32: INTEGERS(uint32_t, uint32_t)
  case GM_K_I64: INTEGERS(int64_t, uint64_t)
  case GM_K_U64: INTEGERS(uint64_t, uint64_t)
  default: return 0;
  }
}
static int apply_pairs(int id, const void *in, void *inout, uint64_t n, gm_kind kind) {
  switch (kind) {
  case GM_K_PAIR_F32: PAIRS(float, int32_t);
  case GM_K_PAIR_F64: PAIRS(double, int32_t);
  case GM_K_PAIR_I64: PAIRS(int64_t, int32_t);
  case GM_K_PAIR_I16: PAIRS(int16_t, int32_t);
  case GM_K_PAIR_I32: PAIRS(int32_t, int32_t);
  case GM_K_PAIR_F80: PAIRS(long double, int32_t);
  case GM_K_PAIR_2F32: PAIRS(float, float);
  case GM_K_PAIR_2F64: PAIRS(double, double);
  default: return 0;
  }
}
static int apply(int id, gm_kind kind, const void *in, void *inout, uint64_t n) {
  switch (kind) {
  case GM_K_BYTE: return apply_bits(id, in, inout, n);
  case GM_K_BOOL:
  case GM_K_LOGICAL4: return apply_logical(id, in, inout, n, kind);
  case GM_K_F32: REALS(float)
  case GM_K_F64: REALS(double)
  case GM_K_F80: REALS(long double)
#ifdef __SIZEOF_FLOAT128__
  case GM_K_F128: REALS(float128)
  case GM_K_C128: COMPLEXES(complex128)
#endif
  case GM_K_C32: COMPLEXES(float complex)
  case GM_K_C64: COMPLEXES(double complex)
  case GM_K_C80: COMPLEXES(long double complex)
  default: return apply_integers(id, in, inout, n, kind) || apply_pairs(id, in, inout, n, kind);
  }
}
int gm_op_fits(const gm_op *op, const gm_type *t) {
  if (op->id >= GM_OP_USER || !t->size) return 1;
  if (op->id == GM_REPLACE || op->id == GM_NO_OP) return 1;
  return apply(op->id, gm_kind_of(t), NULL, NULL, 0);
}
/* Predefined operators on derived types of one basic kind (in windows): basic element by element. */
typedef struct pair_of {
  gm_op *op;
  gm_kind kind;
  uint64_t size;
  const char *in;
  char *inout;
} pair_of;
static void apply_piece(void *arg, int64_t offset, uint64_t bytes) {
  pair_of *a = arg;
  apply(a->op->id, a->kind, a->in + offset, a->inout + offset, bytes / a->size);
}
void gm_op_apply(gm_op *op, gm_type *t, const void *in, void *inout, uint64_t count) {
  if (op->id >= GM_OP_USER) { /* the program's own computation, whoever calls it */
    const bool was_unmeasured = pm_compute_unmeasured(false);
    op->call(op, (void *)(uintptr_t)in, inout, count, t);
    pm_compute_unmeasured(was_unmeasured);
  } else if (op->id == GM_REPLACE)
    gm_copy(in, count, t, inout, count, t);
  else if (op->id == GM_NO_OP)
    return;
  else if (t->kind)
    apply(op->id, t->kind, in, inout, count);
  else {
    const gm_kind kind = gm_kind_of(t);
    pair_of a = {op, kind, t->elements ? t->size / t->elements : 1, in, inout};
    gm_pieces(t, count, 0, apply_piece, &a);
  }
}
