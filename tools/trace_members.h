/* trace_members.h: which calls of collectives in several timelines are one collective, and what that tells of the clocks
   of nodes. Part of trace_match.h.

   All processes of a communicator call its collectives, blocking and nonblocking ones, in one order [MPI 6.12], so the
   n-th of each are one collective, where all timelines have them from the first on. Persistent ones are made in one order,
   and may be started in any [MPI 6.13]: they count by request, as if each had a communicator of its own. */
typedef struct match_member {
  const trace_record *record;
  size_t timeline;
  uint64_t number; /* of the collective in its communicator */
} match_member;
static struct {
  match_member
      *of; /* in the order of collectives, in each of boots, there of ranks in the communicator */
  size_t count;
} member_list;

/* The rank in the communicator; -1: not known. */
static int64_t member_rank(const match_member *m) { return m->record->min_overlap_ns - 1; }
static size_t member_boot(const match_member *m) { return clocks.boot[m->timeline]; }
static int member_by_process(const void *a, const void *b) {
  const match_member *x = (const match_member *)a, *y = (const match_member *)b;
  if (x->record->id != y->record->id) return x->record->id < y->record->id ? -1 : 1;
  if (x->timeline != y->timeline) return x->timeline < y->timeline ? -1 : 1;
  return (x->record > y->record) - (x->record < y->record);
}
static int member_by_collective(const void *a, const void *b) {
  const match_member *x = (const match_member *)a, *y = (const match_member *)b;
  if (x->record->id != y->record->id) return x->record->id < y->record->id ? -1 : 1;
  if (x->number != y->number) return x->number < y->number ? -1 : 1;
  if (member_boot(x) != member_boot(y)) return member_boot(x) < member_boot(y) ? -1 : 1;
  if (member_rank(x) != member_rank(y)) return member_rank(x) < member_rank(y) ? -1 : 1;
  return (x->timeline > y->timeline) - (x->timeline < y->timeline);
}
/* Has a timeline all of its process's collectives, up to some? */
static bool member_is_whole(const timeline *t) {
  return (t->is_first || t->is_whole) && t->every <= 1 && !t->unmatched && trace_has_raw(t);
}
static void members_find(void) {
  size_t most = 1, count = 0;
  for (size_t i = 0; i < traces.count; i++) most += matches.collectives_of[i];
  match_member *const all = member_list.of = (match_member *)must(malloc(most * sizeof *all));
  member_list.count = 0;
  if (!match_is_one_run()) return;
  for (size_t i = 0; i < traces.count; i++)
    for (size_t k = 0; member_is_whole(&traces.of[i]) && k < matches.collectives_of[i]; k++)
      all[count++] = (match_member){&matches.collectives[i][k], i, 0};
  if (count) qsort(all, count, sizeof *all, member_by_process);
  for (size_t i = 1; i < count; i++)
    if (all[i].timeline == all[i - 1].timeline && all[i].record->id == all[i - 1].record->id)
      all[i].number = all[i - 1].number + 1;
  if (count) qsort(all, count, sizeof *all, member_by_collective);
  member_list.count = count;
}
/* Where the collective that begins at i ends. */
static size_t members_end(size_t i) {
  size_t end = i + 1;
  while (end < member_list.count &&
         member_list.of[end].record->id == member_list.of[i].record->id &&
         member_list.of[end].number == member_list.of[i].number)
    end++;
  return end;
}
static bool members_agree(const match_member *m, size_t count) {
  for (size_t i = 1; i < count; i++)
    if (m[i].record->kind != m[0].record->kind) return false;
  return true;
}
/* How many of them are of the first one's boot. */
static size_t members_of_boot(const match_member *m, size_t count) {
  size_t n = 1;
  while (n < count && member_boot(&m[n]) == member_boot(m)) n++;
  return n;
}

/* Of those of one boot: who called last, and who returned first of those that need the data of all, or of a root. */
typedef struct member_ends {
  const match_member *called, *all, *rooted;
} member_ends;
static int64_t member_raw_ns(const match_member *m, int64_t t_ns) {
  return trace_raw_ns(&traces.of[m->timeline], t_ns);
}
static const match_member *member_sooner(const match_member *a, const match_member *b) {
  return !a || member_raw_ns(b, b->record->end_ns) < member_raw_ns(a, a->record->end_ns) ? b : a;
}
static member_ends member_ends_of(const match_member *m, size_t count) {
  member_ends e = {NULL, NULL, NULL};
  for (size_t i = 0; i < count; i++) {
    if (!e.called || member_raw_ns(&m[i], m[i].record->begin_ns) >
                         member_raw_ns(e.called, e.called->record->begin_ns))
      e.called = &m[i];
    if (m[i].record->xfer_ns) continue; /* it only begins here */
    if (m[i].record->case_of == TRACE_OF_ALL) e.all = member_sooner(e.all, &m[i]);
    if (m[i].record->case_of == TRACE_OF_PARTNER) e.rooted = member_sooner(e.rooted, &m[i]);
  }
  return e;
}
/* `from` had called when `to` returned. */
static void member_clocks(const match_member *from, const match_member *to) {
  if (from && to)
    clocks_add(from->timeline, from->record->begin_ns, to->timeline, to->record->end_ns);
}
/* The first boot, of all that take part, with each of the others. */
static void members_clocks_of(const match_member *m, size_t count) {
  const size_t first_count = members_of_boot(m, count);
  if (first_count == count || !members_agree(m, count)) return;
  const member_ends first = member_ends_of(m, first_count);
  const match_member *root = NULL;
  size_t rooted = 0; /* the first that has one; they all have the same */
  while (rooted < count && m[rooted].record->case_of != TRACE_OF_PARTNER) rooted++;
  for (size_t k = 0; rooted < count && k < count && !root; k++)
    if (traces.of[m[k].timeline].rank == m[rooted].record->partner) root = &m[k];
  member_clocks(root, first.rooted);
  for (size_t i = first_count, n; i < count; i += n) {
    n = members_of_boot(&m[i], count - i);
    const member_ends e = member_ends_of(&m[i], n);
    member_clocks(first.called, e.all);
    member_clocks(e.called, first.all);
    member_clocks(root, e.rooted);
  }
}
static void members_clocks(void) {
  for (size_t i = 0, end; i < member_list.count; i = end) {
    end = members_end(i);
    members_clocks_of(&member_list.of[i], end - i);
  }
}
