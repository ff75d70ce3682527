/* Numbers and words in text, whatever the locale says. */
#pragma once
/* ---- for later pieces ---- */
#ifndef NBC__BASE_TEXT_H
#  define NBC__BASE_TEXT_H
#  include "private.h"

NBC__PRIVATE const char *nbc__text_word(const char *at, const char *end, char *out,
                                        size_t out_bytes);
NBC__PRIVATE const char *nbc__text_whole(const char *at, const char *end, uint64_t *value);
NBC__PRIVATE const char *nbc__text_number(const char *at, const char *end, double *value);
NBC__PRIVATE const char *nbc__text_blank(const char *at, const char *end);
NBC__PRIVATE bool nbc__text_read_whole(const char **at, uint64_t *value);
NBC__PRIVATE void nbc__text_skip_blanks(const char **at);
NBC__PRIVATE void nbc__text_read_word(const char **at, char word[32]);
#endif /* NBC__BASE_TEXT_H */
