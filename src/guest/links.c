/* --links: how much each link of the network was used, as a heat map or a table. */
#include "guest.h"
#include <string.h>
static const char *path;
static void set_links(const char *option, const char *value) {
  path = guest_to_write(option, value, ".csv or .html");
}
static void settings(pm_world_desc *desc, pm_platform *platform) {
  (void)platform;
  if (path) desc->link_use = true;
}
static int finish(pm_world *world, int result) {
  FILE *out = path ? guest_output(path) : NULL;
  const char *dot = path ? strrchr(path, '.') : NULL;
  if (!path) return result;
  if (!out) return result ? result : 2;
  const pm_status status = dot && strcmp(dot, ".csv") == 0 ? pm_links_write_csv(world, out)
                                                           : pm_links_write_html(world, out);
  const bool is_whole = guest_output_close(out, path);
  if (status && status != PM_E_IO)
    fprintf(stderr, "pm_run: %s: %s\n", path, pm_status_text(status));
  return (is_whole && !status) || result ? result : 2;
}
static const guest_option options[] = {{"--links", "FILE",
                                        "use of the network's links over time: .csv, or .html "
                                        "(heat map, the worst links named); tracks "
                                        "in --trace x.json",
                                        set_links},
                                       {NULL, NULL, NULL, NULL}};
static guest_part part = {
    .name = "links", .options = options, .settings = settings, .finish = finish};
__attribute__((constructor)) static void add(void) { guest_part_add(&part); }
