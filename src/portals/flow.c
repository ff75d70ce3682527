/* Flows: see flow.h. */
#include "flow.h"
#include "outages.h"
PM__PRIVATE uint32_t pm__node_resource(const pm_world *w, int nic, int which) {
  if (which == PM__PCI_WRITE && w->plat.pci_half_duplex) which = PM__PCI_READ;
  const int roots = (int)w->plat.pci_root_count, node = pm__nic_node(w, nic);
  const int at = which == PM__MEMORY ? 2 * roots : 2 * (pm__nic_rail(w, nic) % roots) + which;
  return (uint32_t)(w->net_link_count + (2 * roots + 1) * node + at);
}
/* Payload takes its share of header bytes on the wire. */
PM__PRIVATE double pm__payload_ratio(const pm_platform *p) {
  return (double)p->link_packet_bytes / (double)(p->link_packet_bytes + p->link_header_bytes);
}
PM__PRIVATE double pm__link_rate(const pm_world *w, uint32_t link) {
  return (w->graph ? w->graph->bytes_per_s[link % pm__rail_links(w) / 2]
                   : w->plat.link_bytes_per_s) *
         pm__payload_ratio(&w->plat);
}
/* A PCI root carries what its node's cables carry and nothing else, where no two NICs share it: if it is wider
   than all these cables together it never holds a flow down, and none need cross it. */
static bool pm__pci_is_wide(const pm_world *w) {
  const pm_platform *p = &w->plat;
  const int64_t cables = p->topology == PM_TOPO_FATTREE ? p->topo[1 + p->topo[0]] : 1;
  return p->nic_count == 1 && !p->pci_half_duplex && p->topology != PM_TOPO_FILE &&
         p->pci_bytes_per_s > (double)cables * p->link_bytes_per_s * pm__payload_ratio(p);
}
/* Down a fat tree that has as many switches on a level as nodes below, each link on the way down leads to one node
   alone (D-mod-K): all that crosses it crosses that node's own link too, which carries no more, and others
   besides. So it never holds a flow down, and none need cross it. ret on how many levels, from the nodes up */
static int pm__narrow_levels(const pm_platform *p) {
  const int64_t h = p->topo[0], *m = p->topo + 1, *up = m + h;
  int64_t span = 1, width = up[0];
  int l;
  if (p->topology != PM_TOPO_FATTREE) return 0;
  for (l = 1; l < h; l++) {
    span *= m[l - 1];
    width *= up[l];
    if (width < span) break;
  }
  return l - 1;
}
static void pm__link_is_near(pm__link *l) {
  l->flows = &l->of.near;
  l->held = &l->of.near.flow;
  l->max = 1;
}
/* Twice the flows may cross the link, and be held down by it. ret 0: out of memory */
PM__APART static int pm__link_grow(pm__link *l) {
  const int max = l->max == 1 ? 8 : 2 * l->max;
  pm__crossing *flows =
      (pm__crossing *)PM_MALLOC((size_t)max * (sizeof *l->flows + sizeof *l->held));
  pm__flow **held = (pm__flow **)(void *)(flows + max);
  if (!flows) return 0;
  memcpy(flows, l->flows, (size_t)l->count * sizeof *flows);
  memcpy(held, l->held, (size_t)l->held_count * sizeof *held);
  if (l->max > 1) PM_FREE(l->flows);
  l->flows = flows;
  l->held = held;
  l->max = max;
  return 1;
}
/* Room for so many links, and for each of them among those that are looked at. ret 0: out of memory */
static int pm__links_room(pm_world *w, int max) {
  pm__link *const links = (pm__link *)pm__lines_alloc((size_t)max * sizeof *links);
  void *due, *touched;
  int i;
  if (links) {
    if (w->links_max) memcpy(links, w->links, (size_t)w->links_max * sizeof *links);
    for (i = 0; i < max; i++)
      if (links[i].max <= 1) pm__link_is_near(&links[i]);
    pm__lines_free(w->links);
    w->links = links;
  }
  due = PM_REALLOC(w->due, (size_t)max * sizeof *w->due);
  if (due) w->due = (pm__due *)due;
  touched = PM_REALLOC(w->touched, (size_t)max * sizeof *w->touched);
  if (touched) w->touched = (uint32_t *)touched;
  if (!links || !due || !touched) return 0;
  w->links_max = max;
  return 1;
}
PM__PRIVATE int pm__links_make(pm_world *w) {
  const pm_platform *p = &w->plat;
  const int64_t rail = pm__topology_links(p), net = rail * p->nic_count,
                per_node = 2 * p->pci_root_count + 1, all = net + per_node * p->node_count;
  int64_t i;
  if (!pm__links_room(w, (int)all)) return 0;
  w->busy_ps = (int64_t *)pm__zalloc((size_t)all * sizeof *w->busy_ps);
  if (!w->busy_ps) return 0;
  w->net_link_count = (int)net;
  w->link_count = (int)all;
  w->free_limit = PM__NO_LINK;
  for (i = 0; i < net; i++)
    w->links[i].cap =
        pm__is_fatpipe(w, (uint32_t)i) ? PM__UNLIMITED : pm__link_rate(w, (uint32_t)i);
  for (i = net; i < all; i++)
    w->links[i].cap =
        (i - net) % per_node + 1 == per_node ? p->intra_bytes_per_s : p->pci_bytes_per_s;
  for (i = 0; i < all; i++) w->links[i].level = PM__FREE;
  w->has_few_flows = !w->desc.link_use;
  w->few_level = PM__FREE;
  w->few_spare = PM__FEW_SPARE;
  w->pci_is_wide = pm__pci_is_wide(w);
  /* Links that fail and links whose use is kept have to know all that crosses them. */
  if (!w->desc.link_use && !w->desc.faults.outage_count && !w->desc.faults.down_node)
    w->narrow_link_count = pm__narrow_levels(p);
  w->stats.memory_bytes +=
      (size_t)all * (sizeof *w->links + sizeof *w->due + sizeof *w->touched + sizeof *w->busy_ps);
  return 1;
}

/* For the use of links: what the flow has moved since that was noted last. */
static void pm__flow_used(pm_world *w, pm__flow *f, double moved_bytes) {
  int h;
  for (h = 0; h < f->link_count; h++) { /* of links outside of the network none is kept */
    pm__use_add(w, f->link[h], PM__USE_CARRIED, f->t_seen_ps, w->now_ps,
                (moved_bytes - f->of.seen_bytes) / pm__payload_ratio(&w->plat));
    pm__use_add(w, f->link[h], PM__USE_FLOWS, f->t_seen_ps, w->now_ps,
                (double)(w->now_ps - f->t_seen_ps));
  }
  f->of.seen_bytes = moved_bytes;
  f->t_seen_ps = w->now_ps;
}
/* ---- when flows end ------------------------------------------------------------------------------ */
/* A tournament: node i holds the earliest of the times of its children 4 i to 4 i + 3, flow k is leaf max +
   k (PM__FOREVER: it does not flow). A rate that changes plays its leaf's matches again, log4 max of them, and
   nothing moves, where a heap would move events about. Growing makes four times the leaves and plays all anew. */
static inline int64_t pm__sooner(int64_t a_ps, int64_t b_ps) { return b_ps < a_ps ? b_ps : a_ps; }
static int pm__ends_grow(pm_world *w) {
  const uint32_t max = w->ends_max ? 4 * w->ends_max : 1;
  int64_t *ends = (int64_t *)PM_MALLOC(2 * (size_t)max * sizeof *ends);
  pm__flow **flow = (pm__flow **)PM_REALLOC(w->flow, max * sizeof *flow);
  uint32_t i, k;
  if (flow) w->flow = flow;
  if (!ends || !flow) {
    PM_FREE(ends);
    return 0;
  }
  for (i = 0; i < max; i++)
    ends[max + i] = i < w->ends_max ? w->ends[w->ends_max + i] : PM__FOREVER;
  for (i = max / 4; i; i /= 4) /* level by level */
    for (k = i; k < 2 * i; k++)
      ends[k] = pm__sooner(pm__sooner(ends[4 * k], ends[4 * k + 1]),
                           pm__sooner(ends[4 * k + 2], ends[4 * k + 3]));
  PM_FREE(w->ends);
  w->ends = ends;
  w->ends_max = max;
  return 1;
}
static void pm__ends_set(pm_world *w, uint32_t number, int64_t t_ps) {
  int64_t *const ends = w->ends;
  uint32_t i = w->ends_max + number;
  /* All the way up: where it might end nobody can foresee, which costs a processor more than the matches. */
  for (ends[i] = t_ps; i > 1; ends[i] = t_ps) {
    t_ps = pm__sooner(pm__sooner(t_ps, ends[i ^ 1]), pm__sooner(ends[i ^ 2], ends[i ^ 3]));
    i /= 4;
  }
}
/* Of several that end first the one with the lowest number. */
static pm__flow *pm__ends_first(const pm_world *w) {
  const int64_t *const ends = w->ends, t_ps = ends[1];
  uint32_t i = 1;
  while (i < w->ends_max) {
    const bool not_0 = ends[4 * i] != t_ps, not_1 = not_0 & (ends[4 * i + 1] != t_ps);
    i = 4 * i + not_0 + not_1 + (not_1 & (ends[4 * i + 2] != t_ps));
  }
  return w->flow[i - w->ends_max];
}
/* What the end of the first one will look at, see pm__ask_for. Mostly it is told of a message, to whose NICs it leads. */
PM__APART static void pm__end_comes(const pm_world *w) {
  const pm__flow *f = pm__ends_first(w);
  int h;
  pm__ask_for(f->arg, 6);
  for (h = 0; h < f->link_count; h++) pm__ask_for(&w->links[f->link[h]], 2);
  pm__ask_for(&w->nodes[f->from], 1);
  pm__ask_for(&w->nodes[f->from].lane, 1);
  pm__ask_for(&w->nodes[f->to].pid_0, 1);
}
/* The first ends are in the future of the world, and nowhere else. */
static void pm__ends_next(pm_world *w) {
  const int64_t t_ps = w->ends[1];
  if (w->is_large && t_ps != w->t_flow_end_ps && t_ps != PM__FOREVER) pm__end_comes(w);
  pm__flow_end_at(w, t_ps);
}
static void pm__solve_later(pm_world *w) {
  if (w->solve_is_due) return;
  /* The solver counts as an event to come, so that the world does not take itself for idle before
     it has run. */
  w->solve_is_due = true; /* once for all that happens now */
  pm__usual_until(w);
  w->future_count++;
}
static inline void pm__link_touched(pm_world *w, uint32_t link) {
  w->links[link].is_touched = true;
  w->touched[w->touched_count++] = link;
}
/* ---- virtual time ---------------------------------------------------------------------------------
   All flows that a link holds down have one rate, so what it has moved of each of them is a clock for
   them all: a flow ends when the clock shows a mark that stays as it is however often the rate changes. A link
   keeps its flows in a heap by their marks; only the end of the first one is in the tree. bytes =
   bytes/s * ps * 1e-12. */
static inline void pm__link_advance(pm_world *w, uint32_t link) {
  pm__link *l = &w->links[link];
  if (l->t_ps != w->now_ps) {
    if (l->held_count) l->moved_bytes += pm__times(l->rate * (double)(w->now_ps - l->t_ps), 1e-12);
    l->t_ps = w->now_ps;
  }
  if (!l->is_touched) pm__link_touched(w, link);
}
static bool pm__ends_before(const pm__flow *a, const pm__flow *b) {
  return a->end_bytes < b->end_bytes || (a->end_bytes <= b->end_bytes && a->number < b->number);
}
static void pm__held_put(pm__link *l, int i, pm__flow *f) {
  l->held[i] = f;
  f->held_at = (uint32_t)i;
}
static void pm__held_move(pm__link *l, int i, pm__flow *f) { /* from place i to where it belongs */
  int child;
  for (; i && pm__ends_before(f, l->held[(i - 1) / 2]); i = (i - 1) / 2)
    pm__held_put(l, i, l->held[(i - 1) / 2]);
  while ((child = 2 * i + 1) < l->held_count) {
    if (child + 1 < l->held_count && pm__ends_before(l->held[child + 1], l->held[child])) child++;
    if (!pm__ends_before(l->held[child], f)) break;
    pm__held_put(l, i, l->held[child]);
    i = child;
  }
  pm__held_put(l, i, f);
}
/* The clock begins anew before it becomes too large to show small steps. */
static void pm__clock_restart(pm__link *l) {
  int i;
  for (i = 0; i < l->held_count; i++) {
    l->held[i]->end_bytes -= l->moved_bytes;
    l->held[i]->of.seen_bytes -= l->moved_bytes;
  }
  l->moved_bytes = 0;
}
static void pm__limit_by(pm__link *l, double cap) {
  if (cap < l->lone_cap) l->lone_cap = cap;
}
/* The link becomes the flow's bottleneck: its mark is what the clock shows now and what it has left. */
static void pm__hold_down(pm_world *w, pm__flow *f, uint32_t link) {
  pm__link *l = &w->links[link];
  pm__link_advance(w, link);
  if (!l->held_count || l->moved_bytes > 1e12) pm__clock_restart(l);
  if (!l->held_count) l->lone_cap = PM__FREE;
  f->bottleneck = link;
  f->end_bytes = l->moved_bytes + f->remaining_bytes;
  pm__limit_by(l, f->least_cap);
  if (w->uses) {
    f->of.seen_bytes = l->moved_bytes;
    f->t_seen_ps = w->now_ps;
  }
  pm__held_move(l, l->held_count++, f);
}
/* What is left is known again in bytes: another link's clock may take it over. */
PM__INLINE_HERE void pm__hold_no_more(pm_world *w, pm__flow *f) {
  pm__link *l = &w->links[f->bottleneck];
  pm__flow *last;
  double left_bytes;
  pm__link_advance(w, f->bottleneck);
  if (w->uses && f->t_seen_ps != w->now_ps) pm__flow_used(w, f, l->moved_bytes);
  left_bytes = f->end_bytes - l->moved_bytes;
  f->remaining_bytes = left_bytes > 0 ? left_bytes : 0;
  last = l->held[--l->held_count];
  if (last != f) pm__held_move(l, (int)f->held_at, last);
  if (!l->held_count) l->level = PM__FREE;
  if (l->first == f->number + 1) {
    pm__ends_set(w, f->number, PM__FOREVER);
    l->first = 0;
  }
  f->bottleneck = PM__NO_LINK;
}
static int64_t pm__first_end_ps(const pm_world *w, const pm__link *l, double rate) {
  const double left_bytes = l->held[0]->end_bytes - l->moved_bytes;
  const double d_ps = left_bytes > 0 ? pm__times(left_bytes / rate, 1e12) : 0;
  return pm__later(w->now_ps, pm__whole_ps(d_ps));
}
/* The end of the first one that the link holds down is in the tree, at that time, and no other. */
static inline void pm__link_ends_at(pm_world *w, pm__link *l, int64_t t_ps) {
  const uint32_t first = l->held[0]->number + 1;
  if (l->first && l->first != first) pm__ends_set(w, l->first - 1, PM__FOREVER);
  l->first = first;
  pm__ends_set(w, first - 1, t_ps);
}
/* The first of a link ended: the next one may end at this time too, without another solve. */
static void pm__next_ends_too(pm_world *w, uint32_t link) {
  pm__link *l = &w->links[link];
  if (!l->held_count || !(l->rate > 0) || pm__first_end_ps(w, l, l->rate) > w->now_ps) return;
  pm__link_ends_at(w, l, w->now_ps);
}
/* The level that was found is in force from now on. pm__ends_next is to follow. */
static void pm__link_settle(pm_world *w, uint32_t link) {
  pm__link *l = &w->links[link];
  int i;
  l->is_touched = false;
  if (!l->held_count) {
    l->rate = 0;
    return;
  }
  /* Rounding alone must not move an end: the order of events of one time, and so the whole run,
     would hang on it. */
  if (fabs(l->level - l->rate) > 1e-12 * l->rate) {
    for (i = 0; w->uses && i < l->held_count; i++) pm__flow_used(w, l->held[i], l->moved_bytes);
    l->rate = l->level;
  } else if (l->first == l->held[0]->number + 1)
    return;
  pm__link_ends_at(w, l, pm__first_end_ps(w, l, l->rate));
}
static void pm__settle(pm_world *w) {
  int i;
  for (i = 0; i < w->touched_count && !w->stopped; i++) pm__link_settle(w, w->touched[i]);
  w->touched_count = 0;
  pm__ends_next(w);
}
PM__PRIVATE double pm__flow_rate(const pm_world *w, const pm__flow *f) {
  if (w->has_few_flows) return f->of.rate < PM__FREE ? f->of.rate : 0;
  return f->bottleneck == PM__NO_LINK ? 0 : w->links[f->bottleneck].rate;
}

/* ---- who feeds whom -------------------------------------------------------------------------------
   A link shares what those of its flows leave that others hold down. How many each other link holds
   down is all it needs of these: where flows are many it keeps that in a list (keeps_feeds), which is
   never longer than that of its flows, and mostly much shorter. Few flows it asks one by one, as that
   takes less than such a list; then the link that holds one of them down only counts how often its flows cross
   such links (few_count).
   A link that only one flow crosses is lone: it shares nothing, so it keeps no such list, and is no more
   than a limit. The link that holds its flow down remembers the lowest of these limits (lone_cap), and
   need not look at them while its level is below. */
enum { PM__FEW_FLOWS = 8 };
/* The shorter one of both lists is looked through. */
static int pm__feed_find(const pm__feeds *a, const pm__feeds *b, uint32_t from, uint32_t link) {
  int i;
  if (b->feed_count <= a->fed_count) {
    for (i = 0; i < b->feed_count; i++)
      if (b->feed[i].from == from) return i;
  } else
    for (i = 0; i < a->fed_count; i++)
      if (a->fed[i].link == link) return (int)a->fed[i].at;
  return -1;
}
/* Lists with room for one more on each side. ret false: out of memory */
static bool pm__feeds_room(pm__link *from, pm__link *link) {
  void *feed, *fed;
  bool is_good;
  if (!from->feeds) from->feeds = (pm__feeds *)pm__zalloc(sizeof *from->feeds);
  if (!link->feeds) link->feeds = (pm__feeds *)pm__zalloc(sizeof *link->feeds);
  if (!from->feeds || !link->feeds) return false;
  feed = link->feeds->feed;
  fed = from->feeds->fed;
  is_good =
      (link->feeds->feed_count < link->feeds->feed_max ||
       pm__grow(&feed, &link->feeds->feed_max, link->feeds->feed_count + 1, sizeof(pm__feed))) &&
      (from->feeds->fed_count < from->feeds->fed_max ||
       pm__grow(&fed, &from->feeds->fed_max, from->feeds->fed_count + 1, sizeof(pm__fed)));
  link->feeds->feed = (pm__feed *)feed;
  from->feeds->fed = (pm__fed *)fed;
  return is_good;
}
/* Nothing is left, as far as is known: pm__left finds it anew. */
static inline void pm__sums_forget(pm__link *l) {
  l->left = -PM__FREE;
  l->sums = PM__SUMS;
}
/* One flow more, or less, of the link is held down by another one of that level. Where that has none yet, or no more,
   a sum of it would be so large that it forgets the rest. */
static void pm__sums_join(pm__link *l, double level, bool is_more) {
  if (level >= PM__FREE) {
    pm__sums_forget(l);
    return;
  }
  l->left -= is_more ? level : -level;
  if (is_more && level > l->most) l->most = level;
}
/* One flow more that crosses `link` is held down by `from`. */
static void pm__feed_add(pm_world *w, uint32_t from, uint32_t link) {
  pm__feeds *a = w->links[from].feeds, *b = w->links[link].feeds;
  const int at = a && b ? pm__feed_find(a, b, from, link) : -1;
  pm__sums_join(&w->links[link], w->links[from].level, true);
  if (at >= 0) {
    a->fed[b->feed[at].at].count = ++b->feed[at].count;
    return;
  }
  if (!pm__feeds_room(&w->links[from], &w->links[link])) {
    pm_world_fail(w, PM_E_NOMEM, "out of memory: links");
    return;
  }
  a = w->links[from].feeds;
  b = w->links[link].feeds;
  b->feed[b->feed_count].from = from;
  b->feed[b->feed_count].count = 1;
  b->feed[b->feed_count].at = (uint32_t)a->fed_count;
  a->fed[a->fed_count].link = link;
  a->fed[a->fed_count].count = 1;
  a->fed[a->fed_count++].at = (uint32_t)b->feed_count++;
}
static void pm__feed_drop(pm_world *w, uint32_t from, uint32_t link) {
  pm__feeds *a = w->links[from].feeds, *b = w->links[link].feeds;
  const int at = a && b ? pm__feed_find(a, b, from, link) : -1;
  uint32_t place;
  if (at < 0) return;
  pm__sums_join(&w->links[link], w->links[from].level, false);
  place = b->feed[at].at;
  if ((a->fed[place].count = --b->feed[at].count) != 0) return;
  /* The last ones of both lists take the places that become free, and their partners are told. */
  if (place != (uint32_t)--a->fed_count) {
    a->fed[place] = a->fed[a->fed_count];
    w->links[a->fed[place].link].feeds->feed[a->fed[place].at].at = place;
  }
  if (at != --b->feed_count) {
    b->feed[at] = b->feed[b->feed_count];
    w->links[b->feed[at].from].feeds->fed[b->feed[at].at].at = (uint32_t)at;
  }
}
static bool pm__is_lone(const pm__link *l) { return l->count == 1; }
/* One flow more, or less, of a link that is not lone is held down by `from`. */
static inline void pm__holds_here(pm_world *w, uint32_t from, uint32_t link) {
  if (w->links[link].keeps_feeds)
    pm__feed_add(w, from, link);
  else
    w->links[from].few_count++;
}
static inline void pm__holds_no_more_here(pm_world *w, uint32_t from, uint32_t link) {
  if (w->links[link].keeps_feeds)
    pm__feed_drop(w, from, link);
  else
    w->links[from].few_count--;
}
/* Hops of a flow are bits of a number. */
static inline int pm__first_bit(uint64_t bits) { return __builtin_ctzll(bits); }
static inline uint64_t pm__hop_bit(uint32_t hop) { return (uint64_t)1 << hop; }
static inline uint32_t *pm__places(pm__flow *f) {
  return f->link + (f->link == f->near ? PM__NEAR : PM__FAR_LINKS);
}
PM__INLINE_HERE void pm__attach(pm_world *w, pm__flow *f, uint32_t to) {
  const uint32_t *const place = pm__places(f);
  uint64_t hops;
  pm__hold_down(w, f, to);
  for (hops = f->shared; hops; hops &= hops - 1) {
    const int h = pm__first_bit(hops);
    w->links[f->link[h]].flows[place[h]].from = to;
    if (f->link[h] != to) pm__holds_here(w, to, f->link[h]);
  }
}
/* A second flow crosses the link. */
static void pm__no_more_lone(pm_world *w, uint32_t link) {
  pm__crossing *const first = &w->links[link].flows[0];
  const uint32_t from = first->flow->bottleneck;
  first->flow->shared |= pm__hop_bit(first->hop);
  first->from = from;
  if (from != link && from != PM__NO_LINK) pm__holds_here(w, from, link);
}
/* All flows but one have left the link. */
static void pm__becomes_lone(pm_world *w, uint32_t link) {
  const pm__crossing *const first = &w->links[link].flows[0];
  const uint32_t from = first->from;
  first->flow->shared &= ~pm__hop_bit(first->hop);
  if (from == link || from == PM__NO_LINK) return;
  pm__holds_no_more_here(w, from, link);
  pm__limit_by(&w->links[from], w->links[link].cap);
}
static void pm__others_feed(pm_world *w, uint32_t link, bool is_so) {
  const pm__link *l = &w->links[link];
  int i;
  for (i = 0; i < l->count; i++) {
    const uint32_t from = l->flows[i].from;
    if (from == link || from == PM__NO_LINK) continue;
    if (is_so)
      pm__holds_here(w, from, link);
    else
      pm__holds_no_more_here(w, from, link);
  }
}
/* Its flows have become many, or few again. */
PM__APART static void pm__keep_feeds(pm_world *w, uint32_t link, bool keeps_feeds) {
  pm__others_feed(w, link, false);
  w->links[link].keeps_feeds = keeps_feeds;
  pm__sums_forget(&w->links[link]);
  pm__others_feed(w, link, true);
}

/* ---- the solver -----------------------------------------------------------------------------------
   Rates are max-min fair exactly when each flow has a bottleneck: a full link on which nobody is
   faster. Each link that holds flows down has a level, the rate of these flows: what the others leave
   of the link, in equal parts. A level rests on lower ones only. So when flows come or go, the levels
   of their links are found anew, then those of the links that hold others of their flows down or may
   begin to, and so on, lowest first, until no level changes. On the way a link takes over the flows that
   would be faster on it than its own: few do, so that the cost of a change is that of the levels which it
   changes, however many flows there are. Of links with the same level the one with the lower number
   takes a flow that crosses both, so that no two levels rest on each other. */
static bool pm__due_before(pm__due a, pm__due b) {
  return (a.level < b.level) | ((a.level <= b.level) & (a.link < b.link)); /* no branch */
}
static void pm__due_put(pm_world *w, uint32_t link) {
  pm__link *l = &w->links[link];
  pm__due due;
  int i;
  l->is_queued = true;
  due.level = l->level < PM__FREE ? l->level : l->cap / (l->count + 1);
  due.link = link;
  for (i = w->due_count++; i && pm__due_before(due, w->due[(i - 1) / 2]); i = (i - 1) / 2)
    w->due[i] = w->due[(i - 1) / 2];
  w->due[i] = due;
}
static inline void pm__due_add(pm_world *w, uint32_t link) {
  if (!w->links[link].is_queued) pm__due_put(w, link);
}
static uint32_t pm__due_take(pm_world *w) {
  const uint32_t link = w->due[0].link;
  const pm__due last = w->due[--w->due_count];
  int i = 0, child;
  while ((child = 2 * i + 1) < w->due_count) {
    if (child + 1 < w->due_count) child += pm__due_before(w->due[child + 1], w->due[child]);
    if (!pm__due_before(w->due[child], last)) break;
    w->due[i] = w->due[child];
    i = child;
  }
  w->due[i] = last;
  w->links[link].is_queued = false;
  return link;
}
static void pm__link_touch(pm_world *w, uint32_t link) {
  pm__due_add(w, link);
  pm__solve_later(w);
}
/* The flow is held down by `to` from now on, which it crosses. */
static void pm__flow_move(pm_world *w, pm__flow *f, uint32_t to) {
  const uint32_t from = f->bottleneck, *const place = pm__places(f);
  uint64_t hops;
  pm__hold_no_more(w, f);
  pm__hold_down(w, f, to);
  for (hops = f->shared; hops; hops &= hops - 1) {
    const int h = pm__first_bit(hops);
    const uint32_t link = f->link[h];
    w->links[link].flows[place[h]].from = to;
    if (link != from) pm__holds_no_more_here(w, from, link);
    if (link == to) continue;
    pm__holds_here(w, to, link);
    pm__due_add(w, link);
  }
}
/* All that `from` held down of those which cross `to`. */
static void pm__take_over(pm_world *w, uint32_t from, uint32_t to) {
  const pm__link *l = &w->links[to];
  int k;
  for (k = 0; k < l->count && w->links[from].held_count; k++)
    if (l->flows[k].from == from) pm__flow_move(w, l->flows[k].flow, to);
}
/* What others leave of the link, and the highest of their levels: found anew. */
static void pm__sum_up(const pm_world *w, pm__link *l) {
  const pm__link *const links = w->links;
  const pm__feed *feed = l->feeds ? l->feeds->feed : NULL;
  double left = l->cap, most = 0;
  int i;
  for (i = l->feeds ? l->feeds->feed_count : 0; i > 0; i--, feed++) {
    const double level = links[feed->from].level;
    left -= pm__times((double)feed->count, level);
    most = level > most ? level : most;
  }
  l->left = left;
  l->most = most;
  l->sums = 0;
}
/* What others leave of the link; most: none of their levels is higher. Where its flows are asked one by one its own
   level is none meanwhile: which of them it holds down itself no processor could foresee. */
static double pm__left(const pm_world *w, pm__link *l, double *most) {
  const double own = l->level;
  double left = l->cap, highest = 0;
  int i;
  if (l->keeps_feeds) {
    if (l->sums >= PM__SUMS) pm__sum_up(w, l);
    l->sums++;
    *most = l->most;
    return l->left;
  }
  l->level = 0;
  for (i = 0; i < l->count; i++) {
    const double level = w->links[l->flows[i].from].level;
    left -= level;
    highest = level > highest ? level : highest;
  }
  l->level = own;
  *most = highest;
  return left;
}
/* Whose flows the link has to take over: of those that are faster the fastest, then any of the same level and a
   higher number. PM__NO_LINK: nobody's */
static uint32_t pm__too_fast(const pm_world *w, uint32_t link, double level) {
  const pm__link *l = &w->links[link];
  const double low = level * (1 - w->same_ratio);
  double most = level > 0 ? level * (1 + w->same_ratio) : level;
  const int count = !l->keeps_feeds ? l->count : l->feeds ? l->feeds->feed_count : 0;
  uint32_t at = PM__NO_LINK, same = PM__NO_LINK;
  int i;
  for (i = 0; i < count; i++) {
    const uint32_t from = l->keeps_feeds ? l->feeds->feed[i].from : l->flows[i].from;
    const double other = w->links[from].level;
    if (from == link) continue;
    if (other > most) {
      most = other;
      at = from;
    } else if (other > low && from > link)
      same = from;
  }
  return at != PM__NO_LINK ? at : same;
}
/* The level that the link's flows have with the levels of others as they are now; PM__FREE: it has room for
   all of them. Each round takes over flows from one link more, so the loop ends. */
static double pm__level(pm_world *w, uint32_t link) {
  pm__link *l = &w->links[link];
  for (;;) {
    double most, level;
    const double left = pm__left(w, l, &most);
    uint32_t from;
    if (!l->held_count && left >= -w->same_ratio * l->cap) return PM__FREE;
    level = l->held_count ? left / l->held_count : -1;
    if (most <= level * (1 - w->same_ratio)) return level;
    if (l->keeps_feeds && l->sums > 1) { /* nobody may be as fast any more */
      l->sums = PM__SUMS;
      continue;
    }
    from = pm__too_fast(w, link, level);
    if (from == PM__NO_LINK) return level;
    pm__take_over(w, from, link);
    if (w->stopped) return PM__FREE;
  }
}
/* Flows that the link holds down would be faster than lone links let them: these take them over, if that still is so
   when it is their turn. Some have gone since lone_cap was found: it is found anew. */
static void pm__lone_look(pm_world *w, pm__link *l, double level) {
  double least = PM__FREE;
  int i, h;
  for (i = 0; i < l->held_count; i++) {
    const pm__flow *f = l->held[i];
    for (h = 0; h < f->link_count; h++) {
      const pm__link *other = &w->links[f->link[h]];
      if (other == l || !pm__is_lone(other)) continue;
      if (other->cap < level) pm__due_add(w, f->link[h]);
      if (other->cap < least) least = other->cap;
    }
  }
  l->lone_cap = least;
}
/* The level of a link that only one flow crosses. */
static double pm__lone_level(pm_world *w, uint32_t link) {
  const pm__link *l = &w->links[link];
  pm__flow *const f = l->flows[0].flow;
  if (f->bottleneck != link) {
    if (w->links[f->bottleneck].level <= l->cap * (1 + w->same_ratio)) return PM__FREE;
    pm__flow_move(w, f, link);
  }
  return l->cap;
}
/* A level falls, or begins: links that hold others of its flows down have to be looked at. What is so of one link says
   nothing of the next: so there is one question for each, as none of them could be foreseen. */
static void pm__fed_less(pm_world *w, const pm__feeds *feeds, double by) {
  const pm__fed *fed = feeds->fed, *const end = fed + feeds->fed_count;
  for (; fed < end; fed++) {
    pm__link *l = &w->links[fed->link];
    l->left -= pm__times(fed->count, by);
    if ((l->held_count != 0) > l->is_queued) pm__due_put(w, fed->link);
  }
}
/* It rises: so have those where nothing is left for it, or nobody knows. (Less than a millionth counts as nothing: more than
   what rounding makes of a billion changes. A link to which flows come is looked at in any case.) */
static void pm__fed_more(pm_world *w, const pm__feeds *feeds, double by, double level) {
  const pm__fed *fed = feeds->fed, *const end = fed + feeds->fed_count;
  for (; fed < end; fed++) {
    pm__link *l = &w->links[fed->link];
    l->left -= pm__times(fed->count, by);
    l->most = level > l->most ? level : l->most;
    if (((l->left <= 1e-6 * l->cap) | (l->held_count != 0)) > l->is_queued)
      pm__due_put(w, fed->link);
  }
}
/* It is another level now: links that hold others of its flows down have to be looked at, and links with room when
   these flows have become faster. */
static void pm__level_told(pm_world *w, uint32_t link, double before) {
  const pm__link *l = &w->links[link];
  const bool is_lower = l->level < before;
  uint64_t hops;
  int i;
  if (l->feeds && is_lower) /* no sum is known in which it had none yet */
    pm__fed_less(w, l->feeds, before < PM__FREE ? l->level - before : 0);
  else if (l->feeds)
    pm__fed_more(w, l->feeds, l->level - before, l->level);
  for (i = 0; l->few_count && i < l->held_count; i++) {
    const pm__flow *f = l->held[i];
    for (hops = f->shared; hops; hops &= hops - 1) {
      const uint32_t at = f->link[pm__first_bit(hops)];
      const pm__link *other = &w->links[at];
      const bool is_none = (other == l) | other->keeps_feeds | other->is_queued;
      if (((other->held_count != 0) | !is_lower) > is_none) pm__due_put(w, at);
    }
  }
}
static void pm__level_find(pm_world *w, uint32_t link) {
  pm__link *l = &w->links[link];
  const double before = l->level;
  double level;
  if (!l->count) {
    l->level = PM__FREE;
    return;
  }
  level = pm__is_lone(l) ? pm__lone_level(w, link) : pm__level(w, link);
  if (level > l->lone_cap && l->held_count) pm__lone_look(w, l, level);
  if (fabs(level - before) <= 1e-2 * w->same_ratio * before) return;
  l->level = level;
  if (!l->held_count) return;
  pm__link_advance(w, link);
  pm__level_told(w, link, before);
}
/* Of the links that no other flow crosses; the first one of several. */
static uint32_t pm__narrowest(const pm_world *w, const pm__flow *f) {
  uint32_t best = PM__NO_LINK;
  int h;
  for (h = 0; h < f->link_count; h++)
    if (f->link[h] < best && w->links[f->link[h]].cap <= f->least_cap) best = f->link[h];
  return best;
}
static void pm__flows_become_many(pm_world *w);
/* ---- few flows -------------------------------------------------------------------------------------
   While a world never had more than 64 flows at once each is a bit, by its number, and a link is the set of those that
   cross it: coming and going are an operation for each link, and neither bottlenecks nor clocks are kept. When some
   come or go, the rates of all that share links with them, or with one that does, are filled from zero: the link that
   leaves its flows the least fixes these, then the next one. While such sets are small that takes less than what is
   above, and it has few turns that a processor would have to foresee. It grows with the square of their links: where
   these are more than PM__FEW_USUAL in the mean for a while, flows are many from then on. */
/* Links that flows share, as they are filled; number 0 stands for all others. */
typedef struct pm__few_set {
  double least_cap; /* no flow has less on its own */
  double left[PM__FEW_ROOM];
  double open[PM__FEW_ROOM]; /* so many flows without a rate */
  uint32_t link[PM__FEW_ROOM], count;
} pm__few_set;
static inline uint64_t pm__flow_bit(const pm__flow *f) { return (uint64_t)1 << f->number; }
/* From now on. */
static void pm__few_rate(pm_world *w, pm__flow *f, double rate) {
  const double left_bytes =
      f->remaining_bytes - pm__times(f->of.rate * (double)(w->now_ps - f->t_seen_ps), 1e-12);
  f->remaining_bytes = left_bytes > 0 ? left_bytes : 0;
  f->t_seen_ps = w->now_ps;
  f->of.rate = rate;
  pm__ends_set(w, f->number,
               pm__later(w->now_ps, pm__whole_ps(pm__times(f->remaining_bytes / rate, 1e12))));
}
/* From a link of that level some went, or to it they came. What is slower than the least such level keeps its rate: until
   then links are filled as before. */
static void pm__few_disturbed(pm_world *w, uint64_t flows, double level) {
  w->few_due |= flows;
  w->few_level = level < w->few_level ? level : w->few_level;
  pm__solve_later(w);
}
static void pm__few_go(pm_world *w, pm__flow *f, double bytes, double cap) {
  const uint64_t bit = pm__flow_bit(f);
  uint64_t others = 0;
  int h, most = 0;
  f->least_cap = cap;
  for (h = 0; h < f->link_count; h++) {
    pm__link *l = &w->links[f->near[h]];
    others |= l->of.few.flows;
    l->of.few.flows |= bit;
    l->count++;
    l->of.few.at = 0;
    most = l->count > most ? l->count : most;
    f->least_cap = l->cap < f->least_cap ? l->cap : f->least_cap;
  }
  f->remaining_bytes = bytes;
  f->t_seen_ps = w->now_ps;
  f->of.rate = PM__FREE;
  w->few |= bit;
  w->stats.flow_count++;
  if (others & bit) pm_world_fail(w, PM_E_STATE, "a flow crosses a link twice");
  if (others) {
    pm__few_disturbed(w, others | bit, f->least_cap / most);
    return;
  }
  pm__few_rate(w, f, f->least_cap);
  if (!w->solve_is_due) pm__ends_next(w);
}
/* Those that share a link which held some down may become faster. */
static void pm__few_leave(pm_world *w, pm__flow *f) {
  const uint64_t bit = pm__flow_bit(f);
  uint64_t others = 0;
  int h;
  for (h = 0; h < f->link_count; h++) {
    pm__link *l = &w->links[f->near[h]];
    l->of.few.flows &= ~bit;
    l->of.few.at = 0;
    l->count--;
    others |= l->of.few.flows & (0 - (uint64_t)(l->level < PM__FREE));
  }
  w->few &= ~bit;
  w->few_due &= ~bit;
  pm__ends_set(w, f->number, PM__FOREVER);
  if (others) pm__few_disturbed(w, others, f->of.rate);
  f->of.rate = 0;
}
/* All whose rates may change: those disturbed, and what shares links with one of them; and these links, each brought
   by its first flow, as if nothing crossed them. ret the flows; slower: on the same links, but keep their rates */
static uint64_t pm__few_reached(pm_world *w, pm__few_set *s, uint64_t *slower) {
  const double level = w->few_level * (1 - 1e-9);
  pm__link *const links = w->links;
  uint64_t due = w->few_due, reached = 0, slow = 0, todo;
  uint32_t n = 1;
  int h;
  s->least_cap = PM__FREE;
  while ((todo = due & ~(reached | slow)) != 0) {
    const uint64_t bit = todo & (0 - todo);
    const pm__flow *f = w->flow[pm__first_bit(todo)];
    if (f->of.rate < level) {
      slow |= bit;
      continue;
    }
    s->least_cap = f->least_cap < s->least_cap ? f->least_cap : s->least_cap;
    for (h = 0; h < f->link_count; h++) {
      const uint64_t flows = links[f->near[h]].of.few.flows;
      due |= flows;
      s->link[n] = f->near[h];
      n += (flows != bit) & !(flows & reached);
    }
    reached |= bit;
    if (n > PM__FEW_LINKS) break;
  }
  for (s->count = n; n-- > 1;) {
    pm__link *l = &links[s->link[n]];
    l->of.few.at = n;
    l->level = PM__FREE;
    s->left[n] = l->cap;
    s->open[n] = l->count;
  }
  s->left[0] = s->open[0] = 0;
  s->link[0] = 0;
  *slower = slow;
  return reached;
}
/* They have that rate: what is left of their links is for others. */
static inline void pm__few_fix(const pm__link *links, pm__few_set *s, const pm__flow *f,
                               double level) {
  const int count = f->link_count;
  int h;
  for (h = 0; h < count; h++) {
    const uint32_t at = links[f->near[h]].of.few.at;
    s->left[at] -= level;
    s->open[at] -= 1;
  }
}
/* The same, of a flow that was not reached: its other links were not, either. */
static void pm__few_keep(const pm_world *w, pm__few_set *s, const pm__flow *f) {
  int h;
  for (h = 0; h < f->link_count; h++) {
    const uint32_t at = w->links[f->near[h]].of.few.at;
    if (!at || at >= s->count || s->link[at] != f->near[h]) continue;
    s->left[at] -= f->of.rate;
    s->open[at] -= 1;
  }
}
/* The link that leaves each of its flows the least: without a branch that nobody could foresee. One that has no flows
   left leaves more than any link carries, and nothing divides by zero: a program may have asked for a signal then. */
static uint32_t pm__few_fullest(const pm__few_set *s, double *level) {
  uint32_t i, best = 0;
  double least = PM__FREE;
  for (i = 1; i < s->count; i++) {
    const double left = s->left[i] > 1e-60 ? s->left[i] : 1e-60;
    const double share = left / (s->open[i] + 1e-100);
    best += (i - best) & (0 - (uint32_t)(share < least));
    least = share < least ? share : least;
  }
  *level = least;
  return s->link[best];
}
/* A flow has less on its own than that level. */
PM__APART static uint64_t pm__few_slower(const pm_world *w, uint64_t flows, double *level) {
  uint64_t slowest = 0;
  for (; flows; flows &= flows - 1) {
    const pm__flow *f = w->flow[pm__first_bit(flows)];
    if (f->least_cap > *level) continue;
    *level = f->least_cap;
    slowest = pm__flow_bit(f);
  }
  return slowest;
}
static void pm__few_solve(pm_world *w) {
  pm__few_set s;
  uint64_t slower, flows, fixed;
  flows = pm__few_reached(w, &s, &slower);
  w->few_due = 0;
  w->few_level = PM__FREE;
  w->few_spare += PM__FEW_USUAL - (int)s.count;
  if (w->few_spare > PM__FEW_SPARE) w->few_spare = PM__FEW_SPARE;
  if (s.count > PM__FEW_LINKS || w->few_spare < 0) {
    pm__flows_become_many(w);
    return;
  }
  for (; slower; slower &= slower - 1) pm__few_keep(w, &s, w->flow[pm__first_bit(slower)]);
  while (flows) {
    double level;
    const uint32_t fullest = pm__few_fullest(&s, &level);
    fixed = level > s.least_cap ? pm__few_slower(w, flows, &level) : 0;
    if (!fixed) {
      fixed = w->links[fullest].of.few.flows & flows;
      w->links[fullest].level = level;
    }
    flows &= ~fixed;
    for (; fixed; fixed &= fixed - 1) {
      pm__flow *f = w->flow[pm__first_bit(fixed)];
      pm__few_fix(w->links, &s, f, level);
      /* Rounding alone must not move an end. */
      if (fabs(level - f->of.rate) > 1e-12 * f->of.rate) pm__few_rate(w, f, level);
    }
  }
  pm__ends_next(w);
}
/* There are more than bits: all begin anew as they are, and are many from now on. */
static void pm__flows_become_many(pm_world *w) {
  uint64_t flows;
  int h;
  w->has_few_flows = false;
  for (flows = w->few; flows; flows &= flows - 1) {
    pm__flow *f = w->flow[pm__first_bit(flows)];
    pm__few_rate(w, f, f->of.rate); /* what is left */
    pm__ends_set(w, f->number, PM__FOREVER);
    for (h = 0; h < f->link_count; h++) {
      pm__link *l = &w->links[f->near[h]];
      l->count = 0;
      l->level = PM__FREE;
      memset(&l->of, 0, sizeof l->of);
    }
  }
  if (w->few) pm__solve_later(w);
  for (flows = w->few; flows && !w->stopped; flows &= flows - 1) {
    pm__flow *f = w->flow[pm__first_bit(flows)];
    w->stats.flow_count--;
    if (!pm__flow_go(w, f, f->remaining_bytes, f->least_cap))
      pm_world_fail(w, PM_E_NOMEM, "out of memory: flow");
  }
}
/* A first guess for a flow that is new. */
PM__INLINE_HERE uint32_t pm__guess(const pm_world *w, const pm__flow *f) {
  double least = PM__FREE;
  uint32_t best = PM__NO_LINK;
  int h;
  for (h = 0; h < f->link_count; h++) {
    const pm__link *l = &w->links[f->link[h]];
    const double level = l->level < PM__FREE ? l->level : l->cap / l->count;
    if ((level < least) | ((level <= least) & (f->link[h] < best))) {
      least = level;
      best = f->link[h];
    }
  }
  return best;
}
PM__PRIVATE void pm__solve_now(pm_world *w) {
  const int64_t many = 1000 + 64 * (int64_t)w->link_count;
  int64_t steps = 0;
  w->stats.solve_count++;
  if (w->has_few_flows) {
    pm__few_solve(w);
    return;
  }
  w->same_ratio = 1e-12;
  while (w->fresh && !w->stopped) {
    pm__flow *f = w->fresh;
    w->fresh = f->next;
    const uint32_t to = pm__guess(w, f);
    pm__attach(w, f, to);
    pm__due_add(w, to);
  }
  while (w->due_count && !w->stopped) {
    pm__level_find(w, pm__due_take(w));
    if (++steps < many) continue;
    /* Rounding must never keep it from ending: what is nearly the same is the same then. */
    w->same_ratio *= 16;
    steps = 0;
  }
  pm__settle(w);
}
/* It leaves before it had a rate: the only cable of its way failed. */
static void pm__no_more_fresh(pm_world *w, const pm__flow *f) {
  pm__flow **at = &w->fresh;
  while (*at && *at != f) at = &(*at)->next;
  if (*at) *at = f->next;
}
/* A flow that has all its links for itself needs no solver, and nobody asks its links who feeds them before another
   flow crosses one of them. */
static void pm__alone(pm_world *w, pm__flow *f) {
  const uint32_t link = pm__narrowest(w, f);
  pm__hold_down(w, f, link);
  w->links[link].level = w->links[link].cap;
  if (w->solve_is_due || w->stopped) return; /* it is touched */
  pm__settle(w);
}
/* ---- limits of single flows ------------------------------------------------------------------------ */
static uint32_t pm__limit_take(pm_world *w, double cap) {
  uint32_t link = w->free_limit;
  if (link != PM__NO_LINK)
    w->free_limit = w->links[link].first;
  else {
    link = (uint32_t)w->link_count + w->limit_count;
    if ((int)link >= w->links_max &&
        !pm__links_room(w, w->links_max + 16 + (int)w->limit_count / 2))
      return PM__NO_LINK;
    w->limit_count++;
  }
  w->links[link].cap = cap;
  w->links[link].level = PM__FREE;
  w->links[link].first = 0;
  return link;
}
static void pm__limit_free(pm_world *w, uint32_t link) {
  PM_ASSERT(!w->links[link].is_queued);
  w->links[link].first = w->free_limit;
  w->free_limit = link;
}

/* ---- flows -------------------------------------------------------------------------------------- */
static void pm__flow_leave_links(pm_world *w, pm__flow *f) {
  const uint32_t held_by = f->bottleneck, *const place = pm__places(f);
  uint64_t hops;
  int h;
  if (held_by != PM__NO_LINK)
    pm__hold_no_more(w, f);
  else
    pm__no_more_fresh(w, f);
  for (h = 0; h < f->link_count; h++) w->links[f->link[h]].count--;
  for (hops = f->shared; hops; hops &= hops - 1) {
    const uint32_t link = f->link[h = pm__first_bit(hops)];
    pm__link *l = &w->links[link];
    const pm__crossing last = l->flows[l->count];
    if (held_by != link && held_by != PM__NO_LINK) pm__holds_no_more_here(w, held_by, link);
    /* The last of the link's list takes the place that becomes free, and is told its new place:
       O(1) per link. */
    l->flows[place[h]] = last;
    pm__places(last.flow)[last.hop] = place[h];
    if (pm__is_lone(l)) pm__becomes_lone(w, link);
    if (l->keeps_feeds && l->count <= PM__FEW_FLOWS / 2) pm__keep_feeds(w, link, false);
    if (l->held_count) pm__link_touch(w, link);
  }
  if (f->is_limited) pm__limit_free(w, f->link[--f->link_count]);
  f->is_limited = false;
}
static void pm__flow_end(pm_world *w, pm__flow *f) {
  const uint32_t held_by = f->bottleneck;
  if (w->has_few_flows)
    pm__few_leave(w, f);
  else {
    if (w->uses) pm__flow_used(w, f, f->end_bytes);
    pm__flow_leave_links(w, f);
    pm__next_ends_too(w, held_by);
  }
  f->next = w->free_flows;
  w->free_flows = f;
  /* Last: what is told may start the next flow, which takes this one's memory. */
  f->done(w, f->arg);
}
PM__PRIVATE void pm__flows_end(pm_world *w, pm__event *event) {
  (void)event;
  w->t_flow_end_ps = PM__FOREVER;
  /* None, perhaps: this event may be left over from before other flows changed. */
  while (w->ends[1] <= w->now_ps && !w->stopped) pm__flow_end(w, pm__ends_first(w));
  if (!w->solve_is_due) pm__ends_next(w); /* else the solver does it */
}
/* Cables that it shares with those that go the other way; each once, also where it comes back over it. */
static void pm__flow_shares(const pm_world *w, pm__flow *f) {
  int h, k, n = 0;
  for (h = 0; h < f->link_count; h++) {
    const uint32_t link = pm__link_of_flows(w, f->link[h]);
    for (k = 0; k < n && f->link[k] != link; k++) {
    }
    if (k == n) f->link[n++] = link;
  }
  f->link_count = (uint16_t)n;
}
/* The narrowest fatpipe of its way, which holds it down as no other flow does. */
static double pm__flow_fatpipes(const pm_world *w, const pm__flow *f, double cap) {
  int h;
  for (h = 0; h < f->link_count; h++)
    if (f->link[h] < (uint32_t)w->net_link_count && pm__is_fatpipe(w, f->link[h]) &&
        pm__link_rate(w, f->link[h]) < cap)
      cap = pm__link_rate(w, f->link[h]);
  return cap;
}
/* The flow's links, with room for three more. ret 0: out of memory */
PM__INLINE_HERE int pm__flow_take_way(const pm_world *w, pm__flow *f, const pm__known_way *way) {
  int links = way ? way->link_count : 0, left_out = 0;
  if (w->narrow_link_count && links > 2) {
    left_out = links / 2 - 1;
    if (left_out > w->narrow_link_count) left_out = w->narrow_link_count;
  }
  f->link = f->near;
  if (links - left_out + 3 > PM__NEAR) { /* one more: its limit */
    if (!f->far) f->far = (uint32_t *)pm__zalloc(2 * PM__FAR_LINKS * sizeof *f->far);
    if (!f->far) return 0;
    f->link = f->far;
  }
  if (links) memcpy(f->link, way->link, (size_t)(links - left_out) * sizeof *f->link);
  if (left_out) f->link[links - 1 - left_out] = way->link[links - 1];
  f->link_count = (uint16_t)(links - left_out);
  if (w->graph && w->graph->shares) pm__flow_shares(w, f);
  f->bottleneck = PM__NO_LINK;
  return 1;
}
PM__PRIVATE pm__flow *pm__flow_new(pm_world *w, const pm__known_way *way) {
  pm__flow *f = w->free_flows;
  if (f)
    w->free_flows = f->next;
  else {
    if (w->flow_made_count == PM__FEW && w->has_few_flows) pm__flows_become_many(w);
    if (w->flow_made_count == w->ends_max && !pm__ends_grow(w)) return NULL;
    f = (pm__flow *)pm__lines_take(w, sizeof *f);
    if (!f) return NULL;
    f->number = w->flow_made_count;
    w->flow[w->flow_made_count++] = f;
  }
  if (!pm__flow_take_way(w, f, way)) {
    f->next = w->free_flows;
    w->free_flows = f;
    return NULL;
  }
  return f;
}
/* The flow's links are filled in. A limit that is lower than they are is a link that the flow has for itself.
   ret 0: out of memory */
PM__PRIVATE int pm__flow_go(pm_world *w, pm__flow *f, double bytes, double cap) {
  uint32_t *const place = pm__places(f);
  double least = PM__FREE;
  uint32_t h;
  if (w->graph && w->graph->shares) cap = pm__flow_fatpipes(w, f, cap);
  if (w->has_few_flows && f->link == f->near) {
    pm__few_go(w, f, bytes, cap);
    return 1;
  }
  if (w->has_few_flows) pm__flows_become_many(w);
  f->remaining_bytes = bytes;
  f->is_limited = cap < PM__UNLIMITED || !f->link_count;
  for (h = 0; h < f->link_count && f->is_limited; h++)
    f->is_limited = cap < w->links[f->link[h]].cap;
  if (f->is_limited) {
    const uint32_t limit = pm__limit_take(w, cap);
    if (limit == PM__NO_LINK) return 0;
    f->link[f->link_count++] = limit;
  }
  f->shared = 0;
  for (h = 0; h < f->link_count; h++) {
    const uint32_t link = f->link[h];
    pm__link *l = &w->links[link];
    const int before = l->count;
    least = l->cap < least ? l->cap : least;
    if (before == l->max && !pm__link_grow(l)) return 0;
    place[h] = (uint32_t)before;
    l->flows[before].flow = f;
    l->flows[before].from = PM__NO_LINK;
    l->flows[before].hop = h;
    l->count = before + 1;
    if (!before) continue;
    /* Twice its share of one link is nothing that the solver knows: it would look for a level for ever. */
    if (l->flows[before - 1].flow == f) {
      pm_world_fail(w, PM_E_STATE, "a flow crosses a link twice");
      return 1;
    }
    f->shared |= pm__hop_bit(h);
    if (before == 1) pm__no_more_lone(w, link);
    if (l->count > PM__FEW_FLOWS && !l->keeps_feeds) pm__keep_feeds(w, link, true);
    pm__link_touch(w, link);
  }
  f->least_cap = least;
  w->stats.flow_count++;
  if (!f->shared) {
    pm__alone(w, f);
    return 1;
  }
  f->next = w->fresh;
  w->fresh = f;
  return 1;
}

static void pm__plain_flow_done(pm_world *w, void *arg) {
  const pm__flow *f = (const pm__flow *)arg; /* free already, but not taken again yet */
  (void)w;
  if (f->plain_done) f->plain_done(f->plain_arg);
}
PM_API pm_status pm_flow_start(pm_world *world, int from_node, int to_node, double size_bytes,
                               void (*done)(void *arg), void *arg) {
  pm__flow *f;
  if (world && world->desc.threads) return PM_E_STATE; /* links are shared by all parts */
  if (!world || from_node < 0 || to_node < 0 || from_node >= world->plat.node_count ||
      to_node >= world->plat.node_count || from_node == to_node || !(size_bytes >= 0) ||
      size_bytes > 1e18)
    return PM_E_INVAL;
  f = pm__flow_new(world, pm__known(world, from_node, to_node));
  if (!f) return PM_E_NOMEM;
  f->plain_done = done;
  f->plain_arg = arg;
  f->done = pm__plain_flow_done;
  f->arg = f;
  f->from = from_node;
  f->to = to_node;
  if (world->net && pm__is_cut(world, from_node, to_node, world->now_ps)) {
    f->remaining_bytes = size_bytes;
    f->next = world->stranded;
    world->stranded = f;
    return PM_OK;
  }
  return f->link_count > 0 && pm__flow_go(world, f, size_bytes, PM__UNLIMITED) ? PM_OK : PM_E_NOMEM;
}
/* What flowed over the link is lost with it; plain flows keep what they have carried. */
PM__PRIVATE void pm__link_failed(pm_world *w, uint32_t link) {
  if (w->has_few_flows) pm__flows_become_many(w);
  while (w->links[link].count) {
    pm__flow *f = w->links[link].flows[0].flow;
    pm__flow_leave_links(w, f);
    if (!w->solve_is_due) pm__ends_next(w);
    if (f->done == pm__plain_flow_done) {
      f->next = w->stranded;
      w->stranded = f;
    } else {
      f->next = w->free_flows;
      w->free_flows = f;
      pm__job_lost(w, f->arg);
    }
  }
}
PM__PRIVATE void pm__flows_of_node_failed(pm_world *w, int node) {
  int i, k;
  if (w->has_few_flows) pm__flows_become_many(w);
  for (k = 0; k < w->link_count; k++)
    for (i = 0; i < w->links[k].count;) {
      pm__flow *f = w->links[k].flows[i].flow;
      if (f->done == pm__plain_flow_done ||
          (pm__nic_node(w, f->from) != node && pm__nic_node(w, f->to) != node)) {
        i++;
        continue;
      }
      pm__flow_leave_links(w, f);
      if (!w->solve_is_due) pm__ends_next(w);
      f->next = w->free_flows;
      w->free_flows = f;
      pm__job_lost(w, f->arg);
    }
}
/* For those without a way there may be one now. */
PM__PRIVATE void pm__stranded_go(pm_world *w) {
  pm__flow *f = w->stranded, *next;
  w->stranded = NULL;
  for (; f; f = next) {
    const pm__known_way *way = pm__known(w, f->from, f->to);
    next = f->next;
    if (pm__is_cut(w, f->from, f->to, w->now_ps)) {
      f->next = w->stranded;
      w->stranded = f;
      continue;
    }
    if (!pm__flow_take_way(w, f, way) || !pm__flow_go(w, f, f->remaining_bytes, PM__UNLIMITED))
      pm_world_fail(w, PM_E_NOMEM, "out of memory: flow");
  }
}
PM_API double pm_link_bytes_per_s(const pm_world *world, int link) {
  return world && link >= 0 && link < world->net_link_count
             ? pm__link_rate(world, (uint32_t)link) / pm__payload_ratio(&world->plat)
             : 0;
}
static bool pm__flows_now(const pm_world *w, pm__flow *f) {
  const pm__link *first = f->link_count ? &w->links[f->link[0]] : NULL;
  if (w->has_few_flows) return w->few >> f->number & 1;
  return first && (int)*pm__places(f) < first->count && first->flows[*pm__places(f)].flow == f;
}
/* Of a link that flows leave out, see pm__narrow_levels: of all flows those whose ways lead over it. */
static int pm__narrow_rates(pm_world *w, uint32_t link, double *bytes_per_s, int max) {
  uint32_t way[PM__ROUTE_MAX + 2], i;
  int64_t latency_ps;
  int n = 0, h;
  for (i = 0; i < w->flow_made_count; i++) {
    pm__flow *f = w->flow[i];
    if (!pm__flows_now(w, f)) continue;
    h = f->link[0] < (uint32_t)w->net_link_count ? pm__route(w, f->from, f->to, way, &latency_ps)
                                                 : 0;
    while (h > 0 && way[h - 1] != link) h--;
    if (h <= 0) continue;
    if (bytes_per_s && n < max) bytes_per_s[n] = pm__flow_rate(w, f);
    n++;
  }
  return n;
}
PM_API int pm_link_rates(pm_world *world, int link, double *bytes_per_s, int max) {
  uint64_t flows;
  int i, n;
  if (!world || link < 0 || link >= world->link_count) return 0;
  n = world->links[link].count;
  if (!n && world->narrow_link_count && link < world->net_link_count)
    return pm__narrow_rates(world, (uint32_t)link, bytes_per_s, max);
  flows = world->has_few_flows ? world->links[link].of.few.flows : 0;
  for (i = 0; bytes_per_s && i < n && i < max; i++, flows &= flows - 1)
    bytes_per_s[i] = pm__flow_rate(world, flows ? world->flow[pm__first_bit(flows)]
                                                : world->links[link].flows[i].flow);
  return n;
}
PM__PRIVATE void pm__flows_free(pm_world *w) {
  uint32_t number;
  int i;
  for (number = 0; number < w->flow_made_count; number++) PM_FREE(w->flow[number]->far);
  for (i = 0; w->links && i < w->links_max; i++) {
    if (w->links[i].max > 1) PM_FREE(w->links[i].flows);
    if (w->links[i].feeds) {
      PM_FREE(w->links[i].feeds->feed);
      PM_FREE(w->links[i].feeds->fed);
      PM_FREE(w->links[i].feeds);
    }
  }
  pm__lines_free(w->links);
  PM_FREE(w->busy_ps);
  PM_FREE(w->due);
  PM_FREE(w->touched);
  PM_FREE(w->ends);
  PM_FREE(w->flow);
}
