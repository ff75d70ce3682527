/* What goes through TCP sockets of the process is seen, and through how many; what they may hold is what the kernel says. */
#include "tests/test.h"
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tools/xfer_table_sockets.h"

enum { BYTES = 1 << 20 };
static void connected(int *a, int *b) {
  struct sockaddr_in at;
  socklen_t size = sizeof at;
  memset(&at, 0, sizeof at);
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int listens = socket(AF_INET, SOCK_STREAM, 0);
  CHECK(listens >= 0 && bind(listens, (struct sockaddr *)&at, sizeof at) == 0 && listen(listens, 1) == 0);
  CHECK(getsockname(listens, (struct sockaddr *)&at, &size) == 0);
  *a = socket(AF_INET, SOCK_STREAM, 0);
  CHECK(connect(*a, (struct sockaddr *)&at, sizeof at) == 0);
  *b = accept(listens, NULL, NULL);
  CHECK(*b >= 0);
  close(listens);
}
static void move(int from, int to, size_t bytes) {
  static char data[4096];
  for (size_t done = 0; done < bytes; done += sizeof data) {
    CHECK(write(from, data, sizeof data) == (ssize_t)sizeof data);
    for (ssize_t n, got = 0; got < (ssize_t)sizeof data; got += n)
      if ((n = read(to, data, sizeof data)) <= 0) {
        CHECK(!"all comes");
        return;
      }
  }
}
static void what_tcp_moves_is_seen(void) {
  uint64_t before, moved;
  int a, b, c, d, carriers, ends[2];
  connected(&a, &b);
  connected(&c, &d);
  if (!tcp_moved(&before, &carriers)) {
    CHECK(carriers == 4);
    return;
  }
  CHECK(carriers == 0);
  move(a, b, BYTES);
  move(c, d, 4096); /* no more than messages of setting up */
  CHECK(tcp_moved(&moved, &carriers));
  CHECK(moved - before >= 2 * BYTES - 65536 && moved - before <= 2 * (BYTES + 4096)); /* the last may not be acknowledged yet */
  CHECK(carriers == 2);
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  move(ends[0], ends[1], BYTES);
  CHECK(tcp_moved(&moved, &carriers) && moved - before <= 2 * (BYTES + 4096) && carriers == 2); /* another kind of sockets */
  CHECK(dup2(a, 0) == 0); /* as of a service; one more, and the folder's own entries are none */
  CHECK(tcp_moved(&moved, &carriers) && carriers == 3);
  close(a), close(b), close(c), close(d), close(ends[0]), close(ends[1]), close(0);
}
static void what_sockets_may_hold_is_what_the_kernel_says(void) {
  long long sent = 0, received = 0;
  FILE *in = fopen("/proc/sys/net/ipv4/tcp_wmem", "r");
  if (!in || fscanf(in, "%*d %*d %lld", &sent) != 1) return; /* hidden: not known */
  fclose(in);
  in = fopen("/proc/sys/net/ipv4/tcp_rmem", "r");
  if (!in || fscanf(in, "%*d %*d %lld", &received) != 1) return;
  fclose(in);
  CHECK(tcp_most_bytes() >= sent + received && tcp_most_bytes() < INT64_MAX);
}
int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(what_tcp_moves_is_seen);
  RUN(what_sockets_may_hold_is_what_the_kernel_says);
  return TEST_END();
}
