/* Adding reports: no process is lost, what differs is said to differ; texts of any bytes become JSON
   that is UTF-8, and lines for a terminal without control characters. */
#include "tests/pieces.h"
#include "tests/test.h"

static nbc_report *make(const char *program, const char *host) {
  nbc_report *r;
  if (nbc_report_create(&r) != NBC_OK) abort();
  CHECK(nbc_report_set(&r->program, program) == NBC_OK && nbc_report_set(&r->host, host) == NBC_OK);
  r->wall_ns = 10, r->comp_ns = 7, r->call_ns = 3;
  return r;
}
static void add(nbc_report *sum, nbc_report *one, nbc_status expected) {
  CHECK(nbc_report_add(sum, one, NULL) == expected);
  nbc_report_free(one);
}
static nbc_report *new_sum(void) {
  nbc_report *sum;
  if (nbc_report_create(&sum) != NBC_OK) abort();
  return sum;
}

static void processes_that_did_nothing_count_too(void) {
  nbc_report *sum = new_sum();
  for (int i = 1; i <= 3; i++) {
    add(sum, make(NULL, NULL), NBC_OK); /* neither threads nor transfers nor names */
    CHECK(sum->process_count == i && sum->wall_ns == 10 * i && sum->comp_ns + sum->call_ns == sum->wall_ns);
  }
  add(sum, make("late", "node1"), NBC_OK);
  CHECK(sum->process_count == 4);
  CHECK_STR(sum->program, "late");
  CHECK_STR(sum->host, "node1");
  nbc_report_free(sum);
}

static void what_differs_is_said_to_differ(void) {
  nbc_report *sum = new_sum();
  add(sum, make("heat", "node1"), NBC_OK);
  CHECK_STR(sum->host, "node1");
  add(sum, make("heat", NULL), NBC_OK);
  add(sum, make("heat", "node2"), NBC_OK);
  add(sum, make("heat", "node2"), NBC_OK);
  CHECK_STR(sum->program, "heat");
  CHECK_STR(sum->host, "several hosts");
  CHECK(sum->library == NULL && sum->process_count == 4 && sum->rank == -1);
  nbc_report_free(sum);
}

static void other_classes_add_nothing(void) {
  nbc_report *sum = new_sum(), *other = make("heat", "node3");
  nbc_error err;
  add(sum, make("heat", "node1"), NBC_OK);
  other->class_edge_count = 1;
  other->class_edges_bytes[0] = 100;
  other->rank = 7;
  CHECK(nbc_report_add(sum, other, &err) == NBC_E_MISMATCH && strstr(err.text, "rank 7 of heat"));
  CHECK(sum->process_count == 1 && sum->wall_ns == 10);
  CHECK_STR(sum->host, "node1");
  nbc_report_free(other);
  nbc_report_free(sum);
}

static char *written(const nbc_report *r, nbc_status (*write)(const nbc_report *, FILE *)) {
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  if (!out) abort();
  CHECK(write(r, out) == NBC_OK);
  fclose(out);
  return text;
}

static void texts_of_any_bytes(void) {
  /* raw -> what JSON holds: good characters of 2, 3, 4 bytes; lone, cut, overlong, surrogate, too high */
  static const struct { const char *raw, *read; } cases[] = {
      {"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"},
      {"a\xff" "b", "a\xef\xbf\xbd" "b"},
      {"\xc3", "\xef\xbf\xbd"},
      {"\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd"},
      {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},
      {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
      {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
      {"\x1b[2J\n\"\\", "\x1b[2J\n\"\\"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    nbc_report *r = make(cases[i].raw, cases[i].raw), *again = NULL;
    CHECK(nbc_report_note(r, cases[i].raw) == NBC_OK && nbc_report_counter(r, 0, cases[i].raw, 1) == NBC_OK);
    char *json = written(r, nbc_report_write_json), *text = written(r, nbc_report_write_text);
    CHECK(nbc_report_parse_json(json, strlen(json), "again", &again, NULL) == NBC_OK);
    if (again) {
      CHECK_STR(again->program, cases[i].read);
      CHECK_STR(again->notes[0], cases[i].read);
    }
    for (const char *p = text; *p; p++) CHECK((unsigned char)*p >= 0x20 || *p == '\n');
    CHECK(!strstr(text, "\n\"") && strstr(text, "Overlap of"));
    free(json);
    free(text);
    nbc_report_free(again);
    nbc_report_free(r);
  }
}

/* A foreign stamp may see the owner's call and its C at slightly different times. */
static void computation_seen_between_two_stamps_is_never_denied(void) {
  nbc_monitor *m;
  nbc_recorder *r;
  nbc_cell cell;
  nbc__mon_event b, e;
  CHECK(nbc_monitor_create(NULL, &m) == NBC_OK && nbc_recorder_attach(m, &r) == NBC_OK);
  memset(&cell, 0, sizeof cell);
  memset(&b, 0, sizeof b);
  memset(&e, 0, sizeof e);
  b.call_seq = e.call_seq = 5;
  b.t_ns = 1000, e.t_ns = 101000;
  nbc__mon_account(r, &cell, &b, &e, 1000, NBC_PEER_SAME_NODE);
  CHECK(cell.t.case_count[0] == 1 && cell.t.max_overlap_ns == 0 && cell.t.xfer_ns > 0);
  e.comp_ns = 90000;
  nbc__mon_account(r, &cell, &b, &e, 1000, NBC_PEER_SAME_NODE);
  CHECK(cell.t.case_count[1] == 1 && cell.t.max_overlap_ns == cell.t.xfer_ns / 2);
  nbc_monitor_destroy(m);
}

/* The sum began when its first process did, and its clock is as bad as the worst. */
static void the_earliest_start_and_the_worst_clock_count(void) {
  static const int order[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 2, 0}};
  for (int k = 0; k < 3; k++) {
    nbc_report *sum = new_sum();
    for (int i = 0; i < 3; i++) {
      nbc_report *one = make("heat", "node1");
      one->start_unix_s = 1000 + order[k][i], one->clock_rate_err_ppm = 5 + order[k][i];
      add(sum, one, NBC_OK);
    }
    CHECK_NEAR(sum->start_unix_s, 1000, 0);
    CHECK_NEAR(sum->clock_rate_err_ppm, 7, 0);
    nbc_report_free(sum);
  }
}

/* Filled by hand: whoever writes or adds does not look beyond what is there. */
static nbc_report *by_hand(int wrong) {
  nbc_report *r = make("heat", "node1");
  const nbc_site site = {.call = NULL, .count = 1};
  const nbc_partner_bound bound = {.kind = NBC_KIND_ISEND, .count = 1, .xfer_ns = 5, .alone_max_ns = 5, .max_overlap_ns = 5};
  const nbc_comm_total comm = {.name = (char *)(uintptr_t)"world", .size = 2};
  r->class_edge_count = 1, r->class_edges_bytes[0] = 8;
  r->cells = (nbc_cell *)calloc(r->cell_count = 1, sizeof *r->cells);
  r->calls = (nbc_call *)calloc(r->call_count = 1, sizeof *r->calls);
  r->joints = (nbc_joint *)calloc(r->joint_count = 1, sizeof *r->joints);
  CHECK(r->cells && r->calls && r->joints && nbc_report_counter(r, 0, "c", 1) == NBC_OK && nbc_report_note(r, "n") == NBC_OK);
  CHECK(nbc_report_site(r, &site) == NBC_OK && nbc_report_site(r, &site) == NBC_OK && r->site_count == 1 && r->sites[0].count == 2);
  CHECK(nbc_report_partner_bound(r, &bound) == NBC_OK && nbc_report_comm_total(r, &comm) == NBC_OK);
  int *const numbers[] = {&r->cells->section_index, (int *)&r->cells->kind, &r->cells->class_index, (int *)&r->cells->peer, &r->calls->section_index,
                          (int *)&r->calls->kind, &r->counters->section_index, (int *)&r->joints->peer, (int *)&r->partner_bounds->kind};
  char **const names[] = {&r->sections->path, &r->counters->name, &r->sites->call, &r->comms->name, r->notes};
  if (wrong < 0) return r;
  if (wrong < 18) *numbers[wrong / 2] = wrong % 2 ? 1000 : -1;
  else if (wrong < 23) nbc_report_set(names[wrong - 18], NULL);
  else r->class_edge_count = NBC_MAX_CLASSES;
  return r;
}
static void what_is_not_there_is_refused(void) {
  nbc_report *const good = by_hand(-1), *const sum = new_sum();
  nbc_error err;
  FILE *out = tmpfile();
  CHECK(out && nbc_report_write_text(good, out) == NBC_OK && nbc_report_write_json(good, out) == NBC_OK && nbc_report_write_diff(good, good, out) == NBC_OK);
  CHECK(nbc_report_counter(good, 1, "c", 1) == NBC_E_INVAL && nbc_report_counter(good, -1, "c", 1) == NBC_E_INVAL);
  CHECK(nbc_report_add(good, good, &err) == NBC_E_INVAL);
  for (int wrong = 0; wrong < 24; wrong++) {
    nbc_report *const bad = by_hand(wrong);
    CHECK(nbc_report_write_text(bad, out) == NBC_E_INVAL && nbc_report_write_json(bad, out) == NBC_E_INVAL);
    CHECK(nbc_report_write_diff(bad, good, out) == NBC_E_INVAL && nbc_report_write_diff(good, bad, out) == NBC_E_INVAL);
    CHECK(nbc_report_add(sum, bad, &err) == NBC_E_INVAL && strstr(err.text, "one: ") && nbc_report_add(bad, good, &err) == NBC_E_INVAL);
    nbc_report_free(bad);
  }
  CHECK(nbc_report_add(sum, good, &err) == NBC_OK && sum->process_count == 1);
  fclose(out);
  nbc_report_free(good), nbc_report_free(sum);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(processes_that_did_nothing_count_too);
  RUN(what_differs_is_said_to_differ);
  RUN(other_classes_add_nothing);
  RUN(texts_of_any_bytes);
  RUN(computation_seen_between_two_stamps_is_never_denied);
  RUN(the_earliest_start_and_the_worst_clock_count);
  RUN(what_is_not_there_is_refused);
  return TEST_END();
}
