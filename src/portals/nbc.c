#include "nbc.h"
/* ============================================================================================== */
/* [NBC] 12. Adapter to nbc_overlap.h: the model as a transport and as a witness NIC              */
/* ============================================================================================== */
#if defined(PM_WITH_NBC) && defined(PORTALS_MODEL_IMPLEMENTATION) &&                               \
    !defined(PM_WITH_NBC_IMPLEMENTATION_ONCE)
#  define PM_WITH_NBC_IMPLEMENTATION_ONCE
#  ifdef __cplusplus
extern "C" {
#  endif
typedef struct pm__nbc_op { /* what stands behind one nbc_op */
  pm_msg_op op;             /* first */
  nbc_op *nbc;
  uint64_t xfer_id; /* 0: none */
  struct pm__nbc_op *next, *next_made;
} pm__nbc_op;
struct pm_nbc {
  nbc_transport t;
  nbc_nic nic;
  pm_msg *msg;
  pm_process *proc;
  pm__nbc_op *free_ops, *made_ops; /* made: all, as those under way go with the endpoint */
  uint64_t xfers, lost;
  nbc_nic_stamp *stamps; /* ring */
  size_t stamps_max, first, used;
};

static int64_t pm__nbc_now_ns(void *ctx) {
  (void)ctx;
  return pm_now_ns();
}
static nbc_peer pm__nbc_peer_class(void *ctx, int peer) {
  const pm_nbc *n = (const pm_nbc *)ctx;
  const pm_process *p = pm_process_at(n->proc->world, peer);
  return !p                         ? NBC_PEER_UNKNOWN
         : p->node == n->proc->node ? NBC_PEER_SAME_NODE
                                    : NBC_PEER_OTHER_NODE;
}
static bool pm__nbc_same_clock(void *ctx, int peer) {
  (void)ctx;
  (void)peer;
  return true;
}
static nbc_status pm__nbc_status(pm_status status) {
  return status == PM_OK            ? NBC_OK
         : status == PM_E_TRUNCATED ? NBC_E_TRUNCATED
         : status == PM_E_INVAL     ? NBC_E_INVAL
                                    : NBC_E_TRANSPORT;
}
/* The transfers of an operation have consecutive ids. */
static void pm__nbc_observe(void *user, const pm_msg_transfer *x) {
  pm_nbc *n = (pm_nbc *)user;
  pm__nbc_op *o = (pm__nbc_op *)x->op;
  nbc_recorder *r = n->t.recorder;
  const nbc_kind kind = x->op->is_send ? NBC_KIND_ISEND : NBC_KIND_IRECV;
  const nbc_peer peer = pm__nbc_peer_class(n, x->op->peer);
  if (x->step == PM_MSG_ON_WIRE && o->xfer_id) {
    nbc_nic_stamp *s = &n->stamps[(n->first + n->used) % n->stamps_max];
    if (n->used == n->stamps_max) {
      n->lost++;
      return;
    }
    n->used++;
    memset(s, 0, sizeof *s);
    s->xfer_id = o->xfer_id + x->index;
    s->begin_ticks = (uint64_t)x->t_begin_ns;
    s->end_ticks = (uint64_t)x->t_end_ns;
    s->size_bytes = x->size_bytes;
    s->peer = x->op->peer;
    s->flags = x->op->is_send ? NBC_NIC_SENT : NBC_NIC_RECEIVED;
  }
  if (!r) return;
  if (x->step == PM_MSG_BEGAN) {
    if (!o->xfer_id) {
      o->xfer_id = n->xfers + 1;
      n->xfers += x->count;
    }
    nbc_xfer_begin_at(r, o->xfer_id + x->index, x->size_bytes, kind, peer, x->t_begin_ns);
  }
  if (x->step == PM_MSG_ENDED) nbc_xfer_end_at(r, o->xfer_id + x->index, x->t_end_ns);
  if (x->step == PM_MSG_CAME) nbc_xfer_end_only_at(r, x->size_bytes, kind, peer, x->t_end_ns);
}
static void pm__nbc_done(pm_msg_op *op) {
  pm__nbc_op *o = (pm__nbc_op *)op;
  pm_nbc *n = (pm_nbc *)op->user;
  nbc_op *nbc = o->nbc;
  nbc_done_fn done = nbc->done;
  nbc->status = pm__nbc_status(op->status);
  nbc->peer = op->peer;
  nbc->size_bytes = op->size_bytes;
  o->next = n->free_ops;
  n->free_ops = o;
  nbc->finished = true;
  if (done) done(nbc);
}
static pm__nbc_op *pm__nbc_op_new(pm_nbc *n, nbc_op *nbc, int peer) {
  pm__nbc_op *o = n->free_ops;
  if (o)
    n->free_ops = o->next;
  else {
    o = (pm__nbc_op *)PM_MALLOC(sizeof *o);
    if (!o) return NULL;
    o->next_made = n->made_ops;
    n->made_ops = o;
  }
  memset(&o->op, 0, sizeof o->op);
  o->xfer_id = 0;
  o->op.done = pm__nbc_done;
  o->op.user = n;
  o->nbc = nbc;
  nbc->finished = false;
  nbc->status = NBC_PENDING;
  nbc->peer = peer;
  nbc->size_bytes = 0;
  nbc->slot.remote_op = o;
  return o;
}
static nbc_status pm__nbc_posted(pm_nbc *n, pm__nbc_op *o, pm_status status) {
  if (status == PM_OK) return NBC_OK;
  o->next = n->free_ops;
  n->free_ops = o;
  return pm__nbc_status(status);
}
static nbc_status pm__nbc_isend(void *ctx, const void *buffer, uint64_t size_bytes, int peer,
                                uint64_t tag, nbc_op *op) {
  pm_nbc *n = (pm_nbc *)ctx;
  pm__nbc_op *o = pm__nbc_op_new(n, op, peer);
  return o ? pm__nbc_posted(n, o, pm_msg_isend(n->msg, buffer, size_bytes, peer, tag, &o->op))
           : NBC_E_NOMEM;
}
static nbc_status pm__nbc_irecv(void *ctx, void *buffer, uint64_t size_bytes, int peer,
                                uint64_t tag, nbc_op *op) {
  pm_nbc *n = (pm_nbc *)ctx;
  pm__nbc_op *o = pm__nbc_op_new(n, op, peer);
  return o ? pm__nbc_posted(n, o, pm_msg_irecv(n->msg, buffer, size_bytes, peer, tag, &o->op))
           : NBC_E_NOMEM;
}
static nbc_status pm__nbc_progress(void *ctx) {
  pm_msg_progress(((pm_nbc *)ctx)->msg);
  return NBC_OK;
}
static nbc_status pm__nbc_cancel(void *ctx, nbc_op *op) {
  pm_nbc *n = (pm_nbc *)ctx;
  pm__nbc_op *o = (pm__nbc_op *)op->slot.remote_op;
  if (op->finished || pm_msg_cancel(n->msg, &o->op) != PM_OK) return NBC_E_STATE;
  o->op.status = PM_OK;
  pm__nbc_done(&o->op);
  op->status = NBC_E_CANCELLED;
  return NBC_OK;
}
/* As fast as memory copies within a node. */
static bool pm__nbc_local(void *ctx, uint64_t size_bytes, bool reduces) {
  const pm_nbc *n = (const pm_nbc *)ctx;
  const pm_world *w = n->proc->world;
  (void)reduces;
  pm_msg_work_ns(n->msg, pm__bytes_ps((double)size_bytes, w->plat.intra_bytes_per_s) / PM__PS);
  return !w->desc.no_data;
}
static nbc_status pm__nbc_read_clock(void *ctx, int64_t *t_before_ns, uint64_t *ticks,
                                     int64_t *t_after_ns) {
  (void)ctx;
  *t_before_ns = *t_after_ns = pm_now_ns();
  *ticks = (uint64_t)*t_before_ns;
  return NBC_OK;
}
static nbc_status pm__nbc_next_stamp(void *ctx, nbc_nic_stamp *stamp) {
  pm_nbc *n = (pm_nbc *)ctx;
  if (!n->used || n->stamps[n->first].end_ticks > (uint64_t)pm_now_ns()) return NBC_PENDING;
  *stamp = n->stamps[n->first];
  n->first = (n->first + 1) % n->stamps_max;
  n->used--;
  return NBC_OK;
}
static uint64_t pm__nbc_lost_count(void *ctx) { return ((pm_nbc *)ctx)->lost; }

PM_API nbc_status pm_nbc_create(const pm_nbc_desc *desc, pm_nbc **endpoint) {
  pm_nbc *n;
  pm_msg_desc msg;
  pm_status status;
  if (!endpoint) return NBC_E_INVAL;
  n = (pm_nbc *)pm__zalloc(sizeof *n);
  *endpoint = NULL;
  if (!n) return NBC_E_NOMEM;
  memset(&msg, 0, sizeof msg);
  if (desc) msg = desc->msg;
  msg.observe = pm__nbc_observe;
  msg.user = n;
  n->proc = pm_self();
  n->stamps_max = desc && desc->stamp_count ? desc->stamp_count : 4096;
  n->stamps = (nbc_nic_stamp *)pm__zalloc(n->stamps_max * sizeof *n->stamps);
  status = n->stamps ? pm_msg_open(&msg, &n->msg) : PM_E_NOMEM;
  if (status) {
    PM_FREE(n->stamps);
    PM_FREE(n);
    return status == PM_E_NOMEM ? NBC_E_NOMEM : status == PM_E_INVAL ? NBC_E_INVAL : NBC_E_STATE;
  }
  n->t.name = "portals_model";
  n->t.help = "simulated processes: messages over Portals 4 on a modelled NIC and network";
  n->t.ctx = n;
  n->t.rank = pm_rank();
  n->t.size = pm_size();
  n->t.any_peer = true;
  n->t.now_ns = pm__nbc_now_ns;
  n->t.isend = pm__nbc_isend;
  n->t.irecv = pm__nbc_irecv;
  n->t.progress = pm__nbc_progress;
  n->t.cancel = pm__nbc_cancel;
  n->t.peer_class = pm__nbc_peer_class;
  n->t.same_clock = pm__nbc_same_clock;
  n->t.local = pm__nbc_local;
  n->nic.ctx = n;
  n->nic.name = "portals_model";
  n->nic.nominal_hz = 1e9;
  n->nic.read_clock = pm__nbc_read_clock;
  n->nic.next_stamp = pm__nbc_next_stamp;
  n->nic.lost_count = pm__nbc_lost_count;
  *endpoint = n;
  return NBC_OK;
}
PM_API void pm_nbc_destroy(pm_nbc *endpoint) {
  if (!endpoint) return;
  pm_msg_close(endpoint->msg);
  while (endpoint->made_ops) {
    pm__nbc_op *o = endpoint->made_ops;
    endpoint->made_ops = o->next_made;
    PM_FREE(o);
  }
  PM_FREE(endpoint->stamps);
  PM_FREE(endpoint);
}
PM_API nbc_transport *pm_nbc_transport(pm_nbc *endpoint) { return endpoint ? &endpoint->t : NULL; }
PM_API pm_msg *pm_nbc_msg(pm_nbc *endpoint) { return endpoint ? endpoint->msg : NULL; }
PM_API const nbc_nic *pm_nbc_nic(pm_nbc *endpoint) { return endpoint ? &endpoint->nic : NULL; }
PM_API nbc_status pm_nbc_clock(nbc_clock *clock) {
  nbc_clock_desc desc;
  if (!clock) return NBC_E_INVAL;
  memset(&desc, 0, sizeof desc);
  desc.source = NBC_CLOCK_USER;
  desc.now_ns = pm__nbc_now_ns;
  return nbc_clock_create(&desc, clock);
}
PM_API nbc_relation_desc pm_nbc_relation(void) {
  nbc_relation_desc d;
  memset(&d, 0, sizeof d);
  d.hz = 1e9;
  d.rate_limit_ppm = 1e-6; /* has to be positive */
  return d;
}
#  ifdef __cplusplus
}
#  endif
#endif /* PM_WITH_NBC_IMPLEMENTATION_ONCE */
