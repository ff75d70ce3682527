#include "ptl_memory.h"
/* ---- memory: plain or in pieces ---------------------------------------------------------------- */
/* Addresses are the program's own, which events tell, until bytes are moved; tables of pieces are
   looked at where they are reached (pm__table). */
PM__PRIVATE void *pm__reached(const pm_process *whose, void *address) {
  const pm_world_desc *d = whose ? &whose->world->desc : NULL;
  return d ? d->memory_at(d->user, whose, address) : address;
}
PM__PRIVATE void *pm__table(const pm_process *whose, void *start, unsigned int options) {
  return options & PTL_IOVEC ? pm__reached(whose, start) : start;
}
PM__INLINE_HERE pm__cursor pm__cursor_at(const pm_process *whose, void *start, unsigned int options,
                                         uint64_t offset) {
  pm__cursor c;
  const ptl_iovec_t *v = (const ptl_iovec_t *)start;
  c.whose = whose;
  if (!(options & PTL_IOVEC)) {
    c.at = (char *)((uintptr_t)start + (uintptr_t)offset); /* start may be NULL: all memory */
    c.left = UINT64_MAX;
    c.next = NULL;
    return c;
  }
  while (offset && offset >= v->iov_len) offset -= v++->iov_len;
  c.at = offset ? (char *)v->iov_base + offset : NULL;
  c.left =
      offset ? v->iov_len - offset : 0; /* at a piece's edge: the next is looked at when needed */
  c.next = offset ? v + 1 : v;
  return c;
}
static uint64_t pm__cursor_piece(pm__cursor *c, uint64_t want) {
  while (!c->left) {
    c->at = (char *)c->next->iov_base;
    c->left = c->next->iov_len;
    c->next++;
  }
  return want < c->left ? want : c->left;
}
/* Where the first byte lies; there must be one. */
PM__PRIVATE void *pm__cursor_start(pm__cursor c) {
  (void)pm__cursor_piece(&c, 1);
  return c.at;
}
PM__PRIVATE void pm__copy(pm__cursor to, pm__cursor from, uint64_t bytes) {
  while (bytes) {
    uint64_t n = pm__cursor_piece(&to, pm__cursor_piece(&from, bytes));
    memmove(pm__reached(to.whose, to.at), pm__reached(from.whose, from.at), (size_t)n);
    to.at += n, to.left -= n;
    from.at += n, from.left -= n;
    bytes -= n;
  }
}
enum { PM__PAGES_KNOWN = 1024 };
/* Whether the bytes were there. Memory that was may be gone when they come: the program has unmapped or freed it. Then all
   pages are asked for anew. */
PM__PRIVATE bool pm__copied(pm_world *w, pm__cursor to, pm__cursor from, uint64_t bytes) {
#ifndef PM__ASAN
  if (w->desc.catch_crashes) {
    if (sigsetjmp(w->copy_jump, 0)) {
      if (w->pages) memset(w->pages, 0, PM__PAGES_KNOWN * sizeof *w->pages);
      return false;
    }
    w->is_copying = 1;
    pm__copy(to, from, bytes);
    w->is_copying = 0;
    return true;
  }
#endif
  (void)w;
  pm__copy(to, from, bytes);
  return true;
}
/* Whether a program's memory may be read, or read and written. The kernel is asked once for each page, by calls that
   look at a word, or change none of its bits, and fail where that would crash. What was there is remembered by its
   page, of which the lowest two bits say what may be done. No descriptor is used: programs close those they do not know.
   A call that finds the word as it says waits, and though it is for no time that takes a tenth of a millisecond: so it
   says what a word hardly ever is. */
enum {
  PM__NO_WORD = 0x5BD1E995,
  PM__FUTEX_WAIT =
      0 | 128, /* as in linux/futex.h, which not every C library comes with; 128: of this process */
  PM__FUTEX_WAKE_OP = 5 | 128,
  PM__OR_NOTHING = 2 << 28 /* what the latter does */
};
PM__APART static bool pm__page_answers(char *at, bool writes) {
  static const struct timespec no_time = {0, 0};
  uint32_t nobody = 0;
  uint32_t *word = (uint32_t *)((uintptr_t)at & ~(uintptr_t)3);
  const int before = errno;
  const long code =
      writes ? syscall(SYS_futex, &nobody, PM__FUTEX_WAKE_OP, 0, 0L, word, PM__OR_NOTHING)
             : syscall(SYS_futex, word, PM__FUTEX_WAIT, PM__NO_WORD, &no_time, NULL, 0);
  const bool is_there = code >= 0 || errno != EFAULT;
  errno = before;
  return is_there;
}
static bool pm__page_is_there(pm_world *w, char *at, bool writes) {
  const uintptr_t page = (uintptr_t)at & ~(uintptr_t)(PM__PAGE - 1);
  uintptr_t *known = &w->pages[page / PM__PAGE % PM__PAGES_KNOWN];
  if ((*known & ~(uintptr_t)2) == (page | 1) && (!writes || *known & 2)) return true;
  if (!pm__page_answers(at, writes)) return false;
  *known = page | (writes ? 3 : 1);
  return true;
}
/* Of each piece the first and the last page are asked for. */
PM__PRIVATE bool pm__is_accessible(pm_world *w, pm__cursor c, uint64_t bytes, bool writes) {
  if (!w->pages) w->pages = (uintptr_t *)pm__zalloc(PM__PAGES_KNOWN * sizeof *w->pages);
  while (w->pages && bytes) {
    const uint64_t n = pm__cursor_piece(&c, bytes);
    char *at = (char *)pm__reached(c.whose, c.at);
    if (!pm__page_is_there(w, at, writes) || !pm__page_is_there(w, at + n - 1, writes))
      return false;
    c.at += n, c.left -= n;
    bytes -= n;
  }
  return true;
}
/* The bytes of a put or get, unless the world's owner has moved them. */
PM__PRIVATE bool pm__move_bytes(pm_world *w, pm__cursor to, pm__cursor from, uint64_t bytes) {
  if (w->desc.moved && !to.next && !from.next && bytes > (uint64_t)w->plat.early_send_bytes &&
      w->desc.moved(w->desc.user, to.at, from.at, bytes))
    return true;
  return pm__copied(w, to, from, bytes);
}
PM__INLINE pm__cursor pm__flat(void *start) { return pm__cursor_at(NULL, start, 0, 0); }
PM__INLINE pm__cursor pm__md_cursor(const pm__md *md, uint64_t offset) {
  return pm__cursor_at(md->whose, md->md.start, md->md.options, offset);
}
PM__INLINE pm__cursor pm__me_cursor(const pm__message *m) {
  const pm__me *me = m->what.me;
  return pm__cursor_at(me->whose, me->me.start, me->me.options, m->what.offset_used);
}
/* What is sent: the copy when there is one, else the initiator's memory as it is now. */
PM__PRIVATE pm__cursor pm__payload(pm__message *m) {
  return m->cargo.wire      ? pm__flat(m->cargo.wire)
         : m->what.kept     ? pm__flat(m->what.kept)
         : m->what.has_copy ? pm__flat(m->what.copy)
                            : pm__md_cursor(m->what.md, m->what.local_offset);
}

/* ---- atomics ----------------------------------------------------------------------------------- */
PM__PRIVATE uint64_t pm__type_bytes(int type) {
  static const unsigned char bytes[] = {
      1, 1, 2, 2, 4, 4, 4, 8, 8, 8, 8, 16, sizeof(long double), 2 * sizeof(long double)};
  return bytes[type];
}
PM__PRIVATE bool pm__op_is_legal(int op, int type) {
  const bool is_complex =
      type == PTL_FLOAT_COMPLEX || type == PTL_DOUBLE_COMPLEX || type == PTL_LONG_DOUBLE_COMPLEX;
  const bool is_real = type == PTL_FLOAT || type == PTL_DOUBLE || type == PTL_LONG_DOUBLE;
  if (op < 0 || op >= PTL_OP_LAST || type < 0 || type >= PTL_DATATYPE_LAST) return 0;
  if (is_complex) return op == PTL_SUM || op == PTL_PROD || (op >= PTL_SWAP && op <= PTL_CSWAP_NE);
  if (is_real) return !(op >= PTL_LOR && op <= PTL_BXOR) && op != PTL_MSWAP;
  return 1;
}
/* Of two that are no numbers the target's is kept: a processor keeps its first operand, and a compiler chooses which
   that is. */
#define PM__PLUS(T, a, b)  ((T)((a) + ((a) <= (a) ? (b) : (T)0)))
#define PM__TIMES(T, a, b) ((T)((a) * ((a) <= (a) ? (b) : (T)1)))
/* One item: t = t op o. c is the operand of a conditional swap: c REL t decides. */
#define PM__ORDERED                                                                                \
  case PTL_MIN:                                                                                    \
    if (o < t) t = o;                                                                              \
    break;                                                                                         \
  case PTL_MAX:                                                                                    \
    if (o > t) t = o;                                                                              \
    break;                                                                                         \
  case PTL_SWAP: t = o; break;                                                                     \
  case PTL_CSWAP_LE:                                                                               \
    if (c <= t) t = o;                                                                             \
    break;                                                                                         \
  case PTL_CSWAP_LT:                                                                               \
    if (c < t) t = o;                                                                              \
    break;                                                                                         \
  case PTL_CSWAP_GE:                                                                               \
    if (c >= t) t = o;                                                                             \
    break;                                                                                         \
  case PTL_CSWAP_GT:                                                                               \
    if (c > t) t = o;                                                                              \
    break
/* Integers wrap: sums and products are formed in a type that may (U, wide enough not to be promoted). */
#define PM__INTEGER(name, T, U)                                                                    \
  static void pm__atomic_##name(int op, void *target, const void *source, const void *operand) {   \
    T t, o, c;                                                                                     \
    memcpy(&t, target, sizeof t);                                                                  \
    memcpy(&o, source, sizeof o);                                                                  \
    memcpy(&c, operand, sizeof c);                                                                 \
    switch (op) {                                                                                  \
      PM__ORDERED;                                                                                 \
    case PTL_SUM: t = (T)((U)t + (U)o); break;                                                     \
    case PTL_PROD: t = (T)((U)t * (U)o); break;                                                    \
    case PTL_LOR: t = (T)(t || o); break;                                                          \
    case PTL_LAND: t = (T)(t && o); break;                                                         \
    case PTL_BOR: t = (T)(t | o); break;                                                           \
    case PTL_BAND: t = (T)(t & o); break;                                                          \
    case PTL_LXOR: t = (T)(!t != !o); break;                                                       \
    case PTL_BXOR: t = (T)(t ^ o); break;                                                          \
    case PTL_CSWAP:                                                                                \
      if (c == t) t = o;                                                                           \
      break;                                                                                       \
    case PTL_CSWAP_NE:                                                                             \
      if (c != t) t = o;                                                                           \
      break;                                                                                       \
    default: t = (T)((t & (T)~c) | (o & c)); break; /* MSWAP */                                    \
    }                                                                                              \
    memcpy(target, &t, sizeof t);                                                                  \
  }
PM__INTEGER(int8, int8_t, unsigned)
PM__INTEGER(uint8, uint8_t, unsigned)
PM__INTEGER(int16, int16_t, unsigned)
PM__INTEGER(uint16, uint16_t, unsigned)
PM__INTEGER(int32, int32_t, uint32_t)
PM__INTEGER(uint32, uint32_t, uint32_t)
PM__INTEGER(int64, int64_t, uint64_t)
PM__INTEGER(uint64, uint64_t, uint64_t)
#undef PM__INTEGER
/* Equality written as not less and not greater: NaN is equal to nothing, and compilers that warn of
   == on reals have nothing to say. */
#define PM__REAL(name, T)                                                                          \
  static void pm__atomic_##name(int op, void *target, const void *source, const void *operand) {   \
    T t, o, c;                                                                                     \
    memcpy(&t, target, sizeof t);                                                                  \
    memcpy(&o, source, sizeof o);                                                                  \
    memcpy(&c, operand, sizeof c);                                                                 \
    switch (op) {                                                                                  \
      PM__ORDERED;                                                                                 \
    case PTL_SUM: t = PM__PLUS(T, t, o); break;                                                    \
    case PTL_PROD: t = PM__TIMES(T, t, o); break;                                                  \
    case PTL_CSWAP:                                                                                \
      if (c <= t && c >= t) t = o;                                                                 \
      break;                                                                                       \
    default:                                                                                       \
      if (!(c <= t && c >= t)) t = o;                                                              \
      break; /* CSWAP_NE */                                                                        \
    }                                                                                              \
    memcpy(target, &t, sizeof t);                                                                  \
  }
PM__REAL(float, float)
PM__REAL(double, double)
PM__REAL(long_double, long double)
#undef PM__REAL
#undef PM__ORDERED
/* The four products are rounded each, in memory: no compiler joins them with a sum (see pm__times). */
#define PM__COMPLEX(name, T)                                                                       \
  static void pm__atomic_##name(int op, void *target, const void *source, const void *operand) {   \
    T t[2], o[2], c[2];                                                                            \
    volatile T product[4];                                                                         \
    int equal;                                                                                     \
    memcpy(t, target, sizeof t);                                                                   \
    memcpy(o, source, sizeof o);                                                                   \
    memcpy(c, operand, sizeof c);                                                                  \
    equal = c[0] <= t[0] && c[0] >= t[0] && c[1] <= t[1] && c[1] >= t[1];                          \
    switch (op) {                                                                                  \
    case PTL_SUM: t[0] = PM__PLUS(T, t[0], o[0]), t[1] = PM__PLUS(T, t[1], o[1]); break;           \
    case PTL_PROD:                                                                                 \
      product[0] = PM__TIMES(T, t[0], o[0]);                                                       \
      product[1] = PM__TIMES(T, t[1], o[1]);                                                       \
      product[2] = PM__TIMES(T, t[0], o[1]);                                                       \
      product[3] = PM__TIMES(T, t[1], o[0]);                                                       \
      t[0] = product[0] - product[1];                                                              \
      t[1] = PM__PLUS(T, product[2], product[3]);                                                  \
      break;                                                                                       \
    default: /* SWAP, CSWAP, CSWAP_NE */                                                           \
      if (op == PTL_SWAP || (op == PTL_CSWAP) == equal) t[0] = o[0], t[1] = o[1];                  \
      break;                                                                                       \
    }                                                                                              \
    memcpy(target, t, sizeof t);                                                                   \
  }
PM__COMPLEX(float_complex, float)
PM__COMPLEX(double_complex, double)
PM__COMPLEX(long_double_complex, long double)
#undef PM__COMPLEX
#undef PM__PLUS
#undef PM__TIMES

/* Applies the message's operation to the target's memory, whole items only; operand holds what was
   sent. In pieces of memory the items are gathered and scattered. ret whether the memory was there */
PM__PRIVATE bool pm__atomic(pm_world *w, pm__message *m, const unsigned char *sent,
                            uint64_t bytes) {
  static void (*const apply[])(int, void *, const void *, const void *) = {
      pm__atomic_int8,          pm__atomic_uint8,
      pm__atomic_int16,         pm__atomic_uint16,
      pm__atomic_int32,         pm__atomic_uint32,
      pm__atomic_float,         pm__atomic_int64,
      pm__atomic_uint64,        pm__atomic_double,
      pm__atomic_float_complex, pm__atomic_double_complex,
      pm__atomic_long_double,   pm__atomic_long_double_complex};
  const uint64_t item = pm__type_bytes(m->what.type);
  unsigned char target[PM__ATOMIC_BYTES];
  uint64_t at;
  bytes -= bytes % item;
  if (!pm__copied(w, pm__flat(target), pm__me_cursor(m), bytes)) return false;
  for (at = 0; at < bytes; at += item)
    apply[m->what.type](m->what.op, target + at, sent + at, m->what.operand);
  return pm__copied(w, pm__me_cursor(m), pm__flat(target), bytes);
}
