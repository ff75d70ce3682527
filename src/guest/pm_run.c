/* Question: what does my Portals program do on so many nodes of such a machine?

   Run:      cc -shared -fPIC -Ibuild/include program.c -o program.so
             (when installed: $(pkg-config --cflags portals_model) instead of -Ibuild/include)
             build/pm_run -n 16 [options] ./program.so arguments...
   Options:  -n N             processes (1)             --per-node N   processes per node (1)
             --platform FILE  machine, see portals_model.h (bxi2; its nodes_count must suffice)
             --level L[,L@US]... how messages move: flow (shared links, the default), loggp
                              (analytical), rtl (NICs in RTL, where Verilator is installed); L@US:
                              those that start US microseconds after the beginning or later,
                              e.g. loggp,rtl@20,loggp@30
             --seed N         of faults and noise
             --trace FILE     every step; FILE ends in .csv, .html (sequence diagram, small
                              runs) or .json (Chrome trace)
             --stack KIB      of each process (256)     --time-limit S simulated seconds
             --compute RATIO  CPU time between a process's calls, measured here, takes RATIO times
                              as long there (0: none)
             --prefix         "[rank] " before each line that a process writes
             --spin MS        a process that calls nothing for so much CPU time looks for something
                              in memory: time passes for it (100; 0: never, and it may hang)
   Expected: what the program prints, then one line with the simulated time, and on stderr who ended
             with another status than 0. Exit status: the largest of the processes; 100 when the run
             itself failed (deadlock, crash, time limit, PMI_Abort), with who and when on stderr and
             the trace written.

   The program is an ordinary one (main, portals4.h, pmi.h, pthread.h), built as a shared object:
   glibc opens no other kind. Each process gets a private copy of its globals. Clocks, sleeps,
   sched_yield, pthreads and semaphores are of simulated time; exit ends one process. A spin on memory
   is noticed by the host's clock, so its simulated time differs a little from run to run. Not
   supported: fork, signals, thread-local variables of one's own per thread (they are per process). */
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static long long host_cpu_ns(void) { /* clock_gettime is the guests' below */
  struct timespec t;
  syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &t);
  return (long long)t.tv_sec * 1000000000 + t.tv_nsec;
}
#define PM_HOST_CPU_NS() host_cpu_ns()
#define PORTALS_MODEL_IMPLEMENTATION
#include "portals_model.h"
#include "pmi.h"
#ifdef WITH_RTL /* the Makefile found Verilator */
#  include "rtl/pm_rtl.h"
static pm_rtl *rtl;
#endif
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/select.h>
#include <sys/time.h>

typedef struct waiter { /* a thread in a queue */
  pm_thread *thread;
  struct waiter *next;
  int is_woken;
} waiter;
typedef struct guest {
  int (*main)(int argc, char **argv, char **envp);
  int argc;
  char **argv;
  struct {
    char *text;
    int bytes, max;
  } line[2];         /* what it wrote of its present line, to stdout and stderr */
  int threads_count; /* beside the first */
  waiter *last;      /* who waits for them */
} guest;
enum { MAX_PHASES = 64 };
typedef struct settings {
  int processes, per_node;
  int spin_ms, prefix;
  const char *platform, *trace;
  pm_world_desc desc;
  pm_link_phase phases[MAX_PHASES];
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
  pm_compute_measured();
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
int clock_nanosleep(clockid_t clock, int flags, const struct timespec *d, struct timespec *rest) {
  struct timespec left = *d;
  int64_t now_ns = pm_now_ns();
  if (!pm_self()) return (int)syscall(SYS_clock_nanosleep, clock, flags, d, rest);
  if (flags & TIMER_ABSTIME) {
    const int64_t d_ns = (int64_t)d->tv_sec * 1000000000 + d->tv_nsec - now_ns;
    left.tv_sec = d_ns > 0 ? d_ns / 1000000000 : 0;
    left.tv_nsec = d_ns > 0 ? d_ns % 1000000000 : 0;
  }
  return nanosleep(&left, NULL);
}
/* Looks again and again, while time passes, until something is ready or the time is over. */
int poll(struct pollfd *files, nfds_t count, int ms) {
  const struct timespec none = {0, 0}, d = {ms / 1000, (long)(ms % 1000) * 1000000};
  if (!pm_self()) return (int)syscall(SYS_ppoll, files, count, ms < 0 ? NULL : &d, NULL, 0);
  const int64_t t_end_ns = pm_now_ns() + (int64_t)ms * 1000000;
  if (!count && ms > 0) return nanosleep(&d, NULL);
  for (;;) {
    const int ready = (int)syscall(SYS_ppoll, files, count, &none, NULL, 0);
    if (ready || (ms > 0 && pm_now_ns() >= t_end_ns)) return ready;
    pm_yield();
    if (ms == 0) return 0;
  }
}
int select(int count, fd_set *in, fd_set *out, fd_set *other, struct timeval *d) {
  struct timespec t = {d ? d->tv_sec : 0, d ? d->tv_usec * 1000 : 0}, none = {0, 0};
  if (!pm_self()) return (int)syscall(SYS_pselect6, count, in, out, other, d ? &t : NULL, NULL);
  const int64_t d_ns = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec, t_end_ns = pm_now_ns() + d_ns;
  fd_set sets[3], *asked[3] = {in, out, other};
  if (!count && d_ns) return nanosleep(&t, NULL);
  for (int k = 0; k < 3; k++)
    if (asked[k]) sets[k] = *asked[k];
  for (;;) {
    const int ready = (int)syscall(SYS_pselect6, count, in, out, other, &none, NULL);
    if (ready || (d_ns && pm_now_ns() >= t_end_ns)) return ready;
    pm_yield();
    if (d && !d_ns) return 0;
    for (int k = 0; k < 3; k++)
      if (asked[k]) *asked[k] = sets[k];
  }
}
int sched_yield(void) {
  if (!pm_self()) return (int)syscall(SYS_sched_yield);
  pm_yield();
  return 0;
}

#include "pm_run_pthread.h"

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
int PMI_Get_universe_size(int *size) { return PMI_Get_size(size); }
int PMI_Get_appnum(int *number) {
  *number = 0;
  return PMI_SUCCESS;
}
int PMI_Get_clique_size(int *size) {
  const int node = pm_process_node(pm_self());
  *size = 0;
  for (int i = 0; i < pm_size(); i++)
    *size += pm_process_node(pm_process_at(pm_world_of(pm_self()), i)) == node;
  return PMI_SUCCESS;
}
int PMI_Get_clique_ranks(int *ranks, int length) {
  const int node = pm_process_node(pm_self());
  int n = 0;
  for (int i = 0; i < pm_size(); i++)
    if (pm_process_node(pm_process_at(pm_world_of(pm_self()), i)) == node) {
      if (n >= length) return PMI_FAIL;
      ranks[n++] = i;
    }
  return PMI_SUCCESS;
}
int PMI_Abort(int status, const char *text) {
  char message[512];
  snprintf(message, sizeof message, "process %d called PMI_Abort(%d) at %.3f us: %s", pm_rank(),
           status, (double)pm_now_ns() / 1e3, text ? text : "");
  pm_world_fail(pm_world_of(pm_self()), PM_E_STATE, message);
  pm_exit(status);
  return PMI_FAIL;
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

/* ---- output: each line with its process ------------------------------------------------------------ */
static pm_process *writer; /* who filled stdout's buffer */
static int prefix;
static void write_all(int fd, const char *text, size_t bytes) {
  for (ssize_t n; bytes && (n = syscall(SYS_write, fd, text, bytes)) > 0; text += n)
    bytes -= (size_t)n;
}
static void line_end(int fd, const pm_process *p) {
  guest *g = (guest *)pm_process_user(p);
  char start[32];
  if (!g || !g->line[fd - 1].bytes) return;
  const int n = snprintf(start, sizeof start, "[%d] ", pm_process_rank(p)),
            bytes = g->line[fd - 1].bytes;
  write_all(fd, start, (size_t)n);
  write_all(fd, g->line[fd - 1].text, (size_t)bytes);
  if (g->line[fd - 1].text[bytes - 1] != '\n') write_all(fd, "\n", 1);
  g->line[fd - 1].bytes = 0;
}
static void write_lines(int fd, const pm_process *p, const char *text, size_t bytes) {
  guest *g = p ? (guest *)pm_process_user(p) : NULL;
  if (!g) {
    write_all(fd, text, bytes);
    return;
  }
  for (size_t i = 0; i < bytes; i++) {
    void *array = g->line[fd - 1].text;
    if (!pm__grow(&array, &g->line[fd - 1].max, g->line[fd - 1].bytes + 1, 1)) return;
    g->line[fd - 1].text = (char *)array;
    g->line[fd - 1].text[g->line[fd - 1].bytes++] = text[i];
    if (text[i] == '\n') line_end(fd, p);
  }
}
ssize_t write(int fd, const void *text, size_t bytes) {
  if (!prefix || !pm_self() || (fd != 1 && fd != 2)) return syscall(SYS_write, fd, text, bytes);
  fflush(stdout);
  write_lines(fd, pm_self(), (const char *)text, bytes);
  return (ssize_t)bytes;
}
static ssize_t write_stream(void *fd, const char *text, size_t bytes) {
  write_lines((int)(intptr_t)fd, writer, text, bytes);
  return (ssize_t)bytes;
}
static void switched(void *unused, pm_process *to) {
  (void)unused;
  if (prefix) fflush(stdout);
  writer = to;
}
static void prefix_lines(void) {
  const cookie_io_functions_t io = {NULL, write_stream, NULL, NULL};
  FILE *out = fopencookie((void *)(intptr_t)1, "w", io),
       *err = fopencookie((void *)(intptr_t)2, "w", io);
  if (!out || !err) return;
  setvbuf(err, NULL, _IONBF, 0);
  stdout = out;
  stderr = err;
  prefix = 1;
}

/* ---- spins: a guest that runs on and on in its own code is made to yield ---------------------------- */
static struct { char *from, *to; } * code; /* where the guests' own code lies */
static int code_count, code_max, spin_ticks_max;
enum { TICK_MS = 10 };
static int is_guest_code(const void *at) {
  for (int i = 0; i < code_count; i++)
    if ((const char *)at >= code[i].from && (const char *)at < code[i].to) return 1;
  return 0;
}
static const void *code_at(const ucontext_t *c) {
#if defined(__x86_64__)
  return (const void *)(uintptr_t)c->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
  return (const void *)(uintptr_t)c->uc_mcontext.pc;
#else
  return (void)c, NULL;
#endif
}
/* Inside of a library it may hold a lock: then not now. The signal's frame lies on the guest's own
   stack, so the guest may be left here and come back. */
static void tick(int signal, siginfo_t *info, void *context) {
  static uint64_t seen;
  static int ticks;
  const int error = errno;
  (void)signal;
  (void)info;
  if (!pm_self()) return;
  const pm_world *world = pm_world_of(pm_self());
  pm_stats s = pm_world_stats(world);
  const uint64_t now = s.switches_count + s.events_count + (uint64_t)pm_now_ns();
  ticks = now == seen ? ticks + 1 : 0;
  seen = now;
  if (ticks < spin_ticks_max || !is_guest_code(code_at((const ucontext_t *)context))) return;
  for (int i = 0; i < 1000 && pm_world_stats(world).hash_id == s.hash_id; i++) pm_yield();
  s = pm_world_stats(world);
  seen = s.switches_count + s.events_count + (uint64_t)pm_now_ns();
  ticks = spin_ticks_max - 1; /* found spinning once: at once the next time */
  errno = error;
}
static void spin_watch(int spin_ms) {
  struct sigaction act;
  const struct itimerval every = {{0, TICK_MS * 1000}, {0, TICK_MS * 1000}};
  memset(&act, 0, sizeof act);
  spin_ticks_max = spin_ms / TICK_MS > 1 ? spin_ms / TICK_MS : 1;
  act.sa_sigaction = tick;
  act.sa_flags = SA_SIGINFO | SA_RESTART | SA_NODEFER;
  sigaction(SIGVTALRM, &act, NULL);
  setitimer(ITIMER_VIRTUAL, &every, NULL);
}

/* ---- the run ----------------------------------------------------------------------------------------- */
static void process(void *arg) {
  const guest *g = (const guest *)arg;
  pm_exit(g->main(g->argc, g->argv, environ));
}
/* The segments with code of a guest that was just loaded. */
static int note_code(struct dl_phdr_info *info, size_t size, void *address) {
  (void)size;
  if (info->dlpi_addr != *(const uintptr_t *)address) return 0;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *h = &info->dlpi_phdr[i];
    void *array = code;
    if (h->p_type != PT_LOAD || !(h->p_flags & PF_X) ||
        !pm__grow(&array, &code_max, code_count + 1, sizeof *code))
      continue;
    code = array;
    code[code_count].from = (char *)(uintptr_t)(info->dlpi_addr + h->p_vaddr);
    code[code_count].to = code[code_count].from + h->p_memsz;
    code_count++;
  }
  return 1;
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
  Dl_info info;
  if (g->main && dladdr(*(void **)(void *)&g->main, &info)) {
    uintptr_t address = (uintptr_t)info.dli_fbase;
    dl_iterate_phdr(note_code, &address);
  }
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
static double ratio(const char *option, const char *text) {
  char *end = NULL;
  const double x = text ? strtod(text, &end) : 0;
  if (text && *text && !*end && x >= 0 && x <= 1e9) return x;
  fprintf(stderr, "pm_run: %s: a number of 0 ... 1e9 expected\n", option);
  exit(2);
}
static const char usage[] =
    "usage: pm_run -n N [options] ./program.so arguments...\n"
    "Runs a Portals 4 program (built with -shared -fPIC) as N processes of a simulated machine.\n"
    "  -n N             processes (1)\n"
    "  --per-node N     processes per node (1)\n"
    "  --platform FILE  the machine (a bxi2 with as many nodes as needed)\n"
    "  --level L[,L@US]... how messages move: flow, loggp or rtl; L@US: from US microseconds on "
    "(flow)\n"
    "  --seed N         of faults and noise (0)\n"
    "  --trace FILE     every step of every message: .csv, .html (sequence diagram) or .json "
    "(Chrome)\n"
    "  --compute RATIO  CPU time between calls, measured on the host, times RATIO (0: takes none)\n"
    "  --prefix         \"[rank] \" before each line that a process writes\n"
    "  --stack KIB      stack of each process (256)\n"
    "  --time-limit S   simulated seconds\n"
    "  --spin MS        CPU time without a call after which time passes for a process (100; 0: "
    "never)\n"
    "Exit status: the largest of the processes; 100: deadlock, crash, time limit, abort; 2: bad "
    "call.";
/* "LEVEL[,LEVEL@MICROSECONDS]..." */
static void levels(const char *text, settings *s) {
  static const struct { const char *name; pm_link_model link; } known[] = {
      {"flow", PM_LINK_FLOW}, {"loggp", PM_LINK_LOGGP}, {"rtl", PM_LINK_CARRIER}};
  const char *why = NULL;
  int n = 0;
  for (; text && !why; n++) {
    const size_t bytes = strcspn(text, ",@");
    size_t k = 0;
    while (k < 3 && (strlen(known[k].name) != bytes || memcmp(text, known[k].name, bytes) != 0)) k++;
    double t_us = 0;
    char *end = (char *)(uintptr_t)(text + bytes);
    if (*end == '@') t_us = strtod(end + 1, &end);
    why = k == 3 ? "levels are flow, loggp and rtl"
          : (*end && *end != ',') || !(t_us >= 0 && t_us <= 1e12)
              ? "LEVEL or LEVEL@MICROSECONDS expected, with commas between"
          : n == 0 && t_us > 0 ? "the first level holds from the beginning"
          : n > 0 && (int64_t)(t_us * 1000) <= s->phases[n - 1].t_ns ? "times must grow"
          : n == MAX_PHASES ? "too many"
                                              : NULL;
#ifndef WITH_RTL
    if (!why && known[k].link == PM_LINK_CARRIER)
      why = "rtl is missing here: install Verilator and make build/pm_run again";
#endif
    if (!why) s->phases[n].link = known[k].link, s->phases[n].t_ns = (int64_t)(t_us * 1000);
    text = *end ? end + 1 : NULL;
  }
  s->desc.link_phases = s->phases;
  s->desc.link_phases_count = n;
  if (!why) return;
  fprintf(stderr, "pm_run: --level: %s\n", why);
  exit(2);
}
/* ret index of the program's name */
static int options(int argc, char **argv, settings *s) {
  int i;
  for (i = 1; i < argc && argv[i][0] == '-'; i++) {
    const char *o = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
    if (strcmp(o, "--help") == 0) {
      puts(usage);
      exit(0);
    }
    if (strcmp(o, "--prefix") == 0) {
      s->prefix = 1;
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
    else if (strcmp(o, "--compute") == 0)
      s->desc.compute_ratio = ratio(o, value);
    else if (strcmp(o, "--spin") == 0)
      s->spin_ms = (int)number(o, value, 0, 1000000);
    else if (strcmp(o, "--level") == 0 && value)
      levels(value, s);
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
  s.desc.switched = switched;
  s.spin_ms = 100;
  const int at = options(argc, argv, &s), nodes = (s.processes + s.per_node - 1) / s.per_node;
  if (at >= argc) return fprintf(stderr, "pm_run: no program; --help lists the options\n"), 2;
  platform = pm_platform_bxi2(nodes);
  if (s.platform && pm_platform_load(s.platform, &platform, error, sizeof error))
    return fprintf(stderr, "pm_run: %s: %s\n", s.platform, error), 2;
  if (platform.nodes_count < nodes)
    return fprintf(stderr, "pm_run: the platform has %d nodes, %d are needed\n",
                   (int)platform.nodes_count, nodes),
           2;
  s.desc.platform = &platform;
  s.desc.trace = s.trace != NULL;
  const char *why = "out of memory";
#ifdef WITH_RTL
  for (int i = 0; i < s.desc.link_phases_count; i++)
    if (s.phases[i].link == PM_LINK_CARRIER && !rtl && (rtl = pm_rtl_create()) != NULL) {
      s.desc.carrier = pm_rtl_carrier(rtl);
      why = pm_rtl_error(rtl);
    }
#endif
  if (pm_world_create(&s.desc, &world)) return fprintf(stderr, "pm_run: %s\n", why), 2;
  guest *guests = (guest *)calloc((size_t)s.processes, sizeof *guests);
  for (int i = 0; guests && i < s.processes; i++) {
    guests[i].argc = argc - at;
    guests[i].argv = argv + at;
    pm_process *p;
    if (!load(argv[at], &guests[i]) || pm_spawn(world, i / s.per_node, process, &guests[i], &p))
      return 2;
    pm_process_set_user(p, &guests[i]);
  }
  if (s.prefix) prefix_lines();
  if (s.spin_ms) spin_watch(s.spin_ms);
  const pm_status status = pm_world_run(world);
  int result = 0;
  fflush(stdout);
  writer = NULL;
  setitimer(ITIMER_VIRTUAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
  for (int i = 0; i < s.processes; i++) {
    const pm_process *p = pm_process_at(world, i);
    const int code_of_it = pm_process_status(p) & 0xFF;
    line_end(1, p);
    line_end(2, p);
    if (code_of_it) fprintf(stderr, "pm_run: process %d ended with status %d\n", i, code_of_it);
    if (code_of_it > result) result = code_of_it;
  }
  if (s.trace) write_trace(world, s.trace);
  if (status)
    fprintf(stderr, "pm_run: %s: %s\n", pm_status_text(status), pm_world_error(world));
  else
    fprintf(stderr, "pm_run: %d processes, %.3f us simulated\n", s.processes,
            (double)pm_world_now_ns(world) / 1e3);
  pm_world_destroy(world);
#ifdef WITH_RTL
  pm_rtl_destroy(rtl);
#endif
  pm_platform_free(&platform);
  return status ? 100 : result;
}
