/* shmem.c: the transport over OpenSHMEM (with NBC_WITH_SHMEM). */
#include "shmem.h"
#include "../overlap/clock.h"
#include "../overlap/cells.h"
#include "packets.h"

/* ============================================================================================== */
/* [SHMEM] 14. The transport over OpenSHMEM                                                       */
/* ============================================================================================== */
#ifdef NBC_WITH_SHMEM
/* Each element has one ring to and one ring from every other, both at symmetric addresses: what is
   written in the ring to a peer is put into the peer's ring from here. */
static nbc__packet *nbc__shmem_mirror(const nbc_threads *w, const nbc__packet *p, int from_there) {
  size_t at = (size_t)(p - w->shared->packets) % NBC__PACKETS_SLOTS;
  return &w->shared->packets[(size_t)from_there * NBC__PACKETS_SLOTS + at];
}

/* Everything but the state, then the state: who sees it full sees the rest. */
static void nbc__shmem_put(nbc_threads *w, int peer, nbc__packet *p) {
  nbc__packet *there = nbc__shmem_mirror(w, p, w->desc.size + w->ranks[0].t.rank);
  bool has_data = p->kind == NBC__PACKET_EAGER || p->kind == NBC__PACKET_REQUEST ||
                  p->kind == NBC__PACKET_FRAGMENT;
  size_t after_state = offsetof(nbc__packet, kind);
  if (has_data && p->part_bytes > 0)
    shmem_putmem(nbc__packets_payload(w, there), nbc__packets_payload(w, p), (size_t)p->part_bytes,
                 peer);
  shmem_putmem((char *)there + after_state, (char *)p + after_state, sizeof *p - after_state, peer);
  /* The fence orders what this element puts to one peer; OpenSHMEM promises no more, and no more is
     needed. */
  shmem_fence();
  shmem_uint32_p(&there->state, p->state + 1, peer);
}

/* The sender may use the slot again. */
static void nbc__shmem_release(nbc_threads *w, int peer, nbc__packet *p) {
  shmem_uint32_p(&nbc__shmem_mirror(w, p, w->ranks[0].t.rank)->state, p->state + 1, peer);
}

/* Lets the library move what others put here, where that takes software. */
static void nbc__shmem_poll(nbc_threads *w) {
  shmem_uint32_test(&w->shared->packets[0].state, SHMEM_CMP_LT, 0);
}

static nbc_peer nbc__shmem_peer_class(void *ctx, int peer) {
  return shmem_ptr(((nbc__packets_rank *)ctx)->world->shared->packets, peer) ? NBC_PEER_SAME_NODE
                                                                             : NBC_PEER_OTHER_NODE;
}

/* The rings in the symmetric heap, the rest in memory of our own. */
static nbc_status nbc__shmem_map(nbc_threads *w) {
  size_t size = (size_t)w->desc.size, packet_count = 2 * size * NBC__PACKETS_SLOTS;
  size_t rings_at = (sizeof(nbc__packets_shared) + 127) & ~(size_t)127;
  size_t bytes = rings_at + sizeof(nbc__job_ring);
  if (w->desc.fragment_bytes > (SIZE_MAX / 4) / packet_count) return NBC_E_NOMEM;
  w->shared = (nbc__packets_shared *)NBC_MALLOC(bytes);
  if (!w->shared) return NBC_E_NOMEM;
  memset(w->shared, 0, bytes);
  w->shared->rings = (nbc__job_ring *)(void *)((char *)w->shared + rings_at);
  /* Allocation is collective and gives the same symmetric address everywhere: all elements ask for
     the same sizes in the same order. */
  w->shared->packets = (nbc__packet *)shmem_calloc(packet_count, sizeof(nbc__packet));
  w->shared->payload = (unsigned char *)shmem_malloc(packet_count * (size_t)w->desc.fragment_bytes);
  shmem_barrier_all(); /* nobody puts before all rings are clean */
  return w->shared->packets && w->shared->payload ? NBC_OK : NBC_E_NOMEM;
}

static nbc_status nbc__shmem_rank(nbc_threads *w, int me) {
  size_t bytes = sizeof(nbc__packets_rank) + (size_t)w->desc.size * sizeof(nbc__packets_peer);
  nbc__packets_rank *r = (nbc__packets_rank *)NBC_MALLOC(bytes);
  if (!(w->ranks = r)) return NBC_E_NOMEM;
  memset(r, 0, bytes);
  r->world = w;
  r->ring = w->shared->rings;
  r->peers = (nbc__packets_peer *)(void *)(r + 1);
  nbc__packets_contract(r, me);
  r->t.name = "shmem";
  r->t.help = "over OpenSHMEM, rings in the symmetric heap";
  r->t.peer_class = nbc__shmem_peer_class;
  r->t.same_clock = NULL;
  return NBC_OK;
}

/* Collective as far as the symmetric heap goes. */
static void nbc__shmem_free(nbc_threads *w) {
  if (w->shared) {
    shmem_barrier_all(); /* nobody still puts into what goes away */
    shmem_free(w->shared->payload);
    shmem_free(w->shared->packets);
  }
  if (w->ranks) nbc__packets_free_unexpected(w->ranks[0].peers, (size_t)w->desc.size);
  NBC_FREE(w->ranks);
  NBC_FREE(w->shared);
  NBC_FREE(w);
}

NBC_API nbc_status nbc_shmem_create(const nbc_shmem_desc *desc, nbc_transport **t, nbc_error *err) {
  nbc_status status;
  nbc_threads *w;
  if (!t) return nbc__status_fail(err, NBC_E_INVAL, 0, "t is NULL");
  *t = NULL;
  if (!(w = (nbc_threads *)NBC_MALLOC(sizeof *w)))
    return nbc__status_fail(err, NBC_E_NOMEM, 0, "out of memory");
  memset(w, 0, sizeof *w);
  w->desc.size = shmem_n_pes();
  w->desc.processes = true; /* nobody reaches into another's buffers */
  w->desc.fragment_bytes = desc && desc->fragment_bytes ? desc->fragment_bytes : 16 << 10;
  w->desc.eager_limit_bytes = desc ? desc->eager_limit_bytes : 0;
  w->desc.pipeline_depth = desc && desc->pipeline_depth ? desc->pipeline_depth : 4;
  w->put = nbc__shmem_put;
  w->release = nbc__shmem_release;
  w->poll = nbc__shmem_poll;
  if ((status = nbc__packets_defaults(&w->desc)))
    nbc__status_fail(err, status, 0, "more than %d elements, or a field out of range",
                     NBC__PACKETS_MAX_RANKS);
  else if ((status = nbc_clock_create(NULL, &w->clock)))
    nbc__status_fail(err, status, 0, "%s", w->clock.why);
  else if ((status = nbc__shmem_map(w)))
    nbc__status_fail(err, status, 0,
                     "symmetric heap: %zu bytes are not free (see SHMEM_SYMMETRIC_SIZE)",
                     2 * (size_t)w->desc.size * NBC__PACKETS_SLOTS *
                         (sizeof(nbc__packet) + (size_t)w->desc.fragment_bytes));
  else if ((status = nbc__shmem_rank(w, shmem_my_pe())))
    nbc__status_fail(err, status, 0, "out of memory");
  w->desc.clock = &w->clock;
  if (status)
    nbc__shmem_free(w);
  else
    *t = &w->ranks[0].t;
  return status;
}

NBC_API void nbc_shmem_destroy(nbc_transport *t) {
  if (t) nbc__shmem_free(((nbc__packets_rank *)t->ctx)->world);
}
#endif /* NBC_WITH_SHMEM */
