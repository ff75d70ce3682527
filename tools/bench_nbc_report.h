/* bench_nbc_report.h: what bench_nbc found, as text, JSON and page. Part of bench_nbc.c, behind its results. */
static nbc_overlap_times times_of(const result *x) {
  const nbc_overlap_times t = {x->part[CALL], x->part[COMP], x->part[WAIT], x->measured,
                               x->comp_ref,   x->comm_ref,   x->passive,    0.1};
  return t;
}

static nbc_metrics metrics_of(const result *x) {
  const nbc_overlap_times t = times_of(x);
  nbc_metrics m;
  if (!done(x) || nbc_metrics_compute(&t, &m))
    m.overhead_ratio = m.mpi_impact_ratio = m.slowdown_ratio = m.comm_ratio = NAN;
  return m;
}

static int diagonal(void) { return axis_count / 2; }

static double ratio_of(const nbc_metrics *m, int kind) {
  const double ratios[] = {m->overhead_ratio, m->mpi_impact_ratio, m->slowdown_ratio,
                           m->comm_ratio};
  return ratios[kind];
}

/* Median over the points where communication is between 0.5 and 2 times computation: there overlap matters
   most. kind as in ratio_of. */
static double typical(int c, int p, int kind) {
  double values[MAX_AXIS * MAX_AXIS];
  int n = 0;
  for (int i = 0; i < axis_count; i++)
    for (int j = 0; j < axis_count; j++) {
      const result *x = &results[c][p][i][j];
      const nbc_metrics m = metrics_of(x);
      const double v = ratio_of(&m, kind);
      if (x->comm_ref >= 0.45 * x->comp_ref && x->comm_ref <= 2.2 * x->comp_ref && isfinite(v))
        values[n++] = v;
    }
  return n ? median(values, n) : NAN;
}

static void verdict(FILE *out, int c) {
  char name[64];
  fprintf(out, "%s:", nbc_coll_name(set.colls[c]));
  for (int p = 0; p < set.column_count; p++) {
    const double v = typical(c, p, 0);
    fprintf(out, "%s with %s, ", p ? ";" : "", column_name(p, ", policy ", name));
    if (isfinite(v))
      fprintf(out, "overlapping costs %.2f of the shorter part (%s)", v,
              v < 0.25   ? "hidden"
              : v < 0.75 ? "partly hidden"
              : v < 1.25 ? "as if one after the other"
                         : "worse than one after the other");
    else
      fprintf(out, "nothing comparable was measured");
  }
  fprintf(out, ".\n");
}

static void print_disturbance(FILE *out) {
  const double taken = core_ns > 0 ? 1 - used_ns / core_ns : 0;
  if (taken > 0.1)
    fprintf(out, "Other programs took %.0f %% of the cores while references were measured: %s.\n",
            100 * taken,
            taken > 0.3 ? "these numbers say little; try --oversample or --realtime"
                        : "expect noise");
}

static const char *references_text(void) {
  if (set.sim) return "References of the computation were simulated without a worker.";
  return set.beside_mpi
             ? "References of the computation were measured beside the idle MPI, so there "
               "is no MPI impact ratio."
             : "References of the computation were measured in a process without MPI.";
}

static void print_number(FILE *out, int width, double v) {
  if (isfinite(v))
    fprintf(out, " %*.2f", width, v);
  else
    fprintf(out, " %*s", width, "-"); /* time was up, or unknown */
}

static void print_comparison(FILE *out) {
  char name[64];
  fprintf(out,
          "\nmedians where communication takes 0.5 to 2 times the computation\n%-20s %-24s %9s %9s "
          "%9s %13s\n",
          "collective", "implementation", "overhead", "impact", "slowdown", "communication");
  for (int c = 0; c < set.coll_count; c++)
    for (int p = 0; p < set.column_count; p++) {
      fprintf(out, "%-20s %-24s", nbc_coll_name(set.colls[c]), column_name(p, ":", name));
      for (int k = 0; k < 4; k++) print_number(out, k < 3 ? 9 : 13, typical(c, p, k));
      fprintf(out, "\n");
    }
}

static const char *diagnosis(int c, int p, char text[400]) {
  const result *x = &results[c][p][diagonal()][diagonal()];
  const nbc_overlap_times t = times_of(x);
  const nbc_metrics m = metrics_of(x);
  snprintf(text, 400, "not measured");
  if (done(x)) (void)nbc_diagnose(&t, &m, text, 400);
  return text;
}

static double comp_axis(int c, int p, int j) { /* as measured, else as aimed at */
  for (int i = 0; i < axis_count; i++)
    if (done(&results[c][p][i][j])) return results[c][p][i][j].comp_ref;
  return comp_refs[j] > 0 ? comp_refs[j] : axis_us[j] * 1e3;
}

static void print_text(FILE *out) {
  char text[400], name[64];
  for (int c = 0; c < set.coll_count; c++) verdict(out, c);
  print_disturbance(out);
  fprintf(out, "%d ranks, %s. %s\n", set.rank_count, set.layout, references_text());
  for (int p = 0; p < set.column_count; p++)
    if (set.columns[p].about[0])
      fprintf(out, "%s: %s\n", column_name(p, ":", name), set.columns[p].about);
  print_comparison(out);
  for (int c = 0; c < set.coll_count; c++)
    for (int p = 0; p < set.column_count; p++) {
      fprintf(out,
              "\n%s, %s: overhead ratio by communication (down) and computation (right) [us]\n%9s",
              nbc_coll_name(set.colls[c]), column_name(p, ", policy ", name), "");
      for (int j = 0; j < axis_count; j++) fprintf(out, " %8.0f", comp_axis(c, p, j) * 1e-3);
      for (int i = 0; i < axis_count; i++) {
        fprintf(out, "\n%9.0f", results[c][p][i][0].comm_ref * 1e-3);
        for (int j = 0; j < axis_count; j++)
          print_number(out, 8, metrics_of(&results[c][p][i][j]).overhead_ratio);
      }
      fprintf(out, "\nmiddle: %s\n", diagnosis(c, p, text));
      if (set.columns[p].polls > 0)
        fprintf(out, "engine: %.1f %% of its time moved something\n", 100 * set.columns[p].busy);
    }
}

static void print_point(FILE *out) {
  char name[64];
  for (int p = 0; p < set.column_count; p++) {
    const result *x = &results[0][p][0][0];
    const nbc_metrics m = metrics_of(x);
    if (!done(x)) continue;
    fprintf(out,
            "\n%s, %s: %.0f doubles, %d repetitions\n  references: communication %.1f us, "
            "computation %.1f us",
            nbc_coll_name(set.colls[0]), column_name(p, ", policy ", name), x->count, set.reps,
            x->comm_ref * 1e-3, x->comp_ref * 1e-3);
    if (x->passive > 0) fprintf(out, ", beside the idle runtime %.1f us", x->passive * 1e-3);
    fprintf(out,
            "\n  measured:   %.1f us [%.1f, %.1f]; call %.1f, computation %.1f, wait %.1f us (all "
            "ranks)\n  ranks:      ",
            x->measured * 1e-3, x->measured_lo * 1e-3, x->measured_hi * 1e-3, x->part[CALL] * 1e-3,
            x->part[COMP] * 1e-3, x->part[WAIT] * 1e-3);
    for (int k = 0; k < PARTS; k++)
      fprintf(out, "%s %.1f/%.1f/%.1f%s", part_names[k], x->ranks[k][0] * 1e-3,
              x->ranks[k][1] * 1e-3, x->ranks[k][2] * 1e-3,
              k < 2 ? ", " : " us (least/median/most)\n");
    fprintf(out, "  ratios:     overhead %.3f, impact %.3f, slowdown %.3f, communication %.3f\n",
            m.overhead_ratio, m.mpi_impact_ratio, m.slowdown_ratio, m.comm_ratio);
  }
}

static void json_number(FILE *out, const char *name, double v) {
  if (isfinite(v))
    fprintf(out, ", \"%s\": %.9g", name, v);
  else
    fprintf(out, ", \"%s\": null", name);
}

static void print_json(FILE *out) {
  static const char *const ratios[] = {"overhead_ratio", "mpi_impact_ratio", "slowdown_ratio",
                                       "comm_ratio"};
  bool first = true;
  fprintf(
      out,
      "{\"schema\": \"nbc-overlap-bench/2\", \"simulated\": %s, \"ranks\": %d, \"reps\": %d, "
      "\"link_bytes_per_s\": "
      "%.9g, \"link_latency_ns\": %.9g, \"references\": \"%s\",\n \"layout\": \"%s\", \"columns\": "
      "[",
      set.sim ? "true" : "false", set.rank_count, set.reps, set.link_mb_per_s * 1e6,
      set.latency_us * 1e3,
      set.sim          ? "simulated"
      : set.beside_mpi ? "beside MPI"
                       : "without MPI",
      set.layout);
  for (int p = 0; p < set.column_count; p++)
    fprintf(out,
            "%s\n  {\"impl\": \"%s\", \"policy\": \"%s\", \"about\": \"%s\", \"busy_ratio\": %.9g}",
            p ? "," : "", set.columns[p].by->name, policy_of(p), set.columns[p].about,
            set.columns[p].busy);
  fprintf(out, "],\n \"points\": [");
  for (int c = 0; c < set.coll_count; c++)
    for (int p = 0; p < set.column_count; p++)
      for (int i = 0; i < axis_count; i++)
        for (int j = 0; j < axis_count; j++, first = false) {
          result *const x = &results[c][p][i][j];
          const nbc_metrics m = metrics_of(x);
          fprintf(out, "%s\n  {\"coll\": \"%s\", \"impl\": \"%s\", \"policy\": \"%s\"",
                  first ? "" : ",", nbc_coll_name(set.colls[c]), set.columns[p].by->name,
                  policy_of(p));
          for (int k = 0; k < FIELDS; k++)
            json_number(out, fields[k].name, done(x) ? *field_of(x, k) : NAN);
          for (int k = 0; k < 4; k++) json_number(out, ratios[k], ratio_of(&m, k));
          fprintf(out, "}");
        }
  fprintf(out, "]}\n");
}

static void mix(char text[8], const int a[3], const int b[3], double x) {
  x = !(x > 0) ? 0 : x > 1 ? 1 : x;
  snprintf(text, 8, "#%02x%02x%02x", (unsigned)(a[0] + (b[0] - a[0]) * x),
           (unsigned)(a[1] + (b[1] - a[1]) * x), (unsigned)(a[2] + (b[2] - a[2]) * x));
}

/* kind 0: overhead, green 0, yellow 1, red above, blue below; 2: slowdown; 3: communication: blue to red */
static void map(FILE *out, int c, int p, int kind, int x0, const char *title) {
  static const int green[] = {46, 160, 67}, yellow[] = {250, 220, 70}, red[] = {200, 40, 40},
                   blue[] = {50, 110, 220}, white[] = {240, 245, 255};
  const int cell = 46;
  fprintf(out,
          "<g transform='translate(%d,40)'><text x='0' y='-24' font-weight='bold'>%s</text><text "
          "x='0' y='-8' font-size='10'>down: communication, right: computation [ms]</text>",
          x0, title);
  for (int i = 0; i < axis_count; i++)
    for (int j = 0; j < axis_count; j++) {
      const nbc_metrics m = metrics_of(&results[c][p][i][j]);
      const double v = ratio_of(&m, kind);
      char color[8];
      if (kind)
        mix(color, blue, red, kind == 2 ? v - 1 : v);
      else if (v < -0.05)
        mix(color, white, blue, -v);
      else if (v <= 1)
        mix(color, green, yellow, v);
      else
        mix(color, yellow, red, (v - 1) / 2);
      fprintf(out,
              "<rect x='%d' y='%d' width='%d' height='%d' fill='%s'/><text x='%d' y='%d' "
              "text-anchor='middle' font-size='11'>",
              40 + j * cell, i * cell, cell - 1, cell - 1, isfinite(v) ? color : "#888888",
              40 + j * cell + cell / 2, i * cell + cell / 2 + 4);
      fprintf(out, isfinite(v) ? "%.2f</text>" : "-</text>", v);
    }
  for (int i = 0; i < axis_count; i++)
    fprintf(out,
            "<text x='34' y='%d' text-anchor='end' font-size='10'>%.3g</text><text x='%d' y='%d' "
            "text-anchor='middle' font-size='10'>%.3g</text>",
            i * cell + cell / 2 + 4, results[c][p][i][0].comm_ref * 1e-6, 40 + i * cell + cell / 2,
            axis_count * cell + 12, comp_axis(c, p, i) * 1e-6);
  fprintf(out, "</g>\n");
}

static const char *human(double ns, char text[32]) {
  snprintf(text, 32,
           ns < 1e3   ? "%.3g ns"
           : ns < 1e6 ? "%.3g us"
                      : "%.3g ms",
           ns < 1e3   ? ns
           : ns < 1e6 ? ns * 1e-3
                      : ns * 1e-6);
  return text;
}

/* On the diagonal: call, computation, wait of the middle rank, with a line from the least to the most of all
   ranks. A row has the scale of its largest value in any column, so that columns compare. */
static void bars(FILE *out, int c, int p, int x0) {
  static const char *const colors[] = {"#7d3c98", "#5b9bd5", "#c0392b"};
  fprintf(out,
          "<g transform='translate(%d,40)'><text x='0' y='-24' font-weight='bold'>all ranks: "
          "least | median | most</text>",
          x0);
  for (int k = 0; k < PARTS; k++)
    fprintf(out, "<text x='%d' y='-8' font-size='10' fill='%s'>%s</text>", k * 70, colors[k],
            part_names[k]);
  for (int i = 0; i < axis_count; i++) {
    const result *x = &results[c][p][i][i];
    double most = 1;
    for (int q = 0; q < set.column_count; q++)
      for (int k = 0; k < PARTS; k++) most = fmax(most, results[c][q][i][i].ranks[k][2]);
    for (int k = 0; k < PARTS && done(x); k++) {
      const double *v = x->ranks[k], low = 200 * v[0] / most, high = 200 * v[2] / most;
      const int y = i * 46 + k * 14;
      char least[32], middle[32], last[32];
      human(v[0], least), human(v[1], middle), human(v[2], last);
      fprintf(out,
              "<rect x='0' y='%d' width='%.1f' height='12' fill='%s' "
              "fill-opacity='0.6'><title>%s: least %s, median %s, most %s</title></rect>",
              y, 200 * v[1] / most, colors[k], part_names[k], least, middle, last);
      fprintf(out,
              "<path d='M%.1f %dv8M%.1f %dh%.1fM%.1f %dv8' stroke='black'/><text x='210' y='%d' "
              "font-size='10'>%s | %s | %s</text>\n",
              low, y + 2, low, y + 6, high - low, high, y + 2, y + 10, least, middle, last);
    }
  }
  fprintf(out, "</g>\n");
}

static void html_comparison(FILE *out, int c) {
  char name[64];
  fprintf(out,
          "<table><tr><th>implementation</th><th>overhead ratio</th><th>MPI impact ratio</th><th>"
          "computation slowdown</th><th>communication ratio</th></tr>\n");
  for (int p = 0; p < set.column_count; p++) {
    fprintf(out, "<tr><td>%s</td>", column_name(p, ", policy ", name));
    for (int k = 0; k < 4; k++)
      fprintf(out, "<td>"), print_number(out, 0, typical(c, p, k)), fprintf(out, "</td>");
    fprintf(out, "</tr>\n");
  }
  fprintf(out,
          "</table><p>Medians where communication takes 0.5 to 2 times the computation.</p>\n");
}

static void html_coll(FILE *out, int c) {
  const int wide = 70 + (axis_count > 4 ? axis_count : 4) * 46, high = axis_count * 46 + 80;
  char text[400], name[64];
  fprintf(out, "<h2>%s</h2><p><b>", nbc_coll_name(set.colls[c])), verdict(out, c),
      fprintf(out, "</b></p>\n"), html_comparison(out, c);
  for (int p = 0; p < set.column_count; p++) {
    fprintf(out, "<svg width='%d' height='%d'>", wide, high);
    map(out, c, p, 0, 0, column_name(p, ", ", name));
    fprintf(out, "</svg>\n");
  }
  for (int p = 0; p < set.column_count; p++) {
    fprintf(out, "<h3>%s, %s</h3><p>In the middle: %s</p>\n<svg width='%d' height='%d'>\n",
            nbc_coll_name(set.colls[c]), column_name(p, ", policy ", name), diagnosis(c, p, text),
            2 * wide + 390, high);
    map(out, c, p, 2, 0, "computation slowdown");
    map(out, c, p, 3, wide, "communication ratio");
    bars(out, c, p, 2 * wide + 10);
    fprintf(out, "</svg>\n");
    if (set.columns[p].polls > 0)
      fprintf(out,
              "<p>The engine moved something during %.1f %% of its time; %.0f posts followed a "
              "completion.</p>\n",
              100 * set.columns[p].busy, set.columns[p].posts);
  }
}

static void print_html(FILE *out) {
  char name[64];
  fprintf(out,
          "<!doctype html><meta charset='utf-8'><title>bench_nbc</title><style>body{font:15px "
          "sans-serif;margin:2em;max-width:1400px}svg{font-family:sans-serif}td,th{padding:2px "
          "12px;text-align:right}td:first-child,th:first-child{text-align:left}</style>\n<h1>Do "
          "nonblocking collectives overlap?%s</h1>\n<p>",
          set.sim ? " Simulated" : "");
  print_disturbance(out);
  fprintf(out,
          "%d ranks; layout: %s. %s%s Overhead ratio: 0 = "
          "all that can be hidden is, 1 = as if one came after the other, below 0 = imprecise "
          "reference. Medians of %d repetitions, the shortest of %d.</p>\n<ul>",
          set.rank_count, set.layout,
          set.sim ? "" : "References were measured in the same layout. ", references_text(),
          set.reps, set.reps * set.oversample);
  for (int p = 0; p < set.column_count; p++)
    fprintf(out, "<li><b>%s</b>: %s%s%s%s</li>\n", column_name(p, ", policy ", name),
            set.columns[p].by->what, set.columns[p].about[0] ? " (" : "", set.columns[p].about,
            set.columns[p].about[0] ? ")" : "");
  fprintf(out, "</ul>\n");
  for (int c = 0; c < set.coll_count; c++) html_coll(out, c);
}
