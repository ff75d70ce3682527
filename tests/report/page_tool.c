/* For overlap_report.sh. make: the reports of a run of four processes with known numbers (in simulated
   time, the same every time). check: a page is well-formed, fetches nothing, and every number in it
   equals the sum of all reports, given as JSON.

   waits KIND FILE: a report of 1 s in a collective of that kind, 400 ms in a receive and 100 ms in a barrier.
   exchange BYTES FILE: a report of 10 exchanges of so many bytes each way, each in a call as long as both take.
   unseen KIND FILE: a report of 10 transfers of 2 MB of that kind, each waited for as long as it takes, and nothing seen of it.
   computed FIRST EACH FILE: a report of 10 sends of 202 us beside as many ns of computation as FIRST says, and EACH for the others.
   window FILE: a report of a put that ends in a fence of 100 ms, and 1.4 s in a call that waits for others' puts.
   quiet FILE: a report of a barrier of 100 ms and 4 ms with files, and no transfer.
   timelines FOLDER: of ranks 0 and 1 of that run, with one message from 0 to 1.
   nodes FOLDER: of three ranks on nodes of their own, each sends one message to each other one.
   usage: page_tool make FOLDER | page_tool check PAGE.html SUM.json | page_tool waits KIND FILE | page_tool exchange BYTES FILE | page_tool unseen KIND FILE | page_tool computed FIRST EACH FILE | page_tool window FILE | page_tool quiet FILE | page_tool timelines FOLDER | page_tool nodes FOLDER */
#include "tests/pieces.h"
#include "tests/overlap/sim.h"
#include "tools/trace_file.h"

static void step(sim *s, int64_t *t, uint64_t *id, int rank) {
  const uint64_t a = ++*id, b = ++*id, c = ++*id;
  nbc_section_begin_at(s->me, "solve", *t);
  nbc_section_begin_at(s->me, "halo <1> & \"2\"", *t);
  nbc_call_enter_at(s->me, NBC_KIND_IRECV, *t);
  nbc_xfer_begin_at(s->me, a, 2000000, NBC_KIND_IRECV, NBC_PEER_OTHER_NODE, *t);
  nbc_call_exit_at(s->me, *t += 500);
  nbc_call_enter_at(s->me, NBC_KIND_ISEND, *t);
  nbc_xfer_begin_at(s->me, b, 30000, NBC_KIND_ISEND, NBC_PEER_SAME_NODE, *t);
  nbc_call_exit_at(s->me, *t += 500);
  const int64_t posted = *t;
  nbc_call_enter_at(s->me, NBC_KIND_WAIT, *t += 100000 + 1000 * rank);
  *t += 150000 - 10000 * rank;
  nbc_xfer_end_at(s->me, a, *t);
  nbc_xfer_end_at(s->me, b, *t);
  nbc_call_exit_at(s->me, *t);
  nbc_xfer_stamp(s->me, b, posted + 1000, posted + 4000, 100);
  nbc_section_end_at(s->me, NULL, *t);
  nbc_call_enter_at(s->me, NBC_KIND_ALLREDUCE, *t += 20000);
  nbc_xfer_begin_at(s->me, c, 8, NBC_KIND_ALLREDUCE, NBC_PEER_UNKNOWN, *t);
  nbc_xfer_end_at(s->me, c, *t += 12000);
  nbc_call_exit_at(s->me, *t);
  nbc_section_end_at(s->me, NULL, *t);
}

static int make(const char *folder) {
  for (int rank = 0; rank < 4; rank++) {
    nbc_monitor_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.history_calls = 1000;
    sim s = sim_create(2000, 0.1, desc);
    int64_t t = 0;
    uint64_t id = 0;
    for (int i = 0; i < 100 + rank; i++) step(&s, &t, &id, rank);
    nbc_report *r = sim_report(&s, t);
    char path[500];
    r->rank = rank, r->size = 4;
    nbc_report_set(&r->program, "heat<3d>\x1b[31m\xff");
    nbc_report_set(&r->host, rank < 2 ? "node1" : "node2");
    snprintf(path, sizeof path, "%s/nbc_overlap.heat.1-2.%d.json", folder, rank);
    FILE *out = fopen(path, "w");
    if (!out || nbc_report_write_json(r, out) != NBC_OK || fclose(out) != 0) return 1;
    nbc_report_free(r);
    sim_destroy(&s);
  }
  return 0;
}

static int timelines(const char *folder) {
  for (int rank = 0; rank < 2; rank++) {
    const trace_record records[2] = {{.begin_ns = 1000 + 500 * rank,
                                      .end_ns = 2000 + 500 * rank,
                                      .id = 7,
                                      .size_bytes = 100000,
                                      .xfer_ns = 900,
                                      .max_overlap_ns = 900,
                                      .partner = 1 - rank,
                                      .what = TRACE_TRANSFER,
                                      .kind = rank ? NBC_KIND_IRECV : NBC_KIND_ISEND,
                                      .peer = NBC_PEER_SAME_NODE,
                                      .case_of = 2},
                                     {.begin_ns = 5,
                                      .end_ns = 1,
                                      .id = 7,
                                      .size_bytes = 100000,
                                      .xfer_ns = 900,
                                      .max_overlap_ns = 1,
                                      .partner = 1 - rank,
                                      .what = TRACE_MESSAGE,
                                      .kind = (uint8_t)rank,
                                      .case_of = TRACE_NO_TAIL}};
    const uint16_t one = 1;
    unsigned char low;
    char path[500];
    memcpy(&low, &one, 1);
    snprintf(path, sizeof path, "%s/nbc_overlap.heat.1-2.%d.trace", folder, rank);
    FILE *out = fopen(path, "wb");
    if (!out) return 1;
    fprintf(out, TRACE_FIRST_LINE " %s\nrank %d\nsize 2\npid %d\nhost node1\nprogram heat\n",
            low ? "01000000" : "00000001", rank, 10 + rank);
    fputs("clock 0 1000000\nclock 9000 1009000\nraw 0 50000 10\nraw 9000 59000 10\nboot same\n"
          "matches 1 in order\nseen 2\nrecords 2\n\n",
          out);
    if (fwrite(records, sizeof records, 1, out) != 1 || fclose(out) != 0) return 1;
  }
  return 0;
}

/* All clocks are one, which nobody knows. What 0 and 1 send each other takes 1 us to and 61 us back, of 0 and 2 it is the
   other way round: so 1 seems to be 30 us later than it is, and 2 as much earlier. Between 1 and 2 it takes 1 us. */
static int nodes(const char *folder) {
  for (int rank = 0; rank < 3; rank++) {
    trace_record records[8];
    char path[500];
    memset(records, 0, sizeof records);
    for (int n = 0, from = 0, to = 0; n < 4; to = (to + 1) % 3, from += !to) {
      if (from == to || (from != rank && to != rank)) continue;
      const int64_t at_ns = 1000 + 100000 * (3 * from + to),
                    takes_ns = (from == 1 && to == 0) || (from == 0 && to == 2) ? 61000 : 1000;
      trace_record *x = &records[2 * n], *m = x + 1;
      x->id = m->id = (uint64_t)++n;
      x->begin_ns = from == rank ? at_ns : at_ns + takes_ns - 200;
      x->end_ns = from == rank ? at_ns + 200 : at_ns + takes_ns;
      x->partner = m->partner = from == rank ? to : from;
      x->what = TRACE_TRANSFER, m->what = TRACE_MESSAGE;
      x->kind = from == rank ? NBC_KIND_SEND : NBC_KIND_RECV, m->kind = from != rank;
      x->size_bytes = m->size_bytes = 8, m->case_of = TRACE_EAGER, m->max_overlap_ns = 1;
    }
    const uint16_t one = 1;
    unsigned char low;
    memcpy(&low, &one, 1);
    snprintf(path, sizeof path, "%s/nbc_overlap.heat.1-2.%d.trace", folder, rank);
    FILE *out = fopen(path, "wb");
    if (!out) return 1;
    fprintf(out, TRACE_FIRST_LINE " %s\nrank %d\nsize 3\npid %d\nhost node%d\nprogram heat\n",
            low ? "01000000" : "00000001", rank, 10 + rank, rank);
    fprintf(out,
            "clock 0 1000000\nclock 1000000 2000000\nraw 0 50000 10\nraw 1000000 1050000 10\nboot %d\n"
            "matches 1 in order\nseen 8\nrecords 8\n\n",
            rank);
    if (fwrite(records, sizeof records, 1, out) != 1 || fclose(out) != 0) return 1;
  }
  return 0;
}

static int write_report(sim *s, int64_t t_ns, const char *path) {
  nbc_report *r = sim_report(s, t_ns);
  FILE *out = fopen(path, "w");
  const bool done = out && nbc_report_write_json(r, out) == NBC_OK && fclose(out) == 0;
  nbc_report_free(r);
  sim_destroy(s);
  return !done;
}
static nbc_kind kind_named(const char *name) {
  for (int k = 0; k < NBC_KIND_COUNT; k++)
    if (strcmp(nbc_kind_name((nbc_kind)k), name) == 0) return (nbc_kind)k;
  return NBC_KIND_OTHER;
}
static int waits(const char *kind_name, const char *path) {
  nbc_monitor_desc desc;
  const nbc_kind kind = kind_named(kind_name);
  memset(&desc, 0, sizeof desc);
  sim s = sim_create(2000, 0.1, desc);
  nbc_call_enter_at(s.me, kind, 0);
  nbc_xfer_begin_at(s.me, 1, 1000, kind, NBC_PEER_SAME_NODE, 0);
  nbc_xfer_end_parts_at(s.me, 1, 1000000000);
  nbc_call_exit_at(s.me, 1000000000);
  nbc_call_enter_at(s.me, NBC_KIND_RECV, 1000000000);
  nbc_xfer_begin_at(s.me, 2, 1000, NBC_KIND_RECV, NBC_PEER_SAME_NODE, 1000000000);
  nbc_xfer_end_early_at(s.me, 2, 1000, NBC_PEER_SAME_NODE, 1400000000);
  nbc_call_exit_at(s.me, 1400000000);
  nbc_call_enter_at(s.me, NBC_KIND_BARRIER, 1400000000);
  nbc_call_exit_at(s.me, 1500000000);
  return write_report(&s, 1600000000, path);
}
static int window(const char *path) {
  nbc_monitor_desc desc;
  memset(&desc, 0, sizeof desc);
  sim s = sim_create(2000, 0.1, desc);
  nbc_call_enter_at(s.me, NBC_KIND_PUT, 0);
  nbc_xfer_begin_at(s.me, 1, 1000, NBC_KIND_PUT, NBC_PEER_SAME_NODE, 0);
  nbc_call_exit_at(s.me, 1000);
  nbc_call_enter_at(s.me, NBC_KIND_RMA_SYNC, 100000000);
  nbc_xfer_end_at(s.me, 1, 200000000);
  nbc_call_exit_at(s.me, 200000000);
  nbc_call_enter_at(s.me, NBC_KIND_RMA_SYNC, 200000000);
  nbc_call_exit_at(s.me, 1600000000);
  return write_report(&s, 1700000000, path);
}
static int quiet(const char *path) {
  nbc_monitor_desc desc;
  memset(&desc, 0, sizeof desc);
  sim s = sim_create(2000, 0.1, desc);
  nbc_call_enter_at(s.me, NBC_KIND_BARRIER, 0);
  nbc_call_exit_at(s.me, 100000000);
  nbc_call_enter_at(s.me, NBC_KIND_IO, 100000000);
  nbc_call_exit_at(s.me, 104000000);
  return write_report(&s, 200000000, path);
}
static int computed(int64_t first_ns, int64_t each_ns, const char *path) {
  nbc_monitor_desc desc;
  memset(&desc, 0, sizeof desc);
  sim s = sim_create(2000, 0.1, desc);
  int64_t t_ns = 0;
  for (uint64_t id = 1; id <= 10; id++) {
    nbc_call_enter_at(s.me, NBC_KIND_ISEND, t_ns);
    nbc_xfer_begin_at(s.me, id, 2000000, NBC_KIND_ISEND, NBC_PEER_SAME_NODE, t_ns);
    nbc_call_exit_at(s.me, t_ns += 500);
    nbc_call_enter_at(s.me, NBC_KIND_WAIT, t_ns += id == 1 ? first_ns : each_ns);
    nbc_xfer_end_at(s.me, id, t_ns += 300000);
    nbc_call_exit_at(s.me, t_ns);
  }
  return write_report(&s, t_ns, path);
}
static int exchange(uint64_t bytes, const char *path) {
  nbc_monitor_desc desc;
  memset(&desc, 0, sizeof desc);
  sim s = sim_create(2000, 0.1, desc);
  int64_t t_ns = 0;
  for (uint64_t id = 1; id <= 20; id += 2) {
    nbc_call_enter_at(s.me, NBC_KIND_SENDRECV, t_ns);
    nbc_xfer_begin_at(s.me, id, bytes, NBC_KIND_SENDRECV, NBC_PEER_SAME_NODE, t_ns);
    nbc_xfer_begin_at(s.me, id + 1, bytes, NBC_KIND_SENDRECV, NBC_PEER_SAME_NODE, t_ns);
    t_ns += 10000 + (int64_t)bytes / 8;
    nbc_call_shared(s.me, 2);
    nbc_xfer_end_local_at(s.me, id, t_ns);
    nbc_xfer_end_early_at(s.me, id + 1, bytes, NBC_PEER_SAME_NODE, t_ns);
    nbc_call_exit_at(s.me, t_ns);
    t_ns += 1000;
  }
  return write_report(&s, t_ns, path);
}
static int unseen(const char *kind_name, const char *path) {
  nbc_monitor_desc desc;
  memset(&desc, 0, sizeof desc);
  sim s = sim_create(2000, 0.1, desc);
  int64_t t_ns = 0;
  for (uint64_t id = 1; id <= 10; id++) {
    nbc_call_enter_at(s.me, NBC_KIND_OTHER, t_ns);
    nbc_xfer_begin_at(s.me, id, 2000000, kind_named(kind_name), NBC_PEER_SAME_NODE, t_ns);
    nbc_call_exit_at(s.me, t_ns += 100);
    nbc_call_enter_at(s.me, NBC_KIND_WAIT, t_ns += 1000);
    nbc_xfer_end_parts_at(s.me, id, t_ns += 250000);
    nbc_call_exit_at(s.me, t_ns);
  }
  return write_report(&s, t_ns, path);
}

static char *read_all(const char *path) {
  FILE *in = fopen(path, "rb");
  char *text = (char *)calloc(1, 1 << 22);
  if (!in || !text || fread(text, 1, (1 << 22) - 1, in) == 0) abort();
  fclose(in);
  return text;
}

/* Tags nest and end, attributes are quoted, '&' begins one of four entities, bytes are printable. */
static void check_markup(const char *page) {
  char open[64][24];
  int depth = 0;
  const char *p = strchr(page, '>') + 1; /* after the doctype */
  for (; *p; p++) {
    CHECK((unsigned char)*p >= 0x20 || *p == '\n');
    if (*p == '&') CHECK(!strncmp(p, "&amp;", 5) || !strncmp(p, "&lt;", 4) || !strncmp(p, "&gt;", 4) || !strncmp(p, "&quot;", 6));
    CHECK(*p != '>');
    if (*p != '<') continue;
    const bool closing = p[1] == '/';
    const char *name = p + 1 + closing, *end = name;
    const size_t n = strcspn(name, " />\n");
    bool quoted = false;
    for (; *end && (*end != '>' || quoted); end++) {
      if (*end == '"') quoted = !quoted;
      if (quoted) CHECK(*end != '<');
    }
    CHECK(*end == '>' && n > 0 && n < sizeof open[0] && depth < 63);
    if (closing) {
      CHECK(depth > 0 && strlen(open[depth - 1]) == n && strncmp(open[depth - 1], name, n) == 0);
      depth--;
    } else if (end[-1] != '/') {
      snprintf(open[depth++], sizeof open[0], "%.*s", (int)n, name);
    }
    p = end;
    if (!closing && n == 5 && strncmp(name, "style", 5) == 0) p = strstr(p, "</style>") - 1;
    if (test_bad) break;
  }
  CHECK(depth == 0);
  CHECK(!strstr(page, "<script") && !strstr(page, "http") && !strstr(page, "<link") && !strstr(page, "url("));
}

/* The number of attribute `name` in the row of `table` called `row`; -1 when it is not there. */
static long long number(const char *page, const char *table, const char *row, const char *name) {
  char start[300], key[100];
  snprintf(start, sizeof start, "<tr data-table=\"%s\" data-name=\"%s\"", table, row);
  snprintf(key, sizeof key, " data-%s=\"", name);
  const char *at = strstr(page, start), *end = at ? strchr(at, '>') : NULL, *value = at ? strstr(at, key) : NULL;
  return value && value < end ? atoll(value + strlen(key)) : -1;
}

static void check_row(const char *page, const char *table, const char *row, const nbc_totals *t) {
  const long long found[] = {number(page, table, row, "count"),          number(page, table, row, "size-bytes"),
                             number(page, table, row, "xfer-ns"),        number(page, table, row, "min-overlap-ns"),
                             number(page, table, row, "max-overlap-ns"), number(page, table, row, "exact-overlap-lo-ns"),
                             number(page, table, row, "exact-overlap-hi-ns")};
  const long long wanted[] = {(long long)t->count, (long long)t->size_bytes, t->xfer_ns,    t->min_overlap_ns,
                              t->max_overlap_ns,   t->exact_lo_ns,           t->exact_hi_ns};
  for (int i = 0; i < 7; i++) {
    CHECK(found[i] == wanted[i]);
    if (found[i] != wanted[i]) printf("    %s %s, number %d: %lld, expected %lld\n", table, row, i, found[i], wanted[i]);
  }
}

static nbc_totals pick(const nbc_report *r, int section, int kind, int class_index, int peer) {
  nbc_totals t;
  memset(&t, 0, sizeof t);
  for (size_t i = 0; i < r->cell_count; i++) {
    const nbc_cell *c = &r->cells[i];
    if ((section < 0 || c->section_index == section) && (kind < 0 || (int)c->kind == kind) &&
        (class_index < 0 || c->class_index == class_index) && (peer < 0 || (int)c->peer == peer))
      nbc__rep_add_totals(&t, &c->t);
  }
  return t;
}

static const char *page_path, *sum_path;
static void the_page_holds_the_numbers_of_the_reports(void) {
  char *page = read_all(page_path);
  nbc_report *r;
  CHECK(nbc_report_read_json(sum_path, &r, NULL) == NBC_OK);
  check_markup(page);
  CHECK(r->process_count == 4 && r->section_count == 3 && r->total.count == 3 * 406);
  CHECK(r->total.exact_count > 0 && r->total.exact_lo_ns < r->total.exact_hi_ns);
  nbc_totals t = pick(r, 1, -1, -1, -1);
  check_row(page, "section", "solve", &t);
  t = pick(r, 2, -1, -1, -1);
  check_row(page, "section", "solve/halo &lt;1&gt; &amp; &quot;2&quot;", &t);
  t = pick(r, -1, NBC_KIND_IRECV, -1, -1);
  check_row(page, "call", "irecv", &t);
  t = pick(r, -1, NBC_KIND_ISEND, -1, -1);
  check_row(page, "call", "isend", &t);
  t = pick(r, -1, -1, 2, -1);
  check_row(page, "message size", "4 KiB to 64 KiB", &t);
  t = pick(r, -1, -1, 4, -1);
  check_row(page, "message size", "1 MiB to 16 MiB", &t);
  t = pick(r, -1, -1, -1, NBC_PEER_OTHER_NODE);
  check_row(page, "peer", "other node", &t);
  long long xfer = 0;
  for (int rank = 0; rank < 4; rank++) {
    char name[40];
    snprintf(name, sizeof name, "%d, node%d", rank, rank < 2 ? 1 : 2);
    CHECK(number(page, "rank", name, "count") == 3 * (100 + rank));
    xfer += number(page, "rank", name, "xfer-ns");
  }
  CHECK(xfer == r->total.xfer_ns);
  for (size_t i = 0; i < r->call_count; i++)
    if (r->calls[i].kind == NBC_KIND_WAIT) CHECK(number(page, "calls", "wait", "total-ns") == r->calls[i].total_ns);
  CHECK(strstr(page, "data-name=\"computation\" data-min=\"") != NULL);
  nbc_report_free(r);
  free(page);
}

int main(int argc, char **argv) {
  if (argc == 3 && strcmp(argv[1], "make") == 0) return make(argv[2]);
  if (argc == 3 && strcmp(argv[1], "timelines") == 0) return timelines(argv[2]);
  if (argc == 3 && strcmp(argv[1], "nodes") == 0) return nodes(argv[2]);
  if (argc == 3 && strcmp(argv[1], "window") == 0) return window(argv[2]);
  if (argc == 3 && strcmp(argv[1], "quiet") == 0) return quiet(argv[2]);
  if (argc == 4 && strcmp(argv[1], "waits") == 0) return waits(argv[2], argv[3]);
  if (argc == 4 && strcmp(argv[1], "exchange") == 0) return exchange(strtoull(argv[2], NULL, 10), argv[3]);
  if (argc == 4 && strcmp(argv[1], "unseen") == 0) return unseen(argv[2], argv[3]);
  if (argc == 5 && strcmp(argv[1], "computed") == 0) return computed(atoll(argv[2]), atoll(argv[3]), argv[4]);
  if (argc != 4 || strcmp(argv[1], "check") != 0) return 2;
  page_path = argv[2], sum_path = argv[3];
  TEST_INIT(1, argv);
  RUN(the_page_holds_the_numbers_of_the_reports);
  return TEST_END();
}
