/* The NIC: see nic.h. */
#include "nic.h"
#include "outages.h"
static void pm__lane_run(pm_world *w, pm__lane *lane);
static void pm__match_event(pm_world *w, pm__event *event);
/* ---- the NIC: commands, payload, lanes ----------------------------------------------------------- */
/* The way of a put at the level flow, from call to event; a reply comes back the same way:

     CPU      pm__nic_call: time for the call, PIO; a command slot
     PCI      pm__nic_command: commands one behind the other
     NIC      pm__nic_send: in-flight limits, else `held`; then a lane: one job at a time
     network  up to a PCI packet: link after link, where others may be before it (pm__cross)
              longer: a flow (flow.c) over PCI, links and PCI at once; then its tail as above
     target   pm__rx: the earliest engine; pm__match_event: search, write, answer

   Lanes are BXI's virtual networks [S 2.2.3]: 0 requests, 1 responses (| 1), 2 and 3 the same
   for the service. Each is first in, first out, and none waits for another one: a response stuck
   behind requests whose responses wait likewise at the other side would be a deadlock. */
/* Without match bits a command has 8 bytes more for payload [S 4.3.3]. */
static int pm__matching_more(const pm__message *m) { return pm__is_matching(m->what.from) ? 0 : 8; }
PM__PRIVATE bool pm__is_inline(const pm_world *w, const pm__message *m) {
  return m->what.length <= (uint64_t)(w->plat.inline_bytes + pm__matching_more(m));
}
PM__PRIVATE bool pm__is_pio(const pm_world *w, const pm__message *m) {
  return m->what.length <= (uint64_t)(w->plat.pio_bytes + pm__matching_more(m)) &&
         (!w->plat.pio_needs_volatile || (m->what.md->md.options & PTL_MD_VOLATILE));
}
PM__INLINE_HERE int64_t pm__occupancy_ps(const pm_world *w, int node, const pm__message *m) {
  const int64_t d_ns = !pm__brings_data(m)       ? w->plat.nic_put_ns
                       : m->way.is_reply         ? w->plat.nic_response_ns
                       : m->what.kind == PM__GET ? w->plat.nic_get_ns
                                                 : w->plat.nic_put_ns;
  return pm__slow_ps(w, node, d_ns);
}
/* From the NIC's decision to send until the first byte may leave: one PCI packet must be there,
   the rest is read while it leaves. A reply's payload always is fetched: the target could not
   know what would be asked for [S 4.3.3]. */
PM__INLINE_HERE int64_t pm__fetch_ps(const pm_world *w, const pm__message *m, uint64_t bytes) {
  if (!bytes || w->plat.no_pci || (!m->way.is_reply && (pm__is_inline(w, m) || pm__is_pio(w, m))))
    return 0;
  if (bytes >= (uint64_t)w->plat.pci_packet_bytes) return w->d_packet_fetch_ps; /* then pipelined */
  return pm__later(w->plat.pci_latency_ns * PM__PS,
                   pm__pci_ps(w, (double)bytes)); /* there and back */
}

/* How the payload came to the NIC that sends it from t_begin_ps to t_end_ps. */
PM__APART static void pm__trace_read(pm_world *w, const pm__message *m, int64_t t_begin_ps,
                                     int64_t t_end_ps) {
  const uint64_t bytes = pm__job_bytes(m);
  const int64_t d_ps = pm__fetch_ps(w, m, bytes),
                t_data_ps = t_begin_ps - d_ps + w->plat.pci_latency_ns * PM__PS;
  const int node = pm__job_from(m);
  if (!d_ps) return;
  pm__trace(w, PM_TRACE_DMA_REQUEST, m, t_begin_ps - d_ps, t_data_ps, node, node, 0);
  pm__trace(w, PM_TRACE_DMA_PAYLOAD, m, t_data_ps,
            bytes > (uint64_t)w->plat.pci_packet_bytes ? t_end_ps : t_begin_ps, node, node, bytes);
}

/* What observers and the trace are told of a travel, when its end is known. */
PM__APART PM__PRIVATE void pm__job_tell(pm_world *w, const pm__message *m, int64_t t_there_ps) {
  const uint64_t bytes = pm__job_bytes(m);
  if (bytes) pm__stamp(w, m, m->way.is_reply, m->way.t_begin_ps, t_there_ps);
  if (w->desc.trace && !pm__is_inside(w, m))
    pm__trace_read(w, m, m->way.t_begin_ps, m->way.t_left_ps);
  pm__trace(w, pm__travel_kind(m), m, m->way.t_begin_ps, t_there_ps, pm__job_from(m), pm__job_to(m),
            bytes);
}
/* Of its present travel. Up a tree a way is found with a few sums. Where the world has no room for all of them it is kept
   with its message, whose memory is looked at anyhow, and where no other one displaces it: a new message has none, and
   only its answer begins elsewhere. */
static inline pm__known_way *pm__way_of(pm_world *w, pm__message *m, int from, int to) {
  pm__known_way *const own = &m->own;
  if (!w->has_own_ways) return pm__known(w, from, to);
  if (own->from != from || !own->link_count) pm__way_climb(w, own, from, to);
  return own;
}
/* Cables of any speed: how long this one takes for its bytes alone. */
static int64_t pm__serial_over_ps(const pm_world *w, uint32_t link, uint64_t payload) {
  const double bytes = payload ? pm__wire_bytes(w, payload) : (double)w->plat.ack_bytes;
  return pm__bytes_ps(bytes, pm_link_bytes_per_s(w, (int)link));
}
/* From the first byte to the last one, where it leaves its NIC: as fast as the first cable is. */
static int64_t pm__leaves_ps(pm_world *w, const pm__message *m, uint64_t payload) {
  const pm__known_way *way;
  if (!w->graph) return pm__wire_ps(w, payload);
  way = pm__known(w, pm__job_from(m), pm__job_to(m));
  return way->link_count ? pm__serial_over_ps(w, way->link[0], payload) : 0;
}
/* Payload over the narrowest cable of a way. */
static double pm__way_bytes_per_s(const pm_world *w, const pm__known_way *way) {
  double least = w->plat.link_bytes_per_s * pm__payload_ratio(&w->plat);
  int h;
  if (!w->graph) return least;
  for (h = 0, least = PM__UNLIMITED; h < way->link_count; h++)
    if (pm__link_rate(w, way->link[h]) < least) least = pm__link_rate(w, way->link[h]);
  return least;
}
PM__APART static void pm__crossed(pm_world *w, const pm__message *m, uint32_t link, int64_t t_ps,
                                  int64_t wait_ps) {
  const uint64_t payload = pm__job_bytes(m);
  const double bytes = payload ? pm__wire_bytes(w, payload) : (double)w->plat.ack_bytes;
  pm__use_add(w, link, PM__USE_CARRIED, t_ps + wait_ps,
              pm__sum_ps(t_ps + wait_ps, m->way.d_tail_ps), bytes);
  if (wait_ps) pm__use_add(w, link, PM__USE_QUEUED, t_ps, t_ps + wait_ps, bytes * (double)wait_ps);
}
/* A link carries one message of a packet after the other, in the order in which they reach it. So it is booked when
   all that reached it before has been: by an event at that time, or later by a time that is the same for all that
   cross the link, so that the order stays. It is booked when it is "due": when what crossed it could be at a node, which
   is as late as can be. Links that are due at one time take one event: on a crossbar both are due at the end of the
   way, and nothing happens before that. Four links of a torus, from when a message reaches them until they are due:

     link 0  |----step----|step|
     link 1               |step|step|
     link 2                    |step|step|   the end of the way:
     link 3                         |step|   both are due

   Up a fat tree a link is due when what crossed it could be down again. Who has to wait at a link comes so much later to
   the next one, and that is looked at then. */
static int64_t pm__due_ps(const pm_world *w, const pm__known_way *way, int hop) {
  const int left = way->link_count - hop, most = w->ways_climb ? hop + 2 : 2;
  if (w->graph) {
    const uint32_t link = way->link[hop] % pm__rail_links(w);
    return (w->graph->latency_ns[link / 2] + w->graph->least_ns[w->graph->end[link]]) * PM__PS;
  }
  return pm__hop_ps(w, way->link[hop], hop) + ((left < most ? left : most) - 1) * w->d_switch_ps;
}
/* ---- what comes next is asked for, see pm__ask_for ---- */
/* Its flow has ended: the links before its tail, then its target's NIC and process. */
PM__APART static void pm__ask_for_target(const pm_world *w, const pm__message *m,
                                         const pm__known_way *way) {
  int h;
  for (h = 0; h < way->link_count; h++) pm__ask_for(&w->busy_ps[way->link[h]], 1);
  pm__ask_for(m->what.target_nic->pid_0, 1);
  pm__ask_for(m->what.target_nic->t_rx_ps, 1);
  pm__ask_for(&m->what.to, 2);
}
/* It is on the wire, or its answer: what its list and its entry are found by; whom the answer is for. */
PM__APART static void pm__ask_for_end(const pm__message *m) {
  const pm_process *p = m->way.is_reply ? m->what.from->proc : m->what.target_nic->pid_0;
  const pm__ni *ni = m->way.is_reply ? m->what.from : p ? p->ni[m->what.from_index] : NULL;
  if (m->way.is_reply) {
    pm__ask_for(p, 2);
    pm__ask_for(p->threads, 3);
    pm__ask_for(&ni->first_ct, 1);
    pm__ask_for(&ni->first_md, 1);
  } else if (ni) {
    pm__ask_for(ni, 2);
    pm__ask_for(ni->pt[m->what.pt / PM__PTS], 2);
    pm__ask_for(&ni->first_me, 3);
  }
}
/* It sets out. All events of messages lag behind by the time of one link packet, so that of one that is no longer the one
   at the end of its way is its arrival: for another one there it would have to be looked at twice. (Acknowledgements
   are shorter, and lag less: one may be booked before a message that reached the link so much earlier.) Of a flow only
   the tail comes by here. */
PM__INLINE_HERE void pm__sets_out(const pm_world *w, pm__message *m, const pm__known_way *way) {
  const int64_t own_ps = m->way.is_flow ? 0 : m->way.t_left_ps - m->way.t_begin_ps,
                lag_ps = own_ps < w->d_lag_ps ? own_ps : w->d_lag_ps;
  m->way.hop = 0;
  m->way.link_count = (unsigned char)way->link_count;
  m->way.d_lag_ps = lag_ps;
  m->way.d_tail_ps = own_ps;
  m->way.d_rest_ps = own_ps - lag_ps;
  if ((w->graph || way->link_count > 2) && way->link_count)
    m->way.d_rest_ps += way->latency_ps - pm__due_ps(w, way, 0);
}
/* A cable that is slower than those before it draws the message out: its tail comes so much later. Its head goes
   on meanwhile (cut-through, as packets do), and what follows has to wait for the tail, on faster ones too. Where
   its head waits its tail comes up. */
static void pm__draw_out(pm_world *w, pm__message *m, uint32_t link, int64_t wait_ps) {
  const int64_t before_ps = m->way.d_tail_ps;
  m->way.d_tail_ps = pm__max_ps(pm__serial_over_ps(w, link, pm__job_bytes(m)), before_ps - wait_ps);
  m->way.d_rest_ps = pm__sum_ps(m->way.d_rest_ps, m->way.d_tail_ps - before_ps);
}
/* Until when what crosses it holds others up; nobody on a fatpipe. */
static int64_t *pm__busy_of(pm_world *w, uint32_t link) {
  if (pm__is_fatpipe(w, link)) w->busy_ps[link] = 0;
  return &w->busy_ps[pm__link_of_flows(w, link)];
}
/* The next link of its way is due, perhaps more with it.
   ret how long until it has to come again; < 0: not at all, it is there. 0: now, but behind what else happens now: who
   has just gone ahead of a tail on a link goes ahead of it on the next one too */
PM__APART static int64_t pm__cross_any(pm_world *w, pm__message *m, const pm__known_way *way) {
  const int count = way->link_count;
  int h = m->way.hop;
  bool is_behind = false;
  if (count != m->way.link_count)
    h = count; /* sent again, or a repair: it goes on where it was, without waits */
  while (h < count) {
    int64_t *const busy_ps = pm__busy_of(w, way->link[h]);
    const int64_t due_ps = pm__due_ps(w, way, h), t_ps = w->now_ps - m->way.d_lag_ps - due_ps;
    const int64_t wait_ps = *busy_ps > t_ps ? *busy_ps - t_ps : 0;
    int64_t next_ps = 0;
    is_behind = m->way.is_flow && *busy_ps == t_ps;
    if (!m->way.is_flow) {
      if (w->graph) pm__draw_out(w, m, way->link[h], wait_ps);
      *busy_ps = pm__sum_ps(t_ps + wait_ps, m->way.d_tail_ps);
      if (w->uses) pm__crossed(w, m, way->link[h], t_ps, wait_ps);
    }
    if (++h < count)
      next_ps = pm__hop_ps(w, way->link[h - 1], h - 1) + pm__due_ps(w, way, h) - due_ps;
    m->way.d_rest_ps -= next_ps;
    next_ps += wait_ps;
    if (h < count && (next_ps > 0 || is_behind)) {
      m->way.hop = (unsigned char)h;
      return next_ps;
    }
    if (h == count) m->way.d_rest_ps = pm__sum_ps(m->way.d_rest_ps, wait_ps);
  }
  m->way.has_crossed = 1;
  return m->way.d_rest_ps > 0 || is_behind ? pm__max_ps(m->way.d_rest_ps, 0) : -1;
}
/* The usual cases with a few sums: one link is due; or all that are left, and nobody stands in the way. */
PM__INLINE_HERE int64_t pm__cross_one(pm_world *w, pm__message *m, const pm__known_way *way,
                                      int left, int most) {
  const int64_t step_ps = w->d_switch_ps;
  const int h = m->way.hop++, after = left - (w->ways_climb ? most + 2 : most + 1);
  const int64_t d_ps = (left - most - (after > 0 ? after : 0)) * step_ps; /* the next is due */
  int64_t *const busy_ps = &w->busy_ps[way->link[h]];
  const int64_t t_ps =
      w->now_ps - m->way.d_lag_ps - (h ? step_ps : w->d_first_ps) - (most - 1) * step_ps;
  const int64_t wait_ps = *busy_ps > t_ps ? *busy_ps - t_ps : 0;
  if (!m->way.is_flow) *busy_ps = pm__sum_ps(t_ps + wait_ps, m->way.d_tail_ps);
  m->way.d_rest_ps -= d_ps;
  return d_ps + wait_ps;
}
PM__INLINE_HERE int64_t pm__cross(pm_world *w, pm__message *m) {
  const pm__known_way *way = pm__known_again(w, m->way.known, pm__job_from(m), pm__job_to(m));
  const int count = way->link_count, most = w->ways_climb ? m->way.hop + 2 : 2;
  int h = m->way.hop;
  int64_t t_ps = w->now_ps - m->way.d_lag_ps - (h ? (count - h) * w->d_switch_ps : way->latency_ps);
  /* Where switches take no time, all links are due at once: those are no usual cases. */
  if (w->is_unusual && (w->graph || w->uses || !w->d_switch_ps || count != m->way.link_count))
    return pm__cross_any(w, m, way);
  if (count - h > most) return pm__cross_one(w, m, way, count - h, most);
  for (; h < count; t_ps += h++ ? w->d_switch_ps : w->d_first_ps) {
    int64_t *const busy_ps = &w->busy_ps[way->link[h]];
    if (*busy_ps >= t_ps) {
      m->way.hop = (unsigned char)h;
      return pm__cross_any(w, m, way);
    }
    if (!m->way.is_flow) *busy_ps = pm__sum_ps(t_ps, m->way.d_tail_ps);
  }
  m->way.has_crossed = 1;
  return m->way.d_rest_ps > 0 ? m->way.d_rest_ps : -1;
}
PM__INLINE_HERE void pm__job_left(pm_world *w, pm__message *m, int64_t t_begin_ps,
                                  int64_t t_end_ps) {
  const int from = pm__job_from(m), to = pm__job_to(m);
  int64_t latency_ps = w->plat.intra_latency_ns * PM__PS;
  m->way.t_begin_ps = t_begin_ps;
  m->way.t_left_ps = t_end_ps;
  m->way.d_rest_ps = 0;
  if (!pm__is_inside(w, m)) {
    m->way.known = pm__way_of(w, m, from, to);
    latency_ps = m->way.known->latency_ps;
    if (!m->way.has_crossed) pm__sets_out(w, m, m->way.known);
    if (w->is_large) pm__ask_for_target(w, m, m->way.known);
  }
  if (w->is_unusual && m->way.is_flow && !w->is_faulty)
    pm__job_told(w, m, pm__later(t_end_ps, latency_ps));
  if (!m->way.is_reply) pm__send_early(w, m, pm__later(t_begin_ps, pm__event_ps(w)));
  const bool travels = pm__travel(w, m, from, to, m->way.lane, t_end_ps, latency_ps, pm__rx);
  if (!w->is_unusual) return;
  if (travels) {
    if (w->is_faulty && !m->way.has_crossed)
      m->way.number = pm__stream_of(w, from, to, m->way.lane)->sent_count++;
  } else if (!m->way.is_flow || w->is_faulty)
    pm__job_told(w, m, pm__later(t_end_ps, latency_ps)); /* it never will be there */
}
static pm__lane *pm__lane_of(pm_world *w, pm__message *m) {
  return pm__is_inside(w, m) ? &m->what.from->proc->memory_lane
                             : &pm__job_nic(m)->lane[m->way.lane];
}
/* All of it has left; or a cable that carried a part of it failed, or there is no way: it is sent again later (see
   pm__wire), beside what follows. */
static void pm__job_flew(pm_world *w, pm__message *m) {
  pm__lane *lane = pm__lane_of(w, m);
  lane->is_busy = 0; /* the lane does not wait for what is sent again */
  pm__job_nic(m)->leaving_count -= !pm__is_inside(w, m);
  lane->t_free_ps = pm__later(w->now_ps, lane->d_held_ps);
  if (!m->way.is_reply) pm__slot_release(w, m, lane->t_free_ps);
  pm__job_left(w, m, m->way.t_begin_ps, lane->t_free_ps);
  pm__lane_run(w, lane);
}
static void pm__job_flown(pm_world *w, void *arg) {
  pm__message *m = (pm__message *)arg;
  if (--m->way.part_count > 0) return; /* other rails still carry theirs */
  pm__job_flew(w, m);
}
PM__PRIVATE void pm__job_lost(pm_world *w, void *message) {
  pm__message *m = (pm__message *)message;
  if (!m->way.is_dropped) m->way.t_lost_ps = w->now_ps;
  m->way.is_dropped = 1;
  pm__job_flown(w, message);
}
/* At the packet level: what is on its way comes to pm__rx by itself. */
PM__PRIVATE void pm__job_gone(pm_world *w, pm__message *m) {
  pm__lane *lane = pm__lane_of(w, m);
  lane->is_busy = 0;
  lane->t_free_ps = w->now_ps;
  if (!m->way.is_reply) {
    pm__slot_release(w, m, w->now_ps);
    pm__send_early(w, m, pm__max_ps(w->now_ps, pm__later(m->way.t_begin_ps, pm__event_ps(w))));
  }
  pm__lane_run(w, lane);
}
/* The average rate that credits allow: the first ones at the link's rate, then one window per round
   trip (when that is the slower one). A window that covers a round trip never runs dry:

     d = window / rate + (bytes - window) / (window / round trip),   window < rate * round trip
*/
static double pm__credit_bytes_per_s(const pm_world *w, double bytes, const pm__known_way *way) {
  const double window = (double)w->plat.link_credit_bytes, rate = pm__way_bytes_per_s(w, way),
               round_trip_s = 2e-12 * (double)way->latency_ps;
  if (!(window > 0) || bytes <= window || window >= rate * round_trip_s) return PM__UNLIMITED;
  return bytes / (window / rate + (bytes - window) / (window / round_trip_s));
}
/* How long all bytes of a message leave where nothing else is under way: what the narrowest cable, one PCI transfer and
   credits make of that. */
PM__PRIVATE int64_t pm__alone_ps(const pm_world *w, const pm__message *m,
                                 const pm__known_way *way) {
  const uint64_t payload = pm__job_bytes(m);
  const double bytes = payload ? pm__wire_bytes(w, payload) : (double)w->plat.ack_bytes,
               credit = pm__credit_bytes_per_s(w, (double)payload, way);
  int64_t d_ps = pm__bytes_ps(bytes, pm__way_bytes_per_s(w, way) / pm__payload_ratio(&w->plat));
  if (payload <= (uint64_t)w->plat.pci_packet_bytes) return d_ps;
  if (!w->plat.no_pci)
    d_ps = pm__max_ps(d_ps, pm__bytes_ps((double)payload, w->plat.pci_flow_bytes_per_s));
  return credit < PM__UNLIMITED ? pm__max_ps(d_ps, pm__bytes_ps((double)payload, credit)) : d_ps;
}
/* A long transfer sets out: over the source's PCI, the links of the way, the target's PCI, all
   at once, since packets follow each other [S 4.3.3]. One flow has one rate, that of its
   narrowest place: congestion on a link slows both PCI parts, unlike three transfers started
   together [S Fig. 4.7].
   ret 0: out of memory */
static int pm__job_part(pm_world *w, pm__message *m, int from, int to, double bytes) {
  const bool inside = pm__is_inside(w, m);
  const pm__known_way *way = inside ? NULL : pm__way_of(w, m, from, to);
  pm__flow *f = pm__flow_new(w, way);
  double cap = w->plat.pci_flow_bytes_per_s, credit;
  if (!f) return 0;
  f->from = from;
  f->to = to;
  f->done = pm__job_flown;
  f->arg = m;
  if (inside) {
    f->link[f->link_count++] = pm__node_resource(w, from, PM__MEMORY);
    return pm__flow_go(w, f, bytes, w->plat.intra_bytes_per_s);
  }
  if (w->plat.no_pci)
    cap = PM__UNLIMITED;
  else if (!w->pci_is_wide) {
    f->link[f->link_count++] = pm__node_resource(w, from, PM__PCI_READ);
    /* half duplex: reads and writes of a node are one resource, which a flow must not hold twice */
    if (from != to || !w->plat.pci_half_duplex)
      f->link[f->link_count++] = pm__node_resource(w, to, PM__PCI_WRITE);
    else if (cap > w->plat.pci_bytes_per_s / 2)
      cap = w->plat.pci_bytes_per_s / 2;
  }
  credit = pm__credit_bytes_per_s(w, bytes, way);
  return pm__flow_go(w, f, bytes, credit < cap ? credit : cap);
}
static void pm__job_flow(pm_world *w, pm__event *event) {
  pm__message *m = (pm__message *)event;
  int from = pm__job_from(m), to = pm__job_to(m), k;
  const int nodes = (int)w->plat.node_count;
  const bool inside = pm__is_inside(w, m);
  double bytes;
  m->way.t_begin_ps = w->now_ps;
  m->way.is_dropped = 0;
  m->way.part_count = !inside && pm__is_split(w, pm__job_bytes(m)) ? (int)w->plat.nic_count : 1;
  if (m->way.part_count > 1) from = pm__nic_node(w, from), to = pm__nic_node(w, to);
  bytes = (double)pm__job_bytes(m) / m->way.part_count;
  if (w->graph && !inside) /* what fills up the last link packet may take long on a slow cable */
    bytes = pm__wire_bytes(w, (pm__job_bytes(m) + (uint64_t)m->way.part_count - 1) /
                                  (uint64_t)m->way.part_count) *
            pm__payload_ratio(&w->plat);
  /* Counted by k: a part that is lost at once lowers part_count, and the last of them ends the
     job. */
  for (k = m->way.part_count; k > 0; k--, from += nodes, to += nodes)
    if (w->net && !inside && pm__is_cut(w, from, to, w->now_ps))
      pm__job_lost(w, m);
    else if (!pm__job_part(w, m, from, to, bytes)) {
      pm_world_fail(w, PM_E_NOMEM, "out of memory: flow");
      return;
    }
}
/* When the first byte of a job may leave its NIC: the one before has left, the command is read,
   payload is there; with dma_ahead that is asked for while earlier ones leave.

     dma_ahead   ready | fetch .......... |
                 | one before |           | occupancy | bytes
     without     ready |
                 | one before | occupancy | fetch .......... | bytes
*/
PM__INLINE_HERE int64_t pm__job_ready_ps(pm_world *w, const pm__lane *lane, const pm__message *m,
                                         uint64_t bytes) {
  const int64_t d_ps = pm__occupancy_ps(w, pm__job_from(m), m),
                fetch_ps = pm__fetch_ps(w, m, bytes), t_ps = m->way.t_ready_ps;
  if (w->plat.dma_ahead)
    return pm__later(pm__max_ps(pm__later(t_ps, fetch_ps), lane->t_free_ps), d_ps);
  return pm__later(pm__later(pm__max_ps(t_ps, lane->t_free_ps), d_ps), fetch_ps);
}
/* A short job of a NIC leaves between the packets of a flow of another lane: that one's tail leaves so much
   later. (Flows know nothing of short messages, see pm__last_ps.) */
PM__APART static void pm__hold_flows(const pm__message *m, int64_t t_end_ps, int64_t d_ps) {
  pm__lane *lanes = pm__job_nic(m)->lane;
  int k;
  for (k = 0; k < 4 && pm__job_nic(m)->leaving_count; k++)
    if (lanes[k].is_busy && t_end_ps > lanes[k].t_free_ps) { /* of a busy lane: the flow's begin */
      const int64_t d_both_ps = t_end_ps - lanes[k].t_free_ps;
      lanes[k].d_held_ps = pm__later(lanes[k].d_held_ps, d_both_ps < d_ps ? d_both_ps : d_ps);
    }
}
/* The first job of a free lane. The end of a short one is known now: no event is needed, the
   lane stays free, and t_free_ps holds back the next. A flow's end depends on others, so its
   lane is busy. */
static void pm__job_start(pm_world *w, pm__lane *lane, pm__message *m) {
  const uint64_t bytes = pm__job_bytes(m);
  const int inside = pm__is_inside(w, m);
  int64_t t_ps = inside ? pm__max_ps(m->way.t_ready_ps, lane->t_free_ps)
                        : pm__job_ready_ps(w, lane, m, bytes),
          t_end_ps;
  if (!inside && m->way.link == PM_LINK_PACKET) {
    lane->is_busy = 1;
    pm__packet_send(w, m, pm__max_ps(t_ps, w->now_ps));
    return;
  }
  m->way.is_flow = bytes > (uint64_t)w->plat.pci_packet_bytes;
  m->way.is_dropped = 0;
  m->way.has_crossed = (unsigned char)inside;
  if (m->way.is_flow) {
    lane->is_busy = 1;
    lane->t_free_ps = pm__max_ps(t_ps, w->now_ps);
    lane->d_held_ps = 0;
    pm__job_nic(m)->leaving_count += !inside;
    m->way.event.fn = pm__job_flow;
    pm__schedule(w, &m->way.event, lane->t_free_ps);
    return;
  }
  if (inside)
    t_end_ps = pm__later(t_ps, pm__bytes_ps((double)bytes, w->plat.intra_bytes_per_s));
  else {
    const int64_t d_ps = pm__leaves_ps(w, m, bytes);
    t_end_ps = pm__later(t_ps, d_ps);
    if (pm__job_nic(m)->leaving_count) pm__hold_flows(m, t_end_ps, d_ps);
  }
  lane->t_free_ps = t_end_ps;
  if (!m->way.is_reply) pm__slot_release(w, m, t_end_ps);
  pm__job_left(w, m, t_ps, t_end_ps);
}
static void pm__lane_run(pm_world *w, pm__lane *lane) {
  while (!lane->is_busy && lane->head) {
    pm__message *m = lane->head;
    lane->head = m->next;
    if (w->has_lives && pm__died_between(w, pm__job_from(m), m->what.t_issue_ps, w->now_ps)) {
      if (!m->way.is_reply) pm__slot_release(w, m, w->now_ps);
      pm__travel(w, m, pm__job_from(m), pm__job_to(m), m->way.lane, w->now_ps, 0, pm__rx);
    } else
      pm__job_start(w, lane, m);
  }
}
/* Hands the message's present job (request or reply) to its lane; ready at t_ps, in order: no
   job is ready before the one pushed before it, since Portals orders the messages of a pair. */
PM__INLINE_HERE void pm__lane_push(pm_world *w, pm__message *m, int64_t t_ps) {
  pm__lane *lane = pm__lane_of(w, m);
  m->way.t_ready_ps = lane->t_ready_ps = pm__max_ps(t_ps, lane->t_ready_ps);
  if (!lane->head && !lane->is_busy && !w->has_lives) { /* it need not stand in line */
    pm__job_start(w, lane, m);
    return;
  }
  m->next = NULL;
  if (lane->head)
    lane->tail->next = m;
  else
    lane->head = m;
  lane->tail = m;
  pm__lane_run(w, lane);
}

/* ---- receiving ------------------------------------------------------------------------------------ */
/* A link of its way is due. ret whether it comes again */
PM__INLINE_HERE bool pm__is_under_way(pm_world *w, pm__message *m) {
  const int64_t wait_ps = pm__cross(w, m);
  if (w->is_unusual && w->is_faulty && m->way.has_crossed)
    pm__in_order(w, m, pm__max_ps(wait_ps, 0));
  else if (wait_ps >= 0)
    pm__goes_on(w, &m->way.event, pm__later(w->now_ps, wait_ps));
  else
    return false;
  return true;
}
/* With ack_after_write nothing is told of payload, to the host or the other side, before the NIC knows that it
   is in memory: what tells of it crosses PCI behind it, not with it. */
static bool pm__waits_for_write(const pm_world *w, const pm__message *m, uint64_t bytes) {
  return w->is_unusual && w->plat.ack_after_write && bytes && !pm__is_inside(w, m) &&
         !w->plat.no_pci;
}
/* One that is free now is as good as any other. Not with faults: copies of messages take the first one. */
static inline int64_t *pm__first_free_engine(const pm_world *w, pm__node *n) {
  if (n->t_rx_ps[0] <= w->now_ps && !w->is_faulty) return &n->t_rx_ps[0];
  const int count = (int)w->plat.nic_engine_count;
  int64_t t_best_ps = n->t_rx_ps[0];
  int best = 0, i;
  for (i = 1; i < count; i++) {
    best = n->t_rx_ps[i] < t_best_ps ? i : best;
    t_best_ps = n->t_rx_ps[i] < t_best_ps ? n->t_rx_ps[i] : t_best_ps;
  }
  return &n->t_rx_ps[best];
}
/* The head or, of a long message, the tail is here: the earliest free engine takes it, in order.
   A message comes here twice when it has to wait: has_crossed says that its wait is over.
   Engines work side by side, with occupancies that differ, so a later message could be ready
   first; t_rx_last_ps holds it back behind those of its lane, or lists would be searched in
   another order than messages were sent. */
PM__PRIVATE void pm__rx(pm_world *w, pm__event *event) {
  pm__message *m = (pm__message *)event;
  const int to = pm__job_to(m);
  pm__node *n = m->way.is_reply ? m->what.initiator_nic : m->what.target_nic;
  int64_t t_ps = w->now_ps;
  if (w->is_large) pm__ask_for_end(m);
  if (!m->way.has_crossed && pm__is_under_way(w, m)) return;
  if (w->is_unusual && (!m->way.is_flow || w->is_faulty)) pm__job_told(w, m, w->now_ps);
  if (!pm__is_inside(w, m) &&
      !(w->is_unusual && w->plat.quick_ack && m->way.is_reply && !pm__brings_data(m))) {
    int64_t *const engine_ps = pm__first_free_engine(w, n);
    t_ps = pm__later(pm__max_ps(t_ps, *engine_ps), pm__occupancy_ps(w, to, m));
    *engine_ps = t_ps;
    t_ps = n->t_rx_last_ps[m->way.lane] = pm__max_ps(t_ps, n->t_rx_last_ps[m->way.lane]);
  }
  if (!m->way.is_reply)
    m->way.event.fn = pm__match_event;
  else { /* the reply's data and its event cross PCI */
    const uint64_t bytes = pm__job_bytes(m);
    m->way.event.fn = pm__back_event;
    if (!pm__is_inside(w, m))
      t_ps = pm__later(pm__later(t_ps, pm__event_ps(w)),
                       bytes ? pm__bytes_ps((double)(bytes < (uint64_t)w->plat.pci_packet_bytes
                                                         ? bytes
                                                         : (uint64_t)w->plat.pci_packet_bytes),
                                            w->plat.no_pci ? 1e18 : w->plat.pci_flow_bytes_per_s)
                             : 0);
    if (pm__waits_for_write(w, m, bytes)) t_ps += w->plat.pci_latency_ns * PM__PS;
    pm__trace(w, PM_TRACE_EVENT, m, t_ps - (pm__is_inside(w, m) ? 0 : pm__event_ps(w)), t_ps, to,
              to, (uint64_t)w->plat.event_bytes);
    t_ps = pm__max_ps(t_ps, m->way.t_done_ps);
    if (m->what.kind == PM__GET && m->what.me)
      pm__fetched(w, m, w->plat.ack_after_write ? t_ps : w->now_ps);
  }
  pm__goes_on(w, &m->way.event, t_ps);
}
/* Lists are searched for one message after the other, in the order of their arrival. Of those
   that wait only the first has an event: a search that begins puts it where that search ends
   (pm__search_ends). ret whether this one has to wait: then its event comes again */
static bool pm__search_waits(pm_world *w, pm__node *n, pm__message *m) {
  if (n->search == m) { /* its turn */
    n->search = m->next;
    return false;
  }
  if (!n->search && n->t_search_ps <= w->now_ps) return false;
  m->next = NULL;
  if (n->search)
    n->search_tail->next = m;
  else {
    n->search = m;
    pm__schedule(w, &m->way.event, n->t_search_ps);
  }
  n->search_tail = m;
  return true;
}
static void pm__search_ends(pm_world *w, pm__node *n, int64_t t_ps) {
  n->t_search_ps = pm__later(t_ps, w->plat.nic_search_ns * PM__PS);
  if (n->search) pm__schedule(w, &n->search->way.event, n->t_search_ps);
}
/* At the list engines: match, write (in the background of what follows), answer. The last PCI
   packet alone is still to be written when the tail is here, and the answer does not wait for it
   [S 4.3.3, Fig. 4.10] but with ack_after_write. A node's writes end in the order of its
   matches: an event must not tell of data while that of an earlier event is still on PCI. */
static void pm__match_event(pm_world *w, pm__event *event) {
  pm__message *m = (pm__message *)event;
  pm__node *n = m->what.target_nic;
  const bool inside = pm__is_inside(w, m),
             searches = w->is_unusual && !inside && (w->plat.nic_match_ns || w->plat.nic_search_ns);
  int taken;
  uint64_t bytes;
  int64_t t_ps;
  if (searches && pm__search_waits(w, n, m)) return;
  if (pm__is_for_the_dead(w, m)) {
    if (searches) pm__search_ends(w, n, w->now_ps);
    return;
  }
  taken = pm__arrive(w, m);
  bytes = pm__brings_data(m) ? 0 : m->what.mlength;
  t_ps = w->now_ps;
  if (w->plat.nic_match_ns)
    t_ps = pm__later(
        t_ps, pm__whole_ps((double)m->what.looked_at * (double)(w->plat.nic_match_ns * PM__PS)));
  if (searches) pm__search_ends(w, n, t_ps);
  if (taken) {
    if (bytes > (uint64_t)w->plat.pci_packet_bytes)
      bytes = (uint64_t)w->plat.pci_packet_bytes; /* the last packet */
    m->way.t_done_ps = t_ps;
    if (!inside && !w->plat.no_pci)
      m->way.t_done_ps =
          pm__later(t_ps + w->plat.pci_latency_ns * PM__PS,
                    bytes == (uint64_t)w->plat.pci_packet_bytes ? w->d_packet_write_ps
                                                                : pm__write_ps(w, bytes));
    if (pm__waits_for_write(w, m, bytes)) m->way.t_done_ps += w->plat.pci_latency_ns * PM__PS;
    n->t_done_ps = m->way.t_done_ps = pm__max_ps(m->way.t_done_ps, n->t_done_ps);
    pm__trace(w, PM_TRACE_PAYLOAD_WRITE, m, t_ps, m->way.t_done_ps, pm__to_node(m), pm__to_node(m),
              m->what.mlength);
    if (m->what.kind != PM__GET) {
      pm__target_waits(m);
      pm__written_at(w, m, m->way.t_done_ps);
    }
    if (pm__brings_data(m)) w->stats.sent_bytes += m->what.mlength;
  }
  if (pm__waits_for_write(w, m, bytes)) t_ps += w->plat.pci_latency_ns * PM__PS;
  if (w->is_large) {
    pm__ask_for(m->what.from, 1);
    pm__ask_for(m->what.initiator_nic, 2);
  }
  m->way.is_reply = 1;
  m->way.lane = (unsigned char)(m->way.lane | 1);
  if (w->plat.quick_ack && !pm__brings_data(m) && !inside) {
    m->way.is_flow = 0;
    m->way.has_crossed = 1; /* it takes no place on any link */
    pm__job_left(w, m, t_ps, t_ps);
  } else
    pm__lane_push(w, m, t_ps);
}

/* ---- from calls to the NIC ------------------------------------------------------------------------ */
/* Commands between CPU and NIC, first in, first out: the ring holds when each leaves (FOREVER: not
   known yet). */
PM__INLINE void pm__slot_release(pm_world *w, pm__message *m, int64_t t_ps) {
  pm__node *n = m->what.initiator_nic;
  if (!m->way.has_slot || pm__is_of_the_dead(w, m)) return;
  n->slots[m->way.slot] = t_ps;
  if (n->slot_waiters) { /* let them look again */
    pm_thread *t = n->slot_waiters;
    n->slot_waiters = NULL;
    for (; t; t = t->next_waiter) pm__resume(w, t);
  }
}
static int64_t pm__slots_max(const pm_world *w) {
  return w->plat.command_queue_count + w->plat.nic_pipeline_count;
}
PM__INLINE void pm__slot_take(pm_world *w, pm__message *m) {
  pm__node *n = m->what.initiator_nic;
  const uint32_t max = (uint32_t)pm__slots_max(w);
  if (!n->slots) {
    n->slots = (int64_t *)pm__zalloc(max * sizeof *n->slots);
    if (!n->slots) return;
    w->stats.memory_bytes += max * sizeof *n->slots;
  }
  /* From the oldest on, up to one that has not left: the queue is first in, first out, so a
     later command that has its time already keeps its slot until then. */
  while (n->slots_used && n->slots[n->slots_first] <= w->now_ps) {
    n->slots_first = pm__round(n->slots_first + 1, max);
    n->slots_used--;
  }
  if (n->slots_used >= max) return; /* triggered operations come from the NIC itself: no slot */
  m->way.slot = pm__round(n->slots_first + n->slots_used++, max);
  m->way.has_slot = 1;
  n->slots[m->way.slot] = PM__FOREVER;
}
/* How messages move from now on; how one moves that starts now. */
static void pm__link_change(pm_world *w, pm_link_model link) {
  w->desc.link = link;
  if (link == PM_LINK_CARRIER) pm__carrier_link_all(w);
}
PM__APART static void pm__link_phases_go(pm_world *w) {
  const pm_world_desc *desc = &w->desc;
  while (w->link_phases_done < desc->link_phase_count &&
         w->now_ps >= pm__ps(desc->link_phases[w->link_phases_done].t_ns))
    pm__link_change(w, desc->link_phases[w->link_phases_done++].link);
}
PM__PRIVATE pm_link_model pm__link_now(pm_world *w) {
  if (w->link_phases_done < w->desc.link_phase_count) pm__link_phases_go(w);
  return w->desc.link;
}
/* Whether a command would have to wait. (A transfer inside of a node needs no command.) */
PM__INLINE int pm__slots_are_taken(const pm_process *p, const pm__message *m) {
  pm_world *w = p->world;
  const pm__node *n = p->its_nic;
  return pm__link_now(w) != PM_LINK_LOGGP && !pm__is_inside(w, m) &&
         n->slots_used >= (uint32_t)pm__slots_max(w) && n->slots[n->slots_first] > w->now_ps;
}
/* Payload that the CPU writes takes the CPU's time; where writes are posted, time on their way alone: the
   command goes behind it, and what is written next behind that. A carrier takes its own time for it. */
static int64_t pm__pio_ps(const pm_world *w, const pm__message *m) {
  return pm__bytes_ps((double)m->what.length, w->plat.pio_bytes_per_s);
}
static int64_t pm__pio_cpu_ps(pm_world *w, const pm__message *m) {
  return pm__link_now(w) == PM_LINK_CARRIER || w->plat.pio_is_posted ? 0 : pm__pio_ps(w, m);
}
static void pm__pio_ends(pm_world *w, const pm__message *m, int64_t t_begin_ps) {
  const pm_process *p = m->what.from->proc;
  pm__node *n = p->its_nic;
  int64_t t_end_ps = w->now_ps;
  if (w->plat.pio_is_posted && pm__link_now(w) != PM_LINK_CARRIER) {
    t_begin_ps = pm__max_ps(w->now_ps, n->t_command_ps);
    t_end_ps = n->t_command_ps = pm__later(t_begin_ps, pm__pio_ps(w, m));
  }
  pm__trace(w, PM_TRACE_PIO_PAYLOAD, m, t_begin_ps, t_end_ps, p->node, p->node, m->what.length);
}
/* Of the next call. From the number of the call and not from the world's generator: so it is the same
   whether threads run ahead or not, and in whatever order processes run. */
PM__APART static int64_t pm__noise_ps(pm_process *p) {
  const pm_world_desc *desc = &p->world->desc;
  uint64_t x = desc->seed ^ (uint64_t)p->rank << 40;
  x = nbc__random(&x) + p->noise_count++;
  return pm__ps((int64_t)(nbc__random(&x) % ((uint64_t)desc->call_noise_ns + 1)));
}
/* The CPU's part of a call that moves data, step by step: time for the call, for payload that
   the CPU itself writes, and for a free command slot. ret false: that was all; else the running
   thread is busy for call->d_ps, PM__FOREVER: until it is resumed. The caller comes again after
   each step; call->done says where it is. The last step comes again until there is a slot:
   another thread of the process may have been first. */
PM__INLINE bool pm__nic_call(pm_process *p, const pm__message *m, pm__call_step *call) {
  pm_world *w = p->world;
  pm__node *n = p->its_nic;
  pm_thread *t = pm__current;
  const pm_loggp_range *range;
  switch (call->done++) {
  case 0:
    call->t_ps = w->now_ps;
    call->is_short = pm__link_now(w) == PM_LINK_LOGGP;
    range = call->is_short ? pm__loggp_of(w, (double)m->what.length) : NULL;
    call->d_ps = pm__later(range            ? pm__ps(range->overhead_ns)
                           : call->is_short ? pm__ps(w->plat.loggp_overhead_ns)
                                            : w->d_call_ps,
                           w->desc.call_noise_ns ? pm__noise_ps(p) : 0);
    call->what = "a Portals call";
    t->is_idle = call->d_ps <= w->d_look_max_ps;
    return true;
  case 1:
    t->is_idle = 0;
    if (call->is_short) return false;
    if (m->what.kind == PM__GET || pm__is_inside(w, m) || w->plat.no_pci || pm__is_inline(w, m) ||
        !pm__is_pio(w, m))
      break;
    call->t_pio_ps = w->now_ps;
    call->is_pio = 1;
    call->d_ps = pm__later(w->plat.pio_fence_ns * PM__PS, pm__pio_cpu_ps(w, m));
    call->what = "PIO";
    return true;
  case 2:
    if (call->is_pio) pm__pio_ends(w, m, call->t_pio_ps);
    break;
  default: break;
  }
  if (pm__slots_are_taken(p, m)) {
    call->d_ps = n->slots[n->slots_first];
    call->what = "a command slot";
    if (call->d_ps != PM__FOREVER)
      call->d_ps -= w->now_ps;
    else {
      t->next_waiter = n->slot_waiters;
      n->slot_waiters = t;
    }
    return true;
  }
  w->stats.d_command_stall_ns += (w->now_ps - call->t_ps) / PM__PS;
  return false;
}

/* The command of a message sets out for the NIC, behind those before it: when it is there. Carriers and LogGP have
   their own way. */
static int64_t pm__nic_command(pm_world *w, const pm__message *m) {
  const int node = m->what.from_nic;
  pm__node *n = m->what.initiator_nic;
  int64_t t_ps = w->now_ps;
  if (m->way.link == PM_LINK_CARRIER || m->way.link == PM_LINK_LOGGP || pm__is_inside(w, m))
    return t_ps;
  t_ps = pm__max_ps(t_ps, n->t_command_ps);
  if (!w->plat.no_pci_commands && !w->plat.no_pci) {
    n->t_command_ps = pm__later(t_ps, w->d_command_ps);
    t_ps = pm__later(n->t_command_ps, w->plat.pci_latency_ns * PM__PS);
  }
  pm__trace(w, PM_TRACE_COMMAND, m, w->now_ps, t_ps, node, node, (uint64_t)w->plat.command_bytes);
  return t_ps;
}
/* An end-to-end entry is free, and takes the message. */
static void pm__nic_inject(pm_world *w, pm__message *m) {
  m->what.initiator_nic->in_flight++;
  m->what.initiator_nic->link = m->way.link;
  m->what.from->proc->in_flight++;
  if (m->way.link == PM_LINK_LOGGP) {
    pm__loggp_send(w, m);
    return;
  }
  m->way.lane =
      (unsigned char)(w->desc.service_uid && m->what.from->proc->uid == w->desc.service_uid ? 2
                                                                                            : 0);
  if (m->way.link == PM_LINK_CARRIER) {
    pm__carrier_send(w, m);
    return;
  }
  if (!pm__is_inside(w, m)) pm__slot_take(w, m);
  pm__lane_push(w, m, pm__max_ps(w->now_ps, m->way.t_ready_ps));
}
/* Limits of what is in flight, per process and per node [S 7.1]: what is beyond waits in order.
   So does the first message of another level, until those of the old one are back: it must not
   overtake them (levels know nothing of each other's queues, and each message ends in the level
   that it began in [S 6]). */
static int pm__may_fly(const pm_world *w, const pm__message *m) {
  const int64_t node_max = w->plat.inflight_per_node_count,
                process_max = w->plat.inflight_per_process_count;
  const pm__node *n = m->what.initiator_nic;
  return (!n->in_flight || n->link == m->way.link) &&
         (n->in_flight < w->plat.e2e_entry_count ||
          m->way.link == PM_LINK_CARRIER) && /* which has entries of its own */
         (!w->is_unusual || ((!node_max || n->in_flight < node_max) &&
                             (!process_max || m->what.from->proc->in_flight < process_max)));
}
PM__PRIVATE void pm__nic_send(pm_world *w, pm__message *m) {
  pm__node *n = m->what.initiator_nic;
  pm__note(w, m, 0);
  m->what.from->proc->under_way++;
  if (m->cargo.is_triggered) { /* its NIC has it */
    m->way.link = PM_LINK_CARRIER;
    pm__nic_inject(w, m);
    return;
  }
  m->way.link = (unsigned char)pm__link_now(w); /* and stays with it when the world changes over */
  if (m->way.link == PM_LINK_CARRIER && pm__is_inside(w, m)) m->way.link = PM_LINK_FLOW;
  m->way.t_ready_ps =
      pm__nic_command(w, m); /* a command that has to wait waits inside of the NIC */
  if (!n->held && pm__may_fly(w, m)) {
    pm__nic_inject(w, m);
    return;
  }
  m->next = NULL;
  if (n->held)
    n->held_tail->next = m;
  else
    n->held = m;
  n->held_tail = m;
}
/* One has come back: the first of those held back that may go, goes; when it was the last of its
   level, all of the next one that may. One for one keeps the limit. A message beyond its own
   process's limit does not stop those of others behind it, but none goes past a message of
   another level. */
PM__PRIVATE void pm__nic_landed(pm_world *w, const pm__message *done) {
  pm__node *n = done->what.initiator_nic;
  pm__message *m, *previous = NULL, *next;
  bool is_change;
  if (pm__is_of_the_dead(w, done)) return; /* the fresh NIC never sent it */
  n->in_flight--;
  done->what.from->proc->in_flight--;
  is_change = n->held && !n->in_flight && n->held->way.link != done->way.link;
  for (m = n->held; m; m = next) {
    next = m->next;
    if (n->in_flight && n->link != m->way.link) return;
    if (!pm__may_fly(w, m)) {
      previous = m;
      continue;
    }
    if (previous)
      previous->next = next;
    else
      n->held = next;
    if (n->held_tail == m) n->held_tail = previous;
    pm__nic_inject(w, m);
    if (!is_change) return;
  }
}
PM_API void pm_world_set_link(pm_world *world, pm_link_model link) {
  if (!world) return;
  if (world->desc.threads)
    pm_world_fail(world, PM_E_STATE, "pm_world_set_link: not in a world over threads");
  else if (link == PM_LINK_CARRIER && world->desc.faults.outage_count)
    pm_world_fail(world, PM_E_INVAL, "pm_world_set_link: the level rtl knows no outages");
  else if (link == PM_LINK_CARRIER && world->plat.nic_count > 1)
    pm_world_fail(world, PM_E_PLATFORM, PM__ONE_NIC);
  else if (link == PM_LINK_CARRIER && !world->is_carrying)
    pm_world_fail(world, PM_E_INVAL, "pm_world_set_link: the world has no carrier");
  else
    pm__link_change(world, link);
}
