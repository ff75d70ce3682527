/* What a world is made of: see machine.h. */
#include "machine.h"
#ifdef NBC_PIECES
PM__PRIVATE __thread pm_thread *pm__current;
PM__PRIVATE __thread pm_world *pm__running;
#endif

PM__PRIVATE int pm__route(pm_world *w, int src, int dst, uint32_t *out, int64_t *latency_ps) {
  const int rail = pm__nic_rail(w, src), n = pm__way(&w->plat, w->graph, pm__nic_node(w, src),
                                                     pm__nic_node(w, dst), out, latency_ps);
  int h;
  for (h = 0; rail && h < n; h++) out[h] += (uint32_t)rail * pm__rail_links(w);
  return n;
}
/* ret false: out of memory */
PM__PRIVATE bool pm__way_take(pm__known_way *way, const uint32_t *link, int count) {
  if (count > PM__WAY_NEAR && (!way->link || way->link == way->near)) {
    uint32_t *far = (uint32_t *)PM_MALLOC((PM__ROUTE_MAX + 2) * sizeof *far);
    if (!far) return false;
    way->link = far;
  } else if (!way->link)
    way->link = way->near;
  memcpy(way->link, link, (size_t)count * sizeof *link);
  way->link_count = count;
  return true;
}
PM__APART static void pm__way_find(pm_world *w, pm__known_way *way, int from, int to) {
  uint32_t link[PM__ROUTE_MAX + 2];
  const int count = pm__route(w, from, to, link, &way->latency_ps);
  way->from = from;
  way->to = to;
  if (count < 0 || !pm__way_take(way, link, count)) {
    way->link_count = 0;
    way->latency_ps = 0;
    pm_world_fail(w, PM_E_NOMEM,
                  w->graph && w->graph->is_full
                      ? "links one by one: ways to so many nodes take more than 1 GiB (4 bytes for "
                        "each node and switch, for each node that is sent to)"
                      : "out of memory: ways");
  }
  way->is_detour = w->net && pm__way_now(w, way);
  way->step_ps = way->link_count ? way->latency_ps / way->link_count : 0;
}
/* The ways from a node lie side by side: many processes that talk to few others displace none of each
   other's, and find theirs in one place. */
PM__PRIVATE const pm__known_way *pm__known(pm_world *w, int from, int to) {
  const uint32_t of_nic = (uint32_t)to * w->way_factor >> w->way_shift;
  pm__known_way *way = &w->ways[((uint32_t)from * w->way_each + of_nic) & (w->way_max - 1)];
  if (way->from != from || way->to != to || !way->link_count) pm__way_find(w, way, from, to);
  return way;
}
/* Where all ways have room each has a place of its own, else a hash of its end says where. ret false: out of memory */
PM__PRIVATE bool pm__ways_make(pm_world *w) {
  const uint32_t nics = (uint32_t)(w->plat.node_count * w->plat.nic_count);
  uint32_t each = PM__WAYS_EACH;
  int bits = 4;
  while (each < nics && (uint64_t)each * 2 * nics <= PM__WAYS_MOST) each *= 2, bits++;
  w->way_each = each;
  w->way_shift = 32 - bits;
  w->way_factor = nics <= each ? 1u << w->way_shift : 0x9E3779B1u;
  w->way_max = each;
  while (w->way_max < PM__WAYS_MOST && w->way_max < (uint64_t)each * nics) w->way_max *= 2;
  w->ways = (pm__known_way *)pm__zalloc(w->way_max * sizeof *w->ways);
  w->stats.memory_bytes += w->way_max * sizeof *w->ways;
  return w->ways != NULL;
}
PM__PRIVATE void pm__ways_free(pm_world *w) {
  uint32_t i;
  for (i = 0; w->ways && i < w->way_max; i++)
    if (w->ways[i].link != w->ways[i].near) PM_FREE(w->ways[i].link);
  PM_FREE(w->ways);
}
PM__PRIVATE int64_t pm__bytes_ps(double bytes, double bytes_per_s) {
  return pm__whole_ps(pm__times(bytes / bytes_per_s, 1e12));
}
PM__PRIVATE int64_t pm__max_ps(int64_t a_ps, int64_t b_ps) { return a_ps > b_ps ? a_ps : b_ps; }
