/* Question: what does my program do on so many nodes of such a machine?

   Run:      build/pm_run -n 16 [options] ./program arguments...          (--help lists the options)
             cc -Ibuild/include program.c -o program -Lbuild/lib -lportals -lpmi
             (when installed: $(pkg-config --cflags portals_model) instead of -Ibuild/include)
   Expected: what the program prints, then one line with the simulated time, and on stderr who ended
             with another status than 0. Exit status: the largest of the processes; what PMI_Abort or MPI_Abort was
             given; 100 when the run itself failed (deadlock, crash, time limit), with who and when
             on stderr and the trace written; 2 for a bad call, a full disk.

   The program is an ordinary executable (dynamically linked, any language), a script of one (of Python, R ...), or a
   shared object with a main. What it needs of Portals, PMI and MPI it finds here, whatever library it was linked
   with; a function that is missing is named when the program is loaded. Each process has its own
   copy of all variables: of the program, of its libraries (opened later too) but libc, thread-local ones; and of libc's
   environment, getopt, errno, stdout, stdin (of process 0, empty for the others), descriptors 0 to 2, exit handlers,
   random numbers, strtok, hsearch, working directory, umask, locale, time zone, limits, locks of files, conversions of printf, signal
   handlers (crashes, signals to oneself).
   Shared by all, as in threads of one process: results in static memory (strerror, getpwnam), half-read characters
   (mbrtowc without a state), the numbers of
   other descriptors, of which each process has those that it opened. Clocks, sleeps, sched_yield, threads (pthreads, C11, futexes),
   semaphores, poll, select, epoll, timerfd, pipes and sockets are of simulated time; gethostname says node0, node1 ...; exit ends one
   process. A spin on memory is noticed by the host's clock, so its simulated time differs a little
   from run to run. Commands (system, popen) run on the host in no simulated time. Refused with a
   sentence: fork, exec, posix_spawn. */
#include "guest.h"
#define NBC_PIECES
#include "src/base/text.h"
#include "tools/output.h"
#ifdef WITH_RTL /* the Makefile found Verilator */
#  include "rtl/pm_rtl.h"
static pm_rtl *rtl;
static pm_rtl_wave wave;
#endif
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_PHASES = 64 };
static struct {
  int processes, per_node, spin_ms, prefix;
  const char *platform, *trace;
  pm_world_desc desc;
  pm_link_phase phases[MAX_PHASES];
} s;
static pm_platform platform;
extern char **environ;

/* ---- parts ------------------------------------------------------------------------------------------- */
static guest_part *parts;
static size_t guest_bytes; /* a guest and the states of all parts */
static char *guests;
static struct replacement {
  const char *name;
  void *function;
  bool is_wanted; /* somebody asked for it */
} * replacements;
static int replacement_count, replacements_max;

void guest_part_add(guest_part *part) {
  guest_part **at = &parts;
  while (*at) at = &(*at)->next;
  *at = part;
}
void guest_replace(const char *name, void *function) {
  if (replacement_count == replacements_max) {
    replacements_max = replacements_max ? replacements_max * 2 : 64;
    replacements = (struct replacement *)realloc(replacements,
                                                 (size_t)replacements_max * sizeof *replacements);
    if (!replacements) guest_refuse("out of memory");
  }
  replacements[replacement_count++] = (struct replacement){name, function, false};
}
static struct replacement *replacement_of(const char *name) {
  for (int i = 0; i < replacement_count; i++)
    if (strcmp(replacements[i].name, name) == 0) return &replacements[i];
  return NULL;
}
void *guest__replacement(const char *name) {
  struct replacement *r = replacement_of(name);
  if (r) r->is_wanted = true;
  return r ? r->function : NULL;
}
bool guest_replaces(const char *name) {
  const struct replacement *r = replacement_of(name);
  return r && r->is_wanted;
}
guest *guest_at(int rank) {
  return rank >= 0 && rank < s.processes ? (guest *)(void *)(guests + guest_bytes * (size_t)rank)
                                         : NULL;
}
void *guest_state_of(const guest *g, const guest_part *part) {
  return g ? (char *)(uintptr_t)g + part->state_offset : NULL;
}
int guest_count(void) { return s.processes; }
int guest_per_node(void) { return s.per_node; }
const pm_platform *guest_platform(void) { return &platform; }
void guest__parts_end(guest *g, int status);
void guest__parts_end(guest *g, int status) {
  for (guest_part *p = parts; p; p = p->next)
    if (p->process_end) p->process_end(g, status);
}

/* ---- what is refused, what is said -------------------------------------------------------------------- */
void guest_refuse(const char *format, ...) {
  va_list args;
  fputs("pm_run: ", stderr);
  va_start(args, format);
  vfprintf(stderr, format, args);
  va_end(args);
  fputc('\n', stderr);
  _exit(2);
}
void guest_refuse_line(const char *option, const char *path, int line, const char *format, ...) {
  va_list args;
  fprintf(stderr, "pm_run: %s: %s, line %d: ", option, path, line);
  va_start(args, format);
  vfprintf(stderr, format, args);
  va_end(args);
  fputc('\n', stderr);
  _exit(2);
}
void guest_say_once(const char *what, const char *text) {
  static const char *said[64];
  int i = 0;
  while (i < 64 && said[i] && strcmp(said[i], what) != 0) i++;
  if (i == 64 || said[i]) return;
  said[i] = what;
  fprintf(stderr, "pm_run: process %d: %s\n", pm_rank(), text);
}
static void (*stamped[8])(void *, const pm_stamp *);
static void tell_stamp(void *unused, const pm_stamp *stamp) {
  for (int i = 0; i < 8 && stamped[i]; i++) stamped[i](unused, stamp);
}
void guest_on_stamp(pm_world *world, void (*fn)(void *, const pm_stamp *)) {
  int i = 0;
  while (i < 7 && stamped[i]) i++;
  stamped[i] = fn;
  pm_on_stamp(world, tell_stamp, NULL);
}
static struct {
  bool is_set;
  int status;
  char text[1024];
} aborted;
void guest_end_run(pm_world *world, int status, const char *text) {
  if (!aborted.is_set) {
    aborted.is_set = 1;
    aborted.status = status & 0xFF;
    snprintf(aborted.text, sizeof aborted.text, "%s", text);
  }
  pm_world_fail(world, PM_E_STATE, text);
}
void guest_abort(int status, const char *text) {
  guest_end_run(pm_world_of(pm_self()), status, text);
  for (;;) pm_exit(status);
}

/* ---- options ------------------------------------------------------------------------------------------- */
static struct { const char *option, *path; } file_of_all; /* that each run of a sweep would write */
void guest__files_of_all_refuse(void) {
  if (file_of_all.path)
    guest_refuse("%s: %s: each run would write it; {row} in its name stands for the run's number",
                 file_of_all.option, file_of_all.path);
}
void guest_is_of_all(const char *option, const char *path) {
  if (!strchr(path, '{')) file_of_all.option = option, file_of_all.path = path;
}
static bool is_of_kind(const char *path, const char *kinds) {
  const size_t all = strlen(path);
  for (const char *kind = kinds; (kind = strchr(kind, '.')); kind++) {
    const size_t bytes = strcspn(kind, ", ");
    if (all > bytes && strncmp(path + all - bytes, kind, bytes) == 0) return true;
  }
  return false;
}
const char *guest_to_write(const char *option, const char *path, const char *kinds) {
  char folder[4096];
  struct stat about;
  const char *slash = strrchr(path, '/');
  if (strchr(path, '{')) return path; /* of a sweep: asked again when it is known */
  if (kinds && !is_of_kind(path, kinds))
    guest_refuse("%s: %s: a name that ends with %s expected", option, path, kinds);
  snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path + 1) : 1, slash ? path : ".");
  const bool is_there = stat(path, &about) == 0;
  if (is_there && S_ISDIR(about.st_mode))
    errno = EISDIR;
  else if (access(is_there ? path : folder, W_OK) == 0) {
    if (!is_there || S_ISREG(about.st_mode)) guest_is_of_all(option, path);
    return path;
  }
  guest_refuse("%s: %s: %s", option, path, strerror(errno));
}
FILE *guest_output(const char *path) { return output_create(path); }
bool guest_output_close(FILE *out, const char *path) { return output_close(out, path); }
bool guest_line(const char *option, const char *path, FILE *in, char *line, size_t max_bytes,
                int *number) {
  memset(line, 1, max_bytes);
  if (!fgets(line, (int)max_bytes, in)) {
    if (ferror(in)) guest_refuse("%s: %s: %s", option, path, strerror(errno)); /* a folder, too */
    return false;
  }
  ++*number;
  if (strlen(line) == max_bytes - 1 && line[max_bytes - 2] != '\n')
    guest_refuse("%s: %s, line %d: longer than %zu letters", option, path, *number, max_bytes - 2);
  /* fgets leaves no sign of a zero but what stands behind it. */
  if (!feof(in) && !strchr(line, '\n'))
    guest_refuse("%s: %s, line %d: a letter of code 0", option, path, *number);
  line[strcspn(line, "#\n")] = 0;
  return true;
}
int64_t guest_number(const char *option, const char *text, int64_t least, int64_t most) {
  char *end = NULL;
  errno = 0;
  const long long n = text ? strtoll(text, &end, 10) : 0;
  if (text && *text && !*end && !errno && n >= least && n <= most) return n;
  guest_refuse("%s: a number of %lld ... %lld expected", option, (long long)least, (long long)most);
}
double guest_real(const char *option, const char *text, double least, double most) {
  double x = -1;
  const char *const end = text ? nbc__text_number(text, text + strlen(text), &x) : NULL;
  if (end && !*end && x >= least && x <= most) return x;
  guest_refuse("%s: a number of %g ... %g expected", option, least, most);
}
double guest_ratio(const char *option, const char *text) {
  return guest_real(option, text, 0, 1e9);
}
/* "LEVEL[,LEVEL@MICROSECONDS]..." */
static void levels(const char *option, const char *text) {
  (void)option;
  static const struct {
    const char *name;
    pm_link_model link;
  } known[] = {{"flow", PM_LINK_FLOW},
               {"loggp", PM_LINK_LOGGP},
               {"packet", PM_LINK_PACKET},
               {"rtl", PM_LINK_CARRIER}};
  const size_t level_count = sizeof known / sizeof *known;
  const char *why = NULL;
  int n = 0;
  for (; text && !why; n++) {
    const size_t bytes = strcspn(text, ",@");
    size_t k = 0;
    while (k < level_count &&
           (strlen(known[k].name) != bytes || memcmp(text, known[k].name, bytes) != 0))
      k++;
    double t_us = 0;
    const char *end = text + bytes;
    if (*end == '@') end = nbc__text_number(end + 1, text + strlen(text), &t_us);
    why = k == level_count ? "levels are flow, loggp, packet and rtl"
          : !end || (*end && *end != ',') || !(t_us >= 0 && t_us <= 1e12)
              ? "LEVEL or LEVEL@MICROSECONDS expected, with commas between"
          : n == 0 && t_us > 0 ? "the first level holds from the beginning"
          : n > 0 && (int64_t)(t_us * 1000) <= s.phases[n - 1].t_ns ? "times must grow"
          : n == MAX_PHASES                                         ? "too many"
                                                                    : NULL;
#ifndef WITH_RTL
    if (!why && known[k].link == PM_LINK_CARRIER)
      why = "rtl is missing here: install Verilator and make build/pm_run again";
#endif
    if (!why) s.phases[n].link = known[k].link, s.phases[n].t_ns = (int64_t)(t_us * 1000);
    text = end && *end ? end + 1 : NULL;
  }
  s.desc.link_phases = s.phases;
  s.desc.link_phase_count = n;
  if (!why) return;
  guest_refuse("--level: %s", why);
}
static void tell_of_loggp(void) {
  for (int i = 0; i < s.desc.link_phase_count; i++)
    if (s.phases[i].link == PM_LINK_LOGGP && pm_platform_lacks_loggp(&platform)) {
      fputs(
          "pm_run: --level loggp: the platform has no keys loggp_...: messages take a BXI's times, "
          "whatever its links say\n",
          stderr);
      return;
    }
}
static void set_processes(const char *o, const char *v) {
  s.processes = (int)guest_number(o, v, 1, 1000000);
}
static void set_per_node(const char *o, const char *v) {
  s.per_node = (int)guest_number(o, v, 1, 65535);
}
static void set_seed(const char *o, const char *v) {
  s.desc.seed = (uint64_t)guest_number(o, v, 0, INT64_MAX);
}
static void set_stack(const char *o, const char *v) {
  s.desc.stack_bytes = (size_t)guest_number(o, v, 16, 1 << 20) * 1024;
}
static void set_limit(const char *o, const char *v) {
  s.desc.d_limit_ns = (int64_t)(guest_real(o, v, 1e-9, 1e6) * 1e9 + 0.5);
}
static void set_compute(const char *o, const char *v) { s.desc.compute_ratio = guest_ratio(o, v); }
static void set_spin(const char *o, const char *v) {
  s.spin_ms = (int)guest_number(o, v, 0, 1000000);
}
static void set_platform(const char *o, const char *v) { (void)o, s.platform = v; }
static void set_trace(const char *o, const char *v) {
  s.trace = guest_to_write(o, v, ".csv, .html, .json or .paje");
}
static void set_wave(const char *o, const char *v) {
#ifdef WITH_RTL
  const char *why = pm_rtl_wave_read(&wave, v);
#else
  const char *why = "rtl is missing here: install Verilator and make build/pm_run again";
  (void)v;
#endif
  if (why) guest_refuse("%s: %s", o, why);
}
static void set_prefix(const char *o, const char *v) { (void)o, (void)v, s.prefix = 1; }
static const guest_option own_options[] = {
    {"-n", "N", "processes (1)", set_processes},
    {"--per-node", "N", "processes per node (1)", set_per_node},
    {"--platform", "FILE", "the machine (a bxi2 with as many nodes as needed)", set_platform},
    {"--level", "L[,L@US]...",
     "how messages move: flow, loggp, packet or rtl; L@US: from US microseconds on (flow)", levels},
    {"--seed", "N", "of faults and noise (0)", set_seed},
    {"--trace", "FILE",
     "every step of every message and every MPI call: .csv, .html (sequence diagram), .paje (ViTE) "
     "or .json (Chrome)",
     set_trace},
    {"--wave", "FILE.vcd[,nic=N]...[,from=US][,until=US]",
     "with --level rtl: what goes on inside of these NICs, for gtkwave (nic 0, from the beginning, "
     "to the end); FILE.fst: the same, much smaller",
     set_wave},
    {"--compute", "RATIO",
     "CPU time between calls, measured on the host, times RATIO (0: takes none)", set_compute},
    {"--prefix", NULL, "\"[rank] \" before each line that a process writes", set_prefix},
    {"--stack", "KIB", "stack of each process (8192; from 4,097 processes on 256)", set_stack},
    {"--time-limit", "S", "simulated seconds, 1e-9 ... 1e6", set_limit},
    {"--spin", "MS",
     "CPU time without a call after which time passes for a process (100; 0: never, and simulated "
     "times do not depend on the host)",
     set_spin},
    {NULL, NULL, NULL, NULL}};
static guest_part own = {.name = "pm_run", .options = own_options};

static void usage(void) {
  enum { HELP_COLUMN = 24 };
  puts("usage: pm_run -n N [options] program arguments...\n"
       "       pm_run --version\n"
       "Runs a program as N processes of a simulated machine.");
  for (const guest_part *p = &own; p; p = p == &own ? parts : p->next)
    for (const guest_option *o = p->options; o && o->name; o++)
      output_option(o->name, o->value, o->help, HELP_COLUMN);
  puts("SIGQUIT (Ctrl-\\) says on stderr who waits for what, and the run goes on; SIGINT (Ctrl-C) "
       "and SIGTERM end it with\n"
       "all that is written at its end.\n"
       "Exit status: the largest of the processes; 100: deadlock, crash, time limit; 2: bad call.");
}
const guest_option *guest__option_named(const char *name) {
  for (const guest_part *p = &own; p; p = p == &own ? parts : p->next)
    for (const guest_option *o = p->options; o && o->name; o++)
      if (strcmp(o->name, name) == 0) return o;
  return NULL;
}
/* ret index of the program's name */
static int options(int argc, char **argv) {
  int i;
  bool is_sweep = false;
  for (i = 1; i < argc && argv[i][0] == '-'; i++) {
    if (strcmp(argv[i], "--help") == 0) {
      usage();
      exit(0);
    }
    if (strcmp(argv[i], "--version") == 0) {
      puts("pm_run of nbc_overlap " PM_VERSION_STRING);
      exit(0);
    }
    const guest_option *o = guest__option_named(argv[i]);
    if (!o) guest_refuse("%s: unknown option; --help lists them", argv[i]);
    if (o->value && i + 1 == argc) guest_refuse("%s: its value is missing", o->name);
    if (o->value) i++;
    is_sweep |= strcmp(o->name, "--sweep") == 0;
    if (is_sweep && o->value && strchr(argv[i], '{')) continue; /* each run of it has its own */
    o->set(o->name, o->value ? argv[i] : NULL);
  }
  return i;
}

/* ---- the run ----------------------------------------------------------------------------------------- */
/* What launchers tell their processes, as SLURM, Open MPI and MPICH name it: Debian's h5py asks for these two to know
   whether MPI is used at all. NBC_SHARED_MEMORY: messages that go past the
   simulated MPI would take no time. */
enum { OWN_VARIABLES = 32, OWN_BYTES = 1536 };
static void environment(const guest *g, char **list, char *room) {
  const int rank = pm_process_rank(g->process), node = rank / s.per_node,
            nodes = (s.processes + s.per_node - 1) / s.per_node;
  const int first = node * s.per_node,
            here = s.processes - first < s.per_node ? s.processes - first : s.per_node;
  const struct {
    const char *name;
    int value;
  } mine[] = {{"PMI_RANK", rank},
              {"PMI_SIZE", s.processes},
              {"SLURM_PROCID", rank},
              {"SLURM_NTASKS", s.processes},
              {"SLURM_NPROCS", s.processes},
              {"SLURM_LOCALID", rank - first},
              {"SLURM_NODEID", node},
              {"SLURM_NNODES", nodes},
              {"SLURM_JOB_NUM_NODES", nodes},
              {"SLURM_STEP_NUM_NODES", nodes},
              {"SLURM_STEP_NUM_TASKS", s.processes},
              {"SLURM_STEP_ID", 0},
              {"SLURM_STEPID", 0},
              {"SLURM_JOB_ID", 1},
              {"SLURM_JOBID", 1},
              {"SLURM_TASKS_PER_NODE", here},
              {"OMPI_COMM_WORLD_RANK", rank},
              {"OMPI_COMM_WORLD_SIZE", s.processes},
              {"OMPI_COMM_WORLD_LOCAL_RANK", rank - first},
              {"OMPI_COMM_WORLD_LOCAL_SIZE", here},
              {"OMPI_COMM_WORLD_NODE_RANK", rank - first},
              {"MPI_LOCALRANKID", rank - first},
              {"MPI_LOCALNRANKS", here},
              {"NBC_SHARED_MEMORY", 0}};
  char *const end = room + OWN_BYTES;
  char **to = list;
  for (char **e = environ; *e; e++)
    if (strncmp(*e, "SLURM_", 6) != 0 && strncmp(*e, "PMI_", 4) != 0 &&
        strncmp(*e, "PMIX_", 5) != 0 && strncmp(*e, "OMPI_COMM_WORLD_", 16) != 0)
      *to++ = *e;
  for (size_t i = 0; i < sizeof mine / sizeof *mine; i++) {
    *to++ = room;
    room += 1 + snprintf(room, (size_t)(end - room), "%s=%d", mine[i].name, mine[i].value);
  }
  for (int i = 0; i < 2; i++) {
    *to++ = room;
    room += 1 + snprintf(room, (size_t)(end - room), nodes > 1 ? "%s=node[0-%d]" : "%s=node%d",
                         i ? "SLURM_JOB_NODELIST" : "SLURM_NODELIST", nodes - 1);
  }
  *to = NULL;
}
static void process(void *arg) {
  guest *g = (guest *)arg;
  size_t count = OWN_VARIABLES;
  for (char **e = environ; *e; e++) count++;
  char **list = (char **)__builtin_alloca(count * sizeof *list);
  environment(g, list, (char *)__builtin_alloca(OWN_BYTES));
  *(char ***)guest_variable_at(g, GUEST_ENVIRON) = list;
  char **own_argv = (char **)__builtin_alloca(((size_t)g->argc + 1) *
                                              sizeof *own_argv); /* a program may write there */
  for (int i = 0; i < g->argc; i++) {
    own_argv[i] = (char *)__builtin_alloca(strlen(g->argv[i]) + 1);
    strcpy(own_argv[i], g->argv[i]);
  }
  own_argv[g->argc] = NULL;
  g->argv = own_argv;
  for (guest_part *p = parts; p; p = p->next)
    if (p->process_begin) p->process_begin(g);
  g->first.thread = pm_thread_self();
  g->has_begun = 1;
  guest_enter(g);
}
static void make_guests(pm_world *world, int argc, char **argv) {
  guest_bytes = sizeof(guest);
  for (guest_part *p = parts; p; p = p->next) {
    guest_bytes = (guest_bytes + 63) / 64 * 64;
    p->state_offset = guest_bytes;
    guest_bytes += p->state_bytes;
  }
  guest_bytes = (guest_bytes + 63) / 64 * 64;
  guests = (char *)calloc((size_t)s.processes, guest_bytes);
  if (!guests) guest_refuse("out of memory");
  for (int i = 0; i < s.processes; i++) {
    guest *g = guest_at(i);
    g->argc = argc;
    g->argv = argv;
    g->cwd_fd = g->umask = g->opened = -1;
    g->image = guest_load_copy(i);
    guest_context_begin(g, &g->first);
    if (pm_spawn(world, i / s.per_node, process, g, &g->process))
      guest_refuse("process %d: out of memory", i);
    pm_process_set_user(g->process, g);
    pm_process_set_uid(g->process, (uint32_t)geteuid()); /* whom programs let in */
    guest_output_process(g);
    *(char **)guest_variable_at(g, GUEST_PROGNAME) = argv[0];
    *(char **)guest_variable_at(g, GUEST_PROGNAME_SHORT) =
        strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
    *(int *)guest_variable_at(g, GUEST_OPTIND) = *(int *)guest_variable_at(g, GUEST_OPTERR) = 1;
  }
}
static int write_trace(const pm_world *world, const char *path) {
  const char *dot = strrchr(path, '.');
  FILE *out = output_create(path);
  if (!out) return 0;
  const pm_status status = dot && strcmp(dot, ".csv") == 0    ? pm_trace_write_csv(world, out)
                           : dot && strcmp(dot, ".html") == 0 ? pm_trace_write_html(world, out)
                           : dot && strcmp(dot, ".paje") == 0 ? pm_trace_write_paje(world, out)
                                                              : pm_trace_write_json(world, out);
  const bool is_whole = output_close(out, path);
  if (status && status != PM_E_IO)
    fprintf(stderr, "pm_run: %s: %s\n", path, pm_status_text(status));
  return is_whole && !status;
}
/* All processes and pm_run have one heap. When the run is over and libc finds that it is hurt, what is known of the run is
   said, by what needs no heap; nothing else can be. */
static struct {
  const pm_world *world;
  pm_status status;
  bool is_told; /* how the run ended */
} end = {.status = PM_E_CRASH};
static void say_of_hurt_heap(int number) {
  char text[1024];
  int n = 0;
  (void)number;
  if (!end.is_told && *pm_world_error(end.world))
    n = snprintf(text, sizeof text, "pm_run: %s: %s\n", pm_status_text(end.status),
                 pm_world_error(end.world));
  n = n < (int)sizeof text ? n : (int)sizeof text - 1;
  n += snprintf(
      text + n, sizeof text - (size_t)n,
      "pm_run: a process wrote beyond its memory, or freed what is not to be freed: what is "
      "written at the end of a run cannot be\n");
  n = n < (int)sizeof text ? n : (int)sizeof text - 1;
  const ssize_t unused = write(STDERR_FILENO, text, (size_t)n);
  (void)unused;
  _exit(100);
}
/* ret exit status */
static int report(pm_world *world, pm_status status) {
  int result = 0;
  if (aborted.is_set || status) guest_output_rescue();
  for (int i = 0; i < s.processes; i++) {
    guest *g = guest_at(i);
    const int code = pm_process_status(g->process) & 0xFF;
    guest_descriptors_switch(g);
    guest_output_end(g);
    guest_descriptors_switch(NULL);
    if (aborted.is_set) continue;
    if (status && g->bound && g->end && !code)
      fprintf(stderr, "pm_run: process %d ended between %s\n", i, g->bound);
    if (code) fprintf(stderr, "pm_run: process %d ended with status %d\n", i, code);
    if (code > result) result = code;
  }
  if (aborted.is_set) {
    fprintf(stderr, "pm_run: %s\n", aborted.text);
    result = aborted.status;
  } else if (status) {
    fprintf(stderr, "pm_run: %s: %s\n", pm_status_text(status), pm_world_error(world));
    result = 100;
  } else
    fprintf(stderr, "pm_run: %d processes, %.3f us simulated\n", s.processes,
            (double)pm_world_now_ns(world) / 1e3);
  end.is_told = true;
  if (s.trace && !write_trace(world, s.trace) && !status) result = 2;
  if (guest_output_failed() && !result) result = 2;
  for (guest_part *p = parts; p; p = p->next)
    if (p->finish) result = p->finish(world, result);
  return result;
}

int main(int argc, char **argv) {
  char error[256];
  pm_world *world;
  output_begin("pm_run");
  s.processes = s.per_node = 1;
  s.desc.catch_crashes = 1;
  s.desc.switched = guest_switched;
  s.spin_ms = 100;
  const int at = options(argc, argv);
  if (at >= argc) guest_refuse("no program; --help lists the options");
  guest__sweep(argc, argv, at);
  const int nodes = (s.processes + s.per_node - 1) / s.per_node;
  if (!s.desc.stack_bytes) s.desc.stack_bytes = (size_t)(s.processes > 4096 ? 256 : 8192) * 1024;
  platform = pm_platform_bxi2(nodes);
  if (s.platform && pm_platform_load(s.platform, &platform, error, sizeof error))
    guest_refuse("%s", error);
  guest__sweep_platform(&platform);
  if (platform.node_count < nodes)
    guest_refuse("the platform has %d nodes, %d are needed", (int)platform.node_count, nodes);
  tell_of_loggp();
  s.desc.platform = &platform;
  s.desc.trace = s.trace != NULL;
  const char *why = "";
#ifdef WITH_RTL
  for (int i = 0; i < s.desc.link_phase_count; i++)
    if (s.phases[i].link == PM_LINK_CARRIER && !rtl && (rtl = pm_rtl_create()) != NULL) {
      s.desc.carrier = pm_rtl_carrier(rtl);
      why = pm_rtl_error(rtl);
      pm_rtl_set_wave(rtl, &wave);
    }
  if (wave.nics && !rtl) guest_refuse("--wave: only --level rtl has NICs to look into");
#endif
  int program_argc = argc - at;
  char **program_argv = guest_script(&program_argc, argv + at);
  guest_load(program_argv[0], s.processes);
  for (guest_part *p = parts; p; p = p->next)
    if (p->settings) p->settings(&s.desc, &platform);
  const pm_status made = pm_world_create(&s.desc, &world);
  if (made == PM_E_PLATFORM && s.desc.carrier && !*why) /* it has been checked when it was read */
    why = "--level rtl: cables have their bandwidth each way there, switches share none, and ways "
          "are "
          "the shortest";
  if (made) guest_refuse("the simulated machine: %s", *why ? why : pm_status_text(made));
  guest_output_begin(s.prefix);
  make_guests(world, program_argc, program_argv);
  for (guest_part *p = parts; p; p = p->next)
    if (p->begin) p->begin(world);
  guest_spin_begin(s.spin_ms);
  FILE *const in = stdin, *const out = stdout;
  end.world = world;
  signal(SIGABRT, say_of_hurt_heap); /* the world has its own while it runs */
  const pm_status status = end.status = pm_world_run(world);
  signal(SIGSEGV, say_of_hurt_heap);
  guest_spin_end();
  guest_counter_keep(false);
  stdin = in;
  stdout = out;
  guest_libc_switch(NULL);
  guest_locale_switch(NULL, NULL);
  int result = report(world, status);
  pm_world_destroy(world);
#ifdef WITH_RTL
  if (rtl && !pm_rtl_wave_is_saved(rtl)) {
    fprintf(stderr, "pm_run: --wave: %s: not all could be written\n", wave.path);
    result = result ? result : 2;
  }
  pm_rtl_destroy(rtl);
#endif
  pm_platform_free(&platform);
  return result;
}
