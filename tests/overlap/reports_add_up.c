/* Adding reports: sums, sections by path, notes once; other size classes are refused; the text names
   what matters; nested sections count once and add up. */
#include "tests/pieces.h"
#include "tests/overlap/sim.h"

static nbc_report *sample(int rank, const char *section, const uint64_t *edges, size_t edge_count) {
  nbc_monitor_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.class_edges_bytes = edges;
  desc.class_edge_count = edge_count;
  sim s = sim_create(100, 1, desc);
  nbc_section_begin_at(s.me, section, 0);
  nbc_section_begin_at(s.me, "inner", 100);
  nbc_call_enter_at(s.me, NBC_KIND_ISEND, 200);
  nbc_xfer_begin_at(s.me, 1, 5000, NBC_KIND_ISEND, NBC_PEER_OTHER_NODE, 200);
  nbc_call_exit_at(s.me, 300);
  nbc_section_end_at(s.me, "inner", 6000);
  nbc_call_enter_at(s.me, NBC_KIND_WAIT, 7000);
  nbc_xfer_end_at(s.me, 1, 7100);
  nbc_call_exit_at(s.me, 7100 + rank);
  nbc_section_end_at(s.me, section, 8000);
  nbc_report *r = sim_report(&s, 9000);
  r->rank = rank;
  r->size = 2;
  CHECK(nbc_report_set(&r->program, "sample") == NBC_OK);
  CHECK(nbc_report_note(r, "said once") == NBC_OK);
  CHECK(nbc_report_counter(r, 0, "wire_bytes", 5100) == NBC_OK);
  sim_destroy(&s);
  return r;
}

static int section_of(const nbc_report *r, const char *path) {
  for (size_t i = 0; i < r->section_count; i++)
    if (strcmp(r->sections[i].path, path) == 0) return (int)i;
  return -1;
}

static void sections_are_exclusive_and_add_up(void) {
  nbc_report *r = sample(0, "outer", NULL, 0);
  const int outer = section_of(r, "outer"), inner = section_of(r, "outer/inner");
  CHECK(outer > 0 && inner > 0);
  CHECK(r->sections[inner].parent_index == outer && r->sections[outer].parent_index == 0);
  CHECK(r->sections[inner].comp_ns == 100 + 5700 && r->sections[inner].call_ns == 100);
  CHECK(r->sections[outer].comp_ns == 100 + 1000 + 900 && r->sections[outer].call_ns == 100);
  CHECK(r->sections[0].comp_ns == 1000);
  CHECK(r->comp_ns == 5800 + 2000 + 1000 && r->call_ns == 200);
  CHECK(r->cell_count == 1 && r->cells[0].section_index == inner); /* where it began */
  CHECK(r->call_count == 2);
  nbc_report_free(r);
}

static void an_open_call_counts_until_now(void) {
  nbc_monitor_desc desc;
  memset(&desc, 0, sizeof desc);
  sim s = sim_create(100, 1, desc);
  nbc_call_enter_at(s.me, NBC_KIND_BARRIER, 100);
  nbc_call_exit_at(s.me, 150);
  nbc_section_begin_at(s.me, "hangs", 200);
  nbc_call_enter_at(s.me, NBC_KIND_RECV, 300);
  nbc_report *r = sim_report(&s, 5300);
  CHECK(r->call_count == 2 && r->call_ns == 50 + 5000);
  for (size_t i = 0; i < r->call_count; i++) {
    const nbc_call *c = &r->calls[i];
    if (c->kind == NBC_KIND_RECV) CHECK(c->count == 1 && c->total_ns == 5000 && c->min_ns == 5000 && c->max_ns == 5000 && c->section_index == section_of(r, "hangs"));
    else CHECK(c->kind == NBC_KIND_BARRIER && c->count == 1 && c->total_ns == 50);
  }
  nbc_report_free(r);
  nbc_call_exit_at(s.me, 6300); /* it goes on, and counts once */
  r = sim_report(&s, 6400);
  CHECK(r->call_count == 2 && r->call_ns == 50 + 6000);
  nbc_report_free(r);
  sim_destroy(&s);
}

static void adding_sums_everything_by_path(void) {
  nbc_report *a = sample(0, "x", NULL, 0), *b = sample(1, "x", NULL, 0), *c = sample(1, "y", NULL, 0), *sum;
  nbc_error err;
  CHECK(nbc_report_create(&sum) == NBC_OK);
  CHECK(nbc_report_add(sum, a, &err) == NBC_OK);
  CHECK(nbc_report_add(sum, b, &err) == NBC_OK);
  CHECK(nbc_report_add(sum, c, &err) == NBC_OK);
  CHECK(sum->process_count == 3 && sum->thread_count == 3 && sum->rank == -1);
  CHECK(sum->section_count == 5); /* root, x, x/inner, y, y/inner */
  CHECK(sum->total.count == 3 && sum->total.xfer_ns == 3 * a->total.xfer_ns);
  CHECK(sum->comp_ns == a->comp_ns + b->comp_ns + c->comp_ns);
  CHECK(sum->cell_count == 2);
  CHECK(sum->note_count == 1 && sum->counter_count == 1);
  CHECK(sum->counters[0].value == 3 * 5100);
  nbc_totals again;
  memset(&again, 0, sizeof again);
  for (size_t i = 0; i < sum->cell_count; i++) nbc__rep_add_totals(&again, &sum->cells[i].t);
  CHECK(memcmp(&again, &sum->total, sizeof again) == 0);
  const int x = section_of(sum, "x");
  bool seen = false;
  for (size_t i = 0; i < sum->call_count; i++)
    if (sum->calls[i].section_index == x && sum->calls[i].kind == NBC_KIND_WAIT) {
      seen = true;
      CHECK(sum->calls[i].count == 2 && sum->calls[i].min_ns == 100 && sum->calls[i].max_ns == 101);
    }
  CHECK(seen);
  nbc_report_free(a); nbc_report_free(b); nbc_report_free(c); nbc_report_free(sum);
}

static void other_size_classes_are_refused_with_the_rank(void) {
  static const uint64_t edges[] = {10, 20};
  nbc_report *a = sample(0, "x", NULL, 0), *b = sample(1, "x", edges, 2), *sum;
  nbc_error err;
  CHECK(nbc_report_create(&sum) == NBC_OK);
  CHECK(nbc_report_add(sum, a, &err) == NBC_OK);
  CHECK(nbc_report_add(sum, b, &err) == NBC_E_MISMATCH);
  CHECK(strstr(err.text, "rank 1 of sample") != NULL);
  CHECK(sum->process_count == 1 && sum->total.count == 1);
  nbc_report_free(a); nbc_report_free(b); nbc_report_free(sum);
}

static void text_says_what_was_hidden_and_where(void) {
  nbc_report *r = sample(0, "outer", NULL, 0);
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  CHECK(nbc_report_write_text(r, out) == NBC_OK);
  fclose(out);
  /* x = 5100, window 6900, comp 5700 + 1000, noncomp 200: at least 4900, at most 5100 */
  CHECK(strstr(text, "at least 96.1 %, at most 100.0 %") != NULL);
  CHECK(strstr(text, "outer/inner") != NULL);
  CHECK(strstr(text, "4 KiB..64 KiB") != NULL);
  CHECK(strstr(text, "isend (nonblocking)") != NULL);
  CHECK(strstr(text, "note: said once") != NULL);
  CHECK(strstr(text, "what others compute meanwhile does not count") == NULL);
  free(text);
  nbc_thread *second;
  NBC__REP_APPEND(nbc_thread, r->threads, r->thread_count, second);
  CHECK(second != NULL);
  out = open_memstream(&text, &size);
  CHECK(nbc_report_write_text(r, out) == NBC_OK);
  fclose(out);
  CHECK(strstr(text, "what others compute meanwhile does not count") != NULL);
  free(text);
  nbc_report_free(r);
}

static void columns_hold_the_ends_of_long_names(void) {
  char text[64];
  CHECK(!strcmp(nbc__rep_column("solve/halo/pack", 15, text, sizeof text), "solve/halo/pack"));
  CHECK(!strcmp(nbc__rep_column("solve/halo/pack", 17, text, sizeof text), "solve/halo/pack  "));
  CHECK(!strcmp(nbc__rep_column("solve/halo/pack", 9, text, sizeof text), "..lo/pack"));
  CHECK(!strcmp(nbc__rep_column("\303\251t\303\251", 5, text, sizeof text), "\303\251t\303\251  ")); /* of two bytes each */
  CHECK(!strcmp(nbc__rep_column("aaa\303\251\303\251\303\251", 4, text, sizeof text), "..\303\251\303\251"));
  CHECK(strlen(nbc__rep_column("solve/halo/pack", 15, text, 9)) == 8);
}

static void writing_to_a_full_disk_is_an_error(void) {
  nbc_report *r = sample(0, "outer", NULL, 0);
  FILE *out = fopen("/dev/full", "w");
  if (!out) { nbc_report_free(r); SKIP("no /dev/full here"); }
  CHECK(nbc_report_write_json(r, out) == NBC_E_IO);
  fclose(out);
  nbc_report_free(r);
}

/* Bin b of a distribution counts values in [2^(b-1), 2^b) ns, bin 0 zeros, the last all above. */
static void distributions_have_the_bins_they_promise(void) {
  static const struct { int64_t comp_ns; int bin; } cases[] = {
      {0, 0}, {1, 1}, {2, 2}, {3, 2}, {4, 3}, {127, 7}, {128, 8}, {INT64_C(1) << 50, NBC_HIST_BINS - 1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    nbc_monitor_desc desc;
    memset(&desc, 0, sizeof desc);
    sim s = sim_create(100, 1, desc);
    const int64_t t_ns = 10 + cases[i].comp_ns;
    nbc_call_enter_at(s.me, NBC_KIND_ISEND, 0);
    nbc_xfer_begin_at(s.me, 1, 50, NBC_KIND_ISEND, NBC_PEER_OTHER_NODE, 0);
    nbc_call_exit_at(s.me, 10);
    nbc_call_enter_at(s.me, NBC_KIND_WAIT, t_ns);
    nbc_xfer_end_at(s.me, 1, t_ns + 5);
    nbc_call_exit_at(s.me, t_ns + 5);
    nbc_report *r = sim_report(&s, t_ns + 5);
    CHECK(r->cell_count == 1 && r->cells[0].available_ns == cases[i].comp_ns);
    for (int b = 0; b < NBC_HIST_BINS; b++) CHECK(r->cells[0].available_count[b] == (b == cases[i].bin));
    nbc_report_free(r);
    sim_destroy(&s);
  }
}

/* Of large programs there are 100,000 places: how often it is looked for them grows as their number, not as its square. */
static nbc_site place_number(uint64_t i) {
  static char calls[2][16] = {"MPI_Send", "MPI_Recv"}, modules[3][16] = {"app", "libone.so", "libtwo.so"};
  return (nbc_site){.call = calls[i % 2], .module = i % 7 ? modules[i % 3] : NULL, .offset = i / 6 * 16, .count = 1, .total_ns = 5};
}
static void many_places_are_found_by_few_looks(void) {
  enum { MANY = 60000, TURNS = 3 };
  nbc_report *r;
  CHECK(nbc_report_create(&r) == NBC_OK);
  for (int turn = 0; turn < TURNS; turn++)
    for (uint64_t i = 0; i < MANY; i++) {
      const nbc_site one = place_number(i), few = place_number(i % 50);
      CHECK(nbc_report_site(r, &one) == NBC_OK);
      CHECK(nbc_report_ending(r, &few, &one, 1, 3) == NBC_OK);
    }
  CHECK(r->site_count == MANY && r->ending_count == MANY);
  for (size_t i = 0; i < r->site_count; i++) {
    const nbc_site *s = &r->sites[i];
    CHECK(nbc__rep_site_plus1(r, s) == (int)i + 1);
    CHECK(s->count == TURNS && s->total_ns == 5 * TURNS);
  }
  for (size_t i = 0; i < r->ending_count; i++)
    CHECK(r->endings[i].count == TURNS && r->endings[i].waited_ns == 3 * TURNS);
  CHECK(r->site_index.look_count < 25ull * MANY && r->ending_index.look_count < 10ull * MANY);
  nbc_report_free(r);
}
/* Whoever appends to the array, or takes from it, is believed. */
static void places_that_were_filled_in_by_hand_are_found(void) {
  nbc_report *r;
  const nbc_site a = place_number(1), b = place_number(8), c = place_number(15);
  CHECK(nbc_report_create(&r) == NBC_OK);
  CHECK(nbc_report_site(r, &a) == NBC_OK && nbc_report_site(r, &b) == NBC_OK && nbc_report_site(r, &c) == NBC_OK);
  CHECK(nbc__rep_site_plus1(r, &c) == 3);
  const nbc_site gone = r->sites[--r->site_count];
  CHECK(nbc__rep_site_plus1(r, &b) == 2 && nbc__rep_site_plus1(r, &c) == 3 && r->site_count == 3);
  free(gone.call), free(gone.module);
  nbc_report_free(r);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(sections_are_exclusive_and_add_up);
  RUN(an_open_call_counts_until_now);
  RUN(adding_sums_everything_by_path);
  RUN(other_size_classes_are_refused_with_the_rank);
  RUN(text_says_what_was_hidden_and_where);
  RUN(columns_hold_the_ends_of_long_names);
  RUN(writing_to_a_full_disk_is_an_error);
  RUN(distributions_have_the_bins_they_promise);
  RUN(many_places_are_found_by_few_looks);
  RUN(places_that_were_filled_in_by_hand_are_found);
  return TEST_END();
}
