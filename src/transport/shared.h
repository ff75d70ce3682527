/* Memory that the ranks of a node share: one ring of messages for each ordered pair. */
#pragma once
#include "../base/config.h"

/* ---- for later pieces ---- */
#ifdef NBC_WITH_MPI
/* The sender of a pair alone writes `head_bytes`, the receiver alone `tail_bytes`: each publishes with a
   release what the other acquires, so there is no lock. Both count without wrapping. */
typedef struct nbc__shared_ring {
  uint64_t head_bytes; /* atomic: written so far */
  uint64_t pad1_bytes[7];
  uint64_t tail_bytes; /* atomic: read so far */
  uint64_t pad2_bytes[7];
} nbc__shared_ring;

/* One side's view of a ring. */
typedef struct nbc__shared_end {
  nbc__shared_ring *ring; /* its bytes follow it; NULL: no memory is shared with this peer */
  uint64_t own_bytes;     /* what this side has counted */
  uint64_t other_bytes;   /* what the other side was last seen to have counted */
} nbc__shared_end;

typedef struct nbc__shared {
  unsigned char *base; /* NULL: nothing is shared */
  size_t all_bytes;
  uint64_t ring_bytes; /* of one ring: a power of 2 */
  int size;
} nbc__shared;

/* What the maker tells the others. */
typedef struct nbc__shared_card {
  uint64_t token[2];
  int pid, fd, size; /* fd < 0: there is no memory */
} nbc__shared_card;

NBC__PRIVATE void nbc__shared_make(nbc__shared *s, int size, nbc__shared_card *card);
NBC__PRIVATE void nbc__shared_join(nbc__shared *s, const nbc__shared_card *card);
NBC__PRIVATE void nbc__shared_leave(nbc__shared *s);
NBC__PRIVATE nbc__shared_end nbc__shared_open(const nbc__shared *s, int from, int to);
NBC__PRIVATE uint64_t nbc__shared_most_bytes(const nbc__shared *s);
NBC__PRIVATE bool nbc__shared_put(const nbc__shared *s, nbc__shared_end *e, const void *header,
                                  size_t header_bytes, const void *data, size_t data_bytes);
NBC__PRIVATE bool nbc__shared_peek(const nbc__shared *s, nbc__shared_end *e, void *header,
                                   size_t header_bytes);
NBC__PRIVATE size_t nbc__shared_arrived(nbc__shared_end *e, size_t at_bytes, size_t bytes);
NBC__PRIVATE void nbc__shared_copy(const nbc__shared *s, const nbc__shared_end *e, size_t at_bytes,
                                   void *to, size_t bytes);
NBC__PRIVATE void nbc__shared_release(nbc__shared_end *e, size_t bytes);
#endif
