/* trace_why.h: where the time in calls went that timelines hold, of all processes together: what passed before a partner, or
   the last at a collective, had called, and for whom it was waited; what passed when all had. Each moment of a process counts
   once, for the one who was waited for longest. For overlap_report, after trace_last.h. */
typedef struct why_one { /* one that was waited for */
  int partner;
  int64_t waited_ns;
} why_one;
typedef struct why_sums {
  int64_t held_ns;          /* in calls, as far as timelines hold them */
  int64_t late_ns, last_ns; /* before partners had called; before the last at a collective had */
  int64_t moving_ns,
      computing_ns;     /* all had called; of this, a partner computed with a large send posted */
  why_one *late, *last; /* most first */
  size_t late_count, last_count;
} why_sums;

static int why_by_time(const void *a, const void *b) {
  const wait_span *x = (const wait_span *)a, *y = (const wait_span *)b;
  if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
  if (x->since_ns != y->since_ns) return x->since_ns < y->since_ns ? -1 : 1;
  return (x->until_ns < y->until_ns) - (x->until_ns > y->until_ns);
}
static int why_by_partner(const void *a, const void *b) {
  const wait_span *x = (const wait_span *)a, *y = (const wait_span *)b;
  if (x->is_last != y->is_last) return x->is_last ? 1 : -1;
  return (x->partner > y->partner) - (x->partner < y->partner);
}
static int why_most_first(const void *a, const void *b) {
  const why_one *x = (const why_one *)a, *y = (const why_one *)b;
  if (x->waited_ns != y->waited_ns) return x->waited_ns < y->waited_ns ? 1 : -1;
  return (x->partner > y->partner) - (x->partner < y->partner);
}
/* Of spans that share time, the later one keeps what the earlier one does not have. */
static void why_count_once(wait_span *spans, size_t count) {
  int64_t told_ns = INT64_MIN;
  if (count) qsort(spans, count, sizeof *spans, why_by_time);
  for (size_t i = 0; i < count; i++) {
    wait_span *s = &spans[i];
    if (i && s->rank != spans[i - 1].rank) told_ns = INT64_MIN;
    if (s->since_ns < told_ns) s->since_ns = told_ns;
    if (s->until_ns < s->since_ns) s->until_ns = s->since_ns;
    told_ns = s->until_ns;
  }
}
static int64_t why_held_ns(void) {
  int64_t sum_ns = 0;
  for (size_t i = 0; i < traces.count; i++)
    for (size_t k = 0; k < matches.call_count[i]; k++) {
      const match_call *c = &matches.calls[i][k];
      plus(&sum_ns, wait_clip(c->end_ns - c->begin_ns - (c->comp_ns - c->comp_before_ns),
                              c->end_ns - c->begin_ns));
    }
  return sum_ns;
}
/* Of the spans' partners, which stand together; ret their sum. */
static int64_t why_partners(const wait_span *spans, size_t count, why_one *ones,
                            size_t *one_count) {
  int64_t sum_ns = 0;
  *one_count = 0;
  for (size_t i = 0; i < count; i++) {
    const int64_t waited_ns = spans[i].until_ns - spans[i].since_ns;
    if (!waited_ns) continue;
    if (!*one_count || spans[i].partner != ones[*one_count - 1].partner)
      ones[(*one_count)++] = (why_one){spans[i].partner, 0};
    plus(&ones[*one_count - 1].waited_ns, waited_ns);
    plus(&sum_ns, waited_ns);
  }
  if (*one_count) qsort(ones, *one_count, sizeof *ones, why_most_first);
  return sum_ns;
}
/* Of wait_list, which it empties. The caller frees `late` and `last`. */
static why_sums why_of_spans(void) {
  why_sums w;
  size_t late_count = 0;
  memset(&w, 0, sizeof w);
  w.moving_ns = wait_list.moving_ns, w.computing_ns = wait_list.computing_ns;
  if (wait_list.count)
    qsort(wait_list.spans, wait_list.count, sizeof *wait_list.spans, why_by_partner);
  while (late_count < wait_list.count && !wait_list.spans[late_count].is_last) late_count++;
  const size_t last_count = wait_list.count - late_count;
  w.late = (why_one *)must(malloc((late_count + 1) * sizeof *w.late));
  w.last = (why_one *)must(malloc((last_count + 1) * sizeof *w.last));
  w.late_ns = why_partners(wait_list.spans, late_count, w.late, &w.late_count);
  if (last_count)
    w.last_ns = why_partners(wait_list.spans + late_count, last_count, w.last, &w.last_count);
  free(wait_list.spans);
  memset(&wait_list, 0, sizeof wait_list);
  return w;
}
/* After wait_add_all and last_add_all. */
static why_sums why_add_all(void) {
  why_count_once(wait_list.spans, wait_list.count);
  why_sums w = why_of_spans();
  w.held_ns = why_held_ns();
  return w;
}
