/* Question: how much of a message's transfer can computation hide, and how well do we know?

   The micro-benchmark of [O §3] (its figures 7-16) without MPI and without a network: two ranks are
   two threads, the NIC is a DMA thread that moves data at the speed of a link. Sender and receiver
   use Isend or Send, Irecv or Recv; the nonblocking side computes longer and longer before it
   waits. The receive is always posted first. For each length: the time in wait, the bounds of the
   overlap that the library's four events allow, and the exact overlap by the DMA thread's own
   stamps, which must lie between them. Messages during which a thread lost its core to other
   programs are repeated, and what is shown is one of the least disturbed, not the fastest or the
   nicest.

   Run:      make run, or build/overlap_pingpong --help
   Expected: a table, the same as curves in build/overlap_pingpong.html, what it says in two
             sentences. Isend-Recv with direct read: the sender's exact overlap climbs to 100 % when
             it computes as long as the transfer takes, and its time in wait falls to 0. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#include "tools/options.h"
#include "tools/output.h"
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { SENDER = 0, RECEIVER = 1 };
enum { PAIRINGS = 4, PROTOCOLS = 3, SERIES = 5, MAX_POINTS = 33, MAX_REPETITIONS = 1000 };
enum { MAX_TESTS = 200, BLOCKING = 3 };
/* Until enough messages were undisturbed, so many times the repetitions are tried; when the run has
   taken so long altogether, every further point makes do with a few messages. */
enum { PATIENCE = 4, PATIENCE_S = 20, HASTY = 2 };

typedef struct settings {
  uint64_t eager_bytes, large_bytes, fragment_bytes, points, repetitions, tests;
  double link_mb_per_s, latency_us;
  const char *output;
} settings;

static const struct pairing {
  const char *name;
  bool nonblocking[2]; /* sender, receiver */
} pairings[PAIRINGS] = {{"Isend-Irecv", {true, true}},
                        {"Isend-Recv", {true, false}},
                        {"Send-Irecv", {false, true}},
                        {"Send-Recv", {false, false}}};

static const struct protocol {
  const char *name;
  nbc_protocol id;
} protocols[PROTOCOLS] = {{"Eager", NBC_PROTOCOL_EAGER},
                          {"Pipelined rendezvous", NBC_PROTOCOL_PIPELINED},
                          {"Direct read", NBC_PROTOCOL_DIRECT_READ}};

/* What is shown of one pairing: one side, and the paper's figure per protocol. */
static const struct view {
  int pairing, side, figure[PROTOCOLS];
} views[SERIES] = {{0, SENDER, {7, 12, 13}},
                   {0, RECEIVER, {7, 16, 0}},
                   {1, SENDER, {0, 8, 9}},
                   {2, RECEIVER, {0, 10, 11}},
                   {3, SENDER, {0, 0, 0}}};

typedef struct cell { /* one message of the repetitions at one length; all in ns */
  double lost, wait, min, exact, max, xfer, err;
} cell;

/* All pairings over one protocol: one part of the table, one row of the page. */
typedef struct part {
  int protocol, tests;
  double size_bytes, xfer_ns; /* of the whole message, on an idle link */
  double comp_ns[MAX_POINTS];
  cell cells[SERIES][MAX_POINTS];
} part;

/* ---- the measurement --------------------------------------------------------------------------
 */
typedef struct side {
  nbc_transport *t;
  nbc_recorder *recorder;
  unsigned char *buffer;
  int64_t t_enter_ns[MAX_TESTS + 3], t_exit_ns[MAX_TESTS + 3]; /* the calls of one message */
  int call_count, wait_index;
  int64_t ran_ns;        /* of one message: computed as asked, or polled without a gap */
  double min_ns, max_ns; /* the monitor's totals so far, to take differences */
  cell cells[PATIENCE * MAX_REPETITIONS];
} side;

typedef struct bench {
  const settings *set;
  nbc_clock clock;
  nbc_threads *world;
  nbc_monitor *monitor;
  nbc_table *table;
  const struct pairing *pair;
  pthread_barrier_t barrier;
  bool pinned; /* every rank on a core of its own */
  int receive_posted;
  int64_t t_hurry_ns;
  bool point_done;
  int taken_count, clean_count; /* messages of this point; undisturbed ones */
  side sides[2];
  part *out;
  int message_count, outside_count; /* all messages; those whose truth is outside of the bounds */
} bench;

static void die(const char *what, nbc_status status) {
  fprintf(stderr, "overlap_pingpong: %s: %s\n", what, nbc_status_text(status));
  exit(1);
}

static void enter(bench *b, side *s, nbc_kind kind) {
  s->t_enter_ns[s->call_count] = nbc_clock_now_ns(&b->clock);
  nbc_call_enter_at(s->recorder, kind, s->t_enter_ns[s->call_count]);
}

static void leave(bench *b, side *s) {
  s->t_exit_ns[s->call_count] = nbc_clock_now_ns(&b->clock);
  nbc_call_exit_at(s->recorder, s->t_exit_ns[s->call_count++]);
}

/* The computation: the clock is its work. With tests, the library gets to run in between. */
static void compute(bench *b, side *s, double comp_ns) {
  int64_t d_ns = (int64_t)(comp_ns / (b->out->tests + 1));
  for (int i = 0; i < b->out->tests; i++) {
    nbc_spin_ns(&b->clock, d_ns);
    enter(b, s, NBC_KIND_TEST);
    s->t->progress(s->t->ctx);
    leave(b, s);
  }
  nbc_spin_ns(&b->clock, d_ns);
  s->ran_ns += d_ns * (b->out->tests + 1);
}

/* One message, as one side sees it: [call] compute [wait], or only [call] when it blocks. */
static nbc_status exchange(bench *b, int which, double comp_ns) {
  side *s = &b->sides[which];
  uint64_t bytes = (uint64_t)b->out->size_bytes;
  bool send = which == SENDER, nonblocking = b->pair->nonblocking[which];
  nbc_op op;
  memset(&op, 0, sizeof op);
  s->call_count = 0;
  s->ran_ns = 0;
  while (send && !__atomic_load_n(&b->receive_posted, __ATOMIC_ACQUIRE)) sched_yield();
  if (nonblocking)
    enter(b, s, send ? NBC_KIND_ISEND : NBC_KIND_IRECV);
  else
    enter(b, s, send ? NBC_KIND_SEND : NBC_KIND_RECV);
  nbc_status status = send ? nbc_isend(s->t, s->buffer, bytes, RECEIVER, 1, &op)
                           : nbc_irecv(s->t, s->buffer, bytes, SENDER, 1, &op);
  if (!send) __atomic_store_n(&b->receive_posted, 1, __ATOMIC_RELEASE);
  if (nonblocking && !status) {
    leave(b, s);
    compute(b, s, comp_ns);
    enter(b, s, NBC_KIND_WAIT);
  }
  s->wait_index = s->call_count;
  int64_t t_ns = nbc_clock_now_ns(&b->clock), t_before_ns;
  while (!status && !op.finished) { /* nbc_wait would offer the core to whatever else runs here */
    status = s->t->progress(s->t->ctx);
    t_before_ns = t_ns, t_ns = nbc_clock_now_ns(&b->clock);
    if (t_ns - t_before_ns < 20000) s->ran_ns += t_ns - t_before_ns;
    if (!__atomic_load_n(&b->pinned, __ATOMIC_RELAXED)) sched_yield();
  }
  leave(b, s);
  return status ? status : op.status;
}

/* The part of [t_begin, t_end] in which this side computed: between two of its calls. */
static double hidden_ns(const side *s, int64_t t_begin_ns, int64_t t_end_ns) {
  double sum_ns = 0;
  for (int i = 0; i + 1 < s->call_count; i++) {
    int64_t from_ns = s->t_exit_ns[i] > t_begin_ns ? s->t_exit_ns[i] : t_begin_ns;
    int64_t to_ns = s->t_enter_ns[i + 1] < t_end_ns ? s->t_enter_ns[i + 1] : t_end_ns;
    if (to_ns > from_ns) sum_ns += (double)(to_ns - from_ns);
  }
  return sum_ns;
}

static bool undisturbed(const cell *c) { return c->lost < 0.05 * c->xfer + 100e3; }

/* What the stamps and the monitor say about one message. Bounds rest on the transfer times that the
   link should need, the truth on the stamps: the bounds may be off by the difference, err. */
static void take_message(bench *b) {
  nbc_true_stamp stamps[256];
  nbc_report *report;
  size_t count;
  cell c[2];
  nbc_status status = nbc_monitor_report(b->monitor, &report);
  if (status) die("report", status);
  memset(c, 0, sizeof c);
  while ((count = nbc_threads_stamps(b->world, stamps, 256)) > 0)
    for (size_t i = 0; i < count; i++) {
      const nbc_true_stamp *s = &stamps[i];
      double d_ns = (double)(s->t_end_ns - s->t_begin_ns);
      double table_ns = (double)nbc_table_time_ns(b->table, s->size_bytes);
      for (int k = 0; k < 2; k++) {
        c[k].xfer += d_ns;
        c[k].err += fabs(table_ns - d_ns);
        c[k].exact += hidden_ns(&b->sides[k], s->t_begin_ns, s->t_end_ns);
      }
    }
  for (int k = 0; k < 2; k++) {
    side *s = &b->sides[k];
    double min_ns = 0, max_ns = 0;
    for (size_t i = 0; i < report->cell_count; i++) {
      bool sends =
          report->cells[i].kind == NBC_KIND_ISEND || report->cells[i].kind == NBC_KIND_SEND;
      if (sends != (k == SENDER)) continue;
      min_ns += (double)report->cells[i].t.min_overlap_ns;
      max_ns += (double)report->cells[i].t.max_overlap_ns;
    }
    c[k].min = min_ns - s->min_ns, s->min_ns = min_ns;
    c[k].max = max_ns - s->max_ns, s->max_ns = max_ns;
    c[k].wait = (double)(s->t_exit_ns[s->wait_index] - s->t_enter_ns[s->wait_index]);
    c[0].lost +=
        (double)(s->t_exit_ns[s->call_count - 1] - s->ran_ns - b->sides[RECEIVER].t_enter_ns[0]);
    b->message_count++;
    if (c[k].exact < c[k].min - c[k].err - 1 || c[k].exact > c[k].max + c[k].err + 1)
      b->outside_count++;
  }
  nbc_report_free(report);
  c[0].lost += c[0].err;
  c[1].lost = c[0].lost;
  if (b->taken_count >= 0)
    for (int k = 0; k < 2; k++) b->sides[k].cells[b->taken_count] = c[k];
  if (b->taken_count >= 0 && undisturbed(&c[0])) b->clean_count++;
  b->taken_count++;
}

static int by_lost(const void *left, const void *right) {
  double a = ((const cell *)left)->lost, b = ((const cell *)right)->lost;
  return (a > b) - (a < b);
}

/* Of the least disturbed messages, the one in the middle: so its numbers belong together. */
static void take_point(bench *b, int index) {
  int wanted = (int)b->set->repetitions;
  for (int v = 0; v < SERIES; v++) {
    side *s = &b->sides[views[v].side];
    if (&pairings[views[v].pairing] != b->pair) continue;
    qsort(s->cells, (size_t)b->taken_count, sizeof *s->cells, by_lost);
    b->out->cells[v][index] = s->cells[(b->taken_count < wanted ? b->taken_count : wanted) / 2];
  }
}

/* Each rank on a core of its own if there are two: else both would "compute" in turns. */
static bool pin(int rank) {
  cpu_set_t allowed, mine;
  int seen = 0;
  if (sched_getaffinity(0, sizeof allowed, &allowed) || CPU_COUNT(&allowed) < 2) return false;
  CPU_ZERO(&mine);
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
    if (CPU_ISSET((size_t)cpu, &allowed) && seen++ == rank) CPU_SET((size_t)cpu, &mine);
  return sched_setaffinity(0, sizeof mine, &mine) == 0;
}

static nbc_status rank_main(nbc_transport *t, void *user) {
  bench *b = (bench *)user;
  side *s = &b->sides[t->rank];
  nbc_status status = nbc_recorder_attach(b->monitor, &s->recorder);
  if (status) die("recorder", status);
  if (!pin(t->rank)) __atomic_store_n(&b->pinned, false, __ATOMIC_RELAXED);
  s->t = t;
  t->recorder = s->recorder;
  s->min_ns = s->max_ns = 0;
  for (int index = 0; index < (int)b->set->points; index++) {
    if (t->rank == 0) b->taken_count = -2, b->clean_count = 0; /* two to warm up */
    for (;;) {
      int wanted = (int)b->set->repetitions;
      if (t->rank == 0) {
        b->receive_posted = 0;
        b->point_done = b->clean_count >= wanted || b->taken_count >= PATIENCE * wanted ||
                        (b->taken_count >= HASTY && nbc_clock_now_ns(&b->clock) > b->t_hurry_ns);
      }
      pthread_barrier_wait(&b->barrier);
      if (b->point_done) break;
      if ((status = exchange(b, t->rank, b->out->comp_ns[index]))) die("message", status);
      pthread_barrier_wait(&b->barrier);
      if (t->rank == 0) take_message(b);
    }
    if (t->rank == 0) take_point(b, index);
    pthread_barrier_wait(&b->barrier); /* point_done was read by both */
  }
  t->recorder = NULL;
  nbc_recorder_detach(s->recorder);
  return NBC_OK;
}

static void run_pairing(bench *b, const struct pairing *pair) {
  nbc_monitor_desc desc;
  nbc_status status;
  memset(&desc, 0, sizeof desc);
  desc.clock = &b->clock;
  desc.table_same_node = desc.table_other_node = b->table;
  b->pair = pair;
  if ((status = nbc_monitor_create(&desc, &b->monitor))) die("monitor", status);
  if ((status = nbc_threads_run(b->world, rank_main, b))) die("ranks", status);
  nbc_monitor_destroy(b->monitor);
}

static void run_part(bench *b, int protocol, int tests, part *out) {
  nbc_threads_desc desc;
  nbc_status status;
  const settings *set = b->set;
  bool eager = protocols[protocol].id == NBC_PROTOCOL_EAGER;
  memset(&desc, 0, sizeof desc);
  desc.protocol = protocols[protocol].id;
  desc.fragment_bytes = eager ? set->eager_bytes : set->fragment_bytes;
  desc.dma = true;
  desc.link_bytes_per_s = 1e6 * set->link_mb_per_s;
  desc.link_latency_ns = (int64_t)(1e3 * set->latency_us);
  desc.clock = &b->clock;
  out->protocol = protocol;
  out->tests = tests;
  out->size_bytes = (double)(eager ? set->eager_bytes : set->large_bytes);
  b->out = out;
  if ((status = nbc_threads_create(&desc, &b->world))) die("ranks and link", status);
  status = nbc_table_create_linear(1e3 * set->latency_us, desc.link_bytes_per_s, NULL, &b->table);
  if (status) die("table of transfer times", status);
  out->xfer_ns = (double)nbc_table_time_ns(b->table, (uint64_t)out->size_bytes);
  for (int i = 0; i < (int)set->points; i++)
    out->comp_ns[i] = 2 * out->xfer_ns * i / (double)(set->points - 1);
  for (int i = 0; i < PAIRINGS; i++) run_pairing(b, &pairings[i]);
  nbc_table_free(b->table);
  nbc_threads_destroy(b->world);
}

/* ret number of parts */
static int run_all(bench *b, part *parts) {
  int count = 0;
  nbc_status status = nbc_clock_create(NULL, &b->clock);
  if (status) die("clock", status);
  b->pinned = true;
  b->t_hurry_ns = nbc_clock_now_ns(&b->clock) + PATIENCE_S * (int64_t)1000000000;
  pthread_barrier_init(&b->barrier, NULL, 2);
  for (int i = 0; i < 2; i++)
    if (!(b->sides[i].buffer =
              (unsigned char *)calloc(1, b->set->eager_bytes + b->set->large_bytes)))
      die("buffers", NBC_E_NOMEM);
  for (int i = 0; i < PROTOCOLS; i++) run_part(b, i, 0, &parts[count++]);
  for (int i = 1; i < PROTOCOLS && b->set->tests > 0; i++)
    run_part(b, i, (int)b->set->tests, &parts[count++]);
  for (int i = 0; i < 2; i++) free(b->sides[i].buffer);
  pthread_barrier_destroy(&b->barrier);
  return count;
}

/* ---- text -------------------------------------------------------------------------------------
 */
static const char *side_name(int v) {
  return views[v].pairing == BLOCKING ? "both block"
         : views[v].side == SENDER    ? "sender"
                                      : "receiver";
}

static void figure_text(const part *p, int v, char *text, size_t text_bytes) {
  int figure = p->tests ? 0 : views[v].figure[p->protocol];
  text[0] = 0;
  if (figure) snprintf(text, text_bytes, "figure %d", figure);
}

static void size_text(double size_bytes, char *text, size_t text_bytes) {
  if (size_bytes >= 1e6)
    snprintf(text, text_bytes, "%.3g MB", size_bytes / 1e6);
  else if (size_bytes >= 1e3)
    snprintf(text, text_bytes, "%.3g KB", size_bytes / 1e3);
  else
    snprintf(text, text_bytes, "%.0f B", size_bytes);
}

static void print_part(const settings *set, const part *p) {
  static const char *const rows[] = {"wait us", "min overlap %", "exact %", "max overlap %",
                                     "+- %"};
  char size[32], figure[32];
  size_text(p->size_bytes, size, sizeof size);
  for (int v = 0; v < SERIES; v++) {
    figure_text(p, v, figure, sizeof figure);
    printf("\n%s, %s of %s, %s", pairings[views[v].pairing].name, protocols[p->protocol].name, size,
           side_name(v));
    if (p->tests) printf(", %d tests inside the computation", p->tests);
    printf(figure[0] ? " (paper's %s)\n  %-15s" : "%s\n  %-15s", figure, "computation us");
    for (int i = 0; i < (int)set->points; i++) printf(" %6.0f", p->comp_ns[i] / 1e3);
    for (int row = 0; row < 5; row++) {
      printf("\n  %-15s", rows[row]);
      for (int i = 0; i < (int)set->points; i++) {
        const cell *c = &p->cells[v][i];
        double percent = row == 1 ? c->min : row == 2 ? c->exact : row == 3 ? c->max : c->err;
        printf(" %6.0f", row == 0 ? c->wait / 1e3 : 100 * percent / c->xfer);
      }
    }
    printf("\n");
  }
}

/* The least disturbed point with more computation than transfer. */
static const cell *ample(const settings *set, const part *p, int v) {
  const cell *best = &p->cells[v][(int)set->points - 1];
  for (int i = 0; i < (int)set->points; i++)
    if (p->comp_ns[i] > 1.2 * p->xfer_ns && p->cells[v][i].lost < best->lost)
      best = &p->cells[v][i];
  return best;
}

/* Two sentences on what one sees, with the numbers of this run, and a third when it was disturbed.
 */
static void explain(const settings *set, const part *parts, int count, char *text,
                    size_t text_bytes) {
  const cell *pipelined = ample(set, &parts[1], 2), *read = ample(set, &parts[2], 2);
  const cell *both = ample(set, &parts[2], 0), *tests = ample(set, &parts[count - 2], 2);
  int disturbed_count = 0, all_count = count * SERIES * (int)set->points;
  char size[32], with_tests[80] = "";
  size_text((double)set->large_bytes, size, sizeof size);
  if (parts[count - 1].tests)
    snprintf(with_tests, sizeof with_tests, " (%.0f %% with %d test calls in the computation)",
             100 * tests->exact / tests->xfer, parts[count - 1].tests);
  snprintf(
      text, text_bytes,
      "%s that the NIC reads by itself (Isend-Recv, direct read) hides behind the sender's "
      "computation to %.0f %%, while a pipelined rendezvous stays at %.0f %%%s: every further "
      "fragment waits until the sender calls the library. "
      "Four events inside the library bound the true overlap, and where the bounds are wide "
      "(Isend-Irecv, direct read, sender: %.0f to %.0f %%, in truth %.0f %%) only the NIC's own "
      "stamps tell.",
      size, 100 * read->exact / read->xfer, 100 * pipelined->exact / pipelined->xfer, with_tests,
      100 * both->min / both->xfer, 100 * both->max / both->xfer, 100 * both->exact / both->xfer);
  for (int i = 0; i < count; i++)
    for (int v = 0; v < SERIES; v++)
      for (int k = 0; k < (int)set->points; k++)
        disturbed_count += !undisturbed(&parts[i].cells[v][k]);
  size_t length = strlen(text);
  if (disturbed_count > 0)
    snprintf(text + length, text_bytes - length,
             " (%d of %d points were disturbed by other programs on these cores: their curves are "
             "bent.)",
             disturbed_count, all_count);
}

/* ---- the page ---------------------------------------------------------------------------------
 */
enum { LEFT = 40, WIDTH = 184, TOP = 40, HEIGHT = 120, WAIT_TOP = 184, WAIT_HEIGHT = 60 };

static const char style[] =
    ":root{--bg:#fff;--ink:#1c2330;--soft:#5b6575;--grid:#dfe4ec;--card:#f7f8fb;--band:#9db8e8;"
    "--bound:#3d6cc0;--exact:#b3400e;--wait:#1d7a5f}\n"
    "@media(prefers-color-scheme:dark){:root{--bg:#12161d;--ink:#e8ecf3;--soft:#9aa6b8;--grid:#"
    "2b3442;"
    "--card:#1a2029;--band:#36558f;--bound:#86aef5;--exact:#ff9a5c;--wait:#57c9a4}}\n"
    "body{background:var(--bg);color:var(--ink);font:15px/1.5 "
    "system-ui,sans-serif;max-width:1400px;"
    "margin:2rem auto;padding:0 1rem}h1{font-size:1.5rem;margin:0 0 .3rem}\n"
    "h2{font-size:1.1rem;margin:2rem 0 .2rem}p{max-width:56rem;margin:.3rem "
    "0}.soft{color:var(--soft)}\n"
    ".row{display:grid;grid-template-columns:repeat(auto-fit,minmax(250px,1fr));gap:10px;margin-"
    "top:.6rem}\n"
    "svg{background:var(--card);border-radius:8px;width:100%;height:auto}"
    "text{fill:var(--ink);font:11px system-ui,sans-serif}text.soft{fill:var(--soft)}"
    "text.t{font-weight:600;font-size:12px}.grid{stroke:var(--grid)}.band{fill:var(--band);opacity:"
    ".35}\n"
    ".bound{fill:none;stroke:var(--bound);stroke-width:1.5}.exact{fill:none;stroke:var(--exact);"
    "stroke-width:2.5}.wait{fill:none;stroke:var(--wait);stroke-width:2}"
    ".x{stroke:var(--soft);stroke-dasharray:3 3}text.bound{fill:var(--bound);stroke:none}"
    "text.exact{fill:var(--exact);stroke:none;font-weight:600}\n"
    "b.bound{color:var(--bound)}b.exact{color:var(--exact)}b.wait{color:var(--wait)}\n";

typedef struct axes {
  double x_max, wait_max;
  int points;
} axes;

static double y_of(double ratio) {
  return TOP + HEIGHT * (1 - (ratio < 0 ? 0 : ratio > 1 ? 1 : ratio));
}
static double x_of(const axes *a, double comp_ns) { return LEFT + WIDTH * comp_ns / a->x_max; }
static double wait_y(const axes *a, double wait_ns) {
  return WAIT_TOP + WAIT_HEIGHT * (1 - wait_ns / a->wait_max);
}

/* what: 'm'in, 'e'xact, 'M'ax, 'w'ait; from the first point to the last, or back */
static void draw_points(FILE *f, const axes *a, const part *p, int v, char what, bool back) {
  for (int i = 0; i < a->points; i++) {
    int k = back ? a->points - 1 - i : i;
    const cell *c = &p->cells[v][k];
    double ns = what == 'm' ? c->min : what == 'e' ? c->exact : c->max;
    fprintf(f, "%.1f,%.1f ", x_of(a, p->comp_ns[k]),
            what == 'w' ? wait_y(a, c->wait) : y_of(ns / c->xfer));
  }
}

static void draw_line(FILE *f, const axes *a, const part *p, int v, const char *class_name,
                      char what) {
  fprintf(f, "<polyline class=\"%s\" points=\"", class_name);
  draw_points(f, a, p, v, what, false);
  fprintf(f, "\"/>\n");
}

/* Names at the right end of the curves, pushed apart so that they can be read. */
static void draw_labels(FILE *f, const axes *a, const part *p, int v) {
  static const char *const names[] = {"max", "exact", "min"}, *const classes[] = {"bound", "exact",
                                                                                  "bound"};
  const cell *c = &p->cells[v][a->points - 1];
  double y[3] = {y_of(c->max / c->xfer), y_of(c->exact / c->xfer), y_of(c->min / c->xfer)};
  if (y[1] < y[0] + 11) y[1] = y[0] + 11;
  if (y[2] < y[1] + 11) y[2] = y[1] + 11;
  for (int i = 2; i >= 0; i--) {
    double lowest = TOP + HEIGHT - 11 * (2 - i);
    fprintf(f, "<text class=\"%s\" x=\"%d\" y=\"%.1f\">%s</text>\n", classes[i], LEFT + WIDTH + 5,
            (y[i] > lowest ? lowest : y[i]) + 4, names[i]);
  }
}

static void draw_axes(FILE *f, const axes *a, const part *p) {
  int right = LEFT + WIDTH, bottom = WAIT_TOP + WAIT_HEIGHT;
  for (int i = 0; i <= 4; i++) {
    double y = y_of(i / 4.0), x = LEFT + WIDTH * i / 4.0;
    fprintf(f, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>", LEFT, right, y,
            y);
    fprintf(f, "<text class=\"soft\" text-anchor=\"end\" x=\"%d\" y=\"%.1f\">%d%s</text>\n",
            LEFT - 5, y + 4, i * 25, i == 4 ? "%" : "");
    if (i % 2 == 0)
      fprintf(f, "<text class=\"soft\" text-anchor=\"middle\" x=\"%.1f\" y=\"%d\">%.3g</text>\n", x,
              bottom + 14, a->x_max * i / 4 / 1e6);
  }
  for (int i = 0; i <= 1; i++) {
    double y = wait_y(a, a->wait_max * i);
    fprintf(f, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>", LEFT, right, y,
            y);
    fprintf(f, "<text class=\"soft\" text-anchor=\"end\" x=\"%d\" y=\"%.1f\">%.2g</text>\n",
            LEFT - 5, y + 4, a->wait_max * i / 1e6);
  }
  fprintf(f, "<line class=\"x\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>\n",
          x_of(a, p->xfer_ns), x_of(a, p->xfer_ns), TOP, bottom);
  fprintf(f,
          "<text class=\"soft\" text-anchor=\"middle\" x=\"%d\" y=\"%d\">computation [ms]</text>\n",
          LEFT + WIDTH / 2, bottom + 28);
  fprintf(f, "<text class=\"soft\" x=\"%d\" y=\"%d\">time in wait [ms]</text>\n", LEFT,
          WAIT_TOP - 6);
}

static void draw_panel(FILE *f, const axes *a, const part *p, int v) {
  const char *name = pairings[views[v].pairing].name;
  char figure[32];
  figure_text(p, v, figure, sizeof figure);
  fprintf(f, "<svg viewBox=\"0 0 268 280\" role=\"img\"><title>%s, %s, %s</title>\n", name,
          protocols[p->protocol].name, side_name(v));
  fprintf(f, "<text class=\"t\" x=\"10\" y=\"19\">%s, %s</text>\n", name, side_name(v));
  fprintf(f, "<text class=\"soft\" text-anchor=\"end\" x=\"260\" y=\"19\">%s</text>\n", figure);
  draw_axes(f, a, p);
  fprintf(f, "<polygon class=\"band\" points=\"");
  draw_points(f, a, p, v, 'M', false);
  draw_points(f, a, p, v, 'm', true);
  fprintf(f, "\"/>\n");
  draw_line(f, a, p, v, "bound", 'm');
  draw_line(f, a, p, v, "bound", 'M');
  draw_line(f, a, p, v, "exact", 'e');
  draw_line(f, a, p, v, "wait", 'w');
  draw_labels(f, a, p, v);
  fprintf(f, "</svg>\n");
}

static void draw_part(FILE *f, const settings *set, const part *p) {
  axes a = {p->comp_ns[(int)set->points - 1], 1, (int)set->points};
  char size[32];
  for (int v = 0; v < SERIES; v++)
    for (int i = 0; i < a.points; i++)
      if (p->cells[v][i].wait > a.wait_max) a.wait_max = p->cells[v][i].wait;
  size_text(p->size_bytes, size, sizeof size);
  fprintf(f, "<h2>%s, %s", protocols[p->protocol].name, size);
  if (p->tests)
    fprintf(f, ", with %d test calls (the paper's Iprobe) inside the computation", p->tests);
  fprintf(f, "</h2>\n<div class=\"row\">\n");
  for (int v = 0; v < SERIES; v++) draw_panel(f, &a, p, v);
  fprintf(f, "</div>\n");
}

static bool write_page(const settings *set, const part *parts, int count, const char *explanation) {
  FILE *f = output_create(set->output);
  if (!f) return false;
  fprintf(
      f,
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\"><title>Overlap, bounded and "
      "exact</title>\n<style>%s</style></head>\n"
      "<body><h1>How much of a transfer does computation hide?</h1>\n<p>%s</p>\n"
      "<p class=\"soft\">Two ranks (threads); the NIC is a thread that moves data at %g MB/s with "
      "a latency of %g us. Shown is the middle one of the %llu least disturbed messages per point. "
      "Overlap in percent of the transfer time: the band lies between the <b class=\"bound\">min "
      "and max</b> that the library's events allow, the <b class=\"exact\">thick line is "
      "exact</b>, "
      "by the NIC's stamps; below it the <b class=\"wait\">time in wait</b> (in the call, when "
      "both "
      "block). Dashed: computation as long as the transfer.</p>\n",
      style, explanation, set->link_mb_per_s, set->latency_us,
      (unsigned long long)set->repetitions);
  for (int i = 0; i < count; i++) draw_part(f, set, &parts[i]);
  fprintf(f, "</body></html>\n");
  return output_close(f, set->output);
}

/* ---- options ----------------------------------------------------------------------------------
 */
static settings set = {50000, 300000, 37500, 9, 7, 16, 100, 20, NULL};
static const option options[] = {
    {"--eager-bytes", "N", "size of the eager message (50000)", .whole = &set.eager_bytes,
     .range = {1, 1e8}},
    {"--large-bytes", "N", "size of the other messages (300000)", .whole = &set.large_bytes,
     .range = {1, 1e9}},
    {"--fragment-bytes", "N", "fragment of the pipelined rendezvous (37500)",
     .whole = &set.fragment_bytes, .range = {1, 1e8}},
    {"--link-mb-per-s", "X", "speed of the link, 1e6 bytes per second (100)",
     .real = &set.link_mb_per_s, .range = {0.001, 1e6}},
    {"--latency-us", "X", "latency of the link (20)", .real = &set.latency_us, .range = {0, 1e6}},
    {"--points", "N", "lengths of computation (9)", .whole = &set.points, .range = {2, MAX_POINTS}},
    {"--repetitions", "N", "undisturbed messages per length (7)", .whole = &set.repetitions,
     .range = {1, MAX_REPETITIONS}},
    {"--tests", "N", "test calls inside the computation in the last parts; 0: leave them out (16)",
     .whole = &set.tests, .range = {0, MAX_TESTS}},
    {"--output", "FILE", "the page (overlap_pingpong.html beside this program)",
     .text = &set.output},
    {0}};
static const command_line line = {"usage: overlap_pingpong [options]\n", options, NULL};

int main(int argc, char **argv) {
  static bench b; /* large, and zero */
  static part parts[2 * PROTOCOLS];
  char beside[4096], explanation[1024];
  output_begin("overlap_pingpong");
  const char *slash = strrchr(argv[0], '/');
  snprintf(beside, sizeof beside, "%.*soverlap_pingpong.html",
           slash ? (int)(slash + 1 - argv[0]) : 0, argv[0]);
  set.output = beside;
  if (options_read(&line, argc, argv)) options_refuse(argv[1], "no option (--help)");
  b.set = &set;
  if (!output_can_create(set.output)) return 1;
  int count = run_all(&b, parts);
  printf(
      "Two ranks, a link of %g MB/s and %g us; the middle one of the %llu least disturbed messages "
      "per length.%s\n",
      set.link_mb_per_s, set.latency_us, (unsigned long long)set.repetitions,
      b.pinned ? "" : " One core: the ranks take turns.");
  for (int i = 0; i < count; i++) print_part(&set, &parts[i]);
  explain(&set, parts, count, explanation, sizeof explanation);
  printf("\n%s\n\nChecked: min <= exact <= max within +- in %d of %d cases.\n", explanation,
         b.message_count - b.outside_count, b.message_count);
  if (!write_page(&set, parts, count, explanation)) return 1;
  printf("Page: %s\n", set.output);
  return b.outside_count != 0;
}
