/* links.c: use of links over time. */
#include "links.h"
#include "../base/locale.h"
/* ============================================================================================== */
/* [LINKS] 11. Use of links over time: table, tracks, heat map                                    */
/* ============================================================================================== */
typedef struct pm__use {
  double bytes;
  float carried[PM_LINK_BINS], flows[PM_LINK_BINS],
      queued[PM_LINK_BINS]; /* bytes, ps, bytes * ps */
} pm__use;
struct pm__uses {
  int64_t bin_ps;
  pm__use *link;
};
PM__PRIVATE bool pm__uses_make(pm_world *w) {
  w->uses = (struct pm__uses *)pm__zalloc(sizeof *w->uses);
  if (!w->uses) return false;
  w->uses->bin_ps = 64 * PM__PS;
  w->uses->link = (pm__use *)pm__zalloc((size_t)w->net_link_count * sizeof(pm__use));
  w->stats.memory_bytes += (size_t)w->net_link_count * sizeof(pm__use);
  return w->uses->link != NULL;
}
PM__PRIVATE void pm__uses_free(pm_world *w) {
  if (w->uses) PM_FREE(w->uses->link);
  PM_FREE(w->uses);
}
static void pm__bins_double(float *bin) {
  int i;
  for (i = 0; i < PM_LINK_BINS; i++)
    bin[i] = i < PM_LINK_BINS / 2 ? bin[2 * i] + bin[2 * i + 1] : 0;
}
/* An amount, evenly over a time. */
static void pm__spread(float *bin, int64_t bin_ps, int64_t t_begin_ps, int64_t t_end_ps,
                       double amount) {
  int i = (int)(t_begin_ps / bin_ps);
  const int last = (int)((t_end_ps > t_begin_ps ? t_end_ps - 1 : t_begin_ps) / bin_ps);
  const double per_ps = t_end_ps > t_begin_ps ? amount / (double)(t_end_ps - t_begin_ps) : 0;
  if (i == last) {
    bin[i] += (float)amount;
    return;
  }
  for (; i <= last; i++) {
    const int64_t from_ps = pm__max_ps(t_begin_ps, i * bin_ps);
    const int64_t to_ps = i == last ? t_end_ps : (i + 1) * bin_ps;
    bin[i] += (float)(per_ps * (double)(to_ps - from_ps));
  }
}
PM__PRIVATE void pm__use_add(pm_world *w, uint32_t link, pm__use_kind kind, int64_t t_begin_ps,
                             int64_t t_end_ps, double amount) {
  struct pm__uses *u = w->uses;
  pm__use *l;
  int i;
  if (link >= (uint32_t)w->net_link_count) return; /* PCI, memory */
  l = &u->link[link];
  if (t_begin_ps < 0) t_begin_ps = 0;
  while (t_end_ps / PM_LINK_BINS >= u->bin_ps) { /* a product might be behind the end of time */
    for (i = 0; i < w->net_link_count; i++) {
      pm__bins_double(u->link[i].carried);
      pm__bins_double(u->link[i].flows);
      pm__bins_double(u->link[i].queued);
    }
    u->bin_ps *= 2;
  }
  if (kind == PM__USE_CARRIED) l->bytes += amount;
  pm__spread(kind == PM__USE_CARRIED ? l->carried
             : kind == PM__USE_FLOWS ? l->flows
                                     : l->queued,
             u->bin_ps, t_begin_ps, t_end_ps, amount);
}
PM_API int pm_link_use(const pm_world *world, int link, pm_link_bin *bins, int max) {
  int i, n;
  if (!world || !world->uses || link < 0 || link >= world->net_link_count) return 0;
  n = world->now_ps > 0 ? (int)((world->now_ps - 1) / world->uses->bin_ps) + 1 : 0;
  if (n > PM_LINK_BINS) n = PM_LINK_BINS;
  for (i = 0; bins && i < n && i < max; i++) {
    const pm__use *u = &world->uses->link[link];
    const int64_t begin_ps = i * world->uses->bin_ps,
                  end_ps = i + 1 < n ? begin_ps + world->uses->bin_ps : world->now_ps;
    const double d_ps = (double)(end_ps - begin_ps);
    bins[i].t_begin_ns = begin_ps / PM__PS;
    bins[i].t_end_ns = end_ps / PM__PS;
    bins[i].use_ratio = (double)u->carried[i] / (pm_link_bytes_per_s(world, link) * d_ps * 1e-12);
    bins[i].flow_count = (double)u->flows[i] / d_ps;
    bins[i].queue_bytes = (double)u->queued[i] / d_ps;
  }
  return n;
}

/* ---- names ---------------------------------------------------------------------------------------- */
static int pm__name_node(char *name, size_t bytes, int64_t link) {
  snprintf(name, bytes, "node %lld %s", (long long)(link / 2), link % 2 ? "down" : "up");
  return (int)(link % 2);
}
static int pm__name_fattree(const pm_platform *p, char *name, size_t bytes, int64_t link) {
  const int64_t h = p->topo[0], *m = p->topo + 1, *up = m + h;
  int64_t l, span = 1, width = 1, base = 0, cables;
  for (l = 0;; l++) {
    cables = p->node_count / span * width * up[l];
    if (link / 2 < base + cables || l + 1 == h) break;
    base += cables;
    span *= m[l];
    width *= up[l];
  }
  cables = link / 2 - base;
  if (l)
    snprintf(name, bytes, "level %lld: switch %lld port %lld %s", (long long)l,
             (long long)(cables / up[l]), (long long)(cables % up[l]), link % 2 ? "down" : "up");
  else
    snprintf(name, bytes, "node %lld port %lld %s", (long long)(cables / up[l]),
             (long long)(cables % up[l]), link % 2 ? "down" : "up");
  return (int)(2 * l + link % 2);
}
static int pm__name_graph(const pm_world *w, char *name, size_t bytes, int link) {
  const pm__graph *g = w->graph;
  const int nodes = (int)w->plat.node_count;
  char end[2][32];
  int i;
  for (i = 0; i < 2; i++) {
    const int v = g->end[link ^ !i]; /* where it begins, where it ends */
    if (v < nodes)
      snprintf(end[i], sizeof end[i], "h%d", v);
    else
      snprintf(end[i], sizeof end[i], "%s", g->names[v - nodes]);
  }
  snprintf(name, bytes, "%s to %s, cable %d", end[0], end[1], link / 2 + 1);
  for (; *name; name++) /* a file's names may be anything, and stand in pages and traces */
    if (strchr("<>&\"'\\", *name)) *name = '_';
  return g->end[link ^ 1] < nodes ? 0 : g->end[link] < nodes ? 1 : 2;
}
/* Of one rail. ret its tier */
static int pm__link_name(const pm_world *world, int link, char *name, size_t name_bytes) {
  const pm_platform *p = &world->plat;
  int64_t i;
  if (p->topology == PM_TOPO_FILE) return pm__name_graph(world, name, name_bytes, link);
  if (p->topology == PM_TOPO_FATTREE) return pm__name_fattree(p, name, name_bytes, link);
  if (link < 2 * p->node_count) return pm__name_node(name, name_bytes, link);
  i = link - 2 * p->node_count;
  if (p->topology == PM_TOPO_TORUS) {
    snprintf(name, name_bytes, "router %lld, dimension %lld, %s",
             (long long)(i / 2 % p->node_count), (long long)(i / 2 / p->node_count),
             i % 2 ? "backward" : "forward");
    return (int)(2 + 2 * (i / 2 / p->node_count) + i % 2);
  }
  if (link < pm__dragonfly_global(p)) {
    const int64_t a = p->topo[1];
    snprintf(name, name_bytes, "group %lld: router %lld to %lld", (long long)(i / (a * a)),
             (long long)(i / a % a), (long long)(i % a));
    return 2;
  }
  i = link - pm__dragonfly_global(p);
  {
    const int64_t g = p->topo[0], cables = pm__dragonfly_cables(p->topo);
    snprintf(name, name_bytes, "group %lld to %lld, cable %lld", (long long)(i / cables / g),
             (long long)(i / cables % g), (long long)(i % cables));
  }
  return 3;
}
PM_API int pm_link_name(const pm_world *world, int link, char *name, size_t name_bytes) {
  int tier, rail_links;
  if (!world || !name || !name_bytes || link < 0 || link >= world->net_link_count) return -1;
  rail_links = world->net_link_count / (int)world->plat.nic_count;
  tier = pm__link_name(world, link % rail_links, name, name_bytes);
  if (world->plat.nic_count > 1) {
    const size_t used = strlen(name);
    snprintf(name + used, name_bytes - used, ", rail %d", link / rail_links);
  }
  return tier;
}

/* ---- what is written ------------------------------------------------------------------------------ */
PM_API pm_status pm_links_write_csv(const pm_world *world, FILE *out) {
  pm_link_bin bin[PM_LINK_BINS];
  locale_t before;
  char name[80];
  int link, i;
  if (!world || !out) return PM_E_INVAL;
  if (!world->uses) return PM_E_STATE;
  before = nbc__locale_begin();
  fprintf(out, "link,tier,name,t_begin_ns,t_end_ns,use_ratio,flow_count,queue_bytes\n");
  for (link = 0; link < pm_link_count(world); link++) {
    const int tier = pm_link_name(world, link, name, sizeof name),
              n = pm_link_use(world, link, bin, PM_LINK_BINS);
    for (i = 0; i < n; i++)
      if (bin[i].use_ratio > 0 || bin[i].flow_count > 0 || bin[i].queue_bytes > 0)
        fprintf(out, "%d,%d,\"%s\",%lld,%lld,%.6f,%.4f,%.1f\n", link, tier, name,
                (long long)bin[i].t_begin_ns, (long long)bin[i].t_end_ns, bin[i].use_ratio,
                bin[i].flow_count, bin[i].queue_bytes);
  }
  nbc__locale_end(before);
  return ferror(out) ? PM_E_IO : PM_OK;
}
typedef struct pm__ranked {
  int link, tier;
  double use_ratio, peak_ratio, flow_peak, queue_peak;
} pm__ranked;
static int pm__ranked_order(const void *a, const void *b) {
  const pm__ranked *x = (const pm__ranked *)a, *y = (const pm__ranked *)b;
  return x->use_ratio < y->use_ratio || (x->use_ratio <= y->use_ratio && x->link > y->link) ? 1
                                                                                            : -1;
}
/* All links of the network, the most used first. NULL: out of memory */
static pm__ranked *pm__links_ranked(const pm_world *w) {
  pm__ranked *all = (pm__ranked *)pm__zalloc(((size_t)w->net_link_count + 1) * sizeof *all);
  pm_link_bin bin[PM_LINK_BINS];
  char name[80];
  int link, i;
  for (link = 0; all && link < w->net_link_count; link++) {
    pm__ranked *r = &all[link];
    const int n = pm_link_use(w, link, bin, PM_LINK_BINS);
    const double able = pm_link_bytes_per_s(w, link) * (double)w->now_ps * 1e-12;
    r->link = link;
    r->tier = pm_link_name(w, link, name, sizeof name);
    r->use_ratio = able > 0 ? w->uses->link[link].bytes / able : 0;
    for (i = 0; i < n; i++) {
      if (bin[i].use_ratio > r->peak_ratio) r->peak_ratio = bin[i].use_ratio;
      if (bin[i].flow_count > r->flow_peak) r->flow_peak = bin[i].flow_count;
      if (bin[i].queue_bytes > r->queue_peak) r->queue_peak = bin[i].queue_bytes;
    }
  }
  if (all) qsort(all, (size_t)w->net_link_count, sizeof *all, pm__ranked_order);
  return all;
}
/* Tracks of a Chrome trace: use, flows and queue of the links that were used most. */
enum { PM__TRACKS = 32, PM__WORST = 24, PM__CELLS = 64, PM__TIER_CELLS = 4096, PM__CELL = 12 };
PM__PRIVATE pm_status pm__links_tracks(const pm_world *w, FILE *out) {
  pm__ranked *all;
  pm_link_bin bin[PM_LINK_BINS];
  locale_t before;
  char name[80];
  int k, i;
  if (!w->uses) return PM_OK;
  all = pm__links_ranked(w);
  if (!all) return PM_E_NOMEM;
  before = nbc__locale_begin();
  fprintf(out,
          "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%lld,\"args\":{\"name\":\"links\"}},\n",
          (long long)w->plat.node_count);
  for (k = 0; k < w->net_link_count && k < PM__TRACKS && all[k].use_ratio > 0; k++) {
    const int n = pm_link_use(w, all[k].link, bin, PM_LINK_BINS);
    pm_link_name(w, all[k].link, name, sizeof name);
    for (i = 0; i <= n; i++)
      fprintf(
          out,
          "{\"ph\":\"C\",\"name\":\"%s\",\"pid\":%lld,\"ts\":%lld.%03d,\"args\":{\"use_percent\":"
          "%.2f,\"flows\":%.3f,\"queue_bytes\":%.0f}},\n",
          name, (long long)w->plat.node_count,
          (long long)(i < n ? bin[i].t_begin_ns
                      : n   ? bin[n - 1].t_end_ns
                            : 0) /
              1000,
          (int)((i < n ? bin[i].t_begin_ns
                 : n   ? bin[n - 1].t_end_ns
                       : 0) %
                1000),
          i < n ? 100 * bin[i].use_ratio : 0, i < n ? bin[i].flow_count : 0,
          i < n ? bin[i].queue_bytes : 0);
  }
  nbc__locale_end(before);
  PM_FREE(all);
  return PM_OK;
}
/* White to dark red. */
static void pm__cell(FILE *out, int x, int y, int width, double ratio, const char *title) {
  const double r = ratio < 0 ? 0 : ratio > 1 ? 1 : ratio;
  fprintf(
      out,
      "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"rgb(%d,%d,%d)\"><title>%s, %.1f "
      "%%</title></rect>\n",
      x, y, width, PM__CELL - 1, (int)(255 - 115 * r * r), (int)(245 * (1 - r)),
      (int)(235 * (1 - r) * (1 - r)), title, 100 * ratio);
}
static void pm__page_worst(const pm_world *w, FILE *out, const pm__ranked *all) {
  pm_link_bin bin[PM_LINK_BINS];
  char name[80], title[160];
  int k, i;
  fprintf(out,
          "<h2>The most used links</h2>\n<table><tr><th>link<th>use<th>peak<th>flows<th>queue, "
          "bytes<th>over time</tr>\n");
  for (k = 0; k < w->net_link_count && k < PM__WORST && all[k].use_ratio > 0; k++) {
    const int n = pm_link_use(w, all[k].link, bin, PM_LINK_BINS);
    pm_link_name(w, all[k].link, name, sizeof name);
    fprintf(
        out,
        "<tr><td>%s<td>%.1f %%<td>%.1f %%<td>%.2f<td>%.0f<td><svg width=\"%d\" height=\"%d\">\n",
        name, 100 * all[k].use_ratio, 100 * all[k].peak_ratio, all[k].flow_peak, all[k].queue_peak,
        6 * PM_LINK_BINS, PM__CELL);
    for (i = 0; i < n; i++) {
      snprintf(title, sizeof title, "%lld to %lld ns, %.2f flows, %.0f bytes wait",
               (long long)bin[i].t_begin_ns, (long long)bin[i].t_end_ns, bin[i].flow_count,
               bin[i].queue_bytes);
      pm__cell(out, 6 * i, 0, 6, bin[i].use_ratio, title);
    }
    fprintf(out, "</svg></tr>\n");
  }
  fprintf(out, "</table>\n");
}
/* A cell per link of a tier, in the order of their numbers; of a large tier a cell stands for several and
   has the use of the worst. */
static void pm__page_tier(const pm_world *w, FILE *out, const double *use, const int *tier_of,
                          int tier) {
  int count = 0, link, first = -1, seen = 0, each, rows, shown = 0;
  double worst = 0;
  char name[80], text[160] = "";
  for (link = 0; link < w->net_link_count; link++)
    if (tier_of[link] == tier) first = first < 0 ? link : first, count++;
  each = (count + PM__TIER_CELLS - 1) / PM__TIER_CELLS;
  rows = ((count + each - 1) / each + PM__CELLS - 1) / PM__CELLS;
  pm_link_name(w, first, name, sizeof name);
  fprintf(out, "<h3>%d links from \"%s\" on%s</h3>\n<svg width=\"%d\" height=\"%d\">\n", count,
          name, each > 1 ? ", several to a cell" : ", a cell each", PM__CELLS * PM__CELL,
          rows * PM__CELL);
  for (link = first; link < w->net_link_count; link++) {
    if (tier_of[link] != tier) continue;
    if (seen % each == 0 || use[link] > worst) {
      worst = use[link];
      pm_link_name(w, link, text, sizeof text);
    }
    seen++;
    if (seen % each && seen < count) continue;
    pm__cell(out, shown % PM__CELLS * PM__CELL, shown / PM__CELLS * PM__CELL, PM__CELL - 1, worst,
             text);
    shown++;
  }
  fprintf(out, "</svg>\n");
}
PM_API pm_status pm_links_write_html(const pm_world *world, FILE *out) {
  pm__ranked *all;
  double *use;
  int *tier, i, tier_count = 0;
  if (!world || !out) return PM_E_INVAL;
  if (!world->uses) return PM_E_STATE;
  all = pm__links_ranked(world);
  use = (double *)pm__zalloc(((size_t)world->net_link_count + 1) * sizeof *use);
  tier = (int *)pm__zalloc(((size_t)world->net_link_count + 1) * sizeof *tier);
  if (all && use && tier) {
    const locale_t before = nbc__locale_begin();
    for (i = 0; i < world->net_link_count; i++) {
      use[all[i].link] = all[i].use_ratio;
      tier[all[i].link] = all[i].tier;
      if (all[i].tier >= tier_count) tier_count = all[i].tier + 1;
    }
    fprintf(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Use of the "
        "links</title>\n<style>\nbody{font:14px sans-serif;margin:1em;background:#fff;color:#222}\n"
        "td,th{text-align:left;padding:1px 10px 1px 0}\nsvg{background:#f4f4f4}\n</style></head>"
        "<body>\n<h1>Use of the links of %s</h1>\n<p>%.3f us of simulated time. Use is what a link "
        "carried, headers included, of what it could have carried: white nothing, dark red all. "
        "Point at a cell to read it. Messages of the LogGP level and inside of nodes are on no "
        "link.</p>\n",
        world->plat.name, (double)world->now_ps * 1e-6);
    pm__page_worst(world, out, all);
    fprintf(out, "<h2>All links</h2>\n");
    for (i = 0; i < tier_count; i++) {
      int link = 0;
      while (link < world->net_link_count && tier[link] != i) link++;
      if (link < world->net_link_count) pm__page_tier(world, out, use, tier, i);
    }
    fprintf(out, "</body></html>\n");
    nbc__locale_end(before);
  }
  PM_FREE(all);
  PM_FREE(use);
  PM_FREE(tier);
  if (!all || !use || !tier) return PM_E_NOMEM;
  return ferror(out) ? PM_E_IO : PM_OK;
}
