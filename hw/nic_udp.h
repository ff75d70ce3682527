/* nic_udp.h: ranks over UDP, with stamps of the datagrams from the kernel.
   Linux. Public domain or MIT-0, at your choice (end of file).

   Include after nbc_overlap.h, nic_hw.h (with NIC_WITH_NBC) and nic_meet.h; implemented where
   NIC_HW_IMPLEMENTATION is defined. Used as nic_tcp.h; a second wire on which exact overlap can be had:
   nobody but this code decides when something is sent again.

   HOW. Ranks meet over TCP (nic_meet.h: token, job), and that connection stays: its end tells that a peer
   is gone (a host that vanishes does so after a minute, see silence_limit_ns). Data travel in datagrams
   of at most datagram_bytes, each with the number of its message, its place in it and the connection's
   key, so that datagrams of strangers are thrown away, and its own that come back. What was taken is
   acknowledged, one by one; what is not acknowledged within twice the usual time, or while three later
   ones were, is sent again. At most 256 datagrams are on their way per peer, fewer after losses.
   A send is done when the peer's transport has all of it, so nothing is lost in silence; nic_udp_close
   says so too. Messages are matched in their order.
   MEMORY. Each rank keeps max_early_bytes per peer for messages whose receive is not posted yet. A
   sender knows how much of it is free (128 bytes count for each message besides its data); a message
   that does not fit is announced, and its data wait at the sender until a receive takes them. So no
   message ever stands in the way of another one.

   STAMPS. Of a send: begin = the kernel handed its first datagram to the device; end = between the
   hand-off of its last one, sent for the first time, and its acknowledgement. Of a receive: from its post,
   or the last look that found nothing, to the arrival of its datagrams by the kernel's stamps. A stamp that
   did not come leaves the transfer without exact overlap; it is counted. */
#if !defined(NIC_MEET_H_INCLUDED)
#  error "nic_udp.h: include nbc_overlap.h, nic_hw.h (NIC_WITH_NBC) and nic_meet.h first"
#endif
#ifndef NIC_UDP_H_INCLUDED
#  define NIC_UDP_H_INCLUDED
#  ifdef __cplusplus
extern "C" {
#  endif

typedef struct nic_udp_desc {
  int rank, size;
  const char *const *addresses; /* as nic_tcp_desc; the datagrams take the same way */
  const int *sockets;           /* or size connected stream sockets; become the transport's */
  const nbc_clock *clock;       /* copied; NULL = nbc_clock_create with defaults */
  bool no_stamps;
  uint32_t datagram_bytes; /* 256 to 65000; 0 = 1400, which every Ethernet carries in one piece */
  /* Kept for receives not posted yet, per peer; 0 = 64 MiB; at least 4 KiB */
  uint64_t max_early_bytes;
  double pace_bytes_per_s;  /* per peer; 0 = as fast as it goes */
  int64_t connect_limit_ns; /* 0 = 30 s */
  int64_t close_limit_ns;   /* of nic_udp_destroy; 0 = 10 s */
  /* A host that vanished without a word is gone after this; 0 = a minute */
  int64_t silence_limit_ns;
  const char *token, *job; /* see nic_meet.h */
  bool open_to_all;
  /* Size; not 0: the datagrams for this peer go to this port of 127.0.0.1, to somebody who
     passes them on (tests of loss) */
  const uint16_t *via_ports;
} nic_udp_desc;

typedef struct nic_udp_stats {
  uint64_t sent_count, received_count;  /* messages */
  uint64_t datagram_count, again_count; /* sent for the first time, and again */
  uint64_t refused_count;               /* came, and were none of ours, or had come before */
  uint64_t stamped_count, unstamped_count;
} nic_udp_stats;

/* All ranks call it; it connects and returns when all are there. ret as nic_tcp_create */
NIC_API nbc_status nic_udp_create(const nic_udp_desc *desc, nbc_transport **t, nbc_error *err);
/* The functions below refuse transports as nic_tcp.h's do. */
/* Progress until the peers have all that was sent. ret NBC_OK | NBC_E_TIMEOUT | NBC_E_PEER (something
   that was sent is lost, now or before: its peer is gone) */
NIC_API nbc_status nic_udp_drain(nbc_transport *t, int64_t limit_ns);
/* Drains, tells the peers that nothing follows, and answers them until they have said so too.
   ret as nic_udp_drain, and NBC_E_TIMEOUT when a peer did not say so */
NIC_API nbc_status nic_udp_close(nbc_transport *t, int64_t limit_ns);
/* Closes unless that was done. NULL allowed. ret as nic_udp_close */
NIC_API nbc_status nic_udp_destroy(nbc_transport *t);
/* Counts since nic_udp_create. */
NIC_API nic_udp_stats nic_udp_stats_of(const nbc_transport *t);

#  ifdef __cplusplus
}
#  endif
#endif /* NIC_UDP_H_INCLUDED */

/* ============================================================================================== */
/*                                        IMPLEMENTATION                                          */
/* ============================================================================================== */
#if defined(NIC_HW_IMPLEMENTATION) && !defined(NIC_UDP_IMPLEMENTATION_ONCE)
#  define NIC_UDP_IMPLEMENTATION_ONCE
#  include <netinet/udp.h>
#  include <poll.h>
#  include <sched.h>

#  ifdef __cplusplus
extern "C" {
#  endif

#  include "nic_requests.h" /* queues of operations */

/* The window of a sender, numbers of datagrams; DATA, ANNOUNCE, GRANT and GRANTED have one, an
   ACK has none:

     taken | low: taken? taken? ... | next: free |      next - low <= allowed <= 256
     window[number % 256] is a datagram's place from its first sending until `low` has passed it

   The receiver keeps the same numbers: all below in_low came, in_taken has a bit for each of the
   next 256. An ACK carries both, so a lost ACK loses nothing: the next one says it all. What the
   receiver cannot take (no memory, or an earlier message has no place yet) is not acknowledged,
   and comes again as if it had been lost: nothing but thrown_end is kept of it. Room for early
   messages is counted by sums that only grow: spent_bytes by the sender, consumed_bytes by the
   receiver, told in every head. The largest one seen counts, so heads may be lost or come in any
   order. A difference could be lost with its head. */
enum {
  NIC__UDP_MAGIC = 0x6e696376, /* "nicv", in the byte order of the sender */
  /* Kinds differ in two bits at least, so that one wrong bit makes none of them. */
  NIC__UDP_DATA = 1,
  NIC__UDP_ACK = 2,
  NIC__UDP_FROM_ABOVE = 4, /* added to the kind: from the higher rank of the two */
  NIC__UDP_ANNOUNCE = 8,   /* a message whose data wait at the sender */
  NIC__UDP_GRANT = 16,     /* so many bytes of an announced one may come */
  NIC__UDP_GRANTED = 32,   /* they */
  NIC__UDP_WINDOW = 256 /* datagrams on their way, per peer; acknowledgements have a bit for each */
};
static const uint64_t nic__udp_least = 4; /* of them at least, whatever was lost */
static const int64_t nic__udp_first_rto_ns = 10000000, nic__udp_least_rto_ns = 1000000,
                     nic__udp_most_rto_ns = 400000000;

typedef struct nic__udp_head {
  uint32_t magic, kind;
  uint8_t key[16];
  uint64_t number; /* of the datagram; ACK: all below it were taken */
  uint64_t message, tag, size_bytes, offset_bytes;
  /* Of what came the other way and waited here: so much in all is free again */
  uint64_t consumed_bytes;
  uint32_t place, reply; /* of an announced message: at its sender; at its receiver */
  uint64_t taken[NIC__UDP_WINDOW / 64]; /* ACK: those from number on, one bit each */
} nic__udp_head;
enum { NIC__UDP_DATA_HEAD = (int)offsetof(nic__udp_head, taken) };

typedef struct nic__udp_packet { /* on its way, or to be sent again */
  nbc_op *op;                    /* of data, till it is taken; else NULL */
  uint64_t message, tag, size_bytes, offset_bytes;
  uint32_t kind, place, reply, bytes, tries;
  int64_t t_sent_ns;
  bool is_taken;
} nic__udp_packet;

typedef struct nic__udp_coming nic__udp_coming;
typedef struct nic__udp_early { /* a message that came before its receive */
  struct nic__udp_early *next;
  nic__udp_coming *announced; /* its data wait at the sender; else NULL */
  uint64_t message, tag, size_bytes, got_bytes;
  char *data;
} nic__udp_early;

/* A message that is coming: into a receive, or an early one; or one that was announced. */
struct nic__udp_coming {
  nic__udp_coming *next;
  uint64_t message, whole_bytes, size_bytes, got_bytes; /* as sent; that come here; came */
  nbc_op *op;
  nic__udp_early *early;
  bool is_announced;
  uint32_t place, reply;
  int64_t begin_hi_ns, end_lo_ns; /* arrival of its first datagram; before that of its last */
};

typedef struct nic__udp_peer {
  int control, fd; /* stream, datagrams */
  nic_datagrams *datagrams;
  nic_stamping *stamping;
  bool gone, same_host, said_end, is_shut;
  uint8_t key[16];
  uint32_t from_us, from_it; /* added to the kind of what goes, of what comes */
  uint64_t lost_count;       /* sends that it did not take before it went */
  /* sending */
  nic__queue send;                   /* not all of it was sent once */
  nic__places waiting;               /* announced sends */
  uint64_t credit_bytes;             /* what the peer keeps for us, in all */
  uint64_t spent_bytes, freed_bytes; /* of it; sums that only grow */
  nic__udp_packet *window;           /* ring */
  uint64_t low, next;                /* oldest that is not taken, next number */
  uint64_t messages, allowed;        /* posted so far; datagrams on their way at most */
  uint64_t grown;                    /* taken since allowed grew */
  uint64_t recover;                  /* losses below this number were answered already */
  int64_t rtt_ns, rto_ns, t_pace_ns;
  /* receiving */
  uint64_t in_low, bound; /* all datagrams below came; all messages below have a place */
  uint64_t in_taken[NIC__UDP_WINDOW / 64];
  nic__udp_coming *coming;
  nic__places granted;                       /* those of announced messages that may come */
  nic__udp_coming *grant_first, *grant_last; /* of them, the peer was not told */
  nic__udp_early *early_first, *early_last;
  uint64_t early_bytes, thrown_end;    /* of a message below this one something was thrown away */
  uint64_t consumed_bytes, told_bytes; /* freed here; what the peer was told of it */
  nic__queue posted;
  bool owes_ack;
  int64_t t_empty_ns;
} nic__udp_peer;

typedef struct nic__udp {
  nbc_transport t; /* first: the transport is the object */
  nbc_clock clock;
  nic_host host;
  nic_udp_desc desc;
  nic_udp_stats stats;
  nic__udp_peer *peers;
  struct pollfd *polls;
  char *buffer; /* one datagram */
  nic__queue done;
  uint64_t next_id;
  bool is_closed;
} nic__udp;

static int64_t nic__udp_host_now(void *user) { return nbc_clock_now_ns((const nbc_clock *)user); }
static int64_t nic__udp_now(void *ctx) { return nbc_clock_now_ns(&((nic__udp *)ctx)->clock); }

static void nic__udp_finish(nic__udp *n, nbc_op *op, nbc_status status, uint64_t size_bytes) {
  if (status == NBC_E_PEER && n->t.recorder && op->slot.xfer_id)
    nbc_xfer_cancel(n->t.recorder, op->slot.xfer_id);
  nic__request_end(&n->done, op, status, size_bytes);
}
static nbc_peer nic__udp_class(const nic__udp_peer *p) { return nic__peer_class(p->same_host); }

/* Intervals of begin and end; what was before the post of a receive does not count. */
static void nic__udp_stamp(nic__udp *n, const nbc_op *op, int64_t b_lo_ns, int64_t b_hi_ns,
                           int64_t e_lo_ns, int64_t e_hi_ns) {
  if (!n->t.recorder || !op->slot.xfer_id) return;
  nic__stamp_transfer(n->t.recorder, op->slot.xfer_id, (int64_t)op->slot.remote_id, b_lo_ns,
                      b_hi_ns, e_lo_ns, e_hi_ns);
  n->stats.stamped_count++;
}

static void nic__udp_lose(nic__udp *n, nic__udp_peer *p, nbc_op *op) {
  p->lost_count++;
  nic__udp_finish(n, op, NBC_E_PEER, 0);
}
/* Announced sends that no receive will ask for. */
static void nic__udp_lose_waiting(nic__udp *n, nic__udp_peer *p) {
  for (uint32_t i = 0; i < p->waiting.capacity; i++)
    if (p->waiting.at[i]) {
      nic__udp_lose(n, p, (nbc_op *)p->waiting.at[i]);
      nic__places_leave(&p->waiting, i);
    }
}

static void nic__udp_drop_sends(nic__udp *n, nic__udp_peer *p) {
  nbc_op *last = NULL; /* packets of one send follow each other */
  for (; p->low < p->next; p->low++) {
    nbc_op *op = p->window[p->low % NIC__UDP_WINDOW].op;
    if (!op) continue; /* taken, or no data */
    if (op != last && op != p->send.first) nic__udp_lose(n, p, op);
    last = op;
  }
  while (p->send.first) {
    nbc_op *op = nic__queue_pop(&p->send);
    nic__udp_lose(n, p, op);
  }
  nic__udp_lose_waiting(n, p);
}

/* Frees all of a peer's messages that did not come whole; their receives fail, if told: what came need not
   be their beginning, so it counts as nothing. */
static void nic__udp_drop_coming(nic__udp *n, nic__udp_peer *p, bool tell) {
  for (nic__udp_coming *c = p->coming, *next; c; c = next) {
    next = c->next;
    if (c->op && tell) nic__udp_finish(n, c->op, NBC_E_PEER, 0);
    if (c->early) c->early->announced = c; /* half of it came: not to be received */
    if (!c->early) NIC_FREE(c);
  }
  for (uint32_t i = 0; i < p->granted.capacity; i++) {
    nic__udp_coming *c = (nic__udp_coming *)p->granted.at[i];
    if (c && tell) nic__udp_finish(n, c->op, NBC_E_PEER, 0);
    NIC_FREE(c);
  }
  nic__places_free(&p->granted);
  p->coming = p->grant_first = p->grant_last = NULL;
  nic__udp_early **link = &p->early_first, *e;
  p->early_last = NULL;
  while ((e = *link) != NULL)
    if (e->announced) {
      *link = e->next;
      NIC_FREE(e->announced);
      NIC_FREE(e);
    } else {
      p->early_last = e;
      link = &e->next;
    }
}

/* All that was to go to or come from a peer fails; what has come whole can still be received. */
static void nic__udp_drop_peer(nic__udp *n, nic__udp_peer *p) {
  p->gone = true;
  nic__udp_drop_sends(n, p);
  while (p->posted.first) {
    nbc_op *op = nic__queue_pop(&p->posted);
    nic__udp_finish(n, op, NBC_E_PEER, 0);
  }
  nic__udp_drop_coming(n, p, true);
}

/* ---- sending ---------------------------------------------------------------------------------- */
/* The slot of a send: arrived_bytes = number of the message, kind = of its datagrams, flying_count = its
   place at the receiver, when granted; posted_bytes = sent once, granted_bytes = taken by the peer, both
   of op->size_bytes (until it is finished: what is to go); queued = its begin is stamped, between remote_id and order;
   remote_address = when its last datagram was handed over, at the earliest; 0 = no stamp. Times are host
   time. The slot of a receive: remote_id = its post. */
static void nic__udp_take_stamps(nic__udp_peer *p, bool all) {
  nic_datagram d;
  const int64_t patience_ns = all ? 0 : 50000000;
  while (p->datagrams && nic_datagrams_next(p->datagrams, patience_ns, &d, NULL) == NIC_OK) {
    nbc_op *op = NULL; /* the send may be over: then its stamp comes too late */
    if (d.id < p->low || d.id >= p->next) continue;
    const nic__udp_packet *k = &p->window[d.id % NIC__UDP_WINDOW];
    op = k->op;
    if (!op || !d.sent.kind) continue;
    if (k->offset_bytes == 0 && !op->slot.queued) {
      op->slot.queued = true;
      op->slot.remote_id = (uint64_t)d.sent.t_before_ns;
      op->slot.order = (uint64_t)d.sent.t_after_ns;
    }
    if (k->offset_bytes + k->bytes == k->size_bytes)
      op->slot.remote_address = (void *)(uintptr_t)(uint64_t)d.sent.t_before_ns;
  }
}

static void nic__udp_head_fill(nic__udp_peer *p, uint32_t kind, nic__udp_head *head) {
  memset(head, 0, sizeof *head);
  head->magic = NIC__UDP_MAGIC;
  head->kind = kind + p->from_us;
  memcpy(head->key, p->key, sizeof head->key);
  head->consumed_bytes = p->told_bytes = p->consumed_bytes;
}

static bool nic__udp_put(nic__udp *n, nic__udp_peer *p, uint64_t number, bool first) {
  nic__udp_packet *k = &p->window[number % NIC__UDP_WINDOW];
  nic__udp_head head;
  nic__udp_head_fill(p, k->kind, &head);
  head.number = number;
  head.message = k->message;
  head.tag = k->tag;
  head.size_bytes = k->size_bytes;
  head.offset_bytes = k->offset_bytes;
  head.place = k->place;
  head.reply = k->reply;
  memcpy(n->buffer, &head, NIC__UDP_DATA_HEAD);
  if (k->bytes)
    memcpy(n->buffer + NIC__UDP_DATA_HEAD, (const char *)k->op->slot.buffer + k->offset_bytes,
           k->bytes);
  const size_t bytes = NIC__UDP_DATA_HEAD + (size_t)k->bytes;
  const bool stamped = p->datagrams && n->t.recorder;
  long sent = -1;
  if (stamped && first && k->op &&
      (k->offset_bytes == 0 || k->offset_bytes + k->bytes == k->size_bytes)) {
    sent = nic_datagrams_send(p->datagrams, number, n->buffer, bytes, NULL, 0);
    if (sent < 0 && errno == ENOBUFS) { /* nobody took the stamps for long: these are lost */
      nic__udp_take_stamps(p, true);
      sent = nic_datagrams_send(p->datagrams, number, n->buffer, bytes, NULL, 0);
    }
  } else
    sent = stamped ? nic_datagrams_send(p->datagrams, UINT64_MAX, n->buffer, bytes, NULL, 0)
                   : send(p->fd, n->buffer, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent < 0 && stamped && errno == ENOBUFS) nic__udp_take_stamps(p, true);
  if (sent < 0 && errno != ECONNREFUSED)
    return false; /* later; refused: its port was not open yet */
  k->t_sent_ns = nbc_clock_now_ns(&n->clock);
  k->tries++;
  if (first)
    n->stats.datagram_count++;
  else
    n->stats.again_count++;
  return true;
}

static bool nic__udp_may_send(nic__udp *n, nic__udp_peer *p, uint64_t bytes) {
  if (n->desc.pace_bytes_per_s <= 0) return true;
  const int64_t now_ns = nbc_clock_now_ns(&n->clock);
  if (now_ns < p->t_pace_ns) return false;
  if (p->t_pace_ns < now_ns - 1000000) p->t_pace_ns = now_ns - 1000000; /* no burst after a rest */
  p->t_pace_ns += (int64_t)((double)bytes / n->desc.pace_bytes_per_s * 1e9);
  return true;
}

/* One datagram more on its way; false: not now. */
static bool nic__udp_put_new(nic__udp *n, nic__udp_peer *p, const nic__udp_packet *packet) {
  if (!nic__udp_may_send(n, p, packet->bytes + (uint64_t)NIC__UDP_DATA_HEAD)) return false;
  p->window[p->next % NIC__UDP_WINDOW] = *packet;
  if (!nic__udp_put(n, p, p->next, true)) return false;
  p->next++;
  return true;
}

/* Tells the sender of an announced message that a receive takes it. `place` and `reply` are
   indices, at its sender and here, so neither side searches. */
static bool nic__udp_put_grant(nic__udp *n, nic__udp_peer *p, nic__udp_coming *c) {
  nic__udp_packet k;
  memset(&k, 0, sizeof k);
  k.kind = NIC__UDP_GRANT;
  k.message = c->message;
  k.size_bytes = c->size_bytes;
  k.place = c->place;
  k.reply = c->reply;
  if (!nic__udp_put_new(n, p, &k)) return false;
  p->grant_first = c->next;
  if (!p->grant_first) p->grant_last = NULL;
  return true;
}

/* A message for which the peer keeps no room now. It has its number in the order of messages all
   the same, and leaves the queue: those behind it that fit go on, and are matched after it. */
static bool nic__udp_put_announce(nic__udp *n, nic__udp_peer *p, nbc_op *op) {
  nic__udp_packet k;
  if (p->said_end) { /* nobody posts a receive there any more */
    nic__queue_pop(&p->send);
    nic__udp_lose(n, p, op);
    return true;
  }
  memset(&k, 0, sizeof k);
  k.kind = NIC__UDP_ANNOUNCE;
  k.message = op->slot.arrived_bytes;
  k.tag = op->slot.tag;
  k.size_bytes = op->slot.limit_bytes;
  if (!nic__places_reserve(&p->waiting, &k.place)) return false;
  if (!nic__udp_put_new(n, p, &k)) {
    nic__places_leave(&p->waiting, k.place);
    return false;
  }
  nic__queue_pop(&p->send);
  p->waiting.at[k.place] = op;
  return true;
}

/* The next datagram of the message in front. */
static bool nic__udp_put_data(nic__udp *n, nic__udp_peer *p, nbc_op *op) {
  const uint64_t most = n->desc.datagram_bytes - (uint64_t)NIC__UDP_DATA_HEAD;
  const uint64_t left = op->size_bytes - op->slot.posted_bytes;
  const uint64_t cost_bytes = op->slot.limit_bytes + NIC__COST_BYTES;
  nic__udp_packet k;
  if (!op->slot.started && op->slot.kind == NIC__UDP_DATA) {
    if (cost_bytes > p->credit_bytes - (p->spent_bytes - p->freed_bytes))
      return nic__udp_put_announce(n, p, op);
    p->spent_bytes += cost_bytes;
  }
  if (!op->slot.started && n->t.recorder && op->slot.xfer_id)
    nbc_xfer_begin(n->t.recorder, op->slot.xfer_id, op->size_bytes, NBC_KIND_ISEND,
                   nic__udp_class(p));
  op->slot.started = true;
  memset(&k, 0, sizeof k);
  k.op = op;
  k.kind = op->slot.kind;
  k.message = op->slot.arrived_bytes;
  k.tag = op->slot.tag;
  k.size_bytes = op->size_bytes;
  k.offset_bytes = op->slot.posted_bytes;
  k.reply = op->slot.flying_count;
  k.bytes = (uint32_t)(left < most ? left : most);
  if (!nic__udp_put_new(n, p, &k)) return false;
  op->slot.posted_bytes += k.bytes;
  if (op->slot.posted_bytes == op->size_bytes) nic__queue_pop(&p->send);
  return true;
}

/* Grants go first: no room has to be free for them, and each lets a message of the other side
   come. */
static void nic__udp_flush(nic__udp *n, nic__udp_peer *p) {
  while (!p->gone && p->next - p->low < p->allowed) {
    if (p->grant_first ? !nic__udp_put_grant(n, p, p->grant_first)
                       : !p->send.first || !nic__udp_put_data(n, p, p->send.first))
      return;
  }
}

/* What was not acknowledged in time, or overtaken by three that were: three, as datagrams may
   change places on their way [RFC 5681, 3.2]; and only a good round trip after it was sent, or
   one that was just sent again would go out once more with each later ACK. Waiting doubles with
   each try, up to 32 times, for a peer that does not read must not be flooded. The window halves
   once for all losses among the datagrams under way (`recover`, [RFC 6582]): they tell of one
   congestion. `later`: taken ones behind i. */
static void nic__udp_again(nic__udp *n, nic__udp_peer *p) {
  const int64_t now_ns = nbc_clock_now_ns(&n->clock);
  uint64_t later = 0;
  for (uint64_t i = p->low; i < p->next; i++) later += p->window[i % NIC__UDP_WINDOW].is_taken;
  for (uint64_t i = p->low; i < p->next; i++) {
    nic__udp_packet *k = &p->window[i % NIC__UDP_WINDOW];
    if (k->is_taken) {
      later--;
      continue;
    }
    const int64_t waited_ns = now_ns - k->t_sent_ns;
    const int64_t rto_ns = p->rto_ns << (k->tries < 6 ? k->tries - 1 : 5);
    const bool overtaken = later >= 3 && waited_ns > p->rtt_ns + p->rtt_ns / 4 + 20000;
    if (!overtaken && waited_ns < (rto_ns < nic__udp_most_rto_ns ? rto_ns : nic__udp_most_rto_ns))
      continue;
    if (i >= p->recover) { /* once per window */
      p->recover = p->next;
      p->allowed = p->allowed / 2 > nic__udp_least ? p->allowed / 2 : nic__udp_least;
    }
    if (!nic__udp_may_send(n, p, k->bytes) || !nic__udp_put(n, p, i, false)) return;
  }
}

/* A datagram was taken. The send ends with its last one. */
static void nic__udp_taken(nic__udp *n, nic__udp_peer *p, nic__udp_packet *k) {
  nbc_op *op = k->op;
  const int64_t now_ns = nbc_clock_now_ns(&n->clock);
  k->is_taken = true;
  k->op = NULL;        /* it may be gone before this place is used again */
  if (k->tries == 1) { /* else nobody knows which of them was answered (Karn) */
    const int64_t rtt_ns = now_ns - k->t_sent_ns;
    p->rtt_ns = p->rtt_ns ? p->rtt_ns + (rtt_ns - p->rtt_ns) / 8 : rtt_ns;
    p->rto_ns = 2 * p->rtt_ns > nic__udp_least_rto_ns ? 2 * p->rtt_ns : nic__udp_least_rto_ns;
    if (p->rto_ns > nic__udp_most_rto_ns) p->rto_ns = nic__udp_most_rto_ns;
  }
  /* By one for two that were taken: by half in each round trip. */
  if (++p->grown >= 2 && p->allowed < NIC__UDP_WINDOW) p->grown = 0, p->allowed++;
  if (!op) return;
  op->slot.granted_bytes += k->bytes;
  if (op->slot.granted_bytes < op->size_bytes) return;
  if (n->t.recorder && op->slot.xfer_id) {
    nbc_xfer_end(n->t.recorder, op->slot.xfer_id);
    const int64_t last_ns = (int64_t)(uintptr_t)op->slot.remote_address;
    const int64_t b_lo_ns = (int64_t)op->slot.remote_id, b_hi_ns = (int64_t)op->slot.order;
    if (op->slot.queued && last_ns)
      nic__udp_stamp(n, op, b_lo_ns, b_hi_ns, last_ns, now_ns);
    else
      n->stats.unstamped_count++;
  }
  n->stats.sent_count++;
  nic__udp_finish(n, op, NBC_OK, op->slot.limit_bytes);
}

static void nic__udp_take_ack(nic__udp *n, nic__udp_peer *p, const nic__udp_head *h) {
  if (h->number > p->next || p->next - h->number > NIC__UDP_WINDOW) {
    n->stats.refused_count++;
    return;
  }
  nic__udp_take_stamps(p, false); /* while their sends are known */
  for (uint64_t i = p->low; i < p->next; i++) {
    nic__udp_packet *k = &p->window[i % NIC__UDP_WINDOW];
    const uint64_t bit = i - h->number;
    const bool taken =
        i < h->number || (bit < NIC__UDP_WINDOW && (h->taken[bit / 64] >> bit % 64 & 1));
    if (taken && !k->is_taken) nic__udp_taken(n, p, k);
  }
  while (p->low < p->next && p->window[p->low % NIC__UDP_WINDOW].is_taken) p->low++;
}

/* ---- receiving -------------------------------------------------------------------------------- */
static void nic__udp_ack(nic__udp *n, nic__udp_peer *p) {
  nic__udp_head head;
  nic__udp_head_fill(p, NIC__UDP_ACK, &head);
  head.number = p->in_low;
  memcpy(head.taken, p->in_taken, sizeof head.taken);
  const bool stamped = p->datagrams && n->t.recorder; /* it counts all datagrams of the socket */
  const long k = stamped ? nic_datagrams_send(p->datagrams, UINT64_MAX, &head, sizeof head, NULL, 0)
                         : send(p->fd, &head, sizeof head, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (k < 0 && stamped && errno == ENOBUFS) nic__udp_take_stamps(p, true);
  p->owes_ack = k < 0;
}

static void nic__udp_keep(nic__udp_peer *p, nic__udp_early *e, const nic__udp_head *h) {
  memset(e, 0, sizeof *e);
  e->message = h->message;
  e->tag = h->tag;
  e->size_bytes = h->size_bytes;
  if (p->early_last)
    p->early_last->next = e;
  else
    p->early_first = e;
  p->early_last = e;
}

/* Room that became free is told with what goes there next; much of it at once. */
static void nic__udp_consumed(const nic__udp *n, nic__udp_peer *p, uint64_t size_bytes) {
  p->consumed_bytes += size_bytes + NIC__COST_BYTES;
  if (p->consumed_bytes - p->told_bytes > n->desc.max_early_bytes / 4) p->owes_ack = true;
}

/* The place of a datagram's message; NULL: none now, it comes again. Messages get their places
   in the order in which they were sent (`bound`), whichever datagram comes first: a receive is
   matched when its message gets a place, and an order of arrival would match receives wrongly. */
static nic__udp_coming *nic__udp_place(nic__udp *n, nic__udp_peer *p, const nic__udp_head *h) {
  nic__udp_coming *c = p->coming;
  while (c && c->message != h->message) c = c->next;
  if (c) return c->size_bytes == h->size_bytes ? c : NULL;
  if (h->message != p->bound) return NULL; /* in their order only */
  nbc_op *op = nic__queue_match(&p->posted, h->tag);
  if (!op && h->size_bytes + NIC__COST_BYTES > n->desc.max_early_bytes - p->early_bytes)
    return NULL; /* more than we ever granted */
  c = (nic__udp_coming *)nic__zalloc(sizeof *c);
  nic__udp_early *e =
      c && !op ? (nic__udp_early *)NIC_MALLOC(sizeof *e + (size_t)h->size_bytes) : NULL;
  if (!c || (!op && !e)) {
    NIC_FREE(c);
    if (op) nic__queue_push_front(&p->posted, op);
    return NULL;
  }
  if (e) {
    nic__udp_keep(p, e, h);
    e->data = (char *)(e + 1);
    p->early_bytes += h->size_bytes + NIC__COST_BYTES;
  } else
    nic__udp_consumed(n, p, h->size_bytes);
  c->message = h->message;
  c->whole_bytes = c->size_bytes = h->size_bytes;
  c->op = op;
  c->early = e;
  c->next = p->coming;
  p->coming = c;
  p->bound++;
  return c;
}

/* This receive takes an announced message; as much of it as it has room for. */
static void nic__udp_grant(nic__udp_peer *p, nic__udp_coming *c, nbc_op *op) {
  c->op = op;
  c->size_bytes = c->whole_bytes < op->slot.limit_bytes ? c->whole_bytes : op->slot.limit_bytes;
  p->granted.at[c->reply] = c;
  c->next = NULL;
  if (p->grant_last)
    p->grant_last->next = c;
  else
    p->grant_first = c;
  p->grant_last = c;
}

/* false: not now, it comes again */
static bool nic__udp_take_announce(nic__udp_peer *p, const nic__udp_head *h) {
  if (h->message != p->bound) return false;
  nic__udp_coming *c = (nic__udp_coming *)nic__zalloc(sizeof *c);
  nic__udp_early *e = c ? (nic__udp_early *)NIC_MALLOC(sizeof *e) : NULL;
  if (!e || !nic__places_reserve(&p->granted, &c->reply)) {
    NIC_FREE(c);
    NIC_FREE(e);
    return false;
  }
  c->is_announced = true;
  c->message = h->message;
  c->whole_bytes = h->size_bytes;
  c->place = h->place;
  p->bound++;
  nbc_op *op = nic__queue_match(&p->posted, h->tag);
  if (op) {
    nic__udp_grant(p, c, op);
    NIC_FREE(e);
    return true;
  }
  nic__udp_keep(p, e, h);
  e->announced = c;
  return true;
}

/* A receive takes what was announced: its data follow, at the end of the queue. A place is used
   again by later messages, so the message's number is compared too. */
static void nic__udp_take_grant(nic__udp *n, nic__udp_peer *p, const nic__udp_head *h) {
  nbc_op *op = (nbc_op *)nic__places_at(&p->waiting, h->place);
  if (!op || op->slot.arrived_bytes != h->message || h->size_bytes > op->slot.limit_bytes) {
    n->stats.refused_count++;
    return;
  }
  nic__places_leave(&p->waiting, h->place);
  op->slot.kind = NIC__UDP_GRANTED;
  op->slot.flying_count = h->reply;
  op->size_bytes = h->size_bytes;
  nic__queue_push(&p->send, op);
}

/* Where these data go; NULL: nowhere, or not now. */
static nic__udp_coming *nic__udp_granted(const nic__udp_peer *p, const nic__udp_head *h) {
  nic__udp_coming *c = (nic__udp_coming *)nic__places_at(&p->granted, h->reply);
  return c && c->message == h->message && c->size_bytes == h->size_bytes ? c : NULL;
}

static void nic__udp_received(nic__udp *n, nic__udp_peer *p, nbc_op *op, uint64_t size_bytes) {
  const uint64_t got = size_bytes < op->slot.limit_bytes ? size_bytes : op->slot.limit_bytes;
  n->stats.received_count++;
  if (n->t.recorder && op->slot.xfer_id)
    nbc_xfer_end_sized(n->t.recorder, op->slot.xfer_id, got, nic__udp_class(p));
  else if (n->t.recorder) /* it had begun to come before it was posted */
    nbc_xfer_end_only(n->t.recorder, got, NBC_KIND_IRECV, nic__udp_class(p));
  nic__udp_finish(n, op, size_bytes > op->slot.limit_bytes ? NBC_E_TRUNCATED : NBC_OK, got);
}

static void nic__udp_complete(nic__udp *n, nic__udp_peer *p, nic__udp_coming *c,
                              const nic_stamp *stamp) {
  if (c->is_announced)
    nic__places_leave(&p->granted, c->reply);
  else {
    nic__udp_coming **link = &p->coming;
    while (*link != c) link = &(*link)->next;
    *link = c->next;
  }
  if (c->op) {
    nic__udp_received(n, p, c->op, c->whole_bytes);
    if (n->t.recorder && c->op->slot.xfer_id && stamp->kind && c->begin_hi_ns)
      nic__udp_stamp(n, c->op, (int64_t)c->op->slot.remote_id, c->begin_hi_ns, c->end_lo_ns,
                     stamp->t_after_ns);
    else if (n->t.recorder)
      n->stats.unstamped_count++;
  }
  NIC_FREE(c);
}

/* Data of a message. false: they have no place now, and come again. */
static bool nic__udp_take_data(nic__udp *n, nic__udp_peer *p, const nic__udp_head *h,
                               const char *data, uint64_t bytes, const nic_stamp *stamp,
                               int64_t t_empty_ns) {
  const bool is_granted = h->kind - p->from_it == NIC__UDP_GRANTED;
  nic__udp_coming *c = is_granted ? nic__udp_granted(p, h) : nic__udp_place(n, p, h);
  if (!c) { /* but it had begun to come */
    if (!is_granted && h->message >= p->thrown_end) p->thrown_end = h->message + 1;
    return false;
  }
  /* Bytes are counted, not parts: each datagram is taken once (in_taken), and parts do not
     overlap. */
  if (bytes > c->size_bytes - c->got_bytes) { /* no rank of ours sends the same part twice */
    n->stats.refused_count++;
    return false;
  }
  if (c->op && h->offset_bytes < c->op->slot.limit_bytes) {
    const uint64_t room = c->op->slot.limit_bytes - h->offset_bytes;
    if (bytes)
      memcpy((char *)c->op->slot.buffer + h->offset_bytes, data,
             (size_t)(bytes < room ? bytes : room));
  }
  if (c->early && bytes) memcpy(c->early->data + h->offset_bytes, data, (size_t)bytes);
  c->got_bytes += bytes;
  if (c->early) c->early->got_bytes = c->got_bytes;
  if (!c->begin_hi_ns && stamp->kind) c->begin_hi_ns = stamp->t_after_ns;
  c->end_lo_ns = t_empty_ns;
  if (c->got_bytes == c->size_bytes) nic__udp_complete(n, p, c, stamp);
  return true;
}

/* A datagram that is acknowledged: all but acknowledgements. */
static void nic__udp_take_numbered(nic__udp *n, nic__udp_peer *p, const nic__udp_head *h,
                                   const char *data, uint64_t bytes, const nic_stamp *stamp,
                                   int64_t t_empty_ns) {
  const uint64_t at = h->number - p->in_low;
  const uint32_t kind = h->kind - p->from_it;
  const bool has_data = kind == NIC__UDP_DATA || kind == NIC__UDP_GRANTED;
  p->owes_ack = true;
  if (h->number < p->in_low || at >= NIC__UDP_WINDOW || (p->in_taken[at / 64] >> at % 64 & 1) ||
      h->size_bytes > (uint64_t)1 << 48 || (!has_data && bytes) ||
      (has_data && (h->offset_bytes > h->size_bytes || bytes > h->size_bytes - h->offset_bytes ||
                    (bytes == 0 && h->size_bytes != 0)))) {
    n->stats.refused_count++;
    return;
  }
  if (has_data ? !nic__udp_take_data(n, p, h, data, bytes, stamp, t_empty_ns)
               : kind == NIC__UDP_ANNOUNCE && !nic__udp_take_announce(p, h))
    return;
  if (kind == NIC__UDP_GRANT) nic__udp_take_grant(n, p, h);
  p->in_taken[at / 64] |= (uint64_t)1 << at % 64;
  while (p->in_taken[0] & 1) { /* all below in_low came: the bits move along */
    for (int i = 0; i < NIC__UDP_WINDOW / 64; i++)
      p->in_taken[i] =
          p->in_taken[i] >> 1 | (i + 1 < NIC__UDP_WINDOW / 64 ? p->in_taken[i + 1] << 63 : 0);
    p->in_low++;
  }
}

/* Is this datagram one that the peer's transport would send now? */
static bool nic__udp_is_right(const nic__udp_peer *p, const nic__udp_head *h, long bytes) {
  const uint32_t kind = h->kind - p->from_it;
  return bytes >= NIC__UDP_DATA_HEAD && h->magic == NIC__UDP_MAGIC &&
         nic__same_secret(h->key, p->key, sizeof h->key) &&
         (kind == NIC__UDP_DATA || kind == NIC__UDP_ANNOUNCE || kind == NIC__UDP_GRANT ||
          kind == NIC__UDP_GRANTED || (kind == NIC__UDP_ACK && bytes == (long)sizeof *h)) &&
         h->consumed_bytes <= p->spent_bytes;
}

/* Reads what is there. */
static void nic__udp_pump(nic__udp *n, nic__udp_peer *p) {
  for (int turn = 0; turn < NIC__UDP_WINDOW && !p->gone; turn++) {
    nic__udp_head head;
    nic_stamp stamp;
    memset(&stamp, 0, sizeof stamp);
    const int64_t before_ns = nbc_clock_now_ns(&n->clock), t_empty_ns = p->t_empty_ns;
    const long k = p->stamping && n->t.recorder
                       ? nic_stamping_recv(p->stamping, n->buffer, 65536, &stamp)
                       : recv(p->fd, n->buffer, 65536, MSG_DONTWAIT);
    if (k < 0) { /* also ECONNREFUSED, of a datagram that came too early: sent again */
      if (errno == EAGAIN || errno == EWOULDBLOCK) p->t_empty_ns = before_ns;
      if (errno == ECONNREFUSED || errno == EINTR) continue;
      break;
    }
    memset(&head, 0, sizeof head);
    memcpy(&head, n->buffer, (size_t)k < sizeof head ? (size_t)k : sizeof head);
    if (!nic__udp_is_right(p, &head, k)) {
      n->stats.refused_count++;
      continue;
    }
    if (head.consumed_bytes > p->freed_bytes)
      p->freed_bytes = head.consumed_bytes; /* not an old one */
    if (head.kind - p->from_it == NIC__UDP_ACK)
      nic__udp_take_ack(n, p, &head);
    else
      nic__udp_take_numbered(n, p, &head, n->buffer + NIC__UDP_DATA_HEAD,
                             (uint64_t)k - NIC__UDP_DATA_HEAD, &stamp, t_empty_ns);
  }
  if (p->owes_ack && !p->gone) nic__udp_ack(n, p);
}

/* Of a receive nothing of whose message has come. */
static void nic__udp_begin_receive(nic__udp *n, nic__udp_peer *p, nbc_op *op) {
  const int64_t t_ns = nbc_clock_now_ns(&n->clock);
  op->slot.xfer_id = ++n->next_id;
  op->slot.remote_id = (uint64_t)t_ns;
  nbc_xfer_begin(n->t.recorder, op->slot.xfer_id, op->slot.limit_bytes, NBC_KIND_IRECV,
                 nic__udp_class(p));
}

/* A receive whose message has come, or begun to, or was announced. */
static bool nic__udp_take_early(nic__udp *n, nic__udp_peer *p, nbc_op *op) {
  nic__udp_early *before = NULL, *e = p->early_first;
  for (; e && e->tag != op->slot.tag; e = e->next) before = e;
  if (!e) return false;
  if (before)
    before->next = e->next;
  else
    p->early_first = e->next;
  if (p->early_last == e) p->early_last = before;
  if (e->announced) { /* nothing of its data has come */
    if (n->t.recorder) nic__udp_begin_receive(n, p, op);
    nic__udp_grant(p, e->announced, op);
    NIC_FREE(e);
    return true;
  }
  p->early_bytes -= e->size_bytes + NIC__COST_BYTES;
  nic__udp_consumed(n, p, e->size_bytes);
  const uint64_t room = op->slot.limit_bytes < e->size_bytes ? op->slot.limit_bytes : e->size_bytes;
  if (room) memcpy(op->slot.buffer, e->data, (size_t)room);
  nic__udp_coming *c = p->coming;
  while (c && c->early != e) c = c->next;
  if (c) { /* the rest goes straight to the receive */
    c->early = NULL;
    c->op = op;
  } else {
    n->stats.received_count++;
    nic__udp_finish(n, op, e->size_bytes > op->slot.limit_bytes ? NBC_E_TRUNCATED : NBC_OK, room);
    if (n->t.recorder) nbc_xfer_end_only(n->t.recorder, room, NBC_KIND_IRECV, nic__udp_class(p));
  }
  NIC_FREE(e);
  return true;
}

/* ---- the transport's functions ---------------------------------------------------------------- */
/* A message to this rank itself waits in the sender's buffer until it is received. */
static void nic__udp_to_itself(nic__udp *n, nbc_op *send, nbc_op *receive) {
  const uint64_t size = send->slot.limit_bytes, limit = receive->slot.limit_bytes;
  if (size && limit)
    memcpy(receive->slot.buffer, send->slot.buffer, (size_t)(size < limit ? size : limit));
  n->stats.sent_count++;
  n->stats.received_count++;
  nic__udp_finish(n, send, NBC_OK, size);
  nic__udp_finish(n, receive, size > limit ? NBC_E_TRUNCATED : NBC_OK, size < limit ? size : limit);
}

static nbc_status nic__udp_isend(void *ctx, const void *buffer, uint64_t size_bytes, int peer,
                                 uint64_t tag, nbc_op *op) {
  nic__udp *n = (nic__udp *)ctx;
  nic__udp_peer *p = &n->peers[peer];
  if (n->is_closed) return NBC_E_STATE;
  nic__request_begin(op, peer, buffer, size_bytes, tag);
  if (peer == n->t.rank) {
    nbc_op *receive = nic__queue_match(&p->posted, tag);
    if (receive)
      nic__udp_to_itself(n, op, receive);
    else
      nic__queue_push(&p->send, op);
    return NBC_OK;
  }
  if (p->gone) return NBC_E_PEER;
  op->slot.kind = NIC__UDP_DATA;
  op->slot.arrived_bytes = p->messages++;
  op->size_bytes = size_bytes;
  if (n->t.recorder) op->slot.xfer_id = ++n->next_id;
  nic__queue_push(&p->send, op);
  nic__udp_flush(n, p);
  return NBC_OK;
}

static nbc_status nic__udp_irecv(void *ctx, void *buffer, uint64_t size_bytes, int peer,
                                 uint64_t tag, nbc_op *op) {
  nic__udp *n = (nic__udp *)ctx;
  nic__udp_peer *p = &n->peers[peer];
  if (n->is_closed) return NBC_E_STATE;
  nic__request_begin(op, peer, buffer, size_bytes, tag);
  if (peer == n->t.rank) {
    nbc_op *send = nic__queue_match(&p->send, tag);
    if (!send) return nic__queue_push(&p->posted, op), NBC_OK;
    nic__udp_to_itself(n, send, op);
    return NBC_OK;
  }
  if (n->t.recorder && !p->gone) nic__udp_pump(n, p); /* so that what is early is known */
  if (nic__udp_take_early(n, p, op)) {
    nic__udp_flush(n, p);
    return NBC_OK;
  }
  if (p->gone) return NBC_E_PEER;
  if (n->t.recorder && p->bound >= p->thrown_end) /* nothing of it can have come */
    nic__udp_begin_receive(n, p, op);
  nic__queue_push(&p->posted, op);
  return NBC_OK;
}

static nbc_status nic__udp_cancel(void *ctx, nbc_op *op) {
  nic__udp *n = (nic__udp *)ctx;
  if (!nic__queue_remove(&n->peers[op->peer].posted, op)) return NBC_E_STATE;
  if (n->t.recorder && op->slot.xfer_id) nbc_xfer_cancel(n->t.recorder, op->slot.xfer_id);
  nic__udp_finish(n, op, NBC_E_CANCELLED, 0);
  return NBC_OK;
}

/* The stream says only one thing: "e", nothing follows; and its end. */
static void nic__udp_look_at_control(nic__udp *n, nic__udp_peer *p) {
  char word;
  const ssize_t k = recv(p->control, &word, 1, MSG_DONTWAIT);
  if (k > 0 && word == 'e') {
    p->said_end = true;
    nic__udp_lose_waiting(n, p);
  } else if (k == 0 || (k < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) {
    nic__udp_pump(n, p); /* what it sent before */
    nic__udp_drop_peer(n, p);
  }
}

static nbc_status nic__udp_progress(void *ctx) {
  nic__udp *n = (nic__udp *)ctx;
  for (int i = 0; i < n->t.size; i++) {
    nic__udp_peer *p = &n->peers[i];
    if (i == n->t.rank || p->gone) continue;
    nic__udp_pump(n, p);
    nic__udp_look_at_control(n, p);
    if (p->gone) continue;
    nic__udp_again(n, p);
    nic__udp_flush(n, p);
    if (n->t.recorder) nic__udp_take_stamps(p, false);
  }
  nic__requests_tell(&n->done);
  return NBC_OK;
}

/* Sleeps until a datagram comes, for 1 ms at most: then something may have to be sent again. */
static void nic__udp_rest(void *ctx) {
  nic__udp *n = (nic__udp *)ctx;
  if (n->done.first) return;
  for (int i = 0; i < n->t.size; i++) {
    n->polls[i].fd = i == n->t.rank || n->peers[i].gone ? -1 : n->peers[i].fd;
    n->polls[i].events = POLLIN;
  }
  poll(n->polls, (nfds_t)n->t.size, 1);
}
static nbc_peer nic__udp_peer_class(void *ctx, int peer) {
  return nic__udp_class(&((nic__udp *)ctx)->peers[peer]);
}

/* ---- beginning and end ------------------------------------------------------------------------ */
/* NULL: there is none, or it is a transport of another kind. */
static nic__udp *nic__udp_of(const nbc_transport *t) {
  return t && t->peer_class == nic__udp_peer_class ? (nic__udp *)t->ctx : NULL;
}
NIC_API nbc_status nic_udp_drain(nbc_transport *t, int64_t limit_ns) {
  nic__udp *n = nic__udp_of(t);
  if (!n) return NBC_E_INVAL;
  for (const int64_t start_ns = nbc_clock_now_ns(&n->clock);;) {
    bool over = true, lost = false;
    nic__udp_progress(n);
    for (int i = 0; i < n->t.size; i++) {
      const nic__udp_peer *p = &n->peers[i];
      if (i != n->t.rank && !p->gone &&
          (p->send.first || p->low < p->next || p->waiting.free_count < p->waiting.capacity))
        over = false;
      lost |= p->lost_count > 0;
    }
    if (over) return lost ? NBC_E_PEER : NBC_OK;
    if (nbc_clock_now_ns(&n->clock) - start_ns > limit_ns) return NBC_E_TIMEOUT;
    nic__udp_rest(n);
  }
}

NIC_API nbc_status nic_udp_close(nbc_transport *t, int64_t limit_ns) {
  nic__udp *n = nic__udp_of(t);
  if (!n) return NBC_E_INVAL;
  const int64_t start_ns = nbc_clock_now_ns(&n->clock);
  nbc_status status = nic_udp_drain(t, limit_ns);
  n->is_closed = true;
  for (int i = 0; i < n->t.size; i++)
    if (i != n->t.rank && !n->peers[i].gone && send(n->peers[i].control, "e", 1, MSG_NOSIGNAL) != 1)
      status = NBC_E_PEER;
  while (status == NBC_OK) { /* a peer may still send again what we took: its answers were lost */
    bool over = true;
    nic__udp_progress(n);
    for (int i = 0; i < n->t.size; i++)
      if (i != n->t.rank && !n->peers[i].gone && !n->peers[i].said_end) over = false;
    if (over) return NBC_OK;
    if (nbc_clock_now_ns(&n->clock) - start_ns > limit_ns) status = NBC_E_TIMEOUT;
    nic__udp_rest(n);
  }
  return status;
}

static void nic__udp_free_peer(nic__udp *n, nic__udp_peer *p) {
  nic__udp_drop_coming(n, p, false);
  for (nic__udp_early *e = p->early_first, *next; e; e = next) {
    next = e->next;
    NIC_FREE(e);
  }
  nic__places_free(&p->waiting);
  nic_datagrams_close(p->datagrams);
  NIC_FREE(p->window);
  if (p->fd >= 0) close(p->fd);
  if (p->control >= 0) close(p->control);
}

NIC_API nbc_status nic_udp_destroy(nbc_transport *t) {
  nic__udp *n = nic__udp_of(t);
  if (!n) return t ? NBC_E_INVAL : NBC_OK;
  const nbc_status status = n->is_closed ? NBC_OK : nic_udp_close(t, n->desc.close_limit_ns);
  for (int i = 0; n->peers && i < n->t.size; i++) nic__udp_free_peer(n, &n->peers[i]);
  NIC_FREE(n->peers);
  NIC_FREE(n->polls);
  NIC_FREE(n->buffer);
  NIC_FREE(n);
  return status;
}
NIC_API nic_udp_stats nic_udp_stats_of(const nbc_transport *t) {
  nic_udp_stats none;
  memset(&none, 0, sizeof none);
  const nic__udp *n = nic__udp_of(t);
  return n ? n->stats : none;
}

/* Two bytes of the stream, which may come one by one, and signals meanwhile. */
static bool nic__udp_read_port(const nic__udp *n, int control, uint16_t *port) {
  const int64_t end_ns = nbc_clock_now_ns(&n->clock) + n->desc.connect_limit_ns;
  for (size_t got = 0; got < sizeof *port;) {
    const ssize_t k = recv(control, (char *)port + got, sizeof *port - got, MSG_DONTWAIT);
    struct pollfd wait = {control, POLLIN, 0};
    if (k == 0 || (k < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
      return false;
    if (k > 0)
      got += (size_t)k;
    else if (nbc_clock_now_ns(&n->clock) > end_ns)
      return false;
    else
      poll(&wait, 1, 100);
  }
  return true;
}

/* A datagram socket beside the stream: from the same address, to the same peer. The ports travel on the
   stream. */
static nbc_status nic__udp_join(nic__udp *n, int i, nbc_error *err) {
  nic__udp_peer *p = &n->peers[i];
  struct sockaddr_storage own, peer;
  socklen_t own_bytes = sizeof own, peer_bytes = sizeof peer;
  uint16_t ports[2] = {0, 0}; /* theirs is read as it was written: in network order */
  const int room = 4 << 20;
  memset(&own, 0, sizeof own);
  memset(&peer, 0, sizeof peer);
  if (getsockname(p->control, (struct sockaddr *)&own, &own_bytes) != 0 ||
      getpeername(p->control, (struct sockaddr *)&peer, &peer_bytes) != 0)
    return nic__nbc_fail(err, errno == ENOTCONN ? NBC_E_PEER : NBC_E_SYSTEM, "rank %d: %s", i,
                         errno == ENOTCONN ? "is gone" : strerror(errno));
  uint16_t *own_port = own.ss_family == AF_INET6 ? &((struct sockaddr_in6 *)&own)->sin6_port
                                                 : &((struct sockaddr_in *)&own)->sin_port;
  *own_port = 0;
  p->fd = socket(own.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (p->fd < 0 || bind(p->fd, (struct sockaddr *)&own, own_bytes) != 0 ||
      getsockname(p->fd, (struct sockaddr *)&own, &own_bytes) != 0)
    return nic__nbc_fail(err, NBC_E_SYSTEM, "rank %d: datagrams: %s", i, strerror(errno));
  setsockopt(p->fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room); /* as far as the kernel lets us */
  setsockopt(p->fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
  ports[0] = *own_port;
  if (send(p->control, &ports[0], 2, MSG_NOSIGNAL) != 2 ||
      !nic__udp_read_port(n, p->control, &ports[1]))
    return nic__nbc_fail(err, NBC_E_PEER, "rank %d: does not say its port", i);
  if (n->desc.via_ports && n->desc.via_ports[i]) {
    struct sockaddr_in via;
    memset(&via, 0, sizeof via);
    via.sin_family = AF_INET;
    via.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    via.sin_port = htons(n->desc.via_ports[i]);
    memcpy(&peer, &via, sizeof via);
    peer_bytes = sizeof via;
  } else if (peer.ss_family == AF_INET6)
    ((struct sockaddr_in6 *)&peer)->sin6_port = ports[1];
  else
    ((struct sockaddr_in *)&peer)->sin_port = ports[1];
  if (connect(p->fd, (struct sockaddr *)&peer, peer_bytes) != 0)
    return nic__nbc_fail(err, NBC_E_SYSTEM, "rank %d: datagrams: %s", i, strerror(errno));
  if (!n->desc.no_stamps &&
      nic_datagrams_open(p->fd, false, NIC__UDP_WINDOW, &n->host, &p->datagrams, NULL) == NIC_OK)
    p->stamping = nic_datagrams_stamping(p->datagrams);
  return NBC_OK;
}

static nbc_status nic__udp_meet(nic__udp *n, nbc_error *err) {
  nic_meet_desc m;
  nic_meet_peer *found = (nic_meet_peer *)nic__zalloc((size_t)n->t.size * sizeof *found);
  if (!found) return nic__nbc_fail(err, NBC_E_NOMEM, "out of memory");
  memset(&m, 0, sizeof m);
  m.rank = n->desc.rank;
  m.size = n->desc.size;
  m.addresses = n->desc.addresses;
  m.sockets = n->desc.sockets;
  m.token = n->desc.token;
  m.job = n->desc.job;
  m.open_to_all = n->desc.open_to_all;
  m.limit_ns = n->desc.connect_limit_ns;
  m.clock = &n->clock;
  nic__to_le64(m.mine, n->desc.max_early_bytes);
  nbc_status status = nic_meet(&m, found, err);
  for (int i = 0; i < n->t.size && status == NBC_OK; i++) {
    nic__udp_peer *p = &n->peers[i];
    p->control = found[i].fd;
    p->same_host = found[i].same_host;
    *(i > n->t.rank ? &p->from_it : &p->from_us) = NIC__UDP_FROM_ABOVE;
    if (p->control >= 0) nic__meet_watch(p->control, n->desc.silence_limit_ns);
    memcpy(p->key, found[i].key, sizeof p->key);
    p->credit_bytes = nic__le64(found[i].theirs, 8);
  }
  for (int i = 0; i < n->t.size && status == NBC_OK; i++)
    if (i != n->t.rank) status = nic__udp_join(n, i, err);
  NIC_FREE(found);
  return status;
}

static bool nic__udp_alloc(nic__udp *n) {
  n->peers = (nic__udp_peer *)nic__zalloc((size_t)n->t.size * sizeof *n->peers);
  n->polls = (struct pollfd *)nic__zalloc((size_t)n->t.size * sizeof *n->polls);
  n->buffer = (char *)nic__zalloc(65536);
  bool ok = n->peers && n->polls && n->buffer;
  for (int i = 0; n->peers && i < n->t.size; i++) {
    nic__udp_peer *p = &n->peers[i];
    p->fd = p->control = -1;
    p->allowed = 32;
    p->rto_ns = nic__udp_first_rto_ns;
    p->window = (nic__udp_packet *)nic__zalloc(NIC__UDP_WINDOW * sizeof *p->window);
    ok = ok && p->window;
  }
  return ok;
}

NIC_API nbc_status nic_udp_create(const nic_udp_desc *desc, nbc_transport **t, nbc_error *err) {
  if (!t) return nic__nbc_fail(err, NBC_E_INVAL, "t: must not be NULL");
  *t = NULL;
  if (!desc || desc->size < 1 || desc->rank < 0 || desc->rank >= desc->size ||
      (desc->datagram_bytes && (desc->datagram_bytes < 256 || desc->datagram_bytes > 65000)) ||
      (!desc->addresses == !desc->sockets && desc->size > 1))
    return nic__nbc_fail(
        err, NBC_E_INVAL,
        "rank, size, datagram_bytes, and either addresses or sockets: out of range "
        "or missing");
  nic__udp *n = (nic__udp *)nic__zalloc(sizeof *n);
  if (!n) return nic__nbc_fail(err, NBC_E_NOMEM, "out of memory");
  n->desc = *desc;
  if (!n->desc.datagram_bytes) n->desc.datagram_bytes = 1400;
  if (!n->desc.max_early_bytes) n->desc.max_early_bytes = NIC__EARLY_BYTES;
  if (n->desc.max_early_bytes < NIC__LEAST_EARLY_BYTES)
    n->desc.max_early_bytes = NIC__LEAST_EARLY_BYTES;
  if (!n->desc.connect_limit_ns) n->desc.connect_limit_ns = 30000000000;
  if (!n->desc.close_limit_ns) n->desc.close_limit_ns = 10000000000;
  n->t.rank = desc->rank;
  n->t.size = desc->size;
  n->t.name = "udp";
  n->t.help = "datagrams between processes; true times from the kernel";
  n->t.ctx = n;
  n->t.now_ns = nic__udp_now;
  n->t.isend = nic__udp_isend;
  n->t.irecv = nic__udp_irecv;
  n->t.progress = nic__udp_progress;
  n->t.cancel = nic__udp_cancel;
  n->t.peer_class = nic__udp_peer_class;
  n->t.rest = nic__udp_rest;
  n->host.now_ns = nic__udp_host_now;
  n->host.user = &n->clock;
  nbc_status status = NBC_OK;
  if (desc->clock)
    n->clock = *desc->clock;
  else if ((status = nbc_clock_create(NULL, &n->clock)) != NBC_OK)
    nic__nbc_fail(err, status, "clock: %s", n->clock.why);
  if (status == NBC_OK && !nic__udp_alloc(n))
    status = nic__nbc_fail(err, NBC_E_NOMEM, "out of memory");
  if (status == NBC_OK && desc->size > 1) status = nic__udp_meet(n, err);
  if (status == NBC_OK) {
    *t = &n->t;
    return NBC_OK;
  }
  n->is_closed = true;
  nic_udp_destroy(&n->t);
  return status;
}

#  ifdef __cplusplus
}
#  endif
#endif /* NIC_UDP_IMPLEMENTATION_ONCE */

/* ----------------------------------------------------------------------------------------------
   LICENCE: either public domain (unlicense.org: copy, modify, publish, use, compile, sell or
   distribute, for any purpose, by any means) or MIT No Attribution (MIT-0), whichever you choose;
   full text in LICENSE. The software is provided "as is", without warranty of any kind.
   ---------------------------------------------------------------------------------------------- */
