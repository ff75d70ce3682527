/* A guest of pm_run, as any Portals program is written: processes find each other by PMI and pass a
   token round. Argument: "ring", or how to misbehave. */
#include <portals4.h>
#include <pmi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int rank = -1, size, visits; /* one copy per process, or the checks below fail */
static uint64_t token;

static void must(int good, const char *what) {
  if (good) return;
  fprintf(stderr, "guest %d: %s\n", rank, what);
  exit(9);
}
static ptl_process_t find(int peer) {
  char key[64], value[64];
  ptl_process_t id;
  snprintf(key, sizeof key, "id-%d", peer);
  must(PMI_KVS_Get("", key, value, sizeof value) == PMI_SUCCESS &&
           sscanf(value, "%u %u", &id.phys.nid, &id.phys.pid) == 2,
       "KVS");
  return id;
}

int main(int argc, char **argv) {
  int spawned;
  char key[64], value[64];
  ptl_handle_ni_t ni;
  ptl_handle_ct_t ct;
  ptl_handle_md_t md_handle;
  ptl_handle_le_t le_handle;
  ptl_pt_index_t pt;
  ptl_process_t id;
  ptl_ct_event_t event;
  struct timespec before, after;
  const char *mode = argc > 1 ? argv[1] : "ring";
  must(rank == -1 && visits++ == 0, "globals are not my own");
  must(PMI_Init(&spawned) == PMI_SUCCESS && PMI_Get_rank(&rank) == PMI_SUCCESS &&
           PMI_Get_size(&size) == PMI_SUCCESS,
       "PMI_Init");
  must(PtlInit() == PTL_OK && PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_NO_MATCHING | PTL_NI_PHYSICAL,
                                        PTL_PID_ANY, NULL, NULL, &ni) == PTL_OK,
       "PtlNIInit");
  must(PtlGetPhysId(ni, &id) == PTL_OK && PtlCTAlloc(ni, &ct) == PTL_OK &&
           PtlPTAlloc(ni, 0, PTL_EQ_NONE, 7, &pt) == PTL_OK,
       "PtlPTAlloc");
  snprintf(key, sizeof key, "id-%d", rank);
  snprintf(value, sizeof value, "%u %u", id.phys.nid, id.phys.pid);
  must(PMI_KVS_Put("", key, value) == PMI_SUCCESS && PMI_KVS_Commit("") == PMI_SUCCESS, "KVS");
  ptl_le_t le = {&token, sizeof token, ct, PTL_UID_ANY, PTL_LE_OP_PUT | PTL_LE_EVENT_CT_COMM};
  ptl_md_t md = {&token, sizeof token, 0, PTL_EQ_NONE, PTL_CT_NONE};
  must(PtlLEAppend(ni, pt, &le, PTL_PRIORITY_LIST, NULL, &le_handle) == PTL_OK &&
           PtlMDBind(ni, &md, &md_handle) == PTL_OK,
       "PtlLEAppend");
  PMI_Barrier();
  clock_gettime(CLOCK_MONOTONIC, &before);
  usleep(1000);
  clock_gettime(CLOCK_MONOTONIC, &after);
  const long d_ns = (after.tv_sec - before.tv_sec) * 1000000000 + after.tv_nsec - before.tv_nsec;
  must(d_ns >= 1000000 && d_ns < 1010000, "a sleep takes its time, exactly");
  if (rank == 1 && strcmp(mode, "exit") == 0) exit(3);
  if (rank == 1 && strcmp(mode, "crash") == 0)
    memset((void *)(uintptr_t)(16 + (uintptr_t)argc), 0, 1);
  if (rank == 1 && strcmp(mode, "hang") == 0) PtlCTWait(ct, 100, &event);
  if (strcmp(mode, "exit") == 0 || strcmp(mode, "crash") == 0) return 0;
  if (rank > 0) must(PtlCTWait(ct, 1, &event) == PTL_OK && event.failure == 0, "PtlCTWait");
  token += (uint64_t)rank + 1;
  must(PtlPut(md_handle, 0, sizeof token, PTL_NO_ACK_REQ, find((rank + 1) % size), pt, 0, 0, NULL,
              0) == PTL_OK,
       "PtlPut");
  if (rank == 0) {
    must(PtlCTWait(ct, 1, &event) == PTL_OK && token == (uint64_t)size * (uint64_t)(size + 1) / 2,
         "the token's sum");
    printf("token %d went round %d processes\n", (int)token, size);
  }
  PMI_Barrier();
  PtlNIFini(ni);
  PtlFini();
  PMI_Finalize();
  return 0;
}
