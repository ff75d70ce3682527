/* Wrong calls and failing transports end with an error that says which argument, rank or message;
   requests that are dropped leave nothing behind. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#include "tests/test.h"

enum { SIZE = 3 };
static nbc_threads *world;
static nbc_comm *comms[SIZE];
static int32_t in[SIZE][64], out[SIZE][64];

static void open_world(bool check, int64_t check_limit_ns) {
  nbc_threads_desc desc = {0};
  desc.size = SIZE;
  CHECK(nbc_threads_create(&desc, &world) == NBC_OK);
  for (int r = 0; r < SIZE; r++) {
    nbc_comm_desc d = {0};
    d.transport = nbc_threads_rank(world, r);
    d.check = check, d.check_limit_ns = check_limit_ns;
    CHECK(nbc_comm_create(&d, &comms[r], NULL) == NBC_OK);
  }
}

static void close_world(void) {
  for (int r = 0; r < SIZE; r++) nbc_comm_destroy(comms[r]);
  nbc_threads_destroy(world);
}

/* Tests all until none is pending. */
static void drive(nbc_request **requests, nbc_status *ends, int count) {
  for (int i = 0; i < count; i++) ends[i] = NBC_PENDING;
  for (long round = 0, left = count; left > 0 && round < 100000000; round++)
    for (int i = 0; i < count; i++)
      if (ends[i] == NBC_PENDING && (ends[i] = nbc_coll_test(&requests[i])) != NBC_PENDING) left--;
}

static bool refused(const nbc_coll_args *args, nbc_status status, const char *says) {
  nbc_request *request = (nbc_request *)&request;
  const nbc_status got = nbc_coll_start_new(comms[1], args, &request);
  const bool good =
      got == status && request == NULL && strstr(nbc_comm_error(comms[1])->text, says);
  if (!good) printf("  got %s: %s\n", nbc_status_name(got), nbc_comm_error(comms[1])->text);
  return good;
}

/* Two messages to one place would wait for each other for ever. In which order places are listed does not matter, nor where
   a block of nothing is. */
static void blocks_in_one_place_are_refused(void) {
  static const uint64_t counts[SIZE] = {3, 2, 4};
  static const uint64_t meet[][SIZE] = {{0, 2, 10}, {10, 0, 1}, {4, 20, 1}, {5, 5, 20}};
  static const uint64_t apart[][SIZE] = {{0, 3, 5}, {6, 4, 0}, {10, 0, 20}};
  nbc_coll_args a = {.send = in[1], .recv = out[1], .count = 2, .type = NBC_TYPE_INT32, .recv_counts = counts, .root = 1};
  open_world(false, 0);
  for (size_t i = 0; i < sizeof meet / sizeof *meet; i++) {
    a.recv_displs = meet[i];
    a.coll = NBC_COLL_ALLGATHERV;
    CHECK(refused(&a, NBC_E_INVAL, "are received in one place"));
    a.coll = NBC_COLL_GATHERV;
    CHECK(refused(&a, NBC_E_INVAL, "are received in one place"));
  }
  a.recv_displs = meet[1];
  CHECK(refused(&a, NBC_E_INVAL, "recv_displs[2] = 1: blocks 1 and 2 are received in one place"));
  for (size_t i = 0; i < sizeof apart / sizeof *apart; i++) {
    static const uint64_t with_none[SIZE] = {3, 0, 4}, inside[SIZE] = {0, 1, 3};
    nbc_request *requests[SIZE];
    nbc_status ends[SIZE];
    for (int r = 0; r < SIZE; r++) {
      nbc_coll_args b = {.coll = NBC_COLL_ALLGATHERV, .send = in[r], .recv = out[r], .type = NBC_TYPE_INT32, .recv_counts = counts, .recv_displs = apart[i]};
      if (!i) b.recv_counts = with_none, b.recv_displs = inside;
      b.count = b.recv_counts[r];
      CHECK(nbc_coll_start_new(comms[r], &b, &requests[r]) == NBC_OK);
    }
    drive(requests, ends, SIZE);
    for (int r = 0; r < SIZE; r++) CHECK(ends[r] == NBC_OK);
  }
  close_world();
}

static void wrong_arguments_are_refused(void) {
  open_world(false, 0);
  const nbc_coll_args good = {.coll = NBC_COLL_REDUCE,
                              .send = in[1],
                              .recv = out[1],
                              .count = 4,
                              .type = NBC_TYPE_INT32,
                              .reduce = NBC_REDUCE_SUM,
                              .root = 1};
  nbc_coll_args a;
  a = good, a.coll = (nbc_coll)77;
  CHECK(refused(&a, NBC_E_INVAL, "coll: no collective 77"));
  a = good, a.root = 3;
  CHECK(refused(&a, NBC_E_RANGE, "reduce: root: 3 is not in 0..2"));
  a = good, a.root = -1;
  CHECK(refused(&a, NBC_E_RANGE, "reduce: root: -1"));
  a = good, a.send = NULL;
  CHECK(refused(&a, NBC_E_INVAL, "reduce: send: must not be NULL"));
  a = good, a.recv = NULL;
  CHECK(refused(&a, NBC_E_INVAL, "reduce: recv: must not be NULL"));
  a = good, a.recv = in[1] + 3;
  CHECK(refused(&a, NBC_E_INVAL, "overlap"));
  a = good, a.recv = NBC_IN_PLACE;
  CHECK(refused(&a, NBC_E_INVAL, "NBC_IN_PLACE"));
  a = good, a.root = 0, a.send = NBC_IN_PLACE;
  CHECK(refused(&a, NBC_E_INVAL, "only the root 0 may be in place, not rank 1"));
  a = good, a.type = (nbc_type)99;
  CHECK(refused(&a, NBC_E_INVAL, "type: no type 99"));
  a = good, a.reduce = NBC_REDUCE_MAXLOC;
  CHECK(refused(&a, NBC_E_INVAL, "maxloc does not exist for int32"));
  a = good, a.reduce = NBC_REDUCE_USER;
  CHECK(refused(&a, NBC_E_INVAL, "no operator 100"));
  a = good, a.algo = NBC_ALGO_BRUCK;
  CHECK(refused(&a, NBC_E_INVAL, "bruck does not serve"));
  a = good, a.count = UINT64_MAX / 3;
  CHECK(refused(&a, NBC_E_RANGE, "2^62"));
  a = good, a.coll = NBC_COLL_ALLTOALLV;
  CHECK(refused(&a, NBC_E_INVAL, "counts"));
  close_world();
}

static void plus(void *result, const void *left, const void *right, uint64_t count, nbc_type type, void *user) {
  (void)type, (void)user;
  for (uint64_t i = 0; i < count; i++) ((int *)result)[i] = ((const int *)left)[i] + ((const int *)right)[i];
}

static void sixteen_operators_and_no_more(void) {
  open_world(false, 0);
  nbc_reduce made = NBC_REDUCE_SUM;
  CHECK(nbc_comm_operator(comms[1], plus, NULL, true, NULL) == NBC_E_INVAL);
  CHECK(strstr(nbc_comm_error(comms[1])->text, "reduce must not be NULL"));
  for (int i = 0; i < 16; i++)
    CHECK(nbc_comm_operator(comms[1], plus, NULL, true, &made) == NBC_OK && (int)made == NBC_REDUCE_USER + i);
  CHECK(nbc_comm_operator(comms[1], plus, NULL, true, &made) == NBC_E_FULL);
  CHECK(strstr(nbc_comm_error(comms[1])->text, "more than 16"));
  close_world();
}

/* user: what the call gave, or else what nbc_comm_operator got; each factor is another one. */
static void times(void *result, const void *left, const void *right, uint64_t count, nbc_type type, void *user) {
  (void)type;
  for (uint64_t i = 0; i < count; i++)
    ((int *)result)[i] = ((const int *)left)[i] + ((const int *)right)[i] + *(int *)user;
}
static void an_operator_gets_what_its_call_gives(void) {
  int usual = 1000, given[3] = {1, 10, 100};
  open_world(false, 0);
  nbc_reduce made[SIZE];
  nbc_request *requests[4 * SIZE];
  nbc_status ends[4 * SIZE];
  for (int r = 0; r < SIZE; r++) CHECK(nbc_comm_operator(comms[r], times, &usual, true, &made[r]) == NBC_OK);
  for (int k = 0; k < 4; k++)
    for (int r = 0; r < SIZE; r++) {
      in[r][k] = r;
      const nbc_coll_args args = {.coll = NBC_COLL_ALLREDUCE, .send = &in[r][k], .recv = &out[r][k], .count = 1,
                                  .type = NBC_TYPE_INT32, .reduce = made[r], .operator_user = k < 3 ? &given[k] : NULL};
      CHECK(nbc_coll_start_new(comms[r], &args, &requests[SIZE * k + r]) == NBC_OK);
    }
  drive(requests, ends, 4 * SIZE);
  for (int k = 0; k < 4; k++)
    for (int r = 0; r < SIZE; r++)
      CHECK(ends[SIZE * k + r] == NBC_OK && out[r][k] == 3 + (SIZE - 1) * (k < 3 ? given[k] : usual));
  close_world();
}

static void neighbors_are_checked(void) {
  open_world(false, 0);
  int list[2] = {0, 2};
  nbc_neighbors n = {list, list, 2, 2};
  nbc_coll_args a = {.coll = NBC_COLL_NEIGHBOR_ALLTOALL, .send = in[1], .recv = out[1], .count = 1,
                     .type = NBC_TYPE_INT32};
  CHECK(refused(&a, NBC_E_INVAL, "neighbor_alltoall: neighbors: must not be NULL"));
  a.neighbors = &n, list[1] = 3;
  CHECK(refused(&a, NBC_E_RANGE, "neighbors: sources[1]: 3 is not in -1..2"));
  list[1] = 2, n.target_count = -1;
  CHECK(refused(&a, NBC_E_INVAL, "neighbors: targets: the count is negative"));
  n.target_count = 1, n.targets = NULL;
  CHECK(refused(&a, NBC_E_INVAL, "neighbors: targets: must not be NULL"));
  n.targets = list, a.count = UINT64_MAX / 8;
  CHECK(refused(&a, NBC_E_RANGE, "2^62"));
  close_world();
}

static void persistent_requests_keep_their_state(void) {
  open_world(false, 0);
  nbc_request *requests[SIZE];
  nbc_status ends[SIZE];
  for (int r = 0; r < SIZE; r++) {
    const nbc_coll_args a = {.coll = NBC_COLL_BARRIER};
    CHECK(nbc_coll_init(comms[r], &a, &requests[r]) == NBC_OK);
    CHECK(nbc_coll_test(&requests[r]) == NBC_OK &&
          nbc_coll_wait(&requests[r], 0) == NBC_OK); /* not started */
  }
  CHECK(nbc_coll_start(requests[0]) == NBC_OK);
  CHECK(nbc_coll_start(requests[0]) == NBC_E_STATE);
  CHECK(nbc_coll_wait(&requests[0], 1000000) == NBC_E_TIMEOUT); /* goes on */
  for (int r = 1; r < SIZE; r++) CHECK(nbc_coll_start(requests[r]) == NBC_OK);
  drive(requests, ends, SIZE);
  for (int r = 0; r < SIZE; r++) {
    CHECK(ends[r] == NBC_OK && requests[r] != NULL);
    nbc_coll_free(requests[r]);
  }
  CHECK(nbc_coll_wait(&(nbc_request *){NULL}, 0) == NBC_OK);
  nbc_coll_free(NULL);
  close_world();
}

static void running_requests_can_be_dropped(void) {
  open_world(false, 0);
  nbc_request *request;
  CHECK(nbc_iallreduce(comms[0], in[0], out[0], 64, NBC_TYPE_INT32, NBC_REDUCE_SUM, &request) ==
        NBC_OK);
  CHECK(nbc_coll_test(&request) == NBC_PENDING);
  nbc_coll_free(request);                            /* its receives are cancelled */
  CHECK(nbc_ibarrier(comms[1], &request) == NBC_OK); /* freed with its communicator */
  close_world();
}

/* What the ranks call differs: every rank gets an error that names two ranks and what they call. */
static void mismatch_is_named(void) {
  static const struct {
    uint64_t count;
    nbc_coll coll;
    nbc_reduce reduce;
    nbc_type type;
    int root;
    const char *says;
  } odd[] = {{4, NBC_COLL_ALLREDUCE, NBC_REDUCE_SUM, NBC_TYPE_INT32, 0, NULL},
             {5, NBC_COLL_ALLREDUCE, NBC_REDUCE_SUM, NBC_TYPE_INT32, 0,
              "rank 2 calls allreduce(count 5, int32, sum"},
             {4, NBC_COLL_ALLREDUCE, NBC_REDUCE_MAX, NBC_TYPE_INT32, 0,
              "rank 2 calls allreduce(count 4, int32, max"},
             {4, NBC_COLL_ALLREDUCE, NBC_REDUCE_SUM, NBC_TYPE_FLOAT, 0,
              "rank 2 calls allreduce(count 4, float, sum"},
             {4, NBC_COLL_SCAN, NBC_REDUCE_SUM, NBC_TYPE_INT32, 0, "rank 2 calls scan("},
             {4, NBC_COLL_BCAST, NBC_REDUCE_SUM, NBC_TYPE_INT32, 2, "rank 2 calls bcast("}};
  for (size_t k = 0; k < sizeof odd / sizeof *odd; k++) {
    nbc_request *requests[SIZE];
    nbc_status ends[SIZE];
    open_world(true, 0);
    for (int r = 0; r < SIZE; r++) {
      nbc_coll_args a = {.coll = NBC_COLL_ALLREDUCE,
                         .send = in[r],
                         .recv = out[r],
                         .count = 4,
                         .type = NBC_TYPE_INT32,
                         .reduce = NBC_REDUCE_SUM};
      if (r == 2)
        a.coll = odd[k].coll, a.count = odd[k].count, a.reduce = odd[k].reduce,
        a.type = odd[k].type, a.root = odd[k].root;
      CHECK(nbc_coll_start_new(comms[r], &a, &requests[r]) == NBC_OK);
    }
    drive(requests, ends, SIZE);
    for (int r = 0; r < SIZE; r++) {
      const char *text = nbc_comm_error(comms[r])->text;
      CHECK(ends[r] == (odd[k].says ? NBC_E_MISMATCH : NBC_OK));
      if (odd[k].says)
        CHECK(strstr(text, odd[k].says) &&
              strstr(text, "rank 0 calls allreduce(count 4, int32, sum"));
    }
    close_world();
  }
}

static void mismatched_counts_of_a_pair_are_named(void) {
  nbc_request *requests[SIZE];
  nbc_status end = NBC_PENDING;
  open_world(true, 0);
  for (int r = 0; r < SIZE; r++) {
    uint64_t give[SIZE] = {1, 2, 3},
             take[SIZE] = {(uint64_t)r + 1, (uint64_t)r + 1, (uint64_t)r + 1};
    if (r == 1) take[2] = 7;
    CHECK(nbc_ialltoallv(comms[r], in[r], give, NULL, out[r], take, NULL, NBC_TYPE_INT32,
                         &requests[r]) == NBC_OK);
  }
  for (long i = 0; i < 10000000 && end == NBC_PENDING; i++) {
    end = nbc_coll_test(&requests[1]);
    if (requests[0]) (void)nbc_coll_test(&requests[0]);
    if (requests[2]) (void)nbc_coll_test(&requests[2]);
  }
  CHECK(end == NBC_E_MISMATCH &&
        strstr(nbc_comm_error(comms[1])->text, "rank 2 sends 8 bytes to rank 1, which expects 28"));
  close_world();
}

static void who_does_not_come_is_named(void) {
  nbc_request *requests[2];
  nbc_status ends[2];
  open_world(true, 20000000);
  for (int r = 0; r < 2; r++) CHECK(nbc_ibarrier(comms[r], &requests[r]) == NBC_OK);
  drive(requests, ends, 2);
  for (int r = 0; r < 2; r++)
    CHECK(ends[r] == NBC_E_TIMEOUT &&
          strstr(nbc_comm_error(comms[r])->text, "barrier: rank 2 has not called it"));
  close_world();
}

/* Without the checking mode: the rank that gets a message of another length says so. */
static void wrong_length_is_named(void) {
  nbc_request *requests[2];
  open_world(false, 0);
  for (int longer = 0; longer < 2; longer++) {
    nbc_status end = NBC_PENDING;
    CHECK(nbc_ibcast(comms[0], out[0], longer ? 9 : 7, NBC_TYPE_INT32, 0, &requests[0]) == NBC_OK);
    CHECK(nbc_ibcast(comms[1], out[1], 8, NBC_TYPE_INT32, 0, &requests[1]) == NBC_OK);
    nbc_request *third;
    CHECK(nbc_ibcast(comms[2], out[2], longer ? 9 : 7, NBC_TYPE_INT32, 0, &third) == NBC_OK);
    for (long i = 0; i < 10000000 && end == NBC_PENDING; i++) {
      end = nbc_coll_test(&requests[1]);
      (void)nbc_coll_test(&requests[0]), (void)nbc_coll_test(&third);
    }
    CHECK(end == (longer ? NBC_E_TRUNCATED : NBC_E_MISMATCH));
    CHECK(strstr(nbc_comm_error(comms[1])->text, "bcast, rank 1: receive from 0"));
    CHECK(nbc_coll_wait(&requests[0], 0) == NBC_OK && nbc_coll_wait(&third, 0) == NBC_OK);
  }
  close_world();
}

/* One rank's vectors or blocks have another length, by every algorithm: all requests end, and with an error on each
   rank to which something of that rank comes. */
enum { RANKS = 7, LENGTH = 3000 };
static int32_t given[RANKS][RANKS * (LENGTH + 1)], taken[RANKS][RANKS * (LENGTH + 1)];

static bool gives_to_all(nbc_coll coll, bool is_root) {
  return coll == NBC_COLL_ALLREDUCE || coll == NBC_COLL_ALLGATHER || coll == NBC_COLL_ALLTOALL ||
         (coll == NBC_COLL_BCAST && is_root);
}

static bool ends_with_one_odd_rank(nbc_threads *threads, nbc_coll coll, nbc_algo algo, int size, int odd,
                                   uint64_t length, int more) {
  static uint32_t id;
  nbc_comm *on[RANKS];
  nbc_request *requests[RANKS];
  nbc_status ends[RANKS];
  int left = size;
  bool good = true;
  id = (id + 1) % 32768;
  for (int r = 0; r < size; r++) {
    const nbc_comm_desc d = {.transport = nbc_threads_rank(threads, r), .id = id};
    const nbc_coll_args args = {.coll = coll, .algo = algo, .send = given[r], .recv = taken[r], .type = NBC_TYPE_INT32,
                                .count = r == odd ? length + (uint64_t)more : length, .segment_bytes = UINT64_MAX};
    good = good && nbc_comm_create(&d, &on[r], NULL) == NBC_OK;
    good = good && nbc_coll_start_new(on[r], &args, &requests[r]) == NBC_OK;
    ends[r] = NBC_PENDING;
  }
  for (int round = 0; good && left && round < 20000; round++)
    for (int r = 0; r < size; r++)
      if (ends[r] == NBC_PENDING && (ends[r] = nbc_coll_test(&requests[r])) != NBC_PENDING) left--;
  for (int r = 0; good && r < size; r++) {
    const bool must_fail = r != odd && gives_to_all(coll, odd == 0);
    good = ends[r] == NBC_E_TRUNCATED || ends[r] == NBC_E_MISMATCH || (ends[r] == NBC_OK && !must_fail);
    if (!good)
      printf("  %s by %s, %d ranks, rank %d has %+d of %d: rank %d: %s\n", nbc_coll_name(coll), nbc_algo_name(algo), size,
             odd, more, (int)length, r, nbc_status_name(ends[r]));
  }
  for (int r = 0; r < size; r++) nbc_comm_destroy(on[r]);
  return good;
}

static void nobody_waits_behind_a_wrong_length(void) {
  static const nbc_coll of_one_length[] = {NBC_COLL_BCAST, NBC_COLL_REDUCE, NBC_COLL_ALLREDUCE, NBC_COLL_REDUCE_SCATTER_BLOCK,
                                           NBC_COLL_GATHER, NBC_COLL_SCATTER, NBC_COLL_ALLGATHER, NBC_COLL_ALLTOALL,
                                           NBC_COLL_SCAN, NBC_COLL_EXSCAN};
  enum { KINDS = sizeof of_one_length / sizeof *of_one_length };
  for (int size = 2; size <= RANKS; size += size < 5 ? 1 : 2) {
    nbc_threads_desc desc = {0};
    desc.size = size;
    CHECK(nbc_threads_create(&desc, &world) == NBC_OK);
    for (int k = 0; k < KINDS * NBC_ALGO_COUNT; k++) {
      const nbc_coll coll = of_one_length[k / NBC_ALGO_COUNT];
      const nbc_algo algo = (nbc_algo)(k % NBC_ALGO_COUNT);
      for (int odd = 0; odd < size && nbc_schedule_supports(coll, algo, size, false); odd++)
        for (int more = -1; more <= 1; more += 2)
          CHECK(ends_with_one_odd_rank(world, coll, algo, size, odd, odd % 2 ? LENGTH : 40, more));
    }
    nbc_threads_destroy(world);
  }
}

/* Where lengths ask for other messages, too, those may never come: who knows of an error does not wait for ever. */
static void a_wrong_length_is_told_though_messages_are_missing(void) {
  nbc_threads_desc desc = {0};
  nbc_comm *on[2];
  nbc_request *requests[2];
  nbc_status ends[2];
  desc.size = 2;
  CHECK(nbc_threads_create(&desc, &world) == NBC_OK);
  for (int r = 0; r < 2; r++) {
    const nbc_comm_desc d = {.transport = nbc_threads_rank(world, r), .check_limit_ns = 20000000};
    const nbc_coll_args args = {.coll = NBC_COLL_BCAST, .algo = NBC_ALGO_CHAIN, .recv = taken[r], .type = NBC_TYPE_INT32,
                                .count = r ? 1000 : 150, .segment_bytes = 400};
    CHECK(nbc_comm_create(&d, &on[r], NULL) == NBC_OK);
    CHECK(nbc_coll_start_new(on[r], &args, &requests[r]) == NBC_OK);
  }
  drive(requests, ends, 2);
  CHECK(ends[0] == NBC_OK && ends[1] == NBC_E_MISMATCH);
  CHECK(strstr(nbc_comm_error(on[1])->text, "bcast, rank 1: receive from 0: sent less than expected"));
  for (int r = 0; r < 2; r++) nbc_comm_destroy(on[r]);
  nbc_threads_destroy(world);
}

/* The n-th post or completion fails, for every n: the request ends with that error, or is not
 * touched. */
static void every_failing_message_ends_the_request(void) {
  for (int action = 0; action < 2; action++)
    for (uint64_t n = 0; n < 12; n++) {
      const nbc_script_step step = {n, action ? NBC_SCRIPT_FAIL_DONE : NBC_SCRIPT_FAIL_POST, 0,
                                    NBC_E_TRANSPORT};
      nbc_transport *null, *scripted;
      nbc_comm *comm;
      nbc_request *request;
      CHECK(nbc_null_create(0, 4, &null) == NBC_OK);
      CHECK(nbc_scripted_create(null, &step, 1, &scripted) == NBC_OK);
      const nbc_comm_desc d = {.transport = scripted};
      CHECK(nbc_comm_create(&d, &comm, NULL) == NBC_OK);
      const nbc_coll_args a = {.coll = NBC_COLL_ALLREDUCE,
                               .algo = NBC_ALGO_RECURSIVE_DOUBLING,
                               .send = in[0],
                               .recv = out[0],
                               .count = 64,
                               .type = NBC_TYPE_INT32,
                               .reduce = NBC_REDUCE_SUM};
      CHECK(nbc_coll_start_new(comm, &a, &request) == NBC_OK);
      const nbc_status end = nbc_coll_wait(&request, 2000000000);
      CHECK(end == (n < 4 ? NBC_E_TRANSPORT : NBC_OK)); /* two steps, each sends and receives */
      if (n < 4) CHECK(strstr(nbc_comm_error(comm)->text, "allreduce, rank 0: ") != NULL);
      nbc_comm_destroy(comm);
      nbc_transport_destroy(scripted);
      nbc_transport_destroy(null);
    }
}

static void environment_is_checked(void) {
  nbc_threads_desc desc = {.size = 4};
  nbc_comm *comm;
  nbc_error err;
  nbc_request *request;
  CHECK(nbc_threads_create(&desc, &world) == NBC_OK);
  const nbc_comm_desc good = {.transport = nbc_threads_rank(world, 0)};
  setenv("NBC_ALGO", "bcast=chain:4096,allreduce=ring", 1);
  CHECK(nbc_comm_create(&good, &comm, &err) == NBC_OK);
  CHECK(nbc_ibcast(comm, out[0], 64, NBC_TYPE_INT32, 0, &request) == NBC_OK);
  CHECK(nbc_coll_schedule(request)->algo == NBC_ALGO_CHAIN);
  nbc_comm_destroy(comm);
  setenv("NBC_ALGO", "bcast=fast", 1);
  CHECK(nbc_comm_create(&good, &comm, &err) == NBC_E_PARSE && !comm &&
        strstr(err.text, "NBC_ALGO: bcast=fast: no such algorithm"));
  setenv("NBC_ALGO", "bcast", 1);
  CHECK(nbc_comm_create(&good, &comm, &err) == NBC_E_PARSE);
  unsetenv("NBC_ALGO");
  setenv("NBC_CHOICE", "/nonexistent", 1);
  CHECK(nbc_comm_create(&good, &comm, &err) == NBC_E_IO);
  unsetenv("NBC_CHOICE");
  const nbc_comm_desc bad = {.transport = good.transport, .id = 40000}, none = {0};
  CHECK(nbc_comm_create(&bad, &comm, &err) == NBC_E_RANGE &&
        nbc_comm_create(&none, &comm, &err) == NBC_E_INVAL);
  nbc_threads_destroy(world);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(wrong_arguments_are_refused);
  RUN(blocks_in_one_place_are_refused);
  RUN(sixteen_operators_and_no_more);
  RUN(an_operator_gets_what_its_call_gives);
  RUN(neighbors_are_checked);
  RUN(persistent_requests_keep_their_state);
  RUN(running_requests_can_be_dropped);
  RUN(mismatch_is_named);
  RUN(mismatched_counts_of_a_pair_are_named);
  RUN(who_does_not_come_is_named);
  RUN(wrong_length_is_named);
  RUN(nobody_waits_behind_a_wrong_length);
  RUN(a_wrong_length_is_told_though_messages_are_missing);
  RUN(every_failing_message_ends_the_request);
  RUN(environment_is_checked);
  return TEST_END();
}
