/* --matrix FILE: what went from which process to which: transfers that carry at least a byte and their bytes, of
   puts, atomics and gets, of MPI's messages, collectives and one-sided operations alike. As a table (.csv), or a
   page with a map: a row sends, a column receives, darker is more. Above 128 processes a cell stands for several. */
#include "guest.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS_MAX = 128, CELL_PIXELS = 6, WORST = 20 };
typedef struct pair {
  int from, to;
  uint64_t transfers, bytes; /* 0 transfers: free */
} pair;
static const char *path;
static pair *pairs; /* hashed */
static size_t pair_count, pairs_max;

static pair *pair_of(int from, int to) {
  size_t i = (((uint64_t)(unsigned)from << 32 | (unsigned)to) * 0x9E3779B97F4A7C15u >> 20) &
             (pairs_max - 1);
  while (pairs[i].transfers && (pairs[i].from != from || pairs[i].to != to))
    i = (i + 1) & (pairs_max - 1);
  return &pairs[i];
}
static void grow(void) {
  pair *const old = pairs;
  const size_t old_max = pairs_max;
  pairs_max = pairs_max ? pairs_max * 2 : 1024;
  pairs = (pair *)calloc(pairs_max, sizeof *pairs);
  if (!pairs) guest_abort(100, "--matrix: out of memory");
  for (size_t i = 0; i < old_max; i++)
    if (old[i].transfers) *pair_of(old[i].from, old[i].to) = old[i];
  free(old);
}
static void carried(void *unused, const pm_stamp *s) {
  (void)unused;
  if (!s->size_bytes || s->target_rank < 0) return;
  if (2 * pair_count >= pairs_max) grow();
  pair *p = s->is_reply ? pair_of(s->target_rank, s->initiator_rank)
                        : pair_of(s->initiator_rank, s->target_rank);
  if (!p->transfers) {
    p->from = s->is_reply ? s->target_rank : s->initiator_rank;
    p->to = s->is_reply ? s->initiator_rank : s->target_rank;
    pair_count++;
  }
  p->transfers++;
  p->bytes += s->size_bytes;
}

/* ---- files ------------------------------------------------------------------------------------------------ */
static int by_rank(const void *left, const void *right) {
  const pair *a = (const pair *)left, *b = (const pair *)right;
  return a->from != b->from ? (a->from > b->from) - (a->from < b->from)
                            : (a->to > b->to) - (a->to < b->to);
}
static int by_bytes(const void *left, const void *right) {
  const pair *a = (const pair *)left, *b = (const pair *)right;
  return a->bytes != b->bytes ? (a->bytes < b->bytes) - (a->bytes > b->bytes)
                              : by_rank(left, right);
}
/* Those that are used, one after the other: no more pairs are found then. */
static void gather(void) {
  size_t n = 0;
  for (size_t i = 0; i < pairs_max; i++)
    if (pairs[i].transfers) pairs[n++] = pairs[i];
  if (n) qsort(pairs, n, sizeof *pairs, by_rank);
}
static void write_csv(FILE *out) {
  fprintf(out, "from,to,transfers,bytes\n");
  for (size_t i = 0; i < pair_count; i++)
    fprintf(out, "%d,%d,%llu,%llu\n", pairs[i].from, pairs[i].to,
            (unsigned long long)pairs[i].transfers, (unsigned long long)pairs[i].bytes);
}
static void write_map(FILE *out, const pair *cells, int side, int each, uint64_t most) {
  fprintf(out, "<svg width=\"%d\" height=\"%d\">\n", side * CELL_PIXELS, side * CELL_PIXELS);
  for (int i = 0; i < side * side; i++) {
    if (!cells[i].transfers) continue;
    const double share = most > 1 ? log((double)cells[i].bytes + 1) / log((double)most + 1) : 1;
    char who[80];
    const int row = i / side, column = i % side;
    if (each > 1)
      snprintf(who, sizeof who, "%d..%d to %d..%d", row * each, row * each + each - 1,
               column * each, column * each + each - 1);
    else
      snprintf(who, sizeof who, "%d to %d", row, column);
    fprintf(out,
            "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"#2471a3\" "
            "fill-opacity=\"%.3f\"><title>%s: %llu bytes, %llu transfers</title></rect>\n",
            column * CELL_PIXELS, row * CELL_PIXELS, CELL_PIXELS, CELL_PIXELS, 0.1 + 0.9 * share,
            who, (unsigned long long)cells[i].bytes, (unsigned long long)cells[i].transfers);
  }
  fprintf(out, "</svg>\n");
}
static void write_html(FILE *out) {
  const int each = (guest_count() + CELLS_MAX - 1) / CELLS_MAX,
            side = (guest_count() + each - 1) / each;
  pair *cells = (pair *)calloc((size_t)side * (size_t)side, sizeof *cells), sum = {0, 0, 0, 0};
  uint64_t most = 0;
  if (!cells) guest_refuse("--matrix: out of memory");
  for (size_t i = 0; i < pair_count; i++) {
    pair *c = &cells[pairs[i].from / each * side + pairs[i].to / each];
    c->transfers += pairs[i].transfers;
    c->bytes += pairs[i].bytes;
    sum.transfers += pairs[i].transfers;
    sum.bytes += pairs[i].bytes;
    if (c->bytes > most) most = c->bytes;
  }
  fprintf(
      out,
      "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>Bytes between "
      "processes</title>\n<style>\n"
      "body{font:14px sans-serif;margin:1em;background:#fff;color:#222}\nsvg{background:#f4f4f4}\n"
      "td,th{text-align:right;padding:1px 12px 1px 0}\n</style></head><body>\n<h2>Bytes between %d "
      "processes</h2>\n"
      "<p>%zu pairs, %llu transfers, %llu bytes. Rows send, columns receive, %d process%s per "
      "cell; shades are logarithmic.</p>\n",
      guest_count(), pair_count, (unsigned long long)sum.transfers, (unsigned long long)sum.bytes,
      each, each > 1 ? "es" : "");
  write_map(out, cells, side, each, most);
  free(cells);
  if (pair_count) qsort(pairs, pair_count, sizeof *pairs, by_bytes);
  fprintf(
      out,
      "<h3>Most bytes</h3>\n<table><tr><th>from<th>to<th>transfers<th>bytes<th>bytes each</tr>\n");
  for (size_t i = 0; i < pair_count && i < WORST; i++)
    fprintf(out, "<tr><td>%d<td>%d<td>%llu<td>%llu<td>%.0f</tr>\n", pairs[i].from, pairs[i].to,
            (unsigned long long)pairs[i].transfers, (unsigned long long)pairs[i].bytes,
            (double)pairs[i].bytes / (double)pairs[i].transfers);
  fprintf(out, "</table></body></html>\n");
}

/* ---- the part ---------------------------------------------------------------------------------------------- */
static void set_matrix(const char *option, const char *value) {
  path = guest_to_write(option, value, ".csv or .html");
}
static void begin(pm_world *world) {
  if (path) guest_on_stamp(world, carried);
}
static int finish(pm_world *world, int result) {
  FILE *out = path ? guest_output(path) : NULL;
  const char *dot = path ? strrchr(path, '.') : NULL;
  (void)world;
  if (!path) return result;
  if (!out) return result ? result : 2;
  gather();
  if (dot && strcmp(dot, ".csv") == 0)
    write_csv(out);
  else
    write_html(out);
  return guest_output_close(out, path) || result ? result : 2;
}
static const guest_option options[] = {
    {"--matrix", "FILE", "transfers and bytes from each process to each: .csv, or .html (heat map)",
     set_matrix},
    {NULL, NULL, NULL, NULL}};
static guest_part part = {.name = "matrix", .options = options, .begin = begin, .finish = finish};
__attribute__((constructor)) static void add(void) { guest_part_add(&part); }
