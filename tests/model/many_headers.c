/* Very many messages that came before their entries, on two portals: whoever asks finds the first that fits, as in one list
   in the order of their arrival, which the test keeps beside it. */
#include "tests/model/ptl.h"

enum { SENDERS = 3, ROUNDS = 3, EACH = 400, ASKED = 500, BITS = 64, PORTALS = 2, ROOM = 1 << 16 };
typedef struct waiting {
  ptl_event_t e;
  bool is_gone;
} waiting;
static waiting all[ROUNDS * SENDERS * EACH];
static int all_count;
static unsigned char room[ROOM], word[16];
typedef struct here {
  ptl_handle_ni_t ni;
  ptl_handle_eq_t eq;
  ptl_handle_md_t md;
  ptl_pt_index_t pt[PORTALS];
} here;

static void here_open(here *s) {
  CHECK(!PtlInit() && !PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &s->ni));
  CHECK(!PtlEQAlloc(s->ni, 2 * ROUNDS * SENDERS * EACH, &s->eq));
  const ptl_md_t md = {word, sizeof word, PTL_MD_EVENT_SEND_DISABLE, s->eq, PTL_CT_NONE};
  CHECK(!PtlMDBind(s->ni, &md, &s->md));
  for (int i = 0; i < PORTALS; i++) CHECK(!PtlPTAlloc(s->ni, 0, s->eq, 3 + (ptl_pt_index_t)i, &s->pt[i]));
}
static void send_some(const here *s) {
  for (int i = 0; i < EACH; i++)
    CHECK(!PtlPut(s->md, 0, test_below(sizeof word), PTL_NO_ACK_REQ, pm_process_id(SENDERS),
                  3 + (ptl_pt_index_t)test_below(PORTALS), test_below(BITS), 0, NULL, test_rand()));
}
static void note_arrivals(const here *s, int count) {
  ptl_event_t e;
  for (; count > 0 && PtlEQWait(s->eq, &e) == PTL_OK; count--) {
    CHECK(e.type == PTL_EVENT_PUT && e.ptl_list == PTL_OVERFLOW_LIST);
    all[all_count++].e = e;
  }
}
static waiting *first_that_fits(ptl_pt_index_t pt, const ptl_me_t *me) {
  for (int i = 0; i < all_count; i++) {
    const ptl_event_t *e = &all[i].e;
    if (!all[i].is_gone && e->pt_index == pt && ((e->match_bits ^ me->match_bits) & ~me->ignore_bits) == 0 &&
        (me->match_id.phys.nid == PTL_NID_ANY || me->match_id.phys.nid == e->initiator.phys.nid) &&
        (!(me->options & PTL_ME_NO_TRUNCATE) || e->rlength <= me->length))
      return &all[i];
  }
  return NULL;
}
static ptl_me_t random_entry(void) {
  ptl_me_t me = entry(word, test_below(sizeof word), test_below(BITS),
                      PTL_ME_OP_PUT | PTL_ME_USE_ONCE | PTL_ME_EVENT_UNLINK_DISABLE);
  if (test_below(3)) me.match_id = pm_process_id((int)test_below(SENDERS));
  if (!test_below(4)) me.ignore_bits = 7;
  if (!test_below(4)) me.options |= PTL_ME_NO_TRUNCATE;
  return me;
}
static void ask(const here *s) {
  const ptl_pt_index_t pt = s->pt[test_below(PORTALS)];
  const ptl_me_t me = random_entry();
  const int how = (int)test_below(4); /* 0: looks, 1: takes out, else an entry */
  waiting *const x = first_that_fits(pt, &me);
  ptl_handle_me_t h;
  ptl_event_t e;
  if (how > 1)
    CHECK(!PtlMEAppend(s->ni, pt, &me, PTL_PRIORITY_LIST, NULL, &h));
  else
    CHECK(!PtlMESearch(s->ni, pt, &me, how ? PTL_SEARCH_DELETE : PTL_SEARCH_ONLY, NULL));
  CHECK(PtlEQWait(s->eq, &e) == PTL_OK);
  if (!x) {
    CHECK(how > 1 ? e.type == PTL_EVENT_LINK && !PtlMEUnlink(h)
                  : e.type == PTL_EVENT_SEARCH && e.ni_fail_type == PTL_NI_NO_MATCH);
    return;
  }
  CHECK(e.type == (how ? PTL_EVENT_PUT_OVERFLOW : PTL_EVENT_SEARCH) && e.ni_fail_type == PTL_NI_OK);
  CHECK(e.hdr_data == x->e.hdr_data && e.start == x->e.start && e.pt_index == pt);
  x->is_gone = how != 0;
}
static void take_the_rest(const here *s) {
  for (int i = 0; i < PORTALS; i++) {
    ptl_me_t me = entry(word, sizeof word, 0, PTL_ME_OP_PUT);
    ptl_handle_me_t h;
    ptl_event_t e;
    waiting *x;
    me.ignore_bits = ~(ptl_match_bits_t)0;
    CHECK(!PtlMEAppend(s->ni, s->pt[i], &me, PTL_PRIORITY_LIST, NULL, &h));
    while ((x = first_that_fits(s->pt[i], &me)) && PtlEQWait(s->eq, &e) == PTL_OK) {
      CHECK(e.type == PTL_EVENT_PUT_OVERFLOW && e.hdr_data == x->e.hdr_data);
      x->is_gone = true;
    }
    CHECK(PtlEQWait(s->eq, &e) == PTL_OK && e.type == PTL_EVENT_LINK);
  }
}
static void body(void *unused) {
  here s;
  (void)unused;
  here_open(&s);
  for (int i = 0; i < PORTALS && pm_rank() == SENDERS; i++) {
    ptl_me_t me = entry(room + i * ROOM / PORTALS, ROOM / PORTALS, 0, PTL_ME_OP_PUT | PTL_ME_MANAGE_LOCAL | PTL_ME_EVENT_LINK_DISABLE);
    ptl_handle_me_t h;
    me.ignore_bits = ~(ptl_match_bits_t)0;
    CHECK(!PtlMEAppend(s.ni, s.pt[i], &me, PTL_OVERFLOW_LIST, NULL, &h));
  }
  for (int round = 0; round < ROUNDS; round++) {
    pm_barrier();
    if (pm_rank() < SENDERS) send_some(&s);
    else note_arrivals(&s, SENDERS * EACH);
    pm_barrier();
    for (int i = 0; pm_rank() == SENDERS && i < ASKED; i++) ask(&s);
  }
  if (pm_rank() == SENDERS) take_the_rest(&s);
  pm_barrier();
  CHECK(PtlNIFini(s.ni) == PTL_OK);
  PtlFini();
}
static void who_asks_finds_the_first_that_fits(void) {
  all_count = 0;
  run_world(SENDERS + 1, body, NULL);
  CHECK(all_count == ROUNDS * SENDERS * EACH);
}

int main(int argc, char **argv) {
  TEST_INIT(argc, argv);
  RUN(who_asks_finds_the_first_that_fits);
  return TEST_END();
}
