/* The four events and the overlap bounds. */
#pragma once
#include "../base/config.h"
#include "../base/status.h"
#include "clock.h"
#include "table.h"
#include "cells.h"

/* ============================================================================================== */
/* [MONITOR] 7. The four events and the overlap bounds                                            */
/* ============================================================================================== */
/* [O §2]: the application enters and leaves the communication library (CALL_ENTER, CALL_EXIT); the
   library sees, approximately, transfers begin and end (XFER_BEGIN, XFER_END). From these alone:

     computation C   every CALL_EXIT to the next CALL_ENTER
     call time   N   every CALL_ENTER to CALL_EXIT (outermost, when nested)
     data transfer time x: from a table measured beforehand, for the size of each transfer, clamped
       to the window between its two stamps (and then counted: the table is too slow)
     bounds of the part of x that was overlapped with computation, per transfer [O §2.2]:
       case 1  both stamps in one call        min 0                    max 0
       case 2  stamps in different calls      min max(0, x - noncomp)  max min(comp, x)
       case 3  only one stamp                 min 0                    max x
     where comp and noncomp are the C and N that passed between the stamps.
   What the bounds do not believe:
     - that a send's data has arrived because the send ended (nbc_xfer_end_local): when the size may be
       sent eagerly (the table's eager_bytes; up to 64 KiB where no table says), or when the window is
       shorter than x, its end was not seen: case 3. Of a larger one the last bytes (the table's
       tail_bytes; all of them where no table says) may move after the end: with the most time y that
       they take (nbc_table_part_ns), min max(0, x - y - noncomp), max min(comp + y, x). Where these are all, or it began in the same
       call: case 3.
     - that a receive's data came after the receive was posted (nbc_xfer_end_early): as much as may be
       sent eagerly may have come before, also of a larger message, whose first part goes ahead. With
       the time y of that, as above; where that is all of it: case 3.
     - either of a collective (nbc_xfer_end_parts), whatever its size: it may be cut into messages that
       are sent eagerly, and they may come before it is called: case 3.
     - what nobody saw: a transfer that was under way when its recorder was switched off, or when the
       thread that began it ended, may have moved meanwhile, behind what other threads computed: case 3.
     - a table that says x > window: the transfer was faster than that, so min is 0, and
       max is x where there was any computation.
     - that a put, get or update takes as long as a message (desc.tables_of_messages): likewise.
     - the tables that stand in for missing ones, those that were disturbed when they were measured, and
       any table for messages to oneself: min is 0.
     - the slower of two tables as a lower bound: where the peer is not known, min rests on the faster.
   Joint bounds: transfers of one direction that are under way to one class of peers at the same time
   share the link. From the first's begin to the last's end, of length C + N, the link moves at most
   the table's link_bytes_per_s x time, so with the work w of a transfer, its bytes at that rate,
       max <= sum of (x - w) + C        min >= sum of w - N
   for the sum over these transfers; the independent bounds above are kept beside them, and the joint
   ones never leave them. Only with a table that has link_bytes_per_s and was not disturbed. That rate was
   measured with the table's link_peers; to k times as many others at once, k times as much may move: there
   are no more of these than transfers at one time, nor than processes (desc.peers_same_node, _other_node).
   What the tool itself costs (desc.call_cost_ns, event_cost_ns) is neither C nor N, but tool time.

   Several threads. Each thread has its own recorder, its own C and N. A transfer belongs to the
   thread that began it (its owner), also when another thread (a progress worker, another
   waiter) stamps its begin or end: then comp is the owner's C between the two stamps. Such a stamp
   is placed between the owner's calls only when the owner has told of a later one, because a thread
   may be interrupted between reading its clock and telling; until then the transfer counts as
   active. The same holds for what is stamped with an earlier time (_at). Per process,
   C, N, x and the bounds are sums over threads (thread-seconds), so min <= true <= max holds for
   the sums because it holds for each transfer. Computation of threads without a recorder is not
   seen.

   Memory: about 100 B (of transfers 130 B, with history_calls) x (max_transfers + ring_events) + 600 B x max_cells + 3 KB x max_sections per
   recorder, allocated at attach, touched when used: an idle thread has less than 64 KiB. No allocation, lock or system call per event (a full ring, and at
   every 64th call an inbox that is not empty, is drained under a private spin lock that only a
   foreign stamp or a report can hold). */

#define NBC_MAX_CLASSES  32 /* message-size classes */
#define NBC_MAX_DEPTH    16 /* open sections of one thread */
#define NBC_MAX_COUNTERS 64

/* Counters of the machine (a NIC's bytes, retransmissions, pauses) to be booked per section. They
   are read when a section begins or ends, when the recorder is switched, and for a report; by one
   thread per process, the one that attached first, so that nothing counts twice. NIC counters are
   the node's: on a node with several processes, give them to one. */
typedef struct nbc_counter_source {
  size_t count;             /* at most NBC_MAX_COUNTERS */
  const char *const *names; /* borrowed */
  /* Rising values, all `count` of them. ret false: failed */
  bool (*read)(void *user, uint64_t *values);
  void *user;
} nbc_counter_source;

/* What is said of one transfer when it is accounted, or of a NIC's stamp when it is used. */
typedef struct nbc_seen {
  uint64_t id, size_bytes;
  nbc_kind kind;
  nbc_peer peer;
  bool by_nic;              /* a NIC's stamp: id, begin, end and err_ns only */
  int case_of;              /* 1, 2, 3 [O §2.2] */
  int64_t begin_ns, end_ns; /* INT64_MIN: not seen */
  int64_t xfer_ns, min_overlap_ns, max_overlap_ns;
  int64_t err_ns;
} nbc_seen;

typedef struct nbc_monitor nbc_monitor;   /* one per process */
typedef struct nbc_recorder nbc_recorder; /* one per thread */

typedef struct nbc_monitor_desc {
  const nbc_clock *clock;            /* copied; NULL = nbc_clock_create with defaults */
  const nbc_table *table_same_node;  /* borrowed until destroy; NULL = 500 ns + n / (5 GB/s) */
  const nbc_table *table_other_node; /* borrowed until destroy; NULL = 2 us + n / (10 GB/s) */
  /* Ascending upper limits (inclusive) of the size classes; the last class is open. 0 = 256, 4 Ki, 64 Ki,
     1 Mi, 16 Mi */
  const uint64_t *class_edges_bytes;
  size_t class_edge_count;
  size_t ring_events;   /* 0 = 512; rounded up to a power of two */
  size_t max_transfers; /* active at once, per thread; 0 = 4096; rounded up likewise */
  size_t max_cells;     /* (section, kind, class, peer, place) combinations; 0 = 1024 */
  size_t max_sections;  /* per thread; 0 = 64 */
  size_t history_calls; /* calls kept for stamps of the past; 0 = 256, no NIC stamps */
  const nbc_counter_source *counters; /* borrowed until destroy; NULL = none */
  bool start_off;                     /* recorders start switched off */
  bool grow_transfers;   /* max_transfers is where it begins: doubled when full (allocates) */
  int64_t call_cost_ns;  /* what of a gap between calls is the caller's own work, at least; */
  int64_t event_cost_ns; /* and per event of the call before. Lowered when a gap is shorter */
  /* Called for each transfer that is over, for those under way by each report, and for NIC stamps, by the
     thread that drains: not in the order of their times. It must not call the monitor. NULL: none */
  void (*on_seen)(void *user, const nbc_seen *seen);
  void *on_seen_user;
  /* Processes that a recorder's transfers can be with, on its node and on others; 0: not known, or more than one
     thread of a process may move them at once. */
  uint32_t peers_same_node, peers_other_node;
  /* The tables were measured by sends and receives: puts, gets and atomics may be faster. */
  bool tables_of_messages;
} nbc_monitor_desc;

/* ret NBC_OK | NBC_E_INVAL (edges not ascending, too many; too many counters) | NBC_E_CLOCK |
   NBC_E_NOMEM */
NBC_API nbc_status nbc_monitor_create(const nbc_monitor_desc *desc, nbc_monitor **monitor);
/* All recorders must be idle. NULL allowed. */
NBC_API void nbc_monitor_destroy(nbc_monitor *monitor);
NBC_API const nbc_clock *nbc_monitor_clock(const nbc_monitor *monitor);
NBC_API nbc_monitor_desc nbc_monitor_desc_of(const nbc_monitor *monitor); /* values in force */

/* A recorder for the calling thread. Its computation starts now. Any thread, takes a lock.
   ret NBC_OK | NBC_E_NOMEM */
NBC_API nbc_status nbc_recorder_attach(nbc_monitor *monitor, nbc_recorder **recorder);
NBC_API nbc_status nbc_recorder_attach_at(nbc_monitor *monitor, int64_t t_ns,
                                          nbc_recorder **recorder);
/* The thread ends: its time stops, its numbers stay for the report. The pointer is dead
   afterwards. */
NBC_API void nbc_recorder_detach(nbc_recorder *recorder);
NBC_API void nbc_recorder_detach_at(nbc_recorder *recorder, int64_t t_ns);

/* The four events [O §2.1]. Only the recorder's own thread; O(1), no error: what does not fit is
   counted (nbc_problem). The _at twins take the time instead of reading the clock, here and below: it
   must lie within 2^61 ns (73 years) of 0, which nobody checks; times of calls should not decrease. Nested calls count once, as the outermost. */
NBC_API void nbc_call_enter(nbc_recorder *recorder, nbc_kind kind);
NBC_API void nbc_call_enter_at(nbc_recorder *recorder, nbc_kind kind, int64_t t_ns);
NBC_API void nbc_call_exit(nbc_recorder *recorder);
NBC_API void nbc_call_exit_at(nbc_recorder *recorder, int64_t t_ns);
/* id: any number, unique among this recorder's active transfers. */
NBC_API void nbc_xfer_begin(nbc_recorder *recorder, uint64_t id, uint64_t size_bytes, nbc_kind kind,
                            nbc_peer peer);
NBC_API void nbc_xfer_begin_at(nbc_recorder *recorder, uint64_t id, uint64_t size_bytes,
                               nbc_kind kind, nbc_peer peer, int64_t t_ns);
/* A transfer that had begun before, without this recorder seeing it (a message that came before its
   receive): its id is known from here on for its end, stamps or cancel; only its end bounds it:
   case 3. */
NBC_API void nbc_xfer_begun(nbc_recorder *recorder, uint64_t id, uint64_t size_bytes, nbc_kind kind,
                            nbc_peer peer);
NBC_API void nbc_xfer_begun_at(nbc_recorder *recorder, uint64_t id, uint64_t size_bytes,
                               nbc_kind kind, nbc_peer peer, int64_t t_ns);
NBC_API void nbc_xfer_end(nbc_recorder *recorder, uint64_t id);
NBC_API void nbc_xfer_end_at(nbc_recorder *recorder, uint64_t id, int64_t t_ns);
/* As nbc_xfer_end_sized, for data that may have come before its receive was posted. */
NBC_API void nbc_xfer_end_early(nbc_recorder *recorder, uint64_t id, uint64_t size_bytes,
                                nbc_peer peer);
NBC_API void nbc_xfer_end_early_at(nbc_recorder *recorder, uint64_t id, uint64_t size_bytes,
                                   nbc_peer peer, int64_t t_ns);
/* As nbc_xfer_end, for data that leaves this process: the buffer may be used again, which does not tell
   that the data has arrived. */
NBC_API void nbc_xfer_end_local(nbc_recorder *recorder, uint64_t id);
NBC_API void nbc_xfer_end_local_at(nbc_recorder *recorder, uint64_t id, int64_t t_ns);
/* As these two at once, for what moves in messages that nobody sees, a collective, or from a buffer that was
   copied first: any part of it may come before the begin or arrive after the end. Case 3. */
NBC_API void nbc_xfer_end_parts(nbc_recorder *recorder, uint64_t id);
NBC_API void nbc_xfer_end_parts_at(nbc_recorder *recorder, uint64_t id, int64_t t_ns);
/* The time of the call that is open is shared by this many ends (of one wait for all); from here to the
   end of the call. Otherwise each end gets the time since the end before it in that call. */
NBC_API void nbc_call_shared(nbc_recorder *recorder, uint32_t ends);
/* When the open call has ended the tool itself works for d_ns, before the program goes on (it writes a report, say): tool
   time. Nothing when d_ns < 0, or no call is open. */
NBC_API void nbc_call_tool(nbc_recorder *recorder, int64_t d_ns);
/* As nbc_xfer_end, but the true size became known only now (a receive shorter than its buffer). */
NBC_API void nbc_xfer_end_sized(nbc_recorder *recorder, uint64_t id, uint64_t size_bytes,
                                nbc_peer peer);
NBC_API void nbc_xfer_end_sized_at(nbc_recorder *recorder, uint64_t id, uint64_t size_bytes,
                                   nbc_peer peer, int64_t t_ns);
/* A transfer of which only the end is seen (an eager arrival): case 3. */
NBC_API void nbc_xfer_end_only(nbc_recorder *recorder, uint64_t size_bytes, nbc_kind kind,
                               nbc_peer peer);
NBC_API void nbc_xfer_end_only_at(nbc_recorder *recorder, uint64_t size_bytes, nbc_kind kind,
                                  nbc_peer peer, int64_t t_ns);
/* The transfer will not happen (cancelled receive): forgotten, counted as `cancelled`. Has the time of the last begin or end
   of a call: what another thread tells of this id after that comes later. */
NBC_API void nbc_xfer_cancel(nbc_recorder *recorder, uint64_t id);

/* Stamps that another thread sets for a transfer of `owner`. Any thread, lock-free unless the
   owner's inbox is full (then that thread drains it; stamps that the owner has not passed yet are
   `unplaced`). */
NBC_API void nbc_foreign_begin(nbc_recorder *owner, uint64_t id, uint64_t size_bytes, nbc_kind kind,
                               nbc_peer peer);
NBC_API void nbc_foreign_begin_at(nbc_recorder *owner, uint64_t id, uint64_t size_bytes,
                                  nbc_kind kind, nbc_peer peer, int64_t t_ns);
NBC_API void nbc_foreign_end(nbc_recorder *owner, uint64_t id);
NBC_API void nbc_foreign_end_at(nbc_recorder *owner, uint64_t id, int64_t t_ns);
NBC_API void nbc_foreign_end_early(nbc_recorder *owner, uint64_t id, uint64_t size_bytes,
                                   nbc_peer peer);
NBC_API void nbc_foreign_end_local(nbc_recorder *owner, uint64_t id);
NBC_API void nbc_foreign_end_local_at(nbc_recorder *owner, uint64_t id, int64_t t_ns);
NBC_API void nbc_foreign_end_parts(nbc_recorder *owner, uint64_t id);
NBC_API void nbc_foreign_end_sized(nbc_recorder *owner, uint64_t id, uint64_t size_bytes,
                                   nbc_peer peer);
NBC_API void nbc_foreign_end_sized_at(nbc_recorder *owner, uint64_t id, uint64_t size_bytes,
                                      nbc_peer peer, int64_t t_ns);
NBC_API void nbc_foreign_cancel(nbc_recorder *owner, uint64_t id); /* as nbc_xfer_cancel */
NBC_API void nbc_foreign_end_only(nbc_recorder *owner, uint64_t size_bytes, nbc_kind kind,
                                  nbc_peer peer);

/* The true begin and end of a transfer, from a NIC (real, RTL or model), each t_ns +- err_ns in
   host time: exact overlap = C(end) - C(begin), an interval because of err_ns [O §2.2, §6]. May
   come before or soon after the transfer's end event, and is used when the owner has passed t_end +
   err; several stamps of one id add up (fragments). Needs desc.history_calls; a stamp older than
   the history, or of an unknown id, is counted as lost. Any thread. */
NBC_API void nbc_xfer_stamp(nbc_recorder *owner, uint64_t id, int64_t t_begin_ns, int64_t t_end_ns,
                            int64_t err_ns);
/* The same when both are readings of one clock: err_ns moves them together, and the transfer's
   length t_end_ns - t_begin_ns is known to d_err_ns, which is far less. Then no more is hidden than
   the transfer is long, and no less than its length without what was not computation from the
   earliest begin to the latest end: the exact interval is cut by these two, the bounds of [O §2.2
   case 2] for the true length, so that it is narrow where they are tight. */
NBC_API void nbc_xfer_stamp_length(nbc_recorder *owner, uint64_t id, int64_t t_begin_ns,
                                   int64_t t_end_ns, int64_t err_ns, int64_t d_err_ns);
/* The same when many stamps share one error, that of the clock they were made with: all times of one
   group (1 to 2^31 - 1, or 0: none; the owner's watches take others) are off by one and the same shift, known to +-shared_err_ns, and each by up to
   own_err_ns of its own. Their sum is then that of one shift, whichever it is, and not of the worst
   for each: the interval of a total grows with own_err_ns, not with shared_err_ns. */
NBC_API void nbc_xfer_stamp_shared(nbc_recorder *owner, uint64_t id, int64_t t_begin_ns,
                                   int64_t t_end_ns, int64_t own_err_ns, int64_t d_err_ns,
                                   int64_t shared_err_ns, uint32_t group);

/* Named sections of the program: nested, per thread. What begins inside counts for the innermost
   open section only; a report shows the path ("solve/halo"). The name is copied (63 characters
   kept). end closes the innermost; name may be NULL, or must match, else section_unbalanced is
   counted. */
NBC_API void nbc_section_begin(nbc_recorder *recorder, const char *name);
NBC_API void nbc_section_begin_at(nbc_recorder *recorder, const char *name, int64_t t_ns);
NBC_API void nbc_section_end(nbc_recorder *recorder, const char *name);
NBC_API void nbc_section_end_at(nbc_recorder *recorder, const char *name, int64_t t_ns);
/* Places of the program: transfers are counted for the one where they began, so that a report has bounds, and the time
   that was waited, for each. nbc_monitor_place gives call, module and offset of *where a number (its other fields are not
   looked at); the texts are not copied and live as long as the monitor. Any thread, takes a lock; the same place has the
   same number. ret 1 to 65535; 0: no room or no memory, or an argument is NULL. */
NBC_API uint32_t nbc_monitor_place(nbc_monitor *monitor, const nbc_site *where);
/* What begins from now on began there, until the next; 0 (as at first), or no number of this monitor's: at no known
   place. */
NBC_API void nbc_recorder_place(nbc_recorder *recorder, uint32_t place);
/* Measuring off and on, for this thread. While off, time counts as neither computation nor call and
   new transfers are not counted; transfers begun before still end. */
NBC_API void nbc_recorder_switch(nbc_recorder *recorder, bool on);
NBC_API void nbc_recorder_switch_at(nbc_recorder *recorder, bool on, int64_t t_ns);

/* Computation of this recorder up to t_ns (not earlier than its last call event): C(t). Any
   thread. */
NBC_API int64_t nbc_recorder_comp_ns(const nbc_recorder *recorder, int64_t t_ns);
/* What of the open call's time a transfer that ends now would be said to have been waited for; 0: no call is open. The
   recorder's own thread, or while that stands still. */
NBC_API int64_t nbc_recorder_waited_ns(const nbc_recorder *recorder, int64_t t_ns);

/* ---- for later pieces ---- */
#define NBC__MON_RELAXED_LOAD(p)     __atomic_load_n((p), __ATOMIC_RELAXED)
#define NBC__MON_RELAXED_STORE(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define NBC__MON_RARE(condition)     __builtin_expect(!!(condition), 0)
#define NBC__MON_APART               __attribute__((noinline)) /* not in the way of what is often */

/* What an event is. */
enum {
  NBC__MON_BEGIN = 0,
  NBC__MON_BEGUN,
  NBC__MON_END,
  NBC__MON_END_SIZED,
  NBC__MON_END_ONLY,
  NBC__MON_CANCEL,
  NBC__MON_STAMP,
  NBC__MON_END_LOCAL,
  NBC__MON_END_EARLY,
  NBC__MON_END_PARTS,
  NBC__MON_PAIRED /* a begin whose end is drained with it: while that goes on */
};

/* One stamp of a transfer, with the owner's C at that time: all that the bounds need [O §2.2]. N
   need not be kept: it is the time less C. The unions keep an event at 48 bytes, which every begin
   and end writes and copies; a NIC stamp has no C, size or call of its own. */
typedef struct nbc__mon_event {
  int64_t t_ns; /* of a NIC stamp: the last time that it speaks of, its end + err */
  __extension__ union {
    int64_t comp_ns;
    int64_t stamp_begin_ns; /* of a NIC stamp */
  };
  uint64_t id;
  __extension__ union {
    uint64_t size_bytes;
    int64_t stamp_err_ns; /* of a NIC stamp */
  };
  __extension__ union {
    uint32_t call_seq;            /* which call of the owner; 0 = outside of calls */
    uint32_t stamp_length_err_ns; /* of a NIC stamp */
  };
  __extension__ union {
    __extension__ struct {
      uint16_t section;
      uint8_t kind, peer;
    };
    uint32_t stamp_group; /* of a NIC stamp: stamps that share their error; 0 = none */
  };
  __extension__ union {
    uint32_t place;         /* of a begin; of an end without one it is the id, which that has not */
    float waited_ns;        /* in the call of an end */
    float stamp_own_err_ns; /* of a NIC stamp in a group: the part that is not shared */
  };
  uint8_t what;
  uint16_t back; /* of an end: how far back in the ring its begin stands; 0: not known */
} nbc__mon_event;

/* Transfers of one direction to one class of peers that were under way at the same time: from the
   first's begin to the last's end (a busy period), they together move no more than the link does. */
typedef struct nbc__mon_joint {
  uint32_t active, most_active; /* now; at one time of this period */
  bool broken; /* a stamp of this period has no place: only the independent bounds hold */
  int64_t begin_ns, begin_comp_ns, end_ns, end_comp_ns;
  nbc_totals period;  /* of transfers with two ends in this period */
  int64_t latency_ns; /* what of their maximum is not work of the link, summed */
  int64_t work_ns;    /* their bytes at the link's rate */
  nbc_totals sum;     /* of all closed periods: what stands in the report */
} nbc__mon_joint;

/* What the stamps of one group and cell say together, for each part of the range of their common
   shift: what they hide at least and at most when it lies there. */
enum { NBC__MON_SHIFTS = 16 };
typedef struct nbc__mon_shift {
  uint32_t group; /* 0: none is open */
  int64_t reach_ns;
  int64_t lo_ns, hi_ns; /* each stamp for itself */
  int64_t least_ns[NBC__MON_SHIFTS], most_ns[NBC__MON_SHIFTS];
} nbc__mon_shift;

/* What the stamps of a transfer that has not ended added to the cell of its begin: of a receive, its size and
   its partner are known for sure at the end only, and so is its cell. */
typedef struct nbc__mon_stamped {
  uint64_t count;
  int64_t xfer_ns, lo_ns, hi_ns;
} nbc__mon_stamped;

/* How C went on from t_ns, until the next one: what exact overlap needs. */
/* Other threads read it without a lock while the owner writes: history_head tells them afterwards
   whether what they read has been written over meanwhile (nbc__mon_comp_then). */
typedef struct nbc__mon_turn {
  int64_t t_ns, state;
} nbc__mon_turn;

/* Inbox for foreign stamps: bounded queue, many producers, one consumer (who holds the lock).
   turn + index of the slot == position: free; == position + 1: filled. All zero is all free. */
typedef struct nbc__mon_slot {
  uint64_t turn;
  nbc__mon_event event;
} nbc__mon_slot;

/* Active transfers: open addressing on small keys, payload from a last-in-first-out pool, so that
   few active transfers touch few cache lines. */
/* The table is at most half full, and closes the gap of what is removed: so a search stays short,
   however long a program runs. */
typedef struct nbc__mon_key {
  uint64_t id;
  uint32_t index_plus1; /* into active; 0 = empty */
} nbc__mon_key;

typedef struct nbc__mon_calls {
  uint64_t count;
  int64_t total_ns, min_ns, max_ns;
} nbc__mon_calls;

typedef struct nbc__mon_section {
  char name[64];
  int parent;
  uint64_t count;
  int64_t comp_ns, call_ns;
  nbc__mon_calls calls[NBC_KIND_COUNT];
} nbc__mon_section;

/* What is the same for all transfers of one kind, size, peer and way to end: looked up once, kept where
   the next ones find it. One place per hash: who is displaced is looked up again, the sums are in
   the cells. Bit 63 of a key is set, so no key is 0. */
enum { NBC__MON_SHAPES_LOG2 = 5, NBC__MON_SHAPES = 1 << NBC__MON_SHAPES_LOG2 };
typedef struct nbc__mon_shape {
  uint64_t key, size_bytes; /* key 0: none */
  nbc_cell *cell;           /* where they are counted; NULL: not looked up */
  int64_t x_ns, fastest_ns; /* by the table; how fast it may be at least */
  uint64_t outside_bytes;   /* what of it may move before its begin or after its end, ... */
  int64_t outside_ns;       /* ... and how long that takes */
  bool off_table;
  uint8_t end; /* nbc__mon_trust */
} nbc__mon_shape;

#define NBC__MON_RECENT                                                                            \
  1024 /* remembered ended transfers: for late stamps, and to tell "twice"
                                from "unknown" */

/* Where in the ring the last begins stand, for their ends. One place per hash: who is displaced is found
   by its key. */
enum { NBC__MON_BEGINS = 64 };
typedef struct nbc__mon_begun_at {
  uint64_t id, at_plus1; /* 0: ended, or none */
} nbc__mon_begun_at;

struct nbc_recorder {
  /* Event path: written by the owner only. `state` is all that others need to know C(t):
     odd: C stands still at state / 2; even: C(t) = t - state / 2 (nbc__mon_standing, _growing). */
  int64_t state;
  int64_t last_ns, enter_ns;
  int depth;
  nbc__mon_calls *call; /* of the open call */
  float share;          /* of the open call's time that an end in it gets */
  int64_t ended_ns;     /* the last end in the open call; its begin before there is one */
  int64_t comp_ns;      /* C at the last exit */
  int64_t owed_ns;      /* of the gap since then: the tool's own work, not booked yet */
  int64_t call_cost_ns, event_cost_ns, drain_ns, tool_ns;
  uint64_t enter_head;                 /* of the ring, when the open call was entered */
  uint32_t call_seq, call_seq_counter; /* odd in calls; the counter goes up by two */
  bool on;
  uint16_t section, place;
  nbc__mon_section *here; /* &sections[section] */
  int open_depth, open_overflow;
  uint16_t open[NBC_MAX_DEPTH];
  nbc__mon_event *ring;
  uint64_t ring_mask, ring_head, ring_tail;
  nbc__mon_begun_at begins[NBC__MON_BEGINS];
  nbc__mon_turn *history;
  uint64_t look_mask; /* how often the owner looks into its inbox */
  bool takes_nic_stamps;
  uint64_t history_mask, history_head;
  nbc__mon_section *sections;
  size_t section_count;
  int64_t off_ns;
  nbc_monitor *monitor;
  nbc_recorder *next;
  bool attached;
  pthread_t thread; /* the one that attached: the owner */
  /* Any thread. */
  nbc__mon_slot *inbox;
  uint64_t inbox_mask, inbox_head;
  uint64_t problems[NBC_PROBLEM_COUNT];
  /* Under the lock. */
  int lock;
  uint64_t *counter_sums, *counter_last; /* [section][counter]; NULL: this recorder reads none */
  bool counter_valid;                    /* counter_last was read */
  uint64_t inbox_tail;
  nbc__mon_key *keys;
  uint64_t key_mask;
  nbc__mon_event *active;
  nbc__mon_stamped *stamped; /* one per place in active; NULL when NIC stamps are not taken */
  uint32_t *pool; /* places in active that were given back; those from active_used on are new */
  size_t pool_count, active_used, active_size;
  struct {
    uint64_t id;
    bool set;
    nbc_cell *cell;
  } recent[NBC__MON_RECENT];
  nbc_cell *cells;
  nbc__mon_shift *shifts; /* one per cell; NULL when NIC stamps are not taken */
  uint32_t group_count;   /* given to watches; any thread */
  size_t cell_count;
  uint32_t *cell_index; /* hash of (section, kind, class, peer, place) to cell + 1 */
  nbc__mon_shape shapes[NBC__MON_SHAPES];
  nbc__mon_joint joint[2][NBC_PEER_COUNT]; /* out, in */
};

struct nbc_monitor {
  nbc_monitor_desc desc;
  nbc_clock clock;
  uint64_t edges[NBC_MAX_CLASSES];
  nbc_table *own_table[2], *table_self;
  bool has_joint;        /* a table says what its link can do */
  pthread_mutex_t mutex; /* the list of recorders, and the places */
  nbc_recorder *recorders;
  nbc_site *places; /* number 1 stands first */
  size_t place_count, place_room;
  double start_unix_s;
};

/* Each problem is counted either by the owner or under the lock, never by both (foreign_lost, which
   any thread may count, does not come here). */
static inline void nbc__mon_problem(nbc_recorder *r, nbc_problem problem) {
  NBC__MON_RELAXED_STORE(&r->problems[problem], r->problems[problem] + 1);
}
NBC__PRIVATE nbc_recorder *nbc__mon_new_recorder(nbc_monitor *m); /* NULL: out of memory */
NBC__PRIVATE void nbc__mon_lock(nbc_recorder *r);
NBC__PRIVATE void nbc__mon_drain(nbc_recorder *r);
NBC__PRIVATE void nbc__mon_drain_by_force(nbc_recorder *r); /* the inbox is full */
NBC__PRIVATE void nbc__mon_unlock(nbc_recorder *r);
NBC__PRIVATE void nbc__mon_read_counters_locked(nbc_recorder *r, bool book);
NBC__PRIVATE int nbc__mon_class(const nbc_monitor *m, uint64_t size_bytes);
/* What the bounds say of one transfer. */
typedef struct nbc__mon_bounds {
  int64_t x_ns, min_ns, max_ns;
  uint64_t outside_bytes; /* what of it may have moved before its begin or after its end */
  int case_of;            /* 0, 1, 2: [O §2.2] cases 1, 2, 3 */
  bool faster;            /* than the table */
} nbc__mon_bounds;
NBC__PRIVATE nbc__mon_bounds nbc__mon_account(nbc_recorder *r, nbc_cell *cell,
                                              const nbc__mon_event *b, const nbc__mon_event *e,
                                              uint64_t size_bytes, nbc_peer peer);
/* Tells desc.on_seen of a transfer; b and e as for nbc__mon_account. */
NBC__PRIVATE void nbc__mon_tell(const nbc_recorder *r, const nbc__mon_event *b,
                                const nbc__mon_event *e, uint64_t size_bytes, nbc_peer peer,
                                const nbc__mon_bounds *o);
/* C at a past time from the history of calls; false when the history does not reach back so far. */
NBC__PRIVATE bool nbc__mon_comp_then(const nbc_recorder *r, int64_t t_ns, int64_t *comp_ns);
/* A NIC's stamp of a transfer that is counted in cell. */
NBC__PRIVATE void nbc__mon_stamp(nbc_recorder *r, nbc_cell *cell, const nbc__mon_event *stamp,
                                 int64_t known_ns);
/* The same before that has ended: counted in the cell of its begin, and noted. */
NBC__PRIVATE void nbc__mon_stamp_early(nbc_recorder *r, size_t active_index,
                                       const nbc__mon_event *stamp, int64_t known_ns);
/* The end came, in another cell than the begin's: what its stamps said goes there. Not those of a group, whose sum
   is no sum of theirs. */
NBC__PRIVATE void nbc__mon_move_stamps(nbc_cell *from, nbc_cell *to, const nbc__mon_stamped *s);
/* Where a transfer is counted that has not ended. */
NBC__PRIVATE nbc_cell *nbc__mon_begin_cell(nbc_recorder *r, const nbc__mon_event *b);
NBC__PRIVATE void nbc__mon_drain_for_report_locked(nbc_recorder *r, int64_t t_ns);
NBC__PRIVATE void nbc__mon_shift_close(nbc_recorder *r, size_t cell_index);
NBC__PRIVATE uint32_t nbc__mon_new_group(nbc_recorder *r);
NBC__PRIVATE bool nbc__mon_is_owner(const nbc_recorder *r);
