/* A guest of pm_run with a region that is sampled 4 times of 40: says how often the body ran. Argument "sleeps":
   the body does; "all": processes share. */
#include "../../tools/pm_sample.h"
#include <pmi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int ran;
static void body(int sleeps) {
  volatile double sum = 0;
  for (int i = 0; i < 20000 + 5000 * ran; i++) sum += i;
  if (sleeps) usleep(10);
  ran++;
}
int main(int argc, char **argv) {
  int spawned, rank;
  const int sleeps = argc > 1 && strcmp(argv[1], "sleeps") == 0, shares = argc > 1 && strcmp(argv[1], "all") == 0;
  PMI_Init(&spawned);
  PMI_Get_rank(&rank);
  for (int i = 0; i < 40; i++) {
    if (shares)
      PM_SAMPLE_ALL("body", 4) body(sleeps);
    else
      PM_SAMPLE("body", 4) body(sleeps);
    PMI_Barrier();
  }
  printf("%d: ran %d\n", rank, ran);
  return 0;
}
