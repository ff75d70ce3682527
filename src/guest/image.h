/* ELF files of a program and of its libraries, read and laid out side by side in one image: loader.c
   makes as many copies of the image as there are processes. */
#ifndef GUEST_IMAGE_H_INCLUDED
#define GUEST_IMAGE_H_INCLUDED
#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)
typedef struct elf_object { /* pointers lead into the first image */
  char *path;
  const char *name; /* for people */
  int fd;
  ElfW(Ehdr) header;
  ElfW(Phdr) * parts;
  uintptr_t low, high; /* addresses in the file's own counting, whole pages */
  size_t at;           /* address 0 of that counting, as an offset in the image (may wrap) */
  ElfW(Dyn) * dynamic;
  const char *strings;
  const ElfW(Sym) * symbols;
  const uint32_t *gnu_hash, *sysv_hash;
  const uint16_t *versions;
  const ElfW(Verneed) * needs;
  const ElfW(Verdef) * defines;
  size_t needs_count, defines_count;
  size_t tls_at, tls_bytes; /* 0 bytes: none; its data begin so far below the thread pointer */
  const char *run_path, *r_path;
  uint8_t is_preloaded, is_symbolic;
} elf_object;

typedef struct elf_image {
  elf_object *objects; /* the program first, then breadth first what it needs */
  int object_count, objects_max;
  char *base; /* the first image: never run, copied */
  size_t bytes;
  size_t variables_at; /* block of libc's variables, behind the objects */
  size_t tls_bytes, tls_align;
  uint32_t
      *moved; /* where words lie that hold an address inside of the image, in units of 4 bytes */
  size_t moved_count, moved_max;
  struct {
    size_t at, bytes;
  } * copied; /* variables of libraries that the program has for itself */
  int copied_count, copied_max;
  char **missing; /* names of functions that nobody has */
  int missing_count, missing_max;
} elf_image;

/* Reads and lays out; the texts of errors name the file. ret 0: error says why not */
int elf_read(elf_image *image, const char *path, const char *const *preloads, char *error,
             size_t error_bytes);
/* Maps the parts that are never written of all objects at base. ret 0: errno */
int elf_map_text(const elf_image *image, char *base);
/* Binds the first image. ret 0: error says why not */
int elf_bind(elf_image *image, char *error, size_t error_bytes);
/* Offset of a symbol of the program or its libraries in the image; 0: none. */
size_t elf_find(const elf_image *image, const char *name);
/* Of one object alone; NULL: it offers none. */
const ElfW(Sym) * elf_symbol(const elf_object *object, const char *name);
/* What the launcher offers in place of libc's; NULL: nothing. */
void *elf_replaced(const char *name);
/* A name of the program's MPI, which is not to be looked for in the launcher. */
int elf_is_nowhere(const char *name);
/* Values of DT_INIT, DT_INIT_ARRAY ...: offsets in the image; 0 for those that are missing. */
size_t elf_dynamic(const elf_object *object, int64_t tag);

/* ---- image_find.c: where libraries lie ------------------------------------------------------------------ */
/* ret path, to be freed; NULL: not found */
char *elf_library_path(const elf_object *who_asks, const char *name);
#pragma GCC visibility pop
#endif
