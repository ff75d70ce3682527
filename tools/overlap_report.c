/* overlap_report.c: the reports of a run's processes as one: what was hidden, what was not, where, and
   what to do about it.

   Question: my run left one report per process; where does its communication time go?
   Command:  build/overlap_report FOLDER            or the files: nbc_overlap.program.*.json
   Output:   a summary on standard output, and overlap_report.html beside the reports: one page without
             scripts or links

   usage: overlap_report [-o PAGE.html | --no-html] [--json] [--reference REF] FILE|FOLDER...
          overlap_report --diff BEFORE AFTER        each a file or a folder
     -o FILE     where the page goes; default: overlap_report.html in the folder of the (first) report
     --no-html   no page
     --json      print the sum of all reports as JSON (itself a report) instead of the summary; a page
                 only with -o
     --reference REF  (file or folder) a run of the same program without overlap: every transfer waited
                 for at once, or blocking. Its times in a section are the references of nbc_diagnose
                 [R 4.1]: each section gets a diagnosis. --json keeps them, as counters "comp_ref_ns"
                 and "comm_ref_ns"; a program that knows them may write these itself.
     --csv DIR   every table as a file there: transfers, calls, places, endings, pairs, communicators, ranks,
                 bounds (joint, and by both sides of messages), offenders (worst first), unmoved (calls without
                 messages), why (time in calls was needed), counters, sections, spread over the ranks
     --diff      print what changed between two runs, biggest change first
     --help      all this, briefly
   Transfers are told of by the place where they began, too: a line that is hidden and one that is not are two rows.
   NIC counters that the preload booked (NBC_NIC_COUNTERS=auto) stand "on the wire", beside what the
   program asked for, by section.

   Beside timelines (NBC_TRACE=1: NAME.RANK.trace) there are bounds by both sides of messages too (trace_match.h).

   From a folder the files nbc_overlap.NAME.RANK.json of one run, of all its programs, are taken: the newest, when there
   are several. A file that is damaged, of another version, or of other size classes is named with its line
   and left out, here and on the page, and the rest is still reported.
   Exit status: 0 all was read and written; 1 something was not; 2 wrong usage or nothing to report. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#include "tools/options.h"
#include "tools/output.h"
#include "tools/progress_line.h"
#include "tools/shell_word.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* What the sum does not keep of one process. */
typedef struct process {
  int rank, process_count;
  char host[64];
  nbc_totals t;
  int64_t wall_ns, comp_ns, call_ns;
} process;

static progress_line reading;
static void no_memory(void);
static void *must(void *memory);
static const char trace_reader[] = "overlap_report";
#include "tools/trace_read.h"
#include "tools/trace_match.h"

typedef struct run {
  nbc_report *sum;
  process *processes;
  size_t process_count;
  char **troubles; /* files left out, ranks missing: one line each */
  size_t trouble_count;
  bool failed;            /* something could not be read */
  int size_min, size_max; /* of the worlds the processes lived in */
} run;

static void no_memory(void) {
  fputs("overlap_report: out of memory\n", stderr);
  exit(2);
}
static void *must(void *memory) {
  if (!memory) no_memory();
  return memory;
}
static void *grow(void *array, size_t count, size_t element_bytes) {
  if (count & (count - 1)) return array;
  void *bigger = realloc(array, (count ? 2 * count : 1) * element_bytes);
  if (!bigger) no_memory();
  return bigger;
}

static void trouble(run *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void trouble(run *r, const char *format, ...) {
  va_list args;
  char *text = NULL;
  va_start(args, format);
  if (vasprintf(&text, format, args) < 0) no_memory();
  va_end(args);
  fprintf(stderr, "overlap_report: %s\n", text);
  r->troubles = (char **)grow(r->troubles, r->trouble_count, sizeof *r->troubles);
  r->troubles[r->trouble_count++] = text;
}

static const char *plain(const char *from, char *text, size_t size) { /* for a terminal */
  size_t n = 0;
  for (; *from && n + 1 < size; from++, n++)
    text[n] = (unsigned char)*from < 0x20 || *from == 0x7f ? '?' : *from;
  text[n] = 0;
  return text;
}

/* ---- reading ---------------------------------------------------------------------------------- */
static void add_report(run *r, const char *path, nbc_status status, nbc_report *one,
                       nbc_error err) {
  if (status == NBC_OK && r->process_count == 0 && !r->sum) status = nbc_report_create(&r->sum);
  if (status == NBC_OK) {
    status = nbc_report_add(r->sum, one, &err);
    if (status != NBC_OK) {
      trouble(r, "left out: %s: %s", path, err.text[0] ? err.text : nbc_status_text(status));
      r->failed = true;
      nbc_report_free(one);
      return;
    }
    r->processes = (process *)grow(r->processes, r->process_count, sizeof *r->processes);
    process *p = &r->processes[r->process_count++];
    p->rank = one->rank;
    p->process_count = one->process_count;
    snprintf(p->host, sizeof p->host, "%s", one->host ? one->host : "");
    p->t = one->total;
    p->wall_ns = one->wall_ns, p->comp_ns = one->comp_ns, p->call_ns = one->call_ns;
    if (r->process_count == 1 || one->size < r->size_min) r->size_min = one->size;
    if (r->process_count == 1 || one->size > r->size_max) r->size_max = one->size;
    nbc_report_free(one);
    return;
  }
  /* err.text names file and line, unless there was no text to have a line. */
  if (err.text[0])
    trouble(r, "left out: %s", err.text);
  else
    trouble(r, "left out: %s: %s", path, nbc_status_text(status));
  r->failed = true;
}

/* Several reports one after the other, as NBC_GATHER=1 leaves them: each begins a line. */
static bool holds_many(const char *path) {
  const size_t n = strlen(path);
  return n > 9 && strcmp(path + n - 9, ".all.json") == 0;
}
static void add_many(run *r, const char *path) {
  char *line = NULL, *text = NULL;
  size_t line_room = 0, room = 0, used = 0, number = 0;
  FILE *in = fopen(path, "rb");
  if (!in) {
    trouble(r, "left out: %s: %s", path, strerror(errno));
    r->failed = true;
    return;
  }
  for (bool more = true; more;) {
    const ssize_t n = getline(&line, &line_room, in);
    more = n >= 0;
    if (used && (!more || strncmp(line, "{\"schema\"", 9) == 0)) {
      char name[4200];
      nbc_report *one = NULL;
      nbc_error err;
      memset(&err, 0, sizeof err);
      snprintf(name, sizeof name, "%.4096s, report %zu", path, ++number);
      const nbc_status status = nbc_report_parse_json(text, used, name, &one, &err);
      add_report(r, name, status, one, err);
      used = 0;
    }
    if (!more) break;
    if (used + (size_t)n > room) text = (char *)must(realloc(text, room = 2 * (used + (size_t)n)));
    memcpy(text + used, line, (size_t)n);
    used += (size_t)n;
  }
  if (ferror(in) || !number) {
    trouble(r, "left out: %s: %s", path, ferror(in) ? strerror(errno) : "no report in it");
    r->failed = true;
  }
  fclose(in);
  free(line);
  free(text);
}

/* nbc_overlap.NAME.RANK.json, and with .all before .json: how many bytes come before ".RANK.json", or
   ".all.json" without a rank; 0: not such a name. */
static size_t run_part(const char *name) {
  size_t n = strlen(name);
  if (strncmp(name, "nbc_overlap.", 12) != 0 || n < 18 || strcmp(name + n - 5, ".json") != 0)
    return 0;
  n -= 5;
  if (n > 16 && strncmp(name + n - 4, ".all", 4) == 0) n -= 4;
  size_t at = n;
  while (at > 12 && name[at - 1] >= '0' && name[at - 1] <= '9') at--;
  return at < n && at > 12 && name[at - 1] == '.' ? at - 1 : n;
}

static const char *base_of(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* The timeline beside the report NAME.RANK.json or NAME.all.json, if there is one. */
static void add_timeline(run *r, const char *path, int rank) {
  char beside[PATH_MAX];
  const size_t n = strlen(path) - strlen(base_of(path)) + run_part(base_of(path));
  struct stat st;
  snprintf(beside, sizeof beside, "%.*s.%d.trace", (int)n, path, rank);
  if (rank < 0 || stat(beside, &st) != 0 || !S_ISREG(st.st_mode)) return;
  bool bad = false;
  trace_add_file(beside, &bad);
  r->failed = r->failed || bad;
}

static void add_file(run *r, const char *path) {
  nbc_report *one = NULL;
  nbc_error err;
  memset(&err, 0, sizeof err);
  const size_t before = r->process_count;
  if (holds_many(path)) {
    add_many(r, path);
  } else {
    const nbc_status status = nbc_report_read_json(path, &one, &err);
    add_report(r, path, status, one, err);
  }
  for (size_t i = before; i < r->process_count && run_part(base_of(path)); i++)
    add_timeline(r, path, r->processes[i].rank);
}

typedef struct found {
  char *name;
  size_t run_bytes,
      before_run; /* of the name that all files of its run share; the program's part of it */
  struct timespec changed;
} found;

/* The run, which several programs of one world share, then the program. */
static int by_run(const void *a, const void *b) {
  const found *x = (const found *)a, *y = (const found *)b;
  const size_t n = x->run_bytes - x->before_run, m = y->run_bytes - y->before_run;
  const int order = strncmp(x->name + x->before_run, y->name + y->before_run, n < m ? n : m);
  if (order || n != m) return order ? order : n < m ? -1 : 1;
  return strcmp(x->name, y->name);
}
static bool same_run(const found *a, const found *b) {
  const size_t n = a->run_bytes - a->before_run;
  return n == b->run_bytes - b->before_run &&
         strncmp(a->name + a->before_run, b->name + b->before_run, n) == 0;
}
static bool same_program(const found *a, const found *b) {
  return a->before_run == b->before_run && strncmp(a->name, b->name, a->before_run) == 0;
}
static bool newer(const found *a, const found *b) {
  return a->changed.tv_sec != b->changed.tv_sec ? a->changed.tv_sec > b->changed.tv_sec
                                                : a->changed.tv_nsec > b->changed.tv_nsec;
}

/* A script may start several programs, and who wants another one's report must know how to ask for it. Files are sorted by
   run. */
enum { OTHER_RUNS = 5 };
static void tell_other_runs(run *r, const char *folder, const found *files, size_t count,
                            size_t newest, size_t left_out) {
  char *const place = (char *)must(shell_word(folder));
  size_t told = 0;
  trouble(r, "%s holds several runs: the newest, %.*s, is reported, %zu other files are not",
          folder, (int)files[newest].run_bytes, files[newest].name, left_out);
  for (size_t i = 0, end; i < count; i = end) {
    for (end = i + 1; end < count && same_run(&files[i], &files[end]);) end++;
    if (same_run(&files[i], &files[newest]) || told++ >= OTHER_RUNS) continue;
    const bool is_one = same_program(&files[i], &files[end - 1]);
    const size_t from = is_one ? 0 : files[i].before_run;
    files[i].name[files[i].run_bytes] = 0; /* nobody asks for the rest any more */
    char *const name = (char *)must(shell_word(files[i].name + from));
    trouble(r, "another run, %zu file%s: nbc report %s%s%s%s.*.json", end - i,
            end - i == 1 ? "" : "s", place, folder[strlen(folder) - 1] == '/' ? "" : "/",
            is_one ? "" : "nbc_overlap.*.", name);
    free(name);
  }
  free(place);
  if (told > OTHER_RUNS) trouble(r, "and %zu more runs", told - OTHER_RUNS);
}

static void add_folder(run *r, const char *folder) {
  DIR *dir = opendir(folder);
  found *files = NULL;
  size_t count = 0, newest = 0, left_out = 0;
  if (!dir) {
    trouble(r, "left out: %s: %s", folder, strerror(errno));
    r->failed = true;
    return;
  }
  for (struct dirent *e; (e = readdir(dir));) {
    struct stat st;
    const size_t part = run_part(e->d_name);
    if (!part || fstatat(dirfd(dir), e->d_name, &st, 0) != 0) continue;
    if (!S_ISREG(st.st_mode)) { /* a pipe would be waited for */
      trouble(r, "left out: %s/%s: not a file", folder, e->d_name);
      r->failed = true;
      continue;
    }
    files = (found *)grow(files, count, sizeof *files);
    files[count].name = (char *)must(strdup(e->d_name));
    files[count].run_bytes = part;
    files[count].before_run = match_before_run(e->d_name, part);
    files[count++].changed = st.st_mtim;
  }
  closedir(dir);
  if (count) qsort(files, count, sizeof *files, by_run);
  for (size_t i = 1; i < count; i++)
    if (newer(&files[i], &files[newest])) newest = i;
  for (size_t i = 0; i < count; i++) {
    char path[4096];
    if (!same_run(&files[i], &files[newest])) {
      left_out++;
      continue;
    }
    snprintf(path, sizeof path, "%s%s%s", folder, folder[strlen(folder) - 1] == '/' ? "" : "/",
             files[i].name);
    progress_show(&reading, files[i].name, (double)i, (double)count);
    add_file(r, path);
  }
  if (left_out) tell_other_runs(r, folder, files, count, newest, left_out);
  if (!count) {
    trouble(r, "left out: %s: no file nbc_overlap.*.json in this folder", folder);
    r->failed = true;
  }
  for (size_t i = 0; i < count; i++) free(files[i].name);
  free(files);
}

static int by_rank(const void *a, const void *b) {
  const process *x = (const process *)a, *y = (const process *)b;
  return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static bool knows_other_nodes(const nbc_report *r) {
  for (size_t i = 0; i < r->cell_count; i++)
    if (r->cells[i].peer == NBC_PEER_OTHER_NODE) return true;
  return false;
}
/* Do the reports of one host speak of other nodes? Theirs may be in folders of the same name there. */
static bool is_one_host_of_several(const run *r) {
  for (size_t i = 1; i < r->process_count; i++)
    if (strcmp(r->processes[i].host, r->processes[0].host) != 0) return false;
  return r->sum && knows_other_nodes(r->sum);
}

/* Ranks that are there twice or not at all make the sum another thing than the run. */
static void look_for_gaps(run *r) {
  char text[400];
  size_t used = 0;
  long missing = 0;
  int shown = 0;
  if (!r->process_count) return;
  qsort(r->processes, r->process_count, sizeof *r->processes, by_rank);
  long next = 0;
  for (size_t i = 0; i <= r->process_count && r->size_min == r->size_max; i++) {
    const long rank = i < r->process_count ? r->processes[i].rank : r->size_max;
    if (rank < 0) return; /* a sum of several processes: whose, nobody knows */
    for (long m = next; m < rank && m < next + 8 && shown < 8; m++, shown++)
      used += (size_t)snprintf(text + used, sizeof text - used, " %ld", m);
    if (rank > next) missing += rank - next;
    if (i < r->process_count && rank < next)
      trouble(r, "rank %ld is there twice: are these files of one run?", rank);
    next = rank + 1;
  }
  if (missing)
    trouble(
        r, "%ld of %d processes left no report%s: rank%s%s%s%s", missing, r->size_max,
        is_one_host_of_several(r) ? " here" : "", missing > 1 ? "s" : "", text,
        missing > 8 ? " ..." : "",
        is_one_host_of_several(r)
            ? "; others ran on other nodes: is this folder one that all nodes share? (-o FOLDER, "
              "NBC_REPORT_DIR; NBC_GATHER=1 sends reports, not timelines, to rank 0)"
            : "");
}

static void read_run(run *r, char **paths, int count) {
  if (traces.count) memset(&traces, 0, sizeof traces), memset(&matches, 0, sizeof matches);
  struct stat st;
  memset(r, 0, sizeof *r);
  progress_begin(&reading, "overlap_report", true);
  for (int i = 0; i < count; i++)
    if (stat(paths[i], &st) == 0 && S_ISDIR(st.st_mode))
      add_folder(r, paths[i]);
    else
      progress_show(&reading, paths[i], i, count), add_file(r, paths[i]);
  progress_end(&reading);
  look_for_gaps(r);
}

static void free_run(run *r) {
  nbc_report_free(r->sum);
  for (size_t i = 0; i < r->trouble_count; i++) free(r->troubles[i]);
  free(r->troubles);
  free(r->processes);
}

#include "overlap_report_rows.h"
#include "overlap_report_advice.h"
#include "tools/trace_waits.h"
#include "tools/trace_last.h"
#include "tools/trace_ends.h"

/* ---- against a reference ---------------------------------------------------------------------- */
static const char comp_ref_name[] = "comp_ref_ns", comm_ref_name[] = "comm_ref_ns";

static double counter_of(const nbc_report *r, int section, const char *name) { /* NaN: not there */
  for (size_t i = 0; i < r->counter_count; i++)
    if (r->counters[i].section_index == section && strcmp(r->counters[i].name, name) == 0)
      return r->counters[i].value;
  return NAN;
}
/* How often a section was entered, by all processes; the program outside of sections: once in each. */
static double visits(const nbc_report *r, size_t section) {
  return section ? (double)r->sections[section].count : (double)r->process_count;
}

/* What the sections of the run would have taken apart: the reference's times, visit for visit. */
static void take_reference(run *r, const run *reference) {
  const nbc_report *ref = reference->sum;
  char its_name[200], name[200];
  size_t known = 0;
  if (ref->program && r->sum->program && strcmp(ref->program, r->sum->program) != 0)
    trouble(r, "the reference is a run of another program, %s: this one is %s",
            plain(ref->program, its_name, sizeof its_name),
            plain(r->sum->program, name, sizeof name));
  for (size_t i = 0; i < r->sum->section_count; i++)
    for (size_t k = 0; k < ref->section_count; k++) {
      const nbc_section *from = &ref->sections[k];
      const double scale = visits(r->sum, i) / visits(ref, k);
      if (strcmp(from->path, r->sum->sections[i].path) != 0 || !isfinite(scale)) continue;
      if (from->comp_ns <= 0 || from->call_ns <= 0 ||
          !isnan(counter_of(r->sum, (int)i, comp_ref_name)))
        continue;
      nbc_report_counter(r->sum, (int)i, comp_ref_name, scale * (double)from->comp_ns);
      nbc_report_counter(r->sum, (int)i, comm_ref_name, scale * (double)from->call_ns);
      known++;
    }
  if (!known)
    trouble(
        r, "the reference has no section with computation and communication that this run has too");
  if (ref->process_count != r->sum->process_count)
    trouble(r, "the reference has %d process%s, this run %d", ref->process_count,
            ref->process_count == 1 ? "" : "es", r->sum->process_count);
}

/* The diagnosis of a section, per visit; false: no references. */
static bool diagnose(const nbc_report *r, size_t section, char *text, size_t text_bytes) {
  nbc_overlap_times t;
  nbc_metrics m;
  const double n = visits(r, section);
  memset(&t, 0, sizeof t);
  t.comp_ref_ns = counter_of(r, (int)section, comp_ref_name) / n;
  t.comm_ref_ns = counter_of(r, (int)section, comm_ref_name) / n;
  t.comp_ns = (double)r->sections[section].comp_ns / n;
  for (size_t i = 0; i < r->call_count; i++)
    if (r->calls[i].section_index == (int)section)
      *(nbc_kind_category(r->calls[i].kind) == NBC_CATEGORY_NONBLOCKING ? &t.call_ns
                                                                        : &t.wait_ns) +=
          (double)r->calls[i].total_ns / n;
  if (nbc_metrics_compute(&t, &m) != NBC_OK) return false;
  nbc_diagnose(&t, &m, text, text_bytes);
  return true;
}

/* ---- is the table good for anything? ---------------------------------------------------------- */
/* Why the bounds should not be read yet; false: no such reason. */
static bool table_is_useless(const nbc_report *r, char *why, size_t why_bytes) {
  const uint64_t clamped = r->problems[NBC_PROBLEM_table_too_slow];
  if (!r->total.count) return false;
  if (r->table_is_default)
    snprintf(why, why_bytes,
             "Transfer times were guessed, not measured on this machine, and the bounds rest on "
             "them: of faster "
             "transfers a larger share than \"at most\" says may be hidden.");
  else if (clamped > r->total.count / 2)
    snprintf(why, why_bytes,
             "%.0f %% of the transfers were over before the table allows: it is not of this "
             "machine or MPI.",
             100 * (double)clamped / (double)r->total.count);
  else
    return false;
  return true;
}
/* The command that measures: as many words as this run needs. */
static const char *table_command(const nbc_report *r, words *w) {
  const char *mpi = r->library && strstr(r->library, "MPICH") ? "mpich" : "mpi";
  if (!r->library || !strstr(r->library, "MPI"))
    snprintf(w->text, sizeof w->text, "xfer_table same_node.txt");
  else if (!knows_other_nodes(r))
    snprintf(w->text, sizeof w->text, "mpirun -n 2 xfer_table_%s same_node.txt", mpi);
  else
    snprintf(w->text, sizeof w->text,
             "mpirun -n 3 --map-by node xfer_table_%s same_node.txt other_node.txt", mpi);
  return w->text;
}
static const char table_then[] =
    "with nothing else running; then run the program with NBC_TABLE=same_node.txt and, between "
    "nodes, NBC_TABLE_OTHER=other_node.txt.";

/* What no overlap can cure: time in calls that is more than all the transfers could have taken there. Of a
   collective the table tells only the least that it moves, so all that was waited for it may have been
   transfer; a nonblocking one may have moved in any call. Nothing is said by a guessed table. */
static int64_t idle_ns(const nbc_report *r) {
  int64_t most_ns = 0;
  if (r->table_is_default) return 0;
  for (size_t i = 0; i < r->cell_count; i++) {
    const nbc_totals *t = &r->cells[i].t;
    const int64_t moved_ns = t->xfer_ns - t->min_overlap_ns;
    const bool unseen = is_collective(r->cells[i].kind) || r->cells[i].kind == NBC_KIND_START;
    if (is_collective(r->cells[i].kind) &&
        nbc_kind_category(r->cells[i].kind) == NBC_CATEGORY_NONBLOCKING)
      return 0;
    plus(&most_ns, unseen && t->waited_ns > moved_ns ? t->waited_ns : moved_ns);
  }
  for (size_t i = 0; i < r->call_count; i++) /* files are no partners */
    if (r->calls[i].kind == NBC_KIND_IO) plus(&most_ns, r->calls[i].total_ns);
  return r->call_ns > most_ns ? r->call_ns - most_ns : 0;
}

/* At least so long calls on windows lasted in which no transfer of their caller ended: targets wait there for who
   reaches them, and who reaches them for targets. */
static int64_t window_ns(const nbc_report *r) {
  int64_t all_ns = 0, own_ns = 0;
  for (size_t i = 0; i < r->call_count; i++)
    if (r->calls[i].kind == NBC_KIND_RMA_SYNC) plus(&all_ns, r->calls[i].total_ns);
  for (size_t i = 0; i < r->cell_count; i++) {
    const nbc_kind kind = r->cells[i].kind;
    if (kind == NBC_KIND_PUT || kind == NBC_KIND_GET || kind == NBC_KIND_ATOMIC)
      plus(&own_ns, r->cells[i].t.waited_ns);
  }
  return all_ns > own_ns ? all_ns - own_ns : 0;
}

/* The call on windows that most time passed in, by the places; "fences ..." where none is known. */
static const char *window_call(const nbc_report *r) {
  const nbc_site *most = NULL;
  for (size_t i = 0; i < r->site_count; i++) {
    const nbc_site *const s = &r->sites[i];
    if (strncmp(s->call, "MPI_Win_", 8) == 0 && strncmp(s->call, "MPI_Win_create", 14) != 0 &&
        strncmp(s->call, "MPI_Win_allocate", 16) != 0 && strcmp(s->call, "MPI_Win_test") != 0 &&
        (!most || s->total_ns > most->total_ns))
      most = s;
  }
  return most ? most->call : "MPI_Win_start, MPI_Win_wait, fences ...";
}

/* ---- on the wire ------------------------------------------------------------------------------ */
/* NIC counters that the preload booked by section (NBC_NIC_COUNTERS), named "NIC:source/counter";
   "host/..." is counted by the host for all NICs. */
typedef enum wire { SENT, RECEIVED, AGAIN, DROPPED, PAUSED, WIRES } wire;
static const char *const wire_text[] = {"sent", "received", "sent again", "dropped", "paused"};

static bool ends_with(const char *text, const char *end) {
  const size_t n = strlen(text), k = strlen(end);
  return n >= k && strcmp(text + n - k, end) == 0;
}
static wire wire_of(const char *name) {
  const bool host = strncmp(name, "host/", 5) == 0;
  if (!host && !strchr(name, ':')) return WIRES;
  if (strstr(name, "etrans") || ends_with(name, "packet_seq_err") ||
      ends_with(name, "local_ack_timeout_err"))
    return AGAIN;
  if (ends_with(name, "_dropped") || ends_with(name, "RcvbufErrors")) return DROPPED;
  if (strstr(name, "pause") || strstr(name, "xoff") || ends_with(name, "port_xmit_wait"))
    return PAUSED;
  if (ends_with(name, "/tx_bytes") || ends_with(name, "/port_xmit_data")) return SENT;
  if (ends_with(name, "/rx_bytes") || ends_with(name, "/port_rcv_data")) return RECEIVED;
  if (ends_with(name, "_octets"))
    return strstr(name, "tx") ? SENT : strstr(name, "rx") ? RECEIVED : WIRES;
  return WIRES;
}
static bool wire_is_known(const nbc_report *r, wire w) {
  for (size_t i = 0; i < r->counter_count; i++)
    if (wire_of(r->counters[i].name) == w) return true;
  return false;
}

/* What moved in a section: the sum over NICs. Bytes that one NIC counts in several places (driver,
   port) are the same bytes: the largest counts. */
static double wire_value(const nbc_report *r, int section, wire w) {
  double sum = 0;
  for (size_t i = 0; i < r->counter_count; i++) {
    const nbc_counter *c = &r->counters[i];
    const size_t nic_bytes = strcspn(c->name, ":");
    bool largest = true;
    if (c->section_index != section || wire_of(c->name) != w) continue;
    for (size_t k = 0; k < r->counter_count && w <= RECEIVED && largest; k++) {
      const nbc_counter *o = &r->counters[k];
      if (k != i && o->section_index == section && wire_of(o->name) == w &&
          strncmp(o->name, c->name, nic_bytes + 1) == 0)
        largest = o->value < c->value || (o->value <= c->value && k > i);
    }
    if (largest) sum += c->value;
  }
  return sum;
}
/* A byte that went from process to process is asked for twice, to send and to receive it. */
static uint64_t asked_bytes(const nbc_report *r, int section) {
  uint64_t sum = 0;
  for (size_t i = 0; i < r->cell_count; i++)
    if (r->cells[i].section_index == section) sum += r->cells[i].t.size_bytes;
  return sum;
}
static const char *wire_value_text(wire w, double value, words *to) {
  if (w <= RECEIVED && value < 1e18) return bytes_text((uint64_t)value, to);
  snprintf(to->text, sizeof to->text, "%.15g", value);
  return to->text;
}
static const char wire_caption[] = "All that crossed the NICs of the nodes while a section of the "
                                   "lowest rank there was open, whoever sent it. What a "
                                   "process was asked to send and what its partner was asked to "
                                   "receive are both in \"asked for\".";

/* ---- over the ranks --------------------------------------------------------------------------- */
typedef enum measure {
  HIDDEN_LEAST,
  HIDDEN_MOST,
  NOT_HIDDEN,
  COMPUTATION,
  IN_CALLS,
  MEASURES
} measure;
static const char *const measure_text[] = {"hidden, at least", "hidden, at most",
                                           "not hidden for certain", "computation",
                                           "in communication calls"};
static bool is_share(measure m) { return m <= HIDDEN_MOST; }
static double measure_of(const process *p, measure m) {
  switch (m) {
  case HIDDEN_LEAST: return share(p->t.min_overlap_ns, p->t.xfer_ns);
  case HIDDEN_MOST: return share(p->t.max_overlap_ns, p->t.xfer_ns);
  case NOT_HIDDEN: return (double)unhidden_ns(&p->t);
  case COMPUTATION: return (double)p->comp_ns;
  case IN_CALLS: return (double)p->call_ns;
  case MEASURES: break;
  }
  return 0;
}
static const char *measure_value(measure m, double v, words *w) {
  if (!is_share(m)) return time_text(v < 9.2e18 ? (int64_t)v : INT64_MAX, w);
  snprintf(w->text, sizeof w->text, "%.1f %%", 100 * v);
  return w->text;
}

/* Smallest, middle and largest over the ranks and where the extremes are. Ranks without transfers have
   no share that is hidden. */
typedef struct spread {
  nbc_summary s;
  int min_rank, max_rank;
} spread;
static bool spread_of(const run *r, measure m, spread *out) {
  double *values = (double *)must(malloc(r->process_count * sizeof *values));
  size_t n = 0;
  for (size_t i = 0; i < r->process_count; i++) {
    const process *p = &r->processes[i];
    if (is_share(m) && !p->t.xfer_ns) continue;
    const double v = measure_of(p, m);
    if (n == 0 || v < out->s.min) out->s.min = v, out->min_rank = p->rank;
    if (n == 0 || v > out->s.max) out->s.max = v, out->max_rank = p->rank;
    values[n++] = v;
  }
  const nbc_status status = n > 0 ? nbc_summarize(values, n, 0, &out->s) : NBC_E_INVAL;
  const bool good = status == NBC_OK;
  if (status == NBC_E_NOMEM) no_memory();
  free(values);
  return good;
}

static int worst_rank_first(const void *a, const void *b) {
  const process *x = (const process *)a, *y = (const process *)b;
  if (unhidden_ns(&x->t) != unhidden_ns(&y->t))
    return unhidden_ns(&x->t) < unhidden_ns(&y->t) ? 1 : -1;
  if (x->call_ns != y->call_ns) return x->call_ns < y->call_ns ? 1 : -1;
  return by_rank(a, b);
}

/* ---- the summary as text ---------------------------------------------------------------------- */
static void put_wrapped(FILE *out, const char *indent, const char *text) {
  size_t column = 0;
  while (*text) {
    const size_t n = strcspn(text, " ");
    if (column && column + n > 90) column = 0, fputc('\n', out);
    fprintf(out, "%s%.*s", column ? " " : indent, (int)n, text);
    column += n + 1;
    text += n + (text[n] == ' ');
  }
  fputc('\n', out);
}

static void put_known(FILE *out, const nbc_totals *t) { /* what the bounds leave */
  words a, b;
  if (is_unknown(t))
    fprintf(out, "of %s anything may have been hidden", time_text(t->xfer_ns, &a));
  else
    fprintf(out, "%s of %s not hidden for certain, hidden %.1f to %.1f %%",
            time_text(unhidden_ns(t), &a), time_text(t->xfer_ns, &b),
            100 * share(t->min_overlap_ns, t->xfer_ns), 100 * share(t->max_overlap_ns, t->xfer_ns));
}

/* No offenders: not that all is hidden. */
static const char *why_nothing(const nbc_report *r) {
  return r->total.waited_ns ? "what may not be hidden was nowhere waited for as long as a "
                              "hundredth of the time in calls"
                            : "no place with a hundredth of the transfer time is left unhidden";
}
/* `more`: of what else advice is given. */
static void text_offenders(const nbc_report *r, FILE *out, size_t more) {
  words w, t, u;
  char call[60];
  row *rows;
  const size_t count = offenders(r, &rows, 6);
  unsigned told = 0; /* once is enough */
  if (count)
    fputs("\nWorst first, and what to do\n", out);
  else
    fprintf(out, "\nNothing%s stands out: %s.\n", more ? " else" : "", why_nothing(r));
  for (size_t i = 0; i < count; i++) {
    const verdict v = judge(&rows[i]);
    fprintf(out, "  %zu. %s: %s\n     ", i + 1, row_text(r, BY_CELL, &rows[i], &w),
            verdicts[v].name);
    put_known(out, &rows[i].t);
    fprintf(out, "; %s waited in their calls\n", time_text(rows[i].t.waited_ns, &t));
    if (told >> v & 1) continue;
    put_wrapped(out, "     ", verdicts[v].why);
    put_wrapped(out, "     ", verdicts[v].what);
    told |= 1u << v;
  }
  free(rows);
  if (r->call_ns && share(window_ns(r), r->call_ns) >= 0.1)
    fprintf(out,
            "  At least %s of the %s in communication calls were calls on windows (%s)\n"
            "  in which none of the transfers that are told of here ended: waiting for ranks that "
            "are late\n"
            "  (balance cures that) or that compute without progress (progress there cures that), "
            "or the\n"
            "  library's own work. The places say where.\n",
            time_text(window_ns(r), &t), time_text(r->call_ns, &u),
            plain(window_call(r), call, sizeof call));
  if (r->call_ns && share(idle_ns(r), r->call_ns) >= 0.2)
    fprintf(
        out,
        "  By the table of transfer times, at least %s of the %s in communication calls was more "
        "than\n"
        "  the fastest transfers need: waiting for partners that are late (balance cures that) or "
        "that compute\n"
        "  without progress (progress there cures that), slower transfers, or the library's own "
        "work.\n",
        time_text(idle_ns(r), &t), time_text(r->call_ns, &u));
}

#include "overlap_report_places.h"
#include "tools/overlap_report_last.h"
#include "tools/overlap_report_files.h"
#include "overlap_report_csv.h"
#include "overlap_report_endings.h"
static void put_offenders(FILE *out, const nbc_report *r, size_t more);
#include "overlap_report_unmoved.h"
#include "tools/overlap_report_why.h"

static void text_ranks(const run *r, FILE *out) {
  words a, b, c;
  spread s;
  if (r->process_count < 2) return;
  fprintf(out, "\n%-30s %12s %12s %12s\n", "Over the ranks", "min", "median", "max");
  for (measure m = HIDDEN_LEAST; m < MEASURES; m = (measure)(m + 1))
    if (spread_of(r, m, &s))
      fprintf(out, "  %-28s %12s %12s %12s   (ranks %d, %d)\n", measure_text[m],
              measure_value(m, s.s.min, &a), measure_value(m, s.s.median, &b),
              measure_value(m, s.s.max, &c), s.min_rank, s.max_rank);
}

static void text_wire(const nbc_report *r, FILE *out) {
  words w;
  if (!wire_is_known(r, SENT) && !wire_is_known(r, RECEIVED)) return;
  fprintf(out, "\n%-30s %11s", "On the wire", "asked for");
  for (wire c = SENT; c < WIRES; c = (wire)(c + 1)) fprintf(out, " %10s", wire_text[c]);
  fputc('\n', out);
  for (size_t i = 0; i < r->section_count; i++) {
    char name[4 * 28 + 1]; /* 28 characters of UTF-8 */
    fprintf(out, "  %s %11s", nbc__rep_column(section_text(r, (int)i), 28, name, sizeof name),
            bytes_text(asked_bytes(r, (int)i), &w));
    for (wire c = SENT; c < WIRES; c = (wire)(c + 1))
      fprintf(out, " %10s",
              wire_is_known(r, c) ? wire_value_text(c, wire_value(r, (int)i, c), &w) : "-");
    fputc('\n', out);
  }
  put_wrapped(out, "  ", wire_caption);
}

static void text_diagnoses(const nbc_report *r, FILE *out) {
  char text[400];
  bool first = true;
  for (size_t i = 0; i < r->section_count; i++) {
    if (!diagnose(r, i, text, sizeof text)) continue;
    if (first) fputs("\nAgainst the reference, per visit of a section\n", out);
    first = false;
    fprintf(out, "  %s\n", section_text(r, (int)i));
    put_wrapped(out, "     ", text);
  }
}

static bool write_text(const run *r, FILE *out) {
  char why[200];
  words w;
  if (table_is_useless(r->sum, why, sizeof why)) {
    fprintf(out, "Measure the transfer table on this machine first: %s\n",
            table_command(r->sum, &w));
    put_wrapped(out, "  ", table_then);
    put_wrapped(out, "  ", why);
    fputc('\n', out);
  }
  if (nbc_report_write_text(r->sum, out) != NBC_OK) return false;
  text_ranks(r, out);
  text_wire(r->sum, out);
  text_joints(r->sum, out);
  text_partners(r->sum, out);
  text_diagnoses(r->sum, out);
  text_places(r->sum, out);
  text_begun(r->sum, out);
  text_endings(r->sum, out);
  text_comms(r->sum, out);
  text_pairs(r->sum, out);
  text_last(r->sum, out);
  text_files(r->sum, out);
  text_why(r->sum, out);
  text_advice(r->sum, out);
  for (size_t i = 0; i < r->trouble_count; i++)
    fprintf(out, "%sCaution: %s\n", i ? "" : "\n", r->troubles[i]);
  return fflush(out) == 0 && !ferror(out);
}

/* ---- the page --------------------------------------------------------------------------------- */
/* One file, no script, nothing fetched; every element is closed, so that it is XML too. Each row of a
   table carries its exact numbers as data-... attributes. */
static const char page_style[] =
    ":root{--ink:#1d2429;--soft:#5c6870;--line:#d9dfe2;--paper:#fff;--card:#f5f7f8;--yes:#1f7a66;--"
    "maybe:#d8c98a;"
    "--no:#c4502f;--comp:#7d93a8;--call:#6b5b95;color-scheme:light dark}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e4e9ec;--soft:#9aa7af;--line:#39434a;--paper:#"
    "14191c;"
    "--card:#1d2428;--yes:#3fae93;--maybe:#8f8350;--no:#e0704d;--comp:#5c7185;--call:#9a8bc4}}\n"
    "body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,sans-serif}\n"
    "main{max-width:68rem;margin:0 auto;padding:1.5rem 1rem 4rem}h1{font-size:1.7rem;margin:0}"
    "h2{font-size:1.15rem;margin:2.4rem 0 .6rem}p{margin:.3rem 0}.soft{color:var(--soft)}\n"
    ".tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(11.5rem,1fr));gap:.8rem;"
    "margin:1.2rem 0}"
    ".tile{background:var(--card);border-radius:.5rem;padding:.7rem .9rem}.tile "
    "b{display:block;font-size:1.3rem;white-space:nowrap}\n"
    "svg{display:block;width:100%}.bar{height:.8rem;min-width:9rem}.big{height:2rem;border-radius:."
    "3rem}"
    ".yes{fill:var(--yes)}.maybe{fill:var(--maybe)}.no{fill:var(--no)}.comp{fill:var(--comp)}.call{"
    "fill:var(--call)}"
    ".map{max-width:34rem;margin:.6rem 0}.ground{fill:var(--card)}"
    ".key{display:inline-block;width:.8rem;height:.8rem;border-radius:.15rem;margin:0 .3rem 0 "
    ".9rem}\n"
    ".k-yes{background:var(--yes)}.k-maybe{background:var(--maybe)}.k-no{background:var(--no)}"
    ".k-comp{background:var(--comp)}.k-call{background:var(--call)}.scroll{overflow-x:auto}\n"
    "table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}"
    "th,td{padding:.28rem .6rem;border-bottom:1px solid "
    "var(--line);text-align:right;white-space:nowrap}"
    "th{color:var(--soft);font-weight:500}th:first-child,td:first-child,th.left{text-align:left}th:"
    "first-child,td:first-child{padding-"
    "left:0}"
    "td.wide,th.wide{width:22%}td.name,td.why{text-align:left;white-space:normal;overflow-wrap:"
    "anywhere;min-width:20rem}\n"
    "ol{padding-left:1.4rem}li{margin:.9rem 0}li "
    "b{margin-right:.4rem}.tag{white-space:nowrap;background:var(--soft);color:var(--paper);"
    "border-radius:.8rem;padding:.05rem .6rem;font-size:.85rem}.caution{border-left:4px solid "
    "var(--soft);"
    "padding:.2rem .8rem;background:var(--card)}@media print{body{font-size:11px}}\n";

/* Text from files is anybody's: markup is escaped, what is not UTF-8 or not allowed in XML replaced. */
static void put(FILE *out, const char *text) {
  const unsigned char *p = (const unsigned char *)(text ? text : "?");
  while (*p) {
    int n = *p < 0x80                 ? 1
            : *p >= 0xc2 && *p < 0xe0 ? 2
            : *p >= 0xe0 && *p < 0xf0 ? 3
            : *p >= 0xf0 && *p < 0xf5 ? 4
                                      : 0;
    for (int i = 1; i < n; i++)
      if ((p[i] & 0xc0) != 0x80) n = 0;
    /* overlong forms, halves of pairs, beyond the last character, the two non-characters */
    if (n == 3 && ((*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] > 0x9f) ||
                   (*p == 0xef && p[1] == 0xbf && p[2] > 0xbd)))
      n = 0;
    if (n == 4 && ((*p == 0xf0 && p[1] < 0x90) || (*p == 0xf4 && p[1] > 0x8f))) n = 0;
    if (n == 1 && ((*p < 0x20 && *p != '\n' && *p != '\t') || *p == 0x7f)) n = 0;
    if (*p == '&')
      fputs("&amp;", out);
    else if (*p == '<')
      fputs("&lt;", out);
    else if (*p == '>')
      fputs("&gt;", out);
    else if (*p == '"')
      fputs("&quot;", out);
    else if (n)
      fwrite(p, 1, (size_t)n, out);
    else
      fputs("\xef\xbf\xbd", out);
    p += n ? n : 1;
  }
}

static void put_rect(FILE *out, const char *class_name, double from, double width) {
  if (width > 0)
    fprintf(out, "<rect class=\"%s\" x=\"%.3f\" width=\"%.3f\" height=\"10\"/>", class_name, from,
            width);
}
/* hidden for certain | not known | not hidden, together xfer_ns wide on a scale up to full_ns */
static void put_bar(FILE *out, const nbc_totals *t, int64_t full_ns, const char *class_name) {
  const double yes = 100 * share(t->min_overlap_ns, full_ns),
               maybe = 100 * share(unknown_ns(t), full_ns);
  const double no = 100 * share(unhidden_ns(t), full_ns);
  fprintf(out,
          "<svg class=\"%s\" viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" role=\"img\" "
          "aria-label=\"hidden %.1f to %.1f percent\">",
          class_name, 100 * share(t->min_overlap_ns, t->xfer_ns),
          100 * share(t->max_overlap_ns, t->xfer_ns));
  put_rect(out, "yes", 0, yes);
  put_rect(out, "maybe", yes, maybe);
  put_rect(out, "no", yes + maybe, no);
  fputs("</svg>", out);
}
static void put_keys(FILE *out) {
  fputs("<p class=\"soft\"><span class=\"key k-yes\"></span>hidden for certain"
        "<span class=\"key k-maybe\"></span>hidden or not: calls alone cannot tell"
        "<span class=\"key k-no\"></span>not hidden for certain</p>\n",
        out);
}

static void put_row(FILE *out, const char *table, const char *name, const nbc_totals *t,
                    int64_t full_ns, bool stamps) {
  words a, b, c;
  fprintf(out, "<tr data-table=\"%s\" data-name=\"", table);
  put(out, name);
  fprintf(out,
          "\" data-count=\"%llu\" data-size-bytes=\"%llu\" data-xfer-ns=\"%lld\" "
          "data-min-overlap-ns=\"%lld\" "
          "data-max-overlap-ns=\"%lld\"",
          (unsigned long long)t->count, (unsigned long long)t->size_bytes, (long long)t->xfer_ns,
          (long long)t->min_overlap_ns, (long long)t->max_overlap_ns);
  if (stamps)
    fprintf(out, " data-exact-overlap-lo-ns=\"%lld\" data-exact-overlap-hi-ns=\"%lld\"",
            (long long)t->exact_lo_ns, (long long)t->exact_hi_ns);
  fputs("><td class=\"name\">", out);
  put(out, name);
  fprintf(out, "</td><td>%llu</td><td>%s</td><td>%s</td><td class=\"wide\">",
          (unsigned long long)t->count, bytes_text(t->size_bytes, &a), time_text(t->xfer_ns, &b));
  put_bar(out, t, full_ns, "bar");
  fprintf(out, "</td><td>%.1f to %.1f %%</td>", 100 * share(t->min_overlap_ns, t->xfer_ns),
          100 * share(t->max_overlap_ns, t->xfer_ns));
  if (stamps && t->exact_count)
    fprintf(out, "<td>%.1f to %.1f %%</td>", 100 * exact_least(t), 100 * exact_most(t));
  else if (stamps)
    fputs("<td></td>", out);
  fprintf(out, "<td>%s</td></tr>\n", time_text(unhidden_ns(t), &c));
}

static void put_table_head(FILE *out, const char *title, const char *column, bool stamps) {
  fprintf(
      out,
      "<h2>%s</h2>\n<div "
      "class=\"scroll\"><table><thead><tr><th>%s</th><th>transfers</th><th>volume</th><th>time</th>"
      "<th class=\"wide\"></th><th>hidden</th>%s<th>not hidden</th></tr></thead><tbody>\n",
      title, column, stamps ? "<th>by NIC stamps</th>" : "");
}

static void put_groups(FILE *out, const nbc_report *r, grouping by) {
  size_t count;
  words w;
  row *rows = group(r, by, &count);
  int64_t full_ns = 0;
  const bool stamps = r->total.exact_count > 0;
  for (size_t i = 0; i < count; i++)
    if (rows[i].t.xfer_ns > full_ns) full_ns = rows[i].t.xfer_ns;
  const bool tells = by == BY_PLACE ? count > 1 || (count && rows[0].site_plus1)
                                    : count > 1 || (count && by != BY_SECTION);
  if (tells) {
    put_table_head(out, grouping_title[by], grouping_column[by], stamps);
    for (size_t i = 0; i < count && i < 100; i++)
      put_row(out, grouping_column[by], row_text(r, by, &rows[i], &w), &rows[i].t, full_ns, stamps);
    fputs("</tbody></table></div>\n", out);
    if (count > 100)
      fprintf(out, "<p class=\"soft\">%zu more with less unhidden time.</p>\n", count - 100);
  }
  free(rows);
}

static size_t host_count(const run *r) {
  size_t n = 0;
  for (size_t i = 0; i < r->process_count; i++) {
    size_t k = 0;
    while (k < i && strcmp(r->processes[k].host, r->processes[i].host) != 0) k++;
    if (k == i) n++;
  }
  return n;
}

static void put_tile(FILE *out, const char *value, const char *label) {
  fprintf(out, "<div class=\"tile\"><b>%s</b>%s</div>\n", value, label);
}

static void put_head(FILE *out, const run *r) {
  const nbc_report *s = r->sum;
  const nbc_totals *t = &s->total;
  const time_t start = s->start_unix_s > 0 && s->start_unix_s < 2e11 ? (time_t)s->start_unix_s : 0;
  struct tm utc;
  char date[64] = "";
  words w;
  if (start && gmtime_r(&start, &utc))
    strftime(date, sizeof date, ", started %Y-%m-%d %H:%M:%S UTC", &utc);
  fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>Overlap "
        "of ",
        out);
  put(out, s->program ? s->program : "a program");
  fprintf(out, "</title>\n<style>%s</style></head>\n<body><main>\n<header><h1>Overlap of ",
          page_style);
  put(out, s->program ? s->program : "a program");
  fprintf(out, "</h1>\n<p class=\"soft\">%d process%s on %zu host%s, %zu thread%s",
          s->process_count, s->process_count == 1 ? "" : "es", host_count(r),
          host_count(r) == 1 ? "" : "s", s->thread_count, s->thread_count == 1 ? "" : "s");
  if (s->library) fputs(", ", out), put(out, s->library);
  fprintf(out, "%s</p></header>\n", date);
  for (size_t i = 0; i < r->trouble_count; i++) {
    fputs("<p class=\"caution\">", out);
    put(out, r->troubles[i]);
    fputs("</p>\n", out);
  }
  char why[200];
  if (table_is_useless(s, why, sizeof why))
    fprintf(out,
            "<p class=\"caution\"><b>Measure the transfer table on this machine first:</b> "
            "<code>%s</code> %s %s</p>\n",
            table_command(s, &w), table_then, why);
  fputs("<div class=\"tiles\">\n", out);
  snprintf(w.text, sizeof w.text, "%.1f to %.1f %%", 100 * share(t->min_overlap_ns, t->xfer_ns),
           100 * share(t->max_overlap_ns, t->xfer_ns));
  put_tile(out, w.text, "of the transfer time hidden");
  if (t->exact_count) {
    snprintf(w.text, sizeof w.text, "%.1f to %.1f %%", 100 * exact_least(t), 100 * exact_most(t));
    put_tile(out, w.text, "hidden by NIC stamps, where there are some");
  }
  put_tile(out, time_text(unhidden_ns(t), &w), "not hidden for certain");
  put_tile(out, time_text(t->xfer_ns, &w), "transfer time of all processes");
  snprintf(w.text, sizeof w.text, "%.1f %%", 100 * share(s->call_ns, s->wall_ns));
  put_tile(out, w.text, "of the run in communication calls");
  fputs("</div>\n", out);
  put_bar(out, t, t->xfer_ns, "big");
  put_keys(out);
}

static void put_offenders(FILE *out, const nbc_report *r, size_t more) {
  words w, a, b;
  row *rows;
  const size_t count = offenders(r, &rows, 8);
  unsigned told = 0;
  fputs("<h2>Worst first, and what to do</h2>\n", out);
  if (count)
    fputs("<ol>\n", out);
  else
    fprintf(out, "<p>Nothing%s stands out: %s.</p>\n", more ? " else" : "", why_nothing(r));
  for (size_t i = 0; i < count; i++) {
    const nbc_totals *t = &rows[i].t;
    const verdict v = judge(&rows[i]);
    fputs("<li><b>", out);
    put(out, row_text(r, BY_CELL, &rows[i], &w));
    fprintf(out, "</b> <span class=\"tag\">%s</span><br/>", verdicts[v].name);
    put_known(out, t);
    fprintf(out, "; %s waited in their calls.", time_text(t->waited_ns, &a));
    if (!(told >> v & 1)) fprintf(out, "<br/>%s %s", verdicts[v].why, verdicts[v].what);
    fputs("</li>\n", out);
    told |= 1u << v;
  }
  if (count) fputs("</ol>\n", out);
  free(rows);
  if (r->call_ns && share(window_ns(r), r->call_ns) >= 0.1)
    fprintf(
        out,
        "<p class=\"caution\">At least %s of the %s in communication calls were calls on windows "
        "in which none of the transfers that are told of here ended: waiting for ranks that are "
        "late "
        "(balance cures that) or that compute without progress (progress there cures that), or the "
        "library's own work. The places say where.</p>\n",
        time_text(window_ns(r), &a), time_text(r->call_ns, &b));
  if (r->call_ns && share(idle_ns(r), r->call_ns) >= 0.2)
    fprintf(
        out,
        "<p class=\"caution\">By the table of transfer times, at least %s of the %s in "
        "communication calls was more than the fastest transfers need: waiting for partners that "
        "are late (balance cures that) or that compute without progress (progress there cures "
        "that), slower transfers, or the library's own work.</p>\n",
        time_text(idle_ns(r), &a), time_text(r->call_ns, &b));
}

static void put_spread(FILE *out, const run *r) {
  words a, b, c;
  spread s;
  fputs("<h2>Over the ranks</h2>\n<div "
        "class=\"scroll\"><table><thead><tr><th></th><th>min</th><th>median</th><th>max</th>"
        "<th>rank of min</th><th>rank of max</th></tr></thead><tbody>\n",
        out);
  for (measure m = HIDDEN_LEAST; m < MEASURES; m = (measure)(m + 1))
    if (spread_of(r, m, &s))
      fprintf(out,
              "<tr data-table=\"spread\" data-name=\"%s\" data-min=\"%.17g\" data-median=\"%.17g\" "
              "data-max=\"%.17g\">"
              "<td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%d</td><td>%d</td></tr>\n",
              measure_text[m], s.s.min, s.s.median, s.s.max, measure_text[m],
              measure_value(m, s.s.min, &a), measure_value(m, s.s.median, &b),
              measure_value(m, s.s.max, &c), s.min_rank, s.max_rank);
  fputs("</tbody></table></div>\n", out);
}

static void put_ranks(FILE *out, const run *r) {
  process *p = (process *)must(malloc(r->process_count * sizeof *p));
  const bool stamps = r->sum->total.exact_count > 0;
  const size_t shown = r->process_count < 64 ? r->process_count : 64;
  int64_t full_ns = 0, wall_ns = 0;
  words w, a, b, c;
  memcpy(p, r->processes, r->process_count * sizeof *p);
  qsort(p, r->process_count, sizeof *p, worst_rank_first);
  for (size_t i = 0; i < r->process_count; i++) {
    if (p[i].t.xfer_ns > full_ns) full_ns = p[i].t.xfer_ns;
    if (p[i].wall_ns > wall_ns) wall_ns = p[i].wall_ns;
  }
  put_table_head(out, "By rank", "rank", stamps);
  for (size_t i = 0; i < shown; i++) {
    if (p[i].rank >= 0)
      snprintf(w.text, sizeof w.text, "%d, %.63s", p[i].rank, p[i].host);
    else
      snprintf(w.text, sizeof w.text, "sum of %d processes", p[i].process_count);
    put_row(out, "rank", w.text, &p[i].t, full_ns, stamps);
  }
  fputs("</tbody></table></div>\n<h2>Time of each rank</h2>\n<p class=\"soft\"><span class=\"key "
        "k-comp\"></span>computation"
        "<span class=\"key k-call\"></span>in communication calls</p>\n<div "
        "class=\"scroll\"><table><thead><tr><th>rank</th>"
        "<th class=\"wide\"></th><th>all</th><th>computation</th><th>in "
        "calls</th></tr></thead><tbody>\n",
        out);
  for (size_t i = 0; i < shown; i++) {
    fprintf(out,
            "<tr><td>%d</td><td class=\"wide\"><svg class=\"bar\" viewBox=\"0 0 100 10\" "
            "preserveAspectRatio=\"none\">",
            p[i].rank);
    put_rect(out, "comp", 0, 100 * share(p[i].comp_ns, wall_ns));
    put_rect(out, "call", 100 * share(p[i].comp_ns, wall_ns), 100 * share(p[i].call_ns, wall_ns));
    fprintf(out, "</svg></td><td>%s</td><td>%s</td><td>%s</td></tr>\n", time_text(p[i].wall_ns, &a),
            time_text(p[i].comp_ns, &b), time_text(p[i].call_ns, &c));
  }
  fputs("</tbody></table></div>\n", out);
  if (shown < r->process_count)
    fprintf(out, "<p class=\"soft\">The %zu worst of %zu are shown.</p>\n", shown,
            r->process_count);
  free(p);
}

static void put_calls(FILE *out, const nbc_report *r) {
  int64_t total_ns[NBC_KIND_COUNT] = {0}, most_ns = 0, max_ns[NBC_KIND_COUNT] = {0};
  uint64_t count[NBC_KIND_COUNT] = {0};
  words a, b, c;
  for (size_t i = 0; i < r->call_count; i++) {
    const nbc_call *call = &r->calls[i];
    plus(&total_ns[call->kind], call->total_ns);
    count[call->kind] += call->count;
    if (call->max_ns > max_ns[call->kind]) max_ns[call->kind] = call->max_ns;
    if (total_ns[call->kind] > most_ns) most_ns = total_ns[call->kind];
  }
  if (!r->call_count) return;
  fputs("<h2>Time in calls</h2>\n<div "
        "class=\"scroll\"><table><thead><tr><th>call</th><th>calls</th><th class=\"wide\"></th>"
        "<th>total</th><th>mean</th><th>longest</th></tr></thead><tbody>\n",
        out);
  for (;;) {
    int worst = -1;
    for (int k = 0; k < NBC_KIND_COUNT; k++)
      if (count[k] && (worst < 0 || total_ns[k] > total_ns[worst])) worst = k;
    if (worst < 0) break;
    fprintf(out,
            "<tr data-table=\"calls\" data-name=\"%s\" data-count=\"%llu\" "
            "data-total-ns=\"%lld\"><td>%s</td><td>%llu</td>"
            "<td class=\"wide\"><svg class=\"bar\" viewBox=\"0 0 100 10\" "
            "preserveAspectRatio=\"none\">",
            nbc_kind_name((nbc_kind)worst), (unsigned long long)count[worst],
            (long long)total_ns[worst], nbc_kind_name((nbc_kind)worst),
            (unsigned long long)count[worst]);
    put_rect(out, "call", 0, 100 * share(total_ns[worst], most_ns));
    fprintf(out, "</svg></td><td>%s</td><td>%s</td><td>%s</td></tr>\n",
            time_text(total_ns[worst], &a),
            time_text(count[worst] < INT64_MAX ? total_ns[worst] / (int64_t)count[worst] : 0, &b),
            time_text(max_ns[worst], &c));
    count[worst] = 0;
  }
  fputs("</tbody></table></div>\n", out);
}

static void put_wire(FILE *out, const nbc_report *r) {
  words w;
  if (!wire_is_known(r, SENT) && !wire_is_known(r, RECEIVED)) return;
  fputs("<h2>On the wire</h2>\n<div class=\"scroll\"><table><thead><tr><th>section</th><th>asked "
        "for</th>",
        out);
  for (wire c = SENT; c < WIRES; c = (wire)(c + 1)) fprintf(out, "<th>%s</th>", wire_text[c]);
  fputs("</tr></thead><tbody>\n", out);
  for (size_t i = 0; i < r->section_count; i++) {
    fputs("<tr><td class=\"name\">", out);
    put(out, section_text(r, (int)i));
    fprintf(out, "</td><td>%s</td>", bytes_text(asked_bytes(r, (int)i), &w));
    for (wire c = SENT; c < WIRES; c = (wire)(c + 1))
      fprintf(out, "<td>%s</td>",
              wire_is_known(r, c) ? wire_value_text(c, wire_value(r, (int)i, c), &w) : "");
    fputs("</tr>\n", out);
  }
  fputs("</tbody></table></div>\n<p class=\"soft\">", out);
  put(out, wire_caption);
  fputs("</p>\n", out);
}

static void put_diagnoses(FILE *out, const nbc_report *r) {
  char text[400];
  bool first = true;
  for (size_t i = 0; i < r->section_count; i++) {
    if (!diagnose(r, i, text, sizeof text)) continue;
    if (first) fputs("<h2>Against the reference, per visit of a section</h2>\n<ul>\n", out);
    first = false;
    fputs("<li><b>", out);
    put(out, section_text(r, (int)i));
    fputs("</b> ", out);
    put(out, text);
    fputs("</li>\n", out);
  }
  if (!first) fputs("</ul>\n", out);
}

static void put_foot(FILE *out, const nbc_report *r) {
  fputs("<h2>How to read this</h2>\n<p>A library sees when a transfer was posted and when its end "
        "was noticed, not when bytes "
        "moved. The time a transfer takes comes from a table measured beforehand. What does not "
        "fit into the calls between the "
        "two moments was hidden for certain; more than the computation between them cannot have "
        "been. NIC stamps, where there "
        "are some, give the true overlap within the clocks' uncertainty. Times are sums over "
        "processes and threads.</p>\n"
        "<p class=\"soft\">Transfer times: same node ",
        out);
  put(out, r->table_same_node);
  fputs("; other node ", out);
  put(out, r->table_other_node);
  fprintf(out, ". Clock: %s, rate known to %.2g ppm.", nbc_clock_source_name(r->clock_source),
          r->clock_rate_err_ppm);
  words w;
  if (r->tool_ns)
    fprintf(
        out,
        " Measuring itself took %s (%.2f %%), which is neither computation nor communication here.",
        time_text(r->tool_ns, &w), 100 * share(r->tool_ns, r->wall_ns));
  fputs("</p>\n", out);
  for (int p = 0; p < NBC_PROBLEM_COUNT; p++)
    if (r->problems[p])
      fprintf(out, "<p class=\"caution\">%llu %s</p>\n", (unsigned long long)r->problems[p],
              nbc_problem_text((nbc_problem)p));
  for (size_t i = 0; i < r->note_count; i++) {
    fputs("<p class=\"caution\">", out);
    put(out, r->notes[i]);
    fputs("</p>\n", out);
  }
  if (r->counter_count) {
    fputs("<h2>Counters</h2>\n<div "
          "class=\"scroll\"><table><thead><tr><th>name</th><th>value</th><th>section</th></tr></"
          "thead>"
          "<tbody>\n",
          out);
    for (size_t i = 0; i < r->counter_count && i < 200; i++) {
      fputs("<tr><td>", out);
      put(out, r->counters[i].name);
      fprintf(out, "</td><td>%.15g</td><td>", r->counters[i].value);
      put(out, section_text(r, r->counters[i].section_index));
      fputs("</td></tr>\n", out);
    }
    fputs("</tbody></table></div>\n", out);
  }
  fputs("</main></body></html>\n", out);
}

static bool write_page(const run *r, const char *path) {
  FILE *out = fopen(path, "w");
  if (!out) return false;
  put_head(out, r);
  put_why(out, r->sum);
  put_advice(out, r->sum);
  if (r->sum->total.count) {
    put_diagnoses(out, r->sum);
    for (grouping by = BY_SECTION; by <= BY_PLACE; by = (grouping)(by + 1))
      put_groups(out, r->sum, by);
    put_ranks(out, r);
  } else {
    fputs("<p>No transfers were seen.</p>\n", out);
  }
  if (r->process_count > 1) put_spread(out, r);
  put_places(out, r->sum);
  put_endings(out, r->sum);
  put_comms(out, r->sum);
  put_pairs(out, r->sum);
  put_last(out, r->sum);
  put_files(out, r->sum);
  put_partners(out, r->sum);
  put_calls(out, r->sum);
  put_wire(out, r->sum);
  put_foot(out, r->sum);
  const bool good = fflush(out) == 0 && !ferror(out);
  return fclose(out) == 0 && good;
}

/* ---- the command ------------------------------------------------------------------------------ */
static const char *page, *csv, *reference_path;
static bool json, has_no_page, is_diff;
static const option options[] = {
    {"-o", "FILE", "where the page goes (overlap_report.html in the folder of the first report)",
     .text = &page},
    {"--no-html", NULL, "no page", .flag = &has_no_page},
    {"--json", NULL, "the sum of all reports as JSON instead of the summary", .flag = &json},
    {"--reference", "REF",
     "a run of the same program in which nothing overlaps (each transfer waited for at once): a "
     "diagnosis of each section against it",
     .text = &reference_path},
    {"--csv", "DIR",
     "every table as a file in that folder: transfers, calls, places, endings, pairs, "
     "communicators, ranks, bounds, offenders, unmoved, why, counters, sections, spread",
     .text = &csv},
    {"--diff", NULL,
     "what changed between two runs (each a file or a folder), biggest change first",
     .flag = &is_diff},
    {0}};
static const command_line command = {
    "usage: overlap_report [-o PAGE.html | --no-html] [--json] [--csv DIR] [--reference REF] "
    "FILE|FOLDER...\n"
    "       overlap_report --diff BEFORE AFTER\n"
    "FILE, FOLDER: reports of the processes of one run, nbc_overlap.PROGRAM.RUN.RANK.json, as the "
    "preload\n"
    "writes them; of a folder, the newest run.\n",
    options,
    "Better reports come from the preload's environment: NBC_TABLE=FILE with transfer times "
    "measured by xfer_table_mpi\n"
    "(else they are guessed), MPI_Pcontrol(2, \"name\") and MPI_Pcontrol(-2) for sections, "
    "NBC_NIC_COUNTERS=auto|eth0,...\n"
    "for bytes on the wire, retransmissions and pauses by section (lo: what an MPI sends by TCP "
    "within a node, as Open\n"
    "MPI does with --mca pml ob1 --mca btl self,tcp).\n"
    "Exit status: 0 all was read and written; 1 something was not; 2 wrong usage or nothing to "
    "report.\n"};

static int compare(char **paths) {
  run before, after;
  read_run(&before, paths, 1);
  read_run(&after, paths + 1, 1);
  int code = before.failed || after.failed ? 1 : 0;
  if (!before.process_count || !after.process_count) {
    fputs("overlap_report: nothing to compare\n", stderr);
    code = 2;
  } else {
    const nbc_status status = nbc_report_write_diff(before.sum, after.sum, stdout);
    if (status != NBC_OK) {
      fprintf(stderr, "overlap_report: %s\n",
              status == NBC_E_MISMATCH ? "the two have different size classes"
                                       : nbc_status_text(status));
      code = 1;
    } else {
      diff_places(before.sum, after.sum, stdout);
      diff_begun(before.sum, after.sum, stdout);
    }
  }
  free_run(&before);
  free_run(&after);
  return code;
}

/* Where the page goes when nobody says where: into the folder of the reports, as `nbc see` does it. */
static const char *page_beside(const char *path) {
  static char beside[PATH_MAX];
  struct stat st;
  const bool is_folder = stat(path, &st) == 0 && S_ISDIR(st.st_mode);
  const char *slash = strrchr(path, '/');
  int length = is_folder ? (int)strlen(path) : slash ? (int)(slash - path) : 0;
  while (length > 1 && path[length - 1] == '/') length--;
  snprintf(beside, sizeof beside, "%.*s%soverlap_report.html", length, path,
           length || slash ? "/" : "");
  return beside;
}

int main(int argc, char **argv) {
  run r, reference;
  output_begin("overlap_report");
  char **const paths = argv + 1;
  const int path_count = options_read(&command, argc, argv);
  if (is_diff ? path_count != 2 : !path_count) return fputs(command.usage, stderr), 2;
  if (is_diff) return compare(paths);
  if (!page && !has_no_page && !json) page = page_beside(paths[0]);
  read_run(&r, paths, path_count);
  if (!r.process_count) {
    fputs("overlap_report: nothing to report\n", stderr);
    free_run(&r);
    return 2;
  }
  take_partners(&r);
  if (traces.count >= 2) take_last(r.sum);
  take_why(r.sum);
  take_endings(r.sum);
  take_cores(&r);
  take_stamps(&r);
  if (reference_path) {
    read_run(&reference, (char **)&reference_path, 1);
    if (reference.process_count) take_reference(&r, &reference);
    r.failed = r.failed || reference.failed;
    free_run(&reference);
  }
  int code = r.failed ? 1 : 0;
  if (json) name_sites(r.sum);
  if (!(json ? nbc_report_write_json(r.sum, stdout) == NBC_OK : write_text(&r, stdout))) {
    fprintf(stderr, "overlap_report: standard output: %s\n", strerror(errno));
    code = 1;
  }
  if (csv && !write_csv(&r, csv)) {
    fprintf(stderr, "overlap_report: %s: the tables were not all written\n", csv);
    code = 1;
  }
  if (page && !write_page(&r, page)) {
    fprintf(stderr, "overlap_report: %s: %s; the page was not written\n", page, strerror(errno));
    code = 1;
  } else if (page && !json) {
    printf("\nPage: %s\n", page);
  }
  free_run(&r);
  return code;
}
