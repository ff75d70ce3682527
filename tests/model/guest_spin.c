/* A guest of pm_run whose two processes take turns, each waiting for a word in its memory: as atomics
   of OpenSHMEM do. Arguments: how many turns, and perhaps "among", to look for the word among others, or
   "locked", to look at a copy that is made under a lock; or
   "compute": no turns, a long computation; "count": one in a loop of loops that counts in memory; "foreign": process 1
   computes in a function of process 0's copy, as it may where libc calls what another one gave it; "step": SIGTRAP, of
   which the processor does not say why. */
#ifndef _GNU_SOURCE
#  define _GNU_SOURCE
#endif
#include <portals4.h>
#include <pmi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

static volatile long turn;
static volatile long others[7]; /* words that nobody writes */
static long local;
static int rank;
static void must(int good, const char *what) {
  if (good) return;
  fprintf(stderr, "guest %d: %s\n", rank, what);
  exit(9);
}
static double compute(int n) { /* not a spin: its registers change */
  double sum = 0;
  for (int i = 1; i < n; i++) sum += 1.0 / i;
  return sum;
}
/* Which of the words is at least i: a loop in the loop that waits. */
static int among(long i) {
  for (int k = 0; k < 8; k++)
    if ((k == 4 ? turn : others[k % 7]) >= i) return k;
  return -1;
}
/* A look that writes: all of it is as it was when it has ended. */
static volatile int lock;
static struct {
  long word, looks;
  char room[600];
} copy;
static __attribute__((noinline)) int locked(long i) {
  while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE)) {
  }
  memset(copy.room, 7, sizeof copy.room);
  __asm__ volatile(".rept 500\n nop\n .endr"); /* most ticks find it here, far from any jump */
  copy.looks++;
  copy.word = turn;
  const int is_there = copy.word >= i;
  copy.looks--;
  __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
  return is_there;
}
/* In the inner loop all registers and the top of the stack are the same in every round of the outer one. */
static volatile long count;
static volatile char written[16];
static __attribute__((noinline)) void write_all(void) {
  for (int k = 0; k < 16; k++) written[k] = (char)k;
}
static int count_alone(void) {
  for (count = 0; count < 10000000; count++) write_all();
  printf("counted to %ld\n", count);
  return written[7] != 7;
}
/* Every process computes for longer than --spin and calls nothing: no time passes. */
static int compute_alone(void) {
  const double sum = compute(100000000);
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  printf("sum %.3f after %d us\n", sum, (int)(t.tv_nsec / 1000) + (int)t.tv_sec * 1000000);
  return 0;
}
static __attribute__((noinline)) long steps(volatile long *n) {
  long odd = 0;
  for (long i = 0; i < *n; i++) odd += i & 1;
  return odd;
}
static int foreign(void) {
  enum { BYTES = 64 }; /* of the function, its loop among them */
  char value[64], text[BYTES];
  void *address;
  long n = 100;
  int spawned, calls = 0;
  long (*volatile its)(volatile long *) = steps;
  PMI_Init(&spawned);
  PMI_Get_rank(&rank);
  memcpy(&address, (void *)&its, sizeof address);
  snprintf(value, sizeof value, "%p", address);
  if (rank == 0) PMI_KVS_Put("", "steps", value);
  PMI_Barrier();
  must(PMI_KVS_Get("", "steps", value, sizeof value) == PMI_SUCCESS && sscanf(value, "%p", &address) == 1, "PMI_KVS_Get");
  memcpy((void *)&its, &address, sizeof address);
  memcpy(text, address, BYTES);
  while (rank == 1 && calls++ < 2000000 && memcmp(text, address, BYTES) == 0) must(its(&n) == n / 2, "steps of process 0");
  PMI_Barrier();
  must(its(&n) == n / 2, "steps");
  printf("%d calls\n", calls);
  return 0;
}
/* A step of the processor that comes as if nobody had asked for it: what stands behind is run as it stands there. Were it
   run from a byte before, it would add 0x90909090. */
static int step(void) {
#ifdef __x86_64__
  siginfo_t info;
  long pid, thread, rc;
  memset(&info, 0, sizeof info);
  info.si_signo = SIGTRAP, info.si_code = TRAP_BRKPT;
  __asm__ volatile("syscall" : "=a"(pid) : "0"(SYS_getpid) : "rcx", "r11", "memory");
  __asm__ volatile("syscall" : "=a"(thread) : "0"(SYS_gettid) : "rcx", "r11", "memory");
  register siginfo_t *told __asm__("r10") = &info;
  __asm__ volatile("syscall\n nop\n nop\n nop\n nop" : "=a"(rc) : "0"(SYS_rt_tgsigqueueinfo), "D"(pid), "S"(thread), "d"(SIGTRAP), "r"(told) : "rcx", "r11", "memory");
  return printf("step: %ld\n", rc) < 0;
#else
  return puts("step: 0") < 0; /* elsewhere pm_run has no traps */
#endif
}
int main(int argc, char **argv) {
  const long turns = argc > 1 ? atol(argv[1]) : 100;
  const int is_locked = argc > 2 && strcmp(argv[2], "locked") == 0;
  const int is_among = argc > 2 && strcmp(argv[2], "among") == 0;
  int spawned;
  if (argc > 1 && strcmp(argv[1], "compute") == 0) return compute_alone();
  if (argc > 1 && strcmp(argv[1], "count") == 0) return count_alone();
  if (argc > 1 && strcmp(argv[1], "foreign") == 0) return foreign();
  if (argc > 1 && strcmp(argv[1], "step") == 0) return step();
  char key[32], value[64];
  ptl_handle_ni_t ni;
  ptl_handle_md_t md_handle;
  ptl_handle_le_t le_handle;
  ptl_pt_index_t pt;
  ptl_process_t id;
  PMI_Init(&spawned);
  PMI_Get_rank(&rank);
  must(PtlInit() == PTL_OK && PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_NO_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &ni) == PTL_OK, "PtlNIInit");
  must(PtlGetPhysId(ni, &id) == PTL_OK && PtlPTAlloc(ni, 0, PTL_EQ_NONE, 7, &pt) == PTL_OK, "PtlPTAlloc");
  ptl_le_t le = {(void *)(uintptr_t)&turn, sizeof turn, PTL_CT_NONE, PTL_UID_ANY, PTL_LE_OP_PUT};
  ptl_md_t md = {&local, sizeof local, 0, PTL_EQ_NONE, PTL_CT_NONE};
  must(PtlLEAppend(ni, pt, &le, PTL_PRIORITY_LIST, NULL, &le_handle) == PTL_OK && PtlMDBind(ni, &md, &md_handle) == PTL_OK, "PtlLEAppend");
  snprintf(key, sizeof key, "id-%d", rank);
  snprintf(value, sizeof value, "%u %u", id.phys.nid, id.phys.pid);
  PMI_KVS_Put("", key, value);
  PMI_Barrier();
  snprintf(key, sizeof key, "id-%d", 1 - rank);
  must(PMI_KVS_Get("", key, value, sizeof value) == PMI_SUCCESS && sscanf(value, "%u %u", &id.phys.nid, &id.phys.pid) == 2, "PMI_KVS_Get");
  const double sum = compute(30000000);
  for (long i = rank; i < turns; i += 2) {
    while (is_among && i && among(i) < 0) {
    }
    while (is_locked && !locked(i)) {
    }
    while (turn < i) {
    }
    local = i + 1;
    must(PtlPut(md_handle, 0, sizeof local, PTL_NO_ACK_REQ, id, pt, 0, 0, NULL, 0) == PTL_OK, "PtlPut");
    if (i + 1 == turns) break;
    while (turn < i + 1 && i + 2 < turns) {
    }
  }
  PMI_Barrier();
  if (rank == 0) printf("%ld turns, sum %.3f\n", turns, sum);
  return 0;
}
