/* --sweep: one run per combination of values, over all cores, one table.

     pm_run -n 16 --sweep level=flow,packet --sweep "topo=2 4 4 1 4,2 4 4 1 2" --platform tree ./program
     pm_run --sweep n=2,4,8 --sweep size=8,4096 ./program {size}

   A key is an option without its dashes (n, level, seed, compute ...), a key of the platform, or a word
   that stands as {word} in the program's arguments or in the value of an option behind --sweep; {row} is the
   row's number (--trace run{row}.json). The
   last key changes fastest. The table has tabs between its columns: the keys, exit status, simulated
   microseconds, messages, CPU seconds of the run, and the last line that the program wrote (of a run that
   failed: why). Exit status: the largest of the runs. --jobs N runs at once (the cores that this command
   may use).

   Over several machines: --sweep-part I/N takes each N-th combination from I on; "job" asks the launcher
   (mpirun, srun, nic_run) for I and N. --sweep-table FILE is one table of all parts, and is gone on with where
   it was left (sweep_table.c):

     mpirun -n 64 --map-by node pm_run --sweep seed=1,2,3,4 --sweep-part job --sweep-table t.txt ./program */
#include "sweep.h"
#include "tools/progress_line.h"
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { KEYS = 8, VALUES = 4096, MOST_RUNS = 1000000, LINE = 400 };
static struct {
  char *key, *value[VALUES];
  int value_count;
} keys[KEYS];
static int key_count, jobs, part_index, part_count = 1;
static const char *given; /* the last option that means nothing without --sweep */
static const char *table; /* a file; NULL: standard output */
static int row;           /* of this run, in a child */
static FILE *to_parent;

bool guest_is_sweep(void) { return key_count > 0; }
static void add_key(const char *option, const char *text) {
  char *copy = strdup(text), *at = copy ? strchr(copy, '=') : NULL;
  if (!at || at == copy || !at[1]) guest_refuse("%s: KEY=VALUE,VALUE... expected", option);
  if (key_count == KEYS) guest_refuse("%s: at most %d keys", option, KEYS);
  *at++ = 0;
  for (int k = 0; k < key_count; k++)
    if (strcmp(keys[k].key, copy) == 0) guest_refuse("%s: %s: given twice", option, copy);
  if (strncmp(copy, "sweep", 5) == 0 || strcmp(copy, "jobs") == 0)
    guest_refuse("%s: %s: is of the sweep itself", option, copy);
  for (const char *c = text; *c; c++) /* columns and rows of the table would be others */
    if ((unsigned char)*c < ' ') guest_refuse("%s: %s: a control character", option, copy);
  keys[key_count].key = copy;
  for (char *end; at; at = end) {
    end = strchr(at, ',');
    if (end) *end++ = 0;
    if (!*at) guest_refuse("%s: %s: an empty value", option, copy);
    if (keys[key_count].value_count == VALUES)
      guest_refuse("%s: %s: at most %d values", option, copy, VALUES);
    keys[key_count].value[keys[key_count].value_count++] = at;
  }
  key_count++;
}
static void set_jobs(const char *option, const char *text) {
  jobs = (int)guest_number(option, text, 1, 4096);
  given = option;
}
static void set_table(const char *option, const char *text) {
  if (!*text) guest_refuse("%s: a file's name expected", option);
  table = text, given = option;
}
/* The part that the launcher of a job says. Slurm says it in its batch scripts too, as the first of all. */
static void set_part_of_job(const char *option) {
  static const char *const names[][2] = {{"NBC_RANK", "NBC_SIZE"},
                                         {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                         {"PMI_RANK", "PMI_SIZE"},
                                         {"SLURM_PROCID", "SLURM_NTASKS"}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *rank = getenv(names[i][0]), *size = getenv(names[i][1]);
    if (!rank || !size) continue;
    part_count = (int)guest_number(names[i][1], size, 1, 1000000000);
    part_index = (int)guest_number(names[i][0], rank, 0, part_count - 1);
    return;
  }
  guest_refuse(
      "%s: no launcher: none of NBC_RANK, OMPI_COMM_WORLD_RANK, PMI_RANK and SLURM_PROCID is set",
      option);
}
static void set_part(const char *option, const char *text) {
  char index[16];
  const char *slash = strchr(text, '/');
  given = option;
  if (strcmp(text, "job") == 0) {
    set_part_of_job(option);
    return;
  }
  if (!slash) guest_refuse("%s: I/N with I from 0 to N - 1, or job expected", option);
  snprintf(index, sizeof index, "%.*s", (int)(slash - text < 15 ? slash - text : 15), text);
  part_count = (int)guest_number(option, slash + 1, 1, 1000000000);
  part_index = (int)guest_number(option, index, 0, part_count - 1);
}

/* ---- one row --------------------------------------------------------------------------------------- */
static int run_count(void) {
  int64_t all = 1;
  for (int k = 0; k < key_count; k++)
    if ((all *= keys[k].value_count) > MOST_RUNS)
      guest_refuse("--sweep: more than %d runs", MOST_RUNS);
  return (int)all;
}
static const char *value_of(int key, int of_row) {
  for (int k = key_count - 1; k > key; k--) of_row /= keys[k].value_count;
  return keys[key].value[of_row % keys[key].value_count];
}
void guest__sweep_keys(FILE *out) {
  for (int k = 0; k < key_count; k++) fprintf(out, "%s\t", keys[k].key);
}
void guest__sweep_values(FILE *out, int of_row) {
  for (int k = 0; k < key_count; k++) fprintf(out, "%s\t", value_of(k, of_row));
}
/* The text with each {key} replaced; the text itself where there is none. */
static char *replaced(char *text) {
  char *out = NULL;
  size_t bytes = 0;
  FILE *to;
  bool is_changed = false;
  if (!strchr(text, '{') || !(to = open_memstream(&out, &bytes))) return text;
  for (const char *at = text; *at;) {
    int k = 0;
    size_t n = 0;
    for (; k < key_count; k++) {
      n = strlen(keys[k].key);
      if (*at == '{' && strncmp(at + 1, keys[k].key, n) == 0 && at[1 + n] == '}') break;
    }
    if (k < key_count)
      fputs(value_of(k, row), to), at += n + 2, is_changed = 1;
    else if (strncmp(at, "{row}", 5) == 0)
      fprintf(to, "%d", row), at += 5, is_changed = 1;
    else
      fputc(*at++, to);
  }
  if (fclose(to) == 0 && is_changed) return out;
  free(out);
  return text;
}
/* An option's name for a key; "-n" for n. */
static const guest_option *option_of(const char *key) {
  char name[64];
  snprintf(name, sizeof name, key[1] ? "--%s" : "-%s", key);
  const guest_option *o = guest__option_named(name);
  return o && o->value ? o : NULL;
}
/* ret NULL, or what is wrong with one line more of the platform */
static const char *platform_line(pm_platform *p, const char *key, const char *value, char *error,
                                 size_t error_bytes) {
  char *text = NULL;
  size_t bytes = 0;
  FILE *out = open_memstream(&text, &bytes);
  pm_platform next;
  if (!out) return "out of memory";
  const pm_status written = p ? pm_platform_write(p, out) : PM_OK;
  fprintf(out, "%s %s\n", key, value);
  if (fclose(out) || written) return "out of memory";
  const pm_status status = pm_platform_read(text, bytes, &next, error, error_bytes);
  free(text);
  if (status) {
    const char *colon = strncmp(error, "line ", 5) == 0 ? strstr(error, ": ") : NULL;
    return colon ? colon + 2 : error[0] ? error : pm_status_text(status);
  }
  if (p) pm_platform_free(p), *p = next;
  if (!p) pm_platform_free(&next);
  return NULL;
}
static bool is_platform_key(const char *key) {
  char error[256] = "";
  platform_line(NULL, key, "1", error, sizeof error);
  return strstr(error, "unknown key") == NULL;
}
static bool is_in_words(const char *key, int count, char **words) {
  char name[80];
  snprintf(name, sizeof name, "{%s}", key);
  for (int i = 0; i < count; i++)
    if (strstr(words[i], name)) return 1;
  return 0;
}
/* In a child, when the platform is read. Keys that depend on each other (node_count, topology, topo) come
   together: only the last is checked. */
void guest__sweep_platform(pm_platform *p) {
  char *all = NULL, error[256] = "";
  size_t bytes = 0;
  int count = 0;
  if (!to_parent) return;
  FILE *out = open_memstream(&all, &bytes);
  if (!out) guest_refuse("out of memory");
  for (int k = 0; k < key_count; k++) {
    if (option_of(keys[k].key) || !is_platform_key(keys[k].key)) continue;
    fprintf(out, "%s%s %s", count++ ? "\n" : "", keys[k].key, value_of(k, row));
  }
  if (fclose(out)) guest_refuse("out of memory");
  char *const value = strchr(all, ' ');
  if (value) {
    *value = 0;
    const char *bad = platform_line(p, all, value + 1, error, sizeof error);
    if (bad) guest_refuse("--sweep: %s", bad);
  }
  free(all);
}
static int finish(pm_world *world, int result) {
  const pm_stats stats = pm_world_stats(world);
  if (to_parent) {
    fprintf(to_parent, "%.3f\t%llu", (double)pm_world_now_ns(world) / 1e3,
            (unsigned long long)stats.message_count);
    if (fclose(to_parent)) return fprintf(stderr, "pm_run: --sweep: %s\n", strerror(errno)), 2;
  }
  return result;
}

/* ---- all rows -------------------------------------------------------------------------------------- */
typedef struct run {
  pid_t pid;
  bool is_done;
  int status;
  double cpu_s;
  FILE *out, *err, *told;
  char *line, *figures; /* of the table, when it is done: files are open as long as it runs */
} run;
/* The last line that says something; of a run that failed the first of pm_run's own. */
static void line_of(FILE *in, bool is_why, char *line) {
  char text[LINE];
  line[0] = 0;
  rewind(in);
  while (fgets(text, sizeof text, in)) {
    text[strcspn(text, "\n")] = 0;
    if (is_why && (strncmp(text, "pm_run: ", 8) != 0 || strstr(text, "us simulated"))) continue;
    if (text[0]) memcpy(line, text, strlen(text) + 1);
    if (is_why) return;
  }
}
static void begin_run(run *r) {
  r->out = tmpfile(), r->err = tmpfile(), r->told = tmpfile();
  if (!r->out || !r->err || !r->told)
    guest_refuse("--sweep: no temporary file: %s", strerror(errno));
  r->pid = fork();
  if (r->pid < 0) guest_refuse("--sweep: no process: %s", strerror(errno));
  if (r->pid) return;
  dup2(fileno(r->out), 1);
  dup2(fileno(r->err), 2);
  to_parent = r->told;
}
/* What a run says of its settings, for all of them once: nobody sees what a run that went well writes there. */
static void tell_note(FILE *err) {
  static bool is_told;
  char line[LINE];
  line_of(err, true, line);
  if (is_told || strncmp(line, "pm_run: --", 10) != 0) return;
  is_told = true;
  fprintf(stderr, "%s\n", line);
}
static void run_ended(run *r) {
  char line[LINE], told[LINE];
  line_of(r->told, 0, told);
  line_of(r->status ? r->err : r->out, r->status != 0, line);
  if (!r->status) tell_note(r->err);
  for (char *c = line; *c; c++)
    if (*c == '\t' || *c == '\r') *c = ' ';
  r->line = strdup(line);
  r->figures = strdup(told[0] ? told : "-\t-");
  if (!r->line || !r->figures) guest_refuse("out of memory");
  fclose(r->out), fclose(r->err), fclose(r->told);
  r->is_done = 1;
}
static void put_row(run *r, int number) {
  char *text = NULL;
  size_t bytes = 0;
  FILE *out = table ? open_memstream(&text, &bytes) : stdout;
  if (!out) guest_refuse("out of memory");
  guest__sweep_values(out, number);
  fprintf(out, "%d\t%s\t%.3f\t%s\n", r->status, r->figures, r->cpu_s, r->line);
  if (table ? fclose(out) : fflush(out)) guest_refuse("output is lost: %s", strerror(errno));
  if (table) guest__table_add(number, text);
  free(text), free(r->line), free(r->figures);
}
static void wait_for_one(run *runs, int count) {
  struct rusage used;
  int status;
  const pid_t pid = wait4(-1, &status, 0, &used);
  if (pid < 0 && errno != EINTR) guest_refuse("--sweep: %s", strerror(errno));
  for (int i = 0; i < count; i++)
    if (runs[i].pid == pid && !runs[i].is_done) {
      runs[i].status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      runs[i].cpu_s = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                      (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
      run_ended(&runs[i]);
    }
}
static void check_keys(int argc, char **argv) {
  for (int k = 0; k < key_count; k++)
    if (!option_of(keys[k].key) && !is_platform_key(keys[k].key) &&
        !is_in_words(keys[k].key, argc - 1, argv + 1))
      guest_refuse("--sweep: %s: neither an option, nor a key of the platform, nor {%s} in the "
                   "arguments",
                   keys[k].key, keys[k].key);
}
/* Begins the table. ret how many rows are to be run, which ones in todo: those of this part that the table lacks */
static int rows_to_run(int count, int **todo) {
  bool *has = table ? guest__table_begin(table, count) : NULL;
  int mine = 0;
  *todo = (int *)malloc((size_t)count * sizeof **todo);
  if (!*todo) guest_refuse("out of memory");
  for (int i = part_index; i < count; i += part_count)
    if (!has || !has[i]) (*todo)[mine++] = i;
  free(has);
  if (table) return mine;
  guest__sweep_keys(stdout);
  printf("status\tsimulated_us\tmessages\tcpu_s\toutput\n");
  if (fflush(stdout)) guest_refuse("output is lost: %s", strerror(errno));
  return mine;
}
/* Returns in a child, with its options set and its arguments replaced, or without --sweep. */
void guest__sweep(int argc, char **argv, int at) {
  cpu_set_t cores;
  int begun = 0, written = 0, running = 0, worst = 0, *todo;
  if (!key_count && given) guest_refuse("%s: there is no --sweep", given);
  if (!key_count) return;
  check_keys(argc, argv);
  if (run_count() > 1) guest__files_of_all_refuse();
  const int mine = rows_to_run(run_count(), &todo);
  signal(SIGCHLD, SIG_DFL); /* ignored by who started us: then the ends of runs could not be told */
  if (!jobs) jobs = sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
  run *runs = (run *)calloc((size_t)mine + 1, sizeof *runs);
  if (!runs) guest_refuse("out of memory");
  progress_line line; /* where the rows themselves cannot be seen */
  progress_begin(&line, "pm_run", table || !isatty(1));
  while (written < mine) {
    progress_show(&line, "runs", written, mine);
    if (begun < mine && running < jobs) {
      row = todo[begun];
      begin_run(&runs[begun]);
      if (to_parent) break;
      begun++, running++;
      continue;
    }
    wait_for_one(runs, begun);
    for (running = 0; written < begun && runs[written].is_done; written++) {
      if (runs[written].status > worst) worst = runs[written].status;
      put_row(&runs[written], todo[written]);
    }
    for (int i = written; i < begun; i++) running += !runs[i].is_done;
  }
  free(todo);
  if (!to_parent && table) guest__table_end();
  if (!to_parent) progress_end(&line), exit(worst);
  for (int i = 1; i < argc; i++) {
    char *const whole = replaced(argv[i]);
    if (i < at && i > 1 && strchr(argv[i], '{')) { /* an option's value */
      const guest_option *o = guest__option_named(argv[i - 1]);
      if (o && o->value) o->set(o->name, whole);
    }
    argv[i] = whole;
  }
  for (int k = 0; k < key_count; k++) {
    const guest_option *o = option_of(keys[k].key);
    if (o) o->set(o->name, value_of(k, row));
  }
}
static const guest_option options[] = {
    {"--sweep", "KEY=A,B,C",
     "a run for each value of an option, of a platform's key, or of {KEY} in the arguments; a "
     "table",
     add_key},
    {"--sweep-part", "I/N",
     "each N-th of its runs from I on (0/1); job: as the launcher of this process says", set_part},
    {"--sweep-table", "FILE", "the table, of all parts of a sweep; gone on with where it was left",
     set_table},
    {"--jobs", "N", "runs of a sweep at once (all cores)", set_jobs},
    {NULL, NULL, NULL, NULL}};
static guest_part part = {.name = "sweep", .options = options, .finish = finish};
__attribute__((constructor)) static void add(void) { guest_part_add(&part); }
