/* ELF files of a program and of its libraries, read and laid out side by side in one image: loader.c
   makes as many copies of the image as there are processes. */
#ifndef GUEST_IMAGE_H_INCLUDED
#define GUEST_IMAGE_H_INCLUDED
#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#pragma GCC visibility push(hidden)
typedef struct elf_object { /* pointers lead into the first image */
  char *path;
  const char *name; /* for people, and by which it was needed */
  int fd;           /* -1: closed */
  int text_fd;      /* of elf_text_again; -1: fd has the text, too */
  dev_t device;     /* with the inode: which file this is, by whatever name */
  ino_t inode;
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
  size_t need_count, define_count;
  size_t tls_at, tls_bytes; /* 0 bytes: none; its data begin so far below the thread pointer */
  const char *run_path, *r_path;
  bool is_preloaded, is_symbolic;
  bool
      is_fixed; /* the program's addresses are where it runs, in all copies of the image (fixed.c) */
} elf_object;

typedef struct elf_missing { /* a function that nobody has */
  char *name;
  bool is_quiet; /* wanted by an MPI's Fortran library alone, which names all that its MPI has */
} elf_missing;
typedef struct elf_image elf_image;
struct elf_image {
  elf_object *objects; /* the program first, then breadth first what it needs */
  int object_count, objects_max;
  int before_mpi; /* objects that come before the first library of MPI; 0: none is needed */
  /* Who needs whom directly, in the order of their files; and all objects by that, what is needed before who needs it:
     so constructors run, destructors the other way round. */
  struct {
    int who, whom;
  } * needs;
  int need_count, need_max, *order;
  char *base; /* the first image: never run, copied */
  size_t bytes;
  size_t variables_at; /* block of libc's variables, behind the objects */
  size_t tls_bytes, tls_align;
  /* Where words lie that hold an address inside of the image, in units of 4 bytes */
  uint32_t *moved;
  size_t moved_count, moved_max;
  struct {
    size_t at, bytes;
  } * copied; /* variables of libraries that the program has for itself */
  int copied_count, copied_max;
  elf_missing *missing;
  int missing_count, missing_max;
  /* Of what a process loads by dlopen (plugins.c): the program as this process has it; what else is loaded and was
     asked for; whether a library is there already. */
  const elf_image *program;
  const elf_image *const *others;
  int other_count;
  bool (*is_there)(const char *name);
  bool is_bound_now; /* a function that nobody has is an error (RTLD_NOW) */
};

/* Reads and lays out; the texts of errors name the file. ret 0: error says why not */
int elf_read(elf_image *image, const char *path, const char *const *preloads, char *error,
             size_t error_bytes);
void elf_free(elf_image *image); /* what elf_read made, not what was mapped */
int elf_answers_to(const elf_object *object,
                   const char *name); /* as needed, or as it calls itself */
/* Maps the parts that are never written of all objects at base. ret 0: errno */
int elf_map_text(const elf_image *image, char *base);
/* From now on copies have their text from another place of the memory, as long as it can be had. */
void elf_text_again(elf_image *image);
void elf_text_close(elf_image *image); /* from the files again */
/* Bytes of text in a copy */
size_t elf_text_bytes(const elf_image *image);
/* Of one object, at where its own address 0 is. ret 0: errno */
int elf_map_text_of(const elf_object *object, char *where);
/* Binds the first image. ret 0: error says why not */
int elf_bind(elf_image *image, char *error, size_t error_bytes);
/* Offset of a symbol of the program or its libraries in the image; 0: none. */
size_t elf_find(const elf_image *image, const char *name);
/* Of one object alone; NULL: it offers none. */
const ElfW(Sym) * elf_symbol(const elf_object *object, const char *name);
/* What the launcher offers in place of libc's; NULL: nothing. */
void *elf_replaced(const char *name);
/* The library that has a function of MPI of that name and stands before the MPI, from object `first` on; NULL */
const elf_object *elf_wrapper(const elf_image *image, const char *name, int first);
enum elf_place { ELF_OWN, ELF_SHARED, ELF_LAUNCHER }; /* who has a library of this name */
enum elf_place elf_place_of(const char *name);
/* Notes that somebody needs MPI's library of this name. ret 0: error says why that cannot be */
int elf_note_mpi(const char *who, const char *name, char *error, size_t bytes);
bool elf_has_mpi(void);     /* somebody has */
int elf_calls_dlopen(void); /* something that was bound does */
/* A name of the program's MPI, which is not to be looked for in the launcher. */
bool elf_is_nowhere(const char *name);
/* Values of DT_INIT, DT_INIT_ARRAY ...: offsets in the image; 0 for those that are missing. */
size_t elf_dynamic(const elf_object *object, int64_t tag);

void guest_counter_scan(const elf_image *image); /* bound; see counter.c */

/* ---- plugins.c: what a process loads by dlopen --------------------------------------------------------- */
typedef struct guest guest;
typedef void guest_tls_wrote(const char *block_end, size_t at, size_t bytes);
/* caller: who asks, whose folders are searched. mode: dlopen's. ret a handle; NULL: plugin_fail has said why,
   or RTLD_NOLOAD and it is not there */
void *plugin_open(const elf_image *program, const char *base, const elf_object *caller,
                  const char *path, int mode);
/* Where its addresses count from. NULL: not one that plugin_open gave to the running process */
char *plugin_base(const void *handle);
/* Of this library, then of what was loaded with it. ret NULL: has none */
void *plugin_symbol(const void *handle, const char *name);
/* Of all that are global; those behind `after` (NULL: all): RTLD_NEXT. */
void *plugin_global_symbol(const elf_object *after, const char *name);
/* What dlerror says next in this process. ret NULL */
void *plugin_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *plugin_error(void); /* NULL: none since it was asked */
/* fn of each object until one is not 0, which is returned; 0: of all. base: where its addresses count from */
int plugins_each(int (*fn)(const elf_object *o, char *base, void *arg), void *arg);
const elf_object *plugin_object_at(const void *address, char **base);
void plugins_tls_first(const guest *g, char *block_end,
                       guest_tls_wrote *wrote); /* of a thread that begins */
void plugins_end(void);                         /* their destructors */
/* Of loader.c: room for thread-local variables, the same in every process. ret distance below the thread pointer; 0: none */
size_t elf_tls_room(const char *path, size_t bytes, size_t align);
char *elf_tls_at(size_t distance); /* of the running thread */

/* ---- image_find.c: where libraries lie ------------------------------------------------------------------ */
/* ret path, to be freed; NULL: not found */
char *elf_library_path(const elf_object *who_asks, const char *name);
#pragma GCC visibility pop
#endif
