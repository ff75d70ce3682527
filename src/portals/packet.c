/* The packet level: see packet.h. */
#include "packet.h"
#include "outages.h"

/* Each directed link belongs to a port: queues in front of it, one per virtual channel, and the buffers at
   its far end. A packet goes

     out queue --(link free, credit for the far buffer)--> in queue of the next switch
               --(it is the first there, and there is room)--> out queue of its next link ...

   The link is given to channels in turn, room in an out queue to the in queues that wait for it in the order in
   which they began to wait. In a torus or a network from a file both go to the packet that left its NIC first: else
   what enters a ring fills it up until all of it waits for a few holes that go around, and the longer the ring, the
   less it carries (Abts and Weisser, Age-based packet arbitration in large-radix k-ary n-cubes, 2007). The head of
   a packet goes on while its tail still comes (cut-through). The last link's far end is a NIC, which always takes.
   So a full out queue stops all that is behind the first packet of an in queue: head-of-line blocking; and a full in
   queue stops the link before it: back pressure.

   Channels keep cycles of waiting out: a dragonfly's packet goes up one with each global link, a torus's from
   0 to 1 where it crosses the edge of a ring; up and down a fat tree there is no cycle. A file's goes up one
   with each of its first links, to 3, and from there on wherever its way turns from down to up again: up is
   what leads further away from all nodes, or as far to a switch that the file names later; within a switch is down.
   So what waits in one channel waits first for links up, then for links down, and never in a ring (as in "up-down"
   routing, Schroeder and others, Autonet, 1991). There are as many channels as the ways need that were gone so far:
   4, one more for rings and meshes of switches, two for tori, rarely more, 33 at most; each has buffers of its own
   behind each link.

   A packet whose next cable is down takes the shortest way around from the switch where it is. Such ways have
   any shape, so they have a channel of their own whose buffers have no end. What has no way is dropped; then the rest
   of its message does not leave, and all of it is sent again (pm__wire). What is on a cable when it fails arrives, but
   not at a NIC that is cut off. */
enum { PM__DETOUR = 4, PM__NEVER_CHOSEN = -1, PM__TREE_MAX = 8 };
typedef struct pm__packet {
  pm__event event; /* first: its head is at the far end; at a NIC its tail */
  pm__message *m;
  struct pm__packet *next, *next_made;
  int64_t t_tail_ps, t_queued_ps; /* queued: in front of its link since */
  uint32_t bytes, base;           /* base: the first link of its rail */
  int hop, link_count, chosen;    /* chosen: up to this hop its way is settled */
  int64_t latency_ps, t_sent_ps;  /* of its way, when it left; then it came to its NIC's link */
  int to;                         /* NIC */
  bool is_written;                /* its time on the target's PCI root has begun */
  int port[PM__TREE_MAX];         /* of a fat tree's switches, on the way up */
  uint32_t link[PM__ROUTE_MAX + 2];
  unsigned char channel[PM__ROUTE_MAX + 2];
} pm__packet;
typedef struct pm__queue {
  pm__packet *first, *last;
  int64_t bytes; /* of an in queue: those on the link too, and credits on their way back */
} pm__queue;
typedef struct pm__port {
  pm__event event; /* first: the link is free */
  int64_t t_free_ps;
  uint64_t waiting; /* a bit for each channel with packets in front of the link */
  int last_channel;
} pm__port;
/* One of a port's channels. In queues that wait for room in front of this link are chained; they are known by
   their place among all channels, from 1. */
typedef struct pm__channel {
  pm__queue out, in;
  uint32_t waits_first, waits_last; /* 0: nobody waits */
  uint32_t next_wait;               /* who waits behind this one's in queue */
} pm__channel;
/* A buffer that became free at the far end of a link, on its way back to the sender as an event of
   its own: a credit takes the latency of the cable, so a buffer smaller than bandwidth times round
   trip costs bandwidth. Or payload of a message that is there (link_credit_bytes): that credit takes the latency
   of the way. */
typedef struct pm__credit {
  pm__event event; /* first */
  struct pm__credit *next, *next_made;
  pm__message *m; /* NULL: of a link */
  bool is_reply;  /* of its way back */
  uint32_t link;
  int channel;
  int64_t bytes;
} pm__credit;
struct pm__packets {
  pm__port *port;       /* of each directed link of the network */
  pm__channel *channel; /* channel_count of each link, see pm__channel_of */
  int channel_count;
  bool *is_up; /* of a file's links (one rail): see the head of this file */
  pm__packet *free_packets, *packets_made;
  pm__credit *free_credits, *credits_made;
};

static void pm__head_event(pm_world *w, pm__event *event);
static void pm__port_event(pm_world *w, pm__event *event);
static void pm__forward(pm_world *w, uint32_t link, int channel);
static void pm__payload_may_go(pm_world *w, pm__message *m, bool is_reply, int64_t bytes);

static int pm__no_memory(pm_world *w) {
  pm_world_fail(w, PM_E_NOMEM, "out of memory: packets");
  return 0;
}
static pm__channel *pm__channel_of(const pm_world *w, uint32_t link, int channel) {
  return &w->packets->channel[(size_t)link * (size_t)w->packets->channel_count + (size_t)channel];
}
/* A channel's place among all, when there were so many of each link: where it is now. */
static uint32_t pm__place_now(uint32_t place, uint32_t before, uint32_t now) {
  return place ? (place - 1) / before * now + (place - 1) % before + 1 : 0;
}
/* So many channels for each link. ret false: out of memory */
static bool pm__channels_grow(pm_world *w, int count) {
  struct pm__packets *s = w->packets;
  const size_t links = (size_t)w->net_link_count, before = (size_t)s->channel_count,
               now = (size_t)count;
  pm__channel *all;
  size_t i, c;
  if (now <= before) return true;
  all = links * now < UINT32_MAX ? (pm__channel *)pm__zalloc(links * now * sizeof *all) : NULL;
  if (!all) return pm__no_memory(w);
  for (i = 0; i < links; i++)
    for (c = 0; c < before; c++) {
      pm__channel *to = &all[i * now + c];
      *to = s->channel[i * before + c];
      to->waits_first = pm__place_now(to->waits_first, (uint32_t)before, (uint32_t)now);
      to->waits_last = pm__place_now(to->waits_last, (uint32_t)before, (uint32_t)now);
      to->next_wait = pm__place_now(to->next_wait, (uint32_t)before, (uint32_t)now);
    }
  PM_FREE(s->channel);
  s->channel = all;
  s->channel_count = count;
  w->stats.memory_bytes += links * (now - before) * sizeof *all;
  return true;
}
/* Which links of a file lead up: a search from all nodes at once says how far from them each switch is. */
static bool pm__file_order(pm_world *w) {
  const pm__graph *g = w->graph;
  int *far = (int *)pm__zalloc((size_t)g->vertices * sizeof *far), head = 0, tail = 0, v, k;
  w->packets->is_up = (bool *)pm__zalloc(2 * (size_t)g->cables * sizeof(bool));
  if (!far || !w->packets->is_up) {
    PM_FREE(far);
    return pm__no_memory(w);
  }
  for (v = 0; v < (int)w->plat.node_count; v++) g->queue[tail++] = v;
  while (head < tail) {
    v = g->queue[head++];
    for (k = g->first[v]; k < g->first[v + 1]; k++) {
      const int to = g->end[g->out[k]];
      if (to < (int)w->plat.node_count || far[to]) continue;
      far[to] = far[v] + 1;
      g->queue[tail++] = to;
    }
  }
  for (k = 0; k < 2 * g->cables; k++) {
    const int from = g->end[k ^ 1], to = g->end[k];
    w->packets->is_up[k] = far[to] > far[from] || (far[to] == far[from] && to > from);
  }
  PM_FREE(far);
  w->stats.memory_bytes += 2 * (size_t)g->cables * sizeof(bool);
  return true;
}
static int pm__packets_open(pm_world *w) {
  int i;
  if (w->packets) return 1;
  w->packets = (struct pm__packets *)pm__zalloc(sizeof *w->packets);
  if (!w->packets) return pm__no_memory(w);
  w->packets->port = (pm__port *)pm__zalloc((size_t)w->net_link_count * sizeof(pm__port));
  if (!w->packets->port) return pm__no_memory(w);
  for (i = 0; i < w->net_link_count; i++) w->packets->port[i].event.fn = pm__port_event;
  w->stats.memory_bytes += (size_t)w->net_link_count * sizeof(pm__port);
  /* Who has no detours needs no channel for them. */
  return pm__channels_grow(w, w->net ? PM__DETOUR + 1 : PM__DETOUR) &&
         (!w->graph || pm__file_order(w));
}
PM__PRIVATE void pm__packets_free(pm_world *w) {
  struct pm__packets *s = w->packets;
  if (!s) return;
  while (s->packets_made) {
    pm__packet *k = s->packets_made;
    s->packets_made = k->next_made;
    PM_FREE(k);
  }
  while (s->credits_made) {
    pm__credit *c = s->credits_made;
    s->credits_made = c->next_made;
    PM_FREE(c);
  }
  PM_FREE(s->port);
  PM_FREE(s->channel);
  PM_FREE(s->is_up);
  PM_FREE(s);
}
static pm__packet *pm__packet_new(pm_world *w) {
  struct pm__packets *s = w->packets;
  pm__packet *k = s->free_packets;
  if (k) {
    s->free_packets = k->next;
    return k;
  }
  k = (pm__packet *)pm__zalloc(sizeof *k);
  if (!k) return NULL;
  k->event.fn = pm__head_event;
  k->next_made = s->packets_made;
  s->packets_made = k;
  w->stats.memory_bytes += sizeof *k;
  return k;
}
static void pm__queue_put(pm__queue *q, pm__packet *k) {
  k->next = NULL;
  if (q->first)
    q->last->next = k;
  else
    q->first = k;
  q->last = k;
}
static pm__packet *pm__queue_take(pm__queue *q) {
  pm__packet *k = q->first;
  q->first = k->next;
  return k;
}

/* ---- ways ---------------------------------------------------------------------------------------- */
/* Of a file's way, which is settled once for all. */
static void pm__settle_file(pm_world *w, pm__packet *k) {
  const bool *is_up = w->packets->is_up;
  int h, channel = 0;
  for (h = 0; h < k->link_count; h++) {
    if (h < PM__DETOUR)
      channel = h;
    else if (is_up[k->link[h] - k->base] && !is_up[k->link[h - 1] - k->base])
      channel = channel < PM__DETOUR ? PM__DETOUR + 1 : channel + 1;
    k->channel[h] = (unsigned char)channel;
  }
  if (!pm__channels_grow(w, channel + 1)) /* the run ends with this step */
    for (h = 0; h < k->link_count; h++) k->channel[h] = 0;
}
/* The channel of each hop, by the rules at the head of this file. Called anew whenever the way
   changes, because a channel depends on all hops before it. */
static void pm__settle_channels(const pm_world *w, pm__packet *k) {
  const pm_platform *p = &w->plat;
  const int64_t nodes = p->node_count;
  int h, channel = 0, dimension = -1;
  for (h = 0; h < k->link_count; h++) {
    const int64_t link = k->link[h] - k->base;
    if (p->topology == PM_TOPO_DRAGONFLY) {
      k->channel[h] = (unsigned char)channel;
      channel += link >= pm__dragonfly_global(p) && channel < PM__DETOUR - 1;
      continue;
    } else if (p->topology == PM_TOPO_TORUS && link >= 2 * nodes) {
      if ((int)((link / 2 - nodes) / nodes) != dimension) channel = 0;
      dimension = (int)((link / 2 - nodes) / nodes);
      k->channel[h] = (unsigned char)channel;
      if (pm__torus_is_edge(p, link)) channel = 1;
      continue;
    }
    k->channel[h] = (unsigned char)channel;
  }
}
/* Bytes in front of a link and in the buffer behind it. What adaptive routing decides by is what a
   switch can know of its own ports: nothing about queues further on. */
static int64_t pm__load(const pm_world *w, uint32_t link) {
  const pm__channel *at = pm__channel_of(w, link, 0), *end = at + w->packets->channel_count;
  int64_t sum = 0;
  for (; at < end; at++) sum += at->out.bytes + at->in.bytes;
  return sum;
}
/* A way of the first rail becomes one of the packet's. */
static int pm__on_rail(const pm__packet *k, uint32_t *link, int count) {
  int h;
  for (h = 0; h < count; h++) link[h] += k->base;
  return count;
}
/* Without outages there is no table of who is joined to whom (w->net), and nothing is ever
   closed. */
static bool pm__is_closed(const pm_world *w, uint32_t link) {
  return w->net && pm__link_is_dead(w, link, w->now_ps);
}
/* From this hop of the way on nothing is down. */
static bool pm__is_whole(const pm_world *w, const uint32_t *way, int count, int hop) {
  while (w->net && hop < count && !pm__is_closed(w, way[hop])) hop++;
  return !w->net || hop >= count;
}
/* On the way up in a fat tree, at a switch: the least loaded port of those that lead there, on a tie the one of
   fixed routing. */
static void pm__choose_up(pm_world *w, pm__packet *k, int from, int to) {
  const pm_platform *p = &w->plat;
  const int level = k->hop + 1, ports = (int)p->topo[1 + p->topo[0] + level];
  uint32_t way[PM__ROUTE_MAX + 2];
  int64_t best_bytes = PM__FOREVER;
  int port, best = PM__NEVER_CHOSEN;
  k->port[level] = PM__NEVER_CHOSEN;
  if (pm__is_whole(w, k->link, k->link_count, level)) best_bytes = pm__load(w, k->link[level]);
  for (port = 0; port < ports && best_bytes; port++) {
    int64_t bytes;
    k->port[level] = port;
    (void)pm__on_rail(k, way, pm__fattree_way(p, from, to, k->port, way));
    if (!pm__is_whole(w, way, k->link_count, level)) continue;
    bytes = pm__load(w, way[level]);
    if (bytes < best_bytes) best_bytes = bytes, best = port;
  }
  k->port[level] = best;
  k->link_count = pm__on_rail(k, k->link, pm__fattree_way(p, from, to, k->port, k->link));
}
/* At the source's router of a dragonfly: by another group, always (Valiant) or when the queue of the short
   way, times its length, is longer than that of a random longer one (UGAL with local queues). */
static void pm__choose_detour(pm_world *w, pm__packet *k, int from, int to) {
  const pm_platform *p = &w->plat;
  const int64_t groups = p->topo[0], of = p->topo[1] * p->topo[2];
  uint32_t way[PM__ROUTE_MAX + 2];
  int64_t via;
  int count;
  if (from / of == to / of || groups < 3) return;
  via = (int64_t)(pm_random(w) % (uint64_t)(groups - 2)); /* any but the two ends' */
  /* The lower of the two ends is skipped first: the second comparison then sees the number with the
     first gap already in it. */
  if (via >= (from / of < to / of ? from / of : to / of)) via++;
  if (via >= (from / of < to / of ? to / of : from / of)) via++;
  count = pm__on_rail(k, way, pm__dragonfly_way(p, from, to, (int)via, way));
  if (!pm__is_whole(w, way, count, 1) ||
      (p->packet_routing == 1 &&
       pm__load(w, k->link[1]) * k->link_count <= pm__load(w, way[1]) * count))
    return;
  memcpy(k->link, way, (size_t)count * sizeof *way);
  k->link_count = count;
}
/* At a switch, before the next hop is taken. A packet is the first of its in queue perhaps many
   times before there is room for it. `chosen` holds it to the decision of the first time; else it
   might change its way with each look. */
static void pm__choose(pm_world *w, pm__packet *k) {
  const pm_platform *p = &w->plat;
  int from, to;
  if (!p->packet_routing || k->chosen > k->hop) return;
  from = pm__nic_node(w, pm__job_from(k->m));
  to = pm__nic_node(w, pm__job_to(k->m));
  k->chosen = k->hop + 1;
  if (p->topology == PM_TOPO_FATTREE && k->hop + 1 < k->link_count / 2)
    pm__choose_up(w, k, from, to);
  else if (p->topology == PM_TOPO_DRAGONFLY && k->hop == 0)
    pm__choose_detour(w, k, from, to);
  else
    return;
  pm__settle_channels(w, k);
}

static void pm__take_detour(pm__packet *k, int hop) {
  for (; hop < k->link_count; hop++) k->channel[hop] = PM__DETOUR;
  k->chosen = PM__ROUTE_MAX + 2; /* nothing is left to choose */
}
/* From this hop on, around what is down. ret whether there is a way */
static bool pm__turn(pm_world *w, pm__packet *k, int hop) {
  uint32_t way[PM__ROUTE_MAX + 2];
  const int n = pm__way_from(w, k->link[hop], pm__nic_node(w, pm__job_to(k->m)), way);
  if (n < 1 || hop + n > PM__ROUTE_MAX) return 0;
  memcpy(k->link + hop, way, (size_t)n * sizeof *way);
  k->link_count = hop + n;
  pm__take_detour(k, hop);
  return 1;
}

/* ---- links ---------------------------------------------------------------------------------------- */
static int64_t pm__serial_ps(const pm_world *w, const pm__packet *k) {
  const double bytes = k->bytes ? pm__wire_bytes(w, k->bytes) : (double)w->plat.ack_bytes;
  return pm__bytes_ps(bytes, pm_link_bytes_per_s(w, (int)k->link[k->hop]));
}
static int64_t pm__buffer_bytes(const pm__packet *k) { return k->bytes > 64 ? k->bytes : 64; }
static bool pm__is_last_hop(const pm__packet *k) { return k->hop + 1 == k->link_count; }
static void pm__packet_begins(pm_world *w, pm__packet *k, int64_t t_end_ps);
static void pm__port_used(pm_world *w, uint32_t link, const pm__packet *k) {
  const double bytes = k->bytes ? pm__wire_bytes(w, k->bytes) : (double)w->plat.ack_bytes;
  pm__use_add(w, link, PM__USE_CARRIED, w->now_ps, w->packets->port[link].t_free_ps, bytes);
  if (w->now_ps > k->t_queued_ps)
    pm__use_add(w, link, PM__USE_QUEUED, k->t_queued_ps, w->now_ps,
                bytes * (double)(w->now_ps - k->t_queued_ps));
}

/* Room came about in front of a link: for those that wait, in their order. */
static void pm__room(pm_world *w, uint32_t link, int channel) {
  pm__channel *ch = pm__channel_of(w, link, channel);
  const uint32_t channels = (uint32_t)w->packets->channel_count;
  while (ch->waits_first && ch->out.bytes < w->plat.packet_output_bytes) {
    /* Out of the list before it goes on: pm__forward may put the same in queue at the end of this
       list again. */
    const uint32_t who = ch->waits_first - 1;
    pm__channel *waiting = &w->packets->channel[who];
    ch->waits_first = waiting->next_wait;
    waiting->next_wait = 0;
    pm__forward(w, who / channels, (int)(who % channels));
  }
}
static bool pm__is_by_age(const pm_world *w) {
  return w->plat.topology == PM_TOPO_TORUS || w->plat.topology == PM_TOPO_FILE;
}
/* Room for the first packet at the other end. An empty buffer takes any packet, even one that is longer than the
   buffer: else such a packet would never move. */
static bool pm__may_leave(const pm_world *w, const pm__channel *ch, int channel) {
  const pm__packet *k = ch->out.first;
  return pm__is_last_hop(k) || channel == PM__DETOUR || !ch->in.bytes ||
         ch->in.bytes + pm__buffer_bytes(k) <= w->plat.packet_input_bytes;
}
/* Whose packet may go next: the first channel behind the last one's, or that of the oldest packet, which is so old;
   -1: nobody's. */
static int pm__next_channel(const pm_world *w, uint32_t link, int64_t *t_sent_ps) {
  const pm__port *port = &w->packets->port[link];
  const int channels = w->packets->channel_count;
  int64_t t_best_ps = PM__FOREVER;
  int i, best = -1;
  for (i = 1; i <= channels; i++) {
    const int after = port->last_channel + i, c = after < channels ? after : after - channels;
    const pm__channel *ch;
    if (!(port->waiting >> c & 1)) continue;
    ch = pm__channel_of(w, link, c);
    if (!pm__may_leave(w, ch, c)) continue;
    if (!pm__is_by_age(w)) return c;
    if (ch->out.first->t_sent_ps < t_best_ps) t_best_ps = ch->out.first->t_sent_ps, best = c;
  }
  *t_sent_ps = t_best_ps;
  return best;
}
/* The same of both directions of a cable that is shared. */
static int pm__next_of_cable(const pm_world *w, uint32_t *link) {
  int64_t t_ps = 0, t_back_ps = 0;
  const int c = pm__next_channel(w, *link, &t_ps);
  int back = -1;
  if (pm__is_shared(w, *link)) back = pm__next_channel(w, *link ^ 1, &t_back_ps);
  if (back < 0 || (c >= 0 && t_ps <= t_back_ps)) return c;
  *link ^= 1;
  return back;
}
/* Sends the next packet, when the link is free and there is one with room at the other end. */
static void pm__port_run(pm_world *w, uint32_t first) {
  pm__port *const own = &w->packets->port[first];
  uint32_t link;
  int c;
  while (link = first, own->t_free_ps <= w->now_ps && (c = pm__next_of_cable(w, &link)) >= 0) {
    pm__port *const port = &w->packets->port[link];
    pm__channel *ch = pm__channel_of(w, link, c);
    pm__packet *k = ch->out.first;
    const int64_t latency_ps = pm__hop_ps(w, link, k->hop);
    pm__queue_take(&ch->out);
    if (!ch->out.first) port->waiting &= ~((uint64_t)1 << c);
    ch->out.bytes -= pm__buffer_bytes(k);
    port->last_channel = c;
    /* The tail cannot leave before it has come: behind a slower link a packet holds this one until
       then. */
    port->t_free_ps = pm__max_ps(pm__later(w->now_ps, pm__serial_ps(w, k)), k->t_tail_ps);
    if (pm__is_shared(w, link)) w->packets->port[link ^ 1].t_free_ps = port->t_free_ps;
    if (w->uses) pm__port_used(w, link, k);
    k->t_tail_ps = pm__later(port->t_free_ps, latency_ps);
    /* The room at the far end is taken now, at departure: what is under way must find it. */
    if (!pm__is_last_hop(k)) ch->in.bytes += pm__buffer_bytes(k);
    if (!k->hop) pm__packet_begins(w, k, port->t_free_ps); /* before it can be there */
    pm__schedule(w, &k->event,
                 pm__is_last_hop(k) ? k->t_tail_ps : pm__later(w->now_ps, latency_ps));
    pm__room(w, link, c);
  }
  if (own->waiting && own->t_free_ps > w->now_ps && !own->event.pos)
    pm__schedule(w, &own->event, own->t_free_ps);
}
static void pm__port_event(pm_world *w, pm__event *event) {
  pm__port_run(w, (uint32_t)((pm__port *)(void *)event - w->packets->port));
}
static void pm__out_put(pm_world *w, pm__packet *k) {
  const uint32_t link = k->link[k->hop];
  const int c = k->channel[k->hop];
  pm__queue *q = &pm__channel_of(w, link, c)->out;
  k->t_queued_ps = w->now_ps;
  pm__queue_put(q, k);
  q->bytes += pm__buffer_bytes(k);
  w->packets->port[link].waiting |= (uint64_t)1 << c;
  pm__port_run(w, link);
}
static void pm__credit_event(pm_world *w, pm__event *event) {
  pm__credit *c = (pm__credit *)event;
  c->next = w->packets->free_credits;
  w->packets->free_credits = c;
  if (c->m) {
    pm__payload_may_go(w, c->m, c->is_reply, c->bytes);
    return;
  }
  pm__channel_of(w, c->link, c->channel)->in.bytes -= c->bytes;
  pm__port_run(w, c->link);
}
static pm__credit *pm__credit_new(pm_world *w, pm__message *m, int64_t bytes) {
  pm__credit *c = w->packets->free_credits;
  if (c)
    w->packets->free_credits = c->next;
  else {
    c = (pm__credit *)pm__zalloc(sizeof *c);
    if (!c) {
      pm__no_memory(w);
      return NULL;
    }
    c->event.fn = pm__credit_event;
    c->next_made = w->packets->credits_made;
    w->packets->credits_made = c;
  }
  c->m = m;
  c->bytes = bytes;
  return c;
}
/* The buffer at the far end of a link is free again; the sender learns it a latency later. */
static void pm__credit_back(pm_world *w, uint32_t link, int channel, int64_t bytes, int64_t d_ps) {
  pm__credit *c = pm__credit_new(w, NULL, bytes);
  if (!c) return;
  c->link = link;
  c->channel = channel;
  pm__schedule(w, &c->event, pm__later(w->now_ps, d_ps));
}
/* A packet of it is lost, so all of it is: what has not left stays where it is (pm__inject). */
static void pm__lose(const pm_world *w, pm__message *m) {
  if (!m->way.is_dropped) m->way.t_lost_ps = w->now_ps;
  m->way.is_dropped = 1;
}
/* It leaves the network here, when all of it is here, and its message is not complete. At its NIC it took the time
   of a link. */
static void pm__drop(pm_world *w, pm__packet *k, bool is_at_nic) {
  int64_t t_ps = pm__max_ps(w->now_ps, k->t_tail_ps);
  pm__lose(w, k->m);
  k->link_count = k->hop + 1;
  if (is_at_nic) {
    t_ps = pm__later(t_ps, pm__serial_ps(w, k));
    pm__packet_begins(w, k, t_ps);
  }
  pm__schedule(w, &k->event, t_ps);
}
/* The cable is down: what waits for it turns, and what waits behind that too. */
PM__PRIVATE void pm__packets_failed(pm_world *w, uint32_t link) {
  int c;
  for (c = 0; w->packets && c < w->packets->channel_count; c++) {
    pm__queue *q = &pm__channel_of(w, link, c)->out;
    pm__packet *k = q->first, *next;
    q->first = NULL;
    q->bytes = 0;
    w->packets->port[link].waiting &= ~((uint64_t)1 << c);
    /* The queue was emptied before: a packet that turns may come to stand in another queue of the
       same switch, never in this one, whose link is down. */
    for (; k; k = next) {
      next = k->next;
      if (pm__turn(w, k, k->hop))
        pm__out_put(w, k);
      else
        pm__drop(w, k, k->hop == 0);
    }
    pm__room(w, link, c);
  }
}
/* The first packet of an in queue waits for room in front of its next link, once: others of its in queue stand behind
   it. */
static void pm__wait(const pm_world *w, pm__channel *in, pm__channel *next) {
  pm__channel *all = w->packets->channel;
  const uint32_t me = (uint32_t)(in - all) + 1; /* one too large, so that 0 means nobody */
  uint32_t *at = &next->waits_first;
  if (pm__is_by_age(w))
    while (*at && all[*at - 1].in.first->t_sent_ps <= in->in.first->t_sent_ps)
      at = &all[*at - 1].next_wait;
  else if (*at)
    at = &all[next->waits_last - 1].next_wait;
  in->next_wait = *at;
  if (!*at) next->waits_last = me;
  *at = me;
}
/* The first packets of an in queue, as far as there is room for them. */
static void pm__forward(pm_world *w, uint32_t link, int channel) {
  pm__channel *ch = pm__channel_of(w, link, channel);
  while (ch->in.first) {
    pm__packet *k = ch->in.first;
    pm__channel *next;
    int c;
    pm__choose(w, k);
    if (pm__is_closed(w, k->link[k->hop + 1]) && !pm__turn(w, k, k->hop + 1)) {
      pm__queue_take(&ch->in);
      pm__credit_back(w, link, channel, pm__buffer_bytes(k), pm__hop_ps(w, link, k->hop));
      pm__drop(w, k, false);
      continue;
    }
    c = k->channel[k->hop + 1];
    next = pm__channel_of(w, k->link[k->hop + 1], c);
    if (c != PM__DETOUR && next->out.bytes >= w->plat.packet_output_bytes) {
      pm__wait(w, ch, next);
      return;
    }
    pm__queue_take(&ch->in);
    pm__credit_back(w, link, channel, pm__buffer_bytes(k), pm__hop_ps(w, link, k->hop));
    k->hop++;
    pm__out_put(w, k);
  }
}

/* ---- messages -------------------------------------------------------------------------------------- */
/* Payload of a packet; with credits they are given out in equal packets. */
static uint64_t pm__each_bytes(const pm_world *w) {
  const int64_t credit = w->plat.link_credit_bytes, most = w->plat.packet_bytes;
  return (uint64_t)(credit ? credit / ((credit + most - 1) / most) : most);
}
/* How many packets a message takes; one without payload takes one. */
static int64_t pm__packets_of(const pm_world *w, uint64_t bytes) {
  const uint64_t each = pm__each_bytes(w);
  return bytes ? (int64_t)((bytes + each - 1) / each) : 1;
}
/* All packets are there, and all messages of the stream before it: ways of different length must not change
   the order. */
static void pm__all_there(pm_world *w, pm__message *m) {
  const int from = pm__job_from(m), to = pm__job_to(m), lane = m->way.lane;
  pm__stream *s = pm__stream_of(w, from, to, lane);
  pm__message *next, **at;
  /* `early` holds messages that overtook one with a lower number. Dropped packets come here too, at
     the switch that dropped them, so no number stays out and nobody waits for ever. */
  m->next = s->early;
  s->early = m;
  for (at = &s->early; *at;) {
    next = *at;
    if (next->way.number != s->arrived_count) {
      at = &next->next;
      continue;
    }
    *at = next->next;
    s->arrived_count++;
    next->way.has_crossed = 1;
    if (!pm__travel(w, next, from, to, lane, w->now_ps, 0, pm__rx))
      pm__job_told(w, next, w->now_ps);
    s = pm__stream_of(w, from, to, lane); /* may have moved */
    at = &s->early;
  }
}
/* A PCI root, reads or writes, moves one packet of its NICs after the other. When the packet's turn is; time is
   taken only from now on. */
static int64_t pm__root_ps(pm_world *w, int nic, int which, uint32_t bytes) {
  const uint32_t root = pm__node_resource(w, nic, which);
  const int64_t t_ps = pm__max_ps(w->now_ps, w->busy_ps[root]);
  if (w->plat.no_pci || !bytes) return w->now_ps;
  if (which != PM__PCI_READ || t_ps == w->now_ps)
    w->busy_ps[root] = pm__later(t_ps, pm__bytes_ps((double)bytes, w->links[root].cap));
  return t_ps;
}
/* Its credits go back as its parts come, the first ones when its head is there: then the next payload may leave. (It is
   counted here, with the tail, as long as that takes on the last link earlier.) */
static void pm__payload_is_there(pm_world *w, const pm__packet *k) {
  pm__credit *c = pm__credit_new(w, k->m, k->bytes);
  if (!c) return;
  c->is_reply = k->m->way.is_reply;
  k->m->way.pending++;
  pm__schedule(w, &c->event,
               pm__later(w->now_ps, pm__max_ps(k->latency_ps - pm__serial_ps(w, k), 0)));
}
static void pm__head_event(pm_world *w, pm__event *event) {
  pm__packet *k = (pm__packet *)event;
  pm__message *m = k->m;
  if (!pm__is_last_hop(k)) {
    const int c = k->channel[k->hop];
    pm__queue *in = &pm__channel_of(w, k->link[k->hop], c)->in;
    const bool is_first = !in->first;
    pm__queue_put(in, k);
    if (is_first) pm__forward(w, k->link[k->hop], c);
    return;
  }
  if (w->net && pm__node_is_out(w, k->to, w->now_ps)) pm__lose(w, m);
  if (!k->is_written && !m->way.is_dropped) {
    const int64_t t_ps = pm__root_ps(w, k->to, PM__PCI_WRITE, k->bytes);
    k->is_written = true;
    if (t_ps > w->now_ps) {
      pm__schedule(w, event, t_ps);
      return;
    }
  }
  if (w->plat.link_credit_bytes && m->way.rest_bytes) pm__payload_is_there(w, k);
  k->next = w->packets->free_packets;
  w->packets->free_packets = k;
  if (--m->way.packet_count == 0) pm__all_there(w, m);
}
/* The NIC whose turn it is with the next packet: of split payload each one in turn, from its own on. */
static int pm__turn_of(const pm_world *w, const pm__message *m, int nic) {
  const uint64_t number =
      (pm__job_bytes(m) - m->way.rest_bytes) / pm__each_bytes(w) + (uint64_t)pm__nic_rail(w, nic);
  return (int)(number % (uint64_t)w->plat.nic_count) * (int)w->plat.node_count +
         pm__nic_node(w, nic);
}
/* A part of it is lost, or its NIC died, before all of it had left. */
static void pm__rest_stays(pm_world *w, pm__message *m) {
  const int64_t rest = pm__packets_of(w, m->way.rest_bytes);
  const bool is_all = rest == m->way.packet_count;
  pm__lose(w, m);
  m->way.rest_bytes = 0;
  m->way.packet_count -= is_all ? 0 : rest;
  pm__job_gone(w, m);
  if (!is_all) return; /* those on the way still come */
  m->way.packet_count = 0;
  pm__all_there(w, m);
}
/* The way around what is down has been settled. But where the switches of a fat tree choose by load, and some way as
   long as the fixed one is whole, they find it by themselves: else all would take the same one of them. */
static void pm__sets_out_on(pm_world *w, pm__packet *k, const pm__known_way *way) {
  const pm_platform *p = &w->plat;
  int i;
  for (i = 0; i < PM__TREE_MAX; i++) k->port[i] = PM__NEVER_CHOSEN;
  if (way->is_detour && p->topology == PM_TOPO_FATTREE && p->packet_routing) {
    k->link_count = pm__on_rail(
        k, k->link,
        pm__fattree_way(p, pm__nic_node(w, way->from), pm__nic_node(w, way->to), NULL, k->link));
    if (k->link_count == way->link_count && !pm__is_closed(w, k->link[0])) {
      pm__settle_channels(w, k);
      return;
    }
  }
  k->link_count = way->link_count;
  memcpy(k->link, way->link, (size_t)way->link_count * sizeof *k->link);
  if (way->is_detour)
    pm__take_detour(k, 0);
  else if (p->topology == PM_TOPO_FILE)
    pm__settle_file(w, k);
  else
    pm__settle_channels(w, k);
}
/* The next packet of a message stands in front of a NIC's link. A message has at most one packet in
   front of its NIC's link: the next one comes when this one sets out. So a long message does not
   fill the queue, and other lanes of the NIC get their turns. */
static void pm__inject(pm_world *w, pm__event *event) {
  pm__message *m = (pm__message *)event;
  const bool is_split = pm__is_split(w, pm__job_bytes(m));
  const int from = is_split ? pm__turn_of(w, m, pm__job_from(m)) : pm__job_from(m),
            to = is_split ? pm__turn_of(w, m, pm__job_to(m)) : pm__job_to(m);
  const pm__known_way *way = pm__known(w, from, to);
  const uint64_t each = pm__each_bytes(w);
  const uint32_t bytes = (uint32_t)(m->way.rest_bytes < each ? m->way.rest_bytes : each);
  int64_t t_ps;
  pm__packet *k;
  if (m->way.is_dropped ||
      (w->has_lives && pm__died_between(w, pm__job_from(m), m->what.t_issue_ps, w->now_ps))) {
    pm__rest_stays(w, m);
    return;
  }
  if (!way->link_count) return; /* out of memory: the run ends */
  if (w->plat.link_credit_bytes && m->way.credit_bytes < bytes) {
    m->way.waits_for_credit = true;
    return;
  }
  t_ps = pm__root_ps(w, from, PM__PCI_READ, bytes);
  if (t_ps > w->now_ps) { /* other NICs read over its PCI root now: it asks again then */
    pm__schedule(w, event, t_ps);
    return;
  }
  k = pm__packet_new(w);
  if (!k) {
    pm__no_memory(w);
    return;
  }
  k->m = m;
  k->to = to;
  k->is_written = false;
  k->base = w->plat.nic_count > 1 ? (uint32_t)pm__nic_rail(w, from) * pm__rail_links(w) : 0;
  k->hop = k->chosen = 0;
  k->t_tail_ps = 0;
  k->latency_ps = way->latency_ps;
  k->t_sent_ps = w->now_ps;
  k->bytes = bytes;
  m->way.rest_bytes -= k->bytes;
  m->way.credit_bytes -= k->bytes;
  pm__sets_out_on(w, k, way);
  if (pm__is_closed(w, k->link[0]) && !pm__turn(w, k, 0))
    pm__drop(w, k, true);
  else
    pm__out_put(w, k);
}
/* So much of it is there, as its NIC knows now. (The message may be on its way back, or only waited for this.) */
static void pm__payload_may_go(pm_world *w, pm__message *m, bool is_reply, int64_t bytes) {
  if (m->way.is_reply == is_reply) m->way.credit_bytes += bytes;
  if (m->way.is_reply == is_reply && m->way.waits_for_credit) {
    m->way.waits_for_credit = false;
    pm__inject(w, &m->way.event);
  }
  pm__message_release(w, m);
}
/* All of a message has left its NIC: the lane goes on. */
static void pm__all_left(pm_world *w, pm__event *event) { pm__job_gone(w, (pm__message *)event); }
/* A packet's first byte leaves the NIC. Payload is read from memory as it leaves: the next packet
   follows when the PCI bus has read as much as this one has, or when the link is free, whichever is
   later. */
static void pm__packet_begins(pm_world *w, pm__packet *k, int64_t t_end_ps) {
  pm__message *m = k->m;
  const int nics =
      pm__is_split(w, pm__job_bytes(m)) ? (int)w->plat.nic_count : 1; /* read at once */
  const int64_t pci_ps =
      w->plat.no_pci ? 0 : pm__bytes_ps(k->bytes, nics * w->plat.pci_flow_bytes_per_s);
  if (m->way.is_first) m->way.t_begin_ps = w->now_ps;
  m->way.is_first = 0;
  m->way.t_left_ps = t_end_ps;
  if (m->way.rest_bytes) {
    m->way.event.fn = pm__inject;
    pm__schedule(w, &m->way.event, pm__later(w->now_ps, pci_ps));
  } else {
    m->way.event.fn = pm__all_left;
    pm__schedule(w, &m->way.event, t_end_ps);
  }
}
/* A job of a NIC's lane sets out at t_ps. */
PM__PRIVATE void pm__packet_send(pm_world *w, pm__message *m, int64_t t_ps) {
  const uint64_t bytes = pm__job_bytes(m);
  pm__stream *s;
  m->way.has_crossed = 1;
  m->way.is_flow = 0;
  if (!pm__packets_open(w)) return;
  s = pm__stream_of(w, pm__job_from(m), pm__job_to(m), m->way.lane);
  m->way.number = s->sent_count++;
  m->way.rest_bytes = bytes;
  m->way.packet_count = pm__packets_of(w, bytes);
  m->way.credit_bytes =
      w->plat.link_credit_bytes * (pm__is_split(w, bytes) ? w->plat.nic_count : 1);
  m->way.waits_for_credit = false;
  m->way.is_first = 1;
  m->way.is_dropped = 0;
  m->way.event.fn = pm__inject;
  pm__schedule(w, &m->way.event, t_ps);
}
