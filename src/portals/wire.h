/* From one NIC to another: latency, order and faults; the LogGP level. */
#pragma once
#include "flow.h"
#include "ptl_target.h"
#include "ptl_moves.h"
/* ============================================================================================== */
/* [NIC] 8. NIC and wire                                                                          */
/* ============================================================================================== */
/* True stamps of a transfer: fn is called when it is known when the bytes of a put or atomic, or of
   a reply (is_reply), begin to leave and have all arrived at the wire's other end. t_end_ns may
   lie in the future of the call. Of what was lost: begins with the first try, ends with the last one (at the level LogGP:
   with the first). One function per world; NULL switches it off. */
typedef struct pm_stamp {
  uint64_t id; /* of the message, unique in the world */
  int from_node, to_node, initiator_rank;
  int target_rank; /* whom the initiator addressed; -1: nobody has that address */
  bool is_reply;
  void *user_ptr; /* of the initiator's operation */
  ptl_pt_index_t pt_index;
  ptl_size_t size_bytes;
  ptl_hdr_data_t hdr_data;
  ptl_match_bits_t match_bits;
  int64_t t_begin_ns, t_end_ns;
} pm_stamp;
PM_API void pm_on_stamp(pm_world *world, void (*fn)(void *arg, const pm_stamp *stamp), void *arg);

/* A carrier moves the bytes of messages by means of its own, e.g. NICs in RTL: the link level
   PM_LINK_CARRIER. Handles, permissions, matching, events, counters and the atomics that the carrier
   cannot compute stay with the model; wire, payload, acknowledgements, their times, faults and
   retransmissions are the carrier's. A carrier may keep the lists too, so that matching takes its time: the model
   tells it each entry and search, and decides by itself, when the carrier has done it. Messages within a node never
   reach it (unless intra_uses_nic). Times are picoseconds of the world. Commands of the CPU cost what they cost at the
   flow level. */
typedef enum pm_cargo_kind {
  PM_CARGO_PUT,     /* bytes go to the target; an answer without bytes comes back */
  PM_CARGO_GET,     /* bytes of the target come back */
  PM_CARGO_ATOMIC,  /* bytes go to the target; the carrier computes there, element by element */
  PM_CARGO_FETCH,   /* the same, and the old value comes back */
  PM_CARGO_EXCHANGE /* bytes go to the target, as many come back: the model computes */
} pm_cargo_kind;
typedef struct pm_cargo {
  void *message; /* for the functions below; valid until pm_cargo_returned */
  pm_cargo_kind kind;
  int from_node, to_node;
  uint32_t from_pid,
      to_pid; /* of the processes, and which of their interfaces: see pm_carrier_entry */
  ptl_uid_t from_uid;
  int interface_index;
  ptl_pt_index_t pt_index;
  ptl_match_bits_t match_bits;
  uint64_t remote_offset_bytes;
  bool is_service;   /* by the virtual networks of services */
  int payload;       /* 0 in the command, 1 written by the CPU, 2 read by the NIC */
  bool tells_sent;   /* pm_cargo_sent is expected */
  int element_bytes; /* of ATOMIC and FETCH, with the next */
  bool is_signed;
  bool is_float, is_complex; /* is_complex: two floats or doubles; is_float is set too */
  ptl_op_t operation;
  unsigned char compare[16]; /* of a conditional swap: element_bytes of them count */
  uint64_t size_bytes;       /* to the target, or asked back by a GET */
  int counter; /* 1 + number of the initiator's counter that grows by one with the answer; 0: none */
  int behind;  /* 1 + number of the initiator's counter: what is due there leaves first; 0: none */
} pm_cargo;

/* An entry of a list, as far as it says which messages it takes. */
typedef struct pm_carrier_entry {
  int node; /* of the process that appended it */
  uint32_t pid;
  int interface_index; /* bit 0: matching, bit 1: logical */
  ptl_pt_index_t pt_index;
  bool is_overflow, is_use_once;
  bool keeps_headers; /* messages leave unexpected headers */
  bool is_untold;     /* of those that it finds nobody is told */
  bool never_cuts;    /* what has no room is passed over (PTL_ME_NO_TRUNCATE) */
  bool is_local;      /* messages lie one behind the other (PTL_ME_MANAGE_LOCAL) */
  bool adds_lengths;  /* of headers that its append finds (PTL_ME_LOCAL_INC_UH_RLENGTH) */
  bool takes_puts,
      takes_gets;          /* what it takes and lets in not is refused, and leaves it as it is */
  bool is_mute;            /* what goes well is not acknowledged (PTL_ME_ACK_DISABLE) */
  int64_t uid;             /* -1: any; others are refused likewise */
  uint64_t min_free_bytes; /* one that is_local leaves its list with fewer */
  uint64_t size_bytes;
  int search; /* 0: an entry; 1: only looks for headers, 2: takes them out */
  uint64_t
      op_id; /* not 0: pm_list_told() says when it is done, also of an entry that headers used up */
  int64_t from_node_id, from_process_id; /* -1: any, -2: nobody's */
  ptl_match_bits_t match_bits, ignore_bits;
  int counter; /* 1 + number of the counter that each of its messages raises by one; 0: none */
} pm_carrier_entry;
/* What waits until a counter reaches a threshold: a message, or (cargo NULL) a change of a counter of the same node. */
typedef struct pm_carrier_trigger {
  int node, counter;  /* which counts */
  uint64_t threshold; /* for success and failure together */
  const pm_cargo *cargo;
  int target;  /* the counter that changes */
  bool is_set; /* to these values; else by them */
  ptl_ct_event_t value;
} pm_carrier_trigger;

/* What a carrier offers. Everything is called from the thread that runs the world. */
typedef struct pm_carrier {
  const char *name;
  void *ctx;
  /* Called by pm_world_create: platform, faults and seed are those of pm_world_desc_of(world). */
  pm_status (*open)(void *ctx, pm_world *world);
  void (*close)(void *ctx);
  /* Takes a message at time t_ps, not before the last advance(). The carrier copies the cargo. */
  pm_status (*submit)(void *ctx, int64_t t_ps, const pm_cargo *cargo);
  /* Lets time pass up to until_ps, at most to the end of the first step in which it called one of
     pm_cargo_sent, _match, _arrived or _returned. ret 1: it did, 0: until_ps is reached or nothing is
     under way */
  int (*advance)(void *ctx, int64_t until_ps);
  bool (*is_busy)(const void *ctx); /* time must pass through advance() */
  int64_t (*now_ps)(const void *ctx);
  /* Both or none. While messages are the carrier's: an entry is the last of its list from now on (with an
     op_id: is to be, or is searched for); ret its own number from 0 on, or -1: not kept, the model does it alone. An
     entry of that number is in its list no longer: is_by_message: the message of the present pm_cargo_match or
     _arrived took it. */
  int (*entry_linked)(void *ctx, int64_t t_ps, const pm_carrier_entry *entry);
  void (*entry_unlinked)(void *ctx, int64_t t_ps, int node, int number, bool is_by_message);
  /* All or none: counters and what waits for them, kept by the carrier too, so that what is released goes without
     the host. A counter's number, its value 0, or -1: it has no more; a counter ends. */
  int (*counter_new)(void *ctx, int64_t t_ps, int node);
  void (*counter_free)(void *ctx, int64_t t_ps, int node, int counter);
  /* The model's value, after each change: the carrier adds what it did not count by itself. */
  void (*counter_is)(void *ctx, int64_t t_ps, int node, int counter, ptl_ct_event_t value);
  /* A portal lets messages in, or does not: those that come meanwhile the carrier does not count for its entries. */
  void (*portal_is)(void *ctx, int64_t t_ps, int node, uint32_t pid, int interface_index,
                    ptl_pt_index_t pt_index, bool is_on);
  /* From 0 on: it waits there, and a message is sent from there, perhaps before the model knows that it is due;
     -1: the model does it. */
  int (*trigger_posted)(void *ctx, int64_t t_ps, const pm_carrier_trigger *trigger);
  /* In the model it is due now: before the counter that it changes is told of. */
  void (*trigger_due)(void *ctx, int64_t t_ps, int node, int number);
  /* All of the counter that are not due go. Messages of which the carrier has told nothing yet are over. */
  void (*triggers_cancelled)(void *ctx, int64_t t_ps, int node, int counter);
} pm_carrier;

/* What a carrier tells the model, from inside advance(), in this order for each message:
   payload: size_bytes from offset_bytes on of what is sent, as the initiator's memory is now;
   beyond the message zeros. Also from inside submit(). */
PM_API void pm_cargo_payload(const pm_cargo *cargo, uint64_t offset_bytes, void *buffer,
                             size_t size_bytes);
/* The initiator may write its buffer again: for tells_sent, once. */
PM_API void pm_cargo_sent(const pm_cargo *cargo);
/* GET, ATOMIC and FETCH are about to read the target's memory: matches, and fills size_bytes of data
   (zeros where nothing matched). Once. */
PM_API void pm_cargo_match(const pm_cargo *cargo, void *data);
/* The carrier's own number of the entry that took it, since pm_cargo_match or _arrived until _returned; -1: none did, one
   that the carrier does not keep, or one that left its list with it (entry_unlinked named that). */
PM_API int pm_cargo_entry(const pm_cargo *cargo);
/* ATOMIC and FETCH, once: the value that came out is to be stored. operand: as it was read from the initiator, was: as
   pm_cargo_match filled it; each of size_bytes. When something else changed the memory since then, the model computes again. */
PM_API void pm_cargo_store(const pm_cargo *cargo, const void *operand, const void *was,
                           const void *value);
/* The request is at the target: matched if it is not yet, data (of a PUT or EXCHANGE; else NULL)
   written, events and counters told. t_begin_ps, t_end_ps: first bit leaves, last is there. Of an
   EXCHANGE data is overwritten by what goes back. */
PM_API void pm_cargo_arrived(const pm_cargo *cargo, int64_t t_begin_ps, int64_t t_end_ps,
                             void *data);
/* The answer is at the initiator, with data of a GET, FETCH or EXCHANGE; or never will be
   (is_delivered 0). Ends the message. */
PM_API void pm_cargo_returned(const pm_cargo *cargo, bool is_delivered, int64_t t_begin_ps,
                              int64_t t_end_ps, void *data);
/* Beside messages: the append or search with that op_id (pm_carrier_entry) has taken place; an entry is in its list, or
   it has been used up by headers, as the carrier has it. The model may have it otherwise, and tells then. */
PM_API void pm_list_told(pm_world *world, uint64_t op_id);

/* ---- for later pieces ---- */
/* Valid until another stream is asked for. */
PM__PRIVATE pm__stream *pm__stream_of(pm_world *w, int from, int to, int lane);
PM__PRIVATE void pm__message_release(pm_world *w, pm__message *m);
PM__PRIVATE void pm__note(pm_world *w, const pm__message *m, int step);
PM__PRIVATE void pm__stamp_it(pm_world *w, const pm__message *m, bool is_reply, int64_t t_begin_ps,
                              int64_t t_end_ps);
static inline void pm__stamp(pm_world *w, const pm__message *m, bool is_reply, int64_t t_begin_ps,
                             int64_t t_end_ps) {
  if (w->stamp) pm__stamp_it(w, m, is_reply, t_begin_ps, t_end_ps);
}
static inline bool pm__brings_data(const pm__message *m) { return m->what.kind >= PM__GET; }
static inline bool pm__is_inside(const pm_world *w, const pm__message *m) {
  (void)w;
  return m->what.is_inside;
}
PM__PRIVATE uint64_t pm__job_bytes(const pm__message *m);
PM__PRIVATE int64_t pm__pci_ps(const pm_world *w, double bytes);
PM__PRIVATE int64_t pm__event_ps(const pm_world *w);
/* How long the last bytes and the event behind them take over PCI, without its latency. */
PM__PRIVATE int64_t pm__write_ps(const pm_world *w, uint64_t bytes);
PM__PRIVATE double pm__wire_bytes(const pm_world *w, uint64_t payload);
PM__PRIVATE int64_t pm__alone_ps(const pm_world *w, const pm__message *m, const pm__known_way *way);
PM__PRIVATE int64_t pm__wire_ps(pm_world *w, uint64_t payload);
static inline int pm__job_from(const pm__message *m) { /* NICs of the present travel */
  return m->way.is_reply ? m->what.to_nic : m->what.from_nic;
}
static inline int pm__job_to(const pm__message *m) {
  return m->way.is_reply ? m->what.from_nic : m->what.to_nic;
}
static inline pm__node *pm__job_nic(const pm__message *m) { /* that it leaves */
  return m->way.is_reply ? m->what.target_nic : m->what.initiator_nic;
}
/* Whether all NICs of the node move this payload together. */
static inline bool pm__is_split(const pm_world *w, uint64_t bytes) {
  return w->plat.nic_count > 1 && w->plat.rail_split_bytes &&
         bytes >= (uint64_t)w->plat.rail_split_bytes;
}
/* It was issued before its initiator's node died. Before its target's: then it comes back as lost, and no more is to
   be done with it. */
PM__PRIVATE bool pm__is_of_the_dead(const pm_world *w, const pm__message *m);
PM__PRIVATE bool pm__is_for_the_dead(pm_world *w, pm__message *m);
PM__PRIVATE void pm__written_at(pm_world *w, pm__message *m, int64_t t_ps);
PM__PRIVATE int pm__arrive(pm_world *w, pm__message *m);
PM__PRIVATE void pm__written(pm_world *w, pm__message *m);
PM__PRIVATE void pm__come_back(pm_world *w, pm__message *m);
PM__PRIVATE void pm__send_early(pm_world *w, pm__message *m, int64_t t_ps);
PM__PRIVATE int64_t pm__slow_ps(const pm_world *w, int nic, int64_t d_ns);
/* What messages of this size cost at the LogGP level; NULL: the platform has one line for all. */
PM__PRIVATE const pm_loggp_range *pm__loggp_of(const pm_world *w, double bytes);
/* A number of a mixture, drawn from the world's seed. */
PM__PRIVATE double pm__mixture(const pm_mode *modes, int count, pm_world *world);
PM__PRIVATE void pm__fetched(pm_world *w, pm__message *m, int64_t t_there_ps);
PM__PRIVATE int pm__travel(pm_world *w, pm__message *m, int from, int to, int lane, int64_t t_ps,
                           int64_t latency_ps, void (*there)(pm_world *world, pm__event *event));
/* All of it is there so much later, if nothing before it on its stream is late. */
PM__PRIVATE void pm__in_order(pm_world *w, pm__message *m, int64_t wait_ps);
PM__PRIVATE void pm__back_event(pm_world *w, pm__event *event);
PM__PRIVATE int pm__travel_kind(const pm__message *m);
PM__PRIVATE void pm__loggp_send(pm_world *w, pm__message *m);
