/* portals_model.h 0.1.0: the Portals 4 API over a fast model of a BXI-like NIC and network.
   Public domain or MIT-0, at your choice (end of file).

   In ONE C or C++ file of the program, and nowhere else, write
       #define PORTALS_MODEL_IMPLEMENTATION
       #include "portals_model.h"
   and everywhere else just include it. Compile that one file with -D_GNU_SOURCE (or -std=gnu11),
   link with -lm.

   Example (complete; cc -D_GNU_SOURCE x.c -lm): four processes meet after different computations.

       #define PORTALS_MODEL_IMPLEMENTATION
       #include "portals_model.h"

       static void process(void *unused) {
         (void)unused;
         pm_compute_ns(1000 * (pm_rank() + 1));
         pm_barrier();
         printf("process %d goes on after %d ns\n", pm_rank(), (int)pm_now_ns());
       }
       int main(void) {
         pm_platform platform = pm_platform_bxi2(4); // four nodes on one switch
         pm_world_desc desc = {0};
         pm_world *world;
         desc.platform = &platform;
         if (pm_world_create(&desc, &world) || pm_spawn_all(world, process, NULL)) return 1;
         pm_status status = pm_world_run(world);
         if (status) fprintf(stderr, "%s\n", pm_world_error(world));
         pm_world_destroy(world);
         return status != PM_OK;
       }

   CONTENTS (search for the tag: it stands here, at the API and at the implementation)
     [CONFIG]    1. Options: macros to define before including
     [STATUS]    2. Status codes of the pm_ functions
     [PLATFORM]  3. The machine: every constant, topologies, text format
     [WORLD]     4. Simulated processes and time

   SOURCES named in comments:
     [S] Emmanuel, S4BXI: simulation of HPC applications at the Portals level, 2023.

   CONVENTIONS
     Simulated time is int64_t: nanoseconds in the API (_ns), picoseconds inside (_ps) because 8 bytes
     take 0.64 ns on the wire. Names end with their unit. pm_ functions return pm_status, Ptl* functions
     the codes of Portals. A world and all its processes live on ONE thread of the host; several worlds
     may run at once on several threads. The mutable file-scope variables are two thread-local
     pointers to the running simulated thread and world: the Ptl* functions have no argument that
     could carry them. Everything random is drawn from the seed of the world: the same run gives the
     same trace. Processes switch only inside calls of this file: no locks are needed between them.

   LIMITS, told honestly
     One process computes on a core of its own: more threads than cores are not slowed down.
     The first 16,000 stacks of a world end in a guard page, later ones in a word that is checked.
*/
#ifndef PORTALS_MODEL_H_INCLUDED
#define PORTALS_MODEL_H_INCLUDED

#define PM_VERSION_STRING "0.1.0"
#define PM_VERSION        100 /* major * 10000 + minor * 100 + patch */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
/* ============================================================================================== */
/* [CONFIG] 1. Options: macros to define before including                                         */
/* ============================================================================================== */
/*  macro                          default   where                 meaning
    PORTALS_MODEL_IMPLEMENTATION   -         one file              compile the implementation here
    PM_STATIC                      -         every including file  all functions static (private copy)
    PM_API                         extern    every including file  linkage of your own
    PM_MALLOC, PM_REALLOC, PM_FREE libc      implementing file     all or none
    PM_ASSERT                      nothing   implementing file     checks of the model's own invariants
    PM_USE_UCONTEXT                -         implementing file     contexts by ucontext instead of assembly
    PM_WITH_VALGRIND               -         implementing file     stacks are announced to valgrind
    PM_WITH_NBC                    -         any file              adapters to nbc_overlap.h, which must
                                                                   have been included before
*/
#ifndef PM_API
#  if !defined(PM_STATIC)
#    define PM_API extern
#  elif defined(__GNUC__)
#    define PM_API __attribute__((unused)) static
#  else
#    define PM_API static
#  endif
#endif

#ifdef __cplusplus
extern "C" {
#endif


/* ============================================================================================== */
/* [STATUS] 2. Status codes of the pm_ functions                                                  */
/* ============================================================================================== */
#define PM_STATUS_LIST(X)                                                                          \
  X(PM_OK, 0, "ok")                                                                                \
  X(PM_PENDING, 1, "not finished yet")                                                             \
  X(PM_E_INVAL, -300, "invalid argument")                                                          \
  X(PM_E_NOMEM, -301, "out of memory")                                                             \
  X(PM_E_PLATFORM, -302, "platform is malformed")                                                  \
  X(PM_E_DEADLOCK, -303, "every process waits and nothing is under way")                           \
  X(PM_E_TIME_LIMIT, -304, "simulated time limit reached")                                         \
  X(PM_E_CRASH, -305, "a simulated process crashed")                                               \
  X(PM_E_IO, -306, "file cannot be read or written")                                               \
  X(PM_E_STATE, -307, "call not allowed here")                                                     \
  X(PM_E_TRUNCATED, -308, "message longer than the receive buffer")                                \
  X(PM_E_PORTALS, -309, "a Portals call failed")                                                   \
  X(PM_E_STACK, -310, "a simulated process overflowed its stack")

typedef enum pm_status {
#define PM__X(name, value, text) name = value,
  PM_STATUS_LIST(PM__X)
#undef PM__X
      PM_STATUS_FORCE_INT32 = 0x7fffffff
} pm_status;

/* "PM_E_INVAL" and "invalid argument". Never NULL. Any thread. */
PM_API const char *pm_status_name(pm_status status);
PM_API const char *pm_status_text(pm_status status);

/* ============================================================================================== */
/* [PLATFORM] 3. The machine: every constant, topologies, text format                             */
/* ============================================================================================== */
typedef enum pm_topology_kind {
  PM_TOPO_CROSSBAR = 0, /* one switch; topo[] unused */
  PM_TOPO_FATTREE,      /* topo = { levels, down_1..down_h, up_1..up_h }: at level i a switch has down_i
                           children and each vertex below it up_i links up; up < down prunes. Route: up
                           by destination modulo up_i (D-mod-K), then down */
  PM_TOPO_TORUS,        /* topo = { dimensions, size_1..size_d }: shortest way, one dimension after the other */
  PM_TOPO_DRAGONFLY,    /* topo = { groups, routers per group, nodes per router, global links per router } */
  PM_TOPO_FILE          /* links given one by one; shortest paths, ties spread by destination */
} pm_topology_kind;

/* X(name, unit suffix is in the name, default of pm_platform_bxi2, meaning). Integers first. */
#define PM_PLATFORM_INT_LIST(X)                                                                    \
  X(nodes_count, 2, "nodes of the machine")                                                        \
  X(procs_per_node_count, 1, "processes that pm_spawn_all starts on each node")                    \
  X(cores_per_node_count, 64, "cores of a node (told to programs, see LIMITS)")                    \
  X(wire_latency_ns, 300, "from leaving a NIC to arriving at the next, without the switches")      \
  X(switch_latency_ns, 130, "added per switch on the way")                                         \
  X(pci_latency_ns, 200, "one way over PCI [S 4.3]")                                               \
  X(pci_packet_bytes, 512, "payload of a PCI packet [S 4.1]")                                      \
  X(link_packet_bytes, 64, "payload of a link packet: two flits of 32 B [S 4.1]")                  \
  X(link_header_bytes, 8, "header of a link packet [S 4.1]")                                       \
  X(command_bytes, 64, "a command, CPU to NIC [S]")                                                \
  X(event_bytes, 96, "a full event, NIC to memory [S]")                                            \
  X(ack_bytes, 32, "an acknowledgement on the wire [S]")                                           \
  X(inline_bytes, 8, "payload carried in the command itself (non-matching: 8 more) [S 4.3.3]")     \
  X(pio_bytes, 408, "payload written by the CPU (non-matching: 8 more); above it DMA [S 4.3.3]")   \
  X(pio_needs_volatile, 0, "1: PIO only for PTL_MD_VOLATILE, as S4BXI does")                       \
  X(pio_fence_ns, 60, "CPU: fence between payload and command (assumed)")                          \
  X(early_send_bytes, 64, "up to this size SEND comes before the ack [S 4.3.2]")                   \
  X(command_queue_count, 16, "commands between CPU and NIC [S 4.3.2]")                             \
  X(nic_pipeline_count, 73, "commands further inside: together about 89 [S 4.3.2]")                \
  X(nic_put_ns, 200, "occupancy of TX or RX by a put, atomic or ack [S]")                          \
  X(nic_get_ns, 250, "... by a get request [S]")                                                   \
  X(nic_response_ns, 300, "... by a response with data [S]")                                       \
  X(nic_engines_count, 4, "list-matching engines [S 2.2.3]")                                       \
  X(nic_match_ns, 0, "added per list entry looked at (not published: 0)")                          \
  X(e2e_entries_count, 8192, "messages of a NIC waiting for their acknowledgement [S]")            \
  X(e2e_retry_ns, 10000000000, "retransmission after this long [S]")                               \
  X(e2e_retries_count, 5, "retransmissions before PTL_NI_UNDELIVERABLE [S]")                       \
  X(inflight_per_process_count, 0, "limit of a process's messages in flight, 0 = none [S 7.1]")    \
  X(inflight_per_node_count, 0, "limit of a node's messages in flight, 0 = none [S 7.1]")          \
  X(quick_ack, 0, "1: the ack event comes at once, without two small messages")                    \
  X(no_pci_commands, 0, "1: commands and events cross PCI in no time")                             \
  X(no_pci, 0, "1: PCI costs nothing at all")                                                      \
  X(pci_half_duplex, 0, "1: reads and writes share PCI")                                           \
  X(intra_latency_ns, 150, "between processes of a node, through memory (assumed)")                \
  X(intra_uses_nic, 0, "1: processes of a node talk through their NIC instead")                    \
  X(cpu_command_ns, 50, "CPU time of a call that moves data (assumed)")                            \
  X(cpu_append_ns, 100, "... of Append, Unlink and Search (assumed)")                              \
  X(cpu_event_ns, 30, "... of taking an event (assumed)")                                          \
  X(cpu_poll_ns, 20, "... of looking in vain (assumed)")                                           \
  X(cpu_poll_max_ns, 10000, "idle polls grow up to this; anything delivered ends them")            \
  X(loggp_latency_ns, 1000, "LogGP: L")                                                            \
  X(loggp_overhead_ns, 100, "LogGP: o, on both sides")                                             \
  X(loggp_gap_ns, 200, "LogGP: g")

#define PM_PLATFORM_REAL_LIST(X)                                                                   \
  X(link_bytes_per_s, 12.5e9, "a link, one way [S 4.1]")                                           \
  X(pci_bytes_per_s, 15.75e9, "PCI of a node, all transfers of one direction together [S 4.1]")    \
  X(pci_flow_bytes_per_s, 12.5e9, "... one transfer alone [S 4.1]")                                \
  X(intra_bytes_per_s, 10e9, "memory copies of a node, one after the other or shared (assumed)")   \
  X(loggp_bytes_per_s, 12.5e9, "LogGP: 1/G")

typedef struct pm_link {
  char from[24], to[24]; /* "h3" is node 3, any other name a switch; both directions are made */
  double bytes_per_s;    /* each way */
  int64_t latency_ns;
} pm_link;

/* Filled by pm_platform_bxi2 or pm_platform_read, then changed at will. Copied by pm_world_create. */
typedef struct pm_platform {
  char name[32];
#define PM__X(name, value, text) int64_t name;
  PM_PLATFORM_INT_LIST(PM__X)
#undef PM__X
#define PM__X(name, value, text) double name;
  PM_PLATFORM_REAL_LIST(PM__X)
#undef PM__X
  pm_topology_kind topology;
  int64_t topo[16];
  const pm_link *links; /* PM_TOPO_FILE; owned by the caller, or by the platform after pm_platform_read */
  int64_t links_count;
} pm_platform;

/* The constants of [S] and of the S4BXI source; what nobody published is marked "assumed" above.
   nodes on one crossbar. */
PM_API pm_platform pm_platform_bxi2(int nodes_count);

/* Reads a platform: lines "key value", # starts a comment. Keys are the field names above and
     name WORD · topology crossbar|fattree|torus|dragonfly|file · topo N N N ...
     link FROM TO BYTES_PER_S LATENCY_NS        (one per cable, topology file)
   in   text, size_bytes   need not end with 0; untrusted
   out  platform           starts from pm_platform_bxi2(2), then what the text says
        error, error_bytes a sentence that names the line; may be NULL, 0
   ret  PM_OK | PM_E_PLATFORM | PM_E_NOMEM        free with pm_platform_free */
PM_API pm_status pm_platform_read(const char *text, size_t size_bytes, pm_platform *platform, char *error,
                                  size_t error_bytes);
PM_API pm_status pm_platform_load(const char *path, pm_platform *platform, char *error, size_t error_bytes);
PM_API void pm_platform_free(pm_platform *platform);
/* Writes what pm_platform_read reads back to the same platform. */
PM_API pm_status pm_platform_write(const pm_platform *platform, FILE *out);
/* Checks every field and that all nodes reach each other. error as above. */
PM_API pm_status pm_platform_check(const pm_platform *platform, char *error, size_t error_bytes);

/* ============================================================================================== */
/* [WORLD] 4. Simulated processes and time                                                        */
/* ============================================================================================== */
typedef struct pm_world pm_world;
typedef struct pm_process pm_process;
typedef struct pm_thread pm_thread;

/* Zeroed = defaults, except platform. */
typedef struct pm_world_desc {
  const pm_platform *platform; /* required; copied */
  uint64_t seed;
  size_t stack_bytes;         /* per simulated thread, rounded up to pages; 0 = 64 KiB */
  int64_t d_limit_ns;         /* stop then with PM_E_TIME_LIMIT; 0 = never */
  int64_t d_poll_deadlock_ns; /* nothing but idle polls for so long is a deadlock; 0 = 20 s */
  int catch_crashes;          /* 1: SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT of a process end the
                                 run with PM_E_CRASH or PM_E_STACK instead of the program */
  void (*switched)(void *user, pm_process *to); /* another process runs now; may be NULL */
  void *user;                                   /* given back to it */
} pm_world_desc;

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
  uint64_t events_count;    /* steps of the simulation */
  uint64_t switches_count;  /* of context */
  uint64_t memory_bytes;    /* of the world and its processes now, without stacks */
  uint64_t stacks_count;    /* made so far: the most threads alive at once */
} pm_stats;
PM_API pm_stats pm_world_stats(const pm_world *world);

/* Who runs: NULL, -1 and 0 outside of a process. */
PM_API pm_process *pm_self(void);
PM_API int pm_rank(void);
PM_API int pm_size(void);
/* About any process, from anywhere. pm_process_at: NULL when out of range. pm_process_status: what
   it gave to pm_exit; 0. */
PM_API pm_process *pm_process_at(pm_world *world, int rank);
PM_API pm_world *pm_world_of(const pm_process *process);
PM_API int pm_process_rank(const pm_process *process);
PM_API int pm_process_node(const pm_process *process);
PM_API int pm_process_status(const pm_process *process);
PM_API void pm_process_set_user(pm_process *process, void *user);
PM_API void *pm_process_user(const pm_process *process);

/* Inside a process. pm_compute_ns is a sleep that is traced as computation; pm_yield costs
   cpu_poll_ns and more when it is called again and again with nothing happening in between;
   pm_barrier waits for all processes of the world and costs no simulated time; pm_exit ends the
   process with all its threads. */
PM_API int64_t pm_now_ns(void);
PM_API void pm_sleep_ns(int64_t d_ns);
PM_API void pm_compute_ns(int64_t d_ns);
PM_API void pm_yield(void);
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
   ret 1 woken, 0 time over */
PM_API int pm_thread_wait(const char *what, int64_t d_ns);
PM_API void pm_thread_wake(pm_thread *thread);

/* The next number of the world's own generator, for guests that want reproducible noise. */
PM_API uint64_t pm_random(pm_world *world);

/* Directed links of the network. */
PM_API int pm_links_count(const pm_world *world);
/* The way between two nodes: writes at most max numbers of directed links.
   out  latency_ns   of the way, may be NULL
   ret  how many links the way has; -1 unknown node or out of memory */
PM_API int pm_route(pm_world *world, int from_node, int to_node, uint32_t *links, int max, int64_t *latency_ns);

#ifdef __cplusplus
}
#endif
#endif /* PORTALS_MODEL_H_INCLUDED */

/* ---------------------------------------------------------------------------------------------- */
#if defined(PORTALS_MODEL_IMPLEMENTATION) && !defined(PORTALS_MODEL_IMPLEMENTATION_ONCE)
#define PORTALS_MODEL_IMPLEMENTATION_ONCE

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/mman.h>
#if !defined(MAP_ANONYMOUS) || !defined(CLOCK_MONOTONIC)
#  error "portals_model.h: mmap or clock_gettime is hidden; compile the implementing file with -D_GNU_SOURCE or -std=gnu11"
#endif
#if defined(__SANITIZE_ADDRESS__)
#  define PM__ASAN 1
#elif defined(__has_feature)
#  if __has_feature(address_sanitizer)
#    define PM__ASAN 1
#  endif
#endif
#ifdef PM__ASAN
#  include <sanitizer/asan_interface.h>
#  include <sanitizer/common_interface_defs.h>
#endif
#if !defined(PM_USE_UCONTEXT) && !defined(__x86_64__) && !defined(__aarch64__)
#  define PM_USE_UCONTEXT 1
#endif
#ifdef PM_USE_UCONTEXT
#  include <ucontext.h>
#endif
#ifdef PM_WITH_VALGRIND
#  include <valgrind/valgrind.h>
#endif

#if defined(PM_MALLOC) != defined(PM_FREE) || defined(PM_MALLOC) != defined(PM_REALLOC)
#  error "portals_model.h: define all of PM_MALLOC, PM_REALLOC and PM_FREE or none"
#endif
#ifndef PM_MALLOC
#  define PM_MALLOC(size)       malloc(size)
#  define PM_REALLOC(ptr, size) realloc(ptr, size)
#  define PM_FREE(ptr)          free(ptr)
#endif
#ifndef PM_ASSERT
#  define PM_ASSERT(condition) ((void)0)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ============================================================================================== */
/* [CONFIG] 1. Options: what every section shares                                                 */
/* ============================================================================================== */
enum { PM__ROUTE_MAX = 62, PM__ENGINES_MAX = 16 };
#define PM__PS      1000 /* per ns */
#define PM__FOREVER INT64_MAX

typedef struct pm__event pm__event;

/* One entry of the future. Embedded in what it is about, so nothing is allocated per event. */
struct pm__event {
  void (*fn)(pm_world *world, pm__event *event);
  uint32_t pos; /* in the heap; 0 = not queued */
};
typedef struct pm__slot {
  int64_t t_ps;
  uint64_t order; /* equal times: first scheduled, first served */
  pm__event *event;
} pm__slot;

typedef enum pm__state { PM__READY, PM__RUNNING, PM__BLOCKED, PM__ENDED } pm__state;

struct pm_thread {
  pm__event timer; /* first: the heap gives us its address */
  pm_process *proc;
  pm__state state;
  int woken, polling, timed_out;
  unsigned poll_streak; /* idle polls in a row */
  void *sp;
  char *stack;
  size_t stack_bytes;
  void *asan_fake;
  void (*entry)(void *arg);
  void *arg;
  const char *what; /* for deadlock reports */
  void (*describe)(const pm_thread *thread, char *text, size_t text_bytes); /* more of it, or NULL */
  const void *wait_on;
  uint64_t wait_value;
  pm_thread *next_ready, *next_in_proc, *next_waiter, *joiner;
#ifdef PM_USE_UCONTEXT
  ucontext_t uc;
#endif
#ifdef PM_WITH_VALGRIND
  unsigned valgrind_id;
#endif
};

struct pm_process {
  pm_world *world;
  int rank, node, status, ended, live_threads;
  void *user;
  pm_thread *threads;
  pm_process *next_on_node;
};

typedef struct pm__node {
  pm_process *processes;
} pm__node;

typedef struct pm__stack { struct pm__stack *next; } pm__stack; /* lies in the free stack itself */
typedef struct pm__slab {
  struct pm__slab *next;
  char *base;
  size_t bytes;
} pm__slab;

struct pm_world {
  pm_world_desc desc;
  pm_platform plat;
  struct pm__graph *graph; /* of a platform with links from a file */
  pm_status status;
  int running, stopped;
  char error[4096];
  /* present and future */
  int64_t now_ps, t_idle_since_ps;
  uint64_t order;
  pm__slot *heap; /* from 1 on */
  uint32_t heap_count, heap_max;
  pm_thread *ready_head, *ready_tail, *barrier_waiters;
  int barrier_count, live_threads, live_processes, polling_count;
  /* contexts */
  void (*context_switch)(void **save, void *load);
  void *scheduler_sp;
  pm_process *last_run;
  void *asan_fake;
  const void *asan_bottom;
  size_t asan_bytes;
#ifdef PM_USE_UCONTEXT
  ucontext_t uc;
#endif
  sigjmp_buf crash_jump;
  int crash_signal;
  char *crash_address;
  pm__stack *free_stacks;
  pm__slab *slabs;
  /* who and where */
  pm_process **procs;
  int procs_count, procs_max;
  pm__node *nodes;
  uint64_t rng;
  pm_stats stats;
};

/* The running simulated thread and world: the only mutable variables of file scope (see CONVENTIONS). */
static __thread pm_thread *pm__current;
static __thread pm_world *pm__running;

/* Grows *array to hold at least want items; 0 when out of memory. */
static int pm__grow(void **array, int *max, int want, size_t item_bytes) {
  int next = *max ? *max : 8;
  void *p;
  if (want <= *max) return 1;
  while (next < want) next *= 2;
  p = PM_REALLOC(*array, (size_t)next * item_bytes);
  if (!p) return 0;
  *array = p;
  *max = next;
  return 1;
}
static void *pm__zalloc(size_t bytes) {
  void *p = PM_MALLOC(bytes ? bytes : 1);
  if (p) memset(p, 0, bytes);
  return p;
}

/* ============================================================================================== */
/* [STATUS] 2. Status codes of the pm_ functions                                                  */
/* ============================================================================================== */
PM_API const char *pm_status_name(pm_status status) {
  switch (status) {
#define PM__X(name, value, text) case name: return #name;
    PM_STATUS_LIST(PM__X)
#undef PM__X
  case PM_STATUS_FORCE_INT32: break;
  }
  return "PM_?";
}
PM_API const char *pm_status_text(pm_status status) {
  switch (status) {
#define PM__X(name, value, text) case name: return text;
    PM_STATUS_LIST(PM__X)
#undef PM__X
  case PM_STATUS_FORCE_INT32: break;
  }
  return "unknown status";
}


/* ============================================================================================== */
/* [PLATFORM] 3. The machine: constants, text format, routes                                      */
/* ============================================================================================== */
static pm_status pm__platform_error(char *error, size_t error_bytes, const char *format, ...) {
  va_list args;
  if (error && error_bytes) {
    va_start(args, format);
    vsnprintf(error, error_bytes, format, args);
    va_end(args);
  }
  return PM_E_PLATFORM;
}

PM_API pm_platform pm_platform_bxi2(int nodes_count) {
  pm_platform p;
  memset(&p, 0, sizeof p);
  strcpy(p.name, "bxi2");
#define PM__X(name, value, text) p.name = value;
  PM_PLATFORM_INT_LIST(PM__X)
  PM_PLATFORM_REAL_LIST(PM__X)
#undef PM__X
  p.nodes_count = nodes_count;
  return p;
}

static const char *const pm__topology_names[] = {"crossbar", "fattree", "torus", "dragonfly", "file"};

/* One line of a platform, already split in words. */
static const char *pm__platform_line(pm_platform *p, char **word, int words, int *links_max) {
  char *end;
  int i;
  if (words < 2) return "key without value";
#define PM__X(field, value, text)                                                                  \
  if (strcmp(word[0], #field) == 0) {                                                              \
    if (words != 2) return "one value expected";                                                   \
    errno = 0;                                                                                     \
    p->field = strtoll(word[1], &end, 10);                                                         \
    return *end || errno ? "not a whole number" : NULL;                                            \
  }
  PM_PLATFORM_INT_LIST(PM__X)
#undef PM__X
#define PM__X(field, value, text)                                                                  \
  if (strcmp(word[0], #field) == 0) {                                                              \
    if (words != 2) return "one value expected";                                                   \
    p->field = strtod(word[1], &end);                                                              \
    return *end || !(p->field > 0) || p->field > 1e18 ? "not a positive number" : NULL;            \
  }
  PM_PLATFORM_REAL_LIST(PM__X)
#undef PM__X
  if (strcmp(word[0], "name") == 0) {
    snprintf(p->name, sizeof p->name, "%s", word[1]);
    return NULL;
  }
  if (strcmp(word[0], "topology") == 0) {
    for (i = 0; i < 5; i++)
      if (strcmp(word[1], pm__topology_names[i]) == 0) {
        p->topology = (pm_topology_kind)i;
        return NULL;
      }
    return "unknown topology";
  }
  if (strcmp(word[0], "topo") == 0) {
    if (words - 1 > 16) return "more than 16 numbers";
    memset(p->topo, 0, sizeof p->topo);
    for (i = 1; i < words; i++) {
      p->topo[i - 1] = strtoll(word[i], &end, 10);
      if (*end || p->topo[i - 1] < 1 || p->topo[i - 1] > 1000000) return "topo: numbers of 1 ... 1000000 expected";
    }
    return NULL;
  }
  if (strcmp(word[0], "link") == 0) {
    pm_link l;
    void *array = (void *)(uintptr_t)p->links;
    if (words != 5) return "link FROM TO BYTES_PER_S LATENCY_NS expected";
    memset(&l, 0, sizeof l);
    if (strlen(word[1]) >= sizeof l.from || strlen(word[2]) >= sizeof l.to) return "name too long";
    strcpy(l.from, word[1]);
    strcpy(l.to, word[2]);
    l.bytes_per_s = strtod(word[3], &end);
    if (*end || !(l.bytes_per_s > 0) || l.bytes_per_s > 1e18) return "not a positive bandwidth";
    l.latency_ns = strtoll(word[4], &end, 10);
    if (*end || l.latency_ns < 0 || l.latency_ns > 1000000000000) return "not a latency";
    if (!pm__grow(&array, links_max, (int)p->links_count + 1, sizeof l)) return "out of memory";
    ((pm_link *)array)[p->links_count++] = l;
    p->links = (const pm_link *)array;
    return NULL;
  }
  return "unknown key";
}

/* Smallest and largest legal value of a whole number, by name: zero is physical for times only. */
static const char *pm__platform_range(const pm_platform *p) {
  const int64_t at_least_1[] = {p->nodes_count, p->procs_per_node_count, p->cores_per_node_count, p->pci_packet_bytes,
                                p->link_packet_bytes, p->command_queue_count, p->nic_engines_count, p->e2e_entries_count,
                                p->cpu_poll_ns};
  const char *const names[] = {"nodes_count", "procs_per_node_count", "cores_per_node_count", "pci_packet_bytes",
                               "link_packet_bytes", "command_queue_count", "nic_engines_count", "e2e_entries_count",
                               "cpu_poll_ns"};
  size_t i;
  for (i = 0; i < sizeof at_least_1 / sizeof *at_least_1; i++)
    if (at_least_1[i] < 1) return names[i];
  if (p->nic_engines_count > PM__ENGINES_MAX) return "nic_engines_count";
  if (p->nodes_count > 4000000) return "nodes_count";
  if (p->procs_per_node_count > 65535) return "procs_per_node_count";
  if (p->e2e_retry_ns > 1000000000000) return "e2e_retry_ns";
#define PM__X(name, value, text)                                                                   \
  if (p->name < 0 || p->name > 1000000000000) return #name;
  PM_PLATFORM_INT_LIST(PM__X)
#undef PM__X
#define PM__X(name, value, text)                                                                   \
  if (!(p->name > 0) || p->name > 1e18) return #name;
  PM_PLATFORM_REAL_LIST(PM__X)
#undef PM__X
  return NULL;
}

PM_API pm_status pm_platform_read(const char *text, size_t size_bytes, pm_platform *platform, char *error,
                                  size_t error_bytes) {
  size_t at = 0;
  int line_number = 0, links_max = 0;
  const char *bad;
  pm_platform p = pm_platform_bxi2(2);
  if (!text || !platform) return PM_E_INVAL;
  memset(platform, 0, sizeof *platform);
  while (at < size_bytes) {
    char line[512], *word[20], *s;
    int words = 0, n = 0;
    line_number++;
    while (at < size_bytes && text[at] != '\n') {
      if (n < (int)sizeof line - 1) line[n++] = text[at] ? text[at] : '?';
      else n = (int)sizeof line; /* too long: noticed below */
      if (n == (int)sizeof line) break;
      at++;
    }
    if (n == (int)sizeof line) {
      PM_FREE((void *)(uintptr_t)p.links);
      return pm__platform_error(error, error_bytes, "line %d: longer than 510 characters", line_number);
    }
    at++;
    line[n] = 0;
    if ((s = strchr(line, '#')) != NULL) *s = 0;
    for (s = line; *s && words < 20;) {
      while (isspace((unsigned char)*s)) s++;
      if (*s) word[words++] = s;
      while (*s && !isspace((unsigned char)*s)) s++;
      if (*s) *s++ = 0;
    }
    if (!words) continue;
    bad = pm__platform_line(&p, word, words, &links_max);
    if (!bad) bad = pm__platform_range(&p) ? "value out of range" : NULL;
    if (bad) {
      pm__platform_error(error, error_bytes, "line %d: %s: %s", line_number, word[0], bad);
      PM_FREE((void *)(uintptr_t)p.links);
      return PM_E_PLATFORM;
    }
  }
  {
    pm_status status = pm_platform_check(&p, error, error_bytes);
    if (status) {
      PM_FREE((void *)(uintptr_t)p.links);
      return status;
    }
  }
  *platform = p;
  return PM_OK;
}

PM_API pm_status pm_platform_load(const char *path, pm_platform *platform, char *error, size_t error_bytes) {
  FILE *in = path ? fopen(path, "rb") : NULL;
  char *text = NULL;
  int max = 0, n = 0, got;
  pm_status status;
  if (!in) {
    pm__platform_error(error, error_bytes, "%s: %s", path ? path : "(null)", strerror(errno));
    return PM_E_IO;
  }
  do {
    if (n > (1 << 26) || !pm__grow((void **)&text, &max, n + 65536, 1)) {
      fclose(in);
      PM_FREE(text);
      pm__platform_error(error, error_bytes, "%s: too long", path);
      return PM_E_NOMEM;
    }
    got = (int)fread(text + n, 1, 65536, in);
    n += got;
  } while (got > 0);
  fclose(in);
  status = pm_platform_read(text, (size_t)n, platform, error, error_bytes);
  PM_FREE(text);
  return status;
}

PM_API void pm_platform_free(pm_platform *platform) {
  if (!platform) return;
  PM_FREE((void *)(uintptr_t)platform->links);
  platform->links = NULL;
  platform->links_count = 0;
}

PM_API pm_status pm_platform_write(const pm_platform *p, FILE *out) {
  int i;
  int64_t k;
  fprintf(out, "name %s\ntopology %s\n", p->name[0] ? p->name : "-", pm__topology_names[p->topology]);
  if (p->topo[0]) {
    fprintf(out, "topo");
    for (i = 0; i < 16 && p->topo[i]; i++) fprintf(out, " %lld", (long long)p->topo[i]);
    fprintf(out, "\n");
  }
#define PM__X(field, value, text) fprintf(out, "%-28s %-14lld # %s\n", #field, (long long)p->field, text);
  PM_PLATFORM_INT_LIST(PM__X)
#undef PM__X
#define PM__X(field, value, text) fprintf(out, "%-28s %-14.17g # %s\n", #field, p->field, text);
  PM_PLATFORM_REAL_LIST(PM__X)
#undef PM__X
  for (k = 0; k < p->links_count; k++)
    fprintf(out, "link %s %s %.17g %lld\n", p->links[k].from, p->links[k].to, p->links[k].bytes_per_s,
            (long long)p->links[k].latency_ns);
  return ferror(out) ? PM_E_IO : PM_OK;
}

/* A network read from a file: vertices (nodes first), cables as two directed links, and per
   destination the next link of every vertex, made when first asked for. */
typedef struct pm__graph {
  int vertices, cables;
  char (*names)[24]; /* of the switches */
  int *end;          /* of directed link i: 2i from a to b, 2i+1 back */
  int64_t *latency_ns;
  double *bytes_per_s;
  int *first, *out;  /* out-links of vertex v: out[first[v]] ... out[first[v+1]-1] */
  int **next;        /* next[destination][vertex] = link, -1 = none */
  int *queue;
} pm__graph;

static void pm__graph_free(pm__graph *g, int nodes) {
  int i;
  if (!g) return;
  if (g->next)
    for (i = 0; i < nodes; i++) PM_FREE(g->next[i]);
  PM_FREE(g->names);
  PM_FREE(g->end);
  PM_FREE(g->latency_ns);
  PM_FREE(g->bytes_per_s);
  PM_FREE(g->first);
  PM_FREE(g->out);
  PM_FREE(g->next);
  PM_FREE(g->queue);
  PM_FREE(g);
}

static int pm__graph_vertex(pm__graph *g, const char *name, int nodes) {
  char *end;
  int i;
  if (name[0] == 'h' && isdigit((unsigned char)name[1])) {
    long v = strtol(name + 1, &end, 10);
    if (!*end) return v < nodes ? (int)v : -1;
  }
  for (i = nodes; i < g->vertices; i++)
    if (strcmp(g->names[i - nodes], name) == 0) return i;
  strcpy(g->names[g->vertices - nodes], name);
  return g->vertices++;
}

static pm__graph *pm__graph_make(const pm_platform *p, char *error, size_t error_bytes) {
  int nodes = (int)p->nodes_count, n = (int)p->links_count, i, v;
  pm__graph *g = (pm__graph *)pm__zalloc(sizeof *g);
  if (!g) return NULL;
  g->vertices = nodes;
  g->cables = n;
  g->names = (char(*)[24])pm__zalloc((size_t)(2 * n + 1) * 24);
  g->end = (int *)pm__zalloc((size_t)(2 * n + 1) * sizeof(int));
  g->latency_ns = (int64_t *)pm__zalloc((size_t)(n + 1) * sizeof(int64_t));
  g->bytes_per_s = (double *)pm__zalloc((size_t)(n + 1) * sizeof(double));
  g->first = (int *)pm__zalloc((size_t)(nodes + 2 * n + 2) * sizeof(int));
  g->out = (int *)pm__zalloc((size_t)(2 * n + 1) * sizeof(int));
  g->next = (int **)pm__zalloc((size_t)nodes * sizeof(int *));
  g->queue = (int *)pm__zalloc((size_t)(nodes + 2 * n + 1) * sizeof(int));
  if (!g->names || !g->end || !g->latency_ns || !g->bytes_per_s || !g->first || !g->out || !g->next || !g->queue) {
    pm__graph_free(g, nodes);
    return NULL;
  }
  for (i = 0; i < n; i++) {
    int a = pm__graph_vertex(g, p->links[i].from, nodes), b = pm__graph_vertex(g, p->links[i].to, nodes);
    if (a < 0 || b < 0 || a == b) {
      pm__platform_error(error, error_bytes, "link %d (%s %s): %s", i + 1, p->links[i].from, p->links[i].to,
                         a == b ? "leads to itself" : "node beyond nodes_count");
      pm__graph_free(g, nodes);
      return NULL;
    }
    g->end[2 * i] = b;
    g->end[2 * i + 1] = a;
    g->latency_ns[i] = p->links[i].latency_ns;
    g->bytes_per_s[i] = p->links[i].bytes_per_s;
  }
  for (i = 0; i < 2 * n; i++) g->first[g->end[i ^ 1] + 1]++;
  for (v = 0; v < g->vertices; v++) g->first[v + 1] += g->first[v];
  for (i = 2 * n - 1; i >= 0; i--) g->out[g->first[g->end[i ^ 1]]++] = i; /* first[v] moves to its end ... */
  for (v = g->vertices; v > 0; v--) g->first[v] = g->first[v - 1];        /* ... and back */
  g->first[0] = 0;
  return g;
}

/* Next links towards one destination: breadth first from it. Among equals the destination number
   chooses, so that traffic to many destinations spreads. 0 when out of memory. */
static int pm__graph_towards(pm__graph *g, int destination) {
  int *next = (int *)PM_MALLOC((size_t)g->vertices * sizeof(int)), *dist, head = 0, tail = 0, v, k, seen;
  dist = (int *)PM_MALLOC((size_t)g->vertices * sizeof(int));
  if (!next || !dist) {
    PM_FREE(next);
    PM_FREE(dist);
    return 0;
  }
  for (v = 0; v < g->vertices; v++) next[v] = dist[v] = -1;
  dist[destination] = 0;
  g->queue[tail++] = destination;
  while (head < tail) {
    v = g->queue[head++];
    for (k = g->first[v]; k < g->first[v + 1]; k++) {
      int u = g->end[g->out[k]];
      if (dist[u] < 0) dist[u] = dist[v] + 1, g->queue[tail++] = u;
    }
  }
  for (v = 0; v < g->vertices; v++) {
    int choices = 0;
    if (dist[v] <= 0) continue;
    for (k = g->first[v]; k < g->first[v + 1]; k++) choices += dist[g->end[g->out[k]]] == dist[v] - 1;
    for (k = g->first[v], seen = 0; k < g->first[v + 1]; k++)
      if (dist[g->end[g->out[k]]] == dist[v] - 1 && seen++ == destination % choices) next[v] = g->out[k];
  }
  PM_FREE(dist);
  g->next[destination] = next;
  return 1;
}

static int64_t pm__product(const int64_t *v, int64_t n) {
  int64_t p = 1;
  while (n-- > 0) p *= *v++;
  return p;
}

/* Numbers of directed links: crossbar 2 per node. Fat tree: 2 per (child, up port), level by level.
   Torus: 2 per node to its router, then 2 per dimension and router. Dragonfly: 2 per node, then a*a
   per group, then g*g (one between each two groups). File: 2 per cable. */
static int64_t pm__topology_links(const pm_platform *p) {
  const int64_t *t = p->topo;
  int64_t n = p->nodes_count, sum = 0, l;
  switch (p->topology) {
  case PM_TOPO_CROSSBAR: return 2 * n;
  case PM_TOPO_FATTREE:
    for (l = 0; l < t[0]; l++)
      sum += 2 * pm__product(t + 1 + l, t[0] - l) * pm__product(t + 1 + t[0], l) * t[1 + t[0] + l];
    return sum;
  case PM_TOPO_TORUS: return 2 * n + 2 * t[0] * n;
  case PM_TOPO_DRAGONFLY: return 2 * n + t[0] * t[1] * t[1] + t[0] * t[0];
  case PM_TOPO_FILE: return 2 * p->links_count;
  }
  return 0;
}

static pm_status pm__topology_check(const pm_platform *p, char *error, size_t error_bytes) {
  const int64_t *t = p->topo;
  int64_t nodes = p->nodes_count, hops = 2, i;
  switch (p->topology) {
  case PM_TOPO_CROSSBAR: break;
  case PM_TOPO_FATTREE:
    if (t[0] < 1 || t[0] > 7) return pm__platform_error(error, error_bytes, "topo: 1 to 7 levels");
    for (i = 1; i <= 2 * t[0]; i++)
      if (t[i] < 1) return pm__platform_error(error, error_bytes, "topo: levels, then as many down and up counts");
    if (pm__product(t + 1, t[0]) != nodes)
      return pm__platform_error(error, error_bytes, "topo: the fat tree has %lld nodes, nodes_count is %lld",
                                (long long)pm__product(t + 1, t[0]), (long long)nodes);
    break;
  case PM_TOPO_TORUS:
    if (t[0] < 1 || t[0] > 8) return pm__platform_error(error, error_bytes, "topo: 1 to 8 dimensions");
    for (i = 1; i <= t[0]; i++) hops += t[i] / 2;
    if (pm__product(t + 1, t[0]) != nodes)
      return pm__platform_error(error, error_bytes, "topo: the torus has %lld nodes, nodes_count is %lld",
                                (long long)pm__product(t + 1, t[0]), (long long)nodes);
    break;
  case PM_TOPO_DRAGONFLY:
    if (pm__product(t, 3) != nodes)
      return pm__platform_error(error, error_bytes, "topo: the dragonfly has %lld nodes, nodes_count is %lld",
                                (long long)pm__product(t, 3), (long long)nodes);
    if (t[1] * t[3] < t[0] - 1) return pm__platform_error(error, error_bytes, "topo: too few global links to reach all groups");
    break;
  case PM_TOPO_FILE: break;
  default: return pm__platform_error(error, error_bytes, "topology: unknown");
  }
  if (hops > PM__ROUTE_MAX)
    return pm__platform_error(error, error_bytes, "topo: a route of %lld links, at most %d", (long long)hops, PM__ROUTE_MAX);
  if (p->topology == PM_TOPO_FILE) {
    pm__graph *g;
    int v, steps, far = -1;
    if (!p->links || p->links_count < 1) return pm__platform_error(error, error_bytes, "topology file without a link");
    if (error && error_bytes) error[0] = 0;
    g = pm__graph_make(p, error, error_bytes);
    if (!g) return error && error[0] ? PM_E_PLATFORM : PM_E_NOMEM;
    if (!pm__graph_towards(g, 0)) {
      pm__graph_free(g, (int)nodes);
      return PM_E_NOMEM;
    }
    for (v = 1; v < nodes && far < 0; v++)
      for (steps = 0, i = v; i != 0 && far < 0; steps++) {
        if (g->next[0][i] < 0 || steps >= PM__ROUTE_MAX / 2) far = v;
        else i = g->end[g->next[0][i]];
      }
    pm__graph_free(g, (int)nodes);
    if (far >= 0) return pm__platform_error(error, error_bytes, "links: no way between h%d and h0 (or a longer one than %d links)", far, PM__ROUTE_MAX / 2);
  }
  return PM_OK;
}

PM_API pm_status pm_platform_check(const pm_platform *p, char *error, size_t error_bytes) {
  const char *bad;
  if (!p) return PM_E_INVAL;
  bad = pm__platform_range(p);
  if (bad) return pm__platform_error(error, error_bytes, "%s: value out of range", bad);
  return pm__topology_check(p, error, error_bytes);
}

static int pm__route_fattree(const pm_platform *p, int64_t src, int64_t dst, uint32_t *out) {
  const int64_t h = p->topo[0], *m = p->topo + 1, *up = m + h;
  int64_t edge[8], width[9], span[9], b[9], base = 0, l, top = 0, n = 0;
  span[0] = width[0] = 1;
  b[0] = 0;
  for (l = 0; l < h; l++) {
    span[l + 1] = span[l] * m[l];
    width[l + 1] = width[l] * up[l];
    edge[l] = base; /* first cable of this level */
    base += p->nodes_count / span[l] * width[l] * up[l];
  }
  while (src / span[top] != dst / span[top]) top++;
  for (l = 0; l < top; l++) { /* D-mod-K: the port above level l is digit l of the destination */
    int64_t port = dst / width[l] % up[l];
    out[n++] = (uint32_t)(2 * (edge[l] + (src / span[l] * width[l] + b[l]) * up[l] + port));
    b[l + 1] = b[l] + port * width[l];
  }
  for (l = top - 1; l >= 0; l--)
    out[n++] = (uint32_t)(2 * (edge[l] + (dst / span[l] * width[l] + b[l]) * up[l] + (b[l + 1] - b[l]) / width[l]) + 1);
  return (int)n;
}

static int pm__route_torus(const pm_platform *p, int64_t src, int64_t dst, uint32_t *out) {
  int64_t d = p->topo[0], at = src, stride = 1, nodes = p->nodes_count, i;
  int n = 0;
  out[n++] = (uint32_t)(2 * src);
  for (i = 0; i < d; i++) {
    int64_t size = p->topo[1 + i], from = src / stride % size, to = dst / stride % size;
    int64_t forward = (to - from + size) % size, steps = forward <= size - forward ? forward : size - forward;
    int back = forward > size - forward;
    while (steps-- > 0) {
      int64_t x = at / stride % size, y = (x + (back ? size - 1 : 1)) % size;
      out[n++] = (uint32_t)(2 * nodes + 2 * (i * nodes + at) + back);
      at += (y - x) * stride;
    }
    stride *= size;
  }
  out[n++] = (uint32_t)(2 * dst + 1);
  return n;
}

static int pm__route_dragonfly(const pm_platform *p, int64_t src, int64_t dst, uint32_t *out) {
  int64_t g = p->topo[0], a = p->topo[1], per = p->topo[2], h = p->topo[3], nodes = p->nodes_count;
  int64_t gs = src / (a * per), gd = dst / (a * per), r = src / per % a, rd = dst / per % a;
  int64_t local = 2 * nodes, global = local + g * a * a;
  int n = 0;
  out[n++] = (uint32_t)(2 * src);
  if (gs != gd) { /* the router that owns the global link, and the one where it lands */
    int64_t leave = (gd < gs ? gd : gd - 1) / h, land = (gs < gd ? gs : gs - 1) / h;
    if (r != leave) out[n++] = (uint32_t)(local + gs * a * a + r * a + leave);
    out[n++] = (uint32_t)(global + gs * g + gd);
    r = land;
  }
  if (r != rd) out[n++] = (uint32_t)(local + gd * a * a + r * a + rd);
  out[n++] = (uint32_t)(2 * dst + 1);
  return n;
}

/* Links from node to node and the latency of the way. -1: no way (or no memory). */
static int pm__route(pm_world *w, int src, int dst, uint32_t *out, int64_t *latency_ps) {
  const pm_platform *p = &w->plat;
  int n = 0;
  int64_t latency_ns = p->wire_latency_ns;
  if (p->topology == PM_TOPO_FILE) {
    int at = src;
    latency_ns = 0;
    if (!w->graph->next[dst] && !pm__graph_towards(w->graph, dst)) return -1;
    while (at != dst) {
      int link = w->graph->next[dst][at];
      if (link < 0 || n >= PM__ROUTE_MAX) return -1;
      latency_ns += w->graph->latency_ns[link / 2];
      out[n++] = (uint32_t)link;
      at = w->graph->end[link];
    }
    *latency_ps = latency_ns * PM__PS;
    return n;
  }
  if (src == dst || p->topology == PM_TOPO_CROSSBAR) {
    out[n++] = (uint32_t)(2 * src);
    out[n++] = (uint32_t)(2 * dst + 1);
    if (p->topology != PM_TOPO_CROSSBAR) n = 0; /* to itself: no cable, the NIC turns it round */
  } else if (p->topology == PM_TOPO_FATTREE) n = pm__route_fattree(p, src, dst, out);
  else if (p->topology == PM_TOPO_TORUS) n = pm__route_torus(p, src, dst, out);
  else n = pm__route_dragonfly(p, src, dst, out);
  if (n > 1) latency_ns += (n - 1) * p->switch_latency_ns;
  *latency_ps = latency_ns * PM__PS;
  return n;
}


/* ============================================================================================== */
/* [WORLD] 4. Simulated processes and time                                                        */
/* ============================================================================================== */
/* ---- the future: a heap of four children per node, which knows where each event lies ---------- */
static int pm__before(const pm__slot *a, const pm__slot *b) {
  return a->t_ps != b->t_ps ? a->t_ps < b->t_ps : a->order < b->order;
}
static void pm__heap_put(pm_world *w, uint32_t pos, pm__slot slot) {
  w->heap[pos] = slot;
  slot.event->pos = pos;
}
static void pm__heap_up(pm_world *w, uint32_t pos, pm__slot slot) {
  while (pos > 1) {
    uint32_t parent = (pos + 2) / 4;
    if (!pm__before(&slot, &w->heap[parent])) break;
    pm__heap_put(w, pos, w->heap[parent]);
    pos = parent;
  }
  pm__heap_put(w, pos, slot);
}
static void pm__heap_down(pm_world *w, uint32_t pos, pm__slot slot) {
  for (;;) {
    uint32_t child = 4 * pos - 2, last = child + 3, best, i;
    if (child > w->heap_count) break;
    if (last > w->heap_count) last = w->heap_count;
    for (best = child, i = child + 1; i <= last; i++)
      if (pm__before(&w->heap[i], &w->heap[best])) best = i;
    if (!pm__before(&w->heap[best], &slot)) break;
    pm__heap_put(w, pos, w->heap[best]);
    pos = best;
  }
  pm__heap_put(w, pos, slot);
}

/* Puts the event into the future, or moves it there. Not before now. */
static void pm__schedule(pm_world *w, pm__event *event, int64_t t_ps) {
  pm__slot slot;
  PM_ASSERT(t_ps >= w->now_ps);
  slot.t_ps = t_ps;
  slot.order = w->order++;
  slot.event = event;
  if (event->pos) { /* later order: it can only stay or sink unless its time is sooner */
    if (pm__before(&slot, &w->heap[event->pos])) pm__heap_up(w, event->pos, slot);
    else pm__heap_down(w, event->pos, slot);
    return;
  }
  if (w->heap_count + 1 >= w->heap_max) {
    uint32_t max = w->heap_max ? 2 * w->heap_max : 64;
    pm__slot *heap = (pm__slot *)PM_REALLOC(w->heap, max * sizeof *heap);
    if (!heap) {
      pm_world_fail(w, PM_E_NOMEM, "out of memory: queue of events");
      return;
    }
    w->heap = heap;
    w->heap_max = max;
  }
  pm__heap_up(w, ++w->heap_count, slot);
}
static void pm__unschedule(pm_world *w, pm__event *event) {
  uint32_t pos = event->pos;
  pm__slot last;
  if (!pos) return;
  event->pos = 0;
  last = w->heap[w->heap_count--];
  if (last.event == event) return;
  if (pos > 1 && pm__before(&last, &w->heap[(pos + 2) / 4])) pm__heap_up(w, pos, last);
  else pm__heap_down(w, pos, last);
}
/* The next step of the simulation: time jumps to it. */
static void pm__step(pm_world *w) {
  pm__event *event = w->heap[1].event;
  w->now_ps = w->heap[1].t_ps;
  w->stats.events_count++;
  pm__unschedule(w, event);
  event->fn(w, event);
}

/* ---- contexts ---------------------------------------------------------------------------------- */
/* pm__context_switch saves the running context in *save and continues in load. The assembly keeps
   what a compiler may not list as clobbered and tells it that all else is gone; a new context starts
   like a saved one whose resume address is pm__thread_main. */
static void pm__thread_main(void);
#if defined(PM_USE_UCONTEXT)
static void pm__context_make(pm_world *w, pm_thread *t) {
  getcontext(&t->uc);
  t->uc.uc_stack.ss_sp = t->stack;
  t->uc.uc_stack.ss_size = t->stack_bytes;
  t->uc.uc_link = &w->uc;
  makecontext(&t->uc, pm__thread_main, 0);
}
static void pm__context_enter(pm_world *w, pm_thread *t) { swapcontext(&w->uc, &t->uc); }
static void pm__context_leave(pm_world *w, pm_thread *t) { swapcontext(&t->uc, &w->uc); }
#else
#  if defined(__x86_64__)
#    ifdef __AVX512F__
#      define PM__AVX512_CLOBBERS                                                                  \
        "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25",  \
            "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k1", "k2", "k3", "k4", "k5",    \
            "k6", "k7",
#    else
#      define PM__AVX512_CLOBBERS
#    endif
static __attribute__((noinline)) void pm__context_switch(void **save, void *load) {
  __asm__ volatile("leaq -128(%%rsp), %%rsp\n\t" /* past the red zone */
                   "pushq %%rbp\n\t"
                   "pushq %%rbx\n\t"
                   "subq $8, %%rsp\n\t"
                   "stmxcsr (%%rsp)\n\t"
                   "fnstcw 4(%%rsp)\n\t"
                   "leaq 1f(%%rip), %%rax\n\t"
                   "pushq %%rax\n\t"
                   "movq %%rsp, (%%rdi)\n\t"
                   "movq %%rsi, %%rsp\n\t"
                   "popq %%rax\n\t"
                   "ldmxcsr (%%rsp)\n\t"
                   "fldcw 4(%%rsp)\n\t"
                   "addq $8, %%rsp\n\t"
                   "popq %%rbx\n\t"
                   "popq %%rbp\n\t"
                   "leaq 128(%%rsp), %%rsp\n\t"
                   "jmpq *%%rax\n"
                   "1:\n"
                   : "+D"(save), "+S"(load)
                   :
                   : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm1",
                     "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
                     "xmm13", "xmm14", "xmm15", PM__AVX512_CLOBBERS "st", "st(1)", "st(2)", "st(3)", "st(4)",
                     "st(5)", "st(6)", "st(7)", "memory", "cc");
}
static void *pm__context_first(char *top) {
  uint64_t *frame = (uint64_t *)(void *)(top - 248); /* pm__thread_main starts at 8 modulo 16 */
  uint32_t mxcsr = 0x1F80, x87 = 0x037F;
  memset(frame, 0, 248);
  frame[0] = (uint64_t)(uintptr_t)pm__thread_main;
  memcpy(&frame[1], &mxcsr, 4);
  memcpy((char *)&frame[1] + 4, &x87, 4);
  return frame;
}
#  else /* aarch64 */
static __attribute__((noinline)) void pm__context_switch(void **save, void *load) {
  register void **x0 __asm__("x0") = save;
  register void *x1 __asm__("x1") = load;
  __asm__ volatile("adr x9, 1f\n\t"
                   "sub sp, sp, #48\n\t"
                   "stp x9, x19, [sp]\n\t"
                   "stp x29, x30, [sp, #16]\n\t"
                   "mrs x9, fpcr\n\t"
                   "str x9, [sp, #32]\n\t"
                   "mov x9, sp\n\t"
                   "str x9, [x0]\n\t"
                   "mov sp, x1\n\t"
                   "ldr x9, [sp, #32]\n\t"
                   "msr fpcr, x9\n\t"
                   "ldp x29, x30, [sp, #16]\n\t"
                   "ldp x9, x19, [sp]\n\t"
                   "add sp, sp, #48\n\t"
                   "br x9\n"
                   "1:\n"
                   : "+r"(x0), "+r"(x1)
                   :
                   : "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15",
                     "x16", "x17", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "v0", "v1", "v2",
                     "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16",
                     "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29",
                     "v30", "v31", "memory", "cc");
}
static void *pm__context_first(char *top) {
  uint64_t *frame = (uint64_t *)(void *)(top - 64);
  memset(frame, 0, 64);
  frame[0] = (uint64_t)(uintptr_t)pm__thread_main;
  return frame;
}
#  endif
static void pm__context_make(pm_world *w, pm_thread *t) {
  (void)w;
  t->sp = pm__context_first(t->stack + t->stack_bytes);
}
/* Called through a pointer that no compiler can follow: else it might keep variables of this file, or
   of a guest in the same file, in registers because no code it sees could change them. */
static void pm__context_enter(pm_world *w, pm_thread *t) { w->context_switch(&w->scheduler_sp, t->sp); }
static void pm__context_leave(pm_world *w, pm_thread *t) { w->context_switch(&t->sp, w->scheduler_sp); }
#endif

/* Stacks are cut from slabs with a page that may not be touched below each, and used again. The
   kernel limits the number of such pages (two mappings each): later stacks go without, and rely on
   the word at their lowest address that every switch looks at. */
enum { PM__GUARDED_MAX = 16000, PM__STACKS_PER_SLAB = 64, PM__PAGE = 4096 };
#define PM__CANARY 0x5AFE57AC4B0770B5u

static char *pm__stack_map(pm_world *w, size_t stack_bytes, int count) {
  const int guard = w->stats.stacks_count < PM__GUARDED_MAX;
  const size_t each = stack_bytes + PM__PAGE, bytes = each * (size_t)count;
  pm__slab *slab = (pm__slab *)PM_MALLOC(sizeof *slab);
  void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  int i;
  if (!slab || base == MAP_FAILED) {
    if (base != MAP_FAILED) munmap(base, bytes);
    PM_FREE(slab);
    return NULL;
  }
  slab->next = w->slabs;
  slab->base = (char *)base;
  slab->bytes = bytes;
  w->slabs = slab;
  for (i = 0; i < count && guard; i++) mprotect(slab->base + each * (size_t)i, PM__PAGE, PROT_NONE);
  return slab->base + PM__PAGE;
}
static char *pm__stack_get(pm_world *w, size_t stack_bytes) {
  char *stack;
  if (stack_bytes != w->desc.stack_bytes) stack = pm__stack_map(w, stack_bytes, 1);
  else {
    if (!w->free_stacks) {
      char *base = pm__stack_map(w, stack_bytes, PM__STACKS_PER_SLAB);
      int i;
      if (!base) return NULL;
      for (i = PM__STACKS_PER_SLAB - 1; i >= 0; i--) { /* the link lies where the first frame will be */
        pm__stack *s = (pm__stack *)(void *)(base + (stack_bytes + PM__PAGE) * (size_t)(i + 1) - 2 * PM__PAGE);
        s->next = w->free_stacks;
        w->free_stacks = s;
      }
    }
    stack = (char *)w->free_stacks + PM__PAGE - stack_bytes;
    w->free_stacks = w->free_stacks->next;
  }
  if (stack) w->stats.stacks_count++;
  return stack;
}
static void pm__stack_put(pm_world *w, char *stack, size_t stack_bytes) {
  pm__stack *s;
#ifdef PM__ASAN
  ASAN_UNPOISON_MEMORY_REGION(stack, stack_bytes); /* frames that were left for good */
#endif
  if (stack_bytes != w->desc.stack_bytes) return; /* odd sizes stay until the world ends */
  s = (pm__stack *)(void *)(stack + stack_bytes - PM__PAGE);
  s->next = w->free_stacks;
  w->free_stacks = s;
}

/* ---- threads ----------------------------------------------------------------------------------- */
static void pm__make_ready(pm_world *w, pm_thread *t) {
  t->state = PM__READY;
  t->next_ready = NULL;
  if (w->ready_tail) w->ready_tail->next_ready = t;
  else w->ready_head = t;
  w->ready_tail = t;
}
/* The thread goes on at the present time. */
static void pm__resume(pm_world *w, pm_thread *t) {
  if (t->state != PM__BLOCKED) return;
  pm__unschedule(w, &t->timer);
  if (t->polling) {
    t->polling = 0;
    w->polling_count--;
  }
  pm__make_ready(w, t);
}
static void pm__timer_fired(pm_world *w, pm__event *event) {
  pm_thread *t = (pm_thread *)event;
  t->timed_out = 1;
  pm__resume(w, t);
}
/* Leaves the running thread until pm__resume. t_ps PM__FOREVER: no timer. */
static void pm__block(int64_t t_ps, const char *what) {
  pm_thread *t = pm__current;
  pm_world *w = t->proc->world;
  t->state = PM__BLOCKED;
  t->what = what;
  t->timed_out = 0;
  if (t_ps != PM__FOREVER) pm__schedule(w, &t->timer, t_ps);
#ifdef PM__ASAN
  __sanitizer_start_switch_fiber(&t->asan_fake, w->asan_bottom, w->asan_bytes);
#endif
  pm__context_leave(w, t);
#ifdef PM__ASAN
  __sanitizer_finish_switch_fiber(t->asan_fake, &w->asan_bottom, &w->asan_bytes);
#endif
}
/* The running thread is busy for so long. When nothing else happens meanwhile, time just passes. */
static void pm__busy(int64_t d_ps, const char *what) {
  pm_world *w = pm__current->proc->world;
  const int64_t t_ps = w->now_ps + d_ps;
  if (d_ps <= 0) return;
  pm__current->poll_streak = 0;
  if (!w->ready_head && (!w->heap_count || w->heap[1].t_ps > t_ps) && !w->stopped &&
      (!w->desc.d_limit_ns || t_ps < w->desc.d_limit_ns * PM__PS)) {
    w->now_ps = t_ps;
    return;
  }
  pm__block(t_ps, what);
}

/* Only the scheduler's side may free a stack that was just run on. */
static void pm__thread_bury(pm_world *w, pm_thread *t) {
  if (!t->stack) return;
#ifdef PM_WITH_VALGRIND
  VALGRIND_STACK_DEREGISTER(t->valgrind_id);
#endif
  pm__stack_put(w, t->stack, t->stack_bytes);
  t->stack = NULL;
}
static void pm__thread_ended(pm_world *w, pm_thread *t) {
  t->state = PM__ENDED;
  w->live_threads--;
  if (t->joiner) pm__resume(w, t->joiner);
  if (--t->proc->live_threads == 0 && !t->proc->ended) {
    t->proc->ended = 1;
    w->live_processes--;
  }
}
static void pm__leave_for_good(pm_world *w, pm_thread *t) {
#ifdef PM__ASAN
  __sanitizer_start_switch_fiber(NULL, w->asan_bottom, w->asan_bytes);
#endif
  pm__context_leave(w, t);
}
static void pm__thread_main(void) {
  pm_thread *t = pm__current;
  pm_world *w = t->proc->world;
#ifdef PM__ASAN
  __sanitizer_finish_switch_fiber(NULL, &w->asan_bottom, &w->asan_bytes);
#endif
  t->entry(t->arg);
  pm__thread_ended(w, t);
  pm__leave_for_good(w, t);
}
static pm_thread *pm__thread_new(pm_process *proc, void (*entry)(void *arg), void *arg, size_t stack_bytes) {
  pm_world *w = proc->world;
  pm_thread *t = (pm_thread *)pm__zalloc(sizeof *t);
  if (!t) return NULL;
  t->stack_bytes = stack_bytes ? (stack_bytes + PM__PAGE - 1) / PM__PAGE * PM__PAGE : w->desc.stack_bytes;
  if (t->stack_bytes < 4 * PM__PAGE) t->stack_bytes = 4 * PM__PAGE;
  t->stack = pm__stack_get(w, t->stack_bytes);
  if (!t->stack) {
    PM_FREE(t);
    return NULL;
  }
  *(uint64_t *)(void *)t->stack = PM__CANARY;
  t->timer.fn = pm__timer_fired;
  t->proc = proc;
  t->entry = entry;
  t->arg = arg;
  t->next_in_proc = proc->threads;
  proc->threads = t;
  proc->live_threads++;
  w->live_threads++;
  w->stats.memory_bytes += sizeof *t;
#ifdef PM_WITH_VALGRIND
  t->valgrind_id = VALGRIND_STACK_REGISTER(t->stack, t->stack + t->stack_bytes);
#endif
  pm__context_make(w, t);
  pm__make_ready(w, t);
  return t;
}

PM_API pm_thread *pm_thread_create(void (*entry)(void *arg), void *arg, size_t stack_bytes) {
  return pm__current && entry ? pm__thread_new(pm__current->proc, entry, arg, stack_bytes) : NULL;
}
PM_API pm_thread *pm_thread_self(void) { return pm__current; }
PM_API void pm_thread_join(pm_thread *thread) {
  if (!thread || !pm__current || thread->joiner || thread == pm__current) return;
  thread->joiner = pm__current;
  while (thread->state != PM__ENDED) pm__block(PM__FOREVER, "thread to join");
}
PM_API int pm_thread_wait(const char *what, int64_t d_ns) {
  pm_thread *t = pm__current;
  pm_world *w;
  if (!t) return 0;
  w = t->proc->world;
  if (!t->woken) pm__block(d_ns < 0 ? PM__FOREVER : w->now_ps + d_ns * PM__PS, what);
  d_ns = t->woken;
  t->woken = 0;
  return (int)d_ns;
}
PM_API void pm_thread_wake(pm_thread *thread) {
  if (!thread || thread->state == PM__ENDED) return;
  thread->woken = 1;
  pm__resume(thread->proc->world, thread);
}

/* ---- processes --------------------------------------------------------------------------------- */
PM_API pm_process *pm_self(void) { return pm__current ? pm__current->proc : NULL; }
PM_API int pm_rank(void) { return pm__current ? pm__current->proc->rank : -1; }
PM_API int pm_size(void) { return pm__current ? pm__current->proc->world->procs_count : 0; }
PM_API pm_world *pm_world_of(const pm_process *process) { return process ? process->world : NULL; }
PM_API int pm_process_rank(const pm_process *process) { return process ? process->rank : -1; }
PM_API int pm_process_node(const pm_process *process) { return process ? process->node : -1; }
PM_API int pm_process_status(const pm_process *process) { return process ? process->status : -1; }
PM_API void pm_process_set_user(pm_process *process, void *user) { process->user = user; }
PM_API void *pm_process_user(const pm_process *process) { return process->user; }
PM_API pm_process *pm_process_at(pm_world *world, int rank) {
  return world && rank >= 0 && rank < world->procs_count ? world->procs[rank] : NULL;
}
PM_API int64_t pm_now_ns(void) { return pm__current ? pm__current->proc->world->now_ps / PM__PS : 0; }
PM_API void pm_sleep_ns(int64_t d_ns) {
  if (pm__current) pm__busy(d_ns * PM__PS, "sleep");
}
PM_API void pm_compute_ns(int64_t d_ns) {
  if (pm__current) pm__busy(d_ns * PM__PS, "computation");
}
/* One look in vain. Idle looks in a row double the pause: a spinning guest lets time pass and costs
   few events; what is delivered to the process ends the pause at once. */
static void pm__poll_pause(void) {
  pm_thread *t = pm__current;
  pm_world *w = t->proc->world;
  int64_t d_ns = w->plat.cpu_poll_ns;
  if (t->poll_streak > 3) { /* the first looks cost what they cost */
    unsigned doublings = t->poll_streak - 3 < 30 ? t->poll_streak - 3 : 30;
    d_ns <<= doublings;
    if (d_ns > w->plat.cpu_poll_max_ns) d_ns = w->plat.cpu_poll_max_ns;
    if (d_ns < w->plat.cpu_poll_ns) d_ns = w->plat.cpu_poll_ns;
  }
  t->poll_streak++;
  if (!w->ready_head && !w->stopped && w->heap_count > (uint32_t)w->polling_count &&
      w->heap[1].t_ps > w->now_ps + d_ns * PM__PS) {
    w->now_ps += d_ns * PM__PS; /* something is under way, but later */
    return;
  }
  t->polling = 1;
  w->polling_count++;
  pm__block(w->now_ps + d_ns * PM__PS, "polling: nothing ever arrives");
  if (!t->timed_out) t->poll_streak = 0;
}
PM_API void pm_yield(void) {
  if (pm__current) pm__poll_pause();
}
PM_API void pm_barrier(void) {
  pm_thread *t = pm__current, *list = NULL, *next;
  pm_world *w;
  if (!t) return;
  w = t->proc->world;
  if (++w->barrier_count < w->procs_count) {
    t->next_waiter = w->barrier_waiters;
    w->barrier_waiters = t;
    pm__block(PM__FOREVER, "pm_barrier");
    return;
  }
  w->barrier_count = 0;
  for (; w->barrier_waiters; w->barrier_waiters = next) { /* last come first in the list: turn it round */
    next = w->barrier_waiters->next_waiter;
    w->barrier_waiters->next_waiter = list;
    list = w->barrier_waiters;
  }
  for (; list; list = next) {
    next = list->next_waiter;
    pm__resume(w, list);
  }
}
PM_API void pm_exit(int status) {
  pm_thread *self = pm__current, *t;
  pm_world *w;
  if (!self) return;
  w = self->proc->world;
  self->proc->status = status;
  self->proc->ended = 1;
  w->live_processes--;
  for (t = self->proc->threads; t; t = t->next_in_proc) {
    if (t == self || t->state == PM__ENDED) continue;
    pm__unschedule(w, &t->timer);
    if (t->polling) w->polling_count--;
    t->polling = 0;
    pm__thread_ended(w, t); /* a place in the ready list is skipped there */
    pm__thread_bury(w, t);
  }
  pm__thread_ended(w, self);
  pm__leave_for_good(w, self);
}

/* ---- the run ----------------------------------------------------------------------------------- */
static void pm__world_error(pm_world *w, pm_status status, const char *format, ...) {
  va_list args;
  if (w->status) return;
  w->status = status;
  w->stopped = 1;
  va_start(args, format);
  vsnprintf(w->error, sizeof w->error, format, args);
  va_end(args);
}
PM_API void pm_world_fail(pm_world *world, pm_status status, const char *text) {
  pm__world_error(world, status, "%s", text ? text : pm_status_text(status));
}
PM_API const char *pm_world_error(const pm_world *world) { return world ? world->error : "no world"; }

/* "process 3 on node 1 waits for ..." for all that live, as far as the text has room. */
static void pm__deadlock(pm_world *w) {
  size_t n = 0;
  int i, silent = 0;
  const pm_thread *t;
  char more[160];
  pm__world_error(w, PM_E_DEADLOCK, "deadlock at %.3f us:", (double)w->now_ps * 1e-6);
  n = strlen(w->error);
  for (i = 0; i < w->procs_count; i++)
    for (t = w->procs[i]->threads; t; t = t->next_in_proc) {
      if (t->state == PM__ENDED) continue;
      if (sizeof w->error - n < 400) {
        silent++;
        continue;
      }
      more[0] = 0;
      if (t->describe) t->describe(t, more, sizeof more);
      n += (size_t)snprintf(w->error + n, sizeof w->error - n, "\n  process %d (node %d) waits: %s%s%s", i, w->procs[i]->node,
                            t->what ? t->what : "?", more[0] ? " " : "", more);
    }
  if (silent) snprintf(w->error + n, sizeof w->error - n, "\n  and %d more", silent);
}
static void pm__enter(pm_world *w, pm_thread *t) {
  w->stats.switches_count++;
  t->state = PM__RUNNING;
  if (w->last_run != t->proc && w->desc.switched) w->desc.switched(w->desc.user, t->proc);
  w->last_run = t->proc;
  pm__current = t;
#ifdef PM__ASAN
  __sanitizer_start_switch_fiber(&w->asan_fake, t->stack, t->stack_bytes);
#endif
  pm__context_enter(w, t);
#ifdef PM__ASAN
  __sanitizer_finish_switch_fiber(w->asan_fake, NULL, NULL);
#endif
  pm__current = NULL;
  if (t->state == PM__ENDED) pm__thread_bury(w, t);
  else if (*(const uint64_t *)(const void *)t->stack != PM__CANARY)
    pm__world_error(w, PM_E_STACK, "process %d (node %d) overflowed its stack of %d bytes at %.3f us", t->proc->rank,
                    t->proc->node, (int)t->stack_bytes, (double)w->now_ps * 1e-6);
}
/* 1: go on. Every event a pause of a poller: nothing can happen any more, only time pass. */
static int pm__may_go_on(pm_world *w) {
  if (w->stopped || !w->heap_count) return 0;
  if (w->desc.d_limit_ns && w->heap[1].t_ps > w->desc.d_limit_ns * PM__PS) {
    pm__world_error(w, PM_E_TIME_LIMIT, "simulated time limit of %.6f s reached", (double)w->desc.d_limit_ns * 1e-9);
    return 0;
  }
  if (w->heap_count > (uint32_t)w->polling_count) w->t_idle_since_ps = -1;
  else if (w->t_idle_since_ps < 0) w->t_idle_since_ps = w->now_ps;
  else if (w->now_ps - w->t_idle_since_ps > w->desc.d_poll_deadlock_ns * PM__PS) return 0;
  return 1;
}
static void pm__loop(pm_world *w) {
  for (;;) {
    pm_thread *t = w->ready_head;
    if (t && !w->stopped) {
      w->ready_head = t->next_ready;
      if (!w->ready_head) w->ready_tail = NULL;
      if (t->state == PM__READY) pm__enter(w, t);
    } else if (pm__may_go_on(w)) pm__step(w);
    else break;
  }
  if (!w->stopped && w->live_threads) pm__deadlock(w);
}

#ifndef PM__ASAN /* which reports crashes better than we could */
/* Signals of a guest that crashed. The handler runs on a stack of its own (the guest's may be full)
   and leaves to the scheduler; the guest's stack is abandoned. */
static const int pm__crash_signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
enum { PM__CRASH_SIGNALS = 5, PM__CRASH_STACK = 65536 };
static void pm__crashed(int number, siginfo_t *info, void *context) {
  pm_world *w = pm__running;
  (void)context;
  if (!w) { /* another thread of the host: its own business */
    signal(number, SIG_DFL);
    return;
  }
  w->crash_signal = number;
  w->crash_address = number == SIGABRT ? NULL : (char *)info->si_addr;
  siglongjmp(w->crash_jump, 1);
}
static void pm__crash_report(pm_world *w) {
  pm_thread *t = pm__current;
  const char *const names[] = {"SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGABRT"};
  const double us = (double)w->now_ps * 1e-6;
  int i = 0;
  while (i < PM__CRASH_SIGNALS - 1 && pm__crash_signals[i] != w->crash_signal) i++;
  pm__current = NULL;
  if (!t) pm__world_error(w, PM_E_CRASH, "%s at address %p while a message was delivered, at %.3f us", names[i], (void *)w->crash_address, us);
  else if (w->crash_address && w->crash_address >= t->stack - PM__PAGE && w->crash_address < t->stack)
    pm__world_error(w, PM_E_STACK, "process %d (node %d) overflowed its stack of %d bytes at %.3f us", t->proc->rank,
                    t->proc->node, (int)t->stack_bytes, us);
  else
    pm__world_error(w, PM_E_CRASH, "process %d (node %d): %s at address %p, at %.3f us", t->proc->rank, t->proc->node,
                    names[i], (void *)w->crash_address, us);
}
static void pm__run_caught(pm_world *w) {
  struct sigaction action, before[PM__CRASH_SIGNALS];
  stack_t ours, theirs;
  int i;
  memset(&action, 0, sizeof action);
  memset(&ours, 0, sizeof ours);
  ours.ss_sp = PM_MALLOC(PM__CRASH_STACK);
  ours.ss_size = PM__CRASH_STACK;
  if (!ours.ss_sp || sigaltstack(&ours, &theirs)) {
    PM_FREE(ours.ss_sp);
    pm__world_error(w, PM_E_NOMEM, "no stack for signals");
    return;
  }
  action.sa_sigaction = pm__crashed;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (i = 0; i < PM__CRASH_SIGNALS; i++) sigaction(pm__crash_signals[i], &action, &before[i]);
  if (sigsetjmp(w->crash_jump, 1) == 0) pm__loop(w);
  else pm__crash_report(w);
  for (i = 0; i < PM__CRASH_SIGNALS; i++) sigaction(pm__crash_signals[i], &before[i], NULL);
  sigaltstack(&theirs, NULL);
  PM_FREE(ours.ss_sp);
}
#endif
PM_API pm_status pm_world_run(pm_world *world) {
  if (!world) return PM_E_INVAL;
  if (pm__running || world->status) return PM_E_STATE;
  world->running = 1;
  world->t_idle_since_ps = -1;
  pm__running = world;
#ifndef PM__ASAN
  if (world->desc.catch_crashes) pm__run_caught(world);
  else
#endif
    pm__loop(world);
  pm__running = NULL;
  world->running = 0;
  return world->status;
}

typedef struct pm__call {
  pm__event event; /* first */
  void (*fn)(void *arg);
  void *arg;
} pm__call;
static void pm__call_now(pm_world *w, pm__event *event) {
  pm__call call = *(pm__call *)event;
  (void)w;
  PM_FREE(event);
  call.fn(call.arg);
}
PM_API pm_status pm_call_at(pm_world *world, int64_t t_ns, void (*fn)(void *arg), void *arg) {
  pm__call *call;
  if (!world || !fn || t_ns > INT64_MAX / PM__PS || t_ns * PM__PS < world->now_ps) return PM_E_INVAL;
  call = (pm__call *)pm__zalloc(sizeof *call);
  if (!call) return PM_E_NOMEM;
  call->event.fn = pm__call_now;
  call->fn = fn;
  call->arg = arg;
  pm__schedule(world, &call->event, t_ns * PM__PS);
  return PM_OK;
}

/* ---- making and ending ------------------------------------------------------------------------- */
PM_API pm_status pm_world_create(const pm_world_desc *desc, pm_world **world) {
  pm_world *w;
  pm_status status;
  char error[256];
  if (!world) return PM_E_INVAL;
  *world = NULL;
  if (!desc || !desc->platform || desc->d_limit_ns < 0 || desc->d_poll_deadlock_ns < 0) return PM_E_INVAL;
  status = pm_platform_check(desc->platform, error, sizeof error);
  if (status) return status;
  w = (pm_world *)pm__zalloc(sizeof *w);
  if (!w) return PM_E_NOMEM;
  w->desc = *desc;
  w->plat = *desc->platform;
  w->desc.platform = &w->plat;
  w->plat.links = NULL; /* the graph holds what they said */
  w->plat.links_count = desc->platform->links_count;
  if (!w->desc.stack_bytes) w->desc.stack_bytes = 65536;
  w->desc.stack_bytes = (w->desc.stack_bytes + PM__PAGE - 1) / PM__PAGE * PM__PAGE;
  if (w->desc.stack_bytes < 4 * PM__PAGE) w->desc.stack_bytes = 4 * PM__PAGE;
  if (!w->desc.d_poll_deadlock_ns) w->desc.d_poll_deadlock_ns = 20000000000;
  w->rng = desc->seed;
#ifndef PM_USE_UCONTEXT
  w->context_switch = pm__context_switch;
#endif
  w->nodes = (pm__node *)pm__zalloc((size_t)w->plat.nodes_count * sizeof *w->nodes);
  if (w->plat.topology == PM_TOPO_FILE) w->graph = pm__graph_make(desc->platform, error, sizeof error);
  if (!w->nodes || (w->plat.topology == PM_TOPO_FILE && !w->graph)) {
    pm_world_destroy(w);
    return PM_E_NOMEM;
  }
  w->stats.memory_bytes = sizeof *w + (size_t)w->plat.nodes_count * sizeof *w->nodes;
  *world = w;
  return PM_OK;
}
PM_API void pm_world_destroy(pm_world *world) {
  pm_world *w = world;
  int i;
  if (!w || w->running) return;
  for (i = 1; i <= (int)w->heap_count; i++)
    if (w->heap[i].event->fn == pm__call_now) PM_FREE(w->heap[i].event);
  for (i = 0; i < w->procs_count; i++) {
    pm_thread *t = w->procs[i]->threads, *next;
    for (; t; t = next) {
      next = t->next_in_proc;
      pm__thread_bury(w, t);
      PM_FREE(t);
    }
    PM_FREE(w->procs[i]);
  }
  while (w->slabs) {
    pm__slab *slab = w->slabs;
    w->slabs = slab->next;
    munmap(slab->base, slab->bytes);
    PM_FREE(slab);
  }
  pm__graph_free(w->graph, (int)w->plat.nodes_count);
  PM_FREE(w->procs);
  PM_FREE(w->nodes);
  PM_FREE(w->heap);
  PM_FREE(w);
}
PM_API pm_world_desc pm_world_desc_of(const pm_world *world) { return world->desc; }
PM_API pm_stats pm_world_stats(const pm_world *world) { return world->stats; }
PM_API int64_t pm_world_now_ns(const pm_world *world) { return world->now_ps / PM__PS; }

PM_API pm_status pm_spawn(pm_world *world, int node_index, void (*entry)(void *arg), void *arg, pm_process **process) {
  pm_process *p;
  void *array;
  if (!world || !entry || node_index < 0 || node_index >= world->plat.nodes_count) return PM_E_INVAL;
  if (world->running) return PM_E_STATE;
  array = world->procs;
  if (!pm__grow(&array, &world->procs_max, world->procs_count + 1, sizeof p)) return PM_E_NOMEM;
  world->procs = (pm_process **)array;
  p = (pm_process *)pm__zalloc(sizeof *p);
  if (!p) return PM_E_NOMEM;
  p->world = world;
  p->rank = world->procs_count;
  p->node = node_index;
  if (!pm__thread_new(p, entry, arg, 0)) {
    PM_FREE(p);
    return PM_E_NOMEM;
  }
  p->next_on_node = world->nodes[node_index].processes;
  world->nodes[node_index].processes = p;
  world->procs[world->procs_count++] = p;
  world->live_processes++;
  world->stats.memory_bytes += sizeof *p + sizeof p;
  if (process) *process = p;
  return PM_OK;
}
PM_API pm_status pm_spawn_all(pm_world *world, void (*entry)(void *arg), void *arg) {
  int64_t i;
  if (!world) return PM_E_INVAL;
  for (i = 0; i < world->plat.nodes_count * world->plat.procs_per_node_count; i++) {
    pm_status status = pm_spawn(world, (int)(i / world->plat.procs_per_node_count), entry, arg, NULL);
    if (status) return status;
  }
  return PM_OK;
}

/* splitmix64 */
PM_API uint64_t pm_random(pm_world *world) {
  uint64_t z = (world->rng += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}
PM_API int pm_links_count(const pm_world *world) { return (int)pm__topology_links(&world->plat); }
PM_API int pm_route(pm_world *world, int from_node, int to_node, uint32_t *links, int max, int64_t *latency_ns) {
  uint32_t way[PM__ROUTE_MAX + 2];
  int64_t latency_ps = 0;
  int i, n;
  if (!world || from_node < 0 || to_node < 0 || from_node >= world->plat.nodes_count || to_node >= world->plat.nodes_count)
    return -1;
  n = pm__route(world, from_node, to_node, way, &latency_ps);
  for (i = 0; i < n && i < max && links; i++) links[i] = way[i];
  if (latency_ns) *latency_ns = latency_ps / PM__PS;
  return n;
}

#ifdef __cplusplus
}
#endif
#endif /* PORTALS_MODEL_IMPLEMENTATION */

/* ----------------------------------------------------------------------------------------------
   LICENCE: either public domain (unlicense.org: copy, modify, publish, use, compile, sell or
   distribute, for any purpose, by any means) or MIT No Attribution (MIT-0), whichever you choose;
   full text in LICENSE. The software is provided "as is", without warranty of any kind.
   ---------------------------------------------------------------------------------------------- */
