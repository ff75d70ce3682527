/* A guest of pm_run whose kernel --measure-kernels measures: 30 calls of three sizes, the smallest first. Says how often
   the kernel really ran, and whether what it was given and what it returned arrived whole. */
#include <pmi.h>
#include <stdio.h>

static int ran, wrong;
/* Nine integers: three are on the stack; two vectors; a result in a vector. */
__attribute__((noinline)) double heavy(int m, double weight, int n, int k, int d, int e, int f, int g, float part, int h, int i) {
  volatile double sum = 0;
  for (long long j = 0; j < (long long)m * n * k; j++) sum += 1e-9;
  ran++;
  if (weight != 2.5 || part != 0.5F || d != 4 || e != 5 || f != 6 || g != 7 || h != 8 || i != 9) wrong++;
  return sum + weight;
}
int main(void) {
  int spawned, rank, good = 0;
  PMI_Init(&spawned);
  PMI_Get_rank(&rank);
  for (int i = 0; i < 30; i++) {
    const int size = 20 << i % 3;
    const double result = heavy(size, 2.5, size, 10, 4, 5, 6, 7, 0.5F, 8, 9);
    if (result > 2.5) good++;
    else if (result != 0) wrong++;
    PMI_Barrier();
  }
  printf("%d: ran %d, gave %d, wrong %d\n", rank, ran, good, wrong);
  return 0;
}
