/* overlap_report.c: the reports of a run's processes as one: what was hidden, what was not, where, and
   what to do about it.

   Question: my run left one report per process; where does its communication time go?
   Command:  build/overlap_report FOLDER            or the files: nbc_overlap.program.*.json
   Output:   a summary on standard output, and overlap_report.html beside the reports: one page without
             scripts or links

   Options:  --help lists them. --reference: the times of that run in a section are the references of nbc_diagnose [R 4.1];
             --json keeps them, as counters "comp_ref_ns" and "comm_ref_ns"; a program that knows them may write
             these itself.
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
    const verdict v = judge(r, &rows[i]);
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

#include "overlap_report_page.h"

/* ---- the command ------------------------------------------------------------------------------ */
static const char *page, *csv, *reference_path;
static bool json, has_no_page, is_diff;
static const option options[] = {
    {"-o", "FILE", "where the page goes (overlap_report.html in the folder of the first report)",
     .text = &page},
    {"--no-html", NULL, "no page", .flag = &has_no_page},
    {"--json", NULL,
     "the sum of all reports as JSON, itself a report, instead of the summary; a page only with -o",
     .flag = &json},
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

/* What both sides of messages know. */
static void read_timelines(run *r) {
  if (!r->process_count) return;
  take_partners(r);
  if (traces.count >= 2) take_last(r->sum);
  take_why(r->sum);
}
static int compare(char **paths) {
  run before, after;
  read_run(&before, paths, 1);
  read_timelines(&before);
  read_run(&after, paths + 1, 1);
  read_timelines(&after);
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
      diff_why(&before.sum->waits, &after.sum->waits, stdout);
      diff_places(before.sum, after.sum, stdout);
      diff_begun(before.sum, after.sum, stdout);
      diff_stamps(before.sum, after.sum, stdout);
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
  read_timelines(&r);
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
