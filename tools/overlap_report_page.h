/* overlap_report_page.h: the report as one page of HTML without links or scripts. Part of overlap_report.c. */
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
    const verdict v = judge(r, &rows[i]);
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
