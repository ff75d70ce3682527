/* What programs ask OpenMP by name: in C, in Fortran (with an underscore behind it, arguments by address; with
   _8_ those of eight bytes). What is not here (allocators, places, devices) is answered by the program's own
   copy of the compiler's library: there are no devices and no places. */
#include "openmp.h"
#include <limits.h>

#define PUBLIC __attribute__((visibility("default")))
/* A question without arguments: the value of the expression, `me` is the thread. */
#define ASK(type, name, value)                                                                     \
  PUBLIC type name(void);                                                                          \
  type name(void) {                                                                                \
    const omp_thread *me = omp_self();                                                             \
    (void)me;                                                                                      \
    return value;                                                                                  \
  }                                                                                                \
  PUBLIC type name##_(void);                                                                       \
  type name##_(void) { return name(); }
/* A setting: the statement, `to` is the new value. */
#define SET(name, statement)                                                                       \
  PUBLIC void name(int to);                                                                        \
  void name(int to) {                                                                              \
    omp_controls *c = &omp_self()->at.task->controls;                                              \
    (void)c;                                                                                       \
    statement;                                                                                     \
  }                                                                                                \
  PUBLIC void name##_(const int *to);                                                              \
  void name##_(const int *to) { name(*to); }                                                       \
  PUBLIC void name##_8_(const int64_t *to);                                                        \
  void name##_8_(const int64_t *to) { name(*to > INT_MAX ? INT_MAX : (int)*to); }

ASK(int, omp_get_thread_num, me->at.number)
ASK(int, omp_get_num_threads, me->at.team ? me->at.team->thread_count : 1)
ASK(int, omp_get_max_threads, me->at.task->controls.threads)
ASK(int, omp_get_num_procs, omp_cores())
ASK(int, omp_in_parallel, me->at.team && me->at.team->active_level > 0)
ASK(int, omp_get_dynamic, me->at.task->controls.is_dynamic)
ASK(int, omp_get_nested, me->at.task->controls.active_levels_max > 1)
ASK(int, omp_get_max_active_levels, me->at.task->controls.active_levels_max)
ASK(int, omp_get_supported_active_levels, INT_MAX)
ASK(int, omp_get_level, me->at.team ? me->at.team->level : 0)
ASK(int, omp_get_active_level, me->at.team ? me->at.team->active_level : 0)
ASK(int, omp_in_final, me->at.task->is_final)
ASK(int, omp_get_thread_limit, me->at.task->controls.thread_limit)
ASK(int, omp_get_cancellation, me->at.task->controls.can_cancel)
ASK(int, omp_get_max_task_priority, 0)
ASK(int, omp_get_num_teams, me->at.task->controls.team_count)
ASK(int, omp_get_team_num, me->at.task->controls.team_number)
ASK(int, omp_get_proc_bind, 0)
SET(omp_set_num_threads, c->threads = to > 0 ? to : 1)
SET(omp_set_dynamic, c->is_dynamic = to != 0)
SET(omp_set_nested, c->active_levels_max = to ? INT_MAX : 1)
SET(omp_set_max_active_levels, if (to >= 0) c->active_levels_max = to)
ASK(double, omp_get_wtime, (guest_look_at_clock(), (double)pm_now_ns() * 1e-9))
ASK(double, omp_get_wtick, 1e-9)

PUBLIC void omp_set_schedule(int kind, int chunk);
void omp_set_schedule(int kind, int chunk) {
  omp_controls *c = &omp_self()->at.task->controls;
  kind &= 7;
  if (kind < OMP_STATIC || kind > OMP_AUTO) return;
  c->schedule = kind;
  c->chunk = chunk > 0 ? (uint64_t)chunk : kind != OMP_STATIC;
}
PUBLIC void omp_set_schedule_(const int *kind, const int *chunk);
void omp_set_schedule_(const int *kind, const int *chunk) { omp_set_schedule(*kind, *chunk); }
PUBLIC void omp_set_schedule_8_(const int *kind, const int64_t *chunk);
void omp_set_schedule_8_(const int *kind, const int64_t *chunk) {
  omp_set_schedule(*kind, (int)*chunk);
}
PUBLIC void omp_get_schedule(int *kind, int *chunk);
void omp_get_schedule(int *kind, int *chunk) {
  const omp_controls *c = &omp_self()->at.task->controls;
  *kind = c->schedule;
  *chunk = (int)c->chunk;
}
PUBLIC void omp_get_schedule_(int *kind, int *chunk);
void omp_get_schedule_(int *kind, int *chunk) { omp_get_schedule(kind, chunk); }
PUBLIC void omp_get_schedule_8_(int *kind, int64_t *chunk);
void omp_get_schedule_8_(int *kind, int64_t *chunk) {
  int short_chunk;
  omp_get_schedule(kind, &short_chunk);
  *chunk = short_chunk;
}

/* ---- the teams around a thread ------------------------------------------------------------------------------- */
/* ret false: there is no such level; of level 0, where nobody has made a team: team NULL, number 0 */
static bool at_level(int level, omp_team **team, int *number) {
  const omp_place *at = &omp_self()->at;
  if (level < 0 || level > (at->team ? at->team->level : 0)) return false;
  while (at->team && at->team->level > level) at = &at->team->outer;
  *team = at->team;
  *number = at->number;
  return true;
}
PUBLIC int omp_get_ancestor_thread_num(int level);
int omp_get_ancestor_thread_num(int level) {
  omp_team *team;
  int number;
  return at_level(level, &team, &number) ? number : -1;
}
PUBLIC int omp_get_ancestor_thread_num_(const int *level);
int omp_get_ancestor_thread_num_(const int *level) { return omp_get_ancestor_thread_num(*level); }
PUBLIC int omp_get_ancestor_thread_num_8_(const int64_t *level);
int omp_get_ancestor_thread_num_8_(const int64_t *level) {
  return omp_get_ancestor_thread_num((int)*level);
}
PUBLIC int omp_get_team_size(int level);
int omp_get_team_size(int level) {
  omp_team *team;
  int number;
  return !at_level(level, &team, &number) ? -1 : team ? team->thread_count : 1;
}
PUBLIC int omp_get_team_size_(const int *level);
int omp_get_team_size_(const int *level) { return omp_get_team_size(*level); }
PUBLIC int omp_get_team_size_8_(const int64_t *level);
int omp_get_team_size_8_(const int64_t *level) { return omp_get_team_size((int)*level); }
