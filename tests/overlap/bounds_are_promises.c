/* What is printed as certain holds whatever the network did: ends that were not seen, guessed tables,
   messages to oneself, the tool's own time, and streams of concurrent transfers over one link whose
   every byte is known. */
#include "tests/overlap/sim.h"

static nbc_monitor_desc plain;

/* 100 ns + 1 ns per byte, a link of 1 byte/ns, eager up to 1000 B. */
static nbc_table *table_of(const char *text) {
  nbc_table *table = NULL;
  nbc_error err;
  memset(&err, 0, sizeof err);
  CHECK(nbc_table_parse(text, strlen(text), "t", &table, &err) == NBC_OK);
  return table;
}
#define MEASURED "# eager_bytes 1000\n# tail_bytes 0\n# link_bytes_per_s 1e9\n0 1e-7\n1000000 1.0001e-3\n"

static nbc_recorder *monitor_with(nbc_monitor_desc desc, nbc_table *same, nbc_table *other, nbc_monitor **m) {
  nbc_clock clock;
  nbc_clock_desc clock_desc;
  nbc_recorder *r = NULL;
  memset(&clock_desc, 0, sizeof clock_desc);
  clock_desc.source = NBC_CLOCK_USER;
  clock_desc.now_ns = sim_clock;
  sim_now_ns = 0;
  CHECK(nbc_clock_create(&clock_desc, &clock) == NBC_OK);
  desc.clock = &clock;
  desc.table_same_node = same;
  desc.table_other_node = other;
  CHECK(nbc_monitor_create(&desc, m) == NBC_OK);
  CHECK(nbc_recorder_attach_at(*m, 0, &r) == NBC_OK);
  return r;
}
static nbc_report *report_of(nbc_monitor *m, int64_t t_ns) {
  nbc_report *r = NULL;
  CHECK(nbc_monitor_report_at(m, t_ns, &r) == NBC_OK);
  return r;
}

/* Three ends at times of their own, then two that share a call. */
static void the_ends_of_a_call_waited_no_longer_than_it_took(void) {
  nbc_monitor *m;
  nbc_recorder *r = monitor_with(plain, NULL, NULL, &m);
  nbc_call_enter_at(r, NBC_KIND_WAIT, 100);
  const int64_t t_ns[] = {150, 400, 300};
  for (uint64_t i = 0; i < 3; i++) nbc_xfer_begin_at(r, i, 8, NBC_KIND_ISEND, NBC_PEER_SAME_NODE, 100);
  for (uint64_t i = 0; i < 3; i++) nbc_xfer_end_at(r, i, t_ns[i]);
  nbc_call_exit_at(r, 500);
  nbc_report *report = report_of(m, 500);
  CHECK(report->total.waited_ns == 300);
  nbc_report_free(report);
  nbc_call_enter_at(r, NBC_KIND_WAIT, 600);
  nbc_call_shared(r, 2);
  for (uint64_t i = 0; i < 2; i++) nbc_xfer_begin_at(r, i, 8, NBC_KIND_ISEND, NBC_PEER_SAME_NODE, 600);
  for (uint64_t i = 0; i < 2; i++) nbc_xfer_end_at(r, i, 700);
  nbc_call_exit_at(r, 700);
  report = report_of(m, 700);
  CHECK(report->total.waited_ns == 300 + 100);
  nbc_report_free(report);
  nbc_monitor_destroy(m);
}

typedef enum ending { SEEN, LOCAL, EARLY, PARTS, SIZED, ONLY } ending;
typedef enum told { GIVEN, CLOCK, ABROAD } told; /* the time is given, or read; another thread tells */
#define TELL(at, now, foreign) ((by) == GIVEN ? (at) : (by) == CLOCK ? (now) : (foreign))
static void tell_end(nbc_recorder *r, uint64_t bytes, nbc_peer peer, int64_t t_ns, ending how, told by) {
  const nbc_kind kind = NBC_KIND_ISEND;
  sim_now_ns = t_ns;
  switch (how) {
  case SEEN: TELL(nbc_xfer_end_at(r, 1, t_ns), nbc_xfer_end(r, 1), nbc_foreign_end(r, 1)); break;
  case LOCAL: TELL(nbc_xfer_end_local_at(r, 1, t_ns), nbc_xfer_end_local(r, 1), nbc_foreign_end_local(r, 1)); break;
  case PARTS: TELL(nbc_xfer_end_parts_at(r, 1, t_ns), nbc_xfer_end_parts(r, 1), nbc_foreign_end_parts(r, 1)); break;
  case EARLY:
    TELL(nbc_xfer_end_early_at(r, 1, bytes, peer, t_ns), nbc_xfer_end_early(r, 1, bytes, peer), nbc_foreign_end_early(r, 1, bytes, peer));
    break;
  case SIZED:
    TELL(nbc_xfer_end_sized_at(r, 1, bytes / 2, peer, t_ns), nbc_xfer_end_sized(r, 1, bytes / 2, peer), nbc_foreign_end_sized(r, 1, bytes / 2, peer));
    break;
  case ONLY:
    TELL(nbc_xfer_end_only_at(r, bytes, kind, peer, t_ns), nbc_xfer_end_only(r, bytes, kind, peer), nbc_foreign_end_only(r, bytes, kind, peer));
    break;
  }
}
/* One transfer: posted in a call [0, 10], comp_ns of computation, ended in a call of 10. */
static nbc_totals one_told(nbc_table *same, nbc_table *other, uint64_t bytes, nbc_peer peer, int64_t comp_ns, ending how, told by) {
  const nbc_kind kind = NBC_KIND_ISEND;
  nbc_monitor *m;
  nbc_recorder *r = monitor_with(plain, same, other, &m);
  nbc_call_enter_at(r, kind, 0);
  if (how != ONLY)
    TELL(nbc_xfer_begin_at(r, 1, bytes, kind, peer, 0), nbc_xfer_begin(r, 1, bytes, kind, peer), nbc_foreign_begin(r, 1, bytes, kind, peer));
  nbc_call_exit_at(r, 10);
  nbc_call_enter_at(r, NBC_KIND_WAIT, 10 + comp_ns);
  tell_end(r, bytes, peer, 20 + comp_ns, how, by);
  nbc_call_exit_at(r, 20 + comp_ns);
  nbc_report *report = report_of(m, 20 + comp_ns);
  const nbc_totals t = report->total;
  CHECK(t.waited_ns == 10 || by == ABROAD);
  nbc_report_free(report);
  nbc_monitor_destroy(m);
  return t;
}
/* The same by all who may tell it. */
static nbc_totals one(nbc_table *same, nbc_table *other, uint64_t bytes, nbc_peer peer, int64_t comp_ns, ending how) {
  const nbc_totals t = one_told(same, other, bytes, peer, comp_ns, how, GIVEN);
  for (int by = CLOCK; by <= ABROAD; by++) {
    const nbc_totals u = one_told(same, other, bytes, peer, comp_ns, how, (told)by);
    CHECK(u.count == t.count && u.size_bytes == t.size_bytes && u.xfer_ns == t.xfer_ns && u.min_overlap_ns == t.min_overlap_ns &&
          u.max_overlap_ns == t.max_overlap_ns && memcmp(u.case_count, t.case_count, sizeof t.case_count) == 0);
  }
  return t;
}
#define IS(t, x, least, most, of)                                                                          \
  CHECK((t).xfer_ns == (x) && (t).min_overlap_ns == (least) && (t).max_overlap_ns == (most) && (t).case_count[of] == 1)

static void a_send_that_ended_may_not_have_arrived(void) {
  nbc_table *t = table_of(MEASURED);
  nbc_totals o = one(t, t, 500, NBC_PEER_SAME_NODE, 50, LOCAL); /* 600 ns, window 70 */
  IS(o, 600, 0, 600, 2);
  o = one(t, t, 500, NBC_PEER_SAME_NODE, 5000, LOCAL); /* eager: on its way when the window ends, maybe */
  IS(o, 600, 0, 600, 2);
  o = one(t, t, 5000, NBC_PEER_SAME_NODE, 6000, LOCAL); /* not eager */
  IS(o, 5100, 5080, 5100, 1);
  o = one(t, t, 5000, NBC_PEER_SAME_NODE, 60, LOCAL); /* not eager, but it cannot have arrived */
  IS(o, 5100, 0, 5100, 2);
  o = one(t, t, 500, NBC_PEER_SAME_NODE, 5000, SEEN);
  IS(o, 600, 580, 600, 1);
  o = one(t, t, 1000, NBC_PEER_SAME_NODE, 5000, SIZED); /* half of it came */
  IS(o, 600, 580, 600, 1);
  o = one(t, t, 500, NBC_PEER_SAME_NODE, 5000, ONLY);
  IS(o, 600, 0, 600, 2);
  nbc_table_free(t);
}

static void the_end_of_a_send_may_not_tell_of_its_last_bytes(void) {
  nbc_table *none = table_of("# eager_bytes 1000\n0 1e-7\n1000000 1.0001e-3\n");
  nbc_table *some = table_of("# eager_bytes 1000\n# tail_bytes 2000\n0 1e-7\n1000000 1.0001e-3\n");
  IS(one(none, none, 5000, NBC_PEER_SAME_NODE, 6000, LOCAL), 5100, 0, 5100, 2); /* nobody measured it */
  IS(one(some, some, 5000, NBC_PEER_SAME_NODE, 5090, LOCAL), 5100, 5100 - 2100 - 20, 5100, 1);
  IS(one(some, some, 1500, NBC_PEER_SAME_NODE, 5000, LOCAL), 1600, 0, 1600, 2); /* all of it is a tail */
  IS(one(some, none, 5000, NBC_PEER_UNKNOWN, 6000, LOCAL), 5100, 0, 5100, 2);
  IS(one(some, some, 5000, NBC_PEER_SAME_NODE, 6000, SEEN), 5100, 5080, 5100, 1);
  /* a transfer that began and ended in one call of 6000, and computation after it */
  nbc_monitor *m;
  nbc_recorder *r = monitor_with(plain, some, some, &m);
  nbc_call_enter_at(r, NBC_KIND_SEND, 0);
  nbc_xfer_begin_at(r, 1, 5000, NBC_KIND_SEND, NBC_PEER_SAME_NODE, 0);
  nbc_xfer_end_local_at(r, 1, 6000);
  nbc_xfer_begin_at(r, 2, 5000, NBC_KIND_BCAST, NBC_PEER_SAME_NODE, 0); /* of messages that nobody sees */
  nbc_xfer_end_parts_at(r, 2, 6000);
  nbc_call_exit_at(r, 6000);
  nbc_report *report = report_of(m, 7000);
  CHECK(report->total.max_overlap_ns == 2100 + 5100 && report->total.min_overlap_ns == 0 && report->total.case_count[2] == 2);
  nbc_report_free(report);
  nbc_monitor_destroy(m);
  nbc_table_free(none);
  nbc_table_free(some);
}

/* Long messages that are slower per byte than short ones: what may have moved outside of the window is its share of
   the transfer's time, not what a short message of that size takes. */
static void a_part_takes_its_share_of_a_slow_transfer(void) {
  nbc_table *t = table_of("# eager_bytes 1000\n# tail_bytes 1000\n0 1e-7\n1000 2e-7\n5000 40e-6\n");
  CHECK(nbc_table_part_ns(t, 5000, 1000) == 8001 && nbc_table_part_ns(t, 5000, 5000) == 40000);
  CHECK(nbc_table_part_ns(t, 900, 450) == 145 && nbc_table_part_ns(NULL, 5000, 1000) == 0);
  IS(one(t, t, 5000, NBC_PEER_SAME_NODE, 41000, LOCAL), 40000, 40000 - 8001 - 20, 40000, 1);
  nbc_monitor *m; /* 40,000 in calls, 1,000 of computation: all of a fifth, and 1,000 of the rest */
  nbc_recorder *r = monitor_with(plain, t, t, &m);
  nbc_call_enter_at(r, NBC_KIND_ISEND, 0);
  nbc_xfer_begin_at(r, 1, 5000, NBC_KIND_ISEND, NBC_PEER_SAME_NODE, 0);
  nbc_call_exit_at(r, 10);
  nbc_call_enter_at(r, NBC_KIND_WAIT, 1010);
  nbc_xfer_end_local_at(r, 1, 41000);
  nbc_call_exit_at(r, 41000);
  nbc_report *report = report_of(m, 41000);
  CHECK(report->total.max_overlap_ns == 1000 + 8001 && report->total.min_overlap_ns == 0);
  nbc_report_free(report);
  nbc_monitor_destroy(m);
  nbc_table_free(t);
}

/* Of messages of any size: each may leave before it has arrived, or come before it is asked for. */
static void the_messages_of_a_collective_may_all_be_eager(void) {
  nbc_table *t = table_of(MEASURED);
  IS(one(t, t, 50000, NBC_PEER_SAME_NODE, 60000, PARTS), 50100, 0, 50100, 2);
  IS(one(t, t, 50000, NBC_PEER_SAME_NODE, 60, PARTS), 50100, 0, 50100, 2);
  nbc_table_free(t);
}

static void a_receive_may_be_late(void) {
  nbc_table *t = table_of(MEASURED), *other = table_of("# eager_bytes 6000\n# tail_bytes 0\n0 1e-7\n1000000 1.0001e-3\n");
  nbc_totals o = one(t, t, 500, NBC_PEER_SAME_NODE, 50, EARLY); /* it was there before */
  IS(o, 600, 0, 600, 2);
  o = one(t, t, 500, NBC_PEER_SAME_NODE, 5000, EARLY); /* maybe, however long the window: others ended late */
  IS(o, 600, 0, 600, 2);
  o = one(t, t, 500, NBC_PEER_SAME_NODE, 0, EARLY);
  IS(o, 600, 0, 600, 2);
  IS(one(t, t, 0, NBC_PEER_SAME_NODE, 5000, EARLY), 100, 0, 100, 2); /* nothing but its envelope */
  IS(one(t, t, 0, NBC_PEER_SAME_NODE, 5000, LOCAL), 100, 0, 100, 2);
  IS(one(t, t, 0, NBC_PEER_SAME_NODE, 5000, SEEN), 100, 80, 100, 1);
  /* of a larger one 1000 bytes may have gone ahead, 1100 ns of it */
  IS(one(t, t, 5000, NBC_PEER_SAME_NODE, 6000, EARLY), 5100, 5100 - 1100 - 20, 5100, 1);
  IS(one(t, t, 50000, NBC_PEER_SAME_NODE, 6000, EARLY), 6020 + 1100, 0, 6020 + 1100, 1); /* faster than the table */
  IS(one(t, t, 50000, NBC_PEER_SAME_NODE, 0, EARLY), 20 + 1100, 0, 1100, 1);
  IS(one(t, other, 5000, NBC_PEER_UNKNOWN, 6000, EARLY), 5100, 0, 5100, 2); /* one of them */
  nbc_table_free(t);
  nbc_table_free(other);
}

/* Tables that were measured with messages say nothing of how fast a put may be. */
static void one_sided_operations_are_not_in_the_table(void) {
  static const nbc_kind kinds[] = {NBC_KIND_PUT, NBC_KIND_GET, NBC_KIND_ATOMIC, NBC_KIND_ISEND};
  nbc_table *t = table_of(MEASURED);
  for (size_t i = 0; i < 4; i++)
    for (int of_messages = 0; of_messages < 2; of_messages++) {
      nbc_monitor *m;
      nbc_monitor_desc desc = plain;
      desc.tables_of_messages = of_messages;
      nbc_recorder *r = monitor_with(desc, t, t, &m);
      nbc_call_enter_at(r, kinds[i], 0);
      nbc_xfer_begin_at(r, 1, 5000, kinds[i], NBC_PEER_SAME_NODE, 0);
      nbc_call_exit_at(r, 10);
      nbc_call_enter_at(r, NBC_KIND_WAIT, 6010);
      nbc_xfer_end_at(r, 1, 6020);
      nbc_xfer_begin_at(r, 2, 5000, kinds[i], NBC_PEER_SAME_NODE, 6020);
      nbc_call_exit_at(r, 6020);
      nbc_call_enter_at(r, NBC_KIND_WAIT, 6050); /* 30 of computation: enough for a very fast one */
      nbc_xfer_end_at(r, 2, 16020);
      nbc_call_exit_at(r, 16020);
      nbc_report *report = report_of(m, 16020);
      const bool off = of_messages && i < 3;
      CHECK(report->total.min_overlap_ns == (off ? 0 : 5080) && report->total.max_overlap_ns == 5100 + (off ? 5100 : 30));
      CHECK(report->joint_count == (off || i == 2 ? 0 : 1));
      nbc_report_free(report);
      nbc_monitor_destroy(m);
    }
  nbc_table_free(t);
}

static void no_minimum_without_a_measurement(void) {
  nbc_table *t = table_of(MEASURED), *fast = table_of("0 1e-8\n1000000 1e-8\n");
  CHECK(one(NULL, NULL, 100000, NBC_PEER_SAME_NODE, 1000000, SEEN).min_overlap_ns == 0);
  CHECK(one(NULL, NULL, 100000, NBC_PEER_OTHER_NODE, 1000000, SEEN).min_overlap_ns == 0);
  CHECK(one(t, NULL, 100000, NBC_PEER_SAME_NODE, 1000000, SEEN).min_overlap_ns == 100080);
  CHECK(one(t, NULL, 100000, NBC_PEER_UNKNOWN, 1000000, SEEN).min_overlap_ns == 0);
  CHECK(one(t, t, 100000, NBC_PEER_SELF, 1000000, SEEN).min_overlap_ns == 0);
  nbc_table *disturbed = table_of("# eager_bytes 1000\n# tail_bytes 0\n# disturbed by a test\n0 1e-7\n1000000 1.0001e-3\n");
  CHECK(one(disturbed, t, 100000, NBC_PEER_SAME_NODE, 1000000, SEEN).min_overlap_ns == 0);
  CHECK(one(disturbed, t, 100000, NBC_PEER_OTHER_NODE, 1000000, SEEN).min_overlap_ns == 100080);
  CHECK(one(disturbed, t, 100000, NBC_PEER_UNKNOWN, 1000000, SEEN).min_overlap_ns == 0);
  CHECK(one(t, disturbed, 100000, NBC_PEER_UNKNOWN, 1000000, SEEN).min_overlap_ns == 0);
  nbc_table_free(disturbed);
  const nbc_totals faster = one(t, t, 5000, NBC_PEER_SAME_NODE, 4000, SEEN); /* than the table: by how much? */
  CHECK(faster.xfer_ns == 4020 && faster.min_overlap_ns == 0 && faster.max_overlap_ns == 4020);
  /* a peer that is not known: the slower time, and the faster one as lower bound */
  const nbc_totals o = one(fast, t, 100000, NBC_PEER_UNKNOWN, 1000000, SEEN);
  CHECK(o.xfer_ns == 100100 && o.min_overlap_ns == 0 && o.max_overlap_ns == 100100);
  nbc_table_free(t);
  nbc_table_free(fast);
}

/* Whether a report of one transfer doubts its table, and how many notes it has. */
static int doubts(nbc_table *same, nbc_table *other, nbc_peer peer, int *notes) {
  nbc_monitor *m;
  nbc_recorder *r = monitor_with(plain, same, other, &m);
  nbc_call_enter_at(r, NBC_KIND_IRECV, 0);
  nbc_xfer_begin_at(r, 1, 5000, NBC_KIND_IRECV, peer, 0);
  nbc_call_exit_at(r, 10);
  nbc_report *report = report_of(m, 1000);
  const int result = report->table_is_default;
  *notes = (int)report->note_count;
  for (size_t i = 0; i < report->note_count; i++) CHECK(strstr(report->notes[i], "disturbed when it was measured (by a test)"));
  nbc_report_free(report);
  nbc_monitor_destroy(m);
  return result;
}
static void a_report_says_what_its_bounds_rest_on(void) {
  nbc_table *t = table_of(MEASURED), *disturbed = table_of("# disturbed by a test\n0 1e-7\n1000000 1.0001e-3\n");
  int notes;
  CHECK(doubts(NULL, NULL, NBC_PEER_SELF, &notes) && notes == 0);
  CHECK(doubts(NULL, t, NBC_PEER_SAME_NODE, &notes) && doubts(t, NULL, NBC_PEER_OTHER_NODE, &notes));
  CHECK(!doubts(t, NULL, NBC_PEER_SAME_NODE, &notes) && !doubts(NULL, t, NBC_PEER_OTHER_NODE, &notes)); /* nobody asked for the guess */
  CHECK(!doubts(t, NULL, NBC_PEER_UNKNOWN, &notes) && notes == 0); /* never ended: nothing is claimed */
  CHECK(!doubts(disturbed, t, NBC_PEER_SAME_NODE, &notes) && notes == 1);
  CHECK(!doubts(disturbed, disturbed, NBC_PEER_SAME_NODE, &notes) && notes == 1);
  nbc_table_free(t);
  nbc_table_free(disturbed);
}

static void own_cost_is_not_computation(void) {
  nbc_monitor_desc desc = plain;
  nbc_monitor *m;
  nbc_table *t = table_of(MEASURED);
  desc.call_cost_ns = 20;
  desc.event_cost_ns = 10;
  nbc_recorder *r = monitor_with(desc, t, t, &m);
  nbc_call_enter_at(r, NBC_KIND_ISEND, 0);
  nbc_xfer_begin_at(r, 1, 5000, NBC_KIND_ISEND, NBC_PEER_SAME_NODE, 0);
  nbc_call_exit_at(r, 10); /* owes 30 */
  nbc_call_enter_at(r, NBC_KIND_TEST, 100);
  nbc_call_exit_at(r, 5000); /* owes 20 */
  nbc_call_enter_at(r, NBC_KIND_WAIT, 5030);
  nbc_xfer_end_at(r, 1, 5300);
  nbc_call_exit_at(r, 5300); /* owes 30 */
  nbc_report *report = report_of(m, 5300);
  CHECK(report->total.max_overlap_ns == 60 + 10 && report->comp_ns == 70 && report->tool_ns == 50);
  CHECK(report->wall_ns == 5300);
  nbc_report_free(report);
  /* a gap of 10 where 30 were owed: it costs a third of what was said; no computation, none denied */
  nbc_call_enter_at(r, NBC_KIND_TEST, 5310);
  nbc_call_exit_at(r, 5400); /* owes 6 */
  nbc_call_enter_at(r, NBC_KIND_TEST, 5500);
  nbc_call_exit_at(r, 5500);
  report = report_of(m, 5500);
  CHECK(report->tool_ns == 50 + 10 + 6 && report->comp_ns == 70 + 94 && report->problems[NBC_PROBLEM_clock_backward] == 0);
  nbc_report_free(report);
  nbc_monitor_destroy(m);
  nbc_table_free(t);
}

/* It writes a report, say, when a call has ended: data may move meanwhile, and nobody computes. */
static void work_of_the_tool_hides_nothing(void) {
  nbc_monitor *m;
  nbc_table *t = table_of(MEASURED);
  nbc_recorder *r = monitor_with(plain, t, t, &m);
  nbc_call_tool(r, 1000); /* no call is open */
  nbc_call_tool(NULL, 1000);
  nbc_call_enter_at(r, NBC_KIND_ISEND, 0);
  nbc_xfer_begin_at(r, 1, 5000, NBC_KIND_ISEND, NBC_PEER_SAME_NODE, 0);
  nbc_call_tool(r, 4000);
  nbc_call_tool(r, -7);
  nbc_call_exit_at(r, 10);
  CHECK(nbc_recorder_comp_ns(r, 4010) == 0 && nbc_recorder_comp_ns(r, 4110) == 100);
  nbc_call_enter_at(r, NBC_KIND_WAIT, 5010);
  nbc_xfer_end_at(r, 1, 5300);
  nbc_call_exit_at(r, 5300);
  nbc_report *report = report_of(m, 5300);
  CHECK(report->tool_ns == 4000 && report->comp_ns == 1000 && report->total.max_overlap_ns == 1000);
  CHECK(report->total.min_overlap_ns <= report->total.xfer_ns - 4000);
  nbc_report_free(report);
  nbc_monitor_destroy(m);
  nbc_table_free(t);
}

/* ---- streams over one link, every byte known --------------------------------------------------- */
typedef struct flow {
  int64_t posted_ns, bytes, left, hidden_ns;
  bool posted, ended;
} flow;
enum { FLOWS = 48, LATENCY_NS = 100, STEP_NS = 1 };

/* Rounds of: post some, compute, wait for some or all. A link serves its flows in turn, when it
   serves at all: always, in calls only, or now and then. Each of `links` partners has its own link, as fast as what the
   table measured with `with` of them; the monitor knows how many these are, or not. */
static void stream(uint64_t seed_of_kind, int links, int with) {
  nbc_monitor *m;
  char text[200];
  snprintf(text, sizeof text, "# link_peers %d\n# eager_bytes 1000\n# tail_bytes 0\n# link_bytes_per_s %d\n0 1e-7\n1000000 1.0001e-3\n",
           with, with * 1000000000);
  nbc_table *t = table_of(text);
  nbc_monitor_desc desc = plain;
  desc.peers_same_node = test_below(3) ? (uint32_t)links : 0;
  nbc_recorder *r = monitor_with(desc, t, t, &m);
  flow f[FLOWS];
  memset(f, 0, sizeof f);
  const int most_at_once = 1 + (int)test_below(12);
  int next = 0, turn = 0, active = 0;
  bool served[4];
  int64_t now = 0, call_until = 0, comp_until = 0;
  bool in_call = false, wants_all = false;
  while (next < FLOWS || active) {
    if (!in_call && now >= comp_until) {
      nbc_call_enter_at(r, NBC_KIND_WAITALL, now);
      in_call = true;
      call_until = now + 1 + (int64_t)test_below(300);
      wants_all = active >= most_at_once || next == FLOWS || !test_below(4);
      for (int k = 0; k < 4 && next < FLOWS && active < most_at_once; k++, next++, active++) {
        f[next].posted_ns = now, f[next].posted = true;
        f[next].left = f[next].bytes = 1001 + (int64_t)test_below(4000);
        nbc_xfer_begin_at(r, (uint64_t)next + 1, (uint64_t)f[next].bytes, NBC_KIND_ISEND, NBC_PEER_OTHER_NODE, now);
      }
    }
    bool all_done = true;
    for (int i = 0; i < next; i++) all_done = all_done && (f[i].ended || f[i].left == 0);
    if (in_call && now >= call_until && (!wants_all || all_done)) {
      for (int i = 0; i < next; i++)
        if (!f[i].ended && f[i].left == 0) {
          nbc_xfer_end_local_at(r, (uint64_t)i + 1, now);
          f[i].ended = true, active--;
        }
      nbc_call_exit_at(r, now);
      in_call = false;
      comp_until = now + 1 + (int64_t)test_below(3000);
    }
    const bool serves = seed_of_kind == 0 || in_call || (seed_of_kind == 2 && now / 700 % 2);
    for (int i = 0; i < next; i++) /* latencies pass side by side */
      if (now < f[i].posted_ns + LATENCY_NS && !in_call) f[i].hidden_ns++;
    memset(served, 0, sizeof served);
    for (int k = 0; serves && k < next; k++) {
      flow *x = &f[(turn + k) % next];
      bool *const link = &served[(x - f) % links];
      if (x->left == 0 || now < x->posted_ns + LATENCY_NS || *link) continue;
      x->left--;
      x->hidden_ns += !in_call;
      *link = true;
    }
    if (next) turn = (turn + 1) % next;
    now++;
  }
  if (in_call) nbc_call_exit_at(r, now);
  int64_t truth = 0;
  for (int i = 0; i < FLOWS; i++) truth += f[i].hidden_ns;
  nbc_report *report = report_of(m, now);
  const nbc_totals *o = &report->total;
  CHECK(report->joint_count == 1 && !report->joints[0].incoming && report->joints[0].count == FLOWS);
  const nbc_joint *j = &report->joints[0];
  CHECK(o->min_overlap_ns <= truth && truth <= o->max_overlap_ns);
  CHECK(j->min_overlap_ns <= truth && truth <= j->max_overlap_ns);
  CHECK(j->min_overlap_ns >= o->min_overlap_ns && j->max_overlap_ns <= o->max_overlap_ns && j->xfer_ns == o->xfer_ns);
  nbc_report_free(report);
  nbc_monitor_destroy(m);
  nbc_table_free(t);
}
static void concurrent_transfers_share_their_link(void) {
  for (uint64_t i = 0; i < 90; i++) stream(i % 3, 1, 1);
}
static void more_partners_have_more_links(void) {
  for (uint64_t i = 0; i < 60; i++) stream(i % 3, 2 + (int)i % 3, 1 + (int)i % 2);
}
/* Four messages of 10 us, all under way for 40 us, of which 2 us are in calls: each for itself was hidden but for
   2 us, over one link together but for 2 us. */
static int64_t least_of_four(const char *more, uint32_t peers) {
  char text[300];
  nbc_monitor *m;
  nbc_monitor_desc desc = plain;
  snprintf(text, sizeof text, "%s%s", more, MEASURED);
  nbc_table *t = table_of(text);
  desc.peers_same_node = peers;
  nbc_recorder *r = monitor_with(desc, t, t, &m);
  nbc_call_enter_at(r, NBC_KIND_ISEND, 0);
  for (uint64_t i = 0; i < 4; i++) nbc_xfer_begin_at(r, i, 9900, NBC_KIND_IRECV, NBC_PEER_SAME_NODE, 0);
  nbc_call_exit_at(r, 1000);
  nbc_call_enter_at(r, NBC_KIND_WAITALL, 39000);
  for (uint64_t i = 0; i < 4; i++) nbc_xfer_end_at(r, i, 40000);
  nbc_call_exit_at(r, 40000);
  nbc_report *report = report_of(m, 40000);
  const int64_t least_ns = report->joint_count ? report->joints[0].min_overlap_ns : -1;
  nbc_report_free(report);
  nbc_monitor_destroy(m);
  nbc_table_free(t);
  return least_ns;
}
static void several_partners_are_not_one_link(void) {
  const int64_t alone_ns = 4 * (10000 - 2000), one_link_ns = 4 * 9900 - 2000;
  CHECK(least_of_four("", 1) == one_link_ns);
  CHECK(least_of_four("", 0) == alone_ns && least_of_four("", 4) == alone_ns && least_of_four("", 9) == alone_ns);
  CHECK(least_of_four("# link_peers 4\n", 0) == one_link_ns && least_of_four("# link_peers 5\n", 9) == one_link_ns);
  CHECK(least_of_four("# link_peers 3\n", 4) == alone_ns);
  CHECK(least_of_four("# disturbed yes\n", 1) == -1); /* no minimum from such a table, nor a rate */
}

/* 64 messages of 9,900 ns in flight, 100 ns of computation: each for itself may have hidden all of
   that; together they hid the 100 ns and what latencies passed in them. */
static void one_gap_is_not_hidden_64_times(void) {
  nbc_monitor *m;
  nbc_table *t = table_of(MEASURED);
  nbc_monitor_desc desc = plain;
  desc.peers_same_node = 1;
  nbc_recorder *r = monitor_with(desc, t, t, &m);
  nbc_call_enter_at(r, NBC_KIND_ISEND, 0);
  for (uint64_t i = 0; i < 64; i++) nbc_xfer_begin_at(r, i, 9900, NBC_KIND_IRECV, NBC_PEER_SAME_NODE, 0);
  nbc_call_exit_at(r, 1000);
  nbc_call_enter_at(r, NBC_KIND_WAITALL, 11000);
  for (uint64_t i = 0; i < 64; i++) nbc_xfer_end_at(r, i, 700000);
  nbc_call_exit_at(r, 700000);
  nbc_report *report = report_of(m, 700000);
  CHECK(report->total.max_overlap_ns == 64 * 10000);
  CHECK(report->joint_count == 1 && report->joints[0].incoming && report->joints[0].max_overlap_ns == 64 * 100 + 10000);
  nbc_report_free(report);
  nbc_monitor_destroy(m);
  nbc_table_free(t);
}

static void many_open_transfers_are_all_followed(void) {
  nbc_monitor_desc desc = plain;
  nbc_monitor *m;
  nbc_table *t = table_of(MEASURED);
  desc.max_transfers = 16;
  desc.grow_transfers = true;
  nbc_recorder *r = monitor_with(desc, t, t, &m);
  for (uint64_t i = 0; i < 20000; i++) nbc_xfer_begin_at(r, i * 7, 100, NBC_KIND_IRECV, NBC_PEER_SAME_NODE, (int64_t)i);
  for (uint64_t i = 0; i < 20000; i++) nbc_xfer_end_at(r, i * 7, 100000);
  nbc_report *report = report_of(m, 100000);
  CHECK(report->total.count == 20000 && report->total.case_count[2] == 0);
  for (int p = 0; p < NBC_PROBLEM_COUNT; p++) CHECK(report->problems[p] == 0);
  nbc_report_free(report);
  nbc_monitor_destroy(m);
  nbc_table_free(t);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(the_ends_of_a_call_waited_no_longer_than_it_took);
  RUN(a_send_that_ended_may_not_have_arrived);
  RUN(the_end_of_a_send_may_not_tell_of_its_last_bytes);
  RUN(a_part_takes_its_share_of_a_slow_transfer);
  RUN(the_messages_of_a_collective_may_all_be_eager);
  RUN(a_receive_may_be_late);
  RUN(one_sided_operations_are_not_in_the_table);
  RUN(no_minimum_without_a_measurement);
  RUN(a_report_says_what_its_bounds_rest_on);
  RUN(own_cost_is_not_computation);
  RUN(work_of_the_tool_hides_nothing);
  RUN(concurrent_transfers_share_their_link);
  RUN(more_partners_have_more_links);
  RUN(several_partners_are_not_one_link);
  RUN(one_gap_is_not_hidden_64_times);
  RUN(many_open_transfers_are_all_followed);
  return TEST_END();
}
