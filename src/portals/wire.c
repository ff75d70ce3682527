/* From one NIC to another: latency, order and faults; the LogGP level. */
#include "wire.h"
#include "outages.h"
static void pm__written_event(pm_world *w, pm__event *event);
static int64_t pm__loggp_travel_ps(const pm_world *w, uint64_t payload);
static void pm__loggp_back(pm_world *w, pm__event *event);
static void pm__loggp_there(pm_world *w, pm__event *event);
static void pm__loggp_tell(pm_world *w, const pm__message *m, int64_t t_ps);
static inline void pm__loggp_told(pm_world *w, const pm__message *m, int64_t t_ps) {
  if (w->stamp || w->desc.trace) pm__loggp_tell(w, m, t_ps);
}
/* ============================================================================================== */
/* [NIC] 8. NIC and wire                                                                          */
/* ============================================================================================== */
/* A message is done with when nothing of it is left in the future. */
PM__PRIVATE void pm__message_release(pm_world *w, pm__message *m) {
  if (--m->way.pending == 0) pm__message_free(w, m);
}

/* Every step of every message changes the hash: two runs with the same hash did the same. The
   multiplication spreads each step over all bits (2^64 divided by the golden ratio, which is odd,
   so no information is lost), and makes the result depend on the order of the steps. */
PM__INLINE void pm__note(pm_world *w, const pm__message *m, int step) {
  uint64_t *const hash = !w->whole                ? &w->stats.hash_id
                         : step == 0 || step == 4 ? &m->what.initiator_nic->hash_id
                                                  : &m->what.target_nic->hash_id;
  *hash = (*hash ^ ((uint64_t)w->now_ps + m->what.id * 31 + (uint64_t)step)) * 0x9E3779B97F4A7C15u;
}
PM__APART PM__PRIVATE void pm__stamp_it(pm_world *w, const pm__message *m, bool is_reply,
                                        int64_t t_begin_ps, int64_t t_end_ps) {
  pm_stamp s;
  if (pm__is_of_the_dead(w, m)) return; /* what user_ptr means has gone */
  memset(&s, 0, sizeof s);
  s.id = m->what.id;
  s.from_node = is_reply ? pm__to_node(m) : m->what.from->proc->node;
  s.to_node = is_reply ? m->what.from->proc->node : pm__to_node(m);
  s.size_bytes = is_reply ? m->what.mlength : m->what.length;
  s.is_reply = is_reply;
  s.initiator_rank = m->what.from->proc->rank;
  s.target_rank =
      pm_process_rank(pm__process_by_pid(w, m->what.target.phys.nid, m->what.target.phys.pid));
  s.user_ptr = m->what.user_ptr;
  s.pt_index = m->what.pt;
  s.hdr_data = m->what.hdr_data;
  s.match_bits = m->what.match_bits;
  s.t_begin_ns = t_begin_ps / PM__PS;
  s.t_end_ns = t_end_ps / PM__PS;
  w->stamp(w->stamp_arg, &s);
}
PM_API void pm_on_stamp(pm_world *world, void (*fn)(void *arg, const pm_stamp *stamp), void *arg) {
  if (!world) return;
  if (fn && (world->whole || world->parts))
    pm_world_fail(world, PM_E_STATE, "pm_on_stamp: not in a world over threads");
  world->stamp = fn;
  world->is_unusual = true;
  world->stamp_arg = arg;
}

static pm__message *pm__message_of(pm__event *event, size_t offset) {
  return (pm__message *)(void *)((char *)event - offset);
}
/* Every request and response is a job of a lane (a virtual network of a node, or the memory path of a
   process): it takes the lane's time one after the other. Up to one PCI packet its whole way is known
   when it starts; a longer one becomes a flow and keeps the lane until its last byte has left. */
PM__INLINE uint64_t pm__job_bytes(const pm__message *m) { /* that the present travel carries */
  return m->way.is_reply           ? (pm__brings_data(m) && m->what.me ? m->what.mlength : 0)
         : m->what.kind == PM__GET ? 0
                                   : m->what.length;
}
PM__PRIVATE int64_t pm__pci_ps(const pm_world *w, double bytes) {
  return w->plat.no_pci ? 0
                        : pm__later(w->plat.pci_latency_ns * PM__PS,
                                    pm__bytes_ps(bytes, w->plat.pci_flow_bytes_per_s));
}
PM__PRIVATE int64_t pm__event_ps(const pm_world *w) { return w->d_event_ps; }
PM__PRIVATE int64_t pm__write_ps(const pm_world *w, uint64_t bytes) {
  return pm__bytes_ps((double)bytes + (w->plat.no_pci_commands ? 0 : (double)w->plat.event_bytes),
                      w->plat.pci_flow_bytes_per_s);
}
PM__PRIVATE double pm__wire_bytes(const pm_world *w,
                                  uint64_t payload) { /* whole link packets with their headers */
  const uint64_t packet = (uint64_t)w->plat.link_packet_bytes;
  return (double)((payload + packet - 1) / packet) *
         (double)(w->plat.link_packet_bytes + w->plat.link_header_bytes);
}
/* Of a message of one packet, on a link of the platform's rate; 0 bytes: an acknowledgement. */
PM__PRIVATE int64_t pm__wire_ps(pm_world *w, uint64_t payload) {
  if (!payload) return w->d_ack_ps;
  if (payload != w->wire_payload) {
    w->wire_payload = payload;
    w->d_wire_ps = pm__bytes_ps(pm__wire_bytes(w, payload), w->plat.link_bytes_per_s);
  }
  return w->d_wire_ps;
}
static double pm__fastest_bytes_per_s(const pm_world *w) {
  double most = 0;
  int i;
  for (i = 0; i < w->net_link_count; i++)
    if (pm_link_bytes_per_s(w, i) > most) most = pm_link_bytes_per_s(w, i);
  return w->graph ? most : w->plat.link_bytes_per_s;
}
PM__PRIVATE void pm__wire_constants(pm_world *w) {
  const pm_platform *p = &w->plat;
  w->d_call_ps = pm__ps(p->cpu_command_ns);
  w->d_append_ps = pm__ps(p->cpu_append_ns);
  w->d_look_ps = pm__ps(p->cpu_event_ns);
  w->d_look_max_ps = pm__ps(p->cpu_poll_max_ns);
  w->d_event_ps = p->no_pci_commands ? 0 : pm__pci_ps(w, (double)p->event_bytes);
  w->d_command_ps = p->no_pci ? 0 : pm__bytes_ps((double)p->command_bytes, p->pci_flow_bytes_per_s);
  w->d_ack_ps = pm__bytes_ps((double)p->ack_bytes, p->link_bytes_per_s);
  w->d_loggp_none_ps = pm__loggp_travel_ps(w, 0);
  w->d_loggp_lag_ps = pm__ps(p->loggp_range_count ? p->loggp_range[0].gap_ns : p->loggp_gap_ns);
  w->d_lag_ps = pm__bytes_ps(pm__wire_bytes(w, 1), pm__fastest_bytes_per_s(w));
  w->d_first_ps = pm__ps(p->wire_latency_ns);
  w->d_switch_ps = pm__ps(p->switch_latency_ns);
  w->d_packet_fetch_ps = pm__later(p->pci_latency_ns * PM__PS,
                                   pm__pci_ps(w, (double)p->pci_packet_bytes)); /* there and back */
  w->d_packet_write_ps = pm__write_ps(w, (uint64_t)p->pci_packet_bytes);
}
/* The target's memory is done with at t_ps. */
PM__PRIVATE void pm__written_at(pm_world *w, pm__message *m, int64_t t_ps) {
  m->way.pending++;
  m->way.target.fn = pm__written_event;
  pm__schedule(w, &m->way.target, t_ps);
}
/* What both link models do at the ends of a travel. */
PM__INLINE int pm__arrive(pm_world *w, pm__message *m) {
  const int taken = pm__target_start(w, m);
  pm__note(w, m, 1 + taken);
  return taken;
}
PM__INLINE void pm__written(pm_world *w, pm__message *m) {
  pm__note(w, m, 3);
  if (m->what.kind != PM__GET) w->stats.delivered_bytes += m->what.mlength;
  pm__target_finish(w, m);
}
static void pm__written_event(pm_world *w, pm__event *event) {
  pm__message *m = pm__message_of(event, offsetof(pm__message, way.target));
  pm__written(w, m);
  pm__message_release(w, m);
}
PM__INLINE_HERE void pm__is_over(pm_world *w, pm__message *m) {
  pm__note(w, m, 4);
  m->what.from->proc->under_way--;
  pm__nic_landed(w, m);
  pm__initiator_finish(w, m);
}
PM__PRIVATE void pm__come_back(pm_world *w, pm__message *m) {
  pm__is_over(w, m);
  pm__message_release(w, m);
}
PM__INLINE_HERE void pm__early_send(pm_world *w, pm__event *event) {
  pm__message *m = pm__message_of(event, offsetof(pm__message, way.send));
  pm__initiator_sent(m);
  if (m->way.is_left_alone) pm__is_over(w, m);
  pm__message_release(w, m);
}

PM__PRIVATE void pm__send_early(pm_world *w, pm__message *m, int64_t t_ps) {
  if (!m->what.is_early_send) return;
  m->way.pending++;
  m->way.send.fn = pm__early_send;
  pm__schedule(w, &m->way.send, t_ps);
}

/* ---- the wire: latency, order, faults ------------------------------------------------------------ */
/* A slow node (pm_faults) takes a multiple of the time for what its NIC does; the wire is as fast
   as ever. */
PM__INLINE int64_t pm__slow_ps(const pm_world *w, int nic, int64_t d_ns) {
  const pm_faults *f = &w->desc.faults;
  return w->is_unusual && f->slow_node == pm__nic_node(w, nic) + 1
             ? pm__whole_ps((double)d_ns * f->slow_ratio * PM__PS)
             : d_ns * PM__PS;
}
/* The last arrival on a stream (from, to, virtual network), so that a late packet holds back those
   behind it, and what the packet level keeps of it. Open addressing; made when first needed. A key
   is never 0, which marks a free place. While the table grows, the call for each old entry finds it
   large enough: it goes one level deep. */
PM__PRIVATE pm__stream *pm__stream_of(pm_world *w, int from, int to, int lane) {
  const uint64_t key = ((uint64_t)from << 34 | (uint64_t)to << 3 | (uint64_t)lane) + 1;
  uint32_t i, max;
  if (2 * (w->stream_count + 1) >
      w->streams_max) { /* at most half full, so that searches are short */
    pm__stream *old = w->streams;
    const uint32_t old_max = w->streams_max;
    w->streams_max = old_max ? 2 * old_max : 64;
    w->streams = (pm__stream *)pm__zalloc(w->streams_max * sizeof *w->streams);
    if (!w->streams) {
      w->streams = old;
      w->streams_max = old_max;
      pm_world_fail(w, PM_E_NOMEM, "out of memory: streams");
      if (!old) return &w->no_stream; /* the run ends with the step under way */
    } else {
      w->stream_count = 0;
      for (i = 0; i < old_max; i++)
        if (old[i].key)
          *pm__stream_of(w, (int)((old[i].key - 1) >> 34),
                         (int)((old[i].key - 1) >> 3 & 0x7FFFFFFF), (int)((old[i].key - 1) & 7)) =
              old[i];
      PM_FREE(old);
    }
  }
  max = w->streams_max;
  for (i = (uint32_t)((key * 0x9E3779B97F4A7C15u) >> 32) % max;
       w->streams[i].key && w->streams[i].key != key; i = (i + 1) % max) {
  }
  if (!w->streams[i].key) w->stream_count++;
  w->streams[i].key = key;
  return &w->streams[i];
}
static double pm__loggp_bytes(const pm_world *w, uint64_t bytes) { /* of each NIC */
  return pm__is_split(w, bytes) ? (double)bytes / (double)w->plat.nic_count : (double)bytes;
}
PM__PRIVATE const pm_loggp_range *pm__loggp_of(const pm_world *w, double bytes) {
  int i;
  for (i = w->plat.loggp_range_count - 1; i >= 0; i--)
    if ((double)w->plat.loggp_range[i].first_bytes <= bytes) return &w->plat.loggp_range[i];
  return NULL;
}
static int64_t pm__loggp_travel_ps(const pm_world *w, uint64_t payload) {
  const double bytes = pm__loggp_bytes(w, payload), more = bytes > 1 ? bytes - 1 : 0;
  const pm_loggp_range *r = pm__loggp_of(w, bytes);
  if (r)
    return pm__max_ps(0, pm__sum_ps(r->latency_ns * PM__PS,
                                    pm__whole_ps(pm__times(r->ns_per_byte, more) * PM__PS)));
  return pm__later(w->plat.loggp_latency_ns * PM__PS,
                   pm__bytes_ps(more, w->plat.loggp_bytes_per_s));
}
/* The way of a message that carries something, at the LogGP level with noise: what was fitted is the
   time of all of it, overheads with it, and the way takes the noise of all. */
static int64_t pm__noisy_ps(pm_world *w, const pm__message *m, int64_t d_ps) {
  const uint64_t bytes = pm__job_bytes(m);
  const pm_loggp_range *r = m->way.link == PM_LINK_LOGGP && (bytes || !m->way.is_reply)
                                ? pm__loggp_of(w, pm__loggp_bytes(w, bytes))
                                : NULL;
  int64_t all_ps;
  if (!r || !r->noise_count) return d_ps;
  all_ps = pm__later(d_ps, (r->overhead_ns + w->plat.cpu_event_ns) * PM__PS);
  all_ps = pm__whole_ps(pm__times((double)all_ps, pm__mixture(r->noise, r->noise_count, w) - 1));
  return pm__max_ps(0, pm__sum_ps(d_ps, all_ps));
}
/* The first try: all of it left at t_ps. Of flows and packets it is known already whether they were lost before that,
   packets are there. */
static pm__try pm__try_first(pm_world *w, const pm__message *m, int from, int to, int64_t t_ps,
                             int64_t latency_ps) {
  const bool is_packet = m->way.link == PM_LINK_PACKET;
  pm__try t;
  t.t_begin_ps = t_ps;
  t.own_ps = 0;
  t.way_ps = latency_ps;
  t.t_lost_ps = PM__FOREVER;
  if (m->way.link == PM_LINK_LOGGP) {
    t.way_ps = pm__loggp_travel_ps(w, 0);
    if (t.way_ps > latency_ps) t.way_ps = latency_ps;
    t.own_ps = latency_ps - t.way_ps;
  } else if (is_packet) {
    t.t_begin_ps = m->way.t_left_ps;
    t.way_ps = t_ps - m->way.t_left_ps;
  } else if (!m->way.is_flow) {
    t.t_begin_ps = m->way.t_begin_ps;
    t.own_ps = t_ps - t.t_begin_ps;
  }
  if ((is_packet || m->way.is_flow) && m->way.is_dropped)
    t.t_lost_ps = m->way.t_lost_ps;
  else if (!is_packet)
    pm__try_fails(w, from, to, &t);
  return t;
}
/* All of it again, over the way of that time. */
static void pm__try_again(pm_world *w, const pm__message *m, int from, int to, pm__try *t,
                          int64_t t_ps) {
  t->t_begin_ps = t_ps;
  if (m->way.link != PM_LINK_LOGGP) {
    uint32_t link[PM__ROUTE_MAX + 2];
    pm__known_way way;
    way.link = link;
    way.link_count = pm__way_at(w, from, to, t_ps, link, &way.latency_ps);
    t->own_ps = m->way.link == PM_LINK_FLOW && !m->way.is_flow
                    ? m->way.t_left_ps - m->way.t_begin_ps
                    : pm__alone_ps(w, m, &way);
    t->way_ps = way.latency_ps;
  }
  pm__try_fails(w, from, to, t);
}
/* When a message that left at t_ps arrives, retransmissions included; -1: never. The fate of every try is drawn
   here: what fails when is known. A try is lost as a whole: when there is no way, when something on its way fails
   (see pm_outage), or by chance, when all of it has left. The sender notices e2e_retry_ns later, and sends all of it again.
   That takes bandwidth from nobody. */
PM__APART static int64_t pm__wire(pm_world *w, pm__message *m, int from, int to, int lane,
                                  int64_t t_ps, int64_t latency_ps) {
  const pm_faults *f = &w->desc.faults;
  pm__try t = pm__try_first(w, m, from, to, t_ps, latency_ps);
  pm__stream *stream;
  int64_t tries = 0;
  for (;;) {
    /* The draw comes last: a try that is lost for another reason takes no random number. */
    if (t.t_lost_ps == PM__FOREVER && pm__ratio(w) < f->loss_ratio + f->corrupt_ratio)
      t.t_lost_ps = pm__later(t.t_begin_ps, t.own_ps);
    if (t.t_lost_ps == PM__FOREVER) break;
    w->stats.lost_count++;
    m->way.t_lost_ps = pm__max_ps(w->now_ps, pm__later(t.t_lost_ps, w->plat.e2e_retry_ns * PM__PS));
    if (tries++ == w->plat.e2e_retry_count) return -1;
    w->stats.resent_count++;
    pm__try_again(w, m, from, to, &t, m->way.t_lost_ps);
  }
  if (tries) m->way.link_count = 0, m->way.d_rest_ps = 0; /* it waits for nobody */
  t_ps = pm__later(t.t_begin_ps, pm__noisy_ps(w, m, pm__later(t.own_ps, t.way_ps)));
  if (pm__ratio(w) < f->delay_ratio)
    t_ps = pm__later(t_ps, pm__whole_ps(pm__ratio(w) * (double)f->delay_ns * PM__PS));
  if (pm__ratio(w) <
      f->duplicate_ratio) { /* the copy is recognised and dropped; it cost its receiver's time */
    w->stats.duplicate_count++;
    w->nodes[to].t_rx_ps[0] = pm__later(pm__max_ps(w->nodes[to].t_rx_ps[0], t_ps),
                                        pm__slow_ps(w, to, w->plat.nic_put_ns));
  }
  /* Portals orders messages of a pair: one that was delayed or resent moves all that follow it on
     its stream. */
  stream = pm__stream_of(w, from, to, lane);
  stream->t_last_ps = t_ps = pm__max_ps(stream->t_last_ps, t_ps);
  return t_ps;
}
/* With ways that change and messages that are sent again, what is late on one way is not overtaken by what comes over
   another: messages of a stream (two NICs, a lane) have numbers, and those that are early wait. */
PM__APART PM__PRIVATE void pm__in_order(pm_world *w, pm__message *m, int64_t wait_ps) {
  pm__stream *s = pm__stream_of(w, pm__job_from(m), pm__job_to(m), m->way.lane);
  pm__message **at = &s->early;
  m->way.d_rest_ps = pm__later(w->now_ps, wait_ps);
  m->next = s->early;
  s->early = m;
  while (*at) {
    m = *at;
    if (m->way.number != s->arrived_count) {
      at = &m->next;
      continue;
    }
    *at = m->next;
    s->arrived_count++;
    s->t_crossed_ps = pm__max_ps(s->t_crossed_ps, m->way.d_rest_ps);
    pm__schedule(w, &m->way.event, s->t_crossed_ps);
    at = &s->early;
  }
}
/* ---- messages of nodes that die, see pm_outage_kind ------------------------------------------------ */
PM__PRIVATE bool pm__is_of_the_dead(const pm_world *w, const pm__message *m) {
  return w->has_lives && pm__died_between(w, m->what.from_nic, m->what.t_issue_ps, w->now_ps);
}
/* When the initiator knows that this message, or its answer, has been lost with the target's node: it sends it
   again until a NIC is there, which does not know it, or too often. */
static int64_t pm__given_up_ps(pm_world *w, const pm__message *m, int64_t t_ps) {
  const int from = m->what.from_nic, to = m->what.to_nic;
  int64_t back_ps, tries = 0;
  if (m->what.is_inside || pm__died_between(w, from, m->what.t_issue_ps, t_ps)) return t_ps;
  back_ps =
      m->way.link == PM_LINK_LOGGP ? pm__loggp_travel_ps(w, 0) : pm__known(w, to, from)->latency_ps;
  if (m->way.event.fn != pm__back_event && !pm__node_is_out(w, to, t_ps))
    return pm__later(t_ps, back_ps); /* it came to the fresh NIC itself */
  do {
    w->stats.lost_count++;
    t_ps = pm__later(t_ps, pm__ps(w->plat.e2e_retry_ns));
    if (tries++ == w->plat.e2e_retry_count) return t_ps;
    w->stats.resent_count++;
  } while (pm__is_cut(w, from, to, t_ps));
  return pm__later(t_ps, 2 * back_ps);
}
/* It comes back to its sender as lost: when, at the earliest, something is sent again. */
static void pm__is_given_up(pm_world *w, pm__message *m, int64_t t_ps) {
  pm__undeliverable(w, m);
  t_ps = pm__given_up_ps(w, m, t_ps);
  m->way.event.fn = pm__back_event;
  pm__schedule(w, &m->way.event, t_ps);
}
PM__INLINE bool pm__is_for_the_dead(pm_world *w, pm__message *m) {
  if (!w->has_lives || !pm__died_between(w, pm__to_nic(m), m->what.t_issue_ps, w->now_ps))
    return false;
  pm__is_given_up(w, m, w->now_ps);
  return true;
}
/* The target of a get keeps its memory until the data is acknowledged, since it may have to send it
   again: only then it gets its event. The initiator acknowledges at t_there_ps. */
PM__PRIVATE void pm__fetched(pm_world *w, pm__message *m, int64_t t_there_ps) {
  if (m->way.link == PM_LINK_LOGGP) {
    t_there_ps = pm__later(t_there_ps, pm__loggp_travel_ps(w, 0));
    if (pm__crosses(w, m->what.from_nic, m->what.to_nic)) {
      m->way.pending++;
      m->way.target.fn = pm__written_event;
      pm__hand_over(w, &m->way.target, t_there_ps, m->what.from_nic, m->what.to_nic);
      return;
    }
  } else if (!pm__is_inside(w, m)) {
    const int64_t latency_ps = pm__known(w, pm__to_nic(m), m->what.from->proc->nic)->latency_ps;
    t_there_ps = pm__later(t_there_ps, pm__later(latency_ps, pm__event_ps(w)));
  }
  pm__written_at(w, m, t_there_ps);
}
/* Sends the message on its travel; one that never arrives comes back to its sender as such: ret 0.
   Lanes are numbered so that requests have even numbers and responses odd ones. */
PM__APART static int pm__travel_any(pm_world *w, pm__message *m, int from, int to, int lane,
                                    int64_t t_ps, int64_t latency_ps,
                                    void (*there)(pm_world *world, pm__event *event)) {
  int64_t t_there_ps;
  if (w->has_lives && pm__died_between(w, from, m->what.t_issue_ps, t_ps)) {
    m->way.event.fn = pm__back_event; /* it had not left */
    pm__is_given_up(w, m, t_ps);
    return 0;
  }
  t_there_ps = !w->is_faulty || pm__is_inside(w, m)
                   ? pm__later(t_ps, latency_ps)
                   : pm__wire(w, m, from, to, lane, t_ps, latency_ps);
  m->way.event.fn = there;
  if (t_there_ps < 0) {
    pm__undeliverable(w, m);
    m->way.event.fn = pm__back_event;
    t_there_ps = pm__max_ps(m->way.t_lost_ps, m->way.t_done_ps);
  } else
    t_there_ps -= m->way.d_rest_ps; /* the first link of its way is due */
  if ((lane & 1) && m->what.kind == PM__GET && m->what.me &&
      m->way.event.fn != there) /* else it is done where that comes */
    pm__fetched(w, m, t_there_ps);
  if (pm__crosses(w, from, to))
    pm__hand_over(w, &m->way.event, t_there_ps, from, to);
  else
    pm__schedule(w, &m->way.event, t_there_ps);
  return m->way.event.fn == there;
}
PM__INLINE int pm__travel(pm_world *w, pm__message *m, int from, int to, int lane, int64_t t_ps,
                          int64_t latency_ps, void (*there)(pm_world *world, pm__event *event)) {
  if (w->is_unusual) return pm__travel_any(w, m, from, to, lane, t_ps, latency_ps, there);
  m->way.event.fn = there;
  pm__schedule(w, &m->way.event, pm__later(t_ps, latency_ps) - m->way.d_rest_ps);
  return 1;
}
PM__PRIVATE void pm__back_event(pm_world *w, pm__event *event) {
  pm__come_back(w, (pm__message *)event);
}

/* The kind of step that the present travel of a message is. */
PM__PRIVATE int pm__travel_kind(const pm__message *m) {
  if (m->way.is_reply)
    return !pm__brings_data(m)
               ? (m->what.ack_req == PTL_NO_ACK_REQ || m->what.is_ack_muted ? PM_TRACE_E2E_ACK
                                                                            : PM_TRACE_PORTALS_ACK)
           : m->what.kind == PM__GET ? PM_TRACE_GET_RESPONSE
                                     : PM_TRACE_FETCH_ATOMIC_RESPONSE;
  return m->what.kind == PM__PUT      ? PM_TRACE_PUT
         : m->what.kind == PM__GET    ? PM_TRACE_GET
         : m->what.kind == PM__ATOMIC ? PM_TRACE_ATOMIC
                                      : PM_TRACE_FETCH_ATOMIC;
}

/* ---- LogGP: latency, overhead, gap, gap per byte; nothing is shared but NICs --------------------- */
/* Alexandrov, Ionescu, Schauser and Scheiman, LogGP (SPAA 1995): a message of n bytes arrives L +
   (n - 1) G after it left, and the next one leaves its node at least g later. Here both ends are
   busy for max(g, n G), so that long messages do not overlap each other on the way out, and many
   to one node come in one after the other. */
/* What the present size costs, worked out once: mostly the next message has as many bytes. */
PM__APART static void pm__loggp_costs(pm_world *w, uint64_t payload) {
  const double bytes = pm__loggp_bytes(w, payload);
  const pm_loggp_range *r = pm__loggp_of(w, bytes);
  w->loggp_payload = payload + 1;
  w->loggp_gap_ns = r ? r->gap_ns : w->plat.loggp_gap_ns;
  w->d_loggp_gap_ps = r ? pm__whole_ps(pm__times(r->gap_ns_per_byte, bytes) * PM__PS)
                        : pm__bytes_ps(bytes, w->plat.loggp_bytes_per_s);
  w->d_loggp_way_ps = pm__loggp_travel_ps(w, payload);
  w->d_loggp_body_ps = pm__max_ps(0, w->d_loggp_way_ps - w->d_loggp_none_ps);
}
static inline void pm__loggp_is(pm_world *w, uint64_t payload) {
  if (w->loggp_payload != payload + 1) pm__loggp_costs(w, payload);
}
static inline int64_t pm__loggp_gap_ps(pm_world *w, int nic, uint64_t payload) {
  pm__loggp_is(w, payload);
  return pm__max_ps(pm__slow_ps(w, nic, w->loggp_gap_ns), w->d_loggp_gap_ps);
}
static int64_t *pm__loggp_free(pm__node *n, bool comes_in) {
  return comes_in ? &n->t_in_ps : &n->t_gap_ps;
}
/* Split payload waits for all NICs of the node and takes them all. */
PM__APART static int64_t pm__loggp_begin_split(pm_world *w, int nic, int64_t t_ps, int64_t gap_ps,
                                               bool comes_in) {
  const int step = (int)w->plat.node_count, first = pm__nic_node(w, nic),
            end = step * (int)w->plat.nic_count;
  int k;
  for (k = first; k < end; k += step)
    t_ps = pm__max_ps(t_ps, *pm__loggp_free(&w->nodes[k], comes_in));
  for (k = first; k < end; k += step)
    *pm__loggp_free(&w->nodes[k], comes_in) = pm__later(t_ps, gap_ps);
  return t_ps;
}
/* A message begins to leave through its NIC at t_ps, or to come in: at least so late, behind what went before that
   way. */
PM__INLINE_HERE int64_t pm__loggp_begin(pm_world *w, int nic, uint64_t bytes, int64_t t_ps,
                                        bool comes_in) {
  int64_t *const free_ps = pm__loggp_free(&w->nodes[nic], comes_in);
  const int64_t gap_ps = pm__loggp_gap_ps(w, nic, bytes);
  if (pm__is_split(w, bytes)) return pm__loggp_begin_split(w, nic, t_ps, gap_ps, comes_in);
  t_ps = pm__max_ps(t_ps, *free_ps);
  *free_ps = pm__later(t_ps, gap_ps);
  return t_ps;
}
/* It travels. Its event is that of its last byte, or comes a gap behind the first one: by then all that came before
   has been seen to, but for what is as short. */
static void pm__loggp_go(pm_world *w, pm__message *m, int from, int to, uint64_t bytes,
                         int64_t t_ps) {
  int64_t d_ps = w->d_loggp_none_ps, body_ps = 0;
  const int lane = m->way.is_reply;
  if (bytes) { /* mostly the same as last, with acknowledgements between */
    pm__loggp_is(w, bytes);
    d_ps = w->d_loggp_way_ps;
    body_ps = w->d_loggp_body_ps;
  }
  m->way.lane = (unsigned char)lane;
  m->way.t_begin_ps = t_ps;
  m->way.has_crossed = 0;
  m->way.link_count = bytes || !m->way.is_reply; /* acknowledgements pay L only */
  m->way.d_lag_ps = body_ps < w->d_loggp_lag_ps ? body_ps : w->d_loggp_lag_ps;
  m->way.d_rest_ps = body_ps - m->way.d_lag_ps;
  if (pm__travel(w, m, from, to, lane, t_ps, d_ps, lane ? pm__loggp_back : pm__loggp_there)) {
    if (w->is_faulty) m->way.number = pm__stream_of(w, from, to, lane)->sent_count++;
  } else
    pm__loggp_told(w, m, pm__later(t_ps, d_ps)); /* it never will be there */
}
/* What observers and the trace are told of a travel, when its end is known. */
PM__APART static void pm__loggp_tell(pm_world *w, const pm__message *m, int64_t t_ps) {
  const uint64_t bytes = pm__job_bytes(m);
  if (m->way.is_reply ? pm__brings_data(m) && m->what.me : m->what.kind != PM__GET)
    pm__stamp(w, m, m->way.is_reply, m->way.t_begin_ps, t_ps);
  pm__trace(w, pm__travel_kind(m), m, m->way.t_begin_ps, t_ps, pm__job_from(m), pm__job_to(m),
            bytes);
}
/* At the NIC where it comes in. ret whether it comes again, when all of it is there */
PM__INLINE_HERE bool pm__loggp_is_coming(pm_world *w, pm__message *m) {
  const int64_t t_ps = w->now_ps - m->way.d_lag_ps;
  int64_t d_ps = m->way.d_rest_ps;
  if (m->way.has_crossed) return false;
  m->way.has_crossed = 1;
  if (m->way.link_count)
    d_ps = pm__later(d_ps, pm__loggp_begin(w, pm__job_to(m), pm__job_bytes(m), t_ps, true) - t_ps);
  if (w->is_faulty)
    pm__in_order(w, m, d_ps);
  else if (d_ps > 0)
    pm__schedule(w, &m->way.event, pm__later(w->now_ps, d_ps));
  else
    return false;
  return true;
}
/* Events and writes take no time here; the trace has them as points, so that both levels show the
   same kinds of steps. */
static void pm__loggp_back(pm_world *w, pm__event *event) {
  pm__message *m = (pm__message *)event;
  const int node = m->what.from->proc->node;
  if (pm__loggp_is_coming(w, m)) return;
  pm__loggp_told(w, m, w->now_ps);
  if (m->what.kind == PM__GET && m->what.me) pm__fetched(w, m, w->now_ps);
  pm__trace(w, PM_TRACE_EVENT, m, w->now_ps, w->now_ps, node, node, (uint64_t)w->plat.event_bytes);
  pm__back_event(w, event);
}
/* No event tells that the acknowledgement is back, and no other message waits for it: there is no need to
   let it travel. */
static int pm__nobody_waits(const pm_world *w, const pm__message *m) {
  const pm__node *n = m->what.initiator_nic;
  return !w->whole && m->what.is_early_send && m->what.ack_req == PTL_NO_ACK_REQ && !m->what.fail &&
         !w->is_faulty && !n->held && 2 * n->in_flight < w->plat.e2e_entry_count &&
         !w->plat.inflight_per_node_count && !w->plat.inflight_per_process_count;
}
/* In a world over threads the target's part cannot tell the initiator's. There the initiator knows by itself, as it
   sends, where so few can be in flight that their number never matters: they are over when they have left. */
static bool pm__has_left_all(const pm_world *w, const pm__message *m) {
  const pm__node *n = m->what.initiator_nic;
  const int64_t most = w->plat.loggp_gap_ns > 0
                           ? 2 * w->plat.loggp_latency_ns / w->plat.loggp_gap_ns + 1
                           : w->plat.e2e_entry_count;
  return m->what.is_early_send && m->what.ack_req == PTL_NO_ACK_REQ && !n->held &&
         2 * pm__max_ps(most, n->in_flight) < w->plat.e2e_entry_count &&
         !w->plat.inflight_per_node_count && !w->plat.inflight_per_process_count;
}
/* Replies with data leave through the target's gap like any message. */
static void pm__loggp_there(pm_world *w, pm__event *event) {
  pm__message *m = (pm__message *)event;
  const int from = pm__to_nic(m), to = m->what.from_nic;
  int64_t t_ps = w->now_ps;
  uint64_t bytes = 0;
  if (pm__loggp_is_coming(w, m)) return;
  pm__loggp_told(w, m, w->now_ps);
  if (pm__is_for_the_dead(w, m)) return;
  if (pm__arrive(w, m)) {
    m->way.t_done_ps = w->now_ps;
    pm__trace(w, PM_TRACE_PAYLOAD_WRITE, m, w->now_ps, w->now_ps, from, from, m->what.mlength);
    if (m->what.kind != PM__GET) pm__written(w, m);
    if (pm__brings_data(m)) {
      bytes = m->what.mlength;
      t_ps = pm__loggp_begin(w, from, bytes, t_ps, false);
      w->stats.sent_bytes += m->what.mlength;
    }
  }
  /* From here on the message is the response: the same object travels back. */
  m->way.is_reply = 1;
  if (m->way.is_left_alone) {
    pm__message_release(w, m);
    return;
  }
  if (pm__nobody_waits(w, m)) {
    t_ps = pm__later(t_ps, pm__loggp_travel_ps(w, bytes));
    pm__trace(w, PM_TRACE_E2E_ACK, m, w->now_ps, t_ps, from, to, 0);
    pm__trace(w, PM_TRACE_EVENT, m, t_ps, t_ps, to, to, (uint64_t)w->plat.event_bytes);
    pm__come_back(w, m);
    return;
  }
  pm__loggp_go(w, m, from, to, bytes, t_ps);
}
PM__PRIVATE void pm__loggp_send(pm_world *w, pm__message *m) {
  const uint64_t bytes = m->what.kind == PM__GET ? 0 : m->what.length;
  const int from = m->what.from_nic, to = pm__to_nic(m);
  const int64_t t_ps = pm__loggp_begin(w, from, bytes, w->now_ps, false);
  pm__trace(w, PM_TRACE_COMMAND, m, w->now_ps, t_ps, from, from, (uint64_t)w->plat.command_bytes);
  pm__loggp_go(w, m, from, to, bytes, t_ps);
  pm__send_early(w, m, t_ps);
  m->way.is_left_alone = pm__crosses(w, from, to) && pm__has_left_all(w, m);
}
