/* overlap_report_last.h: who comes last at barriers and other collectives that wait for all, and at those that wait for
   their root. Part of overlap_report, after overlap_report_places.h. */
typedef struct last_sums {
  nbc_report *sum;
  nbc_pair **
      pairs; /* those that are there, by ranks; reports have room for more only when nobody points there */
  size_t count;
  nbc_pair *fresh;
  size_t fresh_count;
} last_sums;
static void last_add(void *user, int rank, int partner, uint64_t count, int64_t waited_ns) {
  last_sums *s = (last_sums *)user;
  nbc_pair key, *at = &key;
  memset(&key, 0, sizeof key);
  key.rank = rank;
  key.partner = partner;
  key.last_count = count;
  key.last_ns = waited_ns;
  nbc_pair **there =
      s->count ? (nbc_pair **)bsearch(&at, s->pairs, s->count, sizeof at, pair_by_ranks) : NULL;
  if (there) {
    (*there)->last_count = count;
    (*there)->last_ns = waited_ns;
    return;
  }
  s->fresh = (nbc_pair *)must(realloc(s->fresh, (s->fresh_count + 1) * sizeof *s->fresh));
  s->fresh[s->fresh_count++] = key;
}
/* After match_messages. */
static void take_last(nbc_report *sum) {
  last_sums s;
  memset(&s, 0, sizeof s);
  s.count = sum->pair_count;
  s.pairs = (nbc_pair **)must(malloc((s.count + 1) * sizeof *s.pairs));
  for (size_t i = 0; i < s.count; i++) s.pairs[i] = &sum->pairs[i];
  if (s.count) qsort(s.pairs, s.count, sizeof *s.pairs, pair_by_ranks);
  last_add_all(last_add, &s);
  for (size_t i = 0; i < s.fresh_count; i++)
    if (nbc_report_pair(sum, &s.fresh[i]) != NBC_OK) no_memory();
  free(s.pairs);
  free(s.fresh);
}

/* All that waited for one process. */
typedef struct last_row {
  int partner, by; /* by: who waited most */
  uint64_t count;
  int64_t waited_ns, by_ns;
} last_row;
static int last_by_partner(const void *a, const void *b) {
  const nbc_pair *x = *(const nbc_pair *const *)a, *y = *(const nbc_pair *const *)b;
  if (x->partner != y->partner) return x->partner < y->partner ? -1 : 1;
  return (x->rank > y->rank) - (x->rank < y->rank);
}
static int last_worst(const void *a, const void *b) {
  const last_row *x = (const last_row *)a, *y = (const last_row *)b;
  if (x->waited_ns != y->waited_ns) return x->waited_ns < y->waited_ns ? 1 : -1;
  return (x->partner > y->partner) - (x->partner < y->partner);
}
/* Those that were waited for, most first; the caller frees. */
static last_row *last_rows(const nbc_report *r, size_t *count) {
  const nbc_pair **pairs = (const nbc_pair **)must(malloc((r->pair_count + 1) * sizeof *pairs));
  last_row *rows = (last_row *)must(calloc(r->pair_count + 1, sizeof *rows));
  size_t used = 0;
  *count = 0;
  for (size_t i = 0; i < r->pair_count; i++)
    if (r->pairs[i].last_count) pairs[used++] = &r->pairs[i];
  if (used) qsort(pairs, used, sizeof *pairs, last_by_partner);
  for (size_t i = 0; i < used; i++) {
    if (!i || pairs[i]->partner != pairs[i - 1]->partner)
      rows[(*count)++].partner = pairs[i]->partner;
    last_row *x = &rows[*count - 1];
    x->count += pairs[i]->last_count;
    plus(&x->waited_ns, pairs[i]->last_ns);
    if (pairs[i]->last_ns > x->by_ns) x->by_ns = pairs[i]->last_ns, x->by = pairs[i]->rank;
  }
  if (*count) qsort(rows, *count, sizeof *rows, last_worst);
  free(pairs);
  return rows;
}
/* A hundredth of the time in calls. */
static bool last_is_worth(const nbc_report *r, const last_row *x) {
  return share(x->waited_ns, r->call_ns) >= 0.01;
}
static void text_last(const nbc_report *r, FILE *out) {
  words a, b;
  size_t count;
  last_row *rows = last_rows(r, &count);
  if (count && last_is_worth(r, rows))
    fputs(
        "\nWho comes last at collectives (what passed until it had called, by both sides' times)\n",
        out);
  for (size_t i = 0; i < count && i < 6 && last_is_worth(r, &rows[i]); i++)
    fprintf(out, "  rank %d: others waited %s for it, in %llu of their calls; rank %d most, %s\n",
            rows[i].partner, time_text(rows[i].waited_ns, &a), (unsigned long long)rows[i].count,
            rows[i].by, time_text(rows[i].by_ns, &b));
  free(rows);
}
static void put_last(FILE *out, const nbc_report *r) {
  words a, b;
  size_t count;
  last_row *rows = last_rows(r, &count);
  if (count)
    fputs("<h2>Who comes last at collectives</h2>\n<p class=\"soft\">What passed until it had "
          "called, by both "
          "sides' times.</p>\n<div class=\"scroll\"><table><thead><tr><th>rank</th><th>others "
          "waited</th>"
          "<th>in calls</th><th>most of all</th><th>its time</th></tr></thead><tbody>\n",
          out);
  for (size_t i = 0; i < count && i < 50; i++)
    fprintf(out,
            "<tr data-table=\"last\"><td>%d</td><td>%s</td><td>%llu</td><td>rank "
            "%d</td><td>%s</td></tr>\n",
            rows[i].partner, time_text(rows[i].waited_ns, &a), (unsigned long long)rows[i].count,
            rows[i].by, time_text(rows[i].by_ns, &b));
  if (count) fputs("</tbody></table></div>\n", out);
  free(rows);
}
