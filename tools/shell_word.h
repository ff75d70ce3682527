/* shell_word.h: a word as a shell reads it, for commands that print commands. */
#ifndef SHELL_WORD_H_INCLUDED
#define SHELL_WORD_H_INCLUDED
#include <stdlib.h>
#include <string.h>

/* ret to be freed; NULL: no memory */
static inline char *shell_word(const char *word) {
  static const char plain[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:=,+@%-";
  const size_t length = strlen(word);
  char *quoted = (char *)malloc(4 * length + 3), *at = quoted;
  if (!quoted) return NULL;
  if (length && strspn(word, plain) == length) return strcpy(quoted, word);
  *at++ = '\'';
  for (; *word; word++)
    if (*word == '\'') /* the one thing that cannot stand between two of them */
      at = strcpy(at, "'\\''") + 4;
    else
      *at++ = *word;
  strcpy(at, "'");
  return quoted;
}
#endif
