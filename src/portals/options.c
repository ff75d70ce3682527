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
/* Where a host offers pages of megabytes to who asks: what thousands of processes are made of lies in more pages of
   4 KB than a processor knows by heart. */
PM__PRIVATE void pm__in_large_pages(void *at, size_t bytes) {
#ifdef MADV_HUGEPAGE
  char *const first = (char *)at + (0 - (uintptr_t)at) % PM__LARGE_PAGE;
  const size_t before = (size_t)(first - (char *)at);
  if (bytes >= before + PM__LARGE_PAGE)
    (void)madvise(first, (bytes - before) / PM__LARGE_PAGE * PM__LARGE_PAGE, MADV_HUGEPAGE);
#else
  (void)at, (void)bytes;
#endif
}
/* The address that the allocator gave stands right before what is handed out. */
PM__PRIVATE void *pm__lines_alloc(size_t bytes) {
  char *const p = (char *)PM_MALLOC(bytes + PM__LINE + sizeof(void *)), *at;
  if (!p) return NULL;
  pm__in_large_pages(p, bytes);
  at = p + sizeof(void *);
  at += (0 - (uintptr_t)at) % PM__LINE;
  ((void **)(void *)at)[-1] = p;
  memset(at, 0, bytes);
  return at;
}
PM__PRIVATE void pm__lines_free(void *lines) {
  if (lines) PM_FREE(((void **)lines)[-1]);
}
