/* report_diff.c: two reports side by side. */
#include "report_diff.h"
#include "../base/locale.h"
#include "../base/sums.h"
#include "cells.h"
#include "report_text.h"

typedef struct nbc__rep_pair { /* one line of a comparison */
  size_t key;
  nbc_totals before, after;
} nbc__rep_pair;

static int64_t nbc__rep_unhidden(const nbc_totals *t) { return t->xfer_ns - t->max_overlap_ns; }

static int nbc__rep_pair_order(const void *a, const void *b) { /* biggest change first */
  const nbc__rep_pair *x = (const nbc__rep_pair *)a, *y = (const nbc__rep_pair *)b;
  const int64_t dx_ns = nbc__rep_unhidden(&x->after) - nbc__rep_unhidden(&x->before);
  const int64_t dy_ns = nbc__rep_unhidden(&y->after) - nbc__rep_unhidden(&y->before);
  const int64_t cx_ns = dx_ns < 0 ? -dx_ns : dx_ns, cy_ns = dy_ns < 0 ? -dy_ns : dy_ns;
  if (cx_ns != cy_ns) return cx_ns < cy_ns ? 1 : -1;
  if (x->before.xfer_ns != y->before.xfer_ns) return x->before.xfer_ns < y->before.xfer_ns ? 1 : -1;
  return x->key < y->key ? -1 : x->key > y->key;
}

/* "-1.03 s", "+12 ms", "0" */
static const char *nbc__rep_change(int64_t before_ns, int64_t after_ns, char *text, size_t size) {
  char amount[24];
  const int64_t d_ns = after_ns - before_ns;
  if (d_ns == 0)
    snprintf(text, size, "0");
  else
    snprintf(text, size, "%c%s", d_ns < 0 ? '-' : '+',
             nbc__rep_time(d_ns < 0 ? -d_ns : d_ns, amount, sizeof amount));
  return text;
}

static void nbc__rep_diff_time(FILE *out, const char *name, int64_t before_ns, int64_t after_ns) {
  char a[24], b[24], c[24];
  fprintf(out, "  %-30s %10s %10s %10s", name, nbc__rep_time(before_ns, a, sizeof a),
          nbc__rep_time(after_ns, b, sizeof b), nbc__rep_change(before_ns, after_ns, c, sizeof c));
  if (before_ns > 0 && before_ns != after_ns)
    fprintf(out, "  (%+.1f %%)", 100 * ((double)after_ns - (double)before_ns) / (double)before_ns);
  fputc('\n', out);
}

static void nbc__rep_diff_share(FILE *out, const char *name, double before_ratio,
                                double after_ratio) {
  fprintf(out, "  %-30s %8.1f %% %8.1f %% %+10.1f  points\n", name, 100 * before_ratio,
          100 * after_ratio, 100 * (after_ratio - before_ratio));
}

static void nbc__rep_diff_name(FILE *out, const nbc_report *r) {
  char text[256];
  fprintf(out, "%s (", nbc__rep_plain(r->program, text, sizeof text));
  if (r->rank >= 0)
    fprintf(out, "rank %d of %d", r->rank, r->size);
  else
    fprintf(out, "%d process%s", r->process_count, r->process_count == 1 ? "" : "es");
  if (r->host && r->host[0]) fprintf(out, ", %s", nbc__rep_plain(r->host, text, sizeof text));
  fputc(')', out);
}

static void nbc__rep_diff_head(const nbc_report *before, const nbc_report *after, FILE *out) {
  const nbc_totals *b = &before->total, *a = &after->total;
  fputs("Before: ", out);
  nbc__rep_diff_name(out, before);
  fputs("\nAfter:  ", out);
  nbc__rep_diff_name(out, after);
  fprintf(out, "\n\n  %-30s %10s %10s %10s\n", "", "before", "after", "change");
  nbc__rep_diff_time(out, "time of all transfers", b->xfer_ns, a->xfer_ns);
  nbc__rep_diff_time(out, "  not hidden for certain", nbc__rep_unhidden(b), nbc__rep_unhidden(a));
  nbc__rep_diff_share(out, "  hidden, at least", nbc__rep_share(b->min_overlap_ns, b->xfer_ns),
                      nbc__rep_share(a->min_overlap_ns, a->xfer_ns));
  nbc__rep_diff_share(out, "  hidden, at most", nbc__rep_share(b->max_overlap_ns, b->xfer_ns),
                      nbc__rep_share(a->max_overlap_ns, a->xfer_ns));
  if (b->exact_count && a->exact_count) {
    nbc__rep_diff_share(out, "  hidden by NIC stamps, from", nbc__rep_exact(b, b->exact_lo_ns),
                        nbc__rep_exact(a, a->exact_lo_ns));
    nbc__rep_diff_share(out, "  hidden by NIC stamps, to", nbc__rep_exact(b, b->exact_hi_ns),
                        nbc__rep_exact(a, a->exact_hi_ns));
  }
  nbc__rep_diff_time(out, "computation", before->comp_ns, after->comp_ns);
  nbc__rep_diff_time(out, "in communication calls", before->call_ns, after->call_ns);
  nbc__rep_diff_time(out, "all threads' time", before->wall_ns, after->wall_ns);
}

/* ---- the comparison's lines: section (0), size class (1), kind (2), peer class (3), as above  */
/* Sections have the key of their index in `before`, or, when new, that many more than in
   `after`. */
static size_t nbc__rep_diff_section(const nbc_report *before, const nbc_report *after,
                                    size_t index) {
  for (size_t i = 0; i < before->section_count; i++)
    if (strcmp(before->sections[i].path, after->sections[index].path) == 0) return i;
  return before->section_count + index;
}

static const char *nbc__rep_diff_label(const nbc_report *before, const nbc_report *after, int by,
                                       size_t key, char *text, size_t size) {
  const size_t old = before->section_count;
  const char *path;
  switch (by) {
  case 0:
    path = key < old ? before->sections[key].path : after->sections[key - old].path;
    return path[0] ? nbc__rep_plain(path, text, size) : "(outside sections)";
  case 1: return nbc__rep_class(before, (int)key, text, size);
  case 2: return nbc_kind_name((nbc_kind)key);
  default: return nbc_peer_name((nbc_peer)key);
  }
}

static void nbc__rep_diff_collect(const nbc_report *r, int by, const size_t *section_keys,
                                  bool after, nbc__rep_pair *rows) {
  for (size_t i = 0; i < r->cell_count; i++) {
    const nbc_cell *c = &r->cells[i];
    const size_t keys[] = {section_keys ? section_keys[c->section_index] : (size_t)c->section_index,
                           (size_t)c->class_index, (size_t)c->kind, (size_t)c->peer};
    nbc__rep_add_totals(after ? &rows[keys[by]].after : &rows[keys[by]].before, &c->t);
  }
}

static void nbc__rep_diff_line(const char *name, const nbc__rep_pair *row, FILE *out) {
  char a[24], b[24], c[24], text[128];
  const nbc_totals *const both[] = {&row->before, &row->after};
  fprintf(out, "  %s", nbc__rep_column(name, 28, text, sizeof text));
  for (int k = 0; k < 2; k++)
    fprintf(out, " %10s",
            both[k]->count ? nbc__rep_time(nbc__rep_unhidden(both[k]), k ? b : a, sizeof a) : "-");
  fprintf(out, " %11s",
          nbc__rep_change(nbc__rep_unhidden(both[0]), nbc__rep_unhidden(both[1]), c, sizeof c));
  for (int k = 0; k < 2; k++) {
    if (both[k]->count)
      fprintf(out, "   %5.1f .. %5.1f %%",
              100 * nbc__rep_share(both[k]->min_overlap_ns, both[k]->xfer_ns),
              100 * nbc__rep_share(both[k]->max_overlap_ns, both[k]->xfer_ns));
    else
      fprintf(out, "   %16s", "no transfers");
  }
  fputc('\n', out);
}

static nbc_status nbc__rep_diff_by(const nbc_report *before, const nbc_report *after, int by,
                                   const char *title, FILE *out) {
  const size_t sizes[] = {before->section_count + after->section_count, NBC_MAX_CLASSES,
                          NBC_KIND_COUNT, NBC_PEER_COUNT};
  nbc__rep_pair *rows = (nbc__rep_pair *)nbc__zalloc(sizes[by] * sizeof *rows);
  size_t *section_keys = (size_t *)nbc__zalloc(after->section_count * sizeof *section_keys);
  char text[64];
  if (rows && section_keys) {
    for (size_t i = 0; i < sizes[by]; i++) rows[i].key = i;
    for (size_t i = 0; i < after->section_count; i++)
      section_keys[i] = nbc__rep_diff_section(before, after, i);
    nbc__rep_diff_collect(before, by, NULL, false, rows);
    nbc__rep_diff_collect(after, by, section_keys, true, rows);
    qsort(rows, sizes[by], sizeof *rows, nbc__rep_pair_order);
    fprintf(out, "\n%-30s %33s   %s\n%-30s %10s %10s %11s   %16s   %16s\n", title,
            "not hidden for certain", "hidden: at least .. at most", "", "before", "after",
            "change", "before", "after");
    for (size_t i = 0; i < sizes[by]; i++)
      if (rows[i].before.count || rows[i].after.count)
        nbc__rep_diff_line(nbc__rep_diff_label(before, after, by, rows[i].key, text, sizeof text),
                           &rows[i], out);
  }
  const nbc_status status = rows && section_keys ? NBC_OK : NBC_E_NOMEM;
  NBC_FREE(rows);
  NBC_FREE(section_keys);
  return status;
}

static void nbc__rep_diff_calls(const nbc_report *before, const nbc_report *after, FILE *out) {
  int64_t total_ns[2][NBC_KIND_COUNT];
  uint64_t count[2][NBC_KIND_COUNT];
  memset(total_ns, 0, sizeof total_ns);
  memset(count, 0, sizeof count);
  for (int k = 0; k < 2; k++) {
    const nbc_report *r = k ? after : before;
    for (size_t i = 0; i < r->call_count; i++) {
      nbc__plus(&total_ns[k][r->calls[i].kind], r->calls[i].total_ns);
      count[k][r->calls[i].kind] += r->calls[i].count;
    }
  }
  fprintf(out, "\n%-32s %10s %10s %10s\n", "Time in calls", "before", "after", "change");
  for (;;) { /* biggest change first */
    int worst = -1;
    int64_t most_ns = -1;
    for (int i = 0; i < NBC_KIND_COUNT; i++) {
      const int64_t d_ns = total_ns[1][i] - total_ns[0][i], size_ns = d_ns < 0 ? -d_ns : d_ns;
      if ((count[0][i] || count[1][i]) && size_ns > most_ns) worst = i, most_ns = size_ns;
    }
    if (worst < 0) break;
    nbc__rep_diff_time(out, nbc_kind_name((nbc_kind)worst), total_ns[0][worst], total_ns[1][worst]);
    count[0][worst] = count[1][worst] = 0;
  }
}

static bool nbc__rep_same_text(const char *a, const char *b) {
  return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Of a run's time, in percent, what its processes were ready and waited for a core, as far as its reports say it: not
   those in which it was little. */
static double nbc__rep_core_wait(const nbc_report *r) {
  for (size_t i = 0; i < r->counter_count; i++)
    if (strcmp(r->counters[i].name, "waited_for_a_core_ns") == 0 && r->wall_ns > 0)
      return 100 * r->counters[i].value / (double)r->wall_ns;
  return 0;
}

/* What makes the two hard to compare. */
static void nbc__rep_diff_cautions(const nbc_report *before, const nbc_report *after, FILE *out) {
  char a[24], b[24], library[2][256];
  const nbc_totals *x = &before->total, *y = &after->total;
  fputc('\n', out);
  if (before->process_count != after->process_count)
    fprintf(out, "Caution: processes: %d before, %d after.\n", before->process_count,
            after->process_count);
  if (fabs((double)x->size_bytes - (double)y->size_bytes) > 0.01 * (double)x->size_bytes ||
      (x->count != 0) != (y->count != 0))
    fprintf(out,
            "Caution: the runs moved different data: %llu transfers, %s before; %llu transfers, %s "
            "after.\n",
            (unsigned long long)x->count, nbc__rep_bytes(x->size_bytes, a, sizeof a),
            (unsigned long long)y->count, nbc__rep_bytes(y->size_bytes, b, sizeof b));
  if (nbc__rep_core_wait(before) > 0 || nbc__rep_core_wait(after) > 0)
    fprintf(
        out,
        "Caution: for at least %.0f %% of the time before and %.0f %% after, processes waited for "
        "a core that others had.\n",
        nbc__rep_core_wait(before), nbc__rep_core_wait(after));
  if (!nbc__rep_same_text(before->table_same_node, after->table_same_node) ||
      !nbc__rep_same_text(before->table_other_node, after->table_other_node))
    fputs("Caution: different transfer-time tables: the shares and times of transfers do not "
          "compare.\n",
          out);
  else if (before->table_is_default || after->table_is_default)
    fputs("Caution: a default transfer-time table was used, not one measured on this machine.\n",
          out);
  if (!nbc__rep_same_text(before->library, after->library))
    fprintf(out, "Note: another library: %s before, %s after.\n",
            nbc__rep_plain(before->library, library[0], sizeof library[0]),
            nbc__rep_plain(after->library, library[1], sizeof library[1]));
  for (int p = 0; p < NBC_PROBLEM_COUNT; p++)
    if (before->problems[p] != after->problems[p])
      fprintf(out, "Note: %llu before, %llu after: %s\n", (unsigned long long)before->problems[p],
              (unsigned long long)after->problems[p], nbc_problem_text((nbc_problem)p));
}

NBC_API nbc_status nbc_report_write_diff(const nbc_report *before, const nbc_report *after,
                                         FILE *out) {
  if (!before || !after || !out || !nbc__rep_is_whole(before) || !nbc__rep_is_whole(after))
    return NBC_E_INVAL;
  static const char *const titles[] = {"By section", "By message size", "By kind", "By peer"};
  static const int order[] = {0, 2, 1, 3};
  nbc_status status = NBC_OK;
  if (before->class_edge_count != after->class_edge_count ||
      memcmp(before->class_edges_bytes, after->class_edges_bytes,
             before->class_edge_count * sizeof(uint64_t)) != 0)
    return NBC_E_MISMATCH;
  const locale_t locale = nbc__locale_begin();
  nbc__rep_diff_head(before, after, out);
  for (size_t i = 0; i < 4 && status == NBC_OK && (before->total.count || after->total.count); i++)
    if (order[i] != 0 || before->section_count > 1 || after->section_count > 1)
      status = nbc__rep_diff_by(before, after, order[i], titles[order[i]], out);
  if (before->call_count || after->call_count) nbc__rep_diff_calls(before, after, out);
  nbc__rep_diff_cautions(before, after, out);
  nbc__locale_end(locale);
  if (status == NBC_OK && (fflush(out) != 0 || ferror(out))) status = NBC_E_IO;
  return status;
}
