/* nic_pingpong: a Portals ping-pong over two NICs of rtl/ that are PCI devices of this machine, with exact overlap.

     nic_pingpong [--rounds N] [BYTES]        root; 65,536 bytes, 8 rounds; huge pages: /proc/sys/vm/nr_hugepages >= 2

   NIC 0 puts BYTES into the entry that NIC 1 has appended with fitting match bits, computes, and waits; NIC 1 puts them
   back where an entry of NIC 0 takes them. This one process drives both by hw/nic_rtl.h. Per run: the way there and
   back, what the bounds say of how much of the puts was hidden behind computing, and what the NIC's stamps say. Ends with
   status 1 when data came wrong, or when the two contradict each other. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#define NIC_HW_IMPLEMENTATION
#define NIC_WITH_NBC
#include "hw/nic_hw.h"
#include "hw/nic_rtl.h"
#include <sched.h>

enum { SEND_AT = 0x10000, TAKE_AT = 0x100000, MOST = 0xE0000, PARTS = 10 };
static const uint64_t bits_of_pings = 0x50494E47, bits_of_pongs = 0x504F4E47;

typedef struct pingpong {
  nic_rtl *nic[2];
  uint32_t bytes, came[2], acked, round; /* came: pings at NIC 1, pongs at NIC 0 */
  nbc_clock clock;
  nbc_recorder *me;
  int64_t trip_ns;
  int bad_events;
  void (*rest)(void); /* between looks at the queues; NULL: others may run */
  const nbc_clock_desc *clock_desc;
  nic_error error;
} pingpong;

static nic_status put(pingpong *p, int from, uint64_t bits, size_t at) {
  cosim_command c;
  memset(&c, 0, sizeof c);
  c.kind = COSIM_KIND_PUT, c.dst = 1 - from, c.match = bits, c.size_bytes = p->bytes;
  c.payload = COSIM_PAY_DMA, c.addr = nic_rtl_bus_address(p->nic[from], at);
  c.ct = -1, c.want_ack = 1, c.user = p->round + 1;
  return nic_rtl_submit(p->nic[from], 0, &c, &p->error);
}
static void take(pingpong *p, int nic, uint64_t bits) { /* an entry for what has these bits */
  cosim_entry e;
  memset(&e, 0, sizeof e);
  e.src = -1, e.pid = -1, e.uid = -1, e.ct = -1, e.op_put = 1, e.match = bits;
  e.start = nic_rtl_bus_address(p->nic[nic], TAKE_AT), e.size_bytes = p->bytes;
  nic_rtl_append(p->nic[nic], 0, &e);
}
/* Both event queues; NIC 1 answers what it got */
static nic_status progress(pingpong *p) {
  cosim_event e;
  nic_status status = NIC_OK;
  for (int k = 0; k < 2; k++)
    while (status == NIC_OK && nic_rtl_event(p->nic[k], &e)) {
      if (e.status != COSIM_OK || (e.type != COSIM_EV_PUT && e.type != COSIM_EV_ACK))
        p->bad_events++;
      else if (e.type == COSIM_EV_PUT && (p->came[k]++, k == 1))
        status = put(p, 1, bits_of_pongs, TAKE_AT);
      else if (e.type == COSIM_EV_ACK && k == 0)
        p->acked++;
    }
  if (status == NIC_OK && p->bad_events)
    status = nic__fail(&p->error, NIC_E_BROKEN, "an event says that a message failed");
  if (p->rest)
    p->rest();
  else
    sched_yield();
  return status;
}
static nic_status one_round(pingpong *p, nbc_nic_watch *watch) {
  unsigned char *mine = nic_rtl_memory(p->nic[0], NULL);
  const double link = 64 / 5.76; /* bytes per ns of the NIC */
  const int64_t part_ns = (int64_t)(0.8 * p->bytes / link * nic_rtl_slower(p->nic[0]) / PARTS);
  const uint64_t id = p->round + 1;
  for (uint32_t i = 0; i < p->bytes; i++)
    mine[SEND_AT + i] = (unsigned char)(i * 7 + (i >> 8) * 13 + p->round * 31);
  const int64_t begin_ns = nbc_clock_now_ns(&p->clock);
  nbc_call_enter(p->me, NBC_KIND_SEND);
  nbc_xfer_begin(p->me, id, p->bytes, NBC_KIND_SEND, NBC_PEER_OTHER_NODE);
  nic_status status = put(p, 0, bits_of_pings, SEND_AT);
  nbc_call_exit(p->me);
  for (int i = 0; i < PARTS && status == NIC_OK; i++) nbc_spin_ns(&p->clock, part_ns);
  nbc_call_enter(p->me, NBC_KIND_WAIT);
  while (status == NIC_OK && p->acked <= p->round) status = progress(p);
  nbc_xfer_end(p->me, id);
  while (status == NIC_OK && p->came[0] <= p->round) status = progress(p);
  nbc_call_exit(p->me);
  p->trip_ns += nbc_clock_now_ns(&p->clock) - begin_ns;
  if (status == NIC_OK && memcmp(mine + SEND_AT, mine + TAKE_AT, p->bytes) != 0)
    status = nic__fail(&p->error, NIC_E_BROKEN, "round %u: what came back is not what left",
                       (unsigned)p->round);
  p->round++;
  if (status == NIC_OK && nbc_nic_poll(watch) != NBC_OK)
    status = nic__fail(&p->error, NIC_E_BROKEN, "the NIC's stamps cannot be read");
  return status;
}
static nic_status judge(pingpong *p, const nbc_totals *t, const nbc_nic_counts *seen) {
  const double x = (double)t->xfer_ns, slower = nic_rtl_slower(p->nic[0]);
  printf("%u bytes, %u rounds; NICs %g times slower than this machine\n", (unsigned)p->bytes,
         (unsigned)p->round, slower);
  printf("there and back     %10.1f us of this machine, %.3f us of the NIC, computing included\n",
         1e-3 * (double)p->trip_ns / p->round, 1e-3 * (double)p->trip_ns / p->round / slower);
  printf("hidden, by bounds  %9.2f to %.2f %% of the time on the wire\n",
         100 * (double)t->min_overlap_ns / x, 100 * (double)t->max_overlap_ns / x);
  printf("hidden, by stamps  %9.2f to %.2f %%: %llu stamps, placed to %lld ns\n",
         100 * (double)t->exact_lo_ns / x, 100 * (double)t->exact_hi_ns / x,
         (unsigned long long)seen->placed_count, (long long)seen->max_err_ns);
  if (t->exact_count != p->round || seen->lost_count || seen->unplaced_count)
    return nic__fail(
        &p->error, NIC_E_BROKEN, "%llu of %u puts have a stamp; %llu lost, %llu without place",
        (unsigned long long)t->exact_count, (unsigned)p->round,
        (unsigned long long)seen->lost_count, (unsigned long long)seen->unplaced_count);
  if (t->exact_hi_ns < t->min_overlap_ns || t->exact_lo_ns > t->exact_hi_ns)
    return nic__fail(&p->error, NIC_E_BROKEN, "stamps contradict the bounds");
  return NIC_OK;
}
static nic_status run(pingpong *p, uint32_t rounds) {
  nbc_monitor_desc monitor_desc = {.history_calls = 256};
  nbc_nic_watch_desc watch_desc;
  nbc_monitor *monitor = NULL;
  nbc_nic_watch *watch = NULL;
  nbc_report *report = NULL;
  nbc_table *table = NULL;
  nbc_nic source;
  nic_status status = NIC_OK;
  const double link = 64 / 5.76e-9 / nic_rtl_slower(p->nic[0]);
  memset(&watch_desc, 0, sizeof watch_desc);
  nbc_status ok = nbc_clock_create(p->clock_desc, &p->clock);
  if (ok == NBC_OK) ok = nbc_table_create_linear(10, link, "the link", &table);
  monitor_desc.clock = &p->clock, monitor_desc.table_other_node = table;
  if (ok == NBC_OK) ok = nbc_monitor_create(&monitor_desc, &monitor);
  if (ok == NBC_OK) ok = nbc_recorder_attach(monitor, &p->me);
  if (ok == NBC_OK) {
    source = nic_rtl_source(p->nic[0], &p->clock, NBC_NIC_SENT);
    watch_desc.nic = &source, watch_desc.recorder = p->me;
    watch_desc.relation = nbc_relation_crystal(source.nominal_hz);
    watch_desc.relation.rate_limit_ppm = 2000; /* a guest's clock is as good as its calibration */
    ok = nbc_nic_watch_create(&watch_desc, &watch);
  }
  take(p, 1, bits_of_pings), take(p, 0, bits_of_pongs);
  while (ok == NBC_OK && status == NIC_OK && p->round < rounds) status = one_round(p, watch);
  if (ok == NBC_OK) ok = nbc_monitor_report(monitor, &report);
  if (ok == NBC_OK && status == NIC_OK) {
    const nbc_nic_counts seen = nbc_nic_watch_counts(watch);
    status = judge(p, &report->total, &seen);
  }
  if (ok != NBC_OK) status = nic__fail(&p->error, NIC_E_SYSTEM, "%s", nbc_status_text(ok));
  nbc_report_free(report);
  nbc_nic_watch_destroy(watch);
  nbc_monitor_destroy(monitor);
  nbc_table_free(table);
  return status;
}

#ifndef NIC_PINGPONG_NO_MAIN
/* The first two devices of rtl/qemu */
static nic_status open_both(pingpong *p) {
  nic_machine *machine;
  int found = 0;
  nic_status status = nic_find(NULL, &machine, &p->error);
  if (status != NIC_OK) return status;
  for (size_t i = 0; i < nic_count(machine) && found < 2 && status == NIC_OK; i++) {
    const nic_info *n = nic_at(machine, i);
    if (n->kind != NIC_KIND_PCI || n->vendor_id != 0x1234 || n->device_id != 0x4e42) continue;
    const nic_rtl_desc desc = {.pci_address = n->pci_address, .self = found};
    status = nic_rtl_open(&desc, &p->nic[found], &p->error);
    found++;
  }
  nic_machine_free(machine);
  if (status == NIC_OK && found < 2)
    status = nic__fail(&p->error, NIC_E_NOT_FOUND, "%d of two NICs found (PCI 1234:4e42)", found);
  return status;
}
int main(int argc, char **argv) {
  static pingpong p;
  long rounds = 8, bytes = 65536;
  int at = 1;
  if (argc > at + 1 && strcmp(argv[at], "--rounds") == 0)
    rounds = strtol(argv[at + 1], NULL, 10), at += 2;
  if (argc > at) bytes = strtol(argv[at++], NULL, 10);
  if (argc > at || rounds < 1 || rounds > 100000 || bytes < 1 || bytes > MOST)
    return fprintf(stderr, "usage: nic_pingpong [--rounds 1..100000] [1..%d]\n", MOST), 2;
  p.bytes = (uint32_t)bytes;
  nic_status status = open_both(&p);
  if (status == NIC_OK) status = run(&p, (uint32_t)rounds);
  nic_rtl_close(p.nic[0]);
  nic_rtl_close(p.nic[1]);
  if (fflush(stdout) != 0 || ferror(stdout))
    return fprintf(stderr, "nic_pingpong: output lost\n"), 1;
  if (status != NIC_OK) fprintf(stderr, "nic_pingpong: %s\n", p.error.text);
  return status != NIC_OK;
}
#endif
