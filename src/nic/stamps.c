/* When the kernel or the NIC saw a socket's packets; datagrams with their stamps. */
#include "stamps.h"
#include "options.h"
#include "status.h"
#include "maps.h"

/* ============================================================================================== */
/* [STAMPS] 6. When the kernel or the NIC saw a socket's packets                                  */
/* ============================================================================================== */
/* CLOCK_REALTIME against host time. Offset REALTIME - host lies in [lo, hi] when the host showed
   about t_host_ns. adjtimex may slew by 500 ppm and adjtime by 500 more; host time is not slewed. */
enum { NIC__SLEW_PPM = 1000 };

struct nic_stamping {
  int fd;
  ssize_t (*receive)(int fd, struct msghdr *m, int flags); /* recvmsg; tests replay messages here */
  nic_host host;
  nic__offset then; /* an anchor of the past, renewed at each conversion */
  nic_stamping_stats stats;
};

static int64_t nic__real_now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The narrowest of a few brackets: one may have been interrupted. */
NIC__PRIVATE nic__offset nic__offset_now(const nic_host *host, const nic_system *kernel,
                                         int clock_id) {
  nic__offset best;
  memset(&best, 0, sizeof best);
  for (int i = 0; i < 3; i++) {
    const int64_t a = nic_host_now_ns(host);
    const int64_t real_ns = kernel ? kernel->clock_ns(kernel->user, clock_id) : nic__real_now_ns();
    const int64_t b = nic_host_now_ns(host);
    if (i > 0 && b - a >= best.hi_ns - best.lo_ns) continue;
    best.t_host_ns = b;
    best.lo_ns = real_ns - b;
    best.hi_ns = real_ns - a;
  }
  return best;
}

/* At most so much slew in d_ns of host time; d_ns may itself be measured by REALTIME, hence the
 * - 1. */
static int64_t nic__slew_ns(int64_t d_ns) {
  return (d_ns < 0 ? -d_ns : d_ns) / (1000000 / NIC__SLEW_PPM - 1) + 1;
}

/* then, now: anchors before and after the stamp. Each alone bounds it, and both must agree. */
NIC__PRIVATE bool nic__real_to_host(const nic__offset *then, const nic__offset *now,
                                    int64_t real_ns, int64_t *before_ns, int64_t *after_ns) {
  const int64_t apart_ns = nic__slew_ns(now->t_host_ns - then->t_host_ns);
  if (now->lo_ns - apart_ns > then->hi_ns || now->hi_ns + apart_ns < then->lo_ns)
    return false; /* stepped */
  int64_t lo_ns = INT64_MIN, hi_ns = INT64_MAX;
  const nic__offset *const anchors[2] = {then, now};
  for (int i = 0; i < 2; i++) {
    const nic__offset *a = anchors[i];
    const int64_t far_ns = real_ns - a->lo_ns - a->t_host_ns,
                  near_ns = real_ns - a->hi_ns - a->t_host_ns;
    const int64_t slack_ns = nic__slew_ns(far_ns > -near_ns ? far_ns : near_ns);
    if (real_ns - a->hi_ns - slack_ns > lo_ns) lo_ns = real_ns - a->hi_ns - slack_ns;
    if (real_ns - a->lo_ns + slack_ns < hi_ns) hi_ns = real_ns - a->lo_ns + slack_ns;
  }
  if (lo_ns > hi_ns || lo_ns > now->t_host_ns) return false;
  *before_ns = lo_ns;
  *after_ns = hi_ns < now->t_host_ns ? hi_ns : now->t_host_ns; /* it is past */
  return true;
}

NIC_API bool nic_stamping_to_host(nic_stamping *stamping, int64_t t_real_ns, int64_t *t_before_ns,
                                  int64_t *t_after_ns) {
  if (!stamping || !t_before_ns || !t_after_ns) return false;
  const nic__offset now = nic__offset_now(&stamping->host, NULL, CLOCK_REALTIME);
  const bool ok = nic__real_to_host(&stamping->then, &now, t_real_ns, t_before_ns, t_after_ns);
  /* Keep the old anchor while it is fresh: stamps older than the last conversion may still come. */
  if (now.t_host_ns - stamping->then.t_host_ns > 10000000 || !ok) stamping->then = now;
  return ok;
}

NIC_API const char *nic_stamp_kind_name(nic_stamp_kind kind) {
  static const char *const names[] = {"none",     "scheduled", "sent",        "acked",
                                      "received", "nic-sent",  "nic-received"};
  return (unsigned)kind <= NIC_STAMP_NIC_RECEIVED ? names[kind] : "?";
}

#define NIC__TX_ASK                                                                                \
  ((uint32_t)(SOF_TIMESTAMPING_TX_SCHED | SOF_TIMESTAMPING_TX_SOFTWARE | SOF_TIMESTAMPING_TX_ACK))
#define NIC__OPT_TCP                                                                               \
  ((uint32_t)1 << 16) /* SOF_TIMESTAMPING_OPT_ID_TCP of newer headers: keys count from here */

NIC_API nic_status nic_stamping_open(int socket_fd, bool nic, const nic_host *host,
                                     nic_stamping **stamping, nic_error *err) {
  int type = 0;
  socklen_t type_bytes = sizeof type;
  if (!stamping) return nic__fail(err, NIC_E_INVAL, "stamping: must not be NULL");
  *stamping = NULL;
  if (getsockopt(socket_fd, SOL_SOCKET, SO_TYPE, &type, &type_bytes) != 0)
    return nic__fail(err, NIC_E_INVAL, "socket_fd %d: %s", socket_fd, strerror(errno));
  const bool is_tcp = type == SOCK_STREAM;
  uint32_t flags = SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_RX_SOFTWARE |
                   SOF_TIMESTAMPING_OPT_ID | SOF_TIMESTAMPING_OPT_TSONLY;
  if (nic)
    flags |=
        SOF_TIMESTAMPING_RAW_HARDWARE | SOF_TIMESTAMPING_RX_HARDWARE | SOF_TIMESTAMPING_OPT_TX_SWHW;
  uint32_t more = is_tcp ? flags | NIC__OPT_TCP : flags;
  if (setsockopt(socket_fd, SOL_SOCKET, SO_TIMESTAMPING, &more, sizeof more) != 0 &&
      setsockopt(socket_fd, SOL_SOCKET, SO_TIMESTAMPING, &flags, sizeof flags) != 0)
    return nic__fail(err, NIC_E_UNSUPPORTED, "SO_TIMESTAMPING: %s", strerror(errno));
  nic_stamping *s = (nic_stamping *)nic__zalloc(sizeof *s);
  if (!s) return nic__fail(err, NIC_E_NOMEM, "out of memory");
  s->fd = socket_fd;
  s->receive = recvmsg;
  if (host) s->host = *host;
  s->then = nic__offset_now(&s->host, NULL, CLOCK_REALTIME);
  s->stats.has_sent = s->stats.has_received = true;
  s->stats.has_nic = nic;
  *stamping = s;
  return NIC_OK;
}

NIC_API void nic_stamping_close(nic_stamping *stamping) { NIC_FREE(stamping); }
NIC_API nic_stamping_stats nic_stamping_stats_of(const nic_stamping *stamping) {
  nic_stamping_stats none;
  memset(&none, 0, sizeof none);
  return stamping ? stamping->stats : none;
}

/* asked: SOF_TIMESTAMPING_TX_… of the kernel; the NIC's comes on top. What is not needed should not be
   asked for: reports wait in the socket's receive buffer, and where that is full they are lost. */
static long nic__stamping_send(nic_stamping *stamping, const void *data, size_t size_bytes,
                               int flags, uint32_t asked, const void *to, size_t to_bytes) {
  union {
    struct cmsghdr align;
    char room[CMSG_SPACE(sizeof(uint32_t))];
  } control;
  struct iovec part = {(void *)(uintptr_t)data, size_bytes};
  struct msghdr m;
  const uint32_t ask =
      asked | (stamping->stats.has_nic ? (uint32_t)SOF_TIMESTAMPING_TX_HARDWARE : 0);
  memset(&control, 0, sizeof control);
  memset(&m, 0, sizeof m);
  m.msg_name = (void *)(uintptr_t)to;
  m.msg_namelen = (socklen_t)to_bytes;
  m.msg_iov = &part;
  m.msg_iovlen = 1;
  m.msg_control = control.room;
  m.msg_controllen = sizeof control.room;
  struct cmsghdr *c = CMSG_FIRSTHDR(&m);
  c->cmsg_level = SOL_SOCKET;
  c->cmsg_type = SO_TIMESTAMPING;
  c->cmsg_len = CMSG_LEN(sizeof ask);
  memcpy(CMSG_DATA(c), &ask, sizeof ask);
  return sendmsg(stamping->fd, &m, flags | MSG_DONTWAIT | MSG_NOSIGNAL);
}
NIC_API long nic_stamping_send(nic_stamping *stamping, const void *data, size_t size_bytes,
                               int flags) {
  if (!stamping || (!data && size_bytes)) return errno = EINVAL, -1;
  return nic__stamping_send(stamping, data, size_bytes, flags, NIC__TX_ASK, NULL, 0);
}

/* From the control messages of one recvmsg: kernel time, NIC time, what and which. */
typedef struct nic__seen {
  int64_t kernel_ns, nic_ns;
  uint32_t what, key;
  bool is_report; /* what and key are filled */
} nic__seen;

static nic__seen nic__seen_of(struct msghdr *m) {
  nic__seen seen;
  memset(&seen, 0, sizeof seen);
  const char *end = (const char *)m->msg_control + m->msg_controllen;
  for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
    if (c->cmsg_len > (size_t)(end - (const char *)c)) break;
    if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_TIMESTAMPING &&
        c->cmsg_len >= CMSG_LEN(3 * sizeof(struct timespec))) {
      struct timespec t[3];
      memcpy(t, CMSG_DATA(c), sizeof t);
      seen.kernel_ns = (int64_t)t[0].tv_sec * 1000000000 + t[0].tv_nsec;
      seen.nic_ns = (int64_t)t[2].tv_sec * 1000000000 + t[2].tv_nsec;
    } else if (((c->cmsg_level == SOL_IP && c->cmsg_type == IP_RECVERR) ||
                (c->cmsg_level == SOL_IPV6 && c->cmsg_type == IPV6_RECVERR)) &&
               c->cmsg_len >= CMSG_LEN(sizeof(struct sock_extended_err))) {
      struct sock_extended_err e;
      memcpy(&e, CMSG_DATA(c), sizeof e);
      seen.is_report = e.ee_origin == SO_EE_ORIGIN_TIMESTAMPING;
      seen.what = e.ee_info;
      seen.key = e.ee_data;
    }
  }
  return seen;
}

/* Fills a stamp; false when its time cannot be carried over. */
static bool nic__stamp_fill(nic_stamping *s, const nic__seen *seen, nic_stamp_kind kernel_kind,
                            nic_stamp_kind of_nic, nic_stamp *stamp) {
  memset(stamp, 0, sizeof *stamp);
  stamp->key_count = seen->key;
  stamp->t_real_ns = seen->kernel_ns;
  if (!seen->kernel_ns && !seen->nic_ns) return true; /* kind NONE */
  if (seen->kernel_ns) {
    if (nic_stamping_to_host(s, seen->kernel_ns, &stamp->t_before_ns, &stamp->t_after_ns))
      stamp->kind = kernel_kind;
    else
      s->stats.stepped_count++;
  }
  if (seen->nic_ns) {
    stamp->kind = of_nic;
    stamp->ticks = (uint64_t)seen->nic_ns;
  }
  if (stamp->kind == NIC_STAMP_NONE) return false;
  s->stats.taken_count++;
  return true;
}

NIC_API long nic_stamping_recv(nic_stamping *stamping, void *data, size_t size_bytes,
                               nic_stamp *stamp) {
  union {
    struct cmsghdr align;
    char room[256];
  } control;
  struct iovec part = {data, size_bytes};
  struct msghdr m;
  if (!stamping || (!data && size_bytes) || !stamp) return errno = EINVAL, -1;
  memset(&m, 0, sizeof m);
  m.msg_iov = &part;
  m.msg_iovlen = 1;
  m.msg_control = control.room;
  m.msg_controllen = sizeof control.room;
  memset(stamp, 0, sizeof *stamp);
  const long n = stamping->receive(stamping->fd, &m, MSG_DONTWAIT);
  if (n <= 0) return n;
  const nic__seen seen = nic__seen_of(&m);
  nic__stamp_fill(stamping, &seen, NIC_STAMP_RECEIVED, NIC_STAMP_NIC_RECEIVED, stamp);
  return n;
}

NIC_API nic_status nic_stamping_next(nic_stamping *stamping, nic_stamp *stamp, nic_error *err) {
  static const nic_stamp_kind kinds[3] = {NIC_STAMP_SENT, NIC_STAMP_SCHEDULED,
                                          NIC_STAMP_ACKED}; /* SCM_TSTAMP_SND, SCHED, ACK */
  if (!stamping || !stamp) return nic__fail(err, NIC_E_INVAL, "stamping, stamp: must not be NULL");
  for (;;) {
    union {
      struct cmsghdr align;
      char room[512];
    } control;
    struct msghdr m;
    memset(&m, 0, sizeof m);
    m.msg_control = control.room;
    m.msg_controllen = sizeof control.room;
    if (stamping->receive(stamping->fd, &m, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) {
      if (errno == EAGAIN || errno == EWOULDBLOCK) return NIC_E_NOT_FOUND;
      return nic__fail(err, NIC_E_SYSTEM, "error queue: %s", strerror(errno));
    }
    const nic__seen seen = nic__seen_of(&m);
    if (!seen.is_report || seen.what > 2) continue; /* a network error, reported by the next send */
    if (nic__stamp_fill(stamping, &seen, kinds[seen.what], NIC_STAMP_NIC_SENT, stamp) &&
        stamp->kind != NIC_STAMP_NONE)
      return NIC_OK;
  }
}

/* ---- datagrams --------------------------------------------------------------------------------
 */
struct nic_datagrams {
  nic_stamping *stamping;
  nic_datagrams_stats stats;
  size_t window;
  uint64_t first,
      last; /* first ... last - 1 wait; number = what the kernel counts, without its wrap */
  nic_datagram *ring;
};

NIC_API nic_status nic_datagrams_open(int socket_fd, bool nic, size_t window, const nic_host *host,
                                      nic_datagrams **datagrams, nic_error *err) {
  int type = 0;
  socklen_t type_bytes = sizeof type;
  if (!datagrams) return nic__fail(err, NIC_E_INVAL, "datagrams: must not be NULL");
  *datagrams = NULL;
  if (getsockopt(socket_fd, SOL_SOCKET, SO_TYPE, &type, &type_bytes) == 0 && type != SOCK_DGRAM)
    return nic__fail(err, NIC_E_INVAL, "socket_fd %d: no datagram socket", socket_fd);
  nic_datagrams *d = (nic_datagrams *)nic__zalloc(sizeof *d);
  if (!d) return nic__fail(err, NIC_E_NOMEM, "out of memory");
  d->window = window ? window : 64;
  d->ring = (nic_datagram *)nic__zalloc(d->window * sizeof *d->ring);
  const nic_status status = d->ring ? nic_stamping_open(socket_fd, nic, host, &d->stamping, err)
                                    : nic__fail(err, NIC_E_NOMEM, "out of memory");
  if (status == NIC_OK)
    *datagrams = d;
  else
    nic_datagrams_close(d);
  return status;
}
NIC_API void nic_datagrams_close(nic_datagrams *datagrams) {
  if (!datagrams) return;
  nic_stamping_close(datagrams->stamping);
  NIC_FREE(datagrams->ring);
  NIC_FREE(datagrams);
}
NIC_API nic_stamping *nic_datagrams_stamping(nic_datagrams *datagrams) {
  return datagrams ? datagrams->stamping : NULL;
}
NIC_API nic_datagrams_stats nic_datagrams_stats_of(const nic_datagrams *datagrams) {
  nic_datagrams_stats none;
  memset(&none, 0, sizeof none);
  return datagrams ? datagrams->stats : none;
}

NIC_API long nic_datagrams_send(nic_datagrams *datagrams, uint64_t id, const void *data,
                                size_t size_bytes, const void *to, size_t to_bytes) {
  nic_datagrams *d = datagrams;
  if (!datagrams || (!data && size_bytes)) return errno = EINVAL, -1;
  if (d->last - d->first == d->window) return errno = ENOBUFS, -1;
  nic_datagram *sent = &d->ring[d->last % d->window];
  memset(sent, 0, sizeof *sent);
  sent->id = id;
  sent->t_call_ns = nic_host_now_ns(&d->stamping->host);
  const long k = nic__stamping_send(
      d->stamping, data, size_bytes, 0,
      (uint32_t)(SOF_TIMESTAMPING_TX_SCHED | SOF_TIMESTAMPING_TX_SOFTWARE), to, to_bytes);
  sent->t_back_ns = nic_host_now_ns(&d->stamping->host);
  if (k < 0) {
    d->stats.failed_count++;
    return k;
  }
  sent->size_bytes = (size_t)k;
  d->stats.sent_count++;
  d->last++;
  return k;
}

static void nic__datagrams_match(nic_datagrams *d, const nic_stamp *s) {
  /* the kernel's number has 32 bits: nearest to the oldest that waits */
  const int32_t ahead = (int32_t)(s->key_count - (uint32_t)d->first);
  if (ahead < 0 || (uint64_t)ahead >= d->last - d->first) {
    d->stats.late_count++;
    return;
  }
  nic_datagram *g = &d->ring[(d->first + (uint64_t)ahead) % d->window];
  nic_stamp *place = s->kind == NIC_STAMP_SCHEDULED  ? &g->scheduled
                     : s->kind == NIC_STAMP_NIC_SENT ? &g->by_nic
                                                     : &g->sent;
  if (s->kind != NIC_STAMP_NIC_SENT && s->t_after_ns < g->t_call_ns)
    d->stats.refused_count++;
  else if (place->kind == NIC_STAMP_NONE)
    *place = *s; /* fragments are stamped one by one: the first is the begin */
}

NIC_API nic_status nic_datagrams_next(nic_datagrams *datagrams, int64_t patience_ns,
                                      nic_datagram *datagram, nic_error *err) {
  nic_datagrams *d = datagrams;
  nic_stamp s;
  nic_status status;
  if (!datagrams || !datagram)
    return nic__fail(err, NIC_E_INVAL, "datagrams, datagram: must not be NULL");
  while ((status = nic_stamping_next(d->stamping, &s, err)) == NIC_OK) nic__datagrams_match(d, &s);
  if (status != NIC_E_NOT_FOUND) return status;
  if (d->first == d->last) return NIC_E_NOT_FOUND;
  const nic_datagram *g = &d->ring[d->first % d->window];
  const int missing =
      !g->scheduled.kind + !g->sent.kind + (d->stamping->stats.has_nic && !g->by_nic.kind);
  if (missing && nic_host_now_ns(&d->stamping->host) - g->t_back_ns < patience_ns)
    return NIC_E_NOT_FOUND;
  d->stats.lost_count += (uint64_t)missing;
  *datagram = *g;
  d->first++;
  return NIC_OK;
}
