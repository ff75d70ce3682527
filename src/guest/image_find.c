/* Where the dynamic linker would find a library: DT_RPATH, LD_LIBRARY_PATH, DT_RUNPATH, the cache,
   the usual folders; and a program: PATH. */
#include "image.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__x86_64__)
#  define MACHINE EM_X86_64
#  define TRIPLET "x86_64-linux-gnu"
enum { CACHE_FLAGS = 0x0303 }; /* ELF of libc 6, 64 bits */
#else
#  define MACHINE EM_AARCH64
#  define TRIPLET "aarch64-linux-gnu"
enum { CACHE_FLAGS = 0x0A03 };
#endif

static bool is_for_us(const char *path) {
  ElfW(Ehdr) h;
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t n = fd < 0 ? -1 : read(fd, &h, sizeof h);
  if (fd >= 0) close(fd);
  return n == (ssize_t)sizeof h && memcmp(h.e_ident, ELFMAG, SELFMAG) == 0 &&
         h.e_ident[EI_CLASS] == ELFCLASS64 && h.e_machine == MACHINE;
}
/* "a:b:c" with $ORIGIN. ret path or NULL */
static char *in_folders(const char *folders, const char *origin, const char *name) {
  for (const char *end; folders && *folders; folders = *end ? end + 1 : end) {
    end = folders + strcspn(folders, ":");
    const char *rest = folders;
    const int from_origin = strncmp(folders, "$ORIGIN", 7) == 0     ? 7
                            : strncmp(folders, "${ORIGIN}", 9) == 0 ? 9
                                                                    : 0;
    const char *slash = origin ? strrchr(origin, '/') : NULL;
    char *path = NULL;
    int n;
    rest += from_origin;
    if (from_origin)
      n = asprintf(&path, "%.*s%.*s/%s", slash ? (int)(slash - origin) : 1, slash ? origin : ".",
                   (int)(end - rest), rest, name);
    else
      n = asprintf(&path, "%.*s/%s", (int)(end - rest), rest, name);
    if (n >= 0 && is_for_us(path)) return path;
    if (n >= 0) free(path);
  }
  return NULL;
}
/* The file that ldconfig writes: a header, entries, texts at offsets from the header's start. */
typedef struct cache_head {
  char magic[20];
  uint32_t count, texts_bytes, unused[5];
} cache_head;
typedef struct cache_entry {
  int32_t flags;
  uint32_t key, value, os;
  uint64_t hwcap;
} cache_entry;
static const char cache_magic[] = "glibc-ld.so.cache1.1";

static char *in_cache(const char *name) {
  const int fd = open("/etc/ld.so.cache", O_RDONLY | O_CLOEXEC);
  struct stat s;
  char *found = NULL;
  if (fd < 0 || fstat(fd, &s) || (size_t)s.st_size < sizeof(cache_head)) {
    if (fd >= 0) close(fd);
    return NULL;
  }
  const size_t bytes = (size_t)s.st_size;
  const char *file = (const char *)mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
  close(fd);
  if (file == MAP_FAILED) return NULL;
  const cache_head *h = (const cache_head *)(const void *)file;
  const cache_entry *e = (const cache_entry *)(const void *)(file + sizeof *h);
  const bool is_good = memcmp(h->magic, cache_magic, sizeof h->magic) == 0 &&
                       file[bytes - 1] == 0 && h->count <= (bytes - sizeof *h) / sizeof *e;
  for (uint32_t i = 0; is_good && !found && i < h->count; i++)
    if (e[i].flags == CACHE_FLAGS && !e[i].hwcap && e[i].key < bytes && e[i].value < bytes &&
        strcmp(file + e[i].key, name) == 0 && is_for_us(file + e[i].value))
      found = strdup(file + e[i].value);
  munmap((void *)(uintptr_t)file, bytes);
  return found;
}
char *elf_library_path(const elf_object *who, const char *name) {
  char *path;
  if (strchr(name, '/')) return is_for_us(name) ? strdup(name) : NULL;
  if (!who->run_path && (path = in_folders(who->r_path, who->path, name)) != NULL) return path;
  if ((path = in_folders(getenv("LD_LIBRARY_PATH"), NULL, name)) != NULL) return path;
  if ((path = in_folders(who->run_path, who->path, name)) != NULL) return path;
  if ((path = in_cache(name)) != NULL) return path;
  return in_folders("/lib/" TRIPLET ":/usr/lib/" TRIPLET ":/lib:/usr/lib:/usr/local/lib", NULL,
                    name);
}
