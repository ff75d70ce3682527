/* What a report says depends neither on how large the ring is nor on when it is drained: the same events are told to
   monitors with rings of all sizes, drained at other times each, and to one that is drained after each event, so that
   no end ever finds its begin in the ring. */
#include "tests/pieces.h"
#include "tests/overlap/sim.h"

enum { MAX_EVENTS = 1000, SLOTS = 5, MONITORS = 6 };
typedef enum what {
  ENTER, EXIT, BEGIN, BEGUN, END, END_SIZED, END_LOCAL, END_EARLY, END_PARTS, END_ONLY, CANCEL,
  FOREIGN_BEGIN, FOREIGN_END, FOREIGN_END_LOCAL, FOREIGN_END_SIZED, STAMP,
  SECTION, SECTION_END, OFF, ON, ATTACH_AGAIN, REPORT
} what;
typedef struct event { what what; uint64_t id, bytes; nbc_kind kind; nbc_peer peer; int64_t t_ns; } event;

/* All that on_seen was told, in whatever order; what is under way by a report is told each time. */
static void seen(void *user, const nbc_seen *s) {
  const uint64_t of[] = {s->id, s->size_bytes, (uint64_t)s->kind, (uint64_t)s->peer, s->by_nic, (uint64_t)s->case_of,
                         (uint64_t)s->begin_ns, (uint64_t)s->end_ns, (uint64_t)s->xfer_ns,
                         (uint64_t)s->min_overlap_ns, (uint64_t)s->max_overlap_ns, (uint64_t)s->err_ns};
  uint64_t hash = 1;
  for (size_t i = 0; i < sizeof of / sizeof *of; i++) hash = (hash ^ of[i]) * 0x9E3779B97F4A7C15u, hash ^= hash >> 29;
  *(uint64_t *)user += hash;
}

typedef struct one { nbc_monitor *monitor; nbc_recorder *me; uint64_t seen; bool drained_always; unsigned drained_seldom; } one;

static void create(one *o, nbc_table *table, size_t ring_events) {
  nbc_clock clock;
  nbc_clock_desc clock_desc;
  nbc_monitor_desc desc;
  memset(o, 0, sizeof *o);
  memset(&clock_desc, 0, sizeof clock_desc);
  memset(&desc, 0, sizeof desc);
  clock_desc.source = NBC_CLOCK_USER;
  clock_desc.now_ns = sim_clock;
  CHECK(nbc_clock_create(&clock_desc, &clock) == NBC_OK);
  desc.clock = &clock;
  desc.table_same_node = desc.table_other_node = table;
  desc.ring_events = ring_events;
  desc.max_transfers = 64;
  desc.history_calls = 4 * MAX_EVENTS; /* no stamp is too old */
  desc.on_seen = seen;
  desc.on_seen_user = &o->seen;
  CHECK(nbc_monitor_create(&desc, &o->monitor) == NBC_OK);
  CHECK(nbc_recorder_attach_at(o->monitor, 0, &o->me) == NBC_OK);
}

static void tell(one *o, const event *e) {
  nbc_recorder *const r = o->me;
  switch (e->what) {
  case ENTER: nbc_call_enter_at(r, e->kind, e->t_ns); break;
  case EXIT: nbc_call_exit_at(r, e->t_ns); break;
  case BEGIN: nbc_xfer_begin_at(r, e->id, e->bytes, e->kind, e->peer, e->t_ns); break;
  case BEGUN: nbc_xfer_begun_at(r, e->id, e->bytes, e->kind, e->peer, e->t_ns); break;
  case END: nbc_xfer_end_at(r, e->id, e->t_ns); break;
  case END_SIZED: nbc_xfer_end_sized_at(r, e->id, e->bytes, e->peer, e->t_ns); break;
  case END_LOCAL: nbc_xfer_end_local_at(r, e->id, e->t_ns); break;
  case END_EARLY: nbc_xfer_end_early_at(r, e->id, e->bytes, e->peer, e->t_ns); break;
  case END_PARTS: nbc_xfer_end_parts_at(r, e->id, e->t_ns); break;
  case END_ONLY: nbc_xfer_end_only_at(r, e->bytes, e->kind, e->peer, e->t_ns); break;
  case CANCEL: nbc_xfer_cancel(r, e->id); break;
  case FOREIGN_BEGIN: nbc_foreign_begin_at(r, e->id, e->bytes, e->kind, e->peer, e->t_ns); break;
  case FOREIGN_END: nbc_foreign_end_at(r, e->id, e->t_ns); break;
  case FOREIGN_END_LOCAL: nbc_foreign_end_local_at(r, e->id, e->t_ns); break;
  case FOREIGN_END_SIZED: nbc_foreign_end_sized_at(r, e->id, e->bytes, e->peer, e->t_ns); break;
  case STAMP: nbc_xfer_stamp(r, e->id, e->t_ns - (int64_t)e->bytes, e->t_ns, 0); break;
  case SECTION: nbc_section_begin_at(r, e->id & 1 ? "a" : "b", e->t_ns); break;
  case SECTION_END: nbc_section_end_at(r, NULL, e->t_ns); break;
  case OFF: nbc_recorder_switch_at(r, false, e->t_ns); break;
  case ON: nbc_recorder_switch_at(r, true, e->t_ns); break;
  case ATTACH_AGAIN:
    nbc_recorder_detach_at(r, e->t_ns);
    CHECK(nbc_recorder_attach_at(o->monitor, e->t_ns, &o->me) == NBC_OK && o->me == r);
    break;
  case REPORT: break;
  }
}

static bool same_totals(const nbc_totals *a, const nbc_totals *b) { return memcmp(a, b, sizeof *a) == 0; }
static void compare(const nbc_report *a, const nbc_report *b) {
  CHECK(same_totals(&a->total, &b->total));
  CHECK(a->cell_count == b->cell_count && a->section_count == b->section_count && a->joint_count == b->joint_count);
  for (size_t i = 0; i < a->cell_count; i++) {
    const nbc_cell *c = &a->cells[i], *found = NULL;
    for (size_t k = 0; k < b->cell_count && !found; k++)
      if (nbc__rep_cell_order(c, &b->cells[k]) == 0) found = &b->cells[k];
    CHECK(found && same_totals(&c->t, &found->t) && c->available_ns == found->available_ns);
  }
  for (size_t i = 0; i < a->joint_count && i < b->joint_count; i++) {
    const nbc_joint *x = &a->joints[i], *y = &b->joints[i];
    CHECK(x->incoming == y->incoming && x->peer == y->peer && x->count == y->count && x->size_bytes == y->size_bytes);
    CHECK(x->xfer_ns == y->xfer_ns && x->min_overlap_ns == y->min_overlap_ns && x->max_overlap_ns == y->max_overlap_ns);
  }
  for (int p = 0; p < NBC_PROBLEM_COUNT; p++) {
    if (a->problems[p] != b->problems[p])
      printf("  %s: %llu, %llu\n", nbc_problem_name((nbc_problem)p), (unsigned long long)a->problems[p],
             (unsigned long long)b->problems[p]);
    CHECK(a->problems[p] == b->problems[p]);
  }
  CHECK(a->comp_ns == b->comp_ns && a->call_ns == b->call_ns && a->off_ns == b->off_ns);
}
static void compare_all(one *all, int64_t t_ns) {
  nbc_report *first = NULL, *other = NULL;
  CHECK(nbc_monitor_report_at(all[0].monitor, t_ns, &first) == NBC_OK);
  for (int i = 1; i < MONITORS; i++) {
    CHECK(nbc_monitor_report_at(all[i].monitor, t_ns, &other) == NBC_OK);
    compare(first, other);
    CHECK(all[0].seen == all[i].seen);
    nbc_report_free(other);
  }
  nbc_report_free(first);
}

/* A random stream. Own times are even, those of other threads odd and of transfers under way, so that their order says
   what happened. Others begin transfers with ids of the last third; those are ended only while they are under way: a begin
   that comes later would be taken for that of the end. */
typedef struct story { event e[MAX_EVENTS]; bool active[SLOTS * 4]; int64_t foreign_ns[SLOTS * 4], t_ns, call_ns; int depth; bool on; } story;
static uint64_t id_of(unsigned slot) { return slot % SLOTS + 64 * (uint64_t)(slot / SLOTS); } /* share a place in threes */
static event draw(story *s) {
  static const what ends[] = {END, END, END_SIZED, END_LOCAL, END_EARLY, END_PARTS, CANCEL};
  static const what foreign[] = {FOREIGN_BEGIN, FOREIGN_END, FOREIGN_END_LOCAL, FOREIGN_END_SIZED, STAMP};
  static const nbc_kind kinds[] = {NBC_KIND_ISEND, NBC_KIND_IRECV, NBC_KIND_PUT, NBC_KIND_IBCAST};
  const unsigned slot = (unsigned)test_below(SLOTS * 3);
  event e = {END_ONLY, id_of(slot), test_below(8) ? test_below(3000) : 0, kinds[test_below(4)],
             (nbc_peer)test_below(NBC_PEER_COUNT), s->t_ns += 2 * (int64_t)test_below(600)};
  const unsigned kind = (unsigned)test_below(100);
  const bool others = slot >= 2 * SLOTS;
  if (kind < 30) {
    e.what = s->depth && test_below(5) ? EXIT : ENTER;
    if (s->on && s->depth == (e.what == EXIT)) s->call_ns = e.t_ns;
    if (e.what == EXIT) s->depth--; else s->depth++;
  } else if (kind < 55) {
    e.what = test_below(12) ? BEGIN : BEGUN;
    if (s->on) s->active[slot] = true;
  } else if (kind < 82 && (s->active[slot] || !others)) {
    /* A cancel has the time of the last call, which may be before another thread's end: only of what is under way, and
       of which no other thread has told anything since that call. */
    e.what = ends[test_below(sizeof ends / sizeof *ends - !(s->active[slot] && s->foreign_ns[slot] < s->call_ns))];
    s->active[slot] = false;
  } else if (kind < 86 && (s->active[slot] || others)) {
    e.what = s->active[slot] ? foreign[1 + test_below(4)] : FOREIGN_BEGIN;
    e.t_ns = s->t_ns + 1;
    s->t_ns += 2;
    s->foreign_ns[slot] = e.t_ns;
    if (e.what == FOREIGN_BEGIN) s->active[slot] = s->on;
    else if (e.what != STAMP) s->active[slot] = false;
    else e.bytes = test_below(1 + (uint64_t)s->t_ns / 2);
  } else if (kind < 92) {
    e.what = test_below(2) ? SECTION : SECTION_END;
  } else if (kind < 94) {
    e.what = s->on ? OFF : ON;
    s->on = !s->on;
  } else if (kind < 95) {
    e.what = ATTACH_AGAIN;
    s->depth = 0;
    s->on = true;
  } else if (kind < 96) {
    e.what = REPORT;
  }
  return e;
}

static nbc_table *table_with_a_link(void) {
  static const char text[] = "# eager_bytes 500\n# tail_bytes 100\n# link_bytes_per_s 1e9\n0 1e-7\n1000000 1.0001e-3\n";
  nbc_table *table = NULL;
  nbc_error err;
  CHECK(nbc_table_parse(text, strlen(text), "t", &table, &err) == NBC_OK);
  return table;
}
static void tell_all(one *all, const event *e) {
  if (e->what == REPORT) compare_all(all, e->t_ns);
  for (int i = 0; i < MONITORS; i++) {
    tell(&all[i], e);
    if (all[i].drained_always || (all[i].drained_seldom && test_below(all[i].drained_seldom) == 0)) nbc__mon_drain(all[i].me);
  }
}
static void create_all(one *all, nbc_table *table) {
  create(&all[0], table, 512);
  all[0].drained_always = true;
  for (int i = 1; i < MONITORS; i++) {
    create(&all[i], table, (size_t)1 << (i == 1 ? 1 + test_below(3) : test_below(11)));
    all[i].drained_seldom = i % 2 ? 0 : 1 + (unsigned)test_below(100);
  }
}
static void destroy_all(one *all) {
  for (int i = 0; i < MONITORS; i++) nbc_monitor_destroy(all[i].monitor);
}

static void reports_are_the_same_with_all_rings(void) {
  static story s;
  nbc_table *table = table_with_a_link();
  for (int round = 0; round < test_rounds(200) && !test_bad; round++) {
    one all[MONITORS];
    create_all(all, table);
    memset(&s, 0, sizeof s);
    s.on = true;
    const int count = 20 + (int)test_below(MAX_EVENTS - 20);
    for (int i = 0; i < count; i++) s.e[i] = draw(&s), tell_all(all, &s.e[i]);
    compare_all(all, s.t_ns += 10);
    destroy_all(all);
  }
  nbc_table_free(table);
}

/* So long a ring that how far back a begin stands does not fit into 16 bits: other begins stand where the rest of
   that number points to. */
static void a_begin_may_stand_any_way_back(void) {
  nbc_table *table = table_with_a_link();
  one all[2];
  create(&all[0], table, 16);
  create(&all[1], table, (size_t)1 << 18);
  for (int k = 0; k < 2; k++) {
    nbc_recorder *const r = all[k].me;
    int64_t t_ns = 0;
    nbc_xfer_begin_at(r, 1, 2000, NBC_KIND_IRECV, NBC_PEER_SAME_NODE, t_ns);
    for (uint64_t i = 0; i < 65536; i++) {
      t_ns += 10;
      if (i % 2 == 0) nbc_xfer_begin_at(r, 2, 1000, NBC_KIND_ISEND, NBC_PEER_SAME_NODE, t_ns);
      else nbc_xfer_end_at(r, 2, t_ns);
    }
    nbc_xfer_end_at(r, 1, t_ns + 5);
  }
  nbc_report *a = NULL, *b = NULL;
  CHECK(nbc_monitor_report_at(all[0].monitor, 1000000, &a) == NBC_OK);
  CHECK(nbc_monitor_report_at(all[1].monitor, 1000000, &b) == NBC_OK);
  compare(a, b);
  CHECK(a->total.count == 32769 && a->problems[NBC_PROBLEM_never_ended] == 0 && all[0].seen == all[1].seen);
  nbc_report_free(a);
  nbc_report_free(b);
  for (int k = 0; k < 2; k++) nbc_monitor_destroy(all[k].monitor);
  nbc_table_free(table);
}

/* Another thread's clock is 1 ns ahead: it begins what the owner ends before, by their times. No such event keeps those
   behind it in the ring: not when it is full, and not when nobody sees any longer what the owner does. */
static void a_begin_after_its_end_keeps_nothing_in_the_ring(void) {
  one o;
  nbc_table *table = table_with_a_link();
  for (int is_full = 0; is_full < 2; is_full++) {
    create(&o, table, 16);
    nbc_foreign_begin_at(o.me, 1, 2000, NBC_KIND_IRECV, NBC_PEER_SAME_NODE, 1000);
    nbc_xfer_end_at(o.me, 1, 999);
    nbc_xfer_begin_at(o.me, 2, 2000, NBC_KIND_IRECV, NBC_PEER_SAME_NODE, 999);
    for (uint64_t i = 10; is_full && i < 50; i++) {
      nbc_xfer_begin_at(o.me, i, 2000, NBC_KIND_IRECV, NBC_PEER_SAME_NODE, 999);
      nbc_xfer_end_at(o.me, i, 999);
    }
    if (!is_full) {
      nbc_recorder_switch_at(o.me, false, 999);
      nbc_recorder_switch_at(o.me, true, 5000);
    }
    nbc_xfer_end_at(o.me, 2, 5001);
    nbc_report *r = NULL;
    CHECK(nbc_monitor_report_at(o.monitor, 6000, &r) == NBC_OK);
    CHECK(r->total.count == (is_full ? 42 : 2) && r->problems[NBC_PROBLEM_ended_before_begin] == 1);
    CHECK(r->total.case_count[2] == (is_full ? 1 : 2) && r->problems[NBC_PROBLEM_never_ended] == 0);
    nbc_report_free(r);
    nbc_monitor_destroy(o.monitor);
  }
  nbc_table_free(table);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(reports_are_the_same_with_all_rings);
  RUN(a_begin_may_stand_any_way_back);
  RUN(a_begin_after_its_end_keeps_nothing_in_the_ring);
  return TEST_END();
}
