/* Reports read back: what was written comes back to the last bit; anything else is an error that
   names file, line and field, never a crash. */
#include "src/overlap/report.c"
#include "tests/pieces.h"
#include "tests/test.h"

/* ---- a random report ---------------------------------------------------------------------------- */
static int64_t random_ns(void) { return (int64_t)(test_rand() >> (1 + test_below(60))); }

static nbc_totals random_totals(void) {
  nbc_totals t;
  memset(&t, 0, sizeof t);
  t.count = test_rand();
  t.size_bytes = test_rand() >> test_below(60);
  t.xfer_ns = random_ns();
  t.max_overlap_ns = (int64_t)test_below((uint64_t)t.xfer_ns + 1);
  t.min_overlap_ns = (int64_t)test_below((uint64_t)t.max_overlap_ns + 1);
  for (int i = 0; i < 3; i++) t.case_count[i] = test_below(1000);
  if (test_below(2)) {
    t.exact_count = 1 + test_below(1000);
    t.exact_xfer_ns = random_ns();
    t.exact_hi_ns = random_ns();
    t.exact_lo_ns = (int64_t)test_below((uint64_t)t.exact_hi_ns + 1);
  }
  return t;
}

static const char *random_text(void) {
  static const char *const texts[] = {"", "hpl", "solve", "a \"quoted\" \\ name", "tab\there\nand there", "\x01\x1f",
                                      "grün 光 😀", "50 % of n/a"};
  return texts[test_below(sizeof texts / sizeof *texts)];
}

static void add_endings(nbc_report *r) {
  for (uint64_t i = test_below(6); i > 0; i--) {
    char call[] = "MPI_Wait", module[] = "/bin/x";
    const nbc_site begin = {.call = call, .offset = test_below(3)}, end = {.call = call, .module = module, .offset = test_below(3)};
    const int64_t waited_ns = random_ns() / 2;
    const size_t before = r->ending_count;
    CHECK(nbc_report_ending(r, &begin, &end, 1 + test_below(99), waited_ns) == NBC_OK);
    size_t at = 0;
    while (at < r->ending_count && (r->sites[r->endings[at].begin_plus1 - 1].offset != begin.offset || r->sites[r->endings[at].end_plus1 - 1].offset != end.offset)) at++;
    CHECK(at < r->ending_count && r->ending_count <= before + 1);
    const uint64_t count = r->endings[at].count;
    CHECK(nbc_report_ending(r, &begin, &end, 2, 0) == NBC_OK && r->endings[at].count == count + 2); /* joined */
  }
}
static void add_waits(nbc_report *r) {
  nbc_wait_span waits[8];
  const size_t count = test_below(8);
  r->is_simulated = test_below(2);
  if (!test_below(3)) return;
  for (size_t i = 0; i < count; i++)
    waits[i] = (nbc_wait_span){(int)test_below(3), (int)test_below(9), (nbc_wait_kind)test_below(3), (int64_t)test_below(99), (int64_t)test_below(99), (int64_t)test_below(99)};
  r->waits.held_ns = 1 + random_ns() / 2;
  CHECK(nbc_waits_add(&r->waits, waits, count) == NBC_OK && r->waits.computing_ns <= r->waits.moving_ns);
}
static nbc_report *random_report(void) {
  nbc_report *r;
  if (nbc_report_create(&r) != NBC_OK) abort();
  if (test_below(4)) nbc_report_set(&r->program, random_text());
  if (test_below(4)) nbc_report_set(&r->host, random_text());
  if (test_below(4)) nbc_report_set(&r->library, random_text());
  if (test_below(4)) nbc_report_set(&r->table_same_node, random_text());
  r->size = 1 + (int)test_below(1000);
  r->rank = (int)test_below((uint64_t)r->size + 1) - 1;
  r->pid = (int)test_below(1 << 22);
  r->process_count = (int)test_below(100);
  r->start_unix_s = (double)test_rand() / 7e9;
  r->wall_ns = random_ns(), r->comp_ns = random_ns(), r->call_ns = random_ns(), r->off_ns = random_ns();
  r->tool_ns = random_ns();
  r->clock_source = (nbc_clock_source)(1 + test_below(4));
  r->clock_hz = (double)test_rand() / 3e9;
  r->clock_rate_err_ppm = (double)test_rand() * 1e-30;
  r->table_is_default = test_below(2);
  r->class_edge_count = test_below(NBC_MAX_CLASSES);
  for (size_t i = 0; i < r->class_edge_count; i++) r->class_edges_bytes[i] = (i ? r->class_edges_bytes[i - 1] : 0) + 1 + test_below(1 << 20);
  r->total = random_totals();
  const uint64_t section_count = test_below(8);
  for (uint64_t i = 0; i < section_count; i++) {
    char path[80];
    snprintf(path, sizeof path, "%s/%llu", random_text(), (unsigned long long)i);
    const int index = nbc__rep_section(r, path, (int)test_below(r->section_count));
    nbc_section *s = &r->sections[index];
    s->count = test_rand(), s->comp_ns = random_ns(), s->call_ns = random_ns();
  }
  for (uint64_t i = test_below(4); i > 0; i--) {
    char call[] = "MPI_Wait", module[] = "/a \"b\"", symbol[] = "grün";
    const nbc_site site = {test_below(2) ? call : symbol, test_below(2) ? module : NULL, test_below(2) ? symbol : NULL,
                           test_rand(), test_below(9), random_ns(), random_ns(), test_below(2) ? call : NULL};
    nbc_report_site(r, &site);
  }
  for (uint64_t i = test_below(12); i > 0; i--) {
    nbc_cell key;
    memset(&key, 0, sizeof key);
    key.section_index = (int)test_below(r->section_count);
    key.kind = (nbc_kind)test_below(NBC_KIND_COUNT);
    key.class_index = (int)test_below(r->class_edge_count + 1);
    key.peer = (nbc_peer)test_below(NBC_PEER_COUNT);
    if (r->site_count) key.site_plus1 = (int)test_below(r->site_count + 1);
    nbc_cell *c = nbc__rep_cell(r, &key);
    c->t = random_totals();
    c->available_ns = random_ns();
    for (int b = 0; b < NBC_HIST_BINS; b++) c->available_count[b] = test_below(3) ? 0 : test_rand();
  }
  for (int s = 0; s < (int)r->section_count; s++)
    for (int k = (int)test_below(9); k < NBC_KIND_COUNT; k += 1 + (int)test_below(20)) {
      nbc_call *c = nbc__rep_call(r, s, (nbc_kind)k);
      c->count = 1 + test_rand() / 2, c->total_ns = random_ns(), c->min_ns = random_ns(), c->max_ns = random_ns();
    }
  for (uint64_t i = test_below(4); i > 0; i--) nbc_report_note(r, random_text());
  for (uint64_t i = test_below(4); i > 0; i--)
    nbc_report_counter(r, (int)test_below(r->section_count), random_text(), i == 2 ? NAN : (double)test_rand() / 1e5);
  for (uint64_t i = test_below(4); i > 0; i--) {
    nbc_thread *t;
    NBC__REP_APPEND(nbc_thread, r->threads, r->thread_count, t);
    t->comp_ns = random_ns(), t->call_ns = random_ns(), t->off_ns = random_ns(), t->tool_ns = random_ns(), t->wall_ns = random_ns();
  }
  for (int k = 0; k < 2 * NBC_PEER_COUNT; k += 1 + (int)test_below(5)) {
    const nbc_totals t = random_totals();
    nbc_joint *j;
    NBC__REP_APPEND(nbc_joint, r->joints, r->joint_count, j);
    j->incoming = k % 2, j->peer = (nbc_peer)(k / 2), j->count = t.count, j->size_bytes = t.size_bytes;
    j->xfer_ns = t.xfer_ns, j->min_overlap_ns = t.min_overlap_ns, j->max_overlap_ns = t.max_overlap_ns;
  }
  for (uint64_t i = test_below(4); i > 0; i--) {
    int64_t t[5];
    for (int k = 0; k < 5; k++) t[k] = (k ? t[k - 1] : 0) + (int64_t)test_below(1000000);
    const uint64_t count = test_below(99);
    const nbc_partner_bound b = {(nbc_kind)test_below(NBC_KIND_COUNT), count, test_below(9999), t[4], t[0], t[3],
                                 t[1], t[2], (int64_t)test_below(500), test_below(count + 1)};
    uint64_t far_count = b.far_count;
    for (size_t k = 0; k < r->partner_bound_count; k++)
      if (r->partner_bounds[k].kind == b.kind) far_count += r->partner_bounds[k].far_count;
    CHECK(nbc_report_partner_bound(r, &b) == NBC_OK);
    for (size_t k = 0; k < r->partner_bound_count; k++)
      if (r->partner_bounds[k].kind == b.kind) CHECK(r->partner_bounds[k].clock_err_ns >= b.clock_err_ns && r->partner_bounds[k].far_count == far_count);
    nbc_partner_bound wider = b;
    wider.max_overlap_ns = b.alone_max_ns + 1;
    CHECK(nbc_report_partner_bound(r, &wider) == NBC_E_INVAL);
    nbc_partner_bound farther = b;
    farther.far_count = b.count + 1;
    CHECK(nbc_report_partner_bound(r, &farther) == NBC_E_INVAL);
  }
  for (uint64_t i = test_below(4); i > 0; i--) {
    nbc_pair pair = {(int)test_below(9), (int)test_below(9), test_rand(), test_rand(), test_rand(), test_rand(),
                           random_ns(), random_ns(), random_ns(), test_below(2) ? 1 + random_ns() / 2 : 0, 0, 0, 0, 0, 0};
    if (pair.known_ns) pair.late_ns = random_ns(), pair.moving_ns = random_ns(), pair.computing_ns = random_ns();
    nbc_report_pair(r, &pair);
  }
  add_waits(r);
  add_endings(r);
  CHECK(nbc_report_ending(r, NULL, NULL, 1, 1) == NBC_E_INVAL);
  for (int p = 0; p < NBC_PROBLEM_COUNT; p++) r->problems[p] = test_below(2) ? 0 : test_rand();
  return r;
}

static char *written(const nbc_report *r, size_t *size) {
  char *text = NULL;
  FILE *out = open_memstream(&text, size);
  if (!out || nbc_report_write_json(r, out) != NBC_OK) abort();
  fclose(out);
  return text;
}

static nbc_status parse(const char *text, nbc_report **r, nbc_error *err) {
  memset(err, 0, sizeof *err);
  return nbc_report_parse_json(text, strlen(text), "x.json", r, err);
}

/* ---- tests -------------------------------------------------------------------------------------- */
static void comes_back_as_it_was(void) {
  for (int round = 0; round < 200; round++) {
    nbc_report *r = random_report(), *back = NULL;
    nbc_error err;
    size_t size, again_size;
    char *text = written(r, &size);
    CHECK(parse(text, &back, &err) == NBC_OK);
    if (!back) {
      printf("  %s\n%s\n", err.text, text);
      return;
    }
    /* Every field is written, so equal texts mean equal reports; a few fields apart, to be sure. */
    char *again = written(back, &again_size);
    CHECK(size == again_size && memcmp(text, again, size) == 0);
    CHECK(back->section_count == r->section_count && back->cell_count == r->cell_count && back->call_count == r->call_count);
    CHECK(memcmp(&back->total, &r->total, sizeof r->total) == 0);
    CHECK(memcmp(back->problems, r->problems, sizeof r->problems) == 0);
    CHECK(back->is_simulated == r->is_simulated && back->waits.held_ns == r->waits.held_ns && back->waits.of_count == r->waits.of_count);
    CHECK(back->start_unix_s == r->start_unix_s && back->clock_hz == r->clock_hz);
    for (size_t i = 0; i < r->cell_count; i++) CHECK(memcmp(&back->cells[i], &r->cells[i], sizeof r->cells[i]) == 0);
    for (size_t i = 0; i < r->section_count; i++) CHECK(strcmp(back->sections[i].path, r->sections[i].path) == 0);
    free(text);
    free(again);
    nbc_report_free(back);
    nbc_report_free(r);
  }
}

static void cut_off_anywhere_is_an_error_with_its_line(void) {
  nbc_report *r = random_report(), *back;
  nbc_error err;
  size_t size;
  char *text = written(r, &size);
  while (size && text[size - 1] == '\n') size--;
  int line = 1;
  for (size_t n = 0; n < size; n++) {
    memset(&err, 0, sizeof err);
    char *part = (char *)malloc(n ? n : 1); /* of its true size, so that a sanitizer sees reading beyond */
    memcpy(part, text, n);
    const nbc_status status = nbc_report_parse_json(part, n, "cut.json", &back, &err);
    CHECK(status == NBC_E_PARSE && !back && err.status == NBC_E_PARSE);
    CHECK(err.line == line && strncmp(err.text, "cut.json:", 9) == 0);
    CHECK(strstr(err.text, "cut off") != NULL);
    free(part);
    if (text[n] == '\n') line++;
  }
  free(text);
  nbc_report_free(r);
}

static void damaged_bytes_never_crash(void) {
  static const char marks[] = "{}[]\",:-0e.\\un \n\x00\xff";
  for (int round = 0; round < 3000; round++) {
    if (round % 300 == 0) test_state += 77;
    nbc_report *r = random_report(), *back;
    nbc_error err;
    size_t size;
    char *text = written(r, &size);
    for (uint64_t i = 1 + test_below(3); i > 0; i--) text[test_below(size)] = marks[test_below(sizeof marks - 1)];
    memset(&err, 0, sizeof err);
    const nbc_status status = nbc_report_parse_json(text, size, "x.json", &back, &err);
    CHECK((status == NBC_OK) == (back != NULL));
    CHECK(status == NBC_OK || (status == NBC_E_PARSE && err.line >= 1 && err.text[0]));
    if (back) { /* what was believed can be used */
      size_t unused;
      free(written(back, &unused));
      nbc_report *sum;
      if (nbc_report_create(&sum) != NBC_OK) abort();
      CHECK(nbc_report_add(sum, back, &err) == NBC_OK && nbc_report_add(sum, back, &err) == NBC_OK);
      nbc_report_free(sum);
    }
    nbc_report_free(back);
    free(text);
    nbc_report_free(r);
  }
}

/* A smallest report, and the same with parts replaced. */
#define HEAD                                                                                       \
  "{\"schema\":\"nbc-overlap-report/1\",\"rank\":0,\"size\":2,\"process_count\":1,\n\"wall_ns\":9,\"comp_ns\":5," \
  "\"call_ns\":4,\"off_ns\":0,\"class_edges_bytes\":[10,20],\n"
#define TOTAL    "\"total\":{\"count\":1,\"xfer_ns\":8,\"min_overlap_ns\":1,\"max_overlap_ns\":2},\n"
#define SECTIONS "\"sections\":[{\"path\":\"\",\"parent_index\":-1,\"comp_ns\":5,\"call_ns\":4}],\n"
#define CELL(head) "{" head ",\"count\":1,\"xfer_ns\":8,\"min_overlap_ns\":1,\"max_overlap_ns\":2}"
#define CELLS(cell) "\"cells\":[" cell "]"
#define GOOD_CELL CELL("\"section_index\":0,\"kind\":\"isend\",\"class_index\":1,\"peer\":\"same_node\"")

static void errors_name_line_and_field(void) {
  static const struct { const char *text; int line; const char *says; } cases[] = {
      {"", 1, "cut off"},
      {"  \n\n ", 3, "cut off"},
      {"[]", 1, "'{' expected"},
      {"{}", 1, "field schema: missing"},
      {"{\"schema\":\"nbc-overlap-report/2\"}", 1, "field schema: this reader knows only"},
      {"{\"schema\":1}", 1, "field schema: text in quotes expected"},
      {HEAD TOTAL SECTIONS CELLS(GOOD_CELL) "} x", 5, "something follows"},
      {HEAD TOTAL SECTIONS CELLS(GOOD_CELL) ",\n\"rank\":1}", 6, "field rank: given twice"},
      {HEAD TOTAL SECTIONS "\"cells\":[],\n\"calls\":[{\"section_index\":0,\"kind\":\"send\",\"count\":1,\"total_ns\":-3}]}", 6,
       "field calls[0].total_ns: must not be negative"},
      {HEAD TOTAL SECTIONS "\"cells\":[],\n\n\"pid\":1.5}", 7, "field pid: must be an integer"},
      {HEAD TOTAL SECTIONS "\"cells\":[],\n\"pid\":99999999999}", 6, "field pid: number too large"},
      {HEAD TOTAL SECTIONS "\"cells\":[],\n\"pid\":007}", 6, "field pid: a number was expected"},
      {HEAD TOTAL SECTIONS "\"cells\":[],\n\"pid\":\"7\"}", 6, "field pid: a number was expected"},
      {HEAD TOTAL SECTIONS "\"cells\":[],\n\"start_unix_s\":1e999}", 6, "field start_unix_s: number too large"},
      {HEAD TOTAL SECTIONS "\"cells\":[],\n\"notes\":[\"a\",7]}", 6, "field notes[1]: text in quotes expected"},
      {HEAD TOTAL SECTIONS "\"cells\":[],\n\"notes\":[\"a\nb\"]}", 6, "control character"},
      {HEAD TOTAL SECTIONS "\"cells\":[],\n\"notes\":[\"\\u0000\"]}", 6, "zero byte"},
      {HEAD TOTAL SECTIONS "\"cells\":[],\n\"notes\":[\"\\ud800x\"]}", 6, "malformed escape"},
      {HEAD TOTAL SECTIONS "\"cells\":[],\n\"notes\":[\"a\"} ", 6, "',' or ']' expected"},
      {HEAD TOTAL SECTIONS "\"cells\":[],\n\"problems\":{\"ended_twice\":-1}}", 6, "field problems.ended_twice: must not be negative"},
      {HEAD TOTAL SECTIONS CELLS("\n" GOOD_CELL ",\n" CELL("\"section_index\":3,\"kind\":\"isend\",\"class_index\":1")) "}", 7,
       "section_index 3, but the last section is 0"},
      {HEAD TOTAL SECTIONS CELLS("\n" CELL("\"section_index\":0,\"kind\":\"isend\",\"class_index\":3")) "}", 6,
       "class_index 3, but the last class is 2"},
      {HEAD TOTAL SECTIONS CELLS("\n" CELL("\"section_index\":0,\"kind\":\"isend\",\"class_index\":1,\"site_plus1\":1")) "}", 6,
       "site_plus1 1, but there are 0 sites"},
      {HEAD TOTAL SECTIONS CELLS("") ",\"sites\":[{\"call\":\"MPI_Wait\",\"offset\":1,\"count\":1,\"total_ns\":1}],\n\"endings\":[{\"begin_plus1\":1,\"end_plus1\":2,\"count\":1,\"waited_ns\":1}]}", 6,
       "site_plus1 2, but there are 1 sites"},
      {HEAD TOTAL SECTIONS CELLS("") ",\"endings\":[{\"begin_plus1\":0,\"end_plus1\":1,\"count\":1,\"waited_ns\":1}]}", 5,
       "an ending without a place"},
      {HEAD TOTAL SECTIONS CELLS("") ",\n\"waits\":{\"held_ns\":9,\"of\":[{\"partner\":2},\n{\"partner\":2}]}}", 7, "field waits.of[1]: partners must ascend"},
      {HEAD TOTAL SECTIONS CELLS("") ",\n\"waits\":{\"held_ns\":9,\"of\":[{\"partner\":-1}]}}", 6, "field waits.of[0]: negative rank"},
      {HEAD TOTAL SECTIONS CELLS("") ",\n\"waits\":{\"held_ns\":9,\"moving_ns\":3,\"computing_ns\":4}}", 6, "field waits: computing_ns is above moving_ns"},
      {HEAD TOTAL SECTIONS CELLS("\n" CELL("\"section_index\":-1,\"kind\":\"isend\",\"class_index\":0")) "}", 6,
       "field cells[0]: negative index"},
      {HEAD TOTAL SECTIONS CELLS(CELL("\"section_index\":0,\"class_index\":0")) "}", 5, "field cells[0].kind: missing"},
      {HEAD SECTIONS "\"total\":{\"count\":1,\"xfer_ns\":8,\"min_overlap_ns\":3,\"max_overlap_ns\":2}}", 4,
       "field total: min_overlap_ns is above max_overlap_ns"},
      {HEAD SECTIONS "\"total\":{\"count\":1,\"xfer_ns\":8,\"min_overlap_ns\":3,\"max_overlap_ns\":9}}", 4,
       "field total: max_overlap_ns is above xfer_ns"},
      {HEAD TOTAL "\"sections\":[{\"path\":\"a\",\"parent_index\":-1,\"comp_ns\":5,\"call_ns\":4}]}", 4, "field sections[0]: parent_index"},
      {"{\"schema\":\"nbc-overlap-report/1\",\n\"class_edges_bytes\":[10,10]}", 2, "field class_edges_bytes: size classes must ascend"},
      {"{\"schema\":\"nbc-overlap-report/1\",\"x\":{\"y\":[1,2,{\"z\":tru}]}}", 1, "a number was expected"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    nbc_report *r;
    nbc_error err;
    CHECK(parse(cases[i].text, &r, &err) == NBC_E_PARSE && !r);
    CHECK(strncmp(err.text, "x.json:", 7) == 0);
    if (err.line != cases[i].line || !strstr(err.text, cases[i].says)) {
      printf("  case %zu: line %d \"%s\", expected line %d and \"%s\"\n", i, err.line, err.text, cases[i].line, cases[i].says);
      CHECK(!"error as expected");
    }
  }
}

static void later_versions_may_say_more(void) {
  nbc_report *r;
  nbc_error err;
  CHECK(parse(HEAD TOTAL SECTIONS CELLS(GOOD_CELL) "}", &r, &err) == NBC_OK);
  nbc_report_free(r);
  CHECK(parse("\n" HEAD "\"colour\":{\"deep\":[1,[2,[3.5e-2,null]],true]},\"empty\":[{},[]],\n" TOTAL SECTIONS
                  CELLS(CELL("\"section_index\":0,\"kind\":\"quantum_send\",\"class_index\":0,\"new\":[7]") ","
                  CELL("\"section_index\":0,\"kind\":\"other\",\"class_index\":0") ","
                  CELL("\"peer\":\"moon\",\"section_index\":0,\"kind\":\"warp\",\"class_index\":0"))
                      ",\"problems\":{\"new_problem\":4,\"ended_twice\":2},\"clock\":{\"source\":\"sundial\"}}",
              &r, &err) == NBC_OK);
  if (!r) return;
  CHECK(r->cell_count == 1 && r->cells[0].kind == NBC_KIND_OTHER && r->cells[0].peer == NBC_PEER_UNKNOWN);
  CHECK(r->cells[0].t.count == 3 && r->cells[0].t.xfer_ns == 24 && r->cells[0].t.max_overlap_ns == 6);
  CHECK(r->problems[NBC_PROBLEM_ended_twice] == 2 && r->clock_source == NBC_CLOCK_AUTO);
  nbc_report_free(r);
}

static void any_order_of_keys_and_rows(void) {
  nbc_report *r;
  nbc_error err;
  /* cells before what they refer to, and not in their order */
  CHECK(parse("{" CELLS(CELL("\"section_index\":0,\"kind\":\"recv\",\"class_index\":2") ","
                        CELL("\"section_index\":0,\"kind\":\"send\",\"class_index\":0")) ","
              "\"calls\":[{\"kind\":\"wait\",\"section_index\":0,\"count\":1,\"total_ns\":3,\"min_ns\":3,\"max_ns\":3},"
              "{\"kind\":\"send\",\"section_index\":0,\"count\":1,\"total_ns\":3,\"min_ns\":3,\"max_ns\":3},"
              "{\"kind\":\"wait\",\"section_index\":0,\"count\":1,\"total_ns\":9,\"min_ns\":9,\"max_ns\":9}],"
              SECTIONS TOTAL "\"off_ns\":0,\"call_ns\":4,\"comp_ns\":5,\"wall_ns\":9,\"class_edges_bytes\":[1,2],"
              "\"process_count\":1,\"size\":2,\"rank\":0,\"schema\":\"nbc-overlap-report/1\"}",
              &r, &err) == NBC_OK);
  if (!r) {
    puts(err.text);
    return;
  }
  CHECK(r->cell_count == 2 && r->cells[0].kind == NBC_KIND_SEND && r->cells[1].class_index == 2);
  CHECK(r->call_count == 2 && r->calls[1].total_ns == 12 && r->calls[1].min_ns == 3 && r->calls[1].max_ns == 9);
  nbc_report_free(r);
}

static void deep_nesting_is_refused(void) {
  const size_t deep = 1000000;
  for (int k = 0; k < 2; k++) {
    char *text = (char *)malloc(deep + 16);
    nbc_report *r;
    nbc_error err;
    strcpy(text, "{\"x\":");
    memset(text + 5, k ? '[' : '{', deep);
    if (!k)
      for (size_t i = 0; i + 5 <= deep; i += 5) memcpy(text + 5 + i, "{\"a\":", 5);
    CHECK(nbc_report_parse_json(text, deep, "deep.json", &r, &err) == NBC_E_PARSE && !r);
    CHECK(strstr(err.text, "nested too deeply") != NULL);
    free(text);
  }
}

static void sums_of_untrusted_numbers_stop_at_the_largest(void) {
  nbc_report *r, *sum;
  nbc_error err;
  CHECK(parse("{\"schema\":\"nbc-overlap-report/1\",\"rank\":0,\"size\":2,\"process_count\":1,"
              "\"wall_ns\":9223372036854775807,\"comp_ns\":9223372036854775807,\"call_ns\":0,\"off_ns\":0,"
              "\"class_edges_bytes\":[]," TOTAL SECTIONS
              "\"cells\":[{\"section_index\":0,\"kind\":\"send\",\"class_index\":0,\"count\":18446744073709551615,"
              "\"xfer_ns\":9223372036854775807,\"min_overlap_ns\":0,\"max_overlap_ns\":9223372036854775807}]}",
              &r, &err) == NBC_OK);
  if (!r || nbc_report_create(&sum) != NBC_OK) return;
  for (int i = 0; i < 3; i++) CHECK(nbc_report_add(sum, r, &err) == NBC_OK);
  CHECK(sum->wall_ns == INT64_MAX && sum->total.xfer_ns == INT64_MAX && sum->total.max_overlap_ns == INT64_MAX);
  nbc_report_free(sum);
  nbc_report_free(r);
}

/* Where the time in calls went, of two processes; simulated is what all are. */
static void waits_are_added(void) {
  nbc_report *one[2], *sum;
  nbc_error err;
  CHECK(parse(HEAD TOTAL SECTIONS CELLS("") ",\"is_simulated\":true,\"waits\":{\"held_ns\":9,\"late_ns\":3,\"last_ns\":1,\"moving_ns\":4,\"computing_ns\":2,\"of\":[{\"partner\":1,\"late_ns\":3},{\"partner\":7,\"last_ns\":1}]}}", &one[0], &err) == NBC_OK);
  CHECK(parse(HEAD TOTAL SECTIONS CELLS("") ",\"is_simulated\":true,\"waits\":{\"held_ns\":5,\"late_ns\":5,\"of\":[{\"partner\":0,\"late_ns\":2},{\"partner\":7,\"late_ns\":3}]}}", &one[1], &err) == NBC_OK);
  if (!one[0] || !one[1] || nbc_report_create(&sum) != NBC_OK) abort();
  for (int i = 0; i < 2; i++) CHECK(nbc_report_add(sum, one[i], &err) == NBC_OK);
  const nbc_waits *w = &sum->waits;
  CHECK(sum->is_simulated && w->held_ns == 14 && w->late_ns == 8 && w->last_ns == 1 && w->moving_ns == 4 && w->computing_ns == 2 && w->of_count == 3);
  CHECK(w->of[0].partner == 0 && w->of[0].late_ns == 2 && w->of[1].partner == 1 && w->of[1].late_ns == 3);
  CHECK(w->of[2].partner == 7 && w->of[2].late_ns == 3 && w->of[2].last_ns == 1);
  one[1]->is_simulated = false;
  CHECK(nbc_report_add(sum, one[1], &err) == NBC_OK && !sum->is_simulated);
  for (int i = 0; i < 2; i++) nbc_report_free(one[i]);
  nbc_report_free(sum);
}

static void files_that_cannot_be_read(void) {
  nbc_report *r;
  nbc_error err;
  CHECK(nbc_report_read_json("/nonexistent/x.json", &r, &err) == NBC_E_IO && !r);
  CHECK(strstr(err.text, "/nonexistent/x.json") && strstr(err.text, "No such file"));
  CHECK(nbc_report_read_json("/", &r, &err) == NBC_E_IO && !r);
  CHECK(nbc_report_read_json("/dev/null", &r, &err) == NBC_E_PARSE && !r && strstr(err.text, "/dev/null:1:"));
  CHECK(nbc_report_read_json("/dev/null", &r, NULL) == NBC_E_PARSE && !r);
  CHECK(nbc_report_read_json("/dev/zero", &r, &err) == NBC_E_PARSE && strstr(err.text, "64 MiB"));
}

/* What is linked says which files it writes, and writes them so. */
static void versions_are_told(void) {
  char begin[64], text[64] = "";
  FILE *f = tmpfile();
  nbc_report *r;
  CHECK(nbc_version() == NBC_VERSION);
  CHECK_STR(nbc_format_name(NBC_FORMAT_COUNT), "?");
  if (!f || nbc_report_create(&r) != NBC_OK) abort();
  CHECK(nbc_report_write_json(r, f) == NBC_OK);
  snprintf(begin, sizeof begin, "{\"schema\":\"%s\",\n", nbc_format_name(NBC_FORMAT_REPORT));
  rewind(f);
  CHECK(fgets(text, sizeof text, f) != NULL);
  CHECK_STR(text, begin);
  nbc_report_free(r);
  fclose(f);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(comes_back_as_it_was);
  RUN(cut_off_anywhere_is_an_error_with_its_line);
  RUN(damaged_bytes_never_crash);
  RUN(errors_name_line_and_field);
  RUN(later_versions_may_say_more);
  RUN(any_order_of_keys_and_rows);
  RUN(deep_nesting_is_refused);
  RUN(sums_of_untrusted_numbers_stop_at_the_largest);
  RUN(waits_are_added);
  RUN(files_that_cannot_be_read);
  RUN(versions_are_told);
  return TEST_END();
}
