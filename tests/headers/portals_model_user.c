/* A user of portals_model.h in any language and mode: two processes compute, one longer than the
   other, and meet; simulated time must be that of the longer one. */
#include "portals_model.h"
#include <string.h>

#ifdef __cplusplus
extern "C"
#endif
int use_portals_model(void);

static void process(void *arg) {
  int64_t *t_ns = (int64_t *)arg;
  pm_compute_ns(100 + 900 * pm_rank());
  pm_barrier();
  t_ns[pm_rank()] = pm_now_ns();
}

int use_portals_model(void) {
  pm_platform platform = pm_platform_bxi2(2);
  pm_world_desc desc;
  pm_world *world;
  int64_t t_ns[2] = {0, 0};
  int bad;
  memset(&desc, 0, sizeof desc);
  desc.platform = &platform;
  if (strcmp(pm_status_name(PM_E_DEADLOCK), "PM_E_DEADLOCK") != 0) return 1;
  if (pm_version() != PM_VERSION) return 3;
  if (pm_world_create(&desc, &world) != PM_OK) return 2;
  bad = pm_spawn_all(world, process, t_ns) != PM_OK || pm_world_run(world) != PM_OK;
  pm_world_destroy(world);
  return bad || t_ns[0] != 1000 || t_ns[1] != 1000;
}
