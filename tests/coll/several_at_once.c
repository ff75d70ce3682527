/* Several collectives are waited for together: all, any, some, tested; NULL and idle requests are finished; time
   limits end nothing that runs; errors come when all is over. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#include "tests/test.h"
#include <sched.h>

enum { SIZE = 3, N = 6 };
static int wrong; /* atomic */
#define GOOD(condition)                                                                            \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      printf("  %s:%d: not true: %s\n", __FILE__, __LINE__, #condition);                           \
      __atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);                                             \
    }                                                                                              \
  } while (0)

typedef struct set {
  nbc_comm *comm[2];
  nbc_request *requests[N + 1]; /* the last one stays NULL */
  int64_t in[N], out[N];
} set;

static void start(set *s, int rank) {
  for (int i = 0; i < N; i++) {
    s->in[i] = rank + i, s->out[i] = -1;
    GOOD(nbc_iallreduce(s->comm[i % 2], &s->in[i], &s->out[i], 1, NBC_TYPE_INT64, NBC_REDUCE_SUM, &s->requests[i]) == NBC_OK);
  }
  s->requests[N] = NULL;
}
static void right(const set *s) {
  for (int i = 0; i < N; i++) GOOD(!s->requests[i] && s->out[i] == SIZE * (SIZE - 1) / 2 + SIZE * i);
}

static nbc_status rank_main(nbc_transport *t, void *user) {
  set s;
  int index = 7, done = 7, which[N + 1], left_count = N, seen[N] = {0};
  nbc_status status = NBC_PENDING;
  (void)user;
  for (uint32_t i = 0; i < 2; i++) {
    nbc_comm_desc d = {0};
    d.transport = t, d.id = i;
    if (nbc_comm_create(&d, &s.comm[i], NULL)) return NBC_E_NOMEM;
  }
  start(&s, t->rank);
  GOOD(nbc_coll_waitall(N + 1, s.requests, 0) == NBC_OK);
  right(&s);
  GOOD(nbc_coll_waitall(N + 1, s.requests, 0) == NBC_OK && nbc_coll_testall(N + 1, s.requests) == NBC_OK);
  GOOD(nbc_coll_waitany(N + 1, s.requests, &index, 0) == NBC_OK && index == -1);
  GOOD(nbc_coll_waitsome(N + 1, s.requests, &done, which, 0) == NBC_OK && done == 0);

  start(&s, t->rank);
  while (status == NBC_PENDING) {
    status = nbc_coll_testall(N + 1, s.requests);
    if (status == NBC_PENDING) GOOD(s.requests[0] != NULL && s.requests[N - 1] != NULL);
  }
  GOOD(status == NBC_OK);
  right(&s);

  start(&s, t->rank);
  GOOD(nbc_coll_waitany(N + 1, s.requests, &index, 0) == NBC_OK && index >= 0 && index < N && !s.requests[index]);
  if (index >= 0) seen[index] = 1, left_count--;
  while (left_count > 0) {
    GOOD(nbc_coll_waitsome(N + 1, s.requests, &done, which, 0) == NBC_OK && done > 0 && done <= left_count);
    if (done <= 0) break;
    for (int i = 0; i < done; i++) {
      GOOD(!seen[which[i]] && !s.requests[which[i]]);
      seen[which[i]] = 1;
    }
    left_count -= done;
  }
  right(&s);

  /* rank 0 comes late: the others give up waiting, nothing is lost; and what was over is ended */
  if (t->rank) {
    GOOD(nbc_ibarrier(s.comm[0], &s.requests[0]) == NBC_OK);
    GOOD(nbc_coll_waitany(1, s.requests, &index, 1000000) == NBC_E_TIMEOUT && index == -1);
    GOOD(nbc_coll_waitall(N + 1, s.requests, 1000000) == NBC_E_TIMEOUT && s.requests[0]);
    GOOD(nbc_coll_waitsome(1, s.requests, &done, which, 1000000) == NBC_E_TIMEOUT && done == 0);
    GOOD(nbc_send(t, NULL, 0, 0, 5) == NBC_OK);
  } else {
    for (int p = 1; p < SIZE; p++) GOOD(nbc_recv(t, NULL, 0, p, 5) == NBC_OK);
    GOOD(nbc_ibarrier(s.comm[0], &s.requests[0]) == NBC_OK);
  }
  GOOD(nbc_coll_waitall(1, s.requests, 0) == NBC_OK && !s.requests[0]);

  /* one that fails: its status comes, the others are over too */
  const uint64_t count = t->rank == 0 ? 2 : 1; /* the root sends more than is expected */
  int64_t few[2] = {1, 2}, sum = -1, one = 1;
  GOOD(nbc_ibcast(s.comm[0], few, count, NBC_TYPE_INT64, 0, &s.requests[0]) == NBC_OK);
  GOOD(nbc_iallreduce(s.comm[1], &one, &sum, 1, NBC_TYPE_INT64, NBC_REDUCE_SUM, &s.requests[1]) == NBC_OK);
  status = nbc_coll_waitall(2, s.requests, 0);
  GOOD(t->rank == 0 || status == NBC_E_TRUNCATED);
  GOOD(!s.requests[0] && !s.requests[1] && sum == SIZE);

  GOOD(nbc_coll_waitall(-1, s.requests, 0) == NBC_E_INVAL && nbc_coll_testall(1, NULL) == NBC_E_INVAL);
  GOOD(nbc_coll_waitany(1, s.requests, NULL, 0) == NBC_E_INVAL && nbc_coll_waitsome(1, s.requests, &done, NULL, 0) == NBC_E_INVAL);
  for (int i = 0; i < 2; i++) nbc_comm_destroy(s.comm[i]);
  return NBC_OK;
}

static void all_any_some(void) {
  nbc_threads *world;
  nbc_threads_desc desc = {0};
  desc.size = SIZE;
  CHECK(nbc_threads_create(&desc, &world) == NBC_OK);
  CHECK(nbc_threads_run(world, rank_main, NULL) == NBC_OK);
  CHECK(wrong == 0);
  nbc_threads_destroy(world);
}

/* Made in the same order everywhere, started in another one by every rank, some ranks a round ahead. */
static nbc_status starts_in_any_order(nbc_transport *t, void *user) {
  enum { KINDS = 4, ROUNDS = 5 };
  nbc_comm_desc d = {0};
  nbc_comm *comm;
  nbc_request *requests[KINDS] = {NULL};
  int64_t in[KINDS], out[KINDS];
  d.transport = t, d.check = *(const bool *)user;
  if (nbc_comm_create(&d, &comm, NULL)) return NBC_E_NOMEM;
  for (int i = 0; i < KINDS; i++) {
    nbc_coll_args args = {0};
    args.coll = NBC_COLL_ALLREDUCE, args.send = &in[i], args.recv = &out[i], args.count = 1;
    args.type = NBC_TYPE_INT64, args.reduce = NBC_REDUCE_SUM;
    GOOD(nbc_coll_init(comm, &args, &requests[i]) == NBC_OK);
  }
  for (int round = 0; round < ROUNDS; round++) {
    for (int i = 0; i < KINDS; i++) in[i] = 100 * i + round, out[i] = -1;
    for (int k = 0; k < KINDS; k++) {
      const int i = t->rank % 2 ? KINDS - 1 - k : (k + t->rank + round) % KINDS;
      GOOD(nbc_coll_start(requests[i]) == NBC_OK);
    }
    int64_t one = 1, sum = 0; /* another collective between them */
    nbc_request *other;
    GOOD(nbc_iallreduce(comm, &one, &sum, 1, NBC_TYPE_INT64, NBC_REDUCE_SUM, &other) == NBC_OK);
    GOOD(nbc_coll_waitall(KINDS, requests, 20000000000) == NBC_OK);
    GOOD(nbc_coll_wait(&other, 20000000000) == NBC_OK && sum == SIZE);
    for (int i = 0; i < KINDS; i++) GOOD(out[i] == SIZE * (100 * i + round));
  }
  for (int i = 0; i < KINDS; i++) nbc_coll_free(requests[i]);
  nbc_comm_destroy(comm);
  return NBC_OK;
}

static void persistent_ones_start_in_any_order(void) {
  nbc_threads *world;
  nbc_threads_desc desc = {0};
  desc.size = SIZE;
  CHECK(nbc_threads_create(&desc, &world) == NBC_OK);
  for (int check = 0; check < 2; check++) {
    bool checked = check == 1;
    CHECK(nbc_threads_run(world, starts_in_any_order, &checked) == NBC_OK);
  }
  CHECK(wrong == 0);
  nbc_threads_destroy(world);
}

/* Who waits sleeps in the transport where that can: `rest` after a step that ended nothing. */
static int rest_count, rest_wanted[2]; /* atomic; of rank 0: so far; before rank 1 joins */
static void rests(void *ctx) {
  (void)ctx;
  __atomic_add_fetch(&rest_count, 1, __ATOMIC_RELAXED);
  sched_yield();
}
static nbc_status waits_at_rest(nbc_transport *t, void *user) {
  nbc_comm_desc d = {0};
  nbc_comm *comm;
  nbc_request *requests[2];
  (void)user;
  d.transport = t;
  if (nbc_comm_create(&d, &comm, NULL)) return NBC_E_NOMEM;
  if (t->rank == 0) t->rest = rests;
  for (int way = 0; way < 2; way++) {
    const int wanted = __atomic_load_n(&rest_count, __ATOMIC_RELAXED) + 50;
    if (t->rank == 0) __atomic_store_n(&rest_wanted[way], wanted, __ATOMIC_RELAXED);
    while (t->rank == 1 && (!__atomic_load_n(&rest_wanted[way], __ATOMIC_RELAXED) ||
                            __atomic_load_n(&rest_count, __ATOMIC_RELAXED) < __atomic_load_n(&rest_wanted[way], __ATOMIC_RELAXED)))
      sched_yield();
    for (int i = 0; i < 2; i++) GOOD(nbc_ibarrier(comm, &requests[i]) == NBC_OK);
    if (way == 0) GOOD(nbc_coll_wait(&requests[0], 0) == NBC_OK && nbc_coll_wait(&requests[1], 0) == NBC_OK);
    if (way == 1) GOOD(nbc_coll_waitall(2, requests, 0) == NBC_OK);
    if (t->rank == 0) GOOD(rest_count >= wanted);
  }
  t->rest = NULL;
  nbc_comm_destroy(comm);
  return NBC_OK;
}
static void waits_rest_in_the_transport(void) {
  nbc_threads *world;
  nbc_threads_desc desc = {0};
  desc.size = SIZE;
  CHECK(nbc_threads_create(&desc, &world) == NBC_OK);
  CHECK(nbc_threads_run(world, waits_at_rest, NULL) == NBC_OK);
  CHECK(wrong == 0);
  nbc_threads_destroy(world);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(all_any_some);
  RUN(persistent_ones_start_in_any_order);
  RUN(waits_rest_in_the_transport);
  return TEST_END();
}
