/* Question: which few numbers describe what a message costs here, and how well?

   Run:      build/fit_model [options]                     measures between two threads
             mpirun -n 2 build/fit_model_mpi [options]     between rank 0 and the last rank
             build/fit_model [options] FILE                fits samples measured before
               FILE: lines "bytes seconds [routine]", as --raw here and in bench_rma writes them;
                 of at most 256 different sizes, 2,000,000 lines
               --help lists the options. --messages: what the processor does of a message no single time can
                 tell, so all that is not per byte is in L
   Expected: one line per range of sizes, with its straight line, LogGP parameters and noise. Where a
             protocol switches is found, not given. Exit status 2: bad arguments or input.
   The constants of a simulated NIC, its PCI and wire are fitted by fit_nic. */
#ifdef NBC_WITH_MPI
#  include <mpi.h>
#endif
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#include "plot.h"
#include "tools/options.h"
#include "tools/output.h"
#include "tools/progress_line.h"
#include "tools/sample_line.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ROUTINE, PICTURE, TABLE, RAW, PLATFORM, MESSAGES, DEDICATED, OPTIONS };
static const char *value[OPTIONS];
static uint64_t max_bytes, seed = 1; /* max_bytes 0: the default */

static int fail(const char *what, const char *why) {
  fprintf(stderr, "fit_model: %s%s%s\n", what, *why ? ": " : "", why);
  return 2;
}

/* ---- samples from a file --------------------------------------------------------------------------- */
/* One line; *found: it is a sample of the wanted routine, the first one's if none was named. NULL, or what is wrong. */
static const char *read_line(char *line, uint64_t *bytes, double *ns, bool *found, char *routine,
                             size_t room) {
  char *name;
  const char *const bad = sample_line(line, bytes, ns, &name);
  *found = false;
  if (bad || !name) return bad;
  if (value[ROUTINE]) {
    *found = strcmp(name, value[ROUTINE]) == 0;
    return NULL;
  }
  if (!*routine) snprintf(routine, room, "%s", *name ? name : " ");
  if (strcmp(routine, *name ? name : " ") != 0) return "another routine: choose one with --routine";
  *found = true;
  return NULL;
}

static int read_samples(const char *path, nbc_model_series *s) {
  enum { MOST = 2000000 };
  char line[256], routine[128] = "", why[320];
  FILE *file = fopen(path, "r");
  if (!file) return fail(path, strerror(errno));
  s->size_bytes = (uint64_t *)calloc(MOST, sizeof *s->size_bytes);
  s->time_ns = (double *)calloc(MOST, sizeof *s->time_ns);
  const char *bad = s->size_bytes && s->time_ns ? NULL : "no memory";
  int number = 0, not_positive = 0;
  while (!bad && fgets(line, sizeof line, file)) {
    bool found;
    number++;
    if (s->count == MOST)
      bad = "more than 2000000 samples";
    else if (!strchr(line, '\n') && !feof(file))
      bad = "the line is too long";
    else
      bad = read_line(line, &s->size_bytes[s->count], &s->time_ns[s->count], &found, routine,
                      sizeof routine);
    if (bad || !found) continue;
    if (s->time_ns[s->count] > 0)
      s->count++;
    else
      not_positive++;
  }
  const int code = ferror(file) ? errno : 0;
  fclose(file);
  if (!bad && code) return fail(path, strerror(code));
  snprintf(why, sizeof why, "%s:%d: %s", path, number, bad ? bad : "");
  if (bad) return fail(why, "");
  if (not_positive > 0) /* a difference of times may be */
    fprintf(stderr, "fit_model: %s: left out: %d times of 0 or less\n", path, not_positive);
  if (s->count == 0) return fail(path, value[ROUTINE] ? "no sample of that routine" : "no samples");
  return 0;
}

/* ---- what is written ------------------------------------------------------------------------------- */
static FILE *create(int which) { return output_create(value[which]); }
static int done(FILE *out, int which) { return output_close(out, value[which]) ? 0 : 1; }

static void print_ranges(const nbc_model *m, const nbc_model_loggp *l, FILE *out) {
  fprintf(out, "%10s %10s %12s %12s %9s  %s\n", "from B", "to B", "us at 0 B", "ns per B",
          "residual", "noise: share x (mean +- deviation), relative to the line");
  for (int r = 0; r < m->range_count; r++) {
    const nbc_model_range *g = &m->ranges[r];
    fprintf(out, "%10llu %10llu %12.4g %12.4g %8.2f%% ", (unsigned long long)g->first_bytes,
            (unsigned long long)g->last_bytes, g->base_ns * 1e-3, g->per_byte_ns,
            g->residual_ratio * 100);
    for (int k = 0; k < g->noise.mode_count; k++)
      fprintf(out, " %.2f x (%.3f +- %.3f)", g->noise.modes[k].weight_ratio,
              g->noise.modes[k].mean_ratio, g->noise.modes[k].sigma_ratio);
    fprintf(out, "%s\n", g->outlier_count ? "  (some sizes are far off)" : "");
  }
  if (!l) return;
  fprintf(out, "\n%10s %10s %10s %10s %10s %10s %10s %14s\n", "LogGP: B", "to B", "o_s ns",
          "o_r ns", "L ns", "g ns", "G ns/B", "late recv ns");
  for (int r = 0; r < l->range_count; r++) {
    const nbc_model_loggp_range *g = &l->ranges[r];
    fprintf(out, "%10llu %10llu %10.1f %10.1f %10.1f %10.1f %10.4g %14.1f\n",
            (unsigned long long)g->first_bytes, (unsigned long long)g->last_bytes,
            g->send_overhead_ns, g->recv_overhead_ns, g->latency_ns, g->gap_ns, g->per_byte_ns,
            g->late_recv_ns);
  }
}

/* The ends of the ranges are all a table needs: between them it interpolates. */
static int write_table(const nbc_model *m) {
  uint64_t size_bytes[2 * NBC_MODEL_MAX_RANGES];
  double time_s[2 * NBC_MODEL_MAX_RANGES];
  size_t count = 0;
  nbc_table *table;
  nbc_error err;
  for (int r = 0; r < m->range_count; r++)
    for (int end = 0; end < 2; end++) {
      const uint64_t n = end ? m->ranges[r].last_bytes : m->ranges[r].first_bytes;
      if (end && n == m->ranges[r].first_bytes) continue;
      size_bytes[count] = n;
      time_s[count++] = fmax(nbc_model_time_ns(m, n), 0) * 1e-9;
    }
  nbc_status status = nbc_table_create(size_bytes, time_s, count, "fit", &table, &err);
  if (status == NBC_OK)
    status = nbc_table_write(table, value[TABLE], "ends of fitted ranges", &err);
  nbc_table_free(table);
  if (status != NBC_OK) fail(err.text, "");
  return status == NBC_OK ? 0 : 1;
}

static int write_raw(const nbc_model_series *time, const nbc_model_series *gap) {
  FILE *out = create(RAW);
  if (!out) return 2;
  fprintf(out, "# bytes seconds routine\n");
  for (size_t i = 0; i < time->count; i++)
    fprintf(out, "%llu %.9e half round trip\n", (unsigned long long)time->size_bytes[i],
            time->time_ns[i] * 1e-9);
  for (size_t i = 0; gap && i < gap->count; i++)
    fprintf(out, "%llu %.9e gap\n", (unsigned long long)gap->size_bytes[i], gap->time_ns[i] * 1e-9);
  return done(out, RAW);
}

/* Noise of each range: histogram as steps, mixture as a line. */
static void draw_noise(FILE *out, const nbc_model *m, const nbc_model_series *s) {
  enum { BINS = 60 };
  const int count = m->range_count;
  for (int r = 0; r < count; r++) {
    const nbc_model_noise *noise = &m->ranges[r].noise;
    plot p = {out,        70 + r * 830.0 / count,
              590,        830.0 / count - 40,
              130,        0.7,
              1.6,        0,
              0,          PLOT_LINEAR,
              PLOT_LINEAR};
    double x[2 * BINS], bins[2 * BINS] = {0}, curve[2 * BINS] = {0}, all = 0;
    for (size_t i = 0; i < s->count; i++) {
      if (nbc_model_range_of(m, s->size_bytes[i]) != &m->ranges[r]) continue;
      const double at =
          (s->time_ns[i] / nbc_model_time_ns(m, s->size_bytes[i]) - p.x_lo) / (p.x_hi - p.x_lo);
      all++;
      if (at >= 0 && at < 1) bins[2 * (int)(at * BINS)]++;
    }
    for (int i = 0; i < 2 * BINS; i++) {
      const double wide = (p.x_hi - p.x_lo) / BINS;
      x[i] = p.x_lo + wide * ((i + 1) / 2);
      bins[i] = i % 2 ? bins[i - 1] : bins[i] / fmax(all, 1) / wide;
      for (int k = 0; k < noise->mode_count; k++) {
        const nbc_model_mode *mode = &noise->modes[k];
        const double d = (x[i] - mode->mean_ratio) / fmax(mode->sigma_ratio, wide / 4);
        curve[i] +=
            mode->weight_ratio * exp(-d * d / 2) / fmax(mode->sigma_ratio, wide / 4) / 2.50662827;
      }
      p.y_hi = fmax(p.y_hi, 1.05 * fmax(bins[i], curve[i]));
    }
    plot_axes(&p, "", "measured / line", r == 0 ? "density" : "");
    plot_line(&p, x, bins, 2 * BINS, "#999", "");
    plot_line(&p, x, curve, 2 * BINS, plot_colours[r % PLOT_COLOURS], "");
  }
}

static int draw(const nbc_model *m, const nbc_model_loggp *l, const nbc_model_series *s) {
  FILE *out = create(PICTURE);
  double x_hi = 2, y_lo = INFINITY, y_hi = 0;
  if (!out) return 2;
  for (size_t i = 0; i < s->count; i++) {
    x_hi = fmax(x_hi, (double)s->size_bytes[i]);
    y_lo = fmin(y_lo, s->time_ns[i] * 1e-3);
    y_hi = fmax(y_hi, s->time_ns[i] * 1e-3);
  }
  plot p = {out, 70, 40, 800, 330, 1, x_hi, y_lo * 0.9, y_hi * 1.1, PLOT_BYTES, PLOT_DECADES};
  plot off = {out, 70, 430, 800, 100, 1, x_hi, -0.5, 0.5, PLOT_BYTES, PLOT_LINEAR};
  plot_begin(out, "What a message costs: samples, lines, residuals, noise", 900, 770);
  plot_axes(&p, "samples and fit", "bytes", "us");
  plot_axes(&off, "measured / line - 1 (beyond: at the border)", "bytes", "residual");
  const size_t step = s->count / 4000 + 1; /* enough to see, few enough to load */
  for (size_t i = 0; i < s->count; i += step) {
    const double bytes = (double)s->size_bytes[i], is_ns = nbc_model_time_ns(m, s->size_bytes[i]);
    plot_point(&p, bytes, s->time_ns[i] * 1e-3, "#999");
    plot_point(&off, bytes, s->time_ns[i] / is_ns - 1, "#999");
  }
  for (int r = 0; r < m->range_count; r++) {
    const nbc_model_range *g = &m->ranges[r];
    const char *colour = plot_colours[r % PLOT_COLOURS];
    double x[64], y[64], zero[2] = {0, 0};
    char text[96];
    for (int i = 0; i < 64; i++) { /* a straight line is a curve on these scales */
      const double lo = fmax(1, (double)g->first_bytes), hi = fmax(1, (double)g->last_bytes);
      x[i] = lo * pow(hi / lo, i / 63.0);
      y[i] = (g->base_ns + g->per_byte_ns * x[i]) * 1e-3;
    }
    const double ends[2] = {x[0], x[63]};
    plot_line(&p, x, y, 64, colour, "");
    plot_line(&off, ends, zero, 2, colour, "");
    snprintf(text, sizeof text, "%llu ... %llu B: %.4g us + %.4g ns per B",
             (unsigned long long)g->first_bytes, (unsigned long long)g->last_bytes,
             g->base_ns * 1e-3, g->per_byte_ns);
    plot_key(&p, r, colour, "", text);
  }
  draw_noise(out, m, s);
  plot_end_chart(out);
  fprintf(out, "<pre>\n");
  print_ranges(m, l, out);
  fprintf(out, "</pre>\n");
  plot_end(out);
  return done(out, PICTURE);
}

/* One mixture for all sizes: what portals_model.h draws computations from. */
static int write_noise(const nbc_model *m, const nbc_model_series *s) {
  nbc_model_noise noise;
  double *ratio = (double *)calloc(s->count, sizeof *ratio);
  for (size_t i = 0; ratio && i < s->count; i++)
    ratio[i] = s->time_ns[i] / nbc_model_time_ns(m, s->size_bytes[i]);
  const nbc_status status = ratio ? nbc_model_fit_noise(ratio, s->count, &noise) : NBC_E_NOMEM;
  free(ratio);
  if (status != NBC_OK) return fail(value[PLATFORM], nbc_status_text(status));
  FILE *out = create(PLATFORM);
  if (!out) return 2;
  fprintf(out,
          "# Noise of computations, and no message's time (that of half round trips: --messages).\n"
          "# share, mean and deviation of measured / line, one line per mode\n");
  for (int k = 0; k < noise.mode_count; k++)
    if (noise.modes[k].weight_ratio > 1e-6 && noise.modes[k].mean_ratio > 1e-6)
      fprintf(out, "noise %.6g %.6g %.6g\n", noise.modes[k].weight_ratio, noise.modes[k].mean_ratio,
              noise.modes[k].sigma_ratio);
  return done(out, PLATFORM);
}

/* Messages of which only the time is known: a way that begins and ends without the processor, and as long a
   gap as the wire makes. */
static int write_messages(const nbc_model *m) {
  nbc_model_loggp l;
  memset(&l, 0, sizeof l);
  l.time = *m;
  l.range_count = m->range_count;
  for (int r = 0; r < m->range_count; r++) {
    nbc_model_loggp_range *g = &l.ranges[r];
    g->first_bytes = m->ranges[r].first_bytes;
    g->last_bytes = m->ranges[r].last_bytes;
    g->latency_ns = m->ranges[r].base_ns;
    g->per_byte_ns = fmax(m->ranges[r].per_byte_ns, 0);
  }
  FILE *out = create(MESSAGES);
  if (!out) return 2;
  fputs(
      "# Of times alone: what the processor does of a message is unknown, and all of it is in L.\n",
      out);
  nbc_model_write_platform(&l, out);
  return done(out, MESSAGES);
}

static int worse(int a, int b) { return a > b ? a : b; }

static int report(const nbc_model *m, const nbc_model_loggp *l, const nbc_model_series *s) {
  int bad = 0;
  print_ranges(m, l, stdout);
  if (value[PICTURE]) bad = worse(bad, draw(m, l, s));
  if (value[TABLE]) bad = worse(bad, write_table(m));
  if (value[RAW]) bad = worse(bad, write_raw(s, l ? &l->gap_samples : NULL));
  if (value[PLATFORM] && !l) bad = worse(bad, write_noise(m, s));
  if (value[MESSAGES]) bad = worse(bad, write_messages(m));
  for (int which = PLATFORM; which <= DEDICATED && l; which++) {
    FILE *out = value[which] ? create(which) : NULL;
    if (value[which] && !out) return 2;
    if (out && which == PLATFORM) nbc_model_write_platform(l, out);
    if (out && which == DEDICATED) nbc_model_write_dedicated(l, out);
    if (out) bad = worse(bad, done(out, which));
  }
  return bad;
}

/* ---- measuring or reading -------------------------------------------------------------------------- */
static int fit_file(const char *path) {
  nbc_model_series s = {NULL, NULL, 0};
  nbc_model m;
  nbc_error err;
  int bad = read_samples(path, &s);
  if (!bad && nbc_model_fit(s.size_bytes, s.time_ns, s.count, NULL, &m, &err) != NBC_OK)
    bad = fail(path, err.text);
  if (!bad) bad = report(&m, NULL, &s);
  free(s.size_bytes);
  free(s.time_ns);
  return bad;
}

static void show_progress(void *line, double done_ratio) {
  progress_show((progress_line *)line, "rounds", done_ratio, 1);
}

static nbc_status measure(nbc_transport *t, void *user) {
  progress_line line;
  nbc_model_loggp_desc desc;
  nbc_model_loggp l;
  nbc_error err;
  memset(&desc, 0, sizeof desc);
  desc.max_bytes = max_bytes;
  desc.seed = seed;
  if (t->rank > 0 && t->rank < t->size - 1) return NBC_OK;
  progress_begin(&line, "fit_model", t->rank == 0);
  desc.on_progress = show_progress;
  desc.progress_user = &line;
  const nbc_status status = nbc_model_measure(t, t->rank ? 0 : t->size - 1, &desc, &l, &err);
  progress_end(&line);
  if (status != NBC_OK)
    fail("measuring", err.text);
  else if (t->rank == 0)
    *(int *)user = report(&l.time, &l, &l.time_samples);
  nbc_model_free(&l);
  return status;
}

static const option options[] = {
    {"--routine", "NAME", "of a FILE with several routines, this one", .text = &value[ROUTINE]},
    {"--picture", "FILE", "a page: samples, lines, residuals, noise", .text = &value[PICTURE]},
    {"--table", "FILE", "transfer-time table (nbc see --table)", .text = &value[TABLE]},
    {"--raw", "FILE", "the samples", .text = &value[RAW]},
    {"--platform", "FILE",
     "lines for a platform of pm_run: measured, LogGP; of a FILE, which holds the times of a "
     "computation then, its noise",
     .text = &value[PLATFORM]},
    {"--messages", "FILE",
     "of a FILE with half round trips: LogGP for a platform of pm_run --level loggp",
     .text = &value[MESSAGES]},
    {"--dedicated", "FILE", "what calls cost, for dedicated_core (measured only)",
     .text = &value[DEDICATED]},
    {"--max-bytes", "N", "largest message that is measured (1048576)", .whole = &max_bytes,
     .range = {1, 1 << 30}},
    {"--seed", "N", "order of the sizes that are measured (1)", .whole = &seed, .range = {0, 1e15}},
    {0}};
static const command_line command = {
    "usage: fit_model [OPTIONS] FILE    fits times that were measured before\n"
    "       fit_model [OPTIONS]         measures (fit_model between two threads; fit_model_mpi, "
    "fit_model_mpich\n"
    "                                   between the first and the last process) and fits\n"
    "What a message costs: straight lines over ranges of sizes, LogGP, noise.\n"
    "FILE: lines \"bytes seconds [routine]\" of at most 256 different sizes.\n",
    options, "Exit status: 0 done; 1 something was not written; 2 bad arguments or input.\n"};

/* ret 2, or -1 to go on */
static int read_arguments(int argc, char **argv, const char **file) {
  const int count = options_read(&command, argc, argv);
  if (count > 1) return fail(argv[2], "a second file (--help)");
  if (count) *file = argv[1];
  if (*file && (value[DEDICATED] || max_bytes || seed != 1))
    return fail("--dedicated, --max-bytes, --seed", "each needs a measurement, not a file");
  if (value[ROUTINE] && !*file) return fail("--routine", "needs a file of samples");
  if (value[MESSAGES] && !*file) return fail("--messages", "needs a file (measured: --platform)");
  if (value[MESSAGES] && value[PLATFORM])
    return fail("--messages", "not with --platform: times are a message's or a computation's");
  return -1;
}

static bool can_write_all(void) {
  bool can = true;
  for (int k = 0; k < OPTIONS; k++)
    if (k != ROUTINE) can = output_can_create(value[k]) && can;
  return can;
}

#ifdef NBC_WITH_MPI
int main(int argc, char **argv) {
  const char *file = NULL;
  nbc_transport *t = NULL;
  nbc_error err;
  const nbc_mpi_desc desc = {.messages_only = true}; /* it is the MPI that is measured */
  output_begin("fit_model");
  int bad = read_arguments(argc, argv, &file);
  MPI_Init(&argc, &argv);
  if (bad < 0 && file) {
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    bad = rank == 0 ? fit_file(file) : 0;
  }
  if (bad < 0 && nbc_mpi_create(MPI_COMM_WORLD, &desc, &t, &err) != NBC_OK)
    bad = fail("MPI", err.text);
  if (bad < 0 && t->size < 2) bad = fail("MPI", "needs two processes or more");
  if (bad < 0) {
    bad = 0;
    if (t->rank == 0 && !can_write_all()) MPI_Abort(MPI_COMM_WORLD, 1);
    if (measure(t, &bad) != NBC_OK) MPI_Abort(MPI_COMM_WORLD, 1);
  }
  nbc_mpi_destroy(t);
  MPI_Finalize();
  return bad;
}
#else
int main(int argc, char **argv) {
  const char *file = NULL;
  nbc_threads *world;
  output_begin("fit_model");
  int bad = read_arguments(argc, argv, &file);
  if (bad >= 0) return bad;
  if (file) return fit_file(file);
  bad = 1;
  if (!can_write_all()) return bad;
  if (nbc_threads_create(NULL, &world) != NBC_OK) return fail("threads", "cannot be created");
  if (nbc_threads_run(world, measure, &bad) != NBC_OK) bad = 1;
  nbc_threads_destroy(world);
  return bad;
}
#endif
