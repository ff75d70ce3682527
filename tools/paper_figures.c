/* Question: what would figures 7 to 13 of the overlap paper [O §3.2] look like if one knew the truth?

   The paper bounds how much of a message its sender or receiver overlaps with computation: min and max from
   four events inside the library. Its figures are drawn again here on the simulated NIC and network of
   portals_model.h, with the same monitor, and with the curve that the paper could not have: the exact
   overlap, from the time-stamps of the simulated NIC. Same calls, same protocols, another network (BXI
   instead of InfiniBand of 2005): look at the shapes.

   Run:      make examples && build/paper_figures [options]; --help lists them
   Expected: a table per figure, the same as curves in build/paper_figures.html, and as last line
             "Checked: min <= exact <= max in 130 of 130 points." Time is simulated: the same numbers on every
             machine. Figure 8: flat, only the first fragment overlaps; 9: the sender climbs to 100 %;
             11: the receiver near 0; 13: between 0 and 100 %, says the monitor; 0, say the stamps. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#define PORTALS_MODEL_IMPLEMENTATION
#define PM_WITH_NBC
#include "portals_model.h"
#include "tools/options.h"
#include "tools/output.h"
#include <errno.h>
#include <math.h>
#ifdef WITH_RTL /* the Makefile found Verilator */
#  include "rtl/pm_rtl.h"
static pm_rtl *rtl;
#endif

enum {
  SENDER = 0,
  RECEIVER = 1,
  PANELS = 10,
  MAX_POINTS = 33,
  MAX_ROUNDS = 200,
  MAX_STAMPS = 4096
};

typedef struct settings {
  uint64_t eager_bytes, large_bytes, fragment_bytes, points, rounds;
  const char *platform, *output;
  int levels[4], level_count;
} settings;
static settings set = {10000, 1000000, 125000, 13, 5, NULL, NULL, {0}, 1};

/* How messages move; each is simulated, the first with its bounds, the others as further exact curves.
   A level more is a line here. */
static const struct level {
  const char *name, *text;
  pm_link_model link;
} levels[] = {{"flow", "full NIC, links and PCI shared fairly", PM_LINK_FLOW},
              {"loggp", "LogGP: latency, overhead and gaps only", PM_LINK_LOGGP},
#ifdef WITH_RTL
              {"rtl", "two NICs in RTL, cycle by cycle (minutes for all points)", PM_LINK_CARRIER}
#endif
};
enum { LEVELS = sizeof levels / sizeof *levels };

typedef enum protocol { EAGER, PIPELINED, DIRECT } protocol;
static const char *const protocol_names[] = {"eager", "pipelined rendezvous", "direct read"};
static const char *const side_names[] = {"sender", "receiver"};

/* What is shown: a figure of the paper, the calls of both sides, the side that is looked at. */
static const struct panel {
  int number, nonblocking[2], side;
  protocol protocol;
  const char *says;
} panels[PANELS] = {
    {7, {1, 1}, SENDER, EAGER, "a short message overlaps wholly, given some computation"},
    {7, {1, 1}, RECEIVER, EAGER, "its receiver can say nothing: between 0 and all"},
    {8, {1, 0}, SENDER, PIPELINED, "flat: only the first fragment leaves before the wait"},
    {9, {1, 0}, SENDER, DIRECT, "climbs to all: the receiver reads while the sender computes"},
    {10, {0, 1}, RECEIVER, PIPELINED, "flat: the rest is asked for in the wait"},
    {11, {0, 1}, RECEIVER, DIRECT, "nothing: the request is seen in the wait"},
    {12, {1, 1}, SENDER, PIPELINED, "flat: only the first fragment"},
    {12, {1, 1}, RECEIVER, PIPELINED, "flat: only the first fragment"},
    {13, {1, 1}, SENDER, DIRECT, "all is possible, for all that the sender can tell"},
    {13, {1, 1}, RECEIVER, DIRECT, "nothing: the request is seen in the wait"}};

typedef struct point { /* of one message, on average; in ns */
  double wait, min, exact, max, xfer;
} point;
typedef struct curve {
  double comp_ns[MAX_POINTS];
  point points[MAX_POINTS];
} curve;
static curve curves[LEVELS][PANELS];

/* ---- one simulation: one panel, one length of computation ------------------------------------------ */
typedef struct span {
  int64_t t_begin_ns, t_end_ns;
} span;
typedef struct run {
  const struct panel *panel;
  int64_t compute_ns;
  nbc_table *table; /* NULL: find out how long transfers take */
  nbc_nic nic;      /* of the sender, with a look at what passes */
  const nbc_nic *real_nic;
  span stamps[MAX_STAMPS], computing[2][MAX_ROUNDS];
  uint64_t sizes_bytes[MAX_STAMPS];
  int stamp_count;
  int64_t waited_ns[2];
  nbc_totals totals[2];
} run;

static void die(const char *what, const char *why) {
  fprintf(stderr, "paper_figures: %s: %s\n", what, why);
  exit(1);
}
static void need(nbc_status status, const char *what) {
  if (status) die(what, nbc_status_text(status));
}

/* The sender's NIC sees every transfer; the receiver's library does not know some of them. */
static nbc_status pass_stamp(void *ctx, nbc_nic_stamp *stamp) {
  run *r = (run *)ctx;
  nbc_status status = r->real_nic->next_stamp(r->real_nic->ctx, stamp);
  if (status || r->stamp_count == MAX_STAMPS) return status;
  r->sizes_bytes[r->stamp_count] = stamp->size_bytes;
  r->stamps[r->stamp_count].t_begin_ns = (int64_t)stamp->begin_ticks;
  r->stamps[r->stamp_count++].t_end_ns = (int64_t)stamp->end_ticks;
  return NBC_OK;
}
static nbc_status pass_clock(void *ctx, int64_t *t_before_ns, uint64_t *ticks,
                             int64_t *t_after_ns) {
  const run *r = (const run *)ctx;
  return r->real_nic->read_clock(r->real_nic->ctx, t_before_ns, ticks, t_after_ns);
}

static void exchange(run *r, nbc_transport *t, uint64_t bytes) {
  const int nonblocking = r->panel->nonblocking[t->rank];
  char *buffer = (char *)calloc(1, bytes);
  if (!buffer) die("buffers", "out of memory");
  for (uint64_t i = 0; i < set.rounds; i++) {
    nbc_op op = {0};
    nbc_status status;
    pm_barrier();
    if (!nonblocking) {
      status = t->rank == SENDER ? nbc_send(t, buffer, bytes, RECEIVER, 1)
                                 : nbc_recv(t, buffer, bytes, SENDER, 1);
      need(status, "message");
      continue;
    }
    status = t->rank == SENDER ? nbc_isend(t, buffer, bytes, RECEIVER, 1, &op)
                               : nbc_irecv(t, buffer, bytes, SENDER, 1, &op);
    need(status, "message");
    r->computing[t->rank][i].t_begin_ns = pm_now_ns();
    pm_compute_ns(r->compute_ns);
    r->computing[t->rank][i].t_end_ns = pm_now_ns();
    need(nbc_wait(t, &op, 0), "wait");
    r->waited_ns[t->rank] += pm_now_ns() - r->computing[t->rank][i].t_end_ns;
  }
  free(buffer);
}

static void process(void *arg) {
  run *r = (run *)arg;
  const int rank = pm_rank();
  pm_nbc *endpoint;
  nbc_clock clock;
  nbc_monitor *monitor;
  nbc_nic_watch *watch;
  nbc_report *report;
  nbc_monitor_desc desc = {0};
  nbc_nic_watch_desc watch_desc = {0};
  pm_nbc_desc endpoint_desc = {0};
  const uint64_t bytes = r->panel->protocol == EAGER ? set.eager_bytes : set.large_bytes;
  endpoint_desc.msg.eager_bytes = (size_t)set.eager_bytes;
  endpoint_desc.msg.large = r->panel->protocol == DIRECT ? PM_MSG_GET : PM_MSG_PIPELINED;
  endpoint_desc.msg.fragment_bytes = (size_t)set.fragment_bytes;
  endpoint_desc.msg.overflow_bytes = (size_t)(set.eager_bytes + set.fragment_bytes);
  need(pm_nbc_create(&endpoint_desc, &endpoint), "endpoint");
  need(pm_nbc_clock(&clock), "clock");
  desc.clock = &clock;
  desc.table_other_node = r->table;
  desc.history_calls = 4096;
  need(nbc_monitor_create(&desc, &monitor), "monitor");
  nbc_transport *t = pm_nbc_transport(endpoint);
  need(nbc_recorder_attach(monitor, &t->recorder), "recorder");
  if (rank == SENDER) {
    r->real_nic = pm_nbc_nic(endpoint);
    r->nic = *r->real_nic;
    r->nic.ctx = r;
    r->nic.next_stamp = pass_stamp;
    r->nic.read_clock = pass_clock;
    r->nic.lost_count = NULL;
  }
  watch_desc.nic = rank == SENDER ? &r->nic : pm_nbc_nic(endpoint);
  watch_desc.recorder = t->recorder;
  watch_desc.relation = pm_nbc_relation();
  need(nbc_nic_watch_create(&watch_desc, &watch), "watch");
  exchange(r, t, bytes);
  pm_barrier();
  pm_sleep_ns(1000000);
  need(nbc_nic_poll(watch), "stamps");
  need(nbc_monitor_report(monitor, &report), "report");
  r->totals[rank] = report->total;
  nbc_report_free(report);
  nbc_nic_watch_destroy(watch);
  nbc_monitor_destroy(monitor);
  pm_nbc_destroy(endpoint);
}

static void simulate(run *r, const pm_platform *platform, const struct level *level) {
  pm_world_desc desc = {0};
  pm_world *world;
  pm_status status;
  r->stamp_count = 0;
  memset(r->computing, 0, sizeof r->computing);
  memset(r->waited_ns, 0, sizeof r->waited_ns);
  desc.platform = platform;
  desc.link = level->link;
  desc.no_data = 1; /* only time is looked at */
#ifdef WITH_RTL
  if (!rtl) rtl = pm_rtl_create();
  if (level->link == PM_LINK_CARRIER) desc.carrier = pm_rtl_carrier(rtl);
  status = pm_world_create(&desc, &world);
  if (status && *pm_rtl_error(rtl)) die("platform", pm_rtl_error(rtl));
#else
  status = pm_world_create(&desc, &world);
#endif
  if (status) die("platform", pm_status_text(status));
  if (!(status = pm_spawn(world, 0, process, r, NULL))) /* on two nodes, the first and the last */
    status = pm_spawn(world, (int)platform->node_count - 1, process, r, NULL);
  if (!status) status = pm_world_run(world);
  if (status) die("simulation", pm_world_error(world));
  pm_world_destroy(world);
}

/* How long transfers of each size take on the idle network: what the paper measured beforehand. */
static nbc_table *measure_table(run *r, const pm_platform *platform, const struct level *level) {
  uint64_t sizes_bytes[64];
  double times_s[64];
  size_t count = 0, at;
  nbc_error err;
  r->table = NULL;
  r->compute_ns = 0;
  simulate(r, platform, level);
  for (int i = 0; i < r->stamp_count; i++) { /* sorted by size */
    for (at = 0; at < count && sizes_bytes[at] < r->sizes_bytes[i]; at++) {
    }
    if ((at < count && sizes_bytes[at] == r->sizes_bytes[i]) || count == 64) continue;
    for (size_t k = count++; k > at; k--)
      sizes_bytes[k] = sizes_bytes[k - 1], times_s[k] = times_s[k - 1];
    sizes_bytes[at] = r->sizes_bytes[i];
    times_s[at] = 1e-9 * (double)(r->stamps[i].t_end_ns - r->stamps[i].t_begin_ns);
  }
  if (!count) die("transfer times", "the simulation moved nothing");
  if (nbc_table_create(sizes_bytes, times_s, count, "the simulated network, idle", &r->table, &err))
    die("transfer times", err.text);
  return r->table;
}

/* The truth for either side: the part of all transfers that lies in its computation. */
static double hidden_ns(const run *r, int side) {
  int64_t sum_ns = 0;
  for (int i = 0; i < r->stamp_count; i++)
    for (uint64_t k = 0; k < set.rounds; k++) {
      const span *a = &r->stamps[i], *b = &r->computing[side][k];
      const int64_t from_ns = a->t_begin_ns > b->t_begin_ns ? a->t_begin_ns : b->t_begin_ns,
                    to_ns = a->t_end_ns < b->t_end_ns ? a->t_end_ns : b->t_end_ns;
      if (to_ns > from_ns) sum_ns += to_ns - from_ns;
    }
  return (double)sum_ns;
}

/* Stamps are cut to whole nanoseconds at both ends, the monitor places them to four. */
static double slack_ns(const run *r) { return 5.0 * r->stamp_count; }

/* At least so much, in steps that read well. */
static double round_up(double ns) {
  static const double steps[] = {1.2, 2.4, 3.6, 4.8, 6, 7.2, 9.6, 12};
  const double power = pow(10, floor(log10(ns)));
  int i = 0;
  while (steps[i] * power < ns) i++;
  return steps[i] * power;
}

/* axes: NULL, or the curve of another level with whose computations this one is to be compared. */
static void run_panel(const pm_platform *platform, const struct level *level, int index, curve *c,
                      const curve *axes) {
  run *r = (run *)calloc(1, sizeof *r);
  const int side = panels[index].side;
  if (!r) die("run", "out of memory");
  r->panel = &panels[index];
  nbc_table *table = measure_table(r, platform, level);
  double xfer_ns = 0, longest_ns;
  for (int i = 0; i < r->stamp_count; i++)
    xfer_ns += (double)(r->stamps[i].t_end_ns - r->stamps[i].t_begin_ns) / (double)set.rounds;
  longest_ns = axes ? axes->comp_ns[set.points - 1] : round_up(2 * xfer_ns + 4000);
  for (uint64_t i = 0; i < set.points; i++) {
    const double rounds = (double)set.rounds;
    point *p = &c->points[i];
    r->compute_ns = (int64_t)(longest_ns * (double)i / (double)(set.points - 1) + 0.5);
    simulate(r, platform, level);
    const nbc_totals *t = &r->totals[side];
    c->comp_ns[i] = (double)r->compute_ns;
    p->xfer = xfer_ns;
    p->wait = (double)r->waited_ns[side] / rounds;
    p->min = (double)t->min_overlap_ns / rounds;
    p->max = (double)t->max_overlap_ns / rounds;
    p->exact = hidden_ns(r, side) / rounds;
    /* Where the library knows all transfers, the monitor's own exact overlap says the same. */
    if (t->exact_count == t->count && (p->exact * rounds < (double)t->exact_lo_ns - slack_ns(r) ||
                                       p->exact * rounds > (double)t->exact_hi_ns + slack_ns(r)))
      die("monitor", "its exact overlap is not what the stamps say");
  }
  nbc_table_free(table);
  free(r);
}

static int outside_count(const curve *c) {
  const double slack = 5 + 5 * (double)(set.large_bytes / set.fragment_bytes + 1);
  int count = 0;
  for (uint64_t i = 0; i < set.points; i++)
    count += c->points[i].exact < c->points[i].min - slack ||
             c->points[i].exact > c->points[i].max + slack;
  return count;
}

/* ---- text --------------------------------------------------------------------------------------------- */
static const char *call_name(const struct panel *p, int side) {
  static const char *const names[2][2] = {{"Send", "Isend"}, {"Recv", "Irecv"}};
  return names[side][p->nonblocking[side]];
}
static const char *size_text(const struct panel *p) {
  static char text[32];
  const double bytes = (double)(p->protocol == EAGER ? set.eager_bytes : set.large_bytes);
  snprintf(text, sizeof text, bytes < 1e6 ? "%g KB" : "%g MB", bytes / (bytes < 1e6 ? 1e3 : 1e6));
  return text;
}
static void title_text(const struct panel *p, char *text, size_t text_bytes) {
  snprintf(text, text_bytes, "Figure %d. %s-%s, %s, %s, %s", p->number, call_name(p, SENDER),
           call_name(p, RECEIVER), protocol_names[p->protocol], size_text(p), side_names[p->side]);
}
static void print_panel(int index) {
  static const char *const rows[] = {"computation us", "wait us", "min %", "exact %", "max %"};
  const curve *c = &curves[0][index];
  char title[160];
  title_text(&panels[index], title, sizeof title);
  printf("\n%s\n  (%s)\n", title, panels[index].says);
  for (int row = 0; row < 5; row++) {
    printf("  %-14s", rows[row]);
    for (uint64_t i = 0; i < set.points; i++) {
      const point *p = &c->points[i];
      const double part = row == 2 ? p->min : row == 3 ? p->exact : p->max;
      printf(" %6.1f", row == 0   ? c->comp_ns[i] / 1e3
                       : row == 1 ? p->wait / 1e3
                                  : 100 * part / p->xfer);
    }
    printf("\n");
  }
  for (int l = 1; l < set.level_count; l++) {
    printf("  exact %%, %-5s", levels[set.levels[l]].name);
    for (uint64_t i = 0; i < set.points; i++)
      printf(" %6.1f", 100 * curves[l][index].points[i].exact / curves[l][index].points[i].xfer);
    printf("\n");
  }
}

/* ---- the page ------------------------------------------------------------------------------------------- */
enum { LEFT = 52, WIDTH = 250, TOP = 58, HEIGHT = 130, WAIT_TOP = 222, WAIT_HEIGHT = 62 };
static const char style[] =
    ":root{--bg:#fff;--ink:#1c2330;--soft:#5b6575;--grid:#dfe4ec;--card:#f7f8fb;--bound:#0072b2;"
    "--exact:#d55e00;--wait:#007a5a;--more:#8a4b80}\n"
    "@media(prefers-color-scheme:dark){:root{--bg:#12161d;--ink:#e8ecf3;--soft:#9aa6b8;--grid:#"
    "2b3442;"
    "--card:#1a2029;--bound:#56b4e9;--exact:#ff9a5c;--wait:#3ccf9d;--more:#d9a3cf}}\n"
    "body{background:var(--bg);color:var(--ink);font:15px/1.5 "
    "system-ui,sans-serif;max-width:1160px;"
    "margin:2rem auto;padding:0 1rem}h1{font-size:1.5rem;margin:0 0 "
    ".3rem}p{max-width:60rem;margin:.3rem 0}"
    ".soft{color:var(--soft)}.row{display:grid;grid-template-columns:repeat(auto-fit,minmax(330px,"
    "1fr));"
    "gap:12px;margin-top:1rem}svg{background:var(--card);border-radius:8px;width:100%;height:auto}"
    "\n"
    "text{fill:var(--ink);font:11px system-ui,sans-serif}text.soft{fill:var(--soft)}"
    "text.t{font-weight:600;font-size:12.5px}.grid{stroke:var(--grid)}"
    ".band{fill:var(--bound);opacity:.15}.max,.min,.exact,.wait,.more{fill:none;stroke-width:1.6}"
    ".max,.min{stroke:var(--bound)}.min{stroke-dasharray:5 "
    "3}.exact{stroke:var(--exact);stroke-width:2.6}"
    ".wait{stroke:var(--wait);stroke-width:2}.more{stroke:var(--more);stroke-dasharray:2 3}"
    ".x{stroke:var(--soft);stroke-dasharray:1 "
    "4}.legend{display:flex;flex-wrap:wrap;gap:1.4rem;margin:.6rem 0}"
    ".legend svg{width:34px;height:10px;background:none;margin-right:.4rem}\n";

static double x_of(const curve *c, double comp_ns) {
  return LEFT + WIDTH * comp_ns / c->comp_ns[set.points - 1];
}
static double y_of(double ratio) {
  return TOP + HEIGHT * (1 - (ratio < 0 ? 0 : ratio > 1 ? 1 : ratio));
}
static double wait_max_ns(const curve *c) {
  double max = 1;
  for (uint64_t i = 0; i < set.points; i++)
    if (c->points[i].wait > max) max = c->points[i].wait;
  return max;
}
/* what: 'm'in, 'e'xact, 'M'ax, 'w'ait */
static void draw_points(FILE *f, const curve *axes, const curve *c, char what, bool back) {
  for (uint64_t i = 0; i < set.points; i++) {
    const uint64_t k = back ? set.points - 1 - i : i;
    const point *p = &c->points[k];
    const double ns = what == 'm' ? p->min : what == 'e' ? p->exact : p->max;
    fprintf(f, "%.1f,%.1f ", x_of(axes, c->comp_ns[k]),
            what == 'w' ? WAIT_TOP + WAIT_HEIGHT * (1 - p->wait / wait_max_ns(axes))
                        : y_of(ns / p->xfer));
  }
}
static void draw_line(FILE *f, const curve *axes, const curve *c, const char *class_name,
                      char what) {
  fprintf(f, "<polyline class=\"%s\" points=\"", class_name);
  draw_points(f, axes, c, what, false);
  fprintf(f, "\"/>\n");
}
static void draw_grid(FILE *f, double y, const char *label) {
  fprintf(f,
          "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/><text class=\"soft\" "
          "text-anchor=\"end\" x=\"%d\" y=\"%.1f\">%s</text>\n",
          LEFT, LEFT + WIDTH, y, y, LEFT - 5, y + 4, label);
}
static void draw_axes(FILE *f, const curve *c) {
  const int bottom = WAIT_TOP + WAIT_HEIGHT;
  char label[32];
  for (int i = 0; i <= 4; i++) {
    const double x = LEFT + WIDTH * i / 4.0;
    snprintf(label, sizeof label, "%d", i * 25);
    draw_grid(f, y_of(i / 4.0), label);
    fprintf(f, "<text class=\"soft\" text-anchor=\"middle\" x=\"%.1f\" y=\"%d\">%.3g</text>\n", x,
            bottom + 14, c->comp_ns[set.points - 1] * i / 4 / 1e3);
  }
  draw_grid(f, bottom, "0");
  snprintf(label, sizeof label, "%.3g", wait_max_ns(c) / 1e3);
  draw_grid(f, WAIT_TOP, label);
  fprintf(f,
          "<line class=\"x\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>\n"
          "<text class=\"soft\" text-anchor=\"middle\" x=\"%d\" y=\"%d\">computation [us]</text>\n"
          "<text class=\"soft\" x=\"%d\" y=\"%d\">overlap [%% of the transfer time]</text>\n"
          "<text class=\"soft\" x=\"%d\" y=\"%d\">time in wait [us]</text>\n",
          x_of(c, c->points[0].xfer), x_of(c, c->points[0].xfer), TOP, bottom, LEFT + WIDTH / 2,
          bottom + 29, LEFT, TOP - 6, LEFT, WAIT_TOP - 6);
}
static void draw_panel(FILE *f, int index) {
  const struct panel *p = &panels[index];
  const curve *c = &curves[0][index];
  char title[160];
  title_text(p, title, sizeof title);
  fprintf(f, "<svg viewBox=\"0 0 316 320\" role=\"img\"><title>%s: %s</title>\n", title, p->says);
  fprintf(f, "<text class=\"t\" x=\"10\" y=\"19\">Figure %d: %s-%s, %s</text>\n", p->number,
          call_name(p, SENDER), call_name(p, RECEIVER), side_names[p->side]);
  fprintf(f, "<text class=\"soft\" x=\"10\" y=\"35\">%s, %s</text>\n", protocol_names[p->protocol],
          size_text(p));
  draw_axes(f, c);
  fprintf(f, "<polygon class=\"band\" points=\"");
  draw_points(f, c, c, 'M', false);
  draw_points(f, c, c, 'm', true);
  fprintf(f, "\"/>\n");
  draw_line(f, c, c, "max", 'M');
  draw_line(f, c, c, "exact", 'e');
  draw_line(f, c, c, "min", 'm');
  for (int l = 1; l < set.level_count; l++) draw_line(f, c, &curves[l][index], "more", 'e');
  draw_line(f, c, c, "wait", 'w');
  fprintf(f, "</svg>\n");
}
static void legend(FILE *f, const char *class_name, const char *text) {
  fprintf(
      f,
      "<span><svg viewBox=\"0 0 34 10\"><line class=\"%s\" x1=\"0\" x2=\"34\" y1=\"5\" y2=\"5\"/>"
      "</svg>%s</span>\n",
      class_name, text);
}
static bool write_page(const pm_platform *platform) {
  FILE *f = fopen(set.output, "w");
  char text[128];
  if (!f) return false;
  fprintf(
      f,
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\"><title>The overlap paper's figures, with the truth</title>\n"
      "<style>%s</style></head>\n<body><h1>Figures 7 to 13 of the overlap paper, with the "
      "truth</h1>\n"
      "<p>How much of a message's transfer does computation between posting and waiting hide? Four "
      "events inside the communication library bound it; the stamps of the NIC say what was.</p>\n"
      "<p class=\"soft\">Simulated: two processes, platform %s, level %s (%s). Overlap in percent "
      "of "
      "the time that the transfers take on an idle network. Dotted: computation as long as the "
      "transfers. All numbers are the same in every run.</p>\n<div class=\"legend\">",
      style, platform->name[0] ? platform->name : "bxi2", levels[set.levels[0]].name,
      levels[set.levels[0]].text);
  legend(f, "max", "max, by the library's events");
  legend(f, "min", "min, by the library's events");
  legend(f, "exact", "exact, by the NIC's stamps");
  legend(f, "wait", "time in wait (lower axes)");
  for (int l = 1; l < set.level_count; l++) {
    snprintf(text, sizeof text, "exact on level %s", levels[set.levels[l]].name);
    legend(f, "more", text);
  }
  fprintf(f, "</div><div class=\"row\">\n");
  for (int i = 0; i < PANELS; i++) draw_panel(f, i);
  fprintf(f, "</div></body></html>\n");
  const bool written = !ferror(f);
  return fclose(f) == 0 && written;
}

/* ---- options ------------------------------------------------------------------------------------------ */
static int chosen_count;
static const char *choose_level(const char *name) {
  int i = 0;
  while (i < LEVELS && strcmp(levels[i].name, name) != 0) i++;
  if (i == LEVELS) return "no such level (--help)";
  if (chosen_count < LEVELS) set.levels[chosen_count++] = i, set.level_count = chosen_count;
  return NULL;
}
static const option options[] = {
    {"--eager-bytes", "N", "size of the eager message (10000)", .whole = &set.eager_bytes,
     .range = {1025, 1e6}},
    {"--large-bytes", "N", "size of the other messages (1000000)", .whole = &set.large_bytes,
     .range = {2000, 1e9}},
    {"--fragment-bytes", "N", "fragment of the pipelined rendezvous (125000)",
     .whole = &set.fragment_bytes, .range = {1025, 1e8}},
    {"--points", "N", "lengths of computation (13)", .whole = &set.points,
     .range = {2, MAX_POINTS}},
    {"--rounds", "N", "messages per length (5)", .whole = &set.rounds, .range = {1, MAX_ROUNDS}},
    {"--level", "NAME",
     "how messages move: flow, loggp or, built with Verilator, rtl; again for a further exact "
     "curve (flow)",
     .take = choose_level},
    {"--platform", "FILE", "machine, as pm_platform_read reads it (two BXI-like nodes)",
     .text = &set.platform},
    {"--output", "FILE", "the page (paper_figures.html beside this program)", .text = &set.output},
    {0}};
static const command_line line = {"usage: paper_figures [options]\n", options, NULL};
static void read_options(int argc, char **argv) {
  if (options_read(&line, argc, argv)) options_refuse(argv[1], "no option (--help)");
  if (set.large_bytes <= set.eager_bytes || set.large_bytes / set.fragment_bytes > 60 ||
      set.rounds * (set.large_bytes / set.fragment_bytes + 1) > MAX_STAMPS)
    options_refuse("--large-bytes", "more than --eager-bytes, at most 60 fragments");
}

int main(int argc, char **argv) {
  char beside[4096], error[256];
  const char *slash = strrchr(argv[0], '/');
  pm_platform platform = pm_platform_bxi2(2);
  int outside = 0, all = 0;
  snprintf(beside, sizeof beside, "%.*spaper_figures.html", slash ? (int)(slash + 1 - argv[0]) : 0,
           argv[0]);
  set.output = beside;
  output_begin("paper_figures");
  read_options(argc, argv);
  if (set.platform && pm_platform_load(set.platform, &platform, error, sizeof error))
    die("--platform", error);
  if (!output_can_create(set.output)) return 1;
  printf("Figures of the overlap paper on a simulated network, level %s: %s.\n",
         levels[set.levels[0]].name, levels[set.levels[0]].text);
  for (int i = 0; i < PANELS; i++) {
    for (int l = 0; l < set.level_count; l++) {
      run_panel(&platform, &levels[set.levels[l]], i, &curves[l][i], l ? &curves[0][i] : NULL);
      outside += outside_count(&curves[l][i]);
      all += (int)set.points;
    }
    print_panel(i);
  }
  if (!write_page(&platform)) die(set.output, strerror(errno));
  printf("\nPage: %s\nChecked: min <= exact <= max in %d of %d points.\n", set.output,
         all - outside, all);
  pm_platform_free(&platform);
#ifdef WITH_RTL
  pm_rtl_destroy(rtl);
#endif
  return outside != 0 || fflush(stdout) != 0;
}
