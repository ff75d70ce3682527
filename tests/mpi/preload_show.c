/* Reads reports and prints one line per section and kind: calls and transfers, summed over the
   files: what the test scripts compare. Usage: preload_show [-n: also notes and problems] FILE...
 */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#include <string.h>

static int add_file(nbc_report *sum, const char *path) {
  nbc_report *one;
  nbc_error err;
  memset(&err, 0, sizeof err);
  nbc_status status = nbc_report_read_json(path, &one, &err);
  if (status == NBC_OK) {
    status = nbc_report_add(sum, one, &err);
    nbc_report_free(one);
  }
  if (status != NBC_OK) fprintf(stderr, "%s: %s %s\n", path, nbc_status_text(status), err.text);
  return status == NBC_OK;
}

static void print_kind(const nbc_report *r, int section, nbc_kind kind) {
  uint64_t calls = 0, transfers = 0, bytes = 0;
  for (size_t i = 0; i < r->call_count; i++)
    if (r->calls[i].section_index == section && r->calls[i].kind == kind)
      calls += r->calls[i].count;
  for (size_t i = 0; i < r->cell_count; i++)
    if (r->cells[i].section_index == section && r->cells[i].kind == kind)
      transfers += r->cells[i].t.count, bytes += r->cells[i].t.size_bytes;
  if (calls || transfers)
    printf("%s%s%s calls %llu transfers %llu bytes %llu\n", r->sections[section].path,
           section ? " " : "", nbc_kind_name(kind), (unsigned long long)calls,
           (unsigned long long)transfers, (unsigned long long)bytes);
}

int main(int argc, char **argv) {
  nbc_report *sum;
  const int notes = argc > 1 && strcmp(argv[1], "-n") == 0;
  if (nbc_report_create(&sum) != NBC_OK) return 1;
  for (int i = 1 + notes; i < argc; i++)
    if (!add_file(sum, argv[i])) return 1;
  printf("processes %d\n", sum->process_count);
  for (size_t s = 0; s < sum->section_count; s++)
    for (int kind = 0; kind < NBC_KIND_COUNT; kind++) print_kind(sum, (int)s, (nbc_kind)kind);
  for (int p = 0; notes && p < NBC_PROBLEM_COUNT; p++)
    if (sum->problems[p] && p != NBC_PROBLEM_table_too_slow)
      printf("problem %s %llu\n", nbc_problem_name((nbc_problem)p),
             (unsigned long long)sum->problems[p]);
  for (size_t i = 0; notes && i < sum->note_count; i++) printf("note %s\n", sum->notes[i]);
  for (size_t i = 0; notes && i < sum->counter_count; i++)
    if (sum->counters[i].value != 0 && strcmp(sum->counters[i].name, "waited_for_a_core_ns") != 0 &&
        strcmp(sum->counters[i].name, "other_threads_ran_ns") != 0) /* as the machine is busy */
      printf("counter %s %g\n", sum->counters[i].name, sum->counters[i].value);
  nbc_report_free(sum);
  return 0;
}
