/* Question: would my program run faster if it gave one of its cores to communication?

   Run:      make examples && build/06_predict
   Expected (the same on every machine: these are numbers of a program, not of this one):

     cores   with all computing   one for communication   speed-up
         4                 1.30                    1.44       0.90
         8                 0.80                    0.68       1.19
        16                 0.55                    0.37       1.49
        32                 0.42                    0.23       1.84

   A core for communication is one less for computation, so it pays where the computation that is left hides
   more than that core would have computed [R eq. 6.1]. The numbers here are those that a report of
   the overlap preload holds; nbc_dedicated_from_report takes them from there, and the command dedicated_core
   does all of this for a folder of reports. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#include <string.h>

/* A stencil on one node: 4 s of computation for one core, and each of 100 steps waits 2 ms for its halo. */
static nbc_dedicated_input stencil(int cores) {
  nbc_dedicated_input in;
  memset(&in, 0, sizeof in);
  in.core_count = cores;
  in.comp_s = 4.0 / cores + 0.02; /* 0.02 s do not scale */
  in.nb_count = in.wait_count = 200;
  in.min_nb_s = in.min_wait_s = 2e-6;
  in.noprog_s = in.comp_s + 200 * 1e-3 + 0.08; /* measured: nothing is hidden */
  in.other_s = 0.08;
  in.progressed_ratio = 0.02; /* ... as the report's bounds say */
  in.requests[0].request_count = 200, in.requests[0].xfer_s = 1e-3,
  in.requests[0].comp_s = in.comp_s / 100;
  in.request_size = 1;
  return in;
}

int main(void) {
  printf("cores   with all computing   one for communication   speed-up\n");
  for (int cores = 4; cores <= 32; cores *= 2) {
    const nbc_dedicated_input in = stencil(cores);
    nbc_dedicated_result out;
    nbc_error err;
    const nbc_status status = nbc_dedicated_predict(&in, true, &out, &err);
    if (status) return fprintf(stderr, "%s: %s\n", nbc_status_text(status), err.text), 1;
    printf("%5d %20.2f %23.2f %10.2f\n", cores, in.noprog_s, out.total_s, out.speedup_ratio);
  }
  return 0;
}
