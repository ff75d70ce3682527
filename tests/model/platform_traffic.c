/* platform_traffic FILE BYTES: one permutation of flows on that platform; the time of each, in ms, with the
   latency of its way. */
#define PORTALS_MODEL_IMPLEMENTATION
#include "portals_model.h"

enum { MOST = 4096 };
static pm_world *world;
static int64_t t_end_ns[MOST];
static void done(void *end) { *(int64_t *)end = pm_world_now_ns(world); }
int main(int argc, char **argv) {
  pm_platform p;
  char error[300] = "";
  pm_world_desc desc = {0};
  uint64_t x = 88172645463325252u;
  static int to[MOST];
  int64_t latency_ns;
  if (argc != 3 || pm_platform_load(argv[1], &p, error, sizeof error) || p.node_count > MOST)
    return fprintf(stderr, "platform_traffic: %s\n", error), 2;
  desc.platform = &p;
  if (pm_world_create(&desc, &world)) return 2;
  const int n = (int)p.node_count;
  for (int i = 0; i < n; i++) to[i] = i;
  for (int i = n - 1; i > 0; i--) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    const int j = (int)(x % (uint64_t)i), t = to[i];
    to[i] = to[j];
    to[j] = t;
  }
  for (int i = 0; i < n; i++)
    if (pm_flow_start(world, i, to[i], atof(argv[2]), done, &t_end_ns[i])) return 2;
  if (pm_world_run(world)) return 2;
  for (int i = 0; i < n; i++) {
    if (pm_route(world, i, to[i], NULL, 0, &latency_ns) < 1) return 2;
    printf("%.4f\n", (double)(t_end_ns[i] + latency_ns) * 1e-6);
  }
  pm_world_destroy(world);
  pm_platform_free(&p);
  return 0;
}
