/* overlap_trace.c: the timelines that a run left (NBC_TRACE=1 of overlap_preload.c), as one picture.

   Question: what did each process do when, and which transfer was hidden behind what?
   Command:  overlap_trace FOLDER               writes FOLDER/overlap_trace.json; open it in ui.perfetto.dev
             overlap_trace -o a.json FILE...    or chrome://tracing
             overlap_trace --otf2 ARCHIVE FOLDER   for Vampir, Score-P's tools, pipit; where OTF2 was there
                                                when this was built
   Output:   per process: sections and calls with their place in the program, by thread (looks in vain, MPI_Test one
             right after the other, as one with their number); transfers from
             what was seen of their begin to their end, with size, partner and bounds; two counters, what
             was hidden for certain and at most up to then; what NICs stamped, where there is any, and how fast
             their counters moved (NBC_NIC_COUNTERS; a track of each); arrows from sends to their receives, and the bounds that both sides together give (trace_match.h).

   Each process kept its newest records only; how many were lost is said. Times of processes are exact on one node;
   between nodes as good as messages and collectives hold their clocks together (trace_clocks.h), or, where these are
   too few, as the system's clocks agree at start and end. Arrows that point backwards for that are counted. */
#ifndef _GNU_SOURCE
#  define _GNU_SOURCE
#endif
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#include "tools/options.h"
#include "tools/output.h"
#include "tools/section_name.h"

static const char *json, *otf2;
static const option options[] = {
    {"-o", "FILE",
     "where the JSON goes (overlap_trace.json, in the FOLDER if it is one; none with --otf2 alone)",
     .text = &json},
    {"--otf2", "ARCHIVE", "a folder, made for it, for Vampir", .text = &otf2},
    {0}};
static const command_line command = {
    "usage: overlap_trace [-o FILE] [--otf2 ARCHIVE] FOLDER | FILE...\n"
    "Makes Chrome's JSON (for ui.perfetto.dev) and OTF2 of timelines, nbc_overlap.*.trace.\n",
    options,
    "Exit status: 0 done; 1 something was not read or written; 2 wrong usage or no timeline.\n"};

static void no_memory(void) {
  fputs("overlap_trace: out of memory\n", stderr);
  exit(1);
}
static void *must(void *memory) {
  if (!memory) no_memory();
  return memory;
}

static const char trace_reader[] = "overlap_trace";
#include "tools/trace_read.h"
#include "tools/trace_match.h"
#include <dirent.h>

static int trace_by_name(const struct dirent **a, const struct dirent **b) {
  return strcmp((*a)->d_name, (*b)->d_name);
}
static int trace_is_file(const struct dirent *entry) {
  const size_t n = strlen(entry->d_name);
  return strncmp(entry->d_name, "nbc_overlap.", 12) == 0 && n > 6 &&
         strcmp(entry->d_name + n - 6, ".trace") == 0;
}
static void trace_add_path(const char *path, bool *bad) {
  struct stat st;
  struct dirent **entries;
  if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode)) {
    trace_add_file(path, bad);
    return;
  }
  const int count = scandir(path, &entries, trace_is_file, trace_by_name);
  if (count < 0) no_memory();
  for (int i = 0; i < count; i++) {
    char whole[PATH_MAX];
    snprintf(whole, sizeof whole, "%s/%s", path, entries[i]->d_name);
    if (stat(whole, &st) == 0 && S_ISREG(st.st_mode)) trace_add_file(whole, bad);
    free(entries[i]);
  }
  free(entries);
}

/* Are all clocks held together, by their boot or by messages and collectives? Then times are the first one's, those of
   another node in the middle of where they may lie: no message between it and the first one is received before it was sent.
   Two others may be laid so that theirs are. */
static bool one_clock;
static int64_t start_unix_ns;
static bool first_raw_ns(size_t i, int64_t t_ns, int64_t *raw_ns) {
  int64_t first_ns, err_ns;
  if (!clocks_meet(0, i, t_ns, &first_ns, &err_ns)) return false;
  *raw_ns = trace_raw_ns(&traces.of[0], first_ns);
  return true;
}
static void find_one_clock(void) {
  int64_t begin_ns = INT64_MAX, end_ns = INT64_MIN, from_ns = 0, to_ns = 0;
  start_unix_ns = traces.begin_ns;
  one_clock = true;
  for (size_t i = 0; i < traces.count && one_clock; i++) {
    one_clock = first_raw_ns(i, traces.of[i].clock_ns[0], &from_ns) &&
                first_raw_ns(i, traces.of[i].clock_ns[1], &to_ns);
    if (from_ns < begin_ns) begin_ns = from_ns;
    if (to_ns > end_ns) end_ns = to_ns;
  }
  if (one_clock) traces.begin_ns = begin_ns, traces.end_ns = end_ns;
}
/* A process's time, after the begin of the run. Those whose clocks nothing holds together are laid on the system's clock by
   two points, at their start and end, so that clocks that run apart meet at both. */
static int64_t run_ns(const timeline *t, int64_t t_ns) {
  int64_t raw_ns;
  if (one_clock)
    return first_raw_ns((size_t)(t - traces.of), t_ns, &raw_ns) ? raw_ns - traces.begin_ns : 0;
  const double span = (double)(t->clock_ns[1] - t->clock_ns[0]);
  const double share = span > 0 ? (double)(t_ns - t->clock_ns[0]) / span : 0;
  return t->unix_ns[0] - traces.begin_ns +
         (int64_t)(share * (double)(t->unix_ns[1] - t->unix_ns[0]));
}
static int64_t begin_of(
    const timeline *t, const trace_record *r) { /* what was not seen is drawn as long as it takes */
  int64_t t_ns = r->begin_ns;
  if (t_ns == INT64_MIN)
    t_ns = r->end_ns - r->xfer_ns < t->clock_ns[0] ? t->clock_ns[0] : r->end_ns - r->xfer_ns;
  return run_ns(t, t_ns);
}
static int64_t end_of(const timeline *t, const trace_record *r) {
  return run_ns(t, r->end_ns == INT64_MIN ? t->clock_ns[1] : r->end_ns);
}

/* Says so of arrows that point backwards, for what is known of the clocks is less than their messages took. */
static void tell_backward_arrows(void) {
  uint64_t count = 0;
  int64_t most_ns = 0;
  for (uint64_t i = 0; i < matches.matched_count; i++) {
    const match_one *s = &matches.sent[i], *r = &matches.received[i];
    if (!s->transfer || !r->transfer || s->transfer->begin_ns == INT64_MIN ||
        r->transfer->end_ns == INT64_MIN)
      continue;
    const int64_t d_ns = run_ns(&traces.of[s->timeline], s->transfer->begin_ns) -
                         run_ns(&traces.of[r->timeline], r->transfer->end_ns);
    count += d_ns > 0;
    if (d_ns > most_ns) most_ns = d_ns;
  }
  if (count)
    printf("%llu arrow%s backwards, by up to %.3f us: no more is known of these nodes' clocks\n",
           (unsigned long long)count, count == 1 ? " points" : "s point", (double)most_ns * 1e-3);
}

/* What is known of a transfer of a timeline; NULL: nothing more. */
static const match_bounds *match_of(const timeline *t, uint64_t id) {
  const size_t i = (size_t)(t - traces.of);
  const long at = matches.bounds ? match_find(i, id) : -1;
  return at >= 0 && matches.bounds[i][at].is_matched ? &matches.bounds[i][at] : NULL;
}

/* Where a record's thread stands: calls and sections have no size, transfers carry it above their
   number. */
static unsigned thread_of(const trace_record *r) {
  return (unsigned)(r->what == TRACE_CALL || r->what == TRACE_SECTION ? r->size_bytes
                                                                      : r->id >> 40) &
         0xffffff;
}

/* qsort hands its comparisons no argument. */
static const timeline *now_sorted;
static int by_begin(const void *a, const void *b) {
  const trace_record *x = (const trace_record *)a, *y = (const trace_record *)b;
  const int64_t bx = begin_of(now_sorted, x), by = begin_of(now_sorted, y),
                ex = end_of(now_sorted, x), ey = end_of(now_sorted, y);
  if (bx != by) return bx < by ? -1 : 1;
  return (ey > ex) - (ey < ex); /* the longer one is around the other */
}

static void label(const trace_record *r, char *text, size_t size) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double v = (double)r->size_bytes;
  int u = 0;
  while (v >= 1024 && u < 4) v /= 1024, u++;
  const int n =
      snprintf(text, size, "%s %.*f %s", nbc_kind_name((nbc_kind)r->kind), u ? 1 : 0, v, units[u]);
  if (r->partner >= 0) snprintf(text + n, size - (size_t)n, " with %d", r->partner);
}

/* ---- Chrome's JSON ------------------------------------------------------------------------------------ */
static void put_text(FILE *out, const char *text) {
  putc('"', out);
  for (; *text; text++) {
    const unsigned char c = (unsigned char)*text;
    const int bytes = printable(text); /* of UTF-8 */
    if (c == '"' || c == '\\')
      fprintf(out, "\\%c", c);
    else if (!bytes)
      fprintf(out, "\\u%04x", c); /* other bytes; as Latin-1 */
    else
      fwrite(text, 1, (size_t)bytes, out);
    text += bytes > 1 ? bytes - 1 : 0;
  }
  putc('"', out);
}
static void put_us(FILE *out, const char *key,
                   int64_t ns) { /* whatever the locale's decimal point is */
  fprintf(out, ",\"%s\":%s%lld.%03lld", key, ns < 0 ? "-" : "",
          (long long)(ns < 0 ? -ns : ns) / 1000, (long long)(ns < 0 ? -ns : ns) % 1000);
}
static void put_head(FILE *out, const char *phase, const timeline *t, unsigned thread) {
  fprintf(out, ",\n{\"ph\":\"%s\",\"pid\":%d,\"tid\":%u", phase, t->rank, thread);
}

static void chrome_slice(FILE *out, const timeline *t, const trace_record *r) {
  put_head(out, "X", t, thread_of(r));
  put_us(out, "ts", begin_of(t, r));
  put_us(out, "dur", end_of(t, r) - begin_of(t, r));
  if (r->what == TRACE_SECTION) {
    fputs(",\"cat\":\"section\",\"name\":", out);
    put_text(out, t->name_list[r->id]);
  } else {
    const trace_place *p = &t->places[r->id];
    fputs(",\"cat\":\"call\",\"name\":", out);
    put_text(out, p->call);
    fputs(",\"args\":{\"in\":", out);
    put_text(out, p->symbol);
    fputs(",\"of\":", out);
    put_text(out, p->module);
    fprintf(out, ",\"offset\":\"0x%llx\"", (unsigned long long)p->offset);
    if (r->max_overlap_ns > 1) {
      fprintf(out, ",\"looks\":%lld", (long long)r->max_overlap_ns);
      put_us(out, "computed_between_us", r->xfer_ns - r->min_overlap_ns);
      if (r->case_of == (TRACE_LOOKS_TEST | TRACE_LOOKS_PROBE))
        fputs(",\"tests_and_probes\":true", out);
    }
    putc('}', out);
  }
  putc('}', out);
}

static void chrome_transfer(FILE *out, const timeline *t, const trace_record *r, uint64_t number) {
  const bool by_nic = r->what == TRACE_NIC;
  char text[120];
  for (int end = 0; end < 2; end++) {
    put_head(out, end ? "e" : "b", t, thread_of(r));
    put_us(out, "ts", end ? end_of(t, r) : begin_of(t, r));
    fprintf(out,
            ",\"cat\":\"%s\",\"id\":\"%d.%llu\",\"name\":", by_nic ? "on the wire" : "transfer",
            t->rank, (unsigned long long)number);
    if (by_nic)
      snprintf(text, sizeof text, "stamped");
    else
      label(r, text, sizeof text);
    put_text(out, text);
    if (!end && by_nic) {
      fputs(",\"args\":{\"what\":\"a NIC's stamps\"", out);
      put_us(out, "uncertain_us", r->xfer_ns);
      putc('}', out);
    } else if (!end) {
      fprintf(out,
              ",\"args\":{\"bytes\":%llu,\"peer\":\"%s\",\"partner\":%d,\"begin\":\"%s\",\"end\":"
              "\"%s\",\"case\":%u",
              (unsigned long long)r->size_bytes, nbc_peer_name((nbc_peer)r->peer), (int)r->partner,
              r->begin_ns == INT64_MIN ? "not seen" : "seen",
              r->end_ns == INT64_MIN ? "never" : "seen", r->case_of);
      put_us(out, "takes_us", r->xfer_ns);
      put_us(out, "hidden_at_least_us", r->min_overlap_ns);
      put_us(out, "hidden_at_most_us", r->max_overlap_ns);
      const match_bounds *both = match_of(t, r->id);
      if (both && both->has_window) {
        put_us(out, "by_both_sides_at_least_us", both->min_ns);
        put_us(out, "by_both_sides_at_most_us", both->max_ns);
      }
      putc('}', out);
    }
    putc('}', out);
  }
}

static int by_end(const void *a, const void *b) {
  const int64_t x = end_of(now_sorted, (const trace_record *)a),
                y = end_of(now_sorted, (const trace_record *)b);
  return (x > y) - (x < y);
}
/* The bounds as counters: what was hidden of the transfers that had ended until then. */
static void chrome_bounds(FILE *out, const timeline *t) {
  int64_t least_ns = 0, most_ns = 0, takes_ns = 0;
  for (uint64_t i = 0; i < t->record_count; i++) {
    const trace_record *r = &t->records[i];
    if (r->what != TRACE_TRANSFER) continue;
    trace_plus(&least_ns, r->min_overlap_ns);
    trace_plus(&most_ns, r->max_overlap_ns);
    trace_plus(&takes_ns, r->xfer_ns);
    put_head(out, "C", t, 0);
    put_us(out, "ts", end_of(t, r));
    fputs(",\"name\":\"transfer time, summed\",\"args\":{\"\":0", out);
    put_us(out, "hidden for certain", least_ns);
    put_us(out, "perhaps hidden", most_ns - least_ns);
    put_us(out, "not hidden", takes_ns - most_ns);
    fputs("}}", out);
  }
}

/* How fast a NIC's counter moved, from one reading to the next. */
static void chrome_counter(FILE *out, const timeline *t, const trace_record *from,
                           const trace_record *to) {
  const char *name = t->counter_list[from->id];
  char text[200];
  /* from the middle of a reading to that of the next one */
  const int64_t begin_ns = begin_of(t, from) / 2 + end_of(t, from) / 2,
                end_ns = to ? begin_of(t, to) / 2 + end_of(t, to) / 2 : begin_ns;
  const double per_s = end_ns > begin_ns ? (double)(to->size_bytes - from->size_bytes) * 1e9 /
                                               (double)(end_ns - begin_ns)
                                         : 0;
  snprintf(text, sizeof text, "NIC %.150s, per s", name);
  put_head(out, "C", t, 0);
  put_us(out, "ts", begin_ns);
  fputs(",\"cat\":\"NIC\",\"name\":", out);
  put_text(out, text);
  fprintf(out, ",\"args\":{\"per s\":%lld}}", (long long)(per_s < 9e18 ? per_s : 9e18));
}
/* Its records are in the order of their begins. */
static void chrome_counters(FILE *out, const timeline *t) {
  const trace_record *last[NBC_MAX_COUNTERS] = {NULL};
  for (uint64_t k = 0; k < t->record_count; k++) {
    const trace_record *r = &t->records[k];
    if (r->what != TRACE_COUNTER) continue;
    if (last[r->id]) chrome_counter(out, t, last[r->id], r);
    last[r->id] = r;
  }
  for (int i = 0; i < NBC_MAX_COUNTERS; i++)
    if (last[i]) chrome_counter(out, t, last[i], NULL);
}

/* An arrow from the call that sent to the call in which the receive ended. Both times lie in their calls. */
static void chrome_arrow(FILE *out, const match_one *s, const match_one *r, uint64_t number) {
  const timeline *from = &traces.of[s->timeline], *to = &traces.of[r->timeline];
  if (!s->transfer || !r->transfer || s->transfer->begin_ns == INT64_MIN ||
      r->transfer->end_ns == INT64_MIN)
    return;
  for (int end = 0; end < 2; end++) {
    put_head(out, end ? "f" : "s", end ? to : from, thread_of(end ? r->transfer : s->transfer));
    put_us(out, "ts",
           /* 1 ns before its end, so that the arrow binds to the call that ends there, not to the
              next one. */
           end ? run_ns(to, r->transfer->end_ns) - 1 : run_ns(from, s->transfer->begin_ns));
    fprintf(out, ",\"cat\":\"message\",\"name\":\"message\",\"id\":%llu%s",
            (unsigned long long)number, end ? ",\"bp\":\"e\"" : "");
    if (!end)
      fprintf(out, ",\"args\":{\"bytes\":%llu,\"tag\":%lld,\"from\":%d,\"to\":%d}",
              (unsigned long long)s->message->size_bytes, (long long)s->message->begin_ns,
              from->rank, to->rank);
    putc('}', out);
  }
}

static bool write_chrome(const char *path) {
  /* Chrome tells transfers by a number within a process; a wire's stamps get one of their own. */
  uint64_t number = 0;
  FILE *out = output_create(path);
  if (!out) return false;
  fprintf(out,
          "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"schema\":\"nbc-overlap-trace/1\","
          "\"start_unix_ns\":\"%lld\"},\"traceEvents\":[\n"
          "{\"ph\":\"M\",\"pid\":0,\"name\":\"trace\"}",
          (long long)start_unix_ns);
  for (size_t i = 0; i < traces.count; i++) {
    timeline *t = &traces.of[i];
    char text[400];
    put_head(out, "M", t, 0);
    fputs(",\"name\":\"process_name\",\"args\":{\"name\":", out);
    snprintf(text, sizeof text, "rank %d on %.250s", t->rank, t->host ? t->host : "?");
    put_text(out, text);
    fputs("}}", out);
    put_head(out, "M", t, 0);
    fprintf(out, ",\"name\":\"process_sort_index\",\"args\":{\"sort_index\":%d}}", t->rank);
    now_sorted = t;
    qsort(t->records, t->record_count, sizeof *t->records, by_begin);
    for (uint64_t k = 0; k < t->record_count; k++) {
      const trace_record *r = &t->records[k];
      if (r->what == TRACE_CALL || r->what == TRACE_SECTION)
        chrome_slice(out, t, r);
      else if (r->what != TRACE_COUNTER)
        chrome_transfer(out, t, r, number++);
    }
    chrome_counters(out, t);
    qsort(t->records, t->record_count, sizeof *t->records, by_end);
    chrome_bounds(out, t);
  }
  for (uint64_t i = 0; i < matches.matched_count; i++)
    chrome_arrow(out, &matches.sent[i], &matches.received[i], i + 1);
  fputs("\n]}\n", out);
  return output_close(out, path);
}

#ifdef TRACE_WITH_OTF2
#  include "tools/overlap_trace_otf2.h"
#else
static bool write_otf2(const char *path) {
  fprintf(stderr, "overlap_trace: %s: this was built without OTF2 (Debian: libotf2-trace-dev)\n",
          path);
  return false;
}
#endif

int main(int argc, char **argv) {
  bool bad = false;
  output_begin("overlap_trace");
  char **const paths = argv + 1;
  const int path_count = options_read(&command, argc, argv);
  if (!path_count) return fputs(command.usage, stderr), 2;
  char beside[PATH_MAX];
  struct stat st;
  const bool one_folder = path_count == 1 && stat(paths[0], &st) == 0 && S_ISDIR(st.st_mode);
  snprintf(beside, sizeof beside, "%s%soverlap_trace.json", one_folder ? paths[0] : "",
           one_folder ? "/" : "");
  if (!json && !otf2) json = beside;
  for (int i = 0; i < path_count; i++) trace_add_path(paths[i], &bad);
  if (!traces.count)
    return fprintf(stderr,
                   "overlap_trace: %s: no timeline there (NBC_TRACE=1, or nbc see --trace)\n",
                   paths[0]),
           2;
  trace_sort();
  uint64_t seen = 0, kept = 0;
  for (size_t k = 0; k < traces.count; k++)
    seen += traces.of[k].seen_count, kept += traces.of[k].record_count;
  match_messages();
  find_one_clock();
  printf("%zu processes, %.3f s, %llu records", traces.count,
         (double)(traces.end_ns - traces.begin_ns) * 1e-9, (unsigned long long)kept);
  if (seen > kept) printf(", the newest of %llu (NBC_TRACE_MIB)", (unsigned long long)seen);
  bool is_full = false;
  long long every = 0;
  for (size_t k = 0; k < traces.count; k++) {
    is_full = is_full || traces.of[k].is_full;
    if (traces.of[k].every > every) every = traces.of[k].every;
  }
  if (every > 1) printf(", each section once in %lld times (NBC_TRACE_EVERY)", every);
  if (is_full) printf(", the first of a longer run (NBC_TRACE=first)");
  putchar('\n');
  if (matches.message_count)
    printf("%llu of %llu messages have both ends%s%s\n", (unsigned long long)matches.matched_count,
           (unsigned long long)matches.message_count, matches.why ? "; of others: " : "",
           matches.why ? matches.why : "");
  tell_backward_arrows();
  if (json && !write_chrome(json))
    bad = true;
  else if (json)
    printf("%s: open it in ui.perfetto.dev or chrome://tracing\n", json);
  if (otf2 && !write_otf2(otf2))
    bad = true;
  else if (otf2)
    printf("%s/traces.otf2\n", otf2);
  return bad ? 1 : 0;
}
