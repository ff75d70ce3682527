/* OpenMP inside the simulated machine: what its files share. Programs made by GCC find the functions of its
   runtime library (GOMP_..., omp_...) here; a team's threads are simulated ones. Threads are switched only
   where they wait, so none of this needs an atomic operation. Starting a team, barriers and locks take no
   simulated time by themselves.

     openmp.c           teams, barriers, loops, sections, single, critical, locks
     openmp_doacross.c  loops whose iterations wait for others
     openmp_tasks.c     tasks, their dependences, groups, loops of tasks
     openmp_reduce.c    reductions over tasks
     openmp_target.c    teams of the host, and regions for a device, which run here
     openmp_api.c       what programs call by name: omp_get_thread_num ... */
#ifndef GUEST_OPENMP_H_INCLUDED
#define GUEST_OPENMP_H_INCLUDED
#include "guest.h"
#include <stdbool.h>

#pragma GCC visibility push(hidden)
typedef struct omp_task omp_task;
typedef struct omp_team omp_team;
typedef struct omp_thread omp_thread;

/* Numbers of omp_sched_t. */
enum { OMP_RUNTIME = 0, OMP_STATIC = 1, OMP_DYNAMIC = 2, OMP_GUIDED = 3, OMP_AUTO = 4 };

/* The internal control variables that a task has for itself and hands down. */
typedef struct omp_controls {
  int threads; /* of the next team */
  int active_levels_max, thread_limit;
  int team_number, team_count; /* of teams, on the host */
  bool is_dynamic, can_cancel;
  int schedule;
  uint64_t chunk;
} omp_controls;

typedef struct omp_group { /* taskgroup */
  struct omp_group *outer;
  int task_count;
  bool is_cancelled;
  uintptr_t *reductions; /* the innermost list, openmp_reduce.c */
} omp_group;
struct omp_task {
  void (*fn)(void *data);
  void *data;
  omp_task *parent;
  omp_team *team;
  omp_group *group; /* that its children join */
  omp_group *own;   /* that it belongs to */
  omp_controls controls;
  int refs, child_count; /* child_count: not complete */
  int blocker_count;     /* siblings that have to be complete before */
  bool is_final, waits_for_event, has_run, has_copies;
  struct omp_edge *successors;
  struct omp_addresses *depends; /* of its children; made at the first one */
  struct omp_depend *mine;       /* in its parent's */
  omp_task *next, *before;       /* in the team's list */
};

/* A loop, sections or single, entered by all threads of a team; threads may be several apart. */
typedef struct omp_share {
  struct omp_share *next;
  unsigned index;
  int left; /* threads that have not ended it */
  int schedule;
  bool is_ordered;
  uint64_t first, step, count, chunk, at; /* at: the next that nobody has */
  uint64_t given, done;                   /* pieces, in order */
  void *copied, *memory;                  /* memory: the compiler's, for all threads */
  uintptr_t *reductions;                  /* of the thread that came first */
  struct omp_doacross *doacross;
} omp_share;

/* Where a thread is: in which team, in which task. */
typedef struct omp_place {
  omp_team *team; /* NULL: alone */
  int number;
  omp_task *task;
  omp_share *share;
  unsigned shares_entered;
  uint64_t piece, turns; /* of an ordered loop: its piece; of a static one: how many it has had */
  bool has_piece;
} omp_place;
struct omp_team {
  int refs, thread_count, level, active_level;
  omp_place outer; /* of who made it */
  omp_thread **threads;
  int arrived_count[2], generation, waiting_count; /* [1]: at its end */
  int task_count;                                  /* not complete */
  bool is_cancelled, is_share_cancelled; /* the second: the loop or sections that it is in */
  omp_task *ready, *ready_last;
  omp_share *shares;
};
/* What a worker does next. */
typedef struct omp_work {
  void (*fn)(void *data); /* NULL: nothing */
  void *data;
  omp_team *team;
  int number;
  omp_task *parent;
  omp_share *share;
  omp_group *group; /* of its first task */
} omp_work;
struct omp_thread {
  pm_thread *thread;
  omp_place at;
  omp_task first_task; /* when it is in no team */
  bool is_waiting, must_end;
  omp_work work;
  omp_thread **workers; /* teams that this thread makes have them, always in the same order; */
  int worker_count, workers_max, busy_count; /* the first are in its outer teams */
};
omp_thread *omp_self(void);
/* Waits until somebody wakes it; loops around it look again. */
void omp_wait(omp_thread *t, const char *what);
void omp_wake(omp_thread *t);
void omp_wake_team(omp_team *team);
void omp_team_leave(omp_team *team);
int omp_cores(void); /* of a process */
omp_controls omp_first_controls(void);
int omp_variable(const char *name, int otherwise); /* of the environment, 1 to 65536 */
__attribute__((noreturn)) void omp_missing(const char *what);
void *omp_alloc_zeroed(size_t bytes);
/* A loop as the compiler tells of it. schedule: OMP_RUNTIME asks the task's controls. */
omp_share omp_loop_like(int schedule, bool is_up, uint64_t start, uint64_t end, uint64_t step,
                        bool is_signed, uint64_t chunk);
/* first NULL: takes no piece yet. ret false: there is none */
bool omp_loop_start(omp_share like, bool is_ordered, uint64_t *first, uint64_t *last);
/* Of the loop that was started: reductions over tasks, and memory that its threads share; each may be NULL. */
void omp_loop_more(uintptr_t *reductions, void **memory);

/* openmp_tasks.c */
omp_task *omp_task_new(omp_team *team, omp_task *parent);
void omp_task_drop(omp_task *task);
void omp_addresses_free(struct omp_addresses *a);
/* Runs one that is ready: of the team; children of parent alone; of the group alone. ret false: none is */
bool omp_task_run(omp_thread *t, const omp_task *parent, const omp_group *group);

/* openmp_reduce.c: list: the compiler's. first: that of another thread, whose copies are taken; NULL: copies are made for
   so many threads */
void omp_reductions_begin(omp_group *group, uintptr_t *list, const uintptr_t *first,
                          int thread_count);
void omp_reductions_none(uintptr_t *list); /* nothing is run that would have copies */
#pragma GCC visibility pop

/* Of the compiler's calls those that several files need. */
#pragma GCC visibility push(default)
void GOMP_barrier(void);
void GOMP_taskgroup_start(void);
void GOMP_taskgroup_end(void);
void GOMP_taskwait_depend(void **depends);
#pragma GCC visibility pop
#endif
