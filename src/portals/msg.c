#include "msg.h"
static void pm__msg_worker_main(void *arg);
/* ============================================================================================== */
/* [MSG] 9. Two-sided messages over Portals                                                       */
/* ============================================================================================== */
/* Three protocols for long messages; eager ones are the first line alone, with their data.

     GET        sender shows its buffer      -- announcement, 0 bytes -->
                                             <- fetches, one per piece -- receiver
     PUT        sender shows an empty entry  -- announcement, 0 bytes -->
                                             <- answer: size, number ---- receiver shows its buffer
                                             -- data -------------------> into it
     PIPELINED  as PUT, but the announcement carries the first fragment, and of the others at most
                inflight_count are under way: an acknowledgement lets the next one go

   Announcements meet receives on the first portal, by tag and peer, in Portals' matching order.
   What follows meets its partner on the second one by number, which one entry alone has at a
   time.

   hdr_data of a message on the first portal: bit 63 announces a long one, 62..61 its protocol,
   then 37 bits of size and 24 of the number under which the sender is found on the second
   portal. There, hdr_data of a receiver's answer is the size it takes and the number of its
   buffer; of data, the fragment. The match bits of a fetch: the number, which fetch it is, how
   many there are. */
enum { PM__MSG_QUEUED, PM__MSG_WAITING, PM__MSG_MOVING };
#define PM__MSG_LONG        ((uint64_t)1 << 63)
#define PM__MSG_NUMBER      ((uint64_t)0xFFFFFF)
#define PM__MSG_INDEX(bits) ((uint32_t)((bits) >> 24 & 0xFFFFF))
#define PM__MSG_COUNT(bits) ((uint32_t)((bits) >> 44))
#define PM__MSG_SIZE        ((uint64_t)0x1FFFFFFFFF)
#define PM__MSG_ONCE        (PTL_ME_USE_ONCE | PTL_ME_EVENT_UNLINK_DISABLE)

struct pm_msg {
  pm_msg_desc desc;
  pm_process *proc;
  ptl_handle_ni_t ni;
  ptl_handle_eq_t eq;
  ptl_handle_md_t md; /* all memory */
  ptl_pt_index_t pt, pt_shown;
  uint64_t piece_bytes; /* the most that one operation moves */
  uint64_t numbers;
  uint64_t last_id_before; /* messages up to this one are of an earlier layer */
  pm_msg_op *shown;        /* operations with an entry on the second portal */
  char *overflow;
  /* with a worker: */
  pm_thread *worker, *holder; /* holder: who handles events and posts, one at a time */
  pm_msg_op *queue, *queue_tail;
  int64_t t_look_ps, d_look_ps,
      d_step_ps;                  /* worker's last look, what one takes, from one to the next */
  int64_t t_mark_ps, d_stolen_ps; /* what it took from the computation since the mark */
  bool is_computing, is_working, is_closing, has_init, has_ni;
  int core_count;
  int64_t d_work_ps; /* to be done, see pm_msg_work_ns */
  bool is_at_work;
};

/* ---- what observers are told --------------------------------------------------------------------- */
static uint32_t pm__msg_pieces(const pm_msg_op *op) {
  const uint64_t bytes = op->fragment_bytes;
  return bytes && op->size_bytes > bytes ? (uint32_t)((op->size_bytes + bytes - 1) / bytes) : 1;
}
static void pm__msg_tell(pm_msg *msg, pm_msg_op *op, pm_msg_step step, uint32_t index,
                         int64_t t_begin_ns, int64_t t_end_ns) {
  pm_msg_transfer x;
  if (!msg->desc.observe) return;
  x.op = op;
  x.step = step;
  x.index = index;
  x.count = pm__msg_pieces(op);
  x.size_bytes = op->size_bytes;
  if (op->fragment_bytes) {
    const uint64_t begin_bytes = index * op->fragment_bytes;
    x.size_bytes = begin_bytes < op->size_bytes ? op->size_bytes - begin_bytes : 0;
    if (x.size_bytes > op->fragment_bytes) x.size_bytes = op->fragment_bytes;
  }
  x.t_begin_ns = t_begin_ns;
  x.t_end_ns = t_end_ns;
  msg->desc.observe(msg->desc.user, &x);
}
static void pm__msg_tell_now(pm_msg *msg, pm_msg_op *op, pm_msg_step step, uint32_t index) {
  pm__msg_tell(msg, op, step, index, pm_now_ns(), pm_now_ns());
}
/* From the wire: data is its initiator's, and on the second portal the other side's too. The
   stamp holds the initiator's operation; the other side's is found by the match bits, the number
   of what it shows: a sender's for a fetch, a receiver's for data. On the first portal the
   receiver is not known yet.
   A layer that closed has forgotten its operations, but not the NIC what was under way: their memory
   may be anything by now. */
static void pm__msg_stamp(void *arg, const pm_stamp *s) {
  const pm_world *w = (const pm_world *)arg;
  pm_msg *msg = w->procs[s->initiator_rank]->msg;
  pm_msg_op *op = (pm_msg_op *)s->user_ptr;
  const uint32_t index = s->is_reply ? PM__MSG_INDEX(s->match_bits) : (uint32_t)s->hdr_data;
  if (!msg || s->id <= msg->last_id_before) return;
  if (!s->size_bytes) return; /* announcements and answers move no data */
  if (s->pt_index == msg->pt && !s->is_reply)
    pm__msg_tell(msg, op, PM_MSG_ON_WIRE, 0, s->t_begin_ns, s->t_end_ns);
  if (s->pt_index != msg->pt_shown) return;
  pm__msg_tell(msg, op, PM_MSG_ON_WIRE, index, s->t_begin_ns, s->t_end_ns);
  msg = w->procs[op->peer]->msg;
  if (!msg || s->id <= msg->last_id_before) return;
  for (op = msg->shown; op; op = op->next)
    if (op->number_id == (s->match_bits & PM__MSG_NUMBER)) {
      pm__msg_tell(msg, op, PM_MSG_ON_WIRE, index, s->t_begin_ns, s->t_end_ns);
      return;
    }
}

/* ---- open and close ------------------------------------------------------------------------------ */
static ptl_me_t pm__msg_entry(void *start, size_t bytes, uint64_t bits, unsigned int options) {
  ptl_me_t me;
  memset(&me, 0, sizeof me);
  me.start = start;
  me.length = bytes;
  me.ct_handle = PTL_CT_NONE;
  me.uid = PTL_UID_ANY;
  me.options = options | PTL_ME_EVENT_LINK_DISABLE | PTL_ME_IS_ACCESSIBLE;
  me.match_id.phys.nid = PTL_NID_ANY;
  me.match_id.phys.pid = PTL_PID_ANY;
  me.match_bits = bits;
  return me;
}
/* Messages whose receive is not posted go one behind the other into a block (MANAGE_LOCAL). One
   that has not min_free left is unlinked by Portals, so what comes always fits whole: the
   largest payload of an unexpected message is min_free. AUTO_FREE says that receives have taken
   all of it, and it is appended anew; sooner, new messages would be written over those still to
   be copied. */
static int pm__msg_overflow_block(pm_msg *msg, char *start) {
  ptl_me_t me = pm__msg_entry(start, msg->desc.overflow_bytes, 0,
                              PTL_ME_OP_PUT | PTL_ME_MANAGE_LOCAL | PTL_ME_EVENT_COMM_DISABLE);
  ptl_handle_me_t h;
  me.ignore_bits = ~(ptl_match_bits_t)0;
  me.min_free = msg->desc.eager_bytes;
  if (msg->desc.large == PM_MSG_PIPELINED && me.min_free < msg->desc.fragment_bytes)
    me.min_free = msg->desc.fragment_bytes;
  return PtlMEAppend(msg->ni, msg->pt, &me, PTL_OVERFLOW_LIST, start, &h);
}
static int pm__msg_defaults(pm_msg *m) {
  pm_msg_desc *d = &m->desc;
  const pm_platform *plat = &m->proc->world->plat;
  if (!d->eager_bytes) d->eager_bytes = 4096;
  if (!d->fragment_bytes) d->fragment_bytes = 65536;
  if (!d->inflight_count) d->inflight_count = 4;
  if (!d->worker_period_ns) d->worker_period_ns = 2000000;
  if (!d->overflow_bytes) d->overflow_bytes = 262144;
  if (!d->overflow_count) d->overflow_count = 4;
  if (!d->pt_index) d->pt_index = 240;
  m->core_count =
      (int)plat->cores_per_node_count / m->proc->world->nodes[m->proc->node].process_count;
  m->d_look_ps = plat->cpu_poll_ns * PM__PS;
  if (d->by == PM_MSG_TIMER) m->d_look_ps += plat->cpu_switch_ns * PM__PS;
  m->d_step_ps = pm__later(m->d_look_ps, d->by == PM_MSG_TIMER ? pm__ps(d->worker_period_ns) : 0);
  if (m->d_step_ps < PM__PS) m->d_step_ps = PM__PS;
  return (unsigned)d->large <= PM_MSG_PIPELINED && (unsigned)d->by <= PM_MSG_TIMER &&
         d->inflight_count > 0 && d->worker_period_ns > 0 && d->overflow_count > 0 &&
         d->eager_bytes <= d->overflow_bytes && d->overflow_bytes <= pm__limits.max_msg_size &&
         (d->large != PM_MSG_PIPELINED || d->fragment_bytes <= d->overflow_bytes) &&
         (d->by != PM_MSG_DEDICATED || m->core_count > 1);
}
static void pm__msg_free(pm_msg *m) {
  PM_FREE(m->overflow);
  PM_FREE(m);
}
static void pm__msg_close_portals(pm_msg *m) { /* as far as it was opened */
  if (m->has_ni) PtlNIFini(m->ni);
  if (m->has_init) PtlFini();
}
static int pm__msg_open_portals(pm_msg *m) {
  ptl_ni_limits_t actual;
  ptl_md_t md;
  int i, bad;
  memset(&md, 0, sizeof md);
  md.length = PTL_SIZE_MAX;
  md.ct_handle = PTL_CT_NONE;
  m->has_init = PtlInit() == PTL_OK;
  m->has_ni = m->has_init && PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL,
                                       PTL_PID_ANY, NULL, &actual, &m->ni) == PTL_OK;
  bad = !m->has_ni || PtlEQAlloc(m->ni, 65536, &m->eq) ||
        PtlPTAlloc(m->ni, 0, m->eq, (ptl_pt_index_t)m->desc.pt_index, &m->pt) ||
        PtlPTAlloc(m->ni, 0, m->eq, (ptl_pt_index_t)m->desc.pt_index + 1, &m->pt_shown);
  md.eq_handle = m->eq;
  m->piece_bytes = bad ? 0 : actual.max_msg_size;
  bad = bad || PtlMDBind(m->ni, &md, &m->md);
  for (i = 0; i < m->desc.overflow_count && !bad; i++)
    bad = pm__msg_overflow_block(m, m->overflow + m->desc.overflow_bytes * (size_t)i);
  return !bad;
}
PM_API pm_status pm_msg_open(const pm_msg_desc *desc, pm_msg **msg) {
  pm_process *p = pm_self();
  pm_status status = PM_OK;
  pm_msg *m;
  if (!msg) return PM_E_INVAL;
  *msg = NULL;
  if (!p || p->msg) return PM_E_STATE;
  m = (pm_msg *)pm__zalloc(sizeof *m);
  if (!m) return PM_E_NOMEM;
  if (desc) m->desc = *desc;
  m->proc = p;
  m->last_id_before = p->world->next_id;
  p->msg = m; /* from now on the world frees it, should it end during one of the calls below */
  p->msg_free = pm__msg_free;
  if (!pm__msg_defaults(m))
    status = PM_E_INVAL;
  else if (!(m->overflow =
                 (char *)PM_MALLOC(m->desc.overflow_bytes * (size_t)m->desc.overflow_count)))
    status = PM_E_NOMEM;
  else if (!pm__msg_open_portals(m))
    status = PM_E_PORTALS;
  else if (m->desc.by) {
    /* at a random moment of its period: workers of processes that begin together do not look
       together */
    m->t_look_ps = p->world->now_ps - (int64_t)(pm__ratio(p->world) * (double)m->d_step_ps);
    m->worker = pm_thread_create(pm__msg_worker_main, m, 0);
    if (!m->worker) status = PM_E_NOMEM;
  }
  if (status) { /* the interface first: its entries point into the overflow blocks */
    pm__msg_close_portals(m);
    p->msg = NULL;
    pm__msg_free(m);
    return status;
  }
  if (m->desc.observe) pm_on_stamp(p->world, pm__msg_stamp, p->world);
  *msg = m;
  pm_barrier();
  return PM_OK;
}
PM_API void pm_msg_close(pm_msg *msg) {
  if (!msg) return;
  msg->is_closing = 1;
  if (msg->worker) {
    pm__wake_waiters(msg->proc, msg, 0, 1);
    pm_thread_join(msg->worker);
  }
  pm__msg_close_portals(msg);
  msg->proc->msg = NULL;
  pm__msg_free(msg);
}
PM_API pm_msg_desc pm_msg_desc_of(const pm_msg *msg) {
  pm_msg_desc none;
  memset(&none, 0, sizeof none);
  return msg ? msg->desc : none;
}

PM_API void pm_msg_work_ns(pm_msg *msg, int64_t d_ns) {
  if (msg && d_ns > 0) msg->d_work_ps = pm__later(msg->d_work_ps, pm__ps(d_ns));
}
static void pm__msg_do_work(pm_msg *msg) {
  const int64_t d_ps = msg->d_work_ps;
  if (!d_ps) return;
  msg->d_work_ps = 0;
  msg->is_at_work = 1;
  pm__busy(d_ps, "work between messages");
  msg->is_at_work = 0;
  if (msg->worker) pm__wake_waiters(msg->proc, msg, 0, 1);
}
/* Beside a worker: what a callback said to be done is so only when its work is. Only the holder
   lets that work's time pass, so others wait until it has. */
static void pm__msg_see_work_done(pm_msg *msg) {
  while (msg->is_at_work || (msg->d_work_ps && msg->holder && msg->holder != pm__current))
    pm__wait_ptl(msg, msg->eq, 0, PM__FOREVER, "work of the worker:");
}

/* ---- one operation ------------------------------------------------------------------------------- */
/* An operation ends when nothing is left that Portals will still tell about it: only then nobody
   holds a pointer to it. wait_count counts what is left:
     send     eager: its acknowledgement; GET: that and the fetches, as one; PUT, PIPELINED: that,
              the answer, and each fragment's acknowledgement from when it is put
     receive  the answer's acknowledgement, and all data, as one; or each fetch
   A number comes again after 2^24 long messages; 0 is none. */
static void pm__msg_show(pm_msg *msg, pm_msg_op *op) {
  do op->number_id = ++msg->numbers & PM__MSG_NUMBER;
  while (!op->number_id);
  op->is_shown = 1;
  op->prev = NULL;
  op->next = msg->shown;
  if (op->next) op->next->prev = op;
  msg->shown = op;
}
static void pm__msg_settle(pm_msg *msg, pm_msg_op *op) {
  if (op->wait_count) return;
  if (op->is_shown) {
    if (op->prev)
      op->prev->next = op->next;
    else
      msg->shown = op->next;
    if (op->next) op->next->prev = op->prev;
  }
  if (op->status == PM_PENDING) op->status = PM_OK;
  op->finished = 1;
  if (op->done) op->done(op);
  if (msg->worker) pm__wake_waiters(msg->proc, msg, 0, 1);
}
static pm_status pm__msg_post_send(pm_msg *msg, pm_msg_op *op) {
  const uint64_t size = op->size_bytes;
  const bool is_long = size > msg->desc.eager_bytes;
  const pm_msg_large how = msg->desc.large;
  uint64_t hdr = size << 24, first = size;
  uint32_t i;
  op->stage = PM__MSG_MOVING;
  op->wait_count = 1;
  if (is_long) { /* what the receiver will do: fetch, or answer */
    ptl_me_t me;
    pm__msg_show(msg, op);
    op->wait_count = 2;
    first = 0;
    if (size > msg->piece_bytes) op->fragment_bytes = msg->piece_bytes;
    if (how == PM_MSG_PIPELINED) {
      op->fragment_bytes = msg->desc.fragment_bytes;
      first = size < op->fragment_bytes ? size : op->fragment_bytes;
      op->in_flight_count = 1;
      op->next_fragment = 1;
    }
    /* One fetch: the entry goes with it. Several: it stays until all have come (PTL_EVENT_GET),
       and the bits above the number, which fetch it is and of how many, do not count for
       matching. */
    if (how == PM_MSG_GET) {
      me = pm__msg_entry(op->buffer, (size_t)size, op->number_id,
                         PTL_ME_OP_GET | (op->fragment_bytes ? PTL_ME_EVENT_UNLINK_DISABLE
                                                             : (unsigned)PM__MSG_ONCE));
      me.ignore_bits = ~PM__MSG_NUMBER;
    } else
      me = pm__msg_entry(NULL, 0, op->number_id, PTL_ME_OP_PUT | PM__MSG_ONCE);
    if (how == PM_MSG_PIPELINED) pm__msg_tell_now(msg, op, PM_MSG_BEGAN, 0);
    if (how == PM_MSG_GET) /* whenever they come */
      for (i = 0; i < pm__msg_pieces(op); i++) pm__msg_tell_now(msg, op, PM_MSG_BEGAN, i);
    if (PtlMEAppend(msg->ni, msg->pt_shown, &me, PTL_PRIORITY_LIST, op, &op->handle))
      return PM_E_PORTALS;
    hdr |= PM__MSG_LONG | (uint64_t)how << 61 | op->number_id;
  } else
    pm__msg_tell_now(msg, op, PM_MSG_BEGAN, 0);
  op->rest_bytes = first; /* sent so far */
  return PtlPut(msg->md, (ptl_size_t)(uintptr_t)op->buffer, first, PTL_ACK_REQ,
                pm_process_id(op->peer), msg->pt, op->tag, 0, op, hdr)
             ? PM_E_PORTALS
             : PM_OK;
}
static pm_status pm__msg_post_recv(pm_msg *msg, pm_msg_op *op) {
  ptl_me_t me =
      pm__msg_entry(op->buffer, (size_t)op->limit_bytes, op->tag, PTL_ME_OP_PUT | PM__MSG_ONCE);
  op->stage = PM__MSG_WAITING;
  if (op->peer >= 0) me.match_id = pm_process_id(op->peer);
  return PtlMEAppend(msg->ni, msg->pt, &me, PTL_PRIORITY_LIST, op, &op->handle) ? PM_E_PORTALS
                                                                                : PM_OK;
}
/* Posts, or hands over to the worker: without a step in simulated time, so that callers which are in
   the middle of something are not interrupted. */
static pm_status pm__msg_start(pm_msg *msg, pm_msg_op *op, const void *buffer, uint64_t size_bytes,
                               int peer, uint64_t tag, bool is_send) {
  void (*done)(pm_msg_op *) = op->done;
  void *user = op->user;
  memset(op, 0, sizeof *op);
  op->done = done;
  op->user = user;
  op->status = PM_PENDING;
  op->peer = peer;
  op->size_bytes = is_send ? size_bytes : 0;
  op->buffer = (void *)(uintptr_t)buffer;
  op->limit_bytes = size_bytes;
  op->tag = tag;
  op->is_send = is_send;
  if (!msg->worker) {
    pm__msg_do_work(msg);
    return is_send ? pm__msg_post_send(msg, op) : pm__msg_post_recv(msg, op);
  }
  if (msg->queue)
    msg->queue_tail->next = op;
  else
    msg->queue = op;
  msg->queue_tail = op;
  pm__wake_waiters(msg->proc, msg, 0, 1);
  return PM_OK;
}
PM_API pm_status pm_msg_isend(pm_msg *msg, const void *buffer, uint64_t size_bytes, int peer,
                              uint64_t tag, pm_msg_op *op) {
  if (!msg || !op || peer < 0 || peer >= pm_size() || (!buffer && size_bytes) ||
      size_bytes > PM__MSG_SIZE)
    return PM_E_INVAL;
  return pm__msg_start(msg, op, buffer, size_bytes, peer, tag, 1);
}
PM_API pm_status pm_msg_irecv(pm_msg *msg, void *buffer, uint64_t size_bytes, int peer,
                              uint64_t tag, pm_msg_op *op) {
  if (!msg || !op || peer < PM_MSG_ANY_PEER || peer >= pm_size() || (!buffer && size_bytes))
    return PM_E_INVAL;
  return pm__msg_start(msg, op, buffer, size_bytes, peer, tag, 0);
}

/* ---- events -------------------------------------------------------------------------------------- */
/* The receiver answers an announcement: here is room for the rest. Room first, then the answer:
   data may come as soon as the sender knows. A message that came whole, or has no room, is
   answered all the same: the sender waits for it. */
static void pm__msg_answer(pm_msg *msg, pm_msg_op *op, const ptl_event_t *e, uint64_t first) {
  const uint64_t take = op->size_bytes;
  int bad = 0;
  op->rest_bytes = take > first ? take - first : 0; /* still to come */
  op->wait_count = 1;
  if (op->rest_bytes) {
    ptl_me_t me;
    uint32_t i;
    pm__msg_show(msg, op);
    me = pm__msg_entry((char *)op->buffer + first, (size_t)op->rest_bytes, op->number_id,
                       PTL_ME_OP_PUT | PTL_ME_EVENT_UNLINK_DISABLE);
    op->wait_count = 2;
    for (i = first ? 1 : 0; i < pm__msg_pieces(op); i++) pm__msg_tell_now(msg, op, PM_MSG_BEGAN, i);
    bad = PtlMEAppend(msg->ni, msg->pt_shown, &me, PTL_PRIORITY_LIST, op, &op->handle);
  }
  if (bad || PtlPut(msg->md, 0, 0, PTL_ACK_REQ, e->initiator, msg->pt_shown,
                    e->hdr_data & PM__MSG_NUMBER, 0, op, take << 24 | op->number_id)) {
    op->status = PM_E_PORTALS;
    op->wait_count = 0;
    pm__msg_settle(msg, op);
  }
}
static void pm__msg_fetch(pm_msg *msg, pm_msg_op *op, const ptl_event_t *e) {
  const uint32_t count = pm__msg_pieces(op);
  uint32_t i;
  op->wait_count = (int)count;
  for (i = 0; i < count; i++) pm__msg_tell_now(msg, op, PM_MSG_BEGAN, i);
  for (i = 0; i < count; i++) {
    const uint64_t at = i * op->fragment_bytes, left = op->size_bytes - at,
                   bytes = i + 1 < count ? op->fragment_bytes : left;
    if (PtlGet(msg->md, (ptl_size_t)(uintptr_t)op->buffer + at, bytes, e->initiator, msg->pt_shown,
               (uint64_t)count << 44 | (uint64_t)i << 24 | (e->hdr_data & PM__MSG_NUMBER), at,
               op)) {
      op->status = PM_E_PORTALS;
      op->wait_count -= (int)(count - i);
      pm__msg_settle(msg, op);
      return;
    }
  }
}
/* A message has met its receive: the data is there, in the overflow block, or still with its
   sender. hdr_data has the whole size: what came with a long message (rlength) is the first
   fragment or nothing. */
static void pm__msg_met(pm_msg *msg, pm_msg_op *op, const ptl_event_t *e) {
  const pm_process *from =
      pm__process_by_pid(msg->proc->world, e->initiator.phys.nid, e->initiator.phys.pid);
  const uint64_t size = e->hdr_data >> 24 & PM__MSG_SIZE, first = e->rlength,
                 take = size < op->limit_bytes ? size : op->limit_bytes,
                 here = first < take ? first : take;
  const bool is_long = (e->hdr_data & PM__MSG_LONG) != 0;
  op->peer = from ? from->rank : -1;
  op->size_bytes = take;
  op->stage = PM__MSG_MOVING;
  if (take < size) op->status = PM_E_TRUNCATED;
  if (e->type == PTL_EVENT_PUT_OVERFLOW && here) { /* the CPU copies what came too early */
    if (!msg->proc->world->desc.no_data) memcpy(op->buffer, e->start, (size_t)here);
    pm__busy(pm__bytes_ps((double)here, msg->proc->world->plat.intra_bytes_per_s),
             "copying an early message");
  }
  /* The sender's fragments are as long as the first one, which came with the announcement. */
  if (is_long) op->fragment_bytes = first ? first : size > msg->piece_bytes ? msg->piece_bytes : 0;
  if (!is_long || first) pm__msg_tell_now(msg, op, PM_MSG_CAME, 0);
  if (!is_long)
    pm__msg_settle(msg, op);
  else if ((e->hdr_data >> 61 & 3) != PM_MSG_GET)
    pm__msg_answer(msg, op, e, first);
  else
    pm__msg_fetch(msg, op, e);
}
/* The sender has its answer: as many fragments as may be under way at once. rest_bytes is how
   far it has come in the message; the receiver's entry begins behind the first fragment, hence
   at - first. A truncated message ends at limit_bytes, what the receiver takes. The first
   fragment counts as under way until its own acknowledgement, which may come after the answer. */
static void pm__msg_send_more(pm_msg *msg, pm_msg_op *op) {
  const bool is_pipelined = msg->desc.large == PM_MSG_PIPELINED;
  const uint64_t first = !is_pipelined                         ? 0
                         : op->fragment_bytes < op->size_bytes ? op->fragment_bytes
                                                               : op->size_bytes;
  if (!op->is_granted) return;
  while (op->rest_bytes < op->limit_bytes && op->status == PM_PENDING &&
         (!is_pipelined || op->in_flight_count < msg->desc.inflight_count)) {
    const uint64_t at = op->rest_bytes, left = op->limit_bytes - at,
                   bytes =
                       op->fragment_bytes && op->fragment_bytes < left ? op->fragment_bytes : left;
    const uint32_t index = op->next_fragment++;
    op->rest_bytes += bytes;
    op->in_flight_count++;
    op->wait_count++;
    pm__msg_tell_now(msg, op, PM_MSG_BEGAN, index);
    if (PtlPut(msg->md, (ptl_size_t)(uintptr_t)op->buffer + at, bytes, PTL_ACK_REQ, op->target_id,
               msg->pt_shown, op->peer_number_id, at - first, op, index)) {
      op->status = PM_E_PORTALS;
      op->wait_count--;
      /* Arguments are right here, so the host has no memory; nothing could tell the receiver. */
      pm_world_fail(msg->proc->world, PM_E_NOMEM, "out of memory: a fragment of a message");
      return;
    }
  }
}
/* On the second portal: an answer to a sender, data to a receiver. Fragments are counted by
   their bytes, not by their numbers: one entry takes them all, each at its own offset, in any
   order. */
static void pm__msg_shown_put(pm_msg *msg, pm_msg_op *op, const ptl_event_t *e) {
  if (op->is_send) {
    op->wait_count--;
    op->is_granted = 1;
    op->target_id = e->initiator;
    op->peer_number_id = e->hdr_data & PM__MSG_NUMBER;
    op->limit_bytes = e->hdr_data >> 24; /* what the receiver takes */
    pm__msg_send_more(msg, op);
  } else {
    op->rest_bytes -= e->mlength;
    pm__msg_tell_now(msg, op, PM_MSG_ENDED, (uint32_t)e->hdr_data);
    if (op->rest_bytes) return;
    PtlMEUnlink(op->handle);
    op->wait_count--;
  }
  pm__msg_settle(msg, op);
}
/* Acknowledgements of an operation come in the order of its puts, since Portals orders the
   messages of a pair: so the n-th is that of the n-th put, and needs no mark. An announcement
   without data is none of the transfers that observers hear of. */
static void pm__msg_acked(pm_msg *msg, pm_msg_op *op, int failed) {
  op->wait_count--;
  if (failed) op->status = PM_E_PORTALS;
  if (!op->is_send) { /* of the answer: without it no data comes */
    if (failed && op->wait_count) PtlMEUnlink(op->handle), op->wait_count = 0;
  } else {
    const bool is_long = op->is_shown, in_pieces = msg->desc.large == PM_MSG_PIPELINED,
               is_get = is_long && msg->desc.large == PM_MSG_GET;
    const uint32_t number = op->ack_count++, announced = is_long && !in_pieces ? 1 : 0;
    if (number >= announced) {
      op->in_flight_count--;
      pm__msg_tell_now(msg, op, PM_MSG_ENDED, number - announced);
    }
    if (failed && is_long && number == 0 &&
        !op->is_granted) { /* the announcement was refused: nobody will answer */
      PtlMEUnlink(op->handle);
      op->wait_count--;
      if (is_get) pm__msg_tell_now(msg, op, PM_MSG_ENDED, 0);
    }
    if (!is_get) pm__msg_send_more(msg, op);
  }
  pm__msg_settle(msg, op);
}
static void pm__msg_event(pm_msg *msg, const ptl_event_t *e) {
  pm_msg_op *op = (pm_msg_op *)e->user_ptr;
  switch (e->type) {
  case PTL_EVENT_PUT: /* into a posted receive: overflow entries tell nothing */
  case PTL_EVENT_PUT_OVERFLOW:
    if (e->pt_index == msg->pt)
      pm__msg_met(msg, op, e);
    else
      pm__msg_shown_put(msg, op, e);
    break;
  case PTL_EVENT_REPLY: /* of our fetch */
    op->wait_count--;
    if (e->ni_fail_type) op->status = PM_E_PORTALS;
    pm__msg_tell_now(msg, op, PM_MSG_ENDED,
                     op->fragment_bytes ? (uint32_t)(e->remote_offset / op->fragment_bytes) : 0);
    pm__msg_settle(msg, op);
    break;
  case PTL_EVENT_GET: /* our shown buffer has been fetched, or a piece of it */
    op->is_granted = 1;
    pm__msg_tell_now(msg, op, PM_MSG_ENDED, PM__MSG_INDEX(e->match_bits));
    if (++op->next_fragment < PM__MSG_COUNT(e->match_bits)) break;
    if (op->fragment_bytes) PtlMEUnlink(op->handle);
    op->wait_count--;
    pm__msg_settle(msg, op);
    break;
  case PTL_EVENT_ACK: pm__msg_acked(msg, op, e->ni_fail_type); break;
  /* user_ptr of an overflow block is its beginning, not an operation */
  case PTL_EVENT_AUTO_FREE: pm__msg_overflow_block(msg, (char *)e->user_ptr); break;
  default: break; /* SEND, AUTO_UNLINK of overflow blocks */
  }
  pm__msg_do_work(msg);
}

/* ---- progress ------------------------------------------------------------------------------------ */
static bool pm__msg_has_work(pm_msg *msg) {
  return msg->queue || pm__eq_at(msg->proc->ni[1], msg->eq)->used;
}
/* With a worker: handles and posts all there is, unless another thread is at it (`holder`).
   Simulated threads change at each call that takes time: two that took events in turn would
   handle them in another order than they came. */
static void pm__msg_drain(pm_msg *msg) {
  ptl_event_t e;
  if (msg->holder) return;
  msg->holder = pm__current;
  while (pm__msg_has_work(msg)) {
    pm_msg_op *op = msg->queue;
    pm__msg_do_work(msg); /* a callback's work comes before what that callback posted */
    if (op) {
      msg->queue = op->next;
      op->next = NULL;
      if (op->is_send ? pm__msg_post_send(msg, op) : pm__msg_post_recv(msg, op)) {
        op->status = PM_E_PORTALS;
        op->wait_count = 0;
        pm__msg_settle(msg, op);
      }
    } else {
      const int code = PtlEQGet(msg->eq, &e);
      if (code == PTL_OK || code == PTL_EQ_DROPPED) pm__msg_event(msg, &e);
    }
  }
  msg->holder = NULL;
}
/* What the worker took from the computation since the last account: all the time while it works,
   one look per step while it only looks. Looks that find nothing are no events of the
   simulation, but counted: those at t_look_ps + k * d_step_ps between the mark and now, a
   difference of two rounded-down quotients, so that no look counts twice wherever the marks lie. */
static void pm__msg_account(pm_msg *msg) {
  const int64_t now_ps = msg->proc->world->now_ps, from_ps = msg->t_mark_ps - msg->t_look_ps,
                to_ps = now_ps - msg->t_look_ps;
  if (msg->is_computing && msg->desc.by == PM_MSG_TIMER)
    msg->d_stolen_ps += msg->is_working
                            ? now_ps - msg->t_mark_ps
                            : (to_ps / msg->d_step_ps - from_ps / msg->d_step_ps) * msg->d_look_ps;
  msg->t_mark_ps = now_ps;
}
/* The worker looks once per step; between two looks that find nothing the simulation skips. */
static void pm__msg_worker_main(void *arg) {
  pm_msg *msg = (pm_msg *)arg;
  pm_world *w = msg->proc->world;
  while (!msg->is_closing) {
    if (!pm__msg_has_work(msg) || msg->holder) {
      pm__wait_ptl(NULL, msg->eq, 0, PM__FOREVER, "a worker:");
      continue;
    }
    /* Until the next of those looks: the remainder is 0 or negative, as t_look_ps is past. */
    pm__busy((msg->t_look_ps - w->now_ps) % msg->d_step_ps + msg->d_step_ps,
             "a worker's next look");
    if (!pm__msg_has_work(msg) || msg->holder) continue;
    pm__busy(msg->d_look_ps, "a worker's look");
    pm__msg_account(msg); /* this look too */
    msg->is_working = 1;
    pm__msg_drain(msg);
    pm__msg_account(msg);
    msg->is_working = 0;
    msg->t_look_ps = w->now_ps;
  }
}
PM_API void pm_msg_compute_ns(pm_msg *msg, int64_t d_ns) {
  if (!msg || d_ns <= 0) return;
  if (msg->desc.by == PM_MSG_DEDICATED)
    d_ns = (int64_t)((double)d_ns * msg->core_count / (msg->core_count - 1) + 0.5);
  pm__msg_account(msg);
  msg->is_computing = 1;
  /* What was stolen is computed afterwards, and stolen from again. While the worker only looks,
     each turn is shorter, as a look takes less than a step. Rounded up, or a rest below 1 ns
     would be lost. */
  while (d_ns > 0) {
    pm_compute_ns(d_ns);
    pm__msg_account(msg);
    d_ns = (msg->d_stolen_ps + PM__PS - 1) / PM__PS;
    msg->d_stolen_ps = 0;
  }
  msg->is_computing = 0;
}
PM_API void pm_msg_progress(pm_msg *msg) {
  ptl_event_t e;
  int code;
  if (!msg) return;
  if (msg->worker) {
    if (msg->desc.by == PM_MSG_TIMER && !msg->holder && pm__msg_has_work(msg))
      pm__msg_drain(msg);
    else
      pm__poll_pause();
    pm__msg_see_work_done(msg);
    return;
  }
  code = PtlEQGet(msg->eq, &e);
  while (code == PTL_OK || code == PTL_EQ_DROPPED) {
    pm__eq *eq = pm__eq_at(msg->proc->ni[1], msg->eq);
    pm__msg_event(msg, &e);
    if (!eq->used) return; /* no look in vain after a good one */
    code = PtlEQGet(msg->eq, &e);
  }
}
/* A dedicated worker does all, and wakes whoever waits for this layer. A timer's worker comes
   late, so the caller handles events too and waits for anything of its process. */
static void pm__msg_wait_beside_worker(pm_msg *msg, const pm_msg_op *op) {
  int once = !op;
  while (op ? !op->finished : once) {
    once = 0;
    if (msg->desc.by == PM_MSG_TIMER && !msg->holder && pm__msg_has_work(msg))
      pm__msg_drain(msg);
    else
      pm__wait_ptl(msg->desc.by == PM_MSG_TIMER ? NULL : msg, msg->eq, 0, PM__FOREVER,
                   "a message:");
  }
  pm__msg_see_work_done(msg);
  pm__cpu(msg->proc->world->plat.cpu_poll_ns); /* the look that sees it */
}
PM_API pm_status pm_msg_wait(pm_msg *msg, pm_msg_op *op) {
  ptl_event_t e;
  int once;
  if (!msg) return PM_E_INVAL;
  once = !op && !msg->worker;
  if (msg->worker && !(op && op->finished)) pm__msg_wait_beside_worker(msg, op);
  while (op ? !op->finished : once) {
    const int code = PtlEQWait(msg->eq, &e);
    if (code != PTL_OK && code != PTL_EQ_DROPPED) return PM_E_PORTALS;
    once = 0;
    pm__msg_event(msg, &e);
  }
  return op ? op->status : PM_OK;
}
PM_API pm_status pm_msg_cancel(pm_msg *msg, pm_msg_op *op) {
  pm_msg_op *before = NULL, *q;
  if (!msg || !op) return PM_E_INVAL;
  if (op->finished || op->is_send || op->stage == PM__MSG_MOVING) return PM_E_STATE;
  for (q = op->stage == PM__MSG_QUEUED ? msg->queue : NULL; q && q != op; q = q->next) before = q;
  if (q) { /* still with us */
    if (before)
      before->next = op->next;
    else
      msg->queue = op->next;
    if (msg->queue_tail == op) msg->queue_tail = before;
  } else if (op->stage == PM__MSG_QUEUED || PtlMEUnlink(op->handle)) /* gone: it was matched */
    return PM_E_STATE;
  op->finished = 1;
  return PM_OK;
}
