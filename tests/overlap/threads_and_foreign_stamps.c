/* Several threads: each has its own C and N, sections of one name in two threads at once add up,
   transfers ended by another thread keep their owner's bounds, nothing is lost under load, and
   computation + call time = wall time for each. Real clock, no assumption on speed. */
#include "tests/pieces.h"
#include "tests/overlap/sim.h"
#include <pthread.h>
#include <sched.h>

#define ISEND NBC_KIND_ISEND, NBC_PEER_SAME_NODE

static void a_foreign_end_gives_the_owner_the_bounds_of_its_own_computation(void) {
  nbc_monitor_desc desc;
  memset(&desc, 0, sizeof desc);
  sim s = sim_create(1000, 1e-9, desc);
  nbc_recorder *worker;
  CHECK(nbc_recorder_attach_at(s.monitor, 0, &worker) == NBC_OK);
  nbc_call_enter_at(worker, NBC_KIND_OTHER, 0); /* a worker is in the library all the time */
  nbc_call_enter_at(s.me, NBC_KIND_ISEND, 100);
  nbc_xfer_begin_at(s.me, 1, 8, ISEND, 100);
  nbc_call_exit_at(s.me, 200);
  nbc_foreign_end_at(s.me, 1, 1500);               /* the owner computes: comp 1300, noncomp 100 */
  nbc_foreign_begin_at(s.me, 2, 8, ISEND, 1500);   /* begun and ended by the worker */
  nbc_call_enter_at(s.me, NBC_KIND_WAIT, 2000);
  nbc_foreign_end_at(s.me, 2, 3000);               /* comp 500, noncomp 1000 */
  nbc_call_exit_at(s.me, 3100);
  nbc_report *r = sim_report(&s, 4000);
  CHECK(r->total.count == 2 && r->total.case_count[1] == 2);
  CHECK(r->total.min_overlap_ns == 900 + 0);
  CHECK(r->total.max_overlap_ns == 1000 + 500);
  CHECK(r->thread_count == 2);
  for (size_t i = 0; i < 2; i++) CHECK(r->threads[i].wall_ns == 4000);
  CHECK(r->call_ns == 4000 + 100 + 1100 && r->comp_ns == 2800);
  nbc_report_free(r);
  sim_destroy(&s);
}

enum { THREADS = 4, ROUNDS = 3000 };
typedef struct shared {
  nbc_monitor *monitor;
  nbc_recorder *recorder[THREADS];
  uint64_t posted[THREADS], ended[THREADS]; /* owner i's transfers, ended by thread i + 1 */
  int64_t wall_ns[THREADS];
  int ready, finished;
} shared;
typedef struct job { shared *all; int index; } job;

static void *worker_main(void *arg) {
  const job *j = (const job *)arg;
  shared *all = j->all;
  const int me = j->index, left = (me + THREADS - 1) % THREADS;
  const nbc_clock *clock = nbc_monitor_clock(all->monitor);
  const int64_t start = nbc_clock_now_ns(clock);
  nbc_recorder *r = NULL;
  if (nbc_recorder_attach_at(all->monitor, start, &r) != NBC_OK) return NULL;
  __atomic_store_n(&all->recorder[me], r, __ATOMIC_RELEASE);
  __atomic_fetch_add(&all->ready, 1, __ATOMIC_ACQ_REL);
  while (__atomic_load_n(&all->ready, __ATOMIC_ACQUIRE) < THREADS) sched_yield();
  nbc_recorder *other = __atomic_load_n(&all->recorder[left], __ATOMIC_ACQUIRE);
  uint64_t done = 0;
  for (uint64_t i = 0; i < ROUNDS || done < ROUNDS;) {
    if (i < ROUNDS) {
      if (i % 100 == 0) nbc_section_begin(r, "step");
      nbc_call_enter(r, NBC_KIND_ISEND);
      nbc_xfer_begin(r, i, 64, ISEND);
      nbc_call_exit(r);
      if (i % 100 == 99) nbc_section_end(r, "step");
      __atomic_store_n(&all->posted[me], ++i, __ATOMIC_RELEASE);
    }
    const uint64_t posted = __atomic_load_n(&all->posted[left], __ATOMIC_ACQUIRE);
    for (; done < posted; done++) nbc_foreign_end(other, done);
    if (i >= ROUNDS) sched_yield();
  }
  const int64_t end = nbc_clock_now_ns(clock);
  all->wall_ns[me] = end - start;
  __atomic_fetch_add(&all->finished, 1, __ATOMIC_ACQ_REL);
  while (__atomic_load_n(&all->finished, __ATOMIC_ACQUIRE) < THREADS) sched_yield();
  nbc_recorder_detach_at(r, end > r->last_ns ? end : r->last_ns);
  return NULL;
}

static void threads_that_end_each_others_transfers_lose_nothing(void) {
  shared all;
  job jobs[THREADS];
  pthread_t threads[THREADS];
  nbc_monitor_desc desc;
  memset(&all, 0, sizeof all);
  memset(&desc, 0, sizeof desc);
  desc.ring_events = 64;
  CHECK(nbc_monitor_create(&desc, &all.monitor) == NBC_OK);
  for (int i = 0; i < THREADS; i++) {
    jobs[i].all = &all;
    jobs[i].index = i;
    pthread_create(&threads[i], NULL, worker_main, &jobs[i]);
  }
  nbc_report *r;
  for (int i = 0; i < 20; i++) { /* reports while others record */
    CHECK(nbc_monitor_report(all.monitor, &r) == NBC_OK);
    CHECK(r->total.min_overlap_ns <= r->total.max_overlap_ns && r->total.max_overlap_ns <= r->total.xfer_ns);
    nbc_report_free(r);
  }
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  CHECK(nbc_monitor_report(all.monitor, &r) == NBC_OK);
  CHECK(r->total.count == THREADS * ROUNDS);
  CHECK(r->problems[NBC_PROBLEM_foreign_lost] == 0);
  CHECK(r->problems[NBC_PROBLEM_never_ended] == 0);
  CHECK(r->problems[NBC_PROBLEM_end_unknown] == 0);
  CHECK(r->problems[NBC_PROBLEM_ended_before_begin] == 0); /* who ends has seen the begin */
  CHECK(r->section_count == 2 && r->sections[1].count == THREADS * ROUNDS / 100);
  CHECK(r->thread_count == THREADS);
  int64_t wall = 0, measured = 0;
  for (int i = 0; i < THREADS; i++) wall += r->threads[i].wall_ns, measured += all.wall_ns[i];
  CHECK(wall == measured);
  CHECK(r->comp_ns + r->call_ns == wall);
  nbc_report_free(r);
  nbc_monitor_destroy(all.monitor);
}

static void a_full_inbox_is_drained_by_who_stamps(void) {
  nbc_monitor_desc desc;
  memset(&desc, 0, sizeof desc);
  sim s = sim_create(10, 1, desc);
  for (uint64_t i = 0; i < 5000; i++) { /* the owner never drains meanwhile */
    nbc_foreign_begin_at(s.me, i, 10, ISEND, (int64_t)i);
    nbc_foreign_end_at(s.me, i, (int64_t)i + 100);
  }
  nbc_report *r = sim_report(&s, 10000);
  CHECK(r->total.count == 5000 && r->total.case_count[1] == 5000);
  CHECK(r->problems[NBC_PROBLEM_foreign_lost] == 0);
  nbc_report_free(r);
  sim_destroy(&s);
}

static void a_recorder_used_again_keeps_the_numbers_of_the_thread_before(void) {
  nbc_monitor_desc desc;
  memset(&desc, 0, sizeof desc);
  sim s = sim_create(10, 1, desc);
  nbc_recorder *again;
  nbc_xfer_end_only_at(s.me, 10, ISEND, 50);
  nbc_recorder_detach_at(s.me, 1000);
  CHECK(nbc_recorder_attach_at(s.monitor, 5000, &again) == NBC_OK);
  CHECK(again == s.me);
  nbc_call_enter_at(again, NBC_KIND_WAIT, 5500);
  nbc_call_exit_at(again, 5700);
  nbc_report *r = sim_report(&s, 6000);
  CHECK(r->total.count == 1);
  CHECK(r->comp_ns == 1000 + 500 + 300 && r->call_ns == 200 && r->wall_ns == 2000);
  nbc_report_free(r);
  sim_destroy(&s);
}

/* A thread begins a transfer and ends, or is switched off: other threads may compute meanwhile, so nothing is
   certain of it; one that is withdrawn by another thread is not counted. */
static void a_transfer_whose_thread_is_out_of_sight_claims_nothing(void) {
  for (int ends = 0; ends < 2; ends++) {
    nbc_monitor_desc desc;
    memset(&desc, 0, sizeof desc);
    sim s = sim_create(1000, 1e-9, desc);
    nbc_recorder *again = s.me;
    nbc_call_enter_at(s.me, NBC_KIND_ISEND, 0);
    for (uint64_t id = 1; id <= 3; id++) nbc_xfer_begin_at(s.me, id, 8, ISEND, 0);
    nbc_call_exit_at(s.me, 100);
    if (ends) {
      nbc_recorder_detach_at(s.me, 150);
      CHECK(nbc_recorder_attach_at(s.monitor, 5000, &again) == NBC_OK && again == s.me);
    } else {
      nbc_recorder_switch_at(s.me, false, 150);
      nbc_recorder_switch_at(s.me, true, 5000);
    }
    nbc_xfer_end_at(again, 1, 5000);
    nbc_foreign_end_at(s.me, 2, 5000);
    nbc_foreign_cancel(s.me, 3);
    nbc_report *r = sim_report(&s, INT64_C(4000000000000000000)); /* the cancel has the clock's time */
    CHECK(r->total.count == 2 && r->total.case_count[2] == 2 && r->problems[NBC_PROBLEM_cancelled] == 1);
    CHECK(r->total.min_overlap_ns == 0 && r->total.max_overlap_ns == 2000);
    nbc_report_free(r);
    sim_destroy(&s);
  }
}

/* A transfer may begin and end at one time, the end told by another thread: the begin comes first. */
static void an_own_begin_comes_before_a_foreign_end_of_the_same_time(void) {
  nbc_monitor_desc desc;
  memset(&desc, 0, sizeof desc);
  sim s = sim_create(1000, 1e-9, desc);
  nbc_call_enter_at(s.me, NBC_KIND_ISEND, 100);
  nbc_xfer_begin_at(s.me, 1, 8, ISEND, 150);
  nbc_foreign_end_at(s.me, 1, 150);
  nbc_call_exit_at(s.me, 200);
  nbc_report *r = sim_report(&s, 300);
  CHECK(r->total.count == 1 && r->problems[NBC_PROBLEM_end_unknown] == 0);
  nbc_report_free(r);
  sim_destroy(&s);
}

/* Told of by another thread before the owner ends it: the begin waits in the inbox, the end in the ring. */
static void a_foreign_begin_comes_before_its_own_end(void) {
  nbc_monitor_desc desc;
  memset(&desc, 0, sizeof desc);
  sim s = sim_create(1000, 1e-9, desc);
  nbc_foreign_begin_at(s.me, 1, 8, ISEND, 50);
  nbc_call_enter_at(s.me, NBC_KIND_WAIT, 100);
  nbc_xfer_end_at(s.me, 1, 150);
  nbc_call_exit_at(s.me, 200);
  nbc_report *r = sim_report(&s, 300);
  CHECK(r->total.count == 1 && r->problems[NBC_PROBLEM_end_unknown] == 0 && r->problems[NBC_PROBLEM_never_ended] == 0);
  nbc_report_free(r);
  sim_destroy(&s);
}

/* Cores' counters may be some ns apart. Another of the owner's transfers begins in between. */
static void a_begin_comes_before_its_end_though_their_clocks_differ(void) {
  for (int is_foreign_begin = 0; is_foreign_begin < 2; is_foreign_begin++) {
    nbc_monitor_desc desc;
    memset(&desc, 0, sizeof desc);
    sim s = sim_create(1000, 1e-9, desc);
    nbc_call_enter_at(s.me, NBC_KIND_ISEND, 100);
    nbc_xfer_begin_at(s.me, 2, 8, ISEND, 150);
    if (is_foreign_begin) {
      nbc_foreign_begin_at(s.me, 1, 8, ISEND, 152);
      nbc_xfer_end_at(s.me, 1, 151);
    } else {
      nbc_xfer_begin_at(s.me, 1, 8, ISEND, 151);
      nbc_foreign_end_at(s.me, 1, 149);
    }
    nbc_xfer_end_at(s.me, 2, 190);
    nbc_call_exit_at(s.me, 200);
    nbc_report *r = sim_report(&s, 300);
    CHECK(r->total.count == 2 && r->problems[NBC_PROBLEM_ended_before_begin] == 1);
    CHECK(r->problems[NBC_PROBLEM_end_unknown] == 0 && r->problems[NBC_PROBLEM_never_ended] == 0);
    CHECK(r->total.case_count[2] == 1 && r->total.min_overlap_ns == 0 && r->total.max_overlap_ns == 1000);
    nbc_report_free(r);
    sim_destroy(&s);
  }
}

/* Not knowing where the peer is, max rests on the slower table and min on the faster, whichever it is. */
static void an_unknown_peer_gets_the_slower_table_for_max_and_the_faster_for_min(void) {
  for (int slow = 0; slow < 2; slow++) {
    nbc_monitor_desc desc;
    nbc_table *tables[2];
    nbc_monitor *monitor;
    nbc_recorder *me;
    nbc_report *r;
    memset(&desc, 0, sizeof desc);
    for (int i = 0; i < 2; i++)
      CHECK(nbc_table_create_linear(i == slow ? 1000 : 100, 1e15, "measured", &tables[i]) == NBC_OK);
    desc.table_same_node = tables[0], desc.table_other_node = tables[1];
    CHECK(nbc_monitor_create(&desc, &monitor) == NBC_OK && nbc_recorder_attach_at(monitor, 0, &me) == NBC_OK);
    nbc_call_enter_at(me, NBC_KIND_ISEND, 0);
    nbc_xfer_begin_at(me, 1, 8, NBC_KIND_ISEND, NBC_PEER_UNKNOWN, 10);
    nbc_call_exit_at(me, 20);
    nbc_call_enter_at(me, NBC_KIND_WAIT, 2020);
    nbc_xfer_end_at(me, 1, 2060);
    nbc_call_exit_at(me, 2060);
    CHECK(nbc_monitor_report_at(monitor, 2060, &r) == NBC_OK);
    CHECK(r->total.xfer_ns == 1000 && r->total.max_overlap_ns == 1000);
    CHECK(r->total.min_overlap_ns == 100 - 50); /* 50 ns of the window are not computation */
    nbc_report_free(r);
    nbc_monitor_destroy(monitor);
    nbc_table_free(tables[0]), nbc_table_free(tables[1]);
  }
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(a_foreign_end_gives_the_owner_the_bounds_of_its_own_computation);
  RUN(a_full_inbox_is_drained_by_who_stamps);
  RUN(a_recorder_used_again_keeps_the_numbers_of_the_thread_before);
  RUN(threads_that_end_each_others_transfers_lose_nothing);
  RUN(a_transfer_whose_thread_is_out_of_sight_claims_nothing);
  RUN(an_own_begin_comes_before_a_foreign_end_of_the_same_time);
  RUN(a_foreign_begin_comes_before_its_own_end);
  RUN(a_begin_comes_before_its_end_though_their_clocks_differ);
  RUN(an_unknown_peer_gets_the_slower_table_for_max_and_the_faster_for_min);
  return TEST_END();
}
