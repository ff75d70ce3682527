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
/* A flow knows how much was left at t_last_ps and its rate since then: nothing happens to it
   between two changes of its rate. bytes = bytes/s * ps * 1e-12. */
static void pm__flow_advance(pm_world *w, pm__flow *f) {
  const double before_bytes = f->remaining_bytes;
  f->remaining_bytes -= pm__times(f->rate * (double)(w->now_ps - f->t_last_ps), 1e-12);
  if (f->remaining_bytes < 0) f->remaining_bytes = 0;
  if (w->uses && f->rate > 0) pm__flow_used(w, f, before_bytes - f->remaining_bytes);
  f->t_last_ps = w->now_ps;
}
/* ---- when flows end ------------------------------------------------------------------------------ */
/* A tournament: node i holds the earlier one of its children 2 i and 2 i + 1, flow k is leaf max +
   k. A rate that changes plays its leaf's matches again, log2 max of them, and nothing moves, where
   a heap would move events about. Growing doubles the leaves and plays all matches anew. */
static int pm__ends_grow(pm_world *w) {
  const uint32_t max = w->ends_max ? 2 * w->ends_max : 1;
  pm__end *ends = (pm__end *)pm__zalloc(2 * (size_t)max * sizeof *ends);
  uint32_t i;
  if (!ends) return 0;
  for (i = max; i < 2 * max; i++) {
    if (i - max < w->ends_max)
      ends[i] = w->ends[i - max + w->ends_max];
    else
      ends[i].t_ps = PM__FOREVER;
  }
  for (i = max - 1; i; i--)
    ends[i] = ends[ends[2 * i + 1].t_ps < ends[2 * i].t_ps ? 2 * i + 1 : 2 * i];
  PM_FREE(w->ends);
  w->ends = ends;
  w->ends_max = max;
  return 1;
}
static void pm__ends_set(pm_world *w, pm__flow *f, int64_t t_ps) {
  pm__end *const ends = w->ends;
  uint32_t i = w->ends_max + f->number;
  ends[i].t_ps = t_ps;
  ends[i].flow = f;
  while (i /=
         2) { /* member by member: a copy of both at once would wait for what was just written */
    const pm__end *const first = &ends[2 * i + (ends[2 * i + 1].t_ps < ends[2 * i].t_ps)];
    pm__flow *const flow = first->flow;
    t_ps = first->t_ps;
    /* What stays as it was here stays as it was above. */
    if (ends[i].flow == flow && ends[i].t_ps == t_ps) return;
    ends[i].t_ps = t_ps;
    ends[i].flow = flow;
  }
}
/* The first ends are in the future of the world, and nowhere else. */
static void pm__ends_next(pm_world *w) {
  const int64_t t_ps = w->ends[1].t_ps;
  if (t_ps == w->t_flow_end_ps) return;
  w->t_flow_end_ps = t_ps;
  if (t_ps == PM__FOREVER)
    pm__unschedule(w, &w->flow_end);
  else
    pm__schedule(w, &w->flow_end, t_ps);
}
/* pm__ends_next is to follow. */
static void pm__flow_set_rate(pm_world *w, pm__flow *f, double rate) {
  double d_ps;
  /* Rounding alone must not move an end: the order of events of one time, and so the whole run,
     would hang on it. */
  if (f->rate > 0 && fabs(rate - f->rate) <= 1e-12 * f->rate) return; /* its end stays */
  pm__flow_advance(w, f);
  f->rate = rate;
  d_ps = pm__times(f->remaining_bytes / rate, 1e12);
  pm__ends_set(w, f, pm__later(w->now_ps, pm__whole_ps(d_ps)));
}
static void pm__link_touch(pm_world *w, uint32_t link) {
  if (w->links[link].is_dirty) return;
  if (w->dirty_count >= w->dirty_max) {
    void *array = w->dirty;
    if (!pm__grow(&array, &w->dirty_max, w->dirty_count + 1, sizeof *w->dirty)) {
      pm_world_fail(w, PM_E_NOMEM, "out of memory: links");
      return;
    }
    w->dirty = (uint32_t *)array;
  }
  w->links[link].is_dirty = 1;
  w->dirty[w->dirty_count++] = link;
  if (w->solve_is_due) return;
  /* The solver counts as an event to come, so that the world does not take itself for idle before
     it has run. */
  w->solve_is_due = true; /* once for all that happens now */
  w->future_count++;
}

/* ---- the solver ---------------------------------------------------------------------------------
   Rates are max-min fair exactly when each flow has a bottleneck: its own cap, or a full link on
   which nobody is faster. So a change makes only those flows anew that are new or had their
   bottleneck on a touched link. Progressive filling gives them rates within what the others leave;
   then whoever lost its bottleneck by that joins them, until nobody does. */
#define PM__NO_LINK    0xFFFFFFFFu
#define PM__SAME_RATIO 1e-9 /* rates closer than this are equal: sums of doubles differ by 1e-15 */
static int pm__share_before(const pm__share *a, double share, uint32_t link) {
  return a->share < share || (a->share <= share && a->link < link);
}
/* The links that may fill up, least share first: a heap, but few of them (the usual case) are just
   looked through, which is faster: pm__share_first tells where the least one stands. The heap
   orders equal shares by link, so that it gives the same rates however the links came into it. */
enum { PM__FEW_SHARES = 16 };
static void pm__share_put(pm__share *to, double share, uint32_t link) {
  to->share = share;
  to->link = link;
}
static void pm__share_sink(pm__share *heap, int count, int i, double share, uint32_t link) {
  int child;
  while (count > PM__FEW_SHARES && (child = 2 * i + 1) < count) {
    if (child + 1 < count &&
        pm__share_before(&heap[child + 1], heap[child].share, heap[child].link))
      child++;
    if (!pm__share_before(&heap[child], share, link)) break;
    pm__share_put(&heap[i], heap[child].share, heap[child].link);
    i = child;
  }
  pm__share_put(&heap[i], share, link);
}
static void pm__share_remove(pm__share *heap, int count, int i) { /* count: what is left */
  if (i < count) pm__share_sink(heap, count, i, heap[count].share, heap[count].link);
}
static int pm__share_first(const pm__share *heap, int count) {
  double least = heap[0].share;
  int i, best = 0;
  if (count > PM__FEW_SHARES) return 0;
  for (i = 1; i < count; i++)
    if (heap[i].share < least) {
      least = heap[i].share;
      best = i;
    }
  return best;
}
/* A link that is reached for the first time: what flows outside of the set leave of it (base). A flow that
   joins gives its rate back to base, so base is right for any set. */
static int pm__reach(pm_world *w, uint32_t link) {
  pm__link *l = &w->links[link];
  double base = l->cap;
  int k;
  if (w->reached_count >= w->reached_max) {
    void *array = w->reached;
    if (!pm__grow(&array, &w->reached_max, w->reached_count + 1, sizeof *w->reached)) return 0;
    w->reached = (uint32_t *)array;
  }
  w->reached[w->reached_count++] = link;
  l->mark = w->mark;
  for (k = 0; k < l->count; k++) base -= l->flows[k].flow->rate;
  l->inside = 0;
  l->base = base;
  return 1;
}
/* The flow stands among those of the set, which the solver goes through more often than through the others. */
static void pm__stand_first(pm__link *l, pm__flow *f, int hop) {
  const uint32_t from = f->place[hop], to = (uint32_t)l->inside++;
  const pm__crossing other = l->flows[to];
  if (from == to) return;
  l->flows[to] = l->flows[from];
  l->flows[from] = other;
  other.flow->place[other.hop] = from;
  f->place[hop] = to;
}
/* One more flow whose rate is to be found. A link that it has for itself is a limit of its own, no more.
   0: out of memory */
static int pm__join(pm_world *w, pm__flow *f) {
  uint32_t *shared;
  int h;
  if (w->active_count >= w->active_max) {
    void *array = w->active;
    if (!pm__grow(&array, &w->active_max, w->active_count + 1, sizeof *w->active)) return 0;
    w->active = (pm__flow **)array;
  }
  if (w->shared_count + f->link_count > w->shared_max) {
    void *array = w->shared;
    if (!pm__grow(&array, &w->shared_max, w->shared_count + f->link_count, sizeof *w->shared))
      return 0;
    w->shared = (uint32_t *)array;
  }
  w->active[w->active_count++] = f;
  f->mark = w->mark;
  f->own = f->cap;
  f->own_link = PM__NO_LINK;
  f->shared_first = (uint32_t)w->shared_count;
  shared = w->shared + w->shared_count;
  for (h = 0; h < f->link_count; h++) {
    pm__link *l = &w->links[f->link[h]];
    if (l->count == 1) {
      if (l->cap < f->own) {
        f->own = l->cap;
        f->own_link = f->link[h];
      }
      continue;
    }
    *shared++ = f->link[h];
    l->only = f;
    if (l->mark != w->mark && !pm__reach(w, f->link[h])) return 0;
    l->base += f->rate;
    pm__stand_first(l, f, h);
  }
  w->shared_count = (int)(shared - w->shared);
  f->shared_count = (uint16_t)((uint32_t)w->shared_count - f->shared_first);
  return 1;
}
/* left and active of a link tell what its unfixed flows have to share; what rounding takes below 0
   is nothing. */
static void pm__fix(pm_world *w, pm__flow *f, double rate, uint32_t bottleneck) {
  const uint32_t *link = w->shared + f->shared_first, *const end = link + f->shared_count;
  f->filled = w->fills;
  f->fair = rate;
  f->bottleneck = bottleneck;
  for (; link < end; link++) {
    pm__link *l = &w->links[*link];
    l->left = l->left > rate ? l->left - rate : 0;
    l->active--;
    l->top = rate;
  }
}
/* The limit may be a link that this flow alone of the set crosses: that link is its bottleneck
   then, and what it has left is its share, which pm__join_disturbed compares the others on it
   with. */
static void pm__fix_bound(pm_world *w, pm__flow *f) {
  if (f->filled == w->fills) return;
  if (f->bound_link != PM__NO_LINK) w->links[f->bound_link].share = f->bound;
  pm__fix(w, f, f->bound, f->bound_link);
}
/* The limits of the set's flows, least first: a heap, since most flows are fixed by a link before. */
static void pm__bound_sink(pm__bound *heap, int count, int i, double bound, uint32_t place) {
  int child;
  while ((child = 2 * i + 1) < count) {
    if (child + 1 < count && heap[child + 1].bound < heap[child].bound) child++;
    if (heap[child].bound >= bound) break;
    heap[i].bound = heap[child].bound;
    heap[i].place = heap[child].place;
    i = child;
  }
  heap[i].bound = bound;
  heap[i].place = place;
}
static void pm__bounds_make(pm_world *w) {
  int i;
  for (i = 0; i < w->active_count; i++) {
    w->bounds[i].bound = w->active[i]->bound;
    w->bounds[i].place = (uint32_t)i;
  }
  for (i = w->active_count / 2 - 1; i >= 0; i--)
    pm__bound_sink(w->bounds, w->active_count, i, w->bounds[i].bound, w->bounds[i].place);
}
/* The links that may fill up are those that two flows of the set cross; of those that one crosses, the
   narrowest is a limit of that flow. */
static int pm__fill_start(pm_world *w) {
  int i, count = 0;
  void *array = w->fill, *bounds = w->bounds;
  if (!pm__grow(&array, &w->fill_max, w->reached_count, sizeof *w->fill)) return -1;
  w->fill = (pm__share *)array;
  if (!pm__grow(&bounds, &w->bounds_max, w->active_count, sizeof *w->bounds)) return -1;
  w->bounds = (pm__bound *)bounds;
  w->fills++;
  for (i = 0; i < w->active_count; i++) {
    pm__flow *f = w->active[i];
    f->bound = f->own;
    f->bound_link = f->own_link;
  }
  for (i = 0; i < w->reached_count; i++) {
    pm__link *l = &w->links[w->reached[i]];
    if (l->inside == l->count) l->base = l->cap; /* no rounding where nobody else is */
    l->left = l->base > 0 ? l->base : 0;
    l->active = l->inside;
    l->share = -1;
    l->top = 0;
    if (l->inside > 1) {
      w->fill[count].link = w->reached[i];
      w->fill[count++].share = l->left / l->inside;
    } else if (l->left < l->only->bound) {
      l->only->bound = l->left;
      l->only->bound_link = w->reached[i];
    }
  }
  pm__bounds_make(w);
  for (i = count > PM__FEW_SHARES ? count / 2 - 1 : -1; i >= 0; i--)
    pm__share_sink(w->fill, count, i, w->fill[i].share, w->fill[i].link);
  return count;
}
/* Progressive filling of the set. Fair shares only grow while flows are fixed, so a link's place in
   the heap may be out of date but never too late: it is looked at anew when it comes up. */
static int pm__fill(pm_world *w) {
  int count = pm__fill_start(w), bounds = w->active_count, k;
  if (count < 0) return 0;
  /* Each round fixes at least one flow, drops a link, or puts a link back whose share has grown, so
     the loop ends. */
  while (count) {
    const int at = pm__share_first(w->fill, count);
    const uint32_t link = w->fill[at].link;
    const double known_share = w->fill[at].share;
    pm__link *l = &w->links[link];
    double share;
    if (!l->active) {
      pm__share_remove(w->fill, --count, at);
      continue;
    }
    share = l->left / l->active;
    if (share > known_share) { /* grew meanwhile: back into the order */
      pm__share_sink(w->fill, count, at, share, link);
      continue;
    }
    if (bounds && w->bounds[0].bound <= known_share) { /* slower than its fair share */
      pm__flow *f = w->active[w->bounds[0].place];
      if (--bounds)
        pm__bound_sink(w->bounds, bounds, 0, w->bounds[bounds].bound, w->bounds[bounds].place);
      pm__fix_bound(w, f);
      continue;
    }
    l->share = share;
    for (k = 0; k < l->inside && l->active; k++) {
      pm__flow *f = l->flows[k].flow;
      if (f->filled != w->fills) pm__fix(w, f, share, link);
    }
    pm__share_remove(w->fill, --count, at);
  }
  for (k = 0; k < w->active_count; k++) pm__fix_bound(w, w->active[k]); /* who shares none */
  return 1;
}
/* Others on the links that were filled: who has no bottleneck now joins. Two ways to lose it: on a
   link that holds flows of the set down, this one is faster than they are; or its own bottleneck is
   not full any more, or has somebody faster on it. Where neither can be, the link's flows need not be
   looked at. Nobody ever leaves the set, so this ends. */
static bool pm__may_disturb(const pm__link *l) {
  return l->share >= 0 || (l->held_count && (l->left > l->cap * PM__SAME_RATIO ||
                                             l->top > l->held_rate * (1 - PM__SAME_RATIO)));
}
static int pm__join_lost(pm_world *w, uint32_t link) {
  pm__link *l = &w->links[link];
  int k;
  for (k = l->inside; k < l->count;
       k++) { /* who joins changes places with one that was looked at */
    pm__flow *f = l->flows[k].flow;
    bool is_lost = l->share >= 0 && f->rate > l->share * (1 + PM__SAME_RATIO); /* faster than those
                                                           of the set that have their bottleneck here */
    if (f->bottleneck == link)
      is_lost |= l->left > l->cap * PM__SAME_RATIO || l->top > f->rate * (1 + PM__SAME_RATIO);
    if (is_lost && !pm__join(w, f)) return 0;
  }
  return 1;
}
/* Those whom the link holds down. */
static int pm__join_held(pm_world *w, uint32_t link) {
  pm__link *l = &w->links[link];
  int k;
  for (k = l->inside; k < l->count; k++)
    if (l->flows[k].flow->bottleneck == link && !pm__join(w, l->flows[k].flow)) return 0;
  return 1;
}
/* ret how many; -1 memory. Links that these reach for the first time will lose or gain by them, so those whom
   they hold down join too: nearly all of them would have to in the next round. */
static int pm__join_disturbed(pm_world *w) {
  const int links = w->reached_count, before = w->active_count;
  int i, reached;
  for (i = 0; i < links; i++)
    if (pm__may_disturb(&w->links[w->reached[i]]) && !pm__join_lost(w, w->reached[i])) return -1;
  reached = w->reached_count;
  for (i = links; i < reached; i++)
    if (w->links[w->reached[i]].held_count && !pm__join_held(w, w->reached[i])) return -1;
  return w->active_count - before;
}
/* Where the solver begins: links that flows came to or left. New flows have no rate yet; of the
   others only those that such a link held down can have another rate now, all who are held down
   elsewhere are still held down there. */
static int pm__join_touched(pm_world *w) {
  int i, k;
  w->mark++;
  w->active_count = w->reached_count = w->shared_count = 0;
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
/* The flow has its rate by this link from now on, or (PM__NO_LINK) by none. */
static void pm__count_held(pm_world *w, pm__flow *f, uint32_t link, double rate) {
  if (f->counted != link) {
    if (f->counted != PM__NO_LINK) w->links[f->counted].held_count--;
    if (link != PM__NO_LINK) w->links[link].held_count++;
    f->counted = link;
  }
  if (link != PM__NO_LINK) w->links[link].held_rate = rate;
}
PM__PRIVATE void pm__solve_now(pm_world *w) {
  int i, joined = 1;
  if (!pm__join_touched(w)) joined = -1;
  w->stats.solve_count++;
  while (joined > 0 && w->active_count) joined = pm__fill(w) ? pm__join_disturbed(w) : -1;
  if (joined < 0) {
    pm_world_fail(w, PM_E_NOMEM, "out of memory: flows");
    return;
  }
  for (i = 0; i < w->active_count; i++) {
    pm__flow *f = w->active[i];
    pm__count_held(w, f, f->bottleneck, f->fair);
    pm__flow_set_rate(w, f, f->fair);
  }
  pm__ends_next(w);
}

/* ---- flows -------------------------------------------------------------------------------------- */
static void pm__flow_leave_links(pm_world *w, pm__flow *f) {
  int h;
  pm__count_held(w, f, PM__NO_LINK, 0);
  for (h = 0; h < f->link_count; h++) {
    pm__link *l = &w->links[f->link[h]];
    const pm__crossing last = l->flows[--l->count];
    /* The last of the link's list takes the place that becomes free, and is told its new place:
       O(1) per link. */
    l->flows[f->place[h]] = last;
    last.flow->place[last.hop] = f->place[h];
    if (l->count) pm__link_touch(w, f->link[h]);
  }
}
static void pm__flow_end(pm_world *w, pm__flow *f) {
  pm__ends_set(w, f, PM__FOREVER);
  if (w->uses) pm__flow_used(w, f, f->remaining_bytes);
  pm__flow_leave_links(w, f);
  f->next = w->free_flows;
  w->free_flows = f;
  /* Last: what is told may start the next flow, which takes this one's memory. */
  f->done(w, f->arg);
}
PM__PRIVATE void pm__flows_end(pm_world *w, pm__event *event) {
  (void)event;
  w->t_flow_end_ps = PM__FOREVER;
  do pm__flow_end(w, w->ends[1].flow);
  while (w->ends[1].t_ps <= w->now_ps && !w->stopped);
  if (!w->solve_is_due) pm__ends_next(w); /* else the solver does it */
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
  f->link_count = (uint16_t)links;
  f->mark = 0;
  f->bottleneck = f->counted = PM__NO_LINK;
  return 1;
}
PM__PRIVATE pm__flow *pm__flow_new(pm_world *w, const pm__known_way *way) {
  pm__flow *f = w->free_flows;
  if (f)
    w->free_flows = f->next;
  else {
    if (w->flow_made_count == w->ends_max && !pm__ends_grow(w)) return NULL;
    f = (pm__flow *)pm__zalloc(sizeof *f);
    if (!f) return NULL;
    f->next_made = w->flows_made;
    w->flows_made = f;
    f->number = w->flow_made_count++;
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
    if (l->count >= l->max) {
      void *array = l->flows;
      if (!pm__grow(&array, &l->max, l->count + 1, sizeof *l->flows)) return 0;
      l->flows = (pm__crossing *)array;
    }
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
    pm__count_held(w, f, narrow, rate);
    pm__flow_set_rate(w, f, rate);
    if (!w->solve_is_due) pm__ends_next(w);
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
    pm__ends_set(w, f, PM__FOREVER);
    pm__ends_next(w);
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
  PM_FREE(w->bounds);
  PM_FREE(w->shared);
  PM_FREE(w->ends);
}
