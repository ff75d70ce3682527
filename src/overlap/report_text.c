/* report_text.c: reports for people, as text. */
#include "report_text.h"
#include "../base/locale.h"
#include "../base/sums.h"
#include "clock.h"
#include "cells.h"
#include "monitor.h"

/* ---- text ---------------------------------------------------------------------------------- */
NBC__PRIVATE double nbc__rep_share(int64_t part, int64_t whole) {
  return whole > 0 ? (double)part / (double)whole : 0;
}

/* Of the stamped transfers; the interval passes their time by the clocks' uncertainty, the truth
   cannot. */
NBC__PRIVATE double nbc__rep_exact(const nbc_totals *t, int64_t overlap_ns) {
  return overlap_ns < t->exact_xfer_ns ? nbc__rep_share(overlap_ns, t->exact_xfer_ns)
                                       : t->exact_xfer_ns > 0;
}

/* Text that may come from anybody's file, for a terminal: no control characters, at most size -
   1. */
NBC__PRIVATE const char *nbc__rep_plain(const char *from, char *text, size_t size) {
  size_t n = 0;
  if (!from) from = "?";
  for (; *from && n + 1 < size; from++, n++)
    text[n] = (unsigned char)*from < 0x20 || *from == 0x7f ? '?' : *from;
  text[n] = 0;
  return text;
}

/* In so many columns: padded, or the end behind "..", which tells paths apart. Characters of UTF-8 take one each. */
NBC__PRIVATE const char *nbc__rep_column(const char *name, size_t columns, char *text,
                                         size_t size) {
  size_t count = 0, n = 0;
  const char *at;
  for (at = name; *at; at++) count += ((unsigned char)*at & 0xC0) != 0x80;
  if (count > columns) {
    while (count > columns - 2 || ((unsigned char)*name & 0xC0) == 0x80)
      count -= ((unsigned char)*name++ & 0xC0) != 0x80;
    for (; n < 2 && n + 1 < size; n++) text[n] = '.';
    count += 2;
  }
  for (; *name && n + 1 < size; name++) text[n++] = *name;
  for (; count < columns && n + 1 < size; count++) text[n++] = ' ';
  text[n] = 0;
  return text;
}

/* "1.23 ms", "45.0 s": three figures and a unit that fits. */
NBC__PRIVATE const char *nbc__rep_time(int64_t ns, char *text, size_t size) {
  static const char *const units[] = {"ns", "us", "ms", "s"};
  double v = (double)ns;
  int u = 0;
  while (fabs(v) >= 999.5 && u < 3) v /= 1000, u++;
  snprintf(text, size,
           fabs(v) < 9.995 && u   ? "%.2f %s"
           : fabs(v) < 99.95 && u ? "%.1f %s"
                                  : "%.0f %s",
           v, units[u]);
  return text;
}

NBC__PRIVATE const char *nbc__rep_bytes(uint64_t bytes, char *text, size_t size) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double v = (double)bytes;
  int u = 0;
  while (v >= 1024 && u < 6) v /= 1024, u++;
  snprintf(text, size, u && v < 99.95 && v != floor(v) ? "%.1f %s" : "%.0f %s", v, units[u]);
  return text;
}

/* "4 KiB..64 KiB" for class c. */
NBC__PRIVATE const char *nbc__rep_class(const nbc_report *r, int c, char *text, size_t size) {
  char low[24], high[24];
  if (c > 0) nbc__rep_bytes(r->class_edges_bytes[c - 1], low, sizeof low);
  if ((size_t)c < r->class_edge_count) nbc__rep_bytes(r->class_edges_bytes[c], high, sizeof high);
  if (r->class_edge_count == 0)
    snprintf(text, size, "all sizes");
  else if (c == 0)
    snprintf(text, size, "up to %s", high);
  else if ((size_t)c >= r->class_edge_count)
    snprintf(text, size, "over %s", low);
  else
    snprintf(text, size, "%s..%s", low, high);
  return text;
}

typedef struct nbc__rep_row { /* one line of a breakdown */
  int key;
  nbc_totals t;
} nbc__rep_row;

static int nbc__rep_row_order(const void *a, const void *b) { /* most unhidden time first */
  const nbc_totals *ta = &((const nbc__rep_row *)a)->t, *tb = &((const nbc__rep_row *)b)->t;
  const int64_t ua = ta->xfer_ns - ta->max_overlap_ns, ub = tb->xfer_ns - tb->max_overlap_ns;
  if (ua != ub) return ua < ub ? 1 : -1;
  if (ta->xfer_ns != tb->xfer_ns) return ta->xfer_ns < tb->xfer_ns ? 1 : -1;
  return ((const nbc__rep_row *)a)->key - ((const nbc__rep_row *)b)->key;
}

static void nbc__rep_line(FILE *out, const char *name, const nbc_totals *t) {
  char a[24], b[24], c[24], text[128];
  fprintf(out, "  %s %9llu %9s %9s  %5.1f .. %5.1f %%  %9s\n",
          nbc__rep_column(name, 28, text, sizeof text), (unsigned long long)t->count,
          nbc__rep_bytes(t->size_bytes, a, sizeof a), nbc__rep_time(t->xfer_ns, b, sizeof b),
          100 * nbc__rep_share(t->min_overlap_ns, t->xfer_ns),
          100 * nbc__rep_share(t->max_overlap_ns, t->xfer_ns),
          nbc__rep_time(t->xfer_ns - t->max_overlap_ns, c, sizeof c));
  if (t->exact_count)
    fprintf(out, "  %-28s %9llu %9s %9s  %5.1f .. %5.1f %%\n", "    by NIC stamps",
            (unsigned long long)t->exact_count, "", nbc__rep_time(t->exact_xfer_ns, b, sizeof b),
            100 * nbc__rep_exact(t, t->exact_lo_ns), 100 * nbc__rep_exact(t, t->exact_hi_ns));
}

/* The transfers by section (0), size class (1), kind (2) or peer class (3), worst first. */
static nbc_status nbc__rep_breakdown(const nbc_report *r, int by, const char *title, FILE *out) {
  const size_t sizes[] = {r->section_count, NBC_MAX_CLASSES, NBC_KIND_COUNT, NBC_PEER_COUNT};
  nbc__rep_row *rows = (nbc__rep_row *)nbc__zalloc(sizes[by] * sizeof *rows);
  char name[64];
  if (!rows) return NBC_E_NOMEM;
  for (size_t i = 0; i < sizes[by]; i++) rows[i].key = (int)i;
  for (size_t i = 0; i < r->cell_count; i++) {
    const nbc_cell *c = &r->cells[i];
    const int keys[] = {c->section_index, c->class_index, (int)c->kind, (int)c->peer};
    nbc__rep_add_totals(&rows[keys[by]].t, &c->t);
  }
  qsort(rows, sizes[by], sizeof *rows, nbc__rep_row_order);
  if (by == 3 && rows[0].t.count == r->total.count) { /* one kind of peer: nothing to tell apart */
    NBC_FREE(rows);
    return NBC_OK;
  }
  fprintf(out, "\n%-30s %9s %9s %9s  %16s  %9s\n", title, "transfers", "volume", "time",
          "hidden min..max", "not hidden");
  for (size_t i = 0; i < sizes[by]; i++) {
    const int k = rows[i].key;
    if (!rows[i].t.count) continue;
    const char *text =
        by == 0   ? (r->sections[k].path[0] ? nbc__rep_plain(r->sections[k].path, name, sizeof name)
                                            : "(outside sections)")
        : by == 1 ? nbc__rep_class(r, k, name, sizeof name)
        : by == 2 ? nbc_kind_name((nbc_kind)k)
                  : nbc_peer_name((nbc_peer)k);
    nbc__rep_line(out, text, &rows[i].t);
  }
  NBC_FREE(rows);
  return NBC_OK;
}

/* Did threads run that never call MPI? The overlap preload says so. */
static bool nbc__rep_others_ran(const nbc_report *r) {
  for (size_t i = 0; i < r->counter_count; i++)
    if (strcmp(r->counters[i].name, "other_threads_ran_ns") == 0) return true;
  return false;
}
static void nbc__rep_text_head(const nbc_report *r, FILE *out) {
  char a[24], b[24], c[24], d[24], text[256];
  const nbc_totals *t = &r->total;
  fprintf(out, "Overlap of %s",
          r->program ? nbc__rep_plain(r->program, text, sizeof text) : "this program");
  if (r->rank >= 0)
    fprintf(out, ", rank %d of %d", r->rank, r->size);
  else
    fprintf(out, ", %d process%s", r->process_count, r->process_count == 1 ? "" : "es");
  if (r->host && r->host[0]) fprintf(out, ", on %s", nbc__rep_plain(r->host, text, sizeof text));
  if (r->library) fprintf(out, " (%s)", nbc__rep_plain(r->library, text, sizeof text));
  fprintf(out, "\n%zu thread%s, %s: computation %s (%.1f %%), in communication calls %s (%.1f %%)",
          r->thread_count, r->thread_count == 1 ? "" : "s", nbc__rep_time(r->wall_ns, a, sizeof a),
          nbc__rep_time(r->comp_ns, b, sizeof b), 100 * nbc__rep_share(r->comp_ns, r->wall_ns),
          nbc__rep_time(r->call_ns, c, sizeof c), 100 * nbc__rep_share(r->call_ns, r->wall_ns));
  if (r->off_ns) fprintf(out, ", switched off %s", nbc__rep_time(r->off_ns, d, sizeof d));
  if (r->tool_ns)
    fprintf(out, ",\nmeasuring itself %s (%.2f %%)", nbc__rep_time(r->tool_ns, d, sizeof d),
            100 * nbc__rep_share(r->tool_ns, r->wall_ns));
  fprintf(out, "\n\n");
  if (!t->count) {
    fprintf(out, "No transfers were seen.\n");
    return;
  }
  fprintf(out,
          "Transfers took %s by the table. Hidden behind computation: at least %.1f %%, at most "
          "%.1f %%",
          nbc__rep_time(t->xfer_ns, a, sizeof a),
          100 * nbc__rep_share(t->min_overlap_ns, t->xfer_ns),
          100 * nbc__rep_share(t->max_overlap_ns, t->xfer_ns));
  if (t->exact_count)
    fprintf(out, "; by NIC stamps of %llu: %.1f to %.1f %%", (unsigned long long)t->exact_count,
            100 * nbc__rep_exact(t, t->exact_lo_ns), 100 * nbc__rep_exact(t, t->exact_hi_ns));
  fprintf(out, ".\nNot hidden for certain: %s.\n",
          nbc__rep_time(t->xfer_ns - t->max_overlap_ns, b, sizeof b));
  if (r->thread_count > (size_t)(r->process_count > 1 ? r->process_count : 1) ||
      nbc__rep_others_ran(r))
    fprintf(out,
            "A transfer is hidden by what the thread that began it computes: what others compute "
            "meanwhile does not count.\n");
}

static void nbc__rep_text_calls(const nbc_report *r, FILE *out) {
  char a[24], b[24], c[24], d[24];
  struct {
    uint64_t count;
    int64_t total_ns, min_ns, max_ns;
  } k[NBC_KIND_COUNT];
  memset(k, 0, sizeof k);
  for (size_t i = 0; i < r->call_count; i++) {
    const nbc_call *call = &r->calls[i];
    if (!k[call->kind].count || call->min_ns < k[call->kind].min_ns)
      k[call->kind].min_ns = call->min_ns;
    if (call->max_ns > k[call->kind].max_ns) k[call->kind].max_ns = call->max_ns;
    k[call->kind].count += call->count;
    nbc__plus(&k[call->kind].total_ns, call->total_ns);
  }
  fprintf(out, "\n%-30s %9s %9s %9s %9s %9s\n", "Calls", "calls", "total", "mean", "min", "max");
  for (;;) {
    int worst = -1;
    for (int i = 0; i < NBC_KIND_COUNT; i++)
      if (k[i].count && (worst < 0 || k[i].total_ns > k[worst].total_ns)) worst = i;
    if (worst < 0) break;
    char name[40];
    snprintf(name, sizeof name, "%s (%s)", nbc_kind_name((nbc_kind)worst),
             nbc_category_name(nbc_kind_category((nbc_kind)worst)));
    fprintf(out, "  %-28s %9llu %9s %9s %9s %9s\n", name, (unsigned long long)k[worst].count,
            nbc__rep_time(k[worst].total_ns, a, sizeof a),
            nbc__rep_time(k[worst].total_ns / (int64_t)k[worst].count, b, sizeof b),
            nbc__rep_time(k[worst].min_ns, c, sizeof c),
            nbc__rep_time(k[worst].max_ns, d, sizeof d));
    k[worst].count = 0;
  }
}

static nbc_status nbc__rep_text(const nbc_report *r, FILE *out) {
  nbc_status status = NBC_OK;
  char a[1024], b[256];
  nbc__rep_text_head(r, out);
  if (r->total.count) {
    if (r->section_count > 1) status = nbc__rep_breakdown(r, 0, "By section", out);
    if (status == NBC_OK) status = nbc__rep_breakdown(r, 2, "By kind", out);
    if (status == NBC_OK) status = nbc__rep_breakdown(r, 1, "By message size", out);
    if (status == NBC_OK) status = nbc__rep_breakdown(r, 3, "By peer", out);
  }
  if (r->call_count) nbc__rep_text_calls(r, out);
  if (r->counter_count) fprintf(out, "\n%-40s %18s  %s\n", "Counters", "value", "section");
  for (size_t i = 0; i < r->counter_count; i++) {
    const char *path = r->sections[r->counters[i].section_index].path;
    fprintf(out, "  %-38s %18.15g  %s\n", nbc__rep_plain(r->counters[i].name, a, sizeof a),
            r->counters[i].value, path[0] ? nbc__rep_plain(path, b, sizeof b) : "(outside)");
  }
  fprintf(
      out, "\nClock %s, rate known to %.2g ppm. Transfer times: same node %s; other node %s%s\n",
      nbc_clock_source_name(r->clock_source), r->clock_rate_err_ppm,
      nbc__rep_plain(r->table_same_node, a, sizeof a),
      nbc__rep_plain(r->table_other_node, b, sizeof b),
      r->table_is_default
          ? "\n  (a default was used, not measured on this machine: bounds are only as good as it)"
          : "");
  for (int p = 0; p < NBC_PROBLEM_COUNT; p++)
    if (r->problems[p])
      fprintf(out, "  %llu %s\n", (unsigned long long)r->problems[p],
              nbc_problem_text((nbc_problem)p));
  for (size_t i = 0; i < r->note_count; i++)
    fprintf(out, "  note: %s\n", nbc__rep_plain(r->notes[i], a, sizeof a));
  if (status == NBC_OK && (fflush(out) != 0 || ferror(out))) status = NBC_E_IO;
  return status;
}

NBC_API nbc_status nbc_report_write_text(const nbc_report *r, FILE *out) {
  if (!r || !out || !nbc__rep_is_whole(r)) return NBC_E_INVAL;
  const locale_t before = nbc__locale_begin();
  const nbc_status status = nbc__rep_text(r, out);
  nbc__locale_end(before);
  return status;
}
