/* overlap_report_rows.h: the transfers in rows, by section, call, size, peer or place, worst first, and what a row is called.
   Part of overlap_report.c. */
static const char *place_text(const nbc_report *r, int site_plus1);
static int place_number(const nbc_report *r, int site_plus1);

/* ---- where the time is ------------------------------------------------------------------------ */
typedef enum grouping {
  BY_SECTION,
  BY_KIND,
  BY_CLASS,
  BY_PEER,
  BY_PLACE,
  BY_CELL,
  GROUPINGS
} grouping;
static const char *const grouping_title[] = {"By section", "By call", "By message size", "By peer",
                                             "By place where they begin"};
static const char *const grouping_column[] = {"section", "call", "message size", "peer",
                                              "begun at"};

typedef struct row {
  int section_index, class_index, site_plus1;
  nbc_kind kind;
  nbc_peer peer;
  nbc_totals t;
  double
      hideable_ns; /* of the transfers with two ends: as much of each as there was computation beside it */
} row;

static void plus(int64_t *sum, int64_t value) {
  if (__builtin_add_overflow(*sum, value, sum)) *sum = INT64_MAX; /* the files are untrusted */
}
/* A transfer takes the mean of its cell; the computation beside it is known to a factor of two, and taken as the most. */
static double hideable_ns(const nbc_cell *c) {
  const double each_ns = c->t.count ? (double)c->t.xfer_ns / (double)c->t.count : 0;
  double sum_ns = 0, most_ns = 1;
  for (int b = 1; b < NBC_HIST_BINS; b++) {
    most_ns *= 2;
    sum_ns += (double)c->available_count[b] * (most_ns < each_ns ? most_ns : each_ns);
  }
  return sum_ns;
}
static void add_totals(nbc_totals *sum, const nbc_totals *t) {
  sum->count += t->count;
  sum->size_bytes += t->size_bytes;
  plus(&sum->xfer_ns, t->xfer_ns);
  plus(&sum->min_overlap_ns, t->min_overlap_ns);
  plus(&sum->max_overlap_ns, t->max_overlap_ns);
  for (int i = 0; i < 3; i++) sum->case_count[i] += t->case_count[i];
  plus(&sum->waited_ns, t->waited_ns);
  sum->exact_count += t->exact_count;
  plus(&sum->exact_xfer_ns, t->exact_xfer_ns);
  plus(&sum->exact_lo_ns, t->exact_lo_ns);
  plus(&sum->exact_hi_ns, t->exact_hi_ns);
}

/* Time that was not hidden, whatever happened on the wire; and time of which that is not known. */
static int64_t unhidden_ns(const nbc_totals *t) { return t->xfer_ns - t->max_overlap_ns; }
static int64_t unknown_ns(const nbc_totals *t) { return t->max_overlap_ns - t->min_overlap_ns; }
static bool is_unknown(const nbc_totals *t) { return unknown_ns(t) >= t->xfer_ns; }
static double share(int64_t part, int64_t whole) {
  return whole > 0 ? (double)part / (double)whole : 0;
}
/* The interval of the exact overlap is wider than its truth by the clocks' uncertainty: it may pass 1. */
static double exact_most(const nbc_totals *t) {
  return fmin(1, share(t->exact_hi_ns, t->exact_xfer_ns));
}
static double exact_least(const nbc_totals *t) {
  return fmin(1, share(t->exact_lo_ns, t->exact_xfer_ns));
}

/* What a program could win comes first: the time its calls waited. */
static int worst_first(const void *a, const void *b) {
  const row *x = (const row *)a, *y = (const row *)b;
  if (x->t.waited_ns != y->t.waited_ns) return x->t.waited_ns < y->t.waited_ns ? 1 : -1;
  if (unhidden_ns(&x->t) != unhidden_ns(&y->t))
    return unhidden_ns(&x->t) < unhidden_ns(&y->t) ? 1 : -1;
  if (unknown_ns(&x->t) != unknown_ns(&y->t)) return unknown_ns(&x->t) < unknown_ns(&y->t) ? 1 : -1;
  if (x->t.xfer_ns != y->t.xfer_ns) return x->t.xfer_ns < y->t.xfer_ns ? 1 : -1;
  if (x->section_index != y->section_index) return x->section_index - y->section_index;
  if (x->kind != y->kind) return (int)x->kind - (int)y->kind;
  if (x->class_index != y->class_index) return x->class_index - y->class_index;
  if (x->peer != y->peer) return (int)x->peer - (int)y->peer;
  return x->site_plus1 - y->site_plus1;
}

/* The first cell of the row that cell i belongs to: addresses of one line and call are one place. */
static size_t cell_number(const nbc_report *r, size_t i) {
  const nbc_cell *c = &r->cells[i];
  const int number = place_number(r, c->site_plus1);
  for (size_t k = 0; number && k < i; k++) {
    const nbc_cell *o = &r->cells[k];
    if (o->section_index == c->section_index && o->kind == c->kind &&
        o->class_index == c->class_index && o->peer == c->peer && o->site_plus1 &&
        place_number(r, o->site_plus1) == number)
      return k;
  }
  return i;
}

/* Rows of a table, worst first; the caller frees them. */
static row *group(const nbc_report *r, grouping by, size_t *count) {
  const size_t sizes[GROUPINGS] = {r->section_count, NBC_KIND_COUNT,    r->class_edge_count + 1,
                                   NBC_PEER_COUNT,   r->site_count + 1, r->cell_count};
  row *rows = (row *)calloc(sizes[by] + 1, sizeof *rows);
  size_t kept = 0;
  if (!rows) {
    fputs("overlap_report: out of memory\n", stderr);
    exit(2);
  }
  for (size_t i = 0; i < r->cell_count; i++) {
    const nbc_cell *c = &r->cells[i];
    const size_t keys[GROUPINGS] = {(size_t)c->section_index,
                                    c->kind,
                                    (size_t)c->class_index,
                                    c->peer,
                                    (size_t)place_number(r, c->site_plus1),
                                    by == BY_CELL ? cell_number(r, i) : 0};
    row *to = &rows[keys[by]];
    to->section_index = c->section_index;
    to->class_index = c->class_index;
    to->site_plus1 = place_number(r, c->site_plus1);
    to->kind = c->kind;
    to->peer = c->peer;
    add_totals(&to->t, &c->t);
    to->hideable_ns += hideable_ns(c);
  }
  for (size_t i = 0; i < sizes[by]; i++)
    if (rows[i].t.count) rows[kept++] = rows[i];
  qsort(rows, kept, sizeof *rows, worst_first);
  *count = kept;
  return rows;
}

/* ---- words ------------------------------------------------------------------------------------ */
/* Texts of one line; each call has a place of its own, so that several fit into one printf. */
typedef struct words {
  char text[400];
} words;

static const char *time_text(int64_t ns, words *w) {
  static const char *const units[] = {"ns", "us", "ms", "s"};
  double v = (double)ns;
  int u = 0;
  while (v >= 999.5 && u < 3) v /= 1000, u++;
  snprintf(w->text, sizeof w->text,
           v < 9.995 && u   ? "%.2f %s"
           : v < 99.95 && u ? "%.1f %s"
                            : "%.0f %s",
           v, units[u]);
  return w->text;
}
static const char *bytes_text(uint64_t bytes, words *w) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double v = (double)bytes;
  int u = 0;
  while (v >= 1024 && u < 6) v /= 1024, u++;
  snprintf(w->text, sizeof w->text, u && v < 99.95 && v != floor(v) ? "%.1f %s" : "%.0f %s", v,
           units[u]);
  return w->text;
}
static const char *class_text(const nbc_report *r, int c, words *w) {
  words low, high;
  const size_t n = r->class_edge_count;
  if (n == 0) return "all sizes";
  if (c > 0) bytes_text(r->class_edges_bytes[c - 1], &low);
  if ((size_t)c < n) bytes_text(r->class_edges_bytes[c], &high);
  if (c == 0)
    snprintf(w->text, sizeof w->text, "up to %.30s", high.text);
  else if ((size_t)c >= n)
    snprintf(w->text, sizeof w->text, "over %.30s", low.text);
  else
    snprintf(w->text, sizeof w->text, "%.30s to %.30s", low.text, high.text);
  return w->text;
}
static const char *peer_text(nbc_peer peer) {
  return peer == NBC_PEER_SAME_NODE    ? "same node"
         : peer == NBC_PEER_OTHER_NODE ? "other node"
         : peer == NBC_PEER_SELF       ? "itself"
                                       : "several or unknown";
}
static const char *section_text(const nbc_report *r, int index) {
  return r->sections[index].path[0] ? r->sections[index].path : "(outside sections)";
}
/* What a row of this table is called; where there are no sections, none is named. */
/* The call of the program that a message within it belongs to; empty: the message is what the program asked for. */
static const char *call_of_messages(const nbc_report *r, const row *x) {
  if (!x->site_plus1 || (x->kind != NBC_KIND_ISEND && x->kind != NBC_KIND_IRECV)) return "";
  const char *const call = r->sites[x->site_plus1 - 1].call;
  return strstr(call, "send") || strstr(call, "recv") || strncmp(call, "MPI_", 4) != 0 ? "" : call;
}
static const char *row_text(const nbc_report *r, grouping by, const row *x, words *w) {
  switch (by) {
  case BY_SECTION: return section_text(r, x->section_index);
  case BY_KIND: return nbc_kind_name(x->kind);
  case BY_CLASS: return class_text(r, x->class_index, w);
  case BY_PEER: return peer_text(x->peer);
  case BY_PLACE:
    snprintf(w->text, sizeof w->text, "%.60s%s%.200s",
             x->site_plus1 ? r->sites[x->site_plus1 - 1].call : "", x->site_plus1 ? " " : "",
             place_text(r, x->site_plus1));
    return w->text;
  case BY_CELL:
  case GROUPINGS: break;
  }
  words sizes;
  const bool has_sections = r->section_count > 1;
  const char *const call = call_of_messages(r, x);
  snprintf(w->text, sizeof w->text, "%s%s%.60s%s%.190s, %.70s, %s%s%.80s", nbc_kind_name(x->kind),
           *call ? " of " : "", call, x->site_plus1 ? " at " : "",
           x->site_plus1 ? place_text(r, x->site_plus1) : "", class_text(r, x->class_index, &sizes),
           peer_text(x->peer), has_sections ? ", " : "",
           has_sections ? section_text(r, x->section_index) : "");
  return w->text;
}
