/* Which call ended what, from timelines: a call's time is shared by all that ended in it, whatever began them; messages to
   oneself have none of it beside others; and many that end in one call take no longer than many that end in many. */
#include "tests/overlap/timelines.h"
#include <time.h>
#include "tools/trace_ends.h"

static char none[] = "?", path[] = "run.trace", boot[] = "";
static trace_place places[] = {{.call = (char *)"MPI_Irecv", .module = none, .symbol = none, .offset = 1},
                               {.call = (char *)"MPI_Isend", .module = none, .symbol = none, .offset = 2},
                               {.call = (char *)"MPI_Waitall", .module = none, .symbol = none, .offset = 3}};
static nbc_report *report;
static trace_record *records;
static uint64_t count, next_id;
static int64_t now_ns;

static trace_record *record(int what, int64_t begin_ns, int64_t end_ns) {
  if (!(count & (count - 1))) records = (trace_record *)must(realloc(records, 2 * (count + 1) * sizeof *records));
  trace_record *r = &records[count++];
  *r = (trace_record){.begin_ns = begin_ns, .end_ns = end_ns, .partner = -1, .what = (uint8_t)what};
  return r;
}
static void called(int place, int64_t begin_ns, int64_t end_ns) {
  trace_record *r = record(TRACE_CALL, begin_ns, end_ns);
  r->id = (uint64_t)place;
  r->max_overlap_ns = 1;
}
/* Begun one after the other, each by a call of its own; 'r' a receive, 's' a send, 'o' one to oneself, 'b': what has no data.
   All end in one call of d_ns. */
static void waitall(const char *what, int64_t d_ns) {
  const int64_t end_ns = now_ns + 10 * (int64_t)strlen(what) + d_ns;
  for (; *what; what++, now_ns += 10) {
    called(*what != 'r', now_ns, now_ns + 5);
    trace_record *x = record(TRACE_TRANSFER, now_ns, end_ns);
    x->id = ++next_id;
    x->size_bytes = *what != 'b';
    x->peer = *what == 'o' ? NBC_PEER_SELF : NBC_PEER_SAME_NODE;
  }
  called(2, now_ns, end_ns);
  now_ns = end_ns + 100;
}
static void tell(void) {
  static timeline t;
  memset(&t, 0, sizeof t);
  memset(&matches, 0, sizeof matches);
  t.boot = boot;
  t.path = path;
  t.size = 1;
  t.every = 1;
  t.records = records;
  t.record_count = t.seen_count = count;
  t.places = places;
  t.place_count = 3;
  traces.of = &t;
  traces.count = 1;
  match_messages();
  nbc_report_free(report);
  CHECK(nbc_report_create(&report) == NBC_OK);
  end_add_all(report);
  free(matches.transfers[0]), free(matches.calls[0]), free(matches.messages[0]), free(matches.bounds[0]);
  free(matches.collectives[0]), free(matches.sent), free(matches.received), free(matches.collectives_of);
  free(matches.transfers), free(matches.calls), free(matches.messages), free(matches.bounds);
  free(matches.collectives), free(matches.transfer_count), free(matches.call_count), free(matches.messages_of);
  free(clocks.boot), free(clocks.facts), free(clocks.pairs), free(member_list.of);
  memset(&clocks, 0, sizeof clocks);
  free(records);
  records = NULL;
  count = 0;
}
/* Of those that began in the call with this name: how many, and what they waited. */
static void told(const char *begin, uint64_t wanted, int64_t waited_ns) {
  uint64_t n = 0;
  int64_t sum_ns = 0;
  for (size_t i = 0; i < report->ending_count; i++) {
    const nbc_ending *e = &report->endings[i];
    CHECK(strcmp(report->sites[e->end_plus1 - 1].call, "MPI_Waitall") == 0);
    if (strcmp(report->sites[e->begin_plus1 - 1].call, begin) != 0) continue;
    n += e->count;
    sum_ns += e->waited_ns;
  }
  CHECK(n == wanted);
  CHECK(sum_ns == waited_ns);
}
static void a_call_is_shared_by_all_that_end_in_it(void) {
  waitall("r", 1000);
  waitall("rs", 1000);
  waitall("ssr", 3000);
  waitall("bs", 500); /* a barrier may be what was waited for */
  tell();
  told("MPI_Irecv", 3, 1000 + 500 + 1000);
  told("MPI_Isend", 4, 500 + 2000 + 250);
}
static void messages_to_oneself_have_none_beside_others(void) {
  waitall("ro", 1000);
  waitall("oor", 3000);
  tell();
  told("MPI_Irecv", 2, 4000);
  told("MPI_Isend", 3, 0);
  waitall("oo", 1000);
  tell();
  told("MPI_Irecv", 0, 0);
  told("MPI_Isend", 2, 1000);
}
static void many_in_one_call_take_no_longer(void) {
  enum { MANY = 100000 };
  static char all[MANY + 1];
  memset(all, 'r', MANY);
  waitall(all, 10 * MANY);
  const clock_t begin = clock();
  tell();
  CHECK((double)(clock() - begin) / CLOCKS_PER_SEC < 1);
  told("MPI_Irecv", MANY, 10 * MANY);
}
int main(int argc, char **argv) {
  (void)trace_sort, (void)trace_add_file, (void)wait_add_all; /* the rest of the files */
  test_init(argc, argv);
  RUN(a_call_is_shared_by_all_that_end_in_it);
  RUN(messages_to_oneself_have_none_beside_others);
  RUN(many_in_one_call_take_no_longer);
  nbc_report_free(report);
  return test_end();
}
