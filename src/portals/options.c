#include "options.h"
/* Grows *array to hold at least want items; 0 when out of memory. */
PM__PRIVATE int pm__grow(void **array, int *max, int want, size_t item_bytes) {
  int next = *max ? *max : 8;
  void *p;
  if (want <= *max) return 1;
  while (next < want) next *= 2;
  p = PM_REALLOC(*array, (size_t)next * item_bytes);
  if (!p) return 0;
  *array = p;
  *max = next;
  return 1;
}
PM__PRIVATE void *pm__zalloc(size_t bytes) {
  void *p = PM_MALLOC(bytes ? bytes : 1);
  if (p) memset(p, 0, bytes);
  return p;
}
