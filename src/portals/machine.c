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
PM__PRIVATE const pm__known_way *pm__known(pm_world *w, int from, int to) {
  const uint32_t key = (uint32_t)from * 0x9E3779B1u + (uint32_t)to * 0x85EBCA77u;
  pm__known_way *way = &w->ways[(key >> 16) & (w->way_max - 1)];
  if (way->from != from || way->to != to || !way->link_count) {
    way->from = from;
    way->to = to;
    way->link_count = pm__route(w, from, to, way->link, &way->latency_ps);
    if (way->link_count < 0) {
      way->link_count = 0;
      way->latency_ps = 0;
      pm_world_fail(w, PM_E_NOMEM, "out of memory: ways");
    }
    way->is_detour = w->net && pm__way_now(w, way);
    way->step_ps = way->link_count ? way->latency_ps / way->link_count : 0;
  }
  return way;
}
PM__PRIVATE int64_t pm__bytes_ps(double bytes, double bytes_per_s) {
  return pm__whole_ps(pm__times(bytes / bytes_per_s, 1e12));
}
PM__PRIVATE int64_t pm__max_ps(int64_t a_ps, int64_t b_ps) { return a_ps > b_ps ? a_ps : b_ps; }
