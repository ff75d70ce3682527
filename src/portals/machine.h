/* What a world is made of: the data that several pieces work on, and what early pieces ask of
   later ones. */
#pragma once
#include "world.h"

/* ---- for later pieces ---- */
/* ============================================================================================== */
/* [WORLD] 4. Simulated processes and time                                                        */
/* ============================================================================================== */
/* ---- what a world is made of ------------------------------------------------------------------ */
struct pm_stamp;
struct pm_trace_record;
typedef struct pm__ni pm__ni;
typedef struct pm__message pm__message;
typedef struct pm__node pm__node;
typedef struct pm__event pm__event;

/* One entry of the future. Embedded in what it is about, so nothing is allocated per event. The next few events
   stand in a row; of the others those of one time stand in a ring, in the order in which they were scheduled, and
   the first one alone is in the heap: processes in lockstep do much at the same time. Where there are many, those that
   come later lie in bins meanwhile. */
struct pm__event {
  void (*fn)(pm_world *world, pm__event *event);
  pm__event *previous, *next; /* of the ring; of the first one, previous is the last one */
  uint32_t
      pos; /* in the heap; PM__BEHIND: not the first one; PM__SOON: in the row; from PM__FAR on: in
              a bin; 0: not queued */
};
#define PM__BEHIND 0xFFFFFFFFu
#define PM__SOON   0xFFFFFFFEu
#define PM__FAR    0x80000000u /* and its cells and place there */
typedef struct pm__slot {
  int64_t t_ps;
  uint64_t order; /* of two rings of the same time the older one comes first */
  pm__event *event;
} pm__slot;
typedef struct pm__recent {
  int64_t t_ps;
  pm__event *last;
} pm__recent;
enum { PM__RECENT_BITS = 9, PM__SOON_MOST = 16 };

typedef enum pm__state { PM__READY, PM__RUNNING, PM__BLOCKED, PM__ENDED } pm__state;

/* A virtual network of a NIC, or a process's way through memory: jobs one after the other. */
typedef struct pm__lane {
  bool is_busy; /* with a flow, or with packets */
  struct pm__message *head, *tail;
  int64_t t_free_ps, t_ready_ps;
  int64_t
      d_held_ps; /* so long have short jobs of other lanes taken the wire from the present flow */
} pm__lane;
/* A way that was asked for lately: those from a node lie side by side, at least sixteen of them (four, where they are
   found quickly), or all where there is room, within limits. 64 bytes. */
enum { PM__WAYS_EACH = 16, PM__WAYS_LEAST = 4, PM__WAYS_MOST = 16384, PM__WAY_NEAR = 8 };
typedef struct pm__known_way {
  int from, to, link_count; /* link_count 0: none yet */
  bool is_detour;           /* around cables that are down */
  int64_t latency_ps;
  uint32_t *link; /* near, or allocated with room for the longest way */
  uint32_t near[PM__WAY_NEAR];
} pm__known_way;

/* What each step looks at comes first, in two lines of the cache: in a world of a thousand processes no thread's memory
   stays in it from one step to the next. */
struct pm_thread {
  pm__event timer; /* first: the future gives us its address */
  pm_process *proc;
  pm_thread *next_ready, *next_in_proc;
  void *sp;
  /* line */
  pm__state state;
  unsigned poll_streak;     /* idle polls in a row */
  bool takes_cpu;           /* until then: ends later when its node stands still */
  bool is_parked;           /* it would run now, but its node stands still */
  bool is_idle;             /* what it waits for now is time between looks in vain */
  bool waits_for_memory;    /* polling that ends also when bytes alone come */
  bool is_vain;             /* it looked in vain last */
  bool is_computing;        /* on shared cores */
  bool is_unmeasured;       /* its computing takes no time */
  bool has_paid;            /* for is_over's event, without having run */
  bool defers;              /* its Portals calls become steps, see ahead.h */
  bool has_steps, is_ahead; /* some are to come; the scheduler takes them, and the thread waits */
  bool is_handling;         /* inside of pm_eq_serve's handler */
  bool woken, timed_out;
  bool counts_idle; /* and its timer is one of idle_count */
  bool waits_for_ptl, polling;
  bool waits_for_wake; /* inside pm_thread_wait: only there a wake may end what it does */
  uint32_t wait_handle;
  const void *wait_on; /* the queue or counter; NULL: any of the process */
  uint64_t wait_value;
  bool (*is_over)(
      const pm_thread *thread); /* of a wait that ends with an event to pay for, or NULL */
  void *wait_out;               /* where is_over puts what came */
  /* line */
  const char *what;  /* for deadlock reports */
  int64_t t_ran_ps;  /* last, where it sleeps */
  int64_t t_wake_ps; /* of its timer, while that runs */
  void (*describe)(const pm_thread *thread, char *text,
                   size_t text_bytes); /* more of it, or NULL */
  struct pm__ahead *ahead;             /* NULL: it never ran ahead */
  char *stack;
  size_t stack_bytes;
  int64_t mark_ns; /* host's CPU time when it was charged last */
  void *asan_fake, *tsan_fiber;
  void (*entry)(void *arg);
  void *arg;
  int cores_place;      /* among those that share the cores of the node */
  uint64_t cores_order; /* of two that end at once the one that began first is first */
  int64_t v_end_ps;     /* ... what each of them has to have computed when this one ends */
  uint32_t last_ct;
  uint64_t last_count;
  pm_thread *next_waiter, *joiner;
#ifdef PM_USE_UCONTEXT
  ucontext_t uc;
#endif
#ifdef PM_WITH_VALGRIND
  unsigned valgrind_id;
#endif
};

enum { PM__HOOKS = 8 };
struct ptl_activate_hook {
  bool is_used;
};
struct pm_process {
  pm_world *world;
  struct pm__ni *ni[4];
  pm_thread *threads;
  int init_count;
  int memory_waiters;       /* threads with waits_for_memory */
  int in_flight, under_way; /* operations in its NIC; all */
  /* line */
  pm__node *its_nic;
  int rank, node, nic; /* nic: the same as its_nic */
  uint32_t uid, pid, local_index;
  int status, ended, live_threads, aborted;
  bool has_pid;
  bool is_dead, stands_still; /* with its node, see lives.c */
  /* line */
  pm__lane memory_lane;
  struct pm_msg *msg;
  void (*msg_free)(struct pm_msg *msg); /* when the world goes before the process closed it */
  int restart_count;
  uint64_t noise_count;   /* draws of call_noise_ns */
  uint64_t id_count, rng; /* of messages, of its own; in a world over threads */
  void *user;
  pm_thread *caller; /* runs callbacks of queues while news is not empty; NULL: never needed */
  struct pm__eq *news, *news_last;
  struct ptl_activate_hook hooks[PM__HOOKS];
  pm_process *next_on_node;
};

/* Threads of a node that compute now: a heap, the first to end first. While all of them have had the same share,
   what one has had since the beginning is the same for all: v_ps. */
typedef struct pm__cores {
  pm__event event; /* the first one ends */
  pm_thread **heap;
  int count, max;
  uint64_t order;
  int64_t t_ps, v_ps; /* v_ps: at t_ps */
} pm__cores;
/* A NIC; the first one of a node (see pm__nic_node) is the node too. */
/* In the first line of the cache is what messages from here look at, in the next what those to here do. */
struct pm__node {
  int64_t t_command_ps, in_flight;
  int64_t *slots;
  uint32_t slots_first, slots_used;
  struct pm__message *held; /* the first that waits for an in-flight limit, or a change of level */
  pm_thread *slot_waiters;
  struct pm__message *held_tail;
  unsigned char link; /* level of what is in flight */
  int pids_max;       /* of by_pid */
  /* line */
  pm_process *pid_0; /* mostly the only one */
  int leaving_count; /* lanes that are busy with a flow */
  int process_count;
  int64_t t_done_ps;
  int64_t t_rx_last_ps[4], t_rx_ps[PM__ENGINES_MAX];
  /* lines */
  struct pm__message *search, *search_tail; /* wait until lists have been searched for others */
  int64_t t_search_ps;                      /* the present search ends */
  pm__lane lane[4];                         /* none of the first two lies in two lines */
  int64_t t_gap_ps, t_in_ps;                /* LogGP: the next message may leave, may come in */
  pm_process **by_pid;                      /* from pid 1 on */
  pm_process *processes;
  pm__cores *cores; /* NULL: nobody has shared them yet */
  uint64_t hash_id; /* of what happened here, in a world over threads */
};

typedef struct pm__stack {
  struct pm__stack *next;
} pm__stack; /* lies in the free stack itself */
typedef struct pm__store {
  struct pm__store *next;
} pm__store;
typedef struct pm__slab {
  struct pm__slab *next;
  char *base;
  size_t bytes;
} pm__slab;

/* What one virtual network keeps of a pair of nodes, see pm__stream_of. */
typedef struct pm__stream {
  uint64_t key;
  int64_t t_last_ps, t_crossed_ps; /* crossed: of those that were told on links that fail */
  /* at the packet level, and where ways change: messages are told in the order of their numbers; early ones wait
     here */
  uint64_t sent_count, arrived_count;
  struct pm__message *early;
} pm__stream;
struct pm_world {
  pm_world *whole;         /* of which this is a part, see windows.c; NULL: none */
  struct pm__parts *parts; /* while it runs over threads */
  int part, verdict;
  int64_t t_window_ps; /* the end of the window */
  uint64_t first_stack;
  pm_world_desc desc;
  pm_platform plat;
  struct pm__graph *graph; /* of a platform with links from a file */
  pm_status status;
  int running, stopped;
  bool is_plain;   /* nothing fails, no carrier: events alone let time pass */
  bool is_large;   /* see pm__ask_for */
  bool is_unusual; /* see pm__is_unusual */
  char error[4096];
  /* present and future */
  int64_t now_ps, t_idle_since_ps, t_limit_ps;
  int64_t t_over_ps; /* nothing happens from here on: the limit, or time, is over */
  uint64_t order;
  pm__slot soon[PM__SOON_MOST]; /* the last one is the next; none is after the heap's */
  uint32_t soon_count;
  pm__slot *heap;                              /* from 1 on */
  uint32_t heap_count, heap_max, future_count; /* future_count: all events */
  int64_t t_far_ps;    /* what comes from then on lies in bins; PM__FOREVER: they are empty */
  struct pm__far *far; /* NULL: never needed */
  bool has_gap;        /* place 1 of the heap is that of the event that happens now: it is gone */
  bool shares_times;   /* rings are looked for, see pm__rings_begin */
  uint32_t rings_found;
  uint64_t rings_again; /* order of the event with which they may be looked for again */
  pm__recent
      recent[1 << PM__RECENT_BITS]; /* by time: the last event of its youngest ring, if known */
  pm_thread *ready_head, *ready_tail, *barrier_waiters;
  int barrier_count, live_threads, live_processes,
      idle_count;     /* idle_count: timers of idle threads */
  int64_t idle_steps; /* since t_idle_since_ps */
  /* contexts */
  void (*context_switch)(void **save, void *load);
  void *scheduler_sp;
  pm_thread *last_run;
  void *asan_fake;
  const void *asan_bottom;
  size_t asan_bytes;
  void *tsan_fiber; /* of the scheduler */
#ifdef PM_USE_UCONTEXT
  ucontext_t uc;
#endif
  sigjmp_buf crash_jump, copy_jump;
  volatile sig_atomic_t is_copying; /* bytes of programs, whose memory may be gone */
  int crash_signal;
  char *crash_address;
  pm__stack *free_stacks;
  pm__slab *slabs;
  struct pm__store *stores; /* memory of what stays until the world goes, see pm__lines_take */
  char *store_at;           /* in the newest one, what nobody has taken yet */
  size_t store_left, store_bytes;
  char *untaken; /* the next stack of the newest slab that nobody had */
  int untaken_count;
  bool has_unguarded; /* some stacks rely on canaries */
  /* who and where */
  pm_process **procs;
  int proc_count, procs_max;
  pm__node *nodes;
  uint64_t rng;
  pm_stats stats;
  /* shared links */
  struct pm__link *links;
  int64_t *busy_ps; /* each, with messages that are no flows: these look at nothing else of it */
  int link_count, net_link_count;
  bool pci_is_wide;      /* no flow is held down by PCI roots, so none crosses them */
  int narrow_link_count; /* so many links before the last of a way lead to its node alone */
  struct pm__flow *free_flows;
  struct pm__flow **flow; /* by their numbers */
  int64_t *ends;          /* of flows, a tree: see flow.c */
  uint32_t ends_max, flow_made_count;
  pm__event flow_end;    /* of the flows that end first */
  int64_t t_flow_end_ps; /* its time; PM__FOREVER: none */
  int64_t t_aside_ps;    /* the same, while it stands beside the heap; its order there */
  uint64_t aside_order;
  bool solve_is_due;    /* when nothing else happens now */
  int64_t t_unusual_ps; /* see pm__usual_until */
  int links_max;        /* with those behind link_count, which are limits of single flows */
  uint32_t free_limit, limit_count;
  struct pm__due *due; /* a heap of those whose level is to be found anew, least first */
  uint32_t
      *touched; /* links of which what holds now is to be looked at when all levels are found */
  int due_count, touched_count; /* each link once at most: there is room for all */
  struct pm__flow *fresh;       /* without a rate yet */
  bool has_few_flows;           /* never more than 64 at once: each is a bit */
  uint64_t few, few_due;        /* these; those whose rates may be others now, ... */
  double few_level;             /* ... unless they are lower */
  int few_spare;                /* links that solves may still take beyond the usual */
  double same_ratio;
  /* Portals */
  struct pm__map *maps;
  struct pm__message *free_messages, *messages_made;
  struct pm__trigger *free_triggers;
  struct pm__header *free_headers;
  struct pm__list_op *list_ops; /* that wait for the carrier's lists, in order */
  uintptr_t *pages;             /* that were there, see pm__is_accessible */
  uint64_t list_op_count;
  struct pm__ct *fire_head, *fire_tail;
  bool is_firing;
  uint64_t next_id;
  struct pm_trace_record *records;
  int record_count, records_max;
  struct pm__packets *packets; /* NULL: the packet level was never used */
  struct pm__net *net;         /* NULL: no cable ever fails, and no node */
  struct pm__flow *stranded;   /* plain flows without a way */
  bool has_lives;              /* processes of nodes stand still or die */
  int returning_count;         /* dead processes that will begin anew */
  pm__event life_change;       /* the next time of that */
  int64_t t_life_ps;           /* when */
  struct pm__uses *uses;       /* NULL: use of links is not kept */
  /* wire */
  pm__stream *streams, no_stream;     /* no_stream: what a search gives that has no memory */
  uint32_t stream_count, streams_max; /* a power of two, 0 at first */
  bool is_faulty, is_carrying;        /* is_carrying: the carrier is open */
  bool has_mute_entries;              /* some entry gave no acknowledgements, while it was */
  int link_phases_done;
  uint32_t *tree_rows; /* of a fat tree: see pm__tree_row */
  pm__known_way *ways;
  uint32_t way_max, way_each; /* powers of two: all, from each NIC */
  bool ways_climb;            /* all lead up a tree and down again */
  bool has_own_ways;          /* each message keeps its own, see pm__way_of */
  uint32_t way_factor;
  int way_shift; /* (to * way_factor) >> way_shift is a place among those of a NIC */
  void (*stamp)(void *arg, const struct pm_stamp *stamp);
  void *stamp_arg;
  /* constants of the platform */
  int64_t d_call_ps, d_append_ps, d_look_ps, d_look_max_ps; /* of the CPU: cpu_command_ns ... */
  int64_t d_event_ps, d_command_ps, d_ack_ps; /* over PCI; of an acknowledgement on a link */
  uint64_t
      loggp_payload; /* LogGP: the last one asked for, and one more; its g and n G, its way, n G of that */
  int64_t loggp_gap_ns, d_loggp_gap_ps, d_loggp_way_ps, d_loggp_body_ps;
  int64_t d_loggp_none_ps;                      /* the way of no bytes */
  int64_t d_loggp_lag_ps;                       /* LogGP's g */
  int64_t d_lag_ps;                             /* of a link packet, on the fastest link */
  int64_t d_first_ps, d_switch_ps;              /* latency of the first link, of any other */
  int64_t d_packet_fetch_ps, d_packet_write_ps; /* of a whole PCI packet; written, with its event */
  uint64_t wire_payload;                        /* the last one asked for, and what it takes */
  int64_t d_wire_ps;
};

/* Times and durations that stop at the end of time instead of passing it. */
static inline int64_t pm__ps(int64_t d_ns) {
  return d_ns > PM__END / PM__PS ? PM__END : d_ns < -PM__END / PM__PS ? -PM__END : d_ns * PM__PS;
}
static inline int64_t pm__sum_ps(int64_t a_ps, int64_t b_ps) { /* the second may be negative */
  return b_ps > PM__END - a_ps ? PM__END : a_ps + b_ps;
}
static inline int64_t pm__later(int64_t t_ps, int64_t d_ps) { /* neither is: shorter */
  const uint64_t sum_ps = (uint64_t)t_ps + (uint64_t)d_ps;
  return sum_ps > (uint64_t)PM__END ? PM__END : (int64_t)sum_ps;
}
/* A product that no compiler joins with a sum (fused multiply-add rounds once, not twice): results are
   the same to the last bit on every machine. */
static inline double pm__times(double a, double b) {
#if defined(__GNUC__) && defined(__SSE2__)
  double product = a * b;
  __asm__("" : "+x"(product));
#elif defined(__GNUC__) && defined(__aarch64__)
  double product = a * b;
  __asm__("" : "+w"(product));
#else
  volatile double product = a * b;
#endif
  return product;
}
static inline int64_t pm__whole_ps(double d_ps) {
  return d_ps < (double)PM__END ? (int64_t)(d_ps + 0.5) : PM__END;
}
/* A compiler's own code for so many bytes (rep stos) takes longer to begin than libc's takes for all. */
static inline void pm__clear(void *object, size_t bytes) {
  __asm__("" : "+r"(bytes)); /* not known to the compiler */
  memset(object, 0, bytes);
}
/* Of a world with hundreds of processes nothing is in the first cache any more when a message comes to its next step, of
   one with thousands in none. So each step asks for what the next one will look at, while others take theirs: some
   seventy lines for a put, one after the other otherwise. Where something hangs on something else one step asks for the
   first, the next one for what that leads to. Nothing is said of values: what is asked for may be anything by then. */
enum { PM__LARGE = 256 }; /* nodes and processes */
static inline void pm__ask_for(const void *object, int lines) {
  uintptr_t line = (uintptr_t)object; /* perhaps NULL */
  for (; lines > 0; lines--, line += PM__LINE) __builtin_prefetch((const void *)line);
}
/* A place in a ring, below twice its length: no division. */
static inline uint32_t pm__round(uint32_t place, uint32_t length) {
  return place < length ? place : place - length;
}
/* Zeroed, in lines of its own, until the world goes. What processes, their interfaces and messages are made of lies
   side by side so, in large pages in large worlds. NULL: out of memory */
PM__PRIVATE void *pm__lines_take(pm_world *w, size_t bytes);
PM__PRIVATE void pm__stores_free(pm_world *w);
/* When something happens next; PM__FOREVER: never. */
PM__PRIVATE void pm__gap_close(pm_world *w); /* of the future, before its heap is looked at */
PM__APART PM__PRIVATE const pm__slot *pm__first_any(pm_world *w);
/* The next one of all but the end of flows; NULL: none. */
static inline const pm__slot *pm__first(pm_world *w) {
  if (w->soon_count) return &w->soon[w->soon_count - 1];
  if (w->has_gap || w->t_far_ps != PM__FOREVER) return pm__first_any(w);
  return w->heap_count ? &w->heap[1] : NULL;
}
static inline int64_t pm__next_ps(pm_world *w) {
  const pm__slot *first;
  if (w->solve_is_due) return w->now_ps;
  first = pm__first(w);
  return first && first->t_ps < w->t_aside_ps ? first->t_ps : w->t_aside_ps;
}
/* Events before this time need no look at what stands beside them: the end of flows, the limit and, where
   rates are to be found before time moves, all that is not now. Called when one of these has changed. */
static inline void pm__usual_until(pm_world *w) {
  const int64_t t_ps = w->solve_is_due ? w->now_ps + 1 : w->t_over_ps;
  w->t_unusual_ps = w->t_aside_ps < t_ps ? w->t_aside_ps : t_ps;
}
/* Rails: NIC k of a node is number k * nodes + node, in pm_world.nodes too, and ways lead from NIC to NIC
   of a rail. With one rail NICs and nodes have the same numbers. */
#define PM__ONE_NIC "the level rtl knows one NIC of a node: nic_count must be 1"
static inline int pm__nic_node(const pm_world *w, int nic) {
  return w->plat.nic_count == 1 ? nic : nic % (int)w->plat.node_count;
}
static inline int pm__nic_rail(const pm_world *w, int nic) {
  return w->plat.nic_count == 1 ? 0 : nic / (int)w->plat.node_count;
}
static inline uint32_t pm__rail_links(const pm_world *w) {
  return (uint32_t)(w->net_link_count / (int)w->plat.nic_count);
}
static inline bool pm__is_fatpipe(const pm_world *w, uint32_t link) {
  return w->graph && w->graph->sharing[link % pm__rail_links(w) / 2] == PM_LINK_FATPIPE;
}
static inline bool pm__is_shared(const pm_world *w, uint32_t link) {
  return w->graph && w->graph->sharing[link % pm__rail_links(w) / 2] == PM_LINK_SHARED;
}
/* Both directions of a cable that is shared are its first one. */
static inline uint32_t pm__link_of_flows(const pm_world *w, uint32_t link) {
  return pm__is_shared(w, link) ? link & ~1u : link;
}
/* From the beginning of a way's link number `hop` to that of the next one. */
static inline int64_t pm__hop_ps(const pm_world *w, uint32_t link, int hop) {
  if (w->graph) return w->graph->latency_ns[link % pm__rail_links(w) / 2] * PM__PS;
  return hop ? w->d_switch_ps : w->d_first_ps;
}
PM__PRIVATE void pm__way_find(pm_world *w, pm__known_way *way, int from, int to);
/* The same, remembered: valid until another way is asked for. The ways from a node lie side by side: many
   processes that talk to few others displace none of each other's, and find theirs in one place. */
static inline pm__known_way *pm__known_again(pm_world *w, pm__known_way *way, int from, int to) {
  if (way->from != from || way->to != to || !way->link_count) pm__way_find(w, way, from, to);
  return way; /* in its place, where it may have been displaced */
}
static inline pm__known_way *pm__known(pm_world *w, int from, int to) {
  const uint32_t of_nic = (uint32_t)to * w->way_factor >> w->way_shift;
  const uint32_t place = ((uint32_t)from * w->way_each + of_nic) & (w->way_max - 1);
  return pm__known_again(w, &w->ways[place], from, to);
}
PM__PRIVATE void pm__way_climb(const pm_world *w, pm__known_way *way, int from, int to);
PM__PRIVATE bool pm__ways_make(pm_world *w);
PM__PRIVATE int pm__route(pm_world *w, int src, int dst, uint32_t *out, int64_t *latency_ps);
PM__PRIVATE int64_t pm__bytes_ps(double bytes, double bytes_per_s);
PM__PRIVATE int64_t pm__max_ps(int64_t a_ps, int64_t b_ps);
/* The running simulated thread and world: the only mutable variables of file scope (see CONVENTIONS). */
#ifdef NBC_PIECES
extern PM__PRIVATE __thread pm_thread *pm__current;
extern PM__PRIVATE __thread pm_world *pm__running;
#else
static __thread pm_thread *pm__current;
static __thread pm_world *pm__running;
#endif

/* The world of the running process or event, where that is a part of the one that the caller means. */
static inline pm_world *pm__here(const pm_world *world) {
  return world && world->parts && pm__running && pm__running->whole == world ? pm__running
                                                                             : (pm_world *)world;
}

/* ---- what early pieces ask of later ones ---- */
/* Of worlds over threads: runs one; an event that belongs to another node than the NIC it comes from; a message that
   another part made is over; a process waits until what it has under way is back. */
PM__PRIVATE void pm__windows_run(pm_world *w);
PM__PRIVATE void pm__hand_over(pm_world *w, pm__event *event, int64_t t_ps, int from, int to);
PM__PRIVATE void pm__message_back(pm_world *w, pm__message *m);
static inline bool pm__crosses(const pm_world *w, int from, int to) {
  return w->whole && pm__nic_node(w, from) != pm__nic_node(w, to);
}
/* The number of a process's next message. */
static inline uint64_t pm__id_next(pm_process *p) {
  return p->world->whole ? (uint64_t)(p->rank + 1) << 40 | ++p->id_count : ++p->world->next_id;
}
/* Of Portals: a process has ended (as if it had called PtlFini), its memory goes, the world's goes. */
PM__PRIVATE void pm__ptl_process_ended(pm_process *p);
PM__PRIVATE void pm__ptl_process_free(pm_process *p);
PM__PRIVATE void pm__ptl_world_free(pm_world *w);
/* Of threads that run ahead: what the running one has ahead of it takes place; the scheduler goes on with one
   that waits for that (ret whether it still does); a sleep as a step; the end of a thread. */
PM__PRIVATE void pm__catch_up(void);
PM__PRIVATE bool pm__goes_ahead(pm_world *w, pm_thread *t);
PM__PRIVATE void pm__sleep_later(pm_thread *t, int64_t d_ps);
PM__PRIVATE void pm__ahead_free(pm_thread *t);
/* Of the flows: links are made with the world and go with it; what the world does when it is their time. */
PM__PRIVATE int pm__links_make(pm_world *w);
PM__PRIVATE void pm__flows_free(pm_world *w);
PM__APART PM__PRIVATE void pm__solve_now(pm_world *w);
PM__PRIVATE void pm__flows_end(pm_world *w, pm__event *event);
/* Of the use of links: with the world, if asked for (then add is called); its tracks in a trace. */
typedef enum pm__use_kind { PM__USE_CARRIED, PM__USE_FLOWS, PM__USE_QUEUED } pm__use_kind;
PM__PRIVATE bool pm__uses_make(pm_world *w);
PM__PRIVATE void pm__uses_free(pm_world *w);
PM__PRIVATE void pm__use_add(pm_world *w, uint32_t link, pm__use_kind kind, int64_t t_begin_ps,
                             int64_t t_end_ps, double amount);
PM__PRIVATE pm_status pm__links_tracks(const pm_world *w, FILE *out);
/* Of outages: a known way as it is now; made and freed with the world. They ask flows: a link failed, this
   message was lost on it, plain flows may have a way again. */
PM__PRIVATE bool pm__way_now(pm_world *w, pm__known_way *way);
/* These links are the way's from now on. ret false: out of memory */
PM__PRIVATE bool pm__way_take(pm__known_way *way, const uint32_t *link, int count);
PM__PRIVATE void pm__ways_free(pm_world *w);
PM__PRIVATE bool pm__net_make(pm_world *w);
PM__PRIVATE void pm__net_free(pm_world *w);
PM__PRIVATE void pm__link_failed(pm_world *w, uint32_t link);
PM__PRIVATE void pm__packets_failed(pm_world *w, uint32_t link);
PM__PRIVATE void pm__job_lost(pm_world *w, void *message);
PM__PRIVATE void pm__stranded_go(pm_world *w);
/* Of nodes that die or stand still: the first time; what holds from the beginning. Flows of messages between this
   node and any other are lost. */
PM__PRIVATE void pm__lives_make(pm_world *w);
PM__PRIVATE void pm__lives_begin(pm_world *w);
PM__PRIVATE void pm__flows_of_node_failed(pm_world *w, int node);
/* Of the packet level: its queues go with the world. */
PM__PRIVATE void pm__packets_free(pm_world *w);
/* Of the wire: times that the platform alone says. */
PM__PRIVATE void pm__wire_constants(pm_world *w);
/* Of the trace: the running process computes. */
PM__PRIVATE void pm__trace_compute(pm_world *w, int64_t t_begin_ps, int64_t t_end_ps);
/* Of carriers, see pm_carrier. pm__carrier_advance: lets time pass until then, at most to the end of the
   first step in which the carrier told something: 1. */
PM__PRIVATE pm_status pm__carrier_open(pm_world *w);
PM__PRIVATE void pm__carrier_close(pm_world *w);
PM__PRIVATE bool pm__carrier_is_busy(const pm_world *w);
PM__PRIVATE int pm__carrier_advance(pm_world *w, int64_t until_ps);
