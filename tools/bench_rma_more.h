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
} more;

static long long turn; /* of the ping-pong: both ranks count alike */
#define OPERATION(name, ...)                                                                       \
  static nbc_status name(void *arg) {                                                              \
    bench *b = (bench *)arg;                                                                       \
    (void)b;                                                                                       \
    __VA_ARGS__;                                                                                   \
    return NBC_OK;                                                                                 \
  }

#ifdef NBC_WITH_SHMEM
/* ---- OpenSHMEM ------------------------------------------------------------------------------ */
static shmem_ctx_t context;
static unsigned long long *bits; /* symmetric: a counter, a word, the ping-pong's */
static char *pieces;             /* symmetric: of the all to all */
static long *more_areas;
enum { AREA_KINDS = 7 };

static bool open_more(void) {
  const size_t each = SHMEM_ALLTOALL_SYNC_SIZE + SHMEM_COLLECT_SYNC_SIZE + SHMEM_BARRIER_SYNC_SIZE +
                      SHMEM_ALLTOALLS_SYNC_SIZE;
  bits = (unsigned long long *)shmem_calloc(4, sizeof *bits);
  pieces = (char *)shmem_calloc(3, (size_t)largest_bytes + 8 * (size_t)size + 8);
  more_areas = (long *)shmem_calloc(2 * AREA_KINDS * each, sizeof *more_areas);
  for (size_t i = 0; more_areas && i < 2 * AREA_KINDS * each; i++) more_areas[i] = SHMEM_SYNC_VALUE;
  if (shmem_ctx_create(0, &context) != 0) return false;
  shmem_barrier_all();
  return bits && pieces && more_areas;
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
ATOMIC(set, (bits + 1, 1, LAST))
ATOMIC(inc, (bits + 1, LAST))
ATOMIC(and, (bits + 1, 7, LAST))
ATOMIC(or, (bits + 1, 1, LAST))
ATOMIC(xor, (bits + 1, 1, LAST))
FETCHING(fetch, (bits + 1, LAST))
FETCHING(fetch_inc, (bits + 1, LAST))
FETCHING(fetch_and, (bits + 1, 7, LAST))
FETCHING(fetch_or, (bits + 1, 1, LAST))
FETCHING(fetch_xor, (bits + 1, 1, LAST))
FETCHING(swap, (bits + 1, 1, LAST))
CTX_ATOMIC(set, (context, bits + 1, 1, LAST))
CTX_ATOMIC(inc, (context, bits + 1, LAST))
CTX_ATOMIC(add, (context, bits + 1, 1, LAST))
CTX_ATOMIC(and, (context, bits + 1, 7, LAST))
CTX_ATOMIC(or, (context, bits + 1, 1, LAST))
CTX_ATOMIC(xor, (context, bits + 1, 1, LAST))
CTX_FETCHING(fetch, (context, bits + 1, LAST))
CTX_FETCHING(fetch_inc, (context, bits + 1, LAST))
CTX_FETCHING(fetch_add, (context, bits + 1, 1, LAST))
CTX_FETCHING(fetch_and, (context, bits + 1, 7, LAST))
CTX_FETCHING(fetch_or, (context, bits + 1, 1, LAST))
CTX_FETCHING(fetch_xor, (context, bits + 1, 1, LAST))
CTX_FETCHING(swap, (context, bits + 1, 1, LAST))
CTX_FETCHING(compare_swap, (context, bits + 1, 0, 1, LAST))

static nbc_status make_context(long options) {
  shmem_ctx_t made;
  if (shmem_ctx_create(options, &made) == 0) shmem_ctx_destroy(made);
  return NBC_OK;
}
static nbc_status do_ctx_create(void *b) { return (void)b, make_context(0); }
static nbc_status do_ctx_serialized(void *b) { return (void)b, make_context(SHMEM_CTX_SERIALIZED); }
static nbc_status do_ctx_private(void *b) { return (void)b, make_context(SHMEM_CTX_PRIVATE); }
static nbc_status do_ctx_nostore(void *b) { return (void)b, make_context(SHMEM_CTX_NOSTORE); }
OPERATION(do_malloc, shmem_free(shmem_malloc(b->bytes)))
OPERATION(do_calloc, shmem_free(shmem_calloc(1, b->bytes)))
OPERATION(do_align, shmem_free(shmem_align(64, b->bytes)))
OPERATION(do_realloc, shmem_free(shmem_realloc(shmem_malloc(8), b->bytes + 8)))

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

#  define ATOMIC_ROW(name)                                                                         \
    { #name, ALONE, false, do_a_##name, do_quiet }
#  define FETCH_ROW(name)                                                                          \
    { #name, ALONE, false, do_a_##name, NULL }
#  define CTX_ROW(name)                                                                            \
    { "ctx " #name, ALONE, false, do_c_##name, NULL }
static const more rows[] = {{"p", ALONE, false, do_p, NULL},
                            {"p quiet", ALONE, false, do_p_quiet, NULL},
                            {"g", ALONE, false, do_g, NULL},
                            ATOMIC_ROW(set),
                            ATOMIC_ROW(inc),
                            ATOMIC_ROW(and),
                            ATOMIC_ROW(or),
                            ATOMIC_ROW(xor),
                            FETCH_ROW(fetch),
                            FETCH_ROW(fetch_inc),
                            FETCH_ROW(fetch_and),
                            FETCH_ROW(fetch_or),
                            FETCH_ROW(fetch_xor),
                            FETCH_ROW(swap),
                            CTX_ROW(set),
                            CTX_ROW(inc),
                            CTX_ROW(add),
                            CTX_ROW(and),
                            CTX_ROW(or),
                            CTX_ROW(xor),
                            CTX_ROW(fetch),
                            CTX_ROW(fetch_inc),
                            CTX_ROW(fetch_add),
                            CTX_ROW(fetch_and),
                            CTX_ROW(fetch_or),
                            CTX_ROW(fetch_xor),
                            CTX_ROW(swap),
                            CTX_ROW(compare_swap),
                            {"quiet alone", ALONE, false, do_quiet, NULL},
                            {"fence alone", ALONE, false, do_fence, NULL},
                            {"fence", ALONE, false, do_put_one_fence, do_put_one},
                            {"ctx quiet", ALONE, false, do_ctx_put_one_quiet, do_ctx_put_one},
                            {"ctx fence", ALONE, false, do_ctx_put_one_fence, do_ctx_put_one},
                            {"wait_until", ALONE, false, do_wait_until, NULL},
                            {"test", ALONE, false, do_test, NULL},
                            {"ctx create", ALONE, false, do_ctx_create, NULL},
                            {"ctx create serialized", ALONE, false, do_ctx_serialized, NULL},
                            {"ctx create private", ALONE, false, do_ctx_private, NULL},
                            {"ctx create nostore", ALONE, false, do_ctx_nostore, NULL},
                            {"sync all", TOGETHER, false, do_sync_all, NULL},
                            {"sync", TOGETHER, false, do_sync_set, NULL},
                            {"barrier of a set", TOGETHER, false, do_barrier_set, NULL},
                            {"sync of half", TOGETHER, false, do_sync_half, NULL},
                            {"barrier of half", TOGETHER, false, do_barrier_half, NULL},
                            {"iput", ALONE, true, do_iput, do_quiet},
                            {"iget", ALONE, true, do_iget, NULL},
                            {"put ping-pong", PAIR, true, do_pingpong, NULL},
                            {"ctx put", ALONE, true, do_ctx_put, NULL},
                            {"ctx get", ALONE, true, do_ctx_get, NULL},
                            {"ctx put_nbi full", ALONE, true, do_ctx_put_nbi, NULL},
                            {"ctx get_nbi full", ALONE, true, do_ctx_get_nbi, NULL},
                            {"malloc, free", TOGETHER, true, do_malloc, NULL},
                            {"calloc, free", TOGETHER, true, do_calloc, NULL},
                            {"align, free", TOGETHER, true, do_align, NULL},
                            {"malloc, realloc, free", TOGETHER, true, do_realloc, NULL},
                            {"alltoall", TOGETHER, true, do_alltoall, NULL},
                            {"alltoalls", TOGETHER, true, do_alltoalls, NULL},
                            {"collect, any lengths", TOGETHER, true, do_collect_any, NULL},
                            {"reduce and", TOGETHER, true, do_r_and, NULL},
                            {"reduce or", TOGETHER, true, do_r_or, NULL},
                            {"reduce xor", TOGETHER, true, do_r_xor, NULL},
                            {"reduce min", TOGETHER, true, do_r_min, NULL},
                            {"reduce max", TOGETHER, true, do_r_max, NULL},
                            {"reduce prod", TOGETHER, true, do_r_prod, NULL}};
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
static void accumulate(MPI_Op op) {
  MPI_Accumulate(&one_word, 1, MPI_LONG_LONG, LAST, sizeof(long long), 1, MPI_LONG_LONG, op,
                 counter_win);
  MPI_Win_flush(LAST, counter_win);
}
static void fetch_op(MPI_Op op) {
  long long was;
  MPI_Fetch_and_op(&one_word, &was, MPI_LONG_LONG, LAST, sizeof was, op, counter_win);
  MPI_Win_flush(LAST, counter_win);
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
OPERATION(do_a_set, accumulate(MPI_REPLACE))
OPERATION(do_a_and, accumulate(MPI_BAND))
OPERATION(do_a_or, accumulate(MPI_BOR))
OPERATION(do_a_xor, accumulate(MPI_BXOR))
OPERATION(do_a_fetch, fetch_op(MPI_NO_OP))
OPERATION(do_a_swap, fetch_op(MPI_REPLACE))
OPERATION(do_a_fetch_and, fetch_op(MPI_BAND))
OPERATION(do_a_fetch_or, fetch_op(MPI_BOR))
OPERATION(do_a_fetch_xor, fetch_op(MPI_BXOR))
OPERATION(do_lock_shared, MPI_Win_lock(MPI_LOCK_SHARED, LAST, 0, lock_win);
          MPI_Win_unlock(LAST, lock_win))
OPERATION(do_lock_all, MPI_Win_lock_all(0, lock_win); MPI_Win_unlock_all(lock_win))
OPERATION(do_malloc, MPI_Win w; char *m;
          MPI_Win_allocate((MPI_Aint)b->bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &m, &w);
          MPI_Win_free(&w))
OPERATION(do_win_create, MPI_Win w;
          MPI_Win_create(local, (MPI_Aint)b->bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w);
          MPI_Win_free(&w))
OPERATION(do_alloc_mem, char *m; MPI_Alloc_mem((MPI_Aint)b->bytes, MPI_INFO_NULL, &m);
          MPI_Free_mem(m))
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

#  define FETCH_ROW(name)                                                                          \
    { #name, ALONE, false, do_a_##name, NULL }
static const more rows[] = {{"p", ALONE, false, do_p, NULL},
                            {"p quiet", ALONE, false, do_p_quiet, NULL},
                            {"g", ALONE, false, do_g, NULL},
                            FETCH_ROW(set),
                            FETCH_ROW(and),
                            FETCH_ROW(or),
                            FETCH_ROW(xor),
                            FETCH_ROW(fetch),
                            FETCH_ROW(swap),
                            FETCH_ROW(fetch_and),
                            FETCH_ROW(fetch_or),
                            FETCH_ROW(fetch_xor),
                            {"quiet alone", ALONE, false, do_quiet, NULL},
                            {"flush_local alone", ALONE, false, do_fence, NULL},
                            {"win sync", ALONE, false, do_win_sync, NULL},
                            {"test", ALONE, false, do_test, NULL},
                            {"lock shared", ALONE, false, do_lock_shared, NULL},
                            {"lock all", ALONE, false, do_lock_all, NULL},
                            {"iput", ALONE, true, do_iput, NULL},
                            {"iget", ALONE, true, do_iget, NULL},
                            {"rput, wait", ALONE, true, do_rput, NULL},
                            {"rget, wait", ALONE, true, do_rget, NULL},
                            {"put ping-pong", PAIR, true, do_pingpong, NULL},
                            {"win allocate, free", TOGETHER, true, do_malloc, NULL},
                            {"win create, free", TOGETHER, true, do_win_create, NULL},
                            {"alloc_mem, free", ALONE, true, do_alloc_mem, NULL},
                            {"alltoall", TOGETHER, true, do_alltoall, NULL},
                            {"reduce and", TOGETHER, true, do_r_and, NULL},
                            {"reduce or", TOGETHER, true, do_r_or, NULL},
                            {"reduce xor", TOGETHER, true, do_r_xor, NULL},
                            {"reduce min", TOGETHER, true, do_r_min, NULL},
                            {"reduce max", TOGETHER, true, do_r_max, NULL},
                            {"reduce prod", TOGETHER, true, do_r_prod, NULL}};
#endif

static bool can(const more *row) {
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
  if (has_test_lock() && size > 1) {
    if (rank == size - 1) rma_lock();
    print(b, "lock test busy", 0, &m, alone(b, do_test_lock, &m), 1);
    print(b, "lock test busy all", 0, &m, together(b, NBC_START_WINDOW, do_test_lock_of_last, &m),
          1);
    if (rank == size - 1) rma_unlock();
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
    if (!can(row)) {
      if (rank == 0 && !said) printf("# %s: this library cannot\n", row->name);
      said = true;
      continue;
    }
    const double less_ns = row->less ? alone(b, row->less, &m) : 0;
    const double ns =
        (row->way == ALONE ? alone(b, row->fn, &m) : together(b, NBC_START_WINDOW, row->fn, &m)) -
        less_ns;
    const double scale = row->way == PAIR ? 2 : 1;
    print(b, row->name, sized ? b->bytes : strchr(row->name, ' ') ? 0 : 8, &m, ns / scale, scale);
  }
  nbc_measurement_free(&m);
}
#endif
