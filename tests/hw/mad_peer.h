/* mad_peer.h: a thread that is rank 1 of 2, knows the job's secrets, and then writes what it likes. */
#ifndef MAD_PEER_H_INCLUDED
#define MAD_PEER_H_INCLUDED
#include "tests/hw/sockets.h"
#include <pthread.h>

typedef struct mad_peer {
  int fd;               /* connected to rank 0, by nic_tcp_create or still before its hello */
  uint64_t early_bytes; /* what it says it keeps for early messages */
  bool met;             /* the meeting succeeded */
  void (*run)(struct mad_peer *m); /* after the meeting; then the connection is closed */
  void *user;
  pthread_t thread;
} mad_peer;

static void *mad_main(void *arg) {
  mad_peer *m = (mad_peer *)arg;
  const int sockets[2] = {m->fd, -1};
  nic_meet_desc desc;
  nic_meet_peer found[2];
  memset(&desc, 0, sizeof desc);
  desc.rank = 1;
  desc.size = 2;
  desc.sockets = sockets;
  desc.limit_ns = 20000000000;
  for (int i = 0; i < 8; i++) desc.mine[i] = (uint8_t)(m->early_bytes >> 8 * i);
  m->met = nic_meet(&desc, found, NULL) == NBC_OK;
  if (!m->met) return NULL;
  m->run(m);
  close(m->fd);
  return NULL;
}

/* Rank 0's end of the connection goes into sockets[1]; false: no loopback. */
static bool mad_start(mad_peer *m, int sockets[2], void (*run)(mad_peer *m)) {
  int pair[2];
  if (!sockets_pair(SOCK_STREAM, pair)) return false;
  m->fd = pair[1];
  m->run = run;
  sockets[0] = -1;
  sockets[1] = pair[0];
  return pthread_create(&m->thread, NULL, mad_main, m) == 0;
}

static nic__tcp_head mad_head(uint32_t kind, uint64_t tag, uint64_t size_bytes, uint64_t sequence) {
  const nic__tcp_head head = {NIC__TCP_MAGIC, kind, tag, size_bytes, sequence, 0, 0, 0};
  return head;
}
#endif
