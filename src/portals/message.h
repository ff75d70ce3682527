/* One operation on its way: what Portals knows of it, what NIC and wire do with it, what a carrier
   adds; and what these ask of each other. */
#pragma once
#include "ptl.h"

/* ---- for later pieces ---- */
/* From PM__GET on they bring data back, from PM__FETCH on they also carry some there. */
typedef enum pm__kind { PM__PUT, PM__ATOMIC, PM__GET, PM__FETCH, PM__SWAP } pm__kind;

/* A message is in no cache any more each time it is looked at, in a world of thousands. So what each step looks at
   stands together: lines of the cache are marked. */
/* What an operation is and what became of it. Written by Portals alone (the pieces ptl_...); NIC, wire,
   carriers and trace only read it. */
typedef struct pm__operation {
  /* what each step looks at */
  unsigned char kind, ack_req, op, type, fail, list;
  unsigned char promised; /* places in the target's queue */
  bool is_ack_muted, is_early_send, has_copy, unlinks;
  bool is_unheld;  /* its descriptor was given back when it started: see pm__give_back */
  bool is_written; /* its data is in the target's memory, see pm__target_waits */
  bool is_inside;  /* of one node: through memory */
  unsigned char from_index, pt;         /* of interfaces: which; portal */
  int from_nic, to_nic;                 /* of the initiator, and of its rail at the target's node */
  pm__node *initiator_nic, *target_nic; /* the same two */
  pm__ni *from;
  uint64_t length, id;
  /* line: what ends look at */
  pm__ni *to;
  pm__me *me;
  pm__md *md, *get_md;
  pm__header *header;
  struct pm__message *next_write; /* of the target's interface, see pm__target_waits */
  uint64_t mlength;
  uint32_t from_epoch, to_epoch;
  /* line: matching */
  ptl_process_t target,
      initiator; /* the one physical, the other as its target sees it: interfaces and
                               their maps may be gone when it arrives */
  uint64_t match_bits, remote_offset, offset_used;
  void *start;
  unsigned char *kept; /* payload of more bytes that its owner may change or lose; allocated */
  ptl_uid_t uid;
  uint32_t looked_at; /* list entries */
  /* line: for the rest */
  uint64_t local_offset, get_offset, hdr_data;
  void *user_ptr;
  int64_t t_issue_ps;
  unsigned char copy[PM__COPY_BYTES]; /* small payload, or what a fetch brings back */
  unsigned char operand[32];          /* of a conditional swap */
} pm__operation;
/* Where it is. Written by NIC and wire alone. Three things may be in its future at once: the travel over
   the network, the end of the writing at the target, an early SEND. */
typedef struct pm__journey {
  pm__event event;      /* first: the travel itself */
  pm__known_way *known; /* where the present travel's way was found, see pm__known_again */
  int pending;          /* events and travels that still need this */
  int part_count;       /* flows of the present travel that are not there yet */
  uint32_t slot;
  unsigned char lane, link;
  unsigned char hop, link_count; /* the next link that is due; of how many */
  bool is_reply, has_slot;
  bool is_left_alone;        /* no answer comes back: over for its initiator when it has left */
  bool is_flow, has_crossed; /* of the present travel: the links on the way are paid for */
  bool is_dropped;           /* at the packet level: a packet found no way */
  bool is_first;             /* no packet has begun to leave */
  bool waits_for_credit;
  /* line */
  int64_t t_ready_ps, t_begin_ps, t_left_ps, t_lost_ps;
  int64_t
      d_rest_ps; /* from its event to the end of its way, if nobody stands in it; of who is early: that time */
  int64_t d_tail_ps, d_lag_ps; /* from its head to its tail, to its event */
  int64_t t_done_ps;           /* data and events are in the target's memory */
  /* line */
  pm__event target, send;
  /* line */
  uint64_t number; /* of its stream: at the packet level, and where ways change */
  /* at the packet level */
  uint64_t rest_bytes;  /* still in the initiator's memory */
  int64_t packet_count; /* not there yet */
  int64_t credit_bytes; /* that may leave before others are there (link_credit_bytes) */
} pm__journey;
/* What became of a carried message at its target. */
typedef enum pm__lookup {
  PM__LOOKUP_NOT_YET,
  PM__LOOKUP_REFUSED,
  PM__LOOKUP_FOUND,
  PM__LOOKUP_COMPUTED /* found, and what the carrier brings back is not the old value */
} pm__lookup;
/* What a carrier adds. Written by the piece carrier alone. */
typedef struct pm__carried {
  unsigned char *wire;  /* what it brought: valid during one call */
  int behind;           /* 1 + the carrier's counter that released it here; 0: none */
  unsigned char lookup; /* pm__lookup */
  bool is_computed;     /* the carrier does the arithmetic */
  bool is_triggered;    /* it was given to the carrier before it was due */
  pm__trigger *trigger; /* that it waits for there; NULL: it has started */
} pm__carried;
/* One operation from its call to its last event. */
struct pm__message {
  pm__journey way; /* first: an event leads to its message */
  pm__carried cargo;
  pm__message *next;      /* of the list it is in */
  pm__known_way own;      /* its present way, where messages keep that: see pm__way_of. A line */
  pm__operation what;     /* from its copy on nothing is cleared for a new operation */
  pm__message *next_made; /* of all that were ever made */
};

static inline int pm__to_node(const pm__message *m) { return (int)m->what.target.phys.nid; }
static inline int pm__to_nic(const pm__message *m) { return m->what.to_nic; }

/* ---- the contract between Portals and what moves messages ---- */
/* Portals asks: send it; wait until a command has room; has it none? */
PM__PRIVATE void pm__nic_send(pm_world *w, pm__message *m);
typedef struct pm__call_step { /* of a call that moves data; zeroed at first */
  int done;
  bool is_short, is_pio;
  int64_t d_ps, t_ps, t_pio_ps;
  const char *what;
} pm__call_step;
PM__PRIVATE bool pm__nic_call(pm_process *p, const pm__message *m, pm__call_step *call);
PM__PRIVATE int pm__slots_are_taken(const pm_process *p, const pm__message *m);
/* NIC, wire and carriers answer with five verbs. The request is at the target's list engines (ret 1: an
   entry took it); its data is on its way to the target's memory, if that takes time; its data and events reach that; the
   initiator's buffer may be written again; acknowledgement or reply is there, the operation is over. */
PM__PRIVATE int pm__target_start(pm_world *w, pm__message *m);
PM__PRIVATE void pm__target_waits(pm__message *m);
PM__PRIVATE void pm__target_finish(pm_world *w, pm__message *m);
PM__PRIVATE void pm__initiator_sent(pm__message *m);
PM__PRIVATE void pm__initiator_finish(pm_world *w, pm__message *m);
/* And: it can never arrive. Nothing of it is left in the future. */
PM__PRIVATE void pm__undeliverable(pm_world *w, pm__message *m);
PM__PRIVATE void pm__message_free(pm_world *w, pm__message *m);
/* The wire asks the NIC: one has come back, another may go. The NIC asks a carrier: take this. */
PM__PRIVATE void pm__nic_landed(pm_world *w, const pm__message *done);
PM__PRIVATE void pm__carrier_send(pm_world *w, pm__message *m);
/* Portals tells a carrier: an entry is in its list, is in it no longer. NIC tells it: from now on messages are
   yours, so all entries are. */
PM__PRIVATE void pm__carrier_link(pm__ni *ni, pm__me *me);
PM__PRIVATE void pm__carrier_unlink(pm__ni *ni, pm__me *me);
/* A portal lets messages in from now on, or does not. */
PM__PRIVATE void pm__carrier_portal(const pm__ni *ni, ptl_pt_index_t index);
/* An entry is to be appended, or (NULL) wanted looked for. ret whether the carrier tells by that number when it has. */
PM__PRIVATE bool pm__carrier_ask(pm__ni *ni, ptl_pt_index_t index, pm__me *me,
                                 const ptl_me_t *wanted, ptl_search_op_t op, uint64_t number);
PM__PRIVATE void pm__carrier_link_all(pm_world *w);
/* Portals tells a carrier: a counter changed, is gone; something waits for it, is due, is cancelled with all that
   waits for the same counter. */
PM__PRIVATE void pm__carrier_count(pm__ct *ct);
PM__PRIVATE void pm__carrier_count_end(pm__ct *ct);
PM__PRIVATE void pm__carrier_trigger(pm__trigger *t);
PM__PRIVATE void pm__carrier_due(pm__trigger *t);
PM__PRIVATE void pm__carrier_cancel(pm__ct *ct);
/* ... and the packet level: this job sets out at t_ps. Its first packet may not come earlier. */
PM__PRIVATE void pm__packet_send(pm_world *w, pm__message *m, int64_t t_ps);
