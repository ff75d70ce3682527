/* algorithms.c: algorithms of the other collectives, written as sequential programs. */
#include "algorithms.h"
#include "trees.h"

/* ---- reductions ---------------------------------------------------------------------------- */
/* Ordered trees hang on rank 0; when the root is another, rank 0 sends it the result. At the root
   the result of total_bytes comes to `result`. */
static void nbc__sched_reduce_to(nbc__sched_builder *b, int root, nbc_slice result,
                                 uint64_t total_bytes) {
  const uint64_t step = nbc__sched_tree_segment(b, total_bytes);
  const int tree_root = b->d.not_commutative ? 0 : root;
  int parent;
  const int count = nbc__sched_tree(b, nbc__sched_virtual(b, tree_root), b->d.size, &parent);
  const nbc_slice out = b->d.rank != root && count ? nbc__sched_scratch(b, total_bytes) : result;
  const uint64_t segments = total_bytes ? (total_bytes - 1) / step + 1 : 0;
  /* two slots per child: receive while reducing */
  uint64_t slots = (uint64_t)count * (segments > 1 ? 2 : 1), slot = 0;
  if (slots > 16) slots = 16;
  const nbc_slice room = nbc__sched_scratch(b, slots * step);
  for (uint64_t at = 0; at < total_bytes && !b->status; at += step) {
    const uint64_t bytes = total_bytes - at < step ? total_bytes - at : step;
    for (int i = 0; i < count; i++) {
      const nbc_slice other = nbc__sched_at(room, slot++ % slots * step);
      nbc__sched_recv(b, nbc__sched_real(b, tree_root, b->children[i]), other, bytes);
      nbc__sched_combine(b, out, at, bytes, other, false, i == 0);
    }
    if (parent >= 0)
      nbc__sched_send(b, nbc__sched_real(b, tree_root, parent),
                      nbc__sched_at(count ? out : b->in, at), bytes);
    else if (!count)
      nbc__sched_copy(b, nbc__sched_at(out, at), nbc__sched_at(b->in, at), bytes);
  }
  if (root == tree_root) return;
  if (b->d.rank == tree_root) nbc__sched_send(b, root, out, total_bytes);
  if (b->d.rank == root) nbc__sched_recv(b, tree_root, result, total_bytes);
}

/* In ordered trees (see above) the children of v hold runs of ranks above v, in ascending order:
   combining them in this order, each as the right operand, keeps the order of operands. */
NBC__PRIVATE void nbc__sched_reduce_by_tree(nbc__sched_builder *b) {
  nbc__sched_reduce_to(b, b->d.root, b->out, nbc__sched_vector_bytes(b));
}

/* The tree hangs on rank 0 whatever the operator: nobody wants the result sooner than the
   others. */
NBC__PRIVATE void nbc__sched_allreduce_by_tree(nbc__sched_builder *b) {
  nbc__sched_reduce_to(b, 0, b->out, nbc__sched_vector_bytes(b));
  nbc__sched_bcast_tree(b, b->out, nbc__sched_vector_bytes(b), 0);
}

/* Ranks above the largest power of two: the first 2 rest ranks pair up (even gives to odd), so that
   2^n are left, numbered from 0. A rank that is left has its part of the result in `out`, or still
   in the input (*fresh). ret this rank's number among those left, or -1 */
static int nbc__sched_fold(nbc__sched_builder *b, nbc_slice out, uint64_t total_bytes,
                           bool *fresh) {
  const int rest = b->d.size - nbc__sched_power_of_two(b->d.size), r = b->d.rank;
  *fresh = true;
  if (r >= 2 * rest) return r - rest;
  if (r % 2 == 0) {
    nbc__sched_send(b, r + 1, b->in, total_bytes);
    return -1;
  }
  /* The lower rank's operand is the left one. */
  const nbc_slice other = nbc__sched_scratch(b, total_bytes);
  nbc__sched_recv(b, r - 1, other, total_bytes);
  nbc__sched_combine(b, out, 0, total_bytes, other, true, true);
  *fresh = false;
  return r / 2;
}

/* The rank that has this number among those left. */
static int nbc__sched_unfolded(const nbc__sched_builder *b, int folded) {
  const int rest = b->d.size - nbc__sched_power_of_two(b->d.size);
  return folded < rest ? 2 * folded + 1 : folded + rest;
}

/* Those that were left tell the others the result. */
static void nbc__sched_unfold(nbc__sched_builder *b, nbc_slice out, uint64_t total_bytes) {
  const int rest = b->d.size - nbc__sched_power_of_two(b->d.size), r = b->d.rank;
  if (r >= 2 * rest) return;
  if (r % 2)
    nbc__sched_send(b, r - 1, out, total_bytes);
  else
    nbc__sched_recv(b, r + 1, out, total_bytes);
}

/* Recursive doubling: after the step of distance m a rank holds the reduction of its aligned group
   of 2 m ranks, as its partner does, so log2 n messages of full length per rank. `me & m` tells
   which of the two groups is the lower one: operands keep their order, and both partners compute
   the same bits. Two rooms in turn: the next message may come while the last one is still being
   reduced. */
NBC__PRIVATE void nbc__sched_allreduce_doubling(nbc__sched_builder *b) {
  const uint64_t total_bytes = nbc__sched_vector_bytes(b);
  bool fresh;
  const int me = nbc__sched_fold(b, b->out, total_bytes, &fresh),
            n = nbc__sched_power_of_two(b->d.size);
  if (me >= 0 && n > 1) {
    const nbc_slice room = nbc__sched_scratch(b, 2 * total_bytes);
    for (int m = 1, turn = 0; m < n; m *= 2, turn ^= 1, fresh = false) {
      const nbc_slice other = nbc__sched_at(room, turn ? total_bytes : 0);
      const int peer = nbc__sched_unfolded(b, me ^ m);
      nbc__sched_send(b, peer, fresh ? b->in : b->out, total_bytes);
      nbc__sched_recv(b, peer, other, total_bytes);
      nbc__sched_combine(b, b->out, 0, total_bytes, other, (me & m) != 0, fresh);
    }
  } else if (me >= 0 && fresh)
    nbc__sched_copy(b, b->out, b->in, total_bytes);
  nbc__sched_unfold(b, b->out, total_bytes);
}

/* Rabenseifner's algorithm: the 2^n ranks left after folding halve the vector while the distance
   doubles, until each holds 1/2^n of the result; partners hold neighbouring groups of ranks, so the
   order of operands is kept. Then the parts are gathered on the same way back: by all, or towards
   the root only. [R. Rabenseifner, Optimization of Collective Reduction Operations, ICCS 2004, LNCS
   3036, pp. 1-9] After `step` halvings this rank holds the elements lo[step] to hi[step]. */
typedef struct nbc__sched_halves {
  int me, n, step; /* me: number among those left, -1: not left */
  uint64_t lo[33], hi[33];
} nbc__sched_halves;

static void nbc__sched_halve(nbc__sched_builder *b, nbc_slice out, nbc__sched_halves *h) {
  const uint64_t total_bytes = nbc__sched_vector_bytes(b), e = b->d.elem_bytes;
  bool fresh;
  h->n = nbc__sched_power_of_two(b->d.size);
  h->me = nbc__sched_fold(b, out, total_bytes, &fresh);
  h->step = 0;
  h->lo[0] = 0, h->hi[0] = b->d.count;
  const nbc_slice room = nbc__sched_scratch(b, h->me >= 0 && h->n > 1 ? total_bytes : 0);
  for (int m = 1; h->me >= 0 && m < h->n; m *= 2, fresh = false) {
    const uint64_t lo = h->lo[h->step], hi = h->hi[h->step], mid = lo + (hi - lo) / 2;
    const bool upper = (h->me & m) != 0;
    const int peer = nbc__sched_unfolded(b, h->me ^ m);
    h->step++;
    h->lo[h->step] = upper ? mid : lo;
    h->hi[h->step] = upper ? hi : mid;
    const uint64_t at = h->lo[h->step] * e, bytes = (h->hi[h->step] - h->lo[h->step]) * e;
    const uint64_t give_at = (upper ? lo : mid) * e, give = (upper ? mid : hi) * e - give_at;
    nbc__sched_send(b, peer, nbc__sched_at(fresh ? b->in : out, give_at), give);
    nbc__sched_recv(b, peer, nbc__sched_at(room, at), bytes);
    nbc__sched_combine(b, out, at, bytes, nbc__sched_at(room, at), upper, fresh);
  }
  if (h->me >= 0 && h->n == 1 && fresh) nbc__sched_copy(b, out, b->in, total_bytes);
}

/* One step back: this rank sends what it has and takes what its partner has, or one of the two. */
static void nbc__sched_double(nbc__sched_builder *b, nbc_slice out, nbc__sched_halves *h, int m,
                              bool gives, bool takes) {
  const uint64_t e = b->d.elem_bytes;
  const int peer = nbc__sched_unfolded(b, h->me ^ m);
  const uint64_t have = h->lo[h->step] * e, have_bytes = (h->hi[h->step] - h->lo[h->step]) * e;
  h->step--;
  const uint64_t lack = h->me & m ? h->lo[h->step] * e : have + have_bytes;
  const uint64_t lack_bytes = (h->hi[h->step] - h->lo[h->step]) * e - have_bytes;
  if (gives) nbc__sched_send(b, peer, nbc__sched_at(out, have), have_bytes);
  if (takes) nbc__sched_recv(b, peer, nbc__sched_at(out, lack), lack_bytes);
}

NBC__PRIVATE void nbc__sched_allreduce_rabenseifner(nbc__sched_builder *b) {
  nbc__sched_halves h;
  nbc__sched_halve(b, b->out, &h);
  for (int m = h.n / 2; h.me >= 0 && m > 0; m /= 2) nbc__sched_double(b, b->out, &h, m, true, true);
  nbc__sched_unfold(b, b->out, nbc__sched_vector_bytes(b));
}

/* On the way back a rank whose number differs from the target's in the bit of this step gives its
   part away and is done: after all steps only the target is left, with the whole. */
NBC__PRIVATE void nbc__sched_reduce_rabenseifner(nbc__sched_builder *b) {
  const uint64_t total_bytes = nbc__sched_vector_bytes(b);
  const int root = b->d.root, rest = b->d.size - nbc__sched_power_of_two(b->d.size);
  const nbc_slice out = b->d.rank == root ? b->out : nbc__sched_scratch(b, total_bytes);
  const int target = root < 2 * rest ? root / 2 : root - rest; /* who ends with the result */
  nbc__sched_halves h;
  nbc__sched_halve(b, out, &h);
  for (int m = h.n / 2; h.me >= 0 && m > 0; m /= 2) {
    const bool gives = ((h.me ^ target) & m) != 0;
    nbc__sched_double(b, out, &h, m, gives, !gives);
    if (gives) break;
  }
  if (root < 2 * rest && root % 2 == 0) { /* the root gave its data to root + 1 */
    if (b->d.rank == root + 1) nbc__sched_send(b, root, out, total_bytes);
    if (b->d.rank == root) nbc__sched_recv(b, root + 1, b->out, total_bytes);
  }
}

/* Each part of the vector goes round the ring twice: once collecting every rank's contribution,
   once handing out the result; 2 (n - 1) messages of 1/n of the vector, the least that any
   algorithm can send. The order of operands is that of the ring, which differs from part to part:
   for operators that commute only. */
NBC__PRIVATE void nbc__sched_allreduce_ring(nbc__sched_builder *b) {
  const int n = b->d.size, r = b->d.rank, right = (r + 1) % n, left = (r - 1 + n) % n;
  if (n == 1) nbc__sched_copy(b, b->out, b->in, nbc__sched_vector_bytes(b));
  const uint64_t room_bytes = nbc__sched_part(b, 1, n);
  const nbc_slice room = nbc__sched_scratch(b, n > 1 ? 2 * room_bytes : 0);
  for (int s = 0; s < 2 * (n - 1); s++) { /* first half reduces, second half distributes */
    const int give = ((r - s) % n + n) % n, take = (give - 1 + n) % n;
    const uint64_t give_at = nbc__sched_part(b, give, n), take_at = nbc__sched_part(b, take, n);
    const uint64_t take_bytes = nbc__sched_part(b, take + 1, n) - take_at;
    const nbc_slice other = s < n - 1 ? nbc__sched_at(room, (uint64_t)(s % 2) * room_bytes)
                                      : nbc__sched_at(b->out, take_at);
    nbc__sched_send(b, right, nbc__sched_at(s == 0 ? b->in : b->out, give_at),
                    nbc__sched_part(b, give + 1, n) - give_at);
    nbc__sched_recv(b, left, other, take_bytes);
    if (s < n - 1) nbc__sched_combine(b, b->out, take_at, take_bytes, other, false, true);
  }
}

/* ---- allreduce on two levels ----------------------------------------------------------------- */
/* What follows is among `ranks`, this one at place `at`, until the next call; NULL: all again. */
static void nbc__sched_among(nbc__sched_builder *b, const int *ranks, int count, int at) {
  b->group = ranks;
  b->d.size = count;
  b->d.rank = at;
}

/* To the leader of each node; among the leaders, by doubling or, when long, by halving and
   doubling; back. A leader's node has its part in `out`, from where the leader goes on. */
NBC__PRIVATE void nbc__sched_allreduce_two_level(nbc__sched_builder *b) {
  const uint64_t total_bytes = nbc__sched_vector_bytes(b);
  const int size = b->d.size, rank = b->d.rank;
  const nbc_slice in = b->in;
  nbc__sched_places p;
  if (!nbc__sched_places_open(b, rank, 0, &p)) {
    b->status = nbc__status_fail(b->err, NBC_E_NOMEM, 0, "schedule: out of memory");
    return;
  }
  b->s->algo = NBC_ALGO_BINOMIAL; /* of the trees inside */
  if (p.member_count > 1) {
    nbc__sched_among(b, p.members, p.member_count, p.member_at);
    nbc__sched_reduce_to(b, 0, b->out, total_bytes);
    b->in = b->out;
  }
  if (p.leader_at >= 0) {
    nbc__sched_among(b, p.leaders, p.leader_count, p.leader_at);
    if (total_bytes > 64 * 1024)
      nbc__sched_allreduce_rabenseifner(b);
    else
      nbc__sched_allreduce_doubling(b);
  }
  if (p.member_count > 1) {
    nbc__sched_among(b, p.members, p.member_count, p.member_at);
    nbc__sched_bcast_tree(b, b->out, total_bytes, 0);
  }
  nbc__sched_among(b, NULL, size, rank);
  b->in = in;
  b->s->algo = NBC_ALGO_TWO_LEVEL;
  NBC_FREE(p.memory);
}

/* ---- reduce_scatter: the result is recv block `rank`, alone in the receive buffer ---------- */
/* Each rank gets from every other its contribution to the own block, and reduces what came: n - 1
   short messages, no rank forwards anything. At most 16 have room at once. In place, the
   accumulator is apart from the result, whose place still holds input of others: writing there
   would wait for the sends that read it. */
static void nbc__sched_rs_direct(nbc__sched_builder *b, bool staggered) {
  const nbc_schedule_desc *const d = &b->d;
  const int n = d->size, r = d->rank;
  const uint64_t my_at = nbc__sched_recv_at(b, r), my = nbc__sched_recv_bytes(b, r);
  nbc__sched_window(b, n);
  for (int k = 1; k < n; k++) {
    const int to = (r + k) % n;
    nbc__sched_send(b, to, nbc__sched_at(b->in, nbc__sched_recv_at(b, to)),
                    nbc__sched_recv_bytes(b, to));
  }
  const nbc_slice acc = d->in_place ? nbc__sched_scratch(b, my) : b->out,
                  own = nbc__sched_at(b->in, my_at);
  const int slots = n - 1 < 16 ? n - 1 : 16;
  const nbc_slice room = nbc__sched_scratch(b, (uint64_t)slots * my);
  nbc_slice so_far = own;
  for (int k = 0, turn = 0; k < n; k++) { /* linear: rank order; pairwise: as they should arrive */
    const int from = staggered ? (r - k + n) % n : k;
    nbc_slice other = own;
    if (from != r) {
      other = nbc__sched_at(room, (uint64_t)(turn++ % slots) * my);
      nbc__sched_recv(b, from, other, my);
    }
    /* The first operand is taken from where it lies; a copy into the accumulator would move the
       block once more. */
    if (k == 0)
      so_far = other;
    else {
      nbc__sched_reduce(b, acc, so_far, other, my);
      so_far = acc;
    }
  }
  nbc__sched_copy(b, b->out, so_far, my);
}

NBC__PRIVATE void nbc__sched_rs_linear(nbc__sched_builder *b) { nbc__sched_rs_direct(b, false); }

NBC__PRIVATE void nbc__sched_rs_pairwise(nbc__sched_builder *b) { nbc__sched_rs_direct(b, true); }

/* The block of rank r starts at its right neighbour and goes round to r, collecting: n - 1 messages
   of one block per rank, and as in the ring above an order of operands that differs from block to
   block. */
NBC__PRIVATE void nbc__sched_rs_ring(nbc__sched_builder *b) {
  const nbc_schedule_desc *const d = &b->d;
  const int n = d->size, r = d->rank;
  uint64_t most = 0;
  for (int i = 0; i < n; i++) {
    const uint64_t bytes = nbc__sched_recv_bytes(b, i);
    if (bytes > most) most = bytes;
  }
  const nbc_slice room = nbc__sched_scratch(b, 3 * most);
  nbc_slice so_far = nbc__sched_at(b->in, nbc__sched_recv_at(b, (r - 1 + n) % n));
  for (int s = 0; s < n - 1; s++) { /* three rooms: send, reduce and receive at once */
    const int give = (r - 1 - s + 2 * n) % n, take = (r - 2 - s + 2 * n) % n;
    const uint64_t bytes = nbc__sched_recv_bytes(b, take);
    const nbc_slice other = nbc__sched_at(room, (uint64_t)(s % 3) * most);
    nbc__sched_send(b, (r + 1) % n, so_far, nbc__sched_recv_bytes(b, give));
    nbc__sched_recv(b, (r - 1 + n) % n, other, bytes);
    nbc__sched_reduce(b, other, other, nbc__sched_at(b->in, nbc__sched_recv_at(b, take)), bytes);
    so_far = other;
  }
  if (n == 1) so_far = b->in;
  nbc__sched_copy(b, b->out, so_far, nbc__sched_recv_bytes(b, r));
}

/* Where the blocks of rank number f among those left begin; f = their number: where all end. */
static uint64_t nbc__sched_folded_at(const nbc__sched_builder *b, int f) {
  const int n = nbc__sched_power_of_two(b->d.size), rest = b->d.size - n;
  if (f == n) return nbc__sched_blocks_end(&b->d, b->d.recv_counts, NULL);
  return nbc__sched_recv_at(b, f < rest ? 2 * f : f + rest);
}

/* Recursive halving: partners m apart, from the farthest, each keep the half of the blocks that
   belongs to their own half of the ranks. Folded ranks stand next to each other, so what rank
   number f among those left keeps is one piece of the vector: its own block and that of the rank
   that folded into it. */
NBC__PRIVATE void nbc__sched_rs_halving(nbc__sched_builder *b) {
  const nbc_schedule_desc *const d = &b->d;
  const int n = nbc__sched_power_of_two(d->size), rest = d->size - n;
  const uint64_t total_bytes = nbc__sched_blocks_end(d, d->recv_counts, NULL);
  const nbc_slice work = nbc__sched_scratch(b, total_bytes);
  bool fresh;
  const int me = nbc__sched_fold(b, work, total_bytes, &fresh);
  const nbc_slice room = nbc__sched_scratch(b, me >= 0 && n > 1 ? total_bytes : 0);
  /* From the farthest partner to the nearest, unlike Rabenseifner's halving: so what is left at the
     end is the block of the own number, and no step back is needed. Operands come from groups of
     ranks that are not neighbours. */
  int lo = 0, hi = n; /* numbers of the ranks whose blocks are still here */
  for (int m = n / 2; me >= 0 && m > 0; m /= 2, fresh = false) {
    const int mid = lo + m, peer = nbc__sched_unfolded(b, me ^ m);
    const bool upper = (me & m) != 0;
    const uint64_t give = nbc__sched_folded_at(b, upper ? lo : mid),
                   give_end = nbc__sched_folded_at(b, upper ? mid : hi);
    if (upper)
      lo = mid;
    else
      hi = mid;
    const uint64_t at = nbc__sched_folded_at(b, lo), bytes = nbc__sched_folded_at(b, hi) - at;
    nbc__sched_send(b, peer, nbc__sched_at(fresh ? b->in : work, give), give_end - give);
    nbc__sched_recv(b, peer, nbc__sched_at(room, at), bytes);
    nbc__sched_combine(b, work, at, bytes, nbc__sched_at(room, at), false, fresh);
  }
  const uint64_t mine = nbc__sched_recv_at(b, d->rank), bytes = nbc__sched_recv_bytes(b, d->rank);
  if (me < 0) {
    nbc__sched_recv(b, d->rank + 1, b->out, bytes);
    return;
  }
  if (d->rank < 2 * rest)
    nbc__sched_send(b, d->rank - 1, nbc__sched_at(work, nbc__sched_recv_at(b, d->rank - 1)),
                    nbc__sched_recv_bytes(b, d->rank - 1));
  nbc__sched_copy(b, b->out, nbc__sched_at(fresh ? b->in : work, mine), bytes);
}

/* Reduces to rank 0, which deals the blocks out. */
NBC__PRIVATE void nbc__sched_rs_tree(nbc__sched_builder *b) {
  const nbc_schedule_desc *const d = &b->d;
  const uint64_t total_bytes = nbc__sched_blocks_end(d, d->recv_counts, NULL);
  const nbc_slice all = nbc__sched_scratch(b, d->rank == 0 ? total_bytes : 0);
  nbc__sched_reduce_to(b, 0, all, total_bytes);
  const uint64_t bytes = nbc__sched_recv_bytes(b, d->rank);
  if (d->rank) {
    nbc__sched_recv(b, 0, b->out, bytes);
    return;
  }
  for (int i = 1; i < d->size; i++)
    nbc__sched_send(b, i, nbc__sched_at(all, nbc__sched_recv_at(b, i)),
                    nbc__sched_recv_bytes(b, i));
  nbc__sched_copy(b, b->out, all, bytes);
}

/* ---- gather, scatter ----------------------------------------------------------------------- */
NBC__PRIVATE void nbc__sched_gather_linear(nbc__sched_builder *b) {
  const nbc_schedule_desc *const d = &b->d;
  if (d->rank != d->root) {
    nbc__sched_send(b, d->root, b->in, nbc__sched_vector_bytes(b));
    return;
  }
  for (int i = 0; i < d->size; i++) {
    const nbc_slice to = nbc__sched_at(b->out, nbc__sched_recv_at(b, i));
    const uint64_t bytes = nbc__sched_recv_bytes(b, i);
    if (i != d->rank)
      nbc__sched_recv(b, i, to, bytes);
    else if (!d->in_place)
      nbc__sched_copy(b, to, b->in, bytes);
  }
}

NBC__PRIVATE void nbc__sched_scatter_linear(nbc__sched_builder *b) {
  const nbc_schedule_desc *const d = &b->d;
  if (d->rank != d->root) {
    nbc__sched_recv(b, d->root, b->out, nbc__sched_vector_bytes(b));
    return;
  }
  nbc__sched_window(b, d->size);
  for (int k = 0; k < d->size; k++) {
    const int i = (d->root + k) % d->size;
    const nbc_slice from = nbc__sched_at(b->in, nbc__sched_send_at(b, i));
    const uint64_t bytes = nbc__sched_send_bytes(b, i);
    if (i != d->rank)
      nbc__sched_send(b, i, from, bytes);
    else if (!d->in_place)
      nbc__sched_copy(b, b->out, from, bytes);
  }
}

/* Blocks of `count` virtual ranks from v on, in rank order at the root: one piece, or two where the
   numbers wrap. Calls copy for each piece. */
static void nbc__sched_wrapped(nbc__sched_builder *b, nbc_slice ranks, nbc_slice packed, int v,
                               int count, bool pack) {
  const uint64_t block = nbc__sched_vector_bytes(b);
  const int from = nbc__sched_real(b, b->d.root, v);
  const int first = from + count > b->d.size ? b->d.size - from : count;
  const nbc_slice upper = nbc__sched_at(ranks, (uint64_t)from * block);
  const nbc_slice rest = nbc__sched_at(packed, (uint64_t)first * block);
  nbc__sched_copy(b, pack ? packed : upper, pack ? upper : packed, (uint64_t)first * block);
  nbc__sched_copy(b, pack ? rest : ranks, pack ? ranks : rest, (uint64_t)(count - first) * block);
}

/* Tree ranks count from the root, and the subtree of a child is a run of them: what it sends is one
   piece, which the root can receive in place unless the run passes rank n - 1 and goes on at 0. */
NBC__PRIVATE void nbc__sched_gather_tree(nbc__sched_builder *b) {
  const nbc_schedule_desc *const d = &b->d;
  const uint64_t block = nbc__sched_vector_bytes(b);
  const int v = nbc__sched_virtual(b, d->root), radix = nbc__sched_radix(b);
  const uint64_t my_bytes = (uint64_t)nbc__sched_subtree(v, d->size, radix) * block;
  int parent;
  const int count = nbc__sched_tree(b, v, d->size, &parent);
  nbc_slice mine = b->in;
  if (parent >= 0 && count) {
    mine = nbc__sched_scratch(b, my_bytes);
    nbc__sched_copy(b, mine, b->in, block);
  } else if (parent < 0 && !d->in_place) {
    nbc__sched_copy(b, nbc__sched_at(b->out, (uint64_t)d->rank * block), b->in, block);
  }
  for (int i = 0; i < count; i++) {
    const int c = b->children[i], below = nbc__sched_subtree(c, d->size, radix);
    const int peer = nbc__sched_real(b, d->root, c);
    if (parent >= 0) {
      nbc__sched_recv(b, peer, nbc__sched_at(mine, (uint64_t)(c - v) * block),
                      (uint64_t)below * block);
    } else if (peer + below <= d->size) {
      nbc__sched_recv(b, peer, nbc__sched_at(b->out, (uint64_t)peer * block),
                      (uint64_t)below * block);
    } else {
      const nbc_slice room = nbc__sched_scratch(b, (uint64_t)below * block);
      nbc__sched_recv(b, peer, room, (uint64_t)below * block);
      nbc__sched_wrapped(b, b->out, room, c, below, false);
    }
  }
  if (parent >= 0) nbc__sched_send(b, nbc__sched_real(b, d->root, parent), mine, my_bytes);
}

/* As gather, backwards: the farthest child first, which has most to forward. */
NBC__PRIVATE void nbc__sched_scatter_tree(nbc__sched_builder *b) {
  const nbc_schedule_desc *const d = &b->d;
  const uint64_t block = nbc__sched_vector_bytes(b);
  const int v = nbc__sched_virtual(b, d->root), radix = nbc__sched_radix(b);
  const uint64_t my_bytes = (uint64_t)nbc__sched_subtree(v, d->size, radix) * block;
  int parent;
  const int count = nbc__sched_tree(b, v, d->size, &parent);
  nbc_slice mine = b->out;
  if (parent >= 0) {
    if (count) mine = nbc__sched_scratch(b, my_bytes);
    nbc__sched_recv(b, nbc__sched_real(b, d->root, parent), mine, my_bytes);
  }
  for (int i = count - 1; i >= 0; i--) {
    const int c = b->children[i], below = nbc__sched_subtree(c, d->size, radix);
    const int peer = nbc__sched_real(b, d->root, c);
    nbc_slice from = nbc__sched_at(mine, (uint64_t)(c - v) * block);
    if (parent < 0) from = nbc__sched_at(b->in, (uint64_t)peer * block);
    if (parent < 0 && peer + below > d->size) {
      from = nbc__sched_scratch(b, (uint64_t)below * block);
      nbc__sched_wrapped(b, b->in, from, c, below, true);
    }
    nbc__sched_send(b, peer, from, (uint64_t)below * block);
  }
  if (parent >= 0)
    nbc__sched_copy(b, b->out, mine, block);
  else if (!d->in_place)
    nbc__sched_copy(b, b->out, nbc__sched_at(b->in, (uint64_t)d->rank * block), block);
}

/* ---- gatherv, scatterv by a tree: inner ranks do not know how long the blocks below them are ---- */
/* So each block that is short travels in a slot of fixed length, which ranks on the way hand on as it is;
   the root and the block's owner, who know its length, use the part that is filled. Longer ones go
   straight between the two, as in the linear algorithm. The slot's length depends on nothing that one
   rank alone knows. */
static uint64_t nbc__sched_slot_bytes(const nbc__sched_builder *b) {
  /* Bounded, because a rank near the root holds a slot for each rank below it. */
  enum { BY_DEFAULT = 256, MOST = 65536 };
  const uint64_t asked_bytes = b->d.segment_bytes;
  return !asked_bytes ? (uint64_t)BY_DEFAULT : asked_bytes < MOST ? asked_bytes : (uint64_t)MOST;
}

/* At the root: what child c (counted from the root) brings or gets, in slots. */
static void nbc__sched_slots_of(nbc__sched_builder *b, int c, int below, uint64_t slot_bytes,
                                bool pack) {
  const nbc_slice room = nbc__sched_scratch(b, (uint64_t)below * slot_bytes);
  const int peer = nbc__sched_real(b, b->d.root, c);
  if (!pack) nbc__sched_recv(b, peer, room, (uint64_t)below * slot_bytes);
  for (int i = 0; i < below; i++) {
    const int rank = nbc__sched_real(b, b->d.root, c + i);
    const nbc_slice slot = nbc__sched_at(room, (uint64_t)i * slot_bytes);
    const uint64_t bytes = pack ? nbc__sched_send_bytes(b, rank) : nbc__sched_recv_bytes(b, rank);
    if (bytes > slot_bytes) continue;
    if (pack)
      nbc__sched_copy(b, slot, nbc__sched_at(b->in, nbc__sched_send_at(b, rank)), bytes);
    else
      nbc__sched_copy(b, nbc__sched_at(b->out, nbc__sched_recv_at(b, rank)), slot, bytes);
  }
  if (pack) nbc__sched_send(b, peer, room, (uint64_t)below * slot_bytes);
}

static void nbc__sched_gatherv_root(nbc__sched_builder *b, uint64_t slot_bytes, int count) {
  const nbc_schedule_desc *const d = &b->d;
  for (int i = 0; i < count; i++)
    nbc__sched_slots_of(b, b->children[i],
                        nbc__sched_subtree(b->children[i], d->size, nbc__sched_radix(b)),
                        slot_bytes, false);
  for (int k = 1; k < d->size; k++) {
    const int rank = (d->root + k) % d->size;
    const uint64_t bytes = nbc__sched_recv_bytes(b, rank);
    if (bytes > slot_bytes)
      nbc__sched_recv(b, rank, nbc__sched_at(b->out, nbc__sched_recv_at(b, rank)), bytes);
  }
  if (!d->in_place)
    nbc__sched_copy(b, nbc__sched_at(b->out, nbc__sched_recv_at(b, d->rank)), b->in,
                    nbc__sched_recv_bytes(b, d->rank));
}

/* The subtree of v is a run of numbers, so its slots are one message, in which slot c - v is c's. A
   rank sends its slots first and its long block after them, as the root receives them: the k-th
   send meets the k-th receive. */
NBC__PRIVATE void nbc__sched_gatherv_tree(nbc__sched_builder *b) {
  const nbc_schedule_desc *const d = &b->d;
  const uint64_t slot_bytes = nbc__sched_slot_bytes(b), bytes = nbc__sched_vector_bytes(b);
  const int v = nbc__sched_virtual(b, d->root), radix = nbc__sched_radix(b);
  int parent;
  const int count = nbc__sched_tree(b, v, d->size, &parent);
  if (parent < 0) {
    nbc__sched_gatherv_root(b, slot_bytes, count);
    return;
  }
  const uint64_t my_bytes = (uint64_t)nbc__sched_subtree(v, d->size, radix) * slot_bytes;
  const nbc_slice mine = nbc__sched_scratch(b, my_bytes);
  /* A longer block leaves its slot as it is: the root knows its length and does not read it. */
  if (bytes <= slot_bytes) nbc__sched_copy(b, mine, b->in, bytes);
  for (int i = 0; i < count; i++) {
    const int c = b->children[i];
    nbc__sched_recv(b, nbc__sched_real(b, d->root, c),
                    nbc__sched_at(mine, (uint64_t)(c - v) * slot_bytes),
                    (uint64_t)nbc__sched_subtree(c, d->size, radix) * slot_bytes);
  }
  nbc__sched_send(b, nbc__sched_real(b, d->root, parent), mine, my_bytes);
  if (bytes > slot_bytes) nbc__sched_send(b, d->root, b->in, bytes);
}

/* Slots before long blocks, as the others receive them. Only long blocks are bounded in number: on
   slots whole subtrees wait. */
static void nbc__sched_scatterv_root(nbc__sched_builder *b, uint64_t slot_bytes, int count) {
  const nbc_schedule_desc *const d = &b->d;
  for (int i = count - 1; i >= 0; i--) /* the farthest child first: it has most to forward */
    nbc__sched_slots_of(b, b->children[i],
                        nbc__sched_subtree(b->children[i], d->size, nbc__sched_radix(b)),
                        slot_bytes, true);
  nbc__sched_window(b, d->size);
  for (int k = 1; k < d->size; k++) {
    const int rank = (d->root + k) % d->size;
    const uint64_t bytes = nbc__sched_send_bytes(b, rank);
    if (bytes > slot_bytes)
      nbc__sched_send(b, rank, nbc__sched_at(b->in, nbc__sched_send_at(b, rank)), bytes);
  }
  if (!d->in_place)
    nbc__sched_copy(b, b->out, nbc__sched_at(b->in, nbc__sched_send_at(b, d->rank)),
                    nbc__sched_send_bytes(b, d->rank));
}

NBC__PRIVATE void nbc__sched_scatterv_tree(nbc__sched_builder *b) {
  const nbc_schedule_desc *const d = &b->d;
  const uint64_t slot_bytes = nbc__sched_slot_bytes(b), bytes = nbc__sched_vector_bytes(b);
  const int v = nbc__sched_virtual(b, d->root), radix = nbc__sched_radix(b);
  int parent;
  const int count = nbc__sched_tree(b, v, d->size, &parent);
  if (parent < 0) {
    nbc__sched_scatterv_root(b, slot_bytes, count);
    return;
  }
  const uint64_t my_bytes = (uint64_t)nbc__sched_subtree(v, d->size, radix) * slot_bytes;
  const nbc_slice mine = nbc__sched_scratch(b, my_bytes);
  nbc__sched_recv(b, nbc__sched_real(b, d->root, parent), mine, my_bytes);
  for (int i = count - 1; i >= 0; i--) {
    const int c = b->children[i];
    nbc__sched_send(b, nbc__sched_real(b, d->root, c),
                    nbc__sched_at(mine, (uint64_t)(c - v) * slot_bytes),
                    (uint64_t)nbc__sched_subtree(c, d->size, radix) * slot_bytes);
  }
  if (bytes <= slot_bytes)
    nbc__sched_copy(b, b->out, mine, bytes);
  else
    nbc__sched_recv(b, d->root, b->out, bytes);
}

/* ---- allgather, alltoall ------------------------------------------------------------------- */
static nbc_slice nbc__sched_recv_block(const nbc__sched_builder *b, int rank,
                                       uint64_t *size_bytes) {
  *size_bytes = nbc__sched_recv_bytes(b, rank);
  return nbc__sched_at(b->out, nbc__sched_recv_at(b, rank));
}

/* All post all receives before the first send: each message finds its place. Rank r begins with its
   right neighbour, so that no rank is everyone's first. n - 1 messages per rank, none forwarded:
   the least latency for few ranks, the most load on the network for many. */
NBC__PRIVATE void nbc__sched_allgather_linear(nbc__sched_builder *b) {
  const int n = b->d.size, r = b->d.rank;
  uint64_t bytes;
  nbc__sched_window(b, n);
  for (int k = 1; k < n; k++) {
    const nbc_slice to = nbc__sched_recv_block(b, (r - k + n) % n, &bytes);
    nbc__sched_recv(b, (r - k + n) % n, to, bytes);
  }
  const nbc_slice own = nbc__sched_recv_block(b, r, &bytes);
  for (int k = 1; k < n; k++) nbc__sched_send(b, (r + k) % n, b->in, bytes);
  nbc__sched_copy(b, own, b->in, bytes);
}

/* In step s a rank hands on what it got in step s - 1: every link of the ring is used all the time,
   and every block crosses each link but one. */
NBC__PRIVATE void nbc__sched_allgather_ring(nbc__sched_builder *b) {
  const int n = b->d.size, r = b->d.rank;
  uint64_t bytes;
  for (int s = 0; s < n - 1; s++) {
    nbc_slice block = nbc__sched_recv_block(b, (r - s + n) % n, &bytes);
    nbc__sched_send(b, (r + 1) % n, s ? block : b->in, bytes);
    block = nbc__sched_recv_block(b, (r - s - 1 + n) % n, &bytes);
    nbc__sched_recv(b, (r - 1 + n) % n, block, bytes);
  }
  const nbc_slice own = nbc__sched_recv_block(b, r, &bytes);
  nbc__sched_copy(b, own, b->in, bytes);
}

/* For powers of two: the groups of 2 m ranks have all blocks of the group after the step of
   distance m. */
NBC__PRIVATE void nbc__sched_allgather_doubling(nbc__sched_builder *b) {
  const int n = b->d.size, r = b->d.rank;
  /* Of allgatherv each rank has its own gaps: what is one piece here may be several there. */
  const bool is_whole = b->d.coll == NBC_COLL_ALLGATHER;
  uint64_t bytes;
  const nbc_slice own = nbc__sched_recv_block(b, r, &bytes);
  if (is_whole) nbc__sched_copy(b, own, b->in, bytes);
  for (int m = 1; m < n; m *= 2) {
    const int mine = r & ~(m - 1), theirs = mine ^ m;
    for (int i = 0; i < (is_whole ? 1 : m); i++) {
      const uint64_t count = is_whole ? (uint64_t)m : 1;
      const bool is_own = mine + i == r && count == 1;
      nbc_slice block = nbc__sched_recv_block(b, mine + i, &bytes);
      nbc__sched_send(b, r ^ m, is_own ? b->in : block, count * bytes);
      block = nbc__sched_recv_block(b, theirs + i, &bytes);
      nbc__sched_recv(b, r ^ m, block, count * bytes);
    }
  }
  if (!is_whole)
    nbc__sched_copy(b, own, b->in, nbc__sched_recv_bytes(b, r)); /* nobody waits for it */
}

/* Bruck et al. (IEEE TPDS 8(11), 1997), any number of ranks in ceil(log2 n) steps: a rank that has
   the blocks r ... r + m - 1 sends them all m ranks down and gets those from r + m on. At the end
   all are there, turned by r places. */
NBC__PRIVATE void nbc__sched_allgather_bruck(nbc__sched_builder *b) {
  const nbc_schedule_desc *const d = &b->d;
  const int n = d->size, r = d->rank;
  uint64_t total_bytes = 0, have_bytes = nbc__sched_recv_bytes(b, r), bytes;
  for (int i = 0; i < n; i++) total_bytes += nbc__sched_recv_bytes(b, i);
  const nbc_slice room = nbc__sched_scratch(b, total_bytes); /* blocks r, r + 1, ... packed */
  nbc__sched_copy(b, room, b->in, have_bytes);
  for (int m = 1; m < n; m *= 2) {
    const int count = m < n - m ? m : n - m;
    uint64_t give = 0, take = 0;
    for (int i = 0; i < count; i++) give += nbc__sched_recv_bytes(b, (r + i) % n);
    for (int i = 0; i < count; i++) take += nbc__sched_recv_bytes(b, (r + m + i) % n);
    nbc__sched_send(b, (r - m + n) % n, room, give);
    nbc__sched_recv(b, (r + m) % n, nbc__sched_at(room, have_bytes), take);
    have_bytes += take;
  }
  /* What came at once and stands side by side is copied at once, while the next step is under way. */
  uint64_t at = d->in_place ? nbc__sched_recv_bytes(b, r) : 0, run_bytes = 0;
  nbc_slice to = b->out;
  for (int i = d->in_place ? 1 : 0; i < n; i++, run_bytes += bytes) {
    const nbc_slice block = nbc__sched_recv_block(b, (r + i) % n, &bytes);
    const bool is_next_step = (i & (i - 1)) == 0;
    if (run_bytes && (is_next_step || block.offset_bytes != to.offset_bytes + run_bytes)) {
      nbc__sched_copy(b, to, nbc__sched_at(room, at), run_bytes);
      at += run_bytes, run_bytes = 0;
    }
    if (!run_bytes) to = block;
  }
  if (run_bytes) nbc__sched_copy(b, to, nbc__sched_at(room, at), run_bytes);
}

/* What goes to a rank, of the input `in`: in place, what is sent has the places of what comes. */
static nbc_slice nbc__sched_send_block(const nbc__sched_builder *b, nbc_slice in, int rank,
                                       uint64_t *size_bytes) {
  const bool in_place = b->d.in_place;
  *size_bytes = in_place ? nbc__sched_recv_bytes(b, rank) : nbc__sched_send_bytes(b, rank);
  return nbc__sched_at(in, in_place ? nbc__sched_recv_at(b, rank) : nbc__sched_send_at(b, rank));
}

/* A copy of what will be overwritten before it is sent. */
static nbc_slice nbc__sched_alltoall_saved(nbc__sched_builder *b) {
  const int n = b->d.size, r = b->d.rank;
  uint64_t bytes;
  const nbc_slice saved =
      nbc__sched_scratch(b, nbc__sched_blocks_end(&b->d, b->d.recv_counts, b->d.recv_displs));
  for (int k = 1; k < n; k++) {
    const nbc_slice block = nbc__sched_recv_block(b, (r + k) % n, &bytes);
    nbc__sched_copy(b, nbc__sched_at(saved, block.offset_bytes), block, bytes);
  }
  return saved;
}

/* steps: a receive is posted `window` steps ahead only. */
static void nbc__sched_alltoall_direct(nbc__sched_builder *b, bool steps) {
  const int n = b->d.size, r = b->d.rank;
  const int window = b->d.window_count < n ? b->d.window_count : n;
  const nbc_slice in = b->d.in_place ? nbc__sched_alltoall_saved(b) : b->in;
  uint64_t bytes, own_bytes;
  nbc__sched_window(b, n);
  int32_t recvs[64];
  for (int i = 0; i < 64; i++) recvs[i] = -1;
  for (int k = 1; k < n; k++) {
    const nbc_slice to = nbc__sched_recv_block(b, (r - k + n) % n, &bytes);
    const int32_t node = nbc__sched_recv(b, (r - k + n) % n, to, bytes);
    /* A receive waits for the one `window` steps before it, which has left its number at this
       place. */
    int32_t *const before = &recvs[k % (window < 64 ? window : 64)];
    if (steps && node >= 0) nbc__sched_after(b, *before);
    if (steps && node >= 0) *before = node;
    const nbc_slice from = nbc__sched_send_block(b, in, (r + k) % n, &bytes);
    nbc__sched_send(b, (r + k) % n, from, bytes);
  }
  if (b->d.in_place) return;
  const nbc_slice from = nbc__sched_send_block(b, in, r, &bytes),
                  own = nbc__sched_recv_block(b, r, &own_bytes);
  nbc__sched_copy(b, own, from, own_bytes < bytes ? own_bytes : bytes);
}

NBC__PRIVATE void nbc__sched_alltoall_linear(nbc__sched_builder *b) {
  nbc__sched_alltoall_direct(b, false);
}

NBC__PRIVATE void nbc__sched_alltoall_pairwise(nbc__sched_builder *b) {
  nbc__sched_alltoall_direct(b, true);
}

/* Bruck et al.: block i has to go i ranks up. In the step of distance m, all blocks whose i has
   this bit go together; after the last step every block has gone its i ranks. ceil(log2 n) messages
   instead of n - 1, but each block is sent once per bit: for short blocks. */
NBC__PRIVATE void nbc__sched_alltoall_bruck(nbc__sched_builder *b) {
  const int n = b->d.size, r = b->d.rank;
  const uint64_t block = nbc__sched_vector_bytes(b);
  const nbc_slice room = nbc__sched_scratch(b, (uint64_t)n * block); /* block i goes i ranks up */
  const nbc_slice out = nbc__sched_scratch(b, (uint64_t)(n / 2 + 1) * block);
  const nbc_slice in = nbc__sched_scratch(b, (uint64_t)(n / 2 + 1) * block);
  nbc__sched_copy(b, room, nbc__sched_at(b->in, (uint64_t)r * block), (uint64_t)(n - r) * block);
  nbc__sched_copy(b, nbc__sched_at(room, (uint64_t)(n - r) * block), b->in, (uint64_t)r * block);
  for (int m = 1; m < n; m *= 2) { /* those with the bit stand in runs of m */
    uint64_t packed = 0;
    for (int i = m; i < n; i += 2 * m) {
      const uint64_t bytes = (uint64_t)(m < n - i ? m : n - i) * block;
      nbc__sched_copy(b, nbc__sched_at(out, packed), nbc__sched_at(room, (uint64_t)i * block),
                      bytes);
      packed += bytes;
    }
    nbc__sched_send(b, (r + m) % n, out, packed);
    nbc__sched_recv(b, (r - m + n) % n, in, packed);
    packed = 0;
    for (int i = m; i < n; i += 2 * m) {
      const uint64_t bytes = (uint64_t)(m < n - i ? m : n - i) * block;
      nbc__sched_copy(b, nbc__sched_at(room, (uint64_t)i * block), nbc__sched_at(in, packed),
                      bytes);
      packed += bytes;
    }
  }
  for (int i = 0; i < n; i++)
    nbc__sched_copy(b, nbc__sched_at(b->out, (uint64_t)((r - i + n) % n) * block),
                    nbc__sched_at(room, (uint64_t)i * block), block);
}

/* ---- neighbourhoods ------------------------------------------------------------------------ */
/* What this rank sends to itself: its k-th place among the targets to its k-th among the sources. A
   process may be its own neighbour, on a ring of one; MPI matches such places in their order. */
static void nbc__sched_neighbors_self(nbc__sched_builder *b, bool alltoall) {
  const nbc_neighbors *const n = b->d.neighbors;
  for (int from = 0, to = 0;; from++, to++) {
    while (from < n->target_count && n->targets[from] != b->d.rank) from++;
    while (to < n->source_count && n->sources[to] != b->d.rank) to++;
    if (from == n->target_count || to == n->source_count) return;
    nbc__sched_copy(b, nbc__sched_at(b->out, nbc__sched_recv_at(b, to)),
                    nbc__sched_at(b->in, alltoall ? nbc__sched_send_at(b, from) : 0),
                    nbc__sched_recv_bytes(b, to));
  }
}

NBC__PRIVATE void nbc__sched_neighbors(nbc__sched_builder *b) {
  const nbc_neighbors *const n = b->d.neighbors;
  const bool alltoall = b->d.coll == NBC_COLL_NEIGHBOR_ALLTOALL;
  nbc__sched_window(b, n->target_count);
  for (int k = 0; k < n->source_count; k++)
    if (n->sources[k] >= 0 && n->sources[k] != b->d.rank)
      nbc__sched_recv(b, n->sources[k], nbc__sched_at(b->out, nbc__sched_recv_at(b, k)),
                      nbc__sched_recv_bytes(b, k));
  for (int k = 0; k < n->target_count; k++)
    if (n->targets[k] >= 0 && n->targets[k] != b->d.rank)
      nbc__sched_send(b, n->targets[k],
                      nbc__sched_at(b->in, alltoall ? nbc__sched_send_at(b, k) : 0),
                      alltoall ? nbc__sched_send_bytes(b, k) : nbc__sched_vector_bytes(b));
  nbc__sched_neighbors_self(b, alltoall);
}

/* ---- scan, exscan -------------------------------------------------------------------------- */
/* Rank by rank: n - 1 messages one after the other, but the order of operands needs no thought. */
static void nbc__sched_prefix_linear(nbc__sched_builder *b, bool exclusive) {
  const uint64_t bytes = nbc__sched_vector_bytes(b);
  const int r = b->d.rank, n = b->d.size;
  const nbc_slice below = r == 0                        ? b->in
                          : exclusive && !b->d.in_place ? b->out
                                                        : nbc__sched_scratch(b, bytes);
  if (r > 0) nbc__sched_recv(b, r - 1, below, bytes);
  nbc_slice upto = b->in; /* ranks 0..r */
  if (r > 0 && (!exclusive || r + 1 < n)) {
    upto = exclusive ? nbc__sched_scratch(b, bytes) : b->out;
    nbc__sched_reduce(b, upto, below, b->in, bytes);
  }
  if (r + 1 < n) nbc__sched_send(b, r + 1, upto, bytes);
  if (!exclusive)
    nbc__sched_copy(b, b->out, upto, bytes);
  else if (r > 0)
    nbc__sched_copy(b, b->out, below, bytes);
}

/* Hillis and Steele's scan [Data Parallel Algorithms, CACM 29(12), 1986]: after the step of
   distance m, `upto` reduces the last 2 m ranks up to this one; what comes from m below lies to the
   left of it. The exclusive scan keeps a second sum without the own part: no inverse of the
   operator is needed. */
static void nbc__sched_prefix_doubling(nbc__sched_builder *b, bool exclusive) {
  const uint64_t bytes = nbc__sched_vector_bytes(b);
  const int r = b->d.rank, n = b->d.size;
  const nbc_slice upto =
      exclusive ? nbc__sched_scratch(b, r ? bytes : 0) : b->out; /* ranks r-2m+1 .. r */
  const nbc_slice below =
      exclusive ? nbc__sched_scratch(b, r ? bytes : 0) : b->out; /* the same without r */
  const nbc_slice room = nbc__sched_scratch(b, r ? 2 * bytes : 0);
  nbc_slice have = b->in;
  int turn = 0;
  for (int m = 1; m < n; m *= 2, turn ^= 1) {
    if (r + m < n) nbc__sched_send(b, r + m, have, bytes);
    if (r - m < 0) continue;
    const nbc_slice other = nbc__sched_at(room, turn ? bytes : 0);
    nbc__sched_recv(b, r - m, other, bytes);
    if (exclusive && m == 1)
      nbc__sched_copy(b, below, other, bytes);
    else if (exclusive)
      nbc__sched_reduce(b, below, other, below, bytes);
    if (!exclusive || r + 2 * m < n) {
      nbc__sched_reduce(b, upto, other, have, bytes);
      have = upto;
    }
  }
  if (!exclusive)
    nbc__sched_copy(b, b->out, have, bytes);
  else if (r > 0)
    nbc__sched_copy(b, b->out, below, bytes);
}

NBC__PRIVATE void nbc__sched_scan_linear(nbc__sched_builder *b) {
  nbc__sched_prefix_linear(b, false);
}
NBC__PRIVATE void nbc__sched_exscan_linear(nbc__sched_builder *b) {
  nbc__sched_prefix_linear(b, true);
}
NBC__PRIVATE void nbc__sched_scan_doubling(nbc__sched_builder *b) {
  nbc__sched_prefix_doubling(b, false);
}
NBC__PRIVATE void nbc__sched_exscan_doubling(nbc__sched_builder *b) {
  nbc__sched_prefix_doubling(b, true);
}
