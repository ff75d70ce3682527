/* Question: what does my SimGrid platform look like to portals_model.h and pm_run?

   Run:      build/simgrid_platform cluster.xml >cluster.platform
             build/pm_run -n 64 --platform cluster.platform ./program
   Expected: a platform in pm_platform_read's format; what could not be kept is said on stderr, one line each.
             Exit status 0; 1: output lost; 2: bad call, or a platform that is none of ours, with file and line.

   Read are clusters (flat, FAT_TREE, TORUS, DRAGONFLY), alone or joined by links, zones with routing Cluster, and
   zones of hosts, routers, links and routes. A single fat tree or torus becomes our topology of that name, all else a
   list of cables, over which we take shortest ways. A route between hosts that is longer, or not the only one of its
   length, is given as it is (way) where there is one zone alone; where there are more a longer one is refused. A link
   that lies between the same two ends in all routes is a cable; another one is a place that all its neighbours
   meet in, and whose bandwidth they share. Kept are hosts, cables, bandwidths, latencies, sharing policies,
   backbones, limiters, loopbacks, cores; not kept are speeds of hosts, storage, properties, profiles. Names of
   hosts become h0, h1 ... in their order (comments say which). Bandwidth is that of payload, as in SimGrid
   (link_header_bytes 0). Differences that remain: a transfer takes its share of links from its beginning, and its
   latency is added at its end, where SimGrid's takes none before its latency is over; a torus's nodes hang on their
   routers by a cable of their own, so ways are one latency longer, and all that a node sends shares that cable;
   equal ways are chosen by destination (of dragonflies, of tori with limiters, down the parallel cables of a
   fat tree). The NIC's constants are those of pm_platform_bxi2, of LogGP L and G the mean over pairs of hosts. */
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

enum { MOST = 4000000 };          /* hosts, switches, and cables of a cluster */
static const double JOINT = 1e18; /* bytes/s: it holds nothing down */
/* Names in their order, found by their hash: place holds 1 + number, 0: free. */
typedef struct names {
  char **text;
  int count, max, *place, places;
} names;
typedef struct cable_type {
  double bytes_per_s;
  int64_t latency_ns;
  int ends[2]; /* vertices, -1 not known yet */
  int cable;   /* its number among cables; a hub's is not on ways */
  pm_link_sharing sharing;
  bool
      is_hub; /* leads from any of its neighbours to any other: a vertex of its own, the first of ends */
} cable_type;
static const char *path;
static XML_Parser parser;
static names vertex_names, link_names, joints;
static int *hosts; /* of each vertex: the host's number, -1: a router or junction */
static cable_type *links;
static struct cable {
  int from, to; /* the same: what all ways through it share */
  double bytes_per_s;
  int64_t latency_ns;
  pm_link_sharing sharing;
} * cables; /* those of clusters, then those of links */
static double loopback_bytes_per_s;
static int64_t loopback_ns;
static int hosts_max, link_max, cable_count, cable_max, host_count;
static int cluster_count, other_count, core_count = -1;
static pm_platform native; /* of a single cluster with a topology of ours: node_count > 0 */
typedef struct route_type {
  const char *element;
  unsigned long long line;
  int from, to, first, count; /* links: links_of[first] ... */
  int first_cable, steps;     /* cables of the way: cables_of[first_cable] ... */
  bool is_offer;              /* taken where it is the shortest way */
} route_type;
static route_type *routes;
static int route_count, route_max, *links_of, of_count, of_max, *cables_of, cables_of_count,
    cables_of_max;
static bool has_zone_routes;
static pm_way *ways; /* that are no shortest ones, or not alone in their length */
static int way_count, way_max;
static bool is_route_open;
static unsigned long long line_of_route; /* 0: the parser's */

__attribute__((noreturn, format(printf, 1, 2))) static void refuse(const char *format, ...) {
  va_list args;
  fprintf(stderr, "simgrid_platform: %s:", path);
  if (line_of_route || parser)
    fprintf(stderr, "%llu:", line_of_route ? line_of_route : line_of(parser));
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
  fprintf(stderr, "simgrid_platform: %s:%llu: %s\n", path,
          line_of_route ? line_of_route : line_of(parser), text);
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
static pm_link_sharing sharing(const char *what, const char *text, pm_link_sharing otherwise) {
  if (!text) return otherwise;
  if (strcmp(text, "SPLITDUPLEX") == 0 || strcmp(text, "FULLDUPLEX") == 0) return PM_LINK_EACH_WAY;
  if (strcmp(text, "SHARED") == 0) return PM_LINK_SHARED;
  if (strcmp(text, "FATPIPE") == 0) return PM_LINK_FATPIPE;
  refuse("%s=\"%s\": SHARED, SPLITDUPLEX and FATPIPE are known", what, text);
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
static void cable_add(int from, int to, double bytes_per_s, int64_t latency_ns,
                      pm_link_sharing of) {
  cables = (struct cable *)more(cables, cable_count, &cable_max, sizeof *cables);
  cables[cable_count++] = (struct cable){from, to, bytes_per_s, latency_ns, of};
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
  pm_link_sharing sharing;
  const char *shape;
} cluster;
static void cluster_cable(const cluster *c, int from, int to, double times_wide) {
  cable_add(from, to, c->bytes_per_s * times_wide, c->latency_ns, c->sharing);
}
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
  if (bb) {
    const char *bb_lat = attribute(list, "bb_lat");
    cable_add(middle, middle, bandwidth("bb_bw", bb), bb_lat ? latency("bb_lat", bb_lat) : 0,
              sharing("bb_sharing_policy", attribute(list, "bb_sharing_policy"), PM_LINK_SHARED));
  }
  for (int i = 0; i < c->count; i++) cluster_cable(c, c->first + i, middle, 1);
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
        for (int64_t k = 0; k < many[l]; k++)
          for (int64_t port = 0; port < up[l]; port++)
            cluster_cable(c, below + (int)(s * width + b),
                          first + (int)(s / down[l] * next + b + port * width), 1);
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
        cluster_cable(c, c->first + i,
                      c->first + (int)(i - i / stride % size[d] * stride +
                                       (i / stride + 1) % size[d] * stride),
                      1);
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
  for (int i = 0; i < c->count; i++) cluster_cable(c, c->first + i, first + (int)(i / nodes), 1);
  for (int64_t g = 0; g < group[0]; g++) {
    for (int64_t i = 0; i < of; i++) {
      for (int64_t j = i + 1; j < (i / router[0] + 1) * router[0]; j++)
        cluster_cable(c, first + (int)(g * of + i), first + (int)(g * of + j), (double)router[1]);
      for (int64_t j = i + router[0]; j < of; j += router[0])
        cluster_cable(c, first + (int)(g * of + i), first + (int)(g * of + j), (double)chassis[1]);
    }
    for (int64_t h = g + 1; h < group[0]; h++)
      cluster_cable(c, first + (int)(g * of + h), first + (int)(h * of + g), (double)group[1]);
  }
}
/* What each of these vertices lets through. */
static void limit(const char *limiter, int first, int end) {
  for (int v = first; limiter && v < end; v++)
    cable_add(v, v, bandwidth("limiter_link", limiter), 0, PM_LINK_SHARED);
}
static void cluster_begin(const char **list) {
  cluster c = {.shape = attribute(list, "topo_parameters")};
  const char *shape = attribute(list, "topology"), *suffix = attribute(list, "suffix"),
             *loopback = attribute(list, "loopback_bw"), *limiter = attribute(list, "limiter_link");
  c.bytes_per_s = bandwidth("bw", needed("cluster", list, "bw"));
  c.latency_ns = latency("lat", needed("cluster", list, "lat"));
  c.sharing = sharing("sharing_policy", attribute(list, "sharing_policy"), PM_LINK_EACH_WAY);
  if (loopback) {
    loopback_bytes_per_s = bandwidth("loopback_bw", loopback);
    loopback = attribute(list, "loopback_lat");
    loopback_ns = loopback ? latency("loopback_lat", loopback) : 0;
  }
  cores(list);
  radical(&c, needed("cluster", list, "prefix"), suffix ? suffix : "",
          needed("cluster", list, "radical"));
  cluster_count++;
  if (limiter || c.sharing != PM_LINK_EACH_WAY) other_count++; /* more than our topologies have */
  if (!shape || strcmp(shape, "FLAT") == 0) {
    flat(&c, list);
    limit(limiter, c.first, c.first + c.count);
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
  limit(limiter, c.first, vertex_names.count);
  native.link_bytes_per_s = c.bytes_per_s;
  native.wire_latency_ns = native.switch_latency_ns = c.latency_ns;
}

/* ---- zones ----------------------------------------------------------------------------------------------- */
static void link_begin(const char **list) {
  const char *const late = attribute(list, "latency");
  const cable_type l = {
      .bytes_per_s = bandwidth("bandwidth", needed("link", list, "bandwidth")),
      .latency_ns = late ? latency("latency", late) : 0,
      .sharing = sharing("sharing_policy", attribute(list, "sharing_policy"), PM_LINK_SHARED)};
  const int number = name_add("link", &link_names, needed("link", list, "id"));
  links = (cable_type *)more(links, number, &link_max, sizeof *links);
  links[number] = l;
}
/* Next to a hub: nothing lies between. ret the cable */
static int *joint_cables, joint_max;
static int join(int at, int hub) {
  char name[32];
  snprintf(name, sizeof name, "%d %d", at < hub ? at : hub, at < hub ? hub : at);
  const int known = name_find(&joints, name);
  if (known >= 0) return joint_cables[known];
  const int number = name_add("joint", &joints, name);
  joint_cables = (int *)more(joint_cables, number, &joint_max, sizeof *joint_cables);
  cable_add(at, hub, JOINT, 0, PM_LINK_FATPIPE);
  return joint_cables[number] = cable_count - 1;
}
/* The zones that are open, the platform's first. star: with routing Cluster its hosts, its router and its backbone meet
   in one place; else -1. */
enum { ZONES = 64 };
static struct {
  int star;
  bool searches; /* ways are searched for: longer routes are not taken */
} zone[ZONES] = {{-1, false}};
static int depth;
static void zone_begin(const char **list) {
  const char *routing = attribute(list, "routing");
  if (!routing) routing = "";
  if (++depth == ZONES) refuse("zone: more than %d within each other", ZONES - 1);
  zone[depth].star = strcmp(routing, "Cluster") == 0 ? junction("star") : -1;
  zone[depth].searches = strcmp(routing, "Floyd") == 0 || strncmp(routing, "Dijkstra", 8) == 0;
}
static void in_star(const char *element) {
  if (zone[depth].star < 0) refuse("%s outside of a zone with routing=\"Cluster\"", element);
}
static void cabinet_begin(const char **list) {
  const char *suffix = attribute(list, "suffix");
  cluster c = {.bytes_per_s = bandwidth("bw", needed("cabinet", list, "bw")),
               .latency_ns = latency("lat", needed("cabinet", list, "lat")),
               .sharing = PM_LINK_EACH_WAY};
  in_star("cabinet");
  cores(list);
  radical(&c, needed("cabinet", list, "prefix"), suffix ? suffix : "",
          needed("cabinet", list, "radical"));
  for (int i = 0; i < c.count; i++) cluster_cable(&c, c.first + i, zone[depth].star, 1);
}
static void backbone_begin(const char **list) {
  in_star("backbone");
  cable_add(zone[depth].star, zone[depth].star,
            bandwidth("bandwidth", needed("backbone", list, "bandwidth")),
            latency("latency", needed("backbone", list, "latency")),
            sharing("sharing_policy", attribute(list, "sharing_policy"), PM_LINK_SHARED));
}
/* One direction of a link that is SPLITDUPLEX is named with an end: "l_UP" of "l". */
static int link_of(const char *id, const char *end) {
  int number = name_find(&link_names, id);
  const size_t bytes = strlen(id), off = strlen(end);
  if (number < 0 && bytes > off && strcmp(id + bytes - off, end) == 0) {
    char *const name = copy_of(id);
    name[bytes - off] = 0;
    number = name_find(&link_names, name);
    free(name);
  }
  if (number < 0) refuse("host_link: there is no link %s (before this line)", id);
  return number;
}
static void host_link_begin(const char **list) {
  const int host = name_find(&vertex_names, needed("host_link", list, "id")),
            up = link_of(needed("host_link", list, "up"), "_UP"),
            down = link_of(needed("host_link", list, "down"), "_DOWN");
  in_star("host_link");
  if (host < 0) refuse("host_link: there is no host %s", attribute(list, "id"));
  if (links[up].bytes_per_s != links[down].bytes_per_s ||
      links[up].latency_ns != links[down].latency_ns)
    refuse("host_link: up and down differ: they are no cable");
  cable_add(host, zone[depth].star, links[up].bytes_per_s, links[up].latency_ns,
            up == down ? links[up].sharing : PM_LINK_EACH_WAY);
}
static void route_begin(const char *element, const char **list, const char *src, const char *dst) {
  const char *ends[2] = {needed(element, list, src), needed(element, list, dst)};
  int at[2];
  for (int i = 0; i < 2; i++)
    if ((at[i] = name_find(&vertex_names, ends[i])) < 0)
      refuse("%s: there is no host or router %s", element, ends[i]);
  if (is_route_open) refuse("%s within a route", element);
  routes = (route_type *)more(routes, route_count, &route_max, sizeof *routes);
  element = strcmp(element, "route") == 0 ? "route" : "zoneRoute"; /* the parser's does not stay */
  routes[route_count++] = (route_type){.element = element,
                                       .line = line_of(parser),
                                       .from = at[0],
                                       .to = at[1],
                                       .first = of_count,
                                       .is_offer = zone[depth].searches};
  has_zone_routes |= strcmp(element, "zoneRoute") == 0;
  is_route_open = true;
}
/* One to itself says what lies between processes of a node. */
static void route_end(void) {
  const route_type *r = &routes[route_count - 1];
  is_route_open = false;
  if (!r->count && r->from != r->to) refuse("%s: no link_ctn", r->element);
  if (r->from != r->to) return;
  if (r->count == 1) {
    loopback_bytes_per_s = links[links_of[r->first]].bytes_per_s;
    loopback_ns = links[links_of[r->first]].latency_ns;
  }
  route_count--;
}
static void step(route_type *r, int cable) {
  cables_of = (int *)more(cables_of, cables_of_count, &cables_of_max, sizeof *cables_of);
  cables_of[cables_of_count++] = cable;
  r->steps++;
}
static bool has_been(const route_type *r, int vertex) {
  for (int k = 0; k < r->steps; k++) {
    const struct cable *c = &cables[cables_of[r->first_cable + k]];
    if (vertex == c->from || vertex == c->to) return true;
  }
  return false;
}
static bool is_hubs(int vertex) { return strncmp(vertex_names.text[vertex], " hub", 4) == 0; }
/* A way leads nowhere twice, and through a hub only where its route names it: the last link that was taken for a cable is none. */
static int last_cable(const route_type *r, int i) {
  while (i > 0 && links[links_of[r->first + i]].is_hub) i--;
  return i;
}
/* From one end, link by link: each has the ends that an earlier route gave it, or gets them now. ret the number of a
   link that is no cable between two ends, and may be a hub; -1: all are what they are */
static int route_lay(route_type *r) {
  int at = r->from, i = 0;
  r->first_cable = cables_of_count;
  for (r->steps = 0; i < r->count; i++) {
    cable_type *l = &links[links_of[r->first + i]];
    const cable_type *after =
        i + 1 < r->count ? l + (links_of[r->first + i + 1] - links_of[r->first + i]) : NULL;
    if (l->is_hub) {
      if (at != l->ends[0] && has_been(r, l->ends[0])) {
        i = last_cable(r, i);
        break;
      }
      if (at != l->ends[0]) step(r, join(at, l->ends[0]));
      at = l->ends[0];
      continue;
    }
    if (l->ends[0] < 0) { /* the other end: where the next link begins, if that is known */
      const int far = i + 2 == r->count ? r->to : -1;
      l->ends[0] = at;
      l->ends[1] = !after                                    ? r->to
                   : after->ends[0] < 0                      ? junction("junction")
                   : !after->is_hub && after->ends[0] == far ? after->ends[1]
                                                             : after->ends[0];
      if (at == l->ends[1]) break;
      l->cable = cable_count;
      cable_add(at, l->ends[1], l->bytes_per_s, l->latency_ns, l->sharing);
    }
    if (at != l->ends[0] && at != l->ends[1]) break;
    at = at == l->ends[0] ? l->ends[1] : l->ends[0];
    if (has_been(r, at) || (is_hubs(at) && (!after || !after->is_hub || at != after->ends[0])))
      break;
    step(r, l->cable);
  }
  if (i == r->count && at == r->to) return -1;
  if (i == r->count) {
    i--;
    if (links[links_of[r->first + i]].is_hub && !has_been(r, r->to)) {
      step(r, join(at, r->to));
      return -1;
    }
    i = last_cable(r, i);
  }
  if (links[links_of[r->first + i]].sharing == PM_LINK_EACH_WAY ||
      links[links_of[r->first + i]].is_hub)
    refuse("%s: link %s does not lead on from where the way is: it is no cable between two ends",
           r->element, link_names.text[links_of[r->first + i]]);
  return links_of[r->first + i];
}
/* What comes before a link and after it in a route is on different sides of a cable; what is on both sides of one is
   around a hub. Sides: of each link and neighbour the one that it stands for, and whether it is opposite. */
static names sides;
static struct side {
  int same;
  bool is_opposite;
} * side;
static int side_max;
static int side_of(int link, char kind, int neighbour) {
  char name[48];
  snprintf(name, sizeof name, "%d %c%d", link, kind, neighbour);
  const int known = name_find(&sides, name);
  if (known >= 0) return known;
  side = (struct side *)more(side, sides.count, &side_max, sizeof *side);
  side[sides.count] = (struct side){sides.count, false};
  return name_add("side", &sides, name);
}
static struct side side_root(int at) {
  struct side root = {at, false};
  while (side[root.same].same != root.same) {
    root.is_opposite ^= side[root.same].is_opposite;
    root.same = side[root.same].same;
  }
  return root;
}
static void hubs_find(void) {
  for (int i = 0; i < route_count; i++) {
    const route_type *r = &routes[i];
    const int *of = links_of + r->first;
    for (int k = 0; k < r->count; k++) {
      const struct side before = side_root(k ? side_of(of[k], 'l', of[k - 1])
                                             : side_of(of[k], 'v', r->from)),
                        after = side_root(k + 1 < r->count ? side_of(of[k], 'l', of[k + 1])
                                                           : side_of(of[k], 'v', r->to));
      if (before.same != after.same)
        side[before.same] = (struct side){after.same, before.is_opposite == after.is_opposite};
      else if (before.is_opposite == after.is_opposite)
        links[of[k]].is_hub = links[of[k]].sharing != PM_LINK_EACH_WAY;
    }
  }
}
static int by_length(const void *a, const void *b) {
  const route_type *x = (const route_type *)a, *y = (const route_type *)b;
  return x->count != y->count ? x->count - y->count : x->first - y->first;
}
/* Short routes first: they say best between which ends a cable lies. Until no link turns out to be a hub. */
static void routes_lay(void) {
  const int cluster_cables = cable_count;
  bool is_settled = false;
  hubs_find();
  if (route_count) qsort(routes, (size_t)route_count, sizeof *routes, by_length);
  while (!is_settled) {
    is_settled = true;
    cable_count = cluster_cables;
    cables_of_count = 0;
    joints.count = 0;
    free(joints.place);
    joints.place = NULL, joints.places = 0;
    for (int i = 0; i < link_names.count; i++) {
      links[i].ends[0] = links[i].ends[1] = -1;
      if (!links[i].is_hub) continue;
      links[i].ends[0] = junction("hub");
      cable_add(links[i].ends[0], links[i].ends[0], links[i].bytes_per_s, links[i].latency_ns,
                links[i].sharing);
    }
    for (int i = 0; i < route_count; i++) {
      line_of_route = routes[i].line;
      const int hub = route_lay(&routes[i]);
      if (hub >= 0) links[hub].is_hub = true, is_settled = false;
    }
  }
  line_of_route = 0;
}
/* There is another way than the route's. Where all routes are of one zone it is given as it is, there and, unless another
   route says how, back. */
static void way_add(const route_type *r, bool is_back) {
  int *const cable = (int *)malloc((size_t)r->steps * sizeof *cable);
  ways = (pm_way *)more(ways, way_count, &way_max, sizeof *ways);
  if (!cable) refuse("out of memory");
  for (int i = 0; i < r->steps; i++)
    cable[i] = 1 + cables_of[r->first_cable + (is_back ? r->steps - 1 - i : i)];
  ways[way_count++] = (pm_way){.from_node = hosts[is_back ? r->to : r->from],
                               .to_node = hosts[is_back ? r->from : r->to],
                               .cable = cable,
                               .cable_count = r->steps};
}
/* Of the pairs of ends that have a route: this one is among them. add: from now on */
static bool has_route(int from, int to, bool add) {
  static names pairs;
  char name[32];
  snprintf(name, sizeof name, "%d %d", from, to);
  if (name_find(&pairs, name) >= 0) return true;
  if (add) name_add("route", &pairs, name);
  return false;
}
static bool way_give(const route_type *r) {
  if (has_zone_routes || cluster_count || hosts[r->from] < 0 || hosts[r->to] < 0) return false;
  way_add(r, false);
  if (!has_route(r->to, r->from, false)) way_add(r, true);
  return true;
}
/* The network takes shortest ways unless it is told. */
static void routes_check(void) {
  const int vertices = vertex_names.count;
  int *const first = (int *)calloc((size_t)vertices + 2, sizeof(int)),
             *const next = (int *)calloc(2 * (size_t)cable_count + 1, sizeof(int)),
             *const far = (int *)calloc((size_t)vertices + 1, sizeof(int)),
             *const count = (int *)calloc((size_t)vertices + 1, sizeof(int)),
             *const queue = (int *)calloc((size_t)vertices + 1, sizeof(int));
  double work = 0;
  if (!first || !next || !far || !count || !queue) refuse("out of memory");
  for (int k = 0; k < cable_count; k++) first[cables[k].from]++, first[cables[k].to]++;
  for (int v = 0; v <= vertices; v++) first[v + 1] += first[v];
  for (int k = 0; k < cable_count; k++)
    next[--first[cables[k].from]] = cables[k].to, next[--first[cables[k].to]] = cables[k].from;
  for (int i = 0; i < route_count; i++) has_route(routes[i].from, routes[i].to, true);
  for (int i = 0; i < route_count && work < 1e9; i++) {
    const route_type *r = &routes[i];
    int head = 0, tail = 0;
    if (r->steps < 2 || r->is_offer) continue;
    work += vertices + 2 * cable_count;
    for (int v = 0; v < vertices; v++) far[v] = -1, count[v] = 0;
    queue[tail++] = r->from, far[r->from] = 0, count[r->from] = 1;
    while (head < tail && queue[head] != r->to) {
      const int v = queue[head++];
      for (int k = first[v]; k < first[v + 1]; k++) {
        if (far[next[k]] < 0) far[next[k]] = far[v] + 1, queue[tail++] = next[k];
        if (far[next[k]] == far[v] + 1 && count[next[k]] < 2) count[next[k]] += count[v];
      }
    }
    line_of_route = r->line;
    if (far[r->to] == r->steps && count[r->to] == 1) continue;
    if (way_give(r)) continue;
    if (far[r->to] < r->steps)
      refuse("%s: there is a shorter way than this one, which would be taken", r->element);
    say_once("of ways of equal length another one than the route's may be taken");
  }
  line_of_route = 0;
  if (work >= 1e9) say_once("of very many routes some are taken for the shortest ways untried");
  free(first), free(next), free(far), free(count), free(queue);
}
static void begin(void *unused, const char *name, const char **list) {
  static const char *const kept_out[] = {"platform", "prop", "config", NULL};
  static const char *const machine[] = {"disk",  "storage", "storage_type",  "mount", "model_prop",
                                        "trace", "content", "trace_connect", NULL};
  (void)unused;
  if (strcmp(name, "host") == 0) {
    cores(list);
    vertex_add("host", needed("host", list, "id"), true), other_count++;
  } else if (strcmp(name, "router") == 0) {
    const int router = vertex_add("router", needed("router", list, "id"), false);
    if (zone[depth].star >= 0) cable_add(zone[depth].star, router, JOINT, 0, PM_LINK_FATPIPE);
    other_count++;
  } else if (strcmp(name, "zone") == 0 || strcmp(name, "AS") == 0)
    zone_begin(list);
  else if (strcmp(name, "cabinet") == 0)
    cabinet_begin(list), other_count++;
  else if (strcmp(name, "backbone") == 0)
    backbone_begin(list), other_count++;
  else if (strcmp(name, "host_link") == 0)
    host_link_begin(list);
  else if (strcmp(name, "link") == 0)
    link_begin(list), other_count++;
  else if (strcmp(name, "cluster") == 0)
    cluster_begin(list);
  else if (strcmp(name, "route") == 0)
    route_begin(name, list, "src", "dst");
  else if (strcmp(name, "zoneRoute") == 0 || strcmp(name, "ASroute") == 0)
    route_begin(name, list, "gw_src", "gw_dst");
  else if (strcmp(name, "link_ctn") == 0) {
    if (!is_route_open) refuse("link_ctn outside of a route");
    links_of = (int *)more(links_of, of_count, &of_max, sizeof *links_of);
    const char *id = needed("link_ctn", list, "id");
    links_of[of_count] = name_find(&link_names, id);
    routes[route_count - 1].count++;
    if (links_of[of_count++] < 0) refuse("link_ctn: there is no link %s (before this line)", id);
  } else {
    for (int i = 0; kept_out[i]; i++)
      if (strcmp(name, kept_out[i]) == 0) return;
    for (int i = 0; machine[i]; i++)
      if (strcmp(name, machine[i]) == 0) {
        say_once("disks, storage and profiles are not kept");
        return;
      }
    refuse("<%s> is not known here; known are platform, zone, cluster, cabinet, host, router, "
           "link, host_link, backbone, route, zoneRoute, link_ctn, prop and config",
           name);
  }
}
static void end(void *unused, const char *name) {
  (void)unused;
  if (is_route_open && (strcmp(name, "route") == 0 || strcmp(name, "zoneRoute") == 0 ||
                        strcmp(name, "ASroute") == 0))
    route_end();
  if (strcmp(name, "zone") == 0 || strcmp(name, "AS") == 0) depth--;
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
    p->ways = ways;
    p->way_count = way_count;
    p->link_bytes_per_s = 0;
    for (int i = 0; i < cable_count; i++) {
      end_name(cables[i].from, list[i].from, sizeof list[i].from);
      end_name(cables[i].to, list[i].to, sizeof list[i].to);
      list[i].bytes_per_s = cables[i].bytes_per_s;
      list[i].latency_ns = cables[i].latency_ns;
      list[i].sharing = cables[i].sharing;
      if (p->link_bytes_per_s < cables[i].bytes_per_s && cables[i].bytes_per_s < JOINT)
        p->link_bytes_per_s = cables[i].bytes_per_s;
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
  routes_lay();
  routes_check();
  if (host_count < 1) refuse("no hosts");
  p.node_count = host_count;
  snprintf(p.name, sizeof p.name, "simgrid");
  p.link_header_bytes = 0;
  if (core_count > 0) p.cores_per_node_count = core_count;
  if (loopback_bytes_per_s > 0) {
    p.intra_bytes_per_s = loopback_bytes_per_s;
    p.intra_latency_ns = loopback_ns;
  }
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
