/* Teams of OpenMP threads, and what their threads share: barriers, loops, sections, single, critical, locks. */
#include "openmp.h"
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- threads ------------------------------------------------------------------------------------------- */
void *omp_alloc_zeroed(size_t bytes) {
  void *p = calloc(1, bytes ? bytes : 1);
  if (!p) guest_abort(100, "out of memory for OpenMP");
  return p;
}
void omp_missing(const char *what) {
  char text[256];
  snprintf(text, sizeof text, "process %d: OpenMP of pm_run has no %s", pm_rank(), what);
  guest_abort(100, text);
}
int omp_cores(void) {
  const int cores = (int)(guest_platform()->cores_per_node_count / guest_per_node());
  return cores > 1 ? cores : 1;
}
static const char *variable(const char *name) {
  char **e = *(char ***)guest_variable_at(guest_now(), GUEST_ENVIRON);
  const size_t n = strlen(name);
  for (; e && *e; e++)
    if (strncmp(*e, name, n) == 0 && (*e)[n] == '=') return *e + n + 1;
  return NULL;
}
int omp_variable(const char *name, int otherwise) {
  const char *text = variable(name);
  const long n = text ? strtol(text, NULL, 10) : 0;
  return n >= 1 && n <= 65536 ? (int)n : otherwise;
}
omp_controls omp_first_controls(void) {
  static const char *const kinds[] = {"", "static", "dynamic", "guided", "auto"};
  const char *schedule = variable("OMP_SCHEDULE"), *nested = variable("OMP_NESTED"),
             *cancel = variable("OMP_CANCELLATION");
  omp_controls c = {.threads = omp_variable("OMP_NUM_THREADS", omp_cores()),
                    .active_levels_max = omp_variable("OMP_MAX_ACTIVE_LEVELS", 1),
                    .can_cancel = cancel && strncasecmp(cancel, "true", 4) == 0,
                    .thread_limit = omp_variable("OMP_THREAD_LIMIT", INT_MAX),
                    .team_count = 1,
                    .schedule = OMP_DYNAMIC,
                    .chunk = 1};
  if (nested && strncasecmp(nested, "true", 4) == 0 && !variable("OMP_MAX_ACTIVE_LEVELS"))
    c.active_levels_max = INT_MAX;
  if (c.threads > c.thread_limit) c.threads = c.thread_limit;
  if (schedule && strchr(schedule, ':')) schedule = strchr(schedule, ':') + 1;
  for (int k = OMP_STATIC; schedule && k <= OMP_AUTO; k++) {
    const size_t n = strlen(kinds[k]);
    if (strncasecmp(schedule, kinds[k], n) != 0) continue;
    c.schedule = k;
    c.chunk = schedule[n] == ',' ? strtoul(schedule + n + 1, NULL, 10) : k != OMP_STATIC;
  }
  return c;
}
void omp_wait(omp_thread *t, const char *what) {
  omp_team *team = t->at.team;
  t->is_waiting = true;
  if (team) team->waiting_count++;
  pm_thread_wait(what, -1);
  if (team) team->waiting_count--;
  t->is_waiting = false;
}
void omp_wake(omp_thread *t) {
  if (!t->is_waiting) return;
  t->is_waiting = false;
  pm_thread_wake(t->thread);
}
void omp_wake_team(omp_team *team) {
  for (int i = 0; team->waiting_count && i < team->thread_count; i++)
    if (team->threads[i]->at.team == team) omp_wake(team->threads[i]);
}

/* ---- teams ---------------------------------------------------------------------------------------------- */
static void share_free(omp_share *s) {
  free(s->memory);
  free(s->doacross);
  free(s);
}
void omp_team_leave(omp_team *team) {
  if (--team->refs) return;
  while (team->shares) { /* a team that was cancelled leaves its loops as they are */
    omp_share *s = team->shares;
    team->shares = s->next;
    share_free(s);
  }
  free(team->threads);
  free(team);
}
/* Threads that wait run the team's tasks. Who comes to the end of a cancelled team is not one of those who wait on the
   way there; who must have another's data to go on cannot leave. ret true: the team was cancelled, on the way */
typedef enum { ON_THE_WAY, FOR_DATA, AT_THE_END } barrier_kind;
static bool barrier(omp_thread *t, barrier_kind kind) {
  omp_team *team = t->at.team;
  pm_compute_measured();
  if (!team) return false;
  const int generation = team->generation;
  int *const arrived_count = &team->arrived_count[kind == AT_THE_END];
  ++*arrived_count;
  for (;;) {
    while (omp_task_run(t, NULL, NULL)) {
    }
    if (team->generation != generation) return false;
    if (team->is_cancelled && kind == ON_THE_WAY) return --*arrived_count, true;
    if (*arrived_count == team->thread_count && !team->task_count) {
      *arrived_count = 0;
      team->generation++;
      team->is_share_cancelled = false;
      omp_wake_team(team);
      return false;
    }
    omp_wait(t, kind == FOR_DATA ? "an OpenMP single with copyprivate" : "an OpenMP barrier");
  }
}
static void enter(omp_thread *t, const omp_work *work) {
  memset(&t->at, 0, sizeof t->at);
  t->at.team = work->team;
  t->at.number = work->number;
  t->at.task = omp_task_new(work->team, work->parent);
  t->at.task->group = work->group;
  t->at.share = work->share;
  t->at.shares_entered = work->share != NULL;
}
static void leave(omp_thread *t, const omp_place *before) {
  omp_team *team = t->at.team;
  barrier(t, AT_THE_END);
  omp_task_drop(t->at.task);
  t->at = *before;
  omp_team_leave(team);
}
static void *worker(void *arg) {
  omp_thread *t = (omp_thread *)arg;
  t->thread = pm_thread_self();
  guest_context_now()->openmp = t;
  while (!t->must_end) {
    const omp_work work = t->work;
    const omp_place before = t->at;
    t->work.fn = NULL;
    if (!work.fn) {
      omp_wait(t, "work of an OpenMP team");
      continue;
    }
    enter(t, &work);
    work.fn(work.data);
    leave(t, &before);
  }
  return NULL;
}
static omp_thread *thread_new(const omp_controls *controls) {
  omp_thread *t = (omp_thread *)omp_alloc_zeroed(sizeof *t);
  t->first_task.refs = 1;
  t->first_task.controls = *controls;
  t->at.task = &t->first_task;
  return t;
}
omp_thread *omp_self(void) {
  guest_context *c = guest_context_now();
  if (!c->openmp) {
    const omp_controls controls = omp_first_controls();
    c->openmp = thread_new(&controls);
    c->openmp->thread = pm_thread_self();
  }
  return c->openmp;
}
/* ret how many more than those that are busy there are at last */
static int hire(omp_thread *me, int more_count) {
  const int count = me->busy_count + more_count;
  if (count > me->workers_max) {
    omp_thread **more = (omp_thread **)realloc(me->workers, (size_t)count * sizeof *more);
    if (!more) guest_abort(100, "out of memory for OpenMP");
    me->workers = more;
    me->workers_max = count;
  }
  while (me->worker_count < count) {
    omp_thread *t = thread_new(&me->first_task.controls);
    pthread_t thread;
    if (pthread_create(&thread, NULL, worker, t)) {
      free(t);
      guest_say_once("openmp threads",
                     "an OpenMP team is smaller than asked for: no memory for more threads "
                     "(OMP_NUM_THREADS, --stack)");
      break;
    }
    pthread_detach(thread);
    me->workers[me->worker_count++] = t;
  }
  return (me->worker_count < count ? me->worker_count : count) - me->busy_count;
}
static int team_size(const omp_thread *me, unsigned asked) {
  const omp_controls *c = &me->at.task->controls;
  const int active = me->at.team ? me->at.team->active_level : 0;
  const int count = asked ? (int)asked : c->threads;
  if (active >= c->active_levels_max) return 1;
  return count < c->thread_limit ? count : c->thread_limit;
}
static omp_share *share_new(omp_team *team) {
  omp_share *s = (omp_share *)omp_alloc_zeroed(sizeof *s);
  s->left = 1;
  if (!team) return s;
  s->left = team->thread_count;
  s->next = team->shares;
  return team->shares = s;
}
/* like: a loop or sections that all threads are in from the beginning; group: one that all are in; may be NULL. */
static void team_begin(omp_thread *me, void (*fn)(void *), void *data, unsigned asked,
                       const omp_share *like, omp_group *group) {
  pm_compute_measured();
  const int wanted = team_size(me, asked), workers = wanted > 1 ? hire(me, wanted - 1) : 0;
  omp_team *team = (omp_team *)omp_alloc_zeroed(sizeof *team);
  omp_work work = {fn, data, team, 0, me->at.task, NULL, group};
  team->refs = team->thread_count = workers + 1;
  team->outer = me->at;
  team->level = me->at.team ? me->at.team->level + 1 : 1;
  team->active_level = (me->at.team ? me->at.team->active_level : 0) + (workers > 0);
  team->threads =
      (omp_thread **)omp_alloc_zeroed((size_t)team->thread_count * sizeof *team->threads);
  if (like) {
    work.share = share_new(team);
    const int left = work.share->left;
    *work.share = *like;
    work.share->left = left;
  }
  team->threads[0] = me;
  for (work.number = 1; work.number <= workers; work.number++) {
    omp_thread *t = team->threads[work.number] = me->workers[me->busy_count + work.number - 1];
    t->work = work;
    omp_wake(t);
  }
  me->busy_count += workers;
  work.number = 0;
  enter(me, &work);
}
static void team_end(omp_thread *me) {
  const omp_place before = me->at.team->outer;
  me->busy_count -= me->at.team->thread_count - 1;
  leave(me, &before);
}
static void parallel(void (*fn)(void *), void *data, unsigned asked, const omp_share *like) {
  omp_thread *me = omp_self();
  team_begin(me, fn, data, asked, like, NULL);
  fn(data);
  team_end(me);
}
void guest_openmp_end(struct omp_thread *t) {
  if (!t) return;
  for (int i = 0; i < t->worker_count; i++) {
    t->workers[i]->must_end = true;
    omp_wake(t->workers[i]);
  }
  free(t->workers);
  omp_addresses_free(t->first_task.depends);
  free(t);
}

#define PUBLIC __attribute__((visibility("default")))
typedef void region(void *data);
PUBLIC void GOMP_parallel(region *fn, void *data, unsigned threads, unsigned flags);
void GOMP_parallel(region *fn, void *data, unsigned threads, unsigned flags) {
  (void)flags;
  parallel(fn, data, threads, NULL);
}
/* ret how many threads there were, whose copies the caller adds */
PUBLIC unsigned GOMP_parallel_reductions(region *fn, void *data, unsigned threads, unsigned flags);
unsigned GOMP_parallel_reductions(region *fn, void *data, unsigned threads, unsigned flags) {
  omp_thread *me = omp_self();
  omp_group group = {.outer = NULL};
  (void)flags;
  omp_reductions_begin(&group, *(uintptr_t **)data, NULL, team_size(me, threads));
  team_begin(me, fn, data, threads, NULL, &group);
  const unsigned count = (unsigned)me->at.team->thread_count;
  fn(data);
  team_end(me);
  return count;
}
/* As older compilers call it: the caller runs the region between the two. */
PUBLIC void GOMP_parallel_start(region *fn, void *data, unsigned threads);
void GOMP_parallel_start(region *fn, void *data, unsigned threads) {
  team_begin(omp_self(), fn, data, threads, NULL, NULL);
}
PUBLIC void GOMP_parallel_end(void);
void GOMP_parallel_end(void) { team_end(omp_self()); }
void GOMP_barrier(void) { barrier(omp_self(), ON_THE_WAY); }
PUBLIC bool GOMP_barrier_cancel(void);
bool GOMP_barrier_cancel(void) { return barrier(omp_self(), ON_THE_WAY); }
/* ---- cancellation: where OMP_CANCELLATION allows it ------------------------------------------------------------ */
enum { CANCEL_PARALLEL = 1, CANCEL_LOOP = 2, CANCEL_SECTIONS = 4, CANCEL_GROUP = 8 };
PUBLIC bool GOMP_cancellation_point(int what);
bool GOMP_cancellation_point(int what) {
  const omp_place *at = &omp_self()->at;
  pm_compute_measured();
  if (!at->task->controls.can_cancel) return false;
  if (what & (CANCEL_LOOP | CANCEL_SECTIONS)) return at->team && at->team->is_share_cancelled;
  if (what & CANCEL_GROUP && at->task->group && at->task->group->is_cancelled) return true;
  return at->team && at->team->is_cancelled;
}
PUBLIC bool GOMP_cancel(int what, bool is_wanted);
bool GOMP_cancel(int what, bool is_wanted) {
  const omp_place *at = &omp_self()->at;
  if (!is_wanted || !at->task->controls.can_cancel) return GOMP_cancellation_point(what);
  if (what & CANCEL_GROUP) {
    if (at->task->group) at->task->group->is_cancelled = true;
  } else if (at->team && what & CANCEL_PARALLEL) {
    at->team->is_cancelled = true;
    omp_wake_team(at->team);
  } else if (at->team)
    at->team->is_share_cancelled = true;
  return true;
}

/* ---- what all threads enter: loops, sections, single ------------------------------------------------------ */
static omp_share *share_enter(omp_thread *t, bool *is_first) {
  omp_team *team = t->at.team;
  const unsigned index = t->at.shares_entered++;
  omp_share *s = team ? team->shares : NULL;
  t->at.turns = 0;
  t->at.has_piece = false;
  while (s && s->index != index) s = s->next;
  *is_first = !s;
  if (!s) {
    s = share_new(team);
    s->index = index;
  }
  return t->at.share = s;
}
static void share_leave(omp_thread *t) {
  omp_share *s = t->at.share;
  omp_share **at = t->at.team ? &t->at.team->shares : NULL;
  t->at.share = NULL;
  if (--s->left) return;
  while (at && *at != s) at = &(*at)->next;
  if (at) *at = s->next;
  share_free(s);
}
/* Pieces of an ordered loop are done in their order. */
static void wait_for_turn(omp_thread *t) {
  const omp_share *s = t->at.share;
  while (t->at.has_piece && s->done != t->at.piece)
    omp_wait(t, "its turn in an OpenMP ordered loop");
}
static void piece_is_done(omp_thread *t) {
  if (!t->at.has_piece) return;
  wait_for_turn(t);
  t->at.has_piece = false;
  t->at.share->done++;
  if (t->at.team) omp_wake_team(t->at.team);
}
/* The next piece for this thread, counted in iterations. ret false: there is none */
static bool next_static(omp_thread *t, omp_share *s, uint64_t *from, uint64_t *to) {
  const uint64_t threads = t->at.team ? (uint64_t)t->at.team->thread_count : 1,
                 me = (uint64_t)t->at.number;
  const uint64_t turn = t->at.turns++;
  if (!s->chunk) { /* one block each, the first ones longer */
    const uint64_t each = s->count / threads, more = s->count % threads;
    *from = me < more ? me * (each + 1) : me * each + more;
    *to = *from + each + (me < more);
    t->at.piece = me;
    return turn == 0 && *from < *to;
  }
  t->at.piece = turn * threads + me;
  if (t->at.piece > s->count / s->chunk) return false;
  *from = t->at.piece * s->chunk;
  *to = s->count - *from < s->chunk ? s->count : *from + s->chunk;
  return *from < *to;
}
static bool next_any(omp_thread *t, omp_share *s, uint64_t *from, uint64_t *to) {
  const uint64_t threads = t->at.team ? (uint64_t)t->at.team->thread_count : 1;
  uint64_t n = s->chunk ? s->chunk : 1;
  const uint64_t left = s->count - s->at;
  if (!left) return false;
  if (s->schedule == OMP_GUIDED && (left + threads - 1) / threads > n)
    n = (left + threads - 1) / threads;
  if (n > left) n = left;
  *from = s->at;
  *to = s->at += n;
  t->at.piece = s->given++;
  return true;
}
static bool next_piece(uint64_t *first, uint64_t *last) {
  omp_thread *t = omp_self();
  omp_share *s = t->at.share;
  uint64_t from, to;
  pm_compute_measured();
  if (s->is_ordered) piece_is_done(t);
  if (!(s->schedule == OMP_STATIC ? next_static : next_any)(t, s, &from, &to)) return false;
  t->at.has_piece = s->is_ordered;
  *first = s->first + from * s->step;
  *last = s->first + to * s->step;
  return true;
}
static uint64_t iterations(bool is_up, uint64_t start, uint64_t end, uint64_t step,
                           bool is_signed) {
  const uint64_t flip = is_signed ? (uint64_t)1 << 63 : 0, a = start ^ flip, b = end ^ flip;
  if (is_up) return a < b ? (b - a - 1) / step + 1 : 0;
  return b < a ? (a - b - 1) / (0 - step) + 1 : 0;
}
omp_share omp_loop_like(int schedule, bool is_up, uint64_t start, uint64_t end, uint64_t step,
                        bool is_signed, uint64_t chunk) {
  omp_share s;
  memset(&s, 0, sizeof s);
  schedule &= 7;
  if (schedule == OMP_RUNTIME) {
    const omp_controls *c = &omp_self()->at.task->controls;
    schedule = c->schedule;
    chunk = c->chunk;
  }
  s.schedule = schedule == OMP_AUTO ? OMP_STATIC : schedule;
  s.first = start;
  s.step = step;
  s.chunk = schedule == OMP_AUTO ? 0 : chunk;
  s.count = iterations(is_up, start, end, step, is_signed);
  return s;
}
bool omp_loop_start(omp_share like, bool is_ordered, uint64_t *first, uint64_t *last) {
  omp_thread *t = omp_self();
  bool is_first;
  omp_share *s = share_enter(t, &is_first);
  if (is_first) {
    like.next = s->next;
    like.index = s->index;
    like.left = s->left;
    like.is_ordered = is_ordered;
    *s = like;
  }
  return first ? next_piece(first, last) : true;
}

/* The compiler's names. */
#define LOOP(name, kind, is_ordered)                                                               \
  PUBLIC bool GOMP_loop_##name##_start(long start, long end, long step, long chunk, long *from,    \
                                       long *to);                                                  \
  bool GOMP_loop_##name##_start(long start, long end, long step, long chunk, long *from,           \
                                long *to) {                                                        \
    return omp_loop_start(omp_loop_like(kind, step > 0, (uint64_t)start, (uint64_t)end,            \
                                        (uint64_t)step, true, (uint64_t)chunk),                    \
                          is_ordered, (uint64_t *)from, (uint64_t *)to);                           \
  }                                                                                                \
  PUBLIC bool GOMP_loop_ull_##name##_start(                                                        \
      bool up, unsigned long long start, unsigned long long end, unsigned long long step,          \
      unsigned long long chunk, unsigned long long *from, unsigned long long *to);                 \
  bool GOMP_loop_ull_##name##_start(bool up, unsigned long long start, unsigned long long end,     \
                                    unsigned long long step, unsigned long long chunk,             \
                                    unsigned long long *from, unsigned long long *to) {            \
    return omp_loop_start(omp_loop_like(kind, up, start, end, step, false, chunk), is_ordered,     \
                          (uint64_t *)from, (uint64_t *)to);                                       \
  }                                                                                                \
  LOOP_NEXT(name)
#define LOOP_NEXT(name)                                                                            \
  PUBLIC bool GOMP_loop_##name##_next(long *from, long *to);                                       \
  bool GOMP_loop_##name##_next(long *from, long *to) {                                             \
    return next_piece((uint64_t *)from, (uint64_t *)to);                                           \
  }                                                                                                \
  PUBLIC bool GOMP_loop_ull_##name##_next(unsigned long long *from, unsigned long long *to);       \
  bool GOMP_loop_ull_##name##_next(unsigned long long *from, unsigned long long *to) {             \
    return next_piece((uint64_t *)from, (uint64_t *)to);                                           \
  }
/* Those of the runtime's schedule take no chunk. */
#define LOOP_RUNTIME(name, is_ordered)                                                             \
  PUBLIC bool GOMP_loop_##name##_start(long start, long end, long step, long *from, long *to);     \
  bool GOMP_loop_##name##_start(long start, long end, long step, long *from, long *to) {           \
    return omp_loop_start(omp_loop_like(OMP_RUNTIME, step > 0, (uint64_t)start, (uint64_t)end,     \
                                        (uint64_t)step, true, 0),                                  \
                          is_ordered, (uint64_t *)from, (uint64_t *)to);                           \
  }                                                                                                \
  PUBLIC bool GOMP_loop_ull_##name##_start(bool up, unsigned long long start,                      \
                                           unsigned long long end, unsigned long long step,        \
                                           unsigned long long *from, unsigned long long *to);      \
  bool GOMP_loop_ull_##name##_start(bool up, unsigned long long start, unsigned long long end,     \
                                    unsigned long long step, unsigned long long *from,             \
                                    unsigned long long *to) {                                      \
    return omp_loop_start(omp_loop_like(OMP_RUNTIME, up, start, end, step, false, 0), is_ordered,  \
                          (uint64_t *)from, (uint64_t *)to);                                       \
  }                                                                                                \
  LOOP_NEXT(name)
LOOP(static, OMP_STATIC, false)
LOOP(dynamic, OMP_DYNAMIC, false)
LOOP(guided, OMP_GUIDED, false)
LOOP(nonmonotonic_dynamic, OMP_DYNAMIC, false)
LOOP(nonmonotonic_guided, OMP_GUIDED, false)
LOOP(ordered_static, OMP_STATIC, true)
LOOP(ordered_dynamic, OMP_DYNAMIC, true)
LOOP(ordered_guided, OMP_GUIDED, true)
LOOP_RUNTIME(runtime, false)
LOOP_RUNTIME(nonmonotonic_runtime, false)
LOOP_RUNTIME(maybe_nonmonotonic_runtime, false)
LOOP_RUNTIME(ordered_runtime, true)
/* The general forms: with reductions over tasks, or with memory that the threads of the loop share until its end
   (conditional lastprivate, scans): its size when they come, its address when they go on. */
void omp_loop_more(uintptr_t *reductions, void **memory) {
  const omp_thread *t = omp_self();
  omp_share *s = t->at.share;
  if (reductions) {
    GOMP_taskgroup_start();
    omp_reductions_begin(t->at.task->group, reductions, s->reductions,
                         t->at.team ? t->at.team->thread_count : 1);
    if (!s->reductions) s->reductions = reductions;
  }
  if (!memory) return;
  if (!s->memory) s->memory = omp_alloc_zeroed((size_t)(uintptr_t)*memory);
  *memory = s->memory;
}
/* A scope with such reductions is entered as a single is, which all do. */
PUBLIC void GOMP_scope_start(uintptr_t *reductions);
void GOMP_scope_start(uintptr_t *reductions) {
  omp_thread *t = omp_self();
  bool is_first;
  share_enter(t, &is_first);
  omp_loop_more(reductions, NULL);
  share_leave(t);
}
#define LOOP_GENERAL(name, is_ordered)                                                             \
  PUBLIC bool GOMP_loop_##name##start(long start, long end, long step, long schedule, long chunk,  \
                                      long *from, long *to, uintptr_t *reductions, void **memory); \
  bool GOMP_loop_##name##start(long start, long end, long step, long schedule, long chunk,         \
                               long *from, long *to, uintptr_t *reductions, void **memory) {       \
    const bool is_more =                                                                           \
        omp_loop_start(omp_loop_like((int)schedule, step > 0, (uint64_t)start, (uint64_t)end,      \
                                     (uint64_t)step, true, (uint64_t)chunk),                       \
                       is_ordered, (uint64_t *)from, (uint64_t *)to);                              \
    omp_loop_more(reductions, memory);                                                             \
    return is_more;                                                                                \
  }                                                                                                \
  PUBLIC bool GOMP_loop_ull_##name##start(                                                         \
      bool up, unsigned long long start, unsigned long long end, unsigned long long step,          \
      long schedule, unsigned long long chunk, unsigned long long *from, unsigned long long *to,   \
      uintptr_t *reductions, void **memory);                                                       \
  bool GOMP_loop_ull_##name##start(bool up, unsigned long long start, unsigned long long end,      \
                                   unsigned long long step, long schedule,                         \
                                   unsigned long long chunk, unsigned long long *from,             \
                                   unsigned long long *to, uintptr_t *reductions, void **memory) { \
    const bool is_more =                                                                           \
        omp_loop_start(omp_loop_like((int)schedule, up, start, end, step, false, chunk),           \
                       is_ordered, (uint64_t *)from, (uint64_t *)to);                              \
    omp_loop_more(reductions, memory);                                                             \
    return is_more;                                                                                \
  }
LOOP_GENERAL(, false)
LOOP_GENERAL(ordered_, true)
static void loop_end(void) {
  omp_thread *t = omp_self();
  if (t->at.share->is_ordered) piece_is_done(t);
  share_leave(t);
}
PUBLIC void GOMP_loop_end(void);
void GOMP_loop_end(void) {
  loop_end();
  GOMP_barrier();
}
PUBLIC bool GOMP_loop_end_cancel(void);
bool GOMP_loop_end_cancel(void) { return loop_end(), GOMP_barrier_cancel(); }
PUBLIC void GOMP_loop_end_nowait(void);
void GOMP_loop_end_nowait(void) { loop_end(); }
PUBLIC void GOMP_ordered_start(void);
void GOMP_ordered_start(void) {
  pm_compute_measured();
  if (omp_self()->at.share) wait_for_turn(omp_self());
}
PUBLIC void GOMP_ordered_end(void);
void GOMP_ordered_end(void) {}

#define PARALLEL_LOOP(name, kind)                                                                  \
  PUBLIC void GOMP_parallel_loop_##name(region *fn, void *data, unsigned threads, long start,      \
                                        long end, long step, long chunk, unsigned flags);          \
  void GOMP_parallel_loop_##name(region *fn, void *data, unsigned threads, long start, long end,   \
                                 long step, long chunk, unsigned flags) {                          \
    const omp_share s = omp_loop_like(kind, step > 0, (uint64_t)start, (uint64_t)end,              \
                                      (uint64_t)step, true, (uint64_t)chunk);                      \
    (void)flags;                                                                                   \
    parallel(fn, data, threads, &s);                                                               \
  }
#define PARALLEL_LOOP_RUNTIME(name)                                                                \
  PUBLIC void GOMP_parallel_loop_##name(region *fn, void *data, unsigned threads, long start,      \
                                        long end, long step, unsigned flags);                      \
  void GOMP_parallel_loop_##name(region *fn, void *data, unsigned threads, long start, long end,   \
                                 long step, unsigned flags) {                                      \
    const omp_share s = omp_loop_like(OMP_RUNTIME, step > 0, (uint64_t)start, (uint64_t)end,       \
                                      (uint64_t)step, true, 0);                                    \
    (void)flags;                                                                                   \
    parallel(fn, data, threads, &s);                                                               \
  }
PARALLEL_LOOP(static, OMP_STATIC)
PARALLEL_LOOP(dynamic, OMP_DYNAMIC)
PARALLEL_LOOP(guided, OMP_GUIDED)
PARALLEL_LOOP(nonmonotonic_dynamic, OMP_DYNAMIC)
PARALLEL_LOOP(nonmonotonic_guided, OMP_GUIDED)
PARALLEL_LOOP_RUNTIME(runtime)
PARALLEL_LOOP_RUNTIME(nonmonotonic_runtime)
PARALLEL_LOOP_RUNTIME(maybe_nonmonotonic_runtime)

/* Sections are a loop over their numbers, from 1; 0: no more. */
static omp_share sections_like(unsigned count) {
  return omp_loop_like(OMP_DYNAMIC, true, 1, (uint64_t)count + 1, 1, false, 1);
}
PUBLIC unsigned GOMP_sections_next(void);
unsigned GOMP_sections_next(void) {
  uint64_t number, after;
  return next_piece(&number, &after) ? (unsigned)number : 0;
}
PUBLIC unsigned GOMP_sections_start(unsigned count);
unsigned GOMP_sections_start(unsigned count) {
  omp_loop_start(sections_like(count), false, NULL, NULL);
  return GOMP_sections_next();
}
PUBLIC unsigned GOMP_sections2_start(unsigned count, uintptr_t *reductions, void **memory);
unsigned GOMP_sections2_start(unsigned count, uintptr_t *reductions, void **memory) {
  omp_loop_start(sections_like(count), false, NULL, NULL);
  omp_loop_more(reductions, memory);
  return GOMP_sections_next();
}
PUBLIC void GOMP_parallel_sections(region *fn, void *data, unsigned threads, unsigned count,
                                   unsigned flags);
void GOMP_parallel_sections(region *fn, void *data, unsigned threads, unsigned count,
                            unsigned flags) {
  const omp_share s = sections_like(count);
  (void)flags;
  parallel(fn, data, threads, &s);
}
PUBLIC void GOMP_sections_end(void);
void GOMP_sections_end(void) { GOMP_loop_end(); }
PUBLIC bool GOMP_sections_end_cancel(void);
bool GOMP_sections_end_cancel(void) { return GOMP_loop_end_cancel(); }
PUBLIC void GOMP_sections_end_nowait(void);
void GOMP_sections_end_nowait(void) { GOMP_loop_end_nowait(); }

PUBLIC bool GOMP_single_start(void);
bool GOMP_single_start(void) {
  omp_thread *t = omp_self();
  bool is_first;
  pm_compute_measured();
  share_enter(t, &is_first);
  share_leave(t);
  return is_first;
}
/* ret NULL: this thread does it, and calls ..._end; to the others what it says there */
PUBLIC void *GOMP_single_copy_start(void);
void *GOMP_single_copy_start(void) {
  omp_thread *t = omp_self();
  bool is_first;
  pm_compute_measured();
  const omp_share *s = share_enter(t, &is_first);
  if (is_first) return NULL;
  barrier(t, FOR_DATA);
  void *copied = s->copied;
  share_leave(t);
  return copied;
}
PUBLIC void GOMP_single_copy_end(void *copied);
void GOMP_single_copy_end(void *copied) {
  omp_thread *t = omp_self();
  t->at.share->copied = copied;
  share_leave(t);
  barrier(t, FOR_DATA);
}

/* ---- locks ------------------------------------------------------------------------------------------------- */
/* A lock is a word that is 1 when somebody has it. Who waits stands in a queue of this file; who unlocks
   hands the lock over. */
typedef struct queued {
  struct queued *next;
  const int *word;
  omp_thread *thread;
  bool has_it;
} queued;
static queued *queue; /* of all processes: an address is in one */
static void lock(int *word, const char *what) {
  pm_compute_measured();
  if (!*word) {
    *word = 1;
    return;
  }
  queued me = {NULL, word, omp_self(), false}, **at = &queue;
  while (*at) at = &(*at)->next;
  *at = &me;
  while (!me.has_it) omp_wait(me.thread, what);
}
static void unlock(int *word) {
  pm_compute_measured();
  queued **at = &queue;
  while (*at && (*at)->word != word) at = &(*at)->next;
  queued *q = *at;
  if (!q) {
    *word = 0;
    return;
  }
  *at = q->next;
  q->has_it = true;
  omp_wake(q->thread);
}
static bool try_lock(int *word) {
  pm_compute_measured();
  if (*word) return pm_yield(), false; /* who tries again and again lets time pass */
  *word = 1;
  return true;
}
typedef struct words {
  int critical, atomic;
} words;
static guest_part part = {.name = "openmp", .state_bytes = sizeof(words)};
__attribute__((constructor)) static void add(void) { guest_part_add(&part); }
static words *own_words(void) { return (words *)guest_state(&part); }
PUBLIC void GOMP_critical_start(void);
void GOMP_critical_start(void) { lock(&own_words()->critical, "an OpenMP critical section"); }
PUBLIC void GOMP_critical_end(void);
void GOMP_critical_end(void) { unlock(&own_words()->critical); }
PUBLIC void GOMP_critical_name_start(void **name);
void GOMP_critical_name_start(void **name) {
  lock((int *)(void *)name, "an OpenMP critical section");
}
PUBLIC void GOMP_critical_name_end(void **name);
void GOMP_critical_name_end(void **name) { unlock((int *)(void *)name); }
PUBLIC void GOMP_atomic_start(void);
void GOMP_atomic_start(void) { lock(&own_words()->atomic, "an OpenMP atomic operation"); }
PUBLIC void GOMP_atomic_end(void);
void GOMP_atomic_end(void) { unlock(&own_words()->atomic); }

typedef struct nest_lock { /* omp_nest_lock_t */
  int word, count;
  const void *owner; /* the task */
} nest_lock;
#define LOCK_CALLS(suffix, type, lock_at)                                                          \
  PUBLIC void omp_init_lock##suffix(int *l);                                                       \
  void omp_init_lock##suffix(int *l) { *l = 0; }                                                   \
  PUBLIC void omp_destroy_lock##suffix(int *l);                                                    \
  void omp_destroy_lock##suffix(int *l) { (void)l; }                                               \
  PUBLIC void omp_set_lock##suffix(int *l);                                                        \
  void omp_set_lock##suffix(int *l) { lock(l, "an OpenMP lock"); }                                 \
  PUBLIC void omp_unset_lock##suffix(int *l);                                                      \
  void omp_unset_lock##suffix(int *l) { unlock(l); }                                               \
  PUBLIC int omp_test_lock##suffix(int *l);                                                        \
  int omp_test_lock##suffix(int *l) { return try_lock(l); }                                        \
  PUBLIC void omp_set_nest_lock##suffix(type *l);                                                  \
  void omp_set_nest_lock##suffix(type *l) {                                                        \
    nest_lock *n = lock_at;                                                                        \
    const void *me = omp_self()->at.task;                                                          \
    if (n->owner != me) lock(&n->word, "an OpenMP lock");                                          \
    n->owner = me;                                                                                 \
    n->count++;                                                                                    \
  }                                                                                                \
  PUBLIC void omp_unset_nest_lock##suffix(type *l);                                                \
  void omp_unset_nest_lock##suffix(type *l) {                                                      \
    nest_lock *n = lock_at;                                                                        \
    if (--n->count) return;                                                                        \
    n->owner = NULL;                                                                               \
    unlock(&n->word);                                                                              \
  }                                                                                                \
  PUBLIC int omp_test_nest_lock##suffix(type *l);                                                  \
  int omp_test_nest_lock##suffix(type *l) {                                                        \
    nest_lock *n = lock_at;                                                                        \
    const void *me = omp_self()->at.task;                                                          \
    if (n->owner != me && !try_lock(&n->word)) return 0;                                           \
    n->owner = me;                                                                                 \
    return ++n->count;                                                                             \
  }
LOCK_CALLS(, nest_lock, l)
LOCK_CALLS(_, nest_lock *, *l) /* Fortran: its nest lock has room for an address only */
PUBLIC void omp_init_nest_lock(nest_lock *l);
void omp_init_nest_lock(nest_lock *l) { memset(l, 0, sizeof *l); }
PUBLIC void omp_destroy_nest_lock(nest_lock *l);
void omp_destroy_nest_lock(nest_lock *l) { (void)l; }
PUBLIC void omp_init_nest_lock_(nest_lock **l);
void omp_init_nest_lock_(nest_lock **l) { *l = (nest_lock *)omp_alloc_zeroed(sizeof **l); }
PUBLIC void omp_destroy_nest_lock_(nest_lock **l);
void omp_destroy_nest_lock_(nest_lock **l) {
  free(*l);
  *l = NULL;
}
