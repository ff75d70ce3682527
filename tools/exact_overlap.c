/* Question: the bounds say "0 to 100 %". What was it really?

   Run:      make examples && build/exact_overlap [--wave FILE.vcd[,nic=N][,from=US][,until=US]] [--ptm | --level flow|loggp|rtl] [BYTES]
   Expected: a line per protocol. Min and max are what calls alone can tell; exact is the interval from
             the stamps of the simulated NIC; truth is what passed its pins. Where the bounds are wide
             the interval still is as narrow as the clocks allow, and truth lies inside.

   Rank 0 posts a send, computes in ten parts, waits. Rank 1 runs beside it on the second NIC. The four
   ways to send are those of [O]: written at once, announced and then written by a later call, written
   in fragments by later calls, and read by the receiver, which may come late.
   Without --level this program drives the NICs by their registers, has their stamp units write records
   into its memory and relates their clock to its own: all that a driver would do. With --ptm the NIC asks
   the other end of its bus for the time, as PCIe's PTM does, and the clocks are known to the wire's few
   nanoseconds instead of a register read's hundreds. With --level the same
   protocols are those of the Portals model's message layer, on NICs in RTL or on a faster model of them;
   stamps then are of the simulation's own clock, and truth is what they say.
   --wave saves what goes on inside of a NIC of the simulation, for gtkwave: FILE.1.vcd of the first row, and so on. FILE.fst: the same, much smaller. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#define PORTALS_MODEL_IMPLEMENTATION
#define PM_WITH_NBC
#include "portals_model.h"
#define COSIM_WITH_NBC
#include "rtl/nic_cosim.h"
#include "rtl/pm_rtl.h"
#include "tools/options.h"
#include "tools/output.h"
#include <math.h>
#include <stdlib.h>

enum { HOST = 4 << 20, DATA = 0x10000, EQ = 0x1000, RING = 0x8000, FRAGMENTS = 8, PARTS = 10 };
enum {
  WRITE,
  ANNOUNCE,
  FRAGMENT,
  READ,
  SHORT,
  RTS = 1,
  CTS,
  FIN
}; /* protocols; control messages */
typedef struct span {
  int64_t begin_ps, end_ps;
} span;
typedef struct outcome { /* what really happened at rank 0, and what its monitor says */
  span computed[PARTS], moved[4 * FRAGMENTS];
  int computed_count, moved_count;
  nbc_totals total;
  int64_t err_ns;
} outcome;
typedef struct run {
  int protocol, step[2], done;
  int64_t late_ps; /* when rank 1 comes to its receive */
  uint32_t bytes, sent, acked, taken[2], random, pieces;
  cosim *sim;
  nbc_recorder *me;
  unsigned char *host[2];
  outcome out;
  int64_t first_cycle[2];
} run;

static pm_rtl_wave wave; /* wave.nics: wanted */
static int row_count, wave_is_lost;
static pm_rtl_wave wave_of_row(void) {
  pm_rtl_wave w = wave;
  row_count++;
  snprintf(w.path, sizeof w.path, "%.*s.%d%s",
           (int)(strlen(wave.path) < 460 ? strlen(wave.path) - 4 : 456), wave.path, row_count,
           wave.path + strlen(wave.path) - 4);
  return w;
}

static nbc_status print(const char *name, const outcome *out) {
  const nbc_totals *t = &out->total;
  double truth_ns = 0, moved_ns = 0;
  for (int m = 0; m < out->moved_count; m++) {
    const span *a = &out->moved[m];
    moved_ns += 1e-3 * (double)(a->end_ps - a->begin_ps);
    for (int c = 0; c < out->computed_count; c++) {
      const span *b = &out->computed[c];
      const int64_t begin_ps = a->begin_ps > b->begin_ps ? a->begin_ps : b->begin_ps;
      const int64_t end_ps = a->end_ps < b->end_ps ? a->end_ps : b->end_ps;
      if (end_ps > begin_ps) truth_ns += 1e-3 * (double)(end_ps - begin_ps);
    }
  }
  printf("%-28s %5.0f..%-3.0f %%  %6.2f..%-6.2f %%  %6.2f %%  %5lld ns  %4lld ns\n", name,
         100.0 * (double)t->min_overlap_ns / (double)t->xfer_ns,
         100.0 * (double)t->max_overlap_ns / (double)t->xfer_ns,
         100.0 * (double)t->exact_lo_ns / moved_ns,
         fmin(100.0 * (double)t->exact_hi_ns / moved_ns, 100), /* more is not there to be hidden */
         100.0 * truth_ns / moved_ns, (long long)(t->exact_hi_ns - t->exact_lo_ns),
         (long long)out->err_ns);
  /* host times are whole nanoseconds: computing begins and ends up to 1 ns later than in the model */
  const double slack_ns = 1 + out->computed_count + (out->err_ns ? 0 : 4 * out->moved_count);
  return t->exact_count && (double)t->exact_lo_ns <= truth_ns + slack_ns &&
                 (double)t->exact_hi_ns >= truth_ns - slack_ns &&
                 (double)t->min_overlap_ns <= truth_ns + slack_ns &&
                 (double)t->max_overlap_ns * moved_ns >= (truth_ns - slack_ns) * (double)t->xfer_ns
             ? NBC_OK
             : NBC_E_MISMATCH;
}

/* ---- by hand: registers, commands, events, stamps ---------------------------------------------------- */

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
  if (p->header & 1 && r->first_cycle[vn] >= 0 && r->out.moved_count < FRAGMENTS)
    r->out.moved[r->out.moved_count++] = (span){r->first_cycle[vn] * 2880, (last + 1) * 2880};
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
    if (r->protocol == SHORT) { /* of any length, mean an eighth; the last takes the rest */
      r->random = r->random * 1664525u + 1013904223u;
      piece = 1 + (r->random >> 16) % (r->bytes / (FRAGMENTS / 2));
      if (++r->pieces == FRAGMENTS || piece > r->bytes - r->sent) piece = r->bytes - r->sent;
    }
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

static bool by_ptm;
static int64_t sim_now(void *user) { return now_ns((run *)user); }
/* Two NICs whose entries take everything. ret NULL after saying that no wave can be written */
static run *run_new(int protocol, uint32_t bytes) {
  run *r = (run *)calloc(1, sizeof *r);
  cosim_desc desc = cosim_default();
  r->protocol = protocol, r->bytes = bytes;
  r->host[0] = (unsigned char *)calloc(2, HOST), r->host[1] = r->host[0] + HOST;
  desc.host = (cosim_host){r, dma_read, dma_write, NULL};
  desc.watch = pins, desc.watch_ctx = r, desc.has_waves = wave.nics != 0;
  r->sim = cosim_create(&desc);
  if (wave.nics) {
    const pm_rtl_wave w = wave_of_row();
    if (!pm_rtl_wave_start(&w, r->sim, 2)) {
      fprintf(stderr,
              "exact_overlap: --wave: %s: cannot be written (.fst takes room in /tmp, too), or "
              "there are NICs 0 and 1 only\n",
              w.path);
      cosim_destroy(r->sim);
      free(r->host[0]), free(r);
      return NULL;
    }
  }
  for (int i = 0; i < 2; i++) {
    cosim_entry all = {.src = -1, .ct = -1, .op_put = 1, .op_get = 1, .size_bytes = HOST};
    cosim_append(r->sim, i, 0, &all);
    cosim_write(r->sim, i, COSIM_PT_ENABLE, 1), cosim_write(r->sim, i, COSIM_CTRL, 1);
    cosim_write(r->sim, i, COSIM_EQ + COSIM_EQ_BASE_LO, EQ);
    cosim_write(r->sim, i, COSIM_EQ + COSIM_EQ_SIZE, 0x80000006u);
  }
  return r;
}
/* The message of rank 0 and its computation: a call, PARTS pieces, the wait. */
static void send_one(run *r, int64_t part_ps) {
  nbc_xfer_begin_at(r->me, 1, r->bytes, NBC_KIND_SEND, NBC_PEER_OTHER_NODE, now_ns(r));
  if (r->protocol == WRITE || r->protocol == SHORT)
    r->step[0] = CTS;
  else
    post(r, 0, COSIM_KIND_PUT, RTS, 0, 0);
  call(r, NBC_KIND_SEND);
  for (int i = 0; i < PARTS; i++) {
    int64_t begin = cosim_now_ps(r->sim);
    pass(r, begin + part_ps);
    r->out.computed[r->out.computed_count++] = (span){begin, cosim_now_ps(r->sim)};
    if (r->protocol == FRAGMENT || r->protocol == SHORT) call(r, NBC_KIND_TEST);
  }
  call(r, NBC_KIND_WAIT);
  while (!r->done) pass(r, cosim_now_ps(r->sim) + 50000), progress(r, 0);
  nbc_xfer_end_at(r->me, 1, now_ns(r));
  nbc_call_exit_at(r->me, now_ns(r));
}
static nbc_status measure(const char *name, int protocol, double late, uint32_t bytes) {
  run *r = run_new(protocol, bytes);
  if (!r) return NBC_E_IO;
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
  r->late_ps = (int64_t)(late * PARTS * (double)part_ps) + 2000000;
  nbc_nic nic = cosim_source_init(&source, r->sim, 0, NBC_NIC_SENT, RING, 6);
  source.by_ptm = by_ptm;
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
    send_one(r, part_ps);
    status = nbc_nic_poll(watch);
  }
  if (status == NBC_OK) status = nbc_monitor_report_at(monitor, now_ns(r), &report);
  if (status == NBC_OK) {
    r->out.total = report->total;
    r->out.err_ns = nbc_nic_watch_counts(watch).max_err_ns;
    status = print(name, &r->out);
    if (memcmp(r->host[0] + DATA, r->host[1] + DATA, bytes) != 0) status = NBC_E_MISMATCH;
  }
  nbc_report_free(report);
  nbc_nic_watch_destroy(watch);
  nbc_monitor_destroy(monitor);
  nbc_table_free(table);
  if (cosim_trace_end(r->sim)) wave_is_lost = 1;
  cosim_destroy(r->sim);
  free(r->host[0]), free(r);
  return status;
}

/* ---- by the message layer of the Portals model, on any of its levels ---------------------------------- */
typedef struct level_run {
  int protocol;
  uint32_t bytes;
  int64_t part_ns, late_ns;
  double link_bytes_per_s;
  char *buffer[2];
  nbc_status status[2];
  const nbc_nic *nic; /* of rank 0 */
  outcome out;
} level_run;

static nbc_status level_stamp(void *ctx, nbc_nic_stamp *stamp) { /* on its way to the watch */
  level_run *r = (level_run *)ctx;
  const nbc_status status = r->nic->next_stamp(r->nic->ctx, stamp);
  if (status == NBC_OK && r->out.moved_count < 4 * FRAGMENTS)
    r->out.moved[r->out.moved_count++] =
        (span){(int64_t)stamp->begin_ticks * 1000, (int64_t)stamp->end_ticks * 1000};
  return status;
}
static nbc_status level_clock(void *ctx, int64_t *t_before_ns, uint64_t *ticks,
                              int64_t *t_after_ns) {
  const level_run *r = (const level_run *)ctx;
  return r->nic->read_clock(r->nic->ctx, t_before_ns, ticks, t_after_ns);
}
/* Send, compute in ten parts, wait: any program's lines. */
static nbc_status level_send(level_run *r, nbc_transport *t) {
  nbc_op op = {0};
  nbc_status status = nbc_isend(t, r->buffer[0], r->bytes, 1, 1, &op);
  for (int i = 0; i < PARTS && status == NBC_OK; i++) {
    r->out.computed[i].begin_ps = pm_now_ns() * 1000;
    pm_compute_ns(r->part_ns);
    r->out.computed[r->out.computed_count++].end_ps = pm_now_ns() * 1000;
    if (r->protocol == FRAGMENT && nbc_test(t, &op) != NBC_PENDING) status = op.status;
  }
  return status == NBC_OK ? nbc_wait(t, &op, 0) : status;
}
static void level_process(void *arg) {
  static const pm_msg_large large[] = {PM_MSG_GET, PM_MSG_PUT, PM_MSG_PIPELINED, PM_MSG_GET};
  level_run *r = (level_run *)arg;
  const int rank = pm_rank();
  pm_nbc_desc desc = {0};
  nbc_monitor_desc monitor_desc = {0};
  nbc_nic_watch_desc watch_desc = {0};
  pm_nbc *endpoint = NULL;
  nbc_monitor *monitor = NULL;
  nbc_nic_watch *watch = NULL;
  nbc_report *report = NULL;
  nbc_table *table = NULL;
  nbc_clock clock;
  nbc_nic nic;
  desc.msg.eager_bytes = r->protocol == WRITE ? r->bytes : 1;
  desc.msg.large = large[r->protocol];
  desc.msg.fragment_bytes = r->bytes / FRAGMENTS;
  desc.msg.overflow_bytes = 2 << 20;
  nbc_status status = pm_nbc_create(&desc, &endpoint);
  if (status == NBC_OK) status = pm_nbc_clock(&clock);
  if (status == NBC_OK) /* a table that is too slow would make min too large */
    status = nbc_table_create_linear(10, r->link_bytes_per_s, "the link", &table);
  monitor_desc.clock = &clock, monitor_desc.history_calls = 64;
  monitor_desc.table_same_node = monitor_desc.table_other_node = table;
  if (status == NBC_OK) status = nbc_monitor_create(&monitor_desc, &monitor);
  if (status == NBC_OK) {
    nbc_transport *t = pm_nbc_transport(endpoint);
    status = nbc_recorder_attach(monitor, &t->recorder);
    nic = *pm_nbc_nic(endpoint);
    if (rank == 0) {
      r->nic = pm_nbc_nic(endpoint);
      nic.ctx = r, nic.next_stamp = level_stamp, nic.read_clock = level_clock,
      nic.lost_count = NULL;
    }
    watch_desc.nic = &nic;
    watch_desc.recorder = t->recorder;
    watch_desc.relation = pm_nbc_relation();
    if (status == NBC_OK) status = nbc_nic_watch_create(&watch_desc, &watch);
    pm_barrier();
    if (rank == 1) pm_sleep_ns(r->late_ns);
    if (status == NBC_OK)
      status = rank == 0 ? level_send(r, t) : nbc_recv(t, r->buffer[1], r->bytes, 0, 1);
  }
  pm_barrier();
  pm_sleep_ns(1000000); /* stamps may come later than the message */
  if (rank == 0 && status == NBC_OK) status = nbc_nic_poll(watch);
  if (rank == 0 && status == NBC_OK) status = nbc_monitor_report(monitor, &report);
  if (report) r->out.total = report->total, r->out.err_ns = nbc_nic_watch_counts(watch).max_err_ns;
  r->status[rank] = status;
  nbc_report_free(report);
  nbc_nic_watch_destroy(watch);
  nbc_monitor_destroy(monitor);
  nbc_table_free(table);
  pm_nbc_destroy(endpoint);
}
static pm_link_model level;
static nbc_status measure_on_level(const char *name, int protocol, double late, uint32_t bytes) {
  level_run *r = (level_run *)calloc(1, sizeof *r);
  pm_rtl *rtl = level == PM_LINK_CARRIER ? pm_rtl_create() : NULL;
  pm_platform platform = pm_platform_bxi2(2);
  pm_world_desc desc = {0};
  pm_world *world = NULL;
  r->protocol = protocol, r->bytes = bytes;
  r->link_bytes_per_s = platform.link_bytes_per_s;
  r->part_ns = (int64_t)(1.6e9 * bytes / (64 / 5.76e-9) / PARTS);
  r->late_ns = (int64_t)(late * PARTS * (double)r->part_ns);
  r->buffer[0] = (char *)calloc(2, bytes), r->buffer[1] = r->buffer[0] + bytes;
  for (uint32_t i = 0; i < bytes; i++) r->buffer[0][i] = (char)(i * 7 + i / 251);
  desc.platform = &platform, desc.link = level, desc.stack_bytes = 256 << 10;
  if (rtl) desc.carrier = pm_rtl_carrier(rtl);
  if (rtl && wave.nics) {
    const pm_rtl_wave w = wave_of_row();
    pm_rtl_set_wave(rtl, &w);
  }
  pm_status ran = pm_world_create(&desc, &world);
  if (ran == PM_OK) ran = pm_spawn_all(world, level_process, r);
  if (ran == PM_OK) ran = pm_world_run(world);
  if (ran != PM_OK)
    fprintf(stderr, "exact_overlap: %s %s\n", pm_status_text(ran),
            world ? pm_world_error(world)
            : rtl ? pm_rtl_error(rtl)
                  : "");
  nbc_status status = ran != PM_OK ? NBC_E_STATE : r->status[0] ? r->status[0] : r->status[1];
  if (status == NBC_OK) status = print(name, &r->out);
  if (memcmp(r->buffer[0], r->buffer[1], bytes) != 0) status = NBC_E_MISMATCH;
  pm_world_destroy(world);
  if (rtl && !pm_rtl_wave_is_saved(rtl)) wave_is_lost = 1;
  pm_platform_free(&platform);
  pm_rtl_destroy(rtl);
  free(r->buffer[0]), free(r);
  return status;
}

static nbc_status (*run_it)(const char *, int, double, uint32_t) = measure;
enum { LEVELS = 3 }; /* as pm_link_model has them */
static uint64_t chosen = LEVELS;
static const char *const level_names[] = {"flow", "loggp", "rtl", NULL};
static const char *take_wave(const char *text) { return pm_rtl_wave_read(&wave, text); }
static const option options[] = {
    {"--wave", "FILE.vcd[,nic=N][,from=US][,until=US]",
     "saves what goes on inside of a NIC, a file for each row (.fst: much smaller)",
     .take = take_wave},
    {"--ptm", NULL, "clocks are compared by PTM, not by reading registers", .flag = &by_ptm},
    {"--level", "L",
     "flow, loggp or rtl: by the layer of messages of the Portals model instead of registers",
     .whole = &chosen, .words = level_names},
    {0}};
static const command_line command = {
    "usage: exact_overlap [--wave FILE.vcd[,nic=N][,from=US][,until=US]] [--ptm | --level "
    "flow|loggp|rtl] [BYTES]\n"
    "What a library's bounds say of a message of BYTES (4096 to 1048576; 65536), what the stamps "
    "of NICs in RTL say, and the truth.\n",
    options, NULL};
/* ret BYTES */
static uint32_t read_options(int argc, char **argv) {
  int64_t bytes = 65536;
  const int count = options_read(&command, argc, argv);
  if (chosen < LEVELS) level = (pm_link_model)chosen, run_it = measure_on_level;
  if (by_ptm && chosen < LEVELS) options_refuse("--ptm", "not with --level");
  if (wave.nics && chosen < LEVELS && level != PM_LINK_CARRIER)
    options_refuse("--wave", "only rtl has NICs to look into");
  if (count > 1 || (count && !number_whole(argv[1], 4096, 1 << 20, &bytes)))
    options_refuse(argv[count], "one BYTES, 4096 to 1048576, wanted");
  return (uint32_t)bytes / FRAGMENTS * FRAGMENTS;
}

int main(int argc, char **argv) {
  output_begin("exact_overlap");
  const uint32_t bytes = read_options(argc, argv);
  printf("%u bytes; rank 0 computes 1.6 times as long as they take on the wire\n", (unsigned)bytes);
  printf(
      "protocol                       min..max      exact            truth     width     error\n");
  nbc_status status = run_it("written at once", WRITE, 0, bytes);
  if (status == NBC_OK) status = run_it("announced, then written", ANNOUNCE, 0, bytes);
  if (status == NBC_OK) status = run_it("in fragments, by tests", FRAGMENT, 0, bytes);
  if (status == NBC_OK) status = run_it("read, receiver there", READ, 0, bytes);
  if (status == NBC_OK) status = run_it("read, receiver late", READ, 0.7, bytes);
  if (status == NBC_OK) status = run_it("read, receiver too late", READ, 1.1, bytes);
  if (status == NBC_OK && run_it == measure)
    status = measure("eight short ones, by tests", SHORT, 0, bytes / 8);
  if (status != NBC_OK) fprintf(stderr, "exact_overlap: %s\n", nbc_status_text(status));
  if (wave_is_lost)
    fprintf(stderr, "exact_overlap: --wave: %s: not all could be written\n", wave.path);
  return status != NBC_OK || wave_is_lost;
}
