/* What a schedule looks like (golden text), what it costs on a LogGP machine (closed formulas), and
   which algorithm the choice table takes. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#include "tests/test.h"

static nbc_schedule *schedules[64];

static void build(nbc_coll coll, nbc_algo algo, int size, uint64_t count, uint64_t segment_bytes) {
  for (int r = 0; r < size; r++) {
    nbc_schedule_desc d = {0};
    nbc_error err;
    d.coll = coll, d.algo = algo, d.size = size, d.rank = r, d.count = count,
    d.segment_bytes = segment_bytes;
    CHECK(nbc_schedule_build(&d, &schedules[r], &err) == NBC_OK);
  }
}

static void drop(int size) {
  for (int r = 0; r < size; r++) nbc_schedule_free(schedules[r]), schedules[r] = NULL;
}

static char *printed(int rank, int dot_size) {
  char *text = NULL;
  size_t bytes = 0;
  FILE *out = open_memstream(&text, &bytes);
  if (dot_size)
    CHECK(nbc_schedule_print_dot((const nbc_schedule *const *)schedules, dot_size, out) == NBC_OK);
  else
    CHECK(nbc_schedule_print(schedules[rank], out) == NBC_OK);
  fclose(out);
  return text;
}

static void check_printed(int rank, const char *expected) {
  char *text = printed(rank, 0);
  CHECK_STR(text, expected);
  free(text);
}

/* As many copies, or messages, as there are blocks were most of what a thousand ranks cost. */
static void blocks_side_by_side_move_at_once(void) {
  uint64_t counts[6] = {3, 3, 3, 3, 3, 3}, displs[6] = {0, 3, 6, 10, 13, 16};
  nbc_schedule_desc d = {0};
  d.coll = NBC_COLL_ALLGATHER, d.algo = NBC_ALGO_BRUCK, d.size = 1000, d.rank = 300, d.count = 3;
  for (int in_place = 0; in_place < 2; in_place++) {
    nbc_schedule *s = NULL;
    d.in_place = in_place;
    CHECK(nbc_schedule_build(&d, &s, NULL) == NBC_OK);
    /* its own, messages in 10 steps, a copy of each step, of the one that goes round the end two */
    CHECK(s && s->node_count == (uint32_t)(1 + 10 + 10 + (in_place ? 10 : 11) + 1));
    nbc_schedule_free(s);
  }
  d.algo = NBC_ALGO_RECURSIVE_DOUBLING, d.size = 64, d.rank = 30, d.in_place = 0;
  CHECK(nbc_schedule_build(&d, &schedules[0], NULL) == NBC_OK);
  CHECK(schedules[0] && schedules[0]->node_count == 1 + 6 + 6); /* its own, a message each way in 6 steps */
  drop(1);
  d.coll = NBC_COLL_ALLTOALL, d.algo = NBC_ALGO_BRUCK, d.count = 1;
  CHECK(nbc_schedule_build(&d, &schedules[0], NULL) == NBC_OK);
  /* turned by two copies, 6 messages each way, runs of 32, 16 ... 1 packed and unpacked, each block to its place */
  CHECK(schedules[0] && schedules[0]->node_count == 2 + 6 + 6 + 2 * 63 + 64);
  drop(1);
  d.coll = NBC_COLL_ALLGATHERV, d.algo = NBC_ALGO_BRUCK, d.size = 6, d.rank = 1, d.in_place = 0, d.recv_counts = counts, d.recv_displs = displs;
  CHECK(nbc_schedule_build(&d, &schedules[0], NULL) == NBC_OK);
  char *text = printed(0, 0);
  CHECK(strstr(text, "recv[6,9) = scratch[3,6)") && strstr(text, "recv[10,16) = scratch[6,12)") && strstr(text, "recv[0,3) = scratch[15,18)"));
  free(text);
  drop(1);
}
static void schedules_print_as_text(void) {
  build(NBC_COLL_BCAST, NBC_ALGO_BINOMIAL, 5, 16, 0);
  check_printed(0, "bcast binomial: rank 0 of 5, 3 nodes, scratch 0 bytes\n"
                   "  0: send to 4 #0 recv[0,16)\n"
                   "  1: send to 2 #0 recv[0,16)\n"
                   "  2: send to 1 #0 recv[0,16)\n");
  check_printed(2, "bcast binomial: rank 2 of 5, 2 nodes, scratch 0 bytes\n"
                   "  0: recv from 0 #0 recv[0,16) -> 1\n"
                   "  1: send to 3 #0 recv[0,16)\n");
  drop(5);
  build(NBC_COLL_ALLREDUCE, NBC_ALGO_RECURSIVE_DOUBLING, 3, 8, 0);
  check_printed(0, "allreduce recursive_doubling: rank 0 of 3, 2 nodes, scratch 0 bytes\n"
                   "  0: send to 1 #0 send[0,8)\n"
                   "  1: recv from 1 #0 recv[0,8)\n");
  check_printed(1, "allreduce recursive_doubling: rank 1 of 3, 6 nodes, scratch 128 bytes\n"
                   "  0: recv from 0 #0 scratch[0,8) -> 1\n"
                   "  1: recv[0,8) = scratch[0,8) op send[0,8) -> 2 4\n"
                   "  2: send to 2 #0 recv[0,8) -> 4\n"
                   "  3: recv from 2 #0 scratch[64,72) -> 4\n"
                   "  4: recv[0,8) = recv[0,8) op scratch[64,72) -> 5\n"
                   "  5: send to 0 #0 recv[0,8)\n");
  drop(3);
  build(NBC_COLL_BARRIER, NBC_ALGO_DISSEMINATION, 1, 0, 0);
  check_printed(0, "barrier dissemination: rank 0 of 1, 1 nodes, scratch 0 bytes\n  0: nop\n");
  drop(1);
}

static void schedules_print_as_dot(void) {
  build(NBC_COLL_BCAST, NBC_ALGO_CHAIN, 3, 10, 5);
  char *text = printed(0, 3);
  int solid = 0, dashed = 0;
  for (const char *at = text; (at = strstr(at, " -> ")) != NULL; at++) solid++;
  for (const char *at = text; (at = strstr(at, "style=dashed")) != NULL; at++) dashed++;
  CHECK(strncmp(text, "digraph \"bcast chain\" {", 23) == 0);
  CHECK(dashed == 4 &&
        solid == 4 + 2); /* 2 segments over 2 hops; rank 1 forwards each when it is there */
  CHECK(strstr(text, "r1_0 [label=\"recv from 0 #0 recv[0,5)\"]") != NULL);
  free(text);
  drop(3);
}

static double price(int size, const nbc_loggp *model) {
  double end_ns = -1;
  nbc_error err = {0};
  CHECK(nbc_schedule_price((const nbc_schedule *const *)schedules, size, model, NULL, &end_ns,
                           &err) == NBC_OK);
  return end_ns;
}

/* Dissemination: ceil(log2 P) steps of L + 2 o, when gaps are short. */
static void barrier_costs_what_the_formula_says(void) {
  for (int size = 1; size <= 64; size++) {
    nbc_loggp m = {0};
    int steps = 0;
    while (1 << steps < size) steps++;
    m.latency_ns = 500 + (double)test_below(1000), m.overhead_ns = (double)test_below(100),
    m.gap_ns = m.overhead_ns;
    build(NBC_COLL_BARRIER, NBC_ALGO_DISSEMINATION, size, 0, 0);
    CHECK_NEAR(price(size, &m), steps * (m.latency_ns + 2 * m.overhead_ns), 1e-6);
    drop(size);
  }
}

/* A pipelined chain: the first segment passes P - 1 hops, the others follow one gap behind. */
static void chain_costs_what_the_formula_says(void) {
  const nbc_loggp m = {1000, 10, 5, 0.1, 0, 0};
  for (int size = 2; size <= 20; size++)
    for (uint64_t segments = 1; segments <= 16; segments *= 2) {
      const double wire_ns = 0.1 * 64000;
      build(NBC_COLL_BCAST, NBC_ALGO_CHAIN, size, 64000 * segments, 64000);
      CHECK_NEAR(price(size, &m),
                 (size - 1) * (1000 + 20 + wire_ns) + (double)(segments - 1) * wire_ns, 1e-3);
      drop(size);
    }
}

/* One processor per rank: the last of P - 1 sends begins when the others have had theirs. */
static void sends_of_one_rank_take_turns(void) {
  const nbc_loggp m = {500, 100, 0, 0, 0, 0};
  for (int size = 2; size <= 20; size++) {
    build(NBC_COLL_SCATTER, NBC_ALGO_LINEAR, size, 16, 0);
    CHECK_NEAR(price(size, &m), (size - 1) * 100 + 500 + 100, 1e-6);
    drop(size);
  }
}

/* Ring allreduce moves 2 (P-1)/P n bytes per rank: bandwidth-optimal; doubling moves log2(P) n. */
static void large_allreduce_prefers_the_ring(void) {
  const nbc_loggp m = {1000, 100, 100, 0.1, 0.05, 0.02};
  const uint64_t large = 1 << 20, small = 64;
  double ring_ns, doubling_ns;
  build(NBC_COLL_ALLREDUCE, NBC_ALGO_RING, 16, large, 0), ring_ns = price(16, &m), drop(16);
  build(NBC_COLL_ALLREDUCE, NBC_ALGO_RECURSIVE_DOUBLING, 16, large, 0), doubling_ns = price(16, &m),
                                                                        drop(16);
  CHECK(ring_ns < doubling_ns / 2);
  build(NBC_COLL_ALLREDUCE, NBC_ALGO_RING, 16, small, 0), ring_ns = price(16, &m), drop(16);
  build(NBC_COLL_ALLREDUCE, NBC_ALGO_RECURSIVE_DOUBLING, 16, small, 0), doubling_ns = price(16, &m),
                                                                        drop(16);
  CHECK(doubling_ns < ring_ns / 2);
}

static double price_on_nodes(nbc_coll coll, nbc_algo algo, const int *choose_by, const int *nodes, uint64_t bytes) {
  const nbc_loggp between = {1500, 300, 200, 0.1, 0.1, 0.05}, inside = {250, 100, 50, 0.08, 0.1, 0.05};
  double end_ns = -1;
  nbc_error err = {0};
  for (int r = 0; r < 64; r++) {
    nbc_schedule_desc d = {0};
    d.coll = coll, d.algo = algo, d.rank = r, d.size = 64, d.elem_bytes = 8, d.count = bytes / 8, d.nodes = choose_by;
    CHECK(nbc_schedule_build(&d, &schedules[r], &err) == NBC_OK);
  }
  CHECK(nbc_schedule_price_nodes((const nbc_schedule *const *)schedules, 64, &between, &inside, nodes, NULL, &end_ns, &err) == NBC_OK);
  drop(64);
  return end_ns;
}

/* 64 ranks on 8 nodes, one interface each: what is chosen by layout is never dearer than what is chosen without it, and
   in turns, where neighbours in rank are on other nodes, much cheaper. */
static void two_levels_pay_where_they_are_chosen(void) {
  static const nbc_coll colls[] = {NBC_COLL_BARRIER, NBC_COLL_BCAST, NBC_COLL_REDUCE, NBC_COLL_ALLREDUCE};
  int nodes[64], better = 0;
  for (int turns = 0; turns < 2; turns++)
    for (size_t c = 0; c < 4; c++)
      for (uint64_t bytes = 8; bytes <= 1 << 20; bytes *= 8) {
        for (int r = 0; r < 64; r++) nodes[r] = turns ? r % 8 : r / 8;
        const double flat_ns = price_on_nodes(colls[c], NBC_ALGO_AUTO, NULL, nodes, bytes);
        const double chosen_ns = price_on_nodes(colls[c], NBC_ALGO_AUTO, nodes, nodes, bytes);
        if (chosen_ns > flat_ns * 1.03)
          printf("  %s of %llu bytes: %.0f ns by layout, %.0f without\n", nbc_coll_name(colls[c]), (unsigned long long)bytes, chosen_ns, flat_ns);
        CHECK(chosen_ns <= flat_ns * 1.03);
        better += chosen_ns < flat_ns * 0.8;
      }
  printf("  by a fifth or more cheaper: %d of 56\n", better);
  CHECK(better >= 5);
  /* one node: as if all were inside; nodes each: as before */
  for (int r = 0; r < 64; r++) nodes[r] = r;
  const nbc_loggp between = {1500, 300, 200, 0.1, 0.1, 0.05};
  build(NBC_COLL_BARRIER, NBC_ALGO_DISSEMINATION, 64, 0, 0);
  const double without_ns = price(64, &between);
  drop(64);
  CHECK_NEAR(without_ns, price_on_nodes(NBC_COLL_BARRIER, NBC_ALGO_DISSEMINATION, NULL, nodes, 0), 1e-6);
}

static nbc_algo chosen(const nbc_choice *table, nbc_coll coll, int size, uint64_t count,
                       bool not_commutative) {
  nbc_schedule_desc d = {0};
  d.coll = coll, d.size = size, d.count = count, d.elem_bytes = 8,
  d.not_commutative = not_commutative;
  nbc_choose(table, &d);
  return d.algo;
}

/* Blocks of which each rank knows its own only: with many ranks short ones by a tree cost much less, long
   ones, which go past it, little more. */
static double price_of_blocks(nbc_coll coll, nbc_algo algo, int size, uint64_t bytes) {
  static const nbc_loggp m = {1000, 300, 300, 0.1, 0.2, 0.1};
  static uint64_t counts[256];
  static nbc_schedule *all[256];
  double end_ns = -1;
  for (int r = 0; r < size; r++) counts[r] = bytes;
  for (int r = 0; r < size; r++) {
    const nbc_schedule_desc d = {.coll = coll, .algo = algo, .rank = r, .size = size, .root = size / 3, .count = bytes,
                                 .send_counts = counts, .recv_counts = counts};
    CHECK(nbc_schedule_build(&d, &all[r], NULL) == NBC_OK);
  }
  CHECK(nbc_schedule_price((const nbc_schedule *const *)all, size, &m, NULL, &end_ns, NULL) == NBC_OK);
  CHECK(algo != NBC_ALGO_AUTO || all[0]->algo == (size > 24 ? NBC_ALGO_KNOMIAL : NBC_ALGO_LINEAR));
  for (int r = 0; r < size; r++) nbc_schedule_free(all[r]);
  return end_ns;
}
static void trees_of_blocks_pay_where_they_are_chosen(void) {
  static const uint64_t bytes[] = {1, 64, 256, 257, 4096, 100000};
  for (int scatters = 0; scatters < 2; scatters++)
    for (int size = 2; size <= 256; size = size < 24 ? size + 11 : size < 26 ? size + 1 : 2 * size)
      for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        const nbc_coll coll = scatters ? NBC_COLL_SCATTERV : NBC_COLL_GATHERV;
        const double chosen_ns = price_of_blocks(coll, NBC_ALGO_AUTO, size, bytes[i]);
        const double linear_ns = price_of_blocks(coll, NBC_ALGO_LINEAR, size, bytes[i]);
        CHECK(chosen_ns <= (bytes[i] > 256 ? 1.3 : size > 24 ? 0.85 : 1) * linear_ns);
        CHECK(size < 64 || bytes[i] > 256 || chosen_ns < 0.5 * linear_ns);
      }
}

static void choice_is_read_and_followed(void) {
  static nbc_choice table, again;
  nbc_error err;
  const char text[] = "# mine\n\nallreduce 4 0 ring 0 0\n allreduce 0 800 binomial 0 0 # "
                      "small\r\nbcast 0 0 knomial 4096 7";
  CHECK(nbc_choice_parse(text, sizeof text - 1, "x", &table, &err) == NBC_OK &&
        table.rule_count == 3);
  CHECK(chosen(&table, NBC_COLL_ALLREDUCE, 4, 1, false) == NBC_ALGO_RING);
  CHECK(chosen(&table, NBC_COLL_ALLREDUCE, 4, 1, true) ==
        NBC_ALGO_BINOMIAL); /* a ring changes the order */
  CHECK(chosen(&table, NBC_COLL_ALLREDUCE, 5, 100, false) == NBC_ALGO_BINOMIAL);
  CHECK(chosen(&table, NBC_COLL_ALLREDUCE, 5, 101, false) == NBC_ALGO_LINEAR); /* no rule left */
  CHECK(chosen(NULL, NBC_COLL_ALLREDUCE, 5, 1, false) == NBC_ALGO_RECURSIVE_DOUBLING);
  CHECK(chosen(NULL, NBC_COLL_ALLREDUCE, 5, 1 << 20, false) == NBC_ALGO_RING);
  CHECK(chosen(NULL, NBC_COLL_ALLREDUCE, 5, 1 << 20, true) == NBC_ALGO_RABENSEIFNER);
  nbc_schedule_desc d = {0};
  d.coll = NBC_COLL_BCAST, d.size = 9;
  nbc_choose(&table, &d);
  CHECK(d.algo == NBC_ALGO_KNOMIAL && d.segment_bytes == 4096 && d.radix == 7);
  nbc_choice_default(&table);
  char *written = NULL;
  size_t bytes = 0;
  FILE *out = open_memstream(&written, &bytes);
  CHECK(nbc_choice_write(&table, out) == NBC_OK);
  fclose(out);
  CHECK(nbc_choice_parse(written, bytes, "default", &again, &err) == NBC_OK);
  CHECK(again.rule_count == table.rule_count && again.rule_count > 20);
  for (size_t i = 0; i < table.rule_count; i++)
    CHECK(table.rules[i].coll == again.rules[i].coll &&
          table.rules[i].max_bytes == again.rules[i].max_bytes &&
          table.rules[i].algo == again.rules[i].algo &&
          table.rules[i].segment_bytes == again.rules[i].segment_bytes);
  free(written);
}

static void bad_choices_are_named(void) {
  static const struct {
    const char *text, *says;
    int line;
  } cases[] = {{"broadcast 0 0 ring 0 0", "no such collective", 1},
               {"\nbcast 0 0 ring 0 0", "does not serve", 2},
               {"bcast 0 0 fast 0 0", "no such algorithm", 1},
               {"bcast 0 0 auto 0 0", "no such algorithm", 1},
               {"bcast 0 -5 chain 0 0", "MAX_BYTES", 1},
               {"bcast x 0 chain 0 0", "MAX_RANKS", 1},
               {"bcast 0 0 chain", "SEGMENT_BYTES", 1},
               {"bcast 0 0 knomial 0 1", "RADIX", 1},
               {"bcast 0 0 chain 0 0 0", "more than six", 1},
               {"bcast 0 99999999999999999999999 chain 0 0", "MAX_BYTES", 1},
               {"bcast 99999999999 0 chain 0 0", "MAX_RANKS", 1}};
  static nbc_choice table;
  nbc_error err;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    CHECK(nbc_choice_parse(cases[i].text, strlen(cases[i].text), "f", &table, &err) == NBC_E_PARSE);
    CHECK(strstr(err.text, cases[i].says) != NULL && err.line == cases[i].line);
  }
  static char many[300 * 24 + 1];
  for (int i = 0; i < 300; i++) memcpy(many + i * 24, "bcast 0 00000 chain 0 0\n", 24);
  CHECK(nbc_choice_parse(many, 300 * 24, "f", &table, &err) == NBC_E_FULL &&
        err.line == NBC_CHOICE_MAX_RULES + 1);
  for (int k = 0; k < 20000; k++) { /* noise never crashes */
    char noise[80];
    static const char letters[] = "bcast 0ring#\n\t9-\0x";
    const size_t n = test_below(80);
    for (size_t i = 0; i < n; i++) noise[i] = letters[test_below(sizeof letters)];
    (void)nbc_choice_parse(noise, n, "noise", &table, &err);
  }
  CHECK(nbc_choice_read("/nonexistent/choice", &table, &err) == NBC_E_IO &&
        strstr(err.text, "/nonexistent/choice"));
}

/* The root of a flat broadcast is kept busy by its network interface for max(g, n G) per message; a
   reduction and a copy cost their time per byte. */
static void gaps_reductions_and_copies_are_priced(void) {
  const nbc_loggp m = {1000, 10, 500, 0.1, 0.25, 0.5};
  build(NBC_COLL_BCAST, NBC_ALGO_LINEAR, 4, 8, 0);
  CHECK_NEAR(price(4, &m), 10 + 2 * 500 + 1000 + 0.8 + 10, 1e-6);
  drop(4);
  build(NBC_COLL_BCAST, NBC_ALGO_LINEAR, 4, 100000, 0);
  CHECK_NEAR(price(4, &m), 10 + 2 * 10000 + 1000 + 10000 + 10, 1e-6);
  drop(4);
  build(NBC_COLL_REDUCE, NBC_ALGO_LINEAR, 2, 4000, 0);
  CHECK_NEAR(price(2, &m), 10 + 1000 + 400 + 10 + 4000 * 0.25, 1e-6);
  drop(2);
  build(NBC_COLL_ALLREDUCE, NBC_ALGO_LINEAR, 1, 4000, 0);
  CHECK_NEAR(price(1, &m), 4000 * 0.5, 1e-6);
  drop(1);
}

static void what_is_no_model_or_no_size_is_refused(void) {
  const nbc_loggp m = {1000, 10, 500, 0.1, 0.25, 0.5};
  const double wrong[] = {-1, (double)NAN, (double)INFINITY};
  static nbc_choice table;
  nbc_error err;
  double end_ns;
  const nbc_schedule *const *s = (const nbc_schedule *const *)schedules;
  build(NBC_COLL_REDUCE, NBC_ALGO_LINEAR, 2, 4000, 0);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    for (size_t field = 0; field < sizeof m / sizeof m.gap_ns; field++) {
      nbc_loggp bad = m;
      ((double *)&bad)[field] = wrong[i];
      CHECK(nbc_schedule_price(s, 2, &bad, NULL, &end_ns, &err) == NBC_E_RANGE && strstr(err.text, "model"));
    }
  for (int size = -1; size < 1; size++) {
    CHECK(nbc_schedule_price(s, size, &m, NULL, &end_ns, &err) == NBC_E_RANGE && strstr(err.text, "size"));
    CHECK(nbc_schedule_print_dot(s, size, stdout) == NBC_E_RANGE);
  }
  CHECK(nbc_schedule_print_dot(s, 3, stdout) == NBC_E_INVAL); /* there is no third */
  drop(2);
  nbc_choice_default(&table);
  table.rule_count = NBC_CHOICE_MAX_RULES + 1;
  CHECK(nbc_choice_write(&table, stdout) == NBC_E_INVAL);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(schedules_print_as_text);
  RUN(blocks_side_by_side_move_at_once);
  RUN(schedules_print_as_dot);
  RUN(barrier_costs_what_the_formula_says);
  RUN(chain_costs_what_the_formula_says);
  RUN(sends_of_one_rank_take_turns);
  RUN(large_allreduce_prefers_the_ring);
  RUN(two_levels_pay_where_they_are_chosen);
  RUN(trees_of_blocks_pay_where_they_are_chosen);
  RUN(choice_is_read_and_followed);
  RUN(bad_choices_are_named);
  RUN(gaps_reductions_and_copies_are_priced);
  RUN(what_is_no_model_or_no_size_is_refused);
  return TEST_END();
}
