/* Fair sharing against the definition: random worlds (topologies, trees full and pruned, few flows and many, limits of single flows, ways of no
   link, joins, leaves, cables that fail and are repaired), rates at random moments beside max-min filling in long
   double, and the end of each flow beside a simulation that fills anew whenever anything changes. */
#include "tests/model/pieces.h"
#include "tests/model/ptl.h"

enum { FLOWS = 400, WAY = 70 };
/* ---- the definition ---------------------------------------------------------------------------- */
/* Of all links the one that leaves least to each of its flows gives them that, until all have a rate. `way` of each
   flow: its length, then numbers of links below `links`. */
static void fill(const long double *cap, int links, int (*const *way)[WAY + 1], int flows, long double *rate) {
  long double *left = malloc((size_t)links * sizeof *left);
  int *crossing = calloc((size_t)links, sizeof *crossing), *fixed = calloc((size_t)flows, sizeof *fixed), open = flows;
  for (int i = 0; i < links; i++) left[i] = cap[i];
  for (int f = 0; f < flows; f++)
    for (int h = 1; h <= (*way[f])[0]; h++) crossing[(*way[f])[h]]++;
  while (open) {
    int least = -1;
    for (int l = 0; l < links; l++)
      if (crossing[l] && (least < 0 || left[l] * crossing[least] < left[least] * crossing[l])) least = l;
    CHECK(least >= 0);
    if (least < 0) break;
    const long double share = left[least] / crossing[least];
    for (int f = 0; f < flows; f++) {
      const int *links_of = *way[f];
      int crosses = 0;
      for (int h = 1; h <= links_of[0]; h++) crosses |= links_of[h] == least;
      if (fixed[f] || !crosses) continue;
      fixed[f] = 1, open--;
      rate[f] = share;
      for (int h = 1; h <= links_of[0]; h++) left[links_of[h]] -= share, crossing[links_of[h]]--;
    }
  }
  free(left);
  free(crossing);
  free(fixed);
}

/* ---- a world's flows, and what becomes of them by the definition ---------------------------------- */
static long double caps[20000 + FLOWS];
static int caps_count;
typedef enum kind { PLAIN, OVER_PCI, TURNED, INSIDE, NO_LINK } kind; /* NO_LINK: nothing but its own limit */
typedef struct job {
  kind kind;
  int from, to, next; /* next: begins when this one ends; -1: none */
  double bytes, cap;
  int64_t t_ns;   /* its begin; -1: when another one ends */
  int64_t end_ps; /* of the model; -1: not yet */
  /* by the definition */
  int way[WAY + 1]; /* ends with its own limit */
  bool is_there;    /* and has a way */
  long double left, end_ps_wanted;
} job;
static job jobs[FLOWS];
static int job_count;
static pm_world *world;

static void start(void *job_);
static void job_ended(void *job_) {
  job *j = (job *)job_;
  CHECK(j->end_ps < 0);
  j->end_ps = world->now_ps;
  if (j->next >= 0) start(&jobs[j->next]);
}
static void special_ended(pm_world *w, void *job_) {
  (void)w;
  job_ended(job_);
}
static bool is_over_pci(const job *j) { return j->kind == OVER_PCI || j->kind == TURNED; }
/* Half duplex: reads and writes of a node are one, which no flow crosses twice. */
static bool is_one_resource(const pm_world *w, const job *j) { return w->plat.pci_half_duplex && j->from == j->to; }
static void start(void *job_) {
  job *j = (job *)job_;
  if (j->kind == PLAIN) {
    CHECK(pm_flow_start(world, j->from, j->to, j->bytes, job_ended, j) == PM_OK);
    return;
  }
  pm__flow *f = pm__flow_new(world, j->kind == OVER_PCI ? pm__known(world, j->from, j->to) : NULL);
  CHECK(f != NULL);
  if (!f) return;
  f->from = j->from, f->to = j->to, f->done = special_ended, f->arg = j;
  if (is_over_pci(j)) {
    f->link[f->link_count++] = pm__node_resource(world, j->from, PM__PCI_READ);
    if (!is_one_resource(world, j)) f->link[f->link_count++] = pm__node_resource(world, j->to, PM__PCI_WRITE);
  }
  if (j->kind == INSIDE) f->link[f->link_count++] = pm__node_resource(world, j->from, PM__MEMORY);
  CHECK(pm__flow_go(world, f, j->bytes, j->cap));
}

static long double now_ps;
static void fill_now(long double *rate, int *number, int *count) {
  int(*ways[FLOWS])[WAY + 1];
  long double rates[FLOWS];
  *count = 0;
  for (int i = 0; i < job_count; i++)
    if (jobs[i].is_there) ways[*count] = &jobs[i].way, number[(*count)++] = i;
  if (*count) fill(caps, caps_count, ways, *count, rates);
  memcpy(rate, rates, (size_t)*count * sizeof *rate);
}
/* Its way as it is now in `calm`, a world of the same cables without a flow. */
static void enter(pm_world *calm, job *j) {
  uint32_t link[PM__ROUTE_MAX];
  int n = j->kind == PLAIN || j->kind == OVER_PCI ? pm_route(calm, j->from, j->to, link, PM__ROUTE_MAX, NULL) : 0;
  j->is_there = n >= 0;
  if (n < 0) n = 0;
  const int own = calm->link_count + (int)(j - jobs);
  caps[own] = j->cap;
  for (int i = 0; i < n; i++) { /* both directions of what is shared are one; a fatpipe is a limit of each */
    const double rate = pm_link_bytes_per_s(calm, (int)link[i]) * 64 / 72;
    j->way[1 + i] = (int)(calm->graph && calm->graph->sharing[link[i] / 2] == PM_LINK_SHARED ? link[i] / 2 * 2 : link[i]);
    if (calm->graph && calm->graph->sharing[link[i] / 2] == PM_LINK_FATPIPE && rate < caps[own]) caps[own] = rate;
  }
  if (is_over_pci(j)) {
    j->way[1 + n++] = (int)pm__node_resource(calm, j->from, PM__PCI_READ);
    if (!is_one_resource(calm, j)) j->way[1 + n++] = (int)pm__node_resource(calm, j->to, PM__PCI_WRITE);
  }
  if (j->kind == INSIDE) j->way[1 + n++] = (int)pm__node_resource(calm, j->from, PM__MEMORY);
  j->way[1 + n++] = own;
  j->way[0] = n;
}
static void advance(pm_world *calm, long double t_ps) {
  long double rate[FLOWS];
  int number[FLOWS], count;
  for (;;) {
    fill_now(rate, number, &count);
    long double first_ps = t_ps;
    for (int i = 0; i < count; i++) {
      const long double end_ps = now_ps + jobs[number[i]].left / rate[i] * 1e12L;
      if (end_ps < first_ps) first_ps = end_ps;
    }
    if (!count) first_ps = t_ps;
    for (int i = 0; i < count; i++) {
      job *j = &jobs[number[i]];
      const long double end_ps = now_ps + j->left / rate[i] * 1e12L;
      j->left -= rate[i] * (first_ps - now_ps) * 1e-12L;
      if (end_ps > first_ps + 1e-6L) continue; /* who ends at once does so in one step */
      j->is_there = false;
      j->left = 0;
      j->end_ps_wanted = end_ps;
      if (j->next >= 0) enter(calm, &jobs[j->next]);
    }
    now_ps = first_ps;
    if (first_ps >= t_ps) return;
  }
}
static pm_world *calm_world;
static void begins(void *job_) {
  advance(calm_world, (long double)calm_world->now_ps);
  enter(calm_world, (job *)job_);
}
/* Plain flows over what is down go on over another way; those without one wait for a repair. */
static void cables_change(void *unused) {
  (void)unused;
  advance(calm_world, (long double)calm_world->now_ps);
  for (int i = 0; i < job_count; i++) {
    job *j = &jobs[i];
    bool is_hit = !j->is_there;
    if (j->kind != PLAIN || j->end_ps_wanted >= 0 || !j->way[0]) continue; /* over, or not begun */
    for (int h = 1; h < j->way[0]; h++) is_hit |= pm__link_is_dead(calm_world, (uint32_t)j->way[h], calm_world->now_ps);
    if (is_hit) enter(calm_world, j);
  }
}

/* ---- random worlds ------------------------------------------------------------------------------- */
static long double worst_rate, worst_end_ps;
/* What a link keeps of those that others hold down, beside its flows asked one by one. */
static void compare_sums(void) {
  for (int i = 0; i < world->link_count; i++) {
    const pm__link *l = &world->links[i];
    long double left = l->cap;
    if (world->has_few_flows || !l->keeps_feeds || l->sums >= PM__SUMS) continue;
    for (int k = 0; k < l->count; k++) {
      const uint32_t from = l->flows[k].flow->bottleneck;
      if (from == (uint32_t)i) continue;
      left -= world->links[from].level;
      CHECK(l->most >= world->links[from].level);
    }
    CHECK(fabsl(left - l->left) <= 1e-12L * l->cap);
  }
}
static void compare_rates(void *unused) {
  (void)unused;
  if (world->solve_is_due) return; /* in the middle of what happens at this time */
  compare_sums();
  int(*const own)[WAY + 1] = calloc(FLOWS, sizeof *own), (*ways[FLOWS])[WAY + 1];
  pm__flow *flow[FLOWS];
  const int shared = world->link_count + (int)world->limit_count, links = shared + (int)world->flow_made_count;
  long double *cap = malloc((size_t)links * sizeof *cap), rate[FLOWS];
  int n = 0;
  for (int i = 0; i < shared; i++) cap[i] = world->links[i].cap;
  for (int i = shared; i < links; i++) { /* what each may have at most is a link of its own */
    pm__flow *f = world->flow[i - shared];
    cap[i] = f->least_cap;
    if (!(pm__flow_rate(world, f) > 0)) continue;
    own[n][0] = f->link_count + 1;
    own[n][1 + f->link_count] = i;
    for (int h = 0; h < f->link_count; h++) own[n][1 + h] = (int)f->link[h];
    ways[n] = &own[n];
    flow[n++] = f;
  }
  if (n) fill(cap, links, ways, n, rate);
  for (int i = 0; i < n; i++) {
    const long double off = fabsl(pm__flow_rate(world, flow[i]) - rate[i]) / rate[i];
    if (off > worst_rate) worst_rate = off;
  }
  free(own);
  free(cap);
}
static pm_platform machine(int which, char *text, size_t bytes) {
  pm_platform p = pm_platform_bxi2(5);
  char error[200] = "";
  switch (which) {
  case 0: p = pm_platform_bxi2(2 + (int)test_below(9)); break;
  case 1: snprintf(text, bytes, "node_count 16\ntopology fattree\ntopo 2 4 4 1 %d\n", 1 + (int)test_below(4)); break;
  case 2: snprintf(text, bytes, "node_count 20\ntopology torus\ntopo 2 4 5\n"); break;
  case 3: snprintf(text, bytes, "node_count 36\ntopology dragonfly\ntopo 9 2 2 4\n"); break;
  case 4:
    snprintf(text, bytes, "node_count 16\ntopology fattree\ntopo 3 4 2 2 %d %d %d\n", 1 + (int)test_below(2), 1 + (int)test_below(4),
             1 + (int)test_below(4));
    break;
  case 6: { /* switches that share, cables of all sorts, nodes on two of them, or limited */
    static const char *const of[] = {"", "shared", "fatpipe"};
    int used = snprintf(text, bytes, "node_count 8\ntopology file\nlink a b 2e9 9\nlink b c 1e9 9 shared\nlink c a 3e9 9 %s\n", of[test_below(3)]);
    for (int i = 0; i < 11; i++) {
      const int speed = 1 + (int)test_below(3);
      if (i < 8 || test_below(2)) used += snprintf(text + used, bytes - (size_t)used, "link h%d %c %de9 100 %s\n", i % 8, 'a' + (int)test_below(3), speed, of[test_below(3)]);
      if (test_below(2)) used += snprintf(text + used, bytes - (size_t)used, "link %c%c %c%c %de9 7 %s\n", i < 8 ? 'h' : ' ', i < 8 ? '0' + i : 'a' + i - 8, i < 8 ? 'h' : ' ', i < 8 ? '0' + i : 'a' + i - 8, speed, of[2 * test_below(2)]);
    }
    break;
  }
  default: { /* a ring of nodes that are routers, with links of all speeds, and chords */
    int used = snprintf(text, bytes, "node_count 8\ntopology file\n");
    for (int i = 0; i < 12; i++) {
      const int to = i < 8 ? (i + 1) % 8 : (i + 4) % 8; /* chords: 8-12 is 0-4 and so on */
      used += snprintf(text + used, bytes - (size_t)used, "link h%d h%d %d 100\n", i % 8, to, 1000000000 * (1 + (int)test_below(2)));
    }
  }
  }
  if (which) CHECK(pm_platform_read(text, strlen(text), &p, error, sizeof error) == PM_OK);
  if (error[0]) printf("  %s\n", error);
  p.pci_half_duplex = (int)test_below(2);
  return p;
}
/* Few sizes: many end together, and begin together. */
static double some_bytes(void) {
  const uint64_t k = test_below(8);
  return k == 0 ? 0 : k < 4 ? 50000 : k == 4 ? 1e6 * (double)(1 + test_below(9)) : 1 + (double)test_below(200000);
}
static void draw_jobs(const pm_platform *p, bool is_calm) {
  const uint64_t nodes = (uint64_t)p->node_count, per_ns = 1 + test_below(3) * test_below(60000);
  job_count = 1 + (int)test_below(test_below(3) ? 40 : FLOWS);
  for (int i = 0; i < job_count; i++) {
    job *j = &jobs[i];
    memset(j, 0, sizeof *j);
    j->kind = test_below(3) ? PLAIN : (kind)(is_calm ? test_below(5) : 2 + test_below(3));
    j->from = (int)test_below(nodes);
    j->to = j->kind > OVER_PCI ? j->from : (j->from + 1 + (int)test_below(nodes - 1)) % (int)nodes;
    j->bytes = some_bytes();
    j->cap = j->kind == PLAIN ? 1e18 : test_below(4) == 0 && j->kind != NO_LINK ? 1e18 : 1e9 * (double)(1 + test_below(20)) / (double)(1 + test_below(3));
    j->t_ns = test_below(4) ? (int64_t)test_below(per_ns) : 10;
    j->next = -1, j->end_ps = -1;
    j->left = j->bytes;
    j->end_ps_wanted = -1;
    /* a third of those that follow one begin when it ends; only where ways do not change */
    if (is_calm && i && test_below(3) == 0 && jobs[i - 1].next < 0 && jobs[i - 1].t_ns >= 0) jobs[i - 1].next = i, j->t_ns = -1;
  }
}
static void draw_outages(pm_outage *o, int count, int links) {
  for (int i = 0; i < count; i++) {
    memset(&o[i], 0, sizeof o[i]);
    o[i].link = (int)test_below((uint64_t)links);
    o[i].t_down_ns = (int64_t)test_below(60000);
    o[i].d_down_ns = 1 + (int64_t)test_below(60000);
  }
}
static pm_world *make(const pm_platform *p, const pm_outage *o, int count) {
  pm_world_desc desc = {.platform = p, .faults = {.outages = o, .outage_count = count}};
  pm_world *w = NULL;
  CHECK(pm_world_create(&desc, &w) == PM_OK);
  return w;
}
static void simulate_by_definition(const pm_platform *p, const pm_outage *o, int outages) {
  pm_world *w = calm_world = make(p, o, outages);
  now_ps = 0;
  caps_count = w->link_count + FLOWS;
  for (int i = 0; i < w->link_count; i++) caps[i] = w->links[i].cap;
  for (int i = 0; i < FLOWS; i++) caps[w->link_count + i] = jobs[i].cap;
  for (int i = 0; i < outages; i++) {
    CHECK(!pm_call_at(w, o[i].t_down_ns, cables_change, NULL));
    CHECK(!pm_call_at(w, o[i].t_down_ns + o[i].d_down_ns, cables_change, NULL));
  }
  for (int i = 0; i < job_count; i++)
    if (jobs[i].t_ns >= 0) CHECK(!pm_call_at(w, jobs[i].t_ns, begins, &jobs[i]));
  CHECK(pm_world_run(w) == PM_OK);
  advance(w, 1e18L);
  pm_world_destroy(w);
}
/* Its flows begin as few, which are bits, until they are too many; or as many. */
static void one_world(int machine_kind, bool is_calm, bool begins_with_few) {
  char text[2000];
  pm_platform p = machine(machine_kind, text, sizeof text);
  pm_outage o[6];
  int outages = 0;
  world = make(&p, NULL, 0);
  const int links = pm_link_count(world);
  pm_world_destroy(world);
  if (!is_calm) draw_outages(o, outages = 1 + (int)test_below(6), links);
  draw_jobs(&p, is_calm);
  world = make(&p, o, outages);
  CHECK(world->has_few_flows);
  world->has_few_flows = begins_with_few;
  for (int i = 0; i < job_count; i++)
    if (jobs[i].t_ns >= 0) CHECK(!pm_call_at(world, jobs[i].t_ns, start, &jobs[i]));
  for (int i = 0; i < 40; i++) CHECK(!pm_call_at(world, (int64_t)test_below(i < 20 ? 10000 : 200000), compare_rates, NULL));
  CHECK(pm_world_run(world) == PM_OK);
  pm_world_destroy(world);
  simulate_by_definition(&p, o, outages);
  for (int i = 0; i < job_count; i++) {
    const long double off_ps = fabsl((long double)jobs[i].end_ps - jobs[i].end_ps_wanted);
    CHECK(jobs[i].end_ps >= 0 && jobs[i].end_ps_wanted >= 0);
    if (off_ps > worst_end_ps) worst_end_ps = off_ps;
  }
  pm_platform_free(&p);
}
static void worst_is_small(void) {
  printf("  rates off by at most %.2Lg of them, ends by %.3Lg ps\n", worst_rate, worst_end_ps);
  /* A rate that rounding alone would change is left as it is, by up to 1e-12 (pm__link_settle). Ends are in whole
     picoseconds, and where one ends a little late others go on from there. */
  CHECK(worst_rate <= 1.1e-12L);
  CHECK(worst_end_ps <= 30);
}
static void random_worlds(int rounds, bool is_calm) {
  worst_rate = worst_end_ps = 0;
  for (int round = 0; round < test_rounds(rounds); round++) one_world(round % 7, is_calm, round / 7 % 2);
  worst_is_small();
}
/* Worlds that show what few of them do. */
typedef struct seen {
  int machine;
  bool is_calm;
  uint64_t state;
} seen;
static void worlds_again(const seen *worlds, size_t count) {
  worst_rate = worst_end_ps = 0;
  for (size_t i = 0; i < count; i++) {
    test_state = worlds[i].state;
    one_world(worlds[i].machine, worlds[i].is_calm, false);
  }
  worst_is_small();
}
/* A level rose above the limit of a flow, fell again before that limit took the flow over, and rose once more (the first
   three); a link that all flows but one have left still limits that one. */
static void limits_are_remembered(void) {
  static const seen worlds[] = {{1, true, 0xe0f0b4424eff4d25}, {1, false, 0x1d22386c941539bd}, {0, false, 0xfcab855db265822d}, {5, true, 0x7de57b08c4eae280}, {5, true, 0xdda72d41759a14e0}};
  worlds_again(worlds, sizeof worlds / sizeof *worlds);
}
/* A link of which so much was left held flows down meanwhile, new ones among them. */
static void what_others_leave_of_a_link_is_known_when_it_holds_flows_down(void) {
  static const seen worlds[] = {{4, true, 0xbaca2e875ceb8193}, {0, true, 0x5d158c5ec51372ff}, {5, false, 0xe24cf1f2d691aa81}, {1, true, 0xf00a7a05de013a9f}};
  worlds_again(worlds, sizeof worlds / sizeof *worlds);
}
static void rates_and_ends_are_those_of_the_definition(void) { random_worlds(200, true); }
static void rates_and_ends_are_right_when_cables_fail(void) { random_worlds(100, false); }
/* Events of one time happen in the order in which they became known, the end of a flow among them. */
static char happened[4];
static int64_t t_end_ps;
static void flow_is_over(void *letter) {
  strcat(happened, letter);
  t_end_ps = world->now_ps;
}
static void before_it(pm_world *w, pm__event *event) { (void)w, (void)event, strcat(happened, "b"); }
static void after_it(pm_world *w, pm__event *event) { (void)w, (void)event, strcat(happened, "a"); }
static void nothing(pm_world *w, pm__event *event) { (void)w, (void)event; }
static void know_after(void *event) { pm__schedule(world, (pm__event *)event, t_end_ps); }
static void the_end_of_a_flow_has_its_place_among_events_of_its_time(void) {
  const pm_platform p = pm_platform_bxi2(3);
  for (int k = 0; k < 4; k++) { /* k 0: when does it end? 2: where events of a time share a place; 3: all in the row */
    pm__event before = {.fn = before_it}, after = {.fn = after_it}, earlier[PM__SOON_MOST + 1];
    world = make(&p, NULL, 0);
    happened[0] = 0;
    world->shares_times = k == 2;
    world->order = 1; /* at 0 it is judged whether that is worth it */
    /* The row of the next events is full and one of them is in the heap: what is later stands there too. */
    for (int i = 0; i <= PM__SOON_MOST && k < 3; i++) {
      earlier[i] = (pm__event){.fn = nothing};
      pm__schedule(world, &earlier[i], 2000 + 1000 * (PM__SOON_MOST - i));
    }
    CHECK(world->heap_count == (k < 3));
    if (k) pm__schedule(world, &before, t_end_ps);
    if (k) CHECK(pm_call_at(world, 1, know_after, &after) == PM_OK);
    CHECK(pm_flow_start(world, 0, 1, 1e6, flow_is_over, "f") == PM_OK);
    CHECK(pm_world_run(world) == PM_OK);
    CHECK(!strcmp(happened, k ? "bfa" : "f") && world->future_count == 0);
    pm_world_destroy(world);
  }
}
/* Links down a full tree that lead to one node alone know of no flow; asked for their rates they say what flows there. */
static void rates_are_told_of_links_that_lead_to_one_node(void) {
  enum { DEEP = 27 };
  for (int up = 1; up <= 3; up++) { /* 1: one link for all nodes below a switch */
    pm_platform p = pm_platform_bxi2(DEEP);
    p.topology = PM_TOPO_FATTREE;
    const int64_t topo[] = {3, 3, 3, 3, 1, up, up};
    memcpy(p.topo, topo, sizeof topo);
    pm_world *w = make(&p, NULL, 0);
    CHECK(w->narrow_link_count == (up == 1 ? 0 : up == 2 ? 0 : 2));
    for (int from = 1; from < DEEP; from++) CHECK(pm_flow_start(w, from, from % 5 ? 0 : 1, 1e6, NULL, NULL) == PM_OK);
    CHECK(pm_flow_start(w, 0, 9, 1e6, NULL, NULL) == PM_OK);
    pm__solve_now(w);
    for (int link = 0; link < pm_link_count(w); link++) {
      double rates[DEEP], sum = 0;
      int wanted = 0;
      for (int from = 1; from < DEEP; from++) {
        uint32_t way[PM__ROUTE_MAX];
        const int n = pm_route(w, from, from % 5 ? 0 : 1, way, PM__ROUTE_MAX, NULL);
        for (int h = 0; h < n; h++) wanted += way[h] == (uint32_t)link;
      }
      uint32_t way[PM__ROUTE_MAX];
      for (int n = pm_route(w, 0, 9, way, PM__ROUTE_MAX, NULL); n > 0; n--) wanted += way[n - 1] == (uint32_t)link;
      CHECK(pm_link_rates(w, link, NULL, 0) == wanted);
      CHECK(pm_link_rates(w, link, rates, DEEP) == wanted);
      for (int i = 0; i < wanted; i++) sum += rates[i];
      CHECK(!wanted || (sum > 0 && sum <= pm_link_bytes_per_s(w, link) * pm__payload_ratio(&p) * (1 + 1e-12)));
    }
    w->solve_is_due = false, w->future_count--;
    pm_world_destroy(w);
  }
}
/* No caller does it. If one did, the solver must not look for a level for ever. */
static void a_flow_that_crosses_a_link_twice_is_refused(void) {
  const pm_platform p = pm_platform_bxi2(4);
  for (int k = 0; k < 2; k++) {
    const bool has_others = k;
    pm_world *w = make(&p, NULL, 0);
    if (has_others) CHECK(pm_flow_start(w, 0, 1, 1000, NULL, NULL) == PM_OK);
    pm__flow *f = pm__flow_new(w, pm__known(w, 0, 2));
    f->link[f->link_count++] = f->link[0];
    CHECK(pm__flow_go(w, f, 1000, 1e18) == 1);
    CHECK(pm_world_run(w) == PM_E_STATE);
    CHECK(strcmp(pm_world_error(w), "a flow crosses a link twice") == 0);
    pm_world_destroy(w);
  }
}
/* ---- PCI ---------------------------------------------------------------------------------------- */
enum { NODES = 8, PUTS = 6, MOST_BYTES = 1 << 20 };
static struct {
  int to;
  ptl_size_t bytes;
  int64_t end_ps[2];
} moves[NODES][PUTS];
static int variant;
static void put_some(void *unused) {
  static unsigned char memory[MOST_BYTES];
  const int me = pm_rank();
  mover m;
  (void)unused;
  mover_open(&m, memory, MOST_BYTES);
  pm_barrier();
  for (int i = 0; i < PUTS; i++) {
    mover_put(&m, moves[me][i].to, moves[me][i].bytes);
    mover_wait(&m, i + 1);
    moves[me][i].end_ps[variant] = pm_world_of(pm_self())->now_ps;
  }
  pm_barrier();
  PtlFini();
}
/* Messages that leave PCI out because it is wide end when they would end if they crossed it; where PCI holds some of them
   down, they would end at other times without it. (Two cables of a node are wider than PCI, but fixed ways to one
   node take one of them: it is left in, and would make no difference.) */
static void put_with_and_without(const pm_platform *p, bool is_wide, bool makes_difference) {
  int others = 0;
  for (int i = 0; i < NODES * PUTS; i++) {
    /* many to few; the first one of each of the few is to itself, when others come there */
    moves[i / PUTS][i % PUTS].to = i % PUTS == 0 && i / PUTS < 3 ? i / PUTS : (int)test_below(3);
    moves[i / PUTS][i % PUTS].bytes = 100000 + test_below(900000);
  }
  for (variant = 0; variant < 2; variant++) {
    const pm_world_desc desc = {.platform = p, .no_data = true};
    pm_world *w;
    CHECK(!pm_world_create(&desc, &w) && w->pci_is_wide == is_wide);
    if (variant) w->pci_is_wide = !is_wide;
    CHECK(!pm_spawn_all(w, put_some, NULL) && pm_world_run(w) == PM_OK);
    pm_world_destroy(w);
  }
  for (int i = 0; i < NODES * PUTS; i++) {
    const int64_t *const end_ps = moves[i / PUTS][i % PUTS].end_ps;
    others += llabs(end_ps[1] - end_ps[0]) > 1000;
  }
  CHECK((others > 0) == makes_difference);
}
static void pci_is_left_out_where_it_holds_nobody_down(void) {
  for (int k = 0; k < 7; k++) {
    pm_platform p = pm_platform_bxi2(NODES);
    if (k == 1) p.intra_uses_nic = 1;
    if (k == 2) p.pci_half_duplex = 1;
    if (k == 3) p.pci_bytes_per_s = 8e9;
    if (k == 4) p.nic_count = 2, p.procs_per_node_count = 1, p.rail_split_bytes = 65536;
    if (k == 1 || k >= 5) { /* two cables of a node: 22 GB/s */
      p.topology = PM_TOPO_FATTREE;
      p.topo[0] = 1, p.topo[1] = NODES, p.topo[2] = k == 1 ? 1 : 2;
    }
    if (k == 6) p.pci_bytes_per_s = 23e9;
    put_with_and_without(&p, k <= 1 || k == 6, k >= 2 && k <= 4);
  }
}
int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(rates_and_ends_are_those_of_the_definition);
  RUN(rates_and_ends_are_right_when_cables_fail);
  RUN(limits_are_remembered);
  RUN(what_others_leave_of_a_link_is_known_when_it_holds_flows_down);
  RUN(the_end_of_a_flow_has_its_place_among_events_of_its_time);
  RUN(rates_are_told_of_links_that_lead_to_one_node);
  RUN(a_flow_that_crosses_a_link_twice_is_refused);
  RUN(pci_is_left_out_where_it_holds_nobody_down);
  return TEST_END();
}
