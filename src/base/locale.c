/* locale.c: numbers with a point, also in a program that has set a locale with a comma. */
#ifndef NBC__BASE_LOCALE_C
#define NBC__BASE_LOCALE_C
#include "locale.h"

/* From here to nbc__locale_end, what this thread prints and scans is as in the locale "C"; other threads
   see nothing of it. glibc keeps that locale ready and takes no memory for it; where there were none,
   numbers would stay as the program wants them. */
NBC__PRIVATE locale_t nbc__locale_begin(void) {
  return uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
}

NBC__PRIVATE void nbc__locale_end(locale_t before) {
  const locale_t plain = uselocale(before);
  if (plain != before && plain != LC_GLOBAL_LOCALE) freelocale(plain);
}
#endif /* NBC__BASE_LOCALE_C */
