/* world.h: ranks as threads of this process, each with a TCP transport over loopback. */
#ifndef WORLD_H_INCLUDED
#define WORLD_H_INCLUDED
#include "tests/hw/sockets.h"
#include <pthread.h>

typedef struct world_rank {
  nic_tcp_desc desc;
  nbc_transport *t;
  nbc_monitor *monitor; /* NULL: no recorder */
  nbc_recorder *me;
  nbc_report *report;
  nbc_error error;
  nbc_status status;
  void (*run)(struct world_rank *r);
  void *user;
  int sockets[8];
} world_rank;

static void *world_users[8];

static void *world_main(void *arg) {
  world_rank *r = (world_rank *)arg;
  if ((r->status = nic_tcp_create(&r->desc, &r->t, &r->error)) != NBC_OK) return NULL;
  if (r->monitor) {
    CHECK(nbc_recorder_attach(r->monitor, &r->me) == NBC_OK);
    r->t->recorder = r->me;
  }
  r->run(r);
  if (r->monitor) {
    CHECK(nbc_monitor_report(r->monitor, &r->report) == NBC_OK);
    nbc_recorder_detach(r->me);
  }
  nic_tcp_destroy(r->t);
  r->t = NULL;
  return NULL;
}

/* Runs all ranks; false when there is no loopback. Monitors, when asked for, have a call history.
 */
static bool world_run(world_rank *ranks, int size, nic_tcp_desc desc, bool record,
                      void (*run)(world_rank *r)) {
  pthread_t threads[8];
  for (int i = 0; i < size; i++) {
    memset(&ranks[i], 0, sizeof ranks[i]);
    for (int k = 0; k < 8; k++) ranks[i].sockets[k] = -1;
  }
  for (int i = 0; i < size; i++)
    for (int k = i + 1; k < size; k++) {
      int pair[2];
      if (!sockets_pair(SOCK_STREAM, pair)) return false;
      ranks[i].sockets[k] = pair[0];
      ranks[k].sockets[i] = pair[1];
    }
  for (int i = 0; i < size; i++) {
    nbc_monitor_desc monitor = {.history_calls = 4096};
    ranks[i].desc = desc;
    ranks[i].desc.rank = i;
    ranks[i].desc.size = size;
    ranks[i].desc.sockets = ranks[i].sockets;
    ranks[i].run = run;
    ranks[i].user = world_users[i];
    if (record) CHECK(nbc_monitor_create(&monitor, &ranks[i].monitor) == NBC_OK);
    if (record) { /* one clock for both, so that times compare */
      static nbc_clock clock[8];
      clock[i] = *nbc_monitor_clock(ranks[i].monitor);
      ranks[i].desc.clock = &clock[i];
    }
  }
  for (int i = 0; i < size; i++) pthread_create(&threads[i], NULL, world_main, &ranks[i]);
  for (int i = 0; i < size; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < size; i++) {
    if (ranks[i].status != NBC_OK) printf("  rank %d: %s\n", i, ranks[i].error.text);
    CHECK(ranks[i].status == NBC_OK);
  }
  return true;
}
static void world_free(world_rank *ranks, int size) {
  for (int i = 0; i < size; i++) {
    nbc_report_free(ranks[i].report);
    nbc_monitor_destroy(ranks[i].monitor);
  }
}
#endif
