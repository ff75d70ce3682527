/* Short forms for tests of Portals: a world of a few processes, an interface with everything bound. */
#ifndef PTL_H_INCLUDED
#define PTL_H_INCLUDED
#ifdef NBC_PIECES
#  include "tests/model/pieces.h"
#else
#  define PORTALS_MODEL_IMPLEMENTATION
#  include "portals_model.h"
#endif
#include "tests/test.h"
#ifdef ON_RTL /* worlds that ask for no level of their own run on NICs in RTL, as far as those can */
#  include "rtl/nic_cosim.h"
#  include "rtl/pm_rtl.h"
static pm_rtl *on_rtl;
enum { IS_ON_RTL = 1 };
#else
enum { IS_ON_RTL = 0 };
#endif

/* Runs body on every process of n nodes; base may be NULL. */
__attribute__((unused)) static pm_stats run_world(int n, void (*body)(void *arg),
                                                  const pm_world_desc *base) {
  pm_platform platform = pm_platform_bxi2(n);
  pm_world_desc desc = base ? *base : (pm_world_desc){0};
  pm_world *w = NULL;
  pm_stats stats = {0};
  if (!desc.platform) desc.platform = &platform;
#ifdef ON_RTL
  if (!on_rtl) on_rtl = pm_rtl_create();
  if (desc.link == PM_LINK_FLOW && !desc.carrier) {
    desc.carrier = pm_rtl_carrier(on_rtl), desc.link = PM_LINK_CARRIER;
    if (pm_world_create(&desc, &w)) desc.carrier = NULL, desc.link = PM_LINK_FLOW;
  }
  if (!w)
#endif
    CHECK(pm_world_create(&desc, &w) == PM_OK);
  if (!w) return stats;
  CHECK(pm_spawn_all(w, body, NULL) == PM_OK);
  const pm_status status = pm_world_run(w);
  CHECK(status == PM_OK);
  if (status) printf("  %s\n", pm_world_error(w));
  stats = pm_world_stats(w);
  pm_world_destroy(w);
  return stats;
}

/* One interface with a queue, a portal, a counter and a descriptor over `memory`. */
typedef struct side {
  ptl_handle_ni_t ni;
  ptl_handle_eq_t eq;
  ptl_handle_ct_t ct;
  ptl_handle_md_t md;
  ptl_pt_index_t pt;
  _Alignas(16) unsigned char memory[4096];
} side;
__attribute__((unused)) static void side_open(side *s, unsigned int ni_options,
                                              unsigned int pt_options, unsigned int md_options) {
  memset(s, 0, sizeof *s);
  CHECK(PtlInit() == PTL_OK);
  CHECK(PtlNIInit(PTL_IFACE_DEFAULT, ni_options | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL,
                  &s->ni) == PTL_OK);
  CHECK(PtlEQAlloc(s->ni, 64, &s->eq) == PTL_OK);
  CHECK(PtlCTAlloc(s->ni, &s->ct) == PTL_OK);
  CHECK(PtlPTAlloc(s->ni, pt_options, s->eq, 3, &s->pt) == PTL_OK);
  ptl_md_t md = {s->memory, sizeof s->memory, md_options, s->eq, s->ct};
  CHECK(PtlMDBind(s->ni, &md, &s->md) == PTL_OK);
}
__attribute__((unused)) static void side_close(side *s) {
  CHECK(PtlNIFini(s->ni) == PTL_OK);
  PtlFini();
}
__attribute__((unused)) static ptl_me_t entry(void *start, size_t bytes, ptl_match_bits_t bits,
                                              unsigned int options) {
  ptl_me_t me = {0};
  me.start = start;
  me.length = bytes;
  me.ct_handle = PTL_CT_NONE;
  me.uid = PTL_UID_ANY;
  me.options = options;
  me.match_id.phys.nid = PTL_NID_ANY;
  me.match_id.phys.pid = PTL_PID_ANY;
  me.match_bits = bits;
  me.min_free =
      options & PTL_ME_MANAGE_LOCAL ? 0 : 0xDEADBEEF; /* to be ignored where it means nothing */
  return me;
}
__attribute__((unused)) static ptl_handle_me_t append(side *s, ptl_me_t me, ptl_list_t list,
                                                      void *user_ptr) {
  ptl_handle_me_t h = PTL_INVALID_HANDLE;
  CHECK(PtlMEAppend(s->ni, s->pt, &me, list, user_ptr, &h) == PTL_OK);
  return h;
}
__attribute__((unused)) static int put(side *s, int to, size_t bytes, ptl_ack_req_t ack,
                                       ptl_match_bits_t bits, size_t remote_offset,
                                       ptl_hdr_data_t hdr) {
  return PtlPut(s->md, 0, bytes, ack, pm_process_id(to), 3, bits, remote_offset, s, hdr);
}
/* One interface whose `memory` is what it sends from, and what others put to at its portal 3; a counter of
   acknowledgements. */
typedef struct mover {
  ptl_handle_ni_t ni;
  ptl_handle_ct_t ct;
  ptl_handle_md_t md;
} mover;
__attribute__((unused)) static void mover_open(mover *m, void *memory, size_t bytes) {
  ptl_handle_me_t h;
  ptl_pt_index_t pt;
  CHECK(!PtlInit() && !PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &m->ni));
  CHECK(!PtlCTAlloc(m->ni, &m->ct) && !PtlPTAlloc(m->ni, 0, PTL_EQ_NONE, 3, &pt));
  const ptl_md_t md = {memory, bytes, PTL_MD_EVENT_CT_ACK, PTL_EQ_NONE, m->ct};
  ptl_me_t me = entry(memory, bytes, 0, PTL_ME_OP_PUT);
  CHECK(!PtlMDBind(m->ni, &md, &m->md) && !PtlMEAppend(m->ni, pt, &me, PTL_PRIORITY_LIST, NULL, &h));
}
__attribute__((unused)) static void mover_put(const mover *m, int to, ptl_size_t bytes) {
  CHECK(!PtlPut(m->md, 0, bytes, PTL_CT_ACK_REQ, pm_process_id(to), 3, 0, 0, NULL, 0));
}
__attribute__((unused)) static void mover_wait(const mover *m, int put_count) { /* for the acknowledgements of so many */
  ptl_ct_event_t v;
  CHECK(!PtlCTWait(m->ct, (ptl_size_t)put_count, &v) && !v.failure);
}
/* The next event must be of this kind. */
__attribute__((unused)) static ptl_event_t expect_at(side *s, int kind, int line) {
  ptl_event_t e;
  memset(&e, 0, sizeof e);
  const int code = PtlEQWait(s->eq, &e);
  if (code != PTL_OK || e.type != kind) {
    printf("  line %d, process %d: event %s (%s), expected %s\n", line, pm_rank(),
           pm_ptl_event_name(e.type), pm_ptl_status_name(code), pm_ptl_event_name(kind));
    CHECK(0);
  }
  return e;
}
#define EXPECT(side, kind) expect_at(side, PTL_EVENT_##kind, __LINE__)
__attribute__((unused)) static void expect_nothing_at(side *s, int line) {
  ptl_event_t e;
  pm_sleep_ns(1000000);
  if (PtlEQGet(s->eq, &e) == PTL_EQ_EMPTY) return;
  printf("  line %d, process %d: event %s, expected none\n", line, pm_rank(),
         pm_ptl_event_name(e.type));
  CHECK(0);
}
#define EXPECT_NOTHING(side) expect_nothing_at(side, __LINE__)
__attribute__((unused)) static ptl_ct_event_t count_of(ptl_handle_ct_t ct) {
  ptl_ct_event_t value = {0, 0};
  CHECK(PtlCTGet(ct, &value) == PTL_OK);
  return value;
}
#endif
