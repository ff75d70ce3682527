/* --sweep-table FILE: one table of a sweep, whose parts may be processes of one job on many machines.

   While it grows each line begins with the row's number, in whatever order runs end:

     row  n  level  status  simulated_us ...
     3    5  loggp  0       12.345 ...

   Whoever finds it whole puts its rows in order and takes the numbers away: it is then what one process
   would have printed. A table that is not whole (a part was killed, the job's time was over) is gone on with:
   rows that are there are not run again. A whole one is not written over.

   Each look and each line is under a lock of fcntl, which network file systems have too. Children of this process
   take no part: such a lock is a process's own. */
#include "sweep.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *path; /* NULL: there is none */
static int file = -1, row_count;

static void lock(short kind) {
  struct flock whole = {.l_type = kind, .l_whence = SEEK_SET};
  while (fcntl(file, F_SETLKW, &whole) != 0)
    if (errno != EINTR) guest_refuse("%s: no lock: %s", path, strerror(errno));
}
/* All of the file, with a 0 behind it. */
static char *text_of_file(size_t *bytes) {
  struct stat s;
  if (fstat(file, &s) != 0) guest_refuse("%s: %s", path, strerror(errno));
  char *text = (char *)malloc((size_t)s.st_size + 1);
  if (!text) guest_refuse("out of memory");
  for (*bytes = 0; *bytes < (size_t)s.st_size;) {
    const ssize_t n = pread(file, text + *bytes, (size_t)s.st_size - *bytes, (off_t)*bytes);
    if (n < 0 && errno != EINTR) guest_refuse("%s: %s", path, strerror(errno));
    if (n == 0) break;
    if (n > 0) *bytes += (size_t)n;
  }
  text[*bytes] = 0;
  return text;
}
static void write_all(int to, const char *text, size_t bytes) {
  while (bytes) {
    const ssize_t n = write(to, text, bytes);
    if (n < 0 && errno != EINTR) guest_refuse("%s: output is lost: %s", path, strerror(errno));
    if (n > 0) text += n, bytes -= (size_t)n;
  }
}
/* The first line, allocated. */
static char *head_of(bool is_growing) {
  char *text = NULL;
  size_t bytes = 0;
  FILE *out = open_memstream(&text, &bytes);
  if (!out) guest_refuse("out of memory");
  if (is_growing) fputs("row\t", out);
  guest__sweep_keys(out);
  fputs("status\tsimulated_us\tmessages\tcpu_s\toutput\n", out);
  if (fclose(out)) guest_refuse("out of memory");
  return text;
}
/* A line of a growing table: its row, or -1 where no row of this sweep has these values. *rest: behind the number */
static int row_of(const char *line, const char **rest) {
  char *end, *values = NULL;
  size_t bytes = 0;
  const long row = strtol(line, &end, 10);
  if (end == line || *end != '\t' || row < 0 || row >= row_count) return -1;
  *rest = end + 1;
  FILE *out = open_memstream(&values, &bytes);
  if (!out) guest_refuse("out of memory");
  guest__sweep_values(out, (int)row);
  if (fclose(out)) guest_refuse("out of memory");
  const bool is_its = strncmp(*rest, values, bytes) == 0;
  free(values);
  return is_its ? (int)row : -1;
}
/* Where each row's line begins in the text of a growing table, behind its number; NULL: not there yet. A row that two
   parts have made counts once. */
static const char **rows_of(const char *text, int *have) {
  const char **rows = (const char **)calloc((size_t)row_count + 1, sizeof *rows);
  if (!rows) guest_refuse("out of memory");
  *have = 0;
  for (const char *line = strchr(text, '\n') + 1, *rest; *line; line = strchr(line, '\n') + 1) {
    const int row = row_of(line, &rest);
    if (row < 0)
      guest_refuse("%s: is the table of another sweep: %.*s", path, (int)strcspn(line, "\n"), line);
    if (!rows[row]) rows[row] = rest, ++*have;
  }
  return rows;
}
bool *guest__table_begin(const char *to, int count) {
  char *const growing = head_of(true), *const whole = head_of(false);
  bool *has = (bool *)calloc((size_t)count + 1, sizeof *has);
  size_t bytes;
  int have;
  path = to, row_count = count;
  file = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) guest_refuse("%s: %s", path, strerror(errno));
  if (!has) guest_refuse("out of memory");
  lock(F_WRLCK);
  char *text = text_of_file(&bytes), *last = strrchr(text, '\n');
  if (bytes && strncmp(text, whole, strlen(whole)) == 0)
    guest_refuse("%s: this table is whole already", path);
  /* What a killed process left of a line; of the first one nothing is missed either. */
  if (last && last[1] && ftruncate(file, last + 1 - text) == 0) last[1] = 0;
  if (!last && strncmp(growing, text, bytes) == 0 && (!bytes || ftruncate(file, 0) == 0)) {
    write_all(file, growing, strlen(growing));
  } else {
    if (!last || strncmp(text, growing, strlen(growing)) != 0)
      guest_refuse("%s: is no table of this sweep", path);
    const char **rows = rows_of(text, &have);
    for (int row = 0; row < row_count; row++) has[row] = rows[row] != NULL;
    free(rows);
  }
  lock(F_UNLCK);
  free(text), free(growing), free(whole);
  return has;
}
void guest__table_add(int row, const char *line) {
  char *text = NULL;
  size_t bytes = 0;
  FILE *out = open_memstream(&text, &bytes);
  if (!out || fprintf(out, "%d\t%s", row, line) < 0 || fclose(out)) guest_refuse("out of memory");
  lock(F_WRLCK);
  write_all(file, text, bytes);
  lock(F_UNLCK);
  free(text);
}
/* The table with its rows in order takes the place of the one that has grown. */
static void put_in_order(const char **rows) {
  char name[4096];
  char *const head = head_of(false);
  snprintf(name, sizeof name, "%s.new", path);
  const int to = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (to < 0) guest_refuse("%s: %s", name, strerror(errno));
  write_all(to, head, strlen(head));
  for (int row = 0; row < row_count; row++)
    write_all(to, rows[row], (size_t)(strchr(rows[row], '\n') + 1 - rows[row]));
  if (fsync(to) != 0 || close(to) != 0 || rename(name, path) != 0)
    guest_refuse("%s: output is lost: %s", name, strerror(errno));
  free(head);
}
void guest__table_end(void) {
  size_t bytes;
  int have;
  lock(F_WRLCK);
  char *text = text_of_file(&bytes);
  const char **rows = rows_of(text, &have);
  if (have == row_count)
    put_in_order(rows);
  else
    fprintf(stderr, "pm_run: --sweep-table %s: %d of %d rows are there\n", path, have, row_count);
  if (close(file) != 0) guest_refuse("%s: output is lost: %s", path, strerror(errno));
  file = -1;
  free(rows), free(text);
}
