/* What a process learns about itself: its program, arguments and memory in /proc/self, where the host has those of pm_run; the
   cores that it bound itself to; its stack; the functions around its addresses, as backtrace_symbols prints them: libc knows
   nothing of our copies. */
#include "guest.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- /proc/self ------------------------------------------------------------------------------------------------ */
/* ret "exe" of "/proc/self/exe" or of its number; NULL: another path */
static const char *of_itself(const char *path) {
  char own[32];
  if (!path || strncmp(path, "/proc/", 6) != 0) return NULL;
  const int n = snprintf(own, sizeof own, "/proc/%d/", guest_getpid());
  return strncmp(path, "/proc/self/", 11) == 0          ? path + 11
         : strncmp(path, "/proc/thread-self/", 18) == 0 ? path + 18
         : strncmp(path, own, (size_t)n) == 0           ? path + n
                                                        : NULL;
}
static bool is_program(const char *path) {
  const char *name = of_itself(path);
  return name && strcmp(name, "exe") == 0;
}
static int from_its_start(int fd, bool is_whole) {
  if (is_whole && lseek(fd, 0, SEEK_SET) == 0) return fd;
  if (fd >= 0) close(fd);
  return -1;
}
/* Arguments, or the name, in a file of its own. */
static int file_of_arguments(bool has_all) {
  const guest *g = guest_now();
  const char *short_name = *(char **)guest_variable_at(g, GUEST_PROGNAME_SHORT);
  const int fd = memfd_create("arguments", MFD_CLOEXEC);
  bool is_whole = fd >= 0;
  for (int i = 0; i < g->argc && is_whole && has_all; i++) {
    const ssize_t bytes = (ssize_t)strlen(g->argv[i]) + 1;
    is_whole = write(fd, g->argv[i], (size_t)bytes) == bytes;
  }
  if (is_whole && !has_all) is_whole = dprintf(fd, "%.15s\n", short_name) > 0;
  return from_its_start(fd, is_whole);
}
/* Its memory. Stacks lie side by side, and the host says so: here the running thread's is one by itself. */
static int file_of_maps(void) {
  size_t bytes;
  const uintptr_t low = (uintptr_t)guest_stack(&bytes), high = low + bytes;
  FILE *host = fopen("/proc/self/maps", "r");
  const int fd = host ? memfd_create("maps", MFD_CLOEXEC) : -1;
  bool is_whole = fd >= 0;
  char line[PATH_MAX + 128];
  while (is_whole && fgets(line, sizeof line, host)) {
    uintptr_t from, to;
    int n = 0;
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR "%n", &from, &to, &n) != 2 || low < from ||
        low >= to) {
      is_whole = dprintf(fd, "%s", line) > 0;
      continue;
    }
    const char *const rest = line + n; /* " rw-p 00000000 00:00 0" and the line's end */
    if (from < low) is_whole = dprintf(fd, "%" PRIxPTR "-%" PRIxPTR "%s", from, low, rest) > 0;
    if (is_whole)
      is_whole =
          dprintf(fd, "%" PRIxPTR "-%" PRIxPTR " rw-p 00000000 00:00 0 [stack]\n", low, high) > 0;
    if (is_whole && high < to)
      is_whole = dprintf(fd, "%" PRIxPTR "-%" PRIxPTR "%s", high, to, rest) > 0;
  }
  if (host) fclose(host);
  return from_its_start(fd, is_whole);
}
#if defined(__x86_64__)
/* The processors, of which each says that it has the frequency of the counter (counter.c): in its number and, where the
   model's name has one ("@ 2.60GHz"), there. */
static int file_of_processors(void) {
  FILE *host = fopen("/proc/cpuinfo", "r");
  const int fd = host ? memfd_create("cpuinfo", MFD_CLOEXEC) : -1;
  bool is_whole = fd >= 0;
  char line[4096];
  while (is_whole && fgets(line, sizeof line, host)) {
    char *const at = strncmp(line, "model name", 10) == 0 ? strstr(line, " @ ") : NULL;
    if (strncmp(line, "cpu MHz", 7) == 0)
      is_whole = dprintf(fd, "cpu MHz\t\t: 1000.000\n") > 0;
    else
      is_whole = dprintf(fd, "%.*s%s", at ? (int)(at - line) : (int)sizeof line, line,
                         at ? " @ 1.00GHz\n" : "") > 0;
  }
  if (host) fclose(host);
  return from_its_start(fd, is_whole);
}
#else
static int file_of_processors(void) { return -1; }
#endif
int guest_open_itself(const char *path) {
  const char *name = of_itself(path);
  if (path && strcmp(path, "/proc/cpuinfo") == 0) return file_of_processors();
  if (path && (strcmp(name ? name : path, "fd/0") == 0 || strcmp(path, "/dev/stdin") == 0 ||
               strcmp(path, "/dev/fd/0") == 0))
    guest_own_input(0);
  if (!name) return -1;
  if (strcmp(name, "exe") == 0) return open(guest_program(), O_RDONLY);
  if (strcmp(name, "cmdline") == 0 || strcmp(name, "comm") == 0)
    return file_of_arguments(name[1] == 'm');
  if (strcmp(name, "maps") == 0) return file_of_maps();
  /* by its number, which is nobody's on the host, or another program's */
  char host[PATH_MAX];
  const bool is_numbered = strchr("0123456789", path[6]) != NULL;
  return is_numbered && snprintf(host, sizeof host, "/proc/self/%s", name) > 0
             ? open(host, O_RDONLY | O_CLOEXEC)
             : -1;
}
static mode_t mode_of(int flags, va_list args) {
  return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(args, mode_t) : 0;
}
static int guest_open(const char *path, int flags, ...) {
  va_list args;
  va_start(args, flags);
  const mode_t mode = mode_of(flags, args);
  va_end(args);
  const int own = (flags & O_ACCMODE) == O_RDONLY ? guest_open_itself(path) : -1;
  return own >= 0 ? guest_descriptor_opened(own) : guest_open_waiting(AT_FDCWD, path, flags, mode);
}
static int guest_openat(int folder, const char *path, int flags, ...) {
  va_list args;
  va_start(args, flags);
  const mode_t mode = mode_of(flags, args);
  va_end(args);
  const int own = (flags & O_ACCMODE) == O_RDONLY ? guest_open_itself(path) : -1;
  return own >= 0 ? guest_descriptor_opened(own) : guest_open_waiting(folder, path, flags, mode);
}
/* As -D_FORTIFY_SOURCE and old programs call it */
static int guest_open_2(const char *path, int flags) { return guest_open(path, flags, 0); }
static int guest_openat_2(int folder, const char *path, int flags) {
  return guest_openat(folder, path, flags, 0);
}
static int guest_creat(const char *path, mode_t mode) {
  return guest_open(path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}
static ssize_t guest_readlinkat(int folder, const char *path, char *to, size_t bytes) {
  if (!is_program(path)) return readlinkat(folder, path, to, bytes);
  const size_t all = strlen(guest_program());
  memcpy(to, guest_program(), all < bytes ? all : bytes);
  return (ssize_t)(all < bytes ? all : bytes);
}
static ssize_t guest_readlink(const char *path, char *to, size_t bytes) {
  return guest_readlinkat(AT_FDCWD, path, to, bytes);
}
static ssize_t guest_readlink_chk(const char *path, char *to, size_t bytes, size_t room) {
  if (bytes > room) abort();
  return guest_readlink(path, to, bytes);
}
static char *guest_realpath(const char *path, char *to) {
  return realpath(is_program(path) ? guest_program() : path, to);
}
static char *guest_realpath_chk(const char *path, char *to, size_t room) {
  if (room < PATH_MAX) abort();
  return guest_realpath(path, to);
}
static char *guest_canonical(const char *path) { return guest_realpath(path, NULL); }

/* ---- cores ----------------------------------------------------------------------------------------------------- */
/* What a thread binds itself to is kept for its own questions: the host's thread, which runs all, stays free. */
static void keep_stack(guest *g);
static guest_part part = {.name = "itself", .process_begin = keep_stack};
void guest_cores_inherit(guest_context *c) {
  const guest_context *from = guest_context_now();
  if (from && from->cores) guest_cores_set(c, sizeof(cpu_set_t), from->cores);
}
int guest_cores_set(guest_context *c, size_t bytes, const void *set) {
  cpu_set_t there, asked;
  if (sched_getaffinity(0, sizeof there, &there)) return errno;
  CPU_ZERO(&asked);
  memcpy(&asked, set, bytes < sizeof asked ? bytes : sizeof asked);
  CPU_AND(&asked, &asked, &there);
  if (!CPU_COUNT(&asked)) return EINVAL;
  if (!c->cores) c->cores = malloc(sizeof asked);
  if (!c->cores) return ENOMEM;
  memcpy(c->cores, &asked, sizeof asked);
  return 0;
}
int guest_cores_get(const guest_context *c, size_t bytes, void *set) {
  cpu_set_t there;
  if (bytes % sizeof(long)) return EINVAL;
  if (sched_getaffinity(0, sizeof there, &there)) return errno;
  memset(set, 0, bytes);
  memcpy(set, c->cores ? c->cores : &there, bytes < sizeof there ? bytes : sizeof there);
  return 0;
}
static int failed(int code) { return code ? (errno = code, -1) : 0; }
static int guest_setaffinity(pid_t thread, size_t bytes, const cpu_set_t *set) {
  guest_context *c = guest_context_numbered(thread);
  return failed(c ? guest_cores_set(c, bytes, set) : ESRCH);
}
static int guest_getaffinity(pid_t thread, size_t bytes, cpu_set_t *set) {
  const guest_context *c = guest_context_numbered(thread);
  return failed(c ? guest_cores_get(c, bytes, set) : ESRCH);
}
/* Of the cores that it may have, the one of its place on its node: the same at each call and in each run, wherever the
   host runs pm_run just then. */
static int guest_getcpu(void) {
  cpu_set_t set;
  if (guest_getaffinity(0, sizeof set, &set)) return -1;
  int before = pm_rank() % guest_per_node() % CPU_COUNT(&set);
  size_t core = 0;
  while (!CPU_ISSET(core, &set) || before--) core++;
  return (int)core;
}
static int guest_getcpu_and_node(unsigned *core, unsigned *node) {
  if (core) *core = (unsigned)guest_getcpu();
  if (node) *node = 0;
  return 0;
}

/* ---- its stack: interpreters (R) and collectors of garbage ask where it is ---------------- */
static void keep_stack(guest *g) {
  size_t bytes;
  char *const low = (char *)guest_stack(&bytes);
  *(void **)guest_variable_at(g, GUEST_STACK_END) = low + bytes - sizeof(void *);
}

/* ---- functions ------------------------------------------------------------------------------------------------- */
/* As libc writes it: "program(function+0x12) [0x5581...]". ret its length */
static int write_frame(const void *address, char *text, size_t bytes) {
  Dl_info info;
  if (!guest_dladdr(address, &info) || !info.dli_fname)
    return snprintf(text, bytes, "[%p]", address);
  const char *const from = (const char *)(info.dli_sname ? info.dli_saddr : info.dli_fbase);
  return snprintf(text, bytes, "%s(%s+0x%tx) [%p]", info.dli_fname,
                  info.dli_sname ? info.dli_sname : "", (const char *)address - from, address);
}
static char **guest_backtrace_symbols(void *const *frames, int count) {
  size_t bytes = 0;
  for (int i = 0; i < count; i++)
    bytes += sizeof(char *) + (size_t)write_frame(frames[i], NULL, 0) + 1;
  char **lines = (char **)malloc(bytes ? bytes : 1),
       *at = (char *)(lines + (count > 0 ? count : 0));
  for (int i = 0; i < count && lines; i++) {
    lines[i] = at;
    at += write_frame(frames[i], at, bytes) + 1;
  }
  return lines;
}
static void guest_backtrace_symbols_fd(void *const *frames, int count, int fd) {
  char line[PATH_MAX + 512];
  for (int i = 0; i < count; i++) {
    write_frame(frames[i], line, sizeof line);
    dprintf(fd, "%s\n", line);
  }
}

__attribute__((constructor)) static void add(void) {
  guest_part_add(&part);
  GUEST_REPLACE("sched_setaffinity", guest_setaffinity);
  GUEST_REPLACE("sched_getaffinity", guest_getaffinity);
  GUEST_REPLACE("sched_getcpu", guest_getcpu);
  GUEST_REPLACE("getcpu", guest_getcpu_and_node);
  GUEST_REPLACE("open", guest_open);
  GUEST_REPLACE("open64", guest_open);
  GUEST_REPLACE("openat", guest_openat);
  GUEST_REPLACE("openat64", guest_openat);
  GUEST_REPLACE("__open_2", guest_open_2);
  GUEST_REPLACE("__open64_2", guest_open_2);
  GUEST_REPLACE("__openat_2", guest_openat_2);
  GUEST_REPLACE("__openat64_2", guest_openat_2);
  GUEST_REPLACE("creat", guest_creat);
  GUEST_REPLACE("creat64", guest_creat);
  GUEST_REPLACE("readlink", guest_readlink);
  GUEST_REPLACE("readlinkat", guest_readlinkat);
  GUEST_REPLACE("__readlink_chk", guest_readlink_chk);
  GUEST_REPLACE("realpath", guest_realpath);
  GUEST_REPLACE("__realpath_chk", guest_realpath_chk);
  GUEST_REPLACE("canonicalize_file_name", guest_canonical);
  GUEST_REPLACE("backtrace_symbols", guest_backtrace_symbols);
  GUEST_REPLACE("backtrace_symbols_fd", guest_backtrace_symbols_fd);
}
