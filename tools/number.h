/* number.h: numbers in arguments of commands: nothing around them, and between limits. 1e6 is a whole number too. */
#ifndef NUMBER_H_INCLUDED
#define NUMBER_H_INCLUDED
#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

static inline bool number_real(const char *text, double least, double most, double *value) {
  char *end;
  const double x = strtod(text, &end); /* which passes over blanks */
  if (end == text || isspace((unsigned char)*text) || *end || !(x >= least && x <= most))
    return false;
  *value = x;
  return true;
}

/* The limits are less than 2^53, up to which a double has every whole number. */
static inline bool number_whole(const char *text, int64_t least, int64_t most, int64_t *value) {
  double x;
  if (!number_real(text, (double)least, (double)most, &x) || x > (double)(int64_t)x) return false;
  *value = (int64_t)x;
  return true;
}
#endif /* NUMBER_H_INCLUDED */
