#include "platform.h"
/* ============================================================================================== */
/* [PLATFORM] 3. The machine: constants, text format, routes                                      */
/* ============================================================================================== */
static pm_status pm__platform_error(char *error, size_t error_bytes, const char *format, ...) {
  va_list args;
  if (error && error_bytes) {
    va_start(args, format);
    vsnprintf(error, error_bytes, format, args);
    va_end(args);
  }
  return PM_E_PLATFORM;
}

PM_API pm_platform pm_platform_bxi2(int node_count) {
  pm_platform p;
  memset(&p, 0, sizeof p);
  strcpy(p.name, "bxi2");
#define PM__X(name, value, text) p.name = value;
  PM_PLATFORM_INT_LIST(PM__X)
  PM_PLATFORM_REAL_LIST(PM__X)
#undef PM__X
  p.node_count = node_count;
  return p;
}

static const char *const pm__topology_names[] = {"crossbar", "fattree", "torus", "dragonfly",
                                                 "file"};

/* The whole word, whatever the locale says. 0: it is no number. */
static int pm__read_real(const char *word, double *value) {
  const char *end = word + strlen(word);
  return nbc__text_number(word, end, value) == end;
}
/* The name in force of a key that files written before version 0.2 spell in the plural. */
static const char *pm__platform_key(const char *key) {
  static const char *const names[][2] = {{"nodes_count", "node_count"},
                                         {"nic_engines_count", "nic_engine_count"},
                                         {"e2e_entries_count", "e2e_entry_count"},
                                         {"e2e_retries_count", "e2e_retry_count"}};
  size_t i;
  for (i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(key, names[i][0]) == 0) return names[i][1];
  return key;
}
/* WEIGHT MEAN_RATIO SIGMA_RATIO, one mode more. NULL, or what is wrong. */
static const char *pm__platform_mode(char **word, pm_mode *modes, int *count) {
  static const char *const bad[] = {"WEIGHT: not a positive number up to 1e6",
                                    "MEAN_RATIO: not a positive number up to 1e6",
                                    "SIGMA_RATIO: not a number from 0 to 1e6"};
  double v[3];
  int i;
  if (*count == PM_MODES_MAX) return "more than 4 modes";
  for (i = 0; i < 3; i++)
    if (!pm__read_real(word[i], &v[i]) || !(v[i] >= 0) || v[i] > 1e6 || (i < 2 && v[i] <= 0))
      return bad[i];
  modes[*count].weight_ratio = v[0];
  modes[*count].mean_ratio = v[1];
  modes[(*count)++].sigma_ratio = v[2];
  return NULL;
}
static const char *pm__platform_loggp(pm_platform *p, char **word, int words) {
  static const char *const bad_whole[] = {"FROM_BYTES: not a whole number of bytes from 0 to 1e12",
                                          "L_NS: not a whole number of ns within 1e12",
                                          "O_NS: not a whole number of ns from 0 to 1e12",
                                          "GAP_NS: not a whole number of ns from 0 to 1e12"};
  pm_loggp_range r;
  int64_t whole[4];
  const char *bad = NULL;
  char *end;
  int i;
  memset(&r, 0, sizeof r);
  if (words < 7 || (words - 7) % 3)
    return "FROM_BYTES L_NS O_NS GAP_NS NS_PER_BYTE GAP_NS_PER_BYTE and threes expected";
  if (p->loggp_range_count == PM_LOGGP_RANGES_MAX) return "more than 16 ranges";
  for (i = 0; i < 4; i++) {
    whole[i] = strtoll(word[i + 1], &end, 10);
    if (*end || whole[i] < (i == 1 ? -1000000000000 : 0) || whole[i] > 1000000000000)
      return bad_whole[i];
  }
  r.first_bytes = whole[0];
  r.latency_ns = whole[1];
  r.overhead_ns = whole[2];
  r.gap_ns = whole[3];
  if (!pm__read_real(word[5], &r.ns_per_byte) || !(r.ns_per_byte >= 0) || r.ns_per_byte > 1e9)
    return "NS_PER_BYTE: not a number from 0 to 1e9";
  if (!pm__read_real(word[6], &r.gap_ns_per_byte) || !(r.gap_ns_per_byte >= 0) ||
      r.gap_ns_per_byte > 1e9)
    return "GAP_NS_PER_BYTE: not a number from 0 to 1e9";
  if (p->loggp_range_count > 0 &&
      r.first_bytes <= p->loggp_range[p->loggp_range_count - 1].first_bytes)
    return "FROM_BYTES: sizes must ascend";
  for (i = 7; i < words && !bad; i += 3) bad = pm__platform_mode(word + i, r.noise, &r.noise_count);
  if (!bad) p->loggp_range[p->loggp_range_count++] = r;
  return bad;
}
/* ret the node's number, -1: none of that name */
static int pm__node_named(const char *name) {
  char *end;
  long number;
  if (name[0] != 'h' || !isdigit((unsigned char)name[1])) return -1;
  number = strtol(name + 1, &end, 10);
  return *end || number > PM__LINKS_MAX ? -1 : (int)number;
}
static const char *pm__platform_way(pm_platform *p, char **word, int words, int *ways_max) {
  void *array = (void *)(uintptr_t)p->ways;
  pm_way way;
  int *cable, i;
  if (words < 4) return "way FROM TO CABLE... expected";
  way.from_node = pm__node_named(word[1]);
  way.to_node = pm__node_named(word[2]);
  way.cable_count = words - 3;
  if (way.from_node < 0 || way.to_node < 0) return "it leads from node to node, h0 ...";
  if (!pm__grow(&array, ways_max, (int)p->way_count + 1, sizeof way)) return "out of memory";
  p->ways = (const pm_way *)array;
  way.cable = cable = (int *)PM_MALLOC((size_t)way.cable_count * sizeof(int));
  if (!cable) return "out of memory";
  ((pm_way *)array)[p->way_count++] = way;
  for (i = 0; i < way.cable_count; i++) {
    char *end;
    const long number = strtol(word[3 + i], &end, 10);
    if (*end || number < 1 || number > PM__LINKS_MAX) return "not the number of a cable, from 1 on";
    cable[i] = (int)number;
  }
  return NULL;
}
/* How much room there is for what may stand in any number of lines. */
typedef struct pm__lines_room {
  int links, ways;
} pm__lines_room;
/* One line of a platform, already split in words. */
static const char *pm__platform_line(pm_platform *p, char **word, int words, pm__lines_room *room) {
  const char *key = pm__platform_key(word[0]);
  char *end;
  int i;
  if (words < 2) return "key without value";
#define PM__X(field, value, text)                                                                  \
  if (strcmp(key, #field) == 0) {                                                                  \
    if (words != 2) return "one value expected";                                                   \
    errno = 0;                                                                                     \
    p->field = strtoll(word[1], &end, 10);                                                         \
    return *end || errno ? "not a whole number" : NULL;                                            \
  }
  PM_PLATFORM_INT_LIST(PM__X)
#undef PM__X
#define PM__X(field, value, text)                                                                  \
  if (strcmp(key, #field) == 0) {                                                                  \
    if (words != 2) return "one value expected";                                                   \
    return pm__read_real(word[1], &p->field) && p->field > 0 && p->field <= 1e18                   \
               ? NULL                                                                              \
               : "not a positive number";                                                          \
  }
  PM_PLATFORM_REAL_LIST(PM__X)
#undef PM__X
  if (strcmp(word[0], "name") == 0) {
    if (strlen(word[1]) >= sizeof p->name) return "name too long";
    snprintf(p->name, sizeof p->name, "%s", word[1]);
    return NULL;
  }
  if (strcmp(word[0], "topology") == 0) {
    if (words != 2) return "one name expected";
    for (i = 0; i < 5; i++)
      if (strcmp(word[1], pm__topology_names[i]) == 0) {
        p->topology = (pm_topology_kind)i;
        return NULL;
      }
    return "unknown topology";
  }
  if (strcmp(word[0], "topo") == 0) {
    if (words - 1 > 16) return "more than 16 numbers";
    memset(p->topo, 0, sizeof p->topo);
    for (i = 1; i < words; i++) {
      p->topo[i - 1] = strtoll(word[i], &end, 10);
      if (*end || p->topo[i - 1] < 1 || p->topo[i - 1] > 1000000)
        return "topo: numbers of 1 ... 1000000 expected";
    }
    return NULL;
  }
  if (strcmp(word[0], "link") == 0) {
    pm_link l;
    void *array = (void *)(uintptr_t)p->links;
    if (words < 5 || words > 6)
      return "link FROM TO BYTES_PER_S LATENCY_NS [shared|fatpipe] expected";
    memset(&l, 0, sizeof l);
    if (words == 6 && strcmp(word[5], "shared") == 0)
      l.sharing = PM_LINK_SHARED;
    else if (words == 6 && strcmp(word[5], "fatpipe") == 0)
      l.sharing = PM_LINK_FATPIPE;
    else if (words == 6)
      return "link: shared or fatpipe expected at its end";
    if (strlen(word[1]) >= sizeof l.from || strlen(word[2]) >= sizeof l.to) return "name too long";
    strcpy(l.from, word[1]);
    strcpy(l.to, word[2]);
    if (!pm__read_real(word[3], &l.bytes_per_s) || !(l.bytes_per_s > 0) || l.bytes_per_s > 1e18)
      return "not a positive bandwidth";
    l.latency_ns = strtoll(word[4], &end, 10);
    if (*end || l.latency_ns < 0 || l.latency_ns > 1000000000000) return "not a latency";
    if (!pm__grow(&array, &room->links, (int)p->link_count + 1, sizeof l)) return "out of memory";
    ((pm_link *)array)[p->link_count++] = l;
    p->links = (const pm_link *)array;
    return NULL;
  }
  if (strcmp(word[0], "way") == 0) return pm__platform_way(p, word, words, &room->ways);
  if (strcmp(word[0], "noise") == 0) {
    if (words != 4) return "noise WEIGHT MEAN_RATIO SIGMA_RATIO expected";
    return pm__platform_mode(word + 1, p->noise, &p->noise_count);
  }
  if (strcmp(word[0], "loggp_range") == 0) return pm__platform_loggp(p, word, words);
  return "unknown key";
}

static bool pm__loggp_range_is_bad(const pm_platform *p, int i) {
  const pm_loggp_range *r = &p->loggp_range[i];
  const int64_t whole[] = {r->first_bytes, r->latency_ns, r->overhead_ns, r->gap_ns};
  int k;
  for (k = 0; k < 4; k++)
    if (whole[k] < (k == 1 ? -1000000000000 : 0) || whole[k] > 1000000000000) return true;
  if (i > 0 && r->first_bytes <= p->loggp_range[i - 1].first_bytes) return true;
  if (!(r->ns_per_byte >= 0) || r->ns_per_byte > 1e9 || !(r->gap_ns_per_byte >= 0) ||
      r->gap_ns_per_byte > 1e9 || r->noise_count < 0 || r->noise_count > PM_MODES_MAX)
    return true;
  for (k = 0; k < r->noise_count; k++)
    if (!(r->noise[k].weight_ratio > 0) || !(r->noise[k].mean_ratio > 0) ||
        !(r->noise[k].sigma_ratio >= 0) || r->noise[k].weight_ratio > 1e6 ||
        r->noise[k].mean_ratio > 1e6 || r->noise[k].sigma_ratio > 1e6)
      return true;
  return false;
}
/* One that is neither 0 nor 1, by name */
static const char *pm__platform_switch(const pm_platform *p) {
  const struct {
    const char *name;
    int64_t value;
  } switches[] = {
      {"cores_are_shared", p->cores_are_shared}, {"pio_needs_volatile", p->pio_needs_volatile},
      {"pio_is_posted", p->pio_is_posted},       {"quick_ack", p->quick_ack},
      {"ack_after_write", p->ack_after_write},   {"dma_ahead", p->dma_ahead},
      {"no_pci_commands", p->no_pci_commands},   {"no_pci", p->no_pci},
      {"pci_half_duplex", p->pci_half_duplex},   {"intra_uses_nic", p->intra_uses_nic}};
  size_t i;
  for (i = 0; i < sizeof switches / sizeof *switches; i++)
    if (switches[i].value != 0 && switches[i].value != 1) return switches[i].name;
  return NULL;
}
/* Smallest and largest legal value of a whole number, by name: zero is physical for times only. */
static const char *pm__platform_range(const pm_platform *p) {
  const int64_t at_least_1[] = {
      p->node_count,        p->procs_per_node_count, p->cores_per_node_count, p->pci_packet_bytes,
      p->link_packet_bytes, p->command_queue_count,  p->nic_engine_count,     p->e2e_entry_count,
      p->cpu_poll_ns,       p->packet_bytes,         p->packet_output_bytes,  p->packet_input_bytes,
      p->nic_count,         p->pci_root_count};
  const char *const names[] = {"node_count",       "procs_per_node_count", "cores_per_node_count",
                               "pci_packet_bytes", "link_packet_bytes",    "command_queue_count",
                               "nic_engine_count", "e2e_entry_count",      "cpu_poll_ns",
                               "packet_bytes",     "packet_output_bytes",  "packet_input_bytes",
                               "nic_count",        "pci_root_count"};
  size_t i;
  for (i = 0; i < sizeof at_least_1 / sizeof *at_least_1; i++)
    if (at_least_1[i] < 1) return names[i];
  if (p->nic_engine_count > PM__ENGINES_MAX) return "nic_engine_count";
  if (p->nic_count > PM__NICS_MAX) return "nic_count";
  if (p->pci_root_count > PM__NICS_MAX) return "pci_root_count";
  if (p->loggp_range_count < 0 || p->loggp_range_count > PM_LOGGP_RANGES_MAX)
    return "loggp_range_count";
  for (i = 0; i < (size_t)p->loggp_range_count; i++)
    if (pm__loggp_range_is_bad(p, (int)i)) return "loggp_range";
  if (p->noise_count < 0 || p->noise_count > PM_MODES_MAX) return "noise_count";
  if (p->node_count > 4000000) return "node_count";
  if (p->link_count < 0 || p->link_count > PM__LINKS_MAX / 2) return "link_count";
  if (p->way_count < 0 || p->way_count > PM__WAYS_MAX) return "way_count";
  if (p->procs_per_node_count > 65535) return "procs_per_node_count";
  if (p->early_send_bytes > PM__COPY_BYTES) return "early_send_bytes";
  if (p->command_queue_count > 65536 || p->nic_pipeline_count > 65536) return "command_queue_count";
  if (p->e2e_retry_ns > 1000000000000) return "e2e_retry_ns";
  if (p->packet_bytes > 1000000000) return "packet_bytes";
  if (p->packet_routing > 2) return "packet_routing";
#define PM__X(name, value, text)                                                                   \
  if (p->name < 0 || p->name > 1000000000000) return #name;
  PM_PLATFORM_INT_LIST(PM__X)
#undef PM__X
#define PM__X(name, value, text)                                                                   \
  if (!(p->name > 0) || p->name > 1e18) return #name;
  PM_PLATFORM_REAL_LIST(PM__X)
#undef PM__X
  return NULL;
}

enum { PM__WORDS_MAX = PM__ROUTE_MAX + 4 }; /* those of a way, and one more */
/* The words of the next line. ret their number; -1: it is too long */
static int pm__platform_words(const char *text, size_t size_bytes, size_t *at, char line[512],
                              char *word[PM__WORDS_MAX]) {
  int words = 0, n = 0;
  char *s;
  for (; *at < size_bytes && text[*at] != '\n'; (*at)++) {
    if (n == 511) return -1;
    line[n++] = text[*at] ? text[*at] : '?';
  }
  ++*at;
  line[n] = 0;
  if ((s = strchr(line, '#')) != NULL) *s = 0;
  for (s = line; *s && words < PM__WORDS_MAX;) {
    while (isspace((unsigned char)*s)) s++;
    if (*s) word[words++] = s;
    while (*s && !isspace((unsigned char)*s)) s++;
    if (*s) *s++ = 0;
  }
  return words;
}
/* Keys that stand once in a file. */
#define PM__X(field, value, text) #field,
static const char *const pm__platform_once[] = {
    "name", "topology", "topo", PM_PLATFORM_INT_LIST(PM__X) PM_PLATFORM_REAL_LIST(PM__X)};
#undef PM__X
enum { PM__SAID_TOPO = 2, PM__SAID_COUNT = sizeof pm__platform_once / sizeof *pm__platform_once };
typedef struct pm__said {
  int line[PM__SAID_COUNT], of_file; /* where; 0: nowhere. of_file: a link or a way */
} pm__said;
/* ret 0, or the line that has said this key before */
static int pm__platform_say(pm__said *said, const char *key, int line_number) {
  int i = 0, before;
  if (strcmp(key, "link") == 0 || strcmp(key, "way") == 0) {
    if (!said->of_file) said->of_file = line_number;
    return 0;
  }
  key = pm__platform_key(key);
  while (i < PM__SAID_COUNT && strcmp(key, pm__platform_once[i]) != 0) i++;
  if (i == PM__SAID_COUNT) return 0;
  before = said->line[i];
  said->line[i] = line_number;
  return before;
}
/* What another topology takes would be passed over without a word. */
static pm_status pm__platform_takes(const pm_platform *p, const pm__said *said, char *error,
                                    size_t error_bytes) {
  const char *const name = pm__topology_names[p->topology];
  const int topo = said->line[PM__SAID_TOPO];
  if (said->of_file && p->topology != PM_TOPO_FILE)
    return pm__platform_error(error, error_bytes,
                              "line %d: %s: of topology file alone, this one is %s", said->of_file,
                              p->link_count ? "link" : "way", name);
  if (topo && (p->topology == PM_TOPO_FILE || p->topology == PM_TOPO_CROSSBAR))
    return pm__platform_error(error, error_bytes, "line %d: topo: topology %s takes no numbers",
                              topo, name);
  return PM_OK;
}
/* said: NULL, or of a file */
static pm_status pm__platform_lines(const char *text, size_t size_bytes, pm_platform *p,
                                    pm__said *said, char *error, size_t error_bytes) {
  size_t at = 0;
  pm__lines_room room = {0, 0};
  int line_number = 0;
  while (at < size_bytes) {
    char line[512], *word[PM__WORDS_MAX];
    const int words = pm__platform_words(text, size_bytes, &at, line, word);
    const char *bad;
    int before;
    line_number++;
    if (words < 0)
      return pm__platform_error(error, error_bytes, "line %d: longer than 510 characters",
                                line_number);
    if (!words) continue;
    bad = pm__platform_line(p, word, words, &room);
    if (!bad) bad = pm__platform_switch(p) ? "0 or 1 expected" : NULL;
    if (!bad) bad = pm__platform_range(p) ? "value out of range" : NULL;
    if (bad)
      return pm__platform_error(error, error_bytes, "line %d: %s: %s", line_number, word[0], bad);
    before = said ? pm__platform_say(said, word[0], line_number) : 0;
    if (before)
      return pm__platform_error(error, error_bytes, "line %d: %s: line %d has said it already",
                                line_number, word[0], before);
  }
  return said ? pm__platform_takes(p, said, error, error_bytes) : PM_OK;
}
static pm_status pm__platform_read(const char *text, size_t size_bytes, pm_platform *platform,
                                   pm__said *said, char *error, size_t error_bytes) {
  pm_platform p = pm_platform_bxi2(2);
  pm_status status;
  if (!text || !platform) return PM_E_INVAL;
  memset(platform, 0, sizeof *platform);
  status = pm__platform_lines(text, size_bytes, &p, said, error, error_bytes);
  if (!status) status = pm_platform_check(&p, error, error_bytes);
  if (status)
    pm_platform_free(&p);
  else
    *platform = p;
  return status;
}
PM_API pm_status pm_platform_read(const char *text, size_t size_bytes, pm_platform *platform,
                                  char *error, size_t error_bytes) {
  return pm__platform_read(text, size_bytes, platform, NULL, error, error_bytes);
}

/* What the file holds, n bytes of it. ret PM_OK, and the text to be freed, or why not */
static pm_status pm__platform_text(const char *path, char **text, int *n, const char **why) {
  FILE *in = fopen(path, "rb");
  int max = 0, got;
  pm_status status = PM_OK;
  *text = NULL;
  *n = 0;
  if (!in) {
    *why = strerror(errno);
    return PM_E_IO;
  }
  do {
    if (*n > (1 << 26) || !pm__grow((void **)text, &max, *n + 65536, 1)) {
      *why = *n > (1 << 26) ? "longer than 64 MiB" : "out of memory";
      status = PM_E_NOMEM;
      break;
    }
    got = (int)fread(*text + *n, 1, 65536, in);
    *n += got;
  } while (got > 0);
  if (ferror(in)) { /* a folder can be opened, and not be read */
    *why = strerror(errno);
    status = PM_E_IO;
  }
  fclose(in);
  return status;
}
PM_API pm_status pm_platform_load(const char *path, pm_platform *platform, char *error,
                                  size_t error_bytes) {
  char *text, what[256] = "";
  const char *why = what, *end;
  int n;
  pm__said said;
  pm_status status;
  if (!path || !platform) return PM_E_INVAL;
  memset(&said, 0, sizeof said);
  memset(platform, 0, sizeof *platform);
  status = pm__platform_text(path, &text, &n, &why);
  if (!status) status = pm__platform_read(text, (size_t)n, platform, &said, what, sizeof what);
  PM_FREE(text);
  if (!status) return PM_OK;
  /* Of a long path its end, so that what follows has room. */
  end = path + (strlen(path) > error_bytes / 2 ? strlen(path) - error_bytes / 2 : 0);
  pm__platform_error(error, error_bytes, "%s%s: %s", end == path ? "" : "...", end,
                     why[0] ? why : pm_status_text(status));
  return status;
}

PM_API void pm_platform_free(pm_platform *platform) {
  int64_t i;
  if (!platform) return;
  for (i = 0; i < platform->way_count; i++) PM_FREE((void *)(uintptr_t)platform->ways[i].cable);
  PM_FREE((void *)(uintptr_t)platform->ways);
  PM_FREE((void *)(uintptr_t)platform->links);
  platform->ways = NULL;
  platform->links = NULL;
  platform->link_count = platform->way_count = 0;
}

/* All 17 digits, with a point whatever the locale says. */
static const char *pm__real_text(double value, char text[40]) {
  char *from = text, *to = text;
  snprintf(text, 40, "%.17g", value);
  for (; *from; from++)
    if (strchr("0123456789e+-", *from))
      *to++ = *from;
    else if (to == text || to[-1] != '.')
      *to++ = '.';
  *to = 0;
  return text;
}
static void pm__loggp_write(const pm_loggp_range *r, FILE *out) {
  char real[3][40];
  int i;
  fprintf(out, "loggp_range %lld %lld %lld %lld %s %s", (long long)r->first_bytes,
          (long long)r->latency_ns, (long long)r->overhead_ns, (long long)r->gap_ns,
          pm__real_text(r->ns_per_byte, real[0]), pm__real_text(r->gap_ns_per_byte, real[1]));
  for (i = 0; i < r->noise_count; i++)
    fprintf(out, " %s %s %s", pm__real_text(r->noise[i].weight_ratio, real[0]),
            pm__real_text(r->noise[i].mean_ratio, real[1]),
            pm__real_text(r->noise[i].sigma_ratio, real[2]));
  fprintf(out, "\n");
}
/* Filled by hand: what is counted is there. */
static bool pm__is_written_whole(const pm_platform *p) {
  int i;
  if ((unsigned)p->topology > PM_TOPO_FILE || p->noise_count > PM_MODES_MAX ||
      p->loggp_range_count > PM_LOGGP_RANGES_MAX || (p->link_count > 0 && !p->links) ||
      (p->way_count > 0 && !p->ways))
    return false;
  for (i = 0; i < p->loggp_range_count; i++)
    if (p->loggp_range[i].noise_count > PM_MODES_MAX) return false;
  return true;
}
PM_API pm_status pm_platform_write(const pm_platform *p, FILE *out) {
  char real[3][40];
  int i;
  int64_t k;
  if (!p || !out) return PM_E_INVAL;
  if (!pm__is_written_whole(p)) return PM_E_PLATFORM;
  fprintf(out, "name %s\ntopology %s\n", p->name[0] ? p->name : "-",
          pm__topology_names[p->topology]);
  if (p->topo[0] && p->topology != PM_TOPO_CROSSBAR && p->topology != PM_TOPO_FILE) {
    fprintf(out, "topo");
    for (i = 0; i < 16 && p->topo[i]; i++) fprintf(out, " %lld", (long long)p->topo[i]);
    fprintf(out, "\n");
  }
#define PM__X(field, value, text)                                                                  \
  fprintf(out, "%-28s %-14lld # %s\n", #field, (long long)p->field, text);
  PM_PLATFORM_INT_LIST(PM__X)
#undef PM__X
#define PM__X(field, value, text)                                                                  \
  fprintf(out, "%-28s %-14s # %s\n", #field, pm__real_text(p->field, real[0]), text);
  PM_PLATFORM_REAL_LIST(PM__X)
#undef PM__X
  for (k = 0; p->topology == PM_TOPO_FILE && k < p->link_count; k++)
    fprintf(out, "link %s %s %s %lld%s\n", p->links[k].from, p->links[k].to,
            pm__real_text(p->links[k].bytes_per_s, real[0]), (long long)p->links[k].latency_ns,
            p->links[k].sharing == PM_LINK_SHARED    ? " shared"
            : p->links[k].sharing == PM_LINK_FATPIPE ? " fatpipe"
                                                     : "");
  for (k = 0; p->topology == PM_TOPO_FILE && k < p->way_count; k++) {
    fprintf(out, "way h%d h%d", p->ways[k].from_node, p->ways[k].to_node);
    for (i = 0; i < p->ways[k].cable_count; i++) fprintf(out, " %d", p->ways[k].cable[i]);
    fprintf(out, "\n");
  }
  for (i = 0; i < p->noise_count; i++)
    fprintf(out, "noise %s %s %s\n", pm__real_text(p->noise[i].weight_ratio, real[0]),
            pm__real_text(p->noise[i].mean_ratio, real[1]),
            pm__real_text(p->noise[i].sigma_ratio, real[2]));
  for (i = 0; i < p->loggp_range_count; i++) pm__loggp_write(&p->loggp_range[i], out);
  return ferror(out) ? PM_E_IO : PM_OK;
}

PM__PRIVATE void pm__graph_free(pm__graph *g, int nodes) {
  int i;
  if (!g) return;
  if (g->next)
    for (i = 0; i < nodes; i++) PM_FREE(g->next[i]);
  PM_FREE(g->names);
  PM_FREE(g->end);
  PM_FREE(g->sharing);
  PM_FREE(g->inner);
  PM_FREE(g->latency_ns);
  PM_FREE(g->least_ns);
  PM_FREE(g->bytes_per_s);
  PM_FREE(g->first);
  PM_FREE(g->out);
  PM_FREE(g->next);
  PM_FREE(g->queue);
  PM_FREE(g->given);
  PM_FREE(g->given_link);
  PM_FREE(g);
}

/* A node's number, or that of a switch, which is new or found by its name: in `places`, a table of switches by their
   hash, at least twice as many as there can be. */
static int pm__graph_vertex(pm__graph *g, const char *name, int nodes, int *places, uint32_t max) {
  uint64_t hash = 0xCBF29CE484222325u; /* Fowler, Noll and Vo's, of 64 bits, variant 1a */
  uint32_t at;
  char *end;
  int i;
  if (name[0] == 'h' && isdigit((unsigned char)name[1])) {
    long v = strtol(name + 1, &end, 10);
    if (!*end) return v < nodes ? (int)v : -1;
  }
  for (i = 0; name[i]; i++) hash = (hash ^ (unsigned char)name[i]) * 0x100000001B3u;
  for (at = (uint32_t)(hash ^ hash >> 32) & (max - 1); places[at]; at = (at + 1) & (max - 1))
    if (strcmp(g->names[places[at] - 1], name) == 0) return nodes + places[at] - 1;
  strcpy(g->names[g->vertices - nodes], name);
  places[at] = g->vertices - nodes + 1;
  return g->vertices++;
}
/* The cables' ends, by name. ret false: no memory, or (then error says it) a cable has none */
static bool pm__graph_ends(pm__graph *g, const pm_platform *p, char *error, size_t error_bytes) {
  const int nodes = (int)p->node_count, n = (int)p->link_count;
  uint32_t max = 4;
  int *places, i, a = 0, b = 0;
  bool is_second = false;
  while (max < 4 * (uint32_t)n) max *= 2;
  places = (int *)pm__zalloc(max * sizeof *places);
  if (!places) return false;
  for (i = 0; i < n && a >= 0 && b >= 0 && !is_second; i++) {
    const pm_link *l = &p->links[i];
    a = pm__graph_vertex(g, l->from, nodes, places, max);
    b = pm__graph_vertex(g, l->to, nodes, places, max);
    g->end[2 * i] = b;
    g->end[2 * i + 1] = a;
    g->latency_ns[i] = l->latency_ns;
    g->bytes_per_s[i] = l->bytes_per_s;
    g->sharing[i] = (unsigned char)l->sharing;
    g->shares |= l->sharing != PM_LINK_EACH_WAY;
    is_second = a == b && a >= 0 && g->inner[a] >= 0;
    if (a == b && a >= 0) g->inner[a] = 2 * i, g->has_inner = true;
  }
  PM_FREE(places);
  if (a >= 0 && b >= 0 && !is_second) return true;
  pm__platform_error(error, error_bytes, "link %d (%s %s): %s", i, p->links[i - 1].from,
                     p->links[i - 1].to,
                     is_second ? "the second one within it" : "node beyond node_count");
  return false;
}

/* The way's links, from its cables. ret NULL, or what is wrong; cable: there, or 0 */
static const char *pm__graph_way(pm__graph *g, const pm_way *way, const pm__given *out,
                                 int *cable) {
  int *const link = g->given_link + out->first;
  int at = way->from_node, steps = g->inner[at] >= 0, i, k;
  for (i = 0; i < way->cable_count; i++) {
    const int of = 2 * (way->cable[i] - 1);
    *cable = way->cable[i];
    if (way->cable[i] < 1 || way->cable[i] > g->cables) return "there is none of that number";
    if (g->end[of] == g->end[of + 1]) return "it lies within a switch or node";
    if (at != g->end[of] && at != g->end[of + 1])
      return "it does not lead on from where the way is";
    link[i] = of + (at == g->end[of]);
    at = g->end[link[i]];
    steps += 1 + (g->inner[at] >= 0);
    if (at == way->from_node) return "it leads back to where the way begins";
    for (k = 0; k < i; k++)
      if (g->end[link[k]] == at) return "it leads to where the way has been";
  }
  *cable = 0;
  if (at != way->to_node) return "its cables end elsewhere";
  return steps > PM__ROUTE_MAX ? "longer than 62 links" : NULL;
}
static int pm__given_order(const void *a, const void *b) {
  const pm__given *x = (const pm__given *)a, *y = (const pm__given *)b;
  return x->from != y->from ? (x->from < y->from ? -1 : 1) : (x->to > y->to) - (x->to < y->to);
}
/* NULL: none is given */
static const pm__given *pm__given_find(const pm__graph *g, int from, int to) {
  const pm__given way = {from, to, 0, 0};
  return g->given_count ? (const pm__given *)bsearch(&way, g->given, (size_t)g->given_count,
                                                     sizeof way, pm__given_order)
                        : NULL;
}
/* Ways that the platform gives. ret false: no memory, or (then error says it) one is none */
static bool pm__graph_ways(pm__graph *g, const pm_platform *p, char *error, size_t error_bytes) {
  const int64_t nodes = p->node_count;
  int64_t i, links = 0;
  for (i = 0; i < p->way_count; i++)
    links += p->ways[i].cable_count > PM__ROUTE_MAX ? PM__ROUTE_MAX + 1 : p->ways[i].cable_count;
  g->given = (pm__given *)pm__zalloc((size_t)(p->way_count + 1) * sizeof *g->given);
  g->given_link = (int *)pm__zalloc((size_t)(links + 1) * sizeof *g->given_link);
  if (!g->given || !g->given_link) return false;
  for (i = 0, links = 0; i < p->way_count; i++) {
    const pm_way *way = &p->ways[i];
    pm__given *out = &g->given[i];
    const char *bad = NULL;
    int cable = 0;
    out->from = way->from_node;
    out->to = way->to_node;
    out->first = (int)links;
    out->count = way->cable_count;
    if (way->from_node < 0 || way->from_node >= nodes || way->to_node < 0 || way->to_node >= nodes)
      bad = "node beyond node_count";
    else if (way->from_node == way->to_node)
      bad = "to itself";
    else if (way->cable_count < 1 || way->cable_count > PM__ROUTE_MAX || !way->cable)
      bad = "1 to 62 cables expected";
    else
      bad = pm__graph_way(g, way, out, &cable);
    if (bad) {
      char at[32] = "";
      if (cable) snprintf(at, sizeof at, "cable %d: ", cable);
      pm__platform_error(error, error_bytes, "way %lld (h%d to h%d): %s%s", (long long)(i + 1),
                         way->from_node, way->to_node, at, bad);
      return false;
    }
    links += way->cable_count;
  }
  g->given_count = (int)p->way_count;
  qsort(g->given, (size_t)g->given_count, sizeof *g->given, pm__given_order);
  for (i = 1; i < g->given_count; i++)
    if (pm__given_order(&g->given[i - 1], &g->given[i]) == 0) {
      pm__platform_error(error, error_bytes, "way: h%d to h%d is given twice", g->given[i].from,
                         g->given[i].to);
      return false;
    }
  return true;
}

PM__PRIVATE pm__graph *pm__graph_make(const pm_platform *p, char *error, size_t error_bytes) {
  int nodes = (int)p->node_count, n = (int)p->link_count, i, v;
  pm__graph *g = (pm__graph *)pm__zalloc(sizeof *g);
  if (!g) return NULL;
  g->vertices = nodes;
  g->cables = n;
  g->bytes_left = PM__TABLES_BYTES;
  g->names = (char(*)[24])pm__zalloc((size_t)(2 * n + 1) * 24);
  g->end = (int *)pm__zalloc((size_t)(2 * n + 1) * sizeof(int));
  g->latency_ns = (int64_t *)pm__zalloc((size_t)(n + 1) * sizeof(int64_t));
  g->least_ns = (int64_t *)pm__zalloc((size_t)(nodes + 2 * n + 1) * sizeof(int64_t));
  g->sharing = (unsigned char *)pm__zalloc((size_t)n + 1);
  g->inner = (int *)PM_MALLOC((size_t)(nodes + 2 * n + 1) * sizeof(int));
  for (v = 0; g->inner && v < nodes + 2 * n; v++) g->inner[v] = -1;
  g->bytes_per_s = (double *)pm__zalloc((size_t)(n + 1) * sizeof(double));
  g->first = (int *)pm__zalloc((size_t)(nodes + 2 * n + 2) * sizeof(int));
  g->out = (int *)pm__zalloc((size_t)(2 * n + 1) * sizeof(int));
  g->next = (int **)pm__zalloc((size_t)nodes * sizeof(int *));
  g->queue = (int *)pm__zalloc((size_t)(nodes + 2 * n + 1) * sizeof(int));
  if (!g->names || !g->end || !g->latency_ns || !g->least_ns || !g->bytes_per_s || !g->first ||
      !g->out || !g->next || !g->queue || !g->sharing || !g->inner ||
      !pm__graph_ends(g, p, error, error_bytes) || !pm__graph_ways(g, p, error, error_bytes)) {
    pm__graph_free(g, nodes);
    return NULL;
  }
  for (i = 0; i < 2 * n; i++) g->first[g->end[i ^ 1] + 1] += g->end[i] != g->end[i ^ 1];
  for (v = 0; v < g->vertices; v++) g->first[v + 1] += g->first[v];
  for (i = 2 * n - 1; i >= 0; i--) /* what is within a vertex leads nowhere */
    if (g->end[i] != g->end[i ^ 1])
      g->out[g->first[g->end[i ^ 1]]++] = i; /* first[v] moves to its end ... */
  for (v = g->vertices; v > 0; v--) g->first[v] = g->first[v - 1]; /* ... and back */
  g->first[0] = 0;
  for (v = nodes; v < g->vertices; v++)
    for (i = g->first[v]; i < g->first[v + 1]; i++)
      if (i == g->first[v] || g->latency_ns[g->out[i] / 2] < g->least_ns[v])
        g->least_ns[v] = g->latency_ns[g->out[i] / 2];
  return g;
}

/* Next links towards one destination: breadth first from it. Among equals the destination number
   chooses, so that traffic to many destinations spreads. 0 when out of memory, or (is_full) when all tables
   together would take more than they may. */
static int pm__graph_towards(pm__graph *g, int destination) {
  const size_t bytes = (size_t)g->vertices * sizeof(int);
  int *next = NULL, *dist, head = 0, tail = 0, v, k, seen;
  if (bytes > g->bytes_left) {
    g->is_full = true;
    return 0;
  }
  next = (int *)PM_MALLOC(bytes);
  dist = (int *)PM_MALLOC((size_t)g->vertices * sizeof(int));
  if (!next || !dist) {
    PM_FREE(next);
    PM_FREE(dist);
    return 0;
  }
  for (v = 0; v < g->vertices; v++) next[v] = dist[v] = -1;
  dist[destination] = 0;
  g->queue[tail++] = destination;
  while (head < tail) {
    v = g->queue[head++];
    for (k = g->first[v]; k < g->first[v + 1]; k++) {
      int u = g->end[g->out[k]];
      if (dist[u] < 0) dist[u] = dist[v] + 1, g->queue[tail++] = u;
    }
  }
  for (v = 0; v < g->vertices; v++) {
    int choices = 0;
    if (dist[v] <= 0) continue;
    for (k = g->first[v]; k < g->first[v + 1]; k++)
      choices += dist[g->end[g->out[k]]] == dist[v] - 1;
    for (k = g->first[v], seen = 0; k < g->first[v + 1]; k++)
      if (dist[g->end[g->out[k]]] == dist[v] - 1 && seen++ == destination % choices)
        next[v] = g->out[k];
  }
  PM_FREE(dist);
  g->bytes_left -= bytes;
  g->next[destination] = next;
  return 1;
}

/* Stops at 1e18. */
static int64_t pm__times_at_most(int64_t a, int64_t b) {
  const int64_t most = 1000000000000000000;
  return a && b > most / a ? most : a * b;
}
static int64_t pm__product(const int64_t *v, int64_t n) {
  int64_t p = 1;
  while (n-- > 0) p = pm__times_at_most(p, *v++);
  return p;
}

/* Global cables between each two groups: the routers' ports, dealt out evenly. Cable k of a group to its
   other group number i is port k * (groups - 1) + i of the group; router port / h has it. Destinations are
   dealt out in blocks: the cable is one that lands at, or near, the destination's router. */
PM__PRIVATE int64_t pm__dragonfly_cables(const int64_t *t) {
  return t[0] > 1 ? pm__times_at_most(t[1], t[3]) / (t[0] - 1) : 1;
}
/* Numbers of directed links: crossbar 2 per node. Fat tree: 2 per (child, up port), level by level.
   Torus: 2 per node to its router, then 2 per dimension and router. Dragonfly: 2 per node, then a*a
   per group, then g*g times the cables between each two groups. File: 2 per cable. */
PM__PRIVATE int64_t pm__topology_links(const pm_platform *p) {
  const int64_t *t = p->topo;
  int64_t n = p->node_count, sum = 0, l;
  switch (p->topology) {
  case PM_TOPO_CROSSBAR: return 2 * n;
  case PM_TOPO_FATTREE:
    for (l = 0; l < t[0]; l++)
      if (sum <= PM__LINKS_MAX)
        sum += 2 * pm__times_at_most(pm__product(t + 1 + l, t[0] - l),
                                     pm__product(t + 1 + t[0], l + 1));
    return sum;
  case PM_TOPO_TORUS: return 2 * n + 2 * t[0] * n;
  case PM_TOPO_DRAGONFLY:
    return 2 * n + pm__times_at_most(t[0] * t[1], t[1]) +
           pm__times_at_most(t[0] * t[0], pm__dragonfly_cables(t));
  case PM_TOPO_FILE: return 2 * p->link_count;
  }
  return 0;
}

static pm_status pm__topology_check(const pm_platform *p, char *error, size_t error_bytes) {
  const int64_t *t = p->topo;
  int64_t nodes = p->node_count, hops = 2, i;
  switch (p->topology) {
  case PM_TOPO_CROSSBAR: break;
  case PM_TOPO_FATTREE:
    if (t[0] < 1 || t[0] > 7) return pm__platform_error(error, error_bytes, "topo: 1 to 7 levels");
    for (i = 1; i <= 2 * t[0]; i++)
      if (t[i] < 1)
        return pm__platform_error(error, error_bytes,
                                  "topo: levels, then as many down and up counts");
    if (pm__product(t + 1, t[0]) != nodes)
      return pm__platform_error(error, error_bytes,
                                "topo: the fat tree has %lld nodes, node_count is %lld",
                                (long long)pm__product(t + 1, t[0]), (long long)nodes);
    break;
  case PM_TOPO_TORUS:
    if (t[0] < 1 || t[0] > 8)
      return pm__platform_error(error, error_bytes, "topo: 1 to 8 dimensions");
    for (i = 1; i <= t[0]; i++) hops += t[i] / 2;
    if (pm__product(t + 1, t[0]) != nodes)
      return pm__platform_error(error, error_bytes,
                                "topo: the torus has %lld nodes, node_count is %lld",
                                (long long)pm__product(t + 1, t[0]), (long long)nodes);
    break;
  case PM_TOPO_DRAGONFLY:
    if (pm__product(t, 3) != nodes)
      return pm__platform_error(error, error_bytes,
                                "topo: the dragonfly has %lld nodes, node_count is %lld",
                                (long long)pm__product(t, 3), (long long)nodes);
    if (t[1] * t[3] < t[0] - 1)
      return pm__platform_error(error, error_bytes,
                                "topo: too few global links to reach all groups");
    break;
  case PM_TOPO_FILE: break;
  default: return pm__platform_error(error, error_bytes, "topology: unknown");
  }
  if (hops > PM__ROUTE_MAX)
    return pm__platform_error(error, error_bytes, "topo: a route of %lld links, at most %d",
                              (long long)hops, PM__ROUTE_MAX);
  if (p->topology == PM_TOPO_FILE) {
    pm__graph *g;
    char why[256] = "";
    int v, steps, far = -1;
    if (!p->links || p->link_count < 1)
      return pm__platform_error(error, error_bytes, "topology file without a link");
    g = pm__graph_make(p, why, sizeof why);
    if (!g) return why[0] ? pm__platform_error(error, error_bytes, "%s", why) : PM_E_NOMEM;
    if (!pm__graph_towards(g, 0)) {
      pm__graph_free(g, (int)nodes);
      return PM_E_NOMEM;
    }
    if (g->first[1] == 0) {
      pm__graph_free(g, (int)nodes);
      return pm__platform_error(error, error_bytes, "links: h0 has none");
    }
    for (v = 1; v < nodes && far < 0; v++)
      for (steps = g->inner[v] >= 0, i = v; i != 0 && far < 0; steps += 1 + (g->inner[i] >= 0)) {
        if (g->next[0][i] < 0 || steps >= PM__ROUTE_MAX / 2)
          far = v;
        else
          i = g->end[g->next[0][i]];
      }
    pm__graph_free(g, (int)nodes);
    if (far >= 0)
      return pm__platform_error(error, error_bytes,
                                "links: no way between h%d and h0 (or a longer one than %d links)",
                                far, PM__ROUTE_MAX / 2);
  }
  return PM_OK;
}

PM_API bool pm_platform_lacks_loggp(const pm_platform *p) {
  const pm_platform bxi = pm_platform_bxi2(2);
  if (!p || p->loggp_range_count > 0) return false;
  return p->loggp_latency_ns == bxi.loggp_latency_ns &&
         p->loggp_overhead_ns == bxi.loggp_overhead_ns && p->loggp_gap_ns == bxi.loggp_gap_ns &&
         p->loggp_bytes_per_s == bxi.loggp_bytes_per_s &&
         (p->topology == PM_TOPO_FILE || p->link_bytes_per_s != bxi.link_bytes_per_s ||
          p->wire_latency_ns != bxi.wire_latency_ns ||
          p->switch_latency_ns != bxi.switch_latency_ns);
}

PM_API pm_status pm_platform_check(const pm_platform *p, char *error, size_t error_bytes) {
  const char *bad;
  pm_status status;
  if (!p) return PM_E_INVAL;
  bad = pm__platform_switch(p);
  if (bad) return pm__platform_error(error, error_bytes, "%s: 0 or 1 expected", bad);
  bad = pm__platform_range(p);
  if (bad) return pm__platform_error(error, error_bytes, "%s: value out of range", bad);
  if (p->pci_root_count > p->nic_count)
    return pm__platform_error(error, error_bytes, "pci_root_count: %lld roots for %lld NICs",
                              (long long)p->pci_root_count, (long long)p->nic_count);
  if (p->nic_count > 1 && p->inflight_per_node_count)
    return pm__platform_error(error, error_bytes, "inflight_per_node_count: not with several NICs");
  status = pm__topology_check(p, error, error_bytes);
  if (status == PM_OK && pm__topology_links(p) > PM__LINKS_MAX / p->nic_count)
    return pm__platform_error(error, error_bytes, "topo: %lld links on %lld rails, at most %d",
                              (long long)pm__topology_links(p), (long long)p->nic_count,
                              (int)PM__LINKS_MAX);
  return status;
}

/* A way of a fat tree is the sum of two rows. A row says of a node, for each level: the first cable above its switch, or
   itself, that port 0 of D-mod-K (the port above level l is digit l of the destination) would take at the left edge of
   the tree, and what the node as a destination adds to that, by the ports chosen on the way up: from the source's
   switch that is the cable up, from its own the one down. Links are twice that, and one more on the way down, which the
   second number holds: it is never 0 in a row that has been made. */
PM__PRIVATE void pm__tree_row(const pm_platform *p, int64_t node, const int *choice,
                              uint32_t *row) {
  const int64_t h = p->topo[0], *m = p->topo + 1, *up = m + h;
  int64_t span = 1, width = 1, first = 0, branch = 0, l;
  for (l = 0; l < h; l++) {
    const int64_t port = choice && choice[l] >= 0 ? choice[l] : node / width % up[l];
    row[2 * l] = (uint32_t)(2 * (first + node / span * width * up[l]));
    row[2 * l + 1] = (uint32_t)(2 * (branch * up[l] + port) + 1);
    first += p->node_count / span * width * up[l];
    branch += port * width;
    span *= m[l];
    width *= up[l];
  }
}
/* Up to the lowest switch that has both below it, and down. */
PM__PRIVATE int pm__tree_join(int h, const uint32_t *from, const uint32_t *to, uint32_t *out) {
  int top = 1, l;
  while (top < h && from[2 * top] != to[2 * top]) top++;
  for (l = 0; l < top; l++) {
    out[l] = from[2 * l] + to[2 * l + 1] - 1;
    out[2 * top - 1 - l] = to[2 * l] + to[2 * l + 1];
  }
  return 2 * top;
}
PM__PRIVATE int pm__fattree_way(const pm_platform *p, int64_t src, int64_t dst, const int *choice,
                                uint32_t *out) {
  uint32_t from[16], to[16]; /* 7 levels at most */
  pm__tree_row(p, src, NULL, from);
  pm__tree_row(p, dst, choice, to);
  return pm__tree_join((int)p->topo[0], from, to, out);
}

static int pm__route_torus(const pm_platform *p, int64_t src, int64_t dst, uint32_t *out) {
  int64_t d = p->topo[0], at = src, stride = 1, nodes = p->node_count, i;
  int n = 0;
  out[n++] = (uint32_t)(2 * src);
  for (i = 0; i < d; i++) {
    int64_t size = p->topo[1 + i], from = src / stride % size, to = dst / stride % size;
    int64_t forward = (to - from + size) % size,
            steps = forward <= size - forward ? forward : size - forward;
    int back = forward > size - forward;
    while (steps-- > 0) {
      int64_t x = at / stride % size, y = (x + (back ? size - 1 : 1)) % size;
      out[n++] = (uint32_t)(2 * nodes + 2 * (i * nodes + at) + back);
      at += (y - x) * stride;
    }
    stride *= size;
  }
  out[n++] = (uint32_t)(2 * dst + 1);
  return n;
}

PM__PRIVATE int64_t pm__dragonfly_global(const pm_platform *p) {
  return 2 * p->node_count + p->topo[0] * p->topo[1] * p->topo[1];
}
/* From router *r of one group to another group, by the cable for dst: *r is the router where it lands. */
static int pm__dragonfly_leg(const pm_platform *p, int64_t from, int64_t to, int64_t dst,
                             int64_t *r, uint32_t *out) {
  const int64_t g = p->topo[0], a = p->topo[1], h = p->topo[3], of = a * p->topo[2],
                cables = pm__dragonfly_cables(p->topo), k = dst % of * cables / of,
                leave = (k * (g - 1) + (to < from ? to : to - 1)) / h;
  int n = 0;
  if (*r != leave) out[n++] = (uint32_t)(2 * p->node_count + from * a * a + *r * a + leave);
  out[n++] = (uint32_t)(pm__dragonfly_global(p) + (from * g + to) * cables + k);
  *r = (k * (g - 1) + (from < to ? from : from - 1)) / h;
  return n;
}
PM__PRIVATE int pm__dragonfly_way(const pm_platform *p, int64_t src, int64_t dst, int64_t via,
                                  uint32_t *out) {
  const int64_t a = p->topo[1], per = p->topo[2], gd = dst / (a * per), rd = dst / per % a;
  int64_t at = src / (a * per), r = src / per % a;
  int n = 0;
  out[n++] = (uint32_t)(2 * src);
  if (via >= 0) {
    n += pm__dragonfly_leg(p, at, via, dst, &r, out + n);
    at = via;
  }
  if (at != gd) n += pm__dragonfly_leg(p, at, gd, dst, &r, out + n);
  if (r != rd) out[n++] = (uint32_t)(2 * p->node_count + gd * a * a + r * a + rd);
  out[n++] = (uint32_t)(2 * dst + 1);
  return n;
}
PM__PRIVATE bool pm__torus_is_edge(const pm_platform *p, int64_t link) {
  const int64_t pair = link / 2 - p->node_count, i = pair / p->node_count;
  int64_t at = pair % p->node_count, k;
  for (k = 0; k < i; k++) at /= p->topo[1 + k];
  at %= p->topo[1 + i];
  return link % 2 ? at == 0 : at == p->topo[1 + i] - 1;
}

/* Links from node to node and the latency of the way; graph: of a platform with links from a file.
   From a node to itself: over a cable of its own and back. -1: no way (or no memory). */
PM__PRIVATE int pm__way(const pm_platform *p, pm__graph *graph, int src, int dst, uint32_t *out,
                        int64_t *latency_ps) {
  int n = 0;
  int64_t latency_ns = p->wire_latency_ns;
  if (p->topology == PM_TOPO_FILE) {
    const pm__given *const given = pm__given_find(graph, src, dst);
    int at = src, step = 0;
    latency_ns = 0;
    if (src == dst) {
      const int first = graph->first[src], cables = graph->first[src + 1] - first;
      out[0] = (uint32_t)graph->out[first + src % cables];
      out[1] = out[0] ^ 1;
      *latency_ps = 2 * graph->latency_ns[out[0] / 2] * PM__PS;
      return 2;
    }
    if (!given && !graph->next[dst] && !pm__graph_towards(graph, dst)) return -1;
    for (;; step++) {
      const int link = at == dst ? -1
                       : given   ? graph->given_link[given->first + step]
                                 : graph->next[dst][at],
                inner = graph->inner[at];
      if ((at != dst && link < 0) || n + (at != dst) + (inner >= 0) > PM__ROUTE_MAX) return -1;
      if (inner >= 0) {
        latency_ns += graph->latency_ns[inner / 2];
        out[n++] = (uint32_t)inner;
      }
      if (at == dst) break;
      latency_ns += graph->latency_ns[link / 2];
      out[n++] = (uint32_t)link;
      at = graph->end[link];
    }
    *latency_ps = latency_ns * PM__PS;
    return n;
  }
  if (p->topology == PM_TOPO_CROSSBAR) {
    out[n++] = (uint32_t)(2 * src);
    out[n++] = (uint32_t)(2 * dst + 1);
  } else if (p->topology == PM_TOPO_FATTREE)
    n = pm__fattree_way(p, src, dst, NULL, out);
  else if (p->topology == PM_TOPO_TORUS)
    n = pm__route_torus(p, src, dst, out);
  else
    n = pm__dragonfly_way(p, src, dst, -1, out);
  latency_ns += (n - 1) * p->switch_latency_ns;
  *latency_ps = latency_ns * PM__PS;
  return n;
}
