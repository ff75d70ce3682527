/* scripted.c: null and scripted transports. */
#include "scripted.h"
#include "../overlap/clock.h"
#include "../overlap/cells.h"

typedef struct nbc__null {
  nbc__transport_own own;
  nbc_clock clock;
  nbc__transport_fifo posted;
} nbc__null;

static void nbc__null_destroy(void *self) { NBC_FREE(self); }

static int64_t nbc__null_now(void *ctx) { return nbc_clock_now_ns(&((nbc__null *)ctx)->clock); }

static nbc_status nbc__null_post(void *ctx, uint64_t size_bytes, int peer, nbc_op *op) {
  nbc__transport_prepare(op, peer);
  op->size_bytes = size_bytes;
  op->status = NBC_OK;
  nbc__transport_push(&((nbc__null *)ctx)->posted, op);
  return NBC_OK;
}

static nbc_status nbc__null_isend(void *ctx, const void *buffer, uint64_t size_bytes, int peer,
                                  uint64_t tag, nbc_op *op) {
  (void)buffer, (void)tag;
  return nbc__null_post(ctx, size_bytes, peer, op);
}

static nbc_status nbc__null_irecv(void *ctx, void *buffer, uint64_t size_bytes, int peer,
                                  uint64_t tag, nbc_op *op) {
  (void)buffer, (void)tag;
  return nbc__null_post(ctx, size_bytes, peer, op);
}

static nbc_status nbc__null_progress(void *ctx) {
  nbc__null *n = (nbc__null *)ctx;
  nbc__transport_fifo due = n->posted; /* what completions post is due next time */
  nbc_op *op;
  n->posted.first = n->posted.last = NULL;
  while ((op = nbc__transport_pop(&due))) nbc__transport_finish(op);
  return NBC_OK;
}

NBC_API nbc_status nbc_null_create(int rank, int size, nbc_transport **t) {
  nbc__null *n;
  nbc_status status;
  if (!t) return NBC_E_INVAL;
  *t = NULL;
  if (size < 1 || rank < 0 || rank >= size) return NBC_E_INVAL;
  if (!(n = (nbc__null *)NBC_MALLOC(sizeof *n))) return NBC_E_NOMEM;
  memset(n, 0, sizeof *n);
  if ((status = nbc_clock_create(NULL, &n->clock))) {
    NBC_FREE(n);
    return status;
  }
  n->own.destroy = nbc__null_destroy;
  n->own.t.name = "null";
  n->own.t.help = "completes everything, moves nothing";
  n->own.t.ctx = n;
  n->own.t.rank = rank;
  n->own.t.size = size;
  n->own.t.now_ns = nbc__null_now;
  n->own.t.isend = nbc__null_isend;
  n->own.t.irecv = nbc__null_irecv;
  n->own.t.progress = nbc__null_progress;
  *t = &n->own.t;
  return NBC_OK;
}

/* Every operation is wrapped: the inner transport sees `inner`, the user keeps `outer`. Wrappers
   are allocated when posting: this transport is for tests. */
typedef struct nbc__scripted_op {
  nbc_op inner;
  nbc_op *outer;
  struct nbc__scripted_op *next;
  const nbc_script_step *step; /* NULL = undisturbed */
  uint64_t left_count, arrival_index;
} nbc__scripted_op;

typedef struct nbc__scripted {
  nbc__transport_own own;
  const nbc_transport *inner;
  nbc_script_step *steps; /* behind the struct */
  size_t step_count;
  uint64_t post_count, arrival_count, overtaken_count; /* the latest arrival delivered, and one */
  nbc__scripted_op *flying;                            /* at the inner transport, any order */
  nbc__scripted_op *arrived, *arrived_last;            /* completed there, in that order */
  nbc__scripted_op *spare, *dropped;
} nbc__scripted;

static void nbc__scripted_free(nbc__scripted_op *list) {
  while (list) {
    nbc__scripted_op *next = list->next;
    NBC_FREE(list);
    list = next;
  }
}

static void nbc__scripted_destroy(void *self) {
  nbc__scripted *s = (nbc__scripted *)self;
  nbc__scripted_free(s->flying);
  nbc__scripted_free(s->arrived);
  nbc__scripted_free(s->spare);
  nbc__scripted_free(s->dropped);
  NBC_FREE(s);
}

static int64_t nbc__scripted_now(void *ctx) {
  const nbc_transport *inner = ((nbc__scripted *)ctx)->inner;
  return inner->now_ns(inner->ctx);
}

static nbc_peer nbc__scripted_peer_class(void *ctx, int peer) {
  const nbc_transport *inner = ((nbc__scripted *)ctx)->inner;
  return inner->peer_class(inner->ctx, peer);
}

static bool nbc__scripted_same_clock(void *ctx, int peer) {
  const nbc_transport *inner = ((nbc__scripted *)ctx)->inner;
  return inner->same_clock(inner->ctx, peer);
}

/* Called from the inner progress: only notes it, the script decides when the user hears of it. */
static void nbc__scripted_arrived(nbc_op *inner_op) {
  nbc__scripted_op *w = (nbc__scripted_op *)(void *)inner_op; /* its first member */
  nbc__scripted *s = (nbc__scripted *)inner_op->user;
  nbc__scripted_op **at = &s->flying;
  while (*at != w) at = &(*at)->next;
  *at = w->next;
  w->next = NULL;
  w->arrival_index = s->arrival_count++;
  if (s->arrived)
    s->arrived_last->next = w;
  else
    s->arrived = w;
  s->arrived_last = w;
}

static nbc_status nbc__scripted_post(nbc__scripted *s, nbc_op *op, bool receive, void *buffer,
                                     uint64_t size_bytes, int peer, uint64_t tag) {
  uint64_t index = s->post_count++;
  const nbc_transport *inner = s->inner;
  const nbc_script_step *step = NULL;
  nbc__scripted_op *w = s->spare;
  nbc_status status;
  size_t i;
  for (i = 0; i < s->step_count && !step; i++)
    if (s->steps[i].post_index == index) step = &s->steps[i];
  if (step && step->action == NBC_SCRIPT_FAIL_POST) return step->status;
  if (w)
    s->spare = w->next;
  else if (!(w = (nbc__scripted_op *)NBC_MALLOC(sizeof *w)))
    return NBC_E_NOMEM;
  memset(w, 0, sizeof *w);
  w->inner.done = nbc__scripted_arrived;
  w->inner.user = s;
  w->outer = op;
  w->step = step;
  w->left_count = step && step->action == NBC_SCRIPT_DELAY ? step->value : 0;
  w->next = s->flying;
  s->flying = w;
  nbc__transport_prepare(op, peer);
  op->slot.remote_op = w;
  status = receive ? inner->irecv(inner->ctx, buffer, size_bytes, peer, tag, &w->inner)
                   : inner->isend(inner->ctx, buffer, size_bytes, peer, tag, &w->inner);
  if (!status) return NBC_OK;
  s->flying = w->next;
  w->next = s->spare;
  s->spare = w;
  return status;
}

static nbc_status nbc__scripted_isend(void *ctx, const void *buffer, uint64_t size_bytes, int peer,
                                      uint64_t tag, nbc_op *op) {
  return nbc__scripted_post((nbc__scripted *)ctx, op, false, (void *)(uintptr_t)buffer, size_bytes,
                            peer, tag);
}

static nbc_status nbc__scripted_irecv(void *ctx, void *buffer, uint64_t size_bytes, int peer,
                                      uint64_t tag, nbc_op *op) {
  return nbc__scripted_post((nbc__scripted *)ctx, op, true, buffer, size_bytes, peer, tag);
}

static bool nbc__scripted_due(const nbc__scripted *s, const nbc__scripted_op *w) {
  if (!w->step) return true;
  if (w->step->action == NBC_SCRIPT_DELAY) return w->left_count == 0;
  if (w->step->action == NBC_SCRIPT_REORDER) /* or nothing is left that could overtake it */
    return s->overtaken_count > w->arrival_index || (!s->flying && !w->next);
  return true;
}

/* Delivers the first arrival that is due; false when none is. */
static bool nbc__scripted_deliver(nbc__scripted *s) {
  nbc__scripted_op *before = NULL, *w = s->arrived;
  nbc_op *outer;
  while (w && !nbc__scripted_due(s, w)) before = w, w = w->next;
  if (!w) return false;
  if (before)
    before->next = w->next;
  else
    s->arrived = w->next;
  if (s->arrived_last == w) s->arrived_last = before;
  if (w->step && w->step->action == NBC_SCRIPT_DROP) {
    w->next = s->dropped;
    s->dropped = w;
    return true;
  }
  outer = w->outer;
  outer->peer = w->inner.peer;
  outer->size_bytes = w->inner.size_bytes;
  outer->status =
      w->step && w->step->action == NBC_SCRIPT_FAIL_DONE ? w->step->status : w->inner.status;
  w->next = s->spare;
  s->spare = w;
  if (s->overtaken_count <= w->arrival_index) s->overtaken_count = w->arrival_index + 1;
  nbc__transport_finish(outer);
  return true;
}

static nbc_status nbc__scripted_progress(void *ctx) {
  nbc__scripted *s = (nbc__scripted *)ctx;
  nbc_status status = s->inner->progress(s->inner->ctx);
  nbc__scripted_op *w;
  while (nbc__scripted_deliver(s)) {
  }
  for (w = s->arrived; w; w = w->next) w->left_count -= w->left_count > 0;
  return status;
}

static nbc_status nbc__scripted_cancel(void *ctx, nbc_op *op) {
  nbc__scripted *s = (nbc__scripted *)ctx;
  nbc__scripted_op *w;
  for (w = s->flying; w && w->outer != op; w = w->next) {
  }
  return w ? s->inner->cancel(s->inner->ctx, &w->inner) : NBC_E_STATE;
}

NBC_API nbc_status nbc_scripted_create(const nbc_transport *inner, const nbc_script_step *steps,
                                       size_t step_count, nbc_transport **t) {
  nbc__scripted *s;
  if (!t) return NBC_E_INVAL;
  *t = NULL;
  if (!inner || (step_count > 0 && !steps)) return NBC_E_INVAL;
  if (step_count > (SIZE_MAX - sizeof *s) / sizeof *steps) return NBC_E_NOMEM;
  if (!(s = (nbc__scripted *)NBC_MALLOC(sizeof *s + step_count * sizeof *steps)))
    return NBC_E_NOMEM;
  memset(s, 0, sizeof *s);
  s->steps = (nbc_script_step *)(void *)(s + 1);
  s->step_count = step_count;
  if (step_count > 0) memcpy(s->steps, steps, step_count * sizeof *steps);
  s->inner = inner;
  s->own.destroy = nbc__scripted_destroy;
  s->own.t = *inner;
  s->own.t.name = "scripted";
  s->own.t.help = "another transport, disturbed as told";
  s->own.t.ctx = s;
  s->own.t.any_thread = false;
  s->own.t.main_thread_only = inner->main_thread_only;
  s->own.t.now_ns = nbc__scripted_now;
  s->own.t.isend = nbc__scripted_isend;
  s->own.t.irecv = nbc__scripted_irecv;
  s->own.t.progress = nbc__scripted_progress;
  s->own.t.cancel = inner->cancel ? nbc__scripted_cancel : NULL;
  s->own.t.peer_class = inner->peer_class ? nbc__scripted_peer_class : NULL;
  s->own.t.same_clock = inner->same_clock ? nbc__scripted_same_clock : NULL;
  s->own.t.recorder = NULL;
  *t = &s->own.t;
  return NBC_OK;
}
