/* one_line.h: a line of a process on standard error, in one write: fprintf writes it in pieces since glibc 2.37, and the
   lines of a job's processes mix. */
#ifndef ONE_LINE_H_INCLUDED
#define ONE_LINE_H_INCLUDED
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* who: how it begins; what is longer than 2,000 bytes is cut. */
static inline void one_line(const char *who, const char *format, va_list args) {
  char text[2048];
  const size_t begin = (size_t)snprintf(text, 40, "%.30s: ", who);
  vsnprintf(text + begin, sizeof text - begin - 1, format, args);
  strcat(text, "\n");
  fputs(text, stderr);
}
#endif /* ONE_LINE_H_INCLUDED */
