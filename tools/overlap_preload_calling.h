/* overlap_preload_calling.h: how a call is entered and left, and by which thread. */
/* First call of a thread, or measuring was switched meanwhile. */
APART static bool follow(int64_t t_ns) {
  const bool on = __atomic_load_n(&run.switched_on, __ATOMIC_RELAXED);
  me.epoch = __atomic_load_n(&run.epoch, __ATOMIC_ACQUIRE);
  if (!me.recorder) {
    if (nbc_recorder_attach_at(run.monitor, t_ns, &me.recorder) != NBC_OK) return false;
    /* Ids stay unique also when a recorder serves one thread after another. */
    me.next_id = (uint64_t)__atomic_add_fetch(&run.thread_count, 1, __ATOMIC_RELAXED) << 40;
    if (!run.multiple && run.thread_count > 1) stay_silent(); /* no lock keeps them apart */
    pthread_setspecific(run.thread_end, me.recorder);
  }
  nbc_recorder_switch_at(me.recorder, on, t_ns);
  me.on = on;
  if (!on) trace_cannot_match("measuring was off for a while");
  return true;
}

static void thread_ends(void *recorder) {
  if (!run.recording || !me.recorder) return;
  busy_begin();
  me.recorder = NULL;
  me.epoch = 0;
  unmap_memory(me.requests);
  me.requests = NULL;
  me.request_count = 0;
  if (me.sites) __atomic_store_n(&me.sites->used, false, __ATOMIC_RELEASE);
  me.sites = NULL;
  unmap_memory(me.ranks);
  me.ranks = NULL;
  me.rank_count = 0;
  nbc_recorder_detach(recorder);
  busy_end();
}

static inline void entered(call *c, nbc_kind kind, const char *name, uintptr_t address,
                           uintptr_t frame, int64_t t0_ns) {
  me.inside = c->active = true;
  me.open.name = name;
  me.open.address = address;
  me.open.frame = frame;
  me.open.t0_ns = t0_ns;
  me.ends = 1;
  me.beside = false;
  c->told = false;
  c->t0_ns = t0_ns;
  c->t1_ns = 0;
  c->name = name;
  c->address = address;
  c->frame = frame;
  c->at = NULL;
  nbc_call_enter_at(me.recorder, kind, t0_ns);
  busy_end();
}
/* Calls of these kinds send, receive, or match messages. */
static bool tells_of_messages(nbc_kind kind) {
  return kind == NBC_KIND_SEND || kind == NBC_KIND_RECV || kind == NBC_KIND_ISEND ||
         kind == NBC_KIND_IRECV || kind == NBC_KIND_SENDRECV || kind == NBC_KIND_START ||
         kind == NBC_KIND_PROBE || kind == NBC_KIND_IPROBE;
}
/* An error handler may leave a call by longjmp: where the stack is shorter now, on the same one, or what the call was to
   return to is written over, that call is no more. When it ended nobody knows, so of what was under way nothing is
   known either. */
static bool is_left(uintptr_t frame) {
  if (frame >= me.open.frame && frame - me.open.frame <= 1 << 20) return true;
#ifdef __x86_64__ /* it stands below the caller's frame */
  const uintptr_t at = me.open.frame - sizeof at;
  return is_stack(at) && *(const uintptr_t *)at != me.open.address;
#else
  return false;
#endif
}
APART static void leave_what_was_left(uintptr_t frame) {
  if (!me.inside || !__atomic_load_n(&run.recording, __ATOMIC_ACQUIRE) || !is_left(frame)) return;
  busy_begin();
  const int64_t now_ns = nbc_clock_now_ns(run.clock);
  site *const place = me.on ? find_caller(me.open.address, me.open.name, me.open.frame) : NULL;
  if (place) note_site(place, now_ns - me.open.t0_ns);
  trace_cannot_match("calls failed");
  nbc_call_exit_at(me.recorder, now_ns);
  nbc_recorder_switch_at(me.recorder, false, now_ns);
  nbc_recorder_switch_at(me.recorder, me.on, now_ns);
  me.inside = false;
  busy_end();
}
/* Nothing is to be measured, the thread is new, measuring was switched, or the clock is no counter. */
APART static void enter_rarely(call *c, nbc_kind kind, const char *name, uintptr_t address,
                               uintptr_t frame) {
  c->active = false;
  leave_what_was_left(frame);
  if (me.inside && trace.ring && tells_of_messages(kind)) trace_gap();
  if (me.inside || !__atomic_load_n(&run.recording, __ATOMIC_ACQUIRE)) return;
  busy_begin();
  const int64_t t0_ns = nbc_clock_now_ns(run.clock);
  if (me.epoch == __atomic_load_n(&run.epoch, __ATOMIC_RELAXED) || follow(t0_ns))
    entered(c, kind, name, address, frame, t0_ns);
  else
    busy_end();
}
HOT static void enter(call *c, nbc_kind kind, const char *name, uintptr_t address,
                      uintptr_t frame) {
  if (UNLIKELY(me.inside || !__atomic_load_n(&run.recording, __ATOMIC_ACQUIRE) ||
               !run.clock_counts || me.epoch != __atomic_load_n(&run.epoch, __ATOMIC_RELAXED))) {
    enter_rarely(c, kind, name, address, frame);
    return;
  }
  busy_begin();
  entered(c, kind, name, address, frame, nbc__clock_counter_ns(run.clock));
}

/* When the call returned: the time of all that ended in it. 0 until then: an exception passed. */
static inline int64_t returned(call *c) {
  if (!c->t1_ns) c->t1_ns = nbc_clock_now_ns(run.clock);
  return c->t1_ns;
}

/* What begins now began at this call's place. Not under the lock. */
static inline void begin_here(call *c) {
  if (!c->at) c->at = known_site(c->address, c->name);
  if (UNLIKELY(!c->at)) c->at = find_caller(c->address, c->name, c->frame);
  nbc_recorder_place(me.recorder, c->at ? c->at->place : 0);
}

SMALL static void save_meanwhile(int64_t t1_ns);
/* The place is not known yet, or an exception passed, or there is a timeline, or measuring is off, or a report is to be
   saved. */
APART static void left_rarely(call *c) {
  if (!c->t1_ns) trace_cannot_match("calls failed");
  const int64_t t1_ns = returned(c);
  if (me.on) {
    site *const place = c->at ? c->at : find_caller(c->address, c->name, c->frame);
    if (place) note_site(place, t1_ns - c->t0_ns);
    if (trace.ring) trace_call(place, c->t0_ns, t1_ns, c->told ? 0 : trace_looks(c->name));
    if (trace.counters && t1_ns >= trace.counters_next_ns) trace_read_counters(false);
  }
  me.inside = false;
  if (t1_ns >= __atomic_load_n(&run.save_at_ns, __ATOMIC_RELAXED)) save_meanwhile(t1_ns);
  nbc_call_exit_at(me.recorder, t1_ns);
  busy_end();
}
HOT static void left(call *c) {
  site *const s = c->at ? c->at : known_site(c->address, c->name);
  busy_begin(); /* is busy already, unless an exception passed */
  if (UNLIKELY(!s || !c->t1_ns || !me.on || trace.ring ||
               c->t1_ns >= __atomic_load_n(&run.save_at_ns, __ATOMIC_RELAXED))) {
    left_rarely(c);
    return;
  }
  note_site(s, c->t1_ns - c->t0_ns);
  me.inside = false;
  nbc_call_exit_at(me.recorder, c->t1_ns);
  busy_end();
}

/* Runs at the end of every wrapper, also when an error handler throws a C++ exception through it.
 */
static inline void leave(call (*own)[1]) {
  if ((*own)->active) left(*own);
}
#define OWN(s) (c->active && (s) == MPI_STATUS_IGNORE ? &c->status : (s))

/* The MPI's function returned: what follows is ours. */
static inline int back(call *c, int rc) {
  if (c->active) {
    busy_begin();
    c->t1_ns = nbc_clock_now_ns(run.clock);
    if (UNLIKELY(rc != MPI_SUCCESS)) trace_cannot_match("calls failed");
  }
  return rc;
}
#define BACK(rc) back(c, rc)
