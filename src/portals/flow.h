/* Links shared fairly: max-min solver and flows. */
#pragma once
#include "run.h"
/* ============================================================================================== */
/* [FLOW] 7. Links shared fairly: max-min solver and flows                                        */
/* ============================================================================================== */
/* A transfer of so many bytes between nodes over the platform's way (of rail 0), sharing its links with all
   others max-min fairly. Bytes are payload: their headers take their share of each link (of link_packet_bytes +
   link_header_bytes the latter), in proportion, as if packets had no end; done(arg) is called at the simulated time of its end (latency of the way
   not included), outside any process; done may be NULL. For studies of the network alone.
   ret PM_OK | PM_E_INVAL | PM_E_STATE: in a world over threads | PM_E_NOMEM */
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
  uint32_t
      from; /* the flow's bottleneck: who looks through the list need not look into each flow */
} pm__crossing;
/* On a link: so many of its flows are held down by the link `from`, in whose list of links fed this one is number
   `at`. And the other way round, with the same count: each side looks through its own list alone. */
typedef struct pm__feed {
  uint32_t from, count, at;
} pm__feed;
typedef struct pm__fed {
  double count;
  uint32_t link, at;
} pm__fed;
/* Who feeds a link that many flows cross, and whom a link feeds: see flow.c. */
typedef struct pm__feeds {
  pm__feed *feed;
  pm__fed *fed;
  int feed_count, feed_max, fed_count, fed_max;
} pm__feeds;
/* 128 bytes: two lines of the cache, and its place is found by a shift. */
typedef struct pm__link {
  double cap;
  double level; /* rate of all flows that it holds down; PM__FREE: there are none */
  /* Of one that keeps feeds: what those that others hold down leave of it. Kept up as levels change, with `most`; so
     often looked at since they were found, PM__SUMS: they have to be found anew. */
  double left;
  pm__crossing *flows; /* near, while there is one at most; else those held down stand behind */
  union {
    pm__crossing near;
    struct {
      uint64_t flows; /* where they are few: those that cross it, a bit each */
      uint32_t at;    /* its number while rates are found; 0: none */
    } few;
  } of;
  int count, max, held_count;
  bool is_queued, is_touched, keeps_feeds;
  unsigned char sums;
  /* line */
  pm__flow **held; /* those held down: a heap, the first to end first; near.flow, if that is all */
  double most;     /* of those that others hold down none is faster */
  double lone_cap; /* of those held down: no lone link of theirs carries less */
  /* the clock, see below */
  double rate;        /* level that is in force ... */
  double moved_bytes; /* ... and what it has moved of each flow until t_ps */
  int64_t t_ps;
  pm__feeds *feeds; /* NULL: never needed */
  uint32_t first;   /* 1 + number of the flow whose end is in the tree of ends; 0: none is. Of a
                     flow's own limit that none has: the next free one */
  int few_count; /* so often do those held down cross links that others cross too, but keep no feeds */
} pm__link;
enum { PM__NEAR = 8, PM__FAR_LINKS = PM__ROUTE_MAX + 3, PM__SUMS = 8 };
enum {
  PM__FEW = 64,
  PM__FEW_LINKS = 64,
  PM__FEW_ROOM = 64 + 8, /* those, and a way more: PM__NEAR */
  PM__FEW_USUAL = 14,
  PM__FEW_SPARE = 4096
};
#define PM__NO_LINK   0xFFFFFFFFu
#define PM__FREE      1e300
#define PM__UNLIMITED 1e18 /* bytes/s: no link is faster */
struct pm__flow {
  double end_bytes;       /* what its bottleneck will have moved of each flow when this one ends */
  double remaining_bytes; /* when nothing moves it */
  uint32_t bottleneck;    /* link that holds the rate down, or PM__NO_LINK: no rate yet */
  uint32_t held_at;       /* place in its heap */
  uint32_t number;        /* among those made: its place in the tree of ends */
  uint16_t link_count;
  bool is_limited; /* its last link is a limit of its own */
  uint32_t *
      link; /* near, or far for long ways; behind all their places: where a link's list names this flow */
  uint64_t shared;  /* a bit for each of its links that others cross too: 62 of a way, two of PCI */
  double least_cap; /* no link of its carries less */
  void *arg;
  /* line */
  uint32_t near[2 * PM__NEAR];
  /* line */
  void (*done)(pm_world *world, void *arg);
  uint32_t *far; /* NULL: never needed */
  union {
    double seen_bytes; /* what its bottleneck's clock showed when its use was noted last */
    double rate;       /* where they are few */
  } of;
  int64_t t_seen_ps;             /* when its use was noted last, or its rate began */
  int from, to;                  /* NICs */
  void (*plain_done)(void *arg); /* of pm_flow_start */
  void *plain_arg;
  pm__flow *next;
};
typedef struct pm__due { /* a link whose level is to be found anew */
  double level;
  uint32_t link;
} pm__due;
/* Resources: the directed links of the network, rail by rail, then per node the reads and writes of each
   PCI root, and memory. */
enum { PM__PCI_READ, PM__PCI_WRITE, PM__MEMORY };
PM__PRIVATE uint32_t pm__node_resource(const pm_world *w, int nic, int which);
PM__PRIVATE double pm__payload_ratio(const pm_platform *p);
/* Of payload that crosses this link of the network alone. */
PM__PRIVATE double pm__link_rate(const pm_world *w, uint32_t link);
/* Its rate now, in bytes/s; 0: not found yet. */
PM__PRIVATE double pm__flow_rate(const pm_world *w, const pm__flow *f);
/* A flow over a known way (NULL: none) and room for two links more. NULL: out of memory */
PM__PRIVATE pm__flow *pm__flow_new(pm_world *w, const pm__known_way *way);
PM__PRIVATE int pm__flow_go(pm_world *w, pm__flow *f, double bytes, double cap);
