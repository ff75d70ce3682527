/* Counters by netlink: answers made after the kernel's documentation become counters with the right names,
   units and values; cut, damaged and foreign ones are survived; the numbers of messages and attributes are
   those of this system's headers; on a NIC that counts its queues, their sum is the interface's. No machine
   with devlink, FEC or RDMA was at hand to record these answers. */
#define NIC_HW_IMPLEMENTATION
#include "hw/nic_hw.h"
#include "tests/test.h"
#if __has_include(<linux/ethtool_netlink.h>)
#  include <linux/ethtool_netlink.h>
#endif
#if __has_include(<linux/devlink.h>)
#  include <linux/devlink.h>
#endif
#if __has_include(<linux/netdev.h>)
#  include <linux/netdev.h>
#endif
#if __has_include(<rdma/rdma_netlink.h>)
#  include <rdma/rdma_netlink.h>
#endif

/* A counters object and a group that is being opened, without a device. */
static nic_counters counters;
static nic__netlink_group group;
static void begin(const char *name, unsigned which) {
  memset(&counters, 0, sizeof counters);
  memset(&group, 0, sizeof group);
  snprintf(counters.name, sizeof counters.name, "%s", name);
  group.group.counters = &counters;
  group.group.is_opening = true;
  group.netlink.fd = -1;
  group.which = which;
  strcpy(group.pci_address, "0000:03:00.0");
  group.interface_index = 7;
  group.port = 1;
}
static void end(void) {
  NIC_FREE(group.group.cells);
  NIC_FREE(counters.sources);
}
static const nic_counter *counter_of(const char *name, uint64_t *value) {
  const int i = nic_counters_index(&counters, name);
  *value = i >= 0 ? group.group.cells[counters.sources[i].cell_index].value : UINT64_MAX;
  return i >= 0 ? &counters.sources[i].counter : NULL;
}

/* What the kernel would send: its attributes are built by the same functions as our questions. */
static nic__question built;
static size_t nest(unsigned type) { return nic__question_nest(&built, type); }
static void close_nest(size_t at) { nic__question_close(&built, at); }
static void number64(unsigned type, uint64_t value) {
  nic__question_put(&built, type, &value, sizeof value);
}
static void number32(unsigned type, uint32_t value) { nic__question_number(&built, type, value); }
static void text(unsigned type, const char *value) {
  nic__question_put(&built, type, value, strlen(value) + 1);
}
static void stat_of(unsigned type, uint64_t value) {
  const size_t at = nest(4);
  number64(type, value);
  close_nest(at);
}
static nic_status take_built(nic__take *take, size_t skip) {
  struct nlmsghdr head;
  bool over = false;
  memcpy(&head, built.room, sizeof head);
  head.nlmsg_len = (uint32_t)built.bytes;
  head.nlmsg_seq = 5;
  memcpy(built.room, &head, sizeof head);
  return nic__netlink_walk(built.room, built.bytes, 5, skip, take, &group, &over);
}

static void build_standard(void) {
  nic__question_begin(&built, 0x20, false, 33);
  const size_t device = nest(2);
  number32(1, 7);
  text(2, "eth7");
  close_nest(device);
  for (unsigned id = 0; id < 4; id++) {
    const size_t grp = nest(4);
    number32(2, id);
    number32(3, 17 + id);
    stat_of(0, 1000 + id);
    if (id == 1) stat_of(6, 123456789012345);
    if (id == 1) stat_of(99, 1); /* of a later kernel */
    if (id == 3) {
      const size_t sizes = nest(5);
      number32(7, 64);
      number32(8, 127);
      number64(9, 42);
      close_nest(sizes);
    }
    close_nest(grp);
  }
}
static void standard_groups_have_their_names(void) {
  uint64_t value;
  begin("eth7", NIC__ETHTOOL_STATS_GET);
  build_standard();
  CHECK(take_built(nic__take_ethtool, NIC__GENL_HEAD) == NIC_OK);
  CHECK(counters.count == 6);
  CHECK(counter_of("eth-phy/SymbolErrorDuringCarrier", &value) && value == 1000);
  const nic_counter *c = counter_of("eth-mac/OctetsTransmittedOK", &value);
  CHECK(c && value == 123456789012345 && c->unit == NIC_UNIT_BYTES && c->width_bits == 64);
  CHECK(counter_of("eth-mac/FramesTransmittedOK", &value) && value == 1001);
  CHECK(counter_of("MACControlFramesTransmitted", &value) && value == 1002);
  c = counter_of("rmon/rx_64_to_127_bytes", &value);
  CHECK(c && value == 42 && c->unit == NIC_UNIT_PACKETS);
  /* the second answer updates and adds nothing */
  group.group.is_opening = false;
  group.group.at = 0;
  CHECK(take_built(nic__take_ethtool, NIC__GENL_HEAD) == NIC_OK && counters.count == 6);
  nic__group_tell(&group.group, 12345, "later", "value", 1);
  CHECK(counters.count == 6);
  for (size_t i = 0; i < sizeof nic__standard / sizeof nic__standard[0]; i++)
    CHECK(*nic_counter_meaning(nic__standard[i].name));
  end();
}

static void pauses_fec_stamps_and_links_are_counted(void) {
  const uint64_t sum = ((uint64_t)1 << 33) + 30;
  const uint64_t lanes[3] = {sum, 10, sum - 10}; /* the sum, then each lane */
  uint64_t value;
  begin("eth7", NIC__ETHTOOL_PAUSE_GET);
  nic__question_begin(&built, 0x20, false, 22);
  size_t at = nest(5);
  number64(2, 11);
  number64(3, 12);
  close_nest(at);
  CHECK(take_built(nic__take_ethtool, NIC__GENL_HEAD) == NIC_OK);
  CHECK(counter_of("pause/tx_pause_frames", &value) && value == 11);
  CHECK(counter_of("pause/rx_pause_frames", &value) && value == 12);
  group.which = NIC__ETHTOOL_FEC_GET;
  nic__question_begin(&built, 0x20, false, 30);
  at = nest(5);
  nic__question_put(&built, 2, lanes, sizeof lanes);
  nic__question_put(&built, 3, lanes, 8);
  close_nest(at);
  CHECK(take_built(nic__take_ethtool, NIC__GENL_HEAD) == NIC_OK);
  CHECK(counter_of("fec/fec_corrected_blocks", &value) && value == sum);
  CHECK(counter_of("fec/fec_uncorrectable_blocks", &value) && value == sum);
  group.which = NIC__ETHTOOL_TSINFO_GET;
  nic__question_begin(&built, 0x20, false, 26);
  at = nest(6);
  number32(2, 3);
  close_nest(at);
  CHECK(take_built(nic__take_ethtool, NIC__GENL_HEAD) == NIC_OK);
  CHECK(counter_of("stamps/tx_stamps_lost", &value) && value == 3);
  group.which = NIC__ETHTOOL_LINKSTATE_GET;
  nic__question_begin(&built, 0x20, false, 6);
  number32(7, 9);
  CHECK(take_built(nic__take_ethtool, NIC__GENL_HEAD) == NIC_OK);
  const nic_counter *c = counter_of("link/link_down_events", &value);
  CHECK(c && value == 9 && c->width_bits == 32);
  CHECK(counters.count == 6);
  end();
}

static void build_queue(uint32_t interface_index, uint32_t type, uint32_t id) {
  nic__question_begin(&built, 0x21, false, 12);
  number32(1, interface_index);
  number32(2, type);
  number32(3, id);
  number32(type ? 10 : 8, 100 + id);
  number64(type ? 11 : 9, (uint64_t)1 << 40);
}
static void queues_are_told_apart(void) {
  uint64_t value;
  begin("eth7", NIC__NETDEV_QSTATS_GET);
  for (uint32_t id = 0; id < 3; id++) {
    build_queue(7, 0, id);
    CHECK(take_built(nic__take_queue, NIC__GENL_HEAD) == NIC_OK);
    build_queue(7, 1, id);
    CHECK(take_built(nic__take_queue, NIC__GENL_HEAD) == NIC_OK);
  }
  build_queue(8, 0, 3); /* another interface's */
  CHECK(take_built(nic__take_queue, NIC__GENL_HEAD) == NIC_OK && counters.count == 12);
  CHECK(counter_of("rxq2/rx_packets", &value) && value == 102);
  const nic_counter *c = counter_of("txq1/tx_bytes", &value);
  CHECK(c && value == (uint64_t)1 << 40 && c->unit == NIC_UNIT_BYTES);
  end();
}

static void build_reporter(const char *address, const char *name) {
  nic__question_begin(&built, 0x22, false, 52);
  text(1, "pci");
  text(2, address);
  const size_t at = nest(114);
  text(115, name);
  nic__question_put(&built, 116, "\1", 1);
  number64(117, 4);
  number64(118, 3);
  close_nest(at);
}
static void build_rdma(void) {
  nic__question_begin(&built, NIC__RDMA_CLIENT + NIC__RDMA_STAT_GET, false, 0);
  number32(1, 0);
  text(2, "mlx5_0");
  number32(3, 1);
  const size_t list = nest(80);
  for (int i = 0; i < 2; i++) {
    const size_t entry = nest(81);
    text(82, i ? "out_of_sequence" : "rx_write_requests");
    number64(83, 7 + (uint64_t)i);
    close_nest(entry);
  }
  close_nest(list);
}
/* Counters bound to queue pairs: one of a single pair, one of two, one of another port. */
static void build_bound(void) {
  nic__question_begin(&built, NIC__RDMA_CLIENT + NIC__RDMA_STAT_GET, false, 0);
  const size_t table = nest(77);
  for (uint32_t i = 0; i < 3; i++) {
    const size_t entry = nest(78);
    number32(3, i == 2 ? 2 : 1);
    number32(79, 5 + i);
    const size_t pairs = nest(19);
    for (uint32_t k = 0; k <= i; k++) {
      const size_t pair = nest(20);
      number32(21, 300 + 10 * i + k);
      close_nest(pair);
    }
    close_nest(pairs);
    const size_t list = nest(80), one = nest(81);
    text(82, "out_of_sequence");
    number64(83, 70 + i);
    close_nest(one);
    close_nest(list);
    close_nest(entry);
  }
  close_nest(table);
}
static void bound_counters_name_their_queue_pairs(void) {
  uint64_t value;
  begin("mlx5_0", 0);
  CHECK(nic__source_add(&counters, "hw1", "out_of_sequence") != NULL); /* of the port: another one */
  build_bound();
  CHECK(take_built(nic__take_bound, 0) == NIC_OK && counters.count == 3);
  CHECK(counter_of("rdma1-qp300/out_of_sequence", &value) && value == 70);
  CHECK(counter_of("rdma1-counter6/out_of_sequence", &value) && value == 71);
  CHECK(*nic_counter_meaning("rdma1-qp300/out_of_sequence"));
  group.port = 2;
  CHECK(take_built(nic__take_bound, 0) == NIC_OK && counters.count == 4);
  CHECK(counter_of("rdma2-counter7/out_of_sequence", &value) && value == 72);
  end();
}

static void stamps_and_links_of_interfaces_are_known(void) {
  nic_info n;
  bool over = false;
  struct nlmsghdr head;
  memset(&n, 0, sizeof n);
  nic__question_begin(&built, 0x20, false, 26);
  size_t set = nest(2);
  number32(2, 20);
  number32(4, 0x5f);
  close_nest(set);
  number32(5, 3);
  memcpy(&head, built.room, sizeof head);
  head.nlmsg_len = (uint32_t)built.bytes;
  memcpy(built.room, &head, sizeof head);
  CHECK(nic__netlink_walk(built.room, built.bytes, 0, NIC__GENL_HEAD, nic__take_tsinfo, &n, &over) ==
        NIC_OK);
  CHECK(n.stamp_flags == 0x5f && n.ptp_index == 3);
  nic__attr none = {0, NULL, 0}; /* neither flags nor clock */
  nic__take_tsinfo(&n, none);
  CHECK(n.stamp_flags == 0 && n.ptp_index == -1);
  nic__question_begin(&built, 0x20, false, 6);
  nic__question_put(&built, 2, "\0", 1);
  nic__question_put(&built, 5, "\1", 1);
  nic__question_put(&built, 6, "\4", 1);
  const nic__attr row = {0, built.room + 20, built.bytes - 20};
  nic__take_linkstate(&n, row);
  CHECK(n.link.is_known && !n.link.has_link && n.link.state == 1 && n.link.substate == 4);
  CHECK(n.link.quality == -1 && n.link.most_quality == -1);
  CHECK_STR(nic_link_substate_name(1, 4), "fault at the partner");
  char what[240];
  n.is_up = true;
  CHECK(nic_link_finding(&n, 0, what, sizeof what) && !nic_link_finding(&n, 1, what, sizeof what));
  CHECK_STR(what, "it is up and has no link: training of the link failed: fault at the partner");
  n.is_up = false; /* switched off */
  CHECK(!nic_link_finding(&n, 0, what, sizeof what));
  for (int state = -2; state < 300; state++) /* no number is beyond the names */
    for (int substate = -2; substate < 300; substate++)
      CHECK(nic_link_state_name(state) && nic_link_substate_name(state, substate));
}

static void health_and_rdma_are_counted(void) {
  uint64_t value;
  begin("eth7", 0);
  build_reporter("0000:03:00.0", "fw fatal");
  CHECK(take_built(nic__take_reporter, NIC__GENL_HEAD) == NIC_OK);
  build_reporter("0000:04:00.0", "tx"); /* another device's */
  CHECK(take_built(nic__take_reporter, NIC__GENL_HEAD) == NIC_OK && counters.count == 2);
  CHECK(counter_of("devlink-fw_fatal/health_errors", &value) && value == 4);
  CHECK(counter_of("devlink-fw_fatal/health_recoveries", &value) && value == 3);
  end();
  begin("mlx5_0", 0);
  nic__question_begin(&built, NIC__RDMA_CLIENT + NIC__RDMA_GET, false, 0);
  number32(1, 2);
  text(2, "mlx5_0");
  number32(3, 2);
  CHECK(take_built(nic__take_device, 0) == NIC_OK && group.is_found && group.device_index == 2 &&
        group.port_count == 2);
  build_rdma();
  CHECK(take_built(nic__take_rdma, 0) == NIC_OK && counters.count == 2);
  CHECK(counter_of("rdma1/out_of_sequence", &value) && value == 8);
  CHECK(*nic_counter_meaning("rdma1/out_of_sequence"));
  end();
  /* what sysfs shows has one name only */
  begin("mlx5_0", 0);
  CHECK(nic__source_add(&counters, "hw1", "out_of_sequence") != NULL);
  CHECK(take_built(nic__take_rdma, 0) == NIC_OK && counters.count == 2);
  CHECK(!nic__source_known(&counters, "rdma1/out_of_sequence"));
  end();
}

static void count_messages(void *user, nic__attr row) {
  (void)row;
  ++*(int *)user;
}
static void errors_and_late_answers_are_known(void) {
  uint8_t data[64];
  struct nlmsghdr head = {.nlmsg_len = sizeof head + 4, .nlmsg_type = NLMSG_ERROR, .nlmsg_seq = 5};
  int32_t number = -EOPNOTSUPP;
  int seen = 0;
  bool over = false;
  memcpy(data, &head, sizeof head);
  memcpy(data + sizeof head, &number, sizeof number);
  CHECK(nic__netlink_walk(data, head.nlmsg_len, 5, 0, count_messages, &seen, &over) ==
            NIC_E_UNSUPPORTED &&
        over && !seen);
  over = false; /* of another question */
  CHECK(nic__netlink_walk(data, head.nlmsg_len, 6, 0, count_messages, &seen, &over) == NIC_OK &&
        !over);
  number = 0; /* the end of a good answer */
  memcpy(data + sizeof head, &number, sizeof number);
  CHECK(nic__netlink_walk(data, head.nlmsg_len, 5, 0, count_messages, &seen, &over) == NIC_OK &&
        over);
  CHECK(nic__netlink_walk(data, 19, 5, 0, count_messages, &seen, &over) == NIC_E_PARSE);
  head.nlmsg_len = 8;
  memcpy(data, &head, sizeof head);
  CHECK(nic__netlink_walk(data, 20, 5, 0, count_messages, &seen, &over) == NIC_E_PARSE);
  CHECK(seen == 0);
}

/* Every message is changed at random places and cut anywhere, in memory of just its size. */
static void damaged_answers_are_survived(void) {
  static void (*const builds[])(void) = {build_standard, build_rdma, build_bound};
  static nic__take *const takes[] = {nic__take_ethtool, nic__take_queue, nic__take_reporter,
                                     nic__take_device, nic__take_rdma,     nic__take_bound};
  static const unsigned commands[] = {NIC__ETHTOOL_STATS_GET, NIC__ETHTOOL_PAUSE_GET,
                                      NIC__ETHTOOL_FEC_GET, NIC__ETHTOOL_LINKSTATE_GET};
  const int rounds = test_rounds(20000);
  for (int i = 0; i < rounds; i++) {
    const uint64_t kind = test_below(5);
    begin("mlx5_0", commands[test_below(4)]);
    if (kind < 3)
      builds[kind]();
    else if (kind == 3)
      build_queue(7, (uint32_t)test_below(2), (uint32_t)test_below(3));
    else
      build_reporter("0000:03:00.0", "tx");
    struct nlmsghdr head;
    memcpy(&head, built.room, sizeof head);
    head.nlmsg_len = (uint32_t)built.bytes;
    head.nlmsg_seq = 5;
    memcpy(built.room, &head, sizeof head);
    for (uint64_t k = test_below(6); k-- > 0;)
      built.room[test_below(8) ? 16 + test_below(built.bytes - 16) : test_below(built.bytes)] =
          (uint8_t)test_rand();
    const size_t bytes = test_below(2) ? built.bytes : test_below(built.bytes);
    uint8_t *exact = (uint8_t *)malloc(bytes ? bytes : 1);
    memcpy(exact, built.room, bytes);
    bool over = false;
    nic__netlink_walk(exact, bytes, 5, test_below(2) * NIC__GENL_HEAD, takes[test_below(6)], &group,
                      &over);
    for (size_t k = 0; k < counters.count; k++) CHECK(strchr(counters.sources[k].counter.name, '/'));
    free(exact);
    end();
  }
}

#define SAME(theirs, ours) ((int)(theirs) == (int)(ours))
/* Where the headers are older than a number, it is not compared. */
static void numbers_are_the_kernels(void) {
  int compared = 0;
#ifdef ETHTOOL_FLAG_STATS
  CHECK(SAME(ETHTOOL_MSG_STATS_GET, NIC__ETHTOOL_STATS_GET) &&
        SAME(ETHTOOL_MSG_PAUSE_GET, NIC__ETHTOOL_PAUSE_GET) &&
        SAME(ETHTOOL_MSG_FEC_GET, NIC__ETHTOOL_FEC_GET) &&
        SAME(ETHTOOL_MSG_TSINFO_GET, NIC__ETHTOOL_TSINFO_GET) &&
        SAME(ETHTOOL_MSG_LINKSTATE_GET, NIC__ETHTOOL_LINKSTATE_GET));
  CHECK(SAME(ETHTOOL_FLAG_STATS, NIC__ETHTOOL_FLAG_STATS) &&
        SAME(ETHTOOL_A_STATS_GROUPS, NIC__ETHTOOL_STATS_GROUPS) &&
        SAME(ETHTOOL_A_STATS_GRP, NIC__ETHTOOL_STATS_GROUP) && SAME(ETHTOOL_A_STATS_HEADER, 2) &&
        SAME(ETHTOOL_A_STATS_GRP_ID, 2) && SAME(ETHTOOL_A_STATS_GRP_STAT, 4) &&
        SAME(ETHTOOL_A_STATS_GRP_HIST_RX, 5) && SAME(ETHTOOL_A_STATS_GRP_HIST_TX, 6) &&
        SAME(ETHTOOL_A_STATS_GRP_HIST_BKT_LOW, 7) && SAME(ETHTOOL_A_STATS_GRP_HIST_VAL, 9));
  CHECK(SAME(ETHTOOL_A_STATS_ETH_MAC_25_TOO_LONG_ERR, 21) && SAME(ETHTOOL_A_STATS_ETH_MAC_8_TX_BYTES, 6) &&
        SAME(ETHTOOL_A_STATS_ETH_MAC_14_RX_BYTES, 12) && SAME(ETHTOOL_A_STATS_RMON_JABBER, 3) &&
        SAME(ETHTOOL_STATS_RMON, 3) && SAME(ETHTOOL_STATS_ETH_MAC, 1));
  CHECK(SAME(ETHTOOL_A_LINKSTATE_LINK, NIC__ETHTOOL_LINK) && SAME(ETHTOOL_A_LINKSTATE_SQI, NIC__ETHTOOL_SQI) &&
        SAME(ETHTOOL_A_LINKSTATE_SQI_MAX, NIC__ETHTOOL_SQI_MAX) &&
        SAME(ETHTOOL_A_LINKSTATE_EXT_STATE, NIC__ETHTOOL_EXT_STATE) &&
        SAME(ETHTOOL_A_LINKSTATE_EXT_SUBSTATE, NIC__ETHTOOL_EXT_SUBSTATE) &&
        SAME(ETHTOOL_A_TSINFO_TIMESTAMPING, NIC__ETHTOOL_TIMESTAMPING) &&
        SAME(ETHTOOL_A_TSINFO_PHC_INDEX, NIC__ETHTOOL_PHC_INDEX) &&
        SAME(ETHTOOL_A_BITSET_VALUE, NIC__BITSET_VALUE) &&
        SAME(ETHTOOL_FLAG_COMPACT_BITSETS, NIC__ETHTOOL_FLAG_COMPACT));
  CHECK(SAME(ETHTOOL_A_PAUSE_STATS, 5) && SAME(ETHTOOL_A_PAUSE_STAT_TX_FRAMES, 2) &&
        SAME(ETHTOOL_A_FEC_STATS, 5) && SAME(ETHTOOL_A_FEC_STAT_CORR_BITS, 4));
  compared++;
#endif
#ifdef DEVLINK_GENL_NAME
  CHECK(SAME(DEVLINK_CMD_HEALTH_REPORTER_GET, NIC__DEVLINK_HEALTH_GET) &&
        SAME(DEVLINK_ATTR_HEALTH_REPORTER, 114) && SAME(DEVLINK_ATTR_HEALTH_REPORTER_NAME, 115) &&
        SAME(DEVLINK_ATTR_HEALTH_REPORTER_ERR_COUNT, 117) &&
        SAME(DEVLINK_ATTR_HEALTH_REPORTER_RECOVER_COUNT, 118));
  compared++;
#endif
#ifdef NETDEV_FAMILY_NAME
  CHECK(SAME(NETDEV_CMD_QSTATS_GET, NIC__NETDEV_QSTATS_GET));
  compared++;
#endif
#ifdef RDMA_NL_GET_TYPE
  CHECK(SAME(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_STAT_GET), NIC__RDMA_CLIENT + NIC__RDMA_STAT_GET) &&
        SAME(RDMA_NLDEV_ATTR_STAT_HWCOUNTERS, 80) && SAME(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY, 81) &&
        SAME(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME, 82) &&
        SAME(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE, 83) &&
        SAME(RDMA_NLDEV_ATTR_STAT_RES, NIC__RDMA_STAT_RES) && SAME(RDMA_NLDEV_ATTR_RES_QP, 19) &&
        SAME(RDMA_NLDEV_ATTR_RES_QP_ENTRY, 20) && SAME(RDMA_NLDEV_ATTR_RES_LQPN, 21) &&
        SAME(RDMA_NLDEV_ATTR_STAT_COUNTER, 77) && SAME(RDMA_NLDEV_ATTR_STAT_COUNTER_ENTRY, 78) &&
        SAME(RDMA_NLDEV_ATTR_STAT_COUNTER_ID, 79) && SAME(RDMA_NLDEV_ATTR_PORT_INDEX, 3) && SAME(NETLINK_RDMA, NIC__RDMA_PROTOCOL));
  compared++;
#endif
  if (!compared) SKIP("no headers of the kernel");
}

/* The kernel of this machine answers: families that it has, errors for names that it has not. */
static void this_kernel_answers(void) {
  nic__netlink n;
  nic_machine *m = NULL;
  nic_error error;
  int queues = 0;
  if (nic__netlink_open(&n, NETLINK_GENERIC) != NIC_OK) SKIP("no generic netlink");
  CHECK(nic__netlink_family(&n, "nlctrl") == GENL_ID_CTRL);
  CHECK(nic__netlink_family(&n, "nosuchfamily") == 0);
  CHECK(nic__netlink_family(&n, "nlctrl") == GENL_ID_CTRL); /* and goes on */
  nic__netlink_close(&n);
  CHECK(nic_find(NULL, &m, &error) == NIC_OK);
  nic__link_asker asker; /* what netlink says of stamps is what the older call says */
  nic__link_open(&asker);
  int same = 0;
  for (size_t i = 0; m && i < nic_count(m); i++) {
    nic_info own = *nic_at(m, i);
    struct ethtool_ts_info ts;
    memset(&ts, 0, sizeof ts);
    ts.cmd = ETHTOOL_GET_TS_INFO;
    if (own.kind != NIC_KIND_NET || !nic__link_stamps(&asker, &own) || !nic__ethtool(own.name, &ts)) continue;
    CHECK(own.stamp_flags == ts.so_timestamping && own.ptp_index == ts.phc_index);
    CHECK(nic__link_state(&asker, &own)); /* of some its driver does not know the link */
    same++;
  }
  nic__link_close(&asker);
  printf("  %d interfaces answer by netlink about stamps and link\n", same);
  for (size_t i = 0; m && i < nic_count(m); i++) {
    nic_counters *c;
    if (nic_at(m, i)->kind != NIC_KIND_NET || nic_counters_open(m, nic_at(m, i), NULL, &c, NULL))
      continue;
    nic_value *v = (nic_value *)calloc(2 * nic_counters_count(c), sizeof *v),
              *w = v + nic_counters_count(c);
    const int whole = nic_counters_index(c, "net/rx_packets");
    CHECK(nic_counters_read(c, v, NULL) == NIC_OK && nic_counters_read(c, w, NULL) == NIC_OK);
    uint64_t before = 0, after = 0;
    bool has_queue = false;
    for (size_t k = 0; k < nic_counters_count(c); k++) {
      const char *name = nic_counters_at(c, k)->name;
      if (strncmp(name, "rxq", 3) != 0 || !strstr(name, "/rx_packets")) continue;
      has_queue = true;
      CHECK(v[k].is_valid && w[k].is_valid && v[k].t_before_ns <= v[k].t_after_ns);
      before += v[k].value;
      after += w[k].value;
    }
    if (has_queue && whole >= 0) { /* read between the two looks: what one said lies between */
      queues++;
      CHECK(before <= w[whole].value && v[whole].value <= after);
    }
    free(v);
    nic_counters_close(c);
  }
  nic_machine_free(m);
  printf("  %d NICs of this machine count their queues\n", queues);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(standard_groups_have_their_names);
  RUN(pauses_fec_stamps_and_links_are_counted);
  RUN(queues_are_told_apart);
  RUN(bound_counters_name_their_queue_pairs);
  RUN(stamps_and_links_of_interfaces_are_known);
  RUN(health_and_rdma_are_counted);
  RUN(errors_and_late_answers_are_known);
  RUN(damaged_answers_are_survived);
  RUN(numbers_are_the_kernels);
  RUN(this_kernel_answers);
  return TEST_END();
}
