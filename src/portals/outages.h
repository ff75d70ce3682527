/* Cables and nodes that carry nothing for a while, and the ways around them. */
#pragma once
#include "future.h"

/* ---- for later pieces ---- */
/* The network of a rail as vertices (nodes first) and directed links between them; made for a world with
   outages. */
struct pm__net {
  int vertex_count, link_count;
  int *from, *to;     /* of each link */
  int *first, *out;   /* links out of vertex v: out[first[v]] ... out[first[v + 1] - 1] */
  int *queue, *via;   /* scratch of a search: vertices, and the link that led to each */
  pm__event change;   /* the next time that something fails or is repaired */
  pm_outage *outages; /* those of the world that concern the network; down_node is one of them */
  int outage_count;
};
/* From one NIC to another nothing gets through at this time: a node is down, or all ways are cut. */
PM__PRIVATE bool pm__is_cut(pm_world *w, int from, int to, int64_t t_ps);
PM__PRIVATE bool pm__node_is_out(const pm_world *w, int nic, int64_t t_ps);
/* A try to send a message from one NIC to another: its bytes leave for own_ps, the last of them are on the way for
   way_ps. t_lost_ps: something on its way failed then, or there was no way; PM__FOREVER: it gets through. */
typedef struct pm__try {
  int64_t t_begin_ps, own_ps, way_ps, t_lost_ps;
} pm__try;
PM__PRIVATE void pm__try_fails(pm_world *w, int from, int to, pm__try *t);
/* The way at a time: how many links (-1: there is none), and their latency. */
PM__PRIVATE int pm__way_at(pm_world *w, int from, int to, int64_t t_ps, uint32_t *out,
                           int64_t *latency_ps);
/* The shortest way from where a link begins, over cables of its rail that are alive: how many links; -1: there
   is none. */
PM__PRIVATE int pm__way_from(pm_world *w, uint32_t link, int to_node, uint32_t *out);
/* The NIC's node died between these times, both included; whoever asks knows that nodes die (has_lives). */
PM__PRIVATE bool pm__died_between(const pm_world *w, int nic, int64_t t_from_ps, int64_t t_to_ps);
/* The other direction of a link's cable. */
PM__PRIVATE uint32_t pm__link_back(const pm_world *w, uint32_t link);
PM__PRIVATE bool pm__link_is_dead(const pm_world *w, uint32_t link, int64_t t_ps);
