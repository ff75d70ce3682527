/* Datatypes: a derived type is a list of parts, or one part repeated at a stride; packing walks down
   that tree. What is dense is copied at once. */
#include "gm.h"

/* Words for a type: size is its data in bytes; lb and ub are where it says that it begins and ends
   (MPI_Type_create_resized may say anything), ub - lb is its extent, the distance of one to the
   next; true_lb and true_ub are where its data lie. Dense: its data are one piece, in the order in
   which they are packed.
   For instance the column of a matrix of 4 x 8 doubles, as gm_type_vector(4, 1, 64, double):

     byte 0    8      64   72     128  136    192  200
          |data|      |data|      |data|      |data|     size 32, lb 0, ub 200, stride 64, repeat 4

   The tree is MPI's type map (MPI 4.1, 5.1) without its repetitions. The order of a walk through it
   is the order of the map, which is the order of packed data, wherever the data lie. */
gm_type *gm_type_basic(gm_kind kind, uint64_t size, int align) {
  gm_type *t = gm_alloc(sizeof *t);
  t->refs = 1;
  t->is_committed = t->is_static = 1;
  t->kind = kind;
  t->size = size;
  t->elements = 1;
  t->align = align;
  t->ub = t->true_ub = (int64_t)size;
  t->is_dense = 1;
  if (kind >= GM_K_PAIR_F32 && kind <= GM_K_PAIR_2F64) t->elements = 2;
  return t;
}
/* Basic types are shared by all processes and live as long as the run (is_static). A derived type
   holds its children: MPI_Type_free of a child leaves types made of it as they are (5.1.9). */
void gm_type_free(gm_type *t) {
  const uint64_t parts = t->part ? t->part_count : 0;
  for (uint64_t i = 0; i < parts; i++) gm_type_unref(t->part[i].child);
  for (int i = 0; i < t->type_count; i++) gm_type_unref(t->types[i]);
  free(t->part);
  free(t->ints);
  free(t->aints);
  free(t->counts);
  free(t->types);
  free(t->name);
  free(t);
}

/* Bounds of `count` children one after the other from `at` on. */
typedef struct bounds {
  int64_t lb, ub, true_lb, true_ub;
  int any, any_true;
} bounds;
/* Extents may be negative, so the last child may lie lowest. A child without data has bounds, but
   no true ones. */
static void take_bounds(bounds *b, const gm_type *c, int64_t at, uint64_t count) {
  const int64_t last = count ? (int64_t)(count - 1) * GM_EXTENT(c) : 0, low = last < 0 ? last : 0,
                high = last > 0 ? last : 0;
  if (!count) return;
  if (!b->any || at + low + c->lb < b->lb) b->lb = at + low + c->lb;
  if (!b->any || at + high + c->ub > b->ub) b->ub = at + high + c->ub;
  b->any = 1;
  if (!c->size) return;
  if (!b->any_true || at + low + c->true_lb < b->true_lb) b->true_lb = at + low + c->true_lb;
  if (!b->any_true || at + high + c->true_ub > b->true_ub) b->true_ub = at + high + c->true_ub;
  b->any_true = 1;
}
/* Several in a row are one piece when each is, and its extent is its size (GM_IS_PLAIN). */
static bool block_is_dense(const gm_type *c, uint64_t count) {
  return c->is_dense && (count <= 1 || GM_IS_PLAIN(c));
}
static gm_type *finish(gm_type *t, const bounds *b) {
  t->refs = 1;
  t->lb = b->lb;
  t->ub = b->ub;
  t->true_lb = b->true_lb;
  t->true_ub = b->true_ub;
  /* Nothing is one piece of nothing: packing need not look into it. */
  if (!t->size) t->is_dense = 1;
  return t;
}
/* The general form: parts at displacements, each so many of a child. Parts without data do not tear
   a dense type. Data that follow each other in memory but not in this list are no piece: they are
   packed in the order of the list. */
gm_type *gm_type_list(const gm_part *parts, uint64_t count) {
  gm_type *t = gm_alloc(sizeof *t);
  bounds b = {0, 0, 0, 0, 0, 0};
  int64_t end = 0;
  int any = 0;
  t->part = gm_alloc((size_t)count * sizeof *t->part);
  t->part_count = count;
  t->repeat = 1;
  t->is_dense = 1;
  t->align = 1;
  for (uint64_t i = 0; i < count; i++) {
    const gm_part *p = &t->part[i];
    const gm_type *c = parts[i].child;
    t->part[i] = parts[i];
    gm_type_ref(parts[i].child);
    t->size += p->count * c->size;
    t->elements += p->count * c->elements;
    take_bounds(&b, c, p->disp, p->count);
    if (c->align > t->align && p->count && c->size) t->align = c->align;
    if (!p->count || !c->size) continue;
    if (!block_is_dense(c, p->count) || (any && p->disp + c->true_lb != end)) t->is_dense = 0;
    end = p->disp + c->true_lb + (int64_t)(p->count * c->size);
    any = 1;
  }
  return finish(t, &b);
}
/* One part repeated at a stride, whatever the count is: a column of a matrix of millions of rows
   takes no memory per row. */
gm_type *gm_type_vector(uint64_t count, uint64_t blocklen, int64_t stride, gm_type *c) {
  gm_type *t = gm_alloc(sizeof *t);
  bounds b = {0, 0, 0, 0, 0, 0};
  t->part = gm_alloc(sizeof *t->part);
  t->part->count = blocklen;
  t->part->child = c;
  gm_type_ref(c);
  t->part_count = 1;
  t->repeat = count;
  t->stride = stride;
  t->size = count * blocklen * c->size;
  t->elements = count * blocklen * c->elements;
  t->align = c->align;
  if (count) take_bounds(&b, c, 0, blocklen);
  /* The first and the last block: all others lie between them. */
  if (count > 1) take_bounds(&b, c, (int64_t)(count - 1) * stride, blocklen);
  if (count && !blocklen) { /* blocks of no elements have a place, as in MPICH */
    const int64_t last = (int64_t)(count - 1) * stride;
    b.lb = c->lb + (last < 0 ? last : 0);
    b.ub = c->lb + (last > 0 ? last : 0);
  } else if (!t->size)
    b.lb = b.ub = 0;
  t->is_dense =
      block_is_dense(c, blocklen) && (count <= 1 || stride == (int64_t)(blocklen * c->size));
  return finish(t, &b);
}
/* Data stay where they are: only the extent changes, and true_lb and true_ub do not (5.1.7,
   5.1.8). */
gm_type *gm_type_resized(gm_type *old, int64_t lb, int64_t extent) {
  const gm_part p = {0, 1, old};
  gm_type *t = gm_type_list(&p, 1);
  t->lb = lb;
  t->ub = lb + extent;
  return t;
}
/* Reductions and accumulates work on types that are made of one basic kind, wherever its elements
   lie. */
gm_kind gm_kind_of(const gm_type *t) {
  gm_kind kind = GM_K_NONE;
  if (t->kind) return t->kind;
  for (uint64_t i = 0; i < t->part_count; i++) {
    const gm_kind k = gm_kind_of(t->part[i].child);
    if (!t->part[i].count) continue;
    if (!k || (kind && k != kind)) return GM_K_NONE;
    kind = k;
  }
  return kind;
}

/* ---- packing ---------------------------------------------------------------------------------------- */
typedef struct cursor {
  char *at;
  uint64_t left;
} cursor;
/* From (is_out) or to the packed side, as long as it has room. */
static void move_piece(char *user, cursor *c, uint64_t bytes, bool is_out) {
  const uint64_t n = bytes < c->left ? bytes : c->left;
  if (!n) return;
  if (is_out)
    memcpy(c->at, user, n);
  else
    memcpy(user, c->at, n);
  c->at += n;
  c->left -= n;
}
/* Down the tree: what is dense is one memcpy, else each part by itself. The cursor stops in the
   middle of any element when the packed side has no more room: truncated messages end there.
   base is where displacement 0 lies, which need not be in the buffer: with absolute addresses
   (MPI_BOTTOM) it is NULL. Calls are as deep as the type is nested. */
static void move(char *base, uint64_t count, const gm_type *t, cursor *c, bool is_out) {
  const int64_t extent = GM_EXTENT(t);
  if (!t->size || !count) return;
  if (t->is_dense && (count == 1 || extent == (int64_t)t->size)) {
    move_piece(base + t->true_lb, c, t->size * count, is_out);
    return;
  }
  for (uint64_t i = 0; i < count && c->left; i++, base += extent) {
    if (t->is_dense) {
      move_piece(base + t->true_lb, c, t->size, is_out);
      continue;
    }
    for (uint64_t r = 0; r < t->repeat && c->left; r++)
      for (uint64_t k = 0; k < t->part_count; k++)
        move(base + (int64_t)r * t->stride + t->part[k].disp, t->part[k].count, t->part[k].child, c,
             is_out);
  }
}
uint64_t gm_pack(const void *buffer, uint64_t count, const gm_type *t, void *packed) {
  cursor c = {packed, UINT64_MAX};
  move((char *)(uintptr_t)buffer, count, t, &c, 1);
  return UINT64_MAX - c.left;
}
uint64_t gm_unpack(void *buffer, uint64_t count, const gm_type *t, const void *packed,
                   uint64_t bytes) {
  cursor c = {(char *)(uintptr_t)packed, bytes};
  move(buffer, count, t, &c, 0);
  return bytes - c.left;
}
void gm_copy(const void *from, uint64_t from_count, const gm_type *ft, void *to, uint64_t to_count,
             const gm_type *tt) {
  const uint64_t bytes = from_count * ft->size, room = to_count * tt->size,
                 n = bytes < room ? bytes : room;
  if (!n) return;
  if (GM_IS_PLAIN(ft) && GM_IS_PLAIN(tt)) {
    memmove((char *)to + tt->true_lb, (const char *)from + ft->true_lb, n);
    return;
  }
  /* By way of packed data: two trees cannot be walked at once without keeping the place in both. */
  void *packed = malloc(bytes);
  if (!packed) gm_fatal("out of memory: %llu bytes for MPI", (unsigned long long)bytes);
  gm_pack(from, from_count, ft, packed);
  gm_unpack(to, to_count, tt, packed, n);
  free(packed);
}

/* ---- pieces ------------------------------------------------------------------------------------------ */
typedef struct joined {
  void (*fn)(void *arg, int64_t offset, uint64_t bytes);
  void *arg;
  int64_t offset;
  uint64_t bytes;
} joined;
/* Pieces that touch become one: a file or a window gets few long accesses instead of many short
   ones. */
static void add_piece(joined *j, int64_t offset, uint64_t bytes) {
  if (j->bytes && j->offset + (int64_t)j->bytes == offset) {
    j->bytes += bytes;
    return;
  }
  if (j->bytes) j->fn(j->arg, j->offset, j->bytes);
  j->offset = offset;
  j->bytes = bytes;
}
/* The same walk as move(), which tells places instead of moving bytes. */
static void walk(const gm_type *t, uint64_t count, int64_t at, joined *j) {
  const int64_t extent = GM_EXTENT(t);
  if (!t->size || !count) return;
  if (t->is_dense && (count == 1 || extent == (int64_t)t->size)) {
    add_piece(j, at + t->true_lb, t->size * count);
    return;
  }
  for (uint64_t i = 0; i < count; i++, at += extent) {
    if (t->is_dense) {
      add_piece(j, at + t->true_lb, t->size);
      continue;
    }
    for (uint64_t r = 0; r < t->repeat; r++)
      for (uint64_t k = 0; k < t->part_count; k++)
        walk(t->part[k].child, t->part[k].count, at + (int64_t)r * t->stride + t->part[k].disp, j);
  }
}
void gm_pieces(const gm_type *t, uint64_t count, int64_t at,
               void (*fn)(void *arg, int64_t offset, uint64_t bytes), void *arg) {
  joined j = {fn, arg, 0, 0};
  walk(t, count, at, &j);
  if (j.bytes) fn(arg, j.offset, j.bytes);
}

/* ---- counting basic elements --------------------------------------------------------------------------- */
/* MPI_Get_elements counts the two members of a pair one by one (5.1.11). */
static uint64_t first_bytes(gm_kind kind) { /* of a pair's first member */
  switch (kind) {
  case GM_K_PAIR_I16: return 2;
  case GM_K_PAIR_F32:
  case GM_K_PAIR_I32:
  case GM_K_PAIR_2F32: return 4;
  case GM_K_PAIR_F80: return 16;
  default: return 8;
  }
}
/* ret 0: a piece of an element is left over MPI_Get_elements: whole copies of the type by division,
   then down into the one that is cut. A pair that is cut between its members counts one; anything
   else that is cut inside of a basic element has no number (MPI_UNDEFINED). */
static int count_elements(const gm_type *t, uint64_t count, uint64_t *left, uint64_t *elements) {
  if (!t->size || !count || !*left) return 1;
  uint64_t whole = *left / t->size;
  if (whole > count) whole = count;
  *elements += whole * t->elements;
  *left -= whole * t->size;
  if (!*left || whole == count) return 1;
  if (t->kind) {
    if (t->elements == 2 && *left == first_bytes(t->kind)) {
      ++*elements;
      *left = 0;
      return 1;
    }
    return 0;
  }
  for (uint64_t r = 0; r < t->repeat && *left; r++)
    for (uint64_t k = 0; k < t->part_count && *left; k++)
      if (!count_elements(t->part[k].child, t->part[k].count, left, elements)) return 0;
  return 1;
}
uint64_t gm_elements(const gm_type *t, uint64_t bytes) {
  uint64_t n = 0;
  if (!t->size) return 0;
  return count_elements(t, UINT64_MAX / t->size, &bytes, &n) ? n : UINT64_MAX;
}
/* The other way round: the bytes of so many basic elements. */
uint64_t gm_elements_bytes(const gm_type *t, uint64_t elements) {
  if (!t->elements) return 0;
  uint64_t bytes = elements / t->elements * t->size, left = elements % t->elements;
  if (left && t->kind) return bytes + first_bytes(t->kind);
  for (uint64_t r = 0; r < t->repeat && left; r++)
    for (uint64_t k = 0; k < t->part_count && left; k++) {
      const uint64_t all = t->part[k].count * t->part[k].child->elements,
                     n = left < all ? left : all;
      bytes += gm_elements_bytes(t->part[k].child, n);
      left -= n;
    }
  return bytes;
}

/* ---- external32: big-endian, fixed sizes ---------------------------------------------------------------- */
/* Sizes of the members of a basic type here and there; a second member of 0 bytes: none.
   From the table of external32 (MPI 4.1, 14.5.2). Besides wide characters only MPI_LONG and
   MPI_UNSIGNED_LONG have another size there (external_bytes). */
static void external_sizes(const gm_type *t, uint64_t here[2], uint64_t there[2],
                           uint64_t *second_at) {
  here[0] = there[0] = t->size;
  here[1] = there[1] = *second_at = 0;
  switch (t->kind) {
  case GM_K_WCHAR: there[0] = 2; break;
  case GM_K_C32: here[0] = here[1] = 4; break;
  case GM_K_C64: here[0] = here[1] = 8; break;
  case GM_K_C80:
  case GM_K_C128: here[0] = here[1] = 16; break;
  case GM_K_PAIR_I16: here[0] = 2, here[1] = 4, *second_at = 4; break;
  case GM_K_PAIR_F32:
  case GM_K_PAIR_I32: here[0] = here[1] = 4; break;
  case GM_K_PAIR_2F32: here[0] = here[1] = 4; break;
  case GM_K_PAIR_2F64: here[0] = here[1] = 8; break;
  case GM_K_PAIR_F64:
  case GM_K_PAIR_I64: here[0] = 8, here[1] = 4; break;
  case GM_K_PAIR_F80: here[0] = 16, here[1] = 4; break;
  default: break;
  }
  if (t->kind != GM_K_WCHAR) there[0] = here[0], there[1] = here[1];
  if (t->external_bytes) there[0] = t->external_bytes;
  if (here[1] && !*second_at) *second_at = here[0];
}
/* A number of another size and byte order: bytes that the smaller one has not got are its sign, or
   0. */
static void turned(char *to, uint64_t to_bytes, const char *from, uint64_t from_bytes,
                   int from_is_big, bool has_sign) {
  const uint64_t n = to_bytes < from_bytes ? to_bytes : from_bytes;
  const signed char top = from[from_is_big ? 0 : from_bytes - 1];
  memset(to, has_sign && top < 0 ? 0xFF : 0, to_bytes);
  for (uint64_t i = 0; i < n; i++) { /* i counts from the lowest byte */
    const char byte = from_is_big ? from[from_bytes - 1 - i] : from[i];
    to[from_is_big ? i : to_bytes - 1 - i] = byte;
  }
}
/* external32 has no gaps: members of pairs, which are apart here, follow each other there. c->at
   may be NULL: only sizes are asked for. */
static void move_external(char *base, uint64_t count, const gm_type *t, cursor *c, bool is_unpack) {
  uint64_t here[2], there[2], second_at;
  if (!t->size) return;
  for (uint64_t i = 0; i < count; i++, base += GM_EXTENT(t)) {
    if (!t->kind) {
      for (uint64_t r = 0; r < t->repeat; r++)
        for (uint64_t k = 0; k < t->part_count; k++)
          move_external(base + (int64_t)r * t->stride + t->part[k].disp, t->part[k].count,
                        t->part[k].child, c, is_unpack);
      continue;
    }
    /* GM_K_I64: of numbers with a sign only MPI_LONG grows when it is unpacked. What has no room on
       the packed side is left out. */
    external_sizes(t, here, there, &second_at);
    for (int k = 0; k < 2; k++) {
      char *at = base + (k ? second_at : 0);
      if (!here[k] || c->left < there[k]) continue;
      if (is_unpack)
        turned(at, here[k], c->at, there[k], 1, t->kind == GM_K_I64);
      else if (c->at)
        turned(c->at, there[k], at, here[k], 0, 0);
      if (c->at) c->at += there[k];
      c->left -= there[k];
    }
  }
}
static uint64_t external_size(const gm_type *t) {
  uint64_t here[2], there[2], second_at, bytes = 0;
  if (t->kind) {
    external_sizes(t, here, there, &second_at);
    return there[0] + there[1];
  }
  for (uint64_t k = 0; k < t->part_count; k++)
    bytes += t->part[k].count * external_size(t->part[k].child);
  return bytes * t->repeat;
}
uint64_t gm_external_size(const gm_type *t, uint64_t count) { return count * external_size(t); }
uint64_t gm_external(const void *from, void *to, uint64_t count, const gm_type *t, bool is_unpack,
                     uint64_t max_bytes) {
  cursor c = {is_unpack ? (char *)(uintptr_t)from : to, max_bytes};
  move_external(is_unpack ? to : (char *)(uintptr_t)from, count, t, &c, is_unpack);
  return max_bytes - c.left;
}
