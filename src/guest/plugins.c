/* What a process loads by dlopen: the process's own, like the program. Bound when it is loaded, in each process
   anew and to the addresses of that process; so it takes longer than the program's copies, and some mappings per file.
   A library is looked for in the program, the launcher, the program's libraries, what was loaded for all (RTLD_GLOBAL),
   and what it needs itself. Nothing is unloaded before the process ends. A handle is the record of a library. */
#include "guest.h"
#include "image.h"
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct plugin plugin;
struct plugin { /* what one dlopen brought: the library, and what it needs and was not there */
  elf_image image;
  /* Of its image: all that were loaded before it and are global or needed */
  const elf_image **others;
  bool is_global, has_begun;
  const pm_thread *begins; /* the thread that runs its constructors; NULL: they have run */
  plugin *next, *before;
};
typedef struct state { /* of a process */
  plugin *first, *last, *loading;
  elf_image program; /* the program's image, at the place where this process has it */
  char error[768];
  bool has_error;
} state;
static guest_part part = {.name = "plugins", .state_bytes = sizeof(state)};
static state *now(void) { return guest_now() ? (state *)guest_state(&part) : NULL; }

void *plugin_fail(const char *format, ...) {
  state *s = now();
  va_list args;
  va_start(args, format);
  vsnprintf(s->error, sizeof s->error, format, args);
  va_end(args);
  s->has_error = 1;
  return NULL;
}
char *plugin_error(void) {
  state *s = now();
  if (!s->has_error) return NULL;
  s->has_error = 0;
  return s->error;
}
/* ret the dlopen that brought it */
static plugin *plugin_of(const void *handle) {
  const state *s = now();
  for (plugin *p = s ? s->first : NULL; p; p = p->next)
    for (int i = 0; i < p->image.object_count; i++)
      if (handle == &p->image.objects[i]) return p;
  return NULL;
}
char *plugin_base(const void *handle) {
  const plugin *const p = plugin_of(handle);
  return p ? p->image.base + ((const elf_object *)handle)->at : NULL;
}
static void others_add(plugin *p, const elf_image *other) {
  for (int i = 0; i < p->image.other_count; i++)
    if (p->others[i] == other) return;
  const elf_image **more = (const elf_image **)realloc(
      (void *)p->others, ((size_t)p->image.other_count + 1) * sizeof *more);
  if (!more) guest_refuse("out of memory");
  p->others = more;
  more[p->image.other_count++] = other;
  p->image.others = more;
}
/* A library that the one which is being loaded needs: another dlopen may have brought it. */
static bool is_there(const char *name) {
  const state *s = now();
  for (const plugin *p = s->first; p; p = p->next)
    for (int i = 0; i < p->image.object_count; i++) {
      if (!elf_answers_to(&p->image.objects[i], name)) continue;
      others_add(s->loading, &p->image);
      for (int k = 0; k < p->image.other_count; k++) others_add(s->loading, p->others[k]);
      return 1;
    }
  return 0;
}
/* Thread-local variables: a place below the thread pointer, with their first values for the thread that runs. */
static int place_variables(elf_image *image, char *error, size_t bytes) {
  for (int i = 0; i < image->object_count; i++) {
    elf_object *o = &image->objects[i];
    for (int k = 0; k < o->header.e_phnum; k++) {
      const ElfW(Phdr) *t = &o->parts[k];
      if (t->p_type != PT_TLS || !t->p_memsz) continue;
      o->tls_at = elf_tls_room(o->path, t->p_memsz, t->p_align ? t->p_align : 1);
      o->tls_bytes = t->p_memsz;
      if (o->tls_at) continue;
      snprintf(error, bytes, "%s: no room for %zu bytes of thread-local variables", o->path,
               (size_t)t->p_memsz);
      return 0;
    }
  }
  return 1;
}
/* block_end: the thread pointer, or where it would be behind a block of a thread that does not run. */
static void first_values(const elf_image *image, char *block_end, guest_tls_wrote *wrote) {
  for (int i = 0; i < image->object_count; i++) {
    const elf_object *o = &image->objects[i];
    for (int k = 0; k < o->header.e_phnum; k++) {
      const ElfW(Phdr) *t = &o->parts[k];
      if (t->p_type != PT_TLS || !t->p_memsz) continue;
      memset(block_end - o->tls_at, 0, t->p_memsz);
      memcpy(block_end - o->tls_at, image->base + o->at + t->p_vaddr, t->p_filesz);
      if (wrote) wrote(block_end, o->tls_at, t->p_memsz);
    }
  }
}
void plugins_tls_first(const guest *g, char *block_end, guest_tls_wrote *wrote) {
  const state *s = (const state *)guest_state_of(g, &part);
  for (const plugin *p = s->first; p; p = p->next) first_values(&p->image, block_end, wrote);
}
/* Of all threads that the process has. */
static void first_values_of_all(const elf_image *image) {
  const guest *g = guest_now();
  for (const guest_context *c = &g->first; c; c = c->next) {
    char *const end = c == guest_context_now() ? elf_tls_at(0) : c->tls + guest_tls_most();
    first_values(image, end, NULL);
    guest_tls_compare(end);
  }
}
typedef void function(int argc, char **argv, char **envp);
static void call(const char *address) {
  const guest *g = guest_now();
  function *fn;
  memcpy(&fn, &address, sizeof fn);
  if ((uintptr_t)fn + 1 > 1) fn(g->argc, g->argv, *(char ***)guest_variable_at(g, GUEST_ENVIRON));
}
static void call_table(const elf_image *image, const elf_object *o, int64_t table, int64_t bytes,
                       bool is_backwards) {
  const size_t count = elf_dynamic(o, table) ? elf_dynamic(o, bytes) / sizeof(const char *) : 0;
  for (size_t i = 0; i < count; i++) {
    const char *address;
    memcpy(&address,
           image->base + o->at + elf_dynamic(o, table) +
               (is_backwards ? count - 1 - i : i) * sizeof address,
           sizeof address);
    call(address);
  }
}
static void call_one(const elf_image *image, const elf_object *o, int64_t tag) {
  if (elf_dynamic(o, tag)) call(image->base + o->at + elf_dynamic(o, tag));
}
static int load(plugin *p, const char *path, char *error, size_t bytes) {
  if (!elf_read(&p->image, path, NULL, error, bytes)) return 0;
  p->image.tls_bytes = 0; /* places are given below */
  p->image.base = (char *)mmap(NULL, p->image.bytes, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p->image.base == MAP_FAILED || !elf_map_text(&p->image, p->image.base)) {
    snprintf(error, bytes, "%s: %s", path, strerror(errno));
    return 0;
  }
  if (!place_variables(&p->image, error, bytes) || !elf_bind(&p->image, error, bytes)) return 0;
  guest_counter_scan(&p->image);
  for (int i = 0; i < p->image.object_count; i++) { /* processes share one table of open files */
    close(p->image.objects[i].fd);
    p->image.objects[i].fd = -1;
  }
  return 1;
}
static void unload(plugin *p) {
  if (p->image.base && p->image.base != MAP_FAILED) munmap(p->image.base, p->image.bytes);
  elf_free(&p->image);
  free((void *)p->others);
  free(p);
}
/* By the name alone, as it was needed or as it calls itself; or the same file. */
static const elf_object *loaded_before(const char *path, const struct stat *file) {
  const state *s = now();
  for (plugin *p = s->first; p; p = p->next)
    for (int i = 0; i < p->image.object_count; i++) {
      const elf_object *o = &p->image.objects[i];
      if (file ? o->device == file->st_dev && o->inode == file->st_ino
               : !strchr(path, '/') && elf_answers_to(o, path))
        return o;
    }
  return NULL;
}
/* It was there. Another thread may still run its constructors. */
static void *again(const elf_object *o, int mode) {
  plugin *p = plugin_of(o);
  p->is_global |= (mode & RTLD_GLOBAL) != 0;
  while (p->begins && p->begins != pm_thread_self()) pm_yield_for(1000);
  return (void *)(uintptr_t)o;
}
static char *path_of(const elf_object *caller, const char *path) {
  elf_object who = *caller;
  const size_t run_path = elf_dynamic(caller, DT_RUNPATH), r_path = elf_dynamic(caller, DT_RPATH);
  who.run_path = run_path ? caller->strings + run_path : NULL;
  who.r_path = r_path ? caller->strings + r_path : NULL;
  return strchr(path, '/') ? strdup(path) : elf_library_path(&who, path);
}
static void begin(plugin *p) {
  p->has_begun = 1;
  p->begins = pm_thread_self();
  for (int i = 0; i < p->image.object_count; i++) {
    const elf_object *o = &p->image.objects[p->image.order[i]];
    call_one(&p->image, o, DT_INIT);
    call_table(&p->image, o, DT_INIT_ARRAY, DT_INIT_ARRAYSZ, 0);
  }
  p->begins = NULL;
}
void *plugin_open(const elf_image *program, const char *base, const elf_object *caller,
                  const char *path, int mode) {
  state *s = now();
  const elf_object *there = loaded_before(path, NULL);
  struct stat file;
  s->has_error = 0;
  if (there) return again(there, mode);
  char *found = path_of(caller, path);
  if (!found || stat(found, &file) != 0) {
    free(found);
    return plugin_fail("%s: cannot open shared object file: %s", path, strerror(ENOENT));
  }
  there = loaded_before(found, &file);
  if (there || mode & RTLD_NOLOAD) {
    free(found);
    return there ? again(there, mode) : NULL;
  }
  plugin *p = (plugin *)calloc(1, sizeof *p), *const loading = s->loading;
  if (!p) guest_refuse("out of memory");
  s->program = *program;
  s->program.base = (char *)(uintptr_t)base;
  p->is_global = (mode & RTLD_GLOBAL) != 0;
  p->image.program = &s->program;
  p->image.is_there = is_there;
  p->image.is_bound_now = (mode & RTLD_NOW) != 0;
  for (const plugin *q = s->first; q; q = q->next)
    if (q->is_global) others_add(p, &q->image);
  s->loading = p;
  const bool is_good = load(p, found, s->error, sizeof s->error);
  s->loading = loading;
  free(found);
  if (!is_good) {
    unload(p);
    s->has_error = 1;
    return NULL;
  }
  p->before = s->last;
  *(s->last ? &s->last->next : &s->first) = p;
  s->last = p;
  first_values_of_all(&p->image);
  begin(p);
  return &p->image.objects[0];
}
static void *in_object(const elf_image *image, const elf_object *o, const char *name) {
  const ElfW(Sym) *sym = elf_symbol(o, name);
  void *(*resolve)(void);
  if (!sym) return NULL;
  if (ELF64_ST_TYPE(sym->st_info) == STT_TLS) return elf_tls_at(o->tls_at) + sym->st_value;
  char *address = image->base + o->at + sym->st_value;
  memcpy(&resolve, &address, sizeof resolve);
  return ELF64_ST_TYPE(sym->st_info) == STT_GNU_IFUNC ? resolve() : address;
}
static void *in_image(const elf_image *image, const char *name, const elf_object *first) {
  void *found = NULL;
  for (const elf_object *o = first; o < image->objects + image->object_count && !found; o++)
    found = in_object(image, o, name);
  return found;
}
void *plugin_symbol(const void *handle, const char *name) {
  const plugin *of = plugin_of(handle);
  void *found = in_object(&of->image, (const elf_object *)handle, name);
  if (!found) found = in_image(&of->image, name, of->image.objects);
  for (int i = 0; !found && i < of->image.other_count; i++)
    found = in_image(of->others[i], name, of->others[i]->objects);
  return found;
}
void *plugin_global_symbol(const elf_object *after, const char *name) {
  const state *s = now();
  const plugin *p = after ? plugin_of(after) : s ? s->first : NULL;
  void *found = p && after ? in_image(&p->image, name, after + 1) : NULL;
  for (int i = 0; after && p && !found && i < p->image.other_count; i++)
    found = in_image(p->others[i], name, p->others[i]->objects);
  for (p = after && p ? p->next : p; p && !found; p = p->next)
    if (p->is_global) found = in_image(&p->image, name, p->image.objects);
  return found;
}
const elf_object *plugin_object_at(const void *address, char **base) {
  const char *a = (const char *)address;
  const state *s = now();
  for (const plugin *p = s ? s->first : NULL; p; p = p->next) {
    if (a < p->image.base || a >= p->image.base + p->image.bytes) continue;
    const size_t x = (size_t)(a - p->image.base);
    for (int i = 0; i < p->image.object_count; i++) {
      const elf_object *o = &p->image.objects[i];
      if (x - o->at - o->low >= o->high - o->low) continue;
      *base = p->image.base + o->at;
      return o;
    }
  }
  return NULL;
}
int plugins_each(int (*fn)(const elf_object *o, char *base, void *arg), void *arg) {
  const state *s = now();
  int code = 0;
  for (const plugin *p = s->first; p; p = p->next)
    for (int i = 0; !code && i < p->image.object_count; i++)
      code = fn(&p->image.objects[i], p->image.base + p->image.objects[i].at, arg);
  return code;
}
void plugins_end(void) {
  const state *s = now();
  for (const plugin *p = s ? s->last : NULL; p; p = p->before)
    for (int i = p->image.object_count - 1; p->has_begun && i >= 0; i--) {
      const elf_object *o = &p->image.objects[p->image.order[i]];
      call_table(&p->image, o, DT_FINI_ARRAY, DT_FINI_ARRAYSZ, 1);
      call_one(&p->image, o, DT_FINI);
    }
}
__attribute__((constructor)) static void add(void) { guest_part_add(&part); }
