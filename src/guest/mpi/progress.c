/* Messages of MPI over Portals, as MPI libraries on such NICs do it. The NIC matches: match bits are context
   and tag, the source is the matched process. Up to eager_bytes the data goes at once, into the posted
   buffer or, too early, into a block of this file, from which the CPU copies it. Longer and synchronous
   messages announce themselves; the receiver fetches them from the second portal. */
#include "gm.h"
#include <limits.h>
#include <stdarg.h>
#include <sys/mman.h>

/* Where the messages of a replayed trace go, which have no data: address space that no memory stands
   behind. */
char *gm_nowhere;
void gm_nowhere_open(void) {
  gm_nowhere = mmap(NULL, (size_t)1 << 43, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (gm_nowhere == MAP_FAILED) gm_fatal("no address space for messages");
}
gm_options gm_set = {.progress = GM_IN_CALLS,
                     .period_ns = 2000000,
                     .eager_bytes = 4096,
                     .early_mb = 8192,
                     .io_bytes_per_s = 2e9,
                     .io_latency_ns = 20000,
                     .first_pt = 240};

/* hdr_data: bit 63: announced only; then 39 bits of size and 24 of the sender's number. Match bits of a
   fetch: number, which piece, how many. */
#define LONG      ((uint64_t)1 << 63)
#define NUMBER    ((uint64_t)0xFFFFFF)
#define SIZE(hdr) ((hdr) >> 24 & 0x7FFFFFFFFFu)
#define ONCE      (PTL_ME_USE_ONCE | PTL_ME_EVENT_UNLINK_DISABLE)
enum { EARLY_BLOCKS = 2, EVENTS_MAX = 1 << 26, PAGE = 4096, GROUP = 16, IDLE_MAX = 4096 };
#define BLOCK_LEAST ((size_t)4 << 20) /* bytes of early messages that one takes ... */
#define BLOCKS_MOST ((size_t)1 << 44) /* ... and those of all processes */

static gm_proc **procs;
static size_t block_bytes;   /* of one block: address space, memory only for what lies there */
static char *early_of_all;   /* blocks of all processes, one mapping */
static uint16_t *early_used; /* bytes of each page that were copied out */
static uint16_t *early_idle; /* of each group: the pages that are empty and not given back yet */
static int early_idle_count; /* at most IDLE_MAX of all processes together */
static double copy_bytes_per_ns;
static struct {
  uint64_t id;
  int rank;
} * places; /* hash of process ids */
static uint64_t places_mask;
static ptl_process_t *ids; /* of all ranks */

void gm_fatal(const char *format, ...) {
  char text[600];
  va_list args;
  const int n = pm_self() ? snprintf(text, sizeof text, "process %d at %.3f us: ", pm_rank(),
                                     (double)pm_now_ns() / 1e3)
                          : 0;
  va_start(args, format);
  vsnprintf(text + n, sizeof text - (size_t)n, format, args);
  va_end(args);
  if (!pm_self()) {
    fprintf(stderr, "pm_run: %s\n", text);
    _Exit(100);
  }
  pm_world_fail(pm_world_of(pm_self()), PM_E_STATE, text);
  pm_exit(1);
  abort();
}
void *gm_alloc(size_t bytes) {
  void *p = calloc(1, bytes ? bytes : 1);
  if (!p) gm_fatal("out of memory: %zu bytes for MPI", bytes);
  return p;
}
void *gm_grow(void *array, uint32_t *max, uint32_t need, size_t size) {
  if (need <= *max) return array;
  const uint32_t more = *max * 2 > need ? *max * 2 : need < 8 ? 8 : need;
  char *p = realloc(array, (size_t)more * size);
  if (!p) gm_fatal("out of memory for MPI");
  memset(p + (size_t)*max * size, 0, (size_t)(more - *max) * size);
  *max = more;
  return p;
}
uint32_t gm_table_grow(gm_table *t) {
  uint32_t max = t->max;
  const uint32_t i = t->count ? t->count : 1;
  t->item = gm_grow(t->item, &max, i + 1, sizeof *t->item);
  t->free_next = gm_grow(t->free_next, &t->max, i + 1, sizeof *t->free_next);
  t->count = i + 1;
  return i;
}

/* ---- processes -------------------------------------------------------------------------------------- */
void gm_procs_are(int size) { procs = gm_alloc((size_t)size * sizeof *procs); }
gm_proc *gm_self(void) {
  const int rank = pm_rank();
  if (rank < 0) return NULL;
  if (!procs) gm_procs_are(pm_size());
  if (!procs[rank]) {
    gm_proc *p = procs[rank] = gm_alloc(sizeof *p);
    p->rank = rank;
    p->size = pm_size();
    p->main_thread = pm_thread_self();
  }
  return procs[rank];
}
gm_proc *gm_proc_at(int rank) { return procs ? procs[rank] : NULL; }
bool gm_has_record(int rank) { return procs && procs[rank] && procs[rank]->record; }
/* Bits above 32: those below know of the pid alone, which is the same on all nodes. Linear probing,
   at most a quarter full. */
static uint64_t place_hash(uint64_t id) { return (id * 0x9E3779B97F4A7C15u) >> 36; }
static void find_places(void) {
  uint64_t max = 16;
  while (max < 4u * (uint64_t)pm_size()) max *= 2;
  places = gm_alloc(max * sizeof *places);
  places_mask = max - 1;
  ids = gm_alloc((size_t)pm_size() * sizeof *ids);
  for (int r = 0; r < pm_size(); r++) {
    const ptl_process_t id = ids[r] = pm_process_id(r);
    const uint64_t key = ((uint64_t)id.phys.nid << 32 | id.phys.pid) + 1;
    uint64_t i = place_hash(key) & places_mask;
    while (places[i].id) i = (i + 1) & places_mask;
    places[i].id = key;
    places[i].rank = r;
  }
}
int gm_rank_of(ptl_process_t id) {
  const uint64_t key = ((uint64_t)id.phys.nid << 32 | id.phys.pid) + 1;
  uint64_t i = place_hash(key) & places_mask;
  while (places[i].id && places[i].id != key) i = (i + 1) & places_mask;
  return places[i].id ? places[i].rank : -1;
}
/* The CPU copies at the rate of memory inside a node: the same constant that messages within a node
   are moved by. */
void gm_busy_bytes(double bytes) {
  const int64_t d_ns = (int64_t)(bytes / copy_bytes_per_ns);
  if (d_ns > 0) pm_sleep_ns(d_ns);
}
static ptl_me_t entry(void *start, uint64_t bytes, uint64_t bits, unsigned options) {
  ptl_me_t me;
  memset(&me, 0, sizeof me);
  me.start = start;
  me.length = bytes;
  me.ct_handle = PTL_CT_NONE;
  me.uid = PTL_UID_ANY;
  me.options =
      options | PTL_ME_EVENT_LINK_DISABLE | PTL_ME_IS_ACCESSIBLE; /* a crash names who is wrong */
  me.match_id.phys.nid = PTL_NID_ANY;
  me.match_id.phys.pid = PTL_PID_ANY;
  me.match_bits = bits;
  return me;
}
/* An overflow entry that takes messages one behind the other (MANAGE_LOCAL) until less than one
   eager message fits: then it unlinks itself, and AUTO_FREE, when no header of it is left, puts it
   back. Its counter counts what came too early. */
static int early_block(gm_proc *p, char *start) {
  ptl_me_t me =
      entry(start, block_bytes, 0,
            PTL_ME_OP_PUT | PTL_ME_MANAGE_LOCAL | PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_CT_COMM);
  ptl_handle_me_t h;
  me.ct_handle = p->early_ct;
  me.ignore_bits = ~(ptl_match_bits_t)0;
  me.min_free = gm_set.eager_bytes;
  return PtlMEAppend(p->ni, p->pt, &me, PTL_OVERFLOW_LIST, start, &h);
}
static void page_goes_back(uint64_t page) {
  madvise(early_of_all + page * PAGE, PAGE, MADV_DONTNEED);
  early_idle[page / GROUP] &= (uint16_t) ~(1u << page % GROUP);
  early_idle_count--;
}
/* A call of the system costs as much as some messages, so pages go back by groups; each by itself where
   there are too many incomplete groups. */
static void page_is_empty(uint64_t page) {
  const uint64_t group = page / GROUP;
  early_idle[group] |= (uint16_t)(1u << page % GROUP);
  early_idle_count++;
  if (early_idle[group] == (1u << GROUP) - 1) {
    madvise(early_of_all + group * GROUP * PAGE, (size_t)GROUP * PAGE, MADV_DONTNEED);
    early_idle[group] = 0;
    early_idle_count -= GROUP;
  } else if (early_idle_count > IDLE_MAX)
    page_goes_back(page);
}
/* Pages whose bytes have all been copied out go back: a block is used from its beginning to its
   end, never twice before AUTO_FREE, so a page whose used bytes add up to its size holds nothing
   any more. */
static void early_free(char *from, uint64_t bytes) {
  if (gm_nowhere) return;
  uint64_t at = (uint64_t)(from - early_of_all);
  while (bytes) {
    const uint64_t page = at / PAGE, room = PAGE - at % PAGE, n = bytes < room ? bytes : room;
    early_used[page] = (uint16_t)(early_used[page] + n);
    if (early_used[page] >= PAGE) {
      page_is_empty(page);
      early_used[page] = 0;
    }
    at += n;
    bytes -= n;
  }
}
/* The block will be written again: no page of it counts as empty from now on. Its last page mostly is
   not full, so its last group is not complete. */
static int block_again(gm_proc *p, char *start) {
  const uint64_t first = (uint64_t)(start - early_of_all) / PAGE, end = first + block_bytes / PAGE;
  for (uint64_t page = first; !gm_nowhere && page < end; page++)
    if (early_idle[page / GROUP] >> page % GROUP & 1) page_goes_back(page);
  return early_block(p, start);
}
static void *address_space(size_t bytes) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  return at == MAP_FAILED ? NULL : at;
}
/* As much as is asked for, or as there is for so many processes, where a limit may have been set, too. */
static void open_early(void) {
  const size_t count = EARLY_BLOCKS * (size_t)pm_size(), unit = PAGE * GROUP;
  size_t pages;
  block_bytes = (size_t)gm_set.early_mb * (((size_t)1 << 20) / EARLY_BLOCKS);
  while (block_bytes > BLOCK_LEAST && (block_bytes * count > BLOCKS_MOST ||
                                       !(early_of_all = address_space(block_bytes * count))))
    block_bytes = block_bytes / 2 / unit * unit;
  if (!early_of_all) early_of_all = address_space(block_bytes * count);
  pages = block_bytes * count / PAGE;
  early_used = address_space(pages * sizeof *early_used);
  early_idle = address_space(pages / GROUP * sizeof *early_idle);
  if (!early_of_all || !early_used || !early_idle)
    gm_fatal("no address space for early messages of %d processes", pm_size());
}
static void open_all(void) {
  const pm_world_desc d = pm_world_desc_of(pm_world_of(pm_self()));
  copy_bytes_per_ns = d.platform->intra_bytes_per_s / 1e9;
  find_places();
  open_early();
}

/* ---- threads that wait -------------------------------------------------------------------------------- */
static void wake(gm_proc *p) {
  gm_waiter **at = &p->waiters, *w;
  while ((w = *at) != NULL) {
    if (w->flag && !*w->flag) {
      at = &w->next;
      continue;
    }
    *at = w->next;
    w->next = NULL;
    pm_thread_wake(w->thread);
  }
}
/* Threads that wait while another one takes the events: each names the word it waits for, and is
   woken when that word is set, or by any event when it names none. One thread of a process takes
   events at a time (has_poller); when it leaves, it wakes another one to go on. */
static void wait_beside(gm_proc *p, const bool *flag) {
  const uint64_t event_count = p->event_count;
  if (gm_set
          .computes) { /* while that takes its time, nobody waits yet: a timer must not take over */
    pm_compute_measured();
    if (flag ? *flag : p->event_count != event_count) return;
  }
  gm_waiter me = {pm_thread_self(), flag, p->waiters, p->record ? *gm_recorder_now() : NULL,
                  *gm_place_now()},
            **at = &p->waiters;
  p->waiters = &me;
  pm_thread_wait("an MPI message", -1);
  while (*at && *at != &me) at = &(*at)->next;
  if (*at) *at = me.next;
}
/* Who took events leaves. */
static void events_go_on(gm_proc *p) {
  if (p->waiters) wake(p);
  if (!p->waiters || gm_set.progress) return;
  gm_waiter *w = p->waiters; /* somebody has to go on with them */
  p->waiters = w->next;
  pm_thread_wake(w->thread);
}
static void event(gm_proc *p, const ptl_event_t *e);
static int light(void *proc, const ptl_event_t *e);
/* The next event; with a flag and running ahead those before it are handled too, as long as nobody but the
   flag is to be told, and none when that is set. */
static void take_event(gm_proc *p, const bool *flag) {
  ptl_event_t e;
  p->has_poller = 1;
  const int code = flag && p->runs_ahead && !p->waiters ? pm_eq_serve(p->eq, flag, light, p, &e)
                                                        : PtlEQWait(p->eq, &e);
  p->has_poller = 0;
  if (code == PTL_OK)
    event(p, &e);
  else if (code != PTL_EQ_EMPTY)
    gm_fatal("more than %d events of MPI wait for the process to call MPI", EVENTS_MAX);
  events_go_on(p);
}
static void look_when_idle(gm_proc *p);
static inline bool has_late(const gm_proc *p) {
  return p->late_count && (p->late[GM_RECEIVES] || p->late[GM_RECEIVES | GM_OF_LIBRARY]) &&
         p->looker != pm_thread_self();
}
/* With a worker, or while another thread takes events, this one waits beside; else it takes events
   itself until its word is set, whomever they belong to. While there are receives that the NIC has no room for, it
   looks: no event tells of their messages. */
void gm_wait(gm_proc *p, const bool *flag) {
  while (!*flag) {
    if (has_late(p))
      gm_poll(p);
    else if (gm_set.progress || p->has_poller)
      wait_beside(p, flag);
    else
      take_event(p, flag);
  }
}
static void wait_for_event(gm_proc *p) {
  if (gm_set.progress || p->has_poller)
    wait_beside(p, NULL);
  else
    take_event(p, NULL);
}
void gm_wait_event(gm_proc *p) {
  if (has_late(p))
    gm_poll(p);
  else
    wait_for_event(p);
}
/* Real MPI libraries copy messages to oneself in the call that comes second, so programs lean on it that both sides
   have ended then. The NIC takes its time, which who looks waits for. */
void gm_self_rest(gm_proc *p) {
  while (p->self_moving) wait_for_event(p);
}
/* One event at most, as a test is a short call. Where a worker takes them, time must pass for it to
   run. */
int gm_poll(gm_proc *p) {
  ptl_event_t e;
  bool has_come = true;
  gm_self_rest(p);
  if (gm_set.progress == GM_DEDICATED || p->has_poller) /* somebody else takes the events */
    pm_yield();
  else { /* nobody else meanwhile: what is taken here might be what they wait for */
    p->has_poller = 1;
    has_come = !PtlEQGet(p->eq, &e); /* a look in vain has taken its time */
    p->has_poller = 0;
    if (has_come) event(p, &e);
    if (p->waiters) events_go_on(p);
  }
  if (has_late(p)) look_when_idle(p);
  return has_come;
}
/* The worker's thread: called as soon as there are events. */
static void worker(void *arg, ptl_handle_eq_t eq) {
  gm_proc *p = arg;
  ptl_event_t e;
  pm_compute_unmeasured(true);
  p->worker = pm_thread_self();
  /* The phase of a process's timer is drawn from its rank, as no two processes of a real machine
     start theirs together. */
  if (gm_set.progress == GM_TIMER && !p->waiters) { /* the next tick of this process's timer */
    const int64_t phase_ns =
        (int64_t)((uint64_t)(p->rank + 1) * 0x9E3779B97F4A7C15u % (uint64_t)gm_set.period_ns);
    const int64_t since_ns = (pm_now_ns() + phase_ns) % gm_set.period_ns;
    const int64_t t_end_ns = pm_now_ns() + gm_set.period_ns - since_ns;
    p->ticks = 1;
    while (!p->waiters && pm_now_ns() < t_end_ns) { /* a call that waits takes over at once */
      pm_sleep_ns(t_end_ns - pm_now_ns() < 5000 ? t_end_ns - pm_now_ns() : 5000);
    }
  }
  const int64_t t_ns = pm_now_ns();
  do {
    while (PtlEQGet(eq, &e) == PTL_OK) event(p, &e);
  } while (gm_coll_begin_handed(p));
  if (gm_set.progress == GM_TIMER && p->ticks) p->stolen_ns += pm_now_ns() - t_ns;
  p->ticks = 0;
  p->worker = NULL;
  wake(p);
}

/* ---- open and close ---------------------------------------------------------------------------------- */
/* Three portals: messages (with flow control: too many early ones are an error that is told, not
   lost), what senders show to be fetched, and windows. EVENTS_MAX is address space too: the queue
   grows as it is used. */
int gm_open(gm_proc *p) {
  ptl_ni_limits_t actual;
  ptl_md_t md;
  int bad;
  if (p->is_open) return GM_OK;
  if (!places) open_all();
  memset(&md, 0, sizeof md);
  md.length = PTL_SIZE_MAX;
  md.ct_handle = PTL_CT_NONE;
  p->early = early_of_all + block_bytes * EARLY_BLOCKS * (size_t)p->rank;
  bad = PtlInit() ||
        PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, &actual,
                  &p->ni) ||
        (gm_set.progress ? PtlEQAllocAsync(p->ni, EVENTS_MAX, &p->eq, worker, p, 0)
                         : PtlEQAlloc(p->ni, EVENTS_MAX, &p->eq)) ||
        PtlPTAlloc(p->ni, PTL_PT_FLOWCTRL, p->eq, gm_set.first_pt, &p->pt) ||
        PtlPTAlloc(p->ni, 0, p->eq, gm_set.first_pt + 1, &p->pt_shown) ||
        PtlPTAlloc(p->ni, 0, p->eq, gm_set.first_pt + 2, &p->pt_win);
  if (bad) return GM_ERR_INTERN;
  gm_keep_headers(p->ni);
  md.eq_handle = p->eq;
  p->piece_bytes = actual.max_msg_size;
  p->atomic_bytes = actual.max_atomic_size;
  p->fetch_bytes = actual.max_fetch_atomic_size;
  p->entries_left[GM_RECEIVES] = actual.max_entries / 5 * 3;
  p->entries_left[GM_SENDS] = actual.max_entries / 3;
  p->entries_left[GM_RECEIVES | GM_OF_LIBRARY] = p->entries_left[GM_SENDS | GM_OF_LIBRARY] =
      INT_MAX;
  bad = PtlMDBind(p->ni, &md, &p->md) || PtlCTAlloc(p->ni, &p->early_ct);
  md.options = PTL_MD_EVENT_SEND_DISABLE;
  bad = bad || PtlMDBind(p->ni, &md, &p->md_quiet);
  for (int i = 0; i < EARLY_BLOCKS && !bad; i++)
    bad = early_block(p, p->early + block_bytes * (size_t)i);
  p->runs_ahead = !gm_set.progress && !gm_set.computes && !p->record && !gm_set.is_fixed;
  p->is_open = 1;
  return bad ? GM_ERR_INTERN : GM_OK;
}
void gm_close(gm_proc *p) {
  if (!p->is_open) return;
  p->is_open = 0;
  p->has_win_entry = 0;
  PtlNIFini(p->ni);
  PtlFini();
  free(p->shelves);
  p->shelves = NULL;
  p->shelf_count = 0;
}

/* ---- one message ------------------------------------------------------------------------------------- */
/* `done` may free the message or use it again, so it comes last. */
static void settle(gm_proc *p, gm_msg *m) {
  if (p->record) gm_record_over(p, m);
  m->is_done = 1;
  if (m->done) m->done(m);
}
static inline unsigned order_of(const gm_msg *m) {
  const uint32_t part = m->context % GM_CONTEXTS;
  unsigned order = GM_RECEIVES;
  if (m->is_send) order |= GM_SENDS;
  if (part && part != GM_PARTITION) order |= GM_OF_LIBRARY;
  return order;
}
/* ret 0: there is none left for such messages, or the NIC has no room now */
static inline int take_entry(gm_proc *p, gm_msg *m, ptl_pt_index_t pt, const ptl_me_t *me) {
  int *left = &p->entries_left[order_of(m)];
  if (!*left || PtlMEAppend(p->ni, pt, me, PTL_PRIORITY_LIST, m, &m->handle)) return 0;
  --*left;
  m->has_entry = true;
  return 1;
}
static inline void leave_entry(gm_proc *p, gm_msg *m) {
  if (m->has_entry) p->entries_left[order_of(m)]++;
  m->has_entry = false;
}
/* ret 0: it cannot be now */
static inline int post_send(gm_proc *p, gm_msg *m) {
  /* Context above, tag below: a receive of any tag ignores the lower half. The source is no part of
     the bits, the NIC compares the process. */
  const uint64_t bits = (uint64_t)m->context << 32 | (uint32_t)m->want_tag;
  uint64_t hdr = m->bytes << 24;
  /* To oneself: the answer says whether it came early. */
  const bool is_self = m->peer == p->rank;
  const ptl_ack_req_t ack = is_self ? PTL_ACK_REQ : PTL_NO_ACK_REQ;
  m->waits = 1 + is_self;
  if (!m->is_sync) {
    m->is_posted = 1;
    p->self_moving += is_self;
    if (p->record) { /* the number finds the wire's stamp */
      m->slot = ++p->slots & (uint32_t)NUMBER;
      hdr |= m->slot;
      gm_record_send(p, m);
    }
    if (PtlPut(p->md, (ptl_size_t)(uintptr_t)m->buffer, m->bytes, ack, ids[m->peer], p->pt, bits, 0,
               m, hdr))
      gm_fatal("a put of %llu bytes to process %d was refused", (unsigned long long)m->bytes,
               m->peer);
    return 1;
  }
  /* A long message shows its buffer under a number first and then sends that number: the receiver
     may ask as soon as it has the number, so the entry must stand in the list before. A number
     comes again after 2^24 messages of its sender. */
  m->slot = ++p->slots & (uint32_t)NUMBER;
  ptl_me_t me = entry(
      m->buffer, m->bytes, m->slot,
      PTL_ME_OP_GET | (m->bytes > p->piece_bytes ? PTL_ME_EVENT_UNLINK_DISABLE : (unsigned)ONCE));
  me.ignore_bits = ~NUMBER;
  m->is_posted = 1;
  if (!take_entry(p, m, p->pt_shown, &me)) {
    m->is_posted = 0;
    return 0;
  }
  p->self_moving += is_self;
  if (p->record) gm_record_send(p, m);
  if (PtlPut(p->md_quiet, 0, 0, ack, pm_process_id(m->peer), p->pt, bits, 0, m,
             hdr | LONG | m->slot))
    gm_fatal("a put to process %d was refused", m->peer);
  return 1;
}
/* It asks no more. */
static void told(gm_proc *p, gm_msg *m) {
  p->self_moving -= m->asks;
  m->asks = false;
}
static inline int post_recv(gm_proc *p, gm_msg *m) {
  ptl_me_t me =
      entry(m->buffer, m->limit_bytes,
            (uint64_t)m->context << 32 | (m->want_tag == GM_ANY_TAG ? 0 : (uint32_t)m->want_tag),
            PTL_ME_OP_PUT | ONCE);
  if (m->want_tag == GM_ANY_TAG) me.ignore_bits = 0xFFFFFFFFu;
  if (m->peer >= 0) me.match_id = ids[m->peer];
  m->is_posted = 1;
  if (p->record && !m->xfer_id) gm_record_recv(p, m);
  if (p->self_early && (m->peer == p->rank || m->peer == GM_ANY_SOURCE)) {
    me.options &= ~(unsigned)PTL_ME_EVENT_LINK_DISABLE;
    m->asks = true;
    p->self_moving++;
  }
  if (take_entry(p, m, p->pt, &me)) return 1;
  told(p, m); /* later: nobody else will */
  m->is_posted = 0;
  return 0;
}
int gm_room(const gm_proc *p) { return pm_append_room(p->ni, p->pt); }
/* Among very many receives that wait for room the first that takes a message must be found without a walk over all, so
   they stand on shelves, too, by what they ask for. */
static gm_shelf *shelf_of(const gm_proc *p, uint32_t context, int peer, int tag) {
  const uint64_t what = (uint64_t)context << 32 | (uint32_t)tag;
  const uint64_t mixed = (what ^ (uint32_t)peer * 0xD6E8FEB86659FD93u) * 0x9E3779B97F4A7C15u;
  return &p->shelves[mixed >> 32 & (p->shelf_count - 1)];
}
static void shelve(const gm_proc *p, gm_msg *m) {
  gm_shelf *const s = shelf_of(p, m->context, m->peer, m->want_tag);
  m->alike = NULL;
  if (s->last)
    s->last->alike = m;
  else
    s->first = m;
  s->last = m;
}
static void unshelve(const gm_proc *p, const gm_msg *m) {
  gm_shelf *const s = shelf_of(p, m->context, m->peer, m->want_tag);
  gm_msg **at = &s->first, *before = NULL;
  while (*at != m) before = *at, at = &before->alike;
  *at = m->alike;
  if (s->last == m) s->last = before;
}
static void shelves_grow(gm_proc *p) {
  free(p->shelves);
  p->shelf_count = p->shelf_count ? 4 * p->shelf_count : 64;
  p->shelves = gm_alloc(p->shelf_count * sizeof *p->shelves);
  for (int order = 0; order < GM_SENDS; order++)
    for (gm_msg *m = p->late[order]; m; m = m->next) shelve(p, m);
}
static void late_leaves(gm_proc *p, const gm_msg *m) {
  const unsigned order = order_of(m);
  if (m->before)
    m->before->next = m->next;
  else
    p->late[order] = m->next;
  if (m->next)
    m->next->before = m->before;
  else
    p->late_tail[order] = m->before;
  p->late_count--;
  if (!m->is_send) unshelve(p, m);
}
/* To the front, where it was. */
static void late_again(gm_proc *p, gm_msg *m) {
  const unsigned order = order_of(m);
  gm_shelf *const s = shelf_of(p, m->context, m->peer, m->want_tag);
  m->before = NULL;
  m->next = p->late[order];
  if (m->next)
    m->next->before = m;
  else
    p->late_tail[order] = m;
  p->late[order] = m;
  p->late_count++;
  if (m->is_send) return;
  m->alike = s->first;
  s->first = m;
  if (!s->last) s->last = m;
}
/* MPI orders what one process sends, and what it receives: while one message waits for room in the NIC, all later ones
   of its order wait behind it. */
static void wait_for_room(gm_proc *p, gm_msg *m) {
  const unsigned order = order_of(m);
  m->next = NULL;
  m->before = p->late_tail[order];
  if (m->before)
    m->before->next = m;
  else
    p->late[order] = m;
  p->late_tail[order] = m;
  m->late_number = ++p->late_numbers;
  if (!m->is_send && p->shelves) shelve(p, m);
  if (++p->late_count > p->shelf_count) shelves_grow(p);
  p->looked_count = UINT64_MAX; /* nobody has looked for it */
}
static inline void post(gm_proc *p, gm_msg *m, int (*by)(gm_proc *p, gm_msg *m)) {
  int ok = 0;
  if ((!p->late_count && !p->posting) ||
      (!p->late[order_of(m)] && p->posting != 1 + (int)order_of(m))) {
    const bool was_ahead = p->runs_ahead && pm_run_ahead(true);
    ok = by(p, m);
    if (p->runs_ahead) pm_run_ahead(was_ahead);
  }
  if (ok) return;
  if (p->record && m->limit_bytes) gm_record_asked(p, m);
  wait_for_room(p, m);
}
/* A thread is taking messages out of the lists of late ones, which takes time. */
static inline bool late_are_taken(const gm_proc *p) { return p->posting || p->looker; }
/* While one is being posted, others of its order wait behind it. It has left the list by then: it may be over, and
   begun anew, before the call that posts it has returned. */
static bool post_first(gm_proc *p, int order) {
  gm_msg *m = p->late[order];
  late_leaves(p, m);
  p->posting = 1 + order;
  const int ok = m->is_send ? post_send(p, m) : post_recv(p, m);
  p->posting = 0;
  if (!ok) late_again(p, m);
  return ok;
}
static void post_late(gm_proc *p) {
  /* Posting may find a message that came early, whose event comes here again. */
  for (int order = 0; order < GM_ORDERS; order++)
    while (p->late[order] && !late_are_taken(p) && post_first(p, order)) {
    }
}
/* Who is to be told survives: persistent requests start the same message again. */
static inline void prepare(gm_msg *m, void *buffer, uint64_t bytes, int peer, uint32_t context,
                           int tag) {
  m->is_message = true;
  m->is_done = m->is_send = m->is_sync = m->is_posted = m->has_met = m->asks = false;
  m->has_entry = false;
  m->error = m->source = m->waits = m->pieces_seen = 0;
  m->slot = 0;
  m->handle = 0;
  m->bytes = m->xfer_id = 0;
  m->other_asked_ns = 0;
  m->next = NULL;
  m->buffer = buffer;
  m->limit_bytes = bytes;
  m->peer = peer;
  m->context = context;
  m->want_tag = m->tag = tag;
}
void gm_isend(gm_proc *p, gm_msg *m, const void *buffer, uint64_t bytes, int peer, uint32_t context,
              int tag, bool is_sync) {
  prepare(m, (void *)(uintptr_t)buffer, bytes, peer, context, tag);
  m->is_send = 1;
  m->bytes = bytes;
  m->source = p->rank;
  m->is_sync = is_sync || bytes > gm_set.eager_bytes;
  post(p, m, post_send);
}
void gm_irecv(gm_proc *p, gm_msg *m, void *buffer, uint64_t bytes, int peer, uint32_t context,
              int tag) {
  prepare(m, buffer, bytes, peer, context, tag);
  post(p, m, post_recv);
}
/* A send is never cancelled, which MPI allows; a receive is as long as the NIC gives its entry back,
   which it does not once a message has matched it. */
int gm_cancel(gm_proc *p, gm_msg *m) {
  if (m->asks) gm_self_rest(p);                        /* the answer must find it */
  while (!m->is_send && late_are_taken(p)) gm_poll(p); /* m may be just the one */
  if (m->is_done || m->is_send || m->has_met) return 0;
  if (!m->is_posted)
    late_leaves(p, m);
  else if (PtlMEUnlink(m->handle))
    return 0;
  leave_entry(p, m);
  if (p->record) gm_record_cancel(p, m);
  m->is_done = 1;
  return 1;
}

/* ---- events ------------------------------------------------------------------------------------------ */
/* A get of each piece: the NIC's largest message is the limit. The number of pieces travels in the
   match bits, because the owner of the memory must know when all have been read. */
static void fetch(gm_proc *p, gm_msg *m, ptl_process_t from, uint64_t number) {
  const uint64_t piece = p->piece_bytes,
                 count = m->bytes > piece ? (m->bytes + piece - 1) / piece : 1, total = m->bytes;
  m->waits = (int)count;
  p->self_moving += 2 * (m->source == p->rank); /* until it is fetched, and known to be read */
  for (uint64_t i = 0; i < count; i++) {
    const uint64_t at = i * piece, bytes = i + 1 < count ? piece : total - at;
    if (PtlGet(p->md, (ptl_size_t)(uintptr_t)m->buffer + at, bytes, from, p->pt_shown,
               count << 44 | i << 24 | number, at, m))
      gm_fatal("a get of %llu bytes was refused", (unsigned long long)bytes);
  }
}
/* A message has met its receive: the data is there, came early, or is still with its sender. All
   that the receiver knows of it stands in the header's 64 bits and in the event; nothing of the
   sender's memory is looked at. */
static void met(gm_proc *p, gm_msg *m, uint64_t hdr, uint64_t bits, ptl_process_t from, char *early,
                uint64_t early_bytes) {
  const uint64_t size = SIZE(hdr), take = size < m->limit_bytes ? size : m->limit_bytes;
  m->has_met = 1;
  leave_entry(p, m);
  m->is_sync = (hdr & LONG) != 0;
  m->slot = (uint32_t)(hdr & NUMBER);
  m->source = gm_rank_of(from);
  m->tag = (int)(uint32_t)bits;
  m->bytes = take;
  if (take < size) m->error = GM_ERR_TRUNCATE;
  if (early && early_bytes) {
    const uint64_t here = early_bytes < take ? early_bytes : take;
    if (!gm_nowhere) memcpy(m->buffer, early, here);
    gm_busy_bytes((double)here);
  }
  if (p->record) gm_record_met(m);
  if (hdr & LONG)
    fetch(p, m, from, hdr & NUMBER);
  else
    settle(p, m);
}
/* A long message that was fetched in pieces is done with after as many GET events as its match bits
   say. */
static void shown(gm_proc *p, gm_msg *m, const ptl_event_t *e) {
  if (++m->pieces_seen < (int)(e->match_bits >> 44)) return;
  if (m->bytes > p->piece_bytes) PtlMEUnlink(m->handle);
  leave_entry(p, m);
  p->self_moving -= m->peer == p->rank;
  if (--m->waits == 0) settle(p, m);
}
/* A search tells what it found; one that takes it out tells what an append would. Its pointers are odd. */
static void searched(gm_probe *f, const ptl_event_t *e) {
  f->is_over = true;
  f->is_found = e->ni_fail_type == PTL_NI_OK;
  if (!f->is_found) return;
  f->source = gm_rank_of(e->initiator);
  f->initiator = e->initiator;
  f->tag = (int)(uint32_t)e->match_bits;
  f->hdr = e->hdr_data;
  f->bytes = SIZE(e->hdr_data);
  f->early = e->start;
  f->early_bytes = e->mlength;
}
/* SEND, ACK or REPLY of a message or an operation. Of a message to oneself the ACK says in which list it has met its
   entry; the last REPLY is that of a fetch. */
static void answered(gm_proc *p, gm_msg *m, const ptl_event_t *e) {
  const bool is_message = e->pt_index == p->pt && e->type == PTL_EVENT_ACK;
  if (e->ni_fail_type) {
    if (e->pt_index == p->pt)
      gm_fatal("a message was not delivered: %s", pm_ptl_fail_name(e->ni_fail_type));
    m->error = GM_ERR_OTHER;
  }
  if (is_message) {
    p->self_moving--;
    p->self_early += e->ptl_list == PTL_OVERFLOW_LIST;
  }
  if (--m->waits) return;
  p->self_moving -= !m->is_send && m->is_sync && m->source == p->rank;
  settle(p, m);
}
/* One that had come before its receive has been found. */
static void found_early(gm_proc *p, const ptl_event_t *e) {
  if (gm_rank_of(e->initiator) == p->rank) p->self_early--;
}
/* Of the message that it is about. */
static inline __attribute__((always_inline)) void event_of(gm_proc *p, gm_msg *m,
                                                           const ptl_event_t *e) {
  p->event_count++;
  switch (e->type) {
  case PTL_EVENT_PUT:
    if (e->pt_index == p->pt) met(p, m, e->hdr_data, e->match_bits, e->initiator, NULL, 0);
    break;
  case PTL_EVENT_LINK: told(p, m); break;
  case PTL_EVENT_PUT_OVERFLOW:
    found_early(p, e);
    told(p, m);
    met(p, m, e->hdr_data, e->match_bits, e->initiator, e->start, e->mlength);
    if (e->mlength) early_free(e->start, e->mlength);
    break;
  /* An eager message is done when the NIC has read it. */
  case PTL_EVENT_SEND:
  case PTL_EVENT_ACK:
  case PTL_EVENT_REPLY: answered(p, m, e); break;
  case PTL_EVENT_GET:
    if (e->pt_index == p->pt_shown) shown(p, m, e);
    break;
  /* All headers of this block are gone and their events were taken before this one, so all that
       lay in it was copied out: the block begins anew. */
  case PTL_EVENT_AUTO_FREE:
    if (p->is_open && block_again(p, e->user_ptr)) gm_fatal("no room for early messages");
    break;
  case PTL_EVENT_PT_DISABLED:
    gm_fatal("too many messages came before their receives: more than the NIC has headers for, or "
             "than %zu MiB",
             block_bytes * EARLY_BLOCKS >> 20);
  default: break; /* AUTO_UNLINK of early blocks */
  }
  if (p->late_count) post_late(p);
}
/* Messages have even addresses; a probe's is made odd. */
static void event(gm_proc *p, const ptl_event_t *e) {
  if (!((uintptr_t)e->user_ptr & 1)) {
    event_of(p, e->user_ptr, e);
    return;
  }
  p->event_count++;
  if (e->type == PTL_EVENT_PUT_OVERFLOW) found_early(p, e);
  searched((gm_probe *)(void *)((char *)e->user_ptr - 1), e);
}

/* The same outside of the stack of the process, for what can be: ret 0: it cannot. */
static int light(void *proc, const ptl_event_t *e) {
  gm_proc *p = proc;
  gm_msg *m = e->user_ptr;
  if (p->late_count || p->record || ((uintptr_t)m & 1) || e->ni_fail_type) return 0;
  switch (e->type) {
  case PTL_EVENT_PUT:
  case PTL_EVENT_PUT_OVERFLOW:
    if (e->pt_index != p->pt) return 0;
    break;
  case PTL_EVENT_GET:
    if (e->pt_index != p->pt_shown || m->bytes > p->piece_bytes) return 0; /* which unlinks */
    break;
  case PTL_EVENT_SEND:
  case PTL_EVENT_ACK:
  case PTL_EVENT_REPLY: break;
  default: return 0; /* user_ptr is no message */
  }
  if (!m->is_light || !m->is_light(m)) return 0;
  event_of(p, m, e);
  return 1;
}

/* ---- probes ------------------------------------------------------------------------------------------- */
/* The counter that the NIC keeps in memory saves the search; a look in vain takes its time, and is ended by
   what comes. */
static uint64_t early_count(const gm_proc *p) {
  ptl_ct_event_t count;
  return PtlCTGet(p->early_ct, &count) ? 0 : count.success + count.failure;
}
/* Programs probe for a few patterns in turn: each is remembered with the counter as it was when
   nothing was found. */
static gm_vain *vain_of(gm_proc *p, int peer, uint32_t context, int tag) {
  for (int i = 0; i < GM_VAIN; i++)
    if (p->vain[i].is_set && p->vain[i].peer == peer && p->vain[i].context == context &&
        p->vain[i].tag == tag)
      return &p->vain[i];
  return NULL;
}
static void search(gm_proc *p, gm_probe *f, int peer, uint32_t context, int tag, bool take) {
  gm_self_rest(p);
  gm_vain *vain = vain_of(p, peer, context, tag);
  /* Nothing has come early since the last look for this source, tag and context: it would find
     nothing again. */
  const uint64_t count = early_count(p);
  if (vain && vain->early_count == count) {
    f->is_found = false;
    return;
  }
  ptl_me_t me =
      entry(NULL, PTL_SIZE_MAX, (uint64_t)context << 32 | (tag == GM_ANY_TAG ? 0 : (uint32_t)tag),
            PTL_ME_OP_PUT | ONCE);
  memset(f, 0, sizeof *f);
  if (tag == GM_ANY_TAG) me.ignore_bits = 0xFFFFFFFFu;
  if (peer >= 0) me.match_id = pm_process_id(peer);
  if (PtlMESearch(p->ni, p->pt, &me, take ? PTL_SEARCH_DELETE : PTL_SEARCH_ONLY, (char *)f + 1))
    gm_fatal("a search was refused");
  gm_wait(p, &f->is_over);
  if (!f->is_found) {
    if (!vain) vain = &p->vain[p->next_vain++ % GM_VAIN];
    *vain = (gm_vain){1, peer, tag, context, count};
    return;
  }
  if (take && f->early_bytes) { /* the block may be used again */
    char *copy = gm_alloc(f->early_bytes);
    memcpy(copy, f->early, f->early_bytes);
    gm_busy_bytes((double)f->early_bytes);
    early_free(f->early, f->early_bytes);
    f->early = copy;
  }
}
/* ---- receives that the NIC has no room for ------------------------------------------------------------ */
/* The first of them that takes such a message. */
static gm_msg *late_for(const gm_proc *p, uint32_t context, const gm_probe *f) {
  gm_msg *first = NULL;
  for (int any = 0; any < 4; any++) {
    const int peer = any & 1 ? GM_ANY_SOURCE : f->source, tag = any & 2 ? GM_ANY_TAG : f->tag;
    gm_msg *m = shelf_of(p, context, peer, tag)->first;
    while (m && (m->context != context || m->peer != peer || m->want_tag != tag)) m = m->alike;
    if (m && (!first || m->late_number < first->late_number)) first = m;
  }
  return first;
}
/* Their messages come early, as no event tells. Those that have come are taken out by a search for each receive, in the
   order in which they were posted, as a library with queues of its own would: the earlier ones of the NIC have
   not matched them. A search takes time: what it finds may have come since an earlier receive was looked for that
   it belongs to, so that one is looked for again. */
static void look_for(gm_proc *p, unsigned order) {
  gm_msg *m = p->late[order], *next;
  gm_probe f;
  for (; m; m = next) {
    search(p, &f, m->peer, m->context, m->want_tag, false);
    next = f.is_found ? late_for(p, m->context, &f) : m->next;
    if (next != m) continue;
    search(p, &f, f.source, m->context, f.tag, true);
    if (!f.is_found) continue; /* a probe was there first */
    next = m->next;
    late_leaves(p, m);
    m->is_posted = 1;
    if (p->record && !m->xfer_id) gm_record_recv(p, m);
    met(p, m, f.hdr, (uint32_t)f.tag, f.initiator, f.early, f.early_bytes);
    if (f.early_bytes) free(f.early);
  }
}
static void look(gm_proc *p) {
  if (late_are_taken(p)) return;
  p->looker = pm_thread_self(); /* before anything that takes time */
  p->looked_count = early_count(p);
  look_for(p, GM_RECEIVES);
  look_for(p, GM_RECEIVES | GM_OF_LIBRARY);
  p->looker = NULL;
  p->idle_since_ns = 0;
  post_late(p);
  if (p->waiters) wake(p);
}
/* Searches take time, so they are made when nothing has happened for a while: mostly the NIC has room again before. Now
   and then where something always happens. */
static void look_when_idle(gm_proc *p) {
  enum { IDLE_NS = 20000, BUSY_NS = 1000000 };
  const int64_t now_ns = pm_now_ns();
  if (!p->idle_since_ns) p->busy_since_ns = now_ns;
  if (p->event_count != p->idle_count || !p->idle_since_ns) {
    p->idle_count = p->event_count;
    p->idle_since_ns = now_ns;
  }
  if (now_ns - p->idle_since_ns < IDLE_NS && now_ns - p->busy_since_ns < BUSY_NS) return;
  if (early_count(p) != p->looked_count) look(p);
}
/* What has come early for a receive that was posted before is not there for others. */
void gm_probe_for(gm_proc *p, gm_probe *f, int peer, uint32_t context, int tag, int take) {
  while (p->late[GM_RECEIVES]) {
    search(p, f, peer, context, tag, false);
    if (!f->is_found) return;
    if (!late_for(p, context, f)) {
      if (!take) return;
      peer = f->source;
      tag = f->tag;
      break;
    }
    if (late_are_taken(p))
      gm_poll(p);
    else
      look(p);
  }
  search(p, f, peer, context, tag, take);
}
/* MPI_Mrecv: a probe has taken the message out of the NIC, with a copy of what had come. */
void gm_irecv_taken(gm_proc *p, gm_msg *m, void *buffer, uint64_t bytes, gm_probe *f) {
  prepare(m, buffer, bytes, f->source, 0, f->tag);
  m->is_posted = 1;
  if (p->record) gm_record_recv(p, m);
  met(p, m, f->hdr, (uint32_t)f->tag, f->initiator, f->early, f->early_bytes);
  if (f->early_bytes) free(f->early);
  f->early_bytes = 0;
}
