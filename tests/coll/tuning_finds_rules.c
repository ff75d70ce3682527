/* nbc_tune: all ranks get the same table, it covers every collective it promises, it survives being written
   and read, and a communicator follows it. Which algorithm wins is the machine's affair. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#include "tests/test.h"
#include <fcntl.h>

enum { SIZE = 3 };
static nbc_choice tables[SIZE];
static int64_t limit_ns;

static nbc_status tune(nbc_transport *t, void *user) {
  const nbc_comm_desc d = {.transport = t};
  const nbc_tune_desc tune_desc = {.max_bytes = 4096, .reps = 1, .limit_ns = limit_ns};
  nbc_comm *comm;
  nbc_status status = nbc_comm_create(&d, &comm, NULL);
  (void)user;
  if (!status) status = nbc_tune(comm, &tune_desc, &tables[t->rank], NULL);
  nbc_comm_destroy(comm);
  return status;
}

static void run(void) {
  const nbc_threads_desc desc = {.size = SIZE};
  nbc_threads *world;
  CHECK(nbc_threads_create(&desc, &world) == NBC_OK);
  CHECK(nbc_threads_run(world, tune, NULL) == NBC_OK);
  nbc_threads_destroy(world);
}

static void all_ranks_agree(void) {
  limit_ns = 100000000000;
  run();
  for (int r = 1; r < SIZE; r++) {
    CHECK(tables[r].rule_count == tables[0].rule_count);
    for (size_t i = 0; i < tables[0].rule_count; i++) {
      const nbc_choice_rule *const a = &tables[0].rules[i], *const b = &tables[r].rules[i];
      CHECK(a->coll == b->coll && a->algo == b->algo && a->max_bytes == b->max_bytes &&
            a->radix == b->radix);
    }
  }
  static nbc_choice built_in;
  nbc_choice_default(&built_in);
  CHECK(tables[0].rule_count > built_in.rule_count);
  for (int coll = 0; coll < NBC_COLL_COUNT; coll++) {
    const bool skipped = coll == NBC_COLL_GATHERV || coll == NBC_COLL_SCATTERV ||
                         coll >= NBC_COLL_NEIGHBOR_ALLGATHER;
    bool found = false, open = false;
    for (size_t i = 0; i < tables[0].rule_count - built_in.rule_count; i++) {
      const nbc_choice_rule *const rule = &tables[0].rules[i];
      if ((int)rule->coll != coll) continue;
      found = true, open |= rule->max_bytes == 0;
      CHECK(rule->max_size == SIZE && nbc_schedule_supports(rule->coll, rule->algo, SIZE, false));
    }
    CHECK(found == !skipped && open == !skipped);
  }
}

static void tables_can_be_kept(void) {
  char *text = NULL;
  size_t bytes = 0;
  FILE *out = open_memstream(&text, &bytes);
  static nbc_choice again;
  nbc_error err;
  CHECK(nbc_choice_write(&tables[0], out) == NBC_OK);
  fclose(out);
  CHECK(nbc_choice_parse(text, bytes, "kept", &again, &err) == NBC_OK &&
        again.rule_count == tables[0].rule_count);
  free(text);
  nbc_schedule_desc d = {.coll = NBC_COLL_ALLREDUCE, .size = SIZE, .count = 1, .elem_bytes = 4};
  nbc_choose(&again, &d);
  const nbc_choice_rule *first = tables[0].rules;
  while (first->coll != NBC_COLL_ALLREDUCE) first++;
  CHECK(d.algo == first->algo);
}

/* NBC_CHOICE names the file: a communicator made afterwards follows it, for alltoallv too. */
static void the_environment_names_a_table(void) {
  char path[] = "/tmp/nbc_choice_XXXXXX";
  const nbc_threads_desc desc = {.size = 1};
  nbc_threads *world;
  nbc_choice table = {0};
  const uint64_t count = 1;
  int data[2] = {0};
  const nbc_algo algos[] = {NBC_ALGO_LINEAR, NBC_ALGO_PAIRWISE};
  for (int k = 0; k < 2; k++) {
    nbc_comm *comm;
    nbc_request *request;
    const int fd = k ? open(path, O_WRONLY | O_TRUNC) : mkstemp(path);
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    CHECK(out != NULL);
    if (!out) return;
    table.rule_count = 1, table.rules[0].coll = NBC_COLL_ALLTOALLV, table.rules[0].algo = algos[k];
    CHECK(nbc_choice_write(&table, out) == NBC_OK && fclose(out) == 0);
    CHECK(setenv("NBC_CHOICE", path, 1) == 0 && nbc_threads_create(&desc, &world) == NBC_OK);
    const nbc_comm_desc d = {.transport = nbc_threads_rank(world, 0)};
    CHECK(nbc_comm_create(&d, &comm, NULL) == NBC_OK);
    const nbc_coll_args args = {.coll = NBC_COLL_ALLTOALLV,
                                .send = &data[0],
                                .recv = &data[1],
                                .type = NBC_TYPE_INT32,
                                .send_counts = &count,
                                .recv_counts = &count};
    CHECK(nbc_coll_init(comm, &args, &request) == NBC_OK);
    CHECK(nbc_coll_schedule(request)->algo == algos[k]);
    nbc_coll_free(request);
    nbc_comm_destroy(comm);
    nbc_threads_destroy(world);
  }
  unsetenv("NBC_CHOICE");
  remove(path);
}

static void time_limit_leaves_the_built_in_rules(void) {
  limit_ns = 1;
  run();
  static nbc_choice built_in;
  nbc_choice_default(&built_in);
  CHECK(tables[0].rule_count == built_in.rule_count);
}

static void bad_values_are_refused(void) {
  const nbc_threads_desc desc = {.size = 1};
  nbc_threads *world;
  nbc_comm *comm;
  nbc_error err;
  CHECK(nbc_threads_create(&desc, &world) == NBC_OK);
  const nbc_comm_desc d = {.transport = nbc_threads_rank(world, 0)};
  CHECK(nbc_comm_create(&d, &comm, NULL) == NBC_OK);
  const nbc_tune_desc bad = {.reps = 100};
  CHECK(nbc_tune(comm, &bad, &tables[0], &err) == NBC_E_RANGE && strstr(err.text, "reps"));
  nbc_comm_destroy(comm);
  nbc_threads_destroy(world);
}

/* ---- a machine on which the winner is known: time passes only when a message is posted ----------- */
typedef struct virtual_time {
  nbc_transport t;
  const nbc_transport *inner;
  int64_t now_ns;
} virtual_time;
static int64_t virtual_now(void *ctx) { return ((virtual_time *)ctx)->now_ns; }
static nbc_status virtual_isend(void *ctx, const void *buffer, uint64_t bytes, int peer, uint64_t tag, nbc_op *op) {
  virtual_time *const v = ctx;
  v->now_ns += 1000 + (int64_t)bytes;
  return v->inner->isend(v->inner->ctx, buffer, bytes, peer, tag, op);
}
static nbc_status virtual_irecv(void *ctx, void *buffer, uint64_t bytes, int peer, uint64_t tag, nbc_op *op) {
  const virtual_time *const v = ctx;
  return v->inner->irecv(v->inner->ctx, buffer, bytes, peer, tag, op);
}
static nbc_status virtual_progress(void *ctx) {
  const virtual_time *const v = ctx;
  return v->inner->progress(v->inner->ctx);
}
enum { VIRTUAL_SIZE = 5, VIRTUAL_BYTES = 64 };
static nbc_choice virtual_table;
static nbc_status tune_in_virtual_time(nbc_transport *t, void *user) {
  virtual_time v = {.inner = t};
  (void)user;
  v.t.name = "virtual", v.t.ctx = &v, v.t.rank = t->rank, v.t.size = t->size, v.t.now_ns = virtual_now;
  v.t.isend = virtual_isend, v.t.irecv = virtual_irecv, v.t.progress = virtual_progress;
  const nbc_comm_desc d = {.transport = &v.t};
  const nbc_tune_desc tune_desc = {.max_bytes = VIRTUAL_BYTES, .reps = 1, .limit_ns = INT64_MAX};
  nbc_comm *comm;
  static nbc_choice others[VIRTUAL_SIZE];
  nbc_status status = nbc_comm_create(&d, &comm, NULL);
  if (!status) status = nbc_tune(comm, &tune_desc, t->rank ? &others[t->rank] : &virtual_table, NULL);
  nbc_comm_destroy(comm);
  return status;
}
/* What the slowest rank posts. */
static int64_t virtual_cost_ns(nbc_coll coll, nbc_algo algo, uint64_t segment_bytes, int radix) {
  int64_t most_ns = 0;
  for (int r = 0; r < VIRTUAL_SIZE; r++) {
    const nbc_schedule_desc d = {.coll = coll, .algo = algo, .size = VIRTUAL_SIZE, .rank = r,
                                 .count = VIRTUAL_BYTES / 4, .elem_bytes = 4,
                                 .segment_bytes = segment_bytes, .radix = radix};
    nbc_schedule *s;
    int64_t sum_ns = 0;
    CHECK(nbc_schedule_build(&d, &s, NULL) == NBC_OK);
    for (uint32_t i = 0; i < s->node_count; i++)
      if (s->nodes[i].type == NBC_NODE_SEND) sum_ns += 1000 + (int64_t)s->nodes[i].size_bytes;
    if (sum_ns > most_ns) most_ns = sum_ns;
    nbc_schedule_free(s);
  }
  return most_ns;
}
static void the_fastest_wins(void) {
  const nbc_threads_desc desc = {.size = VIRTUAL_SIZE};
  nbc_threads *world;
  int differ = 0;
  CHECK(nbc_threads_create(&desc, &world) == NBC_OK);
  CHECK(nbc_threads_run(world, tune_in_virtual_time, NULL) == NBC_OK);
  nbc_threads_destroy(world);
  static const nbc_coll colls[] = {NBC_COLL_BCAST, NBC_COLL_REDUCE, NBC_COLL_ALLREDUCE, NBC_COLL_SCAN};
  for (int c = 0; c < 4; c++) {
    const nbc_choice_rule *rule = virtual_table.rules;
    while (rule->coll != colls[c]) rule++;
    CHECK(rule->max_size == VIRTUAL_SIZE);
    const int64_t taken_ns = virtual_cost_ns(colls[c], rule->algo, rule->segment_bytes, rule->radix);
    for (int a = 1; a < NBC_ALGO_COUNT; a++) {
      if (!nbc_schedule_supports(colls[c], (nbc_algo)a, VIRTUAL_SIZE, false)) continue;
      const int64_t d_ns = virtual_cost_ns(colls[c], (nbc_algo)a, 0, 0);
      CHECK(taken_ns <= d_ns);
      differ += d_ns > taken_ns;
    }
  }
  CHECK(differ >= 4); /* else there was nothing to choose */
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(all_ranks_agree);
  RUN(tables_can_be_kept);
  RUN(the_environment_names_a_table);
  RUN(time_limit_leaves_the_built_in_rules);
  RUN(bad_values_are_refused);
  RUN(the_fastest_wins);
  return TEST_END();
}
