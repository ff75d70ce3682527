/* nbc.c: one command in front of the others.

   Question: how do I see the overlap of my MPI program, with nothing to set by hand?
   Command:  nbc see mpirun -n 4 ./app arguments
   Output:   the program's own output, then the report; the page's address at the end

   What it runs it can print (--print); environment variables stay the interface underneath
   (overlap_preload.c). No daemon, nothing but files in the report folder and in the cache folder,
   $XDG_CACHE_HOME/nbc_overlap or ~/.cache/nbc_overlap: transfer tables by host or pair of hosts (nbc_hosts.h), MPI, its version,
   and what chooses the transport: OMPI_MCA_btl, UCX_TLS ... and the launcher's --mca, -x and -genv, with
   which a table is measured when it is not there. */
#include "nbc_overlap.h" /* its version */
#include "tools/among.h"
#include "tools/output.h"
#include "tools/shell_word.h"
#include "tools/table_make.h"
#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

static const char program_text[] =
    "LAUNCHER is mpirun, mpiexec (also .openmpi, .mpich, .hydra) or srun; without one the program "
    "runs alone.\n";
static const char mpi_text[] =
    "  --mpi NAME  for programs that do not show which MPI they use, such as scripts\n";
static const char print_text[] = "  --print     print the command line instead of running it\n";
static const char see_text[] =
    "  -o DIR      where the reports go (NBC_REPORT_DIR; else nbc-PROGRAM-1, -2, ...)\n"
    "  --table FILE, --no-table  a table of your own (NBC_TABLE); none: no minimum is claimed "
    "then\n"
    "  --get       with progress made beside it, as by nbc get: then compare by nbc diff\n"
    "  --trace     keep the timeline of the whole run, and draw it (NBC_TRACE=1)\n"
    "  --trace-every N  the same, but of each section only every N-th time it is entered\n"
    "  --no-trace  keep none; otherwise its begin is kept, 4 MiB per process, 64 MiB in all, for "
    "bounds\n"
    "              that know both sides of messages (NBC_TRACE=first)\n"
    "  --through NAMES  libraries and functions that only pass calls on: who called them is told "
    "(NBC_THROUGH:\n"
    "              'libHYPRE*,hypre_MPI_*')\n";
static const char again_text[] = "  --again     measure anew what is kept\n";
static const char exit_text[] =
    "Exit status: the program's own; 1 when its report failed, 2 wrong usage or a wrong mixture of "
    "MPIs,\n"
    "126 or 127 when the program cannot be run or is not there.\n";

/* What there is, and what `nbc NAME --help` says of it. */
static const struct {
  const char *name, *arguments, *what;
  const char *more[5];
  const char *asked; /* whose --help says the rest */
} commands[] = {
    {"see",
     " [-o DIR] [--table FILE | --no-table] [--get] [--trace | --trace-every N | --no-trace]\n"
     "               [--through NAMES] [--mpi openmpi|mpich] [--print] [LAUNCHER [OPTIONS]] "
     "PROGRAM "
     "[ARGUMENTS]",
     "run the program under the preload and report what of its communication was hidden",
     {see_text, mpi_text, print_text, program_text, exit_text},
     NULL},
    {"report",
     " [OPTIONS] DIR",
     "the report of a folder that see left; more options: overlap_report --help",
     {NULL},
     "overlap_report"},
    {"diff", " BEFORE AFTER", "what changed between two folders that see left", {NULL}, NULL},
    {"trace",
     " [-o FILE] [--otf2 ARCHIVE] DIR",
     "the timeline of a run with see --trace: Chrome's JSON (ui.perfetto.dev), OTF2",
     {NULL},
     "overlap_trace"},
    {"predict",
     " [OPTIONS] DIR",
     "would a core of its own for communication pay? From a folder that see left",
     {NULL},
     "dedicated_core"},
    {"get",
     " [--mpi openmpi|mpich] [--print] [LAUNCHER [OPTIONS]] PROGRAM [ARGUMENTS]",
     "run the program with progress made beside it, where the progress preload is installed",
     {mpi_text, print_text, program_text, exit_text},
     NULL},
    {"table",
     " [--mpi openmpi|mpich] [--again] [--print]",
     "measure this host's transfer times now (see does so at its first run)",
     {"  --mpi NAME  of this MPI alone\n", again_text, print_text},
     NULL},
    {"doctor", "", "what of all this works here", {NULL}, NULL},
    {"completion", "", "for bash: eval \"$(nbc completion)\"", {NULL}, NULL},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void print_usage(FILE *out) {
  for (int i = 0; i < COMMANDS; i++)
    fprintf(out, "%s nbc %s%s\n", i ? "      " : "usage:", commands[i].name, commands[i].arguments);
}
static int help(void) {
  print_usage(stdout);
  for (int i = 0; i < COMMANDS; i++) printf("  %-11s %s\n", commands[i].name, commands[i].what);
  return printf("%s%s%s%s%s%s", see_text, mpi_text, again_text, print_text, program_text,
                exit_text) < 0;
}

typedef enum mpi { MPI_NONE, MPI_OPEN, MPI_CH } mpi;
static const char *const mpi_name[] = {"no MPI", "Open MPI", "MPICH"};
static const char *const mpi_suffix[] = {"", "mpi", "mpich"};
typedef enum launcher { ALONE, MPIRUN, SRUN } launcher;

typedef struct words {
  char **of;
  int count;
} words;
static char own_folder[PATH_MAX];

static void fail(int status, const char *format, ...)
    __attribute__((format(printf, 2, 3), noreturn));
static void fail(int status, const char *format, ...) {
  va_list args;
  va_start(args, format);
  fputs("nbc: ", stderr);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  va_end(args);
  exit(status);
}
static void *must(void *memory) {
  if (!memory) fail(1, "out of memory");
  return memory;
}
static char *text(const char *format, ...) __attribute__((format(printf, 1, 2)));
static char *text(const char *format, ...) {
  va_list args;
  char *made = NULL;
  va_start(args, format);
  if (vasprintf(&made, format, args) < 0) made = NULL;
  va_end(args);
  return (char *)must(made);
}
static void add(words *w, const char *word) {
  w->of = (char **)must(realloc(w->of, ((size_t)w->count + 2) * sizeof *w->of));
  w->of[w->count++] = (char *)must(strdup(word));
  w->of[w->count] = NULL;
}
static const char *base_of(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}
static bool is(const char *a, const char *b) { return strcmp(a, b) == 0; }
static bool exists(const char *path) { return access(path, R_OK) == 0; }

/* ---- running others --------------------------------------------------------------------------------- */
static void print_command(const words *w) {
  for (int i = 0; i < w->count; i++) {
    char *word = (char *)must(shell_word(w->of[i]));
    printf("%s%s", i ? " " : "", word);
    free(word);
  }
  putchar('\n');
}

static pid_t start(const words *w, int out, const sigset_t *mask) {
  fflush(stdout);
  const pid_t pid = fork();
  if (pid < 0) fail(1, "%s: %s", w->of[0], strerror(errno));
  if (pid > 0) return pid;
  signal(SIGPIPE, SIG_DFL);
  if (mask) sigprocmask(SIG_SETMASK, mask, NULL);
  if (out >= 0) dup2(out, 1), dup2(out, 2);
  execvp(w->of[0], w->of);
  fprintf(stderr, "nbc: %s: %s\n", w->of[0], strerror(errno));
  _exit(127);
}
static int ended(pid_t pid) { /* as a shell says it */
  int status;
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return 127;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
/* The program ends as it would without us, and its report is made. A signal of a terminal, and often one of others,
   came to the program too, where a second one would be one too many (Open MPI ends at once then, without its
   processes): so it is handed on only when the program is still there a while later. */
static volatile pid_t running;
static volatile sig_atomic_t to_hand_on;
static void on_signal(int number, siginfo_t *info, void *context) {
  (void)context;
  if (number == SIGALRM) {
    kill(running, to_hand_on);
  } else if (info->si_code != SI_KERNEL) {
    to_hand_on = number;
    alarm(5);
  }
}
static int run(const words *w) {
  static const int seen[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGALRM};
  enum { COUNT = sizeof seen / sizeof *seen };
  struct sigaction action, before[COUNT];
  sigset_t held, mask;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigemptyset(&held);
  for (int i = 0; i < COUNT; i++) sigaddset(&held, seen[i]);
  sigprocmask(SIG_BLOCK, &held, &mask);
  for (int i = 0; i < COUNT; i++)
    if (sigaction(seen[i], NULL, &before[i]) == 0 && before[i].sa_handler != SIG_IGN)
      sigaction(seen[i], &action, NULL);
  running = start(w, -1, &mask);
  sigprocmask(SIG_SETMASK, &mask, NULL);
  const int status = ended(running);
  alarm(0);
  for (int i = 0; i < COUNT; i++) sigaction(seen[i], &before[i], NULL);
  return status;
}

/* A launcher that is told twice to end leaves its processes behind, which still write their reports. The kernel makes
   those children of ours (see()); false: some run on, as what a program leaves running on purpose does. */
static bool orphans_have_ended(void) {
  enum { MOST_MS = 5000 };
  const struct timespec nap = {0, 1000000};
  for (int ms = 0; ms < MOST_MS; ms++) {
    const pid_t pid = waitpid(-1, NULL, WNOHANG);
    if (pid < 0) return true;
    if (pid == 0) nanosleep(&nap, NULL);
  }
  return false;
}

/* What a command says, at most so much; "" when it cannot be started. */
static void ask(const words *w, char *answer, size_t size) {
  int ends[2];
  size_t used = 0;
  answer[0] = 0;
  if (pipe(ends) != 0) return;
  const pid_t pid = start(w, ends[1], NULL);
  close(ends[1]);
  for (ssize_t n; (n = read(ends[0], answer + used, size - 1 - used)) != 0;) {
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) break;
    used += (size_t)n;
    if (used == size - 1) { /* the rest is not read, but it must be able to end */
      char rest[512];
      while (read(ends[0], rest, sizeof rest) > 0) {
      }
      break;
    }
  }
  close(ends[0]);
  answer[used] = 0;
  ended(pid);
}
static void ask_with(const char *command, const char *argument, char *answer, size_t size) {
  words w = {NULL, 0};
  add(&w, command);
  add(&w, argument);
  ask(&w, answer, size);
}

/* The whole path of a command, or NULL. */
static char *find_command(const char *name) {
  struct stat at_name;
  if (strchr(name, '/'))
    return access(name, X_OK) == 0 && stat(name, &at_name) == 0 && S_ISREG(at_name.st_mode)
               ? (char *)must(strdup(name))
               : NULL;
  const char *path = getenv("PATH");
  for (const char *at = path ? path : "/usr/bin:/bin"; *at;
       at += strcspn(at, ":"), at += *at == ':') {
    struct stat st;
    char *whole = text("%.*s/%s", (int)strcspn(at, ":"), at, name);
    if (access(whole, X_OK) == 0 && stat(whole, &st) == 0 && S_ISREG(st.st_mode)) return whole;
    free(whole);
  }
  return NULL;
}

/* What is installed with us: beside this command, or in ../lib. */
static char *own_file(const char *name) {
  const char *const folders[] = {"", "../lib/", "../bin/"};
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
    char *path = text("%s/%s%s", own_folder, folders[i], name);
    if (exists(path)) return path;
    free(path);
  }
  return NULL;
}
static char *need_own(const char *name) {
  char *path = own_file(name);
  if (!path) fail(1, "%s is not installed beside this command (%s)", name, own_folder);
  return path;
}
/* A preload's path. The loader splits LD_PRELOAD at blanks and colons and knows no way around that: the program would
   run, and nothing of it be measured. */
static char *need_preload(const char *kind, mpi m) {
  char *path = need_own(text("libnbc_%s_%s.so", kind, mpi_suffix[m]));
  if (strpbrk(path, " \t\n:"))
    fail(1,
         "%s: the loader takes no library from a path with blanks or colons (LD_PRELOAD): install "
         "this elsewhere",
         path);
  return path;
}

/* ---- the launcher, the program and their MPI ----------------------------------------------------------- */
static launcher launcher_of(const char *word) {
  const char *name = base_of(word);
  if (is(name, "srun")) return SRUN;
  return strncmp(name, "mpirun", 6) == 0 || strncmp(name, "mpiexec", 7) == 0 ||
                 is(name, "orterun") || is(name, "prterun")
             ? MPIRUN
             : ALONE;
}

/* How many words of a launcher follow one of its options. Hydra takes its own with one dash or two. */
static int values_of(const char *option) {
  static const char two[] = " -mca --mca -gmca --gmca -genv -env --prtemca --pmixmca ";
  static const char one[] =
      " -n -np --n --np -c -x -H -host --host -hosts -hostfile --hostfile"
      " -machinefile --machinefile -f -map-by --map-by -bind-to --bind-to -rank-by"
      " --rank-by -wdir --wdir -wd -prefix --prefix -rf --rankfile -timeout --timeout"
      " -N -npernode --npernode -ppn -genvlist -envlist -launcher -launcher-exec -iface -rmk -path"
      " -am --am -t -p -A -w -J -o -e -i -m -tune --tune -output-filename"
      " --output-filename -s --app -configfile -D -membind -topolib -outfile-pattern"
      " -errfile-pattern -prepend-pattern -usize -localhost -order-nodes -nameserver -demux"
      " -gpus-per-proc -gpu-subdevs-per-proc -ranks-per-proc -cpu-set -cpu-list -slot-list -stdin"
      " -default-hostfile -npersocket -cpus-per-proc -cpus-per-rank -personality -ompi-server"
      " -report-uri -report-pid -preload-files -max-restarts"
      " --nodes --ntasks --ntasks-per-node --cpus-per-task --partition --account --time --nodelist"
      " --exclude --output --error --input --job-name --mem --mem-per-cpu --gres --constraint --qos"
      " --reservation --chdir --mpi --cpu-bind --distribution --export --cluster-constraint ";
  if (is_among(two, option)) return 2;
  return is_among(one, option) || (strncmp(option, "--", 2) == 0 && is_among(one, option + 1));
}
/* Where the program stands behind a launcher. */
static int program_at(char **argv, int argc) {
  int i = 1;
  while (i < argc && argv[i][0] == '-') i += 1 + values_of(argv[i]);
  if (i >= argc) fail(2, "%s starts no program here", argv[0]);
  return i;
}

static mpi mpi_in(const char *said) {
  if (strstr(said, "libmpi.so.40") || strstr(said, "libopen-rte") || strstr(said, "Open MPI") ||
      strstr(said, "OpenRTE"))
    return MPI_OPEN;
  if (strstr(said, "libmpich.so") || strstr(said, "libmpi.so.12") || strstr(said, "HYDRA") ||
      strstr(said, "MPICH"))
    return MPI_CH;
  return MPI_NONE;
}
static mpi mpi_of_program(const char *program) {
  char said[65536];
  char *path = find_command(program);
  if (!path && strchr(program, '/') && access(program, F_OK) == 0)
    fail(126, "%s: not executable", program); /* as shells say and end */
  if (!path) fail(127, "%s: not found", program);
  ask_with("ldd", path, said, sizeof said);
  free(path);
  return mpi_in(said);
}
/* The program behind env, taskset, a debugger and their like is the first word that shows an MPI; there may be none.
   Nothing stands behind a command that is not there. */
static const char *program_behind(char **argv, int at) {
  enum { WORDS = 24 };
  for (int i = at; argv[i] && i < at + WORDS && !is(argv[i], ":"); i++) {
    char *path = argv[i][0] == '-' || strchr(argv[i], '=') ? NULL : find_command(argv[i]);
    const mpi m = path ? mpi_of_program(path) : MPI_NONE;
    const bool is_there = path != NULL;
    free(path);
    if (m || (i == at && !is_there)) return argv[i];
  }
  return argv[at];
}
static mpi mpi_of_launcher(const char *name) {
  char said[16384];
  ask_with(name, "--version", said, sizeof said);
  return mpi_in(said);
}
static mpi mpi_called(const char *name) {
  if (is(name, "openmpi")) return MPI_OPEN;
  if (is(name, "mpich")) return MPI_CH;
  fail(2, "--mpi is openmpi or mpich, not %s", name);
}
/* The launcher of an MPI on this machine. */
static const char *own_launcher(mpi m) {
  const char *const names[] = {m == MPI_OPEN ? "mpirun.openmpi" : "mpirun.mpich",
                               m == MPI_OPEN ? "orterun" : "mpiexec.hydra", "mpirun", "mpiexec"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char *path = find_command(names[i]);
    if (path && mpi_of_launcher(path) == m) return path;
    free(path);
  }
  return NULL;
}

/* ---- how messages go: what the environment and the launcher's options say of it ------------------------ */
/* A table measured in shared memory says nothing true of a run over TCP: eager sizes, tails and times differ.
   So the settings that choose a transport belong to a table's name, and it is measured with them. */
static bool is_transport_setting(const char *name, mpi m) {
  static const char *const open_mpi[] = {
      "btl", "pml", "mtl", "opal_", "smsc", "mpool", "rcache", "mpi_leave_pinned", "mca_"};
  static const char *const others[] = {"UCX_", "FI_", "PSM", "MPIR_CVAR_", "MPICH_", "MPIR_PARAM_"};
  if (m == MPI_OPEN && strncmp(name, "OMPI_MCA_", 9) == 0) {
    for (size_t i = 0; i < sizeof open_mpi / sizeof *open_mpi; i++)
      if (strncmp(name + 9, open_mpi[i], strlen(open_mpi[i])) == 0) return true;
    return false;
  }
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (strncmp(name, others[i], strlen(others[i])) == 0) return true;
  return false;
}
static void add_setting(words *w, const char *name, const char *value, mpi m) {
  char *pair = text("%s=%s", name, value);
  if (is_transport_setting(name, m)) add(w, pair);
  free(pair);
}
static int compare_words(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* NAME=VALUE each, sorted; what the launcher's options say comes to the environment's. */
static words transport_settings(mpi m, char **launcher_words, int count) {
  extern char **environ;
  words w = {NULL, 0};
  for (char **at = environ; *at; at++)
    if (is_transport_setting(*at, m)) add(&w, *at);
  for (int i = 1; i + 1 < count; i += 1 + values_of(launcher_words[i])) {
    const char *option = launcher_words[i] + strspn(launcher_words[i], "-"),
               *first = launcher_words[i + 1], *second = i + 2 < count ? launcher_words[i + 2] : "";
    if (is(option, "mca") || is(option, "gmca")) {
      char *name = text("OMPI_MCA_%s", first);
      add_setting(&w, name, second, m);
      free(name);
    } else if (is(option, "genv") || is(option, "env")) {
      add_setting(&w, first, second, m);
    } else if (is(option, "x") && strchr(first, '=')) {
      char *name = text("%.*s", (int)strcspn(first, "="), first);
      add_setting(&w, name, strchr(first, '=') + 1, m);
      free(name);
    }
  }
  if (w.count) qsort(w.of, (size_t)w.count, sizeof *w.of, compare_words);
  return w;
}
/* An option by which a file may set them, which nobody here reads; NULL: none. */
static const char *settings_file(mpi m, char **launcher_words, int count) {
  static const char options[] = " -am --am -tune --tune -configfile ";
  for (int i = 1; m != MPI_NONE && i < count; i += 1 + values_of(launcher_words[i]))
    if (is_among(options, launcher_words[i])) return launcher_words[i];
  return NULL;
}
/* A short name for them; "" for none: how messages go when nobody says anything. */
static char *settings_name(const words *settings) {
  uint64_t hash = 0xcbf29ce484222325u;
  if (!settings->count) return text("%s", "");
  for (int i = 0; i < settings->count; i++)
    for (const char *at = settings->of[i];; at++) {
      hash = (hash ^ (unsigned char)*at) * 0x100000001b3u;
      if (!*at) break;
    }
  return text(".%08x", (unsigned)(hash ^ hash >> 32));
}

/* GCC's AddressSanitizer ends a program that finds another library before its own. */
static const char sanitizer[] = "libasan.so";
static char *behind_sanitizer(const char *program, char *preload) {
  char said[65536], *path = find_command(program);
  if (!path) return preload;
  ask_with("ldd", path, said, sizeof said);
  free(path);
  for (char *line = strtok(said, "\n"); line; line = strtok(NULL, "\n")) {
    const char *at = strstr(line, sanitizer);
    at = at ? strstr(at, "=> /") : NULL;
    if (at) return text("%.*s:%s", (int)strcspn(at + 3, " "), at + 3, preload);
  }
  return preload;
}

/* A setting NAME=VALUE for the processes, by the launcher's own means. */
static void set(words *w, words *exports, launcher l, mpi m, const char *pair) {
  if (l == MPIRUN && m == MPI_OPEN) {
    add(w, "-x");
    add(w, pair);
  } else if (l == MPIRUN) {
    char *name = text("%.*s", (int)strcspn(pair, "="), pair);
    add(w, "-genv");
    add(w, name);
    add(w, strchr(pair, '=') + 1);
    free(name);
  } else {
    add(exports, pair);
  }
}

/* What the user preloads stays, behind ours: in the launcher's options, or set by env before the program, it would
   take our place. */
static char *behind(const char *preload, const char *theirs) {
  if (theirs && strstr(theirs, sanitizer)) return text("%s:%s", theirs, preload);
  return theirs && *theirs ? text("%s:%s", preload, theirs) : text("%s", preload);
}
static char *both_set(const char *preload, const char *setting) {
  return text("LD_PRELOAD=%s", behind(preload, strchr(setting, '=') + 1));
}
static bool is_preload(const char *word) { return strncmp(word, "LD_PRELOAD=", 11) == 0; }
static void keep_preloads(char **w, launcher l, const char *preload) {
  bool at_program = false;
  for (int i = l != ALONE; w[i]; i++) {
    if (is(w[i], ":") && l != ALONE) at_program = false; /* the options of another program follow */
    if (at_program || is(w[i], ":")) continue;
    at_program = l == ALONE || w[i][0] != '-';
    for (int k = i + 1; at_program && is(base_of(w[i]), "env") && w[k] && strchr(w[k], '='); k++)
      if (is_preload(w[k])) w[k] = both_set(preload, w[k]);
    const int more = at_program ? 0 : values_of(w[i]);
    for (int k = 1; k <= more; k++)
      if (!w[i + k]) return;
    if (more == 1 && is(w[i] + strspn(w[i], "-"), "x") && is(w[i + 1], "LD_PRELOAD"))
      w[i + 1] = text("LD_PRELOAD=%s", behind(preload, getenv("LD_PRELOAD")));
    else if (more == 1 && is_preload(w[i + 1]))
      w[i + 1] = both_set(preload, w[i + 1]);
    else if (more == 2 && is(w[i + 1], "LD_PRELOAD"))
      w[i + 2] = behind(preload, w[i + 2]);
    i += more;
  }
}

/* ---- transfer tables, kept --------------------------------------------------------------------------- */
static char *cache_folder(void) {
  const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  char *parent = cache && *cache ? (char *)must(strdup(cache))
                 : home && *home ? text("%s/.cache", home)
                                 : NULL;
  if (!parent) return NULL;
  mkdir(parent, 0777);
  char *folder = text("%s/nbc_overlap", parent);
  free(parent);
  if (mkdir(folder, 0777) == 0 || errno == EEXIST) return folder;
  free(folder);
  return NULL;
}

/* table-MAKE.HOSTS.MPI-VERSION.txt, or ...SETTINGS.txt; hosts NULL: this one */
static char *table_path(mpi m, const char *launcher_path, const char *hosts,
                        const words *settings) {
  char said[4096], host[256] = "host", version[64] = "";
  char *folder = cache_folder();
  if (!folder) return NULL;
  gethostname(host, sizeof host - 1);
  ask_with(launcher_path, "--version", said, sizeof said);
  const char *at = strpbrk(said, "0123456789");
  for (size_t n = 0; at && n + 1 < sizeof version && (isdigit((unsigned char)*at) || *at == '.');
       n++)
    version[n] = *at++, version[n + 1] = 0;
  char *way = settings_name(settings);
  char *path = text("%s/table-%d.%s.%s-%s%s.txt", folder, (int)TABLE_MAKE, hosts ? hosts : host,
                    m == MPI_OPEN ? "openmpi" : "mpich", version, way);
  free(way);
  free(folder);
  return path;
}

/* What follows `# WORD ` in a table; "" when there is no such line. */
static char *said_in_table(const char *path, const char *word) {
  char line[512], *said = text("%s", "");
  FILE *in = path ? fopen(path, "r") : NULL;
  while (in && !*said && fgets(line, sizeof line, in))
    if (strncmp(line, "# ", 2) == 0 && strncmp(line + 2, word, strlen(word)) == 0) {
      line[strcspn(line, "\n")] = 0;
      free(said);
      said = text("%s", line + 2 + strlen(word));
    }
  if (in) fclose(in);
  return said;
}
/* Was it measured by this version's xfer_table? */
static bool is_of_this_make(const char *path) {
  char *make = said_in_table(path, TABLE_MAKE_LINE);
  const bool is_it = atoi(make) == TABLE_MAKE;
  free(make);
  return is_it;
}
/* No minimum rests on a table that was disturbed; the user can do something about that. */
static bool is_disturbed(const char *path) {
  char *why = said_in_table(path, "disturbed");
  const bool is_it = *why != 0;
  free(why);
  return is_it;
}

/* Open MPI starts nothing for root, as in containers, unless it is told to: the user's word holds for
   measuring, too. */
static const char as_root[] = "--allow-run-as-root";

/* Measures when there is none yet. NULL: there is none. */
static char *table_for(mpi m, const words *settings, bool is_root, bool again, bool print) {
  const char *name = own_launcher(m);
  char *tool = own_file(m == MPI_OPEN ? "xfer_table_mpi" : "xfer_table_mpich");
  char *path = name && tool ? table_path(m, name, NULL, settings) : NULL;
  if (!path) {
    fprintf(stderr, "nbc: transfer times cannot be measured here (%s): no minimum is claimed\n",
            !name   ? "no launcher of this MPI"
            : !tool ? "xfer_table is not installed"
                    : "no cache folder");
    return NULL;
  }
  if (!again && is_of_this_make(path)) {
    if (is_disturbed(path) && !print)
      fprintf(stderr, "nbc: the kept table was disturbed when it was measured, so no minimum is "
                      "claimed: nbc table --again, while nothing else runs\n");
    return path;
  }
  char *part = text("%s.part.%d", path, (int)getpid());
  words w = {NULL, 0};
  add(&w, name);
  add(&w, "-n");
  add(&w, "2");
  if (m == MPI_OPEN) add(&w, "--oversubscribe");
  if (m == MPI_OPEN && is_root) add(&w, as_root);
  for (int i = 0; i < settings->count; i++) set(&w, NULL, MPIRUN, m, settings->of[i]);
  if (isatty(2)) set(&w, NULL, MPIRUN, m, "NBC_PROGRESS_LINES=1");
  add(&w, tool);
  add(&w, part);
  if (print) {
    print_command(&w);
    return path;
  }
  fprintf(stderr, "nbc: measuring transfer times of this host, once%s (%s)...\n",
          settings->count ? ", with the settings of this run" : "", path);
  const int status = run(&w);
  if (status == 0 && rename(part, path) == 0) return path;
  unlink(part);
  fprintf(stderr, "nbc: measuring failed: no minimum is claimed\n");
  return NULL;
}

#include "tools/nbc_hosts.h"

/* ---- see and get ------------------------------------------------------------------------------------- */
typedef struct wishes {
  const char *folder, *table, *trace_every, *through;
  bool no_table, print, with_progress, trace, no_trace;
  mpi mpi;
} wishes;

/* Better said before the program runs for hours than by a report that had to guess. Other hosts' (%h) are not
   seen from here. */
static void check_table(const char *name, const char *path) {
  char byte;
  if (strchr(path, '%')) return;
  FILE *in = fopen(path, "r");
  if (!in || (fread(&byte, 1, 1, in) != 1 && ferror(in))) /* a folder, too */
    fail(2, "%s: %s: %s", name, path, strerror(errno));
  fclose(in);
}

/* The value behind option i; its place is then i + 1. */
static const char *value_of(char **argv, int argc, int *i) {
  if (*i + 1 >= argc) fail(2, "%s: its value is missing", argv[*i]);
  return argv[++*i];
}
static int take_wishes(wishes *o, char **argv, int argc, bool gets) {
  const char *command = gets ? "get" : "see";
  int i = 0;
  for (; i < argc && argv[i][0] == '-'; i++) {
    if (is(argv[i], "--mpi"))
      o->mpi = mpi_called(value_of(argv, argc, &i));
    else if (is(argv[i], "--print"))
      o->print = true;
    else if (gets)
      fail(2, "%s is no option of nbc get (nbc get --help)", argv[i]);
    else if (is(argv[i], "-o"))
      o->folder = value_of(argv, argc, &i);
    else if (is(argv[i], "--table"))
      o->table = value_of(argv, argc, &i);
    else if (is(argv[i], "--no-table"))
      o->no_table = true;
    else if (is(argv[i], "--get"))
      o->with_progress = true;
    else if (is(argv[i], "--trace"))
      o->trace = true;
    else if (is(argv[i], "--trace-every"))
      o->trace_every = value_of(argv, argc, &i), o->trace = true;
    else if (is(argv[i], "--through"))
      o->through = value_of(argv, argc, &i);
    else if (is(argv[i], "--no-trace"))
      o->no_trace = true;
    else
      fail(2, "%s is no option of nbc see (nbc see --help)", argv[i]);
  }
  if (o->trace_every && (strspn(o->trace_every, "0123456789") != strlen(o->trace_every) ||
                         atoll(o->trace_every) < 1 || atoll(o->trace_every) > 1000000000))
    fail(2, "--trace-every is a number from 1 to 1000000000, not %s", o->trace_every);
  if (o->trace && o->no_trace) fail(2, "--trace and --no-trace exclude each other");
  if (i == argc) fail(2, "which program? (nbc %s --help)", command);
  if (o->table && !o->no_table) check_table("--table", o->table);
  return i;
}

/* The program's MPI, the launcher's where the program does not show one; two that differ are no pair. */
static mpi decide_mpi(const wishes *o, launcher l, const char *launcher_name, const char *program) {
  const mpi wants = mpi_of_program(program),
            gives = l == MPIRUN ? mpi_of_launcher(launcher_name) : MPI_NONE;
  if (wants && gives && wants != gives)
    fail(2,
         "%s is built with %s, but %s starts programs of %s: each process would be alone; start it "
         "with %s",
         program, mpi_name[wants], launcher_name, mpi_name[gives],
         wants == MPI_OPEN ? "mpirun.openmpi" : "mpirun.mpich");
  if (o->mpi && wants && o->mpi != wants)
    fail(2, "%s is built with %s, not with %s", program, mpi_name[wants], mpi_name[o->mpi]);
  const mpi m = wants ? wants : o->mpi ? o->mpi : gives;
  if (!m) fail(2, "%s shows no MPI among its libraries: say --mpi openmpi or --mpi mpich", program);
  return m;
}

/* What the preload's own variables say holds here, too, where no option says otherwise. */
static void take_environment(wishes *o) {
  const char *const folder = getenv("NBC_REPORT_DIR"), *const table = getenv("NBC_TABLE");
  if (!o->folder && folder && *folder) o->folder = folder;
  if (!o->table && !o->no_table && table && *table) check_table("NBC_TABLE", o->table = table);
}
static void no_folder(const char *folder) {
  fail(1, "%s: %s (-o DIR: another folder)", folder, strerror(errno));
}
/* Of two that are started at once each makes its own. */
static char *new_folder(const char *program, bool is_only_printed) {
  for (int i = 1; i < 100000; i++) {
    char *folder = text("nbc-%.100s-%d", base_of(program), i);
    if (is_only_printed ? access(folder, F_OK) != 0 : mkdir(folder, 0777) == 0) return folder;
    if (!is_only_printed && errno != EEXIST) no_folder(folder);
    free(folder);
  }
  fail(1, "no name left for a folder here");
}

static int report_filter(const struct dirent *e) {
  const size_t length = strlen(e->d_name);
  return strncmp(e->d_name, "nbc_overlap.", 12) == 0 && length > 17 &&
         strcmp(e->d_name + length - 5, ".json") == 0;
}
static char *from_root(const char *path) {
  char here[PATH_MAX] = ".";
  if (path[0] != '/' && !getcwd(here, sizeof here))
    fail(1, "the working folder: %s", strerror(errno));
  return path[0] == '/' ? text("%s", path) : text("%s/%s", here, path);
}
/* srun's option of what processes find in their environment: how many words it is, 0: another one. */
static int export_words(const char *word) {
  return strncmp(word, "--export=", 9) == 0 ? 1 : is(word, "--export") ? 2 : 0;
}
/* What the user wants there (the last option holds), and ours. A comma ends a variable, and no quotes help (srun 22.05
   keeps them). */
static const char *srun_export(char **argv, int at, const words *ours, const char *preload) {
  const char *said = getenv("SLURM_EXPORT_ENV"); /* of sbatch --export */
  for (int i = 1; i < at; i++)
    if (export_words(argv[i])) said = export_words(argv[i]) == 1 ? argv[i] + 9 : argv[i + 1];
  if (!said) said = "ALL";
  char *list = text("%s", "--export="), *rest = (char *)must(strdup(said)), *end = NULL;
  const char *own_preload = NULL;
  for (char *word = strtok_r(rest, ",", &end); word; word = strtok_r(NULL, ",", &end)) {
    if (is_preload(word))
      own_preload = word;
    else if (!is(word, "NONE") && !is(word, "NIL"))
      list = text("%s%s,", list, word);
  }
  for (int i = 0; i < ours->count; i++) {
    const char *pair = ours->of[i];
    if (own_preload && is_preload(pair)) pair = both_set(preload, own_preload);
    if (strchr(pair, ','))
      fail(1, "srun passes on no variable with a comma: %s (-o FOLDER, --table FILE choose others)",
           pair);
    list = text("%s%s%s", list, i ? "," : "", pair);
  }
  free(rest);
  return list;
}
/* The command with these settings for its processes. Open MPI has an environment for each of several programs, MPICH
   one for all. */
static words with_settings(char **argv, int at, launcher l, mpi m, const words *pairs,
                           const char *preload) {
  words w = {NULL, 0}, exports = {NULL, 0};
  add(&w, l == ALONE ? "env" : argv[0]);
  for (int i = 0; i < pairs->count; i++) set(&w, &exports, l, m, pairs->of[i]);
  if (l == SRUN) add(&w, srun_export(argv, at, &exports, preload));
  for (int i = 0; l == ALONE && i < exports.count; i++) add(&w, exports.of[i]);
  keep_preloads(argv, l, preload);
  for (int i = l == ALONE ? 0 : 1; argv[i]; i++) {
    const int skipped = l == SRUN && i < at ? export_words(argv[i]) : 0; /* it is in ours */
    if (skipped) {
      i += skipped - 1;
      continue;
    }
    add(&w, argv[i]);
    for (int k = 0; l == MPIRUN && m == MPI_OPEN && is(argv[i], ":") && k < pairs->count; k++)
      set(&w, NULL, l, m, pairs->of[k]);
  }
  return w;
}
static void make_folder(const char *folder) {
  struct stat st;
  if (mkdir(folder, 0777) == 0) return;
  if (errno != EEXIST) no_folder(folder);
  if (stat(folder, &st) != 0 || !S_ISDIR(st.st_mode)) fail(1, "%s: not a folder", folder);
}
/* ret the program's exit status; 1: it is 0, and not all was reported or drawn */
static int run_and_report(const words *program, const words *report, const words *timeline,
                          const char *folder) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const int status = run(program);
  if (!orphans_have_ended())
    fputs("nbc: processes that the program left still run: the report is without what they measure "
          "later\n",
          stderr);
  const int reported = run(report);
  struct dirent **left;
  if (reported != 0)
    fprintf(stderr, "nbc: no whole report: the program ended with status %d%s\n", status,
            scandir(folder, &left, report_filter, NULL) > 0
                ? ""
                : "; was it killed by SIGKILL, or by an internal error of the MPI, or does it not "
                  "call MPI_Init?");
  const int drawn = timeline->count ? run(timeline) : 0;
  return status ? status : reported || drawn ? 1 : 0;
}

static int see(char **argv, int argc, bool gets) {
  wishes o = {.no_table = false};
  argv += take_wishes(&o, argv, argc, gets);
  argc = 0;
  while (argv[argc]) argc++;
  const launcher l = launcher_of(argv[0]);
  const int at = l == ALONE ? 0 : program_at(argv, argc);
  const char *const program = program_behind(argv, at);
  const mpi m = decide_mpi(&o, l, argv[0], program);
  char *preload = need_preload(gets ? "progress" : "overlap", m);
  if (o.with_progress) preload = text("%s:%s", preload, need_preload("progress", m));
  preload = behind_sanitizer(program, preload);
  if (!gets) take_environment(&o);
  const char *folder = gets ? NULL : o.folder ? o.folder : new_folder(program, o.print);
  if (folder && !o.print) make_folder(folder); /* before minutes of measuring */
  const words settings = transport_settings(m, argv, at);
  const char *file = settings_file(m, argv, at);
  bool is_root = false;
  for (int i = 1; i < at; i += 1 + values_of(argv[i])) is_root = is_root || is(argv[i], as_root);
  const bool keeps_tables = !gets && !o.no_table && !o.table && !file;
  if (file && !gets && !o.no_table && !o.table)
    fprintf(stderr,
            "nbc: the file of %s may choose how messages go, so no kept table is taken and "
            "no minimum claimed (--table FILE names one)\n",
            file);
  const bool asks = folder && !o.print && keeps_tables && names_hosts(l, argv, at);
  const char *table = keeps_tables         ? table_for(m, &settings, is_root, false, o.print)
                      : gets || o.no_table ? NULL
                                           : o.table;
  launch as = {.l = l, .m = m, .of = argv, .count = at, .settings = &settings};
  const char *other = asks ? tables_of_run(&as, folder, &table) : NULL;
  words pairs = {NULL, 0};
  add(&pairs, text("LD_PRELOAD=%s", behind(preload, getenv("LD_PRELOAD"))));
  if (folder) add(&pairs, text("NBC_REPORT_DIR=%s", from_root(folder)));
  if (table || getenv("NBC_TABLE"))
    add(&pairs, text("NBC_TABLE=%s", table ? from_root(table) : ""));
  if (other) add(&pairs, text("NBC_TABLE_OTHER=%s", from_root(other)));
  if (folder && (o.trace || !(o.no_trace || getenv("NBC_TRACE"))))
    add(&pairs, o.trace ? "NBC_TRACE=1" : "NBC_TRACE=first");
  if (o.trace_every) add(&pairs, text("NBC_TRACE_EVERY=%s", o.trace_every));
  if (o.through) add(&pairs, text("NBC_THROUGH=%s", o.through));
  const words w = with_settings(argv, at, l, m, &pairs, preload);
  words report = {NULL, 0}, timeline = {NULL, 0};
  if (folder && o.trace) {
    add(&timeline, need_own("overlap_trace"));
    add(&timeline, folder);
  }
  if (folder) {
    add(&report, need_own("overlap_report"));
    add(&report, "-o");
    add(&report, text("%s/overlap_report.html", folder));
    add(&report, folder);
  }
  if (o.print) {
    print_command(&w);
    if (folder) print_command(&report);
    if (timeline.count) print_command(&timeline);
    return 0;
  }
  return folder ? run_and_report(&w, &report, &timeline, folder) : run(&w);
}

/* ---- the others ---------------------------------------------------------------------------------------- */
static int hand_on(const char *command, const char *first, char **argv, int argc) {
  words w = {NULL, 0};
  add(&w, need_own(command));
  if (first) add(&w, first);
  for (int i = 0; i < argc; i++) add(&w, argv[i]);
  return run(&w);
}

/* Is there anything to read among the arguments of dedicated_core, which without any takes an example? */
static bool has_input(char **argv, int argc) {
  static const char with_value[] = " --cores --scaling --alpha --costs --svg ";
  int i = 0;
  while (i < argc && argv[i][0] == '-') i += 1 + is_among(with_value, argv[i]);
  return i < argc;
}
/* dedicated_core, with a folder's reports in place of the folder. */
static int predict(char **argv, int argc) {
  words w = {NULL, 0};
  if (!has_input(argv, argc) && !(argc == 1 && is(argv[0], "--example"))) {
    fputs("usage: nbc predict [OPTIONS] DIR (nbc predict --help)\n", stderr);
    return 2;
  }
  add(&w, need_own("dedicated_core"));
  for (int i = 0; i < argc; i++) {
    struct stat st;
    struct dirent **files;
    if (stat(argv[i], &st) != 0 || !S_ISDIR(st.st_mode)) {
      add(&w, argv[i]);
      continue;
    }
    const int count = scandir(argv[i], &files, report_filter, alphasort);
    if (count < 0) fail(1, "%s: %s", argv[i], strerror(errno));
    if (count == 0) fail(2, "%s: no reports in it", argv[i]);
    for (int k = 0; k < count; k++) {
      add(&w, text("%s/%s", argv[i], files[k]->d_name));
      free(files[k]);
    }
    free(files);
  }
  return run(&w);
}

static int measure_tables(char **argv, int argc) {
  bool again = false, print = false, any = false, any_launcher = false;
  mpi only = MPI_NONE;
  for (int i = 0; i < argc; i++) {
    if (is(argv[i], "--again"))
      again = true;
    else if (is(argv[i], "--print"))
      print = true;
    else if (is(argv[i], "--mpi"))
      only = mpi_called(value_of(argv, argc, &i));
    else
      fail(2, "%s is no option of nbc table", argv[i]);
  }
  for (mpi m = MPI_OPEN; m <= MPI_CH; m = (mpi)(m + 1)) {
    if ((only && only != m) || (!only && !own_launcher(m))) continue;
    const words settings = transport_settings(m, NULL, 0);
    any_launcher = true;
    char *path = table_for(m, &settings, false, again, print);
    if (path && !print) printf("%s: %s\n", mpi_name[m], path);
    any = any || path;
  }
  if (!any && !any_launcher) fail(1, "no table: no MPI launcher found (nbc doctor)");
  return any ? 0 : 1; /* table_for has said why */
}

static int doctor(void) {
  int works = 0;
  for (mpi m = MPI_OPEN; m <= MPI_CH; m = (mpi)(m + 1)) {
    const char *name = own_launcher(m);
    const words settings = transport_settings(m, NULL, 0);
    char *library = own_file(text("libnbc_overlap_%s.so", mpi_suffix[m])),
         *table = name ? table_path(m, name, NULL, &settings) : NULL;
    char *progress = own_file(text("libnbc_progress_%s.so", mpi_suffix[m]));
    printf("%s\n  launcher     %s\n", mpi_name[m],
           name ? name : "none (Debian: openmpi-bin or mpich)");
    printf("  preload      %s\n",
           library ? library : "not built: nbc see cannot measure its programs");
    printf("  table        %s\n", table && exists(table) ? table
                                  : name && !table
                                      ? "none can be kept: no cache folder (HOME or XDG_CACHE_HOME)"
                                      : "not measured yet (nbc table, or the first nbc see)");
    if (is_disturbed(table))
      puts("               it was disturbed when it was measured, so no minimum is claimed: nbc "
           "table --again, while nothing else runs");
    printf("  progress     %s\n", progress ? progress : "not installed: no nbc get");
    if (name && library) works++;
  }
  printf("lines of calls %s\n",
         find_command("addr2line") ? "by addr2line"
                                   : "no addr2line (Debian: binutils): functions and offsets only");
  if (!own_file("overlap_report")) printf("overlap_report is missing beside this command\n");
  return works ? 0 : 1;
}

static int completion(void) {
  puts("_nbc() {\n  local cur=${COMP_WORDS[COMP_CWORD]} options=--help\n"
       "  case ${COMP_WORDS[1]} in\n"
       "  see) options+=' -o --table --no-table --get --trace --trace-every --no-trace --through "
       "--mpi --print' ;;\n"
       "  report) options+=' -o --no-html --json --csv --reference --diff' ;;\n"
       "  trace) options+=' -o --otf2' ;;\n"
       "  predict) options+=' --cores --scaling --alpha --costs --svg --example' ;;\n"
       "  get) options+=' --mpi --print' ;;\n"
       "  table) options+=' --mpi --again --print' ;;\n"
       "  esac\n"
       "  if [ \"$COMP_CWORD\" = 1 ]; then\n"
       "    COMPREPLY=($(compgen -W 'see report diff trace predict get table doctor completion "
       "--help --version' -- \"$cur\"))\n"
       "  elif [[ $cur = -* ]]; then\n    COMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
       "  else\n    cur=${cur#[\\\"\\']}\n"
       "    mapfile -t COMPREPLY < <(compgen -f -c -- \"${cur//\\\\/}\")\n"
       "  fi\n}\ncomplete -o filenames -F _nbc nbc");
  return 0;
}

static bool is_help(const char *word) { return is(word, "--help") || is(word, "-h"); }
static int help_of(int command) {
  static char ask[] = "--help";
  char *words_asked[] = {ask};
  printf("usage: nbc %s%s\n  %s\n", commands[command].name, commands[command].arguments,
         commands[command].what);
  for (int i = 0; i < 5 && commands[command].more[i]; i++) fputs(commands[command].more[i], stdout);
  if (!commands[command].asked) return 0;
  printf("Its options are those of %s:\n", commands[command].asked);
  return hand_on(commands[command].asked, NULL, words_asked, 1);
}

int main(int argc, char **argv) {
  output_begin("nbc");
  const ssize_t n = readlink("/proc/self/exe", own_folder, sizeof own_folder - 1);
  if (n <= 0) fail(1, "/proc/self/exe: %s", strerror(errno));
  own_folder[n] = 0;
  *strrchr(own_folder, '/') = 0;
  if (argc < 2) {
    print_usage(stderr);
    return 2;
  }
  const char *what = argv[1];
  argv += 2, argc -= 2;
  if (is_help(what) || is(what, "help")) return help();
  if (is(what, "--version")) return puts("nbc_overlap " NBC_VERSION_STRING) < 0;
  for (int i = 0; i < COMMANDS; i++)
    if (is(what, commands[i].name) && argc > 0 && is_help(argv[0])) return help_of(i);
  if (is(what, "see")) return see(argv, argc, false);
  if (is(what, "get")) return see(argv, argc, true);
  if (is(what, "report")) return hand_on("overlap_report", NULL, argv, argc);
  if (is(what, "diff") && argc != 2) {
    fputs("usage: nbc diff BEFORE AFTER\n", stderr);
    return 2;
  }
  if (is(what, "diff")) return hand_on("overlap_report", "--diff", argv, argc);
  if (is(what, "trace")) return hand_on("overlap_trace", NULL, argv, argc);
  if (is(what, "predict")) return predict(argv, argc);
  if (is(what, "table")) return measure_tables(argv, argc);
  if ((is(what, "doctor") || is(what, "completion")) && argc > 0)
    fail(2, "%s: nbc %s takes nothing", argv[0], what);
  if (is(what, "doctor")) return doctor();
  if (is(what, "completion")) return completion();
  fprintf(stderr, "nbc: there is no %s\n", what);
  print_usage(stderr);
  return 2;
}
