/* overlap_report_why.h: where the time in calls went, as text, on the page and as CSV, and what to look at first. Part of
   overlap_report, after overlap_report_last.h. */
#include "tools/trace_why.h"

/* After take_last. Of timelines, else what the reports say themselves. */
static void take_why(nbc_report *r) {
  if (traces.count < 2) return;
  NBC_FREE(r->waits.of);
  r->waits = why_add_all();
}
static const char *why_caption(const nbc_report *r) { /* what they rest on */
  return r->is_simulated ? "each moment once, by the simulation"
                         : "each moment once, by timelines of both sides";
}

enum { WHY_LATE, WHY_LAST, WHY_COMPUTING, WHY_MOVING, WHY_REST, WHY_COUNT };
static const char *const why_names[WHY_COUNT] = {"late", "last", "computing", "moving", "rest"};
static const char *const why_texts[WHY_COUNT] = {
    "before partners had called", "before the last at a collective had called",
    "all had called, a partner computed with a large send posted: progress",
    "all had called: transfers, the library's work, or a core that was not free",
    "waits for nobody that is known: work in calls, messages within collectives"};
static int64_t why_less(int64_t from_ns, int64_t ns) { return ns < from_ns ? from_ns - ns : 0; }
static void why_values(const nbc_waits *w, int64_t values[WHY_COUNT]) {
  values[WHY_LATE] = w->late_ns, values[WHY_LAST] = w->last_ns;
  values[WHY_COMPUTING] = w->computing_ns;
  values[WHY_MOVING] = why_less(w->moving_ns, w->computing_ns);
  values[WHY_REST] = w->held_ns; /* looks in vain also wait between calls */
  for (int i = 0; i < WHY_REST; i++) values[WHY_REST] = why_less(values[WHY_REST], values[i]);
}
typedef struct why_one { /* one that was waited for */
  int partner;
  int64_t waited_ns;
} why_one;
static int why_most_first(const void *a, const void *b) {
  const why_one *x = (const why_one *)a, *y = (const why_one *)b;
  if (x->waited_ns != y->waited_ns) return x->waited_ns < y->waited_ns ? 1 : -1;
  return (x->partner > y->partner) - (x->partner < y->partner);
}
/* Those of WHY_LATE or WHY_LAST, most first; the caller frees. */
static why_one *why_ones(const nbc_waits *w, int i, size_t *count) {
  why_one *ones = (why_one *)must(malloc((w->of_count + 1) * sizeof *ones));
  *count = 0;
  for (size_t k = 0; k < w->of_count && i <= WHY_LAST; k++) {
    const int64_t ns = i == WHY_LATE ? w->of[k].late_ns : w->of[k].last_ns;
    if (ns) ones[(*count)++] = (why_one){w->of[k].partner, ns};
  }
  if (*count) qsort(ones, *count, sizeof *ones, why_most_first);
  return ones;
}
/* The first three, ", others" when there are more. */
static const char *why_partners_text(const nbc_waits *of, int at, char *text, size_t size) {
  words w;
  size_t used = 0, count;
  why_one *const ones = why_ones(of, at, &count);
  *text = 0;
  for (size_t i = 0; i < count && i < 3 && used < size; i++)
    used += (size_t)snprintf(text + used, size - used, "%srank %d %.20s", i ? ", " : ": ",
                             ones[i].partner, time_text(ones[i].waited_ns, &w));
  if (count > 3 && used < size) snprintf(text + used, size - used, ", others");
  free(ones);
  return text;
}
static bool why_is_told(const nbc_waits *w) {
  int64_t known_ns = w->late_ns;
  plus(&known_ns, w->last_ns);
  plus(&known_ns, w->moving_ns);
  return w->held_ns > 0 && share(known_ns, w->held_ns) >= 0.01;
}
/* By the kernel, where it told the preload. */
static double without_core_ns(const nbc_report *r) {
  double sum_ns = 0;
  for (size_t i = 0; i < r->counter_count; i++)
    if (strcmp(r->counters[i].name, "waited_for_a_core_ns") == 0) sum_ns += r->counters[i].value;
  return sum_ns;
}
/* Was there computation enough between post and completion of the transfers whose two ends were seen? */
static bool computes_enough(const nbc_report *r) {
  double beside_ns = 0, two_ends_ns = 0;
  for (size_t i = 0; i < r->cell_count; i++) {
    const nbc_cell *c = &r->cells[i];
    if (!c->t.count || is_collective(c->kind)) continue;
    beside_ns += hideable_ns(c);
    two_ends_ns += (double)c->t.xfer_ns * (double)c->t.case_count[1] / (double)c->t.count;
  }
  return two_ends_ns > 0 && beside_ns >= 0.8 * two_ends_ns;
}
/* What to look at first. */
static const char *why_first(const nbc_report *r, char *text, size_t size) {
  int64_t values[WHY_COUNT], balance_ns, there_ns;
  words w;
  why_values(&r->waits, values);
  const double no_core_ns = without_core_ns(r);
  balance_ns = values[WHY_LATE], there_ns = values[WHY_COMPUTING];
  plus(&balance_ns, values[WHY_LAST]);
  plus(&there_ns, values[WHY_MOVING]);
  if (no_core_ns >= 0.2 * (double)r->wall_ns && no_core_ns < 9e18)
    snprintf(text, size,
             "First a core for each process: they were ready to run for %.20s without one, and "
             "whatever is waited for here may be that.",
             time_text((int64_t)no_core_ns, &w));
  else if (values[WHY_REST] > balance_ns && values[WHY_REST] > there_ns)
    snprintf(text, size,
             "Most of it waits for nobody who can be named: calls and places say where.");
  else if (balance_ns >= there_ns)
    snprintf(text, size,
             "Most is won when those named call sooner: less work for them, or for those whom they "
             "wait for. No overlap of the transfers themselves gains that.");
  else if (computes_enough(r))
    snprintf(text, size,
             "Most is probably won by progress while processes compute (nbc get): all were there, "
             "and there was computation enough between post and wait.");
  else
    snprintf(text, size,
             "Most is probably won by more computation between post and wait, or by less data: all "
             "were there, and there was too little of it.");
  return text;
}
static void text_why(const nbc_report *r, FILE *out) {
  int64_t values[WHY_COUNT];
  char text[400];
  words w;
  if (!why_is_told(&r->waits)) return;
  why_values(&r->waits, values);
  fprintf(out, "\nWhere %s in calls went (%s)\n", time_text(r->waits.held_ns, &w), why_caption(r));
  for (int i = 0; i < WHY_COUNT; i++)
    if (values[i] > 0)
      fprintf(out, "  %9s %5.1f %%  %s%s\n", time_text(values[i], &w),
              100 * share(values[i], r->waits.held_ns), why_texts[i],
              why_partners_text(&r->waits, i, text, sizeof text));
  put_wrapped(out, "  ", why_first(r, text, sizeof text));
}
static void put_why(FILE *out, const nbc_report *r) {
  int64_t values[WHY_COUNT];
  char text[400];
  words w;
  if (!why_is_told(&r->waits)) return;
  why_values(&r->waits, values);
  fprintf(out,
          "<h2>Where %s in calls went</h2>\n<p class=\"soft\">%s</p>\n<div "
          "class=\"scroll\"><table><tbody>\n",
          time_text(r->waits.held_ns, &w), why_caption(r));
  for (int i = 0; i < WHY_COUNT; i++)
    fprintf(out,
            "<tr data-table=\"why\" data-ns=\"%lld\"><td>%s</td><td>%.1f %%</td><td "
            "class=\"why\">%s%s</td></tr>\n",
            (long long)values[i], time_text(values[i], &w),
            100 * share(values[i], r->waits.held_ns), why_texts[i],
            why_partners_text(&r->waits, i, text, sizeof text));
  fprintf(out, "</tbody></table></div>\n<p>%s</p>\n", why_first(r, text, sizeof text));
}
/* Of two runs; where timelines hold less of one, its shares tell more than its times. */
static void diff_why(const nbc_waits *before, const nbc_waits *after, FILE *out) {
  int64_t x[WHY_COUNT], y[WHY_COUNT];
  words a, b;
  if (!before->held_ns || !after->held_ns) return;
  why_values(before, x);
  why_values(after, y);
  fprintf(out, "\nWhere time in calls went, before and after\n");
  for (int i = 0; i < WHY_COUNT; i++)
    if (x[i] || y[i])
      fprintf(out, "  %10s %5.1f %%  %10s %5.1f %%  %s\n", time_text(x[i], &a),
              100 * share(x[i], before->held_ns), time_text(y[i], &b),
              100 * share(y[i], after->held_ns), why_texts[i]);
  fprintf(out, "  %10s %7s  %10s %7s  together\n", time_text(before->held_ns, &a), "",
          time_text(after->held_ns, &b), "");
}
static bool csv_why(const nbc_report *r, const char *folder) {
  char path[4096];
  int64_t values[WHY_COUNT];
  FILE *out = csv_open(folder, "why", path, sizeof path);
  if (!out) return false;
  why_values(&r->waits, values);
  fputs("why,partner,waited_ns\n", out);
  for (int i = 0; i < WHY_COUNT; i++)
    fprintf(out, "%s,,%lld\n", why_names[i], (long long)values[i]);
  for (int i = WHY_LATE; i <= WHY_LAST; i++) {
    size_t count;
    why_one *const ones = why_ones(&r->waits, i, &count);
    for (size_t k = 0; k < count; k++)
      fprintf(out, "%s,%d,%lld\n", why_names[i], ones[k].partner, (long long)ones[k].waited_ns);
    free(ones);
  }
  return output_close(out, path);
}
