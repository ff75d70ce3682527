/* Question: what would the micro-benchmarks of BXI's simulator [S 4.6, 7.1, 7.2] measure on a machine of mine?

   Four figures of [S], drawn by programs of ours over the Portals API on the simulated NIC and network:
     requests   one process asks another by Portals, size by size: Put-WaitAck, Put-WaitSend, Put-NoWait,
                Get-WaitReply, Get-NoWait [S 4.6.1]
     modes      messages in a fixed time, as ptlperf counts them: fast, ack, ct, match (256 in flight, each to
                an entry of its own), reply (a ping-pong) [S 2.3.1, 4.6.2]
     limits     pairs of nodes flood a link between two switches; how long do the messages of another pair take,
                one after the other, when each process, or each node, may have only so many in flight [S 7.1]
     faults     a stream of messages with some of them corrupted, by the time until the NIC sends again; a link
                that carries nothing for a while [S 7.2, named there as future work]

   Run:      make examples && build/nic_figures [FIGURE...] [options]; --help lists them
   Expected: a table per figure and the same as curves in nic_figures.html. requests: steps behind 8, 64 and
             408 bytes (inline, early SEND, PIO); Put-WaitSend is as slow as Put-WaitAck above 64 bytes.
             limits: between the times on an idle and on a flooded link; the curve of nodes is that of processes
             moved by the processes of a node. With the 1 MB of [S 7.1] (--message-bytes 1000000) it is flat
             but for its first point: a NIC of this model puts one message after the other on the wire, as
             [S 2.2.3] says of BXI, while in [S 7.1] all messages of a node share the link at once. faults: the
             sooner sent again, the less is lost, as long as the tries outlast the fault. Time is
             simulated: the same numbers on every machine. */
#define PORTALS_MODEL_IMPLEMENTATION
#include "portals_model.h"
#include "tools/options.h"
#include "tools/output.h"
#include "tools/plot.h"

enum { MAX_POINTS = 64, MAX_SERIES = 8, MAX_PAIRS = 16, WINDOW = 256, PT = 3 };
typedef struct series {
  char name[40];
  int count;
  double x[MAX_POINTS], y[MAX_POINTS];
} series;
typedef struct figure {
  const char *name, *title, *x_name, *y_name;
  plot_scale x_scale, y_scale;
  int series_count;
  series series[MAX_SERIES];
} figure;
typedef struct settings {
  uint64_t requests, sizes, time_us, pairs, flooders, message_bytes, rounds, seed;
  uint64_t level;
  const char *platform, *output, *csv;
} settings;
static settings set = {1000, 24, 1000, 1, 8, 32768, 100, 1, 0, NULL, NULL, NULL};
static const char *const level_names[] = {"flow", "loggp", "packet", NULL};
static const pm_link_model link_models[] = {PM_LINK_FLOW, PM_LINK_LOGGP, PM_LINK_PACKET};
static pm_platform machine;

static void die(const char *what, const char *why) {
  fprintf(stderr, "nic_figures: %s: %s\n", what, why);
  exit(1);
}

/* ---- one side of a measurement ----------------------------------------------------------------------- */
/* What the processes of one simulated run share: they live in one program. */
typedef struct job job;
struct job {
  void (*initiator)(job *j, ptl_handle_ni_t ni), (*target)(job *j, ptl_handle_ni_t ni);
  uint64_t bytes, requests; /* requests 0: as many as begin within the set time */
  int64_t t_begin_ns, t_end_ns;
  uint64_t done_count, failed_count;
  bool is_over; /* those that flood may stop */
};
static void need(int code, const char *call) {
  if (code != PTL_OK) die(call, pm_ptl_status_name(code));
}
static ptl_handle_ni_t open_interface(void) {
  ptl_handle_ni_t ni;
  need(PtlInit(), "PtlInit");
  need(
      PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &ni),
      "PtlNIInit");
  return ni;
}
/* No byte is moved (pm_world_desc.no_data), so that any memory will do for any length. */
static char memory[64];
static ptl_handle_md_t bind_memory(ptl_handle_ni_t ni, unsigned int options, ptl_handle_eq_t eq,
                                   ptl_handle_ct_t ct) {
  ptl_md_t md = {memory, PTL_SIZE_MAX, options, eq, ct};
  ptl_handle_md_t h;
  need(PtlMDBind(ni, &md, &h), "PtlMDBind");
  return h;
}
/* entries >= 1 entries that take everything with match bits 0, 1, ... */
static void append_entries(ptl_handle_ni_t ni, int entries, unsigned int options,
                           ptl_handle_eq_t eq, ptl_handle_ct_t ct) {
  ptl_pt_index_t pt;
  need(PtlPTAlloc(ni, 0, eq, PT, &pt), "PtlPTAlloc");
  for (int i = 0; i < entries; i++) {
    ptl_handle_me_t h;
    ptl_me_t me = {.start = memory,
                   .length = PTL_SIZE_MAX,
                   .ct_handle = ct,
                   .uid = PTL_UID_ANY,
                   .options = options | PTL_ME_OP_PUT | PTL_ME_OP_GET | PTL_ME_EVENT_LINK_DISABLE,
                   .match_bits = (ptl_match_bits_t)i};
    me.match_id.phys.nid = PTL_NID_ANY;
    me.match_id.phys.pid = PTL_PID_ANY;
    need(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, NULL, &h), "PtlMEAppend");
  }
}
static void put(job *j, ptl_handle_md_t md, ptl_ack_req_t ack, int to, uint64_t bits) {
  need(PtlPut(md, 0, j->bytes, ack, pm_process_id(to), PT, bits, 0, NULL, 0), "PtlPut");
}
static void wait_event(job *j, ptl_handle_eq_t eq, ptl_event_kind_t type) {
  ptl_event_t e;
  do need(PtlEQWait(eq, &e), "PtlEQWait");
  while (e.type != type);
  if (e.ni_fail_type) j->failed_count++;
}
static ptl_handle_eq_t new_queue(ptl_handle_ni_t ni) {
  ptl_handle_eq_t eq;
  need(PtlEQAlloc(ni, 4096, &eq), "PtlEQAlloc");
  return eq;
}
static ptl_handle_ct_t new_counter(ptl_handle_ni_t ni) {
  ptl_handle_ct_t ct;
  need(PtlCTAlloc(ni, &ct), "PtlCTAlloc");
  return ct;
}
static void wait_counter(job *j, ptl_handle_ct_t ct, uint64_t value) {
  ptl_ct_event_t v = {0, 0};
  while (v.success + v.failure < value) need(PtlCTWait(ct, value - v.failure, &v), "PtlCTWait");
  j->failed_count += v.failure;
}
static bool time_is_left(const job *j) {
  return pm_now_ns() - j->t_begin_ns < (int64_t)set.time_us * 1000;
}
static bool goes_on(const job *j) {
  return j->requests ? j->done_count < j->requests : time_is_left(j);
}
/* Both sides are ready; the clock starts. */
static void begin(job *j) {
  pm_barrier();
  if (pm_rank() == 0) j->t_begin_ns = pm_now_ns();
}

/* ---- requests: a fixed number by size, or what a fixed time allows ------------------------------------------------------------------ */
static void quiet_target(job *j, ptl_handle_ni_t ni) {
  append_entries(ni, 1, PTL_ME_EVENT_COMM_DISABLE, PTL_EQ_NONE, PTL_CT_NONE);
  begin(j);
}
static void counting_target(job *j, ptl_handle_ni_t ni) { /* its end is the end */
  const ptl_handle_ct_t ct = new_counter(ni);
  append_entries(ni, 1, PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_CT_COMM, PTL_EQ_NONE, ct);
  begin(j);
  wait_counter(j, ct, j->requests);
  j->t_end_ns = pm_now_ns();
}
static void put_wait_ack(job *j, ptl_handle_ni_t ni) {
  const ptl_handle_eq_t eq = new_queue(ni);
  const ptl_handle_md_t md = bind_memory(ni, PTL_MD_EVENT_SEND_DISABLE, eq, PTL_CT_NONE);
  begin(j);
  for (; goes_on(j); j->done_count++) {
    put(j, md, PTL_ACK_REQ, 1, 0);
    wait_event(j, eq, PTL_EVENT_ACK);
  }
  j->t_end_ns = pm_now_ns();
}
static void put_wait_send(job *j, ptl_handle_ni_t ni) {
  const ptl_handle_eq_t eq = new_queue(ni);
  const ptl_handle_md_t md = bind_memory(ni, 0, eq, PTL_CT_NONE);
  begin(j);
  for (; goes_on(j); j->done_count++) {
    put(j, md, PTL_NO_ACK_REQ, 1, 0);
    wait_event(j, eq, PTL_EVENT_SEND);
  }
}
static void put_no_wait(job *j, ptl_handle_ni_t ni) {
  const ptl_handle_md_t md =
      bind_memory(ni, PTL_MD_EVENT_SUCCESS_DISABLE, PTL_EQ_NONE, PTL_CT_NONE);
  begin(j);
  const bool by_time = j->requests == 0;
  for (; goes_on(j); j->done_count++) put(j, md, PTL_NO_ACK_REQ, 1, 0);
  if (!by_time) return;
  j->requests = j->done_count; /* for mode_fast_target */
  pm_barrier();
}
static void gets(job *j, ptl_handle_ni_t ni, uint64_t in_flight) {
  const ptl_handle_ct_t ct = new_counter(ni);
  const ptl_handle_md_t md =
      bind_memory(ni, PTL_MD_EVENT_SUCCESS_DISABLE | PTL_MD_EVENT_CT_REPLY, PTL_EQ_NONE, ct);
  begin(j);
  for (uint64_t i = 0; i < j->requests; i++) {
    need(PtlGet(md, 0, j->bytes, pm_process_id(1), PT, 0, 0, NULL), "PtlGet");
    if ((i + 1) % in_flight == 0 || i + 1 == j->requests) wait_counter(j, ct, i + 1);
  }
  j->t_end_ns = pm_now_ns();
}
static void get_wait_reply(job *j, ptl_handle_ni_t ni) { gets(j, ni, 1); }
static void get_no_wait(job *j, ptl_handle_ni_t ni) { gets(j, ni, j->requests); }

/* ---- modes: a fixed time ------------------------------------------------------------------------------------ */
static void mode_fast_target(job *j,
                             ptl_handle_ni_t ni) { /* the time until the last one is there */
  const ptl_handle_ct_t ct = new_counter(ni);
  append_entries(ni, 1, PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_CT_COMM, PTL_EQ_NONE, ct);
  begin(j);
  pm_barrier();
  wait_counter(j, ct, j->requests);
  j->t_end_ns = pm_now_ns();
}
static void mode_ct(job *j, ptl_handle_ni_t ni) {
  const ptl_handle_ct_t ct = new_counter(ni);
  const ptl_handle_md_t md =
      bind_memory(ni, PTL_MD_EVENT_SUCCESS_DISABLE | PTL_MD_EVENT_CT_ACK, PTL_EQ_NONE, ct);
  begin(j);
  for (; goes_on(j); j->done_count++) {
    put(j, md, PTL_CT_ACK_REQ, 1, 0);
    wait_counter(j, ct, j->done_count + 1);
  }
  j->t_end_ns = pm_now_ns();
}
static void mode_match(job *j, ptl_handle_ni_t ni) {
  const ptl_handle_eq_t eq = new_queue(ni);
  const ptl_handle_md_t md = bind_memory(ni, PTL_MD_EVENT_SEND_DISABLE, eq, PTL_CT_NONE);
  uint64_t sent = 0;
  begin(j);
  while (time_is_left(j) || j->done_count < sent) {
    while (time_is_left(j) && sent < j->done_count + WINDOW)
      put(j, md, PTL_ACK_REQ, 1, sent++ % WINDOW);
    wait_event(j, eq, PTL_EVENT_ACK);
    j->done_count++;
  }
  j->t_end_ns = pm_now_ns();
}
static void mode_match_target(job *j, ptl_handle_ni_t ni) {
  append_entries(ni, WINDOW, PTL_ME_EVENT_COMM_DISABLE, PTL_EQ_NONE, PTL_CT_NONE);
  begin(j);
}
/* A ping-pong; the last answer tells the target that it was the last. */
static void ping_pong(job *j, ptl_handle_ni_t ni, int me) {
  const ptl_handle_eq_t eq = new_queue(ni);
  const ptl_handle_md_t md =
      bind_memory(ni, PTL_MD_EVENT_SUCCESS_DISABLE, PTL_EQ_NONE, PTL_CT_NONE);
  append_entries(ni, 1, 0, eq, PTL_CT_NONE);
  begin(j);
  while (!j->is_over) {
    if (me == 0) put(j, md, PTL_NO_ACK_REQ, 1, 0);
    wait_event(j, eq, PTL_EVENT_PUT);
    if (me == 1) put(j, md, PTL_NO_ACK_REQ, 0, 0);
    if (me == 1) continue;
    j->done_count += 2; /* messages, one each way */
    if (!time_is_left(j)) j->is_over = true, put(j, md, PTL_NO_ACK_REQ, 1, 0);
  }
  if (me == 0) j->t_end_ns = pm_now_ns();
}
static void mode_reply(job *j, ptl_handle_ni_t ni) { ping_pong(j, ni, 0); }
static void mode_reply_target(job *j, ptl_handle_ni_t ni) { ping_pong(j, ni, 1); }

static const struct bench {
  const char *name;
  void (*initiator)(job *j, ptl_handle_ni_t ni), (*target)(job *j, ptl_handle_ni_t ni);
} requests[] = {{"Put-WaitAck", put_wait_ack, quiet_target},
                {"Put-WaitSend", put_wait_send, counting_target},
                {"Put-NoWait", put_no_wait, counting_target},
                {"Get-WaitReply", get_wait_reply, quiet_target},
                {"Get-NoWait", get_no_wait, quiet_target}},
  modes[] = {{"fast", put_no_wait, mode_fast_target},
             {"ack", put_wait_ack, quiet_target},
             {"ct", mode_ct, quiet_target},
             {"match", mode_match, mode_match_target},
             {"reply", mode_reply, mode_reply_target}};
enum { REQUESTS = sizeof requests / sizeof *requests, MODES = sizeof modes / sizeof *modes };

/* ---- running ------------------------------------------------------------------------------------------------- */
static void pair_body(void *arg) {
  job *j = (job *)arg;
  const ptl_handle_ni_t ni = open_interface();
  (pm_rank() == 0 ? j->initiator : j->target)(j, ni);
  pm_barrier(); /* the target stays until nothing is under way to it */
  PtlNIFini(ni);
  PtlFini();
}
static pm_world *new_world(const pm_platform *platform, const pm_faults *faults) {
  pm_world_desc desc = {
      .platform = platform, .link = link_models[set.level], .seed = set.seed, .no_data = true};
  pm_world *w = NULL;
  if (faults) desc.faults = *faults;
  const pm_status status = pm_world_create(&desc, &w);
  if (status) die("the machine", pm_status_text(status));
  return w;
}
static void run_world(pm_world *w) {
  if (pm_world_run(w)) die("the simulation", pm_world_error(w));
  pm_world_destroy(w);
}
static void spawn(pm_world *w, int node, void (*body)(void *), job *j) {
  const pm_status status = pm_spawn(w, node, body, j, NULL);
  if (status) die("a process", pm_status_text(status));
}
/* Two processes on the first two nodes. ret: how long it took [ns] */
static double run_pair(const pm_platform *platform, const pm_faults *faults, job *j) {
  pm_world *w = new_world(platform, faults);
  spawn(w, 0, pair_body, j);
  spawn(w, 1, pair_body, j);
  run_world(w);
  return (double)(j->t_end_ns - j->t_begin_ns);
}
static series *new_series(figure *f, const char *name) {
  series *s = &f->series[f->series_count++];
  snprintf(s->name, sizeof s->name, "%s", name);
  return s;
}
static void add(series *s, double x, double y) {
  if (s->count == MAX_POINTS) return;
  s->x[s->count] = x;
  s->y[s->count++] = y;
}
/* Sizes: where BXI's NIC changes its way, then evenly spread over the logarithm up to 4 MiB. */
static int sizes_of(double *size, int most) {
  static const int special[] = {1, 8, 9, 64, 65, 408, 409, 512, 513};
  int count = 0;
  for (int i = 0; i < (int)(sizeof special / sizeof *special) && count < most; i++)
    size[count++] = special[i];
  for (int left = most - count, i = 0; i < left; i++)
    size[count++] = floor(exp2(10 + 12.0 * i / (left > 1 ? left - 1 : 1)));
  return count;
}

static void draw_requests(figure *time, figure *rate) {
  double size[MAX_POINTS];
  const int count = sizes_of(size, (int)set.sizes);
  for (int b = 0; b < REQUESTS; b++) {
    series *t = new_series(time, requests[b].name), *r = new_series(rate, requests[b].name);
    for (int i = 0; i < count; i++) {
      job j = {requests[b].initiator,
               requests[b].target,
               (uint64_t)size[i],
               set.requests,
               0,
               0,
               0,
               0,
               false};
      const double each_ns = run_pair(&machine, NULL, &j) / (double)set.requests;
      add(t, size[i], each_ns / 1e3);
      add(r, size[i], size[i] / each_ns);
    }
  }
}
static void draw_modes(figure *time, figure *rate) {
  double size[MAX_POINTS];
  const int count = sizes_of(size, (int)set.sizes);
  for (int b = 0; b < MODES; b++) {
    series *t = new_series(time, modes[b].name), *r = new_series(rate, modes[b].name);
    for (int i = 0; i < count; i++) {
      job j = {modes[b].initiator, modes[b].target, (uint64_t)size[i], 0, 0, 0, 0, 0, false};
      const double d_ns = run_pair(&machine, NULL, &j);
      add(t, size[i], d_ns / (double)j.done_count / 1e3);
      add(r, size[i], (double)j.done_count * size[i] / d_ns);
    }
  }
}

/* ---- limits: two switches, one link between them ------------------------------------------------------------- */
static pm_platform two_switches(pm_link *links, int nodes_per_switch) {
  pm_platform p = machine;
  const int64_t wire_ns = p.wire_latency_ns + p.switch_latency_ns;
  int n = 0;
  for (int i = 0; i < 2 * nodes_per_switch; i++) {
    pm_link *l = &links[n++];
    *l = (pm_link){"", "", p.link_bytes_per_s, wire_ns / 2, PM_LINK_EACH_WAY};
    snprintf(l->from, sizeof l->from, "h%d", i);
    snprintf(l->to, sizeof l->to, "s%d", i / nodes_per_switch);
  }
  links[n++] = (pm_link){"s0", "s1", p.link_bytes_per_s, wire_ns, PM_LINK_EACH_WAY};
  p.topology = PM_TOPO_FILE;
  memset(p.topo, 0, sizeof p.topo);
  p.node_count = 2 * nodes_per_switch;
  p.links = links;
  p.link_count = n;
  return p;
}
/* Ranks 0 and 1 are measured; then come, pair by pair, those that flood and their targets. */
static void flood_body(void *arg) {
  job *j = (job *)arg;
  const ptl_handle_ni_t ni = open_interface();
  const int me = pm_rank();
  if (me % 2 == 1) append_entries(ni, 1, PTL_ME_EVENT_COMM_DISABLE, PTL_EQ_NONE, PTL_CT_NONE);
  pm_barrier();
  if (me == 0) {
    const ptl_handle_eq_t eq = new_queue(ni);
    const ptl_handle_md_t md = bind_memory(ni, PTL_MD_EVENT_SEND_DISABLE, eq, PTL_CT_NONE);
    pm_sleep_ns(1000000); /* the flood has risen */
    j->t_begin_ns = pm_now_ns();
    for (uint64_t i = 0; i < set.rounds; i++) {
      put(j, md, PTL_ACK_REQ, 1, 0);
      wait_event(j, eq, PTL_EVENT_ACK);
    }
    j->t_end_ns = pm_now_ns();
    j->is_over = true;
  } else if (me % 2 == 0) {
    const ptl_handle_ct_t ct = new_counter(ni);
    const ptl_handle_md_t md =
        bind_memory(ni, PTL_MD_EVENT_SUCCESS_DISABLE | PTL_MD_EVENT_CT_ACK, PTL_EQ_NONE, ct);
    for (uint64_t sent = 0; !j->is_over; sent++) { /* many more than any limit that is drawn */
      put(j, md, PTL_CT_ACK_REQ, me + 1, 0);
      if (sent >= 64) wait_counter(j, ct, sent - 63);
    }
  }
  pm_barrier();
  PtlNIFini(ni);
  PtlFini();
}
/* Mean time of a measured message [us]; flooders 0: on an idle machine. */
static double flooded_us(int per_process, int per_node, int flooders) {
  pm_link links[2 * (MAX_PAIRS + 1) + 1];
  const int nodes = (int)set.pairs + 1;
  pm_platform p = two_switches(links, nodes);
  job j = {NULL, NULL, set.message_bytes, 0, 0, 0, 0, 0, false};
  p.inflight_per_process_count = per_process;
  p.inflight_per_node_count = per_node;
  pm_world *w = new_world(&p, NULL);
  spawn(w, 0, flood_body, &j);
  spawn(w, nodes, flood_body, &j);
  for (int pair = 1; pair < nodes; pair++)
    for (int k = 0; k < flooders; k++) {
      spawn(w, pair, flood_body, &j);
      spawn(w, nodes + pair, flood_body, &j);
    }
  run_world(w);
  return (double)(j.t_end_ns - j.t_begin_ns) / (double)set.rounds / 1e3;
}
static void draw_limits(figure *f) {
  series *process = new_series(f, "limit per process"), *node = new_series(f, "limit per node"),
         *none = new_series(f, "no limit"), *idle = new_series(f, "nobody floods");
  const int flooders = (int)set.flooders;
  const double none_us = flooded_us(0, 0, flooders), idle_us = flooded_us(0, 0, 0);
  for (int limit = 1; limit <= 256; limit *= 2) {
    if (limit <= 64) add(process, limit, flooded_us(limit, 0, flooders));
    add(node, limit, flooded_us(0, limit, flooders));
    add(none, limit, none_us);
    add(idle, limit, idle_us);
  }
}

/* ---- faults ------------------------------------------------------------------------------------------------------- */
/* A stream of requests with 16 in flight. ret: payload rate [GB/s] */
static void stream(job *j, ptl_handle_ni_t ni) {
  const ptl_handle_ct_t ct = new_counter(ni);
  const ptl_handle_md_t md =
      bind_memory(ni, PTL_MD_EVENT_SUCCESS_DISABLE | PTL_MD_EVENT_CT_ACK, PTL_EQ_NONE, ct);
  begin(j);
  for (uint64_t i = 0; i < j->requests; i++) {
    put(j, md, PTL_CT_ACK_REQ, 1, 0);
    if (i >= 16) wait_counter(j, ct, i - 15);
  }
  wait_counter(j, ct, j->requests);
  j->t_end_ns = pm_now_ns();
}
static void draw_faults(figure *corrupted, figure *outage) {
  static const int64_t retry_ns[] = {10000, 100000, 1000000, 10000000};
  for (int k = 0; k < 4; k++) {
    pm_platform p = machine;
    char name[40];
    p.e2e_retry_ns = retry_ns[k];
    snprintf(name, sizeof name, "sent again after %g us", (double)retry_ns[k] / 1e3);
    series *c = new_series(corrupted, name), *o = new_series(outage, name);
    for (double ratio = 1e-5; ratio < 0.15; ratio *= sqrt(10)) {
      const pm_faults faults = {.corrupt_ratio = ratio};
      job j = {stream, quiet_target, 65536, 10 * set.requests, 0, 0, 0, 0, false};
      const double d_ns = run_pair(&p, &faults, &j);
      add(c, ratio, (double)(j.requests - j.failed_count) * 65536 / d_ns);
    }
    for (double d_us = 10; d_us < 1.1e5; d_us *= sqrt(10)) {
      const pm_faults faults = {
          .down_node = 2, .t_down_ns = 100000, .d_down_ns = (int64_t)(d_us * 1e3)};
      job j = {stream, quiet_target, 65536, 10 * set.requests, 0, 0, 0, 0, false};
      const double d_ns = run_pair(&p, &faults, &j);
      if (!j.failed_count) add(o, d_us, d_ns / 1e6); /* else: given up after all retransmissions */
    }
  }
}

/* ---- output ------------------------------------------------------------------------------------------------------- */
/* The width of a column of the table. */
static int width_of(const series *s) {
  const int name = (int)strlen(s->name);
  return name > 13 ? name : 13;
}
static void print_figure(const figure *f) {
  int rows = 0, longest = 0;
  for (int s = 0; s < f->series_count; s++)
    if (f->series[s].count > rows) rows = f->series[longest = s].count;
  printf("\n%s: %s by %s\n  %-14s", f->title, f->y_name, f->x_name, "");
  for (int s = 0; s < f->series_count; s++)
    printf(" %*s", width_of(&f->series[s]), f->series[s].name);
  for (int i = 0; i < rows; i++) {
    printf("\n  %-14g", f->series[longest].x[i]);
    for (int s = 0; s < f->series_count; s++)
      if (i < f->series[s].count)
        printf(" %*.3f", width_of(&f->series[s]), f->series[s].y[i]);
      else
        printf(" %*s", width_of(&f->series[s]), "-");
  }
  printf("\n");
}
static void write_csv(FILE *out, const figure *f) {
  for (int s = 0; s < f->series_count; s++)
    for (int i = 0; i < f->series[s].count; i++)
      fprintf(out, "%s,%s,%.9g,%.9g\n", f->name, f->series[s].name, f->series[s].x[i],
              f->series[s].y[i]);
}
static void draw(FILE *out, const figure *f, double left, double top) {
  plot p = {out, left, top, 420, 260, 1e300, -1e300, 1e300, -1e300, f->x_scale, f->y_scale};
  for (int s = 0; s < f->series_count; s++)
    for (int i = 0; i < f->series[s].count; i++) {
      p.x_lo = fmin(p.x_lo, f->series[s].x[i]), p.x_hi = fmax(p.x_hi, f->series[s].x[i]);
      p.y_lo = fmin(p.y_lo, f->series[s].y[i]), p.y_hi = fmax(p.y_hi, f->series[s].y[i]);
    }
  if (f->y_scale == PLOT_LINEAR) p.y_lo = 0;
  p.y_hi *= f->y_scale ? 1.3 : 1.5; /* room for the key */
  plot_axes(&p, f->title, f->x_name, f->y_name);
  for (int s = 0; s < f->series_count; s++) {
    plot_line(&p, f->series[s].x, f->series[s].y, f->series[s].count,
              plot_colours[s % PLOT_COLOURS], "");
    plot_key(&p, s, plot_colours[s % PLOT_COLOURS], "", f->series[s].name);
  }
}
static bool write_page(const figure *f, int count) {
  FILE *out = output_create(set.output);
  if (!out) return false;
  plot_begin(out, "Portals micro-benchmarks on a simulated machine", 1080,
             60 + 360 * ((count + 1) / 2));
  for (int i = 0; i < count; i++) draw(out, &f[i], 80 + 530 * (i % 2), 50 + 360 * (i / 2));
  plot_end_chart(out);
  fprintf(out, "<p>Platform %s, level %s. Simulated: the same numbers in every run.</p>\n",
          machine.name[0] ? machine.name : "bxi2", level_names[set.level]);
  plot_end(out);
  return output_close(out, set.output);
}

/* ---- options ------------------------------------------------------------------------------------------------------ */
static const option options[] = {
    {"--requests", "N", "requests per size (1000)", .whole = &set.requests, .range = {20, 1e6}},
    {"--sizes", "N", "sizes, from 1 B to 4 MiB (24)", .whole = &set.sizes,
     .range = {2, MAX_POINTS}},
    {"--time-us", "N", "modes: simulated time per size (1000)", .whole = &set.time_us,
     .range = {1, 1e7}},
    {"--pairs", "N", "limits: pairs of nodes that flood (1)", .whole = &set.pairs,
     .range = {1, MAX_PAIRS}},
    {"--flooders", "N", "limits: processes of each of their nodes (8)", .whole = &set.flooders,
     .range = {1, 64}},
    {"--message-bytes", "N", "limits: size of all messages (32768)", .whole = &set.message_bytes,
     .range = {1, 1 << 26}},
    {"--rounds", "N", "limits: messages measured (100)", .whole = &set.rounds,
     .range = {1, 100000}},
    {"--seed", "N", "of the faults (1)", .whole = &set.seed, .range = {1, 1e15}},
    {"--level", "NAME", "flow, packet or loggp (flow)", .whole = &set.level, .words = level_names},
    {"--platform", "FILE",
     "machine, as pm_platform_read reads it (two BXI-like nodes); limits takes its constants, not "
     "its topology",
     .text = &set.platform},
    {"--output", "FILE", "the page (nic_figures.html beside this program)", .text = &set.output},
    {"--csv", "FILE", "figure,series,x,y per line", .text = &set.csv},
    {0}};
static const command_line line = {"usage: nic_figures [FIGURE...] [options]\n"
                                  "figures (all): requests, modes, limits, faults\n",
                                  options, NULL};
static const char *const names[] = {"requests", "modes", "limits", "faults"};
enum { FIGURES = 4 };

static void read_options(int argc, char **argv, bool *wanted) {
  const int count = options_read(&line, argc, argv);
  for (int k = 0; k < FIGURES && !count; k++) wanted[k] = true;
  for (int i = 1; i <= count; i++) {
    int k = 0;
    while (k < FIGURES && strcmp(argv[i], names[k]) != 0) k++;
    if (k == FIGURES) options_refuse(argv[i], "no such figure (--help)");
    wanted[k] = true;
  }
}

/* All without a series yet. */
#define FIGURE(n, t, x, y, xs, ys)                                                                 \
  { .name = n, .title = t, .x_name = x, .y_name = y, .x_scale = xs, .y_scale = ys }
static figure figures[7] = {
    FIGURE("requests_time", "Time of a request [S 4.6.1]", "bytes", "us", PLOT_BYTES, PLOT_DECADES),
    FIGURE("requests_rate", "Payload rate of requests [S 4.6.1]", "bytes", "GB/s", PLOT_BYTES,
           PLOT_DECADES),
    FIGURE("modes_time", "Time per message, as ptlperf [S 4.6.2]", "bytes", "us", PLOT_BYTES,
           PLOT_DECADES),
    FIGURE("modes_rate", "Payload rate, as ptlperf [S 4.6.2]", "bytes", "GB/s", PLOT_BYTES,
           PLOT_DECADES),
    FIGURE("limits", "A message beside a flood [S 7.1]", "messages in flight allowed", "us",
           PLOT_BYTES, PLOT_LINEAR),
    FIGURE("faults_rate", "Corrupted messages of 64 KiB [S 7.2]", "ratio of corrupted messages",
           "GB/s", PLOT_DECADES, PLOT_LINEAR),
    FIGURE("faults_outage", "A link down for a while [S 7.2]", "down for us", "ms", PLOT_DECADES,
           PLOT_DECADES)};

int main(int argc, char **argv) {
  char beside[4096], error[256];
  const char *slash = strrchr(argv[0], '/');
  bool wanted[FIGURES] = {false};
  figure shown[7];
  int count = 0;
  output_begin("nic_figures");
  snprintf(beside, sizeof beside, "%.*snic_figures.html", slash ? (int)(slash + 1 - argv[0]) : 0,
           argv[0]);
  set.output = beside;
  machine = pm_platform_bxi2(2);
  read_options(argc, argv, wanted);
  if (set.platform && pm_platform_load(set.platform, &machine, error, sizeof error))
    die("--platform", error);
  if (machine.node_count < 2) die("the machine", "one node: two are needed");
  if (!output_can_create(set.output) || !output_can_create(set.csv)) return 1;
  if (wanted[0]) draw_requests(&figures[0], &figures[1]);
  if (wanted[1]) draw_modes(&figures[2], &figures[3]);
  if (wanted[2]) draw_limits(&figures[4]);
  if (wanted[3]) draw_faults(&figures[5], &figures[6]);
  FILE *csv = set.csv ? output_create(set.csv) : NULL;
  if (set.csv && !csv) return 1;
  for (int i = 0; i < 7; i++) {
    if (!figures[i].series_count) continue;
    print_figure(&figures[i]);
    if (csv) write_csv(csv, &figures[i]);
    shown[count++] = figures[i];
  }
  if (csv && !output_close(csv, set.csv)) return 1;
  if (!write_page(shown, count)) return 1;
  printf("\nPage: %s\n", set.output);
  pm_platform_free(&machine);
  return 0;
}
