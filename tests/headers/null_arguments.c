/* NULL where a pointer is wanted, for every pointer of every function of nbc_overlap.h: never a crash. A
   function that returns a status returns NBC_E_INVAL, unless NULL means something there
   (tests/headers/null_allowed.list, one "function parameter" per line; an nbc_error * and what is the
   user's own may always be NULL). The cases are made from the header by null_arguments.awk, with arguments that are not refused without the NULL; each runs in a process of its own. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#include "tests/test.h"

enum { NOTHING = 77, SOMETHING = 78 }; /* what is no status: a pointer is NULL then */
static int nothing(void) { return 0; } /* for a function of any type */
static _Alignas(64) char room[1 << 20]; /* what has no valid object below */
static const uint64_t ones[64] = {1, 1, 1, 1, 1, 1, 1, 1};
static double numbers[64];
static const int nobody[1] = {0};
static const nbc_schedule *schedules[1];
static nbc_report *another_report;
static nbc_request *requests[1];
static FILE *v_file;
static nbc_clock *v_nbc_clock;
static nbc_monitor *v_nbc_monitor;
static nbc_recorder *v_nbc_recorder;
static nbc_report *v_nbc_report;
static nbc_table *v_nbc_table;
static nbc_transport *v_nbc_transport;
static nbc_threads *v_nbc_threads;
static nbc_op *v_nbc_op;
static nbc_comm *v_nbc_comm;
static nbc_request *v_nbc_request;
static nbc_neighbors *v_nbc_neighbors; /* itself: with nobody no buffer is needed */
static nbc_coll_args *v_nbc_coll_args;
static nbc_progress *v_nbc_progress;
static nbc_schedule *v_nbc_schedule;
static nbc_schedule_desc *v_nbc_schedule_desc;
static nbc_sync *v_nbc_sync;
static nbc_relation *v_nbc_relation;
static nbc_relation_desc *v_nbc_relation_desc;
static nbc_comm_desc *v_nbc_comm_desc;
static nbc_progress_desc *v_nbc_progress_desc;
static nbc_nic_watch_desc *v_nbc_nic_watch_desc;
static nbc_nic_watch *v_nbc_nic_watch;
static nbc_overlap_times *v_nbc_overlap_times;
static nbc_model *v_nbc_model;
static nbc_model_loggp *v_nbc_model_loggp;
static nbc_dedicated_input *v_nbc_dedicated_input;

#include NULL_CASES
#include "tests/headers/null_arguments.h"

static nbc_status read_clock(void *ctx, int64_t *t_before_ns, uint64_t *ticks,
                             int64_t *t_after_ns) {
  (void)ctx;
  *t_before_ns = *t_after_ns = nbc_clock_now_ns(v_nbc_clock), *ticks = (uint64_t)*t_before_ns;
  return NBC_OK;
}
static nbc_status next_stamp(void *ctx, nbc_nic_stamp *stamp) {
  (void)ctx, (void)stamp;
  return NBC_PENDING;
}

/* Structs that are read, with values that are allowed. */
static void make_values(void) {
  static const nbc_nic nic = {
      .name = "nic", .nominal_hz = 1e9, .read_clock = read_clock, .next_stamp = next_stamp};
  static nbc_relation_desc relation;
  static nbc_comm_desc comm;
  static nbc_progress_desc progress = {.policy = NBC_POLICY_TIMER};
  static nbc_nic_watch_desc watch = {.nic = &nic};
  static nbc_overlap_times times = {1, 1, 1, 3, 1, 1, 1, 0};
  static nbc_model model;
  static nbc_model_loggp loggp;
  static nbc_dedicated_input input = {.core_count = 2, .comp_s = 1};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) numbers[i] = 1 + (double)i;
  relation = nbc_relation_crystal(1e9);
  comm.transport = v_nbc_transport, watch.recorder = v_nbc_recorder;
  model.range_count = loggp.range_count = loggp.time.range_count = loggp.gap.range_count = 1;
  v_nbc_relation_desc = &relation, v_nbc_comm_desc = &comm, v_nbc_progress_desc = &progress,
  v_nbc_nic_watch_desc = &watch;
  v_nbc_overlap_times = &times, v_nbc_model = &model, v_nbc_model_loggp = &loggp,
  v_nbc_dedicated_input = &input;
  schedules[0] = v_nbc_schedule, requests[0] = v_nbc_request;
  if (nbc_nic_watch_create(&watch, &v_nbc_nic_watch)) abort();
}

static void make_objects(void) {
  static nbc_clock clock;
  static nbc_op op;
  static nbc_coll_args args;
  static nbc_schedule_desc schedule;
  static nbc_relation relation;
  static const int itself[] = {0};
  static nbc_neighbors neighbors = {itself, itself, 1, 1};
  nbc_threads_desc threads = {.size = 1};
  nbc_comm_desc comm = {0};
  nbc_progress_desc progress = {.policy = NBC_POLICY_TIMER};
  nbc_monitor_desc monitor = {0};
  nbc_sync_desc sync = {0};
  const nbc_relation_desc clocks = nbc_relation_crystal(1e9);
  args.coll = NBC_COLL_BARRIER;
  schedule.coll = NBC_COLL_BARRIER, schedule.size = 1;
  v_file = tmpfile();
  v_nbc_clock = &clock, v_nbc_op = &op, v_nbc_coll_args = &args, v_nbc_schedule_desc = &schedule;
  v_nbc_relation = &relation, v_nbc_neighbors = &neighbors;
  if (!v_file || nbc_clock_create(NULL, &clock) || nbc_monitor_create(&monitor, &v_nbc_monitor) ||
      nbc_recorder_attach(v_nbc_monitor, &v_nbc_recorder) || nbc_report_create(&v_nbc_report) || nbc_report_create(&another_report) ||
      nbc_table_create_linear(1000, 1e9, NULL, &v_nbc_table) || nbc_threads_create(&threads, &v_nbc_threads))
    abort();
  v_nbc_transport = nbc_threads_rank(v_nbc_threads, 0);
  comm.transport = v_nbc_transport;
  if (nbc_comm_create(&comm, &v_nbc_comm, NULL) || nbc_coll_init(v_nbc_comm, &args, &v_nbc_request) ||
      nbc_schedule_build(&schedule, &v_nbc_schedule, NULL) || nbc_relation_init(&relation, &clocks) ||
      nbc_sync_create(v_nbc_transport, &sync, &v_nbc_sync, NULL) || nbc_progress_create(&progress, &v_nbc_progress, NULL))
    abort();
  make_values();
}

static void null_is_answered_everywhere(void) {
  static const null_rule rule = {{"err", "user"}, {NBC_E_INVAL, NBC_E_INVAL}, {"nbc_recv", "nbc_table_measure", "nbc_model_measure"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    null_is_answered(&rule, cases[i].function, cases[i].parameter, cases[i].call);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  make_objects();
  RUN(null_is_answered_everywhere);
  return TEST_END();
}
