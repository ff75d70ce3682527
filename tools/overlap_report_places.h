/* overlap_report_places.h: where and who: calls by place in the program, with function and line, and
   who waits for whom, as text, on the page and as CSV. Part of overlap_report.c. */
#include "tools/source_name.h"
#include <elf.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

static void put(FILE *out, const char *text);
static void put_rect(FILE *out, const char *class_name, double from, double width);

/* ---- call sites ------------------------------------------------------------------------------- */
typedef struct place {
  const nbc_site *site;
  char where[200];
} place;

static int place_order(const void *a, const void *b) {
  const nbc_site *x = ((const place *)a)->site, *y = ((const place *)b)->site;
  if (x->total_ns != y->total_ns) return x->total_ns < y->total_ns ? 1 : -1;
  return x->offset < y->offset ? -1 : x->offset > y->offset;
}
static bool same_module(const nbc_site *a, const nbc_site *b) {
  return a->module && b->module && strcmp(a->module, b->module) == 0;
}
static const char *file_of(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* What is known without the module's debugging information. */
static void name_roughly(place *p) {
  const nbc_site *s = p->site;
  char symbol[121];
  snprintf(symbol, sizeof symbol, "%s", s->symbol ? s->symbol : "");
  name_as_in_source(symbol);
  if (s->where) /* somebody has looked before */
    snprintf(p->where, sizeof p->where, "%s", s->where);
  else if (s->symbol)
    snprintf(p->where, sizeof p->where, "%s in %.60s", symbol,
             s->module ? file_of(s->module) : "?");
  else
    snprintf(p->where, sizeof p->where, "%.120s+0x%llx", s->module ? file_of(s->module) : "unknown",
             (unsigned long long)s->offset);
}

/* Starts addr2line for up to 500 places of one module, without a shell: the names are anybody's. */
static pid_t start_addr2line(const char *module, place *const *of, size_t count, int *from) {
  static char c_locale[] = "LC_ALL=C"; /* nothing else: it is no program to be measured */
  char *const environment[] = {c_locale, NULL};
  char texts[500][20],
      *argv[510] = {(char *)"addr2line",       (char *)"-f", (char *)"-C", (char *)"-e",
                    (char *)(uintptr_t)module, NULL};
  int ends[2];
  pid_t pid = -1;
  posix_spawn_file_actions_t actions;
  if (module[0] == '-' || count > 500 || pipe(ends) != 0) return -1;
  for (size_t i = 0; i < count; i++) { /* the return address is one behind the call */
    snprintf(texts[i], sizeof texts[i], "0x%llx",
             (unsigned long long)(of[i]->site->offset ? of[i]->site->offset - 1 : 0));
    argv[5 + i] = texts[i], argv[6 + i] = NULL;
  }
  if (posix_spawn_file_actions_init(&actions) ||
      posix_spawn_file_actions_adddup2(&actions, ends[1], 1) ||
      posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0) ||
      posix_spawn_file_actions_addclose(&actions, ends[0]))
    no_memory();
  if (posix_spawnp(&pid, "addr2line", &actions, NULL, argv, environment) != 0) pid = -1;
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  *from = ends[0];
  if (pid < 0) close(ends[0]);
  return pid;
}

/* Does the file say where all of its functions are? A stripped one names those that it exports, and
   addr2line takes the last of them for whatever comes behind it. */
static bool names_all_functions(const char *module) {
  Elf64_Ehdr head;
  Elf64_Shdr section;
  bool does = false;
  FILE *in = fopen(module, "rb");
  if (!in) return false;
  if (fread(&head, sizeof head, 1, in) == 1 && memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 &&
      head.e_ident[EI_CLASS] == ELFCLASS64 && head.e_shoff <= LONG_MAX &&
      head.e_shentsize == sizeof section && fseek(in, (long)head.e_shoff, SEEK_SET) == 0)
    for (int i = 0; !does && i < head.e_shnum && fread(&section, sizeof section, 1, in) == 1; i++)
      does = section.sh_type == SHT_SYMTAB;
  fclose(in);
  return does;
}

/* A whole line, of which as much is kept as there is room for: the rest of a long one is not the next line. */
static bool read_whole_line(FILE *in, char *text, size_t room) {
  if (!fgets(text, (int)room, in)) return false;
  for (int c = 0; !strchr(text, '\n') && c != '\n' && c != EOF;) c = getc(in);
  text[strcspn(text, "\n")] = 0;
  return true;
}

/* A name of C++ that would be cut off: without its parameters, the brackets after it, but not those of a template, of
   operator() or of (anonymous namespace); and if that is not enough, without what its templates are given. */
enum { NAME_ROOM = 100 };
static void drop_parameters(char *name) {
  int depth = 0;
  for (char *c = name; *c; c++) {
    depth += *c == '<' ? 1 : *c == '>' ? -1 : 0;
    if (*c != '(' || depth > 0 || c == name || strncmp(c, "(anonymous", 10) == 0 ||
        strncmp(c, "()(", 3) == 0)
      continue;
    *c = 0;
    return;
  }
}
static void empty_templates(char *name) { /* a<int>::operator<< <b<c> >: a<>::operator<< <> */
  int depth = 0;
  char *to = name;
  for (const char *c = name; *c; c++) {
    const bool is_operator =
        !depth && strncmp(c, "operator", 8) == 0 && (c == name || c[-1] == ':' || c[-1] == ' ');
    const size_t whole = is_operator ? 8 + strspn(c + 8, "<>=-") : 0;
    memmove(to, c, whole);
    to += whole;
    c += whole;
    depth -= *c == '>';
    if (!depth) *to++ = *c;
    depth += *c == '<';
    if (!*c) return;
  }
  *to = 0;
}
static void shorten_name(char *name) {
  if (strlen(name) > NAME_ROOM) drop_parameters(name);
  if (strlen(name) > NAME_ROOM) empty_templates(name);
}

/* Two lines per address: function; file:line. "??" where there is no debugging information. Names of C++ with all
   their parameters may be thousands of characters long. */
static void ask_addr2line(place *const *of, size_t count) {
  char function[4000], line[600];
  int from, status;
  const pid_t pid = start_addr2line(of[0]->site->module, of, count, &from);
  if (pid < 0) return;
  FILE *in = (FILE *)must(fdopen(from, "r"));
  const bool knows_all = names_all_functions(of[0]->site->module);
  for (size_t i = 0; i < count && read_whole_line(in, function, sizeof function) &&
                     read_whole_line(in, line, sizeof line);
       i++) {
    line[strcspn(line, " ")] = 0;
    char *const unknown = strstr(line, ":?"); /* a static function's file is known by its symbol */
    if (unknown) *unknown = 0;
    const bool knows_line = strncmp(line, "??", 2) != 0;
    /* The loader found the name of C++ at this address, which addr2line only reads out. */
    const bool is_mangled = of[i]->site->symbol && strncmp(of[i]->site->symbol, "_Z", 2) == 0;
    if (strncmp(function, "??", 2) == 0 || !(knows_line || knows_all || is_mangled)) continue;
    name_as_in_source(function);
    shorten_name(function);
    snprintf(of[i]->where, sizeof of[i]->where,
             knows_line || knows_all ? "%.*s (%.90s)" : "%.*s in %.60s", NAME_ROOM, function,
             knows_line ? file_of(line) : file_of(of[i]->site->module));
  }
  fclose(in);
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
}

/* All places, most time first, with what can be told of them; the caller frees. */
static place *places_of(const nbc_report *r) {
  place *places = (place *)must(calloc(r->site_count + 1, sizeof *places)), *of[500];
  bool *done = (bool *)must(calloc(r->site_count + 1, sizeof *done));
  for (size_t i = 0; i < r->site_count; i++) places[i].site = &r->sites[i];
  qsort(places, r->site_count, sizeof *places, place_order);
  for (size_t i = 0; i < r->site_count; i++) name_roughly(&places[i]);
  for (size_t i = 0; i < r->site_count; i++) {
    size_t n = 0;
    if (done[i] || !places[i].site->module) continue;
    for (size_t k = i; k < r->site_count && n < 500; k++)
      if (same_module(places[i].site, places[k].site)) of[n++] = &places[k], done[k] = true;
    ask_addr2line(of, n);
  }
  free(done);
  return places;
}

/* The calls of one line (a loop that was unrolled, a function that was inlined twice), or of all addresses that have but
   one name. */
typedef struct line_sum {
  const char *call, *where;
  uint64_t count;
  int64_t total_ns, max_ns;
} line_sum;
static int line_by_name(const void *a, const void *b) {
  const place *x = (const place *)a, *y = (const place *)b;
  const int by_call = strcmp(x->site->call, y->site->call);
  return by_call ? by_call : strcmp(x->where, y->where);
}
static int line_order(const void *a, const void *b) { /* most time first */
  const line_sum *x = (const line_sum *)a, *y = (const line_sum *)b;
  if (x->total_ns != y->total_ns) return x->total_ns < y->total_ns ? 1 : -1;
  const int by_call = strcmp(x->call, y->call);
  return by_call ? by_call : strcmp(x->where, y->where);
}
/* Of the report's places, which are put into another order; the caller frees. */
static line_sum *lines_of(place *places, size_t place_count, size_t *count) {
  line_sum *lines = (line_sum *)must(calloc(place_count + 1, sizeof *lines));
  *count = 0;
  qsort(places, place_count, sizeof *places, line_by_name);
  for (size_t i = 0; i < place_count; i++) {
    const nbc_site *s = places[i].site;
    if (!i || line_by_name(&places[i - 1], &places[i]) != 0) {
      lines[*count].call = s->call;
      lines[(*count)++].where = places[i].where;
    }
    line_sum *x = &lines[*count - 1];
    x->count += s->count;
    plus(&x->total_ns, s->total_ns);
    if (s->max_ns > x->max_ns) x->max_ns = s->max_ns;
  }
  qsort(lines, *count, sizeof *lines, line_order);
  return lines;
}
static int64_t mean_ns(const line_sum *x) {
  return x->count && x->count < INT64_MAX ? x->total_ns / (int64_t)x->count : 0;
}

/* Into the report itself, for its JSON. */
static void name_sites(nbc_report *r) {
  place *places = places_of(r);
  for (size_t i = 0; i < r->site_count; i++)
    if (nbc_report_set(&r->sites[places[i].site - r->sites].where, places[i].where)) no_memory();
  free(places);
}

/* Where transfers are told of, by site: what the place is called, and the first one that is called so and of the same call:
   a line that was compiled twice is one place. Looked up once per report, of which two are compared. */
typedef struct site_name {
  char where[sizeof((place *)0)->where];
  int number;
} site_name;
static int place_by_name(const void *a,
                         const void *b) { /* and of those alike the first in the report */
  const place *x = (const place *)a, *y = (const place *)b;
  const int order = line_by_name(a, b);
  return order ? order : x->site < y->site ? -1 : x->site > y->site;
}
static const site_name *site_names(const nbc_report *r) {
  static struct {
    const nbc_report *of;
    site_name *names;
  } known[2];
  static int next;
  for (int i = 0; i < 2; i++)
    if (known[i].of == r) return known[i].names;
  place *places = places_of(r);
  site_name *names = (site_name *)must(calloc(r->site_count + 1, sizeof *names));
  if (r->site_count) qsort(places, r->site_count, sizeof *places, place_by_name);
  for (size_t i = 0, first = 0; i < r->site_count; i++) {
    site_name *const name = &names[places[i].site - r->sites];
    if (line_by_name(&places[first], &places[i]) != 0) first = i;
    memcpy(name->where, places[i].where, sizeof name->where);
    name->number = (int)(places[first].site - r->sites) + 1;
  }
  free(places);
  free(known[next].names);
  known[next].of = r;
  known[next].names = names;
  next = !next;
  return names;
}
static const char *place_text(const nbc_report *r, int site_plus1) {
  return site_plus1 ? site_names(r)[site_plus1 - 1].where : "(not known)";
}
static int place_number(const nbc_report *r, int site_plus1) {
  return site_plus1 ? site_names(r)[site_plus1 - 1].number : 0;
}

/* ---- the places of two runs ---------------------------------------------------------------------- */
typedef struct place_change {
  const place *place;
  int64_t before_ns, after_ns;
  uint64_t before_count, after_count;
} place_change;

static int change_order(const void *a, const void *b) {
  const place_change *x = (const place_change *)a, *y = (const place_change *)b;
  const int64_t dx = x->after_ns - x->before_ns, dy = y->after_ns - y->before_ns;
  const int64_t cx = dx < 0 ? -dx : dx, cy = dy < 0 ? -dy : dy;
  if (cx != cy) return cx < cy ? 1 : -1;
  return strcmp(x->place->where, y->place->where);
}
static int change_by_name(const void *a, const void *b) {
  return line_by_name(((const place_change *)a)->place, ((const place_change *)b)->place);
}
/* The same place is the same call in the same function and line: a changed program has other
   addresses. Two addresses of one line add up, in each of the runs alike. ret how many are left */
static size_t join_changes(place_change *changes, size_t count) {
  size_t kept = 0;
  if (count) qsort(changes, count, sizeof *changes, change_by_name);
  for (size_t i = 0; i < count; i++) {
    place_change *const last = kept ? &changes[kept - 1] : NULL;
    if (!last || change_by_name(last, &changes[i]) != 0) {
      changes[kept++] = changes[i];
      continue;
    }
    plus(&last->before_ns, changes[i].before_ns);
    plus(&last->after_ns, changes[i].after_ns);
    last->before_count += changes[i].before_count;
    last->after_count += changes[i].after_count;
  }
  return kept;
}

/* By place, the largest change first. */
static void diff_places(const nbc_report *before, const nbc_report *after, FILE *out) {
  const size_t most = before->site_count + after->site_count;
  size_t count = 0;
  words a, b, c;
  char text[200], call[40];
  if (!most) return;
  place *old = places_of(before), *now = places_of(after);
  place_change *changes = (place_change *)must(calloc(most, sizeof *changes));
  for (size_t i = 0; i < before->site_count; i++)
    changes[count++] = (place_change){&old[i], old[i].site->total_ns, 0, old[i].site->count, 0};
  for (size_t i = 0; i < after->site_count; i++)
    changes[count++] = (place_change){&now[i], 0, now[i].site->total_ns, 0, now[i].site->count};
  count = join_changes(changes, count);
  qsort(changes, count, sizeof *changes, change_order);
  fprintf(out, "\n%-24s %11s %11s %10s %10s %11s  %s\n", "By place in the program", "calls",
          "calls after", "total", "after", "change", "where");
  for (size_t i = 0; i < count && i < 15; i++) {
    const place_change *x = &changes[i];
    const int64_t d_ns = x->after_ns - x->before_ns;
    char change[48];
    snprintf(change, sizeof change, "%s%s",
             d_ns < 0   ? "-"
             : d_ns > 0 ? "+"
                        : "",
             time_text(d_ns < 0 ? -d_ns : d_ns, &c));
    fprintf(out, "  %-22s %11llu %11llu %10s %10s %11s  %s\n",
            plain(x->place->site->call, call, sizeof call), (unsigned long long)x->before_count,
            (unsigned long long)x->after_count, time_text(x->before_ns, &a),
            time_text(x->after_ns, &b), change, plain(x->place->where, text, sizeof text));
  }
  free(changes);
  free(old);
  free(now);
}

/* The same for what began there: how much of it was hidden. */
typedef struct begun_change {
  const char *call, *where;
  nbc_totals before, after;
} begun_change;
static int begun_order(const void *a, const void *b) {
  const begun_change *x = (const begun_change *)a, *y = (const begun_change *)b;
  const int64_t dx = x->after.waited_ns - x->before.waited_ns,
                dy = y->after.waited_ns - y->before.waited_ns;
  const int64_t cx = dx < 0 ? -dx : dx, cy = dy < 0 ? -dy : dy;
  if (cx != cy) return cx < cy ? 1 : -1;
  const int order = strcmp(x->where, y->where);
  return order ? order : strcmp(x->call, y->call);
}
static begun_change *add_begun(begun_change *to, size_t *count, const nbc_report *r,
                               bool is_after) {
  size_t row_count;
  row *rows = group(r, BY_PLACE, &row_count);
  to = (begun_change *)must(realloc(to, (*count + row_count + 1) * sizeof *to));
  for (size_t i = 0; i < row_count; i++) {
    const int site = rows[i].site_plus1;
    const char *const where = place_text(r, site), *const call =
                                                       site ? r->sites[site - 1].call : "-";
    size_t k = 0;
    while (k < *count && (strcmp(to[k].where, where) != 0 || strcmp(to[k].call, call) != 0)) k++;
    if (k == *count) to[(*count)++] = (begun_change){call, where, {0}, {0}};
    add_totals(is_after ? &to[k].after : &to[k].before, &rows[i].t);
  }
  free(rows);
  return to;
}
/* "12.3 .. 45.6 %": of how many transfers; of none nothing is known. */
static const char *hidden_text(uint64_t count, double least, double most, const char *none,
                               words *w) {
  if (count)
    snprintf(w->text, sizeof w->text, "%5.1f .. %5.1f %%", 100 * least, 100 * most);
  else
    snprintf(w->text, sizeof w->text, "%16s", none);
  return w->text;
}
static const char *begun_text(const nbc_totals *t, words *w) {
  return hidden_text(t->count, share(t->min_overlap_ns, t->xfer_ns),
                     share(t->max_overlap_ns, t->xfer_ns), "no transfers", w);
}
static void diff_begun(const nbc_report *before, const nbc_report *after, FILE *out) {
  words a, b, c, d;
  char text[200], call[40];
  size_t count = 0;
  begun_change *changes = add_begun(NULL, &count, before, false);
  changes = add_begun(changes, &count, after, true);
  bool known = false;
  for (size_t i = 0; i < count; i++) known = known || strcmp(changes[i].call, "-") != 0;
  qsort(changes, count, sizeof *changes, begun_order);
  if (known)
    fprintf(out, "\n%-24s %10s %10s  %16s   %16s  %s\n", "Transfers by place", "waited", "after",
            "hidden min..max", "after", "where they begin");
  for (size_t i = 0; known && i < count && i < 15; i++) {
    const nbc_totals *x = &changes[i].before, *y = &changes[i].after;
    fprintf(out, "  %-22s %10s %10s  %s   %s  %s\n", plain(changes[i].call, call, sizeof call),
            x->count ? time_text(x->waited_ns, &a) : "-",
            y->count ? time_text(y->waited_ns, &b) : "-", begun_text(x, &c), begun_text(y, &d),
            plain(changes[i].where, text, sizeof text));
    if (x->exact_count || y->exact_count)
      fprintf(out, "  %-22s %10s %10s  %s   %s\n", "    by NIC stamps", "", "",
              hidden_text(x->exact_count, exact_least(x), exact_most(x), "no stamps", &c),
              hidden_text(y->exact_count, exact_least(y), exact_most(y), "no stamps", &d));
  }
  free(changes);
}

static void text_more(FILE *out, size_t count) {
  fprintf(out, "  and %zu more place%s\n", count, count == 1 ? "" : "s");
}

/* Is it one of "a.so, b.so"? */
static bool is_listed(const char *list, const char *name) {
  for (const char *at = list; *at; at += strspn(at, ", ")) {
    const size_t n = strcspn(at, ",");
    if (n == strlen(name) && strncmp(at, name, n) == 0) return true;
    at += n;
  }
  return false;
}
/* Which files without symbols the first `count` places are in, as "a.so, b.so"; false: none. */
static bool stripped_files(const place *places, size_t place_count, const line_sum *lines,
                           size_t count, char *text, size_t room) {
  const char *last = NULL;
  *text = 0;
  for (size_t i = 0; i < count; i++) {
    const nbc_site *site = NULL;
    for (size_t k = 0; k < place_count && !site; k++)
      if (places[k].where == lines[i].where) site = places[k].site;
    if (!site || !site->module || site->where || site->symbol || !strstr(lines[i].where, "+0x") ||
        site->module == last || access(site->module, R_OK) != 0 ||
        names_all_functions(site->module))
      continue;
    last = site->module;
    char name[80];
    const size_t n = strlen(text);
    plain(file_of(site->module), name, sizeof name);
    if (!is_listed(text, name)) snprintf(text + n, room - n, "%s%s", n ? ", " : "", name);
  }
  return *text;
}
static const char stripped_means[] =
    "where a place has none, its offset stands. A build that keeps them (-g, not stripped) has "
    "names; so has this "
    "report, made "
    "again, when their debug symbols are installed (Debian: packages -dbgsym).";

/* The library that nearly all of the time in calls is told of, if it may be a layer between the program and the MPI: few
   places (an extension of Python's is none: its callers are the interpreter). NULL: none. */
enum { LAYER_PLACES = 20 };
#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-"
static const char *layer_of(const nbc_report *r, size_t line_count) {
  const nbc_site *most = NULL; /* no other module has half of the time */
  int64_t all_ns = 0, of_it_ns = 0, lead_ns = 0;
  if (line_count > LAYER_PLACES) return NULL;
  for (size_t i = 0; i < r->site_count; i++) {
    const nbc_site *const s = &r->sites[i];
    plus(&all_ns, s->total_ns);
    if (most && same_module(most, s)) {
      plus(&lead_ns, s->total_ns);
    } else if ((lead_ns -= s->total_ns) < 0) {
      most = s;
      lead_ns = -lead_ns;
    }
  }
  for (size_t i = 0; i < r->site_count; i++)
    if (most && same_module(most, &r->sites[i])) plus(&of_it_ns, r->sites[i].total_ns);
  if (share(of_it_ns, all_ns) < 0.9) return NULL;
  const char *const file = file_of(most->module);
  return strncmp(file, "lib", 3) == 0 && strstr(file, ".so") && !file[strspn(file, NAME_LETTERS)]
             ? file
             : NULL;
}
static const char layer_means[] = "nearly all of this time is in calls that it makes. If it only "
                                  "passes them on, nbc see --through";

static void text_places(const nbc_report *r, FILE *out) {
  words a, b, c;
  char text[200], call[40], files[300], means[600];
  size_t count;
  if (!r->site_count) return;
  place *places = places_of(r);
  line_sum *lines = lines_of(places, r->site_count, &count);
  fprintf(out, "\n%-24s %9s %9s %9s %9s  %s\n", "By place in the program", "calls", "total", "mean",
          "longest", "where");
  for (size_t i = 0; i < count && i < 15; i++)
    fprintf(out, "  %-22s %9llu %9s %9s %9s  %s\n", plain(lines[i].call, call, sizeof call),
            (unsigned long long)lines[i].count, time_text(lines[i].total_ns, &a),
            time_text(mean_ns(&lines[i]), &b), time_text(lines[i].max_ns, &c),
            plain(lines[i].where, text, sizeof text));
  if (count > 15) text_more(out, count - 15);
  if (stripped_files(places, r->site_count, lines, count < 15 ? count : 15, files, sizeof files)) {
    snprintf(means, sizeof means, "Symbols are missing in %s: %s", files, stripped_means);
    put_wrapped(out, "  ", means);
  }
  const char *const layer = layer_of(r, count);
  if (layer) {
    snprintf(means, sizeof means, "%.80s: %s '%.80s' tells who called it.", layer, layer_means,
             layer);
    put_wrapped(out, "  ", means);
  }
  free(lines);
  free(places);
}

/* What began at a place: how much of it was hidden, and how long it was waited for, wherever that was. */
static void text_begun(const nbc_report *r, FILE *out) {
  words a, b, c, d;
  char text[200], call[40];
  size_t count;
  row *rows = group(r, BY_PLACE, &count);
  const bool known = count > 1 || (count && rows[0].site_plus1);
  if (known)
    fprintf(out, "\n%-24s %9s %9s %9s  %16s %10s %9s  %s\n", "Transfers by place", "count",
            "volume", "time", "hidden min..max", "not hidden", "waited", "where they begin");
  for (size_t i = 0; known && i < count && i < 15; i++) {
    const nbc_totals *t = &rows[i].t;
    const int site = rows[i].site_plus1;
    fprintf(out, "  %-22s %9llu %9s %9s  %5.1f .. %5.1f %% %10s %9s  %s\n",
            site ? plain(r->sites[site - 1].call, call, sizeof call) : "-",
            (unsigned long long)t->count, bytes_text(t->size_bytes, &a), time_text(t->xfer_ns, &b),
            100 * share(t->min_overlap_ns, t->xfer_ns), 100 * share(t->max_overlap_ns, t->xfer_ns),
            time_text(unhidden_ns(t), &c), time_text(t->waited_ns, &d),
            plain(place_text(r, site), text, sizeof text));
    if (t->exact_count)
      fprintf(out, "  %-22s %9llu %9s %9s  %5.1f .. %5.1f %%\n", "    by NIC stamps",
              (unsigned long long)t->exact_count, "", time_text(t->exact_xfer_ns, &b),
              100 * exact_least(t), 100 * exact_most(t));
  }
  if (known && count > 15) text_more(out, count - 15);
  free(rows);
}

static void put_places(FILE *out, const nbc_report *r) {
  words a, b, c;
  char files[300];
  size_t count;
  if (!r->site_count) return;
  place *places = places_of(r);
  line_sum *lines = lines_of(places, r->site_count, &count);
  fputs("<h2>By place in the program</h2>\n<div "
        "class=\"scroll\"><table><thead><tr><th>where</th><th>call</th><th>calls</th>"
        "<th class=\"wide\"></th><th>total</th><th>mean</th><th>longest</th></tr></thead><tbody>\n",
        out);
  for (size_t i = 0; i < count && i < 100; i++) {
    const line_sum *s = &lines[i];
    fputs("<tr data-table=\"place\"><td class=\"name\">", out);
    put(out, s->where);
    fputs("</td><td>", out);
    put(out, s->call);
    fprintf(out,
            "</td><td>%llu</td><td class=\"wide\"><svg class=\"bar\" viewBox=\"0 0 100 10\" "
            "preserveAspectRatio=\"none\">",
            (unsigned long long)s->count);
    put_rect(out, "call", 0, 100 * share(s->total_ns, lines[0].total_ns));
    fprintf(out, "</svg></td><td>%s</td><td>%s</td><td>%s</td></tr>\n", time_text(s->total_ns, &a),
            time_text(mean_ns(s), &b), time_text(s->max_ns, &c));
  }
  fputs("</tbody></table></div>\n", out);
  if (count > 100)
    fprintf(out, "<p class=\"soft\">%zu more place%s.</p>\n", count - 100, count == 101 ? "" : "s");
  if (stripped_files(places, r->site_count, lines, count < 100 ? count : 100, files,
                     sizeof files)) {
    fputs("<p class=\"soft\">Symbols are missing in ", out);
    put(out, files);
    fprintf(out, ": %s</p>\n", stripped_means);
  }
  const char *const layer = layer_of(r, count);
  if (layer)
    fprintf(out, "<p class=\"soft\">%s: %s '%s' tells who called it.</p>\n", layer, layer_means,
            layer);
  free(lines);
  free(places);
}

/* ---- who waits for whom ------------------------------------------------------------------------ */
/* Do both sides' times tell of nearly all of it? */
static bool is_known(const nbc_pair *p) {
  return p->known_ns > 0 && p->known_ns >= p->waited_ns - p->waited_ns / 10;
}
/* What they tell is not shared by all that ended in a call: it belongs to those who came late, and to what moved when all
   were there. So it may be more than the partner's share of these calls, known_ns of waited_ns. */
static int64_t told_ns(const nbc_pair *p) {
  int64_t sum_ns = p->late_ns;
  plus(&sum_ns, p->moving_ns);
  return sum_ns;
}
static int64_t waited_for_ns(const nbc_pair *p) {
  int64_t sum_ns = told_ns(p);
  if (p->known_ns <= 0) return p->waited_ns;
  if (!is_known(p)) plus(&sum_ns, p->waited_ns - p->known_ns);
  return sum_ns;
}
static int pair_order(const void *a, const void *b) {
  const nbc_pair *x = *(const nbc_pair *const *)a, *y = *(const nbc_pair *const *)b;
  if (waited_for_ns(x) != waited_for_ns(y)) return waited_for_ns(x) < waited_for_ns(y) ? 1 : -1;
  return x->rank != y->rank ? x->rank - y->rank : x->partner - y->partner;
}
static const nbc_pair *opposite(const nbc_report *r, const nbc_pair *p) {
  for (size_t i = 0; i < r->pair_count; i++)
    if (r->pairs[i].rank == p->partner && r->pairs[i].partner == p->rank) return &r->pairs[i];
  return NULL;
}

/* By both sides' times. */
static void why_known(const nbc_pair *p, char *text, size_t size) {
  words a, b, all;
  char part[200] = "";
  const int64_t sum_ns = told_ns(p);
  if (!is_known(p))
    snprintf(
        part, sizeof part,
        ", as far as both timelines show; of the other %.20s they tell nothing (sends that may "
        "leave at once, messages that were not matched)",
        time_text(p->waited_ns - p->known_ns, &a));
  time_text(sum_ns, &all);
  if (sum_ns <= 0)
    snprintf(text, size, "it had called when the wait began, and nothing was waited for%s", part);
  else if (p->late_ns >= sum_ns / 2)
    snprintf(text, size, "rank %d was late: %.20s of %.20s passed before it had called its side%s",
             p->partner, time_text(p->late_ns, &a), all.text, part);
  else if (p->computing_ns >= p->moving_ns / 2)
    snprintf(text, size,
             "probably progress at the partner: both had called, and for %.20s of %.20s rank %d "
             "computed%s",
             time_text(p->computing_ns, &a), all.text, p->partner, part);
  else
    snprintf(text, size,
             "both had called for %.20s of %.20s: the transfer itself, the library, or a core that "
             "was not free%s%.40s%s",
             time_text(p->moving_ns, &a), all.text,
             p->computing_ns ? "; the other computed for " : "",
             p->computing_ns ? time_text(p->computing_ns, &b) : "", part);
}
/* What the two reports of a pair say about why it waited. Sums of times do not tell what was at the same time: without
   both sides' times nothing is more than a hint. Large messages that were waited for, and a partner that
   computed for at least half as long with large sends posted: perhaps the data was there, and nobody
   moved it. */
static const char *why_waited(const nbc_pair *p, const nbc_pair *other, char *text, size_t size) {
  words a;
  const int64_t large_ns = p->waited_ns - p->small_waited_ns;
  if (p->rank == p->partner)
    snprintf(text, size, "itself%s",
             p->known_ns > 0 ? "" : ", or others whose messages ended in the same calls");
  else if (p->known_ns > 0)
    why_known(p, text, size);
  else if (!other)
    snprintf(text, size, "the partner left no report");
  else if (large_ns >= p->waited_ns / 2 && other->busy_ns >= large_ns / 2 && other->busy_ns > 0)
    snprintf(text, size,
             "perhaps progress at the partner: rank %d computed for %s with large sends to rank %d "
             "posted",
             p->partner, time_text(other->busy_ns, &a), p->rank);
  else if (traces.count >= 2)
    snprintf(text, size, "why is not known: the timelines of both do not show it");
  else
    snprintf(text, size, "why, timelines of both would tell (nbc see, NBC_TRACE=1)");
  return text;
}

static bool exchanges(const nbc_pair *p) { return p->sent_count || p->received_count; }
static const nbc_pair **pairs_of(const nbc_report *r) { /* most waited first; the caller frees */
  const nbc_pair **pairs = (const nbc_pair **)must(calloc(r->pair_count + 1, sizeof *pairs));
  for (size_t i = 0; i < r->pair_count; i++) pairs[i] = &r->pairs[i];
  qsort(pairs, r->pair_count, sizeof *pairs, pair_order);
  return pairs;
}
/* Worth a line: a hundredth of the time in calls. */
static bool is_worth(const nbc_report *r, const nbc_pair *p) {
  return waited_for_ns(p) > 0 && share(waited_for_ns(p), r->call_ns) >= 0.01;
}

/* ---- communicators ---------------------------------------------------------------------------- */
static int comm_order(const void *a, const void *b) { /* most waited first */
  const nbc_comm_total *x = *(const nbc_comm_total *const *)a,
                       *y = *(const nbc_comm_total *const *)b;
  if (x->waited_ns != y->waited_ns) return x->waited_ns < y->waited_ns ? 1 : -1;
  return x < y ? -1 : 1;
}
static const nbc_comm_total **comms_of(const nbc_report *r) { /* the caller frees */
  const nbc_comm_total **comms =
      (const nbc_comm_total **)must(calloc(r->comm_count + 1, sizeof *comms));
  for (size_t i = 0; i < r->comm_count; i++) comms[i] = &r->comms[i];
  qsort(comms, r->comm_count, sizeof *comms, comm_order);
  return comms;
}
static const char *comm_name(const nbc_comm_total *c) { return c->name[0] ? c->name : "(no name)"; }

static void text_comms(const nbc_report *r, FILE *out) {
  words a, b;
  char name[40];
  if (r->comm_count < 2) return; /* one: that is all there is */
  const nbc_comm_total **comms = comms_of(r);
  fprintf(out, "\n%-32s %9s %9s %9s %9s\n", "By communicator", "processes", "transfers", "volume",
          "waited");
  for (size_t i = 0; i < r->comm_count && i < 15; i++)
    fprintf(out, "  %-30s %9d %9llu %9s %9s\n", plain(comm_name(comms[i]), name, 31),
            comms[i]->size, (unsigned long long)comms[i]->count,
            bytes_text(comms[i]->size_bytes, &a), time_text(comms[i]->waited_ns, &b));
  if (r->comm_count > 15) fprintf(out, "  and %zu more\n", r->comm_count - 15);
  free(comms);
}
static void put_comms(FILE *out, const nbc_report *r) {
  words a, b;
  if (r->comm_count < 2) return;
  const nbc_comm_total **comms = comms_of(r);
  fputs("<h2>By communicator</h2>\n<table><tr><th "
        "class=\"name\">name</th><th>processes</th><th>transfers</th><th>volume</th><th>waited</"
        "th></tr>\n",
        out);
  for (size_t i = 0; i < r->comm_count && i < 100; i++) {
    fputs("<tr><td class=\"name\">", out);
    put(out, comm_name(comms[i]));
    fprintf(out, "</td><td>%d</td><td>%llu</td><td>%s</td><td>%s</td></tr>\n", comms[i]->size,
            (unsigned long long)comms[i]->count, bytes_text(comms[i]->size_bytes, &a),
            time_text(comms[i]->waited_ns, &b));
  }
  fputs("</table>\n", out);
  if (r->comm_count > 100) fprintf(out, "<p class=\"soft\">%zu more.</p>\n", r->comm_count - 100);
  free(comms);
}

static void text_pairs(const nbc_report *r, FILE *out) {
  words a;
  char why[400];
  if (!r->pair_count) return;
  const nbc_pair **pairs = pairs_of(r);
  if (is_worth(r, pairs[0])) fputs("\nWho waits for whom (point-to-point)\n", out);
  for (size_t i = 0; i < r->pair_count && i < 6 && is_worth(r, pairs[i]); i++) {
    fprintf(out, "  rank %d waited %s for rank %d\n", pairs[i]->rank,
            time_text(waited_for_ns(pairs[i]), &a), pairs[i]->partner);
    put_wrapped(out, "     ", why_waited(pairs[i], opposite(r, pairs[i]), why, sizeof why));
  }
  free(pairs);
}

/* ---- heat map: bytes sent, by rank; folded when there are more than 256 ---------------------------- */
enum { MAP_MOST = 256 };
static void put_map(FILE *out, const nbc_report *r) {
  int last = -1;
  for (size_t i = 0; i < r->pair_count; i++) {
    if (r->pairs[i].rank > last) last = r->pairs[i].rank;
    if (r->pairs[i].partner > last) last = r->pairs[i].partner;
  }
  const int fold = last / MAP_MOST + 1, cells = last < 0 ? 0 : last / fold + 1;
  if (cells < 2) return;
  double *sum = (double *)must(calloc((size_t)cells * (size_t)cells, sizeof *sum)), most = 1;
  for (size_t i = 0; i < r->pair_count; i++)
    sum[r->pairs[i].rank / fold * cells + r->pairs[i].partner / fold] +=
        (double)r->pairs[i].sent_bytes;
  for (int i = 0; i < cells * cells; i++) most = fmax(most, sum[i]);
  fprintf(out,
          "<h2>Who sends to whom</h2>\n<p class=\"soft\">Bytes by sender (down) and receiver "
          "(across)%s; darkest: most.</p>\n"
          "<svg class=\"map\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"bytes sent between "
          "ranks\">"
          "<rect class=\"ground\" width=\"%d\" height=\"%d\"/>\n",
          fold > 1 ? ", several neighbouring ranks in one cell" : "", cells, cells, cells, cells);
  for (int i = 0; i < cells * cells; i++)
    if (sum[i] > 0) {
      /* by the logarithm: beside one large pair all others would be white; 15: what is sent is
         seen */
      const int percent = (int)(15 + 85 * log1p(sum[i]) / log1p(most));
      fprintf(out,
              "<rect class=\"call\" x=\"%d\" y=\"%d\" width=\"1\" height=\"1\" "
              "fill-opacity=\"0.%02d\"/>",
              i % cells, i / cells, percent > 99 ? 99 : percent);
    }
  fputs("\n</svg>\n", out);
  free(sum);
}

static void put_pairs(FILE *out, const nbc_report *r) {
  words a, b;
  char why[400];
  const nbc_pair **pairs = pairs_of(r);
  bool some = false;
  for (size_t i = 0; i < r->pair_count && !some; i++) some = exchanges(pairs[i]);
  if (!some) {
    free(pairs);
    return;
  }
  fputs("<h2>Who waits for whom</h2>\n<div "
        "class=\"scroll\"><table><thead><tr><th>rank</th><th>waited for</th><th>time</th>"
        "<th>received</th><th class=\"left\">why, as far as both reports "
        "tell</th></tr></thead><tbody>\n",
        out);
  for (size_t i = 0; i < r->pair_count && i < 50; i++) {
    if (pairs[i]->known_ns + pairs[i]->waited_ns == 0 && !exchanges(pairs[i])) continue;
    fprintf(
        out,
        "<tr data-table=\"pair\"><td>%d</td><td>%d</td><td>%s</td><td>%s</td><td class=\"why\">",
        pairs[i]->rank, pairs[i]->partner, time_text(waited_for_ns(pairs[i]), &a),
        bytes_text(pairs[i]->received_bytes, &b));
    put(out,
        is_worth(r, pairs[i]) ? why_waited(pairs[i], opposite(r, pairs[i]), why, sizeof why) : "");
    fputs("</td></tr>\n", out);
  }
  fputs("</tbody></table></div>\n", out);
  free(pairs);
  put_map(out, r);
}

/* ---- bounds that know both sides ----------------------------------------------------------------------- */
static void say_too(run *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say_too(run *r, const char *format, ...) {
  char text[400];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (nbc_report_note(r->sum, text) != NBC_OK) no_memory();
}

/* Who waits for a core is helped by no advice here: by what the kernel told the preload, and more processes than cores.
   Of this host alone the cores are known. */
static void take_cores(run *r) {
  char here[sizeof r->processes->host] = "";
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  long count = 0;
  for (size_t i = 0; i < r->sum->counter_count; i++) {
    words a;
    const nbc_counter *const c = &r->sum->counters[i];
    if (strcmp(c->name, "waited_for_a_core_ns") == 0 && c->value > 0 && c->value < 9e18)
      say_too(r,
              "processes were ready to run and waited at least %s for a core that others had (%.0f "
              "%% of "
              "the time of all): nothing here cures that; measure with a core for each",
              time_text((int64_t)c->value, &a), 100 * share((int64_t)c->value, r->sum->wall_ns));
    if (strcmp(c->name, "other_threads_ran_ns") == 0 && c->value > 0 && c->value < 9e18)
      say_too(r,
              "other threads of the processes, no call of which is seen (a runtime's, or those "
              "that make "
              "progress), ran for %s: what they computed while others waited hides nothing here, "
              "and is in "
              "no computation above",
              time_text((int64_t)c->value, &a));
  }
  if (gethostname(here, sizeof here - 1) != 0) return;
  for (size_t i = 0; i < r->process_count; i++) count += strcmp(r->processes[i].host, here) == 0;
  if (cores > 0 && count > cores)
    say_too(r,
            "%ld processes on %ld core%s of %s: much of what they waited for each other was for "
            "a core; measure with a core for each",
            count, cores, cores == 1 ? "" : "s", here);
}

/* Does the share by stamps lie outside of the bounds? Then how many times the table's time its transfers took; else 0. */
static double times_outside(const nbc_totals *t) {
  const double least = share(t->min_overlap_ns, t->xfer_ns),
               most = share(t->max_overlap_ns, t->xfer_ns);
  if (!t->exact_count || t->exact_count != t->count || t->exact_xfer_ns <= t->xfer_ns ||
      (exact_least(t) <= most + 1e-3 && exact_most(t) >= least - 1e-3))
    return 0;
  return share(t->exact_xfer_ns, t->xfer_ns);
}
/* Bounds are shares of the table's time, those by stamps of each transfer's own: where some took longer, these weigh more.
   It may be so of the sum of rows of which it is so of none. */
static const char stamps_say[] =
    "in some rows the share by NIC stamps lies outside of the bounds: transfers took up to %.1f "
    "times the time of the table there, as they shared the wire; a share by stamps is of that "
    "longer time";
static double longest_outside(const nbc_report *r) {
  double longest = times_outside(&r->total);
  for (grouping by = BY_SECTION; by < GROUPINGS && r->total.exact_count; by = (grouping)(by + 1)) {
    size_t count;
    row *rows = group(r, by, &count);
    for (size_t i = 0; i < count; i++) longest = fmax(longest, times_outside(&rows[i].t));
    free(rows);
  }
  return longest;
}
static void take_stamps(run *r) {
  const double longest = longest_outside(r->sum);
  if (longest > 0) say_too(r, stamps_say, longest);
}
static void diff_stamps(const nbc_report *before, const nbc_report *after, FILE *out) {
  const double longest = fmax(longest_outside(before), longest_outside(after));
  if (longest <= 0) return;
  fputs("\nNote: ", out);
  fprintf(out, stamps_say, longest);
  fputs(".\n", out);
}

/* The sums of a pair, found by their ranks. */
typedef struct pair_sums {
  nbc_pair **pairs; /* by rank and partner */
  size_t count;
  wait_sums *sums; /* of each */
} pair_sums;
static int pair_by_ranks(const void *a, const void *b) {
  const nbc_pair *x = *(nbc_pair *const *)a, *y = *(nbc_pair *const *)b;
  if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
  return (x->partner > y->partner) - (x->partner < y->partner);
}
static wait_sums *sums_of_pair(void *user, size_t timeline_index, size_t partner) {
  pair_sums *s = (pair_sums *)user;
  nbc_pair key, *at = &key;
  memset(&key, 0, sizeof key);
  key.rank = traces.of[timeline_index].rank;
  key.partner = traces.of[partner].rank;
  nbc_pair **at_pair =
      s->count ? (nbc_pair **)bsearch(&at, s->pairs, s->count, sizeof at, pair_by_ranks) : NULL;
  return at_pair ? &s->sums[at_pair - s->pairs] : NULL;
}
/* Why they waited, where timelines tell. */
static void take_waits(nbc_report *sum) {
  pair_sums s = {(nbc_pair **)must(malloc((sum->pair_count + 1) * sizeof *s.pairs)),
                 sum->pair_count, (wait_sums *)must(calloc(sum->pair_count + 1, sizeof *s.sums))};
  for (size_t i = 0; i < s.count; i++) s.pairs[i] = &sum->pairs[i];
  qsort(s.pairs, s.count, sizeof *s.pairs, pair_by_ranks);
  wait_add_all(sums_of_pair, &s);
  for (size_t i = 0; i < s.count; i++) {
    nbc_pair *p = s.pairs[i];
    p->known_ns = s.sums[i].known_ns, p->late_ns = s.sums[i].late_ns;
    p->moving_ns = s.sums[i].moving_ns, p->computing_ns = s.sums[i].computing_ns;
  }
  free(s.pairs);
  free(s.sums);
}

/* Is anything between nodes told by what holds their clocks together? */
static bool clocks_are_held(void) {
  for (size_t i = 0; i < clocks.pair_count; i++)
    if (clocks.pairs[i].is_good) return true;
  return false;
}
/* What both sides of messages know of them, by kind. */
static void take_partners(run *r) {
  nbc_partner_bound kinds[NBC_KIND_COUNT];
  if (traces.count < 2) return;
  trace_sort();
  match_messages();
  take_waits(r->sum);
  memset(kinds, 0, sizeof kinds);
  for (size_t i = 0; i < traces.count; i++)
    for (size_t k = 0; k < matches.transfer_count[i]; k++) {
      const match_bounds *m = &matches.bounds[i][k];
      const trace_record *x = &matches.transfers[i][k];
      nbc_partner_bound *b = &kinds[x->kind];
      if (!m->is_matched || !m->has_window) continue;
      b->count++;
      b->far_count += m->is_far;
      b->size_bytes += x->size_bytes;
      b->xfer_ns += x->xfer_ns;
      b->alone_min_ns += x->min_overlap_ns, b->alone_max_ns += x->max_overlap_ns;
      b->min_overlap_ns += m->min_ns, b->max_overlap_ns += m->max_ns;
    }
  for (int k = 0; k < NBC_KIND_COUNT; k++) {
    kinds[k].kind = (nbc_kind)k;
    kinds[k].clock_err_ns = matches.err_ns;
    if (kinds[k].count && nbc_report_partner_bound(r->sum, &kinds[k]) == NBC_E_NOMEM) no_memory();
  }
  if (matches.matched_count < matches.message_count)
    say_too(r, "%llu of %llu messages of the timelines were not matched: %s",
            (unsigned long long)(matches.message_count - matches.matched_count),
            (unsigned long long)matches.message_count,
            matches.why ? matches.why
                        : "no message of their tag was seen on the other side (matched by a "
                          "probe, in parts, or by calls within calls)");
  if (clocks.contradicted_count)
    say_too(r,
            "the clocks of %llu pairs of nodes jumped, or ran apart by more than 400 ppm, as the "
            "messages between them "
            "show: nothing is said of these by both sides",
            (unsigned long long)clocks.contradicted_count);
  if (clocks.torn_count)
    say_too(r, "processes of one boot received messages before these were sent: they are not taken "
               "to share a clock (copies of a virtual machine have one boot)");
  if (clocks_are_held())
    say_too(r, "who waits for whom, and who comes last at collectives, is told between nodes by "
               "clocks that messages and collectives hold together: true if any two run apart by "
               "at most 400 ppm, changing by 1 ppm/s");
  if (matches.contradicted_count) {
    words w;
    say_too(r,
            "%llu sides of messages were faster than the table, as both sides together show: the "
            "table is too slow for them%s%s%s",
            (unsigned long long)matches.contradicted_count,
            matches.disproved_ns ? ", and of the minima by one side " : "",
            matches.disproved_ns ? time_text(matches.disproved_ns, &w) : "",
            matches.disproved_ns ? " do not hold" : "");
  }
}

/* What they rest on. */
static const char *partner_caption(const nbc_report *r, words *w) {
  int64_t err_ns = 0;
  uint64_t far_count = 0;
  words err;
  for (size_t i = 0; i < r->partner_bound_count; i++) {
    const nbc_partner_bound *b = &r->partner_bounds[i];
    if (b->clock_err_ns > err_ns) err_ns = b->clock_err_ns;
    far_count += b->far_count;
  }
  snprintf(w->text, sizeof w->text,
           "By both sides: no byte moves before the send is called or after the receive returns "
           "(timelines of one clock%s, +- %s)",
           far_count
               ? ", or of nodes whose clocks messages and collectives hold together if any two "
                 "run apart by at most 400 ppm, changing by 1 ppm/s"
               : "",
           time_text(err_ns, &err));
  return w->text;
}

/* ---- bounds that know of the shared link ------------------------------------------------------------ */
static void text_joints(const nbc_report *r, FILE *out) {
  words a;
  if (!r->joint_count) return;
  fputs("\nTogether: transfers under way at the same time share their link\n", out);
  for (size_t i = 0; i < r->joint_count; i++) {
    const nbc_joint *j = &r->joints[i];
    fprintf(out, "  %s, %-12s %9llu transfers %9s  hidden %5.1f .. %5.1f %%\n",
            j->incoming ? "in " : "out", peer_text(j->peer), (unsigned long long)j->count,
            time_text(j->xfer_ns, &a), 100 * share(j->min_overlap_ns, j->xfer_ns),
            100 * share(j->max_overlap_ns, j->xfer_ns));
  }
}

static void text_partners(const nbc_report *r, FILE *out) {
  words a;
  if (!r->partner_bound_count) return;
  fputc('\n', out);
  put_wrapped(out, "", partner_caption(r, &a));
  for (size_t i = 0; i < r->partner_bound_count; i++) {
    const nbc_partner_bound *b = &r->partner_bounds[i];
    fprintf(
        out,
        "  %-10s %9llu transfers %9s  hidden %5.1f .. %5.1f %%  (one side alone %5.1f .. %5.1f)\n",
        nbc_kind_name(b->kind), (unsigned long long)b->count, time_text(b->xfer_ns, &a),
        100 * share(b->min_overlap_ns, b->xfer_ns), 100 * share(b->max_overlap_ns, b->xfer_ns),
        100 * share(b->alone_min_ns, b->xfer_ns), 100 * share(b->alone_max_ns, b->xfer_ns));
  }
}
static void put_partners(FILE *out, const nbc_report *r) {
  words a;
  if (!r->partner_bound_count) return;
  fprintf(out,
          "<h2>By both sides</h2>\n<p class=\"soft\">%s</p>\n<div class=\"scroll\"><table><thead>"
          "<tr><th>call</th><th>transfers</th><th>time</th><th>hidden</th><th>one side alone</th>"
          "</tr></thead><tbody>\n",
          partner_caption(r, &a));
  for (size_t i = 0; i < r->partner_bound_count; i++) {
    const nbc_partner_bound *b = &r->partner_bounds[i];
    fprintf(out,
            "<tr data-table=\"partner\" data-name=\"%s\"><td>%s</td><td>%llu</td><td>%s</td>"
            "<td>%.1f .. %.1f %%</td><td>%.1f .. %.1f %%</td></tr>\n",
            nbc_kind_name(b->kind), nbc_kind_name(b->kind), (unsigned long long)b->count,
            time_text(b->xfer_ns, &a), 100 * share(b->min_overlap_ns, b->xfer_ns),
            100 * share(b->max_overlap_ns, b->xfer_ns), 100 * share(b->alone_min_ns, b->xfer_ns),
            100 * share(b->alone_max_ns, b->xfer_ns));
  }
  fputs("</tbody></table></div>\n", out);
}
