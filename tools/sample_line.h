/* sample_line.h: a line of measured times, "bytes seconds routine", as bench_rma, fit_model and fit_nic write them;
   what follows a # is no part of it. */
#ifndef SAMPLE_LINE_H_INCLUDED
#define SAMPLE_LINE_H_INCLUDED
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ret NULL, or what is wrong. *routine: in the line, which is cut; may be empty; NULL: there is nothing in the line */
static inline const char *sample_line(char *line, uint64_t *bytes, double *ns, char **routine) {
  char *end;
  *routine = NULL;
  line += strspn(line, " \t");
  line[strcspn(line, "#\r\n")] = 0;
  if (!*line) return NULL;
  if (*line < '0' || *line > '9') return "a line begins with a size in bytes";
  errno = 0;
  *bytes = strtoull(line, &end, 10);
  if (errno || (*end != ' ' && *end != '\t')) return "the size is not a number of bytes";
  char *const time = end;
  *ns = strtod(time, &end) * 1e9;
  if (end == time || (*end && *end != ' ' && *end != '\t'))
    return "the time in seconds is not a number";
  if (!(fabs(*ns) < 1e15)) return "the time in seconds is not below 1e6";
  end += strspn(end, " \t");
  for (size_t n = strlen(end); n > 0 && (end[n - 1] == ' ' || end[n - 1] == '\t');) end[--n] = 0;
  *routine = end;
  return NULL;
}
#endif /* SAMPLE_LINE_H_INCLUDED */
