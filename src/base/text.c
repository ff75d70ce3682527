/* text.c: numbers and words in text, whatever the locale says. */
#ifndef NBC__BASE_TEXT_C
#define NBC__BASE_TEXT_C
#include "text.h"

/* A word of the line, made printable and short for a message. */
NBC__PRIVATE const char *nbc__text_word(const char *at, const char *end, char *out,
                                        size_t out_bytes) {
  size_t n = 0;
  for (; at < end && n + 1 < out_bytes && *at != ' ' && *at != '\t'; at++)
    out[n++] = *at > 31 && *at < 127 ? *at : '?';
  out[n] = 0;
  return out;
}

/* Decimal digits that fit uint64_t. Returns the end of them; NULL when none or too many. */
NBC__PRIVATE const char *nbc__text_whole(const char *at, const char *end, uint64_t *value) {
  const char *start = at;
  *value = 0;
  for (; at < end && *at >= '0' && *at <= '9'; at++) {
    const uint64_t digit = (uint64_t)(*at - '0');
    if (*value > (UINT64_MAX - digit) / 10) return NULL;
    *value = *value * 10 + digit;
  }
  return at > start ? at : NULL;
}

/* [digits][.digits][e[+-]digits]: no sign, no inf, no nan, no hexadecimal. Digits beyond the 18th
   only move the exponent. Rounded as strtod rounds, which sees no decimal point and so needs no locale.
   Returns the end, NULL when there is no number. */
NBC__PRIVATE const char *nbc__text_number(const char *at, const char *end, double *value) {
  uint64_t mantissa = 0, exponent = 0;
  int scale = 0, digits = 0;
  bool point = false, minus = false;
  char plain[48];
  for (; at < end && ((*at >= '0' && *at <= '9') || (*at == '.' && !point)); at++) {
    if (*at == '.') {
      point = true;
      continue;
    }
    digits++;
    if (mantissa < 100000000000000000u)
      mantissa = mantissa * 10 + (uint64_t)(*at - '0'), scale -= point;
    else
      scale += !point;
  }
  if (digits == 0) return NULL;
  if (at < end && (*at == 'e' || *at == 'E')) {
    at++;
    if (at < end && (*at == '-' || *at == '+')) minus = *at++ == '-';
    at = nbc__text_whole(at, end, &exponent);
    if (!at) return NULL;
  }
  if (exponent > 100000) exponent = 100000;
  snprintf(plain, sizeof plain, "%llue%ld", (unsigned long long)mantissa,
           (long)scale + (minus ? -(long)exponent : (long)exponent));
  *value = strtod(plain, NULL);
  return at;
}

NBC__PRIVATE const char *nbc__text_blank(const char *at, const char *end) {
  while (at < end && (*at == ' ' || *at == '\t')) at++;
  return at;
}

NBC__PRIVATE bool nbc__text_read_whole(const char **at, uint64_t *value) {
  *value = 0;
  if (**at < '0' || **at > '9') return false;
  for (; **at >= '0' && **at <= '9'; (*at)++) {
    if (*value > (UINT64_MAX - 9) / 10) return false;
    *value = *value * 10 + (uint64_t)(**at - '0');
  }
  return true;
}

NBC__PRIVATE void nbc__text_skip_blanks(const char **at) {
  while (**at == ' ' || **at == '\t' || **at == '\r') (*at)++;
}

NBC__PRIVATE void nbc__text_read_word(const char **at, char word[32]) {
  size_t n = 0;
  nbc__text_skip_blanks(at);
  while (**at && !strchr(" \t\r#", **at) && n < 31) word[n++] = *(*at)++;
  word[n] = 0;
}
#endif /* NBC__BASE_TEXT_C */
