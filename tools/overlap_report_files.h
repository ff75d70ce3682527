/* overlap_report_files.h: nonblocking file operations, from the counters "FILE:call/what" that the preload keeps
   (overlap_preload_files.h). Part of overlap_report.c. */
enum {
  FILES_COUNT,
  FILES_BYTES,
  FILES_UNDER_WAY,
  FILES_COMPUTED,
  FILES_WAITED,
  FILES_ELSEWHERE,
  FILES_FACTS
};
static const char *const files_facts[FILES_FACTS] = {"count",       "bytes",     "under_way_ns",
                                                     "computed_ns", "waited_ns", "ended_elsewhere"};
static const char files_says[] = "Under way: from the call that starts one to the call in which "
                                 "its end was seen. No table says how long storage takes: "
                                 "at most what was computed meanwhile is hidden, perhaps nothing "
                                 "of it; waited is the time of the calls in which they "
                                 "ended.";
typedef struct files_row {
  char call[64];
  double of[FILES_FACTS];
} files_row;
/* The i-th of the counters, when it begins the row of a call. */
static bool files_row_at(const nbc_report *r, size_t i, files_row *one) {
  const nbc_counter *const c = &r->counters[i];
  const char *const end = strncmp(c->name, "FILE:", 5) == 0 ? strrchr(c->name, '/') : NULL;
  if (!end || strcmp(end + 1, files_facts[FILES_COUNT]) != 0 ||
      end - c->name - 5 >= (ptrdiff_t)sizeof one->call)
    return false;
  memset(one, 0, sizeof *one);
  memcpy(one->call, c->name + 5, (size_t)(end - c->name - 5));
  for (int k = 0; k < FILES_FACTS; k++) {
    char name[100];
    snprintf(name, sizeof name, "FILE:%s/%s", one->call, files_facts[k]);
    const double value = counter_of(r, c->section_index, name);
    if (value > 0 && value < 9e18) one->of[k] = value;
  }
  return one->of[FILES_COUNT] > 0;
}
/* What its counts do not have times of. */
static const char *files_elsewhere(const files_row *one, words *w) {
  w->text[0] = 0;
  if (one->of[FILES_ELSEWHERE] > 0)
    snprintf(w->text, sizeof w->text, "%.0f ended in another thread, without times",
             one->of[FILES_ELSEWHERE]);
  return w->text;
}
static void text_files(const nbc_report *r, FILE *out) {
  bool any = false;
  files_row one;
  for (size_t i = 0; i < r->counter_count; i++) {
    words a, b, c, d, e;
    if (!files_row_at(r, i, &one)) continue;
    if (!any)
      fprintf(out, "\n%-28s %8s %10s %10s %10s %10s\n", "Nonblocking file operations", "count",
              "volume", "under way", "computed", "waited");
    any = true;
    fprintf(out, "  %-26s %8.0f %10s %10s %10s %10s%s%s\n", one.call, one.of[FILES_COUNT],
            bytes_text((uint64_t)one.of[FILES_BYTES], &a),
            time_text((int64_t)one.of[FILES_UNDER_WAY], &b),
            time_text((int64_t)one.of[FILES_COMPUTED], &c),
            time_text((int64_t)one.of[FILES_WAITED], &d), one.of[FILES_ELSEWHERE] > 0 ? "  " : "",
            files_elsewhere(&one, &e));
  }
  if (any) put_wrapped(out, "  ", files_says);
}
static void put_files(FILE *out, const nbc_report *r) {
  bool any = false;
  files_row one;
  for (size_t i = 0; i < r->counter_count; i++) {
    words a, b, c, d, e;
    if (!files_row_at(r, i, &one)) continue;
    if (!any)
      fprintf(out,
              "<h2>Nonblocking file operations</h2>\n<p class=\"soft\">%s</p>\n<div "
              "class=\"scroll\"><table><thead><tr><th>call</th><th>count</th><th>volume</"
              "th><th>under way</th>"
              "<th>computed</th><th>waited</th><th></th></tr></thead><tbody>\n",
              files_says);
    any = true;
    fputs("<tr data-table=\"files\"><td>", out);
    put(out, one.call);
    fprintf(out, "</td><td>%.0f</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>\n",
            one.of[FILES_COUNT], bytes_text((uint64_t)one.of[FILES_BYTES], &a),
            time_text((int64_t)one.of[FILES_UNDER_WAY], &b),
            time_text((int64_t)one.of[FILES_COMPUTED], &c),
            time_text((int64_t)one.of[FILES_WAITED], &d), files_elsewhere(&one, &e));
  }
  if (any) fputs("</tbody></table></div>\n", out);
}
