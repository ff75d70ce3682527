/* A guest of pm_run that times puts and gets of two processes, as tools/fit_nic_rma.c does over other libraries:
   lines "bytes seconds routine" on standard output. */
#include <pmi.h>
#include <portals4.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { POSTS = 16, MOST = 1 << 20 };
static char memory[MOST];
static ptl_handle_md_t md;
static ptl_handle_ct_t ct;
static ptl_process_t peer;
static ptl_size_t done;

static void must(int good, const char *what) {
  if (good) return;
  fprintf(stderr, "guest_moves: %s\n", what);
  exit(9);
}
static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static double batch_s(int is_get, ptl_size_t bytes, int count) {
  ptl_ct_event_t event;
  const double t_s = now_s();
  for (int i = 0; i < count; i++)
    must((is_get ? PtlGet(md, 0, bytes, peer, 0, 0, 0, NULL) : PtlPut(md, 0, bytes, PTL_CT_ACK_REQ, peer, 0, 0, 0, NULL, 0)) == PTL_OK, "a call");
  must(PtlCTWait(ct, done += (ptl_size_t)count, &event) == PTL_OK && !event.failure, "PtlCTWait");
  const double d_s = now_s() - t_s;
  usleep(100);
  return d_s;
}
int main(void) {
  int spawned, rank;
  char text[64];
  ptl_handle_ni_t ni;
  ptl_handle_le_t entry;
  ptl_pt_index_t pt;
  ptl_process_t id;
  must(PMI_Init(&spawned) == PMI_SUCCESS && PMI_Get_rank(&rank) == PMI_SUCCESS, "PMI");
  must(PtlInit() == PTL_OK && PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_NO_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &ni) == PTL_OK, "PtlNIInit");
  must(PtlGetPhysId(ni, &id) == PTL_OK && PtlCTAlloc(ni, &ct) == PTL_OK && PtlPTAlloc(ni, 0, PTL_EQ_NONE, 0, &pt) == PTL_OK, "PtlPTAlloc");
  ptl_le_t le = {memory, MOST, PTL_CT_NONE, PTL_UID_ANY, PTL_LE_OP_PUT | PTL_LE_OP_GET};
  ptl_md_t all = {memory, MOST, PTL_MD_EVENT_CT_ACK | PTL_MD_EVENT_CT_REPLY, PTL_EQ_NONE, ct};
  must(PtlLEAppend(ni, pt, &le, PTL_PRIORITY_LIST, NULL, &entry) == PTL_OK && PtlMDBind(ni, &all, &md) == PTL_OK, "PtlMDBind");
  snprintf(text, sizeof text, "%u %u", id.phys.nid, id.phys.pid);
  must(rank == 0 || PMI_KVS_Put("", "id", text) == PMI_SUCCESS, "KVS");
  must(PMI_KVS_Commit("") == PMI_SUCCESS && PMI_Barrier() == PMI_SUCCESS, "KVS");
  must(PMI_KVS_Get("", "id", text, sizeof text) == PMI_SUCCESS && sscanf(text, "%u %u", &peer.phys.nid, &peer.phys.pid) == 2, "KVS");
  for (ptl_size_t bytes = 1; bytes <= MOST && rank == 0; bytes *= 2)
    for (int is_get = 0; is_get < 2; is_get++) {
      const double one_s = batch_s(is_get, bytes, 1), all_s = batch_s(is_get, bytes, POSTS);
      printf("%llu %.9e %s_nbi full\n", (unsigned long long)bytes, one_s, is_get ? "get" : "put");
      printf("%llu %.9e %s_nbi post\n", (unsigned long long)bytes, (all_s - one_s) / (POSTS - 1), is_get ? "get" : "put");
    }
  PMI_Barrier();
  PtlNIFini(ni);
  PtlFini();
  return 0;
}
