/* bench_rma_merge.h: bench_rma --merge and --pictures: what several runs say together. Runs of the same program differ by more
   than the samples within one tell (where memory lies, who the neighbours are), so a run is the unit: the
   interval is that of the mean of the runs' medians, from how they differ, and never narrower than the
   samples within them leave it. */
#ifndef BENCH_RMA_MERGE_H_INCLUDED
#define BENCH_RMA_MERGE_H_INCLUDED

typedef struct merge_sample {
  char routine[40];
  uint64_t bytes;
  int run, ranks; /* ranks 0: the file does not say */
  size_t order;   /* as taken */
  double seconds;
} merge_sample;

typedef struct merge_list {
  merge_sample *samples;
  size_t count, limit;
} merge_list;

/* Runs keep their order, and samples that in which they were taken: what is told of a run may rest
   on it. */
static int merge_order(const void *a, const void *b) {
  const merge_sample *x = (const merge_sample *)a, *y = (const merge_sample *)b;
  const int names = strcmp(x->routine, y->routine);
  if (names) return names;
  if (x->bytes != y->bytes) return x->bytes < y->bytes ? -1 : 1;
  if (x->ranks != y->ranks) return x->ranks < y->ranks ? -1 : 1;
  if (x->run != y->run) return x->run < y->run ? -1 : 1;
  return x->order < y->order ? -1 : 1;
}

/* Student's t, 97.5 %: what both sides of a 95 % interval take. Beyond 30 degrees of freedom an
   expansion, within 0.1 %. */
static double merge_t(int freedom) {
  static const double t[] = {0,     12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365,
                             2.306, 2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
                             2.120, 2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069,
                             2.064, 2.060,  2.056, 2.052, 2.048, 2.045, 2.042};
  return freedom <= 30 ? t[freedom] : 1.960 + 2.45 / freedom;
}

/* "bytes seconds routine", as bench_rma writes it; "# ranks N" holds for what follows it in the
   file. A line that is cut, or goes on, ends all: half a number would be a sample. */
static bool merge_read(const char *path, int run, merge_list *list) {
  char line[512], rest[8];
  long number_of_line = 0;
  int ranks = 0;
  FILE *file = fopen(path, "r");
  if (!file) return fprintf(stderr, "bench_rma: %s: %s\n", path, strerror(errno)), false;
  while (fgets(line, sizeof line, file)) {
    merge_sample s;
    unsigned long long bytes;
    char *from = line + strspn(line, " \t");
    number_of_line++;
    sscanf(from, "# ranks %d", &ranks);
    if (*from == '#' || *from == '\n' || !*from) continue;
    memset(&s, 0, sizeof s);
    if (!strchr(line, '\n') ||
        sscanf(from, "%llu %lf %39[^\n]%1s", &bytes, &s.seconds, s.routine, rest) != 3 ||
        !isfinite(s.seconds)) {
      fprintf(stderr, "bench_rma: %s:%ld: not \"bytes seconds routine\"\n", path, number_of_line);
      fclose(file);
      return false;
    }
    s.bytes = bytes, s.run = run, s.ranks = ranks, s.order = list->count;
    if (list->count == list->limit) {
      const size_t limit = 2 * list->limit + 1024;
      merge_sample *larger = (merge_sample *)realloc(list->samples, limit * sizeof *larger);
      if (!larger) return fprintf(stderr, "bench_rma: %s: no memory\n", path), fclose(file), false;
      list->samples = larger, list->limit = limit;
    }
    list->samples[list->count++] = s;
  }
  const bool good = !ferror(file);
  if (!good) fprintf(stderr, "bench_rma: %s: cannot be read\n", path);
  fclose(file);
  return good;
}

typedef struct merge_line { /* of one routine, size and number of ranks; seconds */
  double mean, half, apart, inside;
  int runs;
} merge_line;

/* count samples in the order of runs and of time. Two errors of the mean are looked at, and the
   larger one counts. From how runs differ: t s / sqrt(n), with their standard deviation s; it needs
   two runs. From what is open within each run: the halves of its median's interval, as independent
   errors: the root of the sum of their squares, over n. So runs that agree by chance do not make
   the interval narrower than their samples allow. */
static bool merge_runs(const merge_sample *s, size_t count, double *values, merge_line *line) {
  double sum = 0, squares = 0, within = 0;
  memset(line, 0, sizeof *line);
  for (size_t i = 0, k; i < count; i = k) {
    nbc_summary summary;
    for (k = i; k < count && s[k].run == s[i].run; k++) values[k - i] = s[k].seconds;
    if (nbc_samples_summarize(values, k - i, 0, &summary, NULL) != NBC_OK) return false;
    const double half = (summary.median_hi - summary.median_lo) / 2;
    sum += summary.median;
    squares += summary.median * summary.median;
    within += half * half;
    line->runs++;
  }
  line->mean = sum / line->runs;
  line->inside = sqrt(within) / line->runs;
  line->half = line->inside;
  if (line->runs < 2) return true;
  /* The sum of squares about the mean, which rounding may leave a little below 0. */
  line->apart = sqrt(fmax(0, (squares - sum * line->mean) / (line->runs - 1)));
  line->half = fmax(line->half, merge_t(line->runs - 1) * line->apart / sqrt(line->runs));
  return true;
}

/* The list is sorted: what belongs together stands together. Numbers of ranks stay apart: one
   mean of runs with 2 and with 8 ranks would tell of neither. */
static size_t merge_group(const merge_list *list, size_t first) {
  const merge_sample *s = &list->samples[first];
  size_t k = first;
  while (k < list->count && strcmp(list->samples[k].routine, s->routine) == 0 &&
         list->samples[k].bytes == s->bytes && list->samples[k].ranks == s->ranks)
    k++;
  return k - first;
}

static bool merge_open(int count, char **paths, merge_list *list, double **values) {
  for (int i = 0; i < count; i++)
    if (!merge_read(paths[i], i, list)) return false;
  if (list->count == 0) return fprintf(stderr, "bench_rma: no samples\n") < 0;
  *values = (double *)malloc((list->count + 1) * sizeof **values);
  if (!*values) return fprintf(stderr, "bench_rma: no memory\n") < 0;
  qsort(list->samples, list->count, sizeof *list->samples, merge_order);
  return true;
}

static int merge(int count, char **paths) {
  merge_list list = {NULL, 0, 0};
  double *values = NULL;
  bool good = merge_open(count, paths, &list, &values);
  if (good)
    printf("# mean of the runs' medians, its 95 %% interval from how runs differ; how far runs lie "
           "apart (standard "
           "deviation),\n# and what the samples within them leave\n%-24s %9s %12s %9s %5s %8s %12s "
           "%12s %6s\n",
           "# routine", "bytes", "median us", "+- us", "runs", "samples", "apart us", "within us",
           "ranks");
  for (size_t i = 0, n; i < list.count && good; i += n) {
    const merge_sample *s = &list.samples[i];
    merge_line line;
    n = merge_group(&list, i);
    good = merge_runs(s, n, values, &line);
    if (good)
      printf("%-24s %9llu %12.3f %9.3f %5d %8zu %12.3f %12.3f %6d %s\n", s->routine,
             (unsigned long long)s->bytes, line.mean * 1e6, line.half * 1e6, line.runs, n,
             line.apart * 1e6, line.inside * 1e6, s->ranks,
             line.runs < 2 ? "one run: says nothing of others" : "");
  }
  free(values);
  free(list.samples);
  return !good;
}

/* ---- the figures of Coti and Malony, of any number of runs ----------------------------------- */
enum { MERGE_POINTS = 64, MERGE_NAMES = 6 };
typedef struct merge_chart {
  const char *title;
  bool by_ranks; /* else by size, of the runs with the most ranks */
  const char *names[MERGE_NAMES];
} merge_chart;
static const merge_chart merge_charts[] = {
    {"6: the parts of a put", false, {"put", "put_nbi full", "put_nbi post", "put_nbi quiet"}},
    {"6: the parts of a get", false, {"get", "get_nbi full", "get_nbi post", "get_nbi quiet"}},
    {"7: a put and computation of twice its time", false, {"put_nbi full", "put_nbi overlap"}},
    {"7: a get and computation of twice its time", false, {"get_nbi full", "get_nbi overlap"}},
    {"8: a broadcast, measured in six ways",
     false,
     {"bcast barrier", "bcast window", "bcast barrier start", "bcast rounds", "bcast acknowledged",
      "bcast ours"}},
    {"9: locks, by number of ranks",
     true,
     {"lock free", "lock taken", "lock turns", "lock test", "lock test busy", "lock shared"}}};

/* The points of one line; returns how many. */
static int merge_points(const merge_list *list, double *values, const merge_chart *c,
                        const char *name, int most_ranks, double *x, double *us) {
  int points = 0;
  for (size_t i = 0, n; i < list->count && points < MERGE_POINTS; i += n) {
    const merge_sample *s = &list->samples[i];
    merge_line line;
    n = merge_group(list, i);
    if (strcmp(s->routine, name) != 0 || (!c->by_ranks && s->ranks != most_ranks)) continue;
    if (!merge_runs(s, n, values, &line)) return points;
    x[points] = c->by_ranks ? s->ranks : (double)s->bytes;
    us[points++] = line.mean * 1e6;
  }
  return points;
}

static void merge_draw(FILE *out, const merge_list *list, double *values, const merge_chart *c,
                       double left, double top) {
  double x[MERGE_NAMES][MERGE_POINTS], us[MERGE_NAMES][MERGE_POINTS];
  int points[MERGE_NAMES] = {0}, most_ranks = 0, row = 0;
  plot p = {out,         left, top,      370, 300,
            1,           2,    INFINITY, 0,   c->by_ranks ? PLOT_LINEAR : PLOT_BYTES,
            PLOT_DECADES};
  for (size_t i = 0; i < list->count; i++)
    if (list->samples[i].ranks > most_ranks) most_ranks = list->samples[i].ranks;
  for (int k = 0; k < MERGE_NAMES && c->names[k]; k++) {
    points[k] = merge_points(list, values, c, c->names[k], most_ranks, x[k], us[k]);
    for (int i = 0; i < points[k]; i++) {
      p.x_hi = fmax(p.x_hi, x[k][i]);
      /* Room above the lines for the key, on an axis of decades. */
      if (us[k][i] > 0) p.y_lo = fmin(p.y_lo, us[k][i] * 0.8), p.y_hi = fmax(p.y_hi, us[k][i] * 8);
    }
  }
  if (!(p.y_hi > 0)) p.y_lo = 0.1, p.y_hi = 10; /* nothing was measured */
  /* One sample of nearly nothing must not press all lines to the top. */
  p.y_lo = fmax(p.y_lo, p.y_hi * 1e-6);
  plot_axes(&p, c->title, c->by_ranks ? "ranks" : "bytes", "us");
  for (int k = 0; k < MERGE_NAMES && c->names[k]; k++) {
    if (points[k] == 0) continue;
    plot_line(&p, x[k], us[k], points[k], plot_colours[k], "");
    for (int i = 0; i < points[k]; i++)
      fprintf(out, "<circle cx='%.1f' cy='%.1f' r='2.5' fill='%s'/>\n", plot_x(&p, x[k][i]),
              plot_y(&p, us[k][i]), plot_colours[k]);
    plot_key(&p, row++, plot_colours[k], "", c->names[k]);
  }
}

static int merge_pictures(const char *page, int count, char **paths) {
  merge_list list = {NULL, 0, 0};
  double *values = NULL;
  FILE *out = NULL;
  bool good = merge_open(count, paths, &list, &values);
  if (good) good = (out = output_create(page)) != NULL;
  if (good) {
    plot_begin(out, "One-sided operations, broadcasts and locks", 920, 1170);
    for (int i = 0; i < 6; i++)
      merge_draw(out, &list, values, &merge_charts[i], i % 2 ? 520 : 60, 40 + 385 * (i / 2));
    plot_end_chart(out);
    fprintf(out, "<p>Figures 6 to 9 of Coti and Malony, SKaMPI for OpenSHMEM. A point is the mean "
                 "of the medians of its runs; sizes "
                 "are of the runs with the most ranks.</p>\n");
    plot_end(out);
    good = output_close(out, page);
  }
  free(values);
  free(list.samples);
  return !good;
}
#endif
