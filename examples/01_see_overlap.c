/* Question: my program posts a receive and a send, computes, then waits. Was the transfer hidden?

   Run:      make examples && build/01_see_overlap
   Expected: two reports. Where progress happens only inside calls, the receiver's core does the copy
             and nothing that it receives is hidden; with a NIC (here: the DMA thread) most of it is.

   Three steps to use the library in a code of your own: a monitor per process, a recorder per thread,
   and the recorder in the transport (or nbc_call_enter, nbc_xfer_begin, ... around your own). */
#define NBC_OVERLAP_IMPLEMENTATION
#include "nbc_overlap.h"
#include <stdlib.h>
#include <string.h>

enum { BYTES = 4 << 20, ROUNDS = 20, COMPUTE_NS = 6000000 };

typedef struct shared {
  nbc_monitor *monitor;
  char *buffer[2][2];
} shared;

static nbc_status exchange(nbc_transport *t, void *user) {
  shared *s = (shared *)user;
  nbc_op send, recv;
  nbc_recorder *me;
  nbc_status status = nbc_recorder_attach(s->monitor, &me);
  if (status != NBC_OK) return status;
  t->recorder = me;
  for (int i = 0; i < ROUNDS && status == NBC_OK; i++) {
    memset(&send, 0, sizeof send);
    memset(&recv, 0, sizeof recv);
    nbc_section_begin(me, "exchange");
    status = nbc_irecv(t, s->buffer[t->rank][0], BYTES, 1 - t->rank, 0, &recv);
    if (status == NBC_OK)
      status = nbc_isend(t, s->buffer[t->rank][1], BYTES, 1 - t->rank, 0, &send);
    for (int part = 0; part < 10; part++) { /* a look now and then lets control messages through */
      nbc_spin_ns(nbc_monitor_clock(s->monitor), COMPUTE_NS / 10);
      nbc_test(t, &recv);
    }
    if (status == NBC_OK) status = nbc_wait(t, &recv, 0);
    if (status == NBC_OK) status = nbc_wait(t, &send, 0);
    nbc_section_end(me, "exchange");
  }
  nbc_recorder_detach(me);
  return status;
}

static nbc_status run(const char *title, bool dma) {
  nbc_threads_desc desc;
  nbc_threads *world = NULL;
  nbc_report *report = NULL;
  nbc_table *table = NULL;
  nbc_monitor_desc monitor_desc;
  shared s;
  memset(&desc, 0, sizeof desc);
  memset(&monitor_desc, 0, sizeof monitor_desc);
  memset(&s, 0, sizeof s);
  desc.dma = dma;
  desc.link_bytes_per_s = 2e9;
  for (int i = 0; i < 4; i++) s.buffer[i / 2][i % 2] = (char *)calloc(1, BYTES);
  nbc_status status =
      nbc_table_create_linear(20000, dma ? 2e9 : 8e9, "the link's own speed", &table);
  monitor_desc.table_same_node = monitor_desc.table_other_node = table;
  if (status == NBC_OK) status = nbc_threads_create(&desc, &world);
  if (status == NBC_OK) status = nbc_monitor_create(&monitor_desc, &s.monitor);
  if (status == NBC_OK) status = nbc_threads_run(world, exchange, &s);
  if (status == NBC_OK) status = nbc_monitor_report(s.monitor, &report);
  if (status == NBC_OK) {
    printf("==== %s ====\n", title);
    nbc_report_write_text(report, stdout);
    printf("\n");
  }
  nbc_report_free(report);
  nbc_monitor_destroy(s.monitor);
  nbc_threads_destroy(world);
  nbc_table_free(table);
  for (int i = 0; i < 4; i++) free(s.buffer[i / 2][i % 2]);
  return status;
}

int main(void) {
  nbc_status status = run("progress only inside calls", false);
  if (status == NBC_OK) status = run("a DMA thread stands in for the NIC", true);
  if (status != NBC_OK) fprintf(stderr, "01_see_overlap: %s\n", nbc_status_text(status));
  return status != NBC_OK;
}
