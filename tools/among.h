/* among.h: lists of words in one text, for commands that look at their arguments. */
#ifndef AMONG_H_INCLUDED
#define AMONG_H_INCLUDED
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Is the word one of these, each between blanks? */
static inline bool is_among(const char *list, const char *word) {
  const size_t length = strlen(word);
  for (const char *at = list; length && (at = strstr(at, word)); at += length)
    if (at > list && at[-1] == ' ' && at[length] == ' ') return true;
  return false;
}
#endif
