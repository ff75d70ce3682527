/* What the kernel says of an interface besides its counters, by the netlink family ethtool: which stamps it
   can make, its link, and why there is none. */
#include "link.h"

/* Names by number. Source: Documentation/networking/ethtool-netlink.rst, link extended states. */
enum { NIC__LINK_MORE = 6 };
static const struct {
  const char *name, *more[NIC__LINK_MORE]; /* more[0] is substate 1 */
} nic__link_states[] = {
    {"autonegotiation",
     {"no partner detected", "no acknowledgement from the partner", "exchange of next pages failed",
      "no partner detected in forced mode", "FEC of both sides differs in override mode",
      "no speed that both sides have"}},
    {"training of the link failed",
     {"frames were not locked", "too late", "the partner did not become ready",
      "fault at the partner"}},
    {"both sides differ",
     {"no block lock", "no lock of alignment markers", "no alignment", "FC-FEC is not locked",
      "RS-FEC is not locked"}},
    {"bad signal",
     {"many physical errors", "unsupported rate", "reference clock of the serdes lost",
      "no signal at the serdes"}},
    {"no cable", {NULL}},
    {"fault of the cable", {"unsupported cable", "test of the cable failed"}},
    {"EEPROM of the module cannot be read", {NULL}},
    {"calibration failed", {NULL}},
    {"more power needed than the port gives", {NULL}},
    {"too hot", {NULL}},
    {"module", {"not ready"}}};
enum { NIC__LINK_STATES = sizeof nic__link_states / sizeof nic__link_states[0] };

NIC_API const char *nic_link_state_name(int state) {
  return state >= 0 && state < NIC__LINK_STATES ? nic__link_states[state].name : "";
}
NIC_API const char *nic_link_substate_name(int state, int substate) {
  if (state < 0 || state >= NIC__LINK_STATES || substate < 1 || substate > NIC__LINK_MORE)
    return "";
  const char *name = nic__link_states[state].more[substate - 1];
  return name ? name : "";
}

NIC_API bool nic_link_finding(const nic_info *nic, int finding, char *text, size_t text_bytes) {
  if (!nic || (!text && text_bytes)) return false;
  const nic_link *l = &nic->link;
  if (!nic->is_up || !l->is_known) return false;
  if (!l->has_link && (nic->pci_address[0] || l->state >= 0)) {
    const char *why = nic_link_state_name(l->state),
               *more = nic_link_substate_name(l->state, l->substate);
    if (finding == 0)
      snprintf(text, text_bytes, "it is up and has no link%s%s%s%s", *why ? ": " : "", why,
               *more ? ": " : "", more);
    if (finding == 0 && !*why && l->state >= 0)
      snprintf(text, text_bytes, "it is up and has no link: state %d of the kernel", l->state);
    return finding == 0;
  }
  if (!l->has_link || l->quality < 0 || l->quality * 2 >= l->most_quality || finding > 0)
    return false;
  snprintf(text, text_bytes, "the quality of its signal (SQI) is %d of %d", l->quality,
           l->most_quality);
  return true;
}

NIC__PRIVATE void nic__ethtool_question(nic__question *q, unsigned family, int command,
                                        unsigned header, const char *interface_name,
                                        uint32_t flags) {
  nic__question_begin(q, family, false, command);
  const size_t head = nic__question_nest(q, header);
  nic__question_put(q, NIC__ETHTOOL_HEADER_NAME, interface_name, strlen(interface_name) + 1);
  if (flags) nic__question_number(q, NIC__ETHTOOL_HEADER_FLAGS, flags);
  nic__question_close(q, head);
}

NIC__PRIVATE void nic__take_tsinfo(void *nic_info_of, nic__attr row) {
  nic_info *n = (nic_info *)nic_info_of;
  nic__attr set, value, a;
  uint64_t number;
  n->stamp_flags = 0;
  n->ptp_index = -1; /* not told where there is none */
  if (nic__attr_find(row, NIC__ETHTOOL_TIMESTAMPING, &set) &&
      nic__attr_find(set, NIC__BITSET_VALUE, &value) && value.bytes >= sizeof n->stamp_flags)
    memcpy(&n->stamp_flags, value.data, sizeof n->stamp_flags);
  if (nic__attr_find(row, NIC__ETHTOOL_PHC_INDEX, &a) && nic__attr_number(&a, &number) &&
      number < 1u << 20)
    n->ptp_index = (int)number;
}

static int nic__link_number(nic__attr row, unsigned type) {
  nic__attr a;
  uint64_t number;
  return nic__attr_find(row, type, &a) && nic__attr_number(&a, &number) && number < INT32_MAX
             ? (int)number
             : -1;
}
NIC__PRIVATE void nic__take_linkstate(void *nic_info_of, nic__attr row) {
  nic_link *l = &((nic_info *)nic_info_of)->link;
  const int link = nic__link_number(row, NIC__ETHTOOL_LINK);
  l->is_known = link >= 0;
  l->has_link = link > 0;
  l->state = nic__link_number(row, NIC__ETHTOOL_EXT_STATE);
  l->substate = nic__link_number(row, NIC__ETHTOOL_EXT_SUBSTATE);
  l->quality = nic__link_number(row, NIC__ETHTOOL_SQI);
  l->most_quality = nic__link_number(row, NIC__ETHTOOL_SQI_MAX);
}

NIC__PRIVATE void nic__link_open(nic__link_asker *asker) {
  asker->family = 0;
  if (nic__netlink_open(&asker->netlink, NETLINK_GENERIC) == NIC_OK)
    asker->family = nic__netlink_family(&asker->netlink, "ethtool");
}
NIC__PRIVATE void nic__link_close(nic__link_asker *asker) { nic__netlink_close(&asker->netlink); }

static bool nic__link_ask(nic__link_asker *asker, int command, nic__take *take, nic_info *n) {
  nic__question q;
  if (!asker->family) return false;
  nic__ethtool_question(&q, asker->family, command, 1, n->name, NIC__ETHTOOL_FLAG_COMPACT);
  return nic__netlink_ask(&asker->netlink, &q, NIC__GENL_HEAD, take, n) == NIC_OK;
}
NIC__PRIVATE bool nic__link_stamps(nic__link_asker *asker, nic_info *n) {
  return nic__link_ask(asker, NIC__ETHTOOL_TSINFO_GET, nic__take_tsinfo, n);
}
NIC__PRIVATE bool nic__link_state(nic__link_asker *asker, nic_info *n) {
  return nic__link_ask(asker, NIC__ETHTOOL_LINKSTATE_GET, nic__take_linkstate, n);
}
