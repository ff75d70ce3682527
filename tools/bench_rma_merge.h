/* bench_rma_merge.h: bench_rma --merge: what several runs say together. Runs of the same program differ by more
   than the samples within one tell (where memory lies, who the neighbours are), so a run is the unit: the
   interval is that of the mean of the runs' medians, from how they differ, and never narrower than the
   samples within them leave it. */
#ifndef BENCH_RMA_MERGE_H_INCLUDED
#define BENCH_RMA_MERGE_H_INCLUDED

typedef struct merge_sample {
  char routine[40];
  uint64_t bytes;
  int run;
  size_t order; /* as taken */
  double seconds;
} merge_sample;

typedef struct merge_list {
  merge_sample *samples;
  size_t count, limit;
} merge_list;

static int merge_order(const void *a, const void *b) {
  const merge_sample *x = (const merge_sample *)a, *y = (const merge_sample *)b;
  const int names = strcmp(x->routine, y->routine);
  if (names) return names;
  if (x->bytes != y->bytes) return x->bytes < y->bytes ? -1 : 1;
  if (x->run != y->run) return x->run < y->run ? -1 : 1;
  return x->order < y->order ? -1 : 1;
}

/* Student's t, 97.5 %. */
static double merge_t(int freedom) {
  static const double t[] = {0,     12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365,
                             2.306, 2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
                             2.120, 2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069,
                             2.064, 2.060,  2.056, 2.052, 2.048, 2.045, 2.042};
  return freedom <= 30 ? t[freedom] : 1.960 + 2.45 / freedom;
}

static bool merge_read(const char *path, int run, merge_list *list) {
  char line[512], rest[8];
  long number_of_line = 0;
  FILE *file = fopen(path, "r");
  if (!file) return fprintf(stderr, "bench_rma: %s: %s\n", path, strerror(errno)), false;
  while (fgets(line, sizeof line, file)) {
    merge_sample s;
    unsigned long long bytes;
    char *from = line + strspn(line, " \t");
    number_of_line++;
    if (*from == '#' || *from == '\n' || !*from) continue;
    memset(&s, 0, sizeof s);
    if (!strchr(line, '\n') ||
        sscanf(from, "%llu %lf %39[^\n]%1s", &bytes, &s.seconds, s.routine, rest) != 3 ||
        !isfinite(s.seconds)) {
      fprintf(stderr, "bench_rma: %s:%ld: not \"bytes seconds routine\"\n", path, number_of_line);
      fclose(file);
      return false;
    }
    s.bytes = bytes, s.run = run, s.order = list->count;
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

/* One routine and size: count samples in the order of runs and of time. */
static bool merge_print(const merge_sample *s, size_t count, double *values) {
  double sum = 0, squares = 0, within = 0;
  int runs = 0;
  for (size_t i = 0, k; i < count; i = k) {
    nbc_summary summary;
    for (k = i; k < count && s[k].run == s[i].run; k++) values[k - i] = s[k].seconds;
    if (nbc_samples_summarize(values, k - i, 0, &summary, NULL) != NBC_OK) return false;
    const double half = (summary.median_hi - summary.median_lo) / 2;
    sum += summary.median;
    squares += summary.median * summary.median;
    within += half * half;
    runs++;
  }
  const double mean = sum / runs,
               apart = runs > 1 ? sqrt(fmax(0, (squares - sum * mean) / (runs - 1))) : 0;
  const double inside = sqrt(within) / runs,
               between = runs > 1 ? merge_t(runs - 1) * apart / sqrt(runs) : 0;
  printf("%-24s %9llu %12.3f %9.3f %5d %8zu %12.3f %12.3f %s\n", s->routine,
         (unsigned long long)s->bytes, mean * 1e6, fmax(inside, between) * 1e6, runs, count,
         apart * 1e6, inside * 1e6, runs < 2 ? "one run: says nothing of others" : "");
  return true;
}

static int merge(int count, char **paths) {
  merge_list list = {NULL, 0, 0};
  bool good = true;
  for (int i = 0; i < count && good; i++) good = merge_read(paths[i], i, &list);
  double *values = (double *)malloc((list.count + 1) * sizeof *values);
  good = good && values;
  if (good && list.count == 0) good = fprintf(stderr, "bench_rma: --merge: no samples\n") < 0;
  if (good) {
    qsort(list.samples, list.count, sizeof *list.samples, merge_order);
    printf("# mean of the runs' medians, its 95 %% interval from how runs differ; how far runs lie "
           "apart (standard deviation),\n"
           "# and what the samples within them leave\n%-24s %9s %12s %9s %5s %8s %12s %12s\n",
           "# routine", "bytes", "median us", "+- us", "runs", "samples", "apart us", "within us");
  }
  for (size_t i = 0, k; i < list.count && good; i = k) {
    const merge_sample *s = &list.samples[i];
    for (k = i; k < list.count && strcmp(list.samples[k].routine, s->routine) == 0 &&
                list.samples[k].bytes == s->bytes;)
      k++;
    good = merge_print(s, k - i, values);
  }
  free(values);
  free(list.samples);
  return !good;
}
#endif
