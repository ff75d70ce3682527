/* The OpenSHMEM transport loses, repeats and changes no message when the library below stores each flag
   of nbc__shmem_put twice: threads as elements, over tests/transport/twice/shmem.h. */
#define NBC_WITH_SHMEM
#include "src/transport/shmem.c"
#include "tests/pieces.h"
#include "tests/test.h"
#include <sched.h>

int twice_pes;
unsigned char *twice_heap[TWICE_MAX_PES];
pthread_barrier_t twice_barrier;
__thread int twice_me;
__thread size_t twice_used_bytes;
__thread uint32_t *twice_word, twice_value, twice_in;

enum { MESSAGES = 4000, MAX_BYTES = 3000 };

typedef struct element {
  int rank, bad_count;
  uint64_t seed;
  pthread_t thread;
} element;

static uint64_t mix(uint64_t x) { return (x ^ (x >> 29)) * UINT64_C(0x9E3779B97F4A7C15) >> 7; }
static size_t bytes_of(uint64_t seed, int i) { return mix(seed + (uint64_t)i) % (i % 8 ? 80 : MAX_BYTES); }

/* To the next, from the previous, one of each at a time or several ahead: so that rings run full and empty. */
static void *run_element(void *arg) {
  element *e = (element *)arg;
  twice_me = e->rank;
  twice_used_bytes = 0;
  nbc_shmem_desc desc = {.eager_limit_bytes = 256, .fragment_bytes = 512};
  nbc_transport *t = NULL;
  if (nbc_shmem_create(&desc, &t, NULL)) return e->bad_count++, NULL;
  const int to = (e->rank + 1) % twice_pes, from = (e->rank + twice_pes - 1) % twice_pes;
  enum { AHEAD = 24 };
  static __thread unsigned char out[AHEAD][MAX_BYTES], in[AHEAD][MAX_BYTES];
  static __thread nbc_op sends[AHEAD], receives[AHEAD];
  for (int i = 0; i < MESSAGES && !e->bad_count;) {
    const int count = 1 + (int)(mix(e->seed * 3 + (uint64_t)i) % AHEAD), first = i;
    for (int k = 0; k < count && i < MESSAGES; k++, i++) {
      const size_t bytes = bytes_of(e->seed, i);
      memset(out[k], (int)mix((uint64_t)(i * 8 + e->rank)) & 255, bytes);
      memset(&sends[k], 0, sizeof sends[k]), memset(&receives[k], 0, sizeof receives[k]);
      if (nbc_irecv(t, in[k], MAX_BYTES, from, 5, &receives[k])) e->bad_count++;
      if (nbc_isend(t, out[k], bytes, to, 5, &sends[k])) e->bad_count++;
    }
    for (int k = 0; k < i - first; k++) {
      const size_t bytes = bytes_of(e->seed, first + k);
      const unsigned char want = (unsigned char)mix((uint64_t)((first + k) * 8 + from));
      if (nbc_wait(t, &receives[k], INT64_C(20000000000)) || nbc_wait(t, &sends[k], INT64_C(20000000000)) ||
          receives[k].size_bytes != bytes) {
        e->bad_count++;
        break; /* buffers may still be written to: they live as long as the thread */
      }
      for (size_t b = 0; b < bytes; b++) e->bad_count += in[k][b] != want;
    }
  }
  if (!e->bad_count) nbc_shmem_destroy(t);
  return NULL;
}

static void run(int elements) {
  element e[TWICE_MAX_PES];
  twice_pes = elements;
  pthread_barrier_init(&twice_barrier, NULL, (unsigned)elements);
  for (int i = 0; i < elements; i++) twice_heap[i] = (unsigned char *)malloc(TWICE_HEAP_BYTES);
  const uint64_t seed = test_rand();
  for (int i = 0; i < elements; i++) {
    e[i] = (element){.rank = i, .seed = seed};
    if (pthread_create(&e[i].thread, NULL, run_element, &e[i])) abort();
  }
  bool bad = false;
  for (int i = 0; i < elements; i++) {
    pthread_join(e[i].thread, NULL);
    bad = bad || e[i].bad_count;
    CHECK(e[i].bad_count == 0);
  }
  for (int i = 0; i < elements && !bad; i++) free(twice_heap[i]);
  if (!bad) pthread_barrier_destroy(&twice_barrier);
}

static void two_elements_lose_nothing(void) { run(2); }
static void five_elements_lose_nothing(void) { run(5); }

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(two_elements_lose_nothing);
  RUN(five_elements_lose_nothing);
  return TEST_END();
}
