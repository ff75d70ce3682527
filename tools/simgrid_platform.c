/* Question: what does my SimGrid platform look like to portals_model.h and pm_run?

   Run:      build/simgrid_platform cluster.xml >cluster.platform
             build/pm_run -n 64 --platform cluster.platform ./program
   Expected: a platform in pm_platform_read's format; what could not be kept is said on stderr, one line each.
             Exit status 0; 1: output lost; 2: bad call, or a platform that is none of ours, with file and line.

   Read are clusters (flat, FAT_TREE, TORUS, DRAGONFLY), alone or joined by links, and zones of hosts, routers,
   links and routes whose links are cables: each lies between the same two ends in all routes. A single fat tree
   or torus becomes our topology of that name, all else a list of cables, over which we take shortest ways. Names
   of hosts become h0, h1 ... in their order (comments say which). Bandwidth is that of payload, as in SimGrid
   (link_header_bytes 0). Kept are hosts, cables, bandwidths, latencies, cores; not kept are speeds of hosts,
   storage, properties, profiles. Differences that remain: a link with sharing policy SHARED has its bandwidth
   each way; a torus's nodes hang on their routers by a cable of their own, so ways are one latency longer; equal
   ways of a dragonfly are chosen by destination; a backbone must be wide enough to limit nobody. The NIC's
   constants are those of pm_platform_bxi2. */
#include "portals_model.h"
#define NBC_PIECES
#include "src/base/text.h"
#include "tools/output.h"
#include <expat.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 64, DEEP = 64 };
typedef struct cable_type {
  char *id;
  double bytes_per_s;
  int64_t latency_ns;
  int ends[2], policy; /* ends: vertices, -1 not known yet */
} cable_type;
enum { DUPLEX, SHARED, FATPIPE };
typedef struct vertex {
  char *name;
  int host; /* its number, -1: a router or junction */
} vertex;
static const char *path;
static XML_Parser parser;
static vertex *vertices;
static cable_type *links;
static struct cable {
  int from, to;
  double bytes_per_s;
  int64_t latency_ns;
} * cables;
static int vertex_count, vertex_max, link_count, link_max, cable_count, cable_max, host_count;
static int cluster_count, other_count, core_count = -1;
static pm_platform native; /* of a single cluster with a topology of ours: node_count > 0 */
static struct {
  bool is_open;
  int from, to, *way, count, max; /* way: numbers of links */
} route;

__attribute__((noreturn, format(printf, 1, 2))) static void refuse(const char *format, ...) {
  va_list args;
  fprintf(stderr, "simgrid_platform: %s:", path);
  if (parser) fprintf(stderr, "%llu:", (unsigned long long)XML_GetCurrentLineNumber(parser));
  fputc(' ', stderr);
  va_start(args, format);
  vfprintf(stderr, format, args);
  va_end(args);
  fputc('\n', stderr);
  exit(2);
}
static void *more(void *array, int count, int *max, size_t each) {
  if (count < *max) return array;
  *max = *max ? 2 * *max : 64;
  array = realloc(array, (size_t)*max * each);
  if (!array) refuse("out of memory");
  return array;
}
static char *copy_of(const char *text) {
  char *copy = strdup(text);
  if (!copy) refuse("out of memory");
  return copy;
}
static void say_once(const char *text) {
  static const char *said[32];
  int i = 0;
  while (i < 32 && said[i] && strcmp(said[i], text) != 0) i++;
  if (i == 32 || said[i]) return;
  said[i] = text;
  fprintf(stderr, "simgrid_platform: %s:%llu: %s\n", path,
          (unsigned long long)XML_GetCurrentLineNumber(parser), text);
}

/* ---- attributes ------------------------------------------------------------------------------------ */
static const char *attribute(const char **list, const char *name) {
  for (; *list; list += 2)
    if (strcmp(list[0], name) == 0) return list[1];
  return NULL;
}
static const char *needed(const char *element, const char **list, const char *name) {
  const char *value = attribute(list, name);
  if (!value || !*value) refuse("%s: %s is missing", element, name);
  return value;
}
/* A number and one of the units; factor of the last one without a unit. */
typedef struct unit {
  const char *name;
  double factor;
} unit;
static double quantity(const char *what, const char *text, const unit *units) {
  double value;
  const char *end = nbc__text_number(text, text + strlen(text), &value);
  if (end && value >= 0)
    for (; units->factor > 0; units++)
      if (strcmp(end, units->name) == 0) return value * units->factor;
  refuse("%s=\"%s\": not a number with a unit known here", what, text);
}
static double bandwidth(const char *what, const char *text) {
  static const unit units[] = {
      {"Bps", 1},      {"kBps", 1e3},      {"MBps", 1e6},         {"GBps", 1e9},  {"TBps", 1e12},
      {"KiBps", 1024}, {"MiBps", 1048576}, {"GiBps", 1073741824}, {"bps", 0.125}, {"kbps", 125},
      {"Mbps", 125e3}, {"Gbps", 125e6},    {"Tbps", 125e9},       {"", 1},        {NULL, 0}};
  const double value = quantity(what, text, units);
  if (!(value > 0) || value > 1e18) refuse("%s=\"%s\": out of range", what, text);
  return value;
}
static int64_t latency(const char *what, const char *text) {
  static const unit units[] = {{"s", 1e9},   {"ms", 1e6}, {"us", 1e3}, {"ns", 1},
                               {"ps", 1e-3}, {"", 1e9},   {NULL, 0}};
  const double value = quantity(what, text, units);
  if (value > 1e12) refuse("%s=\"%s\": out of range", what, text);
  if (fabs(value - floor(value + 0.5)) > 1e-6)
    say_once("latencies are rounded to whole nanoseconds");
  return (int64_t)(value + 0.5);
}
static int policy(const char *text, int otherwise) {
  if (!text) return otherwise;
  if (strcmp(text, "SPLITDUPLEX") == 0 || strcmp(text, "FULLDUPLEX") == 0) return DUPLEX;
  if (strcmp(text, "SHARED") == 0) return SHARED;
  if (strcmp(text, "FATPIPE") == 0) return FATPIPE;
  refuse("sharing_policy=\"%s\": unknown", text);
}
/* "2;4,4;1,2": the numbers of one part. ret how many */
static int numbers(const char *text, int part, int64_t *out, int most) {
  int n = 0;
  char *end;
  while (part-- > 0) {
    text = strchr(text, ';');
    if (!text) return 0;
    text++;
  }
  for (;; text = end + 1) {
    const long long v = strtoll(text, &end, 10);
    if (end == text || v < 1 || v > 1000000 || n == most || (*end && *end != ',' && *end != ';'))
      refuse("topo_parameters: whole numbers from 1 on expected, at most %d in a part", most);
    out[n++] = v;
    if (*end != ',') return n;
  }
}

/* ---- vertices and cables ------------------------------------------------------------------------------ */
static int vertex_named(const char *name) {
  for (int i = vertex_count - 1; i >= 0; i--)
    if (strcmp(vertices[i].name, name) == 0) return i;
  return -1;
}
static int vertex_add(const char *name, bool is_host) {
  vertices = (vertex *)more(vertices, vertex_count, &vertex_max, sizeof *vertices);
  vertices[vertex_count] = (vertex){copy_of(name), is_host ? host_count++ : -1};
  return vertex_count++;
}
static int vertex_new(const char *element, const char *name, bool is_host) {
  if (vertex_named(name) >= 0) refuse("%s: %s is there already", element, name);
  return vertex_add(name, is_host);
}
static int junction(const char *kind, int number) {
  char name[64];
  snprintf(name, sizeof name, "%s%d", kind, number);
  return vertex_add(name, 0);
}
static void cable_add(int from, int to, double bytes_per_s, int64_t latency_ns) {
  cables = (struct cable *)more(cables, cable_count, &cable_max, sizeof *cables);
  cables[cable_count++] = (struct cable){from, to, bytes_per_s, latency_ns};
}
static void cores(const char **list) {
  const char *text = attribute(list, "core");
  const int n = text ? atoi(text) : 1;
  if (n < 1) refuse("core=\"%s\": not a number of cores", text);
  if (core_count >= 0 && n != core_count)
    say_once("hosts have different numbers of cores: the last one's count");
  core_count = n;
}

/* ---- clusters ------------------------------------------------------------------------------------------ */
typedef struct cluster {
  int first, count; /* vertices of its hosts */
  double bytes_per_s;
  int64_t latency_ns;
  const char *shape;
} cluster;
/* "0-15,20": hosts of these numbers */
static void radical(cluster *c, const char *prefix, const char *suffix, const char *text) {
  c->first = vertex_count;
  for (;;) {
    char *end, name[256];
    long from = strtol(text, &end, 10), to = from;
    if (*end == '-') to = strtol(end + 1, &end, 10);
    if (end == text || from < 0 || to < from || to - from > 4000000 || (*end && *end != ','))
      refuse("radical=\"%s\": numbers and ranges expected, as in 0-15,20", text);
    for (; from <= to; from++) {
      snprintf(name, sizeof name, "%s%ld%s", prefix, from, suffix);
      vertex_add(name, 1);
    }
    if (!*end) break;
    text = end + 1;
  }
  c->count = vertex_count - c->first;
}
static void flat(const cluster *c, const char **list) {
  const char *router = attribute(list, "router_id"), *bb = attribute(list, "bb_bw");
  char name[256];
  snprintf(name, sizeof name, "%s%s_router%s", needed("cluster", list, "prefix"),
           needed("cluster", list, "id"),
           attribute(list, "suffix") ? attribute(list, "suffix") : "");
  const int middle = vertex_new("cluster", router && *router ? router : name, 0);
  int64_t latency_ns = c->latency_ns;
  if (bb) {
    if (bandwidth("bb_bw", bb) < c->bytes_per_s * c->count)
      refuse(
          "cluster: its backbone is narrower than all its hosts together: cables cannot say that");
    latency_ns += latency("bb_lat", needed("cluster", list, "bb_lat")) / 2;
    say_once("the backbone limits nobody; half of its latency is added to each host's cable");
  }
  for (int i = 0; i < c->count; i++) cable_add(c->first + i, middle, c->bytes_per_s, latency_ns);
}
/* SimGrid's levels count from the hosts, as ours; parallel cables are cables. */
static void fat_tree(const cluster *c) {
  int64_t levels, down[8], up[8], many[8], span = 1, width = 1;
  int below = c->first;
  bool is_single = true;
  if (numbers(c->shape, 0, &levels, 1) != 1 || levels > 7 ||
      numbers(c->shape, 1, down, 7) != levels || numbers(c->shape, 2, up, 7) != levels ||
      numbers(c->shape, 3, many, 7) != levels)
    refuse("cluster: FAT_TREE: \"levels;children...;parents...;cables...\" expected, at most 7 "
           "levels");
  for (int l = 0; l < levels; l++) span *= down[l], is_single &= many[l] == 1;
  if (span != c->count)
    refuse("cluster: the fat tree has %lld hosts, radical %d", (long long)span, c->count);
  if (is_single) {
    native.topology = PM_TOPO_FATTREE;
    native.node_count = c->count;
    native.topo[0] = levels;
    for (int l = 0; l < levels; l++)
      native.topo[1 + l] = down[l], native.topo[1 + levels + l] = up[l];
  }
  span = 1;
  for (int l = 0; l < levels; l++) { /* subtree s, copy b of each switch */
    const int64_t subtrees = c->count / span, next = width * up[l],
                  above = subtrees / down[l] * next;
    const int first = vertex_count;
    if (vertex_count + above > 4000000) refuse("cluster: more than 4,000,000 switches");
    for (int64_t i = 0; i < above; i++) junction("switch", vertex_count);
    for (int64_t s = 0; s < subtrees; s++)
      for (int64_t b = 0; b < width; b++)
        for (int64_t port = 0; port < up[l]; port++)
          for (int64_t k = 0; k < many[l]; k++)
            cable_add(below + (int)(s * width + b),
                      first + (int)(s / down[l] * next + b + port * width), c->bytes_per_s,
                      c->latency_ns);
    below = first;
    span *= down[l];
    width = next;
  }
}
static void torus(const cluster *c) {
  int64_t size[8], all = 1, stride = 1;
  const int dimensions = numbers(c->shape, 0, size, 8);
  for (int d = 0; d < dimensions; d++) all *= size[d];
  if (all != c->count)
    refuse("cluster: the torus has %lld hosts, radical %d", (long long)all, c->count);
  native.topology = PM_TOPO_TORUS;
  native.node_count = c->count;
  native.topo[0] = dimensions;
  for (int d = 0; d < dimensions; d++) native.topo[1 + d] = size[d];
  for (int d = 0; d < dimensions; d++, stride *= size[d - 1]) /* joined to others: hosts pass on */
    for (int i = 0; i < c->count && size[d] > 1; i++)
      if (size[d] > 2 || i / stride % size[d] == 0)
        cable_add(c->first + i,
                  c->first + (int)(i - i / stride % size[d] * stride +
                                   (i / stride + 1) % size[d] * stride),
                  c->bytes_per_s, c->latency_ns);
}
/* Groups of chassis of routers: green cables within a chassis, black between equal routers of a group's
   chassis, blue from router j of group i to router i of group j; n cables are one of n times the width. */
static void dragonfly(const cluster *c) {
  int64_t group[2], chassis[2], router[2], nodes;
  if (numbers(c->shape, 0, group, 2) != 2 || numbers(c->shape, 1, chassis, 2) != 2 ||
      numbers(c->shape, 2, router, 2) != 2 || numbers(c->shape, 3, &nodes, 1) != 1)
    refuse("cluster: DRAGONFLY: \"groups,cables;chassis,cables;routers,cables;nodes\" expected");
  const int64_t of = chassis[0] * router[0];
  if (group[0] * of * nodes != c->count)
    refuse("cluster: the dragonfly has %lld hosts, radical %d", (long long)(group[0] * of * nodes),
           c->count);
  if (group[0] > of && group[0] > 1)
    refuse("cluster: a dragonfly of more groups than routers in a group");
  const int first = vertex_count;
  for (int64_t i = 0; i < group[0] * of; i++) junction("router", vertex_count);
  for (int i = 0; i < c->count; i++)
    cable_add(c->first + i, first + (int)(i / nodes), c->bytes_per_s, c->latency_ns);
  for (int64_t g = 0; g < group[0]; g++) {
    for (int64_t i = 0; i < of; i++)
      for (int64_t j = i + 1; j < of; j++)
        if (i / router[0] == j / router[0])
          cable_add(first + (int)(g * of + i), first + (int)(g * of + j),
                    c->bytes_per_s * (double)router[1], c->latency_ns);
        else if (i % router[0] == j % router[0])
          cable_add(first + (int)(g * of + i), first + (int)(g * of + j),
                    c->bytes_per_s * (double)chassis[1], c->latency_ns);
    for (int64_t h = g + 1; h < group[0]; h++)
      cable_add(first + (int)(g * of + h), first + (int)(h * of + g),
                c->bytes_per_s * (double)group[1], c->latency_ns);
  }
}
static void cluster_begin(const char **list) {
  cluster c = {0, 0, 0, 0, attribute(list, "topo_parameters")};
  const char *shape = attribute(list, "topology"), *suffix = attribute(list, "suffix");
  if (attribute(list, "limiter_link")) refuse("cluster: limiter_link cannot be kept");
  c.bytes_per_s = bandwidth("bw", needed("cluster", list, "bw"));
  c.latency_ns = latency("lat", needed("cluster", list, "lat"));
  switch (policy(attribute(list, "sharing_policy"), DUPLEX)) {
  case SHARED: say_once("links with sharing policy SHARED have their bandwidth each way"); break;
  case FATPIPE: refuse("cluster: sharing_policy FATPIPE cannot be kept"); break;
  default: break;
  }
  cores(list);
  radical(&c, needed("cluster", list, "prefix"), suffix ? suffix : "",
          needed("cluster", list, "radical"));
  cluster_count++;
  if (!shape || strcmp(shape, "FLAT") == 0) {
    flat(&c, list);
    return;
  }
  if (!c.shape) refuse("cluster: topo_parameters is missing");
  if (strcmp(shape, "FAT_TREE") == 0)
    fat_tree(&c);
  else if (strcmp(shape, "TORUS") == 0)
    torus(&c);
  else if (strcmp(shape, "DRAGONFLY") == 0)
    dragonfly(&c);
  else
    refuse("cluster: topology=\"%s\": FLAT, FAT_TREE, TORUS and DRAGONFLY are known", shape);
  native.link_bytes_per_s = c.bytes_per_s;
  native.wire_latency_ns = native.switch_latency_ns = c.latency_ns;
}

/* ---- zones ----------------------------------------------------------------------------------------------- */
static int link_named(const char *name) {
  for (int i = 0; i < link_count; i++)
    if (strcmp(links[i].id, name) == 0) return i;
  refuse("link_ctn: there is no link %s (before this line)", name);
}
static void link_begin(const char **list) {
  const cable_type l = {copy_of(needed("link", list, "id")),
                        bandwidth("bandwidth", needed("link", list, "bandwidth")),
                        attribute(list, "latency") ? latency("latency", attribute(list, "latency"))
                                                   : 0,
                        {-1, -1},
                        policy(attribute(list, "sharing_policy"), SHARED)};
  links = (cable_type *)more(links, link_count, &link_max, sizeof *links);
  links[link_count++] = l;
}
static void route_begin(const char *element, const char **list, const char *src, const char *dst) {
  const char *ends[2] = {needed(element, list, src), needed(element, list, dst)};
  int at[2];
  for (int i = 0; i < 2; i++)
    if ((at[i] = vertex_named(ends[i])) < 0)
      refuse("%s: there is no host or router %s", element, ends[i]);
  route.is_open = 1;
  route.from = at[0];
  route.to = at[1];
  route.count = 0;
}
/* From one end, link by link: each has the ends that an earlier route gave it, or gets them now. */
static void route_end(const char *element) {
  int at = route.from;
  route.is_open = 0;
  if (!route.count && route.from != route.to) refuse("%s: no link_ctn", element);
  if (route.from == route.to) return; /* to itself */
  for (int i = 0; i < route.count; i++) {
    cable_type *l = &links[route.way[i]];
    const bool is_last = i + 1 == route.count;
    if (l->ends[0] < 0) {
      int next = -1; /* where the next link begins, if that is known */
      if (is_last)
        next = route.to;
      else if (links[route.way[i + 1]].ends[0] >= 0) {
        const cable_type *n = &links[route.way[i + 1]];
        const int far = i + 2 == route.count ? route.to : -1;
        next = far >= 0 && n->ends[0] == far   ? n->ends[1]
               : far >= 0 && n->ends[1] == far ? n->ends[0]
                                               : n->ends[0];
      } else
        next = junction("junction", vertex_count);
      if (l->policy == FATPIPE) refuse("link %s: sharing_policy FATPIPE cannot be kept", l->id);
      if (l->policy == SHARED)
        say_once("links with sharing policy SHARED have their bandwidth each way");
      l->ends[0] = at;
      l->ends[1] = next;
      if (at == next) refuse("%s: link %s would lead to where it begins", element, l->id);
      cable_add(at, next, l->bytes_per_s, l->latency_ns);
    }
    if (at != l->ends[0] && at != l->ends[1])
      refuse("%s: link %s does not begin where the way is: it is no cable between two ends",
             element, l->id);
    at = at == l->ends[0] ? l->ends[1] : l->ends[0];
  }
  if (at != route.to) refuse("%s: its links do not lead to its end: they are no cables", element);
}
static void begin(void *unused, const char *name, const char **list) {
  static const char *const kept_out[] = {"platform", "zone",      "AS", "prop",
                                         "config",   "backbone_", NULL};
  (void)unused;
  if (strcmp(name, "host") == 0) {
    cores(list);
    vertex_new("host", needed("host", list, "id"), 1), other_count++;
  } else if (strcmp(name, "router") == 0)
    vertex_new("router", needed("router", list, "id"), 0), other_count++;
  else if (strcmp(name, "link") == 0)
    link_begin(list), other_count++;
  else if (strcmp(name, "cluster") == 0)
    cluster_begin(list);
  else if (strcmp(name, "route") == 0)
    route_begin(name, list, "src", "dst");
  else if (strcmp(name, "zoneRoute") == 0 || strcmp(name, "ASroute") == 0)
    route_begin(name, list, "gw_src", "gw_dst");
  else if (strcmp(name, "link_ctn") == 0) {
    if (!route.is_open) refuse("link_ctn outside of a route");
    route.way = (int *)more(route.way, route.count, &route.max, sizeof *route.way);
    route.way[route.count++] = link_named(needed("link_ctn", list, "id"));
  } else {
    for (int i = 0; kept_out[i]; i++)
      if (strcmp(name, kept_out[i]) == 0) return;
    refuse("<%s> is not known here; known are platform, zone, cluster, host, router, link, route, "
           "zoneRoute, link_ctn, prop and config",
           name);
  }
}
static void end(void *unused, const char *name) {
  (void)unused;
  if (route.is_open && (strcmp(name, "route") == 0 || strcmp(name, "zoneRoute") == 0 ||
                        strcmp(name, "ASroute") == 0))
    route_end(name);
}

/* ---- the platform ------------------------------------------------------------------------------------------ */
static void read_file(void) {
  FILE *in = fopen(path, "rb");
  char text[65536];
  size_t bytes;
  if (!in) refuse("%s", strerror(errno));
  XML_Parser p = XML_ParserCreate(NULL);
  if (!p) refuse("out of memory");
  XML_SetElementHandler(p, begin, end);
  parser = p;
  do {
    bytes = fread(text, 1, sizeof text, in);
    if (ferror(in)) refuse("%s", strerror(errno));
    if (XML_Parse(p, text, (int)bytes, bytes == 0) == XML_STATUS_ERROR)
      refuse("%s", XML_ErrorString(XML_GetErrorCode(p)));
  } while (bytes);
  fclose(in);
  parser = NULL;
  XML_ParserFree(p);
}
static void end_name(int v, char *name, size_t bytes) {
  if (vertices[v].host >= 0)
    snprintf(name, bytes, "h%d", vertices[v].host);
  else
    snprintf(name, bytes, "s%d", v);
}
int main(int argc, char **argv) {
  pm_platform p = pm_platform_bxi2(2);
  char error[256] = "";
  output_begin("simgrid_platform");
  if (argc == 2 && strcmp(argv[1], "--help") == 0) {
    puts("usage: simgrid_platform FILE.xml >FILE\nWrites a SimGrid platform as one of "
         "portals_model.h and pm_run.");
    return 0;
  }
  if (argc != 2 || argv[1][0] == '-') {
    fprintf(stderr, "usage: simgrid_platform FILE.xml >FILE\n");
    return 2;
  }
  path = argv[1];
  read_file();
  if (host_count < 1) refuse("no hosts");
  p.node_count = host_count;
  snprintf(p.name, sizeof p.name, "simgrid");
  p.link_header_bytes = 0;
  p.loggp_bytes_per_s = cable_count ? cables[0].bytes_per_s : p.link_bytes_per_s;
  if (core_count > 0) p.cores_per_node_count = core_count;
  pm_link *list = (pm_link *)calloc((size_t)cable_count + 1, sizeof *list);
  if (!list) refuse("out of memory");
  if (native.node_count && cluster_count == 1 && !other_count) {
    p.topology = native.topology;
    memcpy(p.topo, native.topo, sizeof p.topo);
    p.link_bytes_per_s = native.link_bytes_per_s;
    p.wire_latency_ns = native.wire_latency_ns;
    p.switch_latency_ns = native.switch_latency_ns;
  } else {
    p.topology = PM_TOPO_FILE;
    p.links = list;
    p.link_count = cable_count;
    p.link_bytes_per_s = 0;
    for (int i = 0; i < cable_count; i++) {
      end_name(cables[i].from, list[i].from, sizeof list[i].from);
      end_name(cables[i].to, list[i].to, sizeof list[i].to);
      list[i].bytes_per_s = cables[i].bytes_per_s;
      list[i].latency_ns = cables[i].latency_ns;
      if (p.link_bytes_per_s < cables[i].bytes_per_s) p.link_bytes_per_s = cables[i].bytes_per_s;
    }
  }
  if (p.link_bytes_per_s > p.pci_flow_bytes_per_s || p.link_bytes_per_s > p.pci_bytes_per_s) {
    p.pci_bytes_per_s = p.pci_flow_bytes_per_s = p.pio_bytes_per_s = p.link_bytes_per_s;
    fprintf(stderr,
            "simgrid_platform: %s: PCI is made as fast as the fastest link: SimGrid has none\n",
            path);
  }
  const pm_status status = pm_platform_check(&p, error, sizeof error);
  if (status) refuse("%s", error[0] ? error : pm_status_text(status));
  printf("# from %s: %d hosts\n", path, host_count);
  for (int i = 0; i < vertex_count; i++)
    if (vertices[i].host >= 0 &&
        (host_count <= 64 || vertices[i].host == 0 || vertices[i].host + 1 == host_count))
      printf("# h%d = %s\n", vertices[i].host, vertices[i].name);
  return pm_platform_write(&p, stdout) ? 1 : 0;
}
