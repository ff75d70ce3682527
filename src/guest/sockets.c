/* Sockets: calls that may have to wait do so in simulated time, as reads of pipes do (files.c). The host is asked
   only what it answers at once; limits that a program sets for a socket are simulated time. */
#include "guest.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* ret whether the host may be asked (again); false: the socket's time is over, errno is EAGAIN; or EINTR */
static bool has_come(int fd, short events) {
  const int option = events == POLLIN ? SO_RCVTIMEO : SO_SNDTIMEO;
  struct timeval t = {0, 0};
  socklen_t bytes = sizeof t;
  getsockopt(fd, SOL_SOCKET, option, &t, &bytes);
  const int64_t d_ns = (int64_t)t.tv_sec * 1000000000 + (int64_t)t.tv_usec * 1000;
  return guest_wait_for_file(fd, events, d_ns ? d_ns : -1);
}
static bool is_to_wait(int fd, int flags) {
  return !(flags & (MSG_DONTWAIT | MSG_ERRQUEUE)) && guest_may_wait(fd);
}
static bool is_stream(int fd) {
  int type = 0;
  socklen_t bytes = sizeof type;
  return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &bytes) == 0 && type == SOCK_STREAM;
}

/* ---- receiving -------------------------------------------------------------------------------------------- */
static ssize_t guest_recvfrom(int fd, void *to, size_t bytes, int flags, struct sockaddr *from,
                              socklen_t *from_bytes) {
  if (!is_to_wait(fd, flags)) return guest_looked(recvfrom(fd, to, bytes, flags, from, from_bytes));
  const bool wants_all = flags & MSG_WAITALL && !(flags & MSG_PEEK) && is_stream(fd);
  size_t sum = 0;
  do {
    const ssize_t n = has_come(fd, POLLIN)
                          ? recvfrom(fd, (char *)to + sum, bytes - sum,
                                     wants_all ? flags & ~MSG_WAITALL : flags, from, from_bytes)
                          : -1;
    if (n <= 0) return sum ? (ssize_t)sum : n;
    sum += (size_t)n;
  } while (wants_all && sum < bytes);
  return (ssize_t)sum;
}
static ssize_t guest_recv(int fd, void *to, size_t bytes, int flags) {
  return guest_recvfrom(fd, to, bytes, flags, NULL, NULL);
}
static ssize_t guest_recv_chk(int fd, void *to, size_t bytes, size_t room, int flags) {
  if (bytes > room) abort();
  return guest_recv(fd, to, bytes, flags);
}
static ssize_t guest_recvfrom_chk(int fd, void *to, size_t bytes, size_t room, int flags,
                                  struct sockaddr *from, socklen_t *from_bytes) {
  if (bytes > room) abort();
  return guest_recvfrom(fd, to, bytes, flags, from, from_bytes);
}
/* Descriptors and the like come with the first bytes, and end what is taken at once. */
static ssize_t guest_recvmsg(int fd, struct msghdr *m, int flags) {
  if (!is_to_wait(fd, flags)) return guest_looked(recvmsg(fd, m, flags));
  if (!has_come(fd, POLLIN)) return -1;
  const bool wants_all = flags & MSG_WAITALL && !(flags & MSG_PEEK) && is_stream(fd);
  ssize_t sum = recvmsg(fd, m, wants_all ? flags & ~MSG_WAITALL : flags), n = sum;
  if (!wants_all || sum <= 0 || m->msg_controllen) return sum;
  for (size_t i = 0; i < m->msg_iovlen; i++) {
    const struct iovec *piece = &m->msg_iov[i];
    if ((size_t)n >= piece->iov_len) { /* has come with the first bytes */
      n -= (ssize_t)piece->iov_len;
      continue;
    }
    const size_t rest = piece->iov_len - (size_t)n;
    const ssize_t more = guest_recv(fd, (char *)piece->iov_base + n, rest, flags);
    if (more > 0) sum += more;
    if (more < (ssize_t)rest) break; /* the end, or what the next call will say */
    n = 0;
  }
  return sum;
}
/* As the host's: the limit is looked at when a message has come, and what is left of it is written back. */
static int guest_recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags,
                          struct timespec *limit) {
  if (!is_to_wait(fd, flags)) return (int)guest_looked(recvmmsg(fd, messages, count, flags, limit));
  const int64_t t_end_ns =
      limit ? pm_now_ns() + (int64_t)limit->tv_sec * 1000000000 + limit->tv_nsec : INT64_MAX;
  int64_t left_ns = 1;
  unsigned i = 0;
  while (i < count && left_ns > 0) {
    const bool is_enough = flags & MSG_WAITFORONE && i > 0;
    const ssize_t n = guest_recvmsg(fd, &messages[i].msg_hdr,
                                    (flags & ~MSG_WAITFORONE) | (is_enough ? MSG_DONTWAIT : 0));
    if (n < 0) break;
    messages[i++].msg_len = (unsigned)n;
    if (limit) left_ns = t_end_ns - pm_now_ns();
  }
  if (limit && i) {
    if (left_ns < 0) left_ns = 0;
    limit->tv_sec = (time_t)(left_ns / 1000000000);
    limit->tv_nsec = (long)(left_ns % 1000000000);
  }
  return i || !count ? (int)i : -1;
}

/* ---- sending: a stream takes all, in as many parts as there is room for -------------------------------------- */
static ssize_t send_part(int fd, const struct msghdr *m, int flags) {
  for (;;) {
    const ssize_t n = sendmsg(fd, m, flags | MSG_DONTWAIT);
    if (n >= 0 || errno != EAGAIN) return n;
    pm_yield(); /* a datagram's socket may say that there is room where the receiver's has none */
    if (!has_come(fd, POLLOUT)) return -1;
  }
}
static ssize_t guest_sendmsg(int fd, const struct msghdr *m, int flags) {
  if (!is_to_wait(fd, flags)) return guest_looked(sendmsg(fd, m, flags));
  ssize_t n = send_part(fd, m, flags), sum = n;
  if (n < 0 || !is_stream(fd)) return n;
  for (size_t i = 0; i < m->msg_iovlen; i++) {
    struct iovec rest = m->msg_iov[i];
    if ((size_t)n >= rest.iov_len) { /* has gone with what came before */
      n -= (ssize_t)rest.iov_len;
      continue;
    }
    for (; (size_t)n < rest.iov_len; sum += n) {
      rest.iov_base = (char *)rest.iov_base + n;
      rest.iov_len -= (size_t)n;
      n = send_part(fd, &(struct msghdr){.msg_iov = &rest, .msg_iovlen = 1}, flags);
      if (n < 0) return sum;
    }
    n = 0;
  }
  return sum;
}
static ssize_t guest_sendto(int fd, const void *from, size_t bytes, int flags,
                            const struct sockaddr *to, socklen_t to_bytes) {
  struct iovec all = {(void *)(uintptr_t)from, bytes};
  return guest_sendmsg(fd,
                       &(struct msghdr){.msg_name = (void *)(uintptr_t)to,
                                        .msg_namelen = to_bytes,
                                        .msg_iov = &all,
                                        .msg_iovlen = 1},
                       flags);
}
static ssize_t guest_send(int fd, const void *from, size_t bytes, int flags) {
  return guest_sendto(fd, from, bytes, flags, NULL, 0);
}
static int guest_sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags) {
  unsigned i = 0;
  for (; i < count; i++) {
    const ssize_t n = guest_sendmsg(fd, &messages[i].msg_hdr, flags);
    if (n < 0) break;
    messages[i].msg_len = (unsigned)n;
  }
  return i || !count ? (int)i : -1;
}
ssize_t guest_socket_write(int fd, const struct iovec *pieces, int count) {
  const struct msghdr m = {.msg_iov = (struct iovec *)(uintptr_t)pieces,
                           .msg_iovlen = (size_t)count};
  return guest_sendmsg(fd, &m, 0);
}

/* ---- connections -------------------------------------------------------------------------------------------- */
static int guest_accept4(int fd, struct sockaddr *from, socklen_t *from_bytes, int flags) {
  if (is_to_wait(fd, 0) && !has_come(fd, POLLIN)) return -1;
  return guest_descriptor_opened((int)guest_looked(accept4(fd, from, from_bytes, flags)));
}
static int guest_accept(int fd, struct sockaddr *from, socklen_t *from_bytes) {
  return guest_accept4(fd, from, from_bytes, 0);
}
/* The host begins it; who listens may have no room yet (EAGAIN), or answer later (EINPROGRESS). */
static int guest_connect(int fd, const struct sockaddr *to, socklen_t to_bytes) {
  if (!is_to_wait(fd, 0)) return connect(fd, to, to_bytes);
  const int flags = fcntl(fd, F_GETFL);
  int code, error_number;
  for (;;) {
    fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    code = connect(fd, to, to_bytes);
    error_number = errno;
    fcntl(fd, F_SETFL, flags);
    if (!code || error_number != EAGAIN) break;
    pm_yield();
  }
  if (code && error_number == EINPROGRESS) {
    socklen_t bytes = sizeof error_number;
    if (!has_come(fd, POLLOUT)) return errno = errno == EINTR ? EINTR : EINPROGRESS, -1;
    code = getsockopt(fd, SOL_SOCKET, SO_ERROR, &error_number, &bytes) || error_number ? -1 : 0;
  }
  errno = error_number;
  return code;
}

__attribute__((constructor)) static void add(void) {
  GUEST_REPLACE("recv", guest_recv);
  GUEST_REPLACE("recvfrom", guest_recvfrom);
  GUEST_REPLACE("recvmsg", guest_recvmsg);
  GUEST_REPLACE("recvmmsg", guest_recvmmsg);
  GUEST_REPLACE("__recv_chk", guest_recv_chk);
  GUEST_REPLACE("__recvfrom_chk", guest_recvfrom_chk);
  GUEST_REPLACE("send", guest_send);
  GUEST_REPLACE("sendto", guest_sendto);
  GUEST_REPLACE("sendmsg", guest_sendmsg);
  GUEST_REPLACE("sendmmsg", guest_sendmmsg);
  GUEST_REPLACE("accept", guest_accept);
  GUEST_REPLACE("accept4", guest_accept4);
  GUEST_REPLACE("connect", guest_connect);
}
