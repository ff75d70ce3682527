/* Sums of floating-point numbers: whatever the algorithm, not further from the sum in rank order than [COLL] says,
   and the same to the last bit however messages arrive. One thread drives all ranks, in random turns. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#include "tests/test.h"

enum { RANKS = 19, COUNT = 23 };
static nbc_threads *world;
static nbc_comm *comms[RANKS];

static void open_world(int size) {
  nbc_threads_desc desc = {0};
  desc.size = size;
  desc.eager_limit_bytes = 64;
  CHECK(nbc_threads_create(&desc, &world) == NBC_OK);
  for (int r = 0; r < size; r++) {
    nbc_comm_desc d = {0};
    d.transport = nbc_threads_rank(world, r);
    CHECK(nbc_comm_create(&d, &comms[r], NULL) == NBC_OK);
  }
}
static void close_world(int size) {
  for (int r = 0; r < size; r++) nbc_comm_destroy(comms[r]);
  nbc_threads_destroy(world);
}

/* Sixty orders of magnitude, both signs: sums that cancel. */
static double number(void) {
  const double fraction = (double)test_below(1u << 30) / (1u << 30) - 0.5;
  return ldexp(fraction, (int)test_below(test_below(2) ? 8 : 60) - 30);
}

static double data[RANKS][RANKS * COUNT], result[RANKS][RANKS * COUNT];
static float single[RANKS][RANKS * COUNT], single_result[RANKS][RANKS * COUNT];

/* Starts ranks in random order, and lets random ones go on. */
static bool run_once(nbc_coll coll, nbc_algo algo, int size, int root, uint64_t segment_bytes, bool is_float) {
  nbc_request *requests[RANKS] = {NULL};
  int turn[RANKS], left_count = size;
  for (int r = 0; r < size; r++) turn[r] = r;
  for (int r = size - 1; r > 0; r--) {
    const int k = (int)test_below((uint64_t)r + 1), t = turn[r];
    turn[r] = turn[k], turn[k] = t;
  }
  for (int i = 0; i < size; i++) {
    const int r = turn[i];
    nbc_coll_args a = {0};
    a.coll = coll, a.algo = algo, a.root = root, a.count = COUNT, a.segment_bytes = segment_bytes;
    a.type = is_float ? NBC_TYPE_FLOAT : NBC_TYPE_DOUBLE, a.reduce = NBC_REDUCE_SUM;
    a.send = is_float ? (void *)single[r] : (void *)data[r];
    a.recv = is_float ? (void *)single_result[r] : (void *)result[r];
    if (nbc_coll_start_new(comms[r], &a, &requests[r])) return false;
    for (uint64_t k = test_below(4); k > 0; k--) (void)nbc_coll_test(&requests[turn[test_below((uint64_t)i + 1)]]);
  }
  for (long round = 0; left_count > 0 && round < 10000000; round++) {
    nbc_request **const r = &requests[test_below((uint64_t)size)];
    left_count = 0;
    if (*r && nbc_coll_test(r) < 0) return false;
    for (int i = 0; i < size; i++) left_count += requests[i] != NULL;
  }
  return left_count == 0;
}

/* ours: element i of rank r's result, which sums ranks 0 ... last. */
static bool within(double ours, int r, int i, int last, uint64_t at, bool is_float) {
  const double u = is_float ? ldexp(1, -24) : ldexp(1, -53), n = last;
  double sum = 0, size_sum = 0; /* in the order of ranks; of the sizes */
  float single_sum = 0;
  for (int k = 0; k <= last; k++) {
    const double x = is_float ? (double)single[k][at] : data[k][at];
    size_sum += x < 0 ? -x : x;
    single_sum = k ? single_sum + (float)x : (float)x;
    sum = k ? sum + x : x;
  }
  if (is_float) sum = (double)single_sum;
  const double bound = 2 * n * u / (1 - n * u) * size_sum * (1 + 1e-9), off = ours > sum ? ours - sum : sum - ours;
  if (off > bound) printf("  rank %d, element %d: %.17g instead of %.17g, bound %.3g\n", r, i, ours, sum, bound);
  return off <= bound;
}

static void check_case(nbc_coll coll, nbc_algo algo, int size, bool is_float) {
  static unsigned char first[sizeof result];
  const int root = (int)test_below((uint64_t)size);
  const uint64_t segment_bytes = test_below(2) ? 0 : 64;
  void *const all = is_float ? (void *)single_result : (void *)result;
  const size_t bytes = is_float ? sizeof single_result : sizeof result;
  const bool blocks = coll == NBC_COLL_REDUCE_SCATTER_BLOCK;
  bool good = true, same = true;
  for (int r = 0; r < size; r++)
    for (int i = 0; i < size * COUNT; i++) data[r][i] = number(), single[r][i] = (float)data[r][i];
  for (int run = 0; run < 4 && good; run++) {
    memset(all, 0, bytes);
    good = run_once(coll, algo, size, root, segment_bytes, is_float);
    if (run == 0) memcpy(first, all, bytes);
    same = same && memcmp(first, all, bytes) == 0;
  }
  for (int r = 0; good && r < size; r++) {
    if (coll == NBC_COLL_REDUCE && r != root) continue;
    const int last = coll == NBC_COLL_SCAN ? r : coll == NBC_COLL_EXSCAN ? r - 1 : size - 1;
    for (int i = 0; i < COUNT && last >= 0; i++)
      good = within(is_float ? (double)single_result[r][i] : result[r][i], r, i, last,
                    (uint64_t)(blocks ? r * COUNT + i : i), is_float) && good;
  }
  if (!good || !same) printf("  %s %s, %d ranks%s\n", nbc_coll_name(coll), nbc_algo_name(algo), size, same ? "" : ": other bits");
  CHECK(good && same);
}

static void sums_keep_the_bound_and_their_bits(void) {
  static const nbc_coll colls[] = {NBC_COLL_REDUCE, NBC_COLL_ALLREDUCE, NBC_COLL_REDUCE_SCATTER_BLOCK,
                                   NBC_COLL_SCAN, NBC_COLL_EXSCAN};
  int case_count = 0;
  for (int size = 1; size <= RANKS; size += 1 + size / 6) {
    open_world(size);
    for (size_t c = 0; c < sizeof colls / sizeof *colls; c++)
      for (int algo = 0; algo < NBC_ALGO_COUNT; algo++) {
        if (algo && !nbc_schedule_supports(colls[c], (nbc_algo)algo, size, false)) continue;
        check_case(colls[c], (nbc_algo)algo, size, test_below(2) != 0);
        case_count++;
      }
    close_world(size);
  }
  printf("  %d cases\n", case_count);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(sums_keep_the_bound_and_their_bits);
  return TEST_END();
}
