/* The program: one image bound once (image.c), then a copy per process. Text is mapped from the files,
   so all processes share it; what can be written is copied and its addresses moved. That takes two
   mappings per process and file. Where the kernel's allowance would not do, the bound image becomes a
   file in memory that holds some copies of it, and each mapping of this file is as many processes:
   pages are shared until they are written. Time is linear in the processes. */
#include "guest.h"
#include "image.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static elf_image image;
static char *region; /* of all copies, one after the other */
static int copies;
/* Processes of one program are alike but for what they wrote: so many share a mapping. */
static int packed; /* 0: each is mapped from a file of its own */
static size_t variable_at[GUEST_VARIABLES];

/* Thread-local variables of the program lie where the launcher's own would: right below the thread
   pointer (variant II of the ELF documents on TLS), because the program's code was compiled to find
   them at fixed distances from there. The launcher keeps the room free by a variable in the section
   of common ones, which the linker puts last. A switch of processes copies what lies there out and
   in (process.c). OpenBLAS and METIS together, which PETSc brings, have 89 KiB. */
#if defined(__x86_64__)
enum { TLS_ROOM = GUEST_TLS_MAX };
__asm__(".pushsection .tcommon,\"awT\",@nobits\n.globl guest__tls_room\n"
        ".type guest__tls_room, @object\n.size guest__tls_room, 262144\n"
        ".balign 64\nguest__tls_room: .zero 262144\n.popsection\n");
extern __thread char guest__tls_room[TLS_ROOM];
static char *tls_block(void) { return (char *)__builtin_thread_pointer() - image.tls_bytes; }
static int tls_fits(void) {
  return (char *)__builtin_thread_pointer() == guest__tls_room + TLS_ROOM &&
         image.tls_bytes <= TLS_ROOM && image.tls_align <= 64;
}
#else
enum { TLS_ROOM = 0 };
static char *tls_block(void) { return NULL; }
static int tls_fits(void) { return 0; }
#endif
size_t guest_tls_bytes(void) { return image.tls_bytes; }
char *guest_tls_now(void) { return tls_block(); }
/* What a process loads by dlopen may have some too: room for a few is kept in each thread's block, at its lower end;
   for more, all blocks grow. A file has the same place in all processes, as if it had been there from the start. */
enum { TLS_LATER = 2048, LATER_MAX = 64 };
static struct {
  char *path;
  size_t at;
} later[LATER_MAX];
static size_t tls_most;
size_t guest_tls_most(void) { return tls_most; }
/* The blocks of all threads become larger at their lower end, where the later files' variables are; those of
   the thread that runs are in their place, and are copied at its next switch. ret 0: there is no room for so much */
static int tls_grow(size_t most) {
  if (most > TLS_ROOM || !tls_most) return 0;
  for (int rank = 0; guest_at(rank); rank++)
    for (guest_context *c = &guest_at(rank)->first; c; c = c->next) {
      char *block = c->tls ? (char *)calloc(1, most) : NULL;
      if (!c->tls) continue;
      if (!block) guest_refuse("out of memory");
      memcpy(block + most - tls_most, c->tls, tls_most);
      free(c->tls);
      c->tls = block;
    }
  tls_most = most;
  return 1;
}
size_t elf_tls_room(const char *path, size_t bytes, size_t align) {
  int i = 0;
  while (i < LATER_MAX && later[i].path && strcmp(later[i].path, path) != 0) i++;
  if (i == LATER_MAX || align > 64) return 0;
  if (later[i].path) return later[i].at;
  const size_t at = (image.tls_bytes + bytes + align - 1) / align * align;
  const size_t end = (at + 15) / 16 * 16;
  if ((end > tls_most && !tls_grow(end + TLS_LATER <= TLS_ROOM ? end + TLS_LATER : end)) ||
      (later[i].path = strdup(path)) == NULL)
    return 0;
  image.tls_bytes = end;
  return later[i].at = at;
}
char *elf_tls_at(size_t distance) { return tls_block() + image.tls_bytes - distance; }
/* A new block: the initial values of each object's variables, 0 where the file gives none. */
void guest_tls_first(const guest *g, char *block, guest_tls_wrote *wrote) {
  for (int i = 0; i < image.object_count; i++) {
    const elf_object *o = &image.objects[i];
    for (int k = 0; o->tls_bytes && k < o->header.e_phnum; k++) {
      const ElfW(Phdr) *t = &o->parts[k];
      if (t->p_type != PT_TLS || !t->p_filesz) continue;
      memcpy(block + tls_most - o->tls_at, g->image + o->at + t->p_vaddr, t->p_filesz);
      if (wrote) wrote(block + tls_most, o->tls_at, t->p_filesz);
    }
  }
  plugins_tls_first(g, block + tls_most, wrote);
}

static const char *const variable_names[GUEST_VARIABLES] = {"environ",
                                                            "optarg",
                                                            "optind",
                                                            "opterr",
                                                            "optopt",
                                                            "stdin",
                                                            "stdout",
                                                            "stderr",
                                                            "program_invocation_name",
                                                            "program_invocation_short_name",
                                                            "__libc_stack_end"};
/* libc's own variables (environ, optarg, ...) exist once per process. A program that was linked
   with a copy of one (copy relocation) has it in its own data, under either name; the others stand
   in words of the image made for them. */
static void find_variables(void) {
  static const char *const others[GUEST_VARIABLES] = {
      "__environ", NULL, NULL, NULL, NULL, NULL, NULL, NULL, "__progname_full", "__progname"};
  for (int i = 0; i < GUEST_VARIABLES; i++) {
    variable_at[i] = variable_names[i] ? elf_find(&image, variable_names[i]) : 0;
    if (!variable_at[i] && others[i]) variable_at[i] = elf_find(&image, others[i]);
    if (!variable_at[i]) variable_at[i] = image.variables_at + 8 * (size_t)i;
  }
}
void *guest_variable_at(const guest *g, enum guest_variable variable) {
  return g->image + variable_at[variable];
}

/* Told at the start and not refused: programs are linked with much that they never call. */
static void say_missing(const char *who) {
  static int said;
  const char *before = "missing here, a call ends the run: ";
  for (; said < image.missing_count; said++) {
    if (image.missing[said].is_quiet) continue;
    if (*before != ' ') fprintf(stderr, "pm_run: %s: ", who);
    fprintf(stderr, "%s%s", before, image.missing[said].name);
    before = " ";
  }
  if (*before == ' ') fprintf(stderr, "\n");
}
static int mappings_allowed(void) {
  FILE *in = fopen("/proc/sys/vm/max_map_count", "r");
  int n = 65530;
  if (in && fscanf(in, "%d", &n) != 1) n = 65530;
  if (in) fclose(in);
  return n;
}
/* On a virtual machine each use of a page to which more than some 1,000 addresses lead was seen to cost microseconds, as where
   a hypervisor shadows page tables and keeps no longer lists: so text is in memory once for each group of so many
   copies. Not that of a large program: memory is dearer there. */
enum { SHARERS_MOST = 400, SHARED_TEXT_MOST_BYTES = 8 << 20 };
static bool shares_in_groups(void) {
  return copies > SHARERS_MOST && elf_text_bytes(&image) <= SHARED_TEXT_MOST_BYTES;
}
/* Text and data are two mappings of each file; a file with many parts takes one more. */
static int mappings_each(void) {
  int n = 0;
  for (int i = 0; i < image.object_count; i++)
    n += 2 - image.objects[i].is_fixed + (image.objects[i].header.e_phnum > 16);
  return n;
}
/* Where a process has an object's own address 0; a program at a fixed address: where it says. */
static char *base_of(const guest *g, const elf_object *o) {
  return o->is_fixed ? NULL : g->image + o->at;
}
/* Addresses that the program is told must be those that it compares them with: in its own code they stand as the
   linker wrote them. */
char *guest_address(const guest *g, size_t offset) {
  const elf_object *o = &image.objects[0];
  return o->is_fixed && offset - o->at - o->low < o->high - o->low ? (char *)(offset - o->at)
                                                                   : g->image + offset;
}
/* Programs may expect that their own variables lie below all memory that they ask for, as the kernel
   places them; and the same addresses in every run make runs the same. */
static char *reserve(size_t bytes) {
  /* A packed image is one mapping of text and data: it must be allowed both to be written and to
     run. */
  const int rights = PROT_READ | PROT_WRITE | (packed ? PROT_EXEC : 0);
  const int kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void *const low = (void *)((uintptr_t)1 << 44);
  void *at = mmap(low, bytes, rights, kind | MAP_FIXED_NOREPLACE, -1, 0);
  if (at != MAP_FAILED && at != low) munmap(at, bytes); /* kernels that do not know the flag */
  return at == low ? (char *)at : (char *)mmap(NULL, bytes, rights, kind, -1, 0);
}
/* --preload: their symbols come before all others, as with LD_PRELOAD. */
enum { PRELOADS_MAX = 16 };
static const char *preloads[PRELOADS_MAX + 1];
static void add_preload(const char *option, const char *path) {
  int n = 0;
  while (preloads[n]) n++;
  if (n == PRELOADS_MAX) guest_refuse("%s: more than %d libraries", option, PRELOADS_MAX);
  preloads[n] = path;
  if (!strchr(path, '/') && !guest_has_file(path, R_OK)) {
    elf_object search = {.run_path = NULL};
    preloads[n] = elf_library_path(&search, path);
  }
  if (!preloads[n] || access(preloads[n], R_OK) != 0)
    guest_refuse("%s: %s: not found", option, path);
}
static size_t offset_of(const char *name) { return elf_find(&image, name); }
/* Once: by the program, or by the first library of it that dlopen brings. */
static void tell_abi(void) {
  static bool is_told;
  if (!guest_abi_now() || is_told) return;
  is_told = 1;
  guest_abi_now()->bound(offset_of);
}
/* Their shadow memory lies at fixed addresses, where the memory of all processes is here. GCC's are libraries, known
   before their tables can be read; clang's are in the program. */
static void refuse_sanitizers(const char *path, bool is_bound) {
  static const char *const of[][3] = {{"libasan.so", "__asan_init", "Address"},
                                      {"libhwasan.so", "__hwasan_init", "HWAddress"},
                                      {"liblsan.so", "__lsan_init", "Leak"},
                                      {"libmsan.so", "__msan_init", "Memory"},
                                      {"libtsan.so", "__tsan_init", "Thread"}};
  for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
    bool is_there = is_bound && elf_find(&image, of[i][1]);
    for (int k = 0; k < image.object_count && !is_bound; k++)
      is_there = is_there || strncmp(image.objects[k].name, of[i][0], strlen(of[i][0])) == 0;
    if (is_there)
      guest_refuse("%s: made with %sSanitizer, which does not run here: make it without "
                   "(-fsanitize=undefined runs)",
                   path, of[i][2]);
  }
}
static char *program_path; /* found where pm_run was started */
const char *guest_program(void) { return program_path ? program_path : image.objects[0].path; }
void guest_load(const char *path, int processes) {
  char error[1024], *found = NULL;
  if (!strchr(path, '/') && !guest_has_file(path, R_OK)) {
    elf_object search = {.run_path = getenv("PATH")};
    found = elf_library_path(&search, path);
  }
  /* Read, laid out, mapped once as a pattern (image.base), bound there; copies are made of the
     pattern when processes begin. */
  if (!elf_read(&image, found ? found : path, preloads, error, sizeof error))
    guest_refuse("%s", error);
  free(found);
  refuse_sanitizers(path, false);
  program_path = realpath(image.objects[0].path, NULL);
  /* The room right below the thread pointer has a size that was fixed when pm_run was linked. */
  image.tls_align = image.tls_align ? image.tls_align : 16;
  if (image.tls_bytes && !tls_fits())
    guest_refuse(
        "%s: %zu bytes of thread-local variables aligned to %zu have no room here: %d bytes, "
        "aligned to 64 at most",
        path, image.tls_bytes, image.tls_align, TLS_ROOM);
  image.base = (char *)mmap(NULL, image.bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (image.base == MAP_FAILED || !elf_map_text(&image, image.base))
    guest_refuse("%s: %s", path, strerror(errno));
  if (image.objects[0].is_fixed) guest_fixed_load(&image, processes);
  if (!elf_bind(&image, error, sizeof error)) guest_refuse("%s", error);
  refuse_sanitizers(path, true);
  guest_counter_scan(&image);
  tls_most = image.tls_bytes;
  if (elf_calls_dlopen() && tls_fits() && tls_most + TLS_LATER <= TLS_ROOM) tls_most += TLS_LATER;
  if (!elf_find(&image, "main") && !image.objects[0].header.e_entry)
    guest_refuse("%s: has no main", path);
  say_missing(image.objects[0].name);
  find_variables();
  tell_abi();
  copies = processes;
  /* A quarter of the allowance: threads' stacks, libraries and the program's own mappings need the
     rest. */
  packed = mappings_each() * (double)processes > mappings_allowed() * 0.25
               ? 1 + processes / (mappings_allowed() / 4)
               : 0;
  if (packed && shares_in_groups() && packed <= copies / SHARERS_MOST)
    packed = 1 + copies / SHARERS_MOST;
  if (packed && image.objects[0].is_fixed)
    guest_refuse("%s: linked to a fixed address: at most %d processes here (vm.max_map_count); "
                 "link it with -pie",
                 path, (int)(mappings_allowed() * 0.25 / mappings_each()));
  region = reserve(image.bytes * (size_t)copies);
  if (region == MAP_FAILED)
    guest_refuse("%s: %d copies of %zu KiB of address space: %s", path, copies, image.bytes / 1024,
                 strerror(errno));
}
static bool is_zero(const char *page) {
  for (size_t i = 0; i < 4096; i += 8)
    if (memcmp(page + i, "\0\0\0\0\0\0\0", 8) != 0) return 0;
  return 1;
}
static void map_packed(void) {
  const int fd = memfd_create("pm_run image", MFD_CLOEXEC);
  const size_t each = image.bytes * (size_t)packed;
  bool is_good = fd >= 0;
  /* All copies in this file hold the addresses of image.base: guest_load_copy moves them after the
     mapping, which makes only the pages with addresses in them private. */
  for (int k = 0; is_good && k < packed; k++) { /* holes stay holes */
    for (size_t at = 0; is_good && at < image.bytes; at += 4096)
      if (!is_zero(image.base + at))
        is_good = pwrite(fd, image.base + at, 4096, (off_t)(image.bytes * (size_t)k + at)) == 4096;
  }
  is_good = is_good && ftruncate(fd, (off_t)each) == 0;
  for (int i = 0; is_good && i < copies; i += packed) {
    const int count = copies - i < packed ? copies - i : packed;
    is_good = mmap(region + image.bytes * (size_t)i, image.bytes * (size_t)count,
                   PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, fd,
                   0) != MAP_FAILED;
  }
  if (!is_good)
    guest_refuse("%d copies of %zu KiB: %s", copies, image.bytes / 1024, strerror(errno));
  close(fd);
}
/* Only what the files fill: the rest of what can be written is 0, and so is the region before
   anything is written there. */
static void copy_data(char *base) {
  for (int i = 0; i < image.object_count; i++) {
    const elf_object *o = &image.objects[i];
    for (int k = 0; k < o->header.e_phnum; k++) {
      const ElfW(Phdr) *p = &o->parts[k];
      if (p->p_type == PT_LOAD && p->p_flags & PF_W)
        memcpy(base + o->at + p->p_vaddr, image.base + o->at + p->p_vaddr, p->p_filesz);
    }
  }
  /* variables of libraries lie in the part that the file does not fill */
  for (int i = 0; i < image.copied_count; i++)
    memcpy(base + image.copied[i].at, image.base + image.copied[i].at, image.copied[i].bytes);
}
char *guest_load_copy(int rank) {
  char *base = region + image.bytes * (size_t)rank;
  const ptrdiff_t distance = base - image.base;
  if (packed && rank == 0) map_packed();
  /* Every process's own mappings: text from the files, data from the pattern. In a packed image
     both are there already. */
  if (!packed) {
    if (rank && rank % SHARERS_MOST == 0 && shares_in_groups()) elf_text_again(&image);
    if (!elf_map_text(&image, base) || (image.objects[0].is_fixed && !guest_fixed_copy(rank, base)))
      guest_refuse("process %d: %s", rank, strerror(errno));
    copy_data(base);
    if (rank + 1 == copies) elf_text_close(&image);
  }
  /* Addresses were written for image.base: each word that holds one is told the distance. Words are
     numbered in fours of bytes, so that 32 bits reach over 16 GiB. */
  for (size_t i = 0; i < image.moved_count; i++) {
    char *word;
    memcpy(&word, image.base + 4 * (size_t)image.moved[i], sizeof word);
    word += distance;
    memcpy(base + 4 * (size_t)image.moved[i], &word, sizeof word);
  }
  return base;
}

/* ---- a process runs ----------------------------------------------------------------------------------------- */
typedef void initialiser(int argc, char **argv, char **envp);
/* 0 and -1 end such tables in the oldest compilers' files: neither is called. */
static void call_all(guest *g, const elf_object *o, int64_t table, int64_t bytes_tag) {
  const size_t count = elf_dynamic(o, table) ? elf_dynamic(o, bytes_tag) / sizeof(void *) : 0;
  for (size_t i = 0; i < count; i++) {
    initialiser *fn;
    memcpy(&fn, g->image + o->at + elf_dynamic(o, table) + i * sizeof fn, sizeof fn);
    if ((uintptr_t)fn + 1 > 1) fn(g->argc, g->argv, *(char ***)guest_variable_at(g, GUEST_ENVIRON));
  }
}
static void call_one(guest *g, const elf_object *o, int64_t tag) {
  initialiser *fn;
  char *address = (char *)((uintptr_t)base_of(g, o) + elf_dynamic(o, tag));
  memcpy(&fn, &address, sizeof fn);
  if (elf_dynamic(o, tag)) fn(g->argc, g->argv, *(char ***)guest_variable_at(g, GUEST_ENVIRON));
}
static void run_constructors(guest *g) {
  call_all(g, &image.objects[0], DT_PREINIT_ARRAY, DT_PREINIT_ARRAYSZ);
  for (int i = 0; i < image.object_count; i++) { /* what is needed, before who needs it */
    call_one(g, &image.objects[image.order[i]], DT_INIT);
    call_all(g, &image.objects[image.order[i]], DT_INIT_ARRAY, DT_INIT_ARRAYSZ);
  }
}
static void run_destructors_of(guest *g, const elf_object *o) {
  const size_t count =
      elf_dynamic(o, DT_FINI_ARRAY) ? elf_dynamic(o, DT_FINI_ARRAYSZ) / sizeof(void *) : 0;
  for (size_t k = count; k-- > 0;) {
    void (*fn)(void);
    memcpy(&fn, g->image + o->at + elf_dynamic(o, DT_FINI_ARRAY) + k * sizeof fn, sizeof fn);
    if ((uintptr_t)fn + 1 > 1) fn();
  }
  call_one(g, o, DT_FINI);
}
/* The program's, then of what it opened, then of its libraries: who needs something before what is needed. */
void guest_run_destructors(guest *g) {
  run_destructors_of(g, &image.objects[0]);
  plugins_end();
  for (int i = image.object_count - 1; i >= 0; i--)
    if (image.order[i]) run_destructors_of(g, &image.objects[image.order[i]]);
}
typedef int main_function(int argc, char **argv, char **envp);
/* What an executable's first instructions call: the process begins there, on the stack that start()
   made, and libc's own is never reached, since it would set up again what the launcher has. */
static int libc_start_main(main_function *entry, int argc, char **argv) {
  guest *g = guest_now();
  g->argv = argv;
  /* In each process anew: constructors may look at argc, argv and environ, and at what a library
     made before them. */
  run_constructors(g);
  guest_exit(entry(argc, argv, *(char ***)guest_variable_at(g, GUEST_ENVIRON)));
}
/* The stack as the kernel hands it to a new program: texts, then argc, argv, environ, auxv. The
   second register is 0 (no function to be called at exit) and so is the frame pointer, where walks
   over the stack end. */
__attribute__((noreturn)) static void start(const guest *g, char *entry, char **envp) {
  size_t words = 1 + (size_t)g->argc + 1 + 1 + 8;
  for (char **e = envp; *e; e++) words++;
  /* Both ABIs want the stack at a multiple of 16 bytes when a program begins. */
  words = (words + 1) / 2 * 2;
  uintptr_t *const stack = (uintptr_t *)__builtin_alloca_with_align(words * sizeof *stack, 128),
                   *at = stack;
  *at++ = (uintptr_t)g->argc;
  for (int i = 0; i <= g->argc; i++) *at++ = (uintptr_t)g->argv[i];
  for (; *envp; envp++) *at++ = (uintptr_t)*envp;
  *at++ = 0;
  *at++ = AT_PAGESZ, *at++ = (uintptr_t)getpagesize();
  *at++ = AT_NULL, *at++ = 0;
#if defined(__x86_64__)
  __asm__ volatile("movq %0, %%rsp\n\txorl %%edx, %%edx\n\txorl %%ebp, %%ebp\n\tjmpq *%1"
                   :
                   : "a"(stack), "c"(entry)
                   : "rdx", "memory");
#else
  __asm__ volatile("mov sp, %0\n\tmov x0, #0\n\tmov x29, #0\n\tmov x30, #0\n\tbr %1"
                   :
                   : "r"(stack), "r"(entry)
                   : "memory", "x0", "x30");
#endif
  __builtin_unreachable();
}
void guest_enter(guest *g) {
  const size_t main_at = elf_find(&image, "main");
  char **envp = *(char ***)guest_variable_at(g, GUEST_ENVIRON);
  main_function *entry;
  const elf_object *o = &image.objects[0];
  /* A program names an interpreter and begins at its entry, with a stack as the kernel makes it; a
     shared object has only main. */
  bool is_program = false;
  for (int k = 0; k < o->header.e_phnum; k++) is_program |= o->parts[k].p_type == PT_INTERP;
  if (is_program && o->header.e_entry)
    start(g, (char *)((uintptr_t)base_of(g, o) + o->header.e_entry), envp);
  char *address = g->image + main_at;
  memcpy(&entry, &address, sizeof entry);
  libc_start_main(entry, g->argc, g->argv);
  __builtin_unreachable();
}

/* ---- whose address is this ----------------------------------------------------------------------------------- */
/* Copies lie one after the other, so an address tells its process by a division, and its file by
   what is left. */
bool guest_is_own_code(const void *address) {
  const guest *g = guest_now();
  const size_t x = g ? (size_t)((const char *)address - g->image) : image.bytes;
  if (x >= image.bytes) return 0;
  for (int i = 0; i < image.object_count; i++) {
    const elf_object *o = &image.objects[i];
    for (int k = 0; k < o->header.e_phnum; k++) {
      const ElfW(Phdr) *p = &o->parts[k];
      if (p->p_type == PT_LOAD && p->p_flags & PF_X && x - o->at - p->p_vaddr < p->p_memsz)
        return 1;
    }
  }
  return 0;
}
static const elf_object *object_of(const void *address, char **base) {
  const char *a = (const char *)address;
  if (guest_is_fixed(address)) return *base = NULL, &image.objects[0];
  if (!region || a < region || a >= region + image.bytes * (size_t)copies)
    return plugin_object_at(address, base);
  const size_t x = (size_t)(a - region) % image.bytes;
  for (int i = 0; i < image.object_count; i++) {
    const elf_object *o = &image.objects[i];
    if (x - o->at - o->low >= o->high - o->low) continue;
    *base = region + (size_t)(a - region) / image.bytes * image.bytes + o->at;
    return o;
  }
  return NULL;
}
bool guest_is_its(const void *address) {
  char *unused;
  return object_of(address, &unused) != NULL;
}
void *guest_symbol(const guest *g, const char *name) {
  const size_t at = elf_find(&image, name);
  return at ? guest_address(g, at) : NULL;
}
/* Functions in the file's table of symbols, which strip removes, else in those it offers to others: calls
   seen until it returns 1. */
typedef bool function_seen(void *arg, const char *name, const ElfW(Sym) * function);
static int functions_in(const elf_object *o, uint32_t kind, function_seen *seen, void *arg) {
  const int fd = o->fd < 0 ? open(o->path, O_RDONLY | O_CLOEXEC) : o->fd;
  const ElfW(Ehdr) *h = &o->header;
  ElfW(Shdr) *sections = (ElfW(Shdr) *)calloc(h->e_shnum + 1u, sizeof *sections);
  const bool is_good = sections && h->e_shentsize == sizeof *sections &&
                       pread(fd, sections, h->e_shnum * sizeof *sections, (off_t)h->e_shoff) >= 0;
  bool is_found = false;
  for (int i = 0; is_good && i < h->e_shnum && !is_found; i++) {
    if (sections[i].sh_type != kind || sections[i].sh_link >= h->e_shnum) continue;
    const ElfW(Shdr) *texts = &sections[sections[i].sh_link];
    ElfW(Sym) *symbols = (ElfW(Sym) *)malloc(sections[i].sh_size + 1);
    char *text = (char *)calloc(1, texts->sh_size + 1);
    if (symbols && text &&
        pread(fd, symbols, sections[i].sh_size, (off_t)sections[i].sh_offset) ==
            (ssize_t)sections[i].sh_size &&
        pread(fd, text, texts->sh_size, (off_t)texts->sh_offset) == (ssize_t)texts->sh_size)
      for (size_t k = 0; k < sections[i].sh_size / sizeof *symbols && !is_found; k++)
        if (ELF64_ST_TYPE(symbols[k].st_info) == STT_FUNC && symbols[k].st_shndx != SHN_UNDEF &&
            symbols[k].st_name < texts->sh_size)
          is_found = seen(arg, text + symbols[k].st_name, &symbols[k]);
    free(symbols);
    free(text);
  }
  free(sections);
  if (fd >= 0 && fd != o->fd) close(fd);
  return is_found;
}

/* ---- what programs ask the dynamic linker ---------------------------------------------------------------------- */
/* What the program was linked with, and what was preloaded, is there already: the process's own. What dlopen loads
   beside that is the process's own too (plugins.c), but for libc and what belongs to it. */
static char program_handle; /* what dlopen(NULL) gives */
static char mpi_handle;     /* ... of a library of MPI */
static void *in_process(const guest *g, const elf_object *o, const char *name) {
  const ElfW(Sym) *s = elf_symbol(o, name);
  if (!s) return NULL;
  /* (Of the process that runs now: its thread-local variables are in their place while it runs.) */
  if (ELF64_ST_TYPE(s->st_info) == STT_TLS)
    return tls_block() + image.tls_bytes - o->tls_at + s->st_value;
  char *address = (char *)((uintptr_t)base_of(g, o) + s->st_value);
  if (ELF64_ST_TYPE(s->st_info) != STT_GNU_IFUNC) return address;
  /* A function whose form is chosen at run time (IFUNC): its address is what this function says. */
  void *(*resolve)(void);
  memcpy(&resolve, &address, sizeof resolve);
  return resolve();
}
/* In the order in which the program was bound: what was preloaded and the program itself, the
   variables of the process, what the launcher puts in the place of libc's functions, the libraries,
   libc. first: what stands before is not asked, which is RTLD_NEXT. */
static void *find_symbol(const guest *g, const char *name, int first) {
  void *found = NULL;
  for (int i = first; i < image.object_count && !found; i++)
    if (i == 0 || image.objects[i].is_preloaded) found = in_process(g, &image.objects[i], name);
  for (int k = 0; k < GUEST_VARIABLES && !found; k++)
    if (variable_names[k] && strcmp(variable_names[k], name) == 0)
      found = guest_variable_at(g, (enum guest_variable)k);
  const elf_object *const wrapper = found ? NULL : elf_wrapper(&image, name, first ? first : 1);
  if (wrapper) found = in_process(g, wrapper, name);
  if (!found) found = elf_replaced(name);
  for (int i = first; i < image.object_count && !found; i++)
    found = in_process(g, &image.objects[i], name);
  if (!found) found = plugin_global_symbol(NULL, name);
  return found || elf_is_nowhere(name) ? found : dlsym(RTLD_DEFAULT, name);
}
static const elf_object *opened(
    const void *handle) { /* NULL: not of what the program was linked with */
  for (int i = 0; i < image.object_count; i++)
    if (handle == &image.objects[i]) return &image.objects[i];
  return NULL;
}
/* What the host's dlerror says is of this process from now on: another one may ask first. */
static void *noted(void *found) {
  const char *text = guest_now() ? dlerror() : NULL;
  if (text && !found)
    plugin_fail("%s", text);
  else if (guest_now())
    plugin_error(); /* as dlerror has it: of the last call */
  return found;
}
/* Behind the caller's own library. */
static void *find_next(const guest *g, const elf_object *caller, const char *name) {
  void *found = NULL;
  const elf_object *mine = opened(caller);
  if (mine || !caller) return find_symbol(g, name, mine ? (int)(mine - image.objects) + 1 : 0);
  found = plugin_global_symbol(caller, name);
  if (!found) found = elf_replaced(name);
  return found || elf_is_nowhere(name) ? found : dlsym(RTLD_DEFAULT, name);
}
/* Called by the program: the caller's address tells which file asks, which RTLD_NEXT needs. Handles
   of files that the host's dlopen loaded are libc's business. */
static void *find_for(const void *caller, void *handle, const char *name) {
  char *base;
  void *found = NULL;
  const guest *g = guest_now();
  const elf_object *const of_handle = opened(handle);
  const bool is_plugin = g && !of_handle && plugin_base(handle);
  if (handle == &mpi_handle && (found = elf_replaced(name)) != NULL) return noted(found);
  if (g && (of_handle || is_plugin)) {
    found = of_handle ? in_process(g, of_handle, name) : plugin_symbol(handle, name);
    return noted(found ? found : find_symbol(g, name, 0)); /* of what it was linked with */
  }
  if (!g || (handle != RTLD_DEFAULT && handle != RTLD_NEXT && handle != &program_handle &&
             handle != &mpi_handle))
    return noted(dlsym(handle, name));
  return noted(handle == RTLD_NEXT ? find_next(g, object_of(caller, &base), name)
                                   : find_symbol(g, name, 0));
}
static void *guest_dlsym(void *handle, const char *name) {
  return find_for(__builtin_return_address(0), handle, name);
}
static void *guest_dlvsym(void *handle, const char *name, const char *version) {
  (void)version;
  return find_for(__builtin_return_address(0), handle, name);
}
/* A library of MPI is opened. Its name says which ABI it has; "libmpi.so", a link that packages for developers bring, is
   the one that the program has, as no process can have two, or the one that its file leads to. */
static void *open_mpi(const elf_object *who, const char *path, const char *name) {
  const bool is_any = strcmp(name, "libmpi.so") == 0;
  if (is_any && elf_has_mpi()) return &mpi_handle;
  char error[256], *const found = is_any ? elf_library_path(who, path) : NULL,
                          *const file = found ? realpath(found, NULL) : NULL,
                          *const slash = file ? strrchr(file, '/') : NULL;
  const bool is_good = elf_note_mpi(path, slash ? slash + 1 : name, error, sizeof error);
  free(found);
  free(file);
  if (!is_good) return plugin_fail("%s", error);
  tell_abi();
  return &mpi_handle;
}
static void *open_for(const void *caller, const char *path, int mode) {
  const guest *g = guest_now();
  char *unused;
  if (!path || !*path) return &program_handle;
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  const enum elf_place place = elf_place_of(name);
  struct stat file;
  const bool is_file = slash && stat(path, &file) == 0;
  for (int i = 1; i < image.object_count; i++) {
    const elf_object *o = &image.objects[i];
    if (slash ? is_file && o->device == file.st_dev && o->inode == file.st_ino
              : elf_answers_to(o, path))
      return &image.objects[i];
  }
  if (!g || place == ELF_SHARED) return noted(dlopen(path, mode));
  const elf_object *who = object_of(caller, &unused);
  if (!who) who = &image.objects[0];
  if (place == ELF_LAUNCHER) return open_mpi(who, path, name);
  void *const found = plugin_open(&image, g->image, who, path, mode);
  tell_abi();
  say_missing(path);
  return found;
}
static void *guest_dlopen(const char *path, int mode) {
  return open_for(__builtin_return_address(0), path, mode);
}
/* Names apart from all others: there is one set of names in a process. */
static void *guest_dlmopen(Lmid_t names, const char *path, int mode) {
  if (names == LM_ID_BASE) return open_for(__builtin_return_address(0), path, mode);
  return guest_now() ? plugin_fail("%s: dlmopen: no other namespaces here", path)
                     : dlmopen(names, path, mode);
}
static bool is_ours(const void *handle) {
  return handle == &program_handle || handle == &mpi_handle || opened(handle) ||
         plugin_base(handle);
}
static int guest_dlclose(void *handle) { return is_ours(handle) ? 0 : dlclose(handle); }
/* As dlinfo and dladdr1 give it, kept as long as the process: made when somebody asks, the program's with all that it
   was linked with, so that who follows the list finds these. */
typedef struct known_map {
  struct link_map map; /* l_next and l_prev are other known_maps */
  const elf_object *object;
} known_map;
typedef struct state { /* of a process */
  known_map *first, *last;
} state;
static state *state_now(void);
static void map_add(state *s, const elf_object *o, char *base) {
  known_map *const m = (known_map *)calloc(1, sizeof *m);
  if (!m) guest_refuse("out of memory");
  m->object = o;
  m->map.l_addr = (ElfW(Addr))base;
  m->map.l_name = o == &image.objects[0] ? (char *)(uintptr_t) "" : o->path;
  for (int k = 0; k < o->header.e_phnum; k++)
    if (o->parts[k].p_type == PT_DYNAMIC)
      m->map.l_ld = (ElfW(Dyn) *)(void *)(base + o->parts[k].p_vaddr);
  m->map.l_prev = s->last ? &s->last->map : NULL;
  if (s->last)
    s->last->map.l_next = &m->map;
  else
    s->first = m;
  s->last = m;
}
static struct link_map *map_of(const elf_object *o, char *base) {
  state *const s = state_now();
  const bool is_first = !s->first;
  for (int i = 0; i < image.object_count && is_first; i++)
    map_add(s, &image.objects[i], base_of(guest_now(), &image.objects[i]));
  known_map *m = s->first;
  while (m && m->object != o) m = (known_map *)(void *)m->map.l_next;
  if (!m) map_add(s, o, base);
  return m ? &m->map : &s->last->map;
}
/* The folder of a file, from / on. */
static void folder_of(const char *path, char *folder) {
  char whole[PATH_MAX];
  if (*path != '/' && realpath(path, whole)) path = whole;
  const char *const slash = strrchr(path, '/');
  const size_t bytes = !slash ? 0 : slash > path ? (size_t)(slash - path) : 1;
  memcpy(folder, path, bytes);
  folder[bytes] = 0;
}
/* libc would take the handle for its own record of the library, and read beyond it. */
static int guest_dlinfo(void *handle, int request, void *info) {
  if (!is_ours(handle)) return noted(dlinfo(handle, request, info) ? NULL : info) ? 0 : -1;
  const elf_object *const o = handle == &program_handle || handle == &mpi_handle
                                  ? &image.objects[0]
                                  : (const elf_object *)handle;
  if (request == RTLD_DI_LINKMAP)
    *(struct link_map **)info = map_of(o, plugin_base(handle));
  else if (request == RTLD_DI_LMID)
    *(Lmid_t *)info = LM_ID_BASE;
  else if (request == RTLD_DI_ORIGIN)
    folder_of(o->path, (char *)info);
  else
    return plugin_fail("dlinfo: request %d: not for this library here", request), -1;
  return 0;
}
static char *guest_dlerror(void) { return guest_now() ? plugin_error() : dlerror(); }
/* The function around an address, of those that the file offers to others, as libc has it. */
static bool is_symbol_around(void *arg, const char *name, const ElfW(Sym) * function) {
  ElfW(Sym) *found = (ElfW(Sym) *)arg;
  (void)name;
  if (found->st_value - function->st_value >= (function->st_size ? function->st_size : 1)) return 0;
  *found = *function;
  return 1;
}
int guest_dladdr(const void *address, Dl_info *info) {
  char *base;
  const elf_object *o = object_of(address, &base);
  if (!o) return dladdr(address, info);
  memset(info, 0, sizeof *info);
  info->dli_fname = o->path;
  info->dli_fbase = base + o->low;
  ElfW(Sym) around = {.st_value = (ElfW(Addr))((const char *)address - base)};
  if (!functions_in(o, SHT_DYNSYM, is_symbol_around, &around)) return 1;
  info->dli_sname = o->strings + around.st_name;
  info->dli_saddr = base + around.st_value;
  return 1;
}
const char *guest_file_of(const void *address, uintptr_t *begin, bool *is_between) {
  static Dl_info self;
  Dl_info info;
  char *base;
  const elf_object *o = object_of(address, &base);
  if (o) {
    *begin = (uintptr_t)base;
    *is_between = o->is_preloaded;
    return o == &image.objects[0] ? guest_program() : o->path;
  }
  if (!self.dli_fbase) dladdr((void *)(uintptr_t)&image, &self);
  if (!dladdr(address, &info)) return NULL;
  *begin = (uintptr_t)info.dli_fbase;
  *is_between = info.dli_fbase == self.dli_fbase;
  return info.dli_fname;
}
/* Who looks for all variables (a collector of garbage) finds them in the process's copies; behind them comes what all
   share: libc. */
typedef struct told {
  int (*fn)(struct dl_phdr_info *info, size_t bytes, void *arg);
  void *arg;
  unsigned long long count;
} told;
static int tell_object(const elf_object *o, char *base, void *arg) {
  const told *t = (const told *)arg;
  struct dl_phdr_info info = {.dlpi_addr = (ElfW(Addr))base,
                              .dlpi_name = o == &image.objects[0] ? "" : o->path,
                              .dlpi_phdr = o->parts,
                              .dlpi_phnum = o->header.e_phnum,
                              .dlpi_adds = t->count};
  return t->fn(&info, sizeof info, t->arg);
}
/* Callers that keep what they found ask again when this count has changed. */
static int count_object(const elf_object *o, char *base, void *arg) {
  (void)o, (void)base;
  return ((told *)arg)->count++, 0;
}
/* The launcher's other libraries are not the program's: who looked for its own C++ library would find two. */
static int tell_shared(struct dl_phdr_info *info, size_t bytes, void *arg) {
  told *t = (told *)arg;
  const char *slash = strrchr(info->dlpi_name, '/');
  const char *const name = slash ? slash + 1 : info->dlpi_name;
  return elf_place_of(name) == ELF_SHARED ? t->fn(info, bytes, t->arg) : 0;
}
static int guest_iterate(int (*fn)(struct dl_phdr_info *, size_t, void *), void *arg) {
  const guest *g = guest_now();
  told t = {fn, arg, (unsigned long long)image.object_count};
  int code = 0;
  if (!g) return dl_iterate_phdr(fn, arg);
  plugins_each(count_object, &t);
  for (int i = 0; i < image.object_count && !code; i++)
    code = tell_object(&image.objects[i], base_of(g, &image.objects[i]), &t);
  if (!code) code = plugins_each(tell_object, &t);
  return code ? code : dl_iterate_phdr(tell_shared, &t);
}
static int guest_dladdr1(const void *address, Dl_info *info, void **extra, int flags) {
  char *base;
  const elf_object *o = object_of(address, &base);
  if (!o) return dladdr1(address, info, extra, flags);
  guest_dladdr(address, info);
  *extra = flags == RTLD_DL_LINKMAP ? map_of(o, base) : NULL;
  return flags == RTLD_DL_LINKMAP;
}
#if __GLIBC_PREREQ(2, 35)
/* The unwinder of C++ asks for the tables of a function here; libc does not know our copies. */
#  pragma GCC visibility push(default)
int _dl_find_object(void *address, struct dl_find_object *result) {
  static int (*real)(void *, struct dl_find_object *);
  char *base;
  const elf_object *o = object_of(address, &base);
  if (!o) {
    if (!real) *(void **)(void *)&real = dlsym(RTLD_NEXT, "_dl_find_object");
    return real ? real(address, result) : -1;
  }
  memset(result, 0, sizeof *result);
  result->dlfo_map_start = base + o->low;
  result->dlfo_map_end = base + o->high;
  for (int k = 0; k < o->header.e_phnum; k++)
    if (o->parts[k].p_type == PT_GNU_EH_FRAME) result->dlfo_eh_frame = base + o->parts[k].p_vaddr;
  return result->dlfo_eh_frame ? 0 : -1;
}
#  pragma GCC visibility pop
#endif

/* ---- functions of the program that are not run ----------------------------------------------------------------- */
typedef struct wanted {
  const char *name;
  size_t at, bytes, next; /* next: where the function behind it begins */
  char found[96];
} wanted;
static bool has_name(void *arg, const char *name, const ElfW(Sym) * function) {
  wanted *w = (wanted *)arg;
  if (strcmp(name, w->name) != 0) return 0;
  w->at = function->st_value;
  w->bytes = function->st_size;
  return 1;
}
/* Compilers add a point and a word to what they made of a function (foo.isra.0), Fortran's an underscore to its name. */
static bool is_like(void *arg, const char *name, const ElfW(Sym) * function) {
  wanted *w = (wanted *)arg;
  const size_t bytes = strlen(w->name);
  (void)function;
  if (strncmp(name, w->name, bytes) != 0 || (name[bytes] != '.' && strcmp(name + bytes, "_") != 0))
    return 0;
  snprintf(w->found, sizeof w->found, "%s", name);
  return 1;
}
/* Looks at all: the table is in no order. */
static bool is_next(void *arg, const char *name, const ElfW(Sym) * function) {
  wanted *w = (wanted *)arg;
  (void)name;
  if (function->st_value > w->at && function->st_value < w->next) w->next = function->st_value;
  return 0;
}
static bool is_around(void *arg, const char *name, const ElfW(Sym) * function) {
  wanted *w = (wanted *)arg;
  if (w->at - function->st_value >= (function->st_size ? function->st_size : 1)) return 0;
  snprintf(w->found, sizeof w->found, "%s", name);
  w->at -= function->st_value;
  return 1;
}
int guest_describe_address(const void *address, char *text, size_t text_bytes) {
  char *base;
  const elf_object *o = object_of(address, &base);
  if (!o) return 0;
  wanted w = {.at = (size_t)((const char *)address - base)};
  if (functions_in(o, SHT_SYMTAB, is_around, &w) || functions_in(o, SHT_DYNSYM, is_around, &w))
    snprintf(text, text_bytes, "%s+0x%zx of %s", w.found, w.at, o->name);
  else
    snprintf(text, text_bytes, "%s+0x%zx", o->name, w.at);
  return 1;
}
bool guest_library_has(const char *name, char *like, size_t like_bytes) {
  wanted w = {.name = name, .found = ""};
  functions_in(&image.objects[0], SHT_SYMTAB, is_like, &w);
  snprintf(like, like_bytes, "%s", w.found);
  for (int i = 1; i < image.object_count; i++)
    if (elf_symbol(&image.objects[i], name)) return true;
  return false;
}
/* Bytes of an instruction that compilers and linkers put between functions: int3, nop in its lengths. 0: another one */
static size_t padding_bytes(const unsigned char *code) {
  size_t n = 0;
  while (code[n] == 0x66 || code[n] == 0x2E) n++;
  if (code[n] == 0x90 || (n == 0 && *code == 0xCC)) return n + 1;
  if (code[n] != 0x0F || code[n + 1] != 0x1F) return 0;
  const int mod = code[n + 2] >> 6, has_scale = (code[n + 2] & 7) == 4;
  return n + 3 + (size_t)has_scale + (mod == 1 ? 1 : mod == 2 ? 4 : 0);
}
/* What may be written over: the function, and what fills the gap to the next one. Who has no table of symbols may have
   functions there that nobody names; those do not look like a gap. One written in assembler may say no length. */
static size_t room_of(const wanted *w, const unsigned char *code) {
  size_t room = w->bytes, more;
  if (!room) return w->next - w->at;
  while (room < GUEST_PATCH_BYTES && (more = padding_bytes(code + room)) != 0 &&
         room + more <= w->next - w->at)
    room += more;
  return room;
}
/* Written into each copy through /proc/self/mem, since text is mapped without the right to
   write. */
int guest_patch_function(const char *name, const void *const *target, guest_patch *patch) {
  const elf_object *o = &image.objects[0];
  wanted w = {.name = name, .next = o->high};
  unsigned char code[GUEST_PATCH_BYTES] = {0xFF, 0x24, 0x25}; /* jmp *target */
  const uint32_t low = (uint32_t)(uintptr_t)target;
  const uint32_t table = functions_in(o, SHT_SYMTAB, has_name, &w) ? SHT_SYMTAB : SHT_DYNSYM;
  if (table == SHT_DYNSYM && !functions_in(o, SHT_DYNSYM, has_name, &w)) return 0;
  functions_in(o, table, is_next, &w);
  patch->at = o->at + w.at;
  const unsigned char *was = (const unsigned char *)guest_address(guest_at(0), patch->at);
  patch->room_bytes = room_of(&w, was);
  if (patch->room_bytes < sizeof code) return -1;
  const int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
  if (fd < 0) guest_refuse("%s: /proc/self/mem: %s", name, strerror(errno));
  patch->written = guest_writes(was, w.bytes);
  memcpy(code + 3, &low, sizeof low);
  memcpy(patch->was, was, sizeof patch->was);
  memcpy(patch->is, code, sizeof patch->is);
  for (int rank = 0; rank < copies; rank++)
    if (pwrite(fd, code, sizeof code, (off_t)(uintptr_t)guest_address(guest_at(rank), patch->at)) !=
        (ssize_t)sizeof code)
      guest_refuse("%s: %s", name, strerror(errno));
  close(fd);
  return 1;
}
void *guest_patch_set(const guest_patch *patch, bool is_there) {
  char *const address = guest_address(guest_now(), patch->at);
  const int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
  if (fd < 0 || pwrite(fd, is_there ? patch->is : patch->was, GUEST_PATCH_BYTES,
                       (off_t)(uintptr_t)address) != GUEST_PATCH_BYTES)
    guest_refuse("a function that is measured: %s", strerror(errno));
  close(fd);
  return address;
}
void *guest_library_function(const guest *g, const char *name) {
  void *found = NULL;
  for (int i = 1; i < image.object_count && !found; i++)
    found = in_process(g, &image.objects[i], name);
  return found;
}

static const guest_option options[] = {
    {"--preload", "LIBRARY",
     "a library that comes before all others in every process: a tool that wraps MPI (PMPI) ...",
     add_preload},
    {NULL, NULL, NULL, NULL}};
static guest_part part = {.name = "loader", .state_bytes = sizeof(state), .options = options};
static state *state_now(void) { return (state *)guest_state(&part); }
__attribute__((constructor)) static void add(void) {
  guest_part_add(&part);
  GUEST_REPLACE("__libc_start_main", libc_start_main);
  GUEST_REPLACE("dlsym", guest_dlsym);
  GUEST_REPLACE("dlvsym", guest_dlvsym);
  GUEST_REPLACE("dlopen", guest_dlopen);
  GUEST_REPLACE("dlmopen", guest_dlmopen);
  GUEST_REPLACE("dlclose", guest_dlclose);
  GUEST_REPLACE("dlinfo", guest_dlinfo);
  GUEST_REPLACE("dlerror", guest_dlerror);
  GUEST_REPLACE("dladdr", guest_dladdr);
  GUEST_REPLACE("dl_iterate_phdr", guest_iterate);
  GUEST_REPLACE("dladdr1", guest_dladdr1);
}
