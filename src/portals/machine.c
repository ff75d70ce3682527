/* What a world is made of: see machine.h. */
#include "machine.h"
#ifdef NBC_PIECES
PM__PRIVATE __thread pm_thread *pm__current;
PM__PRIVATE __thread pm_world *pm__running;
#endif

PM__PRIVATE int pm__route(pm_world *w, int src, int dst, uint32_t *out, int64_t *latency_ps) {
  return pm__way(&w->plat, w->graph, src, dst, out, latency_ps);
}
PM__PRIVATE int64_t pm__bytes_ps(double bytes, double bytes_per_s) {
  return pm__whole_ps(pm__times(bytes / bytes_per_s, 1e12));
}
PM__PRIVATE int64_t pm__max_ps(int64_t a_ps, int64_t b_ps) { return a_ps > b_ps ? a_ps : b_ps; }
