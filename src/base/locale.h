/* Numbers with a point, also in a program that has set a locale with a comma. */
#pragma once
/* ---- for later pieces ---- */
#ifndef NBC__BASE_LOCALE_H
#  define NBC__BASE_LOCALE_H
#  include "private.h"
#  include <locale.h>

NBC__PRIVATE locale_t nbc__locale_begin(void);
NBC__PRIVATE void nbc__locale_end(locale_t before);
#endif /* NBC__BASE_LOCALE_H */
