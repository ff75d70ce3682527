/* shared.c: memory that the ranks of a node share: rings of messages. */
#include "shared.h"

/* ============================================================================================== */
/* [MPI] 13. The transport over MPI                                                               */
/* ============================================================================================== */
#ifdef NBC_WITH_MPI
/* A file that is in memory only and has no name: it is gone when the last process that mapped it is. The
   others open it by way of its maker's descriptor; what they find there must begin with the token
   that the maker told them. Its room is taken at once: a file that grows later would end a process
   by a signal when memory runs out. */
enum {
  NBC__SHARED_STEP = 64, /* messages begin on cache lines */
  NBC__SHARED_PAGE = 4096,
  NBC__SHARED_PIECE = 8192, /* published at once */
  NBC__SHARED_MOST_RANKS = 128,
  NBC__SHARED_MOST_BYTES = 16 << 20, /* of all rings, as long as each has */
  NBC__SHARED_LEAST_RING = 4096,
  NBC__SHARED_MOST_RING = 64 << 10
};

static uint64_t nbc__shared_stride(const nbc__shared *s) {
  return sizeof(nbc__shared_ring) + s->ring_bytes;
}

static void nbc__shared_layout(nbc__shared *s, int size) {
  const uint64_t pairs = (uint64_t)size * (uint64_t)size;
  s->size = size;
  s->ring_bytes = NBC__SHARED_MOST_RING;
  while (s->ring_bytes > NBC__SHARED_LEAST_RING && s->ring_bytes * pairs > NBC__SHARED_MOST_BYTES)
    s->ring_bytes /= 2;
  s->all_bytes = (size_t)(NBC__SHARED_PAGE + pairs * nbc__shared_stride(s));
}

#  ifdef SYS_memfd_create
static bool nbc__shared_map(nbc__shared *s, int fd) {
  const int at_once = s->all_bytes <= 4 << 20 ? MAP_POPULATE : 0;
  void *const base = mmap(NULL, s->all_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | at_once, fd, 0);
  s->base = base == MAP_FAILED ? NULL : (unsigned char *)base;
  return s->base != NULL;
}
#  endif

/* For `size` ranks. card->fd < 0: it cannot be had. */
NBC__PRIVATE void nbc__shared_make(nbc__shared *s, int size, nbc__shared_card *card) {
  memset(s, 0, sizeof *s);
  memset(card, 0, sizeof *card);
  card->fd = -1;
  card->size = size;
  card->pid = (int)getpid();
#  ifdef SYS_memfd_create
  if (size < 2 || size > NBC__SHARED_MOST_RANKS) return;
  const int fd = (int)syscall(SYS_memfd_create, "nbc_ranks_of_a_node", 1u /* close on exec */);
  if (fd < 0) return;
  nbc__shared_layout(s, size);
  if (posix_fallocate(fd, 0, (off_t)s->all_bytes) == 0 && nbc__shared_map(s, fd)) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    card->token[0] = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
    card->token[1] = (uint64_t)(uintptr_t)s->base ^ (uint64_t)card->pid << 40;
    memcpy(s->base, card->token, sizeof card->token);
    card->fd = fd; /* until all have it */
  } else {
    close(fd);
  }
#  endif
}

NBC__PRIVATE void nbc__shared_join(nbc__shared *s, const nbc__shared_card *card) {
  memset(s, 0, sizeof *s);
  if (card->fd < 0) return;
#  ifdef SYS_memfd_create
  char path[64];
  struct stat about;
  nbc__shared_layout(s, card->size);
  snprintf(path, sizeof path, "/proc/%d/fd/%d", card->pid, card->fd);
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  /* In containers the number may be another process's: look before mapping. */
  uint64_t token[2] = {0, 0};
  if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode) &&
      (uint64_t)about.st_size == (uint64_t)s->all_bytes &&
      pread(fd, token, sizeof token, 0) == (ssize_t)sizeof token &&
      memcmp(token, card->token, sizeof token) == 0)
    (void)nbc__shared_map(s, fd);
  close(fd);
#  endif
}

NBC__PRIVATE void nbc__shared_leave(nbc__shared *s) {
  if (s->base) munmap(s->base, s->all_bytes);
  s->base = NULL;
}

NBC__PRIVATE nbc__shared_end nbc__shared_open(const nbc__shared *s, int from, int to) {
  nbc__shared_end e = {NULL, 0, 0};
  const uint64_t pair = (uint64_t)from * (uint64_t)s->size + (uint64_t)to;
  if (s->base)
    e.ring =
        (nbc__shared_ring *)(void *)(s->base + NBC__SHARED_PAGE + pair * nbc__shared_stride(s));
  return e;
}

/* What a message may have, its header included: several have room. */
NBC__PRIVATE uint64_t nbc__shared_most_bytes(const nbc__shared *s) { return s->ring_bytes / 3; }

static uint64_t nbc__shared_room(size_t bytes) {
  return ((uint64_t)bytes + NBC__SHARED_STEP - 1) & ~(uint64_t)(NBC__SHARED_STEP - 1);
}

/* In both directions: the part up to the ring's end, then the rest from its beginning. Counts
   grow without end; a count's place is its lowest bits, so a ring's length must be a power of 2.

     | free | tail: message | message | first pieces of one | head: free |

     sender     own_bytes is the head, other_bytes the tail as last seen: there may be more room
     receiver   own_bytes is the tail, other_bytes the head as last seen: there may be more to read
*/
static void nbc__shared_write(const nbc__shared *s, const nbc__shared_end *e, uint64_t at,
                              const void *from, size_t bytes) {
  unsigned char *const ring = (unsigned char *)(e->ring + 1);
  const size_t place = (size_t)(at & (s->ring_bytes - 1)), left = (size_t)s->ring_bytes - place;
  const size_t first = bytes < left ? bytes : left;
  if (first) memcpy(ring + place, from, first);
  if (bytes > first) memcpy(ring, (const unsigned char *)from + first, bytes - first);
}
static void nbc__shared_read(const nbc__shared *s, const nbc__shared_end *e, uint64_t at, void *to,
                             size_t bytes) {
  const unsigned char *const ring = (const unsigned char *)(e->ring + 1);
  const size_t place = (size_t)(at & (s->ring_bytes - 1)), left = (size_t)s->ring_bytes - place;
  const size_t first = bytes < left ? bytes : left;
  if (first) memcpy(to, ring + place, first);
  if (bytes > first) memcpy((unsigned char *)to + first, ring, bytes - first);
}

/* False: there is no room now. Long ones are published piece by piece: the receiver copies the
   first while the next is written. The first piece is published with the whole header, which
   nbc__shared_peek relies on, and only when there is room for all: a receiver that has seen a
   beginning will see the end without doing anything. The other side's counter is read, a cache
   line that is mostly the other core's, only when what was last seen of it is not enough. */
NBC__PRIVATE bool nbc__shared_put(const nbc__shared *s, nbc__shared_end *e, const void *header,
                                  size_t header_bytes, const void *data, size_t data_bytes) {
  const uint64_t bytes = nbc__shared_room(header_bytes + data_bytes);
  if (e->own_bytes + bytes - e->other_bytes > s->ring_bytes) {
    e->other_bytes = __atomic_load_n(&e->ring->tail_bytes, __ATOMIC_ACQUIRE);
    if (e->own_bytes + bytes - e->other_bytes > s->ring_bytes) return false;
  }
  nbc__shared_write(s, e, e->own_bytes, header, header_bytes);
  for (size_t at = 0; at < data_bytes; at += NBC__SHARED_PIECE) {
    const size_t left = data_bytes - at;
    const bool is_last = left <= NBC__SHARED_PIECE;
    nbc__shared_write(s, e, e->own_bytes + header_bytes + at, (const unsigned char *)data + at,
                      is_last ? left : (size_t)NBC__SHARED_PIECE);
    if (is_last) break;
    __atomic_store_n(&e->ring->head_bytes, e->own_bytes + header_bytes + at + NBC__SHARED_PIECE,
                     __ATOMIC_RELEASE);
  }
  e->own_bytes += bytes;
  __atomic_store_n(&e->ring->head_bytes, e->own_bytes, __ATOMIC_RELEASE);
  return true;
}

/* The header of the next message; false: there is none. */
NBC__PRIVATE bool nbc__shared_peek(const nbc__shared *s, nbc__shared_end *e, void *header,
                                   size_t header_bytes) {
  if (e->own_bytes == e->other_bytes) {
    e->other_bytes = __atomic_load_n(&e->ring->head_bytes, __ATOMIC_ACQUIRE);
    if (e->own_bytes == e->other_bytes) return false;
  }
  nbc__shared_read(s, e, e->own_bytes, header, header_bytes);
  return true;
}

/* How many more of its `bytes` (header and data) are there, beyond the first at_bytes. */
NBC__PRIVATE size_t nbc__shared_arrived(nbc__shared_end *e, size_t at_bytes, size_t bytes) {
  if (e->other_bytes - e->own_bytes < bytes)
    e->other_bytes = __atomic_load_n(&e->ring->head_bytes, __ATOMIC_ACQUIRE);
  const uint64_t there = e->other_bytes - e->own_bytes;
  return (there < bytes ? (size_t)there : bytes) - at_bytes;
}

NBC__PRIVATE void nbc__shared_copy(const nbc__shared *s, const nbc__shared_end *e, size_t at_bytes,
                                   void *to, size_t bytes) {
  nbc__shared_read(s, e, e->own_bytes + at_bytes, to, bytes);
}

/* The whole message has been copied: its room is the sender's again. */
NBC__PRIVATE void nbc__shared_release(nbc__shared_end *e, size_t bytes) {
  e->own_bytes += nbc__shared_room(bytes);
  __atomic_store_n(&e->ring->tail_bytes, e->own_bytes, __ATOMIC_RELEASE);
}
#endif /* NBC_WITH_MPI */
