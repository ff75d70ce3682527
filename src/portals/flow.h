/* Links shared fairly: max-min solver and flows. */
#pragma once
#include "run.h"
/* ============================================================================================== */
/* [FLOW] 7. Links shared fairly: max-min solver and flows                                        */
/* ============================================================================================== */
/* A transfer of so many bytes between nodes over the platform's way (of rail 0), sharing its links with all
   others max-min fairly; done(arg) is called at the simulated time of its end (latency of the way
   not included), outside any process. For studies of the network alone.
   ret PM_OK | PM_E_INVAL | PM_E_NOMEM */
PM_API pm_status pm_flow_start(pm_world *world, int from_node, int to_node, double size_bytes,
                               void (*done)(void *arg), void *arg);
/* Capacity of a directed link. */
PM_API double pm_link_bytes_per_s(const pm_world *world, int link);
/* Rates now in force of the flows on a link: returns how many, writes at most max. */
PM_API int pm_link_rates(pm_world *world, int link, double *bytes_per_s, int max);

/* ---- for later pieces ---- */
/* ============================================================================================== */
/* [FLOW] 7. Links shared fairly: max-min solver and flows                                        */
/* ============================================================================================== */
/* Shared resources and what crosses them, see the flow section. */
typedef struct pm__flow pm__flow;
typedef struct pm__crossing {
  pm__flow *flow;
  uint32_t hop;
} pm__crossing;
typedef struct pm__link {
  double cap;
  pm__crossing *flows; /* while the solver runs, those of its set stand first */
  int count, max;
  int held_count; /* flows that it holds down, all at this rate */
  double held_rate;
  uint32_t mark; /* from here on: scratch of the solver */
  int inside, active;
  bool is_dirty;
  double base, left, share, top;
  pm__flow *only;    /* of the set that crosses it, when there is one */
  int64_t t_busy_ps; /* with messages that are no flows */
} pm__link;
enum { PM__NEAR = 8 };
/* What the solver reads comes first: 64 bytes, 128 with the way. */
struct pm__flow {
  double rate, fair, cap; /* in force, found by the solver, limit of its own */
  double own, bound;      /* limit with links that it has for itself, with those of the fill */
  uint32_t own_link, bound_link;
  uint32_t bottleneck; /* link that holds the rate down, or PM__NO_LINK: its own cap */
  uint32_t counted;    /* the link whose held_count has this flow */
  uint32_t mark, filled;
  uint32_t shared_first;             /* of the solver's list: its links that others cross too ... */
  uint16_t shared_count, link_count; /* ... and how many there are */
  double remaining_bytes;
  int64_t t_last_ps;
  uint32_t *link,
      *place; /* near, or far for long ways. place: where the link's list names this flow */
  uint32_t near_link[PM__NEAR], near_place[PM__NEAR];
  uint32_t *far;   /* NULL: never needed */
  uint32_t number; /* among those made: its place in the tree of ends */
  int from, to;    /* NICs */
  void (*done)(pm_world *world, void *arg);
  void *arg;
  void (*plain_done)(void *arg); /* of pm_flow_start */
  void *plain_arg;
  pm__flow *next, *next_made;
};
/* When flows end: a tree of which each node is the earlier one of its two children (of equal ones the
   left); 1 is the root, flow k is leaf max + k. Only the root is in the future of the world. */
typedef struct pm__end {
  int64_t t_ps; /* PM__FOREVER: it does not flow */
  pm__flow *flow;
} pm__end;
typedef struct pm__share {
  double share;
  uint32_t link;
} pm__share;
typedef struct pm__bound {
  double bound;
  uint32_t place; /* of the flow in the set */
} pm__bound;
/* Resources: the directed links of the network, rail by rail, then per node the reads and writes of each
   PCI root, and memory. */
enum { PM__PCI_READ, PM__PCI_WRITE, PM__MEMORY };
PM__PRIVATE uint32_t pm__node_resource(const pm_world *w, int nic, int which);
PM__PRIVATE double pm__payload_ratio(const pm_platform *p);
/* A flow over a known way (NULL: none) and room for two links more. NULL: out of memory */
PM__PRIVATE pm__flow *pm__flow_new(pm_world *w, const pm__known_way *way);
PM__PRIVATE int pm__flow_go(pm_world *w, pm__flow *f, double bytes, double cap);
