/* The link of the DMA thread is shared by chunks: a rank that has posted a long message keeps nobody waiting, and
   each has its turn in a circle. The thread's own two steps (who is next, copy a chunk) are called one by one. */
#include "src/transport/threads.c"
#include "tests/pieces.h"
#include "tests/test.h"

enum { RANKS = 4, CHUNK = 64 };
static nbc_threads *world;
static nbc__dma dma;
static uint64_t taken[RANKS], copied[RANKS];
static nbc__dma_flight flights[RANKS * NBC__PACKETS_JOBS];
static unsigned char from[64 * CHUNK], to[64 * CHUNK];

static void begin(void) {
  nbc_threads_desc desc = {0};
  desc.size = RANKS, desc.link_bytes_per_s = 1e9; /* the link keeps its own time: no clock is read */
  CHECK(nbc_threads_create(&desc, &world) == NBC_OK);
  memset(taken, 0, sizeof taken), memset(copied, 0, sizeof copied), memset(&dma, 0, sizeof dma);
  dma.world = world, dma.taken_count = taken, dma.copied_bytes = copied, dma.flights = flights, dma.chunk_bytes = CHUNK;
}
static void post(int rank, int chunks) {
  nbc__job_ring *ring = &world->shared->rings[rank];
  nbc__job *job = &ring->jobs[ring->posted_count++ % NBC__PACKETS_JOBS];
  job->target = to, job->source = from, job->size_bytes = (uint64_t)chunks * CHUNK;
}
static int step(void) { /* the rank whose chunk was copied, or -1 */
  int rank = nbc__dma_next(&dma);
  if (rank >= 0) nbc__dma_copy_chunk(&dma, rank);
  return rank;
}

static void a_long_message_starves_nobody(void) {
  int turns[RANKS] = {0};
  begin();
  post(0, 64);
  for (int i = 0; i < 32; i++) post(1, 8); /* 256 chunks */
  for (int i = 0; i < 128; i++) {
    int rank = step();
    CHECK(rank == i % 2);
    if (rank >= 0) turns[rank]++;
  }
  CHECK(turns[0] == 64 && turns[1] == 64);
  CHECK(taken[0] == 1 && taken[1] == 8); /* the jobs of one rank go in order, one after the other */
  for (int i = 0; i < 192; i++) CHECK(step() == 1);
  CHECK(step() == -1);
  nbc_threads_destroy(world);
}
static void all_have_their_turn_in_a_circle(void) {
  begin();
  for (int rank = 0; rank < RANKS; rank++) post(rank, 10);
  for (int i = 0; i < 20; i++) CHECK(step() == i % RANKS);
  post(2, 30); /* who posts more gets no more */
  for (int i = 20; i < 40; i++) CHECK(step() == i % RANKS);
  for (int i = 0; i < 30; i++) CHECK(step() == 2);
  CHECK(step() == -1);
  post(3, 2), post(1, 2); /* after rank 2 comes rank 3, whoever posted first */
  CHECK(step() == 3 && step() == 1 && step() == 3 && step() == 1 && step() == -1);
  nbc_threads_destroy(world);
}
static void random_messages_wait_one_round_at_most(void) {
  int waits[RANKS] = {0}, left[RANKS] = {0};
  begin();
  for (int i = 0; i < 5000; i++) {
    int rank = (int)test_below(RANKS), chunks = 1 + (int)test_below(20);
    if (left[rank] < 100 && test_below(8) == 0) post(rank, chunks), left[rank] += chunks;
    int next = step();
    for (int r = 0; r < RANKS; r++) {
      if (r == next) left[r]--, waits[r] = 0;
      else if (left[r] > 0) CHECK(++waits[r] < RANKS);
    }
  }
  nbc_threads_destroy(world);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(a_long_message_starves_nobody);
  RUN(all_have_their_turn_in_a_circle);
  RUN(random_messages_wait_one_round_at_most);
  return TEST_END();
}
