/* Threads that run ahead: see ahead.h.

   Why results are the same: simulated time passes in a thread only inside of calls that wait. A
   thread that runs ahead makes none, so the time stands still from the call that asked for the
   first step until the steps are taken (pm__ahead_run). Then they follow each other as the calls
   would have: the pause, the effect, the next pause. All that others can see belongs to the steps:
   a message's number and payload, an entry's place in its list, events. At the call it is decided
   whether arguments are good and which handle an entry gets, which nobody else changes, and whether
   there is room: without room PtlMEAppend catches up and waits as ever.

   Who may hold steps: the only thread of a process, whose computing is not measured
   (pm__may_run_ahead). All other calls catch up before they do anything (pm__inited, pm_now_ns,
   pm_thread_create ...), so nothing the thread can ask shows that it is ahead.

   Why handlers may not wait: the loop calls them on its own stack (pm__goes_ahead). To wait is to
   save the running context as the thread's and to go on with the loop's (pm__leave): here the
   running context is the loop's, the thread's would be lost, and the loop would go on where it
   entered a thread long ago. pm_exit leaves the stack too, so it ends the run (pm__loop_fails). */
#include "ahead.h"

typedef enum pm__serve_stage { PM__SERVE_LOOK, PM__SERVE_WAIT, PM__SERVE_PAY } pm__serve_stage;
typedef enum pm__ahead_kind { PM__STEP_SLEEP, PM__STEP_APPEND, PM__STEP_MOVE } pm__ahead_kind;
typedef struct pm__ahead_step {
  pm__ahead_kind kind;
  int64_t d_ps;
  pm__ni *ni;
  void *what; /* entry or message */
} pm__ahead_step;
/* Memory is bounded: a thread with so many steps waits until they have taken place. Handlers, which
   cannot wait, get more. Powers of two: a mask finds a place of the ring. */
enum { PM__STEPS_LEAST = 8, PM__STEPS_MOST = 64 };
/* What is looked at each time the thread would run comes first, in one line of the cache. */
struct pm__ahead {
  pm__ahead_step *step; /* a ring */
  uint32_t first, count, max;
  /* what is served once there are no more steps */
  ptl_handle_eq_t eq_handle;
  pm__eq *eq; /* NULL: nothing */
  const bool *is_over;
  pm__ni *ni;
  pm__serve_stage stage;
  bool has_begun; /* the first of the steps */
  bool is_running;
  pm_event_fn handle;
  void *arg;
  ptl_event_t *event;
  int code;
  pm__call_step call; /* of the first one */
};

/* ---- steps --------------------------------------------------------------------------------------- */
/* Alone in the process: another thread would see what the first one wrote after a call before that
   call has taken place. And unmeasured: measured computing takes time between calls, which steps
   that follow each other at once would not have. */
static bool pm__may_run_ahead(const pm_thread *t) {
  return t->proc->live_threads == 1 && !(t->proc->world->desc.compute_ratio > 0);
}
PM__APART static bool pm__steps_grow(pm_thread *t) {
  struct pm__ahead *a = t->ahead;
  const uint32_t max = a->max ? 2 * a->max : (uint32_t)PM__STEPS_LEAST;
  pm__ahead_step *step = (pm__ahead_step *)PM_MALLOC(max * sizeof *step);
  uint32_t i;
  if (!step) {
    pm_world_fail(t->proc->world, PM_E_NOMEM, "out of memory: steps of a process");
    return false;
  }
  for (i = 0; i < a->count; i++) step[i] = a->step[(a->first + i) & (a->max - 1)];
  PM_FREE(a->step);
  t->proc->world->stats.memory_bytes += (max - a->max) * sizeof *step;
  a->step = step;
  a->first = 0;
  a->max = max;
  return true;
}
static bool pm__step_put(pm_thread *t, pm__ahead_kind kind, int64_t d_ps, pm__ni *ni, void *what) {
  struct pm__ahead *a = t->ahead;
  pm__ahead_step *s;
  if (a->count == PM__STEPS_MOST && !t->is_handling) pm__catch_up();
  if (a->count == a->max && !pm__steps_grow(t)) return false;
  s = &a->step[(a->first + a->count++) & (a->max - 1)];
  s->kind = kind;
  s->d_ps = d_ps;
  s->ni = ni;
  s->what = what;
  t->has_steps = true;
  return true;
}
/* Below, *_later is the part of a call that takes no time; the rest becomes the step. */
PM__PRIVATE void pm__sleep_later(pm_thread *t, int64_t d_ps) {
  (void)pm__step_put(t, PM__STEP_SLEEP, d_ps, NULL, NULL);
}
/* The entry is made now, as the caller wants its handle, but linked later: until then it is in no
   list, where a message could find it too early. */
PM__PRIVATE int pm__append_later(pm_thread *t, pm__ni *ni, pm__me *me) {
  if (!pm__step_put(t, PM__STEP_APPEND, t->proc->world->d_append_ps, ni, me)) {
    pm__pool_free(ni, &me->o);
    return PTL_NO_SPACE;
  }
  pm__pt_of(ni, me->pt)->later_count++;
  return PTL_OK;
}
/* The message holds its descriptors (pm__hold in pm__move): nobody may release them before the
   step. Payload is read at the step's time, as that of a call that waits would be
   (pm__message_start), so the caller must leave its buffer alone until then. */
PM__PRIVATE int pm__move_later(pm_thread *t, pm__message *m) {
  return pm__step_put(t, PM__STEP_MOVE, 0, m->what.from, m) ? PTL_OK : PTL_NO_SPACE;
}
/* Of a step that is a pause before something. ret whether that is still to be waited for
   has_begun: nobody but its timer resumes a thread that pauses here, so when the step is looked at
   again the pause is over. is_idle is what the call itself would say: pauses between looks in vain
   are no activity, or a deadlock would never be found. */
static bool pm__step_is_put_off(pm_thread *t, int64_t d_ps, bool is_idle, const char *what) {
  struct pm__ahead *a = t->ahead;
  bool is_put_off = false;
  if (!a->has_begun) {
    a->has_begun = true;
    t->is_idle = is_idle;
    is_put_off = pm__is_put_off(t->proc->world, t, d_ps, what);
  }
  if (!is_put_off) t->is_idle = false;
  return is_put_off;
}
/* As pm__move does it. The number is drawn when the step begins and not at the call: messages are
   numbered in the order of time over all processes, and traces show these numbers. Where all
   command slots are taken by commands that have not left yet, pm__nic_call has put the thread in
   the list of those who look again when one is free. */
static bool pm__move_is_put_off(pm_thread *t, pm__message *m) {
  pm_world *w = t->proc->world;
  struct pm__ahead *a = t->ahead;
  if (!a->has_begun) {
    a->has_begun = true;
    m->what.id = pm__id_next(t->proc);
    memset(&a->call, 0, sizeof a->call);
  }
  while (pm__nic_call(t->proc, m, &a->call)) {
    if (a->call.d_ps == PM__FOREVER) {
      pm__sleeps(w, t, PM__FOREVER, a->call.what);
      return true;
    }
    if (pm__is_put_off(w, t, a->call.d_ps, a->call.what)) return true;
  }
  return false;
}
/* The first step, as far as it gets now. ret whether it is over */
static bool pm__step_go(pm_thread *t) {
  pm_world *w = t->proc->world;
  struct pm__ahead *a = t->ahead;
  const pm__ahead_step *const first = &a->step[a->first];
  const pm__ahead_kind kind = first->kind;
  const bool is_append = kind == PM__STEP_APPEND;
  /* Taken out of the ring when it is over: what it does may put others in. */
  pm__ni *const ni = first->ni;
  void *const what = first->what;
  if (kind == PM__STEP_MOVE
          ? pm__move_is_put_off(t, (pm__message *)what)
          : pm__step_is_put_off(t, first->d_ps,
                                is_append ? first->d_ps <= w->d_look_max_ps : t->is_vain,
                                is_append ? "a Portals call" : "sleep")) {
    t->takes_cpu = kind != PM__STEP_SLEEP;
    return false;
  }
  a->has_begun = false;
  a->first = --a->count ? (a->first + 1) & (a->max - 1) : 0; /* few steps stay in few places */
  t->has_steps = a->count != 0;
  if (is_append) {
    pm__me *me = (pm__me *)what;
    /* Closed meanwhile: a queue's callback is another thread of this process, and may do so. */
    if (ni->refs) {
      if (pm__pt_of(ni, me->pt)->later_count) pm__pt_of(ni, me->pt)->later_count--;
      pm__me_append(ni, me);
    } else
      pm__pool_free(ni, &me->o);
  } else if (kind == PM__STEP_MOVE) {
    pm__message *m = (pm__message *)what;
    if (pm__from_is_alive(m))
      pm__message_start(w, m);
    else
      pm__message_free(w, m);
  }
  return true;
}

/* ---- events -------------------------------------------------------------------------------------- */
/* The stages are what PtlEQWait does, at the same times; only nobody is entered for it:

     LOOK --nothing there--> WAIT --woken--> LOOK
     LOOK --an event--> PAY --its cost has passed--> taken and handled --> steps --> LOOK
                                                     left to the thread --> steps --> over */
static bool pm__serve_ends(struct pm__ahead *a, int code) {
  a->eq = NULL;
  a->code = code;
  return false;
}
/* The event is paid for: takes it.
   What the handler asks for becomes steps, and these take place before the queue is looked at
   again: there a thread that handles the event itself would make its calls. An event that comes
   with PTL_EQ_DROPPED is for the thread: the handler cannot be told that others are lost.
   ret whether it was handled */
static bool pm__serve_takes(pm_thread *t) {
  struct pm__ahead *a = t->ahead;
  ptl_event_t event; /* nearer than the thread's stack */
  const int code = pm__eq_take(a->ni, a->eq, &event);
  const bool defers = t->defers;
  bool is_handled;
  a->stage = PM__SERVE_LOOK;
  if (code != PTL_OK) {
    if (code != PTL_EQ_EMPTY) *a->event = event;
    return pm__serve_ends(a, code);
  }
  t->defers = t->is_handling = true;
  is_handled = a->handle(a->arg, &event) != 0;
  t->defers = defers;
  t->is_handling = false;
  if (is_handled) return true;
  *a->event = event;
  return pm__serve_ends(a, PTL_OK);
}
/* Looks, waits or pays. ret 1: it sleeps; 0: go on; a->eq NULL: it is over */
static bool pm__serve_sleeps(pm_thread *t) {
  struct pm__ahead *a = t->ahead;
  pm_world *w = t->proc->world;
  if (a->stage == PM__SERVE_WAIT) { /* woken */
    t->is_idle = t->is_vain = false;
    t->waits_for_ptl = 0;
    t->describe = NULL;
    t->poll_streak = 0;
    a->stage = PM__SERVE_LOOK;
  }
  /* Looked at after each pause, as in PtlEQWait. Objects never move and their memory stays, so one
     that has gone can be read: it is not live, or has another generation in its handle. */
  if (!a->eq->o.live || a->eq->o.handle != a->eq_handle)
    return pm__serve_ends(a, pm__gone(t->proc));
  if (a->stage == PM__SERVE_LOOK) {
    if (*a->is_over) return pm__serve_ends(a, PTL_EQ_EMPTY);
    if (t->proc->aborted) return pm__serve_ends(a, PTL_ABORTED);
    if (!a->eq->used) {
      a->stage = PM__SERVE_WAIT;
      pm__waits_ptl(t, a->eq, a->eq_handle, 0);
      pm__sleeps(w, t, PM__FOREVER, "PtlEQWait:");
      return true;
    }
    a->stage = PM__SERVE_PAY;
    t->is_idle = w->plat.cpu_event_ns <= w->plat.cpu_poll_max_ns;
    if (pm__is_put_off(w, t, w->d_look_ps, "a Portals call")) return true;
  }
  t->is_idle = false;
  (void)pm__serve_takes(t);
  return false;
}
/* As far as it gets now.
   First on the thread's own stack; once the thread sleeps, on the loop's, each time when the thread
   would run. is_running: traces and calls from inside ask to catch up, and must not begin with the
   steps again. ret whether the thread sleeps; else it may go on itself */
static bool pm__ahead_run(pm_thread *t) {
  struct pm__ahead *a = t->ahead;
  bool sleeps = false;
  a->is_running = true;
  while (!sleeps && (a->count || a->eq)) sleeps = a->count ? !pm__step_go(t) : pm__serve_sleeps(t);
  a->is_running = false;
  t->is_ahead = sleeps;
  return sleeps;
}
/* The thread is the current one, as calls of the handler want it, but it is not entered:
   desc.switched is not called, so thread-local variables may be those of another process. A handler
   must not touch them. */
PM__PRIVATE bool pm__goes_ahead(pm_world *w, pm_thread *t) {
  bool sleeps;
  (void)w;
  pm__current = t;
  sleeps = pm__ahead_run(t);
  pm__current = NULL;
  return sleeps;
}
PM__PRIVATE void pm__catch_up(void) {
  pm_thread *t = pm__current;
  if (!t->has_steps || t->ahead->is_running) return;
  if (pm__ahead_run(t)) pm__leave(t);
}
PM__PRIVATE void pm__ahead_free(pm_thread *t) {
  if (t->ahead) PM_FREE(t->ahead->step);
  PM_FREE(t->ahead);
  t->ahead = NULL;
}

/* ---- calls --------------------------------------------------------------------------------------- */
/* Asked for while it is on, as in handlers, it stays on: only where it begins are the conditions
   looked at. */
PM__APART static bool pm__ahead_make(pm_thread *t) {
  t->ahead = (struct pm__ahead *)pm__zalloc(sizeof *t->ahead);
  if (!t->ahead) return false;
  t->proc->world->stats.memory_bytes += sizeof *t->ahead;
  return true;
}
PM_API bool pm_run_ahead(bool is_ahead) {
  pm_thread *t = pm__current;
  const bool before = t && t->defers;
  if (!t || before == is_ahead) return before;
  if (is_ahead && (!pm__may_run_ahead(t) || t->is_ahead || (!t->ahead && !pm__ahead_make(t))))
    return false;
  t->defers = is_ahead;
  return before;
}
PM_API void pm_catch_up(void) {
  if (pm__current && pm__current->has_steps) pm__catch_up();
}
/* Entries of steps are counted in the pool already (pm__me_new), and in later_count of their portal: what
   a counter triggers meanwhile finds the place taken, as it would if the call had returned. */
PM__PRIVATE int pm__append_room(const pm__ni *ni, ptl_pt_index_t index) {
  const pm__pool *pool = PM__POOL(ni, PM__H_ME);
  const pm__pt *pt = pm__pt_of(ni, index);
  const int room = (int)(pool->limit - pool->used),
            list_room =
                ni->limits.max_list_size - pt->list_count - pt->later_count - pt->asked_count;
  return room < list_room ? room : list_room > 0 ? list_room : 0;
}
PM_API int pm_append_room(ptl_handle_ni_t ni_handle, ptl_pt_index_t index) {
  const pm_process *p = pm__inited();
  const pm__ni *ni = p ? pm__ni_of(p, ni_handle) : NULL;
  return ni && pm__pt_at(ni, index) ? pm__append_room(ni, index) : 0;
}
/* Where nobody may run ahead: as a thread does it itself. */
static int pm__serve_left(ptl_handle_eq_t eq_handle, const bool *is_over, ptl_event_t *event) {
  return *is_over ? PTL_EQ_EMPTY : PtlEQWait(eq_handle, event);
}
/* pm__inited would catch up: pm__ahead_run takes the steps first anyhow, and then goes on with the
   events without entering the thread in between. The caller's variables (is_over, event) live as
   long as this call, during which the thread sleeps. */
PM_API int pm_eq_serve(ptl_handle_eq_t eq_handle, const bool *is_over, pm_event_fn handle,
                       void *arg, ptl_event_t *event) {
  pm_thread *t = pm__current;
  struct pm__ahead *a;
  pm_process *p;
  pm__ni *ni;
  pm__eq *eq;
  if (!is_over || !handle || !event) return PTL_ARG_INVALID;
  if (!t || !t->proc->init_count) return PTL_NO_INIT;
  p = t->proc;
  if (p->aborted) return PTL_ABORTED;
  eq = (pm__eq *)pm__find_any(p, PM__H_EQ, eq_handle, &ni);
  if (!eq) return PTL_ARG_INVALID;
  if (!t->ahead || !pm__may_run_ahead(t)) return pm__serve_left(eq_handle, is_over, event);
  a = t->ahead;
  a->eq = eq;
  a->ni = ni;
  a->eq_handle = eq_handle;
  a->stage = PM__SERVE_LOOK;
  a->is_over = is_over;
  a->handle = handle;
  a->arg = arg;
  a->event = event;
  if (pm__ahead_run(t)) pm__leave(t);
  return a->code;
}
