#include "outages.h"
/* ---- where links lie ------------------------------------------------------------------------------ */
/* The fixed routing of a topology (platform.c) numbers its links by arithmetic and never needs
   to know what a link connects. Ways around a cut do: these functions undo that arithmetic. They
   must be changed with it, and with the names in links.c.

   Fat tree: cables of level l come after those of the levels below, each vertex's up[l] upward
   ones in a row; 2 * cable is up, the next number down. Below level l, m[0] ... m[l - 1] (span)
   nodes share up[0] ... up[l - 1] (width) switches:
     vertex of a level = subtree * width + which of its switches
   A subtree of the next level joins m[l] of them, and cable c of a switch leads to that one of
   the next level's width * up[l] switches which has the same place in its subtree, plus c *
   width. */
static void pm__ends_fattree(const pm_platform *p, int64_t link, int ends[2]) {
  const int64_t h = p->topo[0], *m = p->topo + 1, *up = m + h;
  int64_t l, span = 1, width = 1, base = 0, vertex = 0, cable, below, count;
  for (l = 0;; l++) { /* base: cables of the levels below; vertex: the first one of this level */
    count = p->node_count / span * width * up[l];
    if (link / 2 < base + count || l + 1 == h) break;
    base += count;
    vertex += p->node_count / span * width;
    span *= m[l];
    width *= up[l];
  }
  cable = link / 2 - base;
  below = cable / up[l];
  ends[0] = (int)(vertex + below);
  ends[1] = (int)(vertex + p->node_count / span * width + below / width / m[l] * width * up[l] +
                  below % width + cable % up[l] * width);
}
/* Torus: after the nodes' links, for each dimension a pair per router: towards the next and,
   odd, towards the one before. One router per node, so router `at` is vertex n + at; its
   coordinate in a dimension is a digit of `at`, of weight stride. */
static void pm__ends_torus(const pm_platform *p, int64_t link, int ends[2]) {
  const int64_t n = p->node_count, pair = link / 2 - n, at = pair % n;
  int64_t dimension = pair / n, stride = 1, size, k, x;
  for (k = 0; k < dimension; k++) stride *= p->topo[1 + k];
  size = p->topo[1 + dimension];
  x = at / stride % size;
  ends[0] = (int)(n + at);
  ends[1] = (int)(n + at + ((x + (link % 2 ? size - 1 : 1)) % size - x) * stride);
}
/* Dragonfly: g groups of a routers. First, for each group, all a * a ordered pairs of its
   routers (those from a router to itself are no cables), then for each ordered pair of groups
   its cables. A group's global ports stand in one row, cable by cable, with g - 1 other groups
   in each cable's part; h ports in a row are one router's. So both ends of a cable find their
   router by the same sum, each with the other's number. */
static void pm__ends_dragonfly(const pm_platform *p, int64_t link, int ends[2]) {
  const int64_t n = p->node_count, g = p->topo[0], a = p->topo[1], h = p->topo[3],
                cables = pm__dragonfly_cables(p->topo);
  int64_t i = link - 2 * n, from, to, k;
  if (link < pm__dragonfly_global(p)) {
    ends[0] = (int)(n + i / (a * a) * a + i / a % a);
    ends[1] = (int)(n + i / (a * a) * a + i % a);
    return;
  }
  i = link - pm__dragonfly_global(p);
  k = i % cables;
  from = i / cables / g;
  to = i / cables % g;
  if (from == to) { /* no cable either: a group has no port to itself */
    ends[0] = ends[1] = (int)(n + from * a);
    return;
  }
  ends[0] = (int)(n + from * a + (k * (g - 1) + (to < from ? to : to - 1)) / h);
  ends[1] = (int)(n + to * a + (k * (g - 1) + (from < to ? from : from - 1)) / h);
}
/* Vertices at which a directed link begins and ends: nodes, then switches in an order of their own. */
static void pm__link_ends(const pm_world *w, int64_t link, int ends[2]) {
  const pm_platform *p = &w->plat;
  const int64_t n = p->node_count;
  int hub, swap = link % 2 != 0;
  if (p->topology == PM_TOPO_FILE) {
    ends[0] = w->graph->end[link ^ 1];
    ends[1] = w->graph->end[link];
    return;
  }
  if (p->topology == PM_TOPO_FATTREE)
    pm__ends_fattree(p, link, ends);
  else if (link >= 2 * n) {
    swap = 0;
    if (p->topology == PM_TOPO_TORUS)
      pm__ends_torus(p, link, ends);
    else
      pm__ends_dragonfly(p, link, ends);
  } else {
    hub = (int)(p->topology == PM_TOPO_CROSSBAR ? n
                : p->topology == PM_TOPO_TORUS  ? n + link / 2
                                                : n + link / 2 / p->topo[2]);
    ends[0] = (int)(link / 2);
    ends[1] = hub;
  }
  if (swap) {
    hub = ends[0];
    ends[0] = ends[1];
    ends[1] = hub;
  }
}
/* The other direction. Cables numbered in pairs (nodes, fat tree, file) have it in the lowest
   bit; a torus and a dragonfly number directed links by where they begin, so the link back is
   one of those that begin where this one ends. An outage names one direction and takes both. */
static uint32_t pm__rail_back(const pm_world *w, uint32_t link) { /* link: of the first rail */
  const pm_platform *p = &w->plat;
  const int64_t n = p->node_count;
  int ends[2];
  if (link < 2 * n || p->topology == PM_TOPO_FATTREE || p->topology == PM_TOPO_FILE)
    return link ^ 1;
  if (p->topology == PM_TOPO_TORUS) { /* the link back is one of the next router's */
    pm__link_ends(w, link, ends);
    return (uint32_t)(2 * n + 2 * ((link / 2 - n) / n * n + ends[1] - n) + !(link % 2));
  }
  if (link < pm__dragonfly_global(p)) {
    const int64_t a = p->topo[1], i = link - 2 * n;
    return (uint32_t)(2 * n + i / (a * a) * a * a + i % a * a + i / a % a);
  }
  {
    const int64_t g = p->topo[0], cables = pm__dragonfly_cables(p->topo),
                  i = link - pm__dragonfly_global(p);
    return (uint32_t)(pm__dragonfly_global(p) + (i / cables % g * g + i / cables / g) * cables +
                      i % cables);
  }
}

PM__PRIVATE uint32_t pm__link_back(const pm_world *w, uint32_t link) {
  const uint32_t of_rail = link % pm__rail_links(w);
  return link - of_rail + pm__rail_back(w, of_rail);
}

/* ---- what is down when ------------------------------------------------------------------------------ */
/* Down from t_down on, up again at its end: then a link that fails when another one is repaired
   leaves no moment with both down. d_down_ns 0: for good. */
static bool pm__outage_holds(const pm_outage *o, int64_t t_ps) {
  const int64_t t_down_ps = pm__ps(o->t_down_ns);
  return t_ps >= t_down_ps && (!o->d_down_ns || t_ps < pm__later(t_down_ps, pm__ps(o->d_down_ns)));
}
/* It takes this link with it: one of the cable, or (of a node) one that begins or ends there, on any rail. */
static bool pm__outage_takes(const pm_world *w, const pm_outage *o, uint32_t link) {
  const uint32_t of_rail = link % pm__rail_links(w);
  if (o->node) return w->net->from[of_rail] == o->node - 1 || w->net->to[of_rail] == o->node - 1;
  return (uint32_t)o->link == link || pm__link_back(w, (uint32_t)o->link) == link;
}
PM__PRIVATE bool pm__link_is_dead(const pm_world *w, uint32_t link, int64_t t_ps) {
  const struct pm__net *net = w->net;
  int i;
  for (i = 0; i < net->outage_count; i++)
    if (pm__outage_holds(&net->outages[i], t_ps) && pm__outage_takes(w, &net->outages[i], link))
      return true;
  return false;
}
/* From a node to itself: over its first cable that is alive at t_ps, and back; or -1. */
static int pm__way_to_itself(const pm_world *w, uint32_t base, int node, int64_t t_ps,
                             uint32_t *out) {
  const struct pm__net *net = w->net;
  int k;
  for (k = net->first[node]; k < net->first[node + 1]; k++) {
    out[0] = base + (uint32_t)net->out[k];
    out[1] = pm__link_back(w, out[0]);
    if (!pm__link_is_dead(w, out[0], t_ps)) return 2;
  }
  return -1;
}
static int pm__inner_of(const pm_world *w, int vertex) {
  return w->graph ? w->graph->inner[vertex] : -1;
}
/* What all ways through the vertex cross is not down. */
static bool pm__lets_pass(const pm_world *w, uint32_t base, int vertex, int64_t t_ps) {
  const int inner = pm__inner_of(w, vertex);
  return inner < 0 || !pm__link_is_dead(w, base + (uint32_t)inner, t_ps);
}
/* The shortest way of links of this rail that are alive at t_ps, or -1; to: a node. Breadth
   first; no way through another node, but in a platform file, where a node may be a router too.
   Links out of a vertex are looked at by number, so of several shortest ways it is the same one
   in each run. `via` is the link that led to a vertex, -1 before; the way is read backwards from
   it. */
static int pm__way_around(pm_world *w, int rail, int from, int to, int64_t t_ps, uint32_t *out) {
  const uint32_t base = (uint32_t)rail * pm__rail_links(w);
  struct pm__net *net = w->net;
  int head = 0, tail = 0, v, k, n = 0;
  if (from == to) return pm__way_to_itself(w, base, from, t_ps, out);
  for (v = 0; v < net->vertex_count; v++) net->via[v] = -1;
  if (pm__lets_pass(w, base, from, t_ps)) net->queue[tail++] = from;
  while (head < tail && net->via[to] < 0) {
    v = net->queue[head++];
    if (v != from && v < w->plat.node_count && w->plat.topology != PM_TOPO_FILE) continue;
    for (k = net->first[v]; k < net->first[v + 1]; k++) {
      const int link = net->out[k], next = net->to[link];
      if (next == from || net->via[next] >= 0 || pm__link_is_dead(w, base + (uint32_t)link, t_ps) ||
          !pm__lets_pass(w, base, next, t_ps))
        continue;
      net->via[next] = link;
      net->queue[tail++] = next;
    }
  }
  if (net->via[to] < 0) return -1;
  for (v = to; v != from; v = net->from[net->via[v]]) n += 1 + (pm__inner_of(w, v) >= 0);
  n += pm__inner_of(w, from) >= 0;
  if (n > PM__ROUTE_MAX) return -1;
  for (v = to, k = n; k; v = net->from[net->via[v]]) {
    if (pm__inner_of(w, v) >= 0) out[--k] = base + (uint32_t)pm__inner_of(w, v);
    if (v != from) out[--k] = base + (uint32_t)net->via[v];
  }
  return n;
}
PM__PRIVATE int pm__way_from(pm_world *w, uint32_t link, int to_node, uint32_t *out) {
  const uint32_t of_rail = link % pm__rail_links(w);
  return pm__way_around(w, (int)(link / pm__rail_links(w)), w->net->from[of_rail], to_node,
                        w->now_ps, out);
}
/* Between NICs of a rail. */
static int pm__way_of_nics(pm_world *w, int from, int to, int64_t t_ps, uint32_t *out) {
  return pm__way_around(w, pm__nic_rail(w, from), pm__nic_node(w, from), pm__nic_node(w, to), t_ps,
                        out);
}
PM__PRIVATE bool pm__node_is_out(const pm_world *w, int nic, int64_t t_ps) {
  const struct pm__net *net = w->net;
  int i;
  for (i = 0; net && i < net->outage_count; i++)
    if (net->outages[i].node == pm__nic_node(w, nic) + 1 &&
        pm__outage_holds(&net->outages[i], t_ps))
      return true;
  return false;
}
PM__PRIVATE bool pm__died_between(const pm_world *w, int nic, int64_t t_from_ps, int64_t t_to_ps) {
  const pm_faults *f = &w->desc.faults;
  const int node = pm__nic_node(w, nic);
  int i;
  for (i = 0; i < f->outage_count; i++) {
    const pm_outage *o = &f->outages[i];
    if (o->node == node + 1 && o->kind >= PM_OUTAGE_CRASH && pm__ps(o->t_down_ns) >= t_from_ps &&
        pm__ps(o->t_down_ns) <= t_to_ps)
      return true;
  }
  return false;
}
static int64_t pm__latency_ps(const pm_world *w, const uint32_t *way, int count) {
  int64_t latency_ps = 0;
  int i;
  for (i = 0; i < count; i++) latency_ps += pm__hop_ps(w, way[i], i);
  return latency_ps;
}
/* The fixed way first: mostly nothing on it is down, and a search may visit all vertices. */
PM__PRIVATE int pm__way_at(pm_world *w, int from, int to, int64_t t_ps, uint32_t *out,
                           int64_t *latency_ps) {
  int i, n = pm__route(w, from, to, out, latency_ps);
  for (i = 0; w->net && i < n; i++) {
    if (!pm__link_is_dead(w, out[i], t_ps)) continue;
    n = pm__way_of_nics(w, from, to, t_ps, out);
    *latency_ps = pm__latency_ps(w, out, n);
    break;
  }
  return n;
}
PM__PRIVATE bool pm__is_cut(pm_world *w, int from, int to, int64_t t_ps) {
  uint32_t way[PM__ROUTE_MAX + 2];
  int64_t latency_ps;
  return w->net && pm__way_at(w, from, to, t_ps, way, &latency_ps) < 0;
}
/* Until when an outage that begins spoils a try: its own node's while bytes still leave it, others until all of
   it is there. -1: it is on no link of the way. */
static int64_t pm__spoils_until_ps(const pm_world *w, const pm_outage *o, const pm__try *t,
                                   const uint32_t *way, int count, bool is_own) {
  const int64_t t_left_ps = pm__later(t->t_begin_ps, t->own_ps);
  int i;
  if (is_own) return t_left_ps - 1; /* at that time all has left */
  for (i = 0; i < count; i++)
    if (pm__outage_takes(w, o, way[i])) return pm__later(t_left_ps, t->way_ps);
  return -1;
}
PM__PRIVATE void pm__try_fails(pm_world *w, int from, int to, pm__try *t) {
  const struct pm__net *net = w->net;
  uint32_t way[PM__ROUTE_MAX + 2];
  int64_t latency_ps;
  int i, n;
  t->t_lost_ps = PM__FOREVER;
  if (!net) return;
  n = pm__way_at(w, from, to, t->t_begin_ps, way, &latency_ps);
  if (n < 0) t->t_lost_ps = t->t_begin_ps;
  for (i = 0; i < net->outage_count && n >= 0; i++) {
    const pm_outage *o = &net->outages[i];
    const int64_t t_down_ps = pm__ps(o->t_down_ns);
    const bool is_own = o->node == pm__nic_node(w, from) + 1 && from != to;
    if (t_down_ps > t->t_begin_ps && t_down_ps < t->t_lost_ps &&
        t_down_ps <= pm__spoils_until_ps(w, o, t, way, n, is_own))
      t->t_lost_ps = t_down_ps;
  }
}
/* A way of the fixed routing, changed when a cable of it is down now: true. One that is cut stays as it is. */
PM__PRIVATE bool pm__way_now(pm_world *w, pm__known_way *way) {
  uint32_t other[PM__ROUTE_MAX + 2];
  int i, n;
  for (i = 0; i < way->link_count; i++)
    if (pm__link_is_dead(w, way->link[i], w->now_ps)) break;
  if (i >= way->link_count) return false;
  n = pm__way_of_nics(w, way->from, way->to, w->now_ps, other);
  if (n < 1 || !pm__way_take(way, other, n)) return false;
  way->latency_ps = pm__latency_ps(w, other, n);
  return true;
}

/* ---- the world's part --------------------------------------------------------------------------------- */
/* The next failure or repair after now. One event at a time, however many outages: the next is
   looked for when this one has come. */
static void pm__change_next(pm_world *w) {
  const struct pm__net *net = w->net;
  int64_t t_next_ps = PM__FOREVER;
  int i, k;
  for (i = 0; i < net->outage_count; i++)
    for (k = 0; k < 2; k++) {
      int64_t t_ps = pm__ps(net->outages[i].t_down_ns);
      if (k && !net->outages[i].d_down_ns) continue;
      if (k) t_ps = pm__later(t_ps, pm__ps(net->outages[i].d_down_ns));
      if (t_ps > w->now_ps && t_ps < t_next_ps) t_next_ps = t_ps;
    }
  if (t_next_ps >= PM__END) return;
  pm__schedule(w, &w->net->change, t_next_ps);
  w->idle_count++; /* it is nothing to wait for */
}
static void pm__cable_failed(pm_world *w, uint32_t link) {
  const uint32_t back = pm__link_back(w, link);
  pm__link_failed(w, link);
  pm__link_failed(w, back);
  pm__packets_failed(w, link);
  pm__packets_failed(w, back);
}
static void pm__change(pm_world *w, pm__event *event) {
  const struct pm__net *net = w->net;
  const uint32_t links = (uint32_t)w->net_link_count;
  uint32_t i, link;
  int k;
  (void)event;
  w->idle_count--;
  /* Forgotten, also those without a failed link: a repair may have made their own way free
     again. First, since what fails below asks for ways anew. */
  for (i = 0; i < w->way_max; i++) w->ways[i].link_count = 0;
  for (i = 0; i < (uint32_t)net->outage_count; i++) {
    const pm_outage *o = &net->outages[i];
    if (!pm__outage_holds(o, w->now_ps)) continue;
    if (!o->node) pm__cable_failed(w, (uint32_t)o->link);
    for (link = 0; o->node && link < links; link += (uint32_t)net->link_count)
      for (k = net->first[o->node - 1]; k < net->first[o->node]; k++)
        pm__cable_failed(w, link + (uint32_t)net->out[k]);
  }
  pm__stranded_go(w);
  pm__change_next(w);
}
/* A node whose processes alone stand still is no matter of the network. ret false: out of memory */
static bool pm__net_outages(struct pm__net *net, const pm_faults *f) {
  int i;
  net->outages = (pm_outage *)pm__zalloc((size_t)(f->outage_count + 1) * sizeof(pm_outage));
  if (!net->outages) return false;
  for (i = 0; i < f->outage_count; i++)
    if (!f->outages[i].node || f->outages[i].kind != PM_OUTAGE_STOP)
      net->outages[net->outage_count++] = f->outages[i];
  if (f->down_node && f->d_down_ns > 0) {
    pm_outage *o = &net->outages[net->outage_count++];
    o->node = f->down_node;
    o->t_down_ns = f->t_down_ns;
    o->d_down_ns = f->d_down_ns;
  }
  return true;
}
PM__PRIVATE bool pm__net_make(pm_world *w) {
  struct pm__net *net = (struct pm__net *)pm__zalloc(sizeof *net);
  const int n = (int)pm__rail_links(w);
  int i, v, n_out, ends[2];
  if (!net) return false;
  w->net = net;
  if (!pm__net_outages(net, &w->desc.faults)) return false;
  net->link_count = n;
  net->from = (int *)pm__zalloc(((size_t)n + 1) * sizeof(int));
  net->to = (int *)pm__zalloc(((size_t)n + 1) * sizeof(int));
  net->out = (int *)pm__zalloc(((size_t)n + 1) * sizeof(int));
  if (!net->from || !net->to || !net->out) return false;
  net->vertex_count = (int)w->plat.node_count;
  for (i = 0; i < n; i++) {
    pm__link_ends(w, i, ends);
    net->from[i] = ends[0];
    net->to[i] = ends[1];
    if (ends[0] >= net->vertex_count) net->vertex_count = ends[0] + 1;
    if (ends[1] >= net->vertex_count) net->vertex_count = ends[1] + 1;
  }
  net->first = (int *)pm__zalloc(((size_t)net->vertex_count + 2) * sizeof(int));
  net->queue = (int *)pm__zalloc(((size_t)net->vertex_count + 1) * sizeof(int));
  net->via = (int *)pm__zalloc(((size_t)net->vertex_count + 1) * sizeof(int));
  if (!net->first || !net->queue || !net->via) return false;
  /* Links sorted by where they begin, by counting: first[v + 1] is how many begin at v, then the
     end of v's part of `out`, then, one less for each link put there, its beginning. From the
     last link down, so that a vertex's links stand by number. At last the index moves back by
     one. */
  for (i = 0; i < n; i++) net->first[net->from[i] + 1] += net->from[i] != net->to[i];
  for (v = 0; v < net->vertex_count; v++) net->first[v + 1] += net->first[v];
  n_out = net->first[net->vertex_count];
  for (i = n - 1; i >= 0; i--)
    if (net->from[i] != net->to[i]) net->out[--net->first[net->from[i] + 1]] = i;
  for (v = 0; v < net->vertex_count; v++) net->first[v] = net->first[v + 1];
  net->first[net->vertex_count] = n_out;
  net->change.fn = pm__change;
  w->now_ps = -1; /* one may fail at 0 */
  pm__change_next(w);
  w->now_ps = 0;
  return true;
}
PM__PRIVATE void pm__net_free(pm_world *w) {
  struct pm__net *net = w->net;
  if (!net) return;
  PM_FREE(net->outages);
  PM_FREE(net->from);
  PM_FREE(net->to);
  PM_FREE(net->first);
  PM_FREE(net->out);
  PM_FREE(net->queue);
  PM_FREE(net->via);
  PM_FREE(net);
}
