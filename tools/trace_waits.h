/* trace_waits.h: of messages that the timelines of both processes show: why was one of them waited for? A wait is the call
   in which a process learnt that its side was over, with the probes and the looks in vain just before it. For
   overlap_report, after trace_match.h.

   By the clock that both share, or messages hold together, its error taken off, a wait has three parts:
     late        until the partner had called its side: with whatever progress, nothing could have moved
     moving      after all partners of the call had called theirs: the transfers themselves, and what keeps them from moving;
                 of this, computing: while the partner computed with a large send of its own posted, where the
                 wait was over only when the partner had called again
     the rest    until other partners of the same call had called theirs
   Late is certain. Moving is claimed only when all that ended in the call is known by both sides. A send that
   may go ahead of its receive need not wait for it: beside messages that do it was not what was waited for; where a
   call ended nothing else, as MPI_Ssend of a short message, nothing is known. Messages to oneself move without anybody
   else: beside those of others they were waited for no longer than they take. */
typedef struct wait_side {
  size_t timeline, partner; /* indices */
  const match_call *call;
  const trace_record *own, *other;
  int64_t called_ns, err_ns;        /* when the partner called its side, in this process's time */
  bool receives, is_large, is_free; /* is_free: a send that may go ahead */
} wait_side;

typedef struct wait_sums {
  int64_t known_ns, late_ns, moving_ns, computing_ns;
} wait_sums;

/* Of all calls, each once: what trace_why.h sums. For certain a process waited until another had called, for a message or as
   the last at a collective; then, that all had. */
static struct {
  nbc_wait_span *waits;
  size_t count, room;
} wait_list;
static void wait_note(nbc_wait_span wait) {
  if (wait.until_ns <= wait.since_ns) return;
  if (wait_list.count == wait_list.room) {
    wait_list.room = wait_list.room ? 2 * wait_list.room : 1024;
    wait_list.waits =
        (nbc_wait_span *)must(realloc(wait_list.waits, wait_list.room * sizeof *wait_list.waits));
  }
  wait_list.waits[wait_list.count++] = wait;
}

static int wait_by_end(const void *a, const void *b) {
  const match_call *x = (const match_call *)a, *y = (const match_call *)b;
  return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}
static int wait_by_time(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}
static int wait_by_call(const void *a, const void *b) {
  const wait_side *x = (const wait_side *)a, *y = (const wait_side *)b;
  if (x->timeline != y->timeline) return x->timeline < y->timeline ? -1 : 1;
  if (x->call != y->call) return x->call < y->call ? -1 : 1;
  return (x->partner > y->partner) - (x->partner < y->partner);
}

/* A timeline's calls and ends of transfers, in the order of the times of their ends; of the latter those of messages to
   oneself once more. */
typedef struct wait_ends {
  match_call *calls;
  int64_t *times, *own_times;
  size_t time_count, own_count;
} wait_ends;
static wait_ends wait_ends_of(size_t i) {
  wait_ends e;
  const size_t calls = matches.call_count[i], transfers = matches.transfer_count[i];
  e.calls = (match_call *)must(malloc((calls + 1) * sizeof *e.calls));
  e.times = (int64_t *)must(malloc((transfers + 1) * sizeof *e.times));
  if (calls) memcpy(e.calls, matches.calls[i], calls * sizeof *e.calls);
  qsort(e.calls, calls, sizeof *e.calls, wait_by_end);
  e.own_times = (int64_t *)must(malloc((transfers + 1) * sizeof *e.own_times));
  e.time_count = e.own_count = 0;
  for (size_t k = 0; k < transfers; k++) {
    const trace_record *x = &matches.transfers[i][k];
    if (x->end_ns == INT64_MIN) continue;
    e.times[e.time_count++] = x->end_ns;
    if (x->peer == NBC_PEER_SELF) e.own_times[e.own_count++] = x->end_ns;
  }
  qsort(e.times, e.time_count, sizeof *e.times, wait_by_time);
  qsort(e.own_times, e.own_count, sizeof *e.own_times, wait_by_time);
  return e;
}
static void wait_ends_free(wait_ends *e) {
  free(e->calls);
  free(e->times);
  free(e->own_times);
}
/* The first of `count` elements, sorted by the time that stands `offset` bytes into each, at t_ns or later; count: none. */
static size_t wait_first_at(const void *all, size_t count, size_t element_bytes, size_t offset,
                            int64_t t_ns) {
  size_t low = 0, high = count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    int64_t at_ns;
    memcpy(&at_ns, (const char *)all + middle * element_bytes + offset, sizeof at_ns);
    if (at_ns < t_ns)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}
/* The call that returned at t_ns; NULL: none, or two threads' at once. */
static const match_call *wait_call_at(const wait_ends *e, size_t count, int64_t t_ns) {
  const size_t at =
      wait_first_at(e->calls, count, sizeof *e->calls, offsetof(match_call, end_ns), t_ns);
  if (at == count || e->calls[at].end_ns != t_ns) return NULL;
  return at + 1 < count && e->calls[at + 1].end_ns == t_ns ? NULL : &e->calls[at];
}
static size_t wait_count_at(const int64_t *times, size_t count, int64_t t_ns) {
  const size_t end =
      t_ns == INT64_MAX ? count : wait_first_at(times, count, sizeof *times, 0, t_ns + 1);
  return end - wait_first_at(times, count, sizeof *times, 0, t_ns);
}
static size_t wait_ended_at(const wait_ends *e, int64_t t_ns) {
  return wait_count_at(e->times, e->time_count, t_ns);
}

static int64_t wait_clip(int64_t ns, int64_t most_ns) {
  return ns < 0 ? 0 : ns < most_ns ? ns : most_ns;
}
/* The first call of a timeline that begins at t_ns or later: its number; as many as there are: none. */
static size_t wait_first_call(size_t i, int64_t t_ns) {
  return wait_first_at(matches.calls[i], matches.call_count[i], sizeof **matches.calls,
                       offsetof(match_call, begin_ns), t_ns);
}
/* What the partner computed for certain between two times of this process, while its own send was not over. 0: it computed
   on when the wait was over, so that it was not needed. */
static int64_t wait_computed_ns(const wait_side *x, int64_t from_ns, int64_t to_ns) {
  int64_t least_ns[2], most_ns[2], from, to, from_err_ns, to_err_ns;
  if (!clocks_meet(x->partner, x->timeline, from_ns, &from, &from_err_ns) ||
      !clocks_meet(x->partner, x->timeline, to_ns, &to, &to_err_ns))
    return 0;
  from += from_err_ns, to -= to_err_ns;
  const size_t next = wait_first_call(x->partner, from);
  if (from >= to || next == matches.call_count[x->partner] ||
      matches.calls[x->partner][next].begin_ns > to)
    return 0;
  if (x->other->end_ns != INT64_MIN && x->other->end_ns < to) to = x->other->end_ns;
  if (from >= to) return 0;
  match_comp(x->partner, from, &least_ns[0], &most_ns[0]);
  match_comp(x->partner, to, &least_ns[1], &most_ns[1]);
  return most_ns[0] == INT64_MAX ? 0 : wait_clip(least_ns[1] - most_ns[0], to - from);
}
/* Since when it was waited for this message before the call: by a probe that came just before a receive was called, or by
   looks in vain, one after the other: probes before a receive, tests of what had been posted before a test.
   Whoever computes between two looks is not waiting; a process that lost its core now and then is, between looks or,
   where each look gives it to others, within: a few long looks, and what is between them takes longer after each. */
enum { WAIT_GAP_NS = 1000, WAIT_GAP_SHARE = 100 }; /* on average; or this part of the time */
static int64_t wait_looked_since_ns(size_t timeline_index, const match_call *call,
                                    match_look wanted, int64_t posted_ns) {
  size_t at = wait_first_call(timeline_index, call->begin_ns);
  const match_call *before = at > 0 ? &matches.calls[timeline_index][at - 1] : NULL;
  int64_t since_ns = call->begin_ns, waited_since_ns = since_ns, gaps_ns = 0, looks = 0;
  if (wanted == MATCH_IPROBE && before && before->look == MATCH_PROBE) return before->begin_ns;
  for (; at > 0 && (before->look == wanted || before->look == MATCH_BOTH); at--, before--) {
    if (wanted == MATCH_TEST && before->begin_ns < posted_ns) break;
    trace_plus(&gaps_ns, since_ns - before->end_ns + before->comp_ns - before->comp_before_ns);
    trace_plus(&looks, before->count);
    since_ns = before->begin_ns;
    if (looks > INT64_MAX / WAIT_GAP_NS || gaps_ns <= looks * WAIT_GAP_NS ||
        gaps_ns <= (call->begin_ns - since_ns) / WAIT_GAP_SHARE)
      waited_since_ns = since_ns;
  }
  return waited_since_ns;
}
static int64_t wait_since_ns(const wait_side *x) {
  const match_call *own = x->call;
  if (own->look == MATCH_TEST)
    return wait_looked_since_ns(x->timeline, own, MATCH_TEST, x->own->begin_ns);
  if (!x->receives || x->own->begin_ns < own->begin_ns) return own->begin_ns;
  return wait_looked_since_ns(x->timeline, own, MATCH_IPROBE, 0);
}

/* What one partner's messages of a call say together: its time passes once, however many there are. `all`: how many
   transfers ended in it; is_whole: all of them are known; tells: one of them waits for its partner; *late: when it waited
   until the partner had called. */
static wait_sums wait_of_partner(const wait_side *sides, size_t count, size_t all, bool is_whole,
                                 bool tells, int64_t last_ns, nbc_wait_span *late) {
  wait_sums most;
  memset(&most, 0, sizeof most);
  for (size_t i = 0; i < count; i++) {
    const wait_side *x = &sides[i];
    const match_call *c = x->call;
    const int64_t length_ns = c->end_ns - c->begin_ns, since_ns = wait_since_ns(x);
    const int64_t before_ns = c->begin_ns - since_ns,
                  late_before_ns = wait_clip(x->called_ns - x->err_ns - since_ns, before_ns);
    const int64_t late_ns =
        wait_clip(x->called_ns - x->err_ns - c->begin_ns, length_ns) + late_before_ns;
    int64_t moving_ns = is_whole && !x->is_free ? c->end_ns - last_ns : 0, computing_ns = 0;
    if (all == 1 && !x->is_free) moving_ns += before_ns - late_before_ns;
    if (moving_ns && x->receives && x->is_large)
      computing_ns = wait_computed_ns(x, last_ns, c->end_ns);
    if (tells) most.known_ns += length_ns / (int64_t)(all ? all : 1) + before_ns;
    if (late_ns > most.late_ns) {
      most.late_ns = late_ns;
      late->since_ns = since_ns, late->until_ns = since_ns + late_ns;
    }
    if (moving_ns > most.moving_ns) most.moving_ns = moving_ns;
    if (computing_ns > most.computing_ns) most.computing_ns = computing_ns;
  }
  return most;
}
/* The sides of one call, by partner. `all`: how many transfers ended in it. */
static void wait_add_call(const wait_side *sides, size_t count, size_t all,
                          wait_sums *(*sums_of)(void *user, size_t timeline, size_t partner),
                          void *user) {
  const match_call *c = sides->call;
  const int rank = traces.of[sides->timeline].rank;
  int64_t last_ns = c->begin_ns, own_ns = 0;
  bool tells = false, has_others = false;
  wait_sums of_call;
  memset(&of_call, 0, sizeof of_call);
  for (size_t i = 0; i < count; i++) {
    tells = tells || !sides[i].is_free;
    if (sides[i].partner == sides[i].timeline)
      plus(&own_ns, sides[i].own->xfer_ns);
    else
      has_others = has_others || !sides[i].is_free;
    if (sides[i].called_ns + sides[i].err_ns > last_ns)
      last_ns = sides[i].called_ns + sides[i].err_ns;
  }
  if (last_ns > c->end_ns) last_ns = c->end_ns;
  for (size_t i = 0, end; i < count; i = end) {
    for (end = i + 1; end < count && sides[end].partner == sides[i].partner;) end++;
    wait_sums *s = sums_of(user, sides[i].timeline, sides[i].partner);
    if (!s) continue;
    nbc_wait_span late = {rank, traces.of[sides[i].partner].rank, NBC_WAIT_LATE, 0, 0, 0};
    wait_sums one = wait_of_partner(&sides[i], end - i, all, count >= all, tells, last_ns, &late);
    if (has_others && sides[i].partner == sides[i].timeline && one.moving_ns > own_ns)
      one.moving_ns = own_ns;
    wait_note(late);
    if (one.moving_ns > of_call.moving_ns) of_call.moving_ns = one.moving_ns;
    if (one.computing_ns > of_call.computing_ns) of_call.computing_ns = one.computing_ns;
    plus(&s->known_ns, one.known_ns);
    plus(&s->late_ns, one.late_ns);
    plus(&s->moving_ns, one.moving_ns);
    plus(&s->computing_ns, one.computing_ns);
  }
  wait_note((nbc_wait_span){rank, rank, NBC_WAIT_MOVING, c->end_ns - of_call.moving_ns, c->end_ns,
                            of_call.computing_ns});
}

/* After match_messages. */
static void wait_add_all(wait_sums *(*sums_of)(void *user, size_t timeline, size_t partner),
                         void *user) {
  wait_side *sides =
      (wait_side *)must(malloc((2 * (size_t)matches.matched_count + 1) * sizeof *sides));
  wait_ends *ends = (wait_ends *)must(malloc((traces.count + 1) * sizeof *ends));
  size_t count = 0;
  for (size_t i = 0; i < traces.count; i++) ends[i] = wait_ends_of(i);
  for (uint64_t i = 0; i < matches.matched_count; i++)
    for (int in = 0; in < 2; in++) {
      const match_one *own = in ? &matches.received[i] : &matches.sent[i],
                      *other = in ? &matches.sent[i] : &matches.received[i];
      const uint8_t flags = own->message->case_of | other->message->case_of;
      int64_t called_ns, err_ns;
      if (!own->transfer || !other->transfer || own->transfer->end_ns == INT64_MIN ||
          other->transfer->begin_ns == INT64_MIN ||
          !clocks_meet(own->timeline, other->timeline, other->transfer->begin_ns, &called_ns,
                       &err_ns))
        continue;
      const match_call *call = wait_call_at(&ends[own->timeline], matches.call_count[own->timeline],
                                            own->transfer->end_ns);
      /* Without a table nobody knows what goes ahead; no MPI that was met sends more so. */
      const bool is_large =
          !(flags & TRACE_UNSEEN) &&
          (!(flags & TRACE_EAGER) || own->message->size_bytes > NBC_LARGE_SEND_BYTES);
      const bool is_free = !in && !is_large;
      if (is_free) called_ns = own->transfer->end_ns - ((int64_t)1 << 61);
      if (call)
        sides[count++] =
            (wait_side){own->timeline, other->timeline, call,    own->transfer, other->transfer,
                        called_ns,     err_ns,          in == 1, is_large,      is_free};
    }
  if (count) qsort(sides, count, sizeof *sides, wait_by_call);
  for (size_t i = 0, end; i < count; i = end) {
    for (end = i + 1; end < count && sides[end].call == sides[i].call;) end++;
    wait_add_call(&sides[i], end - i,
                  wait_ended_at(&ends[sides[i].timeline], sides[i].call->end_ns), sums_of, user);
  }
  for (size_t i = 0; i < traces.count; i++) wait_ends_free(&ends[i]);
  free(ends);
  free(sides);
}
