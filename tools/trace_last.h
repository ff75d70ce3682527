/* trace_last.h: collectives that the timelines of several processes show: who called last, and how long the others
   had waited by then? For overlap_report, after trace_waits.h.

   A collective (trace_members.h) that is not over for a process without the data of all (a barrier, an allreduce), or of
   some (a broadcast: the root; counts of which some are 0; a scan), is over there only when the last of these has called:
   what it waited until then, in the call in which it was over and in looks in vain before it, is certain, by the clock that
   both share or messages and collectives hold together (trace_clocks.h), its error taken off. Of processes with whose clock
   nothing holds one's own together nothing is said: the last may be one of them. */
typedef struct last_member {
  match_member m;
  int64_t since_ns, over_ns; /* waited for it; equal: it did not, or nobody knows */
} last_member;
/* One process waited for another in one collective. */
typedef struct last_wait {
  int rank, partner;
  int64_t since_ns, until_ns;
} last_wait;

static int last_by_ranks(const void *a, const void *b) {
  const last_wait *x = (const last_wait *)a, *y = (const last_wait *)b;
  if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
  if (x->partner != y->partner) return x->partner < y->partner ? -1 : 1;
  if (x->since_ns != y->since_ns) return x->since_ns < y->since_ns ? -1 : 1;
  return (x->until_ns < y->until_ns) - (x->until_ns > y->until_ns); /* the longest of one call */
}
static int64_t last_raw_ns(const last_member *m) {
  return member_raw_ns(&m->m, m->m.record->begin_ns);
}
/* Until when one waited for the other's call; INT64_MIN: nobody knows. */
static int64_t last_until_ns(const last_member *m, const last_member *other) {
  int64_t called_ns, err_ns;
  if (!clocks_meet(m->m.timeline, other->m.timeline, other->m.record->begin_ns, &called_ns,
                   &err_ns))
    return INT64_MIN;
  return called_ns - err_ns < m->over_ns ? called_ns - err_ns : m->over_ns;
}
/* Those of one collective and one boot, in the order of their ranks: the last to call of all, of those with lower ranks
   than the one that is looked at, and the root, when it was found. */
typedef struct last_group {
  const last_member *members;
  size_t count;
  const last_member *all, *lower, *root;
} last_group;
static int64_t last_rank(const last_member *m) { return member_rank(&m->m); }
static const last_member *last_later(const last_member *a, const last_member *b) {
  return !a || last_raw_ns(b) > last_raw_ns(a) ? b : a;
}
static const last_member *last_root(last_group *g, int rank) { /* in the world; the same for all */
  for (size_t k = 0; k < g->count && (!g->root || traces.of[g->root->m.timeline].rank != rank); k++)
    g->root = &g->members[k];
  return g->root && traces.of[g->root->m.timeline].rank == rank ? g->root : NULL;
}
static const last_member *last_of_some(const last_group *g, uint64_t mask) {
  const last_member *latest = NULL;
  for (size_t k = 0; k < g->count && last_rank(&g->members[k]) < TRACE_SOURCES; k++) {
    const int64_t rank = last_rank(&g->members[k]);
    if (rank >= 0 && mask >> rank & 1) latest = last_later(latest, &g->members[k]);
  }
  return latest;
}
/* The last of those of a group that one needs, perhaps itself. NULL: nobody */
static const last_member *last_needed(last_group *g, const last_member *m) {
  switch (m->m.record->case_of) {
  case TRACE_OF_ALL: return g->all;
  case TRACE_OF_PARTNER: return last_root(g, m->m.record->partner);
  case TRACE_OF_LOWER: return g->lower;
  case TRACE_OF_SOME: return last_of_some(g, (uint64_t)m->m.record->max_overlap_ns);
  default: return NULL;
  }
}
/* Another boot's: of lower ranks, when they all are. */
static const last_member *last_needed_there(last_group *g, const last_member *m) {
  if (m->m.record->case_of != TRACE_OF_LOWER) return last_needed(g, m);
  return last_rank(g->members) >= 0 && last_rank(&g->members[g->count - 1]) < last_rank(m) ? g->all
                                                                                           : NULL;
}
/* One member's wait, for whoever of the boots it waited longest. False: for none, for certain. */
static bool last_wait_of(const last_member *m, const last_member *own, last_group *groups,
                         size_t group_count, last_wait *wait) {
  *wait = (last_wait){traces.of[m->m.timeline].rank, 0, m->since_ns, m->since_ns};
  for (size_t k = 0; k < group_count; k++) {
    const bool is_own = groups[k].members == own;
    const last_member *const other =
        is_own ? last_needed(&groups[k], m) : last_needed_there(&groups[k], m);
    const int64_t until_ns = other ? last_until_ns(m, other) : INT64_MIN;
    if (until_ns <= wait->until_ns) continue;
    wait->until_ns = until_ns;
    wait->partner = traces.of[other->m.timeline].rank;
  }
  return wait->until_ns > wait->since_ns;
}
/* Of one boot, which is groups[at]. Damaged files may say of two that they have one rank, or of one that it has none. */
static size_t last_of_boot(last_group *groups, size_t group_count, size_t at, last_wait *waits) {
  last_group *const g = &groups[at];
  const last_member *before = NULL; /* the last to call of those with a rank until here */
  size_t noted = 0;
  for (size_t i = 0; i < g->count; i++) {
    const last_member *m = &g->members[i];
    if (i && last_rank(m) != last_rank(m - 1)) g->lower = before;
    noted += last_wait_of(m, g->members, groups, group_count, &waits[noted]);
    if (last_rank(m) >= 0) before = last_later(before, m);
  }
  return noted;
}
/* ret how many waits were noted */
static size_t last_of_group(const last_member *all, size_t count, last_wait *waits) {
  size_t group_count = 0, noted = 0;
  last_group *const groups = (last_group *)must(malloc((count + 1) * sizeof *groups));
  for (size_t i = 0, n; i < count; i += n) {
    last_group *const g = &groups[group_count++];
    for (n = 1; i + n < count && member_boot(&all[i + n].m) == member_boot(&all[i].m);) n++;
    *g = (last_group){&all[i], n, NULL, NULL, NULL};
    for (size_t k = 0; k < n; k++) g->all = last_later(g->all, &all[i + k]);
  }
  for (size_t k = 0; k < group_count; k++)
    noted += last_of_boot(groups, group_count, k, waits + noted);
  free(groups);
  return noted;
}
/* Since when, and until when, a process waited for the end of one. */
static void last_span(last_member *m, const wait_ends *ends) {
  const trace_record *r = m->m.record;
  m->since_ns = r->begin_ns;
  m->over_ns = r->xfer_ns ? r->begin_ns : r->end_ns;
  const long at = r->xfer_ns ? match_find(m->m.timeline, (uint64_t)r->xfer_ns) : -1;
  const trace_record *x = at < 0 ? NULL : &matches.transfers[m->m.timeline][at];
  if (!x || x->end_ns == INT64_MIN) return;
  const match_call *call = wait_call_at(ends, matches.call_count[m->m.timeline], x->end_ns);
  if (!call) return;
  m->over_ns = call->end_ns;
  m->since_ns = call->look == MATCH_TEST
                    ? wait_looked_since_ns(m->m.timeline, call, MATCH_TEST, r->begin_ns)
                    : call->begin_ns;
}
static last_member *last_members(void) {
  last_member *all = (last_member *)must(malloc((member_list.count + 1) * sizeof *all));
  wait_ends *ends = (wait_ends *)must(malloc((traces.count + 1) * sizeof *ends));
  for (size_t i = 0; i < traces.count; i++) ends[i] = wait_ends_of(i);
  for (size_t i = 0; i < member_list.count; i++) {
    all[i] = (last_member){member_list.of[i], 0, 0};
    last_span(&all[i], &ends[member_list.of[i].timeline]);
  }
  for (size_t i = 0; i < traces.count; i++) wait_ends_free(&ends[i]);
  free(ends);
  return all;
}

/* After match_messages: tells of each pair of processes how often one waited for the other as the last, and how long. */
static void last_add_all(void (*add)(void *user, int rank, int partner, uint64_t count,
                                     int64_t waited_ns),
                         void *user) {
  size_t noted = 0;
  last_member *all = last_members();
  last_wait *waits = (last_wait *)must(malloc((member_list.count + 1) * sizeof *waits));
  for (size_t i = 0, end; i < member_list.count; i = end) {
    end = members_end(i);
    if (members_agree(&member_list.of[i], end - i))
      noted += last_of_group(&all[i], end - i, waits + noted);
  }
  if (noted) qsort(waits, noted, sizeof *waits, last_by_ranks);
  for (size_t i = 0, end; i < noted; i = end) {
    int64_t sum_ns = 0, told_ns = INT64_MIN; /* several may be waited for at once */
    uint64_t waited_count = 0;
    for (end = i;
         end < noted && waits[end].rank == waits[i].rank && waits[end].partner == waits[i].partner;
         end++) {
      wait_note((nbc_wait_span){waits[end].rank, waits[end].partner, NBC_WAIT_LAST,
                                waits[end].since_ns, waits[end].until_ns, 0});
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
