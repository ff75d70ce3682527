/* Question: what does my Portals program do on so many nodes of such a machine?

   Run:      cc -shared -fPIC -Ibuild/include program.c -o program.so
             build/pm_run -n 16 [options] ./program.so arguments...
   Options:  -n N             processes (1)             --per-node N   processes per node (1)
             --platform FILE  machine, see portals_model.h (bxi2; its nodes_count must suffice)
             --loggp          analytical link model     --seed N       of faults and noise
             --trace FILE     every step; FILE ends in .csv, .html (sequence diagram, small
                              runs) or .json (Chrome trace)
             --stack KIB      of each process (256)     --time-limit S simulated seconds
   Expected: what the program prints, then one line with the simulated time. Exit status: the largest
             of the processes; 100 when the run itself failed (deadlock, crash, time limit), with who
             and when on stderr and the trace written.

   The program is an ordinary one (main, portals4.h, pmi.h), built as a shared object: glibc opens no
   other kind. Each process gets a private copy of its globals. Clocks, sleeps and sched_yield are of
   simulated time; exit ends one process. Not supported: fork, pthreads, output per process. */
#define PORTALS_MODEL_IMPLEMENTATION
#include "portals_model.h"
#include "pmi.h"
#include <dlfcn.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

typedef struct guest {
  int (*main)(int argc, char **argv, char **envp);
  int argc;
  char **argv;
} guest;
typedef struct settings {
  int processes, per_node;
  const char *platform, *trace;
  pm_world_desc desc;
} settings;
extern char **environ;

/* ---- what guests find instead of libc's: simulated time, one process's exit ------------------------ */
__attribute__((noreturn)) void exit(int status) {
  void (*real)(int) = NULL;
  if (pm_self()) pm_exit(status);
  *(void **)(void *)&real = dlsym(RTLD_NEXT, "exit");
  real(status);
  _exit(status);
}
int clock_gettime(clockid_t clock, struct timespec *t) {
  if (!pm_self()) return (int)syscall(SYS_clock_gettime, clock, t);
  t->tv_sec = pm_now_ns() / 1000000000;
  t->tv_nsec = pm_now_ns() % 1000000000;
  pm_yield(); /* who only looks at the clock lets time pass */
  return 0;
}
int gettimeofday(struct timeval *t, void *zone) {
  struct timespec now;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &now);
  t->tv_sec = now.tv_sec;
  t->tv_usec = now.tv_nsec / 1000;
  return 0;
}
time_t time(time_t *t) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (t) *t = now.tv_sec;
  return now.tv_sec;
}
int nanosleep(const struct timespec *d, struct timespec *rest) {
  if (!pm_self()) return (int)syscall(SYS_nanosleep, d, rest);
  pm_sleep_ns((int64_t)d->tv_sec * 1000000000 + d->tv_nsec);
  return 0;
}
int usleep(useconds_t us) {
  const struct timespec d = {(time_t)(us / 1000000), (long)(us % 1000000) * 1000};
  return nanosleep(&d, NULL);
}
unsigned sleep(unsigned s) {
  const struct timespec d = {(time_t)s, 0};
  nanosleep(&d, NULL);
  return 0;
}
int sched_yield(void) {
  if (!pm_self()) return (int)syscall(SYS_sched_yield);
  pm_yield();
  return 0;
}

/* ---- PMI: all processes share one space of keys ---------------------------------------------------- */
enum { PMI_TEXT = 256 };
static struct pair { char key[PMI_TEXT], value[PMI_TEXT]; } * pairs;
static int pairs_count, pairs_max;

int PMI_Init(int *spawned) {
  *spawned = 0;
  return pm_self() ? PMI_SUCCESS : PMI_FAIL;
}
int PMI_Initialized(int *initialized) {
  *initialized = pm_self() != NULL;
  return PMI_SUCCESS;
}
int PMI_Finalize(void) { return PMI_SUCCESS; }
int PMI_Get_size(int *size) {
  *size = pm_size();
  return PMI_SUCCESS;
}
int PMI_Get_rank(int *rank) {
  *rank = pm_rank();
  return PMI_SUCCESS;
}
int PMI_Barrier(void) {
  pm_barrier();
  return PMI_SUCCESS;
}
int PMI_KVS_Get_my_name(char *name, int length) {
  snprintf(name, (size_t)length, "pm_run");
  return PMI_SUCCESS;
}
int PMI_KVS_Get_name_length_max(int *length) {
  *length = PMI_TEXT;
  return PMI_SUCCESS;
}
int PMI_KVS_Get_key_length_max(int *length) {
  *length = PMI_TEXT;
  return PMI_SUCCESS;
}
int PMI_KVS_Get_value_length_max(int *length) {
  *length = PMI_TEXT;
  return PMI_SUCCESS;
}
int PMI_KVS_Commit(const char *name) {
  (void)name;
  return PMI_SUCCESS;
}
int PMI_KVS_Put(const char *name, const char *key, const char *value) {
  void *array = pairs;
  (void)name;
  if (strlen(key) >= PMI_TEXT || strlen(value) >= PMI_TEXT ||
      !pm__grow(&array, &pairs_max, pairs_count + 1, sizeof *pairs))
    return PMI_FAIL;
  pairs = (struct pair *)array;
  strcpy(pairs[pairs_count].key, key);
  strcpy(pairs[pairs_count++].value, value);
  return PMI_SUCCESS;
}
int PMI_KVS_Get(const char *name, const char *key, char *value, int length) {
  (void)name;
  for (int i = pairs_count - 1; i >= 0; i--)
    if (strcmp(pairs[i].key, key) == 0)
      return snprintf(value, (size_t)length, "%s", pairs[i].value) < length ? PMI_SUCCESS
                                                                            : PMI_FAIL;
  return PMI_FAIL;
}

/* ---- the run ----------------------------------------------------------------------------------------- */
static void process(void *arg) {
  const guest *g = (const guest *)arg;
  pm_exit(g->main(g->argc, g->argv, environ));
}
/* A copy of the file per process: the loader then gives each its own globals. */
static int load(const char *path, guest *g) {
  char copy[] = "/tmp/pm_run.XXXXXX", block[65536];
  FILE *in = fopen(path, "rb"), *out;
  const int fd = mkstemp(copy);
  void *object = NULL;
  size_t n;
  if (in && fd >= 0 && (out = fdopen(fd, "wb")) != NULL) {
    while ((n = fread(block, 1, sizeof block, in)) > 0) fwrite(block, 1, n, out);
    if (fclose(out) == 0) object = dlopen(copy, RTLD_NOW | RTLD_LOCAL);
  }
  if (in) fclose(in);
  unlink(copy);
  if (!object) fprintf(stderr, "pm_run: %s: %s\n", path, in ? dlerror() : strerror(errno));
  *(void **)(void *)&g->main = object ? dlsym(object, "main") : NULL;
  if (object && !g->main) fprintf(stderr, "pm_run: %s: has no main\n", path);
  return g->main != NULL;
}
static int64_t number(const char *option, const char *text, int64_t least, int64_t most) {
  char *end = NULL;
  const long long n = text ? strtoll(text, &end, 10) : 0;
  if (text && *text && !*end && n >= least && n <= most) return n;
  fprintf(stderr, "pm_run: %s: a number of %lld ... %lld expected\n", option, (long long)least,
          (long long)most);
  exit(2);
}
/* ret index of the program's name */
static int options(int argc, char **argv, settings *s) {
  int i;
  for (i = 1; i < argc && argv[i][0] == '-'; i++) {
    const char *o = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
    if (strcmp(o, "--loggp") == 0) {
      s->desc.link = PM_LINK_LOGGP;
      continue;
    }
    if (strcmp(o, "-n") == 0)
      s->processes = (int)number(o, value, 1, 1000000);
    else if (strcmp(o, "--per-node") == 0)
      s->per_node = (int)number(o, value, 1, 65535);
    else if (strcmp(o, "--seed") == 0)
      s->desc.seed = (uint64_t)number(o, value, 0, INT64_MAX);
    else if (strcmp(o, "--stack") == 0)
      s->desc.stack_bytes = (size_t)number(o, value, 16, 1 << 20) * 1024;
    else if (strcmp(o, "--time-limit") == 0)
      s->desc.d_limit_ns = number(o, value, 1, 1000000) * 1000000000;
    else if (strcmp(o, "--platform") == 0)
      s->platform = value;
    else if (strcmp(o, "--trace") == 0)
      s->trace = value;
    else
      value = NULL;
    if (!value) {
      fprintf(stderr, "pm_run: %s: unknown option, or its value is missing\n", o);
      exit(2);
    }
    i++;
  }
  return i;
}
static void write_trace(const pm_world *world, const char *path) {
  FILE *out = fopen(path, "w");
  const char *dot = strrchr(path, '.');
  const pm_status status = !out                               ? PM_E_IO
                           : dot && strcmp(dot, ".csv") == 0  ? pm_trace_write_csv(world, out)
                           : dot && strcmp(dot, ".html") == 0 ? pm_trace_write_html(world, out)
                                                              : pm_trace_write_json(world, out);
  if (out) fclose(out);
  if (status) fprintf(stderr, "pm_run: %s: %s\n", path, pm_status_text(status));
}

int main(int argc, char **argv) {
  settings s;
  char error[256];
  pm_platform platform;
  pm_world *world;
  memset(&s, 0, sizeof s);
  s.processes = s.per_node = 1;
  s.desc.stack_bytes = 262144;
  s.desc.catch_crashes = 1;
  const int at = options(argc, argv, &s), nodes = (s.processes + s.per_node - 1) / s.per_node;
  if (at >= argc)
    return fprintf(stderr, "pm_run: usage: pm_run -n N [options] ./program.so arguments...\n"), 2;
  platform = pm_platform_bxi2(nodes);
  if (s.platform && pm_platform_load(s.platform, &platform, error, sizeof error))
    return fprintf(stderr, "pm_run: %s: %s\n", s.platform, error), 2;
  if (platform.nodes_count < nodes)
    return fprintf(stderr, "pm_run: the platform has %d nodes, %d are needed\n",
                   (int)platform.nodes_count, nodes),
           2;
  s.desc.platform = &platform;
  s.desc.trace = s.trace != NULL;
  if (pm_world_create(&s.desc, &world)) return fprintf(stderr, "pm_run: out of memory\n"), 2;
  guest *guests = (guest *)calloc((size_t)s.processes, sizeof *guests);
  for (int i = 0; guests && i < s.processes; i++) {
    guests[i].argc = argc - at;
    guests[i].argv = argv + at;
    if (!load(argv[at], &guests[i]) || pm_spawn(world, i / s.per_node, process, &guests[i], NULL))
      return 2;
  }
  const pm_status status = pm_world_run(world);
  int result = 0;
  fflush(stdout);
  for (int i = 0; i < s.processes; i++) {
    const int code = pm_process_status(pm_process_at(world, i)) & 0xFF;
    if (code > result) result = code;
  }
  if (s.trace) write_trace(world, s.trace);
  if (status)
    fprintf(stderr, "pm_run: %s: %s\n", pm_status_text(status), pm_world_error(world));
  else
    fprintf(stderr, "pm_run: %d processes, %.3f us simulated\n", s.processes,
            (double)pm_world_now_ns(world) / 1e3);
  pm_world_destroy(world);
  pm_platform_free(&platform);
  return status ? 100 : result;
}
