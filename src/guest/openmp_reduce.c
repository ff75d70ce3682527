/* Reductions over tasks: each thread has copies of the variables, which tasks add to; the compiler's code adds the
   copies up when the construct is over. */
#include "openmp.h"
#include <stdlib.h>
#include <string.h>

/* The compiler's list of a construct: how many variables; bytes of the copies of one thread; their alignment, for which
   we put where the copies are; the next list, behind the last one that of the construct around it; whether it is a
   construct's first, for us; where the copies end. Then of each variable where it is, where in the copies, and a word. */
enum { COUNT, BYTES, COPIES, UNUSED, NEXT, IS_FIRST, END, VARIABLES, WORDS = 3 };

static uintptr_t copies_new(const uintptr_t *list, int thread_count) {
  const size_t bytes = list[BYTES] * (size_t)thread_count;
  void *copies;
  if (posix_memalign(&copies, list[COPIES] > 16 ? list[COPIES] : 16, bytes))
    guest_abort(100, "out of memory for OpenMP");
  return (uintptr_t)memset(copies, 0, bytes);
}
void omp_reductions_begin(omp_group *group, uintptr_t *list, const uintptr_t *first,
                          int thread_count) {
  for (uintptr_t *l = list;; l = (uintptr_t *)l[NEXT]) {
    l[COPIES] = first ? first[COPIES] : copies_new(l, thread_count);
    l[END] = l[COPIES] + l[BYTES] * (size_t)thread_count;
    l[IS_FIRST] = l == list;
    if (first) first = (const uintptr_t *)first[NEXT];
    if (l[NEXT]) continue;
    l[NEXT] = (uintptr_t)group->reductions;
    break;
  }
  group->reductions = list;
}
void omp_reductions_none(uintptr_t *list) { list[COPIES] = 0; }

#define PUBLIC __attribute__((visibility("default")))
PUBLIC void GOMP_taskgroup_reduction_register(uintptr_t *list);
void GOMP_taskgroup_reduction_register(uintptr_t *list) {
  const omp_place *at = &omp_self()->at;
  omp_reductions_begin(at->task->group, list, NULL, at->team ? at->team->thread_count : 1);
}
PUBLIC void GOMP_taskgroup_reduction_unregister(uintptr_t *list);
void GOMP_taskgroup_reduction_unregister(uintptr_t *list) {
  do {
    free((void *)list[COPIES]);
    list = (uintptr_t *)list[NEXT];
  } while (list && !list[IS_FIRST]);
}
/* All threads come here when the first has added up. Copies of a construct that was cancelled stay: nobody knows when all
   have read them. */
PUBLIC void GOMP_workshare_task_reduction_unregister(bool is_cancelled);
void GOMP_workshare_task_reduction_unregister(bool is_cancelled) {
  const omp_place *at = &omp_self()->at;
  uintptr_t *list = at->task->group->reductions;
  GOMP_taskgroup_end();
  if (is_cancelled) return;
  if (at->number == 0) GOMP_taskgroup_reduction_unregister(list);
  GOMP_barrier();
}
/* What a task calls a variable, itself or a thread's copy of it, in this list. ret of whose words; NULL: it is not there.
   *place: in the copies */
static const uintptr_t *variable_of(const uintptr_t *list, uintptr_t address, uintptr_t *place) {
  const bool is_copy = address >= list[COPIES] && address < list[END];
  *place = is_copy ? (address - list[COPIES]) % list[BYTES] : 0;
  for (uintptr_t i = 0; i < list[COUNT]; i++) {
    const uintptr_t *v = list + VARIABLES + i * WORDS;
    if (is_copy ? v[1] != *place : v[0] != address) continue;
    *place = v[1];
    return v;
  }
  return is_copy ? list + VARIABLES : NULL;
}
/* Each address becomes that of this thread's copy; behind them all, of the first both_count, go the variables. */
PUBLIC void GOMP_task_reduction_remap(size_t count, size_t both_count, void **addresses);
void GOMP_task_reduction_remap(size_t count, size_t both_count, void **addresses) {
  const omp_place *at = &omp_self()->at;
  for (size_t i = 0; i < count; i++) {
    const uintptr_t *list = at->task->group ? at->task->group->reductions : NULL, *v = NULL;
    uintptr_t place = 0;
    for (; list; list = (const uintptr_t *)list[NEXT])
      if ((v = variable_of(list, (uintptr_t)addresses[i], &place))) break;
    if (!list) omp_missing("reduction around a task that has one (in_reduction)");
    addresses[i] = (void *)(list[COPIES] + (uintptr_t)at->number * list[BYTES] + place);
    if (i < both_count) addresses[count + i] = (void *)v[0];
  }
}
