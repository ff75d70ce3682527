/* --fold SIZE: memory that a program asks for in pieces of SIZE bytes and more is one block, mapped again
   and again, for all processes together: programs that need terabytes run on a laptop when only their
   messages and times matter. What one writes others read: results are wrong, indices must not lie
   there. */
#include "guest.h"
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t fold_bytes, block_bytes = (size_t)64 << 20, folded_bytes, folded_count;
static int block_fd = -1;
typedef struct piece {
  struct piece *next;
  char *base;
  size_t bytes, mapped;
} piece;
enum { BUCKETS = 4096 };
static piece *pieces[BUCKETS];
static piece **piece_at(const void *base) {
  piece **at = &pieces[(uintptr_t)base / 4096 % BUCKETS];
  while (*at && (*at)->base != base) at = &(*at)->next;
  return at;
}
static void *fold(size_t bytes) {
  const size_t mapped = (bytes + 4095) / 4096 * 4096;
  piece *p = (piece *)malloc(sizeof *p);
  char *base =
      (char *)mmap(NULL, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  int is_good = p && base != MAP_FAILED;
  for (size_t at = 0; is_good && at < mapped; at += block_bytes) {
    const size_t n = mapped - at < block_bytes ? mapped - at : block_bytes;
    is_good = mmap(base + at, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, block_fd, 0) !=
              MAP_FAILED;
  }
  if (!is_good) {
    guest_say_once("fold",
                   "--fold: no more mappings: a larger block is needed (--fold SIZE,BLOCK)");
    if (base != MAP_FAILED) munmap(base, mapped);
    return free(p), errno = ENOMEM, NULL;
  }
  *p = (piece){*piece_at(base), base, bytes, mapped};
  *piece_at(base) = p;
  folded_bytes += bytes;
  folded_count++;
  return base;
}
static void *guest_malloc(size_t bytes) {
  return bytes >= fold_bytes ? fold(bytes) : malloc(bytes);
}
static void guest_free(void *memory) {
  piece **at = piece_at(memory), *gone = *at;
  if (!gone || !memory) {
    free(memory);
    return;
  }
  *at = gone->next;
  munmap(gone->base, gone->mapped);
  free(gone);
}
static void *guest_calloc(size_t count, size_t each) {
  size_t bytes;
  if (__builtin_mul_overflow(count, each, &bytes)) return errno = ENOMEM, NULL;
  return bytes >= fold_bytes ? fold(bytes) : calloc(count, each);
}
static void *guest_realloc(void *memory, size_t bytes) {
  const piece *p = memory ? *piece_at(memory) : NULL;
  if (!p && bytes < fold_bytes) return realloc(memory, bytes);
  void *now = guest_malloc(bytes);
  const size_t old_bytes = p ? p->bytes : memory ? malloc_usable_size(memory) : 0;
  if (!now) return NULL;
  if (old_bytes && (!p || bytes < fold_bytes))
    memcpy(now, memory, old_bytes < bytes ? old_bytes : bytes);
  guest_free(memory);
  return now;
}
static int guest_posix_memalign(void **memory, size_t align, size_t bytes) {
  if (bytes < fold_bytes || align > 4096) return posix_memalign(memory, align, bytes);
  *memory = fold(bytes);
  return *memory ? 0 : ENOMEM;
}
static void *guest_aligned_alloc(size_t align, size_t bytes) {
  return bytes < fold_bytes || align > 4096 ? memalign(align, bytes) : fold(bytes);
}

static void set_fold(const char *option, const char *text) {
  char size[64];
  const char *comma = strchr(text, ',');
  snprintf(size, sizeof size, "%.*s", comma ? (int)(comma - text) : (int)strlen(text), text);
  fold_bytes = (size_t)guest_number(option, size, 4096, INT64_MAX / 2);
  if (comma)
    block_bytes = (size_t)guest_number(option, comma + 1, 4096, (int64_t)1 << 40) / 4096 * 4096;
  block_fd = memfd_create("pm_run fold", MFD_CLOEXEC);
  if (block_fd < 0 || ftruncate(block_fd, (off_t)block_bytes))
    guest_refuse("%s: %s", option, strerror(errno));
  GUEST_REPLACE("malloc", guest_malloc);
  GUEST_REPLACE("free", guest_free);
  GUEST_REPLACE("cfree", guest_free);
  GUEST_REPLACE("calloc", guest_calloc);
  GUEST_REPLACE("realloc", guest_realloc);
  GUEST_REPLACE("posix_memalign", guest_posix_memalign);
  GUEST_REPLACE("aligned_alloc", guest_aligned_alloc);
  GUEST_REPLACE("memalign", guest_aligned_alloc);
}
/* What lies there by chance may be denormal, a hundred times slower than other numbers. */
static void flush_denormals(guest *g) {
  (void)g;
#if defined(__x86_64__)
  if (fold_bytes) __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
#endif
}
static int tell(pm_world *world, int result) {
  (void)world;
  if (fold_bytes)
    fprintf(stderr, "pm_run: %.1f MB in %zu pieces were folded onto %.1f MB\n",
            (double)folded_bytes / 1e6, folded_count, (double)block_bytes / 1e6);
  return result;
}
static const guest_option options[] = {{"--fold", "SIZE[,BLOCK]",
                                        "memory asked for in pieces of SIZE bytes and more is one "
                                        "BLOCK for all (64 MiB): results are wrong, times are not",
                                        set_fold},
                                       {NULL, NULL, NULL, NULL}};
static guest_part part = {
    .name = "fold", .options = options, .process_begin = flush_denormals, .finish = tell};
__attribute__((constructor)) static void add(void) { guest_part_add(&part); }
