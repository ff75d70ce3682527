/* MPI functions: datatypes. The file includes itself: once with int counts, once with MPI_Count. */
#ifndef GM_PASS
#  include "later.h"

/* ---- predefined types -------------------------------------------------------------------------------------- */
typedef struct known {
  MPI_Datatype handle;
  gm_kind kind;
  int size, align;
  const char *name;
} known;
#  define K(name, kind, size, align)                                                               \
    { name, GM_K_##kind, size, align, #name }
static const known types[] = {K(MPI_CHAR, CHAR, 1, 1),
                              K(MPI_SIGNED_CHAR, I8, 1, 1),
                              K(MPI_UNSIGNED_CHAR, U8, 1, 1),
                              K(MPI_BYTE, BYTE, 1, 1),
                              K(MPI_WCHAR, WCHAR, 4, 4),
                              K(MPI_SHORT, I16, 2, 2),
                              K(MPI_UNSIGNED_SHORT, U16, 2, 2),
                              K(MPI_INT, I32, 4, 4),
                              K(MPI_UNSIGNED, U32, 4, 4),
                              K(MPI_LONG, I64, 8, 8),
                              K(MPI_UNSIGNED_LONG, U64, 8, 8),
                              K(MPI_FLOAT, F32, 4, 4),
                              K(MPI_DOUBLE, F64, 8, 8),
                              K(MPI_LONG_DOUBLE, F80, 16, 16),
                              K(MPI_LONG_LONG_INT, I64, 8, 8),
                              K(MPI_UNSIGNED_LONG_LONG, U64, 8, 8),
                              K(MPI_PACKED, BYTE, 1, 1),
                              K(MPI_LB, BYTE, 0, 1),
                              K(MPI_UB, BYTE, 0, 1),
                              K(MPI_FLOAT_INT, PAIR_F32, 8, 4),
                              K(MPI_DOUBLE_INT, PAIR_F64, 12, 8),
                              K(MPI_LONG_INT, PAIR_I64, 12, 8),
                              K(MPI_SHORT_INT, PAIR_I16, 6, 4),
                              K(MPI_2INT, PAIR_I32, 8, 4),
                              K(MPI_LONG_DOUBLE_INT, PAIR_F80, 20, 16),
                              K(MPI_COMPLEX, C32, 8, 4),
                              K(MPI_DOUBLE_COMPLEX, C64, 16, 8),
                              K(MPI_LOGICAL, LOGICAL4, 4, 4),
                              K(MPI_REAL, F32, 4, 4),
                              K(MPI_DOUBLE_PRECISION, F64, 8, 8),
                              K(MPI_INTEGER, I32, 4, 4),
                              K(MPI_2INTEGER, PAIR_I32, 8, 4),
                              K(MPI_2REAL, PAIR_2F32, 8, 4),
                              K(MPI_2DOUBLE_PRECISION, PAIR_2F64, 16, 8),
                              K(MPI_CHARACTER, CHAR, 1, 1),
                              K(MPI_REAL4, F32, 4, 4),
                              K(MPI_REAL8, F64, 8, 8),
                              K(MPI_REAL16, F128, 16, 16),
                              K(MPI_COMPLEX8, C32, 8, 4),
                              K(MPI_COMPLEX16, C64, 16, 8),
                              K(MPI_COMPLEX32, C128, 32, 16),
                              K(MPI_INTEGER1, I8, 1, 1),
                              K(MPI_INTEGER2, I16, 2, 2),
                              K(MPI_INTEGER4, I32, 4, 4),
                              K(MPI_INTEGER8, I64, 8, 8),
                              K(MPI_INT8_T, I8, 1, 1),
                              K(MPI_INT16_T, I16, 2, 2),
                              K(MPI_INT32_T, I32, 4, 4),
                              K(MPI_INT64_T, I64, 8, 8),
                              K(MPI_UINT8_T, U8, 1, 1),
                              K(MPI_UINT16_T, U16, 2, 2),
                              K(MPI_UINT32_T, U32, 4, 4),
                              K(MPI_UINT64_T, U64, 8, 8),
                              K(MPI_C_BOOL, BOOL, 1, 1),
                              K(MPI_C_COMPLEX, C32, 8, 4),
                              K(MPI_C_DOUBLE_COMPLEX, C64, 16, 8),
                              K(MPI_C_LONG_DOUBLE_COMPLEX, C80, 32, 16),
                              K(MPI_AINT, I64, 8, 8),
                              K(MPI_OFFSET, I64, 8, 8),
                              K(MPI_COUNT, I64, 8, 8),
                              K(MPI_CXX_BOOL, BOOL, 1, 1),
                              K(MPI_CXX_FLOAT_COMPLEX, C32, 8, 4),
                              K(MPI_CXX_DOUBLE_COMPLEX, C64, 16, 8),
                              K(MPI_CXX_LONG_DOUBLE_COMPLEX, C80, 32, 16),
                              K(MPIX_C_FLOAT16, F16, 2, 2)};
#  undef K
enum { TYPES = sizeof types / sizeof *types };
gm_type *gm_basic_types[256];
static gm_type
    *pairs[5]; /* by the low byte of the handle; shared by all processes: they never change */
static gm_type *make_basic(const known *k) {
  gm_type *t = gm_type_basic(k->kind, (uint64_t)k->size, k->align);
  if (k->size % k->align) { /* pairs end with a gap */
    t->ub = (k->size / k->align + 1) * k->align;
  }
  t->handle = k->handle;
  if (k->handle == MPI_LONG || k->handle == MPI_UNSIGNED_LONG) t->external_bytes = 4;
  t->name = strdup(k->name);
  return t;
}
static void make_types(void) {
  for (int i = 0; i < TYPES; i++) {
    gm_type **at = ((unsigned)types[i].handle >> 24) == 0x8Cu
                       ? &pairs[types[i].handle & 0xFF]
                       : &gm_basic_types[types[i].handle & 0xFF];
    *at = make_basic(&types[i]);
  }
  /* one of them has a gap inside: packed like a structure */
  const gm_part parts[2] = {{0, 1, gm_basic_types[MPI_SHORT & 0xFF]},
                            {4, 1, gm_basic_types[MPI_INT & 0xFF]}};
  gm_type *t = pairs[MPI_SHORT_INT & 0xFF];
  t->part = gm_alloc(sizeof parts);
  memcpy(t->part, parts, sizeof parts);
  t->part_count = 2;
  t->repeat = 1;
  t->is_dense = 0;
  t->true_ub = 8;
}
gm_type *gm_type_found(gm_proc *p, MPI_Datatype h) {
  if (!gm_basic_types[0x0D]) make_types();
  if (((unsigned)h & 0xFF000000u) == 0x4C000000u) {
    gm_type *t = gm_basic_types[h & 0xFF];
    return t && t->handle == h ? t : NULL;
  }
  if (((unsigned)h & 0xFFFFFF00u) == 0x8C000000u && (h & 0xFF) < 5) return pairs[h & 0xFF];
  return gm_find(p, GM_T_TYPE, h);
}
MPI_Datatype type_handle(gm_proc *p, gm_type *t) {
  return t->handle = GM_HANDLE(GM_T_TYPE, gm_put(&p->table[GM_T_TYPE], t));
}

/* ---- what a new type remembers of the call that made it --------------------------------------------------------- */
typedef struct contents {
  int combiner, int_count, aint_count, count_count, type_count;
  int ints[8];
} contents;
static gm_type *remember(gm_type *t, int combiner, int ints, int aints, int counts,
                         int type_count) {
  t->combiner = combiner;
  t->int_count = ints;
  t->aint_count = aints;
  t->count_count = counts;
  t->type_count = type_count;
  t->ints = gm_alloc((size_t)ints * sizeof *t->ints);
  t->aints = gm_alloc((size_t)aints * sizeof *t->aints);
  t->counts = gm_alloc((size_t)counts * sizeof *t->counts);
  t->types = gm_alloc((size_t)type_count * sizeof *t->types);
  return t;
}
static void remember_type(gm_type *t, int i, gm_type *old) {
  t->types[i] = old;
  gm_type_ref(old);
}
/* A number of the call: an int of the first form, a count of the large one. */
typedef struct writer {
  gm_type *t;
  int next;
  bool is_large;
} writer;
static void note(writer *w, int64_t n) {
  if (w->is_large)
    w->t->counts[w->next++] = n;
  else
    w->t->ints[w->next++] = (int)n;
}
/* The i-th address: addresses are apart from counts, but for large ones. */
static void note_address(writer *w, int64_t i, int64_t address) {
  if (w->is_large)
    note(w, address);
  else
    w->t->aints[i] = address;
}
static gm_type *open_contents(gm_type *t, int combiner, int large, int numbers, int aints,
                              int plain_ints, int type_count, writer *w) {
  remember(t, combiner, large ? plain_ints : numbers + plain_ints, large ? 0 : aints,
           large ? numbers + aints : 0, type_count);
  w->t = t;
  w->next = 0;
  w->is_large = large;
  return t;
}

CALL(Type_commit, MPI_Datatype *type) {
  IN("Type_commit");
  gm_type *t = type_of(p, *type);
  FAIL_IF(!t, NULL, MPI_ERR_TYPE);
  t->is_committed = 1;
  return MPI_SUCCESS;
}
int gm_type_end(gm_proc *p, MPI_Datatype type, gm_type *t) {
  const int code = gm_attrs_free(p, type, &t->attrs);
  if (code) return code;
  gm_drop(&p->table[GM_T_TYPE], GM_INDEX(type));
  gm_type_unref(t);
  return MPI_SUCCESS;
}
CALL(Type_free, MPI_Datatype *type) {
  IN("Type_free");
  gm_type *t = type_of(p, *type);
  FAIL_IF(!t || t->is_static, NULL, MPI_ERR_TYPE);
  t->is_freed = t->users > 0; /* the last of them ends it */
  const int code = t->is_freed ? MPI_SUCCESS : gm_type_end(p, *type, t);
  FAIL_IF(code, NULL, code);
  *type = MPI_DATATYPE_NULL;
  return MPI_SUCCESS;
}
CALL(Type_dup, MPI_Datatype old, MPI_Datatype *new) {
  IN("Type_dup");
  NEED(NULL, new);
  gm_type *o = type_of(p, old);
  FAIL_IF(!o, NULL, MPI_ERR_TYPE);
  const gm_part one = {0, 1, o};
  gm_type *t = gm_type_list(&one, 1);
  t->lb = o->lb;
  t->ub = o->ub;
  t->is_committed = o->is_committed;
  remember_type(remember(t, MPI_COMBINER_DUP, 0, 0, 0, 1), 0, o);
  *new = type_handle(p, t);
  const int code = gm_attrs_copy(p, old, o->attrs, &t->attrs);
  if (code) PMPI_Type_free(new);
  FAIL_IF(code, NULL, code);
  return MPI_SUCCESS;
}
CALL(Type_set_name, MPI_Datatype type, const char *name) {
  IN("Type_set_name");
  NEED(NULL, name);
  gm_type *t = type_of(p, type);
  FAIL_IF(!t, NULL, MPI_ERR_TYPE);
  free(t->name);
  t->name = strndup(name, MPI_MAX_OBJECT_NAME - 1);
  return MPI_SUCCESS;
}
CALL(Type_get_name, MPI_Datatype type, char *name, int *length) {
  IN("Type_get_name");
  NEED(NULL, name && length);
  gm_type *t = type_of(p, type);
  FAIL_IF(!t, NULL, MPI_ERR_TYPE);
  *length = snprintf(name, MPI_MAX_OBJECT_NAME, "%s", t->name ? t->name : "");
  return MPI_SUCCESS;
}
static int f90(gm_proc *p, MPI_Datatype base, int combiner, int ints, int first, int second,
               MPI_Datatype *new) {
  gm_type *o = type_of(p, base);
  const gm_part one = {0, 1, o};
  gm_type *t = gm_type_list(&one, 1);
  t->is_committed = 1;
  remember(t, combiner, ints, 0, 0, 0);
  t->ints[0] = first;
  if (ints > 1) t->ints[1] = second;
  *new = type_handle(p, t);
  return MPI_SUCCESS;
}
CALL(Type_create_f90_integer, int r, MPI_Datatype *new) {
  IN("Type_create_f90_integer");
  FAIL_IF(r > 18, NULL, MPI_ERR_OTHER);
  return f90(p,
             r <= 2   ? MPI_INTEGER1
             : r <= 4 ? MPI_INTEGER2
             : r <= 9 ? MPI_INTEGER4
                      : MPI_INTEGER8,
             MPI_COMBINER_F90_INTEGER, 1, r, 0, new);
}
CALL(Type_create_f90_real, int digits, int r, MPI_Datatype *new) {
  IN("Type_create_f90_real");
  const int small = (digits == MPI_UNDEFINED || digits <= 6) && (r == MPI_UNDEFINED || r <= 37),
            middle = (digits == MPI_UNDEFINED || digits <= 15) && (r == MPI_UNDEFINED || r <= 307);
  FAIL_IF(digits > 33 || r > 4931, NULL, MPI_ERR_OTHER);
  return f90(p,
             small    ? MPI_REAL4
             : middle ? MPI_REAL8
                      : MPI_REAL16,
             MPI_COMBINER_F90_REAL, 2, digits, r, new);
}
CALL(Type_create_f90_complex, int digits, int r, MPI_Datatype *new) {
  IN("Type_create_f90_complex");
  const int small = (digits == MPI_UNDEFINED || digits <= 6) && (r == MPI_UNDEFINED || r <= 37),
            middle = (digits == MPI_UNDEFINED || digits <= 15) && (r == MPI_UNDEFINED || r <= 307);
  FAIL_IF(digits > 33 || r > 4931, NULL, MPI_ERR_OTHER);
  return f90(p,
             small    ? MPI_COMPLEX8
             : middle ? MPI_COMPLEX16
                      : MPI_COMPLEX32,
             MPI_COMBINER_F90_COMPLEX, 2, digits, r, new);
}
CALL(Type_match_size, int class, int size, MPI_Datatype *type) {
  IN("Type_match_size");
  NEED(NULL, type);
  static const struct {
    int class, size;
    MPI_Datatype type;
  } fits[] = {
      {MPI_TYPECLASS_REAL, 4, MPI_REAL4},         {MPI_TYPECLASS_REAL, 8, MPI_REAL8},
      {MPI_TYPECLASS_REAL, 16, MPI_REAL16},       {MPI_TYPECLASS_INTEGER, 1, MPI_INTEGER1},
      {MPI_TYPECLASS_INTEGER, 2, MPI_INTEGER2},   {MPI_TYPECLASS_INTEGER, 4, MPI_INTEGER4},
      {MPI_TYPECLASS_INTEGER, 8, MPI_INTEGER8},   {MPI_TYPECLASS_COMPLEX, 8, MPI_COMPLEX8},
      {MPI_TYPECLASS_COMPLEX, 16, MPI_COMPLEX16}, {MPI_TYPECLASS_COMPLEX, 32, MPI_COMPLEX32}};
  for (size_t i = 0; i < sizeof fits / sizeof *fits; i++)
    if (fits[i].class == class && fits[i].size == size) {
      *type = fits[i].type;
      return MPI_SUCCESS;
    }
  FAIL(NULL, MPI_ERR_ARG);
}
CALL(Type_lb, MPI_Datatype type, MPI_Aint *lb) {
  IN("Type_lb");
  NEED(NULL, lb);
  FAIL_IF(!type_of(p, type), NULL, MPI_ERR_TYPE);
  *lb = type_of(p, type)->lb;
  return MPI_SUCCESS;
}
CALL(Type_ub, MPI_Datatype type, MPI_Aint *ub) {
  IN("Type_ub");
  NEED(NULL, ub);
  FAIL_IF(!type_of(p, type), NULL, MPI_ERR_TYPE);
  *ub = type_of(p, type)->ub;
  return MPI_SUCCESS;
}
CALL(Type_extent, MPI_Datatype type, MPI_Aint *extent) {
  IN("Type_extent");
  NEED(NULL, extent);
  FAIL_IF(!type_of(p, type), NULL, MPI_ERR_TYPE);
  *extent = GM_EXTENT(type_of(p, type));
  return MPI_SUCCESS;
}
CALL(Type_hvector, int count, int blocklength, MPI_Aint stride, MPI_Datatype old,
     MPI_Datatype *new) {
  return PMPI_Type_create_hvector(count, blocklength, stride, old, new);
}
CALL(Type_hindexed, int count, int lengths[], MPI_Aint displs[], MPI_Datatype old,
     MPI_Datatype *new) {
  return PMPI_Type_create_hindexed(count, lengths, displs, old, new);
}
CALL(Type_struct, int count, int lengths[], MPI_Aint displs[], MPI_Datatype olds[],
     MPI_Datatype *new) {
  return PMPI_Type_create_struct(count, lengths, displs, olds, new);
}
CALL(Status_set_elements_x, MPI_Status *status, MPI_Datatype type, MPI_Count count) {
  IN("Status_set_elements_x");
  NEED(NULL, status);
  gm_type *t = type_of(p, type);
  FAIL_IF(count < 0, NULL, MPI_ERR_COUNT);
  FAIL_IF(!t, NULL, MPI_ERR_TYPE);
  const uint64_t bytes = gm_elements_bytes(t, (uint64_t)count);
  status->count_lo = (int)(uint32_t)bytes;
  status->count_hi_and_cancelled =
      (status->count_hi_and_cancelled & 1) | (int)((uint32_t)(bytes >> 32) << 1);
  return MPI_SUCCESS;
}
CALL(Status_set_elements_c, MPI_Status *status, MPI_Datatype type, MPI_Count count) {
  IN("Status_set_elements_c");
  return PMPI_Status_set_elements_x(status, type, count);
}
CALL(Status_set_elements, MPI_Status *status, MPI_Datatype type, int count) {
  IN("Status_set_elements");
  return PMPI_Status_set_elements_x(status, type, count);
}
/* MPI 3's names for what MPI 4 calls _c */
CALL(Get_elements_x, const MPI_Status *status, MPI_Datatype type, MPI_Count *count) {
  IN("Get_elements_x");
  return PMPI_Get_elements_c(status, type, count);
}
CALL(Type_size_x, MPI_Datatype type, MPI_Count *size) {
  IN("Type_size_x");
  return PMPI_Type_size_c(type, size);
}
CALL(Type_get_extent_x, MPI_Datatype type, MPI_Count *lb, MPI_Count *extent) {
  IN("Type_get_extent_x");
  return PMPI_Type_get_extent_c(type, lb, extent);
}
CALL(Type_get_true_extent_x, MPI_Datatype type, MPI_Count *lb, MPI_Count *extent) {
  IN("Type_get_true_extent_x");
  return PMPI_Type_get_true_extent_c(type, lb, extent);
}
/* ---- languages ---- */
CALL(Status_c2f, const MPI_Status *c, MPI_Fint *f) {
  memcpy(f, c, sizeof *c);
  return MPI_SUCCESS;
}
CALL(Status_f2c, const MPI_Fint *f, MPI_Status *c) {
  if (!f) return gm_raise(gm_self(), NULL, MPI_ERR_OTHER, "MPI_Status_f2c");
  memcpy(c, f, sizeof *c);
  return MPI_SUCCESS;
}
CALL(Status_f082c, const MPI_F08_status *f, MPI_Status *c) {
  memcpy(c, f, sizeof *c);
  return MPI_SUCCESS;
}
CALL(Status_c2f08, const MPI_Status *c, MPI_F08_status *f) {
  memcpy(f, c, sizeof *c);
  return MPI_SUCCESS;
}
CALL(Status_f082f, const MPI_F08_status *f08, MPI_Fint *f) {
  memcpy(f, f08, sizeof *f08);
  return MPI_SUCCESS;
}
CALL(Status_f2f08, const MPI_Fint *f, MPI_F08_status *f08) {
  memcpy(f08, f, sizeof *f08);
  return MPI_SUCCESS;
}

/* ---- bounds, as MPICH has them where the standard leaves them open ---------------------------------------------- */
static gm_type *listed(const gm_part *part, uint64_t count) {
  gm_type *t = gm_type_list(part, count);
  if (!t->size) t->lb = t->ub = 0; /* nothing lies at 0 */
  return t;
}
/* A type of one child, as it is, is the child. */
static const gm_type *original(const gm_type *t) {
  while (!t->kind && t->part_count == 1 && t->repeat == 1 && t->part->count == 1 &&
         t->part->disp == 0 && t->lb == t->part->child->lb && t->ub == t->part->child->ub)
    t = t->part->child;
  return t;
}
/* Parts of different types end where the next could begin in an array of C structures. */
static gm_type *structure(const gm_part *part, uint64_t count) {
  gm_type *t = listed(part, count);
  bool is_mixed = false;
  for (uint64_t i = 1; i < count; i++)
    is_mixed |= original(part[i].child) != original(part[0].child);
  const int64_t past = GM_EXTENT(t) & (t->align - 1);
  if (is_mixed && t->size && past) t->ub += t->align - past;
  return t;
}
/* Blocks of no elements have a place. */
static gm_type *blocks(const gm_part *part, uint64_t count) {
  gm_type *t = listed(part, count);
  for (uint64_t i = 0; i < count && !part->count; i++) {
    const int64_t at = part[i].disp + part[i].child->lb;
    if (!i || at < t->lb) t->lb = at;
    if (!i || at > t->ub) t->ub = at;
  }
  return t;
}

/* ---- subarrays and distributed arrays ---------------------------------------------------------------------------- */
static gm_type *subarray(int dims, const int64_t *sizes, const int64_t *subsizes,
                         const int64_t *starts, bool is_c, gm_type *old) {
  const int64_t extent = GM_EXTENT(old);
  gm_type *t = NULL;
  int64_t stride = extent, offset = 0;
  for (int k = 0; k < dims; k++) {
    const int d = is_c ? dims - 1 - k : k;
    gm_type *next = gm_type_vector((uint64_t)subsizes[d], 1, stride, t ? t : old);
    if (t) gm_type_unref(t);
    t = next;
    offset += starts[d] * stride;
    stride *= sizes[d];
  }
  const gm_part one = {offset, 1, t};
  gm_type *whole = gm_type_list(&one, 1);
  gm_type_unref(t);
  whole->lb = 0;
  whole->ub = stride;
  return whole;
}
/* One dimension of a distributed array: the elements that process `at` of `count` has. ret the type whose
   children lie `stride` apart; the place of the first is added to *offset */
static gm_type *distributed(int64_t size, int how, int64_t arg, int count, int at, int64_t stride,
                            gm_type *old, int64_t *offset) {
  if (how == MPI_DISTRIBUTE_NONE)
    count = 1, at = 0, how = MPI_DISTRIBUTE_BLOCK, arg = MPI_DISTRIBUTE_DFLT_DARG;
  if (how == MPI_DISTRIBUTE_BLOCK) {
    const int64_t block = arg == MPI_DISTRIBUTE_DFLT_DARG ? (size + count - 1) / count : arg;
    int64_t mine = size - block * at;
    mine = mine < 0 ? 0 : mine > block ? block : mine;
    *offset += block * at * stride;
    return gm_type_vector((uint64_t)mine, 1, stride, old);
  }
  const int64_t block = arg == MPI_DISTRIBUTE_DFLT_DARG ? 1 : arg;
  uint64_t n = 0;
  gm_part *part = gm_alloc((size_t)(size / block / count + 2) * sizeof *part);
  *offset += block * at * stride;
  for (int64_t from = block * at; from < size; from += block * count) {
    const int64_t mine = size - from < block ? size - from : block;
    part[n].disp = (from - block * at) * stride;
    part[n].count = 1;
    part[n++].child = gm_type_vector((uint64_t)mine, 1, stride, old);
  }
  gm_type *t = gm_type_list(part, n);
  for (uint64_t i = 0; i < n; i++) gm_type_unref(part[i].child);
  free(part);
  return t;
}

/* ---- packing --------------------------------------------------------------------------------------------------------- */
static int pack_call(gm_proc *p, const char *name, const void *in, int64_t count, MPI_Datatype type,
                     void *out, int64_t size, int64_t *position, bool is_unpack) {
  gm_type *t = type_of(p, type);
  const int bad = gm_check_type(t, count);
  if (bad) return gm_raise(p, NULL, bad, name);
  const uint64_t bytes = t->size * (uint64_t)count;
  if (size < 0 || *position < 0 || (uint64_t)*position + bytes > (uint64_t)size)
    return gm_raise(p, NULL, MPI_ERR_ARG, name);
  if (is_unpack)
    gm_unpack(out, (uint64_t)count, t, (const char *)in + *position, bytes);
  else
    gm_pack(in, (uint64_t)count, t, (char *)out + *position);
  *position += (int64_t)bytes;
  gm_busy_bytes((double)bytes);
  return MPI_SUCCESS;
}
static int external_call(gm_proc *p, const char *name, const char *rep, const void *in,
                         int64_t count, MPI_Datatype type, void *out, int64_t size,
                         int64_t *position, bool is_unpack) {
  gm_type *t = type_of(p, type);
  const int bad = !rep || strcmp(rep, "external32") != 0 ? MPI_ERR_ARG : gm_check_type(t, count);
  if (bad) return gm_raise(p, NULL, bad, name);
  const uint64_t bytes = gm_external_size(t, (uint64_t)count);
  if (size < 0 || *position < 0 || (uint64_t)*position + bytes > (uint64_t)size)
    return gm_raise(p, NULL, MPI_ERR_ARG, name);
  if (is_unpack)
    gm_external((const char *)in + *position, out, (uint64_t)count, t, 1, bytes);
  else
    gm_external(in, (char *)out + *position, (uint64_t)count, t, 0, bytes);
  *position += (int64_t)bytes;
  return MPI_SUCCESS;
}
#  define GM_PASS
#  define COUNT             int
#  define DISP              int
#  define ADDRESS           MPI_Aint
#  define LARGE             0
#  define CALL_N(name, ...) CALL(name, __VA_ARGS__)
#  include "calls_type.c"
#  undef COUNT
#  undef DISP
#  undef ADDRESS
#  undef LARGE
#  undef CALL_N
#  define COUNT             MPI_Count
#  define DISP              MPI_Count
#  define ADDRESS           MPI_Count
#  define LARGE             1
#  define CALL_N(name, ...) CALL(name##_c, __VA_ARGS__)
#  include "calls_type.c"

#else /* ---- once per type of count ------------------------------------------------------------------------------ */
CALL_N(Type_contiguous, COUNT count, MPI_Datatype old, MPI_Datatype *new) {
  IN("Type_contiguous");
  NEED(NULL, new);
  gm_type *o = type_of(p, old);
  writer w;
  FAIL_IF(count < 0, NULL, MPI_ERR_COUNT);
  FAIL_IF(!o, NULL, MPI_ERR_TYPE);
  const gm_part one = {0, (uint64_t)count, o};
  gm_type *t = open_contents(listed(&one, 1), MPI_COMBINER_CONTIGUOUS, LARGE, 1, 0, 0, 1, &w);
  note(&w, count);
  remember_type(t, 0, o);
  *new = type_handle(p, t);
  return MPI_SUCCESS;
}
CALL_N(Type_vector, COUNT count, COUNT blocklength, COUNT stride, MPI_Datatype old,
       MPI_Datatype *new) {
  IN("Type_vector");
  NEED(NULL, new);
  gm_type *o = type_of(p, old);
  writer w;
  FAIL_IF(count < 0, NULL, MPI_ERR_COUNT);
  FAIL_IF(blocklength < 0, NULL, MPI_ERR_COUNT);
  FAIL_IF(!o, NULL, MPI_ERR_TYPE);
  gm_type *t = open_contents(
      gm_type_vector((uint64_t)count, (uint64_t)blocklength, (int64_t)stride * GM_EXTENT(o), o),
      MPI_COMBINER_VECTOR, LARGE, 3, 0, 0, 1, &w);
  note(&w, count);
  note(&w, blocklength);
  note(&w, stride);
  remember_type(t, 0, o);
  *new = type_handle(p, t);
  return MPI_SUCCESS;
}
CALL_N(Type_create_hvector, COUNT count, COUNT blocklength, ADDRESS stride, MPI_Datatype old,
       MPI_Datatype *new) {
  IN("Type_create_hvector");
  NEED(NULL, new);
  gm_type *o = type_of(p, old);
  writer w;
  FAIL_IF(count < 0, NULL, MPI_ERR_COUNT);
  FAIL_IF(blocklength < 0, NULL, MPI_ERR_COUNT);
  FAIL_IF(!o, NULL, MPI_ERR_TYPE);
  gm_type *t = open_contents(gm_type_vector((uint64_t)count, (uint64_t)blocklength, stride, o),
                             MPI_COMBINER_HVECTOR, LARGE, 2, 1, 0, 1, &w);
  note(&w, count);
  note(&w, blocklength);
  note_address(&w, 0, stride);
  remember_type(t, 0, o);
  *new = type_handle(p, t);
  return MPI_SUCCESS;
}
CALL_N(Type_indexed, COUNT count, const COUNT lengths[], const DISP displs[], MPI_Datatype old,
       MPI_Datatype *new) {
  IN("Type_indexed");
  NEED(NULL, (count <= 0 || lengths) && (count <= 0 || displs) && new);
  gm_type *o = type_of(p, old);
  writer w;
  FAIL_IF(count < 0, NULL, MPI_ERR_COUNT);
  FAIL_IF(!o, NULL, MPI_ERR_TYPE);
  gm_part *part = gm_alloc((size_t)count * sizeof *part);
  for (COUNT i = 0; i < count; i++) {
    part[i].disp = (int64_t)displs[i] * GM_EXTENT(o);
    part[i].count = (uint64_t)lengths[i];
    part[i].child = o;
    if (lengths[i] >= 0) continue;
    free(part);
    FAIL(NULL, MPI_ERR_COUNT);
  }
  gm_type *t = open_contents(listed(part, (uint64_t)count), MPI_COMBINER_INDEXED, LARGE,
                             2 * (int)count + 1, 0, 0, 1, &w);
  free(part);
  note(&w, count);
  for (COUNT i = 0; i < count; i++) note(&w, lengths[i]);
  for (COUNT i = 0; i < count; i++) note(&w, displs[i]);
  remember_type(t, 0, o);
  *new = type_handle(p, t);
  return MPI_SUCCESS;
}
CALL_N(Type_create_hindexed, COUNT count, const COUNT lengths[], const ADDRESS displs[],
       MPI_Datatype old, MPI_Datatype *new) {
  IN("Type_create_hindexed");
  NEED(NULL, (count <= 0 || lengths) && (count <= 0 || displs) && new);
  gm_type *o = type_of(p, old);
  writer w;
  FAIL_IF(count < 0, NULL, MPI_ERR_COUNT);
  FAIL_IF(!o, NULL, MPI_ERR_TYPE);
  gm_part *part = gm_alloc((size_t)count * sizeof *part);
  for (COUNT i = 0; i < count; i++) {
    part[i].disp = displs[i];
    part[i].count = (uint64_t)lengths[i];
    part[i].child = o;
    if (lengths[i] >= 0) continue;
    free(part);
    FAIL(NULL, MPI_ERR_COUNT);
  }
  gm_type *t = open_contents(listed(part, (uint64_t)count), MPI_COMBINER_HINDEXED, LARGE,
                             (int)count + 1, (int)count, 0, 1, &w);
  free(part);
  note(&w, count);
  for (COUNT i = 0; i < count; i++) note(&w, lengths[i]);
  for (COUNT i = 0; i < count; i++) note_address(&w, i, displs[i]);
  remember_type(t, 0, o);
  *new = type_handle(p, t);
  return MPI_SUCCESS;
}
CALL_N(Type_create_indexed_block, COUNT count, COUNT blocklength, const DISP displs[],
       MPI_Datatype old, MPI_Datatype *new) {
  IN("Type_create_indexed_block");
  NEED(NULL, (count <= 0 || displs) && new);
  gm_type *o = type_of(p, old);
  writer w;
  FAIL_IF(count < 0, NULL, MPI_ERR_COUNT);
  FAIL_IF(blocklength < 0, NULL, MPI_ERR_COUNT);
  FAIL_IF(!o, NULL, MPI_ERR_TYPE);
  gm_part *part = gm_alloc((size_t)count * sizeof *part);
  for (COUNT i = 0; i < count; i++) {
    part[i].disp = (int64_t)displs[i] * GM_EXTENT(o);
    part[i].count = (uint64_t)blocklength;
    part[i].child = o;
  }
  gm_type *t = open_contents(blocks(part, (uint64_t)count), MPI_COMBINER_INDEXED_BLOCK, LARGE,
                             (int)count + 2, 0, 0, 1, &w);
  free(part);
  note(&w, count);
  note(&w, blocklength);
  for (COUNT i = 0; i < count; i++) note(&w, displs[i]);
  remember_type(t, 0, o);
  *new = type_handle(p, t);
  return MPI_SUCCESS;
}
CALL_N(Type_create_hindexed_block, COUNT count, COUNT blocklength, const ADDRESS displs[],
       MPI_Datatype old, MPI_Datatype *new) {
  IN("Type_create_hindexed_block");
  NEED(NULL, (count <= 0 || displs) && new);
  gm_type *o = type_of(p, old);
  writer w;
  FAIL_IF(count < 0, NULL, MPI_ERR_COUNT);
  FAIL_IF(blocklength < 0, NULL, MPI_ERR_COUNT);
  FAIL_IF(!o, NULL, MPI_ERR_TYPE);
  gm_part *part = gm_alloc((size_t)count * sizeof *part);
  for (COUNT i = 0; i < count; i++) {
    part[i].disp = displs[i];
    part[i].count = (uint64_t)blocklength;
    part[i].child = o;
  }
  gm_type *t = open_contents(blocks(part, (uint64_t)count), MPI_COMBINER_HINDEXED_BLOCK, LARGE, 2,
                             (int)count, 0, 1, &w);
  free(part);
  note(&w, count);
  note(&w, blocklength);
  for (COUNT i = 0; i < count; i++) note_address(&w, i, displs[i]);
  remember_type(t, 0, o);
  *new = type_handle(p, t);
  return MPI_SUCCESS;
}
CALL_N(Type_create_struct, COUNT count, const COUNT lengths[], const ADDRESS displs[],
       const MPI_Datatype olds[], MPI_Datatype *new) {
  IN("Type_create_struct");
  NEED(NULL, (count <= 0 || lengths) && (count <= 0 || displs) && (count <= 0 || olds) && new);
  writer w;
  FAIL_IF(count < 0, NULL, MPI_ERR_COUNT);
  gm_part *part = gm_alloc((size_t)count * sizeof *part);
  COUNT lb_at = -1, ub_at = -1;
  uint64_t n = 0;
  for (COUNT i = 0; i < count; i++) {
    part[n].disp = displs[i];
    part[n].count = (uint64_t)lengths[i];
    part[n].child = type_of(p, olds[i]);
    if (part[n].child && lengths[i] >= 0) {
      if (olds[i] == MPI_LB)
        lb_at = i;
      else if (olds[i] == MPI_UB)
        ub_at = i;
      else
        n++;
      continue;
    }
    free(part);
    FAIL(NULL, lengths[i] < 0 ? MPI_ERR_COUNT : MPI_ERR_TYPE);
  }
  gm_type *t = open_contents(structure(part, n), MPI_COMBINER_STRUCT, LARGE, (int)count + 1,
                             (int)count, 0, (int)count, &w);
  free(part);
  if (lb_at >= 0) t->lb = displs[lb_at];
  if (ub_at >= 0) t->ub = displs[ub_at];
  note(&w, count);
  for (COUNT i = 0; i < count; i++) note(&w, lengths[i]);
  for (COUNT i = 0; i < count; i++) {
    note_address(&w, i, displs[i]);
    remember_type(t, (int)i, type_of(p, olds[i]));
  }
  *new = type_handle(p, t);
  return MPI_SUCCESS;
}
CALL_N(Type_create_resized, MPI_Datatype old, ADDRESS lb, ADDRESS extent, MPI_Datatype *new) {
  IN("Type_create_resized");
  NEED(NULL, new);
  gm_type *o = type_of(p, old);
  writer w;
  FAIL_IF(!o, NULL, MPI_ERR_TYPE);
  gm_type *t =
      open_contents(gm_type_resized(o, lb, extent), MPI_COMBINER_RESIZED, LARGE, 0, 2, 0, 1, &w);
  note_address(&w, 0, lb);
  note_address(&w, 1, extent);
  remember_type(t, 0, o);
  *new = type_handle(p, t);
  return MPI_SUCCESS;
}
CALL_N(Type_create_subarray, int dims, const COUNT sizes[], const COUNT subsizes[],
       const COUNT starts[], int order, MPI_Datatype old, MPI_Datatype *new) {
  IN("Type_create_subarray");
  NEED(NULL, sizes && subsizes && starts && new);
  gm_type *o = type_of(p, old);
  writer w;
  FAIL_IF(dims < 1 || (order != MPI_ORDER_C && order != MPI_ORDER_FORTRAN), NULL, MPI_ERR_ARG);
  FAIL_IF(!o, NULL, MPI_ERR_TYPE);
  int64_t *n = gm_alloc((size_t)dims * 3 * sizeof *n);
  int bad = 0;
  for (int i = 0; i < dims; i++) {
    n[i] = sizes[i];
    n[dims + i] = subsizes[i];
    n[2 * dims + i] = starts[i];
    bad = bad || sizes[i] < 1 || subsizes[i] < 1 || starts[i] < 0 || subsizes[i] > sizes[i] ||
          starts[i] > sizes[i] - subsizes[i];
  }
  gm_type *t = bad ? NULL : subarray(dims, n, n + dims, n + 2 * dims, order == MPI_ORDER_C, o);
  free(n);
  FAIL_IF(bad, NULL, MPI_ERR_ARG);
  open_contents(t, MPI_COMBINER_SUBARRAY, LARGE, 3 * dims, 0, 2, 1, &w);
  t->ints[0] = dims;
  if (!LARGE) w.next = 1;
  for (int i = 0; i < dims; i++) note(&w, sizes[i]);
  for (int i = 0; i < dims; i++) note(&w, subsizes[i]);
  for (int i = 0; i < dims; i++) note(&w, starts[i]);
  t->ints[t->int_count - 1] = order;
  remember_type(t, 0, o);
  *new = type_handle(p, t);
  return MPI_SUCCESS;
}
CALL_N(Type_create_darray, int size, int rank, int dims, const COUNT gsizes[], const int distribs[],
       const int dargs[], const int psizes[], int order, MPI_Datatype old, MPI_Datatype *new) {
  IN("Type_create_darray");
  NEED(NULL, gsizes && distribs && dargs && psizes && new);
  gm_type *o = type_of(p, old);
  writer w;
  FAIL_IF(dims < 1 || size < 1 || rank < 0 || rank >= size ||
              (order != MPI_ORDER_C && order != MPI_ORDER_FORTRAN),
          NULL, MPI_ERR_ARG);
  FAIL_IF(!o, NULL, MPI_ERR_TYPE);
  int *at = gm_alloc((size_t)dims * sizeof *at), left = size, place = rank;
  for (int i = 0; i < dims; i++) { /* processes are in C order, whatever the array's order */
    left /= psizes[i];
    at[i] = left ? place / left : 0;
    place = left ? place % left : 0;
  }
  gm_type *t = NULL;
  int64_t stride = GM_EXTENT(o), offset = 0;
  for (int k = 0; k < dims; k++) {
    const int d = order == MPI_ORDER_C ? dims - 1 - k : k;
    gm_type *next =
        distributed(gsizes[d], distribs[d], dargs[d], psizes[d], at[d], stride, t ? t : o, &offset);
    if (t) gm_type_unref(t);
    t = next;
    stride *= gsizes[d];
  }
  free(at);
  const gm_part one = {offset, 1, t};
  gm_type *whole = gm_type_list(&one, 1);
  gm_type_unref(t);
  t = whole;
  t->lb = 0;
  t->ub = stride;
  open_contents(t, MPI_COMBINER_DARRAY, LARGE, dims, 0, 3 * dims + 4, 1, &w);
  int n = 0;
  t->ints[n++] = size;
  t->ints[n++] = rank;
  t->ints[n++] = dims;
  w.next = LARGE ? 0 : n;
  for (int i = 0; i < dims; i++) note(&w, gsizes[i]);
  if (!LARGE) n += dims;
  for (int i = 0; i < dims; i++) t->ints[n++] = distribs[i];
  for (int i = 0; i < dims; i++) t->ints[n++] = dargs[i];
  for (int i = 0; i < dims; i++) t->ints[n++] = psizes[i];
  t->ints[n] = order;
  remember_type(t, 0, o);
  *new = type_handle(p, t);
  return MPI_SUCCESS;
}
CALL_N(Type_size, MPI_Datatype type, COUNT *size) {
  IN("Type_size");
  NEED(NULL, size);
  FAIL_IF(!type_of(p, type), NULL, MPI_ERR_TYPE);
  const uint64_t n = type_of(p, type)->size;
  *size = !LARGE && n > INT32_MAX ? MPI_UNDEFINED : (COUNT)n;
  return MPI_SUCCESS;
}
CALL_N(Type_get_extent, MPI_Datatype type, ADDRESS *lb, ADDRESS *extent) {
  IN("Type_get_extent");
  NEED(NULL, lb && extent);
  const gm_type *t = type_of(p, type);
  FAIL_IF(!t, NULL, MPI_ERR_TYPE);
  *lb = t->lb;
  *extent = GM_EXTENT(t);
  return MPI_SUCCESS;
}
CALL_N(Type_get_true_extent, MPI_Datatype type, ADDRESS *lb, ADDRESS *extent) {
  IN("Type_get_true_extent");
  NEED(NULL, lb && extent);
  const gm_type *t = type_of(p, type);
  FAIL_IF(!t, NULL, MPI_ERR_TYPE);
  *lb = t->true_lb;
  *extent = t->true_ub - t->true_lb;
  return MPI_SUCCESS;
}
CALL_N(Get_count, const MPI_Status *status, MPI_Datatype type, COUNT *count) {
  IN("Get_count");
  NEED(NULL, status && count);
  const gm_type *t = type_of(p, type);
  FAIL_IF(!t, NULL, MPI_ERR_TYPE);
  const uint64_t bytes = gm_status_bytes(status), n = t->size ? bytes / t->size : 0;
  *count =
      (t->size ? bytes % t->size : bytes) || (!LARGE && n > INT32_MAX) ? MPI_UNDEFINED : (COUNT)n;
  return MPI_SUCCESS;
}
CALL_N(Get_elements, const MPI_Status *status, MPI_Datatype type, COUNT *count) {
  IN("Get_elements");
  NEED(NULL, status && count);
  const gm_type *t = type_of(p, type);
  FAIL_IF(!t, NULL, MPI_ERR_TYPE);
  const uint64_t n = gm_elements(t, gm_status_bytes(status));
  *count = n == UINT64_MAX || (!LARGE && n > INT32_MAX) ? MPI_UNDEFINED : (COUNT)n;
  return MPI_SUCCESS;
}
CALL_N(Pack, const void *in, COUNT count, MPI_Datatype type, void *out, COUNT size, COUNT *position,
       MPI_Comm comm) {
  IN("Pack");
  NEED(comm_of(p, comm), position);
  int64_t at = *position;
  FAIL_IF(!comm_of(p, comm), NULL, MPI_ERR_COMM);
  const int code = pack_call(p, scope.name, in, count, type, out, size, &at, 0);
  *position = (COUNT)at;
  return code;
}
CALL_N(Unpack, const void *in, COUNT size, COUNT *position, void *out, COUNT count,
       MPI_Datatype type, MPI_Comm comm) {
  IN("Unpack");
  NEED(comm_of(p, comm), position);
  int64_t at = *position;
  FAIL_IF(!comm_of(p, comm), NULL, MPI_ERR_COMM);
  const int code = pack_call(p, scope.name, in, count, type, out, size, &at, 1);
  *position = (COUNT)at;
  return code;
}
CALL_N(Pack_size, COUNT count, MPI_Datatype type, MPI_Comm comm, COUNT *size) {
  IN("Pack_size");
  NEED(comm_of(p, comm), size);
  FAIL_IF(!comm_of(p, comm), NULL, MPI_ERR_COMM);
  FAIL_IF(count < 0, NULL, MPI_ERR_COUNT);
  FAIL_IF(!type_of(p, type), NULL, MPI_ERR_TYPE);
  *size = (COUNT)(type_of(p, type)->size * (uint64_t)count);
  return MPI_SUCCESS;
}
CALL_N(Pack_external, const char *rep, const void *in, COUNT count, MPI_Datatype type, void *out,
       ADDRESS size, ADDRESS *position) {
  IN("Pack_external");
  NEED(NULL, position);
  int64_t at = *position;
  const int code = external_call(p, scope.name, rep, in, count, type, out, size, &at, 0);
  *position = at;
  return code;
}
CALL_N(Unpack_external, const char rep[], const void *in, ADDRESS size, ADDRESS *position,
       void *out, COUNT count, MPI_Datatype type) {
  IN("Unpack_external");
  NEED(NULL, position);
  int64_t at = *position;
  const int code = external_call(p, scope.name, rep, in, count, type, out, size, &at, 1);
  *position = at;
  return code;
}
CALL_N(Pack_external_size, const char *rep, COUNT count, MPI_Datatype type, ADDRESS *size) {
  IN("Pack_external_size");
  NEED(NULL, size);
  FAIL_IF(!rep || strcmp(rep, "external32") != 0, NULL, MPI_ERR_ARG);
  FAIL_IF(count < 0, NULL, MPI_ERR_COUNT);
  FAIL_IF(!type_of(p, type), NULL, MPI_ERR_TYPE);
  *size = (ADDRESS)gm_external_size(type_of(p, type), (uint64_t)count);
  return MPI_SUCCESS;
}
#endif
