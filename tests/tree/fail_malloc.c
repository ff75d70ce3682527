/* A library for LD_PRELOAD: of all calls of malloc, calloc, realloc and aligned_alloc in a process the
   FAIL_MALLOC-th answers that there is no memory (0: none does). How many there were is written to the
   file FAIL_MALLOC_COUNT when the process ends. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* glibc's own, so that none has to be looked up while the first call runs */
extern void *__libc_malloc(size_t size_bytes);
extern void *__libc_calloc(size_t count, size_t size_bytes);
extern void *__libc_realloc(void *memory, size_t size_bytes);
extern void *__libc_memalign(size_t align_bytes, size_t size_bytes);

static unsigned long call_count; /* atomic */

static int fails(void) {
  static unsigned long wanted;
  static int is_read;
  const unsigned long number = __atomic_add_fetch(&call_count, 1, __ATOMIC_RELAXED);
  if (!is_read) { /* the first call comes before any thread */
    const char *text = getenv("FAIL_MALLOC");
    wanted = text ? strtoul(text, NULL, 10) : 0;
    is_read = 1;
  }
  if (number != wanted) return 0;
  errno = ENOMEM;
  return 1;
}

void *malloc(size_t size_bytes) { return fails() ? NULL : __libc_malloc(size_bytes); }
void *calloc(size_t count, size_t size_bytes) {
  return fails() ? NULL : __libc_calloc(count, size_bytes);
}
void *realloc(void *memory, size_t size_bytes) {
  return fails() ? NULL : __libc_realloc(memory, size_bytes);
}
void *aligned_alloc(size_t align_bytes, size_t size_bytes) {
  return fails() ? NULL : __libc_memalign(align_bytes, size_bytes);
}

__attribute__((destructor)) static void report(void) {
  const char *path = getenv("FAIL_MALLOC_COUNT");
  char text[24];
  const int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644) : -1;
  if (fd < 0) return;
  const int k = snprintf(text, sizeof text, "%lu\n", __atomic_load_n(&call_count, __ATOMIC_RELAXED));
  if (write(fd, text, (size_t)k) != k) (void)!ftruncate(fd, 0);
  close(fd);
}
