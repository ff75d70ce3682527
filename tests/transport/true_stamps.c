/* The DMA thread's stamps are the truth about the data: they cover every byte once, lie between the
   calls that caused and noticed the transfer, and never beat the link. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#include "tests/test.h"

enum { MAX_STAMPS = 4096 };
static const double link_bytes_per_s = 400e6;
static const int64_t latency_ns = 30000;
static nbc_clock clock_of_tests;

typedef struct run {
  uint64_t size_bytes;
  int count;
  int64_t t_posted_ns[2], t_waited_ns[2];
  unsigned char *data[2];
} run;

static nbc_status rank_main(nbc_transport *t, void *user) {
  run *r = user;
  nbc_op ops[16] = {{0}};
  r->t_posted_ns[t->rank] = nbc_clock_now_ns(&clock_of_tests);
  for (int i = 0; i < r->count; i++) {
    unsigned char *data = r->data[t->rank] + (uint64_t)i * r->size_bytes;
    if (t->rank == 0) nbc_isend(t, data, r->size_bytes, 1, (uint64_t)i, &ops[i]);
    else nbc_irecv(t, data, r->size_bytes, 0, (uint64_t)i, &ops[i]);
  }
  for (int i = 0; i < r->count; i++) {
    nbc_status status = nbc_wait(t, &ops[i], 0);
    if (status) return status;
  }
  r->t_waited_ns[t->rank] = nbc_clock_now_ns(&clock_of_tests);
  return NBC_OK;
}

/* ret number of stamps */
static size_t transfer(nbc_protocol protocol, run *r, nbc_true_stamp *stamps) {
  nbc_threads_desc desc = {.protocol = protocol, .dma = true, .link_bytes_per_s = link_bytes_per_s,
                           .link_latency_ns = latency_ns, .clock = &clock_of_tests};
  nbc_threads *world = NULL;
  size_t count;
  CHECK(nbc_threads_create(&desc, &world) == NBC_OK);
  for (int i = 0; i < 2; i++) r->data[i] = calloc((size_t)r->count, r->size_bytes);
  memset(r->data[0], 0xC3, (size_t)r->count * r->size_bytes);
  CHECK(nbc_threads_run(world, rank_main, r) == NBC_OK);
  CHECK(memcmp(r->data[0], r->data[1], (size_t)r->count * r->size_bytes) == 0);
  count = nbc_threads_stamps(world, stamps, MAX_STAMPS);
  CHECK(nbc_threads_stamps(world, stamps + count, MAX_STAMPS - count) == 0); /* each is taken once */
  nbc_threads_destroy(world);
  for (int i = 0; i < 2; i++) free(r->data[i]);
  return count;
}

static void check(nbc_protocol protocol, uint64_t size_bytes, int messages) {
  static nbc_true_stamp stamps[MAX_STAMPS];
  run r = {.size_bytes = size_bytes, .count = messages};
  size_t count = transfer(protocol, &r, stamps);
  uint64_t sum_bytes = 0;
  int64_t t_first_ns = INT64_MAX, t_last_ns = 0;
  for (size_t i = 0; i < count; i++) {
    const nbc_true_stamp *s = &stamps[i];
    CHECK(s->src == 0 && s->dst == 1 && s->sequence == i);
    CHECK(s->t_begin_ns >= r.t_posted_ns[0] && s->t_end_ns <= r.t_waited_ns[1]);
    CHECK((double)(s->t_end_ns - s->t_begin_ns) >= (double)s->size_bytes * 1e9 / link_bytes_per_s + (double)latency_ns - 20);
    sum_bytes += s->size_bytes;
    if (s->t_begin_ns < t_first_ns) t_first_ns = s->t_begin_ns;
    if (s->t_end_ns > t_last_ns) t_last_ns = s->t_end_ns;
  }
  CHECK(sum_bytes == size_bytes * (uint64_t)messages);
  /* one link: transfers at the same time share it */
  CHECK((double)(t_last_ns - t_first_ns) >= (double)sum_bytes * 1e9 / link_bytes_per_s + (double)latency_ns - (double)count * 100);
}

static void eager_stamps_are_true(void) { check(NBC_PROTOCOL_EAGER, 50000, 3); check(NBC_PROTOCOL_EAGER, 1, 9); }
static void pipelined_stamps_are_true(void) { check(NBC_PROTOCOL_PIPELINED, 500001, 2); check(NBC_PROTOCOL_PIPELINED, 7, 2); }
static void direct_read_stamps_are_true(void) { check(NBC_PROTOCOL_DIRECT_READ, 500001, 3); check(NBC_PROTOCOL_DIRECT_READ, 1, 1); }

int main(int argc, char **argv) {
  nbc_clock_desc desc = {.source = NBC_CLOCK_RAW};
  TEST_INIT(argc, argv);
  if (nbc_clock_create(&desc, &clock_of_tests)) return 1;
  RUN(eager_stamps_are_true);
  RUN(pipelined_stamps_are_true);
  RUN(direct_read_stamps_are_true);
  return TEST_END();
}
