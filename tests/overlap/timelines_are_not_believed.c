/* What a timeline says of itself is believed as far as it can be so: ranks and times in range, records within them. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#include "tests/test.h"
#include <unistd.h>

static void *must(void *memory) {
  if (!memory) exit(1);
  return memory;
}
static const char trace_reader[] = "timelines_are_not_believed";
#include "tools/trace_read.h"

static char path[] = "/tmp/nbc_timeline_XXXXXX";
static trace_record record;
/* What was read last, or refused. */
static void forget(void) {
  if (traces.of) {
    timeline *const t = &traces.of[0];
    free(t->path), free(t->host), free(t->program), free(t->boot), free(t->unmatched), free(t->unordered), free(t->records);
  }
  free(traces.of);
  memset(&traces, 0, sizeof traces);
}
/* One of a collective, with another line in the place of one. ret whether it was read */
enum { RANK, SIZE, PID, CLOCK, CLOCK_END, RAW, RAW_END, LINES };
static bool is_read(int at, const char *other) {
  static const char *const lines[LINES] = {"rank 1", "size 2", "pid 7", "clock 0 5", "clock 1000 1005", "raw 0 10 3", "raw 1000 1010 3"};
  const uint16_t one = 1;
  bool bad = false;
  FILE *out = fopen(path, "w");
  CHECK(out != NULL);
  fprintf(out, "%s %s\n", TRACE_FIRST_LINE, *(const unsigned char *)&one ? "01000000" : "00000001");
  for (int i = 0; i < LINES; i++) fprintf(out, "%s\n", i == at ? other : lines[i]);
  fputs("seen 1\nrecords 1\n\n", out);
  fwrite(&record, sizeof record, 1, out);
  fclose(out);
  forget();
  trace_add_file(path, &bad);
  return !bad && traces.count == 1;
}
static void ranks_and_times_are_in_range(void) {
  record = (trace_record){.begin_ns = 10, .end_ns = 20, .min_overlap_ns = 1, .what = TRACE_COLLECTIVE};
  CHECK(is_read(RANK, "rank 2147483646") && is_read(LINES, ""));
  CHECK(traces.of[0].rank == 1 && traces.of[0].record_count == 1);
  CHECK(!is_read(RANK, "rank -1") && !is_read(RANK, "rank 2147483647") && !is_read(RANK, "rank 1000000000000000000"));
  CHECK(!is_read(SIZE, "size -1") && !is_read(PID, "pid 99999999999"));
  CHECK(!is_read(CLOCK, "clock 0 -1") && !is_read(CLOCK_END, "clock 1000 9223372036854775807"));
  CHECK(!is_read(CLOCK_END, "clock 4611686018427387904 1005"));
  CHECK(!is_read(RAW, "raw 0 10 -1") && !is_read(RAW, "raw 0 10 9223372036854775807"));
  CHECK(!is_read(RAW_END, "raw 1000 4611686018427387904 3"));
}
static void records_are_in_range(void) {
  static const int64_t wrong[] = {INT64_MIN, -1, (int64_t)INT32_MAX + 1, INT64_MAX};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    record.min_overlap_ns = wrong[i];
    CHECK(is_read(LINES, "") && traces.of[0].record_count == 0);
  }
  record.min_overlap_ns = 2;
  record.end_ns = 1001;
  CHECK(is_read(LINES, "") && traces.of[0].record_count == 0);
}
/* However short the time is in which two clocks were compared. */
static void other_clocks_stay_in_range(void) {
  const int64_t from_ns[2] = {0, 1}, to_ns[2] = {0, trace_most_ns};
  CHECK(trace_between(trace_most_ns, from_ns, to_ns) == trace_most_ns);
  CHECK(trace_between(-trace_most_ns, from_ns, to_ns) == -trace_most_ns);
  CHECK(trace_between(0, from_ns, to_ns) == 0);
}
int main(int argc, char **argv) {
  (void)trace_sort, (void)trace_is_one_boot, (void)trace_err_ns, (void)trace_own_ns, (void)trace_plus, (void)trace_raw_ns; /* the rest of the file */
  test_init(argc, argv);
  const int fd = mkstemp(path);
  CHECK(fd >= 0);
  close(fd);
  RUN(ranks_and_times_are_in_range);
  RUN(records_are_in_range);
  RUN(other_clocks_stay_in_range);
  forget();
  unlink(path);
  return test_end();
}
