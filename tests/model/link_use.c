/* What a link is said to have carried is what went over it: in all, in time, at both levels; names are the
   links' own; pages and tables are whole. */
#include "tests/model/ptl.h"

static int finished;
static void count_end(void *unused) { (void)unused, finished++; }
static pm_world *network(const char *text, pm_link_model link) {
  pm_platform p;
  char error[200];
  pm_world_desc desc = {0};
  pm_world *w = NULL;
  CHECK(!pm_platform_read(text, strlen(text), &p, error, sizeof error));
  desc.platform = &p;
  desc.link = link;
  desc.link_use = true;
  CHECK(pm_world_create(&desc, &w) == PM_OK);
  pm_platform_free(&p);
  return w;
}
/* Bytes that a link carried, from its parts of time. Short messages at the flow level go beside the long. */
static double most_ratio = 1.001;
static double carried(const pm_world *w, int link, double *flow_s, double *queued) {
  pm_link_bin bin[PM_LINK_BINS];
  const int n = pm_link_use(w, link, bin, PM_LINK_BINS);
  double bytes = 0;
  for (int i = 0; i < n; i++) {
    const double d_s = (double)(bin[i].t_end_ns - bin[i].t_begin_ns) * 1e-9;
    CHECK(i ? bin[i].t_begin_ns == bin[i - 1].t_end_ns : bin[i].t_begin_ns == 0);
    CHECK(bin[i].use_ratio >= 0 && bin[i].use_ratio < most_ratio);
    bytes += bin[i].use_ratio * d_s * pm_link_bytes_per_s(w, link);
    if (flow_s) *flow_s += bin[i].flow_count * d_s;
    if (queued) *queued += bin[i].queue_bytes * d_s;
  }
  CHECK(n > 0 && bin[n - 1].t_end_ns == pm_world_now_ns(w));
  return bytes;
}
static const char *const machines[] = {
    "node_count 8\n", "node_count 16\ntopology fattree\ntopo 2 4 4 1 2\n", "node_count 18\ntopology torus\ntopo 3 3 3 2\n",
    "node_count 24\ntopology dragonfly\ntopo 3 4 2 2\n", "node_count 3\ntopology file\nlink h0 a 1e10 90\nlink h1 a 3e9 10\nlink h2 b 1e10 50\nlink a b<&b 2e9 400\nlink a b 1e9 1\n"};
static void flows_are_counted_where_they_went(void) {
  for (int k = 0; k < 5; k++) {
    pm_world *w = network(machines[k], PM_LINK_FLOW);
    const int links = pm_link_count(w), nodes = (int)pm_world_desc_of(w).platform->node_count;
    double *expected = (double *)calloc((size_t)links, sizeof *expected), all = 0, flow_s = 0;
    uint32_t way[64];
    finished = 0;
    for (int i = 0; i < 60; i++) {
      const int from = (int)test_below((uint64_t)nodes), to = (int)((uint64_t)(from + 1) + test_below((uint64_t)nodes - 1)) % nodes;
      const double bytes = 1 + (double)test_below(3000000);
      CHECK(pm_flow_start(w, from, to, bytes, count_end, NULL) == PM_OK);
      const int n = pm_route(w, from, to, way, 64, NULL);
      for (int h = 0; h < n; h++) expected[way[h]] += bytes * 72 / 64;
    }
    CHECK(pm_world_run(w) == PM_OK && finished == 60);
    for (int i = 0; i < links; i++) {
      const double is = carried(w, i, &flow_s, NULL);
      CHECK_NEAR(is, expected[i], 1e-4 * expected[i] + 2);
      all += is;
    }
    CHECK(all > 0 && flow_s > 0);
    free(expected);
    pm_world_destroy(w);
  }
}
/* What its links add is the latency of a way, and no link that is not there adds any. */
static void latencies_of_links_add_up(void) {
  for (int k = 0; k < 5; k++) {
    pm_world *w = network(machines[k], PM_LINK_FLOW);
    const int nodes = (int)pm_world_desc_of(w).platform->node_count;
    uint32_t way[64];
    for (int from = 0; from < nodes; from++)
      for (int to = 0; to < nodes; to++) {
        int64_t whole_ns, sum_ns = 0;
        const int n = pm_route(w, from, to, way, 64, &whole_ns);
        for (int h = 0; h < n; h++) sum_ns += pm_link_latency_ns(w, (int)way[h]);
        CHECK(n == 0 || sum_ns == whole_ns);
      }
    CHECK(pm_link_latency_ns(w, -1) == 0 && pm_link_latency_ns(w, pm_link_count(w)) == 0);
    pm_world_destroy(w);
  }
  CHECK(pm_link_latency_ns(NULL, 0) == 0);
}
/* Four flows of equal length over one link: it is full, and they are four, all the time. */
static void full_link_says_so(void) {
  pm_world *w = network("node_count 5\n", PM_LINK_FLOW);
  pm_link_bin bin[PM_LINK_BINS];
  char name[80];
  for (int i = 1; i < 5; i++) CHECK(pm_flow_start(w, i, 0, 1e6, NULL, NULL) == PM_OK);
  CHECK(pm_world_run(w) == PM_OK);
  const int n = pm_link_use(w, 1, bin, PM_LINK_BINS);
  CHECK(pm_link_name(w, 1, name, sizeof name) == 1 && strcmp(name, "node 0 down") == 0);
  CHECK(n > PM_LINK_BINS / 4);
  for (int i = 0; i < n; i++) {
    CHECK_NEAR(bin[i].use_ratio, 1, 1e-3);
    CHECK_NEAR(bin[i].flow_count, 4, 1e-2);
  }
  CHECK(pm_link_use(w, -1, bin, 1) == 0 && pm_link_use(w, pm_link_count(w), bin, 1) == 0 && pm_link_name(w, -1, name, 9) == -1);
  pm_world_destroy(w);
}
static void all_to_one(void *unused) {
  side s;
  (void)unused;
  side_open(&s, PTL_NI_MATCHING, 0, 0);
  append(&s, entry(s.memory, 4096, 0, PTL_ME_OP_PUT | PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_LINK_DISABLE), PTL_PRIORITY_LIST, NULL);
  pm_barrier();
  for (int i = 0; i < 20 && pm_rank(); i++) put(&s, 0, i % 2 ? 4096 : 100, PTL_ACK_REQ, 0, 0, 0);
  for (int i = 0; i < 40 && pm_rank(); i++) PtlEQWait(s.eq, &(ptl_event_t){0});
  pm_barrier();
  side_close(&s);
}
static void messages_are_counted_at_both_levels(void) {
  for (int level = 0; level < 2; level++) {
    pm_world *w = network("node_count 5\n", level ? PM_LINK_PACKET : PM_LINK_FLOW);
    double queued = 0, into = 0;
    most_ratio = level ? 1.001 : 2;
    CHECK(pm_spawn_all(w, all_to_one, NULL) == PM_OK && pm_world_run(w) == PM_OK);
    /* four senders, ten messages of 64 packets and ten of two */
    CHECK_NEAR(carried(w, 1, NULL, &queued), 4 * 10 * 66 * 72, 30);
    for (int i = 1; i < 5; i++) into += carried(w, 2 * i, NULL, NULL);
    CHECK_NEAR(into, 4 * 10 * 66 * 72, 30);
    CHECK_NEAR(carried(w, 0, NULL, NULL), 4 * 20 * 32, 10); /* the acknowledgements */
    CHECK(level == 0 || queued > 0);
    pm_world_destroy(w);
  }
  most_ratio = 1.001;
}
/* Everybody puts 20 times to others, small and large. */
static void to_others(void *unused) {
  const int me = pm_rank(), n = pm_size();
  side s;
  (void)unused;
  side_open(&s, PTL_NI_MATCHING, 0, 0);
  append(&s, entry(s.memory, 4096, 0, PTL_ME_OP_PUT | PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_LINK_DISABLE), PTL_PRIORITY_LIST, NULL);
  pm_barrier();
  for (int i = 0; i < 20; i++) put(&s, (me + 1 + i * i) % n, i % 3 ? 100 : 3000, PTL_ACK_REQ, 0, 0, 0);
  for (int i = 0; i < 40; i++) PtlEQWait(s.eq, &(ptl_event_t){0});
  pm_barrier();
  side_close(&s);
}
/* Who looks changes nothing, also where switches take no time and all links of a way are reached at once. (But the rates
   of flows up a fat tree may be rounded otherwise.) */
static void what_is_kept_changes_no_run(void) {
  for (int k = 0; k < 16; k++) {
    pm_platform p;
    pm_world_desc desc = {.platform = &p, .link = k / 8 ? PM_LINK_PACKET : PM_LINK_FLOW};
    CHECK(!pm_platform_read(machines[k % 4], strlen(machines[k % 4]), &p, NULL, 0));
    if (k / 4 % 2) p.switch_latency_ns = 0;
    const uint64_t hash_id = run_world(0, to_others, &desc).hash_id;
    desc.link_use = true;
    CHECK(run_world(0, to_others, &desc).hash_id == hash_id);
  }
}
static void names_and_tiers_are_distinct(void) {
  for (int k = 0; k < 5; k++) {
    pm_world *w = network(machines[k], PM_LINK_FLOW);
    char name[2][80];
    for (int i = 0; i < pm_link_count(w); i++)
      for (int j = 0; j < i; j++) {
        CHECK(pm_link_name(w, i, name[0], 80) >= 0 && pm_link_name(w, j, name[1], 80) >= 0);
        CHECK(strcmp(name[0], name[1]) != 0);
      }
    pm_world_destroy(w);
  }
}
static void pages_are_written(void) {
  for (int k = 0; k < 5; k++) {
    pm_world *w = network(machines[k], PM_LINK_FLOW);
    char *page = NULL, *csv = NULL;
    size_t bytes = 0;
    for (int i = 0; i < 2; i++) CHECK(pm_flow_start(w, 0, 1 + i, 1e6, NULL, NULL) == PM_OK);
    CHECK(pm_world_run(w) == PM_OK);
    FILE *out = open_memstream(&page, &bytes);
    CHECK(pm_links_write_html(w, out) == PM_OK && fclose(out) == 0);
    CHECK(!strstr(page, "b<&b") && !strstr(page, "b&b"));
    CHECK(strstr(page, "</html>") && strstr(page, k == 4 ? "h0 to a, cable 1" : "node 0 ") && strstr(page, "100.0 %"));
    int cells = 0;
    for (const char *at = page; (at = strstr(at, "<rect ")) != NULL; at++) cells++;
    CHECK(cells > pm_link_count(w));
    out = open_memstream(&csv, &bytes);
    CHECK(pm_links_write_csv(w, out) == PM_OK && fclose(out) == 0 && strncmp(csv, "link,tier,name,", 15) == 0);
    free(page), free(csv);
    pm_world_destroy(w);
  }
}
int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(flows_are_counted_where_they_went);
  RUN(latencies_of_links_add_up);
  RUN(full_link_says_so);
  RUN(messages_are_counted_at_both_levels);
  RUN(what_is_kept_changes_no_run);
  RUN(names_and_tiers_are_distinct);
  RUN(pages_are_written);
  return TEST_END();
}
