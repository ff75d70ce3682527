/* Lines and words of traces; every error says file and line. */
#include "replay.h"
#include <errno.h>
#include <math.h>
#include <stdarg.h>

void rp_refuse(const char *format, ...) {
  va_list args;
  fflush(stdout);
  fputs("pm_replay: ", stderr);
  va_start(args, format);
  vfprintf(stderr, format, args);
  va_end(args);
  fputc('\n', stderr);
  exit(2);
}
void rp_bad(const rp_text *t, const char *format, ...) {
  char why[300];
  va_list args;
  va_start(args, format);
  vsnprintf(why, sizeof why, format, args);
  va_end(args);
  rp_refuse("%s: line %u: %s", t->path, t->line, why);
}
void rp_open(rp_text *t, const char *path) {
  memset(t, 0, sizeof *t);
  t->path = path;
  t->in = fopen(path, "r");
  if (!t->in) rp_refuse("%s: %s", path, strerror(errno));
}
void rp_close(rp_text *t) {
  fclose(t->in);
  free(t->buffer);
  t->in = NULL;
  t->buffer = NULL;
}
int rp_line(rp_text *t) {
  for (;;) {
    errno = 0;
    const ssize_t n = getline(&t->buffer, &t->max, t->in);
    if (n < 0) {
      if (ferror(t->in)) rp_refuse("%s: %s", t->path, strerror(errno ? errno : EIO));
      if (errno == ENOMEM) rp_refuse("%s: out of memory", t->path);
      return 0;
    }
    t->line++;
    if ((size_t)n != strlen(t->buffer)) rp_bad(t, "a byte 0: not a text");
    t->buffer[strcspn(t->buffer, "#\n")] = 0;
    t->at = t->buffer + strspn(t->buffer, " \t\r");
    if (*t->at) return 1;
  }
}
char *rp_word(rp_text *t) {
  char *word = t->at;
  if (!*word) return NULL;
  char *end = word + strcspn(word, " \t\r");
  t->at = end + strspn(end, " \t\r");
  *end = 0;
  return word;
}
char *rp_word_needed(rp_text *t, const char *what) {
  char *word = rp_word(t);
  if (!word) rp_bad(t, "%s is missing", what);
  return word;
}
static int64_t number_of(const rp_text *t, const char *word, const char *what, int64_t least,
                         int64_t most) {
  char *end;
  errno = 0;
  const long long n = strtoll(word, &end, 10);
  if (*end || errno || n < least || n > most)
    rp_bad(t, "%s: \"%.40s\" is not a number of %lld ... %lld", what, word, (long long)least,
           (long long)most);
  return n;
}
int64_t rp_number(rp_text *t, const char *what, int64_t least, int64_t most) {
  return number_of(t, rp_word_needed(t, what), what, least, most);
}
int64_t rp_number_or(rp_text *t, const char *what, int64_t least, int64_t most, int64_t otherwise) {
  const char *word = rp_word(t);
  return word ? number_of(t, word, what, least, most) : otherwise;
}
double rp_real(rp_text *t, const char *what) {
  const char *word = rp_word_needed(t, what);
  char *end;
  const double x = strtod(word, &end);
  if (*end || !(x >= 0) || !isfinite(x) || x > 1e18)
    rp_bad(t, "%s: \"%.40s\" is not a number of 0 ... 1e18", what, word);
  return x;
}
void rp_end_of_line(rp_text *t) {
  const char *word = rp_word(t);
  if (word) rp_bad(t, "\"%.40s\" is too much on this line", word);
}
