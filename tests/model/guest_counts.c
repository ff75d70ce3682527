/* A guest of pm_run whose processes compute in loops that change nothing but memory: their registers are the same in
   each round, as those of a loop that waits are. Process k runs loop k and says what came out. */
#include <pmi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile int x;
static volatile long y, digits[16];
static char text[4096];
static volatile double vector[64];
static long rounds; /* of the fastest loops */

#if defined(__x86_64__)
static long subtracts(void) {
  x = (int)rounds;
  __asm__ volatile("1: subl $1, %0\n jne 1b" : "+m"(x)::"cc", "memory");
  return x + 1;
}
static long increments(void) {
  x = -(int)rounds;
  __asm__ volatile("1: incl %0\n jne 1b" : "+m"(x)::"cc", "memory");
  return x + 1;
}
static long decrements_locked(void) {
  x = (int)rounds;
  __asm__ volatile("1: lock decl %0\n jne 1b" : "+m"(x)::"cc", "memory");
  return x + 1;
}
static long compares_and_exchanges(void) {
  y = 0;
  __asm__ volatile("1: mov %0, %%rax\n lea 1(%%rax), %%rcx\n lock cmpxchg %%rcx, %0\n xor %%eax, %%eax\n xor %%ecx, %%ecx\n cmp %1, %0\n jne 1b"
                   : "+m"(y)
                   : "r"(rounds)
                   : "rax", "rcx", "cc", "memory");
  return y == rounds;
}
static long adds_by_exchange(void) {
  y = 0;
  __asm__ volatile("1: mov $1, %%eax\n lock xadd %%rax, %0\n xor %%eax, %%eax\n cmp %1, %0\n jl 1b" : "+m"(y) : "r"(rounds) : "rax", "cc", "memory");
  return y == rounds;
}
/* The counter lies on the stack, and deep in it */
static long pushes(void) {
  long n = rounds;
  __asm__ volatile("lea -512(%%rsp), %%rsp\n push %0\n 1: pop %%rax\n dec %%rax\n push %%rax\n mov $0, %%eax\n cmpq $0, (%%rsp)\n jne 1b\n"
                   " lea 520(%%rsp), %%rsp"
                   : "+r"(n)
                   :
                   : "rax", "cc", "memory");
  return n == rounds;
}
static long stores_repeatedly(void) { /* all registers as before: the count is in what is stored */
  y = 0;
  __asm__ volatile("1: lea %1, %%rdi\n mov $512, %%ecx\n mov %0, %%rax\n rep stosq\n incq %0\n xor %%eax, %%eax\n cmp %2, %0\n jl 1b"
                   : "+m"(y), "=m"(text)
                   : "r"(rounds / 100)
                   : "rax", "rcx", "rdi", "cc", "memory");
  return text[0] == (char)(rounds / 100 - 1);
}
static long adds_vectors(void) { /* the count is the sum in the vector's memory */
  double one[2] = {1, 1};
  vector[0] = vector[1] = 0;
  y = rounds / 2;
  __asm__ volatile("1: movupd %0, %%xmm0\n addpd %1, %%xmm0\n movupd %%xmm0, %0\n xorpd %%xmm0, %%xmm0\n decq %2\n jne 1b"
                   : "+m"(*(double (*)[2])(void *)(uintptr_t)vector), "+m"(one), "+m"(y)
                   :
                   : "xmm0", "cc", "memory");
  return (long)vector[1] == rounds / 2;
}
static long adds_long_doubles(void) {
  static long double d;
  d = 0;
  while (d < (long double)(rounds / 4)) {
    d += 1;
    __asm__ volatile("" ::: "memory");
  }
  return d >= 1;
}
#define OF_THE_PROCESSOR                                                                                                                                       \
  subtracts, increments, decrements_locked, compares_and_exchanges, adds_by_exchange, pushes, stores_repeatedly, adds_vectors, adds_long_doubles,
#else
#define OF_THE_PROCESSOR
#endif
static long counts_down(void) {
  x = (int)rounds;
  while (--x) {
  }
  return x + 1;
}
static long fetches_and_adds(void) {
  y = 0;
  while (__atomic_fetch_add(&y, 1, __ATOMIC_SEQ_CST) < rounds) {
  }
  return y > rounds;
}
static __attribute__((noinline)) void bump(void) { x++; }
static void (*volatile bumps)(void) = bump;
static long calls(void) {
  x = 0;
  while (x < rounds / 2) bump();
  return x == rounds / 2;
}
static long calls_by_pointer(void) {
  x = 0;
  while (x < rounds / 2) bumps();
  return x == rounds / 2;
}
static __attribute__((noinline)) int deep(int n) {
  volatile char room[200];
  room[0] = (char)n;
  if (n == 0) x++;
  return n ? deep(n - 1) + room[0] * 0 : 0;
}
static long recurses(void) {
  x = 0;
  while (x < rounds / 20) deep(5);
  return x == rounds / 20;
}
static long carries(void) { /* a number of six digits, each in memory */
  int i;
  memset((void *)(uintptr_t)digits, 0, sizeof digits);
  do {
    for (i = 0; ++digits[i] == 10; i++) digits[i] = 0;
  } while (i < 6);
  return digits[6] == 1;
}
static long nests(void) {
  for (x = 0; x < rounds / 100; x++)
    for (digits[0] = 0; digits[0] < 50; digits[0]++) digits[1] = digits[0];
  return x == rounds / 100;
}
static long prints_and_reads(void) {
  for (x = 0; x < rounds / 100;) {
    snprintf(text, sizeof text, "%d", x);
    x = atoi(text) + 1;
  }
  return x == rounds / 100;
}
static long draws(void) { /* random numbers, until one of them comes */
  static volatile unsigned s;
  s = 1;
  do s = s * 1664525u + 1013904223u;
  while (s >> 8 != 0x123456);
  return 1;
}
int main(int argc, char **argv) {
  static long (*const loops[])(void) = {OF_THE_PROCESSOR counts_down, fetches_and_adds, calls, calls_by_pointer, recurses, carries, nests, prints_and_reads, draws};
  const int count = (int)(sizeof loops / sizeof *loops);
  int spawned, rank;
  rounds = argc > 1 ? atol(argv[1]) : 6000000;
  PMI_Init(&spawned);
  PMI_Get_rank(&rank);
  printf("loop %d: %s\n", rank % count, loops[rank % count]() == 1 ? "right" : "wrong");
  return 0;
}
