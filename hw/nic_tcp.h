/* nic_tcp.h: ranks over TCP, with transfer stamps from the kernel or the NIC.
   Linux. Public domain or MIT-0, at your choice (end of file).

   Include after nbc_overlap.h, nic_hw.h (with NIC_WITH_NBC) and nic_meet.h; implemented where
   NIC_HW_IMPLEMENTATION is defined. Example, rank R of 2 on one host:

       const char *const at[2] = {"127.0.0.1:7000", "127.0.0.1:7001"};
       nic_tcp_desc desc = {.rank = R, .size = 2, .addresses = at};
       if (nic_tcp_create(&desc, &t, &err)) return fprintf(stderr, "%s\n", err.text), 1;
       ... nbc_isend(t, ...), nbc_wait(t, ...) ...
       if (nic_tcp_close(t, 10000000000, &err)) fprintf(stderr, "%s\n", err.text);
       nic_tcp_destroy(t);

   An nbc_transport over sockets: one stream per pair of ranks, on one host or several. With a
   recorder it reports what the library knows (begin: first byte given to the kernel, or a receive
   posted while nothing of it had come; end: all bytes acknowledged, or read) and, later, the true
   times: begin = the kernel handed the first byte to the device, end = between the hand-off and the
   acknowledgement of the last byte. So the exact overlap of a report rests on the kernel's stamps,
   not on the library. Receives get their stamps from the sender, in a note that follows the
   message, where both are on one host; across hosts from the arrival stamps, as wide as these leave
   it. Of a receive that is posted when its message has begun to come only the end is seen, so its
   bounds are wide (case 3); its exact overlap counts from the post on, and is zero where all had
   come.
   NOTHING IS LOST IN SILENCE. A send is done when the kernel has taken its last byte. nic_tcp_drain
   waits until the peers' kernels have all of them, nic_tcp_confirm until the peers themselves have
   read them, nic_tcp_close ends in good order, and nic_tcp_destroy says if something was lost. A peer
   that dies fails what it was to send and receive with NBC_E_PEER; what had come whole can still be
   received. A host that vanishes without a word is noticed after a minute of silence, or when the
   kernel gives up sending again (minutes; see silence_limit_ns).
   MEMORY. Each rank keeps max_early_bytes per peer for messages whose receive is not posted yet. A
   sender knows how much of it is free (128 bytes count for each message besides its data); a message
   that does not fit is announced, and its data wait at the sender until a receive takes them. So no
   message ever stands in the way of another one.
   With a clock_of_nic, begin of a send = the NIC put its first packet on the wire: an interval, because
   the relation of the NIC's clock to host time is one. A stamp that was lost, or that does not fit
   between the kernel's hand-off and the acknowledgement, is not guessed: the begin then lies
   anywhere between these two. Receives keep the kernel's stamps (see nic_stamping_recv). */
#if !defined(NIC_MEET_H_INCLUDED)
#  error "nic_tcp.h: include nbc_overlap.h, nic_hw.h (NIC_WITH_NBC) and nic_meet.h first"
#endif
#ifndef NIC_TCP_H_INCLUDED
#  define NIC_TCP_H_INCLUDED
#  ifdef __cplusplus
extern "C" {
#  endif

typedef struct nic_tcp_desc {
  int rank, size;
  const char *const
      *addresses;     /* size of them, "host:port" or "[v6]:port", the same on all ranks; or */
  const int *sockets; /* size connected stream sockets, [rank] ignored; become the transport's */
  const nbc_clock *clock; /* copied; NULL = nbc_clock_create with defaults */
  bool no_stamps;         /* do not ask the kernel; no exact overlap */
  /* PTP clock of the NIC that carries all streams: sends get its stamps. Borrowed until destroy;
     meanwhile its host time is the transport's. NULL = the kernel's stamps */
  nic_clock *clock_of_nic;
  /* Kept for receives not posted yet, per peer; 0 = 64 MiB; at least 4 KiB */
  uint64_t max_early_bytes;
  /* The kernel paces each stream, as a link would; 0 = as fast as it goes */
  double pace_bytes_per_s;
  int64_t connect_limit_ns; /* 0 = 30 s */
  int64_t close_limit_ns;   /* of nic_tcp_destroy; 0 = 10 s */
  /* 0: a silent connection with nothing on its way counts as broken after 60 s. Else after this time,
     and also one whose data were not acknowledged, or not read by the peer, for so long */
  int64_t silence_limit_ns;
  const char *token, *job; /* see nic_meet.h; NULL = the environment's */
  bool open_to_all;        /* without a token too, listen on addresses that other hosts can reach */
} nic_tcp_desc;

typedef struct nic_tcp_stats {
  uint64_t sent_count, received_count; /* messages */
  uint64_t stamped_count,
      unstamped_count;  /* transfers with a recorder: true times known, or lost */
  uint64_t early_count; /* receives posted after their message had begun to come */
  /* with a clock_of_nic, of the stamped sends: begin by the NIC; begin only enclosed, as the NIC's stamp
     did not come; as it contradicts what the kernel saw, or the clock was stepped */
  uint64_t by_nic_count, nic_lost_count, nic_refused_count;
} nic_tcp_stats;

/* All ranks call it; it connects (rank r to all below, they listen) and returns when all are there.
   ret NBC_OK | NBC_E_INVAL | NBC_E_NOMEM | NBC_E_CLOCK | NBC_E_SYSTEM | NBC_E_TIMEOUT | NBC_E_PEER
   (given sockets: the other side is none of us, of another size or byte order) */
NIC_API nbc_status nic_tcp_create(const nic_tcp_desc *desc, nbc_transport **t, nbc_error *err);
/* The functions below refuse a transport of another kind, and NULL where that is not allowed, with NBC_E_INVAL; its counts
   are 0. */
/* Progress until the peers' kernels have acknowledged all that was sent, and all stamps due here have
   come. ret NBC_OK | NBC_E_TIMEOUT | NBC_E_PEER (something that was sent is lost) */
NIC_API nbc_status nic_tcp_drain(nbc_transport *t, int64_t limit_ns);
/* Progress until all peers have said that they read all that was sent before this call; they say it
   when they make progress. ret NBC_OK | NBC_E_TIMEOUT | NBC_E_PEER (one is gone) */
NIC_API nbc_status nic_tcp_confirm(nbc_transport *t, int64_t limit_ns);
/* The end in good order: sends what is queued, tells the peers that nothing follows, waits until all is
   acknowledged and until they have closed too (so all ranks should call it, or destroy). Afterwards only
   nic_tcp_stats_of and nic_tcp_destroy are allowed; messages that nobody received are dropped.
   ret NBC_OK | NBC_E_TIMEOUT (a peer did not close, or has not acknowledged all) | NBC_E_PEER (what was
   sent to one is lost, or it closed without receiving it). err says which rank and how much */
NIC_API nbc_status nic_tcp_close(nbc_transport *t, int64_t limit_ns, nbc_error *err);
/* Closes, unless that was done; waits at most close_limit_ns for acknowledgements. Operations not
   finished are dropped. NULL allowed. ret as nic_tcp_close, but a peer that has all bytes need not
   have closed */
NIC_API nbc_status nic_tcp_destroy(nbc_transport *t);
/* Counts since nic_tcp_create. */
NIC_API nic_tcp_stats nic_tcp_stats_of(const nbc_transport *t);

#  ifdef __cplusplus
}
#  endif
#endif /* NIC_TCP_H_INCLUDED */

/* ============================================================================================== */
/*                                        IMPLEMENTATION                                          */
/* ============================================================================================== */
#if defined(NIC_HW_IMPLEMENTATION) && !defined(NIC_TCP_IMPLEMENTATION_ONCE)
#  define NIC_TCP_IMPLEMENTATION_ONCE
#  include <netinet/tcp.h>
#  include <poll.h>
#  include <sched.h>

#  ifdef __cplusplus
extern "C" {
#  endif

#  include "nic_requests.h" /* queues of operations */

enum {
  NIC__TCP_MAGIC = 0x6e696333, /* "nic3", in the byte order of the sender */
  NIC__TCP_DATA = 1,           /* a message: its data follow */
  NIC__TCP_NOTE = 2,           /* true times of a message sent before */
  NIC__TCP_ANNOUNCE = 3,       /* a message whose data wait at the sender */
  NIC__TCP_GRANT = 4,          /* so many bytes of an announced one may come */
  NIC__TCP_GRANTED = 5,        /* they follow */
  NIC__TCP_CREDIT = 6,         /* only brings consumed_bytes */
  NIC__TCP_ASK = 7,            /* have you read all up to here? */
  NIC__TCP_WORD = 8,           /* yes */
  NIC__TCP_BYE = 9,            /* nothing follows; sequence: messages that receives took */
  NIC__TCP_KINDS = 10,
  NIC__TCP_NOTED = 0x100,          /* flag of data: a note will follow */
  NIC__TCP_STAMPED = 0x200,        /* flag of data: its acknowledgement is stamped */
  NIC__TCP_ARRIVED = 0x400,        /* flag of NOTE: from the receiver, when the last byte came */
  NIC__TCP_JOIN_BYTES = 1024,      /* header and data in one packet up to here */
  NIC__TCP_RING = 1024,            /* messages whose times are awaited, per peer */
  NIC__TCP_TURN_BYTES = 1 << 22,   /* read from one peer per progress, so that none starves */
  NIC__TCP_NIC_WAIT_NS = 20000000, /* a driver hands out its NIC's stamp later than the rest, */
  NIC__TCP_NIC_SILENT = 16,        /* but nobody waits after so many without one */
  NIC__TCP_NIC_READ_NS = 100000,   /* between two readings of its clock */
  NIC__TCP_SPIN_MOST = 16,         /* looks before sleeping */
  NIC__TCP_SPIN_AGAIN = 1024,      /* waits after which spinning is tried again */
  NIC__TCP_TELL_MOST = 8,          /* progress in a row that only tells */
  NIC__TCP_FIN_NS = 100000000      /* destroy waits so long for a peer that has all */
};
typedef struct nic__tcp_head {
  uint32_t magic, kind;
  uint64_t tag, size_bytes, sequence;
  /* Of what came the other way and waited here: so much in all is free again */
  uint64_t consumed_bytes;
  uint32_t slot, reserved; /* of an announced message, at its sender */
} nic__tcp_head;
/* The true times of one message, CLOCK_REALTIME of the sender. */
typedef struct nic__tcp_times {
  int64_t begin_ns, end_lo_ns, end_hi_ns;
} nic__tcp_times;

typedef struct nic__tcp_note {
  nbc_op op; /* first: a note travels in the same queue as sends */
  nic__tcp_times times;
} nic__tcp_note;

/* A message on its way: by the stream position of its first packet's and its last byte. */
typedef struct nic__tcp_flight {
  uint64_t xfer_id, sequence, first_position, last_position;
  int64_t sent_first_ns, sent_last_ns, acked_ns; /* CLOCK_REALTIME; 0 = no stamp yet */
  uint64_t nic_first_ticks, nic_last_ticks;      /* by the NIC's clock; 0 = no stamp yet */
  int64_t t_ended_ns;                            /* host time: the acknowledgement was seen */
  int64_t arrived_ns; /* as the receiver kernel stamped it; 0 = it could not tell */
  bool has_first;     /* first_position is known */
  bool is_whole;      /* the kernel has its last byte */
  bool is_ended, is_answered;
} nic__tcp_flight;

typedef struct nic__tcp_early { /* a message that came before its receive */
  struct nic__tcp_early *next;
  nic__tcp_head head; /* of kind ANNOUNCE: without data */
  uint64_t got_bytes;
  /* To this rank itself, and too long to be kept: the send, whose buffer holds the data */
  nbc_op *own;
  char *data; /* right behind */
} nic__tcp_early;

typedef struct nic__tcp_awaited {
  uint64_t xfer_id, sequence;
  int64_t from_ns, end_hi_ns; /* host time: overlap counts from here on; all had arrived */
} nic__tcp_awaited;

/* A frame without data, of which one at a time is on its way. */
typedef struct nic__tcp_word {
  nbc_op op;
  bool is_queued;
} nic__tcp_word;

typedef struct nic__tcp_peer {
  int fd;
  bool same_host, gone; /* gone: nothing comes any more, nothing can be sent */
  bool mute;            /* nothing can be sent, but what has come may still be read */
  bool reset;  /* the connection broke; else, when gone: the peer closed it in good order */
  bool is_cut; /* sending ended within a frame: not even a last word would be understood */
  bool said_bye, own_bye, is_shut; /* BYE came, BYE went, no byte goes any more */
  nic_stamping *stamping;
  /* sending */
  nic__queue send;
  nic__tcp_head out; /* of send.first, whose data has out_data_bytes */
  uint64_t out_data_bytes;
  nic__places waiting;               /* announced operations */
  uint64_t credit_bytes;             /* what the peer keeps for us, in all */
  uint64_t spent_bytes, freed_bytes; /* of it; sums that only grow */
  uint64_t lost_count;               /* sends that were told an error */
  nic__tcp_word credit, ask, word, bye;
  uint64_t asked, answered; /* numbers of ASK and of the WORD that came */
  uint64_t sent_bytes, sent_sequence, sent_count;
  nic__tcp_flight *flights; /* ring of NIC__TCP_RING */
  uint64_t flight_first, flight_last;
  /* receiving */
  nic__queue posted;
  nic__tcp_early *early_first, *early_last;
  uint64_t early_bytes, announced_count;
  uint64_t consumed_bytes, told_bytes; /* freed here; what the peer knows of it */
  uint64_t taken_count;                /* messages that receives took */
  uint64_t bye_count;                  /* of ours, by the peer's last word */
  nic__queue granted;
  nic__tcp_head in;
  size_t in_bytes; /* of the header, read so far */
  bool in_bound;   /* the header is whole and its data has a place: */
  nbc_op *in_op;
  nic__tcp_early *in_early;
  nic__tcp_times note; /* data of a note */
  char ahead[2048];    /* read, and not looked at yet */
  uint32_t ahead_at, ahead_end;
  bool seen_empty;                       /* in this look: nothing more is there */
  bool ahead_is_all;                     /* rest read what is ahead, and no more was there */
  uint64_t in_got_bytes, in_whole_bytes; /* whole: as sent, not only what a grant let through */
  int64_t t_empty_ns;                    /* host time at which the stream was last seen empty */
  int64_t in_begin_lo_ns, in_begin_hi_ns;
  int64_t in_real_ns;        /* CLOCK_REALTIME of the last arrival stamp; 0 = none */
  nic__tcp_awaited *awaited; /* ring: receives whose note has not come */
  uint64_t awaited_count;
} nic__tcp_peer;

typedef struct nic__tcp {
  nbc_transport t; /* first: the transport is the object */
  nbc_clock clock;
  nic_host host;
  nic_tcp_desc desc;
  nic_tcp_stats stats;
  /* the NIC's clock, while it can be trusted */
  bool has_nic, has_nic_host;
  nic_host nic_host_before;
  uint64_t nic_silent_count; /* sends in a row without a stamp */
  nic_reading nic_first;
  int64_t t_nic_read_ns;
  nbc_relation nic_relation;
  nic__tcp_peer *peers;
  struct pollfd *polls;
  nic__queue done;
  uint64_t next_id;
  bool is_closed;
  uint64_t event_count, rest_event_count, wait_count; /* events: something moved */
  uint32_t spin_limit, rest_count;
  uint32_t told_count; /* progress in a row that only told what was done */
  bool skips_look; /* waits sleep at once here, and their sleep looks: not twice for one receive */
} nic__tcp;

static int64_t nic__tcp_host_now(void *user) { return nbc_clock_now_ns((const nbc_clock *)user); }
static int64_t nic__tcp_now(void *ctx) { return nbc_clock_now_ns(&((nic__tcp *)ctx)->clock); }

static void nic__tcp_finish(nic__tcp *n, nbc_op *op, nbc_status status, uint64_t size_bytes) {
  nic__request_end(&n->done, op, status, size_bytes);
}

static void nic__tcp_forget(const nic__tcp *n, uint64_t xfer_id) {
  if (n->t.recorder && xfer_id) nbc_xfer_cancel(n->t.recorder, xfer_id);
}
static void nic__tcp_fail_receive(nic__tcp *n, nbc_op *op, uint64_t got_bytes) {
  nic__tcp_forget(n, op->slot.xfer_id);
  nic__tcp_finish(n, op, NBC_E_PEER,
                  got_bytes < op->slot.limit_bytes ? got_bytes : op->slot.limit_bytes);
}

/* One queued send or frame that never goes. Frames of the peer's own words are no operations. */
static void nic__tcp_drop_send(nic__tcp *n, nic__tcp_peer *p, nbc_op *op) {
  switch (op->slot.kind & 0xff) {
  case NIC__TCP_NOTE: NIC_FREE(op); break;
  case NIC__TCP_GRANT: nic__tcp_fail_receive(n, op, 0); break;
  case NIC__TCP_DATA:
  case NIC__TCP_ANNOUNCE:
  case NIC__TCP_GRANTED:
    p->lost_count++;
    nic__tcp_finish(n, op, NBC_E_PEER, 0);
    break;
  default: break;
  }
}

/* The stream takes no more: all sends fail, also those that wait for a grant. */
static void nic__tcp_mute(nic__tcp *n, nic__tcp_peer *p) {
  p->mute = true;
  if (p->send.first && p->send.first->slot.posted_bytes) p->is_cut = true;
  while (p->send.first) {
    nbc_op *op = nic__queue_pop(&p->send);
    nic__tcp_drop_send(n, p, op);
  }
  for (uint32_t i = 0; i < p->waiting.capacity; i++) {
    if (p->waiting.at[i]) nic__tcp_drop_send(n, p, (nbc_op *)p->waiting.at[i]);
    p->waiting.at[i] = NULL;
  }
}

/* Early messages of which no more comes, and announced ones. */
static void nic__tcp_drop_early(nic__tcp_peer *p) {
  nic__tcp_early **link = &p->early_first, *e;
  p->early_last = NULL;
  while ((e = *link) != NULL)
    if (e == p->in_early || e->head.kind == NIC__TCP_ANNOUNCE) {
      *link = e->next;
      NIC_FREE(e);
    } else {
      p->early_last = e;
      link = &e->next;
    }
  p->in_early = NULL;
  p->announced_count = 0;
}

/* All that was to come from or go to a peer fails; what had come whole can still be received, and
   what was sent whole may still be acknowledged by a peer that closed in good order. */
static void nic__tcp_drop_peer(nic__tcp *n, nic__tcp_peer *p, bool in_order) {
  p->gone = true;
  p->reset = !in_order;
  nic__tcp_mute(n, p);
  while (p->flight_first < p->flight_last &&
         !(in_order && p->flights[(p->flight_last - 1) % NIC__TCP_RING].is_whole))
    nic__tcp_forget(n, p->flights[--p->flight_last % NIC__TCP_RING].xfer_id);
  if (p->in_op) nic__tcp_fail_receive(n, p->in_op, p->in_got_bytes);
  p->in_op = NULL;
  nbc_op *lists[2] = {p->granted.first, p->posted.first};
  p->granted.first = p->granted.last = p->posted.first = p->posted.last = NULL;
  for (int i = 0; i < 2; i++)
    for (nbc_op *op = lists[i], *next; op; op = next) {
      next = op->slot.next;
      nic__tcp_fail_receive(n, op, 0);
    }
  nic__tcp_drop_early(p);
  p->in_bound = false;
  n->stats.unstamped_count += p->awaited_count; /* no note comes any more */
  p->awaited_count = 0;
}

/* ---- sending ----------------------------------------------------------------------------------
 */
static void nic__tcp_send_note(nic__tcp_peer *p, uint32_t flags, uint64_t sequence,
                               const nic__tcp_times *times) {
  if (p->mute || p->is_shut) return;
  nic__tcp_note *note = (nic__tcp_note *)nic__zalloc(sizeof *note);
  if (!note) return; /* the other side's report then lacks one stamp */
  note->times = *times;
  note->op.slot.kind = NIC__TCP_NOTE | flags;
  note->op.slot.buffer = &note->times;
  note->op.slot.limit_bytes = sizeof note->times;
  note->op.slot.order = sequence;
  nic__queue_push(&p->send, &note->op);
}

static nic__tcp_flight *nic__tcp_flight_new(nic__tcp *n, nic__tcp_peer *p, const nbc_op *op) {
  if (!n->t.recorder || !op->slot.xfer_id) return NULL;
  if (p->flight_last - p->flight_first == NIC__TCP_RING) { /* no progress for a thousand messages */
    const nic__tcp_flight *oldest = &p->flights[p->flight_first++ % NIC__TCP_RING];
    const nic__tcp_times none = {0, 0, 0};
    nbc_xfer_end(n->t.recorder, oldest->xfer_id);
    if (p->same_host && p->stamping) nic__tcp_send_note(p, 0, oldest->sequence, &none);
    n->stats.unstamped_count++;
  }
  nic__tcp_flight *f = &p->flights[p->flight_last++ % NIC__TCP_RING];
  memset(f, 0, sizeof *f);
  f->xfer_id = op->slot.xfer_id;
  f->sequence = op->slot.order;
  return f;
}
static nic__tcp_flight *nic__tcp_flight_of(nic__tcp_peer *p, uint64_t xfer_id) {
  for (uint64_t i = p->flight_last; i-- > p->flight_first;)
    if (p->flights[i % NIC__TCP_RING].xfer_id == xfer_id) return &p->flights[i % NIC__TCP_RING];
  return NULL;
}

/* The last packet's acknowledgement is of interest only. */
static long nic__tcp_write(nic__tcp_peer *p, const void *data, size_t size_bytes, bool stamped,
                           bool is_rest) {
  const uint32_t ask =
      (uint32_t)SOF_TIMESTAMPING_TX_SOFTWARE | (is_rest ? (uint32_t)SOF_TIMESTAMPING_TX_ACK : 0);
  const long k = stamped && p->stamping
                     ? nic__stamping_send(p->stamping, data, size_bytes, MSG_EOR, ask, NULL, 0)
                     : send(p->fd, data, size_bytes, MSG_DONTWAIT | MSG_NOSIGNAL | MSG_EOR);
  if (k > 0) p->sent_bytes += (uint64_t)k;
  return k;
}

/* The next bytes of the message in front. Its header goes as a packet of its own, whose stamp is
   the begin; a short message goes with its header, and one stamp is both. */
static long nic__tcp_send_some(nic__tcp_peer *p, nbc_op *op) {
  const uint64_t head_bytes = sizeof p->out, done_bytes = op->slot.posted_bytes;
  const bool stamped = op->slot.xfer_id != 0 && (p->out.kind & NIC__TCP_STAMPED);
  if (done_bytes < head_bytes) {
    char joined[sizeof p->out + NIC__TCP_JOIN_BYTES];
    const size_t data_bytes =
        p->out_data_bytes <= NIC__TCP_JOIN_BYTES ? (size_t)p->out_data_bytes : 0;
    memcpy(joined, &p->out, sizeof p->out);
    if (data_bytes) memcpy(joined + sizeof p->out, op->slot.buffer, data_bytes);
    return nic__tcp_write(p, joined + done_bytes, sizeof p->out + data_bytes - (size_t)done_bytes,
                          stamped, data_bytes == p->out_data_bytes);
  }
  return nic__tcp_write(p, (const char *)op->slot.buffer + (done_bytes - head_bytes),
                        (size_t)(p->out_data_bytes + head_bytes - done_bytes), stamped, true);
}

/* The front of the queue, for the first time: its header. A message for which the peer keeps no room
   any more is announced, and its data wait here. false: no memory now. */
static bool nic__tcp_begin_send(nic__tcp *n, nic__tcp_peer *p, nbc_op *op) {
  uint32_t kind = op->slot.kind & 0xff, slot = 0;
  const bool is_data = kind == NIC__TCP_DATA;
  const uint64_t cost_bytes = op->slot.limit_bytes + NIC__COST_BYTES;
  if (is_data && cost_bytes > p->credit_bytes - (p->spent_bytes - p->freed_bytes)) {
    if (!nic__places_reserve(&p->waiting, &slot)) return false;
    op->slot.kind = (op->slot.kind & ~(uint32_t)0xff) | NIC__TCP_ANNOUNCE;
    kind = NIC__TCP_ANNOUNCE;
  } else if (is_data)
    p->spent_bytes += cost_bytes;
  memset(&p->out, 0, sizeof p->out);
  p->out.magic = NIC__TCP_MAGIC;
  p->out.kind = kind == NIC__TCP_ANNOUNCE ? kind : op->slot.kind;
  p->out.tag = op->slot.tag;
  p->out.size_bytes = op->slot.limit_bytes;
  p->out.sequence = op->slot.order;
  p->out.slot = slot;
  p->out.consumed_bytes = p->told_bytes = p->consumed_bytes;
  p->out_data_bytes = op->slot.limit_bytes;
  if (kind == NIC__TCP_GRANT) {
    p->out.sequence = op->slot.remote_id;
    p->out.slot = op->slot.flying_count;
    p->out.size_bytes = op->slot.granted_bytes;
  } else if (kind == NIC__TCP_GRANTED)
    p->out.size_bytes = p->out_data_bytes = op->slot.granted_bytes;
  if (kind != NIC__TCP_DATA && kind != NIC__TCP_NOTE && kind != NIC__TCP_GRANTED)
    p->out_data_bytes = 0;
  op->slot.posted_bytes = 0;
  op->slot.started = true;
  if ((is_data || kind == NIC__TCP_GRANTED) && kind != NIC__TCP_ANNOUNCE &&
      nic__tcp_flight_new(n, p, op))
    nbc_xfer_begin(n->t.recorder, op->slot.xfer_id, p->out_data_bytes, NBC_KIND_ISEND,
                   p->same_host ? NBC_PEER_SAME_NODE : NBC_PEER_OTHER_NODE);
  return true;
}

/* The kernel has all of the front of the queue. */
static void nic__tcp_sent(nic__tcp *n, nic__tcp_peer *p, nbc_op *op) {
  nic__queue_pop(&p->send);
  op->slot.started = false;
  switch (op->slot.kind & 0xff) {
  case NIC__TCP_NOTE: NIC_FREE(op); break;
  case NIC__TCP_ANNOUNCE: p->waiting.at[p->out.slot] = op; break; /* for its grant */
  case NIC__TCP_GRANT: nic__queue_push(&p->granted, op); break;
  case NIC__TCP_DATA:
  case NIC__TCP_GRANTED:
    n->stats.sent_count++;
    p->sent_count++;
    nic__tcp_finish(n, op, NBC_OK, op->slot.limit_bytes);
    break;
  default:
    p->own_bye |= op == &p->bye.op;
    ((nic__tcp_word *)(void *)op)->is_queued = false;
    break; /* op is its first member */
  }
}

static void nic__tcp_say(nic__tcp_peer *p, nic__tcp_word *word, uint32_t kind, uint64_t sequence) {
  if (word->is_queued || p->mute || p->fd < 0) return;
  memset(word, 0, sizeof *word);
  word->is_queued = true;
  word->op.slot.kind = kind;
  word->op.slot.order = sequence;
  nic__queue_push(&p->send, &word->op);
}

/* Gives the kernel what it takes; stops when the socket is full. */
static void nic__tcp_flush(nic__tcp *n, nic__tcp_peer *p) {
  while (p->send.first && !p->mute) {
    nbc_op *op = p->send.first;
    if (!op->slot.started && !nic__tcp_begin_send(n, p, op)) return;
    const uint64_t whole_bytes = sizeof p->out + p->out_data_bytes;
    const long k = nic__tcp_send_some(p, op);
    if (k < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR || errno == ENOBUFS))
      return;
    if (k < 0) { /* what the peer sent before it went may still be read */
      nic__tcp_mute(n, p);
      return;
    }
    nic__tcp_flight *f = op->slot.xfer_id ? nic__tcp_flight_of(p, op->slot.xfer_id) : NULL;
    if (f && op->slot.posted_bytes == 0) f->first_position = p->sent_bytes - 1, f->has_first = true;
    op->slot.posted_bytes += (uint64_t)k;
    if (op->slot.posted_bytes < whole_bytes) continue;
    if (f) f->last_position = p->sent_bytes - 1, f->is_whole = true;
    nic__tcp_sent(n, p, op);
  }
}

static void nic__tcp_tell_stamp(nic__tcp *n, uint64_t xfer_id, int64_t from_ns, int64_t b_lo_ns,
                                int64_t b_hi_ns, int64_t e_lo_ns, int64_t e_hi_ns) {
  nic__stamp_transfer(n->t.recorder, xfer_id, from_ns, b_lo_ns, b_hi_ns, e_lo_ns, e_hi_ns);
  n->stats.stamped_count++;
}

/* ---- the NIC's stamps -------------------------------------------------------------------------
 */
/* One more reading of its clock. A clock that cannot be read, stands still or runs at an impossible rate
   is not used any more; one that was set makes the stamps at hand worthless, not those to come. */
static void nic__tcp_read_nic(nic__tcp *n) {
  nic_reading r;
  const nic_clock_info *info = nic_clock_info_of(n->desc.clock_of_nic);
  if (nic_clock_read(n->desc.clock_of_nic, &r, NULL) != NIC_OK) {
    n->has_nic = false;
    return;
  }
  n->t_nic_read_ns = r.t_after_ns;
  if (!n->nic_first.t_after_ns) n->nic_first = r;
  const nbc_status status =
      nbc_relation_add(&n->nic_relation, r.t_before_ns, r.ticks, r.t_after_ns);
  if (status == NBC_OK) return;
  for (int i = 0; i < n->t.size; i++)
    for (uint64_t k = n->peers[i].flight_first; k < n->peers[i].flight_last; k++) {
      nic__tcp_flight *f = &n->peers[i].flights[k % NIC__TCP_RING];
      if (f->nic_first_ticks || f->nic_last_ticks) n->stats.nic_refused_count++;
      f->nic_first_ticks = f->nic_last_ticks = 0;
    }
  if (nic_clock_judge(info, &n->nic_first, &r, 0, NULL, NULL, NULL) != NIC_OK) n->has_nic = false;
  n->nic_first = r;
}

static nbc_status nic__tcp_open_nic(nic__tcp *n, nbc_error *err) {
  nic_clock *c = n->desc.clock_of_nic;
  const nic_clock_info *info = nic_clock_info_of(c);
  if (info->kind > NIC_READING_PLAIN) {
    n->desc.clock_of_nic = NULL;
    return nic__nbc_fail(err, NBC_E_INVAL,
                         "clock_of_nic: %s is no PTP clock, so no NIC stamps packets by it",
                         info->name);
  }
  const nbc_relation_desc limits = nic_clock_relation(info);
  n->nic_host_before = c->host;
  c->host = n->host;
  n->has_nic_host = true;
  n->has_nic = nbc_relation_init(&n->nic_relation, &limits) == NBC_OK;
  if (n->has_nic) nic__tcp_read_nic(n);
  return n->has_nic
             ? NBC_OK
             : nic__nbc_fail(err, NBC_E_CLOCK, "clock_of_nic: %s cannot be read", info->name);
}

static bool nic__tcp_nic_time(const nic__tcp *n, uint64_t ticks, int64_t *lo_ns, int64_t *hi_ns) {
  nbc_time t;
  if (!n->has_nic || !ticks || nbc_relation_time(&n->nic_relation, ticks, &t) != NBC_OK)
    return false;
  *lo_ns = t.t_ns - t.err_ns;
  *hi_ns = t.t_ns + t.err_ns;
  return true;
}

/* From the kernel's hand-off (begin, at least) and what the NIC stamped to the begin on the wire; the
   end's lower bound rises to the wire's too. A stamp is of one frame of those that the NIC made of a
   packet, so it is not later than the last of them begins. */
static void nic__tcp_by_nic(nic__tcp *n, const nic__tcp_flight *f, int64_t *b_lo_ns,
                            int64_t *b_hi_ns, int64_t *e_lo_ns, int64_t e_hi_ns) {
  int64_t lo_ns, hi_ns;
  *b_hi_ns = e_hi_ns;
  if (nic__tcp_nic_time(n, f->nic_last_ticks, &lo_ns, &hi_ns)) {
    if (lo_ns <= e_hi_ns && hi_ns >= *e_lo_ns) {
      if (lo_ns > *e_lo_ns) *e_lo_ns = lo_ns;
      if (hi_ns < *b_hi_ns) *b_hi_ns = hi_ns;
    } else if (f->nic_last_ticks != f->nic_first_ticks)
      n->stats.nic_refused_count++;
  }
  if (!nic__tcp_nic_time(n, f->nic_first_ticks, &lo_ns, &hi_ns))
    n->stats.nic_lost_count++;
  else if (lo_ns > *b_hi_ns || hi_ns < *b_lo_ns)
    n->stats.nic_refused_count++;
  else {
    n->stats.by_nic_count++;
    if (lo_ns > *b_lo_ns) *b_lo_ns = lo_ns;
    if (hi_ns < *b_hi_ns) *b_hi_ns = hi_ns;
  }
}

/* True times to the recorder, as t +- err; it was over at seen_ns at the latest. false: there are
   none, or CLOCK_REALTIME was stepped. f: a send, whose NIC may have stamped it; else NULL. What was
   before from_ns does not count. */
static bool nic__tcp_stamp(nic__tcp *n, nic__tcp_peer *p, uint64_t xfer_id,
                           const nic__tcp_times *times, const nic__tcp_flight *f, int64_t from_ns,
                           int64_t seen_ns) {
  int64_t b_lo_ns, b_hi_ns, e_lo_ns, e_hi_ns, unused_ns;
  if (!times->begin_ns || !p->stamping ||
      !nic_stamping_to_host(p->stamping, times->begin_ns, &b_lo_ns, &b_hi_ns) ||
      !nic_stamping_to_host(p->stamping, times->end_lo_ns, &e_lo_ns, &unused_ns) ||
      !nic_stamping_to_host(p->stamping, times->end_hi_ns, &unused_ns, &e_hi_ns) ||
      e_lo_ns > seen_ns) {
    n->stats.unstamped_count++;
    return false;
  }
  if (e_hi_ns > seen_ns) e_hi_ns = seen_ns;
  if (f && n->desc.clock_of_nic) nic__tcp_by_nic(n, f, &b_lo_ns, &b_hi_ns, &e_lo_ns, e_hi_ns);
  nic__tcp_tell_stamp(n, xfer_id, from_ns, b_lo_ns, b_hi_ns, e_lo_ns, e_hi_ns);
  return true;
}

/* ret whether the NIC's were among them */
static bool nic__tcp_take_stamps(nic__tcp_peer *p) {
  nic_stamp s;
  bool has_nic = false;
  while (nic_stamping_next(p->stamping, &s, NULL) == NIC_OK)
    for (uint64_t i = p->flight_first; i < p->flight_last; i++) {
      nic__tcp_flight *f = &p->flights[i % NIC__TCP_RING];
      const bool is_first = f->has_first && (uint32_t)f->first_position == s.key_count,
                 is_last = f->is_whole && (uint32_t)f->last_position == s.key_count;
      if (s.kind == NIC_STAMP_SENT) { /* later ones are repeats */
        if (is_first && !f->sent_first_ns) f->sent_first_ns = s.t_real_ns;
        if (is_last && !f->sent_last_ns) f->sent_last_ns = s.t_real_ns;
      } else if (s.kind == NIC_STAMP_NIC_SENT) {
        has_nic = true;
        if (is_first && !f->nic_first_ticks) f->nic_first_ticks = s.ticks;
        if (is_last && !f->nic_last_ticks) f->nic_last_ticks = s.ticks;
      } else if (s.kind == NIC_STAMP_ACKED && is_last)
        f->acked_ns = s.t_real_ns;
    }
  return has_nic;
}

/* Ends the transfers whose last byte is acknowledged; stamps them when the receiver, on this host, has
   said when it arrived: acknowledgements may be held back. The kernel makes the stamp before it counts
   the acknowledgement: so, asked in this order, a stamp that is not there now never comes. */
static void nic__tcp_settle(nic__tcp *n, nic__tcp_peer *p) {
  int unacked_bytes = 0;
  if (p->flight_first == p->flight_last) return;
  if (ioctl(p->fd, SIOCOUTQ, &unacked_bytes) != 0) return;
  const uint64_t acked_bytes = p->sent_bytes - (uint64_t)unacked_bytes;
  if (p->stamping && nic__tcp_take_stamps(p) && n->has_nic &&
      nbc_clock_now_ns(&n->clock) - n->t_nic_read_ns > NIC__TCP_NIC_READ_NS)
    nic__tcp_read_nic(n); /* soon after a stamp, so that it is placed sharply */
  for (uint64_t i = p->flight_first; i < p->flight_last; i++) {
    nic__tcp_flight *f = &p->flights[i % NIC__TCP_RING];
    if (!f->is_whole || f->last_position >= acked_bytes) break;
    if (f->is_ended) continue;
    if (n->t.recorder) nbc_xfer_end(n->t.recorder, f->xfer_id);
    f->is_ended = true;
    f->t_ended_ns = nbc_clock_now_ns(&n->clock);
  }
  for (; p->flight_first < p->flight_last; p->flight_first++) {
    const nic__tcp_flight *f = &p->flights[p->flight_first % NIC__TCP_RING];
    nic__tcp_times times = {0, 0, 0};
    const bool has_note = p->same_host && p->stamping;
    if (!f->is_ended || (has_note && !f->is_answered && !p->gone)) return;
    const bool nic_misses = n->has_nic && p->stamping && !(f->nic_first_ticks && f->nic_last_ticks);
    if (nic_misses && n->nic_silent_count < NIC__TCP_NIC_SILENT &&
        nbc_clock_now_ns(&n->clock) - f->t_ended_ns < NIC__TCP_NIC_WAIT_NS)
      return;
    n->nic_silent_count = f->nic_first_ticks || f->nic_last_ticks ? 0 : n->nic_silent_count + 1;
    if (f->sent_first_ns && f->sent_last_ns && f->acked_ns) {
      times.begin_ns = f->sent_first_ns;
      times.end_lo_ns = f->sent_last_ns;
      times.end_hi_ns = f->arrived_ns >= f->sent_last_ns && f->arrived_ns < f->acked_ns
                            ? f->arrived_ns
                            : f->acked_ns;
    }
    if (n->t.recorder) nic__tcp_stamp(n, p, f->xfer_id, &times, f, 0, nbc_clock_now_ns(&n->clock));
    if (has_note && !p->gone) nic__tcp_send_note(p, 0, f->sequence, &times);
  }
}

/* ---- receiving --------------------------------------------------------------------------------
 */
static nbc_peer nic__tcp_class(const nic__tcp_peer *p) { return nic__peer_class(p->same_host); }

static void nic__tcp_hang_up(nic__tcp *n, nic__tcp_peer *p, long k) {
  if (k == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
    nic__tcp_drop_peer(n, p, k == 0);
}

static size_t nic__tcp_from_ahead(nic__tcp_peer *p, void *data, size_t size_bytes) {
  const size_t left = p->ahead_end - p->ahead_at, k = left < size_bytes ? left : size_bytes;
  memcpy(data, p->ahead + p->ahead_at, k);
  p->ahead_at += (uint32_t)k;
  return k;
}

/* Without a recorder nobody asks when what came: so several short messages may come with one call. */
static size_t nic__tcp_read_plain(nic__tcp *n, nic__tcp_peer *p, void *data, size_t size_bytes) {
  const bool ahead = size_bytes < sizeof p->ahead;
  const size_t want = ahead ? sizeof p->ahead : size_bytes;
  if (p->seen_empty) return 0;
  const long k = recv(p->fd, ahead ? p->ahead : data, want, MSG_DONTWAIT);
  p->seen_empty = k < (long)want;
  if (k <= 0) {
    nic__tcp_hang_up(n, p, k);
    return 0;
  }
  n->event_count++;
  if (!ahead) return (size_t)k;
  p->ahead_at = 0;
  p->ahead_end = (uint32_t)k;
  return nic__tcp_from_ahead(p, data, size_bytes);
}

/* ret bytes; 0: nothing there, or the peer is gone. t_empty_ns: what was not there then came later. */
static size_t nic__tcp_read(nic__tcp *n, nic__tcp_peer *p, void *data, size_t size_bytes,
                            int64_t *t_stamp_ns) {
  nic_stamp s;
  if (p->ahead_at < p->ahead_end) return nic__tcp_from_ahead(p, data, size_bytes);
  if (!n->t.recorder) return nic__tcp_read_plain(n, p, data, size_bytes);
  const int64_t before_ns = nbc_clock_now_ns(&n->clock);
  memset(&s, 0, sizeof s);
  const long k = p->stamping ? nic_stamping_recv(p->stamping, data, size_bytes, &s)
                             : recv(p->fd, data, size_bytes, MSG_DONTWAIT);
  if (k > 0) p->in_real_ns = s.t_real_ns, n->event_count++;
  *t_stamp_ns = s.t_after_ns ? s.t_after_ns : nbc_clock_now_ns(&n->clock);
  if (k > 0) {
    if ((size_t)k < size_bytes) p->t_empty_ns = before_ns;
    return (size_t)k;
  }
  if (k < 0) p->t_empty_ns = before_ns; /* of no use where the peer is gone */
  nic__tcp_hang_up(n, p, k);
  return 0;
}

static void nic__tcp_deliver(nic__tcp *n, nic__tcp_peer *p, nbc_op *op, uint64_t whole_bytes,
                             uint64_t got_bytes) {
  const uint64_t size_bytes = got_bytes < op->slot.limit_bytes ? got_bytes : op->slot.limit_bytes;
  n->stats.received_count++;
  p->taken_count++;
  if (n->t.recorder && op->slot.xfer_id)
    nbc_xfer_end_sized(n->t.recorder, op->slot.xfer_id, size_bytes, nic__tcp_class(p));
  else if (n->t.recorder)
    nbc_xfer_end_only(n->t.recorder, size_bytes, NBC_KIND_IRECV, nic__tcp_class(p));
  nic__tcp_finish(n, op, whole_bytes > op->slot.limit_bytes ? NBC_E_TRUNCATED : NBC_OK, size_bytes);
}

/* A receive that is posted when its message has, or may have, begun to come: known from now on. */
static void nic__tcp_begun(nic__tcp *n, const nic__tcp_peer *p, nbc_op *op, uint64_t size_bytes) {
  if (!n->t.recorder) return;
  const int64_t t_ns = nbc_clock_now_ns(&n->clock);
  op->slot.xfer_id = ++n->next_id;
  op->slot.order = (uint64_t)t_ns; /* of a receive: its overlap counts from here on */
  nbc_xfer_begun_at(n->t.recorder, op->slot.xfer_id, size_bytes, NBC_KIND_IRECV, nic__tcp_class(p),
                    t_ns);
}
static int64_t nic__tcp_from_ns(const nbc_op *op) { return (int64_t)op->slot.order; }

/* Stamps of a receive: announced by the sender, or from the arrivals. */
static void nic__tcp_stamp_receive(nic__tcp *n, nic__tcp_peer *p, const nbc_op *op,
                                   int64_t end_lo_ns, int64_t end_hi_ns) {
  if (!n->t.recorder || !op->slot.xfer_id) return;
  if (p->in.kind & NIC__TCP_NOTED) {
    nic__tcp_awaited *w = &p->awaited[p->in.sequence % NIC__TCP_RING];
    if (w->xfer_id)
      n->stats.unstamped_count++;
    else
      p->awaited_count++;
    w->xfer_id = op->slot.xfer_id;
    w->sequence = p->in.sequence;
    w->from_ns = nic__tcp_from_ns(op);
    w->end_hi_ns = end_hi_ns;
  } else if (p->stamping && !p->same_host) {
    nic__tcp_tell_stamp(n, op->slot.xfer_id, nic__tcp_from_ns(op), p->in_begin_lo_ns,
                        p->in_begin_hi_ns, end_lo_ns, end_hi_ns);
  } else
    n->stats.unstamped_count++;
}

/* A note comes from another process: times in order, of this decade or the next, or all zero. */
static bool nic__tcp_is_time(const nic__tcp_times *t) {
  return t->begin_ns >= 0 && t->begin_ns <= t->end_lo_ns && t->end_lo_ns <= t->end_hi_ns &&
         t->end_hi_ns < INT64_C(4000000000000000000);
}

static void nic__tcp_take_note(nic__tcp *n, nic__tcp_peer *p) {
  nic__tcp_awaited *w = &p->awaited[p->in.sequence % NIC__TCP_RING];
  if (p->in.kind & NIC__TCP_ARRIVED) {
    for (uint64_t i = p->flight_first; i < p->flight_last; i++) {
      nic__tcp_flight *f = &p->flights[i % NIC__TCP_RING];
      if (f->sequence != p->in.sequence) continue;
      f->arrived_ns = p->note.end_hi_ns >= 0 ? p->note.end_hi_ns : 0;
      f->is_answered = true;
    }
    return;
  }
  if (!n->t.recorder || !w->xfer_id || w->sequence != p->in.sequence) return;
  if (nic__tcp_is_time(&p->note))
    nic__tcp_stamp(n, p, w->xfer_id, &p->note, NULL, w->from_ns, w->end_hi_ns);
  else
    n->stats.unstamped_count++;
  w->xfer_id = 0;
  p->awaited_count--;
}

/* Tells the sender on this host when its last byte arrived, by the kernel's stamp. */
static void nic__tcp_answer(nic__tcp_peer *p) {
  const nic__tcp_times times = {0, 0, p->in_real_ns};
  nic__tcp_send_note(p, NIC__TCP_ARRIVED, p->in.sequence, &times);
}

static void nic__tcp_keep(nic__tcp_peer *p, nic__tcp_early *e) {
  if (p->early_last)
    p->early_last->next = e;
  else
    p->early_first = e;
  p->early_last = e;
}

/* Asks for the data of an announced message; as many as the receive takes. */
static void nic__tcp_grant(nic__tcp_peer *p, nbc_op *op, const nic__tcp_head *announced) {
  op->slot.kind = NIC__TCP_GRANT;
  op->slot.remote_id = announced->sequence;
  op->slot.flying_count = announced->slot;
  op->slot.posted_bytes = 0;
  op->slot.remote_op = NULL;
  op->slot.granted_bytes =
      announced->size_bytes < op->slot.limit_bytes ? announced->size_bytes : op->slot.limit_bytes;
  op->size_bytes = announced->size_bytes; /* until it is finished */
  nic__queue_push(&p->send, op);
}

/* NBC_PENDING: no memory for it now */
static nbc_status nic__tcp_take_announced(nic__tcp_peer *p) {
  if (p->announced_count >= NIC__PLACES_MOST) return NBC_E_PEER;
  nbc_op *op = nic__queue_match(&p->posted, p->in.tag);
  if (op) {
    nic__tcp_grant(p, op, &p->in);
    return NBC_OK;
  }
  nic__tcp_early *e = (nic__tcp_early *)nic__zalloc(sizeof *e);
  if (!e) return NBC_PENDING;
  e->head = p->in;
  e->head.kind = NIC__TCP_ANNOUNCE;
  p->announced_count++;
  nic__tcp_keep(p, e);
  return NBC_OK;
}

static nbc_status nic__tcp_take_grant(nic__tcp_peer *p) {
  const nic__tcp_head *h = &p->in;
  nbc_op *op = (nbc_op *)nic__places_at(&p->waiting, h->slot);
  if (!op || op->slot.order != h->sequence || h->size_bytes > op->slot.limit_bytes)
    return NBC_E_PEER;
  nic__places_leave(&p->waiting, h->slot);
  op->slot.granted_bytes = h->size_bytes;
  op->slot.kind = (op->slot.kind & ~(uint32_t)0xff) | NIC__TCP_GRANTED;
  op->slot.started = false;
  nic__queue_push(&p->send, op);
  return NBC_OK;
}

/* A frame without data. NBC_OK | NBC_PENDING (no memory for it now) | NBC_E_PEER (not a right one) */
static nbc_status nic__tcp_take_frame(nic__tcp_peer *p) {
  switch (p->in.kind & 0xff) {
  case NIC__TCP_ANNOUNCE: return nic__tcp_take_announced(p);
  case NIC__TCP_GRANT: return nic__tcp_take_grant(p);
  case NIC__TCP_ASK: nic__tcp_say(p, &p->word, NIC__TCP_WORD, p->in.sequence); break;
  case NIC__TCP_WORD: p->answered = p->in.sequence; break;
  case NIC__TCP_BYE: p->said_bye = true, p->bye_count = p->in.sequence; break;
  default: break; /* CREDIT: its header says all */
  }
  return NBC_OK;
}

/* Is this header one that a rank of ours would send now? */
static bool nic__tcp_is_right(const nic__tcp_peer *p) {
  const nic__tcp_head *h = &p->in;
  const uint32_t kind = h->kind & 0xff;
  const bool right = h->magic == NIC__TCP_MAGIC && kind >= NIC__TCP_DATA && kind < NIC__TCP_KINDS &&
                     h->size_bytes <= (uint64_t)1 << 48 && h->consumed_bytes >= p->freed_bytes &&
                     h->consumed_bytes <= p->spent_bytes;
  const nbc_op *g = p->granted.first;
  if (kind == NIC__TCP_GRANTED)
    return right && g && g->slot.remote_id == h->sequence && g->slot.granted_bytes == h->size_bytes;
  return right && (kind != NIC__TCP_NOTE || h->size_bytes == sizeof p->note);
}

/* The stream is not one of ours any more: nothing after this can be trusted. */
static void nic__tcp_expel(nic__tcp *n, nic__tcp_peer *p) {
  nic__tcp_drop_peer(n, p, false);
  shutdown(p->fd, SHUT_RDWR);
}

/* A place for the data whose header is whole. false: there is none now, or no data follows. */
static bool nic__tcp_bind(nic__tcp *n, nic__tcp_peer *p) {
  const uint32_t kind = p->in.kind & 0xff;
  p->in_got_bytes = 0;
  if (!nic__tcp_is_right(p)) {
    nic__tcp_expel(n, p);
    return false;
  }
  p->freed_bytes = p->in.consumed_bytes;
  if (kind == NIC__TCP_NOTE) return p->in_bound = true;
  if (kind != NIC__TCP_DATA && kind != NIC__TCP_GRANTED) {
    const nbc_status status = nic__tcp_take_frame(p);
    if (status == NBC_OK)
      p->in_bytes = 0;
    else if (status == NBC_E_PEER)
      nic__tcp_expel(n, p);
    return false;
  }
  p->in_whole_bytes = p->in.size_bytes;
  if (kind == NIC__TCP_GRANTED) {
    p->in_op = nic__queue_pop(&p->granted);
    p->in_whole_bytes = p->in_op->size_bytes;
    return p->in_bound = true;
  }
  const uint64_t cost_bytes = p->in.size_bytes + NIC__COST_BYTES;
  p->in_op = nic__queue_match(&p->posted, p->in.tag);
  if (p->in_op) {
    p->consumed_bytes += cost_bytes;
    return p->in_bound = true;
  }
  if (cost_bytes > n->desc.max_early_bytes - p->early_bytes) { /* more than we ever granted */
    nic__tcp_expel(n, p);
    return false;
  }
  nic__tcp_early *e = (nic__tcp_early *)NIC_MALLOC(sizeof *e + (size_t)p->in.size_bytes);
  if (!e) return false;
  memset(e, 0, sizeof *e);
  e->head = p->in;
  e->data = (char *)(e + 1);
  p->early_bytes += cost_bytes;
  nic__tcp_keep(p, e);
  p->in_early = e;
  return p->in_bound = true;
}

/* The kernel may hold an acknowledgement back for 40 ms: asked now, it goes at once, and the
   sender's end stays narrow. */
static void nic__tcp_ack_now(const nic__tcp_peer *p) {
  const int on = 1;
  if (p->fd >= 0) setsockopt(p->fd, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on);
}

static void nic__tcp_message_done(nic__tcp *n, nic__tcp_peer *p, int64_t end_lo_ns,
                                  int64_t end_hi_ns) {
  nbc_op *op = p->in_op;
  if ((p->in.kind & 0xff) != NIC__TCP_NOTE && p->in.kind & NIC__TCP_NOTED) nic__tcp_answer(p);
  if (p->in.kind & NIC__TCP_STAMPED) nic__tcp_ack_now(p);
  if ((p->in.kind & 0xff) == NIC__TCP_NOTE)
    nic__tcp_take_note(n, p);
  else if (op) {
    nic__tcp_deliver(n, p, op, p->in_whole_bytes, p->in_got_bytes);
    nic__tcp_stamp_receive(n, p, op, end_lo_ns, end_hi_ns);
  }
  p->in_op = NULL;
  p->in_early = NULL;
  p->in_bound = false;
  p->in_bytes = 0;
}

/* Where the next bytes of data go, and how many at most. */
static char *nic__tcp_place(nic__tcp_peer *p, char *rest, size_t rest_bytes, size_t *size_bytes) {
  const uint64_t left_bytes = p->in.size_bytes - p->in_got_bytes;
  if ((p->in.kind & 0xff) == NIC__TCP_NOTE)
    return *size_bytes = (size_t)left_bytes, (char *)&p->note + p->in_got_bytes;
  if (p->in_early) return *size_bytes = (size_t)left_bytes, p->in_early->data + p->in_got_bytes;
  if (p->in_got_bytes < p->in_op->slot.limit_bytes) {
    const uint64_t room_bytes = p->in_op->slot.limit_bytes - p->in_got_bytes;
    *size_bytes = (size_t)(left_bytes < room_bytes ? left_bytes : room_bytes);
    return (char *)p->in_op->slot.buffer + p->in_got_bytes;
  }
  *size_bytes = left_bytes < rest_bytes ? (size_t)left_bytes
                                        : rest_bytes; /* longer than the receive: thrown away */
  return rest;
}

/* Reads what is there. true: the stream was seen empty. */
static bool nic__tcp_pump(nic__tcp *n, nic__tcp_peer *p) {
  char rest[4096];
  p->seen_empty = p->ahead_is_all;
  p->ahead_is_all = false;
  for (size_t turn_bytes = 0; !p->gone && turn_bytes < NIC__TCP_TURN_BYTES;) {
    const int64_t t_empty_ns = p->t_empty_ns; /* what comes now came after this */
    int64_t t_stamp_ns = 0;
    size_t k = 0, want_bytes;
    if (p->in_bytes < sizeof p->in) {
      k = nic__tcp_read(n, p, (char *)&p->in + p->in_bytes, sizeof p->in - p->in_bytes,
                        &t_stamp_ns);
      if (!k) return !p->gone;
      if (p->in_bytes == 0) p->in_begin_lo_ns = t_empty_ns, p->in_begin_hi_ns = t_stamp_ns;
      p->in_bytes += k;
      if (p->in_bytes < sizeof p->in) continue;
    }
    if (!p->in_bound && !nic__tcp_bind(n, p)) {
      if (p->in_bytes || p->gone) return false; /* no memory: later */
      turn_bytes += sizeof p->in;
      continue;
    }
    if (p->in_got_bytes < p->in.size_bytes) {
      char *place = nic__tcp_place(p, rest, sizeof rest, &want_bytes);
      k = nic__tcp_read(n, p, place, want_bytes, &t_stamp_ns);
      if (!k) return !p->gone;
      p->in_got_bytes += k;
      if (p->in_early) p->in_early->got_bytes += k;
    }
    turn_bytes += k;
    if (p->in_got_bytes == p->in.size_bytes)
      nic__tcp_message_done(n, p, t_empty_ns > p->in_begin_lo_ns ? t_empty_ns : p->in_begin_lo_ns,
                            t_stamp_ns || !n->t.recorder ? t_stamp_ns
                                                         : nbc_clock_now_ns(&n->clock));
  }
  return false;
}

/* A message to this rank itself that waits in its sender's buffer. */
static void nic__tcp_take_own(nic__tcp *n, nic__tcp_peer *p, nbc_op *op, nbc_op *send) {
  const uint64_t size_bytes =
      send->slot.limit_bytes < op->slot.limit_bytes ? send->slot.limit_bytes : op->slot.limit_bytes;
  if (size_bytes) memcpy(op->slot.buffer, send->slot.buffer, (size_t)size_bytes);
  n->stats.sent_count++;
  nic__tcp_finish(n, send, NBC_OK, send->slot.limit_bytes);
  nic__tcp_deliver(n, p, op, send->slot.limit_bytes, size_bytes);
}

/* A receive whose message began to come before: takes over what is there. false: there is none, or
   it is only announced (*announced: granted now, and nothing of its data has come). */
static bool nic__tcp_take_early(nic__tcp *n, nic__tcp_peer *p, nbc_op *op,
                                nic__tcp_head *announced) {
  nic__tcp_early *before = NULL, *e = p->early_first;
  for (; e && e->head.tag != op->slot.tag; e = e->next) before = e;
  announced->kind = 0;
  if (!e) return false;
  if (before)
    before->next = e->next;
  else
    p->early_first = e->next;
  if (p->early_last == e) p->early_last = before;
  if (e->head.kind == NIC__TCP_ANNOUNCE) {
    *announced = e->head;
    nbc_op *own = e->own;
    NIC_FREE(e);
    if (!own) return p->announced_count--, false;
    nic__tcp_take_own(n, p, op, own);
    return true;
  }
  p->early_bytes -= e->head.size_bytes + NIC__COST_BYTES;
  p->consumed_bytes += e->head.size_bytes + NIC__COST_BYTES;
  n->stats.early_count++;
  if (op->peer != n->t.rank) nic__tcp_begun(n, p, op, e->head.size_bytes);
  if (e->got_bytes && op->slot.limit_bytes)
    memcpy(op->slot.buffer, e->data,
           (size_t)(e->got_bytes < op->slot.limit_bytes ? e->got_bytes : op->slot.limit_bytes));
  if (p->in_early == e) { /* still coming */
    p->in_early = NULL;
    p->in_op = op;
  } else {
    const int64_t from_ns = nic__tcp_from_ns(op);
    nic__tcp_deliver(n, p, op, e->head.size_bytes, e->got_bytes);
    if (op->slot.xfer_id && p->stamping)
      nic__tcp_tell_stamp(n, op->slot.xfer_id, from_ns, 0, 0, 0, 0); /* all of it was before */
  }
  NIC_FREE(e);
  return true;
}

#  include "nic_tcp_end.h" /* the rest of the implementation */

#  ifdef __cplusplus
}
#  endif
#endif /* NIC_TCP_IMPLEMENTATION_ONCE */

/* ----------------------------------------------------------------------------------------------
   LICENCE: either public domain (unlicense.org: copy, modify, publish, use, compile, sell or
   distribute, for any purpose, by any means) or MIT No Attribution (MIT-0), whichever you choose;
   full text in LICENSE. The software is provided "as is", without warranty of any kind.
   ---------------------------------------------------------------------------------------------- */
