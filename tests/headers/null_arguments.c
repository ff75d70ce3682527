/* NULL where a pointer is wanted, for every pointer of every function of nbc_overlap.h: never a crash. A
   function that returns a status returns NBC_E_INVAL, unless NULL means something there
   (tests/headers/null_allowed.list, one "function parameter" per line; an nbc_error * and what is the
   user's own may always be NULL). The cases are made from the header by null_arguments.awk; each runs in a process of its own. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#include "tests/test.h"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOTHING = 77 };
static int nothing(void) { return 0; } /* for a function of any type */
static _Alignas(64) char room[1 << 20]; /* what has no valid object below */
static const uint64_t ones[64] = {1, 1, 1, 1, 1, 1, 1, 1};
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

#include NULL_CASES

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
      nbc_recorder_attach(v_nbc_monitor, &v_nbc_recorder) || nbc_report_create(&v_nbc_report) ||
      nbc_table_create_linear(1000, 1e9, NULL, &v_nbc_table) || nbc_threads_create(&threads, &v_nbc_threads))
    abort();
  v_nbc_transport = nbc_threads_rank(v_nbc_threads, 0);
  comm.transport = v_nbc_transport;
  if (nbc_comm_create(&comm, &v_nbc_comm, NULL) || nbc_coll_init(v_nbc_comm, &args, &v_nbc_request) ||
      nbc_schedule_build(&schedule, &v_nbc_schedule, NULL) || nbc_relation_init(&relation, &clocks) ||
      nbc_sync_create(v_nbc_transport, &sync, &v_nbc_sync, NULL) || nbc_progress_create(&progress, &v_nbc_progress, NULL))
    abort();
}

static bool may_be_null(const char *function, const char *parameter) {
  char line[128], wanted[128];
  FILE *list;
  bool found = strcmp(parameter, "err") == 0 || strcmp(parameter, "user") == 0;
  if (!(list = fopen("tests/headers/null_allowed.list", "r"))) abort();
  snprintf(wanted, sizeof wanted, "%s %s\n", function, parameter);
  while (!found && fgets(line, sizeof line, list)) found = strcmp(line, wanted) == 0;
  fclose(list);
  return found;
}

static void null_is_answered_everywhere(void) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int how = 0;
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      _exit(-cases[i].call() & 0xff); /* statuses are negative */
    }
    if (child < 0 || waitpid(child, &how, 0) != child) abort();
    const bool crashed = !WIFEXITED(how), status = !crashed && WEXITSTATUS(how) != (-NOTHING & 0xff);
    const bool refused = !crashed && WEXITSTATUS(how) == -NBC_E_INVAL;
    if (crashed) printf("  %s: %s is NULL: signal %d\n", cases[i].function, cases[i].parameter, WTERMSIG(how));
    CHECK(!crashed);
    if (crashed || !status || may_be_null(cases[i].function, cases[i].parameter)) continue;
    if (!refused)
      printf("  %s: %s is NULL: status %d\n", cases[i].function, cases[i].parameter, -WEXITSTATUS(how));
    CHECK(refused);
  }
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  make_objects();
  RUN(null_is_answered_everywhere);
  return TEST_END();
}
