/* trace_last.h: collectives that the timelines of several processes show: who called last, and how long the others
   had waited by then? For overlap_report, after trace_waits.h.

   All processes of a communicator call its collectives, blocking and nonblocking ones, in one order [MPI 6.12], so the
   n-th of each are one collective, where all timelines have them from the first on. A collective that is not over for a
   process without the data of all (a barrier, an allreduce), or of some (a broadcast: the root; counts of which
   some are 0; a scan), is over there only when the last of these has called: what it waited until then, in the call in which it
   was over and in looks in vain before it, is certain, by the clock that both share, its error taken off. Of processes whose
   timelines are of another clock nothing is said: the last may be one of them. */
typedef struct last_member {
  const trace_record *record;
  size_t timeline, boot;     /* boot: the first timeline of the same */
  uint64_t number;           /* of the collective in its communicator */
  int64_t since_ns, over_ns; /* waited for it; equal: it did not, or nobody knows */
} last_member;
/* One process waited for another in one collective. */
typedef struct last_wait {
  int rank, partner;
  int64_t since_ns, until_ns;
} last_wait;

static int last_by_process(const void *a, const void *b) {
  const last_member *x = (const last_member *)a, *y = (const last_member *)b;
  if (x->record->id != y->record->id) return x->record->id < y->record->id ? -1 : 1;
  if (x->timeline != y->timeline) return x->timeline < y->timeline ? -1 : 1;
  return (x->record > y->record) - (x->record < y->record);
}
/* The rank in the communicator; -1: not known. */
static int64_t last_rank(const last_member *m) { return m->record->min_overlap_ns - 1; }
static int last_by_collective(const void *a, const void *b) { /* and in it by rank */
  const last_member *x = (const last_member *)a, *y = (const last_member *)b;
  if (x->record->id != y->record->id) return x->record->id < y->record->id ? -1 : 1;
  if (x->number != y->number) return x->number < y->number ? -1 : 1;
  if (x->boot != y->boot) return x->boot < y->boot ? -1 : 1;
  if (last_rank(x) != last_rank(y)) return last_rank(x) < last_rank(y) ? -1 : 1;
  return (x->timeline > y->timeline) - (x->timeline < y->timeline);
}
static int last_by_ranks(const void *a, const void *b) {
  const last_wait *x = (const last_wait *)a, *y = (const last_wait *)b;
  if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
  if (x->partner != y->partner) return x->partner < y->partner ? -1 : 1;
  if (x->since_ns != y->since_ns) return x->since_ns < y->since_ns ? -1 : 1;
  return (x->until_ns < y->until_ns) - (x->until_ns > y->until_ns); /* the longest of one call */
}
static int64_t last_raw_ns(const last_member *m) {
  return trace_raw_ns(&traces.of[m->timeline], m->record->begin_ns);
}
/* Until when one waited for the other's call. */
static int64_t last_until_ns(const last_member *m, const last_member *other) {
  const timeline *own = &traces.of[m->timeline], *its = &traces.of[other->timeline];
  const int64_t called_ns =
      trace_own_ns(own, last_raw_ns(other)) - trace_err_ns(own) - trace_err_ns(its);
  return called_ns < m->over_ns ? called_ns : m->over_ns;
}
static bool last_agree(const last_member *members, size_t count) {
  for (size_t i = 1; i < count; i++)
    if (members[i].record->kind != members[0].record->kind) return false;
  return true;
}
/* Those of one collective and one clock, in the order of their ranks: the last to call of all, of those with lower ranks
   than the one that is looked at, and the root, when it was found. */
typedef struct last_group {
  const last_member *members;
  size_t count;
  const last_member *all, *lower, *root;
} last_group;
static const last_member *last_later(const last_member *a, const last_member *b) {
  return !a || last_raw_ns(b) > last_raw_ns(a) ? b : a;
}
static const last_member *last_root(last_group *g, int rank) { /* in the world; the same for all */
  for (size_t k = 0; k < g->count && (!g->root || traces.of[g->root->timeline].rank != rank); k++)
    g->root = &g->members[k];
  return g->root && traces.of[g->root->timeline].rank == rank ? g->root : NULL;
}
static const last_member *last_of_some(const last_group *g, uint64_t mask) {
  const last_member *latest = NULL;
  for (size_t k = 0; k < g->count && last_rank(&g->members[k]) < TRACE_SOURCES; k++) {
    const int64_t rank = last_rank(&g->members[k]);
    if (rank >= 0 && mask >> rank & 1) latest = last_later(latest, &g->members[k]);
  }
  return latest;
}
/* The last of those that one needs, perhaps itself. NULL: nobody */
static const last_member *last_needed(last_group *g, const last_member *m) {
  switch (m->record->case_of) {
  case TRACE_OF_ALL: return g->all;
  case TRACE_OF_PARTNER: return last_root(g, m->record->partner);
  case TRACE_OF_LOWER: return g->lower;
  case TRACE_OF_SOME: return last_of_some(g, (uint64_t)m->record->max_overlap_ns);
  default: return NULL;
  }
}
/* Damaged files may say of two that they have one rank, or of one that it has none. ret how many waits were noted */
static size_t last_of_group(const last_member *members, size_t count, last_wait *waits) {
  last_group g = {members, count, NULL, NULL, NULL};
  const last_member *before = NULL; /* the last to call of those with a rank until here */
  size_t noted = 0;
  if (!last_agree(members, count)) return 0;
  for (size_t i = 0; i < count; i++) g.all = last_later(g.all, &members[i]);
  for (size_t i = 0; i < count; i++) {
    const last_member *m = &members[i];
    if (i && last_rank(m) != last_rank(m - 1)) g.lower = before;
    const last_member *const other = last_needed(&g, m);
    const int64_t until_ns = other ? last_until_ns(m, other) : m->since_ns;
    if (until_ns > m->since_ns)
      waits[noted++] = (last_wait){traces.of[m->timeline].rank, traces.of[other->timeline].rank,
                                   m->since_ns, until_ns};
    if (last_rank(m) >= 0) before = last_later(before, m);
  }
  return noted;
}
/* Has a timeline all of its process's collectives, up to some? */
static bool last_is_whole(const timeline *t) {
  return (t->is_first || t->is_whole) && t->every <= 1 && !t->unmatched && trace_has_raw(t);
}
/* Since when, and until when, a process waited for the end of one. */
static void last_span(last_member *m, const wait_ends *ends) {
  const trace_record *r = m->record;
  m->since_ns = r->begin_ns;
  m->over_ns = r->xfer_ns ? r->begin_ns : r->end_ns;
  const long at = r->xfer_ns ? match_find(m->timeline, (uint64_t)r->xfer_ns) : -1;
  const trace_record *x = at < 0 ? NULL : &matches.transfers[m->timeline][at];
  if (!x || x->end_ns == INT64_MIN) return;
  const match_call *call = wait_call_at(ends, matches.call_count[m->timeline], x->end_ns);
  if (!call) return;
  m->over_ns = call->end_ns;
  m->since_ns = call->look == MATCH_TEST
                    ? wait_looked_since_ns(m->timeline, call, MATCH_TEST, r->begin_ns)
                    : call->begin_ns;
}
static size_t last_members(last_member *all) {
  size_t count = 0;
  for (size_t i = 0; i < traces.count; i++) {
    size_t boot = 0;
    if (!last_is_whole(&traces.of[i]) || !matches.collectives_of[i]) continue;
    while (boot < i && !trace_is_one_boot(&traces.of[boot], &traces.of[i])) boot++;
    wait_ends ends = wait_ends_of(i);
    for (size_t k = 0; k < matches.collectives_of[i]; k++) {
      all[count] = (last_member){&matches.collectives[i][k], i, boot, 0, 0, 0};
      last_span(&all[count++], &ends);
    }
    wait_ends_free(&ends);
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
    int64_t sum_ns = 0, told_ns = INT64_MIN; /* several may be waited for at once */
    uint64_t waited_count = 0;
    for (end = i;
         end < noted && waits[end].rank == waits[i].rank && waits[end].partner == waits[i].partner;
         end++) {
      if (waits[end].until_ns <= told_ns) continue;
      plus(&sum_ns,
           waits[end].until_ns - (waits[end].since_ns > told_ns ? waits[end].since_ns : told_ns));
      told_ns = waits[end].until_ns;
      waited_count++;
    }
    add(user, waits[i].rank, waits[i].partner, waited_count, sum_ns);
  }
  free(all);
  free(waits);
}
