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
    const bool skipped = coll == NBC_COLL_GATHERV || coll == NBC_COLL_SCATTERV;
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

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(all_ranks_agree);
  RUN(tables_can_be_kept);
  RUN(the_environment_names_a_table);
  RUN(time_limit_leaves_the_built_in_rules);
  RUN(bad_values_are_refused);
  return TEST_END();
}
