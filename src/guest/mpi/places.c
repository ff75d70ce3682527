/* --report: where in the program a call was made. Its return address is looked for in a table of the process; what lies
   there in terms of files is found out once, when it is new. A call that came through pm_run itself (the table of another
   ABI), an MPI's library of Fortran or a preloaded tool belongs to who called that. */
#include "gm.h"
#include "guest.h"
#include "tools/callers.h"

enum { FIRST_PLACES = 64, MOST_PLACES = 65536 };

static uint32_t home_of(const struct gm_record *k, uintptr_t address, const char *name) {
  return (uint32_t)((((uint64_t)address ^ (uint64_t)(uintptr_t)name << 20) * 0x9E3779B97F4A7C15u) >>
                    40) &
         k->place_mask;
}
/* Where it is, or the empty place for it. */
static gm_place **slot_of(struct gm_record *k, uintptr_t address, const char *name) {
  uint32_t i = home_of(k, address, name);
  while (k->places[i] && (k->places[i]->address != address || k->places[i]->name != name))
    i = (i + 1) & k->place_mask;
  return &k->places[i];
}
static bool has_room(struct gm_record *k) {
  const uint32_t old = k->places ? k->place_mask + 1 : 0, size = old ? 2 * old : FIRST_PLACES;
  gm_place **const all = k->places;
  if (2 * k->place_count < old) return true;
  gm_place **const more = size <= MOST_PLACES ? (gm_place **)calloc(size, sizeof *more) : NULL;
  if (!more) return false;
  k->places = more;
  k->place_mask = size - 1;
  for (uint32_t i = 0; i < old; i++)
    if (all[i]) *slot_of(k, all[i]->address, all[i]->name) = all[i];
  free(all);
  return true;
}

static void look_up(struct gm_record *k, gm_place *x, uintptr_t frame) {
  uintptr_t begin = 0;
  bool is_between = false;
  Dl_info info = {0};
  const char *file = guest_file_of((const void *)x->address, &begin, &is_between);
  if (file && guest_dladdr((const void *)x->address, &info))
    x->where.symbol = (char *)(uintptr_t)info.dli_sname;
  x->where.call = (char *)(uintptr_t)x->name;
  x->where.module = (char *)(uintptr_t)file;
  x->where.offset = x->address - begin;
  if (file && (is_between || is_of_mpi(file))) x->through = distance_to_next(x->address, frame);
  if (!x->through) x->number = (uint16_t)nbc_monitor_place(k->monitor, &x->where);
}
static gm_place *find(struct gm_record *k, const char *name, gm_from from) {
  if (!has_room(k)) return NULL;
  gm_place **slot = slot_of(k, from.address, name);
  if (*slot) return *slot;
  gm_place *x = (gm_place *)calloc(1, sizeof *x);
  if (!x) return NULL;
  x->address = from.address;
  x->name = name;
  look_up(k, x, from.frame);
  k->place_count++;
  return *slot = x;
}

/* The caller of what only passes calls on, read from the stack. A new address is believed only when unwinding says the
   same; where that function's frame has no fixed size it does not, and the place stays there. */
static bool goes_up(struct gm_record *k, gm_place *x, gm_from *from) {
  size_t bytes;
  const uintptr_t at = from->frame + (uintptr_t)(x->through - 1),
                  low = (uintptr_t)guest_stack(&bytes);
  bool is_right = at >= low && at - low <= bytes - sizeof at;
  if (is_right && !*slot_of(k, *(const uintptr_t *)at, x->name))
    is_right = next_address(x->address) == *(const uintptr_t *)at;
  if (!is_right) {
    x->through = 0;
    x->number = (uint16_t)nbc_monitor_place(k->monitor, &x->where);
    return false;
  }
  *from = (gm_from){*(const uintptr_t *)at, at + sizeof at};
  return true;
}
gm_place *gm_place_of(gm_proc *p, const char *name, gm_from from) {
  struct gm_record *k = p->record;
  gm_place *x = find(k, name, from);
  for (int depth = 0; x && x->through && depth < MOST_PASSED && goes_up(k, x, &from); depth++)
    x = find(k, name, from);
  return x;
}
