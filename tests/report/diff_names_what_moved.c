/* The comparison of two reports: what moved most comes first, sections are matched by path, and what
   makes the two hard to compare is said. */
#include "src/overlap/report.c"
#include "tests/pieces.h"
#include "tests/test.h"

static void add(nbc_report *r, const char *section, nbc_kind kind, int class_index, int64_t xfer_ns, int64_t min_ns,
                int64_t max_ns) {
  nbc_cell c;
  memset(&c, 0, sizeof c);
  c.kind = kind;
  c.class_index = class_index;
  c.peer = NBC_PEER_OTHER_NODE;
  c.t.count = 1, c.t.size_bytes = 1000;
  c.t.xfer_ns = xfer_ns, c.t.min_overlap_ns = min_ns, c.t.max_overlap_ns = max_ns;
  if (!nbc__rep_add_cell(r, &c, nbc__rep_section(r, section, 0), NULL)) abort();
  nbc_call call = {nbc__rep_section(r, section, 0), kind, 1, xfer_ns / 2, xfer_ns / 2, xfer_ns / 2};
  if (!nbc__rep_add_call(r, &call, call.section_index)) abort();
}

static nbc_report *make(const char *program) {
  nbc_report *r;
  if (nbc_report_create(&r) != NBC_OK || nbc_report_set(&r->program, program) != NBC_OK) abort();
  r->class_edges_bytes[0] = 4096;
  r->class_edge_count = 1;
  r->wall_ns = 1000000000, r->comp_ns = 600000000, r->call_ns = 400000000;
  return r;
}

static char *diff(const nbc_report *before, const nbc_report *after, nbc_status expected) {
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  if (!out) abort();
  CHECK(nbc_report_write_diff(before, after, out) == expected);
  fclose(out);
  return text;
}

/* The line that starts (after spaces) with this, or "". */
static const char *line_of(const char *text, const char *start) {
  static char line[256];
  line[0] = 0;
  for (const char *p = text; p && *p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL) {
    const char *q = p + strspn(p, " ");
    if (strncmp(q, start, strlen(start)) != 0) continue;
    snprintf(line, sizeof line, "%.*s", (int)strcspn(q, "\n"), q);
    break;
  }
  return line;
}

static void biggest_change_first(void) {
  nbc_report *before = make("old"), *after = make("new");
  add(before, "halo", NBC_KIND_ISEND, 1, 100000000, 0, 10000000);
  add(before, "solve", NBC_KIND_ISEND, 1, 50000000, 0, 10000000);
  add(before, "gone", NBC_KIND_SEND, 0, 1000000, 0, 0);
  add(after, "fresh", NBC_KIND_IRECV, 0, 2000000, 0, 0); /* another index than in `before` */
  add(after, "solve", NBC_KIND_ISEND, 1, 50000000, 0, 15000000);
  add(after, "halo", NBC_KIND_ISEND, 1, 100000000, 90000000, 99000000);
  char *text = diff(before, after, NBC_OK);
  const char *halo = strstr(text, "\n  halo"), *solve = strstr(text, "\n  solve"), *fresh = strstr(text, "\n  fresh"),
             *gone = strstr(text, "\n  gone");
  CHECK(halo && solve && fresh && gone && halo < solve && solve < fresh && fresh < gone);
  CHECK_STR(line_of(text, "halo"), "halo                            90.0 ms    1.00 ms    -89.0 ms     0.0 ..  10.0 %    90.0 ..  99.0 %");
  CHECK(strstr(line_of(text, "gone"), "no transfers") && strstr(line_of(text, "fresh"), "+2.00 ms"));
  CHECK(strstr(line_of(text, "hidden, at least"), "+59.2  points") != NULL);
  CHECK(strstr(line_of(text, "not hidden for certain"), "131 ms    38.0 ms   -93.0 ms  (-71.0 %)") != NULL);
  CHECK(!strstr(text, "different data"));
  free(text);
  nbc_report_free(before);
  nbc_report_free(after);
}

static void nothing_moved(void) {
  nbc_report *r = make("same");
  add(r, "halo", NBC_KIND_ISEND, 1, 100000000, 0, 10000000);
  char *text = diff(r, r, NBC_OK);
  CHECK(!strstr(text, "Caution") && !strstr(text, "Note"));
  CHECK(strstr(line_of(text, "not hidden for certain"), " 0") && !strstr(text, "+0.0 %"));
  free(text);
  nbc_report_free(r);
}

static void what_does_not_compare_is_said(void) {
  nbc_report *a = make("a"), *b = make("b");
  add(a, "", NBC_KIND_SEND, 0, 1000, 0, 0);
  for (int i = 0; i < 3; i++) add(b, "", NBC_KIND_SEND, 0, 1000, 0, 0);
  b->process_count = 4;
  b->problems[NBC_PROBLEM_never_ended] = 2;
  nbc_report_set(&a->table_same_node, "measured.txt");
  nbc_report_set(&b->library, "Open MPI");
  b->wall_ns = 1000;
  CHECK(nbc_report_counter(b, 0, "waited_for_a_core_ns", 230) == NBC_OK);
  char *text = diff(a, b, NBC_OK);
  CHECK(strstr(text, "processes: 1 before, 4 after") != NULL);
  CHECK(strstr(text, "moved different data: 1 transfers, 1000 B before; 3 transfers, 2.9 KiB after") != NULL);
  CHECK(strstr(text, "different transfer-time tables") != NULL);
  CHECK(strstr(text, "for at least 0 % of the time before and 23 % after, processes waited for a core") != NULL);
  CHECK(strstr(text, "another library: ? before, Open MPI after") != NULL);
  CHECK(strstr(text, "0 before, 2 after: transfers that never ended") != NULL);
  free(text);
  b->class_edges_bytes[0]++;
  free(diff(a, b, NBC_E_MISMATCH));
  nbc_report_free(a);
  nbc_report_free(b);
}

static void empty_reports(void) {
  nbc_report *a, *b;
  if (nbc_report_create(&a) != NBC_OK || nbc_report_create(&b) != NBC_OK) abort();
  char *text = diff(a, b, NBC_OK);
  CHECK(strstr(text, "time of all transfers") != NULL && !strstr(text, "nan"));
  free(text);
  nbc_report_free(a);
  nbc_report_free(b);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(biggest_change_first);
  RUN(nothing_moved);
  RUN(what_does_not_compare_is_said);
  RUN(empty_reports);
  return TEST_END();
}
