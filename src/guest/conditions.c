/* Conditions of a run: --semantics, --faults, --jitter. */
#include "guest.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- switches where implementations of Portals differ --------------------------------------------------------- */
#define SWITCHES(X)                                                                                \
  X(pt_any_lowest)                                                                                 \
  X(pt_free_purges)                                                                                \
  X(setmap_again)                                                                                  \
  X(eq_drops_newest)                                                                               \
  X(trigger_success_only)                                                                          \
  X(search_closing_event)                                                                          \
  X(uid_is_matched)                                                                                \
  X(offset_beyond_is_segv)                                                                         \
  X(md_release_in_use)                                                                             \
  X(pt_missing_undeliverable)                                                                      \
  X(success_disable_overflow) X(oc_ack_counts_success) X(frees_interrupt)
static pm_semantics semantics;
static void set_semantics(const char *option, const char *text) {
#define X(name) {#name, &semantics.name},
  const struct {
    const char *name;
    int *value;
  } known[] = {SWITCHES(X)};
#undef X
  const size_t bytes = strcspn(text, "=");
  char names[512] = "";
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (strlen(known[i].name) == bytes && strncmp(text, known[i].name, bytes) == 0) {
      *known[i].value = text[bytes] ? (int)guest_number(option, text + bytes + 1, 0, 2) : 1;
      return;
    }
    snprintf(names + strlen(names), sizeof names - strlen(names), " %s", known[i].name);
  }
  guest_refuse("%s: %.*s: unknown; there are:%s", option, (int)bytes, text, names);
}

/* ---- faults ----------------------------------------------------------------------------------------------------- */
static pm_faults faults;
static const char faults_help[] =
    "FILE: lines \"loss_ratio 1e-6\", corrupt_ratio, duplicate_ratio, delay_ratio, delay_ns, "
    "slow_node, "
    "slow_ratio, down_node, t_down_ns, d_down_ns (nodes from 0); \"outage AT_NS FOR_NS node 3\" "
    "(its "
    "network), with a word more: stop (its processes stand still), freeze (both), crash (its "
    "processes "
    "die); "
    "\"outage AT_NS FOR_NS link NAME\" (as --links names it, or its number; FOR_NS 0: for ever); "
    "# comment";
static int set_fault(const char *key, double x) {
  const struct {
    const char *key;
    double *value;
  } ratios[] = {{"loss_ratio", &faults.loss_ratio},
                {"corrupt_ratio", &faults.corrupt_ratio},
                {"duplicate_ratio", &faults.duplicate_ratio},
                {"delay_ratio", &faults.delay_ratio}};
  const struct {
    const char *key;
    int64_t *value;
  } times[] = {{"delay_ns", &faults.delay_ns},
               {"t_down_ns", &faults.t_down_ns},
               {"d_down_ns", &faults.d_down_ns}};
  const struct {
    const char *key;
    int *value;
  } nodes[] = {{"slow_node", &faults.slow_node}, {"down_node", &faults.down_node}};
  for (int i = 0; i < 4; i++)
    if (strcmp(key, ratios[i].key) == 0) return *ratios[i].value = x, x >= 0 && x <= 1 ? 1 : -1;
  for (int i = 0; i < 3; i++)
    if (strcmp(key, times[i].key) == 0)
      return x >= 0 && x < 9e18 ? (*times[i].value = (int64_t)x, 1) : -1;
  for (int i = 0; i < 2; i++)
    if (strcmp(key, nodes[i].key) == 0)
      return x >= 0 && x < 1e6 && x == (int)x ? (*nodes[i].value = 1 + (int)x, 1) : -1;
  if (strcmp(key, "slow_ratio") == 0) return faults.slow_ratio = x, x > 0 && x <= 1e9 ? 1 : -1;
  return 0;
}

/* Outages: names of links are looked up when the machine is known. */
typedef struct outage_line {
  int line;
  char link[80]; /* empty: a node */
} outage_line;
static pm_outage *outages;
static outage_line *outage_lines;
static const char *faults_path;
/* What follows the number of a node; false: unknown. A program cannot begin anew: what it left in its memory is
   nobody's to put back. */
static bool outage_kind_of(const char *text, pm_outage_kind *kind) {
  static const char *const names[] = {"", "stop", "freeze", "crash", "restart"};
  const size_t skipped = strspn(text, " \t"), bytes = strcspn(text + skipped, " \t\r");
  for (int i = PM_OUTAGE_CUT; i <= PM_OUTAGE_RESTART; i++)
    if (strlen(names[i]) == bytes && strncmp(names[i], text + skipped, bytes) == 0) {
      *kind = (pm_outage_kind)i;
      return text[skipped + bytes + strspn(text + skipped + bytes, " \t\r")] == 0 &&
             (bytes == 0 || skipped);
    }
  return false;
}
/* "AT_NS FOR_NS node N [KIND]" or "... link NAME"; false: something else */
static bool read_outage(const char *text, int line) {
  char kind[8] = "", *end;
  long long at_ns, for_ns;
  int used = 0;
  if (sscanf(text, "%lld %lld %7s %n", &at_ns, &for_ns, kind, &used) != 3 || !used || at_ns < 0 ||
      for_ns < 0)
    return false;
  const char *which = text + used;
  size_t bytes = strlen(which);
  while (bytes && strchr(" \t\r", which[bytes - 1])) bytes--;
  pm_outage o = {0, 0, at_ns, for_ns, PM_OUTAGE_CUT};
  outage_line l = {.line = line};
  if (strcmp(kind, "node") == 0) {
    const long node = strtol(which, &end, 10);
    if (end == which || !outage_kind_of(end, &o.kind) || node < 0 || node > 999999999) return false;
    if (o.kind == PM_OUTAGE_RESTART)
      guest_refuse(
          "--faults: %s, line %d: restart: a program under pm_run cannot begin anew (processes of "
          "the API can); crash, stop or freeze",
          faults_path, line);
    o.node = (int)node + 1;
  } else if (strcmp(kind, "link") != 0 || bytes == 0 || bytes >= sizeof l.link)
    return false;
  else
    memcpy(l.link, which, bytes);
  const size_t count = (size_t)faults.outage_count + 1;
  outages = realloc(outages, count * sizeof *outages);
  outage_lines = realloc(outage_lines, count * sizeof *outage_lines);
  if (!outages || !outage_lines) guest_refuse("--faults: out of memory");
  outages[count - 1] = o;
  outage_lines[count - 1] = l;
  faults.outage_count = (int)count;
  faults.outages = outages;
  return true;
}
static int link_named(const pm_world *w, const char *name) {
  char *end, known[80];
  const long number = strtol(name, &end, 10);
  if (!*end) return number >= 0 && number < pm_link_count(w) ? (int)number : -1;
  for (int i = 0; i < pm_link_count(w); i++)
    if (pm_link_name(w, i, known, sizeof known) >= 0 && strcmp(known, name) == 0) return i;
  return -1;
}
static void find_outages(const pm_platform *platform) {
  const pm_world_desc bare = {.platform = platform};
  pm_world *w = NULL;
  for (int i = 0; i < faults.outage_count; i++) {
    const outage_line *l = &outage_lines[i];
    if (outages[i].node > platform->node_count)
      guest_refuse("--faults: %s, line %d: the platform has %d nodes", faults_path, l->line,
                   (int)platform->node_count);
    if (outages[i].node) continue;
    if (!w && pm_world_create(&bare, &w) != PM_OK)
      guest_refuse("--faults: %s: the platform cannot be built", faults_path);
    outages[i].link = link_named(w, l->link);
    if (outages[i].link < 0)
      guest_refuse(
          "--faults: %s, line %d: no link \"%s\"; there are %d, from 0 on; --links FILE.csv "
          "names those that are used",
          faults_path, l->line, l->link, pm_link_count(w));
  }
  pm_world_destroy(w);
}
static void read_faults(const char *option, const char *path) {
  FILE *in = fopen(path, "r");
  char line[512], key[64], rest[64], more[2], *end;
  if (!in) guest_refuse("%s: %s: %s", option, path, strerror(errno));
  faults_path = path;
  for (int n = 1; fgets(line, sizeof line, in); n++) {
    if (strlen(line) == sizeof line - 1 && line[sizeof line - 2] != '\n')
      guest_refuse("%s: %s, line %d: longer than %d letters", option, path, n,
                   (int)sizeof line - 2);
    line[strcspn(line, "#\n")] = 0;
    if (strncmp(line + strspn(line, " \t"), "outage ", 7) == 0) {
      if (!read_outage(line + strspn(line, " \t") + 7, n))
        guest_refuse(
            "%s: %s, line %d: outage AT_NS FOR_NS node N [stop|freeze|crash], or link NAME", option,
            path, n);
      continue;
    }
    const int words = sscanf(line, " %63s %63s %1s", key, rest, more);
    if (words <= 0) continue;
    const double x = words == 2 ? strtod(rest, &end) : 0;
    if (words != 2 || *end)
      guest_refuse("%s: %s, line %d: a key and a number expected", option, path, n);
    const int code = set_fault(key, x);
    if (code == 0)
      guest_refuse("%s: %s, line %d: %s: unknown; %s", option, path, n, key, faults_help);
    if (code < 0) guest_refuse("%s: %s, line %d: %s: out of range", option, path, n, key);
  }
  if (ferror(in)) guest_refuse("%s: %s: %s", option, path, strerror(errno)); /* a folder, too */
  fclose(in);
  if (faults.loss_ratio + faults.corrupt_ratio > 1)
    guest_refuse("%s: %s: loss_ratio and corrupt_ratio are more than 1 together", option, path);
}

/* ---- jitter ------------------------------------------------------------------------------------------------------ */
/* Real processes never begin together and no call takes always the same: each process begins up to so
   much later, and each of its calls that move data takes up to so much longer, drawn from the seed and the
   rank, so the same run is the same again. */
static int64_t jitter_ns, noise_ns;
static void set_jitter(const char *option, const char *text) {
  char first[32];
  const char *comma = strchr(text, ',');
  snprintf(first, sizeof first, "%.*s", (int)(comma ? comma - text : 31), text);
  noise_ns = jitter_ns = guest_number(option, first, 0, 1000000000000);
  if (comma) noise_ns = guest_number(option, comma + 1, 0, 1000000000000);
}
static uint64_t draw(uint64_t x) { /* splitmix64 */
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}
static uint64_t seed;
static void begin_late(guest *g) {
  if (jitter_ns)
    pm_sleep_ns((int64_t)(draw(draw(seed) ^ (uint64_t)pm_process_rank(g->process)) %
                          (uint64_t)(jitter_ns + 1)));
}

/* A process died with its node: of an MPI program that is the end of all, as launchers have it. */
static void died(void *unused, pm_process *p) {
  const guest *g = (const guest *)pm_process_user(p);
  char text[160];
  (void)unused;
  if (!g->bound) return;
  snprintf(text, sizeof text, "process %d died with its node between %s", pm_process_rank(p),
           g->bound);
  pm_world_fail(pm_world_of(p), PM_E_STATE, text);
}
static void settings(pm_world_desc *desc, pm_platform *platform) {
  if (faults.slow_node > platform->node_count || faults.down_node > platform->node_count)
    guest_refuse("--faults: the platform has %d nodes", (int)platform->node_count);
  find_outages(platform);
  desc->semantics = semantics;
  desc->faults = faults;
  seed = desc->seed;
  desc->call_noise_ns = noise_ns;
  desc->died = died;
}
static const guest_option options[] = {
    {"--semantics", "NAME[=N]",
     "a switch where implementations of Portals differ (see pm_semantics)", set_semantics},
    {"--faults", "FILE",
     "of the network: lines of a key and a number, as in pm_faults, and outages; nodes count from "
     "0",
     read_faults},
    {"--jitter", "NS[,NS]",
     "processes begin up to so much later, and each call that moves data takes up to so much "
     "longer "
     "(the second number), drawn from the seed (0)",
     set_jitter},
    {NULL, NULL, NULL, NULL}};
static guest_part part = {
    .name = "conditions", .options = options, .settings = settings, .process_begin = begin_late};
__attribute__((constructor)) static void add(void) { guest_part_add(&part); }
