/* pm_rtl_net.h: cables and switches of the RTL's network, found from the ways of all messages. A part of
   pm_rtl.h, which includes it. */
#ifndef PM_RTL_NET_H_INCLUDED
#define PM_RTL_NET_H_INCLUDED

/* ---- cables and switches, found from the ways of all messages ----------------------------------------- */
enum {
  PM_RTL__WAY = 64,
  PM_RTL__CABLES = COSIM_SWITCHES_MAX * COSIM_SWITCH_PORTS + 64, /* from switches and from NICs */
  PM_RTL__WHY = 320
};
typedef struct pm_rtl__net {
  cosim_net net;
  int nic_count, link_count;
  int leaves[64], enters[64]; /* a NIC's links; -1: not known yet */
  int *end;        /* by 2 * link + (1: where it ends): of what meets there, another one */
  bool *is_joined; /* of the last one: others meet there */
  int *owner;      /* of the last one: ~NIC or switch; PM_RTL__CABLES: none yet */
  int *cable;      /* by link; -1: no message goes over it */
  /* [PM_RTL__CABLES * a + b]: 1: a way goes from cable a to b; 2: and closes a ring there */
  unsigned char *follows;
  cosim_cable cables[PM_RTL__CABLES];
  signed char routes[COSIM_SWITCHES_MAX * 64], turns[COSIM_SWITCHES_MAX * 64];
  /* search in depth: when it came there, 0: not yet; the first of those it can go back to; of what is left, whose
     ring it is in, -1: not left; what it has not left */
  int order[PM_RTL__CABLES], first[PM_RTL__CABLES], ring[PM_RTL__CABLES], open[PM_RTL__CABLES];
  int open_count, order_count;
  bool is_on_path[PM_RTL__CABLES];
} pm_rtl__net;

static int pm_rtl__net_last(const pm_rtl__net *n, int end) {
  while (n->end[end] != end) end = n->end[end];
  return end;
}
static void pm_rtl__net_join(pm_rtl__net *n, int a, int b) {
  a = pm_rtl__net_last(n, a);
  b = pm_rtl__net_last(n, b);
  n->end[a] = b;
  n->is_joined[b] = 1;
}
typedef const char *pm_rtl__net_see(pm_rtl__net *n, const uint32_t *way, int count, int from,
                                    int to);
/* What is looked for in each way (NULL, or what is wrong with it): first what meets where, */
static const char *pm_rtl__net_learn(pm_rtl__net *n, const uint32_t *way, int count, int from,
                                     int to) {
  int k;
  if (n->leaves[from] < 0) n->leaves[from] = (int)way[0];
  if (n->enters[to] < 0) n->enters[to] = (int)way[count - 1];
  if (n->leaves[from] != (int)way[0] || n->enters[to] != (int)way[count - 1])
    return "a NIC has one cable";
  for (k = 0; k < count; k++) n->cable[way[k]] = 0;
  for (k = 0; k + 1 < count; k++) pm_rtl__net_join(n, 2 * (int)way[k] + 1, 2 * (int)way[k + 1]);
  return NULL;
}
/* then the tables of routes, and which cables follow each other. */
static const char *pm_rtl__net_fill(pm_rtl__net *n, const uint32_t *way, int count, int from,
                                    int to) {
  int k;
  (void)from;
  for (k = 0; k + 1 < count; k++) {
    const int cable = n->cable[way[k]], next = n->cable[way[k + 1]];
    signed char *port = &n->routes[64 * n->cables[cable].to_switch + to];
    if (*port >= 0 && *port != n->cables[next].from) return "ways depend on the sender";
    *port = (signed char)n->cables[next].from;
    n->follows[PM_RTL__CABLES * cable + next] = 1;
  }
  return NULL;
}
static signed char *pm_rtl__net_turn(pm_rtl__net *n, int cable, int next) {
  return &n->turns[64 * n->cables[cable].to_switch + COSIM_SWITCH_PORTS * n->cables[cable].to +
                   n->cables[next].from];
}
static const char *pm_rtl__net_ways(pm_rtl__net *n, pm_world *world, pm_rtl__net_see *see) {
  uint32_t way[PM_RTL__WAY];
  const char *why = NULL;
  int from, to;
  for (from = 0; from < n->nic_count; from++)
    for (to = 0; !why && to < n->nic_count; to++) {
      int count;
      if (from == to) continue;
      count = pm_route(world, from, to, way, PM_RTL__WAY, NULL);
      if (count < 2 || count > PM_RTL__WAY) return "a way without a switch, or none";
      why = see(n, way, count, from, to);
    }
  return why;
}
/* Latency of a link's wire: what it adds to a way's, less what the switch before it takes itself. */
static int64_t pm_rtl__net_wire_ps(const pm_rtl *r, pm_world *world, int link,
                                   const cosim_cable *cable) {
  const int64_t ps = pm_link_latency_ns(world, link) * 1000 -
                     (cable->from_switch < 0 ? 0 : COSIM_SWITCH_CYCLES * r->period_ps);
  return ps > 0 ? ps : 0;
}
/* Switches get numbers, links that are used ports at both ends. */
static const char *pm_rtl__net_number(pm_rtl__net *n, const pm_rtl *r, const pm_world_desc *of,
                                      pm_world *world) {
  const double bytes_per_s = of->platform->link_bytes_per_s;
  const bool has_routers =
      of->platform->topology == PM_TOPO_TORUS || of->platform->topology == PM_TOPO_DRAGONFLY;
  int ports[COSIM_SWITCHES_MAX][2], link, e, i;
  memset(ports, 0, sizeof ports);
  for (i = 0; i < 2 * n->link_count; i++) n->owner[i] = PM_RTL__CABLES;
  for (i = 0; i < n->nic_count; i++) {
    const int out = pm_rtl__net_last(n, 2 * n->leaves[i]),
              in = pm_rtl__net_last(n, 2 * n->enters[i] + 1);
    if (n->is_joined[out] || n->is_joined[in]) return "ways lead through a node";
    n->owner[out] = n->owner[in] = ~i;
  }
  /* A cable's two directions meet at a switch, if no way turns there, too. They are neighbours, but not between the
     routers of tori and dragonflies: whoever comes there goes on to the router's node. */
  for (link = 0; link < (has_routers ? 2 * n->nic_count : n->link_count); link++) {
    const int back = link ^ 1;
    if (n->cable[link] >= 0 && n->cable[back] >= 0 &&
        n->owner[pm_rtl__net_last(n, 2 * link + 1)] == PM_RTL__CABLES)
      pm_rtl__net_join(n, 2 * link + 1, 2 * back);
  }
  for (link = 0; link < n->link_count; link++) {
    cosim_cable *c = &n->cables[n->net.cable_count];
    if (n->cable[link] < 0) continue;
    if (!(pm_link_bytes_per_s(world, link) > bytes_per_s * (1 - 1e-9) &&
          pm_link_bytes_per_s(world, link) < bytes_per_s * (1 + 1e-9)))
      return "a link is not as fast as a NIC's";
    for (e = 0; e < 2; e++) {
      int *owner = &n->owner[pm_rtl__net_last(n, 2 * link + e)], at = -1, port;
      if (*owner == PM_RTL__CABLES) *owner = n->net.switch_count++;
      if (n->net.switch_count > COSIM_SWITCHES_MAX) return "more than 64 switches";
      port = ~*owner;
      if (*owner >= 0) at = *owner, port = ports[at][e]++;
      if (at >= 0 && port == COSIM_SWITCH_PORTS) return "a switch has at most 8 ports";
      if (e)
        c->to_switch = at, c->to = port;
      else
        c->from_switch = at, c->from = port;
    }
    c->latency_ps = pm_rtl__net_wire_ps(r, world, link, c);
    n->cable[link] = n->net.cable_count++;
  }
  return NULL;
}
/* What can be reached from a (Tarjan 1972): what comes back to itself gets one number, closing steps get a mark. */
static void pm_rtl__net_search(pm_rtl__net *n, int a) {
  int b;
  n->order[a] = n->first[a] = ++n->order_count;
  n->open[n->open_count++] = a;
  n->is_on_path[a] = 1;
  for (b = 0; b < n->net.cable_count; b++) {
    unsigned char *follows = &n->follows[PM_RTL__CABLES * a + b];
    int first;
    if (!*follows) continue;
    if (!n->order[b]) pm_rtl__net_search(n, b);
    if (n->ring[b] >= 0) continue;
    first = n->is_on_path[b] ? n->order[b] : n->first[b];
    if (n->is_on_path[b]) *follows = 2;
    if (first < n->first[a]) n->first[a] = first;
  }
  n->is_on_path[a] = 0;
  if (n->first[a] < n->order[a]) return;
  do n->ring[b = n->open[--n->open_count]] = a;
  while (b != a);
}
/* The channel for each turn: 0 where it leaves the rings of its cable for good, the other one where it closes a
   ring, else its own. In a ring the ways of channel 0 are then open, and those of channel 1 begin where it was. */
static void pm_rtl__net_turns(pm_rtl__net *n) {
  int a, b;
  memset(n->ring, -1, sizeof n->ring);
  for (a = 0; a < n->net.cable_count; a++)
    if (!n->order[a]) pm_rtl__net_search(n, a);
  for (a = 0; a < n->net.cable_count; a++)
    for (b = 0; b < n->net.cable_count; b++) {
      const unsigned char follows = n->follows[PM_RTL__CABLES * a + b];
      if (follows && n->ring[a] == n->ring[b]) *pm_rtl__net_turn(n, a, b) = follows == 2 ? 1 : -1;
    }
}
static void pm_rtl__net_free(pm_rtl__net *n) {
  if (!n) return;
  free(n->end);
  free(n->is_joined);
  free(n->owner);
  free(n->cable);
  free(n->follows);
  free(n);
}
/* NULL: why says what is wrong, or is empty: out of memory */
static pm_rtl__net *pm_rtl__net_new(const pm_rtl *r, const pm_world_desc *of, pm_world *world,
                                    char why[PM_RTL__WHY]) {
  const size_t links = (size_t)pm_link_count(world);
  pm_rtl__net *n = (pm_rtl__net *)calloc(1, sizeof *n);
  const char *what;
  size_t i;
  *why = 0;
  if (!n) return NULL;
  n->end = (int *)calloc(2 * links, sizeof *n->end);
  n->is_joined = (bool *)calloc(2 * links, sizeof *n->is_joined);
  n->owner = (int *)calloc(2 * links, sizeof *n->owner);
  n->cable = (int *)calloc(links, sizeof *n->cable);
  n->follows = (unsigned char *)calloc(PM_RTL__CABLES, PM_RTL__CABLES);
  if (!n->end || !n->is_joined || !n->owner || !n->cable || !n->follows) {
    pm_rtl__net_free(n);
    return NULL;
  }
  n->nic_count = r->nic_count;
  n->link_count = (int)links;
  n->net.cables = n->cables;
  n->net.routes = n->routes;
  n->net.turns = n->turns;
  for (i = 0; i < 2 * links; i++) n->end[i] = (int)i;
  for (i = 0; i < links; i++) n->cable[i] = -1;
  memset(n->leaves, -1, sizeof n->leaves);
  memset(n->enters, -1, sizeof n->enters);
  memset(n->routes, -1, sizeof n->routes);
  what = pm_rtl__net_ways(n, world, pm_rtl__net_learn);
  if (!what) what = pm_rtl__net_number(n, r, of, world);
  if (!what) what = pm_rtl__net_ways(n, world, pm_rtl__net_fill);
  if (what)
    snprintf(why, PM_RTL__WHY, "%s", what);
  else {
    pm_rtl__net_turns(n);
    if (!cosim_net_error(&n->net, n->nic_count, why, PM_RTL__WHY)) return n;
  }
  pm_rtl__net_free(n);
  return NULL;
}
#endif /* PM_RTL_NET_H_INCLUDED */
