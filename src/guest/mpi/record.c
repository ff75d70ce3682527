/* --report DIR: every process has a monitor on simulated time that sees what any MPI library can see (calls, begin
   and end of transfers), and gets the wire's own stamps beside: bounds and the exact overlap in one report, as
   the preload writes it for a real run. Transfers are those of messages, of collectives too, and
   one-sided operations; files, and words that locks are made of, are calls only. Every thread of the program that calls MPI has a recorder of its own, from
   its first call on; a transfer belongs to the thread that asked for it, whoever handles its events, and to the
   place of the program where it asked. */
#include "gm.h"
#include "guest.h"
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* What is known of a message by its sender's rank and number: the receiver finds the stamp there. */
typedef struct mark {
  uint64_t key, sender_id; /* key 0: free */
  nbc_recorder *sender;
  int64_t t_begin_ns, t_end_ns;
  int64_t asked_ns; /* when the sender asked, + 1; 0: not known */
  gm_msg *sent;     /* the sender's, of one that waits for its receiver; NULL: may be gone */
  struct mark *next;
} mark;
enum { MARKS = 1 << 16 };
static mark *marks[MARKS], *free_marks;
static nbc_table *tables[2];
static int not_written, rescued;
static char run_name[64]; /* as the preload's: reports of several runs may lie in one folder */

static uint64_t key_of(int rank, uint64_t number) {
  return ((uint64_t)rank << 24 | (number & 0xFFFFFF)) + 1;
}
static mark **mark_at(uint64_t key) {
  mark **at = &marks[key * 0x9E3779B97F4A7C15u >> 48];
  while (*at && (*at)->key != key) at = &(*at)->next;
  return at;
}
static mark *mark_new(uint64_t key) {
  mark **at = mark_at(key), *m = *at;
  if (m) return m;
  m = free_marks;
  if (m)
    free_marks = m->next;
  else
    m = gm_alloc(sizeof *m);
  memset(m, 0, sizeof *m);
  m->key = key;
  return *at = m;
}
static void mark_free(mark **at) {
  mark *m = *at;
  *at = m->next;
  m->next = free_marks;
  free_marks = m;
}

/* ---- calls ------------------------------------------------------------------------------------------------- */
static nbc_kind named(const char *text) {
  for (int k = 0; k < NBC_KIND_COUNT; k++)
    if (strcmp(nbc_kind_name((nbc_kind)k), text) == 0) return (nbc_kind)k;
  return NBC_KIND_OTHER;
}
static nbc_kind kind_of_name(const char *name) {
  static const struct {
    const char *start;
    nbc_kind kind;
  } other[] = {{"comm_dup_with_info", NBC_KIND_COMM_DUP},
               {"comm_idup", NBC_KIND_COMM_DUP},
               {"comm_create_from", NBC_KIND_COMM_CREATE},
               {"comm_create_group", NBC_KIND_COMM_CREATE},
               {"intercomm_", NBC_KIND_COMM_CREATE},
               {"comm_shrink", NBC_KIND_COMM_CREATE},
               {"comm_split_type", NBC_KIND_COMM_SPLIT},
               {"comm_disconnect", NBC_KIND_COMM_FREE},
               {"comm_agree", NBC_KIND_BARRIER},
               {"cart_create", NBC_KIND_TOPOLOGY},
               {"cart_sub", NBC_KIND_TOPOLOGY},
               {"graph_create", NBC_KIND_TOPOLOGY},
               {"dist_graph_create", NBC_KIND_TOPOLOGY},
               {"win_create", NBC_KIND_WIN_CREATE},
               {"win_allocate", NBC_KIND_WIN_CREATE},
               {"win_test", NBC_KIND_TEST},
               {"request_get_status", NBC_KIND_TEST},
               {"parrived", NBC_KIND_TEST},
               {"ssend", NBC_KIND_SEND},
               {"bsend", NBC_KIND_SEND},
               {"rsend", NBC_KIND_SEND},
               {"issend", NBC_KIND_ISEND},
               {"ibsend", NBC_KIND_ISEND},
               {"irsend", NBC_KIND_ISEND},
               {"isendrecv", NBC_KIND_ISEND},
               {"mprobe", NBC_KIND_PROBE},
               {"improbe", NBC_KIND_IPROBE},
               {"mrecv", NBC_KIND_RECV},
               {"imrecv", NBC_KIND_IRECV},
               {"sendrecv", NBC_KIND_SENDRECV},
               {"test", NBC_KIND_TEST},
               {"startall", NBC_KIND_START},
               {"win_", NBC_KIND_RMA_SYNC},
               {"rput", NBC_KIND_PUT},
               {"rget_acc", NBC_KIND_ATOMIC},
               {"rget", NBC_KIND_GET},
               {"get_acc", NBC_KIND_ATOMIC},
               {"accum", NBC_KIND_ATOMIC},
               {"raccum", NBC_KIND_ATOMIC},
               {"fetch_and", NBC_KIND_ATOMIC},
               {"compare_and", NBC_KIND_ATOMIC},
               {"file_", NBC_KIND_IO}};
  char text[64];
  size_t n = 0;
  for (name += name[3] == 'X' ? 5 : 4; *name && n + 1 < sizeof text; name++)
    text[n++] = (char)tolower((unsigned char)*name);
  text[n] = 0;
  nbc_kind kind = named(text);
  if (kind != NBC_KIND_OTHER) return kind;
  for (size_t i = 0; i < sizeof other / sizeof *other; i++)
    if (strncmp(text, other[i].start, strlen(other[i].start)) == 0) return other[i].kind;
  if (n > 6 && strcmp(text + n - 6, "_block") == 0)
    n -= 6;
  else if (n && (text[n - 1] == 'v' || text[n - 1] == 'w'))
    n--;
  text[n] = 0;
  return named(text);
}
static nbc_kind kind_of(
    const char *name) { /* names are constants: their addresses tell them apart */
  static struct {
    const char *name;
    nbc_kind kind;
  } known[2048];
  size_t i = ((uintptr_t)name >> 2) % 2048;
  for (int tries = 0; tries < 2048; tries++, i = (i + 1) % 2048) {
    if (known[i].name == name) return known[i].kind;
    if (known[i].name) continue;
    known[i].name = name;
    return known[i].kind = kind_of_name(name);
  }
  return kind_of_name(name);
}
/* NULL: the thread that runs is the worker's, or has not called yet. */
static nbc_recorder *mine(const gm_proc *p) {
  return pm_thread_self() == p->worker ? NULL : *gm_recorder_now();
}
/* The thread that runs has the recorder, or the one that has it waits in a call and sees what happens now: its time in
   that call is for what ends in it, whoever handles the events. */
static bool is_at_hand(const gm_proc *p, const nbc_recorder *r) {
  if (r == mine(p)) return true;
  for (const gm_waiter *w = p->waiters; w; w = w->next)
    if (w->recorder == r) return true;
  return false;
}
/* The running thread's, from its first call on; measures when the process does. */
static nbc_recorder *recorder_at(gm_proc *p, int64_t t_ns) {
  nbc_recorder **r = gm_recorder_now();
  if (!*r && nbc_recorder_attach_at(p->record->monitor, t_ns, r))
    gm_fatal("--report: out of memory");
  nbc_recorder_switch_at(*r, !p->record->is_off, t_ns);
  return *r;
}
static int64_t measured_now_ns(void) {
  if (gm_set.computes) pm_compute_measured();
  return pm_now_ns();
}
void gm_record_section(gm_proc *p, const char *name) {
  const int64_t t_ns = measured_now_ns();
  nbc_recorder *r = recorder_at(p, t_ns);
  if (name)
    nbc_section_begin_at(r, name, t_ns);
  else
    nbc_section_end_at(r, NULL, t_ns);
}
void gm_record_switch(gm_proc *p, bool on) {
  p->record->is_off = !on;
  recorder_at(p, measured_now_ns());
}
static void add_to_place(const gm_proc *p, gm_place *x, int64_t d_ns) {
  if (!x || (p->record && p->record->is_off)) return;
  x->where.count++;
  x->where.total_ns += d_ns;
  if (d_ns > x->where.max_ns) x->where.max_ns = d_ns;
}
/* Where the time in calls went: of what a call waits for at once each moment counts once, when the call is over. */
static void note_wait(struct gm_record *k, const nbc_pair *x, nbc_wait_kind kind, int64_t since_ns,
                      int64_t until_ns) {
  if (since_ns < k->counted_ns) since_ns = k->counted_ns;
  if (until_ns <= since_ns) return;
  if (k->noted_count == k->noted_room) {
    nbc_wait_span *const old = k->noted;
    k->noted_room = old ? 2 * k->noted_room : 16;
    k->noted = gm_alloc(k->noted_room * sizeof *k->noted);
    if (old) memcpy(k->noted, old, k->noted_count * sizeof *old);
    free(old);
  }
  k->noted[k->noted_count++] = (nbc_wait_span){x->rank, x->partner, kind, since_ns, until_ns, 0};
}
static void count_waits(struct gm_record *k) {
  if (nbc_waits_add(&k->waits, k->noted, k->noted_count) != NBC_OK)
    gm_fatal("--report: out of memory");
  for (uint32_t i = 0; i < k->noted_count; i++)
    if (k->noted[i].until_ns > k->counted_ns) k->counted_ns = k->noted[i].until_ns;
  k->noted_count = 0;
}
/* The call of the running thread is over. */
static void count_place(const gm_proc *p, int64_t t_ns) {
  gm_place *const x = *gm_place_now();
  *gm_place_now() = NULL;
  add_to_place(p, x, t_ns - *gm_place_since());
  if (p->record) count_waits(p->record);
}
static bool looks(nbc_kind kind) { return kind == NBC_KIND_TEST || kind == NBC_KIND_IPROBE; }
static void note_look(gm_looks *k, const nbc_recorder *by, nbc_kind kind, int64_t t_ns) {
  if (!looks(kind)) return;
  if (k->by == by) {
    k->gaps_ns += t_ns - k->end_ns;
    k->count++;
  } else
    *k = (gm_looks){.by = by, .begin_ns = t_ns};
  k->tests = k->tests || kind == NBC_KIND_TEST;
  k->probes = k->probes || kind == NBC_KIND_IPROBE;
}
void gm_record_call(gm_proc *p, int enter, const char *name, gm_place *place) {
  const int64_t t_ns = measured_now_ns();
  if (!enter) {
    nbc_recorder **r = gm_recorder_now();
    gm_looks *const k = &p->record->looks;
    if (!looks(kind_of(name)) || *r != k->by)
      k->by = NULL; /* another call ends them, also one that received what they had found */
    k->end_ns = t_ns;
    if (*r) nbc_call_exit_at(*r, t_ns);
    count_place(p, t_ns);
    return;
  }
  const nbc_kind kind = kind_of(name);
  nbc_recorder *const r = recorder_at(p, t_ns);
  nbc_call_enter_at(r, kind, t_ns);
  note_look(&p->record->looks, r, kind, t_ns);
  *gm_place_now() = place;
  *gm_place_since() = t_ns;
}
/* Its time stops; what it asked for may still end, and is known no more to have been computed beside. */
void gm_recorder_end(nbc_recorder **r) {
  gm_proc *p = gm_self();
  if (*r && p && p->record) nbc_recorder_detach_at(*r, pm_now_ns());
  *r = NULL;
}
nbc_recorder *gm_record_owner(const gm_proc *p) {
  nbc_recorder *r = mine(p);
  return r ? r : p->record->first;
}

void gm_record_asked(const gm_proc *p, gm_msg *m) {
  if (m->owner) return;
  const gm_place *at = *gm_place_now();
  m->owner = gm_record_owner(p);
  m->place = at && m->owner == mine(p) ? at->number : 0;
  m->kind = at ? (uint8_t)kind_of(at->name) : 0;
  m->asked_ns = pm_now_ns();
}

/* ---- transfers ------------------------------------------------------------------------------------------------ */
static nbc_peer peer_class(const gm_proc *p, int rank) {
  pm_world *w = pm_world_of(pm_self());
  if (rank < 0) return NBC_PEER_UNKNOWN;
  if (rank == p->rank) return NBC_PEER_SELF;
  return pm_process_node(pm_process_at(w, rank)) == pm_process_node(pm_self())
             ? NBC_PEER_SAME_NODE
             : NBC_PEER_OTHER_NODE;
}
/* As the preload calls it: blocking calls and starts by themselves, the messages that others are made of by what they are. */
static nbc_kind transfer_kind(const gm_msg *m) {
  switch ((nbc_kind)m->kind) {
  case NBC_KIND_SEND:
  case NBC_KIND_RECV:
  case NBC_KIND_SENDRECV:
  case NBC_KIND_START: return (nbc_kind)m->kind;
  default:
    return m->context % GM_CONTEXTS == GM_PARTITION ? NBC_KIND_START
           : m->is_send                             ? NBC_KIND_ISEND
                                                    : NBC_KIND_IRECV;
  }
}
/* Both sides' times, for why one waited. */
void gm_record_met(gm_msg *m) {
  mark *x = *mark_at(key_of(m->source, m->slot));
  if (!x || !m->owner) return;
  m->other_asked_ns = x->asked_ns;
  if (x->sent) x->sent->other_asked_ns = m->asked_ns + 1;
}
/* The sender's data may be on its way from now on; its number finds the stamp. */
void gm_record_send(gm_proc *p, gm_msg *m) {
  if (!m->bytes || m->is_quiet) return;
  gm_record_asked(p, m);
  m->xfer_id = ++p->record->ids;
  mark *at = mark_new(key_of(p->rank, m->slot));
  at->sender_id = m->xfer_id;
  at->sender = m->owner;
  at->asked_ns = m->asked_ns + 1;
  at->sent = m->is_sync ? m : NULL;
  nbc_recorder_place(m->owner, m->place);
  if (m->bytes > NBC_LARGE_SEND_BYTES) m->comp_ns = nbc_recorder_comp_ns(m->owner, pm_now_ns());
  (is_at_hand(p, m->owner) ? nbc_xfer_begin_at : nbc_foreign_begin_at)(
      m->owner, m->xfer_id, m->bytes, transfer_kind(m), peer_class(p, m->peer), pm_now_ns());
}
static gm_ending *ending_at(const struct gm_record *k, uint16_t begin, uint16_t end) {
  uint32_t i = (((uint32_t)begin << 16 | end) * 0x9E3779B1u >> 12) & k->ending_mask;
  while (k->endings[i].begin && (k->endings[i].begin != begin || k->endings[i].end != end))
    i = (i + 1) & k->ending_mask;
  return &k->endings[i];
}
static void more_endings(struct gm_record *k) {
  const uint32_t old = k->endings ? k->ending_mask + 1 : 0, size = old ? 2 * old : 32;
  gm_ending *const all = k->endings;
  k->endings = gm_alloc(size * sizeof *k->endings);
  memset(k->endings, 0, size * sizeof *k->endings);
  k->ending_mask = size - 1;
  for (uint32_t i = 0; i < old; i++)
    if (all[i].begin) *ending_at(k, all[i].begin, all[i].end) = all[i];
  free(all);
}
/* Where the thread that has a recorder is in a call; NULL: in none. */
static const gm_place *place_of(const gm_proc *p, const nbc_recorder *r) {
  if (r == mine(p)) return *gm_place_now();
  for (const gm_waiter *w = p->waiters; w; w = w->next)
    if (w->recorder == r) return w->place;
  return NULL;
}
/* It ends in a call of who asked for it, at another place; before the monitor is told. */
static void count_ending(gm_proc *p, const gm_msg *m) {
  struct gm_record *k = p->record;
  const gm_place *at = place_of(p, m->owner);
  if (!at || !at->number || !m->place || at->number == m->place || k->is_off) return;
  if (2 * k->ending_count >= (k->endings ? k->ending_mask + 1 : 0)) more_endings(k);
  gm_ending *e = ending_at(k, m->place, at->number);
  k->ending_count += !e->begin;
  e->begin = m->place;
  e->end = at->number;
  e->count++;
  e->waited_ns += nbc_recorder_waited_ns(m->owner, pm_now_ns());
}
static void forget(gm_msg *m) {
  m->xfer_id = 0;
  m->owner = NULL;
  m->place = 0;
  m->kind = 0;
}
static void sent(gm_proc *p, gm_msg *m) {
  const bool is_mine = is_at_hand(p, m->owner);
  count_ending(p, m);
  if (m->is_sync)
    (is_mine ? nbc_xfer_end_at : nbc_foreign_end_at)(m->owner, m->xfer_id, pm_now_ns());
  else
    (is_mine ? nbc_xfer_end_local_at : nbc_foreign_end_local_at)(m->owner, m->xfer_id, pm_now_ns());
  forget(m);
}
/* A receive: from its posting on the data may come. Where it may be there already, or is fetched. */
void gm_record_recv(gm_proc *p, gm_msg *m) {
  if (!m->limit_bytes || m->is_quiet) return;
  gm_record_asked(p, m);
  m->xfer_id = ++p->record->ids;
  nbc_recorder_place(m->owner, m->place);
  (is_at_hand(p, m->owner) ? nbc_xfer_begin_at : nbc_foreign_begin_at)(
      m->owner, m->xfer_id, m->limit_bytes, transfer_kind(m), peer_class(p, m->peer), pm_now_ns());
}
void gm_record_cancel(gm_proc *p, gm_msg *m) {
  if (m->xfer_id)
    (is_at_hand(p, m->owner) ? nbc_xfer_cancel : nbc_foreign_cancel)(m->owner, m->xfer_id);
  forget(m);
}
/* An early or fetched message is in its buffer. */
static void received(gm_proc *p, gm_msg *m) {
  nbc_recorder *r = m->owner;
  const bool is_mine = is_at_hand(p, r);
  mark **at = mark_at(key_of(m->source, m->slot));
  if (!m->is_sync &&
      *at) { /* one that came by itself: its stamp was set down by its sender's side */
    if ((*at)->t_end_ns) nbc_xfer_stamp(r, m->xfer_id, (*at)->t_begin_ns, (*at)->t_end_ns, 0);
    mark_free(at);
  }
  const nbc_peer peer = peer_class(p, m->source);
  if (m->bytes) count_ending(p, m);
  if (!m->bytes)
    (is_mine ? nbc_xfer_cancel : nbc_foreign_cancel)(r, m->xfer_id);
  else if (m->is_sync)
    (is_mine ? nbc_xfer_end_sized_at : nbc_foreign_end_sized_at)(r, m->xfer_id, m->bytes, peer,
                                                                 pm_now_ns());
  else if (is_mine)
    nbc_xfer_end_early_at(r, m->xfer_id, m->bytes, peer, pm_now_ns());
  else
    nbc_foreign_end_early(r, m->xfer_id, m->bytes, peer);
  forget(m);
}
/* ---- who with whom ---- */
static bool is_used(const nbc_pair *x) {
  return x->sent_count || x->received_count || x->waited_ns || x->last_count;
}
static gm_with *with_at(const struct gm_record *k, int partner) {
  uint32_t i = (uint32_t)(((uint64_t)(uint32_t)partner * 0x9E3779B97F4A7C15u) >> 40) & k->pair_mask;
  while (is_used(&k->with[i].pair) && k->with[i].pair.partner != partner)
    i = (i + 1) & k->pair_mask;
  return &k->with[i];
}
static gm_with *with_partner(struct gm_record *k, int rank, int partner) {
  const uint32_t old = k->with ? k->pair_mask + 1 : 0, size = old ? 2 * old : 16;
  gm_with *const all = k->with;
  if (2 * k->pair_count >= old) {
    k->with = gm_alloc(size * sizeof *k->with);
    memset(k->with, 0, size * sizeof *k->with);
    k->pair_mask = size - 1;
    for (uint32_t i = 0; i < old; i++)
      if (is_used(&all[i].pair)) *with_at(k, all[i].pair.partner) = all[i];
    free(all);
  }
  gm_with *x = with_at(k, partner);
  if (!is_used(&x->pair)) k->pair_count++;
  x->pair.rank = rank;
  x->pair.partner = partner;
  return x;
}
static nbc_pair *pair_with(struct gm_record *k, int rank, int partner) {
  return &with_partner(k, rank, partner)->pair;
}
/* + 1; 0: not known. A send that needs no receive waits for none. */
static int64_t other_asked_ns(const gm_msg *m) {
  return m->is_send && !m->is_sync ? 1 : m->other_asked_ns;
}
/* Of what was waited, until the partner had called, and after that. first_ns: since when, though it was told of with other
   messages of the call. */
static void tell_why(struct gm_record *k, nbc_pair *x, int64_t other_ns, int64_t first_ns,
                     int64_t since_ns, int64_t now_ns) {
  if (!other_ns) return;
  const int64_t waited_ns = now_ns - since_ns, before_ns = other_ns - 1 - since_ns;
  const int64_t late_ns = before_ns < 0 ? 0 : before_ns < waited_ns ? before_ns : waited_ns;
  const int64_t called_ns = other_ns - 1 < now_ns ? other_ns - 1 : now_ns;
  x->known_ns += waited_ns;
  x->late_ns += late_ns;
  x->moving_ns += waited_ns - late_ns;
  note_wait(k, x, NBC_WAIT_LATE, first_ns, called_ns);
  note_wait(k, x, NBC_WAIT_MOVING, called_ns > first_ns ? called_ns : first_ns, now_ns);
}
/* Since when the running thread looks in vain: by tests before a test, by probes before the receive. Whoever computes
   between two looks, longer than a microsecond on average, is not waiting. INT64_MAX: it does not. */
static int64_t looks_since_ns(const gm_proc *p, bool by_tests) {
  const gm_looks *k = &p->record->looks;
  if (!k->by || k->by != mine(p) || k->gaps_ns > 1000 * k->count) return INT64_MAX;
  return (by_tests ? k->tests : k->probes) ? k->begin_ns : INT64_MAX;
}
static bool is_test(void) {
  const gm_place *at = *gm_place_now();
  return at && kind_of(at->name) == NBC_KIND_TEST;
}
static int64_t looked_since_ns(const gm_proc *p, const gm_msg *m, int64_t since_ns,
                               int64_t told_ns) {
  int64_t begin_ns = looks_since_ns(p, is_test());
  if (!is_test() && (m->is_send || m->asked_ns < *gm_place_since())) return since_ns;
  if (begin_ns < told_ns) begin_ns = told_ns;
  return begin_ns < since_ns ? begin_ns : since_ns;
}
/* Messages of the program, not those that collectives are made of: as the preload counts them. */
static void count_pair(gm_proc *p, const gm_msg *m) {
  const uint32_t part = m->context % GM_CONTEXTS;
  const int partner = m->is_send ? m->peer : m->source;
  if (!m->is_message || m->is_quiet || partner < 0 || (part && part < GM_PARTS) ||
      p->record->is_off)
    return;
  const nbc_recorder *r = m->owner ? m->owner : gm_record_owner(p);
  const int64_t now_ns = pm_now_ns(), untold_ns = now_ns - p->record->told_ns;
  int64_t waited_ns = is_at_hand(p, r) ? nbc_recorder_waited_ns(r, now_ns) : 0;
  const int64_t in_call_ns =
      r == mine(p) && *gm_place_now() ? now_ns - *gm_place_since() : waited_ns;
  if (untold_ns < waited_ns)
    waited_ns = untold_ns; /* one without data ended since: it moves no monitor's time */
  const int64_t since_ns = looked_since_ns(p, m, now_ns - waited_ns, p->record->told_ns),
                first_ns = looked_since_ns(p, m, now_ns - in_call_ns, 0);
  p->record->told_ns = now_ns;
  nbc_pair *x = pair_with(p->record, p->rank, partner);
  x->waited_ns += waited_ns;
  tell_why(p->record, x, other_asked_ns(m), first_ns, since_ns, now_ns);
  if (m->is_send) {
    x->sent_count++;
    x->sent_bytes += m->bytes;
    if (m->xfer_id && m->bytes > NBC_LARGE_SEND_BYTES)
      x->busy_ns += nbc_recorder_comp_ns(r, now_ns) - m->comp_ns;
  } else {
    x->received_count++;
    x->received_bytes += m->bytes;
    if (m->bytes <= NBC_LARGE_SEND_BYTES) x->small_waited_ns += waited_ns;
  }
}
/* ---- who came last ---- */
/* A collective that some are in: when its members called. */
struct gm_gathering {
  uint64_t key;
  int last, left;
  gm_gathering *next;
  int64_t called_ns[]; /* of each rank in the communicator */
};
static gm_gathering *gatherings[MARKS];
static gm_gathering **gathering_at(const gm_comm *c, uint32_t sequence) {
  const uint64_t key = (uint64_t)c->context << 32 | sequence;
  gm_gathering **at = &gatherings[key * 0x9E3779B97F4A7C15u >> 48];
  while (*at && (*at)->key != key) at = &(*at)->next;
  if (!*at) {
    *at = gm_alloc(sizeof **at + (size_t)c->local->size * sizeof *(*at)->called_ns);
    (*at)->key = key;
  }
  return at;
}
gm_gathering *gm_record_gathering(const gm_comm *c, uint32_t sequence) {
  return *gathering_at(c, sequence);
}
void gm_record_called(const gm_comm *c, uint32_t sequence) {
  gm_gathering *g = *gathering_at(c, sequence);
  g->called_ns[c->rank] = pm_now_ns();
  if (g->called_ns[c->rank] >= g->called_ns[g->last]) g->last = c->rank;
}
int gm_record_last(const gm_gathering *g) { return g->last; }
int gm_record_later(const gm_gathering *g, int last, int rank) {
  return last < 0 || g->called_ns[rank] > g->called_ns[last] ? rank : last;
}
/* What the running call, and looks in vain before it, waited until the last one called, and was not told yet: several
   may be waited for at once. */
static void waited_for_last(gm_proc *p, const gm_comm *c, const gm_gathering *g, int last) {
  gm_with *x = with_partner(p->record, p->rank, gm_group_world(c->local, last));
  const int64_t until_ns = g->called_ns[last],
                looks_ns = is_test() ? looks_since_ns(p, true) : INT64_MAX;
  int64_t since_ns = *gm_place_since();
  if (looks_ns < since_ns) since_ns = looks_ns;
  if (since_ns < g->called_ns[c->rank]) since_ns = g->called_ns[c->rank];
  note_wait(p->record, &x->pair, NBC_WAIT_LAST, since_ns, until_ns);
  if (since_ns < x->last_until_ns) since_ns = x->last_until_ns;
  if (until_ns <= since_ns) return;
  x->pair.last_count++;
  x->pair.last_ns += until_ns - since_ns;
  x->last_until_ns = until_ns;
}
void gm_record_left(gm_proc *p, const gm_comm *c, uint32_t sequence, int last) {
  gm_gathering **at = gathering_at(c, sequence), *g = *at;
  if (last >= 0 && last != c->rank && g->called_ns[last] > g->called_ns[c->rank] &&
      !p->record->is_off)
    waited_for_last(p, c, g, last);
  if (++g->left < c->local->size) return;
  *at = g->next;
  free(g);
}
/* A probe that waited, for who sends what it found. */
void gm_record_probed(gm_proc *p, const gm_probe *f) {
  if (f->source < 0) return;
  const mark *m = *mark_at(key_of(f->source, f->hdr));
  nbc_pair *x = pair_with(p->record, p->rank, f->source);
  const int64_t now_ns = pm_now_ns(), since_ns = *gm_place_since();
  x->waited_ns += now_ns - since_ns;
  x->small_waited_ns += now_ns - since_ns;
  tell_why(p->record, x, m ? m->asked_ns : 0, since_ns, since_ns, now_ns);
}
void gm_record_over(gm_proc *p, gm_msg *m) {
  count_pair(p, m);
  if (m->xfer_id && m->is_message && m->is_send)
    sent(p, m);
  else if (m->xfer_id && m->is_message)
    received(p, m);
}
/* ---- one-sided: the target takes no part, and an acknowledgement or the answer says that all has arrived ---- */
void gm_record_one_sided(gm_proc *p, gm_msg *m, nbc_kind kind, int target, uint64_t bytes,
                         bool is_answered) {
  if (!bytes) return;
  gm_record_asked(p, m);
  m->is_send = !is_answered;
  m->xfer_id = ++p->record->ids;
  nbc_recorder_place(m->owner, m->place);
  (is_at_hand(p, m->owner) ? nbc_xfer_begin_at : nbc_foreign_begin_at)(
      m->owner, m->xfer_id, bytes, kind, peer_class(p, target), pm_now_ns());
}
void gm_record_one_sided_done(gm_proc *p, gm_msg *m) {
  if (m->xfer_id) {
    count_ending(p, m);
    (is_at_hand(p, m->owner) ? nbc_xfer_end_at : nbc_foreign_end_at)(m->owner, m->xfer_id,
                                                                     pm_now_ns());
  }
  forget(m);
}
static void stamped_one_sided(const pm_stamp *s) {
  const gm_msg *m = (const gm_msg *)s->user_ptr;
  if (m && m->xfer_id && m->is_send == !s->is_reply)
    nbc_xfer_stamp(m->owner, m->xfer_id, s->t_begin_ns, s->t_end_ns, 0);
}
/* From the wire. user_ptr of a put may be gone, so the sender is found by its number; that of a fetch waits. */
static void stamped(void *unused, const pm_stamp *s) {
  (void)unused;
  if (!s->size_bytes || s->initiator_rank < 0 || !gm_has_record(s->initiator_rank)) return;
  if (s->pt_index == gm_set.first_pt + 2) stamped_one_sided(s);
  if (!s->is_reply && s->pt_index == gm_set.first_pt) {
    mark **at = mark_at(key_of(s->initiator_rank, s->hdr_data));
    if (!*at) return;
    (*at)->t_begin_ns = s->t_begin_ns;
    (*at)->t_end_ns = s->t_end_ns;
    nbc_xfer_stamp((*at)->sender, (*at)->sender_id, s->t_begin_ns, s->t_end_ns, 0);
  }
  if (!s->is_reply || s->pt_index != gm_set.first_pt + 1) return;
  const gm_msg *m = s->user_ptr; /* the receiver's */
  mark **at = mark_at(key_of(m->source, s->match_bits));
  if (m->xfer_id) nbc_xfer_stamp(m->owner, m->xfer_id, s->t_begin_ns, s->t_end_ns, 0);
  if (!*at || !gm_has_record(m->source)) return;
  nbc_xfer_stamp((*at)->sender, (*at)->sender_id, s->t_begin_ns, s->t_end_ns, 0);
  mark_free(at);
}

/* ---- begin and end ----------------------------------------------------------------------------------------------- */
static int64_t now_ns(void *unused) {
  (void)unused;
  return pm_now_ns();
}
/* No message of the run takes less: of all levels that it uses, and of all ways. Where that cannot be told no minimum
   is claimed. */
typedef struct pace {
  double latency_ns, bytes_per_s;
  int unknown;
} pace;
static void at_least(pace *p, double latency_ns, double bytes_per_s) {
  if (!(bytes_per_s > 0)) p->unknown = 1;
  if (latency_ns < p->latency_ns) p->latency_ns = latency_ns;
  if (bytes_per_s > p->bytes_per_s) p->bytes_per_s = bytes_per_s;
}
/* n bytes: latency + (n - 1) / rate. Ways of ranges may begin below 0, and noise makes some shorter. */
static void pace_of_loggp(pace *p, const pm_platform *f, double parts) {
  at_least(p, (double)f->loggp_latency_ns - 1e9 / f->loggp_bytes_per_s,
           parts * f->loggp_bytes_per_s);
  for (int i = 0; i < f->loggp_range_count; i++) {
    const pm_loggp_range *r = &f->loggp_range[i];
    at_least(p, (double)r->latency_ns - r->ns_per_byte, parts * 1e9 / r->ns_per_byte);
    if (r->noise_count || r->latency_ns < 0 || !(r->ns_per_byte > 0)) p->unknown = 1;
  }
}
static void pace_of_network(pace *p, const pm_platform *f, double parts) {
  const double payload =
      (double)f->link_packet_bytes / (double)(f->link_packet_bytes + f->link_header_bytes);
  if (f->topology != PM_TOPO_FILE)
    at_least(p, (double)f->wire_latency_ns, parts * f->link_bytes_per_s * payload);
  for (int64_t i = 0; f->topology == PM_TOPO_FILE && i < f->link_count; i++)
    at_least(p, (double)f->links[i].latency_ns, parts * f->links[i].bytes_per_s * payload);
}
/* Stamps and the table are whole nanoseconds: together they may be off by two. A text, because it says up to which
   size messages go at once; whole picoseconds, because the program may have a locale with a decimal comma. */
static nbc_status table_of(const pace *p, const char *name, nbc_table **table) {
  enum { FAR = 1 << 20 };
  char text[256];
  const double latency_ps = p->latency_ns > 2 ? (p->latency_ns - 2) * 1e3 : 0,
               far_ps = FAR * 1e12 / (p->bytes_per_s > 0 ? p->bytes_per_s : 1e9);
  const int n =
      snprintf(text, sizeof text, "# eager_bytes %llu\n%s0 %lldE-12\n%d %lldE-12\n",
               (unsigned long long)gm_set.eager_bytes,
               p->unknown ? "# disturbed nothing says how fast a message can be at best\n" : "",
               (long long)latency_ps, FAR, (long long)(latency_ps + far_ps));
  return nbc_table_parse(text, (size_t)n, name, table, NULL);
}
static int make_tables(void) {
  static int made;
  const pm_world_desc d = pm_world_desc_of(pm_world_of(pm_self()));
  const pm_platform *f = guest_platform(); /* the world's keeps no list of cables */
  if (made++) return 1;
  guest_on_stamp(pm_world_of(pm_self()), stamped);
  const double parts = f->nic_count > 1 && f->rail_split_bytes ? (double)f->nic_count : 1;
  pace inside = {(double)f->intra_latency_ns, f->intra_bytes_per_s, 0}, outside = {1e18, 0, 0};
  pace_of_network(&outside, f, parts);
  if (f->intra_uses_nic) inside = outside;        /* to the switch and back */
  for (int i = -1; i < d.link_phase_count; i++) { /* these know no way inside of a node */
    const pm_link_model level = i < 0 ? d.link : d.link_phases[i].link;
    if (level == PM_LINK_CARRIER) inside.unknown = outside.unknown = 1;
    if (level == PM_LINK_LOGGP) pace_of_loggp(&inside, f, parts), pace_of_loggp(&outside, f, parts);
  }
  return !table_of(&outside, "the platform's link", &tables[1]) &&
         !table_of(&inside, f->intra_uses_nic ? "the platform's link" : "the platform's memory",
                   &tables[0]);
}
/* The folder by a name that holds wherever a process goes, and before it runs. */
bool gm_record_folder(void) {
  static char whole[PATH_MAX];
  char inside[PATH_MAX];
  if (mkdir(gm_set.report, 0777) && errno != EEXIST) return false;
  snprintf(inside, sizeof inside, "%s/.", gm_set.report); /* of a file: no folder */
  if (!realpath(inside, whole) || access(whole, W_OK | X_OK)) return false;
  gm_set.report = whole;
  snprintf(run_name, sizeof run_name, "%lld-%d", (long long)time(NULL), (int)getpid());
  return true;
}
void gm_record_begin(gm_proc *p) {
  nbc_clock clock;
  nbc_clock_desc c;
  nbc_monitor_desc d;
  if (!gm_set.report || p->record) return;
  memset(&c, 0, sizeof c);
  memset(&d, 0, sizeof d);
  c.source = NBC_CLOCK_USER;
  c.now_ns = now_ns;
  struct gm_record *k = gm_alloc(sizeof *k);
  if (!make_tables() || nbc_clock_create(&c, &clock)) gm_fatal("--report: out of memory");
  d.clock = &clock;
  d.table_same_node = tables[0];
  d.table_other_node = tables[1];
  d.history_calls = 4096;
  d.grow_transfers = true;
  if (nbc_monitor_create(&d, &k->monitor) || nbc_recorder_attach(k->monitor, &k->first))
    gm_fatal("--report: out of memory");
  p->record = k;
  *gm_recorder_now() = k->first;
  nbc_call_enter_at(k->first, NBC_KIND_OTHER, pm_now_ns()); /* of MPI_Init, which goes on */
}
/* Its part of a file's name, whatever it is called: as the preload writes it. */
static const char *program_name(void) {
  static char text[61];
  const char *const slash = gm_set.program ? strrchr(gm_set.program, '/') : NULL;
  snprintf(text, sizeof text, "%s",
           slash            ? slash + 1
           : gm_set.program ? gm_set.program
                            : "program");
  for (char *at = text; *at; at++)
    if (!strchr("._+-", *at) && !isalnum((unsigned char)*at)) *at = '_';
  return text;
}
static const nbc_site *site_numbered(const struct gm_record *k, uint16_t number) {
  for (uint32_t i = 0; i <= k->place_mask; i++)
    if (k->places[i] && k->places[i]->number == number) return &k->places[i]->where;
  return NULL;
}
static void report_ending(const struct gm_record *k, const gm_ending *e, nbc_report *report) {
  const nbc_site *begin = site_numbered(k, e->begin), *end = site_numbered(k, e->end);
  if (begin && end && nbc_report_ending(report, begin, end, e->count, e->waited_ns) != NBC_OK)
    gm_fatal("--report: out of memory");
}
/* What the process has met until t_ns. why: of one whose MPI_Finalize was not reached; NULL */
static nbc_report *report_of(const gm_proc *p, struct gm_record *k, int node, int64_t t_ns,
                             const char *why) {
  nbc_report *report;
  char host[32];
  if (nbc_monitor_report_at(k->monitor, t_ns, &report)) gm_fatal("--report: out of memory");
  snprintf(host, sizeof host, "node%d", node);
  nbc_report_set(&report->program, program_name());
  nbc_report_set(&report->host, host);
  nbc_report_set(&report->library, "MPI of pm_run " PM_VERSION_STRING ", simulated");
  nbc_report_note(report, "simulated machine: times are the model's, stamps of the wire are exact");
  if (why) nbc_report_note(report, why);
  for (uint32_t i = 0; k->places && i <= k->place_mask; i++)
    if (k->places[i] && k->places[i]->where.count &&
        nbc_report_site(report, &k->places[i]->where) != NBC_OK)
      gm_fatal("--report: out of memory");
  for (uint32_t i = 0; k->endings && i <= k->ending_mask; i++)
    if (k->endings[i].begin) report_ending(k, &k->endings[i], report);
  for (uint32_t i = 0; k->with && i <= k->pair_mask; i++)
    if (is_used(&k->with[i].pair) && nbc_report_pair(report, &k->with[i].pair) != NBC_OK)
      gm_fatal("--report: out of memory");
  count_waits(k);
  report->waits = k->waits; /* and `of` is the report's */
  report->waits.held_ns = report->call_ns;
  report->is_simulated = true;
  report->rank = p->rank;
  report->size = p->size;
  return report;
}
static void write_report(gm_proc *p, int node, int64_t t_ns, const char *why) {
  char path[PATH_MAX + 512];
  struct gm_record *k = p->record;
  nbc_report *report = report_of(p, k, node, t_ns, why);
  p->record = NULL;
  snprintf(path, sizeof path, "%s/nbc_overlap.%s.%s.%d.json", gm_set.report, program_name(),
           run_name, p->rank);
  FILE *out = fopen(path, "w");
  const int bad = !out || nbc_report_write_json(report, out) != NBC_OK;
  if ((out && fclose(out)) || bad) {
    if (!not_written++) fprintf(stderr, "pm_run: --report: %s: %s\n", path, strerror(errno));
  }
  nbc_report_free(report);
  nbc_monitor_destroy(k->monitor);
  for (uint32_t i = 0; k->places && i <= k->place_mask; i++) free(k->places[i]);
  free(k->places);
  free(k->with);
  free(k->endings);
  free(k->noted);
  free(k);
}
void gm_record_end(gm_proc *p) {
  if (!p->record) return;
  if (mine(p)) nbc_call_exit_at(mine(p), pm_now_ns());
  count_place(p, pm_now_ns());
  *gm_recorder_now() = NULL;
  write_report(p, pm_process_node(pm_self()), pm_now_ns(), NULL);
}
/* The process or the run is over, without MPI_Finalize: there were sessions alone, or it was a deadlock, a time limit, an abort.
   Calls in which its threads are end now. */
void gm_record_rescue(gm_proc *p, guest *g, int64_t t_ns) {
  if (!p || !p->record) return;
  for (guest_context *c = &g->first; c; c = c->next) {
    if (c->recorder && c->mpi_depth) {
      nbc_call_exit_at(c->recorder, t_ns);
      add_to_place(p, c->place, t_ns - c->place_since_ns);
    }
    c->recorder = NULL;
  }
  const bool is_early = p->state == 1 || p->sessions;
  write_report(p, pm_process_node(g->process), t_ns,
               is_early ? "this is what there was when the run ended before MPI_Finalize" : NULL);
  rescued += is_early;
}
int gm_record_rescued(void) { return rescued; }
int gm_record_failed(void) { return not_written; }
