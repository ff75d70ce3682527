/* Question: how far from NICs in RTL are the fast link levels of the Portals model?

   Run:      build/level_compare [--platform FILE] [--max BYTES] [--nodes N] [--html FILE]
             build/level_compare --calibrate FILE [options]
   Options:  --platform FILE   constants of flow and LogGP. rtl/nic.platform is fitted to this NIC: within 5 % with it alone;
                               without: those of a BXI, which miss it by far
             --max BYTES       largest message (1048576)   --nodes N  of the collectives, 2 to 16 (4)
             --html FILE       the same as a page with drawings
             --calibrate FILE  fits the constants to RTL first, and writes them as a platform
   Expected: for five ways to send (S4BXI's), streams, puts both ways at once, puts to the n-th entry of a list (one,
             and many at once), the time until the target is told of a put and of a get, and three collectives a line per size: the time of one request on RTL, and by how many
             per cent flow, LogGP and packet miss it; then the largest error of each.

   The latency of Put-WaitAck, Put-WaitSend and Get-WaitReply is the time of one request; of the two
   NoWait patterns it is the inverse of the rate of REQUESTS at once, so their errors are those of the
   bandwidth. RTL knows only those constants of the platform that rtl/pm_rtl.h names; none of them is
   fitted, so that all levels may be run with the fitted file. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#define PORTALS_MODEL_IMPLEMENTATION
#define PM_WITH_NBC
#include "portals_model.h"
#include "rtl/pm_rtl.h"
#include "tools/options.h"
#include "tools/output.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  FLOW = PM_LINK_FLOW,
  LOGGP = PM_LINK_LOGGP,
  RTL = PM_LINK_CARRIER,
  PACKET = PM_LINK_PACKET,
  LEVELS
};
enum { MODELS = LEVELS - 1 };
static const int models[MODELS] = {FLOW, LOGGP, PACKET};
enum { PUT_ACK, PUT_SEND, GET_REPLY, PUT_NO_WAIT, GET_NO_WAIT, PATTERNS };
enum {
  STREAM = PATTERNS,
  BOTH_WAYS,
  LISTS,
  LIST_RATE,
  PUT_TOLD,
  GET_TOLD,
  BARRIER,
  ALLREDUCE,
  ALLTOALL,
  ROWS
};
enum { SIZES = 40, REQUESTS = 32, WINDOW = 16, PT = 1, PT_LIST = 2, PT_TOLD = 3, LENGTHS = 10 };
static const uint64_t lengths[LENGTHS] = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000};
static const char *const row_names[ROWS] = {
    "Put-WaitAck", "Put-WaitSend", "Get-WaitReply", "Put-NoWait", "Get-NoWait",
    "Put-stream",  "Put-both",     "Put-list",      "list-rate",  "Put-target",
    "Get-target",  "barrier",      "allreduce",     "alltoall"};
typedef struct results {
  int size_count;
  uint64_t size_bytes[SIZES];
  double ns[LEVELS][ROWS][SIZES]; /* 0: not measured */
} results;
static struct {
  results r;
  int level, nodes;
  bool is_coll;
  pm_status status;
  pm_rtl *rtl;
  int64_t t_call_ns;           /* of the request that the target is told of */
  unsigned char *memory[2][2]; /* of each rank: what it sends, what it gives away */
} run;

static bool has_lengths(int row) { return row == LISTS || row == LIST_RATE; }
/* What the points of a row differ in: bytes, entries of a list, or nothing. */
static uint64_t point_of(int row, int s) {
  return row == BARRIER ? 0 : has_lengths(row) ? s < LENGTHS ? lengths[s] : 0 : run.r.size_bytes[s];
}

/* ---- what is measured --------------------------------------------------------------------------- */
static void wait_for(ptl_handle_eq_t eq, ptl_event_kind_t kind, int count) {
  ptl_event_t e;
  while (count > 0)
    if (PtlEQWait(eq, &e) != PTL_OK || e.ni_fail_type != PTL_NI_OK) {
      pm_world_fail(pm_world_of(pm_self()), PM_E_PORTALS, "a request failed");
      return;
    } else if (e.type == kind)
      count--;
}
/* One request after the other, or many at once: ns per request. */
static double pattern_ns(int pattern, uint64_t bytes, ptl_handle_md_t md, ptl_handle_eq_t eq) {
  const bool is_get = pattern == GET_REPLY || pattern == GET_NO_WAIT,
             at_once = pattern == PUT_NO_WAIT || pattern == GET_NO_WAIT;
  const int count = !at_once ? 2 : bytes > 65536 ? 4 : bytes > 4096 ? 12 : REQUESTS;
  const ptl_event_kind_t end = is_get                ? PTL_EVENT_REPLY
                               : pattern == PUT_SEND ? PTL_EVENT_SEND
                                                     : PTL_EVENT_ACK;
  int64_t t_ns, d_ns = 0;
  t_ns = pm_now_ns();
  for (int i = 0; i < count; i++) {
    if (!at_once) t_ns = pm_now_ns();
    if (is_get)
      PtlGet(md, 0, bytes, pm_process_id(1), PT, 0, 0, NULL);
    else
      PtlPut(md, 0, bytes, PTL_ACK_REQ, pm_process_id(1), PT, 0, 0, NULL, 0);
    if (at_once) continue;
    wait_for(eq, end, 1);
    d_ns += pm_now_ns() - t_ns;
    if (pattern == PUT_SEND) wait_for(eq, PTL_EVENT_ACK, 1);
    pm_sleep_ns(2000); /* let the network come to rest */
  }
  if (at_once) wait_for(eq, end, count), d_ns = pm_now_ns() - t_ns;
  pm_sleep_ns(5000);
  return (double)d_ns / count;
}
/* A put that is acknowledged, to the n-th entry of a list: ns. */
static double list_ns(uint64_t entry, ptl_handle_md_t md, ptl_handle_eq_t eq) {
  const int64_t t_ns = pm_now_ns();
  PtlPut(md, 0, 1, PTL_ACK_REQ, pm_process_id(1), PT_LIST, entry, 0, NULL, 0);
  wait_for(eq, PTL_EVENT_ACK, 1);
  const int64_t d_ns = pm_now_ns() - t_ns;
  pm_sleep_ns(2000);
  return (double)d_ns;
}
/* Puts with WINDOW under way, four times as many as at once: ns per put. */
static double stream_ns(uint64_t bytes, ptl_handle_md_t md, ptl_handle_eq_t eq) {
  const int count = bytes > 65536 ? 8 : bytes > 4096 ? 32 : 4 * REQUESTS;
  const int64_t t_ns = pm_now_ns();
  for (int i = 0; i < count; i++) {
    if (i >= WINDOW) wait_for(eq, PTL_EVENT_ACK, 1);
    PtlPut(md, 0, bytes, PTL_ACK_REQ, pm_process_id(1), PT, 0, 0, NULL, 0);
  }
  wait_for(eq, PTL_EVENT_ACK, count < WINDOW ? count : WINDOW);
  const int64_t d_ns = pm_now_ns() - t_ns;
  pm_sleep_ns(5000);
  return (double)d_ns / count;
}
/* Puts at once, to PT or to an entry of the list. On both sides at the same time: the slower one counts. */
static double at_once_ns(uint64_t bytes, int pt, uint64_t bits, ptl_handle_md_t md,
                         ptl_handle_eq_t eq) {
  const int count = bytes > 65536 ? 4 : bytes > 4096 ? 12 : REQUESTS;
  const int64_t t_ns = pm_now_ns();
  for (int i = 0; i < count; i++)
    PtlPut(md, 0, bytes, PTL_ACK_REQ, pm_process_id(1 - pm_rank()), (ptl_pt_index_t)pt, bits, 0,
           NULL, 0);
  wait_for(eq, PTL_EVENT_ACK, count);
  if (pt == PT) pm_barrier();
  const int64_t d_ns = pm_now_ns() - t_ns;
  pm_sleep_ns(5000);
  return (double)d_ns / count;
}
static void rates(int me, ptl_handle_md_t md, ptl_handle_eq_t eq) {
  double(*ns)[SIZES] = run.r.ns[run.level];
  for (int s = 0; s < LENGTHS && me == 0; s++)
    ns[LIST_RATE][s] = at_once_ns(1, PT_LIST, lengths[s], md, eq);
  for (int s = 0; s < run.r.size_count && me == 0; s++)
    ns[STREAM][s] = stream_ns(run.r.size_bytes[s], md, eq);
  for (int s = 0; s < run.r.size_count; s++) {
    pm_barrier();
    const double both_ns = at_once_ns(run.r.size_bytes[s], PT, 0, md, eq);
    if (me == 0) ns[BOTH_WAYS][s] = both_ns;
  }
}
/* From the call until the target is told. */
static void targets(int me, ptl_handle_md_t md, ptl_handle_eq_t eq, ptl_handle_eq_t told) {
  double(*ns)[SIZES] = run.r.ns[run.level];
  for (int row = PUT_TOLD; row <= GET_TOLD; row++)
    for (int s = 0; s < run.r.size_count; s++) {
      const uint64_t bytes = run.r.size_bytes[s];
      pm_barrier();
      if (me == 1) {
        wait_for(told, row == PUT_TOLD ? PTL_EVENT_PUT : PTL_EVENT_GET, 1);
        ns[row][s] = (double)(pm_now_ns() - run.t_call_ns);
        continue;
      }
      run.t_call_ns = pm_now_ns();
      if (row == PUT_TOLD)
        PtlPut(md, 0, bytes, PTL_ACK_REQ, pm_process_id(1), PT_TOLD, 0, 0, NULL, 0);
      else
        PtlGet(md, 0, bytes, pm_process_id(1), PT_TOLD, 0, 0, NULL);
      wait_for(eq, row == PUT_TOLD ? PTL_EVENT_ACK : PTL_EVENT_REPLY, 1);
    }
}
static void patterns_body(void *unused) {
  const int me = pm_rank();
  const uint64_t most = run.r.size_bytes[run.r.size_count - 1];
  ptl_handle_ni_t ni;
  ptl_handle_eq_t eq, told;
  ptl_handle_md_t md;
  ptl_handle_me_t handle;
  ptl_pt_index_t pt;
  (void)unused;
  PtlInit();
  PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &ni);
  PtlEQAlloc(ni, 4 * REQUESTS, &eq), PtlEQAlloc(ni, REQUESTS, &told);
  PtlPTAlloc(ni, 0, PTL_EQ_NONE, PT, &pt);
  ptl_me_t all;
  memset(&all, 0, sizeof all);
  all.start = run.memory[me][1], all.length = most;
  all.ct_handle = PTL_CT_NONE, all.uid = PTL_UID_ANY, all.ignore_bits = ~(ptl_match_bits_t)0;
  all.options = PTL_ME_OP_PUT | PTL_ME_OP_GET | PTL_ME_EVENT_LINK_DISABLE;
  all.match_id.phys.nid = PTL_NID_ANY, all.match_id.phys.pid = PTL_PID_ANY;
  PtlMEAppend(ni, pt, &all, PTL_PRIORITY_LIST, NULL, &handle);
  PtlPTAlloc(ni, 0, told, PT_TOLD, &pt);
  PtlMEAppend(ni, pt, &all, PTL_PRIORITY_LIST, NULL, &handle);
  PtlPTAlloc(ni, 0, PTL_EQ_NONE, PT_LIST, &pt);
  all.ignore_bits = 0;
  for (uint64_t i = 1; i <= lengths[LENGTHS - 1] && me == 1; i++) {
    all.match_bits = i;
    PtlMEAppend(ni, pt, &all, PTL_PRIORITY_LIST, NULL, &handle);
  }
  pm_sleep_ns(20000); /* until the NIC has them */
  const ptl_md_t mine = {run.memory[me][0], most, 0, eq, PTL_CT_NONE};
  PtlMDBind(ni, &mine, &md);
  pm_barrier();
  for (int s = 0; s < LENGTHS && me == 0; s++)
    run.r.ns[run.level][LISTS][s] = list_ns(lengths[s], md, eq);
  for (int p = 0; p < PATTERNS && me == 0; p++)
    for (int s = 0; s < run.r.size_count; s++)
      run.r.ns[run.level][p][s] = pattern_ns(p, run.r.size_bytes[s], md, eq);
  rates(me, md, eq);
  targets(me, md, eq, told);
  pm_barrier();
  PtlNIFini(ni), PtlFini();
}
static void collectives_body(void *unused) {
  const uint64_t most = run.r.size_bytes[run.r.size_count - 1] / (uint64_t)run.nodes;
  unsigned char *send = (unsigned char *)calloc((size_t)run.nodes, most),
                *recv = (unsigned char *)calloc((size_t)run.nodes, most);
  nbc_comm_desc desc;
  nbc_comm *comm = NULL;
  nbc_error error;
  pm_nbc *endpoint = NULL;
  nbc_status status = pm_nbc_create(NULL, &endpoint);
  (void)unused;
  memset(&desc, 0, sizeof desc);
  if (status == NBC_OK) desc.transport = pm_nbc_transport(endpoint);
  if (status == NBC_OK) status = nbc_comm_create(&desc, &comm, &error);
  for (int row = BARRIER; row < ROWS && status == NBC_OK; row++)
    for (int s = 0; s < run.r.size_count && status == NBC_OK; s++) {
      const uint64_t bytes = run.r.size_bytes[s];
      const int64_t begin_ns = (pm_barrier(), pm_now_ns());
      nbc_request *request = NULL;
      if (row == BARRIER ? s != 0 : bytes % 8 || bytes > most) continue;
      status = row == BARRIER ? nbc_ibarrier(comm, &request)
               : row == ALLREDUCE
                   ? nbc_iallreduce(comm, send, recv, bytes / 8, NBC_TYPE_INT64, NBC_REDUCE_SUM,
                                    &request)
                   : nbc_ialltoall(comm, send, recv, bytes / 8, NBC_TYPE_INT64, &request);
      if (status == NBC_OK) status = nbc_coll_wait(&request, 0);
      pm_barrier(); /* the slowest rank's end counts */
      run.r.ns[run.level][row][s] = (double)(pm_now_ns() - begin_ns);
      pm_sleep_ns(5000);
    }
  if (status != NBC_OK) pm_world_fail(pm_world_of(pm_self()), PM_E_STATE, nbc_status_text(status));
  pm_barrier();
  nbc_comm_destroy(comm);
  pm_nbc_destroy(endpoint);
  free(send), free(recv);
}
/* One world per level: every pattern, or every collective. */
static int measure(int level, const pm_platform *platform, bool is_coll) {
  pm_platform p = *platform;
  pm_world_desc desc;
  pm_world *world;
  memset(&desc, 0, sizeof desc);
  p.node_count = is_coll ? run.nodes : 2, p.procs_per_node_count = 1;
  desc.platform = &p, desc.link = (pm_link_model)level, desc.stack_bytes = 262144;
  if (level == RTL) desc.carrier = pm_rtl_carrier(run.rtl);
  run.level = level;
  pm_status status = pm_world_create(&desc, &world);
  if (status) {
    fprintf(stderr, "level_compare: %s %s\n", pm_status_text(status), pm_rtl_error(run.rtl));
    return 0;
  }
  status = pm_spawn_all(world, is_coll ? collectives_body : patterns_body, NULL);
  if (!status) status = pm_world_run(world);
  if (status) fprintf(stderr, "level_compare: %s\n", pm_world_error(world));
  pm_world_destroy(world);
  return status == PM_OK;
}

/* ---- the fit ------------------------------------------------------------------------------------- */
static double error_ratio(int level, int row, int s) {
  const double is = run.r.ns[level][row][s], should = run.r.ns[RTL][row][s];
  return should > 0 && is > 0 ? is / should - 1 : 0;
}
/* A high norm: the largest errors count. LogGP is fitted to the patterns alone: it is far off elsewhere. */
static double misfit(int level, const pm_platform *p) {
  double sum = 0;
  if (!measure(level, p, 0) || (level == FLOW && !measure(level, p, 1))) return HUGE_VAL;
  for (int row = 0; row < (level == FLOW ? ROWS : PATTERNS); row++)
    for (int s = 0; s < SIZES; s++) sum += pow(fabs(error_ratio(level, row, s)), 8);
  return sum;
}
typedef struct knob {
  int64_t *whole; /* one of the two */
  double *real;
  double least, most;
} knob;
static double knob_get(const knob *k) { return k->whole ? (double)*k->whole : *k->real; }
static void knob_set(const knob *k, double x) {
  x = x < k->least ? k->least : x > k->most ? k->most : x;
  if (k->whole)
    *k->whole = (int64_t)(x + 0.5);
  else
    *k->real = x;
}
/* One constant after the other, up or down as long as that helps, by ever smaller steps. */
static int fit(int level, pm_platform *p, const knob *knobs, int count) {
  double best = misfit(level, p), step = 0.5;
  if (!(best < HUGE_VAL)) return 0;
  for (; step > 0.002; step *= 0.7)
    for (int again = 1, round = 0; again && round < 6; round++) {
      again = 0;
      for (int i = 0; i < count; i++)
        for (int sign = -1; sign <= 1; sign += 2) {
          const double old = knob_get(&knobs[i]);
          double delta = old * step;
          if (knobs[i].whole && delta < 1) delta = 1;
          knob_set(&knobs[i], old + sign * delta);
          const double now = knob_get(&knobs[i]) == old ? best : misfit(level, p);
          if (now < best)
            best = now, again = 1;
          else
            knob_set(&knobs[i], old);
        }
    }
  return misfit(level, p) < HUGE_VAL;
}
static int calibrate(pm_platform *p) {
  const knob loggp[] = {{&p->loggp_latency_ns, NULL, 1, 10000},
                        {&p->loggp_overhead_ns, NULL, 1, 10000},
                        {&p->loggp_gap_ns, NULL, 1, 10000},
                        {NULL, &p->loggp_bytes_per_s, 1e8, 1e11}};
  snprintf(p->name, sizeof p->name, "nic_rtl");
  p->ack_after_write = 1; /* what the NIC in RTL does */
  p->dma_ahead = 1;
  p->pio_is_posted = 1;
  p->nic_match_ns = 3;     /* an entry per cycle of 2.88 ns */
  p->nic_search_ns = 26;   /* measured as rates to entries of lists */
  p->command_bytes = 1150; /* 16 register writes of two cycles each, at PCI's rate */
  p->pio_fence_ns =
      40; /* a CPU that keeps pace with the register file: what is fitted is the NIC */
  p->pci_packet_bytes = 66;
  p->ack_bytes = 500;
  p->nic_put_ns = p->nic_response_ns = 21;
  p->nic_get_ns = 59;
  p->link_credit_bytes = 16384; /* its receive buffer: 256 packets */
  p->pio_bytes_per_s = 0.69e9;  /* its register file: 4 bytes in two cycles */
  /* The search finds the nearest valley: from the window of the NIC in RTL, from fewer and from more, as a
     message in RTL holds its place for another time than the model's. */
  pm_platform best = *p;
  double least = HUGE_VAL;
  for (int64_t window = 24; window <= 40; window += 8) {
    pm_platform from = *p;
    from.e2e_entry_count = window;
    const knob flow[] = {
        {&from.nic_put_ns, NULL, 1, 2000},        {&from.nic_get_ns, NULL, 1, 2000},
        {&from.nic_response_ns, NULL, 1, 2000},   {&from.nic_engine_count, NULL, 1, 16},
        {&from.command_bytes, NULL, 1, 4096},     {&from.event_bytes, NULL, 1, 4096},
        {&from.ack_bytes, NULL, 1, 2048},         {&from.e2e_entry_count, NULL, 1, 8192},
        {&from.pci_packet_bytes, NULL, 64, 4096}, {&from.link_credit_bytes, NULL, 1024, 1e6},
        {NULL, &from.pio_bytes_per_s, 1e7, 1e11}};
    if (!fit(FLOW, &from, flow, (int)(sizeof flow / sizeof *flow))) return 0;
    const double now = misfit(FLOW, &from);
    if (now < least) least = now, best = from;
  }
  *p = best;
  return misfit(FLOW, p) < HUGE_VAL && fit(LOGGP, p, loggp, (int)(sizeof loggp / sizeof *loggp));
}

/* ---- what is shown -------------------------------------------------------------------------------- */
static const char *const level_names[LEVELS] = {"flow", "LogGP", "RTL", "packet"};
static void print_rows(FILE *out) {
  for (int row = 0; row < ROWS; row++) {
    fprintf(out, "\n%-14s %9s %12s %10s %9s %9s %10s\n", row_names[row],
            has_lengths(row) ? "entries" : "bytes", "RTL [ns]", "[MB/s]", "flow [%]", "LogGP [%]",
            "packet [%]");
    for (int s = 0; s < SIZES; s++) {
      const double ns = run.r.ns[RTL][row][s];
      if (ns > 0)
        fprintf(out, "%-14s %9llu %12.1f %10.1f %9.1f %9.1f %10.1f\n", "",
                (unsigned long long)point_of(row, s), ns,
                row == BARRIER || has_lengths(row) ? 0 : 1e3 * (double)run.r.size_bytes[s] / ns,
                100 * error_ratio(FLOW, row, s), 100 * error_ratio(LOGGP, row, s),
                100 * error_ratio(PACKET, row, s));
    }
  }
}
/* Within 5 %: how often; the largest error and where. */
static void print_summary(FILE *out, const char *before, const char *after) {
  for (int row = 0; row < ROWS; row++) {
    fprintf(out, "%s%-14s", before, row_names[row]);
    for (int m = 0; m < MODELS; m++) {
      const int level = models[m];
      int within = 0, count = 0, worst = 0;
      for (int s = 0; s < SIZES; s++) {
        if (!(run.r.ns[RTL][row][s] > 0)) continue;
        count++, within += fabs(error_ratio(level, row, s)) <= 0.05;
        if (fabs(error_ratio(level, row, s)) > fabs(error_ratio(level, row, worst))) worst = s;
      }
      fprintf(out, "  %-5s within 5 %%: %2d of %2d, worst %6.1f %% at %8llu", level_names[level],
              within, count, 100 * error_ratio(level, row, worst),
              (unsigned long long)point_of(row, worst));
    }
    fprintf(out, "%s\n", after);
  }
}
/* One drawing: time or error over size, both axes as powers unless it is the error. */
static void draw(FILE *out, int row, bool is_error) {
  static const char *const colour[LEVELS] = {"#1b6ca8", "#b8651b", "#222", "#3d8b37"};
  enum { WIDE = 420, HIGH = 220, LEFT = 52, FOOT = 34 };
  const double x_max = log2((double)run.r.size_bytes[run.r.size_count - 1]);
  double lo = HUGE_VAL, hi = 0;
  for (int s = 0; s < run.r.size_count; s++)
    for (int level = 0; level < LEVELS; level++) {
      const double ns = run.r.ns[level][row][s];
      if (ns > 0 && ns < lo) lo = ns;
      if (ns > hi) hi = ns;
    }
  lo = is_error ? -0.3 : floor(log10(lo)), hi = is_error ? 0.3 : ceil(log10(hi));
  fprintf(out, "<svg viewBox='0 0 %d %d' role='img'><title>%s, %s</title>\n", WIDE, HIGH,
          row_names[row], is_error ? "error" : "time");
  for (double y = lo; y < hi + 0.01; y += is_error ? 0.1 : 1) {
    const double at = (HIGH - FOOT) - (y - lo) / (hi - lo) * (HIGH - FOOT - 12);
    fprintf(out, "<path d='M%d %.1fH%d' stroke='#ddd'/><text x='%d' y='%.1f' text-anchor='end'>",
            LEFT, at, WIDE - 8, LEFT - 6, at + 4);
    if (is_error)
      fprintf(out, "%+.0f %%</text>\n", 100 * y);
    else
      fprintf(out, "%g us</text>\n", pow(10, y - 3));
  }
  for (int k = 0; k <= (int)x_max; k += 4)
    fprintf(out, "<text x='%.1f' y='%d' text-anchor='middle'>%g%s</text>\n",
            LEFT + k / x_max * (WIDE - LEFT - 20), HIGH - FOOT + 16, (double)((int64_t)1 << k % 10),
            k < 10   ? " B"
            : k < 20 ? " KiB"
                     : " MiB");
  for (int level = 0; level < LEVELS; level++) {
    char move = 'M';
    if (is_error && level == RTL) continue;
    fprintf(out, "<path fill='none' stroke-width='1.8' stroke='%s' d='", colour[level]);
    for (int s = 0; s < run.r.size_count; s++) {
      double y = is_error ? error_ratio(level, row, s) : log10(run.r.ns[level][row][s]);
      if (!(run.r.ns[RTL][row][s] > 0)) continue;
      y = y < lo ? lo : y > hi ? hi : y;
      fprintf(out, "%c%.1f %.1f", move,
              LEFT + log2((double)run.r.size_bytes[s]) / x_max * (WIDE - LEFT - 20),
              (HIGH - FOOT) - (y - lo) / (hi - lo) * (HIGH - FOOT - 12));
      move = 'L';
    }
    fprintf(out, "'/><text x='%d' y='%d' fill='%s'>%s</text>\n", LEFT + 90 * level, HIGH - 4,
            colour[level], level_names[level]);
  }
  fprintf(out, "</svg>\n");
}
static int write_html(const char *path, const pm_platform *p) {
  FILE *out = fopen(path, "w");
  if (!out) return 0;
  fprintf(
      out,
      "<!doctype html><html lang='en'><meta charset='utf-8'><title>Link levels compared</title>\n"
      "<style>body{font:15px/1.5 sans-serif;max-width:920px;margin:2em auto;padding:0 1em}"
      "svg{width:49%%;font:11px sans-serif}pre{overflow-x:auto;font-size:12px}</style>\n"
      "<h1>Flow, LogGP and packets against NICs in RTL</h1>\n<p>Platform %s. Left: time of a "
      "request "
      "(NoWait: inverse of the rate; collectives on %d nodes). Right: error against RTL, cut off "
      "at 30 %%.</p>\n<pre>\n",
      p->name, run.nodes);
  print_summary(out, "", "");
  fprintf(out, "</pre>\n");
  for (int row = 0; row < ROWS; row++) {
    if (row == BARRIER || has_lengths(row)) continue; /* have no size */
    fprintf(out, "<h2>%s</h2>\n", row_names[row]);
    draw(out, row, 0), draw(out, row, 1);
  }
  fprintf(out, "<h2>Numbers</h2><pre>");
  print_rows(out);
  fprintf(out, "</pre></html>\n");
  return fclose(out) == 0;
}
static int write_platform(const char *path, const pm_platform *p) {
  FILE *out = fopen(path, "w");
  if (!out) return 0;
  fprintf(out,
          "# Constants of flow and LogGP fitted to the NIC in RTL by level_compare --calibrate.\n"
          "# What they miss, in latency (Wait) and bandwidth (NoWait), 1 to %llu bytes:\n",
          (unsigned long long)run.r.size_bytes[run.r.size_count - 1]);
  print_summary(out, "#   ", "");
  const int bad = pm_platform_write(p, out) != PM_OK;
  return fclose(out) == 0 && !bad;
}

/* ---- the command ------------------------------------------------------------------------------------ */
static int fail(const char *what, const char *of) {
  fprintf(stderr, "level_compare: %s%s%s\n", what, of ? ": " : "", of ? of : "");
  return 2;
}
static void sizes(uint64_t most) {
  static const uint64_t special[] = {1,   8,   9,   16,  32,   64,   65,   128,  256,  384,
                                     408, 409, 512, 513, 1024, 2048, 4096, 8192, 16384};
  for (size_t i = 0; i < sizeof special / sizeof *special && special[i] <= most; i++)
    run.r.size_bytes[run.r.size_count++] = special[i];
  for (uint64_t bytes = 32768; bytes <= most; bytes *= 2)
    run.r.size_bytes[run.r.size_count++] = bytes;
}
static int compare(pm_platform *p, const char *html, const char *fitted) {
  int ok = measure(RTL, p, 0) && measure(RTL, p, 1);
  if (ok && fitted) ok = calibrate(p);
  for (int m = 0; m < MODELS && ok; m++) ok = measure(models[m], p, 0) && measure(models[m], p, 1);
  if (!ok) return 1;
  print_rows(stdout);
  printf("\n");
  print_summary(stdout, "", "");
  if (fitted && !write_platform(fitted, p)) return fail("--calibrate: cannot write", fitted);
  if (html && !write_html(html, p)) return fail("--html: cannot write", html);
  return 0;
}
int main(int argc, char **argv) {
  const char *platform = NULL, *html = NULL, *fitted = NULL;
  char error[256];
  uint64_t bytes = 1048576, node_count = 4;
  const option options[] = {
      {"--platform", "FILE",
       "constants of the levels; with rtl/nic.platform, which is fitted to this NIC, flow is "
       "within 5 %; without: those of a BXI, which miss it by far",
       .text = &platform},
      {"--max", "BYTES", "largest message (1048576)", .whole = &bytes, .range = {64, 16777216}},
      {"--nodes", "N", "of the collectives (4)", .whole = &node_count, .range = {2, 16}},
      {"--html", "FILE", "a page with drawings", .text = &html},
      {"--calibrate", "FILE", "fits the constants to RTL first and writes them", .text = &fitted},
      {0}};
  const command_line command = {
      "usage: level_compare [--platform FILE] [--max BYTES] [--nodes N] [--html FILE] "
      "[--calibrate FILE]\n"
      "Time of requests and collectives on NICs in RTL, and how far flow, LogGP and packet are "
      "from it.\n",
      options, NULL};
  pm_platform p = pm_platform_bxi2(2);
  output_begin("level_compare");
  if (options_read(&command, argc, argv)) return fail("no option", argv[1]);
  run.nodes = (int)node_count;
  if (platform && pm_platform_load(platform, &p, error, sizeof error))
    return fail(error, "--platform");
  if (!output_can_create(html) || !output_can_create(fitted)) return 1;
  sizes(bytes);
  run.rtl = pm_rtl_create();
  for (int i = 0; i < 4; i++) run.memory[i / 2][i % 2] = (unsigned char *)calloc(1, (size_t)bytes);
  const int status = compare(&p, html, fitted);
  for (int i = 0; i < 4; i++) free(run.memory[i / 2][i % 2]);
  pm_rtl_destroy(run.rtl);
  if (platform) pm_platform_free(&p);
  return status;
}
