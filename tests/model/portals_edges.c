/* Edges of the rules of matching that one message alone does not show: offsets with NO_TRUNCATE, ranks as
   initiators, list lengths to the last entry, events promised to messages under way; and the tails of kernel
   models. Each test here is there because a change of one line passed all others (tests/mutate). */
#include "tests/model/ptl.h"
#include <sys/mman.h>
#include <sys/resource.h>

enum { PUT_GET = PTL_ME_OP_PUT | PTL_ME_OP_GET, QUIET = PTL_ME_EVENT_LINK_DISABLE };

/* 8 bytes at offset 95 do not fit into 100 although 8 do: the entry is passed over, at the arrival and
   when it is appended after the message. Nor do 8 bytes 4 before the end of all numbers. */
static void offset_body(void *unused) {
  side s;
  (void)unused;
  side_open(&s, PTL_NI_MATCHING, 0, 0);
  const unsigned int whole = PUT_GET | QUIET | PTL_ME_NO_TRUNCATE;
  if (pm_rank() == 1) {
    append(&s, entry(s.memory, 100, 1, whole), PTL_PRIORITY_LIST, (void *)1);
    append(&s, entry(s.memory + 200, 200, 1, PUT_GET | QUIET), PTL_OVERFLOW_LIST, (void *)2);
  }
  pm_barrier();
  if (pm_rank() == 0) {
    put(&s, 1, 8, PTL_NO_ACK_REQ, 1, 92, 0);
    put(&s, 1, 8, PTL_NO_ACK_REQ, 1, 95, 0);
    put(&s, 1, 8, PTL_NO_ACK_REQ, 1, PTL_SIZE_MAX - 3, 0);
  }
  pm_sleep_ns(100000);
  if (pm_rank() == 1) {
    CHECK(EXPECT(&s, PUT).user_ptr == (void *)1);
    CHECK(EXPECT(&s, PUT).ptl_list == PTL_OVERFLOW_LIST);
    CHECK(EXPECT(&s, PUT).ptl_list == PTL_OVERFLOW_LIST);
    append(&s, entry(s.memory + 400, 100, 1, whole | PTL_ME_USE_ONCE), PTL_PRIORITY_LIST, (void *)3);
    EXPECT_NOTHING(&s); /* 103 bytes do not fit into 100: the header stays */
    append(&s, entry(s.memory + 400, 103, 1, whole | PTL_ME_USE_ONCE), PTL_PRIORITY_LIST, (void *)4);
    CHECK(EXPECT(&s, PUT_OVERFLOW).user_ptr == (void *)4);
    EXPECT(&s, AUTO_UNLINK);
    append(&s, entry(s.memory + 400, 103, 1, whole | PTL_ME_USE_ONCE), PTL_PRIORITY_LIST, (void *)5);
    EXPECT_NOTHING(&s);
  }
  side_close(&s);
}
static void no_truncate_counts_the_offset(void) { run_world(2, offset_body, NULL); }

/* 4.3, PTL_ME_NO_TRUNCATE: what is available is the length behind the offset, which is the entry's own with
   MANAGE_LOCAL, for headers that it is asked about too. So 7 bytes have no room for a header of 8, and 12 have room
   for one of two where their lengths count (LOCAL_INC_UH_RLENGTH): the other one waits for the next entry. */
static void own_offset_body(void *unused) {
  side s;
  (void)unused;
  side_open(&s, PTL_NI_MATCHING, 0, 0);
  const unsigned int own = PUT_GET | QUIET | PTL_ME_NO_TRUNCATE | PTL_ME_MANAGE_LOCAL;
  if (pm_rank() == 1) append(&s, entry(s.memory, 200, 1, PUT_GET | QUIET | PTL_ME_EVENT_COMM_DISABLE), PTL_OVERFLOW_LIST, NULL);
  pm_barrier();
  if (pm_rank() == 0)
    for (int k = 0; k < 3; k++) put(&s, 1, 8, PTL_NO_ACK_REQ, 1, PTL_SIZE_MAX - 3, (ptl_hdr_data_t)k);
  pm_sleep_ns(100000);
  if (pm_rank() == 1) {
    const ptl_me_t small = entry(s.memory + 400, 7, 1, own | PTL_ME_USE_ONCE);
    append(&s, small, PTL_PRIORITY_LIST, (void *)1);
    EXPECT_NOTHING(&s);
    CHECK(PtlMESearch(s.ni, s.pt, &small, PTL_SEARCH_ONLY, NULL) == PTL_OK);
    CHECK(EXPECT(&s, SEARCH).ni_fail_type == PTL_NI_NO_MATCH);
    append(&s, entry(s.memory + 400, 8, 1, own | PTL_ME_USE_ONCE), PTL_PRIORITY_LIST, (void *)2);
    CHECK(EXPECT(&s, PUT_OVERFLOW).hdr_data == 0);
    EXPECT(&s, AUTO_UNLINK);
    append(&s, entry(s.memory + 400, 12, 1, own | PTL_ME_LOCAL_INC_UH_RLENGTH), PTL_PRIORITY_LIST, (void *)3);
    CHECK(EXPECT(&s, PUT_OVERFLOW).hdr_data == 1);
    EXPECT_NOTHING(&s);
    append(&s, entry(s.memory + 400, 12, 1, own), PTL_PRIORITY_LIST, (void *)4);
    CHECK(EXPECT(&s, PUT_OVERFLOW).hdr_data == 2);
  }
  side_close(&s);
}
static void no_truncate_counts_the_own_offset(void) { run_world(2, own_offset_body, NULL); }

/* A header whose data are still on the way belongs to the entry that found it: that one is in use until its
   event, and of one that serves a single message the events keep their order. */
static int d_wait_ns, in_use_count, is_once;
static unsigned char long_data[3][20000];
static void found_body(void *unused) {
  side s;
  ptl_event_t e;
  int code, kinds[4], seen = 0;
  const unsigned int options = PUT_GET | QUIET | (is_once ? PTL_ME_USE_ONCE : 0);
  (void)unused;
  side_open(&s, PTL_NI_MATCHING, 0, 0);
  const ptl_md_t md = {long_data[0], sizeof long_data[0], PTL_MD_EVENT_SUCCESS_DISABLE, s.eq, PTL_CT_NONE};
  ptl_handle_md_t h;
  CHECK(PtlMDBind(s.ni, &md, &h) == PTL_OK);
  if (pm_rank() == 1) append(&s, entry(long_data[1], sizeof long_data[1], 0, PUT_GET | QUIET | PTL_ME_EVENT_COMM_DISABLE | PTL_ME_USE_ONCE), PTL_OVERFLOW_LIST, NULL);
  pm_barrier();
  if (pm_rank() == 0) {
    CHECK(PtlPut(h, 0, sizeof long_data[0], PTL_NO_ACK_REQ, pm_process_id(1), 3, 0, 0, NULL, 0) == PTL_OK);
  } else {
    pm_sleep_ns(d_wait_ns);
    const ptl_handle_me_t mine = append(&s, entry(long_data[2], sizeof long_data[2], 0, options), PTL_PRIORITY_LIST, (void *)1);
    if (is_once) {
      for (; seen < 4 && (pm_sleep_ns(20000), PtlEQGet(s.eq, &e)) == PTL_OK; seen++) kinds[seen] = e.type;
      CHECK(seen >= 2); /* it found the header, or came first and took the message itself */
      if (kinds[1] == PTL_EVENT_PUT_OVERFLOW) CHECK(seen == 4 && kinds[2] == PTL_EVENT_AUTO_FREE && kinds[3] == PTL_EVENT_AUTO_UNLINK);
    } else {
      while ((code = PtlMEUnlink(mine)) == PTL_IN_USE) in_use_count++;
      CHECK(code == PTL_OK);
      while (PtlEQGet(s.eq, &e) == PTL_OK) {}
      pm_sleep_ns(100000);
      while (PtlEQGet(s.eq, &e) == PTL_OK) CHECK(e.user_ptr != (void *)1); /* nothing more of an entry that is gone */
    }
  }
  side_close(&s);
}
static void who_finds_what_still_arrives_is_in_use(void) {
  in_use_count = 0;
  for (is_once = 0; is_once < 2; is_once++)
    for (d_wait_ns = 0; d_wait_ns < 6000; d_wait_ns += IS_ON_RTL ? 610 : 61) run_world(2, found_body, NULL);
  CHECK(IS_ON_RTL || in_use_count > 0); /* there the append itself waits */
}

/* On a logical interface an entry for rank 2 does not take what rank 1 sends. */
static void ranks_body(void *unused) {
  static const int user[3] = {0, 1, 2};
  ptl_handle_ni_t ni;
  ptl_handle_eq_t eq;
  ptl_handle_md_t md_handle;
  ptl_pt_index_t pt;
  ptl_process_t map[3];
  unsigned char memory[64] = {0};
  (void)unused;
  for (int i = 0; i < 3; i++) map[i] = pm_process_id(i);
  CHECK(PtlInit() == PTL_OK);
  CHECK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_LOGICAL, PTL_PID_ANY, NULL, NULL, &ni) == PTL_OK);
  CHECK(PtlSetMap(ni, 3, map) == PTL_OK);
  CHECK(PtlEQAlloc(ni, 16, &eq) == PTL_OK && PtlPTAlloc(ni, 0, eq, 3, &pt) == PTL_OK);
  ptl_md_t md = {memory, sizeof memory, 0, PTL_EQ_NONE, PTL_CT_NONE};
  CHECK(PtlMDBind(ni, &md, &md_handle) == PTL_OK);
  if (pm_rank() == 0)
    for (int from = 2; from >= 1; from--) {
      ptl_handle_me_t h;
      ptl_me_t me = entry(memory + 8 * from, 8, 5, PUT_GET | QUIET);
      me.match_id.rank = (ptl_rank_t)from;
      CHECK(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, (void *)(uintptr_t)&user[from], &h) == PTL_OK);
    }
  pm_barrier();
  if (pm_rank() > 0) CHECK(PtlPut(md_handle, 0, 8, PTL_NO_ACK_REQ, (ptl_process_t){.rank = 0}, 3, 5, 0, NULL, 0) == PTL_OK);
  for (int i = 0; pm_rank() == 0 && i < 2; i++) {
    ptl_event_t e;
    CHECK(PtlEQWait(eq, &e) == PTL_OK && e.type == PTL_EVENT_PUT);
    CHECK(e.initiator.rank <= 2 && e.user_ptr == (const void *)&user[e.initiator.rank]);
  }
  CHECK(PtlNIFini(ni) == PTL_OK);
  PtlFini();
}
static void entries_for_a_rank_take_only_its_messages(void) { run_world(3, ranks_body, NULL); }

/* A map may name nodes that the machine does not have: what is sent there cannot be delivered, as on a physical interface. */
static void nowhere_body(void *unused) {
  ptl_handle_ni_t ni;
  ptl_handle_md_t md_handle;
  ptl_handle_ct_t ct;
  unsigned char memory[64] = {0};
  ptl_process_t map[4] = {pm_process_id(0), {.phys = {7, 0}}, {.phys = {0xFFFFFFF0u, 0}}, {.phys = {0, PTL_PID_ANY}}};
  ptl_md_t md = {memory, sizeof memory, PTL_MD_EVENT_CT_ACK | PTL_MD_EVENT_CT_REPLY, PTL_EQ_NONE, PTL_CT_NONE};
  (void)unused;
  CHECK(PtlInit() == PTL_OK);
  CHECK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_LOGICAL, PTL_PID_ANY, NULL, NULL, &ni) == PTL_OK);
  if (pm_rank() == 0) {
    CHECK(PtlSetMap(ni, 4, map) == PTL_OK && PtlCTAlloc(ni, &ct) == PTL_OK);
    md.ct_handle = ct;
    CHECK(PtlMDBind(ni, &md, &md_handle) == PTL_OK);
    for (ptl_rank_t to = 1; to < 3; to++) {
      const ptl_process_t id = {.rank = to};
      CHECK(PtlPut(md_handle, 0, 8, PTL_CT_ACK_REQ, id, 3, 5, 0, NULL, 0) == PTL_OK);
      CHECK(PtlGet(md_handle, 0, 8, id, 3, 5, 0, NULL) == PTL_OK);
      CHECK(PtlTriggeredPut(md_handle, 0, 8, PTL_CT_ACK_REQ, id, 3, 5, 0, NULL, 0, ct, 1) == PTL_OK);
    }
    CHECK(PtlPut(md_handle, 0, 8, PTL_CT_ACK_REQ, (ptl_process_t){.rank = 3}, 3, 5, 0, NULL, 0) == PTL_ARG_INVALID);
    pm_sleep_ns(1000000);
    ptl_ct_event_t v;
    CHECK(PtlCTGet(ct, &v) == PTL_OK && v.success == 0 && v.failure == 6);
  }
  PtlFini();
}
static void maps_may_name_nodes_that_are_not_there(void) {
  for (int level = 0; level < 3; level++) {
    const pm_link_model levels[] = {PM_LINK_FLOW, PM_LINK_LOGGP, PM_LINK_PACKET};
    run_world(2, nowhere_body, &(pm_world_desc){.link = levels[level]});
  }
}

/* An entry may name memory that is not there, or may not be written: who meets it is told, the rest goes on. */
enum { CLOSED, READABLE, SPLIT, ALL_MEMORY, PIECES, WAYS };
static int way;
static char *two_pages(void) { /* two pages: neither may be touched; may be read; only the first is there */
  char *two = (char *)mmap(NULL, 8192, way == READABLE ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(two != MAP_FAILED);
  if (way == SPLIT) CHECK(mprotect(two, 4096, PROT_READ | PROT_WRITE) == 0);
  return two;
}
static int fail_of(side *s, int event, int target_event) { /* of the last operation, whose target is told the same */
  ptl_event_t e;
  int fail = -1, told = -2;
  while (fail == -1 || told == -2) {
    if (PtlEQPoll(&s->eq, 1, 1000, &e, NULL) != PTL_OK) return -3;
    if (e.type == event) fail = e.ni_fail_type;
    if (e.type == target_event) told = e.ni_fail_type;
  }
  CHECK(fail == told);
  return fail;
}
static void closed_body(void *unused) {
  side s_, *s = &s_;
  ptl_handle_me_t h;
  ptl_ct_event_t v;
  const ptl_process_t self = pm_process_id(0);
  char *two = two_pages();
  (void)unused;
  ptl_iovec_t pieces[] = {{s_.memory, 100}, {two, 4096}};
  side_open(s, PTL_NI_MATCHING, 0, 0);
  ptl_me_t me = entry(two, 8192, 9, PUT_GET | QUIET | PTL_ME_EVENT_CT_COMM);
  ptl_size_t at = way == SPLIT ? 4096 - 1000 : 0;
  me.ct_handle = s->ct;
  if (way == ALL_MEMORY) me.start = NULL, me.length = PTL_SIZE_MAX, at = (ptl_size_t)(uintptr_t)two;
  if (way == PIECES) me.start = pieces, me.length = 2, me.options |= PTL_IOVEC;
  CHECK(PtlMEAppend(s->ni, 3, &me, PTL_PRIORITY_LIST, NULL, &h) == PTL_OK);
  for (int again = 0; again < 2; again++) {
    const ptl_size_t bytes = way == SPLIT ? 1001 : 2000;
    CHECK(PtlPut(s->md, 0, bytes - (ptl_size_t)again, PTL_ACK_REQ, self, 3, 9, at, NULL, 0) == PTL_OK);
    CHECK(fail_of(s, PTL_EVENT_ACK, PTL_EVENT_PUT) == (again && way == SPLIT ? PTL_NI_OK : PTL_NI_SEGV));
    CHECK(PtlGet(s->md, 0, bytes - (ptl_size_t)again, self, 3, 9, at, NULL) == PTL_OK);
    CHECK(fail_of(s, PTL_EVENT_REPLY, PTL_EVENT_GET) == (way == READABLE || (again && way == SPLIT) ? PTL_NI_OK : PTL_NI_SEGV));
  }
  CHECK(PtlFetchAtomic(s->md, 0, s->md, 8, 8, self, 3, 9, at + 4096, NULL, 0, PTL_SUM, PTL_UINT64_T) == PTL_OK);
  if (way != PIECES) CHECK(fail_of(s, PTL_EVENT_REPLY, PTL_EVENT_FETCH_ATOMIC) == PTL_NI_SEGV);
  CHECK(PtlCTGet(s->ct, &v) == PTL_OK && v.failure > 0);
  pm_sleep_ns(1000000);
  munmap(two, 8192);
  PtlFini();
}
static void memory_that_is_not_there_is_told(void) {
  for (int level = 0; level < 3; level++)
    for (way = 0; way < WAYS; way++) {
      const pm_link_model levels[] = {PM_LINK_FLOW, PM_LINK_LOGGP, PM_LINK_PACKET};
      run_world(1, closed_body, &(pm_world_desc){.link = levels[level], .catch_crashes = 1});
    }
}
/* Memory that was there, and looked at, may be gone when the next message comes, or while it comes; at the target, or what is sent. */
static void gone_body(void *unused) {
  side s_, *s = &s_;
  ptl_handle_me_t h;
  ptl_handle_md_t its;
  const ptl_process_t self = pm_process_id(0);
  enum { BYTES = 65536 };
  char *there = (char *)mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  (void)unused;
  CHECK(there != MAP_FAILED);
  side_open(s, PTL_NI_MATCHING, 0, 0);
  const ptl_me_t me = entry(there, BYTES, 9, PUT_GET | QUIET), mine = entry(s_.memory, 64, 8, PUT_GET | QUIET);
  const ptl_md_t md = {there, BYTES, 0, s->eq, PTL_CT_NONE};
  CHECK(PtlMEAppend(s->ni, 3, &me, PTL_PRIORITY_LIST, NULL, &h) == PTL_OK && PtlMDBind(s->ni, &md, &its) == PTL_OK);
  CHECK(PtlMEAppend(s->ni, 3, &mine, PTL_PRIORITY_LIST, NULL, &h) == PTL_OK);
  CHECK(PtlPut(s->md, 0, 2000, PTL_ACK_REQ, self, 3, 9, 0, NULL, 0) == PTL_OK);
  CHECK(fail_of(s, PTL_EVENT_ACK, PTL_EVENT_PUT) == PTL_NI_OK);
  if (way) CHECK(PtlPut(s->md, 0, 2000, PTL_ACK_REQ, self, 3, 9, 0, NULL, 0) == PTL_OK); /* is on its way */
  CHECK(munmap(there, BYTES) == 0);
  if (way) CHECK(fail_of(s, PTL_EVENT_ACK, PTL_EVENT_PUT) == PTL_NI_SEGV);
  for (ptl_size_t bytes = 8; bytes <= 2048; bytes *= 16) {
    CHECK(PtlPut(s->md, 0, bytes, PTL_ACK_REQ, self, 3, 9, 8, NULL, 0) == PTL_OK);
    CHECK(fail_of(s, PTL_EVENT_ACK, PTL_EVENT_PUT) == PTL_NI_SEGV);
    CHECK(PtlGet(s->md, 0, bytes, self, 3, 9, 8, NULL) == PTL_OK);
    CHECK(fail_of(s, PTL_EVENT_REPLY, PTL_EVENT_GET) == PTL_NI_SEGV);
    CHECK(PtlPut(its, 0, bytes > 64 ? 64 : bytes, PTL_ACK_REQ, self, 3, 8, 0, NULL, 0) == PTL_OK);
    CHECK(fail_of(s, PTL_EVENT_ACK, PTL_EVENT_PUT) == PTL_NI_SEGV);
  }
  CHECK(PtlFetchAtomic(its, 0, s->md, 8, 8, self, 3, 8, 0, NULL, 0, PTL_SUM, PTL_UINT64_T) == PTL_OK);
  ptl_event_t e = EXPECT(s, FETCH_ATOMIC); /* it is done; what it brings back has no place */
  CHECK(e.ni_fail_type == PTL_NI_OK);
  EXPECT(s, SEND), e = EXPECT(s, REPLY);
  CHECK(e.ni_fail_type == PTL_NI_SEGV && e.mlength == 0);
  PtlFini();
}
void __asan_init(void) __attribute__((weak)); /* the library's own PM__ASAN is not seen here */
static void memory_that_goes_is_told(void) {
  if (__asan_init) SKIP("the address sanitizer reports crashes itself");
  for (int level = 0; level < 3; level++)
    for (way = 0; way < 2; way++) {
      const pm_link_model levels[] = {PM_LINK_FLOW, PM_LINK_LOGGP, PM_LINK_PACKET};
      run_world(1, gone_body, &(pm_world_desc){.link = levels[level], .catch_crashes = 1});
    }
}

/* Whether memory is there is asked without a wait, also where it is zero: who waits gives its core away. */
static void zeros_body(void *unused) {
  enum { PAGES = 2000 };
  side s_, *s = &s_;
  struct rusage before, after;
  char *zeros = (char *)mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  (void)unused;
  CHECK(zeros != MAP_FAILED);
  side_open(s, PTL_NI_MATCHING, 0, 0);
  ptl_me_t me = entry(zeros, PAGES * 4096, 9, PUT_GET | QUIET | PTL_ME_EVENT_COMM_DISABLE);
  ptl_handle_me_t h;
  ptl_event_t e;
  CHECK(PtlMEAppend(s->ni, 3, &me, PTL_PRIORITY_LIST, NULL, &h) == PTL_OK);
  getrusage(RUSAGE_THREAD, &before);
  for (int i = 0; i < PAGES; i++) {
    CHECK(PtlGet(s->md, 0, 8, pm_process_id(0), 3, 9, (ptl_size_t)i * 4096, NULL) == PTL_OK);
    CHECK(PtlEQWait(s->eq, &e) == PTL_OK && e.type == PTL_EVENT_REPLY && e.ni_fail_type == PTL_NI_OK);
  }
  getrusage(RUSAGE_THREAD, &after);
  CHECK(after.ru_nvcsw - before.ru_nvcsw < PAGES / 4);
  munmap(zeros, PAGES * 4096);
  PtlFini();
}
static void who_asks_for_memory_does_not_wait(void) { run_world(1, zeros_body, &(pm_world_desc){.catch_crashes = 1}); }

/* As many entries as the interface said, not one more. */
static void list_body(void *unused) {
  ptl_handle_ni_t ni;
  ptl_pt_index_t pt;
  ptl_ni_limits_t wish = {0}, got;
  char byte;
  (void)unused;
  wish.max_list_size = 40;
  CHECK(PtlInit() == PTL_OK);
  CHECK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, &wish, &got, &ni) == PTL_OK);
  CHECK(PtlPTAlloc(ni, 0, PTL_EQ_NONE, 3, &pt) == PTL_OK);
  CHECK(got.max_list_size >= 40 && got.max_list_size < 100000);
  ptl_me_t me = entry(&byte, 1, 5, PUT_GET | QUIET);
  ptl_handle_me_t h;
  for (int i = 0; i < got.max_list_size; i++) CHECK(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, NULL, &h) == PTL_OK);
  CHECK(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, NULL, &h) == PTL_LIST_TOO_LONG);
  CHECK(PtlNIFini(ni) == PTL_OK);
  PtlFini();
}
static void lists_hold_what_the_interface_said(void) { run_world(1, list_body, NULL); }

/* Reading back what was there needs the right to get, besides the right to put. */
static void fetch_body(void *unused) {
  side s;
  (void)unused;
  side_open(&s, PTL_NI_MATCHING, 0, 0);
  append(&s, entry(s.memory, 64, 1, PTL_ME_OP_PUT | QUIET), PTL_PRIORITY_LIST, NULL);
  CHECK(PtlFetchAtomic(s.md, 128, s.md, 192, 8, pm_process_id(0), 3, 1, 0, NULL, 0, PTL_SUM, PTL_UINT64_T) == PTL_OK);
  EXPECT(&s, SEND);
  const ptl_event_t e = EXPECT(&s, REPLY);
  CHECK(e.ni_fail_type == PTL_NI_OP_VIOLATION);
  side_close(&s);
}
static void fetching_needs_the_right_to_get(void) { run_world(1, fetch_body, NULL); }

/* Messages arrive at once for a queue with room for some: the next is refused although
   those before it have not written their events yet, so no event is ever lost. */
static void promised_body(void *unused) {
  ptl_handle_ni_t ni;
  ptl_handle_eq_t eq;
  ptl_handle_md_t md_handle;
  ptl_pt_index_t pt;
  static unsigned char memory[1 << 20];
  (void)unused;
  CHECK(PtlInit() == PTL_OK);
  CHECK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &ni) == PTL_OK);
  CHECK(PtlEQAlloc(ni, 3, &eq) == PTL_OK);
  CHECK(PtlPTAlloc(ni, PTL_PT_FLOWCTRL, eq, 3, &pt) == PTL_OK);
  ptl_md_t md = {memory, sizeof memory, 0, PTL_EQ_NONE, PTL_CT_NONE};
  CHECK(PtlMDBind(ni, &md, &md_handle) == PTL_OK);
  if (pm_rank() == 0) {
    ptl_handle_me_t h;
    ptl_me_t me = entry(memory, sizeof memory, 5, PUT_GET | QUIET);
    CHECK(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, NULL, &h) == PTL_OK);
  }
  pm_barrier();
  if (pm_rank() > 0) PtlPut(md_handle, 0, 4096, PTL_NO_ACK_REQ, pm_process_id(0), 3, 5, 0, NULL, 0);
  pm_sleep_ns(1000000);
  if (pm_rank() == 0) {
    ptl_event_t e;
    int puts = 0, disabled = 0, code;
    while ((code = PtlEQGet(eq, &e)) == PTL_OK) puts += e.type == PTL_EVENT_PUT, disabled += e.type == PTL_EVENT_PT_DISABLED;
    CHECK(code == PTL_EQ_EMPTY); /* not PTL_EQ_DROPPED */
    CHECK(puts == 3 && disabled == 1); /* the queue is filled to its last place */
  }
  CHECK(PtlNIFini(ni) == PTL_OK);
  PtlFini();
}
static void events_promised_to_messages_under_way_count(void) { run_world(9, promised_body, NULL); }

/* Draws of a kernel: never below half of the mean; of a mixture, each mode as often as its weight says. */
static void kernel_body(void *world) {
  pm_world *w = *(pm_world **)world;
  pm_kernel noisy = {0}, mixed = {0};
  noisy.one_s = 1;
  noisy.sigma_ratio = 5;
  int at_the_floor = 0, first = 0, second = 0;
  for (int i = 0; i < 2000; i++) {
    const double s = pm_kernel_draw_s(&noisy, w, 0, 0, 0);
    CHECK(s >= 0.5);
    at_the_floor += s <= 0.5;
  }
  CHECK(at_the_floor > 600 && at_the_floor < 1400); /* P(normal < -0.1) = 46 % */
  mixed.one_s = 1;
  mixed.mode_count = 3;
  mixed.modes[0].weight_ratio = 0.2, mixed.modes[0].mean_ratio = 1;
  mixed.modes[1].weight_ratio = 0.3, mixed.modes[1].mean_ratio = 2;
  mixed.modes[2].weight_ratio = 0.5, mixed.modes[2].mean_ratio = 4;
  for (int i = 0; i < 4000; i++) {
    const double s = pm_kernel_draw_s(&mixed, w, 0, 0, 0);
    first += fabs(s - 1) < 1e-9, second += fabs(s - 2) < 1e-9;
    CHECK(fabs(s - 1) < 1e-9 || fabs(s - 2) < 1e-9 || fabs(s - 4) < 1e-9);
  }
  CHECK(abs(first - 800) < 200 && abs(second - 1200) < 220);
}
static void kernels_keep_their_tails(void) {
  pm_platform platform = pm_platform_bxi2(1);
  pm_world_desc desc = {0};
  pm_world *w;
  desc.platform = &platform;
  desc.seed = test_rand();
  CHECK(pm_world_create(&desc, &w) == PM_OK);
  CHECK(pm_spawn_all(w, kernel_body, &w) == PM_OK);
  CHECK(pm_world_run(w) == PM_OK);
  pm_world_destroy(w);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(no_truncate_counts_the_offset);
  RUN(no_truncate_counts_the_own_offset);
  RUN(who_finds_what_still_arrives_is_in_use);
  RUN(entries_for_a_rank_take_only_its_messages);
  RUN(maps_may_name_nodes_that_are_not_there);
  RUN(memory_that_is_not_there_is_told);
  RUN(memory_that_goes_is_told);
  RUN(who_asks_for_memory_does_not_wait);
  RUN(lists_hold_what_the_interface_said);
  RUN(fetching_needs_the_right_to_get);
  RUN(events_promised_to_messages_under_way_count);
  RUN(kernels_keep_their_tails);
  return TEST_END();
}
