/* nicstat_health.h: part of nicstat: what is wrong with a NIC, by counters that should stand still, by its
   PCIe link and by the PCIe errors that the kernel counted; --explain of counters and register lists. */
#ifndef NICSTAT_HEALTH_H_INCLUDED
#define NICSTAT_HEALTH_H_INCLUDED

/* A counter that should stand still. per_million: of what that counter `of` grew by; 0: any is wrong. */
typedef struct health_rule {
  const char *end; /* of the counter's name */
  const char *of;
  double per_million;
  const char *means, *look; /* look: a command; %s is the NIC */
} health_rule;
static const health_rule health_rules[] = {
    {"TcpRetransSegs", "TcpOutSegs", 1000, "segments were lost on the way, or came too late",
     "ss -ti"},
    {"TCPTimeouts", "TcpOutSegs", 100, "connections stood still, waiting for lost segments",
     "ss -ti"},
    {"UdpRcvbufErrors", NULL, 0, "a program does not read its datagrams fast enough", "ss -unp -m"},
    {"_pause", NULL, 0, "one side of the link cannot keep up", "ethtool -S %s | grep pause"},
    {"_pause_frames", NULL, 0, "one side of the link cannot keep up",
     "ethtool --include-statistics -a %s"},
    {"fec_uncorrectable_blocks", NULL, 0, "frames are lost: cable, transceiver or port",
     "ethtool --include-statistics --show-fec %s"},
    {"FrameCheckSequenceErrors", NULL, 0, "bits are wrong: cable, transceiver or port",
     "ethtool -m %s"},
    {"SymbolErrorDuringCarrier", NULL, 0, "bits are wrong: cable, transceiver or port",
     "ethtool -m %s"},
    {"etherStatsJabbers", NULL, 0, "bits are wrong: cable, transceiver or partner",
     "ethtool -S %s --groups rmon"},
    {"etherStatsFragments", NULL, 0, "bits are wrong: cable, transceiver or partner",
     "ethtool -S %s --groups rmon"},
    {"link_down_events", NULL, 0, "the link went down", "ethtool -I %s"},
    {"tx_stamps_lost", NULL, 0, "the NIC's stamps get lost: exact overlap lacks them",
     "ethtool --include-statistics -T %s"},
    {"health_errors", NULL, 0, "the driver saw an error of its device", "devlink health show"},
    {"rx_hw_drop_overruns", NULL, 0, "the host takes packets too slowly", "ethtool -g %s"},
    {"rx_alloc_fail", NULL, 0, "the host has no memory for packets", "ethtool -S %s"},
    {"xoff", NULL, 0, "one side of the link cannot keep up", "ethtool -S %s | grep -i x"},
    {"out_of_buffer", NULL, 0, "the host posts receives too slowly", "ethtool -g %s"},
    {"missed_errors", NULL, 0, "the host takes packets too slowly", "ethtool -g %s"},
    {"fifo_errors", NULL, 0, "the host takes packets too slowly", "ethtool -g %s"},
    {"crc_errors", NULL, 0, "bits are wrong: cable, transceiver or port", "ethtool -m %s"},
    {"carrier_errors", NULL, 0, "the link went away while sending", "ethtool %s"},
    {"symbol_error", NULL, 0, "bits are wrong: cable, transceiver or port", "ibdiagnet"},
    {"link_downed", NULL, 0, "the link went down", "ibstat %s"},
    {"link_error_recovery", NULL, 0, "the link broke and came back", "ibstat %s"},
    {"port_xmit_wait", NULL, 0, "there was data to send and no credit: congestion", "perfquery -x"},
    {"packet_seq_err", NULL, 0, "packets were lost on the way", "rdma statistic show link %s"},
    {"out_of_sequence", NULL, 0, "packets were lost or reordered on the way",
     "rdma statistic show link %s"},
    {"rnr_nak_retry_err", NULL, 0, "the receiver posts receives too slowly",
     "rdma statistic show link %s"},
    {"local_ack_timeout_err", NULL, 0, "packets were lost on the way",
     "rdma statistic show link %s"},
    {"rx_dropped", "rx_packets", 100, "received packets were dropped", "ethtool -S %s"},
    {"tx_dropped", "tx_packets", 100, "packets were dropped before sending",
     "tc -s qdisc show dev %s"}};

static void health_say(const settings *o, const nic_info *n, const char *what, const char *means,
                       const char *look, int *count) {
  char command[160];
  snprintf(command, sizeof command, look, n->name);
  if (o->json) {
    printf("%s{\"nic\":", *count ? "," : "");
    print_json_string(n->name);
    print_json_member("what", what);
    print_json_member("means", means);
    print_json_member("look", command);
    putchar('}');
  } else
    printf("%s: %s\n  %s\n  more: %s\n", n->name, what, means, command);
  ++*count;
}

static bool name_ends(const char *name, const char *end) {
  const size_t a = strlen(name), b = strlen(end);
  return a >= b && strcmp(name + a - b, end) == 0;
}

static void health_counters(const settings *o, const nic_machine *m, const nic_info *n,
                            int *count) {
  nic_counters *c;
  if (nic_counters_open(m, n, NULL, &c, NULL) != NIC_OK) return;
  const size_t size = nic_counters_count(c);
  nic_value *before = calloc(2 * size, sizeof *before), *now = before ? before + size : NULL;
  if (before && nic_counters_read(c, before, NULL) == NIC_OK) {
    sleep_s(o->interval_s);
    if (nic_counters_read(c, now, NULL) != NIC_OK) memset(now, 0, size * sizeof *now);
  }
  for (size_t i = 0; before && i < size; i++)
    for (size_t r = 0; r < sizeof health_rules / sizeof health_rules[0]; r++) {
      const health_rule *rule = &health_rules[r];
      const nic_counter *k = nic_counters_at(c, i);
      char what[240];
      if (!name_ends(k->name, rule->end)) continue;
      const nic_delta d = nic_counter_delta(k, &before[i], &now[i]);
      const int of = rule->of ? nic_counters_index(c, rule->of) : -1;
      const nic_delta whole =
          of >= 0 ? nic_counter_delta(nic_counters_at(c, (size_t)of), &before[of], &now[of]) : d;
      if (d.change == NIC_CHANGE_NONE || d.delta == 0 ||
          (rule->of && (double)d.delta * 1e6 < rule->per_million * (double)whole.delta))
        break;
      if (rule->of)
        snprintf(what, sizeof what, "%s grew by %llu of %llu in %g s (more than %g in a million)",
                 k->name, (unsigned long long)d.delta, (unsigned long long)whole.delta,
                 o->interval_s, rule->per_million);
      else
        snprintf(what, sizeof what, "%s grew by %llu in %g s (should stand still)", k->name,
                 (unsigned long long)d.delta, o->interval_s);
      health_say(o, n, what, rule->means, rule->look, count);
      break;
    }
  if (!before) fprintf(stderr, "nicstat: %s: out of memory\n", n->name);
  free(before);
  nic_counters_close(c);
}

/* First line of a file of the NIC's PCI device. */
static bool pci_line(const settings *o, const nic_info *n, const char *file, char *text,
                     int bytes) {
  char path[512];
  if (o->find.dump_path) return false;
  snprintf(path, sizeof path, "%s/bus/pci/devices/%s/%s",
           o->find.sysfs_root ? o->find.sysfs_root : "/sys", n->pci_address, file);
  FILE *f = fopen(path, "re");
  const bool ok = f && fgets(text, bytes, f);
  if (f) fclose(f);
  if (ok) text[strcspn(text, "\n")] = 0;
  return ok;
}

static void health_link(const settings *o, const nic_info *n, int *count) {
  static const char look[] = "lspci -vv | grep -A40 -i net | grep -i LnkSta";
  char now[64], most[64], what[240];
  double now_gt_per_s = n->pcie.link_gt_per_s, most_gt_per_s = n->pcie.most_gt_per_s;
  int lanes = n->pcie.lane_count, most_lanes = n->pcie.most_lane_count;
  if (pci_line(o, n, "current_link_speed", now, sizeof now) &&
      pci_line(o, n, "max_link_speed", most, sizeof most))
    now_gt_per_s = atof(now), most_gt_per_s = atof(most);
  if (pci_line(o, n, "current_link_width", now, sizeof now) &&
      pci_line(o, n, "max_link_width", most, sizeof most))
    lanes = atoi(now), most_lanes = atoi(most);
  if (now_gt_per_s > 0 && now_gt_per_s < most_gt_per_s) {
    snprintf(what, sizeof what, "its PCIe link runs at %.1f GT/s, and could at %.1f", now_gt_per_s,
             most_gt_per_s);
    health_say(o, n, what,
               "a bad slot, riser or power saving; transfers may be slower than the network", look,
               count);
  }
  if (lanes > 0 && lanes < most_lanes) {
    snprintf(what, sizeof what, "its PCIe link has %d lanes of %d", lanes, most_lanes);
    health_say(o, n, what, "a narrower slot, or lanes that failed in training", look, count);
  }
}
static void health_state(const settings *o, const nic_info *n, int *count) {
  char what[240];
  for (int i = 0; nic_link_finding(n, i, what, sizeof what); i++)
    health_say(o, n, what,
               n->link.has_link ? "noise on the cable: losses will follow"
                                : "cable, transceiver, partner, or settings of both sides",
               n->link.has_link ? "ethtool %s | grep SQI" : "ethtool %s", count);
}
/* Bits of AER in the device itself: for kernels that do not count these errors, and for dumps. */
static void health_aer_bits(const settings *o, const nic_info *n, int *count) {
  for (int kind = 0; kind < 2; kind++) {
    const uint32_t bits = kind == 0 ? n->pcie.correctable : n->pcie.uncorrectable;
    for (int i = 0; i < 32; i++) {
      const char *name = nic_pcie_error_name(kind == 0, i);
      char what[240];
      if (!(bits >> i & 1) || !*name) continue;
      snprintf(what, sizeof what, "PCIe %s error since somebody cleared it: %s",
               kind == 0 ? "correctable" : "uncorrectable", name);
      health_say(o, n, what,
                 kind == 0 ? "repaired by sending again (replays): slot, riser or cable"
                           : "not repaired, or a request that nobody took",
                 "lspci -vv | grep -A60 -i net | grep -i Sta:", count);
    }
  }
}

/* The link runs below what both ends can, or errors were counted on it (AER). */
static void health_pcie(const settings *o, const nic_info *n, int *count) {
  static const char *const files[3] = {"aer_dev_correctable", "aer_dev_nonfatal", "aer_dev_fatal"};
  char what[240], path[512], line[128];
  bool counted = false;
  if (!n->pci_address[0]) return;
  health_link(o, n, count);
  for (int i = 0; i < 3; i++) {
    snprintf(path, sizeof path, "%s/bus/pci/devices/%s/%s",
             o->find.sysfs_root ? o->find.sysfs_root : "/sys", n->pci_address, files[i]);
    FILE *f = o->find.dump_path ? NULL : fopen(path, "re");
    counted |= f != NULL;
    while (f && fgets(line, sizeof line, f)) {
      char name[64];
      unsigned long long value;
      if (sscanf(line, "%63s %llu", name, &value) != 2 || value == 0 ||
          strncmp(name, "TOTAL", 5) == 0)
        continue;
      snprintf(what, sizeof what, "PCIe %s errors since it was found: %s %llu", files[i] + 8, name,
               value);
      health_say(o, n, what,
                 i == 0 ? "repaired by sending again (replays): slot, riser or cable"
                        : "not repaired: slot, card or its power",
                 "journalctl -k | grep -i aer", count);
    }
    if (f) fclose(f);
  }
  if (!counted) health_aer_bits(o, n, count);
}

/* exit status: 0 nothing wrong, 1 something is */
static int run_health(const settings *o, const nic_machine *m) {
  int count = 0, looked = 0;
  if (nic_count(m) == 0) return fprintf(stderr, "nicstat: health: no NIC found\n"), 2;
  if (o->nic && !nic_by_name(m, o->nic)) return no_such_nic(o, NULL);
  if (o->json) printf("{\"schema\":\"nicstat-health/1\",\"findings\":[");
  for (size_t i = 0; i < nic_count(m) && !stop_asked; i++) {
    const nic_info *n = nic_at(m, i);
    if (o->nic && strcmp(n->name, o->nic) != 0 && strcmp(n->pci_address, o->nic) != 0) continue;
    looked++;
    health_counters(o, m, n, &count);
    health_state(o, n, &count);
    health_pcie(o, n, &count);
  }
  if (o->json)
    puts("]}");
  else if (looked && !count)
    printf("nothing wrong seen in %g s (counters that should stand still did; PCIe links as they "
           "could)\n",
           o->interval_s);
  return count != 0;
}

/* ---- --explain --------------------------------------------------------------------------------- */
static void explain_map(const nic_map *map) {
  static const char *const rules[] = {
      "", "reading the low word freezes the high one", "low, high, low: read again when it fell",
      "a third word, read first, freezes both", "high, low, high: read again when it changed"};
  printf("register list %s, BAR%d\n  source: %s\n", map->name, map->bar_index, map->source);
  if (map->clock_rule)
    printf("  clock: 0x%x (low), 0x%x (high), %d bits; %s\n", map->clock_low_offset,
           map->clock_high_offset, map->clock_width_bits, rules[map->clock_rule]);
}
static void explain_register(const nic_map *map, const nic_register *r) {
  const char *meaning = nic_counter_meaning(r->name);
  printf("%s of list %s: 0x%x", r->name, map->name, r->offset);
  if (r->high_offset) printf(", upper word 0x%x", r->high_offset);
  printf(", %s%s\n  %s%ssource: %s\n", nic_unit_name(r->unit),
         r->clears ? ", cleared by reading" : "", meaning, *meaning ? "\n  " : "", map->source);
}
/* word: a register or counter by name, an offset (0x...), or a register list */
static int run_explain(const char *word) {
  bool found = false;
  char *end;
  const unsigned long offset = strtoul(word, &end, 16);
  const bool is_offset = strncmp(word, "0x", 2) == 0 && *end == 0;
  for (size_t i = 0; nic_map_at(i); i++) {
    const nic_map *map = nic_map_at(i);
    const bool whole = strcmp(map->name, word) == 0;
    const bool clock = is_offset && map->clock_rule &&
                       (offset == map->clock_low_offset || offset == map->clock_high_offset);
    if (whole || clock) explain_map(map), found = true;
    for (size_t k = 0; k < map->register_count; k++) {
      const nic_register *r = &map->registers[k];
      if (!whole && strcmp(r->name, word) != 0 &&
          !(is_offset && (offset == r->offset || (r->high_offset && offset == r->high_offset))))
        continue;
      explain_register(map, r);
      found = true;
    }
  }
  const char *meaning = nic_counter_meaning(word);
  if (!found && *meaning) printf("%s: %s\n", word, meaning), found = true;
  if (found) return 0;
  fprintf(
      stderr,
      "nicstat: --explain %s: no register, counter or register list of this name; lists:", word);
  for (size_t i = 0; nic_map_at(i); i++) fprintf(stderr, " %s", nic_map_at(i)->name);
  fputc('\n', stderr);
  return 1;
}
#endif /* NICSTAT_HEALTH_H_INCLUDED */
