/* overlap_preload_calling.h: how a call is entered and left, and by which thread. */
/* First call of a thread, or measuring was switched meanwhile. */
static bool follow(int64_t t_ns) {
  const bool on = __atomic_load_n(&run.switched_on, __ATOMIC_RELAXED);
  me.epoch = __atomic_load_n(&run.epoch, __ATOMIC_ACQUIRE);
  if (!me.recorder) {
    if (nbc_recorder_attach_at(run.monitor, t_ns, &me.recorder) != NBC_OK) return false;
    /* Ids stay unique also when a recorder serves one thread after another. */
    me.next_id = (uint64_t)__atomic_add_fetch(&run.thread_count, 1, __ATOMIC_RELAXED) << 40;
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

static inline bool enter(call *c, nbc_kind kind, const char *name, uintptr_t address,
                         uintptr_t frame) {
  c->active = false;
  if (me.inside || !__atomic_load_n(&run.recording, __ATOMIC_ACQUIRE)) return false;
  busy_begin();
  c->t0_ns = nbc_clock_now_ns(run.clock);
  c->t1_ns = 0;
  if (UNLIKELY(me.epoch != __atomic_load_n(&run.epoch, __ATOMIC_RELAXED)) && !follow(c->t0_ns)) {
    busy_end();
    return false;
  }
  nbc_call_enter_at(me.recorder, kind, c->t0_ns);
  me.inside = c->active = true;
  me.ends = 1;
  c->name = name;
  c->address = address;
  c->frame = frame;
  busy_end();
  return true;
}

/* When the call returned: the time of all that ended in it. 0 until then: an exception passed. */
static inline int64_t returned(call *c) {
  if (!c->t1_ns) c->t1_ns = nbc_clock_now_ns(run.clock);
  return c->t1_ns;
}

/* Runs at the end of every wrapper, also when an error handler throws a C++ exception through it.
 */
static inline void leave(call (*own)[1]) {
  call *c = *own;
  if (!c->active) return;
  busy_begin(); /* is busy already, unless an exception passed */
  if (me.on) {
    const site *place = note_site(c->address, c->name, c->frame, returned(c) - c->t0_ns);
    if (UNLIKELY(trace.ring)) trace_call(place, c->t0_ns, returned(c));
  }
  nbc_call_exit_at(me.recorder, returned(c));
  me.inside = false;
  busy_end();
}
#define OWN(s) (c->active && (s) == MPI_STATUS_IGNORE ? &c->status : (s))

/* The MPI's function returned: what follows is ours. */
static inline int back(call *c, int rc) {
  if (c->active) {
    busy_begin();
    c->t1_ns = nbc_clock_now_ns(run.clock);
  }
  return rc;
}
#define BACK(rc) back(c, rc)
