/* Counters: what they are, differences and rates; the sources they are read from. */
#include "counters.h"
#include "options.h"
#include "status.h"

/* ============================================================================================== */
/* [COUNTERS] 4. Counters                                                                         */
/* ============================================================================================== */

/* Width and end of the InfiniBand port counters that are not 64-bit: the error counters stick at
   their largest value (InfiniBand Architecture, PortCounters attribute). */
typedef struct nic__ib_width {
  const char *name;
  int width_bits;
} nic__ib_width;
static const nic__ib_width nic__ib_widths[] = {{"symbol_error", 16},
                                               {"link_error_recovery", 8},
                                               {"link_downed", 8},
                                               {"port_rcv_errors", 16},
                                               {"port_rcv_remote_physical_errors", 16},
                                               {"port_rcv_switch_relay_errors", 16},
                                               {"port_xmit_discards", 16},
                                               {"port_xmit_constraint_errors", 8},
                                               {"port_rcv_constraint_errors", 8},
                                               {"local_link_integrity_errors", 4},
                                               {"excessive_buffer_overrun_errors", 4},
                                               {"VL15_dropped", 16},
                                               {"port_xmit_wait", 32}};

NIC__PRIVATE bool nic__ends_with(const char *text, const char *end) {
  const size_t n = strlen(text), k = strlen(end);
  return n >= k && strcmp(text + n - k, end) == 0;
}

/* Unit, width and end from the name: the kernel gives names only. */
NIC__PRIVATE void nic__describe(nic_counter *c, const char *group, const char *name) {
  memset(c, 0, sizeof *c);
  snprintf(c->name, sizeof c->name, "%s/%s", group, name);
  c->scale = 1;
  c->width_bits = 64;
  if (nic__ends_with(name, "bytes") || nic__ends_with(name, "octets"))
    c->unit = NIC_UNIT_BYTES;
  else if (nic__ends_with(name, "packets") || nic__ends_with(name, "pkts"))
    c->unit = NIC_UNIT_PACKETS;
  if (strncmp(group, "port", 4) != 0) return;
  if (nic__ends_with(name, "xmit_data") || nic__ends_with(name, "rcv_data")) {
    c->unit = NIC_UNIT_BYTES;
    c->scale = 4; /* counted in 32-bit words */
  }
  for (size_t i = 0; i < sizeof nic__ib_widths / sizeof nic__ib_widths[0]; i++)
    if (strcmp(nic__ib_widths[i].name, name) == 0) {
      c->width_bits = nic__ib_widths[i].width_bits;
      c->end = NIC_END_STICKS;
    }
}

NIC__PRIVATE nic__source *nic__source_add(nic_counters *c, const char *group, const char *name) {
  void *grown = nic__grow(c->sources, c->count, &c->capacity, sizeof *c->sources);
  if (!grown) return NULL;
  c->sources = (nic__source *)grown;
  nic__source *s = &c->sources[c->count++];
  memset(s, 0, sizeof *s);
  nic__describe(&s->counter, group, name);
  s->fd = -1;
  return s;
}

NIC__PRIVATE bool nic__source_known(const nic_counters *c, const char *name) {
  for (size_t i = 0; i < c->count; i++)
    if (strcmp(c->sources[i].counter.name, name) == 0) return true;
  return false;
}

/* Answers come in one order: so the next value is nearly always where the last one was, plus one. */
NIC__PRIVATE nic_counter *nic__group_tell(nic__group *group, uint64_t key, const char *folder,
                                          const char *name, uint64_t value) {
  nic__group *g = group;
  for (size_t i = 0; i < g->count; i++) {
    const size_t k = (g->at + i) % g->count;
    if (g->cells[k].key != key) continue;
    g->cells[k].value = value;
    g->cells[k].is_valid = true;
    g->at = k + 1;
    return NULL;
  }
  if (!g->is_opening || g->is_out || g->count >= 100000) return NULL;
  void *grown = nic__grow(g->cells, g->count, &g->capacity, sizeof *g->cells);
  nic__source *s = grown ? nic__source_add(g->counters, folder, name) : NULL;
  if (grown) g->cells = (nic__cell *)grown;
  g->is_out = !s;
  if (!s) return NULL;
  s->group = g;
  s->cell_index = g->count;
  g->cells[g->count].key = key;
  g->cells[g->count].value = value;
  g->cells[g->count].is_valid = true;
  g->at = ++g->count;
  return &s->counter;
}

NIC__PRIVATE void nic__group_read(nic__group *group) {
  for (size_t i = 0; i < group->count; i++) group->cells[i].is_valid = false;
  group->at = 0;
  group->t_before_ns = nic_host_now_ns(&group->counters->host);
  const bool answered = group->ask(group);
  group->t_after_ns = nic_host_now_ns(&group->counters->host);
  for (size_t i = 0; i < group->count && !answered; i++) group->cells[i].is_valid = false;
}

static void nic__group_close(nic__group *g) {
  if (g->close) g->close(g);
  NIC_FREE(g->cells);
  NIC_FREE(g);
}

NIC__PRIVATE nic_status nic__group_open(nic_counters *c, nic__group *group) {
  group->counters = c;
  group->is_opening = true;
  nic__group_read(group);
  group->is_opening = false;
  const bool is_out = group->is_out;
  if (group->count) {
    group->next = c->groups;
    c->groups = group;
  } else
    nic__group_close(group);
  return is_out ? NIC_E_NOMEM : NIC_OK;
}

NIC__PRIVATE void nic__groups_close(nic_counters *c) {
  for (nic__group *g = c->groups, *next; g; g = next) {
    next = g->next;
    nic__group_close(g);
  }
  c->groups = NULL;
}

NIC_API size_t nic_counters_count(const nic_counters *counters) {
  return counters ? counters->count : 0;
}
NIC_API const nic_counter *nic_counters_at(const nic_counters *counters, size_t index) {
  return counters && index < counters->count ? &counters->sources[index].counter : NULL;
}
NIC_API int nic_counters_index(const nic_counters *counters, const char *name) {
  if (!counters || !name) return -1;
  for (size_t i = 0; i < counters->count; i++)
    if (strcmp(counters->sources[i].counter.name, name) == 0) return (int)i;
  for (size_t i = 0; i < counters->count; i++)
    if (strcmp(strrchr(counters->sources[i].counter.name, '/') + 1, name) == 0) return (int)i;
  return -1;
}

NIC_API nic_delta nic_counter_delta(const nic_counter *counter, const nic_value *before,
                                    const nic_value *after) {
  nic_delta d;
  memset(&d, 0, sizeof d);
  if (!counter || !before || !after || !before->is_valid || !after->is_valid) return d;
  const uint64_t scale = counter->scale ? counter->scale : 1;
  const uint64_t a = before->value / scale, b = after->value / scale;
  const bool narrow = counter->width_bits > 0 && counter->width_bits < 64;
  const uint64_t top = narrow ? (1ull << counter->width_bits) - 1 : UINT64_MAX / scale;
  d.change = NIC_CHANGE_EXACT;
  d.delta = b - a;
  if (counter->end == NIC_END_STICKS && b >= top) {
    d.change = NIC_CHANGE_STUCK;
    d.delta = b > a ? b - a : 0;
  } else if (b < a && narrow && counter->end == NIC_END_WRAPS && a - b > top / 2) {
    d.change = NIC_CHANGE_WRAPPED;
    d.delta = top - a + b + 1;
  } else if (b < a) {
    d.change = NIC_CHANGE_RESET;
    d.delta = b;
  }
  d.delta *= scale;
  /* Longest and shortest time that can have passed between the two true moments. */
  const double longest_s = (double)(after->t_after_ns - before->t_before_ns) * 1e-9;
  const double shortest_s = (double)(after->t_before_ns - before->t_after_ns) * 1e-9;
  const bool at_least = d.change == NIC_CHANGE_RESET || d.change == NIC_CHANGE_STUCK;
  d.per_s_lo = longest_s > 0 ? (double)d.delta / longest_s : 0;
  d.per_s_hi = shortest_s > 0 && !at_least ? (double)d.delta / shortest_s : (double)INFINITY;
  return d;
}

NIC_API const char *nic_unit_name(nic_unit unit) {
  static const char *const names[] = {"events", "bytes", "packets"};
  return (unsigned)unit <= NIC_UNIT_PACKETS ? names[unit] : "?";
}
/* Kernel: Documentation/networking/statistics.rst and ABI/testing/sysfs-class-net-statistics; InfiniBand
   Architecture, PortCounters; mlx5 and rdma: their counters' documentation; TCP: RFC 4022 and
   Documentation/networking/snmp_counter.rst; Ethernet: IEEE 802.3 clause 30, RFC 2819,
   Documentation/networking/ethtool-netlink.rst; queues: Documentation/netlink/specs/netdev.yaml. */
static const struct {
  const char *name, *meaning;
} nic__meanings[] = {
    {"rx_bytes", "good bytes received"},
    {"tx_bytes", "bytes sent"},
    {"rx_packets", "good packets received"},
    {"tx_packets", "packets sent"},
    {"rx_errors", "bad packets received, of all kinds"},
    {"tx_errors", "packets that could not be sent, of all kinds"},
    {"rx_dropped",
     "received whole, then dropped by the kernel or driver: no buffer or no protocol"},
    {"tx_dropped", "dropped before they were sent"},
    {"multicast", "multicast packets received"},
    {"collisions", "collisions while sending (half duplex)"},
    {"rx_length_errors", "received with a wrong length"},
    {"rx_over_errors", "the receiver's ring overflowed"},
    {"rx_crc_errors", "received with a wrong checksum: cable, transceiver or partner"},
    {"rx_frame_errors", "received with a frame alignment error"},
    {"rx_fifo_errors", "the device's receive FIFO overflowed: the host was too slow"},
    {"rx_missed_errors", "missed by the device: no buffer in the host"},
    {"rx_nohandler", "received, and nobody wanted it"},
    {"tx_aborted_errors", "sending was aborted"},
    {"tx_carrier_errors", "the carrier was lost while sending: cable or partner"},
    {"tx_fifo_errors", "the device's send FIFO ran empty"},
    {"tx_heartbeat_errors", "heartbeat errors (old Ethernet)"},
    {"tx_window_errors", "late collisions"},
    {"port_xmit_data", "bytes sent by the port"},
    {"port_rcv_data", "bytes received by the port"},
    {"port_xmit_wait", "ticks in which the port had data to send and no credit: congestion"},
    {"port_xmit_discards", "dropped at sending: port down, or too long in the queue"},
    {"symbol_error", "bad symbols on the lanes: cable or transceiver"},
    {"link_error_recovery", "the link recovered by itself"},
    {"link_downed", "the link failed to recover and went down"},
    {"local_link_integrity_errors", "lane errors beyond their threshold"},
    {"excessive_buffer_overrun_errors", "the partner sent beyond its credits"},
    {"out_of_buffer", "a message came and no receive was posted: the host was too slow"},
    {"rx_out_of_buffer", "a packet came and the ring had no buffer: the host was too slow"},
    {"out_of_sequence", "packets that came out of order: loss or reordering in the network"},
    {"packet_seq_err", "a NAK said that packets were missing: loss in the network"},
    {"rnr_nak_retry_err", "the receiver was not ready too often"},
    {"local_ack_timeout_err", "no acknowledgement came in time: loss in the network"},
    {"np_cnp_sent", "congestion was told to senders (RoCE)"},
    {"rp_cnp_handled", "told to send slower (RoCE)"},
    {"np_ecn_marked_roce_packets", "came marked by a switch that is full (RoCE)"},
    {"rx_pause", "the link partner asked for a pause"},
    {"tx_pause", "this side asked the link partner for a pause: it is too slow"},
    {"rx_xoff", "the link partner asked for a pause"},
    {"tx_xoff", "this side asked the link partner for a pause: it is too slow"},
    {"rx_xon", "the link partner ended a pause"},
    {"tx_xon", "this side ended a pause"},
    {"rx_good_packets", "good packets received"},
    {"tx_good_packets", "good packets sent"},
    {"rx_good_octets", "bytes of good packets received"},
    {"tx_good_octets", "bytes of good packets sent"},
    {"TcpOutSegs", "TCP segments sent, all of this host"},
    {"TcpRetransSegs", "TCP segments sent again: loss"},
    {"TcpInErrs", "bad TCP segments received"},
    {"UdpOutDatagrams", "datagrams sent, all of this host"},
    {"UdpInErrors", "datagrams that could not be delivered"},
    {"UdpRcvbufErrors", "datagrams lost because the program's buffer was full"},
    {"FramesTransmittedOK", "frames sent by the MAC"},
    {"FramesReceivedOK", "good frames received by the MAC"},
    {"OctetsTransmittedOK", "bytes of data sent by the MAC, without headers and padding"},
    {"OctetsReceivedOK", "bytes of data received by the MAC, without headers and padding"},
    {"FrameCheckSequenceErrors", "received with a wrong checksum: cable, transceiver or partner"},
    {"AlignmentErrors", "received with a part of a byte: cable or duplex"},
    {"SymbolErrorDuringCarrier", "bad symbols on the line: cable, transceiver or port"},
    {"SingleCollisionFrames", "sent after one collision (half duplex)"},
    {"MultipleCollisionFrames", "sent after several collisions (half duplex)"},
    {"FramesWithDeferredXmissions", "waited for a busy line (half duplex)"},
    {"LateCollisions", "collisions after the first 64 bytes: duplex does not fit"},
    {"FramesAbortedDueToXSColls", "given up after 16 collisions"},
    {"FramesLostDueToIntMACXmitError", "lost inside the MAC while sending"},
    {"FramesLostDueToIntMACRcvError", "lost inside the MAC while receiving"},
    {"CarrierSenseErrors", "the carrier was lost while sending: cable or partner"},
    {"MulticastFramesXmittedOK", "multicast frames sent"},
    {"MulticastFramesReceivedOK", "multicast frames received"},
    {"BroadcastFramesXmittedOK", "broadcast frames sent"},
    {"BroadcastFramesReceivedOK", "broadcast frames received"},
    {"FramesWithExcessiveDeferral", "waited too long for the line"},
    {"InRangeLengthErrors", "received, and shorter or longer than their length field says"},
    {"OutOfRangeLengthField", "received with a length field beyond what is allowed"},
    {"FrameTooLongErrors", "received, and longer than allowed: the partner's MTU"},
    {"MACControlFramesTransmitted", "control frames sent, pauses among them"},
    {"MACControlFramesReceived", "control frames received, pauses among them"},
    {"UnsupportedOpcodesReceived", "control frames received that this MAC does not know"},
    {"etherStatsUndersizePkts", "received, shorter than 64 bytes"},
    {"etherStatsOversizePkts", "received, longer than allowed: the partner's MTU"},
    {"etherStatsFragments", "received, shorter than 64 bytes and wrong: collisions or cable"},
    {"etherStatsJabbers", "received, too long and wrong: a partner that babbles"},
    {"tx_pause_frames", "this side asked the link partner for a pause: it is too slow"},
    {"rx_pause_frames", "the link partner asked for a pause"},
    {"fec_corrected_blocks",
     "blocks with errors that FEC repaired: some are normal at 50 Gb/s per lane"},
    {"fec_uncorrectable_blocks",
     "blocks that FEC could not repair: lost frames; cable or transceiver"},
    {"fec_corrected_bits", "bits that FEC repaired"},
    {"tx_stamped", "packets that the NIC stamped"},
    {"tx_stamps_lost", "stamps of the NIC that never came: exact overlap lacks these"},
    {"tx_stamp_errors", "packets whose stamp the NIC could not make"},
    {"link_down_events", "the link went down, since the driver was loaded"},
    {"health_errors", "errors that the driver's health reporter saw (devlink)"},
    {"health_recoveries", "recoveries that the driver's health reporter made (devlink)"},
    {"rx_alloc_fail", "no memory for a packet that came"},
    {"rx_hw_drops", "dropped by the device before the driver saw them"},
    {"rx_hw_drop_overruns", "dropped by the device: its queue had no room"},
    {"rx_csum_bad", "received with a wrong checksum of TCP or UDP"},
    {"tx_hw_drops", "dropped by the device instead of being sent"},
    {"tx_hw_drop_errors", "dropped by the device: malformed"},
    {"tx_stop", "the queue was full and took nothing for a while"},
    {"tx_wake", "the queue takes packets again"},
    {"UdpSndbufErrors", "datagrams not sent because the buffer was full"},
    {"TcpExtTCPTimeouts", "TCP waited in vain for an acknowledgement"},
    {"TcpExtTCPLostRetransmit", "what was sent again was lost again"},
    {"TcpExtTCPFastRetrans", "sent again at once, as later segments were acknowledged"},
    {"TcpExtTCPSynRetrans", "connection requests sent again"},
    {"TcpExtTCPBacklogDrop", "dropped: the program's backlog was full"},
    {"TcpExtTCPRcvQDrop", "dropped: the receive queue was full"}};
NIC_API const char *nic_counter_meaning(const char *name) {
  const char *slash = name ? strrchr(name, '/') : NULL, *last = slash ? slash + 1 : name;
  for (size_t i = 0; last && i < sizeof nic__meanings / sizeof nic__meanings[0]; i++)
    if (strcmp(nic__meanings[i].name, last) == 0) return nic__meanings[i].meaning;
  return "";
}
NIC_API const char *nic_change_name(nic_change change) {
  static const char *const names[] = {"none", "exact", "wrapped", "reset", "stuck"};
  return (unsigned)change <= NIC_CHANGE_STUCK ? names[change] : "?";
}
