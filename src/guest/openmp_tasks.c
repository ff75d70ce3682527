/* Tasks of OpenMP: put into the team's list, run by threads that wait at a barrier, for their children, or
   for a group. A thread that waits for children runs children alone, so its stack stays as deep as the
   program's own nesting. */
#include "openmp.h"
#include <stdlib.h>
#include <string.h>

/* What the compiler says of a task. */
enum {
  FLAG_FINAL = 2,
  FLAG_DEPEND = 8,
  FLAG_UP = 256,
  FLAG_GRAINSIZE = 512,
  FLAG_IF = 1024,
  FLAG_NOGROUP = 2048,
  FLAG_REDUCTION = 4096,
  FLAG_DETACH = 8192,
  FLAG_STRICT = 16384
};
typedef struct omp_edge { /* who is blocked by a task */
  struct omp_edge *next;
  omp_task *task;
} omp_edge;
typedef struct omp_depend {         /* a task that is not complete uses an address */
  struct omp_depend *next, *before; /* of those who read it, if it is one */
  struct omp_depend *other;         /* of the same task */
  struct omp_address *of;           /* NULL: who comes later waits for a later writer */
  omp_task *task;
} omp_depend;
/* The last task that writes an address, and those that read it after that: all others that are not complete are before
   these. */
typedef struct omp_address {
  struct omp_address *next; /* in the bucket */
  const void *address;
  omp_depend *writer, *readers;
} omp_address;
typedef struct omp_addresses {
  unsigned bits; /* of the number of buckets */
  size_t count;
  omp_address **buckets;
} omp_addresses;

omp_task *omp_task_new(omp_team *team, omp_task *parent) {
  omp_task *t = (omp_task *)omp_alloc_zeroed(sizeof *t);
  t->refs = 1;
  t->team = team;
  t->parent = parent;
  t->controls = parent->controls;
  parent->refs++;
  return t;
}
void omp_task_drop(omp_task *t) {
  while (t && --t->refs == 0) {
    omp_task *parent = t->parent;
    omp_addresses_free(t->depends);
    free(t);
    t = parent;
  }
}

/* ---- dependences ---------------------------------------------------------------------------------------- */
void omp_addresses_free(omp_addresses *a) {
  if (a) free(a->buckets);
  free(a);
}
static omp_address **bucket_of(const omp_addresses *a, const void *address) {
  return &a->buckets[((uintptr_t)address >> 3) * 0x9E3779B97F4A7C15u >> (64 - a->bits)];
}
static void widen(omp_addresses *a) {
  const omp_addresses before = *a;
  a->bits = before.buckets ? before.bits + 1 : 6;
  a->buckets = (omp_address **)omp_alloc_zeroed(sizeof(omp_address *) << a->bits);
  for (size_t i = 0; before.buckets && i >> before.bits == 0; i++)
    for (omp_address *x = before.buckets[i], *next; x; x = next) {
      omp_address **bucket = bucket_of(a, x->address);
      next = x->next;
      x->next = *bucket;
      *bucket = x;
    }
  free(before.buckets);
}
/* Of the children of a task; made if it is not there. */
static omp_address *address_of(omp_task *parent, const void *address) {
  if (!parent->depends) parent->depends = (omp_addresses *)omp_alloc_zeroed(sizeof(omp_addresses));
  omp_addresses *a = parent->depends;
  if (!a->buckets || a->count >> a->bits) widen(a);
  omp_address **bucket = bucket_of(a, address), *x = *bucket;
  while (x && x->address != address) x = x->next;
  if (x) return x;
  x = (omp_address *)omp_alloc_zeroed(sizeof *x);
  x->address = address;
  x->next = *bucket;
  a->count++;
  return *bucket = x;
}
static void forget_address(omp_addresses *a, omp_address *x) {
  omp_address **at = bucket_of(a, x->address);
  while (*at != x) at = &(*at)->next;
  *at = x->next;
  a->count--;
  free(x);
}
static void block(omp_task *first, omp_task *then) {
  omp_edge *e = (omp_edge *)omp_alloc_zeroed(sizeof *e);
  e->task = then;
  e->next = first->successors;
  first->successors = e;
  then->blocker_count++;
}
/* Behind the last that writes the address; a writer behind all that read it since then, too. */
static void depend(omp_task *task, const void *address, bool is_out) {
  omp_address *x = address_of(task->parent, address);
  omp_depend *mine = (omp_depend *)omp_alloc_zeroed(sizeof *mine);
  mine->task = task;
  mine->of = x;
  mine->other = task->mine;
  task->mine = mine;
  if (x->writer && x->writer->task != task) block(x->writer->task, task);
  if (!is_out) {
    mine->next = x->readers;
    if (mine->next) mine->next->before = mine;
    x->readers = mine;
    return;
  }
  for (omp_depend *d = x->readers; d; d = d->next) {
    if (d->task != task) block(d->task, task);
    d->of = NULL;
  }
  x->readers = NULL;
  if (x->writer) x->writer->of = NULL;
  x->writer = mine;
}
/* The compiler's list: how many, how many of them out, then addresses; or 0, how many, out, mutually
   exclusive, in, then addresses and after them objects of an address and a kind (1: in). */
static void depend_all(omp_task *task, void **list) {
  const bool is_long = !list[0];
  const size_t count = (size_t)(uintptr_t)list[is_long];
  const size_t out_count =
      (size_t)(uintptr_t)list[is_long + 1] + (is_long ? (size_t)(uintptr_t)list[3] : 0);
  const size_t plain_count = is_long ? out_count + (size_t)(uintptr_t)list[4] : count;
  void **address = list + (is_long ? 5 : 2);
  for (size_t i = 0; i < count; i++) {
    if (i < plain_count) {
      depend(task, address[i], i < out_count);
      continue;
    }
    void *const *object = (void *const *)address[i];
    depend(task, object[0], (uintptr_t)object[1] != 1);
  }
}
static void forget_depends(omp_task *task) {
  while (task->mine) {
    omp_depend *d = task->mine;
    omp_address *x = d->of;
    task->mine = d->other;
    if (x && x->writer == d)
      x->writer = NULL;
    else if (x) {
      if (d->next) d->next->before = d->before;
      *(d->before ? &d->before->next : &x->readers) = d->next;
    }
    if (x && !x->writer && !x->readers) forget_address(task->parent->depends, x);
    free(d);
  }
}

/* ---- the list ------------------------------------------------------------------------------------------- */
static void put_ready(omp_task *task) {
  omp_team *team = task->team;
  task->next = NULL;
  task->before = team->ready_last;
  *(task->before ? &task->before->next : &team->ready) = task;
  team->ready_last = task;
  omp_wake_team(team);
}
static bool is_in_group(const omp_task *task, const omp_group *group) {
  const omp_group *g = task->own;
  while (g && g != group) g = g->outer;
  return g == group;
}
/* The first; who waits for some alone looks for them among the last, where they mostly are. */
static omp_task *take_ready(omp_team *team, const omp_task *parent, const omp_group *group) {
  omp_task *task = parent || group ? team->ready_last : team->ready;
  while (task && ((parent && task->parent != parent) || (group && !is_in_group(task, group))))
    task = task->before;
  if (!task) return NULL;
  *(task->before ? &task->before->next : &team->ready) = task->next;
  *(task->next ? &task->next->before : &team->ready_last) = task->before;
  return task;
}
static void complete(omp_task *task) {
  omp_team *team = task->team;
  bool is_awaited = --task->parent->child_count == 0;
  forget_depends(task);
  while (task->successors) {
    omp_edge *e = task->successors;
    task->successors = e->next;
    if (--e->task->blocker_count == 0) {
      if (e->task->fn)
        put_ready(e->task);
      else
        is_awaited = true; /* one that its creator runs */
    }
    free(e);
  }
  if (task->own && --task->own->task_count == 0) is_awaited = true;
  if (team && --team->task_count == 0) is_awaited = true;
  if (team && is_awaited) omp_wake_team(team);
  omp_task_drop(task);
}
static void run(omp_thread *t, omp_task *task, void (*fn)(void *), void *data) {
  omp_task *const before = t->at.task;
  t->at.task = task;
  fn(data);
  pm_compute_measured();
  t->at.task = before;
  task->has_run = true;
  if (!task->waits_for_event) complete(task);
}
/* One that was cancelled before it began is not run, unless it has copies whose end the program waits for. */
static bool is_cancelled(const omp_team *team, const omp_group *group) {
  return (team && team->is_cancelled) || (group && group->is_cancelled);
}
static void nothing(void *data) { (void)data; }
bool omp_task_run(omp_thread *t, const omp_task *parent, const omp_group *group) {
  if (!t->at.team || !t->at.team->ready) return false;
  omp_task *task = take_ready(t->at.team, parent, group);
  if (!task) return false;
  void *const data = task->data;
  const bool is_for_nothing = !task->has_copies && is_cancelled(task->team, task->own);
  run(t, task, is_for_nothing ? nothing : task->fn, data);
  free(data);
  return true;
}

/* ---- what the compiler calls -------------------------------------------------------------------------------- */
#define PUBLIC __attribute__((visibility("default")))
typedef void region(void *data);
typedef void copier(void *to, void *from);
/* ret a copy of what the task is given, aligned */
static void *copy_of(void *data, copier *copy, long bytes, long align) {
  void *to = NULL;
  if (posix_memalign(&to, align > 16 ? (size_t)align : 16, (size_t)(bytes > 0 ? bytes : 1)))
    guest_abort(100, "out of memory for OpenMP");
  if (copy)
    copy(to, data);
  else if (bytes > 0)
    memcpy(to, data, (size_t)bytes);
  return to;
}
static omp_task *begin(omp_thread *me, unsigned flags) {
  omp_task *parent = me->at.task, *task = omp_task_new(me->at.team, parent);
  task->is_final = parent->is_final || flags & FLAG_FINAL;
  task->own = task->group = parent->group;
  if (task->own) task->own->task_count++;
  if (task->team) task->team->task_count++;
  parent->child_count++;
  return task;
}
static void start(omp_thread *me, omp_task *task, bool is_deferred, region *fn, void *data,
                  copier *copy, long bytes, long align) {
  if (is_deferred) {
    task->fn = fn;
    task->data = copy_of(data, copy, bytes, align);
    task->has_copies = copy != NULL;
    if (!task->blocker_count) put_ready(task);
    return;
  }
  while (task->blocker_count)
    if (!omp_task_run(me, task->parent, NULL)) omp_wait(me, "OpenMP tasks before this one");
  void *const own = copy ? copy_of(data, copy, bytes, align) : NULL;
  run(me, task, fn, own ? own : data);
  free(own);
}
PUBLIC void GOMP_task(region *fn, void *data, copier *copy, long bytes, long align,
                      bool is_deferrable, unsigned flags, void **depends, int priority,
                      void *event);
void GOMP_task(region *fn, void *data, copier *copy, long bytes, long align, bool is_deferrable,
               unsigned flags, void **depends, int priority, void *event) {
  omp_thread *me = omp_self();
  (void)priority;
  pm_compute_measured();
  if (is_cancelled(me->at.team, me->at.task->group)) return;
  const bool is_deferred =
      is_deferrable && me->at.team && me->at.team->thread_count > 1 && !me->at.task->is_final;
  omp_task *task = begin(me, flags);
  if (flags & FLAG_DETACH) { /* its event is the task itself; the program has it twice */
    task->waits_for_event = true;
    memcpy(event, &task, sizeof task);
    if (data) memcpy(data, &task, sizeof task);
  }
  if (flags & FLAG_DEPEND) depend_all(task, depends);
  start(me, task, is_deferred, fn, data, copy, bytes, align);
}
PUBLIC void omp_fulfill_event(uintptr_t event);
void omp_fulfill_event(uintptr_t event) {
  omp_task *task = (omp_task *)event;
  task->waits_for_event = false;
  if (task->has_run) complete(task);
}
PUBLIC void omp_fulfill_event_(uintptr_t event); /* Fortran's has it by value, too */
void omp_fulfill_event_(uintptr_t event) { omp_fulfill_event(event); }
PUBLIC void GOMP_taskwait(void);
void GOMP_taskwait(void) {
  omp_thread *me = omp_self();
  pm_compute_measured();
  while (me->at.task->child_count)
    if (!omp_task_run(me, me->at.task, NULL)) omp_wait(me, "OpenMP tasks (taskwait)");
}
void GOMP_taskwait_depend(void **depends) {
  omp_thread *me = omp_self();
  pm_compute_measured();
  omp_task *task = begin(me, 0);
  depend_all(task, depends);
  while (task->blocker_count)
    if (!omp_task_run(me, me->at.task, NULL)) omp_wait(me, "OpenMP tasks (taskwait)");
  complete(task);
}
PUBLIC void GOMP_taskwait_depend_nowait(void **depends);
void GOMP_taskwait_depend_nowait(void **depends) { GOMP_taskwait_depend(depends); }
PUBLIC void GOMP_taskyield(void);
void GOMP_taskyield(void) { pm_yield(); }
void GOMP_taskgroup_start(void) {
  omp_task *task = omp_self()->at.task;
  omp_group *g = (omp_group *)omp_alloc_zeroed(sizeof *g);
  g->outer = task->group;
  g->reductions = g->outer ? g->outer->reductions : NULL;
  task->group = g;
}
void GOMP_taskgroup_end(void) {
  omp_thread *me = omp_self();
  omp_group *g = me->at.task->group;
  pm_compute_measured();
  while (g->task_count)
    if (!omp_task_run(me, NULL, g)) omp_wait(me, "OpenMP tasks (taskgroup)");
  me->at.task->group = g->outer;
  free(g);
}
/* How many tasks a loop has; *each: iterations of all but the last, 0: as many in each, the first ones have one more */
static uint64_t loop_tasks(const omp_team *team, unsigned flags, uint64_t asked, uint64_t count,
                           uint64_t *each) {
  const uint64_t threads = team ? (uint64_t)team->thread_count : 1;
  uint64_t tasks = asked ? asked : threads;
  *each = 0;
  if (flags & FLAG_GRAINSIZE && flags & FLAG_STRICT && asked)
    return *each = asked, (count - 1) / asked + 1;
  if (flags & FLAG_GRAINSIZE) tasks = asked ? count / asked : 1;
  if (!tasks) tasks = 1;
  return tasks < count ? tasks : count;
}
/* What a task of a loop is given begins with its range and, where the loop reduces, the list of that. */
static void taskloop(region *fn, void *data, copier *copy, long bytes, long align, unsigned flags,
                     uint64_t asked, uint64_t first, uint64_t count, uint64_t step) {
  omp_thread *me = omp_self();
  const bool has_group = !(flags & FLAG_NOGROUP);
  uintptr_t *list = has_group && flags & FLAG_REDUCTION ? ((uintptr_t **)data)[2] : NULL;
  if (!count || is_cancelled(me->at.team, has_group ? NULL : me->at.task->group)) {
    if (list) omp_reductions_none(list);
    return;
  }
  if (has_group) GOMP_taskgroup_start();
  if (list)
    omp_reductions_begin(me->at.task->group, list, NULL,
                         me->at.team ? me->at.team->thread_count : 1);
  uint64_t each;
  const uint64_t tasks = loop_tasks(me->at.team, flags, asked, count, &each);
  pm_compute_measured();
  const bool is_deferred =
      flags & FLAG_IF && me->at.team && me->at.team->thread_count > 1 && !me->at.task->is_final;
  for (uint64_t i = 0, at = 0; i < tasks; i++) {
    const uint64_t even = count / tasks + (i < count % tasks), left = count - at;
    const uint64_t n = !each ? even : each < left ? each : left;
    const uint64_t range[2] = {first + at * step, first + (at + n) * step};
    void *own = copy_of(data, copy, bytes, align);
    memcpy(own, range, sizeof range);
    omp_task *task = begin(me, flags);
    if (is_deferred) {
      task->fn = fn;
      task->data = own;
      task->has_copies = copy != NULL;
      put_ready(task);
    } else {
      run(me, task, fn, own);
      free(own);
    }
    at += n;
  }
  if (has_group) GOMP_taskgroup_end();
}
PUBLIC void GOMP_taskloop(region *fn, void *data, copier *copy, long bytes, long align,
                          unsigned flags, unsigned long tasks, int priority, long first, long end,
                          long step);
void GOMP_taskloop(region *fn, void *data, copier *copy, long bytes, long align, unsigned flags,
                   unsigned long tasks, int priority, long first, long end, long step) {
  const uint64_t distance =
      step > 0 ? (uint64_t)end - (uint64_t)first : (uint64_t)first - (uint64_t)end;
  const uint64_t each = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
  (void)priority;
  const uint64_t count = (step > 0 ? first < end : first > end) ? (distance - 1) / each + 1 : 0;
  taskloop(fn, data, copy, bytes, align, flags, tasks, (uint64_t)first, count, (uint64_t)step);
}
PUBLIC void GOMP_taskloop_ull(region *fn, void *data, copier *copy, long bytes, long align,
                              unsigned flags, unsigned long tasks, int priority,
                              unsigned long long first, unsigned long long end,
                              unsigned long long step);
void GOMP_taskloop_ull(region *fn, void *data, copier *copy, long bytes, long align, unsigned flags,
                       unsigned long tasks, int priority, unsigned long long first,
                       unsigned long long end, unsigned long long step) {
  const bool is_up = flags & FLAG_UP;
  (void)priority;
  const uint64_t distance = is_up ? end - first : first - end, each = is_up ? step : 0 - step;
  const uint64_t count = (is_up ? first < end : first > end) ? (distance - 1) / each + 1 : 0;
  taskloop(fn, data, copy, bytes, align, flags, tasks, first, count, step);
}
