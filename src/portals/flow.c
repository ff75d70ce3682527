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
PM__PRIVATE int pm__links_make(pm_world *w) {
  const pm_platform *p = &w->plat;
  const int64_t rail = pm__topology_links(p), net = rail * p->nic_count,
                per_node = 2 * p->pci_root_count + 1, all = net + per_node * p->node_count;
  int64_t i;
  w->links = (pm__link *)pm__zalloc((size_t)all * sizeof *w->links);
  if (!w->links) return 0;
  w->net_link_count = (int)net;
  w->link_count = (int)all;
  for (i = 0; i < net; i++)
    w->links[i].cap = (w->graph ? w->graph->bytes_per_s[i % rail / 2] : p->link_bytes_per_s) *
                      pm__payload_ratio(p);
  for (i = net; i < all; i++)
    w->links[i].cap =
        (i - net) % per_node + 1 == per_node ? p->intra_bytes_per_s : p->pci_bytes_per_s;
  w->stats.memory_bytes += (size_t)all * sizeof *w->links;
  return 1;
}

/* For the use of links: the flow has moved so much since it was looked at last. */
static void pm__flow_used(pm_world *w, const pm__flow *f, double bytes) {
  int h;
  for (h = 0; h < f->link_count; h++) {
    pm__use_add(w, f->link[h], PM__USE_CARRIED, f->t_last_ps, w->now_ps,
                bytes / pm__payload_ratio(&w->plat));
    pm__use_add(w, f->link[h], PM__USE_FLOWS, f->t_last_ps, w->now_ps,
                (double)(w->now_ps - f->t_last_ps));
  }
}
static void pm__flow_advance(pm_world *w, pm__flow *f) {
  const double before_bytes = f->remaining_bytes;
  f->remaining_bytes -= pm__times(f->rate * (double)(w->now_ps - f->t_last_ps), 1e-12);
  if (f->remaining_bytes < 0) f->remaining_bytes = 0;
  if (w->uses && f->rate > 0) pm__flow_used(w, f, before_bytes - f->remaining_bytes);
  f->t_last_ps = w->now_ps;
}
static void pm__flow_set_rate(pm_world *w, pm__flow *f, double rate) {
  double d_ps;
  if (f->event.pos && fabs(rate - f->rate) <= 1e-12 * f->rate) return; /* its end stays */
  pm__flow_advance(w, f);
  f->rate = rate;
  d_ps = pm__times(f->remaining_bytes / rate, 1e12);
  pm__schedule(w, &f->event, pm__later(w->now_ps, pm__whole_ps(d_ps)));
}
static void pm__link_touch(pm_world *w, uint32_t link) {
  void *array = w->dirty;
  if (w->links[link].is_dirty) return;
  if (!pm__grow(&array, &w->dirty_max, w->dirty_count + 1, sizeof *w->dirty)) {
    pm_world_fail(w, PM_E_NOMEM, "out of memory: links");
    return;
  }
  w->dirty = (uint32_t *)array;
  w->links[link].is_dirty = 1;
  w->dirty[w->dirty_count++] = link;
  if (!w->solve.pos) pm__schedule(w, &w->solve, w->now_ps); /* once for all that happens now */
}

/* ---- the solver ---------------------------------------------------------------------------------
   Rates are max-min fair exactly when each flow has a bottleneck: its own cap, or a full link on
   which nobody is faster. So a change makes only those flows anew that are new or had their
   bottleneck on a touched link. Progressive filling gives them rates within what the others leave;
   then whoever lost its bottleneck by that joins them, until nobody does. */
#define PM__NO_LINK    0xFFFFFFFFu
#define PM__SAME_RATIO 1e-9 /* rates closer than this are equal: sums of doubles differ by 1e-15 */
static int pm__share_before(const pm__share *a, const pm__share *b) {
  return a->share < b->share || (a->share <= b->share && a->link < b->link);
}
/* The links that may fill up, least share first: a heap, but few of them (the usual case) are just
   looked through, which is faster. */
enum { PM__FEW_SHARES = 16 };
static void pm__share_sink(pm__share *heap, int count, int i, pm__share s) {
  int child;
  while (count > PM__FEW_SHARES && (child = 2 * i + 1) < count) {
    if (child + 1 < count && pm__share_before(&heap[child + 1], &heap[child])) child++;
    if (!pm__share_before(&heap[child], &s)) break;
    heap[i] = heap[child];
    i = child;
  }
  heap[i] = s;
}
static pm__share pm__share_first(pm__share *heap, int count) {
  const pm__share old = heap[0];
  int i, best = 0;
  if (count > PM__FEW_SHARES) return old;
  for (i = 1; i < count; i++) best = heap[i].share < heap[best].share ? i : best;
  heap[0] = heap[best];
  heap[best] = old;
  return heap[0];
}
/* A link that is reached for the first time: what flows outside of the set leave of it. */
static int pm__reach(pm_world *w, uint32_t link) {
  pm__link *l = &w->links[link];
  void *array = w->reached;
  int k;
  if (!pm__grow(&array, &w->reached_max, w->reached_count + 1, sizeof *w->reached)) return 0;
  w->reached = (uint32_t *)array;
  w->reached[w->reached_count++] = link;
  l->mark = w->mark;
  l->inside = 0;
  l->base = l->cap;
  for (k = 0; k < l->count; k++)
    if (l->flows[k].flow->mark == w->mark)
      l->inside++;
    else
      l->base -= l->flows[k].flow->rate;
  return 1;
}
/* One more flow whose rate is to be found. 0: out of memory */
static int pm__join(pm_world *w, pm__flow *f) {
  void *array = w->active;
  int h;
  if (!pm__grow(&array, &w->active_max, w->active_count + 1, sizeof *w->active)) return 0;
  w->active = (pm__flow **)array;
  w->active[w->active_count++] = f;
  f->mark = w->mark;
  for (h = 0; h < f->link_count; h++) {
    pm__link *l = &w->links[f->link[h]];
    if (l->mark == w->mark) {
      l->inside++;
      l->base += f->rate;
    } else if (!pm__reach(w, f->link[h]))
      return 0;
  }
  return 1;
}
static void pm__fix(pm_world *w, pm__flow *f, double rate, uint32_t bottleneck) {
  int h;
  f->filled = w->fills;
  f->fair = rate;
  f->bottleneck = bottleneck;
  for (h = 0; h < f->link_count; h++) {
    pm__link *l = &w->links[f->link[h]];
    l->left -= rate;
    if (l->left < 0) l->left = 0;
    l->active--;
    l->top = rate;
  }
}
static int pm__flow_cap_order(const void *a, const void *b) {
  const double x = (*(pm__flow *const *)a)->cap, y = (*(pm__flow *const *)b)->cap;
  return (x > y) - (x < y);
}
static void pm__share_add(const pm_world *w, int *count, uint32_t link) {
  w->fill[*count].link = link;
  w->fill[(*count)++].share = w->links[link].left / w->links[link].active;
}
/* Of the links that only one flow of the set crosses, just its narrowest can fill up. */
static int pm__fill_start(pm_world *w, int *count) {
  int i, h, in_order = 1;
  void *array = w->fill;
  if (!pm__grow(&array, &w->fill_max, w->reached_count, sizeof *w->fill)) return 0;
  w->fill = (pm__share *)array;
  w->fills++;
  for (i = 0; i < w->reached_count; i++) {
    pm__link *l = &w->links[w->reached[i]];
    if (l->inside == l->count) l->base = l->cap; /* no rounding where nobody else is */
    l->left = l->base > 0 ? l->base : 0;
    l->active = l->inside;
    l->share = -1;
    l->top = 0;
    if (l->active > 1) pm__share_add(w, count, w->reached[i]);
  }
  for (i = 0; i < w->active_count; i++) {
    const pm__flow *f = w->active[i];
    uint32_t own = PM__NO_LINK;
    for (h = 0; h < f->link_count; h++)
      if (w->links[f->link[h]].inside == 1 &&
          (own == PM__NO_LINK || w->links[f->link[h]].left < w->links[own].left))
        own = f->link[h];
    if (own != PM__NO_LINK) pm__share_add(w, count, own);
    in_order = in_order && (!i || w->active[i - 1]->cap <= f->cap);
  }
  for (i = *count / 2 - 1; i >= 0; i--) pm__share_sink(w->fill, *count, i, w->fill[i]);
  if (!in_order) qsort(w->active, (size_t)w->active_count, sizeof *w->active, pm__flow_cap_order);
  return 1;
}
/* Progressive filling of the set. Fair shares only grow while flows are fixed, so a link's place in
   the heap may be out of date but never too late: it is looked at anew when it comes up. */
static int pm__fill(pm_world *w) {
  int count = 0, next = 0, k;
  if (!pm__fill_start(w, &count)) return 0;
  while (count) {
    pm__share s = pm__share_first(w->fill, count);
    pm__link *l = &w->links[s.link];
    if (!l->active) {
      if (--count) pm__share_sink(w->fill, count, 0, w->fill[count]);
      continue;
    }
    if (l->left / l->active > s.share) { /* grew meanwhile: back into the order */
      s.share = l->left / l->active;
      pm__share_sink(w->fill, count, 0, s);
      continue;
    }
    if (next < w->active_count &&
        w->active[next]->cap <= s.share) { /* slower than its fair share */
      if (w->active[next]->filled != w->fills)
        pm__fix(w, w->active[next], w->active[next]->cap, PM__NO_LINK);
      next++;
      continue;
    }
    l->share = l->left / l->active;
    for (k = 0; k < l->count && l->active; k++) {
      pm__flow *f = l->flows[k].flow;
      if (f->mark == w->mark && f->filled != w->fills) pm__fix(w, f, l->share, s.link);
    }
  }
  return 1;
}
/* Others on the links that were filled: who has no bottleneck now joins. ret how many; -1 memory */
static int pm__join_disturbed(pm_world *w) {
  const int links = w->reached_count, before = w->active_count;
  int i, k;
  for (i = 0; i < links; i++) {
    const uint32_t link = w->reached[i];
    pm__link *l = &w->links[link];
    for (k = 0; k < l->count && l->inside < l->count; k++) {
      pm__flow *f = l->flows[k].flow;
      bool is_lost;
      if (f->mark == w->mark) continue;
      is_lost = l->share >= 0 && f->rate > l->share * (1 + PM__SAME_RATIO); /* faster than those
                                                           of the set that have their bottleneck here */
      if (f->bottleneck == link)
        is_lost |= l->left > l->cap * PM__SAME_RATIO || l->top > f->rate * (1 + PM__SAME_RATIO);
      if (is_lost && !pm__join(w, f)) return -1;
    }
  }
  return w->active_count - before;
}
static int pm__join_touched(pm_world *w) {
  int i, k;
  w->mark++;
  w->active_count = w->reached_count = 0;
  for (i = 0; i < w->dirty_count; i++) {
    pm__link *l = &w->links[w->dirty[i]];
    l->is_dirty = 0;
    for (k = 0; k < l->count; k++) {
      pm__flow *f = l->flows[k].flow;
      if (f->mark != w->mark && (f->rate <= 0 || f->bottleneck == w->dirty[i]) && !pm__join(w, f))
        return 0;
    }
  }
  w->dirty_count = 0;
  return 1;
}
PM__PRIVATE void pm__solve_now(pm_world *w, pm__event *event) {
  int i, joined = 1;
  (void)event;
  if (!pm__join_touched(w)) joined = -1;
  w->stats.solve_count++;
  while (joined > 0 && w->active_count) joined = pm__fill(w) ? pm__join_disturbed(w) : -1;
  if (joined < 0) {
    pm_world_fail(w, PM_E_NOMEM, "out of memory: flows");
    return;
  }
  for (i = 0; i < w->active_count; i++) pm__flow_set_rate(w, w->active[i], w->active[i]->fair);
}

/* ---- flows -------------------------------------------------------------------------------------- */
static void pm__flow_leave_links(pm_world *w, pm__flow *f) {
  int h;
  for (h = 0; h < f->link_count; h++) {
    pm__link *l = &w->links[f->link[h]];
    const pm__crossing last = l->flows[--l->count];
    l->flows[f->place[h]] = last;
    last.flow->place[last.hop] = f->place[h];
    if (l->count) pm__link_touch(w, f->link[h]);
  }
}
static void pm__flow_end(pm_world *w, pm__event *event) {
  pm__flow *f = (pm__flow *)event;
  void (*const done)(pm_world * world, void *arg) = f->done;
  void *const arg = f->arg;
  if (w->uses) pm__flow_used(w, f, f->remaining_bytes);
  pm__flow_leave_links(w, f);
  f->next = w->free_flows;
  w->free_flows = f;
  done(w, arg);
}
/* The flow's links, with room for two more. ret 0: out of memory */
static int pm__flow_take_way(pm__flow *f, const pm__known_way *way) {
  const int links = way ? way->link_count : 0;
  f->link = f->near_link;
  f->place = f->near_place;
  if (links + 2 > PM__NEAR) {
    if (!f->far) f->far = (uint32_t *)pm__zalloc(2 * (PM__ROUTE_MAX + 2) * sizeof *f->far);
    if (!f->far) return 0;
    f->link = f->far;
    f->place = f->far + PM__ROUTE_MAX + 2;
  }
  if (links) memcpy(f->link, way->link, (size_t)links * sizeof *f->link);
  f->link_count = links;
  f->mark = 0;
  f->bottleneck = PM__NO_LINK;
  return 1;
}
PM__PRIVATE pm__flow *pm__flow_new(pm_world *w, const pm__known_way *way) {
  pm__flow *f = w->free_flows;
  if (f)
    w->free_flows = f->next;
  else {
    f = (pm__flow *)pm__zalloc(sizeof *f);
    if (!f) return NULL;
    f->event.fn = pm__flow_end;
    f->next_made = w->flows_made;
    w->flows_made = f;
  }
  if (!pm__flow_take_way(f, way)) {
    f->next = w->free_flows;
    w->free_flows = f;
    return NULL;
  }
  return f;
}
/* The flow's links are filled in. Alone on all of them, it needs no solver. ret 0: out of memory */
PM__PRIVATE int pm__flow_go(pm_world *w, pm__flow *f, double bytes, double cap) {
  double rate = cap;
  uint32_t narrow = PM__NO_LINK;
  int h, alone = 1;
  f->remaining_bytes = bytes;
  f->cap = cap;
  f->rate = 0;
  f->t_last_ps = w->now_ps;
  for (h = 0; h < f->link_count; h++) {
    pm__link *l = &w->links[f->link[h]];
    void *array = l->flows;
    if (!pm__grow(&array, &l->max, l->count + 1, sizeof *l->flows)) return 0;
    l->flows = (pm__crossing *)array;
    f->place[h] = (uint32_t)l->count;
    l->flows[l->count].flow = f;
    l->flows[l->count++].hop = (uint32_t)h;
    if (l->count > 1) alone = 0;
    if (l->cap < rate) {
      rate = l->cap;
      narrow = f->link[h];
    }
  }
  w->stats.flow_count++;
  if (alone) {
    f->bottleneck = narrow;
    pm__flow_set_rate(w, f, rate);
    return 1;
  }
  for (h = 0; h < f->link_count; h++) pm__link_touch(w, f->link[h]);
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
  return f->link_count > 0 && pm__flow_go(world, f, size_bytes, 1e18) ? PM_OK : PM_E_NOMEM;
}
/* What flowed over the link is lost with it; plain flows keep what they have carried. */
PM__PRIVATE void pm__link_failed(pm_world *w, uint32_t link) {
  int i = 0;
  while (i < w->links[link].count) {
    pm__flow *f = w->links[link].flows[i].flow;
    if (f->from == f->to) { /* a NIC turns round what goes to itself */
      i++;
      continue;
    }
    pm__flow_advance(w, f);
    pm__flow_leave_links(w, f);
    pm__unschedule(w, &f->event);
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
    if (!pm__flow_take_way(f, way) || !pm__flow_go(w, f, f->remaining_bytes, 1e18))
      pm_world_fail(w, PM_E_NOMEM, "out of memory: flow");
  }
}
PM_API double pm_link_bytes_per_s(const pm_world *world, int link) {
  return world && link >= 0 && link < world->net_link_count
             ? world->links[link].cap / pm__payload_ratio(&world->plat)
             : 0;
}
PM_API int pm_link_rates(pm_world *world, int link, double *bytes_per_s, int max) {
  int i, n;
  if (!world || link < 0 || link >= world->link_count) return 0;
  n = world->links[link].count;
  for (i = 0; bytes_per_s && i < n && i < max; i++)
    bytes_per_s[i] = world->links[link].flows[i].flow->rate;
  return n;
}
PM__PRIVATE void pm__flows_free(pm_world *w) {
  int i;
  while (w->flows_made) {
    pm__flow *f = w->flows_made;
    w->flows_made = f->next_made;
    PM_FREE(f->far);
    PM_FREE(f);
  }
  for (i = 0; w->links && i < w->link_count; i++) PM_FREE(w->links[i].flows);
  PM_FREE(w->links);
  PM_FREE(w->dirty);
  PM_FREE(w->reached);
  PM_FREE(w->active);
  PM_FREE(w->fill);
}
