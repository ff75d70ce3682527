/* Transfers by the place where they began: of random streams, what stands at a place is what a monitor says that saw
   the transfers of this place only; all places together are what a monitor without places says. */
#include "tests/pieces.h"
#include "tests/overlap/sim.h"

enum { PLACES = 5, MOST = 64, ENOUGH = 8192 };

static const char *const calls[PLACES] = {"MPI_Isend", "MPI_Isend", "MPI_Irecv", "MPI_Start", "MPI_Isend"};
/* the same offset, but another call or another module */
static const uint64_t offsets[PLACES] = {100, 101, 101, 103, 100};
static uint32_t place_in(nbc_monitor *m, int i) {
  nbc_site where;
  memset(&where, 0, sizeof where);
  where.call = (char *)(uintptr_t)calls[i];
  where.module = (char *)(uintptr_t)(i == 4 ? "libother.so" : "program");
  where.symbol = (char *)(uintptr_t)"f";
  where.offset = offsets[i];
  return nbc_monitor_place(m, &where);
}
static int place_of(const nbc_report *r, const nbc_cell *c) { /* -1: none */
  if (!c->site_plus1) return -1;
  const nbc_site *s = &r->sites[c->site_plus1 - 1];
  for (int i = 0; i < PLACES; i++)
    if (strcmp(s->call, calls[i]) == 0 && strcmp(s->module, i == 4 ? "libother.so" : "program") == 0 &&
        s->offset == offsets[i])
      return i;
  return -2;
}

/* One step of a stream, and the place that it belongs to (-1: none, or of all). */
typedef struct step {
  int what, place;
  uint64_t id, bytes;
  nbc_kind kind;
  nbc_peer peer;
  int64_t t_ns, end_ns;
} step;
enum { ENTER, EXIT, BEGIN, BEGUN, FOREIGN, END, SIZED, FOREIGN_END, ONLY, CANCEL, STAMP, SECTION, SECTION_END };

static int make_stream(step *to, int most) {
  int64_t t_ns = 0;
  int n = 0, open[MOST], open_count = 0, depth = 0;
  int place[4 * MOST];
  uint64_t next = 0;
  while (n + 12 < most) {
    t_ns += (int64_t)test_below(test_below(3) ? 3000 : 40);
    if (test_below(9) == 0) {
      const bool ends = depth > 0 && test_below(2);
      to[n++] = (step){ends ? SECTION_END : SECTION, -1, test_below(2), 0, 0, 0, t_ns, 0};
      depth += ends ? -1 : 1;
      if (depth > 3) to[n - 1] = (step){SECTION_END, -1, 0, 0, 0, 0, t_ns, 0}, depth -= 2;
    }
    to[n++] = (step){ENTER, -1, 0, 0, NBC_KIND_WAIT, 0, t_ns, 0};
    for (int k = (int)test_below(4); k > 0; k--) {
      t_ns += (int64_t)test_below(400);
      if (test_below(2) && open_count < 8 && next < 4 * MOST) {
        const int whats[] = {BEGIN, BEGIN, BEGIN, BEGUN, ONLY, FOREIGN}, what = whats[test_below(next % 3 ? 6 : 5)];
        const int at = (int)test_below(PLACES + 1) - 1;
        place[next] = at;
        to[n++] = (step){what, at, next, test_below(9000), test_below(2) ? NBC_KIND_ISEND : NBC_KIND_IRECV,
                         test_below(2) ? NBC_PEER_SAME_NODE : NBC_PEER_OTHER_NODE, t_ns, 0};
        if (what != ONLY) open[open_count++] = (int)next;
        next++;
      } else if (open_count) {
        const int i = (int)test_below((uint64_t)open_count), id = open[i];
        /* when a cancel comes is not told exactly: only of what no other thread tells of */
        const int whats[] = {END, END, SIZED, FOREIGN_END, STAMP}, what = id % 3 ? whats[test_below(5)] : test_below(2) ? END : CANCEL;
        to[n++] = (step){what, place[id], (uint64_t)id, test_below(9000), 0, NBC_PEER_SAME_NODE,
                         what == STAMP ? t_ns - (int64_t)test_below(1000) : t_ns, t_ns};
        if (what != STAMP) open[i] = open[--open_count];
      }
    }
    t_ns += (int64_t)test_below(200);
    to[n++] = (step){EXIT, -1, 0, 0, 0, 0, t_ns, 0};
  }
  return n;
}

/* only: of this place (-1: of none); -2: all. */
static nbc_report *play(const step *steps, int n, int only, bool with_places, size_t max_cells) {
  nbc_monitor_desc desc;
  uint32_t number[PLACES];
  memset(&desc, 0, sizeof desc);
  desc.ring_events = 16;
  desc.history_calls = 512;
  desc.max_cells = max_cells;
  sim s = sim_create(300, 1, desc);
  for (int i = 0; i < PLACES; i++) number[i] = place_in(s.monitor, i);
  for (int i = 0; i < n; i++) {
    const step *x = &steps[i];
    static const char *const names[] = {"a", "b"};
    switch (x->what) {
    case ENTER: nbc_call_enter_at(s.me, x->kind, x->t_ns); continue;
    case EXIT: nbc_call_exit_at(s.me, x->t_ns), nbc__mon_drain(s.me); continue;
    case SECTION: nbc_section_begin_at(s.me, names[x->id], x->t_ns); continue;
    case SECTION_END: nbc_section_end_at(s.me, NULL, x->t_ns); continue;
    default: break;
    }
    if (only != -2 && x->place != only) continue;
    if (with_places) nbc_recorder_place(s.me, x->place < 0 ? 0 : number[x->place]);
    switch (x->what) {
    case BEGIN: nbc_xfer_begin_at(s.me, x->id, x->bytes, x->kind, x->peer, x->t_ns); break;
    case BEGUN: nbc_xfer_begun_at(s.me, x->id, x->bytes, x->kind, x->peer, x->t_ns); break;
    case FOREIGN: nbc_foreign_begin_at(s.me, x->id, x->bytes, x->kind, x->peer, x->t_ns); break;
    case END: nbc_xfer_end_at(s.me, x->id, x->t_ns); break;
    case SIZED: nbc_xfer_end_sized_at(s.me, x->id, x->bytes, x->peer, x->t_ns); break;
    case FOREIGN_END: nbc_foreign_end_at(s.me, x->id, x->t_ns); break;
    case ONLY: nbc_xfer_end_only_at(s.me, x->bytes, x->kind, x->peer, x->t_ns); break;
    case CANCEL: nbc_xfer_cancel(s.me, x->id); break;
    case STAMP: nbc_xfer_stamp(s.me, x->id, x->t_ns, x->end_ns, 0); break;
    default: CHECK(false);
    }
  }
  nbc_report *r = sim_report(&s, steps[n - 1].t_ns);
  sim_destroy(&s);
  return r;
}

/* Cells without their places: the totals of one key. waits: their time in calls too, which is shared with others. */
static nbc_totals total_of(const nbc_report *r, const nbc_report *from, const nbc_cell *key, int place) {
  nbc_totals t;
  memset(&t, 0, sizeof t);
  for (size_t i = 0; i < r->cell_count; i++) {
    const nbc_cell *c = &r->cells[i];
    if (strcmp(r->sections[c->section_index].path, from->sections[key->section_index].path) == 0 &&
        c->kind == key->kind && c->class_index == key->class_index && c->peer == key->peer &&
        (place == -2 || place_of(r, c) == place))
      nbc__rep_add_totals(&t, &c->t);
  }
  return t;
}
static bool same(nbc_totals a, nbc_totals b, bool with_waits) {
  if (!with_waits) a.waited_ns = b.waited_ns = 0;
  return memcmp(&a, &b, sizeof a) == 0;
}

static step steps[1200];
static void a_place_has_the_bounds_of_its_own_transfers(void) {
  for (int round = 0; round < 300 && !test_bad; round++) {
    const int n = make_stream(steps, 100 + (int)test_below(1000));
    nbc_report *r = play(steps, n, -2, true, ENOUGH);
    size_t seen = 0;
    for (int p = -1; p < PLACES; p++) {
      nbc_report *one = play(steps, n, p, false, ENOUGH);
      for (size_t i = 0; i < one->cell_count; i++)
        CHECK(same(total_of(r, one, &one->cells[i], p), one->cells[i].t, false));
      seen += one->total.count;
      nbc_report_free(one);
    }
    CHECK(seen == r->total.count);
    for (size_t i = 0; i < r->cell_count; i++) CHECK(place_of(r, &r->cells[i]) != -2);
    nbc_report_free(r);
  }
}
static void places_change_nothing_else(void) {
  uint64_t lost = 0;
  for (int round = 0; round < 300 && !test_bad; round++) {
    const int n = make_stream(steps, 100 + (int)test_below(1000));
    const size_t max_cells = round % 2 ? ENOUGH : 160; /* enough for all, not for all places */
    nbc_report *with = play(steps, n, -2, true, max_cells), *without = play(steps, n, -2, false, ENOUGH);
    CHECK(same(with->total, without->total, true));
    lost += with->problems[NBC_PROBLEM_places_overflow];
    CHECK(max_cells < ENOUGH || with->problems[NBC_PROBLEM_places_overflow] == 0);
    CHECK(with->problems[NBC_PROBLEM_cells_overflow] == 0);
    for (size_t i = 0; i < without->cell_count; i++)
      CHECK(same(total_of(with, without, &without->cells[i], -2), without->cells[i].t, true));
    CHECK(with->joint_count == without->joint_count);
    for (size_t i = 0; i < with->joint_count; i++)
      CHECK(memcmp(&with->joints[i], &without->joints[i], sizeof with->joints[i]) == 0);
    nbc_report_free(with);
    nbc_report_free(without);
  }
  CHECK(lost > 0);
}
/* Places are the first to go, and what would have had none of them is not counted under "other". */
static void without_room_the_place_is_lost_before_the_kind(void) {
  nbc_monitor_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.max_cells = 16;
  sim s = sim_create(300, 1, desc);
  nbc_site where;
  memset(&where, 0, sizeof where);
  where.call = (char *)(uintptr_t)"MPI_Isend";
  for (uint64_t i = 0; i < 100; i++) {
    where.offset = i;
    nbc_recorder_place(s.me, nbc_monitor_place(s.monitor, &where));
    nbc_xfer_end_only_at(s.me, 8, i % 2 ? NBC_KIND_ISEND : NBC_KIND_IRECV, NBC_PEER_SAME_NODE, (int64_t)i);
  }
  nbc_report *r = sim_report(&s, 100);
  uint64_t placed = 0, unplaced = 0;
  for (size_t i = 0; i < r->cell_count; i++) {
    CHECK(r->cells[i].kind != NBC_KIND_OTHER);
    *(r->cells[i].site_plus1 ? &placed : &unplaced) += r->cells[i].t.count;
  }
  CHECK(placed == 12 && unplaced == 88);
  CHECK(r->problems[NBC_PROBLEM_places_overflow] >= 2 && r->problems[NBC_PROBLEM_cells_overflow] == 0);
  nbc_report_free(r);
  sim_destroy(&s);
}

static void numbers_are_given_once_and_up_to_a_limit(void) {
  nbc_monitor_desc desc;
  memset(&desc, 0, sizeof desc);
  sim s = sim_create(300, 1, desc);
  for (int i = 0; i < PLACES; i++) CHECK(place_in(s.monitor, i) == (uint32_t)i + 1);
  for (int i = 0; i < PLACES; i++) CHECK(place_in(s.monitor, i) == (uint32_t)i + 1);
  nbc_site where;
  memset(&where, 0, sizeof where);
  CHECK(nbc_monitor_place(NULL, &where) == 0 && nbc_monitor_place(s.monitor, NULL) == 0);
  nbc_recorder_place(NULL, 1);
  for (uint64_t i = 0; i < 3000; i++) {
    where.offset = 1000 + i;
    CHECK(nbc_monitor_place(s.monitor, &where) == PLACES + 1 + i);
  }
  /* Numbers that nobody gave are no place. */
  nbc_recorder_place(s.me, 40000);
  nbc_xfer_end_only_at(s.me, 8, NBC_KIND_RECV, NBC_PEER_SAME_NODE, 10);
  nbc_recorder_place(s.me, 65536 + 1);
  nbc_xfer_end_only_at(s.me, 8, NBC_KIND_RECV, NBC_PEER_SAME_NODE, 10);
  nbc_report *r = sim_report(&s, 100);
  CHECK(r->site_count == 0 && r->total.count == 2);
  for (size_t i = 0; i < r->cell_count; i++) CHECK(r->cells[i].site_plus1 == 0);
  nbc_report_free(r);
  sim_destroy(&s);
}

/* Who takes over the recorder of a thread that ended is at no place. */
static void a_thread_begins_at_no_place(void) {
  nbc_monitor_desc desc;
  memset(&desc, 0, sizeof desc);
  sim s = sim_create(300, 1, desc);
  nbc_recorder_place(s.me, place_in(s.monitor, 0));
  nbc_recorder_detach_at(s.me, 50);
  CHECK(nbc_recorder_attach_at(s.monitor, 60, &s.me) == NBC_OK);
  nbc_xfer_end_only_at(s.me, 8, NBC_KIND_RECV, NBC_PEER_SAME_NODE, 70);
  nbc_report *r = sim_report(&s, 100);
  CHECK(r->cell_count == 1 && r->cells[0].site_plus1 == 0);
  nbc_report_free(r);
  sim_destroy(&s);
}

/* Processes that met the places in another order, or others: the sum has each once. */
static void adding_finds_the_same_places_again(void) {
  nbc_report *sum;
  CHECK(nbc_report_create(&sum) == NBC_OK);
  uint64_t counts[PLACES] = {0};
  for (int process = 0; process < 6; process++) {
    nbc_monitor_desc desc;
    memset(&desc, 0, sizeof desc);
    sim s = sim_create(300, 1, desc);
    for (int i = 0; i < 20; i++) {
      const int p = (int)test_below(PLACES);
      nbc_recorder_place(s.me, place_in(s.monitor, p));
      nbc_xfer_end_only_at(s.me, 8, NBC_KIND_RECV, NBC_PEER_SAME_NODE, i);
      counts[p]++;
    }
    nbc_report *one = sim_report(&s, 100);
    CHECK(nbc_report_add(sum, one, NULL) == NBC_OK);
    nbc_report_free(one);
    sim_destroy(&s);
  }
  for (size_t i = 0; i < sum->cell_count; i++) {
    const int p = place_of(sum, &sum->cells[i]);
    CHECK(p >= 0);
    CHECK(p < 0 || sum->cells[i].t.count == counts[p]);
    if (p >= 0) counts[p] = 0;
  }
  for (int p = 0; p < PLACES; p++) CHECK(counts[p] == 0);
  sum->cells[0].site_plus1 = (int)sum->site_count + 1;
  nbc_report *other;
  CHECK(nbc_report_create(&other) == NBC_OK);
  CHECK(nbc_report_add(other, sum, NULL) == NBC_E_INVAL);
  sum->cells[0].site_plus1 = -1;
  CHECK(nbc_report_add(other, sum, NULL) == NBC_E_INVAL);
  nbc_report_free(other);
  nbc_report_free(sum);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(a_place_has_the_bounds_of_its_own_transfers);
  RUN(places_change_nothing_else);
  RUN(without_room_the_place_is_lost_before_the_kind);
  RUN(numbers_are_given_once_and_up_to_a_limit);
  RUN(a_thread_begins_at_no_place);
  RUN(adding_finds_the_same_places_again);
  return TEST_END();
}
