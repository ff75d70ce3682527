/* State that libc has once and each process has for itself here: environment, random numbers, strtok, hsearch,
   working directory, umask, open streams, its name. Commands (system, popen)
   run on the host as children of this process; processes of its own (fork, exec, posix_spawn) are
   refused with a sentence.

   Shared by all processes, as the manual of pm_run says: results in static memory (strerror, getpwnam ...), the
   numbers of descriptors from 3 on. */
#include "guest.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

typedef struct guest_libc { /* of a process that uses any of it */
  char *token;              /* strtok */
  struct random_data random;
  char random_state[128];
  struct drand48_data drand48;
  struct hsearch_data table;
  char **added;   /* variables of the environment that we allocated */
  char **environ; /* the array that we allocated; NULL: not yet */
  int environ_max;
} guest_libc;

static guest_libc *state(void) {
  guest *g = guest_now();
  if (g->libc) return g->libc;
  g->libc = (guest_libc *)calloc(1, sizeof *g->libc);
  if (!g->libc) guest_abort(100, "out of memory");
  initstate_r(1, g->libc->random_state, sizeof g->libc->random_state, &g->libc->random);
  srand48_r(0, &g->libc->drand48);
  return g->libc;
}

/* ---- environment ------------------------------------------------------------------------------------------ */
static char ***environ_at(void) { return (char ***)guest_variable_at(guest_now(), GUEST_ENVIRON); }
static char **find(const char *name, size_t bytes) {
  for (char **e = *environ_at(); e && *e; e++)
    if (strncmp(*e, name, bytes) == 0 && (*e)[bytes] == '=') return e;
  return NULL;
}
char *guest_getenv(const char *name) {
  char **e = find(name, strlen(name));
  return e ? *e + strlen(name) + 1 : NULL;
}
static int put_text(char *text, size_t name_bytes) { /* "NAME=value", which is kept */
  guest_libc *l = state();
  char **at = find(text, name_bytes), **now = *environ_at();
  int n = 0;
  if (at) return *at = text, 0;
  while (now && now[n]) n++;
  if (now != l->environ || n + 1 >= l->environ_max) {
    const int max = n * 2 + 16;
    char **more = (char **)malloc((size_t)max * sizeof *more);
    if (!more) return errno = ENOMEM, -1;
    if (n) memcpy(more, now, (size_t)n * sizeof *more);
    if (now == l->environ) free(now);
    *environ_at() = l->environ = more;
    l->environ_max = max;
  }
  l->environ[n] = text;
  l->environ[n + 1] = NULL;
  return 0;
}
static bool is_bad_name(const char *name) { return !name || !*name || strchr(name, '='); }
static int guest_unsetenv(const char *name) {
  char **e;
  if (is_bad_name(name)) return errno = EINVAL, -1;
  while ((e = find(name, strlen(name))) != NULL) do
      e[0] = e[1];
    while (*e++);
  return 0;
}
static int guest_setenv(const char *name, const char *value, int overwrite) {
  char *text;
  if (is_bad_name(name)) return errno = EINVAL, -1;
  if (!overwrite && find(name, strlen(name))) return 0;
  if (asprintf(&text, "%s=%s", name, value) < 0) return errno = ENOMEM, -1;
  return put_text(text, strlen(name));
}
static int guest_putenv(char *text) {
  return strchr(text, '=') ? put_text(text, strcspn(text, "=")) : guest_unsetenv(text);
}
static int guest_clearenv(void) { return *environ_at() = NULL, 0; }

/* ---- random numbers, strtok, hsearch ------------------------------------------------------------------------------- */
static void guest_srandom(unsigned seed) { srandom_r(seed, &state()->random); }
static long guest_random(void) {
  int32_t x;
  random_r(&state()->random, &x);
  return x;
}
static int guest_rand(void) { return (int)guest_random(); }
static char *guest_initstate(unsigned seed, char *memory, size_t bytes) {
  char *before = (char *)state()->random.state - sizeof(int32_t);
  return initstate_r(seed, memory, bytes, &state()->random) ? NULL : before;
}
static char *guest_setstate(char *memory) {
  char *before = (char *)state()->random.state - sizeof(int32_t);
  return setstate_r(memory, &state()->random) ? NULL : before;
}
static double guest_drand48(void) {
  double x;
  drand48_r(&state()->drand48, &x);
  return x;
}
static double guest_erand48(unsigned short x[3]) {
  double result;
  erand48_r(x, &state()->drand48, &result);
  return result;
}
static long guest_lrand48(void) {
  long x;
  lrand48_r(&state()->drand48, &x);
  return x;
}
static long guest_nrand48(unsigned short x[3]) {
  long result;
  nrand48_r(x, &state()->drand48, &result);
  return result;
}
static long guest_mrand48(void) {
  long x;
  mrand48_r(&state()->drand48, &x);
  return x;
}
static long guest_jrand48(unsigned short x[3]) {
  long result;
  jrand48_r(x, &state()->drand48, &result);
  return result;
}
static void guest_srand48(long seed) { srand48_r(seed, &state()->drand48); }
static unsigned short *guest_seed48(unsigned short x[3]) {
  guest_libc *l = state();
  seed48_r(x, &l->drand48);
  return l->drand48.__old_x;
}
static void guest_lcong48(unsigned short x[7]) { lcong48_r(x, &state()->drand48); }
static char *guest_strtok(char *text, const char *ends) {
  return strtok_r(text, ends, &state()->token);
}
static int guest_hcreate(size_t most) { return hcreate_r(most, &state()->table); }
static void guest_hdestroy(void) { hdestroy_r(&state()->table); }
static ENTRY *guest_hsearch(ENTRY entry, ACTION action) {
  ENTRY *found;
  return hsearch_r(entry, action, &found, &state()->table) ? found : NULL;
}

/* ---- working directory and umask: the host process has one, so it follows who runs ----------------------- */
static int start_fd = -1, fd_now = -1, umask_start = -1, umask_now = -1;
static int stay_here(guest *g) {
  const int fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (guest_descriptor_kept(fd) < 0) return -1;
  guest_descriptor_drop(g->cwd_fd);
  g->cwd_fd = fd_now = fd;
  return 0;
}
static int begin_moves(void) {
  if (start_fd < 0) start_fd = guest_descriptor_kept(open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  return start_fd < 0;
}
static int guest_chdir(const char *path) {
  return begin_moves() || chdir(path) ? -1 : stay_here(guest_now());
}
static int guest_fchdir(int fd) {
  return begin_moves() || fchdir(fd) ? -1 : stay_here(guest_now());
}
static mode_t guest_umask(mode_t mask) {
  const mode_t before = umask(mask);
  if (umask_start < 0) umask_start = (int)before;
  guest_now()->umask = umask_now = (int)(mask & 0777);
  return before;
}
/* NULL: back to where pm_run was started */
void guest_libc_switch(const guest *g) {
  const int fd = g ? g->cwd_fd : -1, mask = g ? g->umask : -1;
  if (fd != fd_now) {
    if (fchdir(fd < 0 ? start_fd : fd))
      guest_refuse("a working directory is gone: %s", strerror(errno));
    fd_now = fd;
  }
  if (mask != umask_now) {
    umask((mode_t)(mask < 0 ? umask_start : mask));
    umask_now = mask;
  }
  guest_descriptors_switch(g);
}

/* ---- streams: those that a process leaves open are closed at its end -------------------------------------- */
typedef struct guest_file {
  struct guest_file *next;
  FILE *stream;
  int (*close)(FILE *stream);
} guest_file;
static FILE *opened_by(FILE *stream, int (*close)(FILE *)) {
  guest_file *f = stream ? (guest_file *)malloc(sizeof *f) : NULL;
  if (f) *f = (guest_file){guest_now()->files, stream, close}, guest_now()->files = f;
  if (stream) guest_descriptor_opened(fileno(stream));
  return stream;
}
static FILE *opened(FILE *stream) { return opened_by(stream, fclose); }
/* A FIFO is opened in simulated time; libc's own open would wait on the host. */
static bool is_fifo(const char *path, const char *mode) {
  struct stat s;
  return path && !strchr(mode, '+') && stat(path, &s) == 0 && S_ISFIFO(s.st_mode);
}
static int open_fifo(const char *path, const char *mode) {
  const int access = *mode == 'r' ? O_RDONLY : *mode == 'a' ? O_WRONLY | O_APPEND : O_WRONLY;
  return guest_open_waiting(AT_FDCWD, path, access | (strchr(mode, 'e') ? O_CLOEXEC : 0), 0);
}
static FILE *fopen_fifo(const char *path, const char *mode) {
  const int fd = open_fifo(path, mode);
  FILE *stream = fd < 0 ? NULL : guest_stream_waiting(fd, mode);
  if (fd >= 0 && !stream) guest_close(fd);
  return stream;
}
static FILE *guest_fopen(const char *path, const char *mode) {
  const int own = *mode == 'r' ? guest_open_itself(path) : -1;
  if (own < 0 && is_fifo(path, mode)) return opened(fopen_fifo(path, mode));
  return opened(own >= 0 ? fdopen(own, mode) : fopen(path, mode));
}
static FILE *guest_fdopen(int fd, const char *mode) {
  guest_own_input(fd);
  return opened(guest_may_wait(fd) ? guest_stream_waiting(fd, mode) : fdopen(fd, mode));
}
static FILE *guest_tmpfile(void) { return opened(tmpfile()); }
static void forget(guest *g, const FILE *stream) {
  for (guest_file **at = &g->files; *at; at = &(*at)->next)
    if ((*at)->stream == stream) {
      guest_file *gone = *at;
      *at = gone->next;
      free(gone);
      return;
    }
}
/* Before libc closes its descriptor. */
static void leave_stream(FILE *stream) {
  const int fd = fileno(stream);
  guest_descriptors_leave(fd);
  guest_descriptor_forget(fd);
  guest_locks_leave(fd);
}
static int guest_fclose(FILE *stream) {
  guest *g = guest_now();
  forget(g, stream);
  if (stream == g->out || stream == stderr || guest_output_is_nothing(stream))
    return fflush(stream); /* the launcher and other processes need them */
  const bool is_first = fileno(stream) == 0 && !guest_has_own(g, 0);
  if (!is_first) leave_stream(stream);
  const int code = fclose(stream), error_number = errno;
  if (is_first) open("/dev/null", O_RDONLY); /* takes the number, which all processes share */
  errno = error_number;
  return code;
}
/* A stream of libc's stays one, with a FIFO, too: it has been opened here and stays so until libc has opened it. */
static FILE *freopen_of_libc(const char *path, const char *mode, FILE *stream) {
  const guest *g = guest_now();
  const bool is_waiting = is_fifo(path, mode);
  const int open_now = is_waiting ? open_fifo(path, mode) : -1;
  if (is_waiting && open_now < 0) return fclose(stream), NULL;
  const int both = is_waiting ? open(path, O_RDWR | O_CLOEXEC) : -1;
  FILE *same = freopen(path, mode, stream);
  if (both >= 0) close(both);
  if (open_now >= 0) guest_close(open_now);
  const int fd = same ? fileno(same) : -1;
  if (guest_has_own(g, fd)) guest_descriptors_put(fd, fd);
  return same;
}
/* Of a stream that the launcher or other processes need: the file takes the place of its descriptor. So it does of an
   input that is a FIFO, or was a pipe, which is read in simulated time by a stream that libc cannot open again. */
static FILE *guest_freopen(const char *path, const char *mode, FILE *stream) {
  const guest *g = guest_now();
  const int to = stream == g->out ? 1 : stream == stderr ? 2 : 0;
  const bool is_waiting = is_fifo(path, mode);
  const bool is_input = stream == stdin && (is_waiting || stream == g->waiting_input);
  if (!to && !guest_output_is_nothing(stream) && !is_input)
    return freopen_of_libc(path, mode, stream);
  fflush(stream);
  if (!path) return stream; /* but another mode */
  FILE *file = is_waiting ? NULL : fopen(path, mode);
  const int fd = is_waiting ? open_fifo(path, mode) : file ? fileno(file) : -1;
  const bool is_there = fd >= 0 && guest_descriptors_put(fd, to) == to;
  if (file) fclose(file);
  if (is_waiting && fd >= 0) guest_close(fd);
  if (is_there && !to) clearerr(stdin);
  return !is_there ? NULL : to ? stream : stdin;
}
/* _exit: what streams hold is lost. */
void guest_libc_leave(guest *g) {
  for (const guest_file *f = g->files; f; f = f->next)
    if (f->close == fclose) __fpurge(f->stream);
  guest_libc_end(g);
}
void guest_libc_end(guest *g) {
  while (g->files) {
    const guest_file last = *g->files;
    forget(g, last.stream);
    leave_stream(last.stream);
    if (last.close(last.stream) < 0) guest_say_once("fclose", strerror(errno));
  }
  if (g->cwd_fd >= 0) guest_descriptor_drop(g->cwd_fd), g->cwd_fd = -1, fd_now = -2;
  guest_descriptors_end(g);
}

/* ---- names --------------------------------------------------------------------------------------------------- */
static int guest_gethostname(char *name, size_t bytes) {
  const int n = snprintf(name, bytes, "node%d", pm_process_node(pm_self()));
  return n < 0 || (size_t)n < bytes ? 0 : (errno = ENAMETOOLONG, -1);
}
static int guest_gethostname_chk(char *name, size_t bytes, size_t room) {
  return guest_gethostname(name, bytes < room ? bytes : room);
}
static int guest_uname(struct utsname *u) {
  const int code = uname(u);
  if (!code) guest_gethostname(u->nodename, sizeof u->nodename);
  return code;
}

/* ---- commands: they run on the host while simulated time stands still ------------------------------------------ */
/* A command inherits what the host's process has: while it begins, that is what the simulated one has. */
typedef struct inherited {
  char **environment;
  sighandler_t on_pipe;
  bool has_no_counter;
} inherited;
static inherited lend(void) {
  const inherited before = {environ, signal(SIGPIPE, SIG_DFL), /* the launcher ignores it */
                            guest_counter_keep(false)};
  guest_own_input(0);
  environ = *environ_at();
  return before;
}
static void take_back(const inherited *before) {
  const int error_number = errno;
  environ = before->environment;
  signal(SIGPIPE, before->on_pipe);
  guest_counter_keep(before->has_no_counter);
  errno = error_number;
}
static int guest_system(const char *command) {
  const inherited before = lend();
  const int status = system(command);
  take_back(&before);
  return status;
}
static FILE *guest_popen(const char *command, const char *mode) {
  const inherited before = lend();
  FILE *stream = popen(command, mode);
  take_back(&before);
  return opened_by(stream, pclose);
}
static int guest_pclose(FILE *stream) {
  forget(guest_now(), stream);
  return pclose(stream);
}

/* ---- what a simulated process cannot have ---------------------------------------------------------------------- */
static int no_fork(void) {
  guest_say_once("fork", "fork: a simulated process cannot have a second one; refused (ENOSYS)");
  return errno = ENOSYS, -1;
}
static int no_spawn(void) { return no_fork(), ENOSYS; }  /* it returns what is wrong */
static int no_child(void) { return errno = ECHILD, -1; } /* those of the launcher are not its */
static int no_exec(void) {
  guest_say_once("exec",
                 "exec: a simulated process cannot become another program; refused (ENOSYS)");
  return errno = ENOSYS, -1;
}
__attribute__((constructor)) static void add(void) {
  struct rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) { /* all processes share one table */
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  GUEST_REPLACE("getenv", guest_getenv);
  GUEST_REPLACE("secure_getenv", guest_getenv);
  GUEST_REPLACE("__secure_getenv", guest_getenv);
  GUEST_REPLACE("setenv", guest_setenv);
  GUEST_REPLACE("unsetenv", guest_unsetenv);
  GUEST_REPLACE("putenv", guest_putenv);
  GUEST_REPLACE("clearenv", guest_clearenv);
  GUEST_REPLACE("rand", guest_rand);
  GUEST_REPLACE("srand", guest_srandom);
  GUEST_REPLACE("random", guest_random);
  GUEST_REPLACE("srandom", guest_srandom);
  GUEST_REPLACE("initstate", guest_initstate);
  GUEST_REPLACE("setstate", guest_setstate);
  GUEST_REPLACE("drand48", guest_drand48);
  GUEST_REPLACE("erand48", guest_erand48);
  GUEST_REPLACE("lrand48", guest_lrand48);
  GUEST_REPLACE("nrand48", guest_nrand48);
  GUEST_REPLACE("mrand48", guest_mrand48);
  GUEST_REPLACE("jrand48", guest_jrand48);
  GUEST_REPLACE("srand48", guest_srand48);
  GUEST_REPLACE("seed48", guest_seed48);
  GUEST_REPLACE("lcong48", guest_lcong48);
  GUEST_REPLACE("strtok", guest_strtok);
  GUEST_REPLACE("hcreate", guest_hcreate);
  GUEST_REPLACE("hsearch", guest_hsearch);
  GUEST_REPLACE("hdestroy", guest_hdestroy);
  GUEST_REPLACE("chdir", guest_chdir);
  GUEST_REPLACE("fchdir", guest_fchdir);
  GUEST_REPLACE("umask", guest_umask);
}
__attribute__((constructor)) static void add_more(void) {
  GUEST_REPLACE("system", guest_system);
  GUEST_REPLACE("popen", guest_popen);
  GUEST_REPLACE("pclose", guest_pclose);
  GUEST_REPLACE("posix_spawn", no_spawn);
  GUEST_REPLACE("posix_spawnp", no_spawn);
  GUEST_REPLACE("fopen", guest_fopen);
  GUEST_REPLACE("fopen64", guest_fopen);
  GUEST_REPLACE("fdopen", guest_fdopen);
  GUEST_REPLACE("tmpfile", guest_tmpfile);
  GUEST_REPLACE("tmpfile64", guest_tmpfile);
  GUEST_REPLACE("fclose", guest_fclose);
  GUEST_REPLACE("freopen", guest_freopen);
  GUEST_REPLACE("freopen64", guest_freopen);
  GUEST_REPLACE("gethostname", guest_gethostname);
  GUEST_REPLACE("__gethostname_chk", guest_gethostname_chk);
  GUEST_REPLACE("uname", guest_uname);
  static const char *const forks[] = {"fork",    "vfork",  "_Fork", "__libc_fork",
                                      "forkpty", "daemon", "clone"};
  static const char *const waits[] = {"wait",   "waitpid", "wait3",    "wait4",
                                      "waitid", "__wait",  "__waitpid"};
  static const char *const execs[] = {"execve", "execv",  "execvp",  "execl",
                                      "execlp", "execle", "execvpe", "fexecve"};
  for (size_t i = 0; i < sizeof forks / sizeof *forks; i++) GUEST_REPLACE(forks[i], no_fork);
  for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) GUEST_REPLACE(waits[i], no_child);
  for (size_t i = 0; i < sizeof execs / sizeof *execs; i++) GUEST_REPLACE(execs[i], no_exec);
}
