/* Question: the bounds say "0 to 100 %". What was it really?

   Run:      make examples && build/exact_overlap [BYTES]
   Expected: a line per protocol. Min and max are what calls alone can tell; exact is the interval from
             the stamps of the simulated NIC; truth is what passed its pins. Where the bounds are wide
             the interval still is as narrow as the clocks allow, and truth lies inside.

   Rank 0 posts a send, computes in ten parts, waits. Rank 1 runs beside it on the second NIC. The four
   ways to send are those of [O]: written at once, announced and then written by a later call, written
   in fragments by later calls, and read by the receiver, which may come late. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#define COSIM_WITH_NBC
#include "rtl/nic_cosim.h"
#include <stdlib.h>

enum { HOST = 4 << 20, DATA = 0x10000, EQ = 0x1000, RING = 0x8000, FRAGMENTS = 8, PARTS = 10 };
enum { WRITE, ANNOUNCE, FRAGMENT, READ, RTS = 1, CTS, FIN }; /* protocols; control messages */
typedef struct span {
  int64_t begin_ps, end_ps;
} span;
typedef struct run {
  int protocol, step[2], done;
  int64_t late_ps, announced_ps; /* when rank 1 comes to its receive */
  uint32_t bytes, sent, acked, taken[2];
  cosim *sim;
  nbc_recorder *me;
  unsigned char *host[2];
  span computed[PARTS], moved[FRAGMENTS]; /* what really happened at rank 0 */
  int computed_count, moved_count;
  int64_t first_cycle[2];
} run;

static int dma_read(void *ctx, int nic, uint64_t addr, void *buffer, size_t n) {
  return addr + n > HOST ? -1 : (memcpy(buffer, ((run *)ctx)->host[nic] + addr, n), 0);
}
static int dma_write(void *ctx, int nic, uint64_t addr, const void *buffer, size_t n) {
  return addr + n > HOST ? -1 : (memcpy(((run *)ctx)->host[nic] + addr, buffer, n), 0);
}
/* The pins of NIC 0: first and last flit of what carries user number 1 */
static void pins(void *ctx, int nic, int received, const cosim_packet *p, int64_t first,
                 int64_t last) {
  run *r = (run *)ctx;
  int vn = (int)(p->header >> 2 & 3), kind = (int)(p->data[0] & 15);
  if (nic || received || vn > 1) return; /* control messages are of the class service */
  if (p->header & 2)
    r->first_cycle[vn] = kind == COSIM_KIND_PUT || kind == COSIM_KIND_REPLY ? first : -1;
  if (p->header & 1 && r->first_cycle[vn] >= 0 && r->moved_count < FRAGMENTS)
    r->moved[r->moved_count++] = (span){r->first_cycle[vn] * 2880, (last + 1) * 2880};
}

static void post(run *r, int nic, int kind, int control, uint32_t at, uint32_t bytes) {
  cosim_command c;
  memset(&c, 0, sizeof c);
  c.kind = kind, c.dst = 1 - nic, c.size_bytes = bytes, c.addr = DATA + at, c.offset = DATA + at;
  c.payload = control ? COSIM_PAY_INLINE : COSIM_PAY_DMA;
  c.ct = -1, c.hdr_data = (uint64_t)control, c.user = !control, c.want_ack = !control;
  cosim_submit(r->sim, nic, control != 0, &c, NULL);
}
static int64_t now_ns(run *r) { return cosim_now_ps(r->sim) / 1000; }

/* One look at a rank's event queue; what it may do then */
static void progress(run *r, int rank) {
  cosim_event e = cosim_event_unpack(r->host[rank] + EQ + r->taken[rank] % 64 * 64);
  if (rank == 1 && r->step[1] == RTS && cosim_now_ps(r->sim) >= r->late_ps) {
    r->step[1] = CTS;
    if (r->protocol == READ)
      post(r, 1, COSIM_KIND_GET, 0, 0, r->bytes);
    else
      post(r, 1, COSIM_KIND_PUT, CTS, 0, 0);
  }
  if (e.phase == !(r->taken[rank] >> 6 & 1)) {
    cosim_write(r->sim, rank, COSIM_EQ + COSIM_EQ_CONS, ++r->taken[rank]);
    if (e.type == COSIM_EV_PUT && e.hdr_data) r->step[rank] = (int)e.hdr_data;
    if (e.type == COSIM_EV_REPLY) post(r, 1, COSIM_KIND_PUT, FIN, 0, 0);
    if (e.type == COSIM_EV_ACK) r->acked += e.moved_bytes;
  }
  if (rank == 0 && r->step[0] == CTS && r->sent < r->bytes) { /* one message per call */
    uint32_t piece = r->protocol == FRAGMENT ? r->bytes / FRAGMENTS : r->bytes;
    post(r, 0, COSIM_KIND_PUT, 0, r->sent, piece), r->sent += piece;
  }
  r->done = r->step[0] == FIN || r->acked >= r->bytes;
}
static void pass(run *r, int64_t until_ps) {
  while (cosim_now_ps(r->sim) < until_ps) cosim_cycles(r->sim, 20), progress(r, 1);
}
static void call(run *r, nbc_kind kind) { /* a library call of 50 ns that looks for work */
  nbc_call_enter_at(r->me, kind, now_ns(r));
  progress(r, 0);
  pass(r, cosim_now_ps(r->sim) + 50000);
  if (kind != NBC_KIND_WAIT) nbc_call_exit_at(r->me, now_ns(r));
}

static int64_t sim_now(void *user) { return now_ns((run *)user); }
static nbc_status measure(const char *name, int protocol, double late, uint32_t bytes) {
  run *r = (run *)calloc(1, sizeof *r);
  cosim_desc desc = cosim_default();
  nbc_clock_desc clock_desc = {.source = NBC_CLOCK_USER, .now_ns = sim_now, .user = r};
  nbc_monitor_desc monitor_desc = {.history_calls = 64};
  nbc_nic_watch_desc watch_desc;
  cosim_source source;
  nbc_monitor *monitor = NULL;
  nbc_nic_watch *watch = NULL;
  nbc_report *report = NULL;
  nbc_table *table = NULL;
  nbc_clock clock;
  const double link = 64 / 5.76e-9; /* bytes per second: 64 in two cycles of 2.88 ns */
  const int64_t part_ps = (int64_t)(1.6e12 * bytes / link / PARTS);
  r->protocol = protocol, r->bytes = bytes,
  r->late_ps = (int64_t)(late * PARTS * (double)part_ps) + 2000000;
  r->host[0] = (unsigned char *)calloc(2, HOST), r->host[1] = r->host[0] + HOST;
  desc.host = (cosim_host){r, dma_read, dma_write, NULL};
  desc.watch = pins, desc.watch_ctx = r;
  r->sim = cosim_create(&desc);
  for (int i = 0; i < 2; i++) {
    cosim_entry all = {.src = -1, .ct = -1, .op_put = 1, .op_get = 1, .size_bytes = HOST};
    cosim_append(r->sim, i, 0, &all);
    cosim_write(r->sim, i, COSIM_PT_ENABLE, 1), cosim_write(r->sim, i, COSIM_CTRL, 1);
    cosim_write(r->sim, i, COSIM_EQ + COSIM_EQ_BASE_LO, EQ);
    cosim_write(r->sim, i, COSIM_EQ + COSIM_EQ_SIZE, 0x80000006u);
  }
  nbc_nic nic = cosim_source_init(&source, r->sim, 0, NBC_NIC_SENT, RING, 6);
  cosim_advance(r->sim, 1000000);
  nbc_status status = nbc_clock_create(&clock_desc, &clock);
  if (status == NBC_OK) status = nbc_table_create_linear(10, link, "the link", &table);
  monitor_desc.clock = &clock, monitor_desc.table_same_node = monitor_desc.table_other_node = table;
  if (status == NBC_OK) status = nbc_monitor_create(&monitor_desc, &monitor);
  if (status == NBC_OK) status = nbc_recorder_attach_at(monitor, now_ns(r), &r->me);
  memset(&watch_desc, 0, sizeof watch_desc);
  watch_desc.nic = &nic, watch_desc.recorder = r->me;
  if (status == NBC_OK) status = nbc_nic_watch_create(&watch_desc, &watch);
  if (status == NBC_OK) {
    cosim_advance(r->sim, 2000000);
    nbc_xfer_begin_at(r->me, 1, bytes, NBC_KIND_SEND, NBC_PEER_OTHER_NODE, now_ns(r));
    if (protocol == WRITE)
      r->step[0] = CTS;
    else
      post(r, 0, COSIM_KIND_PUT, RTS, 0, 0);
    call(r, NBC_KIND_SEND);
    for (int i = 0; i < PARTS; i++) {
      int64_t begin = cosim_now_ps(r->sim);
      pass(r, begin + part_ps);
      r->computed[r->computed_count++] = (span){begin, cosim_now_ps(r->sim)};
      if (protocol == FRAGMENT) call(r, NBC_KIND_TEST);
    }
    call(r, NBC_KIND_WAIT);
    while (!r->done) pass(r, cosim_now_ps(r->sim) + 50000), progress(r, 0);
    nbc_xfer_end_at(r->me, 1, now_ns(r));
    nbc_call_exit_at(r->me, now_ns(r));
    status = nbc_nic_poll(watch);
  }
  if (status == NBC_OK) status = nbc_monitor_report_at(monitor, now_ns(r), &report);
  if (status == NBC_OK) {
    const nbc_totals *t = &report->total;
    double truth_ns = 0, moved_ns = 0;
    for (int m = 0; m < r->moved_count; m++) {
      moved_ns += 1e-3 * (double)(r->moved[m].end_ps - r->moved[m].begin_ps);
      for (int c = 0; c < r->computed_count; c++) {
        int64_t b = r->computed[c].begin_ps > r->moved[m].begin_ps ? r->computed[c].begin_ps
                                                                   : r->moved[m].begin_ps;
        int64_t e =
            r->computed[c].end_ps < r->moved[m].end_ps ? r->computed[c].end_ps : r->moved[m].end_ps;
        if (e > b) truth_ns += 1e-3 * (double)(e - b);
      }
    }
    /* stamps that are early or late by the clock's error may add up to more than there is */
    double hi_ns = (double)t->exact_hi_ns < moved_ns ? (double)t->exact_hi_ns : moved_ns;
    printf("%-28s %5.0f..%-3.0f %%  %6.2f..%-6.2f %%  %6.2f %%  %5lld ns  %4lld ns\n", name,
           100.0 * (double)t->min_overlap_ns / (double)t->xfer_ns,
           100.0 * (double)t->max_overlap_ns / (double)t->xfer_ns,
           100.0 * (double)t->exact_lo_ns / moved_ns, 100.0 * hi_ns / moved_ns,
           100.0 * truth_ns / moved_ns, (long long)(t->exact_hi_ns - t->exact_lo_ns),
           (long long)nbc_nic_watch_counts(watch).max_err_ns);
    /* host times are whole nanoseconds: computing begins and ends up to 1 ns later than in the model */
    const double slack_ns = 1 + r->computed_count;
    if (!t->exact_count || (double)t->exact_lo_ns > truth_ns + slack_ns ||
        (double)t->exact_hi_ns < truth_ns - slack_ns ||
        memcmp(r->host[0] + DATA, r->host[1] + DATA, bytes) != 0)
      status = NBC_E_MISMATCH;
  }
  nbc_report_free(report);
  nbc_nic_watch_destroy(watch);
  nbc_monitor_destroy(monitor);
  nbc_table_free(table);
  cosim_destroy(r->sim);
  free(r->host[0]), free(r);
  return status;
}

int main(int argc, char **argv) {
  uint32_t bytes = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 0) / FRAGMENTS * FRAGMENTS : 65536;
  if (bytes < 4096 || bytes > 1 << 20) return fprintf(stderr, "BYTES: 4096 to 1048576\n"), 2;
  printf("%u bytes; rank 0 computes 1.6 times as long as they take on the wire\n", (unsigned)bytes);
  printf(
      "protocol                       min..max      exact            truth     width     error\n");
  nbc_status status = measure("written at once", WRITE, 0, bytes);
  if (status == NBC_OK) status = measure("announced, then written", ANNOUNCE, 0, bytes);
  if (status == NBC_OK) status = measure("in fragments, by tests", FRAGMENT, 0, bytes);
  if (status == NBC_OK) status = measure("read, receiver there", READ, 0, bytes);
  if (status == NBC_OK) status = measure("read, receiver late", READ, 0.7, bytes);
  if (status == NBC_OK) status = measure("read, receiver too late", READ, 1.1, bytes);
  if (status != NBC_OK) fprintf(stderr, "exact_overlap: %s\n", nbc_status_text(status));
  return status != NBC_OK;
}
