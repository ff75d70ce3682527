/* callers.h: who called, up through what only passes calls on: where the next return address lies is found by unwinding,
   once for each address, and from then on read from there. Of overlap_preload_sites.h and of pm_run's reports. */
#ifndef CALLERS_H
#define CALLERS_H
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unwind.h>

enum { MOST_PASSED = 32 }; /* functions that one call is followed up through */

typedef struct walk {
  uintptr_t address, next, frame_end;
  bool found;
} walk;
static _Unwind_Reason_Code walk_step(struct _Unwind_Context *context, void *argument) {
  walk *w = (walk *)argument;
  const uintptr_t ip = (uintptr_t)_Unwind_GetIP(context);
  if (w->found) { /* the context of the next one: where it stood when it called */
    w->next = ip;
    w->frame_end = (uintptr_t)_Unwind_GetCFA(context);
    return _URC_END_OF_STACK;
  }
  w->found = ip == w->address;
  return _URC_NO_REASON;
}
/* The return address of the function that `address` lies in; 0: unknown. */
static uintptr_t next_address(uintptr_t address) {
  walk w = {.address = address};
  _Unwind_Backtrace(walk_step, &w);
  return w.next;
}

/* How far above `frame` it stands, and one more; 0: unknown. It is the highest place of its frame that holds
   it: copies may lie below. */
static int32_t distance_to_next(uintptr_t address, uintptr_t frame) {
  walk w = {.address = address};
  _Unwind_Backtrace(walk_step, &w);
  if (!w.next || w.frame_end <= frame || w.frame_end - frame > 65536) return 0;
  for (uintptr_t at = w.frame_end - sizeof(uintptr_t); at >= frame; at -= sizeof(uintptr_t))
    if (*(const uintptr_t *)at == w.next) return (int32_t)(at - frame) + 1;
  return 0;
}

static bool is_of_mpi(const char *file) {
  static const char *const names[] = {"libmpi_mpifh", "libmpi_usempi", "libmpichfort",
                                      "libmpifort",   "libmpi.so",     "libmpich.so",
                                      "libmpi_cxx",   "libmpichcxx"};
  const char *base = strrchr(file, '/');
  base = base ? base + 1 : file;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strncmp(base, names[i], strlen(names[i])) == 0) return true;
  return false;
}
#endif
