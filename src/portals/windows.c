/* A world whose nodes are dealt out to threads of the host, see pm_world_desc.threads.

   Each thread has a part: a world of its own (pm_world.whole points to the one it is a part of) with its own time,
   future, threads that are ready, pools and counters, and the processes of some nodes that lie side by side. What all
   read and nobody changes while they run is shared: processes, nodes (each is touched by its own part alone), platform.

   Nothing goes from node to node in less than the latency of the wire (LogGP's L). So all parts may run by themselves
   for a window of that length, from the earliest event of all on: whatever the others send meanwhile comes in a later
   one. [Conservative windows: Nicol, The cost of conservative synchronization in parallel discrete event simulations,
   JACM 1993; Fujimoto, Parallel discrete event simulation, CACM 1990.]

       tell the next event -- meet -- the window -- run -- meet -- take what came -- tell ...

   Why results do not depend on the number of threads: windows begin and end with the earliest event of all, which is
   the same however nodes are dealt out. Messages between nodes wait for the end of the window, those of one part
   too, and are scheduled then in the order of their time, NIC and number of that NIC. So of what happens to a node at
   one time, the order depends on what happened to that node alone. Messages have numbers of their process, random
   numbers are drawn from generators of processes, each node hashes its own steps, and what all share (pm_barrier, the
   search for deadlocks) is looked at between windows. Where a world runs without threads order is that of all calls of
   pm__schedule instead: it takes turns between nodes that no partition could repeat, so such a run is another one.

   A message is touched by one part at a time: its initiator's, until it is handed over at the end of a window, its
   target's, and so back. Those of closed interfaces would be looked at by both, so a process waits for what it has
   under way before it closes one or ends (pm__come_home). */
#include "windows.h"
#ifdef PM_THREADS
#  include <pthread.h>
#endif

enum { PM__PARTS_MOST = 1024 };
typedef struct pm__parcel { /* an event at another node */
  int64_t t_ps;
  pm__event *event;
  int from; /* NIC */
  uint32_t number;
} pm__parcel;
typedef struct pm__box { /* from one part to another */
  pm__parcel *parcel;
  uint32_t count;
  int max;
  pm__message *returned; /* that are over, for those who made them */
} pm__box;
typedef struct pm__told { /* by a part between windows; nobody changes it before all have read it */
  int64_t t_next_ps;
  int barrier_count, live_threads;
  bool is_idle, has_failed;
} pm__told;
typedef enum pm__verdict {
  PM__GOES_ON,
  PM__IS_OVER,
  PM__FAILED_IN_PART,
  PM__AT_LIMIT,
  PM__AT_END,
  PM__DEADLOCKED
} pm__verdict;
struct pm__parts {
  int count;
  pm_world **part;
  uint16_t *of_node;
  pm__box *box; /* from part * count + to part */
  pm__told *told;
  pm__parcel **sorted; /* of each part: what came */
  int *sorted_max;
  int64_t d_window_ps;
#ifdef PM_THREADS
  pthread_mutex_t mutex;
  pthread_cond_t all_here;
  int here_count;
  unsigned meeting;
#endif
};

/* ---- from node to node --------------------------------------------------------------------------- */
PM__PRIVATE void pm__hand_over(pm_world *w, pm__event *event, int64_t t_ps, int from, int to) {
  struct pm__parts *parts = w->whole->parts;
  pm__box *box = &parts->box[w->part * parts->count + parts->of_node[pm__nic_node(w, to)]];
  void *array = box->parcel;
  pm__parcel *p;
  if (!pm__grow(&array, &box->max, (int)box->count + 1, sizeof *p)) {
    pm_world_fail(w, PM_E_NOMEM, "out of memory: messages between threads");
    return;
  }
  box->parcel = (pm__parcel *)array;
  p = &box->parcel[box->count];
  p->t_ps = t_ps;
  p->event = event;
  p->from = from;
  p->number = box->count++;
}
PM__PRIVATE void pm__message_back(pm_world *w, pm__message *m) {
  struct pm__parts *parts = w->whole->parts;
  pm__box *box = &parts->box[w->part * parts->count + m->what.from->proc->world->part];
  m->next = box->returned;
  box->returned = m;
}
static int pm__parcel_order(const void *first, const void *second) {
  const pm__parcel *a = (const pm__parcel *)first, *b = (const pm__parcel *)second;
  if (a->t_ps != b->t_ps) return a->t_ps < b->t_ps ? -1 : 1;
  if (a->from != b->from) return a->from < b->from ? -1 : 1;
  return a->number < b->number ? -1 : a->number > b->number;
}
/* What others have sent in the window that is over; of one NIC all come from one part, so their numbers are in the
   order in which it sent them. */
static void pm__parcels_take(pm_world *w) {
  struct pm__parts *parts = w->whole->parts;
  void *array = parts->sorted[w->part];
  uint32_t count = 0, i;
  int from;
  for (from = 0; from < parts->count; from++)
    count += parts->box[from * parts->count + w->part].count;
  if (!pm__grow(&array, &parts->sorted_max[w->part], (int)count, sizeof(pm__parcel))) {
    pm_world_fail(w, PM_E_NOMEM, "out of memory: messages between threads");
    return;
  }
  pm__parcel *const sorted = parts->sorted[w->part] = (pm__parcel *)array;
  count = 0;
  for (from = 0; from < parts->count; from++) {
    pm__box *box = &parts->box[from * parts->count + w->part];
    if (box->count) memcpy(sorted + count, box->parcel, box->count * sizeof *sorted);
    count += box->count;
    box->count = 0;
    while (box->returned) {
      pm__message *m = box->returned;
      box->returned = m->next;
      pm__message_free(w, m);
    }
  }
  if (count > 1) qsort(sorted, count, sizeof *sorted, pm__parcel_order);
  for (i = 0; i < count; i++) pm__schedule(w, sorted[i].event, sorted[i].t_ps);
}

/* ---- between windows ----------------------------------------------------------------------------- */
/* All parts are here. */
static void pm__meet(struct pm__parts *parts) {
#ifdef PM_THREADS
  enum { LOOKS = 1000 }; /* as long as it takes to be put to sleep and woken */
  unsigned meeting;
  int i;
  if (parts->count == 1) return;
  pthread_mutex_lock(&parts->mutex);
  meeting = parts->meeting;
  if (++parts->here_count == parts->count) {
    parts->here_count = 0;
    __atomic_store_n(&parts->meeting, meeting + 1, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&parts->all_here);
    pthread_mutex_unlock(&parts->mutex);
    return;
  }
  pthread_mutex_unlock(&parts->mutex);
  for (i = 0; i < LOOKS; i++)
    if (__atomic_load_n(&parts->meeting, __ATOMIC_ACQUIRE) != meeting) return;
  pthread_mutex_lock(&parts->mutex);
  while (__atomic_load_n(&parts->meeting, __ATOMIC_ACQUIRE) == meeting)
    pthread_cond_wait(&parts->all_here, &parts->mutex);
  pthread_mutex_unlock(&parts->mutex);
#else
  (void)parts;
#endif
}
static void pm__part_tells(pm_world *w) {
  pm__told *told = &w->whole->parts->told[w->part];
  told->t_next_ps = w->ready_head ? w->now_ps : pm__next_ps(w);
  told->barrier_count = w->barrier_count;
  told->live_threads = w->live_threads;
  told->is_idle = !w->ready_head && w->future_count == (uint32_t)w->idle_count;
  told->has_failed = w->status != PM_OK;
}
/* Each part finds the same from what all have told. The beginning of the next window: *t_ps. */
static pm__verdict pm__judge(pm_world *w, int64_t *t_ps) {
  enum { LOOKS_PER_WINDOW = 64 };
  const struct pm__parts *parts = w->whole->parts;
  int waits = 0, lives = 0, i;
  bool is_idle = true, has_failed = false;
  *t_ps = PM__FOREVER;
  for (i = 0; i < parts->count; i++) {
    const pm__told *told = &parts->told[i];
    if (told->t_next_ps < *t_ps) *t_ps = told->t_next_ps;
    waits += told->barrier_count;
    lives += told->live_threads;
    is_idle = is_idle && told->is_idle;
    has_failed = has_failed || told->has_failed;
  }
  if (has_failed) return PM__FAILED_IN_PART;
  if (waits && waits == w->proc_count) { /* all may go on where the window ended */
    *t_ps = w->t_window_ps;
    w->now_ps = w->t_window_ps;
    pm__barrier_opens(w);
    is_idle = false;
  }
  if (*t_ps == PM__FOREVER) return lives ? PM__DEADLOCKED : PM__IS_OVER;
  if (*t_ps > w->whole->t_limit_ps) return PM__AT_LIMIT;
  if (*t_ps >= PM__END) return PM__AT_END;
  if (!is_idle)
    w->t_idle_since_ps = -1;
  else if (w->t_idle_since_ps < 0)
    w->t_idle_since_ps = *t_ps, w->idle_steps = 0;
  else if ((w->idle_steps += LOOKS_PER_WINDOW),
           pm__is_out_of_patience(w) &&
               *t_ps - w->t_idle_since_ps > pm__ps(w->desc.d_poll_deadlock_ns))
    return PM__DEADLOCKED;
  return PM__GOES_ON;
}
static void pm__part_runs(pm_world *w) {
  struct pm__parts *parts = w->whole->parts;
  const int64_t t_over_ps = w->whole->t_over_ps;
  int64_t t_ps;
  pm__running = w;
  for (;;) {
    pm__part_tells(w);
    pm__meet(parts);
    w->verdict = (int)pm__judge(w, &t_ps);
    if (w->verdict != PM__GOES_ON) break;
    w->t_window_ps = pm__later(t_ps, parts->d_window_ps);
    if (w->t_window_ps > t_over_ps) w->t_window_ps = t_over_ps;
    pm__window(w, w->t_window_ps);
    pm__meet(parts);
    pm__parcels_take(w);
  }
  pm__running = NULL;
}
#ifdef PM_THREADS
static void *pm__part_main(void *part) {
  pm__part_runs((pm_world *)part);
  return NULL;
}
#endif

/* ---- dealing out and collecting -------------------------------------------------------------------- */
/* Why a world cannot run so; NULL: it can. */
static const char *pm__threads_refused(const pm_world *w) {
  const pm_world_desc *d = &w->desc;
#ifndef PM_THREADS
  if (d->threads > 1)
    return "threads: portals_model.h was compiled without PM_THREADS: one thread at most";
#endif
  if (d->link != PM_LINK_LOGGP || d->link_phase_count || d->carrier)
    return "threads: only the level loggp runs over threads, from begin to end";
  if (w->d_loggp_none_ps <= 0) return "threads: windows are as long as LogGP's latency, which is 0";
  if (w->is_faulty)
    return "threads: faults and messages with noise are drawn from one generator: not over threads";
  if (d->trace || d->link_use || w->stamp)
    return "threads: no traces, stamps or use of links: their order is that of one thread";
  if (d->compute_ratio > 0) return "threads: measured computation is not the same for any number";
  if (d->catch_crashes || d->switched || d->moved || d->memory_at || d->died)
    return "threads: no crashes caught, no callbacks: processes are functions of this program";
  return w->future_count ? "threads: something is to happen before the run begins" : NULL;
}
#define PM__TAKE_LIST(type, next, to, from)                                                        \
  do {                                                                                             \
    type **end = &(to);                                                                            \
    while (*end) end = &(*end)->next;                                                              \
    *end = (from);                                                                                 \
    (from) = NULL;                                                                                 \
  } while (0)
static void pm__part_collect(pm_world *w, pm_world *part) {
  pm_stats *s = &w->stats;
  const pm_stats *p = &part->stats;
  s->event_count += p->event_count;
  s->switch_count += p->switch_count;
  s->memory_bytes += p->memory_bytes;
  s->message_count += p->message_count;
  s->sent_bytes += p->sent_bytes;
  s->delivered_bytes += p->delivered_bytes;
  s->undeliverable_count += p->undeliverable_count;
  s->stack_count += p->stack_count - part->first_stack;
  w->now_ps = pm__max_ps(w->now_ps, part->now_ps);
  w->live_threads += part->live_threads;
  w->live_processes += part->live_processes;
  w->has_unguarded = w->has_unguarded || part->has_unguarded;
  PM__TAKE_LIST(pm__message, next_made, w->messages_made, part->messages_made);
  PM__TAKE_LIST(pm__message, next, w->free_messages, part->free_messages);
  PM__TAKE_LIST(pm__trigger, next, w->free_triggers, part->free_triggers);
  PM__TAKE_LIST(pm__header, next, w->free_headers, part->free_headers);
  PM__TAKE_LIST(pm__map, next, w->maps, part->maps);
  PM__TAKE_LIST(pm__slab, next, w->slabs, part->slabs);
  PM__TAKE_LIST(pm__store, next, w->stores, part->stores);
  pm__future_drop(part); /* of a run that failed */
  PM_FREE(part->heap);
  pm__far_free(part);
}
/* An empty copy of the world. */
static pm_world *pm__part_make(pm_world *w, int number, int count) {
  uint64_t guarded = PM__GUARDED_MAX;
  pm_world *p = (pm_world *)PM_MALLOC(sizeof *p);
  if (!p) return NULL;
  memcpy(p, w, sizeof *p);
  memset(&p->stats, 0, sizeof p->stats);
  p->whole = w;
  p->is_unusual = true;
  p->part = number;
  p->heap = NULL;
  p->heap_count = p->heap_max = 0;
  p->far = NULL;
  p->t_far_ps = PM__FOREVER;
  p->ready_head = p->ready_tail = p->barrier_waiters = p->last_run = NULL;
  p->barrier_count = p->live_threads = p->live_processes = 0;
  p->maps = NULL;
  p->free_messages = p->messages_made = NULL;
  p->free_triggers = NULL;
  p->free_headers = NULL;
  p->free_stacks = NULL;
  p->slabs = NULL;
  p->stores = NULL;
  p->store_left = p->store_bytes = 0;
  p->untaken_count = 0;
  p->t_window_ps = w->now_ps;
  /* The kernel limits guard pages of all parts together. */
  if (w->stats.stack_count < guarded) guarded -= (guarded - w->stats.stack_count) / (uint64_t)count;
  p->first_stack = guarded;
  p->stats.stack_count = p->first_stack;
  return p;
}
static void pm__parts_free(pm_world *w) {
  struct pm__parts *parts = w->parts;
  int i;
  for (i = 0; parts->part && i < parts->count; i++) PM_FREE(parts->part[i]);
  for (i = 0; parts->box && i < parts->count * parts->count; i++) PM_FREE(parts->box[i].parcel);
  for (i = 0; parts->sorted && i < parts->count; i++) PM_FREE(parts->sorted[i]);
  PM_FREE(parts->part);
  PM_FREE(parts->of_node);
  PM_FREE(parts->box);
  PM_FREE(parts->told);
  PM_FREE(parts->sorted);
  PM_FREE(parts->sorted_max);
  PM_FREE(parts);
  w->parts = NULL;
}
/* Nodes side by side, with about as many processes each. */
static bool pm__parts_make(pm_world *w, int count) {
  const size_t n = (size_t)count;
  struct pm__parts *parts = w->parts = (struct pm__parts *)pm__zalloc(sizeof *parts);
  int64_t node, before = 0;
  int i;
  if (!parts) return false;
  parts->count = count;
  parts->d_window_ps = w->d_loggp_none_ps;
  parts->part = (pm_world **)pm__zalloc(n * sizeof *parts->part);
  parts->of_node = (uint16_t *)pm__zalloc((size_t)w->plat.node_count * sizeof *parts->of_node);
  parts->box = (pm__box *)pm__zalloc(n * n * sizeof *parts->box);
  parts->told = (pm__told *)pm__zalloc(n * sizeof *parts->told);
  parts->sorted = (pm__parcel **)pm__zalloc(n * sizeof *parts->sorted);
  parts->sorted_max = (int *)pm__zalloc(n * sizeof *parts->sorted_max);
  if (!parts->part || !parts->of_node || !parts->box || !parts->told || !parts->sorted ||
      !parts->sorted_max)
    return false;
  for (i = 0; i < count; i++)
    if (!(parts->part[i] = pm__part_make(w, i, count))) return false;
  for (node = 0; node < w->plat.node_count; node++) {
    parts->of_node[node] = (uint16_t)(before * count / (w->proc_count ? w->proc_count : 1));
    if (parts->of_node[node] >= count) parts->of_node[node] = (uint16_t)(count - 1);
    before += w->nodes[node].process_count;
  }
  return true;
}
static void pm__parts_deal(pm_world *w) {
  const struct pm__parts *parts = w->parts;
  pm_thread *t, *next;
  int i;
  for (i = 0; i < w->proc_count; i++) {
    pm_process *p = w->procs[i];
    p->world = parts->part[parts->of_node[p->node]];
    p->world->live_threads += p->live_threads;
    p->world->live_processes += !p->ended;
  }
  w->live_threads = w->live_processes = 0;
  for (t = w->ready_head; t; t = next) {
    next = t->next_ready;
    t->state = PM__BLOCKED;
    pm__resume(t->proc->world, t);
  }
  w->ready_head = w->ready_tail = NULL;
}
/* The parts' ends become the world's. Of several that failed in one window the first one counts. */
static void pm__parts_end(pm_world *w) {
  struct pm__parts *parts = w->parts;
  const pm_world *first = NULL;
  const pm__verdict verdict = (pm__verdict)parts->part[0]->verdict;
  int64_t nic;
  int i;
  for (i = 0; i < w->proc_count; i++) w->procs[i]->world = w;
  for (i = 0; i < parts->count; i++) {
    pm_world *part = parts->part[i];
    if (part->status && (!first || part->now_ps < first->now_ps)) first = part;
    pm__part_collect(w, part);
  }
  for (nic = 0; nic < w->plat.node_count * w->plat.nic_count; nic++) {
    w->stats.hash_id = (w->stats.hash_id ^ w->nodes[nic].hash_id) * 0x9E3779B97F4A7C15u;
    w->nodes[nic].hash_id = 0;
  }
  if (first) {
    w->now_ps = first->now_ps;
    w->status = first->status;
    w->stopped = 1;
    memcpy(w->error, first->error, sizeof w->error);
  }
  pm__parts_free(w);
  if (verdict == PM__AT_LIMIT || verdict == PM__AT_END) pm__time_is_over(w, verdict == PM__AT_END);
  if (verdict == PM__DEADLOCKED) pm__deadlock(w);
}
/* Part 0 on the thread that called, the others on threads of their own. */
static void pm__parts_run(pm_world *w) {
#ifdef PM_THREADS
  struct pm__parts *parts = w->parts;
  pthread_t *thread = (pthread_t *)pm__zalloc((size_t)parts->count * sizeof *thread);
  int made = 1, i;
  bool is_ready = thread != NULL;
  pthread_mutex_init(&parts->mutex, NULL);
  pthread_cond_init(&parts->all_here, NULL);
  for (; is_ready && made < parts->count; made += is_ready)
    is_ready = pthread_create(&thread[made], NULL, pm__part_main, parts->part[made]) == 0;
  if (!is_ready) { /* those that are there meet the others once, and hear that it is over */
    for (i = made; i < parts->count; i++) parts->told[i].has_failed = true;
    pm_world_fail(parts->part[0], PM_E_NOMEM, "threads: the host gives no more of them");
    parts->told[0].has_failed = true;
    pthread_mutex_lock(&parts->mutex);
    parts->here_count += parts->count - made;
    pthread_mutex_unlock(&parts->mutex);
  }
  pm__part_runs(parts->part[0]);
  for (i = 1; i < made; i++) pthread_join(thread[i], NULL);
  pthread_cond_destroy(&parts->all_here);
  pthread_mutex_destroy(&parts->mutex);
  PM_FREE(thread);
#else
  pm__part_runs(w->parts->part[0]);
#endif
}
PM__PRIVATE void pm__windows_run(pm_world *w) {
  const char *why = pm__threads_refused(w);
  int count = w->desc.threads;
  if (why) {
    pm_world_fail(w, PM_E_INVAL, why);
    return;
  }
  if (count > PM__PARTS_MOST) count = PM__PARTS_MOST;
  if (count > w->plat.node_count) count = (int)w->plat.node_count;
  if (!pm__parts_make(w, count)) {
    if (w->parts) pm__parts_free(w);
    pm_world_fail(w, PM_E_NOMEM, "out of memory: threads");
    return;
  }
  pm__parts_deal(w);
  pm__parts_run(w);
  pm__parts_end(w);
}
