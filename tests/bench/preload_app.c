/* What the preload costs a real program: the time of HPL inside Debian's hpcc, 2 processes, with and
   without. A pair is two runs of hpcc, in turns with the preload first and last; each run factors
   the same matrix TESTS times, and the shortest counts, because all that disturbs a test makes it
   longer. The value is the median over pairs of (with / without - 1), in percent, with its
   nonparametric 95 % interval; covered is the confidence that so few pairs really give. The interval
   is as wide as the machine is noisy, so a second way stands beside it: the calls that the preload
   saw in one test, times its cost per call (bench preload_call), over the time of a test. That is
   all the preload does there, unless it slows down what lies between the calls; calls that poll
   while HPL waits are not counted, and a call that waits anyway hides its cost.
   Of the same pairs: the processor time of all that a run of hpcc starts, and its instructions outside of the
   kernel where perf_event_open may count them (else null). Processes that poll while they wait make both
   depend on who waits for whom, so these are as noisy; they do not depend on other programs.
   Environment: N (order of the matrix, 2000), TESTS (3), PAIRS (6); about 25 s per run. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#include "tests/bench/bench.h"
#include <dirent.h>
#include <linux/perf_event.h>
#include <math.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAX_PAIRS = 200, MAX_TESTS = 20 };

static int wish(const char *name, int otherwise, int most) {
  const char *text = getenv(name);
  const int n = text ? atoi(text) : otherwise;
  if (n >= 1 && n <= most) return n;
  fprintf(stderr, "preload_app: %s=%s is not 1 to %d: %d\n", name, text, most, otherwise);
  return otherwise;
}

/* What a run used beside time: processor seconds, instructions (NaN: may not be counted). */
typedef struct used {
  double cpu_s, instructions;
} used;
static int counter_fd = -1;
static void open_counter(void) { /* of this process and all it starts from here on */
  struct perf_event_attr a;
  memset(&a, 0, sizeof a);
  a.type = PERF_TYPE_HARDWARE;
  a.size = sizeof a;
  a.config = PERF_COUNT_HW_INSTRUCTIONS;
  a.inherit = 1;
  a.exclude_kernel = a.exclude_hv = 1;
  counter_fd = (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
}
static used used_now(void) {
  struct rusage u;
  uint64_t count;
  getrusage(RUSAGE_CHILDREN, &u);
  const double cpu_s = (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
                       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
  const bool is_counted = counter_fd >= 0 && read(counter_fd, &count, sizeof count) == sizeof count;
  return (used){cpu_s, is_counted ? (double)count : (double)NAN};
}

/* One row of two processes; the block size as often as the matrix shall be factored. */
static void write_input(int order, int tests) {
  char command[600], blocks[4 * MAX_TESTS + 1] = "";
  for (int i = 0; i < tests; i++) strcat(blocks, " 80");
  snprintf(
      command, sizeof command,
      "f=/usr/share/doc/hpcc/examples/_hpccinf.txt; [ -e $f ] || f=$f.gz; zcat -f $f | sed "
      "-e '6s/^[0-9]*/%d/' -e '7s/^[0-9]*/%d/' -e '8s/^[0-9]*/%s/' -e '11s/^2/1/' >hpccinf.txt",
      order, tests, blocks);
  if (system(command) != 0) exit(1);
}

/* The shortest test of one run of hpcc in the current folder, in seconds, or exits. HPL prints its
   times with two decimals, but its rate with four digits. */
static double run_hpcc(const char *preload, int order, used *all) {
  const double n = order, flops = 2.0 / 3 * n * n * n + 3.0 / 2 * n * n;
  char command[8600], line[300];
  double rate, time_s, best_s = 0;
  snprintf(
      command, sizeof command,
      "rm -rf hpccoutf.txt reports; timeout 600 mpirun.openmpi -n 2 %s%s %s hpcc >run.log 2>&1",
      preload ? "-x LD_PRELOAD=" : "", preload ? preload : "",
      preload ? "-x NBC_REPORT_DIR=reports" : "");
  const used before = used_now();
  FILE *out = system(command) == 0 ? fopen("hpccoutf.txt", "r") : NULL;
  while (out && fgets(line, sizeof line, out))
    if (sscanf(line, "WR%*s %*d %*d %*d %*d %lf %lf", &time_s, &rate) == 2 && rate > 0 &&
        (best_s <= 0 || flops / rate / 1e9 < best_s))
      best_s = flops / rate / 1e9;
  if (out) fclose(out);
  const used after = used_now();
  *all = (used){after.cpu_s - before.cpu_s, after.instructions - before.instructions};
  if (best_s > 0) return best_s;
  fprintf(stderr, "preload_app: hpcc failed: %s\n", command);
  exit(1);
}

/* Calls per process of HPL in the last run, which had sections, without those that poll: HPL polls
   while it waits, so these take no time from it. */
static double calls_counted(void) {
  DIR *folder = opendir("reports");
  double calls = 0, processes = 0;
  for (struct dirent *e; folder && (e = readdir(folder));) {
    char path[400];
    nbc_report *r;
    snprintf(path, sizeof path, "reports/%.300s", e->d_name);
    if (!strstr(path, ".json") || nbc_report_read_json(path, &r, NULL) != NBC_OK) continue;
    for (size_t i = 0; i < r->call_count; i++)
      if (r->calls[i].section_index == (int)r->section_count - 1 &&
          nbc_kind_category(r->calls[i].kind) != NBC_CATEGORY_TEST)
        calls += (double)r->calls[i].count;
    processes++;
    nbc_report_free(r);
  }
  if (folder) closedir(folder);
  return processes > 0 ? calls / processes : NAN;
}

static double cost_per_call_ns(void) {
  char line[400];
  double ns = NAN;
  FILE *in = popen("../preload_call '^preload_call$'", "r");
  while (in && fgets(line, sizeof line, in)) {
    static const char before[] = "\"bench\":\"preload_call\",\"value\":";
    const char *value = strstr(line, before);
    if (value) ns = strtod(value + strlen(before), NULL);
  }
  if (in) pclose(in);
  return ns;
}

static void enter_folder(char preload[4096]) { /* build/bench/preload_app.run */
  char *slash;
  const ssize_t n = readlink("/proc/self/exe", preload, 4000);
  if (n <= 0) exit(1);
  preload[n] = 0;
  strcat(preload, ".run");
  mkdir(preload, 0777);
  if (chdir(preload) != 0) exit(1);
  for (int up = 0; up < 2 && (slash = strrchr(preload, '/')); up++) *slash = 0;
  strcat(preload, "/libnbc_overlap_mpi.so");
  setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
  setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
  setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 1);
  setenv("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe", 1);
  setenv("OMP_NUM_THREADS", "1", 1);
  setenv("OPENBLAS_NUM_THREADS", "1", 1);
}

int main(int argc, char **argv) {
  static double ratio[MAX_PAIRS], without[MAX_PAIRS], cpu[MAX_PAIRS], instructions[MAX_PAIRS];
  char preload[4096], with_sections[8300];
  nbc_summary cost, base, cpu_cost, more;
  used with_it, without_it;
  if (!bench_wanted(argc, argv, "preload_app")) return 0;
  if (system("command -v hpcc >/dev/null && command -v mpirun.openmpi >/dev/null") != 0) {
    fprintf(stderr, "preload_app: not measured: no hpcc or no Open MPI\n");
    return 0;
  }
  const int order = wish("N", 2000, 20000), tests = wish("TESTS", 3, MAX_TESTS),
            pairs = wish("PAIRS", 6, MAX_PAIRS);
  enter_folder(preload);
  open_counter();
  write_input(order, 1);
  snprintf(with_sections, sizeof with_sections, "%.*s/bench/libpreload_app_sections.so:%s",
           (int)(strrchr(preload, '/') - preload), preload, preload);
  run_hpcc(with_sections, order, &with_it); /* and warms up */
  const double calls = calls_counted();
  write_input(order, tests);
  for (int i = 0; i < pairs; i++) { /* each order as often as the other */
    double with = i % 2 ? run_hpcc(preload, order, &with_it) : 0;
    without[i] = run_hpcc(NULL, order, &without_it);
    if (i % 2 == 0) with = run_hpcc(preload, order, &with_it);
    ratio[i] = (with / without[i] - 1) * 100;
    cpu[i] = (with_it.cpu_s / without_it.cpu_s - 1) * 100;
    instructions[i] = (with_it.instructions / without_it.instructions - 1) * 100;
  }
  if (nbc_summarize(ratio, (size_t)pairs, 0, &cost) != NBC_OK ||
      nbc_summarize(without, (size_t)pairs, 0, &base) != NBC_OK ||
      nbc_summarize(cpu, (size_t)pairs, 0, &cpu_cost) != NBC_OK)
    return 1;
  char counted[60] = "null";
  if (!isnan(instructions[0]) && nbc_summarize(instructions, (size_t)pairs, 0, &more) == NBC_OK)
    snprintf(counted, sizeof counted, "%.4g", more.median);
  const double call_ns = cost_per_call_ns();
  printf("{\"bench\":\"preload_app\",\"value\":%.4g,\"unit\":\"percent of HPL's time\",\"lo\":%.4g,"
         "\"hi\":%.4g,\"covered\":%.3g,\"pairs\":%d,\"tests_per_run\":%d,\"n\":%d,\"peer\":%.4g,"
         "\"peer_name\":\"seconds of HPL without preload\",\"calls_per_test\":%.6g,"
         "\"call_ns\":%.4g,\"calls_cost_percent\":%.4g,\"cpu_percent\":%.4g,\"cpu_lo\":%.4g,"
         "\"cpu_hi\":%.4g,\"instructions_percent\":%s}\n",
         cost.median, cost.median_lo, cost.median_hi, cost.covered_ratio, pairs, tests, order,
         base.median, calls, call_ns, 100 * calls * call_ns * 1e-9 / base.median, cpu_cost.median, cpu_cost.median_lo,
         cpu_cost.median_hi, counted);
  return 0;
}
