/* The micro-benchmark of fit_nic over TCP: puts are messages that the other side acknowledges when it has them, gets
   are asked for. One side serves, the other measures. */
#ifndef FIT_NIC_H_INCLUDED
#define FIT_NIC_H_INCLUDED
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TCP_POSTS = 16 }; /* requests of a batch, as bench_rma */
typedef struct tcp_request {
  uint64_t bytes;
  uint32_t gets, unused; /* gets: 1, or a put */
} tcp_request;

static int tcp_fail(const char *what) {
  fprintf(stderr, "fit_nic: %s: %s\n", what, strerror(errno));
  return 2;
}
/* more: what comes next goes with it. */
static bool tcp_send(int fd, const void *data, size_t bytes, bool more) {
  for (const char *at = (const char *)data; bytes > 0;) {
    const ssize_t n = send(fd, at, bytes, MSG_NOSIGNAL | (more ? MSG_MORE : 0));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n, bytes -= (size_t)n;
  }
  return true;
}
static bool tcp_recv(int fd, void *data, size_t bytes) {
  for (char *at = (char *)data; bytes > 0;) {
    const ssize_t n = recv(fd, at, bytes, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = ECONNRESET;
    if (n <= 0) return false;
    at += n, bytes -= (size_t)n;
  }
  return true;
}
/* Answers until the other side has closed. memory: of as many bytes as a request may name. */
static bool tcp_answer(int fd, char *memory, uint64_t most) {
  static const char done = 1;
  tcp_request request;
  while (tcp_recv(fd, &request, sizeof request)) {
    if (request.bytes > most) return errno = EMSGSIZE, false;
    if (request.gets
            ? !tcp_send(fd, memory, (size_t)request.bytes, false)
            : !tcp_recv(fd, memory, (size_t)request.bytes) || !tcp_send(fd, &done, 1, false))
      return false;
  }
  return errno == ECONNRESET;
}
static void tcp_at_once(int fd) {
  const int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}
/* A socket that listens, at a port of 127.0.0.1 that is free, or at this port of all addresses. */
static int tcp_listen(uint16_t *port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
  struct sockaddr_in at;
  socklen_t length = sizeof at;
  memset(&at, 0, sizeof at);
  at.sin_family = AF_INET, at.sin_port = htons(*port);
  at.sin_addr.s_addr = htonl(*port ? INADDR_ANY : INADDR_LOOPBACK);
  if (fd < 0) return -1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (bind(fd, (struct sockaddr *)&at, sizeof at) || listen(fd, 1) ||
      getsockname(fd, (struct sockaddr *)&at, &length))
    return close(fd), -1;
  *port = ntohs(at.sin_port);
  return fd;
}
static int tcp_connect(const char *host, const char *port) {
  const struct addrinfo want = {.ai_socktype = SOCK_STREAM};
  struct addrinfo *found = NULL;
  int fd = -1;
  errno = EHOSTUNREACH;
  if (getaddrinfo(host, port, &want, &found)) return -1;
  for (const struct addrinfo *a = found; a && fd < 0; a = a->ai_next) {
    fd = socket(a->ai_family, a->ai_socktype, a->ai_protocol);
    if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen)) close(fd), fd = -1;
  }
  freeaddrinfo(found);
  return fd;
}
static double tcp_now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
/* count requests, then their answers: seconds; negative: the connection is gone. Answers of gets are taken from the
   first on while others wait, so that neither side's buffers can fill up for good. */
static double tcp_batch(int fd, bool is_get, uint64_t bytes, int count, char *memory) {
  const tcp_request request = {bytes, is_get, 0};
  char done[TCP_POSTS];
  const double t_s = tcp_now_s();
  for (int i = 0; i < count; i++)
    if (!tcp_send(fd, &request, sizeof request, !is_get) ||
        (!is_get && !tcp_send(fd, memory, (size_t)bytes, false)))
      return -1;
  if (!is_get && !tcp_recv(fd, done, (size_t)count)) return -1;
  for (int i = 0; i < count && is_get; i++)
    if (!tcp_recv(fd, memory, (size_t)bytes)) return -1;
  return tcp_now_s() - t_s;
}
/* The lines of bench_rma: full is one request until its answer, post what one more of a batch takes. */
static bool tcp_measure(int fd, uint64_t most, char *memory, FILE *out) {
  enum { LEAST = 9, SAMPLES = 200 };
  fprintf(out, "# bytes seconds routine, over TCP\n");
  for (uint64_t bytes = 1; bytes <= most; bytes *= 2)
    for (int k = 0; k < 2; k++) {
      const bool is_get = k > 0;
      const double begin_s = tcp_now_s();
      for (int i = 0; i < LEAST || (i < SAMPLES && tcp_now_s() < begin_s + 0.1); i++) {
        const double one_s = tcp_batch(fd, is_get, bytes, 1, memory),
                     all_s = tcp_batch(fd, is_get, bytes, TCP_POSTS, memory);
        if (one_s < 0 || all_s < 0) return false;
        fprintf(out, "%llu %.9e %s_nbi full\n%llu %.9e %s_nbi post\n", (unsigned long long)bytes,
                one_s, is_get ? "get" : "put", (unsigned long long)bytes,
                (all_s - one_s) / (TCP_POSTS - 1), is_get ? "get" : "put");
      }
    }
  return true;
}
/* Serves one run; a port that is NULL: of a child on this host. */
static int tcp_serve(int listening, uint64_t most) {
  char *memory = (char *)calloc(1, (size_t)most);
  const int fd = memory ? accept(listening, NULL, NULL) : -1;
  if (fd < 0) return free(memory), tcp_fail("--tcp-serve");
  tcp_at_once(fd);
  const bool good = tcp_answer(fd, memory, most);
  close(fd), free(memory);
  return good ? 0 : tcp_fail("--tcp-serve");
}
#endif
