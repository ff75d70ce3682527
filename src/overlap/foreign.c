/* foreign.c: stamps that other threads and NICs set for a recorder. */
#include "foreign.h"
#include "../base/sums.h"

/* ---- stamps from other threads ------------------------------------------------------------- */
/* A bounded queue after D. Vyukov. With S slots, turn + index of a slot says to a producer that has
   position in hand:
     == position           the slot is free: take it by moving inbox_head on
     == position + 1 - S   it still holds the event of one lap ago: the inbox is full
     >  position           another producer was first: look at inbox_head again
   The head is moved relaxed, since only turn orders the contents: its release comes after them, and
   nbc__mon_is_filled acquires it. Between the two steps the slot is taken but not filled: no later
   slot is drained before it, or an end could come before its begin. */
static bool nbc__mon_inbox_put(nbc_recorder *r, const nbc__mon_event *event) {
  uint64_t position = NBC__MON_RELAXED_LOAD(&r->inbox_head);
  for (;;) {
    nbc__mon_slot *slot = &r->inbox[position & r->inbox_mask];
    const uint64_t index = position & r->inbox_mask;
    const int64_t ahead =
        (int64_t)(__atomic_load_n(&slot->turn, __ATOMIC_ACQUIRE) + index - position);
    if (ahead < 0) return false; /* full */
    if (ahead > 0) {
      position = NBC__MON_RELAXED_LOAD(&r->inbox_head);
    } else if (__atomic_compare_exchange_n(&r->inbox_head, &position, position + 1, true,
                                           __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
      slot->event = *event;
      __atomic_store_n(&slot->turn, position + 1 - index, __ATOMIC_RELEASE);
      return true;
    }
  }
}

/* A patient drain comes first: it leaves what the owner has not passed yet, so that can still find
   its place. Only when that makes no room are events taken as they are, unplaced. Others may fill
   the room at once, so the tries end, and the event is lost but counted: a thread must not spin
   here for as long as others find work. */
static void nbc__mon_foreign_put(nbc_recorder *r, const nbc__mon_event *e) {
  for (int tries = 0; tries < 4; tries++) {
    if (nbc__mon_inbox_put(r, e)) return;
    if (tries == 0)
      nbc__mon_drain(r);
    else
      nbc__mon_drain_by_force(r);
  }
  __atomic_fetch_add(&r->problems[NBC_PROBLEM_foreign_lost], 1, __ATOMIC_RELAXED);
}
/* Only the time is noted: C at that time is known when the owner has passed it. */
static void nbc__mon_foreign(nbc_recorder *r, uint8_t what, uint64_t id, uint64_t size_bytes,
                             nbc_kind kind, nbc_peer peer, int64_t t_ns) {
  nbc__mon_event e;
  memset(&e, 0, sizeof e);
  e.t_ns = t_ns;
  e.id = id;
  e.size_bytes = size_bytes;
  /* Both are of the owner's now, which need not be its t_ns: see nbc__mon_bounds_of. */
  e.call_seq = NBC__MON_RELAXED_LOAD(&r->call_seq);
  e.section = NBC__MON_RELAXED_LOAD(&r->section);
  e.kind = (unsigned)kind < NBC_KIND_COUNT ? (uint8_t)kind : 0;
  e.what = what;
  e.peer = (unsigned)peer < NBC_PEER_COUNT ? (uint8_t)peer : 0;
  if (what == NBC__MON_BEGIN) e.place = NBC__MON_RELAXED_LOAD(&r->place);
  nbc__mon_foreign_put(r, &e);
}

/* Not read early: what this thread has seen of the owner, such as the begin of what ends here, was
   before. */
static int64_t nbc__mon_foreign_now(const nbc_recorder *owner) {
  const nbc_clock *clock = &owner->monitor->clock;
  return nbc_clock_ticks_to_ns(clock, nbc__clock_ordered_ticks(clock));
}

NBC_API void nbc_foreign_begin_at(nbc_recorder *owner, uint64_t id, uint64_t size_bytes,
                                  nbc_kind kind, nbc_peer peer, int64_t t_ns) {
  if (!owner) return;
  /* Ends are taken even when the owner is off: what began before must leave `active`. */
  if (NBC__MON_RELAXED_LOAD(&owner->on))
    nbc__mon_foreign(owner, NBC__MON_BEGIN, id, size_bytes, kind, peer, t_ns);
}
NBC_API void nbc_foreign_end_at(nbc_recorder *owner, uint64_t id, int64_t t_ns) {
  if (!owner) return;
  nbc__mon_foreign(owner, NBC__MON_END, id, 0, NBC_KIND_OTHER, NBC_PEER_UNKNOWN, t_ns);
}
NBC_API void nbc_foreign_end_sized_at(nbc_recorder *owner, uint64_t id, uint64_t size_bytes,
                                      nbc_peer peer, int64_t t_ns) {
  if (!owner) return;
  nbc__mon_foreign(owner, NBC__MON_END_SIZED, id, size_bytes, NBC_KIND_OTHER, peer, t_ns);
}
NBC_API void nbc_foreign_begin(nbc_recorder *owner, uint64_t id, uint64_t size_bytes, nbc_kind kind,
                               nbc_peer peer) {
  if (!owner) return;
  nbc_foreign_begin_at(owner, id, size_bytes, kind, peer, nbc__mon_foreign_now(owner));
}
NBC_API void nbc_foreign_end(nbc_recorder *owner, uint64_t id) {
  if (!owner) return;
  nbc_foreign_end_at(owner, id, nbc__mon_foreign_now(owner));
}
NBC_API void nbc_foreign_end_sized(nbc_recorder *owner, uint64_t id, uint64_t size_bytes,
                                   nbc_peer peer) {
  if (!owner) return;
  nbc_foreign_end_sized_at(owner, id, size_bytes, peer, nbc__mon_foreign_now(owner));
}
NBC_API void nbc_foreign_end_early(nbc_recorder *owner, uint64_t id, uint64_t size_bytes,
                                   nbc_peer peer) {
  if (!owner) return;
  nbc__mon_foreign(owner, NBC__MON_END_EARLY, id, size_bytes, NBC_KIND_OTHER, peer,
                   nbc__mon_foreign_now(owner));
}
NBC_API void nbc_foreign_end_local_at(nbc_recorder *owner, uint64_t id, int64_t t_ns) {
  if (!owner) return;
  nbc__mon_foreign(owner, NBC__MON_END_LOCAL, id, 0, NBC_KIND_OTHER, NBC_PEER_UNKNOWN, t_ns);
}
NBC_API void nbc_foreign_end_local(nbc_recorder *owner, uint64_t id) {
  if (!owner) return;
  nbc_foreign_end_local_at(owner, id, nbc__mon_foreign_now(owner));
}
NBC_API void nbc_foreign_end_parts(nbc_recorder *owner, uint64_t id) {
  if (!owner) return;
  nbc__mon_foreign(owner, NBC__MON_END_PARTS, id, 0, NBC_KIND_OTHER, NBC_PEER_UNKNOWN,
                   nbc__mon_foreign_now(owner));
}
NBC_API void nbc_foreign_cancel(nbc_recorder *owner, uint64_t id) {
  if (!owner) return;
  nbc__mon_foreign(owner, NBC__MON_CANCEL, id, 0, NBC_KIND_OTHER, NBC_PEER_UNKNOWN,
                   nbc__mon_foreign_now(owner));
}
NBC_API void nbc_foreign_end_only(nbc_recorder *owner, uint64_t size_bytes, nbc_kind kind,
                                  nbc_peer peer) {
  if (!owner) return;
  if (NBC__MON_RELAXED_LOAD(&owner->on))
    nbc__mon_foreign(owner, NBC__MON_END_ONLY, NBC__MON_RELAXED_LOAD(&owner->place), size_bytes,
                     kind, peer, nbc__mon_foreign_now(owner));
}

/* ---- what stamps of NICs hide: under the recorder's lock ---------------------------------------- */
/* C at t_ns, when the owner is known up to known_ns: after that it may have computed, or not. */
static bool nbc__mon_comp_by(const nbc_recorder *r, int64_t t_ns, int64_t known_ns, bool most,
                             int64_t *comp_ns) {
  int64_t beyond_ns;
  if (t_ns <= known_ns) return nbc__mon_comp_then(r, t_ns, comp_ns);
  if (known_ns == INT64_MIN || !nbc__mon_comp_then(r, known_ns, comp_ns)) return false;
  if (__builtin_sub_overflow(t_ns, known_ns, &beyond_ns)) beyond_ns = INT64_MAX;
  if (most) *comp_ns = nbc__later(*comp_ns, beyond_ns);
  return true;
}

/* C at the earliest and the latest time that one end of a stamp may have. */
typedef struct nbc__mon_end {
  int64_t early_ns, late_ns, early_comp_ns, late_comp_ns;
} nbc__mon_end;
static bool nbc__mon_end_of(const nbc_recorder *r, int64_t early_ns, int64_t late_ns,
                            int64_t known_ns, nbc__mon_end *end) {
  end->early_ns = early_ns;
  end->late_ns = late_ns;
  return nbc__mon_comp_by(r, early_ns, known_ns, false, &end->early_comp_ns) &&
         nbc__mon_comp_by(r, late_ns, known_ns, true, &end->late_comp_ns);
}
/* The same for a part of that range: looked up only when C bends in it. */
static bool nbc__mon_end_part(const nbc_recorder *r, const nbc__mon_end *whole, int64_t early_ns,
                              int64_t late_ns, int64_t known_ns, nbc__mon_end *end) {
  *end = *whole;
  end->early_ns = early_ns;
  end->late_ns = late_ns;
  const int64_t d_comp_ns = whole->late_comp_ns - whole->early_comp_ns;
  if (d_comp_ns == 0) return true;
  if (d_comp_ns != whole->late_ns - whole->early_ns || whole->late_ns > known_ns)
    return nbc__mon_end_of(r, early_ns, late_ns, known_ns, end);
  end->early_comp_ns = whole->early_comp_ns + (early_ns - whole->early_ns);
  end->late_comp_ns = whole->early_comp_ns + (late_ns - whole->early_ns);
  return true;
}
/* What is hidden between two such ends that are length apart, give or take d_err: C(end) - C(begin),
   cut by what the length says. */
static void nbc__mon_between(const nbc__mon_end *b, const nbc__mon_end *e, int64_t length_ns,
                             int64_t d_err_ns, int64_t known_ns, int64_t *lo_ns, int64_t *hi_ns) {
  const int64_t comp_ns = e->late_comp_ns - b->early_comp_ns, span_ns = e->late_ns - b->early_ns;
  const int64_t shortest_ns = length_ns - d_err_ns - (span_ns - comp_ns);
  *lo_ns = e->early_comp_ns > b->late_comp_ns ? e->early_comp_ns - b->late_comp_ns : 0;
  /* not when comp_ns holds what the owner may still compute */
  if (shortest_ns > *lo_ns && e->late_ns <= known_ns) *lo_ns = shortest_ns;
  *hi_ns = comp_ns < length_ns + d_err_ns ? comp_ns : length_ns + d_err_ns;
}

/* A number for nbc_xfer_stamp_shared that nobody else has; 0 when there is none any more. */
NBC__PRIVATE uint32_t nbc__mon_new_group(nbc_recorder *r) {
  const uint32_t first = (uint32_t)1 << 31;
  uint32_t count = NBC__MON_RELAXED_LOAD(&r->group_count);
  do
    if (count == first - 1) return 0;
  while (!__atomic_compare_exchange_n(&r->group_count, &count, count + 1, true, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED));
  return first + count;
}
/* A group's stamps become part of their cell's sum: least and most over all shifts, but no wider than
   each stamp for itself. */
NBC__PRIVATE void nbc__mon_shift_close(nbc_recorder *r, size_t cell_index) {
  nbc__mon_shift *s = r->shifts ? &r->shifts[cell_index] : NULL;
  if (!s || !s->group) return;
  int64_t lo_ns = s->least_ns[0], hi_ns = s->most_ns[0];
  for (int k = 1; k < NBC__MON_SHIFTS; k++) {
    if (s->least_ns[k] < lo_ns) lo_ns = s->least_ns[k];
    if (s->most_ns[k] > hi_ns) hi_ns = s->most_ns[k];
  }
  r->cells[cell_index].t.exact_lo_ns += lo_ns > s->lo_ns ? lo_ns : s->lo_ns;
  r->cells[cell_index].t.exact_hi_ns += hi_ns < s->hi_ns ? hi_ns : s->hi_ns;
  memset(s, 0, sizeof *s);
}
/* One stamp more, which for itself hides lo to hi: the range of the common shift in equal parts, each with
   its own least and most. */
static void nbc__mon_shift_add(nbc_recorder *r, size_t cell_index, uint32_t group, int64_t own_ns,
                               const nbc__mon_end *b, const nbc__mon_end *e, int64_t d_err_ns,
                               int64_t known_ns, int64_t lo_ns, int64_t hi_ns) {
  nbc__mon_shift *s = &r->shifts[cell_index];
  const int64_t length_ns = e->early_ns - b->early_ns;
  const int64_t reach_ns = (b->late_ns - b->early_ns) / 2 - own_ns;
  if (s->group != group || s->reach_ns != reach_ns) {
    nbc__mon_shift_close(r, cell_index);
    s->group = group;
    s->reach_ns = reach_ns;
  }
  s->lo_ns += lo_ns;
  s->hi_ns += hi_ns;
  for (int k = 0; k < NBC__MON_SHIFTS; k++) {
    /* this part's shifts, and on both sides what is the stamp's own error */
    const int64_t from_ns = 2 * reach_ns * k / NBC__MON_SHIFTS,
                  to_ns =
                      (2 * reach_ns * (k + 1) + NBC__MON_SHIFTS - 1) / NBC__MON_SHIFTS + 2 * own_ns;
    nbc__mon_end begin, end;
    int64_t least_ns = lo_ns, most_ns = hi_ns;
    if (nbc__mon_end_part(r, b, b->early_ns + from_ns, b->early_ns + to_ns, known_ns, &begin) &&
        nbc__mon_end_part(r, e, e->early_ns + from_ns, e->early_ns + to_ns, known_ns, &end))
      nbc__mon_between(&begin, &end, length_ns, d_err_ns, known_ns, &least_ns, &most_ns);
    s->least_ns[k] += least_ns > lo_ns ? least_ns : lo_ns;
    s->most_ns[k] += most_ns < hi_ns ? most_ns : hi_ns;
  }
}

static void nbc__mon_tell_stamp(const nbc_recorder *r, const nbc__mon_event *stamp) {
  const nbc_monitor_desc *d = &r->monitor->desc;
  void (*const on_seen)(void *, const nbc_seen *) = NBC__MON_RELAXED_LOAD(&d->on_seen);
  nbc_seen seen;
  if (!on_seen) return;
  memset(&seen, 0, sizeof seen);
  seen.id = stamp->id;
  seen.by_nic = true;
  seen.begin_ns = stamp->stamp_begin_ns;
  seen.end_ns = stamp->t_ns - stamp->stamp_err_ns;
  seen.err_ns = stamp->stamp_err_ns;
  on_seen(d->on_seen_user, &seen);
}

/* Exact overlap of one stamped transfer (or fragment): C(end) - C(begin), each time +- err; cut by
   what its length says, which is known to d_err (nbc_xfer_stamp_length). */
NBC__MON_APART NBC__PRIVATE void nbc__mon_stamp(nbc_recorder *r, nbc_cell *cell,
                                                const nbc__mon_event *stamp, int64_t known_ns) {
  const int64_t far_ns = (int64_t)1 << 60, err_ns = stamp->stamp_err_ns;
  const int64_t b_ns = stamp->stamp_begin_ns, e_ns = stamp->t_ns - err_ns;
  const uint32_t group = stamp->stamp_group;
  int64_t d_err_ns = (int64_t)stamp->stamp_length_err_ns, lo_ns, hi_ns;
  nbc__mon_end b, e;
  if (e_ns < b_ns || b_ns < -far_ns || e_ns > far_ns || err_ns > far_ns) {
    nbc__mon_problem(r, NBC_PROBLEM_stamp_invalid);
  } else if (!r->takes_nic_stamps ||
             !nbc__mon_end_of(r, b_ns - err_ns, b_ns + err_ns, known_ns, &b) ||
             !nbc__mon_end_of(r, e_ns - err_ns, e_ns + err_ns, known_ns, &e)) {
    nbc__mon_problem(r, NBC_PROBLEM_stamp_lost);
  } else {
    if (d_err_ns > 2 * err_ns) d_err_ns = 2 * err_ns;
    nbc__mon_between(&b, &e, e_ns - b_ns, d_err_ns, known_ns, &lo_ns, &hi_ns);
    nbc__mon_tell_stamp(r, stamp);
    cell->t.exact_count++;
    cell->t.exact_xfer_ns += e_ns - b_ns;
    if (group) {
      nbc__mon_shift_add(r, (size_t)(cell - r->cells), group, (int64_t)stamp->stamp_own_err_ns, &b,
                         &e, d_err_ns, known_ns, lo_ns, hi_ns);
    } else {
      cell->t.exact_lo_ns += lo_ns;
      cell->t.exact_hi_ns += hi_ns;
    }
  }
}

NBC__MON_APART NBC__PRIVATE void nbc__mon_stamp_early(nbc_recorder *r, size_t active_index,
                                                      const nbc__mon_event *stamp,
                                                      int64_t known_ns) {
  const nbc__mon_event *b = &r->active[active_index];
  nbc_cell *cell = nbc__mon_begin_cell(r, b);
  const nbc_totals before = cell->t;
  nbc__mon_stamp(r, cell, stamp, known_ns);
  if (!r->stamped || stamp->stamp_group) return;
  nbc__mon_stamped *s = &r->stamped[active_index];
  s->count += cell->t.exact_count - before.exact_count;
  s->xfer_ns += cell->t.exact_xfer_ns - before.exact_xfer_ns;
  s->lo_ns += cell->t.exact_lo_ns - before.exact_lo_ns;
  s->hi_ns += cell->t.exact_hi_ns - before.exact_hi_ns;
}
NBC__MON_APART NBC__PRIVATE void nbc__mon_move_stamps(nbc_cell *from, nbc_cell *to,
                                                      const nbc__mon_stamped *s) {
  nbc_cell *const cells[] = {from, to};
  for (int k = 0, sign = -1; k < 2; k++, sign = 1) {
    nbc_totals *t = &cells[k]->t;
    t->exact_count += (uint64_t)sign * s->count;
    t->exact_xfer_ns += sign * s->xfer_ns;
    t->exact_lo_ns += sign * s->lo_ns;
    t->exact_hi_ns += sign * s->hi_ns;
  }
}

NBC_API void nbc_xfer_stamp_shared(nbc_recorder *owner, uint64_t id, int64_t t_begin_ns,
                                   int64_t t_end_ns, int64_t own_err_ns, int64_t d_err_ns,
                                   int64_t shared_err_ns, uint32_t group) {
  if (!owner) return;
  nbc__mon_event e;
  memset(&e, 0, sizeof e);
  if (own_err_ns < 0) own_err_ns = own_err_ns == INT64_MIN ? INT64_MAX : -own_err_ns;
  if (shared_err_ns < 0) shared_err_ns = shared_err_ns == INT64_MIN ? INT64_MAX : -shared_err_ns;
  const int64_t err_ns = nbc__later(own_err_ns, shared_err_ns);
  /* Without a group the stamp stands for itself: its interval is wider, but never wrong. Errors
     above these limits are not whole in a float, or too large to multiply in nbc__mon_shift_add. */
  if (own_err_ns >= 1 << 24 || shared_err_ns > UINT32_MAX) group = 0;
  /* The inbox compares t_ns with what is known of the owner. So a stamp waits until the owner has
     passed the last time at which the transfer may have ended. */
  e.t_ns = nbc__later(t_end_ns, err_ns);
  e.stamp_begin_ns = t_begin_ns;
  e.id = id;
  e.stamp_err_ns = err_ns;
  e.stamp_length_err_ns = d_err_ns < 0 || d_err_ns > UINT32_MAX ? UINT32_MAX : (uint32_t)d_err_ns;
  e.stamp_group = group;
  e.stamp_own_err_ns = group ? (float)own_err_ns : 0; /* whole below 2^24 */
  e.what = NBC__MON_STAMP;
  nbc__mon_foreign_put(owner, &e);
}
NBC_API void nbc_xfer_stamp_length(nbc_recorder *owner, uint64_t id, int64_t t_begin_ns,
                                   int64_t t_end_ns, int64_t err_ns, int64_t d_err_ns) {
  nbc_xfer_stamp_shared(owner, id, t_begin_ns, t_end_ns, 0, d_err_ns, err_ns, 0);
}
NBC_API void nbc_xfer_stamp(nbc_recorder *owner, uint64_t id, int64_t t_begin_ns, int64_t t_end_ns,
                            int64_t err_ns) {
  if (!owner) return;
  nbc_xfer_stamp_length(owner, id, t_begin_ns, t_end_ns, err_ns, UINT32_MAX);
}
