/* What a world is made of: see machine.h. */
#include "machine.h"
#ifdef NBC_PIECES
PM__PRIVATE __thread pm_thread *pm__current;
PM__PRIVATE __thread pm_world *pm__running;
#endif

/* Rows are kept: ways of a fat tree without a division. */
static int pm__tree_way(const pm_world *w, int src, int dst, uint32_t *out) {
  const int h = (int)w->plat.topo[0];
  uint32_t *const from = w->tree_rows + (size_t)src * 2 * (size_t)h, *const to = w->tree_rows +
                                                                                 (size_t)dst * 2 *
                                                                                     (size_t)h;
  if (!from[1]) pm__tree_row(&w->plat, src, NULL, from);
  if (!to[1]) pm__tree_row(&w->plat, dst, NULL, to);
  return pm__tree_join(h, from, to, out);
}
/* What pm__way_find finds, where pm_world.has_own_ways. */
PM__APART PM__PRIVATE void pm__way_climb(const pm_world *w, pm__known_way *way, int from, int to) {
  way->from = from;
  way->to = to;
  way->link = way->near;
  way->link_count = pm__tree_way(w, from, to, way->near);
  way->latency_ps = w->d_first_ps + (way->link_count - 1) * w->d_switch_ps;
}
PM__PRIVATE int pm__route(pm_world *w, int src, int dst, uint32_t *out, int64_t *latency_ps) {
  const int rail = pm__nic_rail(w, src), from = pm__nic_node(w, src), to = pm__nic_node(w, dst);
  int n, h;
  if (w->tree_rows) {
    n = pm__tree_way(w, from, to, out);
    *latency_ps = (w->plat.wire_latency_ns + (n - 1) * w->plat.switch_latency_ns) * PM__PS;
  } else
    n = pm__way(&w->plat, w->graph, from, to, out, latency_ps);
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
  if (way->link != link) memcpy(way->link, link, (size_t)count * sizeof *link);
  way->link_count = count;
  return true;
}
PM__APART PM__PRIVATE void pm__way_find(pm_world *w, pm__known_way *way, int from, int to) {
  uint32_t far[PM__ROUTE_MAX + 2];
  /* The ways of a low tree are short enough to be made where they stay. */
  uint32_t *const link = w->tree_rows && 2 * w->plat.topo[0] <= PM__WAY_NEAR ? way->near : far;
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
}
enum { PM__STORE_LEAST = 1 << 14, PM__STORE_MOST = 1 << 25 };
/* Each store is twice the one before, and has room for more than what it is made for. */
static bool pm__store_new(pm_world *w, size_t bytes) {
  size_t size = w->store_bytes ? 2 * w->store_bytes : (size_t)PM__STORE_LEAST, past;
  pm__store *store;
  if (size > PM__STORE_MOST) size = PM__STORE_MOST;
  while (size < 2 * (bytes + PM__LINE)) size *= 2;
  store = (pm__store *)PM_MALLOC(size);
  if (!store) return false;
  pm__in_large_pages(store, size);
  store->next = w->stores;
  w->stores = store;
  past = sizeof *store + (0 - (uintptr_t)(store + 1)) % PM__LINE;
  w->store_at = (char *)store + past;
  w->store_left = size - past;
  w->store_bytes = size;
  return true;
}
PM__PRIVATE void *pm__lines_take(pm_world *w, size_t bytes) {
  char *at;
  bytes = (bytes + PM__LINE - 1) / PM__LINE * PM__LINE;
  if (bytes > w->store_left && !pm__store_new(w, bytes)) return NULL;
  at = w->store_at;
  w->store_at += bytes;
  w->store_left -= bytes;
  memset(at, 0, bytes);
  return at;
}
PM__PRIVATE void pm__stores_free(pm_world *w) {
  while (w->stores) {
    pm__store *store = w->stores;
    w->stores = store->next;
    PM_FREE(store);
  }
}
/* Where all ways have room each has a place of its own, else a hash of its end says where. ret false: out of memory */
PM__PRIVATE bool pm__ways_make(pm_world *w) {
  const uint32_t nics = (uint32_t)(w->plat.node_count * w->plat.nic_count);
  /* What is found with a few sums had better be found again than waited for: these are to stay in the cache. */
  const bool is_quick =
      (w->plat.topology == PM_TOPO_FATTREE || w->plat.topology == PM_TOPO_CROSSBAR) &&
      !w->desc.faults.outage_count && !w->desc.faults.down_node;
  const uint32_t most = is_quick ? PM__WAYS_MOST / 4 : PM__WAYS_MOST;
  uint32_t each = is_quick ? PM__WAYS_LEAST : PM__WAYS_EACH;
  int bits = is_quick ? 2 : 4;
  while (each < nics && (uint64_t)each * 2 * nics <= most) each *= 2, bits++;
  w->ways_climb =
      w->plat.topology == PM_TOPO_FATTREE && is_quick; /* and none around what is down */
  w->has_own_ways =
      w->ways_climb && each < nics && w->plat.nic_count == 1 && 2 * w->plat.topo[0] <= PM__WAY_NEAR;
  w->way_each = each;
  w->way_shift = 32 - bits;
  w->way_factor = nics <= each ? 1u << w->way_shift : 0x9E3779B1u;
  w->way_max = each;
  while (w->way_max < PM__WAYS_MOST && w->way_max < (uint64_t)each * nics) w->way_max *= 2;
  w->ways = (pm__known_way *)pm__lines_take(w, w->way_max * sizeof *w->ways);
  w->stats.memory_bytes += w->way_max * sizeof *w->ways;
  if (w->plat.topology == PM_TOPO_FATTREE) {
    const size_t row_bytes = 2 * (size_t)w->plat.topo[0] * sizeof *w->tree_rows;
    w->tree_rows = (uint32_t *)pm__zalloc((size_t)w->plat.node_count * row_bytes);
    w->stats.memory_bytes += (size_t)w->plat.node_count * row_bytes;
    if (!w->tree_rows) return false;
  }
  return w->ways != NULL;
}
PM__PRIVATE void pm__ways_free(pm_world *w) {
  uint32_t i;
  for (i = 0; w->ways && i < w->way_max; i++)
    if (w->ways[i].link != w->ways[i].near) PM_FREE(w->ways[i].link);
  PM_FREE(w->tree_rows);
}
PM__PRIVATE int64_t pm__bytes_ps(double bytes, double bytes_per_s) {
  return pm__whole_ps(pm__times(bytes / bytes_per_s, 1e12));
}
PM__PRIVATE int64_t pm__max_ps(int64_t a_ps, int64_t b_ps) { return a_ps > b_ps ? a_ps : b_ps; }
