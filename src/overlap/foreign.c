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
  nbc__mon_foreign_put(r, &e);
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
  nbc_foreign_begin_at(owner, id, size_bytes, kind, peer, nbc_clock_now_ns(&owner->monitor->clock));
}
NBC_API void nbc_foreign_end(nbc_recorder *owner, uint64_t id) {
  if (!owner) return;
  nbc_foreign_end_at(owner, id, nbc_clock_now_ns(&owner->monitor->clock));
}
NBC_API void nbc_foreign_end_sized(nbc_recorder *owner, uint64_t id, uint64_t size_bytes,
                                   nbc_peer peer) {
  if (!owner) return;
  nbc_foreign_end_sized_at(owner, id, size_bytes, peer, nbc_clock_now_ns(&owner->monitor->clock));
}
NBC_API void nbc_foreign_end_early(nbc_recorder *owner, uint64_t id, uint64_t size_bytes,
                                   nbc_peer peer) {
  if (!owner) return;
  nbc__mon_foreign(owner, NBC__MON_END_EARLY, id, size_bytes, NBC_KIND_OTHER, peer,
                   nbc_clock_now_ns(&owner->monitor->clock));
}
NBC_API void nbc_foreign_end_local_at(nbc_recorder *owner, uint64_t id, int64_t t_ns) {
  if (!owner) return;
  nbc__mon_foreign(owner, NBC__MON_END_LOCAL, id, 0, NBC_KIND_OTHER, NBC_PEER_UNKNOWN, t_ns);
}
NBC_API void nbc_foreign_end_local(nbc_recorder *owner, uint64_t id) {
  if (!owner) return;
  nbc_foreign_end_local_at(owner, id, nbc_clock_now_ns(&owner->monitor->clock));
}
NBC_API void nbc_foreign_end_parts(nbc_recorder *owner, uint64_t id) {
  if (!owner) return;
  nbc__mon_foreign(owner, NBC__MON_END_PARTS, id, 0, NBC_KIND_OTHER, NBC_PEER_UNKNOWN,
                   nbc_clock_now_ns(&owner->monitor->clock));
}
NBC_API void nbc_foreign_cancel(nbc_recorder *owner, uint64_t id) {
  if (!owner) return;
  nbc__mon_foreign(owner, NBC__MON_CANCEL, id, 0, NBC_KIND_OTHER, NBC_PEER_UNKNOWN,
                   nbc_clock_now_ns(&owner->monitor->clock));
}
NBC_API void nbc_foreign_end_only(nbc_recorder *owner, uint64_t size_bytes, nbc_kind kind,
                                  nbc_peer peer) {
  if (!owner) return;
  if (NBC__MON_RELAXED_LOAD(&owner->on))
    nbc__mon_foreign(owner, NBC__MON_END_ONLY, 0, size_bytes, kind, peer,
                     nbc_clock_now_ns(&owner->monitor->clock));
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
