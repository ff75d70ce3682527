/* Any bytes as the timelines of two processes, the second one behind a line "----": refused with a line, or read; what was
   read is matched, and who waited for whom and which call ended what is told without a time that no run can have. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void no_memory(void) { abort(); }
static void *must(void *memory) {
  if (!memory) no_memory();
  return memory;
}
static void plus(int64_t *sum, int64_t value) {
  if (__builtin_add_overflow(*sum, value, sum)) *sum = INT64_MAX;
}
static const char trace_reader[] = "fuzz_trace";
#include "tools/trace_read.h"
#include "tools/trace_match.h"
#include "tools/trace_waits.h"
#include "tools/trace_last.h"
#include "tools/trace_why.h"
#include "tools/trace_ends.h"

static void forget(timeline *t) {
  free(t->path), free(t->host), free(t->program), free(t->boot), free(t->unmatched), free(t->unordered), free(t->records);
  for (size_t i = 0; i < t->place_count; i++) free(t->places[i].call), free(t->places[i].module), free(t->places[i].symbol);
  free(t->places);
  for (size_t i = 0; i < 256; i++) free(t->name_list[i]);
  for (size_t i = 0; i < NBC_MAX_COUNTERS; i++) free(t->counter_list[i]);
}
static void forget_all(void) {
  for (size_t i = 0; i < traces.count; i++) {
    forget(&traces.of[i]);
    if (!matches.bounds) continue;
    free(matches.bounds[i]), free(matches.transfers[i]), free(matches.calls[i]), free(matches.messages[i]);
    free(matches.collectives[i]);
  }
  free(matches.bounds), free(matches.transfers), free(matches.transfer_count), free(matches.calls), free(matches.call_count);
  free(matches.messages), free(matches.messages_of), free(matches.collectives), free(matches.collectives_of);
  free(matches.sent), free(matches.received), free(traces.of);
  free(clocks.boot), free(clocks.facts), free(clocks.pairs), free(member_list.of);
  memset(&matches, 0, sizeof matches);
  memset(&clocks, 0, sizeof clocks);
  memset(&member_list, 0, sizeof member_list);
  memset(&traces, 0, sizeof traces);
}
static void read_one(const uint8_t *data, size_t size) {
  char path[64];
  bool bad = false;
  const int fd = memfd_create("timeline", 0);
  if (fd < 0 || write(fd, data, size) != (ssize_t)size) abort();
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  trace_add_file(path, &bad);
  if (bad) forget(&traces.of[traces.count]);
  close(fd);
}
static void add_last(void *unused, int rank, int partner, uint64_t count, int64_t waited_ns) {
  (void)unused;
  if (rank < 0 || partner < 0 || !count || waited_ns <= 0) abort();
}
static wait_sums *sums_of(void *sums, size_t timeline_index, size_t partner) {
  if (timeline_index >= traces.count || partner >= traces.count) abort();
  return (wait_sums *)sums;
}
/* Mostly a number of a record, which bytes alone would rarely make as large as it must not be, or as another one is. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
  static const int64_t limits[] = {0, 1, -1, INT64_MAX, INT64_MIN, INT64_MIN + 1, INT64_MAX / 2, INT32_MAX, 63, 1000000000};
  const size_t from = seed % 2 ? size / 2 : 0;
  const uint8_t *at = size > from ? (const uint8_t *)memmem(data + from, size - from, "\n\n", 2) : NULL;
  const size_t first = at ? (size_t)(at - data) + 2 : size, records = (size - first) / sizeof(trace_record);
  if (seed % 8 < 3 || !records) return LLVMFuzzerMutate(data, size, most);
  seed /= 8;
  uint8_t *const number = data + first + seed % records * sizeof(trace_record) + seed / 64 % 7 * 8;
  const int64_t *const to = &limits[seed / 1024 % (sizeof limits / sizeof *limits)];
  memcpy(number, seed % 3 ? (const uint8_t *)to : data + first + seed / 512 % records * sizeof(trace_record) + seed / 64 % 7 * 8, 8);
  return size;
}
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char between[] = "\n----\n";
  const uint8_t *second = (const uint8_t *)memmem(data, size, between, sizeof between - 1);
  const size_t first_bytes = second ? (size_t)(second - data) : size;
  nbc_report *report = NULL;
  wait_sums sums;
  memset(&sums, 0, sizeof sums);
  read_one(data, first_bytes);
  if (second) read_one(second + sizeof between - 1, size - first_bytes - (sizeof between - 1));
  trace_sort();
  if (traces.count) match_messages();
  if (traces.count >= 2) {
    if (nbc_report_create(&report) != NBC_OK) abort();
    wait_add_all(sums_of, &sums);
    last_add_all(add_last, NULL);
    const nbc_waits why = why_add_all();
    if (why.held_ns < 0 || why.late_ns < 0 || why.last_ns < 0 || why.computing_ns > why.moving_ns) abort();
    free(why.of);
    end_add_all(report);
    for (size_t i = 0; i < report->ending_count; i++)
      if (!report->endings[i].count || report->endings[i].waited_ns < 0) abort();
    nbc_report_free(report);
  }
  forget_all();
  return 0;
}
