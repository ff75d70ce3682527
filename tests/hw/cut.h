/* cut.h: a relay between two streams that cuts them at a given byte. */
#ifndef CUT_H_INCLUDED
#define CUT_H_INCLUDED
#include "tests/hw/sockets.h"
#include <poll.h>
#include <pthread.h>

/* The connection ends with a reset instead of a good end. */
static void cut_hard(int fd) {
  const struct linger hard = {1, 0};
  setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
}

/* Both ranks talk through a relay, which lets so many bytes of one direction through and then resets
   both sides. */
typedef struct cut {
  int a, b;        /* towards rank 0 and rank 1 */
  long left_bytes; /* of the direction 1 to 0 */
  pthread_t thread;
} cut;
static void *cut_main(void *arg) {
  cut *r = (cut *)arg;
  char data[4096];
  bool is_over = r->left_bytes == 0;
  while (!is_over) {
    struct pollfd p[2] = {{r->a, POLLIN, 0}, {r->b, POLLIN, 0}};
    if (poll(p, 2, 20000) <= 0) break;
    if (p[1].revents) {
      const size_t want = r->left_bytes < (long)sizeof data ? (size_t)r->left_bytes : sizeof data;
      const ssize_t k = recv(r->b, data, want, 0);
      if (k <= 0 || send(r->a, data, (size_t)k, MSG_NOSIGNAL) != k) break;
      r->left_bytes -= k;
      is_over = r->left_bytes == 0;
    }
    if (p[0].revents) {
      const ssize_t k = recv(r->a, data, sizeof data, 0);
      if (k < 0) break;
      if (k == 0) { /* an end in good order goes on */
        shutdown(r->b, SHUT_WR);
        for (ssize_t n; (n = recv(r->b, data, sizeof data, 0)) > 0 &&
                        send(r->a, data, (size_t)n, MSG_NOSIGNAL) == n;) {
        }
        break;
      }
      if (send(r->b, data, (size_t)k, MSG_NOSIGNAL) != k) break;
    }
  }
  if (is_over) cut_hard(r->a), cut_hard(r->b);
  close(r->a);
  close(r->b);
  return NULL;
}

/* Two streams, each from a rank to the relay: ends are the ranks' ends. false: no loopback */
static bool cut_start(cut *r, long left_bytes, int ends[2]) {
  int left[2], right[2];
  if (!sockets_pair(SOCK_STREAM, left) || !sockets_pair(SOCK_STREAM, right)) return false;
  r->a = left[1];
  r->b = right[1];
  r->left_bytes = left_bytes;
  ends[0] = left[0];
  ends[1] = right[0];
  return pthread_create(&r->thread, NULL, cut_main, r) == 0;
}
#endif
