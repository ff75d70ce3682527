/* Every algorithm's schedules, for every collective it serves, all P and roots: data complete,
   operands in order, no race, no deadlock. And the verifier sees what is wrong with damaged ones.
 */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#include "tests/coll/shapes.h"

static void group_free(void) {
  for (int r = 0; r < g.size; r++) nbc_schedule_free(g.schedules[r]);
  g.size = 0;
}

static bool group_build(void) {
  nbc_error err;
  for (int r = 0; r < g.size; r++) {
    const nbc_status status = nbc_schedule_build(&g.descs[r], &g.schedules[r], &err);
    if (status) {
      printf("  build %s %s rank %d of %d: %s\n", nbc_coll_name(g.descs[r].coll),
             nbc_algo_name(g.descs[r].algo), r, g.size, err.text);
      for (; r < g.size; r++) g.schedules[r] = NULL;
      return false;
    }
  }
  return true;
}

static nbc_status group_verify(nbc_error *err) {
  return nbc_schedule_verify((const nbc_schedule *const *)g.schedules, g.descs, g.size, err);
}

static int check_one(nbc_coll coll, nbc_algo algo, int size, bool not_commutative) {
  nbc_error err = {0};
  group_random(coll, algo, size, not_commutative, 0, size > 17 ? 5 : 40);
  const bool good = group_build() && group_verify(&err) == NBC_OK;
  if (!good) {
    const nbc_schedule_desc *const d = &g.descs[0];
    printf("  %s %s P=%d root=%d count=%llu elem=%llu in_place=%d segment=%llu radix=%d window=%d "
           "displs=%d ordered=%d: %s\n",
           nbc_coll_name(coll), nbc_algo_name(algo), size, d->root, (unsigned long long)d->count,
           (unsigned long long)d->elem_bytes, d->in_place, (unsigned long long)d->segment_bytes,
           d->radix, d->window_count, d->recv_displs != NULL, not_commutative, err.text);
  }
  CHECK(good);
  group_free();
  return 1;
}

static void all_algorithms_up_to(int from, int to, int rounds) {
  int count = 0;
  for (int coll = 0; coll < NBC_COLL_COUNT; coll++)
    for (int algo = 0; algo < NBC_ALGO_COUNT; algo++)
      for (int size = from; size <= to; size++)
        for (int ordered = 0; ordered < 2; ordered++)
          for (int k = 0; k < rounds; k++)
            if (!algo || nbc_schedule_supports((nbc_coll)coll, (nbc_algo)algo, size, ordered))
              count += check_one((nbc_coll)coll, (nbc_algo)algo, size, ordered);
  printf("  %d calls proved\n", count);
}

static void all_algorithms_for_up_to_17_ranks(void) { all_algorithms_up_to(1, 17, 3); }

static void all_algorithms_for_more_ranks(void) {
  static const int sizes[] = {18, 23, 31, 32, 33, 48, 63, 64};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    all_algorithms_up_to(sizes[i], sizes[i], 1);
}

/* Up to 64 ranks on up to 8 nodes, in blocks, in turns and at random. */
static void two_levels_on_up_to_8_nodes(void) {
  static const int sizes[] = {2, 3, 5, 8, 13, 16, 27, 32, 48, 64};
  static const nbc_coll colls[] = {NBC_COLL_BARRIER, NBC_COLL_BCAST, NBC_COLL_REDUCE, NBC_COLL_ALLREDUCE};
  int count = 0;
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
    for (int nodes = 1; nodes <= 8 && nodes <= sizes[s]; nodes++)
      for (int placement = 0; placement < 3; placement++)
        for (size_t c = 0; c < sizeof colls / sizeof *colls; c++, count++) {
          const int size = sizes[s];
          nbc_error err = {0};
          group_random(colls[c], NBC_ALGO_TWO_LEVEL, size, false, 0, 5);
          for (int r = 0; r < size; r++) {
            g.nodes[r] = placement == 0 ? r * nodes / size : placement == 1 ? r % nodes : (int)test_below((uint64_t)nodes);
            g.descs[r].nodes = g.nodes;
          }
          const bool good = group_build() && group_verify(&err) == NBC_OK;
          if (!good) printf("  %s P=%d nodes=%d placement=%d: %s\n", nbc_coll_name(colls[c]), size, nodes, placement, err.text);
          CHECK(good);
          /* nothing goes twice from one node to another */
          int crossings[8][8] = {{0}}, most = 0;
          for (int r = 0; r < size; r++)
            for (uint32_t i = 0; i < g.schedules[r]->node_count; i++) {
              const nbc_node *const node = &g.schedules[r]->nodes[i];
              if (node->type != NBC_NODE_SEND || g.nodes[r] == g.nodes[node->u.msg.peer]) continue;
              const int n = ++crossings[g.nodes[r]][g.nodes[node->u.msg.peer]];
              most = n > most ? n : most;
            }
          if (colls[c] == NBC_COLL_BARRIER || (colls[c] != NBC_COLL_ALLREDUCE && g.descs[0].segment_bytes == UINT64_MAX)) CHECK(most <= 1);
          group_free();
        }
  printf("  %d calls proved\n", count);
}

/* Slots of a tree in which there may be no block: long ones go past it. */
static bool is_slots(const nbc_schedule *s, const nbc_node *node) {
  const bool varying = s->coll == NBC_COLL_GATHERV || s->coll == NBC_COLL_SCATTERV;
  return varying && s->algo != NBC_ALGO_LINEAR && node->u.msg.buffer.area == NBC_AREA_SCRATCH;
}

/* Any message that is lost, any dependency that is dropped, any byte that goes elsewhere is seen.
 */
static void damage_is_seen(void) {
  int seen = 0, damages = 0, edges = 0, edges_seen = 0;
  for (int k = 0; k < 3000; k++) {
    const nbc_coll coll = (nbc_coll)test_below(NBC_COLL_COUNT);
    const nbc_algo algo = (nbc_algo)test_below(NBC_ALGO_COUNT);
    const int size = 2 + (int)test_below(8);
    nbc_error err;
    if (!nbc_schedule_supports(coll, algo, size, false)) continue;
    group_random(coll, algo, size, false, 0, 40);
    if (!group_build() || g.descs[0].count == 0) {
      group_free();
      continue;
    }
    nbc_schedule *const s = g.schedules[test_below((uint64_t)size)];
    nbc_node *const node = &s->nodes[test_below(s->node_count)];
    const bool message = node->type == NBC_NODE_SEND || node->type == NBC_NODE_RECV;
    if (message && test_below(2)) {
      node->u.msg.tag += 1000, damages++;
      const nbc_status status = group_verify(&err);
      CHECK(status == NBC_E_STATE);
      seen += status == NBC_E_STATE;
    } else if (message && node->size_bytes && !is_slots(s, node)) {
      node->u.msg.buffer.offset_bytes += g.descs[0].elem_bytes, damages++;
      const nbc_status status = group_verify(&err);
      CHECK(status == NBC_E_STATE);
      seen += status == NBC_E_STATE;
    } else if (node->type != NBC_NODE_NOP &&
               node[1].first_after > node->first_after) { /* drop an edge */
      const uint32_t at = node->first_after, to = s->after[at];
      s->nodes[to].before_count--;
      memmove(&s->after[at], &s->after[at + 1], (s->after_count - at - 1) * sizeof *s->after);
      s->after_count--;
      for (uint32_t i = (uint32_t)(node - s->nodes) + 1; i <= s->node_count; i++)
        s->nodes[i].first_after--;
      edges++, edges_seen += group_verify(&err) == NBC_E_STATE;
    }
    group_free();
  }
  printf("  %d of %d damages seen; %d of %d dropped dependencies were needed\n", seen, damages,
         edges_seen, edges);
  CHECK(damages > 100 && edges > 20);
  CHECK(edges_seen * 2 > edges); /* an edge may be implied by a longer path */
}

static void deadlock_is_named(void) {
  nbc_error err;
  memset(&g, 0, sizeof g);
  g.size = 2;
  for (int r = 0; r < 2; r++) {
    g.descs[r].coll = NBC_COLL_ALLGATHER, g.descs[r].algo = NBC_ALGO_LINEAR;
    g.descs[r].rank = r, g.descs[r].size = 2, g.descs[r].count = 1;
  }
  CHECK(group_build());
  CHECK(group_verify(&err) == NBC_OK);
  for (int r = 0; r < 2; r++) { /* receive only after the own send has finished: both wait */
    nbc_schedule *const s = g.schedules[r];
    CHECK(s->nodes[0].type == NBC_NODE_RECV && s->nodes[1].type == NBC_NODE_SEND &&
          s->after_count == 0);
    const nbc_node swap = s->nodes[0];
    s->nodes[0] = s->nodes[1], s->nodes[1] = swap;
    s->after[0] = 1, s->after_count = 1;
    s->nodes[1].before_count = 1;
    for (uint32_t i = 1; i <= s->node_count; i++) s->nodes[i].first_after = 1;
  }
  CHECK(group_verify(&err) == NBC_E_STATE);
  CHECK(strstr(err.text, "deadlock: rank 0, node 0 (send to 1") != NULL);
  double end_ns;
  const nbc_loggp model = {1, 1, 1, 1, 1, 1};
  CHECK(nbc_schedule_price((const nbc_schedule *const *)g.schedules, 2, &model, NULL, &end_ns,
                           &err) == NBC_OK); /* eager */
  group_free();
}

static nbc_status build_with(void (*change)(nbc_schedule_desc *), nbc_error *err) {
  nbc_schedule_desc d = {0};
  nbc_schedule *s = NULL;
  d.coll = NBC_COLL_BCAST, d.size = 4, d.count = 10, d.elem_bytes = 4;
  change(&d);
  const nbc_status status = nbc_schedule_build(&d, &s, err);
  CHECK((status == NBC_OK) == (s != NULL));
  nbc_schedule_free(s);
  return status;
}
static void bad_size(nbc_schedule_desc *d) { d->size = 0; }
static void bad_rank(nbc_schedule_desc *d) { d->rank = 4; }
static void bad_root(nbc_schedule_desc *d) { d->root = -1; }
static void bad_coll(nbc_schedule_desc *d) { d->coll = (nbc_coll)99; }
static void bad_algo(nbc_schedule_desc *d) { d->algo = NBC_ALGO_RING; }
static void bad_radix(nbc_schedule_desc *d) { d->radix = 1; }
static void bad_count(nbc_schedule_desc *d) { d->count = UINT64_MAX / 2; }
static void bad_counts(nbc_schedule_desc *d) { d->coll = NBC_COLL_ALLGATHERV; }
static void bad_order(nbc_schedule_desc *d) {
  d->coll = NBC_COLL_ALLREDUCE, d->algo = NBC_ALGO_RING, d->not_commutative = true;
}
static void fine(nbc_schedule_desc *d) { (void)d; }

static void bad_calls_are_named(void) {
  nbc_error err;
  CHECK(build_with(fine, &err) == NBC_OK);
  CHECK(build_with(bad_size, &err) == NBC_E_INVAL && strstr(err.text, "size"));
  CHECK(build_with(bad_rank, &err) == NBC_E_RANGE && strstr(err.text, "rank: 4 is not in 0..3"));
  CHECK(build_with(bad_root, &err) == NBC_E_RANGE && strstr(err.text, "root: -1"));
  CHECK(build_with(bad_coll, &err) == NBC_E_INVAL && strstr(err.text, "99"));
  CHECK(build_with(bad_algo, &err) == NBC_E_INVAL && strstr(err.text, "ring does not serve"));
  CHECK(build_with(bad_radix, &err) == NBC_E_RANGE && strstr(err.text, "radix"));
  CHECK(build_with(bad_count, &err) == NBC_E_RANGE && strstr(err.text, "2^62"));
  CHECK(build_with(bad_counts, &err) == NBC_E_INVAL && strstr(err.text, "recv_counts"));
  CHECK(build_with(bad_order, &err) == NBC_E_INVAL && strstr(err.text, "commute"));
}

/* What is proved is that a schedule does what its desc says: of another desc nothing is, whichever field differs. */
static void descs_of_other_schedules_are_named(void) {
  nbc_schedule_desc good[2], bad[2];
  nbc_schedule *s[2];
  nbc_error err;
  for (int r = 0; r < 2; r++) {
    memset(&good[r], 0, sizeof good[r]);
    good[r].coll = NBC_COLL_ALLREDUCE, good[r].rank = r, good[r].size = 2, good[r].count = 3, good[r].elem_bytes = 4;
    CHECK(nbc_schedule_build(&good[r], &s[r], &err) == NBC_OK);
  }
  const nbc_schedule *const *all = (const nbc_schedule *const *)s;
  CHECK(nbc_schedule_verify(all, good, 2, &err) == NBC_OK);
  for (int coll = -1; coll <= NBC_COLL_COUNT; coll++)
    for (int how = 0; how < 8; how++) {
      memcpy(bad, good, sizeof bad);
      bad[1].coll = (nbc_coll)coll;
      if (how == 0) bad[0].coll = (nbc_coll)coll;
      if (how == 1) bad[1].count = 3000;
      if (how == 2) bad[1].elem_bytes = 4000;
      if (how == 3) bad[1].root = 7;
      if (how == 4) bad[1].rank = 0;
      if (how == 5) bad[1].size = 60;
      if (how == 6) bad[1].in_place = true;
      if (how == 7) bad[1].count = 0;
      const bool same = coll == NBC_COLL_ALLREDUCE && (how == 0 || how == 3); /* it has no root */
      CHECK((nbc_schedule_verify(all, bad, 2, &err) == NBC_OK) == same);
    }
  nbc_schedule_free(s[0]), nbc_schedule_free(s[1]);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(all_algorithms_for_up_to_17_ranks);
  RUN(all_algorithms_for_more_ranks);
  RUN(two_levels_on_up_to_8_nodes);
  RUN(damage_is_seen);
  RUN(deadlock_is_named);
  RUN(bad_calls_are_named);
  RUN(descs_of_other_schedules_are_named);
  return TEST_END();
}
