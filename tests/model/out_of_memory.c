/* Whatever allocation of the model fails, at every level, with faults, traces, messages and Portals calls:
   the run ends with an error or as if nothing had happened, never in a crash, a hang, a leak or a wrong byte. */
#include <stddef.h>
#include <stdlib.h>
static long block_count, until_failure_count = -1;
static int fails_now(void) { return until_failure_count == 0 || (until_failure_count > 0 && until_failure_count-- == 0); }
static void *own_malloc(size_t size_bytes) {
  if (fails_now()) return NULL;
  block_count++;
  return malloc(size_bytes);
}
static void *own_realloc(void *old, size_t size_bytes) {
  if (fails_now()) return NULL;
  if (!old) block_count++;
  return realloc(old, size_bytes);
}
static void own_free(void *pointer) {
  if (pointer) block_count--;
  free(pointer);
}
#define PM_MALLOC(size_bytes)       own_malloc(size_bytes)
#define PM_REALLOC(old, size_bytes) own_realloc(old, size_bytes)
#define PM_FREE(pointer)            own_free(pointer)
#include "tests/model/ptl.h"

enum { PROCESSES = 4, LONG = 20000, SHORT = 300 };
static unsigned char sent[PROCESSES][LONG], got[PROCESSES][LONG];
static int arrived_count; /* messages whose status says that their bytes are there */

static void exchange(pm_msg *msg, uint64_t size_bytes) {
  const int me = pm_rank(), to = (me + 1) % PROCESSES, from = (me + PROCESSES - 1) % PROCESSES;
  pm_msg_op s = {0}, r = {0};
  for (uint64_t i = 0; i < size_bytes; i++) sent[me][i] = (unsigned char)(me * 7 + (int)i), got[me][i] = 0;
  pm_barrier();
  if (pm_msg_irecv(msg, got[me], size_bytes, from, 5, &r) != PM_OK ||
      pm_msg_isend(msg, sent[me], size_bytes, to, 5, &s) != PM_OK ||
      pm_msg_wait(msg, &r) != PM_OK || r.status) {
    pm_world_fail(pm_world_of(pm_self()), PM_E_NOMEM, "no message"); /* or the others wait in vain */
    return;
  }
  for (uint64_t i = 0; i < r.size_bytes; i++) CHECK(got[me][i] == (unsigned char)(from * 7 + (int)i));
  arrived_count++;
  (void)pm_msg_wait(msg, &s);
}
/* Calls that ask for memory: a code of the API is right, whatever it is. */
static void portals_calls(void) {
  ptl_handle_ni_t ni;
  ptl_handle_any_t eq, ct, h, md;
  ptl_pt_index_t pt;
  unsigned char memory[64] = {0};
  ptl_md_t d = {memory, 64, 0, PTL_EQ_NONE, PTL_CT_NONE};
  if (PtlInit() != PTL_OK) return;
  if (PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &ni) == PTL_OK) {
    if (PtlEQAlloc(ni, 100, &eq) == PTL_OK && PtlCTAlloc(ni, &ct) == PTL_OK && PtlPTAlloc(ni, 0, eq, PTL_PT_ANY, &pt) == PTL_OK) {
      ptl_me_t me = entry(memory, 32, 0, PTL_ME_OP_PUT | PTL_ME_OP_GET);
      (void)PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, NULL, &h);
      if (PtlMDBind(ni, &d, &md) == PTL_OK) {
        (void)PtlPut(md, 32, 16, PTL_NO_ACK_REQ, pm_process_id(pm_rank()), pt, 0, 0, NULL, 0);
        (void)PtlTriggeredPut(md, 32, 16, PTL_NO_ACK_REQ, pm_process_id(pm_rank()), pt, 0, 0, NULL, 0, ct, 1);
        (void)PtlCTInc(ct, (ptl_ct_event_t){1, 0});
        pm_sleep_ns(100000);
      }
    }
    (void)PtlNIFini(ni);
  }
  PtlFini();
}
static void body(void *unused) {
  pm_msg *msg = NULL;
  (void)unused;
  portals_calls();
  const pm_msg_desc desc = {.eager_bytes = 1024, .large = PM_MSG_PIPELINED, .fragment_bytes = 4096, .overflow_bytes = 8192};
  if (pm_msg_open(&desc, &msg) != PM_OK) { /* the others wait for this one in vain: it says so */
    pm_world_fail(pm_world_of(pm_self()), PM_E_NOMEM, "no messages");
    return;
  }
  exchange(msg, SHORT);
  exchange(msg, LONG);
  pm_msg_close(msg);
}

/* One run, the n-th allocation fails (n < 0: none). */
static pm_status run_failing(long n, const pm_world_desc *desc) {
  pm_world *w = NULL;
  FILE *nowhere = fopen("/dev/null", "w");
  arrived_count = 0;
  block_count = 0;
  until_failure_count = n;
  pm_status status = pm_world_create(desc, &w);
  if (status == PM_OK) status = pm_spawn_all(w, body, NULL);
  if (status == PM_OK) status = pm_world_run(w);
  if (status == PM_OK && desc->trace && nowhere) {
    (void)pm_trace_write_html(w, nowhere);
    (void)pm_trace_write_paje(w, nowhere);
  }
  if (status) CHECK(!w || strlen(pm_world_error(w)) > 0);
  if (w && status && status != PM_E_NOMEM) printf("  allocation %ld: %s\n", n, pm_world_error(w));
  pm_world_destroy(w);
  until_failure_count = -1;
  CHECK(block_count == 0);
  if (block_count) printf("  allocation %ld: %ld blocks leak\n", n, block_count);
  if (nowhere) fclose(nowhere);
  return status;
}
static void each_allocation_fails(const pm_world_desc *desc) {
  long n;
  int ended_well = 0;
  CHECK(run_failing(-1, desc) == PM_OK && arrived_count == 2 * PROCESSES);
  for (n = 0; n < 100000; n++) {
    until_failure_count = n;
    const pm_status status = run_failing(n, desc);
    CHECK(status == PM_OK || status == PM_E_NOMEM || status == PM_E_PORTALS);
    if (status == PM_OK && arrived_count == 2 * PROCESSES && ++ended_well == 40) break; /* beyond the last */
    if (status != PM_OK || arrived_count < 2 * PROCESSES) ended_well = 0;
  }
  printf("  %ld allocations failed one by one\n", n);
  CHECK(n > 60 && n < 100000);
}

static pm_platform tree;
static pm_world_desc desc_of(pm_link_model link) {
  char error[200] = "";
  static const char text[] = "node_count 4\ntopology fattree\ntopo 2 2 2 1 2\n";
  CHECK(pm_platform_read(text, sizeof text - 1, &tree, error, sizeof error) == PM_OK);
  return (pm_world_desc){.platform = &tree, .link = link, .seed = 3, .stack_bytes = 131072, .trace = true,
                         .d_limit_ns = 1000000000000};
}
static void loggp_level_survives_every_failure(void) {
  const pm_world_desc desc = desc_of(PM_LINK_LOGGP);
  each_allocation_fails(&desc);
}
static void flow_level_survives_every_failure(void) {
  const pm_world_desc desc = desc_of(PM_LINK_FLOW);
  each_allocation_fails(&desc);
}
static void packet_level_survives_every_failure(void) {
  const pm_world_desc desc = desc_of(PM_LINK_PACKET);
  each_allocation_fails(&desc);
}
static void faults_survive_every_failure(void) {
  pm_world_desc desc = desc_of(PM_LINK_FLOW);
  desc.faults = (pm_faults){.loss_ratio = 0.05, .duplicate_ratio = 0.1, .delay_ratio = 0.1, .delay_ns = 3000};
  each_allocation_fails(&desc);
}
static void windows_survive_every_failure(void) { /* on one thread, so that the n-th is the same */
  pm_world_desc desc = desc_of(PM_LINK_LOGGP);
  desc.trace = false;
  desc.threads = 1;
  each_allocation_fails(&desc);
}
/* So many events that some of them lie in bins. */
enum { CALLS = 2500 };
static int called_count;
static void is_called(void *unused) {
  (void)unused;
  called_count++;
}
static void many_events_survive_every_failure(void) {
  const pm_world_desc desc = desc_of(PM_LINK_LOGGP);
  bool ended_well = false;
  long n;
  for (n = 0; n < 10000 && !ended_well; n++) {
    pm_world *w = NULL;
    int taken_count = 0;
    called_count = 0;
    block_count = 0;
    until_failure_count = n;
    pm_status status = pm_world_create(&desc, &w);
    for (int64_t i = 0; i < CALLS && status == PM_OK; i++) {
      status = pm_call_at(w, i * 997 % 10007, is_called, NULL);
      taken_count += status == PM_OK;
    }
    if (status == PM_OK) status = pm_world_run(w);
    ended_well = until_failure_count > 0;
    until_failure_count = -1;
    CHECK(status == PM_OK ? called_count == CALLS : status == PM_E_NOMEM && called_count <= taken_count);
    pm_world_destroy(w);
    CHECK(block_count == 0);
  }
  CHECK(n > CALLS && n < 10000);
}
int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(loggp_level_survives_every_failure);
  RUN(flow_level_survives_every_failure);
  RUN(packet_level_survives_every_failure);
  RUN(faults_survive_every_failure);
  RUN(windows_survive_every_failure);
  RUN(many_events_survive_every_failure);
  return TEST_END();
}
