/* trace_why.h: where the time in calls went that timelines hold, of all processes together: what passed before a partner, or
   the last at a collective, had called, and for whom it was waited; what passed when all had (nbc_waits). For
   overlap_report, after trace_last.h. */
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
/* After wait_add_all and last_add_all. The caller frees `of`. */
static nbc_waits why_add_all(void) {
  nbc_waits w;
  memset(&w, 0, sizeof w);
  if (nbc_waits_add(&w, wait_list.waits, wait_list.count) != NBC_OK) no_memory();
  free(wait_list.waits);
  memset(&wait_list, 0, sizeof wait_list);
  w.held_ns = why_held_ns();
  return w;
}
