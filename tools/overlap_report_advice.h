/* overlap_report_advice.h: what to do about it: a verdict on each kind of transfer, worst first. Part of
   overlap_report.c. */
/* A verdict rests only on what the reports of one run hold. nbc_diagnose wants more: the computation
   alone, the communication alone; see --reference. */
typedef enum verdict {
  VERDICT_FINE,
  VERDICT_ITSELF,
  VERDICT_LEFT,
  VERDICT_SENT,
  VERDICT_RECEIVED,
  VERDICT_PUT,
  VERDICT_STARTED,
  VERDICT_ONE_END,
  VERDICT_CAME,
  VERDICT_COLLECTIVE,
  VERDICT_WAITING,
  VERDICT_BLOCKING,
  VERDICT_SAME_CALL,
  VERDICT_TOO_LITTLE,
  VERDICT_NO_PROGRESS,
  VERDICT_UNKNOWN,
  VERDICT_PARTLY
} verdict;

static const struct {
  const char *name, *why, *what;
} verdicts[] = {
    [VERDICT_FINE] = {"hidden", "At least four fifths of the time is hidden.",
                      "Nothing to do here."},
    [VERDICT_ITSELF] =
        {"messages to oneself",
         "The process that sends them receives them: the library copies them inside its "
         "calls, and no progress beside the computation is to be had.",
         "Where they take time, copy the data in the program."},
    [VERDICT_LEFT] = {"left before it arrived",
                      "These sends ended as soon as their data was copied; when it arrived, nobody "
                      "here saw: all of it, or "
                      "nothing, may have been hidden.",
                      "A nonblocking send gains nothing at this size. Time in such calls is "
                      "copying, or waiting for room at "
                      "the receiver."},
    [VERDICT_SENT] =
        {"sent unseen",
         "The end of these sends does not tell when their data moved: it was copied, or may have "
         "been "
         "in a socket still, or has gaps and is sent in parts, or nobody waited for it. All of it, "
         "or "
         "nothing, may have been hidden.",
         "What can be won is the time waited: post early, compute, wait as late as possible."},
    [VERDICT_RECEIVED] =
        {"came unseen",
         "The end of these receives does not tell when their data moved: of an exchange that was "
         "started it does not tell how much came, and others may have come before they were "
         "posted. "
         "All of it, or nothing, may have been hidden.",
         "What can be won is the time waited: post early, compute, wait as late as possible."},
    [VERDICT_PUT] =
        {"arrived unseen",
         "The calls that ended these operations return as soon as the process may change its data "
         "again; when "
         "it had arrived at the target, nobody here saw: all of it, or nothing, may have been "
         "hidden.",
         "What can be won is the time waited, in which others may have come late, too: compute "
         "between such operations and the call that ends them, and balance where ranks differ."},
    [VERDICT_STARTED] =
        {"started, and moved unseen",
         "Of what a start begins, small messages may come before it and arrive after their end, "
         "and "
         "persistent collectives and partitioned messages are made of messages that nobody here "
         "sees: all, or nothing, may have been hidden.",
         "What can be won is the time waited: compute between the start and its wait, and balance "
         "where ranks differ."},
    [VERDICT_ONE_END] =
        {"only one end seen",
         "Most of these transfers began or ended outside of what the library saw.",
         "Wait for requests instead of freeing them, and post receives before the data comes."},
    [VERDICT_CAME] =
        {"may have come before",
         "Messages of this size are sent at once: when they came, before they were received or "
         "after, nobody here saw: all, or nothing, may have been hidden.",
         "What can be won is the time waited: post the receive early, compute, wait as late as "
         "possible."},
    [VERDICT_COLLECTIVE] =
        {"moved unseen",
         "A collective is made of messages that nobody here sees: they may come before it is "
         "called and arrive after it returned, so all, or nothing, may have been hidden. The time "
         "waited is theirs, or that of others who came late.",
         "What can be won is the time waited: by a nonblocking collective and computation before "
         "its wait, and by balance where ranks differ."},
    [VERDICT_WAITING] =
        {"waits for others",
         "Its calls waited more than ten times as long as its transfers take by the table: others "
         "came late, "
         "or computed without progress, or these transfers were slower than the table's.",
         "Balance the work, or let the others make progress while they compute (nbc get): who "
         "waits for whom and the places say where."},
    [VERDICT_BLOCKING] =
        {"blocking calls", "A blocking call hides nothing: nobody computes while it lasts.",
         "Use the nonblocking form: post as early as the data is there, compute, wait as late as "
         "possible."},
    [VERDICT_SAME_CALL] =
        {"done inside one call",
         "Posted and completed in the same call: there was no computation in between.",
         "Post earlier or wait later, with computation between the two calls."},
    [VERDICT_TOO_LITTLE] =
        {"too little computation",
         "There is less computation between post and completion than the transfers take.",
         "Post earlier, wait later, or move independent work between the two; send less, or in "
         "fewer and larger messages."},
    [VERDICT_NO_PROGRESS] =
        {"no progress while computing",
         "By the NIC's stamps the data moved inside calls, although there was enough computation "
         "to hide it.",
         "The library makes progress only when it is called: give it a progress thread or a core "
         "of its own, call a test now and then, or use a NIC that matches by itself."},
    [VERDICT_UNKNOWN] =
        {"cannot be told",
         "There is enough computation, but also so much time in calls that all could have moved "
         "there: "
         "either the library makes progress only inside calls, or the partner came late.",
         "Run once with a progress thread (for MPICH: MPICH_ASYNC_PROGRESS=1) and compare with "
         "--diff: "
         "less time in waits means that progress was missing. NIC stamps decide it without a "
         "second "
         "run."},
    [VERDICT_PARTLY] =
        {"partly hidden", "Some of the time is hidden, some is not.",
         "Look at the sizes and ranks where it is not; post earlier or wait later there."},
};

static bool is_collective(nbc_kind kind) {
  return kind >= NBC_KIND_BARRIER && kind <= NBC_KIND_INEIGHBOR_ALLTOALL;
}

/* Of most of them one end at most was seen. */
static verdict unseen(const row *x) {
  const bool large = x->t.size_bytes / x->t.count > NBC_LARGE_SEND_BYTES;
  switch (x->kind) {
  case NBC_KIND_SEND: return VERDICT_LEFT;
  case NBC_KIND_ISEND: return large ? VERDICT_SENT : VERDICT_LEFT;
  case NBC_KIND_IRECV: return large ? VERDICT_RECEIVED : VERDICT_CAME;
  case NBC_KIND_RECV:
  case NBC_KIND_SENDRECV: return VERDICT_CAME;
  case NBC_KIND_PUT:
  case NBC_KIND_ATOMIC: return VERDICT_PUT;
  case NBC_KIND_START: return VERDICT_STARTED;
  default: return VERDICT_ONE_END;
  }
}
/* Is it a message of a blocking collective, which the program can only replace as a whole? */
static bool is_of_blocking_call(const nbc_report *r, const row *x) {
  static const char *const others[] = {"MPI_I", "MPI_Start", "MPI_Test", "MPI_Wait"};
  const char *const call = call_of_messages(r, x);
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (strncmp(call, others[i], strlen(others[i])) == 0) return false;
  return *call;
}
static verdict judge(const nbc_report *r, const row *x) {
  const nbc_totals *t = &x->t;
  const double least = share(t->min_overlap_ns, t->xfer_ns),
               most = share(t->max_overlap_ns, t->xfer_ns);
  /* xfer_ns counts all cases, hideable_ns only case 2. */
  const double two_ends_ns = (double)t->xfer_ns * (double)t->case_count[1] / (double)t->count;
  const bool enough = x->hideable_ns >= 0.8 * two_ends_ns;
  const bool stamped = t->exact_count > 0 && t->exact_count >= t->count / 2;
  if ((least >= 0.8 || (stamped && exact_least(t) >= 0.8)) && t->waited_ns / 10 <= t->xfer_ns)
    return VERDICT_FINE;
  if (x->peer == NBC_PEER_SELF) return VERDICT_ITSELF;
  if (is_collective(x->kind) && t->case_count[2] > t->count / 2) return VERDICT_COLLECTIVE;
  if (t->waited_ns / 10 > t->xfer_ns) return VERDICT_WAITING;
  /* Half of an exchange are sends, which leave unseen; nearly all of it is unseen when what it receives
     may have come before, too. */
  if (x->kind == NBC_KIND_SENDRECV && most < 0.75) return VERDICT_BLOCKING;
  /* Of large ones only what goes ahead was not seen: the rest is known to be not hidden. */
  if (t->case_count[2] > t->count / 2 && most >= 0.5) return unseen(x);
  if (nbc_kind_category(x->kind) == NBC_CATEGORY_BLOCKING) return VERDICT_BLOCKING;
  if (t->case_count[0] > t->count / 2 || !t->case_count[1])
    return is_of_blocking_call(r, x) ? VERDICT_BLOCKING : VERDICT_SAME_CALL;
  if (!enough) return VERDICT_TOO_LITTLE;
  if (stamped && exact_most(t) < 0.2) return VERDICT_NO_PROGRESS;
  return most >= 0.8 && least < 0.2 && !stamped ? VERDICT_UNKNOWN : VERDICT_PARTLY;
}

/* The rows worth a line: up to `max`, each with at least a hundredth of all transfer time at stake. */
static size_t offenders(const nbc_report *r, row **rows, size_t max) {
  size_t count, kept = 0;
  *rows = group(r, BY_CELL, &count);
  for (size_t i = 0; i < count && kept < max; i++) {
    const row *x = &(*rows)[i];
    const int64_t at_stake_ns = x->t.xfer_ns - x->t.min_overlap_ns;
    const bool waits = share(x->t.waited_ns, r->call_ns) >= 0.01;
    if (judge(r, x) != VERDICT_FINE &&
        (waits || (r->total.waited_ns == 0 && share(at_stake_ns, r->total.xfer_ns) >= 0.01)))
      (*rows)[kept++] = *x;
  }
  return kept;
}
