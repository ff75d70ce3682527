/* Conditions of a run: --semantics, --faults, --jitter. */
#include "guest.h"
#define NBC_PIECES
#include "src/base/sums.h"
#include "src/base/text.h"
#include <errno.h>
#include <math.h>
#include <stdarg.h>
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
  X(pt_hints_bind) X(success_disable_overflow) X(oc_ack_counts_success) X(frees_interrupt)
/* The most that an interface offers: numbers. */
#define LIMITS(X)                                                                                  \
  X(max_entries)                                                                                   \
  X(max_cts) X(max_mds) X(max_eqs) X(max_unexpected_headers) X(max_list_size) X(max_triggered_ops)
static pm_semantics semantics;
static void set_semantics(const char *option, const char *text) {
#define SWITCH(name) {#name, &semantics.name, 2},
#define LIMIT(name)  {#name, &semantics.name, 65535},
  const struct {
    const char *name;
    int *value, most;
  } known[] = {SWITCHES(SWITCH)
                   LIMITS(LIMIT){"max_volatile_size", &semantics.max_volatile_size, 64 << 20}};
#undef SWITCH
#undef LIMIT
  const size_t bytes = strcspn(text, "=");
  char names[768] = "";
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (strlen(known[i].name) == bytes && strncmp(text, known[i].name, bytes) == 0) {
      const char *const number = text[bytes] ? text + bytes + 1 : known[i].most == 2 ? "1" : "";
      *known[i].value = (int)guest_number(option, number, 0, known[i].most);
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
    "slow_ratio (below 1: faster), down_node, t_down_ns, d_down_ns (nodes from 0); \"outage AT_NS "
    "FOR_NS node 3\" "
    "(its "
    "network), with a word more: stop (its processes stand still), freeze (both), crash (its "
    "processes "
    "die), restart (and begin anew); "
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
      return x >= 0 && x < 9e18 && x == floor(x) ? (*times[i].value = (int64_t)x, 1) : -1;
  for (int i = 0; i < 2; i++)
    if (strcmp(key, nodes[i].key) == 0)
      return x >= 0 && x < 4e6 && x == (int)x ? (*nodes[i].value = 1 + (int)x, 1) : -1;
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
/* The next word of a line, at most 79 letters of it; what follows. */
static const char *next_word(const char *at, char word[80]) {
  at += strspn(at, " \t\r");
  const size_t bytes = strcspn(at, " \t\r");
  snprintf(word, 80, "%.*s", (int)(bytes < 80 ? bytes : 79), at);
  return at + bytes;
}
/* A word that is a whole number of an outage. ret what follows it */
static const char *outage_number(const char *at, int line, const char *field, int64_t most,
                                 int64_t *value) {
  char word[80];
  uint64_t number;
  at = next_word(at, word);
  const char *const end = nbc__text_whole(word, word + strlen(word), &number);
  if (!end || *end || number > (uint64_t)most)
    guest_refuse_line("--faults", faults_path, line,
                      "outage: %s: \"%s\": not a whole number from 0 to %lld", field, word,
                      (long long)most);
  *value = (int64_t)number;
  return at;
}
static void outage_add(pm_outage o, outage_line l) {
  const size_t count = (size_t)faults.outage_count + 1;
  outages = realloc(outages, count * sizeof *outages);
  outage_lines = realloc(outage_lines, count * sizeof *outage_lines);
  if (!outages || !outage_lines) guest_refuse("--faults: out of memory");
  outages[count - 1] = o;
  outage_lines[count - 1] = l;
  faults.outage_count = (int)count;
  faults.outages = outages;
}
/* "AT_NS FOR_NS node N [KIND]" or "... link NAME" */
static void read_outage(const char *text, int line) {
  pm_outage o = {0};
  outage_line l = {.line = line};
  char what[80];
  text = outage_number(text, line, "AT_NS", INT64_MAX, &o.t_down_ns);
  text = outage_number(text, line, "FOR_NS", INT64_MAX, &o.d_down_ns);
  text = next_word(text, what);
  if (strcmp(what, "node") == 0) {
    int64_t node;
    text = outage_number(text, line, "node", 3999999, &node);
    if (!outage_kind_of(text, &o.kind))
      guest_refuse_line("--faults", faults_path, line,
                        "outage: \"%s\": stop, freeze, crash or nothing expected behind the node",
                        text + strspn(text, " \t"));
    if (o.kind == PM_OUTAGE_RESTART)
      guest_refuse_line(
          "--faults", faults_path, line,
          "restart: a program under pm_run cannot begin anew (processes of the API can); "
          "crash, stop or freeze");
    o.node = (int)node + 1;
  } else if (strcmp(what, "link") == 0) {
    text += strspn(text, " \t\r");
    size_t bytes = strlen(text);
    while (bytes && strchr(" \t\r", text[bytes - 1])) bytes--;
    if (!bytes || bytes >= sizeof l.link)
      guest_refuse_line("--faults", faults_path, line,
                        "outage: link: a name of 1 to %d letters or a number expected",
                        (int)sizeof l.link - 1);
    memcpy(l.link, text, bytes);
  } else
    guest_refuse_line("--faults", faults_path, line,
                      "outage: \"%s\": node or link expected, behind AT_NS FOR_NS", what);
  outage_add(o, l);
}
static int link_named(const pm_world *w, const char *name) {
  char *end, known[80];
  const long number = strtol(name, &end, 10);
  if (!*end) return number >= 0 && number < pm_link_count(w) ? (int)number : -1;
  for (int i = 0; i < pm_link_count(w); i++)
    if (pm_link_name(w, i, known, sizeof known) >= 0 && strcmp(known, name) == 0) return i;
  return -1;
}
/* The processes of a node stand still, or are dead, once at a time. */
static void overlaps(int number) {
  const pm_outage *const o = &outages[number];
  for (int i = 0; i < number && o->kind; i++) {
    const pm_outage *const first = outages[i].t_down_ns < o->t_down_ns ? &outages[i] : o,
                           *const second = first == o ? &outages[i] : o;
    if (outages[i].node == o->node && outages[i].kind &&
        (!first->d_down_ns || second->t_down_ns - first->t_down_ns < first->d_down_ns))
      guest_refuse_line("--faults", faults_path, outage_lines[number].line,
                        "node %d stands still, or is dead, by line %d too at that time",
                        o->node - 1, outage_lines[i].line);
  }
}
static void find_outages(const pm_platform *platform) {
  const pm_world_desc bare = {.platform = platform};
  pm_world *w = NULL;
  for (int i = 0; i < faults.outage_count; i++) {
    const outage_line *l = &outage_lines[i];
    if (outages[i].node > platform->node_count)
      guest_refuse_line("--faults", faults_path, l->line, "the platform has %d nodes",
                        (int)platform->node_count);
    overlaps(i);
    if (outages[i].node) continue;
    if (!w && pm_world_create(&bare, &w) != PM_OK)
      guest_refuse("--faults: %s: the platform cannot be built", faults_path);
    outages[i].link = link_named(w, l->link);
    if (outages[i].link < 0)
      guest_refuse_line(
          "--faults", faults_path, l->line,
          "no link \"%s\"; there are %d, from 0 on; --links FILE.csv names those that are "
          "used",
          l->link, pm_link_count(w));
  }
  pm_world_destroy(w);
}
/* In which line of the file a key stands; 0: in none. */
static struct {
  const char *key, *needs; /* needs: another one, without which it says nothing */
  int line;
} said[] = {{"loss_ratio", NULL, 0},        {"corrupt_ratio", NULL, 0},
            {"duplicate_ratio", NULL, 0},   {"delay_ratio", "delay_ns", 0},
            {"delay_ns", "delay_ratio", 0}, {"slow_node", "slow_ratio", 0},
            {"slow_ratio", "slow_node", 0}, {"down_node", "d_down_ns", 0},
            {"t_down_ns", "down_node", 0},  {"d_down_ns", "down_node", 0}};
enum { SAID_COUNT = sizeof said / sizeof *said };
static int said_of(const char *key) {
  int i = 0;
  while (strcmp(said[i].key, key) != 0) i++;
  return i;
}
static void say(const char *key, int line) {
  const int i = said_of(key);
  if (said[i].line)
    guest_refuse_line("--faults", faults_path, line, "%s: line %d has said it already", key,
                      said[i].line);
  said[i].line = line;
}
static void check_needs(const char *path) {
  for (int i = 0; i < SAID_COUNT; i++)
    if (said[i].line && said[i].needs && !said[said_of(said[i].needs)].line &&
        !(strcmp(said[i].key, "delay_ratio") == 0 && faults.delay_ratio <= 0))
      guest_refuse_line("--faults", path, said[i].line, "%s: %s is missing", said[i].key,
                        said[i].needs);
}
/* A key and a number; empty lines and comments are none. */
static void read_fault(const char *text, int line) {
  char key[80], word[80], rest[80];
  double x;
  text = next_word(next_word(next_word(text, key), word), rest);
  if (!key[0]) return;
  const char *const end = nbc__text_number(word, word + strlen(word), &x);
  const bool is_number = end && !*end && strlen(word) < sizeof word - 1;
  const int code = is_number ? set_fault(key, x) : set_fault(key, -1);
  if (code == 0)
    guest_refuse_line("--faults", faults_path, line, "%s: unknown; %s", key, faults_help);
  if (!word[0] || rest[0])
    guest_refuse_line("--faults", faults_path, line, "%s: one number expected", key);
  if (!is_number)
    guest_refuse_line("--faults", faults_path, line, "%s: \"%s\": not a number from 0 on", key,
                      word);
  if (code < 0) guest_refuse_line("--faults", faults_path, line, "%s: %s: out of range", key, word);
  if (strcmp(key, "d_down_ns") == 0 && x <= 0)
    guest_refuse_line("--faults", faults_path, line,
                      "d_down_ns: 0: down for no time; for ever: a line \"outage AT_NS 0 node N\"");
  say(key, line);
}
static void read_faults(const char *option, const char *path) {
  FILE *in = fopen(path, "r");
  char line[512];
  int n = 0;
  if (!in) guest_refuse("%s: %s: %s", option, path, strerror(errno));
  faults_path = path;
  for (int i = 0; i < SAID_COUNT; i++) said[i].line = 0;
  while (guest_line(option, path, in, line, sizeof line, &n)) {
    const char *const first = line + strspn(line, " \t\r");
    if (strncmp(first, "outage", 6) == 0 && (!first[6] || strchr(" \t\r", first[6])))
      read_outage(first + 6, n);
    else
      read_fault(first, n);
  }
  fclose(in);
  if (faults.loss_ratio + faults.corrupt_ratio > 1)
    guest_refuse("%s: %s: loss_ratio and corrupt_ratio are more than 1 together", option, path);
  check_needs(path);
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
static uint64_t draw(uint64_t x) { return nbc__random(&x); }
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
  for (int i = 0; i < desc->link_phase_count && faults.outage_count; i++)
    if (desc->link_phases[i].link == PM_LINK_CARRIER)
      guest_refuse_line("--faults", faults_path, outage_lines[0].line,
                        "the level rtl knows no outages");
  desc->semantics = semantics;
  desc->faults = faults;
  seed = desc->seed;
  desc->call_noise_ns = noise_ns;
  desc->died = died;
}
static const guest_option options[] = {
    {"--semantics", "NAME[=N]",
     "a switch where implementations of Portals differ, or a limit of its interfaces: max_cts=4096 "
     "(see pm_semantics)",
     set_semantics},
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
