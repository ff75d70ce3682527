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
   constants are those of pm_platform_bxi2, of LogGP L and G the mean over pairs of hosts. */
#include "portals_model.h"
#define NBC_PIECES
#include "src/base/text.h"
#include "tools/options.h"
#include "tools/output.h"
#include <expat.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if XML_MAJOR_VERSION > 2 || XML_MINOR_VERSION >= 9 /* XML_Size may be 32 bits */
#  define LINE_OF XML_GetCurrentLineNumber64
#else
#  define LINE_OF XML_GetCurrentLineNumber
#endif
static unsigned long long line_of(XML_Parser parser) { return LINE_OF(parser); }

enum { MOST = 4000000 }; /* hosts, switches, and cables of a cluster */
/* Names in their order, found by their hash: place holds 1 + number, 0: free. */
typedef struct names {
  char **text;
  int count, max, *place, places;
} names;
typedef struct cable_type {
  double bytes_per_s;
  int64_t latency_ns;
  int ends[2], policy; /* ends: vertices, -1 not known yet */
} cable_type;
enum { DUPLEX, SHARED, FATPIPE };
static const char *path;
static XML_Parser parser;
static names vertex_names, link_names;
static int *hosts; /* of each vertex: the host's number, -1: a router or junction */
static cable_type *links;
static struct cable {
  int from, to;
  double bytes_per_s;
  int64_t latency_ns;
} * cables;
static int hosts_max, link_max, cable_count, cable_max, host_count;
static int cluster_count, other_count, core_count = -1;
static pm_platform native; /* of a single cluster with a topology of ours: node_count > 0 */
static struct {
  bool is_open;
  int from, to, *way, count, max; /* way: numbers of links */
} route;

__attribute__((noreturn, format(printf, 1, 2))) static void refuse(const char *format, ...) {
  va_list args;
  fprintf(stderr, "simgrid_platform: %s:", path);
  if (parser) fprintf(stderr, "%llu:", line_of(parser));
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
static int *place_of(const names *n, const char *text) {
  uint64_t hash = 0xCBF29CE484222325u; /* Fowler, Noll and Vo's, 1a */
  for (const char *c = text; *c; c++) hash = (hash ^ (unsigned char)*c) * 0x100000001B3u;
  size_t at = (size_t)(hash ^ hash >> 32) % (size_t)n->places;
  while (n->place[at] && strcmp(n->text[n->place[at] - 1], text) != 0)
    at = (at + 1) % (size_t)n->places;
  return &n->place[at];
}
/* ret its number, -1: unknown */
static int name_find(const names *n, const char *text) {
  return n->places ? *place_of(n, text) - 1 : -1;
}
/* One that is new. ret its number */
static int name_add(const char *element, names *n, const char *text) {
  if (2 * n->count >= n->places) {
    n->places = n->places ? 2 * n->places : 64;
    free(n->place);
    n->place = (int *)calloc((size_t)n->places, sizeof *n->place);
    if (!n->place) refuse("out of memory");
    for (int i = 0; i < n->count; i++) *place_of(n, n->text[i]) = 1 + i;
  }
  int *const place = place_of(n, text);
  if (*place) refuse("%s: %s is there already", element, text);
  n->text = (char **)more(n->text, n->count, &n->max, sizeof *n->text);
  n->text[n->count++] = copy_of(text);
  return (*place = n->count) - 1;
}
static void say_once(const char *text) {
  static const char *said[32];
  int i = 0;
  while (i < 32 && said[i] && strcmp(said[i], text) != 0) i++;
  if (i == 32 || said[i]) return;
  said[i] = text;
  fprintf(stderr, "simgrid_platform: %s:%llu: %s\n", path, line_of(parser), text);
}

/* ---- attributes ------------------------------------------------------------------------------------ */
static const char *attribute(const char **list, const char *name) {
  for (; *list; list += 2)
    if (strcmp(list[0], name) == 0) return list[1];
  return NULL;
}
static const char *needed(const char *element, const char **list, const char *name) {
  const char *value = attribute(list, name);
  if (!value) refuse("%s: %s is missing", element, name);
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
/* A whole number, and what follows it is the end or one of the letters. ret where that is */
static const char *whole(const char *text, const char *what, int64_t least, int64_t most,
                         int64_t *value, const char *letters) {
  uint64_t number;
  const char *const end = nbc__text_whole(text, text + strlen(text), &number);
  if (!end || number < (uint64_t)least || number > (uint64_t)most ||
      (*end && !strchr(letters, *end)))
    refuse("%s=\"%s\": whole numbers from %lld to %lld expected", what, text, (long long)least,
           (long long)most);
  *value = (int64_t)number;
  return end;
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
  while (part-- > 0) {
    text = strchr(text, ';');
    if (!text) return 0;
    text++;
  }
  for (;;) {
    if (n == most) refuse("topo_parameters: at most %d numbers in a part", most);
    text = whole(text, "topo_parameters", 1, 1000000, &out[n++], ",;");
    if (*text++ != ',') return n;
  }
}
/* A product, as far as it can be that of a platform: above MOST it stays there. */
static int64_t times(int64_t a, int64_t b) {
  return a > MOST || b > MOST || a * b > MOST ? MOST + 1 : a * b;
}

/* ---- vertices and cables ------------------------------------------------------------------------------ */
static int vertex_add(const char *element, const char *name, bool is_host) {
  const int number = name_add(element, &vertex_names, name);
  if (number >= 2 * MOST || host_count >= MOST) refuse("%s: more than %d", element, MOST);
  hosts = (int *)more(hosts, number, &hosts_max, sizeof *hosts);
  hosts[number] = is_host ? host_count++ : -1;
  return number;
}
/* Our own names have a blank in front, which nobody writes. */
static int junction(const char *kind) {
  char name[64];
  snprintf(name, sizeof name, " %s%d", kind, vertex_names.count);
  return vertex_add(kind, name, false);
}
static void cable_add(int from, int to, double bytes_per_s, int64_t latency_ns) {
  cables = (struct cable *)more(cables, cable_count, &cable_max, sizeof *cables);
  cables[cable_count++] = (struct cable){from, to, bytes_per_s, latency_ns};
}
static void cores(const char **list) {
  const char *text = attribute(list, "core");
  int64_t number = 1;
  if (text) (void)whole(text, "core", 1, MOST, &number, "");
  const int n = (int)number;
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
  const size_t bytes = strlen(prefix) + strlen(suffix) + 24;
  char *const name = (char *)malloc(bytes);
  if (!name) refuse("out of memory");
  c->first = vertex_names.count;
  for (;; text++) {
    int64_t from, to;
    text = whole(text, "radical", 0, 1000000000, &from, "-,");
    to = from;
    if (*text == '-') text = whole(text + 1, "radical", from, from + MOST, &to, ",");
    for (; from <= to; from++) {
      snprintf(name, bytes, "%s%lld%s", prefix, (long long)from, suffix);
      vertex_add("cluster", name, true);
    }
    if (!*text) break;
  }
  free(name);
  c->count = vertex_names.count - c->first;
}
static void flat(const cluster *c, const char **list) {
  const char *router = attribute(list, "router_id"), *bb = attribute(list, "bb_bw"),
             *prefix = needed("cluster", list, "prefix"), *id = needed("cluster", list, "id"),
             *suffix = attribute(list, "suffix");
  char *name = NULL;
  if (asprintf(&name, "%s%s_router%s", prefix, id, suffix ? suffix : "") < 0)
    refuse("out of memory");
  const int middle = vertex_add("cluster", router && *router ? router : name, false);
  free(name);
  int64_t latency_ns = c->latency_ns;
  if (bb) {
    if (bandwidth("bb_bw", bb) < c->bytes_per_s * c->count)
      refuse(
          "cluster: its backbone is narrower than all its hosts together: cables cannot say that");
    const char *bb_lat = attribute(list, "bb_lat");
    latency_ns += latency("bb_lat", bb_lat ? bb_lat : "0") / 2;
    say_once("the backbone limits nobody; half of its latency is added to each host's cable");
  }
  for (int i = 0; i < c->count; i++) cable_add(c->first + i, middle, c->bytes_per_s, latency_ns);
}
static void has_hosts(const cluster *c, const char *shape, int64_t count) {
  if (count > MOST) refuse("cluster: the %s has more than %d hosts", shape, MOST);
  if (count != c->count)
    refuse("cluster: the %s has %lld hosts, radical %d", shape, (long long)count, c->count);
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
  for (int l = 0; l < levels; l++) span = times(span, down[l]), is_single &= many[l] == 1;
  has_hosts(c, "fat tree", span);
  if (is_single) {
    native.topology = PM_TOPO_FATTREE;
    native.node_count = c->count;
    native.topo[0] = levels;
    for (int l = 0; l < levels; l++)
      native.topo[1 + l] = down[l], native.topo[1 + levels + l] = up[l];
  }
  span = 1;
  for (int l = 0; l < levels; l++) { /* subtree s, copy b of each switch */
    const int64_t subtrees = c->count / span, next = times(width, up[l]),
                  above = times(subtrees / down[l], next);
    const int first = vertex_names.count;
    if (above > MOST || times(times(subtrees, next), many[l]) > MOST)
      refuse("cluster: more than %d switches or cables of one level", MOST);
    for (int64_t i = 0; i < above; i++) junction("switch");
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
  for (int d = 0; d < dimensions; d++) all = times(all, size[d]);
  has_hosts(c, "torus", all);
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
  const int64_t of = times(chassis[0], router[0]), all = times(times(group[0], of), nodes);
  has_hosts(c, "dragonfly", all);
  if (times(times(group[0], of), chassis[0] + router[0] + group[0]) > MOST)
    refuse("cluster: more than %d cables between routers", MOST);
  if (group[0] > of && group[0] > 1)
    refuse("cluster: a dragonfly of more groups than routers in a group");
  const int first = vertex_names.count;
  for (int64_t i = 0; i < group[0] * of; i++) junction("router");
  for (int i = 0; i < c->count; i++)
    cable_add(c->first + i, first + (int)(i / nodes), c->bytes_per_s, c->latency_ns);
  for (int64_t g = 0; g < group[0]; g++) {
    for (int64_t i = 0; i < of; i++) {
      for (int64_t j = i + 1; j < (i / router[0] + 1) * router[0]; j++)
        cable_add(first + (int)(g * of + i), first + (int)(g * of + j),
                  c->bytes_per_s * (double)router[1], c->latency_ns);
      for (int64_t j = i + router[0]; j < of; j += router[0])
        cable_add(first + (int)(g * of + i), first + (int)(g * of + j),
                  c->bytes_per_s * (double)chassis[1], c->latency_ns);
    }
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
static void link_begin(const char **list) {
  const cable_type l = {bandwidth("bandwidth", needed("link", list, "bandwidth")),
                        attribute(list, "latency") ? latency("latency", attribute(list, "latency"))
                                                   : 0,
                        {-1, -1},
                        policy(attribute(list, "sharing_policy"), SHARED)};
  const int number = name_add("link", &link_names, needed("link", list, "id"));
  links = (cable_type *)more(links, number, &link_max, sizeof *links);
  links[number] = l;
}
static void route_begin(const char *element, const char **list, const char *src, const char *dst) {
  const char *ends[2] = {needed(element, list, src), needed(element, list, dst)};
  int at[2];
  for (int i = 0; i < 2; i++)
    if ((at[i] = name_find(&vertex_names, ends[i])) < 0)
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
    const char *id = link_names.text[route.way[i]];
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
        next = junction("junction");
      if (l->policy == FATPIPE) refuse("link %s: sharing_policy FATPIPE cannot be kept", id);
      if (l->policy == SHARED)
        say_once("links with sharing policy SHARED have their bandwidth each way");
      l->ends[0] = at;
      l->ends[1] = next;
      if (at == next) refuse("%s: link %s would lead to where it begins", element, id);
      cable_add(at, next, l->bytes_per_s, l->latency_ns);
    }
    if (at != l->ends[0] && at != l->ends[1])
      refuse("%s: link %s does not begin where the way is: it is no cable between two ends",
             element, id);
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
    vertex_add("host", needed("host", list, "id"), true), other_count++;
  } else if (strcmp(name, "router") == 0)
    vertex_add("router", needed("router", list, "id"), false), other_count++;
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
    const char *id = needed("link_ctn", list, "id");
    route.way[route.count] = name_find(&link_names, id);
    if (route.way[route.count++] < 0)
      refuse("link_ctn: there is no link %s (before this line)", id);
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
  if (hosts[v] >= 0)
    snprintf(name, bytes, "h%d", hosts[v]);
  else
    snprintf(name, bytes, "s%d", v);
}
/* In a comment: no end of line, and not beyond what a line of a platform may hold. */
static void print_name(const char *name) {
  for (int i = 0; name[i] && i < 400; i++)
    putchar((unsigned char)name[i] < ' ' || name[i] == 127 ? '?' : name[i]);
}
/* The level LogGP knows one way for all: that of the mean over pairs of nodes, of at most so many each. */
static void settle_loggp(pm_platform *p) {
  enum { NODES = 64, LINKS = 128 };
  pm_world_desc desc = {.platform = p};
  pm_world *w;
  const int step = (int)(p->node_count + NODES - 1) / NODES;
  int64_t pairs = 0, sum_ns = 0;
  double ns_per_byte = 0;
  if (pm_world_create(&desc, &w)) refuse("out of memory");
  for (int from = 0; from < p->node_count; from += step)
    for (int to = 0; to < p->node_count; to += step) {
      uint32_t way[LINKS];
      int64_t latency_ns = 0;
      double slowest = 0;
      const int count = from == to ? 0 : pm_route(w, from, to, way, LINKS, &latency_ns);
      for (int i = 0; i < count && i < LINKS; i++)
        slowest = fmax(slowest, 1e9 / pm_link_bytes_per_s(w, (int)way[i]));
      if (count < 1) continue;
      pairs++, sum_ns += latency_ns, ns_per_byte += slowest;
    }
  pm_world_destroy(w);
  if (!pairs) return;
  p->loggp_latency_ns = sum_ns / pairs;
  p->loggp_bytes_per_s = fmax(round((double)pairs * 1e9 / ns_per_byte), 1);
}
/* A cluster has a topology of ours; another network is what its cables say, with room for them in list. */
static void take_links(pm_platform *p, pm_link *list) {
  if (native.node_count && cluster_count == 1 && !other_count) {
    p->topology = native.topology;
    memcpy(p->topo, native.topo, sizeof p->topo);
    p->link_bytes_per_s = native.link_bytes_per_s;
    p->wire_latency_ns = native.wire_latency_ns;
    p->switch_latency_ns = native.switch_latency_ns;
  } else if (!cable_count) {
    refuse("%d host%s and no link: nothing says how wide the network is", host_count,
           host_count == 1 ? "" : "s");
  } else {
    p->topology = PM_TOPO_FILE;
    p->links = list;
    p->link_count = cable_count;
    p->link_bytes_per_s = 0;
    for (int i = 0; i < cable_count; i++) {
      end_name(cables[i].from, list[i].from, sizeof list[i].from);
      end_name(cables[i].to, list[i].to, sizeof list[i].to);
      list[i].bytes_per_s = cables[i].bytes_per_s;
      list[i].latency_ns = cables[i].latency_ns;
      if (p->link_bytes_per_s < cables[i].bytes_per_s) p->link_bytes_per_s = cables[i].bytes_per_s;
    }
  }
}

int main(int argc, char **argv) {
  pm_platform p = pm_platform_bxi2(2);
  char error[256] = "";
  output_begin("simgrid_platform");
  const option options[] = {{0}};
  const command_line command = {"usage: simgrid_platform FILE.xml >FILE\n"
                                "Writes a SimGrid platform as one of portals_model.h and pm_run.\n",
                                options, NULL};
  const int count = options_read(&command, argc, argv);
  if (count > 1) options_refuse(argv[2], "not one file");
  if (!count) return fputs(command.usage, stderr), 2;
  path = argv[1];
  read_file();
  if (host_count < 1) refuse("no hosts");
  p.node_count = host_count;
  snprintf(p.name, sizeof p.name, "simgrid");
  p.link_header_bytes = 0;
  if (core_count > 0) p.cores_per_node_count = core_count;
  pm_link *list = (pm_link *)calloc((size_t)cable_count + 1, sizeof *list);
  if (!list) refuse("out of memory");
  take_links(&p, list);
  if (p.link_bytes_per_s > p.pci_flow_bytes_per_s || p.link_bytes_per_s > p.pci_bytes_per_s) {
    p.pci_bytes_per_s = p.pci_flow_bytes_per_s = p.pio_bytes_per_s = p.link_bytes_per_s;
    fprintf(stderr,
            "simgrid_platform: %s: PCI is made as fast as the fastest link: SimGrid has none\n",
            path);
  }
  const pm_status status = pm_platform_check(&p, error, sizeof error);
  if (status) refuse("%s", error[0] ? error : pm_status_text(status));
  settle_loggp(&p);
  printf("# from ");
  print_name(path);
  printf(": %d hosts\n", host_count);
  for (int i = 0; i < vertex_names.count; i++)
    if (hosts[i] >= 0 && (host_count <= 64 || hosts[i] == 0 || hosts[i] + 1 == host_count)) {
      printf("# h%d = ", hosts[i]);
      print_name(vertex_names.text[i]);
      putchar('\n');
    }
  return pm_platform_write(&p, stdout) ? 1 : 0;
}
