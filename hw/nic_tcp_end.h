/* nic_tcp_end.h: second half of nic_tcp.h's implementation, which includes it: the functions of the
   transport, progress and rest, what the peers have, beginning and end.
   Linux. Public domain or MIT-0, at your choice (end of file). */
#ifndef NIC_TCP_END_H_INCLUDED
#  define NIC_TCP_END_H_INCLUDED

/* ---- the transport's functions ----------------------------------------------------------------
 */
/* A message to this rank itself goes straight into the posted receive, or is an early one; one
   that is too long for that waits in the sender's buffer, as one to another rank is announced:
   the bound of memory holds for it too, and its send ends only with its receive. */
static nbc_status nic__tcp_send_self(nic__tcp *n, nic__tcp_peer *p, nbc_op *op) {
  const uint64_t size_bytes = op->slot.limit_bytes, cost_bytes = size_bytes + NIC__COST_BYTES;
  nbc_op *receive = nic__queue_match(&p->posted, op->slot.tag);
  if (receive) {
    nic__tcp_take_own(n, p, receive, op);
    return NBC_OK;
  }
  const bool fits = cost_bytes <= n->desc.max_early_bytes - p->early_bytes;
  nic__tcp_early *e = (nic__tcp_early *)NIC_MALLOC(sizeof *e + (fits ? (size_t)size_bytes : 0));
  if (!e) return NBC_E_NOMEM;
  memset(e, 0, sizeof *e);
  e->head.kind = fits ? NIC__TCP_DATA : NIC__TCP_ANNOUNCE;
  e->head.tag = op->slot.tag;
  e->head.size_bytes = size_bytes;
  e->data = (char *)(e + 1);
  nic__tcp_keep(p, e);
  if (!fits) {
    e->own = op;
    return NBC_OK;
  }
  if (size_bytes) memcpy(e->data, op->slot.buffer, (size_t)size_bytes);
  e->got_bytes = size_bytes;
  p->early_bytes += cost_bytes;
  n->stats.sent_count++;
  nic__tcp_finish(n, op, NBC_OK, size_bytes);
  return NBC_OK;
}

static nbc_status nic__tcp_isend(void *ctx, const void *buffer, uint64_t size_bytes, int peer,
                                 uint64_t tag, nbc_op *op) {
  nic__tcp *n = (nic__tcp *)ctx;
  nic__tcp_peer *p = &n->peers[peer];
  nic__request_begin(op, peer, buffer, size_bytes, tag);
  if (n->is_closed) return NBC_E_STATE;
  if (peer == n->t.rank) return nic__tcp_send_self(n, p, op);
  if (p->mute) return NBC_E_PEER;
  op->slot.kind = NIC__TCP_DATA;
  op->slot.order = ++p->sent_sequence;
  if (n->t.recorder) op->slot.xfer_id = ++n->next_id;
  if (op->slot.xfer_id && p->stamping)
    op->slot.kind |= p->same_host ? NIC__TCP_STAMPED | NIC__TCP_NOTED : NIC__TCP_STAMPED;
  nic__queue_push(&p->send, op);
  nic__tcp_flush(n, p);
  return NBC_OK;
}

static nbc_status nic__tcp_irecv(void *ctx, void *buffer, uint64_t size_bytes, int peer,
                                 uint64_t tag, nbc_op *op) {
  nic__tcp *n = (nic__tcp *)ctx;
  nic__tcp_peer *p = &n->peers[peer];
  nic__request_begin(op, peer, buffer, size_bytes, tag);
  /* Only a look at the stream tells whether this message begins after this call: then the call is a
     bound of its transfer; else only its end is. */
  nic__tcp_head announced;
  if (n->is_closed) return NBC_E_STATE;
  const bool is_remote = peer != n->t.rank,
             was_empty = is_remote && n->t.recorder && nic__tcp_pump(n, p);
  if (nic__tcp_take_early(n, p, op, &announced)) return NBC_OK;
  if (p->gone) return NBC_E_PEER;
  const bool header_cut = p->in_bytes > 0 && !p->in_bound;
  if (((was_empty && !header_cut) || announced.kind) && n->t.recorder) {
    op->slot.xfer_id = ++n->next_id;
    nbc_xfer_begin(n->t.recorder, op->slot.xfer_id, size_bytes, NBC_KIND_IRECV, nic__tcp_class(p));
  } else if (is_remote)
    nic__tcp_begun(n, p, op, size_bytes);
  if (announced.kind) {
    nic__tcp_grant(p, op, &announced);
    nic__tcp_flush(n, p);
  } else {
    nic__queue_push(&p->posted, op);
    n->skips_look = n->wait_count > 0 && n->spin_limit == 0 && !n->t.recorder;
  }
  return NBC_OK;
}

static nbc_status nic__tcp_cancel(void *ctx, nbc_op *op) {
  nic__tcp *n = (nic__tcp *)ctx;
  if (!nic__queue_remove(&n->peers[op->peer].posted, op)) return NBC_E_STATE;
  nic__tcp_forget(n, op->slot.xfer_id);
  nic__tcp_finish(n, op, NBC_E_CANCELLED, 0);
  return NBC_OK;
}

/* What nobody else carries to the peer: room that became free here. From a quarter on: each
   message tells it too, and a peer without room announces, so it never waits for this. */
static void nic__tcp_tell_credit(const nic__tcp *n, nic__tcp_peer *p) {
  if (p->consumed_bytes - p->told_bytes > n->desc.max_early_bytes / 4 && !p->is_shut)
    nic__tcp_say(p, &p->credit, NIC__TCP_CREDIT, 0);
}

/* Errors and hang-ups are looked at also where nothing can be read now. `stuck`: a header has
   come for which there is no memory, so nothing is read and the end of the stream is not met by
   reading; poll sees it. With one peer the read itself tells what poll would. */
static void nic__tcp_look(nic__tcp *n) {
  if (n->t.size == 2) { /* the one peer: reading says it all */
    nic__tcp_peer *p = &n->peers[1 - n->t.rank];
    if (!p->gone && p->fd >= 0 && !n->skips_look) nic__tcp_pump(n, p);
    n->skips_look = false;
  }
  for (int i = 0; i < n->t.size; i++) {
    const nic__tcp_peer *p = &n->peers[i];
    n->polls[i].fd = p->gone ? -1 : p->fd;
    n->polls[i].events = POLLIN | POLLRDHUP;
    n->polls[i].revents = 0;
  }
  if (n->t.size > 2 && poll(n->polls, (nfds_t)n->t.size, 0) <= 0) return;
  for (int i = 0; i < n->t.size; i++) {
    nic__tcp_peer *p = &n->peers[i];
    const bool stuck = p->in_bytes == sizeof p->in && !p->in_bound; /* no memory for what is next */
    if (n->t.size > 2 && (n->polls[i].revents & (POLLIN | POLLHUP | POLLRDHUP)))
      nic__tcp_pump(n, p);
    else if (n->t.size == 2 && stuck && n->polls[i].fd >= 0)
      poll(&n->polls[i], 1, 0);
    if (stuck && !p->gone && p->in_bytes == sizeof p->in && !p->in_bound &&
        (n->polls[i].revents & (POLLHUP | POLLRDHUP)))
      nic__tcp_drop_peer(n, p, false);
  }
}

static nbc_status nic__tcp_progress(void *ctx) {
  nic__tcp *n = (nic__tcp *)ctx;
  /* A send that is done is told at once: whoever waits for it does not pay for a look as well. */
  if (n->done.first && !n->t.recorder && n->told_count < NIC__TCP_TELL_MOST)
    n->told_count++;
  else {
    n->told_count = 0;
    nic__tcp_look(n);
  }
  for (int i = 0; i < n->t.size; i++) {
    nic__tcp_settle(n, &n->peers[i]);
    nic__tcp_tell_credit(n, &n->peers[i]);
    nic__tcp_flush(n, &n->peers[i]); /* notes too: nobody may come here again for a while */
  }
  nic__requests_tell(&n->done);
  return NBC_OK;
}

/* One peer, and the data of one message come: sleeps until all of them are there, for 1 ms at most
   (SO_RCVTIMEO), instead of waking up for each part. */
static void nic__tcp_rest_in_message(nic__tcp *n, nic__tcp_peer *p) {
  char rest[4096];
  size_t want_bytes = 0;
  if (p->in_got_bytes == p->in.size_bytes) return; /* the next look finishes it */
  char *place = nic__tcp_place(p, rest, sizeof rest, &want_bytes);
  const long k = recv(p->fd, place, want_bytes, MSG_WAITALL);
  if (k <= 0) {
    nic__tcp_hang_up(n, p, k);
    return;
  }
  p->in_got_bytes += (uint64_t)k;
  if (p->in_early) p->in_early->got_bytes += (uint64_t)k;
  n->event_count++;
}

/* Spins while that pays: what comes soon is met awake; where waits end late, or the peer shares
   this core, sleeping at once is faster. Every so often it tries again. Each wait that outlasts
   the limit halves it; the full limit comes back with every NIC__TCP_SPIN_AGAIN-th wait. Sleeps
   end after 1 ms in any case: other peers, and what the program does besides, are looked at. */
static void nic__tcp_rest_now(void *ctx) {
  nic__tcp *n = (nic__tcp *)ctx;
  if (n->event_count != n->rest_event_count) { /* the last wait is over */
    n->rest_event_count = n->event_count;
    n->rest_count = 0;
    if (++n->wait_count % NIC__TCP_SPIN_AGAIN == 0) n->spin_limit = NIC__TCP_SPIN_MOST;
  }
  if (n->rest_count++ < n->spin_limit) return;
  if (n->rest_count == n->spin_limit + 1) n->spin_limit /= 2;
  for (int i = 0; i < n->t.size; i++) {
    const nic__tcp_peer *p = &n->peers[i];
    n->polls[i].fd = p->gone ? -1 : p->fd;
    n->polls[i].events = (short)(POLLIN | POLLRDHUP | (p->send.first ? POLLOUT : 0));
  }
  if (n->done.first) return;
  nic__tcp_peer *only = n->t.size == 2 ? &n->peers[1 - n->t.rank] : NULL;
  if (!only || n->t.recorder || only->send.first || only->gone ||
      only->ahead_at < only->ahead_end || (only->in_bytes && !only->in_bound)) {
    poll(n->polls, (nfds_t)n->t.size, 1);
    return;
  }
  if (only->in_bytes) {
    nic__tcp_rest_in_message(n, only);
    return;
  }
  /* One peer, and nothing begun: sleeps in recv itself, up to the socket's SO_RCVTIMEO of 1 ms. */
  const long k = recv(only->fd, only->ahead, sizeof only->ahead, 0);
  only->ahead_at = 0;
  only->ahead_end = k > 0 ? (uint32_t)k : 0;
  only->ahead_is_all = k > 0 && (size_t)k < sizeof only->ahead;
  if (k > 0)
    n->event_count++;
  else
    nic__tcp_hang_up(n, only, k);
}

static nbc_peer nic__tcp_peer_class(void *ctx, int peer) {
  return nic__tcp_class(&((nic__tcp *)ctx)->peers[peer]);
}

/* ---- what the peers have ----------------------------------------------------------------------
 */
/* Bytes that the kernel has taken and the peer's kernel has not acknowledged. */
static uint64_t nic__tcp_unacked(const nic__tcp_peer *p) {
  int bytes = 0;
  return p->fd >= 0 && ioctl(p->fd, SIOCOUTQ, &bytes) == 0 && bytes > 0 ? (uint64_t)bytes : 0;
}
/* The kernel has given the connection up: what is not acknowledged never will be. */
static bool nic__tcp_is_dead(const nic__tcp_peer *p) {
  struct tcp_info info;
  socklen_t bytes = sizeof info;
  memset(&info, 0, sizeof info);
  return getsockopt(p->fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) == 0 &&
         info.tcpi_state == 7; /* TCP_CLOSE */
}
/* NBC_OK: the peer's kernel has all that was sent; NBC_PENDING; NBC_E_PEER: it never will.
   Unacknowledged bytes are read again behind the look at the state: the last acknowledgement and
   the end may come between. */
static nbc_status nic__tcp_all_acked(const nic__tcp_peer *p) {
  const uint64_t unacked_bytes = nic__tcp_unacked(p);
  if (!p->send.first && !unacked_bytes) return NBC_OK;
  return p->fd >= 0 && unacked_bytes && nic__tcp_is_dead(p) && nic__tcp_unacked(p) ? NBC_E_PEER
                                                                                   : NBC_PENDING;
}

/* Between two looks where nothing is to be done but to wait. */
static void nic__tcp_rest(int64_t waited_ns) {
  const struct timespec pause = {0, 50000};
  if (waited_ns < 200000)
    sched_yield();
  else
    nanosleep(&pause, NULL);
}

/* NULL: there is none, or it is a transport of another kind. */
static nic__tcp *nic__tcp_of(const nbc_transport *t) {
  return t && t->peer_class == nic__tcp_peer_class ? (nic__tcp *)t->ctx : NULL;
}
NIC_API nbc_status nic_tcp_drain(nbc_transport *t, int64_t limit_ns) {
  nic__tcp *n = nic__tcp_of(t);
  if (!n) return NBC_E_INVAL;
  for (const int64_t start_ns = nbc_clock_now_ns(&n->clock);;) {
    nbc_status status = NBC_OK;
    nic__tcp_progress(n);
    for (int i = 0; i < n->t.size && status != NBC_E_PEER; i++) {
      const nic__tcp_peer *p = &n->peers[i];
      const nbc_status acked = nic__tcp_all_acked(p);
      const bool settled =
          p->flight_first == p->flight_last && (p->gone || p->mute || !p->awaited_count);
      if (acked == NBC_E_PEER || (acked == NBC_OK && settled))
        status = acked == NBC_OK ? status : acked;
      else
        status = NBC_PENDING;
    }
    if (status != NBC_PENDING) return status;
    const int64_t waited_ns = nbc_clock_now_ns(&n->clock) - start_ns;
    if (waited_ns > limit_ns) return NBC_E_TIMEOUT;
    nic__tcp_rest(waited_ns);
  }
}

NIC_API nbc_status nic_tcp_confirm(nbc_transport *t, int64_t limit_ns) {
  nic__tcp *n = nic__tcp_of(t);
  if (!n) return NBC_E_INVAL;
  for (int i = 0; i < n->t.size; i++) {
    nic__tcp_peer *p = &n->peers[i];
    if (p->fd >= 0) nic__tcp_say(p, &p->ask, NIC__TCP_ASK, ++p->asked);
  }
  /* Questions are numbered: an answer to an earlier one, which ran into its limit, must not
     count. */
  for (const int64_t start_ns = nbc_clock_now_ns(&n->clock);;) {
    nbc_status status = NBC_OK;
    nic__tcp_progress(n);
    for (int i = 0; i < n->t.size && status != NBC_E_PEER; i++) {
      const nic__tcp_peer *p = &n->peers[i];
      if (p->fd < 0 || p->answered == p->asked) continue;
      status = p->gone || p->mute ? NBC_E_PEER : NBC_PENDING;
    }
    if (status != NBC_PENDING) return status;
    const int64_t waited_ns = nbc_clock_now_ns(&n->clock) - start_ns;
    if (waited_ns > limit_ns) return NBC_E_TIMEOUT;
    nic__tcp_rest(waited_ns);
  }
}
NIC_API nic_tcp_stats nic_tcp_stats_of(const nbc_transport *t) {
  nic_tcp_stats none;
  memset(&none, 0, sizeof none);
  const nic__tcp *n = nic__tcp_of(t);
  return n ? n->stats : none;
}

/* ---- beginning and end -----------------------------------------------------------------------
 */
/* A connection before its first byte: stamps count bytes from here on. */
static void *nic__tcp_opened(void *user, int fd) {
  const nic__tcp *n = (const nic__tcp *)user;
  nic_stamping *stamping = NULL;
  const struct timeval nap = {0, 1000};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &nap, sizeof nap); /* of nic__tcp_rest_now */
  nic__meet_watch(fd, n->desc.silence_limit_ns);
  if (n->desc.pace_bytes_per_s > 0) { /* older kernels pace only where the queue discipline does */
    const unsigned long rate = (unsigned long)n->desc.pace_bytes_per_s;
    setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, sizeof rate);
  }
  /* Without stamps the transport still works: transfers then count as unstamped. */
  if (!n->desc.no_stamps &&
      nic_stamping_open(fd, n->desc.clock_of_nic != NULL, &n->host, &stamping, NULL) != NIC_OK)
    stamping = NULL;
  return stamping;
}
static void nic__tcp_dropped(void *user, void *handle) {
  (void)user;
  nic_stamping_close((nic_stamping *)handle);
}

static bool nic__tcp_alloc(nic__tcp *n) {
  n->peers = (nic__tcp_peer *)nic__zalloc((size_t)n->t.size * sizeof *n->peers);
  n->polls = (struct pollfd *)nic__zalloc((size_t)n->t.size * sizeof *n->polls);
  bool ok = n->peers && n->polls;
  for (int i = 0; n->peers && i < n->t.size; i++) n->peers[i].fd = -1;
  for (int i = 0; ok && i < n->t.size; i++) {
    nic__tcp_peer *p = &n->peers[i];
    p->flights = (nic__tcp_flight *)nic__zalloc(NIC__TCP_RING * sizeof *p->flights);
    p->awaited = (nic__tcp_awaited *)nic__zalloc(NIC__TCP_RING * sizeof *p->awaited);
    ok = p->flights && p->awaited;
  }
  return ok;
}

static void nic__tcp_fill(nic__tcp *n) {
  n->t.name = "tcp";
  n->t.help = "streams between processes; true times from the kernel";
  n->t.ctx = n;
  n->t.now_ns = nic__tcp_now;
  n->t.isend = nic__tcp_isend;
  n->t.irecv = nic__tcp_irecv;
  n->t.progress = nic__tcp_progress;
  n->t.cancel = nic__tcp_cancel;
  n->t.peer_class = nic__tcp_peer_class;
  n->t.rest = nic__tcp_rest_now;
  n->host.now_ns = nic__tcp_host_now;
  n->host.user = &n->clock;
}

static nbc_status nic__tcp_meet(nic__tcp *n, nbc_error *err) {
  const nic_tcp_desc *d = &n->desc;
  nic_meet_desc m;
  nic_meet_peer *found = (nic_meet_peer *)nic__zalloc((size_t)n->t.size * sizeof *found);
  if (!found) return nic__nbc_fail(err, NBC_E_NOMEM, "out of memory");
  memset(&m, 0, sizeof m);
  m.rank = d->rank;
  m.size = d->size;
  m.addresses = d->addresses;
  m.sockets = d->sockets;
  m.token = d->token;
  m.job = d->job;
  m.open_to_all = d->open_to_all;
  m.limit_ns = d->connect_limit_ns;
  m.clock = &n->clock;
  m.opened = nic__tcp_opened;
  m.dropped = nic__tcp_dropped;
  m.user = n;
  nic__to_le64(m.mine, d->max_early_bytes);
  const nbc_status status = nic_meet(&m, found, err);
  for (int i = 0; i < n->t.size && status == NBC_OK; i++) {
    nic__tcp_peer *p = &n->peers[i];
    p->fd = found[i].fd;
    p->stamping = (nic_stamping *)found[i].handle;
    p->same_host = found[i].same_host;
    p->sent_bytes = found[i].sent_bytes;
    p->credit_bytes = nic__le64(found[i].theirs, 8);
    p->t_empty_ns = nbc_clock_now_ns(&n->clock);
  }
  NIC_FREE(found);
  return status;
}

NIC_API nbc_status nic_tcp_create(const nic_tcp_desc *desc, nbc_transport **t, nbc_error *err) {
  if (!t) return nic__nbc_fail(err, NBC_E_INVAL, "t: must not be NULL");
  *t = NULL;
  if (!desc || desc->size < 1 || desc->rank < 0 || desc->rank >= desc->size ||
      (!desc->addresses == !desc->sockets && desc->size > 1))
    return nic__nbc_fail(err, NBC_E_INVAL,
                         "rank, size, and either addresses or sockets: out of range or missing");
  nic__tcp *n = (nic__tcp *)nic__zalloc(sizeof *n);
  if (!n) return nic__nbc_fail(err, NBC_E_NOMEM, "out of memory");
  n->desc = *desc;
  if (!n->desc.max_early_bytes) n->desc.max_early_bytes = NIC__EARLY_BYTES;
  if (n->desc.max_early_bytes < NIC__LEAST_EARLY_BYTES)
    n->desc.max_early_bytes = NIC__LEAST_EARLY_BYTES;
  if (!n->desc.connect_limit_ns) n->desc.connect_limit_ns = 30000000000;
  if (!n->desc.close_limit_ns) n->desc.close_limit_ns = 10000000000;
  n->t.rank = desc->rank;
  n->t.size = desc->size;
  nic__tcp_fill(n);
  nbc_status status = NBC_OK;
  if (desc->clock)
    n->clock = *desc->clock;
  else if ((status = nbc_clock_create(NULL, &n->clock)) != NBC_OK)
    nic__nbc_fail(err, status, "clock: %s", n->clock.why);
  if (status == NBC_OK && !nic__tcp_alloc(n))
    status = nic__nbc_fail(err, NBC_E_NOMEM, "out of memory");
  if (desc->no_stamps) n->desc.clock_of_nic = NULL;
  if (status == NBC_OK && n->desc.clock_of_nic) status = nic__tcp_open_nic(n, err);
  if (status == NBC_OK && desc->size > 1) status = nic__tcp_meet(n, err);
  if (status == NBC_OK)
    *t = &n->t;
  else {
    n->is_closed = true;
    nic_tcp_destroy(&n->t);
  }
  return status;
}

/* One step of the end with one peer: says goodbye, half-closes, and waits for both acknowledgement and
   the other side's end. ret NBC_OK: both are there | NBC_PENDING | NBC_E_PEER: something is lost */
static nbc_status nic__tcp_part(nic__tcp_peer *p, bool *has_all) {
  *has_all = true;
  if (p->fd < 0) return NBC_OK;
  if (!p->own_bye) {
    if (p->mute && !p->reset && !p->is_cut) { /* the peer closed first, and still reads */
      const nic__tcp_head bye = {NIC__TCP_MAGIC, NIC__TCP_BYE,      0, 0,
                                 p->taken_count, p->consumed_bytes, 0, 0};
      if (send(p->fd, &bye, sizeof bye, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) p->reset = true;
    }
    nic__tcp_say(p, &p->bye, NIC__TCP_BYE, p->taken_count);
    p->own_bye = p->mute;
  }
  /* Behind the last of the queue: after a half-close nothing can be sent. */
  if (!p->is_shut && p->own_bye && !p->send.first) {
    shutdown(p->fd, SHUT_WR);
    p->is_shut = true;
  }
  const nbc_status acked = nic__tcp_all_acked(p);
  *has_all = acked == NBC_OK;
  if (acked == NBC_E_PEER) return acked;
  return acked == NBC_OK && p->gone ? NBC_OK : NBC_PENDING;
}

/* What is lost, or may be. The notes at the end are no messages: the sends of ours count. In the
   order of how much is known: bytes that are lost for certain, bytes that may be, messages that
   the peer's goodbye does not count, a peer that said none. */
static nbc_status nic__tcp_verdict(const nic__tcp *n, bool late, nbc_error *err) {
  for (int i = 0; i < n->t.size; i++) {
    const nic__tcp_peer *p = &n->peers[i];
    if (p->fd < 0) continue;
    const unsigned long long unacked = nic__tcp_unacked(p), sent = p->sent_count;
    if (unacked && (p->reset || nic__tcp_is_dead(p)))
      return nic__nbc_fail(err, NBC_E_PEER,
                           "rank %d is gone: %llu bytes of what was sent to it are lost", i,
                           unacked);
    if (unacked || p->send.first)
      return nic__nbc_fail(err, NBC_E_TIMEOUT,
                           "rank %d: %llu bytes not acknowledged within the limit, and dropped%s",
                           i, unacked, p->send.first ? ", besides what was not sent" : "");
    if (p->said_bye && p->bye_count < sent)
      return nic__nbc_fail(err, NBC_E_PEER,
                           "rank %d closed without receiving %llu of %llu messages", i,
                           sent - (unsigned long long)p->bye_count, sent);
    if (p->gone && !p->said_bye && sent)
      return nic__nbc_fail(err, NBC_E_PEER,
                           "rank %d ended without a word: which of %llu messages it received is "
                           "not known",
                           i, sent);
    if (late && !p->gone)
      return nic__nbc_fail(err, NBC_E_TIMEOUT,
                           "rank %d has all bytes, but did not close within the limit", i);
  }
  return NBC_OK;
}

/* ret as nic_tcp_close. patient: waits for the peers' end for as long as the limit says, not only for
   their acknowledgement. */
static nbc_status nic__tcp_close(nic__tcp *n, int64_t limit_ns, bool patient, nbc_error *err) {
  const int64_t start_ns = nbc_clock_now_ns(&n->clock);
  int64_t t_all_ns = 0;
  n->is_closed = true;
  for (;;) {
    bool over = true, all = true, has_all;
    nic__tcp_progress(n);
    for (int i = 0; i < n->t.size; i++) {
      if (nic__tcp_part(&n->peers[i], &has_all) == NBC_PENDING) over = false;
      all &= has_all;
    }
    const int64_t now_ns = nbc_clock_now_ns(&n->clock);
    if (all && !t_all_ns) t_all_ns = now_ns;
    if (over || (!patient && all && now_ns - t_all_ns > NIC__TCP_FIN_NS))
      return nic__tcp_verdict(n, false, err);
    if (now_ns - start_ns > limit_ns) return nic__tcp_verdict(n, true, err);
    nic__tcp_rest(now_ns - start_ns);
  }
}
NIC_API nbc_status nic_tcp_close(nbc_transport *t, int64_t limit_ns, nbc_error *err) {
  nic__tcp *n = nic__tcp_of(t);
  if (!n) return nic__nbc_fail(err, NBC_E_INVAL, "t: must be of nic_tcp_create");
  return nic__tcp_close(n, limit_ns, true, err);
}

static void nic__tcp_free_peer(nic__tcp_peer *p) {
  for (nbc_op *op = p->send.first, *next; op; op = next) {
    next = op->slot.next;
    if ((op->slot.kind & 0xff) == NIC__TCP_NOTE) NIC_FREE(op);
  }
  for (nic__tcp_early *e = p->early_first, *next; e; e = next) {
    next = e->next;
    NIC_FREE(e);
  }
  if (p->fd >= 0) close(p->fd);
  nic_stamping_close(p->stamping);
  NIC_FREE(p->flights);
  NIC_FREE(p->awaited);
  nic__places_free(&p->waiting);
}

NIC_API nbc_status nic_tcp_destroy(nbc_transport *t) {
  nic__tcp *n = nic__tcp_of(t);
  nbc_status status = NBC_OK;
  if (!n) return t ? NBC_E_INVAL : NBC_OK;
  if (n->peers && !n->is_closed) status = nic__tcp_close(n, n->desc.close_limit_ns, false, NULL);
  for (int i = 0; n->peers && i < n->t.size; i++) nic__tcp_free_peer(&n->peers[i]);
  if (n->has_nic_host) n->desc.clock_of_nic->host = n->nic_host_before;
  NIC_FREE(n->peers);
  NIC_FREE(n->polls);
  NIC_FREE(n);
  return status;
}
#endif /* NIC_TCP_END_H_INCLUDED */

/* ----------------------------------------------------------------------------------------------
   LICENCE: either public domain (unlicense.org: copy, modify, publish, use, compile, sell or
   distribute, for any purpose, by any means) or MIT No Attribution (MIT-0), whichever you choose;
   full text in LICENSE. The software is provided "as is", without warranty of any kind.
   ---------------------------------------------------------------------------------------------- */
