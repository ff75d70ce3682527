/* simnet.h: ranks, clocks and a network whose truth is known. Every rank is a coroutine with its own
   true time; it runs until it waits for a message that does not exist yet. Messages are matched by
   sender and tag only, so the result does not depend on who runs first. A rank that waits for a
   message that never comes sees its own time pass until it gives up. */
#ifndef SIMNET_H_INCLUDED
#define SIMNET_H_INCLUDED
#include <setjmp.h>
#include <ucontext.h>

#ifndef SIMNET_STACK
#define SIMNET_STACK 64 /* KiB */
#endif
enum { SIMNET_STACK_BYTES = SIMNET_STACK << 10 };

typedef struct simnet_clock { /* local(t) = offset + t (1 + deviation) + a wave or a ramp */
  double offset_ns, deviation;
  double wave_ns, wave_per_ns, wave_phase;  /* wave * sin(per_ns t + phase) */
  double ramp, ramp_at_ns, ramp_width_ns;   /* deviation + ramp/2 (1 + tanh((t - at) / width)) */
  double step_ns, step_at_ns;               /* local clock jumps */
} simnet_clock;

typedef struct simnet_message {
  struct simnet_message *next;
  int from;
  uint64_t tag, bytes;
  double t_arrive_ns;
  unsigned char data[];
} simnet_message;

typedef struct simnet_rank {
  nbc_transport t;
  struct simnet *net;
  simnet_clock clock;
  double t_ns, idle_ns; /* true time; patience grows while nothing happens */
  simnet_message *inbox;
  nbc_op *posted; /* receives, newest first */
  nbc_op *finished;
  ucontext_t context; /* where it begins */
  jmp_buf here;       /* ... and waits */
  void *stack;
  enum { SIMNET_NEW, SIMNET_READY, SIMNET_BLOCKED, SIMNET_DONE } state;
  nbc_status status;
  bool queued;
} simnet_rank;

typedef struct simnet {
  int size, per_node; /* ranks per clock */
  double latency_ns, jitter_ns, tail_ns, asymmetry; /* there latency * (1 + asymmetry), back without */
  double disturb_ns; /* rank 0's messages are late by up to this, each by chance */
  double loss_ratio;
  bool reorder, mute_rank_set;
  int mute_rank; /* never sends */
  uint64_t random;
  simnet_rank *ranks;
  jmp_buf scheduler;
  void **free_stacks;
  int free_count, stack_count;
  int *ready; /* last in, first out: few coroutines live at a time */
  int ready_count;
  nbc_status (*fn)(nbc_transport *t, void *user);
  void *user;
  uint64_t message_count;
} simnet;

static double simnet_unit(simnet *net) {
  uint64_t z = (net->random += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return (double)((z ^ (z >> 31)) >> 11) / 9007199254740992.0;
}

static double simnet_local_ns(const simnet_clock *c, double t_ns) {
  double local_ns = c->offset_ns + t_ns * (1 + c->deviation);
  if (c->wave_ns != 0) local_ns += c->wave_ns * (sin(c->wave_per_ns * t_ns + c->wave_phase) - sin(c->wave_phase));
  if (c->ramp != 0) { /* the integral of the ramp */
    const double w = c->ramp_width_ns, x = (t_ns - c->ramp_at_ns) / w, x0 = -c->ramp_at_ns / w;
    const double lncosh = fabs(x) + log1p(exp(-2 * fabs(x))), lncosh0 = fabs(x0) + log1p(exp(-2 * fabs(x0)));
    local_ns += 0.5 * c->ramp * (t_ns + w * (lncosh - lncosh0));
  }
  if (c->step_at_ns > 0 && t_ns >= c->step_at_ns) local_ns += c->step_ns;
  return local_ns;
}

static simnet_rank *simnet_me(void *ctx) { return (simnet_rank *)ctx; }
static int simnet_node(const simnet *net, int rank) { return rank / (net->per_node > 0 ? net->per_node : 1); }
/* A rank's clock is its node's first rank's. */
static const simnet_clock *simnet_clock_of(const simnet_rank *r) {
  const int per_node = r->net->per_node > 0 ? r->net->per_node : 1;
  return &r->net->ranks[r->t.rank / per_node * per_node].clock;
}
static int64_t simnet_now(void *ctx) {
  simnet_rank *r = simnet_me(ctx);
  r->t_ns += 20; /* reading costs */
  return (int64_t)floor(simnet_local_ns(simnet_clock_of(r), r->t_ns));
}
static bool simnet_same_clock(void *ctx, int peer) {
  const simnet_rank *r = simnet_me(ctx);
  return simnet_node(r->net, r->t.rank) == simnet_node(r->net, peer);
}

static void simnet_ready(simnet *net, int rank) {
  simnet_rank *r = &net->ranks[rank];
  if (r->queued || r->state == SIMNET_READY || r->state == SIMNET_DONE) return;
  r->queued = true;
  net->ready[net->ready_count++] = rank;
}

static nbc_status simnet_isend(void *ctx, const void *buffer, uint64_t bytes, int peer, uint64_t tag, nbc_op *op) {
  simnet_rank *r = simnet_me(ctx), *to = &r->net->ranks[peer];
  simnet *net = r->net;
  nbc__transport_prepare(op, peer);
  r->t_ns += 50;
  op->status = NBC_OK;
  op->size_bytes = bytes;
  op->slot.next = r->finished;
  r->finished = op;
  net->message_count++;
  if ((net->mute_rank_set && net->mute_rank == r->t.rank) ||
      (simnet_node(net, peer) != simnet_node(net, r->t.rank) && simnet_unit(net) < net->loss_ratio))
    return NBC_OK; /* what stays in a node is not lost */
  simnet_message *m = (simnet_message *)malloc(sizeof *m + bytes), **at = &to->inbox;
  double d_ns = net->latency_ns;
  if (simnet_node(net, peer) == simnet_node(net, r->t.rank)) d_ns *= 0.3;
  if (peer > r->t.rank) d_ns *= 1 + net->asymmetry;
  d_ns += net->jitter_ns * simnet_unit(net);
  if (net->disturb_ns > 0 && r->t.rank == 0) d_ns += net->disturb_ns * simnet_unit(net);
  if (net->tail_ns > 0) d_ns += net->tail_ns * (1 / (1e-3 + simnet_unit(net)) - 1) * 0.01;
  m->next = NULL;
  m->from = r->t.rank;
  m->tag = tag;
  m->bytes = bytes;
  m->t_arrive_ns = r->t_ns + d_ns;
  memcpy(m->data, buffer, bytes);
  for (; *at; at = &(*at)->next) { /* posting order per sender, unless told otherwise */
    if ((*at)->from != m->from || (*at)->t_arrive_ns <= m->t_arrive_ns) continue;
    if (net->reorder) break;
    m->t_arrive_ns = (*at)->t_arrive_ns;
  }
  m->next = *at;
  *at = m;
  simnet_ready(net, peer);
  return NBC_OK;
}

static nbc_status simnet_irecv(void *ctx, void *buffer, uint64_t bytes, int peer, uint64_t tag, nbc_op *op) {
  simnet_rank *r = simnet_me(ctx);
  nbc__transport_prepare(op, peer);
  op->slot.buffer = buffer;
  op->slot.limit_bytes = bytes;
  op->slot.tag = tag;
  nbc_op **at = &r->posted; /* oldest first */
  while (*at) at = &(*at)->slot.next;
  *at = op;
  return NBC_OK;
}

static nbc_status simnet_cancel(void *ctx, nbc_op *op) {
  simnet_rank *r = simnet_me(ctx);
  for (nbc_op **at = &r->posted; *at; at = &(*at)->slot.next)
    if (*at == op) {
      *at = op->slot.next;
      op->status = NBC_E_CANCELLED;
      op->slot.next = r->finished;
      r->finished = op;
      return NBC_OK;
    }
  return NBC_E_STATE;
}

/* Completes one receive whose message exists; time goes on to its arrival, by small steps. */
static bool simnet_match(simnet_rank *r) {
  const simnet *net = r->net;
  for (nbc_op **at = &r->posted; *at; at = &(*at)->slot.next)
    for (simnet_message **m = &r->inbox; *m; m = &(*m)->next) {
      nbc_op *op = *at;
      simnet_message *found = *m;
      if (found->from != op->peer || found->tag != op->slot.tag) continue;
      if (found->t_arrive_ns > r->t_ns) {
        const double step_ns = net->loss_ratio > 0 ? 100000 : 1e18; /* small, where time limits matter */
        r->t_ns = fmin(found->t_arrive_ns, r->t_ns + step_ns);
        if (found->t_arrive_ns > r->t_ns) return true;
      }
      r->t_ns += 30;
      op->size_bytes = found->bytes < op->slot.limit_bytes ? found->bytes : op->slot.limit_bytes;
      memcpy(op->slot.buffer, found->data, op->size_bytes);
      op->status = found->bytes > op->slot.limit_bytes ? NBC_E_TRUNCATED : NBC_OK;
      *at = op->slot.next;
      *m = found->next;
      free(found);
      op->slot.next = r->finished;
      r->finished = op;
      return true;
    }
  return false;
}

/* swapcontext would ask the kernel for the signal mask each time. By its own name, as _FORTIFY_SOURCE has another
   _longjmp, which takes a jump to another stack for an error. */
__attribute__((noreturn)) void simnet_jump(jmp_buf to, int value) __asm__("_longjmp");
/* To the scheduler, until it resumes this rank. */
__attribute__((noinline)) static void simnet_leave(simnet_rank *r) {
  if (!_setjmp(r->here)) simnet_jump(r->net->scheduler, 1);
}
__attribute__((noinline)) static void simnet_enter(simnet_rank *r, bool is_first) {
  if (_setjmp(r->net->scheduler)) return;
  if (is_first) setcontext(&r->context);
  simnet_jump(r->here, 1);
}

static nbc_status simnet_progress(void *ctx) {
  simnet_rank *r = simnet_me(ctx);
  simnet *net = r->net;
  if (!r->finished && r->posted) {
    if (simnet_match(r)) r->idle_ns = 200;
    else {
      for (nbc_op *op = r->posted; op; op = op->slot.next)
        if (net->ranks[op->peer].state == SIMNET_NEW) simnet_ready(net, op->peer);
      r->state = SIMNET_BLOCKED;
      simnet_leave(r);
    }
  } else r->t_ns += 10;
  while (r->finished) {
    nbc_op *op = r->finished;
    r->finished = op->slot.next;
    nbc__transport_finish(op);
  }
  return NBC_OK;
}

/* All ranks are one thread: a core given away while one waits would be other programs' for a turn each time. */
static void simnet_rest(void *ctx) { (void)ctx; }

static simnet *simnet_create(int size, uint64_t seed) {
  simnet *net = (simnet *)calloc(1, sizeof *net);
  net->size = size;
  net->per_node = 1;
  net->latency_ns = 1000;
  net->random = seed;
  net->ranks = (simnet_rank *)calloc((size_t)size, sizeof *net->ranks);
  net->ready = (int *)calloc((size_t)size, sizeof *net->ready);
  net->free_stacks = (void **)calloc((size_t)size, sizeof *net->free_stacks);
  for (int i = 0; i < size; i++) {
    simnet_rank *r = &net->ranks[i];
    r->net = net;
    r->t.name = "simulated";
    r->t.help = "ranks are coroutines with simulated clocks";
    r->t.ctx = r;
    r->t.rank = i;
    r->t.size = size;
    r->t.now_ns = simnet_now;
    r->t.isend = simnet_isend;
    r->t.irecv = simnet_irecv;
    r->t.progress = simnet_progress;
    r->t.cancel = simnet_cancel;
    r->t.rest = simnet_rest;
    r->t.same_clock = simnet_same_clock;
  }
  return net;
}

static simnet *simnet_starting; /* makecontext passes ints only */
static int simnet_starting_rank;
static void simnet_main(void) {
  simnet *net = simnet_starting;
  simnet_rank *r = &net->ranks[simnet_starting_rank];
  r->status = net->fn(&r->t, net->user);
  r->state = SIMNET_DONE;
  net->free_stacks[net->free_count++] = r->stack;
  simnet_leave(r);
}

static void simnet_resume(simnet *net, int rank) {
  simnet_rank *r = &net->ranks[rank];
  r->queued = false;
  if (r->state == SIMNET_DONE) return;
  const bool is_first = r->state == SIMNET_NEW;
  if (is_first) {
    if (net->free_count > 0) r->stack = net->free_stacks[--net->free_count];
    else r->stack = malloc(SIMNET_STACK_BYTES), net->stack_count++;
    getcontext(&r->context);
    r->context.uc_stack.ss_sp = r->stack;
    r->context.uc_stack.ss_size = SIMNET_STACK_BYTES;
    simnet_starting = net;
    simnet_starting_rank = rank;
    makecontext(&r->context, simnet_main, 0);
  }
  r->state = SIMNET_READY;
  simnet_enter(r, is_first);
}

/* Runs fn as every rank to its end. Returns the first status that is not NBC_OK. */
static nbc_status simnet_run(simnet *net, nbc_status (*fn)(nbc_transport *, void *), void *user) {
  net->fn = fn;
  net->user = user;
  for (int i = 0; i < net->size; i++) net->ranks[i].state = SIMNET_NEW, net->ranks[i].idle_ns = 200;
  for (int next = 0;;) {
    while (net->ready_count > 0) simnet_resume(net, net->ready[--net->ready_count]);
    while (next < net->size && net->ranks[next].state != SIMNET_NEW) next++;
    if (next < net->size) {
      simnet_resume(net, next);
      continue;
    }
    int latest = -1; /* all wait: the one that is furthest behind sees time pass */
    for (int i = 0; i < net->size; i++)
      if (net->ranks[i].state == SIMNET_BLOCKED &&
          (latest < 0 || net->ranks[i].t_ns + net->ranks[i].idle_ns < net->ranks[latest].t_ns + net->ranks[latest].idle_ns))
        latest = i;
    if (latest < 0) break;
    net->ranks[latest].t_ns += net->ranks[latest].idle_ns;
    net->ranks[latest].idle_ns *= 1.05;
    simnet_resume(net, latest);
  }
  for (int i = 0; i < net->size; i++)
    if (net->ranks[i].status != NBC_OK) return net->ranks[i].status;
  return NBC_OK;
}

static void simnet_destroy(simnet *net) {
  for (int i = 0; i < net->size; i++)
    while (net->ranks[i].inbox) {
      simnet_message *m = net->ranks[i].inbox;
      net->ranks[i].inbox = m->next;
      free(m);
    }
  for (int i = 0; i < net->free_count; i++) free(net->free_stacks[i]);
  free(net->free_stacks);
  free(net->ready);
  free(net->ranks);
  free(net);
}

/* Global time, as rank 0's clock would say at the rank's true time, and its own local time. */
__attribute__((unused)) static double simnet_truth_ns(const simnet *net, double t_ns) {
  return simnet_local_ns(&net->ranks[0].clock, t_ns);
}
#endif
