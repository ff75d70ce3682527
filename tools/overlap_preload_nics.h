/* overlap_preload_nics.h: NIC counters in the preload's report, by section: what crossed the wire
   beside what the program asked for. NBC_NIC_COUNTERS of overlap_preload.c chooses the NICs. Their
   counters are the node's, so one process per node reads them: the lowest rank there. */
#define MAX_NICS 8

static struct {
  nbc_counter_source source; /* all counters of all NICs in one list */
  nic_machine *machine;
  size_t nics;
  nic_section_counters of[MAX_NICS];
  struct {
    unsigned char nic, index;
  } from[NBC_MAX_COUNTERS];
  char names[NBC_MAX_COUNTERS][112];
  const char *name_list[NBC_MAX_COUNTERS];
} wires;

static bool read_wires(void *user, uint64_t *values) {
  uint64_t of_nic[NBC_MAX_COUNTERS];
  size_t i = 0;
  (void)user;
  for (size_t n = 0; n < wires.nics; n++) {
    if (!wires.of[n].source.read(wires.of[n].source.user, of_nic)) return false;
    for (; i < wires.source.count && wires.from[i].nic == n; i++)
      values[i] = of_nic[wires.from[i].index];
  }
  return true;
}

/* "eth0:net/tx_bytes"; what the host counts for all NICs, "host/TcpRetransSegs", stands there once. */
static void take_names(const nic_info *nic, const nbc_counter_source *source) {
  for (size_t k = 0; k < source->count && wires.source.count < NBC_MAX_COUNTERS; k++) {
    const size_t i = wires.source.count;
    const bool of_host = strncmp(source->names[k], "host/", 5) == 0;
    if (of_host && wires.nics > 0) continue;
    snprintf(wires.names[i], sizeof wires.names[i], "%s%s%s", of_host ? "" : nic->name,
             of_host ? "" : ":", source->names[k]);
    wires.name_list[i] = wires.names[i];
    wires.from[i].nic = (unsigned char)wires.nics;
    wires.from[i].index = (unsigned char)k;
    wires.source.count++;
  }
}

static void add_nic(const nic_info *nic) {
  nic_counters *counters = NULL;
  nic_error err;
  memset(&err, 0, sizeof err);
  if (wires.nics == MAX_NICS) return;
  if (nic_counters_open(wires.machine, nic, NULL, &counters, &err) == NIC_OK) {
    if (nic_section_counters_open(counters, NULL, 0, &wires.of[wires.nics], &err) == NIC_OK) {
      take_names(nic, &wires.of[wires.nics].source);
      wires.nics++;
      return;
    }
    nic_counters_close(counters);
  }
  complain("NBC_NIC_COUNTERS: %s: %s", nic->name, err.text);
}

/* Only one kind, because one counts what passes through the other: a fabric's own NICs, else network
   cards, else interfaces without a card (not bridges beside them), else loopback. */
static int kind_of_wire(const nic_info *nic) {
  if (!nic->is_up || nic->offers[NIC_OFFER_COUNTERS].answer != NIC_YES) return 0;
  if (nic->kind != NIC_KIND_NET) return nic->kind == NIC_KIND_PCI ? 0 : 4;
  return nic->is_loopback ? 1 : nic->pci_address[0] ? 3 : 2;
}

static void add_best_nics(void) {
  int best = 0;
  for (size_t i = 0; i < nic_count(wires.machine); i++) {
    const int kind = kind_of_wire(nic_at(wires.machine, i));
    if (kind > best) best = kind;
  }
  for (size_t i = 0; best && i < nic_count(wires.machine); i++)
    if (kind_of_wire(nic_at(wires.machine, i)) == best) add_nic(nic_at(wires.machine, i));
}

static void add_named_nics(const char *value) {
  char name[32], names[200] = "";
  for (const char *at = value; *at; at += strcspn(at, ","), at += *at == ',') {
    snprintf(name, sizeof name, "%.*s", (int)strcspn(at, ","), at);
    const nic_info *nic = nic_by_name(wires.machine, name);
    if (nic) {
      add_nic(nic);
      continue;
    }
    for (size_t i = 0, n = 0; i < nic_count(wires.machine) && n < sizeof names; i++)
      n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", i ? ", " : "",
                            nic_at(wires.machine, i)->name);
    complain("NBC_NIC_COUNTERS=%.60s: no NIC %.31s here, but %s", value, name, names);
  }
}

/* The counters the setting asks for, or NULL. */
static const nbc_counter_source *setting_nics(void) {
  const char *value = setting("NBC_NIC_COUNTERS");
  nic_error err;
  if (!value || strcmp(value, "off") == 0) return NULL;
  if (!run.same_node) {
    complain("NBC_NIC_COUNTERS: not read, because NBC_PEERS=0 leaves unknown who shares a node");
    return NULL;
  }
  if (!run.first_of_node) return NULL;
  memset(&err, 0, sizeof err);
  if (nic_find(NULL, &wires.machine, &err) != NIC_OK) {
    complain("NBC_NIC_COUNTERS: %s", err.text);
    return NULL;
  }
  wires.source.names = wires.name_list;
  wires.source.read = read_wires;
  if (strcmp(value, "auto") == 0)
    add_best_nics();
  else
    add_named_nics(value);
  if (!wires.nics && strcmp(value, "auto") == 0)
    complain("NBC_NIC_COUNTERS=auto: no NIC that is up has counters");
  return wires.source.count ? &wires.source : NULL;
}

/* Counters that did not move: 0 was measured, which is something else than not measured. */
static void add_still_counters(nbc_report *report) {
  for (size_t k = 0; k < wires.source.count; k++) {
    size_t i = 0;
    while (i < report->counter_count && strcmp(report->counters[i].name, wires.names[k]) != 0) i++;
    if (i == report->counter_count) nbc_report_counter(report, 0, wires.names[k], 0);
  }
}
