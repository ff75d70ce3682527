/* trace_last.h: blocking collectives that the timelines of several processes show: who called last, and how long the others
   had waited by then? For overlap_report, after trace_match.h.

   All processes of a communicator call its blocking collectives in one order [MPI 6.12], so the n-th of each are one
   collective, where all timelines have them from the first on. A process that cannot return without the data of all
   (a barrier, an allreduce) waits at least until the last of them has called, one that needs the root's (a
   broadcast) until that has: by the clock that both share, its error taken off, certain. Of processes whose timelines
   are of another clock nothing is said: the last may be one of them. */
typedef struct last_member {
  const trace_record *record;
  size_t timeline, boot; /* boot: the first timeline of the same */
  uint64_t number;       /* of the collective in its communicator */
} last_member;
/* One process waited for another in one collective. */
typedef struct last_wait {
  int rank, partner;
  int64_t waited_ns;
} last_wait;

static int last_by_process(const void *a, const void *b) {
  const last_member *x = (const last_member *)a, *y = (const last_member *)b;
  if (x->record->id != y->record->id) return x->record->id < y->record->id ? -1 : 1;
  if (x->timeline != y->timeline) return x->timeline < y->timeline ? -1 : 1;
  return (x->record > y->record) - (x->record < y->record);
}
static int last_by_collective(const void *a, const void *b) {
  const last_member *x = (const last_member *)a, *y = (const last_member *)b;
  if (x->record->id != y->record->id) return x->record->id < y->record->id ? -1 : 1;
  if (x->number != y->number) return x->number < y->number ? -1 : 1;
  if (x->boot != y->boot) return x->boot < y->boot ? -1 : 1;
  return (x->timeline > y->timeline) - (x->timeline < y->timeline);
}
static int last_by_ranks(const void *a, const void *b) {
  const last_wait *x = (const last_wait *)a, *y = (const last_wait *)b;
  if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
  return (x->partner > y->partner) - (x->partner < y->partner);
}
static int64_t last_raw_ns(const last_member *m) {
  return trace_raw_ns(&traces.of[m->timeline], m->record->begin_ns);
}
/* What one had waited when the other called. */
static int64_t last_waited_ns(const last_member *m, const last_member *other) {
  const timeline *own = &traces.of[m->timeline], *its = &traces.of[other->timeline];
  const int64_t called_ns =
      trace_own_ns(own, last_raw_ns(other)) - trace_err_ns(own) - trace_err_ns(its);
  const int64_t until_ns = called_ns < m->record->end_ns ? called_ns : m->record->end_ns;
  return until_ns > m->record->begin_ns ? until_ns - m->record->begin_ns : 0;
}
static bool last_agree(const last_member *members, size_t count) {
  for (size_t i = 1; i < count; i++)
    if (members[i].record->kind != members[0].record->kind) return false;
  return true;
}
/* Those of one collective and one clock. ret how many waits were noted */
static size_t last_of_group(const last_member *members, size_t count, last_wait *waits) {
  const last_member *last = members;
  size_t noted = 0;
  if (!last_agree(members, count)) return 0;
  for (size_t i = 1; i < count; i++)
    if (last_raw_ns(&members[i]) > last_raw_ns(last)) last = &members[i];
  for (size_t i = 0; i < count; i++) {
    const last_member *m = &members[i], *other = m->record->case_of == TRACE_OF_ALL ? last : NULL;
    for (size_t k = 0; m->record->case_of == TRACE_OF_PARTNER && k < count; k++)
      if (traces.of[members[k].timeline].rank == m->record->partner) other = &members[k];
    const int64_t waited_ns = other && other != m ? last_waited_ns(m, other) : 0;
    if (waited_ns)
      waits[noted++] =
          (last_wait){traces.of[m->timeline].rank, traces.of[other->timeline].rank, waited_ns};
  }
  return noted;
}
/* Has a timeline all of its process's collectives, up to some? */
static bool last_is_whole(const timeline *t) {
  return (t->is_first || t->is_whole) && t->every <= 1 && !t->unmatched && trace_has_raw(t);
}
static size_t last_members(last_member *all) {
  size_t count = 0;
  for (size_t i = 0; i < traces.count; i++) {
    size_t boot = 0;
    if (!last_is_whole(&traces.of[i])) continue;
    while (boot < i && !trace_is_one_boot(&traces.of[boot], &traces.of[i])) boot++;
    for (size_t k = 0; k < matches.collectives_of[i]; k++)
      all[count++] = (last_member){&matches.collectives[i][k], i, boot, 0};
  }
  if (count) qsort(all, count, sizeof *all, last_by_process);
  for (size_t i = 1; i < count; i++)
    if (all[i].timeline == all[i - 1].timeline && all[i].record->id == all[i - 1].record->id)
      all[i].number = all[i - 1].number + 1;
  if (count) qsort(all, count, sizeof *all, last_by_collective);
  return count;
}

/* After match_messages: tells of each pair of processes how often one waited for the other as the last, and how long. */
static void last_add_all(void (*add)(void *user, int rank, int partner, uint64_t count,
                                     int64_t waited_ns),
                         void *user) {
  size_t most = 1, noted = 0;
  for (size_t i = 0; i < traces.count; i++) most += matches.collectives_of[i];
  last_member *all = (last_member *)must(malloc(most * sizeof *all));
  last_wait *waits = (last_wait *)must(malloc(most * sizeof *waits));
  const size_t count = match_is_one_run() ? last_members(all) : 0;
  for (size_t i = 0, end; i < count; i = end) {
    for (end = i + 1; end < count && all[end].record->id == all[i].record->id &&
                      all[end].number == all[i].number && all[end].boot == all[i].boot;)
      end++;
    noted += last_of_group(&all[i], end - i, waits + noted);
  }
  if (noted) qsort(waits, noted, sizeof *waits, last_by_ranks);
  for (size_t i = 0, end; i < noted; i = end) {
    int64_t sum_ns = 0;
    for (end = i; end < noted && last_by_ranks(&waits[end], &waits[i]) == 0; end++)
      plus(&sum_ns, waits[end].waited_ns);
    add(user, waits[i].rank, waits[i].partner, end - i, sum_ns);
  }
  free(all);
  free(waits);
}
