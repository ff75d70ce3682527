/* Platforms: text in and out, bad text named by line, ways through every topology. */
#define PORTALS_MODEL_IMPLEMENTATION
#include "portals_model.h"
#include "tests/test.h"

static const char *here; /* the program itself: its file lies beside it */
static const char *read_error(const char *text) {
  static char error[256];
  pm_platform p;
  error[0] = 0;
  if (pm_platform_read(text, strlen(text), &p, error, sizeof error) == PM_OK) {
    pm_platform_free(&p);
    return "accepted";
  }
  return error;
}
#define BAD(text, wanted)                                                                          \
  do {                                                                                             \
    const char *got = read_error(text);                                                            \
    CHECK(strstr(got, wanted) != NULL);                                                            \
    if (!strstr(got, wanted)) printf("  said: %s\n", got);                                         \
  } while (0)

static void old_plural_keys_are_still_read(void) {
  static const char text[] = "nodes_count 5\nnic_engines_count 3\ne2e_entries_count 77\n"
                             "e2e_retries_count 9\n";
  pm_platform p;
  char error[200];
  CHECK(pm_platform_read(text, sizeof text - 1, &p, error, sizeof error) == PM_OK);
  CHECK(p.node_count == 5 && p.nic_engine_count == 3);
  CHECK(p.e2e_entry_count == 77 && p.e2e_retry_count == 9);
  pm_platform_free(&p);
}

static void bad_lines_are_named(void) {
  BAD("node_count 4\nnodes_cuont 4\n", "line 2: nodes_cuont: unknown key");
  BAD("node_count 4\nquick_ack 2\n", "line 2: quick_ack: 0 or 1 expected");
  BAD("no_pci -1\n", "line 1: no_pci: 0 or 1 expected");
  BAD("topology torus 2\n", "line 1: topology: one name expected");
  BAD("node_count 0", "line 1: node_count: value out of range");
  BAD("node_count -3", "line 1: node_count: value out of range");
  BAD("node_count 1e3", "line 1: node_count: not a whole number");
  BAD("node_count 99999999999999999999", "line 1: node_count: not a whole number");
  BAD("node_count", "line 1: node_count: key without value");
  BAD("node_count 3 4", "line 1: node_count: one value expected");
  BAD("\n# x\nlink_bytes_per_s -1", "line 3: link_bytes_per_s: not a positive number");
  BAD("link_bytes_per_s nan", "line 1: link_bytes_per_s: not a positive number");
  BAD("link_bytes_per_s inf", "line 1: link_bytes_per_s: not a positive number");
  BAD("pci_latency_ns -1", "line 1: pci_latency_ns: value out of range");
  BAD("topology ring", "line 1: topology: unknown topology");
  BAD("topology fattree\ntopo 2 4 4 1 4\nnode_count 17",
      "topo: the fat tree has 16 nodes, node_count is 17");
  BAD("topology torus\ntopo 3 2 2 2\nnode_count 9", "topo: the torus has 8 nodes");
  BAD("topology torus\ntopo 2 100 100\nnode_count 10000", "topo: a route of 102 links");
  BAD("topology dragonfly\ntopo 9 2 2 2\nnode_count 36", "too few global links");
  BAD("topology file\nnode_count 2\n", "topology file without a link");
  BAD("topology file\nnode_count 1\nlink a b 1e9 5\n", "links: h0 has none");
  BAD("topology file\nnode_count 3\nlink h0 s 1e9 5\nlink h1 s 1e9 5\n",
      "links: no way between h2 and h0");
  BAD("topology file\nnode_count 2\nlink h0 h2 1e9 5\n", "node beyond node_count");
  BAD("topology file\nnode_count 2\nlink h0 h0 1e9 5\n", "links: h0 has none");
  BAD("topology file\nnode_count 2\nlink h0 h1 1e9 5\nlink h0 h0 1e9 5\nlink h0 h0 2e9 5\n", "link 3 (h0 h0): the second one within it");
  BAD("topology file\nlink h0 h1 1e9 5 duplex\n", "line 2: link: link: shared or fatpipe expected at its end");
  BAD("topology file\nlink h0 h1 1e9 5 shared 1\n", "line 2: link: link FROM TO BYTES_PER_S LATENCY_NS [shared|fatpipe] expected");
  BAD("topology file\nlink h0 h1 0 5\n", "line 2: link: not a positive bandwidth");
  BAD("way h0 h1\n", "line 1: way: way FROM TO CABLE... expected");
  BAD("way h0 s1 1\n", "line 1: way: it leads from node to node, h0 ...");
  BAD("way h0 h1 1 0\n", "line 1: way: not the number of a cable, from 1 on");
#define TRIANGLE "topology file\nnode_count 3\nlink h0 s 1e9 5\nlink s h1 1e9 5\nlink h0 h1 1e9 5\nlink h2 s 1e9 5\nlink s s 1e9 5\n"
  BAD(TRIANGLE "way h0 h1 1 2\nway h0 h3 1\n", "way 2 (h0 to h3): node beyond node_count");
  BAD(TRIANGLE "way h0 h0 1\n", "way 1 (h0 to h0): to itself");
  BAD(TRIANGLE "way h0 h1 1 6\n", "way 1 (h0 to h1): cable 6: there is none of that number");
  BAD(TRIANGLE "way h0 h1 1 5 2\n", "way 1 (h0 to h1): cable 5: it lies within a switch or node");
  BAD(TRIANGLE "way h0 h1 2\n", "way 1 (h0 to h1): cable 2: it does not lead on from where the way is");
  BAD(TRIANGLE "way h0 h1 1 1 3\n", "way 1 (h0 to h1): cable 1: it leads back to where the way begins");
  BAD(TRIANGLE "way h0 h1 3 2 4 4 2\n", "way 1 (h0 to h1): cable 4: it leads to where the way has been");
  BAD(TRIANGLE "way h0 h1 1\n", "way 1 (h0 to h1): its cables end elsewhere");
  BAD(TRIANGLE "way h0 h1 1 2\nway h0 h1 3\n", "way: h0 to h1 is given twice");
  BAD("topology file\nnode_count 2\nlink h0 h1 1e9 5\nway h0 h1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n",
      "way 1 (h0 to h1): 1 to 62 cables expected");
  BAD("noise 1 1\n", "line 1: noise: noise WEIGHT MEAN_RATIO SIGMA_RATIO expected");
  BAD("noise 1 0 0.1\n", "line 1: noise: MEAN_RATIO: not a positive number");
  BAD("noise 1 1 0\nnoise 1 1 0\nnoise 1 1 0\nnoise 1 1 0\nnoise 1 1 0\n",
      "line 5: noise: more than 4 modes");
  BAD("topology file\nlink h0 h1 1e9 -5\n", "line 2: link: not a latency");
  BAD("link h0 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 1e9 5\n", "line 1: link: name too long");
  BAD("name 12345678901234567890123456789012\n", "line 1: name: name too long");
  BAD("topo 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1", "line 1: topo: more than 16 numbers");
  char error[64];
  pm_platform p;
  CHECK(pm_platform_read(TRIANGLE "way h0 h1 1\n", sizeof TRIANGLE "way h0 h1 1\n" - 1, &p, NULL, 0) == PM_E_PLATFORM);
  CHECK(pm_platform_load("/nonexistent/file", &p, error, sizeof error) == PM_E_IO);
  CHECK(strstr(error, "/nonexistent/file") != NULL);
  CHECK(pm_platform_load("/", &p, error, sizeof error) == PM_E_IO); /* opened, but nothing is read */
  CHECK(strncmp(error, "/: ", 3) == 0 && p.node_count == 0);
  p = pm_platform_bxi2(2);
  p.link_count = (int64_t)1 << 32;
  CHECK(pm_platform_check(&p, error, sizeof error) == PM_E_PLATFORM && strstr(error, "link_count"));
}

/* In a file; in a text that a program puts together, the later line counts. */
static void contradictions_of_a_file_are_named(void) {
  static const char *const bad[][2] = {
      {"node_count 4\nquick_ack 1\nnode_count 4\n", "line 3: node_count: line 1 has said it already"},
      {"node_count 4\n\nnodes_count 4\n", "line 3: nodes_count: line 1 has said it already"},
      {"name a\nname b\n", "line 2: name: line 1 has said it already"},
      {"topology torus\ntopo 1 2\ntopo 1 2\n", "line 3: topo: line 2 has said it already"},
      {"link_bytes_per_s 1e9\nlink_bytes_per_s 1e9\n", "line 2: link_bytes_per_s: line 1 has said it already"},
      {"node_count 2\nlink h0 h1 1e9 5\nlink h0 h1 1e9 5\n", "line 2: link: of topology file alone, this one is crossbar"},
      {"topology torus\ntopo 1 2\nway h0 h1 1\n", "line 3: way: of topology file alone, this one is torus"},
      {"link h0 h1 1e9 5\ntopology torus\ntopo 1 2\n", "line 1: link: of topology file alone, this one is torus"},
      {"topo 1 2\ntopology crossbar\n", "line 1: topo: topology crossbar takes no numbers"},
      {"topology file\nlink h0 h1 1e9 5\ntopo 1 2\n", "line 3: topo: topology file takes no numbers"}};
  pm_platform p;
  char path[300], error[600];
  snprintf(path, sizeof path, "%s.platform", here);
  for (size_t i = 0; i <= sizeof bad / sizeof *bad; i++) {
    static const char good[] = "topology file\nnode_count 2\nnoise 1 1 0\nnoise 1 1 0\nlink h0 h1 1e9 5\nlink h0 h1 1e9 5\n";
    const bool is_bad = i < sizeof bad / sizeof *bad;
    FILE *f = fopen(path, "w");
    CHECK(f && fputs(is_bad ? bad[i][0] : good, f) >= 0 && fclose(f) == 0);
    error[0] = 0;
    CHECK(pm_platform_load(path, &p, error, sizeof error) == (is_bad ? PM_E_PLATFORM : PM_OK));
    CHECK(!is_bad || (strstr(error, bad[i][1]) && strncmp(error, path, strlen(path)) == 0));
    if (!is_bad) pm_platform_free(&p);
    if (is_bad && !strstr(error, bad[i][1])) printf("  said: %s\n", error);
  }
  remove(path);
  CHECK(pm_platform_read("node_count 4\nnode_count 5\n", 26, &p, error, sizeof error) == PM_OK && p.node_count == 5);
}
static void what_a_topology_does_not_take_is_not_written(void) {
  pm_platform p = pm_platform_bxi2(2);
  char *text = NULL;
  size_t bytes = 0;
  FILE *out = open_memstream(&text, &bytes);
  const pm_link link = {"h0", "h1", 1e9, 5, PM_LINK_EACH_WAY};
  const int cable = 1;
  const pm_way way = {0, 1, &cable, 1};
  p.topo[0] = 3, p.links = &link, p.link_count = 1, p.ways = &way, p.way_count = 1;
  CHECK(pm_platform_write(&p, out) == PM_OK && fclose(out) == 0);
  CHECK(text && !strstr(text, "\ntopo ") && !strstr(text, "\nlink ") && !strstr(text, "\nway "));
  free(text);
}
static void what_is_written_is_read_back(void) {
  static const char text[] =
      "name two # cables\ntopology file\nnode_count 3\nlink h0 s0 1.25e10 100\n"
      "link h1 s0 1e9 7 shared\nlink h2 s0 3e9 0 fatpipe\nquick_ack 1\nlink_bytes_per_s 7.5e9\n"
      "noise 0.8 1 0.1\nnoise 0.2 3 0 # one in five\nway h0 h2 1 3\nway h2 h1 3 2";
  pm_platform p, q;
  char error[200], *written = NULL;
  size_t bytes = 0;
  CHECK(pm_platform_read(text, sizeof text - 1, &p, error, sizeof error) == PM_OK);
  FILE *out = open_memstream(&written, &bytes);
  CHECK(pm_platform_write(&p, out) == PM_OK);
  fclose(out);
  CHECK(pm_platform_read(written, bytes, &q, error, sizeof error) == PM_OK);
  CHECK(q.node_count == 3 && q.quick_ack == 1 && q.link_bytes_per_s == 7.5e9 &&
        q.link_count == 3 && q.links[1].sharing == PM_LINK_SHARED && q.links[2].sharing == PM_LINK_FATPIPE && q.noise_count == 2 && q.noise[1].mean_ratio == 3);
  CHECK_STR(q.name, "two");
  CHECK(memcmp(p.links, q.links, 3 * sizeof *p.links) == 0);
  pm_platform p_rest = p, q_rest = q;
  CHECK(q.way_count == 2 && q.ways[1].from_node == 2 && q.ways[1].to_node == 1 && q.ways[1].cable_count == 2);
  for (int i = 0; i < 2 && q.way_count == 2; i++) CHECK(memcmp(p.ways[i].cable, q.ways[i].cable, 2 * sizeof(int)) == 0);
  p_rest.links = q_rest.links = NULL;
  p_rest.ways = q_rest.ways = NULL;
  CHECK(memcmp(&p_rest, &q_rest, sizeof p) == 0);
  free(written);
  pm_platform_free(&p);
  pm_platform_free(&q);
}

/* There: over the given way, with what lies within the switch; back, and of others: over the shortest one. */
static void ways_that_are_given_are_taken(void) {
  static const char text[] = TRIANGLE "way h0 h1 1 2\nway h2 h1 4 1 3\n";
  static const struct {
    int from, to, latency_ns, count;
    uint32_t link[4];
  } want[] = {{0, 1, 15, 3, {0, 8, 2, 0}}, {1, 0, 5, 1, {5, 0, 0, 0}}, {2, 1, 20, 4, {6, 8, 1, 4}}, {1, 2, 15, 3, {3, 8, 7, 0}}};
  pm_world_desc desc = {0};
  pm_platform p;
  pm_world *w;
  char error[200];
  CHECK(pm_platform_read(text, sizeof text - 1, &p, error, sizeof error) == PM_OK);
  desc.platform = &p;
  CHECK(pm_world_create(&desc, &w) == PM_OK);
  pm_platform_free(&p); /* the world has its own */
  for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
    uint32_t link[64];
    int64_t latency_ns;
    CHECK(pm_route(w, want[i].from, want[i].to, link, 64, &latency_ns) == want[i].count && latency_ns == want[i].latency_ns);
    CHECK(memcmp(link, want[i].link, (size_t)want[i].count * sizeof *link) == 0);
  }
  pm_world_destroy(w);
}
static void fractions_are_read_and_written(void) { /* also in another locale: tests/report/comma_locale.sh */
  pm_platform p, again;
  char error[256], text[16384];
  const char *const line = "link_bytes_per_s 12.5e9\nnoise 0.5 1.25 0.1\n";
  CHECK(pm_platform_read(line, strlen(line), &p, error, sizeof error) == PM_OK);
  CHECK(p.link_bytes_per_s == 12.5e9 && p.noise[0].mean_ratio == 1.25);
  FILE *out = fmemopen(text, sizeof text, "w");
  CHECK(pm_platform_write(&p, out) == PM_OK && fclose(out) == 0);
  CHECK(strstr(text, "1.25") != NULL);
  CHECK(pm_platform_read(text, strlen(text), &again, error, sizeof error) == PM_OK);
  CHECK(again.noise[0].mean_ratio == 1.25 && again.noise[0].sigma_ratio == 0.1);
}

static void counts_beyond_their_arrays_are_refused(void) {
  const pm_platform good = pm_platform_bxi2(2);
  pm_platform bad[7];
  pm_kernel k = {0};
  pm_world_desc desc = {0};
  pm_world *w;
  k.one_s = 1, desc.platform = &good;
  for (int i = 0; i < 7; i++) bad[i] = good;
  bad[0].topology = (pm_topology_kind)5, bad[1].topology = (pm_topology_kind)-1;
  bad[2].noise_count = PM_MODES_MAX + 1, bad[3].loggp_range_count = PM_LOGGP_RANGES_MAX + 1;
  bad[4].loggp_range_count = 1, bad[4].loggp_range[0].noise_count = PM_MODES_MAX + 1;
  bad[5].link_count = 1, bad[6].topology = PM_TOPO_FILE, bad[6].link_count = 1;
  for (int i = 0; i < 7; i++) CHECK(pm_platform_write(&bad[i], stdout) == PM_E_PLATFORM);
  CHECK(pm_world_create(&desc, &w) == PM_OK);
  for (int i = 0; i < 4; i++) k.modes[i].weight_ratio = k.modes[i].mean_ratio = 1;
  for (k.mode_count = PM_MODES_MAX; k.mode_count < 100; k.mode_count++) CHECK(pm_kernel_draw_s(&k, w, 1, 1, 1) == 1);
  pm_world_destroy(w);
}

/* Random bytes and damaged platforms: never a crash, never a platform that fails its own check. */
static void random_text_is_survived(void) {
  static const char good[] =
      "topology fattree\ntopo 2 4 4 1 4\nnode_count 16\nlink h0 h1 1e9 5\npci_bytes_per_s 1e9\n";
  for (int i = 0; i < 3000; i++) {
    char text[sizeof good + 40], error[200];
    size_t n = sizeof good - 1;
    memcpy(text, good, n);
    for (uint64_t k = test_below(6); k; k--) text[test_below(n)] = (char)test_rand();
    if (test_below(4) == 0) n = test_below(n);
    pm_platform p;
    if (pm_platform_read(text, n, &p, error, sizeof error) != PM_OK) {
      CHECK(strlen(error) > 0);
      continue;
    }
    CHECK(pm_platform_check(&p, error, sizeof error) == PM_OK);
    pm_platform_free(&p);
  }
}

/* D-mod-K by its definition: the port above level l is digit l of the destination. Cables are numbered level by level, from
   the left, and of each switch by port; a cable is two links, up and down. */
static int tree_by_definition(const pm_platform *p, int64_t src, int64_t dst, uint32_t *out) {
  const int64_t h = p->topo[0], *m = p->topo + 1, *up = m + h;
  int64_t edge[8], width[9], span[9], b[9], base = 0, l, top = 1, n = 0;
  span[0] = width[0] = 1;
  b[0] = 0;
  for (l = 0; l < h; l++) {
    span[l + 1] = span[l] * m[l];
    width[l + 1] = width[l] * up[l];
    edge[l] = base; /* first cable of this level */
    base += p->node_count / span[l] * width[l] * up[l];
  }
  while (src / span[top] != dst / span[top]) top++;
  for (l = 0; l < top; l++) {
    const int64_t port = dst / width[l] % up[l];
    out[n++] = (uint32_t)(2 * (edge[l] + (src / span[l] * width[l] + b[l]) * up[l] + port));
    b[l + 1] = b[l] + port * width[l];
  }
  for (l = top - 1; l >= 0; l--)
    out[n++] = (uint32_t)(2 * (edge[l] + (dst / span[l] * width[l] + b[l]) * up[l] + (b[l + 1] - b[l]) / width[l]) + 1);
  return (int)n;
}

/* Every way starts at its source's link, ends at its destination's and uses no link twice; all links
   are within the count. */
static void ways_are_sound(const pm_platform *p) {
  pm_world_desc desc = {0};
  pm_world *w = NULL;
  desc.platform = p;
  CHECK(pm_world_create(&desc, &w) == PM_OK);
  if (!w) return;
  const int n = (int)p->node_count, links = pm_link_count(w);
  uint32_t *first = calloc((size_t)n, sizeof *first), *last = calloc((size_t)n, sizeof *last);
  for (int a = 0; a < n; a++)
    for (int b = 0; b < n; b++) {
      uint32_t way[64], back[64], plain[64];
      int64_t latency_ns = -1, latency_back_ns = -1, plain_ps = -1;
      if (p->topology != PM_TOPO_FILE) {
        const int plain_hops = pm__way(p, NULL, a, b, plain, &plain_ps);
        CHECK(pm_route(w, a, b, way, 64, &latency_ns) == plain_hops && latency_ns * 1000 == plain_ps);
        CHECK(!memcmp(way, plain, (size_t)plain_hops * sizeof *way));
        if (p->topology == PM_TOPO_FATTREE) CHECK(tree_by_definition(p, a, b, plain) == plain_hops && !memcmp(way, plain, (size_t)plain_hops * sizeof *way));
      }
      if (a == b) continue;
      const int hops = pm_route(w, a, b, way, 64, &latency_ns),
                hops_back = pm_route(w, b, a, back, 64, &latency_back_ns);
      CHECK(hops >= 1 && hops == hops_back && latency_ns == latency_back_ns && latency_ns > 0);
      for (int i = 0; i < hops; i++) {
        CHECK(way[i] < (uint32_t)links);
        for (int k = 0; k < i; k++) CHECK(way[k] != way[i]);
      }
      if (hops < 2) continue;
      if (p->topology != PM_TOPO_FATTREE &&
          p->topology != PM_TOPO_FILE) { /* several first links there */
        if (first[a]) CHECK(first[a] == way[0] + 1);
        if (last[b]) CHECK(last[b] == way[hops - 1] + 1);
        first[a] = way[0] + 1;
        last[b] = way[hops - 1] + 1;
      }
    }
  free(first);
  free(last);
  pm_world_destroy(w);
}
static void ways_of_every_topology_are_sound(void) {
  static const struct {
    pm_topology_kind kind;
    int nodes;
    int64_t topo[8];
  } cases[] = {
      {PM_TOPO_CROSSBAR, 7, {0}},
      {PM_TOPO_FATTREE, 16, {2, 4, 4, 1, 4}},
      {PM_TOPO_FATTREE, 16, {2, 4, 4, 1, 2}},
      {PM_TOPO_FATTREE, 27, {3, 3, 3, 3, 1, 3, 3}},
      {PM_TOPO_FATTREE, 24, {3, 2, 3, 4, 2, 1, 2}},
      {PM_TOPO_FATTREE, 24, {3, 2, 3, 4, 2, 3, 2}},
      {PM_TOPO_TORUS, 27, {3, 3, 3, 3}},
      {PM_TOPO_TORUS, 20, {2, 4, 5}},
      {PM_TOPO_DRAGONFLY, 36, {9, 2, 2, 4}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    pm_platform p = pm_platform_bxi2(cases[i].nodes);
    p.topology = cases[i].kind;
    memcpy(p.topo, cases[i].topo, sizeof cases[i].topo);
    ways_are_sound(&p);
  }
}
static void ways_from_a_file_are_shortest(void) {
  static const char ring[] = "topology file\nnode_count 5\nlink h0 h1 1e9 10\nlink h1 h2 1e9 10\n"
                             "link h2 h3 1e9 10\nlink h3 h4 1e9 10\nlink h4 h0 1e9 10\n";
  pm_platform p;
  char error[200];
  CHECK(pm_platform_read(ring, sizeof ring - 1, &p, error, sizeof error) == PM_OK);
  ways_are_sound(&p);
  pm_world_desc desc = {0};
  pm_world *w = NULL;
  desc.platform = &p;
  CHECK(pm_world_create(&desc, &w) == PM_OK);
  pm_platform_free(&p); /* the world needs it no more */
  for (int a = 0; a < 5; a++)
    for (int b = 0; b < 5; b++) {
      const int forward = (b - a + 5) % 5, d = forward < 5 - forward ? forward : 5 - forward;
      int64_t latency_ns = 0;
      if (a != b) CHECK(pm_route(w, a, b, NULL, 0, &latency_ns) == d && latency_ns == 10 * d);
    }
  CHECK(pm_route(w, 0, 5, NULL, 0, NULL) == -1);
  pm_world_destroy(w);
}
/* Two different digits: a fat tree's way up is chosen by the destination, so that ways to different
   nodes below one switch spread over its uplinks. */
static void fat_tree_spreads_by_destination(void) {
  pm_platform p = pm_platform_bxi2(16);
  pm_world_desc desc = {0};
  pm_world *w = NULL;
  const int64_t topo[] = {2, 4, 4, 1, 4};
  p.topology = PM_TOPO_FATTREE;
  memcpy(p.topo, topo, sizeof topo);
  desc.platform = &p;
  CHECK(pm_world_create(&desc, &w) == PM_OK);
  uint32_t way[4][8];
  for (int d = 0; d < 4; d++) CHECK(pm_route(w, 0, 4 + d, way[d], 8, NULL) == 4);
  for (int d = 1; d < 4; d++)
    for (int e = 0; e < d; e++) CHECK(way[d][0] == way[e][0] && way[d][1] != way[e][1]);
  CHECK(pm_route(w, 0, 3, way[0], 8, NULL) == 2); /* below one switch */
  pm_world_destroy(w);
}

static bool text_lacks_loggp(const char *text) {
  pm_platform p;
  bool lacks;
  CHECK(pm_platform_read(text, strlen(text), &p, NULL, 0) == PM_OK);
  lacks = pm_platform_lacks_loggp(&p);
  pm_platform_free(&p);
  return lacks;
}
/* Links of another machine and LogGP of a BXI: at that level messages would take the time of a machine that nobody meant. */
static void links_without_loggp_are_known(void) {
  CHECK(!text_lacks_loggp("node_count 4\nname x\ncores_per_node_count 3\n"));
  CHECK(text_lacks_loggp("link_bytes_per_s 1e9\n"));
  CHECK(text_lacks_loggp("wire_latency_ns 301\n"));
  CHECK(text_lacks_loggp("switch_latency_ns 1\n"));
  CHECK(text_lacks_loggp("topology file\nnode_count 2\nlink h0 h1 1e9 100\n"));
  CHECK(!text_lacks_loggp("link_bytes_per_s 1e9\nloggp_bytes_per_s 1e9\n"));
  CHECK(!text_lacks_loggp("link_bytes_per_s 1e9\nloggp_latency_ns 5\n"));
  CHECK(!text_lacks_loggp("link_bytes_per_s 1e9\nloggp_overhead_ns 5\n"));
  CHECK(!text_lacks_loggp("link_bytes_per_s 1e9\nloggp_gap_ns 5\n"));
  CHECK(!text_lacks_loggp("link_bytes_per_s 1e9\nloggp_range 0 1000 100 0 1 1\n"));
  CHECK(!pm_platform_lacks_loggp(NULL));
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  here = argv[0];
  RUN(links_without_loggp_are_known);
  RUN(old_plural_keys_are_still_read);
  RUN(bad_lines_are_named);
  RUN(contradictions_of_a_file_are_named);
  RUN(what_a_topology_does_not_take_is_not_written);
  RUN(what_is_written_is_read_back);
  RUN(ways_that_are_given_are_taken);
  RUN(fractions_are_read_and_written);
  RUN(counts_beyond_their_arrays_are_refused);
  RUN(random_text_is_survived);
  RUN(ways_of_every_topology_are_sound);
  RUN(ways_from_a_file_are_shortest);
  RUN(fat_tree_spreads_by_destination);
  return TEST_END();
}
