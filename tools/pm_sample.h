/* Question: must every round of my loop be computed, when all rounds take the same kind of time?

   Under pm_run the body after PM_SAMPLE(name, count) runs `count` times in each process, and its CPU time is
   measured; from then on it is skipped, and a time drawn from those that were measured passes instead. With
   PM_SAMPLE_ALL the processes share their measurements: the body runs `count` times in all. Anywhere else, and
   when count is less than 1, the body simply runs.

     #include "pm_sample.h"
     for (int step = 0; step < 1000; step++) {
       PM_SAMPLE("stencil", 20) update(grid, n);   // computes only: no MPI in it
       exchange(grid, n);
     }

   What the body would have computed is missing after that: results are wrong, times are not, as with --kernels.
   A body that communicates or sleeps is not skipped, and pm_run says so. A body that is left by break, goto
   or return is not measured. Times are those of this host; with --compute RATIO times RATIO, else as they are.
   The generator of --seed draws; what is measured differs from run to run. name: a string that stays. Works
   in C99 and C++11 on, needs no library: the two functions are weak, pm_run has them. Thread safety: from
   any thread of a simulated process. */
#ifndef PM_SAMPLE_H
#define PM_SAMPLE_H
#ifdef __cplusplus
extern "C" {
#endif
/* ret 1: run the body, then call the end; 0: its time has passed. count: measurements; negative: shared by all */
__attribute__((weak)) int pm_sample_begin(const char *name, int count);
__attribute__((weak)) void pm_sample_end(const char *name);
#ifdef __cplusplus
}
#endif
#define PM_SAMPLE(name, count)                                                                     \
  for (int pm__runs = pm_sample_begin ? pm_sample_begin(name, count) : 1; pm__runs;                \
       pm__runs = 0, pm_sample_end ? pm_sample_end(name) : (void)0)
#define PM_SAMPLE_ALL(name, count) PM_SAMPLE(name, -(count))
#endif
