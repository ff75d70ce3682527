/* trace_match.h: which transfer of one process is which of another, from all timelines of a run, and what the two
   together tell of their bounds. For overlap_trace and overlap_report, after trace_read.h.

   Messages from one process to another with one tag, in one communicator, are received in the order in which they
   were sent, by receives in the order in which these were posted [MPI 3.5]. Sends are in the timeline from
   their post on, receives when they are over; so when there are as many of both, each is known, and the n-th are
   one message. Where a timeline has all messages up to one of them only (its "cut"), the n-th are one message
   as long as there are both, if the communicator's number is known, which is the same in all of its processes.
   Nothing is said where a timeline has lost its first records, sizes differ, the number is not known and
   several communicators are in use, or the program lets messages of a communicator overtake others.

   Bounds by method "partner", by clocks that both share or that messages hold together (trace_clocks.h; their errors
   taken off): no byte moves before the send is called, none after the receive has returned. So the window
   of both is
       from the send's call to the receive's return,
   or, of a message above the eager size, but for the part that may go ahead,
       from the later of the two calls to the receive's return,
   and where the send's end tells that all has arrived (tail_bytes 0, and its request was not freed), not after that. Bounds in these windows by the
   rules of [MONITOR], and those of the one process alone: what all of them allow. Of a transfer that was faster
   than the table, as a window shows, nothing is said here, and the minimum of one side is not believed either. */
#include "tools/trace_clocks.h"
typedef struct match_bounds {
  bool is_matched, has_window; /* has_window: both clocks and ends were known */
  bool is_far;                 /* ... and the clocks are of two nodes */
  size_t timeline;             /* the partner's, and its record there */
  int64_t min_ns, max_ns;
} match_bounds;

typedef struct match_one {
  size_t timeline, partner; /* indices */
  const trace_record *message, *transfer;
  match_bounds *bounds;
} match_one;

/* What a call looks for, or looks together did, and whether it waits for it. */
typedef enum match_look {
  MATCH_NO_LOOK,
  MATCH_TEST = TRACE_LOOKS_TEST,
  MATCH_IPROBE = TRACE_LOOKS_PROBE,
  MATCH_BOTH = MATCH_TEST | MATCH_IPROBE,
  MATCH_PROBE
} match_look;
typedef struct match_call { /* or looks one after the other */
  int64_t begin_ns, end_ns;
  int64_t comp_before_ns, comp_ns; /* computed up to its begin, its end */
  int64_t count;
  match_look look;
  uint32_t place;
} match_call;

static struct {
  uint64_t message_count, matched_count, contradicted_count;
  int64_t disproved_ns;       /* of the minima that one side alone claims of those contradicted */
  int64_t err_ns;             /* the largest error of two clocks */
  const char *why;            /* of the first that were not matched */
  match_one *sent, *received; /* the n-th of both are one message */
  match_bounds **bounds;      /* per timeline, by transfer in the order of their ids */
  trace_record **transfers;
  size_t *transfer_count;
  match_call **calls;
  size_t *call_count;
  trace_record **messages;
  size_t *messages_of;
  trace_record **collectives; /* in the order of their ends */
  size_t *collectives_of;
} matches;

static int match_by_id(const void *a, const void *b) {
  const uint64_t x = ((const trace_record *)a)->id, y = ((const trace_record *)b)->id;
  return (x > y) - (x < y);
}
static int match_by_begin(const void *a, const void *b) {
  const int64_t x = ((const match_call *)a)->begin_ns, y = ((const match_call *)b)->begin_ns;
  return (x > y) - (x < y);
}

/* The transfer with this id in a timeline; -1: none, or it stands there twice. */
static long match_find(size_t timeline_index, uint64_t id) {
  const trace_record *const x = matches.transfers[timeline_index];
  size_t low = 0, high = matches.transfer_count[timeline_index];
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (x[middle].id < id)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == matches.transfer_count[timeline_index] || x[low].id != id) return -1;
  if (low + 1 < matches.transfer_count[timeline_index] && x[low + 1].id == id) return -1;
  return (long)low;
}
static match_look match_look_of(const char *call) {
  if (strcmp(call, "MPI_Probe") == 0 || strcmp(call, "MPI_Mprobe") == 0) return MATCH_PROBE;
  if (strcmp(call, "MPI_Iprobe") == 0 || strcmp(call, "MPI_Improbe") == 0) return MATCH_IPROBE;
  return strncmp(call, "MPI_Test", 8) == 0 ? MATCH_TEST : MATCH_NO_LOOK;
}
/* Copies what is looked up; messages and collectives leave the timeline, which is drawn and sorted otherwise. */
static void match_keep(size_t i) {
  timeline *t = &traces.of[i];
  uint64_t count[TRACE_COLLECTIVE + 1] = {0}, left = 0;
  for (uint64_t k = 0; k < t->record_count; k++) count[t->records[k].what]++;
  trace_record *x = (trace_record *)must(malloc((count[TRACE_TRANSFER] + 1) * sizeof *x));
  trace_record *m = (trace_record *)must(malloc((count[TRACE_MESSAGE] + 1) * sizeof *m));
  match_call *c = (match_call *)must(malloc((count[TRACE_CALL] + 1) * sizeof *c));
  trace_record *all = (trace_record *)must(malloc((count[TRACE_COLLECTIVE] + 1) * sizeof *all));
  matches.collectives[i] = all;
  matches.transfers[i] = x;
  matches.messages[i] = m;
  matches.calls[i] = c;
  t->is_whole = t->seen_count == t->record_count;
  for (uint64_t k = 0; k < t->record_count; k++) {
    const trace_record r = t->records[k];
    if (r.what == TRACE_TRANSFER) *x++ = r;
    if (r.what == TRACE_CALL)
      *c++ = (match_call){
          r.begin_ns,
          r.end_ns,
          r.min_overlap_ns,
          r.xfer_ns,
          r.max_overlap_ns,
          (r.case_of & MATCH_BOTH) == MATCH_BOTH ? MATCH_BOTH : match_look_of(t->places[r.id].call),
          (uint32_t)r.id};
    if (r.what == TRACE_MESSAGE)
      *m++ = r;
    else if (r.what == TRACE_COLLECTIVE)
      *all++ = r;
    else
      t->records[left++] = r;
  }
  t->record_count = left;
  matches.transfer_count[i] = count[TRACE_TRANSFER];
  matches.call_count[i] = count[TRACE_CALL];
  matches.messages_of[i] = count[TRACE_MESSAGE];
  matches.collectives_of[i] = count[TRACE_COLLECTIVE];
  qsort(matches.transfers[i], count[TRACE_TRANSFER], sizeof **matches.transfers, match_by_id);
  qsort(matches.calls[i], count[TRACE_CALL], sizeof **matches.calls, match_by_begin);
  matches.bounds[i] =
      (match_bounds *)must(calloc(count[TRACE_TRANSFER] + 1, sizeof **matches.bounds));
}

/* ---- which is which ------------------------------------------------------------------------------------ */
static int match_order(const void *a, const void *b) {
  const match_one *x = (const match_one *)a, *y = (const match_one *)b;
  const bool in = x->message->kind != 0;
  const size_t from_x = in ? x->partner : x->timeline, from_y = in ? y->partner : y->timeline,
               to_x = in ? x->timeline : x->partner, to_y = in ? y->timeline : y->partner;
  if (from_x != from_y) return from_x < from_y ? -1 : 1;
  if (to_x != to_y) return to_x < to_y ? -1 : 1;
  if (x->message->begin_ns != y->message->begin_ns)
    return x->message->begin_ns < y->message->begin_ns ? -1 : 1;
  if (x->message->max_overlap_ns != y->message->max_overlap_ns)
    return (uint64_t)x->message->max_overlap_ns < (uint64_t)y->message->max_overlap_ns ? -1 : 1;
  return (x->message->id > y->message->id) - (x->message->id < y->message->id);
}
/* Same two processes, tag and communicator? */
static bool match_same(const match_one *sent, const match_one *received) {
  return sent->timeline == received->partner && sent->partner == received->timeline &&
         sent->message->begin_ns == received->message->begin_ns &&
         sent->message->max_overlap_ns == received->message->max_overlap_ns;
}
static bool match_same_tag(const match_one *a, const match_one *b) {
  return a->timeline == b->timeline && a->partner == b->partner &&
         a->message->begin_ns == b->message->begin_ns;
}
static size_t match_group(const match_one *all, size_t at, size_t count) {
  size_t end = at + 1;
  while (end < count && match_same_tag(&all[end], &all[at]) &&
         all[end].message->max_overlap_ns == all[at].message->max_overlap_ns)
    end++;
  return end;
}

static void match_refuse(const char *why) {
  if (!matches.why) matches.why = why;
}

/* PROGRAM.TIME-PID, the name of a report or timeline before its rank: TIME-PID is the run, and all programs of a world
   have the same. How many bytes come before it; 0: no such name, and all of it is the run. */
static size_t match_before_run(const char *name, size_t bytes) {
  static const char digits[] = "0123456789";
  size_t at = bytes;
  while (at > 0 && strchr(digits, name[at - 1]) && name[at - 1]) at--;
  if (at == bytes || at == 0 || name[at - 1] != '-') return 0;
  const size_t minus = --at;
  while (at > 0 && strchr(digits, name[at - 1]) && name[at - 1]) at--;
  return at < minus && at > 0 && name[at - 1] == '.' ? at : 0;
}
/* RUN.RANK.trace: are all of one run, each rank once? Another run's messages look the same. */
static bool match_is_one_run(void) {
  const char *first = NULL;
  size_t first_bytes = 0;
  for (size_t i = 0; i < traces.count; i++) {
    const char *path = traces.of[i].path, *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    char ending[40];
    const size_t n = strlen(name),
                 m = (size_t)snprintf(ending, sizeof ending, ".%d.trace", traces.of[i].rank);
    if (i > 0 && traces.of[i].rank == traces.of[i - 1].rank) return false; /* they are sorted */
    if (n <= m || strcmp(name + n - m, ending) != 0) continue; /* renamed: nobody knows */
    const size_t before = match_before_run(name, n - m), bytes = n - m - before;
    if (first && (bytes != first_bytes || strncmp(name + before, first, bytes) != 0)) return false;
    first = name + before;
    first_bytes = bytes;
  }
  return true;
}

/* Messages between timelines that are whole; the rest only counts. */
static size_t match_collect(match_one *all, bool in) {
  const bool is_one_run = match_is_one_run();
  size_t count = 0;
  for (size_t i = 0; i < traces.count; i++) {
    const timeline *t = &traces.of[i];
    for (size_t k = 0; k < matches.messages_of[i]; k++) {
      const trace_record *r = &matches.messages[i][k];
      size_t partner = (size_t)r->partner; /* they are in the order of ranks, mostly all there */
      if ((r->kind != 0) != in) continue;
      if (partner >= traces.count || traces.of[partner].rank != r->partner) partner = 0;
      while (partner < traces.count && traces.of[partner].rank != r->partner) partner++;
      const timeline *other = partner < traces.count ? &traces.of[partner] : NULL;
      matches.message_count += !in;
      if (!is_one_run)
        match_refuse("they are of several runs");
      else if (!other)
        match_refuse("the partner left no timeline");
      else if (t->unmatched || other->unmatched)
        match_refuse(t->unmatched ? t->unmatched : other->unmatched);
      else if (!t->is_whole || !other->is_whole)
        match_refuse("a timeline kept its newest records only (NBC_TRACE_MIB)");
      else
        all[count++] = (match_one){.timeline = i, .partner = partner, .message = r};
    }
  }
  if (count) qsort(all, count, sizeof *all, match_order);
  return count;
}

/* May messages of this one's communicator overtake others (mpi_assert_allow_overtaking)? */
static bool match_is_unordered(const match_one *one) {
  const timeline *t = &traces.of[one->timeline];
  for (size_t i = 0; i < t->unordered_count; i++)
    if ((int64_t)t->unordered[i] == one->message->end_ns) return true;
  return false;
}
/* A group of as many sends as receives: the same sizes, one communicator on each side. */
static bool match_agrees(const match_one *sent, const match_one *received, size_t count) {
  if (match_is_unordered(sent) || match_is_unordered(received)) {
    match_refuse("their communicator allows overtaking");
    return false;
  }
  for (size_t i = 0; i < count; i++) {
    if (sent[i].message->end_ns != sent[0].message->end_ns ||
        received[i].message->end_ns != received[0].message->end_ns) {
      match_refuse("one tag is in use in several communicators");
      return false;
    }
    if (sent[i].message->size_bytes != received[i].message->size_bytes) {
      match_refuse("sizes differ");
      return false;
    }
  }
  return true;
}

/* How many of a group, which is in the order of ids, stand before the timeline's cut. */
static size_t match_before(const match_one *all, size_t count, uint64_t cut) {
  while (count && all[count - 1].message->id >= cut) count--;
  return count;
}
/* How many of a group's sends and receives are known to be each other's, from the first on. */
static size_t match_count(const match_one *sent, size_t sent_count, const match_one *received,
                          size_t received_count) {
  const timeline *from = &traces.of[sent->timeline], *to = &traces.of[received->timeline];
  if (!from->is_full && !to->is_full && sent_count == received_count) return sent_count;
  const size_t sure_sent = match_before(sent, sent_count, from->cut_out),
               sure_received = match_before(received, received_count, to->cut_in);
  if ((sure_sent < sure_received && from->cut_out == UINT64_MAX) ||
      (sure_received < sure_sent && to->cut_in == UINT64_MAX)) {
    match_refuse("not all messages of a tag were sent and received by calls that are seen");
    return 0;
  }
  if (!sent->message->max_overlap_ns) {
    match_refuse("which communicator it was is not known");
    return 0;
  }
  const size_t least = sure_sent < sure_received ? sure_sent : sure_received;
  if (least < sent_count)
    match_refuse(from->is_full || to->is_full
                     ? "a timeline ends before them (nbc see --trace keeps more)"
                     : "calls that are not seen may have received others of their tag");
  return least;
}

/* Moves the groups that agree to the front of both. Two sorted lists, walked side by side;
   `kept` is never beyond s or r, so nothing is written over that was not looked at. Of a group
   the first ones are taken, up to where one may be missing: behind that the n-th of both would no
   longer be one message. */
static void match_pair(size_t sent_count, size_t received_count) {
  size_t s = 0, r = 0, kept = 0;
  while (s < sent_count && r < received_count) {
    const size_t s_end = match_group(matches.sent, s, sent_count),
                 r_end = match_group(matches.received, r, received_count);
    const match_one *a = &matches.sent[s], *b = &matches.received[r];
    if (match_same(a, b)) {
      const size_t both = match_count(a, s_end - s, b, r_end - r);
      const bool alone =
          a->message->max_overlap_ns ||
          ((s_end == sent_count || !match_same_tag(a, &matches.sent[s_end])) &&
           (r_end == received_count || !match_same_tag(b, &matches.received[r_end])));
      if (!alone) match_refuse("one tag is in use in several communicators");
      if (alone && match_agrees(a, b, both))
        for (size_t i = 0; i < both; i++, kept++) {
          matches.sent[kept] = matches.sent[s + i];
          matches.received[kept] = matches.received[r + i];
        }
      s = s_end, r = r_end;
    } else { /* as match_order has it: a's group as its receiver would list it, before all ids */
      const match_one as_received = {
          .timeline = a->partner, .partner = a->timeline, .message = b->message};
      trace_record key = *b->message;
      key.begin_ns = a->message->begin_ns;
      key.max_overlap_ns = a->message->max_overlap_ns;
      key.id = 0;
      match_one probe = as_received;
      probe.message = &key;
      if (match_order(&probe, b) < 0)
        s = s_end;
      else
        r = r_end;
    }
  }
  matches.matched_count = kept;
}

/* ---- bounds --------------------------------------------------------------------------------------------- */
/* Within looks, between which it computed: no more than time passes. */
static void match_comp_in(const match_call *c, int64_t t_ns, int64_t *least_ns, int64_t *most_ns) {
  *least_ns = c->comp_ns - (c->end_ns - t_ns);
  *most_ns = c->comp_before_ns + (t_ns - c->begin_ns);
  if (*least_ns < c->comp_before_ns) *least_ns = c->comp_before_ns;
  if (*most_ns > c->comp_ns) *most_ns = c->comp_ns;
}
/* The least and the most that a process had computed at t_ns: exactly known at its calls. In a
   call it does not compute; between two it may, at most as long as time passes. So up to the
   time since the last call more than at that call, and down to the time until the next call less
   than at that one. */
static void match_comp(size_t i, int64_t t_ns, int64_t *least_ns, int64_t *most_ns) {
  const match_call *c = matches.calls[i];
  const size_t count = matches.call_count[i];
  size_t low = 0, high = count; /* the first call that begins after t_ns */
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (c[middle].begin_ns <= t_ns)
      low = middle + 1;
    else
      high = middle;
  }
  const match_call *before = low > 0 ? &c[low - 1] : NULL, *after = low < count ? &c[low] : NULL;
  if (before && t_ns < before->end_ns) { /* within it */
    match_comp_in(before, t_ns, least_ns, most_ns);
    return;
  }
  *least_ns = before ? before->comp_ns : 0;
  *most_ns = after ? after->comp_before_ns : INT64_MAX;
  if (after && after->comp_before_ns - (after->begin_ns - t_ns) > *least_ns)
    *least_ns = after->comp_before_ns - (after->begin_ns - t_ns);
  if (before && before->comp_ns + (t_ns - before->end_ns) < *most_ns)
    *most_ns = before->comp_ns + (t_ns - before->end_ns);
}

/* Narrows min and max by a window of a process, outside of which so much may have moved. At most,
   all computation in the window hides a transfer, and all that may move outside is hidden too. At
   least: of the `fastest` time, a part may lie outside, and another where the window has no
   computation; the rest must be hidden. False: the window is shorter than the table says, or the
   two cannot both be true. */
static bool match_window(size_t i, int64_t begin_ns, int64_t end_ns, int64_t outside_ns,
                         int64_t fastest_ns, const trace_record *x, int64_t *min_ns,
                         int64_t *max_ns) {
  int64_t least_ns[2], most_ns[2];
  const int64_t length_ns = end_ns - begin_ns;
  if (length_ns < 0 || x->xfer_ns > length_ns + outside_ns) return false;
  match_comp(i, begin_ns, &least_ns[0], &most_ns[0]);
  match_comp(i, end_ns, &least_ns[1], &most_ns[1]);
  int64_t most = most_ns[1] == INT64_MAX ? length_ns : most_ns[1] - least_ns[0],
          least = most_ns[0] == INT64_MAX ? 0 : least_ns[1] - most_ns[0];
  if (most > length_ns) most = length_ns;
  if (least < 0) least = 0;
  if (most + outside_ns < *max_ns) *max_ns = most + outside_ns;
  if (fastest_ns > x->xfer_ns) fastest_ns = x->xfer_ns;
  if (fastest_ns - outside_ns - (length_ns - least) > *min_ns)
    *min_ns = fastest_ns - outside_ns - (length_ns - least);
  return *min_ns <= *max_ns;
}

/* The bounds of one side of a message. [begin, end]: when its data can have moved; late: when the later of
   the two calls was made; all in this process's time. */
static void match_narrow(const match_one *one, uint8_t flags, int64_t begin_ns, int64_t late_ns,
                         int64_t end_ns) {
  const trace_record *x = one->transfer, *m = one->message;
  match_bounds *b = one->bounds;
  int64_t min_ns = x->min_overlap_ns, max_ns = x->max_overlap_ns;
  b->min_ns = min_ns, b->max_ns = max_ns;
  if (x->xfer_ns < m->xfer_ns) return; /* it was faster than the table: its speed is not known */
  const int64_t fastest_ns =
      m->case_of & TRACE_MEASURED && !(flags & TRACE_UNSEEN) ? m->xfer_ns : 0;
  bool good = match_window(one->timeline, begin_ns, end_ns, 0, fastest_ns, x, &min_ns, &max_ns);
  if (good && !(flags & (TRACE_EAGER | TRACE_UNSEEN)))
    good = match_window(one->timeline, late_ns, end_ns, m->min_overlap_ns, fastest_ns, x, &min_ns,
                        &max_ns);
  if (!good) { /* the transfer was faster than the table */
    matches.contradicted_count++;
    matches.disproved_ns += x->min_overlap_ns;
    b->has_window = false;
    return;
  }
  b->min_ns = min_ns, b->max_ns = max_ns;
}

/* Of one large message, which no process keeps for the other, the send's end tells that all has arrived. A send whose
   own bounds rest on one stamp (case 3) did not show its end: its request was freed. */
static bool match_no_tail(const match_one *s, const match_one *r) {
  return s->message->case_of & TRACE_NO_TAIL && s->transfer->case_of < 3 &&
         !((s->message->case_of | r->message->case_of) & (TRACE_EAGER | TRACE_UNSEEN));
}
/* What a message tells of the clocks of two nodes, or of one boot. */
static void match_clocks(const match_one *s, const match_one *r,
                         void (*take)(size_t from, int64_t from_ns, size_t to, int64_t to_ns)) {
  take(s->timeline, s->transfer->begin_ns, r->timeline, r->transfer->end_ns);
  if (match_no_tail(s, r))
    take(r->timeline, r->transfer->begin_ns, s->timeline, s->transfer->end_ns);
}
/* A time of another process on one's own clock, the error added: 1 as late, -1 as early as it can have been. */
static bool match_meet(const match_one *own, const match_one *other, int64_t t_ns, int side,
                       int64_t *own_ns) {
  int64_t err_ns;
  if (!clocks_meet(own->timeline, other->timeline, t_ns, own_ns, &err_ns)) return false;
  if (err_ns > matches.err_ns) matches.err_ns = err_ns;
  *own_ns += side * err_ns;
  return true;
}
static void match_both(const match_one *s, const match_one *r) {
  const trace_record *out = s->transfer, *in = r->transfer;
  const uint8_t flags = s->message->case_of | r->message->case_of;
  const bool ends = match_no_tail(s, r) && out->end_ns != INT64_MIN;
  /* The sender's times, then the receiver's. What the other process saw is moved outwards by the
     error: a window too wide makes wide bounds, one too narrow makes false ones. */
  int64_t arrived_ns, begun_ns, posted_ns = INT64_MIN, ended_ns = INT64_MAX;
  if (out->begin_ns == INT64_MIN || in->end_ns == INT64_MIN ||
      !match_meet(s, r, in->end_ns, 1, &arrived_ns) ||
      !match_meet(r, s, out->begin_ns, -1, &begun_ns) ||
      (in->begin_ns != INT64_MIN && !match_meet(s, r, in->begin_ns, -1, &posted_ns)) ||
      (ends && !match_meet(r, s, out->end_ns, 1, &ended_ns)))
    return;
  s->bounds->has_window = r->bounds->has_window = true;
  s->bounds->is_far = r->bounds->is_far = clocks.boot[s->timeline] != clocks.boot[r->timeline];
  if (ends && out->end_ns < arrived_ns) arrived_ns = out->end_ns;
  match_narrow(s, flags, out->begin_ns, posted_ns > out->begin_ns ? posted_ns : out->begin_ns,
               arrived_ns);
  match_narrow(r, flags, begun_ns, in->begin_ns > begun_ns ? in->begin_ns : begun_ns,
               ended_ns < in->end_ns ? ended_ns : in->end_ns);
}

static bool match_look_up(match_one *one) {
  const long at = match_find(one->timeline, one->message->id);
  if (at < 0) return false;
  one->transfer = &matches.transfers[one->timeline][at];
  one->bounds = &matches.bounds[one->timeline][at];
  return true;
}

#include "tools/trace_members.h"
/* All of it, once the timelines are read. Nothing is freed: until the command ends. */
static void match_messages(void) {
  size_t messages = 0;
  const size_t n = traces.count + 1;
  matches.bounds = (match_bounds **)must(calloc(n, sizeof *matches.bounds));
  matches.transfers = (trace_record **)must(calloc(n, sizeof *matches.transfers));
  matches.transfer_count = (size_t *)must(calloc(n, sizeof *matches.transfer_count));
  matches.calls = (match_call **)must(calloc(n, sizeof *matches.calls));
  matches.call_count = (size_t *)must(calloc(n, sizeof *matches.call_count));
  matches.messages = (trace_record **)must(calloc(n, sizeof *matches.messages));
  matches.messages_of = (size_t *)must(calloc(n, sizeof *matches.messages_of));
  matches.collectives = (trace_record **)must(calloc(n, sizeof *matches.collectives));
  matches.collectives_of = (size_t *)must(calloc(n, sizeof *matches.collectives_of));
  for (size_t i = 0; i < traces.count; i++) {
    match_keep(i);
    messages += matches.messages_of[i];
  }
  matches.sent = (match_one *)must(malloc((messages + 1) * sizeof *matches.sent));
  matches.received = (match_one *)must(malloc((messages + 1) * sizeof *matches.received));
  const size_t sent_count = match_collect(matches.sent, false),
               received_count = match_collect(matches.received, true);
  match_pair(sent_count, received_count);
  clocks_begin();
  for (uint64_t i = 0; i < matches.matched_count; i++) {
    match_one *s = &matches.sent[i], *r = &matches.received[i];
    const bool has_both = match_look_up(s) && match_look_up(r);
    if (has_both) match_clocks(s, r, clocks_check);
  }
  for (uint64_t i = 0; i < matches.matched_count; i++)
    if (matches.sent[i].transfer && matches.received[i].transfer)
      match_clocks(&matches.sent[i], &matches.received[i], clocks_add);
  members_find();
  members_clocks();
  clocks_solve();
  for (uint64_t i = 0; i < matches.matched_count; i++) {
    match_one *s = &matches.sent[i], *r = &matches.received[i];
    if (!s->transfer || !r->transfer) continue;
    *s->bounds = (match_bounds){.is_matched = true,
                                .timeline = r->timeline,
                                .min_ns = s->transfer->min_overlap_ns,
                                .max_ns = s->transfer->max_overlap_ns};
    *r->bounds = (match_bounds){.is_matched = true,
                                .timeline = s->timeline,
                                .min_ns = r->transfer->min_overlap_ns,
                                .max_ns = r->transfer->max_overlap_ns};
    match_both(s, r);
  }
}
