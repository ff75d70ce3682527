/* pm_rtl.h: the link level of the Portals model whose NICs are the RTL, cycle by cycle.

     #include "portals_model.h"        in one file after PORTALS_MODEL_IMPLEMENTATION
     #include "rtl/pm_rtl.h"

     pm_rtl *rtl = pm_rtl_create();
     desc.carrier = pm_rtl_carrier(rtl);
     desc.link = PM_LINK_CARRIER;                    or later: pm_world_set_link()
     if (pm_world_create(&desc, &world)) puts(pm_rtl_error(rtl));
     ... pm_world_destroy(world), pm_rtl_destroy(rtl);

   One NIC per node; link it with what rtl.mk calls NIC_LIBS. All functions are static; one carrier
   serves one world at a time, several may be at work on threads of their own.

   What the NIC in RTL does: every put, get and atomic is one of its commands (one per 4 MiB), with
   inline, PIO or DMA payload. It reads the payload from the initiator's memory, cuts it into packets
   with CRC and credits, acknowledges, repeats what was lost, computes atomics (but those on long doubles), reads
   what a get asks for, and writes everything and its events into host memory by DMA. Stamps are the
   times of the first and last flit at the pins of the NICs.
   Each list entry of a program is one of the NIC's too, appended and unlinked by register writes and
   events: its match bits, whom it takes messages of and, with NO_TRUNCATE, what it has room for, so that searching
   takes the cycles it takes, one per entry, and holds up what comes behind. Behind the program's entries stands one that takes all.
   Unexpected headers are kept there too: an append that may find some, and each search, goes to the NIC first, which
   looks through its headers, a cycle for each, while no message is matched; the model does the same when the NIC
   tells that it is done, so what is found is told to the program then.
   What the model does: Portals. It decides: the data lands beside, the model looks its own lists up when
   the NIC's event is there (of gets and atomics: at the NIC's first read) and moves the bytes to their
   place at no cost. Where the NIC found another entry or header, only the time is that of the NIC's list: an append or
   unlink was on its way to it; the model's alone are room in queues, messages within a node (which move locally managed
   offsets, too), and with NO_TRUNCATE offsets and entries beyond 8 GiB, locally managed ones beyond 4 MiB; it keeps at most 1,024 headers, and takes a
   message without leaving one when there is no room. So it must be: PtlMEUnlink says at once that no message will take
   an entry, and the NIC hears of it later.
   The NIC's table holds 1,023 entries of all processes of a node, 15 of their interfaces and 16 portals of each;
   for what is beyond, matching takes no time. Counters and triggers are the NIC's too: the first
   16 counters of a node that entries, memory descriptors or triggers use, and up to 256 puts, gets, atomics, CTInc and
   CTSet that wait for them there. The NIC counts what an entry lets in and what is answered, and releases what is
   due without the host; the model hears of it with the events. What the NIC cannot know, the model counts and
   tells it: PtlCTInc and PtlCTSet (as a sum: a PtlCTSet while messages count has an order here and may have the
   other one there), bytes, SEND, entries that also take gets, leave headers, are locally managed with NO_TRUNCATE
   or belong to a portal with flow control, acknowledgements once an entry gives none, and those of the entry that takes
   all, answers of atomics that travel twice. What comes to a portal that is off counts nothing, but for messages that are under way when it is switched
   off: what waits for such a count may go. Beyond 16 and 256, for triggered appends and unlinks, for messages above 4 MiB, and where triggers count successes
   alone, the model releases as its events come, and so what is to go behind it on its counter. A released message reads its payload, and an atomic its
   operands, when it leaves, by DMA. The NIC never truncates:
   a get that is cut short or matches nothing moves as many bytes as it asked for. Atomics on long doubles, and conditional swaps that
   a counter releases, travel as puts and are computed by the model; what a fetching one brings
   back is a second put. Every message is acknowledged, and makes an event at both ends; that of a
   get's target comes one way and one PCI crossing after the answer, as at the flow level.
   From the platform: node_count (at most 64), topology, link_bytes_per_s (the clock: 36 bytes per
   cycle), latency of wire and switch, pci_latency_ns, inline and pio_bytes, e2e_retry_ns and
   e2e_retry_count, and all costs of the CPU. Nodes on a crossbar have an ideal one between them. Every
   other topology is cables and switches in RTL (rtl/nic_switch.sv: queues, credits, 8 ports, at most 64
   of them), wired as pm_route() says; a switch's latency beyond its own few cycles is on the cable behind
   it. Where ways close a ring (a torus, a dragonfly) packets change to a second virtual channel at one of its
   cables, so that they never block each other for good: this is looked at for the ways of all pairs of nodes.
   Refused is what such switches cannot do: more than 8 cables at one, links of different rates, several
   cables at a node, ways that depend on the sender, and rings that two channels do not open. PCI is as wide
   as the NIC's bus (32 bytes per cycle each way). With faults, which happen on the last metre,
   e2e_retry_ns must be at most a millisecond: waiting is simulated too; a ratio of
   faults is met per message, at its first packet. While nothing is under way the NICs stand still, and
   so do their own clocks. */
#ifndef PM_RTL_H_INCLUDED
#define PM_RTL_H_INCLUDED
#ifndef PORTALS_MODEL_H_INCLUDED
#  error "pm_rtl.h needs portals_model.h to be included before"
#endif
#include <stdlib.h>
#include <string.h>
#include "nic_cosim.h"
#if defined(__GNUC__)
#  define PM_RTL__API __attribute__((unused)) static
#else
#  define PM_RTL__API static
#endif

typedef struct pm_rtl pm_rtl;
/* NULL: out of memory. */
PM_RTL__API pm_rtl *pm_rtl_create(void);
PM_RTL__API void pm_rtl_destroy(pm_rtl *rtl);
PM_RTL__API const pm_carrier *pm_rtl_carrier(const pm_rtl *rtl);
/* Why no world could be created. Never NULL. */
PM_RTL__API const char *pm_rtl_error(const pm_rtl *rtl);
/* The simulation of the world's NICs, for counters and waveforms; NULL without a world. Reading a
   register lets time pass there: do so when the world has ended. */
PM_RTL__API cosim *pm_rtl_cosim(const pm_rtl *rtl);

/* Messages since pm_rtl_create that the model gave to an entry that its NIC has, too: those for which the NIC's own
   search ended at the same entry, at another one, and at none. Differences at an entry that only the model knows the room of (above) are
   left out, and at one that the NIC took out of its list for a message that the model refused: it comes back at the end.
   Any other one is an error, or a message that NIC and model see at different places among changes of their lists. */
typedef struct pm_rtl_matches {
  uint64_t same_count, other_count, none_count;
} pm_rtl_matches;
PM_RTL__API pm_rtl_matches pm_rtl_matched(const pm_rtl *rtl);

/* What of a run is saved as waveforms, as commands are told: "FILE.vcd[,nic=N]...[,from=US][,until=US]", or FILE.fst, a
   hundredth of the size; times in microseconds of the run; without nic= of NIC 0. Several NICs: FILE.N.vcd each. */
typedef struct pm_rtl_wave {
  char path[480];
  uint64_t nics; /* bit N: NIC N */
  double from_us, until_us;
} pm_rtl_wave;
/* NULL, or what is wrong with the text. */
PM_RTL__API const char *pm_rtl_wave_read(pm_rtl_wave *wave, const char *text);
/* Before the world is created, which fails when a file cannot be written. */
PM_RTL__API void pm_rtl_set_wave(pm_rtl *rtl, const pm_rtl_wave *wave);
/* After the world was destroyed: 1: all was saved, 0: something was lost (full disk). */
PM_RTL__API int pm_rtl_wave_is_saved(const pm_rtl *rtl);
/* The same for a simulation of one's own. 0: a file cannot be written, or there is no such NIC. */
PM_RTL__API int pm_rtl_wave_start(const pm_rtl_wave *wave, cosim *sim, int nic_count);

/* ==== [IMPLEMENTATION] ======================================================================== */
/* A message is cut into parts of at most COSIM_MAX_BYTES, each a command with a number of its own:
   the part's place in a table, and above it how often the place was used. Host memory as the NICs see
   it: at the initiator 1 << 60 | place << 32, at the target 2 << 60 | place << 34, whichever entry takes
   the part: all are loose, their offsets have the place in them; 3 << 60 is the event queue. */
enum {
  PM_RTL__PLACES = 16384,
  PM_RTL__PLACE_BITS = 14,
  PM_RTL__PLACE_AT = 34, /* nic_pkg's PlaceBit */
  PM_RTL__QUEUE_LOG2 = 10,
  PM_RTL__QUEUE = 1 << PM_RTL__QUEUE_LOG2,
  PM_RTL__SEARCHES = 64,
  PM_RTL__CHANGES = 8 * COSIM_ENTRIES, /* of lists: at most a few of each entry wait at once */
  PM_RTL__NOBODY = 0xFFFF, /* process number and interface of context 0, which takes all */
  PM_RTL__NO_INTERFACE = 3
};
#define PM_RTL__SOURCE ((uint64_t)1 << 60)
#define PM_RTL__TARGET ((uint64_t)2 << 60)
#define PM_RTL__EVENTS ((uint64_t)3 << 60)
#define PM_RTL__MOST                                                                               \
  ((uint64_t)1 << 33) /* a longer entry has room for all that has less of an offset */

typedef struct pm_rtl__load { /* a message under way */
  pm_cargo cargo;
  int parts, arrived, returned, lost;
  bool is_matched, is_told, is_sent, is_back_there;
  int trigger; /* 1 + number; 0: the host sent it */
  bool is_waiting,
      is_due; /* for its counter; the model says that it is released, no packet was seen */
  bool is_open, is_forgotten;     /* the model was told of it; it is none of the model's any more */
  int taken;                      /* 1 + the entry that it made leave its list; 0: none */
  int entry;                      /* 1 + the one that took it in the model, of those kept here */
  int found;                      /* 1 + the one that the NIC found, until that is compared */
  bool is_listed;                 /* it goes through the program's list of the NIC */
  struct pm_rtl__part *first;     /* all its parts */
  struct pm_rtl__load *next_look; /* in its NIC's list of those that have not looked */
  unsigned char *there, *back;    /* what the NICs wrote at the target and at the initiator */
  /* Of an atomic, whose target's bytes as they were are there: what was sent, what has come out so far */
  unsigned char *operand, *result;
  uint64_t result_bytes;
  int64_t t_first_ps[2], t_last_ps[2];
} pm_rtl__load;
typedef struct pm_rtl__part {
  pm_rtl__load *load; /* NULL: the place is free, or nothing may use it any more */
  uint64_t number, offset;
  uint32_t bytes;
  bool is_back, has_arrived; /* is_back: the second way of an exchange */
  int nic, klass, slot;
  int64_t t_go_ps;                     /* when its command was written */
  int64_t t_first_ps[2], t_last_ps[2]; /* of request and answer; -1: not yet */
  struct pm_rtl__part *next, *sibling; /* in the queue or the free list; of the same message */
} pm_rtl__part;
/* An entry of a NIC's table. Free when none of the four is set. */
typedef struct pm_rtl__entry {
  cosim_entry e;
  bool in_model, in_nic, takes_all; /* in_nic: from the append on its way there on */
  bool
      is_apart; /* it takes what the model refuses or passes over, or stands elsewhere in the NIC's list */
  int changes;     /* appends and unlinks of it that have not been told */
  int counter;     /* that its messages raise, since its append was told; -1: none */
  uint64_t number; /* the model's, which waits for the append; 0: it does not */
} pm_rtl__entry;
typedef struct pm_rtl__search { /* number 0: free */
  cosim_entry e;
  bool is_delete;
  uint64_t number;
} pm_rtl__search;
/* One context per process and kind of interface; a list serves once the entry that takes all is told. */
typedef struct pm_rtl__context {
  uint32_t pid, uid; /* uid: as the NIC has it */
  int interface_index, pt_count;
  uint32_t pt_index[16]; /* the program's, by the NIC's */
  uint32_t muted;        /* bit by the NIC's: that lets nothing in, so that nothing counts there */
  short takes_all[16];   /* number of that entry, last in the overflow list; -1: there is no list */
  bool serves[16];
} pm_rtl__context;
typedef struct pm_rtl__lists {
  pm_rtl__entry entry[COSIM_ENTRIES];
  pm_rtl__context context[COSIM_CONTEXTS];
  int context_count, next_entry,
      free_count; /* next_entry: where the search for a free one goes on */
  pm_rtl__search search[PM_RTL__SEARCHES];
  int change[PM_RTL__CHANGES]; /* entry, or ~entry: unlink it; COSIM_ENTRIES + search. A ring */
  uint32_t first_change, change_count;
  int told_count;      /* changes that the NIC has not told of */
  uint32_t staged[16]; /* what the staging words hold */
  bool is_staged;
} pm_rtl__lists;
/* told: the NIC's value once it has done all that was written, as far as its events have come */
typedef struct pm_rtl__counter {
  bool is_used;
  bool is_unsure;             /* the NIC may have done a CTInc or CTSet of it that was cancelled */
  int due_count;              /* messages of its triggers that are is_due */
  uint64_t told[2], model[2]; /* success, failure */
} pm_rtl__counter;
typedef struct pm_rtl__trigger {
  bool is_used, is_due; /* is_due: the model will not ask for it again */
  bool is_set;
  int counter, target;
  uint64_t value[2];
  pm_rtl__load *load; /* NULL: it changes target, or its message is over */
} pm_rtl__trigger;
typedef struct pm_rtl__triggers {
  pm_rtl__counter counter[COSIM_COUNTERS_MAX];
  pm_rtl__trigger trigger[COSIM_TRIGGERS];
  int counter_count, next; /* next: where the search for a free one goes on */
  uint32_t staged[18];     /* what the staging words hold */
  bool is_staged;
} pm_rtl__triggers;
typedef struct pm_rtl__nic {
  pm_rtl__lists lists;
  pm_rtl__triggers triggers;
  unsigned char queue[PM_RTL__QUEUE * 64];
  uint32_t taken, seen;            /* events: told to the model; written by the NIC */
  pm_rtl__part *head[2], *tail[2]; /* wait for a command slot, per class */
  pm_rtl__load
      *looks; /* gets and atomics that it sends and whose entries the model has not looked for */
  uint32_t submitted[2];
  /* A message whose time was up before it ended: a repetition of it may still wait to leave, so the slot is free when the
     NIC's tail says so */
  unsigned char slot_is_used[2][COSIM_SLOTS], slot_is_late[2][COSIM_SLOTS];
  uint32_t tail_is[2];               /* as far as it was read */
  int asked;                         /* 1 + class whose tail is being read; 0: none */
  uint64_t sending[4], receiving[4]; /* whose packets are at the pins, per virtual network */
  int sending_way[4], receiving_way[4];
} pm_rtl__nic;
struct pm_rtl {
  pm_carrier carrier;
  pm_world *world;
  cosim *sim;
  pm_faults faults;
  int nic_count, part_count, event_count; /* event_count: written, not told */
  bool has_told;
  int change_count;   /* of all NICs' lists, not told yet */
  bool is_free_to_go; /* a counter has no due messages any more: what waits behind them goes */
  int unsure_count;   /* counters that are unsure */
  int queued_count;   /* parts that wait for a command slot, or behind due messages */
  int waiting_count, due_count,
      forgotten_count; /* loads of triggers: is_waiting, is_due, is_forgotten */
  uint64_t strayed;    /* entries that the NIC took and the model did not: for the tests */
  pm_rtl_matches matches;
  pm_rtl__load *matching; /* whose entry the model looks for */
  int64_t base_ps, period_ps, timeout_ps;
  int asked_count; /* registers that are being read */
  uint64_t rng;
  pm_rtl__nic *nics;
  pm_rtl__part *parts, *free_head, *free_tail;
  char error[640];
  pm_rtl_wave wave;
  int wave_is_lost;
};

static int64_t pm_rtl__now_ps(const void *ctx) {
  const pm_rtl *r = (const pm_rtl *)ctx;
  return r->base_ps + cosim_now_ps(r->sim);
}

/* ---- host memory, as the NICs see it ------------------------------------------------------------- */
static pm_rtl__part *pm_rtl__part_of(pm_rtl *r, uint64_t number) {
  pm_rtl__part *p = &r->parts[number % PM_RTL__PLACES];
  return p->load && p->number == number ? p : NULL;
}
/* The part that an address belongs to and the place in it; NULL: nobody's any more. */
static pm_rtl__part *pm_rtl__part_at(pm_rtl *r, int nic, uint64_t addr, uint64_t *at) {
  const bool is_target = addr >> 60 == 2;
  pm_rtl__part *p;
  if (is_target)
    p = &r->parts[addr >> PM_RTL__PLACE_AT & (PM_RTL__PLACES - 1)];
  else
    p = &r->parts[addr >> 32 & (PM_RTL__PLACES - 1)];
  *at = addr & (COSIM_MAX_BYTES - 1);
  if (!p->load) return NULL;
  return nic == (is_target != p->is_back ? p->load->cargo.to_node : p->load->cargo.from_node)
             ? p
             : NULL;
}
static void pm_rtl__take(void *to, const unsigned char *from, uint64_t at, uint64_t bytes,
                         size_t size) {
  const uint64_t left = at < bytes ? bytes - at : 0;
  if (from && left) memcpy(to, from + at, left < size ? (size_t)left : size);
}
/* The model has looked for the message's entry. */
static void pm_rtl__matched(pm_rtl *r, pm_rtl__load *l) {
  if (!l->entry) l->entry = 1 + pm_cargo_entry(&l->cargo);
  r->matching = NULL;
}
static bool pm_rtl__may_look(const pm_rtl__load *l) {
  return l->cargo.kind != PM_CARGO_PUT && l->cargo.kind != PM_CARGO_EXCHANGE;
}
static void pm_rtl__looks_no_more(pm_rtl *r, const pm_rtl__load *l) {
  pm_rtl__load **at = &r->nics[l->cargo.from_node].looks;
  while (*at && *at != l) at = &(*at)->next_look;
  if (*at) *at = l->next_look;
}
static void pm_rtl__look(pm_rtl *r, pm_rtl__load *l) {
  pm_rtl__looks_no_more(r, l);
  l->is_matched = l->is_open = 1;
  r->matching = l;
  pm_cargo_match(&l->cargo, l->there);
  pm_rtl__matched(r, l);
  r->has_told = 1;
}
/* When its first flit left; -1: not yet. */
static int64_t pm_rtl__left_ps(const pm_rtl__load *l) {
  const pm_rtl__part *p = l->first;
  int64_t t_ps = -1;
  for (; p; p = p->sibling)
    if (!p->is_back && p->t_first_ps[0] >= 0 && (t_ps < 0 || p->t_first_ps[0] < t_ps))
      t_ps = p->t_first_ps[0];
  return t_ps;
}
/* A NIC's messages of a class reach another one in order, and it matches them so; but the model sees a get at its
   first read, which waits for those before it, and a put at its event, which may come sooner. Those that left before l
   look first. */
static void pm_rtl__look_in_order(pm_rtl *r, const pm_rtl__load *l) {
  for (;;) {
    pm_rtl__load *i = r->nics[l->cargo.from_node].looks, *next = NULL;
    int64_t next_ps = pm_rtl__left_ps(l);
    for (; i; i = i->next_look) {
      const int64_t t_ps = i == l || i->is_matched || i->cargo.to_node != l->cargo.to_node ||
                                   i->cargo.is_service != l->cargo.is_service
                               ? -1
                               : pm_rtl__left_ps(i);
      if (t_ps >= 0 && t_ps < next_ps) next = i, next_ps = t_ps;
    }
    if (!next) return;
    pm_rtl__look(r, next);
  }
}
static int pm_rtl__read(void *ctx, int nic, uint64_t addr, void *buffer, size_t size) {
  pm_rtl *r = (pm_rtl *)ctx;
  uint64_t at;
  pm_rtl__part *p = pm_rtl__part_at(r, nic, addr, &at);
  pm_rtl__load *l;
  memset(buffer, 0, size);
  if (!p) return 0;
  l = p->load;
  if (addr >> 60 == 1 && !p->is_back) {
    if (!l->is_forgotten) pm_cargo_payload(&l->cargo, p->offset + at, buffer, size);
    if (l->operand && at < p->bytes)
      memcpy(l->operand + at, buffer, p->bytes - at < size ? (size_t)(p->bytes - at) : size);
    return 0;
  }
  if (addr >> 60 == 2 && !l->is_matched) { /* a get or an atomic looks at its target */
    pm_rtl__look_in_order(r, l);
    pm_rtl__look(r, l);
  }
  pm_rtl__take(buffer, l->there, p->offset + at, l->cargo.size_bytes, size);
  return 0;
}
static int pm_rtl__write(void *ctx, int nic, uint64_t addr, const void *buffer, size_t size) {
  pm_rtl *r = (pm_rtl *)ctx;
  pm_rtl__load *l;
  pm_rtl__part *p;
  uint64_t at;
  unsigned char *to;
  if (addr >> 60 == 3) {
    pm_rtl__nic *n = &r->nics[nic];
    if ((addr & 0xFFFFFFFF) + size > sizeof n->queue) return -1;
    memcpy(n->queue + (addr & 0xFFFFFFFF), buffer, size);
    if (cosim_event_unpack(n->queue + n->seen % PM_RTL__QUEUE * 64).phase ==
        !(n->seen >> PM_RTL__QUEUE_LOG2 & 1)) { /* the record is whole */
      n->seen++;
      r->event_count++;
    }
    return 0;
  }
  p = pm_rtl__part_at(r, nic, addr, &at);
  if (!p || at + size > p->bytes) return p ? -1 : 0;
  l = p->load;
  if (addr >> 60 == 2 && l->operand) {
    memcpy(l->result + at, buffer, size);
    l->result_bytes += size;
    if (l->result_bytes == l->cargo.size_bytes && !l->is_forgotten)
      pm_cargo_store(&l->cargo, l->operand, l->there, l->result), r->has_told = 1;
    return 0;
  }
  to = addr >> 60 == 1 || p->is_back ? l->back : l->there;
  if (to) memcpy(to + p->offset + at, buffer, size);
  return 0;
}

/* A released message is under way from its first packet on, or from when the model says that it is due. */
static void pm_rtl__begins(pm_rtl *r, pm_rtl__load *l) {
  r->waiting_count -= l->is_waiting;
  l->is_waiting = 0;
}
static pm_rtl__counter *pm_rtl__counter_of(pm_rtl *r, const pm_rtl__load *l) {
  pm_rtl__triggers *s = &r->nics[l->cargo.from_node].triggers;
  return &s->counter[s->trigger[l->trigger - 1].counter];
}
static void pm_rtl__left_nic(pm_rtl *r, pm_rtl__load *l) {
  pm_rtl__begins(r, l);
  if (!l->is_due) return;
  r->due_count--;
  l->is_due = 0;
  if (!--pm_rtl__counter_of(r, l)->due_count) r->is_free_to_go = 1;
}

/* ---- at the pins: true times, faults ------------------------------------------------------------- */
static uint64_t pm_rtl__number(const cosim_packet *packet) {
  return packet->data[10] >> 16 | (uint64_t)packet->data[11] << 16;
}
/* 0 request, 1 answer, -1 neither */
static int pm_rtl__way(const cosim_packet *packet) {
  const int kind = (int)(packet->data[0] & 15);
  return kind <= COSIM_KIND_FETCH ? 0 : kind == COSIM_KIND_ACK || kind == COSIM_KIND_REPLY ? 1 : -1;
}
static void pm_rtl__watch(void *ctx, int nic, int received, const cosim_packet *packet,
                          int64_t first_cycle, int64_t last_cycle) {
  pm_rtl *r = (pm_rtl *)ctx;
  pm_rtl__nic *n = &r->nics[nic];
  const int vn = (int)(packet->header >> 2 & 3);
  uint64_t *whose = received ? &n->receiving[vn] : &n->sending[vn];
  int *way = received ? &n->receiving_way[vn] : &n->sending_way[vn];
  pm_rtl__part *p;
  if (packet->header & 2) *whose = pm_rtl__number(packet), *way = pm_rtl__way(packet);
  p = *way < 0 ? NULL : pm_rtl__part_of(r, *whose);
  if (!p || (*way == 0 && p->has_arrived)) return; /* a repetition of what is there already */
  if (!received) pm_rtl__left_nic(r, p->load);
  if (!received && packet->header & 2 && p->t_first_ps[*way] < 0)
    p->t_first_ps[*way] = r->base_ps + first_cycle * r->period_ps;
  if (received && packet->header & 1)
    p->t_last_ps[*way] = r->base_ps + (last_cycle + 1) * r->period_ps;
}
static double pm_rtl__ratio(pm_rtl *r) { /* splitmix64 */
  uint64_t z = (r->rng += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return (double)((z ^ (z >> 31)) >> 11) * (1.0 / 9007199254740992.0);
}
static cosim_fault pm_rtl__fault(void *ctx, int src, int dst, const cosim_packet *packet) {
  pm_rtl *r = (pm_rtl *)ctx;
  const pm_faults *f = &r->faults;
  const int64_t t_ns = pm_rtl__now_ps(r) / 1000;
  double x;
  if (f->down_node && (src == f->down_node - 1 || dst == f->down_node - 1) &&
      t_ns >= f->t_down_ns && t_ns < f->t_down_ns + f->d_down_ns)
    return COSIM_LOSE;
  if (!(packet->header & 2)) return COSIM_PASS;
  x = pm_rtl__ratio(r);
  if (x < f->loss_ratio) return COSIM_LOSE;
  if (x < f->loss_ratio + f->corrupt_ratio) return COSIM_CORRUPT;
  if (pm_rtl__ratio(r) < f->duplicate_ratio) return COSIM_DUPLICATE;
  return pm_rtl__ratio(r) < f->delay_ratio ? COSIM_DELAY : COSIM_PASS;
}

/* ---- lists: the NICs' tables follow the model's lists ------------------------------------------------- */
static void pm_rtl__wake(pm_rtl *r, int64_t t_ps);
/* What waits goes to the NIC, as far as that has room. */
static void pm_rtl__changes_go(pm_rtl *r, int nic) {
  pm_rtl__lists *s = &r->nics[nic].lists;
  for (; s->change_count && s->told_count < COSIM_LIST_QUEUE; s->change_count--, s->told_count++) {
    const int change = s->change[s->first_change++ % PM_RTL__CHANGES],
              entry = change < 0 ? ~change : change;
    const pm_rtl__search *search = entry < COSIM_ENTRIES ? NULL : &s->search[entry - COSIM_ENTRIES];
    uint32_t words[16], how = (uint32_t)entry | COSIM_ME_TELL, i;
    if (!search || search->is_delete) how |= search ? COSIM_ME_DELETE : COSIM_ME_FORCE;
    if (change < 0) {
      cosim_write(r->sim, nic, COSIM_ME_UNLINK, how);
      continue;
    }
    cosim_entry_pack(search ? &search->e : &s->entry[entry].e, words);
    for (i = 0; i < 16; i++)
      if (!s->is_staged || s->staged[i] != words[i])
        cosim_write(r->sim, nic, COSIM_ME_STAGE + 4 * i, words[i]);
    memcpy(s->staged, words, sizeof words);
    s->is_staged = 1;
    cosim_write(r->sim, nic, search ? COSIM_ME_SEARCH : COSIM_ME_APPEND, how);
  }
}
static void pm_rtl__change_put(pm_rtl *r, int nic, int change) {
  pm_rtl__lists *s = &r->nics[nic].lists;
  if (s->change_count == PM_RTL__CHANGES) {
    pm_world_fail(r->world, PM_E_STATE, "pm_rtl.h: too many changes of lists wait for a NIC");
    return;
  }
  s->change[(s->first_change + s->change_count++) % PM_RTL__CHANGES] = change;
  r->change_count++;
  pm_rtl__changes_go(r, nic);
}
static void pm_rtl__change(pm_rtl *r, int nic, int entry, bool is_unlink) {
  pm_rtl__entry *x = &r->nics[nic].lists.entry[entry];
  x->changes++;
  if (!is_unlink) x->in_nic = 1;
  pm_rtl__change_put(r, nic, is_unlink ? ~entry : entry);
}
static bool pm_rtl__is_free(const pm_rtl__entry *e) {
  return !e->in_model && !e->in_nic && !e->takes_all && !e->changes;
}
static int pm_rtl__entry_new(pm_rtl *r, int nic, const cosim_entry *e, bool takes_all) {
  pm_rtl__lists *s = &r->nics[nic].lists;
  int i;
  for (i = 0; i < COSIM_ENTRIES; i++) {
    const int n = (s->next_entry + i) % COSIM_ENTRIES;
    pm_rtl__entry *x = &s->entry[n];
    if (!pm_rtl__is_free(x)) continue;
    s->next_entry = n + 1;
    x->e = *e;
    x->e.user = (uint64_t)n;
    x->in_model = !takes_all;
    x->takes_all = takes_all;
    x->is_apart = 0;
    x->number = 0;
    pm_rtl__change(r, nic, n, 0);
    return n;
  }
  return -1;
}
/* Whatever part is under way has its own bytes in each entry. */
static cosim_entry pm_rtl__cover(int context, int pt) {
  cosim_entry e;
  memset(&e, 0, sizeof e);
  e.ctx = context, e.pt = pt;
  e.src = e.ct = e.pid = -1, e.uid = -1;
  e.op_put = e.op_get = 1;
  e.start = PM_RTL__TARGET;
  e.loose_headers = 1;
  return e;
}
/* The last of an overflow list: what no other takes. The one before leaves. Whether the model's entry acknowledges is
   not known: the model counts that. */
static void pm_rtl__take_all(pm_rtl *r, int nic, int context, int pt) {
  pm_rtl__lists *s = &r->nics[nic].lists;
  pm_rtl__context *c = &s->context[context];
  cosim_entry e = pm_rtl__cover(context, pt);
  const int old = c->takes_all[pt];
  int n;
  e.overflow = e.ack_off = 1;
  e.ignore_bits = ~(uint64_t)0;
  n = pm_rtl__entry_new(r, nic, &e, 1);
  if (n < 0) return; /* the old one stays where it is */
  c->takes_all[pt] = (short)n;
  if (old < 0) return;
  s->entry[old].takes_all = 0;
  pm_rtl__change(r, nic, old, 1);
}
/* The context of an interface; 0: all are in use, or it has a number that the NIC does not know. */
static int pm_rtl__context_of(pm_rtl *r, int nic, uint32_t pid, int interface_index,
                              bool is_new_too) {
  pm_rtl__lists *s = &r->nics[nic].lists;
  const uint32_t at = COSIM_CTX + 16u * (uint32_t)s->context_count;
  pm_rtl__context *c;
  int i;
  for (i = 1; i < s->context_count; i++)
    if (s->context[i].pid == pid && s->context[i].interface_index == interface_index) return i;
  if (!is_new_too || s->context_count == COSIM_CONTEXTS || pid >= PM_RTL__NOBODY) return 0;
  c = &s->context[s->context_count];
  c->pid = pid;
  c->interface_index = interface_index;
  for (i = 0; i < 16; i++) c->takes_all[i] = -1;
  cosim_write(r->sim, nic, at + 8, 0xFFFF);
  cosim_write(r->sim, nic, at, 0x80000000u | (uint32_t)interface_index << 16 | pid);
  return s->context_count++;
}
/* The NIC's number of a portal, 0 to 15 in the order of their first entries; -1: it has none. */
static int pm_rtl__pt_of(pm_rtl *r, int nic, int context, uint32_t index, bool is_new_too) {
  pm_rtl__context *c = &r->nics[nic].lists.context[context];
  int i;
  for (i = 0; i < c->pt_count; i++)
    if (c->pt_index[i] == index) return i;
  if (!is_new_too || i == 16) return -1;
  c->pt_index[c->pt_count++] = index;
  return i;
}
/* Where it has room for a message the NIC cannot know: it knows 34 bits of offsets, and of lengths what fits in a command. */
static bool pm_rtl__judges_otherwise(const pm_carrier_entry *entry) {
  return entry->never_cuts &&
         entry->size_bytes > (entry->is_local ? (uint64_t)COSIM_MAX_BYTES : PM_RTL__MOST);
}
static cosim_entry pm_rtl__entry_of(int context, int pt, const pm_carrier_entry *entry) {
  cosim_entry e = pm_rtl__cover(context, pt);
  e.overflow = entry->is_overflow;
  e.use_once = entry->is_use_once;
  e.keep_headers = entry->keeps_headers;
  e.no_over = entry->is_untold;
  e.no_truncate = entry->never_cuts;
  e.manage_local = entry->is_local;
  e.min_free = (uint32_t)(entry->min_free_bytes < 0xFFFFFFFF ? entry->min_free_bytes : 0xFFFFFFFF);
  e.add_lengths = entry->adds_lengths;
  e.op_put = entry->takes_puts, e.op_get = entry->takes_gets;
  e.ack_off = entry->is_mute;
  e.uid = entry->uid;
  e.size_bytes = entry->size_bytes <= PM_RTL__MOST ? entry->size_bytes : ((uint64_t)1 << 48) - 1;
  e.match = entry->match_bits, e.ignore_bits = entry->ignore_bits;
  /* messages within the node move its offset, too: of these the NIC does not know */
  e.ct = pm_rtl__judges_otherwise(entry) || (entry->never_cuts && entry->is_local)
             ? -1
             : entry->counter - 1;
  e.ct_puts = 1;
  e.src = entry->from_node_id == -1 ? -1 : entry->from_node_id < 0 ? 0 : (int)entry->from_node_id;
  e.pid = entry->from_process_id == -1 ? -1
          : entry->from_process_id < 0 ? PM_RTL__NOBODY
                                       : (int)entry->from_process_id;
  return e;
}
static int pm_rtl__search_new(pm_rtl *r, const pm_carrier_entry *entry, const cosim_entry *e) {
  pm_rtl__search *all = r->nics[entry->node].lists.search;
  int i = 0;
  while (i < PM_RTL__SEARCHES && all[i].number) i++;
  if (i == PM_RTL__SEARCHES) return -1;
  all[i].e = *e;
  all[i].number = entry->op_id;
  all[i].is_delete = entry->search == 2;
  pm_rtl__change_put(r, entry->node, COSIM_ENTRIES + i);
  return i;
}
static int pm_rtl__entry_linked(void *ctx, int64_t t_ps, const pm_carrier_entry *entry) {
  pm_rtl *r = (pm_rtl *)ctx;
  pm_rtl__lists *s = &r->nics[entry->node].lists;
  cosim_entry e;
  int context, pt, number;
  pm_rtl__wake(r, t_ps);
  context = pm_rtl__context_of(r, entry->node, entry->pid, entry->interface_index, 1);
  pt = context ? pm_rtl__pt_of(r, entry->node, context, entry->pt_index, 1) : -1;
  if (pt < 0) return -1;
  e = pm_rtl__entry_of(context, pt, entry);
  if (entry->search) return pm_rtl__search_new(r, entry, &e);
  if (s->context[context].takes_all[e.pt] < 0) pm_rtl__take_all(r, entry->node, context, e.pt);
  if (s->context[context].takes_all[e.pt] < 0) return -1;
  number = pm_rtl__entry_new(r, entry->node, &e, 0);
  if (number >= 0)
    s->entry[number].number = entry->op_id,
    s->entry[number].is_apart = pm_rtl__judges_otherwise(entry);
  if (number >= 0 && e.overflow) pm_rtl__take_all(r, entry->node, context, e.pt);
  return number;
}
static void pm_rtl__entry_unlinked(void *ctx, int64_t t_ps, int node, int number,
                                   bool is_by_message) {
  pm_rtl *r = (pm_rtl *)ctx;
  pm_rtl__entry *x = &r->nics[node].lists.entry[number];
  const bool is_its = is_by_message && r->matching && r->matching->cargo.to_node == node;
  x->in_model = 0;
  if (is_its) r->matching->entry = 1 + number;
  if (!x->in_nic) return; /* the NIC took it out, and told */
  if (is_its) {
    r->matching->taken = 1 + number; /* the NIC may be about to tell */
    return;
  }
  pm_rtl__wake(r, t_ps);
  pm_rtl__change(r, node, number, 1);
}
/* The message that the model took an entry for has been told of, or is over: the NIC's entry goes too. */
static void pm_rtl__taken(pm_rtl *r, pm_rtl__load *l) {
  const int number = l->taken - 1;
  if (!l->taken) return;
  l->taken = 0;
  if (r->nics[l->cargo.to_node].lists.entry[number].in_nic)
    pm_rtl__change(r, l->cargo.to_node, number, 1);
}
/* An entry left the NIC's list with a message. The model may have kept it: then it is appended again. */
static void pm_rtl__left(pm_rtl *r, int nic, int number) {
  pm_rtl__entry *x = &r->nics[nic].lists.entry[number];
  if (!x->in_model || x->in_nic) return;
  r->strayed++;
  x->is_apart = 1;
  pm_rtl__change(r, nic, number, 0);
  if (x->e.overflow) pm_rtl__take_all(r, nic, x->e.ctx, x->e.pt);
}
/* The NIC tells that an append, unlink or search is done. An entry that headers have used up there may have found none in
   the model: then it is appended again. */
static void pm_rtl__changed(pm_rtl *r, int nic, const cosim_event *e) {
  pm_rtl__lists *s = &r->nics[nic].lists;
  pm_rtl__entry *x = e->slot < COSIM_ENTRIES ? &s->entry[e->slot] : NULL;
  uint64_t *waits = x ? &x->number : &s->search[e->slot - COSIM_ENTRIES].number, number = 0;
  r->change_count--;
  s->told_count--;
  if (e->type != COSIM_EV_UNLINK) number = *waits, *waits = 0;
  if (x) {
    x->changes--;
    if (e->type == COSIM_EV_LINK) x->counter = x->e.ct;
    if (e->type != COSIM_EV_LINK)
      x->in_nic = 0;
    else if (x->takes_all)
      s->context[x->e.ctx].serves[x->e.pt] = 1;
  }
  pm_rtl__changes_go(r, nic);
  if (number) {
    pm_list_told(r->world, number);
    r->has_told = 1;
  }
  if (e->type == COSIM_EV_AUTO_UNLINK) pm_rtl__left(r, nic, e->slot);
}
/* Whose list a message is for: that of its target, or of context 0 where one entry takes all. */
static void pm_rtl__address(pm_rtl *r, const pm_rtl__part *p, cosim_command *c) {
  const pm_cargo *cargo = &p->load->cargo;
  int to, from, pt;
  c->dst_pid = PM_RTL__NOBODY;
  if (p->is_back || p->offset) return;
  if (p->load->parts > 1 && r->nics[cargo->to_node].triggers.counter_count)
    return; /* its first part must not count */
  to = pm_rtl__context_of(r, cargo->to_node, cargo->to_pid, cargo->interface_index, 0);
  pt = to ? pm_rtl__pt_of(r, cargo->to_node, to, cargo->pt_index, 0) : -1;
  if (pt < 0 || !r->nics[cargo->to_node].lists.context[to].serves[pt]) return;
  from = pm_rtl__context_of(r, cargo->from_node, cargo->from_pid, cargo->interface_index, 1);
  if (!from) return;
  p->load->is_listed = 1;
  if (r->nics[cargo->from_node].lists.context[from].uid != cargo->from_uid) {
    r->nics[cargo->from_node].lists.context[from].uid = cargo->from_uid;
    cosim_write(r->sim, cargo->from_node, COSIM_CTX + 16u * (uint32_t)from + 4, cargo->from_uid);
  }
  c->ctx = from;
  c->dst_pid = (int)cargo->to_pid;
  c->pt = pt;
  c->match = cargo->match_bits;
}

/* ---- commands --------------------------------------------------------------------------------------- */
static pm_rtl__part *pm_rtl__part_new(pm_rtl *r, pm_rtl__load *load, uint64_t offset,
                                      uint64_t bytes, bool is_back) {
  pm_rtl__part *p = r->free_head;
  if (!p) return NULL;
  r->free_head = p->next;
  if (!r->free_head) r->free_tail = NULL;
  r->part_count++;
  p->next = NULL;
  p->load = load;
  p->sibling = load->first;
  load->first = p;
  p->number += (uint64_t)1 << PM_RTL__PLACE_BITS;
  p->number &= ((uint64_t)1 << 48) - 1;
  p->offset = offset;
  p->bytes = (uint32_t)bytes;
  p->is_back = is_back;
  p->has_arrived = 0;
  p->nic = is_back ? load->cargo.to_node : load->cargo.from_node;
  p->klass = load->cargo.is_service != 0;
  p->t_first_ps[0] = p->t_first_ps[1] = p->t_last_ps[0] = p->t_last_ps[1] = -1;
  return p;
}
/* One that was given up may still have packets somewhere: its place is not used again. */
static void pm_rtl__part_free(pm_rtl *r, pm_rtl__part *p, bool is_lost) {
  r->part_count--;
  p->load = NULL;
  p->next = NULL;
  if (is_lost) return;
  if (r->free_tail)
    r->free_tail->next = p;
  else
    r->free_head = p;
  r->free_tail = p;
}
/* In the command, or behind its header; a value to compare with stands behind the operand. */
static void pm_rtl__operands_go(const pm_rtl__load *l, cosim_command *c, unsigned char *payload) {
  const pm_cargo *cargo = &l->cargo;
  const bool compares = cargo->operation > PTL_SWAP;
  const size_t size = (size_t)cargo->size_bytes, compare_at = size > 8 ? size : 8;
  c->op = cargo->operation;
  c->is_signed = cargo->is_signed;
  c->is_float = cargo->is_float, c->is_complex = cargo->is_complex;
  while (1 << c->size_log2 < cargo->element_bytes) c->size_log2++;
  c->payload = cargo->payload == 2 || size > COSIM_PIO_BYTES ? COSIM_PAY_DMA
               : size <= 16 && !(compares && size > 8)       ? COSIM_PAY_INLINE
                                                             : COSIM_PAY_PIO;
  if (c->payload == COSIM_PAY_DMA) {
    if (c->kind == COSIM_KIND_FETCH)
      c->operand[0] = c->addr; /* of what is read, beside what is written */
    return;
  }
  memset(payload, 0, COSIM_PIO_BYTES);
  pm_cargo_payload(cargo, 0, payload, size);
  memcpy(l->operand, payload, size);
  if (compares) memcpy(payload + compare_at, cargo->compare, (size_t)cargo->element_bytes);
  if (c->payload == COSIM_PAY_INLINE) memcpy(c->operand, payload, sizeof c->operand);
}
/* Where the message's first part must begin to end where the message does: so far an entry must have room. */
static uint64_t pm_rtl__offset(const pm_cargo *cargo, uint64_t part_bytes) {
  const uint64_t most = ((uint64_t)1 << PM_RTL__PLACE_AT) - 1;
  const uint64_t more_bytes = cargo->size_bytes - part_bytes;
  return more_bytes > most || cargo->remote_offset_bytes > most - more_bytes
             ? most
             : cargo->remote_offset_bytes + more_bytes;
}
/* payload: COSIM_PIO_BYTES, for what the host writes */
static cosim_command pm_rtl__command_of(pm_rtl *r, const pm_rtl__part *p, unsigned char *payload) {
  const pm_rtl__load *l = p->load;
  const pm_cargo *cargo = &l->cargo;
  const uint64_t place = (uint64_t)(p - r->parts);
  cosim_command c;
  int how = cargo->payload;
  memset(&c, 0, sizeof c);
  c.kind = p->is_back                       ? COSIM_KIND_PUT
           : cargo->kind == PM_CARGO_GET    ? COSIM_KIND_GET
           : cargo->kind == PM_CARGO_ATOMIC ? COSIM_KIND_ATOMIC
           : cargo->kind == PM_CARGO_FETCH  ? COSIM_KIND_FETCH
                                            : COSIM_KIND_PUT;
  c.dst = p->is_back ? cargo->from_node : cargo->to_node;
  pm_rtl__address(r, p, &c);
  c.offset = place << PM_RTL__PLACE_AT | pm_rtl__offset(cargo, p->bytes);
  c.addr = PM_RTL__SOURCE | place << 32;
  c.size_bytes = p->bytes;
  c.user = c.hdr_data = p->number;
  c.ct = p->is_back || l->parts > 1 ? -1 : cargo->counter - 1;
  c.want_ack = c.want_end = 1;
  c.want_send = cargo->tells_sent && !p->is_back;
  if (c.kind == COSIM_KIND_PUT) {
    if (p->bytes <= COSIM_PIO_BYTES && how != 2) {
      memset(payload, 0, COSIM_PIO_BYTES);
      if (p->is_back)
        pm_rtl__take(payload, l->there, p->offset, cargo->size_bytes, p->bytes);
      else
        pm_cargo_payload(cargo, p->offset, payload, p->bytes);
    }
    if (how == 0 && p->bytes > 16) how = 1;
    if (how == 1 && p->bytes > COSIM_PIO_BYTES) how = 2;
    if (how == 0) memcpy(c.operand, payload, sizeof c.operand);
    c.payload = how == 0 ? COSIM_PAY_INLINE : how == 1 ? COSIM_PAY_PIO : COSIM_PAY_DMA;
  } else if (c.kind != COSIM_KIND_GET) {
    pm_rtl__operands_go(l, &c, payload);
  }
  return c;
}
static void pm_rtl__command(pm_rtl *r, pm_rtl__part *p) {
  unsigned char payload[COSIM_PIO_BYTES];
  const cosim_command c = pm_rtl__command_of(r, p, payload);
  cosim_submit(r->sim, p->nic, p->klass, &c, c.payload == COSIM_PAY_PIO ? payload : NULL);
}
/* The slot of the next command is free; else the NIC is asked, if it must be. */
static bool pm_rtl__has_slot(pm_rtl *r, int nic, int klass) {
  pm_rtl__nic *n = &r->nics[nic];
  const uint32_t slot = n->submitted[klass] % COSIM_SLOTS;
  if (n->slot_is_used[klass][slot]) return 0;
  if (!n->slot_is_late[klass][slot] ||
      (int32_t)(n->tail_is[klass] + COSIM_SLOTS - n->submitted[klass]) > 0)
    return 1;
  if (!n->asked) {
    n->asked = 1 + klass;
    r->asked_count++;
    cosim_read_ask(r->sim, nic, klass ? COSIM_CMD1_TAIL : COSIM_CMD0_TAIL);
  }
  return 0;
}
/* What its counter releases in the NIC leaves first. */
static bool pm_rtl__is_behind(const pm_rtl__nic *n, const pm_rtl__part *p) {
  const int behind = p->is_back ? 0 : p->load->cargo.behind;
  return behind && n->triggers.counter[behind - 1].due_count > 0;
}
/* The commands that wait, as far as there are slots. */
static void pm_rtl__pump(pm_rtl *r, int nic, int klass) {
  pm_rtl__nic *n = &r->nics[nic];
  while (n->head[klass] && !pm_rtl__is_behind(n, n->head[klass]) &&
         pm_rtl__has_slot(r, nic, klass)) {
    pm_rtl__part *p = n->head[klass];
    r->queued_count--;
    n->head[klass] = p->next;
    p->next = NULL;
    p->slot = (int)(n->submitted[klass]++ % COSIM_SLOTS);
    p->t_go_ps = pm_rtl__now_ps(r);
    n->slot_is_used[klass][p->slot] = 1;
    pm_rtl__command(r, p);
  }
}
/* What NICs were asked for has come. */
static void pm_rtl__answers(pm_rtl *r) {
  int i;
  for (i = 0; i < r->nic_count; i++) {
    pm_rtl__nic *n = &r->nics[i];
    uint32_t value;
    if (!n->asked || !cosim_read_got(r->sim, i, &value)) continue;
    n->tail_is[n->asked - 1] = value;
    n->asked = 0;
    r->asked_count--;
    pm_rtl__pump(r, i, 0);
    pm_rtl__pump(r, i, 1);
  }
}
static void pm_rtl__part_go(pm_rtl *r, pm_rtl__part *p) {
  pm_rtl__nic *n = &r->nics[p->nic];
  if (n->head[p->klass])
    n->tail[p->klass]->next = p;
  else
    n->head[p->klass] = p;
  n->tail[p->klass] = p;
  r->queued_count++;
  pm_rtl__pump(r, p->nic, p->klass);
}
static void pm_rtl__go_on(pm_rtl *r) {
  int i;
  r->is_free_to_go = 0;
  for (i = 0; i < 2 * r->nic_count; i++) pm_rtl__pump(r, i / 2, i % 2);
}
static void pm_rtl__load_free(pm_rtl__load *l) {
  if (!l) return;
  free(l->there);
  free(l->back);
  free(l);
}
static bool pm_rtl__is_busy(const void *ctx) {
  const pm_rtl *r = (const pm_rtl *)ctx;
  return r->part_count > r->waiting_count || r->event_count > 0 || r->change_count > 0 ||
         !cosim_idle(r->sim);
}
static void pm_rtl__forgotten_go(pm_rtl *r);
static void pm_rtl__be_sure(pm_rtl *r);
/* The NICs stood still until now. */
static void pm_rtl__wake(pm_rtl *r, int64_t t_ps) {
  if (pm_rtl__is_busy(r)) return;
  if (r->forgotten_count) pm_rtl__forgotten_go(r);
  if (r->unsure_count) pm_rtl__be_sure(r);
  r->base_ps += t_ps - pm_rtl__now_ps(r);
  cosim_trace_offset(r->sim, r->base_ps);
}
static pm_rtl__load *pm_rtl__looks_later(pm_rtl *r, pm_rtl__load *l) {
  pm_rtl__load **first = &r->nics[l->cargo.from_node].looks;
  if (!pm_rtl__may_look(l)) return l;
  l->next_look = *first;
  return *first = l;
}
static pm_rtl__load *pm_rtl__load_new(pm_rtl *r, const pm_cargo *cargo) {
  pm_rtl__load *l = (pm_rtl__load *)calloc(1, sizeof *l);
  const size_t size = (size_t)cargo->size_bytes;
  const bool is_computed = cargo->kind == PM_CARGO_ATOMIC || cargo->kind == PM_CARGO_FETCH,
             comes_back = cargo->kind != PM_CARGO_PUT && cargo->kind != PM_CARGO_ATOMIC;
  if (!l) return NULL;
  l->cargo = *cargo;
  l->t_first_ps[0] = l->t_first_ps[1] = -1;
  if (!size) return pm_rtl__looks_later(r, l);
  l->there = (unsigned char *)calloc(1, is_computed ? 3 * size : size);
  if (comes_back) l->back = (unsigned char *)calloc(1, size);
  if (!l->there || (comes_back && !l->back)) {
    pm_rtl__load_free(l);
    return NULL;
  }
  if (is_computed) l->operand = l->there + size, l->result = l->operand + size;
  return pm_rtl__looks_later(r, l);
}
static pm_status pm_rtl__submit(void *ctx, int64_t t_ps, const pm_cargo *cargo) {
  pm_rtl *r = (pm_rtl *)ctx;
  pm_rtl__load *l = pm_rtl__load_new(r, cargo);
  uint64_t at = 0;
  if (!l) return PM_E_NOMEM;
  pm_rtl__wake(r, t_ps);
  do { /* the load knows how many parts there will be before the first may end */
    l->parts++;
    at += COSIM_MAX_BYTES;
  } while (at < cargo->size_bytes);
  for (at = 0; at == 0 || at < cargo->size_bytes; at += COSIM_MAX_BYTES) {
    const uint64_t left = cargo->size_bytes - at;
    pm_rtl__part *p =
        pm_rtl__part_new(r, l, at, left < COSIM_MAX_BYTES ? left : (uint64_t)COSIM_MAX_BYTES, 0);
    if (!p) return PM_E_NOMEM; /* 16384 are under way: the run ends */
    pm_rtl__part_go(r, p);
  }
  return PM_OK;
}

/* ---- counters and triggers: the NICs' follow the model's ----------------------------------------------- */
/* What the NIC did not count by itself is added there; an entry, an answer or a trigger may count meanwhile. */
static void pm_rtl__settle(pm_rtl *r, int64_t t_ps, int nic, int counter) {
  pm_rtl__counter *c = &r->nics[nic].triggers.counter[counter];
  /* first what lowers the sum: on its way it must not reach a threshold */
  const uint32_t first_half = (int64_t)(c->model[1] - c->told[1]) < 0;
  uint32_t i;
  if (!c->is_used) return;
  for (i = 0; i < 2; i++) {
    const uint32_t at = COSIM_CT + 32 * (uint32_t)counter, half = first_half ^ i;
    const int64_t more = (int64_t)(c->model[half] - c->told[half]);
    if (!more) continue;
    pm_rtl__wake(r, t_ps);
    if (more == (int32_t)more)
      cosim_write(r->sim, nic, at + COSIM_CT_ADD_SUCCESS + 4 * half, (uint32_t)more);
    else { /* a jump that nothing but PtlCTSet and PtlCTInc make: one that lowers it by its high half first */
      const uint32_t first = more < 0 ? 4 : 0;
      cosim_write(r->sim, nic, at + 8 * half + first, (uint32_t)(c->model[half] >> 8 * first));
      cosim_write(r->sim, nic, at + 8 * half + (4 - first),
                  (uint32_t)(c->model[half] >> 8 * (4 - first)));
    }
    c->told[half] = c->model[half];
  }
}
static int pm_rtl__counter_new(void *ctx, int64_t t_ps, int node) {
  pm_rtl *r = (pm_rtl *)ctx;
  pm_rtl__triggers *s = &r->nics[node].triggers;
  int i = 0;
  while (i < COSIM_COUNTERS_MAX && s->counter[i].is_used) i++;
  if (i == COSIM_COUNTERS_MAX) return -1;
  s->counter_count++;
  s->counter[i].is_used = 1;
  s->counter[i].model[0] = s->counter[i].model[1] = 0;
  pm_rtl__settle(r, t_ps, node, i);
  return i;
}
static void pm_rtl__counter_free(void *ctx, int64_t t_ps, int node, int counter) {
  pm_rtl__triggers *s = &((pm_rtl *)ctx)->nics[node].triggers;
  (void)t_ps;
  s->counter[counter].is_used = 0;
  s->counter_count--;
}
static void pm_rtl__counter_is(void *ctx, int64_t t_ps, int node, int counter,
                               ptl_ct_event_t value) {
  pm_rtl__counter *c = &((pm_rtl *)ctx)->nics[node].triggers.counter[counter];
  c->model[0] = value.success;
  c->model[1] = value.failure;
  pm_rtl__settle((pm_rtl *)ctx, t_ps, node, counter);
}
/* Of a portal without a number of the NIC's no entry is there either. */
static void pm_rtl__portal_is(void *ctx, int64_t t_ps, int node, uint32_t pid, int interface_index,
                              ptl_pt_index_t pt_index, bool is_on) {
  pm_rtl *r = (pm_rtl *)ctx;
  const int context = pm_rtl__context_of(r, node, pid, interface_index, 0),
            pt = context ? pm_rtl__pt_of(r, node, context, pt_index, 0) : -1;
  pm_rtl__context *c = &r->nics[node].lists.context[context];
  const uint32_t bit = pt < 0 ? 0 : 1u << pt, muted = is_on ? c->muted & ~bit : c->muted | bit;
  if (muted == c->muted) return;
  c->muted = muted;
  pm_rtl__wake(r, t_ps);
  cosim_write(r->sim, node, COSIM_CTX + 16u * (uint32_t)context + 8, muted << 16 | 0xFFFF);
}
/* Nothing asks for it any more, and the NIC does not keep it: it left its list before whatever is written from now
   on is done there. */
static void pm_rtl__trigger_end(pm_rtl__trigger *g) { g->is_used = !g->is_due || g->load; }
/* A trigger goes to the NIC; staging words that are right already are left out. */
static void pm_rtl__trigger_go(pm_rtl *r, int nic, int number, uint64_t threshold, int klass,
                               const cosim_command *c) {
  pm_rtl__triggers *s = &r->nics[nic].triggers;
  uint32_t words[18], i;
  cosim_command_pack(c, words);
  words[16] = (uint32_t)threshold, words[17] = (uint32_t)(threshold >> 32);
  for (i = 0; i < 18; i++)
    if (!s->is_staged || s->staged[i] != words[i])
      cosim_write(r->sim, nic, COSIM_TRIGGER + 4 * i, words[i]);
  memcpy(s->staged, words, sizeof words);
  s->is_staged = 1;
  cosim_write(r->sim, nic, COSIM_TRIGGER + COSIM_TRIGGER_APPEND,
              (uint32_t)number | (uint32_t)s->trigger[number].counter << 16 |
                  (uint32_t)klass << 20);
}
static int pm_rtl__trigger_posted(void *ctx, int64_t t_ps, const pm_carrier_trigger *x) {
  pm_rtl *r = (pm_rtl *)ctx;
  pm_rtl__triggers *s = &r->nics[x->node].triggers;
  unsigned char payload[COSIM_PIO_BYTES];
  pm_rtl__trigger *g = NULL;
  cosim_command c;
  int i, klass = 0;
  for (i = 0; i < COSIM_TRIGGERS && (!g || g->is_used); i++)
    g = &s->trigger[s->next++ % COSIM_TRIGGERS];
  s->next %= COSIM_TRIGGERS;
  if (g->is_used || (x->cargo && (x->cargo->size_bytes > COSIM_MAX_BYTES || !r->free_head)))
    return -1;
  memset(g, 0, sizeof *g);
  if (x->cargo && !(g->load = pm_rtl__load_new(r, x->cargo))) return -1;
  g->is_used = 1;
  g->counter = x->counter;
  pm_rtl__wake(r, t_ps);
  if (x->cargo) {
    pm_rtl__part *p = pm_rtl__part_new(r, g->load, 0, x->cargo->size_bytes, 0);
    p->slot = -1;
    klass = p->klass;
    g->load->parts = 1;
    g->load->trigger = 1 + (int)(g - s->trigger);
    g->load->is_waiting = 1;
    r->waiting_count++;
    c = pm_rtl__command_of(r, p, payload);
  } else {
    g->target = x->target;
    g->is_set = x->is_set;
    g->value[0] = x->value.success, g->value[1] = x->value.failure;
    memset(&c, 0, sizeof c);
    c.kind = x->is_set ? COSIM_KIND_CT_SET : COSIM_KIND_CT_INC;
    c.ct = x->target;
    memcpy(c.operand, g->value, sizeof c.operand);
  }
  pm_rtl__trigger_go(r, x->node, (int)(g - s->trigger), x->threshold, klass, &c);
  return (int)(g - s->trigger);
}
static void pm_rtl__trigger_due(void *ctx, int64_t t_ps, int node, int number) {
  pm_rtl *r = (pm_rtl *)ctx;
  pm_rtl__trigger *g = &r->nics[node].triggers.trigger[number];
  pm_rtl__load *l = g->load;
  int half;
  g->is_due = 1;
  if (l && l->is_waiting) {
    pm_rtl__wake(
        r, t_ps); /* what released it may still be on its way to the NIC, or the NIC's to here */
    pm_rtl__begins(r, l);
    l->is_due = 1;
    r->due_count++;
    pm_rtl__counter_of(r, l)->due_count++;
  }
  for (half = 0; half < 2 && !l; half++) { /* of a message that is over nothing is added */
    uint64_t *told = &r->nics[node].triggers.counter[g->target].told[half];
    *told = g->is_set ? g->value[half] : *told + g->value[half];
  }
  pm_rtl__trigger_end(g);
}
static void pm_rtl__triggers_cancelled(void *ctx, int64_t t_ps, int node, int counter) {
  pm_rtl *r = (pm_rtl *)ctx;
  pm_rtl__triggers *s = &r->nics[node].triggers;
  int i;
  pm_rtl__wake(r, t_ps);
  cosim_write(r->sim, node, COSIM_TRIGGER + COSIM_TRIGGER_CANCEL, (uint32_t)counter);
  for (i = 0; i < COSIM_TRIGGERS; i++) {
    pm_rtl__trigger *g = &s->trigger[i];
    pm_rtl__load *l = g->load;
    if (!g->is_used || g->counter != counter || g->is_due) continue;
    g->is_due = 1;
    if (!l && !s->counter[g->target].is_unsure)
      s->counter[g->target].is_unsure = 1, r->unsure_count++;
    if (l && !l->is_open) { /* the NIC may have sent it: then nobody is told of it */
      l->is_told = l->is_sent = l->is_matched = 1;
      l->is_forgotten = 1;
      r->forgotten_count++;
    }
    pm_rtl__trigger_end(g);
  }
}
/* A trigger's message is over. */
static void pm_rtl__load_over(pm_rtl *r, pm_rtl__load *l) {
  pm_rtl__left_nic(r, l);
  pm_rtl__looks_no_more(r, l);
  r->forgotten_count -= l->is_forgotten;
  if (l->trigger) {
    pm_rtl__trigger *g = &r->nics[l->cargo.from_node].triggers.trigger[l->trigger - 1];
    g->load = NULL;
    pm_rtl__trigger_end(g);
  }
  pm_rtl__load_free(l);
}
/* Nothing is under way: what was cancelled and not seen since was never sent. */
static void pm_rtl__forgotten_go(pm_rtl *r) {
  int nic, i;
  for (nic = 0; nic < r->nic_count; nic++)
    for (i = 0; i < COSIM_TRIGGERS; i++) {
      pm_rtl__load *l = r->nics[nic].triggers.trigger[i].load;
      if (!l || !l->is_forgotten) continue;
      pm_rtl__begins(r, l);
      pm_rtl__part_free(r, l->first, 0);
      pm_rtl__load_over(r, l);
    }
}

/* Nothing is under way: counters whose CTInc or CTSet was cancelled get the model's values. */
static void pm_rtl__be_sure(pm_rtl *r) {
  int nic, i, k;
  r->unsure_count = 0;
  for (nic = 0; nic < r->nic_count; nic++)
    for (i = 0; i < COSIM_COUNTERS_MAX; i++) {
      pm_rtl__counter *c = &r->nics[nic].triggers.counter[i];
      if (!c->is_unsure) continue;
      c->is_unsure = 0;
      for (k = 3; k >= 0; k--) /* high halves first: what is too much goes at once */
        cosim_write(r->sim, nic, COSIM_CT + 32 * (uint32_t)i + 4 * (uint32_t)k,
                    (uint32_t)(c->model[k / 2] >> 32 * (k % 2)));
      c->told[0] = c->model[0], c->told[1] = c->model[1];
    }
}

/* ---- events of the NICs ------------------------------------------------------------------------------ */
static void pm_rtl__span(pm_rtl__load *l, const pm_rtl__part *p, int way) {
  const int to = p->is_back ? 1 : way; /* an exchange comes back as a request of its own */
  if (p->t_first_ps[way] >= 0 && (l->t_first_ps[to] < 0 || p->t_first_ps[way] < l->t_first_ps[to]))
    l->t_first_ps[to] = p->t_first_ps[way];
  if (p->t_last_ps[way] > l->t_last_ps[to]) l->t_last_ps[to] = p->t_last_ps[way];
}
/* The answer is there, or will never be: tells the model once. Frees what nothing can come for. */
static void pm_rtl__finish(pm_rtl *r, pm_rtl__load *l) {
  const bool is_over = l->returned == l->parts, is_there = l->cargo.kind == PM_CARGO_EXCHANGE
                                                               ? l->is_back_there
                                                               : is_over && l->arrived == l->parts;
  if (!l->is_told && (is_there || (is_over && l->lost))) {
    if (l->cargo.tells_sent && !l->is_sent) pm_cargo_sent(&l->cargo);
    l->is_told = l->is_sent = r->has_told = 1;
    l->is_open = 1;
    pm_cargo_returned(&l->cargo, is_there && !l->lost, l->t_first_ps[1], l->t_last_ps[1], l->back);
  }
  if (l->is_told && is_over) {
    while (l->first) {
      pm_rtl__part *p = l->first;
      l->first = p->sibling;
      pm_rtl__part_free(r, p, l->lost);
    }
    pm_rtl__taken(r, l);
    pm_rtl__load_over(r, l);
  }
}
static void pm_rtl__arrived(pm_rtl *r, pm_rtl__part *p) {
  pm_rtl__load *l = p->load;
  if (p->has_arrived) return;
  p->has_arrived = 1;
  pm_rtl__span(l, p, 0);
  if (p->is_back) {
    l->is_back_there = 1;
    return;
  }
  if (++l->arrived < l->parts || l->is_forgotten) return;
  if (!l->is_matched) pm_rtl__look_in_order(r, l);
  pm_rtl__looks_no_more(r, l);
  r->matching = l;
  l->is_open = 1;
  pm_cargo_arrived(&l->cargo, l->t_first_ps[0], l->t_last_ps[0],
                   l->cargo.kind == PM_CARGO_PUT || l->cargo.kind == PM_CARGO_EXCHANGE ? l->there
                                                                                       : NULL);
  if (l->is_matched)
    r->matching = NULL;
  else
    pm_rtl__matched(r, l);
  r->has_told = 1;
  if (l->cargo.kind == PM_CARGO_EXCHANGE && !l->lost) {
    pm_rtl__part *back = pm_rtl__part_new(r, l, 0, l->cargo.size_bytes, 1);
    l->parts++, l->arrived++; /* it arrives by is_back_there */
    if (back)
      pm_rtl__part_go(r, back);
    else
      pm_world_fail(r->world, PM_E_NOMEM, "pm_rtl.h: too many messages under way");
  }
}
/* The NIC's entry for a message beside the model's. */
static void pm_rtl__compare(pm_rtl *r, pm_rtl__load *l) {
  const pm_rtl__entry *found = &r->nics[l->cargo.to_node].lists.entry[l->found - 1], *mine;
  l->found = 0;
  if (!l->is_listed || !l->entry) return;
  mine = &r->nics[l->cargo.to_node].lists.entry[l->entry - 1];
  if (mine == found)
    r->matches.same_count++;
  else if (found->is_apart || mine->is_apart)
    return;
  else if (found->takes_all)
    r->matches.none_count++;
  else
    r->matches.other_count++;
}
static bool pm_rtl__is_end(const cosim_event *e) {
  return e->type == COSIM_EV_ACK || e->type == COSIM_EV_REPLY;
}
static void pm_rtl__told(pm_rtl *r, const cosim_event *e) {
  pm_rtl__part *p =
      pm_rtl__part_of(r, e->type == COSIM_EV_SEND || pm_rtl__is_end(e) ? e->user : e->hdr_data);
  pm_rtl__load *l;
  int nic, klass;
  if (!p) return;
  l = p->load;
  if (e->type == COSIM_EV_SEND) {
    if (l->cargo.tells_sent && !l->is_sent) pm_cargo_sent(&l->cargo), r->has_told = 1;
    l->is_sent = 1;
    l->is_open = 1;
  } else if (!pm_rtl__is_end(e)) {
    if (!p->offset && !p->is_back) l->found = 1 + e->slot;
    pm_rtl__arrived(r, p);
    if (l->found && l->arrived == l->parts) pm_rtl__compare(r, l);
    if (l->arrived == l->parts) pm_rtl__taken(r, l);
    pm_rtl__finish(r, l);
  } else {
    nic = p->nic, klass = p->klass;
    if (p->slot >= 0) {
      r->nics[nic].slot_is_used[klass][p->slot] = 0;
      r->nics[nic].slot_is_late[klass][p->slot] = pm_rtl__now_ps(r) - p->t_go_ps >= r->timeout_ps;
    }
    pm_rtl__left_nic(r, l);
    if (e->status != COSIM_OK)
      l->lost++;
    else if (!p->is_back)
      pm_rtl__span(l, p, 1);
    l->returned++;
    pm_rtl__finish(r, l);
    pm_rtl__pump(r, nic, klass);
  }
}
/* The counter that the NIC raised with an event; -1: none */
static int pm_rtl__counted(pm_rtl *r, int nic, const cosim_event *e) {
  const pm_rtl__part *p;
  if (!e->counted) return -1;
  if (!pm_rtl__is_end(e)) return r->nics[nic].lists.entry[e->slot].counter;
  p = pm_rtl__part_of(r, e->user);
  return p && !p->is_back && p->load->parts == 1 ? p->load->cargo.counter - 1 : -1;
}
static void pm_rtl__event(pm_rtl *r, int nic, const cosim_event *e) {
  int counter;
  if (e->type == COSIM_EV_LINK || e->type == COSIM_EV_UNLINK || e->type == COSIM_EV_AUTO_UNLINK) {
    pm_rtl__changed(r, nic, e);
    return;
  }
  if (e->type == COSIM_EV_SEARCH || (e->type < COSIM_EV_REPLY && e->type & COSIM_EV_OVERFLOW))
    return; /* of a header: the model tells of its own */
  counter = pm_rtl__counted(r, nic, e);
  if (counter >= 0) r->nics[nic].triggers.counter[counter].told[e->status != COSIM_OK]++;
  if (e->unlinked) r->nics[nic].lists.entry[e->slot].in_nic = 0;
  pm_rtl__told(r, e);
  if (e->unlinked) pm_rtl__left(r, nic, e->slot);
  if (counter >= 0)
    pm_rtl__settle(r, pm_rtl__now_ps(r), nic, counter); /* where the model counted otherwise */
}
/* What has crossed PCI: the NIC's writes are seen here when the CPU sees them. */
static void pm_rtl__events(pm_rtl *r) {
  int i;
  for (i = 0; i < r->nic_count; i++) {
    pm_rtl__nic *n = &r->nics[i];
    while (n->taken != n->seen) {
      const cosim_event e = cosim_event_unpack(n->queue + n->taken % PM_RTL__QUEUE * 64);
      r->event_count--;
      if (++n->taken % (PM_RTL__QUEUE / 4) == 0)
        cosim_write(r->sim, i, COSIM_EQ + COSIM_EQ_CONS, n->taken);
      pm_rtl__event(r, i, &e);
    }
  }
}
static int pm_rtl__advance(void *ctx, int64_t until_ps) {
  pm_rtl *r = (pm_rtl *)ctx;
  r->has_told = 0;
  while (!r->has_told && pm_rtl__is_busy(r) && until_ps - r->period_ps >= pm_rtl__now_ps(r)) {
    cosim_cycles(r->sim, 1);
    if (r->event_count) pm_rtl__events(r);
    if (r->asked_count) pm_rtl__answers(r);
    if (r->is_free_to_go) pm_rtl__go_on(r);
    if (r->due_count && r->part_count - r->waiting_count - r->queued_count == r->due_count &&
        !r->event_count && cosim_idle(r->sim)) {
      pm_world_fail(r->world, PM_E_STATE, "pm_rtl.h: a NIC's counter is not what the model's is");
      return 1;
    }
  }
  return r->has_told;
}

PM_RTL__API void pm_rtl_set_wave(pm_rtl *rtl, const pm_rtl_wave *wave) { rtl->wave = *wave; }
PM_RTL__API int pm_rtl_wave_is_saved(const pm_rtl *rtl) { return !rtl->wave_is_lost; }

#include "pm_rtl_net.h"
#include "pm_rtl_wave.h"

/* ---- a world begins and ends ------------------------------------------------------------------------ */
static pm_status pm_rtl__refuse(pm_rtl *r, const char *why) {
  snprintf(r->error, sizeof r->error, "rtl level: %s", why);
  return PM_E_INVAL;
}
static pm_status pm_rtl__desc(pm_rtl *r, const pm_world_desc *of, int64_t latency_ns,
                              cosim_desc *desc) {
  const pm_platform *p = of->platform;
  const pm_faults *f = &of->faults;
  const bool is_faulty = f->loss_ratio > 0 || f->corrupt_ratio > 0 || f->duplicate_ratio > 0 ||
                         f->delay_ratio > 0 || f->down_node > 0;
  const double period_ps = 36e12 / p->link_bytes_per_s;
  if (p->node_count > 64) return pm_rtl__refuse(r, "node_count: at most 64 NICs");
  if (p->topology != PM_TOPO_CROSSBAR && p->node_count < 2)
    return pm_rtl__refuse(r, "node_count: a network of switches has two NICs or more");
  if (f->slow_node) return pm_rtl__refuse(r, "faults.slow_node: a NIC in RTL is as fast as it is");
  if (is_faulty && p->e2e_retry_ns > 1000000)
    return pm_rtl__refuse(r, "e2e_retry_ns: at most 1000000 with faults, waiting is simulated too");
  if (p->e2e_retry_count > 15) return pm_rtl__refuse(r, "e2e_retry_count: at most 15");
  if (!(period_ps >= 2 && period_ps <= 1e6))
    return pm_rtl__refuse(r, "link_bytes_per_s: 36e6 to 18e12");
  *desc = cosim_default();
  desc->nic_count = (int)p->node_count;
  desc->period_ps = (int64_t)(period_ps + 0.5);
  desc->link_latency_ps = latency_ns * 1000;
  desc->host_read_ps = p->no_pci ? 0 : 2 * p->pci_latency_ns * 1000;
  desc->host_write_ps = desc->mmio_ps = p->no_pci ? 0 : p->pci_latency_ns * 1000;
  desc->fault_delay_ps = f->delay_ns * 1000;
  desc->host.ctx = desc->watch_ctx = desc->fault_ctx = r;
  desc->host.read = pm_rtl__read;
  desc->host.write = pm_rtl__write;
  desc->has_waves = r->wave.nics != 0;
  desc->watch = pm_rtl__watch;
  desc->fault = is_faulty ? pm_rtl__fault : NULL;
  return PM_OK;
}
/* Context 0 and its entry that takes all; an event queue; how long and how often to repeat. */
static void pm_rtl__nic_start(pm_rtl *r, int nic, const pm_platform *p) {
  const int64_t cycles = p->e2e_retry_ns * 1000 / r->period_ps;
  pm_rtl__lists *s = &r->nics[nic].lists;
  cosim_entry e = pm_rtl__cover(0, 0);
  e.ack_off = 1;
  s->context_count = 1;
  s->entry[0].takes_all = s->entry[0].in_nic = 1;
  s->entry[0].counter = -1;
  cosim_append(r->sim, nic, 0, &e);
  cosim_write(r->sim, nic, COSIM_CTX, 0x80000000u | PM_RTL__NO_INTERFACE << 16 | PM_RTL__NOBODY);
  cosim_write(r->sim, nic, COSIM_EQ + COSIM_EQ_BASE_LO, (uint32_t)PM_RTL__EVENTS);
  cosim_write(r->sim, nic, COSIM_EQ + COSIM_EQ_BASE_HI, (uint32_t)(PM_RTL__EVENTS >> 32));
  cosim_write(r->sim, nic, COSIM_EQ + COSIM_EQ_SIZE, 0x80000000u | PM_RTL__QUEUE_LOG2);
  cosim_write(r->sim, nic, COSIM_TIMEOUT, cycles < 0xFFFFFFFF ? (uint32_t)cycles : 0xFFFFFFFF);
  cosim_write(r->sim, nic, COSIM_RETRIES, (uint32_t)p->e2e_retry_count);
  cosim_write(r->sim, nic, COSIM_PT_ENABLE, 0xFFFF);
  cosim_write(r->sim, nic, COSIM_CTRL, 1);
}
static void pm_rtl__close(void *ctx) {
  pm_rtl *r = (pm_rtl *)ctx;
  int i;
  for (i = 0; r->parts && i < PM_RTL__PLACES; i++) {
    pm_rtl__load *l = r->parts[i].load;
    if (!l) continue;
    for (; l->first; l->first = l->first->sibling) l->first->load = NULL;
    pm_rtl__load_free(l);
  }
  if (r->sim && cosim_trace_end(r->sim)) r->wave_is_lost = 1;
  cosim_destroy(r->sim);
  free(r->nics);
  free(r->parts);
  r->sim = NULL;
  r->nics = NULL;
  r->parts = NULL;
  r->world = NULL;
}
static pm_status pm_rtl__open(void *ctx, pm_world *world) {
  pm_rtl *r = (pm_rtl *)ctx;
  const pm_world_desc of = pm_world_desc_of(world);
  int64_t latency_ns = 0;
  cosim_desc desc;
  pm_rtl__net *net = NULL;
  pm_status status;
  int i;
  if (r->world) {
    pm_rtl__refuse(r, "the carrier serves another world");
    return PM_E_STATE;
  }
  pm_route(world, 0, of.platform->node_count > 1 ? 1 : 0, NULL, 0, &latency_ns);
  status = pm_rtl__desc(r, &of, latency_ns, &desc);
  if (status) return status;
  r->nic_count = desc.nic_count;
  r->period_ps = desc.period_ps;
  if (of.platform->topology != PM_TOPO_CROSSBAR) {
    char why[PM_RTL__WHY], text[PM_RTL__WHY + 16];
    net = pm_rtl__net_new(r, &of, world, why);
    snprintf(text, sizeof text, "topology: %s", *why ? why : "out of memory");
    if (!net) {
      pm_rtl__refuse(r, text);
      return *why ? PM_E_INVAL : PM_E_NOMEM;
    }
    desc.net = &net->net;
  }
  r->faults = of.faults;
  r->rng = of.seed;
  r->part_count = r->event_count = r->change_count = 0;
  r->has_told = false;
  r->asked_count = 0;
  r->timeout_ps = of.platform->e2e_retry_ns * 1000;
  r->waiting_count = r->due_count = r->forgotten_count = r->queued_count = r->unsure_count = 0;
  r->is_free_to_go = 0;
  r->strayed = 0;
  r->matching = NULL;
  r->nics = (pm_rtl__nic *)calloc((size_t)r->nic_count, sizeof *r->nics);
  r->parts = (pm_rtl__part *)calloc(PM_RTL__PLACES, sizeof *r->parts);
  r->sim = cosim_create(&desc);
  pm_rtl__net_free(net);
  if (!r->nics || !r->parts || !r->sim) {
    pm_rtl__close(r);
    pm_rtl__refuse(r, "out of memory, or a latency of more than a second");
    return PM_E_NOMEM;
  }
  r->world = world;
  for (i = 0; i < PM_RTL__PLACES; i++) {
    r->parts[i].number = (uint64_t)i;
    r->parts[i].next = i + 1 < PM_RTL__PLACES ? &r->parts[i + 1] : NULL;
  }
  r->free_head = r->parts;
  r->free_tail = &r->parts[PM_RTL__PLACES - 1];
  for (i = 0; i < r->nic_count; i++) pm_rtl__nic_start(r, i, of.platform);
  while (!cosim_idle(r->sim)) cosim_cycles(r->sim, 1);
  r->base_ps = -cosim_now_ps(r->sim);
  cosim_trace_offset(r->sim, r->base_ps);
  if (r->wave.nics && !pm_rtl_wave_start(&r->wave, r->sim, r->nic_count)) {
    snprintf(
        r->error, sizeof r->error,
        "waveform %s: cannot be written (.fst takes room in /tmp, too), or there are %d NICs only",
        r->wave.path, r->nic_count);
    pm_rtl__close(r);
    return PM_E_INVAL;
  }
  return PM_OK;
}

PM_RTL__API pm_rtl *pm_rtl_create(void) {
  pm_rtl *r = (pm_rtl *)calloc(1, sizeof *r);
  if (!r) return NULL;
  r->carrier.name = "rtl";
  r->carrier.ctx = r;
  r->carrier.open = pm_rtl__open;
  r->carrier.close = pm_rtl__close;
  r->carrier.submit = pm_rtl__submit;
  r->carrier.advance = pm_rtl__advance;
  r->carrier.is_busy = pm_rtl__is_busy;
  r->carrier.now_ps = pm_rtl__now_ps;
  r->carrier.entry_linked = pm_rtl__entry_linked;
  r->carrier.entry_unlinked = pm_rtl__entry_unlinked;
  r->carrier.counter_new = pm_rtl__counter_new;
  r->carrier.counter_free = pm_rtl__counter_free;
  r->carrier.counter_is = pm_rtl__counter_is;
  r->carrier.portal_is = pm_rtl__portal_is;
  r->carrier.trigger_posted = pm_rtl__trigger_posted;
  r->carrier.trigger_due = pm_rtl__trigger_due;
  r->carrier.triggers_cancelled = pm_rtl__triggers_cancelled;
  return r;
}
PM_RTL__API void pm_rtl_destroy(pm_rtl *rtl) { free(rtl); }
PM_RTL__API const pm_carrier *pm_rtl_carrier(const pm_rtl *rtl) { return &rtl->carrier; }
PM_RTL__API const char *pm_rtl_error(const pm_rtl *rtl) { return rtl->error; }
PM_RTL__API pm_rtl_matches pm_rtl_matched(const pm_rtl *rtl) { return rtl->matches; }
PM_RTL__API cosim *pm_rtl_cosim(const pm_rtl *rtl) { return rtl->sim; }
#endif /* PM_RTL_H_INCLUDED */
