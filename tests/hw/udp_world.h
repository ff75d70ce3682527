/* udp_world.h: two ranks as threads of this process, each with a UDP transport over loopback, through a
   relay that treats their datagrams badly if asked to. */
#ifndef UDP_WORLD_H_INCLUDED
#define UDP_WORLD_H_INCLUDED
#include "tests/hw/pattern.h"
#include "tests/hw/sockets.h"
#include <pthread.h>

#define LIMIT_NS 60000000000

typedef struct rank {
  nic_udp_desc desc;
  nbc_transport *t;
  nbc_monitor *monitor; /* NULL: no recorder */
  nbc_report *report;
  nic_udp_stats stats;
  nbc_status created, closed;
  nbc_error error;
  void (*run)(struct rank *r);
  void *user;
  int sockets[2];
  uint16_t via[2];
  pthread_t thread;
} rank;

static void *rank_main(void *arg) {
  rank *r = (rank *)arg;
  nbc_recorder *me = NULL;
  r->created = nic_udp_create(&r->desc, &r->t, &r->error);
  if (r->created != NBC_OK) return NULL;
  if (r->monitor && nbc_recorder_attach(r->monitor, &me) == NBC_OK) r->t->recorder = me;
  r->run(r);
  r->stats = nic_udp_stats_of(r->t);
  r->closed = nic_udp_close(r->t, LIMIT_NS);
  if (me) nbc_monitor_report(r->monitor, &r->report);
  r->t->recorder = NULL;
  if (me) nbc_recorder_detach(me);
  nic_udp_destroy(r->t);
  return NULL;
}

/* ---- a bad network ------------------------------------------------------------------------------ */
/* Passes datagrams between two sockets, the first of which talks to rank 0, the other to rank 1; loses,
   doubles, holds back, damages and invents some. */
typedef struct relay {
  int fd[2], stop; /* stop: atomic */
  bool mad, echoes;
  uint64_t seed, passed, lost;
  pthread_t thread;
} relay;
static uint64_t relay_draw(relay *r, uint64_t below) {
  r->seed = r->seed * 6364136223846793005u + 1442695040888963407u;
  return (r->seed >> 33) % below;
}
static void relay_pass(relay *r, int to, const struct sockaddr_in *where, char *data,
                       ssize_t bytes) {
  if (!where->sin_port) return; /* that side has not spoken yet */
  if (r->mad && relay_draw(r, 50) == 0 &&
      bytes > 60) { /* damaged: its checksum was right all the same */
    char bad[65536];
    memcpy(bad, data, (size_t)bytes);
    bad[relay_draw(r, 24)] ^= 1; /* magic, kind or key: a stranger's */
    sendto(r->fd[to], bad, (size_t)bytes, 0, (const struct sockaddr *)where, sizeof *where);
  }
  if (r->mad && relay_draw(r, 50) == 0)
    sendto(r->fd[to], data, (size_t)relay_draw(r, 60), 0, (const struct sockaddr *)where,
           sizeof *where);
  sendto(r->fd[to], data, (size_t)bytes, 0, (const struct sockaddr *)where, sizeof *where);
  if (r->mad && relay_draw(r, 20) == 0)
    sendto(r->fd[to], data, (size_t)bytes, 0, (const struct sockaddr *)where, sizeof *where);
  r->passed++;
}
static void *relay_main(void *arg) {
  relay *r = (relay *)arg;
  struct sockaddr_in from[2];
  static char data[65536], held[2][65536];
  ssize_t held_bytes[2] = {0, 0};
  memset(from, 0, sizeof from);
  while (!__atomic_load_n(&r->stop, __ATOMIC_ACQUIRE)) {
    struct pollfd p[2] = {{r->fd[0], POLLIN, 0}, {r->fd[1], POLLIN, 0}};
    poll(p, 2, 10);
    for (int i = 0; i < 2; i++) {
      socklen_t bytes = sizeof from[i];
      const ssize_t k =
          recvfrom(r->fd[i], data, sizeof data, MSG_DONTWAIT, (struct sockaddr *)&from[i], &bytes);
      if (k < 0) continue;
      if (relay_draw(r, 10) == 0) { /* 10 % */
        r->lost++;
        continue;
      }
      if (!held_bytes[i] && relay_draw(r, 8) == 0) { /* goes after the next one */
        memcpy(held[i], data, (size_t)k);
        held_bytes[i] = k;
        continue;
      }
      relay_pass(r, 1 - i, &from[1 - i], data, k);
      if (r->echoes) relay_pass(r, i, &from[i], data, k);
      if (held_bytes[i]) relay_pass(r, 1 - i, &from[1 - i], held[i], held_bytes[i]);
      held_bytes[i] = 0;
    }
  }
  return NULL;
}
static bool relay_open(relay *r, uint16_t ports[2]) {
  for (int i = 0; i < 2; i++) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof at;
    r->fd[i] = socket(AF_INET, SOCK_DGRAM, 0);
    if (bind(r->fd[i], (struct sockaddr *)&at, sizeof at) != 0 ||
        getsockname(r->fd[i], (struct sockaddr *)&at, &bytes) != 0)
      return false;
    ports[i] = ntohs(at.sin_port);
  }
  return pthread_create(&r->thread, NULL, relay_main, r) == 0;
}

/* Both ranks; false: no loopback. */
static bool run_ranks(rank *ranks, nic_udp_desc desc, relay *through, bool record,
                     void (*run)(rank *r)) {
  static nbc_clock clocks[2];
  int pair[2];
  uint16_t ports[2] = {0, 0};
  if (!sockets_pair(SOCK_STREAM, pair)) return false;
  if (through && !relay_open(through, ports)) return false;
  for (int i = 0; i < 2; i++) {
    rank *r = &ranks[i];
    const nbc_monitor_desc history = {.history_calls = 4096};
    memset(r, 0, sizeof *r);
    r->desc = desc;
    r->desc.rank = i;
    r->desc.size = 2;
    r->sockets[i] = -1;
    r->sockets[1 - i] = pair[i];
    r->desc.sockets = r->sockets;
    r->via[1 - i] = ports[i];
    r->desc.via_ports = r->via;
    r->run = run;
    if (record) CHECK(nbc_monitor_create(&history, &r->monitor) == NBC_OK);
    if (record) clocks[i] = *nbc_monitor_clock(r->monitor), r->desc.clock = &clocks[i];
  }
  for (int i = 0; i < 2; i++) pthread_create(&ranks[i].thread, NULL, rank_main, &ranks[i]);
  for (int i = 0; i < 2; i++) pthread_join(ranks[i].thread, NULL);
  if (through) {
    __atomic_store_n(&through->stop, 1, __ATOMIC_RELEASE);
    pthread_join(through->thread, NULL);
    close(through->fd[0]);
    close(through->fd[1]);
  }
  for (int i = 0; i < 2; i++) {
    if (ranks[i].created != NBC_OK) printf("  rank %d: %s\n", i, ranks[i].error.text);
    CHECK(ranks[i].created == NBC_OK);
  }
  return true;
}
/* And their end is one in good order. */
static bool run_both(rank *ranks, nic_udp_desc desc, relay *through, bool record,
                     void (*run)(rank *r)) {
  const bool ran = run_ranks(ranks, desc, through, record, run);
  for (int i = 0; ran && i < 2; i++) CHECK(ranks[i].closed == NBC_OK);
  return ran;
}
static void free_both(rank *ranks) {
  for (int i = 0; i < 2; i++) {
    nbc_report_free(ranks[i].report);
    nbc_monitor_destroy(ranks[i].monitor);
  }
}
#endif
