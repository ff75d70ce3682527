/* The null transport completes everything at the next progress; the scripted one disturbs exactly what
   its script names, and nothing else. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#include "tests/test.h"

static int order[16], order_count;
static void note(nbc_op *op) { order[order_count++ % 16] = *(int *)op->user; }

static void null_completes_at_the_next_progress(void) {
  nbc_transport *t = NULL;
  nbc_op op = {0};
  char byte = 0;
  CHECK(nbc_null_create(1, 3, &t) == NBC_OK);
  CHECK(t->rank == 1 && t->size == 3);
  CHECK(nbc_isend(t, &byte, 1, 2, 5, &op) == NBC_OK && !op.finished);
  CHECK(nbc_test(t, &op) == NBC_OK && op.finished && op.size_bytes == 1 && op.peer == 2);
  CHECK(nbc_irecv(t, &byte, 1, 0, UINT64_MAX, &op) == NBC_OK && !op.finished);
  CHECK(nbc_wait(t, &op, 0) == NBC_OK);
  CHECK(nbc_send(t, &byte, 1, 0, 5) == NBC_OK && nbc_recv(t, &byte, 1, 0, 5) == NBC_OK);
  CHECK(nbc_isend(t, &byte, 1, 3, 5, &op) == NBC_E_PEER && nbc_isend(t, NULL, 1, 0, 5, &op) == NBC_E_INVAL);
  nbc_transport_destroy(t);
  nbc_transport_destroy(NULL);
  CHECK(nbc_null_create(3, 3, &t) == NBC_E_INVAL && !t && nbc_null_create(-1, 3, &t) == NBC_E_INVAL);
  CHECK(nbc_null_create(0, 0, &t) == NBC_E_INVAL && nbc_null_create(0, 1, NULL) == NBC_E_INVAL);
}

typedef struct repost { nbc_transport *t; int left; char byte; } repost;
static void post_again(nbc_op *op) {
  repost *r = op->user;
  if (r->left-- > 0) nbc_isend(r->t, &r->byte, 1, 0, 1, op);
}
static void a_completion_may_post_and_progress_returns(void) {
  repost r = {0};
  nbc_op op = {.done = post_again, .user = &r};
  CHECK(nbc_null_create(0, 1, &r.t) == NBC_OK);
  r.left = 5;
  post_again(&op);
  for (int i = 0; i < 5; i++) {
    CHECK(r.left == 4 - i); /* one per progress: what a completion posts is due the next time */
    r.t->progress(r.t->ctx);
  }
  CHECK(r.left == -1);
  nbc_transport_destroy(r.t);
}

/* Five messages over null, posts 0..4, one step of the script; who completed when. */
static nbc_status five(const nbc_script_step *step, size_t step_count, int at_most, nbc_op *ops) {
  static int ids[5] = {0, 1, 2, 3, 4};
  static char byte;
  nbc_transport *inner, *t;
  nbc_status failed = NBC_OK;
  CHECK(nbc_null_create(0, 1, &inner) == NBC_OK);
  CHECK(nbc_scripted_create(inner, step, step_count, &t) == NBC_OK);
  order_count = 0;
  memset(ops, 0, 5 * sizeof *ops);
  for (int i = 0; i < 5; i++) {
    nbc_status status;
    ops[i].done = note;
    ops[i].user = &ids[i];
    if ((status = nbc_isend(t, &byte, 1, 0, 1, &ops[i]))) failed = status;
  }
  CHECK(order_count == 0);
  for (int i = 0; i < at_most; i++) CHECK(t->progress(t->ctx) == NBC_OK);
  nbc_transport_destroy(t);
  nbc_transport_destroy(inner);
  return failed;
}

static void without_a_script_nothing_changes(void) {
  nbc_op ops[5];
  CHECK(five(NULL, 0, 1, ops) == NBC_OK);
  CHECK(order_count == 5);
  for (int i = 0; i < 5; i++) CHECK(order[i] == i && ops[i].status == NBC_OK && ops[i].size_bytes == 1);
}

static void delay_holds_back_for_that_many_calls(void) {
  const nbc_script_step step = {2, NBC_SCRIPT_DELAY, 3, NBC_OK};
  nbc_op ops[5];
  CHECK(five(&step, 1, 3, ops) == NBC_OK);
  CHECK(order_count == 4 && !ops[2].finished);
  CHECK(five(&step, 1, 4, ops) == NBC_OK);
  CHECK(order_count == 5 && order[4] == 2 && ops[2].status == NBC_OK);
}

static void failing_post_names_its_status(void) {
  const nbc_script_step step = {3, NBC_SCRIPT_FAIL_POST, 0, NBC_E_NOMEM};
  nbc_op ops[5];
  CHECK(five(&step, 1, 5, ops) == NBC_E_NOMEM);
  CHECK(order_count == 4 && !ops[3].finished);
}

static void failing_completion_names_its_status(void) {
  const nbc_script_step step = {0, NBC_SCRIPT_FAIL_DONE, 0, NBC_E_TRANSPORT};
  nbc_op ops[5];
  CHECK(five(&step, 1, 1, ops) == NBC_OK);
  CHECK(order_count == 5 && ops[0].finished && ops[0].status == NBC_E_TRANSPORT && ops[1].status == NBC_OK);
}

static void reorder_lets_the_next_overtake(void) {
  const nbc_script_step step = {1, NBC_SCRIPT_REORDER, 0, NBC_OK};
  const nbc_script_step last[] = {{3, NBC_SCRIPT_REORDER, 0, NBC_OK}, {4, NBC_SCRIPT_REORDER, 0, NBC_OK}};
  nbc_op ops[5];
  CHECK(five(&step, 1, 1, ops) == NBC_OK);
  CHECK(order_count == 5 && order[0] == 0 && order[1] == 2 && order[2] == 1);
  CHECK(five(last, 2, 1, ops) == NBC_OK); /* nobody left to overtake the last: it still completes */
  CHECK(order_count == 5 && order[3] == 4 && order[4] == 3);
}

static void drop_never_completes(void) {
  const nbc_script_step step = {1, NBC_SCRIPT_DROP, 0, NBC_OK};
  nbc_op ops[5];
  CHECK(five(&step, 1, 50, ops) == NBC_OK);
  CHECK(order_count == 4 && !ops[1].finished);
}

static void scripted_wraps_real_messages(void) {
  const nbc_script_step steps[] = {{0, NBC_SCRIPT_DELAY, 10, NBC_OK}, {2, NBC_SCRIPT_FAIL_DONE, 0, NBC_E_PEER}};
  nbc_threads *world;
  nbc_transport *t, *other;
  nbc_op recv[3] = {{0}}, send[2] = {{0}};
  int out[2] = {7, 8}, in[3] = {0};
  CHECK(nbc_threads_create(NULL, &world) == NBC_OK);
  other = nbc_threads_rank(world, 0);
  CHECK(nbc_scripted_create(nbc_threads_rank(world, 1), steps, 2, &t) == NBC_OK);
  CHECK(t->rank == 1 && t->size == 2 && t->same_clock(t->ctx, 0) && t->peer_class(t->ctx, 0) == NBC_PEER_SAME_NODE);
  for (int i = 0; i < 3; i++) CHECK(nbc_irecv(t, &in[i], sizeof in[i], 0, 1, &recv[i]) == NBC_OK);
  for (int i = 0; i < 2; i++) CHECK(nbc_isend(other, &out[i], sizeof out[i], 1, 1, &send[i]) == NBC_OK);
  for (int i = 0; i < 10; i++) {
    CHECK(nbc_test(t, &recv[0]) == NBC_PENDING);
    nbc_test(other, &send[1]);
  }
  CHECK(recv[1].finished && in[1] == 8);
  CHECK(nbc_wait(t, &recv[0], 0) == NBC_OK && in[0] == 7);
  CHECK(t->cancel(t->ctx, &recv[2]) == NBC_OK); /* completes with what the script says */
  CHECK(nbc_wait(t, &recv[2], 0) == NBC_E_PEER);
  CHECK(t->cancel(t->ctx, &recv[2]) == NBC_E_STATE);
  CHECK(nbc_wait(other, &send[0], 0) == NBC_OK && nbc_wait(other, &send[1], 0) == NBC_OK);
  nbc_transport_destroy(t);
  nbc_threads_destroy(world);
  CHECK(nbc_scripted_create(NULL, NULL, 0, &t) == NBC_E_INVAL && !t);
}

/* ---- the table that is measured over a transport ---------------------------------------------------- */
typedef struct measured { nbc_table *table[2]; nbc_status status[2]; nbc_error err[2]; nbc_table_measure_desc desc; } measured;
static nbc_status measure_rank(nbc_transport *t, void *user) {
  measured *m = user;
  m->status[t->rank] = nbc_table_measure(t, 1 - t->rank, &m->desc, &m->table[t->rank], &m->err[t->rank]);
  return NBC_OK;
}

static void both_ranks_get_the_same_table(void) {
  nbc_threads *world;
  measured m = {.desc = {.min_bytes = 3, .max_bytes = 100000, .time_per_size_ns = 1000000}};
  const uint64_t *size[2];
  const double *time_s[2];
  size_t count[2];
  CHECK(nbc_threads_create(NULL, &world) == NBC_OK);
  CHECK(nbc_threads_run(world, measure_rank, &m) == NBC_OK);
  for (int i = 0; i < 2; i++) {
    CHECK(m.status[i] == NBC_OK && m.table[i]);
    if (!m.table[i]) return;
    count[i] = nbc_table_points(m.table[i], &size[i], &time_s[i]);
  }
  CHECK(count[0] == 17 && count[1] == 17); /* 3 * 2^0 ... 3 * 2^15, and the maximum itself */
  CHECK(size[0][0] == 3 && size[0][1] == 6 && size[0][16] == 100000);
  for (size_t k = 0; k < count[0]; k++) CHECK(size[0][k] == size[1][k] && time_s[0][k] == time_s[1][k] && time_s[0][k] > 0);
  CHECK_STR(nbc_table_name(m.table[0]), "measured over threads");
  for (int i = 0; i < 2; i++) nbc_table_free(m.table[i]);
  nbc_threads_destroy(world);
}

/* A transport whose time passes with its sends only: one of five takes 400 ns and back, the others 1000. */
static nbc_transport plain;
static int64_t counted_ns;
static int64_t counted_now_ns(void *ctx) {
  (void)ctx;
  return counted_ns;
}
static nbc_status counted_isend(void *ctx, const void *buffer, uint64_t size_bytes, int peer, uint64_t tag, nbc_op *op) {
  static int count;
  counted_ns += ++count % 5 == 0 ? 400 : 1000;
  return plain.isend(ctx, buffer, size_bytes, peer, tag, op);
}
static nbc_status measure_counted(nbc_transport *t, void *user) {
  if (t->rank == 1) return measure_rank(t, user);
  nbc_transport counted = plain = *t;
  counted.now_ns = counted_now_ns, counted.isend = counted_isend;
  return measure_rank(&counted, user);
}
static void the_table_holds_the_fastest_transfer(void) { /* a slower one claims too much of what was hidden */
  nbc_threads *world;
  measured m = {.desc = {.min_bytes = 8, .max_bytes = 8}};
  CHECK(nbc_threads_create(NULL, &world) == NBC_OK);
  CHECK(nbc_threads_run(world, measure_counted, &m) == NBC_OK);
  for (int i = 0; i < 2; i++) {
    CHECK(m.status[i] == NBC_OK && m.table[i] && nbc_table_time_ns(m.table[i], 8) == 200);
    nbc_table_free(m.table[i]);
  }
  nbc_threads_destroy(world);
}

static void measuring_refuses_what_it_cannot_do(void) {
  nbc_threads *world;
  nbc_transport *t;
  nbc_table *table = NULL;
  nbc_error err = {0};
  nbc_table_measure_desc desc = {.min_bytes = 10, .max_bytes = 9};
  CHECK(nbc_threads_create(NULL, &world) == NBC_OK);
  t = nbc_threads_rank(world, 0);
  CHECK(nbc_table_measure(t, 0, NULL, &table, &err) == NBC_E_INVAL && strstr(err.text, "peer"));
  CHECK(nbc_table_measure(t, 2, NULL, &table, NULL) == NBC_E_INVAL);
  CHECK(nbc_table_measure(t, 1, &desc, &table, &err) == NBC_E_INVAL && strstr(err.text, "max_bytes"));
  desc = (nbc_table_measure_desc){.limit_ns = 1000000};
  CHECK(nbc_table_measure(t, 1, &desc, &table, &err) == NBC_E_TIMEOUT && !table); /* the peer is not there */
  CHECK(strstr(err.text, "time limit"));
  nbc_threads_destroy(world);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(null_completes_at_the_next_progress);
  RUN(a_completion_may_post_and_progress_returns);
  RUN(without_a_script_nothing_changes);
  RUN(delay_holds_back_for_that_many_calls);
  RUN(failing_post_names_its_status);
  RUN(failing_completion_names_its_status);
  RUN(reorder_lets_the_next_overtake);
  RUN(drop_never_completes);
  RUN(scripted_wraps_real_messages);
  RUN(both_ranks_get_the_same_table);
  RUN(the_table_holds_the_fastest_transfer);
  RUN(measuring_refuses_what_it_cannot_do);
  return TEST_END();
}
