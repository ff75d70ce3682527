/* Simulated processes and time: what programs see of a world. */
#pragma once
#include "platform.h"
/* ============================================================================================== */
/* [WORLD] 4. Simulated processes and time                                                        */
/* ============================================================================================== */
typedef struct pm_world pm_world;
typedef struct pm_process pm_process;
typedef struct pm_thread pm_thread;

/* Where implementations of Portals differ. All 0: header comments of the reference implementation
   and 4.3 where these are clear, else what the reference implementation does. */
typedef struct pm_semantics {
  int pt_any_lowest;  /* PTL_PT_ANY takes the lowest free index; 0: the next after the last */
  int pt_free_purges; /* PtlPTFree drops what is attached; 0: PTL_PT_IN_USE */
  int pt_hints_bind; /* an entry of the priority list that is not as PTL_PT_ONLY_... says: PTL_ARG_INVALID */
  int setmap_again;         /* second PtlSetMap: 0 PTL_IGNORED, 1 PTL_IN_USE, 2 overwrites */
  int eq_drops_newest;      /* full EQ: the new event is lost; 0: the oldest */
  int trigger_success_only; /* thresholds compare success alone; 0: success + failure */
  int search_closing_event; /* a persistent search that found something ends with SEARCH, NO_MATCH */
  int uid_is_matched;       /* another uid: entry does not match; 0: PTL_NI_PERM_VIOLATION */
  int offset_beyond_is_segv;    /* offset > length: PTL_NI_SEGV; 0: a success of 0 bytes */
  int md_release_in_use;        /* MDRelease under operations: PTL_IN_USE; 0: PTL_ARG_INVALID */
  int pt_missing_undeliverable; /* unallocated PT: PTL_NI_UNDELIVERABLE; 0: PTL_NI_DROPPED */
  int success_disable_overflow; /* EVENT_SUCCESS_DISABLE mutes *_OVERFLOW too */
  int oc_ack_counts_success; /* an OC ack of a refused message counts as success; 0: as failure */
  int frees_interrupt; /* 4.2: EQFree, CTFree wake waiters with PTL_INTERRUPTED; 0: waiters wake
                                   with PTL_ARG_INVALID since the object is gone */
  /* The most that an interface offers (65,535 at most: handles have no more), for libraries that want more than BXI's
     NIC has. 0: its figures, 4,080 entries, 1,024 counters, 1,024 descriptors, 960 queues, 16,319 headers, 16,582 in a
     list, 16,378 triggers */
  int max_entries, max_cts, max_mds, max_eqs, max_unexpected_headers, max_list_size,
      max_triggered_ops;
  int max_volatile_size; /* bytes; 0: 64, and who wants all there is gets the largest of an atomic */
} pm_semantics;

typedef enum pm_link_model {
  PM_LINK_FLOW = 0, /* full NIC, links and PCI shared max-min fairly */
  PM_LINK_LOGGP,    /* analytical: L, o, g, G */
  PM_LINK_CARRIER,  /* by pm_world_desc.carrier, e.g. NICs in RTL (rtl/pm_rtl.h), see pm_carrier */
  PM_LINK_PACKET /* full NIC; packets through switches with queues, credits, virtual channels and, by
                       packet_routing, adaptive routing */
} pm_link_model;
typedef struct pm_link_phase { /* from t_ns on, messages start with link */
  int64_t t_ns;
  pm_link_model link;
} pm_link_phase;
struct pm_carrier;

/* A cable in both directions, or a node with all its cables, carries nothing for a while. Messages that start
   meanwhile take the shortest way without it. A message is lost when there is no way as it sets out, when something
   on its way fails before all of it is there, its own node before all of it has left, and by chance (loss_ratio,
   corrupt_ratio; as a whole). What has not left by then stays. e2e_retry_ns later (by chance: after all of it left)
   its NIC sends all of it again, over the way there is then; that takes as long as its bytes take where nothing else
   is under way, and bandwidth from nobody. So it goes on, each e2e_retry_ns while there is no way, up to
   e2e_retry_count times. Flows of pm_flow_start keep what they have carried, and go on over another way or when
   there is one again. At the packet level what is on a cable arrives, and packets that come to it later turn there
   (see the packet level); where a fat tree's switches send up by load, they do so among the cables that lead there; a
   message is lost when one of its packets finds no way, or comes to a NIC that is cut off. Rails do not stand in for
   each other: ways go around on the rail of the NIC, and of a split message that lost a part all is sent again, over
   its own NIC. Not at the level rtl.

   More than the network of a node may fail, by `kind`:
     CUT      the node carries nothing; its processes go on
     STOP     its processes stand still (a hung kernel, SIGSTOP); the NIC goes on by itself: it matches, writes and
              answers. What they compute ends so much later; sleeps and time-outs are of the clock, which goes on
     FREEZE   CUT and STOP at once
     CRASH    CUT, and at its begin all its processes die, without a word to anybody, with PM_STATUS_DIED: their
              memory, interfaces, and all that the NIC holds. At its end there is a fresh NIC, and no process
     RESTART  as CRASH, and at its end each process that died so begins anew: in its entry, with its argument, its
              rank and its pid; what it left in memory that it shares with others of the host program stays
   A message issued before its target's node dies is unknown to the fresh NIC: it is sent again until that is there,
   which refuses it, or e2e_retry_count is used up; then its operation ends with PTL_NI_UNDELIVERABLE. So does one
   whose answer had not left (though its bytes may have been taken). One issued later arrives when the node is there
   again, and ends as ever: PTL_NI_UNDELIVERABLE where nobody has opened that interface, PTL_NI_DROPPED where there
   is no such portal or entry. What left the node before it died arrives (at the packet level: what had arrived).
   pm_barrier waits for dead processes too. Outages of a node's processes must not overlap. */
typedef enum pm_outage_kind {
  PM_OUTAGE_CUT = 0,
  PM_OUTAGE_STOP,
  PM_OUTAGE_FREEZE,
  PM_OUTAGE_CRASH,
  PM_OUTAGE_RESTART
} pm_outage_kind;
enum { PM_STATUS_DIED = 137 }; /* of a process: as shells say that it was killed */
typedef struct pm_outage {
  int node; /* 1 + index; 0: it is a cable */
  int link; /* of the cable, either direction: 0 ... pm_link_count() - 1, see pm_link_name */
  int64_t t_down_ns;
  int64_t d_down_ns;   /* 0: it stays down */
  pm_outage_kind kind; /* of a node; a cable: CUT */
} pm_outage;
/* Faults, all drawn from the seed. Probabilities are ratios per message on the wire, requests and answers alike. */
typedef struct pm_faults {
  double loss_ratio, corrupt_ratio, duplicate_ratio, delay_ratio;
  int64_t delay_ns;  /* up to this long more */
  int slow_node;     /* 1 + index of a node whose NIC is slow_ratio times slower; 0 = none */
  double slow_ratio; /* 0 = 1; below 1: faster */
  int down_node; /* 1 + index of a node that is CUT, see pm_outage (also at the level rtl) ... */
  int64_t t_down_ns, d_down_ns; /* ... from t_down_ns for d_down_ns; 0 = none */
  const pm_outage *outages;     /* more of them, of nodes and cables; not copied; may be NULL */
  int outage_count;
} pm_faults;

/* Zeroed = defaults, except platform. */
typedef struct pm_world_desc {
  const pm_platform *platform; /* required; copied */
  pm_link_model link;
  const struct pm_carrier *carrier; /* needed for PM_LINK_CARRIER; must live as long as the world */
  /* Changes of link on the way, by time; not copied; may be NULL */
  const pm_link_phase *link_phases;
  int link_phase_count;
  pm_semantics semantics;
  pm_faults faults;
  bool no_data;         /* puts and gets take their time but move no bytes: for studies of time */
  uint32_t service_uid; /* messages of this user use the service virtual networks; 0 = none */
  uint64_t seed;
  size_t stack_bytes;         /* per simulated thread, rounded up to pages; 0 = 64 KiB */
  int64_t d_limit_ns;         /* stop then with PM_E_TIME_LIMIT; 0 = never */
  int64_t d_poll_deadlock_ns; /* nothing but idle polls for so long is a deadlock; 0 = 20 s */
  bool link_use;              /* keep how much each link is used, see pm_link_use */
  bool trace;                 /* keep a record per step of each message, see Traces */
  bool catch_crashes;         /* SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT of a process end the
                                 run with PM_E_CRASH or PM_E_STACK instead of the program. A message whose first or
                                 last page of a piece is not there at the target ends with PTL_NI_SEGV; what was there
                                 for a message before counts as there */
  double compute_ratio;   /* > 0: what a process computes between its calls is measured on the host
                           (CPU time) and takes this many times as long here; such runs differ a
                           little each time. 0: only pm_compute_ns and kernels take time */
  int64_t compute_min_ns; /* shorter computations take no time; 0 = 1000 */
  /* Each call that moves data takes up to so much longer, drawn from the seed, its process and how many such
     calls the process has made; 0 = none. Symmetrical programs that answer each other at the same moment, for ever,
     end with it as on real machines. Not negative */
  int64_t call_noise_ns;
  /* Another thread (pm_thread_self) runs now. May be NULL */
  void (*switched)(void *user, pm_process *to);
  /* Asked before a put or get of more than early_send_bytes moves its bytes within plain memory. true: it
     has moved what counts (of memory that is folded). May be NULL */
  bool (*moved)(void *user, void *to, const void *from, uint64_t size_bytes);
  /* For texts of deadlocks: writes the call of the program in which a thread of it waits, "MPI_Recv from 1". Text that is
     left empty says that it is not known. May be NULL */
  void (*waits_in)(void *user, const pm_process *process, const pm_thread *thread, char *text,
                   size_t text_bytes);
  /* Where bytes are that the process has at an address, whoever runs: asked when a message moves them, for the first of
     what lies together. For programs whose variables are at the address only while their process runs. May be NULL:
     at the address */
  void *(*memory_at)(void *user, const pm_process *process, void *address);
  /* A process died with its node (pm_outage_kind); outside of any process. May be NULL */
  void (*died)(void *user, pm_process *process);
  void *user; /* given back to all of them */
  /* > 0: the world runs over so many threads of the host (more than 1: with PM_THREADS), and what it computes is the
     same for any number of them; times are those of windows, see there. 0: on the thread that calls pm_world_run */
  int threads;
} pm_world_desc;

/* Worlds over threads. Nodes are dealt out to threads, which run by themselves for windows of LogGP's L: no message
   arrives sooner. What happens, when, and the hash are the same for any number of threads from 1 on (not: event_count,
   switch_count, memory_bytes). Beside a world without threads
     - of what happens at one node at one time the order is by time, NIC that sent it, and number
     - pm_barrier takes up to L, not nothing; so does the end of a process, or PtlNIFini, with operations under way
     - numbers of messages, pm_random and the hash are others
   so times may differ by what these differ. Processes of different nodes run at once: what they share of the host
   program's memory needs locks or atomics, and then is no longer the same in each run; those of one node need none.
   Only at the level LogGP with a latency, by itself: pm_world_run says PM_E_INVAL, and why, where there are other levels,
   carriers, faults but slow_node, loggp ranges, traces, stamps, use of links, measured computation, callbacks or crashes
   caught. Not in such a world: pm_call_at, pm_flow_start, pm_on_stamp, pm_world_set_link; pm_thread_wake and
   pm_thread_join of another node's thread; pm_process_id of a process of another node that chooses its pid meanwhile.
   Inside of the run pm_world_stats tells of the caller's thread of the host. */

/* ret PM_OK | PM_E_INVAL | PM_E_PLATFORM | PM_E_NOMEM */
PM_API pm_status pm_world_create(const pm_world_desc *desc, pm_world **world);
PM_API void pm_world_destroy(pm_world *world);
/* The values in force. desc.platform points to the copy inside the world. */
PM_API pm_world_desc pm_world_desc_of(const pm_world *world);
/* The details of the last error, with names: for a deadlock, who waits for what. Never NULL. */
PM_API const char *pm_world_error(const pm_world *world);

/* One more process on a node; ranks count up in this order. Not while the world runs.
   out  process   may be NULL
   ret  PM_OK | PM_E_INVAL | PM_E_STATE | PM_E_NOMEM */
PM_API pm_status pm_spawn(pm_world *world, int node_index, void (*entry)(void *arg), void *arg,
                          pm_process **process);
/* procs_per_node_count processes on every node: rank r lives on node r / procs_per_node_count. */
PM_API pm_status pm_spawn_all(pm_world *world, void (*entry)(void *arg), void *arg);
/* Runs until every process has returned and nothing is under way.
   ret  PM_OK | PM_E_DEADLOCK | PM_E_TIME_LIMIT | PM_E_CRASH | PM_E_STACK | what pm_world_fail said */
PM_API pm_status pm_world_run(pm_world *world);
/* Simulated time, from inside or outside. */
PM_API int64_t pm_world_now_ns(const pm_world *world);
/* Calls fn(arg) at a simulated time (not before now), outside any process: it must not wait.
   ret PM_OK | PM_E_INVAL | PM_E_NOMEM */
PM_API pm_status pm_call_at(pm_world *world, int64_t t_ns, void (*fn)(void *arg), void *arg);
/* Ends the run from inside or outside a process; the first reason wins. */
PM_API void pm_world_fail(pm_world *world, pm_status status, const char *text);

/* Counters since the creation of the world. */
typedef struct pm_stats {
  uint64_t event_count;                 /* steps of the simulation */
  uint64_t switch_count;                /* of context */
  uint64_t memory_bytes;                /* of the world and its processes now, without stacks */
  uint64_t stack_count;                 /* handed out so far */
  uint64_t message_count;               /* operations that left their process */
  uint64_t sent_bytes, delivered_bytes; /* payload: equal at the end of a run without failures */
  uint64_t flow_count, solve_count;     /* transfers that shared links; runs of the solver */
  uint64_t lost_count, resent_count, duplicate_count, undeliverable_count; /* what faults did */
  int64_t d_command_stall_ns; /* CPU time of calls that move data, with waits for a slot */
  uint64_t pending_count; /* of now: what will happen although every thread only looks and waits */
  uint64_t hash_id;       /* changes with every step of every message: the same run, the same id */
} pm_stats;
/* For messages from now on (until the next of link_phases); those under way stay with the level that
   started them. The run fails when the level needs a carrier and there is none. */
PM_API void pm_world_set_link(pm_world *world, pm_link_model link);
PM_API pm_stats pm_world_stats(const pm_world *world);

/* Who runs: NULL, -1 and 0 outside of a process. */
PM_API pm_process *pm_self(void);
PM_API int pm_rank(void);
PM_API int pm_size(void);
/* About any process, from anywhere. pm_process_at: NULL when out of range. pm_process_status: what
   it gave to pm_exit; 0; PM_STATUS_DIED. */
PM_API pm_process *pm_process_at(pm_world *world, int rank);
PM_API pm_world *pm_world_of(const pm_process *process);
PM_API int pm_process_rank(const pm_process *process);
PM_API int pm_process_node(const pm_process *process);
PM_API int pm_process_status(const pm_process *process);
/* How often it has begun anew (PM_OUTAGE_RESTART); whether it has died and not begun anew. No process: 0, false */
PM_API int pm_process_restart_count(const pm_process *process);
PM_API bool pm_process_is_dead(const pm_process *process);
PM_API void pm_process_set_uid(pm_process *process, uint32_t uid); /* for Portals; 0 at first */
PM_API void pm_process_set_user(pm_process *process, void *user);
PM_API void *pm_process_user(const pm_process *process);

/* Inside a process. pm_compute_ns is a sleep that is traced as computation; pm_compute_measured takes
   the time for what was computed since the last call (compute_ratio), which Portals calls, waits and
   sleeps do by themselves and pm_now_ns does not; pm_yield costs
   cpu_poll_ns and more when it is called again and again with nothing happening in between,
   pm_yield_for at least d_ns unless something is delivered to the process before (ret true), when d_ns > 0
   also bytes without an event;
   pm_barrier waits for all processes of the world and costs no simulated time; pm_exit ends the
   process with all its threads. pm_compute_unmeasured says whether what this thread computes from now
   on takes no time (1: a library does, whose times are modelled) or is measured (0: as at first), and
   returns what was so before; no effect outside of a process. */
PM_API int64_t pm_now_ns(void);
PM_API void pm_sleep_ns(int64_t d_ns);
PM_API void pm_compute_ns(int64_t d_ns);
PM_API void pm_compute_measured(void);
PM_API bool pm_compute_unmeasured(bool is_unmeasured);
PM_API void pm_yield(void);
PM_API bool pm_yield_for(int64_t d_ns);
PM_API void pm_barrier(void);
PM_API void pm_exit(int status);
/* Threads of the running process, cooperative like processes. stack_bytes 0 = the world's.
   ret NULL when out of memory. A process ends when all its threads have returned. */
PM_API pm_thread *pm_thread_create(void (*entry)(void *arg), void *arg, size_t stack_bytes);
/* Waits until the thread has returned; once per thread. */
PM_API void pm_thread_join(pm_thread *thread);
PM_API pm_thread *pm_thread_self(void);
/* Blocks the running thread until pm_thread_wake: what locks of guests are made of. what names it in
   deadlock reports and is kept by pointer. d_ns < 0: for ever. A wake that came first is remembered.
   ret whether it was woken; false: time over */
PM_API bool pm_thread_wait(const char *what, int64_t d_ns);
PM_API void pm_thread_wake(pm_thread *thread);

/* The next number of the world's own generator, for guests that want reproducible noise. */
PM_API uint64_t pm_random(pm_world *world);

/* Directed links of the network. */
PM_API int pm_link_count(const pm_world *world);
/* The way between two nodes as it is now (of the first rail, around what is down): writes at most max numbers of
   directed links.
   out  latency_ns   of the way, may be NULL
   ret  how many links the way has; -1 unknown node, out of memory, or an outage leaves no way */
PM_API int pm_route(pm_world *world, int from_node, int to_node, uint32_t *links, int max,
                    int64_t *latency_ns);
/* What a directed link adds to the latency of every way over it, so that pm_route's is the sum: in a file its own
   latency, else the wire's for a node's link to its switch, a switch's for any other one.
   ret 0: no world, no such link */
PM_API int64_t pm_link_latency_ns(const pm_world *world, int link);
