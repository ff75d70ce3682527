/* Reads a program and the libraries that it needs, lays them out in one image and binds their
   symbols once; where an address inside of the image was written is noted, so that a copy of the
   image elsewhere is bound by adding the distance. */
#include "image.h"
#include "guest.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 4096, OBJECTS_MAX = 1024, PARTS_MAX = 64 };
#if defined(__x86_64__)
#  define MACHINE EM_X86_64
enum {
  R_NONE_ = R_X86_64_NONE,
  R_ABS = R_X86_64_64,
  R_COPY_ = R_X86_64_COPY,
  R_GLOB = R_X86_64_GLOB_DAT,
  R_JUMP = R_X86_64_JUMP_SLOT,
  R_REL = R_X86_64_RELATIVE,
  R_IREL = R_X86_64_IRELATIVE,
  R_MODULE = R_X86_64_DTPMOD64,
  R_OFFSET = R_X86_64_DTPOFF64,
  R_TPOFF = R_X86_64_TPOFF64,
  R_DESC = R_X86_64_TLSDESC
};
#elif defined(__aarch64__)
#  define MACHINE EM_AARCH64
enum {
  R_NONE_ = R_AARCH64_NONE,
  R_ABS = R_AARCH64_ABS64,
  R_COPY_ = R_AARCH64_COPY,
  R_GLOB = R_AARCH64_GLOB_DAT,
  R_JUMP = R_AARCH64_JUMP_SLOT,
  R_REL = R_AARCH64_RELATIVE,
  R_IREL = R_AARCH64_IRELATIVE,
  R_MODULE = R_AARCH64_TLS_DTPMOD,
  R_OFFSET = R_AARCH64_TLS_DTPREL,
  R_TPOFF = R_AARCH64_TLS_TPREL,
  R_DESC = R_AARCH64_TLSDESC
};
#endif

static int fail(char *error, size_t bytes, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(error, bytes, format, args);
  va_end(args);
  return 0;
}
static void *grown(void *array, int *max, int count, size_t each) {
  if (count < *max) return array;
  *max = *max ? *max * 2 : 16;
  array = realloc(array, (size_t)*max * each);
  if (!array) guest_refuse("out of memory");
  return array;
}
/* Mappings begin and end at pages, segments anywhere: all that is laid out is rounded outwards. */
static uintptr_t down(uintptr_t x) { return x / PAGE * PAGE; }
static uintptr_t up(uintptr_t x) { return (x + PAGE - 1) / PAGE * PAGE; }

/* ---- libraries: who has state of his own per process ---------------------------------------------------- */
static int starts(const char *name, const char *const *list) {
  for (; *list; list++)
    if (strncmp(name, *list, strlen(*list)) == 0) return 1;
  return 0;
}
/* The launcher is this library. */
static bool is_ours(const char *name) {
  static const char *const ours[] = {
      "libmpich.so",    "libmpi.so",     "libmpi_abi.so", "libopen-pal.so",
      "libopen-rte.so", "libportals.so", "libpmi.so",     NULL};
  return starts(name, ours);
}
/* One for all processes: libc and what belongs to it. The launcher stands in for what of them keeps
   state that programs see (streams, environment, threads); the rest of their state is shared by all
   processes, and must not matter. */
static bool is_shared(const char *name) {
  static const char *const shared[] = {
      "libc.so",    "libm.so",    "libmvec.so",   "libdl.so",   "librt.so",        "libpthread.so",
      "libutil.so", "libanl.so",  "libresolv.so", "libnsl.so",  "libgcc_s.so",     "ld-linux",
      "linux-vdso", "libnuma.so", "libhwloc.so",  "libudev.so", "libpciaccess.so", NULL};
  return starts(name, shared);
}

enum elf_place elf_place_of(const char *name) {
  return is_ours(name) ? ELF_LAUNCHER : is_shared(name) ? ELF_SHARED : ELF_OWN;
}

/* ---- one file --------------------------------------------------------------------------------------------- */
static int read_all(int fd, void *to, size_t bytes, size_t from) {
  return pread(fd, to, bytes, (off_t)from) == (ssize_t)bytes;
}
static bool header_is_good(elf_object *o, bool may_be_fixed, char *error, size_t bytes) {
  const ElfW(Ehdr) *h = &o->header;
  struct stat s;
  o->fd = open(o->path, O_RDONLY | O_CLOEXEC);
  if (o->fd < 0) return fail(error, bytes, "%s: %s", o->path, strerror(errno));
  if (fstat(o->fd, &s) != 0) return fail(error, bytes, "%s: %s", o->path, strerror(errno));
  if (S_ISDIR(s.st_mode)) return fail(error, bytes, "%s: is a folder", o->path);
  o->device = s.st_dev;
  o->inode = s.st_ino;
  if (!read_all(o->fd, &o->header, sizeof o->header, 0) || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0)
    return fail(
        error, bytes,
        "%s: not a program of this machine (a script must call pm_run, not the other way round)",
        o->path);
  if (h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_machine != MACHINE)
    return fail(error, bytes, "%s: made for another machine", o->path);
  o->is_fixed = h->e_type == ET_EXEC;
  if (o->is_fixed && !may_be_fixed)
    return fail(error, bytes, "%s: a program, linked to a fixed address, is no library", o->path);
  if ((h->e_type != ET_DYN && !o->is_fixed) || h->e_phentsize != sizeof(ElfW(Phdr)) ||
      h->e_phnum > PARTS_MAX || !h->e_phnum)
    return fail(error, bytes, "%s: not an executable or shared object", o->path);
  o->parts = (ElfW(Phdr) *)calloc(h->e_phnum, sizeof *o->parts);
  if (!o->parts || !read_all(o->fd, o->parts, h->e_phnum * sizeof *o->parts, h->e_phoff))
    return fail(error, bytes, "%s: cut off", o->path);
  o->low = UINTPTR_MAX;
  for (int i = 0; i < h->e_phnum; i++) {
    const ElfW(Phdr) *p = &o->parts[i];
    if (p->p_type != PT_LOAD) continue;
    /* Nothing in a file is believed before it was compared with the file's own size: all later code
       rests on this. */
    if (p->p_filesz > p->p_memsz || p->p_vaddr + p->p_memsz < p->p_vaddr ||
        p->p_vaddr + p->p_memsz > (uintptr_t)1 << 40 || p->p_offset > (size_t)s.st_size ||
        p->p_filesz > (size_t)s.st_size - p->p_offset || (p->p_offset - p->p_vaddr) % PAGE)
      return fail(error, bytes, "%s: a segment lies outside of the file", o->path);
    if (down(p->p_vaddr) < o->low) o->low = down(p->p_vaddr);
    if (up(p->p_vaddr + p->p_memsz) > o->high) o->high = up(p->p_vaddr + p->p_memsz);
  }
  if (o->low == UINTPTR_MAX) return fail(error, bytes, "%s: nothing to load", o->path);
  return 1;
}
static const ElfW(Phdr) * part_of_type(const elf_object *o, uint32_t type) {
  for (int i = 0; i < o->header.e_phnum; i++)
    if (o->parts[i].p_type == type) return &o->parts[i];
  return NULL;
}
static const char is_static[] =
    "%s: statically linked; link it dynamically, so that it finds pm_run's functions";
/* The dynamic section from the file, before anything is mapped: to follow DT_NEEDED.
   DT_STRTAB is an address in the object's own counting: the segment that holds it says where in the
   file it lies. Relocations in the text would have to write what all processes share. Offsets of
   these names are checked here once, so that later code need not. */
static int read_dynamic(elf_object *o, char **strings, char *error, size_t bytes) {
  const ElfW(Phdr) *d = part_of_type(o, PT_DYNAMIC);
  uintptr_t at = 0;
  size_t size = 0;
  if (!d || d->p_filesz < sizeof(ElfW(Dyn))) return fail(error, bytes, is_static, o->path);
  o->dynamic = (ElfW(Dyn) *)calloc(1, d->p_filesz + sizeof(ElfW(Dyn)));
  if (!o->dynamic || !read_all(o->fd, o->dynamic, d->p_filesz, d->p_offset))
    return fail(error, bytes, "%s: cut off", o->path);
  for (const ElfW(Dyn) *e = o->dynamic; e->d_tag; e++) {
    if (e->d_tag == DT_STRTAB) at = e->d_un.d_ptr;
    if (e->d_tag == DT_STRSZ) size = e->d_un.d_val;
    if (e->d_tag == DT_TEXTREL || (e->d_tag == DT_FLAGS && (e->d_un.d_val & DF_TEXTREL)))
      return fail(error, bytes, "%s: has relocations in its text; compile it with -fPIC", o->path);
    if (e->d_tag == DT_FLAGS_1 && e->d_un.d_val & DF_1_PIE && !part_of_type(o, PT_INTERP))
      return fail(error, bytes, is_static, o->path);
    if (e->d_tag == DT_SYMBOLIC || (e->d_tag == DT_FLAGS && (e->d_un.d_val & DF_SYMBOLIC)))
      o->is_symbolic = 1;
  }
  for (int i = 0; i < o->header.e_phnum; i++) {
    const ElfW(Phdr) *p = &o->parts[i];
    if (p->p_type != PT_LOAD || at < p->p_vaddr || at >= p->p_vaddr + p->p_filesz) continue;
    if (size > p->p_vaddr + p->p_filesz - at) break;
    *strings = (char *)calloc(1, size + 1);
    if (!*strings || !read_all(o->fd, *strings, size, at - p->p_vaddr + p->p_offset)) break;
    for (ElfW(Dyn) *e = o->dynamic; e->d_tag; e++)
      if ((e->d_tag == DT_NEEDED || e->d_tag == DT_RPATH || e->d_tag == DT_RUNPATH ||
           e->d_tag == DT_SONAME) &&
          e->d_un.d_val >= size)
        return fail(error, bytes, "%s: a name lies outside of its table", o->path);
    return 1;
  }
  return fail(error, bytes, "%s: has no table of names", o->path);
}
static elf_object *object_add(elf_image *image, const char *path, const char *name) {
  elf_object *o;
  image->objects =
      (elf_object *)grown(image->objects, &image->objects_max, image->object_count, sizeof *o);
  o = &image->objects[image->object_count++];
  memset(o, 0, sizeof *o);
  o->path = strdup(path);
  o->name = strdup(name);
  o->fd = o->text_fd = -1;
  if (!o->path || !o->name) guest_refuse("out of memory");
  return o;
}
/* ret -1: none is called so */
static int known(const elf_image *image, const char *name) {
  for (int i = 0; i < image->object_count; i++)
    if (strcmp(image->objects[i].name, name) == 0) return i;
  return -1;
}
static void note_need(elf_image *image, int who, int whom) {
  *(void **)&image->needs =
      grown(image->needs, &image->need_max, image->need_count, sizeof *image->needs);
  image->needs[image->need_count].who = who;
  image->needs[image->need_count++].whom = whom;
}
/* Which ABI of MPI the program and its libraries were made for: said by the library's name. */
enum { ABIS_MAX = 4 };
static const guest_abi *abis[ABIS_MAX], *abi;
static bool is_own_abi;
void guest_abi_add(const guest_abi *one) {
  int i = 0;
  while (i < ABIS_MAX - 1 && abis[i]) i++;
  abis[i] = one;
}
const guest_abi *guest_abi_now(void) { return abi; }
bool elf_has_mpi(void) { return abi || is_own_abi; }
int elf_note_mpi(const char *who, const char *name, char *error, size_t bytes) {
  const guest_abi *found = NULL;
  if (strncmp(name, "libmpi", 6) != 0) return 1;
  for (int i = 0; i < ABIS_MAX && abis[i]; i++) {
    const size_t length = strlen(abis[i]->library);
    if (strncmp(name, abis[i]->library, length) == 0 && atoi(name + length) >= abis[i]->least)
      found = abis[i];
  }
  if (found ? is_own_abi || (abi && abi != found) : abi != NULL)
    return fail(error, bytes, "%s: needs %s, other parts of the program another MPI", who, name);
  abi = found;
  is_own_abi = !found;
  return 1;
}
/* Programs of clang and of Intel's compilers bring another OpenMP than GCC's, whose threads are pthreads; half of its
   functions would be the launcher's. */
static bool has_own_openmp;
static void note_openmp(const char *library) {
  static const char *const own[] = {"libomp.so", "libiomp5.so", NULL};
  has_own_openmp |= starts(library, own);
}
/* Why nothing that needs a library runs here; NULL: it may. */
static const char *why_not(const char *library) {
  if (strncmp(library, "liboshmem.so", 12) == 0)
    return "Open MPI's OpenSHMEM stands on Open MPI's insides, which are not here; Sandia's runs "
           "(docs/portals_stacks.md)";
  if (strcmp(library, "libc.so") == 0 || strncmp(library, "libc.musl", 9) == 0)
    return "musl's libc is not glibc, which pm_run has; compile it for glibc";
  return NULL;
}
/* What object i needs: ours, shared by all, or one more object. Breadth first, as the dynamic
   linker does: the order of objects is the order in which symbols are looked for. object_add may
   move the array, so the one that asks is copied before. */
static int follow_names(elf_image *image, int i, const char *strings, char *error, size_t bytes) {
  elf_object who = image->objects[i];
  for (const ElfW(Dyn) *e = who.dynamic; e->d_tag; e++) {
    if (e->d_tag == DT_RPATH) who.r_path = strings + e->d_un.d_val;
    if (e->d_tag == DT_RUNPATH) who.run_path = strings + e->d_un.d_val;
  }
  for (const ElfW(Dyn) *e = who.dynamic; e->d_tag; e++) {
    if (e->d_tag != DT_NEEDED) continue;
    const char *name = strings + e->d_un.d_val, *slash = strrchr(name, '/');
    const char *shorter = slash ? slash + 1 : name;
    if (is_ours(shorter) && !elf_note_mpi(who.path, shorter, error, bytes)) return 0;
    if (strncmp(shorter, "libmpi", 6) == 0 && is_ours(shorter) && !image->before_mpi)
      image->before_mpi = image->object_count;
    note_openmp(shorter);
    if (why_not(shorter))
      return fail(error, bytes, "%s: needs %s: %s", who.path, shorter, why_not(shorter));
    if (is_ours(shorter)) continue;
    if (known(image, shorter) >= 0) {
      note_need(image, i, known(image, shorter));
      continue;
    }
    if (image->program && (known(image->program, shorter) >= 0 || image->is_there(shorter)))
      continue;
    if (is_shared(shorter)) {
      if (!dlopen(name, RTLD_NOW | RTLD_GLOBAL)) return fail(error, bytes, "%s", dlerror());
      continue;
    }
    char *path = elf_library_path(&who, name);
    if (!path) return fail(error, bytes, "%s: needs %s, which is not found", who.path, name);
    if (image->object_count == OBJECTS_MAX)
      return fail(error, bytes, "%s: more than %d libraries are needed with %s", who.path,
                  OBJECTS_MAX - 1, shorter);
    note_need(image, i, image->object_count);
    object_add(image, path, shorter);
    free(path);
  }
  return 1;
}
static int follow(elf_image *image, int i, char *error, size_t bytes) {
  char *strings = NULL;
  const bool is_good = read_dynamic(&image->objects[i], &strings, error, bytes) &&
                       follow_names(image, i, strings, error, bytes);
  free(strings);
  free(image->objects[i].dynamic);
  image->objects[i].dynamic = NULL;
  return is_good;
}
/* The order of glibc's linker: from the last object to the first, each after what it needs, as far as that is possible
   where some need each other. */
static int put_after_needs(elf_image *image, bool *is_met, int i, int count) {
  if (is_met[i]) return count;
  is_met[i] = 1;
  for (int k = 0; k < image->need_count; k++)
    if (image->needs[k].who == i)
      count = put_after_needs(image, is_met, image->needs[k].whom, count);
  image->order[count] = i;
  return count + 1;
}
static void find_order(elf_image *image) {
  bool is_met[OBJECTS_MAX] = {0};
  int count = 0;
  image->order = (int *)calloc((size_t)image->object_count, sizeof *image->order);
  if (!image->order) guest_refuse("out of memory");
  for (int i = image->object_count - 1; i >= 0; i--)
    count = put_after_needs(image, is_met, i, count);
}
/* Thread-local variables: below the thread pointer (x86-64), the program's nearest to it.
   tls_at tells where an object's block begins:

     x86-64 (variant II)    ... | object 2 | object 1 | program | TP     so far below TP
     aarch64 (variant I)    TP | 16 bytes | program | object 1 | ...     so far behind the 16 bytes

   The program must be next to the thread pointer: its code holds the distances that the linker
   computed for that place (local exec). [Drepper, ELF Handling For Thread-Local Storage.] */
static void place_tls(elf_image *image) {
  size_t used = 0, align = 16;
  for (int i = 0; i < image->object_count; i++) {
    const ElfW(Phdr) *p = part_of_type(&image->objects[i], PT_TLS);
    if (!p || !p->p_memsz) continue;
    const size_t a = p->p_align ? p->p_align : 1;
    if (a > align) align = a;
#if defined(__x86_64__)
    used = (used + p->p_memsz + a - 1) / a * a;
    image->objects[i].tls_at = used;
#else
    used = (used + a - 1) / a * a;
    image->objects[i].tls_at = used;
    used += p->p_memsz;
#endif
    image->objects[i].tls_bytes = p->p_memsz;
  }
  image->tls_bytes = (used + 15) / 16 * 16;
  image->tls_align = align;
}
int elf_read(elf_image *image, const char *path, const char *const *preloads, char *error,
             size_t error_bytes) {
  size_t bytes = 0;
  object_add(image, path, path);
  for (; preloads && *preloads; preloads++)
    object_add(image, *preloads, *preloads)->is_preloaded = 1;
  for (int i = 0; i < image->object_count; i++)
    if (!header_is_good(&image->objects[i], i == 0 && !image->program, error, error_bytes) ||
        !follow(image, i, error, error_bytes))
      return 0;
  find_order(image);
  for (int i = 0; i < image->object_count; i++) {
    elf_object *o = &image->objects[i];
    bytes = up(bytes); /* alignments above a page are a wish for huge pages, not a need */
    o->at = bytes - o->low;
    bytes += o->high - o->low;
  }
  /* Words for libc's variables need memory that can be written in each copy: the last
     object's last page of data mostly has room, which saves a page per process. */
  const elf_object *last = &image->objects[image->object_count - 1];
  for (int k = 0; k < last->header.e_phnum;
       k++) /* behind the last variables, if their page has room */
    if (last->parts[k].p_type == PT_LOAD && last->parts[k].p_flags & PF_W)
      image->variables_at =
          last->at + (last->parts[k].p_vaddr + last->parts[k].p_memsz + 15) / 16 * 16;
  if (!image->variables_at || image->variables_at + 8 * GUEST_VARIABLES > bytes)
    image->variables_at = bytes, bytes += PAGE;
  image->bytes = bytes;
  /* `moved` numbers words in fours of bytes with 32 bits. */
  if (image->bytes / 4 > UINT32_MAX)
    return fail(error, error_bytes, "%s: larger than 16 GiB", path);
  place_tls(image);
  return 1;
}
void elf_text_close(elf_image *image) {
  for (int i = 0; i < image->object_count; i++) {
    elf_object *o = &image->objects[i];
    if (o->text_fd >= 0) close(o->text_fd);
    o->text_fd = -1;
  }
}
void elf_free(elf_image *image) {
  elf_text_close(image);
  for (int i = 0; i < image->object_count; i++) {
    elf_object *o = &image->objects[i];
    if (o->fd >= 0) close(o->fd);
    free(o->path);
    free((void *)(uintptr_t)o->name);
    free(o->parts);
  }
  free(image->objects);
  free(image->needs);
  free(image->order);
}
/* What is never written is mapped from the file in every copy: pages are in memory once, however
   many processes there are. */
static bool is_text(const ElfW(Phdr) * p) { return p->p_type == PT_LOAD && !(p->p_flags & PF_W); }
/* Neighbours that lie in the file as they do in memory become one mapping.
   Fewer mappings, since the kernel limits their number and every process has these: so constants
   have the rights of code, and are one mapping with it where they are neighbours. A part with a
   tail that the file does not fill cannot have a neighbour in the same mapping: bytes of the file
   would stand where zeros belong. */
int elf_map_text_of(const elf_object *o, char *where) {
  for (int k = 0; k < o->header.e_phnum; k++) {
    const ElfW(Phdr) *p = &o->parts[k];
    if (!is_text(p) || !p->p_filesz) continue;
    const uintptr_t from = down(p->p_vaddr);
    const size_t offset = p->p_offset - (p->p_vaddr - from);
    uintptr_t to = up(p->p_vaddr + p->p_filesz);
    while (k + 1 < o->header.e_phnum && is_text(p + 1) &&
           (p + 1)->p_offset - (p + 1)->p_vaddr == offset - from && down((p + 1)->p_vaddr) >= to &&
           p->p_filesz == p->p_memsz) {
      p++, k++;
      to = up(p->p_vaddr + p->p_filesz);
    }
    if (mmap((void *)((uintptr_t)where + from), to - from, PROT_READ | PROT_EXEC,
             MAP_PRIVATE | MAP_FIXED, o->text_fd >= 0 ? o->text_fd : o->fd,
             (off_t)offset) == MAP_FAILED)
      return 0;
  }
  return 1;
}
/* ret the descriptor of a file in memory that has the object's text where its file has it; -1 */
static int text_in_memory(const elf_object *o) {
  const int fd = memfd_create("pm_run text", MFD_CLOEXEC);
  bool is_good = fd >= 0;
  for (int k = 0; is_good && k < o->header.e_phnum; k++) {
    const ElfW(Phdr) *p = &o->parts[k];
    off_t from = (off_t)down(p->p_offset);
    const off_t to = (off_t)(p->p_offset + p->p_filesz);
    if (!is_text(p)) continue;
    is_good = lseek(fd, from, SEEK_SET) == from;
    while (is_good && from < to) is_good = sendfile(fd, o->fd, &from, (size_t)(to - from)) > 0;
  }
  if (is_good || fd < 0) return fd;
  close(fd);
  return -1;
}
void elf_text_again(elf_image *image) {
  elf_text_close(image);
  for (int i = 0; i < image->object_count; i++) {
    elf_object *o = &image->objects[i];
    o->text_fd = o->is_fixed ? -1 : text_in_memory(o);
  }
}
size_t elf_text_bytes(const elf_image *image) {
  size_t bytes = 0;
  for (int i = 0; i < image->object_count; i++)
    for (int k = 0; k < image->objects[i].header.e_phnum; k++)
      if (is_text(&image->objects[i].parts[k])) bytes += image->objects[i].parts[k].p_filesz;
  return bytes;
}
/* A copy has no text of a program that is at a fixed address: it runs there, and its tables are read in the first image. */
int elf_map_text(const elf_image *image, char *base) {
  for (int i = 0; i < image->object_count; i++) {
    const elf_object *o = &image->objects[i];
    if ((!o->is_fixed || base == image->base) && !elf_map_text_of(o, base + o->at)) return 0;
  }
  return 1;
}

/* ---- symbols ------------------------------------------------------------------------------------------------ */
static char *at(const elf_image *image, const elf_object *o, uintptr_t address) {
  return image->base + o->at + address;
}
/* What a reference to it is bound to. */
static char *bound_at(const elf_image *image, const elf_object *o, uintptr_t address) {
  return o->is_fixed ? (char *)address : at(image, o, address);
}
size_t elf_dynamic(const elf_object *o, int64_t tag) {
  for (const ElfW(Dyn) *e = o->dynamic; e->d_tag; e++)
    if (e->d_tag == tag) return e->d_un.d_val;
  return 0;
}
/* Addresses in the dynamic section stay those of the file: no dynamic linker has added a base. */
static int open_tables(const elf_image *image, elf_object *o, char *error, size_t bytes) {
  const ElfW(Phdr) *d = part_of_type(o, PT_DYNAMIC);
  o->dynamic = (ElfW(Dyn) *)(void *)at(image, o, d->p_vaddr);
#define TABLE(field, tag)                                                                          \
  *(void **)(void *)&o->field =                                                                    \
      elf_dynamic(o, tag) ? (void *)at(image, o, elf_dynamic(o, tag)) : NULL
  TABLE(strings, DT_STRTAB);
  TABLE(symbols, DT_SYMTAB);
  TABLE(gnu_hash, DT_GNU_HASH);
  TABLE(sysv_hash, DT_HASH);
  TABLE(versions, DT_VERSYM);
  TABLE(needs, DT_VERNEED);
  TABLE(defines, DT_VERDEF);
#undef TABLE
  o->need_count = elf_dynamic(o, DT_VERNEEDNUM);
  o->define_count = elf_dynamic(o, DT_VERDEFNUM);
  if (!o->symbols || !o->strings) return fail(error, bytes, "%s: has no symbols", o->path);
  return 1;
}
/* Versions stand in tables beside the symbols, since several of one name may be in a library: a
   number per symbol (0 local, 1 without version), whose name is found in what the object needs, or
   in what it defines. */
static const char *needed_version(const elf_object *o, size_t symbol) {
  const unsigned index = o->versions ? o->versions[symbol] & 0x7FFF : 0;
  const ElfW(Verneed) *n = o->needs;
  if (index < 2) return NULL;
  for (size_t i = 0; n && i < o->need_count;
       i++, n = (const ElfW(Verneed) *)(const void *)((const char *)n + n->vn_next)) {
    const ElfW(Vernaux) *a = (const ElfW(Vernaux) *)(const void *)((const char *)n + n->vn_aux);
    for (int k = 0; k < n->vn_cnt;
         k++, a = (const ElfW(Vernaux) *)(const void *)((const char *)a + a->vna_next))
      if (a->vna_other == index) return o->strings + a->vna_name;
  }
  return NULL;
}
static const char *defined_version(const elf_object *o, size_t symbol) {
  const unsigned index = o->versions ? o->versions[symbol] & 0x7FFF : 0;
  const ElfW(Verdef) *d = o->defines;
  if (index < 2) return NULL;
  for (size_t i = 0; d && i < o->define_count;
       i++, d = (const ElfW(Verdef) *)(const void *)((const char *)d + d->vd_next))
    if (d->vd_ndx == index)
      return o->strings +
             ((const ElfW(Verdaux) *)(const void *)((const char *)d + d->vd_aux))->vda_name;
  return NULL;
}
/* A symbol fits a reference by name and by version, when both have one; without a wish, the default
   version is meant (bit 15 marks the others as hidden). */
static int fits(const elf_object *o, size_t index, const char *name, const char *version) {
  const ElfW(Sym) *s = &o->symbols[index];
  if (s->st_shndx == SHN_UNDEF || ELF64_ST_BIND(s->st_info) == STB_LOCAL ||
      strcmp(o->strings + s->st_name, name) != 0)
    return 0;
  if (!o->versions || o->versions[index] < 2) return 1;
  const char *defined = defined_version(o, index);
  if (version && defined) return strcmp(version, defined) == 0;
  return !(o->versions[index] & 0x8000);
}
/* By the GNU hash table where there is one: a Bloom filter of two bits per name says for most
   objects at once that they do not have it; else a chain of its bucket, whose last entry has bit 0
   set. */
static const ElfW(Sym) * symbol_in(const elf_object *o, const char *name, const char *version) {
  if (o->gnu_hash) {
    uint32_t hash = 5381;
    for (const char *c = name; *c; c++) hash = hash * 33 + (unsigned char)*c;
    const uint32_t buckets = o->gnu_hash[0], first = o->gnu_hash[1], words = o->gnu_hash[2],
                   shift = o->gnu_hash[3];
    const uint64_t *bloom = (const uint64_t *)(const void *)(o->gnu_hash + 4);
    const uint32_t *bucket = (const uint32_t *)(const void *)(bloom + words),
                   *chain = bucket + buckets;
    const uint64_t word = bloom[hash / 64 % words];
    if (!buckets || !((word >> hash % 64) & (word >> (hash >> shift) % 64) & 1)) return NULL;
    for (uint32_t i = bucket[hash % buckets]; i >= first && i; i++) {
      if ((chain[i - first] | 1) == (hash | 1) && fits(o, i, name, version)) return &o->symbols[i];
      if (chain[i - first] & 1) break;
    }
  } else if (o->sysv_hash) {
    uint32_t hash = 0;
    for (const char *c = name; *c; c++) {
      hash = (hash << 4) + (unsigned char)*c;
      hash = (hash ^ (hash >> 24 & 0xF0)) & 0x0FFFFFFF;
    }
    const uint32_t buckets = o->sysv_hash[0];
    for (uint32_t i = buckets ? o->sysv_hash[2 + hash % buckets] : 0; i;
         i = o->sysv_hash[2 + buckets + i])
      if (fits(o, i, name, version)) return &o->symbols[i];
  }
  return NULL;
}
const ElfW(Sym) * elf_symbol(const elf_object *object, const char *name) {
  return symbol_in(object, name, NULL);
}
size_t elf_find(const elf_image *image, const char *name) {
  for (int i = 0; i < image->object_count; i++) {
    const ElfW(Sym) *s = symbol_in(&image->objects[i], name, NULL);
    if (s && ELF64_ST_TYPE(s->st_info) != STT_TLS) return image->objects[i].at + s->st_value;
  }
  return 0;
}

/* What a reference is bound to. */
typedef struct target {
  const elf_object *object; /* NULL: outside of the image */
  const ElfW(Sym) * symbol;
  char *address; /* NULL: nobody has it */
} target;
static const struct {
  const char *name;
  enum guest_variable variable;
} variables[] = {
    {"environ", GUEST_ENVIRON},
    {"__environ", GUEST_ENVIRON},
    {"_environ", GUEST_ENVIRON},
    {"optarg", GUEST_OPTARG},
    {"optind", GUEST_OPTIND},
    {"opterr", GUEST_OPTERR},
    {"optopt", GUEST_OPTOPT},
    {"stdin", GUEST_STDIN},
    {"stdout", GUEST_STDOUT},
    {"stderr", GUEST_STDERR},
    {"program_invocation_name", GUEST_PROGNAME},
    {"__progname_full", GUEST_PROGNAME},
    {"program_invocation_short_name", GUEST_PROGNAME_SHORT},
    {"__progname", GUEST_PROGNAME_SHORT},
    {"__libc_stack_end", GUEST_STACK_END},
    {"MPI_F_STATUS_IGNORE", GUEST_F_STATUS},
    {"MPI_F_STATUSES_IGNORE", GUEST_F_STATUSES},
    {"MPI_F08_STATUS_IGNORE", GUEST_F08_STATUS},
    {"MPI_F08_STATUSES_IGNORE", GUEST_F08_STATUSES},
};
void *guest__replacement(const char *name);
/* The launcher's own function of that name, NULL when it has none. A library that was loaded for
   the launcher may have a function of that name too: only the launcher's own is meant. */
static void *launchers(void *found) {
  static Dl_info self;
  Dl_info info;
  if (!self.dli_fbase) dladdr((void *)(uintptr_t)&variables, &self);
  return found && dladdr(found, &info) && info.dli_fbase == self.dli_fbase ? found : NULL;
}
static bool is_of_openmp(const char *name) {
  static const char *const names[] = {"omp_", "GOMP_", NULL};
  return starts(name, names);
}
void *elf_replaced(const char *name) {
  /* None of C++ is meant: tables of classes that the launcher has are copies of its own libstdc++'s. Nor is its main: a
     program's may lie in one of its libraries. */
  static const char *const own[] = {"_Z", "main", NULL};
  void *found = guest__replacement(name);
  if (!found && abi) found = abi->find(name);
  return found || starts(name, own) || elf_is_nowhere(name) ||
                 (has_own_openmp && is_of_openmp(name))
             ? found
             : launchers(dlsym(RTLD_DEFAULT, name));
}
bool elf_is_nowhere(const char *name) { return abi && abi->is_its(name); }
/* An indirect function is asked for the one that it stands for, as the dynamic linker does.
   It runs in the launcher, in the first image: what it chooses is right for all copies, since they
   run on the same processor. */
static char *from_object(const elf_image *image, target *t) {
  char *address = bound_at(image, t->object, t->symbol->st_value);
  if (ELF64_ST_TYPE(t->symbol->st_info) == STT_GNU_IFUNC) {
    char *(*resolve)(void);
    memcpy(&resolve, &address, sizeof resolve);
    address = resolve();
  }
  return address;
}
static int in_object(const elf_image *image, target *t, int i, const char *name,
                     const char *version) {
  const elf_object *const o = &image->objects[i];
  if ((t->symbol = symbol_in(o, name, version)) == NULL) return 0;
  t->object = o;
  t->address = ELF64_ST_TYPE(t->symbol->st_info) == STT_TLS ? NULL : from_object(image, t);
  return 1;
}
/* preloaded: whether the program and the preloaded ones are asked, or all others. */
static int in_objects(const elf_image *image, target *t, const char *name, const char *version,
                      int first, int preloaded) {
  for (int i = first; i < image->object_count; i++)
    if ((i == 0 || image->objects[i].is_preloaded) == preloaded &&
        in_object(image, t, i, name, version))
      return 1;
  return 0;
}
/* What was loaded later: the objects of one dlopen together. */
static int in_all(const elf_image *image, target *t, const char *name, const char *version) {
  return in_objects(image, t, name, version, 0, 1) || in_objects(image, t, name, version, 1, 0);
}
/* A library that the program was linked with before the MPI, or without one, and that has functions of that name: a
   tool behind MPI's profiling interface, an MPI for one process, a layer between two ABIs. It is meant, as
   everywhere. Libraries of Fortran and C++ that belong to an MPI hand on to ours, which knows their functions. */
static int in_wrappers(const elf_image *image, target *t, const char *name, const char *version,
                       int first) {
  static const char *const of_mpi[] = {"libmpich", "libmpi_", "libmpifort", "libmpicxx", NULL};
  if (strncasecmp(name, "MPI_", 4) != 0 && strncasecmp(name, "PMPI_", 5) != 0) return 0;
  const int end = image->before_mpi ? image->before_mpi : image->object_count;
  for (int i = first; i < end; i++)
    if (!starts(image->objects[i].name, of_mpi) && in_object(image, t, i, name, version) &&
        ELF64_ST_TYPE(t->symbol->st_info) == STT_FUNC)
      return 1;
  *t = (target){NULL, NULL, NULL};
  return 0;
}
const elf_object *elf_wrapper(const elf_image *image, const char *name, int first) {
  target t = {NULL, NULL, NULL};
  return in_wrappers(image, &t, name, NULL, first) ? t.object : NULL;
}
static int in_launcher(const elf_image *image, target *t, const char *name) {
  for (size_t k = 0; k < sizeof variables / sizeof *variables; k++)
    if (strcmp(name, variables[k].name) == 0) {
      t->address = image->base + image->variables_at + 8 * (size_t)variables[k].variable;
      return 1;
    }
  t->address = (char *)elf_replaced(name);
  return t->address != NULL;
}
int elf_answers_to(const elf_object *o, const char *name) {
  return strcmp(o->name, name) == 0 || (o->dynamic && elf_dynamic(o, DT_SONAME) &&
                                        strcmp(o->strings + elf_dynamic(o, DT_SONAME), name) == 0);
}
static bool is_in_one_file(const void *a, const void *b) {
  Dl_info one, other;
  return dladdr(a, &one) && dladdr(b, &other) && one.dli_fbase == other.dli_fbase;
}
/* A version that the host's libc does not have (a program of a newer one) is tried without: better than refusing it.
   What stands before libc without versions, an allocator or a sanitizer that was preloaded for the launcher, comes
   first, as for the dynamic linker: memory that libc gives is from there. dlvsym passes it over. */
static char *of_host(const char *name, const char *version) {
  char *const first = (char *)dlsym(RTLD_DEFAULT, name);
  char *const exact = version ? (char *)dlvsym(RTLD_DEFAULT, name, version) : NULL;
  return exact && (!first || exact == first || is_in_one_file(exact, first)) ? exact : first;
}
static int calls_dlopen;
int elf_calls_dlopen(void) { return calls_dlopen; }
/* The order is ours, not the dynamic linker's: the program and what was preloaded, as everywhere;
   then the launcher, whose libc, threads, MPI and Portals stand in for those of the host; then the
   program's own libraries; last the host's libc for what needs no stand-in. */
static target find_target(const elf_image *image, const elf_object *who, size_t index,
                          int skip_program) {
  const ElfW(Sym) *s = &who->symbols[index];
  const char *name = who->strings + s->st_name, *version = needed_version(who, index);
  target t = {NULL, NULL, NULL};
  /* Bound inside of its own object: local, hidden or protected symbols, and all of an object linked
     with -Bsymbolic. */
  if (s->st_shndx != SHN_UNDEF && !skip_program &&
      (ELF64_ST_BIND(s->st_info) == STB_LOCAL || ELF64_ST_VISIBILITY(s->st_other) != STV_DEFAULT ||
       who->is_symbolic)) {
    t.object = who;
    t.symbol = s;
    t.address = ELF64_ST_TYPE(s->st_info) == STT_TLS ? NULL : from_object(image, &t);
    return t;
  }
  if (!version && s->st_shndx != SHN_UNDEF) version = defined_version(who, index);
  const elf_image *const first = image->program ? image->program : image;
  calls_dlopen |= name[0] == 'd' && (strcmp(name, "dlopen") == 0 || strcmp(name, "dlmopen") == 0);
  if (in_objects(first, &t, name, version, skip_program, 1) ||
      in_wrappers(first, &t, name, version, 1) ||
      (image->program && !image->program->before_mpi && in_wrappers(image, &t, name, version, 0)) ||
      in_launcher(first, &t, name) || in_objects(first, &t, name, version, 1, 0) ||
      (image->program && in_all(image, &t, name, version)))
    return t;
  for (int i = 0; i < image->other_count; i++)
    if (in_all(image->others[i], &t, name, version)) return t;
  if (elf_is_nowhere(name)) return t;
  t.address = of_host(name, version);
  return t;
}

/* ---- functions that nobody has: named when they are missed, and when they are called all the same ------- */
enum { STUB_BYTES = 32, STUBS = 4096 };
static elf_image *bound;
__attribute__((noreturn)) static void missing_called(size_t index) {
  char text[256];
  snprintf(text, sizeof text, "%s was called, which is missing here", bound->missing[index].name);
  guest_abort(100, text);
}
static bool is_fortran_of_mpi(const elf_object *o) {
  return strncmp(o->name, "libmpi", 6) == 0 &&
         (strstr(o->name, "fort") || strstr(o->name, "mpifh") || strstr(o->name, "usempi"));
}
/* A function of some bytes that calls missing_called with its number: a program may well be linked
   to names that it never calls.
   Stubs lie outside of the image: one serves all copies, and the word that refers to it is not
   moved. No stub may move: its address is in the image by then. So full pages stay, and
   another one is begun. */
static char *stub_for(elf_image *image, const elf_object *who, const char *name) {
  static char *page, **stub;
  static int stubs_max;
  int i = 0;
  void (*const called)(size_t) = missing_called;
  const bool is_quiet = is_fortran_of_mpi(who);
  while (i < image->missing_count && strcmp(image->missing[i].name, name) != 0) i++;
  if (i < image->missing_count) {
    image->missing[i].is_quiet &= is_quiet;
    return stub[i];
  }
  image->missing = (elf_missing *)grown(image->missing, &image->missing_max, image->missing_count,
                                        sizeof(elf_missing));
  image->missing[image->missing_count++] = (elf_missing){strdup(name), is_quiet};
  stub = (char **)grown(stub, &stubs_max, i, sizeof *stub);
  if (i % STUBS == 0) {
    void *const fresh = mmap(NULL, (size_t)STUBS * STUB_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (fresh == MAP_FAILED) guest_refuse("out of memory");
    page = (char *)fresh;
  }
  char *const next = stub[i] = page + i % STUBS * STUB_BYTES;
#if defined(__x86_64__)
  const uint32_t number = (uint32_t)i;
  memcpy(next, "\xBF\0\0\0\0\x48\xB8\0\0\0\0\0\0\0\0\xFF\xE0",
         17); /* mov $i, %edi; mov $f, %rax; jmp *%rax */
  memcpy(next + 1, &number, 4);
  memcpy(next + 7, &called, 8);
#else
  const uint32_t code[] = {0xD2800000u | ((uint32_t)i & 0xFFFF) << 5,
                           0xF2A00000u | (uint32_t)i >> 16 << 5, 0x58000050u,
                           0xD61F0200u}; /* movz and movk x0, #i; ldr x16, .+8; br x16 */
  memcpy(next, code, 16);
  memcpy(next + 16, &called, 8);
  __builtin___clear_cache(next, next + STUB_BYTES);
#endif
  return next;
}

/* ---- binding ---------------------------------------------------------------------------------------------- */
static void moves(elf_image *image,
                  const char *word) { /* it holds an address inside of the image */
  if (image->program) return;         /* there is no other copy */
  if (image->moved_count == image->moved_max) {
    image->moved_max = image->moved_max ? image->moved_max * 2 : 1024;
    image->moved = (uint32_t *)realloc(image->moved, image->moved_max * sizeof *image->moved);
    if (!image->moved) guest_refuse("out of memory");
  }
  image->moved[image->moved_count++] = (uint32_t)((size_t)(word - image->base) / 4);
}
/* An address inside of the image that is written and not noted would lead from every copy into the
   first image, in which no process runs. */
static void put(elf_image *image, char *word, char *address) {
  memcpy(word, &address, sizeof address);
  if (address >= image->base && address < image->base + image->bytes) moves(image, word);
}
/* Static offset from the thread pointer. */
static ptrdiff_t tls_offset(const elf_image *image, const elf_object *o) {
#if defined(__x86_64__)
  (void)image;
  return -(ptrdiff_t)o->tls_at;
#else
  return (ptrdiff_t)((16 + image->tls_align - 1) / image->tls_align * image->tls_align + o->tls_at);
#endif
}
/* What compilers call for a thread-local variable of a library: the "module" is the distance of the
   object's block from the thread pointer. */
static void *tls_get_addr(const ptrdiff_t *module_and_offset) {
  return (char *)__builtin_thread_pointer() + module_and_offset[0] + module_and_offset[1];
}
__attribute__((constructor)) static void add(void) {
  GUEST_REPLACE("__tls_get_addr", tls_get_addr);
}
#if defined(__x86_64__)
__asm__(".text\n.type guest__tls_desc, @function\nguest__tls_desc:\n\tmovq 8(%rax), %rax\n\tret\n");
#else
__asm__(".text\n.type guest__tls_desc, %function\nguest__tls_desc:\n\tldr x0, [x0, #8]\n\tret\n");
#endif
extern char guest__tls_desc[];

/* All objects are known when the image is laid out, so every thread-local variable has a fixed
   distance from the thread pointer, however the code asks for it: by offset, by module and offset,
   by descriptor.
   Distances are the same in every copy, and the descriptor's function is the launcher's: none of
   these words is noted as moved. A descriptor is two words, a function and its argument: the code
   passes the descriptor's address (in rax, x0), and the function finds the argument behind its own
   word. */
static int bind_tls(const elf_image *image, const elf_object *o, const ElfW(Rela) * r,
                    unsigned type, char *word, char *error, size_t bytes) {
  const size_t index = ELF64_R_SYM(r->r_info);
  target t = {o, NULL, NULL};
  if (index) t = find_target(image, o, index, 0);
  if (!t.object || (index && !t.symbol))
    return fail(error, bytes, "%s: thread-local variable %s is not found", o->path,
                o->strings + o->symbols[index].st_name);
  const ptrdiff_t block = tls_offset(image, t.object);
  const ptrdiff_t x = (ptrdiff_t)(index ? t.symbol->st_value : 0) + r->r_addend, far = block + x;
  const char *fn = guest__tls_desc;
  if (type == R_DESC) {
    memcpy(word, &fn, 8);
    memcpy(word + 8, &far, 8);
  } else
    memcpy(word, type == R_MODULE ? &block : type == R_TPOFF ? &far : &x, 8);
  return 1;
}
/* What dlopen loads and refers to something that nobody has is refused, as everywhere; but an MPI has it, and who
   runs a program here is told its name when it is called. */
static bool is_of_mpi(const char *name) {
  return elf_is_nowhere(name) || strncmp(name, "MPI", 3) == 0 || strncmp(name, "PMPI", 4) == 0;
}
static int bind_one(elf_image *image, const elf_object *o, const ElfW(Rela) * r, char *error,
                    size_t bytes) {
  const unsigned type = (unsigned)ELF64_R_TYPE(r->r_info);
  const size_t index = ELF64_R_SYM(r->r_info);
  char *word = at(image, o, r->r_offset);
  if (type == R_NONE_ || type == R_COPY_) return 1;
  if (r->r_offset < o->low || r->r_offset > o->high - (type == R_DESC ? 16 : 8))
    return fail(error, bytes, "%s: a relocation lies outside of it", o->path);
  switch (type) {
  case R_REL: put(image, word, bound_at(image, o, (uintptr_t)r->r_addend)); return 1;
  /* Runs a function of the image: its own relocations must be done, so these come in the second
     round. */
  case R_IREL: {
    char *(*resolve)(void), *address = bound_at(image, o, (uintptr_t)r->r_addend);
    memcpy(&resolve, &address, sizeof resolve);
    put(image, word, resolve());
    return 1;
  }
  case R_ABS:
  case R_GLOB:
  case R_JUMP: {
    const ElfW(Sym) *s = &o->symbols[index];
    target t = {NULL, NULL, NULL};
    if (index) t = find_target(image, o, index, 0);
    /* A weak reference that nobody answers is 0, as everywhere: programs ask whether it is
       there. */
    if (index && !t.address && ELF64_ST_BIND(s->st_info) != STB_WEAK) {
      if (image->program && (image->is_bound_now || type != R_JUMP) &&
          !is_of_mpi(o->strings + s->st_name))
        return fail(error, bytes, "%s: undefined symbol: %s", o->path, o->strings + s->st_name);
      t.address = stub_for(bound, o, o->strings + s->st_name);
    }
    put(image, word, t.address ? t.address + (type == R_ABS ? r->r_addend : 0) : NULL);
    return 1;
  }
  case R_MODULE:
  case R_OFFSET:
  case R_TPOFF:
  case R_DESC: return bind_tls(image, o, r, type, word, error, bytes);
  default: return fail(error, bytes, "%s: relocation of kind %u is not known", o->path, type);
  }
}
/* The program's own copy of a library's variable.
   The program's code holds the place of this copy, so all objects must use it: they find it as
   the program's symbol, which comes first (find_target). Only here the program is left out, to find
   the library's original with the first value. */
static int bind_copy(elf_image *image, const elf_object *o, const ElfW(Rela) * r, char *error,
                     size_t bytes) {
  const ElfW(Sym) *s = &o->symbols[ELF64_R_SYM(r->r_info)];
  const target t = find_target(image, o, ELF64_R_SYM(r->r_info), 1);
  char *word = at(image, o, r->r_offset);
  const size_t size = t.symbol && t.symbol->st_size < s->st_size ? t.symbol->st_size : s->st_size;
  if (!t.address)
    return fail(error, bytes, "%s: variable %s is not found", o->path, o->strings + s->st_name);
  if (r->r_offset < o->low || s->st_size > o->high - r->r_offset)
    return fail(error, bytes, "%s: a relocation lies outside of it", o->path);
  /* The smaller of the two sizes: the library may have grown since the program was linked. */
  memcpy(word, t.address, size);
  image->copied =
      grown(image->copied, &image->copied_max, image->copied_count, sizeof *image->copied);
  image->copied[image->copied_count].at = (size_t)(word - image->base);
  image->copied[image->copied_count++].bytes = size;
  /* Addresses within the copied variable must move with the image as those of the original do. */
  if (!t.object) return 1;
  const size_t from = (size_t)(t.address - image->base) / 4, count = image->moved_count;
  for (size_t i = 0; i < count; i++)
    if (image->moved[i] >= from && image->moved[i] < from + size / 4)
      moves(image, word + 4 * (image->moved[i] - from));
  return 1;
}
/* An even word is an address; the place there is bound, and the next word of memory is the first of
   the bit map. An odd word is a map of 63 words, bit 1 the first of them; maps follow each other
   without a gap. Tags are numbers, since older elf.h have no names for them: 36 the table, 35 its
   bytes. The addend is in the place itself, so a place must be bound once only (round 0). */
static void bind_packed(
    elf_image *image, const elf_object *o) { /* DT_RELR: addresses, and bit maps of what follows */
  const uint64_t *word = (const uint64_t *)(const void *)at(image, o, elf_dynamic(o, 36));
  uint64_t *where = NULL;
  for (size_t n = elf_dynamic(o, 36) ? elf_dynamic(o, 35) / 8 : 0; n; n--, word++) {
    if (!(*word & 1)) {
      where = (uint64_t *)(void *)at(image, o, *word);
      put(image, (char *)where, bound_at(image, o, *where));
      where++;
      continue;
    }
    for (int i = 0; i < 63; i++)
      if (*word >> (i + 1) & 1) put(image, (char *)(where + i), bound_at(image, o, where[i]));
    where += 63;
  }
}
/* which: 0 all but addresses from functions that must run, 1 these, 2 copies of variables */
static int bind_object(elf_image *image, const elf_object *o, int which, char *error,
                       size_t bytes) {
  const struct { int64_t table, size; } tables[] = {{DT_RELA, DT_RELASZ}, {DT_JMPREL, DT_PLTRELSZ}};
  if (which == 0) bind_packed(image, o);
  for (int k = 0; k < 2; k++) {
    const ElfW(Rela) *r =
        (const ElfW(Rela) *)(const void *)at(image, o, elf_dynamic(o, tables[k].table));
    for (size_t n = elf_dynamic(o, tables[k].table) ? elf_dynamic(o, tables[k].size) / sizeof *r
                                                    : 0;
         n; n--, r++) {
      const unsigned type = (unsigned)ELF64_R_TYPE(r->r_info);
      if (which != (type == R_COPY_ ? 2 : type == R_IREL ? 1 : 0)) continue;
      if (!(which == 2 ? bind_copy : bind_one)(image, o, r, error, bytes)) return 0;
    }
  }
  return 1;
}
/* Three rounds, since the functions of the second must run bound code and the third copies
   variables that have their final value then. Libraries first: the program refers to them.
   Addresses outside of the image (the launcher's, libc's) are the same in every copy and are not
   noted; those inside are, and move with it.
   All is bound now, also what dynamic linkers leave to the first call: a word bound later would be
   bound in one copy alone. */
int elf_bind(elf_image *image, char *error, size_t bytes) {
  if (!bound) bound = image;
  for (int i = 0; i < image->object_count; i++) {
    const elf_object *o = &image->objects[i];
    for (int k = 0; k < o->header.e_phnum; k++) {
      const ElfW(Phdr) *p = &o->parts[k];
      if (p->p_type == PT_LOAD && p->p_flags & PF_W &&
          !read_all(o->fd, at(image, o, p->p_vaddr), p->p_filesz, p->p_offset))
        return fail(error, bytes, "%s: cut off", o->path);
    }
  }
  for (int i = 0; i < image->object_count; i++)
    if (!open_tables(image, &image->objects[i], error, bytes)) return 0;
  for (int which = 0; which < 3; which++)
    for (int i = image->object_count - 1; i >= 0; i--)
      if (!bind_object(image, &image->objects[i], which, error, bytes)) return 0;
  return 1;
}
