/* How much each link of the network is used, over time: tables, tracks of a trace, a heat map. */
#pragma once
#include "compute.h"
#include "packet.h"
/* ============================================================================================== */
/* [LINKS] 11. Use of links over time: table, tracks, heat map                                    */
/* ============================================================================================== */
/* Kept with pm_world_desc.link_use, at the levels flow and packet (LogGP has no links, a carrier's are its
   own). Simulated time is cut into at most PM_LINK_BINS equal parts; when they are full, their length doubles:
   about 0.8 KB per directed link, however long the run. */
enum { PM_LINK_BINS = 64 };
typedef struct pm_link_bin {
  int64_t t_begin_ns, t_end_ns;
  /* bytes carried, headers included, of those that it could carry; above 1 at the flow level where short
     messages, which take their turn, go beside long ones */
  double use_ratio;
  double flow_count; /* long transfers that shared it, on average (flow level) */
  /* That waited in front of it, on average: packets; at the flow level short messages */
  double queue_bytes;
} pm_link_bin;
/* ret how many bins there are, 0 without link_use or of no link; writes at most max, none to NULL */
PM_API int pm_link_use(const pm_world *world, int link, pm_link_bin *bins, int max);
/* "node 3 up", "level 1: switch 2 port 0 up": writes the name.
   ret the tier that the link belongs to (links alike: one level of a tree in one direction, one dimension
   ...), from 0 on; -1: no such link */
PM_API int pm_link_name(const pm_world *world, int link, char *name, size_t name_bytes);
/* link,tier,name,t_begin_ns,t_end_ns,use_ratio,flow_count,queue_bytes; a line per part of time in which
   something was there. ret PM_OK | PM_E_IO | PM_E_STATE without link_use */
PM_API pm_status pm_links_write_csv(const pm_world *world, FILE *out);
/* One page that needs nothing else: the worst links with their use over time, and each tier with a cell per
   link, dark where it is used much; point at a cell to read its name.
   ret PM_OK | PM_E_IO | PM_E_NOMEM | PM_E_STATE without link_use */
PM_API pm_status pm_links_write_html(const pm_world *world, FILE *out);
