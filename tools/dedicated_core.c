/* Question: my program waits for its communication. Would it run faster if one core of each process
   did nothing but communication?

   Run:      build/dedicated_core [--cores N] [--scaling LIST] [--alpha A] [--costs FILE] [--svg FILE]
                                  [REPORT...]
             REPORT: the JSON reports that the MPI preload or a monitor of this library wrote (one
             per process; they are averaged), mpiP's text report, or lines "field value" (see
             nbc_overlap.h, [DEDICATED]; print the built-in example with --example). Without one:
             that example, the Kripke run of the thesis that the model comes from.
             --cores: of each process; without it, of reports that were written on this machine: its
             cores, divided by the reports.
             --scaling 15:4.3,16:4.1: seconds of the run's computation with so many threads, measured;
             without them one core less is taken to make computation N/(N-1) times as long.
             --costs: what the calls cost on this machine, from fit_model --dedicated; these replace
             the shortest calls of the run.
   Expected: every term of the model, by its formula and refined by what was measured; predicted
             time and speed-up, for each share alpha of blocking calls turned nonblocking; which
             hypotheses of the model do not hold, with the evidence; a verdict, on what it rests, and what to
             run to check it. Exit status 2: bad
             arguments or input. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#include "tools/options.h"
#include "tools/output.h"
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char example[] =
    "# Kripke, case 1 of the thesis: measured with a dedicated core: 117 s\n"
    "name Kripke 1\nnoprog_s 147\ncomp_s 73.6\ncore_count 16\n"
    "nb_count 480000\nmin_nb_s 2.14e-5\ntest_count 1119810\nmin_test_s 2.05e-5\n"
    "wait_count 10000\nmin_wait_s 3.2e-5\nblocking_s 11.7\nother_s 0\n";

static nbc_dedicated_input input;
static const char *svg, *cost_path, *scaling;
static uint64_t core_count;
static double alpha_ratio = -1; /* not given */
static bool is_example;
static double
    core_wait_ratio; /* of the run's time, that its processes waited for a core; 0: little */
static int report_count, reports_here_count; /* JSON reports read; of them, from this host */

static int fail(const char *what) {
  fprintf(stderr, "dedicated_core: %s\n", what);
  return 2;
}

static char *read_file(const char *path, size_t *bytes, nbc_error *err) {
  enum { MOST = 64 << 20 };
  FILE *file = fopen(path, "rb");
  char *text = file ? malloc(MOST) : NULL;
  *bytes = text ? fread(text, 1, MOST, file) : 0;
  if (!text || ferror(file) || *bytes == MOST) {
    snprintf(err->text, sizeof err->text, "%s: %s", path,
             *bytes == MOST ? "longer than 64 MiB" : strerror(errno));
    free(text), text = NULL;
  }
  if (file) fclose(file);
  return text;
}

static void count_report(const nbc_report *one) {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  report_count++;
  if (one->host && strcmp(one->host, host) == 0) reports_here_count++;
}

/* Cores of each process, when all reports are from this machine and share its cores evenly; else 0. */
static bool all_are_here(void) { return report_count && reports_here_count == report_count; }
static int cores_here(void) {
  cpu_set_t cores;
  return sched_getaffinity(0, sizeof cores, &cores) ? 0 : CPU_COUNT(&cores);
}
static int cores_found(void) { return all_are_here() ? cores_here() / report_count : 0; }
static int fail_without_cores(void) {
  if (!all_are_here())
    return fail("--cores: the input does not say on how many cores each process ran, and not all "
                "ran on this machine");
  fprintf(stderr,
          "dedicated_core: %d processes shared the %d cores of this machine: none has a core to "
          "give away. --cores N says what each would have; measured times stay those of shared "
          "cores\n",
          report_count, cores_here());
  return 2;
}

/* "15:4.3,16:4.1" */
static bool read_scaling(const char *list) {
  input.scaling_size = 0;
  while (*list) {
    char *end;
    const long threads = strtol(list, &end, 10);
    if (*end != ':' || threads < 1 || threads > 100000 ||
        input.scaling_size == NBC_DEDICATED_MAX_SCALING)
      return false;
    const double s = strtod(end + 1, &end);
    if (!(s > 0) || (*end && *end != ',')) return false;
    if (input.scaling_size && input.scaling_threads[input.scaling_size - 1] >= threads)
      return false;
    input.scaling_threads[input.scaling_size] = (int)threads;
    input.scaling_s[input.scaling_size++] = s;
    list = end + (*end == ',');
  }
  return input.scaling_size >= 2;
}

/* JSON reports are added up; another kind of file must be alone. */
static nbc_status read_input(char **paths, int count, nbc_error *err) {
  nbc_report *sum = NULL;
  nbc_status status = NBC_OK;
  for (int i = 0; i < count && !status; i++) {
    size_t bytes = 0;
    char *text = read_file(paths[i], &bytes, err);
    const size_t blank = text ? strspn(text, " \t\r\n") : 0;
    nbc_report *one = NULL;
    if (!text)
      status = NBC_E_IO;
    else if (blank < bytes && text[blank] == '{') {
      status = nbc_report_parse_json(text, bytes, paths[i], &one, err);
      if (!status) count_report(one);
      if (!status && !sum)
        sum = one, one = NULL;
      else if (!status)
        status = nbc_report_add(sum, one, err);
    } else if (count > 1) {
      snprintf(err->text, sizeof err->text, "%s: is not a JSON report; other files come alone",
               paths[i]);
      status = NBC_E_PARSE;
    } else if (bytes > 4 && text[blank] == '@') {
      status = nbc_dedicated_parse_mpip(text, bytes, paths[i], &input, err);
    } else {
      status = nbc_dedicated_parse(text, bytes, paths[i], &input, err);
    }
    nbc_report_free(one);
    free(text);
  }
  if (!status && sum) nbc_dedicated_from_report(sum, &input);
  for (size_t i = 0; !status && sum && i < sum->counter_count; i++)
    if (strcmp(sum->counters[i].name, "waited_for_a_core_ns") == 0 && sum->wall_ns > 0)
      core_wait_ratio = sum->counters[i].value / (double)sum->wall_ns;
  nbc_report_free(sum);
  return status;
}

/* Replaces what calls cost at least by what was measured on the machine. */
static nbc_status read_costs(const char *path, nbc_error *err) {
  static nbc_dedicated_input costs;
  size_t bytes = 0;
  char *text = read_file(path, &bytes, err);
  if (!text) return NBC_E_IO;
  const nbc_status status = nbc_dedicated_parse(text, bytes, path, &costs, err);
  free(text);
  if (status != NBC_OK) return status;
  if (costs.min_nb_s > 0) input.min_nb_s = costs.min_nb_s;
  if (costs.min_test_s > 0) input.min_test_s = costs.min_test_s;
  if (costs.min_wait_s > 0) input.min_wait_s = costs.min_wait_s;
  return NBC_OK;
}

/* Three decimals, or four digits where these would hide it. */
static const char *seconds(char text[16], double s) {
  snprintf(text, 16, s != 0 && fabs(s) < 1 ? "%.4g" : "%.3f", s);
  return text;
}

static void print_terms(const nbc_dedicated_result *formula, const nbc_dedicated_result *refined) {
  const double f[] = {formula->comp_s,   formula->nb_s,       formula->test_s,  formula->wait_s,
                      formula->turned_s, formula->blocking_s, formula->other_s, formula->total_s};
  const double r[] = {refined->comp_s,   refined->nb_s,       refined->test_s,  refined->wait_s,
                      refined->turned_s, refined->blocking_s, refined->other_s, refined->total_s};
  static const char *const names[] = {
      "computation on N-1 cores",        "nonblocking calls",   "test calls", "wait calls",
      "blocking calls made nonblocking", "blocking calls left", "other",      "predicted time"};
  printf("%-34s %12s %12s\n", "term [s]", "formula", "refined");
  for (int i = 0; i < 8; i++) {
    char a[16], b[16];
    printf("%-34s %12s %12s\n", names[i], seconds(a, f[i]), seconds(b, r[i]));
  }
  if (formula->speedup_ratio > 0)
    printf("%-34s %12.3f %12.3f\n", "speed-up", formula->speedup_ratio, refined->speedup_ratio);
}

/* Predicted time over alpha, both modes; the run time without progression as a dashed line. */
static int write_svg(const char *path, const double total_s[2][11]) {
  FILE *out = output_create(path);
  double most_s = input.noprog_s;
  if (!out) return 1;
  for (int i = 0; i < 22; i++) most_s = fmax(most_s, total_s[i / 11][i % 11]);
  fprintf(out,
          "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 640 360' font-family='sans-serif' "
          "font-size='13'>\n"
          "<rect width='640' height='360' fill='white'/><path d='M60 20V310H620' fill='none' "
          "stroke='black'/>\n"
          "<text x='340' y='345' text-anchor='middle'>share alpha of blocking calls made "
          "nonblocking</text>\n"
          "<text x='66' y='18'>predicted time [s], up to %.4g</text>\n",
          most_s * 1.05);
  for (int k = 0; k < 2; k++) {
    fprintf(out, "<polyline fill='none' stroke='%s' stroke-width='2' points='",
            k ? "#c0392b" : "#2471a3");
    for (int i = 0; i < 11; i++)
      fprintf(out, "%d,%.1f ", 60 + 56 * i, 310 - 290 * total_s[k][i] / (most_s * 1.05));
    fprintf(out, "'/><text x='500' y='%d' fill='%s'>%s</text>\n", 40 + 18 * k,
            k ? "#c0392b" : "#2471a3", k ? "refined" : "formula");
  }
  if (input.noprog_s > 0)
    fprintf(out,
            "<path d='M60 %.1fH620' stroke='black' stroke-dasharray='5'/><text x='500' "
            "y='76'>without (dashed)</text>\n",
            310 - 290 * input.noprog_s / (most_s * 1.05));
  for (int i = 0; i <= 10; i += 2)
    fprintf(out, "<text x='%d' y='326' text-anchor='middle'>%.1f</text>\n", 60 + 56 * i, i * 0.1);
  fprintf(out, "</svg>\n");
  return output_close(out, path) ? 0 : 1;
}

/* One number, or two where waits for others may stay. */
static void print_verdict(const nbc_dedicated_result *formula,
                          const nbc_dedicated_result *refined) {
  const double least = refined->least_speedup_ratio, most = refined->speedup_ratio;
  printf("\nVerdict: a dedicated core %s: %.4g s now, ",
         least > 1.02   ? "pays"
         : most > 1.02  ? "may pay"
         : least > 0.98 ? "makes no difference"
                        : "does not pay",
         input.noprog_s);
  if (most - least < 0.005 * most) {
    printf("%.4g s predicted, speed-up %.3f (formula: %.3f).\n", refined->total_s, most,
           formula->speedup_ratio);
    return;
  }
  printf("%.4g to %.4g s predicted, speed-up %.3f to %.3f (formula: %.3f).\n", refined->total_s,
         refined->total_s + refined->others_s, least, most, formula->speedup_ratio);
  printf(
      "%.4g s of the waits are longer than the transfers themselves: they are for others, and end "
      "only where these were late because nobody went on with their communication. The report "
      "says who waits for whom, and where that is probable.\n",
      refined->others_s);
}

/* On what the verdict rests, and what to run to check it. */
static void print_grounds(const nbc_dedicated_result *refined) {
  const int n = input.core_count;
  const double waits_s = input.wait_count * input.min_wait_s;
  const bool rests_on_waits = !cost_path && waits_s > 0.01 * input.noprog_s;
  if (!input.scaling_size) {
    printf("It rests on N/(N-1)%s: on one core less computation is taken to last %.3f times as "
           "long%s. "
           "To check that, run the program with %d and with %d threads per process and give "
           "--scaling %d:SECONDS,%d:SECONDS.\n",
           rests_on_waits ? "" : " alone", (double)n / (n - 1),
           refined->holds[0] == NBC_DEDICATED_UNKNOWN ? ", and all transfers to be hidden then"
                                                      : "",
           n - 1, n, n - 1, n);
  }
  if (rests_on_waits) /* without progress a transfer moves in each wait, in the shortest, too */
    printf("It rests on the shortest wait of the run, %.3g s, which is taken for what every wait "
           "costs by itself, %.3g s in all. If a transfer moved in that one, a dedicated core wins "
           "more than is predicted: give --costs FILE, from fit_model --dedicated.\n",
           input.min_wait_s, waits_s);
  printf(
      "To check all of it: run the program with %d threads per process under the progress preload "
      "(NBC_PROGRESS=dedicated), and compare both runs' reports with overlap_report --diff.\n",
      n - 1);
}

static int report(void) {
  static const char *const names[] = {"every transfer has enough computation before its wait",
                                      "only the dedicated core progresses communication",
                                      "computation scales linearly"};
  static const char *const states[] = {"not checked", "holds", "DOES NOT HOLD"};
  nbc_dedicated_result r[2];
  nbc_error err;
  double total_s[2][11];
  const double alpha = input.alpha_ratio;
  for (int k = 0; k < 2; k++)
    if (nbc_dedicated_predict(&input, k == 1, &r[k], &err)) return fail(err.text);
  printf("%s: %d cores, alpha %.2f\n\n", input.name, input.core_count, alpha);
  print_terms(&r[0], &r[1]);
  printf("\nalpha       formula [s]   refined [s]\n");
  for (int i = 0; i < 11; i++) {
    nbc_dedicated_result at;
    input.alpha_ratio = 0.1 * i;
    for (int k = 0; k < 2; k++)
      total_s[k][i] = nbc_dedicated_predict(&input, k == 1, &at, &err) ? 0 : at.total_s;
    char a[16], b[16];
    printf("%.1f        %12s  %12s\n", 0.1 * i, seconds(a, total_s[0][i]),
           seconds(b, total_s[1][i]));
  }
  input.alpha_ratio = alpha;
  printf("\n");
  for (int i = 0; i < 3; i++)
    printf("H%d %s: %s (%s)\n", i + 1, names[i], states[r[0].holds[i]], r[0].evidence[i]);
  if (input.blocking_count <= 0 && input.blocking_s > 0)
    printf("The number of blocking calls is not given: turning them nonblocking looks free.\n");
  if (input.noprog_s <= 0)
    printf("\nVerdict: no run time to compare with (noprog_s).\n");
  else
    print_verdict(&r[0], &r[1]);
  print_grounds(&r[1]);
  if (core_wait_ratio > 0)
    printf(
        "Caution: for at least %.0f %% of the time processes waited for a core that others had: "
        "computation and waits were shorter with a core for each, and the verdict may be another "
        "one.\n",
        100 * core_wait_ratio);
  return svg ? write_svg(svg, (const double(*)[11])total_s) : 0;
}

static const option options[] = {
    {"--cores", "N", "of each process; without it this machine's, divided by the reports from here",
     .whole = &core_count, .range = {2, 1e6}},
    {"--scaling", "THREADS:SECONDS,...",
     "computation measured with so many threads, as in 15:4.3,16:4.1 (else one core less takes "
     "N/(N-1) times as long)",
     .text = &scaling},
    {"--alpha", "A", "share of the blocking calls that are made nonblocking, 0 to 1",
     .real = &alpha_ratio, .range = {0, 1}},
    {"--costs", "FILE", "what calls cost here, from fit_model --dedicated", .text = &cost_path},
    {"--svg", "FILE", "predicted time by alpha, drawn", .text = &svg},
    {"--example", NULL, "prints the input of a run that the model was made for",
     .flag = &is_example},
    {0}};
static const command_line command = {
    "usage: dedicated_core [--cores N] [--scaling THREADS:SECONDS,...] [--alpha A] [--costs FILE]\n"
    "                      [--svg FILE] [REPORT...]\n"
    "       dedicated_core --example\n"
    "Would a program run faster if one core of each process did nothing but communication?\n"
    "REPORT: of the overlap preload (one per process), of mpiP, or lines \"field value\" as\n"
    "--example prints; without any: that example.\n",
    options, "Exit status: 2: bad arguments or input.\n"};

int main(int argc, char **argv) {
  nbc_error err = {0};
  output_begin("dedicated_core");
  char **const paths = argv + 1;
  const int path_count = options_read(&command, argc, argv);
  if (is_example) return fputs(example, stdout), 0;
  nbc_status status =
      path_count ? read_input(paths, path_count, &err)
                 : nbc_dedicated_parse(example, sizeof example - 1, "example", &input, &err);
  if (!status && !(input.noprog_s > 0) && !(input.comp_s > 0)) /* an empty file, say */
    return fprintf(stderr, "dedicated_core: %s: neither noprog_s nor comp_s in it\n", paths[0]), 2;
  if (!status && cost_path) status = read_costs(cost_path, &err);
  if (status) return fail(err.text);
  if (core_count) input.core_count = (int)core_count;
  if (scaling && !read_scaling(scaling))
    return fail(
        "--scaling: THREADS:SECONDS at least twice, threads ascending, as in 15:4.3,16:4.1");
  if (alpha_ratio >= 0) input.alpha_ratio = alpha_ratio;
  if (input.core_count == 0 && cores_found() >= 2) {
    input.core_count = cores_found();
    printf("%d cores for each of the %d processes: what this machine has, divided (--cores "
           "corrects)\n",
           input.core_count, report_count);
  }
  if (input.core_count == 0) return fail_without_cores();
  return report();
}
