/* sync.c: many clocks: a common time for all ranks of a transport. */
#include "sync.h"

/* ============================================================================================== */
/* [SYNC] 19. Many clocks                                                                         */
/* ============================================================================================== */
NBC_API const char *nbc_sync_method_name(nbc_sync_method method) {
  switch (method) {
  case NBC_SYNC_MIDDLE: return "middle";
  case NBC_SYNC_SKAMPI: return "skampi";
  case NBC_SYNC_JK: return "jk";
  case NBC_SYNC_HCA3: return "hca3";
  case NBC_SYNC_METHOD_COUNT: break;
  }
  return "?";
}

NBC__PRIVATE int64_t nbc__sync_local_now(const nbc_sync *s) { return s->t->now_ns(s->t->ctx); }

/* Bounds of the global time at a local reading t <= clock < t + 1 ns. */
static bool nbc__sync_bounds(const nbc_sync *s, int64_t t_local_ns, int64_t *low_ns,
                             int64_t *high_ns) {
  nbc_time time;
  if (s->identity) {
    *low_ns = t_local_ns;
    *high_ns = t_local_ns + 1;
    return true;
  }
  if (nbc_relation_time(&s->relation, (uint64_t)t_local_ns, &time) != NBC_OK) return false;
  *low_ns = time.t_ns - time.err_ns;
  *high_ns = time.t_ns + time.err_ns;
  return true;
}

/* ---- mail: operations that survive a time-out ---------------------------------------------- */
/* A mail has memory of its own, since an operation that timed out may still be written to later:
   what cannot be cancelled waits among the orphans until the synchronisation is destroyed. */
NBC__PRIVATE nbc_status nbc__sync_post(nbc_sync *s, nbc__sync_mail **mail, int peer, uint64_t tag,
                                       uint64_t bytes) {
  nbc__sync_mail *m = (nbc__sync_mail *)NBC_MALLOC(sizeof *m);
  *mail = m;
  if (!m) return NBC_E_NOMEM;
  memset(m, 0, sizeof *m);
  const nbc_status status = nbc_irecv(s->t, &m->u, bytes, peer, s->desc.tag + tag, &m->op);
  if (status != NBC_OK) {
    NBC_FREE(m);
    *mail = NULL;
  }
  return status;
}

NBC__PRIVATE void nbc__sync_drop(nbc_sync *s, nbc__sync_mail *m) {
  if (!m) return;
  if (!m->op.finished && s->t->cancel) s->t->cancel(s->t->ctx, &m->op);
  for (int i = 0; i < 8 && !m->op.finished; i++) s->t->progress(s->t->ctx);
  if (m->op.finished) {
    NBC_FREE(m);
    return;
  }
  m->next = s->orphans;
  s->orphans = m;
}

/* ---- child's side -------------------------------------------------------------------------- */
/* Memory is bounded: when it is full every second burst goes, so that those left still reach back
   to the first one. A slope needs the long distance more than it needs many points. */
static void nbc__sync_keep_fit(nbc_sync *s, const nbc__sync_fit *fit) {
  if (s->fit_count == NBC__SYNC_FITS_MAX) {
    for (int i = 0; i < NBC__SYNC_FITS_MAX / 2; i++) /* of two neighbours the one less disturbed */
      s->fits[i] = s->fits[2 * i + (s->fits[2 * i + 1].width_ns < s->fits[2 * i].width_ns)];
    s->fit_count = NBC__SYNC_FITS_MAX / 2;
  }
  s->fits[s->fit_count++] = *fit;
}

/* No trip of this burst counts, or none since the clock stepped. */
static void nbc__sync_begin_burst(nbc_sync *s, nbc__sync_fit *fastest) {
  memset(fastest, 0, sizeof *fastest);
  fastest->rtt_ns = INT64_MAX;
  s->burst_low_ns = -INFINITY;
  s->burst_high_ns = INFINITY;
  s->burst_rate = s->guessed ? s->guess_rate : 0;
  s->t_burst_ns = nbc__sync_local_now(s);
}

/* One answered trip: two bounds for the relation, an offset for the published methods. */
static void nbc__sync_use(nbc_sync *s, const nbc__sync_pong *pong, int64_t t_sent_ns,
                          int64_t t_back_ns, nbc__sync_fit *best) {
  const int64_t rtt_ns = t_back_ns - t_sent_ns;
  if (rtt_ns < 0) {
    s->info.backward_count++;
    return;
  }
  s->info.trip_count++;
  if (s->info.rtt_min_ns == 0 || rtt_ns < s->info.rtt_min_ns)
    s->info.rtt_min_ns = rtt_ns > 0 ? rtt_ns : 1;
  /* The ping left before the parent read its clock, and the answer came after: so the time at the
     sending is at most the first reading, and the time at the return at least the second one.
     Nothing is assumed of the way there and back being alike. */
  const nbc_status there =
      nbc_relation_add_not_after(&s->relation, (uint64_t)t_sent_ns, pong->not_after_ns);
  const nbc_status back =
      nbc_relation_add_not_before(&s->relation, pong->not_before_ns, (uint64_t)t_back_ns);
  /* Bounds that contradict each other mean that a clock was set: what was known before it is about
     another clock. */
  if (there == NBC_E_CLOCK || back == NBC_E_CLOCK) nbc__sync_begin_burst(s, best), s->fit_count = 0;
  const int64_t reference_ns = pong->not_after_ns + (pong->not_before_ns - pong->not_after_ns) / 2;
  const int64_t t_middle_ns = t_sent_ns + rtt_ns / 2;
  /* Offsets are kept as differences to the first one: small numbers, which doubles hold to the
     ns. */
  if (s->fit_count == 0 && best->rtt_ns == INT64_MAX) s->fit_offset_ns = reference_ns - t_middle_ns;
  /* What a burst leaves open is kept for itself, at the rate assumed so far: between bursts drift
     is more than what one burst leaves. */
  const double sent_ns =
      s->burst_rate * (double)(t_sent_ns - s->t_burst_ns); /* drift since its begin */
  const double back_ns = s->burst_rate * (double)(t_back_ns - s->t_burst_ns);
  s->burst_high_ns =
      fmin(s->burst_high_ns, (double)(pong->not_after_ns - t_sent_ns - s->fit_offset_ns) - sent_ns);
  s->burst_low_ns =
      fmax(s->burst_low_ns, (double)(pong->not_before_ns - t_back_ns - s->fit_offset_ns) - back_ns);
  if (rtt_ns < best->rtt_ns) {
    best->rtt_ns = rtt_ns;
    best->t_local_ns = t_middle_ns;
    best->offset_ns = (double)(reference_ns - t_middle_ns - s->fit_offset_ns);
  }
}

/* One trip: sends until an answer comes; answers to earlier pings count too. (sent_ns keeps the
   last NBC__SYNC_OPEN departures: an answer that comes after its question was repeated is still a
   trip, a long one; only answers to questions older than these are thrown away.)
   The last trip of a burst is not measured by, unless it is the only one: its answer leaves a parent
   that goes away, all others leave one that waits for the next question. Where both share a core,
   the one that goes away frees it sooner: the fastest ways back would all be those, with no way
   there to match, and the middle would lie beside the truth by microseconds. */
static nbc_status nbc__sync_trip(nbc_sync *s, uint64_t what, nbc__sync_fit *best) {
  nbc__sync_mail *answer;
  nbc__sync_ping ping;
  int64_t retry_ns = s->desc.retry_ns;
  int tries = 0;
  const int64_t t_first_ns = nbc__sync_local_now(s);
  nbc_status status = nbc__sync_post(s, &answer, s->parent_rank, 1, sizeof(nbc__sync_pong));
  while (status == NBC_OK) {
    ping.sequence = ++s->sequence;
    ping.what = what;
    ping.burst = s->burst;
    ping.retry_ns = retry_ns;
    s->sent_ns[ping.sequence % NBC__SYNC_OPEN] = nbc__sync_local_now(s);
    status = nbc_send(s->t, &ping, sizeof ping, s->parent_rank, s->desc.tag);
    if (status != NBC_OK) break;
    status = nbc_wait(s->t, &answer->op, retry_ns > 0 ? retry_ns : s->desc.limit_ns);
    if (status == NBC_E_TIMEOUT && retry_ns > 0 &&
        nbc__sync_local_now(s) - t_first_ns < s->desc.limit_ns) {
      s->info.lost_count++;
      if (what == NBC__SYNC_LAST &&
          ++tries > 4) { /* only the farewell is lost: the parent will see */
        status = NBC_OK;
        break;
      }
      retry_ns *= 2; /* the parent may be busy with others: do not flood it */
      status = NBC_OK;
      continue;
    }
    if (status != NBC_OK) break;
    const int64_t t_back_ns = nbc__sync_local_now(s);
    const nbc__sync_pong *pong = &answer->u.pong;
    if (answer->op.size_bytes == sizeof *pong && pong->sequence <= s->sequence &&
        s->sequence - pong->sequence < NBC__SYNC_OPEN) {
      s->info.depth_count = (int)pong->depth_count + 1;
      if (what != NBC__SYNC_LAST || s->desc.trip_count == 1)
        nbc__sync_use(s, pong, s->sent_ns[pong->sequence % NBC__SYNC_OPEN], t_back_ns, best);
      break;
    }
    NBC_FREE(answer); /* an answer of long ago: wait for the next */
    status = nbc__sync_post(s, &answer, s->parent_rank, 1, sizeof(nbc__sync_pong));
  }
  nbc__sync_drop(s, answer);
  return status;
}

/* The method's line through the fits [SKaMPI: no slope; Jones and Koenig: regression; HCA3: its
   slope through the last burst's offset]. */
static void nbc__sync_line(nbc_sync *s) {
  double x_mean = 0, y_mean = 0, xx = 0, xy = 0;
  const int n = s->fit_count;
  if (n == 0) return;
  s->t_line_ns = s->fits[n - 1].t_local_ns;
  for (int i = 0; i < n; i++) {
    x_mean += (double)(s->fits[i].t_local_ns - s->t_line_ns) / n;
    y_mean += s->fits[i].offset_ns / n;
  }
  for (int i = 0; i < n; i++) {
    const double x = (double)(s->fits[i].t_local_ns - s->t_line_ns) - x_mean;
    xx += x * x;
    xy += x * (s->fits[i].offset_ns - y_mean);
  }
  const double slope = xx > 0 ? xy / xx : 0;
  s->line_rate = s->desc.method == NBC_SYNC_SKAMPI ? 0 : slope;
  s->line_ns = s->desc.method == NBC_SYNC_JK ? y_mean - slope * x_mean : s->fits[n - 1].between_ns;
}

/* How much a burst counts: what its offset may be wrong by is half of what its trips leave open
   beyond what the best of all bursts does, and a little for what that one does not show. */
static double nbc__sync_weight(const nbc__sync_fit *fit, double least_ns) {
  const double more_ns = 0.5 * (fit->width_ns - least_ns), floor_ns = least_ns / 32 + 1;
  return 1 / (more_ns * more_ns + floor_ns * floor_ns);
}

/* The slope through the offsets of some bursts by these weights: a weighted regression, b = sum w x
   y / sum w x^2 about the weighted means. *doubt: twice its standard error, squared, from what the
   slope leaves, and at least what the weights say: 4 max(1, rest / (m - 2)) / sum w x^2. Its m is
   the number of bursts that would weigh as much if all weighed alike, (sum w)^2 / sum w^2 (Kish's
   effective sample size). 0 without doubt for less than two. */
static double nbc__sync_slope(const nbc_sync *s, int first, int count, double *doubt) {
  const nbc__sync_fit *fits = s->fits + first;
  const int n = count;
  double least_ns = INFINITY, sum = 0, squares = 0, x_mean = 0, y_mean = 0, xx = 0, xy = 0,
         rest = 0;
  *doubt = 0;
  for (int i = 0; i < n; i++) least_ns = fmin(least_ns, fits[i].width_ns);
  for (int i = 0; i < n; i++) {
    const double weight = nbc__sync_weight(&fits[i], least_ns);
    sum += weight;
    squares += weight * weight;
    x_mean += weight * (double)(fits[i].t_local_ns - s->t_line_ns);
    y_mean += weight * fits[i].between_ns;
  }
  if (n < 2) return 0;
  x_mean /= sum, y_mean /= sum;
  for (int i = 0; i < n; i++) {
    const double weight = nbc__sync_weight(&fits[i], least_ns);
    const double x = (double)(fits[i].t_local_ns - s->t_line_ns) - x_mean;
    xx += weight * x * x;
    xy += weight * x * (fits[i].between_ns - y_mean);
  }
  if (!(xx > 0)) return 0;
  for (int i = 0; i < n; i++) {
    const double x = (double)(fits[i].t_local_ns - s->t_line_ns) - x_mean;
    const double y_ns = fits[i].between_ns - y_mean - xy / xx * x;
    rest += nbc__sync_weight(&fits[i], least_ns) * y_ns * y_ns;
  }
  const double bursts = sum * sum / squares; /* 1 ... n */
  *doubt = 4 * fmax(1, rest / fmax(bursts - 2, 0.1)) / xx;
  return xy / xx;
}

/* The probable rate, within what the polygon leaves, and the middle of the offsets that it leaves
   at that rate. While "no drift" is left, the slope is taken less its doubt (as James and Stein
   shrink a mean): what chance could have made is no drift. The polygon's own middle would make
   drift of the width of what is not known, and carry it on until the next burst. */
static void nbc__sync_guess(nbc_sync *s) {
  const nbc_relation *r = &s->relation;
  const double low = (r->rate_ppm - r->rate_err_ppm) * 1e-6,
               high = (r->rate_ppm + r->rate_err_ppm) * 1e-6;
  double low_ns = -INFINITY, high_ns = INFINITY, x_ns, doubt;
  s->guessed = s->fit_count > 0 && r->corner_count > 0;
  if (!s->guessed) return;
  double slope = nbc__sync_slope(s, 0, s->fit_count, &doubt);
  /* slope - doubt / slope: 1 - doubt / slope^2 is the factor, 0 where the slope is no more than its
     doubt. */
  if (low <= 0 && high >= 0) slope = doubt < slope * slope ? slope - doubt / slope : 0;
  s->guess_rate = fmax(low, fmin(high, slope));
  /* At the rate chosen, each corner of the polygon allows an interval of offsets; what all of them
     allow is left. */
  for (int i = 0; i < r->upper_count; i++)
    high_ns = fmin(high_ns, nbc__sync_bound_ns(r, &r->upper[i], 1, &x_ns) - s->guess_rate * x_ns);
  for (int i = 0; i < r->lower_count; i++)
    low_ns = fmax(low_ns, nbc__sync_bound_ns(r, &r->lower[i], -1, &x_ns) - s->guess_rate * x_ns);
  s->guess_ns = 0.5 * (low_ns + high_ns);
}

/* The rates of the first and of the second half of what was watched, how far apart they are and may
   be, by the time between them. */
static void nbc__sync_watch_wander(nbc_sync *s) {
  const int half = s->fit_count / 2;
  double doubt_a, doubt_b;
  s->info.wander_seen_ppm_per_s = INFINITY;
  if (half < 4) return;
  const double a = nbc__sync_slope(s, 0, half, &doubt_a),
               b = nbc__sync_slope(s, half, s->fit_count - half, &doubt_b);
  const double apart_s =
      0.5e-9 * (double)(s->fits[s->fit_count - 1].t_local_ns - s->fits[0].t_local_ns);
  if (apart_s > 0)
    s->info.wander_seen_ppm_per_s = 1e6 * (fabs(b - a) + sqrt(doubt_a + doubt_b)) / apart_s;
}

/* A burst has ended: what its trips leave, at the time of the fastest. Where the rate that was
   assumed meanwhile was wrong by more than they leave, the fastest alone. */
static void nbc__sync_end_burst(nbc_sync *s, nbc__sync_fit *fastest) {
  const double moved_ns = s->burst_rate * (double)(fastest->t_local_ns - s->t_burst_ns);
  fastest->width_ns = s->burst_high_ns - s->burst_low_ns;
  fastest->between_ns = 0.5 * (s->burst_low_ns + s->burst_high_ns) + moved_ns;
  if (!(fastest->width_ns >= 0)) {
    fastest->width_ns = (double)fastest->rtt_ns;
    fastest->between_ns = fastest->offset_ns;
  }
  nbc__sync_keep_fit(s, fastest);
  nbc__sync_watch_wander(s);
}

static nbc_status nbc__sync_ask(nbc_sync *s) {
  nbc_status status = NBC_OK;
  nbc__sync_fit fastest;
  nbc__sync_begin_burst(s, &fastest);
  for (int i = 0; i < s->desc.trip_count && status == NBC_OK; i++)
    status =
        nbc__sync_trip(s, i + 1 < s->desc.trip_count ? NBC__SYNC_ASK : NBC__SYNC_LAST, &fastest);
  if (fastest.rtt_ns < INT64_MAX) nbc__sync_end_burst(s, &fastest);
  nbc__sync_line(s);
  nbc__sync_guess(s);
  nbc_time time;
  if (fastest.rtt_ns < INT64_MAX &&
      nbc_relation_time(&s->relation, (uint64_t)fastest.t_local_ns, &time) == NBC_OK) {
    const double off_ns =
        (double)(time.t_ns - fastest.t_local_ns - s->fit_offset_ns) - fastest.offset_ns;
    s->info.residual_ns = (int64_t)fabs(off_ns);
  }
  return status;
}

/* ---- parent's side ------------------------------------------------------------------------- */
/* Answers one child until it says that this was the last. *heard: it asked at least once. The clock
   is read twice: as soon as the question is here (the child sent it no later than that) and just
   before the answer leaves (the child cannot have received it earlier). The parent's own error goes
   into both bounds, so the true global time stays inside the bounds all the way down the tree. */
static nbc_status nbc__sync_serve(nbc_sync *s, int child, bool *heard) {
  nbc__sync_mail *ask;
  nbc__sync_pong pong;
  nbc_status status = nbc__sync_post(s, &ask, child, 0, sizeof(nbc__sync_ping));
  int64_t patience_ns = s->desc.limit_ns;
  *heard = false;
  while (status == NBC_OK) {
    int64_t low_ns, high_ns, ignored_ns;
    status = nbc_wait(s->t, &ask->op, patience_ns);
    if (status != NBC_OK) break;
    const int64_t t_read_ns = nbc__sync_local_now(s);
    const nbc__sync_ping ping = ask->u.ping;
    if (ping.burst == s->burst) {
      *heard = true; /* from now on, silence means that its farewell got lost */
      if (ping.retry_ns > 0 && ping.retry_ns < s->desc.limit_ns / 64)
        patience_ns = 64 * ping.retry_ns;
    }
    NBC_FREE(ask);
    ask = NULL;
    /* Bursts are numbered alike at both ends: each end counts the same collective calls. */
    if (ping.burst > s->burst) return NBC_OK; /* its farewell got lost; it will repeat this one */
    if (ping.what == NBC__SYNC_SKIP && ping.burst == s->burst) return NBC_OK;
    /* a ping of an earlier burst deserves its answer, but ends nothing */
    const bool last = ping.what == NBC__SYNC_LAST && ping.burst == s->burst;
    if (!last) status = nbc__sync_post(s, &ask, child, 0, sizeof(nbc__sync_ping));
    if (status != NBC_OK) break;
    if (!nbc__sync_bounds(s, t_read_ns, &ignored_ns, &high_ns)) high_ns = NBC__SYNC_MAX_NS;
    pong.sequence = ping.sequence;
    pong.depth_count = (uint64_t)s->info.depth_count;
    pong.not_after_ns = high_ns;
    if (!nbc__sync_bounds(s, nbc__sync_local_now(s), &low_ns, &ignored_ns))
      low_ns = -NBC__SYNC_MAX_NS;
    pong.not_before_ns = low_ns;
    status = nbc_send(s->t, &pong, sizeof pong, child, s->desc.tag + 1);
    if (last) return status;
  }
  nbc__sync_drop(s, ask);
  return status == NBC_E_TIMEOUT && *heard ? NBC_OK : status;
}

/* ---- the tree ------------------------------------------------------------------------------ */
NBC__PRIVATE nbc_status nbc__sync_named(nbc_error *err, nbc_status status, int rank,
                                        const nbc_sync *s) {
  if (status == NBC_E_TIMEOUT)
    return nbc__status_fail(err, status, 0, "rank %d: rank %d did not answer within %.3g s",
                            s->t->rank, rank, (double)s->desc.limit_ns * 1e-9);
  return nbc__status_fail(err, status, 0, "rank %d: with rank %d: %s", s->t->rank, rank,
                          nbc_status_text(status));
}

/* Clears the lowest digit of rank that is not 0, in base arity: the parent. A k-nomial tree: a
   parent has a lower rank than its children, and serves the farthest one first. */
static int nbc__sync_tree_parent(int rank, int arity) {
  int weight = 1;
  while (rank / weight % arity == 0) weight *= arity;
  return rank - rank / weight % arity * weight;
}

/* Ranks of one clock pass the relation on among themselves, in a binomial tree over their
   indices. */
static nbc_status nbc__sync_copy_from(nbc_sync *s, nbc_error *err) {
  /* An index without its lowest 1: the parent in a binomial tree. */
  const int parent = s->group[s->group_index & (s->group_index - 1)];
  nbc__sync_mail *mail;
  nbc_status status = nbc__sync_post(s, &mail, parent, 2, sizeof mail->u.state);
  if (status == NBC_OK) status = nbc_wait(s->t, &mail->op, s->desc.limit_ns);
  if (status == NBC_OK && mail->op.size_bytes != sizeof mail->u.state) status = NBC_E_MISMATCH;
  if (status == NBC_OK) {
    const nbc__sync_state *state = &mail->u.state;
    s->relation = state->relation;
    s->line_ns = state->line_ns, s->line_rate = state->line_rate, s->t_line_ns = state->t_line_ns;
    s->guess_ns = state->guess_ns, s->guess_rate = state->guess_rate, s->guessed = state->guessed;
    s->fit_offset_ns = state->fit_offset_ns;
    s->fit_count = state->fit_count;
    s->info = state->info;
    s->info.copied = true;
    s->info.parent_rank = parent;
  }
  nbc__sync_drop(s, mail);
  return status == NBC_OK ? NBC_OK : nbc__sync_named(err, status, parent, s);
}

/* As copy_from, seen from above: the farthest child first, which has most below it. */
static nbc_status nbc__sync_copy_to(nbc_sync *s, nbc_error *err) {
  nbc__sync_state state;
  memset(&state, 0, sizeof state);
  state.relation = s->relation;
  state.info = s->info;
  state.line_ns = s->line_ns, state.line_rate = s->line_rate, state.t_line_ns = s->t_line_ns;
  state.guess_ns = s->guess_ns, state.guess_rate = s->guess_rate, state.guessed = s->guessed;
  state.fit_offset_ns = s->fit_offset_ns;
  state.fit_count = s->fit_count;
  const int lowest = s->group_index ? s->group_index & -s->group_index : s->group_count;
  int bit = 1;
  while (bit < lowest) bit *= 2;
  for (bit = s->group_index ? lowest / 2 : bit / 2; bit > 0; bit /= 2) {
    if (s->group_index + bit >= s->group_count) continue;
    const int child = s->group[s->group_index + bit];
    const nbc_status status = nbc_send(s->t, &state, sizeof state, child, s->desc.tag + 2);
    if (status != NBC_OK) return nbc__sync_named(err, status, child, s);
  }
  return NBC_OK;
}

/* Own relation first, then the children's; parents have lower ranks, so nobody waits in a
   circle. */
static nbc_status nbc__sync_burst(nbc_sync *s, nbc_error *err) {
  const int rank = s->t->rank, size = s->t->size, arity = s->desc.tree_arity;
  const int above = rank > 0 ? nbc__sync_tree_parent(rank, arity) : -1;
  nbc_status status = NBC_OK;
  bool heard;
  s->burst++;
  if (rank > 0 && s->leader) {
    s->parent_rank = s->info.parent_rank = above;
    status = nbc__sync_ask(s);
    if (status != NBC_OK) return nbc__sync_named(err, status, above, s);
  } else if (rank > 0 && !(s->t->same_clock && s->t->same_clock(s->t->ctx, above))) {
    const nbc__sync_ping skip = {0, NBC__SYNC_SKIP, s->burst, 0};
    for (int i = 0; i < (s->desc.retry_ns > 0 ? 8 : 1) && status == NBC_OK;
         i++) /* some may get lost */
      status = nbc_send(s->t, &skip, sizeof skip, above, s->desc.tag);
    if (status != NBC_OK) return nbc__sync_named(err, status, above, s);
  }
  if (!s->leader && !s->identity) status = nbc__sync_copy_from(s, err);
  if (status == NBC_OK && !s->identity) status = nbc__sync_copy_to(s, err);
  int weight = 1;
  while (weight < size && (rank == 0 || rank / weight % arity == 0)) weight *= arity;
  for (weight /= arity; weight > 0 && status == NBC_OK; weight /= arity)
    for (int digit = 1; digit < arity && status == NBC_OK; digit++) {
      if (digit > (size - 1 - rank) / weight) break;
      const int child = rank + digit * weight;
      if (s->t->same_clock && s->t->same_clock(s->t->ctx, child))
        continue; /* it has us or a lower one */
      status = nbc__sync_serve(s, child, &heard);
      if (status != NBC_OK) return nbc__sync_named(err, status, child, s);
    }
  return status;
}

/* Ranks that read one and the same clock: only the first of them measures. */
static nbc_status nbc__sync_find_group(nbc_sync *s) {
  const nbc_transport *t = s->t;
  int count = 0, room = 0;
  for (int peer = 0; peer < t->size; peer++) {
    if (peer != t->rank && !(t->same_clock && t->same_clock(t->ctx, peer))) continue;
    if (count == room) {
      int *larger = (int *)NBC_MALLOC((size_t)(room = 2 * room + 8) * sizeof *larger);
      if (!larger) return NBC_E_NOMEM;
      if (count > 0) memcpy(larger, s->group, (size_t)count * sizeof *larger);
      NBC_FREE(s->group);
      s->group = larger;
    }
    if (peer == t->rank) s->group_index = count;
    s->group[count++] = peer;
  }
  s->group_count = count;
  s->identity = s->group[0] == 0;
  s->leader = s->group[0] == t->rank;
  return NBC_OK;
}

static nbc_status nbc__sync_defaults(nbc_sync_desc *d) {
  if (d->rate_limit_ppm == 0) d->rate_limit_ppm = 400;
  if (d->wander_ppm_per_s == 0) d->wander_ppm_per_s = 1;
  if (d->wander_ppm_per_s < 0) d->wander_ppm_per_s = 0;
  if (d->trip_count == 0) d->trip_count = 64;
  if (d->tree_arity == 0) d->tree_arity = 2;
  if (d->history_count == 0) d->history_count = 16;
  if (d->limit_ns == 0) d->limit_ns = INT64_C(30000000000);
  const bool good = (int)d->method >= 0 && d->method < NBC_SYNC_METHOD_COUNT && d->trip_count > 0 &&
                    d->trip_count <= 1 << 20 && d->tree_arity >= 2 && d->tree_arity <= 64 &&
                    d->history_count > 1 && d->history_count <= 4096 && d->limit_ns > 0 &&
                    d->retry_ns >= 0;
  return good ? NBC_OK : NBC_E_INVAL;
}

NBC_API nbc_status nbc_sync_create(const nbc_transport *t, const nbc_sync_desc *desc,
                                   nbc_sync **sync, nbc_error *err) {
  if (!t || !sync) return nbc__status_fail(err, NBC_E_INVAL, 0, "transport or result is missing");
  *sync = NULL;
  nbc_sync *s = (nbc_sync *)NBC_MALLOC(sizeof *s);
  if (!s) return nbc__status_fail(err, NBC_E_NOMEM, 0, "out of memory");
  memset(s, 0, sizeof *s);
  s->t = t;
  if (desc) s->desc = *desc;
  s->info.parent_rank = -1;
  s->info.wander_seen_ppm_per_s = INFINITY;
  nbc_relation_desc relation = nbc_relation_crystal(1e9);
  nbc_status status = nbc__sync_defaults(&s->desc);
  relation.rate_limit_ppm = s->desc.rate_limit_ppm;
  relation.wander_ppm_per_s = s->desc.wander_ppm_per_s;
  if (status == NBC_OK) status = nbc_relation_init(&s->relation, &relation);
  if (status == NBC_OK) status = nbc__sync_find_group(s);
  if (status != NBC_OK)
    nbc__status_fail(err, status, 0, "rank %d: %s", t->rank, nbc_status_text(status));
  if (status == NBC_OK) status = nbc__sync_burst(s, err);
  if (status == NBC_OK)
    *sync = s;
  else
    nbc_sync_destroy(s);
  return status;
}

NBC_API nbc_status nbc_sync_update(nbc_sync *s, nbc_error *err) {
  if (!s) return nbc__status_fail(err, NBC_E_INVAL, 0, "sync: must not be NULL");
  if (!s->identity) { /* keep today's state for stamps taken until now */
    if (!s->history)
      s->history = (nbc_relation *)NBC_MALLOC((size_t)s->desc.history_count * sizeof *s->history);
    if (!s->history) return nbc__status_fail(err, NBC_E_NOMEM, 0, "out of memory");
    if (s->history_count == s->desc.history_count) {
      s->history_count = (s->history_count + 1) / 2;
      for (int i = 1; i < s->history_count; i++) s->history[i] = s->history[2 * i];
    }
    s->history[s->history_count++] = s->relation;
  }
  return nbc__sync_burst(s, err);
}

NBC_API void nbc_sync_destroy(nbc_sync *s) {
  if (!s) return;
  while (s->orphans) {
    nbc__sync_mail *m = s->orphans;
    s->orphans = m->next;
    NBC_FREE(m);
  }
  NBC_FREE(s->group);
  NBC_FREE(s->history);
  NBC_FREE(s);
}

/* ---- answers ------------------------------------------------------------------------------- */
NBC_API nbc_sync_desc nbc_sync_desc_of(const nbc_sync *s) {
  nbc_sync_desc none;
  memset(&none, 0, sizeof none);
  return s ? s->desc : none;
}
NBC_API const nbc_transport *nbc_sync_transport(const nbc_sync *s) {
  if (!s) return NULL;
  return s->t;
}

/* Moves t_ns to where the chosen method says; err_ns grows so that it still holds the truth. */
static void nbc__sync_place(const nbc_sync *s, int64_t t_local_ns, nbc_time *time) {
  if (s->desc.method == NBC_SYNC_MIDDLE || s->fit_count == 0) return;
  const double d_ns = s->line_ns + s->line_rate * (double)(t_local_ns - s->t_line_ns);
  if (!(fabs(d_ns) < 1e18)) return;
  const int64_t t_ns = t_local_ns + s->fit_offset_ns + (int64_t)floor(d_ns + 0.5);
  time->err_ns += t_ns > time->t_ns ? t_ns - time->t_ns : time->t_ns - t_ns;
  time->t_ns = t_ns;
}

NBC_API nbc_status nbc_sync_global(const nbc_sync *s, int64_t t_local_ns, nbc_time *global) {
  if (!s || !global) return NBC_E_INVAL;
  global->t_ns = t_local_ns;
  global->err_ns = 0;
  if (s->identity) return NBC_OK;
  const nbc_relation *before = NULL, *after = &s->relation;
  for (int i = s->history_count - 1; i >= 0;
       i--) { /* newest reading before, oldest after t_local_ns */
    const nbc_relation *old = &s->history[i];
    const uint64_t newest = old->newest_raw_ticks;
    if ((int64_t)((uint64_t)t_local_ns - newest) >= 0) {
      before = old;
      break;
    }
    after = old;
  }
  nbc_status status = NBC_E_MISMATCH;
  if (before) status = nbc_relation_time_between(before, after, (uint64_t)t_local_ns, global);
  if (status == NBC_E_MISMATCH ||
      status == NBC_E_STATE) /* a step between them, or no state before */
    status = nbc_relation_time(after, (uint64_t)t_local_ns, global);
  if (status == NBC_OK)
    nbc__sync_place(s, t_local_ns, global);
  else if (status != NBC_E_RANGE)
    global->err_ns = INT64_MAX;
  return status == NBC_OK ? NBC_OK : NBC_E_RANGE;
}

NBC_API nbc_status nbc_sync_global_if(const nbc_sync *s, double wander_ppm_per_s,
                                      int64_t t_local_ns, nbc_time *global) {
  if (!s || !global || !(wander_ppm_per_s >= 0 && wander_ppm_per_s <= 1e9)) return NBC_E_INVAL;
  global->t_ns = t_local_ns;
  global->err_ns = 0;
  if (s->identity) return NBC_OK;
  nbc_relation r = s->relation; /* points that the old limit left out exclude nothing: only wider */
  r.desc.wander_ppm_per_s = wander_ppm_per_s;
  if (r.upper_count + r.lower_count == 0) return NBC_E_RANGE;
  if (!nbc__sync_polygon(&r)) return NBC_E_MISMATCH;
  return nbc_relation_time(&r, (uint64_t)t_local_ns, global) == NBC_OK ? NBC_OK : NBC_E_RANGE;
}

NBC_API nbc_status nbc_sync_estimate(const nbc_sync *s, int64_t t_local_ns, int64_t *t_global_ns) {
  if (!s || !t_global_ns) return NBC_E_INVAL;
  nbc_time time;
  const nbc_status status = nbc_sync_global(s, t_local_ns, &time);
  *t_global_ns = time.t_ns;
  if (status != NBC_OK || s->identity || !s->guessed || s->desc.method != NBC_SYNC_MIDDLE)
    return status;
  const double x_ns = (double)(int64_t)((uint64_t)t_local_ns - s->relation.newest_raw_ticks);
  const double d_ns = x_ns + s->guess_ns + s->guess_rate * x_ns; /* since the newest reading */
  const int64_t t_ns = s->relation.newest_ns + (int64_t)floor(d_ns + 0.5);
  *t_global_ns = t_ns < time.t_ns - time.err_ns   ? time.t_ns - time.err_ns
                 : t_ns > time.t_ns + time.err_ns ? time.t_ns + time.err_ns
                                                  : t_ns;
  return status;
}

NBC_API nbc_status nbc_sync_local(const nbc_sync *s, int64_t t_global_ns, int64_t *t_local_ns) {
  if (!s || !t_local_ns) return NBC_E_INVAL;
  uint64_t ticks = (uint64_t)t_global_ns;
  if (!s->identity && nbc_relation_ticks(&s->relation, t_global_ns, &ticks) != NBC_OK)
    return NBC_E_RANGE;
  *t_local_ns = (int64_t)ticks;
  nbc_time time;
  for (int i = 0; i < 3 && !s->identity;
       i++) /* interpolation and method move it, by some 100 ppm */
    if (nbc_sync_global(s, *t_local_ns, &time) == NBC_OK) *t_local_ns += t_global_ns - time.t_ns;
  return NBC_OK;
}

NBC_API nbc_time nbc_sync_now(const nbc_sync *s) {
  nbc_time time;
  time.t_ns = 0, time.err_ns = INT64_MAX; /* nothing is known */
  if (s) nbc_sync_global(s, nbc__sync_local_now(s), &time);
  return time;
}

NBC_API nbc_sync_info nbc_sync_info_of(const nbc_sync *s) {
  nbc_sync_info info;
  memset(&info, 0, sizeof info);
  if (!s) return info;
  info = s->info;
  const int64_t t_local_ns = nbc__sync_local_now(s);
  nbc_sync_global(s, t_local_ns, &info.offset);
  info.offset.t_ns -= t_local_ns;
  if (s->identity) return info;
  info.rate_ppm = s->relation.rate_ppm;
  info.rate_err_ppm = s->relation.rate_err_ppm;
  info.step_count = s->relation.step_count;
  return info;
}
