/* A program that was linked to a fixed address, as compilers do that are not told -pie: its code holds addresses of its
   functions and variables, so it has to be there. Text is mapped there once. What can be written is there as often as
   there are processes, in a file in memory, one piece behind the other; the running process's piece is mapped to the
   fixed address (the window), and each piece all the time where the process's image has it:

     file    | process 0 | process 1 | process 2 | ... | as it is bound |
                               |  \
     window at 0x4c2000 <------+   \---------> image of process 1, for whoever else reads and writes it

   A switch to another process costs a system call and a fault per page that it touches then. Text that all share gets no
   traps (spin.c): who waits there for memory is found by the clock alone. */
#include "guest.h"
#include "image.h"
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const elf_object *fixed; /* NULL: no such program */
static char *window;
static size_t window_bytes;
static int file = -1, piece_count, mapped = -1;

bool guest_has_fixed(void) { return fixed != NULL; }
bool guest_is_fixed(const void *address) {
  return fixed && (uintptr_t)address - fixed->low < fixed->high - fixed->low;
}
/* From the first page that can be written to the end of the last; nothing that cannot be may lie between. */
static void find_window(const elf_object *o) {
  uintptr_t from = UINTPTR_MAX, to = 0;
  for (int i = 0; i < o->header.e_phnum; i++) {
    const ElfW(Phdr) *p = &o->parts[i];
    if (p->p_type != PT_LOAD || !(p->p_flags & PF_W)) continue;
    if (p->p_vaddr / 4096 * 4096 < from) from = p->p_vaddr / 4096 * 4096;
    if (p->p_vaddr + p->p_memsz > to) to = (p->p_vaddr + p->p_memsz + 4095) / 4096 * 4096;
  }
  for (int i = 0; i < o->header.e_phnum; i++) {
    const ElfW(Phdr) *p = &o->parts[i];
    if (p->p_type == PT_LOAD && !(p->p_flags & PF_W) && p->p_vaddr < to &&
        p->p_vaddr + p->p_memsz > from)
      guest_refuse("%s: linked to a fixed address, with constants between its variables", o->path);
  }
  if (from >= to) guest_refuse("%s: linked to a fixed address, without variables", o->path);
  window = (char *)from;
  window_bytes = to - from;
}
static bool map_piece(int piece, void *to) {
  return mmap(to, window_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
              (off_t)window_bytes * piece) != MAP_FAILED;
}
/* base: of the image that is bound, which is in the window until the first process runs: functions may be called for
   what they choose. */
void guest_fixed_load(const elf_image *image, int processes) {
  const elf_object *o = &image->objects[0];
  find_window(o);
  void *const all = (void *)o->low;
  const size_t bytes = o->high - o->low;
  if (mmap(all, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
           -1, 0) != all)
    guest_refuse("%s: linked to %p, where something else is: %s", o->path, all, strerror(errno));
  file = memfd_create("pm_run variables", MFD_CLOEXEC);
  piece_count = processes;
  if (file < 0 || ftruncate(file, (off_t)window_bytes * (processes + 1)) != 0 ||
      !elf_map_text_of(o, NULL) || !map_piece(processes, window) ||
      !map_piece(processes, image->base + o->at + (uintptr_t)window))
    guest_refuse("%s: %s", o->path, strerror(errno));
  fixed = o;
}
bool guest_fixed_copy(int rank, char *base) {
  return map_piece(rank, base + fixed->at + (uintptr_t)window);
}
void guest_fixed_switch(int rank) {
  if (!fixed || rank == mapped) return;
  mapped = rank;
  if (!map_piece(rank, window)) guest_refuse("process %d: variables: %s", rank, strerror(errno));
}
static void *memory_at(void *user, const pm_process *process, void *address) {
  const size_t offset = (size_t)((uintptr_t)address - (uintptr_t)window);
  (void)user;
  if (!fixed || offset >= window_bytes) return address;
  return ((const guest *)pm_process_user(process))->image + fixed->at + (uintptr_t)address;
}
static void settings(pm_world_desc *desc, pm_platform *platform) {
  (void)platform;
  if (fixed) desc->memory_at = memory_at;
}
static guest_part part = {.name = "fixed", .settings = settings};
__attribute__((constructor)) static void add(void) { guest_part_add(&part); }
