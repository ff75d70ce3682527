/* progress_line.h: how far a long command is and what remains, on one line of a terminal that is written
   again and again; into a pipe or a file nothing goes.

     progress_line line;
     progress_begin(&line, "xfer_table", true);     // false: this process is to be silent (not rank 0)
     for (...) progress_show(&line, "64 KiB", done, all);
     progress_end(&line);                           // the line is wiped

   At most ten times a second, after the first second; the remaining time supposes that the rest goes as
   what is done went. On standard error. NBC_PROGRESS_LINES=1: also where that is no terminal, as under a
   launcher, whose own may be one (`nbc table` and `nbc see` set it then); 0: nowhere. NBC_PROGRESS=1, its
   name before, is understood too; other values of that are the progress preload's (dedicated, timer, ...). */
#ifndef PROGRESS_LINE_H_INCLUDED
#define PROGRESS_LINE_H_INCLUDED
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct progress_line {
  const char *command;
  int64_t begin_ns, shown_ns;
  size_t length; /* of what stands there */
  bool on;
} progress_line;

static inline int64_t progress__now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline bool progress__wanted(void) {
  const char *lines = getenv("NBC_PROGRESS_LINES"), *before = getenv("NBC_PROGRESS");
  if (lines && *lines) return strcmp(lines, "0") != 0;
  return isatty(2) || (before && strcmp(before, "1") == 0);
}
static inline void progress_begin(progress_line *p, const char *command, bool speaks) {
  memset(p, 0, sizeof *p);
  p->command = command;
  p->on = speaks && progress__wanted();
  p->begin_ns = progress__now_ns();
}

/* The text alone, so that it can be tested: done of all, after so much time. */
static inline void progress_text(char *text, size_t size, const char *command, const char *what,
                                 double done, double all, int64_t past_ns) {
  const double share = all > 0 ? done / all : 0;
  const double rest_s = share > 0 ? (double)past_ns * 1e-9 * (1 - share) / share : 0;
  const int n = snprintf(text, size, "%s: %.60s, %.0f %%", command, what, 100 * share);
  if (n > 0 && (size_t)n < size && share > 0 && share < 1)
    snprintf(text + n, size - (size_t)n, rest_s < 100 ? ", %.0f s more" : ", %.0f min more",
             rest_s < 100 ? rest_s : rest_s / 60);
}

/* When it is time for a line again: for how long the command has run; else 0. */
static inline int64_t progress_due_ns(progress_line *p) {
  if (!p->on) return 0;
  const int64_t now_ns = progress__now_ns();
  if (now_ns - p->begin_ns < 1000000000 || now_ns - p->shown_ns < 100000000) return 0;
  p->shown_ns = now_ns;
  return now_ns - p->begin_ns;
}
static inline void progress_say(progress_line *p, const char *text) {
  const size_t length = strlen(text);
  fprintf(stderr, "\r%s%*s", text, p->length > length ? (int)(p->length - length) : 0, "");
  fflush(stderr);
  p->length = length;
}

static inline void progress_show(progress_line *p, const char *what, double done, double all) {
  char text[200];
  const int64_t past_ns = progress_due_ns(p);
  if (!past_ns) return;
  progress_text(text, sizeof text, p->command, what, done, all, past_ns);
  progress_say(p, text);
}

static inline void progress_end(progress_line *p) {
  if (p->on && p->length) fprintf(stderr, "\r%*s\r", (int)p->length, "");
  p->on = false;
}
#endif /* PROGRESS_LINE_H_INCLUDED */
