/* trace_ends.h: which call ended which transfer, by place, from timelines: a transfer began in the call that begins with it,
   and ended in the one that returned with it; the time of that call is shared by all that ended in it, messages to oneself left
   out where there are others. For overlap_report, after trace_waits.h. Nothing is said of what began and ended in one call. */
typedef struct end_one {
  uint32_t begin, end; /* places of the timeline */
  int64_t waited_ns;
} end_one;
static int end_by_places(const void *a, const void *b) {
  const end_one *x = (const end_one *)a, *y = (const end_one *)b;
  if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
  return (x->end > y->end) - (x->end < y->end);
}
static const match_call *end_begun_in(size_t i, int64_t t_ns) {
  const size_t at = wait_first_call(i, t_ns);
  return at < matches.call_count[i] && matches.calls[i][at].begin_ns == t_ns ? &matches.calls[i][at]
                                                                             : NULL;
}
/* The part of a call's time that one of those that ended in it has: messages to oneself have none beside others. */
static int64_t end_share_ns(const wait_ends *e, const match_call *call, const trace_record *x) {
  const int64_t all = (int64_t)wait_ended_at(e, x->end_ns), d_ns = call->end_ns - call->begin_ns,
                own = (int64_t)wait_count_at(e->own_times, e->own_count, x->end_ns);
  if (own == all) return d_ns / all;
  return x->peer == NBC_PEER_SELF ? 0 : d_ns / (all - own);
}
static size_t end_of_timeline(size_t i, end_one *all) {
  wait_ends ends = wait_ends_of(i);
  size_t count = 0;
  for (size_t k = 0; k < matches.transfer_count[i]; k++) {
    const trace_record *x = &matches.transfers[i][k];
    if (!x->size_bytes || x->begin_ns == INT64_MIN || x->end_ns == INT64_MIN) continue;
    const match_call *begin = end_begun_in(i, x->begin_ns),
                     *end = wait_call_at(&ends, matches.call_count[i], x->end_ns);
    if (!begin || !end || begin->begin_ns == end->begin_ns) continue;
    all[count++] = (end_one){begin->place, end->place, end_share_ns(&ends, end, x)};
  }
  wait_ends_free(&ends);
  return count;
}
static nbc_site end_site(const trace_place *p) {
  nbc_site s;
  memset(&s, 0, sizeof s);
  s.call = p->call;
  s.module = strcmp(p->module, "?") ? p->module : NULL;
  s.symbol = strcmp(p->symbol, "?") ? p->symbol : NULL;
  s.offset = p->offset;
  return s;
}
/* After match_messages: into the report. */
static void end_add_all(nbc_report *sum) {
  for (size_t i = 0; i < traces.count; i++) {
    end_one *all = (end_one *)must(malloc((matches.transfer_count[i] + 1) * sizeof *all));
    const size_t count = end_of_timeline(i, all);
    if (count) qsort(all, count, sizeof *all, end_by_places);
    for (size_t k = 0, end; k < count; k = end) {
      int64_t waited_ns = 0;
      for (end = k; end < count && end_by_places(&all[end], &all[k]) == 0; end++)
        plus(&waited_ns, all[end].waited_ns);
      const nbc_site from = end_site(&traces.of[i].places[all[k].begin]),
                     to = end_site(&traces.of[i].places[all[k].end]);
      if (nbc_report_ending(sum, &from, &to, end - k, waited_ns) != NBC_OK) no_memory();
    }
    free(all);
  }
}
