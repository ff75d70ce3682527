/* bench_rma_more.h: the rest of the measurements of SKaMPI's OpenSHMEM extension (Coti and Malony), and of MPI's
   one-sided operations those that mean the same. Included by bench_rma.c after what prints and measures.
   A row is a routine; `less` is measured before it and subtracted. */
#ifndef BENCH_RMA_MORE_H_INCLUDED
#define BENCH_RMA_MORE_H_INCLUDED

typedef enum more_way {
  ALONE = 0, /* rank 0, the others wait in a barrier */
  TOGETHER,  /* all ranks, synchronised start */
  PAIR       /* the same; only with two ranks or more; half of it is one way */
} more_way;
typedef struct more {
  const char *name;
  more_way way;
  bool sized; /* for each size, else once */
  nbc_measure_fn fn, less;
  uint64_t bytes; /* of what is not sized: 0 = none */
} more;

static long long turn; /* of the ping-pong: both ranks count alike */
#define OPERATION(name, ...)                                                                       \
  static nbc_status name(void *arg) {                                                              \
    bench *b = (bench *)arg;                                                                       \
    (void)b;                                                                                       \
    __VA_ARGS__;                                                                                   \
    return NBC_OK;                                                                                 \
  }

#include "bench_rma_parts.h"
/* A sequence of two parts, each with the clock around it. */
#define PARTS(name, before, first, second)                                                         \
  static nbc_status name(void *arg) {                                                              \
    bench *b = (bench *)arg;                                                                       \
    before;                                                                                        \
    int64_t t_begin_ns = part_now(b);                                                              \
    first;                                                                                         \
    part_done(b, 0, t_begin_ns);                                                                   \
    t_begin_ns = part_now(b);                                                                      \
    second;                                                                                        \
    part_done(b, 1, t_begin_ns);                                                                   \
    return NBC_OK;                                                                                 \
  }
#define NEXT_RANK ((rank + 1) % size) /* of the rounds: all ranks at once, each to its neighbour */

#ifdef NBC_WITH_SHMEM
/* ---- OpenSHMEM ------------------------------------------------------------------------------ */
static shmem_ctx_t context;
static unsigned long long
    *bits; /* symmetric: a counter, a word, the ping-pong's, one that is always as expected */
static unsigned *bits32; /* symmetric: the same, but for the ping-pong's */
static char *pieces;     /* symmetric: of the all to all */
static long *more_areas;
enum { AREA_KINDS = 7 };

static bool open_more(void) {
  const size_t each = SHMEM_ALLTOALL_SYNC_SIZE + SHMEM_COLLECT_SYNC_SIZE + SHMEM_BARRIER_SYNC_SIZE +
                      SHMEM_ALLTOALLS_SYNC_SIZE;
  bits = (unsigned long long *)shmem_calloc(4, sizeof *bits);
  bits32 = (unsigned *)shmem_calloc(4, sizeof *bits32);
  pieces = (char *)shmem_calloc(3, (size_t)largest_bytes + 8 * (size_t)size + 8);
  more_areas = (long *)shmem_calloc(2 * AREA_KINDS * each, sizeof *more_areas);
  for (size_t i = 0; more_areas && i < 2 * AREA_KINDS * each; i++) more_areas[i] = SHMEM_SYNC_VALUE;
  if (shmem_ctx_create(0, &context) != 0) return false;
  shmem_barrier_all();
  return bits && bits32 && pieces && more_areas;
}
static void close_more(void) { shmem_ctx_destroy(context); }
static long *more_area(int kind) {
  const size_t each = SHMEM_ALLTOALL_SYNC_SIZE + SHMEM_COLLECT_SYNC_SIZE + SHMEM_BARRIER_SYNC_SIZE +
                      SHMEM_ALLTOALLS_SYNC_SIZE;
  return more_areas + (size_t)(2 * kind + sync_turn++ % 2) * each;
}
static size_t words(const bench *b) { return (size_t)(b->bytes + 7) / 8; }
/* So many words to each rank that a rank sends about b->bytes in all. */
static size_t words_each(const bench *b) { return (words(b) + (size_t)size - 1) / (size_t)size; }

#  define LAST (size - 1)
OPERATION(do_p, shmem_longlong_p(counter + 1, 1, LAST))
OPERATION(do_p_quiet, shmem_longlong_p(counter + 1, 1, LAST); shmem_quiet())
OPERATION(do_g, (void)shmem_longlong_g(counter + 1, LAST))
OPERATION(do_iput, shmem_longlong_iput((long long *)(void *)pieces, (long long *)(void *)local, 2,
                                       1, words(b), LAST);
          shmem_quiet())
OPERATION(do_iget, shmem_longlong_iget((long long *)(void *)local, (long long *)(void *)pieces, 1,
                                       2, words(b), LAST))
OPERATION(do_put_round, shmem_putmem(remote, local, b->bytes, NEXT_RANK); shmem_quiet())
OPERATION(do_get_round, shmem_getmem(local, remote, b->bytes, NEXT_RANK))
OPERATION(do_p_round, shmem_longlong_p(counter + 1, 1, NEXT_RANK); shmem_quiet())
OPERATION(do_g_round, (void)shmem_longlong_g(counter + 1, NEXT_RANK))
OPERATION(do_iput_round, shmem_longlong_iput((long long *)(void *)pieces,
                                             (long long *)(void *)local, 2, 1, words(b), NEXT_RANK);
          shmem_quiet())
OPERATION(do_iget_round,
          shmem_longlong_iget((long long *)(void *)local, (long long *)(void *)pieces, 1, 2,
                              words(b), NEXT_RANK))
OPERATION(do_ctx_put, shmem_ctx_putmem(context, remote, local, b->bytes, LAST);
          shmem_ctx_quiet(context))
OPERATION(do_ctx_get, shmem_ctx_getmem(context, local, remote, b->bytes, LAST))
OPERATION(do_ctx_put_nbi, shmem_ctx_putmem_nbi(context, remote, local, b->bytes, LAST);
          shmem_ctx_quiet(context))
OPERATION(do_ctx_get_nbi, shmem_ctx_getmem_nbi(context, local, remote, b->bytes, LAST);
          shmem_ctx_quiet(context))
OPERATION(do_ctx_put_one, shmem_ctx_putmem(context, remote, local, 1, LAST))
OPERATION(do_ctx_put_one_quiet, shmem_ctx_putmem(context, remote, local, 1, LAST);
          shmem_ctx_quiet(context))
OPERATION(do_ctx_put_one_fence, shmem_ctx_putmem(context, remote, local, 1, LAST);
          shmem_ctx_fence(context))
OPERATION(do_put_one_fence, rma_put(1); shmem_fence())
OPERATION(do_ctx_quiet, shmem_ctx_quiet(context))
OPERATION(do_fence, shmem_fence())
OPERATION(do_quiet, shmem_quiet())
OPERATION(do_wait_until, shmem_longlong_wait_until(counter + 1, SHMEM_CMP_GE, -1))
OPERATION(do_test, (void)shmem_longlong_test(counter + 1, SHMEM_CMP_GE, -1))
static nbc_status do_pingpong(void *arg) {
  const bench *b = (const bench *)arg;
  const int partner = rank == 0 ? LAST : 0;
  turn++;
  if (rank != 0 && rank != LAST) return NBC_OK;
  if (rank == LAST) shmem_longlong_wait_until((long long *)(void *)(bits + 2), SHMEM_CMP_GE, turn);
  shmem_putmem(remote, local, b->bytes, partner);
  shmem_fence();
  shmem_longlong_p((long long *)(void *)(bits + 2), turn, partner);
  if (rank == 0) shmem_longlong_wait_until((long long *)(void *)(bits + 2), SHMEM_CMP_GE, turn);
  return NBC_OK;
}

/* Atomics, and the same on a context. What does not fetch is over when quiet says so. */
#  define ATOMIC(name, arguments)                                                                  \
    OPERATION(do_a_##name, shmem_ulonglong_atomic_##name arguments; shmem_quiet())
#  define FETCHING(name, arguments)                                                                \
    OPERATION(do_a_##name, (void)shmem_ulonglong_atomic_##name arguments)
#  define CTX_ATOMIC(name, arguments)                                                              \
    OPERATION(do_c_##name, shmem_ctx_ulonglong_atomic_##name arguments; shmem_ctx_quiet(context))
#  define CTX_FETCHING(name, arguments)                                                            \
    OPERATION(do_c_##name, (void)shmem_ctx_ulonglong_atomic_##name arguments)
#  define ATOMIC32(name, arguments)                                                                \
    OPERATION(do_a32_##name, shmem_uint_atomic_##name arguments; shmem_quiet())
#  define FETCHING32(name, arguments)                                                              \
    OPERATION(do_a32_##name, (void)shmem_uint_atomic_##name arguments)
#  define CTX_ATOMIC32(name, arguments)                                                            \
    OPERATION(do_c32_##name, shmem_ctx_uint_atomic_##name arguments; shmem_ctx_quiet(context))
#  define CTX_FETCHING32(name, arguments)                                                          \
    OPERATION(do_c32_##name, (void)shmem_ctx_uint_atomic_##name arguments)
/* Both widths of each, on the default context and on ours. */
#  define ATOMICS(name, ...)                                                                       \
    ATOMIC(name, (bits + 1, __VA_ARGS__))                                                          \
    ATOMIC32(name, (bits32 + 1, __VA_ARGS__))                                                      \
    CTX_ATOMIC(name, (context, bits + 1, __VA_ARGS__))                                             \
    CTX_ATOMIC32(name, (context, bits32 + 1, __VA_ARGS__))
#  define FETCHINGS(name, ...)                                                                     \
    FETCHING(name, (bits + 1, __VA_ARGS__))                                                        \
    FETCHING32(name, (bits32 + 1, __VA_ARGS__))                                                    \
    CTX_FETCHING(name, (context, bits + 1, __VA_ARGS__))                                           \
    CTX_FETCHING32(name, (context, bits32 + 1, __VA_ARGS__))
ATOMICS(set, 1, LAST)
ATOMICS(inc, LAST)
ATOMICS(add, 1, LAST)
ATOMICS(and, 7, LAST)
ATOMICS(or, 1, LAST)
ATOMICS(xor, 1, LAST)
FETCHINGS(fetch, LAST)
FETCHINGS(fetch_inc, LAST)
FETCHINGS(fetch_add, 1, LAST)
FETCHINGS(fetch_and, 7, LAST)
FETCHINGS(fetch_or, 1, LAST)
FETCHINGS(fetch_xor, 1, LAST)
FETCHINGS(swap, 1, LAST)
/* The word is not 2^31. "yes": rank 0 alone changes that word, and counts along. */
#  define NEVER 0x80000000u
FETCHINGS(compare_swap, NEVER, 1, LAST)
static unsigned long long expected;
static unsigned expected32;
OPERATION(do_a_yes,
          (void)shmem_ulonglong_atomic_compare_swap(bits + 3, expected, expected + 1, LAST);
          expected++)
OPERATION(do_a32_yes,
          (void)shmem_uint_atomic_compare_swap(bits32 + 3, expected32, expected32 + 1, LAST);
          expected32++)
OPERATION(do_c_yes, (void)shmem_ctx_ulonglong_atomic_compare_swap(context, bits + 3, expected,
                                                                  expected + 1, LAST);
          expected++)
OPERATION(do_c32_yes, (void)shmem_ctx_uint_atomic_compare_swap(context, bits32 + 3, expected32,
                                                               expected32 + 1, LAST);
          expected32++)

#  define CONTEXT(name, options)                                                                   \
    PARTS(name, shmem_ctx_t made, const int bad = shmem_ctx_create(options, &made),                \
          if (!bad) shmem_ctx_destroy(made))
CONTEXT(do_ctx_create, 0)
CONTEXT(do_ctx_serialized, SHMEM_CTX_SERIALIZED)
CONTEXT(do_ctx_private, SHMEM_CTX_PRIVATE)
CONTEXT(do_ctx_nostore, SHMEM_CTX_NOSTORE)
PARTS(do_malloc, char *m, m = (char *)shmem_malloc(b->bytes), shmem_free(m))
PARTS(do_calloc, char *m, m = (char *)shmem_calloc(1, b->bytes), shmem_free(m))
PARTS(do_align, char *m, m = (char *)shmem_align(64, b->bytes), shmem_free(m))
PARTS(do_realloc, char *m = (char *)shmem_malloc(8), m = (char *)shmem_realloc(m, b->bytes + 8),
      shmem_free(m))

OPERATION(do_sync_all, shmem_sync_all())
OPERATION(do_sync_set, shmem_sync(0, 0, size, more_area(0)))
OPERATION(do_barrier_set, shmem_barrier(0, 0, size, more_area(1)))
#  define HALF ((size + 1) / 2) /* the others do nothing meanwhile */
OPERATION(do_sync_half, if (rank < HALF) shmem_sync(0, 0, HALF, more_area(5)))
OPERATION(do_barrier_half, if (rank < HALF) shmem_barrier(0, 0, HALF, more_area(6)))
OPERATION(do_alltoall, shmem_alltoall64(pieces + largest_bytes + 8 * (size_t)size + 8, pieces,
                                        words_each(b), 0, 0, size, more_area(2)))
OPERATION(do_alltoalls, shmem_alltoalls64(pieces + largest_bytes + 8 * (size_t)size + 8, pieces, 2,
                                          1, words_each(b), 0, 0, size, more_area(3)))
OPERATION(do_collect_any,
          shmem_collect64(remote + largest_bytes + 8, remote, words(b), 0, 0, size, more_area(4)))
#  define REDUCTION(name)                                                                          \
    OPERATION(do_r_##name, shmem_longlong_##name##_to_all(                                         \
                               (long long *)(void *)(remote + largest_bytes + 8),                  \
                               (long long *)(void *)remote, (int)words(b), 0, 0, size,             \
                               counter + 2, area(after_bcast(), SHMEM_REDUCE_SYNC_SIZE, 2)))
REDUCTION(and)
REDUCTION(or)
REDUCTION(xor)
REDUCTION(min)
REDUCTION(max)
REDUCTION(prod)

#  define ATOMIC_ROWS(name)                                                                        \
    {#name, ALONE, false, do_a_##name, do_quiet, 8},                                               \
        {#name, ALONE, false, do_a32_##name, do_quiet, 4},                                         \
        {"ctx " #name, ALONE, false, do_c_##name, do_ctx_quiet, 8}, {                              \
      "ctx " #name, ALONE, false, do_c32_##name, do_ctx_quiet, 4                                   \
    }
#  define FETCH_ROWS(name, text)                                                                   \
    {text, ALONE, false, do_a_##name, NULL, 8}, {text, ALONE, false, do_a32_##name, NULL, 4},      \
        {"ctx " text, ALONE, false, do_c_##name, NULL, 8}, {                                       \
      "ctx " text, ALONE, false, do_c32_##name, NULL, 4                                            \
    }
static const more rows[] = {{"p", ALONE, false, do_p, NULL, 8},
                            {"p quiet", ALONE, false, do_p_quiet, NULL, 0},
                            {"g", ALONE, false, do_g, NULL, 8},
                            {"p round", TOGETHER, false, do_p_round, do_quiet, 8},
                            {"g round", TOGETHER, false, do_g_round, NULL, 8},
                            ATOMIC_ROWS(set),
                            ATOMIC_ROWS(inc),
                            ATOMIC_ROWS(add),
                            ATOMIC_ROWS(and),
                            ATOMIC_ROWS(or),
                            ATOMIC_ROWS(xor),
                            FETCH_ROWS(fetch, "fetch"),
                            FETCH_ROWS(fetch_inc, "fetch_inc"),
                            FETCH_ROWS(fetch_add, "fetch_add"),
                            FETCH_ROWS(fetch_and, "fetch_and"),
                            FETCH_ROWS(fetch_or, "fetch_or"),
                            FETCH_ROWS(fetch_xor, "fetch_xor"),
                            FETCH_ROWS(swap, "swap"),
                            FETCH_ROWS(compare_swap, "compare_swap"),
                            FETCH_ROWS(yes, "compare_swap yes"),
                            {"quiet alone", ALONE, false, do_quiet, NULL, 0},
                            {"fence alone", ALONE, false, do_fence, NULL, 0},
                            {"fence", ALONE, false, do_put_one_fence, do_put_one, 0},
                            {"ctx quiet", ALONE, false, do_ctx_put_one_quiet, do_ctx_put_one, 0},
                            {"ctx fence", ALONE, false, do_ctx_put_one_fence, do_ctx_put_one, 0},
                            {"wait_until", ALONE, false, do_wait_until, NULL, 0},
                            {"test", ALONE, false, do_test, NULL, 0},
                            {"sync all", TOGETHER, false, do_sync_all, NULL, 0},
                            {"sync", TOGETHER, false, do_sync_set, NULL, 0},
                            {"barrier of a set", TOGETHER, false, do_barrier_set, NULL, 0},
                            {"sync of half", TOGETHER, false, do_sync_half, NULL, 0},
                            {"barrier of half", TOGETHER, false, do_barrier_half, NULL, 0},
                            {"iput", ALONE, true, do_iput, do_quiet, 0},
                            {"iget", ALONE, true, do_iget, NULL, 0},
                            {"put round", TOGETHER, true, do_put_round, do_quiet, 0},
                            {"get round", TOGETHER, true, do_get_round, NULL, 0},
                            {"iput round", TOGETHER, true, do_iput_round, do_quiet, 0},
                            {"iget round", TOGETHER, true, do_iget_round, NULL, 0},
                            {"put ping-pong", PAIR, true, do_pingpong, NULL, 0},
                            {"ctx put", ALONE, true, do_ctx_put, NULL, 0},
                            {"ctx get", ALONE, true, do_ctx_get, NULL, 0},
                            {"ctx put_nbi full", ALONE, true, do_ctx_put_nbi, NULL, 0},
                            {"ctx get_nbi full", ALONE, true, do_ctx_get_nbi, NULL, 0},
                            {"alltoall", TOGETHER, true, do_alltoall, NULL, 0},
                            {"alltoalls", TOGETHER, true, do_alltoalls, NULL, 0},
                            {"collect, any lengths", TOGETHER, true, do_collect_any, NULL, 0},
                            {"reduce and", TOGETHER, true, do_r_and, NULL, 0},
                            {"reduce or", TOGETHER, true, do_r_or, NULL, 0},
                            {"reduce xor", TOGETHER, true, do_r_xor, NULL, 0},
                            {"reduce min", TOGETHER, true, do_r_min, NULL, 0},
                            {"reduce max", TOGETHER, true, do_r_max, NULL, 0},
                            {"reduce prod", TOGETHER, true, do_r_prod, NULL, 0}};
static const parts_row part_rows[] = {
    {{"ctx create", "ctx destroy"}, false, false, do_ctx_create, false, 0},
    {{"ctx create serialized", "ctx destroy serialized"},
     false,
     false,
     do_ctx_serialized,
     false,
     0},
    {{"ctx create private", "ctx destroy private"}, false, false, do_ctx_private, false, 0},
    {{"ctx create nostore", "ctx destroy nostore"}, false, false, do_ctx_nostore, false, 0},
    {{"malloc", "free"}, true, true, do_malloc, false, 4},
    {{"calloc"}, true, true, do_calloc, false, 4},
    {{"align"}, true, true, do_align, false, 4},
    {{"realloc"}, true, true, do_realloc, false, 4}};
#else
/* ---- MPI: what means the same; contexts, alignment and fences have no counterpart ------------ */
static char *pieces;
static MPI_Datatype strided; /* of the size in hand: every second word */
static uint64_t strided_bytes;

/* Open MPI 4.1 has no window over memory of the program's own without a single-copy mechanism. */
static bool may_create;
static bool open_more(void) {
  MPI_Win window;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  may_create = MPI_Win_create(local, 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window) == MPI_SUCCESS;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  if (may_create) MPI_Win_free(&window);
  pieces = (char *)calloc(4, (size_t)largest_bytes + 8 * (size_t)size + 8);
  strided = MPI_DATATYPE_NULL;
  return pieces != NULL;
}
static void close_more(void) {
  if (strided != MPI_DATATYPE_NULL) MPI_Type_free(&strided);
  free(pieces);
}
static int words(const bench *b) { return (int)((b->bytes + 7) / 8); }
static int words_each(const bench *b) { return (words(b) + size - 1) / size; }
/* Half of the message, so that it fits the window. */
static MPI_Datatype every_second(const bench *b) {
  if (strided_bytes == b->bytes && strided != MPI_DATATYPE_NULL) return strided;
  if (strided != MPI_DATATYPE_NULL) MPI_Type_free(&strided);
  MPI_Type_vector((words(b) + 1) / 2, 1, 2, MPI_LONG_LONG, &strided);
  MPI_Type_commit(&strided);
  strided_bytes = b->bytes;
  return strided;
}

#  define LAST (size - 1)
static const long long one_word = 1;
static const int one_int = 1;
/* Words of counter_win: 1 and 3 of 64 bits, 4 and 5 hold the same of 32 bits. */
static void accumulate(MPI_Op op, MPI_Datatype type) {
  const bool wide = type == MPI_LONG_LONG;
  MPI_Accumulate(wide ? (const void *)&one_word : (const void *)&one_int, 1, type, LAST,
                 (wide ? 1 : 4) * (MPI_Aint)sizeof(long long), 1, type, op, counter_win);
  MPI_Win_flush(LAST, counter_win);
}
static void fetch_op(MPI_Op op, MPI_Datatype type) {
  const bool wide = type == MPI_LONG_LONG;
  long long was;
  MPI_Fetch_and_op(wide ? (const void *)&one_word : (const void *)&one_int, &was, type, LAST,
                   (wide ? 1 : 4) * (MPI_Aint)sizeof was, op, counter_win);
  MPI_Win_flush(LAST, counter_win);
}
/* The value that is there: rank 0 alone changes that word, and counts along. Another: never equal. */
static void compare_swap(MPI_Datatype type, bool equal) {
  static int expected[2];
  const bool wide = type == MPI_LONG_LONG;
  const int is = expected[wide], compare = equal ? is : -1, next = equal ? is + 1 : 0;
  const long long compare_wide = compare, next_wide = next;
  long long was;
  MPI_Compare_and_swap(wide ? (const void *)&next_wide : (const void *)&next,
                       wide ? (const void *)&compare_wide : (const void *)&compare, &was, type,
                       LAST, (wide ? 3 : 5) * (MPI_Aint)sizeof was, counter_win);
  MPI_Win_flush(LAST, counter_win);
  expected[wide] = is + equal;
}
OPERATION(do_p, MPI_Put(&one_word, 1, MPI_LONG_LONG, LAST, sizeof one_word, 1, MPI_LONG_LONG,
                        counter_win);
          MPI_Win_flush_local(LAST, counter_win))
OPERATION(do_p_quiet, MPI_Put(&one_word, 1, MPI_LONG_LONG, LAST, sizeof one_word, 1, MPI_LONG_LONG,
                              counter_win);
          MPI_Win_flush(LAST, counter_win))
OPERATION(do_g, long long got;
          MPI_Get(&got, 1, MPI_LONG_LONG, LAST, sizeof got, 1, MPI_LONG_LONG, counter_win);
          MPI_Win_flush(LAST, counter_win))
OPERATION(do_put_round,
          MPI_Put(local, (int)b->bytes, MPI_BYTE, NEXT_RANK, 0, (int)b->bytes, MPI_BYTE, data_win);
          MPI_Win_flush(NEXT_RANK, data_win))
OPERATION(do_get_round,
          MPI_Get(local, (int)b->bytes, MPI_BYTE, NEXT_RANK, 0, (int)b->bytes, MPI_BYTE, data_win);
          MPI_Win_flush(NEXT_RANK, data_win))
OPERATION(do_p_round, MPI_Put(&one_word, 1, MPI_LONG_LONG, NEXT_RANK, sizeof one_word, 1,
                              MPI_LONG_LONG, counter_win);
          MPI_Win_flush(NEXT_RANK, counter_win))
OPERATION(do_g_round, long long got;
          MPI_Get(&got, 1, MPI_LONG_LONG, NEXT_RANK, sizeof got, 1, MPI_LONG_LONG, counter_win);
          MPI_Win_flush(NEXT_RANK, counter_win))
OPERATION(do_iput_round, MPI_Put(pieces, (words(b) + 1) / 2, MPI_LONG_LONG, NEXT_RANK, 0, 1,
                                 every_second(b), data_win);
          MPI_Win_flush(NEXT_RANK, data_win))
OPERATION(do_iget_round, MPI_Get(pieces, (words(b) + 1) / 2, MPI_LONG_LONG, NEXT_RANK, 0, 1,
                                 every_second(b), data_win);
          MPI_Win_flush(NEXT_RANK, data_win))
OPERATION(do_iput,
          MPI_Put(pieces, (words(b) + 1) / 2, MPI_LONG_LONG, LAST, 0, 1, every_second(b), data_win);
          MPI_Win_flush(LAST, data_win))
OPERATION(do_iget,
          MPI_Get(pieces, (words(b) + 1) / 2, MPI_LONG_LONG, LAST, 0, 1, every_second(b), data_win);
          MPI_Win_flush(LAST, data_win))
OPERATION(do_rput, MPI_Request r;
          MPI_Rput(local, (int)b->bytes, MPI_BYTE, LAST, 0, (int)b->bytes, MPI_BYTE, data_win, &r);
          MPI_Wait(&r, MPI_STATUS_IGNORE))
OPERATION(do_rget, MPI_Request r;
          MPI_Rget(local, (int)b->bytes, MPI_BYTE, LAST, 0, (int)b->bytes, MPI_BYTE, data_win, &r);
          MPI_Wait(&r, MPI_STATUS_IGNORE))
OPERATION(do_quiet, rma_quiet())
OPERATION(do_fence, MPI_Win_flush_local(LAST, data_win))
OPERATION(do_win_sync, MPI_Win_sync(data_win))
OPERATION(do_test, (void)rma_own_counter())
static nbc_status do_pingpong(void *arg) {
  const bench *b = (const bench *)arg;
  const int partner = rank == 0 ? LAST : 0;
  turn++;
  if (rank != 0 && rank != LAST) return NBC_OK;
  for (int half = 0; half < 2; half++) {
    if (half == (rank == 0)) { /* the last rank waits first */
      long long now = 0;
      while (now < turn) {
        MPI_Fetch_and_op(NULL, &now, MPI_LONG_LONG, rank, 2 * sizeof now, MPI_NO_OP, counter_win);
        MPI_Win_flush(rank, counter_win);
      }
      continue;
    }
    MPI_Put(local, (int)b->bytes, MPI_BYTE, partner, 0, (int)b->bytes, MPI_BYTE, data_win);
    MPI_Win_flush(partner, data_win);
    MPI_Accumulate(&turn, 1, MPI_LONG_LONG, partner, 2 * sizeof turn, 1, MPI_LONG_LONG, MPI_REPLACE,
                   counter_win);
    MPI_Win_flush(partner, counter_win);
  }
  return NBC_OK;
}
#  define ATOMICS(name, call, op)                                                                  \
    OPERATION(do_a_##name, call(op, MPI_LONG_LONG))                                                \
    OPERATION(do_a32_##name, call(op, MPI_INT))
ATOMICS(set, accumulate, MPI_REPLACE)
ATOMICS(add, accumulate, MPI_SUM)
ATOMICS(and, accumulate, MPI_BAND)
ATOMICS(or, accumulate, MPI_BOR)
ATOMICS(xor, accumulate, MPI_BXOR)
ATOMICS(fetch, fetch_op, MPI_NO_OP)
ATOMICS(fetch_add, fetch_op, MPI_SUM)
ATOMICS(swap, fetch_op, MPI_REPLACE)
ATOMICS(fetch_and, fetch_op, MPI_BAND)
ATOMICS(fetch_or, fetch_op, MPI_BOR)
ATOMICS(fetch_xor, fetch_op, MPI_BXOR)
OPERATION(do_a_no, compare_swap(MPI_LONG_LONG, false))
OPERATION(do_a32_no, compare_swap(MPI_INT, false))
OPERATION(do_a_yes, compare_swap(MPI_LONG_LONG, true))
OPERATION(do_a32_yes, compare_swap(MPI_INT, true))
OPERATION(do_lock_shared, MPI_Win_lock(MPI_LOCK_SHARED, LAST, 0, lock_win);
          MPI_Win_unlock(LAST, lock_win))
OPERATION(do_lock_all, MPI_Win_lock_all(0, lock_win); MPI_Win_unlock_all(lock_win))
PARTS(do_malloc, MPI_Win w;
      char *m, MPI_Win_allocate((MPI_Aint)b->bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &m, &w),
      MPI_Win_free(&w))
PARTS(do_win_create, MPI_Win w,
      MPI_Win_create(local, (MPI_Aint)b->bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w),
      MPI_Win_free(&w))
PARTS(do_alloc_mem, char *m, MPI_Alloc_mem((MPI_Aint)b->bytes, MPI_INFO_NULL, &m), MPI_Free_mem(m))
OPERATION(do_alltoall, MPI_Alltoall(pieces, words_each(b), MPI_LONG_LONG,
                                    pieces + 2 * (largest_bytes + 8 * (uint64_t)size + 8),
                                    words_each(b), MPI_LONG_LONG, MPI_COMM_WORLD))
static nbc_status reduce(const bench *b, MPI_Op op) {
  MPI_Allreduce(local, gathered, words(b), MPI_LONG_LONG, op, MPI_COMM_WORLD);
  return NBC_OK;
}
static nbc_status do_r_and(void *b) { return reduce((const bench *)b, MPI_BAND); }
static nbc_status do_r_or(void *b) { return reduce((const bench *)b, MPI_BOR); }
static nbc_status do_r_xor(void *b) { return reduce((const bench *)b, MPI_BXOR); }
static nbc_status do_r_min(void *b) { return reduce((const bench *)b, MPI_MIN); }
static nbc_status do_r_max(void *b) { return reduce((const bench *)b, MPI_MAX); }
static nbc_status do_r_prod(void *b) { return reduce((const bench *)b, MPI_PROD); }

#  define ROWS(name, text)                                                                         \
    {text, ALONE, false, do_a_##name, NULL, 8}, { text, ALONE, false, do_a32_##name, NULL, 4 }
static const more rows[] = {{"p", ALONE, false, do_p, NULL, 8},
                            {"p quiet", ALONE, false, do_p_quiet, NULL, 0},
                            {"g", ALONE, false, do_g, NULL, 8},
                            {"p round", TOGETHER, false, do_p_round, do_quiet, 8},
                            {"g round", TOGETHER, false, do_g_round, NULL, 8},
                            ROWS(set, "set"),
                            ROWS(add, "add"),
                            ROWS(and, "and"),
                            ROWS(or, "or"),
                            ROWS(xor, "xor"),
                            ROWS(fetch, "fetch"),
                            ROWS(fetch_add, "fetch_add"),
                            ROWS(swap, "swap"),
                            ROWS(fetch_and, "fetch_and"),
                            ROWS(fetch_or, "fetch_or"),
                            ROWS(fetch_xor, "fetch_xor"),
                            ROWS(no, "compare_swap"),
                            ROWS(yes, "compare_swap yes"),
                            {"quiet alone", ALONE, false, do_quiet, NULL, 0},
                            {"flush_local alone", ALONE, false, do_fence, NULL, 0},
                            {"win sync", ALONE, false, do_win_sync, NULL, 0},
                            {"test", ALONE, false, do_test, NULL, 0},
                            {"lock shared", ALONE, false, do_lock_shared, NULL, 0},
                            {"lock all", ALONE, false, do_lock_all, NULL, 0},
                            {"iput", ALONE, true, do_iput, NULL, 0},
                            {"iget", ALONE, true, do_iget, NULL, 0},
                            {"rput, wait", ALONE, true, do_rput, NULL, 0},
                            {"rget, wait", ALONE, true, do_rget, NULL, 0},
                            {"put round", TOGETHER, true, do_put_round, do_quiet, 0},
                            {"get round", TOGETHER, true, do_get_round, NULL, 0},
                            {"iput round", TOGETHER, true, do_iput_round, do_quiet, 0},
                            {"iget round", TOGETHER, true, do_iget_round, NULL, 0},
                            {"put ping-pong", PAIR, true, do_pingpong, NULL, 0},
                            {"alltoall", TOGETHER, true, do_alltoall, NULL, 0},
                            {"reduce and", TOGETHER, true, do_r_and, NULL, 0},
                            {"reduce or", TOGETHER, true, do_r_or, NULL, 0},
                            {"reduce xor", TOGETHER, true, do_r_xor, NULL, 0},
                            {"reduce min", TOGETHER, true, do_r_min, NULL, 0},
                            {"reduce max", TOGETHER, true, do_r_max, NULL, 0},
                            {"reduce prod", TOGETHER, true, do_r_prod, NULL, 0}};
static const parts_row part_rows[] = {
    {{"win allocate", "win free"}, true, true, do_malloc, false, 4},
    {{"win create"}, true, true, do_win_create, false, 4},
    {{"alloc_mem", "free_mem"}, false, true, do_alloc_mem, false, 0}};
#endif

/* Open MPI 4.1's OpenSHMEM writes 8 bytes into a variable of 4 (docs/mpi_errors.md). */
static bool can_compare_32(void) {
#ifdef NBC_WITH_SHMEM
  return strstr(SHMEM_VENDOR_STRING, "open-mpi") == NULL;
#else
  return true;
#endif
}
static bool can(const parts_row *row) {
#ifdef NBC_WITH_SHMEM
  return row != NULL;
#else
  return row->fn != do_win_create || may_create;
#endif
}

/* ---- locks that others hold, or take one after the other -------------------------------------- */
static nbc_status do_test_lock_of_last(void *b) {
  return rank < size - 1 ? do_test_lock(b) : NBC_OK;
}
static nbc_status do_lock_turns(void *b) {
  (void)b;
  for (int turn_of = 0; turn_of < size; turn_of++) {
    if (turn_of == rank) rma_lock(), rma_unlock();
    rma_barrier();
  }
  return NBC_OK;
}
static nbc_status do_turns(void *b) {
  (void)b;
  for (int i = 0; i < size; i++) rma_barrier();
  return NBC_OK;
}

static void measure_locks(bench *b) {
  nbc_measurement m = none;
  measure_parts(b, &lock_parts);
  if (has_test_lock() && size > 1) {
    if (rank == size - 1) rma_lock();
    print(b, "lock test busy", 0, &m, alone(b, do_test_lock, &m), 1);
    print(b, "lock test busy all", 0, &m, together(b, NBC_START_WINDOW, do_test_lock_of_last, &m),
          1);
    measure_parts(b, &test_turns);
    if (rank == size - 1) rma_unlock();
    measure_parts(b, &test_round);
  }
  const double barriers_ns = together(b, NBC_START_WINDOW, do_turns, &m);
  print(b, "lock turns", 0, &m,
        (together(b, NBC_START_WINDOW, do_lock_turns, &m) - barriers_ns) / size, size);
  nbc_measurement_free(&m);
}

static void measure_more(bench *b, bool sized) {
  static bool said;
  nbc_measurement m = none;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const more *row = &rows[i];
    if (row->sized != sized || (row->way == PAIR && size < 2)) continue;
    if (row->bytes == 4 && strstr(row->name, "compare_swap") && !can_compare_32()) {
      if (rank == 0) printf("# %s of 4 bytes: this library destroys its own stack\n", row->name);
      continue;
    }
    const double less_ns = row->less ? alone(b, row->less, &m) : 0;
    const double ns =
        (row->way == ALONE ? alone(b, row->fn, &m) : together(b, NBC_START_WINDOW, row->fn, &m)) -
        less_ns;
    const double scale = row->way == PAIR ? 2 : 1;
    print(b, row->name, sized ? b->bytes : row->bytes, &m, ns / scale, scale);
  }
  nbc_measurement_free(&m);
  for (size_t i = 0; i < sizeof part_rows / sizeof *part_rows; i++) {
    const parts_row *row = &part_rows[i];
    if (row->sized != sized) continue;
    if (can(row)) {
      measure_parts(b, row);
    } else if (!said) {
      said = true;
      if (rank == 0) printf("# %s: this library cannot\n", row->names[0]);
    }
  }
}
#endif
