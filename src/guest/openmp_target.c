/* Teams on the host, which run one after the other, and regions for a device: there is none, so the compiler's own library
   calls them here, as on a host without one. What it does not know is our tasks, which such a region may wait for. */
#include "image.h"
#include "openmp.h"
#include <limits.h>
#include <string.h>

typedef struct league { /* set for teams that do not say it themselves; 0: not set */
  bool is_known;
  int teams_max, thread_limit;
} league;
static guest_part part = {.name = "openmp teams", .state_bytes = sizeof(league)};
__attribute__((constructor)) static void add(void) { guest_part_add(&part); }
static league *own_league(void) {
  league *l = (league *)guest_state(&part);
  if (!l->is_known) {
    l->is_known = true;
    l->teams_max = omp_variable("OMP_NUM_TEAMS", 0);
    l->thread_limit = omp_variable("OMP_TEAMS_THREAD_LIMIT", 0);
  }
  return l;
}
static void limit_threads(unsigned limit) {
  if (limit) omp_self()->at.task->controls.thread_limit = limit < INT_MAX ? (int)limit : INT_MAX;
}

#define PUBLIC __attribute__((visibility("default")))
typedef void region(void *data);
PUBLIC void GOMP_teams_reg(region *fn, void *data, unsigned teams, unsigned limit, unsigned flags);
void GOMP_teams_reg(region *fn, void *data, unsigned teams, unsigned limit, unsigned flags) {
  const league *l = own_league();
  omp_controls *c = &omp_self()->at.task->controls;
  const omp_controls before = *c;
  (void)flags;
  c->team_count = teams ? (int)teams : l->teams_max ? l->teams_max : 3; /* as GCC's library */
  limit_threads(limit ? limit : (unsigned)l->thread_limit);
  for (c->team_number = 0; c->team_number < c->team_count; c->team_number++) fn(data);
  c->team_number = before.team_number;
  c->team_count = before.team_count;
  c->thread_limit = before.thread_limit;
}
/* Of teams in a region for a device: called before each, until ret false. Older compilers: of one. */
PUBLIC bool GOMP_teams4(unsigned least, unsigned most, unsigned limit, bool is_first);
bool GOMP_teams4(unsigned least, unsigned most, unsigned limit, bool is_first) {
  omp_controls *c = &omp_self()->at.task->controls;
  (void)most;
  if (!is_first) return ++c->team_number < c->team_count;
  limit_threads(limit);
  c->team_number = 0;
  c->team_count = least ? (int)least : 1;
  return true;
}
PUBLIC void GOMP_teams(unsigned teams, unsigned limit);
void GOMP_teams(unsigned teams, unsigned limit) {
  (void)teams;
  limit_threads(limit);
}

/* ---- regions for a device ----------------------------------------------------------------------------------- */
/* fn: the pointer to a function that is set */
static void compilers_own(const char *name, void *fn) {
  void *address = guest_symbol(guest_now(), name);
  if (!address) address = plugin_global_symbol(NULL, name);
  if (!address) omp_missing("regions for devices in a library that is loaded for itself");
  memcpy(fn, &address, sizeof address);
}
/* With this flag it would become a task of that library's, which nobody here waits for. */
#define NOWAIT 1u
/* Words of a kind, a flag for a value in the next word, and a value. */
#define ARG_DEVICE    0x7f
#define ARG_NEXT_WORD 0x80
#define ARG_KIND      0xff00
#define ARG_LIMIT     0x200
#define ARG_SHIFT     16
static void limit_as_told(void *const *args) {
  while (args && *args) {
    const intptr_t word = (intptr_t)*args++,
                   value = word & ARG_NEXT_WORD ? (intptr_t)*args++ : word >> ARG_SHIFT;
    if (!(word & ARG_DEVICE) && (word & ARG_KIND) == ARG_LIMIT && value > 0)
      limit_threads(value < INT_MAX ? (unsigned)value : INT_MAX);
  }
}
typedef void target(int device, region *fn, size_t count, void **addresses, size_t *sizes,
                    unsigned short *kinds, unsigned flags, void **depends, void **args);
PUBLIC target GOMP_target_ext;
void GOMP_target_ext(int device, region *fn, size_t count, void **addresses, size_t *sizes,
                     unsigned short *kinds, unsigned flags, void **depends, void **args) {
  target *run;
  compilers_own("GOMP_target_ext", &run);
  omp_thread *me = omp_self();
  if (depends) GOMP_taskwait_depend(depends);
  const omp_place before = me->at;
  omp_task *first = omp_task_new(NULL, me->at.task);
  first->controls = omp_first_controls();
  me->at = (omp_place){.task = first}; /* a thread that has begun there */
  limit_as_told(args);
  run(device, fn, count, addresses, sizes, kinds, flags & ~NOWAIT, NULL, args);
  omp_task_drop(first); /* threads of its teams may still be about to */
  me->at = before;
}
typedef void data_call(int device, size_t count, void **addresses, size_t *sizes,
                       unsigned short *kinds, unsigned flags, void **depends);
#define DATA_CALL(name)                                                                            \
  PUBLIC data_call name;                                                                           \
  void name(int device, size_t count, void **addresses, size_t *sizes, unsigned short *kinds,      \
            unsigned flags, void **depends) {                                                      \
    data_call *call;                                                                               \
    compilers_own(#name, &call);                                                                   \
    if (depends) GOMP_taskwait_depend(depends);                                                    \
    call(device, count, addresses, sizes, kinds, flags & ~NOWAIT, NULL);                           \
  }
DATA_CALL(GOMP_target_update_ext)
DATA_CALL(GOMP_target_enter_exit_data)

/* ---- what programs ask and set ------------------------------------------------------------------------------- */
#define LEAGUE(get, set, value)                                                                    \
  PUBLIC int get(void);                                                                            \
  int get(void) { return own_league()->value; }                                                    \
  PUBLIC int get##_(void);                                                                         \
  int get##_(void) { return get(); }                                                               \
  PUBLIC void set(int to);                                                                         \
  void set(int to) {                                                                               \
    if (to >= 0) own_league()->value = to;                                                         \
  }                                                                                                \
  PUBLIC void set##_(const int *to);                                                               \
  void set##_(const int *to) { set(*to); }                                                         \
  PUBLIC void set##_8_(const int64_t *to);                                                         \
  void set##_8_(const int64_t *to) { set(*to < INT_MAX ? (int)*to : INT_MAX); }
LEAGUE(omp_get_max_teams, omp_set_num_teams, teams_max)
LEAGUE(omp_get_teams_thread_limit, omp_set_teams_thread_limit, thread_limit)
