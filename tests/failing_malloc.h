/* failing_malloc.h: NBC_MALLOC and NBC_FREE that count blocks and fail at the n-th allocation; to be
   included before nbc_overlap.h is implemented. */
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

static long block_count, until_failure_count = -1; /* -1: none fails */
static bool has_failed;
static void *own_malloc(size_t size_bytes) {
  if (until_failure_count == 0) {
    has_failed = true;
    return NULL;
  }
  if (until_failure_count > 0) until_failure_count--;
  block_count++;
  return malloc(size_bytes);
}
static void own_free(void *pointer) {
  if (pointer) block_count--;
  free(pointer);
}
#define NBC_MALLOC(size_bytes) own_malloc(size_bytes)
#define NBC_FREE(pointer)      own_free(pointer)
