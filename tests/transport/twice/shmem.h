/* shmem.h: as much of OpenSHMEM as nbc_overlap.h calls, with threads as elements. A word put is stored
   twice, the second time some calls later, as a memcpy of four bytes may when its two overlapping stores
   are torn apart; the next put of the element comes after it, as in program order. */
#ifndef SHMEM_H_INCLUDED
#define SHMEM_H_INCLUDED
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#define SHMEM_CMP_LT 1

enum { TWICE_MAX_PES = 8, TWICE_HEAP_BYTES = 8 << 20 };
extern int twice_pes;
extern unsigned char *twice_heap[TWICE_MAX_PES]; /* the symmetric heaps */
extern pthread_barrier_t twice_barrier;
extern __thread int twice_me;
extern __thread size_t twice_used_bytes;
extern __thread uint32_t *twice_word, twice_value, twice_in; /* what is stored again, after so many calls */

static inline void twice_now(void) {
  if (twice_word) __atomic_store_n(twice_word, twice_value, __ATOMIC_RELEASE);
  twice_word = NULL;
}
static inline void *twice_there(const void *here, int pe) {
  return twice_heap[pe] + ((const unsigned char *)here - twice_heap[twice_me]);
}
static inline int shmem_n_pes(void) { return twice_pes; }
static inline int shmem_my_pe(void) { return twice_me; }
static inline void *shmem_ptr(const void *here, int pe) { return twice_there(here, pe); }
static inline void shmem_barrier_all(void) {
  twice_now();
  pthread_barrier_wait(&twice_barrier);
}
static inline void *shmem_malloc(size_t bytes) {
  void *p = twice_heap[twice_me] + twice_used_bytes;
  bytes = (bytes + 127) & ~(size_t)127;
  if (bytes > TWICE_HEAP_BYTES - twice_used_bytes) return NULL;
  twice_used_bytes += bytes;
  return p;
}
static inline void *shmem_calloc(size_t count, size_t bytes) {
  void *p = shmem_malloc(count * bytes);
  if (p) memset(p, 0, count * bytes);
  return p;
}
static inline void shmem_free(void *p) { (void)p; }
static inline void shmem_fence(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
static inline void shmem_putmem(void *there, const void *here, size_t bytes, int pe) {
  twice_now();
  memcpy(twice_there(there, pe), here, bytes);
}
static inline void shmem_uint32_p(uint32_t *there, uint32_t value, int pe) {
  twice_now();
  twice_word = (uint32_t *)twice_there(there, pe);
  twice_value = value;
  twice_in = twice_value % 7 * 3;
  __atomic_store_n(twice_word, value, __ATOMIC_RELEASE);
}
static inline int shmem_uint32_test(uint32_t *here, int cmp, uint32_t value) {
  if (twice_in-- == 0) twice_now();
  return cmp == SHMEM_CMP_LT && __atomic_load_n(here, __ATOMIC_ACQUIRE) < value;
}
#endif
