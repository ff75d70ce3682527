/* What processes write: each has a stdout of its own with its own buffer; --prefix tells whose line it
   is. stderr has no buffer and is one for all. */
#include "guest.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int prefix, failed;
static bool is_terminal;
static FILE *nothing; /* stdin of all processes but the first */

static void write_all(int fd, const char *text, size_t bytes) {
  for (ssize_t n; bytes; text += n) {
    n = syscall(SYS_write, fd, text, bytes);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) n = 0;
    if (n < 0) {
      if (pm_self() && guest_has_own(guest_now(), fd)) return; /* its own file */
      if (!failed) fprintf(stderr, "pm_run: output is lost: %s\n", strerror(errno));
      failed = 1;
      return;
    }
    bytes -= (size_t)n;
  }
}
int guest_output_failed(void) { return failed; }
static void line_end(int fd, guest *g) {
  char start[32];
  const int bytes = g->line[fd - 1].bytes;
  if (!bytes) return;
  const int n = snprintf(start, sizeof start, "[%d] ", pm_process_rank(g->process));
  write_all(fd, start, (size_t)n);
  write_all(fd, g->line[fd - 1].text, (size_t)bytes);
  if (g->line[fd - 1].text[bytes - 1] != '\n') write_all(fd, "\n", 1);
  g->line[fd - 1].bytes = 0;
}
void guest_output_line(guest *g, int fd) {
  if (fd > 0) line_end(fd, g);
}
static void write_lines(int fd, guest *g, const char *text, size_t bytes) {
  if (!g || !prefix || guest_has_own(g, fd)) {
    write_all(fd, text, bytes);
    return;
  }
  for (size_t i = 0; i < bytes; i++) {
    if (g->line[fd - 1].bytes == g->line[fd - 1].max) {
      const int max = g->line[fd - 1].max ? g->line[fd - 1].max * 2 : 128;
      char *more = (char *)realloc(g->line[fd - 1].text, (size_t)max);
      if (!more) return;
      g->line[fd - 1].text = more;
      g->line[fd - 1].max = max;
    }
    g->line[fd - 1].text[g->line[fd - 1].bytes++] = text[i];
    if (text[i] == '\n') line_end(fd, g);
  }
}
static ssize_t guest_write(int fd, const void *text, size_t bytes) {
  guest *g = guest_now();
  pm_catch_up(); /* lines stand in the order of simulated time */
  if (guest_may_wait(fd)) return guest_write_waiting(fd, text, bytes);
  if (!prefix || (fd != 1 && fd != 2) || guest_has_own(g, fd)) return write(fd, text, bytes);
  if (fd == 1 && g->out) fflush(g->out); /* in the order of the calls, as far as a line goes */
  write_lines(fd, g, (const char *)text, bytes);
  return (ssize_t)bytes;
}
static ssize_t guest_writev(int fd, const struct iovec *piece, int count) {
  const bool may_wait = guest_may_wait(fd);
  struct stat s;
  ssize_t sum = 0;
  if (may_wait && fstat(fd, &s) == 0 && S_ISSOCK(s.st_mode))
    return guest_socket_write(fd, piece, count); /* all pieces are one datagram */
  if (!may_wait && (!prefix || (fd != 1 && fd != 2))) return guest_looked(writev(fd, piece, count));
  for (int i = 0; i < count; i++) {
    const ssize_t n = guest_write(fd, piece[i].iov_base, piece[i].iov_len);
    if (n < 0) return sum ? sum : n;
    sum += n;
    if ((size_t)n < piece[i].iov_len) break;
  }
  return sum;
}
/* Who asks for the descriptor of a stream writes to it without the stream: iostreams of C++ that are not
   synchronized with stdio do. */
static int guest_fileno(FILE *stream) {
  const guest *g = guest_now();
  return g && stream == nothing       ? 0
         : g && stream == g->out      ? 1
         : prefix && stream == stderr ? 2
                                      : fileno(stream);
}
static ssize_t out_stream(void *g, const char *text, size_t bytes) {
  pm_catch_up();
  write_lines(1, (guest *)g, text, bytes);
  return (ssize_t)bytes;
}
static ssize_t err_stream(void *unused, const char *text, size_t bytes) {
  (void)unused;
  pm_catch_up();
  write_lines(2, guest_now(), text, bytes);
  return (ssize_t)bytes;
}
bool guest_output_is_nothing(const FILE *stream) { return stream == nothing; }
int guest_output_nothing(void) { return fileno(nothing); }
void guest_output_input(void) {
  guest *g = guest_now();
  FILE **in = (FILE **)guest_variable_at(g, GUEST_STDIN);
  if (*in == g->waiting_input && *in) return; /* reads what 0 is now */
  /* A pipe is waited for in simulated time; not when something was read ahead, which the program is to have first. */
  if (guest_may_wait(0) && (*in == nothing || (*in)->_IO_read_ptr == (*in)->_IO_read_end)) {
    FILE *waiting = guest_stream_waiting(0, "r");
    if (waiting) *in = stdin = g->waiting_input = waiting;
  }
  if (*in == nothing) *in = stdin = fdopen(0, "r");
}
void guest_output_begin(int with_prefix) {
  const cookie_io_functions_t io = {NULL, err_stream, NULL, NULL};
  prefix = with_prefix;
  is_terminal = isatty(1);
  nothing = fopen("/dev/null", "r");
  FILE *err = prefix ? fopencookie(NULL, "w", io) : NULL;
  if (!nothing || (prefix && !err)) guest_refuse("%s", strerror(errno));
  if (!err) return;
  setvbuf(err, NULL, _IONBF, 0);
  stderr = err;
}
void guest_output_process(guest *g) {
  const cookie_io_functions_t io = {NULL, out_stream, NULL, NULL};
  g->out = fopencookie(g, "w", io);
  if (!g->out) guest_refuse("%s", strerror(errno));
  if (is_terminal) setvbuf(g->out, NULL, _IOLBF, 0);
  *(FILE **)guest_variable_at(g, GUEST_STDOUT) = g->out;
  *(FILE **)guest_variable_at(g, GUEST_STDERR) = stderr;
  *(FILE **)guest_variable_at(g, GUEST_STDIN) = pm_process_rank(g->process) ? nothing : stdin;
}
void guest_output_end(guest *g) {
  if (g->out) fflush(g->out);
  line_end(1, g);
  line_end(2, g);
}
/* Fortran's library writes its records when its buffer is full, and at exit. What a process that never came
   there has said shows how far it came: each writes it in a world of its own, where its locks still work. */
static void rescue_one(void *arg) {
  void (*flush)(const int *unit);
  void *address = guest_symbol((const guest *)arg, "_gfortran_flush_i4");
  const int output = 6;
  memcpy(&flush, &address, sizeof flush);
  /* First: who was opening or reading a file has that unit's lock for ever, at which all others stop. */
  flush(&output);
  flush(NULL);
}
void guest_output_rescue(void) {
  pm_world_desc desc = {0};
  pm_platform one = pm_platform_bxi2(1);
  pm_world *world;
  if (!guest_symbol(guest_at(0), "_gfortran_flush_i4")) return;
  desc.platform = &one;
  desc.switched = guest_switched;
  desc.catch_crashes = 1;
  for (int i = 0; i < guest_count(); i++) {
    guest *g = guest_at(i);
    pm_process *p;
    if (!g->has_begun || g->end || pm_world_create(&desc, &world)) continue;
    if (!pm_spawn(world, 0, rescue_one, g, &p)) {
      pm_process_set_user(p, g);
      pm_world_run(world); /* what went wrong in it has gone wrong before */
    }
    pm_world_destroy(world);
  }
}
__attribute__((constructor)) static void add(void) {
  GUEST_REPLACE("write", guest_write);
  GUEST_REPLACE("writev", guest_writev);
  GUEST_REPLACE("fileno", guest_fileno);
  GUEST_REPLACE("fileno_unlocked", guest_fileno);
}
