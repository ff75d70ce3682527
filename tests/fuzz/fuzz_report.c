/* Any bytes as a report: refused with a line, or taken; what was taken keeps its promises (indexes in
   range, min <= max <= time), survives writing and reading unchanged, and can be added, compared and
   printed. */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#include <stdlib.h>
#include <string.h>

static void check_totals(const nbc_totals *t) {
  if (t->min_overlap_ns < 0 || t->min_overlap_ns > t->max_overlap_ns || t->max_overlap_ns > t->xfer_ns) abort();
  if (t->exact_lo_ns < 0 || t->exact_lo_ns > t->exact_hi_ns) abort();
}

static void check_report(const nbc_report *r) {
  check_totals(&r->total);
  if (r->section_count < 1 || r->class_edge_count >= NBC_MAX_CLASSES) abort();
  for (size_t i = 0; i < r->section_count; i++)
    if (!r->sections[i].path || r->sections[i].parent_index >= (int)i) abort();
  for (size_t i = 0; i < r->cell_count; i++) {
    const nbc_cell *c = &r->cells[i];
    check_totals(&c->t);
    if (c->section_index < 0 || (size_t)c->section_index >= r->section_count) abort();
    if (c->class_index < 0 || (size_t)c->class_index > r->class_edge_count) abort();
  }
  for (size_t i = 0; i < r->call_count; i++)
    if (r->calls[i].section_index < 0 || (size_t)r->calls[i].section_index >= r->section_count) abort();
  for (size_t i = 0; i < r->ending_count; i++) {
    const nbc_ending *e = &r->endings[i];
    if (e->begin_plus1 < 1 || (size_t)e->begin_plus1 > r->site_count) abort();
    if (e->end_plus1 < 1 || (size_t)e->end_plus1 > r->site_count || e->waited_ns < 0) abort();
  }
  for (size_t i = 0; i < r->counter_count; i++)
    if (!r->counters[i].name || (size_t)r->counters[i].section_index >= r->section_count) abort();
}

static char *json_of(const nbc_report *r, size_t *size) {
  char *text = NULL;
  FILE *out = open_memstream(&text, size);
  if (!out || nbc_report_write_json(r, out) != NBC_OK || fclose(out) != 0) abort();
  return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  nbc_error err;
  nbc_report *r = NULL, *again = NULL, *sum = NULL;
  memset(&err, 0, sizeof err);
  if (nbc_report_parse_json((const char *)data, size, "input", &r, &err) != NBC_OK) {
    if (r || err.line < 1 || !err.text[0]) abort();
    return 0;
  }
  check_report(r);
  size_t size1, size2;
  char *one = json_of(r, &size1);
  if (nbc_report_parse_json(one, size1, "again", &again, &err) != NBC_OK) abort();
  char *two = json_of(again, &size2);
  if (size1 != size2 || memcmp(one, two, size1) != 0) abort();
  FILE *out = fopen("/dev/null", "w");
  if (nbc_report_create(&sum) != NBC_OK || !out) abort();
  const nbc_status added = nbc_report_add(sum, r, &err);
  if (added != NBC_OK && added != NBC_E_MISMATCH) abort();
  if (added == NBC_OK && nbc_report_add(sum, again, &err) == NBC_OK) check_report(sum);
  if (nbc_report_write_text(sum, out) != NBC_OK || nbc_report_write_text(r, out) != NBC_OK) abort();
  if (nbc_report_write_diff(r, again, out) != NBC_OK) abort();
  fclose(out);
  free(one);
  free(two);
  nbc_report_free(sum);
  nbc_report_free(again);
  nbc_report_free(r);
  return 0;
}
