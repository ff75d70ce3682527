/* sockets.h: connected pairs of real sockets over the loopback interface. */
#ifndef SOCKETS_H_INCLUDED
#define SOCKETS_H_INCLUDED
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

/* pair[0] is the one that sends; false when this machine has no loopback */
static bool sockets_pair(int type, int pair[2]) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t at_bytes = sizeof at;
  const int on = 1, server = socket(AF_INET, type, 0);
  pair[0] = socket(AF_INET, type, 0);
  pair[1] = server;
  bool ok = bind(server, (struct sockaddr *)&at, sizeof at) == 0 &&
            getsockname(server, (struct sockaddr *)&at, &at_bytes) == 0 &&
            (type != SOCK_STREAM || listen(server, 1) == 0) &&
            connect(pair[0], (struct sockaddr *)&at, sizeof at) == 0;
  if (ok && type == SOCK_STREAM) {
    pair[1] = accept(server, NULL, NULL);
    ok = pair[1] >= 0;
    for (int i = 0; ok && i < 2; i++) setsockopt(pair[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    close(server);
  }
  if (!ok) close(pair[0]), close(pair[1]);
  return ok;
}
/* A child that is rank 1 of two, and each one's sockets[] for its transport; ret its pid, 0 in itself, -1 when this
   machine has no loopback. */
static inline pid_t fork_second_rank(int sockets[2]) {
  int pair[2];
  if (!sockets_pair(SOCK_STREAM, pair)) return -1;
  fflush(stdout);
  const pid_t pid = fork();
  const int me = pid == 0;
  close(pair[1 - me]);
  sockets[me] = -1;
  sockets[1 - me] = pair[me];
  return pid;
}
#endif
