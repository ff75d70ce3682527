/* Kernel stamps of real sockets over loopback: matched by key, in causal order, inside the times
   that we took ourselves; carried over from CLOCK_REALTIME as intervals that contain the truth. */
#define NIC_HW_IMPLEMENTATION
#include "hw/nic_hw.h"
#include "tests/test.h"
#include "tests/hw/sockets.h"
#include <poll.h>

enum { SENDS = 40 };
typedef struct sent {
  uint32_t key_count;
  int64_t t_before_ns, t_after_ns;
  nic_stamp stamp[NIC_STAMP_ACKED + 1];
} sent;

/* Takes stamps until `wanted` are there or nothing came for 5 s. */
static int collect(nic_stamping *s, int fd, sent *sends, int wanted) {
  int got = 0;
  nic_stamp stamp;
  nic_error error;
  while (got < wanted) {
    struct pollfd p = {.fd = fd};
    if (nic_stamping_next(s, &stamp, &error) != NIC_OK) {
      if (poll(&p, 1, 5000) <= 0) return got;
      continue;
    }
    got++;
    CHECK(stamp.kind >= NIC_STAMP_SCHEDULED && stamp.kind <= NIC_STAMP_ACKED &&
          stamp.t_before_ns <= stamp.t_after_ns);
    for (int i = 0; i < SENDS; i++)
      if (sends[i].key_count == stamp.key_count) sends[i].stamp[stamp.kind] = stamp;
  }
  return got;
}

static void check_order(const sent *s, bool acked) {
  const nic_stamp *sched = &s->stamp[NIC_STAMP_SCHEDULED], *out = &s->stamp[NIC_STAMP_SENT],
                  *ack = &s->stamp[NIC_STAMP_ACKED];
  CHECK(sched->kind && out->kind && (!acked || ack->kind)); /* none was lost */
  CHECK(s->t_before_ns <= sched->t_after_ns);               /* not before we asked */
  CHECK(sched->t_before_ns <= out->t_after_ns);
  CHECK(!acked || out->t_before_ns <= ack->t_after_ns);
  CHECK(!acked || ack->t_before_ns <= nic_host_now_ns(NULL));
}

static void datagrams(void) {
  int fd[2];
  nic_stamping *tx, *rx;
  nic_error error;
  static sent sends[SENDS];
  static char huge[70000];
  char data[64] = {0};
  if (!sockets_pair(SOCK_DGRAM, fd)) SKIP("no loopback interface");
  CHECK(nic_stamping_open(fd[0], false, NULL, &tx, &error) == NIC_OK &&
        nic_stamping_open(fd[1], false, NULL, &rx, &error) == NIC_OK);
  int received = 0;
  for (uint32_t i = 0; i < SENDS; i++) {
    nic_stamp arrival;
    CHECK(nic_stamping_send(tx, huge, sizeof huge, 0) == -1 &&
          errno == EMSGSIZE); /* fails: must not shift the keys */
    sends[i].key_count = i;
    sends[i].t_before_ns = nic_host_now_ns(NULL);
    CHECK(nic_stamping_send(tx, data, sizeof data, 0) == sizeof data);
    sends[i].t_after_ns = nic_host_now_ns(NULL);
    struct pollfd p = {.fd = fd[1], .events = POLLIN};
    CHECK(poll(&p, 1, 5000) == 1 &&
          nic_stamping_recv(rx, data, sizeof data, &arrival) == sizeof data);
    if (arrival.kind == NIC_STAMP_NONE)
      continue; /* the kernel switches arrival stamps on a little later */
    received++;
    CHECK(arrival.kind == NIC_STAMP_RECEIVED && arrival.t_before_ns <= arrival.t_after_ns);
    CHECK(arrival.t_after_ns >= sends[i].t_before_ns &&
          arrival.t_before_ns <= nic_host_now_ns(NULL));
    sends[i].stamp[NIC_STAMP_NONE] = arrival;
  }
  CHECK(collect(tx, fd[0], sends, 2 * SENDS) == 2 * SENDS);
  for (int i = 0; i < SENDS; i++) {
    check_order(&sends[i], false);
    const nic_stamp *arrival = &sends[i].stamp[NIC_STAMP_NONE];
    if (arrival->kind) CHECK(sends[i].stamp[NIC_STAMP_SENT].t_before_ns <= arrival->t_after_ns);
  }
  CHECK(nic_stamping_stats_of(tx).taken_count == 2 * SENDS &&
        nic_stamping_stats_of(tx).stepped_count == 0);
  CHECK(nic_stamping_next(tx, &sends[0].stamp[1], &error) == NIC_E_NOT_FOUND);
  printf("  %d of %d arrivals stamped\n", received, SENDS);
  nic_stamping_close(tx);
  nic_stamping_close(rx);
  close(fd[0]);
  close(fd[1]);
}

static void streams(void) {
  int fd[2];
  nic_stamping *tx, *rx;
  nic_error error;
  static sent sends[SENDS];
  static char data[3000], back[3000];
  uint32_t bytes = 0;
  if (!sockets_pair(SOCK_STREAM, fd)) SKIP("no loopback interface");
  CHECK(nic_stamping_open(fd[0], false, NULL, &tx, &error) == NIC_OK &&
        nic_stamping_open(fd[1], false, NULL, &rx, &error) == NIC_OK);
  for (int i = 0; i < SENDS; i++) {
    const size_t size = 1 + test_below(sizeof data);
    sends[i].t_before_ns = nic_host_now_ns(NULL);
    CHECK(nic_stamping_send(tx, data, size, MSG_EOR) == (long)size);
    sends[i].key_count = (bytes += (uint32_t)size) - 1;
    for (size_t got = 0; got < size;) {
      nic_stamp arrival;
      struct pollfd p = {.fd = fd[1], .events = POLLIN};
      if (poll(&p, 1, 5000) != 1) break;
      const long n = nic_stamping_recv(rx, back, size - got, &arrival);
      CHECK(n > 0);
      if (n <= 0) break;
      got += (size_t)n;
      CHECK(!arrival.kind || (arrival.t_after_ns >= sends[i].t_before_ns &&
                              arrival.t_before_ns <= nic_host_now_ns(NULL)));
    }
  }
  CHECK(collect(tx, fd[0], sends, 3 * SENDS) == 3 * SENDS);
  for (int i = 0; i < SENDS; i++) check_order(&sends[i], true);
  nic_stamping_close(tx);
  nic_stamping_close(rx);
  close(fd[0]);
  close(fd[1]);
}

/* Datagrams in bursts, some of which fail: each keeps its own stamps; what is taken too early, or was
   lost, is counted; a stamp from before its send is refused. */
static void datagrams_are_matched(void) {
  enum { BURST = 16, ROUNDS = 20 };
  int fd[2];
  nic_datagrams *d;
  nic_datagram g;
  nic_error error;
  static char huge[70000];
  uint64_t id = 1000, next = 1000;
  if (!sockets_pair(SOCK_DGRAM, fd)) SKIP("no loopback interface");
  CHECK(nic_datagrams_open(fd[0], false, BURST, NULL, &d, &error) == NIC_OK);
  CHECK(nic_datagrams_next(d, 0, &g, &error) == NIC_E_NOT_FOUND);
  for (int round = 0; round < ROUNDS; round++) {
    for (int i = 0; i < BURST; i++) {
      if (test_below(3) == 0)
        CHECK(nic_datagrams_send(d, 1, huge, sizeof huge, NULL, 0) == -1 && errno == EMSGSIZE);
      CHECK(nic_datagrams_send(d, id++, huge, 1 + (size_t)i, NULL, 0) == 1 + i);
    }
    CHECK(nic_datagrams_send(d, 1, huge, 1, NULL, 0) == -1 && errno == ENOBUFS);
    for (int i = 0; i < BURST; i++) {
      nic_status status;
      while ((status = nic_datagrams_next(d, 5000000000, &g, &error)) == NIC_E_NOT_FOUND)
        poll(NULL, 0, 1);
      CHECK(status == NIC_OK && g.id == next++ && g.size_bytes == 1 + (size_t)i);
      CHECK(g.scheduled.kind == NIC_STAMP_SCHEDULED && g.sent.kind == NIC_STAMP_SENT &&
            g.by_nic.kind == NIC_STAMP_NONE);
      CHECK(g.t_call_ns <= g.scheduled.t_after_ns && g.scheduled.t_before_ns <= g.sent.t_after_ns);
      CHECK(g.sent.t_before_ns <= nic_host_now_ns(NULL) && g.t_call_ns <= g.t_back_ns);
    }
  }
  nic_datagrams_stats s = nic_datagrams_stats_of(d);
  CHECK(s.sent_count == BURST * ROUNDS && s.lost_count == 0 && s.refused_count == 0 &&
        s.late_count == 0);
  /* numbers shifted by one, as if a failed send had been counted: the first report is too late, the
     last datagram has none */
  d->first++, d->last++;
  for (int i = 0; i < BURST; i++) CHECK(nic_datagrams_send(d, id++, huge, 1, NULL, 0) == 1);
  for (int i = 0; i < BURST; i++)
    while (nic_datagrams_next(d, 20000000, &g, &error) == NIC_E_NOT_FOUND) poll(NULL, 0, 1);
  s = nic_datagrams_stats_of(d);
  CHECK(s.lost_count >= 2 && s.late_count >= 2 && s.refused_count == 0);
  /* the other way each would get the report of the one before: a time before its own send */
  d->first -= 2, d->last -= 2;
  for (int i = 0; i < BURST; i++) {
    CHECK(nic_datagrams_send(d, id++, huge, 1, NULL, 0) == 1);
    poll(NULL, 0, 2);
  }
  for (int i = 0; i < BURST; i++)
    while (nic_datagrams_next(d, 20000000, &g, &error) == NIC_E_NOT_FOUND) poll(NULL, 0, 1);
  CHECK(nic_datagrams_stats_of(d).refused_count > 0);
  nic_datagrams_close(d);
  close(fd[0]);
  close(fd[1]);
  CHECK(sockets_pair(SOCK_STREAM, fd) &&
        nic_datagrams_open(fd[0], false, 0, NULL, &d, &error) == NIC_E_INVAL && d == NULL);
  close(fd[0]);
  close(fd[1]);
}

/* Control messages as an igb's driver causes them, byte by byte through the same parser: a report by
   the NIC; an arrival stamped by both; a report about an ICMP error; one cut off. */
static const struct msghdr *replayed;
static ssize_t replay(int fd, struct msghdr *m, int flags) {
  (void)fd, (void)flags;
  if (!replayed) return errno = EAGAIN, -1;
  m->msg_controllen = replayed->msg_controllen;
  memcpy(m->msg_control, replayed->msg_control, replayed->msg_controllen);
  replayed = NULL;
  return 1;
}
static size_t put_control(char *at, int level, int type, const void *data, size_t data_bytes) {
  const struct cmsghdr c = {
      .cmsg_len = CMSG_LEN(data_bytes), .cmsg_level = level, .cmsg_type = type};
  memcpy(at, &c, sizeof c);
  memcpy(at + CMSG_LEN(0), data, data_bytes);
  return CMSG_SPACE(data_bytes);
}
static void control_messages_are_parsed(void) {
  int fd[2];
  nic_stamping *s;
  nic_stamp stamp;
  nic_error error;
  union {
    struct cmsghdr align;
    char bytes[256];
  } control;
  struct timespec now, t[3] = {{0, 0}, {0, 0}, {1700000000, 123456789}};
  struct sock_extended_err e = {
      .ee_errno = ENOMSG, .ee_origin = SO_EE_ORIGIN_TIMESTAMPING, .ee_data = 4711};
  struct msghdr m = {.msg_control = control.bytes};
  char byte;
  if (!sockets_pair(SOCK_DGRAM, fd)) SKIP("no loopback interface");
  CHECK(nic_stamping_open(fd[0], true, NULL, &s, &error) == NIC_OK);
  s->receive = replay;
  memset(&control, 0, sizeof control);
  size_t used = put_control(control.bytes, SOL_SOCKET, SO_TIMESTAMPING, t, sizeof t);
  const size_t stamp_bytes = used;
  used += put_control(control.bytes + used, SOL_IP, IP_RECVERR, &e, sizeof e);
  m.msg_controllen = used;
  replayed = &m;
  CHECK(nic_stamping_next(s, &stamp, &error) == NIC_OK && stamp.kind == NIC_STAMP_NIC_SENT);
  CHECK(stamp.key_count == 4711 && stamp.ticks == 1700000000123456789u && stamp.t_after_ns == 0);
  CHECK(nic_stamping_next(s, &stamp, &error) == NIC_E_NOT_FOUND);
  e.ee_origin = SO_EE_ORIGIN_ICMP; /* no stamp, whatever stands next to it */
  put_control(control.bytes + stamp_bytes, SOL_IP, IP_RECVERR, &e, sizeof e);
  replayed = &m;
  CHECK(nic_stamping_next(s, &stamp, &error) == NIC_E_NOT_FOUND);
  m.msg_controllen = stamp_bytes - 8; /* cut off: its length says more than there is */
  replayed = &m;
  CHECK(nic_stamping_recv(s, &byte, 1, &stamp) == 1 && stamp.kind == NIC_STAMP_NONE);
  m.msg_controllen = stamp_bytes;
  clock_gettime(CLOCK_REALTIME, &now);
  t[0] = now;
  put_control(control.bytes, SOL_SOCKET, SO_TIMESTAMPING, t, sizeof t);
  replayed = &m;
  const int64_t before_ns = nic_host_now_ns(NULL);
  CHECK(nic_stamping_recv(s, &byte, 1, &stamp) == 1 && stamp.kind == NIC_STAMP_NIC_RECEIVED);
  CHECK(stamp.ticks == 1700000000123456789u && stamp.t_before_ns <= before_ns &&
        stamp.t_after_ns >= before_ns - 1000000000);
  nic_stamping_close(s);
  close(fd[0]);
  close(fd[1]);
}

static void not_a_socket(void) {
  nic_stamping *s;
  nic_error error;
  CHECK(nic_stamping_open(-1, false, NULL, &s, &error) == NIC_E_INVAL && s == NULL);
  CHECK(nic_stamping_open(0, false, NULL, NULL, &error) == NIC_E_INVAL);
}

/* REALTIME slewed at random by up to 1000 ppm against host time: the interval holds the truth. */
static void slewed_clocks_are_enclosed(void) {
  for (int run = 0; run < 20000; run++) {
    const int64_t base_ns = 1700000000000000000, t0 = 1000000000 + (int64_t)test_below(1000000000);
    const int64_t d1 = (int64_t)test_below(20000000),
                  d2 = (int64_t)test_below(20000000); /* then .. stamp .. now */
    const int64_t s1 = (int64_t)test_below((uint64_t)(2 * d1 / 1000 + 1)) - d1 / 1000,
                  s2 = (int64_t)test_below((uint64_t)(2 * d2 / 1000 + 1)) - d2 / 1000;
    const int64_t w1 = (int64_t)test_below(200), w2 = (int64_t)test_below(200),
                  u1 = (int64_t)test_below((uint64_t)w1 + 1),
                  u2 = (int64_t)test_below((uint64_t)w2 + 1);
    const nic__offset then = {t0, base_ns - u1, base_ns - u1 + w1};
    const nic__offset now = {t0 + d1 + d2, base_ns + s1 + s2 - u2, base_ns + s1 + s2 - u2 + w2};
    int64_t before, after;
    CHECK(nic__real_to_host(&then, &now, base_ns + s1 + t0 + d1, &before, &after));
    CHECK(before <= t0 + d1 && t0 + d1 <= after);
  }
}
static void a_stepped_clock_is_seen(void) {
  const nic__offset then = {1000000000, 5000000000, 5000000100};
  nic__offset now = {1010000000, 5000000000, 5000000100};
  int64_t before, after;
  CHECK(nic__real_to_host(&then, &now, 6005000000, &before, &after) && before <= 1005000000 &&
        after >= 1005000000 && after - before < 40000);
  CHECK(!nic__real_to_host(&then, &now, 6100000000, &before, &after)); /* ahead of now */
  now.lo_ns += 1000000, now.hi_ns += 1000000; /* 1 ms within 10 ms is no slew */
  CHECK(!nic__real_to_host(&then, &now, 6005000000, &before, &after));
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(datagrams);
  RUN(streams);
  RUN(datagrams_are_matched);
  RUN(control_messages_are_parsed);
  RUN(not_a_socket);
  RUN(slewed_clocks_are_enclosed);
  RUN(a_stepped_clock_is_seen);
  return TEST_END();
}
