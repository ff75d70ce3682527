/* trace_read.h: reads the timelines that a run left (trace_file.h), for overlap_trace and overlap_report. Who
   includes this has must(), no_memory() and trace_reader, its own name. Nothing in a file is believed. */
#include "tools/trace_file.h"
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <sys/stat.h>

typedef struct trace_place {
  char *call, *module, *symbol;
  uint64_t offset;
} trace_place;
typedef struct timeline {
  char *path, *host, *program;
  int rank, size, pid;
  uint64_t seen_count, record_count;
  int64_t clock_ns[2], unix_ns[2];
  int clock_count;
  bool is_whole;            /* none of its records is missing, or the last ones */
  bool is_first, is_full;   /* it kept the first ones; and there were more */
  long long every;          /* of each section, the n-th time it was entered; 0: all */
  uint64_t cut_in, cut_out; /* messages from these ids on may be missing; UINT64_MAX: none */
  int64_t raw_clock_ns[2], raw_ns[2], raw_err_ns[2];
  int raw_count;
  uint32_t *unordered; /* communicators whose messages may overtake others */
  size_t unordered_count;
  char *boot, *unmatched; /* unmatched: why its messages are not here in order; NULL: they are */
  char *name_list[256], *counter_list[NBC_MAX_COUNTERS];
  trace_place *places;
  size_t place_count;
  trace_record *records;
} timeline;

static struct {
  timeline *of;
  size_t count;
  int64_t begin_ns, end_ns; /* of all, by the system's clock */
} traces;

/* ---- reading: nothing in a file is believed --------------------------------------------------------- */
static bool trace_damaged(const timeline *t, const char *what) {
  fprintf(stderr, "%s: %s: %s\n", trace_reader, t->path, what);
  return false;
}
/* Sums of what is in a file, and times: so that no sum or difference of a few of them is out of range. */
static void trace_plus(int64_t *sum, int64_t value) {
  if (__builtin_add_overflow(*sum, value, sum)) *sum = value < 0 ? INT64_MIN : INT64_MAX;
}
static const int64_t trace_most_ns = (int64_t)1 << 61;
static bool trace_is_time(int64_t t_ns) { return t_ns >= 0 && t_ns <= trace_most_ns; }
static char *trace_copy(const char *text) { return (char *)must(strdup(text)); }

static bool trace_read_place(timeline *t, const char *rest) {
  unsigned index;
  char call[80], *end;
  int used = 0;
  if (sscanf(rest, "%u %79s %n", &index, call, &used) < 2 || !used || index > 1000000)
    return trace_damaged(t, "a place is damaged");
  const unsigned long long offset = strtoull(rest + used, &end, 10);
  const char *tab = strchr(end, '\t');
  if (*end != ' ' || !tab) return trace_damaged(t, "a place is damaged");
  if (index >= t->place_count) {
    t->places = (trace_place *)must(realloc(t->places, (index + 1) * sizeof *t->places));
    memset(t->places + t->place_count, 0, (index + 1 - t->place_count) * sizeof *t->places);
    t->place_count = index + 1;
  }
  trace_place *p = &t->places[index];
  if (p->call) return trace_damaged(t, "a place stands twice");
  p->call = trace_copy(call);
  p->offset = offset;
  p->symbol = trace_copy(tab + 1);
  p->module = (char *)must(strndup(end + 1, (size_t)(tab - end - 1)));
  return true;
}

static bool trace_read_line(timeline *t, const char *line) {
  long long a, b;
  unsigned index;
  int used = 0;
  if (sscanf(line, "rank %lld", &a) == 1) return t->rank = (int)a, a >= 0 && a < INT_MAX;
  if (sscanf(line, "size %lld", &a) == 1) return t->size = (int)a, a >= 0 && a <= INT_MAX;
  if (sscanf(line, "pid %lld", &a) == 1) return t->pid = (int)a, a >= 0 && a <= INT_MAX;
  if (strncmp(line, "host ", 5) == 0) return free(t->host), t->host = trace_copy(line + 5), true;
  if (strncmp(line, "program ", 8) == 0)
    return free(t->program), t->program = trace_copy(line + 8), true;
  if (sscanf(line, "seen %lld", &a) == 1) return t->seen_count = (uint64_t)a, a >= 0;
  if (sscanf(line, "records %lld", &a) == 1) return t->record_count = (uint64_t)a, a >= 0;
  if (sscanf(line, "clock %lld %lld", &a, &b) == 2 && t->clock_count < 2) {
    t->clock_ns[t->clock_count] = a;
    t->unix_ns[t->clock_count++] = b;
    return trace_is_time(a) && b >= 0 && trace_is_time(b / 2); /* b: from 1970 on */
  }
  if (sscanf(line, "raw %lld %lld %n", &a, &b, &used) == 2 && used && t->raw_count < 2) {
    t->raw_clock_ns[t->raw_count] = a;
    t->raw_err_ns[t->raw_count] = atoll(line + used);
    t->raw_ns[t->raw_count++] = b;
    const int64_t err_ns = t->raw_err_ns[t->raw_count - 1];
    return trace_is_time(a) && trace_is_time(b) && err_ns >= 0 && err_ns <= trace_most_ns / 2;
  }
  if (strncmp(line, "boot ", 5) == 0) return free(t->boot), t->boot = trace_copy(line + 5), true;
  unsigned long long in, out;
  if (sscanf(line, "cut %llu %llu", &in, &out) == 2) {
    t->cut_in = in ? in : UINT64_MAX;
    t->cut_out = out ? out : UINT64_MAX;
    return true;
  }
  if (sscanf(line, "unordered %u", &index) == 1) {
    t->unordered =
        (uint32_t *)must(realloc(t->unordered, (t->unordered_count + 1) * sizeof *t->unordered));
    t->unordered[t->unordered_count++] = index;
    return true;
  }
  if (sscanf(line, "first %lld", &a) == 1) return t->is_first = true, t->is_full = a != 0, true;
  if (sscanf(line, "every %lld", &a) == 1) return t->every = a, a > 0;
  if (strncmp(line, "matches ", 8) == 0) {
    free(t->unmatched);
    t->unmatched = line[8] == '1' ? NULL : trace_copy(line + (line[8] && line[9] ? 10 : 8));
    return true;
  }
  if (sscanf(line, "name %u %n", &index, &used) == 1 && used && index < 256)
    return free(t->name_list[index]), t->name_list[index] = trace_copy(line + used), true;
  if (sscanf(line, "counter %u %n", &index, &used) == 1 && used && index < NBC_MAX_COUNTERS)
    return free(t->counter_list[index]), t->counter_list[index] = trace_copy(line + used), true;
  if (strncmp(line, "place ", 6) == 0) return trace_read_place(t, line + 6);
  return true; /* of a later version */
}

/* A call is one, or some looks with computation between them. */
static bool trace_tidy_looks(trace_record *r) {
  if (r->max_overlap_ns <= 1) r->min_overlap_ns = r->xfer_ns, r->max_overlap_ns = 1;
  return r->min_overlap_ns >= 0 && r->min_overlap_ns <= r->xfer_ns && trace_is_time(r->xfer_ns) &&
         r->xfer_ns - r->min_overlap_ns <= r->end_ns - r->begin_ns;
}
/* What is drawn must be in order and within the process's life. */
static void trace_tidy(timeline *t) {
  uint64_t kept = 0;
  for (uint64_t i = 0; i < t->record_count; i++) {
    trace_record r = t->records[i];
    if (r.what == TRACE_MESSAGE) {
      if (r.kind <= 1 && r.partner >= 0 && r.xfer_ns >= 0 && r.min_overlap_ns >= 0)
        t->records[kept++] = r;
      continue;
    }
    const bool no_begin = r.begin_ns == INT64_MIN, no_end = r.end_ns == INT64_MIN;
    if (r.what < TRACE_CALL || r.what > TRACE_COLLECTIVE || (no_begin && no_end)) continue;
    if (r.what == TRACE_COUNTER &&
        (no_begin || no_end || r.id >= NBC_MAX_COUNTERS || !t->counter_list[r.id]))
      continue;
    if (r.kind >= NBC_KIND_COUNT || r.peer >= NBC_PEER_COUNT) continue;
    if (!no_begin && (r.begin_ns < t->clock_ns[0] || r.begin_ns > t->clock_ns[1])) continue;
    if (!no_end && (r.end_ns < t->clock_ns[0] || r.end_ns > t->clock_ns[1])) continue;
    if (!no_begin && !no_end && r.end_ns < r.begin_ns) continue;
    if (r.what == TRACE_TRANSFER &&
        (r.xfer_ns < 0 || r.min_overlap_ns < 0 || r.max_overlap_ns < r.min_overlap_ns ||
         r.max_overlap_ns > r.xfer_ns))
      continue;
    if (r.what == TRACE_CALL && (r.xfer_ns < 0 || no_begin || no_end || r.id >= t->place_count ||
                                 !t->places[r.id].call || !trace_tidy_looks(&r)))
      continue;
    if (r.what == TRACE_COLLECTIVE && (no_begin || no_end || r.case_of > TRACE_OF_SOME ||
                                       r.min_overlap_ns < 0 || r.min_overlap_ns > INT_MAX))
      continue;
    if (r.what == TRACE_SECTION && (r.id >= 256 || !t->name_list[r.id])) continue;
    t->records[kept++] = r;
  }
  if (kept < t->record_count)
    fprintf(stderr, "%s: %s: %llu records make no sense and are left out\n", trace_reader, t->path,
            (unsigned long long)(t->record_count - kept));
  t->record_count = kept;
}

static bool trace_read(timeline *t, const char *path) {
  char line[4096];
  struct stat st;
  memset(t, 0, sizeof *t);
  t->cut_in = t->cut_out = UINT64_MAX;
  t->path = trace_copy(path);
  t->unmatched = trace_copy("it is of an earlier version");
  FILE *in = fopen(path, "rb");
  if (!in) return trace_damaged(t, strerror(errno));
  const uint16_t one = 1;
  unsigned char low;
  memcpy(&low, &one, 1);
  bool good = fgets(line, sizeof line, in) &&
              strncmp(line, TRACE_FIRST_LINE, strlen(TRACE_FIRST_LINE)) == 0;
  if (!good)
    trace_damaged(t, "this is no timeline of this version");
  else if (strcmp(line + strlen(TRACE_FIRST_LINE), low ? " 01000000\n" : " 00000001\n") != 0)
    good = trace_damaged(t, "written on a machine of the other byte order");
  while (good && (good = fgets(line, sizeof line, in) != NULL || trace_damaged(t, "cut off")) &&
         line[0] != '\n') {
    line[strcspn(line, "\n")] = 0;
    good = trace_read_line(t, line) || trace_damaged(t, "a line is damaged");
  }
  const long at = good ? ftell(in) : 0;
  if (good && (t->clock_count != 2 || t->clock_ns[1] < t->clock_ns[0]))
    good = trace_damaged(t, "no clock");
  if (good && (fstat(fileno(in), &st) != 0 ||
               (uint64_t)(st.st_size - at) / sizeof *t->records < t->record_count))
    good = trace_damaged(t, "cut off");
  if (good) {
    t->records = (trace_record *)must(malloc((t->record_count + 1) * sizeof *t->records));
    if (fread(t->records, sizeof *t->records, t->record_count, in) != t->record_count)
      good = trace_damaged(t, "cannot be read");
  }
  fclose(in);
  if (good) trace_tidy(t);
  return good;
}

static void trace_add_file(const char *path, bool *bad) {
  traces.of = (timeline *)must(realloc(traces.of, (traces.count + 1) * sizeof *traces.of));
  if (trace_read(&traces.of[traces.count], path))
    traces.count++;
  else
    *bad = true;
}

static int trace_by_rank(const void *a, const void *b) {
  const timeline *x = (const timeline *)a, *y = (const timeline *)b;
  return x->rank != y->rank ? (x->rank > y->rank) - (x->rank < y->rank) : strcmp(x->path, y->path);
}

/* ---- times ------------------------------------------------------------------------------------------ */
static int64_t trace_between(int64_t t_ns, const int64_t from_ns[2], const int64_t to_ns[2]) {
  const double span = (double)(from_ns[1] - from_ns[0]);
  const double share = span > 0 ? (double)(t_ns - from_ns[0]) / span : 0,
               d_ns = share * (double)(to_ns[1] - to_ns[0]), most_ns = (double)trace_most_ns;
  return to_ns[0] + (int64_t)(d_ns < -most_ns ? -most_ns : d_ns > most_ns ? most_ns : d_ns);
}
/* A process's time on the clock that all of a boot share, and back; both +- trace_err_ns. */
static bool trace_has_raw(const timeline *t) {
  return t->raw_count == 2 && t->boot && t->boot[0] && t->raw_clock_ns[1] > t->raw_clock_ns[0] &&
         t->raw_ns[1] > t->raw_ns[0];
}
static int64_t trace_raw_ns(const timeline *t, int64_t t_ns) {
  return trace_between(t_ns, t->raw_clock_ns, t->raw_ns);
}
static int64_t trace_own_ns(const timeline *t, int64_t raw_ns) {
  return trace_between(raw_ns, t->raw_ns, t->raw_clock_ns);
}
static int64_t trace_err_ns(const timeline *t) {
  return (t->raw_err_ns[0] > t->raw_err_ns[1] ? t->raw_err_ns[0] : t->raw_err_ns[1]) + 1;
}
static bool trace_is_one_boot(const timeline *a, const timeline *b) {
  return trace_has_raw(a) && trace_has_raw(b) && strcmp(a->boot, b->boot) == 0;
}

/* All are read: in the order of their ranks, and when the run began and ended. */
static void trace_sort(void) {
  qsort(traces.of, traces.count, sizeof *traces.of, trace_by_rank);
  traces.begin_ns = INT64_MAX;
  traces.end_ns = INT64_MIN;
  for (size_t k = 0; k < traces.count; k++) {
    const timeline *t = &traces.of[k];
    if (t->unix_ns[0] < traces.begin_ns) traces.begin_ns = t->unix_ns[0];
    if (t->unix_ns[1] > traces.end_ns) traces.end_ns = t->unix_ns[1];
  }
}
