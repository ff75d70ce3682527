/* overlap_report_endings.h: which call ended what, by place: the wait at this line was for what began at that one. Part of
   overlap_report, after overlap_report_places.h. */

/* After match_messages: from timelines, which may not have all. Reports of simulated runs have them. */
static bool endings_end_early;
static void take_endings(nbc_report *sum) {
  if (traces.count < 2 || sum->ending_count) return;
  end_add_all(sum);
  for (size_t i = 0; i < traces.count; i++)
    if (!traces.of[i].is_whole || traces.of[i].every > 1) endings_end_early = true;
}

/* Lines, not addresses, and what they are called. */
typedef struct ending_row {
  const char *begin_call, *begin, *end_call, *end;
  uint64_t count;
  int64_t waited_ns;
} ending_row;
static int ending_by_names(const void *a, const void *b) {
  const ending_row *x = (const ending_row *)a, *y = (const ending_row *)b;
  int order = strcmp(x->end, y->end);
  if (!order) order = strcmp(x->end_call, y->end_call);
  if (!order) order = strcmp(x->begin, y->begin);
  return order ? order : strcmp(x->begin_call, y->begin_call);
}
static int ending_order(const void *a, const void *b) { /* most waited first */
  const ending_row *x = (const ending_row *)a, *y = (const ending_row *)b;
  if (x->waited_ns != y->waited_ns) return x->waited_ns < y->waited_ns ? 1 : -1;
  return ending_by_names(a, b);
}
/* The caller frees. */
static ending_row *endings_of(const nbc_report *r, size_t *count) {
  ending_row *rows = (ending_row *)must(calloc(r->ending_count + 1, sizeof *rows));
  *count = 0;
  for (size_t i = 0; i < r->ending_count; i++) {
    const nbc_ending *e = &r->endings[i];
    rows[i] = (ending_row){r->sites[e->begin_plus1 - 1].call,
                           place_text(r, e->begin_plus1),
                           r->sites[e->end_plus1 - 1].call,
                           place_text(r, e->end_plus1),
                           e->count,
                           e->waited_ns};
  }
  if (r->ending_count) qsort(rows, r->ending_count, sizeof *rows, ending_by_names);
  for (size_t i = 0; i < r->ending_count; i++) {
    ending_row *last = *count ? &rows[*count - 1] : NULL;
    if (last && ending_by_names(last, &rows[i]) == 0) {
      last->count += rows[i].count;
      plus(&last->waited_ns, rows[i].waited_ns);
    } else
      rows[(*count)++] = rows[i];
  }
  if (*count) qsort(rows, *count, sizeof *rows, ending_order);
  return rows;
}
static void text_endings(const nbc_report *r, FILE *out) {
  words a;
  char end[200], begin[200], call[40], begin_call[40];
  size_t count;
  ending_row *rows = endings_of(r, &count);
  if (count)
    fprintf(out, "\n%-24s %9s %9s  where, and where they began%s\n", "Which call ended what",
            "transfers", "waited", endings_end_early ? " (as far as timelines go)" : "");
  for (size_t i = 0; i < count && i < 10; i++)
    fprintf(out, "  %-22s %9llu %9s  %s: %s, %s\n", plain(rows[i].end_call, call, sizeof call),
            (unsigned long long)rows[i].count, time_text(rows[i].waited_ns, &a),
            plain(rows[i].end, end, sizeof end),
            plain(rows[i].begin_call, begin_call, sizeof begin_call),
            plain(rows[i].begin, begin, sizeof begin));
  if (count > 10) fprintf(out, "  and %zu more\n", count - 10);
  free(rows);
}
static void put_endings(FILE *out, const nbc_report *r) {
  words a;
  size_t count;
  ending_row *rows = endings_of(r, &count);
  if (count)
    fprintf(
        out,
        "<h2>Which call ended what%s</h2>\n<div class=\"scroll\"><table><thead><tr><th>where</th>"
        "<th>call</th><th>transfers</th><th>waited</th><th>began by</th><th>where</th></tr>"
        "</thead><tbody>\n",
        endings_end_early ? ", as far as timelines go" : "");
  for (size_t i = 0; i < count && i < 100; i++) {
    fputs("<tr data-table=\"ending\"><td class=\"name\">", out);
    put(out, rows[i].end);
    fputs("</td><td>", out);
    put(out, rows[i].end_call);
    fprintf(out, "</td><td>%llu</td><td>%s</td><td>", (unsigned long long)rows[i].count,
            time_text(rows[i].waited_ns, &a));
    put(out, rows[i].begin_call);
    fputs("</td><td class=\"name\">", out);
    put(out, rows[i].begin);
    fputs("</td></tr>\n", out);
  }
  if (count) fputs("</tbody></table></div>\n", out);
  free(rows);
}
static bool csv_endings(const nbc_report *r, const char *folder) {
  char path[4096];
  size_t count;
  ending_row *rows = endings_of(r, &count);
  FILE *out = csv_open(folder, "endings", path, sizeof path);
  if (out) fputs("call,where,began_by,began_where,count,waited_ns\n", out);
  for (size_t i = 0; out && i < count; i++) {
    csv_text(out, rows[i].end_call);
    fputc(',', out);
    csv_text(out, rows[i].end);
    fputc(',', out);
    csv_text(out, rows[i].begin_call);
    fputc(',', out);
    csv_text(out, rows[i].begin);
    fprintf(out, ",%llu,%lld\n", (unsigned long long)rows[i].count, (long long)rows[i].waited_ns);
  }
  free(rows);
  return out && output_close(out, path);
}
