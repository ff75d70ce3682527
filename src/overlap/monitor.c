/* monitor.c: the four events and the overlap bounds. */
#include "monitor.h"
#include "../base/sums.h"

/* ============================================================================================== */
/* [MONITOR] 7. The four events and the overlap bounds                                            */
/* ============================================================================================== */

#define NBC__MON_MAYBE_EAGER 65536 /* where no table says up to where sends are eager */

/* What C does from here on, in one number: in a call (or off) it stands still at comp_ns, outside of
   calls it grows with the time from comp_ns at t_ns on. */
static inline int64_t nbc__mon_standing(int64_t comp_ns) { return comp_ns * 2 + 1; }
static inline int64_t nbc__mon_growing(int64_t comp_ns, int64_t t_ns) {
  return (t_ns - comp_ns) * 2;
}
static inline int64_t nbc__mon_comp_at(int64_t state, int64_t t_ns) {
  return state & 1 ? state >> 1 : t_ns - (state >> 1);
}

NBC__MON_APART static void nbc__mon_empty_inbox(nbc_recorder *r);

/* From t_ns on, C goes by this state. Foreign stamps are placed by the history, so the owner takes
   them out before it has gone on too far: between two calls, now and then (nbc__mon_look). */
static inline void nbc__mon_set_state(nbc_recorder *r, int64_t t_ns, int64_t state) {
  const uint64_t head = r->history_head;
  NBC__MON_RELAXED_STORE(&r->state, state);
  nbc__mon_turn *turn = &r->history[head & r->history_mask];
  NBC__MON_RELAXED_STORE(&turn->t_ns, t_ns);
  NBC__MON_RELAXED_STORE(&turn->state, state);
  __atomic_store_n(&r->history_head, head + 1, __ATOMIC_RELEASE);
}

static void nbc__mon_read_counters(nbc_recorder *r, bool book);

NBC_API nbc_status nbc_recorder_attach(nbc_monitor *monitor, nbc_recorder **recorder) {
  if (!monitor || !recorder) return NBC_E_INVAL;
  return nbc_recorder_attach_at(monitor, nbc_clock_now_ns(&monitor->clock), recorder);
}

NBC_API nbc_status nbc_recorder_attach_at(nbc_monitor *m, int64_t t_ns, nbc_recorder **recorder) {
  if (!m || !recorder) return NBC_E_INVAL;
  nbc_recorder *r;
  pthread_mutex_lock(&m->mutex);
  for (r = m->recorders; r && r->attached; r = r->next) {
  }
  if (!r) {
    r = nbc__mon_new_recorder(m);
    if (r) r->next = m->recorders, m->recorders = r;
  }
  if (r) {
    /* A recorder used again keeps its numbers; its C goes on from where it stood. */
    const int64_t comp_ns = r->state >> 1; /* detached: as in a call */
    NBC__MON_RELAXED_STORE(&r->on, !m->desc.start_off);
    NBC__MON_RELAXED_STORE(&r->last_ns, t_ns);
    NBC__MON_RELAXED_STORE(&r->thread, pthread_self());
    r->comp_ns = comp_ns;
    r->owed_ns = 0;
    NBC__MON_RELAXED_STORE(&r->place, 0);
    nbc__mon_set_state(r, t_ns,
                       r->on ? nbc__mon_growing(comp_ns, t_ns) : nbc__mon_standing(comp_ns));
    NBC__MON_RELAXED_STORE(&r->attached, true);
    if (r->on) nbc__mon_read_counters(r, false);
  }
  pthread_mutex_unlock(&m->mutex);
  *recorder = r;
  return r ? NBC_OK : NBC_E_NOMEM;
}

/* ---- the event path ------------------------------------------------------------------------ */
/* Only the owner writes these; a report may read them meanwhile. */
static inline void nbc__mon_add(int64_t *sum, int64_t value) {
  NBC__MON_RELAXED_STORE(sum, *sum + value);
}

/* Any thread: C in one word is never half old and half new, which comp_ns and a time could be. */
NBC_API int64_t nbc_recorder_comp_ns(const nbc_recorder *recorder, int64_t t_ns) {
  if (!recorder) return 0;
  return nbc__mon_comp_at(NBC__MON_RELAXED_LOAD(&recorder->state), t_ns);
}

/* Moves this recorder's time on and books it: off, call or computation of the innermost section.
   A time before the last one is taken as equal to it. */
/* So off_ns, tool_ns and all sections' call_ns and comp_ns add up to the time since the attach. */
static inline int64_t nbc__mon_advance(nbc_recorder *r, int64_t t_ns) {
  int64_t d_ns = t_ns - r->last_ns;
  if (__builtin_expect(d_ns < 0, 0)) {
    nbc__mon_problem(r, NBC_PROBLEM_clock_backward);
    return r->last_ns;
  }
  if (__builtin_expect(!r->on, 0))
    nbc__mon_add(&r->off_ns, d_ns);
  else if (r->depth)
    nbc__mon_add(&r->here->call_ns, d_ns);
  else {
    const int64_t tool_ns = r->owed_ns < d_ns ? r->owed_ns : d_ns;
    r->owed_ns -= tool_ns;
    nbc__mon_add(&r->tool_ns, tool_ns);
    nbc__mon_add(&r->here->comp_ns, d_ns - tool_ns);
  }
  NBC__MON_RELAXED_STORE(&r->last_ns, t_ns);
  return t_ns;
}

/* A gap was shorter than what the tool is said to cost in it: then it costs less. */
/* Else the rest would be taken from the next gap, in which nobody spent it. */
static void nbc__mon_lower_costs(nbc_recorder *r, int64_t cost_ns) {
  const int64_t spent_ns = cost_ns - r->owed_ns;
  r->call_cost_ns = (int64_t)((double)r->call_cost_ns * (double)spent_ns / (double)cost_ns);
  r->event_cost_ns = (int64_t)((double)r->event_cost_ns * (double)spent_ns / (double)cost_ns);
  r->owed_ns = 0;
}

/* The call that begins now. */
static inline void nbc__mon_in_call(nbc_recorder *r, nbc_kind kind, int64_t t_ns) {
  r->depth = 1;
  NBC__MON_RELAXED_STORE(&r->call,
                         &r->here->calls[(unsigned)kind < NBC_KIND_COUNT ? kind : NBC_KIND_OTHER]);
  NBC__MON_RELAXED_STORE(&r->enter_ns, t_ns), r->ended_ns = t_ns;
  r->call_seq_counter += 2;
  NBC__MON_RELAXED_STORE(&r->call_seq, r->call_seq_counter | 1);
  r->enter_head = r->ring_head;
  r->share = 1;
}
/* A call in a call, or off, or a clock that steps back, or a gap shorter than what the tool is said to cost. */
NBC__MON_APART static void nbc__mon_enter_rarely(nbc_recorder *r, nbc_kind kind, int64_t t_ns) {
  const int64_t cost_ns = r->owed_ns;
  if (r->depth > 0) {
    r->depth++;
    return;
  }
  t_ns = nbc__mon_advance(r, t_ns);
  if (r->owed_ns > 0) nbc__mon_lower_costs(r, cost_ns);
  int64_t comp_ns = nbc__mon_comp_at(r->state, t_ns);
  if (comp_ns < r->comp_ns) comp_ns = r->comp_ns; /* within the tool's own time */
  nbc__mon_set_state(r, t_ns, nbc__mon_standing(comp_ns));
  nbc__mon_in_call(r, kind, t_ns);
}

NBC_API void nbc_call_enter_at(nbc_recorder *r, nbc_kind kind, int64_t t_ns) {
  if (!r) return;
  const int64_t d_ns = t_ns - r->last_ns;
  if (NBC__MON_RARE(r->depth > 0 || !r->on || d_ns < r->owed_ns)) {
    nbc__mon_enter_rarely(r, kind, t_ns);
    return;
  }
  /* As there. Who is on and in no call computes, so C grows. */
  nbc__mon_add(&r->tool_ns, r->owed_ns);
  nbc__mon_add(&r->here->comp_ns, d_ns - r->owed_ns);
  r->owed_ns = 0;
  NBC__MON_RELAXED_STORE(&r->last_ns, t_ns);
  /* Standing at C(t_ns): state is even here, so C is t_ns - state / 2. */
  nbc__mon_set_state(r, t_ns, 2 * t_ns - r->state + 1);
  nbc__mon_in_call(r, kind, t_ns);
}

NBC_API void nbc_call_shared(nbc_recorder *r, uint32_t ends) {
  if (r) r->share = ends ? 1.0f / (float)ends : 1;
}

NBC_API void nbc_call_tool(nbc_recorder *r, int64_t d_ns) {
  if (r && r->depth && d_ns > 0) r->drain_ns += d_ns;
}

/* Foreign stamps are taken out at every 64th call or so (two turns of the history each). */
static inline void nbc__mon_look(nbc_recorder *r) {
  if (NBC__MON_RARE(((r->history_head | 1) & r->look_mask) == r->look_mask))
    nbc__mon_empty_inbox(r);
}
/* The call that ends now, of a recorder that is on. */
static inline void nbc__mon_after_call(nbc_recorder *r, int64_t t_ns) {
  const int64_t d_ns = t_ns - r->enter_ns;
  nbc__mon_calls *c = r->call;
  if (d_ns < c->min_ns || c->count == 0) NBC__MON_RELAXED_STORE(&c->min_ns, d_ns);
  if (d_ns > c->max_ns) NBC__MON_RELAXED_STORE(&c->max_ns, d_ns);
  nbc__mon_add(&c->total_ns, d_ns);
  NBC__MON_RELAXED_STORE(&c->count, c->count + 1);
  /* Computation begins when the tool has done its own work. */
  r->comp_ns = r->state >> 1;
  r->owed_ns =
      r->call_cost_ns + (int64_t)(r->ring_head - r->enter_head) * r->event_cost_ns + r->drain_ns;
  r->drain_ns = 0;
  t_ns += r->owed_ns;
  nbc__mon_set_state(r, t_ns, nbc__mon_growing(r->comp_ns, t_ns));
}
NBC__MON_APART static void nbc__mon_exit_rarely(nbc_recorder *r, int64_t t_ns) {
  if (r->depth != 1) {
    if (r->depth > 1)
      r->depth--;
    else
      nbc__mon_problem(r, NBC_PROBLEM_exit_without_enter);
    return;
  }
  t_ns = nbc__mon_advance(r, t_ns);
  r->depth = 0;
  NBC__MON_RELAXED_STORE(&r->call_seq, 0);
  if (r->on) nbc__mon_after_call(r, t_ns);
}

NBC_API void nbc_call_exit_at(nbc_recorder *r, int64_t t_ns) {
  if (!r) return;
  if (NBC__MON_RARE(r->depth != 1 || !r->on || t_ns < r->last_ns)) {
    nbc__mon_exit_rarely(r, t_ns);
    return;
  }
  nbc__mon_add(&r->here->call_ns, t_ns - r->last_ns); /* as there */
  NBC__MON_RELAXED_STORE(&r->last_ns, t_ns);
  r->depth = 0;
  NBC__MON_RELAXED_STORE(&r->call_seq, 0);
  nbc__mon_after_call(r, t_ns);
  nbc__mon_look(r); /* last: what it may call is a jump then */
}

#define NBC__MON_UNPLACED INT64_MIN /* as C: not known */
NBC__MON_APART static void nbc__mon_drain_in_time(nbc_recorder *r);
static void nbc__mon_lose_sight(nbc_recorder *r, int64_t known_ns);

/* The next place of the ring, with its time and C; nbc__mon_pushed when the rest is there, too. */
static inline nbc__mon_event *nbc__mon_push(nbc_recorder *r, uint8_t what, uint64_t id,
                                            int64_t t_ns) {
  if (NBC__MON_RARE(r->ring_head - __atomic_load_n(&r->ring_tail, __ATOMIC_ACQUIRE) > r->ring_mask))
    nbc__mon_drain_in_time(r);
  nbc__mon_event *e = &r->ring[r->ring_head & r->ring_mask];
  e->t_ns = t_ns;
  e->comp_ns = nbc__mon_comp_at(r->state, t_ns);
  if (NBC__MON_RARE(t_ns < r->last_ns) && !nbc__mon_comp_then(r, t_ns, &e->comp_ns))
    e->comp_ns = NBC__MON_UNPLACED;
  e->id = id;
  e->call_seq = r->call_seq;
  e->what = what;
  e->back = 0;
  return e;
}
/* A begin says where it stands, and its end how far back that is: drained together, they need no key. What
   had begun unseen needs one, and takes the place of an older begin with its id: that has no end. */
static inline void nbc__mon_note_begin(nbc_recorder *r, uint8_t what, uint64_t id) {
  nbc__mon_begun_at *b = &r->begins[id % NBC__MON_BEGINS];
  b->id = id;
  b->at_plus1 = what == NBC__MON_BEGIN ? r->ring_head + 1 : 0;
}
static inline void nbc__mon_note_end(nbc_recorder *r, nbc__mon_event *e) {
  nbc__mon_begun_at *b = &r->begins[e->id % NBC__MON_BEGINS];
  if (b->id != e->id || !b->at_plus1) return;
  const uint64_t back = r->ring_head + 1 - b->at_plus1;
  if (back <= r->ring_mask && back <= UINT16_MAX && e->what != NBC__MON_CANCEL)
    e->back = (uint16_t)back;
  b->at_plus1 = 0; /* another end of it is none of this begin */
}
static inline void nbc__mon_pushed(nbc_recorder *r) {
  __atomic_store_n(&r->ring_head, r->ring_head + 1, __ATOMIC_RELEASE);
}
/* What is moved, and where. */
static inline void nbc__mon_push_what(nbc_recorder *r, nbc__mon_event *e, uint64_t size_bytes,
                                      nbc_kind kind, nbc_peer peer) {
  e->size_bytes = size_bytes;
  e->section = r->section;
  e->kind = (unsigned)kind < NBC_KIND_COUNT ? (uint8_t)kind : 0;
  e->peer = (unsigned)peer < NBC_PEER_COUNT ? (uint8_t)peer : 0;
}
/* What of the open call's time an end in it gets: all since the call began, or since the end before it,
   unless it is said how many share. */
static inline float nbc__mon_waited_ns(nbc_recorder *r, int64_t t_ns) {
  if (!r->depth) return 0;
  if (NBC__MON_RARE(r->share < 1)) return (float)(t_ns - r->enter_ns) * r->share;
  const int64_t d_ns = t_ns - r->ended_ns;
  if (NBC__MON_RARE(d_ns <= 0)) return 0;
  r->ended_ns = t_ns;
  return (float)d_ns;
}
NBC_API int64_t nbc_recorder_waited_ns(const nbc_recorder *r, int64_t t_ns) {
  if (!r || !r->depth) return 0;
  if (r->share < 1) return (int64_t)((float)(t_ns - r->enter_ns) * r->share);
  return t_ns > r->ended_ns ? t_ns - r->ended_ns : 0;
}
static inline void nbc__mon_push_begin(nbc_recorder *r, uint8_t what, uint64_t id,
                                       uint64_t size_bytes, nbc_kind kind, nbc_peer peer,
                                       int64_t t_ns) {
  nbc__mon_event *e = nbc__mon_push(r, what, id, t_ns);
  nbc__mon_push_what(r, e, size_bytes, kind, peer);
  e->place = r->place;
  nbc__mon_note_begin(r, what, id);
  nbc__mon_pushed(r);
}
static inline void nbc__mon_push_end(nbc_recorder *r, uint8_t what, uint64_t id, int64_t t_ns) {
  nbc__mon_event *e = nbc__mon_push(r, what, id, t_ns);
  e->waited_ns = nbc__mon_waited_ns(r, t_ns);
  nbc__mon_note_end(r, e);
  nbc__mon_pushed(r);
}
static inline void nbc__mon_push_end_of(nbc_recorder *r, uint8_t what, uint64_t id,
                                        uint64_t size_bytes, nbc_kind kind, nbc_peer peer,
                                        int64_t t_ns) {
  nbc__mon_event *e = nbc__mon_push(r, what, id, t_ns);
  nbc__mon_push_what(r, e, size_bytes, kind, peer);
  e->waited_ns = nbc__mon_waited_ns(r, t_ns);
  if (what != NBC__MON_END_ONLY) nbc__mon_note_end(r, e);
  nbc__mon_pushed(r);
}

NBC_API void nbc_xfer_begin_at(nbc_recorder *r, uint64_t id, uint64_t size_bytes, nbc_kind kind,
                               nbc_peer peer, int64_t t_ns) {
  if (!r) return;
  if (r->on) nbc__mon_push_begin(r, NBC__MON_BEGIN, id, size_bytes, kind, peer, t_ns);
}
NBC_API void nbc_xfer_begun_at(nbc_recorder *r, uint64_t id, uint64_t size_bytes, nbc_kind kind,
                               nbc_peer peer, int64_t t_ns) {
  if (!r) return;
  if (r->on) nbc__mon_push_begin(r, NBC__MON_BEGUN, id, size_bytes, kind, peer, t_ns);
}
NBC_API void nbc_xfer_end_at(nbc_recorder *r, uint64_t id, int64_t t_ns) {
  if (!r) return;
  nbc__mon_push_end(r, NBC__MON_END, id, t_ns);
}
NBC_API void nbc_xfer_end_sized_at(nbc_recorder *r, uint64_t id, uint64_t size_bytes, nbc_peer peer,
                                   int64_t t_ns) {
  if (!r) return;
  nbc__mon_push_end_of(r, NBC__MON_END_SIZED, id, size_bytes, NBC_KIND_OTHER, peer, t_ns);
}
NBC_API void nbc_xfer_end_early_at(nbc_recorder *r, uint64_t id, uint64_t size_bytes, nbc_peer peer,
                                   int64_t t_ns) {
  if (!r) return;
  nbc__mon_push_end_of(r, NBC__MON_END_EARLY, id, size_bytes, NBC_KIND_OTHER, peer, t_ns);
}
NBC_API void nbc_xfer_end_local_at(nbc_recorder *r, uint64_t id, int64_t t_ns) {
  if (!r) return;
  nbc__mon_push_end(r, NBC__MON_END_LOCAL, id, t_ns);
}
NBC_API void nbc_xfer_end_only_at(nbc_recorder *r, uint64_t size_bytes, nbc_kind kind,
                                  nbc_peer peer, int64_t t_ns) {
  if (!r) return;
  if (r->on) nbc__mon_push_end_of(r, NBC__MON_END_ONLY, r->place, size_bytes, kind, peer, t_ns);
}
NBC_API void nbc_xfer_cancel(nbc_recorder *r, uint64_t id) {
  if (!r) return;
  nbc__mon_push_end(r, NBC__MON_CANCEL, id, r->last_ns);
}

NBC_API void nbc_call_enter(nbc_recorder *r, nbc_kind kind) {
  if (!r) return;
  if (r->depth > 0)
    r->depth++;
  else
    nbc_call_enter_at(r, kind, nbc_clock_now_ns(&r->monitor->clock));
}
NBC_API void nbc_call_exit(nbc_recorder *r) {
  if (!r) return;
  if (r->depth > 1)
    r->depth--;
  else
    nbc_call_exit_at(r, nbc_clock_now_ns(&r->monitor->clock));
}
NBC_API void nbc_xfer_begin(nbc_recorder *r, uint64_t id, uint64_t size_bytes, nbc_kind kind,
                            nbc_peer peer) {
  if (!r) return;
  nbc_xfer_begin_at(r, id, size_bytes, kind, peer, nbc_clock_now_ns(&r->monitor->clock));
}
NBC_API void nbc_xfer_begun(nbc_recorder *r, uint64_t id, uint64_t size_bytes, nbc_kind kind,
                            nbc_peer peer) {
  if (!r) return;
  nbc_xfer_begun_at(r, id, size_bytes, kind, peer, nbc_clock_now_ns(&r->monitor->clock));
}
NBC_API void nbc_xfer_end(nbc_recorder *r, uint64_t id) {
  if (!r) return;
  nbc_xfer_end_at(r, id, nbc_clock_now_ns(&r->monitor->clock));
}
NBC_API void nbc_xfer_end_sized(nbc_recorder *r, uint64_t id, uint64_t size_bytes, nbc_peer peer) {
  if (!r) return;
  nbc_xfer_end_sized_at(r, id, size_bytes, peer, nbc_clock_now_ns(&r->monitor->clock));
}
NBC_API void nbc_xfer_end_early(nbc_recorder *r, uint64_t id, uint64_t size_bytes, nbc_peer peer) {
  if (!r) return;
  nbc_xfer_end_early_at(r, id, size_bytes, peer, nbc_clock_now_ns(&r->monitor->clock));
}
NBC_API void nbc_xfer_end_local(nbc_recorder *r, uint64_t id) {
  if (!r) return;
  nbc_xfer_end_local_at(r, id, nbc_clock_now_ns(&r->monitor->clock));
}
NBC_API void nbc_xfer_end_parts_at(nbc_recorder *r, uint64_t id, int64_t t_ns) {
  if (!r) return;
  nbc__mon_push_end(r, NBC__MON_END_PARTS, id, t_ns);
}
NBC_API void nbc_xfer_end_parts(nbc_recorder *r, uint64_t id) {
  if (!r) return;
  nbc_xfer_end_parts_at(r, id, nbc_clock_now_ns(&r->monitor->clock));
}
NBC_API void nbc_xfer_end_only(nbc_recorder *r, uint64_t size_bytes, nbc_kind kind, nbc_peer peer) {
  if (!r) return;
  nbc_xfer_end_only_at(r, size_bytes, kind, peer, nbc_clock_now_ns(&r->monitor->clock));
}

/* ---- sections, on and off ------------------------------------------------------------------ */
NBC__PRIVATE void nbc__mon_lock(nbc_recorder *r) {
  while (__atomic_exchange_n(&r->lock, 1, __ATOMIC_ACQUIRE))
    while (NBC__MON_RELAXED_LOAD(&r->lock)) sched_yield();
}
NBC__PRIVATE void nbc__mon_unlock(nbc_recorder *r) {
  __atomic_store_n(&r->lock, 0, __ATOMIC_RELEASE);
}

/* Reads the counters and, with `book`, adds what they moved to the section of now. */
NBC__PRIVATE void nbc__mon_read_counters_locked(nbc_recorder *r, bool book) {
  const nbc_counter_source *s = r->monitor->desc.counters;
  uint64_t now[NBC_MAX_COUNTERS];
  if (!r->counter_sums) return;
  const bool ok = s->read(s->user, now);
  bool lost = !ok;
  uint64_t *sums = &r->counter_sums[NBC__MON_RELAXED_LOAD(&r->section) * s->count];
  for (size_t i = 0; ok && i < s->count; i++) {
    /* Gone back (reset, or wrapped): nobody knows what it moved; the next interval counts again. */
    if (r->counter_valid && now[i] < r->counter_last[i])
      lost = true;
    else if (r->counter_valid && book)
      sums[i] += now[i] - r->counter_last[i];
    r->counter_last[i] = now[i];
  }
  r->counter_valid = ok;
  if (lost)
    NBC__MON_RELAXED_STORE(&r->problems[NBC_PROBLEM_counter_lost],
                           r->problems[NBC_PROBLEM_counter_lost] + 1);
}
static void nbc__mon_read_counters(nbc_recorder *r, bool book) {
  if (!r->counter_sums) return;
  nbc__mon_lock(r);
  nbc__mon_read_counters_locked(r, book);
  nbc__mon_unlock(r);
}

static void nbc__mon_go_to_section(nbc_recorder *r, int section) {
  nbc__mon_read_counters(r, r->on);
  NBC__MON_RELAXED_STORE(&r->section, (uint16_t)section);
  r->here = &r->sections[section];
}

/* Sections are a tree: the same name within another section is another one. */
static int nbc__mon_find_section(nbc_recorder *r, const char *name) {
  char key[sizeof r->sections[0].name];
  size_t length = strlen(name);
  if (length >= sizeof key) length = sizeof key - 1;
  memcpy(key, name, length);
  key[length] = 0;
  for (size_t i = 1; i < r->section_count; i++)
    if (r->sections[i].parent == r->section && strcmp(r->sections[i].name, key) == 0) return (int)i;
  if (r->section_count >= r->monitor->desc.max_sections) return -1;
  nbc__mon_section *s = &r->sections[r->section_count];
  memcpy(s->name, key, length + 1);
  s->parent = r->section;
  __atomic_store_n(&r->section_count, r->section_count + 1, __ATOMIC_RELEASE);
  return (int)r->section_count - 1;
}

NBC_API void nbc_section_begin_at(nbc_recorder *r, const char *name, int64_t t_ns) {
  if (!r) return;
  nbc__mon_advance(r, t_ns);
  if (r->open_depth >= NBC_MAX_DEPTH) {
    r->open_overflow++;
    nbc__mon_problem(r, NBC_PROBLEM_sections_overflow);
    return;
  }
  int found = nbc__mon_find_section(r, name ? name : "?");
  if (found < 0) {
    nbc__mon_problem(r, NBC_PROBLEM_sections_overflow);
    found = r->section;
  }
  r->open[r->open_depth++] = r->section;
  nbc__mon_go_to_section(r, found);
  NBC__MON_RELAXED_STORE(&r->sections[found].count, r->sections[found].count + 1);
}

NBC_API void nbc_section_end_at(nbc_recorder *r, const char *name, int64_t t_ns) {
  if (!r) return;
  nbc__mon_advance(r, t_ns);
  if (r->open_overflow > 0) {
    r->open_overflow--;
    return;
  }
  if (r->open_depth == 0) {
    nbc__mon_problem(r, NBC_PROBLEM_section_unbalanced);
    return;
  }
  if (name && strncmp(name, r->sections[r->section].name, sizeof r->sections[0].name - 1) != 0)
    nbc__mon_problem(r, NBC_PROBLEM_section_unbalanced);
  nbc__mon_go_to_section(r, r->open[--r->open_depth]);
}

NBC_API void nbc_recorder_place(nbc_recorder *r, uint32_t place) {
  if (!r) return;
  NBC__MON_RELAXED_STORE(&r->place, (uint16_t)(place <= UINT16_MAX ? place : 0));
}

NBC_API void nbc_recorder_switch_at(nbc_recorder *r, bool on, int64_t t_ns) {
  if (!r) return;
  t_ns = nbc__mon_advance(r, t_ns);
  if (r->on == on) return;
  nbc__mon_read_counters(r, !on);
  if (!on) {
    nbc__mon_lock(r);
    nbc__mon_lose_sight(r, INT64_MIN);
    nbc__mon_unlock(r);
  }
  /* C stands still while off, as it does inside a call. */
  const int64_t comp_ns = nbc__mon_comp_at(r->state, t_ns);
  NBC__MON_RELAXED_STORE(&r->on, on);
  nbc__mon_set_state(
      r, t_ns, on && r->depth == 0 ? nbc__mon_growing(comp_ns, t_ns) : nbc__mon_standing(comp_ns));
  /* a call that is open now counts from here */
  NBC__MON_RELAXED_STORE(&r->enter_ns, t_ns), r->ended_ns = t_ns;
}

NBC_API void nbc_section_begin(nbc_recorder *r, const char *name) {
  if (!r) return;
  nbc_section_begin_at(r, name, nbc_clock_now_ns(&r->monitor->clock));
}
NBC_API void nbc_section_end(nbc_recorder *r, const char *name) {
  if (!r) return;
  nbc_section_end_at(r, name, nbc_clock_now_ns(&r->monitor->clock));
}
NBC_API void nbc_recorder_switch(nbc_recorder *r, bool on) {
  if (!r) return;
  nbc_recorder_switch_at(r, on, nbc_clock_now_ns(&r->monitor->clock));
}

/* ---- draining: events become sums. Everything below runs under the recorder's lock. -------- */
static inline uint64_t nbc__mon_hash(uint64_t id) { return (id * 0x9E3779B97F4A7C15u) >> 20; }

/* Ids that follow each other share a cache line. */
static inline uint64_t nbc__mon_home(uint64_t id) { return nbc__mon_hash(id >> 2) << 2 | (id & 3); }

/* its key, or the empty one for it */
/* Ends at an empty key: there are twice as many keys as transfers may be active. */
static inline nbc__mon_key *nbc__mon_find(nbc_recorder *r, uint64_t id) {
  uint64_t i = nbc__mon_home(id) & r->key_mask;
  while (r->keys[i].index_plus1 && r->keys[i].id != id) i = (i + 1) & r->key_mask;
  return &r->keys[i];
}

/* No "deleted" marks, which would fill the table for ever [Knuth 6.4, algorithm R]. */
static void nbc__mon_remove(nbc_recorder *r, nbc__mon_key *key) {
  r->pool[r->pool_count++] = key->index_plus1 - 1;
  /* Close the gap: keys further on that could stand here move back. */
  uint64_t hole = (uint64_t)(key - r->keys), i = hole;
  for (;;) {
    i = (i + 1) & r->key_mask;
    if (!r->keys[i].index_plus1) break;
    const uint64_t home = nbc__mon_home(r->keys[i].id) & r->key_mask;
    if (((i - home) & r->key_mask) >= ((i - hole) & r->key_mask)) {
      r->keys[hole] = r->keys[i];
      hole = i;
    }
  }
  r->keys[hole].index_plus1 = 0;
}

NBC__PRIVATE int nbc__mon_class(const nbc_monitor *m, uint64_t size_bytes) {
  int c = 0;
  while (c < (int)m->desc.class_edge_count && size_bytes > m->edges[c]) c++;
  return c;
}

/* Where a transfer began, by its begin or by its end alone. */
static inline uint32_t nbc__mon_place_of(const nbc__mon_event *first) {
  return first->what == NBC__MON_END_ONLY ? (uint32_t)first->id : first->place;
}

/* When three quarters are taken, new ones have no place: a program with very many must not lose what matters more. */
NBC__MON_APART static nbc_cell *nbc__mon_cell(nbc_recorder *r, int section, nbc_kind kind,
                                              int class_index, nbc_peer peer, uint32_t place) {
  nbc_cell *c;
  const size_t most = r->monitor->desc.max_cells;
  const uint64_t index_mask = 2 * nbc__pow2(most, 0) - 1;
  const uint64_t key = ((uint64_t)place << 32) | ((uint64_t)section << 16) | ((uint64_t)kind << 8) |
                       ((uint64_t)class_index << 2) | (uint64_t)peer;
  uint64_t i = nbc__mon_hash(key) & index_mask;
  for (; r->cell_index[i]; i = (i + 1) & index_mask) {
    c = &r->cells[r->cell_index[i] - 1];
    if (c->section_index == section && c->kind == kind && c->class_index == class_index &&
        c->peer == peer && c->site_plus1 == (int)place)
      return c;
  }
  if (place && r->cell_count > most - most / 4) {
    nbc__mon_problem(r, NBC_PROBLEM_places_overflow);
    return nbc__mon_cell(r, section, kind, class_index, peer, 0);
  }
  if (r->cell_count > most) {
    nbc__mon_problem(r, NBC_PROBLEM_cells_overflow);
    return &r->cells[0];
  }
  c = &r->cells[r->cell_count++];
  c->section_index = section;
  c->kind = kind;
  c->class_index = class_index;
  c->peer = peer;
  c->site_plus1 = (int)place; /* the monitor's number of it, until it is reported */
  r->cell_index[i] = (uint32_t)(c - r->cells) + 1;
  return c;
}

NBC__PRIVATE nbc_cell *nbc__mon_begin_cell(nbc_recorder *r, const nbc__mon_event *b) {
  return nbc__mon_cell(r, b->section, (nbc_kind)b->kind, nbc__mon_class(r->monitor, b->size_bytes),
                       (nbc_peer)b->peer, nbc__mon_place_of(b));
}

/* The transfer time, and in *fastest_ns how fast it may be at least: 0 where nobody measured it. */
static int64_t nbc__mon_xfer_ns(const nbc_recorder *r, nbc_peer peer, uint64_t size_bytes,
                                int64_t *fastest_ns) {
  const nbc_monitor *m = r->monitor;
  const nbc_monitor_desc *d = &m->desc;
  const int64_t hour_ns =
      3600000000000; /* nobody's message takes longer; keeps sums from overflowing */
  const nbc_table *table = peer == NBC_PEER_SAME_NODE ? d->table_same_node
                           : peer == NBC_PEER_SELF    ? m->table_self
                                                      : d->table_other_node;
  int64_t t_ns = nbc_table_time_ns(table, size_bytes);
  if (t_ns > hour_ns) t_ns = hour_ns;
  const bool guessed =
      table == m->own_table[0] || table == m->own_table[1] || table == m->table_self;
  *fastest_ns = guessed || nbc_table_disturbed(table) ? 0 : t_ns;
  if (peer != NBC_PEER_UNKNOWN) return t_ns;
  /* the slower of the two; as a lower bound, the faster */
  int64_t other_ns = nbc_table_time_ns(d->table_same_node, size_bytes);
  if (other_ns > hour_ns) other_ns = hour_ns;
  if (m->own_table[0] || nbc_table_disturbed(d->table_same_node)) *fastest_ns = 0;
  if (other_ns < *fastest_ns) *fastest_ns = other_ns;
  return other_ns > t_ns ? other_ns : t_ns;
}

/* How much of a message may be here before its receive is posted, or on its way when its send has ended:
   what is sent before the receiver answers. Of a larger message, too, so much may go ahead. */
static uint64_t nbc__mon_eager_bytes(const nbc_recorder *r, nbc_peer peer, uint64_t size_bytes) {
  const nbc_monitor_desc *d = &r->monitor->desc;
  const int64_t same = nbc_table_eager_bytes(d->table_same_node),
                other = nbc_table_eager_bytes(d->table_other_node);
  const uint64_t most_same = same < 0 ? NBC__MON_MAYBE_EAGER : (uint64_t)same;
  const uint64_t most_other = other < 0 ? NBC__MON_MAYBE_EAGER : (uint64_t)other;
  uint64_t most = most_same > most_other ? most_same : most_other; /* of a peer that is not known */
  if (peer == NBC_PEER_SAME_NODE || peer == NBC_PEER_SELF) most = most_same;
  if (peer == NBC_PEER_OTHER_NODE) most = most_other;
  return size_bytes < most ? size_bytes : most;
}

/* How much of what a send was to move may be on its way when it has ended. */
static uint64_t nbc__mon_tail_bytes(const nbc_recorder *r, nbc_peer peer, uint64_t size_bytes) {
  const nbc_monitor_desc *d = &r->monitor->desc;
  const int64_t same = nbc_table_tail_bytes(d->table_same_node),
                other = nbc_table_tail_bytes(d->table_other_node);
  if (peer == NBC_PEER_SELF) return 0; /* copied inside calls */
  if (peer == NBC_PEER_UNKNOWN) return same == 0 && other == 0 ? 0 : size_bytes;
  const int64_t most = peer == NBC_PEER_SAME_NODE ? same : other;
  if (most == 0) return 0;
  if (most < 0) return size_bytes;
  return (uint64_t)most < size_bytes ? (uint64_t)most : size_bytes;
}

/* Measured with messages: the tables say nothing of how fast a put, a get or an update may be. */
static bool nbc__mon_is_off_table(const nbc_recorder *r, int kind) {
  return r->monitor->desc.tables_of_messages &&
         (kind == NBC_KIND_PUT || kind == NBC_KIND_GET || kind == NBC_KIND_ATOMIC);
}

/* How much of a transfer may have moved outside of the window between its stamps; all of it: one of
   them is not believed. */
static uint64_t nbc__mon_outside_bytes(const nbc_recorder *r, int what, uint64_t size_bytes,
                                       nbc_peer peer) {
  const uint64_t eager_bytes = nbc__mon_eager_bytes(r, peer, size_bytes);
  if (what == NBC__MON_END_PARTS) return size_bytes;
  if (what == NBC__MON_END_EARLY) return eager_bytes;
  if (what != NBC__MON_END_LOCAL) return 0;
  return eager_bytes == size_bytes ? size_bytes : nbc__mon_tail_bytes(r, peer, size_bytes);
}

/* How far two stamps of a transfer are believed: both; not both when the window is shorter than the
   transfer takes; never both. */
typedef enum nbc__mon_trust {
  NBC__MON_BOTH,
  NBC__MON_BOTH_WHEN_LONG,
  NBC__MON_NEVER
} nbc__mon_trust;

NBC__MON_APART static nbc__mon_shape *nbc__mon_make_shape(nbc_recorder *r, nbc__mon_shape *s,
                                                          uint64_t key, int kind, int what,
                                                          uint64_t size_bytes, nbc_peer peer) {
  int64_t any_ns;
  memset(s, 0, sizeof *s);
  s->key = key;
  s->size_bytes = size_bytes;
  s->x_ns = nbc__mon_xfer_ns(r, peer, size_bytes, &s->fastest_ns);
  s->outside_bytes = nbc__mon_outside_bytes(r, what, size_bytes, peer);
  if (s->outside_bytes)
    s->outside_ns =
        nbc__table_part_of(s->x_ns, size_bytes,
                           nbc__mon_xfer_ns(r, peer, s->outside_bytes, &any_ns), s->outside_bytes);
  s->off_table = nbc__mon_is_off_table(r, kind);
  if (s->off_table) s->fastest_ns = 0;
  if (what == NBC__MON_END_LOCAL) s->end = NBC__MON_BOTH_WHEN_LONG;
  if (s->outside_bytes == size_bytes && /* so are messages without data */
      (what == NBC__MON_END_PARTS || what == NBC__MON_END_EARLY || what == NBC__MON_END_LOCAL))
    s->end = NBC__MON_NEVER;
  return s;
}
/* what: of the end; NBC__MON_BEGIN: there is none. */
static inline nbc__mon_shape *nbc__mon_shape_of(nbc_recorder *r, const nbc__mon_event *first,
                                                int what, uint64_t size_bytes, nbc_peer peer) {
  const uint64_t key = (uint64_t)1 << 63 | (uint64_t)nbc__mon_place_of(first) << 40 |
                       (uint64_t)first->section << 24 | (uint64_t)first->kind << 16 |
                       (uint64_t)what << 8 | (uint64_t)peer;
  const uint64_t mixed = (key ^ size_bytes * 0xC2B2AE3D27D4EB4Fu) * 0x9E3779B97F4A7C15u;
  nbc__mon_shape *s = &r->shapes[mixed >> (64 - NBC__MON_SHAPES_LOG2)];
  if (s->key == key && s->size_bytes == size_bytes) return s;
  return nbc__mon_make_shape(r, s, key, first->kind, what, size_bytes, peer);
}

/* What can be said of a transfer with begin b and end e; either may be NULL, or not believed. */
static inline nbc__mon_bounds nbc__mon_bounds_of(nbc_recorder *r, const nbc__mon_shape *shape,
                                                 const nbc__mon_event *b, const nbc__mon_event *e,
                                                 int64_t *comp_ns) {
  nbc__mon_bounds o;
  int64_t window_ns = 0, outside_ns = shape->outside_ns, fastest_ns = shape->fastest_ns;
  o.outside_bytes = 0;
  o.faster = false;
  o.x_ns = shape->x_ns;
  if (b && e && NBC__MON_RARE(e->t_ns < b->t_ns)) {
    nbc__mon_problem(r, NBC_PROBLEM_ended_before_begin);
    b = NULL;
  }
  if (b && e && NBC__MON_RARE(b->comp_ns == NBC__MON_UNPLACED || e->comp_ns == NBC__MON_UNPLACED)) {
    nbc__mon_problem(r, NBC_PROBLEM_unplaced);
    b = NULL;
  }
  if (b && e) {
    window_ns = e->t_ns - b->t_ns;
    o.outside_bytes = shape->outside_bytes;
    if (shape->end == NBC__MON_NEVER ||
        (shape->end == NBC__MON_BOTH_WHEN_LONG && o.x_ns > window_ns))
      b = NULL;
  }
  o.case_of = 2;
  o.min_ns = 0;
  o.max_ns = o.x_ns;
  if (!b || !e) return o;
  *comp_ns = e->comp_ns - b->comp_ns;
  if (*comp_ns < 0) *comp_ns = 0;
  if (*comp_ns > window_ns) *comp_ns = window_ns;
  if (o.x_ns > window_ns + outside_ns) {
    nbc__mon_problem(r, NBC_PROBLEM_table_too_slow);
    o.x_ns = window_ns + outside_ns;
    o.faster = true;
    fastest_ns = 0; /* this one was faster than the table: who knows how much */
  }
  if (outside_ns > o.x_ns) outside_ns = o.x_ns;
  if (fastest_ns > o.x_ns) fastest_ns = o.x_ns;
  /* A foreign stamp names the call that the owner was in when the other thread looked, which may be
     over at the stamp's time: "begin, in call 7" and "end, in call 7" can have computation between
     them, where the owner left call 7 and the other thread had looked before. So C has the last
     word. */
  o.case_of = b->call_seq && b->call_seq == e->call_seq && *comp_ns == 0 ? 0 : 1;
  /* [O §2.2 case 2], max: min(comp, x); min: max(0, x - noncomp). But outside_ns of x may have
     moved where nobody looked, hidden or not: max grows by it, min shrinks. And min takes x at its
     fastest, which is 0 for a guess. */
  const int64_t noncomp_ns = window_ns - *comp_ns;
  o.max_ns = *comp_ns < o.x_ns - outside_ns ? *comp_ns + outside_ns : o.x_ns;
  /* Of unknown speed, all of it may have moved in the shortest computation. */
  if ((o.faster || shape->off_table) && *comp_ns > 0) o.max_ns = o.x_ns;
  o.min_ns = fastest_ns - outside_ns > noncomp_ns ? fastest_ns - outside_ns - noncomp_ns : 0;
  if (outside_ns && o.case_of == 0) o.case_of = 2; /* most of it was seen, not all */
  return o;
}

/* [O §2.2]: one transfer with begin b and end e; e == NULL or b == NULL: case 3. */
static inline nbc__mon_bounds nbc__mon_book(nbc_recorder *r, nbc_cell *cell,
                                            const nbc__mon_shape *shape, const nbc__mon_event *b,
                                            const nbc__mon_event *e) {
  nbc_totals *t = &cell->t;
  int64_t comp_ns = 0;
  const nbc__mon_bounds o = nbc__mon_bounds_of(r, shape, b, e, &comp_ns);
  t->count++;
  t->size_bytes += shape->size_bytes;
  t->case_count[o.case_of]++;
  if (o.case_of == 1) {
    cell->available_ns += comp_ns;
    cell->available_count[nbc__bin(comp_ns)]++;
  }
  if (e) t->waited_ns += (int64_t)e->waited_ns;
  t->xfer_ns += o.x_ns;
  t->min_overlap_ns += o.min_ns;
  t->max_overlap_ns += o.max_ns;
  return o;
}
NBC__PRIVATE nbc__mon_bounds nbc__mon_account(nbc_recorder *r, nbc_cell *cell,
                                              const nbc__mon_event *b, const nbc__mon_event *e,
                                              uint64_t size_bytes, nbc_peer peer) {
  const nbc__mon_event *first = b ? b : e;
  return nbc__mon_book(
      r, cell,
      nbc__mon_shape_of(r, first, e ? (int)e->what : (int)NBC__MON_BEGIN, size_bytes, peer), b, e);
}

NBC__MON_APART NBC__PRIVATE void nbc__mon_tell(const nbc_recorder *r, const nbc__mon_event *b,
                                               const nbc__mon_event *e, uint64_t size_bytes,
                                               nbc_peer peer, const nbc__mon_bounds *o) {
  const nbc_monitor_desc *d = &r->monitor->desc;
  void (*const on_seen)(void *, const nbc_seen *) = NBC__MON_RELAXED_LOAD(&d->on_seen);
  nbc_seen seen;
  if (!on_seen) return;
  memset(&seen, 0, sizeof seen);
  seen.id = b ? b->id : e->what == NBC__MON_END_ONLY ? 0 : e->id;
  seen.size_bytes = size_bytes;
  seen.kind = (nbc_kind)(b ? b->kind : e->kind);
  seen.peer = peer;
  seen.case_of = o->case_of + 1;
  seen.begin_ns = b && b->what == NBC__MON_BEGIN ? b->t_ns : INT64_MIN;
  seen.end_ns = e ? e->t_ns : INT64_MIN;
  seen.xfer_ns = o->x_ns;
  seen.min_overlap_ns = o->min_ns;
  seen.max_overlap_ns = o->max_ns;
  on_seen(d->on_seen_user, &seen);
}
/* ---- joint bounds: what was under way together ------------------------------------------------- */
/* Where a transfer joins others: out or in, by class of peer; NULL: its direction is not one, or it is
   not known which link it takes, or how fast that is. */
NBC__MON_APART static nbc__mon_joint *nbc__mon_find_joint(nbc_recorder *r,
                                                          const nbc__mon_event *b) {
  const nbc_monitor_desc *d = &r->monitor->desc;
  const nbc_peer peer = (nbc_peer)b->peer;
  const nbc_table *table = peer == NBC_PEER_SAME_NODE    ? d->table_same_node
                           : peer == NBC_PEER_OTHER_NODE ? d->table_other_node
                                                         : NULL;
  if (!table || !(nbc_table_link_bytes_per_s(table) > 0) || nbc_table_disturbed(table) ||
      nbc__mon_is_off_table(r, b->kind))
    return NULL;
  switch ((nbc_kind)b->kind) {
  case NBC_KIND_SEND:
  case NBC_KIND_ISEND:
  case NBC_KIND_PUT: return &r->joint[0][peer];
  case NBC_KIND_RECV:
  case NBC_KIND_IRECV:
  case NBC_KIND_GET: return &r->joint[1][peer];
  default: return NULL;
  }
}

static inline nbc__mon_joint *nbc__mon_joint_of(nbc_recorder *r, const nbc__mon_event *b) {
  return r->monitor->has_joint ? nbc__mon_find_joint(r, b) : NULL;
}

NBC__MON_APART static void nbc__mon_join(nbc__mon_joint *j, const nbc__mon_event *b) {
  if (++j->active > j->most_active) j->most_active = j->active;
  if (j->active > 1) return;
  j->broken = false;
  j->begin_ns = b->t_ns;
  j->begin_comp_ns = b->comp_ns;
  j->end_ns = INT64_MIN;
}

/* Bounds of a busy period of length C + N with N = length - C. */
/* The link moves work_ns in a row: what of it does not fit into N was hidden, and no more than C
   was. Latencies pass at the same time: all of them may be hidden, none need be. */
static void nbc__mon_close_period(nbc_totals *sum, const nbc__mon_joint *j, int64_t length_ns,
                                  int64_t comp_ns, bool broken) {
  const nbc_totals *p = &j->period;
  int64_t min_ns = p->min_overlap_ns, max_ns = p->max_overlap_ns;
  if (comp_ns < 0) comp_ns = 0;
  if (comp_ns > length_ns) comp_ns = length_ns;
  if (!broken && j->latency_ns + comp_ns < max_ns) max_ns = j->latency_ns + comp_ns;
  if (!broken && j->work_ns - (length_ns - comp_ns) > min_ns)
    min_ns = j->work_ns - (length_ns - comp_ns);
  if (min_ns >
      max_ns) { /* the link's rate is not what was measured: believe only the independent ones */
    min_ns = p->min_overlap_ns;
    max_ns = p->max_overlap_ns;
  }
  sum->count += p->count;
  sum->size_bytes += p->size_bytes;
  sum->xfer_ns += p->xfer_ns;
  sum->min_overlap_ns += min_ns;
  sum->max_overlap_ns += max_ns;
}

/* With more others at once than the link's rate was measured with, so many times as much may move: the
   work takes less of the time, and the rest of a transfer counts as latency. */
static void nbc__mon_many_links(const nbc_recorder *r, nbc__mon_joint *j, nbc_peer peer) {
  const nbc_monitor_desc *d = &r->monitor->desc;
  const bool same = peer == NBC_PEER_SAME_NODE;
  const uint32_t known = same ? d->peers_same_node : d->peers_other_node,
                 most = known && known < j->most_active ? known : j->most_active,
                 with = nbc_table_link_peers(same ? d->table_same_node : d->table_other_node);
  const int64_t all_ns = j->work_ns;
  if (most > with) j->work_ns /= (most - 1) / with + 1;
  j->latency_ns += all_ns - j->work_ns;
}

/* A transfer that had joined is over: e == NULL: it was withdrawn, or its end is not known. */
NBC__MON_APART static void nbc__mon_part(nbc_recorder *r, nbc__mon_joint *j,
                                         const nbc__mon_event *b, const nbc__mon_event *e,
                                         uint64_t size_bytes, nbc_peer peer,
                                         const nbc__mon_bounds *o) {
  nbc_totals *to = &j->sum;
  if (j->active == 0) return;
  if (!e || e->t_ns < b->t_ns || b->comp_ns == NBC__MON_UNPLACED || e->comp_ns == NBC__MON_UNPLACED)
    j->broken = true;
  if (o && o->faster) j->broken = true; /* so is the link, perhaps */
  if (o && o->case_of != 2 && peer == (nbc_peer)b->peer) {
    const nbc_monitor_desc *d = &r->monitor->desc;
    const nbc_table *table = peer == NBC_PEER_SAME_NODE ? d->table_same_node : d->table_other_node;
    int64_t work_ns = (int64_t)((double)(size_bytes - o->outside_bytes) * 1e9 /
                                nbc_table_link_bytes_per_s(table));
    if (work_ns > o->x_ns) work_ns = o->x_ns;
    const int64_t latency_ns = o->x_ns - work_ns;
    j->latency_ns += latency_ns < o->max_ns ? latency_ns : o->max_ns;
    j->work_ns += work_ns;
    to = &j->period;
  }
  if (o) {
    to->count++;
    to->size_bytes += size_bytes;
    to->xfer_ns += o->x_ns;
    to->min_overlap_ns += o->min_ns;
    to->max_overlap_ns += o->max_ns;
  }
  if (e && e->t_ns > j->end_ns) {
    j->end_ns = e->t_ns;
    j->end_comp_ns = e->comp_ns;
  }
  if (--j->active > 0) return;
  nbc__mon_many_links(r, j, (nbc_peer)b->peer);
  if (j->end_ns < j->begin_ns) j->broken = true;
  if (j->broken) j->end_ns = j->begin_ns, j->end_comp_ns = j->begin_comp_ns;
  nbc__mon_close_period(&j->sum, j, j->end_ns - j->begin_ns, j->end_comp_ns - j->begin_comp_ns,
                        j->broken);
  memset(&j->period, 0, sizeof j->period);
  j->latency_ns = j->work_ns = 0;
  j->most_active = 0;
}

static nbc_cell *nbc__mon_finish(nbc_recorder *r, const nbc__mon_event *b,
                                 const nbc__mon_event *e) {
  const nbc__mon_event *first = b ? b : e;
  uint64_t size_bytes = first->size_bytes;
  nbc_peer peer = (nbc_peer)first->peer;
  if (e && (e->what == NBC__MON_END_SIZED || e->what == NBC__MON_END_EARLY)) {
    size_bytes = e->size_bytes;
    if (e->peer != NBC_PEER_UNKNOWN) peer = (nbc_peer)e->peer;
  }
  nbc__mon_shape *shape =
      nbc__mon_shape_of(r, first, e ? (int)e->what : (int)NBC__MON_BEGIN, size_bytes, peer);
  nbc_cell *cell = shape->cell;
  if (NBC__MON_RARE(!cell)) {
    cell = nbc__mon_cell(r, first->section, (nbc_kind)first->kind,
                         nbc__mon_class(r->monitor, size_bytes), peer, nbc__mon_place_of(first));
    if (cell != &r->cells[0]) shape->cell = cell; /* who has none of his own is counted each time */
  }
  const nbc__mon_bounds o =
      nbc__mon_book(r, cell, shape, b && b->what == NBC__MON_BEGUN ? NULL : b, e);
  nbc__mon_joint *joint = b ? nbc__mon_joint_of(r, b) : NULL;
  if (joint) nbc__mon_part(r, joint, b, e, size_bytes, peer, &o);
  if (NBC__MON_RARE(NBC__MON_RELAXED_LOAD(&r->monitor->desc.on_seen) != NULL))
    nbc__mon_tell(r, b, e, size_bytes, peer, &o);
  return cell;
}

NBC__MON_APART NBC__PRIVATE bool nbc__mon_comp_then(const nbc_recorder *r, int64_t t_ns,
                                                    int64_t *comp_ns) {
  const uint64_t size = r->history_mask + 1,
                 head = __atomic_load_n(&r->history_head, __ATOMIC_ACQUIRE);
  /* the owner may be writing head - size */
  uint64_t low = head >= size ? head - size + 1 : 0, high = head;
  const uint64_t oldest = low;
  while (low < high) { /* first turn after t_ns */
    const uint64_t mid = low + (high - low) / 2;
    if (NBC__MON_RELAXED_LOAD(&r->history[mid & r->history_mask].t_ns) <= t_ns)
      low = mid + 1;
    else
      high = mid;
  }
  if (low == oldest && (oldest > 0 || head == 0)) return false;
  if (low == 0) low = 1, t_ns = r->history[0].t_ns; /* before the thread was known, C stood still */
  *comp_ns =
      nbc__mon_comp_at(NBC__MON_RELAXED_LOAD(&r->history[(low - 1) & r->history_mask].state), t_ns);
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  const uint64_t now = NBC__MON_RELAXED_LOAD(&r->history_head);
  return now < size || low - 1 > now - size; /* still there? */
}

/* The latest time up to which all of the owner's turns are in the history. */
static int64_t nbc__mon_known_ns(const nbc_recorder *r) {
  const uint64_t head = __atomic_load_n(&r->history_head, __ATOMIC_ACQUIRE);
  if (!head) return INT64_MIN;
  const int64_t t_ns = NBC__MON_RELAXED_LOAD(&r->history[(head - 1) & r->history_mask].t_ns);
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  return NBC__MON_RELAXED_LOAD(&r->history_head) - head < r->history_mask
             ? t_ns
             : INT64_MIN; /* still there? */
}

/* Twice as many active transfers, where the monitor may. */
NBC__MON_APART static bool nbc__mon_grow(nbc_recorder *r) {
  const size_t size = 2 * r->active_size, old_keys = r->key_mask + 1;
  if (!r->monitor->desc.grow_transfers || size > (size_t)1 << 24) return false;
  nbc__mon_event *active = (nbc__mon_event *)nbc__zalloc(size * sizeof *active);
  uint32_t *pool = (uint32_t *)nbc__zalloc(size * sizeof *pool);
  nbc__mon_key *keys = (nbc__mon_key *)nbc__zalloc(2 * size * sizeof *keys), *const old = r->keys;
  nbc__mon_stamped *stamped =
      r->stamped ? (nbc__mon_stamped *)nbc__zalloc(size * sizeof *stamped) : NULL;
  if (!active || !pool || !keys || (r->stamped && !stamped)) {
    NBC_FREE(active);
    NBC_FREE(stamped);
    NBC_FREE(pool);
    NBC_FREE(keys);
    return false;
  }
  memcpy(active, r->active, r->active_size * sizeof *active);
  if (stamped) memcpy(stamped, r->stamped, r->active_size * sizeof *stamped);
  NBC_FREE(r->active);
  NBC_FREE(r->stamped);
  NBC_FREE(r->pool); /* it is empty: all are in use */
  r->active = active;
  r->stamped = stamped;
  r->pool = pool;
  r->keys = keys;
  r->key_mask = 2 * size - 1;
  r->active_size = size;
  /* Homes depend on the mask, so all keys move; places in `active` do not: their numbers hold. */
  for (size_t i = 0; i < old_keys; i++)
    if (old[i].index_plus1) *nbc__mon_find(r, old[i].id) = old[i];
  NBC_FREE(old);
  return true;
}

/* A begin whose end will not come, or has no place to be waited for. */
NBC__MON_APART static void nbc__mon_give_up(nbc_recorder *r, const nbc__mon_event *b,
                                            nbc_problem why) {
  nbc__mon_problem(r, why);
  nbc__mon_finish(r, b, NULL);
}
static void nbc__mon_begin(nbc_recorder *r, const nbc__mon_event *e) {
  const size_t size = r->active_size;
  nbc__mon_joint *joint = nbc__mon_joint_of(r, e);
  nbc__mon_key *key = nbc__mon_find(r, e->id);
  if (key->index_plus1) {
    nbc__mon_give_up(r, &r->active[key->index_plus1 - 1], NBC_PROBLEM_id_reused);
  } else if (r->pool_count == 0 && r->active_used == r->active_size && !nbc__mon_grow(r)) {
    if (joint) nbc__mon_join(joint, e);
    nbc__mon_give_up(r, e, NBC_PROBLEM_transfers_overflow);
    return;
  } else {
    if (r->active_size != size) key = nbc__mon_find(r, e->id); /* the keys have moved */
    key->id = e->id;
    key->index_plus1 = (r->pool_count ? r->pool[--r->pool_count] : (uint32_t)r->active_used++) + 1;
  }
  if (joint) nbc__mon_join(joint, e);
  r->active[key->index_plus1 - 1] = *e;
  if (r->stamped) memset(&r->stamped[key->index_plus1 - 1], 0, sizeof *r->stamped);
}

/* Where a transfer that is over or withdrawn is remembered. */
/* One place per hash: a newer id there turns "ended twice" into "end unknown" and loses stamps. */
static inline size_t nbc__mon_recent_of(uint64_t id) { return nbc__mon_home(id) % NBC__MON_RECENT; }
/* What of it came before: b NULL: its begin is over or was never seen. */
NBC__MON_APART static void nbc__mon_follow_late(nbc_recorder *r, const nbc__mon_event *e,
                                                const nbc__mon_event *b, int64_t known_ns) {
  const size_t recent = nbc__mon_recent_of(e->id);
  const bool ended = !b && r->recent[recent].set && r->recent[recent].id == e->id;
  if (e->what == NBC__MON_STAMP) {
    nbc_cell *cell = ended ? r->recent[recent].cell : NULL;
    if (b)
      nbc__mon_stamp_early(r, (size_t)(b - r->active), e, known_ns);
    else if (cell)
      nbc__mon_stamp(r, cell, e, known_ns);
    else
      nbc__mon_problem(r, NBC_PROBLEM_stamp_lost);
  } else if (!b) {
    nbc__mon_problem(r, ended ? NBC_PROBLEM_ended_twice : NBC_PROBLEM_end_unknown);
  } else { /* cancelled */
    nbc__mon_joint *joint = nbc__mon_joint_of(r, b);
    if (joint) nbc__mon_part(r, joint, b, NULL, 0, NBC_PEER_UNKNOWN, NULL);
    nbc__mon_problem(r, NBC_PROBLEM_cancelled);
  }
}
static inline void nbc__mon_remember(nbc_recorder *r, uint64_t id, nbc_cell *cell) {
  const size_t recent = nbc__mon_recent_of(id);
  r->recent[recent].id = id;
  r->recent[recent].set = true;
  r->recent[recent].cell = cell;
}
/* What refers to an earlier begin: an end, a cancel, a stamp. b: that begin, if it is in the ring. */
static inline void nbc__mon_follow(nbc_recorder *r, const nbc__mon_event *e,
                                   const nbc__mon_event *b, int64_t known_ns) {
  nbc__mon_key *key = b ? NULL : nbc__mon_find(r, e->id);
  nbc_cell *cell = NULL;
  if (key && key->index_plus1) b = &r->active[key->index_plus1 - 1];
  if (NBC__MON_RARE(!b || e->what == NBC__MON_STAMP || e->what == NBC__MON_CANCEL)) {
    nbc__mon_follow_late(r, e, b, known_ns);
    if (!b || e->what == NBC__MON_STAMP) return;
  } else {
    cell = nbc__mon_finish(r, b, e);
  }
  if (key) {
    const nbc__mon_stamped *s = r->stamped ? &r->stamped[b - r->active] : NULL;
    if (NBC__MON_RARE(s && s->count && cell))
      nbc__mon_move_stamps(nbc__mon_begin_cell(r, b), cell, s);
    nbc__mon_remove(r, key);
  }
  nbc__mon_remember(r, e->id, cell);
}

static inline void nbc__mon_process(nbc_recorder *r, const nbc__mon_event *e,
                                    const nbc__mon_event *b, int64_t known_ns) {
  if (e->what == NBC__MON_BEGIN || e->what == NBC__MON_BEGUN)
    nbc__mon_begin(r, e);
  else if (e->what == NBC__MON_END_ONLY)
    nbc__mon_finish(r, NULL, e);
  else
    nbc__mon_follow(r, e, b, known_ns);
}

/* A begin that its end will find in the ring. */
static inline void nbc__mon_begin_paired(nbc_recorder *r, nbc__mon_event *b) {
  nbc__mon_joint *joint = nbc__mon_joint_of(r, b);
  b->what = NBC__MON_BEGIN;
  if (NBC__MON_RARE(r->active_used > r->pool_count)) {
    nbc__mon_key *key = nbc__mon_find(r, b->id);
    if (key->index_plus1) { /* as in nbc__mon_begin */
      nbc__mon_give_up(r, &r->active[key->index_plus1 - 1], NBC_PROBLEM_id_reused);
      nbc__mon_remove(r, key);
    }
  }
  if (joint) nbc__mon_join(joint, b);
}

/* The ring from tail to head, with all that this calls in one piece. Whose begin and end are both here
   needs no key and no copy. The lock is held, so what the ring holds may be marked. */
__attribute__((flatten, noinline)) static uint64_t nbc__mon_process_own(nbc_recorder *r,
                                                                        uint64_t tail,
                                                                        uint64_t head) {
  const uint64_t first = tail, mask = r->ring_mask;
  for (uint64_t i = first; i != head; i++) {
    const uint64_t back = r->ring[i & mask].back;
    if (back && back <= i - first) r->ring[(i - back) & mask].what = NBC__MON_PAIRED;
  }
  for (; tail != head; tail++) {
    nbc__mon_event *own = &r->ring[tail & mask];
    if (own->what == NBC__MON_PAIRED)
      nbc__mon_begin_paired(r, own);
    else
      nbc__mon_process(r, own,
                       own->back && own->back <= tail - first ? &r->ring[(tail - own->back) & mask]
                                                              : NULL,
                       own->t_ns);
  }
  return tail;
}

/* The slot at the tail of the inbox holds an event. */
static bool nbc__mon_is_filled(const nbc_recorder *r, const nbc__mon_slot *slot) {
  return __atomic_load_n(&slot->turn, __ATOMIC_ACQUIRE) + (r->inbox_tail & r->inbox_mask) ==
         r->inbox_tail + 1;
}

/* A foreign event, when the owner's turns are known up to known_ns. */
static void nbc__mon_process_foreign(nbc_recorder *r, nbc__mon_slot *slot, int64_t known_ns) {
  nbc__mon_event *e = &slot->event;
  if (e->what != NBC__MON_STAMP &&
      (e->t_ns > known_ns || !nbc__mon_comp_then(r, e->t_ns, &e->comp_ns)))
    e->comp_ns = NBC__MON_UNPLACED;
  nbc__mon_process(r, e, NULL, known_ns);
  const uint64_t index = r->inbox_tail & r->inbox_mask;
  __atomic_store_n(&slot->turn, r->inbox_tail + r->inbox_mask + 1 - index, __ATOMIC_RELEASE);
  NBC__MON_RELAXED_STORE(&r->inbox_tail, r->inbox_tail + 1);
}

/* An end, a cancel or a stamp of a transfer whose begin has not been seen. What a stamp tells of may have been over when
   its receive was posted. */
static bool nbc__mon_lacks_begin(nbc_recorder *r, const nbc__mon_event *e) {
  const size_t recent = nbc__mon_recent_of(e->id);
  if (e->what == NBC__MON_BEGIN || e->what == NBC__MON_BEGUN || e->what == NBC__MON_END_ONLY)
    return false;
  if (e->what == NBC__MON_STAMP && r->recent[recent].set && r->recent[recent].id == e->id)
    return false;
  return !nbc__mon_find(r, e->id)->index_plus1;
}
/* The earlier one, but a begin before its end whatever their times say: cores read their counters
   some ns apart, and early, while they wait for memory. */
static bool nbc__mon_comes_first(nbc_recorder *r, const nbc__mon_event *foreign,
                                 const nbc__mon_event *own) {
  if (foreign->t_ns < own->t_ns) return !nbc__mon_lacks_begin(r, foreign);
  return foreign->id == own->id && foreign->what == NBC__MON_BEGIN && nbc__mon_lacks_begin(r, own);
}

/* Own events (the ring) and foreign ones (the inbox) become sums in the order of their times, an own
   begin before a foreign end of the same time. The invariant: an event is processed only when all
   events of its transfer with earlier times have been. The ring is in order by itself. A foreign
   event is in order once all own events before its time are in the ring, which is certain when the
   owner has told of a later time: by a turn of its history, by an own event, or by standing still
   (known_ns, by whoever drains). Foreign events are taken in the order in which they came; one that
   is just being written holds up those behind it, lest an own end overtakes its foreign begin. All
   this runs under the recorder's lock.

     who drains                        known_ns                haste
     owner, its ring is full           -                       PATIENT
     owner between calls, if unlocked  -                       PASSING
     thread whose event has no room    - (owner itself: all)   FORCED
     report: by the owner              its time                PATIENT, then NIC stamps as they are
     report: by others                 -                       PATIENT
     report of a detached one, detach  all                     PATIENT

     haste     an event is being written   a foreign event is too early to tell
     PASSING   leaves                      leaves it
     PATIENT   waits up to 100 yields      leaves it
     FORCED    waits up to 100 yields      processes it: unplaced, case 3 */
typedef enum nbc__mon_haste { NBC__MON_PASSING, NBC__MON_PATIENT, NBC__MON_FORCED } nbc__mon_haste;
static void nbc__mon_drain_locked(nbc_recorder *r, int64_t known_ns, nbc__mon_haste haste) {
  uint64_t head = __atomic_load_n(&r->ring_head, __ATOMIC_ACQUIRE);
  uint64_t tail = r->ring_tail;
  int waits = 0;
  /* Whose end is in the ring, its foreign begin was in the inbox before. */
  if (NBC__MON_RELAXED_LOAD(&r->inbox_head) == r->inbox_tail)
    tail = nbc__mon_process_own(r, tail, head);
  for (;;) {
    nbc__mon_slot *slot = &r->inbox[r->inbox_tail & r->inbox_mask];
    const bool foreign = nbc__mon_is_filled(r, slot);
    if (!foreign && waits < 100 && NBC__MON_RELAXED_LOAD(&r->inbox_head) != r->inbox_tail) {
      if (haste == NBC__MON_PASSING) break;
      waits++;
      sched_yield();
      continue;
    }
    if (foreign && slot->event.t_ns > known_ns) {
      const int64_t turned_ns = nbc__mon_known_ns(r);
      if (turned_ns > known_ns) known_ns = turned_ns;
    }
    /* The begin of a foreign end may have come after the first look at the ring. */
    if (foreign && tail == head) head = __atomic_load_n(&r->ring_head, __ATOMIC_ACQUIRE);
    const nbc__mon_event *own = tail != head ? &r->ring[tail & r->ring_mask] : NULL;
    if (own && own->t_ns > known_ns) known_ns = own->t_ns; /* its turns came before it */
    if (foreign && (!own || nbc__mon_comes_first(r, &slot->event, own))) {
      /* An own event is never left in the ring: that may be full, or its owner out of sight soon. Its begin,
         when that is later, says nothing anyway. */
      if (!own && slot->event.t_ns > known_ns && haste != NBC__MON_FORCED) break;
      nbc__mon_process_foreign(r, slot, known_ns);
    } else if (own) {
      nbc__mon_process(r, own, NULL, known_ns);
      tail++;
    } else {
      break;
    }
  }
  __atomic_store_n(&r->ring_tail, tail, __ATOMIC_RELEASE);
}

/* From here on nobody sees whether the owner computes: it is switched off, or its thread ends. Of what is under
   way now only the end will bound it. Under the lock. */
static void nbc__mon_lose_sight(nbc_recorder *r, int64_t known_ns) {
  nbc__mon_drain_locked(r, known_ns, NBC__MON_PATIENT);
  for (uint64_t i = 0; i <= r->key_mask; i++)
    if (r->keys[i].index_plus1) r->active[r->keys[i].index_plus1 - 1].what = NBC__MON_BEGUN;
}

/* By the owner, whose ring is full: how long it took is the tool's own time. */
static void nbc__mon_drain_in_time(nbc_recorder *r) {
  const bool counts = r->event_cost_ns > 0 && r->depth > 0;
  const int64_t start_ns = counts ? nbc_clock_now_ns(&r->monitor->clock) : 0;
  nbc__mon_drain(r);
  if (counts) r->drain_ns += nbc_clock_now_ns(&r->monitor->clock) - start_ns;
}

NBC__PRIVATE void nbc__mon_drain(nbc_recorder *r) {
  nbc__mon_lock(r);
  nbc__mon_drain_locked(r, INT64_MIN, NBC__MON_PATIENT);
  nbc__mon_unlock(r);
}
NBC__PRIVATE bool nbc__mon_is_owner(const nbc_recorder *r) {
  return pthread_equal(NBC__MON_RELAXED_LOAD(&r->thread), pthread_self());
}
/* By a thread that needs room in the inbox; only the owner's own knows what the owner did last. */
NBC__PRIVATE void nbc__mon_drain_by_force(nbc_recorder *r) {
  nbc__mon_lock(r);
  nbc__mon_drain_locked(r, nbc__mon_is_owner(r) ? INT64_MAX : INT64_MIN, NBC__MON_FORCED);
  nbc__mon_unlock(r);
}
/* By the owner between its calls: does not wait for who drains already. */
static void nbc__mon_empty_inbox(nbc_recorder *r) {
  if (NBC__MON_RELAXED_LOAD(&r->inbox_head) == NBC__MON_RELAXED_LOAD(&r->inbox_tail)) return;
  if (__atomic_exchange_n(&r->lock, 1, __ATOMIC_ACQUIRE)) return;
  nbc__mon_drain_locked(r, INT64_MIN, NBC__MON_PASSING);
  nbc__mon_unlock(r);
}
/* For a report at t_ns. Who asks may be the owner: then nothing of it is under way, and NIC stamps
   whose last time it has not passed are taken as wide as that leaves them. */
NBC__PRIVATE void nbc__mon_drain_for_report_locked(nbc_recorder *r, int64_t t_ns) {
  const bool is_owner = r->attached && nbc__mon_is_owner(r);
  const int64_t known_ns = !r->attached ? INT64_MAX : is_owner ? t_ns : INT64_MIN;
  for (;;) {
    nbc__mon_drain_locked(r, known_ns, NBC__MON_PATIENT);
    nbc__mon_slot *slot = &r->inbox[r->inbox_tail & r->inbox_mask];
    if (!is_owner || !nbc__mon_is_filled(r, slot) || slot->event.what != NBC__MON_STAMP) return;
    nbc__mon_process_foreign(r, slot, known_ns);
  }
}

NBC_API void nbc_recorder_detach_at(nbc_recorder *r, int64_t t_ns) {
  if (!r) return;
  t_ns = nbc__mon_advance(r, t_ns);
  if (r->open_depth) nbc__mon_problem(r, NBC_PROBLEM_section_unbalanced);
  r->open_depth = r->open_overflow = 0;
  nbc__mon_go_to_section(r, 0);
  r->depth = 0;
  NBC__MON_RELAXED_STORE(&r->call_seq, 0);
  nbc__mon_set_state(r, t_ns, nbc__mon_standing(nbc__mon_comp_at(r->state, t_ns)));
  nbc__mon_lock(r);
  nbc__mon_lose_sight(r, INT64_MAX); /* C stands still from here on */
  nbc__mon_unlock(r);
  pthread_mutex_lock(&r->monitor->mutex);
  NBC__MON_RELAXED_STORE(&r->attached, false);
  pthread_mutex_unlock(&r->monitor->mutex);
}
NBC_API void nbc_recorder_detach(nbc_recorder *r) {
  if (!r) return;
  nbc_recorder_detach_at(r, nbc_clock_now_ns(&r->monitor->clock));
}
