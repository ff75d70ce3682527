/* A guest of pm_run with a kernel of its own that --kernels replaces, and memory that --fold folds. */
#include "guest_must.h"
#include <pmi.h>
#include <string.h>

__attribute__((noinline)) int heavy(int m, double weight, const int *n, int k) {
  volatile double sum = weight;
  for (int i = 0; i < m * *n * k; i++) sum += 1;
  return (int)sum;
}
int main(void) {
  int spawned;
  const int n = 20;
  const size_t bytes = 3 << 20;
  PMI_Init(&spawned);
  PMI_Get_rank(&rank);
  const long t_ns = now_ns();
  const int result = heavy(10, 7, &n, 30);
  printf("%d: heavy %d took %ld ns\n", rank, result, (now_ns() - t_ns) / 1000 * 1000);
  /* a compiler may know what lies in memory that nobody else has seen */
  char *volatile large = malloc(bytes), *small = malloc(1000), *volatile more = calloc(1, bytes);
  memset(large, rank + 1, bytes);
  memset(small, rank + 1, 1000);
  PMI_Barrier();
  large = realloc(large, 2 * bytes);
  printf("%d: large is %s, small is mine: %d\n", rank, large[5] == rank + 1 && !more[5] ? "mine" : "folded", small[999] == rank + 1);
  free(large), free(small), free(more);
  return 0;
}
