/* Counters that the kernel gives by netlink: standard groups of Ethernet, pauses, FEC, queues, stamps,
   links, health of drivers, RDMA. */
#include "count_netlink.h"

/* Numbers of messages and attributes are the kernel's ABI. They stand here because older systems' headers
   lack them. Sources: include/uapi/linux/ethtool_netlink.h and Documentation/networking/ethtool-netlink.rst;
   include/uapi/linux/netdev.h and Documentation/netlink/specs/netdev.yaml; include/uapi/linux/devlink.h and
   Documentation/networking/devlink/devlink-health.rst; include/uapi/rdma/rdma_netlink.h. */
enum {
  NIC__ETHTOOL_PAUSE_GET = 21,
  NIC__ETHTOOL_FEC_GET = 29,
  NIC__ETHTOOL_STATS_GET = 32,
  NIC__ETHTOOL_STATS_GROUPS = 3, /* a set of bits: bits, bit, its index */
  NIC__ETHTOOL_STATS_GROUP = 4,
  NIC__NETDEV_QSTATS_GET = 12,
  NIC__DEVLINK_HEALTH_GET = 52,
  NIC__RDMA_PROTOCOL = 20,
  NIC__RDMA_CLIENT = 5 << 10,
  NIC__RDMA_GET = 1,
  NIC__RDMA_STAT_GET = 17,
  NIC__RDMA_STAT_RES = 75,
  NIC__RDMA_RES_QP = 19,
  NIC__RDMA_RES_QP_ENTRY = 20,
  NIC__RDMA_RES_LQPN = 21,
  NIC__RDMA_STAT_COUNTER = 77,
  NIC__RDMA_STAT_COUNTER_ENTRY = 78,
  NIC__RDMA_STAT_COUNTER_ID = 79,
  NIC__RDMA_HWCOUNTERS = 80,
  NIC__RDMA_HWCOUNTER_ENTRY = 81,
  NIC__RDMA_HWCOUNTER_NAME = 82,
  NIC__RDMA_HWCOUNTER_VALUE = 83
};

/* A value by its place in an answer: family, group, attribute. */
static uint64_t nic__netlink_key(unsigned where, unsigned group, unsigned type) {
  return (uint64_t)where << 56 | (uint64_t)(group & 0xffffffu) << 32 | type;
}

typedef struct nic__known { /* a value that has a name */
  uint16_t group, type;
  nic_unit unit;
  const char *folder, *name;
} nic__known;

/* Group 0 eth-phy, 1 eth-mac, 2 eth-ctrl, 3 rmon. Names as IEEE 802.3 (clause 30) and RFC 2819 have them. */
static const nic__known nic__standard[] = {
    {0, 0, NIC_UNIT_EVENTS, "eth-phy", "SymbolErrorDuringCarrier"},
    {1, 0, NIC_UNIT_PACKETS, "eth-mac", "FramesTransmittedOK"},
    {1, 1, NIC_UNIT_PACKETS, "eth-mac", "SingleCollisionFrames"},
    {1, 2, NIC_UNIT_PACKETS, "eth-mac", "MultipleCollisionFrames"},
    {1, 3, NIC_UNIT_PACKETS, "eth-mac", "FramesReceivedOK"},
    {1, 4, NIC_UNIT_PACKETS, "eth-mac", "FrameCheckSequenceErrors"},
    {1, 5, NIC_UNIT_PACKETS, "eth-mac", "AlignmentErrors"},
    {1, 6, NIC_UNIT_BYTES, "eth-mac", "OctetsTransmittedOK"},
    {1, 7, NIC_UNIT_PACKETS, "eth-mac", "FramesWithDeferredXmissions"},
    {1, 8, NIC_UNIT_PACKETS, "eth-mac", "LateCollisions"},
    {1, 9, NIC_UNIT_PACKETS, "eth-mac", "FramesAbortedDueToXSColls"},
    {1, 10, NIC_UNIT_PACKETS, "eth-mac", "FramesLostDueToIntMACXmitError"},
    {1, 11, NIC_UNIT_EVENTS, "eth-mac", "CarrierSenseErrors"},
    {1, 12, NIC_UNIT_BYTES, "eth-mac", "OctetsReceivedOK"},
    {1, 13, NIC_UNIT_PACKETS, "eth-mac", "FramesLostDueToIntMACRcvError"},
    {1, 14, NIC_UNIT_PACKETS, "eth-mac", "MulticastFramesXmittedOK"},
    {1, 15, NIC_UNIT_PACKETS, "eth-mac", "BroadcastFramesXmittedOK"},
    {1, 16, NIC_UNIT_PACKETS, "eth-mac", "FramesWithExcessiveDeferral"},
    {1, 17, NIC_UNIT_PACKETS, "eth-mac", "MulticastFramesReceivedOK"},
    {1, 18, NIC_UNIT_PACKETS, "eth-mac", "BroadcastFramesReceivedOK"},
    {1, 19, NIC_UNIT_PACKETS, "eth-mac", "InRangeLengthErrors"},
    {1, 20, NIC_UNIT_PACKETS, "eth-mac", "OutOfRangeLengthField"},
    {1, 21, NIC_UNIT_PACKETS, "eth-mac", "FrameTooLongErrors"},
    {2, 0, NIC_UNIT_PACKETS, "eth-ctrl", "MACControlFramesTransmitted"},
    {2, 1, NIC_UNIT_PACKETS, "eth-ctrl", "MACControlFramesReceived"},
    {2, 2, NIC_UNIT_PACKETS, "eth-ctrl", "UnsupportedOpcodesReceived"},
    {3, 0, NIC_UNIT_PACKETS, "rmon", "etherStatsUndersizePkts"},
    {3, 1, NIC_UNIT_PACKETS, "rmon", "etherStatsOversizePkts"},
    {3, 2, NIC_UNIT_PACKETS, "rmon", "etherStatsFragments"},
    {3, 3, NIC_UNIT_PACKETS, "rmon", "etherStatsJabbers"}};

/* Of a message's attribute (group) one inside it (type). */
static const nic__known nic__pause[] = {{5, 2, NIC_UNIT_PACKETS, "pause", "tx_pause_frames"},
                                        {5, 3, NIC_UNIT_PACKETS, "pause", "rx_pause_frames"}};
static const nic__known nic__fec[] = {{5, 2, NIC_UNIT_EVENTS, "fec", "fec_corrected_blocks"},
                                      {5, 3, NIC_UNIT_EVENTS, "fec", "fec_uncorrectable_blocks"},
                                      {5, 4, NIC_UNIT_EVENTS, "fec", "fec_corrected_bits"}};
static const nic__known nic__tsinfo[] = {
    {6, 1, NIC_UNIT_PACKETS, "stamps", "tx_stamped"},
    {6, 2, NIC_UNIT_EVENTS, "stamps", "tx_stamps_lost"},
    {6, 3, NIC_UNIT_EVENTS, "stamps", "tx_stamp_errors"},
    {6, 4, NIC_UNIT_PACKETS, "stamps", "tx_onestep_unconfirmed"}};
/* Of a queue, by attribute. */
static const nic__known nic__queue_stats[] = {
    {0, 8, NIC_UNIT_PACKETS, "", "rx_packets"},
    {0, 9, NIC_UNIT_BYTES, "", "rx_bytes"},
    {0, 10, NIC_UNIT_PACKETS, "", "tx_packets"},
    {0, 11, NIC_UNIT_BYTES, "", "tx_bytes"},
    {0, 12, NIC_UNIT_EVENTS, "", "rx_alloc_fail"},
    {0, 13, NIC_UNIT_PACKETS, "", "rx_hw_drops"},
    {0, 14, NIC_UNIT_PACKETS, "", "rx_hw_drop_overruns"},
    {0, 15, NIC_UNIT_PACKETS, "", "rx_csum_complete"},
    {0, 16, NIC_UNIT_PACKETS, "", "rx_csum_unnecessary"},
    {0, 17, NIC_UNIT_PACKETS, "", "rx_csum_none"},
    {0, 18, NIC_UNIT_PACKETS, "", "rx_csum_bad"},
    {0, 19, NIC_UNIT_PACKETS, "", "rx_hw_gro_packets"},
    {0, 20, NIC_UNIT_BYTES, "", "rx_hw_gro_bytes"},
    {0, 21, NIC_UNIT_PACKETS, "", "rx_hw_gro_wire_packets"},
    {0, 22, NIC_UNIT_BYTES, "", "rx_hw_gro_wire_bytes"},
    {0, 23, NIC_UNIT_PACKETS, "", "rx_hw_drop_ratelimits"},
    {0, 24, NIC_UNIT_PACKETS, "", "tx_hw_drops"},
    {0, 25, NIC_UNIT_PACKETS, "", "tx_hw_drop_errors"},
    {0, 26, NIC_UNIT_PACKETS, "", "tx_csum_none"},
    {0, 27, NIC_UNIT_PACKETS, "", "tx_needs_csum"},
    {0, 28, NIC_UNIT_PACKETS, "", "tx_hw_gso_packets"},
    {0, 29, NIC_UNIT_BYTES, "", "tx_hw_gso_bytes"},
    {0, 30, NIC_UNIT_PACKETS, "", "tx_hw_gso_wire_packets"},
    {0, 31, NIC_UNIT_BYTES, "", "tx_hw_gso_wire_bytes"},
    {0, 32, NIC_UNIT_PACKETS, "", "tx_hw_drop_ratelimits"},
    {0, 33, NIC_UNIT_EVENTS, "", "tx_stop"},
    {0, 34, NIC_UNIT_EVENTS, "", "tx_wake"}};

#define NIC__KNOWN(rows) rows, sizeof rows / sizeof rows[0]
static const nic__known *nic__known_of(const nic__known *rows, size_t count, unsigned group,
                                       unsigned type) {
  for (size_t i = 0; i < count; i++)
    if (rows[i].group == group && rows[i].type == type) return &rows[i];
  return NULL;
}

typedef struct nic__netlink_group {
  nic__group group;
  nic__netlink netlink;
  unsigned family, netdev; /* numbers of the families ethtool or devlink, netdev; 0: none */
  uint32_t interface_index;
  char pci_address[16];
  /* RDMA */
  bool is_found;
  uint32_t device_index, port_count, port;
  unsigned which; /* what is asked now */
} nic__netlink_group;

static void nic__tell_known(nic__netlink_group *g, const nic__known *k, const nic__attr *a) {
  uint64_t value = 0;
  nic__attr total = *a;
  /* FEC: the sum over all lanes, then each lane */
  if (g->which == NIC__ETHTOOL_FEC_GET && total.bytes > 8) total.bytes = 8;
  if (!k || !nic__attr_number(&total, &value)) return;
  nic_counter *counter = nic__group_tell(&g->group, nic__netlink_key(g->which, k->group, k->type),
                                         k->folder, k->name, value);
  if (!counter) return;
  counter->unit = k->unit;
  if (a->bytes == 4) counter->width_bits = 32;
}

/* Frames by their size: "rmon/rx_64to64_octets". */
static void nic__take_sizes(nic__netlink_group *g, unsigned group, nic__attr row, bool is_sent) {
  nic__attr low, high, count;
  uint64_t from, to, value;
  char name[48];
  if (!nic__attr_find(row, 7, &low) || !nic__attr_find(row, 8, &high) ||
      !nic__attr_find(row, 9, &count) || !nic__attr_number(&low, &from) ||
      !nic__attr_number(&high, &to) || !nic__attr_number(&count, &value))
    return;
  snprintf(name, sizeof name, "%s_%llu_to_%llu_bytes", is_sent ? "tx" : "rx",
           (unsigned long long)from, (unsigned long long)to);
  nic_counter *counter = nic__group_tell(
      &g->group, nic__netlink_key(1 + is_sent, group, (unsigned)from), "rmon", name, value);
  if (counter) counter->unit = NIC_UNIT_PACKETS;
}

/* One standard group: its number, then its values. */
static void nic__take_standard(nic__netlink_group *g, nic__attr row) {
  nic__attr a, inner;
  uint64_t group;
  if (!nic__attr_find(row, 2, &a) || !nic__attr_number(&a, &group) || group > 3) return;
  while (nic__attr_next(&row, &a)) {
    if (a.type == 5 || a.type == 6) nic__take_sizes(g, (unsigned)group, a, a.type == 6);
    if (a.type != 4) continue;
    while (nic__attr_next(&a, &inner))
      nic__tell_known(g, nic__known_of(NIC__KNOWN(nic__standard), (unsigned)group, inner.type),
                      &inner);
  }
}

static void nic__take_ethtool(void *user, nic__attr row) {
  nic__netlink_group *g = (nic__netlink_group *)user;
  nic__attr a, inner;
  uint64_t value;
  while (nic__attr_next(&row, &a)) {
    if (g->which == NIC__ETHTOOL_STATS_GET && a.type == NIC__ETHTOOL_STATS_GROUP)
      nic__take_standard(g, a);
    if (g->which == NIC__ETHTOOL_LINKSTATE_GET && a.type == 7 && nic__attr_number(&a, &value)) {
      nic_counter *counter = nic__group_tell(&g->group, nic__netlink_key(g->which, 7, 0), "link",
                                             "link_down_events", value);
      if (counter) counter->width_bits = 32;
    }
    const unsigned nest = a.type;
    if (g->which == NIC__ETHTOOL_STATS_GET || g->which == NIC__ETHTOOL_LINKSTATE_GET ||
        (nest != 5 && nest != 6))
      continue;
    while (nic__attr_next(&a, &inner))
      nic__tell_known(g,
                      g->which == NIC__ETHTOOL_PAUSE_GET
                          ? nic__known_of(NIC__KNOWN(nic__pause), nest, inner.type)
                      : g->which == NIC__ETHTOOL_FEC_GET
                          ? nic__known_of(NIC__KNOWN(nic__fec), nest, inner.type)
                          : nic__known_of(NIC__KNOWN(nic__tsinfo), nest, inner.type),
                      &inner);
  }
}

/* One queue. Numbers of 4 or 8 bytes, as they need: so their width says nothing. */
static void nic__take_queue(void *user, nic__attr row) {
  nic__netlink_group *g = (nic__netlink_group *)user;
  nic__attr a;
  uint64_t interface_index, type, id, value;
  char folder[24];
  if (!nic__attr_find(row, 1, &a) || !nic__attr_number(&a, &interface_index) ||
      interface_index != g->interface_index || !nic__attr_find(row, 2, &a) ||
      !nic__attr_number(&a, &type) || !nic__attr_find(row, 3, &a) || !nic__attr_number(&a, &id) ||
      type > 1 || id > 9999)
    return;
  snprintf(folder, sizeof folder, "%sq%u", type ? "tx" : "rx", (unsigned)id);
  while (nic__attr_next(&row, &a)) {
    const nic__known *k = nic__known_of(NIC__KNOWN(nic__queue_stats), 0, a.type);
    if (!k || !nic__attr_number(&a, &value)) continue;
    nic_counter *counter =
        nic__group_tell(&g->group, nic__netlink_key(3 + (unsigned)type, (unsigned)id, a.type),
                        folder, k->name, value);
    if (counter) counter->unit = k->unit;
  }
}

static bool nic__ethernet_ask(nic__group *group) {
  static const int commands[] = {NIC__ETHTOOL_STATS_GET, NIC__ETHTOOL_PAUSE_GET,
                                 NIC__ETHTOOL_FEC_GET, NIC__ETHTOOL_TSINFO_GET,
                                 NIC__ETHTOOL_LINKSTATE_GET};
  nic__netlink_group *g = (nic__netlink_group *)(void *)group;
  nic__question q;
  bool answered = false;
  for (size_t i = 0; i < sizeof commands / sizeof commands[0] && g->family; i++) {
    const char *name = group->counters->name;
    g->which = (unsigned)commands[i];
    nic__ethtool_question(&q, g->family, commands[i], commands[i] == NIC__ETHTOOL_STATS_GET ? 2 : 1,
                          name, NIC__ETHTOOL_FLAG_STATS);
    if (commands[i] == NIC__ETHTOOL_STATS_GET) {
      const size_t set = nic__question_nest(&q, NIC__ETHTOOL_STATS_GROUPS);
      nic__question_put(&q, NIC__BITSET_NOMASK, NULL, 0);
      const size_t bits = nic__question_nest(&q, NIC__BITSET_BITS);
      for (uint32_t k = 0; k < 4; k++) {
        const size_t bit = nic__question_nest(&q, 1);
        nic__question_number(&q, 1, k);
        nic__question_close(&q, bit);
      }
      nic__question_close(&q, bits);
      nic__question_close(&q, set);
    }
    answered |= nic__netlink_ask(&g->netlink, &q, NIC__GENL_HEAD, nic__take_ethtool, g) == NIC_OK;
  }
  if (!g->netdev) return answered;
  g->which = NIC__NETDEV_QSTATS_GET;
  nic__question_begin(&q, g->netdev, true, NIC__NETDEV_QSTATS_GET);
  nic__question_number(&q, 1, g->interface_index);
  const uint64_t each_queue = 1;
  nic__question_put(&q, 4, &each_queue, sizeof each_queue);
  return (nic__netlink_ask(&g->netlink, &q, NIC__GENL_HEAD, nic__take_queue, g) == NIC_OK) |
         answered;
}

static void nic__netlink_group_close(nic__group *group) {
  nic__netlink_close(&((nic__netlink_group *)(void *)group)->netlink);
}

/* NULL: no memory, or (status NIC_OK) this kernel has no such netlink. */
static nic__netlink_group *nic__netlink_group_new(int protocol, bool (*ask)(nic__group *group),
                                                  nic_status *status) {
  nic__netlink_group *g = (nic__netlink_group *)nic__zalloc(sizeof *g);
  *status = g ? nic__netlink_open(&g->netlink, protocol) : NIC_E_NOMEM;
  if (*status != NIC_OK) {
    NIC_FREE(g);
    if (*status != NIC_E_NOMEM) *status = NIC_OK;
    return NULL;
  }
  g->group.ask = ask;
  g->group.close = nic__netlink_group_close;
  return g;
}

NIC__PRIVATE nic_status nic__open_ethernet(nic_counters *c, const nic_info *nic) {
  nic_status status;
  nic__netlink_group *g = nic__netlink_group_new(NETLINK_GENERIC, nic__ethernet_ask, &status);
  if (!g) return status;
  g->interface_index = if_nametoindex(nic->name);
  g->family = nic__netlink_family(&g->netlink, "ethtool");
  g->netdev = nic__netlink_family(&g->netlink, "netdev");
  return nic__group_open(c, &g->group);
}

/* ---- health of the driver (devlink) ------------------------------------------------------------ */
static void nic__take_reporter(void *user, nic__attr row) {
  nic__netlink_group *g = (nic__netlink_group *)user;
  nic__attr a, reporter;
  char text[32], folder[48];
  uint64_t value;
  uint32_t sum = 2166136261u; /* of the name: reporters have no numbers */
  if (!nic__attr_find(row, 1, &a) || !nic__attr_text(&a, text, sizeof text) ||
      strcmp(text, "pci") != 0 || !nic__attr_find(row, 2, &a) ||
      !nic__attr_text(&a, text, sizeof text) || strcmp(text, g->pci_address) != 0 ||
      !nic__attr_find(row, 114, &reporter) || !nic__attr_find(reporter, 115, &a) ||
      !nic__attr_text(&a, text, sizeof text))
    return;
  for (const char *at = text; *at; at++) sum = (sum ^ (uint8_t)*at) * 16777619u;
  uint64_t port = 0; /* some reporters are a port's */
  if (nic__attr_find(row, 3, &a) && nic__attr_number(&a, &port)) sum += (uint32_t)port + 1;
  snprintf(folder, sizeof folder, "devlink-%s", text);
  if (nic__attr_find(reporter, 117, &a) && nic__attr_number(&a, &value))
    nic__group_tell(&g->group, nic__netlink_key(NIC__DEVLINK_HEALTH_GET, 0, sum), folder,
                    "health_errors", value);
  if (nic__attr_find(reporter, 118, &a) && nic__attr_number(&a, &value))
    nic__group_tell(&g->group, nic__netlink_key(NIC__DEVLINK_HEALTH_GET, 1, sum), folder,
                    "health_recoveries", value);
}
static bool nic__health_ask(nic__group *group) {
  nic__netlink_group *g = (nic__netlink_group *)(void *)group;
  nic__question q;
  if (!g->family) return false;
  nic__question_begin(&q, g->family, true, NIC__DEVLINK_HEALTH_GET);
  return nic__netlink_ask(&g->netlink, &q, NIC__GENL_HEAD, nic__take_reporter, g) == NIC_OK;
}
NIC__PRIVATE nic_status nic__open_health(nic_counters *c, const nic_info *nic) {
  nic_status status = NIC_OK;
  if (!nic->pci_address[0]) return status;
  nic__netlink_group *g = nic__netlink_group_new(NETLINK_GENERIC, nic__health_ask, &status);
  if (!g) return status;
  memcpy(g->pci_address, nic->pci_address, sizeof g->pci_address);
  g->family = nic__netlink_family(&g->netlink, "devlink");
  return nic__group_open(c, &g->group);
}

/* ---- RDMA --------------------------------------------------------------------------------------- */
static void nic__take_device(void *user, nic__attr row) {
  nic__netlink_group *g = (nic__netlink_group *)user;
  nic__attr a;
  char name[64];
  uint64_t index, ports;
  if (!nic__attr_find(row, 2, &a) || !nic__attr_text(&a, name, sizeof name) ||
      strcmp(name, g->group.counters->name) != 0 || !nic__attr_find(row, 1, &a) ||
      !nic__attr_number(&a, &index) || !nic__attr_find(row, 3, &a) || !nic__attr_number(&a, &ports))
    return;
  g->is_found = true;
  g->device_index = (uint32_t)index;
  g->port_count = ports < 256 ? (uint32_t)ports : 0;
}
/* A table of names and values. one: bound counters, of which sysfs knows nothing; else those that sysfs shows
   as well are left out: they have the same names there. */
static void nic__take_hwcounters(nic__netlink_group *g, nic__attr list, const char *folder,
                                 unsigned where, uint32_t one) {
  nic__attr entry, a;
  uint64_t value;
  unsigned index = 0;
  char name[40], known[72];
  for (; nic__attr_next(&list, &entry); index++) {
    if (entry.type != NIC__RDMA_HWCOUNTER_ENTRY ||
        !nic__attr_find(entry, NIC__RDMA_HWCOUNTER_NAME, &a) ||
        !nic__attr_text(&a, name, sizeof name) ||
        !nic__attr_find(entry, NIC__RDMA_HWCOUNTER_VALUE, &a) || !nic__attr_number(&a, &value))
      continue;
    snprintf(known, sizeof known, "hw%u/%s", g->port, name);
    if (!one && g->group.is_opening && nic__source_known(g->group.counters, known)) continue;
    nic__group_tell(&g->group, nic__netlink_key(where, one ? one : g->port, index), folder, name,
                    value);
  }
}
static void nic__take_rdma(void *user, nic__attr row) {
  nic__netlink_group *g = (nic__netlink_group *)user;
  nic__attr list;
  char folder[16];
  if (!nic__attr_find(row, NIC__RDMA_HWCOUNTERS, &list)) return;
  snprintf(folder, sizeof folder, "rdma%u", g->port);
  nic__take_hwcounters(g, list, folder, NIC__RDMA_HWCOUNTERS, 0);
}

/* Counters bound to queue pairs: "rdma1-qp17/out_of_sequence", or by their own number where they count for
   several. A pair that is bound later is not among those that were there when this NIC's counters were
   opened. */
static void nic__take_bound(void *user, nic__attr row) {
  nic__netlink_group *g = (nic__netlink_group *)user;
  nic__attr table, entry, a, pairs;
  uint64_t port, id, pair = 0;
  char folder[32];
  if (!nic__attr_find(row, NIC__RDMA_STAT_COUNTER, &table)) return;
  while (nic__attr_next(&table, &entry)) {
    if (entry.type != NIC__RDMA_STAT_COUNTER_ENTRY || !nic__attr_find(entry, 3, &a) ||
        !nic__attr_number(&a, &port) || port != g->port ||
        !nic__attr_find(entry, NIC__RDMA_STAT_COUNTER_ID, &a) || !nic__attr_number(&a, &id) ||
        !nic__attr_find(entry, NIC__RDMA_HWCOUNTERS, &a))
      continue;
    unsigned pair_count = 0;
    nic__attr list;
    if (nic__attr_find(entry, NIC__RDMA_RES_QP, &pairs))
      for (nic__attr one; nic__attr_next(&pairs, &one);)
        if (nic__attr_find(one, NIC__RDMA_RES_LQPN, &list) && nic__attr_number(&list, &pair))
          pair_count++;
    if (pair_count == 1)
      snprintf(folder, sizeof folder, "rdma%u-qp%u", g->port, (unsigned)pair);
    else
      snprintf(folder, sizeof folder, "rdma%u-counter%u", g->port, (unsigned)id);
    nic__take_hwcounters(g, a, folder, NIC__RDMA_HWCOUNTERS + g->port, (uint32_t)id + 1);
  }
}
static bool nic__rdma_ask(nic__group *group) {
  nic__netlink_group *g = (nic__netlink_group *)(void *)group;
  nic__question q;
  bool answered = false;
  g->is_found = false;
  nic__question_begin(&q, NIC__RDMA_CLIENT + NIC__RDMA_GET, true, 0);
  if (nic__netlink_ask(&g->netlink, &q, 0, nic__take_device, g) != NIC_OK || !g->is_found)
    return false;
  for (g->port = 1; g->port <= g->port_count; g->port++) {
    nic__question_begin(&q, NIC__RDMA_CLIENT + NIC__RDMA_STAT_GET, false, 0);
    nic__question_number(&q, 1, g->device_index);
    nic__question_number(&q, 3, g->port);
    answered |= nic__netlink_ask(&g->netlink, &q, 0, nic__take_rdma, g) == NIC_OK;
    nic__question_begin(&q, NIC__RDMA_CLIENT + NIC__RDMA_STAT_GET, true, 0);
    nic__question_number(&q, 1, g->device_index);
    nic__question_number(&q, 3, g->port);
    nic__question_number(&q, NIC__RDMA_STAT_RES, NIC__RDMA_RES_QP);
    answered |= nic__netlink_ask(&g->netlink, &q, 0, nic__take_bound, g) == NIC_OK;
  }
  return answered;
}
NIC__PRIVATE nic_status nic__open_rdma(nic_counters *c) {
  nic_status status;
  nic__netlink_group *g = nic__netlink_group_new(NIC__RDMA_PROTOCOL, nic__rdma_ask, &status);
  return g ? nic__group_open(c, &g->group) : status;
}
